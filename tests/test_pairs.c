/* An independent adversary against link 1: pairs of programs written by hand, equal ones and subtly unequal ones, and
   mutators that make errors which are hard to see: in one element only, smaller than a double resolves, zero at all small
   integers, or two changes that nearly cancel.  Certificates are damaged in several lines at once, the rest put right.
     build/test_pairs [SEED]          SOAK_PAIRS=N: N times as many mutants and damaged certificates
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_pairs.c -o build/test_pairs -lcmocka -lm -lpthread -ldl */
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static uint64_t seed;
static int times = 1;

static uint64_t next(uint64_t *s) { return mgi_ff_mix(*s += MGI_FF_GOLD); }
static int below(uint64_t *s, int n) { return (int)(next(s) % (uint64_t)n); }

typedef struct pair { const char *name, *inputs, *a, *b; } pair;

#define XY "input X : f16[3, 5]\ninput Y : f16[3, 5]\n"
#define XYZ XY "input Z : f16[3, 5]\n"
#define XYZW XYZ "input W : f16[3, 5]\n"
#define XW "input X : f16[4, 6]\ninput W : f16[6, 4]\n"
#define XWG "input X : f16[4, 6]\ninput W : f16[6, 4]\ninput G : f16[6]\n"
#define X7 "input X : f16[5, 7]\ninput W : f16[7, 3]\n"

/* Equal by the field axioms, functions uninterpreted: EQUAL at both tiers. */
static const pair equal[] = {
    {"dot products as a batched product", XY, "O = sum(mul(X, Y), dim=1)", "O = reshape(matmul(reshape(X, [3, 1, 5]), reshape(Y, [3, 5, 1])), [3, 1])"},
    {"square of a sum", XY, "O = sqr(add(X, Y))", "O = add(add(sqr(X), scale(mul(Y, X), 2)), sqr(Y))"},
    {"difference of squares", XY, "O = sub(sqr(X), sqr(Y))", "O = mul(add(Y, X), sub(X, Y))"},
    {"a quotient divided", XYZ, "O = div(div(X, Y), Z)", "O = div(X, mul(Z, Y))"},
    {"divided by a quotient", XYZ, "O = div(X, div(Y, Z))", "O = div(mul(Z, X), Y)"},
    {"fractions added", XYZW, "O = add(div(X, Y), div(Z, W))", "O = div(add(mul(X, W), mul(Z, Y)), mul(W, Y))"},
    {"three signs", XY, "O = sub(neg(neg(X)), neg(Y))", "O = neg(sub(neg(Y), X))"},
    {"a mean", XY, "O = mean(mul(X, Y), dim=1)", "O = sum(mul(scale(Y, 1/5), X), dim=1)"},
    {"exponential of a sum", XY, "O = exp(add(X, Y))", "O = mul(exp(Y), exp(X))"},
    {"exponential of a difference", XY, "O = exp(sub(X, Y))", "O = div(exp(X), exp(Y))"},
    {"square of an exponential", XY, "O = mul(Y, sqr(exp(X)))", "O = mul(exp(scale(X, 2)), Y)"},
    {"hyperbolic cosine squared", XY, "O = mul(sqr(add(exp(X), exp(neg(X)))), Y)", "O = mul(Y, add_scalar(add(exp(scale(X, 2)), exp(scale(X, -2))), 2))"},
    {"softmax of a shift", XY, "O = mul(softmax(X, dim=1), Y)", "O = mul(softmax(add_scalar(X, 3), dim=1), Y)"},
    {"softmax of a shift by rows", "input X : f16[3, 5]\ninput R : f16[3, 1]\n", "O = softmax(X, dim=1)", "O = softmax(sub(X, R), dim=1)"},
    {"softmax divided late", XW, "O = matmul(softmax(X, dim=1), W)", "e = exp(X)\nO = div(matmul(e, W), sum(e, dim=1))"},
    {"stable softmax written out", XW, "O = matmul(softmax(X, dim=1), W)", "e = exp(sub(X, max(X, dim=1)))\nO = matmul(div(e, sum(e, dim=1)), W)"},
    {"transpose of a product", XW, "O = transpose(matmul(X, W), [1, 0])", "O = matmul(transpose(W, [1, 0]), transpose(X, [1, 0]))"},
    {"trace of a product", XW, "O = sum(sum(mul(X, transpose(W, [1, 0])), dim=1), dim=0)", "O = sum(sum(mul(transpose(X, [1, 0]), W), dim=0), dim=1)"},
    {"norm after the product", XWG, "O = matmul(rms_norm(X, G, eps=1/1000), W)", "O = div(matmul(mul(X, G), W), sqrt(add_scalar(mean(sqr(X), dim=1), 1/1000)))"},
    {"gain in the weights", XWG, "O = matmul(mul(X, G), W)", "O = matmul(X, mul(W, reshape(G, [6, 1])))"},
    {"centred before and after", XW, "O = matmul(sub(X, mean(X, dim=1)), W)", "O = sub(matmul(X, W), mul(mean(X, dim=1), sum(W, dim=0)))"},
    {"variance", XY, "O = mean(sqr(sub(X, mean(X, dim=1))), dim=1)", "O = sub(mean(sqr(X), dim=1), sqr(mean(X, dim=1)))"},
    {"Lagrange's identity", "input X : f16[1, 5]\ninput Y : f16[1, 5]\n", "O = sub(mul(sum(sqr(X), dim=1), sum(sqr(Y), dim=1)), sqr(sum(mul(X, Y), dim=1)))",
     "D = matmul(transpose(X, [1, 0]), Y)\nO = scale(sum(sum(sqr(sub(D, transpose(D, [1, 0]))), dim=0), dim=1), 1/2)"},
    {"a geometric sum", XY, "O = mul(add_scalar(X, -1), add_scalar(add(sqr(X), X), 1))", "O = add_scalar(mul(sqr(X), X), -1)"},
    {"partial fractions", XY, "O = div(Y, mul(X, add_scalar(X, 1)))", "O = sub(div(Y, X), div(Y, add_scalar(X, 1)))"},
    {"a gate of equal arguments", XY, "O = silu(mul(add(X, Y), sub(X, Y)))", "O = silu(sub(mul(X, X), mul(Y, Y)))"},
    {"one over one over", XY, "O = gelu(div(X, div(X, Y)))", "O = gelu(mul(div(Y, X), X))"},
    {"roots of equal things", XY, "O = div(sqrt(add(sqr(X), scale(mul(X, Y), 2))), sqrt(sqr(Y)))", "O = div(sqrt(sub(sqr(add(X, Y)), sqr(Y))), sqrt(mul(Y, Y)))"},
    {"sums in another order", "input X : f16[2, 3, 5]\n", "O = sum(sum(sum(sqr(X), dim=0), dim=1), dim=2)", "O = sum(sum(sum(mul(X, X), dim=2), dim=0), dim=1)"},
    {"concatenated, then added up", XY, "O = add(sum(X, dim=1), sum(Y, dim=1))", "O = sum(concat(X, Y, dim=1), dim=1)"},
    {"repeated, then added up", XY, "O = scale(sum(mul(X, Y), dim=0), 4)", "O = sum(repeat(mul(X, Y), dim=0, n=4), dim=0)"},
    {"four transposes", "input X : f16[2, 3, 5]\n", "O = transpose(X, [2, 0, 1])", "O = transpose(transpose(X, [1, 2, 0]), [1, 2, 0])"},
    {"a product in ragged parts", X7, "O = matmul(X, W)", "O = kernel grid=(x=2) {\nfor i=3 {\nm = matmul(load X {i->1}, load W {x->1, i->0})\n}\nstore accum(m) {i->+} {x->1}\n}"},
    {"a product split over ragged blocks", X7, "O = silu(matmul(X, W))", "O = kernel grid=(x=3, y=2, z=4) {\nm = matmul(load X {y->0, z->1}, load W {x->1, z->0})\nstore silu(accum(m) {z->+}) {y->0, x->1}\n}"},
    {"two loops in a row", X7, "O = div(matmul(X, W), sum(X, dim=1))",
     "O = kernel grid=(x=3) {\nfor i=7 {\nm = matmul(load X {i->1}, load W {x->1, i->0})\n}\nfor j=4 {\ns = sum(load X {j->1}, dim=1)\n}\nstore div(accum(m) {i->+}, accum(s) {j->+}) {x->1}\n}"},
    {"two kernels, the first in parts", X7, "O = matmul(X, W)", "P = kernel grid=(x=2) {\nstore matmul(load X {x->0}, load W {}) {x->0}\n}\nO = kernel grid=(x=3) {\nstore load P {x->1} {x->1}\n}"},
    {"outputs of one kernel, both orders kept", XY, "S = sum(X, dim=1)\nO = exp(Y)\noutput S, O", "O, S = kernel grid=(x=3) {\nstore exp(load Y {x->0}) {x->0}\nstore sum(load X {x->0}, dim=1) {x->0}\n}\noutput S, O"}};
