/* Tests of proofs of maxima by normal forms (mirage_verify.h, >>terms): axioms at a symbolic index, pairs that must not be
   proved, random terms against doubles, the random order of maxima.  No libz3.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_maxima.c -o build/test_maxima -lcmocka -lm -lpthread -ldl && build/test_maxima
   Usage: test_maxima [SEED [PAIRS]]; PAIRS random pairs of terms, 20000 by default. */
#define MG_USER_OPS(E, T) E(STEP, "step", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(STEP, a), a / (MG_C(1, 1) + MG_ABS(a)))
#define MG_USER_PROOF_AXIOMS(A) A(step_rises, FACT, "x < y => step(x) < step(y)")
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include "parse.h"

static uint64_t seed;
static int pairs = 20000;

static uint64_t next(uint64_t *s) { return mgi_ff_mix(*s += MGI_FF_GOLD); }
static int below(uint64_t *s, int n) { return (int)(next(s) % (uint64_t)n); }
static double unit(uint64_t *s) { return ldexp((double)(next(s) >> 11), -53); }

/* ---- random terms, over x, y, u[k], w[k][l] with k and l below 3 */

enum { X, Y, U, W, NUMBER, NEG, SCALE, SHIFT, RELU, EXP, SQR, SQRT, LOG, STEP, ADD, SUB, MUL, DIV, MAX, MIN, TOP, SUM, KINDS, EXTENT = 3, NODES = 64 };
typedef struct term { int kind, a, b, var; mg_rational c; } term;
typedef struct forest { term t[NODES]; int n; } forest;

static int plant(forest *f, int kind, int a, int b, mg_rational c, int var) {
  if (f->n == NODES) return -1;
  term *t = &f->t[f->n];
  t->kind = kind, t->a = a, t->b = b, t->c = c, t->var = var;
  return f->n++;
}
static mg_rational constant(uint64_t *s) {
  static const int value[8][2] = {{-1, 1}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {-2, 1}, {-1, 2}, {3, 1}};
  int k = below(s, 8);
  return mg_rat(value[k][0], value[k][1]);
}
/* open: how many of k, l are bound. */
static int grow(forest *f, uint64_t *s, int depth, int open) {
  static const int often[] = {NEG, SCALE, SHIFT, RELU, RELU, RELU, EXP, SQR, SQRT, LOG, STEP, ADD, ADD, SUB, SUB, MUL, MUL, DIV, MAX, MAX, MAX, MIN, MIN, TOP, TOP, TOP, SUM};
  int kind = depth ? often[below(s, (int)(sizeof often / sizeof *often))] : -1, a, b = -1;
  mg_rational c = constant(s);
  if ((kind == TOP || kind == SUM) && open == 2) kind = RELU;
  if (kind < 0 || f->n > NODES - 12) {
    int leaf = below(s, open == 2 ? 6 : open ? 5 : 3);
    return plant(f, leaf == 0 ? X : leaf == 1 ? Y : leaf == 2 ? NUMBER : leaf < 5 ? U : W, -1, -1, c, open ? below(s, open) : 0);
  }
  if (kind == SCALE && !c.num) c = mg_rat(3, 1);
  a = grow(f, s, depth - 1 - (below(s, 4) == 0 && depth > 1), open + (kind == TOP || kind == SUM));
  if (kind >= ADD && kind <= MIN) b = grow(f, s, depth - 1, open);
  return a < 0 || (b < 0 && kind >= ADD && kind <= MIN) ? -1 : plant(f, kind, a, b, c, open);
}
/* A copy of node k of f in g, in which node `at` is changed: identities (even) that are right where both are defined, and
   others. */
static int copied(forest *g, const forest *f, int k, int at, int how, uint64_t *s) {
  term t = f->t[k];
  if (t.a >= 0) t.a = copied(g, f, t.a, at, how, s);
  if (t.b >= 0) t.b = copied(g, f, t.b, at, how, s);
  if ((f->t[k].a >= 0 && t.a < 0) || (f->t[k].b >= 0 && t.b < 0)) return -1;
  mg_rational none = mg_rat(0, 1), c = t.c;
#define G(kind, a, b) plant(g, kind, a, b, none, 0)
#define GC(kind, a, num, den) plant(g, kind, a, -1, mg_rat(num, den), 0)
  if (k == at && how >= 0)
    switch (how) {
      case 0: /* the other order, the other form */
        if (t.kind == ADD || t.kind == MUL || t.kind == MAX || t.kind == MIN) { int a = t.a; t.a = t.b, t.b = a; }
        else if (t.kind == RELU) return G(ADD, t.a, G(RELU, G(NEG, t.a, -1), -1));
        else if (t.kind == NEG) return GC(SCALE, t.a, -1, 1);
        break;
      case 2: /* min by max, max by relu */
        if (t.kind == MIN) return G(NEG, G(MAX, G(NEG, t.a, -1), G(NEG, t.b, -1)), -1);
        if (t.kind == MAX) return G(ADD, t.a, G(RELU, G(SUB, t.b, t.a), -1));
        if (t.kind == RELU) return G(MAX, t.a, GC(NUMBER, -1, 0, 1));
        if (t.kind == SQRT) return GC(SCALE, G(SQRT, GC(SCALE, t.a, 1, 4), -1), 2, 1);
        break;
      case 4: { int r = plant(g, t.kind, t.a, t.b, c, t.var); return G(ADD, G(RELU, r, -1), G(NEG, G(RELU, G(NEG, r, -1), -1), -1)); }
      case 6: { int r = plant(g, t.kind, t.a, t.b, c, t.var); return G(SUB, GC(SHIFT, G(MAX, r, GC(SHIFT, r, -1, 1)), 2, 1), GC(NUMBER, -1, 2, 1)); }
      case 8: { int r = plant(g, t.kind, t.a, t.b, c, t.var); return G(MAX, r, G(MIN, r, G(U == t.kind ? X : Y, -1, -1))); }
      case 10: { int r = plant(g, t.kind, t.a, t.b, c, t.var); return G(LOG, G(EXP, r, -1), -1); }
      case 1: t.kind = t.kind == MAX ? MIN : t.kind == MIN ? MAX : t.kind == RELU ? NEG : t.kind == ADD ? SUB : t.kind == SUB ? ADD : t.kind == TOP ? SUM : t.kind; break;
      case 3: t.c = constant(s); if (t.kind == SCALE && !t.c.num) t.c = mg_rat(5, 1); break;
      case 5: if (t.a >= 0 && t.b < 0 && t.kind != TOP && t.kind != SUM) return t.a; break; /* an operator dropped */
      case 7: { int r = plant(g, t.kind, t.a, t.b, c, t.var); return G(RELU, r, -1); }     /* or added */
      case 9: t.var = t.var ? 0 : t.var; break;
      default: { int r = plant(g, t.kind, t.a, t.b, c, t.var); return G(SQRT, G(SQR, r, -1), -1); }
    }
#undef G
#undef GC
  return plant(g, t.kind, t.a, t.b, t.c, t.var);
}

