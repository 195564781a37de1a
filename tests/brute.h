/* A brute-force enumerator of the µGraphs of one custom kernel, and an oracle for abstract expressions: what the search
   is compared with.  It shares nothing with mirage_search.h.

   TERMS
   A µGraph without dead operators is the set of the terms of its outputs; equal terms are one operator.  All terms of
   at most N operators (loads aside, every other operator counted) are made by size: a term of size s joins terms whose
   distinct operators, united, are s - 1.  So each µGraph comes once, whatever the order of independent operators, and
   commutative operands are ordered by number.  A frame fixes the axes: up to three grid axes and a loop, each with the
   one extent that it cuts and a count.  Every load map within a frame is tried: each axis cuts a dimension of its
   extent, or none.  Every term is evaluated, block by block and iteration by iteration, over the integers modulo
   2^61 - 1, functions without field meaning being hashes of their arguments; a term is an output if it equals the
   program's on every block.

   CANONICAL FORM, the same on both sides (br_canonical)
   (1) what does not depend on the loop stands outside of it; (2) a kernel holds no two operators that compute the same
   tensor (equal values on every block, same scope and shape), so none that returns its operand and
   none dead; (3) no mul(x, x), it is sqr(x); no reduction over an extent of 1; no concatenation of the pieces of a
   loaded tensor, it is a load; (4) a loop carries something; a grid axis cuts an output, or is summed over by an
   accumulator (one axis at most); no two grid axes cut one dimension of an output; (5) grid axes are interchangeable:
   the smallest text over their permutations counts; (6) an axis cuts dimensions of one extent only.

   EXPRESSIONS
   The normal form under A_eq (Mirage paper, Table 2) is a multiset of fractions: monomials of atoms with a rational
   coefficient and one integer n, the product of all the sum(n, .) around it, over a denominator that is a normal form
   itself (div(div(x, y), z) = div(x, mul(y, z))).  Atoms are inputs, exp(e), max(n, e) and opaque functions of normal
   forms.  x + d, for a constant d, is x and a monomial K_d that never stands alone.
   e is a subexpression of t if a fraction m exists with e m inside t, as multisets, or inside of an argument or a
   denominator in t: adding, multiplying, dividing and summing build exactly that; all else wraps it in an atom.      */
#ifndef MG_TESTS_BRUTE_H
#define MG_TESTS_BRUTE_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mirage.h"

#define BR_P (((uint64_t)1 << 61) - 1)
enum { BR_RANK = 4, BR_SUB = 24, BR_ATOMS = 12, BR_TERMS = 64, BR_CONSTS = 6 };

static void *br_grow(void *p, int *cap, int need, size_t elem) {
  if (need <= *cap) return p;
  while (*cap < need) *cap = *cap ? *cap * 2 : 64;
  p = realloc(p, (size_t)*cap * elem);
  if (!p) abort();
  return p;
}
static uint64_t br_mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0xD6E8FEB86659FD93ull;
  h = (h ^ h >> 32) * 0xD6E8FEB86659FD93ull;
  return h ^ h >> 32;
}
static uint64_t br_add(uint64_t a, uint64_t b) { a += b; return a >= BR_P ? a - BR_P : a; }
static uint64_t br_mul(uint64_t a, uint64_t b) {
  uint64_t ah = a >> 31, al = a & 0x7FFFFFFF, bh = b >> 31, bl = b & 0x7FFFFFFF, m = ah * bl + al * bh; /* 2^62 = 2 */
  uint64_t r = ah * bh * 2 + (m >> 30) + ((m & 0x3FFFFFFF) << 31) % BR_P + al * bl % BR_P;
  return r % BR_P;
}
static uint64_t br_inv(uint64_t a) {
  uint64_t r = 1;
  for (uint64_t e = BR_P - 2; e; e >>= 1, a = br_mul(a, a)) if (e & 1) r = br_mul(r, a);
  return r;
}
static uint64_t br_const(mg_rational c) {
  uint64_t n = (uint64_t)(c.num < 0 ? -c.num : c.num) % BR_P;
  n = br_mul(n, br_inv((uint64_t)c.den % BR_P));
  return c.num < 0 && n ? BR_P - n : n;
}

/* ---------------------------------------------------------------------------------------- abstract expressions */

typedef struct br_mono { int d, k, s, na; int16_t atom[BR_ATOMS]; int64_t n; mg_rational c; } br_mono; /* d: denominator, 0 is one; s: has a coefficient */
enum { BR_VAR, BR_FN, BR_MAX };
typedef struct br_atom { int kind, arg, arg2; int64_t key; } br_atom; /* MAX: key is its n */
static struct {
  br_mono *m;
  struct { int at, len; } *e;  /* expression 0 is none */
  br_atom *a;
  int *slot;
  int n_m, cap_m, n_e, cap_e, n_a, cap_a, n_slot;
  int *goal, n_goal, cap_goal; /* the program's expressions and all arguments and denominators within */
  int8_t *known;
  int cap_known;
} brn;

