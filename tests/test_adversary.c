/* An adversary against link 1.  A mutator changes one thing in a right µGraph: no mutant that float64 calls wrong may
   be accepted.  A rewriter applies right algebra: none of its results may be refused.
     build/test_adversary [SEED]                a sample
     SOAK_MUTANTS=100000 SOAK_REWRITES=10000 SOAK_SEARCHES=42 SOAK_JOBS=2 build/test_adversary SEED
   µGraphs come from examples/programs (as they are; kernels that the rewriter makes of them; what mg_search finds for
   them), from the table of hand-written ones below and from random programs, at small and uneven sizes.  A failure
   prints both texts and the seed.
   gcc -std=c11 -O2 -Wall -Wextra tests/test_adversary.c -o build/test_adversary -lcmocka -lm -lpthread */
#define _GNU_SOURCE
/* Moves that differ in their index text alone. */
#define MG_USER_OPS(E, T)                                                                                             \
  T(ROLL,  "roll",  1, MG_KB_, DIM, SAME, SAME, j[A->dim] = (i[A->dim] + 1) % S->dim[A->dim])                         \
  T(BACK,  "back",  1, MG_KB_, DIM, SAME, SAME, j[A->dim] = (i[A->dim] + S->dim[A->dim] - 1) % S->dim[A->dim])        \
  T(FLIP,  "flip",  1, MG_KB_, DIM, SAME, SAME, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])                           \
  T(SHIFT, "shift", 1, MG_KB_, DIM, SAME, SAME, if (i[A->dim]) j[A->dim] = i[A->dim] - 1; else src = -1)
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"
#include "natural.h"
#include "rewrite.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SAMPLE_MUTANTS = 2000, SAMPLE_REWRITES = 400, SAMPLE_SEARCHES = 1 };
#else
enum { SAMPLE_MUTANTS = 8000, SAMPLE_REWRITES = 1500, SAMPLE_SEARCHES = 3 };
#endif
enum { PROGRAMS = 64, FOUND = 512, SPANS = 4, ROUNDS = 12, SOURCES = 5, PER_BASE = 40, SECONDS = 60, TABLE = 1 << 21, SLOT = 1 << 16, JOBS = 16, FAILURES = 5 };

static uint64_t seed = 1;
static long jobs = 1, want_mutants = SAMPLE_MUTANTS, want_rewrites = SAMPLE_REWRITES, want_searches = SAMPLE_SEARCHES;

/* ---- right µGraphs written by hand: inputs, the program's body, and a µGraph's */

static const struct { const char *name, *inputs, *program, *ugraph; } hand[] = {
    {"rmsnorm_one_loop", "input X : f16[3, 6]\ninput G : f16[6]\ninput W : f16[6, 5]\n", "O = matmul(rms_norm(X, G, eps=1/1000), W)\noutput O\n",
     "O = kernel grid=(x=5) {\nfor i=3 {\na = load X {i->1}\ng = load G {i->0}\nw = load W {x->1, i->0}\nb = matmul(mul(a, g), w)\ns = sum(sqr(a), dim=1)\n}\n"
     "store div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/6), 1/1000))) {x->1}\n}\noutput O\n"},
    {"bias_and_residual_behind_the_loop", "input X : f16[5, 6]\ninput W : f16[6, 4]\ninput B : f16[4]\ninput R : f16[5, 4]\n", "O = add(silu(add(matmul(X, W), B)), R)\noutput O\n",
     "O = kernel grid=(x=2, y=3) {\nfor k=3 {\nm = matmul(load X {y->0, k->1}, load W {x->1, k->0})\n}\nacc = accum(m) {k->+}\n"
     "store add(silu(add(acc, load B {x->0})), load R {x->1, y->0}) {x->1, y->0}\n}\noutput O\n"},
    {"chain_of_matmuls_in_nested_loops", "input A : f16[5, 4]\ninput B : f16[4, 6]\ninput D : f16[6, 4]\n", "O = matmul(sqr(matmul(A, B)), D)\noutput O\n",
     "O = kernel grid=(x=3, y=2) {\nfor n=3 {\nfor k=2 {\nc = matmul(load A {x->0, k->1}, load B {n->1, k->0})\n}\ncc = sqr(accum(c) {k->+})\ne = matmul(cc, load D {y->1, n->0})\n}\n"
     "store accum(e) {n->+} {x->0, y->1}\n}\noutput O\n"},
    {"chain_with_relu", "input A : f16[4, 4]\ninput B : f16[4, 5]\ninput D : f16[5, 4]\n", "O = matmul(relu(matmul(A, B)), D)\noutput O\n",
     "O = kernel grid=(x=2) {\nfor n=3 {\nfor k=2 {\nc = matmul(load A {x->0, k->1}, load B {n->1, k->0})\n}\ne = matmul(relu(accum(c) {k->+}), load D {n->0})\n}\nstore accum(e) {n->+} {x->0}\n}\noutput O\n"},
    {"a_maximum_and_a_concatenation", "input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = add(exp(Y), max(X, dim=1))\noutput O\n",
     "O = kernel grid=(x=2) {\nfor i=3 {\nm = max(load X {x->0, i->1}, dim=1)\n}\ntop = accum(m) {i->max}\nfor j=2 {\ne = exp(load Y {x->0, j->1})\n}\nstore add(accum(e) {j->1}, top) {x->0}\n}\noutput O\n"},
    {"split_k_over_blocks", "input X : f16[3, 12]\ninput W : f16[12, 4]\ninput B : f16[4]\n", "O = gelu(add(matmul(X, W), B))\noutput O\n",
     "O = kernel grid=(x=2, z=2) {\nfor i=3 {\nm = matmul(load X {z->1, i->1}, load W {x->1, z->0, i->0})\n}\nt = accum(accum(m) {i->+}) {z->+}\nstore gelu(add(t, load B {x->0})) {x->1}\n}\noutput O\n"},
    {"loop_and_blocks_in_one_accumulator", "input X : f16[3, 10]\ninput W : f16[10, 4]\n", "O = matmul(X, W)\noutput O\n",
     "O = kernel grid=(x=2, z=2) {\nfor i=3 {\nm = matmul(load X {z->1, i->1}, load W {x->1, z->0, i->0})\n}\nstore accum(m) {z->+, i->+} {x->1}\n}\noutput O\n"},
    {"concatenation_over_blocks", "input X : f16[4, 6]\n", "O = div(X, sum(X, dim=1))\noutput O\n",
     "O = kernel grid=(x=2, y=3) {\nall = accum(load X {x->0, y->1}) {y->1}\nstore div(all, sum(all, dim=1)) {x->0}\n}\noutput O\n"},
    {"maximum_over_blocks", "input X : f16[4, 6]\n", "O = max(X, dim=1)\noutput O\n",
     "O = kernel grid=(x=2, y=3) {\nm = max(load X {x->0, y->1}, dim=1)\nstore accum(m) {y->max} {x->0}\n}\noutput O\n"},
    {"softmax_in_two_loops_one_after_the_other", "input X : f16[4, 6]\n", "O = softmax(X, dim=1)\noutput O\n",
     "O = kernel grid=(x=2) {\nfor i=3 {\ns = sum(exp(load X {x->0, i->1}), dim=1)\n}\nz = accum(s) {i->+}\nfor j=2 {\ne = div(exp(load X {x->0, j->1}), z)\n}\nstore accum(e) {j->1} {x->0}\n}\noutput O\n"},
    {"softmax_as_written_with_its_maximum", "input X : f16[4, 6]\n", "O = softmax(X, dim=1)\noutput O\n",
     "m = max(X, dim=1)\nO = kernel grid=(x=2) {\nt = load m {x->0}\nfor i=3 {\ns = sum(exp(sub(load X {x->0, i->1}, t)), dim=1)\n}\nstore div(exp(sub(load X {x->0}, t)), accum(s) {i->+}) {x->0}\n}\noutput O\n"},
    {"three_outputs", "input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "P = mul(X, Y)\nS = sum(P, dim=1)\nE = exp(X)\nF = silu(Y)\noutput S, E, F\n",
     "S, E, F = kernel grid=(x=2) {\na = load X {x->0}\nb = load Y {x->0}\nstore sum(mul(a, b), dim=1) {x->0}\nstore exp(a) {x->0}\nstore silu(b) {x->0}\n}\noutput S, E, F\n"},
    {"outputs_of_two_kernels", "input X : f16[5, 4]\ninput W : f16[4, 4]\n", "Y = sqr(X)\nM = matmul(Y, W)\noutput M, Y\n",
     "Y = kernel grid=(x=3) {\nstore sqr(load X {x->0}) {x->0}\n}\nM = kernel grid=(x=2) {\nfor i=2 {\nm = matmul(load Y {i->1}, load W {x->1, i->0})\n}\nstore accum(m) {i->+} {x->1}\n}\noutput M, Y\n"},
    {"a_replica_is_stored", "input X : f16[4, 6]\n", "E = exp(X)\nS = sum(X, dim=1)\noutput E, S\n",
     "E, S = kernel grid=(x=2, y=2) {\nstore exp(load X {x->1, y->0}) {x->1, y->0}\nstore sum(load X {y->0}, dim=1) {y->0}\n}\noutput E, S\n"},
    {"a_thread_graph", "input X : f16[4, 8]\ninput Y : f16[4, 8]\n", "O = silu(add(sqr(X), Y))\noutput O\n",
     "O = kernel grid=(x=2) threads=32 {\na = load X {x->0}\nb = load Y {x->0}\nc = thread grid=(x=2, y=4) {\nu = load a {x->0, y->1}\nv = load b {x->0, y->1}\nstore silu(add(sqr(u), v)) {x->0, y->1}\n}\nstore c {x->0}\n}\noutput O\n"},
    {"a_thread_graph_with_a_loop", "input X : f16[4, 8]\n", "O = sum(exp(X), dim=1)\noutput O\n",
     "O = kernel grid=(x=2) threads=32 {\nfor i=2 {\na = load X {x->0, i->1}\nc = thread grid=(x=2) {\nfor k=2 {\ne = sum(exp(load a {x->0, k->1}), dim=1)\n}\nstore accum(e) {k->+} {x->0}\n}\n}\nstore accum(c) {i->+} {x->0}\n}\noutput O\n"},
    {"attention_in_one_loop", "input Q : f16[2, 3, 4]\ninput K : f16[2, 6, 4] @ [0, 2, 1]\ninput V : f16[2, 6, 4]\n", "P = softmax(scale(matmul(Q, transpose(K, [0, 2, 1])), 1/8), dim=2)\nO = matmul(P, V)\noutput O\n",
     "O = kernel grid=(x=2, y=3) {\nq = load Q {x->0, y->1}\nfor i=3 {\nk = load K {x->0, i->1}\nv = load V {x->0, i->1}\ne = exp(scale(matmul(q, transpose(k, [0, 2, 1])), 1/8))\nn = matmul(e, v)\nd = sum(e, dim=2)\n}\n"
     "store div(accum(n) {i->+}, accum(d) {i->+}) {x->0, y->1}\n}\noutput O\n"},
    {"gated_mlp_two_accumulators", "input X : bf16[4, 6]\ninput A : bf16[6, 5]\ninput B : bf16[6, 5]\n", "O = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n",
     "O = kernel grid=(x=5) {\nfor i=3 {\nx = load X {i->1}\na = matmul(x, load A {x->1, i->0})\nb = matmul(x, load B {x->1, i->0})\n}\nstore mul(silu(accum(a) {i->+}), accum(b) {i->+}) {x->1}\n}\noutput O\n"},
    {"lora_by_concat_matmul", "input X : f16[4, 6]\ninput W : f16[6, 5]\ninput A : f16[6, 2]\ninput B : f16[2, 5]\n", "O = add(matmul(X, W), matmul(matmul(X, A), B))\noutput O\n",
     "O = kernel grid=(x=5) {\nfor i=3 {\na = load X {i->1}\nxw = matmul(a, load W {x->1, i->0})\nxa = matmul(a, load A {i->0})\n}\nt = accum(xa) {i->+}\nu = accum(xw) {i->+}\nstore add(u, matmul(t, load B {x->1})) {x->1}\n}\noutput O\n"},
    {"concat_matmul", "input W : f16[3, 4]\ninput X : f16[3, 2]\ninput Y : f16[4, 5]\ninput Z : f16[2, 5]\n", "O = add(matmul(W, Y), matmul(X, Z))\noutput O\n",
     "O = kernel grid=(x=3, y=3) {\nw = load W {x->0}\nx = load X {x->0}\ny = load Y {y->1}\nz = load Z {y->1}\nstore concat_matmul(w, x, y, z) {x->0, y->1}\n}\noutput O\n"},
    {"cut_by_grid_and_loops", "input X : f16[3, 16]\n", "O = sum(sqr(X), dim=1)\noutput O\n",
     "O = kernel grid=(x=2, y=2) {\nfor i=2 {\nfor j=2 {\ns = sum(sqr(load X {x->1, y->1, i->1, j->1}), dim=1)\n}\n}\nstore accum(accum(s) {i->+, j->+}) {x->+, y->+} {}\n}\noutput O\n"},
    {"moves_of_user_rows", "input X : f16[4, 5]\ninput W : f16[5, 4]\n", "O = matmul(roll(X, dim=1), flip(shift(W, dim=1), dim=0))\noutput O\n",
     "O = kernel grid=(x=2) {\na = roll(load X {x->0}, dim=1)\nb = flip(load W {}, dim=0)\nstore matmul(a, shift(b, dim=1)) {x->0}\n}\noutput O\n"},
    {"repeat_reshape_and_concat", "input X : f16[4, 3]\ninput Y : f16[4, 3]\n", "R = reshape(concat(X, repeat(Y, dim=1, n=2), dim=1), [2, 2, 9])\nO = sum(sqr(R), dim=1)\noutput O\n",
     "O = kernel grid=(x=2) {\na = load X {x->0}\nb = load Y {x->0}\nc = reshape(concat(a, concat(b, b, dim=1), dim=1), [1, 2, 9])\nstore sum(sqr(c), dim=1) {x->0}\n}\noutput O\n"},
    {"copies_added_by_a_loop", "input X : f16[4, 5]\ninput Y : f16[4, 5]\n", "O = add(scale(X, 3), silu(scale(Y, 2)))\noutput O\n",
     "O = kernel grid=(x=2, z=2) {\nfor i=3 {\na = load X {x->0}\n}\nstore add(accum(a) {i->+}, silu(accum(load Y {x->0}) {z->+})) {x->0}\n}\noutput O\n"},
    {"rows_repeated_by_blocks", "input X : f16[2, 4]\ninput Y : f16[4, 4]\n", "O = matmul(Y, repeat(sqr(X), dim=0, n=2))\noutput O\n",
     "R = kernel grid=(x=2, y=2) {\nstore sqr(load X {y->1}) {x->0, y->1}\n}\nO = matmul(Y, R)\noutput O\n"},
    {"partial_sums_put_together", "input X : f16[4, 4]\ninput Y : f16[4, 1]\n", "O = add(sum(sqr(X), dim=1), Y)\nP = exp(max(X, dim=0))\noutput O, P\n",
     "O, P = kernel grid=(x=2, y=2) {\nfor i=2 {\ns = sum(sqr(load X {x->0, i->1}), dim=1)\nm = max(load X {y->1, i->0}, dim=0)\n}\nt = sum(accum(s) {i->1}, dim=1)\nu = max(accum(m) {i->0}, dim=0)\n"
     "store add(t, load Y {x->0}) {x->0}\nstore exp(u) {y->1}\n}\noutput O, P\n"},
    {"square_tiles", "input X : f16[4, 4]\ninput Y : f16[4, 4]\n", "O = matmul(X, transpose(Y, [1, 0]))\nT = transpose(mul(X, Y), [1, 0])\noutput O, T\n",
     "O, T = kernel grid=(x=2, y=2) {\nfor i=2 {\na = load X {x->0, i->1}\nb = load Y {y->0, i->1}\nc = matmul(a, transpose(b, [1, 0]))\n}\nstore accum(c) {i->+} {x->0, y->1}\n"
     "store transpose(mul(load X {x->1, y->0}, load Y {x->1, y->0}), [1, 0]) {x->0, y->1}\n}\noutput O, T\n"},
    {"square_blocks_and_loops", "input X : f16[4, 4]\ninput Y : f16[4, 4]\n", "O = matmul(exp(X), sqr(Y))\noutput O\n",
     "O = kernel grid=(x=2) {\nfor i=2 {\nfor j=2 {\ne = exp(load X {x->0, i->0, j->1})\n}\nf = accum(e) {j->1}\n}\ng = accum(f) {i->0}\nfor k=2 {\nh = sqr(load Y {k->0})\n}\nstore matmul(g, accum(h) {k->0}) {x->0}\n}\noutput O\n"},
    {"logs_and_signs", "input X : f16[4, 5]\ninput Y : f16[5]\n", "O = sub(log(add_scalar(sqr(X), 1/2)), neg(mul(X, Y)))\noutput O\n",
     "O = kernel grid=(x=2, y=3) {\nx = load X {x->0, y->1}\nstore add(mul(load Y {y->0}, x), log(add_scalar(mul(x, x), 1/2))) {x->0, y->1}\n}\noutput O\n"}};