typedef struct point { double x, y, u[EXTENT], w[EXTENT][EXTENT], most; } point;
/* What is 0 but for a rounding error is 0 under a root, which would make it great. */
static double root(double a) { return a < -1e-9 ? NAN : a < 1e-13 ? 0 : sqrt(a); }
/* NAN where it is undefined, or too near to that. */
static double value(const forest *f, int k, point *p, const int *at, int open) {
  const term *t = &f->t[k];
  double a = 0, b = 0, r = NAN, c = (double)t->c.num / (double)t->c.den;
  if (t->kind == TOP || t->kind == SUM) {
    r = t->kind == TOP ? -INFINITY : 0;
    for (int i = 0; i < EXTENT; i++) {
      int here[2] = {open ? at[0] : i, i};
      a = value(f, t->a, p, here, open + 1);
      if (!isfinite(a)) return NAN;
      r = t->kind == SUM ? r + a : a > r ? a : r;
    }
  } else {
    if (t->a >= 0) a = value(f, t->a, p, at, open);
    if (t->b >= 0) b = value(f, t->b, p, at, open);
    if (!isfinite(a) || !isfinite(b)) return NAN;
    switch (t->kind) {
      case X: r = p->x; break;
      case Y: r = p->y; break;
      case U: r = open ? p->u[at[t->var < open ? t->var : 0]] : p->x; break;
      case W: r = open == 2 ? p->w[at[0]][at[1]] : open ? p->u[at[0]] : p->y; break;
      case NUMBER: r = c; break;
      case NEG: r = -a; break;
      case SCALE: r = a * c; break;
      case SHIFT: r = a + c; break;
      case RELU: r = a > 0 ? a : 0; break;
      case EXP: r = exp(a); break;
      case SQR: r = a * a; break;
      case SQRT: r = root(a); break;
      case LOG: r = a < 1e-6 ? NAN : log(a); break;
      case STEP: r = a / (1 + fabs(a)); break;
      case ADD: r = a + b; break;
      case SUB: r = a - b; break;
      case MUL: r = a * b; break;
      case DIV: r = fabs(b) < 1e-4 ? NAN : a / b; break;
      case MAX: r = a > b ? a : b; break;
      default: r = a < b ? a : b; break;
    }
  }
  if (fabs(r) > p->most) p->most = fabs(r);
  return fabs(r) < 1e5 ? r : NAN;
}
static uint32_t leaf(mgi_prover *P, uint32_t which, int rank, const uint32_t *var) {
  mgi_pv_index x[2];
  memset(x, 0, sizeof x);
  for (int d = 0; d < rank; d++) x[d].n = 1, x[d].d[0].var = var[d], x[d].d[0].div = 1, x[d].d[0].mod = EXTENT;
  return mgi_pv_atom(P, mgi_pv_input(P, which, rank, x), 1);
}
static uint32_t form(mgi_prover *P, const forest *f, int k, const uint32_t *var, int open) {
  static const int row[KINDS] = {0, 0, 0, 0, 0, MG_OP_NEG, MG_OP_SCALE, MG_OP_ADD_SCALAR, MG_OP_RELU, MG_OP_EXP, MG_OP_SQR, MG_OP_SQRT, MG_OP_LOG, MG_OP_STEP, MG_OP_ADD, MG_OP_SUB, MG_OP_MUL, MG_OP_DIV, 0, 0, 0, 0};
  const term *t = &f->t[k];
  uint32_t in[2] = {MGI_PV_ZERO, MGI_PV_ZERO};
  if (t->kind == TOP || t->kind == SUM) {
    int temps = P->temps;
    uint32_t here[2], v = mgi_pv_temp(P, EXTENT);
    here[0] = open ? var[0] : v, here[1] = v;
    uint32_t r = mgi_pv_bind(P, t->kind == TOP ? MGI_PV_TOP : MGI_PV_SUM, 1, &v, form(P, f, t->a, here, open + 1));
    P->temps = temps;
    return r;
  }
  if (t->a >= 0) in[0] = form(P, f, t->a, var, open);
  if (t->b >= 0) in[1] = form(P, f, t->b, var, open);
  switch (t->kind) {
    case X: return leaf(P, 0, 0, NULL);
    case Y: return leaf(P, 1, 0, NULL);
    case U: return open ? leaf(P, 2, 1, &var[t->var < open ? t->var : 0]) : leaf(P, 0, 0, NULL);
    case W: return open == 2 ? leaf(P, 3, 2, var) : open ? leaf(P, 2, 1, var) : leaf(P, 1, 0, NULL);
    case NUMBER: return mgi_pv_number(P, t->c.num, t->c.den);
    case MAX: return mgi_pv_max(P, in, 2);
    case MIN:
      in[0] = mgi_pv_scale(P, in[0], -1, 1), in[1] = mgi_pv_scale(P, in[1], -1, 1);
      return mgi_pv_scale(P, mgi_pv_max(P, in, 2), -1, 1);
    default: return mgi_pv_apply(P, (mg_opcode)row[t->kind], t->c, in);
  }
}
static void show(const forest *f, int k) {
  static const char *const name[KINDS] = {"x", "y", "u", "w", "", "neg", "scale", "shift", "relu", "exp", "sqr", "sqrt", "log", "step", "add", "sub", "mul", "div", "max", "min", "top", "sum"};
  const term *t = &f->t[k];
  printf("%s", name[t->kind]);
  if (t->kind == U) printf("[%d]", t->var);
  if (t->kind == NUMBER) printf("%lld/%lld", (long long)t->c.num, (long long)t->c.den);
  if (t->a < 0) return;
  printf("(");
  show(f, t->a);
  if (t->b >= 0) printf(", "), show(f, t->b);
  if (t->kind == SCALE || t->kind == SHIFT) printf(", %lld/%lld", (long long)t->c.num, (long long)t->c.den);
  printf(")");
}
static void start(mgi_prover *P) {
  uint32_t w[2] = {MGI_PV_POLY, MGI_PV_KEY};
  memset(P, 0, sizeof *P);
  P->limit = (size_t)1 << 28, P->most = 400000;
  assert_int_equal(mgi_pv_intern(P, w, 1), MGI_PV_ZERO);
  assert_int_equal(mgi_pv_intern(P, w + 1, 1), MGI_PV_NONE);
}
static void finish(mgi_prover *P) { free(P->w), free(P->node), free(P->slot); }

