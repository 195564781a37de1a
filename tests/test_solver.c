/* Tests of mirage_verify.h's solver: axioms, proofs, wrong pairs, second opinions, limits.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_solver.c -o build/test_solver -lcmocka -lm -lpthread -ldl && build/test_solver
   Usage: test_solver [SEED [PAIRS]]; PAIRS random pairs of each kind, 60 by default. */
#define MG_USER_OPS(E, T)                                                       \
  E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))      \
  E(SOFTSTEP, "softstep", 1, MG_KBT, RAT, OPAQUE, FF_OPAQUE(SOFTSTEP, a), a / (MG_C(1, 1) + a * a * c * c))
#define MG_USER_PROOF_AXIOMS(A) A(bend_odd, FACT, "bend(neg(x)) = neg(bend(x))")
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include "parse.h"

static uint64_t seed;
static int pairs = 60, have_z3;

static uint64_t next(uint64_t *s) { return mgi_ff_mix(*s += MGI_FF_GOLD); }
static int below(uint64_t *s, int n) { return (int)(next(s) % (uint64_t)n); }

static mg_graph *program(const char *inputs, const char *body) {
  char text[8192];
  snprintf(text, sizeof text, "program p\n%s%s\noutput O\n", inputs, body);
  return parse(text);
}
static mg_prove_report prove_with(const mg_prove_config *c, const char *inputs, const char *a, const char *b) {
  mg_prove_report r;
  mg_error e;
  mg_graph *A = program(inputs, a), *B = program(inputs, b);
  if (mg_prove(A, B, c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_graph_free(A), mg_graph_free(B);
  return r;
}
static mg_prove_report prove(int method, const char *inputs, const char *a, const char *b) {
  mg_prove_config c = mg_prove_config_default();
  c.method = method, c.seed = seed, c.time_limit_s = 60; /* by the clock on the wall: a busy machine has time too */
  return prove_with(&c, inputs, a, b);
}
/* 1 if the proof goes through: floats are not asked, so that a wrong pair must be stopped by the proof itself. */
static int proves_within(double seconds, const mg_graph *A, const mg_graph *B, int method) {
  mg_prove_config c = mg_prove_config_default();
  mg_prove_report r;
  mg_error e;
  mgi_z3 Z;
  char why[160] = "";
  const mg_graph *g[2];
  g[0] = A, g[1] = B;
  memset(&r, 0, sizeof r);
  assert_int_equal(mgi_z3_load(&Z, NULL, &e), MG_OK);
  int yes = mgi_prove_by(g, &Z, &c, mgi_seconds() + seconds, method, &r, why, &e);
  dlclose(Z.lib);
  return yes;
}
static int proves(const mg_graph *A, const mg_graph *B, int method) { return proves_within(4, A, B, method); }

static const char xy[] = "input X : f32[2, 6]\ninput Y : f32[2, 6]\ninput W : f32[6, 4]\n";

/* ---- axioms */

/* The first draw on which the text fails, or -1; *met counts draws on which its conditions held. */
static int fails_at(const char *text, int draws, int *met) {
  static const double corner[8] = {0, 1, -1, 2, 0.5, -0.5, 1, 0};
  uint64_t s = seed;
  *met = 0;
  for (int k = 0; k < draws; k++) {
    double v[26], one = corner[next(&s) & 7];
    int kind = below(&s, 4);
    mg_error e;
    for (int j = 0; j < 26; j++) {
      double u = ldexp((double)(next(&s) >> 11), -53);
      v[j] = kind == 0 ? corner[next(&s) & 7] : kind == 1 ? 6 * u - 3 : kind == 2 ? 1e-3 + 8 * u : (next(&s) & 1) ? one : 4 * u - 2;
    }
    int r = mg_proof_axiom_holds(text, v, &e);
    if (r == -2) fail_msg("%s: %s", text, e.msg);
    if (r >= 0) ++*met;
    if (r == 0) return k;
  }
  return -1;
}

static void axioms_hold(void **state) {
  (void)state;
  int user = 0, met;
  assert_true(mg_proof_axiom_count() >= 20);
  for (int k = 0; k < mg_proof_axiom_count(); k++) {
    const mg_proof_axiom *a = mg_proof_axiom_at(k);
    int at = fails_at(a->text, 4000, &met);
    if (at >= 0) fail_msg("%s: %s fails on draw %d", a->name, a->text, at);
    if (met < 100) fail_msg("%s: %s was tested on %d draws only", a->name, a->text, met);
    user += !strcmp(a->name, "bend_odd");
  }
  assert_int_equal(user, 1);
  assert_null(mg_proof_axiom_at(-1));
  assert_null(mg_proof_axiom_at(mg_proof_axiom_count()));
}

/* Every FACT row can be given to the solver: its variables are bound by applications (the two of max are built in). */
static void facts_have_triggers(void **state) {
  (void)state;
  for (int k = 0; k < mg_proof_axiom_count(); k++) {
    const mg_proof_axiom *a = mg_proof_axiom_at(k);
    mgi_fact f;
    mg_error e;
    int trigger[3];
    assert_int_equal(mgi_fact_parse(a->text, &f, &e), MG_OK);
    if (a->use == MG_PROOF_FACT && strncmp(a->name, "max_", 4) && mgi_fact_triggers(&f, trigger) < 1) fail_msg("%s: nothing binds the variables of %s", a->name, a->text);
  }
}

static void unsound_axioms_are_caught(void **state) {
  static const char *const wrong[] = {
      "exp(add(x,y)) = add(exp(x),exp(y))", "sqrt(sqr(x)) = x", "log(mul(x,y)) = add(log(x),log(y))", "max(x,y) = x", "x >= 0 => sqrt(x) > 0", "div(x,x) = 1",
      "exp(log(x)) = x", "relu(x) = x", "x <= y => exp(x) < exp(y)", "silu(x) = div(x,add(1,exp(x)))", "max(mul(z,x),mul(z,y)) = mul(z,max(x,y))", "bend(neg(x)) = bend(x)",
      "x > 0 => exp(x) > add(1,mul(2,x))", "sqrt(x) >= 0"};
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    int met;
    if (fails_at(wrong[k], 4000, &met) < 0) fail_msg("not caught: %s", wrong[k]);
  }
}

static void bad_texts_are_refused(void **state) {
  static const char *const bad[] = {"", "x", "x =", "exp(x = 1", "exp(x)) = 1", "nosuch(x) = 1", "exp(x,y) = 1", "add(x) = 1", "x = 1 => ", "x = 1 & y = 1", "x = 1/0", "scale(x) = x", "matmul(x,y) = x", "X = 1", "x = 1 | ", "x ! 1"};
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    double v[26] = {0};
    mg_error e;
    memset(&e, 0, sizeof e);
    if (mg_proof_axiom_holds(bad[k], v, &e) != -2 || !*e.msg) fail_msg("accepted: %s", bad[k]);
  }
}

