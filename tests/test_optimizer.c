/* The optimizer: shared memory as dynamic storage allocation and layouts, against brute force and Z3; schedules, against every order.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_optimizer.c -o build/test_optimizer -lcmocka -lm -lpthread -ldl && build/test_optimizer [SEED [CASES]] */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "parse.h"
#include "ugraphs.h"

static uint64_t seed = 1, rng;
static int cases = 300;
static int pick(int n) { /* below n */
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (int)((rng >> 11) % (uint64_t)n);
}

/* ---- shared memory */
static void pieces(mg_memory_piece *p, int n, int steps, int sizes) {
  for (int k = 0; k < n; k++) {
    int a = pick(steps), b = pick(steps);
    mg_memory_piece q = {128 * (1 + pick(sizes)) - (pick(3) == 0 ? pick(127) : 0), a < b ? a : b, a < b ? b : a, -1};
    p[k] = q;
  }
}
static int meet(const mg_memory_piece *a, const mg_memory_piece *b) { return a->begin <= b->end && b->begin <= a->end && a->bytes && b->bytes; }
static int64_t up(int64_t bytes) { return (bytes + 127) / 128 * 128; }
static void is_a_plan(const mg_memory_piece *p, int n, int64_t peak) {
  int64_t most = 0;
  for (int k = 0; k < n; k++) {
    assert_true(p[k].offset >= 0 && p[k].offset % 128 == 0);
    if (p[k].bytes && p[k].begin <= p[k].end && p[k].offset + up(p[k].bytes) > most) most = p[k].offset + up(p[k].bytes);
    for (int j = 0; j < k; j++)
      if (meet(&p[j], &p[k])) assert_true(p[j].offset + p[j].bytes <= p[k].offset || p[k].offset + p[k].bytes <= p[j].offset);
  }
  assert_int_equal(most, peak);
}
/* The least peak: first fit in every order. */
static void every_order(const mg_memory_piece *p, int n, int *order, int depth, int64_t *at, int64_t top, int64_t *best) {
  if (depth == n && top < *best) *best = top;
  for (int k = 0; k < n; k++) {
    int used = 0;
    int64_t o = 0;
    for (int j = 0; j < depth; j++) used |= order[j] == k;
    if (used) continue;
    for (int again = 1; again;) {
      again = 0;
      for (int j = 0; j < depth; j++) {
        int q = order[j];
        if (meet(&p[q], &p[k]) && at[q] < o + up(p[k].bytes) && o < at[q] + up(p[q].bytes)) o = at[q] + up(p[q].bytes), again = 1;
      }
    }
    order[depth] = k;
    at[k] = o;
    every_order(p, n, order, depth + 1, at, o + up(p[k].bytes) > top ? o + up(p[k].bytes) : top, best);
  }
}
static void test_memory_brute(void **state) {
  (void)state;
  for (int c = 0; c < cases; c++) {
    mg_memory_piece p[6], q[6];
    int n = pick(7), order[6], exact = 0;
    int64_t at[6], best = (int64_t)1 << 60;
    pieces(p, n, 2 + pick(8), 1 + pick(9));
    memcpy(q, p, sizeof p);
    int64_t peak = mg_memory_plan(p, n, 128, &exact);
    is_a_plan(p, n, peak);
    assert_int_equal(exact, 1);
    every_order(p, n, order, 0, at, 0, &best);
    assert_int_equal(peak, best);
    assert_int_equal(mg_memory_plan(q, n, 128, NULL), peak); /* always the same plan */
    for (int k = 0; k < n; k++) assert_int_equal(q[k].offset, p[k].offset);
  }
}

/* Z3: offsets are reals, one of each two pieces that meet lies below the other, all end at `peak` (strict: before it). */
static int fits_by_z3(const mgi_z3 *Z, const mg_memory_piece *p, int n, int64_t peak, int strict) {
  void *config = Z->mk_config(), *c = Z->mk_context(config), *real, *zero, *x[16], *top[16];
  char text[40];
  Z->del_config(config);
  Z->set_error_handler(c, mgi_z3_quiet);
  real = Z->mk_real_sort(c);
  zero = Z->mk_numeral(c, "0", real);
  void *s = Z->mk_solver_for_logic(c, Z->mk_string_symbol(c, "QF_LRA"));
  Z->solver_inc_ref(c, s);
  snprintf(text, sizeof text, "%lld", (long long)peak);
  void *limit = Z->mk_numeral(c, text, real);
  for (int k = 0; k < n; k++) {
    snprintf(text, sizeof text, "o%d", k);
    x[k] = Z->mk_const(c, Z->mk_string_symbol(c, text), real);
    snprintf(text, sizeof text, "%lld", (long long)up(p[k].bytes));
    void *sum[2] = {x[k], Z->mk_numeral(c, text, real)};
    top[k] = Z->mk_add(c, 2, sum);
    Z->solver_assert(c, s, Z->mk_le(c, zero, x[k]));
    Z->solver_assert(c, s, strict ? Z->mk_lt(c, top[k], limit) : Z->mk_le(c, top[k], limit));
    for (int j = 0; j < k; j++) {
      void *either[2] = {Z->mk_le(c, top[j], x[k]), Z->mk_le(c, top[k], x[j])};
      if (meet(&p[j], &p[k])) Z->solver_assert(c, s, Z->mk_or(c, 2, either));
    }
  }
  int answer = Z->solver_check(c, s);
  Z->solver_dec_ref(c, s);
  Z->del_context(c);
  return answer;
}
static void test_memory_z3(void **state) {
  mgi_z3 Z;
  mg_error e;
  (void)state;
  if (mgi_z3_load(&Z, NULL, &e) != MG_OK) {
    print_message("skipped: %s\n", e.msg);
    skip();
  }
  for (int c = 0; c < cases / 10; c++) {
    mg_memory_piece p[7];
    int n = 1 + pick(7), exact = 0; /* it takes minutes for some of ten */
    pieces(p, n, 3 + pick(8), 1 + pick(12));
    int64_t peak = mg_memory_plan(p, n, 128, &exact);
    is_a_plan(p, n, peak);
    assert_int_equal(exact, 1);
    assert_int_equal(fits_by_z3(&Z, p, n, peak, 0), 1);
    assert_int_equal(fits_by_z3(&Z, p, n, peak, 1), -1);
  }
  dlclose(Z.lib);
}
/* What is alive at once at some step: no plan takes less. */
static int64_t clique(const mg_memory_piece *p, int n) {
  int64_t most = 0;
  for (int k = 0; k < n; k++) {
    int64_t here = 0;
    for (int j = 0; j < n; j++) here += p[j].begin <= p[k].begin && p[k].begin <= p[j].end ? up(p[j].bytes) : 0;
    if (here > most) most = here;
  }
  return most;
}
/* Whether the pieces from k on, which begin one after the other, have places within so many units of 128 bytes: every place of each. */
static int fits(const mg_memory_piece *p, int n, int k, int64_t units, int64_t *at) {
  if (k == n) return 1;
  for (at[k] = 0; at[k] + p[k].bytes / 128 <= units; at[k]++) {
    int free = 1;
    for (int j = 0; j < k && free; j++) free = !meet(&p[j], &p[k]) || at[j] + p[j].bytes / 128 <= at[k] || at[k] + p[k].bytes / 128 <= at[j];
    if (free && fits(p, n, k + 1, units, at)) return 1;
  }
  return 0;
}
/* Eight pieces of which 8 units are alive at once at most, and that do not fit 8: so says every order of first fit too.
   Then many up to twelve: a plan of what is alive at once is the least; of others every place of every piece is tried in a unit less. */