static int beyond; /* a form's exponentials left the range in which doubles tell anything */
/* The value of a normal form at a point; index: of every variable. */
static double form_value(const mgi_prover *P, uint32_t id, const point *p, int *index) {
  uint32_t n = P->node[id].n, kind = mgi_pv_kind(P, id);
  double r = 0, at[2];
  switch (kind) {
    case MGI_PV_IN: {
      int x[2] = {0, 0}, rank = 0;
      for (uint32_t k = 2; k < n; k += 1 + 3 * mgi_pv_word(P, id, k), rank++)
        for (uint32_t j = 0; j < mgi_pv_word(P, id, k); j++) {
          uint32_t v = mgi_pv_word(P, id, k + 1 + 3 * j), div = mgi_pv_word(P, id, k + 2 + 3 * j), mod = mgi_pv_word(P, id, k + 3 + 3 * j);
          if (index[v] < 0) fail_msg("variable %u is not bound", v);
          x[rank] = x[rank] * (int)mod + index[v] / (int)div % (int)mod;
        }
      switch (mgi_pv_word(P, id, 1)) {
        case 0: return p->x;
        case 1: return p->y;
        case 2: return p->u[x[0]];
        default: return p->w[x[0]][x[1]];
      }
    }
    case MGI_PV_FN: {
      double a = form_value(P, mgi_pv_word(P, id, 6), p, index);
      switch (mgi_pv_word(P, id, 1)) {
        case MG_OP_EXP:
          if (fabs(a) > 40) beyond = 1;
          return exp(a);
        case MG_OP_LOG: return log(a);
        case MG_OP_SQRT: return root(a);
        case MG_OP_STEP: return a / (1 + fabs(a));
        default: fail_msg("function %u", mgi_pv_word(P, id, 1));
      }
      return NAN;
    }
    case MGI_PV_MAX:
      r = -INFINITY;
      for (uint32_t k = 1; k < n; k++) {
        double a = form_value(P, mgi_pv_word(P, id, k), p, index);
        if (!(a <= r)) r = a;
      }
      return r;
    case MGI_PV_INV: return 1 / form_value(P, mgi_pv_word(P, id, 1), p, index);
    case MGI_PV_SUM: case MGI_PV_TOP: {
      uint32_t few = mgi_pv_word(P, id, 1), first = mgi_pv_word(P, id, 2);
      int total = 1, was[MGI_PV_BOUND];
      for (uint32_t k = 0; k < few; k++) total *= (int)mgi_pv_word(P, id, 3 + k), was[k] = index[first + k];
      r = kind == MGI_PV_SUM ? 0 : -INFINITY;
      for (int k = 0; k < total; k++) {
        int rest = k;
        for (uint32_t j = 0; j < few; j++) index[first + j] = rest % (int)mgi_pv_word(P, id, 3 + j), rest /= (int)mgi_pv_word(P, id, 3 + j);
        at[0] = form_value(P, mgi_pv_word(P, id, n - 1), p, index);
        if (kind == MGI_PV_SUM) r += at[0];
        else if (!(at[0] <= r)) r = at[0];
      }
      for (uint32_t k = 0; k < few; k++) index[first + k] = was[k];
      return r;
    }
    case MGI_PV_MONO:
      r = 1;
      for (uint32_t k = 0; k < mgi_pv_powers(P, id); k++) r *= pow(form_value(P, mgi_pv_word(P, id, 1 + 2 * k), p, index), (int32_t)mgi_pv_word(P, id, 2 + 2 * k));
      return r;
    default:
      for (uint32_t k = 0; k < mgi_pv_count(P, id); k++) {
        mgi_pv_term t = mgi_pv_at(P, id, k);
        r += (double)t.num / (double)t.den * form_value(P, t.mono, p, index);
      }
      return r;
  }
}
/* Signs, zeros and ties. */
static void draw(point *p, uint64_t *s) {
  static const double corner[8] = {0, 1, -1, 2, 0.5, -2, 0, 3};
  double *v = &p->x, ties = corner[below(s, 8)];
  int kind = below(s, 3);
  for (size_t j = 0; j + 1 < sizeof *p / sizeof(double); j++)
    v[j] = kind == 0 ? corner[below(s, 8)] : kind == 1 ? 5 * unit(s) - 2.5 : below(s, 2) ? ties : 3 * unit(s) - 1;
  p->most = 1;
}

/* 1 if two differ by a rounding error beside a root's or a logarithm's end alone: around there they agree.  The other is
   the term g, or form x where g is NULL. */
static int beside(const forest *f, int a, const forest *g, int b, const mgi_prover *P, uint32_t x, const point *p, uint64_t *s) {
  int agree = 0;
  for (int j = 0; j < 200; j++) {
    point q = *p;
    int index[MGI_PV_VARS];
    for (int v = 0; v < MGI_PV_VARS; v++) index[v] = -1;
    for (size_t i = 0; i + 1 < sizeof q / sizeof(double); i++) (&q.x)[i] += 1e-2 * (unit(s) - 0.5);
    q.most = 1;
    double l = value(f, a, &q, NULL, 0), r = !isfinite(l) ? l : g ? value(g, b, &q, NULL, 0) : form_value(P, x, &q, index);
    if (!isfinite(l) || (g && !isfinite(r))) continue;
    if (!(fabs(l - r) <= 1e-6 * q.most * q.most)) return 0;
    agree++;
  }
  return agree >= 1;
}

