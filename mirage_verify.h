/* mirage_verify.h - v0.1.0 - equivalence of µGraphs by random tests over finite fields, with a certificate

   WHAT
     Answers whether two programs or µGraphs compute the same function.  Both are evaluated on random residues modulo
     large random primes.  A verdict EQUAL states a bound on its chance of error where a theorem gives one, and a
     certificate, a text, lets anyone recheck it.  The same arithmetic at a size that fits a 16-bit word serves the
     emulation of emitted kernels (mirage_cuda.cuh).  Needs mirage.h, libm and POSIX threads.

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage_verify.h".  Elsewhere just #include.
     MIRAGE_VERIFY_IMPLEMENTATION means this header alone.  Link -lm -lpthread.

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage_verify.h"
     #include <stdio.h>
     #include <string.h>
     int main(void) {
       const char *a = "program a\ninput X : f16[4, 8]\ninput Y : f16[4, 8]\ninput Z : f16[8, 4]\n"
                       "O = add(matmul(X, Z), matmul(Y, Z))\noutput O\n";
       const char *b = "program b\ninput X : f16[4, 8]\ninput Y : f16[4, 8]\ninput Z : f16[8, 4]\n"
                       "O = matmul(add(X, Y), Z)\noutput O\n";
       mg_graph *A = NULL, *B = NULL;
       mg_error e;
       mg_verify_report r;
       if (mg_parse(a, strlen(a), "a", NULL, &A, &e) != MG_OK || mg_parse(b, strlen(b), "b", NULL, &B, &e) != MG_OK ||
           mg_verify(A, B, NULL, &r, &e) != MG_OK) {
         fprintf(stderr, "%s: %s\n", e.where, e.msg);
         return mg_exit_code(e.status);
       }
       printf("%s, error at most 2^%.2f\n%s\n", mg_verdict_name(r.verdict), r.log2_delta, r.reason);
       mg_graph_free(A), mg_graph_free(B);
       return 0;
     }

   CONTENTS (search for the tag)
     >>field  >>arithmetic  >>rows  >>words  >>verdict  >>certificate                    declarations
     >>primes  >>domains  >>bounds  >>draws  >>tests  >>floats  >>verify  >>text-of-certificates     implementation

   CONFIGURATION
     None of its own.  Rows of MG_USER_OPS take part: the `field` column is written in these macros over values a, b, c:
     FF_ADD FF_SUB FF_MUL FF_DIV FF_MAX (two values), FF_EXP (one), FF_ZERO, FF_OPAQUE(ID, a) and
     FF_OPAQUE_NONZERO(ID, a): a function of a, and of the row's constant, of which nothing else is known.

   CONCEPTS
     residue pair   x_p in Z_p and x_q in Z_q with q | p-1; exp(x) = omega^x_q mod p, which leaves no x_q (Mirage paper,
                    section 5).  So a value passes through at most one exponential; a second one is undecided.
     opaque         a function without field meaning (sqrt, silu, gelu, log; in the first test exp too): a pseudo-random
                    function keyed by operator, constant and seed, of x_p alone.  Equal as opaque is equal for the real
                    function.  The converse fails: sqrt(s/4096) is not sqrt(s)/64 here.  So such a mismatch is NOT_EQUAL
                    only if float64, with a running bound on its error, shows one too; else UNDECIDED.
     maximum        in a random total order of x_p: associative, commutative, idempotent, nothing more
     undefined      depends on a division by zero.  Nothing invents an inverse of zero.

   WHAT IS PROVED
     Theorem A (Schwartz and Zippel, with opaque functions).  Let e be one element of an output.  Read each program as a
     rational function over Q of the input elements and of one more variable for every class of opaque terms; two terms
     are of one class if they apply the same function to arguments that are equal as such rational functions.  (The depth
     of nesting makes that well defined.)  If the two readings of e are equal, then so are the two real programs wherever
     both are defined, whatever the functions are.  If they are not, one test agrees on e with probability at most

         eps = draws * ( (deg + pairs * deg_arg) / (p_min - 1)  +  (1 + pairs) * (height / 60) / primes )

     and k tests, drawn independently, all agree with probability at most eps^k, which is delta.
       deg      degree of the numerator of the difference of e's two readings: N_a D_b - N_b D_a
       pairs    m (m - 1) / 2, where m bounds the opaque terms that e mentions, in both programs together
       deg_arg  degree of the numerator of the difference of two arguments
       height   log2 of the sum of the magnitudes of the integer coefficients of any of these numerators
       primes   p is uniform among the primes in [2^60, 2^61), of which there are at least 3 * 2^60 / (5 ln 2^60)
                (Rosser and Schoenfeld 1962, corollary 3); an integer of magnitude 2^height has at most height/60 of them
       draws    a draw on which any element of either program divides by zero is replaced, at most draws - 1 times
     Proof.  Fix e.  Numerators nonzero over Q vanish mod p for at most height/60 primes: the last term, by a union over
     the difference and the pairs.  Else reveal the opaque values in order of depth.  Until two classes of one function
     have equal arguments the values are independent and uniform (sqrt: uniform over p - 1 values), so the experiment is
     that of a uniform point, in which the numerator of each pair vanishes with probability at most deg_arg/(p-1), and
     that of the difference with at most deg/(p-1).  Evaluation divides by nonzero values only, so it gives N/D.  The union
     over draws covers the condition that nothing divides by zero.
     deg, deg_arg, height, m are bounds from one pass over both graphs (>>bounds): sums of fractions with unlike
     denominators add degrees, K terms multiply the denominator K times; a polynomial's do not grow.
     Assumed: the keyed hash and the drawing of inputs behave as random functions; whoever chose the seed did not look
     for one that lets the pair pass (choose your own to exclude that); the code does what is written here.
     Not certified, and said so: pairs that agree only by e^a e^b = e^(a+b) (the two-field test, the paper's Theorem 2,
     whose k for a softmax is beyond q^(1/4)), and pairs that involve a maximum.

   ERRORS, MEMORY, THREADS
     As mirage.h.  mg_verify allocates by malloc: per test in flight 8 bytes (two-field test: 24) an element of inputs,
     outputs and intermediates, plus doubles for the counterexample.  It starts up to `threads` threads of its own;
     the result does not depend on how many.

   DOES NOT
     Bound floating-point error, decide real-function identities beyond the above, or look at emitted code.
*/
#ifndef MIRAGE_VERIFY_H
#define MIRAGE_VERIFY_H

#include "mirage.h"

#if MG_VERSION != 100
#error "mirage_verify.h 0.1.0 needs mirage.h 0.1.0: take all headers from one release"
#endif

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------- >>field */

__extension__ typedef unsigned __int128 mgi_u128;

/* What arithmetic modulo m < 2^62 needs: Barrett's constants. */
typedef struct mg_modulus {
  uint64_t m;
  uint64_t mu;   /* floor(2^2n / m) */
  uint64_t v;    /* floor((2^64 - 1) / m) */
  uint64_t r64;  /* 2^64 mod m */
  int n;         /* bits of m */
} mg_modulus;

/* A pair of fields.  q divides p-1 and omega has order q; q == 0: the second residue is not used (exp_opaque only). */
typedef struct mg_field {
  uint64_t p, q, omega, seed;
  int exp_opaque;               /* 1: exp is an opaque function */
  int max_opaque;               /* 1: a maximum is an arbitrary function of its operands: does it cancel? */
  mg_modulus mp, mq;
  uint64_t order;               /* key of the total order of max */
  uint64_t key[MG_OP_TABLE_END];/* keys of the opaque functions, by row */
  uint16_t power[512];          /* small pair: omega^k, k < q */
  uint16_t inverse[512];        /* small pair: 1/k mod p */
  double deadline;              /* 0, or the time (seconds, UTC) after which matmul answers MG_LIMIT */
} mg_field;

enum {
  MG_FV_NOQ = 1,     /* no x_q: an exponential is inside */
  MG_FV_UNDEF = 2,   /* depends on a division by zero; the residues are 0 */
  MG_FV_NEGINF = 4,  /* minus infinity, the identity of max; the residues are 0 */
  MG_FV_EXP2 = 8,    /* a second exponential was taken; the residues are 0 */
  MG_FV_MAX = 16,    /* a maximum was involved */
  MG_FV_OPAQUE = 32  /* an opaque function was involved */
};
typedef struct mg_fv { uint64_t p, q; uint32_t flags; } mg_fv;

/* The first pair of a table with p (q + 1) + 2 <= 65535 that avoids every prime factor of the graphs' constants and
   sizes; omega and the keys from the seed.  MG_UNSUPPORTED if no pair does. */
mg_status mg_field_small(const mg_graph *const *g, int n, uint64_t seed, int exp_opaque, mg_field *out, mg_error *e);
/* Random primes from the seed, p in [2^60, 2^61).  exp_opaque: q = 0; else q in [2^30, 2^31). */
mg_status mg_field_large(uint64_t seed, int exp_opaque, mg_field *out);
int mg_is_prime(uint64_t n); /* exact for all 64-bit n */

/* ---------------------------------------------------------------------------------------------- >>arithmetic
   Requirement: every function is total, and its result depends on the operands' values alone, never on how they came
   about; emulated kernels and reference share these. */

#define MGI_FF_GOLD 0x9e3779b97f4a7c15u

/* A bijection of 64-bit words that mixes well (the finalizer of SplitMix64). */
MGI_FN uint64_t mgi_ff_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
/* Keyed hash of two words; taken to be a random function.  The final sum keeps it from being a bijection of x. */
MGI_FN uint64_t mgi_ff_hash(uint64_t key, uint64_t x, uint64_t y) {
  uint64_t h = mgi_ff_mix((x ^ key) + MGI_FF_GOLD), k = mgi_ff_mix(key + y * 0xd6e8feb86659fd93u + 1);
  return mgi_ff_mix(h ^ k) + (h ^ (k << 1));
}
/* Uniform in [least, m), by rejection. */
MGI_FN uint64_t mgi_ff_draw(const mg_modulus *M, uint64_t key, uint64_t x, uint64_t y, uint64_t least) {
  uint64_t mask = ((uint64_t)1 << M->n) - 1;
  for (;; key += MGI_FF_GOLD) {
    uint64_t v = mgi_ff_hash(key, x, y) & mask;
    if (v < M->m && v >= least) return v;
  }
}

MGI_FN uint64_t mgi_addmod(const mg_modulus *M, uint64_t a, uint64_t b) {
  uint64_t s = a + b;
  return s >= M->m ? s - M->m : s;
}
MGI_FN uint64_t mgi_submod(const mg_modulus *M, uint64_t a, uint64_t b) { return a >= b ? a - b : a + (M->m - b); }
/* a, b < m.  Barrett: the estimate of the quotient is at most 2 too small. */
MGI_FN uint64_t mgi_mulmod(const mg_modulus *M, uint64_t a, uint64_t b) {
  mgi_u128 x = (mgi_u128)a * b;
  uint64_t est = (uint64_t)(((mgi_u128)(uint64_t)(x >> (M->n - 1)) * M->mu) >> (M->n + 1));
  uint64_t r = (uint64_t)x - est * M->m;
  while (r >= M->m) r -= M->m;
  return r;
}
MGI_FN uint64_t mgi_mod64(const mg_modulus *M, uint64_t x) {
  uint64_t r = x - (uint64_t)(((mgi_u128)x * M->v) >> 64) * M->m;
  while (r >= M->m) r -= M->m;
  return r;
}
/* Any 128-bit x. */
MGI_FN uint64_t mgi_mod128(const mg_modulus *M, mgi_u128 x) {
  return mgi_addmod(M, mgi_mulmod(M, mgi_mod64(M, (uint64_t)(x >> 64)), M->r64), mgi_mod64(M, (uint64_t)x));
}
MGI_FN uint64_t mgi_powmod(const mg_modulus *M, uint64_t a, uint64_t k) {
  uint64_t r = 1;
  for (; k; k >>= 1, a = mgi_mulmod(M, a, a))
    if (k & 1) r = mgi_mulmod(M, r, a);
  return r;
}
/* 1/a mod m for 0 < a < m, m prime: Euclid. */
MGI_FN uint64_t mgi_invmod(const mg_modulus *M, uint64_t a) {
  uint64_t r0 = M->m, r1 = a;
  int64_t t0 = 0, t1 = 1;
  while (r1 > 1) {
    uint64_t k = r0 / r1, r = r0 - k * r1;
    int64_t t = t0 - (int64_t)k * t1;
    r0 = r1, r1 = r, t0 = t1, t1 = t;
  }
  return t1 < 0 ? (uint64_t)(t1 + (int64_t)M->m) : (uint64_t)t1;
}

