/* Right algebra on drafts: rules that keep what a µGraph computes, by the field axioms with opaque functions, at every
   level.  rewrite_step applies one at random.  Rules that put new values in give them a tensor before the op that they
   replace, then send that op's uses there; what nothing uses any more is swept. */
#ifndef MG_TESTS_REWRITE_H
#define MG_TESTS_REWRITE_H

#include "draft.h"

typedef struct rw { draft *D; int l; draft_level *L; uint64_t *s; } rw;

static uint64_t rw_next(uint64_t *s) {
  uint64_t z = (*s += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static int rw_below(uint64_t *s, int n) { return n > 0 ? (int)(rw_next(s) % (uint64_t)n) : 0; }

#define RW_OP(k) (&C->L->op[k])
#define RW_SHAPE(t) (&C->L->shape[t])

/* The op of this level that makes t, if it is a `code`, else -1. */
static int rw_src(const rw *C, int t, mg_opcode code) {
  int k = draft_def(C->L, t);
  return k >= 0 && C->L->op[k].code == code ? k : -1;
}
static int rw_same_shape(const mg_shape *a, const mg_shape *b) {
  int same = a->rank && a->rank == b->rank;
  for (int d = 0; d < a->rank && same; d++) same = a->dim[d] == b->dim[d];
  return same;
}
/* The extent of s at dimension d of a shape of rank r that it broadcasts to. */
static int64_t rw_dim(const mg_shape *s, int r, int d) { return d < r - s->rank ? 1 : s->dim[d - (r - s->rank)]; }
static int rw_fits(const mg_shape *small, const mg_shape *big) { /* broadcasts into big without growing it */
  if (!small->rank || !big->rank || small->rank > big->rank) return 0;
  for (int d = 0; d < big->rank; d++)
    if (rw_dim(small, big->rank, d) != 1 && rw_dim(small, big->rank, d) != big->dim[d]) return 0;
  return 1;
}
static int rw_put(rw *C, int *at, int scope, mg_opcode code, int a, int b) { return a && (b || mg_op_row(code)->n_in < 2) ? draft_emit(C->L, at, code, scope, NULL, mg_op_row(code)->n_in, a, b) : 0; }
static int rw_put_attr(rw *C, int *at, int scope, mg_opcode code, const mg_attr *A, int a) { return a ? draft_emit(C->L, at, code, scope, A, 1, a, 0) : 0; }
static int rw_put_rat(rw *C, int *at, int scope, mg_opcode code, mg_rational c, int a) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.c = c;
  return c.den && !(code == MG_OP_SCALE && !c.num) ? rw_put_attr(C, at, scope, code, &A, a) : 0;
}
/* r stands for t now, from op *at on. */
static int rw_done(rw *C, const int *at, int t, int r) {
  if (!r) return 0;
  draft_replace(C->D, C->l, t, r, *at);
  return 1;
}
static mg_rational rw_inverse(mg_rational c) { return mg_rat(c.den, c.num); }
static mg_rational rw_times(mg_rational a, mg_rational b) {
  mg_rational r;
  mg_rat_mul(a, b, &r);
  return r;
}
static mg_rational rw_constant(uint64_t *s) {
  static const int num[] = {2, 3, -1, 1, 1, -2, 5, 2}, den[] = {1, 1, 1, 2, 3, 1, 1, 3};
  int k = rw_below(s, 8);
  return mg_rat(num[k], den[k]);
}

/* ---- algebra on op k */

static int rw_commute(rw *C, int k) {
  draft_op *o = RW_OP(k);
  int t = o->in[0];
  if ((o->code != MG_OP_ADD && o->code != MG_OP_MUL) || o->in[0] == o->in[1]) return 0;
  o->in[0] = o->in[1], o->in[1] = t;
  return 1;
}
/* (a o b) o c = a o (b o c) */
static int rw_associate(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int j = rw_below(C->s, 2), d;
  if ((o.code != MG_OP_ADD && o.code != MG_OP_MUL) || (d = rw_src(C, o.in[j], o.code)) < 0) return 0;
  int i = rw_below(C->s, 2), a = RW_OP(d)->in[i], b = RW_OP(d)->in[!i];
  int t = rw_put(C, &k, o.scope, o.code, b, o.in[!j]);
  t = rw_put(C, &k, o.scope, o.code, a, t);
  return rw_done(C, &k, o.out[0], t);
}
/* (a + b) o c = a o c + b o c, o one of * and / */
static int rw_distribute(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int j = o.code == MG_OP_MUL ? rw_below(C->s, 2) : 0;
  if (o.code != MG_OP_MUL && o.code != MG_OP_DIV) return 0;
  int d = rw_src(C, o.in[j], MG_OP_ADD);
  if (d < 0) d = rw_src(C, o.in[j], MG_OP_SUB);
  if (d < 0) return 0;
  draft_op s = *RW_OP(d);
  int x = rw_put(C, &k, o.scope, o.code, s.in[0], o.in[!j]), y = rw_put(C, &k, o.scope, o.code, s.in[1], o.in[!j]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, x, y));
}
/* a o c + b o c = (a + b) o c, o one of * / matmul and scale */
static int rw_factor(rw *C, int k) {
  draft_op o = *RW_OP(k);
  if (o.code != MG_OP_ADD && o.code != MG_OP_SUB) return 0;
  int p = draft_def(C->L, o.in[0]), q = draft_def(C->L, o.in[1]);
  if (p < 0 || q < 0 || RW_OP(p)->code != RW_OP(q)->code) return 0;
  draft_op x = *RW_OP(p), y = *RW_OP(q);
  if (x.code == MG_OP_SCALE && x.attr.c.num == y.attr.c.num && x.attr.c.den == y.attr.c.den) {
    int t = rw_put(C, &k, o.scope, o.code, x.in[0], y.in[0]);
    return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_SCALE, &x.attr, t));
  }
  if (x.code != MG_OP_MUL && x.code != MG_OP_DIV && x.code != MG_OP_MATMUL) return 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      if (x.in[i] != y.in[j] || (x.code != MG_OP_MUL && i != j) || (x.code == MG_OP_DIV && !i)) continue;
      int a = x.in[!i], b = y.in[!j], t;
      if (x.code == MG_OP_MATMUL && !rw_same_shape(RW_SHAPE(a), RW_SHAPE(b))) continue;
      t = rw_put(C, &k, o.scope, o.code, a, b);
      if (x.code == MG_OP_MATMUL && !i) t = rw_put(C, &k, o.scope, x.code, x.in[i], t);
      else t = rw_put(C, &k, o.scope, x.code, t, x.in[i]);
      return rw_done(C, &k, o.out[0], t);
    }
  return 0;
}
/* (a + b) w = a w + b w, and on the right */
static int rw_matmul_sum(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int j = rw_below(C->s, 2), d;
  if (o.code != MG_OP_MATMUL || ((d = rw_src(C, o.in[j], MG_OP_ADD)) < 0 && (d = rw_src(C, o.in[j], MG_OP_SUB)) < 0)) return 0;
  draft_op s = *RW_OP(d);
  if (!rw_same_shape(RW_SHAPE(s.in[0]), RW_SHAPE(s.in[1]))) return 0;
  int x = rw_put(C, &k, o.scope, o.code, j ? o.in[0] : s.in[0], j ? s.in[0] : o.in[1]);
  int y = rw_put(C, &k, o.scope, o.code, j ? o.in[0] : s.in[1], j ? s.in[1] : o.in[1]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, x, y));
}
/* c (a o b) = (c a) o b, c (a + b) = c a + c b, c sum(a) = sum(c a) .. */
static int rw_scale_in(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d = draft_def(C->L, o.in[0]);
  if ((o.code != MG_OP_SCALE && o.code != MG_OP_NEG) || d < 0) return 0;
  draft_op s = *RW_OP(d);
  mg_attr A = o.attr;
  int a, b;
  switch (s.code) {
    case MG_OP_MUL: case MG_OP_MATMUL: case MG_OP_DIV: {
      int j = s.code == MG_OP_DIV ? 0 : rw_below(C->s, 2);
      a = rw_put_attr(C, &k, o.scope, o.code, &A, s.in[j]);
      return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, j ? s.in[0] : a, j ? a : s.in[1]));
    }
    case MG_OP_ADD: case MG_OP_SUB:
      a = rw_put_attr(C, &k, o.scope, o.code, &A, s.in[0]), b = rw_put_attr(C, &k, o.scope, o.code, &A, s.in[1]);
      return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, a, b));
    case MG_OP_SUM: case MG_OP_REPEAT: case MG_OP_RESHAPE: case MG_OP_TRANSPOSE: case MG_OP_SCALE: case MG_OP_NEG:
      a = rw_put_attr(C, &k, o.scope, o.code, &A, s.in[0]);
      return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, s.code, &s.attr, a));
    default: return 0;
  }
}
/* The other way: a factor of an operand comes out. */
static int rw_scale_out(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int j = rw_below(C->s, o.n_in), d, t;
  if (!o.n_in || o.code == MG_OP_LOAD || (d = rw_src(C, o.in[j], MG_OP_SCALE)) < 0) return 0;
  mg_rational c = RW_OP(d)->attr.c;
  int x = RW_OP(d)->in[0];
  if (o.code == MG_OP_MUL || o.code == MG_OP_MATMUL || o.code == MG_OP_DIV) {
    if (o.code == MG_OP_DIV && j) c = rw_inverse(c);
    t = rw_put(C, &k, o.scope, o.code, j ? o.in[0] : x, j ? x : o.in[1]);
  } else if (o.code == MG_OP_SUM || o.code == MG_OP_REPEAT || o.code == MG_OP_RESHAPE || o.code == MG_OP_TRANSPOSE || o.code == MG_OP_NEG)
    t = rw_put_attr(C, &k, o.scope, o.code, &o.attr, x);
  else if (o.code == MG_OP_SCALE) c = rw_times(c, o.attr.c), t = x;
  else if (o.code == MG_OP_SQR) c = rw_times(c, c), t = rw_put(C, &k, o.scope, o.code, x, 0);
  else return 0;
  return rw_done(C, &k, o.out[0], rw_put_rat(C, &k, o.scope, MG_OP_SCALE, c, t));
}
/* c x = (c/d) (d x);  x = (1/d) (d x) */
static int rw_scale_split(rw *C, int k) {
  draft_op o = *RW_OP(k);
  mg_rational d = rw_constant(C->s), c = mg_rat(1, 1);
  int x;
  if (o.code == MG_OP_SCALE) c = o.attr.c, x = o.in[0];
  else if (o.code != MG_OP_STORE && o.code != MG_OP_GRAPH && o.code != MG_OP_LOAD && rw_below(C->s, 3) == 0) x = o.out[0], k++; /* behind it */
  else return 0;
  int t = rw_put_rat(C, &k, o.scope, MG_OP_SCALE, d, x);
  t = rw_put_rat(C, &k, o.scope, MG_OP_SCALE, rw_times(c, rw_inverse(d)), t);
  return rw_done(C, &k, o.out[0], t);
}
/* (x + y) + c = (x + c) + y;  d x + c = d (x + c/d);  x + c = (x + (c - d)) + d */
static int rw_shift(rw *C, int k) {
  draft_op o = *RW_OP(k);
  if (o.code != MG_OP_ADD_SCALAR) return 0;
  int d = draft_def(C->L, o.in[0]), t;
  mg_rational c = o.attr.c, e = rw_constant(C->s), minus = mg_rat(-e.num, e.den);
  mg_opcode code = d >= 0 ? RW_OP(d)->code : MG_OP_NONE;
  draft_op s;
  memset(&s, 0, sizeof s);
  if (d >= 0) s = *RW_OP(d);
  int way = rw_below(C->s, 2);
  if (way && (code == MG_OP_ADD || code == MG_OP_SUB)) {
    t = rw_put_rat(C, &k, o.scope, o.code, c, s.in[0]);
    t = rw_put(C, &k, o.scope, code, t, s.in[1]);
  } else if (way && code == MG_OP_SCALE && s.attr.c.num) {
    t = rw_put_rat(C, &k, o.scope, o.code, rw_times(c, rw_inverse(s.attr.c)), s.in[0]);
    t = rw_put_rat(C, &k, o.scope, MG_OP_SCALE, s.attr.c, t);
  } else {
    if (!mg_rat_add(c, minus, &c)) return 0;
    t = rw_put_rat(C, &k, o.scope, o.code, c, o.in[0]);
    t = rw_put_rat(C, &k, o.scope, o.code, e, t);
  }
  return rw_done(C, &k, o.out[0], t);
}
static int rw_square(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d = o.n_in ? draft_def(C->L, o.in[0]) : -1, a, b;
  if (o.code == MG_OP_MUL && o.in[0] == o.in[1]) return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_SQR, o.in[0], 0));
  if (o.code != MG_OP_SQR) return 0;
  if (d >= 0 && (RW_OP(d)->code == MG_OP_MUL || RW_OP(d)->code == MG_OP_DIV) && rw_below(C->s, 2)) {
    draft_op s = *RW_OP(d);
    a = rw_put(C, &k, o.scope, MG_OP_SQR, s.in[0], 0), b = rw_put(C, &k, o.scope, MG_OP_SQR, s.in[1], 0);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, a, b));
  }
  if (d >= 0 && RW_OP(d)->code == MG_OP_NEG) { RW_OP(k)->in[0] = RW_OP(d)->in[0]; return 1; }
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MUL, o.in[0], o.in[0]));
}
/* a - b = a + (-b);  a + b = a - (-b);  -a = (-1) a;  a + a = 2 a */
static int rw_signs(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int t;
  if (o.code == MG_OP_NEG) return rw_done(C, &k, o.out[0], rw_put_rat(C, &k, o.scope, MG_OP_SCALE, mg_rat(-1, 1), o.in[0]));
  if (o.code == MG_OP_ADD && o.in[0] == o.in[1]) return rw_done(C, &k, o.out[0], rw_put_rat(C, &k, o.scope, MG_OP_SCALE, mg_rat(2, 1), o.in[0]));
  if (o.code != MG_OP_ADD && o.code != MG_OP_SUB) return 0;
  int d = rw_src(C, o.in[1], MG_OP_NEG);
  if (d >= 0) t = RW_OP(d)->in[0];
  else t = rw_put(C, &k, o.scope, MG_OP_NEG, o.in[1], 0);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, o.code == MG_OP_ADD ? MG_OP_SUB : MG_OP_ADD, o.in[0], t));
}
/* ab/c = a (b/c);  a/b/c = a/(bc);  a/(b/c) = ac/b */
static int rw_divide(rw *C, int k) {
  draft_op o = *RW_OP(k), s;
  int d, j, t;
  if (o.code == MG_OP_MUL && (d = rw_src(C, o.in[j = rw_below(C->s, 2)], MG_OP_DIV)) >= 0) {
    s = *RW_OP(d);
    t = rw_put(C, &k, o.scope, MG_OP_MUL, s.in[0], o.in[!j]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_DIV, t, s.in[1]));
  }
  if (o.code != MG_OP_DIV) return 0;
  if ((d = rw_src(C, o.in[1], MG_OP_MUL)) >= 0 && rw_below(C->s, 2)) {
    s = *RW_OP(d);
    t = rw_put(C, &k, o.scope, MG_OP_DIV, o.in[0], s.in[0]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_DIV, t, s.in[1]));
  }
  if ((d = rw_src(C, o.in[1], MG_OP_DIV)) >= 0) {
    s = *RW_OP(d);
    t = rw_put(C, &k, o.scope, MG_OP_MUL, o.in[0], s.in[1]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_DIV, t, s.in[0]));
  }
  if ((d = rw_src(C, o.in[0], MG_OP_DIV)) >= 0) {
    s = *RW_OP(d);
    t = rw_put(C, &k, o.scope, MG_OP_MUL, s.in[1], o.in[1]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_DIV, s.in[0], t));
  }
  if ((d = rw_src(C, o.in[0], MG_OP_MUL)) >= 0) {
    s = *RW_OP(d), j = rw_below(C->s, 2);
    t = rw_put(C, &k, o.scope, MG_OP_DIV, s.in[j], o.in[1]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MUL, t, s.in[!j]));
  }
  return 0;
}
/* A factor or divisor that is constant along what is contracted comes out: (a / b) w = (a w) / b, b of one column;
   w (a / b), b of one row. */