/* A term's normal form is defined wherever the term is, and the same. */
static void forms_are_their_terms(void **state) {
  uint64_t s = seed ^ 0xf0;
  long points = 0, given_up = 0, near = 0;
  (void)state;
  for (int pair = 0; pair < pairs; pair++) {
    forest f;
    f.n = 0;
    int a = grow(&f, &s, 1 + below(&s, 5), 0);
    if (a < 0) continue;
    mgi_prover P;
    start(&P);
    uint32_t x = form(&P, &f, a, NULL, 0);
    given_up += P.bad;
    for (int k = 0; k < 24 && !P.bad; k++) {
      point p;
      int index[MGI_PV_VARS];
      for (int v = 0; v < MGI_PV_VARS; v++) index[v] = -1;
      draw(&p, &s);
      beyond = 0;
      double l = value(&f, a, &p, NULL, 0), r = isfinite(l) ? form_value(&P, x, &p, index) : l;
      if (!isfinite(l) || beyond) continue;
      points++;
      if (fabs(l - r) <= 1e-6 * p.most * p.most) continue;
      if (!(fabs(l - r) > 1e-2) && beside(&f, a, NULL, -1, &P, x, &p, &s)) { near++; continue; }
      mgi_pv_print o;
      mg_graph *names = parse("program n\ninput X : f32[1]\ninput Y : f32[1]\ninput U : f32[1]\ninput W : f32[1]\nO = add(add(X, Y), add(U, W))\noutput O\n");
      memset(&o, 0, sizeof o);
      o.P = &P, o.g = names;
      mgi_pv_say_poly(&o, x);
      printf("\n  "), show(&f, a), printf("\n  %s\n", o.text);
      fail_msg("term %d is %.12g, its form %.12g", pair, l, r);
    }
    finish(&P);
  }
  printf("forms: %ld points, %ld beside an end of a domain, %ld terms given up\n", points, near, given_up);
  assert_true(points > 4L * pairs && near < points / 200);
}

/* Whenever the normal forms say that two terms are equal, they are, at every point where both are defined. */
static void random_terms(void **state) {
  uint64_t s = seed ^ 0x7e;
  int equal = 0, right = 0, shown = 0, unlike = 0, given_up = 0;
  long points = 0;
  (void)state;
  for (int pair = 0; pair < pairs; pair++) {
    forest f, g;
    f.n = g.n = 0;
    int a = grow(&f, &s, 1 + below(&s, 4), 0), how = below(&s, 13) - 1, b = -1;
    if (a < 0) continue;
    if (how < 0) b = grow(&g, &s, 1 + below(&s, 3), 0);
    else b = copied(&g, &f, a, below(&s, f.n), how, &s);
    if (b < 0) continue;
    mgi_prover P;
    mgi_proof proof;
    start(&P);
    memset(&proof, 0, sizeof proof);
    proof.P = &P;
    uint32_t x = form(&P, &f, a, NULL, 0), y = form(&P, &g, b, NULL, 0);
    int same = !P.bad && (x == y || mgi_pv_vanishes(&proof, mgi_pv_sub2(&P, x, y), 0)) && !P.bad;
    given_up += P.bad, right += how >= 0 && how % 2 == 0, shown += how >= 0 && how % 2 == 0 && same, equal += same, unlike += !same;
    finish(&P);
    for (int k = 0; k < 60 && same; k++) {
      point p;
      draw(&p, &s);
      double l = value(&f, a, &p, NULL, 0), r = value(&g, b, &p, NULL, 0);
      if (!isfinite(l) || !isfinite(r)) continue;
      points++;
      if (fabs(l - r) > 1e-6 * p.most && !(fabs(l - r) < 1e-2 && beside(&f, a, &g, b, NULL, 0, &p, &s))) {
        printf("\n  "), show(&f, a), printf("\n  "), show(&g, b), printf("\n");
        fail_msg("pair %d was proved, but at one point they are %.12g and %.12g", pair, l, r);
      }
    }
  }
  printf("random terms: %d pairs proved, %d not; of %d right rewritings %d; %d given up; %ld points\n", equal, unlike, right, shown, given_up, points);
  assert_true(equal > pairs / 10 && unlike > pairs / 10 && points > 10L * pairs / 4);
  assert_true(10 * shown > 8 * right);
}

/* ---- programs at a symbolic index */