enum { EQUALS = sizeof equal / sizeof *equal };

/* Equal by the order of the reals, in part or in full: never NOT_EQUAL. */
static const pair by_order[] = {
    {"relu twice", XY, "O = add(relu(X), Y)", "O = add(Y, relu(relu(X)))"},
    {"maxima in another order", XY, "O = max(max(X, dim=0), dim=1)", "O = max(max(X, dim=1), dim=0)"},
    {"a maximum of a maximum of parts", "input X : f16[4, 6]\n", "O = max(X, dim=1)", "O = kernel grid=(x=2) {\nfor i=3 {\nm = max(load X {x->0, i->1}, dim=1)\n}\nstore accum(m) {i->max} {x->0}\n}"},
    {"a number from its relus", XY, "O = add(X, Y)", "O = add(sub(relu(X), relu(neg(X))), Y)"},
    {"relu of twice", XY, "O = add(scale(relu(X), 2), Y)", "O = add(relu(scale(X, 2)), Y)"},
    {"a maximum of shifted", XY, "O = add(max(X, dim=1), Y)", "O = add(add_scalar(max(add_scalar(X, 5), dim=1), -5), Y)"},
    {"silu written out", XY, "O = mul(silu(X), Y)", "O = mul(div(X, add_scalar(exp(neg(X)), 1)), Y)"},
    {"a root of a square", XY, "O = add(sqr(sqrt(sqr(X))), Y)", "O = add(sqr(X), Y)"},
    {"scaled inside a root", XY, "O = sqrt(scale(sqr(X), 1/4))", "O = scale(sqrt(sqr(X)), 1/2)"},
    {"a logarithm of an exponential", XY, "O = add(log(exp(X)), Y)", "O = add(X, Y)"},
    {"a divisor with relu", XY, "O = div(X, add_scalar(relu(Y), 1))", "O = div(X, add_scalar(relu(relu(Y)), 1))"}};
enum { ORDERS = sizeof by_order / sizeof *by_order };