static void test_memory_beyond_the_clique(void **state) {
  mg_memory_piece eight[8] = {{4, 5, 6, 0}, {2, 2, 4, 0}, {2, 2, 5, 0}, {4, 0, 3, 0}, {1, 4, 5, 0}, {1, 7, 9, 0}, {4, 6, 9, 0}, {3, 0, 0, 0}};
  int order[8], exact, beaten = 0, above = 0;
  int64_t at[12], best = (int64_t)1 << 60;
  (void)state;
  for (int k = 0; k < 8; k++) eight[k].bytes *= 128;
  assert_int_equal(clique(eight, 8), 8 * 128);
  assert_int_equal(mg_memory_plan(eight, 8, 128, &exact), 9 * 128);
  assert_int_equal(exact, 1);
  is_a_plan(eight, 8, 9 * 128);
  every_order(eight, 8, order, 0, at, 0, &best);
  assert_int_equal(best, 9 * 128);
  for (int c = 0; c < cases * 20; c++) {
    mg_memory_piece p[12];
    int n = 8 + pick(5);
    int64_t first = 0;
    for (int k = 0; k < n; k++) {
      int begin = pick(10);
      mg_memory_piece q = {128 * (1 + pick(4)), begin, begin + pick(4), -1};
      p[k] = q;
      if (k >= 8 || c % 4) continue; /* every fourth case: the eight, backwards or not, and more */
      p[k] = eight[k];
      if (c % 8) p[k].begin = 9 - eight[k].end, p[k].end = 9 - eight[k].begin;
    }
    for (int k = n - 1; k > 0; k--) { /* in any order */
      const int j = pick(k + 1);
      mg_memory_piece q = p[k];
      p[k] = p[j], p[j] = q;
    }
    int64_t peak = mg_memory_plan(p, n, 128, &exact);
    is_a_plan(p, n, peak);
    assert_int_equal(exact, 1);
    for (int k = 0; k < n; k++) { /* first fit as given */
      int64_t o = 0;
      for (int again = 1; again;) {
        again = 0;
        for (int j = 0; j < k; j++)
          if (meet(&p[j], &p[k]) && at[j] < o + up(p[k].bytes) && o < at[j] + up(p[j].bytes)) o = at[j] + up(p[j].bytes), again = 1;
      }
      at[k] = o;
      if (o + up(p[k].bytes) > first) first = o + up(p[k].bytes);
    }
    assert_true(peak >= clique(p, n) && peak <= first);
    beaten += peak < first;
    if (peak == clique(p, n)) continue;
    for (int k = 1; k < n; k++)
      for (int j = k; j && p[j - 1].begin > p[j].begin; j--) {
        mg_memory_piece q = p[j];
        p[j] = p[j - 1], p[j - 1] = q;
      }
    assert_false(fits(p, n, 0, peak / 128 - 1, at));
    above++;
  }
  print_message("%d of %d plans are smaller than first fit's; %d take more than what is alive at once, and have to\n", beaten, cases * 20, above);
  assert_true(beaten > 0 && above > 0);
}
static void test_memory_large(void **state) {
  (void)state;
  int proven = 0;
  for (int c = 0; c < 20; c++) {
    mg_memory_piece p[MG_MEMORY_PIECES];
    int n = 13 + pick(MG_MEMORY_PIECES - 12), exact;
    pieces(p, n, 40, 100);
    int64_t peak = mg_memory_plan(p, n, 128, &exact);
    is_a_plan(p, n, peak);
    proven += exact;
  }
  print_message("13 to %d pieces: %d of 20 plans proven to be the smallest\n", (int)MG_MEMORY_PIECES, proven);
}
/* ---- steps: what is read is what was written, and a barrier is between what two statements do to the same bytes */
typedef struct ran { int statement, epoch, owner, write; } ran;
enum { UNITS = 1024 };
typedef struct machine {
  const mg_memory *M;
  ran last[UNITS];               /* by unit of 128 bytes: who touched it last, */
  int reader[UNITS][2], seen[UNITS][2]; /* the last two statements that read it, the later first, and in which epochs */
  int epoch, statement, groups, arrived, asked[MG_MEMORY_PIECES];
} machine;
static void machine_touches(machine *X, int piece, int write) {
  const mg_memory_life *p = &X->M->piece[piece];
  for (int64_t u = p->offset / 128; u < (p->offset + p->bytes) / 128; u++) {
    ran *was = &X->last[u];
    if (!write) assert_int_equal(was->owner, piece + 1);
    if (was->statement != X->statement) assert_true(!was->statement || was->epoch < X->epoch);
    const int own = X->reader[u][0] == X->statement; /* it may read what it writes, but no other piece that lies there */
    if (write && own) assert_int_equal(was->owner, piece + 1);
    if (write) assert_true(!X->reader[u][own] || X->seen[u][own] < X->epoch);
    if (!write && !own) X->reader[u][1] = X->reader[u][0], X->seen[u][1] = X->seen[u][0];
    if (!write) X->reader[u][0] = X->statement, X->seen[u][0] = X->epoch;
    else was->statement = X->statement, was->epoch = X->epoch, was->owner = piece + 1;
  }
}
/* The steps from..to - 1: of a statement's, first what it waits for, then what it does. */
static void machine_runs(machine *X, int from, int to) {
  for (int k = from; k < to; k++) {
    const mg_memory_step *s = &X->M->step[k];
    if (s->kind != MG_STEP_BEGIN && s->kind != MG_STEP_BARRIER) continue;
    int end = k + 1;
    while (end < to && X->M->step[end].kind != MG_STEP_BEGIN && X->M->step[end].kind != MG_STEP_BARRIER) end++;
    X->statement++;
    for (int j = k; j < end; j++) {
      const mg_memory_step *t = &X->M->step[j];
      if (t->waits >= 0 && X->groups - t->waits > X->arrived) X->arrived = X->groups - t->waits;
      X->epoch += t->barrier != MG_BARRIER_NONE;
    }
    for (int j = k; j < end; j++) {
      const mg_memory_step *t = &X->M->step[j];
      if (t->kind == MG_STEP_ASK) X->asked[t->piece] = ++X->groups;
      if (t->kind != MG_STEP_READ && t->kind != MG_STEP_WRITE) continue;
      assert_true(t->kind == MG_STEP_WRITE || X->asked[t->piece] <= X->arrived);
      machine_touches(X, t->piece, t->kind == MG_STEP_WRITE);
    }
  }
}
/* A statement of `loop`: reads some of the pieces that are there, and writes a new one, or asks for copies into one. */
static void a_statement(mg_memory *M, uint32_t loop, int room) {
  const int there = M->n, many = pick(4);
  mg_memory_note(M, MG_STEP_BEGIN, -1, 0, loop);
  for (int j = 0; j < many && there; j++) mg_memory_note(M, MG_STEP_READ, pick(there), 0, loop);
  const int piece = there && pick(4) == 0 && many ? M->step[M->n_steps - 1].piece : mg_memory_piece_new(M,
                                                                                                        128 * (1 + pick(room)));
  assert_true(piece >= 0);
  mg_memory_note(M, MG_STEP_WRITE, piece, 0, loop);
  if (!loop && piece == there && pick(3) == 0) mg_memory_note(M, MG_STEP_ASK, piece, 0, loop);
}
static void test_memory_steps(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[64, 64]\nO = kernel grid=(x=1) threads=32 {\n"
                      "  for i=4 {\n    a = load X {x->*, i->0}\n  }\n  o = accum(a) {i->+}\n  store o {x->1}\n}\noutput O\n");
  const mg_graph *b = g->ops[g->n_ops - 1].sub;
  const mg_machine *m = mg_machine_at(0);
  int shared = 0, separated = 0, waited = 0;
  for (int c = 0; c < cases; c++) {
    mg_memory M;
    machine X;
    int loop[2], before = 2 + pick(5), in = pick(4), after = pick(5);
    int64_t sum = 0;
    memset(&M, 0, sizeof M);
    memset(&X, 0, sizeof X);
    for (int k = 0; k < before; k++) a_statement(&M, 0, 8);
    mg_memory_note(&M, MG_STEP_BEGIN, -1, 0, 0);
    mg_memory_note(&M, MG_STEP_ARRIVE, -1, 0, 0);
    loop[0] = M.n_steps;
    mg_memory_note(&M, MG_STEP_LOOP, -1, M.n, 4);
    mg_memory_note(&M, MG_STEP_BEGIN, -1, 0, 4);
    mg_memory_note(&M, MG_STEP_BARRIER, -1, 0, 4);
    for (int k = 0; k < in; k++) a_statement(&M, 4, 8);
    mg_memory_note(&M, MG_STEP_LOOP_END, -1, 0, 4);
    loop[1] = M.n_steps;
    for (int k = 0; k < after; k++) a_statement(&M, 0, 8);
    assert_int_equal(mg_memory_lay_out(&M, b, 128, m, pick(2) ? 1 : 64), 1);
    X.M = &M;
    machine_runs(&X, 0, loop[0]);
    machine_runs(&X, loop[0], loop[1]);
    if (in) machine_runs(&X, loop[0], loop[1]);
    machine_runs(&X, loop[1], M.n_steps);
    for (int k = 0; k < M.n; k++) {
      sum += M.piece[k].bytes;
      assert_true(M.piece[k].offset >= 0 && M.piece[k].offset + M.piece[k].bytes <= M.bytes);
    }
    shared += M.bytes < sum;
    separated += M.barriers > 3;
    waited += X.groups > 0;
    mg_memory_free(&M);
  }
  assert_true(cases < 100 || (shared > cases / 4 && separated > cases / 4 && waited > cases / 4));
  mg_graph_free(g);
}
/* What a statement touched just before a loop does not live through it: a piece of the loop lies there.  What is read behind the
   barrier within a statement lives past that: no address asks for another barrier. */
