/* Tests of mirage_verify.h's verdict as a directed one: on all reals on which A is defined B is defined, and the same.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_domains.c -o build/test_domains -lcmocka -lm -lpthread -ldl && build/test_domains */
#define MG_USER_OPS(E, T)                                                                                                                  \
  E(CBRTISH,  "cbrtish",  1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(CBRTISH, a),  a / (MG_C(1, 1) - a))                                             \
  E(SOFTSIGN, "softsign", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(SOFTSIGN, a), MG_TANH(a) * MG_C(1, 2))                                          \
  T(FLIP,     "flip",     1, MG_KB_, DIM, SAME, SAME, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"

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
  {XY, O("O = max(log(X), dim=1)"), O("O = log(max(X, dim=1))")},
  {XY, "O = flip(Z, dim=1)\nP = div(X, add_scalar(sqr(Y), 1))\noutput O, P", "O = flip(Z, dim=1)\nP = div(X, add_scalar(add_scalar(sqr(Y), 3), -2))\noutput O, P"},
  {XY, O("O = add(flip(Z, dim=1), div(X, Y))"), O("O = add(div(neg(X), neg(Y)), flip(Z, dim=1))")},
  {XY, O("O = max(sqrt(X), dim=1)"), O("O = sqrt(max(X, dim=1))")},
  {XY, O("O = max(sqrt(mul(X, exp(Y))), dim=1)"), O("O = sqrt(max(mul(X, exp(Y)), dim=1))")},
  {XY, O("O = max(max(log(X), dim=1), dim=0)"), O("O = log(max(max(X, dim=0), dim=1))")},
  {XY, O("O = div(Y, log(X))"), O("O = div(Y, log(X))")},
  {XY, O("D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(mean(sqr(D), dim=1)))"), O("D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(scale(sum(sqr(D), dim=1), 1/6)))")},
  {XY, O("O = mul(cbrtish(X), Y)"), O("O = mul(Y, cbrtish(X))")},
  {XY, O("O = mul(softsign(X), Y)"), O("O = sub(mul(Y, softsign(X)), mul(sub(Z, Z), softsign(Y)))")},
  {XY, "O = div(X, Y)\nP = mul(X, Z)\noutput O\noutput P", "O = div(scale(X, 2), scale(Y, 2))\nP = mul(Z, X)\noutput O\noutput P"},
  /* what is not chosen need not be defined, nor is it a reason */
  {XY, O("O = where(Z, div(X, Y), X)"), O("O = add(drop(Z, X), keep(Z, div(X, Y)))")},
  {XY, O("O = keep(Z, div(X, Y))"), O("O = keep(Z, div(scale(X, 2), scale(Y, 2)))")},
  {XY, O("O = drop(Z, sqrt(X))"), O("O = drop(Z, scale(scale(sqrt(X), 2), 1/2))")},
  {XY, O("O = keep(Z, div(X, Y))"), O("O = mul(keep(Z, div(add_scalar(scale(X, 0), 1), Y)), X)")},
  {XY, O("O = div(keep(Z, X), Y)"), O("O = keep(Z, div(X, Y))")},
  {XY, O("O = sum(keep(Z, div(X, Y)), dim=1)"), O("O = sum(keep(Z, mul(X, div(add_scalar(scale(X, 0), 1), Y))), dim=1)")},
  {XY, O("O = keep(Z, softmax(X, dim=1))"), O("E = exp(X)\nO = div(keep(Z, E), sum(E, dim=1))")},
  /* of what is moved, the same elements of the same tensors */
  {XY, O("C = concat(X, Y, dim=1)\nO = div(C, sum(C, dim=1))"), O("C = concat(X, Y, dim=1)\nO = div(neg(C), neg(sum(C, dim=1)))")},
  {XY, O("C = concat(neg(X), Y, dim=0)\nO = div(C, sum(C, dim=1))"), O("N = neg(X)\nC = concat(N, Y, dim=0)\nO = scale(div(C, scale(sum(C, dim=1), 2)), 2)")},
  {XY, O("C = slice(X, dim=1, from=2, n=3)\nO = div(C, sum(C, dim=1))"), O("C = slice(X, dim=1, from=2, n=3)\nO = div(neg(C), neg(sum(C, dim=1)))")},
  {XY, O("O = concat(div(X, sum(X, dim=1)), Y, dim=1)"), O("O = concat(div(neg(X), neg(sum(X, dim=1))), Y, dim=1)")},
  {XY, O("C = concat(X, div(Y, sum(Y, dim=1)), dim=1)\nO = div(C, sum(C, dim=1))"), O("C = concat(X, div(Y, sum(Y, dim=1)), dim=1)\nO = div(neg(C), neg(sum(C, dim=1)))")},
  {XY, O("C = concat(X, div(Y, sum(Y, dim=1)), dim=1)\nO = div(C, sum(C, dim=1))"), O("C = concat(X, div(neg(Y), neg(sum(Y, dim=1))), dim=1)\nO = div(neg(C), neg(sum(C, dim=1)))")},
  {XY, O("O = slice(div(X, sum(X, dim=1)), dim=1, from=2, n=3)"), O("O = slice(div(neg(X), neg(sum(X, dim=1))), dim=1, from=2, n=3)")},
  {XY, O("C = flip(X, dim=1)\nO = div(W, transpose(C, [1, 0]))"), O("C = flip(X, dim=1)\nO = div(neg(W), neg(transpose(C, [1, 0])))")},
};
#define RAGGED "input X : f32[5, 7]\ninput Y : f32[5, 7]\ninput W : f32[7, 6]"
#define KERNEL(grid, body) "O = kernel grid=(" grid ") threads=32 {\n" body "\n}\noutput O"
/* EQUAL, b being a µGraph that divides as a does: cut evenly and unevenly, in loops, in several kernels and thread graphs. */
static const pair graphs[] = {
  {XY, O("O = div(X, Y)"), KERNEL("x=2", "store div(load X {x->0}, load Y {x->0}) {x->0}")},
  {RAGGED, O("O = div(X, Y)"), KERNEL("x=2", "store div(load X {x->0}, load Y {x->0}) {x->0}")},
  {RAGGED, O("O = div(X, Y)"), KERNEL("x=3, y=2", "store div(load X {x->0, y->1}, load Y {x->0, y->1}) {x->0, y->1}")},
  {RAGGED, O("O = div(X, Y)"), KERNEL("x=2", "for i=4 {\nd = div(load X {x->0, i->1}, load Y {x->0, i->1})\n}\nstore accum(d) {i->1} {x->0}")},
  {RAGGED, O("O = matmul(div(X, Y), W)"), KERNEL("x=2", "for i=4 {\nm = matmul(div(load X {x->0, i->1}, load Y {x->0, i->1}), load W {x->*, i->0})\n}\nstore accum(m) {i->+} {x->0}")},
  {RAGGED, O("O = div(X, sum(Y, dim=1))"), KERNEL("x=2", "for i=4 {\ns = sum(load Y {x->0, i->1}, dim=1)\n}\nstore div(load X {x->0}, accum(s) {i->+}) {x->0}")},
  {RAGGED, O("O = div(X, scale(sum(Y, dim=1), 1/7))"), KERNEL("x=2", "for i=4 {\ns = neg(scale(sum(load Y {x->0, i->1}, dim=1), 1/7))\n}\nstore div(neg(load X {x->0}), accum(s) {i->+}) {x->0}")},
  {RAGGED, O("O = div(matmul(X, W), sum(Y, dim=1))"), KERNEL("x=3, y=2", "for i=3 {\nm = matmul(load X {x->0, y->*, i->1}, load W {x->*, y->1, i->0})\ns = sum(load Y {x->0, y->*, i->1}, dim=1)\n}\nstore div(accum(m) {i->+}, accum(s) {i->+}) {x->0, y->1}")},
  {RAGGED, O("O = matmul(div(X, sqrt(sum(sqr(X), dim=1))), W)"), KERNEL("x=3", "for i=4 {\nx = load X {x->0, i->1}\nm = matmul(x, load W {x->*, i->0})\ns = sum(mul(x, x), dim=1)\n}\nstore div(accum(m) {i->+}, sqrt(accum(s) {i->+})) {x->0}")},
  {RAGGED, O("M = max(X, dim=1)\nO = div(Y, M)"), KERNEL("x=2", "for i=4 {\nm = max(load X {x->0, i->1}, dim=1)\n}\nstore div(load Y {x->0}, accum(m) {i->max}) {x->0}")},
  {RAGGED, O("O = div(exp(X), sum(exp(X), dim=1))"), KERNEL("x=2", "for i=4 {\ns = sum(exp(load X {x->0, i->1}), dim=1)\n}\nstore div(exp(load X {x->0}), accum(s) {i->+}) {x->0}")},
  {RAGGED, O("O = max(log(X), dim=1)"), KERNEL("x=2", "for i=4 {\nm = max(load X {x->0, i->1}, dim=1)\n}\nstore log(accum(m) {i->max}) {x->0}")},
  {RAGGED, O("O = log(sum(exp(X), dim=1))"), KERNEL("x=2, z=3", "s = sum(exp(load X {x->0, z->1}), dim=1)\nstore log(accum(s) {z->+}) {x->0}")},
  {RAGGED, O("O = div(X, sqrt(sum(sqr(Y), dim=1)))"), "S = kernel grid=(x=2) threads=32 {\nstore sqrt(sum(sqr(load Y {x->0}), dim=1)) {x->0}\n}\nO = kernel grid=(x=3) threads=32 {\nstore div(load X {x->0}, load S {x->0}) {x->0}\n}\noutput O"},
  {RAGGED, O("O = matmul(div(X, sum(Y, dim=1)), W)"), KERNEL("x=2, z=3", "m = matmul(load X {x->0, z->1}, load W {x->*, z->0})\ns = sum(load Y {x->0, z->1}, dim=1)\nstore div(accum(m) {z->+}, accum(s) {z->+}) {x->0}")},
  {RAGGED, O("C = concat(X, Y, dim=1)\nO = div(C, sum(C, dim=1))"), "C = concat(X, Y, dim=1)\n" KERNEL("x=2", "for i=4 {\ns = sum(load C {x->0, i->1}, dim=1)\n}\nstore div(load C {x->0}, accum(s) {i->+}) {x->0}")},
  {RAGGED, O("C = concat(X, Y, dim=1)\nO = div(C, sum(C, dim=1))"), KERNEL("x=2", "c = concat(load X {x->0}, load Y {x->0}, dim=1)\nstore div(c, sum(c, dim=1)) {x->0}")},
  {RAGGED, O("C = concat(neg(X), exp(Y), dim=1)\nO = div(C, sum(C, dim=1))"), KERNEL("x=2", "c = concat(neg(load X {x->0}), exp(load Y {x->0}), dim=1)\nstore div(c, sum(c, dim=1)) {x->0}")},
  {RAGGED, O("C = concat(div(X, sum(X, dim=1)), Y, dim=1)\nO = div(C, sum(C, dim=1))"), "N = kernel grid=(x=2) threads=32 {\nx = load X {x->0}\nstore div(x, sum(x, dim=1)) {x->0}\n}\nC = concat(N, Y, dim=1)\n" KERNEL("x=2", "c = load C {x->0}\nstore div(c, sum(c, dim=1)) {x->0}")},
  {RAGGED, O("C = slice(X, dim=1, from=2, n=4)\nO = div(C, sum(C, dim=1))"), "C = slice(X, dim=1, from=2, n=4)\n" KERNEL("x=2", "c = load C {x->0}\nstore div(c, sum(c, dim=1)) {x->0}")},
  {RAGGED, O("C = concat(div(X, sum(X, dim=1)), Y, dim=1)\nO = div(C, sum(C, dim=1))"), KERNEL("x=2", "x = load X {x->0}\nc = concat(div(x, sum(x, dim=1)), load Y {x->0}, dim=1)\nstore div(c, sum(c, dim=1)) {x->0}")},
  {RAGGED, O("C = slice(X, dim=1, from=2, n=4)\nO = div(C, sum(C, dim=1))"), KERNEL("x=2", "c = slice(load X {x->0}, dim=1, from=2, n=4)\nstore div(c, sum(c, dim=1)) {x->0}")},
};
/* EQUAL at the sizes that they have, and not at others: a loop that cuts nothing is a factor, over a chunk of 1 much is alike. */
static const pair at_their_sizes[] = {
  {XY, O("O = add(scale(X, 3), silu(scale(Y, 2)))"), KERNEL("x=2, y=3, z=2", "for i=3 {\nt = load X {x->0, y->1, z->*, i->*}\n}\nu = load Y {x->0, y->1, z->*}\nstore add(accum(t) {i->+}, silu(accum(u) {z->+})) {x->0, y->1, z->*}")},
  {"input Q : f16[4, 6, 2]\ninput K : f16[4, 2, 4]\ninput V : f16[4, 4, 2]", O("P = softmax(scale(matmul(Q, K), 1/11), dim=2)\nO = matmul(P, V)"),
   KERNEL("x=2, y=6, z=4", "for i=2 {\nt = matmul(load Q {x->*, y->1, z->0, i->2}, load K {x->*, y->*, z->0, i->1})\n}\ne = exp(scale(accum(t) {i->+}, 1/11))\n"
                           "store matmul(div(transpose(e, [1, 0, 2]), sum(e, dim=2)), load V {x->2, y->*, z->0}) {x->2, y->1, z->0}")},
  {"input X : f16[4, 2]\ninput G : f16[2]\ninput W : f16[2, 6]", O("O = matmul(rms_norm(X, G, eps=1/1000), W)"),
   KERNEL("x=6, y=4", "for i=2 {\nx = load X {x->*, y->0, i->1}\nt = mul(x, load G {x->*, y->*, i->0})\ns = scale(sum(sqr(x), dim=0), 1/2)\n}\n"
                      "o = div(accum(t) {i->1}, sqrt(add_scalar(accum(s) {i->+}, 1/1000)))\nstore matmul(o, load W {x->1, y->*}) {x->1, y->0}")},
  {"input X : f16[64, 64]\ninput Z : f16[1, 64]", O("O = scale(sum(X, dim=1), 64)"), O("O = sum(add(sum(X, dim=1), scale(Z, 0)), dim=1)")},
};
/* The same, with b dividing by more. */
static const pair refused_graphs[] = {
  {XY, O("C = concat(X, X, dim=1)\nO = div(C, sum(C, dim=1))"), KERNEL("x=4", "for i=4 {\nz = load X {x->*, i->0}\nf = sum(concat(z, z, dim=1), dim=1)\ng = div(f, f)\n}\nx = load X {x->0}\nc = concat(x, x, dim=1)\nstore mul(div(c, sum(c, dim=1)), scale(accum(g) {i->+}, 1/4)) {x->0}")},
  {XY, O("C = concat(X, X, dim=1)\nO = div(C, sum(C, dim=1))"), KERNEL("x=4", "for i=4 {\nz = load X {x->*, i->0}\ny = load X {x->0, i->*}\nf = sum(concat(z, y, dim=1), dim=1)\ng = div(f, f)\n}\nx = load X {x->0}\nc = concat(x, x, dim=1)\nstore mul(div(c, sum(c, dim=1)), scale(accum(g) {i->+}, 1/4)) {x->0}")},
  {RAGGED, O("C = concat(X, Y, dim=1)\nO = div(C, sum(C, dim=1))"), KERNEL("x=2", "x = load X {x->0}\ny = load Y {x->0}\nc = concat(x, y, dim=1)\nd = sum(concat(y, y, dim=1), dim=1)\nstore mul(div(c, sum(c, dim=1)), div(d, d)) {x->0}")},
  {RAGGED, O("C = concat(X, Y, dim=0)\nO = div(C, sum(C, dim=1))"), KERNEL("x=1", "x = load X {x->*}\nd = concat(x, load Y {x->*}, dim=0)\ne = sum(concat(x, exp(x), dim=0), dim=1)\nstore mul(div(d, sum(d, dim=1)), div(e, e)) {x->*}")},
  {RAGGED, O("O = mul(X, Y)"), KERNEL("x=2", "y = load Y {x->0}\nstore mul(mul(load X {x->0}, y), div(y, y)) {x->0}")},
  {RAGGED, O("O = matmul(X, W)"), KERNEL("x=2", "for i=4 {\nx = load X {x->0, i->1}\nm = matmul(mul(x, div(x, x)), load W {x->*, i->0})\n}\nstore accum(m) {i->+} {x->0}")},
  {RAGGED, O("O = div(X, Y)"), KERNEL("x=2", "y = load Y {x->0}\ns = sum(y, dim=1)\nstore mul(div(load X {x->0}, y), div(s, s)) {x->0}")},
  {RAGGED, O("O = div(X, sum(Y, dim=1))"), KERNEL("x=2", "for i=4 {\ns = sum(load Y {x->0, i->1}, dim=1)\nr = div(s, s)\n}\nt = accum(s) {i->+}\nstore div(mul(load X {x->0}, div(accum(r) {i->+}, accum(r) {i->+})), t) {x->0}")},
  {RAGGED, O("O = matmul(div(X, Y), W)"), KERNEL("x=2", "for i=4 {\ny = load Y {x->0, i->1}\nm = matmul(div(load X {x->0, i->1}, y), load W {x->*, i->0})\ns = sum(y, dim=1)\n}\nt = accum(s) {i->+}\nstore mul(accum(m) {i->+}, div(t, t)) {x->0}")},
  {RAGGED, O("O = sum(exp(X), dim=1)"), KERNEL("x=2", "for i=4 {\ns = sum(exp(load X {x->0, i->1}), dim=1)\nt = sum(load X {x->0, i->1}, dim=1)\n}\nu = accum(t) {i->+}\nstore mul(accum(s) {i->+}, div(u, u)) {x->0}")},
  {XY, O("O = sum(X, dim=1)"), KERNEL("x=2", "for i=2 {\nx = load X {x->0, i->1}\ns = sum(x, dim=1)\nr = sub(log(s), log(s))\nt = add(s, r)\n}\nstore accum(t) {i->+} {x->0}")},
};

