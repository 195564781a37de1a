/* Rows by index and where maxima stand (gather, argmax; mirage.h, mg_op_picks): verdicts, certificates, searches, link 2.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_picks.c -o build/test_picks -lcmocka -lm -lpthread -ldl
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
#include "same.h"
#include "splitmix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- link 1 */

#define HEAD "input W : f16[40, 8]\ninput I : i32[6]\ninput X : f16[6, 8]\ninput V : f16[8, 10]\n"

static void compare(const char *head, const char *a, const char *b, mg_verify_report *r) {
  char text[2][1500];
  mg_graph *g[2];
  mg_error e;
  for (int k = 0; k < 2; k++) {
    const char *body = k ? b : a;
    snprintf(text[k], sizeof text[k], "program p%d\n%s%s%s", k, head, body, strstr(body, "output") ? "\n" : "\noutput O\n");
    g[k] = parse(text[k]);
  }
  if (mg_verify(g[0], g[1], NULL, r, &e) != MG_OK) fail_msg("%s: %s\n%s\n%s", e.where, e.msg, a, b);
  if (r->verdict == MG_EQUAL) { /* its certificate says the same, and names the picks */
    char *cert = NULL;
    mg_verify_report again;
    if (mg_certificate(g[0], g[1], r, &cert, &e) != MG_OK) fail_msg("%s: %s\n%s\n%s", e.where, e.msg, a, b);
    if (r->picks) assert_non_null(strstr(cert, "\npick "));
    if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(again.picks, r->picks);
    mg_string_free(cert);
  }
  mg_graph_free(g[0]), mg_graph_free(g[1]);
}

/* y1 .. y3: rows of what W picks by I, and the product of their differences: 0 but where I has three indices. */
#define DIFFERENCES "Y = gather(W, I)\nA = slice(Y, dim=0, from=0, n=1)\nB = slice(Y, dim=0, from=1, n=1)\nC = slice(Y, dim=0, from=2, n=1)\n" \
  "D = mul(mul(sub(A, B), sub(A, C)), sub(B, C))\n"

