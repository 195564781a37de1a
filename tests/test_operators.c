/* Rows of the table that models need beside the first ones: what links 1 and 2 make of them.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_operators.c -o build/test_operators -lcmocka -lm -lpthread -ldl
   Run from the repository's top directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#include "joined.h"
#include "parse.h"
#include "sanitized.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "input X : f16[6, 8]\ninput Y : f16[6, 8]\n"

static mg_verdict verdict(const char *a, const char *b, mg_verify_report *r) {
  char text[2][1000];
  mg_graph *g[2];
  mg_verify_report local;
  mg_error e;
  if (!r) r = &local;
  for (int k = 0; k < 2; k++) snprintf(text[k], sizeof text[k], "program p%d\n" HEAD "%s\noutput O\n", k, k ? b : a), g[k] = parse(text[k]);
  if (mg_verify(g[0], g[1], NULL, r, &e) != MG_OK) fail_msg("%s: %s\n%s\n%s", e.where, e.msg, a, b);
  if (r->verdict == MG_EQUAL) { /* its certificate says the same */
    char *cert = NULL;
    mg_verify_report again;
    assert_int_equal(mg_certificate(g[0], g[1], r, &cert, &e), MG_OK);
    if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    mg_string_free(cert);
  }
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  return r->verdict;
}

/* Equal: what holds by the fields, then what takes a proof. */
static void equal_pairs(void **state) {
  (void)state;
  static const char *const pair[][2] = {
      {"O = sigmoid(add(X, Y))", "O = sigmoid(add(Y, X))"},
      {"O = tanh(sub(X, Y))", "O = tanh(add(neg(Y), X))"},
      {"O = mul(X, rsqrt(add_scalar(sqr(Y), 1/8)))", "O = div(X, sqrt(add_scalar(sqr(Y), 1/8)))"},
      {"O = mul(mul(X, rsqrt(add_scalar(mean(sqr(X), dim=1), 1e-6))), Y)", "O = rms_norm(X, Y, eps=1e-6)"},
      {"O = div(Y, sigmoid(X))", "O = mul(Y, div(sub(add_scalar(X, 1), X), sigmoid(X)))"},
      {"O = abs(sub(X, Y))", "O = abs(sub(Y, X))"},
      {"O = abs(X)", "O = maximum(neg(X), X)"},
      {"O = maximum(X, Y)", "O = maximum(Y, X)"},
      {"O = minimum(X, Y)", "O = neg(maximum(neg(X), neg(Y)))"},
      {"O = min(X, dim=1)", "O = neg(max(neg(X), dim=1))"},
      {"O = clamp(X, -1, 1)", "O = clamp_max(clamp_min(X, -1), 1)"},
      {"O = relu(X)", "O = clamp_min(X, 0)"},
      {"O = mul(abs(X), abs(X))", "O = sqr(abs(X))"},
      {"O = abs(X)", "O = sqrt(sqr(X))"},
      {"O = add(maximum(X, Y), minimum(X, Y))", "O = add(X, Y)"},
      {"O = maximum(X, minimum(X, Y))", "O = add(X, sub(Y, Y))"},
      {"O = clamp_min(clamp_min(X, -1), 1)", "O = clamp_min(X, 1)"},
      {"O = clamp(X, 0, 6)", "O = clamp_min(clamp_max(X, 6), 0)"},
      {"O = maximum(maximum(X, Y), neg(X))", "O = maximum(abs(X), Y)"},
      {"O = slice(add(X, Y), dim=1, from=2, n=3)", "O = add(slice(Y, dim=1, from=2, n=3), slice(X, dim=-1, from=2, n=3))"},
      {"O = concat(slice(X, dim=0, n=2), slice(X, dim=0, from=2, n=4), dim=0)", "O = add(X, sub(Y, Y))"},
      {"O = slice(slice(X, dim=1, from=1, n=6), dim=1, from=2, n=2)", "O = slice(X, dim=1, from=3, n=2)"},
      {"O = sum(X, dim=1)", "O = add(sum(slice(X, dim=1, from=0, n=3), dim=1), sum(slice(X, dim=1, from=3, n=5), dim=1))"},
      {"O = slice(div(X, sqrt(mean(sqr(X), dim=1))), dim=1, from=1, n=2)", "N = sqrt(mean(sqr(X), dim=1))\nO = div(slice(X, dim=1, from=1, n=2), N)"},
      {"O = where(X, Y, sqr(Y))", "O = add(drop(X, mul(Y, Y)), keep(X, Y))"},
      {"O = where(X, Y, Y)", "O = add(Y, sub(X, X))"},
      {"O = add(where(X, Y, X), where(X, X, Y))", "O = add(X, Y)"},
      {"O = sum(where(X, scale(Y, 2), X), dim=1)", "O = add(scale(sum(keep(X, Y), dim=1), 2), sum(drop(X, X), dim=1))"},
      {"O = where(X, max(Y, dim=1), Y)", "O = add(Y, keep(X, sub(max(Y, dim=1), Y)))"},
      {"O = where(X, relu(Y), Y)", "O = add(keep(X, clamp_min(Y, 0)), drop(X, sub(relu(Y), relu(neg(Y)))))"},
      {"O = rope(X, Y, Y)", "A = slice(X, dim=1, from=0, n=4)\nB = slice(X, dim=1, from=4, n=4)\nC = slice(Y, dim=1, from=0, n=4)\nD = slice(Y, dim=1, from=4, n=4)\n"
                            "O = concat(mul(sub(A, B), C), mul(add(B, A), D), dim=1)"},
      {"O = kernel grid=(x=2) {\n  a = load X {x->0}\n  b = load Y {x->0}\n  l = slice(a, dim=1, from=0, n=4)\n  r = neg(slice(a, dim=1, from=4, n=4))\n  o = add(mul(a, b), mul(concat(r, l, dim=1), b))\n  store o {x->0}\n}",
       "O = rope(X, Y, Y)"},
  };
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    mg_verify_report r;
    if (verdict(pair[k][0], pair[k][1], &r) != MG_EQUAL) fail_msg("%s, %s: %s: %s", pair[k][0], pair[k][1], mg_verdict_name(r.verdict), r.reason);
  }
}

