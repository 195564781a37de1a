/* Tests of mirage.h: operator table, builder, text form, validation, evaluator, memory, DOT, resizing.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_core.c -o build/test_core -lcmocka -lm
   Run from the repository's top directory.  `test_core --ops` prints the operator table in Markdown; `--seed N` sets
   the seed of the random tests, which is printed. */
#define _POSIX_C_SOURCE 200809L /* popen */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What mirage.h takes from the heap outside of its arenas is counted, and made to fail at the n-th call. */
static size_t heap_calls, heap_fail_at, heap_live;
static int heap_fail_once; /* only the n-th, not all that follow */
static int heap_fails(void) {
  heap_calls++;
  return heap_fail_at && (heap_fail_once ? heap_calls == heap_fail_at : heap_calls >= heap_fail_at);
}
static void *heap_malloc(size_t n) {
  void *p = heap_fails() ? NULL : malloc(n);
  if (p) heap_live++;
  return p;
}
static void *heap_calloc(size_t n, size_t m) {
  void *p = heap_fails() ? NULL : calloc(n, m);
  if (p) heap_live++;
  return p;
}
static void *heap_realloc(void *old, size_t n) {
  void *p = heap_fails() ? NULL : realloc(old, n);
  if (p && !old) heap_live++;
  return p;
}
static void heap_free(void *p) {
  if (p) heap_live--;
  free(p);
}
#define malloc heap_malloc
#define calloc heap_calloc
#define realloc heap_realloc
#define free heap_free
#define MIRAGE_CORE_IMPLEMENTATION
#include "mirage.h"
#include "parse.h"
#undef malloc
#undef calloc
#undef realloc
#undef free

static uint64_t seed = 20260101, rng;
static uint64_t next64(void) { /* splitmix64 */
  uint64_t z = (rng += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static int64_t pick(int64_t lo, int64_t hi) { return lo + (int64_t)(next64() % (uint64_t)(hi - lo + 1)); }
static double uniform(double lo, double hi) { return lo + (hi - lo) * (double)(next64() >> 11) / 9007199254740992.0; }
/* 0.25 to 2.25, either sign unless `positive`: no operator is near a pole there. */
static double sample(int positive) {
  double v = uniform(0.25, 2.25);
  return positive || next64() & 1 ? v : -v;
}

/* ---- arrays and their naive operators, the oracle */

typedef struct arr { int rank; int64_t dim[MG_MAX_RANK]; double *v; } arr;

static int64_t count(const arr *a) {
  int64_t n = 1;
  for (int d = 0; d < a->rank; d++) n *= a->dim[d];
  return n;
}
static arr make(int rank, const int64_t *dim) {
  arr a;
  memset(&a, 0, sizeof a);
  a.rank = rank;
  for (int d = 0; d < rank; d++) a.dim[d] = dim[d];
  a.v = (double *)calloc((size_t)count(&a), sizeof *a.v);
  assert_non_null(a.v);
  return a;
}
static arr make_random(int rank, const int64_t *dim, int positive) {
  arr a = make(rank, dim);
  for (int64_t k = 0; k < count(&a); k++) a.v[k] = sample(positive);
  return a;
}
/* The coordinates of flat element k. */
static void coords(const arr *a, int64_t k, int64_t *i) {
  for (int d = a->rank - 1; d >= 0; d--) i[d] = k % a->dim[d], k /= a->dim[d];
}
/* The element at coordinates i of a tensor of rank `rank` that a broadcasts to. */
static double at(const arr *a, const int64_t *i, int rank) {
  int64_t k = 0;
  for (int d = 0; d < a->rank; d++) {
    int64_t x = i[rank - a->rank + d];
    k = k * a->dim[d] + (a->dim[d] == 1 ? 0 : x);
  }
  return a->v[k];
}
static arr naive_matmul(const arr *a, const arr *b) {
  arr o;
  int64_t dim[MG_MAX_RANK], i[MG_MAX_RANK], j[MG_MAX_RANK];
  int r = a->rank > b->rank ? a->rank : b->rank;
  for (int d = 0; d < r - 2; d++) {
    int64_t x = d - (r - a->rank) >= 0 ? a->dim[d - (r - a->rank)] : 1, y = d - (r - b->rank) >= 0 ? b->dim[d - (r - b->rank)] : 1;
    dim[d] = x > y ? x : y;
  }
  dim[r - 2] = a->dim[a->rank - 2], dim[r - 1] = b->dim[b->rank - 1];
  o = make(r, dim);
  for (int64_t e = 0; e < count(&o); e++) {
    coords(&o, e, i);
    for (int64_t k = 0; k < a->dim[a->rank - 1]; k++) {
      memcpy(j, i, sizeof j);
      j[r - 1] = k;
      double x = at(a, j, r);
      memcpy(j, i, sizeof j);
      j[r - 2] = k;
      o.v[e] += x * at(b, j, r);
    }
  }
  return o;
}
static arr naive_concat(const arr *a, const arr *b, int dim) {
  int64_t s[MG_MAX_RANK], i[MG_MAX_RANK];
  memcpy(s, a->dim, sizeof s);
  s[dim] += b->dim[dim];
  arr o = make(a->rank, s);
  for (int64_t e = 0; e < count(&o); e++) {
    coords(&o, e, i);
    const arr *from = a;
    if (i[dim] >= a->dim[dim]) from = b, i[dim] -= a->dim[dim];
    int64_t k = 0;
    for (int d = 0; d < a->rank; d++) k = k * from->dim[d] + i[d];
    o.v[e] = from->v[k];
  }
  return o;
}
/* Folds along dim: 's' sum, 'm' maximum. */
static arr naive_fold(const arr *a, int dim, char how) {
  int64_t s[MG_MAX_RANK], i[MG_MAX_RANK];
  memcpy(s, a->dim, sizeof s);
  s[dim] = 1;
  arr o = make(a->rank, s);
  for (int64_t e = 0; e < count(&o); e++) {
    coords(&o, e, i);
    double v = how == 's' ? 0 : -HUGE_VAL;
    for (i[dim] = 0; i[dim] < a->dim[dim]; i[dim]++) {
      double x = at(a, i, a->rank);
      v = how == 's' ? v + x : x > v ? x : v;
    }
    o.v[e] = v;
  }
  return o;
}

/* 1 for a row that is defined on positive numbers alone. */
static int of_positive(int op) { return op == MG_OP_SQRT || op == MG_OP_LOG || op == MG_OP_RSQRT; }

/* The elementwise rows, written another way than the table's. */
static int scalar_oracle(mg_opcode op, double a, double b, double c, double *out) {
  switch (op) {
    case MG_OP_ADD: *out = a - (-b); return 1;
    case MG_OP_SUB: *out = -(b - a); return 1;
    case MG_OP_MUL: *out = ((a + b) * (a + b) - (a - b) * (a - b)) / 4; return 1;
    case MG_OP_DIV: *out = a * pow(b, -1); return 1;
    case MG_OP_EXP: *out = pow(2.718281828459045235, a); return 1;
    case MG_OP_SQR: *out = pow(a, 2); return 1;
    case MG_OP_SQRT: *out = pow(a, 0.5); return 1;
    case MG_OP_SILU: *out = a * 0.5 * (1 + tanh(a / 2)); return 1;
    case MG_OP_GELU: *out = a * (1 - 0.5 * erfc(a / 1.4142135623730950488)); return 1;
    case MG_OP_RELU: *out = (a + fabs(a)) / 2; return 1;
    case MG_OP_LOG: *out = log2(a) * 0.69314718055994530942; return 1;
    case MG_OP_NEG: *out = 0 - a; return 1;
    case MG_OP_SCALE: *out = a * c; return 1;
    case MG_OP_ADD_SCALAR: *out = c + a; return 1;
    case MG_OP_TANH: *out = 1 - 2 / (exp(2 * a) + 1); return 1;
    case MG_OP_SIGMOID: *out = 0.5 * (1 + tanh(a / 2)); return 1;
    case MG_OP_RSQRT: *out = pow(a, -0.5); return 1;
    case MG_OP_ABS: *out = a < 0 ? 0 - a : a; return 1;
    case MG_OP_MAXIMUM: *out = (a + b + fabs(a - b)) / 2; return 1;
    case MG_OP_MINIMUM: *out = (a + b - fabs(a - b)) / 2; return 1;
    case MG_OP_CLAMP_MIN: *out = a < c ? c : a; return 1;
    case MG_OP_CLAMP_MAX: *out = a > c ? c : a; return 1;
    case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: *out = a; return 1;
    case MG_OP_KEEP: *out = a < 0 || a > 0 ? b : 0; return 1;
    case MG_OP_DROP: *out = a < 0 || a > 0 ? 0 : b; return 1;
    default: return 0;
  }
}

/* ---- running graphs */

static void assert_close(double got, double want, const char *what, int64_t k) {
  if (fabs(got - want) <= 1e-9 * (1 + fabs(want))) return;
  fail_msg("%s: element %lld is %.17g, expected %.17g", what, (long long)k, got, want);
}
static char *print_ok(const mg_graph *g) {
  char *s = NULL;
  mg_error e;
  if (mg_print(g, &s, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return s;
}

/* The box of a, dense. */
static arr cut_out(const arr *a, const mg_box *b) {
  int64_t dim[MG_MAX_RANK], i[MG_MAX_RANK];
  for (int d = 0; d < a->rank; d++) dim[d] = b->hi[d] - b->lo[d];
  arr r = make(a->rank, dim);
  for (int64_t k = 0; k < count(&r); k++) {
    coords(&r, k, i);
    for (int d = 0; d < a->rank; d++) i[d] += b->lo[d];
    r.v[k] = at(a, i, a->rank);
  }
  return r;
}
static mg_box pick_box(const mg_shape *s, int whole) {
  mg_box b;
  memset(&b, 0, sizeof b);
  for (int d = 0; d < s->rank; d++) {
    b.lo[d] = whole ? 0 : pick(0, s->dim[d] - 1);
    b.hi[d] = whole ? s->dim[d] : pick(b.lo[d] + 1, s->dim[d]);
  }
  return b;
}
static long part_elements, part_inputs, all_inputs;

/* What of tensor t stands in v as doubles becomes what mg_eval takes, in place: indices are integers; and back. */
static void hand_in(const mg_graph *g, mg_tensor t, double *v, int64_t n) {
  if (mg_tensor_of(g, t)->dtype != MG_I32) return;
  for (int64_t k = 0; k < n; k++) {
    const int32_t i = (int32_t)v[k];
    memcpy((char *)v + k * 4, &i, 4);
  }
}
static void take_out(const mg_graph *g, mg_tensor t, double *v, int64_t n) {
  if (mg_tensor_of(g, t)->dtype != MG_I32) return;
  for (int64_t k = n; k-- > 0;) {
    int32_t i;
    memcpy(&i, (char *)v + k * 4, 4);
    v[k] = i;
  }
}

/* Random parts of the outputs, from no more than what they are said to need of the inputs, are those of the whole. */
static void parts_ok(const mg_graph *g, const arr *in, const arr *out, const char *what) {
  mg_domain d = mg_domain_real();
  for (int round = 0; round < 3; round++) {
    mg_box want[MG_MAX_OUT];
    mg_part p;
    mg_error e;
    arr pi[MG_MAX_IN], po[MG_MAX_OUT];
    const void *vi[MG_MAX_IN];
    void *vo[MG_MAX_OUT];
    for (uint32_t k = 0; k < g->n_out; k++) {
      want[k] = pick_box(&mg_tensor_of(g, g->out[k])->shape, round == 2);
      if (k > 0 && pick(0, 2) == 0) memset(&want[k], 0, sizeof want[k]);
    }
    if (mg_part_of(g, want, &p, &e) != MG_OK) fail_msg("%s: %s: %s", what, e.where, e.msg);
    double held = 0;
    for (uint32_t k = 0; k < g->n_in; k++) {
      mg_box *b = &p.box[g->in[k].id];
      for (int x = 0; x < in[k].rank; x++) assert_true(b->lo[x] >= 0 && b->hi[x] <= in[k].dim[x]);
      part_inputs += mg_box_elements(b, in[k].rank), all_inputs += count(&in[k]);
      if (pick(0, 3) == 0) *b = pick_box(&mg_tensor_of(g, g->in[k])->shape, 1); /* wider does not matter */
      pi[k] = cut_out(&in[k], b), vi[k] = pi[k].v;
      hand_in(g, g->in[k], pi[k].v, count(&pi[k]));
    }
    for (uint32_t k = 0; k < g->n_out; k++) {
      const mg_box *b = &p.box[g->out[k].id];
      po[k] = cut_out(&out[k], b), vo[k] = po[k].v, held += (double)count(&po[k]);
      for (int x = 0; x < out[k].rank; x++)
        if (want[k].hi[x]) assert_true(b->lo[x] <= want[k].lo[x] && b->hi[x] >= want[k].hi[x]);
      for (int64_t j = 0; j < count(&po[k]); j++) po[k].v[j] = 1e300; /* poison */
    }
    assert_true(p.elements >= held && p.work > 0);
    if (mg_eval_part(g, &d, &p, vi, vo, &e) != MG_OK) fail_msg("%s: %s: %s", what, e.where, e.msg);
    for (uint32_t k = 0; k < g->n_out; k++) { /* all that is in the box, not only what was wanted */
      arr right = cut_out(&out[k], &p.box[g->out[k].id]);
      take_out(g, g->out[k], po[k].v, count(&po[k]));
      for (int64_t j = 0; j < count(&right); j++, part_elements++) assert_close(po[k].v[j], right.v[j], what, j);
      free(right.v);
    }
    for (uint32_t k = 0; k < g->n_in; k++) free(pi[k].v);
    for (uint32_t k = 0; k < g->n_out; k++) free(po[k].v);
    mg_part_free(&p);
  }
}

/* Output k of g on the inputs given. */
static void eval_ok(const mg_graph *g, const arr *in, arr *out, const char *what) {
  const void *pi[MG_MAX_IN];
  void *po[MG_MAX_OUT];
  mg_error e;
  mg_domain d = mg_domain_real();
  arr given[MG_MAX_IN];
  for (uint32_t k = 0; k < g->n_in; k++) {
    given[k] = make(in[k].rank, in[k].dim);
    memcpy(given[k].v, in[k].v, (size_t)count(&in[k]) * sizeof(double));
    hand_in(g, g->in[k], given[k].v, count(&in[k]));
    pi[k] = given[k].v;
  }
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_shape *s = &mg_tensor_of(g, g->out[k])->shape;
    out[k] = make(s->rank, s->dim);
    for (int64_t j = 0; j < count(&out[k]); j++) out[k].v[j] = 1e300; /* poison */
    po[k] = out[k].v;
  }
  if (mg_eval(g, &d, pi, po, &e) != MG_OK) fail_msg("%s: %s: %s", what, e.where, e.msg);
  for (uint32_t k = 0; k < g->n_in; k++) free(given[k].v);
  for (uint32_t k = 0; k < g->n_out; k++) take_out(g, g->out[k], out[k].v, count(&out[k]));
  parts_ok(g, in, out, what);
}
static void drop(arr *a, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) free(a[k].v);
}
static void random_inputs(const mg_graph *g, arr *in, int positive) {
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_shape *s = &mg_tensor_of(g, g->in[k])->shape;
    in[k] = make_random(s->rank, s->dim, positive);
  }
}
static void assert_same(const arr *got, const arr *want, const char *what) {
  if (got->rank != want->rank || memcmp(got->dim, want->dim, sizeof got->dim[0] * (size_t)got->rank)) fail_msg("%s: shapes differ", what);
  for (int64_t k = 0; k < count(want); k++) assert_close(got->v[k], want->v[k], what, k);
}

/* Print, parse, print: the same text, the same hash. */
static void round_trip(const mg_graph *g, const mg_config *cfg) {
  char *a = print_ok(g);
  mg_graph *h = parse_with(a, cfg);
  char *b = print_ok(h);
  if (strcmp(a, b)) fail_msg("printed twice, the texts differ:\n%s\n%s", a, b);
  if (mg_hash(g) != mg_hash(h)) fail_msg("printed and parsed, the hash differs:\n%s", a);
  assert_int_equal(mg_is_program(g), mg_is_program(h));
  mg_string_free(a);
  mg_string_free(b);
  mg_graph_free(h);
}

/* ---- the table */

static void table_is_sound(void **state) {
  (void)state;
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    const mg_op_info *r = mg_op_row((mg_opcode)k);
    assert_int_equal(mg_op_find(r->name, strlen(r->name)), k);
    assert_in_range(r->n_in, 1, MG_MAX_IN);
    assert_true(r->levels > 0 && r->levels <= MG_KBT);
    assert_int_equal(r->elementwise, *r->real != 0);
    assert_int_equal(r->elementwise, *r->field != 0);
    if (r->moves) assert_true(!r->elementwise && *r->index);
    assert_int_equal(r->user, 0);
    assert_int_not_equal(r->cost, MG_CLASS_); /* each of ours says its cost class */
    assert_int_equal(mg_op_cost(k), r->cost);
    assert_int_equal(r->moves || k == MG_OP_GATHER, r->cost == MG_CLASS_MOVE); /* gather's addresses are data */
    assert_int_equal(mg_op_picks((mg_opcode)k), k == MG_OP_GATHER || k == MG_OP_ARGMAX);
    assert_int_equal(r->abstract == MG_ABS_SUGAR, r->cost == MG_CLASS_NONE);
    assert_int_equal(mg_cost_slots(r->cost) > 0, r->cost != MG_CLASS_NONE && r->cost != MG_CLASS_PRODUCT);
  }
  assert_int_equal(mg_op_cost(MG_OP_LOAD), MG_CLASS_NONE);
  assert_int_equal(mg_op_cost(9999), MG_CLASS_NONE);
  assert_true(mg_cost_slots(MG_CLASS_) == 0 && mg_cost_slots((mg_cost_class)99) == 0);
  assert_int_equal(mg_op_find("no_such", 7), MG_OP_NONE);
  assert_int_equal(mg_op_find("load", 4), MG_OP_NONE);
  assert_int_equal(mg_op_find("ad", 2), MG_OP_NONE);
  assert_int_equal(mg_op_find("addd", 4), MG_OP_NONE);
  assert_string_equal(mg_op_row(MG_OP_LOAD)->name, "load");
  assert_string_equal(mg_op_row(MG_OP_GRAPH)->name, "graph");
  assert_string_equal(mg_op_row((mg_opcode)9999)->name, "none");
  assert_true(isnan(mg_op_real(MG_OP_MATMUL, 1, 2, 3)));
  for (int s = 0; s < MG_STATUS_COUNT; s++) {
    assert_true(*mg_status_text((mg_status)s));
    assert_in_range(mg_exit_code((mg_status)s), s ? 1 : 0, s ? 4 : 0);
  }
  assert_string_equal(mg_status_text((mg_status)99), "unknown status");
  assert_int_equal(mg_dtype_bytes(MG_F16), 2);
  assert_int_equal(mg_dtype_bytes(MG_BF16), 2);
  assert_int_equal(mg_dtype_bytes(MG_F32), 4);
  assert_int_equal(mg_dtype_bytes(MG_I32), 4);
}

