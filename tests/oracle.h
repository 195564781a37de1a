/* The real meaning of programs and µGraphs, written another way than mirage_verify.h: an element is a long double with
   a bound on its error, which stays 0 while everything is exact, and says whether it is defined over the reals (no
   division by 0, no root of a negative number, no logarithm but of a positive one).  oracle_run walks a program by
   itself; a µGraph goes through mg_eval with the same arithmetic.  Include it after cmocka.h and mirage.h. */
#ifndef MG_TESTS_ORACLE_H
#define MG_TESTS_ORACLE_H

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "splitmix.h"

enum { DEFINED, UNDEFINED, UNKNOWN }; /* UNKNOWN: the error bound covers both */
typedef struct real { long double v, e; int state; } real; /* e: how far v may be from the exact value */

#define REAL_U LDBL_EPSILON

static inline real real_of(long double v) { return (real){ v, 0, DEFINED }; }
static inline real real_not(int state) { return (real){ 0, 0, state }; }
/* A finished value: what is too large or lost its bound is UNKNOWN.  The bound's own rounding is covered. */
static inline real real_made(long double v, long double e) {
  return isfinite(v) && isfinite(e) ? (real){ v, e * 1.0001L, DEFINED } : real_not(UNKNOWN);
}
static inline int real_state(real a, real b) {
  if (a.state == UNDEFINED || b.state == UNDEFINED) return UNDEFINED;
  return a.state | b.state;
}
static inline real real_add(real a, real b) {
  int s = real_state(a, b);
  if (s) return real_not(s);
  long double v = a.v + b.v, t = v - a.v, lost = (a.v - (v - t)) + (b.v - t);
  return real_made(v, a.e + b.e + (lost != 0 ? REAL_U * fabsl(v) : 0));
}
static inline real real_neg(real a) { return (real){ -a.v, a.e, a.state }; }
/* 1 if a * b is v exactly: factors of 24 bits, or Dekker's error of a product is 0. */
static inline int real_exact(long double a, long double b, long double v) {
  const long double split = (long double)(1ull << (LDBL_MANT_DIG + 1) / 2) + 1;
  if ((float)a == a && (float)b == b) return a * b == v;
  if (fabsl(a) > 1e1000L || fabsl(b) > 1e1000L || fabsl(a * b) < 1e-1000L) return v == 0 && (a == 0 || b == 0);
  long double x = a * split, y = b * split;
  x = x - (x - a), y = y - (y - b);
  long double p = x * y - v, q = p + x * (b - y), r = q + (a - x) * y;
  return r + (a - x) * (b - y) == 0;
}
static inline real real_mul(real a, real b) {
  int s = real_state(a, b);
  if (s) return real_not(s);
  long double v = a.v * b.v, e = fabsl(a.v) * b.e + fabsl(b.v) * a.e + a.e * b.e;
  return real_made(v, e + (real_exact(a.v, b.v, v) ? 0 : REAL_U * fabsl(v) + LDBL_MIN));
}
static inline real real_div(real a, real b) {
  int s = real_state(a, b);
  if (b.state == DEFINED && b.v == 0 && b.e == 0) return real_not(UNDEFINED);
  if (s) return real_not(s);
  if (fabsl(b.v) <= b.e) return real_not(UNKNOWN);
  long double v = a.v / b.v, e = (a.e + fabsl(v) * b.e) / (fabsl(b.v) - b.e);
  return real_made(v, e + (real_exact(v, b.v, a.v) ? 0 : REAL_U * fabsl(v) + LDBL_MIN));
}
static inline real real_max(real a, real b) {
  int s = real_state(a, b);
  if (s) return real_not(s);
  if (a.v - a.e > b.v + b.e || a.v == -INFINITY) return a.v == -INFINITY ? b : a;
  if (b.v - b.e > a.v + a.e || b.v == -INFINITY) return b.v == -INFINITY ? a : b;
  return (real){ a.v > b.v ? a.v : b.v, a.e > b.e ? a.e : b.e, DEFINED };
}
static inline real real_sqrt(real a) {
  if (a.state) return a;
  if (a.v + a.e < 0) return real_not(UNDEFINED);
  if (a.v - a.e < 0) return real_not(UNKNOWN);
  long double v = sqrtl(a.v), e = a.e > 0 ? v - sqrtl(a.v - a.e) + REAL_U * v : 0;
  return real_made(v, e + (real_exact(v, v, a.v) ? 0 : REAL_U * v));
}
static inline real real_log(real a) {
  if (a.state) return a;
  if (a.v + a.e <= 0) return real_not(UNDEFINED);
  if (a.v - a.e <= 0) return real_not(UNKNOWN);
  if (a.v == 1 && a.e == 0) return real_of(0);
  long double v = logl(a.v);
  return real_made(v, a.e / (a.v - a.e) + 8 * REAL_U * fabsl(v));
}
static inline real real_exp(real a) {
  if (a.state || (a.v == 0 && a.e == 0)) return a.state ? a : real_of(1);
  if (fabsl(a.v) > 11000 || a.e > 1) return real_not(UNKNOWN);
  long double v = expl(a.v);
  return real_made(v, v * expm1l(a.e) + 8 * REAL_U * v);
}
/* silu and gelu grow by less than 1.2 a unit. */
static inline real real_gate(mg_opcode op, real a) {
  if (a.state || (a.v == 0 && a.e == 0)) return a;
  if (fabsl(a.v) > 11000) return real_not(UNKNOWN);
  long double v = op == MG_OP_SILU ? a.v / (1 + expl(-a.v)) : a.v / 2 * erfcl(-a.v * sqrtl(0.5L));
  return real_made(v, 1.2L * a.e + 64 * REAL_U * fabsl(v) * (1 + a.v * a.v) + LDBL_MIN);
}
static inline real real_op(mg_opcode op, mg_rational c, real a, real b) {
  real k = real_of(0);
  if (c.den) k = real_div(real_of((long double)c.num), real_of((long double)c.den));
  switch (op) {
    case MG_OP_ADD: return real_add(a, b);
    case MG_OP_SUB: return real_add(a, real_neg(b));
    case MG_OP_MUL: return real_mul(a, b);
    case MG_OP_DIV: return real_div(a, b);
    case MG_OP_EXP: return real_exp(a);
    case MG_OP_SQR: return real_mul(a, a);
    case MG_OP_SQRT: return real_sqrt(a);
    case MG_OP_SILU: case MG_OP_GELU: return real_gate(op, a);
    case MG_OP_RELU: return real_max(a, real_of(0));
    case MG_OP_LOG: return real_log(a);
    case MG_OP_NEG: return real_neg(a);
    case MG_OP_SCALE: return real_mul(a, k);
    case MG_OP_ADD_SCALAR: return real_add(a, k);
    case MG_OP_SIGMOID: return real_div(real_of(1), real_add(real_of(1), real_exp(real_neg(a))));
    case MG_OP_RSQRT: return real_div(real_of(1), real_sqrt(a));
    case MG_OP_ABS: return real_max(a, real_neg(a));
    case MG_OP_MAXIMUM: return real_max(a, b);
    case MG_OP_MINIMUM: return real_neg(real_max(real_neg(a), real_neg(b)));
    case MG_OP_CLAMP_MIN: return real_max(a, k);
    case MG_OP_CLAMP_MAX: return real_neg(real_max(real_neg(a), real_neg(k)));
    case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: return a;
    default: fail_msg("the oracle has no meaning for %s", mg_op_row(op)->name); return a;
  }
}

