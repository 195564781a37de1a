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
     opaque         a function without field meaning (sqrt, silu, gelu, log; in the first tests exp and max too): a
                    pseudo-random function keyed by operator, constant and seed, of x_p alone.  Equal as opaque is equal
                    for the real function.  The converse fails: sqrt(s/4096) is not sqrt(s)/64 here.  So such a mismatch
                    is NOT_EQUAL only if float64, with a running bound on its error, shows one too; else UNDECIDED.
     maximum        first opaque: any function of two, whatever their order.  That is enough where both programs take the
                    same maxima, and where a maximum cancels, as in a stable softmax.  Else the maximum in a random total
                    order of x_p: associative, commutative, idempotent, nothing more.  The verdict is then EQUAL_SAMPLED
                    and says how many patterns of winners the tests saw; no bound is claimed.
     undefined      depends on a division by zero.  Nothing invents an inverse of zero.
     function       what is compared.  Memory orders of inputs (`@ [0, 2, 1]`) are layouts, not functions: they may differ.
                    Number, shapes and types of inputs and outputs, matched by position, may not; names may.

   WHAT IS PROVED
     Theorem A (Schwartz and Zippel, with opaque functions).  Let e be one element of an output.  Read each program as a
     rational function over Q of the input elements and of one more variable for every class of opaque terms; two terms
     are of one class if they apply the same function to arguments that are equal as such rational functions.  (The depth
     of nesting makes that well defined.)  If the two readings of e are equal, then so are the two real programs wherever
     both are defined, whatever the functions are.  If they are not, one test agrees on e with probability at most

         eps = draws * ( (deg + pairs * deg_arg) / (p_min - 1)  +  (bad + pairs * bad_arg) / primes )

     and k tests, drawn independently, all agree with probability at most eps^k, which is delta.
       deg      degree of the numerator of the difference of e's two readings: N_a D_b - N_b D_a
       pairs    m (m - 1) / 2, where m bounds the opaque terms that e mentions, in both programs together; twice that if
                some are maxima (of an unordered pair: two ways to be the same)
       deg_arg  degree of the numerator of the difference of two arguments
       bad, bad_arg    floor(height / 60), where the magnitudes of the integer coefficients of that numerator, of the outputs'
                or of the arguments' difference, add up to 2^height at most: how many primes above 2^60 may divide all
       primes   p is uniform among the primes in [2^60, 2^61), of which there are at least 3 * 2^60 / (5 ln 2^60)
                (Rosser and Schoenfeld 1962, corollary 3)
       draws    a draw on which any output of either program depends on a division by zero is replaced, at most draws - 1
                times
     Proof.  Fix e.  Numerators nonzero over Q vanish mod p for `bad` or `bad_arg` primes at most: the last term, by a union
     over the difference and the pairs.  Else reveal the opaque values in order of depth.  Until two classes of one function
     have equal arguments the values are independent and uniform (sqrt: uniform over p - 1 values), so the experiment is
     that of a uniform point, in which the numerator of each pair vanishes with probability at most deg_arg/(p-1), and
     that of the difference with at most deg/(p-1).  Evaluation divides by nonzero values only, so it gives N/D.  The union
     over draws covers the condition that nothing divides by zero.
     deg, deg_arg, height, m are bounds from one pass over both graphs (>>bounds): sums of fractions with unlike
     denominators add degrees, K terms multiply the denominator K times; a polynomial's do not grow.

     Theorem B (exponentials).  Let no exponential be inside an argument of another.  Read exp as e^a e^b = e^(a+b): an
     element of an output is N/D, both sums of c e^l with c a polynomial over Z in inputs and opaque terms and l a rational
     function of them, of other l unlike.  Equal readings are equal real functions.  Else one test agrees on e with
     probability at most

         eps = draws * ( (deg + pairs * deg_arg) / (p_min - 1)
                         +  events * ( T * (deg_exp / (q_min - 1) + bad_exp / primes_q)  +  candidates * height / 60 / N )
                         +  pairs * candidates * bad_arg / N )
       events   1, or 1 + pairs if opaque arguments hold exponentials (and no last term then)
       T        the most terms c e^l in the numerator of the difference of e's readings, or of two opaque arguments
       deg_exp, bad_exp        as deg and bad, with b - 1 for 60, of the numerator of the difference of two l there
       b, primes_q             q is uniform among the primes of b bits: in [2^(b-1), 2^b); b makes eps least
       candidates, N           p is the first prime of at most that many numbers drawn from the N = floor(2^60 / 2q) numbers
                               2jq + 1 from 2^60 on; omega is uniform among the q - 1 elements of order q mod p
     Proof.  Let the numerator be the sum of c_j e^(l_j), and c_i not 0.  Mod q and at a random point, l_i meets one of the
     others with probability at most T times the first parenthesis.  Else let z be a complex q-th root of unity, and take
     a monomial of c_i: its coefficient in the sum of the c_j z^(l_j) is a polynomial in z of degree below q, with less
     than q terms (T < q, or the bound says nothing), one of which is z^(l_i).  So it is no multiple of 1 + z + .. + z^(q-1),
     and not 0 in Z[z].  Its norm, a nonzero integer, is at most 2^(height (q-1)).  A prime p = 1 mod q and an omega of
     order q stand for the prime ideal (p, z - omega) of norm p >= 2^60, unlike pairs for unlike ideals, so at most
     (q-1) height/60 pairs send that coefficient to 0.  Of the N (q-1) pairs of a number and an omega each candidate is
     any with equal chance; so for the `bad_arg` primes of each pair of arguments without exponentials.  Else the sum is a nonzero polynomial mod p, at a random point.  Opaque values
     are revealed in order of depth, as before; both their residues are independent and uniform.  T, deg_exp, bad_exp
     come from >>bounds.  This does without the sparsity that the paper's Theorem 2 pays for (k^4 d < q).
     Assumed: the keyed hash and the drawing of inputs behave as random functions; whoever chose the seed did not look
     for one that lets the pair pass (choose your own to exclude that); the code does what is written here.
     Not certified, and said so: pairs for which that takes more than MG_VERIFY_TESTS tests, an exponential inside of one
     where 1 does not do, and pairs that agree by the properties of a maximum (EQUAL_SAMPLED).

   ERRORS, MEMORY, THREADS
     As mirage.h.  mg_verify allocates by malloc.  It compares the outputs part by part (>>draws), so that a thread takes
     some 128 MiB for tensors of any size that can be cut so, and runs fewer threads, or answers UNDECIDED, where
     `memory_limit` asks for it.  It starts up to `threads` threads of its own; the result does not depend on how many.

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
  int max_opaque;               /* 1: a maximum of two is an opaque function of the unordered pair */
  mg_modulus mp, mq;
  uint64_t order;               /* key of the total order of max */
  uint64_t key[MG_OP_TABLE_END];/* keys of the opaque functions, by row */
  uint16_t power[512];          /* small pair: omega^k, k < q */
  uint16_t inverse[512];        /* small pair: 1/k mod p */
  double deadline;              /* 0, or the time (seconds, UTC) after which matmul answers MG_LIMIT */
  const volatile int *stop;     /* NULL, or what is not 0 once matmul shall answer MG_LIMIT */
  const uint64_t *powers;       /* NULL, or [k * 256 + j]: omega^(j 256^k) for k < 8 */
  uint64_t *pattern;            /* NULL, or [0] a hash of who won each maximum so far, [1] how many there were */
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
/* Random primes from the seed, p in [2^60, 2^61).  exp_opaque: q = 0; else q in [2^30, 2^31).  */
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

