/* Fuzzes the text form.  What is parsed prints, and parses again to the same graph; its copy, its Graphviz text and,
   where that is cheap, its value and its comparison with itself come out as well.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_parse.c -o build/fuzz_parse -lm -lpthread
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_parse.c -o build/fuzz_parse -lm -lpthread && build/fuzz_parse 3000 1 */
#define FUZZ_CORPUS "tests/corpus/parse"
#define FUZZ_N 4000
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"

static void evaluate(const mg_graph *g) {
  const void *in[MG_MAX_IN];
  void *out[MG_MAX_OUT];
  mg_domain d = mg_domain_real();
  mg_error e;
  for (uint32_t k = 0; k < g->n_in; k++) {
    size_t n = (size_t)mg_shape_elements(&g->tensors[g->in[k].id].shape);
    double *v = (double *)malloc(n * sizeof *v);
    FUZZ_HOLDS(v != NULL);
    mg_verify_input_real(g, 1, (int)k, v);
    in[k] = v;
  }
  for (uint32_t k = 0; k < g->n_out; k++) {
    out[k] = malloc((size_t)mg_shape_elements(&g->tensors[g->out[k].id].shape) * sizeof(double));
    FUZZ_HOLDS(out[k] != NULL);
  }
  FUZZ_HOLDS(mg_eval(g, &d, in, out, &e) == MG_OK);
  for (uint32_t k = 0; k < g->n_in; k++) free((void *)in[k]);
  for (uint32_t k = 0; k < g->n_out; k++) free(out[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mg_config cfg = mg_config_default();
  mg_graph *g = NULL, *h = NULL;
  mg_error e;
  char *a = NULL, *b = NULL;
  mg_classes c;
  cfg.memory_limit = (size_t)32 << 20;
  cfg.separate = size && data[size - 1] == ' '; /* both modes are tried */
  mg_status s = mg_parse((const char *)data, size, "fuzz", &cfg, &g, &e);
  if (s != MG_OK) {
    FUZZ_HOLDS(!g && e.status == s && *e.msg && (s == MG_BAD_INPUT || s == MG_LIMIT || s == MG_UNSUPPORTED));
    return 0;
  }
  FUZZ_HOLDS(mg_print(g, &a, &e) == MG_OK);
  if (mg_parse(a, strlen(a), "again", NULL, &h, &e) != MG_OK) { fprintf(stderr, "%s: %s\n%s", e.where, e.msg, a); abort(); }
  FUZZ_HOLDS(mg_print(h, &b, &e) == MG_OK);
  FUZZ_HOLDS(!strcmp(a, b) && mg_hash(g) == mg_hash(h));
  mg_string_free(b), mg_graph_free(h);
  FUZZ_HOLDS(mg_dot(g, &b, &e) == MG_OK);
  mg_string_free(b);
  FUZZ_HOLDS(mg_classes_of(g, &c, &e) == MG_OK);
  mg_classes_free(&c);
  if (mg_resize(g, NULL, NULL, &h, &e) != MG_OK) { fprintf(stderr, "%s: %s\n%s", e.where, e.msg, a); abort(); }
  FUZZ_HOLDS(mg_hash(h) == mg_hash(g));
  mg_graph_free(h);
  double work = fuzz_work(g, 1);
  for (uint32_t k = 0; k < g->n_in; k++) work += (double)mg_shape_elements(&g->tensors[g->in[k].id].shape);
  if (work < 2e5) evaluate(g);
  if (work < 5e3) {
    mg_verify_config v = mg_verify_config_default();
    mg_verify_report r;
    v.tier = MG_TIER_FAST;
    s = mg_verify(g, g, &v, &r, &e);
    FUZZ_HOLDS(s != MG_OK || r.verdict != MG_NOT_EQUAL);
  }
  mg_string_free(a), mg_graph_free(g);
  return 0;
}
