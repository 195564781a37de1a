/* What `wary` is in the tool, nearly.  Include it after cmocka.h and mirage_cuda.cuh. */
#ifndef MG_TESTS_UNSHIFTED_H
#define MG_TESTS_UNSHIFTED_H

/* 1: g's exponentials have neither a running maximum in their kernels nor one of their own; user: the architecture. */
static int unshifted(void *user, const mg_graph *g) {
  char *cu = NULL, *text = NULL;
  mg_error e;
  mg_emit_config c;
  memset(&c, 0, sizeof c), c.arch = (const char *)user;
  assert_int_equal(mg_print(g, &text, &e), MG_OK);
  if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  const int open = !strstr(cu, "mg_row_shift<") && !strstr(text, " = max(");
  mg_string_free(cu), mg_string_free(text);
  return open;
}

#endif