static void br_nf_reset(void) {
  free(brn.m), free(brn.e), free(brn.a), free(brn.slot), free(brn.goal), free(brn.known);
  memset(&brn, 0, sizeof brn);
  brn.n_slot = 1 << 16;
  brn.slot = (int *)calloc((size_t)brn.n_slot, sizeof *brn.slot);
  brn.e = br_grow(brn.e, &brn.cap_e, 1, sizeof *brn.e);
  brn.e[0].at = brn.e[0].len = 0, brn.n_e = 1;
}
static int br_mono_key(const br_mono *x, const br_mono *y) { /* all but the coefficient */
  if (x->d != y->d) return x->d < y->d ? -1 : 1;
  if (x->k != y->k) return x->k < y->k ? -1 : 1;
  if (x->s != y->s) return x->s < y->s ? -1 : 1;
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  if (x->na != y->na) return x->na < y->na ? -1 : 1;
  for (int i = 0; i < x->na; i++) if (x->atom[i] != y->atom[i]) return x->atom[i] < y->atom[i] ? -1 : 1;
  return 0;
}
static int br_mono_cmp(const void *a, const void *b) {
  const br_mono *x = (const br_mono *)a, *y = (const br_mono *)b;
  int r = br_mono_key(x, y);
  if (r) return r;
  int64_t d = x->c.num * y->c.den - y->c.num * x->c.den;
  return d < 0 ? -1 : d > 0;
}
static int br_slot(const br_mono *m, int len) {
  uint64_t h = (uint64_t)len;
  for (int i = 0; i < len; i++) {
    h = br_mix(br_mix(br_mix(h, (uint64_t)m[i].d << 8 | (uint64_t)m[i].k << 1 | (uint64_t)m[i].s), (uint64_t)m[i].n), (uint64_t)m[i].c.num << 20 ^ (uint64_t)m[i].c.den);
    for (int j = 0; j < m[i].na; j++) h = br_mix(h, (uint64_t)m[i].atom[j]);
  }
  int s = (int)(h & (uint64_t)(brn.n_slot - 1));
  for (; brn.slot[s]; s = (s + 1) & (brn.n_slot - 1)) {
    int e = brn.slot[s], same = brn.e[e].len == len;
    for (int i = 0; i < len && same; i++) same = !br_mono_cmp(&brn.m[brn.e[e].at + i], &m[i]);
    if (same) break;
  }
  return s;
}
/* The expression of these monomials; -1 if they are too many. */
static int br_intern(br_mono *m, int len) {
  if (len < 1 || len > BR_TERMS) return -1;
  qsort(m, (size_t)len, sizeof *m, br_mono_cmp);
  if (brn.n_e * 2 > brn.n_slot) {
    free(brn.slot);
    brn.n_slot *= 2;
    brn.slot = (int *)calloc((size_t)brn.n_slot, sizeof *brn.slot);
    if (!brn.slot) abort();
    for (int e = 1; e < brn.n_e; e++) brn.slot[br_slot(brn.m + brn.e[e].at, brn.e[e].len)] = e;
  }
  int s = br_slot(m, len);
  if (brn.slot[s]) return brn.slot[s];
  brn.m = br_grow(brn.m, &brn.cap_m, brn.n_m + len, sizeof *brn.m);
  brn.e = br_grow(brn.e, &brn.cap_e, brn.n_e + 1, sizeof *brn.e);
  memcpy(brn.m + brn.n_m, m, (size_t)len * sizeof *m);
  brn.e[brn.n_e].at = brn.n_m, brn.e[brn.n_e].len = len;
  brn.n_m += len, brn.slot[s] = brn.n_e;
  return brn.n_e++;
}
static int br_of_atom(int kind, int64_t key, int arg, int arg2) {
  if (arg < 0 || arg2 < 0) return -1;
  int a = 0;
  while (a < brn.n_a && !(brn.a[a].kind == kind && brn.a[a].key == key && brn.a[a].arg == arg && brn.a[a].arg2 == arg2)) a++;
  if (a == brn.n_a) {
    if (a == 32767) return -1;
    brn.a = br_grow(brn.a, &brn.cap_a, brn.n_a + 1, sizeof *brn.a);
    brn.a[a].kind = kind, brn.a[a].key = key, brn.a[a].arg = arg, brn.a[a].arg2 = arg2, brn.n_a++;
  }
  br_mono m;
  memset(&m, 0, sizeof m);
  m.na = 1, m.atom[0] = (int16_t)a, m.n = 1, m.c = mg_rat(1, 1);
  return br_intern(&m, 1);
}
static int br_nf_mul(int x, int y);
static int br_mono_mul(br_mono *r, const br_mono *x, const br_mono *y) {
  memset(r, 0, sizeof *r);
  if (x->na + y->na > BR_ATOMS || x->n > (int64_t)1 << 40 || y->n > 1 << 20 || !mg_rat_mul(x->c, y->c, &r->c)) return 0;
  r->k = x->k + y->k, r->s = !r->k && (x->s || y->s), r->n = x->n * y->n, r->na = x->na + y->na;
  for (int i = 0, p = 0, q = 0; i < r->na; i++) r->atom[i] = q == y->na || (p < x->na && x->atom[p] <= y->atom[q]) ? x->atom[p++] : y->atom[q++];
  r->d = !x->d ? y->d : !y->d ? x->d : br_nf_mul(x->d, y->d);
  return r->d >= 0;
}
static int br_nf_add(int x, int y) {
  br_mono m[BR_TERMS];
  if (x < 0 || y < 0 || brn.e[x].len + brn.e[y].len > BR_TERMS) return -1;
  memcpy(m, brn.m + brn.e[x].at, (size_t)brn.e[x].len * sizeof *m);
  memcpy(m + brn.e[x].len, brn.m + brn.e[y].at, (size_t)brn.e[y].len * sizeof *m);
  return br_intern(m, brn.e[x].len + brn.e[y].len);
}
static int br_nf_mul(int x, int y) {
  br_mono m[BR_TERMS];
  int n = 0;
  if (x < 0 || y < 0 || brn.e[x].len * brn.e[y].len > BR_TERMS) return -1;
  for (int i = 0; i < brn.e[x].len; i++)
    for (int j = 0; j < brn.e[y].len; j++) { /* copies: a product of denominators moves the table */
      br_mono p = brn.m[brn.e[x].at + i], q = brn.m[brn.e[y].at + j];
      if (!br_mono_mul(&m[n++], &p, &q)) return -1;
    }
  return br_intern(m, n);
}
static int br_nf_sum(int x, int64_t n) {
  br_mono m[BR_TERMS];
  if (x < 0) return -1;
  for (int i = 0; i < brn.e[x].len; i++) {
    m[i] = brn.m[brn.e[x].at + i];
    m[i].n *= n;
    if (m[i].n > (int64_t)1 << 40) return -1;
  }
  return br_intern(m, brn.e[x].len);
}
static int br_nf_scale(int x, mg_rational c) {
  br_mono m[BR_TERMS];
  if (x < 0 || !c.num) return -1;
  for (int i = 0; i < brn.e[x].len; i++) {
    m[i] = brn.m[brn.e[x].at + i];
    m[i].s = !m[i].k;
    if (!mg_rat_mul(m[i].c, c, &m[i].c)) return -1;
  }
  return br_intern(m, brn.e[x].len);
}
static mg_rational br_rat_inv(mg_rational c) { return mg_rat(c.den, c.num); }
/* x / (c y) = (1/c)(x / y): takes the leading coefficient out of a denominator whose monomials all have one. */
static int br_nf_lead(int y, mg_rational *c) {
  br_mono m[BR_TERMS];
  int all = 1, n = brn.e[y].len;
  *c = mg_rat(1, 1);
  for (int i = 0; i < n; i++) m[i] = brn.m[brn.e[y].at + i], all &= m[i].s || m[i].k;
  if (!n || !all || !m[0].s) return y;
  *c = br_rat_inv(m[0].c);
  for (int i = 0; i < n; i++) {
    if (!mg_rat_mul(m[i].c, *c, &m[i].c)) return -1;
    m[i].s = m[i].s && !(m[i].c.num == 1 && m[i].c.den == 1);
  }
  return br_intern(m, n);
}
static int br_nf_div(int x, int y) {
  br_mono m[BR_TERMS];
  mg_rational c;
  int n = x < 0 ? 0 : brn.e[x].len;
  if (x < 0 || y < 0) return -1;
  for (int i = 0; i < n; i++) {
    br_mono t = brn.m[brn.e[x].at + i];
    int d = t.d ? br_nf_mul(t.d, y) : y, plain;
    if (d < 0 || (plain = br_nf_lead(d, &c)) < 0 || !mg_rat_mul(t.c, c, &t.c)) return -1;
    t.s |= plain != d && !t.k, t.d = plain;
    m[i] = t;
  }
  return br_intern(m, n);
}
static int br_nf_shift(int x, mg_rational c) { /* x + K_c */
  br_mono m[BR_TERMS];
  if (x < 0 || brn.e[x].len == BR_TERMS || !c.num) return -1;
  int n = brn.e[x].len;
  memcpy(m, brn.m + brn.e[x].at, (size_t)n * sizeof *m);
  memset(&m[n], 0, sizeof *m);
  m[n].k = 1, m[n].n = 1, m[n].c = c;
  return br_intern(m, n + 1);
}
static int br_nf_max(int x, int64_t n) { /* max(i, max(j, x)) = max(i j, x) */
  if (x < 0) return -1;
  const br_mono *m = &brn.m[brn.e[x].at];
  if (brn.e[x].len == 1 && m->na == 1 && !m->d && !m->k && m->n == 1 && !m->s && brn.a[m->atom[0]].kind == BR_MAX)
    return br_of_atom(BR_MAX, brn.a[m->atom[0]].key * n, brn.a[m->atom[0]].arg, 0);
  return br_of_atom(BR_MAX, n, x, 0);
}
/* Table 1: of an elementwise row. */
static int br_nf_map(mg_opcode op, mg_rational c, int x, int y) {
  mg_rational minus = { -1, 1 };
  const mg_op_info *row = mg_op_row(op);
  switch (row->abstract) {
  case MG_ABS_ADD: return br_nf_add(x, y);
  case MG_ABS_SUB: return br_nf_add(x, br_nf_scale(y, minus));
  case MG_ABS_MUL: return br_nf_mul(x, y);
  case MG_ABS_DIV: return br_nf_div(x, y);
  case MG_ABS_SQR: return br_nf_mul(x, x);
  case MG_ABS_NEG: return br_nf_scale(x, minus);
  case MG_ABS_SCALE: return br_nf_scale(x, c);
  case MG_ABS_ADD_SCALAR: return br_nf_shift(x, c);
  default: return br_of_atom(BR_FN, (int64_t)op << 40 ^ c.num << 20 ^ c.den, x, row->n_in > 1 ? y : 0);
  }
}

static int br_nf_quotient(int x, int y); /* z with y z = x, 0 for one, -1 if there is none */
/* r with x = y r */
static int br_mono_div(br_mono *r, const br_mono *x, const br_mono *y) {
  memset(r, 0, sizeof *r);
  if (x->k != y->k || (y->s && !x->s) || x->n % y->n || !mg_rat_mul(x->c, br_rat_inv(y->c), &r->c)) return 0;
  r->n = x->n / y->n, r->s = !(r->c.num == 1 && r->c.den == 1) || x->s != y->s;
  int q = 0;
  for (int i = 0; i < x->na; i++) {
    if (q < y->na && y->atom[q] == x->atom[i]) q++;
    else r->atom[r->na++] = x->atom[i];
  }
  if (q < y->na) return 0;
  if (!y->d) r->d = x->d;
  else if (x->d == y->d) r->d = 0;
  else if (!x->d || (r->d = br_nf_quotient(x->d, y->d)) < 0) return 0;
  return 1;
}
static int br_nf_contains(int t, int x, const br_mono *by) { /* x times *by inside t, as multisets */
  uint8_t used[BR_TERMS] = { 0 };
  for (int i = 0; i < brn.e[x].len; i++) {
    br_mono p, q = brn.m[brn.e[x].at + i];
    int j = 0;
    if (!br_mono_mul(&p, &q, by)) return 0;
    while (j < brn.e[t].len && (used[j] || br_mono_cmp(&brn.m[brn.e[t].at + j], &p))) j++;
    if (j == brn.e[t].len) return 0;
    used[j] = 1;
  }
  return 1;
}
/* Long division; a quotient of several monomials is found when the leading one divides at every step. */
static int br_nf_quotient(int x, int y) {
  br_mono rest[BR_TERMS], q[BR_TERMS];
  int n = brn.e[x].len, nq = 0;
  memcpy(rest, brn.m + brn.e[x].at, (size_t)n * sizeof *rest);
  while (n) {
    int found = 0;
    for (int i = 0; i < n && !found; i++) { /* the monomial that some product of y's first one makes */
      br_mono lead = brn.m[brn.e[y].at], m;
      if (!br_mono_div(&m, &rest[i], &lead)) continue;
      br_mono keep[BR_TERMS];
      int k = n;
      memcpy(keep, rest, sizeof rest);
      found = 1;
      for (int j = 0; j < brn.e[y].len && found; j++) {
        br_mono p, t = brn.m[brn.e[y].at + j];
        int at = 0;
        if (!br_mono_mul(&p, &t, &m)) { found = 0; break; }
        while (at < k && br_mono_cmp(&keep[at], &p)) at++;
        if (at == k) found = 0;
        else memmove(&keep[at], &keep[at + 1], (size_t)(--k - at) * sizeof *keep);
      }
      if (found) memcpy(rest, keep, sizeof rest), n = k, q[nq++] = m;
    }
    if (!found) return -1;
  }
  if (nq == 1 && !q[0].na && !q[0].k && q[0].n == 1 && !q[0].d && !q[0].s) return 0;
  for (int i = 0; i < nq; i++) if (!q[i].na && !q[i].d) return -1; /* sums and constants alone divide nothing */
  return br_intern(q, nq);
}