static void verdicts(void **state) {
  (void)state;
  static const struct { mg_verdict verdict; const char *head, *a, *b, *says; } pair[] = {
      {MG_EQUAL, HEAD, "O = matmul(rms_norm(gather(W, I), eps=1/1000), V)",
       "Y = gather(W, I)\nO = kernel grid=(x=2) threads=64 {\n  x = load Y {x->0}\n  v = load V {x->*}\n  o = div(matmul(x, v), sqrt(add_scalar(mean(sqr(x), dim=1), 1/1000)))\n  store o {x->0}\n}", "for all"},
      {MG_EQUAL, HEAD, "O = argmax(matmul(X, V), dim=1)", "O = argmax(scale(matmul(X, scale(V, 2)), 1/2), dim=1)", "for all"},
      {MG_EQUAL, HEAD, "O = argmax(X, dim=1)\nP = neg(X)\noutput O, P", "P = neg(X)\nO = argmax(X, dim=1)\noutput O, P", "identity"},
      {MG_EQUAL, HEAD, "O = gather(W, I)", "O = scale(scale(gather(W, I), 2), 1/2)", "for all"},
      {MG_EQUAL, HEAD, "O = add(gather(W, I), gather(W, I))", "O = scale(gather(W, I), 2)", "for all"},
      {MG_EQUAL, HEAD, "A = gather(W, I)\nB = gather(W, I)\noutput A, B", "B = gather(W, I)\nA = gather(W, I)\noutput A, B", "identity"},
      {MG_EQUAL, HEAD, "O = gather(gather(W, I), argmax(X, dim=0))", "P = argmax(X, dim=0)\nQ = gather(W, I)\nO = gather(Q, P)", "identity"},
      /* decoding: the index is computed, and what is computed is defined everywhere */
      {MG_EQUAL, HEAD, "T = argmax(matmul(X, V), dim=1)\nO = neg(gather(W, T))\noutput O, T",
       "T = argmax(scale(matmul(X, scale(V, 2)), 1/2), dim=1)\nY = gather(W, T)\nO = sub(Y, scale(Y, 2))\noutput O, T", "for all"},
      /* two argmaxes of one shape are told apart by their names */
      {MG_EQUAL, HEAD, "S = argmax(neg(X), dim=1)\nT = argmax(sqr(X), dim=1)\noutput S, T", "T = argmax(mul(X, X), dim=1)\nS = argmax(scale(X, -1), dim=1)\noutput S, T", "for all"},
      /* a tied table */
      {MG_EQUAL, "input W : f16[40, 8]\ninput I : i32[6]\n", "O = matmul(gather(W, I), transpose(W, [1, 0]))", "O = scale(matmul(scale(gather(W, I), 2), transpose(W, [1, 0])), 1/2)", "for all"},
      /* a function of the row that is not the row's place: never equal by what tests say */
      {MG_UNDECIDED, HEAD, "O = argmax(X, dim=1)", "O = argmax(scale(X, 2), dim=1)", "none that the first has"},
      {MG_UNDECIDED, HEAD, "O = argmax(matmul(X, V), dim=1)", "O = argmax(scale(matmul(X, V), 2), dim=1)", "no float64 run with indices does"},
      {MG_UNDECIDED, HEAD, "O = argmax(sqr(X), dim=1)", "O = argmax(abs(X), dim=1)", "no float64 run with indices does"},
      {MG_NOT_EQUAL, HEAD, "O = argmax(X, dim=1)", "O = argmax(neg(X), dim=1)", "float64"},
      /* equal over the reals; what differs in doubles is which of several rounded to one number is the first */
      {MG_UNDECIDED, "input X : f32[4, 64]\n", "O = argmax(X, dim=1)", "O = argmax(add_scalar(scale(X, 1/1000000), 2000000000), dim=1)", "none that the first has"},
      {MG_UNDECIDED, "input X : f32[64, 512]\n", "O = argmax(X, dim=1)", "O = argmax(tanh(scale(X, 100)), dim=1)", "none that the first has"},
      {MG_NOT_EQUAL, "input X : f32[4, 64]\n", "O = argmax(neg(X), dim=0)", "O = argmax(sqr(add_scalar(X, 1)), dim=0)", "float64"},
      {MG_NOT_EQUAL, HEAD, "O = argmax(sqr(X), dim=1)", "O = argmax(neg(sqr(X)), dim=1)", "float64"},
      {MG_NOT_EQUAL, HEAD, "O = add(gather(W, I), X)", "O = sub(gather(W, I), X)", "float64"},
      {MG_NOT_EQUAL, HEAD "input J : i32[6]\n", "O = gather(W, I)", "O = gather(W, J)", "float64"},
      {MG_NOT_EQUAL, "input W : f16[4, 4]\ninput I : i32[4]\n", "O = gather(W, I)", "O = gather(transpose(W, [1, 0]), I)", "float64"},
      /* at random indices of few rows these are nearly always equal */
      {MG_NOT_EQUAL, "input W : f16[3, 1]\ninput I : i32[3]\n", DIFFERENCES "O = scale(D, 1)", DIFFERENCES "O = sub(D, D)", "float64"},
      {MG_UNDECIDED, "input W : f16[2, 1]\ninput I : i32[3]\n", DIFFERENCES "O = scale(D, 1)", DIFFERENCES "O = sub(D, D)", "no float64 run with indices does"},
      /* where what is gathered may be undefined the rests do not suffice */
      {MG_UNDECIDED, HEAD, "A = div(X, X)\nT = argmax(A, dim=1)\nO = neg(gather(W, T))\noutput O, T", "A = div(scale(X, 2), scale(X, 2))\nT = argmax(A, dim=1)\nO = scale(gather(W, T), -1)\noutput O, T",
       "defined everywhere"},
      {MG_EQUAL, HEAD, "T = argmax(div(X, X), dim=1)\noutput T", "T = argmax(div(scale(X, 2), scale(X, 2)), dim=1)\noutput T", "for all"}};
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    const char *a = pair[k].a;
    mg_verify_report r;
    compare(pair[k].head, a, pair[k].b, &r);
    if (r.verdict != pair[k].verdict || !strstr(r.reason, pair[k].says))
      fail_msg("%s: %s, not %s: %s\n%s\n%s", mg_verdict_name(r.verdict), r.reason, mg_verdict_name(pair[k].verdict), pair[k].says, a, pair[k].b);
  }
}

/* Inputs of many elements: no smaller pair speaks for them but one with fewer rows of a table.  In the first the block's
   chunk says what it makes. */