static int rw_matmul_out(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int j = rw_below(C->s, 2), d, t;
  if (o.code != MG_OP_MATMUL || ((d = rw_src(C, o.in[j], MG_OP_DIV)) < 0 && (d = rw_src(C, o.in[j], MG_OP_MUL)) < 0)) return 0;
  draft_op s = *RW_OP(d);
  const mg_shape *a = RW_SHAPE(s.in[0]), *b = RW_SHAPE(s.in[1]), *all = RW_SHAPE(o.in[j]);
  if (!rw_same_shape(a, all) || !b->rank || rw_dim(b, all->rank, all->rank - 1 - j) != 1) return 0;
  t = rw_put(C, &k, o.scope, MG_OP_MATMUL, j ? o.in[0] : s.in[0], j ? s.in[0] : o.in[1]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, t, s.in[1]));
}
/* .. and goes in: (a w) / b = (a / b) w */
static int rw_matmul_in(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d, t;
  if ((o.code != MG_OP_DIV && o.code != MG_OP_MUL) || (d = rw_src(C, o.in[0], MG_OP_MATMUL)) < 0) return 0;
  draft_op m = *RW_OP(d);
  const mg_shape *b = RW_SHAPE(o.in[1]), *out = RW_SHAPE(o.in[0]);
  if (!rw_fits(b, out)) return 0;
  int j = rw_below(C->s, 2);
  if (rw_dim(b, out->rank, out->rank - 1 - j) != 1 || !rw_fits(b, RW_SHAPE(m.in[j]))) return 0;
  t = rw_put(C, &k, o.scope, o.code, m.in[j], o.in[1]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MATMUL, j ? m.in[0] : t, j ? t : m.in[1]));
}
/* sum(a o b) = sum(a) o b, b constant along it; sum(a + b) = sum(a) + sum(b); sums change places */
static int rw_sum_out(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d, t;
  if (o.code != MG_OP_SUM || (d = draft_def(C->L, o.in[0])) < 0) return 0;
  draft_op s = *RW_OP(d);
  const mg_shape *all = RW_SHAPE(o.in[0]);
  if (s.code == MG_OP_MUL || s.code == MG_OP_DIV) {
    int j = s.code == MG_OP_MUL ? rw_below(C->s, 2) : 0;
    const mg_shape *b = RW_SHAPE(s.in[!j]);
    if (!rw_same_shape(RW_SHAPE(s.in[j]), all) || !b->rank || rw_dim(b, all->rank, o.attr.dim) != 1) return 0;
    t = rw_put_attr(C, &k, o.scope, MG_OP_SUM, &o.attr, s.in[j]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, t, s.in[!j]));
  }
  if (s.code == MG_OP_ADD || s.code == MG_OP_SUB) {
    if (!rw_same_shape(RW_SHAPE(s.in[0]), RW_SHAPE(s.in[1]))) return 0;
    int x = rw_put_attr(C, &k, o.scope, MG_OP_SUM, &o.attr, s.in[0]), y = rw_put_attr(C, &k, o.scope, MG_OP_SUM, &o.attr, s.in[1]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, x, y));
  }
  if (s.code == MG_OP_SUM) {
    t = rw_put_attr(C, &k, o.scope, MG_OP_SUM, &o.attr, s.in[0]);
    return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_SUM, &s.attr, t));
  }
  return 0;
}
static int rw_sum_in(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d, t;
  int j = o.code == MG_OP_MUL ? rw_below(C->s, 2) : 0;
  if ((o.code != MG_OP_MUL && o.code != MG_OP_DIV) || (d = rw_src(C, o.in[j], MG_OP_SUM)) < 0) return 0;
  draft_op s = *RW_OP(d);
  if (!rw_fits(RW_SHAPE(o.in[!j]), RW_SHAPE(o.in[j]))) return 0;
  t = rw_put(C, &k, o.scope, o.code, s.in[0], o.in[!j]);
  return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_SUM, &s.attr, t));
}
/* A sum over r s elements is a sum over r of sums over s. */
static int rw_sum_split(rw *C, int k) {
  draft_op o = *RW_OP(k);
  if (o.code != MG_OP_SUM && o.code != MG_OP_MAX) return 0;
  const mg_shape in = *RW_SHAPE(o.in[0]);
  int64_t n = in.rank ? in.dim[o.attr.dim] : 0, f = 2 + rw_below(C->s, 2);
  if (in.rank < 1 || in.rank >= MG_MAX_RANK || n % f || n == f) return 0;
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.shape.rank = in.rank + 1;
  for (int d = 0, e = 0; d < in.rank; d++) {
    A.shape.dim[e++] = d == o.attr.dim ? f : in.dim[d];
    if (d == o.attr.dim) A.shape.dim[e++] = n / f;
  }
  int t = rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &A, o.in[0]), way = rw_below(C->s, 2);
  mg_attr S = o.attr;
  S.dim = o.attr.dim + way;
  t = rw_put_attr(C, &k, o.scope, o.code, &S, t);
  S.dim = o.attr.dim + !way;
  t = rw_put_attr(C, &k, o.scope, o.code, &S, t);
  A.shape = in, A.shape.dim[o.attr.dim] = 1;
  return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &A, t));
}
/* w y + x z = (w|x)(y|z) = concat_matmul(w, x, y, z) */
static int rw_concat(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int t;
  if (o.code == MG_OP_CONCAT_MATMUL) {
    int a = rw_put(C, &k, o.scope, MG_OP_MATMUL, o.in[0], o.in[2]), b = rw_put(C, &k, o.scope, MG_OP_MATMUL, o.in[1], o.in[3]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_ADD, a, b));
  }
  if (o.code != MG_OP_ADD) return 0;
  int p = rw_src(C, o.in[0], MG_OP_MATMUL), q = rw_src(C, o.in[1], MG_OP_MATMUL);
  if (p < 0 || q < 0) return 0;
  draft_op a = *RW_OP(p), b = *RW_OP(q);
  if (!rw_same_shape(RW_SHAPE(o.in[0]), RW_SHAPE(o.in[1]))) return 0;
  if (rw_below(C->s, 2)) {
    t = draft_emit(C->L, &k, MG_OP_CONCAT_MATMUL, o.scope, NULL, 4, a.in[0], b.in[0]);
    if (t) RW_OP(k - 1)->in[2] = a.in[1], RW_OP(k - 1)->in[3] = b.in[1];
    return rw_done(C, &k, o.out[0], t);
  }
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.dim = RW_SHAPE(a.in[0])->rank - 1;
  int x = draft_emit(C->L, &k, MG_OP_CONCAT, o.scope, &A, 2, a.in[0], b.in[0]);
  A.dim = RW_SHAPE(a.in[1])->rank - 2;
  int y = draft_emit(C->L, &k, MG_OP_CONCAT, o.scope, &A, 2, a.in[1], b.in[1]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MATMUL, x, y));
}
static void rw_swap(mg_attr *A, int rank, int p, int q) {
  memset(A, 0, sizeof *A);
  for (int d = 0; d < rank; d++) A->perm[d] = d == p ? q : d == q ? p : d;
}
/* ab = (b'a')';  x = x'';  sum over d of x = the sum over e of x', put back */
static int rw_transpose(rw *C, int k) {
  draft_op o = *RW_OP(k);
  mg_attr A;
  int t, r;
  if (o.code == MG_OP_MATMUL) {
    int ra = RW_SHAPE(o.in[0])->rank, rb = RW_SHAPE(o.in[1])->rank;
    if (ra < 2 || rb < 2) return 0;
    rw_swap(&A, rb, rb - 1, rb - 2);
    int b = rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, o.in[1]);
    rw_swap(&A, ra, ra - 1, ra - 2);
    int a = rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, o.in[0]);
    t = rw_put(C, &k, o.scope, MG_OP_MATMUL, b, a), r = ra > rb ? ra : rb;
    rw_swap(&A, r, r - 1, r - 2);
    return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, t));
  }
  if (o.code == MG_OP_SUM || o.code == MG_OP_MAX) {
    int e;
    r = RW_SHAPE(o.in[0])->rank;
    if (r < 2) return 0;
    e = (o.attr.dim + 1 + rw_below(C->s, r - 1)) % r;
    rw_swap(&A, r, o.attr.dim, e);
    mg_attr S = o.attr;
    S.dim = e;
    t = rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, o.in[0]);
    t = rw_put_attr(C, &k, o.scope, o.code, &S, t);
    return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, t));
  }
  if (o.code == MG_OP_STORE || o.code == MG_OP_GRAPH || (r = RW_SHAPE(o.out[0])->rank) < 2) return 0;
  int p = rw_below(C->s, r), q = (p + 1 + rw_below(C->s, r - 1)) % r;
  rw_swap(&A, r, p, q);
  k++;
  t = rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, o.out[0]);
  return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_TRANSPOSE, &A, t));
}
/* x, flattened and put back; a product of matrices as a batch of one */
static int rw_reshape(rw *C, int k) {
  draft_op o = *RW_OP(k);
  mg_attr A, B;
  if (o.code == MG_OP_STORE || o.code == MG_OP_GRAPH) return 0;
  mg_shape s = *RW_SHAPE(o.out[0]);
  if (!s.rank) return 0;
  memset(&A, 0, sizeof A);
  memset(&B, 0, sizeof B);
  B.shape = s;
  if (o.code == MG_OP_MATMUL && s.rank < MG_MAX_RANK) {
    const mg_shape *a = RW_SHAPE(o.in[0]);
    A.shape.rank = a->rank + 1, A.shape.dim[0] = 1;
    for (int d = 0; d < a->rank; d++) A.shape.dim[d + 1] = a->dim[d];
    int t = rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &A, o.in[0]);
    t = rw_put(C, &k, o.scope, MG_OP_MATMUL, t, o.in[1]);
    return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &B, t));
  }
  A.shape.rank = 1, A.shape.dim[0] = mg_shape_elements(&s);
  k++;
  int t = rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &A, o.out[0]);
  return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &B, t));
}
/* A broadcast, written out. */
static int rw_repeat(rw *C, int k) {
  draft_op o = *RW_OP(k);
  if (!mg_op_row(o.code)->elementwise || o.n_in != 2) return 0;
  int j = rw_below(C->s, 2);
  const mg_shape *a = RW_SHAPE(o.in[j]), *out = RW_SHAPE(o.out[0]);
  for (int d = 0; d < a->rank; d++) {
    int64_t n = out->rank ? out->dim[d + out->rank - a->rank] : 1;
    if (a->dim[d] != 1 || n == 1) continue;
    mg_attr A;
    memset(&A, 0, sizeof A);
    A.dim = d, A.n = n;
    int t = rw_put_attr(C, &k, o.scope, MG_OP_REPEAT, &A, o.in[j]);
    if (!t) return 0;
    RW_OP(k)->in[j] = t;
    return 1;
  }
  return 0;
}
/* (ab)c = a(bc) */
static int rw_matmul_associate(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int j = rw_below(C->s, 2), d, t;
  if (o.code != MG_OP_MATMUL || (d = rw_src(C, o.in[j], MG_OP_MATMUL)) < 0) return 0;
  draft_op m = *RW_OP(d);
  if (j) {
    t = rw_put(C, &k, o.scope, MG_OP_MATMUL, o.in[0], m.in[0]);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MATMUL, t, m.in[1]));
  }
  t = rw_put(C, &k, o.scope, MG_OP_MATMUL, m.in[1], o.in[1]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MATMUL, m.in[0], t));
}
/* (a * g) w = a (g' * w), g a row */
static int rw_gain(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d;
  if (o.code != MG_OP_MATMUL || (d = rw_src(C, o.in[0], MG_OP_MUL)) < 0) return 0;
  draft_op m = *RW_OP(d);
  int j = rw_below(C->s, 2);
  const mg_shape *a = RW_SHAPE(m.in[!j]), *g = RW_SHAPE(m.in[j]), *w = RW_SHAPE(o.in[1]);
  if (!rw_same_shape(a, RW_SHAPE(o.in[0])) || !g->rank || w->rank < 2 || g->dim[g->rank - 1] != w->dim[w->rank - 2] || mg_shape_elements(g) != g->dim[g->rank - 1]) return 0;
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.shape.rank = 2, A.shape.dim[0] = g->dim[g->rank - 1], A.shape.dim[1] = 1;
  int t = rw_put_attr(C, &k, o.scope, MG_OP_RESHAPE, &A, m.in[j]);
  t = rw_put(C, &k, o.scope, MG_OP_MUL, t, o.in[1]);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MATMUL, m.in[!j], t));
}
/* Computed twice: one use gets a copy. */
static int rw_twice(rw *C, int k) {
  draft_op o = *RW_OP(k);
  if (o.code == MG_OP_GRAPH || o.code == MG_OP_STORE || draft_uses(C->D, C->l, o.out[0]) < 2) return 0;
  int at = k, t = draft_emit(C->L, &at, o.code, o.scope, &o.attr, o.n_in, o.in[0], o.in[1]);
  if (!t) return 0;
  memcpy(RW_OP(k)->in, o.in, sizeof o.in);
  RW_OP(k)->map = o.map;
  for (int m = k + 2; m < C->L->n; m++)
    for (int j = 0; j < RW_OP(m)->n_in; j++)
      if (RW_OP(m)->code != MG_OP_LOAD && RW_OP(m)->in[j] == o.out[0]) { RW_OP(m)->in[j] = t; return 1; }
  return 0;
}
static int rw_has_exp(const rw *C, int t, int depth) {
  int k = draft_def(C->L, t);
  if (k < 0 || depth > 40) return depth > 40;
  if (C->L->op[k].code == MG_OP_EXP || C->L->op[k].code == MG_OP_GRAPH) return 1;
  if (C->L->op[k].code == MG_OP_LOAD) {
    rw up = {C->D, C->L->up, &C->D->level[C->L->up], C->s};
    return rw_has_exp(&up, C->L->op[k].in[0], depth + 1);
  }
  for (int j = 0; j < C->L->op[k].n_in; j++)
    if (rw_has_exp(C, C->L->op[k].in[j], depth + 1)) return 1;
  return 0;
}
/* exp(a) = exp(a/2)^2, exp(a + b) = exp(a) exp(b): what the two-field test is for. */
static int rw_exp(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d, a, b;
  if (o.code != MG_OP_EXP || rw_has_exp(C, o.in[0], 0)) return 0;
  if ((d = rw_src(C, o.in[0], MG_OP_ADD)) >= 0) {
    draft_op s = *RW_OP(d);
    a = rw_put(C, &k, o.scope, MG_OP_EXP, s.in[0], 0), b = rw_put(C, &k, o.scope, MG_OP_EXP, s.in[1], 0);
    return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_MUL, a, b));
  }
  a = rw_put_rat(C, &k, o.scope, MG_OP_SCALE, mg_rat(1, 2), o.in[0]);
  a = rw_put(C, &k, o.scope, MG_OP_EXP, a, 0);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_SQR, a, 0));
}
/* exp(a) / sum(exp(a)) = exp(a - m) / sum(exp(a - m)), m = max(a) */
static int rw_stable(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int s, e;
  if (o.code != MG_OP_DIV || (s = rw_src(C, o.in[1], MG_OP_SUM)) < 0 || (e = rw_src(C, o.in[0], MG_OP_EXP)) < 0 || RW_OP(s)->in[0] != o.in[0]) return 0;
  mg_attr A = RW_OP(s)->attr;
  int x = RW_OP(e)->in[0];
  if (rw_has_exp(C, x, 0)) return 0;
  int m = rw_put_attr(C, &k, o.scope, MG_OP_MAX, &A, x);
  m = rw_put(C, &k, o.scope, MG_OP_SUB, x, m);
  m = rw_put(C, &k, o.scope, MG_OP_EXP, m, 0);
  int n = rw_put_attr(C, &k, o.scope, MG_OP_SUM, &A, m);
  return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, MG_OP_DIV, m, n));
}

