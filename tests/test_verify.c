/* Tests of mirage_verify.h.
   gcc -std=c11 -O2 -Wall -Wextra tests/test_verify.c -o build/test_verify -lcmocka -lm -lpthread && build/test_verify */
#define MG_USER_OPS(E, T)                                                                                             \
  E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))                                            \
  E(FMA, "avg2", 2, MG_KBT, RAT, OPAQUE, FF_ADD(FF_MUL(a, c), FF_MUL(b, c)), (a + b) * c)                             \
  E(LEAKY, "softstep", 1, MG_KBT, RAT, OPAQUE, FF_OPAQUE(LEAKY, a), a / (MG_C(1, 1) + a * a * c * c))                 \
  E(LOGISTIC, "logistic", 1, MG_KBT, NONE, OPAQUE, FF_DIV(FF_ADD(FF_ZERO, FF_EXP(a)), FF_ADD(FF_MUL(FF_EXP(a), FF_EXP(FF_ZERO)), FF_EXP(FF_ZERO))), MG_C(1, 1) / (MG_C(1, 1) + MG_EXP(-a)))
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
/* What the headers hold of the heap, and the most that they held. */
static atomic_long heap_live, heap_peak;
static void *heap_took(void *p) {
  long now = p ? atomic_fetch_add(&heap_live, (long)malloc_usable_size(p)) + (long)malloc_usable_size(p) : 0, top = atomic_load(&heap_peak);
  while (now > top && !atomic_compare_exchange_weak(&heap_peak, &top, now)) {}
  return p;
}
static void heap_free(void *p) {
  if (p) atomic_fetch_sub(&heap_live, (long)malloc_usable_size(p));
  free(p);
}
static void *heap_malloc(size_t n) { return heap_took(malloc(n)); }
static void *heap_calloc(size_t n, size_t m) { return heap_took(calloc(n, m)); }
static void *heap_realloc(void *old, size_t n) {
  if (old) atomic_fetch_sub(&heap_live, (long)malloc_usable_size(old));
  return heap_took(realloc(old, n));
}
#define malloc heap_malloc
#define calloc heap_calloc
#define realloc heap_realloc
#define free heap_free
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"
#undef malloc
#undef calloc
#undef realloc
#undef free

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include "parse.h"

static uint64_t seed;

static uint64_t next(uint64_t *s) { return mgi_ff_mix(*s += MGI_FF_GOLD); }

/* ---- helpers */