static void br_goal(int e) {
  if (e <= 0) return;
  for (int i = 0; i < brn.n_goal; i++) if (brn.goal[i] == e) return;
  brn.goal = br_grow(brn.goal, &brn.cap_goal, brn.n_goal + 1, sizeof *brn.goal);
  brn.goal[brn.n_goal++] = e;
  for (int i = 0; i < brn.e[e].len; i++) {
    br_mono m = brn.m[brn.e[e].at + i];
    br_goal(m.d);
    for (int j = 0; j < m.na; j++) {
      br_atom a = brn.a[m.atom[j]];
      if (a.kind == BR_VAR) continue;
      br_goal(a.arg), br_goal(a.arg2);
      for (int64_t n = 1; a.kind == BR_MAX && n < a.key; n++) if (a.key % n == 0) br_goal(br_nf_max(a.arg, n));
    }
  }
}
/* Whether A_eq and A_sub entail subexpr(e, some output of the program). */
static int br_subexpr(int e) {
  if (e <= 0) return 0;
  if (e >= brn.cap_known) {
    int was = brn.cap_known;
    brn.known = br_grow(brn.known, &brn.cap_known, e + 1, 1);
    memset(brn.known + was, -1, (size_t)(brn.cap_known - was));
  }
  if (brn.known[e] >= 0) return brn.known[e];
  int yes = 0;
  for (int g = 0; g < brn.n_goal && !yes; g++)
    for (int j = 0; j < brn.e[brn.goal[g]].len && !yes; j++) {
      br_mono first = brn.m[brn.e[e].at], t = brn.m[brn.e[brn.goal[g]].at + j], by;
      yes = br_mono_div(&by, &t, &first) && br_nf_contains(brn.goal[g], e, &by);
    }
  brn.known[e] = (int8_t)yes;
  return yes;
}
static int br_nf_text(char *s, int cap, int e) {
  int n = 0;
#define BR_PUT(...) n += n < cap ? snprintf(s + n, (size_t)(cap - n), __VA_ARGS__) : 0
  if (e < 0) BR_PUT("(too large)");
  for (int i = 0; e > 0 && i < brn.e[e].len; i++) {
    const br_mono *m = &brn.m[brn.e[e].at + i];
    if (i) BR_PUT(" + ");
    if (m->n > 1) BR_PUT("sum%lld ", (long long)m->n);
    if (m->s || m->k) BR_PUT("%s%lld/%lld ", m->k ? "K" : "", (long long)m->c.num, (long long)m->c.den);
    for (int j = 0; j < m->na && n < cap; j++) {
      const br_atom *a = &brn.a[m->atom[j]];
      if (a->kind == BR_VAR) BR_PUT("%c", (char)('a' + a->key));
      else {
        if (a->kind == BR_MAX) BR_PUT("max%lld(", (long long)a->key);
        else BR_PUT("%s(", mg_op_row((mg_opcode)(a->key >> 40))->name);
        n += n < cap ? br_nf_text(s + n, cap - n, a->arg) : 0;
        if (a->arg2) { BR_PUT(", "); n += n < cap ? br_nf_text(s + n, cap - n, a->arg2) : 0; }
        BR_PUT(")");
      }
      if (j + 1 < m->na) BR_PUT(" ");
    }
    if (m->d) { BR_PUT(" / ("); n += n < cap ? br_nf_text(s + n, cap - n, m->d) : 0; BR_PUT(")"); }
  }
#undef BR_PUT
  return n;
}

/* ------------------------------------------------------------------------------------------------------- terms */

typedef struct br_frame { int n_grid; int64_t ext[5], cnt[5]; } br_frame; /* axes 1 .. n_grid and 4, the loop, if cnt[4] > 1 */
typedef struct br_bounds {
  int n_ops;                    /* operators but loads */
  int restrict_to;              /* only terms that are subexpressions of the program */
  int group;                    /* accumulators over one grid axis */
  int concat;                   /* concat_matmul, which has four operands */
  long most;                    /* candidates a frame may try; 0: any number */
} br_bounds;

enum { BR_PRE, BR_IN, BR_POST }; /* scope: before or without the loop, in it, after its accumulators */
typedef struct br_term {
  int op, scope, rank, n_in, kid[4], arg, depends, merged, nf, size, n_sub, sub[BR_SUB]; /* arg: input, dimension, or map entry */
  int axis;                     /* of an accumulator */
  int odd;                      /* BR_ODD_* of this operator */
  uint8_t cut[BR_RANK];         /* by dimension: the axes that cut it */
  int8_t cls[BR_RANK];          /* by dimension: its class (mg_classes_of, br_merge), -1 for extent 1 */
  int8_t map[5];
  int64_t dim[BR_RANK];
  mg_rational c;
  int32_t perm[MG_MAX_RANK];
  uint64_t fp, *data;           /* data[(block * iterations + iteration) * elements ..] */
} br_term;
/* Marks of unusual operators. */
enum {
  BR_ODD_ADD_CHUNKS = 1,  /* an accumulator adds the pieces of a dimension that the loop cuts, element by element */
  BR_ODD_JOIN = 2,        /* an accumulator joins along a dimension that the loop does not cut */
  BR_ODD_NESTED = 4,      /* two axes cut one dimension of a load */
  BR_ODD_TWICE = 8,       /* one axis cuts two dimensions of a tensor */
  BR_ODD_MIXED = 16,      /* equal extents, cut by different axes, are paired */
  BR_ODD_CLASSES = 32,    /* equal extents of two classes are paired */
  BR_ODD_AXIS = 64,       /* an axis cuts two classes of equal extent */
  BR_ODD_MOVED = 128,     /* a transpose of other dimensions than the program transposes */
  BR_ODDS = 8
};
typedef struct br_out { int term; int8_t omap[4]; } br_out; /* omap: by axis, a dimension or -1 */

typedef struct br {
  const mg_graph *p;
  br_frame f;
  br_bounds b;
  br_term *t;
  int n, cap;
  int64_t blocks;
  mg_classes cls;
  uint64_t *in[MG_MAX_IN], *out[MG_MAX_OUT]; /* the program's whole tensors */
  int nf_out[MG_MAX_OUT], n_const, n_shift, n_perm, has[MG_OP_COUNT];
  mg_rational scale[BR_CONSTS], shift[BR_CONSTS];
  int32_t perm[BR_CONSTS][MG_MAX_RANK];
  int perm_rank[BR_CONSTS], perm_cls[BR_CONSTS][MG_MAX_RANK];
  br_out *match[MG_MAX_OUT];
  int n_match[MG_MAX_OUT], cap_match[MG_MAX_OUT];
  long tried, kept, not_sub;
  int over; /* b.most ended it */
} br;

static int64_t br_elems(const br_term *t) {
  int64_t n = 1;
  for (int d = 0; d < t->rank; d++) n *= t->dim[d];
  return n;
}
static int64_t br_iters(const br *B, const br_term *t) { return t->scope == BR_IN ? B->f.cnt[4] : 1; }
static const uint64_t *br_at(const br *B, const br_term *t, int64_t b, int64_t i) { return t->data + (t->scope == BR_IN ? b * B->f.cnt[4] + i : b) * br_elems(t); }
static void br_place(const br *B, int64_t b, int64_t *at) { /* the coordinates of block b */
  for (int a = 1; a <= 3; a++) at[a] = b % B->f.cnt[a], b /= B->f.cnt[a];
}

/* Copies the piece of `whole` (extents full) that map cuts out for a block and an iteration. */
static void br_piece(const br *B, const uint64_t *whole, int rank, const int64_t *full, const int8_t *map, const int64_t *at, uint64_t *to) {
  int64_t lo[BR_RANK], len[BR_RANK], n = 1;
  for (int d = 0; d < rank; d++) {
    lo[d] = 0, len[d] = full[d];
    for (int a = 1; a <= 4; a++) if (map[a] == d) len[d] /= B->f.cnt[a], lo[d] += at[a] * len[d];
    n *= len[d];
  }
  for (int64_t k = 0; k < n; k++) {
    int64_t r = k, off = 0, scale = 1;
    for (int d = rank; d-- > 0; r /= len[d]) off += (lo[d] + r % len[d]) * scale, scale *= full[d];
    *to++ = whole[off];
  }
}

static uint64_t br_scalar(mg_opcode op, mg_rational c, uint64_t x, uint64_t y) {
  switch (op) {
  case MG_OP_ADD: return br_add(x, y);
  case MG_OP_SUB: return br_add(x, y ? BR_P - y : 0);
  case MG_OP_MUL: return br_mul(x, y);
  case MG_OP_DIV: return br_mul(x, br_inv(y));
  case MG_OP_SQR: return br_mul(x, x);
  case MG_OP_NEG: return x ? BR_P - x : 0;
  case MG_OP_SCALE: return br_mul(x, br_const(c));
  case MG_OP_ADD_SCALAR: return br_add(x, br_const(c));
  default: return br_mix(br_mix((uint64_t)op << 32, x), mg_op_row(op)->n_in > 1 ? y : 0) % (BR_P - 1) + 1;
  }
}
static uint64_t br_larger(uint64_t x, uint64_t y) { return br_mix(77, x) > br_mix(77, y) ? x : y; } /* a maximum in some order */