/* ---- accumulators that sum are linear */

static int rw_sums_only(const rw *C, const draft_op *o) {
  if (o->code != MG_OP_ACCUM) return 0;
  for (int a = 1; a < C->L->n_axes; a++)
    if (o->map.to[a] != MG_MAP_NONE && o->map.to[a] != MG_MAP_SUM) return 0;
  return 1;
}
static int rw_accum_put(rw *C, int *at, const draft_op *o, int x) {
  int t = x ? draft_emit(C->L, at, MG_OP_ACCUM, o->scope, NULL, 1, x, 0) : 0;
  if (t) RW_OP(*at - 1)->map = o->map;
  return t;
}
/* t as seen from the accumulator's scope: itself, or a load of its own; 0 if there is none. */
static int rw_outside(rw *C, int *at, const draft_op *acc, int t) {
  int d = draft_def(C->L, t);
  if (d < 0) return C->L->kind == MG_KERNEL ? t : 0;
  draft_op o = *RW_OP(d);
  int moves = 0;
  for (int a = 1; a < C->L->n_axes; a++)
    if (o.map.to[a] >= 0 && (acc->map.to[a] != MG_MAP_NONE || (a > 3 && !draft_inside(C->L, acc->scope, a)))) moves = 1;
  if (o.code == MG_OP_LOAD && !moves) {
    int r = draft_emit(C->L, at, MG_OP_LOAD, acc->scope, NULL, 1, o.in[0], 0);
    if (r)
      for (int a = 1; a < C->L->n_axes; a++) RW_OP(*at - 1)->map.to[a] = (int8_t)(o.map.to[a] >= 0 ? o.map.to[a] : MG_MAP_NONE);
    return r;
  }
  for (int a = 1; a <= 3; a++)
    if (acc->map.to[a] != MG_MAP_NONE) return 0;
  return draft_inside(C->L, acc->scope, o.scope) && o.code != MG_OP_LOAD ? t : 0;
}
static int rw_accum_out(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d, t, u;
  if (!rw_sums_only(C, &o) || (d = draft_def(C->L, o.in[0])) < 0) return 0;
  draft_op s = *RW_OP(d);
  switch (s.code) {
    case MG_OP_SCALE: case MG_OP_NEG: case MG_OP_SUM: case MG_OP_TRANSPOSE: case MG_OP_REPEAT:
      t = rw_accum_put(C, &k, &o, s.in[0]);
      return rw_done(C, &k, o.out[0], rw_put_attr(C, &k, o.scope, s.code, &s.attr, t));
    case MG_OP_ADD: case MG_OP_SUB:
      if (!rw_same_shape(RW_SHAPE(s.in[0]), RW_SHAPE(s.in[1]))) return 0;
      t = rw_accum_put(C, &k, &o, s.in[0]), u = rw_accum_put(C, &k, &o, s.in[1]);
      return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, t, u));
    case MG_OP_MUL: case MG_OP_DIV: case MG_OP_MATMUL: {
      int j = s.code == MG_OP_DIV ? 0 : rw_below(C->s, 2);
      if (!(u = rw_outside(C, &k, &o, s.in[!j]))) return 0;
      t = rw_accum_put(C, &k, &o, s.in[j]);
      return rw_done(C, &k, o.out[0], rw_put(C, &k, o.scope, s.code, j ? u : t, j ? t : u));
    }
    default: return 0;
  }
}
static int rw_accum_in(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d = o.n_in ? rw_src(C, o.in[0], MG_OP_ACCUM) : -1, at, e, t;
  if (d < 0 || (o.code != MG_OP_SCALE && o.code != MG_OP_NEG && o.code != MG_OP_SUM && o.code != MG_OP_TRANSPOSE && o.code != MG_OP_MUL && o.code != MG_OP_DIV)) return 0;
  draft_op acc = *RW_OP(d);
  if (!rw_sums_only(C, &acc) || (e = draft_def(C->L, acc.in[0])) < 0) return 0;
  at = e + 1;
  int scope = RW_OP(e)->scope;
  if (o.n_in == 2) { /* the other operand must be known by then */
    int f = draft_def(C->L, o.in[1]);
    if (f < 0 || f > e || !draft_inside(C->L, scope, RW_OP(f)->scope)) return 0;
    t = rw_put(C, &at, scope, o.code, acc.in[0], o.in[1]);
  } else t = rw_put_attr(C, &at, scope, o.code, &o.attr, acc.in[0]);
  if (!t) return 0;
  k++;
  return rw_done(C, &k, o.out[0], rw_accum_put(C, &k, &acc, t));
}
/* One accumulator over two nested loops, as one over each, and back. */
static int rw_accum_split(rw *C, int k) {
  draft_op o = *RW_OP(k);
  int d, e;
  if (o.code != MG_OP_ACCUM || (d = draft_def(C->L, o.in[0])) < 0) return 0;
  draft_op s = *RW_OP(d);
  if (s.code == MG_OP_ACCUM && draft_uses(C->D, C->l, o.in[0]) == 1 && s.scope && rw_sums_only(C, &s) && rw_sums_only(C, &o)) {
    draft_op both = o;
    for (int a = 1; a < C->L->n_axes; a++)
      if (s.map.to[a] != MG_MAP_NONE) both.map.to[a] = s.map.to[a];
    return rw_done(C, &k, o.out[0], rw_accum_put(C, &k, &both, s.in[0]));
  }
  int inner = s.scope, outer = inner ? C->L->parent[inner] : 0;
  if (!outer || outer == o.scope || o.map.to[inner] == MG_MAP_NONE || o.map.to[outer] == MG_MAP_NONE) return 0;
  for (e = d; e + 1 < C->L->n && draft_inside(C->L, RW_OP(e + 1)->scope, inner); e++) {}
  draft_op one = o, two = o;
  one.scope = outer;
  for (int a = 1; a < C->L->n_axes; a++) *(a == inner ? &two.map.to[a] : &one.map.to[a]) = MG_MAP_NONE;
  int at = e + 1, t = rw_accum_put(C, &at, &one, o.in[0]);
  k++;
  return rw_done(C, &k, o.out[0], rw_accum_put(C, &k, &two, t));
}