enum { HANDS = sizeof hand / sizeof *hand };

static mg_graph *program[PROGRAMS];
static int programs;
static struct { mg_graph *p, *g; } found[FOUND]; /* a program scaled down, and what the search found for it */
static int n_found;

/* ---- mutations: each changes one thing in the draft and returns 1, or returns 0 */

typedef int (*op_test)(const draft_level *L, const draft_op *o);

static int pick(draft *D, uint64_t *s, op_test ok, draft_level **L, int *k) {
  int n = 0;
  for (int l = 0; l < D->n_levels; l++)
    for (int m = 0; m < D->level[l].n; m++)
      if (ok(&D->level[l], &D->level[l].op[m]) && rw_below(s, ++n) == 0) *L = &D->level[l], *k = m;
  return n > 0;
}
static int is_load(const draft_level *L, const draft_op *o) { (void)L; return o->code == MG_OP_LOAD; }
static int is_store(const draft_level *L, const draft_op *o) { (void)L; return o->code == MG_OP_STORE; }
static int is_accum(const draft_level *L, const draft_op *o) { (void)L; return o->code == MG_OP_ACCUM; }
static int is_constant(const draft_level *L, const draft_op *o) { (void)L; return mg_op_row(o->code)->attr == MG_ATTR_RAT; }
static int has_map(const draft_level *L, const draft_op *o) { (void)L; return o->code == MG_OP_LOAD || o->code == MG_OP_STORE || o->code == MG_OP_ACCUM; }
static int has_dim(const draft_level *L, const draft_op *o) {
  mg_attr_kind a = mg_op_row(o->code)->attr;
  (void)L;
  return a == MG_ATTR_DIM || a == MG_ATTR_DIMN || a == MG_ATTR_SHAPE;
}
static int has_operand(const draft_level *L, const draft_op *o) { (void)L; return o->n_in > 0; }
static int has_two(const draft_level *L, const draft_op *o) { (void)L; return o->n_in > 1; }
static int computes(const draft_level *L, const draft_op *o) { (void)L; return o->code < MG_OP_TABLE_END && o->n_in > 0; }
static int changes_name(const draft_level *L, const draft_op *o) { (void)L; return mg_op_row(o->code)->elementwise || o->code == MG_OP_SUM || o->code == MG_OP_MAX; }
static int is_user_move(const draft_level *L, const draft_op *o) { (void)L; return mg_op_row(o->code)->user; }
static int is_matrix(const draft_level *L, const draft_op *o) { return o->code == MG_OP_TRANSPOSE || (o->n_in && o->code < MG_OP_TABLE_END && L->shape[o->in[0]].rank > 1); }
static int meets_accum(const draft_level *L, const draft_op *o) {
  int d = o->n_in == 1 && o->code != MG_OP_LOAD ? draft_def(L, o->in[0]) : -1;
  if (d < 0) return 0;
  const draft_op *p = &L->op[d];
  return o->code == MG_OP_ACCUM ? p->n_in == 1 && p->code < MG_OP_TABLE_END : o->code < MG_OP_TABLE_END && p->code == MG_OP_ACCUM;
}