/* The offset in operand u of element k of t, dimensions aligned at the end. */
static int64_t br_offset(const br_term *t, const br_term *u, int64_t k) {
  int64_t off = 0, scale = 1;
  for (int d = t->rank; d-- > 0; k /= t->dim[d]) {
    int q = d - t->rank + u->rank;
    if (q < 0) continue;
    off += (u->dim[q] > 1 ? k % t->dim[d] : 0) * scale, scale *= u->dim[q];
  }
  return off;
}
static void br_product(const br *B, br_term *t, const br_term *x, const br_term *y, int more) {
  uint64_t *o = t->data;
  int64_t M = t->dim[t->rank - 2], N = t->dim[t->rank - 1], K = x->dim[x->rank - 1], n = br_elems(t);
  for (int64_t b = 0; b < B->blocks; b++)
    for (int64_t i = 0; i < br_iters(B, t); i++)
      for (int64_t k = 0; k < n; k++) {
        int64_t batch = k / (M * N), xo = 0, yo = 0, sx = M * K, sy = K * N, r = batch;
        for (int d = t->rank - 2; d-- > 0; r /= t->dim[d]) {
          int p = d - t->rank + x->rank, q = d - t->rank + y->rank;
          if (p >= 0) xo += (x->dim[p] > 1 ? r % t->dim[d] : 0) * sx, sx *= x->dim[p];
          if (q >= 0) yo += (y->dim[q] > 1 ? r % t->dim[d] : 0) * sy, sy *= y->dim[q];
        }
        const uint64_t *a = br_at(B, x, b, i) + xo + k / N % M * K, *c = br_at(B, y, b, i) + yo + k % N;
        uint64_t s = more ? *o : 0;
        for (int64_t j = 0; j < K; j++) s = br_add(s, br_mul(a[j], c[j * N]));
        *o++ = s;
      }
}

static void br_eval(br *B, br_term *t) {
  int64_t n = br_elems(t), ni = br_iters(B, t);
  t->data = (uint64_t *)malloc((size_t)(n * ni * B->blocks) * sizeof(uint64_t));
  if (!t->data) abort();
  const br_term *x = t->n_in ? &B->t[t->kid[0]] : NULL, *y = t->n_in > 1 ? &B->t[t->kid[1]] : x;
  uint64_t *o = t->data;
  if (t->op == MG_OP_MATMUL) { br_product(B, t, x, y, 0); return; }
  if (t->op == MG_OP_CONCAT_MATMUL) { br_product(B, t, x, &B->t[t->kid[2]], 0), br_product(B, t, y, &B->t[t->kid[3]], 1); return; }
  for (int64_t b = 0; b < B->blocks; b++)
    for (int64_t i = 0; i < ni; i++) {
      int64_t at[5] = { 0, 0, 0, 0, i };
      br_place(B, b, at);
      if (t->op == MG_OP_LOAD) {
        const mg_shape *s = &mg_tensor_of(B->p, B->p->in[t->arg])->shape;
        br_piece(B, B->in[t->arg], t->rank, s->dim, t->map, at, o);
        o += n;
        continue;
      }
      for (int64_t k = 0; k < n; k++) {
        uint64_t v = 0;
        if (t->op == MG_OP_SUM || t->op == MG_OP_MAX) {
          int64_t inner = 1;
          for (int d = t->arg + 1; d < t->rank; d++) inner *= t->dim[d];
          int64_t len = x->dim[t->arg], at0 = k / inner * inner * len + k % inner;
          v = br_at(B, x, b, i)[at0];
          for (int64_t j = 1; j < len; j++) {
            uint64_t w = br_at(B, x, b, i)[at0 + j * inner];
            v = t->op == MG_OP_SUM ? br_add(v, w) : br_larger(v, w);
          }
        } else if (t->op == MG_OP_TRANSPOSE) {
          int64_t r = k, j[BR_RANK] = { 0 }, off = 0;
          for (int d = t->rank; d-- > 0; r /= t->dim[d]) j[t->perm[d]] = r % t->dim[d];
          for (int d = 0; d < t->rank; d++) off = off * x->dim[d] + j[d];
          v = br_at(B, x, b, i)[off];
        } else if (t->op == MG_OP_ACCUM && t->axis == 4) {
          if (t->arg >= 0) {
            int64_t inner = 1;
            for (int d = t->arg + 1; d < t->rank; d++) inner *= t->dim[d];
            int64_t len = x->dim[t->arg], g = k / inner % t->dim[t->arg];
            v = br_at(B, x, b, g / len)[(k / inner / t->dim[t->arg] * len + g % len) * inner + k % inner];
          } else {
            v = br_at(B, x, b, 0)[k];
            for (int64_t j = 1; j < B->f.cnt[4]; j++) {
              uint64_t w = br_at(B, x, b, j)[k];
              v = t->arg == MG_MAP_SUM ? br_add(v, w) : br_larger(v, w);
            }
          }
        } else if (t->op == MG_OP_ACCUM) {
          int64_t step = 1, first;
          for (int a = 1; a < t->axis; a++) step *= B->f.cnt[a];
          first = b - at[t->axis] * step;
          v = br_at(B, x, first, 0)[k];
          for (int64_t j = 1; j < B->f.cnt[t->axis]; j++) {
            uint64_t w = br_at(B, x, first + j * step, 0)[k];
            v = t->arg == MG_MAP_SUM ? br_add(v, w) : br_larger(v, w);
          }
        } else v = br_scalar((mg_opcode)t->op, t->c, br_at(B, x, b, i)[br_offset(t, x, k)], br_at(B, y, b, i)[br_offset(t, y, k)]);
        *o++ = v;
      }
    }
}