#define MGI_FV_SPECIAL (MG_FV_UNDEF | MG_FV_NEGINF | MG_FV_EXP2)
#define MGI_FV_TRACE (MG_FV_MAX | MG_FV_OPAQUE)

MGI_FN mg_fv mgi_fv(uint64_t p, uint64_t q, uint32_t flags) {
  mg_fv r;
  r.p = p, r.q = q, r.flags = flags;
  return r;
}
/* A value without residues; undefined wins over a second exponential, that over minus infinity. */
MGI_FN mg_fv mgi_fv_special(uint32_t flags) {
  uint32_t s = flags & MG_FV_UNDEF ? (uint32_t)MG_FV_UNDEF : flags & MG_FV_EXP2 ? (uint32_t)(MG_FV_EXP2 | MG_FV_NOQ) : (uint32_t)MG_FV_NEGINF;
  return mgi_fv(0, 0, s | (flags & MGI_FV_TRACE));
}
MGI_FN int mgi_fv_has_q(const mg_field *F, uint32_t flags) { return F->q && !(flags & MG_FV_NOQ); }

MGI_FN mg_fv mg_ff_zero(const mg_field *F) {
  (void)F;
  return mgi_fv(0, 0, 0);
}
MGI_FN mg_fv mg_ff_add(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = a.flags | b.flags;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f); /* minus infinity absorbs */
  return mgi_fv(mgi_addmod(&F->mp, a.p, b.p), mgi_fv_has_q(F, f) ? mgi_addmod(&F->mq, a.q, b.q) : 0, f);
}
MGI_FN mg_fv mg_ff_sub(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = a.flags | b.flags;
  if (b.flags & MG_FV_NEGINF) f |= MG_FV_UNDEF;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f);
  return mgi_fv(mgi_submod(&F->mp, a.p, b.p), mgi_fv_has_q(F, f) ? mgi_submod(&F->mq, a.q, b.q) : 0, f);
}
MGI_FN mg_fv mg_ff_mul(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = a.flags | b.flags;
  if (f & MG_FV_NEGINF) f |= MG_FV_UNDEF; /* a residue has no sign */
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f);
  return mgi_fv(mgi_mulmod(&F->mp, a.p, b.p), mgi_fv_has_q(F, f) ? mgi_mulmod(&F->mq, a.q, b.q) : 0, f);
}
/* Undefined if the divisor is 0 in either field that it has. */
MGI_FN mg_fv mg_ff_div(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = a.flags | b.flags;
  if ((f & MG_FV_NEGINF) || (!(b.flags & MGI_FV_SPECIAL) && (!b.p || (mgi_fv_has_q(F, b.flags) && !b.q)))) f |= MG_FV_UNDEF;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f);
  uint64_t ip = F->p < 512 ? F->inverse[b.p] : mgi_invmod(&F->mp, b.p);
  return mgi_fv(mgi_mulmod(&F->mp, a.p, ip), mgi_fv_has_q(F, f) ? mgi_mulmod(&F->mq, a.q, mgi_invmod(&F->mq, b.q)) : 0, f);
}
/* A random function of a.p and c.p, keyed by row `op`; the exponential count starts anew. */
MGI_FN mg_fv mg_ff_opaque_c(const mg_field *F, int op, int nonzero, mg_fv a, mg_fv c) {
  uint32_t f = a.flags & (MGI_FV_SPECIAL | MGI_FV_TRACE);
  if (f & MG_FV_NEGINF) f |= MG_FV_UNDEF;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f | MG_FV_OPAQUE);
  uint64_t k = F->key[op];
  return mgi_fv(mgi_ff_draw(&F->mp, k, a.p, c.p, (uint64_t)nonzero), F->q ? mgi_ff_draw(&F->mq, ~k, a.p, c.p, (uint64_t)nonzero) : 0, f | MG_FV_OPAQUE);
}
/* op: the row (MG_OP_SILU, ..) whose name keys it; nonzero: never 0. */
MGI_FN mg_fv mg_ff_opaque(const mg_field *F, int op, int nonzero, mg_fv a) { return mg_ff_opaque_c(F, op, nonzero, a, mgi_fv(0, 0, 0)); }
MGI_FN mg_fv mg_ff_exp(const mg_field *F, mg_fv a) {
  if (a.flags & MG_FV_NEGINF) return mgi_fv(0, 0, F->exp_opaque ? 0 : (uint32_t)MG_FV_NOQ);
  if (F->exp_opaque) return mg_ff_opaque(F, MG_OP_EXP, 0, a);
  uint32_t f = a.flags;
  if ((f & MG_FV_NOQ) && !(f & MG_FV_UNDEF)) f |= MG_FV_EXP2;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f);
  return mgi_fv(F->p < 512 ? F->power[a.q] : mgi_powmod(&F->mp, F->omega, a.q), 0, f | MG_FV_NOQ);
}
/* In the order of mix(p + key), ties by q, an absent q last. */
MGI_FN mg_fv mg_ff_max(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = (a.flags | b.flags) & MGI_FV_TRACE;
  if ((a.flags | b.flags) & (MG_FV_UNDEF | MG_FV_EXP2)) return mgi_fv_special((a.flags | b.flags) | MG_FV_MAX);
  mg_fv r = a;
  if (a.flags & MG_FV_NEGINF) r = b;
  else if (!(b.flags & MG_FV_NEGINF)) {
    uint64_t x = mgi_ff_mix(a.p + F->order), y = mgi_ff_mix(b.p + F->order);
    if (x < y || (x == y && ((b.flags & MG_FV_NOQ) || (!(a.flags & MG_FV_NOQ) && a.q < b.q)))) r = b;
    if (F->max_opaque) {
      uint64_t lo = a.p < b.p ? a.p : b.p, hi = a.p < b.p ? b.p : a.p;
      return mgi_fv(mgi_ff_draw(&F->mp, F->order, lo, hi, 0), F->q ? mgi_ff_draw(&F->mq, ~F->order, lo, hi, 0) : 0, f | MG_FV_MAX);
    }
  }
  r.flags |= f | MG_FV_MAX;
  return r;
}
/* The residues of an exact constant; undefined if a field's prime divides the denominator. */
MGI_FN mg_fv mg_ff_const(const mg_field *F, mg_rational c) {
  uint64_t num = (uint64_t)(c.num < 0 ? -c.num : c.num), den = (uint64_t)c.den;
  mg_fv a = mgi_fv(mgi_mod64(&F->mp, num), F->q ? mgi_mod64(&F->mq, num) : 0, 0), b = mgi_fv(mgi_mod64(&F->mp, den), F->q ? mgi_mod64(&F->mq, den) : 0, 0);
  if (c.den == 1) b = mgi_fv(1, F->q != 0, 0);
  a = mg_ff_div(F, a, b);
  return c.num < 0 ? mg_ff_sub(F, mgi_fv(0, 0, 0), a) : a;
}
/* Uniform; advances the state. */
MGI_FN mg_fv mg_ff_random(const mg_field *F, uint64_t *state) {
  uint64_t k = mgi_ff_mix(*state += MGI_FF_GOLD); /* a rejected draw steps the key: keys must not be neighbours */
  return mgi_fv(mgi_ff_draw(&F->mp, k, 0, 0, 0), F->q ? mgi_ff_draw(&F->mq, k, 0, 1, 0) : 0, 0);
}

/* ---------------------------------------------------------------------------------------------------- >>rows
   The `field` column of the operator table, over whatever MGI_FFN(f) names: mg_ff_f here, a bound in >>bounds. */

#define MGI_FFN(f) mg_ff_##f
#define FF_ADD(a, b) MGI_FFN(add)(F, a, b)
#define FF_SUB(a, b) MGI_FFN(sub)(F, a, b)
#define FF_MUL(a, b) MGI_FFN(mul)(F, a, b)
#define FF_DIV(a, b) MGI_FFN(div)(F, a, b)
#define FF_MAX(a, b) MGI_FFN(max)(F, a, b)
#define FF_EXP(a) MGI_FFN(exp)(F, a)
#define FF_ZERO MGI_FFN(zero)(F)
#define FF_OPAQUE(id, a) MGI_FFN(opaque_c)(F, MG_OP_##id, 0, a, c)
#define FF_OPAQUE_NONZERO(id, a) MGI_FFN(opaque_c)(F, MG_OP_##id, 1, a, c)

/* Any E row; undefined for the others.  Pass zeros for operands that the row does not have. */
MGI_FN mg_fv mg_ff_apply(const mg_field *F, mg_opcode op, mg_fv a, mg_fv b, mg_fv c) {
  (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real) case MG_OP_##id: return field;
#define MGI_T(id, name, n, lv, attr, shape, abs, index)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return mgi_fv_special(MG_FV_UNDEF);
  }
}

/* --------------------------------------------------------------------------------------------------- >>words
   A small pair in 16 bits: x_p + p x_q, with x_q = q where it is absent; then minus infinity; then poison. */

MGI_FN uint16_t mg_ff_pack(const mg_field *F, mg_fv v) {
  uint64_t top = F->p * (F->q + 1);
  if (v.flags & (MG_FV_UNDEF | MG_FV_EXP2)) return (uint16_t)(top + 1);
  if (v.flags & MG_FV_NEGINF) return (uint16_t)top;
  return (uint16_t)(v.p + F->p * (v.flags & MG_FV_NOQ ? F->q : v.q));
}
/* A word that pack never gives is undefined. */
MGI_FN mg_fv mg_ff_unpack(const mg_field *F, uint16_t w) {
  uint64_t top = F->p * (F->q + 1), q = w / F->p;
  if (w == top) return mgi_fv(0, 0, MG_FV_NEGINF);
  if (w > top) return mgi_fv(0, 0, MG_FV_UNDEF);
  return q == F->q ? mgi_fv(w % F->p, 0, MG_FV_NOQ) : mgi_fv(w % F->p, q, 0);
}

/* mg_eval over the pair of fields: elements are mg_fv.  *F must outlive the domain. */
mg_domain mg_domain_field(const mg_field *F);

/* ------------------------------------------------------------------------------------------------- >>verdict */

typedef enum mg_verdict { MG_UNDECIDED, MG_EQUAL, MG_EQUAL_SAMPLED, MG_NOT_EQUAL } mg_verdict;
const char *mg_verdict_name(mg_verdict v); /* "UNDECIDED", "EQUAL", "EQUAL_SAMPLED", "NOT_EQUAL" */

/* FAST: one test or two, no bound; for candidates in a search.  FULL: as many as the bound needs. */
enum { MG_TIER_DEFAULT, MG_TIER_FAST, MG_TIER_FULL };
enum { MG_VERIFY_TESTS = 64, MG_VERIFY_DRAWS = 4 }; /* the most tests; the most draws a test */

typedef struct mg_verify_config {
  uint64_t seed;       /* of everything random */
  int tier;            /* MG_TIER_FULL by default */
  double log2_delta;   /* what the full tier aims at; 0: -64 */
  int threads;         /* 0: as many as the machine has for FULL, 1 for FAST */
  double time_limit_s; /* 0: none; past it the verdict is UNDECIDED (the field tests are bounded, a float64 run is not) */
  int skip_floats;     /* 1: no float64 run after a mismatch, so UNDECIDED where that would say NOT_EQUAL */
} mg_verify_config;
mg_verify_config mg_verify_config_default(void);

typedef struct mg_verify_report {
  mg_verdict verdict;
  int tests;                 /* that both graphs agreed on, the last one excepted if NOT_EQUAL */
  double log2_delta;         /* log2 of the bound on the chance that EQUAL is wrong; 0: none, not certified */
  char reason[256];          /* one line in words */
  char theorem[160];         /* what log2_delta rests on */
  int two_field;             /* 1: rests on exp(a+b) = exp(a) exp(b); 0: exp was opaque */
  uint64_t seed;
  int tier;
  double want_log2_delta;
  uint64_t p[MG_VERIFY_TESTS], q[MG_VERIFY_TESTS]; /* primes of the tests */
  uint64_t compared;         /* output elements compared, over all tests */
  uint64_t undefined;        /* elements that were undefined, over all draws that were replaced */
  int redraws;
  /* the quantities of Theorem A */
  double degree, opaque_terms, degree_arg, height, log2_eps;
  /* the counterexample that float64 found: inputs by mg_verify_input_real(graph, seed, ..) */
  int confirmed;
  uint64_t cx_seed;
  int cx_output;
  int64_t cx_element;        /* row-major index */
  double cx_a, cx_b;
} mg_verify_report;

