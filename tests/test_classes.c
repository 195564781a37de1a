/* Classes of an index (mirage.h, >>classes) and EQUAL for all their extents (mirage_verify.h, EXTENTS).
     rows         every yes of the operator table's column holds under maps of indices, every no has a counterexample
     graphs       whole graphs: rows picked from the inputs are the rows picked from the outputs, at other extents and cuts
     verdicts     what is EQUAL for which classes, and what is not, though it is at small extents
     certificates say so, and are rechecked from their text
   gcc -std=c11 -O2 -Wall -Wextra tests/test_classes.c -o build/test_classes -lcmocka -lm -lpthread && build/test_classes [SEED] */
#define MG_USER_OPS(E, T) \
  E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a)) \
  T(FLIP, "flip", 1, MG_KB_, DIM, SAME, SAME, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim], MOVE, MG_OTHERS)
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "natural.h"
#include "parse.h"
#include "splitmix.h"

static uint64_t seed = 1, state;
static int below(int n) { return (int)(next(&state) % (uint64_t)n); }
static int begin(void **s) { (void)s; state = seed; return 0; }

static double *evaluated(const mg_graph *g, double *const *in, int output) {
  mg_error e;
  double *r = natural_evaluated(g, in, output, &e);
  if (!r) fail_msg("%s: %s", e.where, e.msg);
  return r;
}

/* ---- the column */

typedef struct applied { mg_opcode op; mg_attr A; int n; mg_shape in[MG_MAX_IN], out; } applied;

/* Operator x over inputs of its shapes; x->out is set. */
static mg_graph *applied_program(applied *x) {
  mg_graph *g = mg_program_new("one", NULL);
  mg_tensor in[MG_MAX_IN];
  mg_error e;
  for (int k = 0; k < x->n; k++) {
    char name[16];
    snprintf(name, sizeof name, "X%d", k);
    in[k] = mg_input(g, name, x->op == MG_OP_GATHER && k ? MG_I32 : MG_F32, x->in[k].rank, x->in[k].dim);
  }
  const mg_tensor t = mg_apply(g, x->op, &x->A, x->n, in);
  mg_output(g, mg_named(g, t, "O"));
  if (mg_check(g, &e) != MG_OK) { mg_graph_free(g); return NULL; }
  x->out = g->tensors[t.id].shape;
  return g;
}
/* Shapes and attributes for a row, small and with equal extents often. */
static applied drawn_row(mg_opcode op) {
  const mg_op_info *row = mg_op_row(op);
  applied x;
  memset(&x, 0, sizeof x);
  x.op = op, x.n = row->n_in, x.A.c = mg_rat(1 + below(3), 1 + below(3));
  const int rank = 2 + below(3), extent = 2 + below(3);
  for (int k = 0; k < x.n; k++) {
    x.in[k].rank = rank;
    for (int d = 0; d < rank; d++) x.in[k].dim[d] = k ? x.in[0].dim[d] : below(2) ? extent : 2 + below(4);
  }
  if (row->attr == MG_ATTR_DIM || row->attr == MG_ATTR_DIMN) x.A.dim = below(rank), x.A.n = 2 + below(2);
  if (row->attr == MG_ATTR_SLICE) { /* a part, as all of it is the identity */
    x.A.dim = below(rank);
    const int all = (int)x.in[0].dim[x.A.dim];
    x.A.n = 1 + below(all - 1), x.A.from = below(all - (int)x.A.n + 1);
  }
  if (op == MG_OP_GATHER) x.in[0].rank = 1 + below(3), x.in[1].rank = 1 + below(2);
  if (op == MG_OP_CONCAT) x.in[1].dim[x.A.dim] = 1 + below(4);
  if (row->elementwise && x.n > 1 && below(2)) { /* broadcast, and of a lower rank */
    x.in[1].dim[below(rank)] = 1;
    if (below(2)) x.in[1].rank--, memmove(x.in[1].dim, x.in[1].dim + 1, sizeof x.in[1].dim - sizeof *x.in[1].dim);
  }
  if (row->attr == MG_ATTR_PERM)
    for (int d = 0; d < rank; d++) {
      const int with = below(d + 1);
      x.A.perm[d] = x.A.perm[with], x.A.perm[with] = d;
    }
  if (row->attr == MG_ATTR_SHAPE) { /* dimensions are split and joined at random */
    mg_shape *to = &x.A.shape;
    for (int d = 0; d < rank; d++) {
      const int64_t n = x.in[0].dim[d];
      if (to->rank && below(3) == 0) to->dim[to->rank - 1] *= n;
      else if (n == 4 && to->rank < 4 && below(2)) to->dim[to->rank++] = 2, to->dim[to->rank++] = 2;
      else to->dim[to->rank++] = n;
    }
  }
  if (row->parallel == MG_PRODUCTS) {
    const int half = x.n / 2;
    for (int k = half; k < x.n; k++) x.in[k].dim[rank - 2] = x.in[k - half].dim[rank - 1], x.in[k].dim[rank - 1] = x.in[half].dim[rank - 1];
    for (int k = 0, b = below(3); b && k < x.n && rank > 2; k++) if (b == 1 ? k < half : k >= half) x.in[k].dim[0] = 1;
  }
  return x;
}
/* Does T(phi*x) = phi*T(x) hold at one map of `now` of the extent's indices, along set[] of the operands (bit d of set[k]) and
   dimension f of the result (-1: none)?  -1 if the operator has no such shape. */