static int br_same_value(const br_term *a, const br_term *b) {
  return a->fp == b->fp && a->scope == b->scope && a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* The outputs that t can be stored as. */
static void br_match(br *B, int id) {
  const br_term *t = &B->t[id];
  if (t->scope == BR_IN) return;
  for (uint32_t k = 0; k < B->p->n_out; k++) {
    const mg_shape *s = &mg_tensor_of(B->p, B->p->out[k])->shape;
    int choices = 1;
    if (!B->out[k] || s->rank != t->rank) continue;
    for (int a = 1; a <= B->f.n_grid; a++) choices *= s->rank + 1;
    for (int c = 0; c < choices; c++) {
      int8_t map[5] = { -1, -1, -1, -1, -1 };
      int r = c, ok = 1, taken = 0;
      for (int a = 1; a <= B->f.n_grid; a++) {
        map[a] = (int8_t)(r % (s->rank + 1) - 1), r /= s->rank + 1;
        if (map[a] < 0) { ok &= !(t->depends >> a & 1); continue; }
        ok &= s->dim[map[a]] == B->f.ext[a] && !(taken >> map[a] & 1) && !(t->merged >> a & 1);
        taken |= 1 << map[a];
      }
      for (int d = 0; d < t->rank && ok; d++) {
        int64_t e = s->dim[d];
        for (int a = 1; a <= B->f.n_grid; a++) if (map[a] == d) e /= B->f.cnt[a];
        ok = e == t->dim[d];
      }
      if (!ok) continue;
      int64_t n = br_elems(t);
      uint64_t *piece = (uint64_t *)malloc((size_t)n * sizeof *piece);
      if (!piece) abort();
      for (int64_t b = 0; b < B->blocks && ok; b++) {
        int64_t at[5] = { 0 };
        br_place(B, b, at);
        br_piece(B, B->out[k], t->rank, s->dim, map, at, piece);
        ok = !memcmp(piece, br_at(B, t, b, 0), (size_t)n * sizeof *piece);
      }
      free(piece);
      if (!ok) continue;
      B->match[k] = (br_out *)br_grow(B->match[k], &B->cap_match[k], B->n_match[k] + 1, sizeof(br_out));
      br_out *m = &B->match[k][B->n_match[k]++];
      m->term = id;
      for (int a = 0; a < 4; a++) m->omap[a] = map[a];
    }
  }
}

/* The union of the operands' operators; -1 if it is too large, or one tensor is computed twice. */
static int br_unite(const br *B, br_term *t) {
  t->n_sub = 0, t->size = 1;
  for (int j = 0; j < t->n_in; j++)
    for (int i = 0; i < B->t[t->kid[j]].n_sub; i++) {
      int id = B->t[t->kid[j]].sub[i], at = t->n_sub;
      while (at > 0 && t->sub[at - 1] > id) at--;
      if (at > 0 && t->sub[at - 1] == id) continue;
      if (t->n_sub + 1 >= BR_SUB) return -1;
      memmove(&t->sub[at + 1], &t->sub[at], (size_t)(t->n_sub - at) * sizeof *t->sub);
      t->sub[at] = id, t->n_sub++, t->size += B->t[id].op != MG_OP_LOAD;
      for (int q = 0; q < t->n_sub; q++) if (q != at && br_same_value(&B->t[t->sub[q]], &B->t[id])) return -1;
    }
  if (t->op == MG_OP_LOAD) t->size = 0;
  return t->size;
}

/* Adds a typed candidate; returns its number, or -1. */
static int br_put(br *B, br_term *t) {
  if (t->depends & t->merged) return -1;
  for (int d = 0; d < t->rank; d++) for (int e = 0; e < d; e++) if (t->cut[d] & t->cut[e]) t->odd |= BR_ODD_TWICE;
  B->tried++;
  if (B->b.restrict_to && !br_subexpr(t->nf)) { B->not_sub++; return -1; }
  br_eval(B, t);
  t->fp = br_mix((uint64_t)t->rank, 1);
  for (int64_t k = 0; k < br_elems(t) * br_iters(B, t) * B->blocks; k++) t->fp = br_mix(t->fp, t->data[k]);
  for (int q = 0; q < t->n_sub; q++) if (br_same_value(&B->t[t->sub[q]], t)) { free(t->data); return -1; }
  B->t = (br_term *)br_grow(B->t, &B->cap, B->n + 1, sizeof *B->t);
  t->sub[t->n_sub++] = B->n;
  B->t[B->n] = *t;
  int before = 0, after = 0;
  for (int k = 0; k < MG_MAX_OUT; k++) before += B->n_match[k];
  br_match(B, B->n);
  for (int k = 0; k < MG_MAX_OUT; k++) after += B->n_match[k];
  B->kept++;
  if (t->size == B->b.n_ops && before == after) { free(t->data); return -1; } /* nothing can use it any more */
  return B->n++;
}

static void br_start(br_term *t, int op, int n_in, int a, int b) {
  memset(t, 0, sizeof *t);
  t->op = op, t->n_in = n_in, t->kid[0] = a, t->kid[1] = b;
}
/* Scope and dependence from the operands; 0 if they cannot meet. */
static int br_join(const br *B, br_term *t) {
  int seen = 0;
  for (int j = 0; j < t->n_in; j++) {
    const br_term *x = &B->t[t->kid[j]];
    seen |= 1 << x->scope, t->depends |= x->depends, t->merged |= x->merged;
  }
  t->scope = seen >> BR_POST & 1 ? BR_POST : seen >> BR_IN & 1 ? BR_IN : BR_PRE;
  return !((seen >> BR_POST & 1) && (seen >> BR_IN & 1));
}
static int br_broadcast(br_term *t, const br_term *x, const br_term *y, int skip) {
  t->rank = x->rank > y->rank ? x->rank : y->rank;
  for (int k = skip; k < t->rank; k++) {
    int p = x->rank - 1 - k, q = y->rank - 1 - k;
    int64_t a = p >= 0 ? x->dim[p] : 1, b = q >= 0 ? y->dim[q] : 1;
    if (a != b && a != 1 && b != 1) return 0;
    if (a == b && a > 1 && x->cut[p] != y->cut[q]) t->odd |= BR_ODD_MIXED;
    if (a == b && a > 1 && x->cls[p] != y->cls[q]) t->odd |= BR_ODD_CLASSES;
    t->dim[t->rank - 1 - k] = a > b ? a : b;
    t->cut[t->rank - 1 - k] = (uint8_t)((a > 1 || b == 1) && p >= 0 ? x->cut[p] : q >= 0 ? y->cut[q] : 0);
    t->cls[t->rank - 1 - k] = (int8_t)((a > 1 || b == 1) && p >= 0 ? x->cls[p] : q >= 0 ? y->cls[q] : -1);
  }
  return 1;
}

static int br_map_op(br *B, int op, mg_rational c, int a, int b, int exact) {
  br_term t;
  br_start(&t, op, mg_op_row((mg_opcode)op)->n_in, a, b);
  t.c = c;
  int s = br_unite(B, &t);
  if (s < 0 || (exact && s != exact) || !br_join(B, &t)) return -1;
  if (t.n_in == 1) t.rank = B->t[a].rank, memcpy(t.dim, B->t[a].dim, sizeof t.dim), memcpy(t.cut, B->t[a].cut, sizeof t.cut), memcpy(t.cls, B->t[a].cls, sizeof t.cls);
  else if (!br_broadcast(&t, &B->t[a], &B->t[b], 0)) return -1;
  t.nf = br_nf_map((mg_opcode)op, c, B->t[a].nf, t.n_in > 1 ? B->t[b].nf : 0);
  return br_put(B, &t);
}
static int br_matmul(br *B, int a, int b, int exact) {
  br_term t;
  br_start(&t, MG_OP_MATMUL, 2, a, b);
  const br_term *x = &B->t[a], *y = &B->t[b];
  int s = br_unite(B, &t);
  if (s < 0 || (exact && s != exact) || !br_join(B, &t) || x->rank < 2 || y->rank < 2 || x->dim[x->rank - 1] != y->dim[y->rank - 2] || x->dim[x->rank - 1] < 2) return -1;
  if (!br_broadcast(&t, x, y, 2)) return -1;
  t.dim[t.rank - 2] = x->dim[x->rank - 2], t.dim[t.rank - 1] = y->dim[y->rank - 1];
  t.cut[t.rank - 2] = x->cut[x->rank - 2], t.cut[t.rank - 1] = y->cut[y->rank - 1];
  t.cls[t.rank - 2] = x->cls[x->rank - 2], t.cls[t.rank - 1] = y->cls[y->rank - 1];
  if (x->cut[x->rank - 1] != y->cut[y->rank - 2]) t.odd |= BR_ODD_MIXED;
  if (x->cls[x->rank - 1] != y->cls[y->rank - 2]) t.odd |= BR_ODD_CLASSES;
  t.nf = br_nf_sum(br_nf_mul(x->nf, y->nf), x->dim[x->rank - 1]);
  return br_put(B, &t);
}
static int br_reduce(br *B, int op, int a, int dim, int exact) {
  br_term t;
  br_start(&t, op, 1, a, a);
  t.arg = dim;
  int s = br_unite(B, &t);
  if (s < 0 || (exact && s != exact) || !br_join(B, &t) || B->t[a].dim[dim] < 2) return -1;
  t.rank = B->t[a].rank;
  memcpy(t.dim, B->t[a].dim, sizeof t.dim), memcpy(t.cut, B->t[a].cut, sizeof t.cut), memcpy(t.cls, B->t[a].cls, sizeof t.cls);
  t.dim[dim] = 1, t.cut[dim] = 0, t.cls[dim] = -1;
  t.nf = op == MG_OP_SUM ? br_nf_sum(B->t[a].nf, B->t[a].dim[dim]) : br_nf_max(B->t[a].nf, B->t[a].dim[dim]);
  return br_put(B, &t);
}
static int br_transpose(br *B, int a, const int32_t *perm, int exact) {
  br_term t;
  br_start(&t, MG_OP_TRANSPOSE, 1, a, a);
  int s = br_unite(B, &t);
  if (s < 0 || (exact && s != exact) || !br_join(B, &t)) return -1;
  t.rank = B->t[a].rank;
  for (int d = 0; d < t.rank; d++) t.perm[d] = perm[d], t.dim[d] = B->t[a].dim[perm[d]], t.cut[d] = B->t[a].cut[perm[d]], t.cls[d] = B->t[a].cls[perm[d]];
  int same = 0; /* as the program moves them */
  for (int k = 0; k < B->n_perm && !same; k++) {
    same = B->perm_rank[k] == t.rank && !memcmp(B->perm[k], perm, (size_t)t.rank * sizeof *perm);
    for (int d = 0; d < t.rank; d++) same &= B->perm_cls[k][d] == B->t[a].cls[d];
  }
  if (!same) t.odd |= BR_ODD_MOVED;
  t.nf = B->t[a].nf;
  return br_put(B, &t);
}
/* kind: MG_MAP_SUM, MG_MAP_MAX or a dimension. */
static int br_accum(br *B, int a, int axis, int kind, int exact) {
  br_term t;
  const br_term *x = &B->t[a];
  br_start(&t, MG_OP_ACCUM, 1, a, a);
  t.axis = axis, t.arg = kind;
  if (axis == 4 ? x->scope != BR_IN : x->scope == BR_IN || x->merged || !(x->depends >> axis & 1)) return -1;
  int s = br_unite(B, &t);
  if (s < 0 || (exact && s != exact)) return -1;
  t.scope = axis == 4 ? BR_POST : x->scope, t.rank = x->rank, t.depends = x->depends, t.merged = x->merged;
  memcpy(t.dim, x->dim, sizeof t.dim), memcpy(t.cut, x->cut, sizeof t.cut), memcpy(t.cls, x->cls, sizeof t.cls);
  for (int d = 0; d < t.rank; d++) {
    if (kind < 0 && (t.cut[d] >> axis & 1)) t.odd |= BR_ODD_ADD_CHUNKS;
    if (kind == d && !(t.cut[d] >> axis & 1)) t.odd |= BR_ODD_JOIN;
    t.cut[d] = (uint8_t)(t.cut[d] & ~(1 << axis));
  }
  if (axis < 4) t.depends &= ~(1 << axis), t.merged |= 1 << axis;
  if (kind >= 0) {
    if (x->op == MG_OP_LOAD) return -1; /* canonical form (3) */
    t.dim[kind] *= B->f.cnt[4], t.nf = x->nf;
  } else t.nf = kind == MG_MAP_SUM ? br_nf_sum(x->nf, B->f.cnt[axis]) : br_nf_max(x->nf, B->f.cnt[axis]);
  return br_put(B, &t);
}
static void br_load(br *B, int input, int axis, int8_t *map) {
  if (axis <= 4) {
    const mg_shape *s = &mg_tensor_of(B->p, B->p->in[input])->shape;
    int next = axis < B->f.n_grid ? axis + 1 : axis < 4 ? 4 : 5;
    for (int d = -1; d < s->rank; d++) {
      if (d >= 0 && (B->f.cnt[axis] < 2 || s->dim[d] != B->f.ext[axis])) continue;
      map[axis] = (int8_t)d;
      br_load(B, input, next, map);
    }
    map[axis] = -1;
    return;
  }
  br_term t;
  br_start(&t, MG_OP_LOAD, 0, 0, 0);
  const mg_shape *s = &mg_tensor_of(B->p, B->p->in[input])->shape;
  t.arg = input, t.rank = s->rank, t.scope = map[4] >= 0 ? BR_IN : BR_PRE;
  memcpy(t.map, map, sizeof t.map);
  for (int d = 0; d < t.rank; d++) {
    t.dim[d] = s->dim[d];
    t.cls[d] = (int8_t)B->cls.of[B->p->in[input].id * MG_MAX_RANK + (uint32_t)d];
    for (int a = 1; a <= 4; a++) {
      if (map[a] != d) continue;
      if (t.dim[d] % B->f.cnt[a] || t.dim[d] / B->f.cnt[a] < 2) return; /* bounds: even chunks, of 2 at least */
      t.dim[d] /= B->f.cnt[a];
      if (t.cut[d]) t.odd |= BR_ODD_NESTED;
      t.cut[d] = (uint8_t)(t.cut[d] | 1 << a);
    }
  }
  for (int a = 1; a <= 3; a++) if (map[a] >= 0) t.depends |= 1 << a;
  t.nf = br_of_atom(BR_VAR, input, 0, 0);
  br_put(B, &t);
}

/* (w|x)(y|z) = w y + x z: four operands. */
static void br_concat_matmuls(br *B, int n, int exact) {
  for (int w = 0; w < n; w++)
    for (int y = 0; y < n; y++) {
      if (B->t[w].rank < 2 || B->t[w].rank != B->t[y].rank || B->t[w].dim[B->t[w].rank - 1] != B->t[y].dim[B->t[y].rank - 2] || B->t[w].dim[B->t[w].rank - 1] < 2) continue;
      for (int x = 0; x <= w; x++)
        for (int z = 0; z < (x == w ? y : n); z++) { /* w y + x z = x z + w y: pairs once; x == w, z == y excluded */
          const br_term *k[4] = { &B->t[w], &B->t[x], &B->t[y], &B->t[z] };
          br_term t;
          int r = k[0]->rank, ok = k[1]->rank == r && k[3]->rank == r;
          if (!ok || k[1]->dim[r - 1] != k[3]->dim[r - 2] || k[1]->dim[r - 1] < 2 || k[0]->dim[r - 2] != k[1]->dim[r - 2] || k[2]->dim[r - 1] != k[3]->dim[r - 1]) continue;
          for (int d = 0; d < r - 2; d++) ok &= k[0]->dim[d] == k[1]->dim[d] && k[0]->dim[d] == k[2]->dim[d] && k[0]->dim[d] == k[3]->dim[d];
          if (!ok) continue;
          br_start(&t, MG_OP_CONCAT_MATMUL, 4, w, x);
          t.kid[2] = y, t.kid[3] = z;
          if (br_unite(B, &t) != exact || !br_join(B, &t)) continue;
          t.rank = r;
          memcpy(t.dim, k[0]->dim, sizeof t.dim);
          t.dim[r - 1] = k[2]->dim[r - 1];
          memcpy(t.cut, k[0]->cut, sizeof t.cut);
          t.cut[r - 1] = k[2]->cut[r - 1];
          memcpy(t.cls, k[0]->cls, sizeof t.cls);
          t.cls[r - 1] = k[2]->cls[r - 1];
          for (int d = 0; d < r - 1; d++) if (k[0]->cls[d] != k[1]->cls[d]) t.odd |= BR_ODD_CLASSES;
          if (k[2]->cls[r - 1] != k[3]->cls[r - 1] || k[0]->cls[r - 1] != k[2]->cls[r - 2] || k[1]->cls[r - 1] != k[3]->cls[r - 2]) t.odd |= BR_ODD_CLASSES;
          for (int d = 0; d < r - 1; d++) if (k[0]->cut[d] != k[1]->cut[d]) t.odd |= BR_ODD_MIXED;
          if (k[2]->cut[r - 1] != k[3]->cut[r - 1] || k[0]->cut[r - 1] != k[2]->cut[r - 2] || k[1]->cut[r - 1] != k[3]->cut[r - 2]) t.odd |= BR_ODD_MIXED;
          t.nf = br_nf_add(br_nf_sum(br_nf_mul(k[0]->nf, k[2]->nf), k[0]->dim[r - 1]), br_nf_sum(br_nf_mul(k[1]->nf, k[3]->nf), k[1]->dim[r - 1]));
          br_put(B, &t);
        }
    }
}

/* All terms of the frame. */
static void br_enumerate(br *B) {
  static const int binary[] = { MG_OP_ADD, MG_OP_SUB, MG_OP_MUL, MG_OP_DIV };
  mg_rational none = { 0, 1 };
  for (uint32_t k = 0; k < B->p->n_in; k++) {
    int8_t map[5] = { -1, -1, -1, -1, -1 };
    br_load(B, (int)k, B->f.n_grid ? 1 : 4, map);
  }
  for (int s = 1; s <= B->b.n_ops; s++) {
    int n = B->n;
    for (int a = 0; a < n; a++) {
      if (B->b.most && B->tried > B->b.most) { B->over = 1; return; }
      if (B->t[a].size == s - 1) {
        for (int op = 1; op < MG_OP_TABLE_END; op++) {
          const mg_op_info *row = mg_op_row((mg_opcode)op);
          if (!row->elementwise || row->n_in != 1 || row->attr != MG_ATTR_NONE || row->user) continue;
          if (row->abstract == MG_ABS_OPAQUE && !B->has[op]) continue;
          if (op == MG_OP_NEG && !B->has[MG_OP_SUB] && !B->has[MG_OP_NEG]) continue;
          br_map_op(B, op, none, a, a, s);
        }
        for (int k = 0; k < B->n_const; k++) br_map_op(B, MG_OP_SCALE, B->scale[k], a, a, s);
        for (int k = 0; k < B->n_shift; k++) br_map_op(B, MG_OP_ADD_SCALAR, B->shift[k], a, a, s);
        for (int d = 0; d < B->t[a].rank; d++) {
          br_reduce(B, MG_OP_SUM, a, d, s);
          if (B->has[MG_OP_MAX]) br_reduce(B, MG_OP_MAX, a, d, s);
        }
        for (int k = 0; k < B->n_perm; k++) if (B->perm_rank[k] == B->t[a].rank) br_transpose(B, a, B->perm[k], s);
        for (int axis = B->b.group ? 1 : 4; axis <= 4; axis++) {
          if (B->f.cnt[axis] < 2) continue;
          br_accum(B, a, axis, MG_MAP_SUM, s);
          if (B->has[MG_OP_MAX]) br_accum(B, a, axis, MG_MAP_MAX, s);
          for (int d = 0; d < B->t[a].rank && axis == 4; d++) br_accum(B, a, axis, d, s);
        }
      }
      for (int b = 0; b <= a; b++) {
        if (B->t[a].size + B->t[b].size < s - 1) continue;
        for (int k = 0; k < 4; k++) {
          if (binary[k] == MG_OP_SUB && !B->has[MG_OP_SUB] && !B->has[MG_OP_NEG]) continue;
          if (a == b && binary[k] == MG_OP_MUL) continue;
          br_map_op(B, binary[k], none, a, b, s);
          if (a != b && (binary[k] == MG_OP_SUB || binary[k] == MG_OP_DIV)) br_map_op(B, binary[k], none, b, a, s);
        }
        br_matmul(B, a, b, s);
        if (a != b) br_matmul(B, b, a, s);
      }
    }
    if (B->b.concat && B->has[MG_OP_ADD] && B->b.most && n > 64) { B->over = 1; return; } /* n to the fourth */
    if (B->b.concat && B->has[MG_OP_ADD]) br_concat_matmuls(B, n, s);
  }
}

static int br_perm_classes(br *B, int a) {
  for (int d = 0; d < B->t[a].rank; d++) B->perm_cls[B->n_perm][d] = B->t[a].cls[d];
  return B->t[a].rank;
}

/* Joins a class with the first of its extent, where neither is an output's and no tensor has dimensions of both. */
static void br_merge(br *B, const mg_graph *p) {
  int32_t *of = B->cls.of;
  for (uint32_t b = 1; b < B->cls.n; b++) {
    int done = 0;
    for (uint32_t a = 0; a < b && !done; a++) {
      int a_used = 0, ok = B->cls.extent[a] == B->cls.extent[b] && !B->cls.fixed[a] && !B->cls.fixed[b];
      for (uint32_t t = 1; t < p->n_tensors; t++) {
        int in_a = 0, in_b = 0;
        for (int d = 0; d < MG_MAX_RANK; d++) in_a |= of[t * MG_MAX_RANK + (uint32_t)d] == (int32_t)a, in_b |= of[t * MG_MAX_RANK + (uint32_t)d] == (int32_t)b;
        if (in_a && in_b) ok = 0;
        for (uint32_t k = 0; k < p->n_out; k++) if (p->out[k].id == t && (in_a || in_b)) ok = 0;
        a_used |= in_a;
      }
      if (!ok || !a_used) continue;
      for (uint32_t t = 0; t < p->n_tensors * MG_MAX_RANK; t++) if (of[t] == (int32_t)b) of[t] = (int32_t)a;
      done = 1;
    }
  }
}

/* The program's tensors, its normal forms, constants and attributes; 0 if it computes one tensor twice, or has an
   operator that the enumerator has not. */
static int br_program(br *B, const mg_graph *p) {
  memset(B, 0, sizeof *B);
  br_nf_reset();
  B->p = p, B->blocks = 1;
  if (mg_classes_of(p, &B->cls, NULL) != MG_OK) abort();
  br_merge(B, p);
  for (int a = 0; a < 5; a++) B->f.cnt[a] = 1;
  uint64_t h = 12345;
  int *term = (int *)malloc(p->n_tensors * sizeof *term);
  if (!term) abort();
  B->b.n_ops = 1 << 20;
  for (uint32_t k = 0; k < p->n_in; k++) {
    int64_t n = mg_shape_elements(&mg_tensor_of(p, p->in[k])->shape);
    B->in[k] = (uint64_t *)malloc((size_t)n * sizeof(uint64_t));
    if (!B->in[k]) abort();
    for (int64_t i = 0; i < n; i++) B->in[k][i] = (h = br_mix(h, (uint64_t)i + 1)) % BR_P;
    int8_t map[5] = { -1, -1, -1, -1, -1 };
    br_load(B, (int)k, 4, map);
    term[p->in[k].id] = B->n - 1;
  }
  for (uint32_t k = 1; k < p->n_ops; k++) {
    const mg_op_node *o = &p->ops[k];
    int a = term[o->in[0].id], b = o->n_in > 1 ? term[o->in[1].id] : a, r = -1;
    B->has[o->code]++;
    if (mg_op_row(o->code)->elementwise) r = br_map_op(B, o->code, mg_op_row(o->code)->attr == MG_ATTR_RAT ? o->attr.c : mg_rat(0, 1), a, b, 0);
    else if (o->code == MG_OP_MATMUL) r = br_matmul(B, a, b, 0);
    else if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) r = br_reduce(B, o->code, a, o->attr.dim, 0);
    else if (o->code == MG_OP_TRANSPOSE) r = br_transpose(B, a, o->attr.perm, 0);
    if (r < 0) { free(term); return 0; }
    if (o->code == MG_OP_SCALE && B->n_const < BR_CONSTS) B->scale[B->n_const++] = o->attr.c;
    if (o->code == MG_OP_ADD_SCALAR && B->n_shift < BR_CONSTS) B->shift[B->n_shift++] = o->attr.c;
    if (o->code == MG_OP_TRANSPOSE && B->n_perm < BR_CONSTS) B->perm_rank[B->n_perm] = br_perm_classes(B, a), memcpy(B->perm[B->n_perm++], o->attr.perm, sizeof o->attr.perm);
    term[o->out[0].id] = r;
  }
  for (int k = 0; k < B->n_const; k++) for (int j = k; j-- > 0;) if (B->scale[j].num == B->scale[k].num && B->scale[j].den == B->scale[k].den) { B->scale[k--] = B->scale[--B->n_const]; break; }
  for (int k = 0; k < B->n_shift; k++) for (int j = k; j-- > 0;) if (B->shift[j].num == B->shift[k].num && B->shift[j].den == B->shift[k].den) { B->shift[k--] = B->shift[--B->n_shift]; break; }
  for (uint32_t k = 0; k < p->n_out; k++) {
    const br_term *t = &B->t[term[p->out[k].id]];
    B->nf_out[k] = t->nf;
    B->out[k] = (uint64_t *)malloc((size_t)br_elems(t) * sizeof(uint64_t));
    if (!B->out[k]) abort();
    memcpy(B->out[k], t->data, (size_t)br_elems(t) * sizeof(uint64_t));
    br_goal(t->nf);
  }
  free(term);
  return 1;
}
static void br_clear(br *B) { /* the frame's terms */
  for (int k = 0; k < B->n; k++) free(B->t[k].data);
  free(B->t);
  for (int k = 0; k < MG_MAX_OUT; k++) free(B->match[k]), B->match[k] = NULL, B->n_match[k] = B->cap_match[k] = 0;
  B->t = NULL, B->n = B->cap = 0, B->tried = B->kept = B->not_sub = 0;
}
static void br_free(br *B) {
  mg_classes_free(&B->cls);
  br_clear(B);
  for (int k = 0; k < MG_MAX_IN; k++) free(B->in[k]);
  for (int k = 0; k < MG_MAX_OUT; k++) free(B->out[k]);
}