static void test_memory_ends(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[64, 64]\nO = kernel grid=(x=1) threads=32 {\n"
                      "  for i=4 {\n    a = load X {x->*, i->0}\n  }\n  o = accum(a) {i->+}\n  store o {x->1}\n}\noutput O\n");
  const mg_graph *b = g->ops[g->n_ops - 1].sub;
  const mg_machine *m = mg_machine_at(0);
  mg_memory M;
  memset(&M, 0, sizeof M);
  for (int k = 0; k < 3; k++) mg_memory_piece_new(&M, 128);
  mg_memory_note(&M, MG_STEP_BEGIN, -1, 0, 0);
  mg_memory_note(&M, MG_STEP_WRITE, 0, 0, 0);
  mg_memory_note(&M, MG_STEP_WRITE, 1, 0, 0);
  mg_memory_note(&M, MG_STEP_LOOP, -1, M.n, 4);
  mg_memory_note(&M, MG_STEP_BEGIN, -1, 0, 4);
  mg_memory_note(&M, MG_STEP_BARRIER, -1, 0, 4);
  mg_memory_note(&M, MG_STEP_WRITE, 2, 0, 4);
  mg_memory_note(&M, MG_STEP_LOOP_END, -1, 0, 4);
  assert_int_equal(mg_memory_lay_out(&M, b, 128, m, 64), 1);
  assert_int_equal(M.bytes, 256);
  mg_memory_clear(&M);
  for (int k = 0; k < 2; k++) mg_memory_piece_new(&M, 128);
  mg_memory_note(&M, MG_STEP_BEGIN, -1, 0, 0);
  mg_memory_note(&M, MG_STEP_WRITE, 0, 0, 0);
  mg_memory_note(&M, MG_STEP_SYNCED, 0, 0, 0);
  mg_memory_note(&M, MG_STEP_BEGIN, -1, 0, 0);
  mg_memory_note(&M, MG_STEP_WRITE, 1, 0, 0);
  assert_int_equal(mg_memory_lay_out(&M, b, 128, m, 1), 1);
  assert_int_equal(M.barriers, 0);
  assert_true(M.piece[0].offset != M.piece[1].offset);
  mg_memory_free(&M);
  mg_graph_free(g);
}
static void test_memory_edges(void **state) {
  mg_memory_piece none[3] = {{0, 0, 5, -1}, {500, 5, 4, -1}, {1, 2, 2, -1}}, p[MG_MEMORY_PIECES + 1];
  int exact;
  (void)state;
  assert_int_equal(mg_memory_plan(NULL, 0, 128, &exact), 0);
  assert_int_equal(mg_memory_plan(none, 3, 128, &exact), 128);
  assert_int_equal(none[2].offset, 0);
  assert_int_equal(mg_memory_plan(none, 3, 0, &exact), -1);
  memset(p, 0, sizeof p);
  assert_int_equal(mg_memory_plan(p, MG_MEMORY_PIECES + 1, 128, &exact), -1);
  assert_int_equal(mg_memory_plan(p, -1, 128, &exact), -1);
  p[1].bytes = -1;
  assert_int_equal(mg_memory_plan(p, 2, 128, &exact), -1);
  p[0].bytes = p[1].bytes = (int64_t)1 << 61;
  p[0].end = p[1].end = 1;
  assert_int_equal(mg_memory_plan(p, 2, 128, &exact), -1);
  p[1].bytes = (int64_t)1 << 60;
  assert_int_equal(mg_memory_plan(p, 2, 1, &exact), 3 * ((int64_t)1 << 60));
}

/* ---- schedules */
/* Barriers of the best order: one stands where a node reads what was written since the last; a loop is one. */
static int every_schedule(const mgi_cu_dag *d, uint64_t done, uint64_t fresh, int arrived, int barriers, int best) {
  if (barriers >= best) return best;
  if (done == ((uint64_t)1 << d->n) - 1) return barriers;
  for (int k = 0; k < d->n; k++) {
    const uint64_t bit = (uint64_t)1 << k;
    if ((done & bit) || (d->after[k] & ~done)) continue;
    if (d->loop & bit) best = every_schedule(d, done | bit, bit, d->brings[k] > arrived ? d->brings[k] : arrived, barriers, best);
    else if ((d->apart[k] & fresh) || d->need[k] > arrived) best = every_schedule(d, done | bit, bit, d->need[k] > arrived ? d->need[k] : arrived, barriers + 1, best);
    else best = every_schedule(d, done | bit, fresh | bit, arrived, barriers, best);
  }
  return best;
}
static void test_schedule_brute(void **state) {
  int several = 0;
  (void)state;
  for (int c = 0; c < cases; c++) {
    mgi_cu_dag d;
    int order[MGI_CU_NODES], at[8], p[8];
    memset(&d, 0, sizeof d);
    d.n = 1 + pick(7);
    for (int k = 0; k < d.n; k++) p[k] = k;
    for (int k = d.n - 1; k > 0; k--) { /* node p[k] comes after some of p[0 .. k-1] */
      int j = pick(k + 1), t = p[k];
      p[k] = p[j], p[j] = t;
    }
    for (int k = 0; k < d.n; k++) {
      const int loop = pick(4) == 0;
      if (loop) d.loop |= (uint64_t)1 << p[k], d.loops++;
      else if (pick(4) == 0) d.load |= (uint64_t)1 << p[k];
      if (loop) d.brings[p[k]] = pick(3);
      else if (pick(3) == 0) d.need[p[k]] = 1 + pick(4);
      for (int j = 0; j < k; j++)
        if (pick(3) == 0) {
          d.after[p[k]] |= (uint64_t)1 << p[j];
          if (!loop && pick(3)) d.apart[p[k]] |= (uint64_t)1 << p[j];
        }
    }
    several += d.loops > 1;
    const int barriers = mgi_cu_dag_order(&d, order), least = every_schedule(&d, 0, 0, 0, 0, 100);
    assert_int_equal(barriers, least);
    uint64_t done = 0, fresh = 0;
    int n = 0, arrived = 0;
    for (int k = 0; k < d.n; k++) at[order[k]] = k;
    for (int k = 0; k < d.n; k++) {
      const uint64_t bit = (uint64_t)1 << order[k];
      assert_int_equal(at[order[k]], k); /* each once */
      assert_false(d.after[order[k]] & ~done);
      if (d.loop & bit) {
        fresh = 0;
        if (d.brings[order[k]] > arrived) arrived = d.brings[order[k]];
      } else if ((d.apart[order[k]] & fresh) || d.need[order[k]] > arrived) {
        fresh = 0, n++;
        if (d.need[order[k]] > arrived) arrived = d.need[order[k]];
      }
      done |= bit, fresh |= bit;
    }
    assert_int_equal(n, barriers);
  }
  assert_true(several > 0);
}