/* ---- pairs that are proved */

typedef struct pair { const char *a, *b; } pair;
static const pair right[] = {
    {"O = relu(X)", "O = add(X, relu(neg(X)))"},
    {"O = sub(relu(X), relu(add_scalar(X, -6)))", "O = neg(add_scalar(relu(neg(add_scalar(relu(X), -6))), -6))"}, /* clamp */
    {"O = relu(relu(X))", "O = relu(X)"},
    {"O = add(relu(sub(X, Y)), Y)", "O = add(relu(sub(Y, X)), X)"},                                           /* max(x, y) */
    {"M = max(X, dim=1)\nE = exp(sub(X, M))\nO = div(E, sum(E, dim=1))", "O = softmax(X, dim=1)"},
    {"O = sqrt(scale(sum(sqr(X), dim=1), 1/4096))", "O = scale(sqrt(sum(sqr(X), dim=1)), 1/64)"},
    {"O = log(exp(X))", "O = scale(add(X, X), 1/2)"},
    {"O = log(mul(exp(X), add_scalar(sqr(Y), 1)))", "O = add(X, log(add_scalar(sqr(Y), 1)))"},
    {"O = sub(log(sqr(X)), log(add_scalar(sqr(Y), 1)))", "O = log(div(sqr(X), add_scalar(sqr(Y), 1)))"},
    {"O = exp(relu(X))", "O = add_scalar(relu(add_scalar(exp(X), -1)), 1)"},
    {"O = relu(log(add_scalar(sqr(X), 1)))", "O = log(add_scalar(sqr(X), 1))"},
    {"O = silu(X)", "O = div(X, add_scalar(exp(neg(X)), 1))"},
    {"O = sum(silu(X), dim=1)", "O = sum(div(X, add_scalar(exp(neg(X)), 1)), dim=1)"},
    {"O = sum(relu(X), dim=1)", "O = add(sum(X, dim=1), sum(relu(neg(X)), dim=1))"},
    {"O = matmul(relu(X), W)", "O = add(matmul(X, W), matmul(relu(neg(X)), W))"},
    {"O = max(add(X, sum(Y, dim=1)), dim=1)", "O = add(max(X, dim=1), sum(Y, dim=1))"},
    {"O = max(scale(X, 1/8), dim=1)", "O = scale(max(X, dim=1), 1/8)"},
    {"O = bend(sub(X, Y))", "O = neg(bend(sub(Y, X)))"},
    {"O = softstep(relu(X), 1/3)", "O = softstep(add(X, relu(neg(X))), 1/3)"},
    {"O = sqr(sqrt(add_scalar(sqr(X), 1)))", "O = add_scalar(mul(X, X), 1)"},
    {"O = sqrt(sqr(X))", "O = add(relu(X), relu(neg(X)))"},                                                   /* |x| */
    {"O = div(relu(X), sqrt(add_scalar(sum(sqr(X), dim=1), 1)))", "O = relu(div(X, sqrt(add_scalar(sum(sqr(X), dim=1), 1))))"},
    {"O = matmul(mul(X, div(Y, add(mul(sqr(Y), Y), Y))), W)", "O = matmul(div(X, add_scalar(sqr(Y), 1)), W)"}, /* not the reverse: Y = 0 */
    {"O = sum(sum(mul(X, Y), dim=1), dim=0)", "O = sum(sum(mul(Y, X), dim=0), dim=1)"},
    {"O = sqr(sum(X, dim=1))", "O = sum(mul(X, sum(X, dim=1)), dim=1)"},
    {"O = reshape(sum(reshape(X, [2, 2, 3]), dim=1), [2, 3])", "O = reshape(sum(transpose(reshape(X, [2, 2, 3]), [0, 2, 1]), dim=2), [2, 3])"},
    {"O = sum(reshape(X, [12]), dim=0)", "O = reshape(sum(sum(X, dim=0), dim=1), [1])"},
    {"O = repeat(relu(X), dim=0, n=2)", "O = relu(repeat(X, dim=0, n=2))"},
    {"O = gelu(add(X, Y))", "O = gelu(add(Y, X))"},
};