/* Compares a (the program) with b.  Inputs and outputs are matched by position; unlike signatures are MG_BAD_INPUT.
   MG_OK whenever there is a verdict.  cfg may be NULL. */
mg_status mg_verify(const mg_graph *a, const mg_graph *b, const mg_verify_config *cfg, mg_verify_report *r, mg_error *e);
/* The random real values of input k, dense row-major: what cx_seed stands for.  Its two low bits choose the range; if the
   next five name an input, that one's values lie 64 above the range, or below it if bit 7 is set, so that they win or
   lose every maximum. */
void mg_verify_input_real(const mg_graph *g, uint64_t seed, int k, double *dst);

/* --------------------------------------------------------------------------------------------- >>certificate */

/* The text of a certificate for EQUAL and EQUAL_SAMPLED: both programs, seed, primes, tests, the quantities of the bound,
   delta and the theorem, or "not certified" and the weaker statement.  MG_NOT_FOUND for the other verdicts.  Free it
   with mg_string_free. */
mg_status mg_certificate(const mg_graph *a, const mg_graph *b, const mg_verify_report *r, char **text, mg_error *e);
/* Rechecks from the text alone: runs the tests again and compares every line.  MG_BAD_INPUT if the text is damaged or
   says what the tests do not give. */
mg_status mg_certificate_check(const char *text, size_t len, mg_verify_report *r, mg_error *e);

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_VERIFY_H */

/* =================================================================================================== implementation */

#if defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_VERIFY_IMPLEMENTATION)
#ifndef MIRAGE_VERIFY_IMPLEMENTED
#define MIRAGE_VERIFY_IMPLEMENTED

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------- >>primes */

static mg_modulus mgi_modulus(uint64_t m) {
  mg_modulus M;
  M.m = m;
  for (M.n = 0; M.n < 64 && m >> M.n; M.n++) {}
  M.mu = (uint64_t)(((mgi_u128)1 << (2 * M.n)) / m);
  M.v = ~(uint64_t)0 / m;
  M.r64 = (uint64_t)(((mgi_u128)1 << 64) % m);
  return M;
}

/* Miller and Rabin; the first twelve primes as bases decide every n < 3.3e24 (Sorenson and Webster 2015). */
int mg_is_prime(uint64_t n) {
  static const uint64_t base[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return 0;
  for (int k = 0; k < 12; k++)
    if (n % base[k] == 0) return n == base[k];
  int s = 0;
  uint64_t d = n - 1;
  while (!(d & 1)) d >>= 1, s++;
  for (int k = 0; k < 12; k++) {
    uint64_t x = 1, a = base[k];
    for (uint64_t t = d; t; t >>= 1, a = (uint64_t)((mgi_u128)a * a % n))
      if (t & 1) x = (uint64_t)((mgi_u128)x * a % n);
    if (x == 1 || x == n - 1) continue;
    int j = 1;
    for (; j < s && x != n - 1; j++) x = (uint64_t)((mgi_u128)x * x % n);
    if (x != n - 1) return 0;
  }
  return 1;
}

/* Uniform among the primes in [2^(bits-1), 2^bits). */
static uint64_t mgi_ff_random_prime(uint64_t *state, int bits) {
  for (;;) {
    uint64_t top = (uint64_t)1 << (bits - 1), n = top | (mgi_ff_hash(*state += MGI_FF_GOLD, 1, 0) & (top - 1));
    if (mg_is_prime(n)) return n;
  }
}

/* Everything that follows from p, q and the seed. */
static void mgi_field_fill(mg_field *F, uint64_t p, uint64_t q, uint64_t seed, int exp_opaque) {
  static const char *const name[MG_OP_TABLE_END] = {
    "",
#define MGI_E(id, name, n, lv, attr, abs, field, real) name,
#define MGI_T(id, name, n, lv, attr, shape, abs, index) name,
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
  };
  uint64_t state = seed ^ 0x6f6d656761u;
  memset(F, 0, sizeof *F);
  F->p = p, F->q = q, F->seed = seed, F->exp_opaque = exp_opaque;
  F->mp = mgi_modulus(p);
  if (q) F->mq = mgi_modulus(q);
  F->omega = 1;
  while (q && F->omega == 1) F->omega = mgi_powmod(&F->mp, mgi_ff_draw(&F->mp, state += MGI_FF_GOLD, 2, 0, 1), (p - 1) / q);
  F->order = mgi_ff_hash(seed, 3, 0);
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    uint64_t h = seed;
    for (const char *s = name[k]; *s; s++) h = mgi_ff_hash(h, (unsigned char)*s, 4);
    F->key[k] = h;
  }
  if (p < 512) {
    for (uint64_t k = 0, w = 1; k < q; k++, w = w * F->omega % p) F->power[k] = (uint16_t)w;
    for (uint64_t k = 1; k < p; k++) F->inverse[k] = (uint16_t)mgi_invmod(&F->mp, k);
  }
}

mg_status mg_field_large(uint64_t seed, int exp_opaque, mg_field *out) {
  uint64_t state = mgi_ff_hash(seed, 5, 0), p, q = 0;
  if (exp_opaque) p = mgi_ff_random_prime(&state, 61);
  else {
    q = mgi_ff_random_prime(&state, 31);
    uint64_t lo = (((uint64_t)1 << 60) + q - 1) / q, span = ((uint64_t)1 << 60) / q; /* p = k q + 1 in [2^60, 2^61) */
    do p = (lo + mgi_ff_hash(state += MGI_FF_GOLD, 6, 0) % span) * q + 1;
    while (p >> 61 || !mg_is_prime(p));
  }
  mgi_field_fill(out, p, q, seed, exp_opaque);
  return MG_OK;
}

/* Products of the numbers that a pair must not divide: visits constants and extents at every level. */
static int mgi_pair_fits(const mg_graph *g, uint64_t p, uint64_t q) {
#define MGI_HIT(x) ((x) && ((uint64_t)((x) < 0 ? -(x) : (x)) % p == 0 || (uint64_t)((x) < 0 ? -(x) : (x)) % q == 0))
  for (uint32_t t = 1; t < g->n_tensors; t++)
    for (int d = 0; d < g->tensors[t].shape.rank; d++)
      if (MGI_HIT(g->tensors[t].shape.dim[d])) return 0;
  for (uint32_t a = 1; a < g->n_axes; a++)
    if (MGI_HIT(g->axes[a].extent)) return 0;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (mg_op_row(o->code)->attr == MG_ATTR_RAT && (MGI_HIT(o->attr.c.num) || MGI_HIT(o->attr.c.den))) return 0;
    if (o->sub && !mgi_pair_fits(o->sub, p, q)) return 0;
  }
#undef MGI_HIT
  return 1;
}

mg_status mg_field_small(const mg_graph *const *g, int n, uint64_t seed, int exp_opaque, mg_field *out, mg_error *e) {
  /* Both primes large: a test misses a difference with probability near degree/q. */
  static const uint16_t pair[][2] = {{359, 179}, {347, 173}, {509, 127}, {263, 131}, {227, 113}, {389, 97}, {499, 83}, {317, 79},
                                     {439, 73},  {293, 73},  {269, 67},  {367, 61},  {179, 89},  {167, 83}, {107, 53}};
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    int fits = 1;
    for (int j = 0; j < n && fits; j++) fits = mgi_pair_fits(g[j], pair[k][0], pair[k][1]);
    if (!fits) continue;
    mgi_field_fill(out, pair[k][0], pair[k][1], seed, exp_opaque);
    return MG_OK;
  }
  return mg_fail(e, MG_UNSUPPORTED, "mg_field_small", "every pair of small primes has one that divides a constant or a size of the graphs");
}

/* ------------------------------------------------------------------------------------------------- >>domains
   Two representations of elements, one code.
     pair   mg_fv, 24 bytes: any field
     word   8 bytes: x_p, or one of two marks above it; for exp_opaque with q == 0 (p < 2^61).  Twice as fast, and a
            third of the memory, which is what large programs run out of.
   matmul works on packed tiles: 64 products of residues below 2^61 fit in 128 bits, so it reduces once in 64 steps.
   Requirement 1: the two give the same x_p and the same undefined elements (test: domains_agree). */

#define MGI_WORD_UNDEF ((uint64_t)1 << 63)
#define MGI_WORD_NEGINF ((uint64_t)1 << 62)

MGI_FN mg_fv mgi_word_in(uint64_t w) { return w >> 62 ? mgi_fv(0, 0, w & MGI_WORD_UNDEF ? MG_FV_UNDEF : MG_FV_NEGINF) : mgi_fv(w, 0, 0); }
MGI_FN uint64_t mgi_word_out(mg_fv v) { return v.flags & (MG_FV_UNDEF | MG_FV_EXP2) ? MGI_WORD_UNDEF : v.flags & MG_FV_NEGINF ? MGI_WORD_NEGINF : v.p; }

/* Offset of row `at` (all dimensions but the last). */
static int64_t mgi_ff_row_offset(const mg_view *v, const int64_t *at, int n) {
  int64_t o = 0;
  for (int d = 0; d < n; d++) o += at[d] * v->stride[d];
  return o;
}
static int mgi_ff_next_row(const mg_shape *s, int64_t *at) {
  for (int d = s->rank - 2; d >= 0; d--) {
    if (++at[d] < s->dim[d]) return 1;
    at[d] = 0;
  }
  return 0;
}