static int barriers_of(const char *text) {
  mg_error e;
  char *cu = NULL;
  mg_graph *g = parse(text);
  int n = 0;
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
  for (char *at = cu; (at = strstr(at, "mg_sync();")) != NULL; at++) n++;
  mg_string_free(cu);
  mg_graph_free(g);
  return n;
}
/* Statements in every order in which each is defined before it is used, loads and loops in the one that they have; *least and *most get their fewest and most barriers. */
typedef struct body { const char *head, *tail, *line[12]; int n; } body;
static int names(const char *line, const char *name) { /* `name` stands in it as a word */
  size_t n = strlen(name);
  for (const char *at = line; (at = strstr(at, name)) != NULL; at++) {
    const char *word = "abcdefghijklmnopqrstuvwxyz0123456789_";
    if ((at == line || !strchr(word, at[-1])) && (!at[n] || !strchr(word, at[n]))) return 1;
  }
  return 0;
}
static void every_text(const body *B, int *order, int depth, int *least, int *most, int *count) {
  if (depth == B->n) {
    char text[3000];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", B->head);
    for (int k = 0; k < B->n; k++) at += (size_t)snprintf(text + at, sizeof text - at, "  %s\n", B->line[order[k]]);
    snprintf(text + at, sizeof text - at, "  plan { schedule=written%s", B->tail);
    int n = barriers_of(text);
    if (n < *least) *least = n;
    if (n > *most) *most = n;
    ++*count;
    return;
  }
  for (int k = 0; k < B->n; k++) {
    int ready = 1;
    for (int j = 0; j < depth; j++) ready &= order[j] != k;
    for (int j = 0; j < k && (strstr(B->line[k], "load ") || !strncmp(B->line[k], "for", 3)); j++) { /* loads go out in their order */
      int done = !strstr(B->line[j], "load ") && strncmp(B->line[j], "for", 3) != 0;
      for (int i = 0; i < depth; i++) done |= order[i] == j;
      ready &= done;
    }
    for (int j = 0; j < B->n && ready; j++) { /* all that it names is defined */
      char line[200], *name, *rest;
      int done = j == k;
      for (int i = 0; i < depth; i++) done |= order[i] == j;
      if (done) continue;
      snprintf(line, sizeof line, "%s", B->line[j]);
      for (name = strtok_r(line, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) { /* a loop defines several */
        char *is = strstr(name, " = ");
        if (!is) continue;
        *is = 0;
        while (*name == ' ') name++;
        ready &= !names(B->line[k], name);
      }
    }
    if (!ready) continue;
    order[depth] = k;
    every_text(B, order, depth + 1, least, most, count);
  }
}
static const body bodies[] = {
  {"program rows\ninput X : f16[32, 256]\nO = kernel grid=(x=2) threads=128 {\n", " }\n}\noutput O\n",
   {"a = load X {x->0}", "s = sum(a, dim=1)", "m = max(a, dim=1)", "n = div(a, s)", "t = sum(sqr(n), dim=1)", "u = sum(sub(a, m), dim=1)", "o = add(div(n, t), u)", "store o {x->0}"}, 8},
  {"program lora\ninput X : f16[16, 256]\ninput W : f16[256, 64]\ninput A : f16[256, 16]\ninput B : f16[16, 64]\nO = kernel grid=(x=2) threads=128 {\n", " warps_m=1 warps_n=1 warps_k=4 }\n}\noutput O\n",
   {"x = load X {x->*}", "w = load W {x->1}", "a = load A {x->*}", "b = load B {x->1}", "p = matmul(x, w)", "q = matmul(x, a)", "r = matmul(q, b)", "o = add(p, r)", "store o {x->1}"}, 9},
  {"program loop\ninput X : f16[16, 256]\ninput W : f16[256, 64]\ninput G : f16[16, 32]\ninput B : f16[32, 64]\nO = kernel grid=(x=2) threads=128 {\n", " warps_m=1 warps_n=1 warps_k=4 stages=2 }\n}\noutput O\n",
   {"g = load G {x->*}", "v = sum(sqr(g), dim=1)", "h = div(g, v)", "y = sum(h, dim=1)", "for i=4 {\n  a = load X {x->*, i->1}\n  w = load W {x->1, i->0}\n  p = matmul(a, w)\n  }", "c = accum(p) {i->+}",
    "b = load B {x->1}", "o = add(add(c, matmul(h, b)), y)", "store o {x->1}"}, 9},
};
static void test_schedule_every_order(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    const body *B = &bodies[k];
    int order[12], least = 1 << 20, most = 0, count = 0;
    char text[3000];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", B->head);
    every_text(B, order, 0, &least, &most, &count);
    for (int j = 0; j < B->n; j++) at += (size_t)snprintf(text + at, sizeof text - at, "  %s\n", B->line[j]);
    snprintf(text + at, sizeof text - at, "  plan { schedule=room%s", B->tail);
    const int n = barriers_of(text);
    print_message("%d orders: %d to %d barriers; scheduled: %d\n", count, least, most, n);
    assert_true(n <= least); /* fewer where a tile that an operator needs is made before its turn */
    assert_true(count >= 5 && most > least);
  }
}
static void test_schedule_given(void **state) {
  mg_error e;
  mg_graph *g = parse("program bad\ninput X : f16[32, 256]\nO = kernel grid=(x=2) threads=128 {\n  a = load X {x->0}\n  store exp(a) {x->0}\n  plan { schedule=late }\n}\noutput O\n");
  (void)state;
  assert_int_equal(mg_cuda_emittable(g, NULL, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "schedule=late: want written, depth or room"));
  mg_graph_free(g);
}

/* ---- layouts: the integer program, against every choice and against Z3 */
static int may(const mgi_cu_layout *L, int k, int w) { return !(L->banned[k] >> w & 1); }
static int64_t every_layout(const mgi_cu_layout *L) {
  int64_t best = -1, all = 1;
  for (int k = 0; k < L->n; k++) all *= MG_IN_COUNT;
  for (int64_t x = 0; x < all; x++) { /* a digit a tile */
    int64_t cost = 0, left = x;
    int fits = 1, way[MGI_CU_TILES];
    for (int k = 0; k < L->n; k++, left /= MG_IN_COUNT) way[k] = (int)(left % MG_IN_COUNT);
    for (int s = 0; s < L->rows; s++) {
      int64_t bytes = 0;
      for (int k = 0; k < L->n; k++) bytes += L->alive[k] >> s & 1 ? L->bytes[k][way[k]] : 0;
      fits &= bytes <= L->room[s];
    }
    for (int k = 0; k < L->n; k++) fits &= may(L, k, way[k]), cost += L->cost[k][way[k]];
    if (fits && (best < 0 || cost < best)) best = cost;
  }
  return best;
}
/* What solve says is allowed, fits and costs what it says. */
static int64_t solved(const mgi_cu_layout *L) {
  uint8_t way[MGI_CU_TILES];
  const int64_t cost = mgi_cu_layout_solve(L, way);
  int64_t mine = 0;
  for (int k = 0; k < L->n && cost >= 0; k++) {
    assert_true(may(L, k, way[k]));
    mine += L->cost[k][way[k]];
  }
  for (int s = 0; s < L->rows && cost >= 0; s++) {
    int64_t bytes = 0;
    for (int k = 0; k < L->n; k++) bytes += L->alive[k] >> s & 1 ? L->bytes[k][way[k]] : 0;
    assert_true(bytes <= L->room[s]);
  }
  if (cost >= 0) assert_int_equal(mine, cost);
  return cost;
}
/* 1 if some choice fits at a cost of at most `cost`; -1 if none. */
static int layout_by_z3(const mgi_z3 *Z, const mgi_cu_layout *L, int64_t cost) {
  void *config = Z->mk_config(), *c = Z->mk_context(config), *zero, *one, *x[MGI_CU_TILES][MG_IN_COUNT], *sum[MGI_CU_TILES * MG_IN_COUNT + 1];
  char text[40];
  Z->del_config(config);
  Z->set_error_handler(c, mgi_z3_quiet);
  void *real = Z->mk_real_sort(c), *s = Z->mk_solver_for_logic(c, Z->mk_string_symbol(c, "QF_LRA"));
  Z->solver_inc_ref(c, s);
  zero = Z->mk_numeral(c, "0", real), one = Z->mk_numeral(c, "1", real);
  for (int k = 0; k < L->n; k++) { /* each x is 0 or 1; one of a tile's is 1; what is banned is 0 */
    for (int w = 0; w < MG_IN_COUNT; w++) {
      snprintf(text, sizeof text, "x%d_%d", k, w);
      x[k][w] = Z->mk_const(c, Z->mk_string_symbol(c, text), real);
      void *either[2] = {Z->mk_eq(c, x[k][w], zero), Z->mk_eq(c, x[k][w], one)};
      Z->solver_assert(c, s, may(L, k, w) ? Z->mk_or(c, 2, either) : either[0]);
    }
    Z->solver_assert(c, s, Z->mk_eq(c, Z->mk_add(c, MG_IN_COUNT, x[k]), one));
  }
  for (int row = -1; row < L->rows; row++) { /* the cost, then what is alive together */
    int n = 0;
    sum[n++] = zero;
    for (int k = 0; k < L->n; k++)
      for (int w = 0; w < MG_IN_COUNT && (row < 0 || (L->alive[k] >> row & 1)); w++) {
        snprintf(text, sizeof text, "%lld", (long long)(row < 0 ? L->cost[k][w] : L->bytes[k][w]));
        void *of[2] = {Z->mk_numeral(c, text, real), x[k][w]};
        sum[n++] = Z->mk_mul(c, 2, of);
      }
    snprintf(text, sizeof text, "%lld", (long long)(row < 0 ? cost : L->room[row]));
    Z->solver_assert(c, s, Z->mk_le(c, Z->mk_add(c, (unsigned)n, sum), Z->mk_numeral(c, text, real)));
  }
  const int answer = Z->solver_check(c, s);
  Z->solver_dec_ref(c, s);
  Z->del_context(c);
  return answer;
}
/* Tiles of the loads of a µGraph's blocks with random bans and lives, and too little room. */
static int layout_of(const mg_graph *b, mgi_cu_layout *L) {
  L->n = 0;
  for (uint32_t k = 1; k < b->n_ops && L->n < 7; k++) {
    const mg_shape *f = &b->tensors[b->ops[k].out[0].id].shape;
    if (b->ops[k].code != MG_OP_LOAD || f->rank < 2) continue;
    mg_tile_form T;
    memset(&T, 0, sizeof T);
    T.lines = (int)f->dim[f->rank - 2], T.pieces = (int)(f->dim[f->rank - 1] + 7) / 8;
    const uint8_t some = 1 << MG_IN_SWIZZLED | 1 << MG_IN_PANELS, any = (uint8_t)pick((1 << MG_IN_COUNT) - 1);
    mgi_cu_layout_add(L, &T, pick(4) ? some : any, 1 + pick(64), 1 + pick(4));
    L->alive[L->n - 1] = (uint64_t)(1 + pick(7));
  }
  L->rows = 3;
  for (int s = 0; s < L->rows; s++) {
    int64_t least = 0, most = 0;
    for (int k = 0; k < L->n; k++) {
      int64_t lo = -1, hi = 0;
      for (int w = 0; w < MG_IN_COUNT && (L->alive[k] >> s & 1); w++)
        if (may(L, k, w)) lo = lo < 0 || L->bytes[k][w] < lo ? L->bytes[k][w] : lo, hi = L->bytes[k][w] > hi ? L->bytes[k][w] : hi;
      least += lo < 0 ? 0 : lo, most += hi;
    }
    L->room[s] = least + (most - least) * pick(9) / 8 - (pick(20) == 0);
  }
  return L->n;
}
enum { EVERY_WAY = (1 << MG_IN_COUNT) - 1 };
static void test_layouts(void **state) {
  mgi_z3 Z;
  mg_error e;
  const int z3 = mgi_z3_load(&Z, NULL, &e) == MG_OK;
  int graphs = 0, dear = 0, none = 0;
  ugraphs u = {0};
  (void)state;
  for (int c = 0; c < cases; c++) { /* any numbers */
    mgi_cu_layout L;
    memset(&L, 0, sizeof L);
    L.n = pick(7), L.rows = pick(6);
    for (int k = 0; k < L.n; k++) {
      L.banned[k] = (uint8_t)(pick(3) ? pick(EVERY_WAY) : pick(40) ? 0 : EVERY_WAY), L.alive[k] = (uint64_t)pick(1 << L.rows);
      for (int w = 0; w < MG_IN_COUNT; w++) L.cost[k][w] = pick(50) * pick(8), L.bytes[k][w] = pick(40);
    }
    for (int s = 0; s < L.rows; s++) L.room[s] = pick(20 * (L.n + 1)) - 3;
    assert_int_equal(solved(&L), every_layout(&L));
  }
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g)) /* those of real blocks */
    for (uint32_t k = 1; k < g->n_ops; k++) {
      mgi_cu_layout L, roomy;
      if (g->ops[k].code != MG_OP_GRAPH || !layout_of(g->ops[k].sub, &L)) continue;
      const int64_t cost = solved(&L);
      assert_int_equal(cost, every_layout(&L));
      if (z3 && cost >= 0) assert_int_equal(layout_by_z3(&Z, &L, cost), 1);
      if (z3) assert_int_equal(layout_by_z3(&Z, &L, cost >= 0 ? cost - 1 : (int64_t)1 << 50), -1);
      roomy = L, roomy.rows = 0;
      graphs++, dear += cost > solved(&roomy), none += cost < 0;
    }
  print_message("%d blocks: %d that pay for the room, %d that do not fit%s\n", graphs, dear, none, z3 ? "; Z3 agrees" : "; no Z3");
  assert_true(graphs >= 50 && dear > 10 && none > 0);
  if (z3) dlclose(Z.lib);
}