/* Programs a and b, each "inputs" and then statements that define O. */
static mg_verify_report verify_cfg(const char *inputs, const char *a, const char *b, const mg_verify_config *c) {
  char ta[4096], tb[4096];
  mg_verify_report r;
  mg_error e;
  snprintf(ta, sizeof ta, "program a\n%s%s\noutput O\n", inputs, a);
  snprintf(tb, sizeof tb, "program b\n%s%s\noutput O\n", inputs, b);
  mg_graph *A = parse(ta), *B = parse(tb);
  if (mg_verify(A, B, c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_graph_free(A), mg_graph_free(B);
  return r;
}

static const int tiers[2] = {MG_TIER_FAST, MG_TIER_FULL};

/* Both tiers give `want`; returns the full tier's report. */
static mg_verify_report expect(mg_verdict want, const char *inputs, const char *a, const char *b) {
  mg_verify_report r;
  memset(&r, 0, sizeof r);
  for (int t = 0; t < 2; t++) {
    mg_verify_config c = mg_verify_config_default();
    c.seed = seed, c.tier = tiers[t];
    r = verify_cfg(inputs, a, b, &c);
    if (r.verdict != want) fail_msg("expected %s, found %s (%s), tier %d, for\n%s\nand\n%s", mg_verdict_name(want), mg_verdict_name(r.verdict), r.reason, tiers[t], a, b);
    if ((want == MG_EQUAL && r.proof == MG_PROOF_NONE) || want == MG_EQUAL_SAMPLED) assert_true(r.tests > 0 && r.compared > 0);
    /* EQUAL means a delta or a proof, and not both; nothing else has either */
    assert_true((r.log2_delta < 0) + (r.proof != MG_PROOF_NONE) == (want == MG_EQUAL));
    if (tiers[t] == MG_TIER_FAST && r.log2_delta < 0) assert_true(r.tests == 1 && r.log2_delta == r.log2_eps);
  }
  return r;
}
static mg_verify_report expect_certified(const char *inputs, const char *a, const char *b) {
  mg_verify_report r = expect(MG_EQUAL, inputs, a, b);
  if (!(r.log2_delta <= -64)) fail_msg("not certified: %s", r.reason);
  return r;
}
/* EQUAL by one normal form, at both tiers. */
static mg_verify_report expect_proved(const char *inputs, const char *a, const char *b) {
  mg_verify_report r = expect(MG_EQUAL, inputs, a, b);
  assert_true(r.proof == MG_PROOF_NORMAL && r.log2_delta == 0 && r.patterns == 0);
  return r;
}
/* NOT_EQUAL, and the counterexample is what float64 gives. */
static void expect_wrong(const char *inputs, const char *a, const char *b) {
  mg_verify_report r = expect(MG_NOT_EQUAL, inputs, a, b);
  assert_true(r.confirmed);
  assert_true(r.log2_delta == 0);
  char text[4096];
  double got[2], *in[MG_MAX_IN];
  for (int s = 0; s < 2; s++) {
    snprintf(text, sizeof text, "program a\n%s%s\noutput O\n", inputs, s ? b : a);
    mg_graph *g = parse(text);
    mg_domain d = mg_domain_real();
    mg_error e;
    for (uint32_t k = 0; k < g->n_in; k++) {
      in[k] = (double *)malloc((size_t)mgi_trial_elements(g, g->in[k]) * sizeof(double));
      mg_verify_input_real(g, r.cx_seed, (int)k, in[k]);
    }
    double *out = (double *)malloc((size_t)mgi_trial_elements(g, g->out[r.cx_output]) * sizeof(double));
    void *outs[1] = {out};
    assert_int_equal(mg_eval(g, &d, (const void *const *)in, outs, &e), MG_OK);
    got[s] = out[r.cx_element];
    for (uint32_t k = 0; k < g->n_in; k++) free(in[k]);
    free(out);
    mg_graph_free(g);
  }
  assert_true(fabs(got[0] - r.cx_a) < 1e-12 * fabs(r.cx_a) + 1e-300 && fabs(got[1] - r.cx_b) < 1e-12 * fabs(r.cx_b) + 1e-300);
  assert_true(fabs(got[0] - got[1]) > 1e-11 * fabs(got[0]));
}

/* ---- arithmetic */

static void moduli(void **state) {
  (void)state;
  uint64_t s = seed, primes = 0;
  for (uint64_t n = 0; n < 3000; n++) {
    int prime = n > 1;
    for (uint64_t d = 2; d * d <= n; d++) prime &= n % d != 0;
    assert_int_equal(mg_is_prime(n), prime);
  }
  assert_true(mg_is_prime(2305843009213693951u));   /* 2^61 - 1 */
  assert_false(mg_is_prime(3215031751u));           /* strong pseudoprime to 2, 3, 5, 7 */
  assert_false(mg_is_prime(3825123056546413051u));  /* to the first nine primes */
  assert_true(mg_is_prime(18446744073709551557u));  /* the largest below 2^64 */
  for (int bits = 2; bits <= 62; bits++) {
    uint64_t m = mgi_ff_random_prime(&s, bits);
    assert_true(m >> (bits - 1) == 1 && mg_is_prime(m));
    primes++;
    mg_modulus M = mgi_modulus(m);
    for (int k = 0; k < 2000; k++) {
      uint64_t a = next(&s) % m, b = next(&s) % m;
      if (k < 4) a = k & 1 ? m - 1 : 0, b = k & 2 ? m - 1 : 0;
      mgi_u128 x = ((mgi_u128)next(&s) << 64) | next(&s);
      if (k == 5) x = ~(mgi_u128)0;
      assert_true(mgi_addmod(&M, a, b) == (uint64_t)(((mgi_u128)a + b) % m));
      assert_true(mgi_submod(&M, a, b) == (uint64_t)(((mgi_u128)a + m - b) % m));
      assert_true(mgi_mulmod(&M, a, b) == (uint64_t)((mgi_u128)a * b % m));
      assert_true(mgi_mod64(&M, (uint64_t)x) == (uint64_t)x % m);
      assert_true(mgi_mod128(&M, x) == (uint64_t)(x % m));
      if (a) assert_true((uint64_t)((mgi_u128)mgi_invmod(&M, a) * a % m) == 1 % m);
    }
  }
  assert_int_equal(primes, 61);
}

static mg_field field_of(int which) {
  mg_field F;
  mg_error e;
  mg_graph *g = parse("program g\ninput X : f16[4, 6]\nO = scale(X, 3/7)\noutput O\n");
  const mg_graph *gs[1] = {g};
  if (which < 2) assert_int_equal(mg_field_small(gs, 1, seed, which, &F, &e), MG_OK);
  else assert_int_equal(mg_field_large(seed, which - 2, &F), MG_OK);
  mg_graph_free(g);
  return F;
}
static int same(mg_fv a, mg_fv b) { return a.p == b.p && a.q == b.q && (a.flags | (uint32_t)MGI_FV_TRACE) == (b.flags | (uint32_t)MGI_FV_TRACE); }
/* A random value, now and then a special one or one without x_q. */
static mg_fv any(const mg_field *F, uint64_t *s) {
  mg_fv v = mg_ff_random(F, s);
  switch (next(s) % 16) {
    case 0: return mgi_fv(0, 0, MG_FV_NEGINF);
    case 1: return mgi_fv(0, 0, MG_FV_UNDEF);
    case 2: case 3: v.q = 0, v.flags = F->q ? MG_FV_NOQ : 0; return v;
    case 4: return mgi_fv(0, 0, 0);
    case 5: return mgi_fv(0, 0, MG_FV_EXP2 | MG_FV_NOQ);
    default: return v;
  }
}

static void axioms(void **state) {
  (void)state;
  for (int which = 0; which < 4; which++) {
    mg_field F = field_of(which);
    uint64_t s = seed + (uint64_t)which;
    assert_true(mg_is_prime(F.p) && (!F.q || (mg_is_prime(F.q) && (F.p - 1) % F.q == 0)));
    if (F.q) assert_true(F.omega != 1 && mgi_powmod(&F.mp, F.omega, F.q) == 1);
    mg_fv zero = mg_ff_zero(&F), one = mg_ff_const(&F, mg_rat(1, 1));
    int inverses = 0, exps = 0;
    for (int k = 0; k < 20000; k++) {
      mg_fv a = any(&F, &s), b = any(&F, &s), c = any(&F, &s);
      assert_true(same(mg_ff_add(&F, a, b), mg_ff_add(&F, b, a)));
      assert_true(same(mg_ff_mul(&F, a, b), mg_ff_mul(&F, b, a)));
      assert_true(same(mg_ff_add(&F, mg_ff_add(&F, a, b), c), mg_ff_add(&F, a, mg_ff_add(&F, b, c))));
      assert_true(same(mg_ff_mul(&F, mg_ff_mul(&F, a, b), c), mg_ff_mul(&F, a, mg_ff_mul(&F, b, c))));
      assert_true(same(mg_ff_add(&F, a, zero), a));
      assert_true(same(mg_ff_max(&F, a, b), mg_ff_max(&F, b, a)));
      assert_true(same(mg_ff_max(&F, mg_ff_max(&F, a, b), c), mg_ff_max(&F, a, mg_ff_max(&F, b, c))));
      assert_true(same(mg_ff_max(&F, a, a), a));
      assert_true(same(mg_ff_max(&F, a, mgi_fv(0, 0, MG_FV_NEGINF)), a));
      if ((a.flags | b.flags | c.flags) & MGI_FV_SPECIAL) continue;
      assert_true(same(mg_ff_mul(&F, a, one), a));
      assert_true(same(mg_ff_mul(&F, a, mg_ff_add(&F, b, c)), mg_ff_add(&F, mg_ff_mul(&F, a, b), mg_ff_mul(&F, a, c))));
      assert_true(same(mg_ff_sub(&F, a, b), mg_ff_add(&F, a, mg_ff_sub(&F, zero, b))));
      mg_fv d = mg_ff_div(&F, a, b), m = mg_ff_max(&F, a, b);
      if (d.flags & MG_FV_UNDEF) assert_true(!b.p || (mgi_fv_has_q(&F, b.flags) && !b.q));
      else inverses++, assert_true(same(mg_ff_mul(&F, d, b), mg_ff_add(&F, a, mg_ff_sub(&F, b, b))));
      assert_true(same(m, a) || same(m, b));
      if (F.exp_opaque || ((a.flags | b.flags) & MG_FV_NOQ)) continue;
      exps++;
      mg_fv x = mg_ff_exp(&F, mg_ff_add(&F, a, b));
      assert_true(same(x, mg_ff_mul(&F, mg_ff_exp(&F, a), mg_ff_exp(&F, b))) && (x.flags & MG_FV_NOQ));
    }
    assert_true(inverses > 5000 && (exps > 5000) == !F.exp_opaque);
  }
}

/* Draws of one stream are distinct, and spread over the residues. */
static void draws(void **state) {
  (void)state;
  enum { N = 3000 };
  static uint64_t v[N];
  mg_field F = field_of(3), S = field_of(0);
  uint64_t s = seed;
  int top = 0, count[512] = {0};
  for (int k = 0; k < N; k++) {
    v[k] = mg_ff_random(&F, &s).p;
    assert_true(v[k] < F.p);
    top += v[k] >= F.p / 2;
    for (int j = 0; j < k; j++) assert_true(v[j] != v[k]);
  }
  assert_true(abs(top - N / 2) < 300); /* eleven standard deviations */
  for (int k = 0; k < 1000 * (int)S.p; k++) count[mg_ff_random(&S, &s).p]++;
  for (uint64_t k = 0; k < S.p; k++) assert_true(abs(count[k] - 1000) < 300);
}

/* The candidates for p are not drawn twice: without a prime among so many is a rare thing. */
static void primes_are_found(void **state) {
  (void)state;
  mg_field F;
  int missed = 0;
  for (uint64_t k = 0; k < 10000; k++) missed += mgi_field_pair(seed + k, MGI_Q_LEAST + (int)(k % (MGI_Q_MOST - MGI_Q_LEAST + 1)), &F) != MG_OK;
  assert_true(missed <= 1); /* 0.04 expected */
}

/* Powers by a table are powers; a division by a row's divisor is a division. */
static void shortcuts(void **state) {
  (void)state;
  mgi_trial t;
  mgi_bench B;
  memset(&B, 0, sizeof B), memset(&t, 0, sizeof t);
  for (int bits = MGI_Q_LEAST; bits <= MGI_Q_MOST; bits += 5) {
    B.seed = seed + (uint64_t)bits, B.q_bits = bits, t.draw = 0;
    assert_true(mgi_trial_setup(&t, &B, MGI_PAIR_TEST, 0));
    assert_true(t.F.powers == t.powers && t.F.q >> (bits - 1) == 1 && t.F.p >> 60 == 1 && (t.F.p - 1) % t.F.q == 0 && mg_is_prime(t.F.p) && mg_is_prime(t.F.q));
    assert_true(t.F.omega != 1 && mgi_powmod(&t.F.mp, t.F.omega, t.F.q) == 1);
    uint64_t s = seed;
    for (int k = 0; k < 500; k++) {
      uint64_t e = k < 3 ? (uint64_t)k : k == 3 ? t.F.q - 1 : next(&s) % t.F.q;
      assert_true(mgi_ff_power(&t.F, e) == mgi_powmod(&t.F.mp, t.F.omega, e));
    }
    mg_fv a[200], b[200], o[200];
    for (int k = 0; k < 200; k++) a[k] = any(&t.F, &s), b[k] = k && next(&s) % 2 ? b[k - 1] : any(&t.F, &s);
    mg_view v[3];
    memset(v, 0, sizeof v);
    for (int k = 0; k < 3; k++) v[k].shape.rank = 1, v[k].shape.dim[0] = 200, v[k].stride[0] = 1;
    v[0].data = o, v[1].data = a, v[2].data = b;
    assert_int_equal(mgi_pair_map(&t.F, MG_OP_DIV, mg_rat(0, 1), &v[0], &v[1]), MG_OK);
    for (int k = 0; k < 200; k++) assert_true(same(o[k], mg_ff_div(&t.F, a[k], b[k])));
  }
  heap_free(t.powers);
}

static void specials(void **state) {
  (void)state;
  for (int which = 0; which < 4; which++) {
    mg_field F = field_of(which);
    uint64_t s = seed;
    mg_fv x = mg_ff_random(&F, &s), none = mgi_fv(0, 0, MG_FV_NEGINF), zero = mg_ff_zero(&F), y;
    assert_true(mg_ff_div(&F, x, zero).flags & MG_FV_UNDEF);
    assert_true(mg_ff_mul(&F, mg_ff_div(&F, x, zero), zero).flags & MG_FV_UNDEF);
    assert_true(mg_ff_sub(&F, none, x).flags & MG_FV_NEGINF);
    assert_true(mg_ff_sub(&F, x, none).flags & MG_FV_UNDEF);
    y = mg_ff_exp(&F, mg_ff_sub(&F, none, x));
    assert_true(y.p == 0 && !(y.flags & MGI_FV_SPECIAL));
    assert_true(same(mg_ff_const(&F, mg_rat(-3, 7)), mg_ff_div(&F, mg_ff_sub(&F, zero, mg_ff_const(&F, mg_rat(3, 1))), mg_ff_const(&F, mg_rat(7, 1)))));
    y = mg_ff_exp(&F, mg_ff_exp(&F, x));
    assert_int_equal((y.flags & MG_FV_EXP2) != 0, !F.exp_opaque);
    /* an opaque function restarts the count */
    y = mg_ff_exp(&F, mg_ff_opaque(&F, MG_OP_SILU, 0, mg_ff_exp(&F, x)));
    assert_false(y.flags & MGI_FV_SPECIAL);
  }
}

static void opaque_functions(void **state) {
  (void)state;
  for (int which = 0; which < 4; which++) {
    mg_field F = field_of(which), G;
    uint64_t s = seed;
    int zeros = 0, alike = 0, ops = 0, tries = which < 2 ? (int)F.p : 1000;
    mg_fv zero = mg_ff_zero(&F);
    mgi_field_fill(&G, F.p, F.q, F.seed + 1, F.exp_opaque);
    for (int k = 0; k < tries; k++) {
      mg_fv x = which < 2 ? mgi_fv((uint64_t)k, (uint64_t)k % F.q, 0) : mg_ff_random(&F, &s), y = x;
      y.q = F.q ? (x.q + 1) % F.q : 0;
      mg_fv r = mg_ff_apply(&F, MG_OP_SQRT, x, zero, zero), l = mg_ff_apply(&F, MG_OP_SILU, x, zero, zero);
      assert_true(r.p != 0 && (!F.q || r.q != 0) && (r.flags & MG_FV_OPAQUE));
      assert_true(same(r, mg_ff_apply(&F, MG_OP_SQRT, y, zero, zero))); /* of x_p alone */
      zeros += l.p == 0, ops += l.p == r.p;
      alike += l.p == mg_ff_apply(&G, MG_OP_SILU, x, zero, zero).p;
      mg_fv c1 = mg_ff_const(&F, mg_rat(1, 2)), c2 = mg_ff_const(&F, mg_rat(1, 3));
      ops += mg_ff_apply(&F, MG_OP_LEAKY, x, zero, c1).p == mg_ff_apply(&F, MG_OP_LEAKY, x, zero, c2).p;
    }
    assert_true(zeros < 12 && alike < 12 && ops < 24);
    if (which >= 2) assert_int_equal(zeros + alike + ops, 0);
  }
}

static void words(void **state) {
  (void)state;
  mg_error e;
  for (int opaque = 0; opaque < 2; opaque++) {
    uint64_t constant = 1;
    for (int pair = 0; pair < 4; pair++) {
      mg_field F;
      mg_graph *g = mg_program_new("g", NULL);
      int64_t n = pair == 3 ? 347 : 4;
      mg_output(g, mg_scale(g, mg_input(g, "X", MG_F16, 1, &n), 1, (int64_t)constant));
      assert_int_equal(mg_check(g, &e), MG_OK);
      const mg_graph *gs[1] = {g};
      assert_int_equal(mg_field_small(gs, 1, seed, opaque, &F, &e), MG_OK);
      assert_true(F.p * (F.q + 1) + 2 <= 65535 && mg_is_prime(F.p) && mg_is_prime(F.q) && (F.p - 1) % F.q == 0 && F.p < 512);
      assert_true(constant % F.p && constant % F.q && (uint64_t)n % F.p && (uint64_t)n % F.q);
      for (uint32_t w = 0; w < 65536; w++) {
        mg_fv v = mg_ff_unpack(&F, (uint16_t)w);
        if (w < F.p * (F.q + 1) + 2) assert_int_equal(mg_ff_pack(&F, v), w);
        else assert_true(v.flags & MG_FV_UNDEF);
        if (w < F.p * (F.q + 1)) assert_true(v.p < F.p && v.q < F.q && !(v.flags & ~(uint32_t)MG_FV_NOQ));
      }
      for (uint64_t p = 0; p < F.p; p++)
        for (uint64_t q = 0; q <= F.q; q++) {
          mg_fv v = mgi_fv(p, q == F.q ? 0 : q, q == F.q ? MG_FV_NOQ : 0);
          assert_true(same(mg_ff_unpack(&F, mg_ff_pack(&F, v)), v));
        }
      assert_true(mg_ff_unpack(&F, mg_ff_pack(&F, mgi_fv(0, 0, MG_FV_NEGINF))).flags == MG_FV_NEGINF);
      assert_true(mg_ff_unpack(&F, mg_ff_pack(&F, mgi_fv(0, 0, MG_FV_UNDEF))).flags == MG_FV_UNDEF);
      mg_graph_free(g);
      if (constant < 60000) constant *= F.p;
    }
  }
}

/* The two representations, on a µGraph with every kind of callback, zero divisors and empty maxima. */
static void domains_agree(void **state) {
  (void)state;
  mg_graph *g = parse("program g\ninput X : f16[5, 70]\ninput Y : f16[70, 11]\ninput Z : f16[1, 11]\n"
                      "A = matmul(X, Y)\nB = div(A, sub(Z, mul(Z, Z)))\nC = max(B, dim=1)\nD = sum(exp(B), dim=0)\nE = relu(add(sub(C, D), neg(B)))\n"
                      "O = mul(sqrt(add_scalar(scale(E, 3/5), 1/7)), silu(sqr(E)))\noutput O\n");
  mg_field F;
  mg_error e;
  int undefined = 0;
  for (int round = 0; round < 40; round++) {
    if (round < 3) mg_field_large(seed + (uint64_t)round, 1, &F);
    else mgi_field_fill(&F, 29, 0, seed + (uint64_t)round, 1); /* many zero divisors */
    mg_fv *in[3], *out = (mg_fv *)malloc(55 * sizeof *out);
    uint64_t *win[3], wout[55], s = seed + (uint64_t)round;
    for (int k = 0; k < 3; k++) {
      int64_t n = mgi_trial_elements(g, g->in[k]);
      in[k] = (mg_fv *)malloc((size_t)n * sizeof **in), win[k] = (uint64_t *)malloc((size_t)n * sizeof **win);
      for (int64_t i = 0; i < n; i++) in[k][i] = mg_ff_random(&F, &s), win[k][i] = in[k][i].p;
    }
    mg_domain pair = mg_domain_field(&F), word = mgi_domain_word(&F);
    void *o1[1] = {out}, *o2[1] = {wout};
    assert_int_equal(mg_eval(g, &pair, (const void *const *)in, o1, &e), MG_OK);
    assert_int_equal(mg_eval(g, &word, (const void *const *)win, o2, &e), MG_OK);
    for (int i = 0; i < 55; i++) {
      assert_true(mgi_word_out(out[i]) == wout[i]);
      undefined += wout[i] == MGI_WORD_UNDEF;
    }
    for (int k = 0; k < 3; k++) free(in[k]), free(win[k]);
    free(out);
  }
  assert_true(undefined > 0 && undefined < 40 * 55);
  mg_graph_free(g);
}

/* The inverses of a row at once are those one by one; 0, undefined and minus infinity have none. */
static void inverses(void **state) {
  (void)state;
  uint64_t s = seed, y[3 * MGI_WORD_BATCH], inverse[MGI_WORD_BATCH];
  for (int round = 0; round < 300; round++) {
    const mg_modulus M = mgi_modulus(mgi_ff_random_prime(&s, 2 + (int)(next(&s) % 60)));
    const int stride = 1 + round % 3, n = 1 + (int)(next(&s) % MGI_WORD_BATCH);
    for (int k = 0; k < n * stride; k++) {
      const int what = (int)(next(&s) % 8);
      y[k] = what == 0 ? 0 : what == 1 ? MGI_WORD_UNDEF : what == 2 ? MGI_WORD_NEGINF : next(&s) % M.m;
    }
    mgi_word_inverses(&M, y, stride, n, inverse);
    for (int k = 0; k < n; k++) {
      const uint64_t x = y[k * stride];
      assert_true(inverse[k] == (!x || x >> 62 ? 0 : mgi_invmod(&M, x)));
    }
  }
}

/* Both ways to multiply tiles are 128-bit sums reduced: random residues, and the largest. */
static void wide_products(void **state) {
  (void)state;
  uint64_t s = seed, a[4 * MGI_FF_TILE], b[MGI_FF_TILE * (MGI_FF_COLS + 3)], x[4 * MGI_FF_COLS], y[4 * MGI_FF_COLS];
  print_message("eight lanes: %s\n", mgi_ff_has_dot4() ? "yes" : "no");
  for (int round = 0; round < 300; round++) {
    mg_modulus M = mgi_modulus(round % 3 == 2 ? 2305843009213693951u : mgi_ff_random_prime(&s, round % 3 ? 20 + round % 41 : 61));
    int k = round < 4 ? 64 : 1 + (int)(next(&s) % 64), pitch = MGI_FF_COLS + round % 4;
    for (int j = 0; j < 4 * MGI_FF_TILE; j++) a[j] = round % 5 == 0 ? M.m - 1 : next(&s) % M.m;
    for (int j = 0; j < MGI_FF_TILE * pitch; j++) b[j] = round % 5 == 0 ? M.m - 1 : next(&s) % M.m;
    for (int r = 0; r < 4; r++) {
      mgi_ff_tile_dot(&M, a + r * MGI_FF_TILE, b, pitch, k, x + r * MGI_FF_COLS);
      for (int j = 0; j < MGI_FF_COLS; j++) {
        uint64_t sum = 0;
        for (int l = 0; l < k; l++) sum = (uint64_t)((sum + (mgi_u128)a[r * MGI_FF_TILE + l] * b[l * pitch + j]) % M.m);
        assert_true(x[r * MGI_FF_COLS + j] == sum);
      }
    }
    if (!mgi_ff_has_dot4()) continue;
    mgi_ff_tile_dot4(&M, a, b, pitch, k, y);
    assert_memory_equal(x, y, sizeof x);
  }
}

/* matmul against its definition, with strides, odd sizes and flagged elements. */
static void matmul_definition(void **state) {
  (void)state;
  uint64_t s = seed;
  for (int round = 0; round < 60; round++) {
    mg_field F = field_of(round % 4);
    int64_t m = 1 + (int64_t)(next(&s) % 70), n = 1 + (int64_t)(next(&s) % 20), k = 1 + (int64_t)(next(&s) % 140);
    int turned = (int)(next(&s) & 1);
    mg_fv *a = (mg_fv *)malloc((size_t)(m * k) * sizeof *a), *b = (mg_fv *)malloc((size_t)(k * n) * sizeof *b), *c = (mg_fv *)malloc((size_t)(m * n) * sizeof *c);
    for (int64_t i = 0; i < m * k; i++) a[i] = next(&s) % 256 || round % 3 ? mg_ff_random(&F, &s) : any(&F, &s);
    for (int64_t i = 0; i < k * n; i++) b[i] = next(&s) % 64 || round % 3 ? mg_ff_random(&F, &s) : any(&F, &s);
    for (int64_t i = 0; i < m * n; i++) c[i] = mg_ff_zero(&F);
    mg_view A, B, C;
    memset(&A, 0, sizeof A), memset(&B, 0, sizeof B), memset(&C, 0, sizeof C);
    A.data = a, A.shape.rank = 2, A.shape.dim[0] = m, A.shape.dim[1] = k, A.stride[0] = turned ? 1 : k, A.stride[1] = turned ? m : 1;
    B.data = b, B.shape.rank = 2, B.shape.dim[0] = k, B.shape.dim[1] = n, B.stride[0] = turned ? 1 : n, B.stride[1] = turned ? k : 1;
    C.data = c, C.shape.rank = 2, C.shape.dim[0] = m, C.shape.dim[1] = n, C.stride[0] = n, C.stride[1] = 1;
    mg_domain d = mg_domain_field(&F);
    assert_int_equal(d.matmul(d.user, &C, &A, &B), MG_OK);
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        mg_fv sum = mg_ff_zero(&F);
        for (int64_t l = 0; l < k; l++) sum = mg_ff_add(&F, sum, mg_ff_mul(&F, a[i * A.stride[0] + l * A.stride[1]], b[l * B.stride[0] + j * B.stride[1]]));
        assert_true(same(sum, c[i * n + j]));
      }
    if (!F.q) { /* over words, whose tiles are read where they lie if they are dense: the same */
      uint64_t *x = (uint64_t *)malloc((size_t)(m * k) * sizeof *x), *y = (uint64_t *)malloc((size_t)(k * n) * sizeof *y), *z = (uint64_t *)calloc((size_t)(m * n), sizeof *z);
      for (int64_t i = 0; i < m * k; i++) x[i] = mgi_word_out(a[i]);
      for (int64_t i = 0; i < k * n; i++) y[i] = mgi_word_out(b[i]);
      A.data = x, B.data = y, C.data = z, d = mgi_domain_word(&F);
      assert_int_equal(d.matmul(d.user, &C, &A, &B), MG_OK);
      for (int64_t i = 0; i < m * n; i++) assert_true(z[i] == mgi_word_out(c[i]));
      free(x), free(y), free(z);
    }
    free(a), free(b), free(c);
  }
}

/* ---- verdicts */

#define XYZ "input X : f16[6, 8]\ninput Y : f16[6, 8]\ninput Z : f16[8, 10]\n"
#define RMS "input X : f16[4, 32]\ninput G : f16[32]\ninput W : f16[32, 24]\n"
#define RMS_PROGRAM "Y = rms_norm(X, G, eps=1/1000000)\nO = matmul(Y, W)"
#define RMS_KERNEL(grid, loop, scale, eps, tail)                                                                                       \
  "O = kernel grid=(x=" grid ") threads=128 {\n  for i=" loop " {\n    a = load X {x->*, i->1}\n    g = load G {x->*, i->0}\n"            \
  "    w = load W {x->1, i->0}\n    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n"                                       \
  "  o = " tail "(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, " scale "), " eps ")))\n  store o {x->1}\n}"
#define ATT "input Q : f16[4, 6]\ninput K : f16[6, 12]\ninput V : f16[12, 5]\n"

static void right_pairs(void **state) {
  (void)state;
  expect_certified(XYZ, "O = add(matmul(X, Z), matmul(Y, Z))", "O = matmul(add(X, Y), Z)");
  expect_certified(XYZ, "O = matmul(X, Z)", "O = neg(matmul(neg(X), Z))");
  expect_certified("input X : f16[3, 5]\ninput A : f16[5, 4]\ninput B : f16[4, 6]\n", "O = matmul(X, matmul(A, B))", "O = matmul(matmul(X, A), B)");
  expect_certified("input X : f16[3, 5]\ninput Y : f16[3, 5]\ninput Z : f16[3, 5]\n", "O = div(X, mul(Y, Z))", "O = div(div(X, Y), Z)");
  expect_certified("input X : f16[3, 5]\n", "O = mean(sqr(X), dim=1)", "O = scale(sum(mul(X, X), dim=1), 1/5)");
  expect_certified("input X : f16[3, 5]\n", "O = transpose(neg(X), [1, 0])", "O = sub(transpose(X, [1, 0]), transpose(scale(X, 2), [1, 0]))");
  expect_certified("input X : f16[3, 5]\ninput Y : f16[3, 4]\ninput A : f16[5, 6]\ninput B : f16[4, 6]\n", "O = concat_matmul(X, Y, A, B)", "O = add(matmul(X, A), matmul(Y, B))");
  expect_certified(RMS, RMS_PROGRAM, "O = div(matmul(mul(X, G), W), sqrt(add_scalar(mean(sqr(X), dim=1), 1/1000000)))");
  expect_certified(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/1000000", "div"));
  expect_certified(RMS, RMS_PROGRAM, RMS_KERNEL("5", "7", "1/32", "1/1000000", "div")); /* ragged */
  expect_certified("input X : f16[4, 16]\ninput A : f16[16, 12]\ninput B : f16[16, 12]\n", "O = mul(silu(matmul(X, A)), matmul(X, B))",
                   "O = kernel grid=(x=3) threads=128 {\n  for i=4 {\n    x = load X {x->*, i->1}\n    a = load A {x->1, i->0}\n    b = load B {x->1, i->0}\n"
                   "    p = matmul(x, a)\n    q = matmul(x, b)\n  }\n  o = mul(silu(accum(p) {i->+}), accum(q) {i->+})\n  store o {x->1}\n}");
  /* exp opaque suffices */
  mg_verify_report r = expect_certified(ATT, "E = exp(scale(matmul(Q, K), 1/8))\nO = matmul(div(E, sum(E, dim=1)), V)", "E = exp(scale(matmul(Q, K), 1/8))\nO = div(matmul(E, V), sum(E, dim=1))");
  assert_false(r.two_field);
}

static void exponentials(void **state) {
  (void)state;
  mg_verify_report r = expect(MG_EQUAL, "input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = mul(exp(X), exp(Y))", "O = exp(add(X, Y))");
  assert_true(r.two_field && r.log2_delta <= -64 && strstr(r.theorem, "Theorem B"));
  r = expect_certified("input X : f16[4, 6]\ninput M : f16[4, 1]\n", "E = exp(X)\nO = div(E, sum(E, dim=1))", "E = exp(sub(X, M))\nO = div(E, sum(E, dim=1))");
  assert_true(r.two_field);
  expect_wrong("input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = add(exp(X), exp(Y))", "O = exp(add(X, Y))");
  expect_wrong("input X : f16[4, 6]\n", "O = exp(neg(X))", "O = neg(exp(X))");
  /* exp of exp: equal as opaque, else a second exponential */
  expect_certified("input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = exp(exp(add(X, Y)))", "O = exp(exp(add(Y, X)))");
  expect_proved("input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = exp(exp(add(X, Y)))", "O = exp(mul(exp(X), exp(Y)))");
  r = expect(MG_UNDECIDED, "input X : f16[4, 6]\n", "O = exp(exp(X))", "H = exp(scale(X, 1/2))\nO = exp(mul(H, H))");
  assert_non_null(strstr(r.reason, "exponential of an exponential"));
  expect_wrong("input X : f16[4, 6]\n", "O = exp(exp(X))", "O = exp(sqr(exp(X)))");
  expect(MG_EQUAL, "input X : f16[4, 6]\n", "O = logistic(X)", "E = exp(X)\nO = div(E, add_scalar(E, 1))");
}

static void maxima(void **state) {
  (void)state;
  /* a stable softmax: the maximum cancels */
  mg_verify_report r = expect_certified("input X : f16[4, 6]\n", "E = exp(X)\nO = div(E, sum(E, dim=1))", "E = exp(sub(X, max(X, dim=1)))\nO = div(E, sum(E, dim=1))");
  assert_true(r.two_field && strstr(r.reason, "for any function max"));
  r = expect_certified("input X : f16[4, 6]\n", "M = max(X, dim=1)\nO = sub(add(X, M), M)", "O = scale(X, 1)");
  assert_true(!r.two_field);
  /* the same maxima on both sides */
  r = expect_certified("input X : f16[4, 6]\ninput Z : f16[6, 5]\n", "O = matmul(relu(X), Z)",
                       "O = kernel grid=(x=1) threads=128 {\n  for i=3 {\n    a = load X {x->*, i->1}\n    z = load Z {x->*, i->0}\n    b = matmul(relu(a), z)\n  }\n  store accum(b) {i->+} {x->*}\n}");
  assert_true(r.opaque_terms == 12 && !strcmp(r.theorem, "Theorem A: Schwartz-Zippel over rational functions, other functions opaque; for all extents by Theorem C"));
  expect_proved("input X : f16[4, 6]\n", "O = max(X, dim=1)", "O = reshape(max(max(reshape(X, [4, 2, 3]), dim=2), dim=1), [4, 1])");
  expect_proved("input X : f16[4, 13]\n", "O = max(X, dim=1)",
         "O = kernel grid=(x=2) threads=128 {\n  for i=5 {\n    a = load X {x->0, i->1}\n    m = max(a, dim=1)\n  }\n  o = accum(m) {i->max}\n  store o {x->0}\n}");
  expect_proved("input X : f16[4, 6]\n", "O = relu(X)", "O = relu(relu(X))");
  expect_proved("input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "R = relu(X)\nO = sub(sub(add(R, Y), R), Y)", "R = relu(X)\nO = sub(sub(add(R, Y), Y), relu(R))"); /* rounding noise is no difference */
  expect_wrong("input X : f16[4, 6]\n", "O = relu(X)", "O = scale(X, 1)");
  expect_wrong("input X : f16[4, 6]\n", "O = max(X, dim=1)", "O = sum(X, dim=1)");
  expect_wrong("input X : f16[4, 6]\n", "E = exp(X)\nO = div(E, sum(E, dim=1))", "E = exp(sub(X, max(X, dim=1)))\nO = div(E, sum(exp(X), dim=1))");
  /* true of the real maximum, not of every order */
  expect_proved("input X : f16[4, 6]\n", "O = max(scale(X, 2), dim=1)", "O = scale(max(X, dim=1), 2)");
}

static void wrong_pairs(void **state) {
  (void)state;
  expect_wrong(XYZ, "O = add(matmul(X, Z), matmul(Y, Z))", "O = matmul(sub(X, Y), Z)");
  expect_wrong(XYZ, "O = add(matmul(X, Z), matmul(Y, Z))", "O = matmul(add(X, X), Z)");
  expect_wrong(XYZ, "O = matmul(X, Z)", "O = matmul(Y, Z)");
  expect_wrong("input X : f16[6, 6]\n", "O = sum(X, dim=0)", "O = transpose(sum(X, dim=1), [1, 0])");
  expect_wrong("input X : f16[6, 6]\n", "O = scale(X, 1/3)", "O = scale(X, 333333/1000000)");
  /* each is one change to the fused kernel */
  expect_wrong(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/31", "1/1000000", "div"));
  expect_wrong(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/100000", "div"));
  expect_wrong(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/999999", "div"));
  expect_wrong(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/1000000", "mul"));
  expect_wrong(RMS, RMS_PROGRAM, "O = matmul(mul(X, G), W)");
  expect_wrong(RMS, RMS_PROGRAM, "O = matmul(div(X, sqrt(add_scalar(mean(sqr(X), dim=1), 1/1000000))), W)");
  expect_wrong(RMS, RMS_PROGRAM, "O = div(matmul(mul(X, G), W), sqrt(add_scalar(mean(sqr(mul(X, G)), dim=1), 1/1000000)))");
  expect_wrong(RMS, RMS_PROGRAM, "O = div(matmul(mul(X, G), W), add_scalar(mean(sqr(X), dim=1), 1/1000000))");
  expect_wrong(ATT, "E = exp(matmul(Q, K))\nO = div(matmul(E, V), sum(E, dim=1))", "E = exp(matmul(Q, K))\nO = matmul(E, div(V, sum(V, dim=0)))");
}

static void undecided(void **state) {
  (void)state;
  /* unlike as opaque functions: EQUAL by proof, and only on the domain of the first */
  mg_verify_report r = expect_proved("input S : f16[4, 6]\n", "O = sqrt(scale(S, 1/4096))", "O = scale(sqrt(S), 1/64)");
  assert_true(!r.confirmed && !r.agreed);
  expect_proved("input S : f16[4, 6]\n", "O = sqr(sqrt(S))", "O = scale(S, 1)");
  /* neither a proof nor floats tell */
  r = expect(MG_UNDECIDED, "input S : f16[4, 6]\n", "O = exp(exp(S))", "H = exp(scale(S, 1/2))\nO = exp(mul(H, H))");
  assert_true(!r.confirmed && !r.agreed && !r.partial);
  /* a divisor that is zero everywhere */
  r = expect(MG_UNDECIDED, "input S : f16[4, 6]\n", "O = div(S, sub(S, scale(S, 1)))", "O = div(S, sub(scale(S, 1), S))");
  assert_non_null(strstr(r.reason, "divided by zero"));
  assert_true(r.undefined > 0);
  /* floats may be left out: a wrong pair is then undecided, never equal */
  mg_verify_config c = mg_verify_config_default();
  c.skip_floats = 1, c.tier = MG_TIER_FAST, c.seed = seed;
  assert_int_equal(verify_cfg("input S : f16[4, 6]\n", "O = sqrt(S)", "O = silu(S)", &c).verdict, MG_UNDECIDED);
  assert_int_equal(verify_cfg("input S : f16[4, 6]\n", "O = add_scalar(S, 1)", "O = add_scalar(S, 2)", &c).verdict, MG_NOT_EQUAL);
  /* a field tells rational functions apart where doubles do not */
  r = expect(MG_NOT_EQUAL, "input S : f16[4, 6]\n", "O = add(S, scale(S, 1/2000000000))", "O = add(S, scale(S, 1/1999999999))");
  assert_false(r.confirmed);
}

static void zero_divisors_never_mislead(void **state) {
  (void)state;
  expect_certified("input X : f16[40, 50]\ninput Y : f16[40, 50]\n", "O = div(mul(X, Y), Y)", "O = scale(X, 1)");
  expect_certified("input X : f16[40, 50]\n", "O = div(sub(sqr(X), X), X)", "O = add_scalar(X, -1)");
}

static void user_rows(void **state) {
  (void)state;
  expect_certified(XYZ, "O = matmul(bend(add(X, Y)), Z)", "O = matmul(bend(add(Y, X)), Z)");
  expect_wrong(XYZ, "O = matmul(bend(add(X, Y)), Z)", "O = matmul(bend(sub(X, Y)), Z)");
  expect_wrong(XYZ, "O = bend(X)", "O = silu(X)");
  expect_certified(XYZ, "O = avg2(X, Y, 1/2)", "O = scale(add(X, Y), 1/2)");
  expect_wrong(XYZ, "O = avg2(X, Y, 1/2)", "O = scale(add(X, Y), 1/3)");
  expect_certified(XYZ, "O = softstep(add(X, Y), 1/2)", "O = softstep(add(Y, X), 1/2)");
  expect_wrong(XYZ, "O = softstep(X, 1/2)", "O = softstep(X, 1/3)");
}

/* Every E row, alone and after a µGraph of one block, equals itself; the table is looped over. */
static void every_row(void **state) {
  (void)state;
  int rows = 0;
  for (int op = 1; op < MG_OP_TABLE_END; op++) {
    const mg_op_info *row = mg_op_row((mg_opcode)op);
    if (!row->elementwise) continue;
    mg_graph *g[2];
    mg_verify_report r;
    mg_error e;
    for (int k = 0; k < 2; k++) {
      int64_t dim[2] = {3, 8}, grid[3] = {2, 1, 1};
      mg_attr A;
      memset(&A, 0, sizeof A);
      A.c = mg_rat(2, 3);
      g[k] = mg_program_new("row", NULL);
      mg_tensor in[2] = {mg_input(g[k], "X", MG_F16, 2, dim), mg_input(g[k], "Y", MG_F16, 2, dim)}, out;
      if (k == 0) out = mg_apply(g[k], (mg_opcode)op, &A, row->n_in, in);
      else {
        mg_graph *b = mg_graph_begin(g[k], grid, 128);
        mg_map m = mg_map_set(mg_map_none(), mg_grid_axis(b, 0), 1);
        mg_tensor t[2] = {mg_load(b, in[0], m), mg_load(b, in[1], m)};
        mg_store(b, mg_apply(b, (mg_opcode)op, &A, row->n_in, t), m);
        assert_int_equal(mg_graph_end(b, &out), 1);
      }
      mg_output(g[k], out);
      if (mg_check(g[k], &e) != MG_OK) fail_msg("%s: %s", row->name, e.msg);
    }
    mg_verify_config c = mg_verify_config_default();
    c.seed = seed;
    assert_int_equal(mg_verify(g[0], g[1], &c, &r, &e), MG_OK);
    if (r.verdict != MG_EQUAL && r.verdict != MG_EQUAL_SAMPLED) fail_msg("%s: %s", row->name, r.reason);
    rows++;
    mg_graph_free(g[0]), mg_graph_free(g[1]);
  }
  assert_true(rows >= 18);
}

/* ---- bounds: on a line x = u + t v every output element is N(t)/D(t); the degrees claimed must be enough for a pair
   (N, D) to fit more points than they have coefficients. */

static int fits(const mg_modulus *M, const uint64_t *t, const uint64_t *y, int points, int n, int d) {
  int cols = n + d + 2, rank = 0;
  uint64_t *a = (uint64_t *)calloc((size_t)points * (size_t)cols, sizeof *a);
  for (int i = 0; i < points; i++) {
    uint64_t w = 1;
    for (int k = 0; k <= (n > d ? n : d); k++, w = mgi_mulmod(M, w, t[i])) {
      if (k <= n) a[i * cols + k] = w;
      if (k <= d) a[i * cols + n + 1 + k] = mgi_submod(M, 0, mgi_mulmod(M, w, y[i]));
    }
  }
  for (int c = 0; c < cols && rank < points; c++) {
    int pivot = rank;
    while (pivot < points && !a[pivot * cols + c]) pivot++;
    if (pivot == points) continue;
    for (int k = 0; k < cols; k++) { uint64_t x = a[pivot * cols + k]; a[pivot * cols + k] = a[rank * cols + k], a[rank * cols + k] = x; }
    uint64_t inv = mgi_invmod(M, a[rank * cols + c]);
    for (int r = rank + 1; r < points; r++) {
      uint64_t f = mgi_mulmod(M, a[r * cols + c], inv);
      for (int k = c; f && k < cols; k++) a[r * cols + k] = mgi_submod(M, a[r * cols + k], mgi_mulmod(M, f, a[rank * cols + k]));
    }
    rank++;
  }
  free(a);
  return rank < cols;
}

static void degree_bounds(void **state) {
  (void)state;
  static const char *const program[] = {
    "O = add(div(X, Y), div(Y, X))", "O = matmul(div(X, Y), Z)", "O = div(matmul(X, Z), matmul(Y, Z))", "O = sum(div(sqr(X), add(X, Y)), dim=1)",
    "O = mul(sum(mul(X, Y), dim=1), div(X, sum(sqr(Y), dim=1)))", "O = concat_matmul(X, Y, Z, div(Z, scale(Z, 2/3)))",
    "O = matmul(div(X, sum(sqr(Y), dim=1)), Z)", "O = sum(div(X, sum(Y, dim=1)), dim=0)", "O = matmul(div(X, sum(Y, dim=0)), Z)", "O = sum(transpose(div(X, sum(Y, dim=0)), [1, 0]), dim=1)",
    "O = sum(concat(div(X, sum(Y, dim=1)), X, dim=1), dim=1)", "O = sum(reshape(div(X, sum(Y, dim=1)), [3, 2]), dim=1)", "O = sum(repeat(div(X, sum(Y, dim=1)), dim=1, n=2), dim=1)",
    "O = kernel grid=(x=2) threads=128 {\n  for i=3 {\n    a = load X {x->0, i->1}\n    b = load Y {x->0}\n    c = matmul(div(a, sum(b, dim=1)), load Z {i->0})\n  }\n  o = accum(c) {i->+}\n  store o {x->0}\n}",
    "O = kernel grid=(y=3) threads=128 {\n  a = load X {y->1}\n  b = load Y {y->1}\n  store accum(div(a, b)) {y->+} {y->*}\n}", "O = kernel grid=(y=3) threads=128 {\n  a = load X {y->1}\n  b = load Y {}\n  store accum(div(a, sum(b, dim=1))) {y->1} {y->*}\n}",
    "P = kernel grid=(x=2) threads=128 {\n  store div(load X {x->0}, sum(load Y {x->0}, dim=1)) {x->0}\n}\nO = sum(P, dim=1)",
    "O = avg2(div(X, Y), sub(X, Y), 3/5)", "O = sub(X, neg(add_scalar(div(X, Y), 1/7)))", "O = transpose(concat(X, div(X, Y), dim=1), [1, 0])",
    "O = kernel grid=(x=1) threads=128 {\n  for i=3 {\n    a = load X {x->*, i->1}\n    b = load Y {x->*, i->1}\n    c = sum(div(a, b), dim=1)\n  }\n  o = accum(c) {i->+}\n  store o {x->*}\n}"};
  static const double degree[64] = {2, 0, 2, 0, 0, 0, 2}; /* where the exact degree of N is plain to see */
  mg_field F;
  mg_field_large(seed, 1, &F);
  mg_domain d = mg_domain_field(&F);
  uint64_t s = seed;
  for (size_t k = 0; k < sizeof program / sizeof *program; k++) {
    char text[2048];
    snprintf(text, sizeof text, "program p\ninput X : f16[2, 3]\ninput Y : f16[2, 3]\ninput Z : f16[3, 2]\n%s\noutput O\n", program[k]);
    mg_graph *g = parse(text);
    mgi_bounds B;
    mg_error e;
    assert_int_equal(mgi_bounds_of(g, 0, &B, &e), MG_OK);
    if (degree[k] > 0) assert_true(B.out.n == degree[k]);
    assert_true(B.out.n + B.out.d < 100);
    int points = (int)(B.out.n + B.out.d) + 8, loose = 0;
    int64_t n_out = mgi_trial_elements(g, g->out[0]);
    mg_fv u[3][6], v[3][6], x[3][6], out[64];
    uint64_t t[128], y[128];
    for (int j = 0; j < 18; j++) u[j / 6][j % 6] = mg_ff_random(&F, &s), v[j / 6][j % 6] = mg_ff_random(&F, &s);
    for (int64_t i = 0; i < n_out; i += 3) {
      for (int p = 0; p < points; p++) {
        mg_fv at = mg_ff_random(&F, &s);
        for (int j = 0; j < 18; j++) x[j / 6][j % 6] = mg_ff_add(&F, u[j / 6][j % 6], mg_ff_mul(&F, at, v[j / 6][j % 6]));
        const void *in[3] = {x[0], x[1], x[2]};
        void *outs[1] = {out};
        assert_int_equal(mg_eval(g, &d, in, outs, &e), MG_OK);
        assert_false(out[i].flags & MGI_FV_SPECIAL);
        t[p] = at.p, y[p] = out[i].p;
      }
      if (!fits(&F.mp, t, y, points, (int)B.out.n, (int)B.out.d)) fail_msg("degrees %g / %g are too small for %s", B.out.n, B.out.d, program[k]);
      loose |= B.out.n >= 1 && fits(&F.mp, t, y, points, (int)B.out.n - 1, (int)B.out.d);
    }
    if (degree[k] > 0) assert_false(loose); /* and the test can tell */
    mg_graph_free(g);
  }
}

static char *put(char *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  s += vsprintf(s, fmt, ap);
  va_end(ap);
  return s;
}

/* ---- the two-field reading: elements as fractions of sums of c e^l, c in Z_p and l in Z_q, by their definition */

typedef struct sum_of { int n; uint64_t e[1], c[1]; } sum_of; /* e[0 .. n), then c[0 .. n), in one allocation */
typedef struct fraction { mg_fv v; sum_of *N, *D; } fraction; /* v where no exponential is inside */
static struct { const mg_field *F; void *kept[1 << 16]; int n_kept, over; } ring;

static sum_of *sum_new(int n) {
  sum_of *r = (sum_of *)calloc(1, sizeof *r + 16 * (size_t)n);
  if (ring.n_kept == 1 << 16) fail_msg("the ring is full");
  ring.kept[ring.n_kept++] = r;
  r->n = n;
  return r;
}
static uint64_t *exponents(sum_of *a) { return a->e; }
static uint64_t *coefficients(sum_of *a) { return a->e + a->n; }
typedef struct one_term { uint64_t e, c; } one_term;
static int by_exponent(const void *a, const void *b) {
  uint64_t x = ((const one_term *)a)->e, y = ((const one_term *)b)->e;
  return x < y ? -1 : x > y;
}
/* The terms, like ones put together, none with coefficient 0. */
static sum_of *sum_of_terms(one_term *t, int n) {
  int m = 0;
  qsort(t, (size_t)n, sizeof *t, by_exponent);
  for (int k = 0; k < n; k++) {
    if (m && t[m - 1].e == t[k].e) t[m - 1].c = mgi_addmod(&ring.F->mp, t[m - 1].c, t[k].c);
    else {
      if (m && !t[m - 1].c) m--;
      t[m++] = t[k];
    }
  }
  if (m && !t[m - 1].c) m--;
  sum_of *r = sum_new(m);
  for (int k = 0; k < m; k++) exponents(r)[k] = t[k].e, coefficients(r)[k] = t[k].c;
  return r;
}
static sum_of *sum_term(uint64_t e, uint64_t c) {
  one_term t = {e, c};
  return sum_of_terms(&t, 1);
}
static sum_of *sum_add(sum_of *a, sum_of *b, int minus) {
  one_term *t = (one_term *)malloc((size_t)(a->n + b->n + 1) * sizeof *t);
  for (int k = 0; k < a->n; k++) t[k].e = exponents(a)[k], t[k].c = coefficients(a)[k];
  for (int k = 0; k < b->n; k++) t[a->n + k].e = exponents(b)[k], t[a->n + k].c = minus ? mgi_submod(&ring.F->mp, 0, coefficients(b)[k]) : coefficients(b)[k];
  sum_of *r = sum_of_terms(t, a->n + b->n);
  free(t);
  return r;
}
static sum_of *sum_mul(sum_of *a, sum_of *b) {
  if ((int64_t)a->n * b->n > 100000) { ring.over = 1; return a; }
  one_term *t = (one_term *)malloc((size_t)(a->n * b->n + 1) * sizeof *t);
  for (int j = 0; j < a->n; j++)
    for (int k = 0; k < b->n; k++) t[j * b->n + k].e = mgi_addmod(&ring.F->mq, exponents(a)[j], exponents(b)[k]), t[j * b->n + k].c = mgi_mulmod(&ring.F->mp, coefficients(a)[j], coefficients(b)[k]);
  sum_of *r = sum_of_terms(t, a->n * b->n);
  free(t);
  return r;
}
static int sum_same(sum_of *a, sum_of *b) { return a->n == b->n && !memcmp(exponents(a), exponents(b), 16 * (size_t)a->n); }
static fraction fr(mg_fv v, sum_of *N, sum_of *D) {
  fraction r;
  r.v = v, r.N = N, r.D = D;
  return r;
}
static fraction fr_plain(mg_fv v) { return fr(v, sum_term(0, v.p), sum_term(0, 1)); }
static fraction fr_zero(const mg_field *F) { return fr_plain(mg_ff_zero(F)); }
MGI_UNUSED static fraction fr_one(const mg_field *F) { return fr_plain(mg_ff_one(F)); }
static fraction fr_sum(const mg_field *F, fraction a, fraction b, int minus) {
  mg_fv v = minus ? mg_ff_sub(F, a.v, b.v) : mg_ff_add(F, a.v, b.v);
  if (sum_same(a.D, b.D)) return fr(v, sum_add(a.N, b.N, minus), a.D);
  return fr(v, sum_add(sum_mul(a.N, b.D), sum_mul(b.N, a.D), minus), sum_mul(a.D, b.D));
}
static fraction fr_add(const mg_field *F, fraction a, fraction b) { return fr_sum(F, a, b, 0); }
static fraction fr_sub(const mg_field *F, fraction a, fraction b) { return fr_sum(F, a, b, 1); }
static fraction fr_mul(const mg_field *F, fraction a, fraction b) { return fr(mg_ff_mul(F, a.v, b.v), sum_mul(a.N, b.N), sum_mul(a.D, b.D)); }
static fraction fr_div(const mg_field *F, fraction a, fraction b) {
  mg_fv v = mg_ff_div(F, a.v, b.v);
  if (!b.N->n) { ring.over = 1; return a; }
  if (b.N->n == 1) return fr(v, sum_mul(sum_mul(a.N, b.D), sum_term(mgi_submod(&F->mq, 0, exponents(b.N)[0]), mgi_invmod(&F->mp, coefficients(b.N)[0]))), a.D);
  return fr(v, sum_mul(a.N, b.D), sum_mul(a.D, b.N));
}
static fraction fr_max(const mg_field *F, fraction a, fraction b) { return fr_plain(mg_ff_max(F, a.v, b.v)); }
static fraction fr_exp(const mg_field *F, fraction a) {
  ring.over |= (a.v.flags & (MG_FV_NOQ | MGI_FV_SPECIAL)) != 0;
  return fr(mg_ff_exp(F, a.v), sum_term(a.v.q, 1), sum_term(0, 1));
}
static fraction fr_opaque_c(const mg_field *F, int op, int nonzero, fraction a, fraction c) { return fr_plain(mg_ff_opaque_c(F, op, nonzero, a.v, c.v)); }
#undef MGI_FFN
#define MGI_FFN(f) fr_##f
static fraction fr_apply(const mg_field *F, mg_opcode op, fraction a, fraction b, fraction c) {
  (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) case MG_OP_##id: return field;
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: fail_msg("no row"); return a;
  }
}
#undef MGI_FFN
#define MGI_FFN(f) mg_ff_##f
static mg_status fr_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  const mg_field *F = (const mg_field *)user;
  const mg_op_info *row = mg_op_row(op);
  fraction c = row->attr == MG_ATTR_RAT ? fr_plain(mg_ff_const(F, rc)) : fr_zero(F), zero = fr_zero(F);
  int64_t at[MG_MAX_RANK] = {0};
  int r = out->shape.rank;
  do
    for (int64_t k = 0; k < out->shape.dim[r - 1]; k++) {
      const fraction *a = (const fraction *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1) + k * in[0].stride[r - 1];
      const fraction *b = row->n_in > 1 ? (const fraction *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) + k * in[1].stride[r - 1] : &zero;
      ((fraction *)out->data)[mgi_ff_row_offset(out, at, r - 1) + k * out->stride[r - 1]] = fr_apply(F, op, *a, *b, c);
    }
  while (mgi_ff_next_row(&out->shape, at));
  return ring.over ? MG_LIMIT : MG_OK;
}
static mg_status fr_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  const mg_field *F = (const mg_field *)user;
  for (int64_t i = 0; i < c->shape.dim[0]; i++)
    for (int64_t j = 0; j < c->shape.dim[1]; j++) {
      fraction *o = (fraction *)c->data + i * c->stride[0] + j * c->stride[1];
      for (int64_t k = 0; k < a->shape.dim[1]; k++) *o = fr_add(F, *o, fr_mul(F, ((const fraction *)a->data)[i * a->stride[0] + k * a->stride[1]], ((const fraction *)b->data)[k * b->stride[0] + j * b->stride[1]]));
    }
  return ring.over ? MG_LIMIT : MG_OK;
}
static mg_status fr_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  const mg_field *F = (const mg_field *)user;
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  do
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++) {
      fraction *o = (fraction *)out->data + mgi_ff_row_offset(out, at, r - 1) + k * out->stride[r - 1];
      const fraction *a = (const fraction *)in->data + mgi_ff_row_offset(in, at, r - 1) + k * in->stride[r - 1];
      *o = op == MG_OP_SUM ? fr_add(F, *o, *a) : fr_max(F, *o, *a);
    }
  while (mgi_ff_next_row(&in->shape, at));
  return ring.over ? MG_LIMIT : MG_OK;
}
static void fr_fill(void *user, mg_opcode op, void *dst, size_t n) {
  const mg_field *F = (const mg_field *)user;
  for (size_t k = 0; k < n; k++) ((fraction *)dst)[k] = op == MG_OP_SUM ? fr_zero(F) : fr_plain(mgi_fv(0, 0, MG_FV_NEGINF));
}

/* The most terms of N and of D over the elements of all outputs; 0 if it cannot be told. */
static int ring_terms(const mg_graph *g, uint64_t from, int *N, int *D) {
  mg_field F;
  mg_domain d;
  mg_error e;
  fraction *in[MG_MAX_IN], *out[MG_MAX_OUT];
  *N = *D = 0;
  while (mgi_field_pair(from, 40, &F) != MG_OK) from++;
  F.max_opaque = 1;
  memset(&ring, 0, sizeof ring), memset(&d, 0, sizeof d);
  ring.F = &F;
  d.user = &F, d.elem = sizeof(fraction), d.map = fr_map, d.matmul = fr_matmul, d.combine = fr_combine, d.fill = fr_fill;
  for (uint32_t k = 0; k < g->n_in; k++) {
    int64_t n = mgi_trial_elements(g, g->in[k]);
    in[k] = (fraction *)malloc((size_t)n * sizeof **in);
    for (int64_t i = 0; i < n; i++) in[k][i] = fr_plain(mg_ff_random(&F, &from));
  }
  for (uint32_t k = 0; k < g->n_out; k++) out[k] = (fraction *)malloc((size_t)mgi_trial_elements(g, g->out[k]) * sizeof **out);
  int good = mg_eval(g, &d, (const void *const *)in, (void *const *)out, &e) == MG_OK && !ring.over;
  for (uint32_t k = 0; k < g->n_out; k++)
    for (int64_t i = 0; good && i < mgi_trial_elements(g, g->out[k]); i++) {
      if (out[k][i].N->n > *N) *N = out[k][i].N->n;
      if (out[k][i].D->n > *D) *D = out[k][i].D->n;
    }
  for (uint32_t k = 0; k < g->n_in; k++) free(in[k]);
  for (uint32_t k = 0; k < g->n_out; k++) free(out[k]);
  for (int k = 0; k < ring.n_kept; k++) free(ring.kept[k]);
  return good;
}

static void exponential_bounds(void **state) {
  (void)state;
  static const struct { const char *text; int N, D; double weight; } program[] = {
    {"O = exp(X)", 1, 1, 1}, {"O = mul(exp(X), exp(Y))", 1, 1, 2}, {"O = div(exp(X), exp(Y))", 1, 1, 2}, {"O = sum(exp(X), dim=1)", 8, 1, 1}, {"O = sum(div(X, exp(Y)), dim=1)", 8, 1, 1},
    {"E = exp(X)\nO = matmul(div(E, sum(E, dim=1)), Z)", 8, 8, 1}, {"E = exp(X)\nO = sum(div(E, sum(E, dim=0)), dim=0)", 6, 6, 1}, {"E = exp(X)\nO = sum(div(E, sum(E, dim=1)), dim=0)", 0, 262144, 6},
    {"O = sqr(add(exp(X), exp(Y)))", 3, 1, 2}, {"E = exp(X)\nO = transpose(div(E, sum(E, dim=1)), [1, 0])", 1, 8, 1}, {"E = exp(X)\nT = transpose(div(E, sum(E, dim=1)), [1, 0])\nO = sum(T, dim=0)", 8, 8, 1},
    {"O = sum(concat(div(X, add_scalar(exp(sum(Y, dim=1)), 1)), X, dim=1), dim=1)", 0, 0, 0}, {"E = exp(X)\nO = sum(reshape(div(E, sum(E, dim=1)), [24, 2]), dim=1)", 2, 8, 1},
    {"O = matmul(exp(X), repeat(exp(Z), dim=1, n=2))", 8, 1, 2}, {"E = exp(sub(X, max(X, dim=1)))\nO = matmul(div(E, sum(E, dim=1)), Z)", 8, 8, 1},
    {"S = reshape(X, [6, 2, 4])\nm = max(S, dim=2)\nM = max(m, dim=1)\ne = exp(sub(S, m))\na = exp(sub(m, M))\nO = div(sum(mul(a, sum(mul(e, S), dim=2)), dim=1), sum(mul(a, sum(e, dim=2)), dim=1))", 8, 8, 2},
    {"O = kernel grid=(x=3) threads=128 {\n  for i=4 {\n    a = load X {x->0, i->1}\n    z = load Z {x->*, i->0}\n    e = exp(a)\n    n = matmul(e, z)\n    d = sum(e, dim=1)\n  }\n  store div(accum(n) {i->+}, accum(d) {i->+}) {x->0}\n}", 8, 8, 1},
    {"O = kernel grid=(x=2) threads=128 {\n  for i=2 {\n    a = load X {x->0, i->1}\n    z = load Z {x->*, i->0}\n    e = exp(a)\n    n = matmul(div(e, sum(e, dim=1)), z)\n  }\n  store accum(n) {i->+} {x->0}\n}", 16, 16, 2},
    {"P = kernel grid=(x=2, y=2) threads=128 {\n  a = load X {x->0, y->1}\n  e = exp(a)\n  store div(e, sum(e, dim=1)) {x->0, y->1}\n}\nO = sum(P, dim=1)", 0, 0, 0},
    {"O = kernel grid=(z=4) threads=128 {\n  a = load X {z->1}\n  b = load Y {}\n  store accum(div(sum(exp(a), dim=1), sum(exp(b), dim=1))) {z->+} {z->*}\n}", 8, 8, 1}};
  int tight = 0;
  for (size_t k = 0; k < sizeof program / sizeof *program; k++) {
    char text[2048];
    int N, D;
    mgi_bounds B;
    mg_error e;
    snprintf(text, sizeof text, "program p\ninput X : f16[6, 8]\ninput Y : f16[6, 8]\ninput Z : f16[8, 5]\n%s\noutput O\n", program[k].text);
    mg_graph *g = parse(text);
    assert_int_equal(mgi_bounds_of(g, 1, &B, &e), MG_OK);
    assert_false(B.nested);
    if (program[k].weight > 0) assert_true(mgi_bound_max2(B.out.wn, B.out.wd) >= program[k].weight && mgi_bound_max2(B.out.wn, B.out.wd) <= 2 * program[k].weight);
    if (!ring_terms(g, seed + k, &N, &D)) { /* as many as the ring cannot hold */
      if (program[k].D < 100000) fail_msg("the ring does not hold the terms of %s", program[k].text);
      assert_true(B.out.ed >= log2(program[k].D));
    } else {
      if (N > exp2(B.out.en) * 1.0001 || D > exp2(B.out.ed) * 1.0001) fail_msg("%d and %d terms, bounds %g and %g: %s", N, D, exp2(B.out.en), exp2(B.out.ed), program[k].text);
      if (program[k].D && (N != program[k].N || D != program[k].D)) fail_msg("%d and %d terms, expected %d and %d: %s", N, D, program[k].N, program[k].D, program[k].text);
      tight += N >= exp2(B.out.en) / 1.01 && D >= exp2(B.out.ed) / 1.01;
    }
    mg_graph_free(g);
  }
  assert_true(tight >= 12); /* a bound below any of those would have been found out */
  int told = 0;
  for (int round = 0; round < 300; round++) { /* random ones */
    char text[2048], *t = put(text, "program p\ninput a0 : f16[2, 3]\ninput a1 : f16[2, 3]\n");
    uint64_t at = seed + 7919 * (uint64_t)round;
    int N, D;
    mgi_bounds B;
    mg_error e;
    for (int line = 2; line < 8; line++) {
      int x = (int)(next(&at) % (uint64_t)line), y = (int)(next(&at) % (uint64_t)line);
      static const char *const form[] = {"add(a%d, a%d)", "mul(a%d, a%d)", "div(a%d, a%d)", "mul(a%d, sum(a%d, dim=1))", "add(exp(a0), mul(a%d, a%d))", "mul(exp(a1), sub(a%d, a%d))", "div(a%d, sum(a%d, dim=0))"};
      t = put(t, "a%d = ", line), t = put(t, form[next(&at) % 7], x, y), t = put(t, "\n");
    }
    put(t, "output a7\n");
    mg_graph *g = parse(text);
    assert_int_equal(mgi_bounds_of(g, 1, &B, &e), MG_OK);
    if (ring_terms(g, at, &N, &D)) {
      told++;
      if (N > exp2(B.out.en) * 1.0001 || D > exp2(B.out.ed) * 1.0001) fail_msg("%d and %d terms, bounds %g and %g: %s", N, D, exp2(B.out.en), exp2(B.out.ed), text);
    }
    mg_graph_free(g);
  }
  assert_true(told > 100);
}

/* How many opaque terms an output element really mentions: change the value of one at a time. */
typedef struct probe { const mg_field *F; uint64_t arg[4096], poke; int n, listing; } probe;
static mg_status probe_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  probe *P = (probe *)user;
  int64_t i[MG_MAX_RANK] = {0};
  mg_status s = mgi_pair_map((void *)(uintptr_t)P->F, op, c, out, in);
  if (op != MG_OP_EXP && op != MG_OP_SILU && op != MG_OP_SQRT && op != MG_OP_BEND) return s;
  do {
    for (int64_t k = 0; k < out->shape.dim[out->shape.rank - 1]; k++) {
      mg_fv *o = (mg_fv *)out->data + mgi_ff_row_offset(out, i, out->shape.rank - 1) + k * out->stride[out->shape.rank - 1];
      const mg_fv *a = (const mg_fv *)in[0].data + mgi_ff_row_offset(&in[0], i, out->shape.rank - 1) + k * in[0].stride[out->shape.rank - 1];
      uint64_t id = mgi_ff_hash(a->p, (uint64_t)op, 0);
      int known = 0;
      for (int j = 0; P->listing && j < P->n; j++) known |= P->arg[j] == id;
      if (P->listing && !known) { assert_true(P->n < 4096); P->arg[P->n++] = id; }
      if (!P->listing && id == P->poke) o->p = mgi_addmod(&P->F->mp, o->p, 1);
    }
  } while (mgi_ff_next_row(&out->shape, i));
  return s;
}
static mg_status probe_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) { return mgi_ff_matmul(((probe *)user)->F, 0, c, a, b); }
static mg_status probe_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) { return mgi_ff_combine(((probe *)user)->F, 0, op, out, in); }

