/* Operators from outside, one row each of MG_USER_OPS: an elementwise one (tanh), one with two operands and a constant
   (blend), one of every function that a
   row may use (every), one that moves elements (flip) and one that moves some and invents zeros (shift).  Each is parsed, printed,
   evaluated, verified, searched, emitted and checked like a built-in row.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_user_ops.c -o build/test_user_ops -lcmocka -lm -lpthread -ldl
   Run from the repository's top directory.
   Storage types from outside, one row of MG_USER_TYPES each, too: e6m9, which the tensor cores do not multiply, and h16, f16 by
   another name, which they do, by one row of MG_USER_TENSOR_SHAPES. */
#define MG_USER_TYPES(T) T(E6M9, e6m9, 2, 10, -39, 4290772992.0, -1) T(H16, h16, 2, 11, -24, 65504.0, -1)
#define MG_USER_TENSOR_SHAPES(S) S(H16, h16, 16, 8, 16, "f16")
#define MG_USER_OPS(E, T)                                                                                          \
  E(BEND,  "bend",  1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))                                       \
  E(EVERY, "every", 2, MG_KBT, NONE, OPAQUE, FF_OPAQUE_TWO(EVERY, a, b),                                       \
    MG_MAX(MG_EXP(-a * a), MG_C(1, 4)) + MG_MIN(MG_SQRT(MG_ABS(b)), MG_C(1, 1)) + MG_LOG(MG_C(1, 1) + MG_ABS(a)) + \
    MG_ERF(a) * MG_SIN(b) + MG_COS(a) * MG_TANH(b) + MG_POW(MG_ABS(a) + MG_C(1, 2), b))                            \
  E(BLEND, "blend", 2, MG_KBT, RAT,  OPAQUE, FF_ADD(a, FF_MUL(c, FF_SUB(b, a))), a + c * (b - a), PLAIN)           \
  T(FLIP,  "flip",  1, MG_KB_, DIM,  SAME,   OPAQUE, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])                   \
  T(SHIFT, "shift", 1, MG_KB_, DIM,  SHIFT,  OPAQUE, if (i[A->dim]) j[A->dim] = i[A->dim] - 1; else src = -1)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* shift's own shape rule: a dimension of one element has nothing to move. */
mg_status mgi_shape_SHIFT(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  if (in[0].dim[A->dim] < 2) return mg_fail(e, MG_BAD_INPUT, "shift", "expected a dimension of 2 or more, found %lld", (long long)in[0].dim[A->dim]);
  *out = in[0];
  return MG_OK;
}

static void round_trip(const mg_graph *g) {
  char *a = NULL, *b = NULL;
  mg_error e;
  assert_int_equal(mg_print(g, &a, &e), MG_OK);
  mg_graph *h = parse(a);
  assert_int_equal(mg_print(h, &b, &e), MG_OK);
  assert_string_equal(a, b);
  assert_true(mg_hash(g) == mg_hash(h));
  mg_string_free(a), mg_string_free(b);
  mg_graph_free(h);
}

static void rows_stand_in_the_table(void **state) {
  (void)state;
  static const struct { mg_opcode op; const char *name; int n, elementwise, moves; } rows[] = {
      {MG_OP_BEND, "bend", 1, 1, 0}, {MG_OP_BLEND, "blend", 2, 1, 0}, {MG_OP_FLIP, "flip", 1, 0, 1}, {MG_OP_SHIFT, "shift", 1, 0, 1}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const mg_op_info *r = mg_op_row(rows[k].op);
    assert_string_equal(r->name, rows[k].name);
    assert_int_equal(mg_op_find(r->name, strlen(r->name)), rows[k].op);
    assert_int_equal(r->n_in, rows[k].n);
    assert_int_equal(r->elementwise, rows[k].elementwise);
    assert_int_equal(r->moves, rows[k].moves);
    assert_int_equal(r->user, 1);
  }
  assert_int_equal(mg_op_row(MG_OP_ADD)->user, 0);
  assert_string_equal(mg_op_row(MG_OP_BEND)->real, "MG_TANH(a)");
  assert_string_equal(mg_op_row(MG_OP_BEND)->field, "FF_OPAQUE(BEND, a)");
  assert_true(fabs(mg_op_real(MG_OP_BEND, 0.7, 0, 0) - (1 - 2 / (exp(1.4) + 1))) < 1e-15);
  assert_true(mg_op_real(MG_OP_BLEND, 2, 6, 0.25) == 3);
  for (double a = -2; a <= 2; a += 0.25)
    for (double b = -2; b <= 2; b += 0.375)
      assert_true(mg_op_real(MG_OP_EVERY, a, b, 0) == fmax(exp(-a * a), 0.25) + fmin(sqrt(fabs(b)), 1) + log(1 + fabs(a)) + erf(a) * sin(b) + cos(a) * tanh(b) + pow(fabs(a) + 0.5, b));
}