static mg_status mgi_pair_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  const mg_field *F = (const mg_field *)user;
  const mg_op_info *row = mg_op_row(op);
  mg_fv c = row->attr == MG_ATTR_RAT ? mg_ff_const(F, rc) : mgi_fv(0, 0, 0), zero = mgi_fv(0, 0, 0);
  int64_t at[MG_MAX_RANK] = {0};
  int r = out->shape.rank;
  if (!row->elementwise) return MG_UNSUPPORTED;
  do {
    mg_fv *o = (mg_fv *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const mg_fv *a = (const mg_fv *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1);
    const mg_fv *b = row->n_in > 1 ? (const mg_fv *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : &zero;
    int64_t sa = in[0].stride[r - 1], sb = row->n_in > 1 ? in[1].stride[r - 1] : 0;
    for (int64_t k = 0; k < out->shape.dim[r - 1]; k++) o[k * out->stride[r - 1]] = mg_ff_apply(F, op, a[k * sa], b[k * sb], c);
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}

static mg_status mgi_word_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  const mg_field *F = (const mg_field *)user;
  const mg_modulus *M = &F->mp;
  const mg_op_info *row = mg_op_row(op);
  mg_fv c = row->attr == MG_ATTR_RAT ? mg_ff_const(F, rc) : mgi_fv(0, 0, 0);
  uint64_t zero = 0, last = 0, inverse = 0; /* inverse is 1/last */
  int64_t at[MG_MAX_RANK] = {0};
  int r = out->shape.rank;
  if (!row->elementwise) return MG_UNSUPPORTED;
  do {
    uint64_t *o = (uint64_t *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const uint64_t *a = (const uint64_t *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1);
    const uint64_t *b = row->n_in > 1 ? (const uint64_t *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : &zero;
    int64_t sa = in[0].stride[r - 1], sb = row->n_in > 1 ? in[1].stride[r - 1] : 0, so = out->stride[r - 1];
    for (int64_t k = 0; k < out->shape.dim[r - 1]; k++, a += sa, b += sb, o += so) {
      uint64_t x = *a, y = *b;
      if (!((x | y) >> 62) && !(c.flags & MG_FV_UNDEF)) switch (op) {
          case MG_OP_ADD: *o = mgi_addmod(M, x, y); continue;
          case MG_OP_SUB: *o = mgi_submod(M, x, y); continue;
          case MG_OP_MUL: *o = mgi_mulmod(M, x, y); continue;
          case MG_OP_SQR: *o = mgi_mulmod(M, x, x); continue;
          case MG_OP_SCALE: *o = mgi_mulmod(M, x, c.p); continue;
          case MG_OP_DIV:
            if (!y) break;
            if (y != last) last = y, inverse = mgi_invmod(M, y);
            *o = mgi_mulmod(M, x, inverse);
            continue;
          default: break;
        }
      *o = mgi_word_out(mg_ff_apply(F, op, mgi_word_in(x), mgi_word_in(y), c));
    }
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}

enum { MGI_FF_TILE = 64, MGI_FF_COLS = 8 };
/* A tile of one operand as plain residues, and the flags of its rows (of A) or columns (of B). */
typedef struct mgi_ff_tile { uint64_t p[MGI_FF_TILE * MGI_FF_TILE], q[MGI_FF_TILE * MGI_FF_TILE]; uint32_t flags[MGI_FF_TILE]; } mgi_ff_tile;

/* [rows, cols] from v at (r0, c0), row length `pitch`; flags by row or by column. */
static void mgi_ff_tile_pack(const mg_field *F, int word, mgi_ff_tile *t, const mg_view *v, int64_t r0, int64_t c0, int rows, int cols, int pitch, int by_column) {
  memset(t->flags, 0, sizeof t->flags);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < pitch; j++) {
      uint64_t p = 0, q = 0;
      uint32_t f = 0;
      if (j < cols) {
        int64_t at = (r0 + i) * v->stride[0] + (c0 + j) * v->stride[1];
        if (word) {
          p = ((const uint64_t *)v->data)[at];
          if (p >> 62) f = mgi_word_in(p).flags, p = 0;
        } else {
          const mg_fv *x = (const mg_fv *)v->data + at;
          p = x->p, q = x->q, f = x->flags;
        }
      }
      t->p[i * pitch + j] = p;
      if (F->q) t->q[i * pitch + j] = q;
      t->flags[by_column ? j : i] |= f;
    }
}

/* out[j] = sum over l < k <= 64 of a[l] b[l * MGI_FF_COLS + j], mod M. */
static void mgi_ff_tile_dot(const mg_modulus *M, const uint64_t *a, const uint64_t *b, int k, uint64_t *out) {
  for (int j = 0; j < MGI_FF_COLS; j += 4) {
    mgi_u128 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int l = 0; l < k; l++) {
      const uint64_t *y = b + l * MGI_FF_COLS + j;
      s0 += (mgi_u128)a[l] * y[0], s1 += (mgi_u128)a[l] * y[1], s2 += (mgi_u128)a[l] * y[2], s3 += (mgi_u128)a[l] * y[3];
    }
    out[j] = mgi_mod128(M, s0), out[j + 1] = mgi_mod128(M, s1), out[j + 2] = mgi_mod128(M, s2), out[j + 3] = mgi_mod128(M, s3);
  }
}

static double mgi_verify_now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static mg_status mgi_ff_matmul(const mg_field *F, int word, const mg_view *c, const mg_view *a, const mg_view *b) {
  int64_t m = c->shape.dim[0], n = c->shape.dim[1], k = a->shape.dim[1];
  mgi_ff_tile *A = (mgi_ff_tile *)malloc(2 * sizeof *A), *B = A + 1;
  if (!A) return MG_NO_MEMORY;
  for (int64_t m0 = 0; m0 < m; m0 += MGI_FF_TILE)
    for (int64_t k0 = 0; k0 < k; k0 += MGI_FF_TILE) {
      if (F->deadline > 0 && mgi_verify_now() > F->deadline) { free(A); return MG_LIMIT; }
      int rows = m - m0 < MGI_FF_TILE ? (int)(m - m0) : (int)MGI_FF_TILE, depth = k - k0 < MGI_FF_TILE ? (int)(k - k0) : (int)MGI_FF_TILE;
      mgi_ff_tile_pack(F, word, A, a, m0, k0, rows, depth, MGI_FF_TILE, 0);
      for (int64_t n0 = 0; n0 < n; n0 += MGI_FF_COLS) {
        int cols = n - n0 < MGI_FF_COLS ? (int)(n - n0) : (int)MGI_FF_COLS;
        mgi_ff_tile_pack(F, word, B, b, k0, n0, depth, cols, MGI_FF_COLS, 1);
        for (int i = 0; i < rows; i++) {
          uint64_t p[MGI_FF_COLS], q[MGI_FF_COLS] = {0};
          mgi_ff_tile_dot(&F->mp, A->p + i * MGI_FF_TILE, B->p, depth, p);
          if (F->q) mgi_ff_tile_dot(&F->mq, A->q + i * MGI_FF_TILE, B->q, depth, q);
          for (int j = 0; j < cols; j++) {
            uint32_t f = A->flags[i] | B->flags[j];
            if (f & MG_FV_NEGINF) f = (f & ~(uint32_t)MG_FV_NEGINF) | MG_FV_UNDEF;
            int64_t at = (m0 + i) * c->stride[0] + (n0 + j) * c->stride[1];
            if (word) {
              uint64_t *o = (uint64_t *)c->data + at;
              *o = f || *o >> 62 ? MGI_WORD_UNDEF : mgi_addmod(&F->mp, *o, p[j]);
            } else {
              mg_fv *o = (mg_fv *)c->data + at, x = f & MGI_FV_SPECIAL ? mgi_fv_special(f) : mgi_fv(p[j], f & MG_FV_NOQ ? 0 : q[j], f);
              *o = mg_ff_add(F, *o, x);
            }
          }
        }
      }
    }
  free(A);
  return MG_OK;
}
static mg_status mgi_pair_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) { return mgi_ff_matmul((const mg_field *)user, 0, c, a, b); }
static mg_status mgi_word_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) { return mgi_ff_matmul((const mg_field *)user, 1, c, a, b); }

static mg_status mgi_ff_combine(const mg_field *F, int word, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  do {
    int64_t o = mgi_ff_row_offset(out, at, r - 1), a = mgi_ff_row_offset(in, at, r - 1);
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++, o += out->stride[r - 1], a += in->stride[r - 1])
      if (word) {
        uint64_t *x = (uint64_t *)out->data + o, y = ((const uint64_t *)in->data)[a];
        if (op == MG_OP_SUM && !((*x | y) >> 62)) *x = mgi_addmod(&F->mp, *x, y);
        else *x = mgi_word_out(op == MG_OP_SUM ? mg_ff_add(F, mgi_word_in(*x), mgi_word_in(y)) : mg_ff_max(F, mgi_word_in(*x), mgi_word_in(y)));
      } else {
        mg_fv *x = (mg_fv *)out->data + o, y = ((const mg_fv *)in->data)[a];
        *x = op == MG_OP_SUM ? mg_ff_add(F, *x, y) : mg_ff_max(F, *x, y);
      }
  } while (mgi_ff_next_row(&in->shape, at));
  return MG_OK;
}
static mg_status mgi_pair_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) { return mgi_ff_combine((const mg_field *)user, 0, op, out, in); }
static mg_status mgi_word_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) { return mgi_ff_combine((const mg_field *)user, 1, op, out, in); }

static void mgi_pair_fill(void *user, mg_opcode op, void *dst, size_t n) {
  mg_fv *d = (mg_fv *)dst, v = mgi_fv(0, 0, op == MG_OP_SUM ? 0 : (uint32_t)MG_FV_NEGINF);
  (void)user;
  while (n--) *d++ = v;
}
static void mgi_word_fill(void *user, mg_opcode op, void *dst, size_t n) {
  uint64_t *d = (uint64_t *)dst, v = op == MG_OP_SUM ? 0 : MGI_WORD_NEGINF;
  (void)user;
  while (n--) *d++ = v;
}

mg_domain mg_domain_field(const mg_field *F) {
  mg_domain d;
  memset(&d, 0, sizeof d);
  d.user = (void *)(uintptr_t)F;
  d.elem = sizeof(mg_fv);
  d.map = mgi_pair_map, d.matmul = mgi_pair_matmul, d.combine = mgi_pair_combine, d.fill = mgi_pair_fill;
  return d;
}
/* The word representation; F->q must be 0. */
static mg_domain mgi_domain_word(const mg_field *F) {
  mg_domain d = mg_domain_field(F);
  d.elem = sizeof(uint64_t);
  d.map = mgi_word_map, d.matmul = mgi_word_matmul, d.combine = mgi_word_combine, d.fill = mgi_word_fill;
  return d;
}

/* -------------------------------------------------------------------------------------------------- >>bounds
   Bounds for Theorem A, at tensor granularity.  Every element of a tensor is N/D with deg N <= n, deg D <= d, and the
   sums of the magnitudes of their integer coefficients at most 2^hn and 2^hd.  A value over Q is brought to integer
   coefficients by multiplying N and D.
     a + b    (Na Db + Nb Da) / (Da Db)           sum of K: D^K, N D^(K-1), K times
     a * b    (Na Nb) / (Da Db)                   a / b: (Na Db) / (Da Nb)
     f(a)     a new variable                      constant r/s: r / s
   terms[S] bounds how many opaque terms the elements of a slice mention together.  S says which dimensions the slice
   runs over (bit 0 the last); the others are held.  So a reduction turns terms[S with its dimension] into terms[S]: a row of
   a softmax mentions its own exponentials, once, however many rows there are.
   The rules for E rows are the operator table's `field` column itself, read over these bounds.
   Requirement 1: every rule is monotone, so a tensor's maxima stand for each of its elements.
   Requirement 2: nothing is rounded down: degrees are doubles, exact below 2^53, and heights round up by mgi_bound_up.
   Requirement 3: a dimension of extent 1, or one that the tensor lacks, changes nothing in S; broadcasting is free then. */

enum { MGI_BOUND_SLICES = 1 << MG_MAX_RANK };
typedef struct mgi_bound { double n, d, hn, hd; uint32_t flags; double terms[MGI_BOUND_SLICES]; } mgi_bound;
enum { MGI_HAS_EXP = 1, MGI_HAS_OPAQUE = 2, MGI_HAS_MAX = 4 };

typedef struct mgi_bounds {
  double arg_n, arg_d, arg_hn, arg_hd; /* maxima over arguments of opaque functions */
  double applications;                 /* of opaque functions, over all elements, blocks and iterations */
  double runs;                         /* how often the operator being read runs */
  double slice[MGI_BOUND_SLICES];      /* elements of the slices of its result */
  double terms, n, d, hn, hd;          /* maxima over the outputs */
  uint32_t flags[MG_MAX_OUT];          /* by output */
  int failed;
} mgi_bounds;

static double mgi_bound_max2(double a, double b) { return a > b ? a : b; }
static double mgi_bound_min2(double a, double b) { return a < b ? a : b; }
static double mgi_bound_up(double x) { return x * (1 + 1e-12); }
/* With the terms of a and b together (NULL: none). */
static mgi_bound mgi_bound_of(double n, double d, double hn, double hd, const mgi_bound *a, const mgi_bound *b) {
  mgi_bound r;
  r.n = n, r.d = d, r.hn = mgi_bound_up(hn), r.hd = mgi_bound_up(hd);
  r.flags = (a ? a->flags : 0) | (b ? b->flags : 0);
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] = (a ? a->terms[S] : 0) + (b ? b->terms[S] : 0);
  return r;
}
static mgi_bound mgi_bound_zero(mgi_bounds *F) {
  (void)F;
  return mgi_bound_of(0, 0, 0, 0, NULL, NULL);
}
static mgi_bound mgi_bound_add(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  (void)F;
  return mgi_bound_of(mgi_bound_max2(a.n + b.d, b.n + a.d), a.d + b.d, mgi_bound_max2(a.hn + b.hd, b.hn + a.hd) + 1, a.hd + b.hd, &a, &b);
}
static mgi_bound mgi_bound_sub(mgi_bounds *F, mgi_bound a, mgi_bound b) { return mgi_bound_add(F, a, b); }
static mgi_bound mgi_bound_mul(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  (void)F;
  return mgi_bound_of(a.n + b.n, a.d + b.d, a.hn + b.hn, a.hd + b.hd, &a, &b);
}
static mgi_bound mgi_bound_div(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  (void)F;
  return mgi_bound_of(a.n + b.d, a.d + b.n, a.hn + b.hd, a.hd + b.hn, &a, &b);
}
/* Either operand. */
static mgi_bound mgi_bound_join(mgi_bound a, mgi_bound b) {
  return mgi_bound_of(mgi_bound_max2(a.n, b.n), mgi_bound_max2(a.d, b.d), mgi_bound_max2(a.hn, b.hn), mgi_bound_max2(a.hd, b.hd), &a, &b);
}
/* No bound is claimed where a maximum is involved. */
static mgi_bound mgi_bound_max(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_join(a, b);
  (void)F;
  r.flags |= MGI_HAS_MAX;
  return r;
}
static mgi_bound mgi_bound_opaque_c(mgi_bounds *F, int op, int nonzero, mgi_bound a, mgi_bound c) {
  mgi_bound r = mgi_bound_of(1, 0, 0, 0, &a, NULL);
  (void)nonzero;
  F->arg_n = mgi_bound_max2(F->arg_n, a.n), F->arg_d = mgi_bound_max2(F->arg_d, a.d);
  F->arg_hn = mgi_bound_max2(F->arg_hn, mgi_bound_max2(a.hn, c.hn)), F->arg_hd = mgi_bound_max2(F->arg_hd, mgi_bound_max2(a.hd, c.hd));
  F->applications += F->runs * F->slice[MGI_BOUND_SLICES - 1];
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] += F->slice[S];
  r.flags |= op == MG_OP_EXP ? (uint32_t)MGI_HAS_EXP : (uint32_t)MGI_HAS_OPAQUE;
  return r;
}
static mgi_bound mgi_bound_exp(mgi_bounds *F, mgi_bound a) { return mgi_bound_opaque_c(F, MG_OP_EXP, 0, a, mgi_bound_zero(F)); }
/* The sum of k elements like a, whose terms a counts already. */
static mgi_bound mgi_bound_sum(mgi_bound a, double k) {
  if (k < 1) k = 1;
  return mgi_bound_of(a.n + (k - 1) * a.d, k * a.d, a.hn + (k - 1) * a.hd + log2(k), k * a.hd, &a, NULL);
}