static void term_bounds(void **state) {
  (void)state;
  static const struct { const char *text; double exact; } program[] = {
    {"O = matmul(bend(X), silu(Z))", 16}, {"E = exp(matmul(X, Z))\nO = matmul(div(E, sum(E, dim=1)), Z2)", 10}, {"O = silu(add(bend(X), Y))", 2},
    {"O = sum(mul(exp(X), silu(sum(Y, dim=1))), dim=1)", 9}, {"O = sum(transpose(concat(exp(X), bend(Y), dim=0), [1, 0]), dim=1)", 12}, {"O = sum(reshape(exp(X), [4, 12]), dim=1)", 12},
    {"O = sum(repeat(exp(X), dim=1, n=2), dim=1)", 8}, {"O = sum(repeat(exp(X), dim=1, n=2), dim=0)", 6}, {"O = concat_matmul(exp(X), Y, Z, bend(Z))", 16}, {"O = sum(sum(sqrt(matmul(X, Z)), dim=0), dim=1)", 60},
    {"O = kernel grid=(x=2, y=5) threads=128 {\n  for i=4 {\n    a = load X {x->0, y->*, i->1}\n    b = load Z {x->*, y->1, i->0}\n    c = matmul(exp(a), bend(b))\n    d = sum(silu(a), dim=1)\n  }\n"
     "  o = add(accum(c) {i->+}, accum(d) {i->+})\n  store o {x->0, y->1}\n}", 24},
    {"P = kernel grid=(x=2) threads=128 {\n  for i=4 {\n    a = load X {x->0, i->1}\n    b = exp(a)\n  }\n  o = accum(b) {i->1}\n  store o {x->0}\n}\nO = matmul(P, Z)", 8}};
  mg_field F;
  mg_field_large(seed, 1, &F);
  probe P;
  mg_domain d = mg_domain_field(&F);
  d.user = &P, d.map = probe_map, d.matmul = probe_matmul, d.combine = probe_combine;
  uint64_t s = seed;
  for (size_t k = 0; k < sizeof program / sizeof *program; k++) {
    char text[2048];
    snprintf(text, sizeof text, "program p\ninput X : f16[6, 8]\ninput Y : f16[6, 8]\ninput Z : f16[8, 10]\ninput Z2 : f16[10, 3]\n%s\noutput O\n", program[k].text);
    mg_graph *g = parse(text);
    mgi_bounds B;
    mg_error e;
    assert_int_equal(mgi_bounds_of(g, 0, &B, &e), MG_OK);
    mg_fv x[4][80], first[96], out[96];
    const void *in[4] = {x[0], x[1], x[2], x[3]};
    void *outs[1] = {out};
    for (int j = 0; j < 4 * 80; j++) x[j / 80][j % 80] = mg_ff_random(&F, &s);
    int64_t n = mgi_trial_elements(g, g->out[0]);
    int count[96] = {0}, most = 0;
    memset(&P, 0, sizeof P);
    P.F = &F, P.listing = 1;
    assert_int_equal(mg_eval(g, &d, in, outs, &e), MG_OK);
    memcpy(first, out, sizeof out);
    P.listing = 0;
    for (int j = 0; j < P.n; j++) {
      P.poke = P.arg[j];
      assert_int_equal(mg_eval(g, &d, in, outs, &e), MG_OK);
      for (int64_t i = 0; i < n; i++) count[i] += out[i].p != first[i].p;
    }
    for (int64_t i = 0; i < n; i++) most = count[i] > most ? count[i] : most;
    if (most != program[k].exact || B.terms < most || B.terms > 2 * most) fail_msg("an element of %s mentions %d opaque terms, bound %g, expected %g", program[k].text, most, B.terms, program[k].exact);
    mg_graph_free(g);
  }
}