/* Not equal, and float64 shows it. */
static void wrong_pairs(void **state) {
  (void)state;
  static const char *const pair[][2] = {
      {"O = sigmoid(X)", "O = sigmoid(neg(X))"}, {"O = tanh(X)", "O = tanh(neg(X))"}, {"O = sigmoid(X)", "O = silu(X)"}, {"O = tanh(X)", "O = sigmoid(X)"},
      {"O = rsqrt(add_scalar(sqr(Y), 1))", "O = sqrt(add_scalar(sqr(Y), 1))"}, {"O = abs(X)", "O = relu(X)"}, {"O = abs(X)", "O = maximum(X, Y)"},
      {"O = maximum(X, Y)", "O = minimum(X, Y)"}, {"O = min(X, dim=1)", "O = max(X, dim=1)"}, {"O = min(X, dim=1)", "O = max(neg(X), dim=1)"},
      {"O = clamp(X, -1, 1)", "O = clamp(X, -1, 2)"}, {"O = clamp(X, -1, 1)", "O = clamp_min(X, -1)"}, {"O = clamp_min(X, 1/2)", "O = clamp_max(X, 1/2)"},
      {"O = clamp_min(X, 1/2)", "O = clamp_min(X, 1/3)"}, {"O = minimum(X, Y)", "O = X"},
      {"O = slice(X, dim=1, from=2, n=3)", "O = slice(X, dim=1, from=3, n=3)"}, {"O = slice(X, dim=0, from=0, n=6)", "O = slice(Y, dim=0, from=0, n=6)"},
      {"O = where(X, Y, scale(Y, 2))", "O = where(Y, Y, scale(Y, 2))"}, {"O = where(X, Y, X)", "O = where(X, X, Y)"}, {"O = keep(X, Y)", "O = drop(X, Y)"},
      {"O = rope(X, Y, Y)", "O = rope(Y, X, X)"}, {"O = rope(X, X, Y)", "O = rope(X, Y, X)"},
  };
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    mg_verify_report r;
    const char *b = !strcmp(pair[k][1], "O = X") ? "O = add(X, sub(Y, Y))" : pair[k][1];
    if (verdict(pair[k][0], b, &r) != MG_NOT_EQUAL) fail_msg("%s, %s: %s: %s", pair[k][0], b, mg_verdict_name(r.verdict), r.reason);
  }
}

/* rsqrt is defined on positive numbers alone: a program that is defined elsewhere is not it. */
static void domains(void **state) {
  (void)state;
  assert_int_equal(verdict("O = mul(sub(X, X), Y)", "O = mul(sub(X, X), rsqrt(Y))", NULL), MG_NOT_EQUAL);
  /* of a choice both sides count, so a division that a choice guards is none that the program does without */
  assert_int_not_equal(verdict("O = where(Y, X, X)", "O = where(Y, div(mul(X, Y), Y), X)", NULL), MG_EQUAL);
  /* a slice's element is one of its operand's, and no other: only what all of these divide by is known */
  assert_int_equal(verdict("O = slice(div(X, sum(Y, dim=1)), dim=1, n=2)", "O = div(slice(X, dim=1, n=2), sum(Y, dim=1))", NULL), MG_EQUAL);
  assert_int_not_equal(verdict("O = slice(div(X, Y), dim=1, n=2)", "P = div(X, Y)\nO = add(slice(P, dim=1, from=0, n=2), sum(sub(P, P), dim=1))", NULL), MG_EQUAL);
  assert_int_equal(verdict("O = rsqrt(Y)", "O = div(sub(add_scalar(X, 1), X), sqrt(Y))", NULL), MG_EQUAL);
}

