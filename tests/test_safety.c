/* Tests of >>safety: which values of a µGraph make it unsafe, which plans repair that, and how the search ranks by it.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_safety.c -o build/test_safety -lcmocka -lm -lpthread -ldl && build/test_safety
   build/test_safety table    prints the verdict on every µGraph of tests/programs.ugraphs */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "ugraphs.h"

/* ---- programs, and µGraphs of them with a hole for the plan's words */
#define NORM_LINEAR "program norm_linear\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 256]\n"
#define NORM "program norm\ninput X : f16[16, 1024]\n"
#define ATTENTION "program attention\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512]\ninput V : f16[2, 512, 64]\n"
#define LAYER "program layer\ninput X : f16[16, 1024]\n"
#define LINEAR "program linear\ninput Q : f16[2, 512, 64]\ninput K : f16[2, 64, 512]\ninput V : f16[2, 512, 64]\n"
#define MLP "program mlp\ninput X : f16[16, 256]\ninput A : f16[256, 128]\ninput B : f16[256, 128]\n"
#define ATTENTION_PARTS(words)                                                                                        \
  ATTENTION "t1, t2 = kernel grid=(x=2, z=4) threads=128 {\n"                                                         \
            "  q = load Q {x->0, z->*}\n  k = load K {x->0, z->2}\n  s = scale(matmul(q, k), 1/8)\n  e = exp(s)\n"    \
            "  v = load V {x->0, z->1}\n  d = matmul(e, v)\n  l = sum(e, dim=2)\n"                                    \
            "  store d {x->0, z->2}\n  store l {x->0, z->2}\n  plan { stages=2 " words "}\n}\n"                       \
            "O = kernel grid=(x=2) threads=128 {\n  for i=4 {\n    a = load t1 {x->0, i->2}\n"                        \
            "    b = load t2 {x->0, i->2}\n  }\n  o = div(accum(a) {i->+}, accum(b) {i->+})\n"                        \
            "  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n"
#define NORM_LINEAR_FIRST(words)                                                                                      \
  NORM_LINEAR "O = kernel grid=(x=4) threads=128 {\n  for i=8 {\n    x = load X {x->*, i->1}\n"                       \
              "    g = load G {x->*, i->0}\n    p = mul(x, g)\n    w = load W {x->1, i->0}\n    b = matmul(p, w)\n"   \
              "    s = sum(sqr(x), dim=1)\n  }\n"                                                                     \
              "  r = sqrt(add_scalar(scale(accum(s) {i->+}, 1/1024), 1/1000000))\n"                                   \
              "  o = div(accum(b) {i->+}, r)\n  store o {x->1}\n"                                                     \
              "  plan { stages=2 warps_m=1 warps_n=1 warps_k=4 ring=warp " words "}\n}\noutput O\n"
#define NORM_TWO(words)                                                                                               \
  NORM "S = kernel grid=(x=16) threads=128 {\n  x = load X {x->0}\n  s = sum(sqr(x), dim=1)\n  store s {x->0}\n"      \
       "  plan { stages=2 " words "}\n}\n"                                                                            \
       "O = kernel grid=(x=16) threads=128 {\n  x = load X {x->0}\n  s = load S {x->0}\n"                             \
       "  o = div(x, sqrt(add_scalar(scale(s, 1/1024), 1/1000000)))\n  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n"

#define CHAIN "program p\ninput A : f16[64, 256]\ninput B : f16[256, 64]\ninput D : f16[64, 32]\n"
#define CHAIN_PARTS(words)                                                                                            \
  CHAIN "O = kernel grid=(x=4) threads=128 {\n  d = load D {}\n  for i=4 {\n    a = load A {x->0, i->1}\n"             \
        "    b = load B {i->0}\n    t = matmul(a, b)\n    u = matmul(t, d)\n  }\n  o = accum(u) {i->+}\n  store o {x->0}\n" \
        "  plan { stages=2 " words "}\n}\noutput O\n"
#define CHAIN_WHOLE                                                                                                   \
  CHAIN "O = kernel grid=(x=4) threads=128 {\n  d = load D {}\n  for i=4 {\n    a = load A {x->0, i->1}\n"             \
        "    b = load B {i->0}\n    t = matmul(a, b)\n  }\n  s = accum(t) {i->+}\n  o = matmul(s, d)\n  store o {x->0}\n" \
        "  plan { stages=2 }\n}\noutput O\n"