/* What the costs rest on: places of pieces are those of the device's mg_tile, and lines and conflicts are counted right. */
static const struct { int lines, pieces; } shapes[] = {{8, 1}, {16, 2}, {16, 3}, {8, 4}, {5, 5}, {16, 6}, {16, 8}, {1, 16}, {3, 8}, {24, 10}, {16, 12}, {64, 16}, {32, 32}, {8, 24}, {2, 512}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static void test_places(void **state) {
  char dir[] = "build/optimizer.XXXXXX", path[80], command[300];
  (void)state;
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/places.cc", dir);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "#include \"mirage_cuda.cuh\"\n#include <stdio.h>\ntemplate<class TILE> void places(int lines, int pieces) {\n  const int E = 16 / (int)sizeof(typename TILE::T);\n  for (int line = 0; line < lines; line++)\n"
             "    for (int i = 0; i < pieces * E; i++) {\n      const int at = TILE::offset(line, i);\n      if (at %% E != i %% E) printf(\"-1 \");\n      else if (i %% E == 0) printf(\"%%d \", at / E);\n    }\n}\nint main() {\n");
  for (int k = 0; k < SHAPES; k++)
    for (int w = 0; w < MG_IN_COUNT; w++)
      for (int e = 4; e <= 8; e += 4) { /* f32, f16; rows or columns in memory */
        const int n = shapes[k].lines, p = shapes[k].pieces, trans = (k + w) % 2;
        if ((w == MG_IN_PANELS && (e == 4 || p % 8)) || (w == MG_IN_TURNED && p * e % 8)) continue;
        fprintf(f, "  places<mg_tile<%s, %d, %d, %d, %s%s>>(%d, %d);\n", e == 4 ? "mg_f32" : "mg_f16", trans ? p * e : n, trans ? n : p * e, w == MG_IN_PANELS ? 0 : w == MG_IN_PADDED ? (p | 1) * e : p * e,
                trans ? "true" : "false", w == MG_IN_SWIZZLED ? ", true" : w == MG_IN_TURNED ? ", false, true" : "", n, p);
      }
  fprintf(f, "}\n");
  fclose(f);
  snprintf(command, sizeof command, "g++ -std=c++17 -O1 -w -DMG_EMULATE -I. %s -o %s/places && %s/places", path, dir, dir);
  f = popen(command, "r");
  assert_non_null(f);
  for (int k = 0; k < SHAPES; k++)
    for (int w = 0; w < MG_IN_COUNT; w++)
      for (int e = 4; e <= 8; e += 4) {
        const int n = shapes[k].lines, p = shapes[k].pieces;
        const mg_tile_form T = {0, 0, n, p, 16 / e, 0};
        if ((w == MG_IN_PANELS && (e == 4 || p % 8)) || (w == MG_IN_TURNED && p * e % 8)) continue;
        int copies = 0, most = 0, last = -1;
        for (int line = 0; line < n; line++)
          for (int i = 0; i < p; i++) {
            int at = -2;
            if (fscanf(f, "%d", &at) != 1 || at != mgi_piece_at(&T, w, line, i)) fail_msg("%s, %d rows of %d pieces: piece %d of row %d lies at %d, not %d", mg_plan_word(MG_PLAN_IN, w), n, p, i, line, at, mgi_piece_at(&T, w, line, i));
          }
        for (int u = 0; u < n * p; u++) { /* eight neighbours a copy */
          const int at = mgi_piece_at(&T, w, u / p, u % p) / 8;
          int seen = u % 8 != 0 && at == last;
          for (int j = u - u % 8; j < u; j++) seen |= mgi_piece_at(&T, w, j / p, j % p) / 8 == at;
          copies += !seen;
          last = at;
        }
        for (int line = 0; line < n; line += 8)
          for (int i = 0; i < p; i++) {
            int in[8] = {0};
            for (int j = line; j < n && j < line + 8; j++) {
              const int bank = mgi_piece_at(&T, w, j, i) % 8;
              if (++in[bank] > most) most = in[bank];
            }
          }
        assert_int_equal(most, mgi_conflicts(&T, w));
        if (w == MG_IN_SWIZZLED || w == MG_IN_PANELS) assert_int_equal(most, 1);
        const int64_t fill = mg_tile_cost(&T, w) / (n * p) - most;
        if (fill == 1) assert_int_equal(copies, (n * p + 7) / 8);
        else assert_true(fill == 2 && copies * 8 > 1.4 * n * p && copies * 8 < 2.6 * n * p);
      }
  assert_int_equal(pclose(f), 0);
  snprintf(command, sizeof command, "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

/* How the tile of the load `name` lies by the first kernel of the text; -1: it has none.  *odd: rows of an odd number of pieces, for which three ways are one; *narrow: elements of 16 bits (f32 between kernels are not). */
static int way_in(const char *kernel, const char *name, mg_dtype type, int *odd, int *narrow) {
  char find[80], rest[40];
  int rows, cols, pitch;
  snprintf(find, sizeof find, "> T_%s;", name);
  const char *end = strstr(kernel, find), *from = end, *next = strstr(kernel + 1, "MG_KERNEL(");
  if (!end || (next && end > next)) return -1;
  while (strncmp(from, "mg_tile<", 8)) from--;
  assert_int_equal(sscanf(from, "mg_tile<%*[^,], %d, %d, %d, %39[^>]", &rows, &cols, &pitch, rest), 4);
  const int inner = !strncmp(rest, "true", 4) ? rows : cols, bytes = strncmp(from + 8, "mg_f32", 6) ? mg_dtype_bytes(type) : 4, unit = 16 / bytes, pieces = (inner + unit - 1) / unit;
  *narrow = bytes < 4;
  *odd = pieces % 2;
  if (!pitch) return MG_IN_PANELS;
  if (strstr(rest, ", false, true")) return assert_int_equal(pitch, pieces * unit), MG_IN_TURNED;
  if (strstr(rest, ", true")) return assert_int_equal(pitch, pieces * unit), MG_IN_SWIZZLED;
  assert_true(pitch == pieces * unit || pitch == (pieces | 1) * unit);
  return pitch == (pieces | 1) * unit ? MG_IN_PADDED : MG_IN_DENSE;
}
/* Whether each warp copies a strip of it, across its lines: swizzled, a strip's pieces would stand in others' strips. */
static int in_strips(const char *kernel, const char *name) {
  char find[100];
  snprintf(find, sizeof find, "mg_load_tile<T_%s, ", name);
  const char *lines = strstr(kernel, find), *across = lines ? strchr(lines + strlen(find), ' ') + 1 : "T_";
  return strncmp(across, "T_", 2) != 0;
}
/* What a transpose reads of its tile, by the index formula of the device's mg_tile, which test_places compares with mgi_piece_at: that no
   two words of a warp share a bank where a row of the result has eight runs, and never more than mg_tile_conflicts says. */
static void test_across(void **state) {
  static const int lines[] = {8, 20, 32, 64, 96, 128, 256};
  int free_of_them = 0, worse = 0;
  (void)state;
  for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
    for (int pieces = 1; pieces <= 17; pieces++)
      for (int esize = 2; esize <= 4; esize += 2)
        for (int w = 0; w < 2; w++) {
          const int way = w ? MG_IN_TURNED : MG_IN_PADDED, run = 16 / esize, runs = (lines[k] + run - 1) / run, elements = pieces * run;
          const mg_tile_form T = {lines[k], elements, lines[k], pieces, esize, run};
          int most = 0;
          if (w && elements % 8) continue;
          for (int j = 0; j < run; j++)
            for (int first = 0; first < runs * elements; first += 32) { /* a warp's 32 runs, element j of each */
              int words[32], n = 0, in[32] = {0};
              for (int u = first; u < first + 32 && u < runs * elements; u++) {
                const int line = u % runs * run + j, i = u / runs, word = (mgi_piece_at(&T, way, line, i / run) * 16 + i % run * esize) / 4;
                int seen = line >= lines[k];
                for (int q = 0; q < n && !seen; q++) seen = words[q] == word;
                if (!seen) words[n++] = word, in[word % 32]++;
              }
              for (int bank = 0; bank < 32; bank++) most = in[bank] > most ? in[bank] : most;
            }
          if (w && lines[k] == 8 * run) assert_int_equal(most, 1);
          if (w && lines[k] == 8 * run) free_of_them++;
          if (!w && lines[k] == 8 * run) assert_int_equal(mg_tile_conflicts(&T, way), esize == 2 ? 8 : 4);
          if (most > mg_tile_conflicts(&T, way)) fail_msg("%d rows of %d pieces, %d bytes, %s: %d words share a bank, not %d", lines[k], pieces, esize, mg_plan_word(MG_PLAN_IN, way), most, mg_tile_conflicts(&T, way));
          worse += most < mg_tile_conflicts(&T, way);
        }
  print_message("%d tiles that are read without conflicts, %d of fewer than is said\n", free_of_them, worse);
  assert_true(free_of_them > 20);
}

/* What is chosen in the µGraphs of all programs: operands of products swizzled, in panels for warpgroups; in rings of warps all
   swizzled, but for strips; all else padded. */
static void test_layouts_of_programs(void **state) {
  int n[MG_IN_COUNT] = {0};
  char *cu;
  ugraphs u = {0};
  mg_error e;
  (void)state;
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g)) {
    mg_emit_config cfg = {u.arch, NULL, 0, 0};
    if (mg_cuda_emit(g, &cfg, &cu, &e) != MG_OK) fail_msg("%s: %s", g->name, e.msg);
    char *kernel = cu;
    for (uint32_t k = 1; k < g->n_ops; k++) {
      if (g->ops[k].code != MG_OP_GRAPH) continue;
      const mg_graph *b = g->ops[k].sub;
      const char *ring = mg_plan_get(b, "ring"), *mma = mg_plan_get(b, "mma");
      kernel = strstr(kernel + 1, "MG_KERNEL(");
      assert_non_null(kernel);
      for (uint32_t i = 1; i < b->n_ops; i++) {
        const mg_op_node *o = &b->ops[i];
        const char *name = b->tensors[o->out[0].id].name;
        int product = 0, moved = 0, odd, narrow;
        if (o->code != MG_OP_LOAD) continue;
        for (uint32_t j = 1; j < b->n_ops; j++)
          for (int q = 0; q < b->ops[j].n_in && b->ops[j].code != MG_OP_LOAD; q++)
            if (b->ops[j].in[q].id == o->out[0].id) {
              if (b->ops[j].code == MG_OP_MATMUL || b->ops[j].code == MG_OP_CONCAT_MATMUL) product = 1;
              else if (!mg_op_row(b->ops[j].code)->elementwise && b->ops[j].code != MG_OP_SUM && b->ops[j].code != MG_OP_MAX) moved = 1;
            }
        const int way = way_in(kernel, name, b->tensors[o->out[0].id].dtype, &odd, &narrow);
        if (way < 0) continue;
        n[way]++;
        const int warps = ring && !strcmp(ring, "warp") && o->scope, group = mma && !strcmp(mma, "warpgroup");
        const int strips = warps && in_strips(kernel, name);
        if (way == MG_IN_DENSE || (way == MG_IN_PANELS && !group) || (product && narrow && !strips && way == MG_IN_PADDED) ||
            (strips && way != MG_IN_PADDED) || (!product && !moved && !warps && way != MG_IN_PADDED))
          fail_msg("%s for %s: the tile of '%s' is %s", g->name, u.arch, name, mg_plan_word(MG_PLAN_IN, way));
      }
    }
    mg_string_free(cu);
  }
  print_message("tiles of all programs: %d swizzled, %d padded, %d in panels\n", n[MG_IN_SWIZZLED], n[MG_IN_PADDED], n[MG_IN_PANELS]);
  assert_true(n[MG_IN_SWIZZLED] > 100 && n[MG_IN_PADDED] > 10 && n[MG_IN_PANELS] > 4);
}