/* Few opaque terms and low degrees: hand-computed quantities of Theorem A. */
static void theorem_quantities(void **state) {
  (void)state;
  mg_verify_report r = expect_certified(XYZ, "O = add(matmul(X, Z), matmul(Y, Z))", "O = matmul(add(X, Y), Z)");
  assert_true(r.degree == 2 && r.opaque_terms == 0 && r.degree_arg == 0 && r.tests == 2);
  r = expect_certified(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/1000000", "div"));
  assert_true(r.opaque_terms == 1 + 1 && r.degree_arg == 2); /* an element mentions the root of its row */
  assert_true(r.degree == 3 + 1); /* N: 3, D: 1: a row has one denominator */
  assert_true(r.log2_delta <= -64 && r.log2_delta == r.tests * r.log2_eps);
  /* an aim beyond reach is not certified; an easy one takes one test */
  mg_verify_config c = mg_verify_config_default();
  c.seed = seed, c.log2_delta = -100000;
  r = verify_cfg(XYZ, "O = matmul(X, Z)", "O = neg(matmul(neg(X), Z))", &c); /* so a proof it is */
  assert_true(r.verdict == MG_EQUAL && r.proof == MG_PROOF_NORMAL && r.agreed && r.log2_delta == 0);
  c.log2_delta = -20;
  r = verify_cfg(XYZ, "O = matmul(X, Z)", "O = neg(matmul(neg(X), Z))", &c);
  assert_true(r.verdict == MG_EQUAL && r.tests == 1 && r.log2_delta < -20);
}

/* The seed decides everything; the number of threads nothing. */
static void threads_do_not_matter(void **state) {
  (void)state;
  mg_verify_report first, r;
  mg_verify_config c = mg_verify_config_default();
  c.seed = seed, c.threads = 1;
  first = verify_cfg(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/1000000", "div"), &c);
  for (int threads = 2; threads < 12; threads += 3) {
    c.threads = threads;
    r = verify_cfg(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/1000000", "div"), &c);
    assert_memory_equal(&r, &first, sizeof r);
  }
  c.seed++;
  r = verify_cfg(RMS, RMS_PROGRAM, RMS_KERNEL("3", "4", "1/32", "1/1000000", "div"), &c);
  assert_true(r.p[0] != first.p[0] && r.p[1] != first.p[1] && r.p[0] != r.p[1]);
  assert_true(first.p[0] >> 60 == 1 && first.q[0] == 0);
}

static void signatures(void **state) {
  (void)state;
  static const char *const other[] = {"program b\ninput X : f16[6, 9]\nO = exp(X)\noutput O\n", "program b\ninput X : f16[6, 8]\ninput Y : f16[6, 8]\nO = exp(X)\noutput O\n",
                                      "program b\ninput X : f32[6, 8]\nO = exp(X)\noutput O\n", "program b\ninput X : f16[6, 8]\nO = exp(X)\nP = neg(X)\noutput O\noutput P\n",
                                      "program b\ninput X : f16[6, 8]\nO = sum(X, dim=1)\noutput O\n"};
  mg_graph *a = parse("program a\ninput X : f16[6, 8]\nO = exp(X)\noutput O\n");
  for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
    mg_graph *b = parse(other[k]);
    mg_verify_report r;
    mg_error e;
    assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_BAD_INPUT);
    assert_true(e.msg[0] != 0);
    assert_int_equal(mg_verify(a, b, NULL, NULL, NULL), MG_BAD_INPUT);
    mg_graph_free(b);
  }
  mg_graph *b = parse(other[2]);
  mg_error e;
  mg_verify(a, b, NULL, NULL, &e);
  assert_string_equal(e.msg, "input 0 is 'X' : f16[6, 8] in 'a' and 'X' : f32[6, 8] in 'b': types and shapes must be alike");
  mg_graph_free(b);
  b = parse(other[0]);
  mg_verify(a, b, NULL, NULL, &e);
  assert_string_equal(e.msg, "input 0 is 'X' : f16[6, 8] in 'a' and 'X' : f16[6, 9] in 'b': types and shapes must be alike");
  mg_graph_free(b);
  mg_graph_free(a);
  /* functions are compared: names and memory orders may differ; a transposed input is another function */
  a = parse("program a\ninput X : f16[6, 8]\ninput Y : f16[8, 5] @ [1, 0]\nO = matmul(X, Y)\noutput O\n");
  b = parse("program b\ninput left : f16[6, 8] @ [1, 0]\ninput right : f16[8, 5]\nproduct = matmul(left, right)\noutput product\n");
  mg_verify_report r;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  assert_true(r.verdict == MG_EQUAL && r.log2_delta <= -64);
  mg_graph_free(b);
  b = parse("program b\ninput X : f16[6, 8]\ninput Y : f16[5, 8]\nO = matmul(X, transpose(Y, [1, 0]))\noutput O\n");
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_BAD_INPUT);
  mg_graph_free(a), mg_graph_free(b);
}