/* ---- how tensors of a level follow one axis: constant along it, cut along a dimension, a partial sum, a partial
   maximum, or none of these.  `chosen` (or NULL: their maps) says how loads are cut. */

enum { RW_SAME = -1, RW_PARTIAL = -2, RW_PARTIAL_MAX = -3, RW_BAD = -4 }; /* >= 0: the dimension */

static int rw_follow(const rw *C, const draft_op *o, const int *state, int axis) {
  const mg_op_info *row = mg_op_row(o->code);
  int s[4], cut = -1, same = 1, partial = 0, r = C->L->shape[o->out[0]].rank;
  for (int j = 0; j < o->n_in; j++) {
    s[j] = state[o->in[j]];
    if (s[j] == RW_BAD) return RW_BAD;
    same &= s[j] == RW_SAME, partial += s[j] == RW_PARTIAL;
    if (s[j] >= 0) cut = j;
  }
  if (o->code == MG_OP_ACCUM) {
    int to = o->map.to[axis];
    for (int a = 1; a < C->L->n_axes; a++) {
      int m = o->map.to[a];
      if (a == axis || m == MG_MAP_NONE) continue;
      if ((s[0] == RW_PARTIAL && m == MG_MAP_MAX) || (s[0] == RW_PARTIAL_MAX && m != MG_MAP_MAX) || (s[0] >= 0 && m == s[0])) return RW_BAD;
    }
    if (to == MG_MAP_NONE) return s[0];
    return (to == MG_MAP_SUM && s[0] == RW_PARTIAL) || (to == MG_MAP_MAX && s[0] == RW_PARTIAL_MAX) || (to >= 0 && s[0] == to) ? RW_SAME : RW_BAD;
  }
  if (same) return RW_SAME;
  for (int j = 0; j < o->n_in; j++)
    if (s[j] == RW_PARTIAL_MAX) return RW_BAD;
  const mg_shape *in0 = &C->L->shape[o->in[0]];
  if (row->elementwise) {
    if (partial) {
      if (cut >= 0) return RW_BAD;
      if (o->code == MG_OP_NEG || o->code == MG_OP_SCALE) return RW_PARTIAL;
      if (o->code == MG_OP_ADD || o->code == MG_OP_SUB) return partial == 2 ? RW_PARTIAL : RW_BAD;
      if (o->code == MG_OP_MUL) return partial == 1 ? RW_PARTIAL : RW_BAD;
      return o->code == MG_OP_DIV && s[0] == RW_PARTIAL && s[1] == RW_SAME ? RW_PARTIAL : RW_BAD;
    }
    int at = s[cut] + r - C->L->shape[o->in[cut]].rank;
    for (int j = 0; j < o->n_in; j++) {
      const mg_shape *x = &C->L->shape[o->in[j]];
      int d = at - (r - x->rank);
      if (s[j] >= 0 ? d != s[j] : d >= 0 && x->dim[d] != 1) return RW_BAD;
      if (s[j] >= 0 && x->dim[d] != C->L->shape[o->out[0]].dim[at]) return RW_BAD;
    }
    return at;
  }
  switch (o->code) {
    case MG_OP_SUM: return s[0] == RW_PARTIAL || s[0] == o->attr.dim ? RW_PARTIAL : s[0];
    case MG_OP_MAX: return s[0] == RW_PARTIAL ? RW_BAD : s[0] == o->attr.dim ? RW_PARTIAL_MAX : s[0];
    case MG_OP_TRANSPOSE:
      for (int d = 0; d < r && s[0] >= 0; d++)
        if (o->attr.perm[d] == s[0]) return d;
      return s[0];
    case MG_OP_REPEAT: return s[0] == o->attr.dim ? RW_BAD : s[0];
    case MG_OP_RESHAPE: return s[0] == RW_PARTIAL ? s[0] : RW_BAD;
    case MG_OP_CONCAT:
      if (partial == 2) return RW_PARTIAL;
      return s[0] >= 0 && s[0] == s[1] && s[0] != o->attr.dim ? s[0] : RW_BAD;
    case MG_OP_CONCAT_MATMUL:
      if (s[0] == in0->rank - 2 && s[1] == C->L->shape[o->in[1]].rank - 2 && s[2] == RW_SAME && s[3] == RW_SAME) return r - 2;
      if (s[0] == RW_SAME && s[1] == RW_SAME && s[2] == C->L->shape[o->in[2]].rank - 1 && s[3] == C->L->shape[o->in[3]].rank - 1) return r - 1;
      return RW_BAD;
    case MG_OP_MATMUL: {
      int ra = in0->rank, rb = C->L->shape[o->in[1]].rank;
      if (partial) return partial == 1 && cut < 0 ? RW_PARTIAL : RW_BAD;
      if (s[0] == ra - 1 && s[1] == rb - 2) return RW_PARTIAL;
      if (s[0] == ra - 2 && s[1] == RW_SAME) return r - 2;
      if (s[1] == rb - 1 && s[0] == RW_SAME) return r - 1;
      int at = s[cut] + r - (cut ? rb : ra);
      if (at >= r - 2) return RW_BAD;
      for (int j = 0; j < 2; j++) {
        const mg_shape *x = &C->L->shape[o->in[j]];
        int d = at - (r - x->rank);
        if (s[j] >= 0 ? d != s[j] || x->dim[d] != C->L->shape[o->out[0]].dim[at] : d >= 0 && x->dim[d] != 1) return RW_BAD;
      }
      return at;
    }
    default: return RW_BAD; /* user moves, lower graphs */
  }
}
/* States of all tensors along an axis that exists.  1 if everything that leaves it is free of its count. */
static int rw_axis_free(const rw *C, int axis, int *state) {
  const draft_level *L = C->L;
  for (int t = 0; t < DRAFT_TENSORS; t++) state[t] = RW_SAME;
  for (int k = 0; k < L->n; k++) {
    const draft_op *o = &L->op[k];
    if (o->code == MG_OP_STORE) {
      int s = state[o->in[0]], to = o->map.to[axis];
      if (s != (to >= 0 ? to : RW_SAME)) return 0;
    } else if (o->code == MG_OP_LOAD) state[o->out[0]] = o->map.to[axis] >= 0 ? o->map.to[axis] : RW_SAME;
    else if (o->code == MG_OP_GRAPH) {
      for (int m = 0; m < C->D->level[o->sub].n; m++)
        if (C->D->level[o->sub].op[m].code == MG_OP_LOAD && state[C->D->level[o->sub].op[m].in[0]] != RW_SAME) return 0;
    } else if ((state[o->out[0]] = rw_follow(C, o, state, axis)) == RW_BAD) return 0;
  }
  return 1;
}
static int rw_used_axis(const rw *C, int a) { /* a loop with ops in it; a grid axis with blocks */
  if (a <= 3) return C->L->extent[a] > 1;
  for (int k = 0; k < C->L->n; k++)
    if (draft_inside(C->L, C->L->op[k].scope, a)) return 1;
  return 0;
}