static void large(void **state) {
  (void)state;
  static const struct { mg_verdict verdict; const char *head, *a, *b, *says; } pair[] = {
      {MG_UNDECIDED, "input X : f16[4200, 1024]\ninput Z : f16[4, 32]\n",
       "T = argmax(X, dim=1)\nA = reshape(Z, [4, 4, 8])\nO = reshape(concat(A, neg(A), dim=2), [4, 64])\noutput T, O",
       "T = argmax(scale(X, 2), dim=1)\nO = kernel grid=(x=4) threads=64 {\n  z = load Z {x->1}\n"
       "  store concat(z, neg(z), dim=1) {x->1}\n}\noutput T, O", "none that the first has"},
      {MG_UNDECIDED, "input X : f16[4200, 1024]\ninput Z : f16[4, 32]\n",
       "T = argmax(X, dim=1)\nA = slice(Z, dim=1, from=0, n=16)\nB = slice(Z, dim=1, from=16, n=16)\n"
       "O = concat(concat(A, neg(A), dim=1), concat(B, neg(B), dim=1), dim=1)\noutput T, O",
       "T = argmax(scale(X, 2), dim=1)\nO = kernel grid=(x=2) threads=64 {\n  z = load Z {x->1}\n"
       "  store concat(z, neg(z), dim=1) {x->1}\n}\noutput T, O", "none that the first has"},
      {MG_NOT_EQUAL, "input X : f16[4200, 1024]\ninput Z : f16[4, 32]\n", "T = argmax(X, dim=1)\nO = exp(Z)\noutput T, O",
       "T = argmax(X, dim=1)\nO = exp(scale(Z, 2))\noutput T, O", "float64"},
      {MG_NOT_EQUAL, "input W : f16[200000, 4096]\ninput I : i32[6]\n", "O = gather(W, I)", "O = scale(gather(W, I), 2)", "float64"},
      {MG_NOT_EQUAL, "input W : f16[200000, 4096]\ninput I : i32[6]\ninput J : i32[6]\n",
       "O = add(gather(W, I), gather(W, J))", "O = scale(gather(W, I), 2)", "float64"},
      {MG_EQUAL, "input W : f16[200000, 4096]\ninput I : i32[6]\n", "O = gather(W, I)", "O = scale(scale(gather(W, I), 2), 1/2)", "for all"},
      {MG_UNDECIDED, "input W : f16[200000, 4096]\ninput I : i32[6]\n", "P = neg(gather(W, I))\nQ = slice(W, dim=0, from=1, n=1)\noutput P, Q",
       "P = gather(W, I)\nQ = slice(W, dim=0, from=1, n=1)\noutput P, Q", "too large for float64 runs"}};
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    mg_verify_report r;
    compare(pair[k].head, pair[k].a, pair[k].b, &r);
    if (r.verdict != pair[k].verdict || !strstr(r.reason, pair[k].says))
      fail_msg("%s: %s, not %s: %s\n%s\n%s", mg_verdict_name(r.verdict), r.reason, mg_verdict_name(pair[k].verdict), pair[k].says, pair[k].a, pair[k].b);
  }
}

/* The evaluator refuses an index beyond the rows. */
static void bounds(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput W : f16[3, 2]\ninput I : i32[2]\nO = gather(W, I)\noutput O\n");
  const double w[6] = {0, 1, 2, 3, 4, 5};
  const mg_domain d = mg_domain_real();
  double o[4];
  mg_error e;
  for (int k = 0; k < 5; k++) {
    static const int32_t index[5] = {0, 2, 3, -1, INT32_MIN};
    const int32_t i[2] = {1, index[k]};
    const void *in[2] = {w, i};
    void *out[1] = {o};
    const mg_status s = mg_eval(g, &d, in, out, &e);
    assert_int_equal(s, k < 2 ? MG_OK : MG_BAD_INPUT);
    if (k < 2) assert_true(o[0] == 2 && o[1] == 3 && o[2] == 2.0 * index[k]);
    else assert_non_null(strstr(e.msg, "is not in 0..2"));
  }
  assert_int_equal(mg_index_bound(g, g->in[1]), 3);
  mg_graph_free(g);
  g = parse("program p\ninput W : f16[9, 2]\ninput V : f16[5, 2]\ninput I : i32[2]\ninput J : i32[2]\nO = add(gather(W, I), gather(V, I))\noutput O\n");
  assert_int_equal(mg_index_bound(g, g->in[2]), 5);
  assert_int_equal(mg_index_bound(g, g->in[3]), INT32_MAX);
  for (uint64_t seed = 0; seed < 50; seed++) {
    int32_t i[2];
    mg_verify_input_index(g, NULL, seed, 2, i);
    assert_true(i[0] >= 0 && i[0] < 5 && i[1] >= 0 && i[1] < 5);
  }
  mg_graph_free(g);
}