/* ---- certificates */

/* One line deleted, doubled, swapped with the next, emptied, or one of its numbers changed. */
static size_t damaged_line(const char *text, int line, int how, char *out) {
  const char *s = text, *end;
  size_t n = 0;
  for (int k = 0; k < line; k++) s = strchr(s, '\n') + 1;
  end = strchr(s, '\n') + 1;
  memcpy(out, text, (size_t)(s - text)), n = (size_t)(s - text);
  const char *next_end = *end ? strchr(end, '\n') + 1 : NULL;
  switch (how) {
    case 0: break;
    case 1: for (int k = 0; k < 2; k++) memcpy(out + n, s, (size_t)(end - s)), n += (size_t)(end - s); break;
    case 2:
      if (!next_end) return 0;
      memcpy(out + n, end, (size_t)(next_end - end)), n += (size_t)(next_end - end);
      memcpy(out + n, s, (size_t)(end - s)), n += (size_t)(end - s), end = next_end;
      break;
    case 3: out[n++] = '\n'; break;
    default: { /* the number that starts with its (how - 4)th run of digits: one more, or one less */
      const char *d = s;
      for (int k = 0;; k++) {
        while (d < end && (*d < '0' || *d > '9')) d++;
        if (d == end) return 0;
        if (k == (how - 4) / 2) break;
        while (d < end && *d >= '0' && *d <= '9') d++;
      }
      const char *last = d;
      while (last[1] >= '0' && last[1] <= '9') last++;
      memcpy(out + n, s, (size_t)(end - s));
      char *digit = out + n + (last - s);
      *digit = (char)(how % 2 ? (*digit == '0' ? '1' : *digit - 1) : (*digit == '9' ? '8' : *digit + 1));
      n += (size_t)(end - s);
    }
  }
  size_t rest = strlen(end);
  memcpy(out + n, end, rest), n += rest, out[n] = 0;
  return n == strlen(text) && !memcmp(out, text, n) ? 0 : n; /* two like lines swapped are no damage */
}

/* Every damage of one line is found.  With a sum that was made to fit as well, what passes is a certificate all the same:
   of the same programs with statements, names or the aim changed so that all of it holds again. */
static void damaged_lines(void **state) {
  (void)state;
  static const char *const pair[][2] = {
    {"program a\n" RMS RMS_PROGRAM "\noutput O\n", "program b\n" RMS RMS_KERNEL("3", "4", "1/32", "1/1000000", "div") "\noutput O\n"},
    {"program a\n" ATT "O = matmul(softmax(matmul(Q, K), dim=1), V)\noutput O\n", "program b\n" ATT "S = matmul(Q, K)\nE = exp(sub(S, max(S, dim=1)))\nO = div(matmul(E, V), sum(E, dim=1))\noutput O\n"},
    {"program a\ninput X : f16[4, 6]\nO = max(X, dim=1)\noutput O\n", "program b\ninput X : f16[4, 6]\nY = concat(X, X, dim=1)\nO = max(Y, dim=1)\noutput O\n"}};
  int passed = 0, forged = 0;
  for (int k = 0; k < 3; k++) {
    mg_graph *a = parse(pair[k][0]), *b = parse(pair[k][1]);
    mg_verify_report r, again;
    mg_verify_config c = mg_verify_config_default();
    mg_error e;
    char *text = NULL;
    c.seed = seed;
    assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
    assert_true(r.verdict == MG_EQUAL && r.proof == (k < 2 ? MG_PROOF_NONE : MG_PROOF_NORMAL));
    assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
    if (k == 2) assert_true(strstr(text, "\ndelta none\n") && strstr(text, "\nderivation\n  ") && !strstr(text, "\nprime "));
    size_t len = strlen(text);
    char *bad = (char *)malloc(2 * len + 64);
    int lines = 0, head = 0; /* head: lines before the first program's text */
    for (const char *s = text; *s; s++) lines += *s == '\n';
    for (const char *s = text; s < strstr(text, "\nfirst "); s++) head += *s == '\n';
    assert_true(k < 2 ? lines > 30 && head > 12 : lines > 20 && head > 10);
    for (int line = 0; line < lines; line++)
      for (int how = 0; how < 24; how++) {
        size_t n = damaged_line(text, line, how, bad);
        if (!n) continue;
        memset(&e, 0, sizeof e);
        mg_status s = mg_certificate_check(bad, n, &again, &e);
        if (s != MG_BAD_INPUT || !*e.msg) fail_msg("line %d, damage %d: status %d\n%s", line + 1, how, s, bad);
        if (line == lines - 1 || n < 21) continue;
        snprintf(bad + n - 21, 22, "sum %016llx", (unsigned long long)mgi_cert_sum(bad, n - 21)), bad[n - 1] = '\n';
        s = mg_certificate_check(bad, n, &again, &e);
        forged++;
        if (s == MG_OK) {
          passed++;
          if (line <= head && strncmp(bad, text, strstr(text, "aim ") - text)) fail_msg("forged line %d, damage %d, passes:\n%s", line + 1, how, bad);
          assert_true(again.verdict == r.verdict && again.log2_delta == r.log2_delta && again.p[0] == r.p[0]);
        } else if (s != MG_BAD_INPUT) fail_msg("forged line %d, damage %d: %s", line + 1, how, e.msg);
      }
    free(bad);
    mg_string_free(text);
    mg_graph_free(a), mg_graph_free(b);
  }
  print_message("%d of %d forged certificates hold\n", passed, forged);
  assert_true(forged > 400 && passed < forged / 5);
}

static void certificates(void **state) {
  (void)state;
  mg_graph *a = parse("program a\n" RMS RMS_PROGRAM "\noutput O\n"), *b = parse("program b\n" RMS RMS_KERNEL("3", "4", "1/32", "1/1000000", "div") "\noutput O\n");
  mg_graph *wrong = parse("program b\n" RMS RMS_KERNEL("3", "4", "1/31", "1/1000000", "div") "\noutput O\n");
  mg_verify_report r, again;
  mg_error e;
  char *text = NULL;
  mg_verify_config c = mg_verify_config_default();
  c.seed = seed;
  assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
  assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
  size_t len = strlen(text);
  if (mg_certificate_check(text, len, &again, &e) != MG_OK) fail_msg("%s\n%s", e.msg, text);
  /* as many tests again, of a seed of the system's: another one each time */
  uint64_t salt[4];
  assert_true(again.fresh_tests == r.tests && (again.salt[0] | again.salt[1] | again.salt[2] | again.salt[3]));
  memcpy(salt, again.salt, sizeof salt);
  assert_int_equal(mg_certificate_check(text, len, &again, &e), MG_OK);
  assert_true(again.fresh_tests > 0 && memcmp(salt, again.salt, sizeof salt));
  again.fresh_tests = 0, memset(again.salt, 0, sizeof again.salt);
  assert_memory_equal(&r, &again, sizeof r);
  assert_non_null(strstr(text, "theorem Theorem A"));
  assert_non_null(strstr(text, "\ndomain "));
  mg_graph *of[2];
  assert_int_equal(mg_certificate_graphs(text, len, &of[0], &of[1], &e), MG_OK);
  assert_true(mg_graph_equal(of[0], a) && mg_graph_equal(of[1], b) && !mg_graph_equal(of[0], b) && !mg_graph_equal(of[1], wrong));
  mg_graph_free(of[0]), mg_graph_free(of[1]);
  assert_int_equal(mg_certificate_graphs(text, len - 1, &of[0], &of[1], &e), MG_BAD_INPUT);
  assert_true(!of[0] && !of[1]);
  char *bad = (char *)malloc(len + 2);
  uint64_t s = seed;
  for (size_t at = 0; at < len; at++) /* every byte, changed */
    for (int k = 0; k < 3; k++) {
      memcpy(bad, text, len);
      bad[at] = (char)(k == 0 ? bad[at] ^ 1 : k == 1 ? bad[at] ^ 0x20 : bad[at] + 1 + (int)(next(&s) % 255));
      assert_int_equal(mg_certificate_check(bad, len, &again, &e), MG_BAD_INPUT);
    }
  for (size_t at = 0; at < len; at++) { /* cut off, and a byte lost or doubled */
    assert_int_equal(mg_certificate_check(text, at, &again, &e), MG_BAD_INPUT);
    memcpy(bad, text, at), memcpy(bad + at, text + at + 1, len - at - 1);
    assert_int_equal(mg_certificate_check(bad, len - 1, &again, &e), MG_BAD_INPUT);
    memcpy(bad, text, at + 1), memcpy(bad + at + 1, text + at, len - at);
    assert_int_equal(mg_certificate_check(bad, len + 1, &again, &e), MG_BAD_INPUT);
  }
  /* forged: another byte and the sum made to fit.  Only bytes of names and of white space could pass. */
  int refused = 0, tried = 0;
  for (size_t at = 0; at < len - 21; at += 3) {
    memcpy(bad, text, len);
    if (text[at] < '0' || text[at] > '9') continue;
    bad[at] = (char)('0' + (text[at] - '0' + 1 + (int)(next(&s) % 9)) % 10);
    snprintf(bad + len - 21, 22, "sum %016llx", (unsigned long long)mgi_cert_sum(bad, len - 21));
    bad[len - 1] = '\n';
    tried++;
    mg_status status = mg_certificate_check(bad, len, &again, &e);
    refused += status != MG_OK;
    if (status == MG_OK) assert_true(again.verdict == MG_EQUAL && again.log2_delta <= -64); /* a digit in a name */
  }
  assert_true(tried > 30 && tried - refused <= 8);
  /* a certificate of another pair */
  char *other = NULL;
  again = r;
  assert_int_equal(mg_certificate(a, wrong, &again, &other, &e), MG_OK); /* a lie: r is not of this pair */
  assert_int_equal(mg_certificate_check(other, strlen(other), &again, &e), MG_BAD_INPUT);
  mg_string_free(other);
  assert_int_equal(mg_verify(a, wrong, &c, &r, &e), MG_OK);
  assert_int_equal(mg_certificate(a, wrong, &r, &other, &e), MG_NOT_FOUND);
  free(bad);
  mg_string_free(text);
  mg_graph_free(a), mg_graph_free(b), mg_graph_free(wrong);
}