static void parsed_printed_evaluated(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f32[2, 3]\ninput Y : f32[3]\nO = flip(bend(X), dim=-1)\nP = shift(blend(X, Y, 1/4), dim=0)\nQ = shift(X, dim=1)\noutput O, P, Q\n");
  const double x[6] = {0.5, -1, 2, 0.25, 3, -0.75}, y[3] = {1, 2, 4};
  double o[6], p[6], q[6];
  const void *in[2] = {x, y};
  void *out[3] = {o, p, q};
  mg_error e;
  mg_domain d = mg_domain_real();
  round_trip(g);
  assert_int_equal(mg_eval(g, &d, in, out, &e), MG_OK);
  for (int r = 0; r < 2; r++)
    for (int c = 0; c < 3; c++) {
      double t = x[r * 3 + 2 - c];
      assert_true(fabs(o[r * 3 + c] - (exp(t) - exp(-t)) / (exp(t) + exp(-t))) < 1e-14);
      assert_true(p[r * 3 + c] == (r ? 0.75 * x[c] + 0.25 * y[c] : 0));
      assert_true(q[r * 3 + c] == (c ? x[r * 3 + c - 1] : 0));
    }
  mg_graph_free(g);
}

static void errors_name_the_operator(void **state) {
  (void)state;
  static const struct { const char *expr, *msg; int column; } bad[] = {
      {"bend(X, X)", "bend takes 1 operand", 13}, {"blend(X, X)", "blend needs a constant", 5}, {"flip(X)", "flip needs dim=", 5},
      {"flip(X, dim=7)", "flip: dim is between", 5}, {"shift(X, dim=1)", "expected a dimension of 2 or more, found 1", 5}, {"bendd(X)", "is no operator", 5}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char text[200];
    mg_graph *g;
    mg_error e;
    snprintf(text, sizeof text, "program p\ninput X : f16[4, 1]\nO = %s\noutput O\n", bad[k].expr);
    assert_int_equal(mg_parse(text, strlen(text), "t", NULL, &g, &e), MG_BAD_INPUT);
    if (!strstr(e.msg, bad[k].msg) || e.line != 3 || e.column != bad[k].column) fail_msg("%s: %d:%d %s", bad[k].expr, e.line, e.column, e.msg);
  }
}