/* The program of this line is bad input, and msg is what it is told. */
static void refused(const char *line, const char *msg) {
  char text[300];
  mg_graph *g = NULL;
  mg_error e;
  snprintf(text, sizeof text, "program p\n" HEAD "%s\noutput O\n", line);
  assert_int_equal(mg_parse(text, strlen(text), "t", NULL, &g, &e), MG_BAD_INPUT);
  if (!strstr(e.msg, msg)) fail_msg("%s: %s", line, e.msg);
}
static void errors(void **state) {
  (void)state;
  static const struct { const char *expr, *msg; } bad[] = {
      {"clamp(X)", "clamp needs its least and greatest value"}, {"clamp(X, 1)", "clamp needs its least and greatest value"}, {"clamp(X, 2, 1)", "the least value, 2/1, is above the greatest, 1/1"},
      {"clamp(X, 1, 2, 3)", "expected a tensor"}, {"clamp(1, X)", "expected a tensor"}, {"clamp(X, 1, Y)", "clamp takes 1 operand"}, {"clamp_min(X)", "clamp_min needs a constant"},
      {"clamp_max(X, Y)", "clamp_max takes 1 operand and a constant"}, {"min(X)", "min needs dim="}, {"min(X, dim=2)", "dim is between"}, {"abs(X, Y)", "abs takes 1 operand"},
      {"maximum(X, 1)", "expected a tensor"}, {"rsqrt(X, dim=0)", "rsqrt has no attribute 'dim'"}, {"slice(X, dim=1, from=5, n=4)", "dimension 1 has 8 elements: from=5, n=4 goes beyond"},
      {"slice(X, dim=1, from=-1, n=4)", "goes beyond"}, {"slice(X, dim=1, n=0)", "goes beyond"}, {"slice(X, dim=2, n=1)", "dim is between"}, {"slice(X, dim=1)", "slice needs dim= and n="},
      {"slice(X, n=2)", "slice needs dim= and n="}, {"slice(X, dim=0, to=2, n=1)", "slice has no attribute 'to': expected dim=, from= and n="}, {"repeat(X, dim=0, from=2, n=1)", "repeat has no attribute 'from'"},
      {"slice(X, dim=1, from=1000000, n=2)", "goes beyond"}, {"where(X, Y)", "takes 3 operands"}, {"where(X, Y, 0)", "expected a tensor"}, {"where(X, slice(Y, dim=1, n=3), Y)", "do not broadcast"}, {"rope(X, Y)", "takes 3 operands"}, {"rope(slice(X, dim=1, n=3), slice(Y, dim=1, n=3), slice(Y, dim=1, n=3))", "two halves, found 3"},
      {"rope(X, slice(Y, dim=1, n=3), Y)", "do not broadcast"}, {"rope(slice(X, dim=0, n=1), Y, Y)", "must broadcast to the first"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char line[260];
    snprintf(line, sizeof line, "O = %s", bad[k].expr);
    refused(line, bad[k].msg);
  }
  /* from the builder: a bound that is no rational */
  int64_t dim[1] = {4};
  mg_graph *g = mg_program_new("p", NULL);
  mg_error e;
  mg_output(g, mg_clamp(g, mg_input(g, "X", MG_F32, 1, dim), mg_rat(1, 0), mg_rat(1, 1)));
  assert_int_equal(mg_check(g, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "clamp");
  mg_graph_free(g);
}

/* Every elementwise row in one kernel, over fields and over floats: operands that are positive, so that all are defined. */
static void every_row_is_emitted(void **state) {
  (void)state;
  char text[4000];
  for (int first = 1; first < MG_OP_TABLE_END;) {
    size_t n = (size_t)snprintf(text, sizeof text, "program rows\ninput X : f32[8, 64]\ninput Y : f32[8, 64]\nOUTS = kernel grid=(x=2) threads=64 {\n  x = load X {x->0}\n  y = load Y {x->0}\n  p = add_scalar(sqr(x), 1/2)\n");
    char outs[200] = "", stores[400] = "";
    int rows = 0;
    for (; first < MG_OP_TABLE_END && rows < MG_MAX_OUT; first++) {
      const mg_op_info *row = mg_op_row((mg_opcode)first);
      if (!row->elementwise) continue;
      n += (size_t)snprintf(text + n, sizeof text - n, "  r%d = %s(p%s%s)\n", rows, row->name, row->n_in > 1 ? ", y" : "", row->attr == MG_ATTR_RAT ? ", 2/3" : "");
      snprintf(outs + strlen(outs), sizeof outs - strlen(outs), "%sO%d", rows ? ", " : "", rows);
      snprintf(stores + strlen(stores), sizeof stores - strlen(stores), "  store r%d {x->0}\n", rows);
      rows++;
    }
    if (!rows) break;
    snprintf(text + n, sizeof text - n, "%s}\noutput %s\n", stores, outs);
    char *at = strstr(text, "OUTS"), rest[4000];
    snprintf(rest, sizeof rest, "%s", at + 4);
    snprintf(at, sizeof text - (size_t)(at - text), "%s%s", outs, rest);
    mg_graph *g = parse(text);
    mg_error e;
    mg_check_report c;
    mg_check_config cc;
    char *cu = NULL;
    memset(&cc, 0, sizeof cc), memset(&c, 0, sizeof c);
    cc.seeds = 1;
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
    if (mg_cuda_check(g, cu, &cc, &c, &e) != MG_OK) fail_msg("%s: %s: %s\n%s", e.where, e.msg, c.difference, text);
    assert_true(c.fields >= 1 && c.compared > 0 && c.float_checked);
    mg_string_free(cu), mg_graph_free(g);
  }
}

#define SCORES "program scores\ninput Q : f16[2, 96, 32]\ninput K : f16[2, 32, 160]\ninput V : f16[2, 160, 32]\n"
#define ATTENTION SCORES "O = matmul(softmax(causal(scale(matmul(Q, K), 1/8)), dim=2), V)\noutput O\n"

/* The whole chain that needs no GPU: search, certificate, emission, link 2. */
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}
static void chain_in(const char *text, int most_kernels, double seconds) {
  mg_graph *p = parse(text), *best = NULL;
  mg_verify_report r;
  mg_search_stats stats;
  mg_check_report c;
  mg_check_config cc;
  mg_error e;
  char *cu = NULL, *printed = NULL;
  mg_search_config cfg = mg_search_config_default();
  cfg.emittable = emittable, cfg.time_limit_s = seconds;
  if (mg_superoptimize(p, &cfg, NULL, &best, &r, &stats, &e) != MG_OK) fail_msg("search: %s: %s\n%s", e.where, e.msg, text);
  assert_int_equal(r.verdict, MG_EQUAL);
  assert_int_equal(mg_print(best, &printed, &e), MG_OK);
  if (stats.best_kernels > most_kernels) fail_msg("%d kernels:\n%s", stats.best_kernels, printed);
  if (mg_cuda_emit(best, NULL, &cu, &e) != MG_OK) fail_msg("emit: %s: %s\n%s", e.where, e.msg, printed);
  memset(&cc, 0, sizeof cc), memset(&c, 0, sizeof c);
  cc.seeds = 2;
  if (mg_cuda_check(best, cu, &cc, &c, &e) != MG_OK) fail_msg("check: %s: %s\n%s\n%s", e.where, e.msg, c.difference, printed);
  assert_true(c.fields >= 1 && c.compared > 0 && c.float_checked);
  mg_string_free(printed), mg_string_free(cu);
  mg_graph_free(p), mg_graph_free(best);
}
static void chain(const char *text, int most_kernels) { chain_in(text, most_kernels, 30); }
static void chains(void **state) {
  (void)state;
  chain("program gate\ninput X : f16[16, 128]\ninput W : f16[128, 64]\ninput B : f16[16, 64]\nO = mul(sigmoid(matmul(X, W)), clamp(tanh(B), -1/2, 1/2))\noutput O\n", 1);
  chain("program norm\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = matmul(mul(X, rsqrt(add_scalar(mean(sqr(X), dim=1), 1e-6))), W)\noutput O\n", 1);
  chain("program part\ninput X : f16[16, 128]\ninput W : f16[128, 96]\nO = silu(slice(matmul(X, W), dim=1, from=32, n=64))\noutput O\n", 3);
  chain("program chosen\ninput M : f16[16, 64]\ninput X : f16[16, 128]\ninput W : f16[128, 64]\ninput B : f16[16, 64]\nO = where(M, matmul(X, W), B)\noutput O\n", 1);
  if (SANITIZED) return; /* the others take the same way */
  chain("program typed\ninput X : f32[16, 128]\ninput W : f16[128, 64]\nO = silu(cast(matmul(cast(X, f16), W), f32))\noutput O\n", 2);
  chain("program scores\ninput X : f16[64, 64]\ninput C : f16[64, 64]\ninput S : f16[64, 64]\ninput K : f16[64, 128]\nO = matmul(rope(X, C, S), K)\noutput O\n", 1);
  chain("program masked\ninput Q : f16[64, 32]\ninput K : f16[32, 64]\ninput V : f16[64, 32]\ninput M : f16[64, 64]\nS = matmul(Q, K)\nE = keep(M, exp(sub(S, max(S, dim=1))))\nO = matmul(div(E, sum(E, dim=1)), V)\noutput O\n", 1);
  chain(ATTENTION, 1);
  chain("program rotate\ninput X : f16[16, 64]\ninput C : f16[16, 64]\ninput S : f16[16, 64]\nO = rope(X, C, S)\noutput O\n", 4);
}

/* Queries and keys turned before their product, by halves and by a matrix, with heads and without: one kernel, at once. */
static void rotary_attention_is_one_kernel(void **state) {
  (void)state;
#define TURNED "input Q : f16[2, 32, 32]\ninput K : f16[2, 128, 32]\ninput V : f16[2, 128, 32]\ninput c : f16[32, 32]\ninput s : f16[32, 32]\n" \
               "input ck : f16[128, 32]\ninput sk : f16[128, 32]\n"
#define ATTENDS "O = matmul(softmax(scale(matmul(q, transpose(k, [0, 2, 1])), 1/6), dim=2), V)\noutput O\n"
  chain_in("program by_halves\n" TURNED "q = rope(Q, c, s)\nk = rope(K, ck, sk)\n" ATTENDS, 1, 4);
  if (SANITIZED) return;
  /* of fewer heads, the model has a kernel of its own for the keys ahead by a little */
  chain_in("program by_matrix\ninput Q : f16[8, 16, 64]\ninput K : f16[8, 64, 64]\ninput V : f16[8, 64, 64]\ninput c : f16[16, 64]\ninput s : f16[16, 64]\n"
           "input ck : f16[64, 64]\ninput sk : f16[64, 64]\ninput R : f16[64, 64]\nq = add(mul(Q, c), mul(matmul(Q, R), s))\n"
           "k = add(mul(K, ck), mul(matmul(K, R), sk))\n" ATTENDS, 1, 4);
  chain_in("program of_queries\ninput Q : f16[16, 32]\ninput K : f16[32, 96]\ninput V : f16[96, 32]\ninput c : f16[16, 32]\ninput s : f16[16, 32]\n"
           "O = matmul(softmax(matmul(rope(Q, c, s), K), dim=1), V)\noutput O\n", 1, 4);
  /* of many keys: several rows of warps take what is turned once */
  chain_in("program of_512\ninput Q : f16[8, 64, 64]\ninput K : f16[8, 512, 64]\ninput V : f16[8, 512, 64]\ninput c : f16[64, 64]\ninput s : f16[64, 64]\n"
           "input ck : f16[512, 64]\ninput sk : f16[512, 64]\nq = rope(Q, c, s)\nk = rope(K, ck, sk)\n" ATTENDS, 1, 10);
#undef TURNED
#undef ATTENDS
}

/* ---- the causal mask: an input that is filled by definition */

/* Attention by its definition, the mask as minus infinity. */
static void causal_by_definition(void **state) {
  (void)state;
  static double q[2 * 96 * 32], k[2 * 32 * 160], v[2 * 160 * 32], got[2 * 96 * 32], mask[96 * 160];
  mg_graph *g = parse(ATTENTION);
  mg_domain d = mg_domain_real();
  mg_error e;
  const void *in[] = {q, k, v, mask};
  void *out[] = {got};
  assert_int_equal(g->n_in, 4);
  double *const to[] = {q, k, v, mask};
  for (int j = 0; j < 4; j++) mg_verify_input_real(g, 5, j, to[j]);
  assert_int_equal(mg_eval(g, &d, in, out, &e), MG_OK);
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < 96; i++) {
      double weight[160], all = 0, most = -INFINITY;
      for (int j = 0; j <= i + 64; j++) {
        weight[j] = 0;
        for (int c = 0; c < 32; c++) weight[j] += q[(b * 96 + i) * 32 + c] * k[(b * 32 + c) * 160 + j] / 8;
        if (weight[j] > most) most = weight[j];
      }
      for (int j = 0; j <= i + 64; j++) all += weight[j] = exp(weight[j] - most);
      for (int c = 0; c < 32; c++) {
        double want = 0;
        for (int j = 0; j <= i + 64; j++) want += weight[j] / all * v[(b * 160 + j) * 32 + c];
        assert_true(fabs(got[(b * 96 + i) * 32 + c] - want) < 1e-9);
      }
    }
  mg_graph_free(g);
}

