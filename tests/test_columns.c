/* Rows from outside whose field column and real column are held against each other: those of which they are one function are
   never refused, those of which they are not always are, by name.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_columns.c -o build/test_columns -lcmocka -lm -lpthread -ldl
   Run from the repository's top directory. */
#define RIGHT(E)                                                                                                       \
  E(OWN,       "own",       1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(OWN, a),                 MG_TANH(a))                     \
  E(LOGIT,     "logit",     1, MG_KBT, NONE, OPAQUE, FF_DIV(FF_EXP(a), FF_ADD(FF_EXP(a), FF_EXP(FF_ZERO))), MG_C(1, 1) / (MG_C(1, 1) + MG_EXP(-a))) \
  E(MIX,       "mix",       2, MG_KBT, RAT,  OPAQUE, FF_ADD(a, FF_MUL(c, FF_SUB(b, a))), a + c * (b - a))               \
  E(MIX2,      "mix2",      2, MG_KBT, RAT,  OPAQUE, FF_ADD(FF_SUB(a, FF_MUL(c, a)), FF_MUL(c, b)), a + c * (b - a))    \
  E(MOST,      "most",      2, MG_KBT, NONE, OPAQUE, FF_MAX(a, b),                      MG_MAX(a, b))                   \
  E(LEAST,     "least",     2, MG_KBT, NONE, OPAQUE, FF_SUB(FF_ZERO, FF_MAX(FF_SUB(FF_ZERO, a), FF_SUB(FF_ZERO, b))), a < b ? a : b) \
  E(EVEN,      "even",      1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(EVEN, FF_MUL(a, a)),     MG_COS(a))                      \
  E(EVEN2,     "even2",     1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(EVEN, FF_MUL(a, a)),     MG_COS(a))                      \
  E(PAIR,      "pair",      2, MG_KBT, NONE, OPAQUE, FF_OPAQUE_TWO(PAIR, a, b),            a * a * a + MG_SIN(b))          \
  E(GATE,      "gate",      2, MG_KBT, NONE, OPAQUE, FF_MUL(b, FF_OPAQUE(GATE, a)),     b / (MG_C(1, 1) + MG_EXP(-a)))  \
  E(UNGATE,    "ungate",    2, MG_KBT, NONE, OPAQUE, FF_DIV(b, FF_OPAQUE_NONZERO(UNGATE, a)), b * (MG_C(1, 1) + MG_EXP(-a))) \
  E(SWISH,     "swish",     2, MG_KBT, NONE, OPAQUE, FF_MUL(b, FF_OPAQUE(SILU, a)),     b * (a / (MG_C(1, 1) + MG_EXP(-a)))) \
  E(OVER,      "over",      2, MG_KBT, NONE, OPAQUE, FF_MAX(FF_OPAQUE(OVER, a), b),     MG_MAX(MG_EXP(a * a), b))       \
  E(TOWER,     "tower",     2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(TOWER, FF_ADD(FF_OPAQUE(TOWER, a), b)), MG_TANH(MG_TANH(a) + b)) \
  E(DENSITY,   "density",   1, MG_KBT, NONE, OPAQUE, FF_OPAQUE_NONZERO(DENSITY, a),     MG_EXP(-a * a * MG_C(40, 1)))   \
  E(SOFTSTEP,  "softstep",  1, MG_KBT, RAT,  OPAQUE, FF_OPAQUE(SOFTSTEP, a),            a / (MG_C(1, 1) + a * a * c * c)) \
  E(CANCEL,    "cancel",    1, MG_KBT, NONE, OPAQUE, a,                                 (a + MG_C(1048576, 1)) - MG_C(1048576, 1)) \
  E(QUOTIENT,  "quotient",  2, MG_KBT, NONE, OPAQUE, FF_DIV(a, FF_SUB(a, b)),           MG_C(1, 1) / (MG_C(1, 1) - b / a)) \
  E(ATFIVE,    "atfive",    1, MG_KBT, RAT,  OPAQUE, FF_MUL(a, c),                      c == MG_C(5, 1) ? a : a * c) /* but at 5 */ \
  E(NOWHERE,   "nowhere",   1, MG_KBT, NONE, OPAQUE, FF_EXP(a),                         MG_LOG(-a * a - MG_C(1, 1)))
