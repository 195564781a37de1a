/* Programs and µGraphs from text.  Include it after cmocka.h and mirage.h. */
#ifndef MG_TESTS_PARSE_H
#define MG_TESTS_PARSE_H

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

#endif