/* A kernel that fits only without padding: the plan says so, and it comes back the same. */
static void comes_back(const mg_graph *g, const char *cu, const mg_emit_config *cfg) {
  mg_graph *again = NULL;
  mg_error e;
  char *second = NULL;
  assert_int_equal(mg_cuda_source_graph(cu, strlen(cu), &again, &e), MG_OK);
  assert_int_equal(mg_cuda_emit(again, cfg, &second, &e), MG_OK);
  assert_string_equal(cu, second);
  mg_check_config cc;
  mg_check_report r;
  memset(&cc, 0, sizeof cc);
  cc.seeds = 3;
  cc.seed = seed;
  if (mg_cuda_check(g, cu, &cc, &r, &e) != MG_OK) fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, e.msg, cu);
  mg_string_free(second);
  mg_graph_free(again);
}
static void test_layout_dense(void **state) {
  mg_error e;
  mg_graph *g;
  char *cu = NULL, text[900];
  mg_emit_config cfg = {"sm_80", NULL, 0, 0};
  (void)state;
  for (int what = 0; what < 3; what++) { /* 163840 bytes of tiles without padding, 166912 a block may have; then more than that */
    snprintf(text, sizeof text, "program t\ninput A : f32[64, 512]\ninput B : f32[512, 64]\nO = kernel grid=(x=1) threads=128 {\n  for i=%d {\n    a = load A {i->1}\n    b = load B {i->0}\n    c = matmul(a, b)\n  }\n  o = accum(c) {i->+}\n  store o {}\n  plan { stages=%d warps_m=2 warps_n=2 warps_k=1%s }\n}\noutput O\n",
             what == 1 ? 4 : 8, 5, what == 2 ? " a.in=dense b.in=loose" : "");
    g = parse(text);
    const mg_status s = mg_cuda_emit(g, &cfg, &cu, &e);
    if (what) {
      assert_int_equal(s, MG_UNSUPPORTED);
      assert_non_null(strstr(e.msg, what == 1 ? "bytes of shared memory" : "b.in=loose: want swizzled, padded, dense, panels or turned"));
    } else {
      if (s != MG_OK) fail_msg("%s", e.msg);
      if (!strstr(cu, ".in=dense")) fail_msg("nothing is dense:\n%s", cu);
      comes_back(g, cu, &cfg);
      mg_string_free(cu);
      cu = NULL;
    }
    mg_graph_free(g);
  }
}
/* The plan's NAME.in: each way that it names is obeyed, right on the CPU and comes back, or is refused with the reason. */
static const struct { const char *name, *arch, *text, *loads[3]; int turned; } forms[] = {
  {"a transpose", "sm_80", "program t\ninput X : f16[40, 72]\nO = kernel grid=(x=2) threads=64 {\n  x = load X {x->1}\n  t = transpose(exp(x), [1, 0])\n  store t {x->0}\n  plan {%s }\n}\noutput O\n", {"x"}, 1},
  {"transposes in a loop", "sm_80", "program t\ninput X : f16[40, 72]\nO = kernel grid=(x=2) threads=64 {\n  for i=2 {\n    x = load X {x->1, i->0}\n    t = transpose(x, [1, 0])\n  }\n  o = accum(t) {i->1}\n  store o {x->0}\n  plan { stages=2%s }\n}\noutput O\n", {"x"}, 1},
  {"ring of the block", "sm_80", "program t\ninput A : f16[32, 128]\ninput B : f16[128, 64]\ninput G : f16[1, 128]\nO = kernel grid=(x=2) threads=128 {\n  for i=2 {\n    a = load A {x->*, i->1}\n    g = load G {x->*, i->1}\n    b = load B {x->1, i->0}\n    c = matmul(a, b)\n"
   "    s = sum(sqr(mul(a, g)), dim=1)\n  }\n  o = div(accum(c) {i->+}, accum(s) {i->+})\n  store o {x->1}\n  plan { stages=2 warps_m=2 warps_n=2 warps_k=1%s }\n}\noutput O\n", {"a", "b", "g"}, 0},
  {"computed operands", "sm_80", "program t\ninput A : f16[20, 96]\ninput B : f16[96, 64] @ [1, 0]\nO = kernel grid=(x=2) threads=64 {\n  for i=3 {\n    a = load A {x->*, i->1}\n    b = load B {x->1, i->0}\n    c = matmul(exp(a), sqr(b))\n  }\n  store accum(c) {i->+} {x->1}\n"
   "  plan { stages=2 warps_m=1 warps_n=1 warps_k=2%s }\n}\noutput O\n", {"a", "b"}, 0},
  {"rings of warps", "sm_90a", "program t\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=2) threads=64 {\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n    s = sum(sqr(x), dim=1)\n  }\n  o = div(accum(p) {i->+}, accum(s) {i->+})\n"
   "  store o {x->1}\n  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2%s }\n}\noutput O\n", {"x", "w"}, 0},
  {"warpgroups", "sm_90a", "program t\ninput X : f16[64, 128]\ninput W : f16[128, 64]\nO = kernel grid=(x=1) threads=128 {\n  for i=2 {\n    x = load X {i->1}\n    w = load W {i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {}\n  plan { mma=warpgroup warps_m=4 warps_n=1 warps_k=1%s }\n}\noutput O\n", {"x", "w"}, 0},
  {"rows in fp32", "sm_80", "program t\ninput X : f32[24, 40]\ninput G : f32[24, 1]\nO = kernel grid=(x=2) threads=64 {\n  x = load X {x->0}\n  g = load G {x->0}\n  y = mul(exp(x), g)\n  o = div(y, sum(y, dim=1))\n  p = div(o, max(x, dim=0))\n  store p {x->0}\n  plan { %s }\n}\noutput O\n", {"x", "g"}, 0},
};
static void test_layout_plan(void **state) {
  int seen[MG_IN_COUNT] = {0}, refused = 0, said = 0;
  (void)state;
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    mg_emit_config cfg = {forms[k].arch, NULL, 0, 0};
    mg_error e;
    char plan[120] = "", one[60], text[1200], *cu = NULL;
    int asked[3];
    size_t n = 0;
    for (int j = 0; j < 3 && forms[k].loads[j]; j++) { /* every way of every load alone, then one that is allowed of each together */
      int allowed[MG_IN_COUNT], m = 0;
      for (int w = 0; w < MG_IN_COUNT; w++) {
        snprintf(one, sizeof one, " %s.in=%s", forms[k].loads[j], mg_plan_word(MG_PLAN_IN, w));
        snprintf(text, sizeof text, forms[k].text, one);
        mg_graph *g = parse(text);
        const mg_status s = mg_cuda_emit(g, &cfg, &cu, &e);
        mg_graph_free(g);
        if (s == MG_OK) allowed[m++] = w, mg_string_free(cu);
        else if (s != MG_UNSUPPORTED || !strstr(e.msg, one + 1) || !strstr(e.msg, w == MG_IN_TURNED ? "store as columns" : "panels")) fail_msg("%s,%s: %s", forms[k].name, one, e.msg);
        else refused++;
      }
      assert_true(m == (forms[k].turned ? 4 : 3) || (m == 1 && allowed[0] == MG_IN_PANELS));
      asked[j] = allowed[pick(m)];
      n += (size_t)snprintf(plan + n, sizeof plan - n, " %s.in=%s", forms[k].loads[j], mg_plan_word(MG_PLAN_IN, asked[j]));
    }
    snprintf(text, sizeof text, forms[k].text, plan);
    mg_graph *g = parse(text);
    if (mg_cuda_emit(g, &cfg, &cu, &e) != MG_OK) fail_msg("%s,%s: %s", forms[k].name, plan, e.msg);
    for (int j = 0; j < 3 && forms[k].loads[j]; j++) {
      int odd, narrow;
      const int way = way_in(strstr(cu, "MG_KERNEL("), forms[k].loads[j], strstr(text, "f32[") ? MG_F32 : MG_F16, &odd, &narrow);
      if (way < 0) continue;
      if (way != asked[j] && !(odd && way == MG_IN_PADDED && asked[j] == MG_IN_DENSE)) fail_msg("%s,%s: '%s' is %s", forms[k].name, plan, forms[k].loads[j], mg_plan_word(MG_PLAN_IN, way));
      seen[way]++, said++;
    }
    comes_back(g, cu, &cfg);
    mg_string_free(cu);
    mg_graph_free(g);
  }
  print_message("%d tiles as the plan has them: %d swizzled, %d padded, %d dense, %d in panels, %d turned; %d refused\n", said, seen[0], seen[1], seen[2], seen[3], seen[4], refused);
  assert_true(refused >= 10 && said >= 8);
}