/* Half a layer: queries of a norm, with its gain before the product, and attention. */
#define HALF                                                                                                          \
  "program half\ninput X : f16[16, 256]\ninput G : f16[256]\ninput Wq : f16[256, 256]\n"                              \
  "input K : f16[4, 64, 128] @ [0, 2, 1]\ninput V : f16[4, 128, 64]\n"
#define HALF_PROGRAM                                                                                                  \
  HALF "N = rms_norm(X, G, eps=1e-6)\nQ = transpose(reshape(matmul(N, Wq), [16, 4, 64]), [1, 0, 2])\n"                \
       "P = softmax(scale(matmul(Q, K), 1/8), dim=2)\nR = reshape(transpose(matmul(P, V), [1, 0, 2]), [16, 256])\n"   \
       "output R\n"
#define HALF_KERNELS(words)                                                                                           \
  HALF "Q = kernel grid=(x=16, y=4) threads=256 {\n  x = load X {x->0, y->1}\n  g = load G {x->*, y->0}\n"            \
       "  t = mul(x, g)\n  w = load Wq {x->*, y->0}\n  u = matmul(t, w)\n"                                            \
       "  r = sqrt(add_scalar(accum(scale(sum(sqr(x), dim=1), 1/256)) {y->+}, 1/1000000))\n"                           \
       "  q = reshape(div(accum(u) {y->+}, r), [1, 4, 64])\n  store q {x->0, y->*}\n  plan { stages=2 " words "}\n}\n"  \
       "R = kernel grid=(x=4, z=16) threads=256 {\n  q = load Q {x->1, z->0}\n"                                       \
       "  k = load K {x->0, z->*}\n  e = exp(matmul(scale(transpose(q, [1, 0, 2]), 1/8), k))\n"                        \
       "  v = load V {x->0, z->*}\n  o = transpose(div(matmul(e, v), sum(e, dim=2)), [1, 0, 2])\n"                     \
       "  o2 = reshape(o, [1, 64])\n  store o2 {x->1, z->0}\n  plan { stages=2 }\n}\noutput R\n"
/* A product, divided, by another: in parts that are rounded, and whole. */
#define QUOTIENT "program q\ninput A : f16[64, 256]\ninput B : f16[256, 64]\ninput C : f16[64, 1]\ninput D : f16[64, 32]\n"
#define SWITCH_PROGRAM "program s\ninput X : f16[16, 64]\ninput M : f16[16, 64]\nO = add(X, scale(add_scalar(M, -1), 1000000000))\noutput O\n"
#define SWITCH_KERNEL(sum) "program s\ninput X : f16[16, 64]\ninput M : f16[16, 64]\nO = kernel grid=(x=4) threads=64 {\n  x = load X {x->0}\n  m = load M {x->0}\n" sum "  store h {x->0}\n  plan { stages=2 }\n}\noutput O\n"
#define QUOTIENT_PROGRAM QUOTIENT "O = matmul(div(matmul(A, B), C), D)\noutput O\n"
#define QUOTIENT_KERNEL(inside, after)                                                                                \
  QUOTIENT "O = kernel grid=(x=4) threads=128 {\n  c = load C {x->0}\n  d = load D {}\n  for i=4 {\n"                 \
           "    a = load A {x->0, i->1}\n    b = load B {i->0}\n" inside "  }\n" after                                \
           "  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n"