/* What is left without picks, and together with them again, is the program. */
static void rests(void **state) {
  (void)state;
  static const char *const text[] = {
      "program p\n" HEAD "Y = gather(W, I)\nO = matmul(Y, V)\noutput O, Y\n",
      "program p\n" HEAD "T = argmax(matmul(X, V), dim=1)\nO = silu(gather(W, T))\nU = argmax(O, dim=2)\noutput O, T, U\n",
      "program p\nsym n in 1..6\ninput W : f16[40, 8]\ninput I : i32[n]\nO = exp(gather(W, I))\nT = argmax(O, dim=1)\noutput T, O\n",
      "program p\ninput t1 : i32[4]\ninput W : f16[7, 3]\nA = sqr(add(W, W))\nO = gather(A, t1)\noutput O\n",
      "program p\n" HEAD "A = argmax(X, dim=0)\nB = argmax(X, dim=0)\noutput A, B\n",
      "program p\nsym n in 1..6\nsym m in 1..7\ninput W : f16[40, 8]\ninput I : i32[n]\ninput X : f16[m, 8]\nY = gather(W, I)\nO = exp(W)\nT = argmax(X, dim=1)\noutput Y, O, T\n"};
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    mg_graph *g = parse(text[k]), *back = NULL;
    mg_rest r;
    mg_verify_report v;
    mg_error e;
    assert_true(mg_has_picks(g));
    if (mg_rest_of(g, NULL, &r, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text[k]);
    assert_true(k == 4 ? !r.g[0] : !mg_has_picks(r.g[0]));
    if (k == 0) assert_int_equal(r.g[0]->n_in, 2); /* W and X are read by nothing that is left */
    for (uint32_t t = 1; r.g[0] && t < r.g[0]->n_tensors; t++) assert_int_not_equal(r.g[0]->tensors[t].dtype, MG_I32);
    if (mg_rest_join(g, &r, r.g[0], &back, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text[k]);
    if (mg_verify(g, back, NULL, &v, &e) != MG_OK || v.verdict != MG_EQUAL) fail_msg("%s\n%s", v.reason, text[k]);
    for (uint32_t j = 0; j < g->n_out; j++) assert_string_equal(g->tensors[g->out[j].id].name, back->tensors[back->out[j].id].name);
    mg_graph_free(back), mg_graph_free(g);
    mg_rest_free(&r);
  }
  char many[2000] = "program p\n" HEAD;
  for (int k = 0; k < 9; k++) snprintf(many + strlen(many), sizeof many - strlen(many), "A%d = argmax(scale(X, %d), dim=1)\n", k, k + 2);
  strcat(many, "output A8\n");
  mg_graph *g = parse(many);
  mg_verify_report v;
  mg_search_result found;
  mg_error e;
  mg_rest r;
  assert_int_equal(mg_rest_of(g, NULL, &r, &e), MG_UNSUPPORTED);
  mg_rest_free(&r);
  assert_int_equal(mg_verify(g, g, NULL, &v, &e), MG_OK);
  assert_int_equal(v.verdict, MG_EQUAL);
  assert_int_equal(mg_search(g, NULL, &found, &e), MG_OK); /* the program itself */
  assert_true(found.n == 1 && mg_graph_equal(found.graph[0], g) && !found.stats.complete);
  mg_search_result_free(&found);
  mg_graph_free(g);
}

/* ---- the search: certified, picks its own kernels, the rest fused; from a checkpoint again */

static void searches(void **state) {
  (void)state;
  static const char *const text[] = {
      "program embed\ninput W : f16[300, 64]\ninput I : i32[16]\ninput G : f16[64]\ninput V : f16[64, 64]\nO = matmul(rms_norm(gather(W, I), G, eps=1/1000), V)\noutput O\n",
      "program logits\ninput X : f16[16, 64]\ninput V : f16[64, 64]\nT = argmax(matmul(rms_norm(X, eps=1/1000), V), dim=1)\noutput T\n"};
  char path[64];
  snprintf(path, sizeof path, "build/picks.%d.ck", (int)getpid());
  for (int k = 0; k < 2; k++) {
    mg_graph *g = parse(text[k]), *best = NULL;
    mg_search_config c = mg_search_config_default();
    mg_search_result r[2];
    mg_verify_report v;
    mg_error e;
    char why[256], *cert = NULL;
    int undecided = 0, kernels = 0;
    c.checkpoint = path;
    for (int again = 0; again < 2; again++)
      if (mg_search(g, &c, &r[again], &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_true(r[1].stats.resumed > 0);
    same(&r[0], &r[1]);
    remove(path);
    if (mg_search_certify(g, &c, NULL, 1, &r[0], &undecided, why, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    best = r[0].graph[0], v = r[0].report[0];
    assert_int_equal(v.verdict, MG_EQUAL);
    assert_true(v.log2_delta <= -64 && v.picks == 1);
    for (uint32_t o = 1; o < best->n_ops; o++) kernels += best->ops[o].code == MG_OP_GRAPH;
    assert_int_equal(kernels, 1);
    assert_int_equal(best->n_ops, 3);
    assert_int_equal(best->ops[k ? 2 : 1].code, k ? MG_OP_ARGMAX : MG_OP_GATHER);
    assert_int_equal(mg_certificate(g, best, &v, &cert, &e), MG_OK);
    if (mg_certificate_check(cert, strlen(cert), NULL, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    mg_string_free(cert);
    for (int again = 0; again < 2; again++) mg_search_result_free(&r[again]);
    mg_graph_free(g);
  }
}

/* n indices: the output's rows run with them, W's rows do not. */
static void symbols(void **state) {
  (void)state;
  static const char text[] = "program f\nsym n in 1..32\ninput W : f16[300, 64]\ninput I : i32[n]\ninput V : f16[64, 64]\nO = matmul(silu(gather(W, I)), V)\nT = argmax(O, dim=1)\noutput T\n";
  mg_graph *g = parse(text), *at = NULL;
  mg_family_result r;
  mg_check_config cc;
  mg_check_report c;
  mg_error e;
  char *cu = NULL;
  const int64_t three = 3;
  assert_int_equal(mg_at(g, &three, &at, &e), MG_OK);
  assert_int_equal(at->tensors[at->in[1].id].shape.dim[0], 3);
  mg_graph_free(at);
  if (mg_search_family(g, NULL, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  for (int k = 0; k < r.n; k++) {
    assert_int_equal(r.range[k].report.verdict, MG_EQUAL);
    assert_non_null(strstr(r.range[k].report.every, "n >= 1"));
    assert_false(mg_is_program(r.range[k].graph));
  }
  memset(&cc, 0, sizeof cc);
  cc.seeds = 2;
  if (mg_cuda_emit(r.range[r.n - 1].graph, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_non_null(strstr(cu, "const int32_t *in_I,"));
  assert_non_null(strstr(cu, "int32_t *out_T,"));
  if (mg_cuda_check(NULL, cu, &cc, &c, &e) != MG_OK) fail_msg("%s: %s: %s", e.where, e.msg, c.difference);
  mg_string_free(cu);
  mg_family_result_free(&r);
  mg_graph_free(g);
  static const char rows[] = "program f\nsym n in 1..32\ninput W : f16[n, 64]\ninput I : i32[4]\nO = gather(W, I)\noutput O\n";
  assert_int_equal(mg_parse(rows, strlen(rows), "t", NULL, &g, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "the program is not parallel in it"));
  static const char looked[] = "program f\nsym n in 1..32\ninput X : f16[4, n]\nO = argmax(X, dim=1)\noutput O\n";
  assert_int_equal(mg_parse(looked, strlen(looked), "t", NULL, &g, &e), MG_UNSUPPORTED);
}

/* ---- link 2: each maximum stands twice, and in other lanes; memory orders; indices of two dimensions */

static void emitted(void **state) {
  (void)state;
  static const char text[] =
      "program p\ninput W : bf16[37, 24] @ [1, 0]\ninput I : i32[5, 3] @ [1, 0]\ninput X : f16[7, 40]\ninput N : f32[9]\ninput J : i32[4]\n"
      "Y = gather(W, I)\nZ = argmax(concat(X, X, dim=1), dim=1)\nQ = argmax(concat(X, X, dim=0), dim=0)\nL = argmax(X, dim=-1)\nM = gather(N, J)\n"
      "D = gather(X, argmax(slice(X, dim=1, from=0, n=7), dim=1))\noutput Y, Z, Q, L, M, D\n";
  static const struct { const char *is, *was, *says; } plant[] = {
      {"mg_index(p_I + x0 + x1 * ((int64_t)p_D2), p_D0)", "mg_index(p_I + x0 + x1 * ((int64_t)p_D2), p_D0 - 1)", "gathers row 36 of 36"},
      {"mg_index(p_I + x0 + x1 * ((int64_t)p_D2), p_D0)", "(p_I + x0 + x1 * ((int64_t)p_D2))->v % 36", "output Y"},
      {"mg_stg(p_Z + e, at)", "if (e) mg_stg(p_Z + e, at)", "output Z[0, 0] was not written"}};
  mg_graph *g = parse(text);
  mg_check_config cc;
  mg_check_report c;
  mg_error e;
  char *cu = NULL;
  memset(&cc, 0, sizeof cc);
  cc.seeds = 2;
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (mg_cuda_check(g, cu, &cc, &c, &e) != MG_OK) fail_msg("%s: %s: %s\n%s", e.where, e.msg, c.difference, cu);
  assert_true(c.fields >= 1 && c.compared > 0 && c.float_checked);
  joined(cu);
  cc.seeds = 1;
  for (size_t p = 0; p < sizeof plant / sizeof *plant; p++) {
    char *wrong = replaced(cu, plant[p].is, plant[p].was);
    if (mg_cuda_check(g, wrong, &cc, &c, &e) != MG_NOT_FOUND) fail_msg("not found: '%s': %s", plant[p].was, e.msg);
    if (!strstr(c.difference, plant[p].says)) fail_msg("'%s', not '%s'", c.difference, plant[p].says);
    free(wrong);
  }
  mg_string_free(cu), mg_graph_free(g);
  g = parse("program p\ninput V : f16[2, 10300]\nP = argmax(V, dim=1)\noutput P\n"); /* more than a block has under way at once, in many and in few */
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK || mg_cuda_check(g, cu, &cc, &c, &e) != MG_OK) fail_msg("%s: %s: %s", e.where, e.msg, c.difference);
  mg_string_free(cu), mg_graph_free(g);
}

/* ---- rows that blocks share: what the kernels find in values of the test's, at extents around their parts' ends */

enum { RANDOM, ALIKE, TIES, EDGES, LAST, NANS, ZEROS, ABOVE, BELOW, BELOW_NANS, PATTERNS };
/* Element k of a row of that extent, of which so many parts have `size` each; all of them are numbers of every type. */
static double shared_value(int pattern, int64_t k, int64_t extent, int64_t size, uint64_t *state) {
  const int draw = (int)(next(state) % 256);
  const int64_t part = k / size, within = k % size;
  const int last = k == extent - 1 || within == size - 1;
  switch (pattern) {
  case ALIKE: return -3;
  case TIES: return within == (part * 37 + 5) % size && part != 1 ? 200 : draw - 128; /* in all parts but the second */
  case EDGES: return last && part ? 200 : draw - 128;
  case LAST: return k == extent - 1 ? 200 : draw - 128;
  case NANS: return within == 11 && part > 1 ? (part % 2 ? NAN : -NAN) : within == 3 ? INFINITY : draw;
  case ZEROS: return draw % 3 ? -1.0 - draw : k % 2 ? 0.0 : -0.0;
  case ABOVE: return draw < 2 ? INFINITY : draw - 128;
  case BELOW: return -INFINITY;
  case BELOW_NANS: return last ? (part % 2 ? NAN : -NAN) : -INFINITY;
  default: return draw - 128;
  }
}
/* The first of the largest, a NaN being larger than any number. */
static int32_t first_of_largest(const double *x, int64_t extent, int64_t step) {
  int64_t at = 0;
  for (int64_t k = 1; k < extent; k++) {
    const double v = x[k * step], top = x[at * step];
    if (v > top || (isnan(v) && !isnan(top))) at = k;
  }
  return (int32_t)at;
}
static mg_emulated *emulated(const mg_graph *g) {
  mg_emulated *files = NULL;
  mg_check_config cc;
  mg_error e;
  char *cu = NULL;
  memset(&cc, 0, sizeof cc);
  cc.include_dir = ".";
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  const char *const text = cu, *const name = g->name;
  if (mg_cuda_emulate(&text, &name, 1, &cc, &files, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_string_free(cu);
  return files;
}
/* One launch of g, at its sizes: argmaxes of its inputs, one each, which have these elements. */
static void launched(mg_emulated *files, const mg_graph *g, const int64_t *sym, int pattern, const mg_machine *m,
                     uint64_t *state) {
  const mg_domain real = mg_domain_real();
  const void *in[8];
  void *out[8], *want[8];
  mg_error e;
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_op_node *o = &g->ops[k + 1];
    const mg_shape *s = &mg_tensor_of(g, g->in[k])->shape;
    const int64_t extent = s->dim[o->attr.dim], n = mg_shape_elements(s), rows = n / extent;
    const mg_shares shares = mg_library_shares(g, o, m);
    const int64_t size = mg_ceil_div(extent, MG_SHARED_BY(rows, shares.blocks, shares.most));
    int64_t step = 1;
    for (int d = o->attr.dim + 1; d < s->rank; d++) step *= s->dim[d];
    double *x = (double *)malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = shared_value(pattern, i / step % extent, extent, size, state);
    in[k] = x, out[k] = malloc((size_t)rows * 4), want[k] = malloc((size_t)rows * 4);
  }
  mg_status s = mg_eval(g, &real, in, want, &e);
  if (s == MG_OK) s = mg_emulated_launch(files, 0, g, sym, in, out, &e);
  if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_op_node *o = &g->ops[k + 1];
    const mg_shape *s = &mg_tensor_of(g, g->in[k])->shape;
    const int64_t extent = s->dim[o->attr.dim], rows = mg_shape_elements(s) / extent;
    int64_t step = 1;
    for (int d = o->attr.dim + 1; d < s->rank; d++) step *= s->dim[d];
    for (int64_t r = 0; r < rows; r++) {
      const int32_t right = first_of_largest((const double *)in[k] + r / step * step * extent + r % step, extent, step);
      assert_int_equal(((const int32_t *)want[k])[r], right);
      if (((const int32_t *)out[k])[r] != right)
        fail_msg("pattern %d, output %u of %lld rows, row %lld: %d, not %d", pattern, k, (long long)rows, (long long)r,
                 (int)((const int32_t *)out[k])[r], (int)right);
    }
    free((void *)(uintptr_t)in[k]), free(out[k]), free(want[k]);
  }
}
static void shared_rows(void **state) {
  (void)state;
  static const char text[] =
      "program p\ninput A : f16[2, 16383]\ninput B : f16[2, 16384] @ [1, 0]\ninput C : bf16[16385, 2]\n"
      "input D : f32[2, 18432, 1]\ninput E : f16[1, 18433]\ninput F : f32[1, 20481]\n"
      "P = argmax(A, dim=1)\nQ = argmax(B, dim=1)\nR = argmax(C, dim=0)\nS = argmax(D, dim=1)\n"
      "T = argmax(E, dim=1)\nU = argmax(F, dim=1)\noutput P, Q, R, S, T, U\n";
  static const int64_t parts[6] = {1, 8, 9, 9, 10, 11};
  const mg_machine *m = mg_machine_at(0);
  mg_graph *g = parse(text);
  mg_emulated *files = emulated(g);
  mg_error e;
  size_t space = 0;
  const mg_emitted_info *is = mg_emulated_info(files, 0, &space, &e);
  uint64_t draws = 1;
  assert_int_equal(is->n_kernels, 6);
  size_t room = 0;
  for (int k = 0; k < 6; k++) {
    const mg_shares shares = mg_library_shares(g, &g->ops[k + 1], m);
    const int64_t rows = k < 4 ? 2 : 1;
    assert_int_equal(MG_SHARED_BY(rows, shares.blocks, shares.most), parts[k]);
    assert_true(is->kernels[k].grid[0] == rows && is->kernels[k].grid[1] == parts[k] && is->kernels[k].grid[2] == 1);
    assert_true(is->kernels[k].threads == 256 && is->kernels[k].shared_bytes == 8 * 8);
    if (parts[k] == 1) continue;
    room += (size_t)(mg_round_up(4 * shares.blocks, 256) + mg_round_up(8 * shares.blocks, 256));
  }
  assert_int_equal(space, room);
  for (int pattern = 0; pattern < PATTERNS; pattern++) launched(files, g, NULL, pattern, m, &draws);
  mg_emulated_free(files);
  mg_graph_free(g);
}
/* The fewer rows the more blocks share each, down to one; where no size of a launch leaves any to share, none has room for it. */
static void shared_symbols(void **state) {
  (void)state;
  static const char text[] = "program p\nsym n in 1..150\ninput X : bf16[n, 16384]\nT = argmax(X, dim=1)\noutput T\n";
  static const int64_t sizes[] = {1, 32, 33, 34, 88, 89, 132, 133, 150};
  const mg_machine *m = mg_machine_at(0);
  mg_graph *g = parse(text), *at = NULL;
  mg_emulated *files = emulated(g);
  mg_error e;
  uint64_t draws = 2;
  int64_t before = 9;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    assert_int_equal(mg_at(g, &sizes[k], &at, &e), MG_OK);
    const mg_shares shares = mg_library_shares(at, &at->ops[1], m);
    const int64_t parts = MG_SHARED_BY(sizes[k], shares.blocks, shares.most);
    assert_true(parts >= 1 && parts <= before && parts * sizes[k] <= (parts > 1 ? shares.blocks : sizes[k]));
    launched(files, at, &sizes[k], k % 2 ? TIES : NANS, m, &draws);
    before = parts;
    mg_graph_free(at);
  }
  assert_int_equal(before, 1);
  mg_emulated_free(files);
  mg_graph_free(g);
  static const char *const bounds[] = {
      "sym n in 132..150\ninput X : bf16[n, 16384]", "sym n in 133..150\ninput X : bf16[n, 16384]",
      "sym n in 44..150\ninput X : bf16[3*n, 16384]", "sym n in 45..150\ninput X : bf16[3*n, 16384]"};
  for (int k = 0; k < 4; k++) {
    char with[200], *cu = NULL;
    snprintf(with, sizeof with, "program p\n%s\nT = argmax(X, dim=1)\noutput T\n", bounds[k]);
    g = parse(with);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(strstr(cu, "mg_each_argmax_parts(") != NULL, k % 2 == 0);
    assert_int_equal(strstr(cu, "p_workspace_bytes(void) { return 0; }") == NULL, k % 2 == 0);
    mg_string_free(cu);
    mg_graph_free(g);
  }
}
/* Link 2 runs all parts, at reduced sizes and of full ones, and sees where one is missing. */
static void shared_wrong(void **state) {
  (void)state;
  static const char text[] = "program p\ninput X : f16[2, 8200]\nT = argmax(concat(X, X, dim=1), dim=1)\noutput T\n";
  static const struct { const char *is, *was; } plant[] = {
      {"mg_last_of(tickets + e, (int)parts)", "mg_last_of(tickets + e, (int)parts - 1)"},
      {"mg_last_of(tickets + e, (int)parts)", "mg_last_of(tickets, (int)parts)"},
      {"mg_last_of(tickets + e, (int)parts)", "(mg_last_of(tickets + e, (int)parts), mg_bid(1) == 0)"},
      {"const int64_t parts = mg_library_parts(n, 264, 9);", "const int64_t parts = mg_library_parts(n, 264, 9) + 1;"},
      {"const int64_t parts = mg_library_parts(n, 264, 9);", "const int64_t parts = mg_library_parts(n, 264, 9) - 1;"},
      {"p_KEYS_OP2 + mg_round256((int64_t)8 * 264)", "p_KEYS_OP2"}};
  mg_graph *g = parse(text);
  mg_check_config cc;
  mg_check_report c;
  mg_error e;
  char *cu = NULL;
  memset(&cc, 0, sizeof cc);
  cc.seeds = 2;
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK || mg_cuda_check(g, cu, &cc, &c, &e) != MG_OK)
    fail_msg("%s: %s: %s", e.where, e.msg, c.difference);
  assert_true(c.fields >= 1 && c.compared > 0 && c.float_checked);
  joined(cu);
  for (size_t p = 0; p < sizeof plant / sizeof *plant; p++) {
    char *wrong = replaced(cu, plant[p].is, plant[p].was);
    if (mg_cuda_check(g, wrong, &cc, &c, &e) != MG_NOT_FOUND) fail_msg("not found: '%s': %s", plant[p].was, e.msg);
    free(wrong);
  }
  mg_string_free(cu), mg_graph_free(g);
  g = parse("program p\ninput X : f16[2, 16400]\nT = argmax(X, dim=1)\noutput T\n");
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK || mg_cuda_check(g, cu, &cc, &c, &e) != MG_OK)
    fail_msg("%s: %s: %s", e.where, e.msg, c.difference);
  assert_true(c.sampled > 0 && c.sampled % 9 == 0 && c.sampled_compared >= 2);
  mg_string_free(cu), mg_graph_free(g);
}

/* Numerics are of the rest: index inputs are of no family. */
static void numerics(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput W : f16[50, 16]\ninput I : i32[6]\nY = gather(W, I)\nO = softmax(Y, dim=1)\nT = argmax(O, dim=1)\noutput O, T\n");
  mg_numerics_report r;
  mg_safety_report safety;
  mg_error e;
  char *cu = NULL;
  if (mg_cuda_emit(p, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (mg_cuda_numerics(p, p, cu, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_true(r.ran > 0);
  assert_int_equal(mg_safety_of(p, p, NULL, &safety, &e), MG_OK);
  mg_graph *unread = parse("program u\ninput X : f16[6, 16]\ninput W : f16[50, 16]\nO = neg(X)\noutput O\n");
  char *other = NULL;
  assert_int_equal(mg_cuda_emit(unread, NULL, &other, &e), MG_OK);
  if (mg_cuda_numerics(unread, unread, other, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_string_free(other), mg_graph_free(unread);
  char *edited = replaced(cu, "mg_index(", "(int64_t)mg_index(");
  assert_int_equal(mg_cuda_numerics(p, p, edited, NULL, &r, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "edited"));
  free(edited);
  mg_string_free(cu), mg_graph_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts), cmocka_unit_test(large), cmocka_unit_test(bounds),  cmocka_unit_test(rests),   cmocka_unit_test(searches),
                                     cmocka_unit_test(symbols),  cmocka_unit_test(emitted), cmocka_unit_test(numerics),
                                     cmocka_unit_test(shared_rows), cmocka_unit_test(shared_symbols), cmocka_unit_test(shared_wrong)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