/* ---- structure; k is of no account */

static int rw_pick_axis(rw *C, int from) {
  int list[MG_MAX_AXES + 1], n = 0;
  for (int a = from; a < C->L->n_axes; a++)
    if (rw_used_axis(C, a)) list[n++] = a;
  return n ? list[rw_below(C->s, n)] : 0;
}
/* Another number of blocks or iterations. */
static int rw_count(rw *C, int k) {
  int state[DRAFT_TENSORS], a;
  (void)k;
  if (C->L->kind == MG_KERNEL || !(a = rw_pick_axis(C, 1)) || !rw_axis_free(C, a, state)) return 0;
  int64_t n = 1 + rw_below(C->s, 6);
  if (n == C->L->extent[a]) return 0;
  C->L->extent[a] = n;
  return 1;
}
static int rw_new_loop(draft_level *L, int parent, int64_t extent) {
  if (L->n_axes > MG_MAX_AXES) return 0;
  L->extent[L->n_axes] = extent, L->parent[L->n_axes] = parent;
  for (int k = 0; k < L->n; k++) L->op[k].map.to[L->n_axes] = MG_MAP_NONE;
  return L->n_axes++;
}
/* A loop becomes two, the second in the first. */
static int rw_split(rw *C, int k) {
  int state[DRAFT_TENSORS], a, b;
  draft_level *L = C->L;
  (void)k;
  if (L->kind == MG_KERNEL || !(a = rw_pick_axis(C, 4)) || !rw_axis_free(C, a, state)) return 0;
  for (int c = 4; c < L->n_axes; c++)
    if (c != a && draft_inside(L, c, a)) return 0; /* the cuts' order would change */
  if (!(b = rw_new_loop(L, a, 1 + rw_below(C->s, 3)))) return 0;
  L->extent[a] = 1 + rw_below(C->s, 3);
  for (int m = 0; m < L->n; m++) {
    draft_op *o = &L->op[m];
    if (o->scope == a) o->scope = b;
    if (o->map.to[a] != MG_MAP_NONE) o->map.to[b] = o->map.to[a];
  }
  return 1;
}
/* A loop becomes a grid axis: what it accumulates, an accumulator over blocks; or a grid axis' accumulators over
   blocks a loop. */