/* An axis that a map of o may name, or 0. */
static int pick_axis(const draft_level *L, const draft_op *o, uint64_t *s) {
  int list[MG_MAX_AXES + 1], n = 0, scope = o->scope;
  if (o->code == MG_OP_ACCUM) scope = L->op[draft_def(L, o->in[0])].scope;
  for (int a = 1; a < L->n_axes; a++)
    if (a <= 3 ? L->extent[a] > 1 : o->code != MG_OP_STORE && draft_inside(L, scope, a)) list[n++] = a;
  return n ? list[rw_below(s, n)] : 0;
}
static int set_map(const draft_level *L, draft_op *o, uint64_t *s) {
  int a = pick_axis(L, o, s), was = a ? o->map.to[a] : 0, rank = L->shape[o->code == MG_OP_STORE || o->code == MG_OP_ACCUM ? o->in[0] : o->out[0]].rank, to = rw_below(s, rank + 1);
  if (!a) return 0;
  o->map.to[a] = (int8_t)(to == rank ? MG_MAP_NONE : to);
  return o->map.to[a] != was;
}
static int m_imap(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  return pick(D, s, is_load, &L, &k) && set_map(L, &L->op[k], s);
}
static int m_omap(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  return pick(D, s, is_store, &L, &k) && set_map(L, &L->op[k], s);
}
static int m_map_swap(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0, a, b;
  if (!pick(D, s, has_map, &L, &k) || !(a = pick_axis(L, &L->op[k], s)) || !(b = pick_axis(L, &L->op[k], s))) return 0;
  int8_t t = L->op[k].map.to[a];
  L->op[k].map.to[a] = L->op[k].map.to[b], L->op[k].map.to[b] = t;
  return L->op[k].map.to[a] != t;
}
static int m_accum_kind(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0, n = 0, at = 0;
  if (!pick(D, s, is_accum, &L, &k)) return 0;
  for (int a = 1; a < L->n_axes; a++)
    if (L->op[k].map.to[a] != MG_MAP_NONE && rw_below(s, ++n) == 0) at = a;
  if (!at) return 0;
  int was = L->op[k].map.to[at];
  for (int a = 1; a < L->n_axes; a++) /* all of one kind: the two do not mix in one accumulator */
    if (L->op[k].map.to[a] == was) L->op[k].map.to[a] = was == MG_MAP_SUM ? MG_MAP_MAX : MG_MAP_SUM;
  return 1;
}
static int m_accum_map(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0, a;
  if (!pick(D, s, is_accum, &L, &k) || !(a = pick_axis(L, &L->op[k], s))) return 0;
  int was = L->op[k].map.to[a], to = rw_below(s, L->shape[L->op[k].in[0]].rank + 2) - 2;
  L->op[k].map.to[a] = (int8_t)(to == -2 ? MG_MAP_NONE : to == -1 ? MG_MAP_SUM : to);
  return L->op[k].map.to[a] != was;
}
static int other_extent(draft *D, uint64_t *s, int from, int to) {
  int n = 0;
  int64_t *e = NULL;
  for (int l = 1; l < D->n_levels; l++)
    for (int a = from; a <= to && a < D->level[l].n_axes; a++)
      if ((a > 3 || D->level[l].extent[a] > 1 || rw_below(s, 8) == 0) && rw_below(s, ++n) == 0) e = &D->level[l].extent[a];
  if (!e) return 0;
  int64_t was = *e;
  *e = rw_below(s, 4) ? was + (rw_below(s, 2) ? 1 : -1) : was * 2;
  return *e >= 1;
}
static int m_loop(draft *D, uint64_t *s) { return other_extent(D, s, 4, MG_MAX_AXES); }
static int m_grid(draft *D, uint64_t *s) { return other_extent(D, s, 1, 3); }
static int m_operand(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0, n = 0, best = 0;
  if (!pick(D, s, has_operand, &L, &k)) return 0;
  draft_op *o = &L->op[k];
  draft_level *from = o->code == MG_OP_LOAD ? &D->level[L->up] : L;
  int j = rw_below(s, o->n_in), any = rw_below(s, 4) == 0;
  for (int t = 1; t < from->n_tensors; t++) {
    int d = draft_def(from, t);
    if (t == o->in[j] || (from == L && d >= k) || (!any && !rw_same_shape(&from->shape[t], &from->shape[o->in[j]]))) continue;
    if (rw_below(s, ++n) == 0) best = t;
  }
  if (best) o->in[j] = best;
  return best > 0;
}
static int m_swap(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  if (!pick(D, s, has_two, &L, &k)) return 0;
  draft_op *o = &L->op[k];
  int i = rw_below(s, o->n_in), j = (i + 1 + rw_below(s, o->n_in - 1)) % o->n_in, t = o->in[i];
  o->in[i] = o->in[j], o->in[j] = t;
  return o->in[i] != t;
}
static int m_operator(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0, n = 0;
  if (!pick(D, s, changes_name, &L, &k)) return 0;
  draft_op *o = &L->op[k];
  mg_opcode best = o->code;
  if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) best = o->code == MG_OP_SUM ? MG_OP_MAX : MG_OP_SUM;
  else
    for (int c = 1; c < MG_OP_TABLE_END; c++)
      if (c != (int)o->code && mg_op_row((mg_opcode)c)->elementwise && mg_op_row((mg_opcode)c)->n_in == o->n_in && rw_below(s, ++n) == 0) best = (mg_opcode)c;
  o->code = best;
  if (mg_op_row(best)->attr != MG_ATTR_RAT && mg_op_row(best)->attr != MG_ATTR_DIM) memset(&o->attr, 0, sizeof o->attr);
  if (mg_op_row(best)->attr == MG_ATTR_RAT && !o->attr.c.den) o->attr.c = mg_rat(2, 1);
  return 1;
}
static int m_constant(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  if (!pick(D, s, is_constant, &L, &k)) return 0;
  mg_rational *c = &L->op[k].attr.c, was = *c;
  switch (rw_below(s, 6)) {
    case 0: *c = mg_rat(c->num + 1, c->den); break;
    case 1: *c = mg_rat(c->num, c->den + 1); break;
    case 2: *c = mg_rat(-c->num, c->den); break;
    case 3: *c = mg_rat(c->num * 2, c->den); break;
    case 4: *c = mg_rat(c->num, c->den * 2); break;
    default: *c = mg_rat(c->den, c->num);
  }
  return c->den && c->num && (c->num != was.num || c->den != was.den);
}
static int m_dim(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  if (!pick(D, s, has_dim, &L, &k)) return 0;
  draft_op *o = &L->op[k];
  int r = L->shape[o->in[0]].rank;
  if (o->code == MG_OP_RESHAPE) {
    r = o->attr.shape.rank;
    int p = rw_below(s, r), q = rw_below(s, r);
    int64_t t = o->attr.shape.dim[p];
    o->attr.shape.dim[p] = o->attr.shape.dim[q], o->attr.shape.dim[q] = t;
    return o->attr.shape.dim[p] != t;
  }
  if (o->code == MG_OP_REPEAT && rw_below(s, 2)) { o->attr.n += rw_below(s, 2) ? 1 : -1; return 1; }
  if (r < 2) return 0;
  o->attr.dim = (o->attr.dim + 1 + rw_below(s, r - 1)) % r;
  return 1;
}
static int m_transpose(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  mg_attr A;
  int k = 0;
  if (!pick(D, s, is_matrix, &L, &k)) return 0;
  draft_op *o = &L->op[k];
  int j = rw_below(s, o->n_in), r = L->shape[o->in[j]].rank;
  if (r < 2) return 0;
  int p = rw_below(s, r), q = (p + 1 + rw_below(s, r - 1)) % r;
  if (o->code == MG_OP_TRANSPOSE && rw_below(s, 2)) {
    int32_t t = o->attr.perm[p];
    o->attr.perm[p] = o->attr.perm[q], o->attr.perm[q] = t;
    return 1;
  }
  rw_swap(&A, r, p, q);
  int at = k, t = draft_emit(L, &at, MG_OP_TRANSPOSE, o->scope, &A, 1, o->in[j], 0);
  if (t) L->op[at].in[j] = t;
  return t > 0;
}
static int m_drop(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  if (!pick(D, s, computes, &L, &k)) return 0;
  draft_op o = L->op[k];
  draft_replace(D, (int)(L - D->level), o.out[0], o.in[rw_below(s, o.n_in)], k + 1);
  draft_sweep(D);
  return 1;
}
static int m_insert(draft *D, uint64_t *s) {
  static const mg_opcode code[] = {MG_OP_NEG, MG_OP_SQR, MG_OP_EXP, MG_OP_RELU, MG_OP_SCALE, MG_OP_ADD_SCALAR, MG_OP_SILU};
  draft_level *L = NULL;
  mg_attr A;
  int k = 0;
  if (!pick(D, s, has_operand, &L, &k) || L->op[k].code == MG_OP_LOAD) return 0;
  memset(&A, 0, sizeof A);
  mg_opcode c = code[rw_below(s, 7)];
  if (mg_op_row(c)->attr == MG_ATTR_RAT) A.c = mg_rat(1 + rw_below(s, 3), 1 + rw_below(s, 3));
  if (c == MG_OP_SCALE && A.c.num == A.c.den) return 0;
  int j = rw_below(s, L->op[k].n_in), at = k, t = draft_emit(L, &at, c, L->op[k].scope, &A, 1, L->op[k].in[j], 0);
  if (t) L->op[at].in[j] = t;
  return t > 0;
}
static int m_output(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0;
  if (rw_below(s, 2)) { /* one of two stores', or another tensor of the program */
    if (!pick(D, s, is_store, &L, &k)) return 0;
    for (int m = k + 1; m < L->n; m++)
      if (L->op[m].code == MG_OP_STORE) {
        int t = L->op[m].in[0];
        L->op[m].in[0] = L->op[k].in[0], L->op[k].in[0] = t;
        return L->op[m].in[0] != t;
      }
    return 0;
  }
  int i = rw_below(s, D->n_out), n = 0, best = 0, was = D->out[i];
  if (D->n_out > 1 && rw_below(s, 2)) {
    int j = (i + 1 + rw_below(s, D->n_out - 1)) % D->n_out;
    D->out[i] = D->out[j], D->out[j] = was;
    return D->out[i] != was;
  }
  for (int t = 1; t < D->level[0].n_tensors; t++)
    if (t != was && rw_same_shape(&D->level[0].shape[t], &D->level[0].shape[was]) && rw_below(s, ++n) == 0) best = t;
  if (best) D->out[i] = best;
  draft_sweep(D);
  return best > 0;
}
/* accum(f(x)) becomes f(accum(x)), or the other way. */
static int m_across(draft *D, uint64_t *s) {
  draft_level *L = NULL;
  int k = 0, d, at, t;
  if (!pick(D, s, meets_accum, &L, &k)) return 0;
  draft_op o = L->op[k], p = L->op[d = draft_def(L, o.in[0])];
  at = k;
  if (o.code == MG_OP_ACCUM) {
    if (!(t = draft_emit(L, &at, MG_OP_ACCUM, o.scope, NULL, 1, p.in[0], 0))) return 0;
    L->op[at - 1].map = o.map;
    t = draft_emit(L, &at, p.code, o.scope, &p.attr, 1, t, 0);
  } else {
    int e = draft_def(L, p.in[0]), in = e + 1;
    t = draft_emit(L, &in, o.code, L->op[e].scope, &o.attr, 1, p.in[0], 0);
    at = k + 1;
    if (!t || !(t = draft_emit(L, &at, MG_OP_ACCUM, p.scope, NULL, 1, t, 0))) return 0;
    L->op[at - 1].map = p.map;
  }
  if (t) draft_replace(D, (int)(L - D->level), o.out[0], t, at);
  draft_sweep(D);
  return t > 0;
}
static int m_index(draft *D, uint64_t *s) {
  static const mg_opcode code[] = {MG_OP_ROLL, MG_OP_BACK, MG_OP_FLIP, MG_OP_SHIFT};
  draft_level *L = NULL;
  int k = 0;
  if (!pick(D, s, is_user_move, &L, &k)) return 0;
  mg_opcode was = L->op[k].code;
  L->op[k].code = code[rw_below(s, 4)];
  return L->op[k].code != was;
}

