/* A model within a C program: its text, its weights, one token after another.  Steps are evaluated in float64 on the CPU.
   gcc -std=c11 -O2 -I. examples/model.c -o build/model -lm
   build/model [MODEL.mgm [WEIGHTS..]]     (default examples/models/tiny.mgm; weights: safetensors files, else random) */
#define MIRAGE_IMPLEMENTATION
#include "mirage_model.h"

#include <stdio.h>
#include <stdlib.h>

static int failed(const mg_error *e) {
  fprintf(stderr, "model: %s: %s\n", e->where, e->msg);
  return mg_exit_code(e->status);
}

int main(int argc, char **argv) {
  enum { STEPS = 8 };
  const char *path = argc > 1 ? argv[1] : "examples/models/tiny.mgm";
  static const int prompt[] = {3, 14, 15}; /* then what the model says itself */
  static char text[1 << 16];
  mg_model *m = NULL;
  mg_model_list *l = NULL;
  mg_model_data *d = NULL;
  mg_weights *w = NULL;
  mg_error e;

  /* 1. The text, and its list of launches: every shape is known from here on, for all sizes within the bounds. */
  FILE *f = fopen(path, "rb");
  const size_t n = f ? fread(text, 1, sizeof text, f) : 0;
  if (f) fclose(f);
  if (mg_model_parse(text, n, path, NULL, &m, &e) != MG_OK) return failed(&e);
  if (mg_model_list_of(m, &l, &e) != MG_OK) return failed(&e);
  const uint32_t tokens = mg_value_find(l, "T", -1);
  if (!tokens || m->n_symbols != 2 || l->value[l->output[m->n_outputs - 1]].type != MG_I32) {
    mg_fail(&e, MG_BAD_INPUT, path, "expected symbols n and p, an input T, and tokens as its last output");
    return failed(&e);
  }

  /* 2. Weights, and room for the states of one sequence of STEPS tokens.  What does not fit is said before any step. */
  const int64_t room[MG_MODEL_MAX_SYMBOLS] = {1, STEPS}; /* n, p */
  if (argc > 2 && mg_weights_open(argc - 2, (const char *const *)argv + 2, &w, &e) != MG_OK) return failed(&e);
  if ((w ? mg_model_data_open(l, room, w, &d, &e) : mg_model_data_new(l, room, 1, &d, &e)) != MG_OK) return failed(&e);

  /* 3. Steps: inputs are in d->data, states are updated in place, outputs are in d->data. */
  if (!(d->data[tokens] = (double *)malloc(sizeof **d->data))) return 4;
  for (int64_t p = 1; p <= STEPS; p++) {
    const int64_t sym[MG_MODEL_MAX_SYMBOLS] = {1, p};
    mg_model_config cfg;
    memset(&cfg, 0, sizeof cfg);
    const double *said = d->data[l->output[m->n_outputs - 1]];
    d->data[tokens][0] = p <= (int64_t)(sizeof prompt / sizeof *prompt) ? prompt[p - 1] : said[0];
    printf("%s%.0f", p > 1 ? " " : "", d->data[tokens][0]);
    if (mg_model_step(d, sym, &cfg, &e) != MG_OK) return failed(&e);
  }
  printf("\n");
  mg_model_data_free(d), mg_weights_close(w), mg_model_list_free(l), mg_model_free(m);
  return 0;
}