typedef struct safety_case { const char *what, *program, *ugraph, *open; mg_safety want; const char *value; } safety_case;
static const safety_case cases[] = {
  { "a gain before the norm", NORM_LINEAR "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n", NORM_LINEAR_FIRST(""), NULL, MG_UNSAFE, "p" },
  { "the same, wide", NORM_LINEAR "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n", NORM_LINEAR_FIRST("b.mma=wide "), NULL, MG_SAFE, "" },
  { "sums of squares handed on", NORM "O = rms_norm(X, eps=1/1000000)\noutput O\n", NORM_TWO(""), NULL, MG_UNSAFE, "S" },
  { "the same in f32", NORM "O = rms_norm(X, eps=1/1000000)\noutput O\n", NORM_TWO("s.store=f32 "), NULL, MG_SAFE, "" },
  { "parts of an attention", ATTENTION "O = matmul(softmax(scale(matmul(Q, K), 1/8), dim=2), V)\noutput O\n", ATTENTION_PARTS(""), NULL, MG_UNSAFE, "t1" },
  { "the same in f32", ATTENTION "O = matmul(softmax(scale(matmul(Q, K), 1/8), dim=2), V)\noutput O\n", ATTENTION_PARTS("d.store=f32 "), NULL, MG_SAFE, "" },
  { "an exponential without a maximum", ATTENTION "O = matmul(softmax(scale(matmul(Q, K), 1/8), dim=2), V)\noutput O\n", ATTENTION_PARTS("d.store=f32 "), "e", MG_UNSAFE, "e" },
  { "a variance by squares", LAYER "M = mean(X, dim=1)\nD = sub(X, M)\nO = div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/1000000)))\noutput O\n",
    LAYER "O = kernel grid=(x=16) threads=128 {\n  x = load X {x->0}\n  m = scale(sum(x, dim=1), 1/1024)\n"
          "  v = sub(scale(sum(sqr(x), dim=1), 1/1024), sqr(m))\n  o = div(sub(x, m), sqrt(add_scalar(v, 1/1000000)))\n"
          "  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n", NULL, MG_UNSAFE, "v" },
  { "a variance in two passes", LAYER "M = mean(X, dim=1)\nD = sub(X, M)\nO = div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/1000000)))\noutput O\n",
    LAYER "O = kernel grid=(x=16) threads=128 {\n  x = load X {x->0}\n  d = sub(x, scale(sum(x, dim=1), 1/1024))\n"
          "  v = scale(sum(sqr(d), dim=1), 1/1024)\n  o = div(d, sqrt(add_scalar(v, 1/1000000)))\n"
          "  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n", NULL, MG_SAFE, "" },
  { "K^T V first", LINEAR "O = matmul(matmul(Q, K), V)\noutput O\n",
    LINEAR "C = kernel grid=(x=2) threads=128 {\n  k = load K {x->0}\n  v = load V {x->0}\n  c = matmul(k, v)\n  store c {x->0}\n  plan { stages=2 }\n}\n"
           "O = kernel grid=(x=2) threads=128 {\n  q = load Q {x->0}\n  c = load C {x->0}\n  o = matmul(q, c)\n  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n",
    NULL, MG_UNSAFE, "C" },
  { "the same as two of f16", LINEAR "O = matmul(matmul(Q, K), V)\noutput O\n",
    LINEAR "C = kernel grid=(x=2) threads=128 {\n  k = load K {x->0}\n  v = load V {x->0}\n  c = matmul(k, v)\n  store c {x->0}\n  plan { stages=2 c.store=split }\n}\n"
           "O = kernel grid=(x=2) threads=128 {\n  for i=2 {\n    q = load Q {x->0, i->2}\n    c = load C {x->0, i->1}\n    p = matmul(q, c)\n  }\n  o = accum(p) {i->+}\n  store o {x->0}\n  plan { stages=2 }\n}\noutput O\n",
    NULL, MG_SAFE, "" },
  { "parts of a product as an operand", CHAIN "O = matmul(matmul(A, B), D)\noutput O\n", CHAIN_PARTS(""), NULL, MG_SAFETY_OPEN, "t" },
  { "the same, wide", CHAIN "O = matmul(matmul(A, B), D)\noutput O\n", CHAIN_PARTS("u.mma=wide "), NULL, MG_SAFETY_OPEN, "t" },
  { "the whole of it", CHAIN "O = matmul(matmul(A, B), D)\noutput O\n",
    CHAIN "O = kernel grid=(x=4) threads=128 {\n  d = load D {}\n  for i=4 {\n    a = load A {x->0, i->1}\n    b = load B {i->0}\n    t = matmul(a, b)\n  }\n  u = matmul(accum(t) {i->+}, d)\n  store u {x->0}\n  plan { stages=2 }\n}\noutput O\n",
    NULL, MG_SAFE, "" },
  { "a gain before half a layer", HALF_PROGRAM, HALF_KERNELS(""), NULL, MG_SAFETY_OPEN, "t" },
  { "the same, wide", HALF_PROGRAM, HALF_KERNELS("u.mma=wide "), NULL, MG_SAFE, "" },
  { "parts of a quotient as an operand", QUOTIENT_PROGRAM,
    QUOTIENT_KERNEL("    t = div(matmul(a, b), c)\n    u = matmul(t, d)\n", "  o = accum(u) {i->+}\n"), NULL, MG_SAFETY_OPEN, "t" },
  { "the whole of it", QUOTIENT_PROGRAM,
    QUOTIENT_KERNEL("    p = matmul(a, b)\n", "  o = matmul(div(accum(p) {i->+}, c), d)\n"), NULL, MG_SAFE, "" },
  { "a mask of a switch", SWITCH_PROGRAM, SWITCH_KERNEL("  h = add(x, scale(add_scalar(m, -1), 1000000000))\n"), NULL, MG_SAFE, "" },
  { "by two factors", SWITCH_PROGRAM, SWITCH_KERNEL("  h = add(scale(scale(m, 31250), 32000), add_scalar(x, -1000000000))\n"), NULL, MG_UNSAFE, "t3" },
  { "the same, what it hides added halfway", SWITCH_PROGRAM, SWITCH_KERNEL("  h = add(scale(m, 1000000000), add_scalar(x, -1000000000))\n"), NULL, MG_UNSAFE, "t2" },
  { "an epilogue", MLP "O = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n",
    MLP "O = kernel grid=(x=4) threads=128 {\n  for i=4 {\n    x = load X {x->*, i->1}\n    a = load A {x->1, i->0}\n    b = load B {x->1, i->0}\n"
        "    p = matmul(x, a)\n    q = matmul(x, b)\n  }\n  o = mul(silu(accum(p) {i->+}), accum(q) {i->+})\n  store o {x->1}\n  plan { stages=2 }\n}\noutput O\n",
    NULL, MG_SAFE, "" },
};
static void verdicts(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *p = parse(cases[k].program), *u = parse(cases[k].ugraph);
    mg_safety_report r;
    mg_error e;
    assert_int_equal(mg_safety_of(p, u, cases[k].open, &r, &e), MG_OK);
    if (r.verdict != cases[k].want || strcmp(r.value, cases[k].value)) fail_msg("%s: %s, value '%s' (%s)", cases[k].what, mg_safety_name(r.verdict), r.value, r.why);
    assert_int_equal(mg_safety_of(p, p, NULL, &r, &e), MG_OK); /* the program itself */
    if (r.verdict != MG_SAFE) fail_msg("%s, the program itself: %s, value '%s' (%s)", cases[k].what, mg_safety_name(r.verdict), r.value, r.why);
    mg_graph_free(p), mg_graph_free(u);
  }
}