static const struct { const char *name; int (*apply)(draft *D, uint64_t *s); int often; } mutation[] = {
    {"load's map", m_imap, 24}, {"store's map", m_omap, 16}, {"two axes of a map swapped", m_map_swap, 8}, {"accumulator's kind", m_accum_kind, 4}, {"accumulator's map", m_accum_map, 24},
    {"loop's size", m_loop, 1}, {"grid's size", m_grid, 1}, {"operand", m_operand, 5}, {"operands swapped", m_swap, 3}, {"operator", m_operator, 5}, {"constant", m_constant, 4},
    {"dimension, count or shape", m_dim, 3}, {"transposed pair", m_transpose, 4}, {"dropped operator", m_drop, 5}, {"added operator", m_insert, 5}, {"output", m_output, 6},
    {"moved across an accumulator", m_across, 4}, {"index text", m_index, 8}};
enum { MUTATIONS = sizeof mutation / sizeof *mutation };

/* ---- what the workers share */

typedef struct tally {
  uint64_t refused, twice, unlike; /* no valid graph; seen before; another signature */
  uint64_t n, wrong, undefined;    /* mutants; that float64 calls wrong; that it can say nothing of */
  uint64_t full[3][4], fast[3][4]; /* [equal as floats, wrong, undefined][verdict] */
  uint64_t floats;                 /* equal by these floats, but the verifier's inputs showed a difference */
} tally;
typedef struct shared {
  tally mutant[MUTATIONS], source[SOURCES];
  uint64_t rewrites, rewrites_twice, rewrites_refused, rule[RW_RULES], rewrite_full[4], rewrite_fast[4], with_max, with_grid_accum, with_thread;
  uint64_t parts, in_parts, unfinished, certificates; /* evaluated in part; verified in parts; not for want of memory; rechecked */
  uint64_t natural, every, extents, written; /* extents at which rows were picked; EQUAL for all; other extents at which that was compared; and by the test at their own */
  uint64_t mutants, failures, next_round, programs_used[PROGRAMS], hand_used[HANDS];
  uint64_t seen[TABLE];
  char slot[JOBS][SLOT];
} shared;
static shared *S;
static char *slot; /* this worker's: what it is at, for when it dies of it */

#define N(x) (unsigned long long)(x)
#define ADD(x) __atomic_fetch_add(&(x), 1, __ATOMIC_RELAXED)

/* 1 if h was not there. */
static int fresh(uint64_t h) {
  if (!h) h = 1;
  for (uint64_t k = h, n = 0; n < 64; k++, n++) {
    uint64_t *at = &S->seen[k % TABLE], none = 0;
    if (__atomic_compare_exchange_n(at, &none, h, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return 1;
    if (none == h) return 0;
  }
  return 1;
}

static char *text_of(const mg_graph *g) {
  char *t = NULL;
  mg_error e;
  if (mg_print(g, &t, &e) != MG_OK) t = strdup("(not printable)\n"); /* mg_string_free is free */
  return t;
}
static void blame(const mg_graph *p, const mg_graph *g, const char *fmt, ...) {
  char *a = text_of(p), *b = text_of(g);
  va_list ap;
  va_start(ap, fmt);
  ADD(S->failures);
  fprintf(stderr, "not ok - ");
  vfprintf(stderr, fmt, ap);
  fprintf(stderr, "\n---- the program\n%s---- against\n%s---- (seed %llu)\n", a, b, (unsigned long long)seed);
  va_end(ap);
  mg_string_free(a), mg_string_free(b);
}

/* ---- float64 */

typedef struct values { double *out[ROUNDS][MG_MAX_OUT]; } values;

static int64_t elements(const mg_graph *g, mg_tensor t) { return mg_shape_elements(&g->tensors[t.id].shape); }

/* One round's inputs: signed, positive, small, large; then each input in turn above all others, one element of it
   higher yet, and below, so that every one wins or loses a maximum. */
static int rounds_of(const mg_graph *g) { return g->n_in > (ROUNDS - SPANS) / 2 ? ROUNDS : SPANS + 2 * (int)g->n_in; }
static void draw(const mg_graph *g, uint64_t s, int round, double **in) {
  static const double lo[SPANS] = {-1, 0.5, -0.02, -3}, hi[SPANS] = {1, 1.5, 0.02, 3};
  int span = round < SPANS ? round : 0;
  for (uint32_t k = 0; k < g->n_in; k++) {
    uint64_t state = s + (uint64_t)round * 1000 + k;
    int64_t n = elements(g, g->in[k]);
    double shift = round >= SPANS && (round - SPANS) / 2 == (int)k ? (round & 1 ? -4 : 4) : 0;
    in[k] = (double *)malloc((size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) in[k][i] = shift + lo[span] + (hi[span] - lo[span]) * ldexp((double)(rw_next(&state) >> 11), -53);
    if (shift != 0) in[k][rw_next(&state) % (uint64_t)n] += shift;
  }
}
static mg_status evaluate(const mg_graph *g, uint64_t s, int round, double **out, mg_error *e) {
  double *in[MG_MAX_IN];
  mg_domain d = mg_domain_real();
  draw(g, s, round, in);
  mg_status status = mg_eval(g, &d, (const void *const *)in, (void *const *)out, e);
  for (uint32_t k = 0; k < g->n_in; k++) free(in[k]);
  return status;
}

/* The same over long doubles, by a text of its own, with a bound on what rounding has done: a difference beyond it is
   one of the real functions. */
typedef struct wide { long double v, err; } wide;
static const long double unit = 0x1p-62L;
static wide wide_op(mg_opcode op, wide a, wide b, long double c) {
  wide r = {NAN, INFINITY};
  long double least = a.v - a.err;
  switch (op) {
    case MG_OP_ADD: r.v = a.v + b.v, r.err = a.err + b.err; break;
    case MG_OP_SUB: r.v = a.v - b.v, r.err = a.err + b.err; break;
    case MG_OP_SQR: b = a; /* fall through */
    case MG_OP_MUL: r.v = a.v * b.v, r.err = fabsl(a.v) * b.err + a.err * fabsl(b.v) + a.err * b.err; break;
    case MG_OP_DIV: r.v = a.v / b.v, r.err = fabsl(b.v) > b.err ? (a.err + fabsl(r.v) * b.err) / (fabsl(b.v) - b.err) : INFINITY; break;
    case MG_OP_EXP: r.v = expl(a.v), r.err = r.v * expm1l(a.err); break;
    case MG_OP_SQRT: r.v = sqrtl(a.v), r.err = least > 0 ? a.err / sqrtl(least) : a.err ? INFINITY : 0; break;
    case MG_OP_LOG: r.v = logl(a.v), r.err = least > 0 ? a.err / least : INFINITY; break;
    case MG_OP_SILU: r.v = a.v / (1 + expl(-a.v)), r.err = 2 * a.err + unit * fabsl(a.v); break;
    case MG_OP_GELU: r.v = a.v / 2 * (1 + erfl(a.v * sqrtl(0.5L))), r.err = 2 * a.err + unit * fabsl(a.v); break;
    case MG_OP_RELU: r.v = a.v > 0 ? a.v : 0, r.err = a.err; break;
    case MG_OP_NEG: r.v = -a.v, r.err = a.err; break;
    case MG_OP_SCALE: r.v = a.v * c, r.err = a.err * fabsl(c); break;
    case MG_OP_ADD_SCALAR: r.v = a.v + c, r.err = a.err; break;
    case MG_OP_TANH: r.v = tanhl(a.v), r.err = a.err; break;
    case MG_OP_SIGMOID: r.v = 1 / (1 + expl(-a.v)), r.err = a.err; break;
    case MG_OP_RSQRT: r.v = 1 / sqrtl(a.v), r.err = least > 0 ? a.err / (least * sqrtl(least)) : INFINITY; break;
    case MG_OP_ABS: r.v = fabsl(a.v), r.err = a.err; break;
    case MG_OP_MAXIMUM: r.v = a.v > b.v ? a.v : b.v, r.err = a.err > b.err ? a.err : b.err; break;
    case MG_OP_MINIMUM: r.v = a.v < b.v ? a.v : b.v, r.err = a.err > b.err ? a.err : b.err; break;
    case MG_OP_CLAMP_MIN: r.v = a.v > c ? a.v : c, r.err = a.err; break;
    case MG_OP_CLAMP_MAX: r.v = a.v < c ? a.v : c, r.err = a.err; break;
    case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: r = a; break;
    case MG_OP_KEEP: case MG_OP_DROP: r.v = (a.v != 0) == (op == MG_OP_KEEP) ? b.v : 0, r.err = a.err == 0 || fabsl(a.v) > a.err ? b.err : INFINITY; break;
    default: return r;
  }
  r.err += 4 * unit * (fabsl(r.v) + fabsl(c));
  return r;
}
static wide *wide_at(const mg_view *v, const int64_t *i) {
  wide *p = (wide *)v->data;
  for (int d = 0; d < v->shape.rank; d++) p += i[d] * v->stride[d];
  return p;
}
static int wide_next(const mg_shape *s, int64_t *i) {
  for (int d = s->rank - 1; d >= 0; i[d--] = 0)
    if (++i[d] < s->dim[d]) return 1;
  return 0;
}
static mg_status wide_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  int64_t i[MG_MAX_RANK] = {0};
  wide none = {0, 0};
  (void)user;
  do *wide_at(out, i) = wide_op(op, *wide_at(&in[0], i), mg_op_row(op)->n_in > 1 ? *wide_at(&in[1], i) : none, c.den ? (long double)c.num / (long double)c.den : 0);
  while (wide_next(&out->shape, i));
  return MG_OK;
}
static mg_status wide_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  (void)user;
  for (int64_t x = 0; x < c->shape.dim[0]; x++)
    for (int64_t y = 0; y < c->shape.dim[1]; y++)
      for (int64_t z = 0; z < a->shape.dim[1]; z++) {
        int64_t xy[2] = {x, y}, xz[2] = {x, z}, zy[2] = {z, y};
        *wide_at(c, xy) = wide_op(MG_OP_ADD, *wide_at(c, xy), wide_op(MG_OP_MUL, *wide_at(a, xz), *wide_at(b, zy), 0), 0);
      }
  return MG_OK;
}
static mg_status wide_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t i[MG_MAX_RANK] = {0};
  (void)user;
  do {
    wide *o = wide_at(out, i), a = *wide_at(in, i);
    if (op == MG_OP_SUM) *o = wide_op(MG_OP_ADD, *o, a, 0);
    else o->v = a.v > o->v || isnan(a.v) ? a.v : o->v, o->err = a.err > o->err ? a.err : o->err;
  } while (wide_next(&in->shape, i));
  return MG_OK;
}
static void wide_fill(void *user, mg_opcode op, void *dst, size_t n) {
  (void)user;
  for (size_t k = 0; k < n; k++) ((wide *)dst)[k].v = op == MG_OP_SUM ? 0 : -INFINITY, ((wide *)dst)[k].err = 0;
}
/* Do outputs p[k][i] and g[k][i] differ beyond all rounding? */
static int wide_differ(const mg_graph *p, const mg_graph *g, uint64_t s, int round, uint32_t output, int64_t element) {
  double *in[MG_MAX_IN];
  wide *from[MG_MAX_IN], *out[2][MG_MAX_OUT];
  mg_domain d;
  mg_error e;
  int differ = 1;
  memset(&d, 0, sizeof d);
  d.elem = sizeof(wide), d.map = wide_map, d.matmul = wide_matmul, d.combine = wide_combine, d.fill = wide_fill;
  draw(p, s, round, in);
  for (uint32_t k = 0; k < p->n_in; k++) {
    int64_t n = elements(p, p->in[k]);
    from[k] = (wide *)malloc((size_t)n * sizeof(wide));
    for (int64_t i = 0; i < n; i++) from[k][i].v = in[k][i], from[k][i].err = 0;
    free(in[k]);
  }
  for (int j = 0; j < 2; j++) {
    for (uint32_t k = 0; k < p->n_out; k++) out[j][k] = (wide *)calloc((size_t)elements(p, p->out[k]), sizeof(wide));
    differ &= mg_eval(j ? g : p, &d, (const void *const *)from, (void *const *)out[j], &e) == MG_OK;
  }
  if (differ) {
    wide a = out[0][output][element], b = out[1][output][element];
    differ = fabsl(a.v - b.v) > 2 * (a.err + b.err); /* false for what is not finite */
  }
  for (int j = 0; j < 2; j++)
    for (uint32_t k = 0; k < p->n_out; k++) free(out[j][k]);
  for (uint32_t k = 0; k < p->n_in; k++) free(from[k]);
  return differ;
}
enum { SAME_FLOATS, WRONG, UNDEFINED };
/* Compares one round: where is the plainest difference?  *seen counts what both define. */
static int differs(const mg_graph *p, double **x, double **y, uint64_t *seen, uint32_t *output, int64_t *element) {
  double worst = 0;
  for (uint32_t k = 0; k < p->n_out; k++) {
    int64_t n = elements(p, p->out[k]);
    double top = 0;
    for (int64_t i = 0; i < n; i++)
      for (int j = 0; j < 2; j++) {
        double v = fabs((j ? y : x)[k][i]);
        if (isfinite(v) && v > top) top = v;
      }
    for (int64_t i = 0; i < n; i++) {
      double a = x[k][i], b = y[k][i];
      if (!isfinite(a) || !isfinite(b)) continue;
      ++*seen;
      double gap = fabs(a - b) / (fabs(a) + fabs(b));
      if (gap > 1e-7 && fabs(a - b) > 1e-10 * top && gap > worst) worst = gap, *output = k, *element = i;
    }
  }
  return worst > 0;
}
static void values_new(values *v, const mg_graph *p, int rounds) {
  memset(v, 0, sizeof *v);
  for (int r = 0; r < rounds; r++)
    for (uint32_t k = 0; k < p->n_out; k++) v->out[r][k] = (double *)calloc((size_t)elements(p, p->out[k]), sizeof(double));
}
static void values_free(values *v) {
  for (int r = 0; r < ROUNDS; r++)
    for (int k = 0; k < MG_MAX_OUT; k++) free(v->out[r][k]);
}
static int same_signature(const mg_graph *p, const mg_graph *g) {
  mg_error e;
  return mg_verify_signature(p, g, &e) == MG_OK;
}
/* Wrong: doubles show a difference, and rounding cannot explain it. */
static int judge(const mg_graph *p, const mg_graph *g, uint64_t s, const values *right, mg_error *e) {
  values v;
  uint64_t seen = 0;
  int result = SAME_FLOATS;
  values_new(&v, p, 1);
  for (int r = 0; r < rounds_of(p) && result >= 0 && result != WRONG; r++) {
    uint32_t k = 0;
    int64_t i = 0;
    if (evaluate(g, s, r, v.out[0], e) != MG_OK) result = -1;
    else if (differs(p, (double **)right->out[r], v.out[0], &seen, &k, &i)) result = wide_differ(p, g, s, r, k, i) ? WRONG : UNDEFINED;
  }
  values_free(&v);
  return result == SAME_FLOATS && !seen ? UNDEFINED : result;
}