/* as the name says; `most` holds ordinary ones */
#define WRONG(E)                                                                                                       \
  E(TANHEXP,   "tanhexp",   1, MG_KBT, NONE, OPAQUE, FF_EXP(a),                         MG_TANH(a))                     \
  E(FLIPPED,   "flipped",   2, MG_KBT, NONE, OPAQUE, FF_SUB(b, a),                      a - b)                          \
  E(ONESIGN,   "onesign",   1, MG_KBT, NONE, OPAQUE, a,                                 MG_ABS(a))                      \
  E(ONESIGN2,  "onesign2",  1, MG_KBT, NONE, OPAQUE, FF_MAX(a, FF_ZERO),                MG_MAX(a, a * MG_C(1, 64)))     \
  E(ATZERO,    "atzero",    1, MG_KBT, NONE, OPAQUE, FF_MUL(a, a),                      a == 0 ? 1 : a * a)             \
  E(ATEQUAL,   "atequal",   2, MG_KBT, NONE, OPAQUE, FF_MAX(a, b),                      a == b ? a + 1 : MG_MAX(a, b))  \
  E(LARGE,     "large",     1, MG_KBT, NONE, OPAQUE, a,                                 MG_MIN(a, MG_C(100, 1)))        \
  E(LARGER,    "larger",    1, MG_KBT, NONE, OPAQUE, a,                                 MG_MIN(a, MG_C(65504, 1)))      \
  E(CONSTANT,  "constant",  1, MG_KBT, RAT,  OPAQUE, FF_MUL(a, c),                      a * MG_ABS(c))                  \
  E(NOTSUM,    "notsum",    2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(NOTSUM, FF_ADD(a, b)),   MG_SIN(a) + MG_COS(b))          \
  E(NOTEVEN,   "noteven",   1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(NOTEVEN, FF_MUL(a, a)),  a * a * a)                      \
  E(NOTCONST,  "notconst",  2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(NOTCONST, a),            MG_TANH(a) + b * MG_C(1, 1000)) \
  E(NOTLINEAR, "notlinear", 2, MG_KBT, NONE, OPAQUE, FF_MUL(b, FF_OPAQUE(NOTLINEAR, a)), MG_ABS(b) * MG_TANH(a))        \
  E(NOTSHIFT,  "notshift",  2, MG_KBT, NONE, OPAQUE, FF_ADD(b, FF_OPAQUE(NOTSHIFT, a)), b * MG_C(2, 1) + MG_TANH(a))    \
  E(ATNAUGHT,  "atnaught",  2, MG_KBT, NONE, OPAQUE, FF_MUL(b, FF_OPAQUE(ATNAUGHT, a)), b * MG_TANH(a) + MG_C(1, 8))    \
  E(ZERO,      "zero",      1, MG_KBT, NONE, OPAQUE, FF_OPAQUE_NONZERO(ZERO, a),        MG_TANH(a))                     \
  E(NOTSILU,   "notsilu",   1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(SILU, a),                MG_TANH(a))                     \
  E(NOTOWN,    "notown",    1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(OWN, a),                 MG_TANH(-a))                    \
  E(WINDOW,    "window",    1, MG_KBT, NONE, OPAQUE, a,                                 a > 10 && a < 11 ? 4 : a)       \
  E(WINDOW2,   "window2",   2, MG_KBT, NONE, OPAQUE, FF_ADD(a, b),                      b < -100 && b > -120 ? a : a + b) \
  E(LARGEST,   "largest",   1, MG_KBT, NONE, OPAQUE, a,                                 MG_MIN(a, MG_C(1000000000, 1) * MG_C(1000000000, 1) * MG_C(1000000000, 1))) \
  E(SMALLEST,  "smallest",  1, MG_KBT, NONE, OPAQUE, FF_DIV(FF_ONE, a),                 MG_MIN(MG_C(1, 1) / a, MG_C(1000000000, 1))) \
  E(EVENTO5,   "evento5",   1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(EVENTO5, FF_MUL(a, a)),  a * a + (a > 5))                \
  E(SUMTO50,   "sumto50",   2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(SUMTO50, FF_ADD(a, b)),  a + b + (a > 50))               \
  E(TO500,     "to500",     2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(TO500, a),               MG_TANH(a) + MG_MAX(b - MG_C(500, 1), MG_C(0, 1))) \
  E(LINTO448,  "linto448",  1, MG_KBT, NONE, OPAQUE, FF_MUL(a, FF_OPAQUE(LINTO448, FF_ONE)), MG_MIN(a * MG_C(3, 10), MG_C(448, 1))) \
  E(PLUSTO448, "plusto448", 2, MG_KBT, NONE, OPAQUE, FF_ADD(a, FF_MUL(b, FF_OPAQUE(PLUSTO448, FF_ONE))), a + MG_MIN(b * MG_C(3, 10), MG_C(448, 1))) \
  E(NOTPRODUCT, "notproduct", 2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(NOTPRODUCT, FF_MUL(a, b)), a > 1000 ? a : a * b)       \
  E(BOX,       "box",       2, MG_KBT, NONE, OPAQUE, FF_SUB(a, b),                      a < -3 && b < -3 && a > -4 && b > -4 ? b - a : a - b) \
  E(NOTEVEN5,  "noteven5",  1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(NOTEVEN5, FF_MUL(a, a)), a < -5 && a > -MG_C(51, 10) ? MG_EXP(a) : MG_EXP(MG_ABS(a))) \
  E(NARROW,    "narrow",    1, MG_KBT, NONE, OPAQUE, FF_ADD(a, a),                      a > MG_C(701, 100) && a < MG_C(702, 100) ? a : a + a) \
  E(NOTTOWER,  "nottower",  2, MG_KBT, NONE, OPAQUE, FF_OPAQUE(NOTTOWER, FF_MAX(FF_OPAQUE(NOTTOWER, a), FF_OPAQUE(NOTTOWER, b))), a - b)