/* What holds for every mask holds for this one; the mask has its place, and is not another input. */
static void causal_pairs(void **state) {
  (void)state;
#define MASK "input C : f16[6, 8] = causal\n"
  static const struct { mg_verdict want; const char *a, *b; } pair[] = {
      {MG_EQUAL, MASK "O = add(X, C)", MASK "O = add(C, X)"},
      {MG_EQUAL, MASK "O = softmax(add(X, C), dim=1)", MASK "E = exp(add(C, X))\nO = div(E, sum(E, dim=1))"},
      {MG_EQUAL, "O = causal(X)", MASK "O = sub(X, neg(C))"},
      {MG_EQUAL, "O = causal(X)", MASK "O = kernel grid=(x=2, y=4) {\n  a = load X {x->0, y->1}\n  c = load C {x->0, y->1}\n  o = add(a, c)\n  store o {x->0, y->1}\n}"},
      {MG_NOT_EQUAL, "O = causal(X)", MASK "O = add(X, sub(C, C))"},
      {MG_NOT_EQUAL, "O = causal(X)", MASK "O = add(X, neg(C))"},
      {MG_NOT_EQUAL, "O = causal(X)", MASK "O = add(X, scale(C, 2))"},
      {MG_UNDECIDED, MASK "O = add(X, mul(C, C))", MASK "O = add(X, scale(C, -32768))"}}; /* so of this mask, not of every one */
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    mg_verify_report r;
    if (verdict(pair[k].a, pair[k].b, &r) != pair[k].want) fail_msg("%s, %s: %s: %s", pair[k].a, pair[k].b, mg_verdict_name(r.verdict), r.reason);
  }
  /* of a square, rows are no columns; nor is a mask from memory this one */