static void elementwise_rows_mean_what_they_say(void **state) {
  (void)state;
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    const mg_op_info *r = mg_op_row((mg_opcode)k);
    if (!r->elementwise) continue;
    for (int n = 0; n < 200; n++) {
      int positive = of_positive(k);
      double a = sample(positive), b = sample(0), c = (double)pick(-9, 9) / (double)pick(1, 9), want;
      if (!scalar_oracle((mg_opcode)k, a, b, c, &want)) fail_msg("row '%s' has no oracle here", r->name);
      assert_close(mg_op_real((mg_opcode)k, a, b, c), want, r->name, n);
    }
  }
}

/* Wraps one operator: level 0 the program's, 1 inside a kernel, 2 inside a thread graph. */
static mg_graph *one_op(mg_opcode op, const mg_attr *A, int n, const arr *in, int level, const char **why) {
  static mg_error e;
  mg_graph *g = mg_program_new("one", NULL), *block = NULL, *thread = NULL;
  mg_tensor t[MG_MAX_IN], o;
  const int64_t unit[3] = {1, 1, 1};
  char name[16];
  assert_non_null(g);
  for (int k = 0; k < n; k++) {
    snprintf(name, sizeof name, "X%d", k);
    t[k] = mg_input(g, name, op == MG_OP_GATHER && k == 1 ? MG_I32 : MG_F32, in[k].rank, in[k].dim);
  }
  if (level >= 1) {
    block = mg_graph_begin(g, unit, 128);
    for (int k = 0; k < n; k++) t[k] = mg_load(block, t[k], mg_map_none());
  }
  if (level >= 2) {
    thread = mg_graph_begin(block, unit, 1);
    for (int k = 0; k < n; k++) t[k] = mg_load(thread, t[k], mg_map_none());
  }
  o = mg_apply(level == 0 ? g : level == 1 ? block : thread, op, A, n, t);
  if (level >= 2) mg_store(thread, o, mg_map_none()), mg_graph_end(thread, &o);
  if (level >= 1) mg_store(block, o, mg_map_none()), mg_graph_end(block, &o);
  mg_output(g, o);
  if (mg_check(g, &e) == MG_OK) return g;
  if (why) *why = e.msg;
  mg_graph_free(g);
  return NULL;
}

/* The operator at every level that it may stand in gives `want`, and its text form survives. */
static void run_op(mg_opcode op, const mg_attr *A, int n, const arr *in, const arr *want) {
  const mg_op_info *r = mg_op_row(op);
  for (int level = 0; level < 3; level++) {
    const char *why = "";
    mg_graph *g = one_op(op, A, n, in, level, &why);
    if (!(r->levels >> level & 1)) {
      assert_null(g);
      assert_non_null(strstr(why, op == MG_OP_GATHER ? "no kernel loads them" : "may not stand in"));
      continue;
    }
    if (!g) fail_msg("%s at level %d: %s", r->name, level, why);
    arr got;
    round_trip(g, NULL);
    eval_ok(g, in, &got, r->name);
    assert_same(&got, want, r->name);
    drop(&got, 1);
    mg_graph_free(g);
  }
}

static void random_shape(int rank, int64_t *dim, int64_t most) {
  for (int d = 0; d < rank; d++) dim[d] = pick(1, most);
}

static void elementwise_rows_broadcast(void **state) {
  (void)state;
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    const mg_op_info *r = mg_op_row((mg_opcode)k);
    if (!r->elementwise) continue;
    for (int n = 0; n < 12; n++) {
      arr in[2], want;
      int64_t full[MG_MAX_RANK], shape[MG_MAX_RANK], i[MG_MAX_RANK];
      int rank = (int)pick(1, MG_MAX_RANK);
      random_shape(rank, full, 4);
      for (int j = 0; j < r->n_in; j++) { /* the first has the full shape: every dimension occurs */
        int rj = r->n_in > 1 && j == n % 2 ? (int)pick(1, rank) : rank;
        for (int d = 0; d < rj; d++) shape[d] = r->n_in > 1 && j == n % 2 && next64() & 1 ? 1 : full[rank - rj + d];
        in[j] = make_random(rj, shape, of_positive(k));
      }
      mg_attr A;
      memset(&A, 0, sizeof A);
      A.c = mg_rat(pick(-20, 20), pick(1, 20));
      want = make(rank, full);
      for (int64_t e = 0; e < count(&want); e++) {
        coords(&want, e, i);
        scalar_oracle((mg_opcode)k, at(&in[0], i, rank), r->n_in > 1 ? at(&in[1], i, rank) : 0, (double)A.c.num / (double)A.c.den, &want.v[e]);
      }
      run_op((mg_opcode)k, &A, r->n_in, in, &want);
      drop(in, (uint32_t)r->n_in);
      drop(&want, 1);
    }
  }
}

/* Operands, attribute and result of one random use of structural row `op`; 0 if the row has no oracle. */
static int structural_case(mg_opcode op, mg_attr *A, int *n, arr *in, arr *want) {
  int64_t s[MG_MAX_RANK], t[MG_MAX_RANK], i[MG_MAX_RANK], j[MG_MAX_RANK];
  int rank = (int)pick(1, MG_MAX_RANK), dim = (int)pick(0, rank - 1);
  random_shape(rank, s, 4);
  memset(A, 0, sizeof *A);
  A->c = mg_rat(0, 1);
  *n = 1;
  switch (op) {
    case MG_OP_MATMUL: case MG_OP_CONCAT_MATMUL: {
      int ra = (int)pick(2, MG_MAX_RANK), rb = (int)pick(2, MG_MAX_RANK), r = ra > rb ? ra : rb;
      int64_t m = pick(1, 5), kk[2] = {pick(1, 5), pick(1, 5)}, c = pick(1, 5);
      random_shape(r, s, 3);
      int pairs = op == MG_OP_MATMUL ? 1 : 2;
      for (int p = 0; p < pairs; p++) {
        for (int d = 0; d < ra - 2; d++) t[d] = rb == r && next64() % 3 == 0 ? 1 : s[r - ra + d];
        t[ra - 2] = m, t[ra - 1] = kk[p];
        in[p] = make_random(ra, t, 0);
        for (int d = 0; d < rb - 2; d++) t[d] = s[r - rb + d];
        for (int d = 0; d < rb - 2 && ra == r && rb < r; d++) t[d] = next64() % 3 == 0 && in[p].dim[ra - rb + d] != 1 ? 1 : t[d];
        t[rb - 2] = kk[p], t[rb - 1] = c;
        in[p + pairs] = make_random(rb, t, 0);
      }
      *n = 2 * pairs;
      *want = naive_matmul(&in[0], &in[pairs]);
      if (pairs == 2) {
        arr second = naive_matmul(&in[1], &in[3]);
        if (second.rank != want->rank || memcmp(second.dim, want->dim, sizeof second.dim)) { /* broadcast apart: draw again */
          drop(&second, 1), drop(want, 1), drop(in, 4);
          return structural_case(op, A, n, in, want);
        }
        for (int64_t e = 0; e < count(want); e++) want->v[e] += second.v[e];
        drop(&second, 1);
      }
      return 1;
    }
    case MG_OP_CLAMP:
      in[0] = make_random(rank, s, 0);
      *want = make(rank, s);
      A->c = mg_rat(pick(-9, 9), pick(1, 9)), A->most = mg_rat(A->c.num + pick(0, 9), A->c.den);
      for (int64_t e = 0; e < count(want); e++) {
        const double least = (double)A->c.num / (double)A->c.den, most = (double)A->most.num / (double)A->most.den, x = in[0].v[e];
        want->v[e] = x < least ? least : x > most ? most : x;
      }
      return 1;
    case MG_OP_MIN:
      in[0] = make_random(rank, s, 0);
      for (int64_t e = 0; e < count(&in[0]); e++) in[0].v[e] = -in[0].v[e];
      *want = naive_fold(&in[0], dim, 'm');
      for (int64_t e = 0; e < count(&in[0]); e++) in[0].v[e] = -in[0].v[e];
      for (int64_t e = 0; e < count(want); e++) want->v[e] = -want->v[e];
      A->dim = next64() & 1 ? dim : dim - rank;
      return 1;
    case MG_OP_SUM: case MG_OP_MAX: case MG_OP_MEAN:
      in[0] = make_random(rank, s, 0);
      *want = naive_fold(&in[0], dim, op == MG_OP_MAX ? 'm' : 's');
      for (int64_t e = 0; op == MG_OP_MEAN && e < count(want); e++) want->v[e] /= (double)s[dim];
      A->dim = next64() & 1 ? dim : dim - rank;
      return 1;
    case MG_OP_WHERE:
      for (int k = 0; k < 3; k++) in[k] = make_random(rank, s, 0);
      *want = make(rank, s);
      for (int64_t e = 0; e < count(want); e++) {
        in[0].v[e] = (double)pick(-1, 1);
        if (in[0].v[e] == 0 && next64() & 1) in[1].v[e] = INFINITY; /* is not chosen */
        want->v[e] = in[0].v[e] == 0 ? in[2].v[e] : in[1].v[e];
      }
      *n = 3;
      return 1;
    case MG_OP_ROPE: {
      s[rank - 1] = 2 * pick(1, 3);
      const int64_t half = s[rank - 1] / 2;
      in[0] = make_random(rank, s, 0);
      for (int k = 1; k < 3; k++) {
        const int less = (int)pick(0, rank - 1); /* leading dimensions that broadcast */
        in[k] = make_random(rank - less, s + less, 0);
      }
      *want = make(rank, s);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        memcpy(j, i, sizeof j);
        const int low = i[rank - 1] < half;
        j[rank - 1] += low ? half : -half;
        want->v[e] = in[0].v[e] * at(&in[1], i, rank) + (low ? -1 : 1) * at(&in[0], j, rank) * at(&in[2], i, rank);
      }
      *n = 3;
      return 1;
    }
    case MG_OP_GATHER: {
      const int rows = (int)pick(1, 3), index = (int)pick(1, MG_MAX_RANK + 1 - rows);
      random_shape(rows, s, 4);
      in[0] = make_random(rows, s, 0);
      random_shape(index, t, 3);
      in[1] = make(index, t);
      for (int64_t e = 0; e < count(&in[1]); e++) in[1].v[e] = (double)pick(0, s[0] - 1);
      for (int d = 1; d < rows; d++) t[index + d - 1] = s[d];
      *want = make(index + rows - 1, t);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        j[0] = (int64_t)at(&in[1], i, index);
        for (int d = 1; d < rows; d++) j[d] = i[index + d - 1];
        want->v[e] = at(&in[0], j, rows);
      }
      *n = 2;
      return 1;
    }
    case MG_OP_ARGMAX:
      in[0] = make_random(rank, s, 0);
      for (int64_t e = 0; e < count(&in[0]); e++) { /* ties, and what is no number */
        if (next64() & 1) in[0].v[e] = (double)pick(-1, 1);
        if (next64() % 16 == 0) in[0].v[e] = NAN;
      }
      A->dim = next64() & 1 ? dim : dim - rank;
      memcpy(t, s, sizeof t);
      t[dim] = 1;
      *want = make(rank, t);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        double most = -HUGE_VAL;
        want->v[e] = 0;
        for (i[dim] = 0; i[dim] < s[dim]; i[dim]++) {
          const double x = at(&in[0], i, rank);
          if (isnan(most) || !(isnan(x) || x > most)) continue;
          most = x, want->v[e] = (double)i[dim];
        }
      }
      return 1;
    case MG_OP_SLICE:
      in[0] = make_random(rank, s, 0);
      A->dim = next64() & 1 ? dim : dim - rank, A->from = pick(0, s[dim] - 1), A->n = pick(1, s[dim] - A->from);
      memcpy(t, s, sizeof t);
      t[dim] = A->n;
      *want = make(rank, t);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        i[dim] += A->from;
        want->v[e] = at(&in[0], i, rank);
      }
      return 1;
    case MG_OP_REPEAT:
      in[0] = make_random(rank, s, 0);
      A->dim = next64() & 1 ? dim : dim - rank, A->n = pick(1, 3);
      memcpy(t, s, sizeof t);
      t[dim] *= A->n;
      *want = make(rank, t);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        while (i[dim] >= s[dim]) i[dim] -= s[dim];
        want->v[e] = at(&in[0], i, rank);
      }
      return 1;
    case MG_OP_RESHAPE: {
      in[0] = make_random(rank, s, 0);
      int64_t left = count(&in[0]);
      int r = (int)pick(1, MG_MAX_RANK);
      for (int d = 0; d < r - 1; d++) { do t[d] = pick(1, left < 8 ? left : 8); while (left % t[d]); left /= t[d]; }
      t[r - 1] = left;
      *want = make(r, t);
      memcpy(want->v, in[0].v, sizeof(double) * (size_t)count(want));
      A->shape.rank = r;
      memcpy(A->shape.dim, t, sizeof A->shape.dim[0] * (size_t)r);
      if (next64() & 1) A->shape.dim[pick(0, r - 1)] = -1;
      return 1;
    }
    case MG_OP_TRANSPOSE:
      in[0] = make_random(rank, s, 0);
      for (int d = 0; d < rank; d++) A->perm[d] = d;
      for (int d = rank - 1; d > 0; d--) { int x = (int)pick(0, d); int32_t y = A->perm[d]; A->perm[d] = A->perm[x], A->perm[x] = y; }
      for (int d = 0; d < rank; d++) t[d] = s[A->perm[d]];
      *want = make(rank, t);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        for (int d = 0; d < rank; d++) j[A->perm[d]] = i[d];
        want->v[e] = at(&in[0], j, rank);
      }
      return 1;
    case MG_OP_CONCAT:
      in[0] = make_random(rank, s, 0);
      s[dim] = pick(1, 4);
      in[1] = make_random(rank, s, 0);
      *n = 2, A->dim = next64() & 1 ? dim : dim - rank;
      *want = naive_concat(&in[0], &in[1], dim);
      return 1;
    case MG_OP_RMS_NORM: {
      in[0] = make_random(rank, s, 0);
      *n = (int)pick(1, 2);
      in[1] = make_random(1, &s[dim], 0);
      A->dim = dim, A->c = mg_rat(pick(0, 3), 1000);
      *want = make(rank, s);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        int64_t mine = i[dim];
        double ss = 0;
        for (i[dim] = 0; i[dim] < s[dim]; i[dim]++) ss += pow(at(&in[0], i, rank), 2);
        want->v[e] = in[0].v[e] / sqrt(ss / (double)s[dim] + (double)A->c.num / (double)A->c.den) * (*n > 1 ? in[1].v[mine] : 1);
      }
      if (*n == 1) drop(&in[1], 1);
      return 1;
    }
    case MG_OP_SOFTMAX:
      in[0] = make_random(rank, s, 0);
      A->dim = dim;
      *want = make(rank, s);
      for (int64_t e = 0; e < count(want); e++) {
        coords(want, e, i);
        double z = 0;
        for (i[dim] = 0; i[dim] < s[dim]; i[dim]++) z += exp(at(&in[0], i, rank) - in[0].v[e]);
        want->v[e] = 1 / z;
      }
      return 1;
    case MG_OP_CAUSAL: { /* in[1]: the mask, an input that comes with it */
      const int r = rank < 2 ? 2 : rank;
      random_shape(r, s, 4);
      if (s[r - 2] > s[r - 1]) s[r - 2] = s[r - 1];
      in[0] = make_random(r, s, 0);
      in[1] = make(2, s + r - 2);
      for (int64_t e = 0; e < count(&in[1]); e++) in[1].v[e] = e % s[r - 1] - e / s[r - 1] > s[r - 1] - s[r - 2] ? -32768 : 0;
      *want = make(r, s);
      for (int64_t e = 0; e < count(want); e++) want->v[e] = in[0].v[e] + in[1].v[e % count(&in[1])];
      return 1;
    }
    default: return 0;
  }
}