static const char rows[] = "input X : f32[16, 1024]\ninput Y : f32[16, 1024]\ninput Z : f32[16, 1024]\ninput Q : f32[64, 64]\ninput R : f32[64, 64]\ninput C : f32[16, 1]\n";
static mg_graph *program(const char *inputs, const char *body) {
  char text[8192];
  snprintf(text, sizeof text, "program p\n%s%s\noutput O\n", inputs, body);
  return parse(text);
}
/* 1 if the normal forms prove it at a symbolic index; the derivation is the same each time. */
static int proved(const char *inputs, const char *a, const char *b) {
  mg_graph *A = program(inputs, a), *B = program(inputs, b);
  mg_prove_report r;
  mg_error e;
  char *text = NULL, *again = NULL;
  assert_int_equal(mgi_prove_normal(A, B, 0, 0, NULL, &r, &text, &e), MG_OK);
  int yes = r.verdict == MG_EQUAL;
  if (yes && r.method != MG_PROVE_INDEXED) fail_msg("element by element: %s\n%s", a, b);
  assert_true(yes == (text != NULL));
  if (yes) {
    assert_int_equal(mgi_prove_normal(A, B, mgi_seconds() + 600, (size_t)1 << 29, NULL, &r, &again, &e), MG_OK);
    assert_string_equal(text, again);
    assert_non_null(strstr(text, "rows:"));
    assert_true(strlen(text) < 4096);
  } else assert_int_equal(r.verdict, MG_UNDECIDED);
  mg_graph_free(A), mg_graph_free(B);
  free(text), free(again);
  return yes;
}
typedef struct pair { const char *a, *b; } pair;
#define SOFTMAX "M = max(X, dim=1)\nE = exp(sub(X, M))\nO = div(E, sum(E, dim=1))"
static const pair right[] = {
    {"O = relu(max(mul(X, Y), dim=1))", "O = max(relu(mul(X, Y)), dim=1)"},                                      /* the bugs that motivate it, right */
    {"O = div(Z, add_scalar(relu(max(Z, dim=1)), 1))", "O = div(Z, max(add_scalar(relu(Z), 1), dim=1))"},
    {"O = mul(relu(sub(max(X, dim=1), max(Y, dim=1))), relu(max(X, dim=1)))", "O = relu(mul(sub(max(X, dim=1), max(Y, dim=1)), max(relu(X), dim=1)))"},
    {"O = mul(relu(X), relu(Y))", "O = relu(mul(X, relu(Y)))"},
    {"O = mul(relu(max(X, dim=1)), relu(max(Y, dim=1)))", "O = relu(mul(max(relu(X), dim=1), max(Y, dim=1)))"},
    {"O = max(max(reshape(X, [16, 32, 32]), dim=2), dim=1)", "O = max(max(reshape(X, [16, 32, 32]), dim=1), dim=2)"}, /* any order and grouping */
    {"O = reshape(max(max(reshape(X, [16, 8, 128]), dim=1), dim=2), [16, 1])", "O = max(X, dim=1)"},
    {"O = max(add(X, C), dim=1)", "O = add(max(X, dim=1), C)"},                                                    /* a shift */
    {"O = max(add_scalar(scale(X, 1/8), 3), dim=1)", "O = add_scalar(scale(max(X, dim=1), 1/8), 3)"},
    {"O = max(mul(X, exp(C)), dim=1)", "O = mul(max(X, dim=1), exp(C))"},                                          /* factors that are never negative */
    {"O = max(mul(X, sqr(C)), dim=1)", "O = mul(sqr(C), max(X, dim=1))"},
    {"O = max(mul(X, relu(C)), dim=1)", "O = mul(relu(C), max(X, dim=1))"},
    {"O = max(mul(X, add_scalar(sqr(C), 1)), dim=1)", "O = add(max(X, dim=1), mul(sqr(C), max(X, dim=1)))"},
    {"O = max(div(X, add_scalar(exp(C), 2)), dim=1)", "O = div(max(X, dim=1), add_scalar(exp(C), 2))"},
    {"O = max(exp(X), dim=1)", "O = exp(max(X, dim=1))"},                                                          /* rising functions */
    {"O = max(step(X), dim=1)", "O = step(max(X, dim=1))"},
    {"O = max(sqrt(X), dim=1)", "O = sqrt(max(X, dim=1))"},
    {"O = max(sqrt(sqr(X)), dim=1)", "O = sqrt(max(sqr(X), dim=1))"},
    {"O = scale(max(sqrt(sqr(mul(X, Y))), dim=1), 3)", "O = sqrt(max(scale(sqr(mul(Y, X)), 9), dim=1))"},
    {"O = sqrt(max(sqr(mul(X, Y)), dim=1))", "O = max(mul(sqrt(sqr(X)), add(relu(Y), relu(neg(Y)))), dim=1)"},
    {"O = max(log(X), dim=1)", "O = log(max(X, dim=1))"},
    {"O = max(log(add_scalar(exp(X), 1)), dim=1)", "O = log(add_scalar(exp(max(X, dim=1)), 1))"},
    {"O = neg(max(neg(exp(X)), dim=1))", "O = exp(neg(max(neg(X), dim=1)))"},                                      /* neg turns max into min */
    {"O = neg(max(neg(step(X)), dim=1))", "O = step(neg(max(neg(X), dim=1)))"},
    {"O = max(relu(X), dim=1)", "O = relu(max(X, dim=1))"},
    {"O = max(add(relu(X), C), dim=1)", "O = add(relu(max(X, dim=1)), C)"},
    {"M = max(X, dim=1)\nO = add(M, relu(sub(neg(relu(sub(M, C))), sub(M, M))))", "O = max(X, dim=1)"},           /* absorption */
    {"M = sub(X, relu(sub(X, Y)))\nO = add(M, relu(sub(X, M)))", "O = scale(X, 1)"},                              /* max(x, min(x, y)) */
    {"O = relu(neg(add_scalar(relu(neg(add_scalar(X, -6))), -6)))", "O = neg(add_scalar(relu(neg(add_scalar(relu(X), -6))), -6))"}, /* clamps */
    {"O = relu(sub(X, relu(add_scalar(X, -6))))", "O = neg(add_scalar(relu(neg(add_scalar(relu(X), -6))), -6))"},
    {"O = add_scalar(relu(add_scalar(relu(X), 1)), -1)", "O = relu(X)"},
    {"O = max(relu(add_scalar(X, -1)), dim=1)", "O = relu(add_scalar(relu(max(X, dim=1)), -1))"},
    {"O = relu(add_scalar(exp(X), 1))", "O = add_scalar(exp(X), 1)"},                                              /* signs by facts */
    {"O = relu(sum(mul(exp(X), sqr(Y)), dim=1))", "O = sum(mul(exp(X), sqr(Y)), dim=1)"},
    {"O = sqrt(sqr(X))", "O = add(relu(X), relu(neg(X)))"},
    {"O = sqr(relu(X))", "O = mul(X, relu(X))"},
    {"O = mul(relu(X), relu(neg(X)))", "O = scale(sub(X, X), 1)"},
    {"O = sub(relu(X), scale(relu(neg(X)), 1/10))", "O = add(scale(X, 1/10), relu(scale(X, 9/10)))"},              /* leaky relu */
    {"O = matmul(relu(matmul(Q, R)), Q)", "O = add(matmul(matmul(Q, R), Q), matmul(relu(neg(matmul(Q, R))), Q))"},
    {SOFTMAX, "O = softmax(X, dim=1)"},
    {"M = max(X, dim=1)\nO = add(M, log(sum(exp(sub(X, M)), dim=1)))", "O = log(sum(exp(X), dim=1))"},
    {"M = max(sqrt(sqr(X)), dim=1)\nO = div(X, M)", "O = div(X, max(add(relu(X), relu(neg(X))), dim=1))"},         /* absmax */
    {"O = max(add(reshape(X, [16, 1024, 1]), reshape(C, [16, 1, 1])), dim=1)", "O = reshape(add(max(X, dim=1), C), [16, 1, 1])"},
    {"A = max(Q, dim=1)\nB = max(R, dim=0)\nO = add(A, B)", "O = add(transpose(max(transpose(Q, [1, 0]), dim=0), [1, 0]), max(R, dim=0))"},
};
/* Each a step beside a right one. */
static const pair wrong[] = {
    {"O = relu(max(mul(X, Y), dim=1))", "O = max(mul(X, Y), dim=1)"},                                            /* the bugs: relu dropped */
    {"O = div(Z, add_scalar(relu(max(Z, dim=1)), 1))", "O = div(Z, add_scalar(max(Z, dim=1), 1))"},
    {"O = mul(relu(sub(max(X, dim=1), max(Y, dim=1))), relu(max(X, dim=1)))", "O = mul(sub(max(X, dim=1), max(Y, dim=1)), relu(max(X, dim=1)))"},
    {"O = mul(relu(sub(max(X, dim=1), max(Y, dim=1))), relu(max(X, dim=1)))", "O = mul(relu(sub(max(X, dim=1), max(Y, dim=1))), max(X, dim=1))"},
    {"O = mul(relu(X), relu(Y))", "O = relu(mul(X, Y))"}, {"O = mul(relu(X), relu(Y))", "O = mul(X, relu(Y))"},
    {"O = mul(relu(max(X, dim=1)), relu(max(Y, dim=1)))", "O = mul(max(X, dim=1), max(Y, dim=1))"},
    {"O = max(Q, dim=1)", "O = transpose(max(Q, dim=0), [1, 0])"}, {"O = max(relu(Q), dim=1)", "O = relu(max(transpose(Q, [1, 0]), dim=1))"},
    {"O = max(reshape(X, [16, 8, 128]), dim=2)", "O = reshape(max(reshape(X, [16, 128, 8]), dim=1), [16, 8, 1])"},
    {"O = max(add(X, C), dim=1)", "O = sub(max(X, dim=1), C)"}, {"O = max(add(X, Y), dim=1)", "O = add(max(X, dim=1), max(Y, dim=1))"},
    {"O = max(mul(X, C), dim=1)", "O = mul(max(X, dim=1), C)"}, {"O = max(scale(X, -1), dim=1)", "O = neg(max(X, dim=1))"},
    {"O = max(mul(X, log(C)), dim=1)", "O = mul(max(X, dim=1), log(C))"}, {"O = max(mul(X, add_scalar(sqr(C), -1)), dim=1)", "O = mul(max(X, dim=1), add_scalar(sqr(C), -1))"},
    {"O = max(div(X, add_scalar(C, 2)), dim=1)", "O = div(max(X, dim=1), add_scalar(C, 2))"}, {"O = max(exp(neg(X)), dim=1)", "O = exp(max(X, dim=1))"},
    {"O = max(gelu(X), dim=1)", "O = gelu(max(X, dim=1))"}, {"O = max(silu(X), dim=1)", "O = silu(max(X, dim=1))"}, {"O = max(sqr(X), dim=1)", "O = sqr(max(X, dim=1))"},
    {"O = neg(max(neg(exp(X)), dim=1))", "O = exp(max(X, dim=1))"}, {"O = max(add(relu(X), Y), dim=1)", "O = add(relu(max(X, dim=1)), max(Y, dim=1))"},
    {"M = sub(X, relu(sub(X, Y)))\nO = add(M, relu(sub(Y, M)))", "O = scale(X, 1)"},
    {"O = add_scalar(relu(add_scalar(relu(X), -1)), 1)", "O = relu(X)"}, {"O = relu(add_scalar(X, 1))", "O = add_scalar(relu(X), 1)"},
    {"O = relu(add_scalar(exp(X), -1))", "O = add_scalar(exp(X), -1)"}, {"O = relu(add_scalar(relu(X), -1))", "O = relu(add_scalar(relu(X), -2))"},
    {"O = neg(add_scalar(relu(neg(add_scalar(relu(X), -6))), -6))", "O = neg(add_scalar(relu(neg(add_scalar(relu(X), 6))), 6))"},
    {"O = relu(sum(mul(exp(X), Y), dim=1))", "O = sum(mul(exp(X), Y), dim=1)"}, {"O = relu(log(exp(X)))", "O = log(exp(X))"}, {"O = sqrt(sqr(X))", "O = scale(X, 1)"},
    {"O = sum(relu(X), dim=1)", "O = relu(sum(X, dim=1))"}, {"O = sum(max(reshape(X, [16, 32, 32]), dim=1), dim=2)", "O = max(sum(reshape(X, [16, 32, 32]), dim=2), dim=1)"},
    {"O = sub(relu(X), scale(relu(neg(X)), 1/10))", "O = add(scale(X, 1/10), relu(scale(X, 1/10)))"}, {"O = relu(neg(relu(X)))", "O = relu(X)"},
    {SOFTMAX, "O = softmax(Y, dim=1)"}, {"M = max(X, dim=1)\nO = log(sum(exp(sub(X, M)), dim=1))", "O = log(sum(exp(X), dim=1))"},
    {"O = max(sqrt(sqr(X)), dim=1)", "O = max(X, dim=1)"}, {"O = sqrt(max(sqr(X), dim=1))", "O = max(X, dim=1)"}, {"O = exp(relu(X))", "O = relu(exp(X))"}, {"O = log(max(exp(X), dim=1))", "O = max(exp(X), dim=1)"},
};
static void right_pairs(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof right / sizeof *right; k++)
    if (!proved(rows, right[k].a, right[k].b)) fail_msg("not proved:\n%s\n%s", right[k].a, right[k].b);
}
static void wrong_pairs(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    if (proved(rows, wrong[k].a, wrong[k].b)) fail_msg("proved:\n%s\n%s", wrong[k].a, wrong[k].b);
}

