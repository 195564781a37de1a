/* Sizes as symbols: the text, the members of a family, verdicts about all of them, ranges, and emitted files that take a size with
   the launch.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_symbols.c -o build/test_symbols -lcmocka -lm -lpthread -ldl && build/test_symbols */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"
#include "sums.h"

#define HEAD "program f\nsym n in 1..40\ninput X : f16[n, 64]\ninput W : f16[64, 32]\n"
#define BODY "  t1 = load X {x->0, y->*}\n  t2 = load W {x->*, y->1}\n  t3 = relu(matmul(t1, t2))\n  store t3 {x->0, y->1}\n}\noutput O\n"
static const char program[] = HEAD "O = relu(matmul(X, W))\noutput O\n";
static const char kernels[] = HEAD "O = kernel grid=(x=ceil(n/8), y=2) threads=64 {\n" BODY;

static void prints_what_it_reads(void **state) {
  static const char *const texts[] = {program, kernels,
                                      "program s\nsym n in 1..6\nsym m in 2..9\ninput X : f16[n, m, 8]\nO = transpose(reshape(X, [n, m, 2, 4]), [1, 0, 2, 3])\noutput O\n",
                                      "program c\nsym n in 3..5\ninput X : f16[n, 8]\nO = kernel grid=(x=n) threads=32 {\n  t1 = load X {x->0}\n  t2 = exp(t1)\n  store t2 {x->0}\n}\noutput O\n"};
  (void)state;
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    char *once, *twice;
    mg_error e;
    mg_graph *g = parse(texts[k]);
    assert_int_equal(mg_print(g, &once, &e), MG_OK);
    mg_graph *h = parse(once);
    assert_int_equal(mg_print(h, &twice, &e), MG_OK);
    assert_string_equal(once, twice);
    assert_true(mg_graph_equal(g, h));
    assert_true(mg_hash(g) == mg_hash(h));
    mg_string_free(once), mg_string_free(twice), mg_graph_free(g), mg_graph_free(h);
  }
  /* A loop of one chunk has its symbol, as it stays in the maps. */
  mg_graph *loop = parse("program f\nsym n in 1..8\ninput X : f16[n, 8]\nO = kernel grid=(x=2) threads=32 {\n  for i=ceil(n/8) {\n    a = load X {x->1, i->0}\n    b = exp(a)\n  }\n"
                         "  c = accum(b) {i->0}\n  store c {x->1}\n}\noutput O\n");
  mg_graph_free(loop);
  mg_graph *g = parse(kernels), *wider = parse("program f\nsym n in 2..40\ninput X : f16[n, 64]\ninput W : f16[64, 32]\nO = relu(matmul(X, W))\noutput O\n"), *p = parse(program);
  assert_int_equal((int)g->ops[1].sub->axes[1].symbol, 1); /* x counts n's chunks, y does not */
  assert_int_equal((int)g->ops[1].sub->axes[2].symbol, 0);
  assert_false(mg_graph_equal(p, wider)); /* bounds are part of what it is */
  mg_graph_free(g), mg_graph_free(wider), mg_graph_free(p);
}

static void says_what_is_no_family(void **state) {
  static const struct { const char *text, *says; } bad[] = {
      {"program f\nsym n in 0..4\ninput X : f16[n]\nO = exp(X)\noutput O\n", "1 <= least <= most"},
      {"program f\nsym n in 5..4\ninput X : f16[n]\nO = exp(X)\noutput O\n", "1 <= least <= most"},
      {"program f\nsym n in 1..4\nsym n in 1..5\ninput X : f16[n]\nO = exp(X)\noutput O\n", "is a symbol already"},
      {"program f\nsym n in 1..4\ninput X : f16[4]\nO = exp(X)\noutput O\n", "no input has n"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8]\nO = mean(X, dim=0)\noutput O\n", "a mean over n"},
      {"program f\nsym n in 1..4\ninput X : f16[8, n]\ninput G : f16[n]\nO = sum(rms_norm(X, G, eps=1/1000000), dim=1)\noutput O\n", "a mean over n"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8]\ninput Y : f16[n, 8]\nO = sum(concat(X, Y, dim=0), dim=0)\noutput O\n", "joined or taken apart"},
      {"program f\nsym n in 2..4\ninput X : f16[n, 8]\nO = sum(slice(X, dim=0, from=0, n=2), dim=0)\noutput O\n", "joined or taken apart"},
      {"program f\nsym n in 2..4\ninput W : f16[n, 8]\ninput I : i32[3]\nO = gather(W, I)\noutput O\n", "picked from by an index"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8]\nO = reshape(matmul(X, transpose(X, [1, 0])), [4, n])\noutput O\n", "expected n there"},
      {"program f\nsym n in 1..4\ninput X : f16[8, n]\ninput W : f16[4, 8]\nO = matmul(X, W)\noutput O\n", "it has to be n too"},
      {"program f\nsym n in 1..64\ninput X : f16[8, n]\nO = kernel grid=(x=ceil(n/32)) threads=32 {\n  for i=4 {\n    a = load X {x->1, i->1}\n    b = sum(a, dim=1)\n  }\n  c = accum(b) {i->+}\n"
       "  d = accum(c) {x->+}\n  store d {x->*}\n}\noutput O\n",
       "is cut twice"},
      {"program f\nsym n in 1..64\ninput X : f16[8, n]\nS = kernel grid=(x=ceil(n/32)) threads=32 {\n  a = load X {x->1}\n  b = sum(a, dim=1)\n  store b {x->1}\n}\nO = sum(S, dim=1)\noutput O\n",
       "nor does it contract it"}, /* as many sums as chunks are an extent that follows n */
      {"program f\nsym n in 1..64\ninput X : f16[8, n]\nO = kernel grid=(x=2) threads=32 {\n  for i=4 {\n    a = load X {x->0, i->1}\n    b = sum(a, dim=1)\n  }\n  c = accum(b) {i->+}\n  store c {x->0}\n}\noutput O\n",
       "i=ceil(n/16)"},
      {"program f\nsym n in 1..64\ninput X : f16[8, n]\nO = kernel grid=(x=2) threads=32 {\n  for i=ceil(n/16) {\n    a = load X {x->0, i->1}\n  }\n  c = accum(a) {i->+}\n  d = sum(c, dim=1)\n  store d {x->0}\n}\noutput O\n",
       "nor does it contract it"}, /* chunk on chunk */
      {"program f\nsym n in 1..64\ninput X : f16[n, n]\nO = kernel grid=(x=ceil(n/8)) threads=32 {\n  a = load X {x->0}\n  b = load X {x->1}\n  o = matmul(a, b)\n  store o {x->0}\n}\noutput O\n",
       "is joined or taken apart"}, /* chunks by chunks */
      {"program f\nsym n in 1..64\ninput X : f16[n, 8]\nO = kernel grid=(x=ceil(n/8)) threads=32 {\n  a = load X {x->0}\n  for i=ceil(n/8) {\n    b = load X {x->0, i->0}\n    c = sum(b, dim=0)\n  }\n"
       "  d = accum(c) {i->+}\n  o = add(a, d)\n  store o {x->0}\n}\noutput O\n",
       "is cut twice"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8]\nO = reshape(X, [8, n])\noutput O\n", "a reshape joins it"},
      {"program f\nsym n in 1..5\ninput Q : f16[n, 8]\ninput K : f16[8, 4]\nO = causal(matmul(Q, K))\noutput O\n", "got up to 5 queries and 4 keys"},
      {"program f\nsym n in 3..5\ninput Q : f16[4, 8]\ninput K : f16[8, n]\nO = causal(matmul(Q, K))\noutput O\n", "got 4 queries and from 3 keys"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8]\ninput C : f16[4, 8] = causal\nO = add(X, C)\noutput O\n", "it has to be n too"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8]\ninput Y : f16[4, 8]\nO = add(X, Y)\noutput O\n", "it has to be n too"},
      {"program f\nsym n in 1..4\nsym m in 1..4\ninput X : f16[n, 8]\ninput Y : f16[m, 8]\nO = add(X, Y)\noutput O\n", "it has to be"},
      {"program f\nsym n in 1..4\ninput X : f16[m, 8]\nO = exp(X)\noutput O\n", "expected an extent or a symbol"},
      {"program f\nsym n 1..4\ninput X : f16[n, 8]\nO = exp(X)\noutput O\n", "expected 'in'"},
      {HEAD "O = kernel grid=(x=5, y=2) threads=64 {\n" BODY, "x=ceil(n/8)"},
      {HEAD "O = kernel grid=(x=5, y=ceil(n/20)) threads=64 {\n" BODY, "expected the count of its chunks"},
      {HEAD "O = kernel grid=(x=ceil(n/16), y=2) threads=64 {\n" BODY, "3 chunks of it have 14 elements, not 16"},
      {HEAD "O = kernel grid=(x=ceil(n/0), y=2) threads=64 {\n" BODY, "at least one element"},
      {HEAD "O = kernel grid=(x=ceil(m/8), y=2) threads=64 {\n" BODY, "expected a symbol"},
      {HEAD "O = kernel grid=(x=ceil(n/8), y=2, z=n) threads=64 {\n  t1 = load X {x->0, y->*, z->*}\n  t2 = load W {x->*, y->1, z->*}\n  t3 = relu(matmul(t1, t2))\n  store t3 {x->0, y->1, z->*}\n}\noutput O\n",
       "is not the outermost axis"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 4]\nO = reshape(X, [4, n])\noutput O\n", "runs with n"}, /* at 4 both are [4, 4] */
      {"program f\nsym n in 1..4\nsym m in 1..4\ninput X : f16[n, m, 8]\nO = reshape(X, [m, n, 8])\noutput O\n", "runs with n"},
      {"program f\nsym n in 3..37 of 36\ninput X : f16[n, 8]\nO = exp(X)\noutput O\n", "within its bounds, got 37"},
      {"program f\nsym n in 3..37 of\ninput X : f16[n, 8]\nO = exp(X)\noutput O\n", "where whole chunks of it end"},
      {"program f\nsym ceil in 1..4\ninput X : f16[ceil]\nO = exp(X)\noutput O\n", "no name of a symbol"},
      {"program f\nsym n in 1..64\ninput X : f16[n, 8]\nO = kernel grid=(x=ceil(n/32), y=2) threads=32 {\n  a = load X {x->0, y->0}\n  b = exp(a)\n  store b {x->0, y->0}\n}\noutput O\n",
       "is cut twice"},
      {"program f\nsym n in 1..64\ninput X : f16[n, 8]\nO = kernel grid=(x=2) threads=64 {\n  a = load X {x->1}\n  b = thread grid=(x=ceil(n/2)) {\n    c = load a {x->0}\n    d = exp(c)\n    store d {x->0}\n  }\n"
       "  store b {x->1}\n}\noutput O\n",
       "threads do not cut n"},
      {"program f\nsym n in 1..64\ninput X : f16[n, 64]\nO = kernel grid=(x=2) threads=64 {\n  a = load X {x->0}\n  b = thread grid=(x=ceil(n/2)) {\n    c = load a {x->1}\n    d = exp(c)\n    store d {x->1}\n  }\n"
       "  store b {x->0}\n}\noutput O\n",
       "x=ceil(n/32)"}};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuses_text(bad[k].text, bad[k].says);
}