static int rw_exchange(rw *C, int k) {
  int state[DRAFT_TENSORS], a, g = 0;
  draft_level *L = C->L;
  (void)k;
  if (L->kind != MG_BLOCK || !(a = rw_pick_axis(C, 4)) || !rw_axis_free(C, a, state)) return 0;
  for (int x = 1; x <= 3; x++)
    if (L->extent[x] == 1 && (!g || rw_below(C->s, 2))) g = x;
  if (!g || L->parent[a]) return 0;
  for (int m = 0; m < L->n; m++) { /* pieces are put together innermost first: the order of cuts must not change then */
    int d = L->op[m].map.to[a];
    if (L->op[m].code != MG_OP_ACCUM || d < 0) continue;
    for (int i = 0; i < L->n; i++)
      for (int b = 1; b < L->n_axes; b++)
        if (b != a && L->op[i].code == MG_OP_LOAD && L->op[i].map.to[a] >= 0 && L->op[i].map.to[b] == L->op[i].map.to[a]) return 0;
  }
  L->extent[g] = L->extent[a];
  for (int m = 0; m < L->n; m++) {
    draft_op *o = &L->op[m];
    if (o->scope == a) o->scope = 0;
    o->map.to[g] = o->map.to[a], o->map.to[a] = MG_MAP_NONE;
  }
  for (int c = 4; c < L->n_axes; c++)
    if (L->parent[c] == a) L->parent[c] = 0;
  return 1;
}
/* A loop and the loop that is all of its body change places. */
static int rw_nest(rw *C, int k) {
  draft_level *L = C->L;
  int state[DRAFT_TENSORS], a, b = 0;
  (void)k;
  if (L->kind == MG_KERNEL || !(a = rw_pick_axis(C, 4)) || !rw_axis_free(C, a, state)) return 0;
  for (int c = 4; c < L->n_axes; c++)
    if (L->parent[c] == a && rw_used_axis(C, c)) b = c;
  if (!b || !rw_axis_free(C, b, state)) return 0;
  for (int m = 0; m < L->n; m++) { /* nothing stands between the two, and both are lifted at once, by sums */
    const draft_op *o = &L->op[m];
    if (o->scope == a) return 0;
    if (o->map.to[a] == MG_MAP_NONE && o->map.to[b] == MG_MAP_NONE) continue;
    if (o->code == MG_OP_ACCUM && (o->map.to[a] != o->map.to[b] || o->map.to[a] >= 0)) return 0;
  }
  for (int m = 0; m < L->n; m++) {
    draft_op *o = &L->op[m];
    int8_t t = o->map.to[a];
    o->map.to[a] = o->map.to[b], o->map.to[b] = t;
  }
  int64_t t = L->extent[a];
  L->extent[a] = L->extent[b], L->extent[b] = t;
  return 1;
}
/* A grid axis becomes a loop around what depends on it: blocks one after the other.  Accumulators over the blocks lift
   out of the loop; what is stored side by side, an accumulator puts together. */