#define SQUARE "program s\ninput X : f16[8, 8]\ninput C : f16[8, 8] = causal\n"
  mg_graph *g = parse(SQUARE "O = add(X, C)\noutput O\n"), *turned = parse(SQUARE "O = add(X, transpose(C, [1, 0]))\noutput O\n");
  mg_graph *swapped = parse(SQUARE "O = kernel grid=(x=2) {\n  a = load X {x->0}\n  c = load C {x->1}\n  o = add(a, transpose(c, [1, 0]))\n  store o {x->0}\n}\noutput O\n");
  mg_graph *given = parse("program s\ninput X : f16[8, 8]\ninput C : f16[8, 8]\nO = add(X, C)\noutput O\n"), *copy = NULL;
  mg_verify_report r;
  mg_error e;
  char *text = NULL;
  assert_int_equal(mg_verify(g, turned, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_NOT_EQUAL);
  assert_int_equal(mg_verify(g, swapped, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_NOT_EQUAL);
  assert_int_equal(mg_verify(g, given, NULL, &r, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "'C' : f16[8, 8] = causal"));
  assert_true(mg_hash(g) != mg_hash(given) && !mg_graph_equal(g, given));
  assert_int_equal(mg_print(g, &text, &e), MG_OK);
  assert_non_null(strstr(text, "input C : f16[8, 8] = causal\n"));
  copy = parse(text);
  assert_true(mg_graph_equal(g, copy));
  mg_string_free(text), mg_graph_free(g), mg_graph_free(turned), mg_graph_free(swapped), mg_graph_free(given), mg_graph_free(copy);
  /* one mask serves all scores of its shape and type */
  g = parse("program two\ninput X : f16[6, 8]\ninput Y : f16[3, 6, 8]\ninput Z : f32[6, 8]\nA = causal(X)\nB = causal(Y)\nC = causal(Z)\noutput A, B, C\n");
  assert_int_equal(g->n_in, 5);
  mg_graph_free(g);
}

static void causal_errors(void **state) {
  (void)state;
  static const struct { const char *line, *msg; } bad[] = {
      {"O = causal(X, X)", "causal takes 1 operand"}, {"O = causal(reshape(X, [48]))", "at least two dimensions, queries and keys, got 1"},
      {"O = causal(transpose(X, [1, 0]))", "got 8 queries and 6 keys: the first queries would have no key"}, {"O = causal(X, dim=1)", "causal has no attribute 'dim'"},
      {"O = kernel grid=(x=2) {\n  o = causal(load X {x->0})\n  store o {x->0}\n}", "may not stand in a block graph"},
      {"input C : f16[6, 8] = casual\nO = add(X, C)", "expected what the input holds: causal"}, {"input C : f16[2, 6, 8] = causal\nO = add(X, C)", "has two dimensions, queries and keys, got 3"},
      {"input C : f16[6, 8] = causal @ [1, 0]\nO = add(X, C)", "found '@'"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refused(bad[k].line, bad[k].msg);
}

/* Link 2 passes the file of g, and none with the first place of `is` replaced by `was`. */
static void checked(const mg_graph *g, const char *cu, size_t k) {
  mg_check_config cc;
  mg_check_report c;
  mg_error e;
  memset(&cc, 0, sizeof cc), memset(&c, 0, sizeof c);
  cc.seeds = 2;
  if (mg_cuda_check(g, cu, &cc, &c, &e) != MG_OK) fail_msg("%zu: %s: %s: %s\n%s", k, e.where, e.msg, c.difference, cu);
  assert_true(c.fields >= 1 && c.compared > 0 && c.float_checked);
}
static void planted(const mg_graph *g, const char *cu, const char *is, const char *was) {
  const char *at = strstr(cu, is);
  char *wrong = (char *)malloc(strlen(cu) + 200);
  mg_check_config cc;
  mg_check_report c;
  mg_error e;
  memset(&cc, 0, sizeof cc), memset(&c, 0, sizeof c);
  cc.seeds = 1;
  if (!at || !wrong) fail_msg("'%s' is not there:\n%s", is, cu);
  snprintf(wrong, strlen(cu) + 200, "%.*s%s%s", (int)(at - cu), cu, was, at + strlen(is));
  if (mg_cuda_check(g, wrong, &cc, &c, &e) != MG_NOT_FOUND) fail_msg("not found: '%s' for '%s': %s", was, is, e.msg);
  free(wrong);
}
/* In every schedule a kernel computes the mask of the tile at hand, and of no other: a mistake in its place is found. */
#define TILED(out, plan) out " = kernel grid=(x=3, y=2) threads=128 {\n  q = load Q {x->1, y->0}\n  for n=5 {\n    k = load K {y->0, n->2}\n    c = load C {x->0, n->1}\n" \
  "    p = exp(add(scale(matmul(q, k), 1/8), c))\n    v = load V {y->0, n->1}\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  r = div(accum(o) {n->+}, accum(l) {n->+})\n  store r {x->1, y->0}\n  plan { " plan " }\n}\n"
static void causal_emitted(void **state) {
  (void)state;
  static const char *const text[] = {
      SCORES "input C : f16[96, 160] = causal\n" TILED("O", "stages=2 warps_m=2 warps_n=2 warps_k=1") "output O\n",
      SCORES "input X : f16[60, 100]\ninput C : f16[96, 160] = causal\ninput R : f16[60, 100] = causal\n"
      TILED("O1", "stages=3 warps_m=2 warps_n=2 warps_k=1 ring=warp") TILED("O2", "stages=2 warps_m=2 warps_n=2 warps_k=1 copy=tma")
      /* keys over the blocks of a group */
      "O3 = kernel grid=(x=3, y=2, z=2) threads=128 {\n  q = load Q {x->1, y->0}\n  k = load K {y->0, z->2}\n  c = load C {x->0, z->1}\n  p = exp(add(scale(matmul(q, k), 1/8), c))\n"
      "  v = load V {y->0, z->1}\n  r = div(accum(matmul(p, v)) {z->+}, accum(sum(p, dim=2)) {z->+})\n  store r {x->1, y->0}\n}\n"
      /* an operand of a product, which every warp has a part of; terms of sums, ragged, and moved */
      "O4 = kernel grid=(x=3, y=2) threads=128 {\n  for n=2 {\n    c = load C {x->0, n->1}\n    v = load V {y->0, n->1}\n    o = matmul(c, v)\n  }\n  store accum(o) {n->+} {x->1, y->0}\n"
      "  plan { stages=2 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n}\n"
      "O5, O6, O7 = kernel grid=(x=7) threads=64 {\n  for i=3 {\n    c = load R {x->0, i->1}\n    x = load X {x->0, i->1}\n    s = sum(add(c, x), dim=1)\n  }\n"
      "  w = load R {x->1}\n  store accum(s) {i->+} {x->0}\n  store transpose(w, [1, 0]) {x->0}\n  store sum(w, dim=0) {x->1}\n}\noutput O1, O2, O3, O4, O5, O6, O7\n",
      /* ragged: the last queries and the last keys of few */
      "program ragged\ninput Q : f16[90, 32]\ninput K : f16[32, 130]\ninput V : f16[130, 32]\ninput C : f16[90, 130] = causal\n"
      "O = kernel grid=(x=4) threads=64 {\n  q = load Q {x->0}\n  for n=5 {\n    k = load K {n->1}\n    c = load C {x->0, n->1}\n    v = load V {n->0}\n"
      "    p = exp(add(scale(matmul(q, k), 1/8), c))\n    o = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n"
      "  store div(accum(o) {n->+}, accum(l) {n->+}) {x->0}\n  plan { stages=2 warps_m=2 warps_n=1 warps_k=1 }\n}\noutput O\n",
      "program whole\ninput X : f16[40, 48]\ninput V : f16[48, 32]\ninput C : f16[40, 48] = causal\nA = add(X, C)\nB = sum(C, dim=1)\nD = concat(C, X, dim=0)\nE = matmul(C, V)\noutput A, B, D, E\n"};
  static const struct { const char *is, *was; } plant[] = { /* in the first: what becomes what */
      {"b_x * (int64_t)32 - (", "b_y * (int64_t)32 - ("}, {"- (i_n * (int64_t)32)).with<", "- (now * (int64_t)32)).with<"},
      {"b_x * (int64_t)32 + 31)", "b_x * (int64_t)32 - 1)"} /* a loop that ends a step too soon */,
      {").with<32>(", ").with<1>("} /* the chunk on the diagonal, taken for one that hides nothing */};
  mg_error e;
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    mg_graph *g = parse(text[k]);
    char *cu = NULL;
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%zu: %s: %s\n%s", k, e.where, e.msg, text[k]);
    assert_null(strstr(cu, "*p_C"));
    assert_null(strstr(cu, "in_C,"));
    assert_non_null(strstr(cu, k == 1 ? "passed[] = {in[0], in[1], in[2], in[3]};" : k == 3 ? "passed[] = {in[0], in[1]};" : "passed[] = {in[0], in[1], in[2]};"));
    assert_int_equal(strstr(cu, "mg_causal_steps(") != NULL, k < 3);
    assert_int_equal(strstr(cu, "mg_bid_most(") != NULL, k < 3);
    assert_non_null(strstr(cu, "mg_causal_block("));
    assert_int_equal(strstr(cu, ".with<") != NULL, k < 3); /* of a loop's chunks most hide nothing */
    checked(g, cu, k);
    joined(cu);
    for (size_t p = 0; p < sizeof plant / sizeof *plant && !k; p++) planted(g, cu, plant[p].is, plant[p].was);
    mg_string_free(cu), mg_graph_free(g);
  }
}

/* An operand that is made once stands in the tile of the load that it is made of, where nothing else is, and each element where
   it stood: a mistake in that is found. */
static void operands_over_loads(void **state) {
#define OVER(q, k, made, extra) \
  "program t\ninput Q : f16[" q "]\ninput K : f16[" k ", 64]\ninput R : f16[32, 32]\n" \
  "O, P = kernel grid=(x=2) threads=64 {\n  q = load Q {x->0}\n  r = load R {x->0}\n" made \
  "  for n=2 {\n    k = load K {n->1}\n    p = exp(scale(matmul(s, k), 1/64))\n    l = sum(p, dim=1)\n  }\n  store accum(l) {n->+} {x->0}\n" extra \
  "  plan { stages=2 warps_m=1 warps_n=2 warps_k=1 copy=tma }\n}\noutput O, P\n"
#define STORED(what) "  store " what " {x->0}\n"
  static const struct { const char *text; int over; } cases[] = {
      {OVER("32, 32", "32", "  s = scale(q, 1/11)\n", STORED("r")), 1},
      {OVER("32, 32", "32", "  s = silu(add(sqr(q), neg(q)))\n", STORED("r")), 1},
      {OVER("32, 32", "32", "  s = mul(q, r)\n", STORED("sum(r, dim=1)")), 1} /* the rest of r is read behind it */,
      {OVER("32, 32", "32", "  s = scale(q, 1/11)\n", STORED("sum(q, dim=1)")), 0},
      {OVER("32, 32", "32", "  s = scale(q, 1/11)\n", STORED("sum(s, dim=1)")), 0},
      {OVER("32, 32", "32", "  s = mul(q, sum(q, dim=1))\n", STORED("r")), 0},
      {OVER("64, 32", "32", "  s = mul(q, transpose(q, [1, 0]))\n", STORED("r")), 0},
      {OVER("32, 32", "32", "  s = concat(slice(q, dim=1, from=16, n=16), neg(slice(q, dim=1, from=0, n=16)), dim=1)\n", STORED("r")), 0},
      {OVER("30, 32", "32", "  s = exp(q)\n", STORED("r")), 0},
      {OVER("32, 20", "20", "  s = exp(q)\n", STORED("r")), 0}};
  mg_error e;
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text);
    char *cu = NULL;
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%zu: %s: %s\n%s", k, e.where, e.msg, cases[k].text);
    if ((strstr(cu, "m_s(mg_shared() + AT_t_q)") != NULL) != cases[k].over) fail_msg("%zu: %s", k, cu);
    checked(g, cu, k);
    if (k == 3 || k == 6) planted(g, cu, "m_s(mg_shared() + AT_m_s)", "m_s(mg_shared() + AT_t_q)");
    mg_string_free(cu), mg_graph_free(g);
  }
#undef STORED
#undef OVER
}