static void right_pairs_are_proved(void **state) {
  (void)state;
  if (!have_z3) skip();
  for (size_t k = 0; k < sizeof right / sizeof *right; k++)
    for (int method = MG_PROVE_INDEXED; method <= MG_PROVE_ELEMENTS; method++) {
      mg_prove_report r = prove(method, xy, right[k].a, right[k].b);
      if (r.verdict != MG_EQUAL) fail_msg("%s, method %d: %s\n%s\n%s", mg_verdict_name(r.verdict), method, r.reason, right[k].a, right[k].b);
      assert_int_equal(r.method, method);
      assert_true(r.elements >= 1 && !r.confirmed);
      assert_non_null(strstr(r.reason, "proved at these sizes"));
    }
}

/* The line says who decided, and by what. */
static void reports_name_what_was_used(void **state) {
  (void)state;
  if (!have_z3) skip();
  mg_prove_report r = prove(MG_PROVE_AUTO, xy, "O = sub(relu(X), relu(add_scalar(X, -6)))", "O = neg(add_scalar(relu(neg(add_scalar(relu(X), -6))), -6))");
  assert_int_equal(r.queries, 1);
  assert_non_null(strstr(r.reason, "Z3"));
  assert_non_null(strstr(r.axioms, "max_one"));
  assert_non_null(strstr(r.solver, "Z3 4."));
  r = prove(MG_PROVE_AUTO, xy, "O = add(X, Y)", "O = add(Y, X)");
  assert_int_equal(r.queries, 0);
  assert_string_equal(r.axioms, "");
  assert_non_null(strstr(r.reason, "normal form"));
  r = prove(MG_PROVE_AUTO, xy, "O = concat(relu(X), Y, dim=0)", "O = concat(add(X, relu(neg(X))), Y, dim=0)"); /* no symbolic index: element by element */
  assert_int_equal(r.verdict, MG_EQUAL);
  assert_int_equal(r.method, MG_PROVE_ELEMENTS);
  assert_int_equal(r.elements, 24);
}

/* ---- pairs that are not */

static const pair wrong[] = {
    {"O = relu(X)", "O = add(X, Y)"}, {"O = relu(X)", "O = relu(neg(X))"}, {"O = sqrt(sqr(X))", "O = scale(X, 1)"},
    {"O = relu(sub(X, Y))", "O = sub(relu(X), relu(Y))"}, {"O = max(add(X, Y), dim=1)", "O = add(max(X, dim=1), max(Y, dim=1))"},
    {"O = softmax(X, dim=1)", "O = softmax(X, dim=0)"}, {"O = softmax(scale(X, 2), dim=1)", "O = softmax(X, dim=1)"}, {"O = sqrt(scale(sqr(X), 1/4))", "O = scale(sqrt(sqr(X)), 1/4)"},
    {"O = max(neg(X), dim=1)", "O = neg(max(X, dim=1))"}, {"O = silu(X)", "O = div(X, add_scalar(exp(X), 1))"}, {"O = exp(relu(X))", "O = relu(exp(X))"},
    {"O = sum(mul(X, Y), dim=1)", "O = mul(sum(X, dim=1), sum(Y, dim=1))"}, {"O = sqr(sum(X, dim=1))", "O = sum(sqr(X), dim=1)"}, {"O = matmul(relu(X), W)", "O = relu(matmul(X, W))"},
    {"O = reshape(sum(reshape(X, [2, 2, 3]), dim=1), [2, 3])", "O = reshape(sum(reshape(X, [2, 3, 2]), dim=2), [2, 3])"},
    {"O = bend(X)", "O = bend(neg(X))"}, {"O = softstep(X, 1/3)", "O = softstep(X, 1/2)"}, {"O = log(add_scalar(sqr(X), 1))", "O = add_scalar(log(add_scalar(sqr(X), 1)), 1)"},
    {"O = sum(sum(mul(X, Y), dim=1), dim=0)", "O = sum(mul(sum(X, dim=0), sum(Y, dim=0)), dim=1)"}, {"O = transpose(reshape(X, [6, 2]), [1, 0])", "O = scale(X, 1)"},
    {"O = concat(X, Y, dim=0)", "O = concat(Y, X, dim=0)"}, {"O = repeat(X, dim=0, n=2)", "O = concat(X, Y, dim=0)"}};

static void wrong_pairs_are_not_proved(void **state) {
  (void)state;
  if (!have_z3) skip();
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    mg_graph *A = program(xy, wrong[k].a), *B = program(xy, wrong[k].b);
    for (int method = MG_PROVE_INDEXED; method <= MG_PROVE_ELEMENTS; method++)
      if (proves(A, B, method)) fail_msg("proved by method %d:\n%s\n%s", method, wrong[k].a, wrong[k].b);
    mg_graph_free(A), mg_graph_free(B);
    mg_prove_report r = prove(MG_PROVE_AUTO, xy, wrong[k].a, wrong[k].b);
    if (r.verdict != MG_NOT_EQUAL || !r.confirmed || r.cx_a == r.cx_b) fail_msg("%s: %s\n%s\n%s", mg_verdict_name(r.verdict), r.reason, wrong[k].a, wrong[k].b);
  }
}