/* ---- a program, operator by operator */

static inline int64_t oracle_size(const mg_shape *s) {
  int64_t n = 1;
  for (int d = 0; d < s->rank; d++) n *= s->dim[d];
  return n;
}
static inline void oracle_at(const mg_shape *s, int64_t k, int64_t *i) {
  for (int d = s->rank - 1; d >= 0; d--) i[d] = k % s->dim[d], k /= s->dim[d];
}
static inline int64_t oracle_offset(const mg_shape *s, const int64_t *i) {
  int64_t k = 0;
  for (int d = 0; d < s->rank; d++) k = k * s->dim[d] + i[d];
  return k;
}
/* The element of s that stands for element i of a shape of rank r to which s broadcasts. */
static inline int64_t oracle_wide(const mg_shape *s, int r, const int64_t *i) {
  int64_t k = 0;
  for (int d = 0; d < s->rank; d++) k = k * s->dim[d] + (s->dim[d] == 1 ? 0 : i[d + r - s->rank]);
  return k;
}
/* Row i of a times column i of b, added to `sum`. */
static inline real oracle_dot(real sum, const real *a, const mg_shape *A, const real *b, const mg_shape *B, int r,
                              const int64_t *i) {
  int64_t x[MG_MAX_RANK], y[MG_MAX_RANK], n = A->dim[A->rank - 1];
  memcpy(x, i, sizeof x), memcpy(y, i, sizeof y);
  for (int64_t k = 0; k < n; k++) {
    x[r - 1] = k, y[r - 2] = k;
    sum = real_add(sum, real_mul(a[oracle_wide(A, r, x)], b[oracle_wide(B, r, y)]));
  }
  return sum;
}
static inline real oracle_element(const mg_op_node *o, const mg_shape *O, int64_t *i, real *const *in,
                                  const mg_shape *const *S) {
  int64_t j[MG_MAX_RANK];
  int d = o->attr.dim, r = O->rank;
  memcpy(j, i, sizeof j);
  switch (o->code) {
    case MG_OP_MATMUL: return oracle_dot(real_of(0), in[0], S[0], in[1], S[1], r, i);
    case MG_OP_CONCAT_MATMUL:
      return oracle_dot(oracle_dot(real_of(0), in[0], S[0], in[2], S[2], r, i), in[1], S[1], in[3], S[3], r, i);
    case MG_OP_SUM: case MG_OP_MAX: {
      real v = real_of(0);
      for (j[d] = 0; j[d] < S[0]->dim[d]; j[d]++) {
        real x = in[0][oracle_offset(S[0], j)];
        v = o->code == MG_OP_SUM ? real_add(v, x) : j[d] ? real_max(v, x) : x;
      }
      return v;
    }
    case MG_OP_REPEAT: j[d] %= S[0]->dim[d]; return in[0][oracle_offset(S[0], j)];
    case MG_OP_RESHAPE: return in[0][oracle_offset(O, i)];
    case MG_OP_TRANSPOSE:
      for (int k = 0; k < r; k++) j[o->attr.perm[k]] = i[k];
      return in[0][oracle_offset(S[0], j)];
    case MG_OP_CONCAT:
      if (i[d] < S[0]->dim[d]) return in[0][oracle_offset(S[0], i)];
      j[d] -= S[0]->dim[d];
      return in[1][oracle_offset(S[1], j)];
    default: {
      real zero = real_of(0), a = in[0][oracle_wide(S[0], r, i)];
      return real_op(o->code, o->attr.c, a, o->n_in > 1 ? in[1][oracle_wide(S[1], r, i)] : zero);
    }
  }
}
static inline void oracle_walk(const mg_graph *g, real *const *in, real *const *out) {
  real **t = (real **)calloc(g->n_tensors, sizeof *t);
  for (uint32_t k = 0; k < g->n_in; k++) t[g->in[k].id] = in[k];
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    const mg_shape *O = &g->tensors[o->out[0].id].shape, *S[4];
    real *of[4];
    int64_t n = oracle_size(O);
    for (int j = 0; j < o->n_in; j++) S[j] = &g->tensors[o->in[j].id].shape, of[j] = t[o->in[j].id];
    real *made = t[o->out[0].id] = (real *)malloc((size_t)n * sizeof(real));
    for (int64_t e = 0; e < n; e++) {
      int64_t i[MG_MAX_RANK] = { 0 };
      oracle_at(O, e, i);
      made[e] = oracle_element(o, O, i, of, S);
    }
  }
  for (uint32_t k = 0; k < g->n_out; k++)
    memcpy(out[k], t[g->out[k].id], (size_t)oracle_size(&g->tensors[g->out[k].id].shape) * sizeof(real));
  for (uint32_t k = 1; k < g->n_ops; k++) free(t[g->ops[k].out[0].id]);
  free(t);
}