#define MGT_ROWS(E) RIGHT(E) WRONG(E)
#define MG_USER_OPS(E, T) MGT_ROWS(E)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MGT_E(id, name, n, lv, attr, abs, field, real) MG_OP_##id,
static const int right[] = {RIGHT(MGT_E)}, wrong[] = {WRONG(MGT_E)};

/* Two programs that differ in the order of an addition; the second's operands are results of the row, in a kernel if asked. */
static mg_graph *program_of(const mg_op_info *row, int swapped, int kernel) {
  const char *rest = row->attr == MG_ATTR_RAT ? ", 1/4" : "", *second = row->n_in > 1 ? ", load Y {}" : "";
  char text[600];
  if (kernel)
    snprintf(text, sizeof text, "program p\ninput X : f16[4, 4]\ninput Y : f16[4, 4]\nO = kernel {\n  r = %s(load X {}%s%s)\n  s = add(%s)\n  store s {}\n}\noutput O\n", row->name, second, rest,
             swapped ? "load Y {}, r" : "r, load Y {}");
  else
    snprintf(text, sizeof text, "program p\ninput X : f16[4, 4]\ninput Y : f16[4, 4]\nR = %s(X%s%s)\nO = add(%s)\noutput O\n", row->name, row->n_in > 1 ? ", Y" : "", rest, swapped ? "Y, R" : "R, Y");
  return parse(text);
}

static void right_rows_pass(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
    const mg_op_info *row = mg_op_row((mg_opcode)right[k]);
    mg_graph *a = program_of(row, 0, 0);
    mg_error e;
    if (mg_verify_rows(a, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    mg_graph_free(a);
  }
}

static void wrong_rows_are_named(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    const mg_op_info *row = mg_op_row((mg_opcode)wrong[k]);
    mg_graph *a = program_of(row, 0, 0), *b = program_of(row, 1, 0), *c = program_of(row, 1, 1);
    mg_error e;
    mg_verify_report r;
    mg_prove_report p;
    if (mg_verify_rows(a, &e) != MG_BAD_INPUT) fail_msg("%s passes", row->name);
    assert_string_equal(e.where, row->name);
    assert_non_null(strstr(e.msg, "two functions"));
    print_message("%s: %s\n", e.where, e.msg);
    /* within a program, within a kernel, against itself */
    assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_BAD_INPUT);
    assert_string_equal(e.where, row->name);
    assert_int_equal(mg_verify(a, c, NULL, &r, &e), MG_BAD_INPUT);
    assert_int_equal(mg_verify(c, c, NULL, &r, &e), MG_BAD_INPUT);
    assert_int_equal(mg_prove(a, c, NULL, &p, &e), MG_BAD_INPUT);
    assert_string_equal(e.where, row->name);
    mg_graph_free(a), mg_graph_free(b), mg_graph_free(c);
  }
}

/* The table's own rows: what the check would say of them, were they a user's. */
static void our_rows_pass(void **state) {
  (void)state;
  static const double some[] = {0.5, -3, 0, 2, 1.0 / 1337};
  int rows = 0;
  for (int op = 1; op < MG_OP_TABLE_END; op++) {
    const mg_op_info *row = mg_op_row((mg_opcode)op);
    mg_error e;
    if (row->user || !row->elementwise) continue;
    rows++;
    if (op == MG_OP_SQRT) { /* a root of 0 is no divisor that anything is defined by: nowhere 0 is what the fields need */
      assert_int_equal(mgi_column_check(op, some, 5, &e), MG_BAD_INPUT);
      assert_non_null(strstr(e.msg, "FF_OPAQUE_NONZERO is nowhere 0, but the real column is at a = 0"));
    } else if (mgi_column_check(op, some, 5, &e) != MG_OK) fail_msg("%s: %s", row->name, e.msg);
  }
  assert_true(rows > 14);
}