/* Where no input is in both domains everything would be equal: that is not a proof. */
static void never_defined_is_undecided(void **state) {
  (void)state;
  if (!have_z3) skip();
  mg_prove_report r = prove(MG_PROVE_AUTO, xy, "O = log(neg(exp(X)))", "O = scale(X, 3)");
  assert_int_equal(r.verdict, MG_UNDECIDED);
  assert_non_null(strstr(r.reason, "both are defined"));
  r = prove(MG_PROVE_AUTO, xy, "O = sqrt(sub(neg(sqr(X)), exp(Y)))", "O = mul(X, X)");
  assert_int_equal(r.verdict, MG_UNDECIDED);
}

/* ---- µGraphs: one thing changed in a right one */

typedef struct swap { const char *from, *to; } swap;
static const char graph_inputs[] = "input X : f16[4, 12]\ninput G : f16[12]\ninput W : f16[12, 6]\n";
static const char graph_program[] = "O = matmul(rms_norm(X, G, eps=1/100), W)";
static const char graph_right[] =
    "O = kernel grid=(x=2, y=3) threads=32 {\n  for i=4 {\n    a = load X {x->0, y->*, i->1}\n    g = load G {x->*, y->*, i->0}\n    w = load W {x->*, y->1, i->0}\n"
    "    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n"
    "  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/12), 1/100)))\n  store o {x->0, y->1}\n}";
static const swap graph_wrong[] = {
    {"a = load X {x->0, y->*, i->1}", "a = load X {x->0, y->1, i->*}"}, {"1/12", "1/11"}, {"1/100)))", "1/101)))"}, {"sum(sqr(a), dim=1)", "sum(sqr(mul(a, g)), dim=1)"},
    {"mul(a, g)", "add(a, g)"}, {"matmul(mul(a, g), w)", "matmul(a, w)"}, {"div(accum(b) {i->+}, ", "mul(accum(b) {i->+}, "}, {"sqrt(add_scalar", "exp(add_scalar"},
    {"sqr(a)", "mul(a, sqr(a))"}, {"accum(b) {i->+}", "neg(accum(b) {i->+})"}, {"s = sum(sqr(a), dim=1)", "s = sum(sqr(a), dim=0)"}, {"accum(s) {i->+}", "accum(s) {i->max}"},
    {"accum(b) {i->+}", "accum(b) {i->max}"}};

static void graphs_and_their_mutants(void **state) {
  (void)state;
  if (!have_z3) skip();
  mg_graph *P = program(graph_inputs, graph_program), *R = program(graph_inputs, graph_right);
  assert_true(proves_within(60, P, R, MG_PROVE_INDEXED));
  assert_true(proves_within(60, P, R, MG_PROVE_ELEMENTS));
  int built = 0;
  for (size_t k = 0; k < sizeof graph_wrong / sizeof *graph_wrong; k++) {
    char text[8192];
    mg_graph *M = NULL;
    mg_error e;
    char *wrong = replaced(graph_right, graph_wrong[k].from, graph_wrong[k].to);
    snprintf(text, sizeof text, "program p\n%s%s\noutput O\n", graph_inputs, wrong);
    free(wrong);
    if (mg_parse(text, strlen(text), "mutant", NULL, &M, &e) != MG_OK) continue; /* shapes may forbid it */
    built++;
    for (int method = MG_PROVE_INDEXED; method <= MG_PROVE_ELEMENTS; method++)
      if (proves(P, M, method)) fail_msg("proved by method %d: %s for %s", method, graph_wrong[k].to, graph_wrong[k].from);
    mg_graph_free(M);
  }
  assert_true(built >= 10);
  mg_graph_free(P), mg_graph_free(R);
}

/* Words of a µGraph's text that may stand for each other, by kind. */
static const char *const word[][6] = {{"add(", "mul(", "sub(", "div("}, {"sqr(", "exp(", "neg(", "sqrt(", "relu("}, {"->0", "->1", "->*", "->+", "->max"}, {"=2", "=3", "=4", "=6", "=1"}, {"(a", "(b", "(s", "(g", "(w"}, {"1/12", "1/11"}};

/* One word of the text, or two, changed for another of its kind; 0 if a try met none. */
static int mutate_text(char *out, size_t size, const char *text, uint64_t *s) {
  char from[4096];
  snprintf(from, sizeof from, "%s", text);
  for (int changes = below(s, 4) ? 1 : 2; changes > 0; changes--) {
    int kind = below(s, 6), n = 0, found = 0;
    const char *at[64], *was[64];
    while (n < 6 && word[kind][n]) n++;
    for (int k = 0; k < n; k++)
      for (const char *p = from; found < 64 && (p = strstr(p, word[kind][k])); p++) at[found] = p, was[found++] = word[kind][k];
    if (!found) return 0;
    int k = below(s, found);
    snprintf(out, size, "%.*s%s%s", (int)(at[k] - from), from, word[kind][below(s, n)], at[k] + strlen(was[k]));
    snprintf(from, sizeof from, "%s", out);
  }
  return strcmp(out, text) != 0;
}

