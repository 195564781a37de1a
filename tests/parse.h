/* Programs and µGraphs from text.  Include it after cmocka.h and mirage.h. */
#ifndef MG_TESTS_PARSE_H
#define MG_TESTS_PARSE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of n bytes of text; `what` names them in the message. */
static inline mg_graph *parse_part(const char *text, size_t n, const char *what, const mg_config *cfg) {
  mg_error e;
  mg_graph *g = NULL;
  memset(&e, 0, sizeof e);
  if (mg_parse(text, n, what, cfg, &g, &e) != MG_OK) fail_msg("%s:%d:%d: %s\n%.*s", what, e.line, e.column, e.msg, (int)n, text);
  return g;
}
static inline mg_graph *parse_with(const char *text, const mg_config *cfg) { return parse_part(text, strlen(text), "test", cfg); }
static inline mg_graph *parse(const char *text) { return parse_with(text, NULL); }

/* The text with `from` replaced by `to`, which must be there. */
static inline char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at) fail_msg("not there: %s", from);
  char *s = (char *)malloc(strlen(text) + strlen(to) + 1);
  sprintf(s, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return s;
}

/* The text is no program, and the error says so. */
static inline void refuses_text(const char *text, const char *says) {
  mg_error e;
  mg_graph *g = NULL;
  if (mg_parse(text, strlen(text), "test", NULL, &g, &e) == MG_OK) fail_msg("accepted:\n%s", text);
  if (!strstr(e.msg, says)) fail_msg("expected '%s', found '%s':\n%s", says, e.msg, text);
  assert_null(g);
}
/* The first output of g on inputs whose row i is a function of i alone. */
static inline double *first_values(const mg_graph *g) {
  const void *in[MG_MAX_IN];
  void *out[MG_MAX_OUT];
  mg_domain d = mg_domain_real();
  mg_error e;
  for (uint32_t k = 0; k < g->n_in; k++) {
    const int64_t n = mg_shape_elements(&mg_tensor_of(g, g->in[k])->shape);
    double *x = (double *)malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = sin((double)(i * 7 + 13 * k)) + 0.1 * cos((double)(i % 11));
    in[k] = x;
  }
  for (uint32_t k = 0; k < g->n_out; k++) out[k] = malloc((size_t)mg_shape_elements(&mg_tensor_of(g, g->out[k])->shape) * sizeof(double));
  assert_int_equal(mg_eval(g, &d, in, out, &e), MG_OK);
  for (uint32_t k = 0; k < g->n_in; k++) free((void *)(uintptr_t)in[k]);
  for (uint32_t k = 1; k < g->n_out; k++) free(out[k]);
  return (double *)out[0];
}

#endif