static void structural_rows_mean_what_they_say(void **state) {
  (void)state;
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    const mg_op_info *r = mg_op_row((mg_opcode)k);
    if (r->elementwise) continue;
    for (int c = 0; c < 60; c++) {
      mg_attr A;
      arr in[MG_MAX_IN], want;
      int n;
      if (!structural_case((mg_opcode)k, &A, &n, in, &want)) fail_msg("row '%s' has no oracle here", r->name);
      run_op((mg_opcode)k, &A, n, in, &want);
      drop(in, (uint32_t)n + (k == MG_OP_CAUSAL));
      drop(&want, 1);
    }
  }
}

/* Shape rules, good and bad: the shape of the result, or a piece of the message. */
static void shape_rules(void **state) {
  (void)state;
  static const struct { const char *in, *expr, *shape, *error; } cases[] = {
      {"X : f16[3, 4]\ninput Y : f16[4]", "add(X, Y)", "[3, 4]", NULL},
      {"X : f16[3, 4]\ninput Y : f16[3, 1]", "mul(X, Y)", "[3, 4]", NULL},
      {"X : f16[3, 1]\ninput Y : f16[2, 1, 5]", "div(X, Y)", "[2, 3, 5]", NULL},
      {"X : f16[3, 4]\ninput Y : f16[3]", "add(X, Y)", NULL, "do not broadcast: 4 against 3, 1 from the right"},
      {"X : f16[3, 4]\ninput Y : f16[2, 4]", "sub(X, Y)", NULL, "3 against 2, 2 from the right"},
      {"X : f16[3, 4]\ninput Y : bf16[3, 4]", "add(X, Y)", NULL, "f16 and bf16 do not mix"},
      {"X : f16[3, 4]\ninput Y : f32[3, 4]", "add(X, Y)", "[3, 4]", NULL},
      {"X : f16[3, 4]", "exp(X)", "[3, 4]", NULL},
      {"X : f16[3, 4]", "exp(X, X)", NULL, "exp takes 1 operand"},
      {"X : f16[3, 4]", "add(X)", NULL, "takes 2 operands, got 1"},
      {"X : f16[3, 4]", "scale(X, -3/6)", "[3, 4]", NULL},
      {"X : f16[3, 4]", "scale(X)", NULL, "scale needs a constant"},
      {"X : f16[3, 4]", "scale(X, 1/0)", NULL, "no zero denominator"},
      {"X : f16[3, 4]", "add_scalar(X, 2147483648)", NULL, "numerator and denominator below 2^31"},
      {"X : f16[3, 4]", "scale(X, 0.08838834764)", NULL, "below 2^31; a decimal may need fewer digits"},
      {"X : f16[3, 4]\ninput Y : f16[4, 5]", "matmul(X, Y)", "[3, 5]", NULL},
      {"X : f16[7, 1, 3, 4]\ninput Y : f16[6, 4, 5]", "matmul(X, Y)", "[7, 6, 3, 5]", NULL},
      {"X : f16[3, 4]\ninput Y : f16[3, 4]", "matmul(X, Y)", NULL, "the last dimension of [3, 4] and the last but one of [3, 4]"},
      {"X : f16[4]\ninput Y : f16[4, 5]", "matmul(X, Y)", NULL, "rank 2 or more"},
      {"X : f16[2, 3, 4]\ninput Y : f16[3, 4, 5]", "matmul(X, Y)", NULL, "do not broadcast"},
      {"X : f16[3, 4]", "sum(X, dim=1)", "[3, 1]", NULL},
      {"X : f16[3, 4]", "max(X, dim=-2)", "[1, 4]", NULL},
      {"X : f16[3, 4]", "mean(X, dim=0)", "[1, 4]", NULL},
      {"X : f16[3, 4]", "sum(X, dim=2)", NULL, "dim is between -2 and 1"},
      {"X : f16[3, 4]", "max(X, dim=-3)", NULL, "dim is between -2 and 1"},
      {"X : f16[3, 4]", "sum(X)", NULL, "sum needs dim="},
      {"X : f16[3, 4]", "sum(X, n=2)", NULL, "sum has no attribute 'n': expected dim="},
      {"X : f16[3, 4]", "repeat(X, axis=1)", NULL, "repeat has no attribute 'axis': expected dim= and n="},
      {"X : f16[3, 4]", "relu(X, c=1)", NULL, "relu has no attribute 'c': expected none"},
      {"X : f16[3, 4]", "scale(X, k=2)", NULL, "scale has no attribute 'k': expected a constant"},
      {"X : f16[3, 4]", "rms_norm(X, n=2)", NULL, "rms_norm has no attribute 'n': expected eps= or dim="},
      {"X : f16[3, 4]", "reshape(X, shape=[2, 6])", NULL, "reshape has no attribute 'shape': expected a list of extents"},
      {"X : f16[3, 4]", "transpose(X, perm=[1, 0])", NULL, "transpose has no attribute 'perm': expected a list of dimensions"},
      {"X : f16[3, 4]", "repeat(X, dim=1, n=3)", "[3, 12]", NULL},
      {"X : f16[3, 4]", "repeat(X, dim=1, n=0)", NULL, "between 1 and 2^40"},
      {"X : f16[3, 4]", "repeat(X, dim=1, n=1099511627776)", NULL, "passes 2^40"},
      {"X : f16[3, 4]", "repeat(X, dim=1)", NULL, "repeat needs dim= and n="},
      {"X : f16[3, 4]", "reshape(X, [2, 6])", "[2, 6]", NULL},
      {"X : f16[3, 4]", "reshape(X, [2, -1, 2])", "[2, 3, 2]", NULL},
      {"X : f16[3, 4]", "reshape(X, [5, -1])", NULL, "differ in their number of elements"},
      {"X : f16[3, 4]", "reshape(X, [-1, -1])", NULL, "bad extent -1"},
      {"X : f16[3, 4]", "reshape(X, [0])", NULL, "bad extent 0"},
      {"X : f16[3, 4]", "reshape(X, [1, 1, 1, 1, 12, 1])", NULL, "at most 5"},
      {"X : f16[3, 4]", "reshape(X)", NULL, "reshape needs a shape"},
      {"X : f16[3, 4, 5]", "transpose(X, [2, 0, 1])", "[5, 3, 4]", NULL},
      {"X : f16[3, 4]", "transpose(X, [0, 0])", NULL, "must name each of the 2 dimensions once"},
      {"X : f16[3, 4]", "transpose(X, [0, 2])", NULL, "must name each of the 2 dimensions once"},
      {"X : f16[3, 4]", "transpose(X, [1, 0, 2])", NULL, "the permutation has 3 entries"},
      {"X : f16[3, 4]", "transpose(X)", NULL, "transpose needs a permutation"},
      {"X : f16[3, 4]\ninput Y : f16[3, 5]", "concat(X, Y, dim=1)", "[3, 9]", NULL},
      {"X : f16[3, 4]\ninput Y : f16[3, 5]", "concat(X, Y, dim=0)", NULL, "must agree but along dimension 0"},
      {"X : f16[3, 4]\ninput Y : f16[4]", "concat(X, Y, dim=0)", NULL, "must agree"},
      {"X : f16[3, 4]\ninput W : f16[3, 2]\ninput Y : f16[2, 5]\ninput Z : f16[4, 5]", "concat_matmul(W, X, Y, Z)", "[3, 5]", NULL},
      {"X : f16[3, 4]\ninput W : f16[3, 2]\ninput Y : f16[2, 5]\ninput Z : f16[4, 6]", "concat_matmul(W, X, Y, Z)", NULL, "must be equal"},
      {"X : f16[3, 4]\ninput G : f16[4]", "rms_norm(X, G, eps=1/1000000)", "[3, 4]", NULL},
      {"X : f16[3, 4]\ninput G : f16[3]", "rms_norm(X, G)", NULL, "do not broadcast"},
      {"X : f16[3, 4]\ninput G : f16[3]", "rms_norm(X, G, dim=0)", "[3, 4]", NULL},
      {"X : f16[3, 4]", "rms_norm(X, eps=-1)", NULL, "eps is a rational, 0 or more"},
      {"X : f16[3, 4]", "rms_norm(X, dim=4)", NULL, "dim is between"},
      {"X : f16[3, 4]", "softmax(X)", "[3, 4]", NULL},
      {"X : f16[3, 4]", "softmax(X, dim=9)", NULL, "dim is between"},
      {"X : f16[3, 4]", "blur(X)", NULL, "'blur' is no operator; MG_USER_OPS adds one by a row"},
      {"X : f16[3, 4]", "layer_norm(X)", NULL, "'layer_norm' is no operator"},
      {"X : f16[3, 4]", "matmull(X, X)", NULL, "'matmull' is no operator: 'matmul' is one"},
      {"X : f16[3, 4]", "rmsnorm(X)", NULL, "'rmsnorm' is no operator: 'rms_norm' is one"},
      {"X : f16[3, 4]", "exq(X)", NULL, "'exq' is no operator: 'exp' is one"},
      {"X : f16[3, 4]", "sofmaxx(X)", NULL, "'sofmaxx' is no operator: 'softmax' is one"},
      {"X : f16[3, 4]", "scale(X, sqrt(2))", NULL, "scale takes 1 operand and a constant, a number such as 1/8"},
      {"X : f16[3, 4]", "mul(X, 2)", NULL, "scale(x, 1/8)), found '2'"},
      {"X : f16[3, 4]", "div(1, X)", NULL, "scale(x, 1/8)), found '1'"},
      {"X : f16[3, 4]", "sub(X, -1)", NULL, "add_scalar(x, 1/8)), found '-'"},
      {"X : f16[3, 4]", "matmul(X, 2)", NULL, "expected a tensor, found '2'"},
      {"X : f16[1099511627776, 2]", "exp(X)", NULL, "at most 2^40 elements"},
      {"X : f16[1099511627777]", "exp(X)", NULL, "an extent is between 1 and 2^40"},
      {"X : f16[0]", "exp(X)", NULL, "an extent is between 1 and 2^40"},
      {"X : f16[2, 3] @ [1, 1]", "exp(X)", NULL, "must name each of the 2 dimensions once"},
      {"X : f16[2, 3] @ [1]", "exp(X)", NULL, "the memory order has 1 entries"},
      {"X : f64[2, 3]", "exp(X)", NULL, "expected f16, bf16, f32 or i32, found 'f64'"},
      {"X : f16[3, 4]\ninput I : i32[5]", "gather(X, I)", "[5, 4]", NULL},
      {"X : bf16[3]\ninput I : i32[5, 2]", "gather(X, I)", "[5, 2]", NULL},
      {"X : f32[3, 4, 2]\ninput I : i32[1, 5]", "gather(X, I)", "[1, 5, 4, 2]", NULL},
      {"X : f16[3, 4, 2, 2]\ninput I : i32[1, 5, 2]", "gather(X, I)", NULL, "rank 6, of indices of rank 3 and rows of rank 3"},
      {"X : f16[2147483648, 4]\ninput I : i32[5]", "gather(X, I)", NULL, "an index of 2147483648 rows is no i32"},
      {"X : f16[4, 2147483648]", "argmax(X, dim=1)", NULL, "an index of 2147483648 elements is no i32"},
      {"X : f16[3, 4]", "argmax(X, dim=-1)", "[3, 1]", NULL},
      {"X : f16[3, 4]", "argmax(X)", NULL, "argmax needs dim="},
      {"X : f16[3, 4]\ninput I : i32[5]", "gather(I, X)", NULL, "operand 1 ('I') holds indices (i32), which only gather reads"},
      {"X : f16[3, 4]\ninput I : i32[5]", "gather(X, X)", NULL, "expected indices of i32 as operand 2, found 'X' of f16"},
      {"X : f16[3, 4]\ninput I : i32[4]", "add(X, I)", NULL, "operand 2 ('I') holds indices (i32)"},
      {"X : f16[3, 4]\ninput I : i32[3, 4]", "sum(I, dim=0)", NULL, "operand 1 ('I') holds indices (i32)"},
      {"X : f16[3, 4]\ninput I : i32[3, 4]", "softmax(I)", NULL, "operand 1 ('I') holds indices (i32)"},
      {"X : f16[3, 4]\ninput I : i32[3, 4]", "cast(I, f32)", NULL, "operand 1 ('I') holds indices (i32)"},
      {"X : f16[3, 4]\ninput I : i32[3, 4]", "reshape(I, [12])", NULL, "operand 1 ('I') holds indices (i32)"},
      {"X : f16[3, 4]", "sqr(argmax(X, dim=0))", NULL, "holds indices (i32), which only gather reads"},
      {"X : f16[3, 4]", "gather(X, argmax(X, dim=0))", "[1, 4, 4]", NULL},
      {"X : f16[3, 4]", "gather(X, argmax(X, dim=1))", NULL, "an argmax over 4 elements, and there are 3 rows to gather from"},
      {"X : i32[6, 8] = causal", "neg(X)", NULL, "a mask holds numbers, not indices: 'X' is of i32"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[512], got[96];
    mg_graph *g = NULL;
    mg_error e;
    snprintf(text, sizeof text, "program p\ninput %s\nO = %s\noutput O\n", cases[k].in, cases[k].expr);
    mg_status s = mg_parse(text, strlen(text), "t", NULL, &g, &e);
    if (cases[k].shape) {
      if (s != MG_OK) fail_msg("%s: %s: %s", cases[k].expr, e.where, e.msg);
      assert_string_equal(mgi_shape_text(&mg_tensor_of(g, g->out[0])->shape, got, sizeof got), cases[k].shape);
      round_trip(g, NULL);
    } else {
      if (s == MG_OK) fail_msg("%s: accepted", cases[k].expr);
      assert_null(g);
      assert_int_equal(s, e.status);
      if (!strstr(e.msg, cases[k].error)) fail_msg("%s: said '%s', expected '%s'", cases[k].expr, e.msg, cases[k].error);
      assert_true(e.line >= 2 && e.column >= 1);
    }
    mg_graph_free(g);
  }
}

/* Operands of one operator are of one 16-bit type, or f32, which the result then is. */
static void types_of_results(void **state) {
  (void)state;
  static const struct { const char *a, *b, *expr; mg_dtype type; } cases[] = {
      {"f16", "f16", "add(X, Y)", MG_F16}, {"bf16", "bf16", "matmul(X, Y)", MG_BF16}, {"f16", "f32", "add(X, Y)", MG_F32}, {"f32", "bf16", "mul(X, Y)", MG_F32},
      {"f16", "f32", "matmul(X, Y)", MG_F32}, {"f32", "f16", "concat(X, Y, dim=0)", MG_F32}, {"f16", "f32", "exp(X)", MG_F16},
      {"f16", "f32", "concat_matmul(Y, X, X, Y)", MG_F32}, {"f16", "bf16", "concat_matmul(F, X, Y, F)", MG_DTYPE_COUNT},
      {"f16", "bf16", "matmul(X, Y)", MG_DTYPE_COUNT}, {"bf16", "f16", "add(X, Y)", MG_DTYPE_COUNT}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[200];
    mg_graph *g = NULL;
    mg_error e;
    snprintf(text, sizeof text, "program p\ninput X : %s[4, 4]\ninput Y : %s[4, 4]\ninput F : f32[4, 4]\nO = %s\noutput O\n", cases[k].a, cases[k].b, cases[k].expr);
    mg_status s = mg_parse(text, strlen(text), "t", NULL, &g, &e);
    assert_int_equal(s, cases[k].type == MG_DTYPE_COUNT ? MG_BAD_INPUT : MG_OK);
    if (s == MG_OK) assert_int_equal(mg_tensor_of(g, g->out[0])->dtype, cases[k].type);
    mg_graph_free(g);
  }
}

/* ---- rationals */

static void rationals(void **state) {
  (void)state;
  mg_rational r = mg_rat(6, -8);
  assert_true(r.num == -3 && r.den == 4);
  r = mg_rat(0, 7);
  assert_true(r.num == 0 && r.den == 1);
  assert_int_equal(mg_rat(1, 0).den, 0);
  assert_int_equal(mg_rat((int64_t)1 << 31, 1).den, 0);
  assert_int_equal(mg_rat(1, (int64_t)1 << 31).den, 0);
  assert_int_equal(mg_rat(INT64_MIN, 2).den, 0);
  assert_int_equal(mg_rat(1, INT64_MIN).den, 0);
  r = mg_rat((int64_t)1 << 40, (int64_t)1 << 39);
  assert_true(r.num == 2 && r.den == 1);
  for (int n = 0; n < 20000; n++) {
    int64_t top = n % 2 ? 2147483647 : 1000;
    int64_t an = pick(-top, top), ad = pick(1, top), bn = pick(-top, top), bd = pick(1, top);
    mg_rational a = mg_rat(an, ad), b = mg_rat(bn, bd), c;
    assert_true(a.den > 0 && (__int128)a.num * ad == (__int128)an * a.den);
    int64_t x = a.num < 0 ? -a.num : a.num, y = a.den;
    while (y) { int64_t t = x % y; x = y, y = t; }
    assert_int_equal(x, 1);
    if (mg_rat_mul(a, b, &c)) assert_true((__int128)c.num * a.den * b.den == (__int128)a.num * b.num * c.den);
    else assert_true(top > 1000);
    if (mg_rat_add(a, b, &c)) assert_true((__int128)c.num * ((__int128)a.den * b.den) == ((__int128)a.num * b.den + (__int128)b.num * a.den) * c.den);
    else assert_true(top > 1000);
  }
  static const struct { const char *text; int64_t num, den; } parsed[] = {
      {"3", 3, 1}, {"-3", -3, 1}, {"1/4096", 1, 4096}, {"-6/8", -3, 4}, {"0.125", 1, 8}, {"-0.5", -1, 2}, {"1e-6", 1, 1000000}, {"1E3", 1000, 1},
      {"2.5e-1", 1, 4}, {"1e+2", 100, 1}, {"0", 0, 1}, {"0.0e99", 0, 1}, {"2147483647", 2147483647, 1}, {"1/2147483647", 1, 2147483647}, {"1.50/3", 1, 2}};
  for (size_t k = 0; k < sizeof parsed / sizeof *parsed; k++) {
    char text[128];
    snprintf(text, sizeof text, "program p\ninput X : f16[2]\nO = scale(X, %s)\noutput O\n", parsed[k].text);
    mg_graph *g = parse(text);
    mg_rational c = g->ops[1].attr.c;
    if (c.num != parsed[k].num || c.den != parsed[k].den) fail_msg("%s: %lld/%lld", parsed[k].text, (long long)c.num, (long long)c.den);
    round_trip(g, NULL);
    mg_graph_free(g);
  }
  static const char *const refused[] = {"1e99", "1e-99", "0.00000000001", "99999999999999999999", "1/2147483648", "1/-2", "1e999999999999", "/2", "1.", "--1", "-"};
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
    char text[160];
    mg_graph *g = NULL;
    mg_error e;
    snprintf(text, sizeof text, "program p\ninput X : f16[2]\nO = scale(X, %s)\noutput O\n", refused[k]);
    if (mg_parse(text, strlen(text), "t", NULL, &g, &e) == MG_OK) fail_msg("scale by %s was accepted", refused[k]);
    assert_int_equal(e.line, 3);
  }
}