/* What float64 tells from the program is never proved; what it does not, nearly always is. */
static void random_mutants_of_a_graph(void **state) {
  uint64_t s = seed ^ 0x6a;
  int told = 0, proved = 0, left = 0;
  (void)state;
  if (!have_z3) skip();
  mg_graph *P = program(graph_inputs, graph_program);
  for (int k = 0; k < 40 * pairs; k++) {
    char text[8192], body[4096];
    mg_graph *M = NULL;
    mg_error e;
    mg_prove_config c = mg_prove_config_default();
    mg_prove_report r;
    if (!mutate_text(body, sizeof body, graph_right, &s)) continue;
    snprintf(text, sizeof text, "program p\n%s%s\noutput O\n", graph_inputs, body);
    if (mg_parse(text, strlen(text), "mutant", NULL, &M, &e) != MG_OK) continue;
    c.seed = next(&s), c.time_limit_s = 2;
    mg_status t = mg_prove(P, M, &c, &r, &e);
    if (t != MG_OK && t != MG_BAD_INPUT) fail_msg("%s", e.msg);
    if (t == MG_OK && r.verdict == MG_NOT_EQUAL) {
      told++;
      for (int method = MG_PROVE_INDEXED; method <= MG_PROVE_ELEMENTS; method++)
        if (proves(P, M, method)) fail_msg("proved by method %d, though float64 shows %.17g and %.17g:\n%s", method, r.cx_a, r.cx_b, body);
    } else if (t == MG_OK) proved += r.verdict == MG_EQUAL, left += r.verdict != MG_EQUAL;
    mg_graph_free(M);
  }
  mg_graph_free(P);
  print_message("mutants: %d told apart by float64 and not proved, %d proved, %d undecided\n", told, proved, left);
  assert_true(told >= 3 * pairs && proved >= pairs / 6);
}

/* Other cuts of the same: uneven ones, sums over the grid, loops in loops, a thread graph's worth of levels. */
static void graphs_of_many_cuts(void **state) {
  static const char in[] = "input X : f16[4, 12]\ninput W : f16[12, 6]\n", prog[] = "O = relu(matmul(relu(X), W))";
  static const char *const cut[] = {
      "O = kernel grid=(x=4, y=6) threads=32 {\n  a = load X {x->0, y->*}\n  w = load W {x->*, y->1}\n  o = relu(matmul(relu(a), w))\n  store o {x->0, y->1}\n}",
      "O = kernel grid=(x=2, z=3) threads=32 {\n  a = load X {x->0, z->1}\n  w = load W {x->*, z->0}\n  o = relu(accum(matmul(relu(a), w)) {z->+})\n  store o {x->0}\n}",
      "O = kernel grid=(x=2) threads=32 {\n  for i=2 {\n    for j=3 {\n      a = load X {x->0, i->1, j->1}\n      w = load W {x->*, i->0, j->0}\n      c = matmul(relu(a), w)\n    }\n  }\n  o = relu(accum(c) {i->+, j->+})\n  store o {x->0}\n}",
      "O = kernel grid=(x=3) threads=32 {\n  for i=4 {\n    a = load X {x->*, i->0}\n    w = load W {x->1, i->*}\n    c = matmul(relu(a), w)\n  }\n  o = relu(accum(c) {i->0})\n  store o {x->1}\n}"};
  (void)state;
  if (!have_z3) skip();
  mg_graph *P = program(in, prog);
  for (size_t k = 0; k < sizeof cut / sizeof *cut; k++) {
    mg_graph *G = program(in, cut[k]);
    if (!proves_within(60, P, G, MG_PROVE_ELEMENTS)) fail_msg("not proved element by element: %s", cut[k]);
    if (!proves_within(60, P, G, MG_PROVE_INDEXED)) fail_msg("not proved at a symbolic index: %s", cut[k]);
    mg_graph_free(G);
  }
  mg_graph_free(P);
  static const char odd[] = "input X : f16[5, 7]\ninput W : f16[7, 6]\n";
  mg_graph *G = program(odd, "O = kernel grid=(x=2) threads=32 {\n  for i=4 {\n    a = load X {x->0, i->1}\n    w = load W {x->*, i->0}\n    c = matmul(relu(a), w)\n  }\n  o = relu(accum(c) {i->+})\n  store o {x->0}\n}");
  P = program(odd, prog);
  assert_true(proves_within(60, P, G, MG_PROVE_ELEMENTS));
  assert_true(proves_within(60, P, G, MG_PROVE_INDEXED)); /* uneven chunks too */
  mg_graph_free(P), mg_graph_free(G);
}

/* At full size in less than a second, where no field test gives a certificate: maxima, a logarithm of a sum. */
static void full_size(void **state) {
  static const char in[] = "input Q : f16[16, 64, 128]\ninput K : f16[16, 128, 4096]\ninput V : f16[16, 4096, 128]\n";
  (void)state;
  if (!have_z3) skip();
  mg_graph *A = program(in, "S = scale(matmul(Q, K), 1/8)\nM = max(S, dim=2)\nE = exp(sub(S, M))\nL = add(M, log(sum(E, dim=2)))\nO = matmul(exp(sub(S, L)), relu(V))");
  mg_graph *B = program(in, "O = matmul(softmax(scale(matmul(Q, K), 1/8), dim=2), relu(V))"), *C = program(in, "O = matmul(softmax(scale(matmul(Q, K), 1/4), dim=2), relu(V))");
  assert_true(proves_within(60, A, B, MG_PROVE_INDEXED));
  assert_false(proves(A, C, MG_PROVE_INDEXED));
  assert_false(proves(A, B, MG_PROVE_ELEMENTS)); /* too large, and says so: no crash, no flood */
  mg_graph_free(A), mg_graph_free(B), mg_graph_free(C);
}

/* ---- random pairs: a second opinion on mg_verify, and no wrong proof */

typedef struct text { char s[6000]; size_t n; } text;
static void put(text *t, const char *s) {
  size_t n = strlen(s);
  assert_true(t->n + n < sizeof t->s);
  memcpy(t->s + t->n, s, n + 1);
  t->n += n;
}
/* A random term of shape [2, 6], or [2, 1] for `reduced`, as a tree in an array; written out once plainly, once by
   other identities (rewritten), or with one node changed (mutated). */
