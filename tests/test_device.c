/* Sizes in device memory: emitted kernels that read them there, under link 2.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_device.c -o build/test_device -lcmocka -lm -lpthread -ldl && build/test_device */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include <stdio.h>
#include <stdlib.h>
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"

#define ATTENTION "program f\nsym p in 1..40\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, p]\ninput V : f16[2, p, 32]\n"
/* A loop over p's chunks; a grid of them, and a loop; the grid alone; operators over whole tensors; extents computed of p; a size
   that comes with the launch beside it. */
static const struct { const char *text; uint32_t device, displaced; } families[] = {
    {ATTENTION "O = kernel grid=(x=2) threads=32 {\n  q = load Q {x->0}\n  for i=ceil(p/8) {\n    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n"
               "    e = exp(scale(matmul(q, k), 1/8))\n    s = sum(e, dim=2)\n    o = matmul(e, v)\n  }\n  d = div(accum(o) {i->+}, accum(s) {i->+})\n  store d {x->0}\n}\noutput O\n",
     1, 1},
    {"program f\nsym p in 1..90\ninput X : f16[p, 64]\ninput W : f16[64, 32]\nO = kernel grid=(x=ceil(p/8), y=2) threads=64 {\n  a = load X {x->0}\n  b = load W {y->1}\n"
     "  c = relu(matmul(a, b))\n  store c {x->0, y->1}\n}\noutput O\n",
     1, 1},
    {"program f\nsym p in 1..70\ninput X : f16[8, p]\nS = sum(X, dim=1)\nE = exp(X)\noutput S, E\n", 1, 3},
    {"program f\nsym p in 1..20\ninput X : f16[4*p, 16]\nO = relu(exp(X))\noutput O\n", 1, 1},
    {"program f\nsym n in 1..6\nsym p in 1..70\ninput X : f16[n, p]\nO = sum(exp(X), dim=1)\noutput O\n", 2, 1},
    {"program f\nsym n in 1..6\nsym p in 1..70\ninput X : f16[n, p]\nO = sum(exp(X), dim=1)\noutput O\n", 3, 0},
    {"program f\nsym n in 1..40\ninput X : f16[n, 64]\nO = kernel grid=(x=ceil(n/8)) threads=64 {\n  a = load X {x->0}\n  b = exp(a)\n  store b {x->0}\n}\noutput O\n", 0, 1},
    {"program f\ninput X : f16[16, 64]\nO = exp(X)\noutput O\n", 0, 1},
};
static char *emitted(const char *text, uint32_t device, uint32_t displaced, const char *arch) {
  mg_graph *g = parse(text);
  mg_emit_config c;
  mg_error e;
  char *cu = NULL;
  memset(&c, 0, sizeof c);
  c.device = device, c.displaced = displaced, c.arch = arch;
  if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
  mg_graph_free(g);
  return cu;
}
static mg_status checked(const char *cu, mg_check_report *r) {
  mg_check_config c;
  mg_error e;
  memset(&c, 0, sizeof c);
  c.include_dir = ".", c.seeds = 3;
  const mg_status s = mg_cuda_check(NULL, cu, &c, r, &e);
  if (s != MG_OK && s != MG_NOT_FOUND) fail_msg("%s: %s", e.where, e.msg);
  return s;
}
static void families_read_their_sizes(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
    mg_check_report r;
    char *cu = emitted(families[k].text, families[k].device, families[k].displaced, "sm_80");
    if (checked(cu, &r) != MG_OK) fail_msg("%zu: %s", k, r.difference);
    mg_string_free(cu);
  }
}
/* The text with `with` for each `old`. */
static char *with_each(const char *text, const char *old, const char *with) {
  size_t n = 0;
  for (const char *at = text; (at = strstr(at, old)) != NULL; at += strlen(old)) n++;
  char *out = (char *)malloc(strlen(text) + n * strlen(with) + 1), *to = out;
  assert_non_null(out);
  if (!n) fail_msg("expected '%s' in\n%s", old, text);
  for (const char *at; (at = strstr(text, old)) != NULL; text = at + strlen(old)) to += sprintf(to, "%.*s%s", (int)(at - text), text, with);
  strcpy(to, text);
  return out;
}
/* A kernel that takes from its launch what it has to read: the launch that was captured is for another value of the same blocks. */
static void what_the_launch_says_is_caught(void **state) {
  int caught = 0, n = 0;
  (void)state;
  for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
    if (!families[k].device || k % 2 == 1) continue; /* a loop, whole tensors, a size that comes with the launch beside it */
    mg_check_report r;
    const int second = families[k].device > 1; /* of n and p, p */
    char *cu = emitted(families[k].text, families[k].device, families[k].displaced, "sm_80"), in[40];
    snprintf(in, sizeof in, "(const int64_t *)in[%d]", k == 0 ? 3 : k == 1 ? 2 : 1);
    char *a = with_each(cu, "const int64_t *words)", "const int64_t *words, int64_t late)");
    char *b = with_each(a, second ? "sym_p = mg_ldg(words + 1)" : "sym_p = mg_ldg(words)", "sym_p = late");
    snprintf(in + strlen(in), sizeof in - strlen(in), ")");
    char with[60];
    snprintf(with, sizeof with, "%.*s, sym_p)", (int)strlen(in) - 1, in);
    char *c = with_each(b, in, with);
    n++, caught += checked(c, &r) == MG_NOT_FOUND;
    mg_string_free(cu), free(a), free(b), free(c);
  }
  assert_int_equal(caught, n);
  assert_int_equal(n, 3);
}
/* Where an output stands is read too; a grid that says that it never changes is one of too few blocks. */
static void what_is_left_out_is_caught(void **state) {
  static const struct { size_t k; const char *old, *with; } bad[] = {
      {7, "  p_O += mg_ldg(words);\n", ""}, {2, "  p_E += mg_ldg(words + 2);\n", ""}, {1, "count[k] = all[k]", "count[k] = 1"}, {1, "extern \"C\" int f_blocks(", "extern \"C\" int f_others("}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    mg_check_report r;
    char *cu = emitted(families[bad[k].k].text, families[bad[k].k].device, families[bad[k].k].displaced, "sm_80"), *other = with_each(cu, bad[k].old, bad[k].with);
    if (checked(other, &r) != MG_NOT_FOUND) fail_msg("%zu passes", k);
    mg_string_free(cu), free(other);
  }
}
/* What the launch itself hands over: maps of tensor copies, products of cuBLAS.  Other symbols, and other outputs, are read all the same. */
#define COPIES(size, of) \
  "program f\nsym n in 1..90 of 96\nsym p in 1..90 of 96\ninput X : f16[n, 64]\ninput Y : f16[p, 64]\ninput U : f16[64, 64]\nO = kernel grid=(x=ceil(" size "/32), y=2) threads=64 {\n" \
  "  plan { copy=tma stages=2 warps_m=2 warps_n=1 warps_k=1 }\n  for i=4 {\n    x = load " of " {x->0, i->1}\n    u = load U {y->1, i->0}\n    q = matmul(x, u)\n  }\n" \
  "  o = accum(q) {i->+}\n  store o {x->0, y->1}\n}\nS = sum(Y, dim=0)\nT = sum(X, dim=0)\noutput O, S, T\n"