#undef MGI_FFN
#define MGI_FFN(f) mgi_bound_##f
static mgi_bound mgi_bound_apply(mgi_bounds *F, mg_opcode op, mgi_bound a, mgi_bound b, mgi_bound c) {
  (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real) case MG_OP_##id: return field;
#define MGI_T(id, name, n, lv, attr, shape, abs, index)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: F->failed = 1; return mgi_bound_zero(F);
  }
}
#undef MGI_FFN
#define MGI_FFN(f) mg_ff_##f

/* The reduction over dimension `bit` (0 the last). */
static mgi_bound mgi_bound_reduced(const mgi_bound *a, int bit) {
  mgi_bound r = *a;
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] = a->terms[S | 1 << bit];
  return r;
}
/* One product of [m, k] and [k, n], summed over k. */
static mgi_bound mgi_bound_matmul(mgi_bounds *F, mgi_bound a, mgi_bound b, double k) {
  mgi_bound x = a, y = b;
  for (int S = 0; S < MGI_BOUND_SLICES; S++) x.terms[S] = a.terms[S | 1], y.terms[S] = b.terms[S | 2];
  return mgi_bound_sum(mgi_bound_mul(F, x, y), k);
}

/* One level; `above` holds the bounds of the graph above, `times` how often this graph runs.  0 on success. */
static int mgi_bounds_level(mgi_bounds *F, const mg_graph *g, mgi_bound *above, const mg_op_node *owner, double times) {
  mgi_bound *t = (mgi_bound *)calloc(g->n_tensors, sizeof *t);
  int stores = 0, bad = !t;
  if (!g->up)
    for (uint32_t k = 0; k < g->n_in && !bad; k++) t[g->in[k].id] = mgi_bound_of(1, 0, 0, 0, NULL, NULL);
  for (int a = 1; a <= 3 && g->up; a++) times *= (double)g->axes[a].extent;
  for (uint32_t k = 1; k < g->n_ops && !bad; k++) {
    const mg_op_node *o = &g->ops[k];
    const mg_op_info *row = mg_op_row(o->code);
    int load = o->code == MG_OP_LOAD; /* its operand is a tensor of the graph above */
    mgi_bound a = load ? mgi_bound_zero(F) : t[o->in[0].id], b = o->n_in > 1 ? t[o->in[1].id] : a, r = mgi_bound_zero(F);
    F->runs = times;
    for (uint32_t l = o->scope; l; l = g->axes[l].parent) F->runs *= (double)g->axes[l].extent;
    if (o->code == MG_OP_GRAPH) { bad = mgi_bounds_level(F, o->sub, t, o, F->runs); continue; }
    const mg_shape *s = &(load ? g->up : g)->tensors[o->in[0].id].shape; /* of the operand; of a STORE too */
    const mg_shape *z = o->code == MG_OP_STORE ? &g->up->tensors[owner->out[stores].id].shape : &g->tensors[o->out[0].id].shape;
    for (int S = 0; S < MGI_BOUND_SLICES; S++) {
      F->slice[S] = 1;
      for (int d = 0; d < z->rank; d++)
        if (S >> (z->rank - 1 - d) & 1) F->slice[S] *= (double)z->dim[d];
    }
    if (load) r = above[o->in[0].id];
    else if (o->code == MG_OP_STORE || o->code == MG_OP_ACCUM) {
      double n = 1;
      int maximum = 0;
      for (uint32_t x = 1; x < g->n_axes; x++)
        if (o->map.to[x] == MG_MAP_SUM) n *= (double)g->axes[x].extent;
      r = mgi_bound_sum(a, n);
      for (uint32_t x = 1; x < g->n_axes; x++) {
        int to = o->map.to[x];
        maximum |= to == MG_MAP_MAX;
        for (int S = 0; S < MGI_BOUND_SLICES; S++) /* blocks and iterations have terms of their own */
          if (to == MG_MAP_SUM || to == MG_MAP_MAX || (to >= 0 && (S >> (z->rank - 1 - to) & 1))) r.terms[S] *= (double)g->axes[x].extent;
      }
      if (maximum) r.flags |= MGI_HAS_MAX;
    } else if (row->elementwise) {
      mgi_bound c = mgi_bound_zero(F);
      if (row->attr == MG_ATTR_RAT) {
        c.hn = o->attr.c.num ? mgi_bound_up(log2(fabs((double)o->attr.c.num))) : 0;
        c.hd = mgi_bound_up(log2((double)o->attr.c.den));
      }
      r = mgi_bound_apply(F, o->code, a, row->n_in > 1 ? b : mgi_bound_zero(F), c);
    } else if (o->code == MG_OP_MATMUL) r = mgi_bound_matmul(F, a, b, (double)s->dim[s->rank - 1]);
    else if (o->code == MG_OP_CONCAT_MATMUL) {
      const mg_shape *s2 = &g->tensors[o->in[1].id].shape;
      r = mgi_bound_add(F, mgi_bound_matmul(F, a, t[o->in[2].id], (double)s->dim[s->rank - 1]), mgi_bound_matmul(F, b, t[o->in[3].id], (double)s2->dim[s2->rank - 1]));
    } else if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) {
      a = mgi_bound_reduced(&a, s->rank - 1 - o->attr.dim);
      r = o->code == MG_OP_SUM ? mgi_bound_sum(a, (double)s->dim[o->attr.dim]) : mgi_bound_max(F, a, mgi_bound_zero(F));
    } else if (row->moves) {
      r = a;
      for (int j = 1; j < o->n_in; j++) r = mgi_bound_join(r, t[o->in[j].id]);
      for (int S = 0; S < MGI_BOUND_SLICES; S++) { /* concat and repeat keep their dimensions; others may mix them */
        int from = o->code == MG_OP_CONCAT || o->code == MG_OP_REPEAT ? S : MGI_BOUND_SLICES - 1;
        if (o->code == MG_OP_TRANSPOSE) {
          from = 0;
          for (int d = 0; d < z->rank; d++)
            if (S >> (z->rank - 1 - d) & 1) from |= 1 << (s->rank - 1 - o->attr.perm[d]);
        }
        double x = 0;
        for (int j = 0; j < o->n_in; j++) x += t[o->in[j].id].terms[from];
        r.terms[S] = x;
        if (o->code == MG_OP_CONCAT || o->code == MG_OP_REPEAT || o->code == MG_OP_TRANSPOSE) continue;
        for (int j = 0; j < o->n_in; j++) x = j ? mgi_bound_max2(x, t[o->in[j].id].terms[0]) : t[o->in[j].id].terms[0];
        r.terms[S] = mgi_bound_min2(r.terms[S], F->slice[S] * x);
      }
    } else F->failed = 1;
    for (int S = MGI_BOUND_SLICES - 1; S >= 0; S--) r.terms[S] = mgi_bound_min2(mgi_bound_min2(r.terms[S], F->slice[S] * r.terms[0]), F->applications);
    if (o->code == MG_OP_STORE) above[owner->out[stores++].id] = r;
    else t[o->out[0].id] = r;
  }
  if (!g->up && !bad)
    for (uint32_t k = 0; k < g->n_out; k++) {
      const mgi_bound *x = &t[g->out[k].id];
      F->n = mgi_bound_max2(F->n, x->n), F->d = mgi_bound_max2(F->d, x->d), F->hn = mgi_bound_max2(F->hn, x->hn), F->hd = mgi_bound_max2(F->hd, x->hd);
      F->terms = mgi_bound_max2(F->terms, x->terms[0]);
      F->flags[k] = x->flags;
    }
  free(t);
  return bad;
}

static mg_status mgi_bounds_of(const mg_graph *g, mgi_bounds *out, mg_error *e) {
  memset(out, 0, sizeof *out);
  if (mgi_bounds_level(out, g, NULL, NULL, 1)) return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the degree bounds");
  if (out->failed) return mg_fail(e, MG_UNSUPPORTED, "mg_verify", "an operator of '%s' has no field meaning", g->name);
  return MG_OK;
}

/* Fills the quantities of Theorem A; log2_eps >= 0 means no bound. */
static void mgi_bound_theorem(const mgi_bounds *a, const mgi_bounds *b, mg_verify_report *r) {
  const double primes = 60 - log2(log(2.0) * 60 * 5 / 3) - 1e-9; /* log2 of the number of primes in [2^60, 2^61) */
  double arg_n = mgi_bound_max2(a->arg_n, b->arg_n), arg_d = mgi_bound_max2(a->arg_d, b->arg_d), arg_hn = mgi_bound_max2(a->arg_hn, b->arg_hn), arg_hd = mgi_bound_max2(a->arg_hd, b->arg_hd);
  double m = a->terms + b->terms, pairs = m > 1 ? m * (m - 1) / 2 : 0;
  r->degree = mgi_bound_max2(a->n + b->d, b->n + a->d);
  r->opaque_terms = m;
  r->degree_arg = pairs > 0 ? arg_n + arg_d : 0;
  r->height = mgi_bound_up(mgi_bound_max2(mgi_bound_max2(a->hn + b->hd, b->hn + a->hd), arg_hn + arg_hd) + 1);
  double zeros = r->degree + pairs * r->degree_arg, unlucky = (1 + pairs) * r->height / 60;
  double x = zeros > 0 ? log2(zeros) - 60 + 1e-9 : -1000, y = unlucky > 0 ? log2(unlucky) - primes : -1000; /* p - 1 >= 2^60 */
  double hi = mgi_bound_max2(x, y), lo = x < y ? x : y;
  r->log2_eps = hi + log2(1 + exp2(lo - hi)) + log2((double)MG_VERIFY_DRAWS) + 1e-6;
  if (!(r->log2_eps < 0)) r->log2_eps = 0;
}

/* --------------------------------------------------------------------------------------------------- >>draws
   Everything random follows from (seed, kind of test, number of the test, number of the draw), by counters: the result
   depends neither on threads nor on order. */

/* fn(ctx, job) for every job, on up to `threads` threads; jobs are dealt round robin. */
typedef struct mgi_verify_crew { void (*fn)(void *ctx, int job); void *ctx; int jobs, step, first; } mgi_verify_crew;
static void *mgi_verify_crew_run(void *arg) {
  const mgi_verify_crew *c = (const mgi_verify_crew *)arg;
  for (int j = c->first; j < c->jobs; j += c->step) c->fn(c->ctx, j);
  return NULL;
}
static void mgi_verify_parallel(void (*fn)(void *, int), void *ctx, int jobs, int threads) {
  enum { MOST = 64 };
  mgi_verify_crew crew[MOST];
  pthread_t id[MOST];
  int started[MOST];
  int n = threads > MOST ? (int)MOST : threads;
  if (n > jobs) n = jobs;
  if (n < 1) n = 1;
  for (int k = 0; k < n; k++) crew[k].fn = fn, crew[k].ctx = ctx, crew[k].jobs = jobs, crew[k].step = n, crew[k].first = k;
  for (int k = 1; k < n; k++) started[k] = pthread_create(&id[k], NULL, mgi_verify_crew_run, &crew[k]) == 0;
  mgi_verify_crew_run(&crew[0]);
  for (int k = 1; k < n; k++) {
    if (started[k]) pthread_join(id[k], NULL);
    else mgi_verify_crew_run(&crew[k]);
  }
}