static int natural_once(applied x, const uint32_t *set, int f, int64_t extent, int64_t now, const int8_t (*run)[MG_MAX_RANK]) {
  const row_pick p = pick_drawn(&state, extent, now);
  double *in[MG_MAX_IN], *to[MG_MAX_IN];
  const row_pick *by[MG_MAX_IN + 1][MG_MAX_RANK] = {{NULL}};
  mg_shape shape;
  applied y = x;
  mg_graph *g = applied_program(&x), *h = NULL;
  for (int k = 0; k < x.n; k++) {
    for (int d = 0; d < x.in[k].rank; d++) if (set[k] >> d & 1) by[k][d] = &p;
    in[k] = pick_values(&state, mg_shape_elements(&x.in[k])), to[k] = picked(in[k], &x.in[k], by[k], &y.in[k]);
  }
  if (x.op == MG_OP_RESHAPE && run && f >= 0) y.A.shape.dim[f] = now;
  int good = g && (h = applied_program(&y)) != NULL ? 1 : -1;
  if (good == 1) {
    double *a = evaluated(g, in, 0), *b = evaluated(h, to, 0);
    if (f >= 0) by[MG_MAX_IN][f] = &p;
    double *c = picked(a, &x.out, by[MG_MAX_IN], &shape);
    good = mg_shape_elements(&shape) == mg_shape_elements(&y.out) && pick_alike(c, b, mg_shape_elements(&shape));
    free(a), free(b), free(c);
  }
  for (int k = 0; k < x.n; k++) free(in[k]), free(to[k]);
  mg_graph_free(g), mg_graph_free(h);
  return good;
}
/* A yes: all dimensions that run through f, at fewer and at more indices. */
static int check_yes(const applied *x, int f, const int8_t (*run)[MG_MAX_RANK]) {
  uint32_t set[MG_MAX_IN] = {0};
  int any = 0;
  for (int k = 0; k < x->n; k++)
    for (int d = 0; d < x->in[k].rank; d++)
      if (run[k][d] == f && x->in[k].dim[d] == x->out.dim[f] && x->out.dim[f] > 1) set[k] |= 1u << d, any = 1;
  for (int64_t now = 1; any && now <= 2 * x->out.dim[f] + 1; now++)
    if (natural_once(*x, set, f, x->out.dim[f], now, run) != 1) fail_msg("%s: result dimension %d of extent %lld is not parallel at %lld", mg_op_row(x->op)->name, f, (long long)x->out.dim[f], (long long)now);
  return any;
}
/* A no: dimension d of operand k, with whatever others of its extent and dimension of the result, has a counterexample. */
static int check_no(const applied *x, int k, int d) {
  const int64_t extent = x->in[k].dim[d];
  int other[MG_MAX_IN * MG_MAX_RANK][2], n = 0;
  for (int j = 0; j < x->n; j++)
    for (int i = 0; i < x->in[j].rank; i++)
      if ((j != k || i != d) && x->in[j].dim[i] == extent) other[n][0] = j, other[n++][1] = i;
  for (uint32_t with = 0; with < 1u << n; with++)
    for (int f = -1; f < x->out.rank; f++) {
      uint32_t set[MG_MAX_IN] = {0};
      int broken = f >= 0 && x->out.dim[f] != extent;
      set[k] |= 1u << d;
      for (int j = 0; j < n; j++) if (with >> j & 1) set[other[j][0]] |= 1u << other[j][1];
      for (int tries = 0; tries < 60 && !broken; tries++) broken = natural_once(*x, set, f, extent, extent, NULL) == 0;
      if (!broken) return 0;
    }
  return 1;
}
static void every_row(void **s) {
  (void)s;
  for (int op = 1; op < MG_OP_TABLE_END; op++) {
    const mg_op_info *row = mg_op_row((mg_opcode)op);
    int yes = 0, no = 0;
    if (row->abstract == MG_ABS_SUGAR) { assert_int_equal(row->parallel, MG_NOWHERE); continue; }
    if (row->user) assert_int_equal(row->parallel, MG_NOWHERE); /* whatever it says */
    for (int n = 0; n < 60; n++) {
      applied x = drawn_row((mg_opcode)op);
      int8_t run[MG_MAX_IN][MG_MAX_RANK];
      mg_graph *g = applied_program(&x);
      if (!g) continue;
      mg_graph_free(g);
      mg_op_runs(x.op, &x.A, x.in, &x.out, run);
      for (int f = 0; f < x.out.rank; f++) yes += check_yes(&x, f, (const int8_t (*)[MG_MAX_RANK])run);
      for (int k = 0; k < x.n && no < 20 && !row->user; k++)
        for (int d = 0; d < x.in[k].rank; d++) {
          if (run[k][d] >= 0 || x.in[k].dim[d] == 1) continue;
          if (!check_no(&x, k, d)) fail_msg("%s: no counterexample for dimension %d of operand %d", row->name, d, k);
          no++;
        }
    }
    assert_true(row->user ? yes == 0 : yes > 20);
    if (row->parallel == MG_PRODUCTS || row->parallel == MG_OTHERS || row->parallel == MG_GROUPS || row->parallel == MG_PICKED) assert_true(no >= 10);
  }
}