/* Not EQUAL: b is undefined where a is not, or a is nowhere defined. */
static const pair refused[] = {
  {XY, O("S = sum(X, dim=1)\nT = sum(Y, dim=1)\nC = concat(repeat(S, dim=1, n=2), repeat(T, dim=1, n=3), dim=1)\nO = div(S, sum(C, dim=1))"), O("S = sum(X, dim=1)\nT = sum(Y, dim=1)\nC = concat(repeat(S, dim=1, n=2), repeat(T, dim=1, n=3), dim=1)\nD = sum(concat(repeat(S, dim=1, n=3), repeat(T, dim=1, n=2), dim=1), dim=1)\nO = mul(div(S, sum(C, dim=1)), div(D, D))")},
  {XY, O("S = sum(X, dim=1)\nO = concat(div(X, S), Y, dim=1)"), O("S = sum(X, dim=1)\nO = concat(div(X, S), mul(Y, div(S, S)), dim=1)")},
  {XY, O("S = sum(X, dim=1)\nO = concat(X, div(Y, S), dim=1)"), O("S = sum(X, dim=1)\nO = concat(mul(X, div(S, S)), div(Y, S), dim=1)")},
  {XY, O("S = sum(X, dim=1)\nO = concat(X, div(Y, S), dim=1)"), O("S = sum(X, dim=1)\nO = div(concat(mul(X, S), Y, dim=1), S)")},
  {XY, O("S = sum(X, dim=1)\nO = concat(X, div(Y, S), dim=1)"), O("S = sum(X, dim=1)\nA = slice(X, dim=1, from=0, n=4)\nB = div(mul(slice(X, dim=1, from=4, n=2), S), S)\nO = concat(A, concat(B, div(Y, S), dim=1), dim=1)")},
  {XY, O("C = concat(X, Y, dim=1)\nO = mul(C, C)"), O("C = concat(X, Y, dim=1)\nS = sum(C, dim=1)\nO = mul(mul(C, C), div(S, S))")},
  {XY, O("C = concat(X, Y, dim=1)\nO = div(C, sum(C, dim=1))"), O("C = concat(X, Y, dim=1)\nS = sum(concat(Y, X, dim=1), dim=1)\nT = sum(concat(X, Z, dim=1), dim=1)\nO = mul(div(C, S), div(T, T))")},
  {XY, O("C = slice(X, dim=1, from=2, n=3)\nO = div(C, sum(C, dim=1))"), O("C = slice(X, dim=1, from=2, n=3)\nS = sum(slice(X, dim=1, from=1, n=3), dim=1)\nO = mul(div(C, sum(C, dim=1)), div(S, S))")},
  {XY, O("C = slice(X, dim=1, from=2, n=3)\nO = div(C, sum(C, dim=1))"), O("C = slice(X, dim=1, from=2, n=3)\nS = sum(slice(neg(Y), dim=1, from=2, n=3), dim=1)\nO = mul(div(C, sum(C, dim=1)), div(S, S))")},
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
  {XY, O("O = log(max(X, dim=1))"), O("O = max(log(X), dim=1)")},
  {XY, O("O = add(flip(Z, dim=1), X)"), O("O = add(flip(mul(Z, div(Y, Y)), dim=1), X)")},
  {XY, O("O = add(flip(div(X, Y), dim=1), X)"), O("O = mul(add(flip(div(X, Y), dim=1), X), div(Y, Y))")},
  {XY, O("O = flip(X, dim=1)"), O("L = log(flip(X, dim=1))\nO = add(flip(X, dim=1), sub(L, L))")},
  {XY, O("O = max(log(X), dim=1)"), O("L = log(max(Y, dim=1))\nO = add(max(log(X), dim=1), sub(L, L))")},
  {XY, O("O = max(log(X), dim=1)"), O("L = log(max(X, dim=0))\nO = add(max(log(X), dim=1), scale(sum(L, dim=1), 0))")},
  {XY, O("O = max(sqrt(X), dim=1)"), O("L = log(max(X, dim=1))\nO = add(max(sqrt(X), dim=1), sub(L, L))")},
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
  /* a divisor that stands in what is not chosen */
  {XY, O("O = where(Y, div(X, Y), X)"), O("O = div(where(Y, X, mul(X, Y)), Y)")},
  {XY, O("O = keep(Y, div(X, Y))"), O("O = div(keep(Y, X), Y)")},
  {XY, O("O = drop(Z, log(Y))"), O("L = log(Y)\nO = sub(L, keep(Z, L))")},
  {XY, O("O = keep(Z, sqrt(X))"), O("O = mul(keep(Z, add_scalar(scale(X, 0), 1)), sqrt(X))")},
  {XY, O("O = keep(Z, div(X, Y))"), O("O = sub(div(X, Y), drop(Z, div(X, Y)))")},
  {XY, O("O = keep(X, div(X, Y))"), O("O = add(keep(X, div(X, Y)), scale(keep(Z, div(X, Y)), 0))")},
  {XY, O("O = sum(keep(Z, div(X, Y)), dim=1)"), O("O = sum(div(keep(Z, X), Y), dim=1)")},
  {XY, O("O = keep(Z, div(X, Y))"), O("Q = div(X, Y)\nO = add(keep(Z, Q), scale(drop(Z, Q), 0))")},
};