/* Unequal: EQUAL and EQUAL_SAMPLED are wrong. */
static const pair unequal[] = {
    {"square of a sum, without the 2", XY, "O = sqr(add(X, Y))", "O = add(add(sqr(X), mul(Y, X)), sqr(Y))"},
    {"difference of squares, other sign", XY, "O = sub(sqr(X), sqr(Y))", "O = mul(add(Y, X), sub(Y, X))"},
    {"a quotient divided, other side", XYZ, "O = div(div(X, Y), Z)", "O = div(X, div(Y, Z))"},
    {"fractions added as children do", XYZW, "O = add(div(X, Y), div(Z, W))", "O = div(add(X, Z), add(Y, W))"},
    {"a mean over the other count", XY, "O = mean(X, dim=1)", "O = scale(sum(X, dim=1), 1/3)"},
    {"exponentials added", XY, "O = exp(add(X, Y))", "O = add(exp(X), exp(Y))"},
    {"exponential of a product", XY, "O = exp(mul(X, Y))", "O = mul(exp(X), exp(Y))"},
    {"cosine squared, 1 for 2", XY, "O = sqr(add(exp(X), exp(neg(X))))", "O = add_scalar(add(exp(scale(X, 2)), exp(scale(X, -2))), 1)"},
    {"softmax scaled", XY, "O = softmax(X, dim=1)", "O = softmax(scale(X, 2), dim=1)"},
    {"softmax over the other dimension", "input X : f16[5, 5]\n", "O = softmax(X, dim=1)", "O = softmax(X, dim=0)"},
    {"softmax shifted by columns", "input X : f16[3, 5]\ninput R : f16[1, 5]\n", "O = softmax(X, dim=1)", "O = softmax(sub(X, R), dim=1)"},
    {"softmax whose sum forgets the shift", XW, "O = matmul(softmax(X, dim=1), W)", "O = matmul(div(exp(sub(X, max(X, dim=1))), sum(exp(X), dim=1)), W)"},
    {"softmax shifted by another maximum below", XY, "O = softmax(X, dim=1)", "O = div(exp(sub(X, max(X, dim=1))), sum(exp(sub(X, max(Y, dim=1))), dim=1))"},
    {"softmax without its division", XW, "O = matmul(softmax(X, dim=1), W)", "O = matmul(exp(X), W)"},
    {"square transposed", "input X : f16[4, 4]\ninput W : f16[4, 4]\n", "O = matmul(X, W)", "O = matmul(W, X)"},
    {"transpose of a product, factors as they were", "input X : f16[4, 4]\ninput W : f16[4, 4]\n", "O = transpose(matmul(X, W), [1, 0])", "O = matmul(transpose(X, [1, 0]), transpose(W, [1, 0]))"},
    {"norm with another eps", XWG, "O = matmul(rms_norm(X, G, eps=1/1000000), W)", "O = matmul(rms_norm(X, G, eps=1/1000001), W)"},
    {"norm without eps", XWG, "O = rms_norm(X, G, eps=1/1000000000)", "O = rms_norm(X, G)"},
    {"norm of the scaled", XWG, "O = rms_norm(X, G, eps=1/1000)", "O = rms_norm(scale(X, 2), G, eps=1/1000)"},
    {"norm by the gained", XWG, "O = rms_norm(X, G, eps=1/1000)", "O = div(mul(X, G), sqrt(add_scalar(mean(sqr(mul(X, G)), dim=1), 1/1000)))"},
    {"norm by columns", "input X : f16[5, 5]\n", "O = rms_norm(X)", "O = div(X, sqrt(mean(sqr(X), dim=0)))"},
    {"gain on the wrong side", "input X : f16[4, 4]\ninput W : f16[4, 4]\ninput G : f16[4]\n", "O = matmul(mul(X, G), W)", "O = mul(matmul(X, W), G)"},
    {"centred by the whole mean", XW, "O = matmul(sub(X, mean(X, dim=1)), W)", "O = sub(matmul(X, W), mul(mean(mean(X, dim=1), dim=0), sum(W, dim=0)))"},
    {"variance by n - 1", XY, "O = mean(sqr(sub(X, mean(X, dim=1))), dim=1)", "O = scale(sum(sqr(sub(X, mean(X, dim=1))), dim=1), 1/4)"},
    {"variance without the square", XY, "O = mean(sqr(sub(X, mean(X, dim=1))), dim=1)", "O = sub(mean(sqr(X), dim=1), mean(X, dim=1))"},
    {"Lagrange's identity with equal signs", "input X : f16[1, 5]\ninput Y : f16[1, 5]\n", "O = sub(mul(sum(sqr(X), dim=1), sum(sqr(Y), dim=1)), sqr(sum(mul(X, Y), dim=1)))",
     "D = matmul(transpose(X, [1, 0]), Y)\nO = scale(sum(sum(sqr(add(D, transpose(D, [1, 0]))), dim=0), dim=1), 1/2)"},
    {"a geometric sum of one power less", XY, "O = mul(add_scalar(X, -1), add_scalar(add(sqr(X), X), 1))", "O = add_scalar(sqr(X), -1)"},
    {"partial fractions, other sign", XY, "O = div(Y, mul(X, add_scalar(X, 1)))", "O = sub(div(Y, add_scalar(X, 1)), div(Y, X))"},
    {"silu for gelu", XY, "O = silu(X)", "O = gelu(X)"},
    {"silu for relu", XY, "O = silu(X)", "O = relu(X)"},
    {"silu outside of the sum", XY, "O = silu(add(X, Y))", "O = add(silu(X), silu(Y))"},
    {"silu, then the gate", XY, "O = mul(silu(X), Y)", "O = silu(mul(X, Y))"},
    {"gates exchanged", XY, "O = mul(silu(X), Y)", "O = mul(silu(Y), X)"},
    {"a root outside of the sum", XY, "O = sqrt(add(sqr(X), sqr(Y)))", "O = add(sqrt(sqr(X)), sqrt(sqr(Y)))"},
    {"a root of a square is no identity", XY, "O = sqrt(sqr(X))", "O = neg(neg(X))"},
    {"half of a root", XY, "O = sqrt(scale(sqr(X), 1/4))", "O = scale(sqrt(sqr(X)), 1/4)"},
    {"a logarithm of a product", XY, "O = log(mul(sqr(X), sqr(Y)))", "O = mul(log(sqr(X)), log(sqr(Y)))"},
    {"a sum over the wrong dimension, square", "input X : f16[4, 4]\n", "O = repeat(sum(X, dim=1), dim=1, n=4)", "O = repeat(sum(X, dim=0), dim=0, n=4)"},
    {"squares of sums", XY, "O = sum(sqr(X), dim=1)", "O = sqr(sum(X, dim=1))"},
    {"relu of a sum", XY, "O = relu(sum(X, dim=1))", "O = sum(relu(X), dim=1)"},
    {"relu dropped", XY, "O = relu(sqr(X))\nP = relu(Y)\noutput O, P", "O = relu(sqr(X))\nP = neg(neg(Y))\noutput O, P"},
    {"relu of minus", XY, "O = relu(X)", "O = neg(relu(neg(X)))"},
    {"maximum for minimum", XY, "O = max(X, dim=1)", "O = neg(max(neg(X), dim=1))"},
    {"maximum over the other dimension", "input X : f16[4, 4]\n", "O = repeat(max(X, dim=1), dim=1, n=4)", "O = repeat(max(X, dim=0), dim=0, n=4)"},
    {"maximum of squares", XY, "O = max(sqr(X), dim=1)", "O = sqr(max(X, dim=1))"},
    {"a sum for a maximum", XY, "O = max(X, dim=1)", "O = sum(X, dim=1)"},
    {"concatenated the other way round", XY, "O = concat(X, Y, dim=1)", "O = concat(Y, X, dim=1)"},
    {"repeated once more", "input X : f16[2, 3]\n", "O = sum(repeat(X, dim=0, n=4), dim=0)", "O = sum(repeat(X, dim=0, n=5), dim=0)"},
    {"a reshape for a transpose", "input X : f16[3, 5]\n", "O = transpose(X, [1, 0])", "O = reshape(X, [5, 3])"},
    {"another permutation", "input X : f16[3, 3, 3]\n", "O = transpose(X, [1, 2, 0])", "O = transpose(X, [2, 0, 1])"},
    {"outputs exchanged", XY, "S = sqr(X)\nO = exp(Y)\noutput S, O", "S = sqr(X)\nO = exp(Y)\noutput O, S"},
    {"inputs exchanged", "input X : f16[3, 5]\ninput Y : f16[3, 5]\n", "O = sub(X, Y)", "O = sub(Y, X)"},
    {"the second output only", XY, "S = sum(X, dim=1)\nO = mul(X, Y)\noutput S, O", "S = sum(X, dim=1)\nO = mul(X, X)\noutput S, O"},
    {"a constant off by 2^-31", XY, "O = scale(X, 2147483647/2147483646)", "O = scale(X, 1)"},
    {"a constant in the last digit", XY, "O = add_scalar(X, 1/1000000)", "O = add_scalar(X, 1/1000001)"},
    {"a tile that is summed twice", X7, "O = matmul(X, W)", "O = kernel grid=(x=2) {\nfor i=3 {\nm = matmul(load X {}, load W {x->1})\n}\nstore accum(m) {i->+} {x->1}\n}"},
    {"the loop cuts one operand by the other's dimension", "input X : f16[6, 6]\ninput W : f16[6, 6]\n", "O = matmul(X, W)",
     "O = kernel grid=(x=2) {\nfor i=3 {\nm = matmul(load X {i->1}, transpose(load W {x->0, i->1}, [1, 0]))\n}\nstore accum(m) {i->+} {x->1}\n}"},
    {"blocks stored at each other's place", "input X : f16[4, 4]\n", "O = sqr(X)", "O = kernel grid=(x=2, y=2) {\nstore sqr(load X {x->0, y->1}) {y->0, x->1}\n}"},
    {"a nonlinear function of each part", X7, "O = silu(matmul(X, W))", "O = kernel grid=(x=3) {\nfor i=7 {\nm = silu(matmul(load X {i->1}, load W {x->1, i->0}))\n}\nstore accum(m) {i->+} {x->1}\n}"},
    {"a bias once a part", "input X : f16[4, 6]\ninput W : f16[6, 4]\ninput B : f16[4]\n", "O = add(matmul(X, W), B)",
     "O = kernel grid=(x=2) {\nfor i=3 {\nm = add(matmul(load X {i->1}, load W {x->1, i->0}), load B {x->0})\n}\nstore accum(m) {i->+} {x->1}\n}"},
    {"a maximum for a sum of parts", X7, "O = sum(X, dim=1)", "O = kernel grid=(x=5) {\nfor i=7 {\nm = sum(load X {x->0, i->1}, dim=1)\n}\nstore accum(m) {i->max} {x->0}\n}"},
    {"parts divided, then added", "input X : f16[3, 6]\n", "O = div(sum(X, dim=1), sum(sqr(X), dim=1))",
     "O = kernel grid=(x=3) {\nfor i=2 {\na = load X {x->0, i->1}\nm = div(sum(a, dim=1), sum(sqr(a), dim=1))\n}\nstore accum(m) {i->+} {x->0}\n}"},
    {"a mean of means of ragged parts", "input X : f16[3, 5]\n", "O = mean(X, dim=1)", "O = kernel grid=(x=3) {\nfor i=2 {\nm = scale(sum(load X {x->0, i->1}, dim=1), 1/3)\n}\nstore scale(accum(m) {i->+}, 1/2) {x->0}\n}"},
    {"a softmax of each half", "input X : f16[3, 6]\n", "O = softmax(X, dim=1)", "O = kernel grid=(x=3, y=2) {\ne = exp(load X {x->0, y->1})\nstore div(e, sum(e, dim=1)) {x->0, y->1}\n}"},
    {"attention scaled the other way", "input Q : f16[2, 3, 4]\ninput K : f16[2, 5, 4]\ninput V : f16[2, 5, 4]\n", "O = matmul(softmax(scale(matmul(Q, transpose(K, [0, 2, 1])), 1/2), dim=2), V)",
     "O = scale(matmul(softmax(matmul(Q, transpose(K, [0, 2, 1])), dim=2), V), 1/2)"},
    {"attention with keys for values", "input Q : f16[2, 3, 4]\ninput K : f16[2, 5, 4]\ninput V : f16[2, 5, 4]\n", "O = matmul(softmax(matmul(Q, transpose(K, [0, 2, 1])), dim=2), V)",
     "O = matmul(softmax(matmul(Q, transpose(V, [0, 2, 1])), dim=2), K)"},
    {"attention normalised over the queries", "input Q : f16[2, 5, 4]\ninput K : f16[2, 5, 4]\ninput V : f16[2, 5, 4]\n", "O = matmul(softmax(matmul(Q, transpose(K, [0, 2, 1])), dim=2), V)",
     "O = matmul(softmax(matmul(Q, transpose(K, [0, 2, 1])), dim=1), V)"}};