/* ---- bases */

typedef struct base { mg_graph *p, *g; int source, large; const char *name; draft D; values right; uint64_t inputs; } base;

/* p with other extents, equal ones kept equal; those that an attribute pins stay.  LARGE passes the widths of vectors. */
enum { UNEVEN, EVEN, LARGE };
static mg_graph *resized(const mg_graph *p, uint64_t *s, int kind) {
  mg_classes c;
  mg_error e;
  mg_graph *g = NULL;
  if (mg_classes_of(p, &c, &e) != MG_OK) return NULL;
  for (uint32_t k = 0; k < c.n; k++)
    if (!c.fixed[k]) c.extent[k] = kind == LARGE ? 2 + rw_below(s, 22) : kind == EVEN ? 2 << rw_below(s, 2) | (rw_below(s, 4) == 0) * 2 : 2 + rw_below(s, 5);
  if (mg_resize(p, c.extent, NULL, &g, &e) != MG_OK) g = NULL;
  mg_classes_free(&c);
  return g;
}
static mg_graph *parsed(const char *name, const char *inputs, const char *body) {
  char text[4096];
  mg_graph *g = NULL;
  mg_error e;
  snprintf(text, sizeof text, "program %s\n%s%s", name, inputs, body);
  if (mg_parse(text, strlen(text), name, NULL, &g, &e) != MG_OK) fprintf(stderr, "%s:%d:%d: %s\n%s", e.where, e.line, e.column, e.msg, text);
  return g;
}
static mg_graph *copied(const mg_graph *g) {
  mg_graph *r = NULL;
  mg_error e;
  return mg_resize(g, NULL, NULL, &r, &e) == MG_OK ? r : NULL;
}
static int depth_of(const draft *D) {
  int n = 0;
  for (int l = 0; l < D->n_levels; l++) n += D->level[l].n;
  return n;
}
/* Rewrites B->g in place up to `steps` times; each result goes to `each` (may be NULL). */
static int rewritten(base *B, uint64_t *s, int steps, int (*each)(base *B, mg_graph *g, const draft *D, int rule, uint64_t *s)) {
  static draft D;
  mg_error e;
  for (int k = 0; k < steps; k++) {
    draft_copy(&D, &B->D);
    int r = rewrite_step(&D, s);
    mg_graph *g = r < 0 || depth_of(&D) > 70 ? NULL : draft_build(&D, "rewritten", &e);
    if (!g || !draft_read(&D, g)) {
      if (each && r >= 0) ADD(S->rewrites_refused);
      mg_graph_free(g);
      continue;
    }
    if (each && !each(B, g, &D, r, s)) { mg_graph_free(g); return 0; }
    mg_graph_free(B->g);
    B->g = g;
    draft_copy(&B->D, &D);
  }
  return 1;
}
static void base_free(base *B) {
  values_free(&B->right);
  mg_graph_free(B->p), mg_graph_free(B->g);
}
static int any_broadcast(const mg_shape *a, const mg_shape *b) {
  int r = a->rank > b->rank ? a->rank : b->rank;
  for (int d = 0; d < r; d++)
    if (rw_dim(a, r, d) != rw_dim(b, r, d) && rw_dim(a, r, d) != 1 && rw_dim(b, r, d) != 1) return 0;
  return 1;
}
/* A random program over matrices, rows and columns.  Nothing divides by what may be zero, no exponential is inside of
   another, roots and logarithms are of positive values. */