/* What agrees without a bound and without a proof is no result: there is no certificate of it. */
#define SPLIT "input X : f16[4, 6]\ninput Y : f16[4, 6]\n"
#define SPLIT_LEFT "E = exp(X)\nL = sub(div(Y, E), div(Y, add_scalar(E, 1)))\n"
#define SPLIT_RIGHT "E = exp(X)\nR = div(Y, mul(E, add_scalar(E, 1)))\n"
static void uncertified_certificates(void **state) {
  (void)state;
  static const char *const pair[][2] = {{SPLIT SPLIT_LEFT "O = relu(relu(L))", SPLIT SPLIT_RIGHT "O = relu(R)"}, {SPLIT SPLIT_LEFT "O = silu(L)", SPLIT SPLIT_RIGHT "O = silu(R)"}};
  for (int k = 0; k < 2; k++)
    for (int t = 0; t < 2; t++) {
      char text[2][1024], *certificate = NULL;
      for (int side = 0; side < 2; side++) snprintf(text[side], sizeof text[side], "program p\n%s\noutput O\n", pair[k][side]);
      mg_graph *a = parse(text[0]), *b = parse(text[1]);
      mg_verify_report r;
      mg_error e;
      mg_verify_config c = mg_verify_config_default();
      c.seed = seed, c.tier = tiers[t], c.log2_delta = k ? -100000 : -64;
      assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
      if (k && tiers[t] == MG_TIER_FAST) { /* one test, whatever the aim: its delta is what it is */
        assert_true(r.verdict == MG_EQUAL && r.tests == 1 && r.log2_delta < -20 && r.log2_delta == r.log2_eps);
        assert_int_equal(mg_certificate(a, b, &r, &certificate, &e), MG_OK);
        mg_string_free(certificate);
      } else {
        assert_int_equal(r.verdict, k ? MG_UNDECIDED : MG_EQUAL_SAMPLED);
        assert_true(r.agreed == 1 && r.log2_delta == 0 && r.proof == MG_PROOF_NONE && !r.theorem[0] && strstr(r.reason, "not certified"));
        assert_int_equal(mg_certificate(a, b, &r, &certificate, &e), MG_NOT_FOUND);
        assert_null(certificate);
      }
      mg_graph_free(a), mg_graph_free(b);
    }
}

/* Two graphs of one canonical form are EQUAL, whatever the limits, and without a test. */
static void identity(void **state) {
  (void)state;
  static const char *const body[] = {RMS RMS_PROGRAM, RMS RMS_KERNEL("3", "4", "1/32", "1/1000000", "div"), "input X : f16[4, 6]\nO = relu(X)", "input X : f16[4, 6]\nO = exp(exp(X))", "input X : f16[4, 6]\nO = div(X, sub(X, X))"};
  volatile int stop = 1;
  for (size_t k = 0; k < sizeof body / sizeof *body; k++)
    for (int t = 0; t < 2; t++) {
      char text[4096];
      snprintf(text, sizeof text, "program a\n%s\noutput O\n", body[k]);
      mg_graph *a = parse(text);
      snprintf(text, sizeof text, "program another\n%s\noutput O\n", body[k]);
      mg_graph *b = parse(text);
      mg_verify_config c = mg_verify_config_default();
      mg_verify_report r, again;
      mg_error e;
      char *certificate = NULL;
      c.seed = seed, c.tier = tiers[t], c.stop = &stop, c.time_limit_s = 1e-9, c.memory_limit = 1;
      assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
      assert_true(r.verdict == MG_EQUAL && r.proof == MG_PROOF_IDENTITY && !r.unfinished);
      assert_true(r.tests == 0 && r.compared == 0 && r.log2_delta == 0 && r.p[0] == 0);
      assert_int_equal(mg_certificate(a, b, &r, &certificate, &e), MG_OK);
      assert_true(strstr(certificate, "\ndelta none\n") && !strstr(certificate, "\ntests "));
      if (mg_certificate_check(certificate, strlen(certificate), &again, &e) != MG_OK) fail_msg("%s\n%s", e.msg, certificate);
      assert_true(again.proof == MG_PROOF_IDENTITY && again.fresh_tests == 0);
      mg_string_free(certificate);
      mg_graph_free(a), mg_graph_free(b);
    }
}

/* N and each word of the salt change the digest, and with it the primes; the same ones give the same. */
static void salts(void **state) {
  (void)state;
  mg_verify_report r[7], again;
  mg_verify_config c = mg_verify_config_default();
  mg_error e;
  assert_true(c.seed == 0 && !(c.salt[0] | c.salt[1] | c.salt[2] | c.salt[3]));
  for (int k = 0; k < 7; k++) {
    c = mg_verify_config_default();
    c.seed = k == 1;
    if (k >= 2 && k < 6) c.salt[k - 2] = 1;
    if (k == 6) assert_int_equal(mg_verify_salt(c.salt, &e), MG_OK), assert_true(c.salt[0] | c.salt[1] | c.salt[2] | c.salt[3]);
    r[k] = verify_cfg(XYZ, "O = matmul(X, Z)", "O = neg(matmul(neg(X), Z))", &c);
    again = verify_cfg(XYZ, "O = matmul(X, Z)", "O = neg(matmul(neg(X), Z))", &c);
    assert_memory_equal(&r[k], &again, sizeof again);
    assert_true(r[k].verdict == MG_EQUAL && r[k].tests == 2);
    for (int j = 0; j < k; j++) assert_true(memcmp(r[j].digest, r[k].digest, sizeof r[k].digest) && r[j].p[0] != r[k].p[0] && r[j].p[1] != r[k].p[1]);
  }
  /* both graphs take part, and which is the first */
  c = mg_verify_config_default();
  again = verify_cfg(XYZ, "O = neg(matmul(neg(X), Z))", "O = matmul(X, Z)", &c);
  assert_true(memcmp(again.digest, r[0].digest, sizeof again.digest) && again.p[0] != r[0].p[0]);
  uint64_t salt[2][4];
  for (int k = 0; k < 2; k++) assert_int_equal(mg_verify_salt(salt[k], &e), MG_OK);
  assert_true(memcmp(salt[0], salt[1], sizeof salt[0]));
}

/* The digest is SHA-256 (FIPS 180-4). */
static void digests(void **state) {
  (void)state;
  static const struct { const char *text; int times; uint64_t want[4]; } known[] = {
    {"", 1, {0xe3b0c44298fc1c14u, 0x9afbf4c8996fb924u, 0x27ae41e4649b934cu, 0xa495991b7852b855u}},
    {"abc", 1, {0xba7816bf8f01cfeau, 0x414140de5dae2223u, 0xb00361a396177a9cu, 0xb410ff61f20015adu}},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, {0x248d6a61d20638b8u, 0xe5c026930c3e6039u, 0xa33ce45964ff2167u, 0xf6ecedd419db06c1u}},
    {"a", 1000, {0x41edece42d63e8d9u, 0xbf515a9ba6932e1cu, 0x20cbc9f5a5d13464u, 0x5adb5db1b9737ea3u}}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    mgi_digest d;
    uint64_t out[4];
    mgi_digest_begin(&d);
    for (int j = 0; j < known[k].times; j++)
      for (const char *s = known[k].text; *s; s++) mgi_digest_byte(&d, (uint8_t)*s);
    mgi_digest_end(&d, out);
    assert_memory_equal(out, known[k].want, sizeof out);
  }
}

/* A down projection needs all of the layer before it for any of its elements: cut into parts, that layer is computed once
   a trial and given to each.  Neither that nor the threads may show. */
static void kept_values(void **state) {
  (void)state;
  static const char text[] = "program p\ninput X : f16[24, 160]\ninput A : f16[160, 512]\ninput B : f16[160, 512]\ninput D : f16[512, 320]\n%s\noutput O\n";
  static const char *const body[] = {"H = mul(silu(matmul(X, A)), matmul(X, B))\nO = matmul(H, D)", "U = matmul(X, B)\nG = silu(matmul(X, A))\nO = neg(matmul(mul(U, neg(G)), D))", "U = matmul(X, B)\nG = silu(matmul(X, A))\nO = matmul(mul(U, U), D)"};
  mg_graph *g[3];
  mg_error e;
  for (int k = 0; k < 3; k++) {
    char t[1024];
    snprintf(t, sizeof t, text, body[k]);
    g[k] = parse(t);
  }
  for (int wrong = 0; wrong < 2; wrong++) {
    mg_verify_report first, r;
    memset(&first, 0, sizeof first);
    for (int k = 0; k < 6; k++) {
      mg_verify_config c = mg_verify_config_default();
      long before = atomic_load(&heap_live);
      c.seed = seed, c.threads = 1 + k % 3, c.memory_limit = k < 3 ? (size_t)4 << 30 : (size_t)3 << 20, c.full_size = 1;
      atomic_store(&heap_peak, before);
      assert_int_equal(mg_verify(g[0], g[1 + wrong], &c, &r, &e), MG_OK);
      assert_int_equal(atomic_load(&heap_live), before);
      long took = atomic_load(&heap_peak) - before;
      if (took > (long)c.memory_limit * 5 / 4 + (1 << 18)) fail_msg("%ld bytes on %d threads with a limit of %zu", took, c.threads, c.memory_limit);
      if (k == 0) first = r;
      if (r.verdict != (wrong ? MG_NOT_EQUAL : MG_EQUAL)) fail_msg("%s: %s", mg_verdict_name(r.verdict), r.reason);
      if (!wrong) assert_memory_equal(&r, &first, sizeof r);
      assert_true(r.tests == first.tests && !memcmp(r.p, first.p, sizeof r.p) && (wrong || r.compared == first.compared) && r.undefined == first.undefined && r.log2_delta == first.log2_delta);
    }
    if (!wrong) assert_true(first.compared == (uint64_t)first.tests * 24 * 320 && first.log2_delta <= -64);
  }
  /* and it is so that the small limit makes parts and keeps values */
  for (int small = 0; small < 2; small++) {
    mgi_bench B;
    memset(&B, 0, sizeof B);
    mgi_cut *c;
    int kept = 0;
    B.g[0] = B.whole[0] = g[0], B.g[1] = B.whole[1] = g[1], B.memory = small ? 3 << 20 : 4e9, B.threads = 1;
    assert_int_equal(mgi_bench_cut(&B, MGI_ELEM_WORD, &c, &e), MG_OK);
    for (int side = 0; side < 2; side++)
      for (uint32_t k = 1; c->kept[side] && k < g[side]->n_tensors; k++) kept += c->kept[side][k];
    print_message("kept values: %d parts, %d kept\n", c->n, kept);
    if (small) assert_true(c->n > 4 && kept >= 1);
    mgi_cut_free(c);
  }
  for (int k = 0; k < 3; k++) mg_graph_free(g[k]);
}

/* Random programs against a random change of them: never EQUAL with a bound unless floats agree too. */
static void random_mutants(void **state) {
  (void)state;
  static const char *const unary[] = {"neg", "sqr", "exp", "silu", "relu"}, *const binary[] = {"add", "sub", "mul", "div"};
  int count[4] = {0};
  for (int round = 0; round < 400; round++) {
    char text[2][2048], *s[2];
    uint64_t state_of = seed + (uint64_t)round * 977, at = next(&state_of) % 6;
    for (int k = 0; k < 2; k++) s[k] = put(text[k], "program p\ninput a0 : f16[3, 4]\ninput a1 : f16[3, 4]\n");
    for (int line = 0; line < 6; line++) {
      int kind = (int)(next(&state_of) % 3), op = (int)(next(&state_of) % 20), x = (int)(next(&state_of) % (uint64_t)(line + 2)), y = (int)(next(&state_of) % (uint64_t)(line + 2));
      for (int k = 0; k < 2; k++) {
        int o = op + (k && line == (int)at); /* the mutant has another operator here */
        if (kind == 0) s[k] = put(s[k], "a%d = %s(a%d)\n", line + 2, unary[o % 5], x);
        else if (kind == 1) s[k] = put(s[k], "a%d = %s(a%d, a%d)\n", line + 2, binary[o % 4], x, y);
        else s[k] = put(s[k], "a%d = mul(a%d, sum(a%d, dim=%d))\n", line + 2, x, y, o % 2);
      }
    }
    char twice[2048];
    snprintf(twice, sizeof twice, "%.2000sa8 = neg(neg(a7))\noutput a8\n", text[0]);
    for (int k = 0; k < 2; k++) put(s[k], "output a7\n");
    mg_graph *a = parse(text[0]), *b = parse(text[1]), *same = parse(twice);
    mg_verify_config c = mg_verify_config_default();
    mg_verify_report r, f;
    mg_error e;
    c.seed = seed + (uint64_t)round, c.tier = MG_TIER_FAST;
    assert_int_equal(mg_verify(a, same, &c, &r, &e), MG_OK);
    mg_graph_free(same);
    if (r.verdict != MG_EQUAL && !strstr(r.reason, "divided by zero")) fail_msg("a program is not itself: %s\n%s", r.reason, text[0]);
    assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
    memset(&f, 0, sizeof f);
    mgi_bench bench;
    memset(&bench, 0, sizeof bench);
    bench.g[0] = a, bench.g[1] = b, bench.seed = c.seed + 7, bench.threads = 1, bench.memory = 1e9;
    assert_int_equal(mgi_verify_floats(&bench, 0, &f, &e), MG_OK);
    mgi_cut_free(&bench.cut[MGI_ELEM_BALL]);
    if (f.confirmed && (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED))
      fail_msg("%s, yet floats give %g and %g for\n%s\nand\n%s", mg_verdict_name(r.verdict), f.cx_a, f.cx_b, text[0], text[1]);
    count[r.verdict]++;
    mg_graph_free(a), mg_graph_free(b);
  }
  print_message("mutants: %d undecided, %d equal, %d sampled, %d not equal\n", count[0], count[1], count[2], count[3]);
  assert_true(count[MG_NOT_EQUAL] > 100);
}

