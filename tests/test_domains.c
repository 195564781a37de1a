/* Tests of mirage_verify.h's verdict as a directed one: on all reals on which A is defined B is defined, and the same.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_domains.c -o build/test_domains -lcmocka -lm -lpthread -ldl && build/test_domains */
#define MG_USER_OPS(E, T)                                                                                                                  \
  E(CBRTISH,  "cbrtish",  1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(CBRTISH, a),  a / (MG_C(1, 1) - a))                                             \
  E(SOFTSIGN, "softsign", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(SOFTSIGN, a), MG_TANH(a) * MG_C(1, 2))
#define MIRAGE_IMPLEMENTATION
#include "../mirage_verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include "parse.h"
#include "ugraphs.h"

typedef struct pair { const char *inputs, *a, *b; } pair;

static mg_verify_report verify(const pair *p, int tier) {
  char text[2][4096];
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  mg_graph *g[2];
  c.tier = tier;
  for (int k = 0; k < 2; k++) {
    snprintf(text[k], sizeof text[k], "program p\n%s\n%s\n", p->inputs, k ? p->b : p->a);
    g[k] = parse(text[k]);
  }
  if (mg_verify(g[0], g[1], &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  return r;
}

#define XY "input X : f32[4, 6]\ninput Y : f32[4, 6]\ninput Z : f32[4, 6]\ninput W : f32[6, 4]"
#define O(body) body "\noutput O"

/* EQUAL, and must stay so. */
static const pair equal[] = {
  {XY, O("O = add(X, Y)"), O("O = add(Y, X)")},
  {XY, O("O = div(X, exp(Y))"), O("O = div(X, exp(Y))")},
  {XY, O("O = div(X, Y)"), O("O = mul(X, div(add_scalar(scale(Y, 0), 1), Y))")},
  {XY, O("O = div(X, mul(Y, Z))"), O("O = div(div(X, Y), Z)")},
  {XY, O("O = div(div(X, Y), Z)"), O("O = div(X, mul(Y, Z))")},
  {XY, O("O = div(div(X, Y), Z)"), O("O = div(X, mul(mul(Z, Y), add_scalar(scale(X, 0), 1)))")},
  {XY, O("O = div(X, Y)"), O("O = div(neg(X), neg(Y))")},
  {XY, O("O = div(X, sub(Y, Z))"), O("O = div(neg(X), sub(Z, Y))")},
  {XY, O("O = div(X, Y)"), O("O = scale(div(X, scale(Y, 3)), 3)")},
  {XY, O("O = add(div(X, Y), div(X, Z))"), O("O = div(mul(X, add(Y, Z)), mul(Y, Z))")},
  {XY, O("O = div(X, sqr(Y))"), O("O = div(div(X, Y), Y)")},
  {XY, O("O = div(div(X, Y), Y)"), O("O = div(X, sqr(Y))")},
  {XY, O("O = mul(X, div(Y, Y))"), O("O = add(X, sub(Z, Z))")},
  {XY, O("O = div(X, mul(add_scalar(Y, 1), add_scalar(Z, 1)))"), O("O = div(div(X, add_scalar(Y, 1)), add_scalar(Z, 1))")},
  {XY, O("O = div(div(X, add_scalar(Y, 1)), add_scalar(Z, 1))"), O("O = div(X, mul(add_scalar(Y, 1), add_scalar(Z, 1)))")},
  {XY, O("O = div(div(X, add_scalar(Y, 1)), add_scalar(Z, 1))"), O("O = div(X, add(add_scalar(Y, 1), mul(Z, add_scalar(Y, 1))))")},
  {XY, O("O = softmax(X, dim=1)"), O("E = exp(X)\nO = div(E, sum(E, dim=1))")},
  {XY, O("E = exp(X)\nO = div(E, sum(E, dim=1))"), O("M = max(X, dim=1)\nE = exp(sub(X, M))\nO = div(E, sum(E, dim=1))")},
  {XY, O("O = rms_norm(X, eps=1/1000)"), O("O = div(X, sqrt(add_scalar(scale(sum(sqr(X), dim=1), 1/6), 1/1000)))")},
  {XY, O("O = matmul(rms_norm(X, eps=1/1000), W)"), O("O = div(matmul(X, W), sqrt(add_scalar(scale(sum(sqr(X), dim=1), 1/6), 1/1000)))")},
  {XY, O("O = matmul(div(X, sqrt(sum(sqr(X), dim=1))), W)"), O("O = div(matmul(X, W), sqrt(sum(sqr(X), dim=1)))")},
  {XY, O("O = div(matmul(X, W), sqrt(sum(sqr(X), dim=1)))"), O("O = matmul(div(X, sqrt(sum(sqr(X), dim=1))), W)")},
  {XY, O("O = matmul(div(X, Y), W)"), O("O = matmul(mul(X, div(add_scalar(scale(X, 0), 1), Y)), W)")},
  {XY, O("O = log(sum(exp(X), dim=1))"), O("O = log(sum(exp(X), dim=1))")},
  {XY, O("O = mul(sqrt(X), Y)"), O("O = mul(Y, sqrt(X))")},
  {XY, O("O = mul(log(X), Y)"), O("O = mul(Y, log(X))")},
  {XY, O("O = div(Y, log(X))"), O("O = div(Y, log(X))")},
  {XY, O("D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(mean(sqr(D), dim=1)))"), O("D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(scale(sum(sqr(D), dim=1), 1/6)))")},
  {XY, O("O = mul(cbrtish(X), Y)"), O("O = mul(Y, cbrtish(X))")},
  {XY, O("O = mul(softsign(X), Y)"), O("O = sub(mul(Y, softsign(X)), mul(sub(Z, Z), softsign(Y)))")},
  {XY, "O = div(X, Y)\nP = mul(X, Z)\noutput O\noutput P", "O = div(scale(X, 2), scale(Y, 2))\nP = mul(Z, X)\noutput O\noutput P"},
};
/* Not EQUAL: b is undefined where a is not, or a is nowhere defined. */
static const pair refused[] = {
  {XY, O("O = exp(X)"), O("Z2 = add_scalar(sub(sum(X, dim=1), sum(Y, dim=1)), -1)\nO = mul(exp(X), div(Z2, Z2))")},
  {XY, O("O = mul(X, X)"), O("O = mul(mul(X, X), div(Y, Y))")},
  {XY, O("O = add(X, Z)"), O("O = add(mul(X, div(Y, Y)), Z)")},
  {XY, O("O = div(X, Y)"), O("O = mul(div(X, Y), div(Z, Z))")},
  {XY, O("O = div(X, Y)"), O("O = div(mul(X, Z), mul(Y, Z))")},
  {XY, O("O = div(X, Y)"), O("O = div(mul(X, X), mul(Y, X))")},
  {XY, O("R = relu(sub(X, X))\nO = mul(X, div(R, R))"), O("R = relu(sub(X, X))\nO = mul(div(R, R), X)")},
  {XY, O("O = add(X, Y)"), O("R = relu(sub(X, X))\nO = add(mul(X, div(R, R)), Y)")},
  {XY, O("O = add(X, Y)"), O("S = sqrt(Z)\nO = add(add(X, sub(S, S)), Y)")},
  {XY, O("O = add(X, Y)"), O("L = log(Z)\nO = add(add(X, sub(L, L)), Y)")},
  {XY, O("S = sqrt(Z)\nO = add(X, S)"), O("S = sqrt(Z)\nL = log(Z)\nO = add(add(X, sub(L, L)), S)")},
  {XY, O("O = div(X, Z)"), O("S = sqrt(Z)\nO = add(sub(S, S), div(X, Z))")},
  {XY, O("O = sqrt(X)"), O("O = add(sqrt(X), scale(div(Y, X), 0))")},
  {XY, O("O = sqrt(X)"), O("O = add(sqrt(X), scale(sqrt(neg(X)), 0))")},
  {XY, O("O = div(mul(X, Y), add(X, Y))"), O("I = add_scalar(scale(X, 0), 1)\nO = div(I, add(div(I, X), div(I, Y)))")},
  {XY, O("O = sum(X, dim=1)"), O("O = sum(mul(X, div(Y, Y)), dim=1)")},
  {XY, O("O = matmul(X, W)"), O("O = matmul(mul(X, div(Y, Y)), W)")},
  {XY, O("O = add(X, Y)"), O("S = sub(X, Y)\nO = div(mul(add(X, Y), S), S)")},
  {XY, O("O = div(X, Y)"), O("M = sum(Y, dim=1)\nO = mul(div(X, Y), div(M, M))")},
  {XY, O("M = sum(Y, dim=1)\nO = div(X, M)"), O("M = sum(Y, dim=1)\nO = div(mul(X, Y), mul(M, Y))")},
  {XY, O("O = mul(X, Y)"), O("C = cbrtish(Z)\nO = add(mul(X, Y), sub(C, C))")},
  {XY, O("C = cbrtish(X)\nO = mul(C, Y)"), O("C = cbrtish(X)\nD = cbrtish(Y)\nO = add(mul(C, Y), sub(D, D))")},
  {XY, O("O = exp(X)"), O("O = div(exp(X), add_scalar(sqr(div(Y, Y)), 0))")},
  {XY, O("O = exp(X)"), O("Q = add_scalar(sqr(Y), -1)\nO = mul(exp(X), div(Q, Q))")},
  {XY, O("O = exp(X)"), O("Q = sub(exp(Y), exp(Z))\nO = mul(exp(X), div(Q, Q))")},
  {XY, O("O = exp(X)"), O("Q = relu(Y)\nO = mul(exp(X), div(Q, Q))")},
  {XY, O("O = exp(X)"), O("Q = sqr(Y)\nO = mul(exp(X), div(Q, Q))")},
  {XY, O("O = exp(X)"), O("Q = sum(sqr(Y), dim=1)\nO = mul(exp(X), div(Q, Q))")},
  {XY, O("O = exp(X)"), O("Q = silu(Y)\nO = mul(exp(X), div(Q, Q))")},
  {XY, O("O = exp(X)"), O("Q = max(Y, dim=1)\nO = mul(exp(X), div(Q, Q))")},
  /* by output, and by element */
  {XY, "O = div(X, Y)\nP = mul(X, Z)\noutput O\noutput P", "O = div(X, Y)\nP = mul(mul(X, Z), div(Y, Y))\noutput O\noutput P"},
  {XY, "O = div(X, Y)\nP = div(X, Z)\noutput O\noutput P", "O = mul(div(X, Y), div(Z, Z))\nP = div(X, Z)\noutput O\noutput P"},
  {XY, O("O = div(X, Y)"), O("Q = div(X, Y)\nS = sub(sum(Q, dim=1), sum(Q, dim=1))\nO = add(Q, S)")},
  {XY, O("O = div(X, sum(Y, dim=1))"), O("Q = sum(Y, dim=1)\nO = add(div(X, Q), scale(sum(div(X, Q), dim=0), 0))")},
};

static void test_equal(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof equal / sizeof *equal; k++)
    for (int tier = MG_TIER_FAST; tier <= MG_TIER_FULL; tier++) {
      mg_verify_report r = verify(&equal[k], tier);
      if (r.verdict != MG_EQUAL) fail_msg("%s (%s), tier %d, for\n%s\nand\n%s\n", mg_verdict_name(r.verdict), r.reason, tier, equal[k].a, equal[k].b);
      else if (!*r.domain) fail_msg("no line of domains for\n%s", equal[k].a);
    }
}
static void test_refused(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
    for (int tier = MG_TIER_FAST; tier <= MG_TIER_FULL; tier++) {
      mg_verify_report r = verify(&refused[k], tier);
      if (r.verdict != MG_UNDECIDED && r.verdict != MG_NOT_EQUAL) fail_msg("%s (%s; %s), tier %d, for\n%s\nand\n%s\n", mg_verdict_name(r.verdict), r.reason, r.domain, tier, refused[k].a, refused[k].b);
    }
}

/* The µGraphs that searches found: shown by facts and symbolic indices, at their own sizes. */
static void test_found(void **state) {
  ugraphs u = {0};
  int n = 0;
  (void)state;
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g), n++) {
    char path[128], line[256];
    mg_graph *p;
    mg_error e;
    snprintf(path, sizeof path, "examples/programs/%s.mg", g->name);
    if (mg_parse_file(path, NULL, &p, &e) != MG_OK) fail_msg("%s: %s", path, e.msg);
    double began = mgi_verify_now();
    int shown = mgi_defined_shown(p, g, 0, NULL, line);
    if (getenv("SHOW")) print_message("%s: %s (%.0f us)\n", g->name, line, 1e6 * (mgi_verify_now() - began));
    if (!shown) { print_message("LEFT %s: %s\n", g->name, line); char *x; mg_print(g, &x, &e); if (getenv("SHOW")) puts(x); }
    mg_graph_free(p);
  }
  assert_true(n > 90);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_refused), cmocka_unit_test(test_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