enum { LEAF_X, LEAF_Y, ADD, SUB, MUL, DIV1, SQR, SCALE, SHIFT, SUM, EXP, RELU, MAX, LOG1, KINDS };
typedef struct tree { int kind[64], kid[64][2], n; } tree;
static int grow(tree *t, uint64_t *s, int depth, int lax) {
  int k = t->n++, kind = depth == 0 || t->n > 40 ? below(s, 2) : 2 + below(s, (lax ? EXP + 1 : (int)KINDS) - 2);
  if (kind == EXP && depth > 2) kind = MUL;
  t->kind[k] = kind, t->kid[k][0] = t->kid[k][1] = -1;
  if (kind > LEAF_Y) t->kid[k][0] = grow(t, s, kind == EXP ? 0 : depth - 1, lax);
  if (kind >= ADD && kind <= DIV1) t->kid[k][1] = grow(t, s, kind == DIV1 ? 0 : depth - 1, lax);
  return k;
}
enum { PLAIN, REWRITE };
static void write_term(text *o, const tree *t, int k, int mode, uint64_t *s) {
  int a = t->kid[k][0], b = t->kid[k][1], r = mode == REWRITE ? below(s, 2) : 0;
#define A write_term(o, t, a, mode, s)
#define B write_term(o, t, b, mode, s)
  switch (t->kind[k]) {
    case LEAF_X: put(o, "X"); break;
    case LEAF_Y: put(o, "Y"); break;
    case ADD: if (r) put(o, "add("), B, put(o, ", "), A, put(o, ")"); else put(o, "add("), A, put(o, ", "), B, put(o, ")"); break;
    case SUB: if (r) put(o, "add("), A, put(o, ", neg("), B, put(o, "))"); else put(o, "sub("), A, put(o, ", "), B, put(o, ")"); break;
    case MUL: if (r) put(o, "mul("), B, put(o, ", "), A, put(o, ")"); else put(o, "mul("), A, put(o, ", "), B, put(o, ")"); break;
    case DIV1:
      if (r) put(o, "mul("), A, put(o, ", div(add_scalar(scale(X, 0), 1), add_scalar(sqr("), B, put(o, "), 1)))");
      else put(o, "div("), A, put(o, ", add_scalar(mul("), B, put(o, ", "), B, put(o, "), 1))");
      break;
    case SQR: if (r) put(o, "mul("), A, put(o, ", "), A, put(o, ")"); else put(o, "sqr("), A, put(o, ")"); break;
    case SCALE: if (r) put(o, "scale(scale("), A, put(o, ", 1/8), 4)"); else put(o, "scale("), A, put(o, ", 1/2)"); break;
    case SHIFT: if (r) put(o, "add_scalar(add_scalar("), A, put(o, ", 2), -1)"); else put(o, "add_scalar("), A, put(o, ", 1)"); break;
    case SUM: /* of six columns, brought back to [2, 6] */
      if (r) put(o, "add(scale(X, 0), reshape(sum(sum(reshape(add(scale(X, 0), "), A, put(o, "), [2, 2, 3]), dim=1), dim=2), [2, 1]))");
      else put(o, "add(scale(X, 0), sum(add(scale(X, 0), "), A, put(o, "), dim=1))");
      break;
    case EXP: if (r) put(o, "div(add_scalar(scale(X, 0), 1), exp(neg("), A, put(o, ")))"); else put(o, "exp("), A, put(o, ")"); break;
    case RELU: if (r) put(o, "add("), A, put(o, ", relu(neg("), A, put(o, ")))"); else put(o, "relu("), A, put(o, ")"); break;
    case MAX: put(o, "add(scale(X, 0), max(add(scale(X, 0), "), A, put(o, "), dim=1))"); break;
    case LOG1: if (r) put(o, "scale(log(sqr(add_scalar(sqr("), A, put(o, "), 1))), 1/2)"); else put(o, "log(add_scalar(sqr("), A, put(o, "), 1))"); break;
    default: break;
  }
#undef A
#undef B
}
static mg_graph *term_program(const tree *t, int mode, uint64_t *s, int *built) {
  text o;
  mg_graph *g = NULL;
  mg_error e;
  o.n = 0;
  put(&o, "program p\n"), put(&o, xy), put(&o, "O = mul(add_scalar(scale(X, 0), 1), ");
  if (o.n < 3000) write_term(&o, t, 0, mode, s);
  put(&o, ")\noutput O\n");
  *built = mg_parse(o.s, o.n, "random", NULL, &g, &e) == MG_OK;
  if (!*built) fail_msg("%s in %s", e.msg, o.s);
  return g;
}
static void change(tree *t, uint64_t *s) {
  for (;;) {
    int k = below(s, t->n), kind = t->kind[k];
    if (kind == LEAF_X) t->kind[k] = LEAF_Y;
    else if (kind == LEAF_Y) t->kind[k] = LEAF_X;
    else if (kind == ADD) t->kind[k] = SUB;
    else if (kind == SUB || kind == MUL) t->kind[k] = ADD;
    else if (kind == SQR) t->kind[k] = SCALE;
    else if (kind == SCALE || kind == RELU || kind == MAX) t->kind[k] = SHIFT;
    else if (kind == SHIFT || kind == LOG1) t->kind[k] = SCALE;
    else continue;
    return;
  }
}