static void must_be_equal(const pair *p, size_t n) {
  for (size_t k = 0; k < n; k++)
    for (int tier = MG_TIER_FAST; tier <= MG_TIER_FULL; tier++) {
      mg_verify_report r = verify(&p[k], tier);
      if (getenv("SHOW")) print_message("%s: %s; %s\n", mg_verdict_name(r.verdict), r.reason, r.domain);
      if (r.verdict != MG_EQUAL && !(tier == MG_TIER_FAST && r.verdict == MG_EQUAL_SAMPLED && strstr(p[k].a, "max("))) fail_msg("%s (%s), tier %d, for\n%s\nand\n%s", mg_verdict_name(r.verdict), r.reason, tier, p[k].a, p[k].b);
      if (!*r.domain || r.partial) fail_msg("no line of domains for\n%s", p[k].a);
    }
}
static void must_be_refused(const pair *p, size_t n) {
  for (size_t k = 0; k < n; k++)
    for (int tier = MG_TIER_FAST; tier <= MG_TIER_FULL; tier++) {
      mg_verify_report r = verify(&p[k], tier);
      if (getenv("SHOW")) print_message("%s: %s\n", mg_verdict_name(r.verdict), r.reason);
      if (r.verdict != MG_UNDECIDED && r.verdict != MG_NOT_EQUAL) fail_msg("%s (%s; %s), tier %d, for\n%s\nand\n%s", mg_verdict_name(r.verdict), r.reason, r.domain, tier, p[k].a, p[k].b);
      if (!r.partial) fail_msg("refused for another reason (%s) for\n%s\nand\n%s", r.reason, p[k].a, p[k].b);
      assert_true(r.log2_delta == 0 && !*r.domain);
    }
}
static void test_equal(void **state) {
  (void)state;
  must_be_equal(equal, sizeof equal / sizeof *equal), must_be_equal(graphs, sizeof graphs / sizeof *graphs);
  must_be_equal(at_their_sizes, sizeof at_their_sizes / sizeof *at_their_sizes);
}
static void test_refused(void **state) {
  (void)state;
  must_be_refused(refused, sizeof refused / sizeof *refused), must_be_refused(refused_graphs, sizeof refused_graphs / sizeof *refused_graphs);
}