/* ---- what the model and the emitter must agree on: which products take their left operand from fragments */
static int chained_by_model(const mg_graph *b) {
  mg_flat *k = (mg_flat *)malloc(sizeof *k);
  mg_kernel_plan p;
  int n = 0;
  memset(&p, 0, sizeof p);
  assert_non_null(k);
  assert_true(mg_flat_of(b, k));
  p.warps_m = (int)mg_plan_int(b, "warps_m", 1), p.warps_n = (int)mg_plan_int(b, "warps_n", 1), p.warps_k = (int)mg_plan_int(b, "warps_k", 1);
  for (int i = 0; i < k->n && p.warps_k == 1; i++) n += k->op[i].code == MG_OP_MATMUL && mg_flat_has_product(k, k->op[i].in[0]) && mg_flat_chained(k, &p, i);
  free(k);
  return n;
}
/* The kernels of g, and how many of them have such products; at once fails where the two differ. */
static int chains_agree(const mg_graph *g, const char *cu, int *with) {
  const char *at = cu;
  int kernels = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    if (g->ops[k].code != MG_OP_GRAPH) continue;
    const mg_graph *b = g->ops[k].sub;
    int n = 0;
    at = strstr(at + 1, "MG_KERNEL(");
    assert_non_null(at);
    const char *next = strstr(at + 1, "MG_KERNEL(");
    for (const char *c = at; (c = strstr(c, "_chain<")) != NULL && (!next || c < next); c++) n++;
    if (mg_plan_int(b, "warps_k", 1) != 1) continue;
    if (chained_by_model(b) != n) fail_msg("%s: the model has %d chained products in operator %u, the emitter %d\n%s", g->name, chained_by_model(b), (unsigned)k, n, cu);
    kernels++;
    *with += n > 0;
  }
  return kernels;
}
static const struct { int chained; const char *text; } nests[] = {
  {1, "program t\ninput Q : f16[64, 64]\ninput K : f16[64, 128]\ninput V : f16[128, 64]\nO = kernel grid=(x=1) threads=128 {\n  for i=2 {\n    for h=2 {\n      q = load Q {h->1}\n      k = load K {h->0, i->1}\n      s = matmul(q, k)\n    }\n    p = silu(accum(s) {h->+})\n"
      "    v = load V {i->0}\n    d = matmul(p, v)\n  }\n  o = accum(d) {i->+}\n  store o {}\n  plan { warps_m=4 warps_n=1 warps_k=1 }\n}\noutput O\n"},
  {0, "program t\ninput Q : f16[64, 64]\ninput K : f16[64, 128]\ninput V : f16[128, 64]\nO = kernel grid=(x=1) threads=128 {\n  for i=2 {\n    for h=2 {\n      q = load Q {h->1}\n      k = load K {h->0, i->1}\n      s = matmul(q, k)\n    }\n    p = silu(accum(s) {h->+})\n" /* p lives in i, its product in j */
      "    for j=2 {\n      v = load V {i->0, j->1}\n      d = matmul(p, v)\n    }\n  }\n  o = accum(d) {i->+, j->1}\n  store o {}\n  plan { warps_m=4 warps_n=1 warps_k=1 }\n}\noutput O\n"},
  {0, "program t\ninput Q : f16[64, 64]\ninput K : f16[64, 64]\ninput G : f16[64, 64]\ninput V : f16[64, 96]\nO = kernel grid=(x=1) threads=128 {\n  q = load Q {}\n  k = load K {}\n  s = matmul(q, k)\n  for i=2 {\n    g = load G {}\n    v = load V {i->1}\n    d = matmul(mul(s, g), v)\n" /* s lives outside, what is made of it in i */
      "  }\n  o = accum(d) {i->1}\n  store o {}\n  plan { warps_m=4 warps_n=1 warps_k=1 }\n}\noutput O\n"},
};
static void test_chained(void **state) {
  int kernels = 0, with = 0;
  mg_error e;
  char *cu;
  ugraphs u = {0};
  (void)state;
  for (size_t k = 0; k < sizeof nests / sizeof *nests; k++) {
    mg_emit_config cfg = {"sm_80", NULL, 0, 0};
    mg_graph *g = parse(nests[k].text);
    if (mg_cuda_emit(g, &cfg, &cu, &e) != MG_OK) fail_msg("%d: %s", (int)k, e.msg);
    assert_int_equal(strstr(cu, "_chain<") != NULL, nests[k].chained);
    chains_agree(g, cu, &with);
    comes_back(g, cu, &cfg);
    mg_string_free(cu);
    mg_graph_free(g);
  }
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g)) {
    mg_emit_config cfg = {u.arch, NULL, 0, 0};
    if (mg_cuda_emit(g, &cfg, &cu, &e) != MG_OK) fail_msg("%s: %s", g->name, e.msg);
    kernels += chains_agree(g, cu, &with);
    mg_string_free(cu);
  }
  print_message("%d kernels, %d with chained products\n", kernels, with);
  assert_true(kernels > 50 && with > 20);
}

