/* Tests of programs with differences: norms.  What mirage_search.h leaves out of them (signs, parts of sums) costs no better structure.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_norms.c -o build/test_norms -lcmocka -lm -lpthread
   build/test_norms [seed]; SOAK_NORMS=n: n times as many random programs, and more norms. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage_search.h"

#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "splitmix.h"

static uint64_t seed, rounds = 1;
static int soak;
static uint64_t draw(uint64_t n) { return next(&seed) % n; }

static mg_search_config config(int bound, int block_ops) {
  mg_search_config c = mg_search_config_default();
  c.bound = bound, c.max_kernel_ops = 1, c.max_block_ops = block_ops, c.top_k = 1;
  return c;
}

/* The same best time as without any of the model's bounds, this one among them, and all that is looked at is right.  0: the
   search without ends at a limit. */
static int as_without(const char *text, int block_ops, uint64_t *structures) {
  mg_graph *p = parse(text);
  mg_search_config c = config(0, block_ops), d = config(1, block_ops);
  mg_search_result without, with;
  mg_error e;
  c.max_structures = 20000, c.max_steps = 300000;
  if (mg_search(p, &c, &without, &e) != MG_OK) fail_msg("%s\n%s", e.msg, text);
  int whole = without.stats.complete;
  if (whole) {
    if (mg_search(p, &d, &with, &e) != MG_OK) fail_msg("%s\n%s", e.msg, text);
    if (!with.stats.complete) fail_msg("not complete:\n%s", text);
    if (with.stats.rejected) fail_msg("%llu structures are wrong:\n%s", (unsigned long long)with.stats.rejected, text);
    if (with.predicted_us[0] > without.predicted_us[0] * (1 + 1e-9)) fail_msg("%.6f us, and without bounds %.6f:\n%s", with.predicted_us[0], without.predicted_us[0], text);
    structures[0] += without.stats.structures, structures[1] += with.stats.structures;
    mg_search_result_free(&with);
  }
  mg_search_result_free(&without);
  mg_graph_free(p);
  return whole;
}

/* Signs meet every operator that they go through, and those that they do not. */
static const char *const fixed[] = {
  "program mean\ninput X : f16[16, 64]\nM = scale(sum(X, dim=1), 1/64)\nO = sub(X, M)\noutput O\n",
  "program variance\ninput X : f16[16, 64]\nM = scale(sum(X, dim=1), 1/64)\nO = sum(sqr(sub(X, M)), dim=1)\noutput O\n",
  "program both\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\nO = sub(X, Y)\nP = sub(Y, X)\noutput O\noutput P\n",
  "program negative\ninput X : f16[16, 64]\ninput W : f16[64, 32]\nO = matmul(neg(X), W)\noutput O\n",
  "program sum\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\nO = sub(neg(X), Y)\noutput O\n",
  "program exp\ninput X : f16[16, 64]\nE = exp(neg(X))\nO = div(E, sum(E, dim=1))\noutput O\n",
  "program shift\ninput X : f16[16, 64]\nO = add_scalar(scale(sum(X, dim=1), -1/64), 1/3)\noutput O\n",
  "program max\ninput X : f16[16, 64]\nO = sub(max(X, dim=1), max(neg(X), dim=1))\noutput O\n",
  "program product\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\ninput W : f16[64, 32]\nO = matmul(sub(X, Y), W)\noutput O\n",
  "program transpose\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\nO = transpose(sub(X, Y), [1, 0])\noutput O\n",
};

static void signs_cost_nothing(void **state) {
  (void)state;
  uint64_t n[2] = { 0, 0 };
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) if (!as_without(fixed[k], 4, n)) fail_msg("not complete without bounds:\n%s", fixed[k]);
  printf("%llu structures, %llu without\n", (unsigned long long)n[1], (unsigned long long)n[0]);
}