/* ---- whole graphs */

/* every: the classes of both.  The verdict is for all of their extents if it is EQUAL. */
typedef struct pair { const char *name, *inputs, *a, *b; mg_verdict verdict; const char *every; } pair;
#define WRITTEN "" /* there is none */
static const pair pairs[] = {
    {"rmsnorm and linear", "input X : f16[16, 8]\ninput G : f16[8]\ninput W : f16[8, 12]\n", "O = matmul(rms_norm(X, G, eps=1/1000), W)\n",
     "O = kernel grid=(x=3, y=4) {\nfor i=2 {\na = load X {y->0, i->1}\nb = matmul(mul(a, load G {i->0}), load W {x->1, i->0})\ns = sum(sqr(a), dim=1)\n}\n"
     "store div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/8), 1/1000))) {x->1, y->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"rows in chunks of one", "input X : f16[6, 4]\ninput W : f16[4, 5]\n", "O = silu(matmul(X, W))\n", "O = kernel grid=(x=6) {\nstore silu(matmul(load X {x->0}, load W {x->*})) {x->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"rows by blocks and by a loop", "input X : f16[12, 4]\ninput B : f16[12, 1]\n", "O = mul(exp(X), B)\n",
     "O = kernel grid=(x=2) {\nfor i=3 {\nm = mul(exp(load X {x->0, i->0}), load B {x->0, i->0})\n}\nstore accum(m) {i->0} {x->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"ragged rows", "input X : f16[7, 5]\ninput W : f16[5, 3]\n", "O = matmul(X, W)\n", "O = kernel grid=(x=3) {\nfor k=2 {\nm = matmul(load X {x->0, k->1}, load W {k->0})\n}\nstore accum(m) {k->+} {x->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"attention in parts", "input Q : f16[2, 6, 4]\ninput K : f16[2, 4, 8]\ninput V : f16[2, 8, 6]\n", "O = matmul(softmax(scale(matmul(Q, K), 1/2), dim=2), V)\n",
     "O = kernel grid=(x=2, y=3) {\nq = scale(load Q {x->0, y->1}, 1/2)\nfor i=4 {\ne = exp(matmul(q, load K {x->0, i->2}))\no = matmul(e, load V {x->0, i->1})\ns = sum(e, dim=2)\n}\n"
     "store div(accum(o) {i->+}, accum(s) {i->+}) {x->0, y->1}\n}\n", MG_EQUAL, "M >= 1, N >= 1, P >= 1"},
    {"split over blocks", "input X : f16[4, 12]\ninput W : f16[12, 6]\n", "O = matmul(X, W)\n",
     "O = kernel grid=(x=2, z=2) {\nfor i=3 {\nm = matmul(load X {z->1, i->1}, load W {x->1, z->0, i->0})\n}\nstore accum(accum(m) {i->+}) {z->+} {x->1}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"heads taken apart", "input X : f16[6, 8]\ninput W : f16[2, 4, 3]\n", "O = matmul(transpose(reshape(X, [6, 2, 4]), [1, 0, 2]), W)\n",
     "O = scale(scale(matmul(transpose(reshape(X, [6, 2, 4]), [1, 0, 2]), W), 2), 1/2)\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"the last dimension of a reshape", "input X : f16[4, 2, 6]\n", "O = exp(reshape(X, [8, 6]))\n", "O = reshape(exp(X), [8, 6])\n", MG_EQUAL, "M >= 1"},
    {"two that one loop cuts are one", "input X : f16[6, 4]\ninput Y : f16[6, 4]\n", "O = sqr(X)\nP = exp(Y)\noutput P\n",
     "O, P = kernel grid=(x=3) {\na = load X {x->0}\nb = load Y {x->0}\nstore mul(a, a) {x->0}\nstore exp(b) {x->0}\n}\noutput P\n", MG_EQUAL, "M >= 1, N >= 1, Q >= 1"},
    {"self-attention: its rows are contracted", "input X : f16[6, 4]\n", "O = matmul(matmul(X, transpose(X, [1, 0])), X)\n", "O = matmul(X, matmul(transpose(X, [1, 0]), X))\n", MG_EQUAL, WRITTEN},
    /* what DESIGN.md's theorem has to refuse: wrong, and equal at small extents */
    {"an axis cuts rows, and W, which is summed", "input X : f16[8, 4]\ninput W : f16[8, 4]\n", "O = add(X, sum(W, dim=0))\n",
     "O = kernel grid=(x=4) {\nstore add(load X {x->0}, sum(load W {x->0}, dim=0)) {x->0}\n}\n", MG_NOT_EQUAL, "M >= 1"},
    {"a loop that cuts nothing sums a replica", "input X : f16[16, 4]\n", "O = exp(X)\n", "O = kernel grid=(x=2) {\nfor i=4 {\ne = exp(load X {x->0, i->*})\n}\nstore accum(e) {i->+} {x->0}\n}\n", MG_NOT_EQUAL, "M >= 1, N >= 1"},
    {"a loop that cuts rows sums what has none", "input X : f16[8, 4]\ninput B : f16[4]\n", "O = add(X, scale(B, 4))\n",
     "O = kernel grid=(y=2) {\nfor i=4 {\na = load X {y->1, i->0}\nb = load B {y->0}\n}\nstore add(accum(a) {i->0}, accum(b) {i->+}) {y->1}\n}\n", MG_EQUAL, "M >= 1"},
    {"a loop that cuts nothing and sums a replica rightly", "input X : f16[16, 4]\n", "O = scale(X, 4)\n", "O = kernel grid=(x=2) {\nfor i=4 {\ne = load X {x->0, i->*}\n}\nstore accum(e) {i->+} {x->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"a square and its transpose", "input X : f16[4, 4]\n", "O = scale(X, 2)\n", "O = scale(transpose(X, [1, 0]), 2)\n", MG_NOT_EQUAL, WRITTEN},
    {"products of rows against their squares", "input X : f16[4, 6]\n", "O = matmul(X, transpose(X, [1, 0]))\n", "O = repeat(sum(sqr(X), dim=1), dim=1, n=4)\n", MG_NOT_EQUAL, WRITTEN},
    {"two square operands, cut by swapped axes", "input X : f16[4, 4]\ninput W : f16[4, 4]\n", "O = add(X, W)\n",
     "O = kernel grid=(x=2, y=2) {\nstore add(load X {x->0, y->1}, load W {x->1, y->0}) {x->0, y->1}\n}\n", MG_NOT_EQUAL, WRITTEN},
    /* what a review of it found: wrong, and equal at extent 2 */
    {"cuts undone in the wrong order", "input X : f16[4, 4]\n", "O = relu(X)\n",
     "O = kernel grid=(x=2, y=2) threads=32 {\na = load X {x->0, y->0}\nb = relu(a)\nc = accum(b) {x->0}\nstore c {x->*, y->0}\n}\n", MG_NOT_EQUAL, "M >= 1"},
    {"a replica stored along the rows, then summed", "input W : f16[1, 4]\ninput X : f16[4, 4]\n", "O = relu(X)\nZ = scale(W, 2)\noutput Z\n",
     "O, R = kernel grid=(x=4) threads=32 {\na = load X {x->0}\nw = load W {x->*}\nb = relu(a)\nstore b {x->0}\nstore w {x->0}\n}\nZ = sum(R, dim=0)\noutput Z\n", MG_NOT_EQUAL, "M >= 1, N >= 1"},
    {"a replica put together along the rows, then summed", "input W : f16[1, 4]\ninput X : f16[4, 4]\n", "O = relu(X)\nZ = scale(W, 2)\noutput Z\n",
     "O, Z = kernel grid=(x=1) threads=32 {\nfor i=4 {\na = load X {i->0}\nw = load W {i->*}\nb = relu(a)\n}\nd = accum(w) {i->0}\nstore accum(b) {i->0} {}\nstore sum(d, dim=0) {}\n}\noutput Z\n", MG_NOT_EQUAL, "M >= 1, N >= 1"},
    {"a replica summed over the rows' blocks", "input W : f16[1, 4]\ninput X : f16[4, 4]\n", "O = relu(X)\nZ = relu(W)\noutput Z\n",
     "O, Z = kernel grid=(x=2) threads=32 {\na = load X {x->0}\nw = load W {x->*}\nb = relu(a)\nv = relu(w)\ns = accum(v) {x->+}\nstore b {x->0}\nstore s {x->*}\n}\noutput Z\n", MG_NOT_EQUAL, "M >= 1, N >= 1"},
    {"block maps swapped on a square", "input X : f16[4, 4]\n", "O = relu(X)\n", "O = kernel grid=(x=2, y=2) threads=32 {\nstore relu(load X {x->0, y->1}) {x->1, y->0}\n}\n", MG_NOT_EQUAL, WRITTEN},
    {"a sum that counts its terms", "input X : f16[3, 4]\n", "O = add_scalar(sum(X, dim=0), 2)\n", "O = sum(add_scalar(X, 1), dim=0)\n", MG_NOT_EQUAL, "M >= 1"},
    {"a reshape of which one dimension follows", "input X : f16[4, 8]\n", "O = exp(reshape(X, [4, 2, 4]))\n", "O = reshape(exp(X), [4, 2, 4])\n", MG_EQUAL, "M >= 1"},
    {"rows and what is merged with them", "input X : f16[6, 4]\n", "O = exp(reshape(X, [24]))\n", "O = reshape(exp(X), [24])\n", MG_EQUAL, WRITTEN},
    {"a chunk of one that broadcasts", "input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = mul(X, sum(Y, dim=0))\n",
     "O = kernel grid=(x=4) {\nstore sum(mul(load X {x->0}, load Y {x->*}), dim=0) {x->0}\n}\n", MG_EQUAL, "M >= 1"},
    {"alike where chunks are of one, and not at other sizes", "input Q : f16[6, 4, 2]\ninput K : f16[6, 2, 4]\ninput V : f16[6, 4, 2]\n", "O = matmul(softmax(matmul(Q, K), dim=2), V)\n",
     "O = kernel grid=(x=2, y=4, z=6) threads=32 {\ne = exp(matmul(load Q {x->*, y->1, z->0}, load K {x->*, y->*, z->0}))\n"
     "store matmul(div(e, sum(transpose(e, [1, 0, 2]), dim=2)), load V {x->2, y->*, z->0}) {x->2, y->1, z->0}\n}\n", MG_EQUAL, "M >= 1"},
    {"a chunk of one of what is summed", "input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = mul(X, sum(Y, dim=0))\n",
     "O = kernel grid=(x=2) {\nfor i=4 {\nm = mul(load X {x->0, i->*}, load Y {x->*, i->0})\n}\nstore accum(m) {i->+} {x->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
    {"the mean's constant is of the extent as written", "input X : f16[4, 6]\n", "O = mean(X, dim=0)\n", "O = sum(scale(X, 1/4), dim=0)\n", MG_EQUAL, "M >= 1"},
    {"a concatenation in the indexed dimension", "input X : f16[4, 6]\n", "O = concat(exp(X), exp(X), dim=0)\n", "O = exp(concat(X, X, dim=0))\n", MG_EQUAL, "M >= 1"},
    {"a repetition in the indexed dimension", "input X : f16[4, 6]\n", "O = repeat(exp(X), dim=0, n=2)\n", "O = exp(repeat(X, dim=0, n=2))\n", MG_EQUAL, "M >= 1"},
    {"a row of the user's is parallel nowhere", "input X : f16[4, 6]\n", "O = scale(bend(X), 2)\n", "O = add(bend(X), bend(X))\n", MG_EQUAL, WRITTEN},
    {"a moving row of the user's", "input X : f16[4, 6]\n", "O = scale(flip(X, dim=1), 2)\n", "O = add(flip(X, dim=1), flip(X, dim=1))\n", MG_EQUAL, WRITTEN},
};
static mg_graph *side(const pair *p, int which) {
  char text[2048];
  snprintf(text, sizeof text, "program %s\n%s%soutput O\n", which ? "b" : "a", p->inputs, which ? p->b : p->a);
  return parse(text);
}

static void every_graph(void **s) {
  (void)s;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    mg_graph *g[2] = {side(&pairs[k], 0), side(&pairs[k], 1)};
    for (int form = 0; form < 3; form++) { /* both at once, and each alone: that has the more classes */
      mg_parallel P;
      mg_error e;
      int done = 0;
      assert_int_equal(mg_parallel_of(g[form == 2], form ? NULL : g[1], &P, &e), MG_OK);
      for (int n = 0; n < 60; n++)
        for (int which = 0; which < P.graphs; which++) {
          char *text = NULL;
          const int natural = natural_graph(&P, which, 1 + n % 3, &state, &text);
          if (natural < 0) fail_msg("%s: not that of the rows picked:\n%s", pairs[k].name, text);
          done += natural;
        }
      if (done < 20) fail_msg("%s: only %d of 60 extents were taken", pairs[k].name, done);
      mg_parallel_free(&P);
    }
    mg_graph_free(g[0]), mg_graph_free(g[1]);
  }
}

/* ---- verdicts and certificates */

/* Each class is a symbol of both graphs' text, unless axes cut it one after another, or it is none of the second graph
   alone: then it stays as written. */
static void printed_in_symbols(const mg_graph *a, const mg_graph *b, const char *text, const mg_verify_report *r) {
  mg_parallel P, own;
  mg_graph *of[2];
  mg_error e;
  char line[64], name[16];
  assert_int_equal(mg_parallel_of(a, b, &P, &e), MG_OK);
  assert_int_equal(mg_parallel_of(b, NULL, &own, &e), MG_OK);
  for (int c = 0; c < P.n; c++) {
    int plain = P.nested[c] <= 1;
    for (uint32_t k = 0; k < a->n_in; k++)
      for (int d = 0; d < MG_MAX_RANK; d++) plain &= P.in[k][d] != c || own.in[k][d] >= 0;
    snprintf(line, sizeof line, "\nsym %s in 1..%lld\n", mgi_every_name(&P, a, c, name), (long long)P.extent[c]);
    const char *first = strstr(text, line);
    if ((first != NULL) != (r->classes && plain)) fail_msg("%s is%s a symbol:\n%s", name, first ? "" : " not", text);
    assert_int_equal(first && strstr(first + 1, line), first != NULL);
  }
  assert_int_equal(mg_certificate_graphs(text, strlen(text), &of[0], &of[1], &e), MG_OK);
  assert_true(mg_graph_equal(of[0], a) && mg_graph_equal(of[1], b));
  mg_graph_free(of[0]), mg_graph_free(of[1]);
  mg_parallel_free(&P), mg_parallel_free(&own);
}

static void every_verdict(void **s) {
  (void)s;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    const pair *p = &pairs[k];
    mg_graph *a = side(p, 0), *b = side(p, 1);
    mg_verify_config c = mg_verify_config_default();
    mg_verify_report r, full;
    mg_error e;
    c.threads = 1;
    if (mg_verify(a, b, &c, &r, &e) != MG_OK) fail_msg("%s: %s: %s", p->name, e.where, e.msg);
    c.full_size = 1;
    if (mg_verify(a, b, &c, &full, &e) != MG_OK) fail_msg("%s: %s: %s", p->name, e.where, e.msg);
    mg_parallel P;
    mg_verify_report found;
    memset(&found, 0, sizeof found);
    assert_int_equal(mg_parallel_of(a, b, &P, &e), MG_OK);
    mgi_every_words(&P, a, &found);
    mg_parallel_free(&P);
    if (r.verdict != p->verdict || strcmp(found.every, p->every)) fail_msg("%s: %s, classes '%s' for '%s': %s; %s", p->name, mg_verdict_name(r.verdict), found.every, p->every, found.members, r.reason);
    assert_string_equal(r.every, r.verdict == MG_EQUAL ? p->every : "");
    assert_int_equal(full.verdict, p->verdict);
    assert_int_equal(full.classes, 0);
    if (r.verdict == MG_EQUAL) {
      char *text = NULL;
      assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
      assert_int_equal(strstr(text, "\nextents every\n") != NULL, r.classes > 0);
      mg_verify_report again;
      if (mg_certificate_check(text, strlen(text), &again, &e) != MG_OK) fail_msg("%s: %s: %s\n%s", p->name, e.where, e.msg, text);
      assert_int_equal(again.classes, r.classes);
      printed_in_symbols(a, b, text, &r);
      mg_string_free(text);
    }
    mg_graph_free(a), mg_graph_free(b);
  }
}

/* A certificate with `from` replaced by `to`, in all places or in the first, and its sizes and last line right again must be
   refused. */
static void refused_where(const char *text, const char *from, const char *to, int all) {
  char *t = replaced(text, from, to);
  for (char *more, *at = strstr(t, to) + strlen(to); all && strstr(at, from); t = more) {
    const size_t done = (size_t)(at - t);
    more = (char *)malloc(strlen(t) + strlen(to) + 1);
    char *rest = replaced(at, from, to);
    sprintf(more, "%.*s%s", (int)done, t, rest);
    at = more + done + (strstr(rest, to) - rest) + strlen(to);
    free(t), free(rest);
  }
  const char *first = strstr(t, "\nfirst ") + 1, *a = strchr(first, '\n') + 1, *second = strstr(a, "\nsecond ") + 1;
  const char *b = strchr(second, '\n') + 1, *end = strstr(b, "\nsum ") + 1;
  char *made = (char *)malloc(strlen(t) + 64);
  const int n = sprintf(made, "%.*sfirst %d\n%.*ssecond %d\n%.*s", (int)(first - t), t, (int)(second - a), (int)(second - a), a, (int)(end - b), (int)(end - b), b);
  sprintf(made + n, "sum %016llx\n", (unsigned long long)mgi_cert_sum(made, (size_t)n));
  mg_error e;
  if (mg_certificate_check(made, strlen(made), NULL, &e) != MG_BAD_INPUT) fail_msg("'%s' for '%s' is taken", to, from);
  free(t), free(made);
}
static void refused(const char *text, const char *from, const char *to) { refused_where(text, from, to, 0); }
/* Both graphs are printed in the symbols of their classes; what is edited there is refused, of the same member too. */
static void forged_families(void **s) {
  (void)s;
  static const struct { const char *from, *to; } edit[] = {
      {"x=ceil(N/4)", "x=ceil(N/6)"}, {"x=ceil(N/4)", "x=ceil(N/5)"}, {"x=ceil(N/4)", "x=3"}, {"y=ceil(M/4)", "y=ceil(M/8)"}, {"y=ceil(M/4)", "y=4"},
      {"x=ceil(N/4)", "x=ceil(M/4)"}, {"i=2", "i=ceil(N/6)"}, {"i=2", "i=1"}, {"W : f16[8, N]", "W : f16[8, 12]"}, {"X : f16[M, 8]", "X : f16[16, 8]"},
      {"X : f16[M, 8]", "X : f16[N, 8]"}, {"sym N in 1..12", "sym N in 1..13"}, {"sym N in 1..12", "sym N in 2..12"}, {"sym N in 1..12", "sym N in 1..11 of 12"},
      {"instance M = 16, N = 12\n", ""}, {"instance M = 16, N = 12\n", "instance M = 16, N = 8\n"}, {"instance M = 16, N = 12\n", "instance M = 16\nas written N = 12\n"},
      {"sym M in 1..16\nsym N in 1..12\n", "sym N in 1..12\nsym M in 1..16\n"}, {"sym N in 1..12\n", "sym N in 1..12\nsym P in 1..4\n"}};
  mg_graph *g[2] = {side(&pairs[0], 0), side(&pairs[0], 1)}, *family[2];
  mg_verify_report r;
  mg_error e;
  char *text = NULL;
  assert_int_equal(mg_verify(g[0], g[1], NULL, &r, &e), MG_OK);
  assert_int_equal(mg_certificate(g[0], g[1], &r, &text, &e), MG_OK);
  for (size_t k = 0; k < sizeof edit / sizeof *edit; k++)
    for (int all = 0; all < 2; all++) refused_where(text, edit[k].from, edit[k].to, all);
  /* a symbol less, or of another name, throughout: the same member */
  const char *at = strstr(text, "\ninstance ") + 1;
  static const struct { const char *from, *to; } name[2][6] = {{{"ceil(N/4)", "3"}, {"[8, N]", "[8, 12]"}, {"sym N in 1..12\n", ""}}, {{"ceil(N/4)", "ceil(P/4)"}, {"[8, N]", "[8, P]"}, {"sym N in", "sym P in"}}};
  for (int k = 0; k < 2; k++) {
    char *t = replaced(at, "M = 16, N = 12", k ? "M = 16, P = 12" : "M = 16");
    for (int j = 0; j < 6; j++) {
      if (j / 2 == 0 && j % 2) continue; /* the second graph alone counts it */
      char *u = replaced(t, name[k][j / 2].from, name[k][j / 2].to);
      free(t), t = u;
    }
    refused(text, at, t);
    free(t);
  }
  /* its members are those of Theorem C, and equal */
  at = strstr(text, "\nfirst ") + 1;
  for (int k = 0; k < 2; k++) {
    const size_t size = strtoull(strchr(at, ' '), NULL, 10);
    at = strchr(at, '\n') + 1;
    assert_int_equal(mg_parse(at, size, "family", NULL, &family[k], &e), MG_OK);
    at += size;
  }
  mg_parallel P;
  assert_int_equal(mg_verify(family[0], family[1], NULL, &r, &e), MG_OK);
  assert_true(r.verdict == MG_EQUAL && !strcmp(r.every, "M >= 1, N >= 1"));
  assert_int_equal(mg_parallel_of(g[0], g[1], &P, &e), MG_OK);
  for (int64_t m = 1; m <= 16; m += 3)
    for (int64_t n = 1; n <= 12; n += 2) {
      const int64_t value[2] = {m, n}, chunks[2] = {(m + 3) / 4, (n + 3) / 4};
      mg_graph *member[2], *want;
      for (int k = 0; k < 2; k++) {
        assert_int_equal(mg_at(family[k], value, &member[k], &e), MG_OK);
        assert_int_equal(mg_parallel_resize(&P, k, value, chunks, &want, &e), MG_OK);
        assert_true(mg_graph_equal(member[k], want));
        mg_graph_free(want);
      }
      mg_verify_config c = mg_verify_config_default();
      c.full_size = 1, c.threads = 1;
      assert_int_equal(mg_verify(member[0], member[1], &c, &r, &e), MG_OK);
      assert_int_equal(r.verdict, MG_EQUAL);
      mg_graph_free(member[0]), mg_graph_free(member[1]);
    }
  mg_parallel_free(&P);
  mg_string_free(text);
  for (int k = 0; k < 2; k++) mg_graph_free(g[k]), mg_graph_free(family[k]);
}
static void forged(void **s) {
  (void)s;
  mg_graph *a = side(&pairs[0], 0), *b = side(&pairs[0], 1);
  mg_verify_report r;
  mg_error e;
  char *text = NULL;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
  refused(text, "extents every\n", "");
  refused(text, "class M (16):", "class M (17):");
  refused(text, "output O dimension 0", "output O dimension 1");
  refused(text, "axis y of kernel 1 of the second graph cuts M, any number of times\n", "");
  refused(text, "M >= 1, N >= 1", "M >= 0, N >= 1");
  mg_string_free(text);
  mg_graph_free(b);
  /* of extents as written: the line alone makes it none for all */
  mg_verify_config c = mg_verify_config_default();
  b = side(&pairs[0], 1), c.full_size = 1;
  assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
  assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
  assert_null(strstr(text, "extents"));
  refused(text, "\ndegree", "\nextents every\ndegree");
  mg_string_free(text);
  mg_graph_free(a), mg_graph_free(b);
}

/* Programs whose outputs have 10^7 elements and more: a few elements are compared. */
static void large(void **s) {
  (void)s;
  static const pair big[] = {
      {"linear", "input X : f16[4096, 4096]\ninput W : f16[4096, 4096]\n", "O = matmul(X, W)\n",
       "O = kernel grid=(x=32, y=64) {\nfor k=64 {\nm = matmul(load X {y->0, k->1}, load W {x->1, k->0})\n}\nstore accum(m) {k->+} {x->1, y->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
      {"gated", "input X : f16[8192, 4096]\ninput A : f16[4096, 14336]\ninput B : f16[4096, 14336]\n", "O = mul(silu(matmul(X, A)), matmul(X, B))\n",
       "O = kernel grid=(x=224, y=128) {\nfor k=64 {\nx = load X {y->0, k->1}\np = matmul(x, load A {x->1, k->0})\nq = matmul(x, load B {x->1, k->0})\n}\n"
       "store mul(silu(accum(p) {k->+}), accum(q) {k->+}) {x->1, y->0}\n}\n", MG_EQUAL, "M >= 1, N >= 1"},
      {"softmax", "input X : f16[4096, 32000]\n", "O = softmax(X, dim=1)\n",
       "O = kernel grid=(x=4096) {\nfor i=8 {\ns = sum(exp(load X {x->0, i->1}), dim=1)\n}\nt = accum(s) {i->+}\nfor j=8 {\nd = div(exp(load X {x->0, j->1}), t)\n}\nstore accum(d) {j->1} {x->0}\n}\n", MG_EQUAL, "M >= 1"},
  };
  for (size_t k = 0; k < sizeof big / sizeof *big; k++) {
    mg_graph *a = side(&big[k], 0), *b = side(&big[k], 1);
    mg_verify_report r;
    mg_error e;
    if (mg_verify(a, b, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    if (r.verdict != MG_EQUAL || strcmp(r.every, big[k].every)) fail_msg("%s: %s for all '%s': %s", big[k].name, mg_verdict_name(r.verdict), r.every, r.reason);
    assert_true(r.compared <= 64000u * (uint64_t)r.tests);
    mg_graph_free(a), mg_graph_free(b);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(every_row, begin), cmocka_unit_test_setup(every_graph, begin), cmocka_unit_test_setup(every_verdict, begin),
      cmocka_unit_test_setup(forged, begin), cmocka_unit_test_setup(forged_families, begin), cmocka_unit_test_setup(large, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