/* One draw of one test. */
typedef struct mgi_trial {
  const mg_graph *g[2];
  mg_field F[2];             /* they differ in the order of max at most */
  int word;                  /* the representation */
  uint64_t seed;
  void *in[MG_MAX_IN], *out[2][MG_MAX_OUT];
  mg_status status[2];
  mg_error error[2];
  /* the outcome */
  uint64_t compared, undefined;
  int twice;                 /* a second exponential was met */
  int differs, output;
  int64_t element;
} mgi_trial;

static int64_t mgi_trial_elements(const mg_graph *g, mg_tensor t) { return mg_shape_elements(&g->tensors[t.id].shape); }

static void mgi_trial_free(mgi_trial *t) {
  for (int k = 0; k < MG_MAX_IN; k++) free(t->in[k]), t->in[k] = NULL;
  for (int s = 0; s < 2; s++)
    for (int k = 0; k < MG_MAX_OUT; k++) free(t->out[s][k]), t->out[s][k] = NULL;
}

static int mgi_trial_alloc(mgi_trial *t) {
  size_t elem = t->word ? sizeof(uint64_t) : sizeof(mg_fv);
  int good = 1;
  for (uint32_t k = 0; k < t->g[0]->n_in; k++) good &= (t->in[k] = malloc((size_t)mgi_trial_elements(t->g[0], t->g[0]->in[k]) * elem)) != NULL;
  for (int s = 0; s < 2; s++)
    for (uint32_t k = 0; k < t->g[0]->n_out; k++) good &= (t->out[s][k] = malloc((size_t)mgi_trial_elements(t->g[0], t->g[0]->out[k]) * elem)) != NULL;
  return good;
}

enum { MGI_TRIAL_SLICES = 8 }; /* inputs are drawn in this many pieces */

/* >>tests draws job = trial * MGI_TRIAL_SLICES + slice. */
static void mgi_trial_job_draw(void *ctx, int job) {
  mgi_trial *t = (mgi_trial *)ctx + job / MGI_TRIAL_SLICES;
  const mg_field *F = &t->F[0];
  for (uint32_t k = 0; k < t->g[0]->n_in; k++) {
    int64_t n = mgi_trial_elements(t->g[0], t->g[0]->in[k]), lo = n * (job % MGI_TRIAL_SLICES) / MGI_TRIAL_SLICES, hi = n * (job % MGI_TRIAL_SLICES + 1) / MGI_TRIAL_SLICES;
    uint64_t key = mgi_ff_hash(t->seed, k, 7);
    for (int64_t i = lo; i < hi; i++) {
      uint64_t p = mgi_ff_draw(&F->mp, key, (uint64_t)i, 0, 0);
      if (t->word) ((uint64_t *)t->in[k])[i] = p;
      else ((mg_fv *)t->in[k])[i] = mgi_fv(p, F->q ? mgi_ff_draw(&F->mq, key, (uint64_t)i, 1, 0) : 0, 0);
    }
  }
}
/* job = trial * 2 + side */
static void mgi_trial_job_eval(void *ctx, int job) {
  mgi_trial *t = (mgi_trial *)ctx + job / 2;
  int s = job % 2;
  mg_domain d = t->word ? mgi_domain_word(&t->F[s]) : mg_domain_field(&t->F[s]);
  memset(&t->error[s], 0, sizeof t->error[s]);
  t->status[s] = mg_eval(t->g[s], &d, (const void *const *)t->in, t->out[s], &t->error[s]);
}

static void mgi_trial_compare(mgi_trial *t) {
  t->compared = t->undefined = 0, t->twice = t->differs = 0;
  for (uint32_t k = 0; k < t->g[0]->n_out; k++) {
    int64_t n = mgi_trial_elements(t->g[0], t->g[0]->out[k]);
    for (int64_t i = 0; i < n; i++) {
      mg_fv a, b;
      if (t->word) a = mgi_word_in(((uint64_t *)t->out[0][k])[i]), b = mgi_word_in(((uint64_t *)t->out[1][k])[i]);
      else a = ((mg_fv *)t->out[0][k])[i], b = ((mg_fv *)t->out[1][k])[i];
      uint32_t f = a.flags | b.flags;
      if (f & (MG_FV_UNDEF | MG_FV_EXP2)) { t->twice |= (f & MG_FV_EXP2) != 0, t->undefined++; continue; }
      t->compared++;
      int same = a.p == b.p && !((a.flags ^ b.flags) & MG_FV_NEGINF) && (!mgi_fv_has_q(&t->F[0], f) || a.q == b.q);
      if (!same && !t->differs) t->differs = 1, t->output = (int)k, t->element = i;
    }
  }
}

/* --------------------------------------------------------------------------------------------------- >>tests
   Both tiers draw large primes.  A small pair would leave elements undefined wherever a contraction follows a division
   (1 in p divisors is zero), and it is no faster: a small fast-tier call takes some 30 microseconds, 8 of which find
   the prime.  The small pairs serve the emulator, whose kernels store 16-bit words. */

enum { MGI_OPAQUE_TEST, MGI_PAIR_TEST, MGI_CANCEL_TEST = 2 /* added: each side has arbitrary maxima of its own */ };
typedef enum mgi_trial_outcome { MGI_TRIAL_AGREE, MGI_TRIAL_DIFFER, MGI_TRIAL_TWICE, MGI_TRIAL_ZERO_DIVISOR, MGI_TRIAL_FAULT } mgi_trial_outcome;

static void mgi_trial_setup(mgi_trial *t, const mg_graph *a, const mg_graph *b, uint64_t seed, int kind, int test, int draw, double deadline) {
  t->g[0] = a, t->g[1] = b;
  t->word = !(kind & MGI_PAIR_TEST);
  t->seed = mgi_ff_hash(mgi_ff_hash(seed, (uint64_t)kind, 8), (uint64_t)test, (uint64_t)draw);
  mg_field_large(t->seed, t->word, &t->F[0]);
  t->F[0].max_opaque = (kind & MGI_CANCEL_TEST) != 0;
  t->F[0].deadline = deadline;
  t->F[1] = t->F[0];
  if (kind & MGI_CANCEL_TEST) t->F[1].order = mgi_ff_mix(~t->F[0].order);
}