/* What a step of a loop computes for a product of several warps, by moves or dear operators, is computed once into a tile: right where
   steps are ragged, masked, filled by cp.async, by tensor copies or by a warp, and multiplied by warps and warpgroups; and a mistake in
   what waits for what is found. */
#define STEP(type, queries, keys, d, half, mask, operand, plan) \
  "program t\ninput Q : " type "[" queries ", " d "]\ninput K : " type "[" keys ", " d "]\ninput V : " type "[" keys ", " d "]\ninput A : " type "[" keys ", " d "]\n" \
  "input B : " type "[" keys ", " d "]\ninput C : " type "[" queries ", " keys "] = causal\nO = kernel grid=(x=2) threads=128 {\n  q = load Q {x->0}\n  for n=4 {\n" \
  "    k = load K {n->0}\n    a = load A {n->0}\n    b = load B {n->0}\n    c = load C {x->0, n->1}\n    v = load V {n->0}\n" \
  "    h = concat(neg(slice(k, dim=1, from=" half ", n=" half ")), slice(k, dim=1, from=0, n=" half "), dim=1)\n    t = " operand "\n" \
  "    s = scale(matmul(q, transpose(t, [1, 0])), 1/8)\n    p = exp(" mask ")\n    o = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n" \
  "  store div(accum(o) {n->+}, accum(l) {n->+}) {x->0}\n  plan { " plan " }\n}\noutput O\n"