static mg_graph *random_program(uint64_t *s) {
  enum { MOST = 24 };
  mg_graph *g = mg_program_new("random", NULL);
  mg_tensor t[MOST];
  int exps[MOST] = {0}, used[MOST] = {0}, n = 0, ops = 3 + rw_below(s, 6), outs = 0, batch = rw_below(s, 4) == 0;
  int64_t m = 2 + rw_below(s, 4), k = 2 + rw_below(s, 4), c = 2 + rw_below(s, 4);
  mg_error e;
  int64_t dims[5][3] = {{2, m, k}, {2, k, c}, {2, m, c}, {1, m, 1}, {1, 1, k}};
  for (int i = 0; i < 5; i++) {
    char name[16];
    if (i > 1 && rw_below(s, 3) == 0) continue;
    snprintf(name, sizeof name, "x%d", i);
    t[n++] = mg_input(g, name, MG_F32, batch && i < 3 ? 3 : 2, dims[i] + !(batch && i < 3));
  }
  while (ops > 0 && n < MOST - 2) {
    int a = rw_below(s, 3) ? n - 1 - rw_below(s, n < 4 ? n : 4) : rw_below(s, n), b = rw_below(s, n), exp = exps[a];
    const mg_shape *x = &g->tensors[t[a].id].shape, *y = &g->tensors[t[b].id].shape;
    mg_tensor r = {0}, p;
    int one = 1;
    switch (rw_below(s, 16)) {
      case 0: r = mg_unary(g, rw_below(s, 2) ? MG_OP_NEG : MG_OP_SQR, t[a]); break;
      case 1: if (!exp) r = mg_exp(g, t[a]), exp = 1; break;
      case 2: { static const mg_opcode f[] = {MG_OP_SILU, MG_OP_GELU, MG_OP_RELU}; r = mg_unary(g, f[rw_below(s, 3)], t[a]); break; }
      case 3: p = mg_add_scalar(g, mg_sqr(g, t[a]), 1 + rw_below(s, 3), 2), r = mg_unary(g, rw_below(s, 2) ? MG_OP_SQRT : MG_OP_LOG, p); break;
      case 4: r = mg_scale(g, t[a], 1 + rw_below(s, 5), 2 + rw_below(s, 3)); break;
      case 5: r = mg_add_scalar(g, t[a], 1 - rw_below(s, 4), 1 + rw_below(s, 3)); break;
      case 6: case 7: r = mg_with_dim(g, rw_below(s, 4) ? MG_OP_SUM : MG_OP_MAX, t[a], rw_below(s, x->rank)); break;
      case 8: if (any_broadcast(x, y)) p = mg_add_scalar(g, mg_sqr(g, t[b]), 1, 1), r = mg_div(g, t[a], p), one = 0; break;
      case 9: case 10: case 11: case 12: {
        static const mg_opcode f[] = {MG_OP_ADD, MG_OP_SUB, MG_OP_MUL, MG_OP_ADD, MG_OP_MUL};
        if (any_broadcast(x, y)) r = mg_binary(g, f[rw_below(s, 5)], t[a], t[b]), one = 0;
        break;
      }
      case 13: case 14:
        if (x->dim[x->rank - 1] == y->dim[y->rank - 2] && x->dim[x->rank - 1] > 1) r = mg_matmul(g, t[a], t[b]), one = 0;
        break;
      default: {
        mg_attr A;
        memset(&A, 0, sizeof A);
        A.dim = rw_below(s, x->rank);
        if (rw_below(s, 2)) rw_swap(&A, x->rank, x->rank - 1, x->rank - 2), r = mg_apply(g, MG_OP_TRANSPOSE, &A, 1, &t[a]);
        else r = mg_apply(g, rw_below(s, 2) ? MG_OP_ROLL : MG_OP_FLIP, &A, 1, &t[a]);
      }
    }
    if (!r.id) continue;
    used[a] = 1, used[b] |= !one;
    exps[n] = exp | (!one && exps[b]), t[n++] = r, ops--;
  }
  for (int i = n - 1; i >= 0 && outs < 3; i--)
    if (!used[i] && i >= (int)g->n_in) mg_output(g, t[i]), outs++;
  if (mg_check(g, &e) == MG_OK) return g;
  mg_graph_free(g);
  return NULL;
}
/* 1 if there is a base, of one source after the other. */
static int base_new(base *B, uint64_t round, uint64_t *s) {
  mg_error e;
  memset(B, 0, offsetof(base, D));
  memset(&B->right, 0, sizeof B->right);
  B->source = (int)(round % SOURCES);
  uint64_t turn = round / SOURCES;
  if (B->source == 3 && !n_found) B->source = 1;
  if (B->source < 2) {
    int k = (int)(turn % (uint64_t)programs);
    B->name = program[k]->name;
    B->large = turn % 23 == 22;
    B->p = resized(program[k], s, B->large ? LARGE : UNEVEN), B->g = B->p ? copied(B->p) : NULL;
    ADD(S->programs_used[k]);
  } else if (B->source == 2) {
    int k = (int)(turn % HANDS);
    B->name = hand[k].name;
    B->p = parsed(hand[k].name, hand[k].inputs, hand[k].program), B->g = parsed("by_hand", hand[k].inputs, hand[k].ugraph);
    ADD(S->hand_used[k]);
  } else if (B->source == 4) {
    B->name = "random";
    B->p = random_program(s), B->g = B->p ? copied(B->p) : NULL;
    if (!B->p) return 0;
  } else {
    int k = (int)(turn % (uint64_t)n_found);
    B->name = found[k].p->name;
    B->p = copied(found[k].p), B->g = copied(found[k].g);
  }
  if (!B->p || !B->g || !draft_read(&B->D, B->g)) {
    fprintf(stderr, "not ok - no base of source %d: %s\n", B->source, B->name);
    ADD(S->failures);
    return 0;
  }
  if (B->source == 1) rewritten(B, s, 30, NULL);
  else if (B->source == 4 && turn % 2) rewritten(B, s, 15, NULL);
  else if (B->source == 2 && turn / HANDS % 2) rewritten(B, s, 6, NULL);
  B->inputs = rw_next(s);
  values_new(&B->right, B->p, rounds_of(B->p));
  for (int r = 0; r < rounds_of(B->p); r++)
    if (evaluate(B->p, B->inputs, r, B->right.out[r], &e) != MG_OK) { blame(B->p, B->g, "%s: %s", e.where, e.msg); return 0; }
  int j = judge(B->p, B->g, B->inputs, &B->right, &e);
  if (j == UNDEFINED && B->source == 4) return 0;
  if (j != SAME_FLOATS) {
    blame(B->p, B->g, "a base is not right by float64 (%s, source %d)", B->name, B->source);
    return 0;
  }
  return 1;
}

/* Through the text and back; NULL and blame if that gives another graph. */
static mg_graph *through_text(const mg_graph *p, mg_graph *g) {
  char *t = NULL;
  mg_graph *r = NULL;
  mg_error e;
  if (mg_print(g, &t, &e) != MG_OK || (snprintf(slot + strlen(slot), SLOT - strlen(slot), "%s", t), mg_parse(t, strlen(t), "mutant", NULL, &r, &e) != MG_OK)) blame(p, g, "%s:%d: %s", e.where, e.line, e.msg);
  else if (mg_hash(r) != mg_hash(g)) blame(p, g, "the text gives another graph");
  mg_string_free(t);
  mg_graph_free(g);
  return r;
}
static void describe(const base *B, const char *what) {
  char *t = text_of(B->p);
  snprintf(slot, SLOT, "%s of %s\n%s----\n", what, B->name, t);
  mg_string_free(t);
  alarm(SECONDS);
}
/* The box b of a dense array of shape x, dense. */
static double *box_of(const mg_shape *x, const mg_box *b, const double *all) {
  int64_t i[MG_MAX_RANK], n = mg_box_elements(b, x->rank);
  double *r = (double *)malloc((size_t)(n + 1) * sizeof(double));
  for (int j = 0; j < x->rank; j++) i[j] = b->lo[j];
  for (int64_t k = 0; k < n; k++) {
    int64_t at = 0;
    for (int j = 0; j < x->rank; j++) at = at * x->dim[j] + i[j];
    r[k] = all[at];
    for (int j = x->rank - 1; j >= 0; i[j] = b->lo[j], j--)
      if (++i[j] < b->hi[j]) break;
  }
  return r;
}
/* Now and then also with little memory, so that outputs are compared part by part: the verdict must be the same. */
static mg_status verdict(const base *B, const mg_graph *g, int tier, uint64_t s, mg_verify_report *r, mg_error *e) {
  mg_verify_config c = mg_verify_config_default();
  c.seed = s, c.tier = tier, c.threads = 1;
  mg_status status = mg_verify(B->p, g, &c, r, e);
  if (status == MG_OK && s % 8 == 0) {
    mg_verify_report parts;
    c.memory_limit = (size_t)1 << (9 + s / 8 % 5), c.threads = s & 64 ? 2 : 1, c.full_size = s >> 8 & 1;
    mg_error unread;
    if (mg_verify(B->p, g, &c, &parts, &unread) != MG_OK) blame(B->p, g, "with %zu bytes: %s", c.memory_limit, unread.msg);
    else if (parts.unfinished) ADD(S->unfinished);
    else if (parts.verdict != r->verdict) blame(B->p, g, "%s (%s), but with %zu bytes and seed %llu %s (%s)", mg_verdict_name(r->verdict), r->reason, c.memory_limit, N(s), mg_verdict_name(parts.verdict), parts.reason);
    else ADD(S->in_parts);
  }
  return status;
}

/* Right or wrong, a graph treats the rows of its classes alike, at drawn extents and cuts. */
static void classes_hold(const base *B, const mg_graph *g, uint64_t s) {
  mg_parallel P;
  mg_error e;
  if (mg_parallel_of(g, NULL, &P, &e) != MG_OK) { blame(B->p, g, "mg_parallel_of: %s", e.msg); return; }
  for (int round = 0; P.n && round < 3; round++) {
    char *text = NULL;
    const int natural = natural_graph(&P, 0, 1 + round, &s, &text);
    if (natural < 0) blame(B->p, g, "rows of a class are not treated alike in\n%s", text);
    if (natural > 0) ADD(S->natural);
    mg_string_free(text);
  }
  mg_parallel_free(&P);
}

/* EQUAL for all extents of classes: so it is at drawn ones, of up to three chunks that are cut as they come, by float64; and now
   and then by the test of all elements at the extents as written. */
static void every_extent_holds(const base *B, const mg_graph *g, const mg_verify_report *r, uint64_t s) {
  mg_parallel P;
  mg_error e;
  if (mg_parallel_of(B->p, g, &P, &e) != MG_OK || P.n != r->classes) { blame(B->p, g, "for all %s, and %d classes are found", r->every, P.n); return; }
  for (int round = 0; round < 3; round++) {
    int64_t extent[MG_MAX_CLASSES], chunks[MG_MAX_CLASSES];
    mg_graph *h[2] = {NULL, NULL};
    for (int c = 0; c < P.n; c++) {
      const int64_t chunk = 1 + rw_below(&s, 3);
      chunks[c] = 1 + rw_below(&s, 3), extent[c] = chunk;
      for (int k = 0; k < P.nested[c] || k == 0; k++) extent[c] *= chunks[c];
      extent[c] -= chunk > 1 ? rw_below(&s, (int)chunk) : 0;
    }
    if (mg_parallel_resize(&P, 0, extent, chunks, &h[0], &e) == MG_OK && mg_parallel_resize(&P, 1, extent, chunks, &h[1], &e) == MG_OK) {
      values right, v;
      uint64_t seen = 0;
      uint32_t k = 0;
      int64_t i = 0;
      values_new(&right, h[0], 1), values_new(&v, h[0], 1);
      const int at = rw_below(&s, rounds_of(h[0]));
      if (evaluate(h[0], s, at, right.out[0], &e) != MG_OK || evaluate(h[1], s, at, v.out[0], &e) != MG_OK) blame(h[0], h[1], "%s", e.msg);
      else if (differs(h[0], (double **)right.out[0], v.out[0], &seen, &k, &i) && wide_differ(h[0], h[1], s, at, k, i)) blame(h[0], h[1], "wrong, and accepted for all %s (%s)", r->every, r->members);
      else ADD(S->extents);
      values_free(&right), values_free(&v);
    }
    mg_graph_free(h[0]), mg_graph_free(h[1]);
  }
  mg_parallel_free(&P);
  if (rw_below(&s, 8) == 0) {
    mg_verify_config c = mg_verify_config_default();
    mg_verify_report full;
    c.seed = s, c.threads = 1, c.full_size = 1;
    if (mg_verify(B->p, g, &c, &full, &e) != MG_OK || full.verdict == MG_NOT_EQUAL) blame(B->p, g, "for all %s, but as written %s: %s", r->every, mg_verdict_name(full.verdict), full.reason);
    else ADD(S->written);
  }
  ADD(S->every);
}

