/* Fuzzes the headers of safetensors files, and indices of several.  What is taken has its tensors within the file, in
   one piece each, none over another, and each is found by its name; weights that fit are read.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_weights.c -o build/fuzz_weights -lm -lpthread
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_weights.c -o build/fuzz_weights -lm -lpthread && build/fuzz_weights 3000 1 */
#define FUZZ_CORPUS "tests/corpus/weights"
#define FUZZ_N 20000
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage_model.h"

/* Of the corpus's names. */
static const char *const models[] = {
    "model m weight w : f32[2, 3] weight h[1] : bf16[2, 3] from \"h.{l}.q\" transposed Y = add(w, w) output Y",
    "model m weight a : f16[2, 3] from \"a\", \"b\" transposed weight v[2] : i32[2] Y = exp(a) output Y"};

static void held(const mg_weights *w, const uint8_t *data, size_t size) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < mg_weights_count(w); k++) {
    const mg_stored *t = mg_weights_at(w, k);
    FUZZ_HOLDS(t->data >= data && t->bytes <= size && t->data + t->bytes <= data + size);
    FUZZ_HOLDS(mg_weights_find(w, t->name) == t);
    for (uint32_t j = 0; j < k && mg_weights_count(w) < 100; j++) {
      const mg_stored *u = mg_weights_at(w, j);
      FUZZ_HOLDS(!t->bytes || !u->bytes || t->data + t->bytes <= u->data || u->data + u->bytes <= t->data);
    }
    sum += t->bytes;
  }
  FUZZ_HOLDS(sum <= size);
  for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
    mg_model *m = NULL;
    mg_model_list *l = NULL;
    mg_error e;
    FUZZ_HOLDS(mg_model_parse(models[k], strlen(models[k]), "m", NULL, &m, &e) == MG_OK && mg_model_list_of(m, &l, &e) == MG_OK);
    const mg_status s = mg_weights_fit(w, l, NULL, NULL, &e);
    FUZZ_HOLDS(s == MG_OK || (s == MG_BAD_INPUT && *e.msg));
    for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
      double to[6];
      if (l->value[v].kind == MG_VALUE_WEIGHT) mg_weights_read(w, l, v, to);
    }
    mg_model_list_free(l), mg_model_free(m);
  }
}
static void file(const uint8_t *data, size_t size) {
  mg_weights *w;
  mg_error e;
  const mg_status s = mg_weights_of(data, size, "fuzz", &w, &e);
  if (s == MG_OK) held(w, data, size);
  else FUZZ_HOLDS(!w && e.status == s && *e.msg && (s == MG_BAD_INPUT || s == MG_LIMIT || s == MG_UNSUPPORTED));
  mg_weights_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mg_weights *w;
  mg_error e;
  file(data, size);
  size_t end = size; /* and with the length that its last brace gives */
  while (end > 8 && data[end - 1] != '}') end--;
  uint8_t *copy = (uint8_t *)malloc(size + 8);
  if (!copy) return 0;
  memcpy(copy, data, size);
  for (int k = 0; k < 8 && size > 8; k++) copy[k] = (uint8_t)((end - 8) >> 8 * k);
  file(copy, size);
  FUZZ_HOLDS(mgi_weights_new("fuzz", &w, &e) == MG_OK); /* as an index: its files are not there */
  w->file[0].name = "fuzz", w->file[0].map = copy, w->file[0].bytes = size, w->n_files = 1;
  const mg_status s = mgi_weights_index(w, "build/no such directory", &e);
  FUZZ_HOLDS(s == MG_OK || (e.status == s && *e.msg));
  FUZZ_HOLDS(w->n_files == 1 && !w->n);
  w->n_files = 0;
  mg_weights_close(w);
  free(copy);
  return 0;
}
