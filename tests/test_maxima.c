/* Tests of proofs of maxima by normal forms (mirage_verify.h, >>terms): axioms at a symbolic index, pairs that must not be
   proved, random terms against doubles, the random order of maxima.  No libz3.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_maxima.c -o build/test_maxima -lcmocka -lm -lpthread -ldl && build/test_maxima
   Usage: test_maxima [SEED [PAIRS]]; PAIRS random pairs of terms, 20000 by default. */
#define MG_USER_OPS(E, T) E(STEP, "step", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(STEP, a), a / (MG_C(1, 1) + MG_ABS(a)))
#define MG_USER_PROOF_AXIOMS(A) A(step_rises, FACT, "x < y => step(x) < step(y)")
#define MIRAGE_IMPLEMENTATION
#include "../mirage_verify.h"

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
      case SQRT: r = a < 0 ? NAN : sqrt(a); break;
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
        case MG_OP_EXP: return exp(a);
        case MG_OP_LOG: return log(a);
        case MG_OP_SQRT: return sqrt(a > -1e-9 && a < 0 ? 0 : a);
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
      double l = value(&f, a, &p, NULL, 0), r = isfinite(l) ? form_value(&P, x, &p, index) : l;
      if (!isfinite(l)) continue;
      points++;
      if (fabs(l - r) <= 1e-7 * p.most * p.most) continue;
      point q = p; /* a rounding error beside a root's or a logarithm's end?  Then a step aside agrees */
      int aside = 0;
      for (int j = 0; j < 4 && !isfinite(r); j++) {
        q = p;
        for (size_t i = 0; i + 1 < sizeof q / sizeof(double); i++) (&q.x)[i] += 1e-6 * (unit(&s) - 0.5);
        q.most = 1;
        double m = value(&f, a, &q, NULL, 0), t = form_value(&P, x, &q, index);
        aside += isfinite(m) && isfinite(t) && fabs(m - t) <= 1e-6 * q.most * q.most;
      }
      if (!isfinite(r) && aside) { near++; continue; }
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
      if (fabs(l - r) > 1e-7 * p.most) {
        printf("\n  "), show(&f, a), printf("\n  "), show(&g, b), printf("\n");
        fail_msg("pair %d was proved, but at one point they are %.12g and %.12g", pair, l, r);
      }
    }
  }
  printf("random terms: %d pairs proved, %d not; of %d right rewritings %d; %d given up; %ld points\n", equal, unlike, right, shown, given_up, points);
  assert_true(equal > pairs / 10 && unlike > pairs / 10 && points > 10L * pairs / 4);
  assert_true(10 * shown > 8 * right);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  if (argc > 2) pairs = atoi(argv[2]);
  printf("seed %llu (give it as the argument to repeat)\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(forms_are_their_terms), cmocka_unit_test(random_terms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