/* The tuner asks for rings of warpgroups where the emitter gives them: each form, with a plan by the tuner, is emitted, and where the
   emitter refuses `ring=group` on the same warps, the tuner has not asked.  Without transposes it asks wherever the emitter does not refuse. */
static void test_group_rings(void **state) {
  static const struct { const char *body, *outputs, *stores; } forms[] = {
    {"    p = exp(matmul(q, k))\n", "", ""},
    {"    n = sqrt(add_scalar(sum(sqr(k), dim=1), 1/1000))\n    p = exp(div(matmul(q, k), n))\n", "", ""},
    {"    n = sqrt(add_scalar(sum(mul(k, k), dim=1), 1/1000))\n    p = exp(mul(matmul(q, k), add_scalar(n, 1/2)))\n", "", ""},
    {"    n = sqrt(add_scalar(sum(sqr(k), dim=2), 1/1000))\n    p = exp(mul(matmul(q, k), sum(n, dim=1)))\n", "", ""}, /* of all keys */
    {"    n = max(k, dim=1)\n    p = exp(mul(matmul(q, k), n))\n", "", ""},
    {"    n = sum(sqr(v), dim=2)\n    p = exp(mul(matmul(q, k), transpose(n, [0, 2, 1])))\n", "", ""},
    {"    n = sqrt(sum(k, dim=1))\n    p = exp(div(matmul(q, k), n))\n", "", ""},
    {"    p = exp(matmul(q, k))\n    m = sum(sqr(k), dim=1)\n", ", M", "  u = accum(m) {i->2}\n  store u {x->0}\n"},
    {"    p = exp(matmul(q, k))\n    m = sum(sqr(v), dim=1)\n", ", M", "  u = accum(m) {i->+}\n  store u {x->0}\n"},
    {"    w = load B {x->0, i->2}\n    p = exp(add(matmul(q, k), w))\n", "", ""}, /* a bias of every key */
    {"    w = load Q {x->0}\n    p = exp(matmul(w, k))\n", "", ""},                /* a left operand of the loop */
  };
  int asked = 0, given = 0;
  (void)state;
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (int loops = 4; loops <= 16; loops *= 2)
      for (int across = 0; across < 2; across++) {
        char text[1600];
        mg_error e;
        char *cu;
        const int more = *forms[f].outputs != 0;
        snprintf(text, sizeof text, "program t\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 1024]%s\ninput V : f16[2, 1024, 64]\n%sO%s = kernel grid=(x=2) threads=128 {\n  q = load Q {x->0}\n  for i=%d {\n    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n%s"
                 "    d = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->0}\n%s}\noutput O\n%s", across ? "" : " @ [0, 2, 1]", strstr(forms[f].body, "load B") ? "input B : f16[2, 1, 1024]\n" : "",
                 forms[f].outputs, loops, forms[f].body, forms[f].stores, more ? "output M\n" : "");
        mg_graph *g = parse(text);
        mg_graph *b = NULL;
        for (uint32_t k = 1; k < g->n_ops; k++)
          if (g->ops[k].code == MG_OP_GRAPH) b = g->ops[k].sub;
        mg_plan_kernel(b, mg_machine_find("H200"));
        mg_emit_config cfg = {"sm_90a", NULL, 0, 0};
        if (mg_cuda_emit(g, &cfg, &cu, &e) != MG_OK) fail_msg("%s\n%s", e.msg, text);
        mg_string_free(cu);
        const char *mma = mg_plan_get(b, "mma"), *ring = mg_plan_get(b, "ring");
        const int asks = ring && !strcmp(ring, "group");
        asked += asks;
        if (mma && !strcmp(mma, "warpgroup")) {
          mg_plan_set(b, "ring", "group");
          const int takes = mg_cuda_emittable(g, "sm_90a", &e) == MG_OK;
          given += takes;
          if (asks != takes && (asks || !strstr(forms[f].body, "transpose"))) fail_msg("the tuner %s for rings of warpgroups, the emitter %s: %s\n%s", asks ? "asks" : "does not ask", takes ? "has them" : "refuses them", takes ? "" : e.msg, text);
        }
        mg_graph_free(g);
      }
  print_message("%d kernels, of which the tuner asks for rings of warpgroups in %d\n", (int)(sizeof forms / sizeof *forms) * 6, asked);
  assert_true(asked >= 10 && given >= asked);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 10);
  if (argc > 2) cases = atoi(argv[2]);
  rng = seed * 0x9E3779B97F4A7C15u + 1;
  print_message("seed %llu, %d cases\n", (unsigned long long)seed, cases);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_memory_brute), cmocka_unit_test(test_memory_z3), cmocka_unit_test(test_memory_beyond_the_clique), cmocka_unit_test(test_memory_large), cmocka_unit_test(test_memory_ends), cmocka_unit_test(test_memory_edges),
    cmocka_unit_test(test_memory_steps),
    cmocka_unit_test(test_schedule_brute), cmocka_unit_test(test_schedule_every_order), cmocka_unit_test(test_schedule_given),
    cmocka_unit_test(test_layouts), cmocka_unit_test(test_places), cmocka_unit_test(test_across), cmocka_unit_test(test_layouts_of_programs), cmocka_unit_test(test_layout_dense), cmocka_unit_test(test_layout_plan), cmocka_unit_test(test_chained), cmocka_unit_test(test_group_rings),
  };
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests_name("optimizer", tests, NULL, NULL);
}