/* ---- µGraphs against their programs */

typedef struct pair { const char *name, *program, *ugraph; int min_resized; } pair;
static const pair pairs[] = {
    {"rmsnorm, one loop, two accumulators",
     "program p\ninput X : f16[5, 24]\ninput G : f16[24]\ninput W : f16[24, 18]\nY = rms_norm(X, G, eps=1/1000)\nO = matmul(Y, W)\noutput O\n",
     "program p\ninput X : f16[5, 24]\ninput G : f16[24]\ninput W : f16[24, 18]\n"
     "O = kernel grid=(x=4) threads=64 {\n  for i=3 {\n    a = load X {x->*, i->1}\n    g = load G {x->*, i->0}\n    w = load W {x->1, i->0}\n"
     "    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n"
     "  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/24), 1/1000)))\n  store o {x->1}\n"
     "  plan { stages=3 residency.o=fragment warps_k=2 }\n}\noutput O\n", 0},
    {"rmsnorm without the mean, any size",
     "program p\ninput X : f16[5, 24]\ninput W : f16[24, 18]\nO = matmul(div(X, sqrt(sum(sqr(X), dim=1))), W)\noutput O\n",
     "program p\ninput X : f16[5, 24]\ninput W : f16[24, 18]\n"
     "O = kernel grid=(x=3, y=2) {\n  for i=4 {\n    a = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n    b = matmul(a, w)\n    s = sum(sqr(a), dim=1)\n  }\n"
     "  store div(accum(b) {i->+}, sqrt(accum(s) {i->+})) {x->1, y->0}\n}\noutput O\n", 20},
    {"loads after the loop: bias and residual",
     "program p\ninput X : f16[6, 10]\ninput W : f16[10, 8]\ninput B : f16[8]\ninput R : f16[6, 8]\nO = add(silu(add(matmul(X, W), B)), R)\noutput O\n",
     "program p\ninput X : f16[6, 10]\ninput W : f16[10, 8]\ninput B : f16[8]\ninput R : f16[6, 8]\n"
     "O = kernel grid=(x=2, y=3) {\n  for k=5 {\n    m = matmul(load X {y->0, k->1}, load W {x->1, k->0})\n  }\n  acc = accum(m) {k->+}\n"
     "  b = load B {x->0}\n  r = load R {x->1, y->0}\n  store add(silu(add(acc, b)), r) {x->1, y->0}\n}\noutput O\n", 20},
    {"two loops in sequence: softmax by columns",
     "program p\ninput X : f16[4, 12]\nO = softmax(X, dim=1)\noutput O\n",
     "program p\ninput X : f16[4, 12]\n"
     "O = kernel grid=(x=2) {\n  for i=3 {\n    s = sum(exp(load X {x->0, i->1}), dim=1)\n  }\n  z = accum(s) {i->+}\n"
     "  for j=4 {\n    e = div(exp(load X {x->0, j->1}), z)\n  }\n  store accum(e) {j->1} {x->0}\n}\noutput O\n", 20},
    {"nested loops: a chain of matmuls, MCFuser's mn(n(k), h)",
     "program p\ninput A : f16[6, 8]\ninput B : f16[8, 10]\ninput D : f16[10, 4]\nO = matmul(relu(matmul(A, B)), D)\noutput O\n",
     "program p\ninput A : f16[6, 8]\ninput B : f16[8, 10]\ninput D : f16[10, 4]\n"
     "O = kernel grid=(x=3, y=2) {\n  for n=5 {\n    for k=2 {\n      c = matmul(load A {x->0, k->1}, load B {n->1, k->0})\n    }\n"
     "    cc = relu(accum(c) {k->+})\n    e = matmul(cc, load D {y->1, n->0})\n  }\n  store accum(e) {n->+} {x->0, y->1}\n}\noutput O\n", 20},
    {"one accumulator over two nested loops",
     "program p\ninput X : f16[4, 6, 8]\nO = sum(sum(X, dim=1), dim=2)\noutput O\n",
     "program p\ninput X : f16[4, 6, 8]\n"
     "O = kernel grid=(x=2) {\n  for i=3 {\n    for j=2 {\n      s = sum(sum(load X {x->0, i->1, j->2}, dim=1), dim=2)\n    }\n  }\n"
     "  store accum(s) {i->+, j->+} {x->0}\n}\noutput O\n", 20},
    {"maximum over a loop, concatenation over a loop",
     "program p\ninput X : f16[4, 6]\ninput Y : f16[4, 9]\nA = max(X, dim=1)\nO = add(exp(Y), A)\noutput O\n",
     "program p\ninput X : f16[4, 6]\ninput Y : f16[4, 9]\n"
     "O = kernel grid=(x=2) {\n  for i=3 {\n    m = max(load X {x->0, i->1}, dim=1)\n  }\n  top = accum(m) {i->max}\n"
     "  for j=3 {\n    e = exp(load Y {x->0, j->1})\n  }\n  all = accum(e) {j->1}\n  store add(all, top) {x->0}\n}\noutput O\n", 20},
    {"split-K: a sum over the blocks of z",
     "program p\ninput X : f16[4, 12]\ninput W : f16[12, 6]\ninput B : f16[6]\nO = relu(add(matmul(X, W), B))\noutput O\n",
     "program p\ninput X : f16[4, 12]\ninput W : f16[12, 6]\ninput B : f16[6]\n"
     "O = kernel grid=(x=3, z=2) {\n  for i=3 {\n    m = matmul(load X {z->1, i->1}, load W {x->1, z->0, i->0})\n  }\n"
     "  t = accum(accum(m) {i->+}) {z->+}\n  store relu(add(t, load B {x->0})) {x->1}\n}\noutput O\n", 20},
    {"loop and grid in one accumulator",
     "program p\ninput X : f16[4, 12]\ninput W : f16[12, 6]\nO = matmul(X, W)\noutput O\n",
     "program p\ninput X : f16[4, 12]\ninput W : f16[12, 6]\n"
     "O = kernel grid=(x=3, z=2) {\n  for i=3 {\n    m = matmul(load X {z->1, i->1}, load W {x->1, z->0, i->0})\n  }\n"
     "  store accum(m) {z->+, i->+} {x->1}\n}\noutput O\n", 20},
    {"one output merged over the blocks of z, one that they cut",
     "program p\ninput X : f16[4, 8]\ninput Y : f16[4, 8]\nS = sum(X, dim=1)\nE = exp(Y)\noutput S, E\n",
     "program p\ninput X : f16[4, 8]\ninput Y : f16[4, 8]\nS, E = kernel grid=(x=2, z=4) {\n  s = sum(load X {x->0, z->1}, dim=1)\n"
     "  store accum(s) {z->+} {x->0}\n  store exp(load Y {x->0, z->1}) {x->0, z->1}\n}\noutput S, E\n", 20},
    {"maximum over the blocks of y",
     "program p\ninput X : f16[4, 12]\nO = max(X, dim=1)\noutput O\n",
     "program p\ninput X : f16[4, 12]\nO = kernel grid=(x=2, y=3) {\n  m = max(load X {x->0, y->1}, dim=1)\n  store accum(m) {y->max} {x->0}\n}\noutput O\n", 20},
    {"concatenation over the blocks of y",
     "program p\ninput X : f16[4, 12]\nO = div(X, sum(X, dim=1))\noutput O\n",
     "program p\ninput X : f16[4, 12]\nO = kernel grid=(x=2, y=3) {\n  c = load X {x->0, y->1}\n  all = accum(c) {y->1}\n  store div(all, sum(all, dim=1)) {x->0}\n}\noutput O\n", 20},
    {"two outputs of one kernel",
     "program p\ninput X : f16[6, 8]\nS = sum(X, dim=1)\nE = exp(X)\noutput E, S\n",
     "program p\ninput X : f16[6, 8]\nS, E = kernel grid=(x=3) {\n  a = load X {x->0}\n  store sum(a, dim=1) {x->0}\n  store exp(a) {x->0}\n}\noutput E\noutput S\n", 20},
    {"two outputs cut by one axis and by two",
     "program p\ninput X : f16[12, 3]\ninput Y : f16[12]\nE = exp(X)\nS = sqr(Y)\noutput E, S\n",
     "program p\ninput X : f16[12, 3]\ninput Y : f16[12]\nE, S = kernel grid=(x=3, y=2) {\n  store exp(load X {x->0, y->0}) {x->0, y->0}\n  store sqr(load Y {x->0}) {x->0, y->*}\n}\noutput E, S\n", 20},
    {"a store of a replica: one of the blocks writes",
     "program p\ninput X : f16[6, 8]\nS = sum(X, dim=1)\nE = exp(X)\noutput E, S\n",
     "program p\ninput X : f16[6, 8]\nE, S = kernel grid=(x=2, y=3) {\n  a = load X {x->*, y->0}\n  b = load X {x->1, y->0}\n  store exp(b) {x->1, y->0}\n  store sum(a, dim=1) {x->*, y->0}\n}\noutput E, S\n", 20},
    {"two kernels and a library operator between",
     "program p\ninput X : f16[6, 8]\ninput W : f16[8, 8]\nO = exp(matmul(sqr(X), W))\noutput O\n",
     "program p\ninput X : f16[6, 8]\ninput W : f16[8, 8]\n"
     "Y = kernel grid=(x=3) {\n  store sqr(load X {x->0}) {x->0}\n}\nM = matmul(Y, W)\nO = kernel grid=(x=2, y=2) {\n  store exp(load M {x->0, y->1}) {x->0, y->1}\n}\noutput O\n", 20},
    {"a thread graph",
     "program p\ninput X : f16[8, 8]\ninput Y : f16[8, 8]\nO = silu(add(sqr(X), Y))\noutput O\n",
     "program p\ninput X : f16[8, 8]\ninput Y : f16[8, 8]\n"
     "O = kernel grid=(x=2) threads=32 {\n  a = load X {x->0}\n  b = load Y {x->0}\n  c = thread grid=(x=2, y=4) {\n    u = load a {x->0, y->1}\n    v = load b {x->0, y->1}\n"
     "    store silu(add(sqr(u), v)) {x->0, y->1}\n  }\n  store c {x->0}\n}\noutput O\n", 0},
    {"a thread graph with a loop, in a loop",
     "program p\ninput X : f16[8, 16]\nO = sum(exp(X), dim=1)\noutput O\n",
     "program p\ninput X : f16[8, 16]\n"
     "O = kernel grid=(x=2) threads=32 {\n  for i=2 {\n    a = load X {x->0, i->1}\n    c = thread grid=(x=4) {\n      for k=4 {\n        e = sum(exp(load a {x->0, k->1}), dim=1)\n      }\n"
     "      store accum(e) {k->+} {x->0}\n    }\n  }\n  store accum(c) {i->+} {x->0}\n}\noutput O\n", 0},
    {"batched attention, one loop over the keys",
     "program p\ninput Q : f16[2, 4, 6]\ninput K : f16[2, 8, 6] @ [0, 2, 1]\ninput V : f16[2, 8, 6]\nP = softmax(scale(matmul(Q, transpose(K, [0, 2, 1])), 1/8), dim=2)\nO = matmul(P, V)\noutput O\n",
     "program p\ninput Q : f16[2, 4, 6]\ninput K : f16[2, 8, 6] @ [0, 2, 1]\ninput V : f16[2, 8, 6]\n"
     "O = kernel grid=(x=2, y=2) {\n  q = load Q {x->0, y->1}\n  for i=4 {\n    k = load K {x->0, i->1}\n    v = load V {x->0, i->1}\n"
     "    e = exp(scale(matmul(q, transpose(k, [0, 2, 1])), 1/8))\n    n = matmul(e, v)\n    d = sum(e, dim=2)\n  }\n"
     "  store div(accum(n) {i->+}, accum(d) {i->+}) {x->0, y->1}\n}\noutput O\n", 20},
    {"gated MLP: two accumulators and the epilogue",
     "program p\ninput X : bf16[4, 12]\ninput A : bf16[12, 10]\ninput B : bf16[12, 10]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n",
     "program p\ninput X : bf16[4, 12]\ninput A : bf16[12, 10]\ninput B : bf16[12, 10]\n"
     "O = kernel grid=(x=5) {\n  for i=3 {\n    x = load X {i->1}\n    a = matmul(x, load A {x->1, i->0})\n    b = matmul(x, load B {x->1, i->0})\n  }\n"
     "  store mul(silu(accum(a) {i->+}), accum(b) {i->+}) {x->1}\n}\noutput O\n", 20},
    {"a dimension cut by grid and loop",
     "program p\ninput X : f16[3, 24]\nO = sum(sqr(X), dim=1)\noutput O\n",
     "program p\ninput X : f16[3, 24]\nO = kernel grid=(x=2, y=3) {\n  for i=2 {\n    for j=2 {\n      s = sum(sqr(load X {x->1, y->1, i->1, j->1}), dim=1)\n    }\n  }\n"
     "  store accum(accum(s) {i->+, j->+}) {x->+, y->+} {}\n}\noutput O\n", 20},
    {"a dimension cut by grid and loop, put together by both",
     "program p\ninput X : f16[3, 24]\ninput Y : f16[3, 1]\nO = mul(exp(X), Y)\noutput O\n",
     "program p\ninput X : f16[3, 24]\ninput Y : f16[3, 1]\n"
     "O = kernel grid=(x=3) {\n  for i=2 {\n    e = exp(load X {x->1, i->1})\n  }\n  store mul(accum(e) {i->1}, load Y {}) {x->1}\n}\noutput O\n", 20},
    {"moves of uneven chunks: repeat, transpose, concat",
     "program p\ninput X : f16[7, 4]\ninput Y : f16[7, 4]\nO = concat(repeat(transpose(X, [1, 0]), dim=0, n=2), transpose(Y, [1, 0]), dim=0)\noutput O\n",
     "program p\ninput X : f16[7, 4]\ninput Y : f16[7, 4]\n"
     "O = kernel grid=(y=4) {\n  a = repeat(transpose(load X {y->0}, [1, 0]), dim=0, n=2)\n  store concat(a, transpose(load Y {y->0}, [1, 0]), dim=0) {y->1}\n}\noutput O\n", 0},
    {"batched matmuls whose batches broadcast, batches uneven",
     "program p\ninput A : f16[7, 3, 4]\ninput B : f16[4, 5]\ninput C : f16[1, 4, 5]\ninput D : f16[7, 3, 2]\ninput E : f16[7, 2, 5]\nP = add(matmul(A, B), matmul(A, C))\nO = add(P, concat_matmul(A, D, B, E))\noutput O\n",
     "program p\ninput A : f16[7, 3, 4]\ninput B : f16[4, 5]\ninput C : f16[1, 4, 5]\ninput D : f16[7, 3, 2]\ninput E : f16[7, 2, 5]\n"
     "O = kernel grid=(x=4, y=2, z=3) {\n  a = load A {x->0, y->1}\n  b = load B {z->1}\n  p = add(matmul(a, b), matmul(a, load C {z->2}))\n"
     "  q = concat_matmul(a, load D {x->0, y->1}, b, load E {x->0, z->2})\n  store add(p, q) {x->0, y->1, z->2}\n}\noutput O\n", 20},
    {"an accumulator over an axis of one block",
     "program p\ninput X : f16[4, 6]\nO = exp(X)\noutput O\n",
     "program p\ninput X : f16[4, 6]\nO = kernel grid=(x=2) {\n  store accum(exp(load X {x->0})) {y->+} {x->0}\n}\noutput O\n", 0},
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

static void compare_pair(const mg_graph *p, const mg_graph *u, const char *name) {
  arr in[MG_MAX_IN], a[MG_MAX_OUT], b[MG_MAX_OUT];
  assert_int_equal(p->n_in, u->n_in);
  assert_int_equal(p->n_out, u->n_out);
  random_inputs(p, in, 0);
  eval_ok(p, in, a, name);
  eval_ok(u, in, b, name);
  for (uint32_t k = 0; k < p->n_out; k++) assert_same(&b[k], &a[k], name);
  drop(in, p->n_in), drop(a, p->n_out), drop(b, p->n_out);
}

static void ugraphs_equal_their_programs(void **state) {
  (void)state;
  for (int k = 0; k < N_PAIRS; k++) {
    mg_graph *p = parse(pairs[k].program), *u = parse(pairs[k].ugraph);
    assert_true(mg_is_program(p));
    assert_false(mg_is_program(u));
    round_trip(p, NULL);
    round_trip(u, NULL);
    assert_true(mg_hash(p) != mg_hash(u));
    compare_pair(p, u, pairs[k].name);
    mg_graph_free(p), mg_graph_free(u);
  }
}

/* New extents by dimension class, the classes of both graphs tied through the inputs; new grid and loop counts. */
static void ugraphs_equal_their_programs_at_any_size(void **state) {
  (void)state;
  int ragged_seen = 0;
  for (int k = 0; k < N_PAIRS; k++) {
    mg_graph *p = parse(pairs[k].program), *u = parse(pairs[k].ugraph);
    mg_classes cp, cu;
    mg_error e;
    int resized = 0, kernels = 0;
    assert_int_equal(mg_classes_of(p, &cp, &e), MG_OK);
    assert_int_equal(mg_classes_of(u, &cu, &e), MG_OK);
    for (uint32_t c = 0; c < cp.n; c++) assert_true(cp.extent[c] > 1);
    for (uint32_t j = 1; j < u->n_ops; j++) kernels += u->ops[j].sub != NULL;
    assert_in_range(kernels, 1, 4);
    for (int n = 0; n < 400 && resized < 40 && pairs[k].min_resized; n++) {
      int64_t xp[64], xu[64], counts[8 * (MG_MAX_AXES + 1)];
      assert_true(cp.n <= 64 && cu.n <= 64);
      for (uint32_t c = 0; c < cp.n; c++) xp[c] = cp.fixed[c] ? cp.extent[c] : pick(2, 11);
      for (uint32_t c = 0; c < cu.n; c++) xu[c] = cu.extent[c];
      for (uint32_t j = 0; j < p->n_in; j++)
        for (int d = 0; d < mg_tensor_of(p, p->in[j])->shape.rank; d++) {
          int32_t a = cp.of[p->in[j].id * MG_MAX_RANK + (uint32_t)d], b = cu.of[u->in[j].id * MG_MAX_RANK + (uint32_t)d];
          assert_int_equal(a < 0, b < 0);
          if (a >= 0) xu[b] = xp[a];
        }
      for (int j = 0; j < 8 * (MG_MAX_AXES + 1); j++) counts[j] = pick(1, 4);
      mg_graph *rp = NULL, *ru = NULL;
      if (mg_resize(p, xp, NULL, &rp, &e) != MG_OK) fail_msg("%s: %s: %s", pairs[k].name, e.where, e.msg);
      mg_status s = mg_resize(u, xu, counts, &ru, &e);
      if (s == MG_OK) {
        resized++;
        for (uint32_t t = 1; t < ru->n_ops; t++)
          for (uint32_t q = 1; ru->ops[t].sub && q < ru->ops[t].sub->n_tensors; q++)
            for (int d = 0; d < MG_MAX_RANK; d++) ragged_seen += ru->ops[t].sub->tensors[q].cuts[d] != NULL;
        round_trip(ru, NULL);
        compare_pair(rp, ru, pairs[k].name);
      } else {
        assert_true(s == MG_BAD_INPUT || s == MG_UNSUPPORTED); /* an empty or an uneven chunk, said in words */
        assert_true(*e.msg);
        assert_null(ru);
      }
      mg_graph_free(rp), mg_graph_free(ru);
    }
    if (resized < pairs[k].min_resized) fail_msg("%s: only %d of 400 random sizes were taken", pairs[k].name, resized);
    mg_classes_free(&cp), mg_classes_free(&cu);
    mg_graph_free(p), mg_graph_free(u);
  }
  assert_true(ragged_seen > 200);
}

/* Parts side by side along a dimension that no load cuts, taken apart by the next kernel: a class of its own. */
static void classes_of_stacked_parts(void **state) {
  (void)state;
  const char *t = "program s\ninput A : f16[8, 32]\ninput B : f16[32, 40]\n"
                  "P, L = kernel grid=(z=4) threads=128 {\n  a = load A {z->1}\n  b = load B {z->0}\n  store matmul(a, b) {z->1}\n  store sum(a, dim=1) {z->1}\n}\n"
                  "O = kernel grid=(x=2) threads=128 {\n  for i=4 {\n    p = load P {x->*, i->1}\n    l = load L {x->*, i->1}\n  }\n  o = div(accum(p) {i->+}, accum(l) {i->+})\n  store o {x->*}\n}\noutput O\n";
  mg_graph *g = NULL;
  mg_error e;
  mg_classes c;
  if (mg_parse(t, strlen(t), "s", NULL, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
  uint32_t a = g->in[0].id, b = g->in[1].id, p = g->ops[1].out[0].id, l = g->ops[1].out[1].id, o = g->out[0].id;
#define CLASS(t, d) c.of[(t) * MG_MAX_RANK + (d)]
  assert_true(CLASS(p, 1) != CLASS(b, 1) && CLASS(l, 1) != CLASS(b, 1) && CLASS(p, 1) != CLASS(a, 1));
  assert_true(CLASS(p, 0) == CLASS(a, 0) && CLASS(l, 0) == CLASS(a, 0) && CLASS(o, 0) == CLASS(a, 0));
  assert_int_equal(c.extent[CLASS(p, 1)], 160), assert_int_equal(c.extent[CLASS(l, 1)], 4), assert_int_equal(c.extent[CLASS(b, 1)], 40);
  assert_true(CLASS(o, 1) != CLASS(p, 1));
  assert_int_equal(c.extent[CLASS(o, 1)], 40);
#undef CLASS
  mg_classes_free(&c);
  mg_graph_free(g);
}

/* Tiles of one row each, of a dimension of 4 and of one of 12: no class of both, whatever stands between them and their inputs. */
static void classes_of_single_rows(void **state) {
  (void)state;
  mg_graph *g = parse("program s\ninput X : f16[1, 12, 16]\ninput P : f16[24, 64]\nx = reshape(X, [1, 1, 12, 16])\np = reshape(P, [2, 12, 4, 16])\n"
                      "O = kernel grid=(x=12, y=4, z=2) threads=32 {\n  p = load p {x->1, y->2, z->0}\n  x = load x {x->2, y->*, z->*}\n  o = mul(p, x)\n"
                      "  store o {x->2, y->1, z->0}\n}\noutput O\n");
  mg_classes c;
  mg_error e;
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
  for (uint32_t t = 1; t < g->n_tensors; t++)
    for (int d = 0; d < g->tensors[t].shape.rank; d++) {
      const int32_t k = c.of[t * MG_MAX_RANK + (uint32_t)d];
      assert_int_equal(k < 0 ? 1 : c.extent[k], g->tensors[t].shape.dim[d]);
    }
  mg_classes_free(&c);
  mg_graph_free(g);
}

static void classes_and_resize(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[4, 6]\ninput W : f16[6, 8]\ninput B : f16[1, 8]\nY = add(matmul(X, W), B)\nR = reshape(B, [8])\nO = mul(Y, R)\noutput O\n"), *r = NULL;
  mg_classes c;
  mg_error e;
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
#define CLASS(t, d) c.of[g->in[t].id * MG_MAX_RANK + (d)]
  assert_int_equal(c.n, 3);
  assert_true(CLASS(0, 0) >= 0 && CLASS(0, 1) >= 0 && CLASS(1, 1) >= 0);
  assert_int_equal(CLASS(0, 1), CLASS(1, 0));
  assert_int_not_equal(CLASS(0, 0), CLASS(0, 1));
  assert_int_not_equal(CLASS(0, 1), CLASS(1, 1));
  assert_int_equal(CLASS(2, 1), CLASS(1, 1));
  assert_int_equal(CLASS(2, 0), -1);
  assert_int_equal(c.extent[CLASS(0, 0)], 4);
  assert_int_equal(c.fixed[CLASS(0, 0)], 0);
  assert_int_equal(c.fixed[CLASS(0, 1)], 0);
  assert_int_equal(c.fixed[CLASS(1, 1)], 1); /* the reshape pins it */
  int64_t x[3];
  x[CLASS(0, 0)] = 9, x[CLASS(0, 1)] = 5, x[CLASS(1, 1)] = 8;
#undef CLASS
  assert_int_equal(mg_resize(g, x, NULL, &r, &e), MG_OK);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[0], 9);
  assert_int_equal(mg_tensor_of(r, r->out[0])->shape.dim[1], 8);
  assert_int_equal(mg_tensor_of(r, r->in[1])->shape.dim[0], 5);
  mg_graph_free(r);
  assert_int_equal(mg_resize(g, NULL, NULL, &r, &e), MG_OK); /* a copy */
  assert_true(mg_hash(r) == mg_hash(g));
  char *a = print_ok(g), *b = print_ok(r);
  assert_string_equal(a, b);
  mg_string_free(a), mg_string_free(b);
  mg_graph_free(r);
  mg_classes_free(&c);
  mg_graph_free(g);
  for (int k = 0; k < N_PAIRS; k++) { /* plans, names, maps survive a copy */
    g = parse(pairs[k].ugraph);
    if (mg_resize(g, NULL, NULL, &r, &e) != MG_OK) fail_msg("%s: %s: %s", pairs[k].name, e.where, e.msg);
    a = print_ok(g), b = print_ok(r);
    assert_string_equal(a, b);
    mg_string_free(a), mg_string_free(b);
    mg_graph_free(r), mg_graph_free(g);
  }
}

/* What a reshape, a repeat or a concat passes through keeps its class, and may be resized; what it makes may not. */
static void classes_of_moves(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[6, 5, 8]\ninput Y : f16[6, 3, 8]\nA = reshape(concat(X, Y, dim=1), [6, 4, 2, 8])\nB = repeat(A, dim=2, n=2)\nO = sum(B, dim=3)\nP = reshape(X, [30, 8])\noutput O, P\n"), *r = NULL;
  mg_classes c;
  mg_error e;
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
#define CLASS(t, d) c.of[(t).id * MG_MAX_RANK + (d)]
  const mg_tensor X = g->in[0], Y = g->in[1], O = g->out[0], P = g->out[1];
  assert_int_equal(CLASS(X, 0), CLASS(Y, 0)), assert_int_equal(CLASS(X, 2), CLASS(Y, 2)), assert_int_equal(CLASS(X, 0), CLASS(O, 0));
  assert_int_not_equal(CLASS(X, 1), CLASS(Y, 1)), assert_int_not_equal(CLASS(O, 2), CLASS(O, 1)), assert_int_not_equal(CLASS(P, 0), CLASS(X, 0));
  for (int d = 0; d < 3; d++) assert_int_equal(c.fixed[CLASS(X, d)], 1); /* P keeps none of them */
  mg_classes_free(&c);
  mg_graph_free(g);
  g = parse("program p\ninput X : f16[6, 5, 8]\ninput Y : f16[6, 3, 8]\nA = reshape(concat(X, Y, dim=1), [6, 4, 2, 8])\nB = repeat(A, dim=2, n=2)\nO = sum(B, dim=3)\noutput O\n");
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
  int64_t ext[16];
  for (uint32_t k = 0; k < c.n; k++) ext[k] = c.fixed[k] ? c.extent[k] : 11;
  assert_int_equal(c.fixed[CLASS(g->in[0], 0)], 0);
  assert_int_equal(c.fixed[CLASS(g->in[0], 1)], 1), assert_int_equal(c.fixed[CLASS(g->in[1], 1)], 1);
  assert_int_equal(c.fixed[CLASS(g->in[0], 2)], 1); /* behind what a reshape changes */
#undef CLASS
  assert_int_equal(mg_resize(g, ext, NULL, &r, &e), MG_OK);
  const mg_shape *s = &mg_tensor_of(r, r->out[0])->shape;
  assert_true(s->rank == 4 && s->dim[0] == 11 && s->dim[1] == 4 && s->dim[2] == 4 && s->dim[3] == 1);
  mg_classes_free(&c);
  mg_graph_free(r), mg_graph_free(g);
}

/* Every change of meaning changes the hash; names and plans do not. */
static void hashes(void **state) {
  (void)state;
  static const char *const body = "program %s\ninput X : %s\nO = kernel grid=(x=%s) threads=%s {\n  for i=%s {\n    s = sum(%s(load X {%s}), dim=%s)\n  }\n  store accum(s) {i->%s} {x->0}\n  %s\n}\noutput O\n";
  static const char *const part[10] = {"p", "f16[8, 8]", "2", "64", "4", "exp", "x->0, i->1", "1", "+", ""};
  static const struct { int at; const char *with; int same; } change[] = {
      {0, "q", 1}, {9, "plan { stages=3 }", 1}, {1, "bf16[8, 8]", 0}, {1, "f16[8, 16]", 0}, {1, "f16[8, 8] @ [1, 0]", 0}, {2, "4", 0}, {3, "128", 0}, {4, "2", 0},
      {5, "sqr", 0}, {6, "x->0, i->*", 0}, {8, "max", 0}};
  uint64_t first = 0;
  for (int k = -1; k < (int)(sizeof change / sizeof *change); k++) {
    const char *p[10];
    char text[512];
    memcpy(p, part, sizeof p);
    if (k >= 0) p[change[k].at] = change[k].with;
    snprintf(text, sizeof text, body, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]);
    mg_graph *g = parse(text);
    uint64_t h = mg_hash(g);
    if (k < 0) first = h;
    else if ((h == first) != change[k].same) fail_msg("hash with '%s' in place of '%s'", change[k].with, part[change[k].at]);
    mg_graph_free(g);
  }
}

/* An input may follow a statement; printed, it stands first: the graph is the same. */
static void inputs_anywhere(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[4, 6]\nY = exp(X)\ninput W : f16[6, 8]\n"
                         "O = kernel grid=(x=2) {\n  store matmul(load Y {}, load W {x->1}) {x->1}\n}\noutput O\n");
  mg_graph *h = parse("program p\ninput X : f16[4, 6]\ninput W : f16[6, 8]\nY = exp(X)\n"
                         "O = kernel grid=(x=2) {\n  store matmul(load Y {}, load W {x->1}) {x->1}\n}\noutput O\n");
  round_trip(g, NULL);
  assert_true(mg_hash(g) == mg_hash(h));
  compare_pair(g, h, "inputs anywhere");
  mg_graph_free(g), mg_graph_free(h);
}

