/* Fuzzes the text form of models.  What is parsed prints, and parses again to what prints the same.  Where its shapes
   hold, its plan does, and where a step is cheap, one with the plan gives the bits of one without.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_model.c -o build/fuzz_model -lm -lpthread
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_model.c -o build/fuzz_model -lm -lpthread && build/fuzz_model 3000 1 */
#define FUZZ_CORPUS "tests/corpus/model"
#define FUZZ_N 4000
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage_model.h"

static mg_status foreign(void *user, const mg_foreign_call *c, mg_error *e) { /* its results are 1 .. */
  (void)user, (void)e;
  for (int k = 0; k < c->n_out; k++)
    for (int64_t i = 0; i < mg_shape_elements(&c->out_shape[k]); i++) c->out[k][i] = (double)(i % 7 + 1);
  return MG_OK;
}
/* An error that is one of these, and says what is wrong. */
static void refused(mg_status s, const mg_error *e) {
  FUZZ_HOLDS(e->status == s && *e->msg && (s == MG_BAD_INPUT || s == MG_LIMIT || s == MG_UNSUPPORTED));
}

/* A step at the least and one at the greatest sizes, if those are cheap. */
static void evaluate(const mg_model_list *l, const mg_model_plan *p) {
  mg_error e;
  for (int most = 0; most < 2; most++) {
    int64_t sym[MG_MODEL_MAX_SYMBOLS];
    double elements = 0;
    mg_model_data *d[2] = {NULL, NULL};
    mg_status s[2];
    for (int k = 0; k < l->m->n_symbols; k++) sym[k] = most ? l->m->symbol[k].most : l->m->symbol[k].least;
    for (uint32_t v = 1; v < l->n_values; v++) {
      mg_shape shape;
      s[0] = mg_value_shape(l, &l->value[v], sym, &shape, &e);
      FUZZ_HOLDS(s[0] == MG_OK); /* the list was made at these sizes */
      elements += (double)mg_shape_elements(&shape);
    }
    if (elements > 2e4) return;
    for (int k = 0; k < 2; k++) {
      mg_model_config c;
      memset(&c, 0, sizeof c);
      c.inputs = 3, c.foreign = foreign, c.work = 1e6, c.plan = k ? p : NULL, c.order = k ? (uint64_t)most : 0;
      FUZZ_HOLDS(mg_model_data_new(l, sym, 9, &d[k], &e) == MG_OK);
      s[k] = mg_model_step(d[k], sym, &c, &e);
      if (s[k] != MG_OK) refused(s[k], &e);
    }
    FUZZ_HOLDS(s[0] == s[1]);
    for (uint32_t v = 1; v < l->n_values && s[0] == MG_OK; v++) {
      mg_shape shape;
      FUZZ_HOLDS(!d[0]->data[v] == !d[1]->data[v] && mg_value_shape(l, &l->value[v], sym, &shape, &e) == MG_OK);
      if (d[0]->data[v])
        FUZZ_HOLDS(!memcmp(d[0]->data[v], d[1]->data[v], (size_t)mg_shape_elements(&shape) * sizeof(double)));
    }
    mg_model_data_free(d[0]), mg_model_data_free(d[1]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mg_config cfg = mg_config_default();
  mg_model *m = NULL, *again = NULL;
  mg_model_list *l = NULL;
  mg_model_plan *p = NULL;
  mg_error e;
  char *a = NULL, *b = NULL;
  cfg.memory_limit = (size_t)32 << 20;
  cfg.separate = size && data[size - 1] == ' '; /* both modes are tried */
  mg_status s = mg_model_parse((const char *)data, size, "fuzz", &cfg, &m, &e);
  if (s != MG_OK) {
    FUZZ_HOLDS(!m);
    refused(s, &e);
    return 0;
  }
  FUZZ_HOLDS(mg_model_print(m, &a, &e) == MG_OK);
  if (mg_model_parse(a, strlen(a), "again", NULL, &again, &e) != MG_OK) {
    fprintf(stderr, "%s: %s\n%s", e.where, e.msg, a);
    abort();
  }
  FUZZ_HOLDS(mg_model_print(again, &b, &e) == MG_OK);
  FUZZ_HOLDS(!strcmp(a, b));
  s = mg_model_list_of(m, &l, &e);
  if (s == MG_OK) s = mg_model_plan_of(l, &p, &e);
  if (s != MG_OK) refused(s, &e);
  else {
    mg_string_free(b);
    FUZZ_HOLDS(mg_model_plan_print(p, &b, &e) == MG_OK);
    evaluate(l, p);
    mg_model_list *parts = NULL;
    mg_model_plan *plan = NULL;
    s = mg_model_partition(l, NULL, &parts, &e);
    FUZZ_HOLDS(s == MG_OK || s == MG_LIMIT || s == MG_NO_MEMORY);
    if (s == MG_OK && mg_model_plan_of(parts, &plan, &e) == MG_OK) evaluate(parts, plan);
    mg_model_plan_free(plan), mg_model_list_free(parts);
  }
  mg_string_free(a), mg_string_free(b);
  mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m), mg_model_free(again);
  return 0;
}