/* ----------------------------------------------------------------------------------------------------- µGraphs */

/* The µGraph whose outputs are the given matches; NULL if mg_check refuses it. */
static mg_graph *br_build(const br *B, const br_out *out, mg_error *e) {
  mg_graph *g = mg_program_new("brute", NULL);
  if (!g) abort();
  mg_tensor in[MG_MAX_IN], made[MG_MAX_OUT], *val = (mg_tensor *)calloc((size_t)B->n, sizeof *val);
  uint8_t *need = (uint8_t *)calloc((size_t)B->n, 1);
  if (!val || !need) abort();
  for (uint32_t k = 0; k < B->p->n_in; k++) {
    const mg_tensor_info *t = mg_tensor_of(B->p, B->p->in[k]);
    in[k] = mg_input_ordered(g, t->name, t->dtype, t->shape.rank, t->shape.dim, t->order);
  }
  for (uint32_t k = 0; k < B->p->n_out; k++) for (int i = 0; i < B->t[out[k].term].n_sub; i++) need[B->t[out[k].term].sub[i]] = 1;
  int64_t grid[3] = { B->f.cnt[1], B->f.cnt[2], B->f.cnt[3] };
  mg_graph *b = mg_graph_begin(g, grid, 32);
  mg_axis loop = { 0 };
  for (int scope = BR_PRE; scope <= BR_POST; scope++) {
    if (scope == BR_IN && B->f.cnt[4] < 2) break;
    if (scope == BR_IN) loop = mg_loop_begin(b, "i", B->f.cnt[4]);
    for (int k = 0; k < B->n; k++) {
      const br_term *t = &B->t[k];
      mg_tensor a[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
      mg_attr A;
      mg_map map = mg_map_none();
      if (!need[k] || t->scope != scope) continue;
      memset(&A, 0, sizeof A);
      for (int j = 0; j < t->n_in; j++) a[j] = val[t->kid[j]];
      A.c = t->c, A.dim = t->arg;
      memcpy(A.perm, t->perm, sizeof A.perm);
      if (t->op == MG_OP_LOAD) {
        for (int x = 1; x <= B->f.n_grid; x++) map = mg_map_set(map, mg_grid_axis(b, x - 1), t->map[x] < 0 ? MG_MAP_ALL : t->map[x]);
        if (scope == BR_IN) map = mg_map_set(map, loop, t->map[4]);
        val[k] = mg_load(b, in[t->arg], map);
      } else if (t->op == MG_OP_ACCUM) val[k] = mg_accum(b, a[0], mg_map_set(map, t->axis == 4 ? loop : mg_grid_axis(b, t->axis - 1), t->arg));
      else val[k] = mg_apply(b, (mg_opcode)t->op, &A, t->n_in, a);
    }
    if (scope == BR_IN) mg_loop_end(b);
  }
  for (uint32_t k = 0; k < B->p->n_out; k++) {
    mg_map map = mg_map_none();
    for (int x = 1; x <= B->f.n_grid; x++) map = mg_map_set(map, mg_grid_axis(b, x - 1), out[k].omap[x] < 0 ? MG_MAP_ALL : out[k].omap[x]);
    mg_store(b, val[out[k].term], map);
  }
  mg_graph_end(b, made);
  for (uint32_t k = 0; k < B->p->n_out; k++) mg_output(g, made[k]);
  free(val), free(need);
  if (mg_check(g, e) != MG_OK) { mg_graph_free(g); return NULL; }
  return g;
}

/* Calls each with every right µGraph of the frame. */
static void br_solutions(const br *B, uint32_t k, br_out *pick, void *user, void (*each)(void *user, const br *B, const br_out *out, int odd)) {
  if (k < B->p->n_out) {
    for (int i = 0; i < B->n_match[k]; i++) {
      pick[k] = B->match[k][i];
      br_solutions(B, k + 1, pick, user, each);
    }
    return;
  }
  uint8_t *seen = (uint8_t *)calloc((size_t)B->n, 1);
  if (!seen) abort();
  int size = 0, list[BR_SUB * MG_MAX_OUT], n = 0, cut = 0, merged = 0, carried = B->f.cnt[4] < 2, twice = 0, odd = 0, cuts[5] = { -1, -1, -1, -1, -1 };
  for (uint32_t j = 0; j < k; j++) {
    for (int i = 0; i < B->t[pick[j].term].n_sub; i++) {
      int id = B->t[pick[j].term].sub[i];
      if (!seen[id]++) list[n++] = id, size += B->t[id].op != MG_OP_LOAD;
    }
    for (int a = 1; a <= B->f.n_grid; a++) {
      if (pick[j].omap[a] < 0) continue;
      int c = B->cls.of[B->p->out[j].id * MG_MAX_RANK + (uint32_t)pick[j].omap[a]];
      cut |= 1 << a;
      if (cuts[a] != -1 && cuts[a] != c) odd |= BR_ODD_AXIS;
      cuts[a] = c;
    }
  }
  for (int i = 0; i < n; i++) {
    const br_term *t = &B->t[list[i]];
    odd |= t->odd;
    for (int a = 1; a <= 4 && t->op == MG_OP_LOAD; a++) {
      if (t->map[a] < 0) continue;
      if (cuts[a] != -1 && cuts[a] != t->cls[t->map[a]]) odd |= BR_ODD_AXIS;
      cuts[a] = t->cls[t->map[a]];
    }
    if (t->op == MG_OP_ACCUM && t->axis == 4) carried = 1;
    if (t->op == MG_OP_ACCUM && t->axis < 4) merged |= 1 << t->axis;
    for (int j = 0; j < i; j++) twice |= br_same_value(&B->t[list[j]], t);
  }
  free(seen);
  if (size > B->b.n_ops || !carried || twice || (merged & (merged - 1)) || (merged & cut)) return;
  if ((cut | merged) != (2 << B->f.n_grid) - 2) return;
  each(user, B, pick, odd);
}

/* ---------------------------------------------------------------------------------------------- canonical text */

typedef struct br_text { const mg_graph *g, *b; int name[4], fused; char **of; } br_text;

static char *br_join_text(char *head, const char *sep, const char *tail, const char *end) { /* takes head over */
  size_t n = strlen(head) + strlen(sep) + strlen(tail) + strlen(end) + 1;
  char *s = (char *)malloc(n);
  if (!s) abort();
  snprintf(s, n, "%s%s%s%s", head, sep, tail, end);
  free(head);
  return s;
}
static char *br_copy(const char *s) {
  char *r = (char *)malloc(strlen(s) + 1);
  if (!r) abort();
  return strcpy(r, s);
}
static int br_text_cmp(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
/* The entries of a map: the grid axes' in the order of their new names, then the loop's. */
/* part: 1 the grid axes, 2 the loops. */
static void br_map_text(const br_text *T, const mg_op_node *o, int part, char *s, size_t cap) {
  size_t n = 0;
  s[0] = 0;
  for (int name = 0; name < 3 && (part & 1); name++)
    for (int a = 1; a <= 3; a++) {
      if (T->b->axes[a].extent < 2 || T->name[a] != name) continue;
      int to = o->map.to[a];
      if (o->code == MG_OP_ACCUM && to == MG_MAP_NONE) continue;
      n += (size_t)snprintf(s + n, cap - n, to >= 0 ? "%c%d" : to == MG_MAP_SUM ? "%c+" : to == MG_MAP_MAX ? "%cmax" : "%c*", 'A' + name, to);
    }
  for (uint32_t a = 4; a < T->b->n_axes && (part & 2); a++)
    if (o->map.to[a] != MG_MAP_NONE && o->map.to[a] != MG_MAP_ALL)
      n += (size_t)snprintf(s + n, cap - n, o->map.to[a] >= 0 ? "i%d" : o->map.to[a] == MG_MAP_SUM ? "i+" : "imax", o->map.to[a]);
}
static const char *br_tensor_text(br_text *T, mg_tensor t) {
  if (T->of[t.id]) return T->of[t.id];
  const mg_op_node *o = mg_op_of(T->b, mg_tensor_of(T->b, t)->op);
  char buf[128], map[96];
  char *s;
  br_map_text(T, o, 3, map, sizeof map);
  if (o->code == MG_OP_LOAD) {
    snprintf(buf, sizeof buf, "%s{%s}", mg_tensor_of(T->g, o->in[0])->name, map);
    s = br_copy(buf);
  } else if (o->code == MG_OP_ACCUM) { /* over a loop and a grid axis: one after the other */
    char loops[64];
    br_map_text(T, o, 1, map, sizeof map), br_map_text(T, o, 2, loops, sizeof loops);
    T->fused += map[0] && loops[0];
    snprintf(buf, sizeof buf, map[0] && loops[0] ? "accum%s(accum%s(" : "accum%s%s(", map, loops);
    s = br_join_text(br_copy(buf), "", br_tensor_text(T, o->in[0]), map[0] && loops[0] ? "))" : ")");
  } else {
    int order[4] = { 0, 1, 2, 3 };
    const char *in[4] = { "", "", "", "" };
    const mg_op_info *row = mg_op_row(o->code);
    for (int j = 0; j < o->n_in && j < 4; j++) in[j] = br_tensor_text(T, o->in[j]);
    if ((o->code == MG_OP_ADD || o->code == MG_OP_MUL) && strcmp(in[0], in[1]) > 0) order[0] = 1, order[1] = 0;
    if (o->code == MG_OP_CONCAT_MATMUL) {
      int c = strcmp(in[0], in[1]);
      if (c > 0 || (!c && strcmp(in[2], in[3]) > 0)) order[0] = 1, order[1] = 0, order[2] = 3, order[3] = 2;
    }
    if (row->attr == MG_ATTR_RAT) snprintf(buf, sizeof buf, "%s[%lld/%lld](", row->name, (long long)o->attr.c.num, (long long)o->attr.c.den);
    else if (row->attr == MG_ATTR_DIM) snprintf(buf, sizeof buf, "%s[%d](", row->name, o->attr.dim);
    else if (row->attr == MG_ATTR_PERM) {
      int n = snprintf(buf, sizeof buf, "%s[", row->name);
      for (int d = 0; d < mg_tensor_of(T->b, t)->shape.rank; d++) n += snprintf(buf + n, sizeof buf - (size_t)n, "%d", o->attr.perm[d]);
      snprintf(buf + n, sizeof buf - (size_t)n, "](");
    } else snprintf(buf, sizeof buf, "%s(", row->name);
    s = br_copy(buf);
    for (int j = 0; j < o->n_in; j++) s = br_join_text(s, j ? ", " : "", in[order[j]], j + 1 == o->n_in ? ")" : "");
  }
  return T->of[t.id] = s;
}

/* The canonical text of a program that is one custom kernel; NULL if it is something else.  *ops: how many different
   operators, loads and stores aside; *edges: 1 if a chunk is uneven or 1, which the enumerator leaves out. */
static char *br_canonical(const mg_graph *g, int *ops, int *edges) {
  static const int perms[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
  const mg_op_node *k = mg_op_of(g, 1);
  char *best = NULL;
  if (g->n_ops != 2 || k->code != MG_OP_GRAPH || k->n_out != g->n_out) return NULL;
  for (uint32_t j = 0; j < g->n_out; j++) if (g->out[j].id != k->out[j].id) return NULL;
  const mg_graph *b = k->sub;
  *edges = 0;
  for (uint32_t t = 1; t < b->n_tensors; t++) for (int d = 0; d < MG_MAX_RANK; d++) *edges |= b->tensors[t].cuts[d] != NULL;
  for (uint32_t q = 1; q < b->n_ops; q++) {
    if (b->ops[q].code != MG_OP_LOAD) continue;
    const mg_shape *whole = &mg_tensor_of(g, b->ops[q].in[0])->shape, *piece = &mg_tensor_of(b, b->ops[q].out[0])->shape;
    for (int d = 0; d < whole->rank; d++) *edges |= piece->dim[d] == 1 && whole->dim[d] > 1;
  }
  for (int p = 0; p < 6; p++) {
    br_text T;
    T.g = g, T.b = b, T.fused = 0;
    T.of = (char **)calloc(b->n_tensors, sizeof *T.of);
    if (!T.of) abort();
    int names = 0;
    for (int a = 1; a <= 3; a++) names += b->axes[a].extent > 1;
    for (int a = 1, n = 0; a <= 3; a++) T.name[a] = b->axes[a].extent > 1 ? perms[p][n++] : 3;
    int fits = 1;
    for (int a = 1; a <= 3; a++) fits &= T.name[a] == 3 || T.name[a] < names;
    if (fits) {
      char buf[128];
      int n = snprintf(buf, sizeof buf, "grid");
      for (int name = 0; name < 3; name++) for (int a = 1; a <= 3; a++) if (T.name[a] == name) n += snprintf(buf + n, sizeof buf - (size_t)n, " %c%lld", 'A' + name, (long long)b->axes[a].extent);
      for (uint32_t a = 4; a < b->n_axes; a++) n += snprintf(buf + n, sizeof buf - (size_t)n, " i%lld", (long long)b->axes[a].extent);
      char *s = br_copy(buf);
      for (uint32_t q = 1; q < b->n_ops; q++) {
        if (b->ops[q].code != MG_OP_STORE) continue;
        br_map_text(&T, &b->ops[q], 3, buf, sizeof buf);
        s = br_join_text(s, "; ", buf, " = ");
        s = br_join_text(s, "", br_tensor_text(&T, b->ops[q].in[0]), "");
      }
      if (!best || strcmp(s, best) < 0) free(best), best = s;
      else free(s);
      int m = 0;
      for (uint32_t t = 1; t < b->n_tensors; t++) m += T.of[t] != NULL && b->ops[b->tensors[t].op].code != MG_OP_LOAD;
      *ops = m + T.fused;
    }
    for (uint32_t t = 1; t < b->n_tensors; t++) free(T.of[t]);
    free(T.of);
  }
  return best;
}
#endif