/* Both families have the first rows of the program's greatest member, at every size. */
static void same_members(const mg_graph *p, const mg_graph *f, int64_t least, int64_t most) {
  mg_error e;
  mg_graph *whole;
  const int64_t top = p->symbol[0].last;
  assert_int_equal(mg_at(p, &top, &whole, &e), MG_OK);
  double *want = first_values(whole);
  for (int64_t n = least; n <= most; n++) {
    mg_graph *m = NULL;
    if (mg_at(f, &n, &m, &e) != MG_OK) fail_msg("n = %lld: %s", (long long)n, e.msg);
    assert_int_equal((int)m->n_symbols, 0);
    assert_true(m->tensors[m->in[0].id].shape.dim[0] == n);
    double *got = first_values(m);
    for (int64_t i = 0; i < n * 32; i++)
      if (fabs(got[i] - want[i]) > 1e-9) fail_msg("n = %lld, element %lld: %g, not %g", (long long)n, (long long)i, got[i], want[i]);
    free(got), mg_graph_free(m);
  }
  free(want), mg_graph_free(whole);
}
static void members_are_the_first_rows(void **state) {
  mg_graph *p = parse(program), *f = parse(kernels), *out;
  mg_error e;
  (void)state;
  same_members(p, p, 1, 40), same_members(p, f, 1, 40);
  const int64_t out_of[] = {0, 41, -3};
  for (int k = 0; k < 3; k++) assert_int_equal(mg_at(f, &out_of[k], &out, &e), MG_BAD_INPUT);
  const int64_t one = 1, sixteen = 16, seventeen = 17, zero = 0;
  assert_int_equal(mg_within(f, &one, &sixteen, &out, &e), MG_OK);
  assert_true(out->symbol[0].most == 16 && out->ops[1].sub->axes[1].extent == 2 && out->ops[1].sub->axes[1].symbol == 1);
  same_members(p, out, 1, 16);
  mg_graph_free(out);
  assert_int_equal(mg_within(f, &one, &seventeen, &out, &e), MG_BAD_INPUT); /* 3 chunks of 6 */
  assert_int_equal(mg_within(f, &zero, &sixteen, &out, &e), MG_BAD_INPUT);
  mg_graph *member, *again;
  assert_int_equal(mg_at(f, &sixteen, &member, &e), MG_OK);
  assert_int_equal(mg_family_of(member, p, &again, &e), MG_OK); /* and back */
  assert_true(again->symbol[0].most == 16 && again->ops[1].sub->axes[1].symbol == 1);
  mg_graph_free(member), mg_graph_free(again), mg_graph_free(p), mg_graph_free(f);
}

/* Chunks go further than what a launch takes: members, the text and what is emitted end where the symbol does. */
static mg_status checked(const char *cu, mg_check_report *r, mg_error *e);
static void a_launch_takes_its_bounds(void **state) {
  static const char *const plants[][2] = {{"sym_n > 37)", "sym_n > 40)"},
                                          {"f_symbols[] = {{\"n\", 3, 37}}", "f_symbols[] = {{\"n\", 3, 40}}"},
                                          {"#define f_D0 37", "#define f_D0 40"}};
  mg_check_report r;
  mg_error e;
  char *text, *cu, *less = replaced(kernels, "1..40", "3..37 of 40"), *few = replaced(program, "1..40", "3..37");
  mg_graph *g = parse(less), *whole = parse(kernels), *p = parse(few), *own, *out;
  (void)state;
  assert_true(g->symbol[0].most == 40 && g->symbol[0].last == 37);
  assert_int_equal(mg_print(g, &text, &e), MG_OK);
  assert_non_null(strstr(text, "sym n in 3..37 of 40\n"));
  mg_graph *again = parse(text);
  assert_true(mg_graph_equal(g, again) && !mg_graph_equal(g, whole) && mg_hash(g) != mg_hash(whole));
  const int64_t at[] = {2, 3, 37, 38, 40};
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    assert_int_equal(mg_at(g, &at[k], &out, &e), k == 1 || k == 2 ? MG_OK : MG_BAD_INPUT);
    mg_graph_free(out);
  }
  assert_int_equal(mg_within_of(p, g, &own, &e), MG_OK);
  same_members(own, g, 3, 37);
  mg_verify_report v;
  assert_int_equal(mg_verify(p, g, NULL, &v, &e), MG_BAD_INPUT); /* it has no whole chunks */
  assert_int_equal(mg_verify(own, g, NULL, &v, &e), MG_OK);
  assert_int_equal(v.verdict, MG_EQUAL);
  mg_string_free(text);
  assert_int_equal(mg_certificate(own, g, &v, &text, &e), MG_OK);
  if (mg_certificate_check(text, strlen(text), &v, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_OK);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (strcmp(r.sizes, "n = 3, 7, 8, 9, 31, blocks of 37")) fail_msg("%s", r.sizes);
  for (int k = 0; k < (getenv("SOAK_S") ? 3 : 1); k++) {
    char *wrong = replaced(cu, plants[k][0], plants[k][1]);
    assert_int_equal(checked(wrong, &r, &e), MG_NOT_FOUND);
    free(wrong);
  }
  mg_string_free(text), mg_string_free(cu), free(less), free(few);
  mg_graph_free(g), mg_graph_free(whole), mg_graph_free(p), mg_graph_free(own), mg_graph_free(again);
}