/* omega^k, k < q. */
MGI_FN uint64_t mgi_ff_power(const mg_field *F, uint64_t k) {
  if (F->p < 512) return F->power[k];
  if (!F->powers) return mgi_powmod(&F->mp, F->omega, k);
  uint64_t r = F->powers[k & 255];
  for (const uint64_t *t = F->powers + 256; k >>= 8; t += 256) r = mgi_mulmod(&F->mp, r, t[k & 255]);
  return r;
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
  return mgi_fv(mgi_ff_power(F, a.q), 0, f | MG_FV_NOQ);
}
/* In the order of mix(p + key), ties by q, an absent q last. */
MGI_FN mg_fv mg_ff_max(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = (a.flags | b.flags) & MGI_FV_TRACE;
  if ((a.flags | b.flags) & (MG_FV_UNDEF | MG_FV_EXP2)) return mgi_fv_special((a.flags | b.flags) | MG_FV_MAX);
  mg_fv r = a;
  if (a.flags & MG_FV_NEGINF) r = b;
  else if (!(b.flags & MG_FV_NEGINF)) {
    uint64_t x = mgi_ff_mix(a.p + F->order), y = mgi_ff_mix(b.p + F->order);
    int second = x < y || (x == y && ((b.flags & MG_FV_NOQ) || (!(a.flags & MG_FV_NOQ) && a.q < b.q)));
    if (second) r = b;
    if (F->pattern) F->pattern[0] += mgi_ff_mix(2 * F->pattern[1]++ + (uint64_t)second);
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
enum {
  MG_VERIFY_TESTS = 64,       /* the most tests */
  MG_VERIFY_DRAWS = 4,        /* the most draws a test */
  MG_VERIFY_CANDIDATES = 256  /* the most numbers tried for one p with q | p-1 */
};

/* How far a verification is. */
typedef struct mg_verify_progress {
  int kind;          /* bit 0: two-field tests, bit 1: maxima in random orders; -1: the float64 run */
  int test, tests;   /* of this kind: being run, to be run */
  int part, parts;   /* of the test */
} mg_verify_progress;

typedef struct mg_verify_config {
  uint64_t seed;       /* of everything random */
  int tier;            /* MG_TIER_FULL by default */
  double log2_delta;   /* what the full tier aims at; 0: -64 */
  int threads;         /* 0: as many as the machine has for FULL, 1 for FAST */
  double time_limit_s; /* 0: none; past it the verdict is UNDECIDED */
  int skip_floats;     /* 1: no float64 run after a mismatch, so UNDECIDED where that would say NOT_EQUAL */
  size_t memory_limit; /* bytes that tensors may take at one time, about; 0: 4 GiB.  UNDECIDED if that does not do */
  const volatile int *stop; /* NULL, or what is not 0 once the verdict shall be UNDECIDED (a signal handler may set it) */
  void (*progress)(void *user, const mg_verify_progress *now); /* NULL, or called ten times a second at most, by any thread, one at a time */
  void *user;
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
  int unfinished;            /* UNDECIDED because time, memory or `stop` ended the tests */
  /* the quantities of Theorem A */
  double degree, opaque_terms, degree_arg, height, height_arg, log2_eps;
  /* those that Theorem B adds */
  double exp_terms, degree_exp, height_exp, exp_events; /* exp_terms is a log2 */
  int q_bits;
  int patterns;              /* EQUAL_SAMPLED: how many of the tests had winners of maxima unlike all others' */
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
   lose every maximum; if they are 30, each input keeps to a level of its own, within 1/256 of the range. */
void mg_verify_input_real(const mg_graph *g, uint64_t seed, int k, double *dst);

/* --------------------------------------------------------------------------------------------- >>certificate */

/* The text of a certificate for EQUAL and EQUAL_SAMPLED: both programs, seed, primes, tests, the quantities of the bound,
   delta and the theorem, or "not certified" and the weaker statement.  MG_NOT_FOUND for the other verdicts.  Free it
   with mg_string_free. */
mg_status mg_certificate(const mg_graph *a, const mg_graph *b, const mg_verify_report *r, char **text, mg_error *e);
/* Rechecks from the text alone: runs the tests again and compares every line.  MG_BAD_INPUT if the text is damaged or
   says what the tests do not give. */
mg_status mg_certificate_check(const char *text, size_t len, mg_verify_report *r, mg_error *e);
/* The same with the threads, limits, stop and progress of `how` (may be NULL); its other members do not count.
   MG_UNSUPPORTED if they ended the tests. */
mg_status mg_certificate_recheck(const char *text, size_t len, const mg_verify_config *how, mg_verify_report *r, mg_error *e);

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

/* q uniform among the primes of that many bits; p the first prime of uniform 2jq + 1 in [2^60, 2^61).  MG_NOT_FOUND if none
   of MG_VERIFY_CANDIDATES is prime: about one seed in 200,000. */
static mg_status mgi_field_pair(uint64_t seed, int q_bits, mg_field *out) {
  uint64_t state = mgi_ff_hash(seed, 5, 0), q = mgi_ff_random_prime(&state, q_bits), p = 0;
  uint64_t lo = (((uint64_t)1 << 60) + 2 * q - 1) / (2 * q), span = ((uint64_t)1 << 60) / (2 * q);
  mg_modulus J = mgi_modulus(span);
  for (int k = 0; k < MG_VERIFY_CANDIDATES; k++) {
    p = (lo + mgi_ff_draw(&J, state += MGI_FF_GOLD, 6, 0, 0)) * 2 * q + 1;
    if (!(p >> 61) && mg_is_prime(p)) break;
    p = 0;
  }
  if (!p) return MG_NOT_FOUND;
  mgi_field_fill(out, p, q, seed, 0);
  return MG_OK;
}

mg_status mg_field_large(uint64_t seed, int exp_opaque, mg_field *out) {
  uint64_t state = mgi_ff_hash(seed, 5, 0);
  if (!exp_opaque) {
    while (mgi_field_pair(seed, 31, out) != MG_OK) seed = mgi_ff_mix(seed + 1);
    return MG_OK;
  }
  mgi_field_fill(out, mgi_ff_random_prime(&state, 61), 0, seed, 1);
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
  mg_fv c = row->attr == MG_ATTR_RAT ? mg_ff_const(F, rc) : mgi_fv(0, 0, 0), zero = mgi_fv(0, 0, 0), last = zero, inverse = zero; /* inverse is 1/last */
  int64_t at[MG_MAX_RANK] = {0};
  int r = out->shape.rank;
  if (!row->elementwise) return MG_UNSUPPORTED;
  do {
    mg_fv *o = (mg_fv *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const mg_fv *a = (const mg_fv *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1);
    const mg_fv *b = row->n_in > 1 ? (const mg_fv *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : &zero;
    int64_t sa = in[0].stride[r - 1], sb = row->n_in > 1 ? in[1].stride[r - 1] : 0;
    for (int64_t k = 0; k < out->shape.dim[r - 1]; k++) {
      mg_fv x = a[k * sa], y = b[k * sb];
      if (op == MG_OP_DIV && !((x.flags | y.flags) & MGI_FV_SPECIAL) && y.p && (y.q || !mgi_fv_has_q(F, y.flags))) { /* rows share divisors */
        if (y.p != last.p) last.p = y.p, inverse.p = mgi_invmod(&F->mp, y.p);
        if (mgi_fv_has_q(F, y.flags) && y.q != last.q) last.q = y.q, inverse.q = mgi_invmod(&F->mq, y.q);
        uint32_t f = x.flags | y.flags;
        o[k * out->stride[r - 1]] = mgi_fv(mgi_mulmod(&F->mp, x.p, inverse.p), mgi_fv_has_q(F, f) ? mgi_mulmod(&F->mq, x.q, inverse.q) : 0, f);
      } else o[k * out->stride[r - 1]] = mg_ff_apply(F, op, x, y, c);
    }
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

static int mgi_ff_over(const mg_field *F) { return (F->stop && *F->stop) || (F->deadline > 0 && mgi_verify_now() > F->deadline); }

static mg_status mgi_ff_matmul(const mg_field *F, int word, const mg_view *c, const mg_view *a, const mg_view *b) {
  int64_t m = c->shape.dim[0], n = c->shape.dim[1], k = a->shape.dim[1];
  mgi_ff_tile *A = (mgi_ff_tile *)malloc(2 * sizeof *A), *B = A + 1;
  if (!A) return MG_NO_MEMORY;
  for (int64_t m0 = 0; m0 < m; m0 += MGI_FF_TILE)
    for (int64_t k0 = 0; k0 < k; k0 += MGI_FF_TILE) {
      if (mgi_ff_over(F)) { free(A); return MG_LIMIT; }
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

/* Who won: the elements of `in` that the maximum now is, by their place.  One of a row only (ties are improbable), so two
   runs with the same winners give the same. */
static void mgi_ff_winners(const mg_field *F, int word, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  do {
    int64_t o = mgi_ff_row_offset(out, at, r - 1), a = mgi_ff_row_offset(in, at, r - 1);
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++, o += out->stride[r - 1], a += in->stride[r - 1]) {
      uint64_t x = word ? ((const uint64_t *)out->data)[o] : ((const mg_fv *)out->data)[o].p, y = word ? ((const uint64_t *)in->data)[a] : ((const mg_fv *)in->data)[a].p;
      F->pattern[0] += mgi_ff_mix(2 * F->pattern[1]++ + (x == y));
    }
  } while (mgi_ff_next_row(&in->shape, at));
}

static mg_status mgi_ff_combine(const mg_field *F, int word, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  if (F->pattern && op == MG_OP_MAX) {
    mg_field quiet = *F;
    quiet.pattern = NULL;
    mg_status s = mgi_ff_combine(&quiet, word, op, out, in);
    if (s == MG_OK) mgi_ff_winners(F, word, out, in);
    return s;
  }
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
   Bounds for Theorems A and B, at tensor granularity.  Every element of a tensor is N/D with deg N <= n, deg D <= d, and
   the sums of the magnitudes of their integer coefficients at most 2^hn and 2^hd.  A value over Q is brought to integer
   coefficients by multiplying N and D.
     a + b    (Na Db + Nb Da) / (Da Db)           sum of K: D^K, N D^(K-1), K times; of K that share D: D, N, K times
     a * b    (Na Nb) / (Da Db)                   a / b: (Na Db) / (Da Nb)
     f(a)     a new variable                      constant r/s: r / s
   In the two-field reading exp(a) is no variable but a term: N and D are sums of c e^l, c a polynomial, l a sum of
   arguments of exponentials, with their signs.  At most 2^en terms in N, each of at most wn arguments; ed, wd for D.  A
   divisor whose N is one term with a constant c puts e^-l into N instead.
   vary is a set of dimensions (bit 0 the last) and of axes outside of which the elements of a tensor are alike; vary_d
   is that of their D.  So a row's sum is one D for all of the row, and no power of it.
   terms[S] bounds how many opaque terms the elements of a slice mention together.  S says which dimensions the slice
   runs over (bit 0 the last); the others are held.  So a reduction turns terms[S with its dimension] into terms[S]: a row of
   a softmax mentions its own exponentials, once, however many rows there are.
   The rules for E rows are the operator table's `field` column itself, read over these bounds.
   Requirement 1: every rule is monotone, so a tensor's maxima stand for each of its elements.
   Requirement 2: nothing is rounded down: degrees are doubles, exact below 2^53, and logarithms round up by mgi_bound_up.
   Requirement 3: a dimension of extent 1, or one that the tensor lacks, changes nothing in S, and is in no vary;
   broadcasting is free then. */

enum { MGI_BOUND_SLICES = 1 << MG_MAX_RANK, MGI_Q_LEAST = 20, MGI_Q_MOST = 45 };
typedef struct mgi_frac { double n, d, hn, hd, en, ed, wn, wd; } mgi_frac;
typedef struct mgi_bound { mgi_frac f; uint32_t flags; uint64_t vary, vary_d; double terms[MGI_BOUND_SLICES]; } mgi_bound;
enum { MGI_HAS_EXP = 1, MGI_HAS_OPAQUE = 2, MGI_HAS_MAX = 4 };

typedef struct mgi_bounds {
  int pair;                            /* 1: the two-field reading */
  mgi_frac arg, exp, out;              /* maxima over arguments of opaque functions, over those of exp, over the outputs */
  double applications;                 /* of opaque functions, over all elements, blocks and iterations */
  double runs;                         /* how often the operator being read runs */
  double slice[MGI_BOUND_SLICES];      /* elements of the slices of its result */
  double terms;                        /* maximum over the outputs */
  uint32_t flags[MG_MAX_OUT];          /* by output */
  int nested;                          /* an exponential of an exponential: no bound in the two-field reading */
  int failed;
} mgi_bounds;

static double mgi_bound_max2(double a, double b) { return a > b ? a : b; }
static double mgi_bound_min2(double a, double b) { return a < b ? a : b; }
static double mgi_bound_up(double x) { return x * (1 + 1e-12); }
/* log2(2^x + 2^y), rounded up. */
static double mgi_bound_log2_sum(double x, double y) {
  double hi = mgi_bound_max2(x, y), lo = mgi_bound_min2(x, y);
  return hi - lo > 1000 ? hi + 1e-9 : hi + log2(1 + exp2(lo - hi)) + 1e-9;
}
static mgi_frac mgi_frac_max(mgi_frac a, mgi_frac b) {
  mgi_frac r;
  r.n = mgi_bound_max2(a.n, b.n), r.d = mgi_bound_max2(a.d, b.d), r.hn = mgi_bound_max2(a.hn, b.hn), r.hd = mgi_bound_max2(a.hd, b.hd);
  r.en = mgi_bound_max2(a.en, b.en), r.ed = mgi_bound_max2(a.ed, b.ed), r.wn = mgi_bound_max2(a.wn, b.wn), r.wd = mgi_bound_max2(a.wd, b.wd);
  return r;
}
/* D is 1 */
static int mgi_frac_whole(const mgi_frac *f) { return f->d == 0 && f->hd == 0 && f->ed == 0 && f->wd == 0; }

/* Zero, with the terms and the variation of a and b together (NULL: none). */
static mgi_bound mgi_bound_of(const mgi_bound *a, const mgi_bound *b) {
  mgi_bound r;
  memset(&r, 0, sizeof r);
  r.flags = (a ? a->flags : 0) | (b ? b->flags : 0);
  r.vary = (a ? a->vary : 0) | (b ? b->vary : 0), r.vary_d = (a ? a->vary_d : 0) | (b ? b->vary_d : 0);
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] = (a ? a->terms[S] : 0) + (b ? b->terms[S] : 0);
  return r;
}
static mgi_bound mgi_bound_done(mgi_bound r) {
  r.f.hn = mgi_bound_up(r.f.hn), r.f.hd = mgi_bound_up(r.f.hd), r.f.en = mgi_bound_up(r.f.en), r.f.ed = mgi_bound_up(r.f.ed);
  return r;
}
static mgi_bound mgi_bound_zero(mgi_bounds *F) {
  (void)F;
  return mgi_bound_of(NULL, NULL);
}
static mgi_bound mgi_bound_add(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  (void)F;
  r.f.n = mgi_bound_max2(a.f.n + b.f.d, b.f.n + a.f.d), r.f.d = a.f.d + b.f.d;
  r.f.hn = mgi_bound_max2(a.f.hn + b.f.hd, b.f.hn + a.f.hd) + 1, r.f.hd = a.f.hd + b.f.hd;
  r.f.en = mgi_bound_log2_sum(a.f.en + b.f.ed, b.f.en + a.f.ed), r.f.ed = a.f.ed + b.f.ed;
  r.f.wn = mgi_bound_max2(a.f.wn + b.f.wd, b.f.wn + a.f.wd), r.f.wd = a.f.wd + b.f.wd;
  return mgi_bound_done(r);
}
static mgi_bound mgi_bound_sub(mgi_bounds *F, mgi_bound a, mgi_bound b) { return mgi_bound_add(F, a, b); }
static mgi_bound mgi_bound_mul(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  (void)F;
  r.f.n = a.f.n + b.f.n, r.f.d = a.f.d + b.f.d, r.f.hn = a.f.hn + b.f.hn, r.f.hd = a.f.hd + b.f.hd;
  r.f.en = a.f.en + b.f.en, r.f.ed = a.f.ed + b.f.ed, r.f.wn = a.f.wn + b.f.wn, r.f.wd = a.f.wd + b.f.wd;
  return mgi_bound_done(r);
}
static mgi_bound mgi_bound_div(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  int one = b.f.n == 0 && b.f.en == 0; /* N of b is c e^l */
  (void)F;
  r.f.n = a.f.n + b.f.d, r.f.d = a.f.d + b.f.n, r.f.hn = a.f.hn + b.f.hd, r.f.hd = a.f.hd + b.f.hn;
  r.f.en = a.f.en + b.f.ed, r.f.ed = a.f.ed + b.f.en;
  r.f.wn = a.f.wn + b.f.wd + (one ? b.f.wn : 0), r.f.wd = a.f.wd + (one ? 0 : b.f.wn);
  r.vary_d = a.vary_d | (one && b.f.hn == 0 ? 0 : b.vary);
  return mgi_bound_done(r);
}
/* Either operand. */
static mgi_bound mgi_bound_join(mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  r.f = mgi_frac_max(a.f, b.f);
  return r;
}
/* A new variable for a function of a and b (NULL: of a alone), applied `times` times an element. */
static mgi_bound mgi_bound_variable(mgi_bounds *F, const mgi_bound *a, const mgi_bound *b, double times) {
  mgi_bound r = mgi_bound_of(a, b);
  r.f.n = 1, r.vary_d = 0;
  F->arg = mgi_frac_max(F->arg, a->f);
  if (b) F->arg = mgi_frac_max(F->arg, b->f);
  F->applications += times * F->runs * F->slice[MGI_BOUND_SLICES - 1];
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] += times * F->slice[S];
  return r;
}
static mgi_bound mgi_bound_max(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_variable(F, &a, &b, 1);
  r.flags |= MGI_HAS_MAX;
  return r;
}
/* The maximum of k elements like a, whose terms a counts already; sure: there are two at least. */
static mgi_bound mgi_bound_maximum(mgi_bounds *F, mgi_bound a, double k, int sure) {
  mgi_bound r = mgi_bound_variable(F, &a, NULL, k);
  F->arg.n = mgi_bound_max2(F->arg.n, 1); /* the maximum so far */
  if (!sure) { /* one element is its own maximum */
    r.f = mgi_frac_max(r.f, a.f);
    if (!mgi_frac_whole(&a.f)) r.vary_d = ~(uint64_t)0;
  }
  r.flags |= MGI_HAS_MAX;
  return r;
}
static mgi_bound mgi_bound_opaque_c(mgi_bounds *F, int op, int nonzero, mgi_bound a, mgi_bound c) {
  (void)nonzero;
  a.f.hn = mgi_bound_max2(a.f.hn, c.f.hn), a.f.hd = mgi_bound_max2(a.f.hd, c.f.hd);
  mgi_bound r = mgi_bound_variable(F, &a, NULL, 1);
  r.flags |= op == MG_OP_EXP ? (uint32_t)MGI_HAS_EXP : (uint32_t)MGI_HAS_OPAQUE;
  return r;
}
static mgi_bound mgi_bound_exp(mgi_bounds *F, mgi_bound a) {
  if (!F->pair) return mgi_bound_opaque_c(F, MG_OP_EXP, 0, a, mgi_bound_zero(F));
  mgi_bound r = mgi_bound_of(&a, NULL);
  r.f.wn = 1, r.vary_d = 0, r.flags |= MGI_HAS_EXP;
  F->exp = mgi_frac_max(F->exp, a.f);
  F->nested |= a.f.wn > 0 || a.f.wd > 0;
  return r;
}
/* The sum of k elements like a, whose terms a counts already; `alike` of them at a time share D. */
static mgi_bound mgi_bound_sum(mgi_bound a, double k, double alike) {
  mgi_bound r = a;
  if (k < 1) k = 1;
  double m = k / alike; /* exact: alike divides k */
  r.f.n = a.f.n + (m - 1) * a.f.d, r.f.d = m * a.f.d;
  r.f.hn = a.f.hn + (m - 1) * a.f.hd + log2(k), r.f.hd = m * a.f.hd;
  r.f.en = a.f.en + (m - 1) * a.f.ed + log2(k), r.f.ed = m * a.f.ed;
  r.f.wn = a.f.wn + (m - 1) * a.f.wd, r.f.wd = m * a.f.wd;
  return mgi_bound_done(r);
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

/* a along dimension `bit` (0 the last), which goes. */
static mgi_bound mgi_bound_reduced(const mgi_bound *a, int bit) {
  mgi_bound r = *a;
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] = a->terms[S | 1 << bit];
  r.vary &= ~((uint64_t)1 << bit), r.vary_d &= ~((uint64_t)1 << bit);
  return r;
}
/* One product of [m, k] and [k, n], summed over k. */
static mgi_bound mgi_bound_matmul(mgi_bounds *F, mgi_bound a, mgi_bound b, double k) {
  int differ = (a.vary_d & 1) || (b.vary_d & 2);
  return mgi_bound_sum(mgi_bound_mul(F, mgi_bound_reduced(&a, 0), mgi_bound_reduced(&b, 1)), k, differ ? 1 : k);
}
/* The bits that the sets of operands become in the result of a row that moves elements. */
static uint64_t mgi_bound_moved(const mg_op_node *o, const mg_shape *from, const mg_shape *z, uint64_t set) {
  const uint64_t dims = ((uint64_t)1 << MG_MAX_RANK) - 1;
  uint64_t r = set & ~dims;
  if (o->code == MG_OP_CONCAT || o->code == MG_OP_REPEAT) return set;
  if (o->code != MG_OP_TRANSPOSE) return set & dims ? r | dims : r;
  for (int d = 0; d < z->rank; d++) r |= (set >> (from->rank - 1 - o->attr.perm[d]) & 1) << (z->rank - 1 - d);
  return r;
}

/* The same for a slice's dimensions, backwards, of a transpose. */
static int mgi_bound_moved_back(const mg_op_node *o, const mg_shape *from, const mg_shape *z, int S) {
  int r = 0;
  for (int d = 0; d < z->rank; d++)
    if (S >> (z->rank - 1 - d) & 1) r |= 1 << (from->rank - 1 - o->attr.perm[d]);
  return r;
}

/* One level; `above` holds the bounds of the graph above, `times` how often this graph runs.  0 on success. */
static int mgi_bounds_level(mgi_bounds *F, const mg_graph *g, mgi_bound *above, const mg_op_node *owner, double times) {
  mgi_bound *t = (mgi_bound *)calloc(g->n_tensors, sizeof *t);
  int stores = 0, bad = !t;
  const int axis0 = MG_MAX_RANK + (g->level == MG_THREAD ? MG_MAX_AXES + 1 : 0); /* bit of axis 0 */
  for (uint32_t k = 0; !g->up && k < g->n_in && !bad; k++) {
    const mg_shape *s = &g->tensors[g->in[k].id].shape;
    mgi_bound *x = &t[g->in[k].id];
    x->f.n = 1;
    for (int d = 0; d < s->rank; d++)
      if (s->dim[d] > 1) x->vary |= (uint64_t)1 << (s->rank - 1 - d);
  }
  for (int a = 1; a <= 3 && g->up; a++) times *= (double)g->axes[a].extent;
  for (uint32_t k = 1; k < g->n_ops && !bad; k++) {
    const mg_op_node *o = &g->ops[k];
    const mg_op_info *row = mg_op_row(o->code);
    int load = o->code == MG_OP_LOAD; /* its operand is a tensor of the graph above */
    mgi_bound a = load ? mgi_bound_zero(F) : t[o->in[0].id], b = o->n_in > 1 ? t[o->in[1].id] : a, r = mgi_bound_zero(F);
    F->runs = times;
    for (uint32_t l = o->scope; l; l = g->axes[l].parent) F->runs *= (double)g->axes[l].extent;
    if (o->code == MG_OP_GRAPH) { bad = mgi_bounds_level(F, o->sub, t, o, F->runs); continue; }
    const mg_tensor_info *from = &(load ? g->up : g)->tensors[o->in[0].id];
    const mg_shape *s = &from->shape; /* of the operand; of a STORE too */
    const mg_shape *z = o->code == MG_OP_STORE ? &g->up->tensors[owner->out[stores].id].shape : &g->tensors[o->out[0].id].shape;
    for (int S = 0; S < MGI_BOUND_SLICES; S++) {
      F->slice[S] = 1;
      for (int d = 0; d < z->rank; d++)
        if (S >> (z->rank - 1 - d) & 1) F->slice[S] *= (double)z->dim[d];
    }
    if (load) {
      r = above[o->in[0].id];
      for (uint32_t x = 1; x < g->n_axes; x++)
        if (o->map.to[x] >= 0) { /* blocks and iterations see other parts of that dimension */
          r.vary |= (r.vary >> (z->rank - 1 - o->map.to[x]) & 1) << (axis0 + (int)x);
          r.vary_d |= (r.vary_d >> (z->rank - 1 - o->map.to[x]) & 1) << (axis0 + (int)x);
        }
    } else if (o->code == MG_OP_STORE || o->code == MG_OP_ACCUM) {
      double n = 1, alike = 1, most = 1;
      int sure = 1;
      for (int d = 0; d < from->shape.rank; d++) sure &= !from->cuts[d]; /* no chunk is empty */
      for (uint32_t x = 1; x < g->n_axes; x++) {
        int to = o->map.to[x];
        if (to == MG_MAP_MAX) most *= (double)g->axes[x].extent;
        if (to == MG_MAP_SUM) {
          n *= (double)g->axes[x].extent;
          if (!(a.vary_d >> (axis0 + (int)x) & 1)) alike *= (double)g->axes[x].extent;
        }
      }
      r = mgi_bound_sum(a, n, alike);
      for (uint32_t x = 1; x < g->n_axes; x++) {
        int to = o->map.to[x];
        uint64_t bit = (uint64_t)1 << (axis0 + (int)x);
        for (int S = 0; S < MGI_BOUND_SLICES; S++) /* blocks and iterations have terms of their own */
          if (to == MG_MAP_SUM || to == MG_MAP_MAX || (to >= 0 && (S >> (z->rank - 1 - to) & 1))) r.terms[S] *= (double)g->axes[x].extent;
        if (to >= 0 && (r.vary & bit)) r.vary |= (uint64_t)1 << (z->rank - 1 - to);
        if (to >= 0 && (r.vary_d & bit)) r.vary_d |= (uint64_t)1 << (z->rank - 1 - to);
        if (o->code == MG_OP_STORE || to != MG_MAP_NONE) r.vary &= ~bit, r.vary_d &= ~bit;
      }
      for (uint32_t x = 1; x < g->n_axes; x++)
        if (o->map.to[x] == MG_MAP_MAX) { r = mgi_bound_maximum(F, r, most, sure && most > 1); break; }
    } else if (row->elementwise) {
      mgi_bound c = mgi_bound_zero(F);
      if (row->attr == MG_ATTR_RAT) {
        c.f.hn = o->attr.c.num ? mgi_bound_up(log2(fabs((double)o->attr.c.num))) : 0;
        c.f.hd = mgi_bound_up(log2((double)o->attr.c.den));
      }
      r = mgi_bound_apply(F, o->code, a, row->n_in > 1 ? b : mgi_bound_zero(F), c);
    } else if (o->code == MG_OP_MATMUL) r = mgi_bound_matmul(F, a, b, (double)s->dim[s->rank - 1]);
    else if (o->code == MG_OP_CONCAT_MATMUL) {
      const mg_shape *s2 = &g->tensors[o->in[1].id].shape;
      r = mgi_bound_add(F, mgi_bound_matmul(F, a, t[o->in[2].id], (double)s->dim[s->rank - 1]), mgi_bound_matmul(F, b, t[o->in[3].id], (double)s2->dim[s2->rank - 1]));
    } else if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) {
      int bit = s->rank - 1 - o->attr.dim, differ = (int)(a.vary_d >> bit & 1);
      double n = (double)s->dim[o->attr.dim];
      a = mgi_bound_reduced(&a, bit);
      r = o->code == MG_OP_SUM ? mgi_bound_sum(a, n, differ ? 1 : n) : mgi_bound_maximum(F, a, n, n > 1 && !from->cuts[o->attr.dim]);
    } else if (row->moves) {
      r = a, r.vary = r.vary_d = 0;
      int whole = 1;
      for (int j = 0; j < o->n_in; j++) {
        const mgi_bound *x = &t[o->in[j].id];
        uint64_t vary = mgi_bound_moved(o, &g->tensors[o->in[j].id].shape, z, x->vary), vary_d = mgi_bound_moved(o, &g->tensors[o->in[j].id].shape, z, x->vary_d);
        mgi_bound y = r;
        if (j) r = mgi_bound_join(r, *x);
        r.vary = y.vary | vary, r.vary_d = y.vary_d | vary_d;
        whole &= mgi_frac_whole(&x->f);
      }
      if (o->n_in > 1) { /* the operands lie side by side */
        uint64_t side = o->code == MG_OP_CONCAT ? (uint64_t)1 << (z->rank - 1 - o->attr.dim) : ((uint64_t)1 << MG_MAX_RANK) - 1;
        r.vary |= side;
        if (!whole) r.vary_d |= side;
      }
      for (int S = 0; S < MGI_BOUND_SLICES; S++) { /* concat and repeat keep their dimensions; others may mix them */
        int from_S = o->code == MG_OP_CONCAT || o->code == MG_OP_REPEAT ? S : MGI_BOUND_SLICES - 1;
        if (o->code == MG_OP_TRANSPOSE) from_S = mgi_bound_moved_back(o, s, z, S);
        double x = 0;
        for (int j = 0; j < o->n_in; j++) x += t[o->in[j].id].terms[from_S];
        r.terms[S] = x;
        if (o->code == MG_OP_CONCAT || o->code == MG_OP_REPEAT || o->code == MG_OP_TRANSPOSE) continue;
        for (int j = 0; j < o->n_in; j++) x = j ? mgi_bound_max2(x, t[o->in[j].id].terms[0]) : t[o->in[j].id].terms[0];
        r.terms[S] = mgi_bound_min2(r.terms[S], F->slice[S] * x);
      }
    } else F->failed = 1;
    for (int S = MGI_BOUND_SLICES - 1; S >= 0; S--) r.terms[S] = mgi_bound_min2(mgi_bound_min2(r.terms[S], F->slice[S] * r.terms[0]), F->applications);
    for (int bit = 0; bit < MG_MAX_RANK; bit++)
      if (bit >= z->rank || z->dim[z->rank - 1 - bit] == 1) r.vary &= ~((uint64_t)1 << bit), r.vary_d &= ~((uint64_t)1 << bit);
    if (o->code == MG_OP_STORE) above[owner->out[stores++].id] = r;
    else t[o->out[0].id] = r;
  }
  if (!g->up && !bad)
    for (uint32_t k = 0; k < g->n_out; k++) {
      const mgi_bound *x = &t[g->out[k].id];
      F->out = mgi_frac_max(F->out, x->f);
      F->terms = mgi_bound_max2(F->terms, x->terms[0]);
      F->flags[k] = x->flags;
    }
  free(t);
  return bad;
}

static mg_status mgi_bounds_of(const mg_graph *g, int pair, mgi_bounds *out, mg_error *e) {
  memset(out, 0, sizeof *out);
  out->pair = pair;
  if (mgi_bounds_level(out, g, NULL, NULL, 1)) return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the degree bounds");
  if (out->failed) return mg_fail(e, MG_UNSUPPORTED, "mg_verify", "an operator of '%s' has no field meaning", g->name);
  return MG_OK;
}

/* log2 of 3x/(5 ln x) for x = 2^bits: at most the number of primes in [x, 2x). */
static double mgi_log2_primes(int bits) { return bits - log2(log(2.0) * bits * 5 / 3) - 1e-9; }
static double mgi_bound_log2(double x) { return x > 0 ? mgi_bound_up(log2(x)) + 1e-9 : -1e9; }

/* Fills the quantities of Theorem A, or of B in the two-field reading; log2_eps == 0 means no bound. */
static void mgi_bound_theorem(const mgi_bounds *a, const mgi_bounds *b, mg_verify_report *r) {
  mgi_frac arg = mgi_frac_max(a->arg, b->arg), e = mgi_frac_max(a->exp, b->exp);
  const mgi_frac *x = &a->out, *y = &b->out;
  uint32_t flags = 0;
  for (int k = 0; k < MG_MAX_OUT; k++) flags |= a->flags[k] | b->flags[k];
  double m = a->terms + b->terms, pairs = m > 1 ? m * (m - 1) / 2 * (flags & MGI_HAS_MAX ? 2 : 1) : 0, eps;
  r->degree = mgi_bound_max2(x->n + y->d, y->n + x->d);
  r->opaque_terms = m;
  r->degree_arg = pairs > 0 ? arg.n + arg.d : 0;
  r->height = mgi_bound_up(mgi_bound_max2(x->hn + y->hd, y->hn + x->hd) + 1);
  r->height_arg = pairs > 0 ? mgi_bound_up(arg.hn + arg.hd + 1) : 0;
  r->exp_terms = r->degree_exp = r->height_exp = r->exp_events = 0, r->q_bits = 0;
  eps = mgi_bound_log2(r->degree + pairs * r->degree_arg) - 60 + 1e-9; /* p - 1 >= 2^60 */
  double unlucky = floor(r->height / 60), unlucky_arg = floor(r->height_arg / 60); /* primes p that may divide all coefficients */
  if (!a->pair) eps = mgi_bound_log2_sum(eps, mgi_bound_log2(unlucky + pairs * unlucky_arg) - mgi_log2_primes(60));
  else {
    int inside = arg.wn > 0 || arg.wd > 0; /* exponentials in opaque arguments: these are sums like the outputs, else fractions */
    double w = 2 * mgi_bound_max2(mgi_bound_max2(x->wn + y->wd, y->wn + x->wd), inside ? arg.wn + arg.wd : 0), best = 1e300;
    if (w < 1) w = 1;
    r->exp_terms = mgi_bound_max2(mgi_bound_max2(x->en + y->ed, y->en + x->ed), inside ? arg.en + arg.ed : 0) + 1;
    r->degree_exp = e.n + (w - 1) * e.d;
    r->height_exp = mgi_bound_up(e.hn + (w - 1) * e.hd + log2(w));
    r->exp_events = inside ? 1 + pairs : 1;
    for (int bits = MGI_Q_LEAST; bits <= MGI_Q_MOST; bits++) {
      double meet = mgi_bound_log2_sum(mgi_bound_log2(r->degree_exp) - (bits - 1) + 1e-5, mgi_bound_log2(floor(r->height_exp / (bits - 1))) - mgi_log2_primes(bits - 1));
      double number = mgi_bound_log2(MG_VERIFY_CANDIDATES) - (60 - 1 - bits) + 1e-3; /* candidates / floor(2^60 / 2q) */
      double prime = mgi_bound_log2_sum(number + mgi_bound_log2(mgi_bound_max2(r->height, inside ? r->height_arg : 0) / 60) + mgi_bound_log2(r->exp_events), number + mgi_bound_log2(inside ? 0 : pairs * unlucky_arg));
      double sum = mgi_bound_log2_sum(mgi_bound_log2(r->exp_events) + meet + r->exp_terms, prime);
      if (sum < best) best = sum, r->q_bits = bits;
    }
    eps = mgi_bound_log2_sum(eps, best);
  }
  r->log2_eps = eps + log2((double)MG_VERIFY_DRAWS) + 1e-6;
  if (!(r->log2_eps < 0) || a->nested || b->nested) r->log2_eps = 0;
}

/* --------------------------------------------------------------------------------------------------- >>draws
   Everything random follows from (seed, kind of test, number of the test, number of the draw), by counters: the result
   depends neither on threads nor on order.
   The outputs are compared part by part (mg_part_of): a part is drawn, evaluated on both sides and compared by one
   thread, and takes little memory.  How the outputs are cut depends on the graphs and the memory limit alone.
     memory   halves are taken until a part fits MGI_PART_BYTES, as long as that helps
     work     and until it takes MGI_PART_WORK, as long as little is computed twice
   Requirement 1: what a part says does not depend on how the outputs are cut, its counts of elements excepted. */

enum { MGI_PARTS_MOST = 4096, MGI_PART_WORK = 1 << 26, MGI_PART_BYTES = 1 << 27 };

typedef struct mgi_want { mg_box out[MG_MAX_OUT]; } mgi_want;
typedef struct mgi_cut { const mg_graph *g[2]; mgi_want *want; int n; double elements; } mgi_cut; /* elements: of the largest part */
typedef struct mgi_cost { double elements, work; } mgi_cost;

/* The parts that `want` takes on both sides, the inputs' boxes made alike. */
static mg_status mgi_parts_of(const mgi_cut *c, const mgi_want *want, mg_part *part, mgi_cost *cost, mg_error *e) {
  mg_status s = mg_part_of(c->g[0], want->out, &part[0], e);
  memset(&part[1], 0, sizeof part[1]);
  if (s == MG_OK) s = mg_part_of(c->g[1], want->out, &part[1], e);
  if (s != MG_OK) { mg_part_free(&part[0]); return s; }
  cost->elements = part[0].elements + part[1].elements, cost->work = part[0].work + part[1].work;
  for (uint32_t k = 0; k < c->g[0]->n_in; k++) {
    mg_box *x = &part[0].box[c->g[0]->in[k].id], *y = &part[1].box[c->g[1]->in[k].id];
    int rank = c->g[0]->tensors[c->g[0]->in[k].id].shape.rank;
    if (mg_box_elements(x, rank) == 0) *x = *y;
    else if (mg_box_elements(y, rank) > 0)
      for (int d = 0; d < rank; d++) {
        if (y->lo[d] < x->lo[d]) x->lo[d] = y->lo[d];
        if (y->hi[d] > x->hi[d]) x->hi[d] = y->hi[d];
      }
    *y = *x;
    cost->elements += (double)mg_box_elements(x, rank), cost->work += 8 * (double)mg_box_elements(x, rank);
  }
  return MG_OK;
}
static mgi_cost mgi_cost_of(const mgi_cut *c, const mgi_want *want) {
  mg_part part[2];
  mgi_cost cost = {1e300, 1e300};
  if (mgi_parts_of(c, want, part, &cost, NULL) == MG_OK) mg_part_free(&part[0]), mg_part_free(&part[1]);
  return cost;
}
/* Cuts `want` in two: along dimension `way`, or, if that is MG_MAX_RANK, some outputs here and some there. */
static int mgi_want_halves(const mgi_cut *c, const mgi_want *want, int way, mgi_want *half) {
  uint32_t n = c->g[0]->n_out, live = 0, seen = 0;
  int cut = 0;
  half[0] = half[1] = *want;
  for (uint32_t k = 0; k < n; k++) live += mg_box_elements(&want->out[k], c->g[0]->tensors[c->g[0]->out[k].id].shape.rank) > 0;
  for (uint32_t k = 0; k < n; k++) {
    const mg_box *b = &want->out[k];
    int rank = c->g[0]->tensors[c->g[0]->out[k].id].shape.rank;
    if (mg_box_elements(b, rank) == 0) continue;
    if (way < rank && b->hi[way] - b->lo[way] > 1) {
      half[0].out[k].hi[way] = half[1].out[k].lo[way] = b->lo[way] + (b->hi[way] - b->lo[way] + 1) / 2;
      cut = 1;
    } else memset(&half[way == MG_MAX_RANK && 2 * seen >= live ? 0 : 1].out[k], 0, sizeof(mg_box));
    seen++;
  }
  return cut || (way == MG_MAX_RANK && live > 1);
}

static void mgi_cut_free(mgi_cut *c) { free(c->want), c->want = NULL; }
static mg_status mgi_cut_outputs(const mg_graph *a, const mg_graph *b, size_t elem, double bytes, mgi_cut *c, mg_error *e) {
  int cap = 1;
  memset(c, 0, sizeof *c);
  c->g[0] = a, c->g[1] = b;
  c->want = (mgi_want *)calloc(1, sizeof *c->want);
  if (!c->want) return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the parts of a test");
  for (uint32_t k = 0; k < a->n_out; k++)
    for (int d = 0; d < a->tensors[a->out[k].id].shape.rank; d++) c->want[0].out[k].hi[d] = a->tensors[a->out[k].id].shape.dim[d];
  c->n = 1;
  for (int k = 0; k < c->n;) { /* the list's order is that of the outputs' elements, roughly */
    mgi_cost cost = mgi_cost_of(c, &c->want[k]), best = {0, 0};
    mgi_want half[2], chosen[2];
    int fits = cost.elements * (double)elem <= bytes, found = 0;
    if ((!fits || cost.work > MGI_PART_WORK) && c->n < MGI_PARTS_MOST)
      for (int way = 0; way <= MG_MAX_RANK; way++) {
        if (!mgi_want_halves(c, &c->want[k], way, half)) continue;
        mgi_cost x = mgi_cost_of(c, &half[0]), y = mgi_cost_of(c, &half[1]), both;
        both.elements = x.elements > y.elements ? x.elements : y.elements, both.work = x.work + y.work;
        int good = fits ? both.work < 1.1 * cost.work && both.elements < 1.01 * cost.elements : both.elements < 0.97 * cost.elements;
        /* for memory's sake: what leaves the least to be computed, among what helps much, else what helps most */
        int better = !found || (fits || (both.elements < 0.8 * cost.elements && best.elements < 0.8 * cost.elements) ? both.work < best.work : both.elements < best.elements);
        if (good && better) best = both, found = 1, chosen[0] = half[0], chosen[1] = half[1];
      }
    if (!found) {
      if (cost.elements > c->elements) c->elements = cost.elements;
      k++;
      continue;
    }
    if (c->n == cap) {
      mgi_want *more = (mgi_want *)realloc(c->want, (size_t)(cap *= 2) * sizeof *more);
      if (!more) { mgi_cut_free(c); return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the parts of a test"); }
      c->want = more;
    }
    memmove(&c->want[k + 2], &c->want[k + 1], (size_t)(c->n - k - 1) * sizeof *c->want);
    c->want[k] = chosen[0], c->want[k + 1] = chosen[1], c->n++;
  }
  return MG_OK;
}

/* What ends a run early, and who is told how far it is. */
typedef struct mgi_watch {
  double deadline, told;
  const volatile int *stop;
  void (*progress)(void *user, const mg_verify_progress *now);
  void *user;
  mg_verify_progress now;
} mgi_watch;
static int mgi_watch_over(const mgi_watch *w) { return (w->stop && *w->stop) || (w->deadline > 0 && mgi_verify_now() > w->deadline); }

enum { MGI_ELEM_WORD, MGI_ELEM_PAIR, MGI_ELEM_BALL };
typedef struct mgi_ball { double v, err; } mgi_ball; /* >>floats */

/* One draw of one test. */
typedef struct mgi_trial {
  mg_field F;
  int elem;                  /* the representation */
  uint64_t seed;
  int draw;                  /* how many there have been */
  uint64_t powers[8 * 256];  /* of F.omega */
  int worst;                 /* the first part that differs, so far */
} mgi_trial;

/* What came of one part of a trial. */
typedef struct mgi_outcome {
  mg_status status;
  mg_error error;
  uint64_t compared, undefined, pattern[2];
  int twice;                 /* a second exponential was met */
  int differs, output;
  int64_t element;
  double gap, a, b;          /* floats: the largest relative gap that rounding cannot explain */
} mgi_outcome;

typedef struct mgi_run {
  const mgi_cut *cut;
  mgi_trial *trial;
  mgi_outcome *outcome;      /* trial after trial, part after part */
  int trials, next, done;
  mgi_watch *watch;
  pthread_mutex_t lock;
} mgi_run;

static size_t mgi_elem_bytes(int elem) { return elem == MGI_ELEM_WORD ? sizeof(uint64_t) : elem == MGI_ELEM_PAIR ? sizeof(mg_fv) : sizeof(mgi_ball); }
static int64_t mgi_trial_elements(const mg_graph *g, mg_tensor t) { return mg_shape_elements(&g->tensors[t.id].shape); }
static mg_domain mgi_domain_ball(const mg_field *F);
static double mgi_real_input(uint64_t seed, int k, int64_t i);
static double mgi_ball_gap(mgi_ball x, mgi_ball y);

/* The flat indices of a box, in order: the first of each row of its last dimension. */
static int64_t mgi_box_row(const mg_box *b, const mg_shape *s, const int64_t *at) {
  int64_t i = 0;
  for (int d = 0; d < s->rank; d++) i = i * s->dim[d] + (d < s->rank - 1 ? at[d] : b->lo[d]);
  return i;
}
static int mgi_box_next_row(const mg_box *b, int rank, int64_t *at) {
  for (int d = rank - 2; d >= 0; d--) {
    if (++at[d] < b->hi[d]) return 1;
    at[d] = b->lo[d];
  }
  return 0;
}

static void mgi_part_draw(const mgi_trial *t, const mg_shape *s, const mg_box *b, uint32_t k, void *dst) {
  int64_t at[MG_MAX_RANK], n = b->hi[s->rank - 1] - b->lo[s->rank - 1], o = 0;
  uint64_t key = mgi_ff_hash(t->seed, k, 7);
  memcpy(at, b->lo, sizeof at);
  do {
    int64_t first = mgi_box_row(b, s, at);
    for (int64_t i = first; i < first + n; i++, o++) {
      if (t->elem == MGI_ELEM_BALL) ((mgi_ball *)dst)[o].v = mgi_real_input(t->seed, (int)k, i), ((mgi_ball *)dst)[o].err = 0;
      else {
        uint64_t p = mgi_ff_draw(&t->F.mp, key, (uint64_t)i, 0, 0);
        if (t->elem == MGI_ELEM_WORD) ((uint64_t *)dst)[o] = p;
        else ((mg_fv *)dst)[o] = mgi_fv(p, t->F.q ? mgi_ff_draw(&t->F.mq, key, (uint64_t)i, 1, 0) : 0, 0);
      }
    }
  } while (mgi_box_next_row(b, s->rank, at));
}

/* Compares what is wanted of output k; x and y hold the boxes bx and by of it. */
static void mgi_part_compare(const mgi_trial *t, const mg_shape *s, const mg_box *want, uint32_t k, const void *x, const mg_box *bx, const void *y, const mg_box *by, mgi_outcome *r) {
  int64_t at[MG_MAX_RANK], n = want->hi[s->rank - 1] - want->lo[s->rank - 1];
  memcpy(at, want->lo, sizeof at);
  do {
    int64_t i = mgi_box_row(want, s, at), ox = 0, oy = 0;
    for (int d = 0; d < s->rank; d++) {
      int64_t c = d < s->rank - 1 ? at[d] : want->lo[d];
      ox = ox * (bx->hi[d] - bx->lo[d]) + c - bx->lo[d], oy = oy * (by->hi[d] - by->lo[d]) + c - by->lo[d];
    }
    for (int64_t j = 0; j < n; j++, i++, ox++, oy++) {
      if (t->elem == MGI_ELEM_BALL) {
        mgi_ball u = ((const mgi_ball *)x)[ox], v = ((const mgi_ball *)y)[oy];
        double gap = mgi_ball_gap(u, v);
        r->compared += isfinite(u.err) && isfinite(v.err);
        if (gap > r->gap) r->gap = gap, r->output = (int)k, r->element = i, r->a = u.v, r->b = v.v;
        continue;
      }
      mg_fv a, b;
      if (t->elem == MGI_ELEM_WORD) a = mgi_word_in(((const uint64_t *)x)[ox]), b = mgi_word_in(((const uint64_t *)y)[oy]);
      else a = ((const mg_fv *)x)[ox], b = ((const mg_fv *)y)[oy];
      uint32_t f = a.flags | b.flags;
      if (f & (MG_FV_UNDEF | MG_FV_EXP2)) { r->twice |= (f & MG_FV_EXP2) != 0, r->undefined++; continue; }
      r->compared++;
      int same = a.p == b.p && !((a.flags ^ b.flags) & MG_FV_NEGINF) && (!mgi_fv_has_q(&t->F, f) || a.q == b.q);
      if (!same && !r->differs) r->differs = 1, r->output = (int)k, r->element = i;
    }
  } while (mgi_box_next_row(want, s->rank, at));
}

/* Draws, evaluates and compares one part of a trial. */
static void mgi_part_run(const mgi_cut *c, const mgi_trial *t, const mgi_want *want, mgi_outcome *r) {
  mg_part part[2];
  mgi_cost cost;
  mg_field F = t->F;
  void *in[MG_MAX_IN] = {NULL}, *out[2][MG_MAX_OUT] = {{NULL}, {NULL}};
  size_t bytes = mgi_elem_bytes(t->elem);
  memset(r, 0, sizeof *r);
  r->status = mgi_parts_of(c, want, part, &cost, &r->error);
  if (r->status != MG_OK) return;
  int good = 1;
  for (uint32_t k = 0; k < c->g[0]->n_in && good; k++) {
    const mg_shape *s = &c->g[0]->tensors[c->g[0]->in[k].id].shape;
    const mg_box *b = &part[0].box[c->g[0]->in[k].id];
    int64_t n = mg_box_elements(b, s->rank);
    if (!n) continue;
    good = (in[k] = malloc((size_t)n * bytes)) != NULL;
    if (good) mgi_part_draw(t, s, b, k, in[k]);
  }
  for (int side = 0; side < 2 && good; side++) {
    const mg_graph *g = c->g[side];
    for (uint32_t k = 0; k < g->n_out && good; k++) {
      int64_t n = mg_box_elements(&part[side].box[g->out[k].id], g->tensors[g->out[k].id].shape.rank);
      if (n) good = (out[side][k] = malloc((size_t)n * bytes)) != NULL;
    }
    if (!good) break;
    F.pattern = side == 0 && !F.max_opaque ? r->pattern : NULL; /* who wins: in the first program */
    mg_domain d = t->elem == MGI_ELEM_WORD ? mgi_domain_word(&F) : t->elem == MGI_ELEM_PAIR ? mg_domain_field(&F) : mgi_domain_ball(&F);
    r->status = mg_eval_part(g, &d, &part[side], (const void *const *)in, out[side], &r->error);
    if (r->status != MG_OK) break;
  }
  if (!good) r->status = mg_fail(&r->error, MG_NO_MEMORY, "mg_verify", "no memory for the inputs and outputs of a part of a test: %.3g elements", cost.elements);
  for (uint32_t k = 0; k < c->g[0]->n_out && r->status == MG_OK; k++) {
    const mg_shape *s = &c->g[0]->tensors[c->g[0]->out[k].id].shape;
    if (mg_box_elements(&want->out[k], s->rank))
      mgi_part_compare(t, s, &want->out[k], k, out[0][k], &part[0].box[c->g[0]->out[k].id], out[1][k], &part[1].box[c->g[1]->out[k].id], r);
  }
  for (int k = 0; k < MG_MAX_IN; k++) free(in[k]);
  for (int k = 0; k < MG_MAX_OUT; k++) free(out[0][k]), free(out[1][k]);
  mg_part_free(&part[0]), mg_part_free(&part[1]);
}

static void *mgi_run_thread(void *arg) {
  mgi_run *R = (mgi_run *)arg;
  for (;;) {
    pthread_mutex_lock(&R->lock);
    int job = R->next++, n = R->cut->n, t = job / n, skip = 0;
    if (job < R->trials * n) {
      mgi_watch *w = R->watch;
      skip = job % n > R->trial[t].worst; /* the trial has differed already; what comes before is still run */
      R->outcome[job].status = MG_OK;
      if (mgi_watch_over(w)) R->outcome[job].status = MG_LIMIT, skip = 1;
      else if (w->progress && mgi_verify_now() > w->told + 0.1) {
        mg_verify_progress now = w->now;
        now.test += t, now.part = job % n, now.parts = n, w->told = mgi_verify_now();
        w->progress(w->user, &now);
      }
    }
    pthread_mutex_unlock(&R->lock);
    if (job >= R->trials * n) return NULL;
    if (skip) continue;
    mgi_part_run(R->cut, &R->trial[t], &R->cut->want[job % n], &R->outcome[job]);
    pthread_mutex_lock(&R->lock);
    if (R->outcome[job].differs && job % n < R->trial[t].worst) R->trial[t].worst = job % n;
    pthread_mutex_unlock(&R->lock);
  }
}
/* All parts of all trials, on up to `threads` threads; outcomes past a trial's `worst` are not to be read. */
static void mgi_run_all(const mgi_cut *c, mgi_trial *t, int trials, mgi_outcome *outcome, int threads, mgi_watch *w) {
  enum { MOST = 64 };
  mgi_run R;
  pthread_t id[MOST];
  int n = 0;
  memset(&R, 0, sizeof R);
  R.cut = c, R.trial = t, R.trials = trials, R.outcome = outcome, R.watch = w;
  for (int k = 0; k < trials; k++) t[k].worst = c->n;
  pthread_mutex_init(&R.lock, NULL);
  if (threads > MOST) threads = MOST;
  if (threads > trials * c->n) threads = trials * c->n;
  while (n < threads - 1 && pthread_create(&id[n], NULL, mgi_run_thread, &R) == 0) n++;
  mgi_run_thread(&R);
  while (n > 0) pthread_join(id[--n], NULL);
  pthread_mutex_destroy(&R.lock);
}
/* Adds up a trial's outcomes, to the first that failed or differed. */
static mgi_outcome mgi_trial_outcome_of(const mgi_cut *c, const mgi_outcome *part) {
  mgi_outcome r;
  memset(&r, 0, sizeof r);
  for (int k = 0; k < c->n && r.status == MG_OK && !r.differs; k++) {
    const mgi_outcome *x = &part[k];
    r.status = x->status, r.error = x->error;
    r.compared += x->compared, r.undefined += x->undefined, r.twice |= x->twice;
    r.pattern[0] += mgi_ff_hash(x->pattern[0], (uint64_t)k, 12);
    if (x->differs) r.differs = 1, r.output = x->output, r.element = x->element;
    if (x->gap > r.gap) r.gap = x->gap, r.output = x->output, r.element = x->element, r.a = x->a, r.b = x->b;
  }
  return r;
}

/* --------------------------------------------------------------------------------------------------- >>tests
   Both tiers draw large primes.  A small pair would leave elements undefined wherever a contraction follows a division
   (1 in p divisors is zero), and it is no faster: a small fast-tier call takes some 30 microseconds, 8 of which find
   the prime.  The small pairs serve the emulator, whose kernels store 16-bit words. */

enum { MGI_OPAQUE_TEST, MGI_PAIR_TEST, MGI_ORDER_TEST = 2 /* added: a maximum is that of a random order, else opaque */ };
typedef enum mgi_trial_result { MGI_TRIAL_AGREE, MGI_TRIAL_DIFFER, MGI_TRIAL_TWICE, MGI_TRIAL_ZERO_DIVISOR, MGI_TRIAL_FAULT } mgi_trial_result;

/* What all tests of a verification share. */
typedef struct mgi_bench {
  const mg_graph *g[2];
  mgi_cut cut[3];            /* by representation; n == 0: not made yet */
  double memory;             /* bytes */
  uint64_t seed;
  int threads, q_bits;
  mgi_watch watch;
} mgi_bench;

/* How many parts may run at a time; 0 if not even one fits. */
static int mgi_bench_threads(const mgi_bench *B, const mgi_cut *c, int elem) {
  double fit = B->memory / (c->elements * (double)mgi_elem_bytes(elem));
  return fit < 1 ? 0 : fit < B->threads ? (int)fit : B->threads;
}
static mg_status mgi_bench_cut(mgi_bench *B, int elem, mgi_cut **out, mg_error *e) {
  mgi_cut *c = *out = &B->cut[elem];
  if (!c->n) {
    double bytes = mgi_bound_min2(MGI_PART_BYTES, B->memory / 2);
    mg_status s = mgi_cut_outputs(B->g[0], B->g[1], mgi_elem_bytes(elem), bytes, c, e);
    if (s != MG_OK) return s;
  }
  double need = c->elements * (double)mgi_elem_bytes(elem);
  if (need > B->memory) return mg_fail(e, MG_LIMIT, "mg_verify", "memory: one part of a test takes %.3g GiB, the limit is %.3g GiB", need / ((size_t)1 << 30), B->memory / ((size_t)1 << 30));
  return MG_OK;
}

/* The next draw of a test, the first if t->draw is 0; one without a prime is replaced, like one with a zero divisor.  0 if
   there have been MG_VERIFY_DRAWS. */
static int mgi_trial_setup(mgi_trial *t, const mgi_bench *B, int kind, int test) {
  mg_status s = MG_NOT_FOUND;
  while (s != MG_OK && t->draw < MG_VERIFY_DRAWS) {
    t->elem = kind & MGI_PAIR_TEST ? MGI_ELEM_PAIR : MGI_ELEM_WORD;
    t->seed = mgi_ff_hash(mgi_ff_hash(B->seed, (uint64_t)kind, 8), (uint64_t)test, (uint64_t)t->draw++);
    s = kind & MGI_PAIR_TEST ? mgi_field_pair(t->seed, B->q_bits, &t->F) : mg_field_large(t->seed, 1, &t->F);
  }
  t->F.max_opaque = !(kind & MGI_ORDER_TEST);
  t->F.deadline = B->watch.deadline, t->F.stop = B->watch.stop;
  if (s == MG_OK && t->F.q) {
    uint64_t w = t->F.omega;
    for (int k = 0; k < 8; k++) {
      t->powers[k * 256] = 1;
      for (int j = 1; j < 256; j++) t->powers[k * 256 + j] = mgi_mulmod(&t->F.mp, t->powers[k * 256 + j - 1], w);
      w = mgi_mulmod(&t->F.mp, t->powers[k * 256 + 255], w);
    }
    t->F.powers = t->powers;
  }
  return s == MG_OK;
}

/* `tests` tests of one kind; stops at the first that does not agree. Adds to the report's counts. */
static mgi_trial_result mgi_tests(mgi_bench *B, int kind, int tests, mg_verify_report *r, int *output, mg_error *e) {
  mgi_cut *c;
  mgi_trial_result result = MGI_TRIAL_AGREE;
  uint64_t pattern[MG_VERIFY_TESTS];
  int elem = kind & MGI_PAIR_TEST ? MGI_ELEM_PAIR : MGI_ELEM_WORD;
  r->tests = 0, r->compared = 0, r->patterns = 0;
  if (mgi_bench_cut(B, elem, &c, e) != MG_OK) return MGI_TRIAL_FAULT;
  int threads = mgi_bench_threads(B, c, elem), wave = (2 * threads + c->n - 1) / c->n;
  if (wave > tests || threads == 1) wave = threads == 1 ? 1 : tests;
  mgi_trial *t = (mgi_trial *)calloc((size_t)wave, sizeof *t);
  mgi_outcome *o = (mgi_outcome *)calloc((size_t)wave * (size_t)c->n, sizeof *o);
  if (!t || !o) mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for a test"), result = MGI_TRIAL_FAULT;
  B->watch.now.kind = kind, B->watch.now.tests = tests;
  for (int done = 0, n; done < tests && result == MGI_TRIAL_AGREE; done += n) {
    n = tests - done < wave ? tests - done : wave;
    B->watch.now.test = done;
    for (int k = 0; k < n && result == MGI_TRIAL_AGREE; k++) {
      t[k].draw = 0;
      if (!mgi_trial_setup(&t[k], B, kind, done + k)) mg_fail(e, MG_UNSUPPORTED, "mg_verify", "no prime was found"), result = MGI_TRIAL_FAULT;
    }
    if (result == MGI_TRIAL_AGREE) mgi_run_all(c, t, n, o, threads, &B->watch);
    for (int k = 0; k < n && result == MGI_TRIAL_AGREE; k++) {
      mgi_outcome x;
      for (;;) {
        x = mgi_trial_outcome_of(c, &o[k * c->n]);
        if (x.status != MG_OK || !x.undefined || x.twice || x.differs) break;
        r->undefined += x.undefined, r->redraws++;
        if (!mgi_trial_setup(&t[k], B, kind, done + k)) { result = MGI_TRIAL_ZERO_DIVISOR; break; }
        mgi_run_all(c, &t[k], 1, &o[k * c->n], threads, &B->watch);
      }
      if (x.status != MG_OK) {
        *e = x.error;
        if (e->status == MG_OK) mg_fail(e, x.status, "mg_verify", "evaluation failed");
        result = MGI_TRIAL_FAULT;
      }
      if (result != MGI_TRIAL_AGREE) break;
      if (x.twice && !x.differs) { result = MGI_TRIAL_TWICE; break; }
      if (r->tests < MG_VERIFY_TESTS) {
        int known = 0;
        for (int j = 0; j < r->tests; j++) known |= pattern[j] == x.pattern[0];
        r->patterns += !known, pattern[r->tests] = x.pattern[0];
        r->p[r->tests] = t[k].F.p, r->q[r->tests] = t[k].F.q;
      }
      r->tests++, r->compared += x.compared;
      if (x.differs) result = MGI_TRIAL_DIFFER, *output = x.output;
    }
  }
  if (!(kind & MGI_ORDER_TEST)) r->patterns = 0;
  free(t), free(o);
  return result;
}

/* -------------------------------------------------------------------------------------------------- >>floats
   The same pair over doubles, on inputs of several ranges: signed, positive, small (so that an epsilon counts), large. */

enum { MGI_REAL_QUIET = 31, MGI_REAL_LEVELS = 30 }; /* bits 2 to 6 of a seed where they name no input */

static double mgi_real_input(uint64_t seed, int k, int64_t i) {
  static const double lo[4] = {-2, 0.25, -0.001, -8}, hi[4] = {2, 2, 0.001, 8};
  int range = (int)(seed & 3), loud = (int)(seed >> 2 & 31);
  double shift = loud == k ? seed >> 7 & 1 ? -64 : 64 : 0, wide = hi[range] - lo[range], from = lo[range];
  if (loud == MGI_REAL_LEVELS) from += wide * ldexp((double)(mgi_ff_hash(seed, (uint64_t)k, 11) >> 11), -53), wide /= 256;
  return shift + from + wide * ldexp((double)(mgi_ff_hash(mgi_ff_hash(seed, (uint64_t)k, 9), (uint64_t)i, 0) >> 11), -53);
}
void mg_verify_input_real(const mg_graph *g, uint64_t seed, int k, double *dst) {
  int64_t n = mgi_trial_elements(g, g->in[k]);
  for (int64_t i = 0; i < n; i++) dst[i] = mgi_real_input(seed, k, i);
}

/* A double and a bound on how far it may be from the exact value: what the operands' bounds move (the row at the
   corners of their box) and rounding.  Infinite once anything on the way was not finite. */
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
  for (int64_t x = 0; x < m; x++) {
    if (mgi_ff_over((const mg_field *)user)) return MG_LIMIT;
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

static mg_domain mgi_domain_ball(const mg_field *F) {
  mg_domain d = mg_domain_field(F); /* of which only the deadline is used */
  d.elem = sizeof(mgi_ball), d.map = mgi_ball_map, d.matmul = mgi_ball_matmul, d.combine = mgi_ball_combine, d.fill = mgi_ball_fill;
  return d;
}
/* The relative gap, if rounding cannot explain it; else 0. */
static double mgi_ball_gap(mgi_ball x, mgi_ball y) {
  double gap = fabs(x.v - y.v);
  return gap > 2 * (x.err + y.err) && isfinite(gap) ? gap / mgi_bound_max2(fabs(x.v), fabs(y.v)) : 0;
}

/* Looks for a difference that rounding cannot explain; r->confirmed says whether there is one.  Where no element was
   finite on both sides (the root of a difference, say), inputs that keep to a level each may do. */
static mg_status mgi_verify_floats(mgi_bench *B, int maximum, mg_verify_report *r, mg_error *e) {
  mgi_cut *c;
  mgi_trial t;
  mg_status s = mgi_bench_cut(B, MGI_ELEM_BALL, &c, e);
  if (s != MG_OK) return s;
  mgi_outcome *o = (mgi_outcome *)calloc((size_t)c->n, sizeof *o);
  if (!o) return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the float64 run");
  double worst = 0; /* relative gap of the counterexample so far; a plain one ends the search */
  uint64_t plain = maximum ? 4 + 2 * (uint64_t)B->g[0]->n_in : 4; /* with a maximum: each input once above and once below all others */
  uint64_t compared = 0, rounds = plain + 8;
  memset(&t, 0, sizeof t);
  t.elem = MGI_ELEM_BALL, t.F.deadline = B->watch.deadline, t.F.stop = B->watch.stop;
  B->watch.now.kind = -1, B->watch.now.tests = (int)plain;
  for (uint64_t round = 0; round < rounds && s == MG_OK && worst < 1e-6; round++) {
    if (round == plain && compared) break;
    uint64_t loud = round >= plain ? (uint64_t)MGI_REAL_LEVELS : round < 4 ? (uint64_t)MGI_REAL_QUIET : ((round - 4) >> 1) | ((round & 1) << 5);
    t.seed = (mgi_ff_hash(B->seed, round, 10) & ~(uint64_t)255) | loud << 2 | (round < 4 ? round : round >= plain ? round & 1 : 0);
    B->watch.now.test = (int)round;
    mgi_run_all(c, &t, 1, o, mgi_bench_threads(B, c, MGI_ELEM_BALL), &B->watch);
    mgi_outcome x = mgi_trial_outcome_of(c, o);
    if (x.status != MG_OK) {
      s = x.status, *e = x.error;
      if (e->status == MG_OK) mg_fail(e, s, "mg_verify", "the float64 run failed");
    } else if (x.gap > worst) {
      worst = x.gap;
      r->confirmed = 1, r->cx_seed = t.seed, r->cx_output = x.output, r->cx_element = x.element, r->cx_a = x.a, r->cx_b = x.b;
    }
    compared += x.compared;
  }
  free(o);
  return s;
}

/* -------------------------------------------------------------------------------------------------- >>verify
     1. exp and max opaque.  All agree: EQUAL, with Theorem A's bound in the full tier.
     2. Else, if there is an exponential, the two-field test, max opaque.  All agree: EQUAL, with Theorem B's bound.
     3. Else, if there is a maximum, 1 and 2 again with maxima in random total orders.  All agree: EQUAL_SAMPLED, unless
        float64 shows a difference.
     4. Else float64: a difference is NOT_EQUAL.  None: NOT_EQUAL still if the output that differs involves neither an
        opaque function nor a maximum (a field cannot tell equal rational functions apart), else UNDECIDED. */

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

/* "'X' : f16[6, 8]" */
static const char *mgi_signature_text(const mg_tensor_info *t, char *buf, size_t size) {
  size_t n = (size_t)snprintf(buf, size, "'%.20s' : %s[", t->name, mg_dtype_name(t->dtype));
  for (int d = 0; d < t->shape.rank && n < size; d++) n += (size_t)snprintf(buf + n, size - n, "%s%lld", d ? ", " : "", (long long)t->shape.dim[d]);
  if (n < size) snprintf(buf + n, size - n, "]");
  return buf;
}

static mg_status mgi_verify_signature(const mg_graph *a, const mg_graph *b, mg_error *e) {
  if (!a || !b || a->up || b->up) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "expected two programs");
  if (a->n_in != b->n_in) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%.60s' has %u input%s, '%.60s' has %u", a->name, a->n_in, a->n_in == 1 ? "" : "s", b->name, b->n_in);
  if (a->n_out != b->n_out) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%.60s' has %u output%s, '%.60s' has %u", a->name, a->n_out, a->n_out == 1 ? "" : "s", b->name, b->n_out);
  if (!a->n_out) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%.60s' has no output", a->name);
  for (uint32_t k = 0; k < a->n_in + a->n_out; k++) {
    const mg_tensor_info *x = &a->tensors[k < a->n_in ? a->in[k].id : a->out[k - a->n_in].id];
    const mg_tensor_info *y = &b->tensors[k < b->n_in ? b->in[k].id : b->out[k - b->n_in].id];
    char tx[96], ty[96];
    int same = x->shape.rank == y->shape.rank && x->dtype == y->dtype;
    for (int d = 0; d < x->shape.rank && same; d++) same = x->shape.dim[d] == y->shape.dim[d];
    if (!same)
      return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s %u is %s in '%.40s' and %s in '%.40s': types and shapes must be alike", k < a->n_in ? "input" : "output", k < a->n_in ? k : k - a->n_in,
                     mgi_signature_text(x, tx, sizeof tx), a->name, mgi_signature_text(y, ty, sizeof ty), b->name);
  }
  return MG_OK;
}

static void mgi_verify_counterexample(const mg_graph *a, const mg_graph *b, mg_verify_report *r) {
  snprintf(r->reason, sizeof r->reason, "float64 inputs of seed %llu: output %d, element %lld is %.9g in '%.40s', %.9g in '%.40s'", (unsigned long long)r->cx_seed, r->cx_output, (long long)r->cx_element, r->cx_a, a->name, r->cx_b, b->name);
}

/* A test did not end: for want of time or memory, or stopped, which are verdicts; or by a fault, which is not. */
static mg_status mgi_verify_fault(const mgi_bench *B, const mg_verify_config *c, mg_verify_report *r, const mg_error *e) {
  int late = B->watch.deadline > 0 && mgi_verify_now() >= B->watch.deadline, stopped = c->stop && *c->stop;
  if (e->status != MG_LIMIT) return e->status;
  r->verdict = MG_UNDECIDED, r->log2_delta = 0, r->unfinished = 1;
  if (stopped) snprintf(r->reason, sizeof r->reason, "not certified: interrupted; %d test%s agreed", r->tests, r->tests == 1 ? "" : "s");
  else if (late) snprintf(r->reason, sizeof r->reason, "not certified: the time limit of %g s ended the tests; %d agreed", c->time_limit_s, r->tests);
  else snprintf(r->reason, sizeof r->reason, "not certified: %.200s", e->msg);
  return MG_OK;
}

/* As many tests as delta takes, or, where no bound does, `else_tests`.  No product of doubles may round the count down. */
static int mgi_verify_count(const mg_verify_report *r, int full, int else_tests, int *bounded) {
  double need = full && r->log2_eps < 0 ? ceil(r->want_log2_delta / r->log2_eps) : MG_VERIFY_TESTS + 1;
  *bounded = need <= MG_VERIFY_TESTS;
  return !*bounded ? else_tests : need < 1 ? 1 : (int)need;
}

/* "exp", "exp and max" .. : what stood for any function. */
static const char *mgi_verify_any(uint32_t flags, int pair) {
  int exponential = !pair && (flags & MGI_HAS_EXP) != 0, maximum = (flags & MGI_HAS_MAX) != 0;
  return exponential && maximum ? " for any functions exp and max" : exponential ? " for any function exp" : maximum ? " for any function max" : "";
}

/* Everything but signature and bounds; B's memory is freed by the caller. */
static mg_status mgi_verify_run(mgi_bench *B, const mg_verify_config *c, const mgi_bounds *X, const mgi_bounds *Y, mg_verify_report *r, mg_error *e) {
  int full = r->tier == MG_TIER_FULL, output = 0, bounded = 0, kind = 0;
  uint32_t flags = 0;
  for (uint32_t k = 0; k < B->g[0]->n_out; k++) flags |= X->flags[k] | Y->flags[k];
  int maximum = (flags & MGI_HAS_MAX) != 0, exponential = (flags & MGI_HAS_EXP) != 0;
  mgi_trial_result o = MGI_TRIAL_DIFFER;
  for (; kind < 4; kind++) {
    int ordered = (kind & MGI_ORDER_TEST) != 0, pair = kind & MGI_PAIR_TEST;
    if ((pair && !exponential) || (ordered && !maximum)) continue;
    mgi_bounds U, V; /* the two-field reading */
    mg_status s = pair ? mgi_bounds_of(B->g[0], 1, &U, e) : MG_OK;
    if (pair && s == MG_OK) s = mgi_bounds_of(B->g[1], 1, &V, e);
    if (s != MG_OK) return s;
    mgi_bound_theorem(pair ? &U : X, pair ? &V : Y, r);
    B->q_bits = r->q_bits ? r->q_bits : 31, r->q_bits = pair ? B->q_bits : 0;
    int tests = mgi_verify_count(r, full && !ordered, full ? ordered ? 8 : 4 : ordered ? 2 : 1, &bounded);
    if (pair && !bounded) B->q_bits = r->q_bits = 31;
    r->two_field = pair;
    o = mgi_tests(B, kind, tests, r, &output, e);
    if (o == MGI_TRIAL_FAULT) return mgi_verify_fault(B, c, r, e);
    if (o != MGI_TRIAL_DIFFER && !(o == MGI_TRIAL_TWICE && maximum && !ordered)) break;
  }
  if (o == MGI_TRIAL_AGREE) {
    int sampled = (kind & MGI_ORDER_TEST) != 0, ran = r->tests, patterns = r->patterns;
    if (sampled && !c->skip_floats) { /* no theorem stands behind this one: doubles may object */
      mg_status s = mgi_verify_floats(B, maximum, r, e);
      if (s != MG_OK) return mgi_verify_fault(B, c, r, e);
      if (r->confirmed) {
        r->verdict = MG_NOT_EQUAL;
        mgi_verify_counterexample(B->g[0], B->g[1], r);
        return MG_OK;
      }
    }
    r->verdict = sampled ? MG_EQUAL_SAMPLED : MG_EQUAL;
    const char *any = mgi_verify_any(sampled ? flags & ~(uint32_t)MGI_HAS_MAX : flags, r->two_field), *group = r->two_field ? " by exp(a+b) = exp(a)exp(b)" : "";
    if (bounded) {
      r->log2_delta = ran * r->log2_eps;
      if (r->two_field) snprintf(r->theorem, sizeof r->theorem, "Theorem B: rational functions of exponentials over two fields%s", flags & (MGI_HAS_OPAQUE | MGI_HAS_MAX) ? ", other functions opaque" : "");
      else snprintf(r->theorem, sizeof r->theorem, "Theorem A: Schwartz-Zippel over rational functions%s", flags & MGI_HAS_EXP ? ", exp and other functions opaque" : flags ? ", other functions opaque" : "");
      snprintf(r->reason, sizeof r->reason, "equal%s%s; wrong with probability at most 2^%.2f", group, any, ceil(r->log2_delta * 100) / 100);
    } else if (!full) snprintf(r->reason, sizeof r->reason, "%d test%s agreed%s; the fast tier claims no bound%s", ran, ran == 1 ? "" : "s", group, sampled ? " (a maximum does not cancel)" : "");
    else if (sampled) snprintf(r->reason, sizeof r->reason, "not certified: a maximum does not cancel; %d tests agreed%s, each in a random total order of its own, %d winner pattern%s seen", ran, group, patterns, patterns == 1 ? "" : "s");
    else if (r->two_field) snprintf(r->reason, sizeof r->reason, "not certified: rests on exp(a+b) = exp(a)exp(b), and 2^%.1f terms of degree %.3g are beyond %d tests over two fields; %d agreed", r->exp_terms, r->degree_exp, (int)MG_VERIFY_TESTS, ran);
    else snprintf(r->reason, sizeof r->reason, "not certified: degree %.3g, %.3g opaque terms and height %.3g are beyond %d tests; %d agreed", r->degree, r->opaque_terms, r->height, (int)MG_VERIFY_TESTS, ran);
    return MG_OK;
  }
  if (o == MGI_TRIAL_ZERO_DIVISOR) {
    snprintf(r->reason, sizeof r->reason, "%d draws in a row divided by zero: a divisor seems to vanish identically", (int)MG_VERIFY_DRAWS);
    return MG_OK;
  }
  if (!c->skip_floats) {
    mg_status s = mgi_verify_floats(B, maximum, r, e);
    if (s != MG_OK) return mgi_verify_fault(B, c, r, e);
  }
  /* What the mismatch itself proves.  With exp opaque only, it needs the output to be free of exponentials. */
  uint32_t inside = X->flags[output] | Y->flags[output], doubt = MGI_HAS_OPAQUE | MGI_HAS_MAX | (r->two_field ? 0u : (uint32_t)MGI_HAS_EXP);
  if (r->confirmed) {
    r->verdict = MG_NOT_EQUAL;
    mgi_verify_counterexample(B->g[0], B->g[1], r);
  } else if (o == MGI_TRIAL_DIFFER && !(inside & doubt)) {
    r->verdict = MG_NOT_EQUAL;
    snprintf(r->reason, sizeof r->reason, "output %d differs modulo p = %llu: not the same rational function, though float64 shows no difference", output, (unsigned long long)r->p[r->tests - 1]);
  } else if (o == MGI_TRIAL_TWICE) snprintf(r->reason, sizeof r->reason, "as opaque functions they differ, and the two-field test met an exponential of an exponential; float64 shows no difference");
  else snprintf(r->reason, sizeof r->reason, "output %d differs with %s, which does not show that the real functions differ%s", output, inside & MGI_HAS_MAX ? "maxima in a random order" : "opaque functions", c->skip_floats ? "; float64 was not tried" : "; float64 shows no difference");
  return MG_OK;
}

mg_status mg_verify(const mg_graph *a, const mg_graph *b, const mg_verify_config *cfg, mg_verify_report *r, mg_error *e) {
  mg_verify_config c = cfg ? *cfg : mg_verify_config_default();
  mg_verify_report local;
  mg_error unread;
  mgi_bounds X, Y;
  mgi_bench B;
  if (!r) r = &local;
  if (!e) e = &unread;
  mg_status s = mgi_verify_signature(a, b, e);
  memset(r, 0, sizeof *r);
  if (s == MG_OK) s = mgi_bounds_of(a, 0, &X, e);
  if (s == MG_OK) s = mgi_bounds_of(b, 0, &Y, e);
  if (s != MG_OK) return s;
  if (c.log2_delta > 0) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "log2_delta is %g; expected a negative number", c.log2_delta);
  if (c.log2_delta == 0) c.log2_delta = -64;
  int full = c.tier != MG_TIER_FAST;
  memset(&B, 0, sizeof B);
  B.g[0] = a, B.g[1] = b, B.seed = c.seed;
  B.memory = c.memory_limit ? (double)c.memory_limit : 4.0 * ((size_t)1 << 30);
  B.threads = c.threads > 0 ? c.threads : full ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
  if (B.threads < 1) B.threads = 1;
  B.watch.deadline = c.time_limit_s > 0 ? mgi_verify_now() + c.time_limit_s : 0;
  B.watch.stop = c.stop, B.watch.progress = c.progress, B.watch.user = c.user;
  r->seed = c.seed, r->tier = full ? MG_TIER_FULL : MG_TIER_FAST, r->want_log2_delta = c.log2_delta;
  s = mgi_verify_run(&B, &c, &X, &Y, r, e);
  for (int k = 0; k < 3; k++) mgi_cut_free(&B.cut[k]);
  return s;
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
    MGI_PUT("degree %.17g\nopaque_terms %.17g\ndegree_arg %.17g\nheight %.3f\nheight_arg %.3f\nlog2_eps %.2f\ndraws %d\n", r->degree, r->opaque_terms, r->degree_arg, ceil(r->height * 1000) / 1000, ceil(r->height_arg * 1000) / 1000, ceil(r->log2_eps * 100) / 100, (int)MG_VERIFY_DRAWS);
    if (r->two_field) MGI_PUT("exp_terms 2^%.3f\ndegree_exp %.17g\nheight_exp %.3f\nexp_events %.17g\nq_bits %d\ncandidates %d\n", ceil(r->exp_terms * 1000) / 1000, r->degree_exp, ceil(r->height_exp * 1000) / 1000, r->exp_events, r->q_bits, (int)MG_VERIFY_CANDIDATES);
    if (r->verdict == MG_EQUAL_SAMPLED) MGI_PUT("patterns %d\n", r->patterns);
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

mg_status mg_certificate_check(const char *text, size_t len, mg_verify_report *r, mg_error *e) { return mg_certificate_recheck(text, len, NULL, r, e); }

mg_status mg_certificate_recheck(const char *text, size_t len, const mg_verify_config *how, mg_verify_report *r, mg_error *e) {
  static const char where[] = "certificate";
  static const char *const skipped[] = {"verdict", "delta", "theorem", "statement"};
  const char *at = text, *end = text + len, *s;
  size_t n = 0, head = strlen(MGI_CERT_HEAD);
  char tail[32], num[40];
  uint64_t size;
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report local;
  mg_graph *g[2] = {NULL, NULL};
  if (how) c.threads = how->threads, c.time_limit_s = how->time_limit_s, c.memory_limit = how->memory_limit, c.stop = how->stop, c.progress = how->progress, c.user = how->user;
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
  if (status == MG_UNSUPPORTED || status == MG_LIMIT) { /* there is no certificate of such programs */
    status = MG_BAD_INPUT;
    if (e) e->status = status;
  }
  if (status == MG_OK && r->unfinished) status = mg_fail(e, MG_UNSUPPORTED, where, "not rechecked: %.200s", r->reason);
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