static void launches_hand_over(void **state) {
  static const struct { const char *text, *arch; uint32_t device, displaced, read, moved; } cases[] = {
      {COPIES("p", "Y"), "sm_90a", 3, 7, 1, 7},
      {COPIES("n", "X"), "sm_90a", 3, 7, 2, 7},
      {"program f\nsym n in 1..9\nsym p in 1..9\ninput X : f16[n, 32]\ninput Y : f16[p, 32]\ninput W : f16[32, 32]\nO = matmul(X, W)\nP = exp(Y)\nQ = relu(O)\noutput O, P, Q\n", "sm_80", 3, 7, 2, 6},
      {"program f\nsym p in 1..9\ninput X : f16[p, 32]\ninput W : f16[32, 32]\nO = matmul(X, W)\nQ = relu(O)\noutput Q\n", "sm_80", 1, 0, 0, 0}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_check_report r;
    char *cu = emitted(cases[k].text, cases[k].device, cases[k].displaced, cases[k].arch), *plain = emitted(cases[k].text, 0, 0, cases[k].arch), says[40];
    snprintf(says, sizeof says, "0x%x, 0x%x};", cases[k].read, cases[k].moved);
    if (cases[k].read | cases[k].moved) assert_non_null(strstr(cu, says));
    else assert_string_equal(cu, plain);
    if (checked(cu, &r) != MG_OK) fail_msg("%zu: %s", k, r.difference);
    mg_string_free(cu), mg_string_free(plain);
  }
}
/* A file of ranges: all of them read the same, or none does. */
/* A file that says more grids than link 2 can hold, or a number that is none: refused, not passed by. */
static void counts_without_end(void **state) {
  static const char *const says[] = {"return 5000;", "return -1;"};
  (void)state;
  for (int k = 0; k < 2; k++) {
    mg_check_config c;
    mg_check_report r;
    mg_error e;
    char *cu = emitted(families[1].text, 1, 1, "sm_80"), *blocks = strstr(cu, "f_blocks(const int64_t *sym");
    char *end = blocks ? strstr(blocks, "return 3;") : NULL;
    assert_non_null(end);
    char *wrong = (char *)malloc(strlen(cu) + 100);
    assert_non_null(wrong);
    snprintf(wrong, strlen(cu) + 100, "%.*s%s%s", (int)(end - cu), cu, says[k], end + strlen("return 3;"));
    memset(&c, 0, sizeof c);
    c.include_dir = ".", c.seeds = 1;
    assert_int_equal(mg_cuda_check(NULL, wrong, &c, &r, &e), MG_UNSUPPORTED);
    assert_non_null(strstr(e.msg, "counts of blocks"));
    free(wrong), mg_string_free(cu);
  }
}
static void ranges_read_the_same(void **state) {
  static const char kernel[] = "program f_1\nsym p in 1..20 of 24\ninput X : f16[p, 64]\nO = kernel grid=(x=ceil(p/8)) threads=64 {\n  a = load X {x->0}\n  b = exp(a)\n  store b {x->0}\n}\noutput O\n";
  static const char *const second[] = {"program f_2\nsym p in 20..60 of 64\ninput X : f16[p, 64]\nO = exp(X)\noutput O\n",
                                       "program f_2\nsym p in 20..60 of 64\ninput X : f16[p, 64]\nO = kernel grid=(x=ceil(p/32), y=2) threads=64 {\n  plan { copy=tma stages=2 warps_m=2 warps_n=1 warps_k=1 }\n  for i=2 {\n"
                                       "    a = load X {x->0, y->1, i->1}\n    b = exp(a)\n  }\n  c = accum(b) {i->1}\n  store c {x->0, y->1}\n}\noutput O\n"};
  (void)state;
  for (int k = 0; k < 2; k++) {
    mg_graph *g[2] = {parse(kernel), parse(second[k])};
    mg_emit_config c;
    mg_check_report r;
    mg_error e;
    char *cu = NULL;
    memset(&c, 0, sizeof c);
    c.device = 1, c.arch = "sm_90a";
    if (mg_cuda_emit_ranges((const mg_graph *const *)g, 2, &c, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(strstr(cu, "f_blocks(") != NULL, k == 0);
    assert_int_equal(strstr(cu, "words") != NULL, k == 0);
    if (checked(cu, &r) != MG_OK) fail_msg("%d: %s", k, r.difference);
    mg_string_free(cu), mg_graph_free(g[0]), mg_graph_free(g[1]);
  }
}
/* Link 2 of an edited file of a family: an edit that changes nothing is none. */
static void edits_of_families(void **state) {
  mg_check_report r;
  (void)state;
  char *cu = emitted(families[0].text, 0, 0, "sm_80"), *other = with_each(cu, "b_x = mg_bid(0)", "b_x = 0 + mg_bid(0)");
  if (checked(other, &r) != MG_OK) fail_msg("%s", r.difference);
  mg_string_free(cu), free(other);
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(families_read_their_sizes), cmocka_unit_test(what_the_launch_says_is_caught), cmocka_unit_test(what_is_left_out_is_caught),
                                     cmocka_unit_test(launches_hand_over), cmocka_unit_test(counts_without_end), cmocka_unit_test(ranges_read_the_same), cmocka_unit_test(edits_of_families)};
  return cmocka_run_group_tests_name("sizes in device memory", tests, NULL, NULL);
}