/* ---- a µGraph: mg_eval's walk, the same arithmetic */

static inline real *oracle_in(const mg_view *v, const int64_t *i) {
  int64_t at = 0;
  for (int d = 0; d < v->shape.rank; d++) at += i[d] * v->stride[d];
  return (real *)v->data + at;
}
static inline mg_status oracle_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  int64_t n = oracle_size(&out->shape), i[MG_MAX_RANK] = { 0 };
  (void)user;
  for (int64_t k = 0; k < n; k++) {
    real zero = real_of(0);
    oracle_at(&out->shape, k, i);
    int64_t at[2] = { 0, 0 };
    for (int j = 0; j < mg_op_row(op)->n_in; j++)
      for (int d = 0; d < out->shape.rank; d++) at[j] += i[d] * in[j].stride[d];
    const real *b = mg_op_row(op)->n_in > 1 ? (const real *)in[1].data + at[1] : &zero;
    *oracle_in(out, i) = real_op(op, c, ((const real *)in[0].data)[at[0]], *b);
  }
  return MG_OK;
}
static inline mg_status oracle_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  (void)user;
  for (int64_t x = 0; x < c->shape.dim[0]; x++)
    for (int64_t y = 0; y < c->shape.dim[1]; y++)
      for (int64_t z = 0; z < a->shape.dim[1]; z++) {
        int64_t i[2] = { x, y }, l[2] = { x, z }, r[2] = { z, y };
        real *to = oracle_in(c, i);
        *to = real_add(*to, real_mul(*oracle_in(a, l), *oracle_in(b, r)));
      }
  return MG_OK;
}
static inline mg_status oracle_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t n = oracle_size(&in->shape), i[MG_MAX_RANK] = { 0 };
  (void)user;
  for (int64_t k = 0; k < n; k++) {
    oracle_at(&in->shape, k, i);
    real *to = (real *)out->data, x = *oracle_in(in, i);
    for (int d = 0; d < in->shape.rank; d++) to += i[d] * out->stride[d];
    *to = op == MG_OP_SUM ? real_add(*to, x) : real_max(*to, x);
  }
  return MG_OK;
}
static inline void oracle_fill(void *user, mg_opcode op, void *dst, size_t n) {
  (void)user;
  for (size_t k = 0; k < n; k++) ((real *)dst)[k] = real_of(op == MG_OP_SUM ? 0 : -INFINITY);
}