static int rw_blocks_to_loop(rw *C, int k) {
  draft_level *L = C->L;
  int state[DRAFT_TENSORS], late[DRAFT_TENSORS] = {0}, a, loop, n[3] = {0, 0, 0}; /* before, in and behind the loop */
  static draft_op part[3][2 * DRAFT_OPS];
  (void)k;
  if (L->kind != MG_BLOCK || !(a = rw_pick_axis(C, 1)) || a > 3 || !rw_axis_free(C, a, state)) return 0;
  for (int m = 0; m < L->n; m++) /* pieces are put together innermost first, and the loop is not where the blocks were */
    for (int b = 1; b < L->n_axes; b++)
      if (b != a && L->op[m].map.to[a] >= 0 && L->op[m].map.to[b] == L->op[m].map.to[a]) return 0;
  for (int c = 4; c < L->n_axes; c++)
    if (rw_used_axis(C, c)) return 0;
  if (!(loop = rw_new_loop(L, 0, L->extent[a]))) return 0;
  for (int m = 0; m < L->n; m++) {
    draft_op o = L->op[m];
    int to = o.map.to[a], behind = o.code == MG_OP_STORE || (o.code == MG_OP_ACCUM && to != MG_MAP_NONE), in = 0;
    o.map.to[a] = MG_MAP_NONE;
    if (o.code == MG_OP_GRAPH) return 0;
    for (int j = 0; j < o.n_in && o.code != MG_OP_LOAD; j++) {
      behind |= late[o.in[j]];
      in |= state[o.in[j]] != RW_SAME;
    }
    if (o.code == MG_OP_STORE) {
      if (in) {
        draft_op acc;
        memset(&acc, 0, sizeof acc);
        acc.code = MG_OP_ACCUM, acc.n_in = acc.n_out = 1, acc.in[0] = o.in[0], acc.out[0] = draft_tensor(L), acc.map = mg_map_none();
        if (!(o.in[0] = acc.out[0])) return 0;
        acc.map.to[loop] = (int8_t)to;
        part[2][n[2]++] = acc;
      }
    } else if (o.code == MG_OP_ACCUM && to != MG_MAP_NONE) o.map.to[loop] = (int8_t)to;
    else if (behind && in) return 0;
    else if (!behind && state[o.out[0]] != RW_SAME) o.map.to[loop] = (int8_t)to, o.scope = loop;
    for (int j = 0; j < o.n_out; j++) late[o.out[j]] = behind;
    int p = behind ? 2 : o.scope ? 1 : 0;
    part[p][n[p]++] = o;
  }
  if (!n[1] || n[0] + n[1] + n[2] > DRAFT_OPS) return 0;
  L->n = 0;
  for (int p = 0; p < 3; p++)
    for (int m = 0; m < n[p]; m++) L->op[L->n++] = part[p][m];
  L->extent[a] = 1;
  return 1;
}
/* Blocks that do the same. */
static int rw_replica(rw *C, int k) {
  int a = 1 + rw_below(C->s, 3);
  (void)k;
  if (C->L->kind != MG_BLOCK || C->L->extent[a] != 1) return 0;
  for (int m = 0; m < C->L->n; m++) C->L->op[m].map.to[a] = MG_MAP_NONE;
  C->L->extent[a] = 2;
  return 1;
}
/* Some ops of the program become a kernel of one block. */
static int rw_kernel(rw *C, int k) {
  draft *D = C->D;
  draft_level *L = C->L;
  if (L->kind != MG_KERNEL || D->n_levels == DRAFT_LEVELS || !L->n) return 0;
  int b = k, e = b + 1 + rw_below(C->s, L->n - b), to[DRAFT_TENSORS] = {0}, m = D->n_levels;
  if (rw_below(C->s, 2)) b = 0, e = L->n;
  for (int i = b; i < e; i++)
    if (L->op[i].code == MG_OP_GRAPH) return 0;
  draft_level *S = &D->level[m];
  memset(S, 0, offsetof(draft_level, shape));
  S->up = C->l, S->threads = 128, S->n_axes = 4, S->n_tensors = 1, S->kind = MG_BLOCK;
  S->extent[1] = S->extent[2] = S->extent[3] = 1;
  draft_op owner;
  memset(&owner, 0, sizeof owner);
  owner.code = MG_OP_GRAPH, owner.sub = m, owner.map = mg_map_none();
  for (int i = b; i < e; i++) {
    draft_op o = L->op[i];
    for (int j = 0; j < o.n_in; j++) {
      int at = S->n;
      if (!to[o.in[j]] && !(to[o.in[j]] = draft_emit(S, &at, MG_OP_LOAD, 0, NULL, 1, o.in[j], 0))) return 0;
      o.in[j] = to[o.in[j]];
    }
    int t = S->n < DRAFT_OPS ? draft_tensor(S) : 0;
    if (!t) return 0;
    to[L->op[i].out[0]] = t, o.out[0] = t, S->op[S->n++] = o;
  }
  D->n_levels++;
  for (int i = b; i < e; i++) {
    int t = L->op[i].out[0], outside = 0;
    for (int n = 0; n < D->n_levels; n++)
      for (int p = 0; p < D->level[n].n && n != m; p++)
        if ((draft_loads_above(&D->level[n].op[p]) ? D->level[n].up == C->l : n == C->l && (p < b || p >= e)))
          for (int j = 0; j < D->level[n].op[p].n_in; j++) outside |= D->level[n].op[p].in[j] == t;
    for (int j = 0; j < D->n_out; j++) outside |= D->out[j] == t;
    if (!outside) continue;
    if (owner.n_out == MG_MAX_OUT || S->n == DRAFT_OPS) return 0;
    draft_op *st = &S->op[S->n++];
    memset(st, 0, sizeof *st);
    st->code = MG_OP_STORE, st->n_in = 1, st->in[0] = to[t], st->map = mg_map_none();
    owner.out[owner.n_out++] = t;
  }
  memmove(&L->op[b + 1], &L->op[e], (size_t)(L->n - e) * sizeof(draft_op));
  L->op[b] = owner;
  L->n -= e - b - 1;
  return owner.n_out > 0;
}
/* An elementwise op of a block becomes a thread graph. */
static int rw_thread(rw *C, int k) {
  draft *D = C->D;
  draft_level *L = C->L;
  draft_op o = L->op[k];
  if (L->kind != MG_BLOCK || D->n_levels == DRAFT_LEVELS || !mg_op_row(o.code)->elementwise) return 0;
  for (int j = 0; j < o.n_in; j++)
    if (!rw_same_shape(RW_SHAPE(o.in[j]), RW_SHAPE(o.out[0]))) return 0;
  draft_level *S = &D->level[D->n_levels];
  memset(S, 0, offsetof(draft_level, shape));
  S->up = C->l, S->threads = 1, S->n_axes = 4, S->n_tensors = 1, S->kind = MG_THREAD;
  S->extent[1] = 1 + rw_below(C->s, 4), S->extent[2] = 1 + rw_below(C->s, 3), S->extent[3] = 1;
  int r = RW_SHAPE(o.out[0])->rank, p = rw_below(C->s, r), q = r > 1 ? (p + 1) % r : -1;
  mg_map m = mg_map_none();
  m.to[1] = (int8_t)p, m.to[2] = (int8_t)(q >= 0 ? q : MG_MAP_NONE);
  draft_op in = o;
  in.scope = 0;
  for (int j = 0; j < o.n_in; j++) {
    int at = S->n;
    in.in[j] = draft_emit(S, &at, MG_OP_LOAD, 0, NULL, 1, o.in[j], 0), S->op[S->n - 1].map = m;
  }
  in.out[0] = draft_tensor(S), S->op[S->n++] = in;
  draft_op *st = &S->op[S->n++];
  memset(st, 0, sizeof *st);
  st->code = MG_OP_STORE, st->n_in = 1, st->in[0] = in.out[0], st->map = m;
  draft_op *owner = &L->op[k];
  owner->code = MG_OP_GRAPH, owner->sub = D->n_levels++, owner->n_in = 0;
  memset(&owner->attr, 0, sizeof owner->attr);
  return 1;
}
/* How loads of ops b .. e-1 are cut along a new axis: one at random, others at an extent alike, or not. */
static void rw_choose(rw *C, int b, int e, int scope, int *chosen) {
  int64_t n = 0;
  int start = b + rw_below(C->s, e - b), keen = rw_below(C->s, 3);
  for (int i = 0; i < e - b; i++) {
    int k = b + (start - b + i) % (e - b);
    const draft_op *o = RW_OP(k);
    chosen[k] = RW_SAME;
    if (o->code != MG_OP_LOAD || (scope >= 0 && o->scope != scope)) continue;
    const mg_shape *s = RW_SHAPE(o->out[0]);
    int fit[MG_MAX_RANK], m = 0;
    for (int d = 0; d < s->rank; d++)
      if (n ? s->dim[d] == n : s->dim[d] > 1) fit[m++] = d;
    if (!m || (n && keen && rw_below(C->s, 4) >= keen + 1)) continue;
    chosen[k] = fit[rw_below(C->s, m)];
    n = s->dim[chosen[k]];
  }
}
/* A new axis, any: loads are cut along it as chance has it, ops follow while they can, and what cannot is computed
   behind accumulators.  A loop takes a run of ops of one body; a grid axis all of the graph. */