/* What a binding knows of its variables is its own: a bound name's extent is not that of whichever binding was closed last, and a
   bound that one term of a sum has is no bound of the others.  What is known of a concat's operand is not of all its elements. */
#define HEADS "input Y : f32[2, 2, 5]\ninput V : f32[3, 8, 5]\ninput U : f32[3, 2, 5]\ninput T : f32[3, 1, 1]"
#define HALVES "input X : f32[5, 7]\ninput Y : f32[5, 7]\ninput Z : f32[5, 7]"
#define HEAD(name, dim, f) \
  "Q" name " = reshape(repeat(Y, dim=" dim ", n=2), [1, 8, 5])\nP" name " = sum(" f "(sum(mul(Q" name ", V), dim=2)), dim=1)\n"
#define UNEVEN(parts) \
  "C = concat(" parts ", dim=1)\nO = kernel grid=(x=2) threads=32 {\n  for i=4 {\n    s = sum(load C {x->0, i->1}, dim=1)\n  }\n" \
  "  store accum(s) {i->+} {x->0}\n}\noutput O"
/* Half of the quotients are by V, the others by products of w. */
#define SIDES "input X : f32[4, 6]\ninput W : f32[4, 3]\ninput V : f32[4, 3]\ninput Z : f32[4, 6]"
#define BESIDE(name) \
  name " = kernel grid=(x=2) threads=32 {\n  v = load V {x->0}\n  u = load w {x->0}\n  for i=2 {\n    m = mul(load X {x->0, i->1}, u)\n" \
  "    q = div(load Z {x->0, i->*}, concat(v, m, dim=1))\n  }\n  store accum(q) {i->+} {x->0}\n}\n"