/* All outputs of g, from dense row-major inputs. */
static inline void oracle_run(const mg_graph *g, real *const *in, real *const *out) {
  if (mg_is_program(g)) { oracle_walk(g, in, out); return; }
  const mg_domain d = { NULL, sizeof(real), oracle_map, oracle_matmul, oracle_combine, oracle_fill, NULL, NULL, NULL };
  mg_error e;
  if (mg_eval(g, &d, (const void *const *)in, (void *const *)out, &e) != MG_OK) fail_msg("mg_eval: %s", e.msg);
}

/* ---- inputs */

enum { ORACLE_FIRST = 3, ORACLE_KINDS = 17 };
/* What round `round` of a seed gives to the inputs: few bits, so that sums and products stay exact.  The first rounds
   are constant; then sign patterns, ties, zeros, levels, elements and rows far above or below, and the like, at random. */
static inline void oracle_inputs(const mg_graph *g, uint64_t seed, int round, real *const *in) {
  static const long double level[] = { -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3 };
  uint64_t s = seed * 0x9E3779B97F4A7C15ull + (uint64_t)round;
  int kind = round < ORACLE_KINDS ? round : (int)(next(&s) % (ORACLE_KINDS - ORACLE_FIRST)) + ORACLE_FIRST;
  uint32_t loud = (uint32_t)(next(&s) % g->n_in);
  uint64_t signs = next(&s), flat = next(&s) & next(&s);
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_shape *S = &g->tensors[g->in[k].id].shape;
    int64_t n = oracle_size(S), one = (int64_t)(next(&s) % (uint64_t)n);
    int64_t columns = S->dim[S->rank - 1], row = one / columns, column = one % columns;
    long double own = level[next(&s) % 9], far = next(&s) & 1 ? 64 : next(&s) & 1 ? -64 : next(&s) & 1 ? 1024 : -1024;
    if (kind == 4 && (next(&s) & 1)) own = (long double)(int)(next(&s) % 129) - 64;
    for (int64_t i = 0; i < n; i++) {
      uint64_t w = next(&s);
      long double any = ((int)(w % 65) - 32) / 16.0L, v = any, sure = ((int)(w % 32) + 1) / 16.0L;
      switch (kind) {
        case 0: v = 0; break;
        case 1: v = 1; break;
        case 2: v = -1; break;
        case 3: v = (int)(w % 3) - 1; break;
        case 4: v = own; break;
        case 5: v = sure; break;
        case 6: v = -sure; break;
        case 7: v = signs >> k & 1 ? -sure : sure; break;
        case 8: v = any + (k == loud && i == one ? far : 0); break;
        case 9: v = any + (k == loud && (signs & 1 ? i / columns == row : i % columns == column) ? far : 0); break;
        case 10: v = any + (k == loud ? far : 0); break;
        case 11: v = signs >> k & 1 ? own : any; break;
        case 12: v = w >> 40 & 3 ? 0 : any * 2; break;
        case 13: v = (flat >> k & 1) ? 0 : signs >> k & 1 ? -sure : any; break;
        case 14: v = (int)(w & 1); break;
        case 15: v = any / 64; break;
        default: break;
      }
      in[k][i] = real_of(v);
    }
    for (uint32_t j = 0; j < k && kind == 16; j++) /* the same values twice */
      if (oracle_size(&g->tensors[g->in[j].id].shape) == n) memcpy(in[k], in[j], (size_t)n * sizeof(real));
  }
}