static mg_verdict verdict(const char *a, const char *b, double *log2_delta) {
  mg_graph *A = parse(a), *B = parse(b);
  mg_verify_report r;
  mg_error e;
  if (mg_verify(A, B, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (log2_delta) *log2_delta = r.log2_delta;
  if (r.verdict == MG_EQUAL) { /* a certificate with user rows is rechecked too */
    char *text;
    mg_verify_report again;
    assert_int_equal(mg_certificate(A, B, &r, &text, &e), MG_OK);
    if (mg_certificate_check(text, strlen(text), &again, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(again.verdict, MG_EQUAL);
    mg_string_free(text);
  }
  mg_graph_free(A), mg_graph_free(B);
  return r.verdict;
}

#define HEAD "input X : f16[6, 8]\ninput Y : f16[6, 8]\n"
static void verified(void **state) {
  (void)state;
  double delta = 0;
  /* a permutation of the elements goes through elementwise rows; twice flipped is as it was */
  assert_int_equal(verdict("program a\n" HEAD "O = bend(add(flip(X, dim=1), flip(Y, dim=1)))\noutput O\n", "program b\n" HEAD "O = flip(bend(add(Y, X)), dim=1)\noutput O\n", &delta), MG_EQUAL);
  assert_true(delta <= -64);
  assert_int_equal(verdict("program a\n" HEAD "O = mul(flip(flip(X, dim=0), dim=0), Y)\noutput O\n", "program b\n" HEAD "O = mul(X, Y)\noutput O\n", &delta), MG_EQUAL);
  assert_true(delta <= -64);
  /* blend has a field meaning: x + (y - x)/4 = 3x/4 + y/4 */
  assert_int_equal(verdict("program a\n" HEAD "O = blend(X, Y, 1/4)\noutput O\n", "program b\n" HEAD "O = add(scale(X, 3/4), scale(Y, 1/4))\noutput O\n", &delta), MG_EQUAL);
  /* shift in two dimensions commutes */
  assert_int_equal(verdict("program a\n" HEAD "O = add(shift(shift(X, dim=0), dim=1), Y)\noutput O\n", "program b\n" HEAD "O = add(Y, shift(shift(X, dim=1), dim=0))\noutput O\n", NULL), MG_EQUAL);
  /* and what differs, differs */
  assert_int_equal(verdict("program a\n" HEAD "O = add(bend(X), Y)\noutput O\n", "program b\n" HEAD "O = bend(add(X, Y))\noutput O\n", NULL), MG_NOT_EQUAL);
  assert_int_equal(verdict("program a\n" HEAD "O = add(flip(X, dim=1), Y)\noutput O\n", "program b\n" HEAD "O = add(flip(X, dim=0), Y)\noutput O\n", NULL), MG_NOT_EQUAL);
  assert_int_equal(verdict("program a\n" HEAD "O = add(shift(X, dim=1), Y)\noutput O\n", "program b\n" HEAD "O = add(flip(X, dim=1), Y)\noutput O\n", NULL), MG_NOT_EQUAL);
  /* true of the real tanh, and of no function in general: never EQUAL */
  assert_int_not_equal(verdict("program a\n" HEAD "O = add(neg(bend(X)), Y)\noutput O\n", "program b\n" HEAD "O = add(bend(neg(X)), Y)\noutput O\n", NULL), MG_EQUAL);
}

/* In a µGraph: in a kernel's loop, after it, in a thread graph. */
static void at_every_level(void **state) {
  (void)state;
  static const char *const u =
      "program u\ninput X : f16[8, 12]\ninput W : f16[12, 8]\n"
      "O = kernel grid=(x=2) {\n  for i=3 {\n    m = matmul(bend(load X {i->1}), load W {x->1, i->0})\n  }\n  acc = flip(accum(m) {i->+}, dim=0)\n"
      "  t = thread grid=(x=8) {\n    store bend(load acc {x->0}) {x->0}\n  }\n  store t {x->1}\n}\noutput O\n";
  static const char *const p = "program p\ninput X : f16[8, 12]\ninput W : f16[12, 8]\nO = bend(flip(matmul(bend(X), W), dim=0))\noutput O\n";
  mg_graph *g = parse(u);
  round_trip(g);
  mg_graph_free(g);
  assert_int_equal(verdict(p, u, NULL), MG_EQUAL);
  mg_error e;
  g = NULL;
  static const char *const bad = "program u\ninput X : f16[8, 8]\nO = kernel {\n  a = load X {}\n  t = thread {\n    store flip(load a {}, dim=0) {}\n  }\n  store t {}\n}\noutput O\n";
  assert_int_equal(mg_parse(bad, strlen(bad), "t", NULL, &g, &e), MG_BAD_INPUT); /* MG_KB_: not in a thread graph */
  assert_non_null(strstr(e.msg, "may not stand in a thread graph"));
}

/* A row that moves along a dimension leaves its extents free: it can be resized. */
static void resized(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[4, 6]\ninput Y : f16[4, 6]\nO = add(bend(flip(X, dim=1)), shift(Y, dim=0))\noutput O\n"), *r = NULL;
  mg_classes c;
  mg_error e;
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
  assert_int_equal(c.n, 2);
  for (uint32_t k = 0; k < c.n; k++) assert_int_equal(c.fixed[k], 0);
  for (int d = 0; d < 2; d++) assert_int_equal(c.of[g->in[0].id * MG_MAX_RANK + (uint32_t)d], c.of[g->in[1].id * MG_MAX_RANK + (uint32_t)d]);
  int64_t x[2];
  x[c.of[g->in[0].id * MG_MAX_RANK]] = 3, x[c.of[g->in[0].id * MG_MAX_RANK + 1]] = 5;
  assert_int_equal(mg_resize(g, x, NULL, &r, &e), MG_OK);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[0], 3);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[1], 5);
  mg_classes_free(&c);
  mg_graph_free(g), mg_graph_free(r);
}

static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}

/* The whole chain that needs no GPU: search, certificate, emit, link 2 over fields and floats. */
static void chain(const char *text, const char *must_contain, int least_kernels, int most_kernels) {
  mg_graph *p = parse(text), *best = NULL, *again = NULL;
  mg_verify_report r;
  mg_search_stats stats;
  mg_check_report c;
  mg_check_config cc;
  mg_error e;
  char *cu = NULL, *printed = NULL;
  int kernels = 0;
  mg_search_config cfg = mg_search_config_default();
  cfg.emittable = emittable;
  cfg.time_limit_s = 60;
  if (mg_superoptimize(p, &cfg, NULL, &best, &r, &stats, &e) != MG_OK) fail_msg("search: %s: %s\n%s", e.where, e.msg, text);
  assert_int_equal(r.verdict, MG_EQUAL);
  assert_true(r.log2_delta <= -64);
  for (uint32_t k = 1; k < best->n_ops; k++) kernels++;
  assert_in_range(kernels, least_kernels, most_kernels);
  assert_int_equal(kernels, stats.best_kernels);
  round_trip(best);
  assert_int_equal(mg_print(best, &printed, &e), MG_OK);
  if (mg_cuda_emit(best, NULL, &cu, &e) != MG_OK) fail_msg("emit: %s: %s\n%s", e.where, e.msg, printed);
  if (!strstr(cu, must_contain)) fail_msg("the emitted file lacks '%s':\n%s", must_contain, cu);
  if (mg_cuda_source_graph(cu, strlen(cu), &again, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_true(mg_hash(again) == mg_hash(best));
  memset(&cc, 0, sizeof cc);
  memset(&c, 0, sizeof c);
  cc.seeds = 4;
  if (mg_cuda_check(best, cu, &cc, &c, &e) != MG_OK) fail_msg("check: %s: %s\n%s\n%s", e.where, e.msg, c.difference, printed);
  assert_true(c.fields >= 1 && c.compared > 0 && c.float_checked);
  mg_string_free(printed), mg_string_free(cu);
  mg_graph_free(p), mg_graph_free(best), mg_graph_free(again);
}

static void chain_of_bend(void **state) {
  (void)state;
  chain("program bend_linear\ninput X : f16[16, 128]\ninput W : f16[128, 64]\nO = bend(matmul(X, W))\noutput O\n", "E(BEND, \"bend\"", 1, 1);
}
static void chain_of_every_function(void **state) {
  (void)state;
  chain("program every_linear\ninput X : f16[16, 64]\ninput W : f16[64, 32]\ninput R : f16[16, 32]\nO = every(matmul(X, W), R)\noutput O\n", "E(EVERY, \"every\"", 1, 2);
}
static void chain_of_blend(void **state) {
  (void)state;
  chain("program blend_linear\ninput X : f16[16, 64]\ninput W : f16[64, 64]\ninput R : f16[16, 64]\nO = blend(matmul(X, W), R, 1/4)\noutput O\n", "E(BLEND, \"blend\"", 1, 2);
}
/* e6m9 by its definition: 1 sign, 6 exponent and 9 significand bits, a bias of 31. */
static double e6m9(unsigned bits) {
  const int e = (int)(bits >> 9 & 63), m = (int)(bits & 511);
  const double v = e == 63 ? m ? NAN : HUGE_VAL : e ? ldexp(512 + m, e - 31 - 9) : ldexp(m, -30 - 9);
  return bits & 0x8000 ? -v : v;
}
static void rows_of_types(void **state) {
  (void)state;
  for (int t = 0; t < MG_DTYPE_COUNT; t++) { /* what a row says follows from its bytes and digits */
    const mg_type_info *row = mg_type_row((mg_dtype)t);
    if (t == MG_I32) continue; /* integers */
    const int top = (1 << (8 * row->bytes - row->digits - 1)) - 1; /* the largest exponent, and the bias */
    assert_int_equal(row->least, 2 - top - row->digits);
    assert_true(row->most == ldexp(2 - ldexp(1, 1 - row->digits), top));
    assert_int_equal(mg_tensor_shape((mg_dtype)t) != NULL, t == MG_F16 || t == MG_BF16 || t == MG_H16);
  }
  assert_string_equal(mg_dtype_name(MG_E6M9), "e6m9");
  assert_int_equal(mg_dtype_bytes(MG_E6M9), 2);
  for (unsigned bits = 0; bits < 0x7E00; bits++) { /* what it holds, and what lies between two of these, on both sides */
    const double v = e6m9(bits), next = bits + 1 == 0x7E00 ? ldexp(1, 32) : e6m9(bits + 1), half = (v + next) / 2;
    const double even = bits & 1 ? next : v, tiny = (next - v) / 64;
    for (int sign = -1; sign <= 1; sign += 2) {
      const struct { double x, y; } cases[] = {{v, v}, {half, even}, {half - tiny, v}, {half + tiny, next}};
      for (int k = 0; k < 4; k++) {
        const double y = cases[k].y == ldexp(1, 32) ? HUGE_VAL : cases[k].y;
        const float got = mg_round_to(MG_E6M9, (float)(sign * cases[k].x));
        if ((double)got != sign * y) fail_msg("%a is rounded to %a, expected %a", sign * cases[k].x, (double)got, sign * y);
      }
    }
    assert_true(mg_unit_at(MG_E6M9, v) == (v < ldexp(1, -30) ? ldexp(1, -39) : next - v));
  }
  mg_graph *g;
  mg_error e;
  static const char mixed[] = "program m\ninput X : e6m9[4, 4]\ninput Y : f16[4, 4]\nO = add(X, Y)\noutput O\n";
  assert_int_equal(mg_parse(mixed, strlen(mixed), "m", NULL, &g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "e6m9 and f16 do not mix"));
  static const char unknown[] = "program m\ninput X : e5m9[4, 4]\nO = exp(X)\noutput O\n";
  assert_int_equal(mg_parse(unknown, strlen(unknown), "m", NULL, &g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "expected f16, bf16, f32, i32, e6m9 or h16, found 'e5m9'"));
}
/* From the text to a checked kernel. */
static void chain_of_a_type(void **state) {
  (void)state;
  chain("program typed\ninput X : e6m9[16, 128]\ninput G : e6m9[128]\ninput W : e6m9[128, 64]\n"
        "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n", "T(E6M9, e6m9, 2, 10, -39, 4290772992.0, -1)", 1, 2);
}

/* What the tensor cores multiply by a row from outside is what they multiply by a built-in one; the file brings the row. */
static void chain_of_a_tensor_type(void **state) {
  (void)state;
  chain("program typed\ninput X : h16[16, 128]\ninput G : h16[128]\ninput W : h16[128, 64]\n"
        "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n",
        "#define MG_USER_TENSOR_SHAPES(S) S(H16, h16, 16, 8, 16, \"f16\")\n", 1, 2);
  static const char text[] =
      "program p\ninput X : %s[16, 64]\ninput W : %s[64, 64]\nO = kernel grid=(x=1) threads=64 {\n  x = load X {}\n  w = load W {}\n"
      "  o = matmul(x, w)\n  store o {}\n}\noutput O\n";
  const char *const type[] = {"f16", "h16", "e6m9"};
  for (int k = 0; k < 3; k++) {
    char own[400], *cu;
    mg_error e;
    snprintf(own, sizeof own, text, type[k], type[k]);
    mg_graph *g = parse(own);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(strstr(cu, "mg_contract_fma(") != NULL, k == 2);
    assert_int_equal(strstr(cu, "mg_contract<mg_h16") != NULL, k == 1);
    mg_string_free(cu);
    mg_graph_free(g);
  }
}

/* The cost class of a row is its last column, or what stands for a missing one; the model prices by it. */
static void cost_classes(void **state) {
  (void)state;
  static const char *const ops[][2] = {{"bend(x)", "bend(bend(x))"}, {"blend(x, y, 1/4)", "blend(blend(x, y, 1/4), y, 1/4)"}, {"add(x, y)", "add(add(x, y), y)"}};
  double us[3]; /* of one operator: what it adds */
  assert_int_equal(mg_op_cost(MG_OP_BLEND), MG_CLASS_PLAIN);
  assert_int_equal(mg_op_cost(MG_OP_BEND), MG_CLASS_SPECIAL);
  assert_int_equal(mg_op_cost(MG_OP_FLIP), MG_CLASS_MOVE);
  for (int k = 0; k < 3; k++) {
    double of[2];
    for (int j = 0; j < 2; j++) {
      char text[400];
      mg_kernel_facts f;
      snprintf(text, sizeof text, "program c\ninput X : f16[1024, 256]\ninput Y : f16[1024, 256]\nO = kernel grid=(x=128) {\n  x = load X {x->0}\n%s  o = %s\n  store o {x->0}\n}\noutput O\n",
               k ? "  y = load Y {x->0}\n" : "", ops[k][j]);
      mg_graph *g = parse(text);
      assert_int_equal(mg_kernel_facts_of(g, 1, mg_machine_find("H200"), &f), 1);
      of[j] = f.cost.elements_us;
      mg_graph_free(g);
    }
    us[k] = of[1] - of[0];
  }
  assert_float_equal(us[0] / us[1], mg_cost_slots(MG_CLASS_SPECIAL) / mg_cost_slots(MG_CLASS_PLAIN), 1e-9);
  assert_float_equal(us[1], us[2], 1e-12);
}

static void chain_of_flip(void **state) {
  (void)state;
  chain("program flip_add\ninput X : f16[16, 48]\ninput Y : f16[16, 48]\nO = bend(add(flip(X, dim=1), Y))\noutput O\n", "T(FLIP, \"flip\"", 1, 3);
}
static void chain_of_flip_after_matmul(void **state) {
  (void)state;
  chain("program flip_linear\ninput X : f16[16, 64]\ninput W : f16[64, 40]\nO = flip(matmul(X, W), dim=0)\noutput O\n", "T(FLIP, \"flip\"", 1, 2);
}
static void chain_of_shift(void **state) {
  (void)state;
  chain("program shift_linear\ninput X : f16[16, 64]\ninput W : f16[64, 40]\ninput R : f16[16, 40]\nO = add(shift(matmul(X, W), dim=0), R)\noutput O\n", "T(SHIFT, \"shift\"", 1, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_stand_in_the_table), cmocka_unit_test(rows_of_types), cmocka_unit_test(chain_of_a_type), cmocka_unit_test(chain_of_a_tensor_type),
      cmocka_unit_test(cost_classes), cmocka_unit_test(parsed_printed_evaluated), cmocka_unit_test(errors_name_the_operator),
      cmocka_unit_test(verified),                cmocka_unit_test(at_every_level),           cmocka_unit_test(chain_of_bend),
      cmocka_unit_test(chain_of_blend),          cmocka_unit_test(chain_of_flip),            cmocka_unit_test(chain_of_flip_after_matmul),
      cmocka_unit_test(chain_of_shift),          cmocka_unit_test(resized), cmocka_unit_test(chain_of_every_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