/* LAX pairs, right and wrong: the proof (without floats) and mg_verify never contradict each other. */
static void second_opinions(void **state) {
  uint64_t s = seed ^ 0x5eed;
  int both = 0, refused = 0, unproved = 0;
  (void)state;
  if (!have_z3) skip();
  for (int k = 0; k < 2 * pairs; k++) {
    tree t, u;
    int built;
    t.n = 0;
    grow(&t, &s, 3, 1);
    if (t.n > 14) { k--; continue; } /* rewriting doubles operands */
    u = t;
    if (k & 1) change(&u, &s);
    mg_graph *A = term_program(&t, PLAIN, &s, &built), *B = term_program(&u, REWRITE, &s, &built);
    mg_verify_config c = mg_verify_config_default();
    mg_verify_report r;
    mg_error e;
    c.seed = next(&s), c.tier = MG_TIER_FULL, c.threads = 1, c.time_limit_s = 20;
    if (mg_verify(A, B, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int method = MG_PROVE_INDEXED; method <= MG_PROVE_ELEMENTS; method++) {
      int yes = proves(A, B, method);
      if (yes && r.verdict == MG_NOT_EQUAL) {
        char *x = NULL, *y = NULL;
        mg_print(A, &x, &e), mg_print(B, &y, &e);
        fail_msg("pair %d, method %d: proved, and NOT_EQUAL by mg_verify (%s)\n%s\n%s", k, method, r.reason, x, y);
      }
      both += yes && (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED);
      refused += !yes && r.verdict == MG_NOT_EQUAL;
      unproved += !yes && r.verdict == MG_EQUAL;
    }
    mg_graph_free(A), mg_graph_free(B);
  }
  print_message("second opinions: %d proved and EQUAL, %d not proved and NOT_EQUAL, %d EQUAL without a proof, of %d\n", both, refused, unproved, 4 * pairs);
  assert_true(both >= pairs && refused >= pairs / 2);
  assert_true(unproved * 10 <= both); /* LAX is what the normal form decides, but for its limits */
}

/* The same with functions outside LAX: what float64 tells apart is never proved. */
static void random_wrong_pairs(void **state) {
  uint64_t s = seed ^ 0xbad;
  int apart = 0, proved = 0;
  (void)state;
  if (!have_z3) skip();
  for (int k = 0; k < pairs; k++) {
    tree t, u;
    int built;
    t.n = 0;
    grow(&t, &s, 3, 0);
    if (t.n > 12) { k--; continue; }
    u = t;
    if (k % 3) change(&u, &s);
    mg_graph *A = term_program(&t, PLAIN, &s, &built), *B = term_program(&u, REWRITE, &s, &built);
    mg_prove_config c = mg_prove_config_default();
    mg_prove_report r;
    mg_error e;
    c.library = NULL, c.time_limit_s = 2, c.seed = next(&s);
    if (mg_prove(A, B, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.verdict == MG_NOT_EQUAL) {
      apart++;
      for (int method = MG_PROVE_INDEXED; method <= MG_PROVE_ELEMENTS; method++)
        if (proves(A, B, method)) {
          char *x = NULL, *y = NULL;
          mg_print(A, &x, &e), mg_print(B, &y, &e);
          fail_msg("pair %d, method %d: proved, and float64 shows %.17g and %.17g\n%s\n%s", k, method, r.cx_a, r.cx_b, x, y);
        }
      if (k % 3 == 0) fail_msg("pair %d: a rewriting is told apart: %s", k, r.reason);
    } else proved += r.verdict == MG_EQUAL;
    mg_graph_free(A), mg_graph_free(B);
  }
  print_message("outside LAX: %d told apart by float64 and not proved, %d proved, of %d\n", apart, proved, pairs);
  assert_true(apart >= pairs / 4 && proved >= pairs / 6);
}

/* ---- limits, absence, bad input */

static void a_time_limit(void **state) {
  /* A form that is nowhere negative (Motzkin's, of several pairs of variables): true, and hard. */
  static const char hard[] = "P = mul(mul(sqr(X), sqr(Y)), add_scalar(add(sqr(X), sqr(Y)), -3))\nQ = add_scalar(P, 1)\nR = sum(mul(Q, add_scalar(sum(sqr(Y), dim=1), 1)), dim=1)\n";
  char a[512], b[512];
  (void)state;
  if (!have_z3) skip();
  snprintf(a, sizeof a, "%sO = relu(R)", hard), snprintf(b, sizeof b, "%sO = scale(R, 1)", hard);
  mg_prove_config c = mg_prove_config_default();
  c.time_limit_s = 1, c.method = MG_PROVE_ELEMENTS;
  double began = mgi_seconds();
  mg_prove_report r = prove_with(&c, xy, a, b);
  double took = mgi_seconds() - began;
  if (r.verdict != MG_UNDECIDED) fail_msg("%s: %s", mg_verdict_name(r.verdict), r.reason);
  if (took > 20) fail_msg("a limit of 1 s took %g s", took);
  if (took < 0.3) fail_msg("no hard question: it took %g s", took);
  assert_non_null(strstr(r.reason, "not proved"));
}

static void memory_is_bounded(void **state) {
  (void)state;
  if (!have_z3) skip();
  mg_prove_config c = mg_prove_config_default();
  c.memory_limit = 1 << 16, c.method = MG_PROVE_ELEMENTS;
  mg_prove_report r = prove_with(&c, xy, "O = matmul(sqr(matmul(X, W)), matmul(transpose(W, [1, 0]), W))", "O = matmul(matmul(sqr(matmul(X, W)), transpose(W, [1, 0])), W)");
  assert_int_equal(r.verdict, MG_UNDECIDED);
  assert_non_null(strstr(r.reason, "memory limit"));
  c.memory_limit = 0;
  r = prove_with(&c, xy, "O = matmul(sqr(matmul(X, W)), matmul(transpose(W, [1, 0]), W))", "O = matmul(matmul(sqr(matmul(X, W)), transpose(W, [1, 0])), W)");
  assert_int_equal(r.verdict, MG_EQUAL);
  static const char big[] = "S = sqr(sqr(sqr(add_scalar(add(add(X, Y), sum(X, dim=1)), 1))))\nO = sqr(sqr(S))"; /* 32nd power of eight terms */
  r = prove(MG_PROVE_ELEMENTS, xy, big, "O = scale(X, 2)");
  assert_int_not_equal(r.verdict, MG_EQUAL);
  mg_graph *A = program(xy, big), *B = program(xy, "S = sqr(sqr(sqr(add_scalar(add(add(Y, X), sum(X, dim=1)), 1))))\nO = sqr(sqr(S))");
  assert_false(proves(A, B, MG_PROVE_ELEMENTS));
  mg_graph_free(A), mg_graph_free(B);
}

/* A program may be a chain of thousands of operators: no recursion follows it all the way. */
static void long_chains(void **state) {
  static const char *const link[] = {"silu", "add_scalar", "relu", "log"};
  (void)state;
  if (!have_z3) skip();
  for (int k = 0; k < 4; k++) {
    size_t size = 1 << 18, n = 0;
    char *text = (char *)malloc(size);
    n += (size_t)snprintf(text, size, "program p\ninput X : f32[1, 2]\nT0 = sum(X, dim=1)\n");
    for (int j = 1; j <= 4000; j++) n += (size_t)snprintf(text + n, size - n, k == 1 ? "T%d = %s(T%d, 1)\n" : "T%d = %s(T%d)\n", j, link[k], j - 1);
    snprintf(text + n, size - n, "output T4000\n");
    mg_graph *G = parse(text), *H = parse(text);
    mg_prove_config c = mg_prove_config_default();
    mg_prove_report r;
    mg_error e;
    c.time_limit_s = 3;
    assert_int_equal(mg_prove(G, H, &c, &r, &e), MG_OK);
    if (k == 1 || k == 2) assert_int_equal(r.verdict, MG_EQUAL); /* these do not nest as terms */
    else assert_int_not_equal(r.verdict, MG_NOT_EQUAL);
    mg_graph_free(G), mg_graph_free(H), free(text);
  }
}

static void stopped(void **state) {
  static const volatile int stop = 1;
  (void)state;
  if (!have_z3) skip();
  mg_prove_config c = mg_prove_config_default();
  c.stop = &stop;
  mg_prove_report r = prove_with(&c, xy, "O = relu(X)", "O = add(X, relu(neg(X)))");
  assert_int_equal(r.verdict, MG_UNDECIDED);
}

static void without_the_library(void **state) {
  (void)state;
  mg_graph *A = program(xy, "O = relu(X)");
  mg_prove_config c = mg_prove_config_default();
  mg_prove_report r;
  mg_error e;
  c.library = "libabsent-z3.so.4";
  assert_int_equal(mg_prove(A, A, &c, &r, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "libz3-dev"));
  assert_int_equal(r.verdict, MG_UNDECIDED);
  c.library = "libm.so.6"; /* a library, but another */
  assert_int_equal(mg_prove(A, A, &c, &r, &e), MG_UNSUPPORTED);
  mg_graph_free(A);
}

static void bad_input(void **state) {
  mg_error e;
  (void)state;
  mg_graph *A = program(xy, "O = relu(X)"), *B = program(xy, "O = matmul(X, W)");
  assert_int_equal(mg_prove(A, NULL, NULL, NULL, &e), MG_BAD_INPUT);
  assert_int_equal(mg_prove(A, B, NULL, NULL, &e), MG_BAD_INPUT);
  if (!strstr(e.msg, "output 0")) fail_msg("%s", e.msg);
  mg_graph_free(A), mg_graph_free(B);
}

int main(int argc, char **argv) {
  mg_error e;
  mgi_z3 Z;
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  if (argc > 2) pairs = atoi(argv[2]) > 0 ? atoi(argv[2]) : 60;
  print_message("seed %llu (give it as the argument to repeat)\n", (unsigned long long)seed);
  have_z3 = mgi_z3_load(&Z, NULL, &e) == MG_OK;
  if (!have_z3) print_message("%s: the tests of proofs are skipped\n", e.msg);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axioms_hold), cmocka_unit_test(facts_have_triggers), cmocka_unit_test(unsound_axioms_are_caught), cmocka_unit_test(bad_texts_are_refused),
      cmocka_unit_test(right_pairs_are_proved), cmocka_unit_test(reports_name_what_was_used), cmocka_unit_test(wrong_pairs_are_not_proved), cmocka_unit_test(never_defined_is_undecided),
      cmocka_unit_test(graphs_and_their_mutants), cmocka_unit_test(random_mutants_of_a_graph), cmocka_unit_test(graphs_of_many_cuts), cmocka_unit_test(full_size), cmocka_unit_test(second_opinions), cmocka_unit_test(random_wrong_pairs),
      cmocka_unit_test(a_time_limit), cmocka_unit_test(memory_is_bounded), cmocka_unit_test(long_chains), cmocka_unit_test(stopped), cmocka_unit_test(without_the_library), cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