/* ---- µGraphs of grids and loops; uneven chunks too */

typedef struct kernel { const char *inputs, *program, *right, *from, *to; } kernel; /* from -> to makes it wrong */
static const kernel kernels[] = {
    {"input X : f16[16, 1024]\ninput Y : f16[16, 1024]\n", "O = relu(max(mul(X, Y), dim=1))",
     "O = kernel grid=(x=16) threads=128 {\n  for i=8 {\n    a = load X {x->0, i->1}\n    b = load Y {x->0, i->1}\n    c = max(mul(a, b), dim=1)\n  }\n  o = relu(accum(c) {i->max})\n  store o {x->0}\n}",
     "relu(accum(c) {i->max})", "scale(accum(c) {i->max}, 1)"},
    {"input X : f16[16, 4096]\ninput Y : f16[16, 4096]\n", "O = relu(max(mul(X, Y), dim=1))",
     "O = kernel grid=(x=4) threads=128 {\n  for i=16 {\n    a = load X {x->0, i->1}\n    b = load Y {x->0, i->1}\n    c = max(relu(mul(a, b)), dim=1)\n  }\n  o = accum(c) {i->max}\n  store o {x->0}\n}",
     "max(relu(mul(a, b)), dim=1)", "max(relu(mul(a, a)), dim=1)"},
    {"input X : f16[16, 1024]\n", "O = relu(max(X, dim=1))", /* parts of blocks, a second kernel for the maximum of parts */
     "P = kernel grid=(x=16, y=4) threads=128 {\n  for i=2 {\n    a = load X {x->0, y->1, i->1}\n    c = max(a, dim=1)\n  }\n  o = accum(c) {i->max}\n  store o {x->0, y->1}\n}\nO = max(relu(P), dim=1)", "max(relu(P), dim=1)", "max(P, dim=1)"},
    {"input X : f16[16, 4096]\n", "M = max(X, dim=1)\nE = exp(sub(X, M))\nO = div(E, sum(E, dim=1))",
     "S = kernel grid=(x=16) threads=128 {\n  for i=4 {\n    a = load X {x->0, i->1}\n    e = sum(exp(a), dim=1)\n  }\n  o = accum(e) {i->+}\n  store o {x->0}\n}\nO = div(exp(X), S)", "accum(e) {i->+}", "accum(e) {i->max}"},
    {"input Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512]\ninput V : f16[2, 512, 64]\n",
     "A = scale(matmul(Q, K), 1/8)\nE = exp(sub(A, max(A, dim=2)))\nO = matmul(div(E, sum(E, dim=2)), V)",
     "O = kernel grid=(x=2, y=4) threads=128 {\n  q = load Q {x->0, y->1}\n  for i=8 {\n    k = load K {x->0, y->*, i->2}\n    v = load V {x->0, y->*, i->1}\n    e = exp(scale(matmul(q, k), 1/8))\n    n = matmul(e, v)\n    s = sum(e, dim=2)\n  }\n"
     "  o = div(accum(n) {i->+}, accum(s) {i->+})\n  store o {x->0, y->1}\n}", "1/8", "1/4"},
    {"input X : f16[16, 4096]\n", "O = div(X, add_scalar(max(sqrt(sqr(X)), dim=1), 1/1000))",
     "M = kernel grid=(x=16) threads=128 {\n  for i=8 {\n    a = load X {x->0, i->1}\n    c = max(add(relu(a), relu(neg(a))), dim=1)\n  }\n  o = add_scalar(accum(c) {i->max}, 1/1000)\n  store o {x->0}\n}\nO = div(X, M)", "relu(neg(a))", "relu(a)"},
    {"input X : f16[16, 256]\ninput W : f16[256, 512]\ninput V : f16[512, 128]\n", "O = matmul(relu(matmul(X, W)), V)",
     "O = kernel grid=(x=1, y=4) threads=128 {\n  for j=8 {\n    v = load V {y->1, j->0}\n    for i=4 {\n      a = load X {i->1}\n      w = load W {j->1, i->0}\n      b = matmul(a, w)\n    }\n    h = relu(accum(b) {i->+})\n    c = matmul(h, v)\n  }\n"
     "  o = accum(c) {j->+}\n  store o {y->1}\n}", "relu(accum(b) {i->+})", "scale(accum(b) {i->+}, 1)"},
    {"input X : f16[16, 1024]\n", "M = max(X, dim=1)\nO = add(M, log(sum(exp(sub(X, M)), dim=1)))",
     "O = kernel grid=(x=8) threads=128 {\n  for i=8 {\n    a = load X {x->0, i->1}\n    s = sum(exp(a), dim=1)\n  }\n  o = log(accum(s) {i->+})\n  store o {x->0}\n}", "exp(a)", "exp(neg(a))"},
    {"input X : f16[50, 1000]\n", "O = relu(X)", "O = kernel grid=(x=7, y=3) threads=128 {\n  a = load X {x->0, y->1}\n  o = add(a, relu(neg(a)))\n  store o {x->0, y->1}\n}", "add(a", "sub(a"}, /* uneven */
    {"input X : f16[50, 1000]\n", "O = relu(max(X, dim=1))",
     "O = kernel grid=(x=7) threads=128 {\n  a = load X {x->0}\n  o = max(relu(a), dim=1)\n  store o {x->0}\n}", "relu(a)", "neg(a)"},
    {"input X : f16[50, 1000]\n", "O = relu(max(X, dim=1))",
     "O = kernel grid=(x=50) threads=128 {\n  for i=3 {\n    a = load X {x->0, i->1}\n    c = max(relu(a), dim=1)\n  }\n  o = accum(c) {i->max}\n  store o {x->0}\n}", "relu(a)", "neg(a)"},
    {"input X : f16[50, 1000]\n", "O = relu(sum(X, dim=1))",
     "O = kernel grid=(x=7) threads=128 {\n  for i=3 {\n    a = load X {x->0, i->1}\n    c = sum(a, dim=1)\n  }\n  o = relu(accum(c) {i->+})\n  store o {x->0}\n}", "relu(accum", "neg(accum"},
    {"input X : f16[50, 1000]\ninput W : f16[1000, 100]\n", "O = relu(matmul(relu(X), W))",
     "O = kernel grid=(x=7, y=3) threads=128 {\n  for i=13 {\n    a = load X {x->0, y->*, i->1}\n    w = load W {x->*, y->1, i->0}\n    c = matmul(add(a, relu(neg(a))), w)\n  }\n  o = relu(accum(c) {i->+})\n  store o {x->0, y->1}\n}", "relu(accum(c) {i->+})", "scale(accum(c) {i->+}, 1)"},
};
static void graphs(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
    const kernel *x = &kernels[k];
    char bad[4096];
    const char *at = strstr(x->right, x->from);
    assert_non_null(at);
    snprintf(bad, sizeof bad, "%.*s%s%s", (int)(at - x->right), x->right, x->to, at + strlen(x->from));
    if (!proved(x->inputs, x->program, x->right)) fail_msg("not proved:\n%s\n%s", x->program, x->right);
    if (proved(x->inputs, x->program, bad)) fail_msg("proved:\n%s\n%s", x->program, bad);
  }
}