/* ---- builder */

static void builder_errors_stick(void **state) {
  (void)state;
  mg_error e;
  mg_graph *g = mg_program_new("p", NULL);
  int64_t s[6] = {4, 6, 1, 1, 1, 1};
  mg_tensor x = mg_input(g, "X", MG_F16, 2, s), none = {0};
  mg_tensor bad = mg_matmul(g, x, x); /* 6 against 4 */
  assert_int_equal(bad.id, 0);
  mg_tensor later = mg_exp(g, mg_add(g, bad, x)); /* nests over the error */
  assert_int_equal(later.id, 0);
  mg_output(g, later);
  assert_int_equal(mg_check(g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "[4, 6]"));
  assert_string_equal(e.where, "matmul");
  assert_int_equal(mg_check(g, NULL), MG_BAD_INPUT);
  mg_graph_free(g);
  assert_int_equal(mg_check(NULL, &e), MG_NO_MEMORY);
  assert_int_equal(mg_exp((mg_graph *)NULL, none).id, 0);
  mg_graph_free(NULL);
  static const struct { int what; const char *msg; } cases[] = {
      {0, "no input"}, {1, "no output"}, {2, "is an input: nothing computes it"}, {3, "the name is taken"}, {4, "is output 0 already"}, {5, "no keyword"},
      {6, "operand 77 is no tensor"}, {12, "loop i is still open"}, {13, "is no name for a loop"}, {14, "mg_loop_end without"}, {15, "mg_graph_end without"}, {16, "a thread graph has no lower graph"}, {7, "at most 64 inputs"}, {8, "is no name"}, {9, "rank 1 to 5"}, {10, "unknown dtype"},
      {11, "rank 1 to 5, got 9"}, {17, "rank 1 to 5, got 9"}, {18, "1 graph is not closed"}, {19, "multiple of 32 between 32 and 1024, got 100"}, {20, "got 0"}, {21, "2 graphs are not closed"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    g = mg_program_new(cases[k].what == 8 ? "9lives" : "p", NULL);
    if (cases[k].what != 0) x = mg_input(g, "X", MG_F16, 2, s);
    mg_tensor y = cases[k].what ? mg_exp(g, x) : none, t77 = {77};
    switch (cases[k].what) {
      case 2: mg_output(g, x); break;
      case 3: mg_named(g, y, "X"); break;
      case 4: mg_output(g, y); mg_output(g, y); break;
      case 5: mg_named(g, y, "for"); break;
      case 6: mg_exp(g, t77); break;
      case 7: for (int j = 0; j < MG_MAX_IN; j++) { char n[16]; snprintf(n, sizeof n, "I%d", j); mg_input(g, n, MG_F16, 2, s); } break;
      case 8: mg_output(g, y); break;
      case 9: mg_input(g, "Y", MG_F16, 6, s); break;
      case 10: mg_input(g, "Y", (mg_dtype)7, 2, s); break;
      case 11: mg_input(g, "Y", MG_F16, 9, NULL); break; /* no extent is read */
      case 17: mg_reshape(g, y, 9, NULL); break;
      case 18: case 19: case 20: case 21: {
        const int64_t unit[3] = {1, 1, 1};
        mg_graph *b = mg_graph_begin(g, unit, cases[k].what == 19 ? 100 : cases[k].what == 20 ? 0 : 128);
        if (cases[k].what == 21) mg_graph_begin(b, unit, 1);
        mg_output(g, y);
        break;
      }
      case 12: case 13: case 14: case 15: case 16: {
        const int64_t unit[3] = {1, 1, 1};
        mg_graph *b = cases[k].what == 15 ? g : mg_graph_begin(g, unit, 32), *t;
        if (cases[k].what == 14) mg_loop_end(b);
        if (cases[k].what == 16) t = mg_graph_begin(b, unit, 1), mg_graph_begin(t, unit, 1);
        if (cases[k].what < 14) mg_loop_begin(b, cases[k].what == 13 ? "9" : "i", 2);
        if (cases[k].what < 14) mg_load(b, x, mg_map_none());
        mg_graph_end(b, NULL);
        break;
      }
      default: break;
    }
    assert_int_not_equal(mg_check(g, &e), MG_OK);
    if (!strstr(e.msg, cases[k].msg)) fail_msg("case %d said '%s', expected '%s'", cases[k].what, e.msg, cases[k].msg);
    mg_graph_free(g);
  }
}

/* What mg_check finds missing may be added: it does not stick. */
static void what_is_missing_may_be_added(void **state) {
  (void)state;
  mg_error e;
  const int64_t s[2] = {4, 6}, unit[3] = {1, 1, 1};
  mg_graph *g = mg_program_new("p", NULL);
  assert_int_equal(mg_check(g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "no input"));
  mg_tensor x = mg_input(g, "X", MG_F16, 2, s), y = {0};
  assert_int_equal(mg_check(g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "no output"));
  mg_graph *b = mg_graph_begin(g, unit, 32);
  mg_store(b, mg_exp(b, mg_load(b, x, mg_map_none())), mg_map_none());
  assert_int_equal(mg_check(g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "1 graph is not closed"));
  assert_int_equal(mg_check(b, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "call it on the program"));
  assert_int_equal(mg_graph_end(b, &y), 1);
  mg_output(g, y);
  if (mg_check(g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  round_trip(g, NULL);
  mg_graph_free(g);
}

static void builder_makes_what_the_text_says(void **state) {
  (void)state;
  mg_graph *g = mg_program_new("p", NULL);
  const int64_t xs[2] = {5, 24}, gs[1] = {24}, ws[2] = {24, 18}, grid[3] = {4, 1, 1};
  mg_tensor X = mg_input(g, "X", MG_F16, 2, xs), G = mg_input(g, "G", MG_F16, 1, gs), W = mg_input(g, "W", MG_F16, 2, ws), O;
  mg_graph *b = mg_graph_begin(g, grid, 64);
  mg_axis x = mg_grid_axis(b, 0), i = mg_loop_begin(b, "i", 3);
  mg_tensor a = mg_load(b, X, mg_map_set(mg_map_set(mg_map_none(), x, MG_MAP_ALL), i, 1));
  mg_tensor ga = mg_load(b, G, mg_map_set(mg_map_none(), i, 0));
  mg_tensor w = mg_load(b, W, mg_map_set(mg_map_set(mg_map_none(), x, 1), i, 0));
  mg_tensor m = mg_matmul(b, mg_mul(b, a, ga), w), s = mg_sum(b, mg_sqr(b, a), 1);
  mg_loop_end(b);
  mg_tensor o = mg_div(b, mg_accum(b, m, mg_map_set(mg_map_none(), i, MG_MAP_SUM)),
                       mg_sqrt(b, mg_add_scalar(b, mg_scale(b, mg_accum(b, s, mg_map_set(mg_map_none(), i, MG_MAP_SUM)), 1, 24), 1, 1000)));
  mg_store(b, o, mg_map_set(mg_map_none(), x, 1));
  mg_plan_set(b, "stages", "3");
  mg_plan_set(b, "residency.o", "shared");
  mg_plan_set(b, "residency.o", "fragment"); /* replaces */
  assert_string_equal(mg_plan_get(b, "residency.o"), "fragment");
  assert_null(mg_plan_get(b, "nothing"));
  assert_int_equal(mg_plan_int(b, "stages", 9), 3);
  assert_int_equal(mg_plan_int(b, "residency.o", 9), 9);
  assert_int_equal(mg_plan_int(b, "nothing", 9), 9);
  assert_int_equal(b->n_plan, 2);
  assert_int_equal(mg_graph_end(b, &O), 1);
  mg_output(g, mg_named(g, O, "O"));
  mg_error e;
  if (mg_check(g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_graph *t = parse(pairs[0].ugraph), *p = parse(pairs[0].program);
  round_trip(g, NULL);
  compare_pair(p, g, "built");
  assert_int_equal(mg_tensor_of(b, w)->shape.dim[0], 8);
  assert_int_equal(mg_tensor_of(b, w)->shape.dim[1], 5); /* ceil(18 / 4) */
  assert_non_null(mg_tensor_of(b, w)->cuts[1]);
  assert_null(mg_tensor_of(b, w)->cuts[0]);
  assert_int_equal(mg_tensor_of(b, o)->depends, 2);
  assert_int_equal(mg_op_of(g, 1)->n_in, 3);
  mg_graph_free(g), mg_graph_free(t), mg_graph_free(p);
}

static void strides(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput K : f16[2, 3, 5] @ [0, 2, 1]\ninput L : f16[2, 3, 5]\nO = add(K, L)\noutput O\n");
  int64_t s[MG_MAX_RANK];
  mg_strides(mg_tensor_of(g, g->in[0]), s);
  assert_true(s[0] == 15 && s[1] == 1 && s[2] == 3);
  mg_strides(mg_tensor_of(g, g->in[1]), s);
  assert_true(s[0] == 15 && s[1] == 5 && s[2] == 1);
  mg_graph_free(g);
}

/* ---- text: errors say where */

/* The printed form, to the letter. */
static void golden_text(void **state) {
  (void)state;
  static const char *const golden =
      "program p\ninput X : f16[8, 16] @ [1, 0]\ninput Y : bf16[2, 3, 4] @ [0, 2, 1]\ninput Z : f32[4]\n"
      "O = kernel grid=(x=2, z=2) threads=96 {\n  for i=2 {\n    for j=4 {\n      a = load X {x->0, z->*, i->*, j->1}\n      t1 = scale(a, -1/3)\n      t2 = sum(t1, dim=1)\n    }\n"
      "    t3 = accum(t2) {j->+}\n  }\n  t4 = accum(t3) {i->max}\n  t5 = accum(t4) {z->+}\n  store t5 {x->0, z->*}\n  plan { stages=2 a.b-c=d_1 }\n}\n"
      "P = transpose(Y, [0, 2, 1])\nQ = reshape(P, [24])\nR = repeat(Z, dim=0, n=6)\nt1 = add_scalar(R, 7)\nS = mul(t1, t1)\noutput S\noutput O\n";
  mg_graph *g = parse(golden);
  char *s = print_ok(g);
  assert_string_equal(s, golden);
  mg_string_free(s);
  round_trip(g, NULL);
  mg_graph_free(g);
}

static void errors_say_where(void **state) {
  (void)state;
  static const struct { const char *text; int line, column; const char *msg; } cases[] = {
      {"", 1, 1, "expected 'program', found the end of the text"},
      {"# only a comment\n", 2, 1, "expected 'program'"},
      {"programme p", 1, 1, "expected 'program', found 'programme'"},
      {"program 9", 1, 9, "expected the program's name, found '9'"},
      {"program p\ninput X f16[2]\n", 2, 9, "expected ':', found 'f16'"},
      {"program p\ninput X : f16(2)\n", 2, 14, "expected '[', found '('"},
      {"program p\ninput X : f16[2.5]\n", 2, 15, "expected an extent, found '2.5'"},
      {"program p\ninput X : f16[99999999999999999999]\n", 2, 15, "the number is too large"},
      {"program p\ninput X : f16[2]\ninput X : f16[2]\n", 3, 7, "the name is taken"},
      {"program p\ninput X : f16[2]\nO = exp(Z)\n", 3, 9, "'Z' is not defined here"},
      {"program p\ninput X : f16[2]\n\n  # a comment\n  O = exp(X\noutput O", 6, 1, "expected ')', found 'output'"},
      {"program p\ninput X : f16[2]\nO = X\noutput O\n", 3, 5, "expected an operator, as in add(X, Y), found the name of a tensor"},
      {"program p\ninput X : f16[2]\nO = exp(X)\n", 4, 1, "no output"},
      {"program p\n", 2, 1, "no input"},
      {"program p\ninput X : f16[2]\nO = exp(X) exp\n", 4, 1, "expected '='"},
      {"program p\ninput X : f16[2]\nO = exp(\x01)\n", 3, 9, "byte 0x01"},
      {"program p\ninput X : f16[2]\nO = exp(\xc2\xb5)\n", 3, 9, "byte 0xc2"},
      {"program p\ninput X : f16[2]\noutput X\n", 3, 8, "is an input"},
      {"program p\ninput X : f16[2]\nA, B = exp(X)\n", 3, 1, "2 names for 1 tensor"},
      {"program p\ninput X : f16[2]\nO = load X {}\n", 3, 5, "a load stands in a kernel"},
      {"program p\ninput X : f16[2]\nO = thread {\n", 3, 5, "a thread graph stands in a kernel's block graph"},
      {"program p\ninput X : f16[2]\nO = kernel grid=(w=2) {\n", 3, 18, "expected x, y or z"},
      {"program p\ninput X : f16[2]\nO = kernel grid=(x=2, x=2) {\n", 3, 23, "once"},
      {"program p\ninput X : f16[2]\nO = kernel grid=(x=0) {\n}\n", 3, 5, "grid x is between 1"},
      {"program p\ninput X : f16[2]\nO = kernel threads=5000 {\n}\n", 3, 5, "threads is a multiple of 32 between 32 and 1024, got 5000"},
      {"program p\ninput X : f16[2, 4]\nO = sum(X, dim=1, dim=0)\noutput O\n", 3, 19, "sum has 'dim=' twice"},
      {"program p\ninput X : f16[2]\nO = kernel threads=100 {\n}\n", 3, 5, "threads is a multiple of 32 between 32 and 1024, got 100"},
      {"program p\ninput X : f16[2]\nO = kernel warps=2 {\n", 3, 12, "expected grid=, threads= or '{'"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  store exp(load X {q->0}) {x->0}\n}\n", 4, 21, "'q' is no grid dimension or loop"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  store exp(load X {x->0, x->0}) {x->0}\n}\n", 4, 27, "the map names x twice"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  store exp(load X {x->1}) {x->0}\n}\n", 4, 13, "to dimension 1 of a tensor of rank 1"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  store exp(load X {x->+}) {x->0}\n}\n", 4, 13, "only an accumulator may name"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=5) {\n  store exp(load X {x->0}) {x->0}\n}\n", 4, 13, "has only 4"},
      {"program p\ninput X : f16[9]\nO = kernel grid=(x=4) {\n  store exp(load X {x->0}) {x->0}\n}\n", 0, 0, NULL}, /* 3 3 3 and none */
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  store exp(load X {x->0}) {x->*}\n}\n", 4, 3, "blocks along x hold different values"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  exp(load X {x->0})\n}\n", 4, 6, "expected '='"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(y=2) {\n  store exp(load X {y->0}) {}\n}\n", 4, 3, "blocks along y hold different values"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(z=2) {\n  store exp(load X {z->0}) {}\n}\n", 4, 3, "blocks along z hold different values"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2, z=2) {\n  a = load X {z->0}\n  store accum(a) {z->+} {z->0}\n}\n", 5, 3, "must not depend on z"},
      {"program p\ninput X : f16[5, 5]\nO = kernel grid=(x=2) {\n  a = repeat(load X {x->0}, dim=0, n=2)\n  store a {x->0}\n}\n", 4, 7, "cut unevenly has no meaning"},
      {"program p\ninput X : f16[5, 5]\nO = kernel grid=(x=2) {\n  a = load X {x->0}\n  b = load X {}\n  store concat(a, b, dim=0) {x->0}\n}\n", 6, 9, "cut unevenly has no meaning"},
      {"program p\ninput X : f16[5, 5]\nO = kernel grid=(x=2, y=2) {\n  a = load X {x->0}\n  b = load X {y->0}\n  store add(a, b) {x->0}\n}\n", 6, 9, "cut unevenly in different ways"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  a = exp(load X {x->0})\n}\n", 3, 5, "a lower graph stores 1 to 8 tensors, got 0"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  for i=2 {\n    a = exp(load X {i->0})\n  }\n  store a {}\n}\n", 7, 3, "lift 'a' with accum"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  for i=2 {\n    a = exp(load X {i->0})\n  }\n  store exp(a) {}\n}\n", 7, 9, "lives in loop i, which is not open here"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  for i=2 {\n    a = exp(load X {i->0})\n    b = accum(a) {i->+}\n  }\n  store b {}\n}\n", 6, 9, "still open"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  for i=2 {\n  }\n}\n", 4, 3, "loop i is empty"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  for x=2 {\n", 4, 3, "taken by another axis"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  for i=0 {\n", 4, 3, "a loop runs 1 to"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2) {\n  a = load X {x->0}\n  b = accum(sum(a, dim=0)) {x->+}\n  store b {x->0}\n}\n", 6, 3, "must not depend on x"},
      {"program p\ninput X : f16[4]\nO = kernel grid=(x=2, y=2) {\n  a = load X {x->0}\n  b = load X {y->0}\n  c = accum(a) {x->+}\n  d = accum(b) {y->+}\n  store add(c, d) {}\n}\n", 7, 7, "over the same grid axes"},
      {"program p\ninput X : f16[5]\nO = kernel grid=(x=2) {\n  a = load X {x->0}\n  store accum(a) {x->+} {}\n}\n", 5, 9, "cut unevenly by x"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  store exp(load X {}) {}\n  plan { stages }\n}\n", 5, 17, "expected '='"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  plan { st/ages=2 }\n}\n", 4, 12, "expected '='"},
      {"program p\ninput X : f16[4]\nO = kernel {\n  kernel {\n", 4, 3, "'kernel' does not stand here"},
      {"program p\ninput X : f16[2]\nO = kernel {\n  y = softmax(load X {})\n  store y {}\n", 6, 1, "expected '}', found the end of the text"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = (mg_graph *)&g;
    mg_error e;
    mg_status s = mg_parse(cases[k].text, strlen(cases[k].text), "file", NULL, &g, &e);
    if (s == MG_OK) fail_msg("accepted:\n%s", cases[k].text);
    assert_null(g);
    if (!cases[k].msg) continue;
    char where[32];
    snprintf(where, sizeof where, "file:%d:%d", cases[k].line, cases[k].column);
    if (e.line != cases[k].line || e.column != cases[k].column || strcmp(e.where, where) || !strstr(e.msg, cases[k].msg))
      fail_msg("%s\n  gave %s (%d:%d) %s\n  expected %s %s", cases[k].text, e.where, e.line, e.column, e.msg, where, cases[k].msg);
    assert_int_equal(mg_parse(cases[k].text, strlen(cases[k].text), NULL, NULL, &g, NULL), s); /* no mg_error is fine */
  }
}

