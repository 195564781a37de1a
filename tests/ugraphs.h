/* The µGraphs of tests/programs.ugraphs, in its order.  Include it after parse.h.
     ugraphs u = {0};
     for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g)) ... u.arch ...                                   */
#ifndef MG_TESTS_UGRAPHS_H
#define MG_TESTS_UGRAPHS_H

#include <stdio.h>
#include <stdlib.h>

typedef struct ugraphs { char *text, *at, arch[16]; } ugraphs; /* at: where the next one begins; arch: what the last one is for */

static inline void ugraphs_open(ugraphs *u) {
  FILE *f = fopen("tests/programs.ugraphs", "rb");
  long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
  if (n < 0) fail_msg("tests/programs.ugraphs is not there: run from the repository's root");
  rewind(f);
  u->text = (char *)malloc((size_t)n + 1);
  assert_non_null(u->text);
  assert_int_equal(fread(u->text, 1, (size_t)n, f), n);
  u->text[n] = 0, u->at = strstr(u->text, "#@ ");
  fclose(f);
}
/* The next one; NULL after the last. */
static inline mg_graph *ugraphs_next(ugraphs *u) {
  if (!u->text) ugraphs_open(u);
  if (!u->at) { free(u->text); u->text = NULL; return NULL; }
  char *body = strchr(u->at, '\n'), *next = body ? strstr(body, "\n#@ ") : NULL;
  assert_non_null(body);
  snprintf(u->arch, sizeof u->arch, "%.*s", (int)(body - u->at - 3), u->at + 3);
  u->at = next ? next + 1 : NULL;
  return parse_part(body, next ? (size_t)(next - body) : strlen(body), "tests/programs.ugraphs", NULL);
}

#endif