enum { UNEQUALS = sizeof unequal / sizeof *unequal };

static mg_graph *parse_body(const char *name, const char *inputs, const char *body) {
  char text[8192];
  mg_graph *g = NULL;
  mg_error e;
  int n = snprintf(text, sizeof text, "program %s\n%s%s\n%s", name, inputs, body, strstr(body, "\noutput ") ? "" : "output O\n");
  if (n >= (int)sizeof text || mg_parse(text, (size_t)n, name, NULL, &g, &e) != MG_OK) {
    if (getenv("VERBOSE")) print_message("%s:%d: %s\n%s", e.where, e.line, e.msg, text);
    return NULL;
  }
  return g;
}
static mg_graph *must(const char *name, const char *inputs, const char *body, const char *what) {
  mg_graph *g = parse_body(name, inputs, body);
  if (!g) fail_msg("%s does not parse: %s\n%s", what, inputs, body);
  return g;
}
static mg_verify_report verify(const mg_graph *a, const mg_graph *b, int tier, const char *what) {
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  c.tier = tier ? MG_TIER_FULL : MG_TIER_FAST, c.seed = seed, c.threads = 1;
  if (mg_verify(a, b, &c, &r, &e) != MG_OK) fail_msg("%s: %s: %s", what, e.where, e.msg);
  return r;
}