#define TURNED_KEYS "add(mul(k, a), mul(h, b))"
#define FOUR "warps_m=2 warps_n=2 warps_k=1"
#define GROUP "stages=3 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup"
static void operands_of_steps(void **state) {
  static const struct { const char *text; int once, group; } cases[] = {
      {STEP("f16", "64", "128", "32", "16", "add(s, c)", TURNED_KEYS, "stages=2 " FOUR), 1, 0},
      {STEP("f16", "64", "128", "32", "16", "add(s, c)", TURNED_KEYS, "stages=2 copy=warp " FOUR), 1, 0},
      {STEP("bf16", "62", "118", "32", "16", "add(s, c)", TURNED_KEYS, "stages=3 " FOUR), 1, 0},
      {STEP("f16", "62", "118", "32", "16", "s", TURNED_KEYS, "stages=1 " FOUR), 1, 0},
      {STEP("f16", "64", "128", "32", "16", "add(s, c)", TURNED_KEYS, "stages=2 " FOUR " t.at=plain"), 0, 0},
      {STEP("f16", "64", "128", "32", "16", "add(s, c)", "exp(scale(k, 1/8))", "stages=2 schedule=depth " FOUR), 1, 0},
      {STEP("f16", "64", "128", "32", "16", "add(s, c)", "concat(slice(k, dim=1, from=8, n=24), slice(k, dim=1, from=0, n=8), dim=1)",
       "stages=2 schedule=room " FOUR), 1, 0},
      {STEP("f16", "64", "128", "32", "16", "add(s, c)", "scale(k, 1/2)", "stages=2 " FOUR), 0, 0},
      {STEP("f16", "32", "128", "32", "16", "add(s, c)", TURNED_KEYS, "stages=2 warps_m=1 warps_n=4 warps_k=1"), 0, 0},
      {STEP("f16", "128", "256", "64", "32", "add(s, c)", TURNED_KEYS, GROUP), 1, 1},
      {STEP("bf16", "127", "254", "64", "32", "add(s, c)", TURNED_KEYS, GROUP " copy=tma"), 1, 1}};
  static const struct { size_t of; const char *is, *was; } plant[] = { /* in the first two: what becomes what */
      {0, "    mg_sync();\n    mg_contract<", "    mg_contract<"}, {0, "mg_transposed(m_t)", "m_t"}, {0, "mg_into(m_t, 0, 0)", "mg_into(m_t, 0, 1)"},
      {1, "    mg_sync_first<128>();\n    mg_contract<", "    mg_contract<"},
      {1, "phases_n.filled(now, turn);\n    mg_sync_first<128>();", "phases_n.filled(now, turn);"}};
  mg_error e;
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text);
    for (int arch = 0; arch < 2; arch++) {
      const int newer = strstr(cases[k].text, "copy=") || cases[k].group;
      char *cu = NULL;
      mg_emit_config c;
      memset(&c, 0, sizeof c);
      c.arch = arch ? "sm_90a" : "sm_80";
      if (!arch && newer) continue;
      if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) fail_msg("%zu: %s: %s\n%s", k, e.where, e.msg, cases[k].text);
      if ((strstr(cu, "// t, into a tile") != NULL) != cases[k].once) fail_msg("%zu: %s", k, cu);
      if ((strstr(cu, "mg_group_chain<") != NULL) != cases[k].group) fail_msg("%zu: %s", k, cu);
      if (arch || k < 4) checked(g, cu, k);
      for (size_t p = 0; p < sizeof plant / sizeof *plant; p++)
        if (arch && plant[p].of == k) planted(g, cu, plant[p].is, plant[p].was);
      mg_string_free(cu);
    }
    mg_graph_free(g);
  }
}

/* With chain=late a step's second product is under way while the next step's exponentials are computed: right for any number of
   steps, and each mistake in what waits for what is found. */
#define LATE(queries, keys, steps, mask, q, plan) \
  "program late\ninput Q : f16[1, " queries ", 64]\ninput K : f16[1, 64, " keys "] @ [0, 2, 1]\ninput V : f16[1, " keys ", 64]\ninput C : f16[" queries ", " keys "] = causal\n" \
  "O = kernel grid=(x=2, y=1) threads=128 {\n  q = load Q {x->1, y->0}\n" q "  for n=" steps " {\n    c = load C {x->0, n->1}\n    k = load K {y->0, n->2}\n" \
  "    p = exp(" mask ")\n    v = load V {y->0, n->1}\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n" \
  "  r = div(accum(o) {n->+}, accum(l) {n->+})\n  store r {x->1, y->0}\n  plan { warps_m=4 warps_n=1 warps_k=1 mma=warpgroup chain=late " plan " }\n}\noutput O\n"
#define SCALED "  s = scale(q, 1/11)\n"
#define MASKED "add(matmul(s, k), c)"
static void late_products(void **state) {
  static const char *const text[] = {
      LATE("128", "320", "5", MASKED, SCALED, "stages=3 copy=warp"), LATE("128", "320", "5", MASKED, SCALED, "stages=3 copy=tma"),
      LATE("128", "128", "2", "scale(matmul(s, k), 1/3)", SCALED, "stages=4 copy=warp"), LATE("128", "128", "1", MASKED, SCALED, "stages=3 copy=tma"),
      LATE("127", "318", "5", MASKED, SCALED, "copy=warp"), /* ragged */
      LATE("128", "384", "6", "scale(matmul(q, k), 1/8)", "", "stages=3 copy=warp")};
  static const struct { const char *is, *was; } plant[] = { /* in the first: what becomes what */
      {"mg_group_wait<1>(", "mg_group_wait<2>("}, {"    begin_n(now, turn);", "    begin_n(now, 1 - turn);"}, {"    mg_group_wait(acc_o.c);\n", ""},
      {"    mg_group_chain_begin(acc_o, n_p, mg_right(T_v(ring_n + was", "    mg_group_chain_begin(acc_o, n_p, mg_right(T_v(ring_n + now"},
      {"      phases_n.read(was);", "      phases_n.read(now);"}};
  mg_error e;
  (void)state;
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    mg_graph *g = parse(text[k]);
    char *cu = NULL;
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%zu: %s: %s\n%s", k, e.where, e.msg, text[k]);
    assert_non_null(strstr(cu, "mg_group_chain_begin("));
    checked(g, cu, k);
    for (size_t p = 0; p < sizeof plant / sizeof *plant && !k; p++) planted(g, cu, plant[p].is, plant[p].was);
    mg_string_free(cu), mg_graph_free(g);
  }
  static const struct { const char *text, *why; } refused[] = {
      {LATE("128", "320", "5", MASKED, SCALED, "stages=3 copy=async"), "want warpgroups, warps_n=1, tensor copies in three stages"},
      {LATE("128", "320", "5", MASKED, SCALED, "stages=2 copy=tma"), "want at least 3 stages"},
      {LATE("128", "320", "5", "add(matmul(scale(q, 1/11), transpose(transpose(scale(k, 1/2), [0, 2, 1]), [0, 2, 1])), c)", "", "stages=3 copy=tma"), "the plan's"},
      {LATE("128", "320", "5", "add(add(matmul(s, k), matmul(q, k)), c)", SCALED, "stages=3 copy=tma"), "the plan's"}};
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
    mg_graph *g = parse(refused[k].text);
    char *cu = NULL;
    assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_UNSUPPORTED);
    if (!strstr(e.msg, refused[k].why)) fail_msg("%zu: %s", k, e.msg);
    mg_graph_free(g);
  }
}