/* `tests` tests of one kind; stops at the first that does not agree. Adds to the report's counts. */
static mgi_trial_outcome mgi_tests(const mg_graph *a, const mg_graph *b, uint64_t seed, int kind, int tests, int threads, double deadline, mg_verify_report *r, int *output, mg_error *e) {
  int wave = threads / 2 < 1 ? 1 : threads > 8 ? 4 : threads / 2, done = 0; /* tests in flight: memory bounds them */
  if (wave > tests) wave = tests;
  mgi_trial_outcome result = MGI_TRIAL_AGREE;
  mgi_trial *t = (mgi_trial *)calloc((size_t)wave, sizeof *t);
  if (!t) { mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for a test"); return MGI_TRIAL_FAULT; }
  while (done < tests && result == MGI_TRIAL_AGREE) {
    int n = tests - done < wave ? tests - done : wave;
    for (int k = 0; k < n; k++) {
      mgi_trial_setup(&t[k], a, b, seed, kind, done + k, 0, deadline);
      if (!t[k].in[0] && !mgi_trial_alloc(&t[k])) {
        mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the inputs and outputs of a test");
        result = MGI_TRIAL_FAULT;
      }
    }
    if (result == MGI_TRIAL_AGREE) mgi_verify_parallel(mgi_trial_job_draw, t, n * MGI_TRIAL_SLICES, threads), mgi_verify_parallel(mgi_trial_job_eval, t, n * 2, threads);
    for (int k = 0; k < n && result == MGI_TRIAL_AGREE; k++) {
      for (int draw = 0;; draw++) {
        for (int s = 0; s < 2; s++)
          if (t[k].status[s] != MG_OK) {
            *e = t[k].error[s];
            if (e->status == MG_OK) mg_fail(e, t[k].status[s], "mg_verify", "evaluation failed");
            result = MGI_TRIAL_FAULT;
          }
        if (result != MGI_TRIAL_AGREE) break;
        mgi_trial_compare(&t[k]);
        if (!t[k].undefined || t[k].twice || t[k].differs) break;
        r->undefined += t[k].undefined;
        r->redraws++;
        if (draw + 1 == MG_VERIFY_DRAWS) { result = MGI_TRIAL_ZERO_DIVISOR; break; }
        mgi_trial_setup(&t[k], a, b, seed, kind, done + k, draw + 1, deadline);
        mgi_verify_parallel(mgi_trial_job_draw, &t[k], MGI_TRIAL_SLICES, threads);
        mgi_verify_parallel(mgi_trial_job_eval, &t[k], 2, threads);
      }
      if (result != MGI_TRIAL_AGREE) break;
      if (t[k].twice && !t[k].differs) { result = MGI_TRIAL_TWICE; break; }
      if (r->tests < MG_VERIFY_TESTS) r->p[r->tests] = t[k].F[0].p, r->q[r->tests] = t[k].F[0].q;
      r->tests++;
      r->compared += t[k].compared;
      if (t[k].differs) result = MGI_TRIAL_DIFFER, *output = t[k].output;
    }
    done += n;
  }
  for (int k = 0; k < wave; k++) mgi_trial_free(&t[k]);
  free(t);
  return result;
}

/* -------------------------------------------------------------------------------------------------- >>floats
   The same pair over doubles, on inputs of several ranges: signed, positive, small (so that an epsilon counts), large. */

void mg_verify_input_real(const mg_graph *g, uint64_t seed, int k, double *dst) {
  static const double lo[4] = {-2, 0.25, -0.001, -8}, hi[4] = {2, 2, 0.001, 8};
  int64_t n = mgi_trial_elements(g, g->in[k]);
  int range = (int)(seed & 3);
  double shift = (int)(seed >> 2 & 31) == k ? seed >> 7 & 1 ? -64 : 64 : 0;
  for (int64_t i = 0; i < n; i++) dst[i] = shift + lo[range] + (hi[range] - lo[range]) * ldexp((double)(mgi_ff_hash(mgi_ff_hash(seed, (uint64_t)k, 9), (uint64_t)i, 0) >> 11), -53);
}

/* A double and a bound on how far it may be from the exact value: what the operands' bounds move (the row at the
   corners of their box) and rounding.  Infinite once anything on the way was not finite. */
typedef struct mgi_ball { double v, err; } mgi_ball;
#define MGI_BALL_U 2.3e-16

static mg_status mgi_ball_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  const mg_op_info *row = mg_op_row(op);
  int r = out->shape.rank, functions = row->abstract == MG_ABS_OPAQUE || row->user;
  double c = rc.den ? (double)rc.num / (double)rc.den : 0, ulp_c = row->attr == MG_ATTR_RAT ? MGI_BALL_U * fabs(c) : 0;
  mgi_ball zero = {0, 0};
  int64_t at[MG_MAX_RANK] = {0};
  (void)user;
  do {
    mgi_ball *o = (mgi_ball *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const mgi_ball *a = (const mgi_ball *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1);
    const mgi_ball *b = row->n_in > 1 ? (const mgi_ball *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : &zero;
    int64_t sa = in[0].stride[r - 1], sb = row->n_in > 1 ? in[1].stride[r - 1] : 0, so = out->stride[r - 1];
    for (int64_t k = 0; k < out->shape.dim[r - 1]; k++, a += sa, b += sb, o += so) {
      double v = mg_op_real(op, a->v, b->v, c), moved = 0;
      int same = a == b && row->n_in > 1; /* x op x: the corners move together */
      for (int m = 0; m < 8; m++) {
        double x = a->v + (m & 1 ? a->err : -a->err), y = same ? x : b->v + (m & 2 ? b->err : -b->err), z = c + (m & 4 ? ulp_c : -ulp_c);
        if (((m & 2) && (same || b->err == 0)) || ((m & 4) && ulp_c == 0)) continue;
        double gap = fabs(mg_op_real(op, x, y, z) - v);
        if (!(gap <= moved)) moved = gap; /* NaN too */
      }
      if (op == MG_OP_DIV && fabs(b->v) <= b->err) moved = INFINITY; /* the box holds a zero divisor */
      double err = moved + 8 * MGI_BALL_U * (fabs(v) + (functions ? fabs(a->v) + fabs(b->v) : 0));
      o->v = v, o->err = isfinite(a->v) && isfinite(b->v) && isfinite(a->err) && isfinite(b->err) && isfinite(err) && isfinite(v) ? err : INFINITY;
    }
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}
static mg_status mgi_ball_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  int64_t m = c->shape.dim[0], n = c->shape.dim[1], k = a->shape.dim[1];
  double u = MGI_BALL_U * (double)(k + 2);
  (void)user;
  for (int64_t x = 0; x < m; x++)
    for (int64_t z = 0; z < k; z++) {
      mgi_ball f = ((const mgi_ball *)a->data)[x * a->stride[0] + z * a->stride[1]];
      mgi_ball *o = (mgi_ball *)c->data + x * c->stride[0];
      const mgi_ball *w = (const mgi_ball *)b->data + z * b->stride[0];
      for (int64_t y = 0; y < n; y++, o += c->stride[1], w += b->stride[1]) {
        double t = f.v * w->v;
        o->v += t;
        o->err += fabs(f.v) * w->err + f.err * (fabs(w->v) + w->err) + u * fabs(t);
      }
    }
  return MG_OK;
}
static mg_status mgi_ball_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  (void)user;
  do {
    mgi_ball *o = (mgi_ball *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const mgi_ball *a = (const mgi_ball *)in->data + mgi_ff_row_offset(in, at, r - 1);
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++, o += out->stride[r - 1], a += in->stride[r - 1]) {
      if (op == MG_OP_SUM) o->v += a->v, o->err += a->err + MGI_BALL_U * fabs(o->v);
      else o->v = a->v > o->v ? a->v : o->v, o->err = mgi_bound_max2(a->err, o->err);
      if (!isfinite(a->err) || (!isfinite(a->v) && op == MG_OP_SUM)) o->err = INFINITY;
    }
  } while (mgi_ff_next_row(&in->shape, at));
  return MG_OK;
}
static void mgi_ball_fill(void *user, mg_opcode op, void *dst, size_t n) {
  mgi_ball *d = (mgi_ball *)dst;
  (void)user;
  for (size_t k = 0; k < n; k++) d[k].v = op == MG_OP_SUM ? 0 : -INFINITY, d[k].err = 0;
}

typedef struct mgi_float_run { const mg_graph *g[2]; mgi_ball *in[MG_MAX_IN], *out[2][MG_MAX_OUT]; mg_status status[2]; mg_error error[2]; } mgi_float_run;
static void mgi_trial_job_float(void *ctx, int s) {
  mgi_float_run *t = (mgi_float_run *)ctx;
  mg_domain d;
  memset(&d, 0, sizeof d);
  d.elem = sizeof(mgi_ball), d.map = mgi_ball_map, d.matmul = mgi_ball_matmul, d.combine = mgi_ball_combine, d.fill = mgi_ball_fill;
  memset(&t->error[s], 0, sizeof t->error[s]);
  t->status[s] = mg_eval(t->g[s], &d, (const void *const *)t->in, (void *const *)t->out[s], &t->error[s]);
}

/* Looks for a difference that rounding cannot explain; r->confirmed says whether there is one. */
static mg_status mgi_verify_floats(const mg_graph *a, const mg_graph *b, uint64_t seed, int threads, int maximum, mg_verify_report *r, mg_error *e) {
  mgi_float_run t;
  mg_status status = MG_OK;
  int good = 1;
  double worst = 0; /* relative gap of the counterexample so far; a plain one ends the search */
  memset(&t, 0, sizeof t);
  t.g[0] = a, t.g[1] = b;
  for (uint32_t k = 0; k < a->n_in; k++) good &= (t.in[k] = (mgi_ball *)malloc((size_t)mgi_trial_elements(a, a->in[k]) * sizeof(mgi_ball))) != NULL;
  for (int s = 0; s < 2; s++)
    for (uint32_t k = 0; k < a->n_out; k++) good &= (t.out[s][k] = (mgi_ball *)malloc((size_t)mgi_trial_elements(a, a->out[k]) * sizeof(mgi_ball))) != NULL;
  if (!good) status = mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the float64 run");
  uint64_t rounds = maximum ? 4 + 2 * (uint64_t)a->n_in : 4; /* with a maximum: each input once above and once below all others */
  for (uint64_t round = 0; round < rounds && status == MG_OK && worst < 1e-6; round++) {
    uint64_t loud = round < 4 ? 31 : ((round - 4) >> 1) | ((round & 1) << 5);
    uint64_t from = (mgi_ff_hash(seed, round, 10) & ~(uint64_t)255) | loud << 2 | (round < 4 ? round : 0);
    for (uint32_t k = 0; k < a->n_in; k++) {
      double *d = (double *)(void *)t.in[k]; /* the doubles in the front half, spread from the back */
      mg_verify_input_real(a, from, (int)k, d);
      for (int64_t i = mgi_trial_elements(a, a->in[k]) - 1; i >= 0; i--) {
        double v = d[i];
        t.in[k][i].v = v, t.in[k][i].err = 0;
      }
    }
    mgi_verify_parallel(mgi_trial_job_float, &t, 2, threads);
    for (int s = 0; s < 2; s++)
      if (t.status[s] != MG_OK && status == MG_OK) {
        status = t.status[s];
        *e = t.error[s];
      }
    for (uint32_t k = 0; k < a->n_out && status == MG_OK; k++) {
      int64_t n = mgi_trial_elements(a, a->out[k]);
      for (int64_t i = 0; i < n; i++) {
        mgi_ball x = t.out[0][k][i], y = t.out[1][k][i];
        double gap = fabs(x.v - y.v), scale = mgi_bound_max2(fabs(x.v), fabs(y.v));
        if (!(gap > 2 * (x.err + y.err)) || !isfinite(gap) || gap / scale <= worst) continue;
        worst = gap / scale;
        r->confirmed = 1, r->cx_seed = from, r->cx_output = (int)k, r->cx_element = i, r->cx_a = x.v, r->cx_b = y.v;
      }
    }
  }
  for (int k = 0; k < MG_MAX_IN; k++) free(t.in[k]);
  for (int s = 0; s < 2; s++)
    for (int k = 0; k < MG_MAX_OUT; k++) free(t.out[s][k]);
  return status;
}

/* -------------------------------------------------------------------------------------------------- >>verify
     1. exp opaque.  All agree: EQUAL, with Theorem A's bound in the full tier.
     2. Else, if there is an exponential, the two-field test.  All agree: EQUAL, not certified.
     3. Else float64: a difference is NOT_EQUAL.  None: NOT_EQUAL still if the output that differs involves neither an
        opaque function nor a maximum (a field cannot tell equal rational functions apart), else UNDECIDED.
     Where 1 or 2 agree and a maximum is involved: each side gets arbitrary maxima of its own.  Agreement then means that
     they cancel; else EQUAL_SAMPLED, unless float64 shows a difference. */

const char *mg_verdict_name(mg_verdict v) {
  static const char *const name[4] = {"UNDECIDED", "EQUAL", "EQUAL_SAMPLED", "NOT_EQUAL"};
  return v >= 0 && (int)v < 4 ? name[v] : "?";
}

mg_verify_config mg_verify_config_default(void) {
  mg_verify_config c;
  memset(&c, 0, sizeof c);
  c.seed = 20250101, c.tier = MG_TIER_FULL, c.log2_delta = -64;
  return c;
}

static mg_status mgi_verify_signature(const mg_graph *a, const mg_graph *b, mg_error *e) {
  if (!a || !b || a->up || b->up) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "expected two programs");
  if (a->n_in != b->n_in) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%s' has %u inputs, '%s' has %u", a->name, a->n_in, b->name, b->n_in);
  if (a->n_out != b->n_out) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%s' has %u outputs, '%s' has %u", a->name, a->n_out, b->name, b->n_out);
  if (!a->n_out) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%s' has no output", a->name);
  for (uint32_t k = 0; k < a->n_in + a->n_out; k++) {
    const mg_tensor_info *x = &a->tensors[k < a->n_in ? a->in[k].id : a->out[k - a->n_in].id];
    const mg_tensor_info *y = &b->tensors[k < b->n_in ? b->in[k].id : b->out[k - b->n_in].id];
    const char *what = k < a->n_in ? "input" : "output";
    uint32_t at = k < a->n_in ? k : k - a->n_in;
    int same = x->shape.rank == y->shape.rank;
    for (int d = 0; d < x->shape.rank && same; d++) same = x->shape.dim[d] == y->shape.dim[d];
    if (!same) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s %u has unlike shapes: '%s' in '%s', '%s' in '%s'", what, at, x->name, a->name, y->name, b->name);
    if (x->dtype != y->dtype) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s %u has unlike types: %s in '%s', %s in '%s'", what, at, mg_dtype_name(x->dtype), a->name, mg_dtype_name(y->dtype), b->name);
  }
  return MG_OK;
}

static void mgi_verify_counterexample(const mg_graph *a, const mg_graph *b, mg_verify_report *r) {
  snprintf(r->reason, sizeof r->reason, "float64 inputs of seed %llu: output %d, element %lld is %.9g in '%.40s', %.9g in '%.40s'", (unsigned long long)r->cx_seed, r->cx_output, (long long)r->cx_element, r->cx_a, a->name, r->cx_b, b->name);
}

/* A test did not end: for want of time, which is a verdict, or by a fault, which is not. */
static mg_status mgi_verify_fault(const mg_verify_config *c, double deadline, mg_verify_report *r, const mg_error *e) {
  if (e->status != MG_LIMIT || !(deadline > 0) || mgi_verify_now() < deadline) return e->status;
  r->verdict = MG_UNDECIDED, r->log2_delta = 0;
  snprintf(r->reason, sizeof r->reason, "not certified: the time limit of %g s ended the tests; %d agreed", c->time_limit_s, r->tests);
  return MG_OK;
}