/* The largest relative difference of two graphs over doubles, on the inputs of one seed; negative if a value is none. */
static double gap(const mg_graph *a, const mg_graph *b, uint64_t s) {
  mg_domain d = mg_domain_real();
  void *in[MG_MAX_IN];
  double *out[2][MG_MAX_OUT], worst = 0;
  const mg_graph *g[2] = {a, b};
  int bad = 0, positive = (int)(s & 1); /* so that roots and logarithms are defined */
  mg_error e;
  for (uint32_t k = 0; k < a->n_in; k++) {
    int64_t n = mg_shape_elements(&a->tensors[a->in[k].id].shape);
    double *v = (double *)(in[k] = malloc((size_t)n * sizeof(double)));
    for (int64_t i = 0; i < n; i++) v[i] = 0.25 + 2 * (double)(next(&s) >> 11) / 9007199254740992.0;
    for (int64_t i = 0; i < n && !positive; i++) if (next(&s) & 1) v[i] = -v[i];
  }
  for (int t = 0; t < 2; t++) {
    for (uint32_t k = 0; k < a->n_out; k++) out[t][k] = (double *)malloc((size_t)mg_shape_elements(&a->tensors[a->out[k].id].shape) * sizeof(double));
    if (mg_eval(g[t], &d, (const void *const *)in, (void *const *)out[t], &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  }
  for (uint32_t k = 0; k < a->n_out; k++)
    for (int64_t i = 0; i < mg_shape_elements(&a->tensors[a->out[k].id].shape); i++) {
      double x = out[0][k][i], y = out[1][k][i], by = fabs(x) + fabs(y);
      if (!(by < 1e300)) bad = 1;
      else if (by > 0 && fabs(x - y) / (by + 1) > worst) worst = fabs(x - y) / (by + 1);
    }
  for (uint32_t k = 0; k < a->n_in; k++) free(in[k]);
  for (uint32_t k = 0; k < a->n_out; k++) free(out[0][k]), free(out[1][k]);
  return bad ? -1 : worst;
}
/* Whether doubles tell the two apart, on any of a few inputs. */
static int differs(const mg_graph *a, const mg_graph *b) {
  for (uint64_t s = 1; s <= 8; s++) if (gap(a, b, (seed & ~(uint64_t)15) + s) > 1e-7) return 1;
  return 0;
}

static void equal_pairs(void **state) {
  (void)state;
  for (int k = 0; k < EQUALS; k++) {
    const pair *p = &equal[k];
    mg_graph *a = must("a", p->inputs, p->a, p->name), *b = must("b", p->inputs, p->b, p->name);
    if (differs(a, b)) fail_msg("'%s' is labelled equal, and is not", p->name);
    for (int t = 0; t < 4; t++) {
      mg_verify_report r = t & 2 ? verify(b, a, t & 1, p->name) : verify(a, b, t & 1, p->name);
      if (t & 2 && (!strcmp(p->name, "divided by a quotient") || !strcmp(p->name, "one over one over"))) {
        if (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED || !r.partial) fail_msg("'%s' the other way divides by more: %s: %s", p->name, mg_verdict_name(r.verdict), r.reason);
        continue;
      }
      if (r.verdict != MG_EQUAL) fail_msg("'%s', %s tier: %s: %s", p->name, t & 1 ? "full" : "fast", mg_verdict_name(r.verdict), r.reason);
      if ((t & 1) && !(r.log2_delta <= -64)) fail_msg("'%s': delta 2^%.2f: %s", p->name, r.log2_delta, r.reason);
    }
    mg_graph_free(a), mg_graph_free(b);
  }
}
static void equal_by_order(void **state) {
  (void)state;
  int n[4] = {0};
  for (int k = 0; k < ORDERS; k++) {
    const pair *p = &by_order[k];
    mg_graph *a = must("a", p->inputs, p->a, p->name), *b = must("b", p->inputs, p->b, p->name);
    if (differs(a, b)) fail_msg("'%s' is labelled equal, and is not", p->name);
    for (int t = 0; t < 2; t++) {
      mg_verify_report r = verify(a, b, t, p->name);
      if (r.verdict == MG_NOT_EQUAL) fail_msg("'%s', %s tier: NOT_EQUAL: %s", p->name, t ? "full" : "fast", r.reason);
      if (r.verdict == MG_EQUAL_SAMPLED && r.log2_delta < 0) fail_msg("'%s' is sampled and claims a delta", p->name);
      n[r.verdict] += t;
    }
    mg_graph_free(a), mg_graph_free(b);
  }
  print_message("equal by the order of the reals: %d EQUAL, %d EQUAL_SAMPLED, %d UNDECIDED\n", n[MG_EQUAL], n[MG_EQUAL_SAMPLED], n[MG_UNDECIDED]);
}
static void unequal_pairs(void **state) {
  (void)state;
  int undecided = 0, fast = 0;
  for (int k = 0; k < UNEQUALS; k++) {
    const pair *p = &unequal[k];
    mg_graph *a = must("a", p->inputs, p->a, p->name), *b = must("b", p->inputs, p->b, p->name);
    for (int t = 0; t < 4; t++) {
      mg_verify_report r = t & 2 ? verify(b, a, t & 1, p->name) : verify(a, b, t & 1, p->name);
      int accepted = r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED;
      if (accepted && (t & 1)) fail_msg("'%s' is accepted: %s: %s", p->name, mg_verdict_name(r.verdict), r.reason);
      if (r.verdict != MG_NOT_EQUAL && (t & 1)) undecided++, print_message("'%s': %s: %s\n", p->name, mg_verdict_name(r.verdict), r.reason);
      fast += accepted;
    }
    mg_graph_free(a), mg_graph_free(b);
  }
  print_message("unequal: %d pairs, both ways; %d UNDECIDED at the full tier, %d accepted by the fast one\n", UNEQUALS, undecided, fast);
  assert_int_equal(undecided, 0);
  assert_int_equal(fast, 0);
}

/* The solver on the same pairs: no wrong one proved, no right one refuted. */
static void the_solver(void **state) {
  (void)state;
  static const struct { const pair *p; int n; mg_verdict never; const char *what; } table[] = {{equal, EQUALS, MG_NOT_EQUAL, "equal"}, {by_order, ORDERS, MG_NOT_EQUAL, "equal by order"}, {unequal, UNEQUALS, MG_EQUAL, "unequal"}};
  for (int t = 0; t < 3; t++) {
    int n[4] = {0};
    for (int k = 0; k < table[t].n; k++) {
      const pair *p = &table[t].p[k];
      mg_graph *a = must("a", p->inputs, p->a, p->name), *b = must("b", p->inputs, p->b, p->name);
      mg_prove_config c = mg_prove_config_default();
      mg_prove_report r;
      mg_error e;
      c.seed = seed, c.time_limit_s = 1;
      mg_status s = mg_prove(a, b, &c, &r, &e);
      mg_graph_free(a), mg_graph_free(b);
      if (s == MG_UNSUPPORTED && strstr(e.msg, "libz3")) { print_message("skipped: %s\n", e.msg); return; }
      if (s != MG_OK) fail_msg("'%s': %s: %s", p->name, e.where, e.msg);
      if (r.verdict == table[t].never || r.verdict == MG_EQUAL_SAMPLED) fail_msg("'%s', which is %s: the solver says %s: %s", p->name, table[t].what, mg_verdict_name(r.verdict), r.reason);
      n[r.verdict]++;
      if (r.verdict == MG_UNDECIDED && getenv("VERBOSE")) print_message("%s '%s': %s\n", table[t].what, p->name, r.reason);
    }
    print_message("the solver, %s: %d EQUAL, %d NOT_EQUAL, %d UNDECIDED\n", table[t].what, n[MG_EQUAL], n[MG_NOT_EQUAL], n[MG_UNDECIDED]);
    assert_true(n[MG_UNDECIDED] * 2 < table[t].n);
  }
}

/* ---- mutators: each appends to, or changes, the text of a right program; 1: wrong by construction, 2: doubles must say */

typedef struct mutant { char body[4096]; int64_t rows, columns; uint64_t s; } mutant;

static void more(mutant *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void more(mutant *m, const char *format, ...) {
  size_t n = strlen(m->body);
  va_list ap;
  va_start(ap, format);
  vsnprintf(m->body + n, sizeof m->body - n, format, ap);
  va_end(ap);
}
/* The last statement's O becomes `was`, so that a new O may follow. */
static int rename_output(mutant *m) {
  char *at = NULL;
  for (char *p = m->body; (p = strstr(p, "O = ")); p++) if (p == m->body || p[-1] == '\n') at = p;
  if (!at || strstr(m->body, "\noutput ") || strlen(m->body) + 40 > sizeof m->body) return 0;
  memmove(at + 3, at + 1, strlen(at + 1) + 1);
  memcpy(at, "was", 3);
  more(m, "\n");
  return 1;
}
/* name[1, n]: z but for its element `at`, which is t. */
static void one_of(mutant *m, const char *name, const char *z, const char *t, int64_t n, int64_t at, int dim) {
  more(m, "%s0 = neg(%s)\n", name, t);
  if (at == 1) more(m, "%s1 = concat(%s, %s0, dim=%d)\n", name, z, name, dim);
  else if (at) more(m, "%s1 = concat(repeat(%s, dim=%d, n=%lld), %s0, dim=%d)\n", name, z, dim, (long long)at, name, dim);
  else more(m, "%s1 = scale(%s0, 1)\n", name, name);
  if (at + 2 == n) more(m, "%s = concat(%s1, %s, dim=%d)\n", name, name, z, dim);
  else if (at + 1 < n) more(m, "%s = concat(%s1, repeat(%s, dim=%d, n=%lld), dim=%d)\n", name, name, z, dim, (long long)(n - 1 - at), dim);
  else more(m, "%s = scale(%s1, 1)\n", name, name);
}
static int in_one_element(mutant *m) {
  if (!rename_output(m)) return 0;
  more(m, "t_ = sum(sum(sqr(X), dim=0), dim=1)\nz_ = sub(t_, t_)\n");
  one_of(m, "row_", "z_", "t_", m->columns, below(&m->s, (int)m->columns), 1);
  more(m, "zr_ = sub(row_, row_)\n");
  one_of(m, "all_", "zr_", "row_", m->rows, below(&m->s, (int)m->rows), 0);
  more(m, "O = add(was, scale(all_, 1/%d))", 1 + below(&m->s, 1000));
  return 1;
}
static int below_a_double(mutant *m) {
  if (!rename_output(m)) return 0;
  int a = 28 + below(&m->s, 3), b = 28 + below(&m->s, 3);
  more(m, "e_ = scale(scale(sum(sum(sqr(X), dim=0), dim=1), 1/%d), %s1/%d)\nO = mul(was, add_scalar(e_, 1))", 1 << a, below(&m->s, 2) ? "-" : "", 1 << b);
  return 1;
}
static int zero_at_small_integers(mutant *m) {
  if (!rename_output(m)) return 0;
  int n = 3 + below(&m->s, 12);
  more(m, "v1 = add_scalar(X, %d)\n", -(n / 2));
  for (int k = 1; k < n; k++) more(m, "v%d = mul(v%d, %s)\n", k + 1, k, k == n / 2 ? "X" : "w_");
  for (int k = 1; k < n; k++) {
    char *at = strstr(m->body, "w_"), factor[40];
    if (!at) break;
    int shift = k - (k >= n / 2) + 1 - n / 2; /* each integer of a range but one that X itself stands for, some twice: still zero there */
    int len = snprintf(factor, sizeof factor, "add_scalar(X, %d)", shift);
    memmove(at + len, at + 2, strlen(at + 2) + 1), memcpy(at, factor, (size_t)len);
  }
  more(m, "O = add(was, sum(sum(v%d, dim=0), dim=1))", n);
  return 1;
}
/* Two statements get factors c and 1/c, or n and -n as summands. */
static int two_that_nearly_cancel(mutant *m) {
  char *at[32];
  int n = 0, c = 2 + below(&m->s, 5), add = below(&m->s, 3) == 0;
  for (char *p = m->body; p && n < 32; p = strchr(p, '\n'), p += p != NULL) {
    char *eq = strstr(p, " = "), *end = strchr(p, '\n');
    if (eq && (!end || eq < end) && strncmp(eq, " = kernel", 9) && strncmp(eq, " = load", 7) && strncmp(p, "for ", 4)) at[n++] = eq + 3;
    else if (!strncmp(p, "store ", 6) && strncmp(p + 6, "load", 4)) at[n++] = p + 6;
  }
  if (n < 2) return 0;
  int i = below(&m->s, n), j = below(&m->s, n - 1);
  j += j >= i;
  for (int k = 0; k < 2; k++) { /* the later one first: the other stays where it is */
    char *p = (k == 0) == (at[i] > at[j]) ? at[i] : at[j], head[16], tail[48];
    int depth = 0, first = p == at[i];
    size_t len = 0;
    for (; p[len] && p[len] != '\n' && !(p[len] == ' ' && p[len + 1] == '{' && !depth); len++) depth += p[len] == '(' ? 1 : p[len] == ')' ? -1 : 0;
    if (add) snprintf(head, sizeof head, "add_scalar("), snprintf(tail, sizeof tail, ", %d)", first ? c : -c);
    else snprintf(head, sizeof head, "scale("), snprintf(tail, sizeof tail, first ? ", %d)" : ", 1/%d)", c);
    size_t h = strlen(head), t = strlen(tail);
    if (strlen(m->body) + h + t + 1 > sizeof m->body) return 0;
    memmove(p + h + len + t, p + len, strlen(p + len) + 1);
    memmove(p + h, p, len), memcpy(p, head, h), memcpy(p + h + len, tail, t);
  }
  return 2;
}
/* Two words of the text change places. */
static int two_words_exchanged(mutant *m) {
  size_t at[2], len[2], n = strlen(m->body);
  char *b = m->body, copy[4096];
#define WORD(c) (((c) >= '0' && (c) <= '9') || ((c) >= 'a' && (c) <= 'z') || ((c) >= 'A' && (c) <= 'Z') || (c) == '_')
  for (int k = 0; k < 2; k++) {
    for (at[k] = (size_t)below(&m->s, (int)n); at[k] < n && !WORD(b[at[k]]); at[k]++) {}
    while (at[k] && WORD(b[at[k] - 1])) at[k]--;
    for (len[k] = 0; WORD(b[at[k] + len[k]]); len[k]++) {}
    if (!len[k]) return 0;
  }
  if (at[0] == at[1]) return 0;
  int f = at[0] > at[1];
  snprintf(copy, sizeof copy, "%.*s%.*s%.*s%.*s%s", (int)at[f], b, (int)len[!f], b + at[!f], (int)(at[!f] - at[f] - len[f]), b + at[f] + len[f], (int)len[f], b + at[f], b + at[!f] + len[!f]);
  if (!strcmp(copy, b)) return 0;
  strcpy(b, copy);
  return 2;
}

static const struct { const char *name; int (*f)(mutant *); } mutator[] = {{"an error in one element", in_one_element}, {"an error below a double's precision", below_a_double},
    {"an error that is zero at small integers", zero_at_small_integers}, {"two changes that nearly cancel", two_that_nearly_cancel}, {"two words exchanged", two_words_exchanged}};
enum { MUTATORS = sizeof mutator / sizeof *mutator };

static void mutants(void **state) {
  (void)state;
  uint64_t s = seed;
  for (int k = 0; k < MUTATORS; k++) {
    int made = 0, invalid = 0, wrong = 0, n[4] = {0}, fast = 0, right[4] = {0}, proofs[4] = {0};
    for (int round = 0; round < (k < 3 ? 4 : 24) * times; round++)
      for (int i = 0; i < EQUALS; i++) {
        const pair *p = &equal[i];
        mg_graph *a = must("a", p->inputs, p->a, p->name), *b;
        const mg_shape *o = &a->tensors[a->out[0].id].shape;
        mutant m;
        m.s = next(&s), m.rows = o->dim[0], m.columns = o->rank > 1 ? o->dim[1] : 1;
        snprintf(m.body, sizeof m.body, "%s", below(&m.s, 2) ? p->a : p->b);
        int kind = o->rank == 2 && a->tensors[a->in[0].id].shape.rank == 2 ? mutator[k].f(&m) : 0;
        if (kind && (b = parse_body("b", p->inputs, m.body)) != NULL) {
          mg_verify_report r;
          mg_error e;
          mg_verify_config c = mg_verify_config_default();
          c.seed = m.s, c.threads = 1;
          if (mg_verify(a, b, &c, &r, &e) != MG_OK) { invalid++; mg_graph_free(a), mg_graph_free(b); continue; } /* another signature */
          made++;
          if (kind == 1 || differs(a, b)) {
            wrong++, n[r.verdict]++;
            if (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED) fail_msg("%s: %s is accepted (%s):\n%s\n%s\nagainst\n%s", mutator[k].name, p->name, r.reason, p->inputs, m.body, p->a);
            if (r.verdict == MG_UNDECIDED && getenv("VERBOSE")) print_message("%s: %s\n%s\n", mutator[k].name, r.reason, m.body);
            if (round % 4 == 0) { /* floats tell the solver nothing of some of these */
              mg_prove_config pc = mg_prove_config_default();
              mg_prove_report pr;
              pc.seed = m.s, pc.time_limit_s = 1;
              if (mg_prove(a, b, &pc, &pr, &e) == MG_OK) {
                proofs[pr.verdict]++;
                if (pr.verdict == MG_EQUAL) fail_msg("%s: %s is proved (%s):\n%s\n%s\nagainst\n%s", mutator[k].name, p->name, pr.reason, p->inputs, m.body, p->a);
              }
            }
            c.tier = MG_TIER_FAST;
            fast += mg_verify(a, b, &c, &r, &e) == MG_OK && (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED);
          } else {
            right[r.verdict]++;
            if (r.verdict == MG_NOT_EQUAL && !r.confirmed && !r.partial) fail_msg("%s: %s is refused, and doubles do not say so:\n%s\n%s\nagainst\n%s", mutator[k].name, r.reason, p->inputs, m.body, p->a);
            if (r.verdict == MG_NOT_EQUAL && getenv("VERBOSE")) print_message("%s, alike over doubles: %s\n%s%s\nagainst\n%s\n", mutator[k].name, r.reason, p->inputs, m.body, p->a);
          }
          mg_graph_free(b);
        } else invalid += kind != 0;
        mg_graph_free(a);
      }
    print_message("%s: %d mutants (%d more are no programs of this signature), %d wrong: %d NOT_EQUAL, %d UNDECIDED, 0 accepted, %d by the fast tier; alike over doubles: %d EQUAL, %d SAMPLED, %d UNDECIDED, %d NOT_EQUAL; of some, the solver: 0 EQUAL, %d NOT_EQUAL, %d UNDECIDED\n",
                  mutator[k].name, made, invalid, wrong, n[MG_NOT_EQUAL], n[MG_UNDECIDED], fast, right[MG_EQUAL], right[MG_EQUAL_SAMPLED], right[MG_UNDECIDED], right[MG_NOT_EQUAL], proofs[MG_NOT_EQUAL], proofs[MG_UNDECIDED]);
    assert_true(wrong > (k < 3 ? 100 : 10));
  }
}

/* ---- certificates */

static char *certificate(int i, mg_graph **a, mg_graph **b) {
  mg_error e;
  char *text = NULL;
  *a = must("a", equal[i].inputs, equal[i].a, equal[i].name), *b = must("b", equal[i].inputs, equal[i].b, equal[i].name);
  mg_verify_report r = verify(*a, *b, 1, equal[i].name);
  if (mg_certificate(*a, *b, &r, &text, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return text;
}
static int holds(const char *text, size_t n) {
  mg_verify_report r;
  mg_error e;
  mg_status s = mg_certificate_check(text, n, &r, &e);
  if (s != MG_OK && (s != MG_BAD_INPUT && s != MG_LIMIT && s != MG_UNSUPPORTED)) fail_msg("status %d: %s", s, e.msg);
  if (s != MG_OK && (!*e.msg || strchr(e.msg, '\n'))) fail_msg("not one line: '%s'", e.msg);
  return s == MG_OK;
}
/* Sizes and sum put right. */
static size_t mend(char *text, size_t cap) {
  char *first = strstr(text, "\nfirst "), *second = first ? strstr(first, "\nsecond ") : NULL, *sum = NULL, *copy;
  for (char *p = second; p && (p = strstr(p, "\nsum ")); p++) sum = p;
  if (!sum || !(copy = (char *)malloc(cap))) return strlen(text);
  char *one = strchr(first + 1, '\n') + 1, *two = strchr(second + 1, '\n') + 1;
  if (one > second || two > sum) { free(copy); return strlen(text); }
  size_t n = (size_t)snprintf(copy, cap, "%.*s\nfirst %zu\n%.*ssecond %zu\n%.*s", (int)(first - text), text, (size_t)(second + 1 - one), (int)(second + 1 - one), one, (size_t)(sum + 1 - two), (int)(sum + 1 - two), two);
  if (n + 40 < cap) n += (size_t)snprintf(copy + n, cap - n, "sum %016llx\n", (unsigned long long)mgi_cert_sum(copy, n));
  if (n < cap) strcpy(text, copy);
  free(copy);
  return strlen(text);
}
/* Replaces line i by `by`, of which a newline is part. */
static void set_line(char *text, int i, const char *by) {
  char *p = text, rest[16384];
  for (; i && strchr(p, '\n'); i--) p = strchr(p, '\n') + 1;
  char *end = strchr(p, '\n');
  snprintf(rest, sizeof rest, "%s", end ? end + 1 : "");
  strcpy(p, by), strcat(p, rest);
}
static void get_line(const char *text, int i, char *out, size_t size) {
  for (; i && strchr(text, '\n'); i--) text = strchr(text, '\n') + 1;
  const char *end = strchr(text, '\n');
  snprintf(out, size, "%.*s\n", (int)(end ? end - text : (long)strlen(text)), text);
}
static int lines_of(const char *text) {
  int n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

/* Several lines changed, exchanged, repeated or dropped, the sizes and the sum put right: what still holds is a
   certificate of an equal pair, by tests with another seed. */
static void damage_in_several_lines(void **state) {
  (void)state;
  uint64_t s = seed ^ 77;
  int tried = 0, held = 0;
  for (int round = 0; round < 5 * times; round++)
    for (int i = 0; i < EQUALS; i++) {
      mg_graph *a, *b;
      char *text = certificate(i, &a, &b), *bad = (char *)malloc(16384), line[512], other[512];
      snprintf(bad, 16384, "%s", text);
      for (int k = 2 + below(&s, 4); k; k--) {
        int n = lines_of(bad), x = below(&s, n), y = below(&s, n);
        get_line(bad, x, line, sizeof line), get_line(bad, y, other, sizeof other);
        switch (below(&s, 6)) {
          case 0: set_line(bad, x, other), set_line(bad, y, line); break;
          case 1: set_line(bad, x, ""); break;
          case 2: if (strlen(bad) < 8000) strcat(line, other), set_line(bad, x, line); break;
          case 3: set_line(bad, x, other); break;
          default: { /* a number becomes another, wherever it stands */
            char *p = line, *q, number[32], whole[600];
            while (*p && !(*p >= '0' && *p <= '9')) p++;
            for (q = p; *q >= '0' && *q <= '9';) q++;
            if (p == q || q - p > 20) break;
            static const char *const huge[] = {"0", "1", "2", "18446744073709551615", "18446744073709551616", "9223372036854775808", "99999999999999999999999999999999", "4294967296"};
            if (below(&s, 3)) snprintf(number, sizeof number, "%llu", strtoull(p, NULL, 10) + (below(&s, 2) ? 1ull : -1ull)); /* wraps around */
            else snprintf(number, sizeof number, "%s", huge[below(&s, 8)]);
            snprintf(whole, sizeof whole, "%.*s%s%s", (int)(p - line), line, number, q);
            set_line(bad, x, whole);
            break;
          }
        }
      }
      size_t n = mend(bad, 16384);
      if (strcmp(bad, text)) {
        tried++;
        if (holds(bad, n)) {
          mg_graph *g[2] = {NULL, NULL};
          mg_error e;
          const char *at = strstr(bad, "\nfirst ") + 1;
          for (int k = 0; k < 2; k++) {
            size_t len = (size_t)strtoull(strchr(at, ' '), NULL, 10);
            at = strchr(at, '\n') + 1;
            assert_int_equal(mg_parse(at, len, "text", NULL, &g[k], &e), MG_OK);
            at += len;
          }
          mg_verify_config c = mg_verify_config_default();
          mg_verify_report r;
          c.seed = next(&s);
          held++;
          if (mg_verify(g[0], g[1], &c, &r, &e) != MG_OK || (r.verdict != MG_EQUAL && r.verdict != MG_EQUAL_SAMPLED)) fail_msg("a damaged certificate holds, and its programs differ:\n%s", bad);
          mg_graph_free(g[0]), mg_graph_free(g[1]);
        }
      }
      free(bad), mg_string_free(text), mg_graph_free(a), mg_graph_free(b);
    }
  print_message("%d certificates damaged in several lines, %d of them still hold, of equal programs\n", tried, held);
}

static void damage_as_a_whole(void **state) {
  (void)state;
  mg_graph *a, *b;
  for (int i = 0; i < EQUALS; i += 6) {
    char *text = certificate(i, &a, &b), *bad = (char *)malloc(65536);
    size_t n = strlen(text), m = 0;
    assert_true(holds(text, n));
    for (size_t k = 0; k < n; k += 5) if (holds(text, k)) fail_msg("the first %zu of %zu bytes hold", k, n);
    for (size_t k = 0; k < n; k++) { /* CR LF */
      if (text[k] == '\n') bad[m++] = '\r';
      bad[m++] = text[k];
    }
    assert_false(holds(bad, m));
    memcpy(bad, text, n), memcpy(bad + n, text, n);
    assert_false(holds(bad, 2 * n)); /* two in one */
    memcpy(bad, text, n), bad[n] = '\n';
    assert_false(holds(bad, n + 1));
    bad[n] = 0;
    assert_false(holds(bad, n + 1));
    memcpy(bad, "\xEF\xBB\xBF", 3), memcpy(bad + 3, text, n);
    assert_false(holds(bad, n + 3)); /* a byte order mark */
    memset(bad, '9', 65536);
    assert_false(holds(bad, 65536));
    free(bad), mg_string_free(text), mg_graph_free(a), mg_graph_free(b);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equal_pairs), cmocka_unit_test(equal_by_order), cmocka_unit_test(unequal_pairs), cmocka_unit_test(the_solver), cmocka_unit_test(mutants),
                                     cmocka_unit_test(damage_in_several_lines), cmocka_unit_test(damage_as_a_whole)};
  const char *soak = getenv("SOAK_PAIRS");
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  times = soak && atoi(soak) > 1 ? atoi(soak) : 1;
  print_message("seed %llu\n", (unsigned long long)seed);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