static mg_verdict verdict_of(const char *a, const char *b, mg_verify_report *r) {
  mg_graph *p = parse(a), *f = parse(b);
  mg_error e;
  const mg_status s = mg_verify(p, f, NULL, r, &e);
  char *cert = NULL;
  if (s != MG_OK) fail_msg("%s", e.msg);
  if (r->verdict == MG_EQUAL) {
    mg_verify_report again;
    assert_int_equal(mg_certificate(p, f, r, &cert, &e), MG_OK);
    if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_non_null(strstr(cert, "sym n in 1..40"));
    mg_string_free(cert);
  }
  mg_graph_free(p), mg_graph_free(f);
  return r->verdict;
}
static void verdicts_are_for_all_sizes(void **state) {
  mg_verify_report r;
  mg_error e;
  (void)state;
  assert_int_equal(verdict_of(program, kernels, &r), MG_EQUAL);
  assert_non_null(strstr(r.every, "n >= 1"));
  assert_int_equal(verdict_of(program, program, &r), MG_EQUAL);
  assert_int_equal(verdict_of(program, HEAD "O = relu(scale(matmul(X, W), 2))\noutput O\n", &r), MG_NOT_EQUAL);
  /* What the builder makes of one member may be equal there; of a family nothing is said but for all of it. */
  mg_graph *p = parse(program), *f = parse(kernels);
  mg_verify_config c = mg_verify_config_default();
  c.full_size = 1;
  assert_int_equal(mg_verify(p, f, &c, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_UNDECIDED);
  mg_graph *one, *less;
  const int64_t from = 1, forty = 40, eight = 8;
  assert_int_equal(mg_at(p, &forty, &one, &e), MG_OK);
  assert_int_equal(mg_verify(one, f, NULL, &r, &e), MG_BAD_INPUT); /* a member with a family */
  assert_int_equal(mg_within(p, &from, &eight, &less, &e), MG_OK);
  assert_int_equal(mg_verify(less, f, NULL, &r, &e), MG_BAD_INPUT); /* other bounds */
  assert_int_equal(mg_search(p, NULL, &(mg_search_result){0}, &e), MG_BAD_INPUT);
  mg_graph_free(one), mg_graph_free(less), mg_graph_free(p), mg_graph_free(f);
}

/* ---- what is contracted */

#define LINEAR "program f\nsym k in 1..40\ninput X : f16[4, k]\ninput W : f16[k, 32]\n"
static const char linear[] = LINEAR "O = matmul(X, W)\noutput O\n";
/* What the loop makes of each chunk, and what becomes of all. */
#define LOOP(each, all)                                                                                                     \
  LINEAR "O = kernel grid=(x=2) threads=64 {\n  for i=ceil(k/8) {\n    x = load X {x->*, i->1}\n    w = load W {x->1, i->0}\n" \
         "    m = " each "\n  }\n  s = accum(m) {i->" all "}\n  store s {x->1}\n}\noutput O\n"
static const char in_chunks[] = LOOP("matmul(x, w)", "+");

#define ATTENTION "program f\nsym p in 1..40\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, p]\ninput V : f16[2, p, 32]\n"
static const char attention[] = ATTENTION "O = matmul(softmax(scale(matmul(Q, K), 1/8), dim=2), V)\noutput O\n";
static const char flash[] = ATTENTION
    "O = kernel grid=(x=2) threads=128 {\n  q = load Q {x->0}\n  for i=ceil(p/8) {\n    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n"
    "    e = exp(scale(matmul(q, k), 1/8))\n    s = sum(e, dim=2)\n    o = matmul(e, v)\n  }\n  S = accum(s) {i->+}\n  A = accum(o) {i->+}\n  r = div(A, S)\n  store r {x->0}\n}\noutput O\n";

/* The program and the µGraph have one value at every size. */
static void same_values(const char *a, const char *b) {
  mg_graph *p = parse(a), *f = parse(b);
  mg_error e;
  for (int64_t n = p->symbol[0].least; n <= p->symbol[0].last; n++) {
    mg_graph *m[2] = {NULL, NULL};
    if (mg_at(p, &n, &m[0], &e) != MG_OK || mg_at(f, &n, &m[1], &e) != MG_OK) fail_msg("%lld: %s", (long long)n, e.msg);
    double *want = first_values(m[0]), *got = first_values(m[1]);
    for (int64_t i = 0; i < mg_shape_elements(&mg_tensor_of(m[0], m[0]->out[0])->shape); i++)
      if (fabs(got[i] - want[i]) > 1e-9) fail_msg("at %lld, element %lld: %g, not %g", (long long)n, (long long)i, got[i], want[i]);
    free(want), free(got), mg_graph_free(m[0]), mg_graph_free(m[1]);
  }
  mg_graph_free(p), mg_graph_free(f);
}
static void what_is_contracted_is_equal_at_values(void **state) {
  static const struct { const char *a, *b, *at, *every; } pairs[] = {
      {linear, in_chunks, "k = 1, 7, 8, 9, 23, 40", "for all M >= 1, N >= 1"},
      {attention, flash, "p = 1, 7, 8, 9, 23, 40", "for all M >= 1, N >= 1, R >= 1"}, /* a class is not called P beside p */
      {linear, LINEAR "O = transpose(matmul(transpose(W, [1, 0]), transpose(X, [1, 0])), [1, 0])\noutput O\n", "k = 1, 15, 16, 17, 39, 40", "for all M >= 1"},
      {"program s\nsym p in 1..40\nsym n in 1..40\ninput X : f16[n, p]\nO = sum(sqr(X), dim=1)\noutput O\n",
       "program s\nsym p in 1..40\nsym n in 1..40\ninput X : f16[n, p]\nO = kernel grid=(x=ceil(n/4), y=ceil(p/8)) threads=64 {\n  x = load X {x->0, y->1}\n  s = accum(sum(sqr(x), dim=1)) {y->+}\n  store s {x->0, y->*}\n}\noutput O\n",
       "p = 1, 7, 8, 9, 23, 40", "for all n >= 1"}};
  (void)state;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    mg_graph *p = parse(pairs[k].a), *f = parse(pairs[k].b), *shown[2];
    mg_verify_report r, again;
    mg_verify_config c = mg_verify_config_default();
    mg_error e;
    char *cert;
    if (p->n_symbols == 1) same_values(pairs[k].a, pairs[k].b);
    if (mg_verify(p, f, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.verdict != MG_EQUAL) fail_msg("%s", r.reason);
    assert_true(r.values > 3);
    if (strcmp(r.at, pairs[k].at)) fail_msg("at %s", r.at);
    assert_true(r.log2_delta < -64); /* of all values together */
    assert_non_null(strstr(r.reason, pairs[k].at));
    assert_non_null(strstr(r.reason, "and at no other"));
    assert_non_null(strstr(r.reason, pairs[k].every));
    assert_int_equal(mg_certificate(p, f, &r, &cert, &e), MG_OK);
    assert_null(strstr(cert, "for all k")), assert_null(strstr(cert, "for all p")), assert_null(strstr(cert, "p >= 1"));
    if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_true(again.fresh_tests == r.tests);
    assert_int_equal(mg_certificate_graphs(cert, strlen(cert), &shown[0], &shown[1], &e), MG_OK);
    assert_int_equal((int)shown[1]->n_symbols, (int)p->n_symbols); /* in the symbol */
    mg_graph_free(shown[0]), mg_graph_free(shown[1]);
    mg_string_free(cert);
    snprintf(r.reason, sizeof r.reason, "for all sizes: equal"); /* a certificate that says more than was shown */
    assert_int_equal(mg_certificate(p, f, &r, &cert, &e), MG_OK);
    assert_int_equal(mg_certificate_check(cert, strlen(cert), &again, &e), MG_BAD_INPUT);
    assert_int_equal(e.line, 5);
    mg_string_free(cert);
    assert_int_equal(mg_verify(p, p, NULL, &r, &e), MG_OK);
    assert_true(r.verdict == MG_EQUAL && r.proof == MG_PROOF_IDENTITY && !r.values);
    c.tier = MG_TIER_FAST; /* one test of one size */
    assert_int_equal(mg_verify(p, f, &c, &r, &e), MG_OK);
    assert_int_equal(r.verdict, MG_UNDECIDED);
    c.tier = MG_TIER_FULL, c.full_size = 1;
    assert_int_equal(mg_verify(p, f, &c, &r, &e), MG_OK);
    assert_int_equal(r.verdict, p->n_symbols > 1 ? MG_UNDECIDED : MG_EQUAL); /* of n nothing is said at one size */
    mg_graph_free(p), mg_graph_free(f);
  }
}
static void what_is_right_at_few_sizes_is_wrong(void **state) {
  static const struct { const char *b, *at; } wrong[] = {
      {LOOP("matmul(x, w)", "max"), "at k = 9"},                          /* one chunk is its own maximum */
      {LOOP("relu(matmul(x, w))", "+"), "at k = 1"},
      {LOOP("scale(matmul(x, w), 1/5)", "+"), "at k = 1"},                /* 1/5: as many chunks as there are at the bound */
      {LOOP("add(matmul(x, w), scale(sum(w, dim=0), 0))", "+"), NULL}};
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    mg_graph *p = parse(linear), *f = parse(wrong[k].b);
    mg_verify_report r;
    mg_error e;
    if (mg_verify(p, f, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.verdict != (wrong[k].at ? MG_NOT_EQUAL : MG_EQUAL)) fail_msg("%s: %s", mg_verdict_name(r.verdict), r.reason);
    if (wrong[k].at && strncmp(r.reason, wrong[k].at, strlen(wrong[k].at))) fail_msg("%s", r.reason);
    mg_graph_free(p), mg_graph_free(f);
  }
  /* A replica, once for each chunk. */
  char *a = replaced(linear, "\nO = matmul(X, W)", "\ninput B : f16[4, 32]\nO = add(matmul(X, W), B)");
  char *b = replaced(in_chunks, "\nO = kernel", "\ninput B : f16[4, 32]\nO = kernel");
  char *c = replaced(b, "    m = matmul(x, w)", "    b = load B {x->1, i->*}\n    m = add(matmul(x, w), b)");
  mg_graph *p = parse(a), *f = parse(c);
  mg_verify_report r;
  mg_error e;
  assert_int_equal(mg_verify(p, f, NULL, &r, &e), MG_OK);
  if (r.verdict != MG_NOT_EQUAL || strncmp(r.reason, "at k = 9", 8)) fail_msg("%s", r.reason);
  free(a), free(b), free(c), mg_graph_free(p), mg_graph_free(f);
}
/* ---- causal masks, whose extents run with symbols: queries are the last of the keys at every size */

#define CAUSAL(name, sym, queries, keys, with) \
  "program " name "\n" sym "input Q : f16[" queries ", 16]\ninput K : f16[" keys ", 16]\ninput V : f16[" keys ", 16]\n" with
#define MASKED "O = matmul(softmax(causal(scale(matmul(Q, transpose(K, [1, 0])), 1/4)), dim=1), V)\noutput O\n"
#define IN_PARTS(grid, x, loop, mask)                                                                                        \
  "O = kernel grid=(x=" grid ") threads=32 {\n  q = load Q {x->" x "}\n  for i=" loop " {\n    m = " mask "\n"                \
  "    k = load K {x->*, i->0}\n    e = exp(add(scale(matmul(q, transpose(k, [1, 0])), 1/4), m))\n"                          \
  "    v = load V {x->*, i->0}\n    o = matmul(e, v)\n    s = sum(e, dim=1)\n  }\n  A = accum(o) {i->+}\n  S = accum(s) {i->+}\n" \
  "  d = div(A, S)\n  store d {x->" x "}\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=1 }\n}\noutput O\n"
#define SQUARE_MASK "input causal_n_n_f16 : f16[n, n] = causal\n"
#define SQUARE(mask) CAUSAL("square", "sym n in 1..32\n", "n", "n", SQUARE_MASK) IN_PARTS("ceil(n/16)", "0", "ceil(n/8)", mask)
#define LAST_MASK "input causal_4_n_f16 : f16[4, n] = causal\n"
#define LAST(mask) CAUSAL("last", "sym n in 4..24\n", "4", "n", LAST_MASK) IN_PARTS("2", "0", "ceil(n/8)", mask)
static const char square[] = CAUSAL("square", "sym n in 1..32\n", "n", "n", MASKED), last[] = CAUSAL("last", "sym n in 4..24\n", "4", "n", MASKED);
static const char square_in_parts[] = SQUARE("load causal_n_n_f16 {x->0, i->1}"), last_in_parts[] = LAST("load causal_4_n_f16 {x->0, i->1}");

/* A member is the program as it is written at those numbers. */
static void masks_follow_their_sizes(void **state) {
  static const struct { const char *family, *as_written; int64_t n[2]; } of[] = {
      {square, CAUSAL("square", "", "7", "7", MASKED), {7, 0}},
      {square, CAUSAL("square", "", "1", "1", MASKED), {1, 0}},
      {last, CAUSAL("last", "", "4", "9", MASKED), {9, 0}},
      {CAUSAL("both", "sym m in 1..8\nsym n in 8..24\n", "m", "n", MASKED), CAUSAL("both", "", "3", "11", MASKED), {3, 11}}};
  mg_error e;
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *f = parse(of[k].family), *want = parse(of[k].as_written), *got;
    char *text;
    if (mg_at(f, of[k].n, &got, &e) != MG_OK) fail_msg("%s", e.msg);
    double *x = first_values(got), *y = first_values(want);
    for (int64_t i = 0; i < mg_shape_elements(&mg_tensor_of(want, want->out[0])->shape); i++)
      if (fabs(x[i] - y[i]) > 1e-12) fail_msg("case %d, element %lld: %g, not %g", (int)k, (long long)i, x[i], y[i]);
    assert_int_equal(mg_print(f, &text, &e), MG_OK);
    mg_graph *again = parse(text);
    assert_true(mg_graph_equal(f, again));
    free(x), free(y), mg_string_free(text), mg_graph_free(f), mg_graph_free(want), mg_graph_free(got), mg_graph_free(again);
  }
  /* One mask for all scores of those extents; 8 keys are not n of them, where n is at most 8. */
  mg_graph *g = parse("program f\nsym n in 8..8\nsym m in 1..8\ninput X : f16[m, n]\ninput Y : f16[m, 8]\ninput Z : f16[3, m, n]\n"
                      "A = causal(X)\nB = causal(Y)\nC = causal(Z)\noutput A, B, C\n");
  assert_int_equal((int)g->n_in, 5);
  mg_graph_free(g);
}
static void masks_of_families_are_verified(void **state) {
  static const struct { const char *a, *b, *at; } of[] = {
      {square, square_in_parts, "n = 1, 7, 8, 9, 15, 16, 17, 32"},
      {last, last_in_parts, "n = 4, 7, 8, 9, 23, 24"},
      {square, SQUARE("transpose(load causal_n_n_f16 {x->1, i->0}, [1, 0])"), NULL}, /* rows see what is before them */
      {last, LAST("scale(load causal_4_n_f16 {x->0, i->1}, 2)"), NULL}};
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *p = parse(of[k].a), *f = parse(of[k].b);
    mg_verify_report r, again;
    mg_error e;
    char *cert;
    if (mg_verify(p, f, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (of[k].at) {
      same_values(of[k].a, of[k].b);
      if (r.verdict != MG_EQUAL || strcmp(r.at, of[k].at)) fail_msg("case %d, at %s: %s", (int)k, r.at, r.reason);
      assert_int_equal(mg_certificate(p, f, &r, &cert, &e), MG_OK);
      if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s", e.msg);
      mg_string_free(cert);
    } else if (r.verdict == MG_EQUAL) fail_msg("case %d: %s", (int)k, r.reason);
    mg_graph_free(p), mg_graph_free(f);
  }
}
/* ---- self-attention: n of one input is rows of the queries and is summed over, too */

#define SELF(with) "program self\nsym n in 1..32\ninput X : f16[n, 16]\ninput A : f16[16, 16]\ninput B : f16[16, 16]\n" with
static const char self[] = SELF("Q = matmul(X, A)\nO = matmul(softmax(causal(scale(matmul(Q, transpose(matmul(X, B), [1, 0])), 1/16)), dim=1), X)\noutput O\n");
#define TWO_KERNELS(mask)                                                                                             \
  SELF("input causal_n_n_f16 : f16[n, n] = causal\nQ, K = kernel grid=(x=ceil(n/16)) threads=32 {\n  x = load X {x->0}\n"           \
       "  q = matmul(x, load A {x->*})\n  k = matmul(x, load B {x->*})\n  store q {x->0}\n  store k {x->0}\n"                       \
       "  plan { stages=2 warps_m=1 warps_n=1 warps_k=1 }\n}\nO = kernel grid=(x=ceil(n/8)) threads=32 {\n  q = load Q {x->0}\n"    \
       "  k = load K {x->*}\n  e = exp(add(scale(matmul(q, transpose(k, [1, 0])), 1/16), " mask "))\n  o = matmul(e, load X {x->*})\n" \
       "  r = div(o, sum(e, dim=1))\n  store r {x->0}\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=1 }\n}\noutput O\n")
#define ROWS_OF_MASK "load causal_n_n_f16 {x->0}"
static const char self_in_two[] = TWO_KERNELS(ROWS_OF_MASK);

static void self_attention_is_equal_at_values(void **state) {
  static const struct { const char *b, *at, *wrong; } of[] = {
      {self_in_two, "n = 1, 7, 8, 9, 15, 16, 17, 32", NULL},
      {TWO_KERNELS("transpose(load causal_n_n_f16 {x->1}, [1, 0])"), NULL, "at n = 7"}, /* what comes later */
      {TWO_KERNELS("scale(" ROWS_OF_MASK ", 0)"), NULL, "at n = 7"}};
  mg_graph *p = parse(self);
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *f = parse(of[k].b);
    mg_verify_report r, again;
    mg_error e;
    char *cert;
    if (mg_verify(p, f, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (of[k].wrong) {
      if (r.verdict != MG_NOT_EQUAL || strncmp(r.reason, of[k].wrong, strlen(of[k].wrong))) fail_msg("case %d: %s", (int)k, r.reason);
    } else {
      same_values(self, of[k].b);
      if (r.verdict != MG_EQUAL || strcmp(r.at, of[k].at)) fail_msg("at %s: %s", r.at, r.reason);
      assert_non_null(strstr(r.reason, "and at no other")), assert_null(strstr(r.reason, "n >= 1"));
      assert_int_equal(mg_certificate(p, f, &r, &cert, &e), MG_OK);
      if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s", e.msg);
      mg_string_free(cert);
    }
    mg_graph_free(f);
  }
  mg_graph_free(p);
  /* Rows against those of their own block alone: the same where there is one block. */
  static const char near[] = "program near\nsym n in 1..32\ninput X : f16[n, 16]\n";
  char all[600], block[600];
  snprintf(all, sizeof all, "%sO = matmul(matmul(X, transpose(X, [1, 0])), X)\noutput O\n", near);
  snprintf(block, sizeof block, "%sO = kernel grid=(x=ceil(n/8)) threads=32 {\n  x = load X {x->0}\n  o = matmul(matmul(x, transpose(x, [1, 0])), x)\n  store o {x->0}\n}\noutput O\n", near);
  mg_graph *a = parse(all), *b = parse(block);
  mg_verify_report r;
  mg_error e;
  if (mg_verify(a, b, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (r.verdict != MG_NOT_EQUAL || strncmp(r.reason, "at n = 9", 8)) fail_msg("%s", r.reason);
  mg_graph_free(a), mg_graph_free(b);
}
/* Two loops of one kernel have chunks of their own, and values around each are tested: what counts k chunks of 64 differs by
   (k - 1)(k - 4) Y^2, which is none at n = 1, 7, 8, 9, 23 and 256. */
static void chunks_of_all_axes_are_tested(void **state) {
  static const char head[] = "program f\nsym n in 1..256\ninput X : f16[n, 16]\ninput Y : f16[16, 16]\n";
  char plain[400], counted[900];
  (void)state;
  snprintf(plain, sizeof plain, "%sO = add(Y, matmul(transpose(X, [1, 0]), X))\noutput O\n", head);
  snprintf(counted, sizeof counted,
           "%sO = kernel grid=(x=1) threads=32 {\n  y = load Y {x->*}\n  for i=ceil(n/64) {\n    a = load X {x->*, i->0}\n"
           "    r = add(y, scale(sum(a, dim=0), 0))\n  }\n  k = accum(r) {i->+}\n  for j=ceil(n/8) {\n    b = load X {x->*, j->0}\n"
           "    g = matmul(transpose(b, [1, 0]), b)\n  }\n  G = accum(g) {j->+}\n"
           "  o = add(add(y, G), mul(sub(k, y), sub(k, scale(y, 4))))\n  store o {x->*}\n}\noutput O\n", head);
  mg_graph *p = parse(plain), *f = parse(counted);
  mg_verify_report r;
  mg_error e;
  if (mg_verify(p, f, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (r.verdict != MG_NOT_EQUAL || strncmp(r.reason, "at n = 65", 9)) fail_msg("%s", r.reason);
  mg_graph_free(p), mg_graph_free(f);
}
/* What a loop cuts in two dimensions is not put together along one of them, symbol or not. */
static void chunks_of_two_dimensions(void **state) {
  static const char *const head[] = {"sym n in 1..40\ninput X : f16[n, 16]\n", "input X : f16[11, 16]\n"};
  static const char *const loop[] = {"ceil(n/8)", "2"}, *const why[] = {"is joined or taken apart", "dimension 1 is cut unevenly by i, too"};
  (void)state;
  for (int k = 0; k < 2; k++) {
    char text[500];
    mg_graph *g = NULL;
    mg_error e;
    snprintf(text, sizeof text,
             "program f\n%sO = kernel grid=(x=1) threads=32 {\n  for i=%s {\n    a = load X {x->*, i->0}\n"
             "    t = matmul(a, transpose(a, [1, 0]))\n  }\n  s = sum(accum(t) {i->0}, dim=1)\n  store s {x->*}\n}\noutput O\n", head[k], loop[k]);
    assert_int_not_equal(mg_parse(text, strlen(text), "test", NULL, &g, &e), MG_OK);
    if (!strstr(e.msg, why[k])) fail_msg("%s", e.msg);
  }
}
/* More reshapes than anyone writes. */
static void any_number_of_reshapes_is_read(void **state) {
  char text[8192], *at = text + sprintf(text, "program f\nsym n in 1..8\ninput X : f16[n, 4]\nT0 = exp(X)\n");
  (void)state;
  for (int k = 0; k < 100; k++) at += sprintf(at, "T%d = reshape(T%d, [n, %s])\n", k + 1, k, k % 2 ? "4" : "2, 2");
  sprintf(at, "output T100\n");
  mg_graph_free(parse(text));
  char *wrong = replaced(text, "T100 = reshape(T99, [n, 4])", "T100 = reshape(T99, [8, 4])");
  mg_graph *g = NULL;
  mg_error e;
  assert_int_equal(mg_parse(wrong, strlen(wrong), "test", NULL, &g, &e), MG_BAD_INPUT);
  assert_int_equal(e.line, 104);
  free(wrong);
}

static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}
/* A search goes as far as launches do, not to the end of whole chunks; a tensor may be called `of`. */
static void a_search_takes_its_bounds(void **state) {
  mg_graph *p = parse("program b\nsym n in 3..37 of 39\ninput X : f16[n, 64]\nO = silu(X)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_family_result r;
  mg_error e;
  (void)state;
  c.emittable = emittable;
  if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_true(r.n == 1 && r.range[0].least[0] == 3 && r.range[0].most[0] == 37);
  mg_family_result_free(&r);
  mg_graph_free(p);
  p = parse("program b\ninput Y : f16[4]\nsym n in 3..37\nof = silu(Y)\ninput X : f16[n, 4]\nO = silu(X)\noutput of, O\n");
  assert_true(p->symbol[0].most == 37);
  mg_graph_free(p);
}
static void ranges_are_whole(void **state) {
  static const char *const programs[] = {
      "program big\nsym n in 3..300\ninput X : f16[n, 512]\ninput G : f16[512]\ninput W : f16[512, 32]\nO = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n",
      "program att\nsym n in 1..64\ninput Q : f16[n, 64]\ninput K : f16[64, 256]\ninput V : f16[256, 32]\nO = matmul(softmax(scale(matmul(Q, K), 1/8), dim=1), V)\noutput O\n"};
  (void)state;
  for (size_t k = SANITIZED; k < 2; k++) {
    mg_graph *p = parse(programs[k]), *back;
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    int64_t next = p->symbol[0].least;
    c.emittable = emittable;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_in_range(r.n, 1, MG_MAX_RANGES);
    assert_true(r.loss <= MG_RANGE_LOSS);
    int kernels_found = 0;
    for (int i = 0; i < r.n; i++) {
      const mg_range *a = &r.range[i];
      assert_true(a->least[0] == next && a->most[0] >= a->least[0]);
      assert_true(a->graph->symbol[0].least == a->least[0] && a->graph->symbol[0].last == a->most[0]);
      assert_int_equal(a->report.verdict, MG_EQUAL);
      assert_int_equal(mg_within_of(p, a->graph, &back, &e), MG_OK);
      for (int64_t n = a->least[0]; n <= a->most[0]; n += n < 20 ? 3 : 61) same_members(back, a->graph, n, n);
      mg_graph_free(back);
      kernels_found += !mg_is_program(a->graph);
      next = a->most[0] + 1;
    }
    assert_true(next == p->symbol[0].most + 1);
    assert_true(kernels_found > 0);
    mg_family_result_free(&r);
    mg_graph_free(p);
  }
}

/* Programs of tests/bench/ranges.py, and sizes that nobody chose for them. */
static const char *const families[] = {
    "program attention\nsym n in 1..128\ninput Q : f16[16, n, 128]\ninput K : f16[16, 128, 2048] @ [0, 2, 1]\ninput V : f16[16, 2048, 128]\n"
    "O = matmul(softmax(scale(matmul(Q, K), 1/11), dim=2), V)\noutput O\n",
    "program norm_linear\nsym n in 1..128\ninput X : f16[n, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 4096]\n"
    "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n",
    "program gated_mlp\nsym n in 1..128\ninput X : f16[n, 4096]\ninput A : f16[4096, 4096]\ninput B : f16[4096, 4096]\n"
    "O = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n"};
/* What f runs at size n: rows are whole chunks, and a kernel that does not cut them has all that it is for. */
static mg_graph *member_that_runs(const mg_graph *f, int64_t n) {
  const int64_t one = 1, most = f->symbol[0].most;
  int64_t chunk = 1;
  mg_graph *all, *m;
  mg_error e;
  for (uint32_t k = 1; k < f->n_ops; k++) {
    const mg_graph *b = f->ops[k].sub;
    int cuts = 0;
    for (uint32_t a = 1; b && a < b->n_axes; a++) {
      if (!b->axes[a].symbol) continue;
      const int64_t c = mg_ceil_div(most, b->axes[a].extent);
      chunk = chunk / mg_gcd(chunk, c) * c, cuts = 1;
    }
    if (b && !cuts) chunk = most;
  }
  n = mg_ceil_div(n, chunk) * chunk;
  if (mg_within(f, &one, &n, &all, &e) != MG_OK || mg_at(all, &n, &m, &e) != MG_OK) fail_msg("n = %lld: %s", (long long)n, e.msg);
  mg_graph_free(all);
  return m;
}
/* Times by a machine that likes other kernels than the model does: by threads, operators and loops of their blocks. */
static double odd_us(const mg_graph *g) {
  uint32_t kind = 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub) kind = kind * 31 + g->ops[k].sub->n_ops * 7 + g->ops[k].sub->n_axes * 5 + (uint32_t)g->ops[k].sub->threads / 32;
  return mg_predict_us(g, mg_machine_at(0)) * (4 + kind % 3) / 4;
}
static mg_status odd_times(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  (void)user, (void)program, (void)e;
  for (int k = 0; k < n; k++) us[k] = odd_us(g[k]);
  return MG_OK;
}
/* What is timed: of each the hash, and whether it is one kernel of four chunks of 32 rows.  Times are as on an H100: one kernel of
   warps is quicker than the model says. */
typedef struct timed_members { int n, twice, quarters; uint64_t hash[1000]; } timed_members;
static mg_status each_once(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  timed_members *t = (timed_members *)user;
  (void)e;
  for (int k = 0; k < n; k++) {
    const mg_graph *b = g[k]->ops[1].sub;
    const uint64_t h = mg_hash(g[k]);
    for (int j = 0; j < t->n; j++) t->twice += t->hash[j] == h;
    if (t->n < 1000) t->hash[t->n++] = h;
    int rows = 0;
    const int small = b && g[k]->n_ops == 2 && mg_plan_says(b, MG_PLAN_MMA, NULL) < 0;
    for (uint32_t o = 1; small && o < b->n_ops; o++)
      rows |= b->ops[o].code == MG_OP_LOAD && mg_tensor_of(b, b->ops[o].out[0])->shape.dim[1] == 32;
    t->quarters += rows && mg_tensor_of(program, program->in[0])->shape.dim[1] == 128;
    us[k] = mg_predict_us(g[k], mg_machine_at(0)) * (small ? 0.77 : 1);
  }
  return MG_OK;
}
/* At each of the sizes, the ranges of program k lose at most `loss` against what a search for that size alone finds. */
static void ranges_against_one_size(size_t k, const int64_t *size, int sizes, mg_search_config *c, double loss) {
  mg_graph *p = parse(families[k]);
  mg_family_result f;
  mg_error e;
  c->emittable = emittable;
  if (mg_search_family(p, c, NULL, &f, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int j = 0; j < sizes; j++) {
    mg_search_result own;
    mg_graph *at;
    int r = 0;
    while (f.range[r].most[0] < size[j]) r++;
    assert_int_equal(mg_at(p, &size[j], &at, &e), MG_OK);
    if (mg_search(at, c, &own, &e) != MG_OK) fail_msg("%s", e.msg);
    mg_graph *m = member_that_runs(f.range[r].graph, size[j]);
    double got = mg_predict_us(m, mg_machine_at(0));
    if (c->measure) assert_int_equal(c->measure(NULL, at, (const mg_graph *const *)&m, 1, &got, &e), MG_OK);
    const double best = c->measure ? own.measured_us[0] : own.predicted_us[0];
    if (got > (1 + loss) * best * 1.0000001)
      fail_msg("%s, n = %lld: the range %lld..%lld takes %.2f us, what is found for that size %.2f us", p->name, (long long)size[j], (long long)f.range[r].least[0],
               (long long)f.range[r].most[0], got, best);
    mg_search_result_free(&own);
    mg_graph_free(at), mg_graph_free(m);
  }
  mg_family_result_free(&f);
  mg_graph_free(p);
}
static void ranges_lose_little_by_the_model(void **state) {
  static const int64_t every[] = {1, 2, 7, 16, 33, 64, 100, 128}, some[] = {33, 100, 127};
  const int all = getenv("SOAK_S") != NULL;
  (void)state;
  if (SANITIZED) skip(); /* the other tests of ranges run all of this code */
  for (size_t k = 0; k < (all ? 3 : 1); k++) {
    mg_search_config c = mg_search_config_default();
    ranges_against_one_size(k, all ? every : some, all ? 8 : 3, &c, MG_RANGE_LOSS);
  }
}
/* A grid's second axis has no room for chunks of 64 of so many rows, nor have the program's own operators. */
static void a_grid_has_an_end(void **state) {
  mg_graph *p = parse("program long\nsym n in 40000000..50000000\ninput X : f16[n, 4096]\ninput G : f16[4096]\n"
                      "input W : f16[4096, 4096]\nO = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_family_result r;
  mg_error e;
  (void)state;
  c.emittable = emittable, c.time_limit_s = 60;
  if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_int_equal(r.n, 1);
  assert_false(mg_is_program(r.range[0].graph));
  assert_int_equal(r.range[0].report.verdict, MG_EQUAL);
  mg_family_result_free(&r);
  mg_graph_free(p);
}
/* Of the sizes that are searched: at others, too, times are those of the next of them. */
static void ranges_lose_little_by_times(void **state) {
  static const int64_t searched[] = {1, 8, 16, 48, 64, 128};
  (void)state;
  if (SANITIZED) skip();
  for (size_t k = 0; k < 3; k++) {
    mg_search_config c = mg_search_config_default();
    c.measure = odd_times;
    if (k != 1 && !getenv("SOAK_S")) continue; /* norm_linear, of which the first few by the model are not enough */
    ranges_against_one_size(k, searched, 6, &c, MG_RANGE_LOSS_TIMED);
  }
}
/* What a search for 96 or 100 rows finds is four chunks of one kernel.  By the model others are so much quicker at 128 that no search for
   these keeps one: four chunks of 32 are timed there, too.  No member of a family is timed twice; two families may share one. */
static void chunks_of_other_sizes_are_timed(void **state) {
  static timed_members t;
  mg_search_config c = mg_search_config_default();
  mg_family_result f;
  mg_error e;
  (void)state;
  if (SANITIZED) skip(); /* the other tests of ranges run all of this code */
  mg_graph *p = parse(families[0]);
  c.measure = each_once, c.measure_user = &t, c.emittable = emittable;
  if (mg_search_family(p, &c, NULL, &f, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_true(f.timed && f.loss <= MG_RANGE_LOSS_TIMED);
  assert_in_range(t.n, 20, 200);
  assert_true(4 * t.twice < t.n);
  assert_true(t.quarters > 0);
  mg_family_result_free(&f);
  mg_graph_free(p);
}

/* What ended a search is said: no kernel that the emitter takes, or time. */
static mg_status refuses_kernels(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_is_program(g) ? MG_OK : mg_fail(why, MG_UNSUPPORTED, "test", "no kernel");
}
static void what_ended_it_is_said(void **state) {
  static const struct { const char *what; double limit; int refuses, late; } cases[] = {
      {"nothing", 60, 0, 0}, {"the emitter", 60, 1, 0}, {"time", 0.02, 0, 1}};
  mg_graph *p = parse("program p\nsym n in 1..64\ninput X : f16[n, 256]\ninput W : f16[256, 64]\nO = matmul(rms_norm(X), W)\noutput O\n");
  (void)state;
  for (size_t k = 2 * SANITIZED; k < sizeof cases / sizeof *cases; k++) { /* a busy machine, under one, completes none in time */
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    c.emittable = cases[k].refuses ? refuses_kernels : emittable, c.time_limit_s = cases[k].limit;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", cases[k].what, e.msg);
    if (r.complete != !k || r.cut.late != cases[k].late || (k && !r.cut.egraph_stop)) fail_msg("%s: complete %d, late %d", cases[k].what, r.complete, r.cut.late);
    mg_family_result_free(&r);
  }
  mg_graph_free(p);
}
/* On a machine that likes now one kernel, now another, there are more than the few: what those would lose is said. */
static mg_status any_times(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  (void)program, (void)e;
  for (int k = 0; k < n; k++) us[k] = (double)(2 + (mg_hash(g[k]) >> 20) % *(const uint64_t *)user);
  return MG_OK;
}
static void more_than_a_few_say_why(void **state) {
  mg_graph *p = parse("program p\nsym n in 1..512\ninput X : f16[n, 256]\ninput W : f16[256, 64]\nO = matmul(rms_norm(X), W)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_family_result r;
  mg_error e;
  uint64_t by = 7;
  (void)state;
  c.emittable = emittable, c.measure = any_times, c.measure_user = &by;
  for (r.n = 0; r.n <= MG_FEW_RANGES && by < 60; by += 4) { /* until some draw is such a machine */
    if (r.n) mg_family_result_free(&r);
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  }
  assert_in_range(r.n, MG_FEW_RANGES + 1, MG_MAX_RANGES);
  assert_true(r.loss <= MG_RANGE_LOSS_TIMED && r.few_lose > MG_RANGE_LOSS_TIMED);
  mg_family_result_free(&r);
  mg_graph_free(p);
}

static mg_status checked(const char *cu, mg_check_report *r, mg_error *e) {
  mg_check_config c;
  memset(&c, 0, sizeof c);
  c.seeds = 2, c.samples = 1;
  return mg_cuda_check(NULL, cu, &c, r, e);
}
#define WHOLE(name, bounds)                                                                                                     \
  "program " name "\nsym n in " bounds "\ninput X : f16[n, 64]\ninput W : f16[64, 32]\nO = kernel grid=(y=2) threads=64 {\n"    \
  "  t1 = load X {y->*}\n  t2 = load W {y->1}\n  t3 = relu(matmul(t1, t2))\n  store t3 {y->1}\n}\noutput O\n"
/* A file of three ranges from which marks are taken, or whole quotes by both of theirs, is an error: none is checked as the rest. */
static void quotes_are_all_there(const char *cu) {
  static const char open_[] = "mugraph {{{", close_[] = "}}} mugraph";
  static const struct { int opening, closing; const char *msg; } without[] = {
      {1, 1, "more programs than the 2"},          {2, 2, "more programs than the 2"},    {4, 4, "more programs than the 2"},
      {3, 3, "more programs than the 1"},          {6, 6, "more programs than the 1"},    {7, 7, "found none"},
      {1, 0, "before a `}}} mugraph`, found none"}, {0, 4, "found only the first"},       {4, 0, "before a `}}} mugraph`, found none"}};
  mg_graph *range[MG_MAX_RANGES];
  mg_error e;
  int n;
  assert_int_equal(mg_cuda_source_graphs(cu, strlen(cu), range, &n, &e), MG_OK);
  assert_int_equal(n, 3);
  while (n) mg_graph_free(range[--n]);
  for (size_t k = 0; k < sizeof without / sizeof *without; k++) {
    char *text = replaced(cu, "", ""), *at = text;
    for (int q = 0; q < 3; q++) {
      at = strstr(at, open_);
      if (without[k].opening >> q & 1) at[0] = 'M';
      at = strstr(at + 1, close_);
      if (without[k].closing >> q & 1) at[4] = 'M';
    }
    if (mg_cuda_source_graphs(text, strlen(text), range, &n, &e) != MG_BAD_INPUT) fail_msg("case %d is taken", (int)k);
    if (!strstr(e.msg, without[k].msg)) fail_msg("expected '%s', got '%s'", without[k].msg, e.msg);
    assert_int_equal(n, 0);
    assert_int_equal(mg_cuda_check(NULL, text, NULL, NULL, &e), MG_BAD_INPUT);
    free(text);
  }
}
static void one_file_runs_at_every_size(void **state) {
  mg_check_report r;
  mg_error e;
  char *cu, *wrong;
  (void)state;
  wrong = replaced(kernels, "program f\nsym n in 1..40", "program f_3\nsym n in 9..40");
  mg_graph *range[3] = {parse(WHOLE("f_1", "1..1")), parse(WHOLE("f_2", "2..8")), parse(wrong)};
  free(wrong);
  if (mg_cuda_emit_ranges((const mg_graph *const *)range, 3, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_non_null(strstr(r.sizes, "n = 2, 7, 8"));
  if (!strstr(r.sizes, "n = 9, 15, 16, 17, 39, blocks of 40")) fail_msg("%s", r.sizes);
  assert_int_equal(r.rows, 0); /* the first range has one size: there is nothing to compare */
  static const char *const plants[][2] = {{"mg_chunks(sym_n, 8)", "(sym_n / 8)"},                    /* the ragged rest is left out */
                                          {"mg_cut(f_3_D0, b_x, 8)", "8"},                           /* of a mask */
                                          {"if (sym[0] < 9) return f_2", "if (sym[0] < 8) return f_2"}, /* the second takes none below 9 */
                                          {"sym_n > 40", "sym_n > 4000"},                            /* out of bounds */
                                          {"f_1_early | f_2_early | f_3_early", "0xff"},           /* what the whole says of itself */
                                          {"const int64_t sym_n = sym[0];", "static int64_t first; if (!first) first = sym[0]; const int64_t sym_n = first;"}};
  const int most = getenv("SOAK_S") ? 6 : 3;
  for (int k = 0; k < most; k++) {
    const int at = getenv("SOAK_S") ? k : k * 2;
    wrong = replaced(cu, plants[at][0], plants[at][1]);
    const mg_status s = checked(wrong, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("status %d of %s: %s", (int)s, plants[at][1], s == MG_OK ? "" : e.msg);
    free(wrong);
  }
  quotes_are_all_there(cu);
  mg_string_free(cu);
  /* A row's bits hang on neither n nor its neighbours. */
  assert_int_equal(mg_cuda_emit(range[2], NULL, &cu, &e), MG_OK);
  assert_int_equal(checked(cu, &r, &e), MG_OK);
  assert_int_equal(r.rows, 1);
  mg_string_free(cu);
  mg_graph *swapped[3] = {range[1], range[0], range[2]};
  assert_int_equal(mg_cuda_emit_ranges((const mg_graph *const *)swapped, 3, NULL, NULL, &cu, &e), MG_BAD_INPUT);
  mg_graph *unlike[2] = {range[0], parse("program f_2\nsym n in 2..8\ninput X : f16[n, 64]\ninput W : f16[64, 64]\nO = relu(matmul(X, W))\noutput O\n")};
  assert_int_equal(mg_cuda_emit_ranges((const mg_graph *const *)unlike, 2, NULL, NULL, &cu, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "other inputs"));
  mg_graph_free(unlike[1]);
  for (int k = 0; k < 3; k++) mg_graph_free(range[k]);
}

/* Where each of several symbols alone is smaller, too; what is contracted is another sum at another size. */
static void rows_have_the_same_bits(void **state) {
  static const struct { const char *graph, *cu; int rows; } of[] = {
      {SUMS_GRAPH, SUMS("7 * n"), -1}, {SUMS_BOX_GRAPH, SUMS_BOX("7 * m"), -1}, {SUMS_BOX_GRAPH, SUMS_BOX("7 * n"), -1}, {SUMS_BOX_GRAPH, SUMS_BOX("p / 3"), 1}};
  mg_check_config c;
  mg_check_report r;
  mg_error e;
  (void)state;
  memset(&c, 0, sizeof c);
  c.seeds = 1;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *g = parse(of[k].graph);
    if (mg_cuda_check(g, of[k].cu, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.rows != of[k].rows) fail_msg("case %d: rows %d, expected %d; %s", (int)k, r.rows, of[k].rows, r.sizes);
    mg_graph_free(g);
  }
}

/* The queries are the last of the keys: of more queries each sees fewer keys, and no bits are compared; of more batches each has its
   mask, and bits are. */
static void rows_under_a_mask(void **state) {
#define MASKED_ROWS(sym, x, mask) \
  "program f\n" sym "input X : f32[" x "]\ninput C : f32[" mask "] = causal\nO = kernel grid=(x=n) threads=32 {\n  x = load X {x->0}\n"
  static const struct { const char *text; int rows; } of[] = {
      {MASKED_ROWS("sym n in 1..9\n", "n, 12", "n, 12") "  c = load C {x->0}\n  o = add(x, c)\n  store o {x->0}\n}\noutput O\n", 0},
      {MASKED_ROWS("sym n in 1..9\n", "n, 4, 8", "4, 8") "  c = load C {x->*}\n  o = add(x, c)\n  store o {x->0}\n}\noutput O\n", 1}};
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *g = parse(of[k].text);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
    if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.rows != of[k].rows) fail_msg("case %d: rows %d", (int)k, r.rows);
    mg_string_free(cu), mg_graph_free(g);
  }
}

/* Blocks that begin elsewhere in a loop do so by axes that count no n: else a row's sums have another order where n has more blocks. */
static void turns_do_not_follow_a_symbol(void **state) {
  mg_graph *g = parse("program f\nsym n in 17..64\ninput X : f16[n, 512]\ninput W : f16[512, 64]\nO = kernel grid=(x=ceil(n/16), y=4) threads=128 {\n"
                      "  for k=4 {\n    x = load X {x->0, y->*, k->1}\n    w = load W {x->*, y->1, k->0}\n    t = matmul(x, w)\n  }\n"
                      "  a = accum(t) {k->+}\n  store a {x->0, y->1}\n  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n}\noutput O\n");
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_non_null(strstr(cu, "begins elsewhere"));
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (!strstr(r.sizes, "n = 17, 27, 31, 32, 33, 59")) fail_msg("%s", r.sizes);
  assert_int_equal(r.rows, 1);
  mg_string_free(cu);
  mg_graph_free(g);
}

/* A kernel's chunks are the family's, whatever the size: 200 rows are 64, 64, 64 and 8, not 50 each.  As the last kernel, and alone. */
static void blocks_at_full_size_have_their_chunks(void **state) {
#define OF_CHUNKS(out, end)                                                                                                          \
  "program f\nsym n in 1..200 of 256\ninput X : f16[n, 64]\n" out " = kernel grid=(x=ceil(n/64)) threads=64 {\n  x = load X {x->0}\n" \
  "  o = exp(x)\n  store o {x->0}\n}\n" end "output O\n"
  static const char *const of[] = {OF_CHUNKS("O", ""), OF_CHUNKS("T", "O = sum(T, dim=1)\n")};
  mg_check_config c;
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  memset(&c, 0, sizeof c);
  c.seeds = 1, c.samples = 2;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *g = parse(of[k]);
    assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_OK);
    if (mg_cuda_check(NULL, cu, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (!strstr(r.sizes, "blocks of 200") || r.sampled < 2) fail_msg("%s; %d blocks", r.sizes, (int)r.sampled);
    mg_string_free(cu), mg_graph_free(g);
  }
}

/* Tensors of 2*10^12 bytes: a family runs at the greatest sizes that can be held, what has no symbol is told which tensor it is. */
static void what_cannot_be_held_is_said(void **state) {
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  mg_graph *g = parse("program big\nsym n in 1..1000000\nsym m in 1..1000000\ninput X : f16[n, m]\nO = exp(X)\noutput O\n");
  assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_OK);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (!strstr(r.sizes, "blocks of 62500") || !strstr(r.sizes, "(at the most X has 2000000000000 bytes)")) fail_msg("%s", r.sizes);
  mg_string_free(cu), mg_graph_free(g);
  if (!getenv("SOAK_S")) return;
  g = parse("program big\ninput X : f16[1000000, 1000000]\nO = exp(X)\noutput O\n");
  assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_OK);
  assert_int_equal(checked(cu, &r, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "X has 2000000000000 bytes"));
  mg_string_free(cu), mg_graph_free(g);
}

/* Kernels compute such a mask from what the launch says. */
static void masks_of_families_are_emitted(void **state) {
  static const struct { const char *graph, *sizes, *right, *wrong; } of[] = {
      {square_in_parts, "n = 1, 7, 8, 9", "block((int64_t)square_D2 - square_D0 + b_x", "block((int64_t)square_D2 - square_D0 + 1 + b_x"},
      {square_in_parts, "n = 1, 7, 8, 9", "b_x * (int64_t)16 + 15)", "b_x * (int64_t)16 + 7)"}, /* a loop that ends a step too soon */
      {last_in_parts, "n = 4, 7, 8, 9", "block((int64_t)last_D2 - last_D0", "block((int64_t)24 - last_D0"},
      {square_in_parts, "", "- (i_i * (int64_t)8)", "- (i_i * (int64_t)7)"},
      {square_in_parts, "", "sym_n > 32", "sym_n > 33"}};
  (void)state;
  for (int k = 0; k < (getenv("SOAK_S") ? 5 : 2); k++) {
    mg_graph *g = parse(of[k].graph);
    mg_check_report r;
    mg_error e;
    char *cu;
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
    if (k < 3 && checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (k < 3 && strncmp(r.sizes, of[k].sizes, strlen(of[k].sizes))) fail_msg("%s", r.sizes);
    char *wrong = replaced(cu, of[k].right, of[k].wrong);
    assert_int_equal(checked(wrong, &r, &e), MG_NOT_FOUND);
    free(wrong), mg_string_free(cu), mg_graph_free(g);
  }
}

static void self_attention_is_emitted(void **state) {
  mg_graph *g = parse(self_in_two);
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (strncmp(r.sizes, "n = 1, 7, 8, 9, 11, 15, 16, 17, 27", 33)) fail_msg("%s", r.sizes);
  char *wrong = replaced(cu, "mg_chunks(sym_n, 16)", "(sym_n / 16)"); /* keys of the ragged rest */
  assert_int_equal(checked(wrong, &r, &e), MG_NOT_FOUND);
  free(wrong), mg_string_free(cu), mg_graph_free(g);
}

/* ---- what is contracted, searched and emitted */

static void ranges_of_what_is_contracted(void **state) {
  static const char *const programs[] = {
      "program lin\nsym k in 1..512\ninput X : f16[16, k]\ninput W : f16[k, 64]\nO = matmul(X, W)\noutput O\n",
      "program att\nsym p in 1..200\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, p]\ninput V : f16[2, p, 32]\nO = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n"};
  int loops = 0;
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs - SANITIZED; k++) { /* the first search ends by itself, the second does not */
    mg_graph *p = parse(programs[k]);
    const mg_graph *range[MG_MAX_RANGES];
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    char *cu;
    int64_t next = 1;
    c.emittable = emittable, c.time_limit_s = 10 * SPARSER;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int i = 0; i < r.n; i++) {
      const mg_range *a = &r.range[i];
      assert_true(a->least[0] == next && a->graph->symbol[0].least == a->least[0] && a->graph->symbol[0].last == a->most[0]);
      char name[16];
      snprintf(name, sizeof name, "%s_%d", p->name, i + 1);
      assert_int_equal(mg_rename(a->graph, name, &e), MG_OK);
      next = a->most[0] + 1, range[i] = a->graph;
      assert_int_equal(a->report.verdict, MG_EQUAL);
      if (mg_is_program(a->graph)) continue;
      if (a->most[0] > 1) assert_true(a->report.values > 1 && !strncmp(a->report.reason, "at ", 3));
      for (uint32_t o = 1; o < a->graph->n_ops; o++)
        for (uint32_t x = 1; a->graph->ops[o].sub && x < a->graph->ops[o].sub->n_axes; x++) loops += a->graph->ops[o].sub->axes[x].symbol > 0;
      char *texts[2];
      mg_graph *own;
      assert_int_equal(mg_within_of(p, a->graph, &own, &e), MG_OK);
      assert_int_equal(mg_print(own, &texts[0], &e), MG_OK);
      assert_int_equal(mg_print(a->graph, &texts[1], &e), MG_OK);
      same_values(texts[0], texts[1]);
      mg_string_free(texts[0]), mg_string_free(texts[1]), mg_graph_free(own);
    }
    assert_true(next == p->symbol[0].most + 1);
    if (mg_cuda_emit_ranges(range, r.n, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_true(k || (r.complete && loops > 0)); /* some are for any length */
    mg_string_free(cu), mg_family_result_free(&r), mg_graph_free(p);
  }
}
static void a_contraction_ends_at_its_edge(void **state) {
  static const char *const plants[][2] = {
      {"mg_each_unit<16, 16, 64>(16, mg_cut(f_D3, i_i, 16)", "mg_each_unit<16, 16, 64>(16, 16"}, /* exponentials of padding */
      {"mg_chunks(sym_p, 16)", "(sym_p < 16 ? 1 : sym_p / 16)"},                                 /* the ragged rest is left out */
      {"red_s.add(16, mg_cut(f_D3, i_i, 16)", "red_s.add(16, 16"},                               /* padding is summed */
      {"        mg_cut(f_D3, i_i, 16), 32);", "        16, 32);"}};                              /* what is behind the tensor is read */
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  char *text = replaced(flash, "p in 1..40", "p in 1..48"), *chunks = replaced(text, "ceil(p/8)", "ceil(p/16)"), *less = replaced(chunks, "threads=128", "threads=64");
  mg_graph *g = parse(less);
  free(text), free(chunks), free(less);
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (strcmp(r.sizes, "p = 1, 11, 15, 16, 17, 43, blocks of 48")) fail_msg("%s", r.sizes);
  const int most = getenv("SOAK_S") ? 4 : 2;
  for (int k = 0; k < most; k++) {
    char *wrong = replaced(cu, plants[k][0], plants[k][1]);
    const mg_status s = checked(wrong, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("status %d of %s: %s", (int)s, plants[k][1], s == MG_OK ? "" : e.msg);
    free(wrong);
  }
  mg_string_free(cu), mg_graph_free(g);
  /* Of fewer rows the sum is another: no bits are compared. */
  g = parse("program sums\nsym n in 1..20\ninput X : f16[n, 64]\nO = sum(X, dim=0)\noutput O\n");
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_int_equal(r.rows, 0);
  mg_string_free(cu), mg_graph_free(g);
  /* Blocks that are merged are a number of the file. */
  g = parse(LINEAR "O = kernel grid=(x=2, y=ceil(k/8)) threads=64 {\n  x = load X {x->*, y->1}\n  w = load W {x->1, y->0}\n  s = accum(matmul(x, w)) {y->+}\n  store s {x->1, y->*}\n}\noutput O\n");
  assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "blocks of axis y are merged"));
  mg_graph_free(g);
}

/* ---- two symbols, of which one is contracted */

#define BOX(name, n, p) "program " name "\nsym n in " n "\nsym p in " p "\ninput X : f16[n, p]\ninput W : f16[p, 32]\n"
#define BOX_LOOP "  for i=ceil(p/16) {\n    x = load X {x->0, y->*, i->1}\n    w = load W {x->*, y->1, i->0}\n    t = matmul(x, w)\n  }\n  o = accum(t) {i->+}\n  store o {x->0, y->1}\n}\noutput O\n"
static void a_file_of_boxes_runs_at_every_size(void **state) {
  static const char *const plants[][2] = {
      {"if (sym[0] < 5 && sym[1] < 9) return", "if (sym[0] < 5 && sym[1] < 8) return"},  /* the second takes none below 9 */
      {"if (sym[0] < 5) return", "if (sym[0] < 6) return"},
      {"if (sym[1] > 48) return", "if (sym[1] > 64) return"},                              /* the third takes 49, and the file does not */
      {"two_symbols[] = {{\"n\", 1, 20}, {\"p\", 1, 48}}", "two_symbols[] = {{\"n\", 1, 20}, {\"p\", 1, 64}}"}};
  static const int64_t at[][3] = {{1, 1, 0}, {4, 8, 0}, {4, 9, 1}, {1, 48, 1}, {5, 1, 2}, {20, 48, 2}};
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  mg_graph *range[3] = {parse(BOX("two_1", "1..4", "1..8") "O = kernel grid=(x=2) threads=32 {\n  x = load X {x->*}\n  w = load W {x->1}\n  o = matmul(x, w)\n  store o {x->1}\n}\noutput O\n"),
                        parse(BOX("two_2", "1..4", "9..48") "O = kernel grid=(x=ceil(n/4), y=2) threads=32 {\n" BOX_LOOP),
                        parse(BOX("two_3", "5..20", "1..64") "O = kernel grid=(x=ceil(n/4), y=2) threads=32 {\n" BOX_LOOP)};
  const mg_graph *const *ranges = (const mg_graph *const *)range;
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) assert_int_equal(mg_range_of(ranges, 3, at[k]), at[k][2]);
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    int is = -1;
    assert_int_equal(mg_range_at(ranges, 3, at[k], &is, &e), MG_OK);
    assert_int_equal(is, at[k][2]);
  }
  static const struct { int64_t at[2]; const char *told; } past[] = {{{1, 49}, "p is in 1..48, got 49"}, {{21, 8}, "n is in 1..20, got 21"}, {{0, 1}, "n is in 1..20, got 0"}};
  for (size_t k = 0; k < sizeof past / sizeof *past; k++) {
    int is = -1;
    assert_int_equal(mg_range_at(ranges, 3, past[k].at, &is, &e), MG_BAD_INPUT);
    assert_string_equal(e.msg, past[k].told);
  }
  if (mg_cuda_emit_ranges(ranges, 3, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (!strstr(r.sizes, "p = 11, 15, 16, 17, 43, 9") || !strstr(r.sizes, "n = 5, ")) fail_msg("%s", r.sizes);
  for (size_t k = 0; k < sizeof plants / sizeof *plants; k++) {
    if (k != 2 && !getenv("SOAK_S")) continue;
    char *wrong = replaced(cu, plants[k][0], plants[k][1]);
    const mg_status s = checked(wrong, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("status %d of %s: %s", (int)s, plants[k][1], s == MG_OK ? "" : e.msg);
    free(wrong);
  }
  mg_string_free(cu);
  /* Holes: the third begins at n = 6; the second interval of n begins at p = 2. */
  static const char *const holes[][2] = {{BOX("two_3", "6..20", "1..64"), "it begins at n = 6"}, {BOX("two_3", "5..20", "2..64"), "begins at p = 2"}};
  for (size_t k = 0; k < 2; k++) {
    char text[600];
    snprintf(text, sizeof text, "%sO = kernel grid=(x=ceil(n/4), y=2) threads=32 {\n" BOX_LOOP, holes[k][0]);
    mg_graph *const other[3] = {range[0], range[1], parse(text)};
    assert_int_equal(mg_cuda_emit_ranges((const mg_graph *const *)other, 3, NULL, NULL, &cu, &e), MG_BAD_INPUT);
    assert_non_null(strstr(e.msg, holes[k][1]));
    mg_graph_free(other[2]);
  }
  for (int k = 0; k < 3; k++) mg_graph_free(range[k]);
}
/* A range without running maxima is not held to what those of another range bear. */
static void maxima_are_of_one_range(void **state) {
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  char *half = replaced(flash, "p in 1..40", "p in 1..128"), *first = replaced(half, "ceil(p/8)", "ceil(p/64)"), *second = replaced(first, "p in 1..128", "p in 129..140");
  char *kernel = strstr(second, "O = kernel");
  assert_non_null(kernel);
  *kernel = 0;
  char text[800];
  snprintf(text, sizeof text, "%sE = exp(scale(matmul(Q, K), 1/8))\nO = div(matmul(E, V), sum(E, dim=2))\noutput O\n", second);
  mg_graph *range[2] = {parse(first), parse(text)};
  assert_int_equal(mg_rename(range[0], "att_1", &e), MG_OK);
  assert_int_equal(mg_rename(range[1], "att_2", &e), MG_OK);
  if (mg_cuda_emit_ranges((const mg_graph *const *)range, 2, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_non_null(strstr(cu, "mg_row_shift<"));
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  mg_string_free(cu), mg_graph_free(range[0]), mg_graph_free(range[1]);
  free(half), free(first), free(second);
}
/* All pairs of sizes are some range's, once, and each is shown equal: for all n, at values of p. */
static int two_kernels_are_wary(void *user, const mg_graph *g) {
  int kernels = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) kernels += g->ops[k].sub != NULL;
  (void)user;
  return kernels > 1;
}
/* Nothing ranks behind what a range runs: it has nothing that `wary` names, and the program stands where nothing else was found; unless
   it names the program, too, which is then as bad.  A softmax over one key is a quotient that rewriting makes of exp / exp. */
static int named;
static int bare_is_wary(void *user, const mg_graph *g) {
  int exps = 0, maxima = 0;
  (void)user;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    exps += g->ops[k].code == MG_OP_EXP && mg_softmax_dim(g, k) < 0;
    for (uint32_t i = 1; b && i < b->n_ops; i++) exps += b->ops[i].code == MG_OP_EXP, maxima += b->ops[i].code == MG_OP_MAX;
  }
  named += exps && !maxima && !mg_is_program(g);
  return exps && !maxima;
}
static void no_range_is_wary(void **state) {
  static const char *const text[] = {
      "program one\nsym n in 1..64\ninput Q : f16[4, n, 64]\ninput K : f16[4, 1, 64]\ninput V : f16[4, 1, 64]\n"
      "O = matmul(softmax(scale(matmul(Q, transpose(K, [0, 2, 1])), 1/8), dim=2), V)\noutput O\n",
      "program own\nsym n in 1..64\ninput X : f16[n, 64]\nO = exp(neg(X))\noutput O\n"};
  (void)state;
  for (int k = 0; k < 2; k++) {
    mg_graph *p = parse(text[k]);
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    int bare = 0;
    c.emittable = emittable, c.time_limit_s = k ? 5 : 12, c.wary = bare_is_wary, named = 0;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_true(named > 0);
    for (int j = 0; j < r.n; j++) bare += bare_is_wary(NULL, r.range[j].graph);
    if (k ? bare == 0 : bare > 0) fail_msg("%s: %d of %d ranges are wary", p->name, bare, r.n);
    for (int j = 0; j < r.n; j++) assert_true(r.range[j].safety == MG_SAFE || r.range[j].safe_at[0] > 0);
    mg_family_result_free(&r);
    mg_graph_free(p);
  }
}
static void ranges_of_two_symbols(void **state) {
  mg_graph *p = parse("program att\nsym n in 1..20\nsym p in 1..200\ninput Q : f16[2, n, 32]\ninput K : f16[2, 32, p]\ninput V : f16[2, p, 32]\n"
                      "O = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n");
  const mg_graph *range[MG_MAX_RANGES];
  mg_search_config c = mg_search_config_default();
  mg_family_result r;
  mg_error e;
  char *cu;
  (void)state;
  c.emittable = emittable, c.time_limit_s = 30, c.wary = two_kernels_are_wary;
  if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_in_range(r.n, 1, MG_MAX_RANGES);
  int both = 0;
  for (int k = 0; k < r.n; k++) {
    const mg_range *a = &r.range[k];
    char name[16];
    range[k] = a->graph;
    assert_int_equal(a->report.verdict, MG_EQUAL);
    assert_false(two_kernels_are_wary(NULL, a->graph)); /* there is one kernel for all */
    snprintf(name, sizeof name, "att_%d", k + 1);
    assert_int_equal(mg_rename(a->graph, name, &e), MG_OK);
    for (int v = 0; v < 2; v++) assert_true(a->graph->symbol[v].least == a->least[v] && a->graph->symbol[v].last == a->most[v]);
    both += a->report.values > 1 && strstr(a->report.reason, "at p = ") && strstr(a->report.reason, "n >= 1");
  }
  assert_true(both > 0);
  for (int64_t n = 1; n <= 20; n++)
    for (int64_t q = 1; q <= 200; q++) {
      const int64_t value[2] = {n, q};
      const int is = mg_range_of(range, r.n, value);
      for (int k = 0; k < r.n; k++) {
        const mg_range *a = &r.range[k];
        assert_int_equal(k == is, a->least[0] <= n && n <= a->most[0] && a->least[1] <= q && q <= a->most[1]);
      }
    }
  if (mg_cuda_emit_ranges(range, r.n, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  mg_string_free(cu), mg_family_result_free(&r), mg_graph_free(p);
}

/* Asked that a row's bits depend on no size: one range of what is not summed over, and no library's products. */
static void one_range_where_bits_are_to_stay(void **state) {
  static const char *const programs[] = {
      "program linear\nsym n in 1..4096\ninput X : f16[n, 512]\ninput W : f16[512, 1024]\nO = matmul(X, W)\noutput O\n",
      "program chain\nsym n in 1..600\nsym p in 1..300\ninput Q : f16[n, 32]\ninput K : f16[32, p]\ninput V : f16[p, 32]\n"
      "O = matmul(matmul(Q, K), V)\noutput O\n"};
  int several = 0, by_library = 0, summed = 0;
  (void)state;
  for (size_t k = 0; k < 2; k++)
    for (int invariant = k == 1; invariant < 2; invariant++) {
      mg_graph *p = parse(programs[k]);
      mg_search_config c = mg_search_config_default();
      mg_family_result r;
      mg_error e;
      c.emittable = emittable, c.batch_invariant = invariant, c.time_limit_s = 30;
      if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
      several += !invariant && r.n > 1;
      for (int i = 0; i < r.n; i++) {
        const mg_range *a = &r.range[i];
        by_library += !invariant && mg_library_multiplies(a->graph);
        if (!invariant) continue;
        assert_false(mg_library_multiplies(a->graph));
        assert_int_equal(a->report.verdict, MG_EQUAL);
        assert_true(a->least[0] == 1 && a->most[0] == p->symbol[0].last);
        assert_true(i == 0 || a->least[1] == r.range[i - 1].most[1] + 1);
        summed += k == 1;
      }
      if (invariant && k == 0) assert_int_equal(r.n, 1);
      mg_family_result_free(&r), mg_graph_free(p);
    }
  assert_true(several > 0 && by_library > 0 && summed > 0); /* without it these were not so */
}
/* Nor does the program stand in for what is not certified, where a library makes its products. */
static void a_library_stands_in_for_nothing(void **state) {
  mg_graph *p = parse("program linear\ninput X : f16[16, 64]\ninput W : f16[64, 64]\nO = matmul(X, W)\noutput O\n");
  (void)state;
  for (int invariant = 0; invariant < 2; invariant++) {
    mg_search_config c = mg_search_config_default();
    mg_verify_config v = mg_verify_config_default();
    mg_search_result r;
    mg_error e;
    char why[256];
    int undecided = 0;
    c.emittable = emittable, c.batch_invariant = invariant, c.time_limit_s = 10;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    v.time_limit_s = 1e-9;
    const mg_status s = mg_search_certify(p, &c, &v, 1, &r, &undecided, why, &e);
    if (invariant) assert_true(s == MG_NOT_FOUND && !r.n && undecided && strstr(e.msg, "not certified"));
    else assert_true(s == MG_OK && r.n == 1 && mg_library_multiplies(r.graph[0]));
    mg_search_result_free(&r);
  }
  mg_graph_free(p);
}
/* Where no kernel makes them, it is said, and whether more time might. */
static void none_is_found_for_a_reason(void **state) {
  mg_graph *p = parse("program linear\nsym n in 1..16\ninput X : f16[n, 64]\ninput W : f16[64, 64]\n"
                      "O = matmul(X, W)\noutput O\n");
  (void)state;
  for (int cut = 0; cut < 2; cut++) {
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    c.emittable = refuses_kernels, c.batch_invariant = 1, c.time_limit_s = cut ? 1e-6 : 0;
    assert_int_equal(mg_search_family(p, &c, NULL, &r, &e), MG_NOT_FOUND);
    if (!strstr(e.msg, "depend on none of them") || !strstr(e.msg, "time limit") != !cut) fail_msg("%s", e.msg);
  }
  mg_graph_free(p);
}
/* Nor is what a kernel hands on in two parts by a power of two, which a block's rows have together. */
static void no_power_is_of_several_rows(void **state) {
  mg_graph *p = parse("program low\ninput X : f16[512, 4096]\ninput A : f16[4096, 256]\ninput B : f16[256, 4096]\n"
                      "O = matmul(X, matmul(A, B))\noutput O\n");
  int split[2] = {0, 0};
  (void)state;
  for (int invariant = 0; invariant < 2; invariant++) {
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.emittable = emittable, c.batch_invariant = invariant, c.time_limit_s = 10 * SPARSER;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int k = 0; k < r.n; k++)
      for (uint32_t i = 1; i < r.graph[k]->n_ops; i++)
        for (int j = 0; j < r.graph[k]->ops[i].n_out; j++)
          split[invariant] += mg_split(r.graph[k], r.graph[k]->ops[i].out[j]);
    mg_search_result_free(&r);
  }
  assert_true(split[0] > 0 && split[1] == 0);
  mg_graph_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(prints_what_it_reads),       cmocka_unit_test(a_launch_takes_its_bounds), cmocka_unit_test(says_what_is_no_family), cmocka_unit_test(members_are_the_first_rows),
                                     cmocka_unit_test(verdicts_are_for_all_sizes), cmocka_unit_test(ranges_are_whole),       cmocka_unit_test(one_file_runs_at_every_size),
                                     cmocka_unit_test(ranges_lose_little_by_the_model), cmocka_unit_test(chunks_of_other_sizes_are_timed),
                                     cmocka_unit_test(ranges_lose_little_by_times),
                                     cmocka_unit_test(what_ended_it_is_said),   cmocka_unit_test(more_than_a_few_say_why),
                                     cmocka_unit_test(a_grid_has_an_end),
                                     cmocka_unit_test(rows_have_the_same_bits), cmocka_unit_test(rows_under_a_mask), cmocka_unit_test(turns_do_not_follow_a_symbol),
                                     cmocka_unit_test(what_is_contracted_is_equal_at_values),
                                     cmocka_unit_test(what_is_right_at_few_sizes_is_wrong),
                                     cmocka_unit_test(any_number_of_reshapes_is_read),
                                     cmocka_unit_test(what_cannot_be_held_is_said), cmocka_unit_test(blocks_at_full_size_have_their_chunks), cmocka_unit_test(a_search_takes_its_bounds), cmocka_unit_test(ranges_of_what_is_contracted),
                                     cmocka_unit_test(a_contraction_ends_at_its_edge),
                                     cmocka_unit_test(a_file_of_boxes_runs_at_every_size),
                                     cmocka_unit_test(maxima_are_of_one_range),
                                     cmocka_unit_test(no_range_is_wary), cmocka_unit_test(ranges_of_two_symbols), cmocka_unit_test(one_range_where_bits_are_to_stay),
                                     cmocka_unit_test(a_library_stands_in_for_nothing), cmocka_unit_test(none_is_found_for_a_reason), cmocka_unit_test(no_power_is_of_several_rows),
                                     cmocka_unit_test(masks_follow_their_sizes), cmocka_unit_test(masks_of_families_are_verified),
                                     cmocka_unit_test(masks_of_families_are_emitted),
                                     cmocka_unit_test(self_attention_is_equal_at_values), cmocka_unit_test(chunks_of_all_axes_are_tested), cmocka_unit_test(chunks_of_two_dimensions), cmocka_unit_test(self_attention_is_emitted)};
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