/* 1 if b is wrong for a at this element: a is defined, and b is not, or differs by more than all rounding. */
static inline int oracle_wrong(real a, real b) {
  if (a.state != DEFINED || b.state == UNKNOWN) return 0;
  return b.state == UNDEFINED || fabsl(a.v - b.v) > 4 * (a.e + b.e) + REAL_U * fabsl(a.v);
}

typedef struct oracle_found { int found, round, output; int64_t element; real a, b; } oracle_found;

/* All of one kind: n tensors' worth of reals. */
static inline real **oracle_room(const mg_graph *g, int inputs) {
  uint32_t n = inputs ? g->n_in : g->n_out;
  real **r = (real **)calloc(n, sizeof *r);
  for (uint32_t k = 0; k < n; k++)
    r[k] = (real *)calloc((size_t)oracle_size(&g->tensors[(inputs ? g->in[k] : g->out[k]).id].shape), sizeof(real));
  return r;
}
static inline void oracle_clear(real **r, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) free(r[k]);
  free(r);
}
enum { ORACLE_WAYS = 3 };
/* Looks for inputs at which b is wrong for a (way[0]), a for b (way[1]), and at which both are defined and differ
   (way[2]), among rounds from .. to-1 of the seed.  Stops, from round `enough` on, once there are some for all ways of
   `need` (bits 1, 2 and 4). */
static inline void oracle_compare(const mg_graph *a, const mg_graph *b, uint64_t seed, int from, int to, int enough,
                                  int need, oracle_found way[ORACLE_WAYS]) {
  real **in = oracle_room(a, 1), **x = oracle_room(a, 0), **y = oracle_room(b, 0);
  memset(way, 0, ORACLE_WAYS * sizeof *way);
  for (int round = from; round < to; round++) {
    if (round >= enough && !(need & ~(way[0].found | way[1].found << 1 | way[2].found << 2))) break;
    oracle_inputs(a, seed, round, in);
    oracle_run(a, in, x), oracle_run(b, in, y);
    for (uint32_t k = 0; k < a->n_out; k++)
      for (int64_t i = 0, n = oracle_size(&a->tensors[a->out[k].id].shape); i < n; i++)
        for (int w = 0; w < ORACLE_WAYS; w++) {
          real p = w == 1 ? y[k][i] : x[k][i], q = w == 1 ? x[k][i] : y[k][i];
          if (w == 2 && (p.state != DEFINED || q.state != DEFINED)) continue;
          if (!way[w].found && oracle_wrong(p, q)) way[w] = (oracle_found){ 1, round, (int)k, i, p, q };
        }
  }
  oracle_clear(in, a->n_in), oracle_clear(x, a->n_out), oracle_clear(y, b->n_out);
}

#endif