/* The figure of section 8: full size within 10 s.  A sanitizer build is slower; it takes a smaller size. */
/* Products of three matrices in the order of fewer multiplications: the same elements, also of undefined ones; left alone where something else sees the middle. */
static void products_in_another_order(void **state) {
#define IN "program p\ninput A : f16[24, 20]\ninput B : f16[20, 22]\ninput C : f16[22, 26]\ninput v : f16[26, 2]\ninput w : f16[3, 24]\n"
  static const struct { const char *text; int copy; } cases[] = {
    { IN "T = matmul(A, B)\nU = matmul(T, C)\nO = matmul(U, v)\noutput O\n", 1 },
    { IN "T = matmul(B, C)\nU = matmul(A, T)\nO = matmul(w, U)\noutput O\n", 1 },
    { IN "D = exp(v)\nT = matmul(A, B)\nU = div(C, C)\nS = matmul(T, U)\nO = sqr(matmul(S, D))\noutput O\n", 1 },
    { IN "T = matmul(A, B)\nU = matmul(T, C)\nO = matmul(U, v)\noutput O, U\n", 0 },
    { IN "T = matmul(A, B)\nU = matmul(T, C)\nO = matmul(U, v)\nP = sum(U, dim=0)\noutput O, P\n", 0 },
    { IN "U = matmul(matmul(A, B), C)\nD = exp(v)\nO = matmul(U, D)\noutput O\n", 0 },
    { IN "O = matmul(w, matmul(A, matmul(B, matmul(C, v))))\noutput O\n", 0 },
    { "program p\ninput A : f16[24, 24]\nE = exp(A)\ninput B : f16[24, 24]\nT = matmul(E, B)\ninput v : f16[24, 1]\nO = matmul(T, v)\noutput O\n", 1 },
  };
#undef IN
  (void)state;
  uint64_t st = seed;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int round = 0; round < 8; round++) {
      mg_graph *g = parse(cases[k].text), *f = NULL;
      mg_field F = field_of(round % 4);
      mg_domain d = mg_domain_field(&F);
      mg_error e;
      const void *in[MG_MAX_IN];
      void *out[2][MG_MAX_OUT] = {{0}};
      assert_int_equal(mgi_verify_reordered(g, &f, &e), MG_OK);
      assert_int_equal(f != NULL, cases[k].copy);
      for (uint32_t i = 0; i < g->n_in && f; i++) {
        const int64_t n = mg_shape_elements(&g->tensors[g->in[i].id].shape);
        mg_fv *x = (mg_fv *)malloc((size_t)n * sizeof *x);
        for (int64_t j = 0; j < n; j++) x[j] = next(&st) % 256 || round < 4 ? mg_ff_random(&F, &st) : any(&F, &st);
        in[i] = x;
      }
      for (int which = 0; which < 2 && f; which++) {
        const mg_graph *h = which ? f : g;
        for (uint32_t i = 0; i < g->n_out; i++) out[which][i] = calloc((size_t)mg_shape_elements(&g->tensors[g->out[i].id].shape), sizeof(mg_fv));
        if (mg_eval(h, &d, in, out[which], &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      }
      for (uint32_t i = 0; i < g->n_out && f; i++) {
        const int64_t n = mg_shape_elements(&g->tensors[g->out[i].id].shape);
        for (int64_t j = 0; j < n; j++) assert_true(same(((mg_fv *)out[0][i])[j], ((mg_fv *)out[1][i])[j]));
        free(out[0][i]), free(out[1][i]);
      }
      for (uint32_t i = 0; i < g->n_in && f; i++) free((void *)(uintptr_t)in[i]);
      mg_graph_free(g), mg_graph_free(f);
    }
  mg_graph *a = parse("program a\ninput A : f16[512, 512]\ninput B : f16[512, 512]\ninput v : f16[512, 2]\nO = matmul(matmul(A, B), v)\noutput O\n");
  mg_graph *b = parse("program b\ninput A : f16[512, 512]\ninput B : f16[512, 512]\ninput v : f16[512, 2]\nO = matmul(matmul(B, A), v)\noutput O\n");
  mg_verify_report r;
  mg_error e;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  assert_true(r.verdict == MG_NOT_EQUAL && r.confirmed);
  mg_graph_free(b);
  b = parse("program b\ninput A : f16[512, 512]\ninput B : f16[512, 512]\ninput v : f16[512, 2]\nO = matmul(A, matmul(B, v))\noutput O\n");
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  assert_true(r.verdict == MG_EQUAL && r.log2_delta <= -64);
  mg_graph_free(a), mg_graph_free(b);
}

static void full_size(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const char *n = "512", *scale = "1/512";
#else
  const char *n = "4096", *scale = "1/4096";
#endif
  char ta[1024], tb[2048];
  snprintf(ta, sizeof ta, "program a\ninput X : f16[16, %s]\ninput G : f16[%s]\ninput W : f16[%s, %s]\n" RMS_PROGRAM "\noutput O\n", n, n, n, n);
  snprintf(tb, sizeof tb, "program b\ninput X : f16[16, %s]\ninput G : f16[%s]\ninput W : f16[%s, %s]\n" RMS_KERNEL("128", "64", "%s", "1/1000000", "div") "\noutput O\n", n, n, n, n, scale);
  mg_graph *a = parse(ta), *b = parse(tb);
  mg_verify_report r;
  mg_error e;
  struct timespec t0, t1;
  timespec_get(&t0, TIME_UTC);
  double work = -(double)clock() / CLOCKS_PER_SEC;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  timespec_get(&t1, TIME_UTC);
  work += (double)clock() / CLOCKS_PER_SEC;
  double seconds = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
  print_message("RMSNorm + linear, 16 x %s x %s: %s, delta 2^%.2f, %d tests, %.2f s\n", n, n, mg_verdict_name(r.verdict), r.log2_delta, r.tests, seconds);
  assert_true(r.verdict == MG_EQUAL && r.log2_delta <= -64);
  assert_true(seconds < 10 || work < 10); /* of the machine, or of its share that is ours */
  mg_graph_free(a), mg_graph_free(b);
}

/* An operand of a maximum is dropped: among many it seldom wins a random order, but float64 lets each input win once. */
static void a_dropped_operand_of_a_maximum(void **state) {
  (void)state;
  static const char *const text[] = {
      "program p\ninput X : f32[1, 1023]\ninput Y : f32[1, 1]\nO = max(concat(X, Y, dim=1), dim=1)\noutput O\n",
      "program p\ninput X : f32[1, 1023]\ninput Y : f32[1, 1]\nO = max(X, dim=1)\noutput O\n"};
  static const char *const other[] = { /* the same maxima */
      "program p\ninput X : f32[1, 1023]\ninput Y : f32[1, 1]\nO = neg(neg(max(concat(X, Y, dim=1), dim=1)))\noutput O\n",
      "program p\ninput X : f32[1, 1023]\ninput Y : f32[1, 1]\nO = neg(neg(max(X, dim=1)))\noutput O\n"};
  mg_graph *g[2], *h[2];
  mg_error e;
  mg_verify_report r;
  for (int k = 0; k < 2; k++) assert_int_equal(mg_parse(text[k], strlen(text[k]), "max", NULL, &g[k], &e), MG_OK), h[k] = parse(other[k]);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(mg_verify(g[k], g[!k], NULL, &r, &e), MG_OK);
    assert_int_equal(r.verdict, MG_NOT_EQUAL);
    assert_true(r.confirmed);
    assert_int_equal(mg_verify(g[k], h[k], NULL, &r, &e), MG_OK);
    assert_int_equal(r.verdict, MG_EQUAL);
    assert_true(r.log2_delta <= -64 && r.opaque_terms >= 2 * 1022);
  }
  for (int k = 0; k < 2; k++) mg_graph_free(g[k]), mg_graph_free(h[k]);
}

/* A softmax with a running maximum: chunks of the keys, each under a maximum of its own, rescaled when they are merged. */
#define ONLINE(second, rescale)                                                                                        \
  "S = reshape(scale(matmul(Q, K), 1/8), [4, 2, 6])\nm = max(S, dim=2)\nM = max(m, dim=1)\ne = exp(sub(S, " second "))\n" \
  "a = " rescale "\nL = sum(mul(a, sum(e, dim=2)), dim=1)\n"                                                           \
  "n = matmul(transpose(e, [1, 0, 2]), reshape(V, [2, 6, 5]))\nN = sum(mul(transpose(n, [1, 0, 2]), a), dim=1)\nO = reshape(div(N, L), [4, 5])"
static void a_running_maximum(void **state) {
  (void)state;
  static const char program[] = "O = matmul(softmax(scale(matmul(Q, K), 1/8), dim=1), V)";
  mg_verify_report r = expect_certified(ATT, program, ONLINE("m", "exp(sub(m, M))"));
  assert_true(r.two_field && r.q_bits >= 20 && r.exp_terms > 0 && strstr(r.reason, "for any function max"));
  expect_certified(ATT, program, ONLINE("M", "exp(sub(m, m))")); /* one maximum for all */
  expect_certified(ATT, program, ONLINE("m", "exp(m)"));           /* the maximum taken back in full */
  expect_wrong(ATT, program, ONLINE("m", "exp(sub(M, m))"));
  expect_wrong(ATT, program, ONLINE("m", "exp(sub(m, m))"));
  expect_wrong(ATT, program, ONLINE("M", "exp(sub(m, M))"));
  /* written out and stable, against a kernel without a maximum */
  r = expect_certified(ATT, "S = scale(matmul(Q, K), 1/8)\nE = exp(sub(S, max(S, dim=1)))\nO = matmul(div(E, sum(E, dim=1)), V)",
                       "O = kernel grid=(x=2) threads=128 {\n  q = load Q {x->0}\n  for i=3 {\n    e = exp(scale(matmul(q, load K {i->1}), 1/8))\n    n = matmul(e, load V {i->0})\n    d = sum(e, dim=1)\n  }\n"
                       "  store div(accum(n) {i->+}, accum(d) {i->+}) {x->0}\n}");
  assert_true(r.two_field);
}

/* Theorem B at its word: a pair that differs in one exponential of 2^k, over fields so small that it shows. */
static void exponentials_at_small_primes(void **state) {
  (void)state;
  mg_graph *a = parse("program a\ninput X : f16[1, 4]\nE = exp(X)\nO = sqr(sum(E, dim=1))\noutput O\n");
  mg_graph *b = parse("program b\ninput X : f16[1, 4]\nE = exp(X)\nO = mul(sum(E, dim=1), sum(concat(E, E, dim=1), dim=1))\noutput O\n"), *g[2] = {a, b};
  mg_error e;
  int agree = 0, rounds = 20000;
  for (int round = 0; round < rounds; round++) {
    mg_field F;
    mg_fv in[4], out[2];
    uint64_t s = mgi_ff_hash(seed, (uint64_t)round, 1);
    mgi_field_fill(&F, 107, 53, s, 0);
    for (int k = 0; k < 4; k++) in[k] = mg_ff_random(&F, &s);
    mg_domain d = mg_domain_field(&F);
    const void *ins[1] = {in};
    for (int k = 0; k < 2; k++) {
      void *outs[1] = {&out[k]};
      assert_int_equal(mg_eval(g[k], &d, ins, outs, &e), MG_OK);
    }
    agree += out[0].p == out[1].p;
  }
  /* (sum e^x)^2 = 0 happens about once in 107; never less than that, and not much more */
  assert_true(agree > rounds / 107 / 2 && agree < rounds / 107 * 2);
  mg_graph_free(a), mg_graph_free(b);
}

/* Every form of a µGraph, against the float64 evaluator: right ones are EQUAL and agree; one change, and neither holds. */
static void forms(void **state) {
  (void)state;
  static const struct { const char *inputs, *program, *right, *wrong; } form[] = {
    /* broadcasts: rows, columns, scalars, lower ranks */
    {"input X : f16[4, 6]\ninput R : f16[6]\ninput C : f16[4, 1]\ninput S : f16[1, 1]\n", "O = mul(add(X, R), sub(C, S))", "O = sub(mul(X, sub(C, S)), mul(neg(R), sub(C, S)))", "O = sub(mul(X, sub(C, S)), mul(R, sub(C, S)))"},
    {"input X : f16[3, 4, 6]\ninput W : f16[6, 5]\ninput B : f16[4, 5]\n", "O = add(matmul(X, W), B)", "O = kernel grid=(x=3, y=2) threads=128 {\n  store add(matmul(load X {x->0}, load W {y->1}), load B {y->1}) {x->0, y->2}\n}",
     "O = kernel grid=(x=3, y=2) threads=128 {\n  store sub(matmul(load X {x->0}, load W {y->1}), load B {y->1}) {x->0, y->2}\n}"},
    /* concatenation */
    {"input X : f16[4, 6]\ninput Y : f16[4, 3]\ninput A : f16[6, 5]\ninput B : f16[3, 5]\n", "O = concat_matmul(X, Y, A, B)", "O = matmul(concat(X, Y, dim=1), concat(A, B, dim=0))", "O = matmul(concat(X, Y, dim=1), concat(A, neg(B), dim=0))"},
    {"input X : f16[4, 6]\ninput Y : f16[4, 6]\n", "O = concat(X, Y, dim=0)", "O = neg(concat(neg(X), neg(Y), dim=0))", "O = concat(Y, X, dim=0)"},
    {"input X : f16[4, 6]\n", "O = exp(X)", "O = kernel grid=(x=2) threads=128 {\n  for i=3 {\n    e = exp(load X {x->0, i->1})\n  }\n  store accum(e) {i->1} {x->0}\n}",
     "O = kernel grid=(x=2) threads=128 {\n  for i=3 {\n    e = exp(neg(load X {x->0, i->1}))\n  }\n  store accum(e) {i->1} {x->0}\n}"},
    /* accumulators over the grid: sum, concatenation, with something after them */
    {"input X : f16[4, 12]\ninput W : f16[12, 6]\ninput B : f16[6]\n", "O = silu(add(matmul(X, W), B))",
     "O = kernel grid=(x=3, z=4) threads=128 {\n  m = matmul(load X {z->1}, load W {x->1, z->0})\n  store silu(add(accum(m) {z->+}, load B {x->0})) {x->1}\n}",
     "O = kernel grid=(x=3, z=4) threads=128 {\n  m = matmul(load X {z->1}, load W {x->1, z->0})\n  store silu(sub(accum(m) {z->+}, load B {x->0})) {x->1}\n}"},
    {"input X : f16[4, 12]\n", "O = div(X, sum(X, dim=1))", "O = kernel grid=(x=2, y=3) threads=128 {\n  all = accum(load X {x->0, y->1}) {y->1}\n  store div(all, sum(all, dim=1)) {x->0}\n}",
     "O = kernel grid=(x=2, y=3) threads=128 {\n  all = accum(load X {x->0, y->1}) {y->1}\n  store mul(all, sum(all, dim=1)) {x->0}\n}"},
    /* split-KV: two sums merged over the blocks of z */
    {ATT, "E = exp(matmul(Q, K))\nO = div(matmul(E, V), sum(E, dim=1))",
     "O = kernel grid=(x=2, z=3) threads=128 {\n  e = exp(matmul(load Q {x->0}, load K {z->1}))\n  n = accum(matmul(e, load V {z->0})) {z->+}\n  d = accum(sum(e, dim=1)) {z->+}\n  store div(n, d) {x->0}\n}",
     "O = kernel grid=(x=2, z=3) threads=128 {\n  e = exp(matmul(load Q {x->0}, load K {z->1}))\n  n = accum(matmul(e, load V {z->0})) {z->+}\n  d = accum(sum(sqr(e), dim=1)) {z->+}\n  store div(n, d) {x->0}\n}"},
    /* two kernels and a partial result between */
    {"input X : f16[4, 12]\ninput W : f16[12, 6]\n", "O = matmul(X, W)",
     "P = kernel grid=(x=3, z=4) threads=128 {\n  m = matmul(load X {z->1}, load W {x->1, z->0})\n  store reshape(m, [1, 4, 2]) {x->2, z->0}\n}\nO = reshape(sum(P, dim=0), [4, 6])",
     "P = kernel grid=(x=3, z=4) threads=128 {\n  m = matmul(load X {z->1}, load W {x->1, z->0})\n  store reshape(m, [1, 4, 2]) {x->2, z->0}\n}\nO = reshape(sum(sqr(P), dim=0), [4, 6])"}};
  for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
    char ta[4096], tb[4096];
    mg_error e;
    mg_verify_report f;
    mgi_bench bench;
    expect_certified(form[k].inputs, form[k].program, form[k].right);
    expect_wrong(form[k].inputs, form[k].program, form[k].wrong);
    snprintf(ta, sizeof ta, "program a\n%s%s\noutput O\n", form[k].inputs, form[k].program), snprintf(tb, sizeof tb, "program b\n%s%s\noutput O\n", form[k].inputs, form[k].right);
    mg_graph *a = parse(ta), *b = parse(tb);
    memset(&bench, 0, sizeof bench), memset(&f, 0, sizeof f);
    bench.g[0] = a, bench.g[1] = b, bench.seed = seed, bench.threads = 1, bench.memory = 1e9;
    assert_int_equal(mgi_verify_floats(&bench, 0, &f, &e), MG_OK);
    if (f.confirmed) fail_msg("float64 gives %g and %g for\n%s\n%s", f.cx_a, f.cx_b, ta, tb);
    mgi_cut_free(&bench.cut[MGI_ELEM_BALL]);
    mg_graph_free(a), mg_graph_free(b);
  }
}

/* Outputs are matched by position, and the output that differs is named. */
static void many_outputs(void **state) {
  (void)state;
  static const char in[] = "program p\ninput X : f16[6, 8]\n";
  static const char *const text[] = {"S = sum(X, dim=1)\nE = exp(X)\nT = transpose(X, [1, 0])\noutput E, S, T\n",
                                     "E, S = kernel grid=(x=3) threads=128 {\n  a = load X {x->0}\n  store exp(a) {x->0}\n  store sum(a, dim=1) {x->0}\n}\nT = transpose(X, [1, 0])\noutput E, S, T\n",
                                     "E, S = kernel grid=(x=3) threads=128 {\n  a = load X {x->0}\n  store exp(a) {x->0}\n  store sum(neg(a), dim=1) {x->0}\n}\nT = transpose(X, [1, 0])\noutput E, S, T\n",
                                     "S = sum(X, dim=1)\nE = exp(X)\nT = transpose(scale(X, 2), [1, 0])\noutput E, S, T\n"};
  mg_graph *g[4];
  mg_verify_report r;
  mg_verify_config c = mg_verify_config_default();
  mg_error e;
  c.seed = seed, c.full_size = 1;
  for (int k = 0; k < 4; k++) {
    char t[1024];
    snprintf(t, sizeof t, "%s%s", in, text[k]);
    g[k] = parse(t);
  }
  assert_int_equal(mg_verify(g[0], g[1], &c, &r, &e), MG_OK);
  assert_true(r.verdict == MG_EQUAL && r.log2_delta <= -64 && r.compared == (uint64_t)r.tests * (48 + 6 + 48));
  for (int k = 2; k < 4; k++) {
    assert_int_equal(mg_verify(g[0], g[k], &c, &r, &e), MG_OK);
    assert_true(r.verdict == MG_NOT_EQUAL && r.confirmed && r.cx_output == k - 1);
  }
  for (int k = 0; k < 4; k++) mg_graph_free(g[k]);
}