/* A random part of the outputs must be what it is of the whole. */
static void parts_agree(const base *B, const mg_graph *g, uint64_t s) {
  mg_box want[MG_MAX_OUT];
  mg_part part;
  mg_error e;
  mg_domain d = mg_domain_real();
  double *in[MG_MAX_IN], *cut[MG_MAX_IN], *out[MG_MAX_OUT];
  values whole;
  int any = 0;
  memset(want, 0, sizeof want);
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_shape *x = &g->tensors[g->out[k].id].shape;
    if (rw_below(&s, 4) == 0 && (any || k + 1 < g->n_out)) continue;
    for (int i = 0; i < x->rank; i++) want[k].lo[i] = rw_below(&s, (int)x->dim[i]), want[k].hi[i] = want[k].lo[i] + 1 + rw_below(&s, (int)(x->dim[i] - want[k].lo[i]));
    any = 1;
  }
  if (mg_part_of(g, want, &part, &e) != MG_OK) { blame(B->p, g, "mg_part_of: %s", e.msg); return; }
  values_new(&whole, g, 1);
  draw(g, s, 0, in);
  mg_status status = mg_eval(g, &d, (const void *const *)in, (void *const *)whole.out[0], &e);
  for (uint32_t k = 0; k < g->n_in; k++) cut[k] = box_of(&g->tensors[g->in[k].id].shape, &part.box[g->in[k].id], in[k]);
  for (uint32_t k = 0; k < g->n_out; k++) out[k] = (double *)calloc((size_t)elements(g, g->out[k]) + 1, sizeof(double));
  if (status == MG_OK) status = mg_eval_part(g, &d, &part, (const void *const *)cut, (void *const *)out, &e);
  if (status != MG_OK) blame(B->p, g, "mg_eval_part: %s", e.msg);
  for (uint32_t k = 0; k < g->n_out && status == MG_OK; k++) {
    const mg_shape *x = &g->tensors[g->out[k].id].shape;
    const mg_box *b = &part.box[g->out[k].id];
    double *right = box_of(x, b, whole.out[0][k]);
    int64_t i[MG_MAX_RANK], n = 0;
    for (int j = 0; j < x->rank; j++) i[j] = b->lo[j];
    for (int64_t left = mg_box_elements(b, x->rank); left > 0; left--, n++) {
      int inside = 1;
      for (int j = 0; j < x->rank; j++) inside &= i[j] >= want[k].lo[j] && i[j] < want[k].hi[j];
      if (inside && fabs(out[k][n] - right[n]) > 1e-12 * fabs(right[n])) { blame(B->p, g, "output %u, element %lld of a part is %.17g, of the whole %.17g", k, (long long)n, out[k][n], right[n]); break; }
      for (int j = x->rank - 1; j >= 0; i[j] = b->lo[j], j--)
        if (++i[j] < b->hi[j]) break;
    }
    free(right);
  }
  ADD(S->parts);
  for (uint32_t k = 0; k < g->n_in; k++) free(in[k]), free(cut[k]);
  for (uint32_t k = 0; k < g->n_out; k++) free(out[k]);
  values_free(&whole);
  mg_part_free(&part);
}

/* A counterexample holds if the evaluator gives what it says. */
static int counterexample_holds(const mg_graph *p, const mg_graph *g, const mg_verify_report *r) {
  mg_domain d = mg_domain_real();
  mg_error e;
  double *in[MG_MAX_IN], got[2] = {0, 0};
  values v;
  for (uint32_t k = 0; k < p->n_in; k++) {
    in[k] = (double *)malloc((size_t)elements(p, p->in[k]) * sizeof(double));
    mg_verify_input_real(p, r->cx_seed, (int)k, in[k]);
  }
  values_new(&v, p, 2);
  for (int j = 0; j < 2; j++)
    if (mg_eval(j ? g : p, &d, (const void *const *)in, (void *const *)v.out[j], &e) == MG_OK) got[j] = v.out[j][r->cx_output][r->cx_element];
  values_free(&v);
  for (uint32_t k = 0; k < p->n_in; k++) free(in[k]);
  double top = fabs(r->cx_a) > fabs(r->cx_b) ? fabs(r->cx_a) : fabs(r->cx_b);
  return fabs(got[0] - r->cx_a) <= 1e-9 * top && fabs(got[1] - r->cx_b) <= 1e-9 * top && got[0] != got[1];
}

/* ---- the mutator */

static void mutate(base *B, int class, uint64_t s0) {
  static draft D;
  uint64_t s = s0;
  mg_error e;
  mg_verify_report full, fast;
  tally *T[2] = {&S->mutant[class], &S->source[B->source]};
#define BOTH(field) (ADD(T[0]->field), ADD(T[1]->field))
  draft_copy(&D, &B->D);
  describe(B, mutation[class].name);
  if (!mutation[class].apply(&D, &s)) return;
  mg_graph *g = draft_build(&D, "mutant", &e);
  if (!g) { BOTH(refused); return; }
  if (!same_signature(B->p, g)) {
    if (verdict(B, g, MG_TIER_FULL, s0, &full, &e) != MG_BAD_INPUT) blame(B->p, g, "unlike signatures are not refused");
    BOTH(unlike);
    mg_graph_free(g);
    return;
  }
  if (mg_hash(g) == mg_hash(B->g) || !fresh(mgi_mix(mg_hash(B->p), mg_hash(g)))) { BOTH(twice); mg_graph_free(g); return; }
  if (!(g = through_text(B->p, g))) return;
  int j = judge(B->p, g, B->inputs, &B->right, &e);
  if (j < 0 || verdict(B, g, MG_TIER_FAST, s0, &fast, &e) != MG_OK || verdict(B, g, MG_TIER_FULL, s0, &full, &e) != MG_OK) blame(B->p, g, "%s: %s (mutation: %s)", e.where, e.msg, mutation[class].name);
  else {
    BOTH(n);
    if (j == WRONG) BOTH(wrong);
    if (j == UNDEFINED) BOTH(undefined);
    BOTH(full[j][full.verdict]), BOTH(fast[j][fast.verdict]);
    if (j == WRONG && (full.verdict == MG_EQUAL || full.verdict == MG_EQUAL_SAMPLED)) blame(B->p, g, "wrong, and accepted at the certificate tier as %s: %s (mutation: %s)", mg_verdict_name(full.verdict), full.reason, mutation[class].name);
    if (full.verdict == MG_NOT_EQUAL && full.confirmed) {
      if (!counterexample_holds(B->p, g, &full)) blame(B->p, g, "no counterexample: %s", full.reason);
      else if (j == SAME_FLOATS) BOTH(floats);
    }
    classes_hold(B, g, s0);
    if (full.guarded < 0) blame(B->p, g, "the guard objects: the classes are wrong");
    if (full.verdict == MG_EQUAL && full.classes) every_extent_holds(B, g, &full, s0);
    if (s0 % 4 == 1) parts_agree(B, g, s0);
    ADD(S->mutants);
  }
  mg_graph_free(g);
}

static void mutants(uint64_t round) {
  static base B;
  uint64_t s = seed * 0x9e3779b97f4a7c15u + round;
  int total = 0;
  for (int k = 0; k < MUTATIONS; k++) total += mutation[k].often;
  if (base_new(&B, round, &s))
    for (int k = 0; k < (B.large ? PER_BASE / 4 : PER_BASE); k++) {
      int at = rw_below(&s, total), class = 0;
      while (at >= mutation[class].often) at -= mutation[class++].often;
      mutate(&B, class, rw_next(&s));
    }
  base_free(&B);
}

/* ---- the rewriter */

static int graph_has(const mg_graph *g, int what) { /* 0: a maximum; 1: an accumulator over blocks; 2: a thread graph */
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->sub && graph_has(o->sub, what)) return 1;
    if (what == 0 && (o->code == MG_OP_MAX || o->code == MG_OP_RELU)) return 1;
    if (what == 2 && o->sub && o->sub->level == MG_THREAD) return 1;
    for (uint32_t a = 1; a < g->n_axes && o->code == MG_OP_ACCUM; a++)
      if ((what == 0 && o->map.to[a] == MG_MAP_MAX) || (what == 1 && a <= 3 && o->map.to[a] != MG_MAP_NONE)) return 1;
  }
  return 0;
}
static int accept(base *B, mg_graph *g, const draft *D, int rule, uint64_t *s) {
  mg_error e;
  mg_verify_report r[2];
  (void)D;
  if (!same_signature(B->p, g)) { blame(B->p, g, "rule '%s' changed the signature", rw_rules[rule].name); return 0; }
  if (!fresh(mgi_mix(mg_hash(B->p), mg_hash(g)))) { ADD(S->rewrites_twice); return 1; }
  describe(B, rw_rules[rule].name);
  mg_graph *copy = through_text(B->p, copied(g));
  if (!copy) return 0;
  int j = judge(B->p, copy, B->inputs, &B->right, &e), good = 0, sampled = graph_has(copy, 0) || graph_has(B->p, 0);
  static const int tier[2] = {MG_TIER_FAST, MG_TIER_FULL};
  if (j < 0) blame(B->p, copy, "%s: %s (rule: %s)", e.where, e.msg, rw_rules[rule].name);
  else if (j == WRONG) blame(B->p, copy, "rule '%s' is not right, by float64", rw_rules[rule].name);
  else
    for (int t = 0; t < 2; t++) {
      good = 0;
      /* a dimension cut unevenly, and its chunks again: divisors that are not positive by facts are left (>>defined) */
      const char *left = "uneven", *empty = "may be empty";
      if (verdict(B, copy, tier[t], rw_next(s), &r[t], &e) != MG_OK) blame(B->p, copy, "%s: %s (rule: %s)", e.where, e.msg, rw_rules[rule].name);
      else if (r[t].verdict == MG_UNDECIDED && r[t].partial && (strstr(r[t].reason, left) || strstr(r[t].reason, empty))) {}
      else if (r[t].verdict != MG_EQUAL && !(r[t].verdict == MG_EQUAL_SAMPLED && sampled)) blame(B->p, copy, "right, and refused by the %s tier: %s, %s (rule: %s)", t ? "full" : "fast", mg_verdict_name(r[t].verdict), r[t].reason, rw_rules[rule].name);
      else good = 1;
      if (!good) break;
    }
  if (good) classes_hold(B, copy, *s);
  if (good && r[1].classes) every_extent_holds(B, copy, &r[1], *s + 1);
  if (good) parts_agree(B, copy, rw_next(s));
  if (good && rw_below(s, 16) == 0 && r[1].verdict == MG_EQUAL) { /* the certificate, from its text alone */
    char *text = NULL;
    mg_verify_report again;
    if (mg_certificate(B->p, copy, &r[1], &text, &e) != MG_OK || mg_certificate_check(text, strlen(text), &again, &e) != MG_OK || again.verdict != r[1].verdict) blame(B->p, copy, "certificate: %s", e.msg);
    else ADD(S->certificates);
    mg_string_free(text);
  }
  if (good) {
    ADD(S->rewrites), ADD(S->rule[rule]);
    ADD(S->rewrite_fast[r[0].verdict]), ADD(S->rewrite_full[r[1].verdict]);
    if (sampled) ADD(S->with_max);
    if (graph_has(copy, 1)) ADD(S->with_grid_accum);
    if (graph_has(copy, 2)) ADD(S->with_thread);
  }
  mg_graph_free(copy);
  return good;
}
static void rewrites(uint64_t round) {
  static base B;
  uint64_t s = (seed + 77) * 0xd6e8feb86659fd93u + round;
  if (base_new(&B, round, &s)) rewritten(&B, &s, B.large ? 10 : 40, accept);
  base_free(&B);
}