/* Parts of a slice read what they need: each box of the result alone. */
static void parts_of_slices(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f32[6, 8]\nO = slice(slice(sqr(X), dim=1, from=1, n=6), dim=0, from=2, n=3)\noutput O\n");
  mg_domain d = mg_domain_real();
  mg_error e;
  double x[48], all[18];
  for (int k = 0; k < 48; k++) x[k] = k + 1;
  const void *in[1] = {x};
  void *out[1] = {all};
  assert_int_equal(mg_eval(g, &d, in, out, &e), MG_OK);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 6; c++) {
      const double v = x[(r + 2) * 8 + c + 1];
      assert_true(all[r * 6 + c] == v * v);
    }
  mg_box want;
  mg_part part;
  memset(&want, 0, sizeof want);
  want.lo[0] = 1, want.hi[0] = 3, want.lo[1] = 2, want.hi[1] = 5;
  assert_int_equal(mg_part_of(g, &want, &part, &e), MG_OK);
  const mg_box *b = &part.box[g->in[0].id];
  assert_true(b->lo[0] == 3 && b->hi[0] == 5 && b->lo[1] == 3 && b->hi[1] == 6);
  double piece[6], got[6];
  for (int r = 0; r < 2; r++) for (int c = 0; c < 3; c++) piece[r * 3 + c] = x[(r + 3) * 8 + c + 3];
  const void *pin[1] = {piece};
  void *pout[1] = {got};
  assert_int_equal(mg_eval_part(g, &d, &part, pin, pout, &e), MG_OK);
  for (int r = 0; r < 2; r++) for (int c = 0; c < 3; c++) assert_true(got[r * 3 + c] == all[(r + 1) * 6 + c + 2]);
  mg_part_free(&part), mg_graph_free(g);
}

/* Where a slice stands, its dimension is pinned, or resized with the slice, and the others are free; slices of one shape from unlike places are unlike. */
static void classes_and_hashes(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[4, 6]\nO = silu(slice(X, dim=1, from=2, n=3))\noutput O\n"), *h = parse("program p\ninput X : f16[4, 6]\nO = silu(slice(X, dim=1, from=3, n=3))\noutput O\n"), *r = NULL;
  mg_classes c;
  mg_error e;
  assert_true(mg_hash(g) != mg_hash(h) && !mg_graph_equal(g, h));
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
  int64_t x[8];
  assert_true(c.n == 3);
  for (uint32_t k = 0; k < c.n; k++) x[k] = c.fixed[k] ? c.extent[k] : 7;
  assert_int_equal(mg_resize(g, x, NULL, &r, &e), MG_OK);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[0], 7);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[1], 3);
  assert_int_equal(mg_tensor_of(r, r->in[0])->shape.dim[1], 6);
  mg_graph_free(r);
  x[c.of[g->in[0].id * MG_MAX_RANK + 1]] = 14; /* a slice takes the same part, where that is whole: 2 and 3 of 6 are none of 14 */
  assert_int_equal(mg_resize(g, x, NULL, &r, &e), MG_BAD_INPUT);
  assert_null(r);
  x[c.of[g->in[0].id * MG_MAX_RANK + 1]] = 12;
  assert_int_equal(mg_resize(g, x, NULL, &r, &e), MG_OK);
  assert_true(r->ops[1].code == MG_OP_SLICE && r->ops[1].attr.from == 4 && r->ops[1].attr.n == 6);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[1], 6);
  mg_classes_free(&c);
  mg_graph_free(g), mg_graph_free(h), mg_graph_free(r);
}

/* A cast has the type that it names at every level, lets f16 and bf16 meet, and is nothing over the reals. */
static void casts(void **state) {
  (void)state;
  static const char *const text =
      "program p\ninput X : f16[4, 8]\ninput Y : bf16[4, 8]\nA = add(cast(X, bf16), Y)\nB = cast(mul(cast(X, f32), cast(Y, f32)), f16)\nC = to_f32(X)\noutput A, B, C\n";
  mg_graph *g = parse(text), *h;
  mg_error e;
  char *printed = NULL;
  mg_verify_report r;
  static const mg_dtype want[3] = {MG_BF16, MG_F16, MG_F32};
  for (int k = 0; k < 3; k++) assert_int_equal(mg_tensor_of(g, g->out[k])->dtype, want[k]);
  assert_int_equal(mg_print(g, &printed, &e), MG_OK);
  assert_non_null(strstr(printed, "to_bf16(X)"));
  h = parse(printed);
  assert_true(mg_graph_equal(g, h));
  mg_graph_free(h);
  h = parse("program q\ninput X : f16[4, 8]\ninput Y : bf16[4, 8]\nA, B, C = kernel grid=(x=2) {\n  x = to_f32(load X {x->0})\n  y = to_f32(load Y {x->0})\n  store to_bf16(add(x, y)) {x->0}\n  store to_f16(mul(x, y)) {x->0}\n"
            "  store x {x->0}\n}\noutput A, B, C\n");
  assert_int_equal(mg_verify(g, h, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_EQUAL);
  char *cu = NULL;
  mg_check_report c;
  mg_check_config cc;
  memset(&cc, 0, sizeof cc), memset(&c, 0, sizeof c);
  cc.seeds = 2;
  if (mg_cuda_emit(h, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (mg_cuda_check(h, cu, &cc, &c, &e) != MG_OK) fail_msg("%s: %s: %s", e.where, e.msg, c.difference);
  mg_string_free(printed), mg_string_free(cu), mg_graph_free(g), mg_graph_free(h);
  static const struct { const char *expr, *msg; } bad[] = {{"cast(X)", "expected ','"}, {"cast(X, f64)", "expected f16, bf16 or f32, found 'f64'"}, {"cast(X, 16)", "expected f16, bf16 or f32"},
                                                           {"cast(X, f16, f16)", "expected ')'"}, {"cast(f16, X)", "'f16' is not defined"}, {"to_f16(X, X)", "takes 1 operand"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char line[200];
    snprintf(line, sizeof line, "program p\ninput X : f16[4]\nO = %s\noutput O\n", bad[k].expr);
    assert_int_equal(mg_parse(line, strlen(line), "t", NULL, &g, &e), MG_BAD_INPUT);
    if (!strstr(e.msg, bad[k].msg)) fail_msg("%s: %s", bad[k].expr, e.msg);
  }
  int64_t dim[1] = {4};
  g = mg_program_new("p", NULL);
  mg_output(g, mg_cast(g, mg_input(g, "X", MG_F32, 1, dim), (mg_dtype)7));
  assert_int_equal(mg_check(g, &e), MG_BAD_INPUT);
  mg_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equal_pairs), cmocka_unit_test(wrong_pairs), cmocka_unit_test(domains), cmocka_unit_test(errors), cmocka_unit_test(every_row_is_emitted),
                                      cmocka_unit_test(casts), cmocka_unit_test(parts_of_slices), cmocka_unit_test(classes_and_hashes), cmocka_unit_test(chains), cmocka_unit_test(rotary_attention_is_one_kernel),
                                      cmocka_unit_test(causal_by_definition), cmocka_unit_test(causal_pairs), cmocka_unit_test(causal_errors), cmocka_unit_test(causal_emitted),
                                      cmocka_unit_test(operands_over_loads), cmocka_unit_test(operands_of_steps), cmocka_unit_test(late_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