/* Cut into parts or not, on any number of threads: the same verdict from the same primes; and little memory. */
static void parts_and_threads(void **state) {
  (void)state;
  static const char *const text[2] = { /* an [n, n] score matrix between thin inputs and outputs */
    "program p\ninput Q : f16[%d, 4]\ninput K : f16[4, %d]\ninput V : f16[%d, 3]\nE = exp(matmul(Q, K))\nO = div(matmul(E, V), sum(E, dim=1))\noutput O\n",
    "program p\ninput Q : f16[%d, 4]\ninput K : f16[4, %d]\ninput V : f16[%d, 3]\nE = exp(matmul(Q, K))\nO = matmul(div(E, sum(E, dim=1)), V)\noutput O\n"};
  char ta[512], tb[512];
  mg_error e;
  mg_verify_report first, r;
  int n = 1500;
  snprintf(ta, sizeof ta, text[0], n, n, n), snprintf(tb, sizeof tb, text[1], n, n, n);
  mg_graph *a = parse(ta), *b = parse(tb);
  mg_verify_config c = mg_verify_config_default();
  c.seed = seed, c.threads = 1, c.log2_delta = -20, c.full_size = 1;
  assert_int_equal(mg_verify(a, b, &c, &first, &e), MG_OK);
  assert_true(first.verdict == MG_EQUAL && first.tests >= 1);
  for (int k = 0; k < 4; k++) {
    long before = atomic_load(&heap_live);
    c.threads = 1 + k % 3, c.memory_limit = (size_t)(k == 3 ? 1 : 4) << 20;
    atomic_store(&heap_peak, before);
    assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
    assert_true(r.verdict == MG_EQUAL && r.p[0] == first.p[0] && r.tests == first.tests && r.compared == first.compared && r.log2_delta == first.log2_delta);
    long took = atomic_load(&heap_peak) - before;
    if (took > (long)c.memory_limit * 5 / 4 + (1 << 18)) fail_msg("%ld bytes with a limit of %zu", took, c.memory_limit);
    assert_int_equal(atomic_load(&heap_live), before);
  }
  /* the whole score matrix is 18 MB; a limit below one row's needs is said to be one */
  c.memory_limit = 10000;
  assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
  assert_true(r.verdict == MG_UNDECIDED && r.unfinished && strstr(r.reason, "memory") && strstr(r.reason, "limit"));
  mg_graph_free(a), mg_graph_free(b);
  /* a sum over everything cannot be cut */
  a = parse("program p\ninput X : f16[3000, 1]\ninput Y : f16[1, 3000]\nO = sum(sum(matmul(X, Y), dim=1), dim=0)\noutput O\n");
  b = parse("program p\ninput X : f16[3000, 1]\ninput Y : f16[1, 3000]\nO = neg(sum(sum(matmul(neg(X), Y), dim=1), dim=0))\noutput O\n");
  c.memory_limit = 16 << 20;
  assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
  print_message("a sum over everything: %s (%s)\n", mg_verdict_name(r.verdict), r.reason);
  assert_true(r.verdict == MG_UNDECIDED && r.unfinished && r.log2_delta == 0 && strstr(r.reason, "memory"));
  mg_graph_free(a), mg_graph_free(b);
  /* wrong in the last column only; and right, by a column of zeros there */
  a = parse("program p\ninput X : f16[900, 4]\ninput Y : f16[4, 900]\nO = matmul(X, Y)\noutput O\n");
  for (int wrong = 0; wrong < 2; wrong++) {
    snprintf(ta, sizeof ta, "program p\ninput X : f16[900, 4]\ninput Y : f16[4, 900]\nZ = sum(sub(X, X), dim=1)\nO = add(matmul(X, Y), concat(repeat(Z, dim=1, n=899), %s, dim=1))\noutput O\n", wrong ? "exp(Z)" : "Z");
    b = parse(ta);
    c.memory_limit = 2 << 20;
    for (c.threads = 1; c.threads < 4; c.threads++) {
      assert_int_equal(mg_verify(a, b, &c, &r, &e), MG_OK);
      assert_int_equal(r.verdict, wrong ? MG_NOT_EQUAL : MG_EQUAL);
      if (wrong) assert_true(r.confirmed && r.cx_output == 0 && r.cx_element % 900 == 899);
    }
    mg_graph_free(b);
  }
  mg_graph_free(a);
}

/* However the outputs are cut, every element is in one part; parts are alike, and their number is bounded. */
static void cuts(void **state) {
  (void)state;
  static const char *const text[] = {
    "program p\ninput X : f16[1000000, 4]\ninput Y : f16[4, 1000000]\nO = sum(matmul(X, Y), dim=0)\noutput O\n", /* 10^12 elements between */
    "program p\ninput X : f16[300, 7, 50]\ninput Y : f16[50, 33]\nA = matmul(X, Y)\nB = transpose(exp(X), [2, 0, 1])\nC = sum(A, dim=1)\noutput A, B, C\n",
    "program p\ninput X : f16[4096, 64]\ninput W : f16[64, 4096]\nO, S = kernel grid=(x=37, y=5) threads=128 {\n  a = load X {x->0}\n  m = matmul(a, load W {y->1})\n  store m {x->0, y->1}\n  store sum(a, dim=1) {x->0, y->*}\n}\noutput O, S\n"};
  for (int k = 0; k < 3; k++)
    for (double bytes = 1e4; bytes < 1e10; bytes *= 100) {
      mg_graph *g = parse(text[k]);
      mgi_cut c;
      mg_error e;
      memset(&c, 0, sizeof c);
      c.g[0] = c.g[1] = g;
      assert_int_equal(mgi_cut_outputs(8, bytes, &c, &e), MG_OK);
      assert_in_range(c.n, 1, MGI_PARTS_MOST);
      double least = 1e300;
      for (uint32_t o = 0; o < g->n_out; o++) {
        const mg_shape *s = &mg_tensor_of(g, g->out[o])->shape;
        int64_t covered = 0;
        for (int j = 0; j < c.n; j++) {
          const mg_box *b = &c.want[j].out[o];
          for (int d = 0; d < s->rank; d++) assert_true(b->lo[d] >= 0 && b->lo[d] <= b->hi[d] && b->hi[d] <= s->dim[d]);
          covered += mg_box_elements(b, s->rank);
          for (int i = 0; i < 3; i++) { /* apart from some others */
            const mg_box *x = &c.want[(j + 1 + i * i * i) % c.n].out[o];
            int apart = x == b || !mg_box_elements(b, s->rank) || !mg_box_elements(x, s->rank);
            for (int d = 0; d < s->rank; d++) apart |= x->hi[d] <= b->lo[d] || b->hi[d] <= x->lo[d];
            assert_true(apart);
          }
        }
        assert_true(covered == mg_shape_elements(s));
      }
      for (int j = 0; j < c.n; j++) {
        mgi_cost x = mgi_cost_of(&c, &c.want[j]);
        assert_true(x.elements <= c.elements);
        if (x.elements < least) least = x.elements;
      }
      if (k == 0) assert_true(least > c.elements / 3 && c.elements < 2.5e12 / (c.n / 2)); /* both sides hold it */
      if (c.elements * 8 > bytes && c.n * 2 <= MGI_PARTS_MOST / 2) assert_true(bytes < 1e7); /* a block, or an element, takes that */
      mgi_cut_free(&c);
      mg_graph_free(g);
    }
}

/* Roots and logarithms of negative numbers: a wrong pair is shown wrong where both are defined. */
static void not_a_number(void **state) {
  (void)state;
  static const char in[] = "input X : f16[8, 40]\ninput Y : f16[8, 40]\n";
  expect_wrong(in, "O = sum(sqrt(sub(X, Y)), dim=1)", "O = sum(sqrt(scale(sub(X, Y), 2)), dim=1)");
  expect_wrong(in, "O = sum(log(sub(Y, X)), dim=1)", "O = sum(log(sub(Y, scale(X, 2))), dim=1)");
  expect_wrong(in, "O = sqrt(X)", "O = sqrt(Y)");
  expect_wrong(in, "O = div(sum(sqrt(sub(X, Y)), dim=1), sum(Y, dim=1))", "O = div(sum(sqrt(sub(X, Y)), dim=1), sum(X, dim=1))");
  expect_certified(in, "O = sum(sqrt(sub(X, Y)), dim=1)", "O = sum(sqrt(neg(sub(Y, X))), dim=1)");
  for (uint64_t k = 0; k < 400; k++) { /* whatever the seed: one input must lie above the other in some draw */
    mg_verify_config c = mg_verify_config_default();
    c.seed = seed + k, c.tier = MG_TIER_FAST;
    mg_verify_report r = verify_cfg("input X : f16[2, 40]\ninput Y : f16[2, 40]\n", "O = div(sum(sqrt(sub(X, Y)), dim=1), sum(Y, dim=1))", "O = div(sum(sqrt(sub(X, Y)), dim=1), sum(X, dim=1))", &c);
    if (r.verdict != MG_NOT_EQUAL) fail_msg("seed %llu: %s", (unsigned long long)c.seed, r.reason);
  }
  expect(MG_UNDECIDED, in, "O = sqrt(neg(sqr(X)))", "O = log(neg(sqr(X)))"); /* nowhere defined */
}

static int progress_calls, progress_stop;
static volatile int stopped;
static void on_progress(void *user, const mg_verify_progress *p) {
  assert_ptr_equal(user, &progress_calls);
  assert_true(p->test >= 0 && p->test < p->tests && p->part >= 0 && p->part < p->parts);
  progress_calls++;
  if (progress_calls == progress_stop) stopped = 1;
}
static void progress_and_stop(void **state) {
  (void)state;
  mg_graph *g = parse("program p\ninput X : f16[400, 400]\ninput Y : f16[400, 400]\nO = matmul(matmul(X, Y), Y)\noutput O\n");
  mg_graph *h = parse("program p\ninput X : f16[400, 400]\ninput Y : f16[400, 400]\nO = matmul(X, matmul(Y, Y))\noutput O\n");
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  char *text = NULL;
  c.progress = on_progress, c.user = &progress_calls, c.stop = &stopped, c.log2_delta = -60, c.memory_limit = 4 << 20;
  for (int k = 0; k < 2; k++) {
    progress_calls = 0, progress_stop = k ? 2 : 0, stopped = 0;
    assert_int_equal(mg_verify(g, h, &c, &r, &e), MG_OK);
    if (!k) assert_true(r.verdict == MG_EQUAL && !r.unfinished);
    if (progress_calls < 2) continue; /* too fast a machine to be told anything */
    if (k) assert_true(r.verdict == MG_UNDECIDED && r.unfinished && strstr(r.reason, "interrupted"));
  }
  progress_stop = 0;
  stopped = 1;
  assert_int_equal(mg_verify(g, h, &c, &r, &e), MG_OK);
  assert_true(r.verdict == MG_UNDECIDED && r.unfinished);
  assert_int_equal(mg_certificate(g, h, &r, &text, &e), MG_NOT_FOUND);
  c.time_limit_s = 1e-9; /* what needs no test is decided all the same */
  assert_int_equal(mg_verify(g, g, &c, &r, &e), MG_OK);
  assert_true(r.verdict == MG_EQUAL && r.proof == MG_PROOF_IDENTITY && !r.unfinished);
  c.time_limit_s = 0;
  stopped = 0;
  assert_int_equal(mg_verify(g, h, &c, &r, &e), MG_OK);
  assert_int_equal(mg_certificate(g, h, &r, &text, &e), MG_OK);
  stopped = 1;
  assert_int_equal(mg_certificate_recheck(text, strlen(text), &c, &r, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "not rechecked"));
  stopped = 0, c.time_limit_s = 1e-9;
  assert_int_equal(mg_certificate_recheck(text, strlen(text), &c, &r, &e), MG_UNSUPPORTED);
  c.time_limit_s = 0;
  assert_int_equal(mg_certificate_recheck(text, strlen(text), &c, &r, &e), MG_OK);
  mg_string_free(text);
  mg_graph_free(g), mg_graph_free(h);
}

/* Winner patterns: few where few are possible, as many as tests where there are many. */
static void winner_patterns(void **state) {
  (void)state;
  static const char one[] = "input X : f16[1, 1]\ninput Y : f16[1, 1]\n";
  mg_verify_report r = expect(MG_EQUAL_SAMPLED, one, SPLIT_LEFT "O = relu(L)", SPLIT_RIGHT "O = relu(relu(R))");
  assert_true(r.patterns >= 1 && r.patterns <= 2); /* R wins or 0 does */
  r = expect(MG_EQUAL_SAMPLED, one, SPLIT_LEFT "O = relu(relu(L))", SPLIT_RIGHT "O = relu(R)");
  assert_true(r.patterns >= 1 && r.patterns <= 2);
  r = expect(MG_EQUAL_SAMPLED, "input X : f16[1, 2, 1]\ninput Y : f16[1, 2, 1]\n", SPLIT_LEFT "O = max(L, dim=1)", SPLIT_RIGHT "O = max(concat(R, R, dim=1), dim=1)");
  assert_true(r.patterns >= 1 && r.patterns <= 2);
  r = expect(MG_EQUAL_SAMPLED, "input X : f16[10, 10]\ninput Y : f16[10, 10]\n", SPLIT_LEFT "O = max(L, dim=1)", SPLIT_RIGHT "O = max(concat(R, R, dim=1), dim=1)");
  assert_int_equal(r.patterns, r.tests);
  char want[64];
  snprintf(want, sizeof want, "%d winner patterns seen", r.tests);
  assert_non_null(strstr(r.reason, want));
  r = expect(MG_EQUAL, "input X : f16[4, 6]\n", "O = relu(X)", "O = relu(add_scalar(add_scalar(X, 1), -1))");
  assert_int_equal(r.patterns, 0);
}

/* Past the time limit there is a verdict, and it is not EQUAL. */
static void a_time_limit(void **state) {
  (void)state;
  static const char text[] = "program p\ninput X : f16[512, 4096]\ninput W : f16[4096, 4096]\nO = matmul(X, W)\noutput O\n";
  static const char other[] = "program p\ninput X : f16[512, 4096]\ninput W : f16[4096, 4096]\nO = neg(matmul(neg(X), W))\noutput O\n";
  mg_graph *g, *h = parse(other);
  mg_error e;
  mg_verify_report r;
  mg_verify_config c = mg_verify_config_default();
  c.time_limit_s = 0.2, c.full_size = 1;
  assert_int_equal(mg_parse(text, strlen(text), "limit", NULL, &g, &e), MG_OK);
  assert_int_equal(mg_verify(g, h, &c, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_UNDECIDED);
  assert_true(r.log2_delta == 0);
  assert_non_null(strstr(r.reason, "time limit"));
  mg_graph_free(g), mg_graph_free(h);
}

/* The seed is known to everybody, and with it the primes of any pair that was verified: their product as a factor, put
   together from constants below 2^31, is 0 modulo each of them.  It must not help. */
static void known_primes_do_not_help(void **state) {
  (void)state;
  const char *inputs = "input X : f32[2, 3]\n", *a = "O = sum(X, dim=1)";
  char b[4096], turned[4096];
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r = verify_cfg(inputs, a, "O = neg(sum(neg(X), dim=1))", &c);
  for (int round = 0; round < 4; round++) {
    size_t n = (size_t)snprintf(b, sizeof b, "S0 = sum(X, dim=1)\n");
    int last = 0;
    assert_true(r.tests > 0 && r.p[0] >> 60 == 1);
    for (int k = 0; k < r.tests; k++, last++)
      n += (size_t)snprintf(b + n, sizeof b - n, "S%d = add(add(scale(scale(S%d, %llu), 1073741824), scale(S%d, %llu)), scale(scale(scale(S%d, %llu), 1073741824), 1073741824))\n", last + 1, last, (unsigned long long)(r.p[k] >> 30 & 0x3FFFFFFF), last,
                            (unsigned long long)(r.p[k] & 0x3FFFFFFF), last, (unsigned long long)(r.p[k] >> 60));
    memcpy(turned, b, n);
    snprintf(b + n, sizeof b - n, "O = add(S0, S%d)", last), snprintf(turned + n, sizeof turned - n, "O = add(S%d, S0)", last);
    assert_int_equal(verify_cfg(inputs, a, b, &c).verdict, MG_NOT_EQUAL);
    r = verify_cfg(inputs, b, turned, &c); /* then the primes of a pair with this program in it */
    assert_int_equal(r.verdict, MG_EQUAL);
  }
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  print_message("seed %llu (give it as the argument to repeat)\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_dropped_operand_of_a_maximum), cmocka_unit_test(a_running_maximum), cmocka_unit_test(exponentials_at_small_primes), cmocka_unit_test(forms), cmocka_unit_test(many_outputs),
      cmocka_unit_test(parts_and_threads), cmocka_unit_test(cuts), cmocka_unit_test(not_a_number), cmocka_unit_test(progress_and_stop), cmocka_unit_test(winner_patterns), cmocka_unit_test(identity), cmocka_unit_test(salts), cmocka_unit_test(digests), cmocka_unit_test(kept_values),
      cmocka_unit_test(a_time_limit),
      cmocka_unit_test(moduli), cmocka_unit_test(axioms), cmocka_unit_test(draws), cmocka_unit_test(specials), cmocka_unit_test(shortcuts), cmocka_unit_test(primes_are_found), cmocka_unit_test(opaque_functions), cmocka_unit_test(words),
    cmocka_unit_test(domains_agree), cmocka_unit_test(inverses), cmocka_unit_test(wide_products), cmocka_unit_test(matmul_definition), cmocka_unit_test(right_pairs), cmocka_unit_test(exponentials),
    cmocka_unit_test(maxima), cmocka_unit_test(wrong_pairs), cmocka_unit_test(undecided), cmocka_unit_test(zero_divisors_never_mislead),
    cmocka_unit_test(user_rows), cmocka_unit_test(every_row), cmocka_unit_test(degree_bounds), cmocka_unit_test(term_bounds), cmocka_unit_test(exponential_bounds), cmocka_unit_test(theorem_quantities),
    cmocka_unit_test(threads_do_not_matter), cmocka_unit_test(signatures), cmocka_unit_test(certificates), cmocka_unit_test(damaged_lines), cmocka_unit_test(uncertified_certificates),
    cmocka_unit_test(known_primes_do_not_help), cmocka_unit_test(products_in_another_order), cmocka_unit_test(random_mutants), cmocka_unit_test(full_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