/* ---- what the analysis leaves open */
static const char *const k_v_first = LINEAR
    "C = kernel grid=(x=2) threads=128 {\n  k = load K {x->0}\n  v = load V {x->0}\n  c = matmul(k, v)\n  store c {x->0}\n  plan { stages=2 }\n}\n"
    "O = kernel grid=(x=2, y=8) threads=128 {\n  q = load Q {x->0, y->1}\n  c = load C {x->0}\n  o = matmul(q, c)\n  store o {x->0, y->1}\n  plan { stages=2 }\n}\noutput O\n";
static const char *const q_k_first = LINEAR
    "C = kernel grid=(x=2, y=8) threads=128 {\n  q = load Q {x->0, y->1}\n  k = load K {x->0}\n  c = matmul(q, k)\n  store c {x->0, y->1}\n  plan { stages=2 }\n}\n"
    "O = kernel grid=(x=2, y=8) threads=128 {\n  c = load C {x->0, y->1}\n  v = load V {x->0}\n  o = matmul(c, v)\n  store o {x->0, y->1}\n  plan { stages=2 }\n}\noutput O\n";
static int asked;
static int settles(void *user, const mg_graph *program, const mg_graph *g) {
  mg_safety_report r;
  mg_error e;
  asked++;
  assert_int_equal(mg_safety_of(program, g, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_SAFETY_OPEN); /* nothing else is asked */
  return *(const int *)user;
}
static void results(mg_search_result *r, int n, const char *const *text) {
  memset(r, 0, sizeof *r);
  r->graph = (mg_graph **)calloc(3, sizeof *r->graph), r->report = (mg_verify_report *)calloc(3, sizeof *r->report);
  r->predicted_us = (double *)calloc(3, sizeof *r->predicted_us), r->measured_us = (double *)calloc(3, sizeof *r->measured_us);
  for (r->n = 0; r->n < n; r->n++) r->graph[r->n] = parse(text[r->n]), r->predicted_us[r->n] = 1 + r->n;
}
static void what_runs_find_unsafe_is_ranked_behind(void **state) {
  (void)state;
  const char *const both[] = { CHAIN_PARTS(""), CHAIN_WHOLE }, *const one[] = { CHAIN_PARTS("") };
  mg_graph *p = parse(CHAIN "O = matmul(matmul(A, B), D)\noutput O\n"), *first = parse(CHAIN_PARTS(""));
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  char why[256];
  int undecided, unsafe;
  c.settle = settles, c.settle_user = &unsafe;
  for (unsafe = 0; unsafe < 3; unsafe++) { /* 2: the time ended before that was known */
    results(&r, 2, both), asked = 0;
    assert_int_equal(mg_search_certify(p, &c, NULL, 2, &r, &undecided, why, &e), MG_OK);
    assert_int_equal(r.n, 2);
    assert_int_equal(asked, 1);
    assert_int_equal(mg_graph_equal(r.graph[unsafe > 0], first), 1);
    assert_float_equal(r.predicted_us[unsafe > 0], 1, 0);
    assert_int_equal(r.report[0].verdict, MG_EQUAL), assert_int_equal(r.report[1].verdict, MG_EQUAL);
    mg_search_result_free(&r);
    results(&r, 1, one); /* nothing else: the program itself, or what is not known */
    assert_int_equal(mg_search_certify(p, &c, NULL, 1, &r, &undecided, why, &e), MG_OK);
    assert_int_equal(r.n, 1);
    assert_int_equal(mg_is_program(r.graph[0]), unsafe == 1);
    assert_int_equal(r.report[0].verdict, MG_EQUAL);
    mg_search_result_free(&r);
  }
  c.unsafe = 1, unsafe = 1, asked = 0; /* nobody is asked */
  results(&r, 2, both);
  assert_int_equal(mg_search_certify(p, &c, NULL, 1, &r, &undecided, why, &e), MG_OK);
  assert_int_equal(mg_graph_equal(r.graph[0], first), 1);
  assert_int_equal(asked, 0);
  mg_search_result_free(&r);
  mg_graph_free(p), mg_graph_free(first);
}
/* The time limit of the first certificate is its tests': how long numerics are looked at is no part of it.  Once there is one, nothing is
   looked at past the limit. */
enum { LIMIT_S = 2 };
static int slow(void *user, const mg_graph *program, const mg_graph *g) {
  const struct timespec wait = { LIMIT_S, 200000000 };
  nanosleep(&wait, NULL);
  return settles(user, program, g);
}
static void slow_numerics(void **state) {
  (void)state;
  const char *const one[] = { CHAIN_PARTS("") };
  mg_graph *p = parse(CHAIN "O = matmul(matmul(A, B), D)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_verify_config v = mg_verify_config_default();
  mg_search_result r;
  mg_error e;
  char why[256];
  int undecided = 0, unsafe = 0;
  c.settle = slow, c.settle_user = &unsafe, v.time_limit_s = LIMIT_S;
  results(&r, 1, one), asked = 0;
  if (mg_search_certify(p, &c, &v, 1, &r, &undecided, why, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_int_equal(asked, 1);
  assert_int_equal(r.report[0].verdict, MG_EQUAL);
  assert_int_equal(mg_is_program(r.graph[0]), 0);
  mg_search_result_free(&r);
  const char *const three[] = { CHAIN_PARTS(""), CHAIN_PARTS("t1.mma=wide"), CHAIN_PARTS("t2.mma=wide") };
  results(&r, 3, three), asked = 0, v.time_limit_s = 0.5;
  if (mg_search_certify(p, &c, &v, 3, &r, &undecided, why, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_in_range(asked, 1, 2);
  assert_int_equal(r.report[0].verdict, MG_EQUAL);
  mg_search_result_free(&r), mg_graph_free(p);
}
static void runs_settle(void **state) {
  (void)state;
  mg_graph *p = parse(LINEAR "O = matmul(matmul(Q, K), V)\noutput O\n"), *u = parse(k_v_first), *v = parse(q_k_first);
  char arch[] = "sm_80";
  assert_int_equal(mg_cuda_settle(arch, p, u), 1); /* K is large, V too, Q small: what the program hands on is finite */
  assert_int_equal(mg_cuda_settle(arch, p, v), 0);
  mg_graph_free(p), mg_graph_free(u), mg_graph_free(v);
}

/* A µGraph of other inputs is none of the program. */
static void other_graphs_are_refused(void **state) {
  (void)state;
  mg_graph *p = parse(NORM "O = rms_norm(X)\noutput O\n"), *u = parse(MLP "O = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n");
  mg_safety_report r;
  mg_error e;
  assert_int_equal(mg_safety_of(p, u, NULL, &r, &e), MG_BAD_INPUT);
  assert_int_equal(r.verdict, MG_SAFETY_OPEN);
  mg_graph_free(p), mg_graph_free(u);
}

/* ---- what the emitter makes of the plan's words */
static char *emitted(const char *text) {
  mg_graph *u = parse(text);
  mg_emit_config c;
  mg_error e;
  char *cu = NULL;
  memset(&c, 0, sizeof c);
  if (mg_cuda_emit(u, &c, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  mg_graph_free(u);
  return cu;
}
static void plans_are_obeyed(void **state) {
  (void)state;
  mg_error e;
  char *cu = emitted(NORM_LINEAR_FIRST("b.mma=wide "));
  assert_non_null(strstr(cu, "mg_contract_steady_own<"));
  assert_non_null(strstr(cu, "steady_b.settle("));
  mg_string_free(cu);
  cu = emitted(NORM_TWO("s.store=f32 "));
  assert_non_null(strstr(cu, "mg_f32 *p_S"));
  assert_non_null(strstr(cu, "mg_f16 *p_O"));
  mg_string_free(cu);
  cu = emitted(NORM_TWO(""));
  assert_null(strstr(cu, "mg_f32 *p_S"));
  mg_string_free(cu);
  mg_graph *u = parse(NORM_TWO("x.store=f32 ")); /* no such store */
  assert_int_equal(mg_cuda_emittable(u, "sm_90a", &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "there is no such stored value"));
  mg_graph_free(u);
}
/* Link 2 over what has powers of two in it, undone; over tf32; and f32 between kernels. */
static void kernels_are_the_same(void **state) {
  (void)state;
  static const char *const texts[] = { NORM_LINEAR_FIRST("b.mma=wide "), NORM_TWO("s.store=f32 "), ATTENTION_PARTS("d.store=f32 d.mma=wide ") };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    char *cu = emitted(texts[k]);
    mg_check_config c;
    mg_check_report r;
    mg_error e;
    memset(&c, 0, sizeof c);
    c.seeds = 2;
    const mg_status s = mg_cuda_check(NULL, cu, &c, &r, &e);
    if (s != MG_OK) fail_msg("%zu: %s %s", k, r.difference, e.msg);
    assert_true(r.compared > 0 && r.float_checked);
    mg_string_free(cu);
  }
}

/* ---- ranking */
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}
static void unsafe_is_behind(void **state) {
  (void)state;
  mg_graph *p = parse(NORM_LINEAR "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n");
  for (int free = 0; free < 2; free++) {
    mg_search_config c = mg_search_config_default();
    mg_search_result res;
    mg_safety_report r;
    mg_error e;
    int behind = 0, unsafe = 0, repaired = 0;
    c.threads = 1, c.unsafe = free, c.emittable = emittable;
    if (mg_search(p, &c, &res, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int k = 0; k < res.n; k++) {
      char *text = NULL;
      assert_int_equal(mg_safety_of(p, res.graph[k], NULL, &r, &e), MG_OK);
      assert_int_equal(mg_print(res.graph[k], &text, &e), MG_OK);
      unsafe += r.verdict == MG_UNSAFE, repaired += strstr(text, "=wide") != NULL;
      if (!free) assert_true(r.verdict == MG_UNSAFE || !behind);
      if (free && k) assert_true(res.predicted_us[k] >= res.predicted_us[k - 1]);
      if (!free && !k) assert_int_not_equal(r.verdict, MG_UNSAFE);
      if (free && !k) assert_int_equal(r.verdict, MG_UNSAFE);
      behind |= r.verdict == MG_UNSAFE;
      mg_string_free(text);
    }
    if (free) assert_true(unsafe > 0 && !repaired);
    else assert_true(repaired > 0);
    mg_search_result_free(&res);
  }
  mg_graph_free(p);
}
/* A repair changes what a kernel reads: the plan that its text has then is the one that the result is ranked by. */
static void a_repair_is_planned(void **state) {
  (void)state;
  mg_graph *p = parse("program chain\ninput A : f16[8, 1024, 128]\ninput B : f16[8, 128, 1024]\ninput D : f16[8, 1024, 128]\n"
                      "E = matmul(matmul(A, B), D)\noutput E\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result res;
  mg_error e;
  int split = 0;
  c.emittable = emittable, c.time_limit_s = 20, c.top_k = 4;
  if (mg_search(p, &c, &res, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int k = 0; k < res.n; k++) {
    double us = 0;
    char *text = NULL;
    assert_int_equal(mg_print(res.graph[k], &text, &e), MG_OK);
    if (strstr(text, "=split")) {
      for (uint32_t i = 1; i < res.graph[k]->n_ops; i++) {
        mg_kernel_facts f;
        assert_int_equal(mg_kernel_facts_of(res.graph[k], i, c.machine ? c.machine : mg_machine_at(0), &f), 1);
        us += f.cost.total_us;
      }
      if (fabs(us - res.predicted_us[k]) > 1e-3 * us) fail_msg("%g us by its plans, %g us predicted:\n%s", us, res.predicted_us[k], text);
      split++;
    }
    mg_string_free(text);
  }
  assert_true(split > 0);
  mg_search_result_free(&res);
  mg_graph_free(p);
}
/* What is found for half a layer has no room in f16 before its norm: the product is wide then. */
static void half_a_layer_is_wide(void **state) {
  (void)state;
  mg_graph *p = parse("program half\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput Wq : f16[1024, 256]\n"
                      "input K : f16[4, 64, 128] @ [0, 2, 1]\ninput V : f16[4, 128, 64]\nN = rms_norm(X, G, eps=1e-6)\n"
                      "Q = transpose(reshape(matmul(N, Wq), [16, 4, 64]), [1, 0, 2])\nP = softmax(scale(matmul(Q, K), 1/8), dim=2)\n"
                      "R = reshape(transpose(matmul(P, V), [1, 0, 2]), [16, 256])\noutput R\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result res;
  mg_safety_report r;
  mg_error e;
  char *text = NULL;
  c.emittable = emittable, c.time_limit_s = 20;
  if (mg_search(p, &c, &res, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_false(mg_is_program(res.graph[0]));
  assert_int_equal(mg_safety_of(p, res.graph[0], NULL, &r, &e), MG_OK);
  assert_int_equal(mg_print(res.graph[0], &text, &e), MG_OK);
  if (r.verdict != MG_SAFE || !strstr(text, ".mma=wide")) fail_msg("%s: %s\n%s", mg_safety_name(r.verdict), r.why, text);
  mg_string_free(text);
  mg_search_result_free(&res);
  mg_graph_free(p);
}
/* What is stored for the programs is not unsafe where it comes first. */
static int table(int print) {
  ugraphs u;
  char last[2][100] = { "", "" };
  int bad = 0;
  memset(&u, 0, sizeof u);
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g)) {
    char path[200];
    mg_graph *p = NULL;
    mg_safety_report r;
    mg_error e;
    const int sm = !strcmp(u.arch, "sm_80"), first = strcmp(last[sm], g->name) < 0;
    snprintf(path, sizeof path, "examples/programs/%s.mg", g->name);
    if (mg_parse_file(path, NULL, &p, &e) != MG_OK) fail_msg("%s", e.msg);
    if (mg_safety_of(p, g, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (print) printf("%-32s %-7s %s %-23s %s%s%s\n", g->name, u.arch, first ? "first" : "other", mg_safety_name(r.verdict), r.value, r.value[0] ? ": " : "", r.why);
    bad += first && r.verdict == MG_UNSAFE;
    if (first) snprintf(last[sm], sizeof last[sm], "%.99s", g->name);
    mg_graph_free(p);
  }
  return bad;
}
static void first_results_are_not_unsafe(void **state) {
  (void)state;
  assert_int_equal(table(0), 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(verdicts),
      cmocka_unit_test(what_runs_find_unsafe_is_ranked_behind),
      cmocka_unit_test(slow_numerics), cmocka_unit_test(runs_settle), cmocka_unit_test(other_graphs_are_refused), cmocka_unit_test(plans_are_obeyed), cmocka_unit_test(kernels_are_the_same),
    cmocka_unit_test(unsafe_is_behind), cmocka_unit_test(a_repair_is_planned), cmocka_unit_test(half_a_layer_is_wide),
    cmocka_unit_test(first_results_are_not_unsafe),
  };
  if (argc > 1 && !strcmp(argv[1], "table")) return table(1) != 0;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