/* A constant is asked at what the graphs give it, the inner ones too. */
static void constants_of_the_graphs(void **state) {
  (void)state;
  mg_graph *a = parse("program a\ninput X : f16[4]\nO = atfive(X, 5)\noutput O\n"), *b = parse("program b\ninput X : f16[4]\nO = scale(X, 5)\noutput O\n");
  mg_graph *inner = parse("program c\ninput X : f16[4]\nO = kernel {\n  x = load X {}\n  y = atfive(x, 4)\n  z = atfive(x, 5)\n  s = sub(y, z)\n  store s {}\n}\noutput O\n");
  mg_graph *other = parse("program d\ninput X : f16[4]\nO = atfive(X, 4)\noutput O\n");
  mg_error e;
  mg_verify_report r;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_BAD_INPUT);
  assert_int_equal(mg_verify(b, a, NULL, &r, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "atfive");
  assert_non_null(strstr(e.msg, "c = 5"));
  assert_int_equal(mg_verify_rows(inner, &e), MG_BAD_INPUT);
  assert_int_equal(mg_verify_rows(other, &e), MG_OK);
  char text[4000] = "program m\ninput X : f16[4]\nt0 = atfive(X, 7)\n";
  for (int k = 1; k < 60; k++) snprintf(text + strlen(text), sizeof text - strlen(text), "t%d = atfive(t%d, %d)\n", k, k - 1, k + 7);
  snprintf(text + strlen(text), sizeof text - strlen(text), "output t59\n");
  mg_graph *many = parse(text);
  assert_int_equal(mg_verify_rows(many, &e), MG_LIMIT);
  mg_graph_free(a), mg_graph_free(b), mg_graph_free(inner), mg_graph_free(other), mg_graph_free(many);
}

/* The case that started it: over the fields the two are one, over the reals they are not. */
static void what_the_fields_cannot_see(void **state) {
  (void)state;
  mg_graph *a = parse("program a\ninput X : f16[4]\ninput Y : f16[4]\nO = tanhexp(add(X, Y))\noutput O\n");
  mg_graph *b = parse("program b\ninput X : f16[4]\ninput Y : f16[4]\nO = mul(tanhexp(X), tanhexp(Y))\noutput O\n");
  mg_error e;
  mg_verify_report r;
  mg_verify_config fast = mg_verify_config_default();
  fast.tier = MG_TIER_FAST;
  assert_int_equal(mg_verify(a, b, &fast, &r, &e), MG_OK); /* the search's filter does not look */
  assert_int_equal(r.verdict, MG_EQUAL);
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "tanhexp");
  assert_non_null(strstr(e.msg, "field column is 1, the real column 0"));
  mg_graph *best = NULL;
  mg_search_stats stats;
  assert_int_equal(mg_superoptimize(a, NULL, NULL, &best, &r, &stats, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "tanhexp");
  assert_null(best);
  mg_graph_free(a), mg_graph_free(b);
}

/* A function of two operands: of both, in their order. */
static void functions_of_two(void **state) {
  (void)state;
  mg_graph *a = parse("program a\ninput X : f16[4]\ninput Y : f16[4]\nO = add(pair(X, Y), Y)\noutput O\n");
  mg_graph *b = parse("program b\ninput X : f16[4]\ninput Y : f16[4]\nO = add(Y, pair(X, Y))\noutput O\n");
  mg_graph *c = parse("program c\ninput X : f16[4]\ninput Y : f16[4]\nO = add(Y, pair(Y, X))\noutput O\n");
  mg_error e;
  mg_verify_report r;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_EQUAL);
  assert_true(r.log2_delta <= -64);
  assert_int_equal(mg_verify(a, c, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_NOT_EQUAL);
  mg_graph_free(a), mg_graph_free(b), mg_graph_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(right_rows_pass), cmocka_unit_test(our_rows_pass), cmocka_unit_test(constants_of_the_graphs), cmocka_unit_test(wrong_rows_are_named), cmocka_unit_test(what_the_fields_cannot_see), cmocka_unit_test(functions_of_two)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