/* ---- workers: a process each, so that a crash or a hang is told with the text it came of */

static int stop_after(uint64_t done, long want) { return done >= (uint64_t)want || __atomic_load_n(&S->failures, __ATOMIC_RELAXED) >= FAILURES; }

static void run(void (*one)(uint64_t round), const uint64_t *done, long want, uint64_t least) {
  pid_t pid[JOBS];
  S->next_round = 0, S->failures = 0;
  fflush(NULL);
  for (long k = 0; k < jobs; k++) {
    pid[k] = fork();
    if (pid[k] == 0) {
      slot = S->slot[k];
      for (;;) {
        uint64_t round = ADD(S->next_round);
        if (round >= least && stop_after(__atomic_load_n(done, __ATOMIC_RELAXED), want)) break;
        if (__atomic_load_n(&S->failures, __ATOMIC_RELAXED) >= FAILURES) break;
        one(round);
      }
      alarm(0);
      _exit(0);
    }
    assert_true(pid[k] > 0);
  }
  for (long k = 0; k < jobs; k++) {
    int status = 0;
    waitpid(pid[k], &status, 0);
    if (status) {
      fprintf(stderr, "not ok - a worker ended with %s %d; it was at: %s\n---- (seed %llu)\n", WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), S->slot[k], (unsigned long long)seed);
      S->failures++;
    }
  }
  if (S->failures) fail_msg("%llu failures, seed %llu", (unsigned long long)S->failures, (unsigned long long)seed);
}

static void print_tally(const char *name, const tally *t) {
  const uint64_t *w = t->full[WRONG], *q = t->full[SAME_FLOATS], *f = t->fast[WRONG];
  print_message("%-28s %7llu %7llu | %7llu %6llu %4llu %4llu | %6llu %5llu %5llu %5llu %5llu | %5llu | %4llu %4llu | %7llu %6llu %6llu\n", name, N(t->n), N(t->wrong), N(w[MG_NOT_EQUAL]), N(w[MG_UNDECIDED]), N(w[MG_EQUAL]), N(w[MG_EQUAL_SAMPLED]),
                N(q[MG_EQUAL]), N(q[MG_EQUAL_SAMPLED]), N(q[MG_NOT_EQUAL]), N(t->floats), N(q[MG_UNDECIDED]), N(t->undefined), N(f[MG_EQUAL]), N(f[MG_EQUAL_SAMPLED]), N(t->refused), N(t->twice), N(t->unlike));
}
static void sum_tally(tally *to, const tally *t) {
  for (size_t k = 0; k < sizeof *t / sizeof(uint64_t); k++) ((uint64_t *)to)[k] += ((const uint64_t *)t)[k];
}

static void no_wrong_one_is_accepted(void **state) {
  static const char *const source[SOURCES] = {"programs as they are", "kernels by the rewriter", "kernels by hand", "kernels by the search", "random programs, kernels"};
  tally all;
  (void)state;
  memset(&all, 0, sizeof all);
  run(mutants, &S->mutants, want_mutants, SOURCES * HANDS);
  print_message("%-28s %7s %7s | of wrong ones, full tier:   | of those equal by float64, full tier   | un-   | fast tier | not mutants:\n", "", "", "");
  print_message("%-28s %7s %7s | %7s %6s %4s %4s | %6s %5s %5s %5s %5s | %5s | %4s %4s | %7s %6s %6s\n", "mutation", "mutants", "wrong", "NOT_EQ", "UNDEC", "EQ", "SAMP", "EQ", "SAMP", "NOT", "conf", "UNDEC", "def", "EQ", "SAMP", "refused", "again", "unlike");
  for (int k = 0; k < MUTATIONS; k++) {
    print_tally(mutation[k].name, &S->mutant[k]);
    sum_tally(&all, &S->mutant[k]);
  }
  for (int k = 0; k < SOURCES; k++) print_tally(source[k], &S->source[k]);
  print_tally("all", &all);
  assert_true(all.n >= (uint64_t)want_mutants && all.wrong * 2 >= all.n);
  assert_int_equal(all.full[WRONG][MG_EQUAL] + all.full[WRONG][MG_EQUAL_SAMPLED], 0);
  for (int k = 0; k < MUTATIONS; k++) /* every mutation makes wrong ones */
    if (!S->mutant[k].wrong && want_mutants >= 10000) fail_msg("no wrong mutant by '%s', seed %llu", mutation[k].name, N(seed));
  for (int k = 0; k < programs; k++) assert_true(S->programs_used[k] || want_mutants < 10000);
  for (int k = 0; k < HANDS; k++) assert_true(S->hand_used[k]);
}

static void no_right_one_is_refused(void **state) {
  (void)state;
  run(rewrites, &S->rewrites, want_rewrites, 2 * SOURCES);
  for (int k = 0; k < RW_RULES; k++) print_message("%-32s %8llu\n", rw_rules[k].name, N(S->rule[k]));
  print_message("right by algebra: %llu (%llu seen before, %llu no valid graph); %llu with a maximum, %llu with an accumulator over blocks, %llu with a thread graph\n", N(S->rewrites), N(S->rewrites_twice), N(S->rewrites_refused), N(S->with_max),
                N(S->with_grid_accum), N(S->with_thread));
  print_message("fast tier: %llu EQUAL, %llu EQUAL_SAMPLED; full tier: %llu EQUAL, %llu EQUAL_SAMPLED\n", N(S->rewrite_fast[MG_EQUAL]), N(S->rewrite_fast[MG_EQUAL_SAMPLED]), N(S->rewrite_full[MG_EQUAL]), N(S->rewrite_full[MG_EQUAL_SAMPLED]));
  print_message("mutants and these: %llu evaluated in part, %llu verified again within 512 to 8192 bytes (%llu more want more); %llu certificates rechecked\n", N(S->parts), N(S->in_parts), N(S->unfinished), N(S->certificates));
  print_message("rows of classes picked at %llu extents; EQUAL for all extents: %llu, compared at %llu others, %llu tested at their own too\n", N(S->natural), N(S->every), N(S->extents), N(S->written));
  assert_true(S->rewrites >= (uint64_t)want_rewrites && S->parts && S->in_parts && S->certificates);
  assert_true(S->natural && S->every && S->extents && S->written);
  assert_int_equal(S->rewrite_full[MG_EQUAL] + S->rewrite_full[MG_EQUAL_SAMPLED], S->rewrites);
}

/* ---- set up */

static int by_name(const void *a, const void *b) { return strcmp((*(mg_graph *const *)a)->name, (*(mg_graph *const *)b)->name); }

static void read_programs(void) {
  DIR *d = opendir("examples/programs");
  struct dirent *f;
  if (!d) { fprintf(stderr, "not ok - run from the repository's top directory: no examples/programs here\n"); exit(1); }
  while ((f = readdir(d)) && programs < PROGRAMS) {
    char path[400];
    size_t n = strlen(f->d_name);
    mg_error e;
    if (n < 3 || strcmp(f->d_name + n - 3, ".mg")) continue;
    snprintf(path, sizeof path, "examples/programs/%.255s", f->d_name);
    if (mg_parse_file(path, NULL, &program[programs], &e) != MG_OK) { fprintf(stderr, "not ok - %s: %s\n", e.where, e.msg); exit(1); }
    programs++;
  }
  closedir(d);
  qsort(program, (size_t)programs, sizeof *program, by_name);
}
/* What the search makes of programs, small.  The limits are counts, so that the seed alone decides; the time limit is
   for the few sizes that take long all the same. */
static void search_programs(void) {
  uint64_t s = seed;
  int first = rw_below(&s, programs);
  for (long k = 0; k < want_searches && n_found + FOUND / PROGRAMS <= FOUND; k++) {
    mg_graph *p = resized(program[(first + 5 * k) % programs], &s, EVEN);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.threads = 1, c.top_k = FOUND / PROGRAMS, c.max_states = 256, c.max_structures = 200, c.max_steps = 5000, c.egraph.nodes = 4000, c.time_limit_s = 60;
    if (p && mg_search(p, &c, &r, &e) == MG_OK) {
      for (int j = 0; j < r.n; j++)
        if ((found[n_found].p = copied(p)) && (found[n_found].g = copied(r.graph[j]))) n_found++;
      mg_search_result_free(&r);
    }
    mg_graph_free(p);
  }
}
static long option(const char *name, long otherwise, long most) {
  const char *v = getenv(name);
  long n = v ? strtol(v, NULL, 10) : otherwise;
  return n < 1 ? otherwise : n > most ? most : n;
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  want_mutants = option("SOAK_MUTANTS", want_mutants, TABLE / 2), want_rewrites = option("SOAK_REWRITES", want_rewrites, TABLE / 4);
  want_searches = option("SOAK_SEARCHES", want_searches, PROGRAMS), jobs = option("SOAK_JOBS", 1, JOBS);
  printf("seed %llu\n", N(seed));
  fflush(stdout);
  S = (shared *)mmap(NULL, sizeof *S, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (S == MAP_FAILED) return 4;
  read_programs();
  search_programs();
  printf("%d programs, %d written by hand, %d of the search\n", programs, (int)HANDS, n_found);
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_wrong_one_is_accepted), cmocka_unit_test(no_right_one_is_refused)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int k = 0; k < programs; k++) mg_graph_free(program[k]);
  for (int k = 0; k < n_found; k++) mg_graph_free(found[k].p), mg_graph_free(found[k].g);
  munmap(S, sizeof *S);
  return failed;
}