/* Words of a µGraph's text that may stand for each other, by kind. */
static const char *const word[][6] = {{"add(", "mul(", "sub("}, {"relu(", "exp(", "neg(", "sqr("}, {"->0", "->1", "->*", "->+", "->max"}, {"=2", "=3", "=4", "=5", "=1"}, {"(a", "(b", "(c", "(w"}, {"max(", "sum("}};
static int mutate_text(char *out, size_t size, const char *text, uint64_t *s) {
  char from[4096];
  snprintf(from, sizeof from, "%s", text);
  for (int changes = below(s, 4) ? 1 : 2; changes > 0; changes--) {
    int kind = below(s, 6), n = 0, found = 0;
    const char *at[64], *was[64];
    while (n < 6 && word[kind][n]) n++;
    for (int k = 0; k < n; k++)
      for (const char *p = from; found < 64 && (p = strstr(p, word[kind][k])); p++) at[found] = p, was[found++] = word[kind][k];
    if (!found) return 0;
    int k = below(s, found);
    snprintf(out, size, "%.*s%s%s", (int)(at[k] - from), from, word[kind][below(s, n)], at[k] + strlen(was[k]));
    snprintf(from, sizeof from, "%s", out);
  }
  return strcmp(out, text) != 0;
}
/* Of small µGraphs with uneven chunks, each a word or two changed: none is proved that a run shows to differ. */
static void uneven_mutants(void **state) {
  static const char inputs[] = "input X : f32[7, 11]\ninput Y : f32[7, 11]\ninput W : f32[11, 5]\n";
  static const pair of[] = {
    {"O = relu(max(mul(X, Y), dim=1))", "O = kernel grid=(x=3) threads=32 {\n  for i=4 {\n    a = load X {x->0, i->1}\n    b = load Y {x->0, i->1}\n    c = max(relu(mul(a, b)), dim=1)\n  }\n  o = accum(c) {i->max}\n  store o {x->0}\n}"},
    {"O = sum(relu(X), dim=1)", "O = kernel grid=(x=2) threads=32 {\n  for i=3 {\n    a = load X {x->0, i->1}\n    c = sum(add(a, relu(neg(a))), dim=1)\n  }\n  o = accum(c) {i->+}\n  store o {x->0}\n}"},
    {"O = relu(matmul(relu(X), W))", "O = kernel grid=(x=2, y=2) threads=32 {\n  for i=4 {\n    a = load X {x->0, y->*, i->1}\n    w = load W {x->*, y->1, i->0}\n    c = matmul(relu(a), w)\n  }\n  o = relu(accum(c) {i->+})\n  store o {x->0, y->1}\n}"},
    {"O = div(exp(sub(X, max(X, dim=1))), sum(exp(sub(X, max(X, dim=1))), dim=1))", "O = kernel grid=(x=3) threads=32 {\n  for i=3 {\n    a = load X {x->0, i->1}\n    c = sum(exp(a), dim=1)\n  }\n  d = accum(c) {i->+}\n  for j=4 {\n    b = load X {x->0, j->1}\n    e = div(exp(b), d)\n  }\n  f = accum(e) {j->1}\n  store f {x->0}\n}"},
    {"O = max(max(add(X, Y), dim=0), dim=1)", "P = kernel grid=(x=3, y=4) threads=32 {\n  a = load X {x->0, y->1}\n  b = load Y {x->0, y->1}\n  c = add(a, b)\n  o = max(c, dim=1)\n  store o {x->0, y->1}\n}\nO = max(max(P, dim=1), dim=0)"},
  };
  uint64_t s = seed ^ 0x3d;
  int told = 0, shown = 0, left = 0, tries = pairs / 20;
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *A = program(inputs, of[k].a);
    if (!proved(inputs, of[k].a, of[k].b)) fail_msg("not proved: %s\n%s", of[k].a, of[k].b);
    for (int j = 0; j < tries; j++) {
      char body[4096], text[8192];
      mg_graph *M = NULL;
      mg_error e;
      mg_prove_report r;
      mg_verify_report v;
      mg_verify_config c = mg_verify_config_default();
      if (!mutate_text(body, sizeof body, of[k].b, &s)) continue;
      snprintf(text, sizeof text, "program p\n%s%s\noutput O\n", inputs, body);
      if (mg_parse(text, strlen(text), "mutant", NULL, &M, &e) != MG_OK) continue;
      c.seed = next(&s), c.threads = 1;
      if (mgi_prove_normal(A, M, 0, 0, NULL, &r, NULL, &e) == MG_OK && mg_verify(A, M, &c, &v, &e) == MG_OK) {
        if (r.verdict == MG_EQUAL && v.verdict == MG_NOT_EQUAL) fail_msg("proved, but %s:\n%s\n%s", v.reason, of[k].a, body);
        told += v.verdict == MG_NOT_EQUAL, shown += r.verdict == MG_EQUAL, left += r.verdict != MG_EQUAL && v.verdict != MG_NOT_EQUAL;
      }
      mg_graph_free(M);
    }
    mg_graph_free(A);
  }
  printf("uneven: %d mutants told apart and not proved, %d proved, %d neither\n", told, shown, left);
  assert_true(told > tries / 2 && shown > tries / 8);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  if (argc > 2) pairs = atoi(argv[2]);
  printf("seed %llu (give it as the argument to repeat)\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(right_pairs), cmocka_unit_test(graphs), cmocka_unit_test(uneven_mutants), cmocka_unit_test(wrong_pairs), cmocka_unit_test(forms_are_their_terms), cmocka_unit_test(random_terms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