/* A program of few operators, most of which have to do with signs; every tensor is used. */
static void random_program(char *text, size_t room) {
  char name[16][16], list[16][160];
  int full[16], used[16] = { 0 }, n = 2, ops = 3 + (int)draw(3);
  strcpy(name[0], "X"), strcpy(name[1], "Y"), full[0] = full[1] = 1;
  for (int i = 0; i < ops; i++) {
    int a = (int)draw((uint64_t)n), b = (int)draw((uint64_t)n), kind = (int)draw(10);
    if (i && draw(2)) a = n - 1;
    if (b == a) b = (a + 1) % n;
    snprintf(name[n], sizeof *name, "T%d", i);
    full[n] = full[a];
    const char *x = name[a], *y = name[b];
    char *o = list[i];
    const size_t r = sizeof *list;
    if (kind <= 2) snprintf(o, r, "%s = sub(%s, %s)\n", name[n], x, y), full[n] |= full[b], used[b] = 1;
    else if (kind == 3) snprintf(o, r, "%s = add(%s, %s)\n", name[n], x, y), full[n] |= full[b], used[b] = 1;
    else if (kind == 4) snprintf(o, r, "%s = mul(%s, %s)\n", name[n], x, y), full[n] |= full[b], used[b] = 1;
    else if (kind == 5) snprintf(o, r, "%s = neg(%s)\n", name[n], x);
    else if (kind == 6) snprintf(o, r, "%s = scale(%s, %s)\n", name[n], x, draw(2) ? "-1/3" : "1/5");
    else if (kind == 7) snprintf(o, r, "%s = sqr(%s)\n", name[n], x);
    else if (kind == 8 && draw(2)) snprintf(o, r, "%s = %s(%s)\n", name[n], draw(2) ? "exp" : "silu", x);
    else if (full[a]) snprintf(o, r, "%s = sum(%s, dim=1)\n", name[n], x), full[n] = 0;
    else snprintf(o, r, "%s = neg(%s)\n", name[n], x);
    used[a] = 1, n++;
  }
  size_t at = 0;
  for (int i = 0; i < 2; i++) if (used[i]) at += (size_t)snprintf(text + at, room - at, "%sinput %s : f16[16, 64]\n", at ? "" : "program random\n", name[i]);
  for (int i = 0; i < ops; i++) at += (size_t)snprintf(text + at, room - at, "%s", list[i]);
  for (int i = 2, outs = 0; i < n && outs < 2; i++) if (!used[i]) at += (size_t)snprintf(text + at, room - at, "output %s\n", name[i]), outs++;
}

static void random_signs_cost_nothing(void **state) {
  (void)state;
  uint64_t n[2] = { 0, 0 };
  int whole = 0, all = (int)(24 * rounds);
  for (int i = 0; i < all; i++) {
    char text[4096];
    uint64_t now = seed;
    do random_program(text, sizeof text); while (!strstr(text, "input"));
    mg_graph *p = NULL;
    mg_error e;
    if (mg_parse(text, strlen(text), "random", NULL, &p, &e) != MG_OK) fail_msg("seed %llu: %s\n%s", (unsigned long long)now, e.msg, text);
    mg_graph_free(p);
    whole += as_without(text, 3, n);
  }
  printf("%d of %d programs: %llu structures, %llu without\n", whole, all, (unsigned long long)n[1], (unsigned long long)n[0]);
  assert_true(whole * 3 >= all);
}