mg_status mg_verify(const mg_graph *a, const mg_graph *b, const mg_verify_config *cfg, mg_verify_report *r, mg_error *e) {
  mg_verify_config c = cfg ? *cfg : mg_verify_config_default();
  double deadline = c.time_limit_s > 0 ? mgi_verify_now() + c.time_limit_s : 0;
  mg_verify_report local;
  mg_error unread;
  mgi_bounds A, B;
  if (!r) r = &local;
  if (!e) e = &unread;
  mg_status s = mgi_verify_signature(a, b, e);
  memset(r, 0, sizeof *r);
  if (s == MG_OK) s = mgi_bounds_of(a, &A, e);
  if (s == MG_OK) s = mgi_bounds_of(b, &B, e);
  if (s != MG_OK) return s;
  if (c.log2_delta > 0) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "log2_delta is %g; expected a negative number", c.log2_delta);
  if (c.log2_delta == 0) c.log2_delta = -64;
  int full = c.tier != MG_TIER_FAST, threads = c.threads, output = 0;
  if (threads <= 0) threads = full ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
  r->seed = c.seed, r->tier = full ? MG_TIER_FULL : MG_TIER_FAST, r->want_log2_delta = c.log2_delta;
  mgi_bound_theorem(&A, &B, r);
  uint32_t flags = 0;
  for (uint32_t k = 0; k < a->n_out; k++) flags |= A.flags[k] | B.flags[k];
  int maximum = (flags & MGI_HAS_MAX) != 0, tests = full ? 4 : 1, bounded = 0;
  if (full && !maximum && r->log2_eps < 0) { /* no product of doubles may round the count down */
    double need = ceil(c.log2_delta / r->log2_eps);
    bounded = need <= MG_VERIFY_TESTS;
    if (bounded) tests = need < 1 ? 1 : (int)need;
  }
  if (maximum) tests = full ? 8 : 2;

  int kind = MGI_OPAQUE_TEST;
  mgi_trial_outcome o = mgi_tests(a, b, c.seed, kind, tests, threads, deadline, r, &output, e);
  if (o == MGI_TRIAL_FAULT) return mgi_verify_fault(&c, deadline, r, e);
  if (o == MGI_TRIAL_DIFFER && (flags & MGI_HAS_EXP)) {
    kind = MGI_PAIR_TEST, r->two_field = 1, r->tests = 0, r->compared = 0;
    tests = full ? 4 : maximum ? 2 : 1;
    o = mgi_tests(a, b, c.seed, kind, tests, threads, deadline, r, &output, e);
    if (o == MGI_TRIAL_FAULT) return mgi_verify_fault(&c, deadline, r, e);
  }
  if (o == MGI_TRIAL_AGREE) {
    int ran = r->tests, sampled = 0;
    uint64_t compared = r->compared;
    if (maximum) {
      int at;
      mgi_trial_outcome x = mgi_tests(a, b, c.seed, kind | MGI_CANCEL_TEST, full ? 4 : 1, threads, deadline, r, &at, e);
      if (x == MGI_TRIAL_FAULT) return mgi_verify_fault(&c, deadline, r, e);
      sampled = x != MGI_TRIAL_AGREE;
      r->tests = ran, r->compared = compared; /* those of the verdict */
    }
    if (sampled && !c.skip_floats) { /* no theorem stands behind this one: doubles may object */
      s = mgi_verify_floats(a, b, c.seed, threads, maximum, r, e);
      if (s != MG_OK) return s;
      if (r->confirmed) {
        r->verdict = MG_NOT_EQUAL;
        mgi_verify_counterexample(a, b, r);
        return MG_OK;
      }
    }
    r->verdict = sampled ? MG_EQUAL_SAMPLED : MG_EQUAL;
    if (bounded && !r->two_field) {
      r->log2_delta = r->tests * r->log2_eps;
      snprintf(r->theorem, sizeof r->theorem, "Theorem A: Schwartz-Zippel over rational functions%s", flags & MGI_HAS_EXP ? ", exp and other functions opaque" : flags & MGI_HAS_OPAQUE ? ", other functions opaque" : "");
      snprintf(r->reason, sizeof r->reason, "equal%s; wrong with probability at most 2^%.2f", flags & MGI_HAS_EXP ? " for any function exp" : "", ceil(r->log2_delta * 100) / 100);
    } else if (!full) snprintf(r->reason, sizeof r->reason, "%d test%s agreed; the fast tier claims no bound%s", r->tests, r->tests == 1 ? "" : "s", sampled ? " (a maximum does not cancel)" : "");
    else if (sampled) snprintf(r->reason, sizeof r->reason, "not certified: a maximum does not cancel; %d tests agreed, each in a random total order of its own", r->tests);
    else if (maximum) snprintf(r->reason, sizeof r->reason, "not certified: maxima are involved; %d tests agreed, and they cancel: arbitrary ones on each side agreed too", r->tests);
    else if (r->two_field) snprintf(r->reason, sizeof r->reason, "not certified: rests on exp(a+b) = exp(a)exp(b), tested over two fields; %d tests agreed", r->tests);
    else snprintf(r->reason, sizeof r->reason, "not certified: degree %.3g, %.3g opaque terms and height %.3g are beyond %d tests; %d agreed", r->degree, r->opaque_terms, r->height, (int)MG_VERIFY_TESTS, r->tests);
    return MG_OK;
  }

  if (o == MGI_TRIAL_ZERO_DIVISOR) {
    snprintf(r->reason, sizeof r->reason, "%d draws in a row divided by zero: a divisor seems to vanish identically", (int)MG_VERIFY_DRAWS);
    return MG_OK;
  }
  if (!c.skip_floats) {
    s = mgi_verify_floats(a, b, c.seed, threads, maximum, r, e);
    if (s != MG_OK) return s;
  }
  /* What the mismatch itself proves.  With exp opaque only, it needs the output to be free of exponentials. */
  uint32_t inside = A.flags[output] | B.flags[output], doubt = MGI_HAS_OPAQUE | MGI_HAS_MAX | (r->two_field ? 0u : (uint32_t)MGI_HAS_EXP);
  if (r->confirmed) {
    r->verdict = MG_NOT_EQUAL;
    mgi_verify_counterexample(a, b, r);
  } else if (o == MGI_TRIAL_DIFFER && !(inside & doubt)) {
    r->verdict = MG_NOT_EQUAL;
    snprintf(r->reason, sizeof r->reason, "output %d differs modulo p = %llu: not the same rational function, though float64 shows no difference", output, (unsigned long long)r->p[r->tests - 1]);
  } else if (o == MGI_TRIAL_TWICE) snprintf(r->reason, sizeof r->reason, "as opaque functions they differ, and the two-field test met an exponential of an exponential; float64 shows no difference");
  else snprintf(r->reason, sizeof r->reason, "output %d differs with %s, which does not show that the real functions differ%s", output, inside & MGI_HAS_MAX ? "maxima in a random order" : "opaque functions", c.skip_floats ? "; float64 was not tried" : "; float64 shows no difference");
  return MG_OK;
}

/* ------------------------------------------------------------------------------------- >>text-of-certificates
   A checker parses the programs, the seed, the tier and the aim, runs mg_verify, prints the certificate anew and
   compares all bytes; so every line is rechecked.  The sum in the last line finds plain damage without that work. */

static uint64_t mgi_cert_sum(const char *s, size_t n) { /* every step is a bijection: one changed byte changes the sum */
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t k = 0; k < n; k++) h = (h ^ (unsigned char)s[k]) * 0x100000001b3u;
  return mgi_ff_mix(h);
}

#define MGI_CERT_HEAD "mirage certificate 1\n"

mg_status mg_certificate(const mg_graph *a, const mg_graph *b, const mg_verify_report *r, char **text, mg_error *e) {
  *text = NULL;
  if (r->verdict != MG_EQUAL && r->verdict != MG_EQUAL_SAMPLED) return mg_fail(e, MG_NOT_FOUND, "mg_certificate", "the verdict is %s: %s", mg_verdict_name(r->verdict), r->reason);
  char *ta = NULL, *tb = NULL, *out = NULL;
  mg_status s = mg_print(a, &ta, e);
  if (s == MG_OK) s = mg_print(b, &tb, e);
  size_t size = s == MG_OK ? strlen(ta) + strlen(tb) + 4096 + 48 * MG_VERIFY_TESTS : 0, n = 0;
  if (s == MG_OK && !(out = (char *)malloc(size))) s = mg_fail(e, MG_NO_MEMORY, "mg_certificate", "no memory for the text");
  if (s == MG_OK) {
#define MGI_PUT(...) n += (size_t)snprintf(out + n, size - n, __VA_ARGS__)
    MGI_PUT(MGI_CERT_HEAD);
    MGI_PUT("verdict %s\n", mg_verdict_name(r->verdict));
    if (r->log2_delta < 0) MGI_PUT("delta 2^%.2f\ntheorem %s\n", ceil(r->log2_delta * 100) / 100, r->theorem);
    else MGI_PUT("delta none\ntheorem none\n");
    MGI_PUT("statement %s\n", r->reason);
    MGI_PUT("seed %llu\ntier %s\naim 2^%.17g\n", (unsigned long long)r->seed, r->tier == MG_TIER_FAST ? "fast" : "full", r->want_log2_delta);
    MGI_PUT("degree %.17g\nopaque_terms %.17g\ndegree_arg %.17g\nheight %.3f\nlog2_eps %.2f\ndraws %d\n", r->degree, r->opaque_terms, r->degree_arg, ceil(r->height * 1000) / 1000, ceil(r->log2_eps * 100) / 100, (int)MG_VERIFY_DRAWS);
    MGI_PUT("compared %llu\ntests %d\n", (unsigned long long)r->compared, r->tests);
    for (int k = 0; k < r->tests && k < MG_VERIFY_TESTS; k++) {
      if (r->q[k]) MGI_PUT("primes %llu %llu\n", (unsigned long long)r->p[k], (unsigned long long)r->q[k]);
      else MGI_PUT("prime %llu\n", (unsigned long long)r->p[k]);
    }
    MGI_PUT("first %zu\n%s", strlen(ta), ta);
    MGI_PUT("second %zu\n%s", strlen(tb), tb);
    MGI_PUT("sum %016llx\n", (unsigned long long)mgi_cert_sum(out, n));
#undef MGI_PUT
    *text = out;
  }
  mg_string_free(ta), mg_string_free(tb);
  return s;
}

/* Reads a line "key rest"; NULL if the next line has another key.  Advances *at; the rest is not terminated. */
static const char *mgi_cert_line(const char **at, const char *end, const char *key, size_t *len) {
  size_t n = strlen(key);
  const char *s = *at, *stop = (const char *)memchr(s, '\n', (size_t)(end - s));
  if (!stop || (size_t)(stop - s) <= n || memcmp(s, key, n) || s[n] != ' ') return NULL;
  *at = stop + 1, *len = (size_t)(stop - s) - n - 1;
  return s + n + 1;
}
/* The decimal number that is the whole of s[0 .. n). */
static int mgi_cert_number(const char *s, size_t n, uint64_t *out) {
  uint64_t v = 0;
  if (!s || !n || n > 20) return 0;
  for (size_t k = 0; k < n; k++) {
    if (s[k] < '0' || s[k] > '9' || v > (~(uint64_t)0 - (uint64_t)(s[k] - '0')) / 10) return 0;
    v = v * 10 + (uint64_t)(s[k] - '0');
  }
  *out = v;
  return 1;
}

mg_status mg_certificate_check(const char *text, size_t len, mg_verify_report *r, mg_error *e) {
  static const char where[] = "certificate";
  static const char *const skipped[] = {"verdict", "delta", "theorem", "statement"};
  const char *at = text, *end = text + len, *s;
  size_t n = 0, head = strlen(MGI_CERT_HEAD);
  char tail[32], num[40];
  uint64_t size;
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report local;
  mg_graph *g[2] = {NULL, NULL};
  if (!r) r = &local;
  memset(r, 0, sizeof *r);
  if (len < head || memcmp(text, MGI_CERT_HEAD, head)) return mg_fail(e, MG_BAD_INPUT, where, "expected the first line 'mirage certificate 1'");
  if (len < head + 21) return mg_fail(e, MG_BAD_INPUT, where, "it is cut off");
  snprintf(tail, sizeof tail, "sum %016llx\n", (unsigned long long)mgi_cert_sum(text, len - 21));
  if (memcmp(text + len - 21, tail, 21)) return mg_fail(e, MG_BAD_INPUT, where, "damaged: the sum in the last line is not that of the text");
  at += head;
  for (int k = 0; k < 4; k++)
    if (!mgi_cert_line(&at, end, skipped[k], &n)) return mg_fail(e, MG_BAD_INPUT, where, "expected a line '%s'", skipped[k]);
  s = mgi_cert_line(&at, end, "seed", &n);
  if (!mgi_cert_number(s, n, &c.seed)) return mg_fail(e, MG_BAD_INPUT, where, "expected a line 'seed NUMBER'");
  s = mgi_cert_line(&at, end, "tier", &n);
  if (!s || n != 4 || (memcmp(s, "full", 4) && memcmp(s, "fast", 4))) return mg_fail(e, MG_BAD_INPUT, where, "expected 'tier full' or 'tier fast'");
  c.tier = s[1] == 'u' ? MG_TIER_FULL : MG_TIER_FAST;
  s = mgi_cert_line(&at, end, "aim", &n);
  if (!s || n < 3 || n >= sizeof num || memcmp(s, "2^-", 3)) return mg_fail(e, MG_BAD_INPUT, where, "expected a line 'aim 2^-NUMBER'");
  memcpy(num, s + 2, n - 2), num[n - 2] = 0;
  c.log2_delta = strtod(num, NULL);
  if (!(c.log2_delta < 0) || c.log2_delta < -1e6) return mg_fail(e, MG_BAD_INPUT, where, "the aim is out of range");
  while (at < end && memcmp(at, "first ", end - at < 6 ? (size_t)(end - at) : 6)) { /* rechecked below */
    const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at));
    at = stop ? stop + 1 : end;
  }
  mg_status status = MG_OK;
  for (int k = 0; k < 2 && status == MG_OK; k++) {
    s = at < end ? mgi_cert_line(&at, end, k ? "second" : "first", &n) : NULL;
    if (!mgi_cert_number(s, n, &size) || size > (uint64_t)(end - at)) status = mg_fail(e, MG_BAD_INPUT, where, "expected the %s program and its size", k ? "second" : "first");
    else if ((status = mg_parse(at, (size_t)size, k ? "certificate, second program" : "certificate, first program", NULL, &g[k], e)) == MG_OK) at += size;
  }
  if (status == MG_OK) status = mg_verify(g[0], g[1], &c, r, e);
  if (status == MG_OK && r->verdict != MG_EQUAL && r->verdict != MG_EQUAL_SAMPLED)
    status = mg_fail(e, MG_BAD_INPUT, where, "the tests give %s: %.180s", mg_verdict_name(r->verdict), r->reason);
  char *again = NULL;
  if (status == MG_OK) status = mg_certificate(g[0], g[1], r, &again, e);
  if (status == MG_OK && (strlen(again) != len || memcmp(again, text, len))) {
    int line = 1;
    for (size_t k = 0; k < len && again[k] && again[k] == text[k]; k++) line += text[k] == '\n';
    status = mg_fail(e, MG_BAD_INPUT, where, "line %d says what the tests do not give", line);
    if (e) e->line = line;
  }
  mg_string_free(again);
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  return status;
}

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_VERIFY_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_VERIFY_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