#define OWN "T = sum(Y, dim=1)\n"
#define OTHER "T = add_scalar(sum(Z, dim=1), 123457/1000)\n"
static void test_bindings(void **state) {
  static const pair never[] = {
    {HEADS, HEAD("a", "1", "sigmoid") "Q = mul(sum(sigmoid(sum(U, dim=2)), dim=1), sigmoid(T))\nO = relu(add_scalar(sum(mul(Pa, Q), dim=0), -40))\noutput O",
     HEAD("a", "0", "sigmoid") "Q = mul(sum(sigmoid(sum(U, dim=2)), dim=1), sigmoid(T))\nO = relu(add_scalar(sum(mul(Pa, Q), dim=0), -40))\noutput O"},
    {HEADS, HEAD("a", "1", "exp") "Q = mul(sum(exp(sum(U, dim=2)), dim=1), T)\nO = div(T, sum(mul(Pa, Q), dim=0))\noutput O",
     HEAD("a", "1", "exp") HEAD("b", "0", "exp") "Q = mul(sum(exp(sum(U, dim=2)), dim=1), T)\nR = mul(sum(exp(sum(neg(neg(U)), dim=2)), dim=1), T)\n"
     "D = sum(mul(Pb, R), dim=0)\nO = mul(div(T, sum(mul(Pa, Q), dim=0)), div(D, D))\noutput O"},
    {HALVES, OWN UNEVEN("X, mul(Y, div(T, T))"), OTHER UNEVEN("X, mul(Y, div(T, T))")},
    {HALVES, OWN UNEVEN("X, mul(Y, div(T, T))"), "T = sum(Z, dim=1)\n" UNEVEN("X, mul(Y, div(T, T))")},
    {HALVES, OWN UNEVEN("mul(X, div(T, T)), Y"), OTHER UNEVEN("mul(X, div(T, T)), Y")},
    {SIDES, "w = add_scalar(W, 123457/1000)\n" BESIDE("O") "output O",
     "w = add_scalar(W, 123457/1000)\n" BESIDE("Q") "R = repeat(w, dim=1, n=2)\nO = mul(Q, div(R, R))\noutput O"},
  };
  static const pair right[] = {
    {HALVES, OWN "O = sum(concat(X, mul(Y, div(T, T)), dim=1), dim=1)\noutput O", OWN UNEVEN("X, mul(Y, div(T, T))")},
    {HALVES, OWN "O = sum(concat(mul(X, div(T, T)), Y, dim=1), dim=1)\noutput O", OWN UNEVEN("mul(X, div(T, T)), Y")},
    {"input W : f32[4, 4]", "a = sum(W, dim=1)\nb = sum(mul(W, div(a, a)), dim=0)\nO = repeat(b, dim=0, n=3)\noutput O",
     "a = sum(W, dim=1)\nb = sum(mul(W, div(a, a)), dim=0)\nc = sum(W, dim=0)\nO = concat(b, concat(b, c, dim=0), dim=0)\noutput O"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof never / sizeof *never; k++)
    for (int tier = MG_TIER_FAST; tier <= MG_TIER_FULL; tier++) {
      const mg_verify_report r = verify(&never[k], tier);
      const int sampled = tier == MG_TIER_FAST && r.verdict == MG_EQUAL_SAMPLED; /* a maximum does not cancel in time */
      if (r.verdict != MG_UNDECIDED && r.verdict != MG_NOT_EQUAL && !sampled)
        fail_msg("%s, tier %d, for\n%s\nand\n%s", mg_verdict_name(r.verdict), tier, never[k].a, never[k].b);
    }
  must_be_equal(right, sizeof right / sizeof *right);
}
/* A divisor that a choice makes, in what it chooses: as a rational function of the choice it cancels, where it is not chosen it is 0. */
#define CHOSEN "input X : f32[4, 4]\ninput Y : f32[4, 4]"
#define FAR "m = relu(add_scalar(X, 1000000000))\n"
static void test_choices(void **state) {
  static const pair never[] = {
    {CHOSEN, FAR "O = keep(m, div(Y, keep(m, Y)))\noutput O", "O = add_scalar(sub(X, X), 1)\noutput O"},
    {CHOSEN, FAR "E = exp(Y)\nO = sum(keep(m, div(E, sum(keep(m, E), dim=1))), dim=1)\noutput O", "O = add_scalar(sum(sub(X, X), dim=1), 1)\noutput O"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof never / sizeof *never; k++)
    for (int tier = MG_TIER_FAST; tier <= MG_TIER_FULL; tier++) {
      const mg_verify_report r = verify(&never[k], tier);
      if (r.verdict != MG_UNDECIDED && r.verdict != MG_NOT_EQUAL)
        fail_msg("%s, tier %d, for\n%s\nand\n%s", mg_verdict_name(r.verdict), tier, never[k].a, never[k].b);
    }
}
/* Which loads a concat in a block is cut like: by extents, not by chunks, which a ragged edge may have too. */
static void test_parts_of_wholes(void **state) {
  static const char text[] =
    "program p\ninput X : f32[4, 2]\ninput Y : f32[4, 3]\ninput Z : f32[3, 2]\nO = kernel grid=(x=2) threads=32 {\n  z = load Z {x->0}\n"
    "  t = load X {x->1}\n  v = load Y {x->0}\n  u = load X {x->0}\n  store concat(u, v, dim=1) {x->0}\n}\noutput O\n";
  mg_graph *g = NULL;
  mg_error e;
  mgi_pv_frame up, f;
  int loads = 0, parts = 0;
  (void)state;
  if (mg_parse(text, strlen(text), "p", NULL, &g, &e) != MG_OK) fail_msg("%s", e.msg);
  memset(&up, 0, sizeof up), memset(&f, 0, sizeof f);
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub) f.g = g->ops[k].sub;
  up.g = g, f.up = &up;
  for (uint32_t k = 1; k < f.g->n_ops; k++)
    for (uint32_t j = 1; j < f.g->n_ops && f.g->ops[k].code == MG_OP_CONCAT; j++) {
      const int part = mgi_pv_is_part(&f, &f.g->ops[k], &f.g->ops[j]);
      const char *of = g->tensors[f.g->ops[j].in[0].id].name;
      if (f.g->ops[j].code != MG_OP_LOAD) continue;
      loads++, parts += part;
      if (part && !strcmp(of, "Z")) fail_msg("a concat of halves of 4 rows is no part of one of 3");
    }
  assert_int_equal(loads, 4);
  assert_int_equal(parts, 2);
  mg_graph_free(g);
}
/* By proof too: no element is taken for equal for want of a value, and b's domain is asked for. */
static void test_proofs(void **state) {
  static const pair never[] = {
    {XY, "O = exp(X)\nP = add(X, Y)\noutput O\noutput P", "O = log(neg(sqr(X)))\nP = add(Y, X)\noutput O\noutput P"},
    {XY, "O = log(neg(sqr(X)))\nP = add(X, Y)\noutput O\noutput P", "O = exp(X)\nP = add(Y, X)\noutput O\noutput P"},
    {XY, O("O = log(neg(sqr(X)))"), O("O = exp(X)")},
    {XY, O("O = log(neg(sqr(X)))"), O("O = add(log(neg(sqr(X))), sub(X, X))")},
    {XY, O("R = relu(sub(X, X))\nO = mul(X, div(R, R))"), O("R = relu(sub(X, X))\nO = mul(div(R, R), X)")},
    {XY, O("O = relu(X)"), O("O = add(relu(X), mul(Y, sub(div(X, X), div(X, X))))")},
    {XY, O("O = relu(X)"), O("S = sqrt(X)\nO = add(relu(X), sub(S, S))")},
  };
  static const pair right[] = {
    {XY, O("O = relu(X)"), O("O = add(X, relu(neg(X)))")},
    {XY, O("O = div(relu(X), Y)"), O("O = div(add(X, relu(neg(X))), Y)")},
    {XY, O("S = sqrt(X)\nO = add(relu(Y), S)"), O("O = add(sqrt(X), relu(relu(Y)))")},
  };
  (void)state;
  for (size_t k = 0; k < sizeof never / sizeof *never + sizeof right / sizeof *right; k++) {
    const int bad = k < sizeof never / sizeof *never;
    const pair *p = bad ? &never[k] : &right[k - sizeof never / sizeof *never];
    char text[2][4096];
    mg_prove_report r;
    mg_error e;
    mg_graph *g[2];
    for (int i = 0; i < 2; i++) {
      snprintf(text[i], sizeof text[i], "program p\n%s\n%s\n", p->inputs, i ? p->b : p->a);
      g[i] = parse(text[i]);
    }
    const mg_status s = mg_prove(g[0], g[1], NULL, &r, &e);
    mg_graph_free(g[0]), mg_graph_free(g[1]);
    if (s == MG_UNSUPPORTED) skip();
    assert_int_equal(s, MG_OK);
    if (getenv("SHOW")) print_message("%s: %s\n", mg_verdict_name(r.verdict), r.reason);
    if (bad == (r.verdict == MG_EQUAL)) fail_msg("%s: %s\n%s\n%s", mg_verdict_name(r.verdict), r.reason, p->a, p->b);
  }
}

/* A ball holds what long double gives from points within the operands' balls; and undefined is proved only where it is. */
static void test_balls(void **state) {
  static const mg_opcode op[] = {MG_OP_ADD, MG_OP_SUB, MG_OP_MUL, MG_OP_DIV, MG_OP_EXP, MG_OP_SQR, MG_OP_SQRT, MG_OP_LOG, MG_OP_SILU, MG_OP_RELU, MG_OP_NEG};
  uint64_t s = 7;
  int ok = 0, none = 0, unknown = 0;
  (void)state;
  for (int round = 0; round < 200000; round++) {
    mgi_wide x[2], y;
    long double v[2], z = 0;
    const int o = (int)(mgi_ff_mix(s += MGI_FF_GOLD) % (sizeof op / sizeof *op));
    mg_rational one;
    one.num = 1, one.den = 1;
    for (int k = 0; k < 2; k++) {
      const uint64_t h = mgi_ff_mix(s += MGI_FF_GOLD);
      const double from[4] = {1e-3, 1, 30, 1e6}, at = ((double)(h >> 11) / 9007199254740992.0 - 0.5) * from[h & 3], err = h & 4 ? 0 : fabs(at) * (h & 8 ? 1e-9 : 2);
      x[k] = (h >> 4 & 15) == 0 ? mgi_wide_number(0) : mgi_wide_of(at, err, 0);
      v[k] = (long double)ldexp(x[k].v, (int)x[k].e) + (long double)ldexp(x[k].err, (int)x[k].e) * ((long double)((h >> 20) % 2001) / 1000 - 1);
    }
    y = mgi_wide_apply(op[o], one, x);
    int defined = 1;
    switch (op[o]) {
      case MG_OP_ADD: z = v[0] + v[1]; break;
      case MG_OP_SUB: z = v[0] - v[1]; break;
      case MG_OP_MUL: z = v[0] * v[1]; break;
      case MG_OP_DIV: defined = v[1] != 0, z = defined ? v[0] / v[1] : 0; break;
      case MG_OP_EXP: z = expl(v[0]); break;
      case MG_OP_SQR: z = v[0] * v[0]; break;
      case MG_OP_SQRT: defined = v[0] >= 0, z = defined ? sqrtl(v[0]) : 0; break;
      case MG_OP_LOG: defined = v[0] > 0, z = defined ? logl(v[0]) : 0; break;
      case MG_OP_SILU: z = v[0] / (1 + expl(-v[0])); break;
      case MG_OP_RELU: z = v[0] > 0 ? v[0] : 0; break;
      default: z = -v[0];
    }
    if (y.state == MGI_WIDE_UNKNOWN) { unknown++; continue; }
    if (y.state == MGI_WIDE_UNDEFINED) {
      if (defined) fail_msg("row %d: called undefined at %Lg and %Lg", (int)op[o], v[0], v[1]);
      none++;
      continue;
    }
    if (!defined) fail_msg("row %d: called defined at %Lg and %Lg", (int)op[o], v[0], v[1]);
    if (y.e > 16000 || y.e < -15000) continue;
    const long double got = ldexpl((long double)y.v, (int)y.e), err = ldexpl((long double)y.err, (int)y.e);
    if (!(fabsl(z - got) <= err + 1e-17L * fabsl(z))) fail_msg("row %d of %Lg and %Lg: %Lg is not within %Lg of %Lg", (int)op[o], v[0], v[1], z, err, got);
    ok++;
  }
  assert_true(ok > 100000 && none > 1000 && unknown > 1000);
  /* what overflows a double does not overflow here */
  mgi_wide big = mgi_wide_exp(mgi_wide_number(5000)), back = mgi_wide_log(big), naught = mgi_wide_add(mgi_wide_number(3), mgi_wide_number(-3));
  assert_true(big.state == MGI_WIDE_OK && back.state == MGI_WIDE_OK && fabs(back.v - 5000) < 1e-6 && fabs(back.v - 5000) <= back.err);
  assert_true(naught.v == 0 && naught.err == 0 && mgi_wide_div(big, naught).state == MGI_WIDE_UNDEFINED);
  assert_int_equal(mgi_wide_div(big, mgi_wide_add(mgi_wide_exp(mgi_wide_number(1)), mgi_wide_neg(mgi_wide_exp(mgi_wide_number(1))))).state, MGI_WIDE_UNKNOWN);
}

/* The µGraphs that searches found: shown by facts and symbolic indices, at their own sizes. */
static void test_found(void **state) {
  ugraphs u = {0};
  int n = 0;
  (void)state;
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g), n++) {
    char path[128], line[256];
    mg_graph *p;
    mgi_wide_result x;
    mgi_watch w;
    mg_error e;
    memset(&w, 0, sizeof w);
    snprintf(path, sizeof path, "examples/programs/%s.mg", g->name);
    if (mg_parse_file(path, NULL, &p, &e) != MG_OK) fail_msg("%s: %s", path, e.msg);
    double began = mgi_seconds();
    int total, shown = mgi_defined_shown(p, g, 0, NULL, &total, line);
    if (getenv("SHOW")) print_message("%s: %s (%.0f us)\n", g->name, line, 1e6 * (mgi_seconds() - began));
    if (!shown) fail_msg("%s: %s", g->name, line);
    began = mgi_seconds();
    assert_int_equal(mgi_wide_runs(p, g, 1, &w, &x, &e), MG_OK);
    if (getenv("SHOW")) print_message("  %d runs, inputs %s, %s%s (%.1f ms)\n", x.runs, x.sizes, x.refuted ? "REFUTED " : "", x.nowhere ? "NOWHERE" : "", 1e3 * (mgi_seconds() - began));
    mg_graph_free(p);
  }
  assert_true(n > 90);
}