/* A sum that the closure does not take apart costs no better structure: a limit that only the smaller closure keeps makes it one. */
static void sealed_sums_cost_nothing(void **state) {
  (void)state;
  static const char *const text[] = {
    "program rr\ninput X : f16[16, 256]\ninput R : f16[16, 256]\nO = rms_norm(add(X, R), eps=1/1000000)\noutput O\n",
    "program rs\ninput X : f16[16, 256]\ninput R : f16[16, 256]\nS = add(X, R)\nO = rms_norm(S, eps=1/1000000)\noutput O\noutput S\n",
    "program rl\ninput X : f16[16, 1024]\ninput R : f16[16, 1024]\ninput W : f16[1024, 256]\nO = matmul(rms_norm(add(X, R), eps=1/1000000), W)\noutput O\n",
  };
  for (int k = 0; k < 3; k++) {
    mg_graph *p = parse(text[k]);
    mg_search_config c = config(1, 9);
    mg_search_result a, b;
    mg_error e;
    if (mg_search(p, &c, &a, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
    c.egraph.nodes = a.stats.egraph_nodes - 1;
    if (mg_search(p, &c, &b, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
    printf("%s: %u terms, %.4f us; %u terms, %.4f us\n", p->name, (unsigned)a.stats.egraph_nodes, a.predicted_us[0], (unsigned)b.stats.egraph_nodes, b.predicted_us[0]);
    assert_true(a.stats.complete && b.stats.complete && !b.stats.rejected && b.stats.best_kernels == 1);
    assert_string_equal(b.stats.egraph_stop, "SATURATED");
    assert_true(b.stats.egraph_nodes * 2 < a.stats.egraph_nodes && b.predicted_us[0] <= a.predicted_us[0] * (1 + 1e-9));
    mg_search_result_free(&a), mg_search_result_free(&b);
    mg_graph_free(p);
  }
  mg_graph *p = parse("program used\ninput X : f16[16, 256]\ninput R : f16[16, 256]\nO = mul(X, rms_norm(add(X, R), eps=1/1000000))\noutput O\n"); /* X has another use */
  mg_search_config c = config(1, 9);
  mg_search_result a, b;
  mg_error e;
  assert_int_equal(mg_search(p, &c, &a, &e), MG_OK);
  c.egraph.nodes = a.stats.egraph_nodes - 1;
  assert_int_equal(mg_search(p, &c, &b, &e), MG_OK);
  assert_true(a.stats.complete && !b.stats.complete);
  mg_search_result_free(&a), mg_search_result_free(&b);
  mg_graph_free(p);
}

/* Norms at the defaults, one kernel: complete, and as fast as what an expert would write. */
#define LN(x, y, d) "M = mean(" x ", dim=" d ")\nC = sub(" x ", M)\nV = mean(sqr(C), dim=" d ")\n" y " = div(C, sqrt(add_scalar(V, 1/100000)))\n"
static void norms_are_complete(void **state) {
  (void)state;
  static const char *const text[] = {
    "program layer_norm\ninput X : f16[4, 32]\n" LN("X", "O", "1") "output O\n",
    "program group_norm\ninput X : f16[4, 4, 16]\n" LN("X", "O", "2") "output O\n",
    "program residual_layer_norm\ninput X : f16[4, 32]\ninput R : f16[4, 32]\nS = add(X, R)\n" LN("S", "O", "1") "output O\n",
    "program layer_norm_linear\ninput X : f16[4, 32]\ninput W : f16[32, 32]\n" LN("X", "Y", "1") "O = matmul(Y, W)\noutput O\n",
  };
  for (int k = 0; k < (soak ? 4 : 1); k++) {
    mg_graph *p = parse(text[k]);
    mg_search_config c = config(1, 0);
    mg_search_result r;
    mg_error e;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
    printf("%s: %.3f us, %llu structures, %.1f s\n", p->name, r.predicted_us[0], (unsigned long long)r.stats.structures, r.stats.seconds);
    if (!r.stats.complete || r.stats.rejected || r.stats.best_kernels != 1) fail_msg("%s: complete %d, %llu wrong, %d kernels", p->name, r.stats.complete, (unsigned long long)r.stats.rejected, r.stats.best_kernels);
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

int main(int argc, char **argv) {
  const char *many = getenv("SOAK_NORMS");
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  soak = many != NULL;
  if (many && atoi(many) > 0) rounds = (uint64_t)atoi(many);
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(signs_cost_nothing),
    cmocka_unit_test(random_signs_cost_nothing),
    cmocka_unit_test(sealed_sums_cost_nothing),
    cmocka_unit_test(norms_are_complete),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