static int rw_axis(rw *C, int k) {
  draft_level *L = C->L;
  int state[DRAFT_TENSORS], chosen[DRAFT_OPS], lifted[DRAFT_TENSORS] = {0}, behind[DRAFT_TENSORS] = {0}, deep[DRAFT_TENSORS] = {0}, b = 0, e = L->n, scope = -1, axis = 0, grid = rw_below(C->s, 2), cuts = 0;
  if (L->kind == MG_KERNEL || !L->n) return 0;
  int64_t count = 2 + rw_below(C->s, 3);
  if (grid) {
    for (int x = 1; x <= 3; x++)
      if (L->extent[x] == 1 && (!axis || rw_below(C->s, 2))) axis = x;
    if (!axis) return 0;
    for (int m = 0; m < L->n; m++) L->op[m].map.to[axis] = MG_MAP_NONE;
    L->extent[axis] = count;
  } else {
    scope = RW_OP(k)->scope;
    for (b = k; b > 0 && RW_OP(b - 1)->scope == scope; b--) {}
    for (e = k; e < L->n && RW_OP(e)->scope == scope && RW_OP(e)->code != MG_OP_STORE; e++) {}
    if (e <= b || !(axis = rw_new_loop(L, scope, count))) return 0;
  }
  rw_choose(C, b, e, scope, chosen);
  for (int t = 0; t < DRAFT_TENSORS; t++) state[t] = RW_SAME;
  static draft_op before[DRAFT_OPS], body[DRAFT_OPS], after[2 * DRAFT_OPS];
  int n_before = 0, n_body = 0, n_after = 0, lifts = 0;
  for (int m = b; m < e; m++) {
    draft_op o = *RW_OP(m);
    int s = RW_SAME, late = 0, stop = 0;
    if (o.code == MG_OP_LOAD) {
      s = chosen[m];
      cuts += s >= 0;
      if (s >= 0) o.map.to[axis] = (int8_t)s;
      for (int a = axis + 1; a < L->n_axes; a++) deep[o.out[0]] |= s >= 0 && o.map.to[a] == s; /* and cut again, inside */
    } else if (o.code == MG_OP_GRAPH) {
      const draft_level *S = &C->D->level[o.sub];
      for (int i = 0; i < S->n; i++)
        if (S->op[i].code == MG_OP_LOAD && (state[S->op[i].in[0]] != RW_SAME || behind[S->op[i].in[0]])) return 0;
    } else {
      for (int j = 0; j < o.n_in; j++) late |= behind[o.in[j]];
      if (o.code == MG_OP_STORE) {
        s = state[o.in[0]];
        if (!late && s >= 0) o.map.to[axis] = (int8_t)s;
        stop = s < 0 && s != RW_SAME;
      } else s = rw_follow(C, &o, state, axis), stop = s == RW_BAD || (s != RW_SAME && rw_below(C->s, 12) == 0);
      if (late || stop) { /* behind the accumulators */
        if (grid && o.scope) return 0;
        late = 1;
        for (int j = 0; j < o.n_in; j++) {
          int x = o.in[j], sx = state[x];
          if (sx == RW_SAME) continue;
          if (sx == RW_BAD || (sx >= 0 && deep[x])) return 0;
          if (!lifted[x]) {
            draft_op acc;
            if (!(lifted[x] = draft_tensor(L)) || n_after >= DRAFT_OPS) return 0;
            memset(&acc, 0, sizeof acc);
            acc.code = MG_OP_ACCUM, acc.scope = grid ? 0 : scope, acc.n_in = acc.n_out = 1, acc.in[0] = x, acc.out[0] = lifted[x], acc.map = mg_map_none();
            acc.map.to[axis] = (int8_t)(sx == RW_PARTIAL ? MG_MAP_SUM : sx == RW_PARTIAL_MAX ? MG_MAP_MAX : sx);
            after[n_after++] = acc;
            behind[lifted[x]] = 1, lifts++;
          }
          o.in[j] = lifted[x];
        }
        s = RW_SAME;
      }
    }
    for (int j = 0; j < o.n_out; j++) {
      state[o.out[j]] = s, behind[o.out[j]] = late;
      for (int i = 0; i < o.n_in && o.code != MG_OP_LOAD && !late; i++) deep[o.out[j]] |= deep[o.in[i]];
    }
    if (grid || late || o.code == MG_OP_STORE) {
      if (n_after >= 2 * DRAFT_OPS - 1) return 0;
      after[n_after++] = o;
    } else if (s == RW_SAME) before[n_before++] = o;
    else o.scope = axis, body[n_body++] = o;
  }
  if (!cuts) return 0;
  /* what the rest of the graph uses */
  for (int m = e; m < L->n; m++)
    for (int j = 0; j < RW_OP(m)->n_in; j++) {
      draft_op *o = RW_OP(m);
      int x = o->in[j], sx = o->code == MG_OP_LOAD ? RW_SAME : state[x];
      if (o->code == MG_OP_GRAPH || sx == RW_SAME) continue;
      if (sx == RW_BAD || n_after >= DRAFT_OPS) return 0;
      if (!lifted[x]) {
        draft_op acc;
        if (!(lifted[x] = draft_tensor(L))) return 0;
        memset(&acc, 0, sizeof acc);
        acc.code = MG_OP_ACCUM, acc.scope = scope, acc.n_in = acc.n_out = 1, acc.in[0] = x, acc.out[0] = lifted[x], acc.map = mg_map_none();
        acc.map.to[axis] = (int8_t)(sx == RW_PARTIAL ? MG_MAP_SUM : sx == RW_PARTIAL_MAX ? MG_MAP_MAX : sx);
        after[n_after++] = acc, lifts++;
      }
      o->in[j] = lifted[x];
    }
  for (int m = e; m < L->n; m++) { /* a lower graph behind the run may load what is cut now */
    if (RW_OP(m)->code != MG_OP_GRAPH) continue;
    const draft_level *S = &C->D->level[RW_OP(m)->sub];
    for (int i = 0; i < S->n; i++)
      if (S->op[i].code == MG_OP_LOAD && state[S->op[i].in[0]] != RW_SAME) return 0;
  }
  if (!grid && !lifts) return 0;
  int n = n_before + n_body + n_after, grown = n - (e - b);
  if (L->n + grown > DRAFT_OPS) return 0;
  memmove(&L->op[e + grown], &L->op[e], (size_t)(L->n - e) * sizeof(draft_op));
  memcpy(&L->op[b], before, (size_t)n_before * sizeof(draft_op));
  memcpy(&L->op[b + n_before], body, (size_t)n_body * sizeof(draft_op));
  memcpy(&L->op[b + n_before + n_body], after, (size_t)n_after * sizeof(draft_op));
  L->n += grown;
  return 1;
}

typedef struct rw_rule { const char *name; int (*apply)(rw *C, int k); int often; } rw_rule;
static const rw_rule rw_rules[] = {
    {"commute", rw_commute, 1}, {"associate", rw_associate, 2}, {"distribute", rw_distribute, 2}, {"factor", rw_factor, 2}, {"matmul of a sum", rw_matmul_sum, 2},
    {"scale in", rw_scale_in, 2}, {"scale out", rw_scale_out, 2}, {"scale split", rw_scale_split, 1}, {"shift", rw_shift, 1}, {"square", rw_square, 1}, {"signs", rw_signs, 1},
    {"divide", rw_divide, 2}, {"divide after matmul", rw_matmul_out, 3}, {"divide before matmul", rw_matmul_in, 3}, {"out of a sum", rw_sum_out, 2}, {"into a sum", rw_sum_in, 2},
    {"sum split", rw_sum_split, 2}, {"concat_matmul", rw_concat, 3}, {"transposes", rw_transpose, 1}, {"reshapes, batching", rw_reshape, 1}, {"repeat", rw_repeat, 1},
    {"matmul associate", rw_matmul_associate, 2}, {"gain into weights", rw_gain, 3}, {"computed twice", rw_twice, 1}, {"exp of a sum", rw_exp, 1}, {"stable softmax", rw_stable, 1},
    {"out of an accumulator", rw_accum_out, 6}, {"into an accumulator", rw_accum_in, 3}, {"accumulators of nested loops", rw_accum_split, 5}, {"number of blocks, iterations", rw_count, 3},
    {"loop split", rw_split, 4}, {"loop to grid", rw_exchange, 4}, {"loops of a nest swapped", rw_nest, 4}, {"blocks to loop", rw_blocks_to_loop, 4}, {"replicated blocks", rw_replica, 1}, {"ops to kernel", rw_kernel, 3}, {"op to thread graph", rw_thread, 1}, {"new grid axis or loop", rw_axis, 14}};
enum { RW_RULES = sizeof rw_rules / sizeof *rw_rules };

/* Applies one rule to D at random; returns it, or -1 (D is then spoiled). */
static inline int rewrite_step(draft *D, uint64_t *s) {
  int total = 0, r = 0;
  for (int k = 0; k < RW_RULES; k++) total += rw_rules[k].often;
  int pick = rw_below(s, total);
  while (pick >= rw_rules[r].often) pick -= rw_rules[r++].often;
  rw C = {D, 0, NULL, s};
  int n = 0, all = 0, whole = rw_rules[r].apply == rw_axis || rw_rules[r].apply == rw_kernel || rw_rules[r].apply == rw_thread || rw_rules[r].apply == rw_blocks_to_loop;
  for (int l = 0; l < D->n_levels; l++) all += D->level[l].n;
  for (int start = rw_below(s, all), tries = 0; tries < (whole ? 1 : all); tries++) { /* the ops in turn, from anywhere */
    n = (start + tries) % all;
    for (C.l = 0; n >= D->level[C.l].n; C.l++) n -= D->level[C.l].n;
    C.L = &D->level[C.l];
    int before = C.L->n;
    if (rw_rules[r].apply(&C, n)) {
      draft_sweep(D);
      return r;
    }
    if (C.L->n != before) return -1;
  }
  return -1;
}

#endif