/* A maximum over a chunk that is empty in some block is minus infinity there, whatever it is taken of elsewhere. */
static void test_empty_maxima(void **state) {
  static const char *const text[] = {
    "program p\n" RAGGED "\nO = max(log(X), dim=1)\noutput O\n",
    "program p\n" RAGGED "\n" KERNEL("x=2, z=3", "for i=3 {\nm = log(max(load X {x->0, z->1, i->1}, dim=1))\n}\nstore accum(m) {z->max, i->max} {x->0}") "\n",
    "program p\n" RAGGED "\n" KERNEL("x=2, z=4", "for i=2 {\nm = log(max(load X {x->0, z->1, i->1}, dim=1))\n}\nstore accum(m) {z->max, i->max} {x->0}") "\n",
    "program p\n" RAGGED "\n" KERNEL("x=2", "for i=4 {\nm = log(max(load X {x->0, i->1}, dim=1))\n}\nstore accum(m) {i->max} {x->0}") "\n",
  };
  static const int want[] = {1, 0, 0, 1};
  mg_graph *a = parse(text[0]);
  (void)state;
  for (int k = 0; k < 4; k++) {
    char line[256];
    int total;
    mg_graph *b = parse(text[k]);
    if (mgi_defined_shown(a, b, 0, NULL, &total, line) != want[k]) fail_msg("%d: %s", k, line);
    mg_graph_free(b);
  }
  mg_graph_free(a);
}
/* What the text of a user's row says of its domain. */
static void test_rows(void **state) {
  static const char *const total[] = {"a", "a + b * c", "a * MG_C(1, 2)", "a / (MG_C(1, 1) + MG_EXP(-a))", "a / (MG_C(1, 1) + a * a * c * c)", "MG_SQRT(a * a + b * b)", "MG_LOG(MG_C(1, 1) + MG_EXP(a))",
    "a / MG_C(2, 1)", "MG_SQRT(MG_ABS(a))", "MG_POW(MG_EXP(a), b)", "a / MG_SQRT(MG_C(1, 1) + a * a)", "MG_TANH(a) * MG_MAX(a, b)", "a > b ? a : b", "a / MG_MAX(MG_C(1, 100), a)", "a / (a * a + 1)", "(a) / 2"};
  static const char *const partial[] = {"a / b", "MG_C(1, 1) / a", "MG_SQRT(a)", "MG_LOG(a)", "MG_LOG(a * a)", "MG_POW(a, b)", "a / (MG_C(1, 1) + a * b)", "a / (MG_C(1, 1) - MG_EXP(a))", "a / (a * a)", "a / (a > b ? a : b)",
    "a / (MG_C(1, 1) + a * c)", "a / MG_TANH(a)", "MG_SQRT(MG_C(-1, 2))", "a / (b - b)", "sqrt(a)", "a % 2", "a / MG_C(0, 1)", "a / MG_MAX(MG_C(0, 1), a)", "MG_SQRT(a * b)", "a / 0"};
  (void)state;
  for (size_t k = 0; k < sizeof total / sizeof *total; k++) if (!mgi_real_total(total[k])) fail_msg("'%s' is total", total[k]);
  for (size_t k = 0; k < sizeof partial / sizeof *partial; k++) if (mgi_real_total(partial[k])) fail_msg("'%s' is not total", partial[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_refused), cmocka_unit_test(test_bindings), cmocka_unit_test(test_choices), cmocka_unit_test(test_parts_of_wholes), cmocka_unit_test(test_found), cmocka_unit_test(test_rows), cmocka_unit_test(test_empty_maxima), cmocka_unit_test(test_proofs), cmocka_unit_test(test_balls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