static void bounds_of_the_parser(void **state) {
  (void)state;
  mg_error e;
  mg_graph *g;
  size_t n = ((size_t)1 << 20) + 1;
  char *big = (char *)malloc(n + 64);
  memset(big, ' ', n);
  memcpy(big, "program p", 9);
  assert_int_equal(mg_parse(big, n, "t", NULL, &g, &e), MG_LIMIT);
  strcpy(big, "program p\ninput X : f16[2]\nO = ");
  for (int k = 0; k < 200; k++) strcat(big, "exp(");
  strcat(big, "X");
  assert_int_equal(mg_parse(big, strlen(big), "t", NULL, &g, &e), MG_LIMIT);
  assert_non_null(strstr(e.msg, "nest"));
  char *p = big + sprintf(big, "program p\ninput X : f16[2]\n");
  for (int k = 0; k < 5000; k++) p += sprintf(p, "a%d = exp(X)\n", k);
  assert_int_equal(mg_parse(big, strlen(big), "t", NULL, &g, &e), MG_LIMIT);
  assert_non_null(strstr(e.msg, "4096 operators"));
  p = big + sprintf(big, "program p\ninput X : f16[2]\nO = kernel {\n");
  for (int k = 0; k < 12; k++) p += sprintf(p, "for l%d=1 {\n", k);
  assert_int_equal(mg_parse(big, strlen(big), "t", NULL, &g, &e), MG_LIMIT);
  assert_non_null(strstr(e.msg, "at most 9 loops"));
  p = big + sprintf(big, "program p\ninput ");
  memset(p, 'x', 65), strcpy(p + 65, " : f16[2]\n");
  assert_int_equal(mg_parse(big, strlen(big), "t", NULL, &g, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "at most 64 characters"));
  free(big);
  char zeros[64] = {0};
  assert_int_equal(mg_parse(zeros, sizeof zeros, "t", NULL, &g, &e), MG_BAD_INPUT);
  assert_int_equal(mg_parse_file("/nonexistent/x.mg", NULL, &g, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "/nonexistent/x.mg");
  assert_int_not_equal(mg_parse_file("/", NULL, &g, &e), MG_OK);
}

/* ---- program files */

static int each_program(void (*f)(const char *path, mg_graph *g), const mg_config *cfg) {
  static const char *const dirs[] = {"examples/programs", "tests/programs"};
  int n = 0;
  for (int k = 0; k < 2; k++) {
    DIR *d = opendir(dirs[k]);
    struct dirent *f_;
    if (!d && k == 0) fail_msg("run from the repository's top directory: no %s here", dirs[k]);
    while (d && (f_ = readdir(d))) {
      size_t l = strlen(f_->d_name);
      char path[600];
      mg_graph *g;
      mg_error e;
      if (l < 4 || strcmp(f_->d_name + l - 3, ".mg")) continue;
      snprintf(path, sizeof path, "%s/%s", dirs[k], f_->d_name);
      if (mg_parse_file(path, cfg, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      f(path, g);
      mg_graph_free(g);
      n++;
    }
    if (d) closedir(d);
  }
  return n;
}
static void file_round_trip(const char *path, mg_graph *g) {
  (void)path;
  round_trip(g, NULL);
}
static void program_files_round_trip(void **state) {
  (void)state;
  assert_true(each_program(file_round_trip, NULL) >= 40);
}

/* ---- DOT */

static int have_dot;
static void dot_accepts(const char *what, mg_graph *g) {
  char *s = NULL;
  mg_error e;
  int depth = 0;
  if (mg_dot(g, &s, &e) != MG_OK) fail_msg("%s: %s", what, e.msg);
  assert_memory_equal(s, "digraph ", 8);
  for (const char *p = s; *p; p++) depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
  assert_int_equal(depth, 0);
  if (have_dot) {
    char command[160];
    snprintf(command, sizeof command, "dot -Tsvg >/dev/null 2>build/core.%ld.err", (long)getpid());
    FILE *f = popen(command, "w");
    assert_non_null(f);
    fputs(s, f);
    if (pclose(f) != 0) fail_msg("dot refuses %s:\n%s", what, s);
    snprintf(command, sizeof command, "! grep -i -v -e font -e metrics -e pango build/core.%ld.err", (long)getpid()); /* of the fonts it warns on some machines */
    if (system(command)) fail_msg("dot warns of %s", what);
    snprintf(command, sizeof command, "build/core.%ld.err", (long)getpid());
    remove(command);
  }
  mg_string_free(s);
}
static void dot_takes_all_levels(void **state) {
  (void)state;
  have_dot = system("command -v dot >/dev/null 2>&1 && mkdir -p build") == 0;
  if (!have_dot) print_message("skipped: dot is not installed (package graphviz), its reading of the output\n");
  for (int k = 0; k < N_PAIRS; k++) {
    mg_graph *g = parse(pairs[k].ugraph);
    dot_accepts(pairs[k].name, g);
    char *s = NULL;
    assert_int_equal(mg_dot(g, &s, NULL), MG_OK);
    assert_non_null(strstr(s, "subgraph \"cluster_")); /* kernels, loops and thread graphs are clusters */
    if (strstr(pairs[k].ugraph, "for ")) assert_non_null(strstr(s, "label=\"for "));
    if (strstr(pairs[k].ugraph, "thread grid")) assert_non_null(strstr(s, "label=\"thread "));
    mg_string_free(s);
    mg_graph_free(g);
  }
  mg_graph *g = parse(pairs[16].program);
  dot_accepts("a program", g);
  mg_graph_free(g);
  static const char *const golden =
      "digraph p {\n  node [shape=box, fontname=\"monospace\"];\n  \"ig_1\" [shape=oval, label=\"X : f16[8, 16]\"];\n"
      "  subgraph \"cluster_g_1\" { label=\"kernel grid=(x=2)\";\n"
      "    subgraph \"cluster_g_1_l4\" { label=\"for i=2\"; style=dashed;\n"
      "      \"og_1_1\" [label=\"a = load X\\n[4, 8]\\n {x->0, i->1}\"];\n"
      "      subgraph \"cluster_g_1_2\" { label=\"thread grid=(x=4)\";\n"
      "        \"og_1_2_1\" [label=\"t2 = load a\\n[1, 8]\\n {x->0}\"];\n"
      "        \"og_1_2_2\" [label=\"t3 = sum(t2, dim=1)\\n[1, 1]\"];\n"
      "        \"og_1_2_3\" [label=\"store t3\\n {x->0}\"];\n      }\n    }\n"
      "    \"og_1_3\" [label=\"t1 = accum(c)\\n[4, 1]\\n {i->+}\"];\n"
      "    \"og_1_4\" [label=\"store t1\\n {x->0}\"];\n  }\n"
      "  \"ig_1\" -> \"og_1_1\";\n  \"og_1_1\" -> \"og_1_2_1\";\n  \"og_1_2_1\" -> \"og_1_2_2\";\n  \"og_1_2_2\" -> \"og_1_2_3\";\n"
      "  \"og_1_2_3\" -> \"og_1_3\";\n  \"og_1_3\" -> \"og_1_4\";\n"
      "  \"out0\" [shape=oval, label=\"O [8, 1]\"];\n  \"og_1_4\" -> \"out0\";\n}\n";
  char *s = NULL;
  g = parse("program p\ninput X : f16[8, 16]\nO = kernel grid=(x=2) {\n  for i=2 {\n    a = load X {x->0, i->1}\n    c = thread grid=(x=4) {\n"
               "      store sum(load a {x->0}, dim=1) {x->0}\n    }\n  }\n  store accum(c) {i->+} {x->0}\n}\noutput O\n");
  dot_accepts("the golden one", g);
  assert_int_equal(mg_dot(g, &s, NULL), MG_OK);
  assert_string_equal(s, golden);
  mg_string_free(s);
  mg_graph_free(g);
}

/* ---- memory */

typedef struct pool { size_t live, calls; } pool;
static void *pool_alloc(void *user, size_t n) {
  pool *p = (pool *)user;
  void *q = malloc(n);
  p->calls++;
  if (q) p->live++;
  return q;
}
static void pool_release(void *user, void *q) {
  if (q) ((pool *)user)->live--;
  free(q);
}
static mg_config pool_config(pool *p) {
  mg_config c = mg_config_default();
  memset(p, 0, sizeof *p);
  c.alloc = pool_alloc, c.release = pool_release, c.user = p;
  return c;
}

/* Allocation 1, 2, 3 .. of the arena fails, in both modes: NO_MEMORY, nothing leaks, and one that suffices works. */
static void arena_allocation_failures(void **state) {
  (void)state;
  for (int k = 0; k < N_PAIRS; k++)
    for (int separate = 0; separate < 2; separate++) {
      size_t limit = 1;
      for (;; limit++) {
        pool p;
        mg_config c = pool_config(&p);
        mg_graph *g = NULL, *r = NULL;
        mg_error e;
        c.separate = separate, c.allocation_limit = limit;
        mg_status s = mg_parse(pairs[k].ugraph, strlen(pairs[k].ugraph), "t", &c, &g, &e);
        if (s == MG_OK) { /* the copy's arena obeys the same limit */
          s = mg_resize(g, NULL, NULL, &r, &e);
          mg_graph_free(r);
          mg_graph_free(g);
          assert_int_equal(p.live, 0);
          if (s == MG_OK) break;
        }
        if (s != MG_NO_MEMORY) fail_msg("%s, allocation %zu: %s: %s", pairs[k].name, limit, mg_status_text(s), e.msg);
        assert_int_equal(p.live, 0);
        assert_true(limit < 2000);
      }
      if (limit < (separate ? 12 : 3)) fail_msg("%s: allocation %zu was the first that is not needed", pairs[k].name, limit);
    }
}

/* The same for what is taken from the heap by the printer, the parser of files, the evaluator, classes and resizing. */
static mg_status all_of(const char *text, char **printed) {
  mg_graph *g = NULL, *r = NULL;
  mg_error e;
  mg_classes c;
  char *d = NULL;
  arr in[MG_MAX_IN], out[MG_MAX_OUT];
  const void *pi[MG_MAX_IN];
  void *po[MG_MAX_OUT];
  mg_domain dom = mg_domain_real();
  memset(&c, 0, sizeof c);
  *printed = NULL;
  mg_status s = mg_parse(text, strlen(text), "t", NULL, &g, &e);
  if (s == MG_OK) s = mg_print(g, printed, &e);
  if (s == MG_OK) s = mg_dot(g, &d, &e);
  if (s == MG_OK) s = mg_classes_of(g, &c, &e);
  if (s == MG_OK) s = mg_resize(g, NULL, NULL, &r, &e);
  if (s == MG_OK) {
    uint64_t keep = rng;
    random_inputs(r, in, 0);
    rng = keep;
    for (uint32_t k = 0; k < r->n_in; k++) pi[k] = in[k].v;
    for (uint32_t k = 0; k < r->n_out; k++) {
      const mg_shape *sh = &mg_tensor_of(r, r->out[k])->shape;
      out[k] = make(sh->rank, sh->dim);
      po[k] = out[k].v;
    }
    s = mg_eval(r, &dom, pi, po, &e);
    mg_box whole[MG_MAX_OUT];
    mg_part part;
    for (uint32_t k = 0; k < r->n_out; k++) whole[k] = pick_box(&mg_tensor_of(r, r->out[k])->shape, 1);
    if (s == MG_OK && (s = mg_part_of(r, whole, &part, &e)) == MG_OK) {
      s = mg_eval_part(r, &dom, &part, pi, po, &e);
      mg_part_free(&part);
    }
    drop(in, r->n_in), drop(out, r->n_out);
  }
  if (s != MG_OK) {
    if (e.status != s || !*e.msg) fail_msg("status %d, but the error says %d '%s'", s, e.status, e.msg);
    mg_string_free(*printed);
    *printed = NULL;
  }
  mg_string_free(d);
  mg_classes_free(&c);
  mg_graph_free(r), mg_graph_free(g);
  return s;
}
static void heap_allocation_failures(void **state) {
  (void)state;
  for (int k = 0; k < N_PAIRS; k++)
    for (heap_fail_once = 0; heap_fail_once < 2; heap_fail_once++) {
      size_t live = heap_live, at = 1;
      for (;; at++) {
        char *text;
        heap_calls = 0, heap_fail_at = at;
        mg_status s = all_of(pairs[k].ugraph, &text);
        heap_fail_at = 0;
        mg_string_free(text);
        assert_int_equal(heap_live, live);
        if (s == MG_OK && heap_calls < at) break; /* it was never reached */
        if (s != MG_NO_MEMORY) fail_msg("%s, heap call %zu (once %d): %s", pairs[k].name, at, heap_fail_once, mg_status_text(s));
        assert_true(at < 5000);
      }
      assert_true(at > 8);
    }
  heap_fail_once = 0;
}

static void memory_limit(void **state) {
  (void)state;
  pool p;
  mg_config c = pool_config(&p);
  mg_graph *g = NULL;
  mg_error e;
  size_t need = 0;
  for (c.memory_limit = 1000; c.memory_limit < ((size_t)1 << 22); c.memory_limit += 1000) {
    mg_status s = mg_parse(pairs[0].ugraph, strlen(pairs[0].ugraph), "t", &c, &g, &e);
    if (s == MG_OK) { need = c.memory_limit; mg_graph_free(g); assert_int_equal(p.live, 0); break; }
    assert_true(s == MG_LIMIT || s == MG_NO_MEMORY);
    assert_int_equal(p.live, 0);
  }
  assert_true(need > 0);
}

static void separate_graph(const char *path, mg_graph *g) {
  mg_config c = mg_config_default();
  c.separate = 1;
  (void)path;
  round_trip(g, &c);
}
static void separate_mode(void **state) {
  (void)state;
  mg_config c = mg_config_default();
  c.separate = 1;
  each_program(separate_graph, &c);
  for (int k = 0; k < N_PAIRS; k++) {
    mg_graph *p = parse_with(pairs[k].program, &c), *u = parse_with(pairs[k].ugraph, &c);
    round_trip(u, &c);
    compare_pair(p, u, pairs[k].name);
    mg_graph_free(p), mg_graph_free(u);
  }
}

/* ---- evaluator */

static mg_status refuse(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  (void)op; (void)c; (void)out; (void)in;
  return --*(int *)user < 0 ? MG_UNSUPPORTED : MG_OK;
}
static void a_domain_may_refuse(void **state) {
  (void)state;
  mg_graph *g = parse(pairs[0].ugraph);
  arr in[MG_MAX_IN], out = make(2, mg_tensor_of(g, g->out[0])->shape.dim);
  const void *pi[MG_MAX_IN];
  void *po[1];
  int left = 3;
  mg_error e;
  mg_domain d = mg_domain_real();
  d.map = refuse, d.user = &left;
  random_inputs(g, in, 0);
  for (uint32_t k = 0; k < g->n_in; k++) pi[k] = in[k].v;
  po[0] = out.v;
  assert_int_equal(mg_eval(g, &d, pi, po, &e), MG_UNSUPPORTED);
  drop(in, g->n_in), drop(&out, 1);
  mg_graph_free(g);
}

/* Random bytes and mutilated programs: parsed or refused in words, never more. */
static void noise(void **state) {
  (void)state;
  for (int n = 0; n < 4000; n++) {
    char buf[700];
    mg_graph *g = NULL;
    mg_error e;
    size_t len;
    if (n % 4 == 0) {
      len = (size_t)pick(0, 300);
      for (size_t k = 0; k < len; k++) buf[k] = (char)next64();
    } else {
      const char *t = n % 2 ? pairs[pick(0, N_PAIRS - 1)].ugraph : pairs[pick(0, N_PAIRS - 1)].program;
      len = strlen(t) < sizeof buf ? strlen(t) : sizeof buf;
      memcpy(buf, t, len);
      for (int64_t k = pick(1, 3); k > 0; k--) buf[pick(0, (int64_t)len - 1)] = n % 3 ? "0123456789{}()[]->+*,=xyzi \n"[pick(0, 27)] : (char)next64();
    }
    mg_status s = mg_parse(buf, len, "noise", NULL, &g, &e);
    if (s == MG_OK) round_trip(g, NULL);
    else assert_true(!g && e.status == s && *e.msg && e.line >= 1 && e.column >= 1);
    mg_graph_free(g);
  }
}

/* ---- the operator table in Markdown */

static void print_ops(void) {
  static const char *const attr[] = {"", "constant", "`dim=`", "`dim=`, `n=`", "shape", "permutation", "`eps=`, `dim=`", "two constants", "`dim=`, `from=`, `n=`"};
  printf("| operands | levels | attribute | operators, over the reals |\n|---|---|---|---|\n");
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    const mg_op_info *r = mg_op_row((mg_opcode)k), *before = mg_op_row((mg_opcode)(k - 1));
    const char *what = "computed by the evaluator";
    switch (k) {
      case MG_OP_MATMUL: what = "matrix product of the last two dimensions; leading ones broadcast"; break;
      case MG_OP_CONCAT_MATMUL: what = "`(W, X, Y, Z)`: (W‖X)(Y‖Z) = WY + XZ"; break;
      case MG_OP_SUM: what = "sum over dim"; break;
      case MG_OP_MAX: what = "maximum over dim"; break;
      case MG_OP_MEAN: what = "sugar: sum, scale"; break;
      case MG_OP_RMS_NORM: what = "sugar: x / sqrt(mean(x²) + eps) · gain"; break;
      case MG_OP_WHERE: what = "`(C, X, Y)`: sugar: C ≠ 0 ? X : Y, as keep(C, X) + drop(C, Y)"; break;
      case MG_OP_ROPE: what = "sugar: x c + (-x2 ‖ x1) s, with x = (x1 ‖ x2) along the last dimension"; break;
      case MG_OP_MIN: what = "sugar: neg, max, neg"; break;
      case MG_OP_CAUSAL: what = "sugar: x + mask; it is 0, and -32768 for keys (columns) later than the query, the last of which has the last key"; break;
      case MG_OP_GATHER: what = "`(W, I)`: rows of W by the indices I"; break;
      case MG_OP_ARGMAX: what = "where the maximum over dim stands, of several the first"; break;
      case MG_OP_CLAMP: what = "sugar: clamp_min, clamp_max"; break;
      case MG_OP_SOFTMAX: what = "sugar: exp(x) / sum(exp(x))"; break;
      default: if (r->moves) what = "moves elements"; break;
    }
    const int follows = k > 1 && r->elementwise && before->elementwise && r->n_in == before->n_in && r->levels == before->levels && r->attr == before->attr;
    if (follows) printf("; ");
    else printf("%s| %s%d | %s%s%s | %s | ", k > 1 ? " |\n" : "", k == MG_OP_RMS_NORM ? "1 or " : "", r->n_in, r->levels & MG_LEVEL_K ? "kernel" : "", r->levels & MG_LEVEL_B ? ", block" : "",
                r->levels & MG_LEVEL_T ? ", thread" : "", attr[r->attr]);
    printf("`%s`: %s%s%s", r->name, r->elementwise ? "`" : "", r->elementwise ? r->real : what, r->elementwise ? "`" : "");
  }
  printf(" |\n");
}

/* Reshapes of any kind, in parts, between operators that mix dimensions; and what is asked for in vain. */
static void parts_of_outputs(void **state) {
  (void)state;
  static const char *const shape[] = {"[2, 3, 4, 5]", "[6, 20]", "[120]", "[4, 5, 6]", "[3, 1, 40]", "[2, 60]", "[1, 120, 1]", "[2, 3, 2, 2, 5]", "[10, 12]", "[24, 5]", "[8, 15]"};
  enum { SHAPES = sizeof shape / sizeof *shape };
  char text[1024];
  mg_error e;
  for (int a = 0; a < SHAPES; a++)
    for (int b = 0; b < SHAPES; b++) {
      arr in[MG_MAX_IN], out[MG_MAX_OUT];
      snprintf(text, sizeof text, "program p\ninput X : f32%s\nY = reshape(sqr(X), %s)\nZ = reshape(transpose(concat(repeat(reshape(Y, [10, 12]), dim=1, n=3), reshape(X, [10, 12]), dim=1), [1, 0]), [%d, %d])\noutput Y, Z\n", shape[a], shape[b], 4 * (a + 1) * 120 / (a + 1) / 6, 6);
      mg_graph *g = parse(text);
      random_inputs(g, in, 0);
      for (int n = 0; n < 3; n++) eval_ok(g, in, out, text), drop(out, g->n_out);
      drop(in, g->n_in);
      mg_graph_free(g);
    }
  assert_true(part_elements > 10000);
  /* one row of a matmul needs one row */
  mg_graph *g = parse("program p\ninput X : f16[50, 40]\ninput W : f16[40, 30]\nO = matmul(exp(X), W)\noutput O\n");
  mg_box want[1] = {{{7, 3, 0, 0, 0}, {8, 5, 0, 0, 0}}};
  mg_part part;
  assert_int_equal(mg_part_of(g, want, &part, &e), MG_OK);
  mg_box *x = &part.box[g->in[0].id], *w = &part.box[g->in[1].id];
  assert_true(x->lo[0] == 7 && x->hi[0] == 8 && x->lo[1] == 0 && x->hi[1] == 40 && w->lo[0] == 0 && w->hi[0] == 40 && w->lo[1] == 3 && w->hi[1] == 5);
  assert_true(part.elements == 40 + 2);
  mg_part_free(&part);
  static const mg_box wrong[] = {{{0, 0, 0, 0, 0}, {51, 30, 0, 0, 0}}, {{-1, 0, 0, 0, 0}, {5, 5, 0, 0, 0}}, {{3, 0, 0, 0, 0}, {2, 5, 0, 0, 0}}};
  for (int k = 0; k < 3; k++) {
    assert_int_equal(mg_part_of(g, &wrong[k], &part, &e), MG_BAD_INPUT);
    assert_null(part.box);
    assert_non_null(strstr(e.msg, "output 0 has no part"));
  }
  memset(want, 0, sizeof want); /* nothing */
  assert_int_equal(mg_part_of(g, want, &part, &e), MG_OK);
  assert_true(part.elements == 0 && part.work == 0 && mg_box_elements(&part.box[g->in[0].id], 2) == 0);
  mg_part_free(&part);
  mg_graph_free(g);
}

static int begin(void **state) {
  (void)state;
  rng = seed;
  return 0;
}

/* A value that is called otherwise is so in the plan of its kernel, too; one of that name elsewhere is not. */
static void plans_follow_names(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[8, 64]\n"
                      "A = kernel grid=(x=8) threads=128 {\n  x = load X {x->0}\n  t = exp(x)\n  store t {x->0}\n  plan { t.store=f32 warps_m=1 }\n}\n"
                      "B = kernel grid=(x=8) threads=128 {\n  y = load A {x->0}\n  s = silu(y)\n  store s {x->0}\n  plan { s.store=f32 }\n}\n"
                      "O = add(B, X)\noutput O\n");
  mg_error e;
  char *text;
  for (int again = 0; again < 2; again++) {
    mg_graph *b = g->ops[2].sub;
    for (uint32_t k = 1; k < b->n_tensors; k++)
      if (!again && !strcmp(b->tensors[k].name, "s")) b->tensors[k].name = "t", b->plan[0].key = "t.store";
    mgi_names_apart(g);
    assert_int_equal(mg_print(g, &text, &e), MG_OK);
    assert_true(strstr(text, "t = exp(x)") && strstr(text, "plan { t.store=f32 warps_m=1 }"));
    assert_true(strstr(text, "t_2 = silu(y)") && strstr(text, "plan { t_2.store=f32 }"));
    mg_string_free(text);
  }
  mg_graph_free(g);
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--ops")) { print_ops(); return 0; }
  if (argc == 3 && !strcmp(argv[1], "--seed")) seed = strtoull(argv[2], NULL, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(table_is_sound, begin),
      cmocka_unit_test_setup(elementwise_rows_mean_what_they_say, begin),
      cmocka_unit_test_setup(elementwise_rows_broadcast, begin),
      cmocka_unit_test_setup(structural_rows_mean_what_they_say, begin),
      cmocka_unit_test_setup(shape_rules, begin), cmocka_unit_test_setup(types_of_results, begin),
      cmocka_unit_test_setup(rationals, begin),
      cmocka_unit_test_setup(ugraphs_equal_their_programs, begin),
      cmocka_unit_test_setup(ugraphs_equal_their_programs_at_any_size, begin),
      cmocka_unit_test_setup(classes_and_resize, begin), cmocka_unit_test_setup(classes_of_moves, begin), cmocka_unit_test_setup(classes_of_stacked_parts, begin),
      cmocka_unit_test_setup(classes_of_single_rows, begin),
      cmocka_unit_test_setup(parts_of_outputs, begin),
      cmocka_unit_test_setup(hashes, begin),
      cmocka_unit_test_setup(inputs_anywhere, begin),
      cmocka_unit_test_setup(builder_errors_stick, begin), cmocka_unit_test_setup(what_is_missing_may_be_added, begin),
      cmocka_unit_test_setup(builder_makes_what_the_text_says, begin),
      cmocka_unit_test_setup(strides, begin),
      cmocka_unit_test_setup(golden_text, begin), cmocka_unit_test_setup(plans_follow_names, begin),
      cmocka_unit_test_setup(errors_say_where, begin),
      cmocka_unit_test_setup(bounds_of_the_parser, begin),
      cmocka_unit_test_setup(program_files_round_trip, begin),
      cmocka_unit_test_setup(dot_takes_all_levels, begin),
      cmocka_unit_test_setup(arena_allocation_failures, begin),
      cmocka_unit_test_setup(heap_allocation_failures, begin),
      cmocka_unit_test_setup(memory_limit, begin),
      cmocka_unit_test_setup(separate_mode, begin),
      cmocka_unit_test_setup(a_domain_may_refuse, begin),
      cmocka_unit_test_setup(noise, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
