/* mirage_verify.h - v0.1.0 - equivalence of µGraphs by random tests over finite fields, with a certificate

   WHAT
     Answers whether two programs or µGraphs compute the same function.  Both are evaluated on random residues modulo
     large random primes.  A verdict EQUAL states a bound on its chance of error where a theorem gives one, and a
     certificate, a text, lets anyone recheck it.  The same arithmetic at a size that fits a 16-bit word serves the
     emulation of emitted kernels (mirage_cuda.cuh).  Needs mirage.h, libm and POSIX threads.

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage_verify.h".  Elsewhere just #include.
     MIRAGE_VERIFY_IMPLEMENTATION means this header alone.  Link -lm -lpthread, and -ldl before glibc 2.34.  mg_prove
     loads libz3 (package libz3-dev) when it is called; nothing else needs it.

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
       printf("%s: %s\n", mg_verdict_name(r.verdict), r.reason);
       mg_graph_free(A), mg_graph_free(B);
       return 0;
     }

   CONTENTS (search for the tag)
     >>field  >>arithmetic  >>rows  >>words  >>verdict  >>certificate  >>axioms  >>solver  >>numerics   declarations
     >>primes  >>seeds  >>domains  >>bounds  >>columns  >>draws  >>kept  >>tests  >>floats  >>wide  >>verify
               >>text-of-certificates
     >>pieces                                                                               implementation
     >>yardstick  >>families  >>judge                                                        of the numerics
     >>terms  >>indices  >>elements  >>facts  >>library  >>proofs  >>defined  >>methods              of the solver

   CONFIGURATION
     None of its own.  Rows of MG_USER_OPS take part: the `field` column is written in these macros over values a, b, c:
     FF_ADD FF_SUB FF_MUL FF_DIV FF_MAX (two values), FF_EXP (one), FF_ZERO, FF_ONE, FF_OPAQUE(ID, a), FF_OPAQUE_TWO(ID,
     a, b) and FF_OPAQUE_NONZERO(ID, a): a function of a (and b), and of the row's constant, of which nothing else is
     known.  mg_verify and mg_prove hold it against the real column first (>>columns): a row of which these differ is an
     error.  MG_USER_PROOF_AXIOMS(A) adds rows to what the solver may use, see >>axioms:
     A(tanh_odd, FACT, "tanh(neg(x)) = neg(tanh(x))").

   CONCEPTS
     residue pair   x_p in Z_p and x_q in Z_q with q | p-1; exp(x) = omega^x_q mod p, which leaves no x_q (Mirage paper,
                    section 5).  So a value passes through at most one exponential; a second one is undecided.
     opaque         a function without field meaning (sqrt, silu, gelu, log; in the first tests exp and max too): a
                    pseudo-random function keyed by operator, constant and seed, of x_p alone.  Equal as opaque is equal
                    for the real function.  The converse fails: sqrt(s/4096) is not sqrt(s)/64 here.  So such a mismatch
                    is NOT_EQUAL only if float64, with a running bound on its error, shows one too; else UNDECIDED.
     maximum        first opaque: any function of two, whatever their order.  That is enough where both programs take
                    the same maxima, and where a maximum cancels, as in a stable softmax.  Else a proof (below).  The
                    maximum in a random total order of x_p, in which 0 and the programs' constants stand in their true
                    order, refutes and never accepts: what agrees without a proof is EQUAL_SAMPLED, which is no result.
     undefined      depends on a division by zero.  Nothing invents an inverse of zero.  Over the reals keep and drop,
                    of which a `where` is made, do not depend on what they do not choose (DOMAINS).
     order          residues are exact, and float64 values here carry their error, so (A B) v is evaluated as A (B v)
                    where that is less work.
     function       what is compared.  Memory orders of inputs (`@ [0, 2, 1]`) are layouts, not functions: they may
                    differ.  Number, shapes and types of inputs and outputs, matched by position, may not; names may.

   WHAT IS PROVED
     Theorem A (Schwartz and Zippel, with opaque functions).  Let e be one element of an output.  Read each program as a
     rational function over Q of the input elements and of one more variable for every class of opaque terms; two terms
     are of one class if they apply the same function to arguments that are equal as such rational functions.  (The
     depth of nesting makes that well defined.)  If the two readings of e are equal, then so are the two real programs
     wherever both are defined, whatever the functions are.  If they are not, one test agrees on e with probability at
     most

         eps = draws * ( (deg + pairs * deg_arg) / (p_min - 1)  +  (bad + pairs * bad_arg) / primes )

     and k tests, drawn independently, all agree with probability at most eps^k, which is delta.
       deg      degree of the numerator of the difference of e's two readings: N_a D_b - N_b D_a
       pairs    m (m - 1) / 2, where m bounds the opaque terms that e mentions, in both programs together; twice that if
                some are maxima (of an unordered pair: two ways to be the same)
       deg_arg  degree of the numerator of the difference of two arguments
       bad, bad_arg    floor(height / 60), where the magnitudes of the integer coefficients of that numerator, of the
                outputs' or of the arguments' difference, add up to 2^height at most: how many primes above 2^60 may
                divide all
       primes   p is uniform among the primes in [2^60, 2^61), of which there are at least 3 * 2^60 / (5 ln 2^60)
                (Rosser and Schoenfeld 1962, corollary 3)
       draws    a draw on which any output of either program depends on a division by zero is replaced, at most draws -
                1 times
     Proof.  Fix e.  Numerators nonzero over Q vanish mod p for `bad` or `bad_arg` primes at most: the last term, by a
     union over the difference and the pairs.  Else reveal the opaque values in order of depth.  Until two classes of
     one function have equal arguments the values are independent and uniform (sqrt: uniform over p - 1 values), so the
     experiment is that of a uniform point, in which the numerator of each pair vanishes with probability at most
     deg_arg/(p-1), and that of the difference with at most deg/(p-1).  Evaluation divides by nonzero values only, so it
     gives N/D.  The union over draws covers the condition that nothing divides by zero.
     deg, deg_arg, height, m are bounds from one pass over both graphs (>>bounds): sums of fractions with unlike
     denominators add degrees, K terms multiply the denominator K times; a polynomial's do not grow.

     Theorem B (exponentials).  Let no exponential be inside an argument of another.  Read exp as e^a e^b = e^(a+b): an
     element of an output is N/D, both sums of c e^l with c a polynomial over Z in inputs and opaque terms and l a
     rational function of them, of other l unlike.  Equal readings are equal real functions.  Else one test agrees on e
     with probability at most

         eps = draws * ( (deg + pairs * deg_arg) / (p_min - 1)
                         +  events * ( T * (deg_exp / (q_min - 1) + bad_exp / primes_q)  +  candidates * height / 60 / N
                            )
                         +  pairs * candidates * bad_arg / N )
       events   1, or 1 + pairs if opaque arguments hold exponentials (and no last term then)
       T        the most terms c e^l in the numerator of the difference of e's readings, or of two opaque arguments
       deg_exp, bad_exp        as deg and bad, with b - 1 for 60, of the numerator of the difference of two l there
       b, primes_q             q is uniform among the primes of b bits: in [2^(b-1), 2^b); b makes eps least
       candidates, N           p is the first prime of at most that many numbers drawn from the N = floor(2^60 / 2q)
                               numbers 2jq + 1 from 2^60 on; omega is uniform among the q - 1 elements of order q mod p
     Proof.  Let the numerator be the sum of c_j e^(l_j), and c_i not 0.  Mod q and at a random point, l_i meets one of
     the others with probability at most T times the first parenthesis.  Else let z be a complex q-th root of unity, and
     take a monomial of c_i: its coefficient in the sum of the c_j z^(l_j) is a polynomial in z of degree below q, with
     less than q terms (T < q, or the bound says nothing), one of which is z^(l_i).  So it is no multiple of 1 + z + ..
     + z^(q-1), and not 0 in Z[z].  Its norm, a nonzero integer, is at most 2^(height (q-1)).  A prime p = 1 mod q and
     an omega of order q stand for the prime ideal (p, z - omega) of norm p >= 2^60, unlike pairs for unlike ideals, so
     at most (q-1) height/60 pairs send that coefficient to 0.  Of the N (q-1) pairs of a number and an omega each
     candidate is any with equal chance; so for the `bad_arg` primes of each pair of arguments without exponentials.
     Else the sum is a nonzero polynomial mod p, at a random point.  Opaque values are revealed in order of depth, as
     before; both their residues are independent and uniform.  T, deg_exp, bad_exp come from >>bounds.  This does
     without the sparsity that the paper's Theorem 2 pays for (k^4 d < q).  Assumed: the keyed hash and the drawing of
     inputs behave as random functions; whoever chose the number N or wrote the graphs, on all of whose bits all that is
     random depends (>>seeds), did not look for a choice that lets the pair pass (a recheck draws a salt of its own,
     after it has the graphs, to exclude that); the code does what is written here.  Not certified so: pairs for which
     that takes more than MG_VERIFY_TESTS tests, an exponential inside of one where 1 does not do, and pairs that agree
     by the properties of a maximum.  For these there is a proof, or no EQUAL.

   EXTENTS
     Theorem C (classes of an index).  Let a class be a set of dimensions of inputs and outputs through which one index
     runs in both graphs (mg_parallel_of; mirage.h, >>classes has its rules).  Write P_n for the function that a graph
     is at extent n of the class: a partial one, that gives for each output element a real number or `undefined`.  Then
         with one f for every n row i of an output that carries the class is f of rows i of the inputs that do, and of
         the other inputs,
     and an output that does not carry it depends on none that does; however many times the axes that cut the class cut
     it.  So if both graphs are equal (DOMAINS included) at one extent of each class, they are at all, and if not at
     one, at none.  Proof.  One class at a time: the rules are about labels, not about the extents of others.  For a map
     phi of [m] to [n] let phi* pick rows along dimensions that carry the class, and leave all else.  By induction over
     the operators, every tensor that carries the class at coordinates of its axes holds the rows of one interval of [0,
     n), which its list of cuts names, and its row at i is one function of the inputs' rows at i; every other tensor is
     the same at all extents, counts and coordinates of these axes.  It is so of inputs.  A load cuts an interval into
     intervals in order, the same ones for the same list.  An operator treats rows alike where mg_op_runs says so, in
     any set of values, `undefined` too; operands that carry the class have the same list, so that rows meet rows of the
     same index, and one that does not is alike for all of them (rule 1).  A sum or maximum over axes that do not cut
     the class takes row by row, as often at every extent; none is taken over those that do (rule 3).  A concatenation
     over the last cut puts intervals side by side in their order; nothing else undoes one; a store leaves none.  Hence
     P_m(phi* x) = phi* P_n(x).  Take phi: 0 to i: row i is f of rows i.  Now let P = Q at extent t, and x be any inputs
     of extent 1: f_P(x) = P_t(x t times)[0] = Q_t(x t times)[0] = f_Q(x).  [] The claim is about a family of graphs:
     extents of classes, what a reshape passes through of them, and counts of axes that cut them vary; all else is as
     written: what is contracted, constants (1/n of a mean too), counts of axes that cut no class.  It holds wherever
     the builder accepts the graph (grids have limits).  The full tier then tests extent 2 of every class, all elements,
     what is contracted at its own extents; delta is of that test, for all extents at once: the graphs differ at some
     extents if and only if they do there.  Beside it, as a guard of the analysis, runs one test each at unlike extents
     and at one extent for all, every axis cutting three times, unevenly where the builder can.  Where there is no
     class, a guard objects, or the verdict is not EQUAL, all elements are tested at the extents as written, and nothing
     is said about others.  A certificate lists the classes, their dimensions and their axes; a recheck finds them anew.
     It prints both graphs as families with the classes as symbols, and says at which sizes they are those compared: a
     recheck takes these members, and makes the families of them anew.  A class that the text form has no family of (cut
     twice, say), and what has picks, stays as written.

   PIECES
     Theorem D (a program in pieces).  Let both graphs be defined at all real inputs, every operator of both, by facts
     (DOMAINS).  Let twins be pairs of a kernel-level tensor of the one and one of the other graph, of one shape; the
     inputs are twins, and so are the outputs.  The piece of a twin is a pair of functions: what either graph computes
     for it from other twins, as from inputs of their own, taken to be independent; the second graph from the nearest
     before it, the first from these and from inputs.  If both functions are EQUAL for every output, and for every twin
     from which such a piece takes it, then so are the graphs.
     Proof.  Take any real inputs, and let t and s be the values of twins in the first and the second graph, f and g
     the piece of one.  By induction in the second graph's order: s_i is g_i(s), which reads twins of before it there,
     and for these s is t.  So s_i is g_i(t); that is f_i(t), which is defined: it is t_i. []
     The first graph's order may be another: t is given as a whole.  Without `defined everywhere` it is false: with T =
     X/Y, O = row 0 of T is not (row 0 + row 1) - row 1 of T where Y is 0 in row 1, and the pieces are equal.
     Which pairs are tried as twins follows from names, types and shapes; names need not be believed, as the pieces
     are tested.
     Each piece is verified as a pair of graphs is, Theorem C, its guard and DOMAINS included, from a seed of both of
     its graphs and of the whole pair's digest. delta is the largest of the pieces', not their sum: which pieces there
     are hangs on nothing random, so if the graphs differ there is one certain piece that differs, and all has to pass
     for EQUAL.  Theorem C then gives the classes of the whole from equality at the extents as written; of the whole
     there is no guard beside.
     The full tier takes a pair apart where one test of it, at the extents of EXTENTS, is more than 2^24 operations; and
     into two pieces or more where the whole is UNDECIDED or EQUAL_SAMPLED.
     Where a twin is missing, a piece is not EQUAL or much work at its own extents, or facts do not show that all is
     defined, the whole is tested, as without.  A certificate lists the pieces, and of each what a certificate of its
     own would; a recheck cuts anew.

   CONTRACTED SYMBOLS
     Theorem C does not speak of a symbol that is contracted (mg_contracted): a sum of three parts may be what a sum of
     one is not.  Of families with such symbols the full tier compares the members at some values of them: the least,
     the next whole number of chunks, less 1 and plus 1, of the least and the greatest chunk that an axis has, two
     chunks more less 1, and the bound; several such symbols go through theirs at once, and those that have fewer stay
     at their bounds.  A pair of members keeps the other symbols, and is verified as a pair of graphs is, at the value's
     full size, for all extents by Theorem C where that gives it, from a seed of both
     members and of the whole pair's digest.  EQUAL if all are, and it says at which values: of others nothing is said.
     delta is the sum of theirs, each of which aims at its share of what is asked for.  A certificate lists the values,
     and of each what a certificate of its own would; a recheck goes through them anew.  One canonical form of both
     families is EQUAL at all their values, by identity.

   PICKS
     Theorem E (rows by index, and where maxima stand).  Take the gathers and argmaxes out of both graphs (mg_rest_of):
     a gather's result becomes an input of what is left, the rest, and what is gathered from, or looked through for its
     maxima, becomes an output where it is computed.  Pair those of the second graph with such of the first as have the
     same indices and dimension, and an operand of the same place in both rests.  If the rests are EQUAL, then so are
     the graphs, for all indices within bounds.  Where a gather hands on what is computed, or is by an index that is,
     the rests are shown to be defined everywhere besides, every operator of both, by facts.
     Proof.  Take any real inputs and indices.  By induction in the second graph's order its picks have the first's
     results: a pick is one function of its operand and index, these are inputs, results of picks before it, or outputs
     of the second's rest at results of picks before it, which are the first's; so they are the outputs of the first's
     rest there.  The graphs' outputs are outputs of the rests at these results, or the results. []
     A gather's rows are any to a rest: what holds for all rows holds for those that are picked, equal ones among them.
     Indices that are drawn would not do: with n = m the product of all differences of rows of W picked by I is 0 but
     where I is a permutation, which a draw is with a chance of e^-m.  What differs for rows that are no rows of one W,
     or that only has equal argmaxes (of x and of 2x), is not shown equal: NOT_EQUAL where float64 runs with indices
     show it at the own sizes, or with fewer rows of a table that gathers alone read (the others are read by nobody),
     else UNDECIDED.  An argmax in parts is one kernel's matter, which link 2 sees: pairs of a number and its place,
     ordered by the number and, of equal ones, by the place downwards, are a chain, whose maximum is the join of a
     lattice: associative, commutative, idempotent, so that of all parts, joined anyhow, comes the first place of the
     largest number.  Delta, classes, pieces and DOMAINS are of the rests, and so are a certificate's lines.

   WHAT NORMAL FORMS PROVE
     Each output element at a symbolic index is a real term over the inputs' elements, with sums and maxima over ranges
     of indices.  Rewriting by the FORM rows (>>axioms), each with its condition, brings it to a normal form in a fixed
     order:  there is no search, so the certificate's derivation is replayed by doing it again.  One normal form of both
     is EQUAL, for all real inputs on which both are defined; DOMAINS says the rest.  Membership in the search's e-graph
     proves nothing: its expressions forget indices, so a matrix and its transpose are one class there.

   DOMAINS
     The theorems compare where both programs are defined.  EQUAL (EQUAL_SAMPLED too) says more of A, the program, and
     B: for each output element, on all reals on which it is defined in A, it is defined in B, and the same.  That is
     not symmetric (ZX/Y is EQUAL to A = X/(Y/Z), which is not EQUAL to A = ZX/Y, where Z may be 0), and it composes.
     Undefined is what depends on a division by zero, a root of less than 0 or a logarithm of 0 or less; nothing
     overflows, and 0 times what is undefined is undefined.  Delta does not cover this half, so it is shown apart, and
     `domain` of the report says how:
       facts      signs of whole tensors, which hold wherever these are defined: exp is positive, squares, roots and
                  relu are not negative, sums, products, quotients and maxima as follows.  Every divisor of B nonzero,
                  every operand of a root not negative, of a logarithm positive.
       elements   what facts leave, at a symbolic index (>>elements): the divisors, and the operands of roots and
                  logarithms, on which an output element depends, collected before anything cancels, in normal form,
                  over all the indices of sums between, and each in what keep or drop chooses only as far as it is
                  chosen.  Each of B is one of A's for the same element, up to a nonzero
                  constant (a positive one under a root or logarithm), or a product of factors that are A's or nonzero
                  by facts.  That is by the laws of the reals, without a random choice.
     An E row of MG_USER_OPS whose `real` text divides, or has MG_SQRT, MG_LOG or MG_POW, is taken to have a domain of
     which nothing is known: B may apply it where A applies it with the same constant to the same operands.  What
     neither shows makes the verdict UNDECIDED, with the operator's name, and `partial` is set.  It may be right:
     divisors that only an identity of maxima, logarithms or a sum of squares shows, a chunk cut unevenly that is cut
     unevenly again, operands of concatenations (but for facts).  Before the full tier says EQUAL both also run in
     float64, at reduced sizes where their own take long (dimensions of at most 8, or what is fixed; a maximum stays
     one): all zeros, mixed signs, small, large, whole numbers from -1 to 1, each input 0, each sign pattern of whole
     inputs up to 5 inputs, else a draw of them, each input, a row, a column and an element of it once above and once
     below all others; at most 64 runs.  Values are balls with an exponent of their own: what these do not separate
     refutes nothing.  Where A is defined and B proved not to be, or both are apart, the verdict is NOT_EQUAL; where no
     run defines an output element, in programs that facts do not show to be defined everywhere, it is UNDECIDED: two
     programs that are nowhere defined are not told equal.  Runs never accept.

   WHAT THE SOLVER PROVES
     mg_prove compares two graphs as functions of real numbers.  EQUAL: for all real inputs on which an output element
     is defined in the first (DOMAINS) it is defined in the second, and equal, at the sizes that the graphs have, and
     nothing is said about others.  Each element is brought to a normal form by the laws of real arithmetic
     and the FORM rows (>>axioms); at a symbolic index one element stands for all, at any size.  What the normal forms
     leave open is one question a difference to Z3, with the instances of the FACT rows and the theory of real
     arithmetic.  There is no delta.  Assumed: the rows (tested against doubles), this code, and Z3.  Not assumed: that
     floats agree.  A float64 run comes first: it may show NOT_EQUAL, as in mg_verify, and must find inputs on which
     both are defined, since where none is all would be equal; those of DOMAINS come after, by element.  UNDECIDED: by
     the rows it does not follow, or a limit was passed.

   ERRORS, MEMORY, THREADS
     As mirage.h.  mg_verify allocates by malloc.  It compares the outputs part by part (>>draws), so that a thread
     takes some 128 MiB for tensors of any size that can be cut so, and runs fewer threads, or answers UNDECIDED, where
     `memory_limit` asks for it.  It starts up to `threads` threads of its own; the result does not depend on how many.

   DOES NOT
     Bound floating-point error, decide all identities of real functions, say anything of other extents of what is
     contracted, or look at emitted code.
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
__extension__ typedef __int128 mgi_i128;

/* What arithmetic modulo m < 2^62 needs: Barrett's constants. */
typedef struct mg_modulus {
  uint64_t m;
  uint64_t mu;   /* floor(2^2n / m) */
  uint64_t v;    /* floor((2^64 - 1) / m) */
  uint64_t w;    /* floor((2^128 - 1) / (m 2^(64-n))) - 2^64 */
  int n;         /* bits of m */
} mg_modulus;

enum { MG_FIELD_LEVELS = 24 };

/* A pair of fields.  q divides p-1 and omega has order q; q == 0: the second residue is not used (exp_opaque only). */
typedef struct mg_field {
  uint64_t p, q, omega, seed;
  int exp_opaque;               /* 1: exp is an opaque function */
  int max_opaque;               /* 1: a maximum of two is an opaque function of the unordered pair */
  mg_modulus mp, mq;
  uint64_t order;               /* key of the total order of max */
  uint64_t level[MG_FIELD_LEVELS]; /* residues of constants that stand in their true order there, least first */
  int levels;                   /* how many; 0: none does */
  uint64_t level_bits, place;   /* bit r % 64 is set if some level is r; where the levels stand among the others */
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
/* 0, 1 and the graphs' constants stand in their true order for max, together: where `above`, in (0, 1), of all other
   residues are above them; or, if it is 0, above all others with probability 1/4, below all with 1/4, else below a
   share of them whose logarithm is uniform, so that a maximum of n values meets 0 at any n.  Without it they stand
   anywhere. */
void mg_field_levels(mg_field *F, const mg_graph *const *g, int n, double above);
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
/* out[k] = mgi_ff_draw(M, key, x + k, 0, 0): what the hash makes of the key alone is made once. */
MGI_FN void mgi_ff_draw_row(const mg_modulus *M, uint64_t key, uint64_t x, int64_t n, uint64_t *out) {
  const uint64_t mask = ((uint64_t)1 << M->n) - 1, k = mgi_ff_mix(key + 1), twice = k << 1;
  for (int64_t i = 0; i < n; i++, x++) {
    const uint64_t h = mgi_ff_mix((x ^ key) + MGI_FF_GOLD), v = (mgi_ff_mix(h ^ k) + (h ^ twice)) & mask;
    out[i] = v < M->m ? v : mgi_ff_draw(M, key + MGI_FF_GOLD, x, 0, 0);
  }
}

/* r, or r - m where that is not negative; without a branch, which would be guessed wrongly. */
MGI_FN uint64_t mgi_less(uint64_t r, uint64_t m) {
  const uint64_t less = r - m;
  return less < r ? less : r;
}
MGI_FN uint64_t mgi_addmod(const mg_modulus *M, uint64_t a, uint64_t b) { return mgi_less(a + b, M->m); }
MGI_FN uint64_t mgi_submod(const mg_modulus *M, uint64_t a, uint64_t b) { return a >= b ? a - b : a + (M->m - b); }
/* a, b < m.  Barrett: the estimate of the quotient is at most 2 too small. */
MGI_FN uint64_t mgi_mulmod(const mg_modulus *M, uint64_t a, uint64_t b) {
  mgi_u128 x = (mgi_u128)a * b;
  uint64_t est = (uint64_t)(((mgi_u128)(uint64_t)(x >> (M->n - 1)) * M->mu) >> (M->n + 1));
  return mgi_less(mgi_less((uint64_t)x - est * M->m, M->m), M->m);
}
MGI_FN uint64_t mgi_mod64(const mg_modulus *M, uint64_t x) {
  return mgi_less(mgi_less(x - (uint64_t)(((mgi_u128)x * M->v) >> 64) * M->m, M->m), M->m);
}
/* (high 2^64 + low) mod d, d = m 2^(64-n), high < d (Moeller and Granlund, Improved division by invariant
   integers, 2011). */
MGI_FN uint64_t mgi_mod_limb(const mg_modulus *M, uint64_t d, uint64_t high, uint64_t low) {
  const mgi_u128 q = (mgi_u128)M->w * high + ((mgi_u128)high << 64 | low);
  uint64_t r = low - ((uint64_t)(q >> 64) + 1) * d;
  r += d & (0 - (uint64_t)(r > (uint64_t)q));
  return mgi_less(r, d);
}
/* Any 128-bit x: of 2^(64-n) x, limb by limb. */
MGI_FN uint64_t mgi_mod128(const mg_modulus *M, mgi_u128 x) {
  const int s = 64 - M->n;
  const uint64_t d = M->m << s, high = (uint64_t)(x >> 64), low = (uint64_t)x;
  return mgi_mod_limb(M, d, mgi_mod_limb(M, d, high >> M->n, high << s | low >> M->n), low << s) >> s;
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
/* inverse[k] = 1 / y[k stride], of n words, by one inverse and products (Montgomery); 0 of what has none. */
MGI_FN void mgi_word_inverses(const mg_modulus *M, const uint64_t *y, int64_t stride, int64_t n, uint64_t *inverse) {
  uint64_t product = 1;
  for (int64_t k = 0; k < n; k++) {
    const uint64_t x = y[k * stride];
    inverse[k] = product;
    if (x && !(x >> 62)) product = mgi_mulmod(M, product, x);
  }
  product = mgi_invmod(M, product);
  for (int64_t k = n; k-- > 0;) {
    const uint64_t x = y[k * stride];
    const int has = x && !(x >> 62);
    inverse[k] = has ? mgi_mulmod(M, product, inverse[k]) : 0;
    if (has) product = mgi_mulmod(M, product, x);
  }
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
  uint32_t s = flags & MG_FV_UNDEF  ? (uint32_t)MG_FV_UNDEF
               : flags & MG_FV_EXP2 ? (uint32_t)(MG_FV_EXP2 | MG_FV_NOQ)
                                    : (uint32_t)MG_FV_NEGINF;
  return mgi_fv(0, 0, s | (flags & MGI_FV_TRACE));
}
MGI_FN int mgi_fv_has_q(const mg_field *F, uint32_t flags) { return F->q && !(flags & MG_FV_NOQ); }

MGI_FN mg_fv mg_ff_zero(const mg_field *F) {
  (void)F;
  return mgi_fv(0, 0, 0);
}
MGI_FN mg_fv mg_ff_one(const mg_field *F) { return mgi_fv(1, F->q != 0, 0); }
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
  if ((f & MG_FV_NEGINF) || (!(b.flags & MGI_FV_SPECIAL) && (!b.p || (mgi_fv_has_q(F, b.flags) && !b.q))))
    f |= MG_FV_UNDEF;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f);
  uint64_t ip = F->p < 512 ? F->inverse[b.p] : mgi_invmod(&F->mp, b.p);
  return mgi_fv(mgi_mulmod(&F->mp, a.p, ip), mgi_fv_has_q(F, f) ? mgi_mulmod(&F->mq, a.q, mgi_invmod(&F->mq, b.q)) : 0,
                f);
}
/* A random function of a.p and c.p, with b of b.p too, keyed by row `op`; the exponential count starts anew. */
MGI_FN mg_fv mgi_ff_opaque_key(const mg_field *F, uint64_t k, uint32_t flags, int nonzero, mg_fv a, mg_fv c) {
  uint32_t f = flags & (MGI_FV_SPECIAL | MGI_FV_TRACE);
  if (f & MG_FV_NEGINF) f |= MG_FV_UNDEF;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f | MG_FV_OPAQUE);
  return mgi_fv(mgi_ff_draw(&F->mp, k, a.p, c.p, (uint64_t)nonzero),
                F->q ? mgi_ff_draw(&F->mq, ~k, a.p, c.p, (uint64_t)nonzero) : 0, f | MG_FV_OPAQUE);
}
MGI_FN mg_fv mg_ff_opaque_c(const mg_field *F, int op, int nonzero, mg_fv a, mg_fv c) {
  return mgi_ff_opaque_key(F, F->key[op], a.flags, nonzero, a, c);
}
static MGI_UNUSED mg_fv mg_ff_opaque_2(const mg_field *F, int op, int nonzero, mg_fv a, mg_fv b, mg_fv c) {
  return mgi_ff_opaque_key(F, mgi_ff_hash(F->key[op], b.p, 15), a.flags | b.flags, nonzero, a, c);
}
/* op: the row (MG_OP_SILU, ..) whose name keys it; nonzero: never 0. */
MGI_FN mg_fv mg_ff_opaque(const mg_field *F, int op, int nonzero, mg_fv a) {
  return mg_ff_opaque_c(F, op, nonzero, a, mgi_fv(0, 0, 0));
}
MGI_FN mg_fv mg_ff_exp(const mg_field *F, mg_fv a) {
  if (a.flags & MG_FV_NEGINF) return mgi_fv(0, 0, F->exp_opaque ? 0 : (uint32_t)MG_FV_NOQ);
  if (F->exp_opaque) return mg_ff_opaque(F, MG_OP_EXP, 0, a);
  uint32_t f = a.flags;
  if ((f & MG_FV_NOQ) && !(f & MG_FV_UNDEF)) f |= MG_FV_EXP2;
  if (f & MGI_FV_SPECIAL) return mgi_fv_special(f);
  return mgi_fv(mgi_ff_power(F, a.q), 0, f | MG_FV_NOQ);
}
/* 1 + the place of residue x among the constants that stand in their true order; 0 if it is none. */
MGI_FN int mgi_ff_level(const mg_field *F, uint64_t x) {
  if (!(F->level_bits >> (x & 63) & 1)) return 0;
  for (int k = 0; k < F->levels; k++)
    if (F->level[k] == x) return 1 + k;
  return 0;
}
/* In the order of mix(p + key), the levels together at `place`; ties by q, an absent q last. */
MGI_FN mg_fv mg_ff_max(const mg_field *F, mg_fv a, mg_fv b) {
  uint32_t f = (a.flags | b.flags) & MGI_FV_TRACE;
  if ((a.flags | b.flags) & (MG_FV_UNDEF | MG_FV_EXP2)) return mgi_fv_special((a.flags | b.flags) | MG_FV_MAX);
  mg_fv r = a;
  if (a.flags & MG_FV_NEGINF) r = b;
  else if (!(b.flags & MG_FV_NEGINF)) {
    int i = mgi_ff_level(F, a.p), j = mgi_ff_level(F, b.p);
    uint64_t x = i ? F->place : mgi_ff_mix(a.p + F->order), y = j ? F->place : mgi_ff_mix(b.p + F->order);
    int second = x < y || (x == y && i < j) ||
                 (x == y && i == j && ((b.flags & MG_FV_NOQ) || (!(a.flags & MG_FV_NOQ) && a.q < b.q)));
    if (second) r = b;
    if (F->pattern) F->pattern[0] += mgi_ff_mix(2 * F->pattern[1]++ + (uint64_t)second);
    if (F->max_opaque) {
      uint64_t lo = a.p < b.p ? a.p : b.p, hi = a.p < b.p ? b.p : a.p;
      return mgi_fv(mgi_ff_draw(&F->mp, F->order, lo, hi, 0), F->q ? mgi_ff_draw(&F->mq, ~F->order, lo, hi, 0) : 0,
                    f | MG_FV_MAX);
    }
  }
  r.flags |= f | MG_FV_MAX;
  return r;
}
/* The residues of an exact constant; undefined if a field's prime divides the denominator. */
MGI_FN mg_fv mg_ff_const(const mg_field *F, mg_rational c) {
  uint64_t num = (uint64_t)(c.num < 0 ? -c.num : c.num), den = (uint64_t)c.den;
  mg_fv a = mgi_fv(mgi_mod64(&F->mp, num), F->q ? mgi_mod64(&F->mq, num) : 0, 0),
        b = mgi_fv(mgi_mod64(&F->mp, den), F->q ? mgi_mod64(&F->mq, den) : 0, 0);
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
#define FF_ONE MGI_FFN(one)(F)
#define FF_OPAQUE(id, a) MGI_FFN(opaque_c)(F, MG_OP_##id, 0, a, c)
#define FF_OPAQUE_NONZERO(id, a) MGI_FFN(opaque_c)(F, MG_OP_##id, 1, a, c)
#define FF_OPAQUE_TWO(id, a, b) MGI_FFN(opaque_2)(F, MG_OP_##id, 0, a, b, c)

/* Any E row; undefined for the others.  Pass zeros for operands that the row does not have. */
MGI_FN mg_fv mg_ff_apply(const mg_field *F, mg_opcode op, mg_fv a, mg_fv b, mg_fv c) {
  (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) case MG_OP_##id: return field;
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
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

/* FAST: one test, whose bound is what it is; for candidates in a search.  FULL: as many as the bound asked for
   needs. */
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
  uint64_t seed;       /* N: with both graphs it gives the seed of everything random (>>seeds) */
  uint64_t salt[4];    /* not all zero: takes part in that seed; mg_verify_salt draws one */
  int tier;            /* MG_TIER_FULL by default */
  double log2_delta;   /* what the full tier aims at; 0: -64 */
  int threads;         /* 0: as many as the machine has for FULL, 1 for FAST */
  double time_limit_s; /* 0: none; past it the verdict is UNDECIDED */
  int full_size;       /* 1: all elements at the graphs' own extents, whatever the classes (EXTENTS above) */
  int skip_floats;     /* 1: no float64 run after a mismatch, so UNDECIDED where that would say NOT_EQUAL */
  size_t memory_limit; /* bytes that tensors may take at one time, about; 0: 4 GiB.  UNDECIDED if that does not do */
  /* NULL, or what is not 0 once the verdict shall be UNDECIDED (a signal handler may set it) */
  const volatile int *stop;
  /* NULL, or called ten times a second at most, by any thread, one at a time */
  void (*progress)(void *user, const mg_verify_progress *now);
  void *user;
} mg_verify_config;
mg_verify_config mg_verify_config_default(void);
/* 256 random bits of the operating system's. */
mg_status mg_verify_salt(uint64_t salt[4], mg_error *e);

/* What shows EQUAL where no delta does. */
typedef enum mg_proof_kind { MG_PROOF_NONE, MG_PROOF_IDENTITY /* one canonical form */, MG_PROOF_NORMAL /* one normal form of real terms */ } mg_proof_kind;

typedef struct mg_verify_report {
  mg_verdict verdict;        /* EQUAL: with a delta, or by proof; nothing else is a result */
  int tests;                 /* that both graphs agreed on, the last one excepted if NOT_EQUAL */
  double log2_delta;         /* log2 of the bound on the chance that EQUAL is wrong; 0: none, see `proof` */
  char reason[256];          /* one line in words */
  char theorem[160];         /* what log2_delta rests on */
  int two_field;             /* 1: rests on exp(a+b) = exp(a) exp(b); 0: exp was opaque */
  uint64_t seed;
  int tier, full_size;
  double want_log2_delta;
  uint64_t p[MG_VERIFY_TESTS], q[MG_VERIFY_TESTS]; /* primes of the tests */
  uint64_t compared;         /* output elements compared, over all tests */
  uint64_t undefined;        /* elements that were undefined, over all draws that were replaced */
  int redraws;
  int unfinished;            /* UNDECIDED because time, memory or `stop` ended the tests */
  int partial;               /* 1: the tests agreed, but b is not shown to be defined wherever a is */
  char domain[256];          /* EQUAL: how b is shown to be (DOMAINS above); delta does not cover it */
  /* the quantities of Theorem A */
  double degree, opaque_terms, degree_arg, height, height_arg, log2_eps;
  /* those that Theorem B adds */
  double exp_terms, degree_exp, height_exp, exp_events; /* exp_terms is a log2 */
  int q_bits;
  int patterns;              /* EQUAL_SAMPLED: how many of the tests had winners of maxima unlike all others' */
  int agreed;                /* 1: all tests agreed, whatever may be said of them: no bound (UNDECIDED), or
                                EQUAL_SAMPLED */
  mg_proof_kind proof;       /* EQUAL: what shows it, where that is no delta */
  uint64_t digest[4];        /* the seed of everything random: of both graphs, N and the salt */
  char unproved[160];        /* what a proof lacked, where one was tried */
  int classes;               /* EQUAL: for all extents of so many classes (EXTENTS above); 0: at the extents as
                                written */
  int guarded;               /* runs of the guard beside; -1: one objected, which is a fault of the analysis: all
                                elements decide */
  int picks;                 /* so many gathers and argmaxes were taken out (PICKS above): what is said is of the
                                rests */
  int pieces;                /* EQUAL: by so many pieces, each compared by itself (PIECES above); 0: whole */
  int values;                /* EQUAL: at so many values of contracted symbols, and at no others; 0: there is no such
                                symbol, or both are one graph */
  char at[256];              /* "p = 1, 63, 64": these values */
  char every[128];           /* "M >= 1, N >= 1" */
  char members[512];         /* "M (64): input X dimension 0, output O dimension 0; N .." */
  uint64_t salt[4];          /* of a recheck: the seed of the tests that it added */
  int fresh_tests;           /* how many these were */
  /* the counterexample that float64 found: inputs by mg_verify_input_real(graph, seed, ..) */
  int confirmed;
  uint64_t cx_seed;
  int cx_output;
  int64_t cx_element;        /* row-major index */
  double cx_a, cx_b;
} mg_verify_report;

/* MG_OK if mg_verify can compare the two: as many inputs and outputs, of the same types and shapes; else MG_BAD_INPUT
   and which differ. */
mg_status mg_verify_signature(const mg_graph *a, const mg_graph *b, mg_error *e);
/* MG_OK if of each row of MG_USER_OPS in g the field column and the real column agree where they were held against each
   other, at random and at special points; else MG_BAD_INPUT, with the row's name in `where`, and what differs.  Correct
   rows pass. */
mg_status mg_verify_rows(const mg_graph *g, mg_error *e);
/* Compares a (the program) with b.  Inputs and outputs are matched by position; unlike signatures are MG_BAD_INPUT.
   EQUAL is for all extents of the classes that r->every names, if there are any (EXTENTS); of families (mg_symbol) it
   is for all sizes of their symbols, or it is not said, but for contracted ones: it is at the values of r->at then.
   MG_OK whenever there is a verdict.  cfg may be NULL. */
mg_status mg_verify(const mg_graph *a, const mg_graph *b, const mg_verify_config *cfg, mg_verify_report *r,
                    mg_error *e);
/* The random real values of input k, dense row-major: what cx_seed stands for.  Its two low bits choose the range; if
   the next five name an input, that one's values lie 64 above the range, or below it if bit 7 is set, so that they win
   or lose every maximum; if they are 30, each input keeps to a level of its own, within 1/256 of the range; if 29, half
   its elements are 0. */
void mg_verify_input_real(const mg_graph *g, uint64_t seed, int k, double *dst);
/* The same of an input of i32: random indices within both graphs' bounds (mg_index_bound), or, for half of the seeds,
   one after the other.  b may be NULL. */
void mg_verify_input_index(const mg_graph *a, const mg_graph *b, uint64_t seed, int k, int32_t *dst);

/* --------------------------------------------------------------------------------------------- >>certificate */

/* The text of a certificate for EQUAL: both graphs, in the symbols of the classes for all of whose extents it is; what
   was shown of their domains, the seed, and either primes, tests, the quantities of the bound, delta and the theorem,
   or the derivation of a proof.  MG_NOT_FOUND for the other verdicts.  Free it with mg_string_free. */
mg_status mg_certificate(const mg_graph *a, const mg_graph *b, const mg_verify_report *r, char **text, mg_error *e);
/* Rechecks from the text alone: runs the tests, or the derivation, again and compares every line; then as many tests
   with a seed of the operating system's (r->salt), which whoever made the certificate cannot have tried.  MG_BAD_INPUT
   if the text is damaged or says what the tests do not give. */
mg_status mg_certificate_check(const char *text, size_t len, mg_verify_report *r, mg_error *e);
/* The same with the threads, limits, stop and progress of `how` (may be NULL); its other members do not count.
   MG_UNSUPPORTED if they ended the tests. */
mg_status mg_certificate_recheck(const char *text, size_t len, const mg_verify_config *how, mg_verify_report *r,
                                 mg_error *e);
/* The two graphs that a certificate speaks of, not rechecked, at the sizes that were given: mg_graph_equal holds them
   against one's own.  The caller's. */
mg_status mg_certificate_graphs(const char *text, size_t len, mg_graph **a, mg_graph **b, mg_error *e);

/* ------------------------------------------------------------------------------------------------- >>axioms
   What the solver may use of functions over the reals, beside the theory of real arithmetic itself.  A(name, use,
   text).  The text is `condition & condition => term < term | term = term`: terms by rows of the operator table, max of
   two, numbers, and one-letter variables over all reals; relations = < <= > >=.  Where the conditions hold the terms
   must be finite and the statement true: a test draws values for each row, those of MG_USER_PROOF_AXIOMS too.
     FORM   used by the normal form (>>terms), by name
     FACT   given to the solver for every application in its question of the functions whose operands are variables in
            the text; for each choice of them if there are several */
enum { MG_PROOF_FORM, MG_PROOF_FACT };
#define MG_BUILTIN_PROOF_AXIOMS(A)                                                                    \
  A(exp_add,      FORM, "exp(add(x,y)) = mul(exp(x),exp(y))")                                         \
  A(exp_neg,      FORM, "exp(neg(x)) = div(1,exp(x))")                                                \
  A(exp_zero,     FORM, "exp(0) = 1")                                                                 \
  A(exp_log,      FORM, "x > 0 => exp(log(x)) = x")                                                   \
  A(log_exp,      FORM, "log(exp(x)) = x")                                                            \
  A(log_exp_mul,  FORM, "y > 0 => log(mul(exp(x),y)) = add(x,log(y))")                                \
  A(log_one,      FORM, "log(1) = 0")                                                                 \
  A(sqrt_scale,   FORM, "x >= 0 & y >= 0 => sqrt(mul(sqr(y),x)) = mul(y,sqrt(x))")                    \
  A(sqrt_square,  FORM, "x >= 0 => sqr(sqrt(x)) = x")                                                 \
  A(sqrt_abs,     FORM, "sqrt(sqr(x)) = max(x,neg(x))")                                               \
  A(relu_max,     FORM, "relu(x) = max(x,0)")                                                         \
  A(abs_max,      FORM, "abs(x) = max(x,neg(x))")                                                     \
  A(maximum_max,  FORM, "maximum(x,y) = max(x,y)")                                                    \
  A(minimum_max,  FORM, "minimum(x,y) = neg(max(neg(x),neg(y)))")                                     \
  A(keep_factor,  FORM, "keep(x,y) = mul(keep(x,1),y)")                                               \
  A(drop_keep,    FORM, "drop(x,y) = sub(y,keep(x,y))")                                               \
  A(rsqrt_sqrt,   FORM, "x > 0 => rsqrt(x) = div(1,sqrt(x))")                                         \
  A(max_shift,    FORM, "max(add(x,z),add(y,z)) = add(max(x,y),z)")                                   \
  A(max_scale,    FORM, "z > 0 => max(mul(z,x),mul(z,y)) = mul(z,max(x,y))")                          \
  A(max_factor,   FORM, "z >= 0 => max(mul(z,x),mul(z,y)) = mul(z,max(x,y))")                         \
  A(max_least,    FORM, "x <= y => max(x,y) = y")                                                     \
  A(max_order,    FORM, "max(x,y) = max(y,x)")                                                        \
  A(max_meet,     FORM, "max(x,neg(max(y,z))) = neg(max(neg(max(x,neg(y))),neg(max(x,neg(z)))))")     \
  A(max_absorb,   FORM, "max(x,neg(max(neg(x),y))) = x")                                              \
  A(max_exp,      FORM, "max(exp(x),exp(y)) = exp(max(x,y))")                                         \
  A(max_sqrt,     FORM, "x >= 0 & y >= 0 => max(sqrt(x),sqrt(y)) = sqrt(max(x,y))")                   \
  A(max_log,      FORM, "x > 0 & y > 0 => max(log(x),log(y)) = log(max(x,y))")                        \
  A(max_square,   FORM, "sqr(max(x,0)) = mul(x,max(x,0))")                                            \
  A(max_regroup,  FORM, "max(max(x,y),max(z,w)) = max(max(x,z),max(y,w))")                            \
  A(max_apart,    FORM, "max(max(add(x,z),add(x,w)),max(add(y,z),add(y,w))) = add(max(x,y),max(z,w))") \
  A(max_assoc,    FORM, "max(x,max(y,z)) = max(max(x,y),z)")                                          \
  A(max_same,     FORM, "max(x,x) = x")                                                               \
  A(max_above,    FACT, "max(x,y) >= x")                                                              \
  A(max_one,      FACT, "max(x,y) = x | max(x,y) = y")                                                \
  A(exp_positive, FACT, "exp(x) > 0")                                                                 \
  A(exp_monotone, FACT, "x < y => exp(x) < exp(y)")                                                   \
  A(exp_above,    FACT, "x > 0 => exp(x) > add(1,x)")                                                 \
  A(exp_none,     FACT, "x = 0 => exp(x) = 1")                                                        \
  A(exp_below,    FACT, "x < 0 => exp(x) < 1")                                                        \
  A(log_above,    FACT, "x > 1 => log(x) > 0")                                                        \
  A(log_none,     FACT, "x = 1 => log(x) = 0")                                                        \
  A(log_below,    FACT, "x > 0 & x < 1 => log(x) < 0")                                                \
  A(log_monotone, FACT, "x > 0 & x < y => log(x) < log(y)")                                           \
  A(log_mul,      FACT, "x > 0 & y > 0 => log(mul(x,y)) = add(log(x),log(y))")                        \
  A(log_div,      FACT, "x > 0 & y > 0 => log(div(x,y)) = sub(log(x),log(y))")                        \
  A(sqrt_least,   FACT, "x >= 0 => sqrt(x) >= 0")                                                     \
  A(sqrt_root,    FACT, "x >= 0 => mul(sqrt(x),sqrt(x)) = x")                                         \
  A(sqrt_mul,     FACT, "x >= 0 & y >= 0 => mul(sqrt(x),sqrt(y)) = sqrt(mul(x,y))")                   \
  A(silu_exp,     FACT, "silu(x) = div(x,add(1,exp(neg(x))))")                                        \
  A(sigmoid_exp,  FACT, "sigmoid(x) = div(1,add(1,exp(neg(x))))")                                     \
  A(sigmoid_neg,  FACT, "sigmoid(neg(x)) = sub(1,sigmoid(x))")                                        \
  A(silu_sigmoid, FACT, "silu(x) = mul(x,sigmoid(x))")                                                \
  A(tanh_neg,     FACT, "tanh(neg(x)) = neg(tanh(x))")                                                \
  A(tanh_sigmoid, FACT, "tanh(x) = sub(mul(2,sigmoid(mul(2,x))),1)")

#ifndef MG_USER_PROOF_AXIOMS
#define MG_USER_PROOF_AXIOMS(A)
#endif
typedef struct mg_proof_axiom { const char *name, *text; int use; } mg_proof_axiom;
int mg_proof_axiom_count(void);
const mg_proof_axiom *mg_proof_axiom_at(int k); /* NULL if there is none */
/* The text over doubles, value[0] for x's letter 'a' and so on: 1 true, 0 false (or a term is not finite), -1 a
   condition does not hold, -2 with *e for a text that cannot be read. */
int mg_proof_axiom_holds(const char *text, const double value[26], mg_error *e);

/* ------------------------------------------------------------------------------------------------- >>solver
   A proof that two graphs are equal functions over the reals, on all inputs on which the first is defined, at the
   sizes that they have: no chance of error, no delta.  It covers what the field tests cannot: maxima that do not
   cancel, relu, clamps, logarithms, roots.  libz3 is loaded when it is called for; nothing is
   linked.                              */

enum { MG_PROVE_AUTO, MG_PROVE_INDEXED /* one element for all, indices symbolic */, MG_PROVE_ELEMENTS /* each element */ };

typedef struct mg_prove_config {
  double time_limit_s;   /* 0: 10 */
  size_t memory_limit;   /* bytes for terms, and again for the solver; 0: 1 GiB */
  uint64_t seed;         /* of the float64 inputs */
  int method;            /* MG_PROVE_AUTO: indexed, then each element */
  const char *library;   /* NULL: libz3.so.4, then libz3.so */
  const volatile int *stop; /* when it becomes nonzero the verdict is UNDECIDED; may be NULL */
  int skip_floats;       /* 1: no look for a float64 counterexample, nor for inputs on which both are defined: the
                            caller has */
} mg_prove_config;
mg_prove_config mg_prove_config_default(void);

typedef struct mg_prove_report {
  mg_verdict verdict;    /* EQUAL; NOT_EQUAL, with a float64 counterexample; UNDECIDED.  Never EQUAL_SAMPLED */
  char reason[256];      /* one line in words */
  char axioms[768];      /* names of the rows that were in play */
  char solver[32];       /* "Z3 4.8.12" */
  int method;            /* that decided */
  int64_t elements;      /* compared: symbolic ones, or all */
  int queries;           /* questions to the solver; 0: the normal forms were the same */
  uint32_t terms;        /* made */
  double seconds;
  /* as in mg_verify_report */
  int confirmed;
  uint64_t cx_seed;
  int cx_output;
  int64_t cx_element;
  double cx_a, cx_b;
} mg_prove_report;

/* MG_OK whenever there is a verdict; MG_UNSUPPORTED without libz3; MG_BAD_INPUT for unlike signatures.  It ends by the
   time limit, give or take what the solver takes to notice an interrupt. */
mg_status mg_prove(const mg_graph *a, const mg_graph *b, const mg_prove_config *cfg, mg_prove_report *r, mg_error *e);

/* ------------------------------------------------------------------------------------------------- >>numerics
   As safe as written.  Equal over the reals is not equal in 16 bits: this is what a kernel's floating point is held to.

   yardstick   the program, operator by operator, as PyTorch runs it: every call of the text is one operator, sugar
               too (rms_norm; a softmax subtracts its row's maximum).  Inside an operator all is f32, sums are sums of
               f32; its result is rounded to its type.  A µGraph without its program is measured against its own kernel
               level: each kernel is one operator.
   reference   the same in float64, nothing rounded, of the same inputs, which are rounded to their types.
   row         an output's last dimension.  Its error is the largest |y - reference| over its largest |reference| (or
               over the type's least number, where that is more).  A unit is one in the last place of the type at that
               largest, in the same measure.
   e16         the largest error of the yardstick's over at least 64 rows of a family, as it is rounded and in runs in
               which each rounding has up to half a unit added before it at random: neither one lucky row nor lucky
               roundings of the one row that nearly cancels bind anybody.
   e32         that of the yardstick all in f32, each operator's result moved by one unit in the last place at random,
               up or down: the largest of 16 runs, which take turns with the rows where these are many.
   safe        for every family that binds, in every row that is finite as written,
                 (i)   what is finite as written is finite, but where float64 with that error passes the type's largest
                       number, and the error is at most 4 (e16 + e32) + 2 units of the type;
                 (ii)  with 16-bit storage replaced by f32 the same, and the error is at most 16 e32 + 2 units of f32.
               (ii) refuses E[x^2] - m^2, whatever 16 bits hide.
   binds       at least half of a family's rows are finite as written.  A family that does not bind is reported, and
               says nothing.  A program has at least MG_FAMILIES_LEAST that bind, or nothing is said of it.

   Runs show what is unsafe; that nothing was found is said as `by runs`, and is no
   proof.                             */

enum { MG_FAMILIES_MOST = 256, MG_FAMILIES_LEAST = 8, MG_NUMERICS_ROWS = 64, MG_NUMERICS_MOVES = 16, MG_NUMERICS_JOINT = 8 };

/*         id        name                    what the inputs are                                                        */
#define MG_FAMILY_KINDS(F)                                                                                             \
  F(PLAIN,    "plain",              "normal, each input of the size that keeps a product's")                           \
  F(SCALE,    "scaled",             "one input times 2^a")                                                             \
  F(JOINT,    "scaled together",    "each input times a power of two drawn for it")                                    \
  F(ROWS,     "outliers in rows",   "one element of every row of one input is 10^2 to 10^4 times as large, gains 8")             \
  F(COLUMNS,  "outlier columns",    "one column in 32 of one input is 10^2 to 10^4 times as large")                    \
  F(OFFSET,   "offset",             "one input lies 10^3 standard deviations from 0")                                  \
  F(CONSTANT, "constant rows",      "in every row of one input all elements are the same")                             \
  F(ZERO,     "zero rows",          "every third row of one input is 0")                                               \
  F(DENORMAL, "denormals",          "one input holds denormal numbers of its type; one of f32, those of f16")                                    \
  F(LOGITS,   "logits of 200",      "one input is such that the largest argument of a softmax is 200 away from 0")     \
  F(FIRST,    "first keys dark",    "a mask that a softmax's argument adds is a on the first quarter")                 \
  F(LAST,     "last keys dark",     "the same on the last quarter")                                                    \
  F(ALL_BUT,  "all keys but one dark", "the same on all but one element of a row; switches of 0 and 1, too")

typedef enum mg_family_kind {
#define MGI_F(id, name, what) MG_FAMILY_##id,
  MG_FAMILY_KINDS(MGI_F)
#undef MGI_F
  MG_FAMILY_KIND_COUNT
} mg_family_kind;

typedef struct mg_family {
  mg_family_kind kind;
  int input;                 /* SCALE and later */
  double a;                  /* SCALE: exponent; JOINT: which; LOGITS: factor; masks: what hides a key */
  char name[96];             /* "X scaled by 2^14" */
} mg_family;

/* One in the last place of the type at magnitude x. */
double mg_unit_at(mg_dtype t, double x);

/* The families of a program, at most `most`; their number, or -1 if memory is out.  The same program and seed always
   give the same. */
int mg_families_of(const mg_graph *program, uint64_t seed, mg_family *out, int most);
/* A box (NULL: all) of input k of draw number `draw`, dense row-major, rounded to its type and clamped to finite (but
   for a mask's minus infinity). */
void mg_family_input(const mg_graph *program, const mg_family *f, uint64_t seed, int draw, int k, const mg_box *box,
                     float *dst);

/* What is judged.  Fills out[k], dense row-major, from in[k]; both are of the parts that `want` below asks for.  wide:
   with 16-bit storage replaced by f32.  Any status but MG_OK ends the runs; MG_UNSUPPORTED for `wide` only leaves (ii)
   out, which the report says. */
typedef mg_status (*mg_numerics_run)(void *user, const float *const *in, float *const *out, int wide, mg_error *e);

typedef struct mg_numerics_config {
  uint64_t seed;             /* of the families */
  const mg_box *want;        /* by output, what is judged of it; NULL: all */
  int only;                  /* 1: (i) alone; 2: (ii) alone; 0: both */
  int first;                 /* 1: end at the first family that is unsafe */
  double time_limit_s;       /* 0: none; past it the families that are left are not run, and the line says so */
  int part, parts;           /* parts > 1: the families whose number is `part` modulo `parts` alone; then
                                mg_numerics_join */
} mg_numerics_config;

typedef struct mg_numerics_fault {
  char family[96];
  int number, wide;          /* of the family; 1: by (ii) */
  int output;
  int64_t row, element;      /* row-major numbers in the output */
  double got, written, reference, error, bound; /* bound 0: finite as written, and not here */
} mg_numerics_fault;

typedef struct mg_numerics_report {
  int families, ran, binding;  /* all; of these run; of these that bind */
  int unsafe;                /* families by (i) or (ii) */
  int without_wide;          /* 1: (ii) was asked for and could not be run */
  int judged;                /* 1: a kernel was judged; 0: only the yardstick ran */
  int has_fault;
  mg_numerics_fault fault;   /* of the first */
  char output[72];           /* its name */
  char bind[MG_FAMILIES_MOST]; /* by family: 1 binds, 0 does not */
  char bad[MG_FAMILIES_MOST];  /* by family, bits: 1 unsafe by (i), 2 by (ii) */
  double e16[MG_FAMILIES_MOST], e32[MG_FAMILIES_MOST]; /* by family */
  double seconds;
} mg_numerics_report;

/* Judges what `run` computes (NULL: only the yardstick runs, for what binds).  `program` is the yardstick's.  MG_OK:
   safe.  MG_NOT_FOUND: unsafe.  MG_UNSUPPORTED: too few families bind, or the time was up before as many had run. */
mg_status mg_numerics(const mg_graph *program, mg_numerics_run run, void *user, const mg_numerics_config *cfg,
                      mg_numerics_report *r, mg_error *e);
/* Adds the report of one part to another's; the status is that of both together. */
mg_status mg_numerics_join(mg_numerics_report *to, const mg_numerics_report *part);
/* "as safe as written, by runs (31 families bind)", or what is not. */
void mg_numerics_line(const mg_numerics_report *r, char *line, size_t n);
/* The yardstick on given inputs, dense row-major: out[k] as it is stored.  wide: all in f32; move: 0, or a seed by
   which each operator's result moves: by one unit in the last place if wide, else by up to half a unit before it is
   rounded. */
mg_status mg_yardstick(const mg_graph *program, const mg_part *part, const float *const *in, float *const *out,
                       int wide, uint64_t move, mg_error *e);
/* The reference: double out. */
mg_status mg_yardstick_reference(const mg_graph *program, const mg_part *part, const double *const *in,
                                 double *const *out, mg_error *e);

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_VERIFY_H */

/* =================================================================================================== implementation */

#if defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_VERIFY_IMPLEMENTATION)
#ifndef MIRAGE_VERIFY_IMPLEMENTED
#define MIRAGE_VERIFY_IMPLEMENTED

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------- >>primes */

MGI_FN mg_modulus mgi_modulus(uint64_t m) {
  mg_modulus M;
  M.m = m;
  for (M.n = 0; M.n < 64 && m >> M.n; M.n++) {}
  M.mu = (uint64_t)(((mgi_u128)1 << (2 * M.n)) / m);
  M.v = ~(uint64_t)0 / m;
  M.w = (uint64_t)(~(mgi_u128)0 / (m << (64 - M.n)));
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
MGI_FN uint64_t mgi_ff_random_prime(uint64_t *state, int bits) {
  for (;;) {
    uint64_t top = (uint64_t)1 << (bits - 1), n = top | (mgi_ff_hash(*state += MGI_FF_GOLD, 1, 0) & (top - 1));
    if (mg_is_prime(n)) return n;
  }
}

/* Everything that follows from p, q and the seed. */
MGI_FN void mgi_field_fill(mg_field *F, uint64_t p, uint64_t q, uint64_t seed, int exp_opaque) {
  static const char *const name[MG_OP_TABLE_END] = {
    "",
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) name,
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) name,
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
  while (q && F->omega == 1)
    F->omega = mgi_powmod(&F->mp, mgi_ff_draw(&F->mp, state += MGI_FF_GOLD, 2, 0, 1), (p - 1) / q);
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

MGI_FN int mgi_field_by_value(const void *a, const void *b) {
  mg_rational x = *(const mg_rational *)a, y = *(const mg_rational *)b;
  mgi_i128 l = (mgi_i128)x.num * y.den, r = (mgi_i128)y.num * x.den;
  return l < r ? -1 : l > r;
}
/* Adds the constants of a graph and their negatives, each once, while there is room. */
MGI_FN int mgi_field_constants(const mg_graph *g, mg_rational *c, int n) {
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->sub) n = mgi_field_constants(o->sub, c, n);
    if (mg_op_row(o->code)->attr != MG_ATTR_RAT) continue;
    for (int side = 0; side < 2; side++) {
      mg_rational x = o->attr.c;
      int known = 0;
      if (side) x.num = -x.num;
      for (int j = 0; j < n; j++) known |= mgi_field_by_value(&c[j], &x) == 0;
      if (!known && n < MG_FIELD_LEVELS) c[n++] = x;
    }
  }
  return n;
}
void mg_field_levels(mg_field *F, const mg_graph *const *g, int n, double above) {
  mg_rational c[MG_FIELD_LEVELS];
  int m = 0;
  c[m++] = mg_rat(0, 1), c[m++] = mg_rat(1, 1);
  for (int k = 0; k < n; k++) m = mgi_field_constants(g[k], c, m);
  qsort(c, (size_t)m, sizeof *c, mgi_field_by_value);
  F->levels = 0, F->level_bits = 0;
  for (int k = 0; k < m; k++) {
    mg_fv v = mg_ff_const(F, c[k]);
    int known = 0;
    for (int j = 0; j < F->levels; j++) known |= F->level[j] == v.p;
    if ((v.flags & MG_FV_UNDEF) || known) continue; /* in a small field two constants may be one residue */
    F->level[F->levels++] = v.p;
    F->level_bits |= (uint64_t)1 << (v.p & 63);
  }
  uint64_t h = mgi_ff_hash(F->seed, 16, 0);
  double share = above > 0 ? above : exp2(-24 * ldexp((double)(h >> 11), -53));
  int end = above > 0 ? 2 : (int)(h & 3);
  F->place = end == 0 ? UINT64_MAX : end == 1 ? 0 : (uint64_t)((1 - share) * ldexp(1, 64) * (1 - ldexp(1, -52)));
}

/* q uniform among the primes of that many bits; p the first prime of uniform 2jq + 1 in [2^60, 2^61).  MG_NOT_FOUND if
   none of MG_VERIFY_CANDIDATES is prime: about one seed in 200,000. */
MGI_FN mg_status mgi_field_pair(uint64_t seed, int q_bits, mg_field *out) {
  uint64_t state = mgi_ff_hash(seed, 5, 0), q = mgi_ff_random_prime(&state, q_bits), p = 0;
  uint64_t lo = (((uint64_t)1 << 60) + 2 * q - 1) / (2 * q), span = ((uint64_t)1 << 60) / (2 * q);
  mg_modulus J = mgi_modulus(span);
  for (int k = 0; k < MG_VERIFY_CANDIDATES; k++) {
    /* a rejected draw steps the key */
    p = (lo + mgi_ff_draw(&J, mgi_ff_mix(state += MGI_FF_GOLD), 6, 0, 0)) * 2 * q + 1;
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
MGI_FN int mgi_pair_fits(const mg_graph *g, uint64_t p, uint64_t q) {
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
  static const uint16_t pair[][2] = { { 359, 179 }, { 347, 173 }, { 509, 127 }, { 263, 131 }, { 227, 113 },
                                      { 389, 97 },  { 499, 83 },  { 317, 79 },  { 439, 73 },  { 293, 73 },
                                      { 269, 67 },  { 367, 61 },  { 179, 89 },  { 167, 83 },  { 107, 53 } };
  for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
    int fits = 1;
    for (int j = 0; j < n && fits; j++) fits = mgi_pair_fits(g[j], pair[k][0], pair[k][1]);
    if (!fits) continue;
    mgi_field_fill(out, pair[k][0], pair[k][1], seed, exp_opaque);
    return MG_OK;
  }
  return mg_fail(e, MG_UNSUPPORTED, "mg_field_small",
                 "every pair of small primes has one that divides a constant or a size of the graphs");
}

/* --------------------------------------------------------------------------------------------------- >>seeds
   Everything random follows from a root of 256 bits: the digest (SHA-256, FIPS 180-4) of both graphs in canonical form,
   of the number N that the caller gives, and of a salt.  The graphs take part because N is known to everybody: whoever
   knows the primes writes them into a graph as a factor, and that is 0 in every test.  A salt of the operating
   system's, which a recheck takes, is what the author of a certificate cannot have tried beforehand. */

typedef struct mgi_digest { uint32_t h[8]; uint8_t block[64]; uint64_t bytes; } mgi_digest;

MGI_FN uint32_t mgi_rotated(uint32_t x, int n) { return x >> n | x << (32 - n); }
MGI_FN void mgi_digest_begin(mgi_digest *d) {
  static const uint32_t first[8] = { 0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                     0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u };
  memset(d, 0, sizeof *d);
  memcpy(d->h, first, sizeof first);
}
MGI_FN void mgi_digest_block(mgi_digest *d) {
  static const uint32_t round[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};
  uint32_t w[64], v[8];
  for (int k = 0; k < 16; k++) {
    const uint8_t *b = d->block + 4 * k;
    w[k] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  }
  for (int k = 16; k < 64; k++) {
    uint32_t x = w[k - 15], y = w[k - 2];
    uint32_t s0 = mgi_rotated(x, 7) ^ mgi_rotated(x, 18) ^ x >> 3,
             s1 = mgi_rotated(y, 17) ^ mgi_rotated(y, 19) ^ y >> 10;
    w[k] = w[k - 16] + s0 + w[k - 7] + s1;
  }
  memcpy(v, d->h, sizeof v);
  for (int k = 0; k < 64; k++) {
    uint32_t s1 = mgi_rotated(v[4], 6) ^ mgi_rotated(v[4], 11) ^ mgi_rotated(v[4], 25),
             choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t s0 = mgi_rotated(v[0], 2) ^ mgi_rotated(v[0], 13) ^ mgi_rotated(v[0], 22);
    uint32_t most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]), t = v[7] + s1 + choose + round[k] + w[k];
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t, v[0] = t + s0 + most;
  }
  for (int k = 0; k < 8; k++) d->h[k] += v[k];
}
MGI_FN void mgi_digest_byte(mgi_digest *d, uint8_t byte) {
  d->block[d->bytes++ % 64] = byte;
  if (d->bytes % 64 == 0) mgi_digest_block(d);
}
MGI_FN void mgi_digest_word(void *digest, uint64_t word) {
  for (int k = 0; k < 8; k++) mgi_digest_byte((mgi_digest *)digest, (uint8_t)(word >> (8 * k)));
}
MGI_FN void mgi_digest_end(mgi_digest *d, uint64_t out[4]) {
  uint64_t bits = 8 * d->bytes;
  mgi_digest_byte(d, 0x80);
  while (d->bytes % 64 != 56) mgi_digest_byte(d, 0);
  for (int k = 7; k >= 0; k--) mgi_digest_byte(d, (uint8_t)(bits >> (8 * k)));
  for (int k = 0; k < 4; k++) out[k] = (uint64_t)d->h[2 * k] << 32 | d->h[2 * k + 1];
}

/* The root of a verification. */
MGI_FN void mgi_seed_root(const mg_graph *a, const mg_graph *b, uint64_t number, const uint64_t salt[4],
                          uint64_t out[4]) {
  mgi_digest d;
  mgi_digest_begin(&d);
  mg_canonical(a, mgi_digest_word, &d);
  mg_canonical(b, mgi_digest_word, &d);
  mgi_digest_word(&d, number);
  for (int k = 0; k < 4; k++) mgi_digest_word(&d, salt[k]);
  mgi_digest_end(&d, out);
}
/* What one draw of one test starts from. */
MGI_FN void mgi_seed_draw(const uint64_t root[4], int kind, int test, int draw, uint64_t out[4]) {
  mgi_digest d;
  mgi_digest_begin(&d);
  for (int k = 0; k < 4; k++) mgi_digest_word(&d, root[k]);
  mgi_digest_word(&d, (uint64_t)kind), mgi_digest_word(&d, (uint64_t)test), mgi_digest_word(&d, (uint64_t)draw);
  mgi_digest_end(&d, out);
}

mg_status mg_verify_salt(uint64_t salt[4], mg_error *e) {
  FILE *f = fopen("/dev/urandom", "rb");
  size_t n = f ? fread(salt, sizeof *salt, 4, f) : 0;
  if (f) fclose(f);
  if (n < 4) return mg_fail(e, MG_MACHINE, "mg_verify_salt", "/dev/urandom gives no random bytes");
  salt[0] |= !(salt[0] | salt[1] | salt[2] | salt[3]); /* all zero means none */
  return MG_OK;
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

MGI_FN mg_fv mgi_word_in(uint64_t w) {
  return w >> 62 ? mgi_fv(0, 0, w & MGI_WORD_UNDEF ? MG_FV_UNDEF : MG_FV_NEGINF) : mgi_fv(w, 0, 0);
}
MGI_FN uint64_t mgi_word_out(mg_fv v) {
  return v.flags & (MG_FV_UNDEF | MG_FV_EXP2) ? MGI_WORD_UNDEF : v.flags & MG_FV_NEGINF ? MGI_WORD_NEGINF : v.p;
}

/* Offset of row `at` (all dimensions but the last). */
MGI_FN int64_t mgi_ff_row_offset(const mg_view *v, const int64_t *at, int n) {
  int64_t o = 0;
  for (int d = 0; d < n; d++) o += at[d] * v->stride[d];
  return o;
}
MGI_FN int mgi_ff_next_row(const mg_shape *s, int64_t *at) {
  for (int d = s->rank - 2; d >= 0; d--) {
    if (++at[d] < s->dim[d]) return 1;
    at[d] = 0;
  }
  return 0;
}

MGI_FN mg_status mgi_pair_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  const mg_field *F = (const mg_field *)user;
  const mg_op_info *row = mg_op_row(op);
  /* inverse is 1/last */
  mg_fv c = row->attr == MG_ATTR_RAT ? mg_ff_const(F, rc) : mgi_fv(0, 0, 0), zero = mgi_fv(0, 0, 0), last = zero,
        inverse = zero;
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
      /* rows share divisors */
      if (op == MG_OP_DIV && !((x.flags | y.flags) & MGI_FV_SPECIAL) && y.p && (y.q || !mgi_fv_has_q(F, y.flags))) {
        if (y.p != last.p) last.p = y.p, inverse.p = mgi_invmod(&F->mp, y.p);
        if (mgi_fv_has_q(F, y.flags) && y.q != last.q) last.q = y.q, inverse.q = mgi_invmod(&F->mq, y.q);
        uint32_t f = x.flags | y.flags;
        o[k * out->stride[r - 1]] = mgi_fv(mgi_mulmod(&F->mp, x.p, inverse.p),
                                           mgi_fv_has_q(F, f) ? mgi_mulmod(&F->mq, x.q, inverse.q) : 0, f);
      } else o[k * out->stride[r - 1]] = mg_ff_apply(F, op, x, y, c);
    }
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}

enum { MGI_WORD_BATCH = 64 };
MGI_FN mg_status mgi_word_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  const mg_field *F = (const mg_field *)user;
  const mg_modulus *M = &F->mp;
  const mg_op_info *row = mg_op_row(op);
  mg_fv c = row->attr == MG_ATTR_RAT ? mg_ff_const(F, rc) : mgi_fv(0, 0, 0);
  uint64_t zero = 0, last = 0, inverse = 0, of_row[MGI_WORD_BATCH]; /* inverse is 1/last */
  int64_t at[MG_MAX_RANK] = {0};
  int r = out->shape.rank;
  if (!row->elementwise) return MG_UNSUPPORTED;
  do {
    uint64_t *o = (uint64_t *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const uint64_t *a = (const uint64_t *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1);
    const uint64_t *b = row->n_in > 1 ? (const uint64_t *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : &zero;
    int64_t sa = in[0].stride[r - 1], sb = row->n_in > 1 ? in[1].stride[r - 1] : 0, so = out->stride[r - 1],
            n = out->shape.dim[r - 1];
    for (int64_t k = 0; k < n; k++, a += sa, b += sb, o += so) {
      uint64_t x = *a, y = *b;
      if (op == MG_OP_DIV && sb && k % MGI_WORD_BATCH == 0)
        mgi_word_inverses(M, b, sb, n - k < MGI_WORD_BATCH ? n - k : (int64_t)MGI_WORD_BATCH, of_row);
      if (!((x | y) >> 62) && !(c.flags & MG_FV_UNDEF)) switch (op) {
          case MG_OP_ADD: *o = mgi_addmod(M, x, y); continue;
          case MG_OP_SUB: *o = mgi_submod(M, x, y); continue;
          case MG_OP_MUL: *o = mgi_mulmod(M, x, y); continue;
          case MG_OP_SQR: *o = mgi_mulmod(M, x, x); continue;
          case MG_OP_SCALE: *o = mgi_mulmod(M, x, c.p); continue;
          case MG_OP_DIV:
            if (!y) break;
            if (!sb && y != last) last = y, inverse = mgi_invmod(M, y);
            *o = mgi_mulmod(M, x, sb ? of_row[k % MGI_WORD_BATCH] : inverse);
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
typedef struct mgi_ff_tile {
  uint64_t p[MGI_FF_TILE * MGI_FF_TILE], q[MGI_FF_TILE * MGI_FF_TILE];
  uint32_t flags[MGI_FF_TILE];
} mgi_ff_tile;

/* [rows, cols] from v at (r0, c0), row length `pitch`; flags by row or by column. */
MGI_FN void mgi_ff_tile_pack(const mg_field *F, int word, mgi_ff_tile *t, const mg_view *v, int64_t r0, int64_t c0,
                             int rows, int cols, int pitch, int by_column) {
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

/* out[j] = sum over l < k <= 64 of a[l] b[l * pitch + j], mod M. */
MGI_FN void mgi_ff_tile_dot(const mg_modulus *M, const uint64_t *a, const uint64_t *b, int64_t pitch, int k,
                            uint64_t *out) {
  for (int j = 0; j < MGI_FF_COLS; j += 4) {
    mgi_u128 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int l = 0; l < k; l++) {
      const uint64_t *y = b + l * pitch + j;
      s0 += (mgi_u128)a[l] * y[0], s1 += (mgi_u128)a[l] * y[1], s2 += (mgi_u128)a[l] * y[2],
          s3 += (mgi_u128)a[l] * y[3];
    }
    out[j] = mgi_mod128(M, s0), out[j + 1] = mgi_mod128(M, s1), out[j + 2] = mgi_mod128(M, s2),
    out[j + 3] = mgi_mod128(M, s3);
  }
}

/* The caller's flag: another thread, or a signal's handler, may set it at any time. */
MGI_FN int mgi_verify_flag(const volatile int *stop) {
#if defined(__GNUC__) || defined(__clang__)
  return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
#else
  return stop && *stop;
#endif
}

/* The same for four rows of A at a time, in eight lanes: x = x0 + 2^52 x1, and 52-bit products are added in halves of
   weight 1, 2^52 and 2^104.  64 of them stay below 2^60 a lane, and the whole below 2^128. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__)
typedef unsigned long long mgi_v8 __attribute__((vector_size(64), aligned(8), may_alias));
#define MGI_MADD(half, s, x, y) __asm__("vpmadd52" half "uq %2, %1, %0" : "+v"(s) : "v"(x), "v"(y))
#define MGI_MADD_ROW(r)                                                                                  \
  x0 = zero + a[(r) * MGI_FF_TILE + l], x1 = x0 >> 52;                                                   \
  MGI_MADD("l", s##r, x0, y0); MGI_MADD("h", t##r, x0, y0); MGI_MADD("l", t##r, x0, y1);                 \
  MGI_MADD("h", u##r, x0, y1); MGI_MADD("l", t##r, x1, y0); MGI_MADD("h", u##r, x1, y0); MGI_MADD("l", u##r, x1, y1)
__attribute__((target("avx512f,avx512ifma"))) static void mgi_ff_tile_dot4(const mg_modulus *M, const uint64_t *a,
                                                                           const uint64_t *b, int64_t pitch, int k,
                                                                           uint64_t *out) {
  mgi_v8 zero = { 0 }, s0 = zero, s1 = zero, s2 = zero, s3 = zero, t0 = zero, t1 = zero, t2 = zero, t3 = zero,
         u0 = zero, u1 = zero, u2 = zero, u3 = zero;
  for (int l = 0; l < k; l++) {
    mgi_v8 y0 = *(const mgi_v8 *)(b + l * pitch), y1 = y0 >> 52, x0, x1;
    MGI_MADD_ROW(0);
    MGI_MADD_ROW(1);
    MGI_MADD_ROW(2);
    MGI_MADD_ROW(3);
  }
  uint64_t w[3][4 * MGI_FF_COLS];
#define MGI_KEEP(r) *(mgi_v8 *)(w[0] + (r) * MGI_FF_COLS) = s##r, *(mgi_v8 *)(w[1] + (r) * MGI_FF_COLS) = t##r, *(mgi_v8 *)(w[2] + (r) * MGI_FF_COLS) = u##r
  MGI_KEEP(0), MGI_KEEP(1), MGI_KEEP(2), MGI_KEEP(3);
#undef MGI_KEEP
  for (int j = 0; j < 4 * MGI_FF_COLS; j++)
    out[j] = mgi_mod128(M, w[0][j] + ((mgi_u128)w[1][j] << 52) + ((mgi_u128)w[2][j] << 104));
}
#undef MGI_MADD_ROW
#undef MGI_MADD
MGI_FN int mgi_ff_has_dot4(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma"); }
#else
MGI_FN void mgi_ff_tile_dot4(const mg_modulus *M, const uint64_t *a, const uint64_t *b, int64_t pitch, int k,
                             uint64_t *out) {
  for (int r = 0; r < 4; r++) mgi_ff_tile_dot(M, a + r * MGI_FF_TILE, b, pitch, k, out + r * MGI_FF_COLS);
}
MGI_FN int mgi_ff_has_dot4(void) { return 0; }
#endif

MGI_FN int mgi_ff_over(const mg_field *F) {
  return mgi_verify_flag(F->stop) || (F->deadline > 0 && mgi_seconds() > F->deadline);
}

/* A tile of eight columns of words where it is, without packing: NULL if a row of it is not dense or a word has no
   value. */
MGI_FN const uint64_t *mgi_ff_as_it_lies(const mg_view *b, int64_t k0, int64_t n0, int depth) {
  const uint64_t *from = (const uint64_t *)b->data + k0 * b->stride[0] + n0, *y = from;
  uint64_t any = 0;
  if (b->stride[1] != 1) return NULL;
  for (int l = 0; l < depth; l++, y += b->stride[0])
    for (int j = 0; j < MGI_FF_COLS; j++) any |= y[j];
  return any >> 62 ? NULL : from;
}

MGI_FN mg_status mgi_ff_matmul(const mg_field *F, int word, const mg_view *c, const mg_view *a, const mg_view *b) {
  int64_t m = c->shape.dim[0], n = c->shape.dim[1], k = a->shape.dim[1];
  uint64_t P[4 * MGI_FF_COLS], Q[4 * MGI_FF_COLS] = {0};
  int wide = m >= 2 && mgi_ff_has_dot4();
  mgi_ff_tile *A = (mgi_ff_tile *)malloc(2 * sizeof *A), *B = A + 1;
  if (!A) return MG_NO_MEMORY;
  for (int64_t m0 = 0; m0 < m; m0 += MGI_FF_TILE)
    for (int64_t k0 = 0; k0 < k; k0 += MGI_FF_TILE) {
      if (mgi_ff_over(F)) { free(A); return MG_LIMIT; }
      int rows = m - m0 < MGI_FF_TILE ? (int)(m - m0) : (int)MGI_FF_TILE,
          depth = k - k0 < MGI_FF_TILE ? (int)(k - k0) : (int)MGI_FF_TILE;
      mgi_ff_tile_pack(F, word, A, a, m0, k0, rows, depth, MGI_FF_TILE, 0);
      for (int i = rows; i % 4; i++)
        memset(A->p + i * MGI_FF_TILE, 0, MGI_FF_TILE * sizeof *A->p),
            memset(A->q + i * MGI_FF_TILE, 0, MGI_FF_TILE * sizeof *A->q);
      for (int64_t n0 = 0; n0 < n; n0 += MGI_FF_COLS) {
        int cols = n - n0 < MGI_FF_COLS ? (int)(n - n0) : (int)MGI_FF_COLS;
        const uint64_t *y = word && cols == MGI_FF_COLS ? mgi_ff_as_it_lies(b, k0, n0, depth) : NULL;
        const int64_t pitch = y ? b->stride[0] : (int64_t)MGI_FF_COLS;
        if (y) memset(B->flags, 0, sizeof B->flags);
        else mgi_ff_tile_pack(F, word, B, b, k0, n0, depth, cols, MGI_FF_COLS, 1), y = B->p;
        for (int i = 0; i < rows; i++) {
          uint64_t *p = P + i % 4 * MGI_FF_COLS, *q = Q + i % 4 * MGI_FF_COLS;
          if (wide && i % 4 == 0) {
            mgi_ff_tile_dot4(&F->mp, A->p + i * MGI_FF_TILE, y, pitch, depth, P);
            if (F->q) mgi_ff_tile_dot4(&F->mq, A->q + i * MGI_FF_TILE, B->q, MGI_FF_COLS, depth, Q);
          } else if (!wide) {
            mgi_ff_tile_dot(&F->mp, A->p + i * MGI_FF_TILE, y, pitch, depth, p);
            if (F->q) mgi_ff_tile_dot(&F->mq, A->q + i * MGI_FF_TILE, B->q, MGI_FF_COLS, depth, q);
          }
          for (int j = 0; j < cols; j++) {
            uint32_t f = A->flags[i] | B->flags[j];
            if (f & MG_FV_NEGINF) f = (f & ~(uint32_t)MG_FV_NEGINF) | MG_FV_UNDEF;
            int64_t at = (m0 + i) * c->stride[0] + (n0 + j) * c->stride[1];
            if (word) {
              uint64_t *o = (uint64_t *)c->data + at;
              *o = f || *o >> 62 ? MGI_WORD_UNDEF : mgi_addmod(&F->mp, *o, p[j]);
            } else {
              mg_fv *o = (mg_fv *)c->data + at,
                    x = f & MGI_FV_SPECIAL ? mgi_fv_special(f) : mgi_fv(p[j], f & MG_FV_NOQ ? 0 : q[j], f);
              *o = mg_ff_add(F, *o, x);
            }
          }
        }
      }
    }
  free(A);
  return MG_OK;
}
MGI_FN mg_status mgi_pair_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  return mgi_ff_matmul((const mg_field *)user, 0, c, a, b);
}
MGI_FN mg_status mgi_word_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  return mgi_ff_matmul((const mg_field *)user, 1, c, a, b);
}

/* Who won: the elements of `in` that the maximum now is, by their place.  One of a row only (ties are improbable), so
   two runs with the same winners give the same. */
MGI_FN void mgi_ff_winners(const mg_field *F, int word, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  do {
    int64_t o = mgi_ff_row_offset(out, at, r - 1), a = mgi_ff_row_offset(in, at, r - 1);
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++, o += out->stride[r - 1], a += in->stride[r - 1]) {
      uint64_t x = word ? ((const uint64_t *)out->data)[o] : ((const mg_fv *)out->data)[o].p,
               y = word ? ((const uint64_t *)in->data)[a] : ((const mg_fv *)in->data)[a].p;
      F->pattern[0] += mgi_ff_mix(2 * F->pattern[1]++ + (x == y));
    }
  } while (mgi_ff_next_row(&in->shape, at));
}

MGI_FN mg_status mgi_ff_combine(const mg_field *F, int word, mg_opcode op, const mg_view *out, const mg_view *in) {
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
        else
          *x = mgi_word_out(op == MG_OP_SUM ? mg_ff_add(F, mgi_word_in(*x), mgi_word_in(y))
                                            : mg_ff_max(F, mgi_word_in(*x), mgi_word_in(y)));
      } else {
        mg_fv *x = (mg_fv *)out->data + o, y = ((const mg_fv *)in->data)[a];
        *x = op == MG_OP_SUM ? mg_ff_add(F, *x, y) : mg_ff_max(F, *x, y);
      }
  } while (mgi_ff_next_row(&in->shape, at));
  return MG_OK;
}
MGI_FN mg_status mgi_pair_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  return mgi_ff_combine((const mg_field *)user, 0, op, out, in);
}
MGI_FN mg_status mgi_word_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  return mgi_ff_combine((const mg_field *)user, 1, op, out, in);
}

MGI_FN void mgi_pair_fill(void *user, mg_opcode op, void *dst, size_t n) {
  const uint32_t flags = op == MG_OP_SUM ? 0 : op == MG_OP_MAX ? (uint32_t)MG_FV_NEGINF : (uint32_t)MG_FV_UNDEF;
  mg_fv *d = (mg_fv *)dst, v = mgi_fv(0, 0, flags);
  (void)user;
  while (n--) *d++ = v;
}
/* In the random order that maxima are taken in. */
MGI_FN int mgi_pair_above(void *user, const void *b, const void *a) {
  const mg_fv x = *(const mg_fv *)b, y = *(const mg_fv *)a, m = mg_ff_max((const mg_field *)user, x, y);
  const uint32_t kind = MG_FV_NEGINF | MG_FV_NOQ;
  if (m.flags & (MG_FV_UNDEF | MG_FV_EXP2)) return -1;
  if (x.p == y.p && x.q == y.q && !((x.flags ^ y.flags) & kind)) return 0;
  return m.p == x.p && m.q == x.q && !((m.flags ^ x.flags) & kind);
}
MGI_FN void mgi_word_fill(void *user, mg_opcode op, void *dst, size_t n) {
  uint64_t *d = (uint64_t *)dst, v = op == MG_OP_SUM ? 0 : MGI_WORD_NEGINF;
  (void)user;
  while (n--) *d++ = v;
}

mg_domain mg_domain_field(const mg_field *F) {
  mg_domain d;
  memset(&d, 0, sizeof d);
  d.user = (void *)(uintptr_t)F;
  d.elem = sizeof(mg_fv);
  d.map = mgi_pair_map, d.matmul = mgi_pair_matmul, d.combine = mgi_pair_combine, d.fill = mgi_pair_fill,
  d.above = mgi_pair_above;
  return d;
}
/* The word representation; F->q must be 0. */
MGI_FN mg_domain mgi_domain_word(const mg_field *F) {
  mg_domain d = mg_domain_field(F);
  d.elem = sizeof(uint64_t);
  /* picks are taken out before */
  d.map = mgi_word_map, d.matmul = mgi_word_matmul, d.combine = mgi_word_combine, d.fill = mgi_word_fill,
  d.above = NULL;
  return d;
}

/* -------------------------------------------------------------------------------------------------- >>bounds
   Bounds for Theorems A and B, at tensor granularity.  Every element of a tensor is N/D with deg N <= n, deg D <= d,
   and the sums of the magnitudes of their integer coefficients at most 2^hn and 2^hd.  A value over Q is brought to
   integer coefficients by multiplying N and D.
     a + b    (Na Db + Nb Da) / (Da Db)           sum of K: D^K, N D^(K-1), K times; of K that share D: D, N, K times
     a * b    (Na Nb) / (Da Db)                   a / b: (Na Db) / (Da Nb)
     f(a)     a new variable                      constant r/s: r / s
   In the two-field reading exp(a) is no variable but a term: N and D are sums of c e^l, c a polynomial, l a sum of
   arguments of exponentials, with their signs.  At most 2^en terms in N, each of at most wn arguments; ed, wd for D.  A
   divisor whose N is one term with a constant c puts e^-l into N instead.
   vary is a set of dimensions (bit 0 the last) and of axes outside of which the elements of a tensor are alike; vary_d
   is that of their D.  So a row's sum is one D for all of the row, and no power of it.
   terms[S] bounds how many opaque terms the elements of a slice mention together.  S says which dimensions the slice
   runs over (bit 0 the last); the others are held.  So a reduction turns terms[S with its dimension] into terms[S]: a
   row of a softmax mentions its own exponentials, once, however many rows there are.
   The rules for E rows are the operator table's `field` column itself, read over these bounds.
   Requirement 1: every rule is monotone, so a tensor's maxima stand for each of its elements.
   Requirement 2: nothing is rounded down: degrees are doubles, exact below 2^53, and logarithms round up by
   mgi_bound_up.  Requirement 3: a dimension of extent 1, or one that the tensor lacks, changes nothing in S, and is in
   no vary; broadcasting is free then. */

enum { MGI_BOUND_SLICES = 1 << MG_MAX_RANK, MGI_Q_LEAST = 20, MGI_Q_MOST = 45 };
typedef struct mgi_frac { double n, d, hn, hd, en, ed, wn, wd; } mgi_frac;
typedef struct mgi_bound {
  mgi_frac f;
  uint32_t flags;
  uint64_t vary, vary_d;
  double terms[MGI_BOUND_SLICES];
} mgi_bound;
enum { MGI_HAS_EXP = 1, MGI_HAS_OPAQUE = 2, MGI_HAS_MAX = 4 };

typedef struct mgi_bounds {
  int pair;                            /* 1: the two-field reading */
  mgi_frac arg, exp, out;              /* maxima over arguments of opaque functions, over those of exp, over the
                                          outputs */
  double applications;                 /* of opaque functions, over all elements, blocks and iterations */
  double runs;                         /* how often the operator being read runs */
  double slice[MGI_BOUND_SLICES];      /* elements of the slices of its result */
  double terms;                        /* maximum over the outputs */
  uint32_t flags[MG_MAX_OUT];          /* by output */
  int nested;                          /* an exponential of an exponential: no bound in the two-field reading */
  int failed;
} mgi_bounds;

MGI_FN double mgi_bound_max2(double a, double b) { return a > b ? a : b; }
MGI_FN double mgi_bound_min2(double a, double b) { return a < b ? a : b; }
MGI_FN double mgi_bound_up(double x) { return x * (1 + 1e-12); }
/* log2(2^x + 2^y), rounded up. */
MGI_FN double mgi_bound_log2_sum(double x, double y) {
  double hi = mgi_bound_max2(x, y), lo = mgi_bound_min2(x, y);
  return hi - lo > 1000 ? hi + 1e-9 : hi + log2(1 + exp2(lo - hi)) + 1e-9;
}
MGI_FN mgi_frac mgi_frac_max(mgi_frac a, mgi_frac b) {
  mgi_frac r;
  r.n = mgi_bound_max2(a.n, b.n), r.d = mgi_bound_max2(a.d, b.d), r.hn = mgi_bound_max2(a.hn, b.hn),
  r.hd = mgi_bound_max2(a.hd, b.hd);
  r.en = mgi_bound_max2(a.en, b.en), r.ed = mgi_bound_max2(a.ed, b.ed), r.wn = mgi_bound_max2(a.wn, b.wn),
  r.wd = mgi_bound_max2(a.wd, b.wd);
  return r;
}
/* D is 1 */
MGI_FN int mgi_frac_whole(const mgi_frac *f) { return f->d == 0 && f->hd == 0 && f->ed == 0 && f->wd == 0; }

/* Zero, with the terms and the variation of a and b together (NULL: none). */
MGI_FN mgi_bound mgi_bound_of(const mgi_bound *a, const mgi_bound *b) {
  mgi_bound r;
  memset(&r, 0, sizeof r);
  r.flags = (a ? a->flags : 0) | (b ? b->flags : 0);
  r.vary = (a ? a->vary : 0) | (b ? b->vary : 0), r.vary_d = (a ? a->vary_d : 0) | (b ? b->vary_d : 0);
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] = (a ? a->terms[S] : 0) + (b ? b->terms[S] : 0);
  return r;
}
MGI_FN mgi_bound mgi_bound_done(mgi_bound r) {
  r.f.hn = mgi_bound_up(r.f.hn), r.f.hd = mgi_bound_up(r.f.hd), r.f.en = mgi_bound_up(r.f.en),
  r.f.ed = mgi_bound_up(r.f.ed);
  return r;
}
MGI_FN mgi_bound mgi_bound_zero(mgi_bounds *F) {
  (void)F;
  return mgi_bound_of(NULL, NULL);
}
MGI_FN mgi_bound mgi_bound_one(mgi_bounds *F) { return mgi_bound_zero(F); } /* coefficients of at most 2^0 */
MGI_FN mgi_bound mgi_bound_add(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  (void)F;
  r.f.n = mgi_bound_max2(a.f.n + b.f.d, b.f.n + a.f.d), r.f.d = a.f.d + b.f.d;
  r.f.hn = mgi_bound_max2(a.f.hn + b.f.hd, b.f.hn + a.f.hd) + 1, r.f.hd = a.f.hd + b.f.hd;
  r.f.en = mgi_bound_log2_sum(a.f.en + b.f.ed, b.f.en + a.f.ed), r.f.ed = a.f.ed + b.f.ed;
  r.f.wn = mgi_bound_max2(a.f.wn + b.f.wd, b.f.wn + a.f.wd), r.f.wd = a.f.wd + b.f.wd;
  return mgi_bound_done(r);
}
MGI_FN mgi_bound mgi_bound_sub(mgi_bounds *F, mgi_bound a, mgi_bound b) { return mgi_bound_add(F, a, b); }
MGI_FN mgi_bound mgi_bound_mul(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  (void)F;
  r.f.n = a.f.n + b.f.n, r.f.d = a.f.d + b.f.d, r.f.hn = a.f.hn + b.f.hn, r.f.hd = a.f.hd + b.f.hd;
  r.f.en = a.f.en + b.f.en, r.f.ed = a.f.ed + b.f.ed, r.f.wn = a.f.wn + b.f.wn, r.f.wd = a.f.wd + b.f.wd;
  return mgi_bound_done(r);
}
MGI_FN mgi_bound mgi_bound_div(mgi_bounds *F, mgi_bound a, mgi_bound b) {
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
MGI_FN mgi_bound mgi_bound_join(mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_of(&a, &b);
  r.f = mgi_frac_max(a.f, b.f);
  return r;
}
/* A new variable for a function of a and b (NULL: of a alone), applied `times` times an element. */
MGI_FN mgi_bound mgi_bound_variable(mgi_bounds *F, const mgi_bound *a, const mgi_bound *b, double times) {
  mgi_bound r = mgi_bound_of(a, b);
  r.f.n = 1, r.vary_d = 0;
  F->arg = mgi_frac_max(F->arg, a->f);
  if (b) F->arg = mgi_frac_max(F->arg, b->f);
  F->applications += times * F->runs * F->slice[MGI_BOUND_SLICES - 1];
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] += times * F->slice[S];
  return r;
}
MGI_FN mgi_bound mgi_bound_max(mgi_bounds *F, mgi_bound a, mgi_bound b) {
  mgi_bound r = mgi_bound_variable(F, &a, &b, 1);
  r.flags |= MGI_HAS_MAX;
  return r;
}
/* The maximum of k elements like a, whose terms a counts already; sure: there are two at least. */
MGI_FN mgi_bound mgi_bound_maximum(mgi_bounds *F, mgi_bound a, double k, int sure) {
  mgi_bound r = mgi_bound_variable(F, &a, NULL, k);
  F->arg.n = mgi_bound_max2(F->arg.n, 1); /* the maximum so far */
  if (!sure) { /* one element is its own maximum */
    r.f = mgi_frac_max(r.f, a.f);
    if (!mgi_frac_whole(&a.f)) r.vary_d = ~(uint64_t)0;
  }
  r.flags |= MGI_HAS_MAX;
  return r;
}
MGI_FN mgi_bound mgi_bound_opaque_c(mgi_bounds *F, int op, int nonzero, mgi_bound a, mgi_bound c) {
  (void)nonzero;
  a.f.hn = mgi_bound_max2(a.f.hn, c.f.hn), a.f.hd = mgi_bound_max2(a.f.hd, c.f.hd);
  mgi_bound r = mgi_bound_variable(F, &a, NULL, 1);
  r.flags |= op == MG_OP_EXP ? (uint32_t)MGI_HAS_EXP : (uint32_t)MGI_HAS_OPAQUE;
  return r;
}
static MGI_UNUSED mgi_bound mgi_bound_opaque_2(mgi_bounds *F, int op, int nonzero, mgi_bound a, mgi_bound b,
                                               mgi_bound c) {
  F->arg = mgi_frac_max(F->arg, b.f);
  mgi_bound both = mgi_bound_join(a, b);
  return mgi_bound_opaque_c(F, op, nonzero, both, c);
}
MGI_FN mgi_bound mgi_bound_exp(mgi_bounds *F, mgi_bound a) {
  if (!F->pair) return mgi_bound_opaque_c(F, MG_OP_EXP, 0, a, mgi_bound_zero(F));
  mgi_bound r = mgi_bound_of(&a, NULL);
  r.f.wn = 1, r.vary_d = 0, r.flags |= MGI_HAS_EXP;
  F->exp = mgi_frac_max(F->exp, a.f);
  F->nested |= a.f.wn > 0 || a.f.wd > 0;
  return r;
}
/* The sum of k elements like a, whose terms a counts already; `alike` of them at a time share D. */
MGI_FN mgi_bound mgi_bound_sum(mgi_bound a, double k, double alike) {
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
MGI_FN mgi_bound mgi_bound_apply(mgi_bounds *F, mg_opcode op, mgi_bound a, mgi_bound b, mgi_bound c) {
  (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) case MG_OP_##id: return field;
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: F->failed = 1; return mgi_bound_zero(F);
  }
}
#undef MGI_FFN
#define MGI_FFN(f) mg_ff_##f

/* a along dimension `bit` (0 the last), which goes. */
MGI_FN mgi_bound mgi_bound_reduced(const mgi_bound *a, int bit) {
  mgi_bound r = *a;
  for (int S = 0; S < MGI_BOUND_SLICES; S++) r.terms[S] = a->terms[S | 1 << bit];
  r.vary &= ~((uint64_t)1 << bit), r.vary_d &= ~((uint64_t)1 << bit);
  return r;
}
/* One product of [m, k] and [k, n], summed over k. */
MGI_FN mgi_bound mgi_bound_matmul(mgi_bounds *F, mgi_bound a, mgi_bound b, double k) {
  int differ = (a.vary_d & 1) || (b.vary_d & 2);
  return mgi_bound_sum(mgi_bound_mul(F, mgi_bound_reduced(&a, 0), mgi_bound_reduced(&b, 1)), k, differ ? 1 : k);
}
/* The bits that the sets of operands become in the result of a row that moves elements. */
MGI_FN uint64_t mgi_bound_moved(const mg_op_node *o, const mg_shape *from, const mg_shape *z, uint64_t set) {
  const uint64_t dims = ((uint64_t)1 << MG_MAX_RANK) - 1;
  uint64_t r = set & ~dims;
  if (mg_op_along(o->code)) return set;
  if (o->code != MG_OP_TRANSPOSE) return set & dims ? r | dims : r;
  for (int d = 0; d < z->rank; d++) r |= (set >> (from->rank - 1 - o->attr.perm[d]) & 1) << (z->rank - 1 - d);
  return r;
}

/* The same for a slice's dimensions, backwards, of a transpose. */
MGI_FN int mgi_bound_moved_back(const mg_op_node *o, const mg_shape *from, const mg_shape *z, int S) {
  int r = 0;
  for (int d = 0; d < z->rank; d++)
    if (S >> (z->rank - 1 - d) & 1) r |= 1 << (from->rank - 1 - o->attr.perm[d]);
  return r;
}

/* Axis 0's bit among those of a bound in g. */
MGI_FN int mgi_bound_axis0(const mg_graph *g) { return MG_MAX_RANK + (g->level == MG_THREAD ? MG_MAX_AXES + 1 : 0); }
/* What a LOAD of r, of a tensor of shape z, has: blocks and iterations see other parts of the dimensions that they
   cut. */
MGI_FN mgi_bound mgi_bound_loaded(const mg_graph *g, const mg_op_node *o, const mg_shape *z, mgi_bound r) {
  for (uint32_t x = 1; x < g->n_axes; x++)
    if (o->map.to[x] >= 0) {
      r.vary |= (r.vary >> (z->rank - 1 - o->map.to[x]) & 1) << (mgi_bound_axis0(g) + (int)x);
      r.vary_d |= (r.vary_d >> (z->rank - 1 - o->map.to[x]) & 1) << (mgi_bound_axis0(g) + (int)x);
    }
  return r;
}
/* What a STORE or an ACCUM of a, a value like `from`, has: it joins what blocks and iterations have. */
MGI_FN mgi_bound mgi_bound_lifted(mgi_bounds *F, const mg_graph *g, const mg_op_node *o, const mg_tensor_info *from,
                                  const mg_shape *z, mgi_bound a) {
  double n = 1, alike = 1, most = 1;
  int sure = 1;
  const int axis0 = mgi_bound_axis0(g);
  for (int d = 0; d < from->shape.rank; d++) sure &= !from->cuts[d]; /* no chunk is empty */
  for (uint32_t x = 1; x < g->n_axes; x++) {
    int to = o->map.to[x];
    if (to == MG_MAP_MAX) most *= (double)g->axes[x].extent;
    if (to == MG_MAP_SUM) {
      n *= (double)g->axes[x].extent;
      if (!(a.vary_d >> (axis0 + (int)x) & 1)) alike *= (double)g->axes[x].extent;
    }
  }
  mgi_bound r = mgi_bound_sum(a, n, alike);
  for (uint32_t x = 1; x < g->n_axes; x++) {
    int to = o->map.to[x];
    uint64_t bit = (uint64_t)1 << (axis0 + (int)x);
    for (int S = 0; S < MGI_BOUND_SLICES; S++) /* blocks and iterations have terms of their own */
      if (to == MG_MAP_SUM || to == MG_MAP_MAX || (to >= 0 && (S >> (z->rank - 1 - to) & 1)))
        r.terms[S] *= (double)g->axes[x].extent;
    if (to >= 0 && (r.vary & bit)) r.vary |= (uint64_t)1 << (z->rank - 1 - to);
    if (to >= 0 && (r.vary_d & bit)) r.vary_d |= (uint64_t)1 << (z->rank - 1 - to);
    if (o->code == MG_OP_STORE || to != MG_MAP_NONE) r.vary &= ~bit, r.vary_d &= ~bit;
  }
  for (uint32_t x = 1; x < g->n_axes; x++)
    if (o->map.to[x] == MG_MAP_MAX) return mgi_bound_maximum(F, r, most, sure && most > 1);
  return r;
}
/* What a row that moves elements has, of operands with shapes in g and bounds in t. */
MGI_FN mgi_bound mgi_bound_of_moved(const mgi_bounds *F, const mg_graph *g, const mg_op_node *o, const mg_shape *z,
                                    const mgi_bound *t) {
  const mg_shape *s = &g->tensors[o->in[0].id].shape;
  mgi_bound r = t[o->in[0].id];
  int whole = 1;
  r.vary = r.vary_d = 0;
  for (int j = 0; j < o->n_in; j++) {
    const mgi_bound *x = &t[o->in[j].id];
    uint64_t vary = mgi_bound_moved(o, &g->tensors[o->in[j].id].shape, z, x->vary),
             vary_d = mgi_bound_moved(o, &g->tensors[o->in[j].id].shape, z, x->vary_d);
    mgi_bound y = r;
    if (j) r = mgi_bound_join(r, *x);
    r.vary = y.vary | vary, r.vary_d = y.vary_d | vary_d;
    whole &= mgi_frac_whole(&x->f);
  }
  if (o->n_in > 1) { /* the operands lie side by side */
    uint64_t side = o->code == MG_OP_CONCAT ? (uint64_t)1 << (z->rank - 1 - o->attr.dim)
                                            : ((uint64_t)1 << MG_MAX_RANK) - 1;
    r.vary |= side;
    if (!whole) r.vary_d |= side;
  }
  for (int S = 0; S < MGI_BOUND_SLICES; S++) { /* concat, repeat and slice keep their dimensions; others may mix them */
    int from_S = mg_op_along(o->code) ? S : MGI_BOUND_SLICES - 1;
    if (o->code == MG_OP_TRANSPOSE) from_S = mgi_bound_moved_back(o, s, z, S);
    double x = 0;
    for (int j = 0; j < o->n_in; j++) x += t[o->in[j].id].terms[from_S];
    r.terms[S] = x;
    if (mg_op_along(o->code) || o->code == MG_OP_TRANSPOSE) continue;
    for (int j = 0; j < o->n_in; j++) x = j ? mgi_bound_max2(x, t[o->in[j].id].terms[0]) : t[o->in[j].id].terms[0];
    r.terms[S] = mgi_bound_min2(r.terms[S], F->slice[S] * x);
  }
  return r;
}
/* One level; `above` holds the bounds of the graph above, `times` how often this graph runs.  0 on success. */
MGI_FN int mgi_bounds_level(mgi_bounds *F, const mg_graph *g, mgi_bound *above, const mg_op_node *owner, double times) {
  mgi_bound *t = (mgi_bound *)calloc(g->n_tensors, sizeof *t);
  int stores = 0, bad = !t;
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
    mgi_bound a = load ? mgi_bound_zero(F) : t[o->in[0].id], b = o->n_in > 1 ? t[o->in[1].id] : a,
              r = mgi_bound_zero(F);
    F->runs = times;
    for (uint32_t l = o->scope; l; l = g->axes[l].parent) F->runs *= (double)g->axes[l].extent;
    if (o->code == MG_OP_GRAPH) { bad = mgi_bounds_level(F, o->sub, t, o, F->runs); continue; }
    const mg_tensor_info *from = &(load ? g->up : g)->tensors[o->in[0].id];
    const mg_shape *s = &from->shape; /* of the operand; of a STORE too */
    const mg_shape *z = o->code == MG_OP_STORE ? &g->up->tensors[owner->out[stores].id].shape
                                               : &g->tensors[o->out[0].id].shape;
    for (int S = 0; S < MGI_BOUND_SLICES; S++) {
      F->slice[S] = 1;
      for (int d = 0; d < z->rank; d++)
        if (S >> (z->rank - 1 - d) & 1) F->slice[S] *= (double)z->dim[d];
    }
    if (load) r = mgi_bound_loaded(g, o, z, above[o->in[0].id]);
    else if (o->code == MG_OP_STORE || o->code == MG_OP_ACCUM) r = mgi_bound_lifted(F, g, o, from, z, a);
    else if (row->elementwise) {
      mgi_bound c = mgi_bound_zero(F);
      if (row->attr == MG_ATTR_RAT) {
        c.f.hn = o->attr.c.num ? mgi_bound_up(log2(fabs((double)o->attr.c.num))) : 0;
        c.f.hd = mgi_bound_up(log2((double)o->attr.c.den));
      }
      r = mgi_bound_apply(F, o->code, a, row->n_in > 1 ? b : mgi_bound_zero(F), c);
    } else if (o->code == MG_OP_MATMUL) r = mgi_bound_matmul(F, a, b, (double)s->dim[s->rank - 1]);
    else if (o->code == MG_OP_CONCAT_MATMUL) {
      const mg_shape *s2 = &g->tensors[o->in[1].id].shape;
      r = mgi_bound_add(F, mgi_bound_matmul(F, a, t[o->in[2].id], (double)s->dim[s->rank - 1]),
                        mgi_bound_matmul(F, b, t[o->in[3].id], (double)s2->dim[s2->rank - 1]));
    } else if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) {
      int bit = s->rank - 1 - o->attr.dim, differ = (int)(a.vary_d >> bit & 1);
      double n = (double)s->dim[o->attr.dim];
      a = mgi_bound_reduced(&a, bit);
      r = o->code == MG_OP_SUM ? mgi_bound_sum(a, n, differ ? 1 : n)
                               : mgi_bound_maximum(F, a, n, n > 1 && !from->cuts[o->attr.dim]);
    } else if (row->moves) r = mgi_bound_of_moved(F, g, o, z, t);
    else F->failed = 1;
    for (int S = MGI_BOUND_SLICES - 1; S >= 0; S--)
      r.terms[S] = mgi_bound_min2(mgi_bound_min2(r.terms[S], F->slice[S] * r.terms[0]), F->applications);
    for (int bit = 0; bit < MG_MAX_RANK; bit++)
      if (bit >= z->rank || z->dim[z->rank - 1 - bit] == 1)
        r.vary &= ~((uint64_t)1 << bit), r.vary_d &= ~((uint64_t)1 << bit);
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

MGI_FN mg_status mgi_bounds_of(const mg_graph *g, int pair, mgi_bounds *out, mg_error *e) {
  memset(out, 0, sizeof *out);
  out->pair = pair;
  if (mgi_bounds_level(out, g, NULL, NULL, 1))
    return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the degree bounds");
  if (out->failed) return mg_fail(e, MG_UNSUPPORTED, "mg_verify", "an operator of '%s' has no field meaning", g->name);
  return MG_OK;
}

/* log2 of 3x/(5 ln x) for x = 2^bits: at most the number of primes in [x, 2x). */
MGI_FN double mgi_log2_primes(int bits) { return bits - log2(log(2.0) * bits * 5 / 3) - 1e-9; }
MGI_FN double mgi_bound_log2(double x) { return x > 0 ? mgi_bound_up(log2(x)) + 1e-9 : -1e9; }

/* Fills the quantities of Theorem A, or of B in the two-field reading; log2_eps == 0 means no bound. */
MGI_FN void mgi_bound_theorem(const mgi_bounds *a, const mgi_bounds *b, mg_verify_report *r) {
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
  /* primes p that may divide all coefficients */
  double unlucky = floor(r->height / 60), unlucky_arg = floor(r->height_arg / 60);
  if (!a->pair) eps = mgi_bound_log2_sum(eps, mgi_bound_log2(unlucky + pairs * unlucky_arg) - mgi_log2_primes(60));
  else {
    /* exponentials in opaque arguments: these are sums like the outputs, else fractions */
    int inside = arg.wn > 0 || arg.wd > 0;
    double w = 2 * mgi_bound_max2(mgi_bound_max2(x->wn + y->wd, y->wn + x->wd), inside ? arg.wn + arg.wd : 0),
           best = 1e300;
    if (w < 1) w = 1;
    r->exp_terms = mgi_bound_max2(mgi_bound_max2(x->en + y->ed, y->en + x->ed), inside ? arg.en + arg.ed : 0) + 1;
    r->degree_exp = e.n + (w - 1) * e.d;
    r->height_exp = mgi_bound_up(e.hn + (w - 1) * e.hd + log2(w));
    r->exp_events = inside ? 1 + pairs : 1;
    for (int bits = MGI_Q_LEAST; bits <= MGI_Q_MOST; bits++) {
      double meet = mgi_bound_log2_sum(mgi_bound_log2(r->degree_exp) - (bits - 1) + 1e-5,
                                       mgi_bound_log2(floor(r->height_exp / (bits - 1))) - mgi_log2_primes(bits - 1));
      double number = mgi_bound_log2(MG_VERIFY_CANDIDATES) - (60 - 1 - bits) + 1e-3; /* candidates / floor(2^60 / 2q) */
      double prime = mgi_bound_log2_sum(number +
                                            mgi_bound_log2(mgi_bound_max2(r->height, inside ? r->height_arg : 0) / 60) +
                                            mgi_bound_log2(r->exp_events),
                                        number + mgi_bound_log2(inside ? 0 : pairs * unlucky_arg));
      double sum = mgi_bound_log2_sum(mgi_bound_log2(r->exp_events) + meet + r->exp_terms, prime);
      if (sum < best) best = sum, r->q_bits = bits;
    }
    eps = mgi_bound_log2_sum(eps, best);
  }
  r->log2_eps = eps + log2((double)MG_VERIFY_DRAWS) + 1e-6;
  if (!(r->log2_eps < 0) || a->nested || b->nested) r->log2_eps = 0;
}

/* ------------------------------------------------------------------------------------------------- >>columns
   A row of a user has two meanings: the field column is what programs are compared by, the real column is what runs.
   If they are two functions, EQUAL is said of something false.  So the field column is read over doubles as well
   (FF_ADD is +, FF_EXP is exp ..) and held against the real one at points.

   What FF_OPAQUE stands for is the one thing that this reading lacks.  The function of another row, whose field column
   is that function and nothing else, is that row's real column.  The row's own is unknown, and is asked for less:
     one application    E = m f + k, affine in its value f: the real column demands f = (real - k) / m.  Two points that
                        ask f of the same arguments must demand the same value; where m is 0 the real column is k; f
                        of FF_OPAQUE_NONZERO is 0 nowhere.
     any other use      two points that the field column cannot tell apart, whatever the functions are (four that are
                        drawn, of unlike sign and size, stand for all), must not differ in the real column.  So too
                        where there is a maximum, which may hide it.
   Those look at points of few binary digits, where arguments that are equal are so in floats too: a grid, and a half of
   what is drawn.  All else is asked at every point that is drawn, over all exponents of f32, near 1 most: an interval
   of less than a thousandth of its numbers, or a single number, can be missed.  A constant of the row is asked at those
   values that the graphs give it, and at few others.
   Requirement 1: a row whose columns are one function is never refused.  What either column leaves undefined, or beyond
   double, is skipped (>>defined answers for domains); a difference counts if it is more than rounding explains: that of
   the terms on the way in the field column, and, in the real one, what long double makes of the same text. */

enum { MGI_COLUMN_GRID = 19, MGI_COLUMN_VALUES = 23, MGI_COLUMN_CONSTANTS = 4, MGI_COLUMN_GIVEN = 60, MGI_COLUMN_DRAWN = 1 << 16 };

/* A value of the field column, and the largest magnitude on the way to it. */
typedef struct mgi_column { double v, size; } mgi_column;
typedef struct mgi_columns {
  int row;      /* whose column it is */
  double given; /* what unknown functions give: this number, or where it is NAN a draw */
  int draw;     /* which */
  int calls;    /* of unknown functions */
  /* 1: they are of unlike arguments, or there is what need not pass them on: a maximum, another function */
  int tangled;
  int nonzero; /* 1: one of them is nowhere 0 */
  int op;      /* the row of the first, and its arguments */
  double x, y, c;
} mgi_columns;

MGI_FN mgi_column mgi_column_of(double v, double size) {
  mgi_column r;
  r.v = v, r.size = mgi_bound_max2(size, fabs(v));
  return r;
}
MGI_FN double mgi_column_size(mgi_column a, mgi_column b) { return mgi_bound_max2(a.size, b.size); }
MGI_FN mgi_column mgi_column_zero(mgi_columns *F) {
  (void)F;
  return mgi_column_of(0, 0);
}
MGI_FN mgi_column mgi_column_one(mgi_columns *F) {
  (void)F;
  return mgi_column_of(1, 0);
}
MGI_FN mgi_column mgi_column_add(mgi_columns *F, mgi_column a, mgi_column b) {
  (void)F;
  return mgi_column_of(a.v + b.v, mgi_column_size(a, b));
}
MGI_FN mgi_column mgi_column_sub(mgi_columns *F, mgi_column a, mgi_column b) {
  (void)F;
  return mgi_column_of(a.v - b.v, mgi_column_size(a, b));
}
MGI_FN mgi_column mgi_column_mul(mgi_columns *F, mgi_column a, mgi_column b) {
  (void)F;
  return mgi_column_of(a.v * b.v, a.size * b.size);
}
MGI_FN mgi_column mgi_column_div(mgi_columns *F, mgi_column a, mgi_column b) {
  (void)F; /* of a divisor that cancelled nothing is known */
  return mgi_column_of(b.v == 0 ? NAN : a.v / b.v, a.size * b.size / (b.v * b.v));
}
MGI_FN mgi_column mgi_column_max(mgi_columns *F, mgi_column a, mgi_column b) {
  F->tangled = 1;
  return mgi_column_of(isnan(a.v) ? a.v : isnan(b.v) || b.v >= a.v ? b.v : a.v, mgi_column_size(a, b));
}
MGI_FN mgi_column mgi_column_exp(mgi_columns *F, mgi_column a) {
  (void)F;
  return mgi_column_of(exp(a.v), exp(a.v) * (1 + a.size));
}

MGI_FN uint64_t mgi_column_bits(double x) {
  uint64_t u;
  x += 0; /* -0 is 0 */
  memcpy(&u, &x, sizeof u);
  return u;
}
MGI_FN int mgi_column_direct(int op);
/* op's function of x and y (0: of x alone) and of the row's constant. */
MGI_FN mgi_column mgi_column_opaque_2(mgi_columns *F, int op, int nonzero, mgi_column x, mgi_column y, mgi_column c) {
  const double size = mgi_column_size(x, y);
  F->tangled |= op != F->row;
  if (op != F->row && F->row && mgi_column_direct(op))
    return mgi_column_of(mg_op_real((mg_opcode)op, x.v, y.v, c.v), size);
  if (!F->calls++) F->op = op, F->x = x.v, F->y = y.v, F->c = c.v;
  else F->tangled |= F->x != x.v || F->y != y.v || F->c != c.v;
  F->nonzero |= nonzero;
  if (!isnan(F->given)) return mgi_column_of(F->given, size);
  uint64_t h =
      mgi_ff_hash(mgi_ff_hash((uint64_t)op, mgi_column_bits(c.v), 40), mgi_column_bits(x.v), mgi_column_bits(y.v));
  return mgi_column_of((F->draw & 1 ? -1 : 1) * ldexp(0.5 + ldexp((double)(h >> 11), -53), F->draw & 2 ? 20 : 0), size);
}
MGI_FN mgi_column mgi_column_opaque_c(mgi_columns *F, int op, int nonzero, mgi_column a, mgi_column c) {
  return mgi_column_opaque_2(F, op, nonzero, a, mgi_column_of(0, 0), c);
}

#undef MGI_FFN
#define MGI_FFN(f) mgi_column_##f
MGI_FN mgi_column mgi_column_apply(mgi_columns *F, int op, mgi_column a, mgi_column b, mgi_column c) {
  (void)F, (void)a, (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) case MG_OP_##id: return field;
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return mgi_column_of(NAN, 0);
  }
}
#undef MGI_FFN
#define MGI_FFN(f) mg_ff_##f

/* The field column at a point; F says what was asked of unknown functions. */
MGI_FN mgi_column mgi_column_at(mgi_columns *F, int row, double given, int draw, const double at[3]) {
  memset(F, 0, sizeof *F);
  F->row = row, F->given = given, F->draw = draw;
  return mgi_column_apply(F, row, mgi_column_of(at[0], 0), mgi_column_of(at[1], 0), mgi_column_of(at[2], 0));
}
/* 1 if op's field column is its own opaque function of its operands as they are, so that its real column is that
   function. */
MGI_FN int mgi_column_direct(int op) {
  static const double at[3] = {0.625, -1.375, 0.875}; /* any */
  const mg_op_info *row = mg_op_row((mg_opcode)op);
  mgi_columns F;
  memset(&F, 0, sizeof F);
  if (!row->elementwise) return 0;
  double c = row->attr == MG_ATTR_RAT ? at[2] : 0, b = row->n_in > 1 ? at[1] : 0;
  /* row 0: a function of another row is no reason to look further */
  F.given = 3.25;
  mgi_column r = mgi_column_apply(&F, op, mgi_column_of(at[0], 0), mgi_column_of(b, 0), mgi_column_of(c, 0));
  return F.calls == 1 && F.op == op && r.v == F.given && F.x == at[0] && F.y == b && F.c == c;
}

/* The real column over long double: where it differs from double, that is rounding. */
MGI_FN long double mgi_long_most(long double a, long double b) { return a != a ? a : b != b ? b : a > b ? a : b; }
MGI_FN long double mgi_long_least(long double a, long double b) { return a != a ? a : b != b ? b : a < b ? a : b; }
#define MG_C(num, den) ((long double)(num) / (long double)(den))
#define MG_EXP(x) expl(x)
#define MG_SQRT(x) sqrtl(x)
#define MG_LOG(x) logl(x)
#define MG_ERF(x) erfl(x)
#define MG_TANH(x) tanhl(x)
#define MG_MAX(x, y) mgi_long_most(x, y)
#define MG_MIN(x, y) mgi_long_least(x, y)
#define MG_ABS(x) fabsl(x)
#define MG_SIN(x) sinl(x)
#define MG_COS(x) cosl(x)
#define MG_POW(x, y) powl(x, y)
MGI_FN long double mgi_long_real(int op, long double a, long double b, long double c) {
  (void)a, (void)b, (void)c;
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) case MG_OP_##id: return real;
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return NAN;
  }
}
#undef MG_C
#undef MG_EXP
#undef MG_SQRT
#undef MG_LOG
#undef MG_ERF
#undef MG_TANH
#undef MG_MAX
#undef MG_MIN
#undef MG_ABS
#undef MG_SIN
#undef MG_COS
#undef MG_POW

/* A point of the grid: what the two columns make of it there. */
typedef struct mgi_column_point {
  double at[3];
  double real, slack;  /* what rounding may move it by */
  double key[4];       /* points of one key must agree in `want` */
  double want, loose;
} mgi_column_point;

MGI_FN int mgi_column_order(const void *x, const void *y) {
  const mgi_column_point *a = (const mgi_column_point *)x, *b = (const mgi_column_point *)y;
  for (int k = 0; k < 4; k++)
    if (a->key[k] != b->key[k]) return a->key[k] < b->key[k] ? -1 : 1;
  return 0;
}
/* "a = 1, b = 2, c = 1/4": of what the row has. */
MGI_FN const char *mgi_column_words(const mg_op_info *row, const double at[3], char text[96]) {
  int n = snprintf(text, 96, "a = %.9g", at[0]);
  if (row->n_in > 1) n += snprintf(text + n, 96 - (size_t)n, ", b = %.9g", at[1]);
  if (row->attr == MG_ATTR_RAT) snprintf(text + n, 96 - (size_t)n, ", c = %.9g", at[2]);
  return text;
}

/* One point, 1 if it has few digits: *keep becomes 1 if it is to be held against the others. */
MGI_FN mg_status mgi_column_point_of(int op, int few, int *affine, mgi_column_point *p, int *keep, mg_error *e) {
  const mg_op_info *row = mg_op_row((mg_opcode)op);
  char text[96];
  mgi_columns F, again;
  const long double exact = mgi_long_real(op, p->at[0], p->at[1], p->at[2]);
  const mgi_column one = mgi_column_at(&F, op, 1, 0, p->at);
  double k = one.v;
  *keep = 0;
  p->real = mg_op_real((mg_opcode)op, p->at[0], p->at[1], p->at[2]);
  p->slack = 1e-9 * (1 + one.size) + 1e-6 * fabs(p->real) + 1e3 * fabs((double)((long double)p->real - exact));
  if (!isfinite(p->real) || !isfinite(one.v) || !isfinite(p->slack)) return MG_OK;
  if (F.calls) {
    const double two = mgi_column_at(&again, op, 2, 0, p->at).v, four = mgi_column_at(&again, op, 4, 0, p->at).v,
                 m = two - one.v;
    if (!few || one.size > 1e6) return MG_OK;
    *affine &= !F.tangled && !again.tangled && F.x == again.x && F.y == again.y &&
               fabs(four - two - 2 * m) <= 1e-9 * (fabs(four) + one.size);
    k = one.v - m, *keep = !*affine || m != 0;
    if (!*affine) return MG_OK;
    if (m != 0) {
      p->key[0] = F.x, p->key[1] = F.y, p->key[2] = F.c;
      p->want = (p->real - k) / m, p->loose = p->slack / fabs(m) + 1e-6 * fabs(p->want);
      /* beyond, exp comes to 0 in floats */
      if (F.nonzero && k == 0 && p->real == 0 && exact == 0 && fabs(p->at[0]) <= 4)
        return mg_fail(
            e, MG_BAD_INPUT, row->name,
            "the row's columns are two functions: FF_OPAQUE_NONZERO is nowhere 0, but the real column is at %s",
            mgi_column_words(row, p->at, text));
      return MG_OK;
    }
  }
  if (fabs(p->real - k) > p->slack + 1e-6 * fabs(k))
    return mg_fail(e, MG_BAD_INPUT, row->name,
                   "the row's columns are two functions: at %s the field column is %.9g, the real column %.9g",
                   mgi_column_words(row, p->at, text), k, p->real);
  return MG_OK;
}

/* Number `draw` for operand d: one in two within 2^-10 .. 2^17, where 16-bit types live most, the others within f32. */
MGI_FN double mgi_column_drawn(int draw, int d) {
  const uint64_t h = mgi_ff_hash((uint64_t)draw, (uint64_t)d, 40), wide = h >> 1 & 1;
  const int exponent = wide ? (int)(h >> 2 & 0xff) - 127 : (int)((h >> 2 & 0xff) * 27 / 256) - 10;
  return (h & 1 ? -1 : 1) * ldexp(1 + ldexp((double)(h >> 12), -52), exponent);
}
/* Draw number `draw` of the operands: (a, b), then (b, a), (-a, -b) and (-b, -a), at which what is one function of a * a,
   a + b or a * b has one value; of one operand a and -a.  One in two b is of a's size.  1: they have few digits, so that
   arguments that are equal are so in floats too; that is one in two. */
MGI_FN int mgi_column_draw(int draw, int n_in, double at[2]) {
  enum { FEW_DIGITS = 12 };
  const int turns = n_in > 1 ? 4 : 2, n = draw / turns, turn = draw % turns;
  double x[2] = {0, 0};
  int few = n % 2, e[2] = {0, 0};
  for (int d = 0; d < n_in && d < 2; d++) {
    x[d] = frexp(mgi_column_drawn(n, d), &e[d]);
    if (d && n % 4 < 2) e[1] = e[0];
    if (few) x[d] = ldexp(rint(ldexp(x[d], FEW_DIGITS)), -FEW_DIGITS);
    few &= e[d] > -10 && e[d] < 20;
    x[d] = ldexp(x[d], e[d]);
  }
  const int negative = turn >= turns / 2, swapped = n_in > 1 && turn % 2;
  for (int d = 0; d < n_in && d < 2; d++) at[d] = (negative ? -1 : 1) * x[swapped ? !d : d];
  return few;
}
/* The row's columns, its constant being one of these (0 alone where it has none). */
MGI_FN mg_status mgi_column_check(int op, const double *constant, int n_c, mg_error *e) {
  static const double value[MGI_COLUMN_VALUES] = {
      0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 0.25, -4, 7, -7, 24, -24, 96, -96, 1000, -1000,
      /* not of the grid; the last two no f16 holds */ 0x1p-30, -0x1p-30, 0x1p17, -0x1p17};
  const mg_op_info *row = mg_op_row((mg_opcode)op);
  const int n_b = row->n_in > 1 ? MGI_COLUMN_VALUES : 1, all = MGI_COLUMN_VALUES * n_b * n_c;
  mgi_column_point *kept = (mgi_column_point *)malloc((size_t)(all + MGI_COLUMN_DRAWN) * sizeof *kept);
  int n = 0, affine = 1, keep;
  mg_status s = MG_OK;
  if (!kept) return mg_fail(e, MG_NO_MEMORY, row->name, "no memory for %d points", all);
  for (int k = 0; k < all + MGI_COLUMN_DRAWN && s == MG_OK; k++) {
    const int i = k % MGI_COLUMN_VALUES, j = k / MGI_COLUMN_VALUES % n_b, drawn = k >= all;
    mgi_column_point p;
    memset(&p, 0, sizeof p);
    p.at[0] = value[i], p.at[1] = n_b > 1 ? value[j] : 0;
    const int few = drawn ? mgi_column_draw(k - all, row->n_in, p.at) : i < MGI_COLUMN_GRID && j < MGI_COLUMN_GRID;
    p.at[2] = constant[k / MGI_COLUMN_VALUES / n_b % n_c];
    s = mgi_column_point_of(op, few, &affine, &p, &keep, e);
    if (s == MG_OK && keep) kept[n++] = p;
  }
  for (int k = n - 1; k >= 0 && s == MG_OK && !affine; k--) {
    mgi_columns F;
    int known = 1;
    for (int d = 0; d < 4; d++)
      kept[k].key[d] = mgi_column_at(&F, op, NAN, d, kept[k].at).v, known &= isfinite(kept[k].key[d]) != 0;
    kept[k].want = kept[k].real, kept[k].loose = kept[k].slack;
    if (!known) kept[k] = kept[--n];
  }
  qsort(kept, (size_t)n, sizeof *kept, mgi_column_order);
  for (int k = 1; k < n && s == MG_OK; k++) {
    const mgi_column_point *x = &kept[k - 1], *y = &kept[k];
    char tx[96], ty[96];
    if (mgi_column_order(x, y) || fabs(x->want - y->want) <= x->loose + y->loose) continue;
    mgi_column_words(row, x->at, tx), mgi_column_words(row, y->at, ty);
    if (affine)
      s = mg_fail(e, MG_BAD_INPUT, row->name,
                  "the row's columns are two functions: the field column applies one unknown function to one argument "
                  "at %s and %s; the real column needs it to be %.9g and %.9g",
                  tx, ty, x->want, y->want);
    else
      s = mg_fail(e, MG_BAD_INPUT, row->name,
                  "the row's columns are two functions: the field column has one value at %s and %s; the real column "
                  "has %.9g and %.9g",
                  tx, ty, x->want, y->want);
  }
  free(kept);
  return s;
}

/* The constants that g gives row op, after the first *n: at most MGI_COLUMN_GIVEN in all; 0: it has more.  *used: 1: it
   has op. */
MGI_FN int mgi_column_constants(const mg_graph *g, int op, double *constant, int *n, int *used) {
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->sub && !mgi_column_constants(o->sub, op, constant, n, used)) return 0;
    if (o->sub || (int)o->code != op) continue;
    *used = 1;
    if (mg_op_row(o->code)->attr != MG_ATTR_RAT) continue;
    const double c = (double)o->attr.c.num / (double)o->attr.c.den;
    int at = 0;
    while (at < *n && constant[at] != c) at++;
    if (at < *n) continue;
    if (*n == MGI_COLUMN_GIVEN) return 0;
    constant[(*n)++] = c;
  }
  return 1;
}
mg_status mg_verify_rows(const mg_graph *g, mg_error *e) {
  mg_status s = MG_OK;
  for (int op = 1; op < MG_OP_TABLE_END && s == MG_OK; op++) {
    const mg_op_info *row = mg_op_row((mg_opcode)op);
    double constant[MGI_COLUMN_GIVEN] = {0.5, -3, 0, 2};
    int n = row->attr == MG_ATTR_RAT ? MGI_COLUMN_CONSTANTS : 0, used = 0;
    if (!row->user || !row->elementwise) continue;
    if (!mgi_column_constants(g, op, constant, &n, &used))
      return mg_fail(e, MG_LIMIT, row->name, "more than %d constants of a row from outside",
                     MGI_COLUMN_GIVEN - MGI_COLUMN_CONSTANTS);
    if (!n) constant[n++] = 0;
    if (used) s = mgi_column_check(op, constant, n, e);
  }
  return s;
}

/* --------------------------------------------------------------------------------------------------- >>draws
   Everything random follows from (>>seeds' root, kind of test, number of the test, number of the draw), by counters:
   the result depends neither on threads nor on order.
   The outputs are compared part by part (mg_part_of): a part is drawn, evaluated on both sides and compared by one
   thread, and takes little memory.  How the outputs are cut depends on the graphs and the memory limit alone.
     memory   halves are taken until a part fits MGI_PART_BYTES, as long as that helps
     work     and until it takes MGI_PART_WORK, as long as little is computed twice
   Requirement 1: what a part says does not depend on how the outputs are cut, its counts of elements excepted. */

enum { MGI_PARTS_MOST = 8192, MGI_PART_WORK = 1 << 26, MGI_PART_BYTES = 1 << 27 };

typedef struct mgi_want { mg_box out[MG_MAX_OUT]; } mgi_want;
/* elements: of the largest part; work: of all.  kept[side], where it is not NULL, says by tensor what is computed once
   a trial and then given to every part (>>kept): `held` elements.  memory: bytes that all may take. */
typedef struct mgi_cut {
  const mg_graph *g[2];
  mgi_want *want;
  int n;
  double elements, work, memory, held;
  uint8_t *kept[2];
} mgi_cut;
typedef struct mgi_cost { double elements, work; } mgi_cost;

/* The parts that `want` takes on both sides, the inputs' boxes made alike. */
MGI_FN mg_status mgi_parts_of(const mgi_cut *c, const mgi_want *want, mg_part *part, mgi_cost *cost, mg_error *e) {
  mg_tensor outputs;
  outputs.id = 0;
  mg_status s = mg_part_of_value(c->g[0], outputs, want->out, c->kept[0], &part[0], e);
  memset(&part[1], 0, sizeof part[1]);
  if (s == MG_OK) s = mg_part_of_value(c->g[1], outputs, want->out, c->kept[1], &part[1], e);
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
MGI_FN mgi_cost mgi_cost_of(const mgi_cut *c, const mgi_want *want) {
  mg_part part[2];
  mgi_cost cost = {1e300, 1e300};
  if (mgi_parts_of(c, want, part, &cost, NULL) == MG_OK) mg_part_free(&part[0]), mg_part_free(&part[1]);
  return cost;
}
/* Cuts `want` in two: along dimension `way`, or, if that is MG_MAX_RANK, some outputs here and some there. */
MGI_FN int mgi_want_halves(const mgi_cut *c, const mgi_want *want, int way, mgi_want *half) {
  uint32_t n = c->g[0]->n_out, live = 0, seen = 0;
  int cut = 0;
  half[0] = half[1] = *want;
  for (uint32_t k = 0; k < n; k++)
    live += mg_box_elements(&want->out[k], c->g[0]->tensors[c->g[0]->out[k].id].shape.rank) > 0;
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

MGI_FN void mgi_cut_free(mgi_cut *c) {
  free(c->want), free(c->kept[0]), free(c->kept[1]);
  c->want = NULL, c->kept[0] = c->kept[1] = NULL;
}

/* The better way to cut a part in two, if one is worth it. */
MGI_FN int mgi_cut_part(const mgi_cut *c, const mgi_want *want, mgi_cost cost, int fits, mgi_want *chosen) {
  mgi_cost best = {0, 0};
  mgi_want half[2];
  int found = 0;
  for (int way = 0; way <= MG_MAX_RANK; way++) {
    if (!mgi_want_halves(c, want, way, half)) continue;
    mgi_cost x = mgi_cost_of(c, &half[0]), y = mgi_cost_of(c, &half[1]), both;
    both.elements = x.elements > y.elements ? x.elements : y.elements, both.work = x.work + y.work;
    int good = fits ? both.work < 1.1 * cost.work && both.elements < 1.01 * cost.elements
                    : both.elements < 0.97 * cost.elements;
    /* for memory's sake: what leaves the least to be computed, among what helps much, else what helps most */
    int better = !found || (fits || (both.elements < 0.8 * cost.elements && best.elements < 0.8 * cost.elements)
                                ? both.work < best.work
                                : both.elements < best.elements);
    if (good && better) best = both, found = 1, chosen[0] = half[0], chosen[1] = half[1];
  }
  return found;
}

/* All of all outputs. */
MGI_FN mgi_want mgi_want_all(const mgi_cut *c) {
  const mg_graph *g = c->g[0];
  mgi_want all;
  memset(&all, 0, sizeof all);
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_shape *s = &g->tensors[g->out[k].id].shape;
    for (int d = 0; d < s->rank; d++) all.out[k].hi[d] = s->dim[d];
  }
  return all;
}
/* c->g and c->kept are set. */
MGI_FN mg_status mgi_cut_outputs(size_t elem, double bytes, mgi_cut *c, mg_error *e) {
  c->want = (mgi_want *)calloc(1, sizeof *c->want);
  if (!c->want) return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the parts of a test");
  c->want[0] = mgi_want_all(c);
  c->n = 1;
  /* every part in two, as long as one wants it: so all are alike where their number ends it */
  for (int more = 1; more;) {
    mgi_want *next = NULL, chosen[2];
    int n = 0;
    more = 0, c->elements = c->work = 0;
    for (int k = 0; k < c->n; k++) {
      mgi_cost cost = mgi_cost_of(c, &c->want[k]);
      int fits = cost.elements * (double)elem <= bytes;
      if ((!fits || cost.work > MGI_PART_WORK) && 2 * c->n <= MGI_PARTS_MOST &&
          mgi_cut_part(c, &c->want[k], cost, fits, chosen)) {
        if (!next) { /* the first that is cut: those before it stand */
          next = (mgi_want *)malloc(2 * (size_t)c->n * sizeof *next);
          if (!next) {
            mgi_cut_free(c);
            return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the parts of a test");
          }
          memcpy(next, c->want, (size_t)k * sizeof *next), n = k, more = 1;
        }
        next[n++] = chosen[0], next[n++] = chosen[1];
      } else {
        if (next) next[n++] = c->want[k];
        if (cost.elements > c->elements) c->elements = cost.elements;
        c->work += cost.work;
      }
    }
    if (next) free(c->want), c->want = next, c->n = n;
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
MGI_FN int mgi_watch_over(const mgi_watch *w) {
  return mgi_verify_flag(w->stop) || (w->deadline > 0 && mgi_seconds() > w->deadline);
}

enum { MGI_ELEM_WORD, MGI_ELEM_PAIR, MGI_ELEM_BALL };
typedef struct mgi_ball { double v, err; } mgi_ball; /* >>floats */

/* One draw of one test. */
typedef struct mgi_trial {
  mg_field F;
  int elem;                  /* the representation */
  uint64_t seed;             /* of the float64 inputs */
  uint64_t from[4];          /* primes and omega, inputs, functions, order of maxima */
  int draw;                  /* how many there have been */
  uint64_t *powers;          /* of F.omega; NULL without memory for them */
  void **kept[2];            /* by side and tensor: values that all parts read (>>kept); NULL: none */
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

MGI_FN size_t mgi_elem_bytes(int elem) {
  return elem == MGI_ELEM_WORD ? sizeof(uint64_t) : elem == MGI_ELEM_PAIR ? sizeof(mg_fv) : sizeof(mgi_ball);
}
MGI_FN int64_t mgi_trial_elements(const mg_graph *g, mg_tensor t) { return mg_shape_elements(&g->tensors[t.id].shape); }
MGI_FN mg_domain mgi_domain_ball(const mg_field *F);
MGI_FN double mgi_real_input(uint64_t seed, const mg_tensor_info *t, int k, int64_t i);
MGI_FN double mgi_ball_gap(mgi_ball x, mgi_ball y);

/* The flat indices of a box, in order: the first of each row of its last dimension. */
MGI_FN int64_t mgi_box_row(const mg_box *b, const mg_shape *s, const int64_t *at) {
  int64_t i = 0;
  for (int d = 0; d < s->rank; d++) i = i * s->dim[d] + (d < s->rank - 1 ? at[d] : b->lo[d]);
  return i;
}
MGI_FN int mgi_box_next_row(const mg_box *b, int rank, int64_t *at) {
  for (int d = rank - 2; d >= 0; d--) {
    if (++at[d] < b->hi[d]) return 1;
    at[d] = b->lo[d];
  }
  return 0;
}

MGI_FN void mgi_part_draw(const mgi_trial *t, const mg_tensor_info *of, const mg_box *b, uint32_t k, void *dst) {
  const mg_shape *s = &of->shape;
  int64_t at[MG_MAX_RANK], n = b->hi[s->rank - 1] - b->lo[s->rank - 1], o = 0;
  uint64_t key = mgi_ff_hash(t->from[1], k, 7);
  memcpy(at, b->lo, sizeof at);
  do {
    int64_t first = mgi_box_row(b, s, at);
    if (t->elem == MGI_ELEM_WORD) {
      mgi_ff_draw_row(&t->F.mp, key, (uint64_t)first, n, (uint64_t *)dst + o), o += n;
      continue;
    }
    for (int64_t i = first; i < first + n; i++, o++) {
      if (t->elem == MGI_ELEM_BALL)
        ((mgi_ball *)dst)[o].v = mgi_real_input(t->seed, of, (int)k, i), ((mgi_ball *)dst)[o].err = 0;
      else {
        uint64_t p = mgi_ff_draw(&t->F.mp, key, (uint64_t)i, 0, 0);
        ((mg_fv *)dst)[o] = mgi_fv(p, t->F.q ? mgi_ff_draw(&t->F.mq, key, (uint64_t)i, 1, 0) : 0, 0);
      }
    }
  } while (mgi_box_next_row(b, s->rank, at));
}

/* Compares what is wanted of output k; x and y hold the boxes bx and by of it. */
MGI_FN void mgi_part_compare(const mgi_trial *t, const mg_shape *s, const mg_box *want, uint32_t k, const void *x,
                             const mg_box *bx, const void *y, const mg_box *by, mgi_outcome *r) {
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
      if (t->elem == MGI_ELEM_WORD)
        a = mgi_word_in(((const uint64_t *)x)[ox]), b = mgi_word_in(((const uint64_t *)y)[oy]);
      else a = ((const mg_fv *)x)[ox], b = ((const mg_fv *)y)[oy];
      uint32_t f = a.flags | b.flags;
      if (f & (MG_FV_UNDEF | MG_FV_EXP2)) { r->twice |= (f & MG_FV_EXP2) != 0, r->undefined++; continue; }
      r->compared++;
      int same = a.p == b.p && !((a.flags ^ b.flags) & MG_FV_NEGINF) && (!mgi_fv_has_q(&t->F, f) || a.q == b.q);
      if (!same && !r->differs) r->differs = 1, r->output = (int)k, r->element = i;
    }
  } while (mgi_box_next_row(want, s->rank, at));
}

/* The inputs that a part reads, drawn; 0 if memory is out.  in[] are freed by the caller. */
MGI_FN int mgi_part_inputs(const mgi_trial *t, const mg_graph *g, const mg_part *part, void *in[MG_MAX_IN]) {
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *of = &g->tensors[g->in[k].id];
    const mg_box *b = &part->box[g->in[k].id];
    int64_t n = mg_box_elements(b, of->shape.rank);
    if (!n) continue;
    in[k] = malloc((size_t)n * mgi_elem_bytes(t->elem));
    if (!in[k]) return 0;
    mgi_part_draw(t, of, b, k, in[k]);
  }
  return 1;
}
MGI_FN mg_domain mgi_trial_domain(const mgi_trial *t, const mg_field *F) {
  return t->elem == MGI_ELEM_WORD   ? mgi_domain_word(F)
         : t->elem == MGI_ELEM_PAIR ? mg_domain_field(F)
                                    : mgi_domain_ball(F);
}

/* Draws, evaluates and compares one part of a trial. */
MGI_FN void mgi_part_run(const mgi_cut *c, const mgi_trial *t, const mgi_want *want, mgi_outcome *r) {
  mg_part part[2];
  mgi_cost cost;
  mg_field F = t->F;
  void *in[MG_MAX_IN] = {NULL}, *out[2][MG_MAX_OUT] = {{NULL}, {NULL}};
  size_t bytes = mgi_elem_bytes(t->elem);
  mgi_cut own = *c;
  if (!t->kept[0]) own.kept[0] = own.kept[1] = NULL;
  memset(r, 0, sizeof *r);
  r->status = mgi_parts_of(&own, want, part, &cost, &r->error);
  if (r->status != MG_OK) return;
  for (int side = 0; side < 2; side++) part[side].given = (const void *const *)t->kept[side];
  int good = 1;
  good = mgi_part_inputs(t, c->g[0], &part[0], in);
  for (int side = 0; side < 2 && good; side++) {
    const mg_graph *g = c->g[side];
    for (uint32_t k = 0; k < g->n_out && good; k++) {
      int64_t n = mg_box_elements(&part[side].box[g->out[k].id], g->tensors[g->out[k].id].shape.rank);
      if (n) good = (out[side][k] = malloc((size_t)n * bytes)) != NULL;
    }
    if (!good) break;
    F.pattern = side == 0 && !F.max_opaque ? r->pattern : NULL; /* who wins: in the first program */
    mg_domain d = mgi_trial_domain(t, &F);
    r->status = mg_eval_part(g, &d, &part[side], (const void *const *)in, out[side], &r->error);
    if (r->status != MG_OK) break;
  }
  if (!good)
    r->status = mg_fail(&r->error, MG_NO_MEMORY, "mg_verify",
                        "no memory for the inputs and outputs of a part of a test: %.3g elements", cost.elements);
  for (uint32_t k = 0; k < c->g[0]->n_out && r->status == MG_OK; k++) {
    const mg_shape *s = &c->g[0]->tensors[c->g[0]->out[k].id].shape;
    if (mg_box_elements(&want->out[k], s->rank))
      mgi_part_compare(t, s, &want->out[k], k, out[0][k], &part[0].box[c->g[0]->out[k].id], out[1][k],
                       &part[1].box[c->g[1]->out[k].id], r);
  }
  for (int k = 0; k < MG_MAX_IN; k++) free(in[k]);
  for (int k = 0; k < MG_MAX_OUT; k++) free(out[0][k]), free(out[1][k]);
  mg_part_free(&part[0]), mg_part_free(&part[1]);
}

/* ---------------------------------------------------------------------------------------------------- >>kept
   What many parts would compute again: products and kernels between the inputs and the outputs, computed once a trial,
   in pieces of their own, and held for all parts.  An MLP's hidden values are an example: every column of its result
   needs all of them.  Without memory, or once time is out, nothing is kept and the parts compute all they need. */

enum { MGI_KEPT_PIECES = 1024 };
typedef struct mgi_kept_run {
  const mgi_cut *cut;
  const mgi_trial *trial;
  int side, next, n, bad, threads;
  mg_tensor value;
  mg_box *piece;
  mgi_watch *watch;
  pthread_mutex_t lock;
} mgi_kept_run;

/* What one piece of a value takes on its side. */
MGI_FN mg_status mgi_piece_part(const mgi_kept_run *K, const mg_box *box, mg_part *part, mgi_cost *cost) {
  const mg_graph *g = K->cut->g[K->side];
  uint8_t *there = (uint8_t *)calloc(g->n_tensors, 1);
  if (!there) return MG_NO_MEMORY;
  for (uint32_t t = 1; t < g->n_tensors; t++) there[t] = K->trial->kept[K->side][t] != NULL && t != K->value.id;
  mg_status s = mg_part_of_value(g, K->value, box, there, part, NULL);
  free(there);
  if (s != MG_OK) return s;
  cost->elements = part->elements, cost->work = part->work;
  for (uint32_t k = 0; k < g->n_in; k++)
    cost->elements += (double)mg_box_elements(&part->box[g->in[k].id], g->tensors[g->in[k].id].shape.rank);
  return MG_OK;
}
/* Cuts the value into pieces that fit, along whichever dimension leaves the least for the largest. */
MGI_FN int mgi_kept_pieces(mgi_kept_run *K) {
  const mg_graph *g = K->cut->g[K->side];
  const mg_shape *s = &g->tensors[K->value.id].shape;
  const double room = mgi_bound_min2(MGI_PART_BYTES, K->cut->memory / 2 / K->threads);
  const double most = room / (double)mgi_elem_bytes(K->trial->elem);
  K->n = 1;
  memset(&K->piece[0], 0, sizeof K->piece[0]);
  for (int d = 0; d < s->rank; d++) K->piece[0].hi[d] = s->dim[d];
  /* all pieces in two alike, as long as the first is too large */
  for (int again = 1; again && 2 * K->n <= MGI_KEPT_PIECES;) {
    int best = -1;
    mg_part part;
    mgi_cost cost, least = {1e300, 1e300};
    if (mgi_piece_part(K, &K->piece[0], &part, &cost) != MG_OK) return 0;
    mg_part_free(&part);
    again = cost.elements > most || cost.work > MGI_PART_WORK;
    for (int d = 0; d < s->rank && again; d++) {
      mg_box half = K->piece[0];
      if (half.hi[d] - half.lo[d] < 2) continue;
      half.hi[d] = half.lo[d] + (half.hi[d] - half.lo[d] + 1) / 2;
      mgi_cost x;
      if (mgi_piece_part(K, &half, &part, &x) != MG_OK) return 0;
      mg_part_free(&part);
      if (x.elements < least.elements || (x.elements == least.elements && x.work < least.work)) least = x, best = d;
    }
    if (best < 0 || !(least.elements < 0.97 * cost.elements || least.work < 0.8 * cost.work)) break;
    for (int k = 0, n = K->n; k < n; k++) {
      mg_box *b = &K->piece[k];
      if (b->hi[best] - b->lo[best] < 2) continue;
      K->piece[K->n] = K->piece[k];
      b->hi[best] = K->piece[K->n++].lo[best] = b->lo[best] + (b->hi[best] - b->lo[best] + 1) / 2;
    }
  }
  return 1;
}
/* Copies `want` out of a dense array of `box` into a dense array of the whole. */
MGI_FN void mgi_kept_copy(const mg_shape *s, size_t bytes, const mg_box *want, const mg_box *box, const char *from,
                          char *to) {
  int64_t at[MG_MAX_RANK], n = want->hi[s->rank - 1] - want->lo[s->rank - 1];
  memcpy(at, want->lo, sizeof at);
  do {
    int64_t i = mgi_box_row(want, s, at), o = 0;
    for (int d = 0; d < s->rank; d++)
      o = o * (box->hi[d] - box->lo[d]) + (d < s->rank - 1 ? at[d] : want->lo[d]) - box->lo[d];
    memcpy(to + (size_t)i * bytes, from + (size_t)o * bytes, (size_t)n * bytes);
  } while (mgi_box_next_row(want, s->rank, at));
}
MGI_FN int mgi_kept_piece(const mgi_kept_run *K, const mg_box *want) {
  const mg_graph *g = K->cut->g[K->side];
  const mg_shape *s = &g->tensors[K->value.id].shape;
  const size_t bytes = mgi_elem_bytes(K->trial->elem);
  mg_field F = K->trial->F;
  void *in[MG_MAX_IN] = {NULL};
  mg_part part;
  mgi_cost cost;
  F.pattern = NULL;
  if (mgi_piece_part(K, want, &part, &cost) != MG_OK) return 0;
  void **given = (void **)calloc(g->n_tensors, sizeof *given),
       *out = malloc((size_t)mg_box_elements(&part.box[K->value.id], s->rank) * bytes);
  int good = given && out && mgi_part_inputs(K->trial, g, &part, in);
  for (uint32_t t = 1; t < g->n_tensors && given; t++) given[t] = t == K->value.id ? NULL : K->trial->kept[K->side][t];
  part.given = (const void *const *)given;
  if (good) {
    mg_domain d = mgi_trial_domain(K->trial, &F);
    good = mg_eval_part(g, &d, &part, (const void *const *)in, &out, NULL) == MG_OK;
  }
  if (good)
    mgi_kept_copy(s, bytes, want, &part.box[K->value.id], (const char *)out,
                  (char *)K->trial->kept[K->side][K->value.id]);
  for (int k = 0; k < MG_MAX_IN; k++) free(in[k]);
  free(out), free(given);
  mg_part_free(&part);
  return good;
}
MGI_FN void *mgi_kept_thread(void *arg) {
  mgi_kept_run *K = (mgi_kept_run *)arg;
  for (;;) {
    pthread_mutex_lock(&K->lock);
    int job = K->next++;
    K->bad |= mgi_watch_over(K->watch);
    int end = job >= K->n || K->bad;
    pthread_mutex_unlock(&K->lock);
    if (end) return NULL;
    if (mgi_kept_piece(K, &K->piece[job])) continue;
    pthread_mutex_lock(&K->lock);
    K->bad = 1;
    pthread_mutex_unlock(&K->lock);
  }
}
MGI_FN void mgi_kept_free(const mgi_cut *c, mgi_trial *t) {
  for (int side = 0; side < 2; side++) {
    for (uint32_t k = 1; t->kept[side] && k < c->g[side]->n_tensors; k++) free(t->kept[side][k]);
    free(t->kept[side]);
    t->kept[side] = NULL;
  }
}
/* Both sides' kept values of a trial; none at all if one could not be had. */
MGI_FN void mgi_kept_compute(const mgi_cut *c, mgi_trial *t, int threads, mgi_watch *w) {
  enum { MOST = 64 };
  t->kept[0] = t->kept[1] = NULL;
  if (!c->kept[0] && !c->kept[1]) return;
  int good = 1;
  mgi_kept_run K;
  memset(&K, 0, sizeof K);
  K.piece = (mg_box *)malloc(MGI_KEPT_PIECES * sizeof *K.piece);
  for (int side = 0; side < 2; side++)
    good &= (t->kept[side] = (void **)calloc(c->g[side]->n_tensors, sizeof **t->kept)) != NULL;
  good &= K.piece != NULL;
  K.cut = c, K.trial = t, K.watch = w, K.threads = threads < 1 ? 1 : threads;
  pthread_mutex_init(&K.lock, NULL);
  for (int side = 0; side < 2 && good; side++)
    for (uint32_t k = 1; k < c->g[side]->n_tensors && good; k++) { /* in the order in which they are made */
      if (!c->kept[side] || !c->kept[side][k]) continue;
      pthread_t id[MOST];
      int n = 0;
      K.side = side, K.value.id = k, K.next = 0;
      t->kept[side][k] = malloc((size_t)mg_shape_elements(&c->g[side]->tensors[k].shape) * mgi_elem_bytes(t->elem));
      good = t->kept[side][k] && mgi_kept_pieces(&K);
      if (!good) break;
      while (n < threads - 1 && n < MOST && n < K.n - 1 && pthread_create(&id[n], NULL, mgi_kept_thread, &K) == 0) n++;
      mgi_kept_thread(&K);
      while (n > 0) pthread_join(id[--n], NULL);
      good = !K.bad;
    }
  pthread_mutex_destroy(&K.lock);
  free(K.piece);
  if (!good) mgi_kept_free(c, t);
}
/* Marks what is worth it: results of products and kernels that take much work an element, and that no output is. */
MGI_FN void mgi_kept_choose(mgi_cut *c, double elements) {
  enum { WORTH = 256 };
  for (int side = 0; side < 2; side++) {
    const mg_graph *g = c->g[side];
    c->kept[side] = (uint8_t *)calloc(g->n_tensors, 1);
    for (uint32_t k = 1; c->kept[side] && k < g->n_ops; k++) {
      const mg_op_node *o = &g->ops[k];
      if (o->code != MG_OP_GRAPH && o->code != MG_OP_MATMUL && o->code != MG_OP_CONCAT_MATMUL) continue;
      double held = 0;
      int output = 0;
      for (int j = 0; j < o->n_out; j++) {
        held += (double)mg_shape_elements(&g->tensors[o->out[j].id].shape);
        output |= mg_is_output(g, o->out[j]);
      }
      mg_part part;
      mg_box whole;
      memset(&whole, 0, sizeof whole);
      for (int d = 0; d < g->tensors[o->out[0].id].shape.rank; d++) whole.hi[d] = g->tensors[o->out[0].id].shape.dim[d];
      if (output || held > elements || mg_part_of_value(g, o->out[0], &whole, c->kept[side], &part, NULL) != MG_OK)
        continue;
      if (part.work > WORTH * held) {
        for (int j = 0; j < o->n_out; j++) c->kept[side][o->out[j].id] = 1;
        elements -= held, c->held += held;
      }
      mg_part_free(&part);
    }
  }
}

MGI_FN void *mgi_run_thread(void *arg) {
  mgi_run *R = (mgi_run *)arg;
  for (;;) {
    pthread_mutex_lock(&R->lock);
    int job = R->next++, n = R->cut->n, t = job / n, skip = 0;
    if (job < R->trials * n) {
      mgi_watch *w = R->watch;
      skip = job % n > R->trial[t].worst; /* the trial has differed already; what comes before is still run */
      R->outcome[job].status = MG_OK;
      if (mgi_watch_over(w)) R->outcome[job].status = MG_LIMIT, skip = 1;
      else if (w->progress && mgi_seconds() > w->told + 0.1) {
        mg_verify_progress now = w->now;
        now.test += t, now.part = job % n, now.parts = n, w->told = mgi_seconds();
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
MGI_FN void mgi_run_all(const mgi_cut *c, mgi_trial *t, int trials, mgi_outcome *outcome, int threads, mgi_watch *w) {
  enum { MOST = 64 };
  mgi_run R;
  pthread_t id[MOST];
  int n = 0;
  memset(&R, 0, sizeof R);
  R.cut = c, R.trial = t, R.trials = trials, R.outcome = outcome, R.watch = w;
  for (int k = 0; k < trials; k++) t[k].worst = c->n, mgi_kept_compute(c, &t[k], threads, w);
  pthread_mutex_init(&R.lock, NULL);
  if (threads > MOST) threads = MOST;
  if (threads > trials * c->n) threads = trials * c->n;
  while (n < threads - 1 && pthread_create(&id[n], NULL, mgi_run_thread, &R) == 0) n++;
  mgi_run_thread(&R);
  while (n > 0) pthread_join(id[--n], NULL);
  pthread_mutex_destroy(&R.lock);
  for (int k = 0; k < trials; k++) mgi_kept_free(c, &t[k]);
}
/* Adds up a trial's outcomes, to the first that failed or differed. */
MGI_FN mgi_outcome mgi_trial_outcome_of(const mgi_cut *c, const mgi_outcome *part) {
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
  const mg_graph *g[2];      /* as they are evaluated: products may be in another order */
  const mg_graph *whole[2];  /* as they were given */
  mgi_cut cut[3];            /* by representation; n == 0: not made yet */
  double memory;             /* bytes */
  uint64_t root[4];          /* >>seeds */
  uint64_t seed;             /* of the float64 runs: of the root */
  int threads, q_bits;
  mgi_watch watch;
} mgi_bench;

/* How many parts may run at a time; 0 if not even one fits. */
MGI_FN int mgi_bench_threads(const mgi_bench *B, const mgi_cut *c, int elem) {
  double fit = (B->memory / (double)mgi_elem_bytes(elem) - c->held) / c->elements;
  return fit < 1 ? 0 : fit < B->threads ? (int)fit : B->threads;
}
/* Elements and work of all outputs in one part. */
MGI_FN mg_status mgi_bench_whole(const mgi_cut *c, double whole[2], mg_error *e) {
  mg_part part[2];
  mgi_cost cost;
  mgi_want all = mgi_want_all(c);
  mg_status s = mgi_parts_of(c, &all, part, &cost, e);
  if (s != MG_OK) return s;
  whole[0] = cost.elements, whole[1] = cost.work;
  mg_part_free(&part[0]), mg_part_free(&part[1]);
  return MG_OK;
}
MGI_FN mg_status mgi_bench_cut(mgi_bench *B, int elem, mgi_cut **out, mg_error *e) {
  mgi_cut *c = *out = &B->cut[elem];
  if (!c->n) {
    double bytes = mgi_bound_min2(MGI_PART_BYTES, B->memory / 2), whole[2];
    c->g[0] = B->g[0], c->g[1] = B->g[1], c->memory = B->memory;
    mg_status s = mgi_bench_whole(c, whole, e);
    if (s == MG_OK) s = mgi_cut_outputs(mgi_elem_bytes(elem), bytes, c, e);
    /* the parts compute much again: what it is made of is kept */
    if (s == MG_OK && c->n > 1 && c->work > 1.5 * whole[1]) {
      mgi_cut_free(c);
      memset(c, 0, sizeof *c);
      c->g[0] = B->g[0], c->g[1] = B->g[1], c->memory = B->memory;
      mgi_kept_choose(c, B->memory / 4 / (double)mgi_elem_bytes(elem));
      s = mgi_cut_outputs(mgi_elem_bytes(elem), bytes, c, e);
    }
    if (s != MG_OK) return s;
  }
  double need = c->elements * (double)mgi_elem_bytes(elem);
  if (need > B->memory)
    return mg_fail(e, MG_LIMIT, "mg_verify", "memory: one part of a test takes %.3g GiB, the limit is %.3g GiB",
                   need / ((size_t)1 << 30), B->memory / ((size_t)1 << 30));
  return MG_OK;
}

/* The next draw of a test, the first if t->draw is 0; one without a prime is replaced, like one with a zero divisor.  0
   if there have been MG_VERIFY_DRAWS. */
MGI_FN int mgi_trial_setup(mgi_trial *t, const mgi_bench *B, int kind, int test) {
  mg_status s = MG_NOT_FOUND;
  while (s != MG_OK && t->draw < MG_VERIFY_DRAWS) {
    t->elem = kind & MGI_PAIR_TEST ? MGI_ELEM_PAIR : MGI_ELEM_WORD;
    mgi_seed_draw(B->root, kind, test, t->draw++, t->from);
    s = kind & MGI_PAIR_TEST ? mgi_field_pair(t->from[0], B->q_bits, &t->F) : mg_field_large(t->from[0], 1, &t->F);
  }
  t->F.order = mgi_ff_hash(t->F.order, t->from[3], 16);
  for (int k = 1; k < MG_OP_TABLE_END; k++) t->F.key[k] = mgi_ff_hash(t->F.key[k], t->from[2], 17);
  t->F.max_opaque = !(kind & MGI_ORDER_TEST);
  if (s == MG_OK && (kind & MGI_ORDER_TEST)) mg_field_levels(&t->F, B->g, 2, 0);
  t->F.deadline = B->watch.deadline, t->F.stop = B->watch.stop;
  if (s == MG_OK && t->F.q && !t->powers) t->powers = (uint64_t *)malloc(8 * 256 * sizeof *t->powers);
  if (s == MG_OK && t->F.q && t->powers) {
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
MGI_FN mgi_trial_result mgi_tests(mgi_bench *B, int kind, int tests, mg_verify_report *r, int *output, mg_error *e) {
  mgi_cut *c;
  mgi_trial_result result = MGI_TRIAL_AGREE;
  uint64_t pattern[MG_VERIFY_TESTS];
  int elem = kind & MGI_PAIR_TEST ? MGI_ELEM_PAIR : MGI_ELEM_WORD;
  r->tests = 0, r->compared = 0, r->patterns = 0;
  if (mgi_bench_cut(B, elem, &c, e) != MG_OK) return MGI_TRIAL_FAULT;
  int threads = mgi_bench_threads(B, c, elem), wave = (2 * threads + c->n - 1) / c->n;
  if (wave > tests || threads == 1) wave = threads == 1 ? 1 : tests;
  if (c->kept[0] || c->kept[1]) wave = 1; /* what is kept is of one trial at a time */
  mgi_trial *t = (mgi_trial *)calloc((size_t)wave, sizeof *t);
  mgi_outcome *o = (mgi_outcome *)calloc((size_t)wave * (size_t)c->n, sizeof *o);
  if (!t || !o) mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for a test"), result = MGI_TRIAL_FAULT;
  B->watch.now.kind = kind, B->watch.now.tests = tests;
  for (int done = 0, n; done < tests && result == MGI_TRIAL_AGREE; done += n) {
    n = tests - done < wave ? tests - done : wave;
    B->watch.now.test = done;
    for (int k = 0; k < n && result == MGI_TRIAL_AGREE; k++) {
      t[k].draw = 0;
      if (!mgi_trial_setup(&t[k], B, kind, done + k))
        mg_fail(e, MG_UNSUPPORTED, "mg_verify", "no prime was found"), result = MGI_TRIAL_FAULT;
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
  for (int k = 0; t && k < wave; k++) free(t[k].powers);
  free(t), free(o);
  return result;
}

/* -------------------------------------------------------------------------------------------------- >>floats
   The same pair over doubles, on inputs of several ranges: signed, positive, small (so that an epsilon counts),
   large. */

/* bits 2 to 6 of a seed where they name no input */
enum { MGI_REAL_QUIET = 31, MGI_REAL_LEVELS = 30, MGI_REAL_ZEROS = 29 };

/* Of a filled input, what it is: fields take any, but what refutes has to be a run that can be. */
MGI_FN double mgi_real_input(uint64_t seed, const mg_tensor_info *t, int k, int64_t i) {
  if (t->fill) return (double)mg_filled(t, i);
  static const double lo[4] = {-2, 0.25, -0.001, -8}, hi[4] = {2, 2, 0.001, 8};
  int range = (int)(seed & 3), loud = (int)(seed >> 2 & 31);
  double shift = loud == k ? seed >> 7 & 1 ? -64 : 64 : 0, wide = hi[range] - lo[range], from = lo[range];
  if (loud == MGI_REAL_LEVELS)
    from += wide * ldexp((double)(mgi_ff_hash(seed, (uint64_t)k, 11) >> 11), -53), wide /= 256;
  const uint64_t h = mgi_ff_hash(mgi_ff_hash(seed, (uint64_t)k, 9), (uint64_t)i, 0);
  return loud == MGI_REAL_ZEROS && h & 1 ? 0 : shift + from + wide * ldexp((double)(h >> 11), -53);
}
/* Bits 2 to 7 of a seed: quiet rounds first, the latter with zeros where a choice looks for them; then each input above
   and below all others; from `plain` on levels. */
MGI_FN uint64_t mgi_real_loud(uint64_t round, uint64_t plain, int zeros) {
  if (round >= plain) return (uint64_t)MGI_REAL_LEVELS;
  if (round < 4) return zeros && round >= 2 ? (uint64_t)MGI_REAL_ZEROS : (uint64_t)MGI_REAL_QUIET;
  return ((round - 4) >> 1) | ((round & 1) << 5);
}
/* 1 if a choice by what is 0 stands in g. */
MGI_FN int mgi_has_choice(const mg_graph *g) {
  int found = 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    found |= g->ops[k].sub ? mgi_has_choice(g->ops[k].sub)
                           : g->ops[k].code == MG_OP_KEEP || g->ops[k].code == MG_OP_DROP;
  return found;
}
void mg_verify_input_index(const mg_graph *a, const mg_graph *b, uint64_t seed, int k, int32_t *dst) {
  const int64_t n = mgi_trial_elements(a, a->in[k]), mine = mg_index_bound(a, a->in[k]),
                its = b ? mg_index_bound(b, b->in[k]) : mine;
  const int64_t bound = mine < its ? mine : its;
  for (int64_t i = 0; i < n; i++)
    dst[i] = (int32_t)(mgi_ff_hash(mgi_ff_hash(seed, (uint64_t)k, 15), (uint64_t)i, 0) % (uint64_t)bound);
  const uint64_t turn = mgi_ff_hash(seed, (uint64_t)k, 16);
  /* all unlike, if they can be */
  for (int64_t i = 0; i < n && turn & 1; i++) dst[i] = (int32_t)((i + (int64_t)(turn >> 8 & 0xFFFF)) % bound);
}
void mg_verify_input_real(const mg_graph *g, uint64_t seed, int k, double *dst) {
  int64_t n = mgi_trial_elements(g, g->in[k]);
  for (int64_t i = 0; i < n; i++) dst[i] = mgi_real_input(seed, &g->tensors[g->in[k].id], k, i);
}

/* A double and a bound on how far it may be from the exact value: what the operands' bounds move (the row at the
   corners of their box) and rounding.  Infinite once anything on the way was not finite. */
#define MGI_BALL_U 2.3e-16

MGI_FN mg_status mgi_ball_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
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
        double x = a->v + (m & 1 ? a->err : -a->err), y = same ? x : b->v + (m & 2 ? b->err : -b->err),
               z = c + (m & 4 ? ulp_c : -ulp_c);
        if (((m & 2) && (same || b->err == 0)) || ((m & 4) && ulp_c == 0)) continue;
        double gap = fabs(mg_op_real(op, x, y, z) - v);
        if (!(gap <= moved)) moved = gap; /* NaN too */
      }
      if (op == MG_OP_DIV && fabs(b->v) <= b->err) moved = INFINITY; /* the box holds a zero divisor */
      /* or both choices */
      if ((op == MG_OP_KEEP || op == MG_OP_DROP) && a->err > 0 && fabs(a->v) <= a->err) moved = INFINITY;
      double err = moved + 8 * MGI_BALL_U * (fabs(v) + (functions ? fabs(a->v) + fabs(b->v) : 0));
      o->v = v,
      o->err = isfinite(a->v) && isfinite(b->v) && isfinite(a->err) && isfinite(b->err) && isfinite(err) && isfinite(v)
                   ? err
                   : INFINITY;
    }
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}
MGI_FN mg_status mgi_ball_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
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
MGI_FN mg_status mgi_ball_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
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
MGI_FN void mgi_ball_fill(void *user, mg_opcode op, void *dst, size_t n) {
  mgi_ball *d = (mgi_ball *)dst;
  (void)user;
  for (size_t k = 0; k < n; k++) d[k].v = op == MG_OP_SUM ? 0 : -INFINITY, d[k].err = 0;
}

MGI_FN mg_domain mgi_domain_ball(const mg_field *F) {
  mg_domain d = mg_domain_field(F); /* of which only the deadline is used */
  d.elem = sizeof(mgi_ball), d.map = mgi_ball_map, d.matmul = mgi_ball_matmul, d.combine = mgi_ball_combine,
  d.fill = mgi_ball_fill;
  return d;
}
/* The relative gap, if rounding cannot explain it; else 0. */
MGI_FN double mgi_ball_gap(mgi_ball x, mgi_ball y) {
  double gap = fabs(x.v - y.v);
  return gap > 2 * (x.err + y.err) && isfinite(gap) ? gap / mgi_bound_max2(fabs(x.v), fabs(y.v)) : 0;
}

/* Looks for a difference that rounding cannot explain; r->confirmed says whether there is one.  Where no element was
   finite on both sides (the root of a difference, say), inputs that keep to a level each may do. */
MGI_FN mg_status mgi_verify_floats(mgi_bench *B, int maximum, mg_verify_report *r, mg_error *e) {
  mgi_cut *c;
  mgi_trial t;
  mg_status s = mgi_bench_cut(B, MGI_ELEM_BALL, &c, e);
  if (s != MG_OK) return s;
  mgi_outcome *o = (mgi_outcome *)calloc((size_t)c->n, sizeof *o);
  if (!o) return mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the float64 run");
  double worst = 0; /* relative gap of the counterexample so far; a plain one ends the search */
  /* with a maximum: each input once above and once below all others */
  uint64_t plain = maximum ? 4 + 2 * (uint64_t)B->g[0]->n_in : 4;
  /* the last 32 only while nothing was finite: two levels are in order every other time */
  uint64_t compared = 0, rounds = plain + 40;
  memset(&t, 0, sizeof t);
  t.elem = MGI_ELEM_BALL, t.F.deadline = B->watch.deadline, t.F.stop = B->watch.stop;
  B->watch.now.kind = -1, B->watch.now.tests = (int)plain;
  const int zeros = mgi_has_choice(B->g[0]) || mgi_has_choice(B->g[1]);
  for (uint64_t round = 0; round < rounds && s == MG_OK && worst < 1e-6; round++) {
    if ((round == plain || round >= plain + 8) && compared) break;
    uint64_t loud = mgi_real_loud(round, plain, zeros);
    t.seed = (mgi_ff_hash(B->seed, round, 10) & ~(uint64_t)255) | loud << 2 |
             (round < 4        ? round
              : round >= plain ? round & 1
                               : 0);
    B->watch.now.test = (int)round;
    mgi_run_all(c, &t, 1, o, mgi_bench_threads(B, c, MGI_ELEM_BALL), &B->watch);
    mgi_outcome x = mgi_trial_outcome_of(c, o);
    if (x.status != MG_OK) {
      s = x.status, *e = x.error;
      if (e->status == MG_OK) mg_fail(e, s, "mg_verify", "the float64 run failed");
    } else if (x.gap > worst) {
      worst = x.gap;
      r->confirmed = 1, r->cx_seed = t.seed, r->cx_output = x.output, r->cx_element = x.element, r->cx_a = x.a,
      r->cx_b = x.b;
    }
    compared += x.compared;
  }
  free(o);
  return s;
}

/* ---------------------------------------------------------------------------------------------------- >>wide
   Float64 runs that refute, or define, before EQUAL is said (DOMAINS in the header comment).  A value is
   (v +- err) 2^e, so that nothing overflows, or proved to be undefined: a division by exactly 0, a logarithm or a root
   of what is below its domain by more than the bound.  What the bound does not separate is unknown, and refutes
     nothing.  sizes   the graphs' own where all runs take little work; else dimensions of at most 8, or 4, with axes of
             2 where these cut chunks of more than one, of no attribute's extent, that the block does not take apart,
             made alike by the inputs and outputs (mg_resize).  Where that is not possible, or too large still, there
             are no runs.  What is refuted there is another pair: it has to be at the own sizes too, by the same run or
             others; where that takes more than MGI_WIDE_CONFIRM it is not decided.
     runs    at most 64, fewer where they take more than MGI_WIDE_WORK in all, by the seed alone.
  Requirement 1: a verdict depends on the seed and the graphs, not on time. */

enum { MGI_WIDE_RUNS = 64, MGI_WIDE_WORK = 4000000, MGI_WIDE_OWN = 30000, MGI_WIDE_CONFIRM = 10 * MGI_WIDE_WORK };
enum { MGI_WIDE_OK, MGI_WIDE_UNKNOWN, MGI_WIDE_UNDEFINED, MGI_WIDE_LOWEST /* the maximum of nothing */ };
typedef struct mgi_wide { double v, err; int64_t e; int state; } mgi_wide;

MGI_FN mgi_wide mgi_wide_state(int state) {
  mgi_wide r;
  r.v = r.err = 0, r.e = 0, r.state = state;
  return r;
}
/* (v +- err) 2^e, with room for the bound's own rounding, v and err kept within 2^-500 and 2^500. */
MGI_FN mgi_wide mgi_wide_of(double v, double err, int64_t e) {
  mgi_wide r;
  double most;
  err += err * 1e-14, most = fabs(v) > err ? fabs(v) : err;
  if (!isfinite(most)) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  r.v = v, r.err = err, r.e = most == 0 ? 0 : e, r.state = MGI_WIDE_OK;
  if (most != 0 && (most > 0x1p500 || most < 0x1p-500)) {
    int k;
    frexp(most, &k);
    r.v = ldexp(v, -k), r.err = ldexp(err, -k) + (r.v != v && err != 0 ? 1e-300 : 0), r.e += k;
    if (fabs(r.v) < 1e-290 && v != 0) r.err += 1e-300; /* bits may have been lost */
  }
  if (r.e > (int64_t)1 << 60 || r.e < -((int64_t)1 << 60)) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  return r;
}
MGI_FN mgi_wide mgi_wide_number(double v) { return mgi_wide_of(v, 0, 0); }
/* The state of a result of two, if it is not that both are numbers. */
MGI_FN int mgi_wide_joined(mgi_wide a, mgi_wide b) {
  return a.state == MGI_WIDE_UNDEFINED || b.state == MGI_WIDE_UNDEFINED ? MGI_WIDE_UNDEFINED
         : a.state == MGI_WIDE_OK && b.state == MGI_WIDE_OK             ? MGI_WIDE_OK
                                                                        : MGI_WIDE_UNKNOWN;
}
MGI_FN mgi_wide mgi_wide_neg(mgi_wide a) {
  a.v = -a.v;
  return a.state == MGI_WIDE_LOWEST ? mgi_wide_state(MGI_WIDE_UNKNOWN) : a;
}
MGI_FN mgi_wide mgi_wide_add(mgi_wide a, mgi_wide b) {
  if ((a.state == MGI_WIDE_LOWEST && b.state == MGI_WIDE_OK) || (b.state == MGI_WIDE_LOWEST && a.state == MGI_WIDE_OK))
    return mgi_wide_state(MGI_WIDE_LOWEST);
  const int state = mgi_wide_joined(a, b);
  if (state) return mgi_wide_state(state);
  if (a.v == 0 && a.err == 0) return b;
  if (b.v == 0 && b.err == 0) return a;
  if (a.e < b.e) { mgi_wide t = a; a = b, b = t; }
  double v = b.v, err = b.err, lost = 0;
  if (a.e != b.e) {
    const int64_t d = a.e - b.e;
    const int by = d > 2000 ? -2000 : -(int)d;
    v = ldexp(v, by), err = ldexp(err, by), lost = d > 400 ? 1e-300 : 0;
  }
  const double sum = a.v + v, part = sum - a.v,
               rest = (a.v - (sum - part)) + (v - part); /* what rounding left: exactly that */
  return mgi_wide_of(sum, a.err + err + lost + fabs(rest), a.e);
}
MGI_FN mgi_wide mgi_wide_mul(mgi_wide a, mgi_wide b) {
  const int state = mgi_wide_joined(a, b);
  if (state) return mgi_wide_state(state);
  const double v = a.v * b.v, rest = fabs(fma(a.v, b.v, -v)) + (fabs(v) < 1e-280 && a.v != 0 && b.v != 0 ? 1e-300 : 0);
  return mgi_wide_of(v, fabs(a.v) * b.err + fabs(b.v) * a.err + a.err * b.err + rest, a.e + b.e);
}
MGI_FN mgi_wide mgi_wide_div(mgi_wide a, mgi_wide b) {
  if (b.state == MGI_WIDE_OK && b.v == 0 && b.err == 0) return mgi_wide_state(MGI_WIDE_UNDEFINED);
  const int state = mgi_wide_joined(a, b);
  if (state) return mgi_wide_state(state);
  const double least = fabs(b.v) - b.err;
  if (!(least > 0)) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  const double v = a.v / b.v, rest = fma(v, b.v, -a.v) == 0 && (fabs(a.v) > 1e-280 || a.v == 0)
                                         ? 0
                                         : 2 * MGI_BALL_U * fabs(v) + 1e-300;
  return mgi_wide_of(v, (a.err + fabs(v) * b.err) / least + rest, a.e - b.e);
}
MGI_FN mgi_wide mgi_wide_exp(mgi_wide a) {
  if (a.state == MGI_WIDE_LOWEST) return mgi_wide_number(0);
  if (a.state) return a;
  if (a.e > 60) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  const double x = ldexp(a.v, a.e < -2000 ? -2000 : (int)a.e),
               moved = ldexp(a.err, a.e < -2000 ? -2000 : (int)a.e) + MGI_BALL_U * 4 * fabs(x) + 1e-300;
  if (!(fabs(x) < 0x1p50) || !(moved < 0.5)) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  const double n = floor(x / 0.69314718055994531), rest = x - n * 0.69314718055994531, v = exp(rest);
  return mgi_wide_of(v, v * (2 * moved + 8 * MGI_BALL_U + 2 * MGI_BALL_U * fabs(n)), (int64_t)n);
}
MGI_FN mgi_wide mgi_wide_log(mgi_wide a) {
  if (a.state == MGI_WIDE_LOWEST) return mgi_wide_state(MGI_WIDE_UNDEFINED);
  if (a.state) return a;
  if (a.v + a.err <= 0) return mgi_wide_state(MGI_WIDE_UNDEFINED);
  if (!(a.v - a.err > 0)) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  const double x = log(a.v), y = (double)a.e * 0.69314718055994531, v = x + y;
  return mgi_wide_of(v, -log1p(-a.err / a.v) + 4 * MGI_BALL_U * (fabs(x) + fabs(y) + fabs(v)), 0);
}
MGI_FN mgi_wide mgi_wide_sqrt(mgi_wide a) {
  if (a.state == MGI_WIDE_LOWEST) return mgi_wide_state(MGI_WIDE_UNDEFINED);
  if (a.state || (a.v == 0 && a.err == 0)) return a;
  if (a.v + a.err < 0) return mgi_wide_state(MGI_WIDE_UNDEFINED);
  if (!(a.v - a.err >= 0)) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  if (a.e & 1) a.v *= 2, a.err *= 2, a.e--;
  const double v = sqrt(a.v);
  return mgi_wide_of(v, a.err / v + 2 * MGI_BALL_U * v, a.e / 2);
}
MGI_FN mgi_wide mgi_wide_max(mgi_wide a, mgi_wide b) {
  if (a.state == MGI_WIDE_LOWEST && b.state != MGI_WIDE_UNDEFINED) return b;
  if (b.state == MGI_WIDE_LOWEST && a.state != MGI_WIDE_UNDEFINED) return a;
  const int state = mgi_wide_joined(a, b);
  if (state) return mgi_wide_state(state);
  const mgi_wide d = mgi_wide_add(a, mgi_wide_neg(b));
  if (d.state) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  if (d.v >= d.err) return a;
  if (d.v <= -d.err) return b;
  mgi_wide r = d.v > 0 ? a : b; /* within the bound of each other: the other is at most 2 d.err away */
  mgi_wide apart = mgi_wide_of(0, fabs(d.v) + d.err, d.e);
  return mgi_wide_add(r, apart);
}
/* What keep or drop makes of b: what is not chosen may be undefined. */
MGI_FN mgi_wide mgi_wide_choice(int keep, mgi_wide a, mgi_wide b) {
  const int zero = a.v == 0 && a.err == 0, nonzero = fabs(a.v) > a.err;
  if (a.state) return mgi_wide_state(a.state == MGI_WIDE_UNDEFINED ? MGI_WIDE_UNDEFINED : MGI_WIDE_UNKNOWN);
  if (!zero && !nonzero) return mgi_wide_state(MGI_WIDE_UNKNOWN);
  return nonzero != keep ? mgi_wide_number(0) : b.state == MGI_WIDE_LOWEST ? mgi_wide_state(MGI_WIDE_UNKNOWN) : b;
}
MGI_FN mgi_wide mgi_wide_rat(mg_rational c) {
  return mgi_wide_div(mgi_wide_number((double)c.num), mgi_wide_number((double)c.den));
}

/* What the row says over doubles, with its bound (mgi_ball_map); not a number there: unknown. */
MGI_FN mgi_wide mgi_wide_by_ball(mg_opcode op, mg_rational c, const mgi_wide *x) {
  mgi_ball ball[3];
  mg_view view[3];
  memset(view, 0, sizeof view), memset(ball, 0, sizeof ball);
  for (int k = 0; k < 3; k++)
    view[k].data = &ball[k], view[k].shape.rank = 1, view[k].shape.dim[0] = 1, view[k].stride[0] = 1;
  for (int k = 0; k < mg_op_row(op)->n_in && k < 2; k++) {
    if (x[k].state == MGI_WIDE_UNDEFINED) return x[k];
    if (x[k].state || x[k].e > 400 || x[k].e < -400) return mgi_wide_state(MGI_WIDE_UNKNOWN);
    ball[k + 1].v = ldexp(x[k].v, (int)x[k].e), ball[k + 1].err = ldexp(x[k].err, (int)x[k].e);
  }
  mgi_ball_map(NULL, op, c, &view[0], &view[1]);
  return isfinite(ball[0].err) ? mgi_wide_of(ball[0].v, ball[0].err, 0) : mgi_wide_state(MGI_WIDE_UNKNOWN);
}
MGI_FN mgi_wide mgi_wide_apply(mg_opcode op, mg_rational c, const mgi_wide *x) {
  switch (op) {
    case MG_OP_ADD: return mgi_wide_add(x[0], x[1]);
    case MG_OP_SUB: return mgi_wide_add(x[0], mgi_wide_neg(x[1]));
    case MG_OP_MUL: return mgi_wide_mul(x[0], x[1]);
    case MG_OP_DIV: return mgi_wide_div(x[0], x[1]);
    case MG_OP_EXP: return mgi_wide_exp(x[0]);
    case MG_OP_SQR: return mgi_wide_mul(x[0], x[0]);
    case MG_OP_SQRT: return mgi_wide_sqrt(x[0]);
    case MG_OP_LOG: return mgi_wide_log(x[0]);
    case MG_OP_NEG: return mgi_wide_neg(x[0]);
    case MG_OP_RELU: return mgi_wide_max(x[0], mgi_wide_number(0));
    case MG_OP_SIGMOID:
      return mgi_wide_div(mgi_wide_number(1), mgi_wide_add(mgi_wide_number(1), mgi_wide_exp(mgi_wide_neg(x[0]))));
    case MG_OP_RSQRT: return mgi_wide_div(mgi_wide_number(1), mgi_wide_sqrt(x[0]));
    case MG_OP_ABS: return mgi_wide_max(x[0], mgi_wide_neg(x[0]));
    case MG_OP_MAXIMUM: return mgi_wide_max(x[0], x[1]);
    case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: return x[0];
    case MG_OP_MINIMUM: return mgi_wide_neg(mgi_wide_max(mgi_wide_neg(x[0]), mgi_wide_neg(x[1])));
    case MG_OP_CLAMP_MIN: return mgi_wide_max(x[0], mgi_wide_rat(c));
    case MG_OP_CLAMP_MAX: return mgi_wide_neg(mgi_wide_max(mgi_wide_neg(x[0]), mgi_wide_neg(mgi_wide_rat(c))));
    case MG_OP_SILU: return mgi_wide_div(x[0], mgi_wide_add(mgi_wide_number(1), mgi_wide_exp(mgi_wide_neg(x[0]))));
    case MG_OP_SCALE: return mgi_wide_mul(x[0], mgi_wide_rat(c));
    case MG_OP_ADD_SCALAR: return mgi_wide_add(x[0], mgi_wide_rat(c));
    case MG_OP_KEEP: case MG_OP_DROP: return mgi_wide_choice(op == MG_OP_KEEP, x[0], x[1]);
    default: return mgi_wide_by_ball(op, c, x);
  }
}
MGI_FN mg_status mgi_wide_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  const int r = out->shape.rank, two = mg_op_row(op)->n_in > 1;
  (void)user;
  do {
    mgi_wide *o = (mgi_wide *)out->data + mgi_ff_row_offset(out, at, r - 1), x[2];
    const mgi_wide *a = (const mgi_wide *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1),
                   *b = two ? (const mgi_wide *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : NULL;
    x[1] = mgi_wide_number(0);
    for (int64_t k = 0; k < out->shape.dim[r - 1]; k++) {
      x[0] = a[k * in[0].stride[r - 1]];
      if (two) x[1] = b[k * in[1].stride[r - 1]];
      o[k * out->stride[r - 1]] = mgi_wide_apply(op, c, x);
    }
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}
MGI_FN mg_status mgi_wide_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  (void)user;
  for (int64_t i = 0; i < c->shape.dim[0]; i++)
    for (int64_t j = 0; j < c->shape.dim[1]; j++)
      for (int64_t k = 0; k < a->shape.dim[1]; k++) {
        mgi_wide *o = (mgi_wide *)c->data + i * c->stride[0] + j * c->stride[1];
        *o = mgi_wide_add(*o, mgi_wide_mul(((const mgi_wide *)a->data)[i * a->stride[0] + k * a->stride[1]],
                                           ((const mgi_wide *)b->data)[k * b->stride[0] + j * b->stride[1]]));
      }
  return MG_OK;
}
MGI_FN mg_status mgi_wide_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  const int r = in->shape.rank;
  (void)user;
  do {
    mgi_wide *o = (mgi_wide *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const mgi_wide *a = (const mgi_wide *)in->data + mgi_ff_row_offset(in, at, r - 1);
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++, o += out->stride[r - 1], a += in->stride[r - 1])
      *o = op == MG_OP_SUM ? mgi_wide_add(*o, *a) : mgi_wide_max(*o, *a);
  } while (mgi_ff_next_row(&in->shape, at));
  return MG_OK;
}
MGI_FN void mgi_wide_fill(void *user, mg_opcode op, void *dst, size_t n) {
  (void)user;
  for (size_t k = 0; k < n; k++)
    ((mgi_wide *)dst)[k] = op == MG_OP_SUM ? mgi_wide_number(0) : mgi_wide_state(MGI_WIDE_LOWEST);
}

/* ---- the inputs of a run */

/* What a run does: `size` of all values, or whole numbers from -1 to 1, which meet zeros; `signs` a sign for each
   input, if not mixed; `naught` the input that is 0; `input`, or one row, column or element of it, above or below all
   else. */
typedef struct mgi_wide_plan {
  double size;
  int whole, mixed, naught, input, part, below;
  uint64_t signs;
} mgi_wide_plan;
enum { MGI_WIDE_PLAIN = 8 /* zeros, mixed, small, large, four of whole numbers */ };
MGI_FN int mgi_wide_patterns(int n) {
  return n <= 5 ? 1 << n : MGI_WIDE_RUNS - MGI_WIDE_PLAIN - 3 * n > 8 ? MGI_WIDE_RUNS - MGI_WIDE_PLAIN - 3 * n : 8;
}
MGI_FN mgi_wide_plan mgi_wide_planned(uint64_t seed, int run, int n) {
  static const double plain[4] = {0, 1, 1e-3, 100};
  mgi_wide_plan p;
  const int patterns = mgi_wide_patterns(n);
  memset(&p, 0, sizeof p);
  p.size = 1, p.mixed = 1, p.naught = p.input = -1;
  if (run < MGI_WIDE_PLAIN) {
    p.whole = run >= 4, p.size = plain[run & 3];
    return p;
  }
  run -= MGI_WIDE_PLAIN;
  if (run < n) {
    p.naught = run;
    return p;
  }
  run -= n;
  if (run < patterns) {
    p.mixed = 0, p.signs = n <= 5 ? (uint64_t)run : mgi_ff_hash(seed, (uint64_t)run, 21);
    return p;
  }
  run -= patterns;
  if (run < 8 * n) { /* whole inputs first; then rows, columns, elements */
    const int k = run % (2 * n);
    p.part = run / (2 * n), p.input = k >> 1, p.below = k & 1;
  }
  return p;
}
MGI_FN int mgi_wide_count(int n) {
  const int all = MGI_WIDE_PLAIN + mgi_wide_patterns(n) + 9 * n;
  return all < MGI_WIDE_RUNS ? all : (int)MGI_WIDE_RUNS;
}
MGI_FN double mgi_wide_input(const mgi_wide_plan *p, uint64_t seed, int k, const mg_shape *s, int64_t i) {
  const uint64_t h = mgi_ff_hash(mgi_ff_hash(seed, (uint64_t)k, 22), (uint64_t)i, 23);
  const int64_t columns = s->dim[s->rank - 1], row = i / columns, rows = mg_shape_elements(s) / columns;
  const int64_t pick = (int64_t)(mgi_ff_hash(seed, (uint64_t)k, 24) >> 1);
  const int minus = p->mixed ? (int)(h & 1) : (int)(p->signs >> (k & 63) & 1);
  if (p->naught == k) return 0;
  if (p->whole) return (double)((int)((h >> 8) % 3) - 1);
  const double x = p->size * (0.25 + 1.75 * ldexp((double)(h >> 11), -53));
  const int in = p->input == k &&
                 (p->part == 0 || (p->part == 1 && row == pick % rows) ||
                  (p->part == 2 && i % columns == pick % columns) || (p->part == 3 && i == pick % (rows * columns)));
  return in ? p->below ? -64 - x : 64 + x : minus ? -x : x;
}

/* ---- sizes */

/* 1 if a block of the kernel takes its chunks apart or puts chunks together: what it makes then depends on their
   size. */
MGI_FN int mgi_wide_moves(const mg_graph *kernel) {
  for (uint32_t k = 1; k < kernel->n_ops; k++) {
    const mg_op_node *o = &kernel->ops[k];
    if (o->code == MG_OP_SLICE || o->code == MG_OP_CONCAT || o->code == MG_OP_CONCAT_MATMUL) return 1;
    if (o->code == MG_OP_RESHAPE || o->code == MG_OP_REPEAT || (o->sub && mgi_wide_moves(o->sub))) return 1;
  }
  return 0;
}
/* How many blocks or iterations axis x of a kernel of g has at other extents (by class; of those of fixed[] they are
   its own).  As many as it had where it cuts nothing, as a sum over it is a multiple then, and where the size of a
   chunk says what is made of it; a chunk of 1 stays one, as much is alike over it that is not over two; else 2. */
MGI_FN int64_t mgi_wide_axis(const mg_graph *g, const mg_graph *kernel, uint32_t x, const mg_classes *c,
                             const int64_t *extent, const uint8_t *fixed) {
  const int64_t own = kernel->axes[x].extent;
  int64_t single = 0;
  int cuts = 0, stays = mgi_wide_moves(kernel), stores = 0;
  for (uint32_t k = 1; k < kernel->n_ops; k++) {
    const mg_op_node *o = &kernel->ops[k];
    const int to = o->map.to[x], store = o->code == MG_OP_STORE ? stores++ : -1;
    if ((o->code != MG_OP_LOAD && o->code != MG_OP_STORE && o->code != MG_OP_ACCUM) || to < 0) continue;
    cuts = 1;
    if (o->code == MG_OP_ACCUM) continue;
    const mg_tensor whole = store < 0 ? o->in[0] : g->ops[kernel->up_op].out[store];
    const int32_t class_of = c->of[whole.id * MG_MAX_RANK + (uint32_t)to];
    if (class_of < 0) continue;
    stays |= fixed[class_of];
    int others = store >= 0 || g->tensors[whole.id].shape.dim[to] != own;
    for (uint32_t y = 1; y < kernel->n_axes; y++) others |= y != x && o->map.to[y] == to;
    if (!others) single = extent[class_of];
  }
  return !cuts || stays ? own : single ? single : own > 1 ? 2 : 1;
}
/* Both graphs with dimensions of at most `most` and few blocks and iterations, but those of the classes of an index
   where `keep` is not NULL; out are to be freed.  0 if there are none such. */
MGI_FN int mgi_wide_resized(const mg_graph *const *g, int64_t most, const mg_parallel *keep, mg_graph **out) {
  mg_classes c[2];
  mg_error e;
  uint32_t n = 0;
  out[0] = out[1] = NULL;
  if (mg_classes_of(g[0], &c[0], &e) != MG_OK) return 0;
  if (mg_classes_of(g[1], &c[1], &e) != MG_OK) { mg_classes_free(&c[0]); return 0; }
  n = c[0].n + c[1].n;
  const int kernels = mg_ops_before(g[1], g[1]->n_ops, MG_OP_GRAPH);
  uint32_t *uf = (uint32_t *)calloc(n + 1, sizeof *uf);
  int64_t *extent = (int64_t *)calloc(n + 1, sizeof *extent),
          *counts = (int64_t *)calloc((size_t)(kernels + 1) * (MG_MAX_AXES + 1), sizeof *counts);
  uint8_t *fixed = (uint8_t *)calloc(n + 1, 1);
  int good = uf && extent && counts && fixed;
  for (uint32_t k = 0; good && k < n; k++) uf[k] = k;
  for (uint32_t k = 0; good && k < g[0]->n_in + g[0]->n_out; k++) {
    const mg_tensor x = k < g[0]->n_in ? g[0]->in[k] : g[0]->out[k - g[0]->n_in],
                    y = k < g[0]->n_in ? g[1]->in[k] : g[1]->out[k - g[0]->n_in];
    for (int d = 0; d < g[0]->tensors[x.id].shape.rank; d++) {
      const int32_t a = c[0].of[x.id * MG_MAX_RANK + (uint32_t)d], b = c[1].of[y.id * MG_MAX_RANK + (uint32_t)d];
      if (a >= 0 && b >= 0) mgi_uf_join(uf, (uint32_t)a, c[0].n + (uint32_t)b);
    }
  }
  for (uint32_t k = 0; good && keep && k < g[0]->n_in; k++)
    for (int d = 0; d < g[0]->tensors[g[0]->in[k].id].shape.rank; d++) {
      const int32_t a = c[0].of[g[0]->in[k].id * MG_MAX_RANK + (uint32_t)d];
      if (a >= 0 && keep->in[k][d] >= 0) fixed[a] = 1;
    }
  for (uint32_t k = 0; good && k < n; k++)
    if (fixed[k]) fixed[mgi_uf_find(uf, k)] = 1;
  for (uint32_t k = 0; good && k < n; k++) {
    const int64_t own = k < c[0].n ? c[0].extent[k] : c[1].extent[k - c[0].n];
    const uint32_t root = mgi_uf_find(uf, k);
    fixed[root] |= k < c[0].n ? c[0].fixed[k] : c[1].fixed[k - c[0].n];
    if (!extent[root] || own < extent[root]) extent[root] = own;
  }
  for (uint32_t k = 0; good && k < n; k++) {
    const uint32_t root = mgi_uf_find(uf, k);
    const int64_t own = k < c[0].n ? c[0].extent[k] : c[1].extent[k - c[0].n];
    extent[k] = fixed[root] ? own : extent[root] < most ? extent[root] : most;
    fixed[k] = fixed[root];
  }
  for (uint32_t k = 1, at = 0; good && k < g[1]->n_ops; k++)
    if (g[1]->ops[k].code == MG_OP_GRAPH) {
      const mg_graph *sub = g[1]->ops[k].sub;
      for (uint32_t x = 1; x < sub->n_axes && x <= MG_MAX_AXES; x++) {
        const int own = keep && keep->axis[mg_parallel_level(keep, 1, sub) * (MG_MAX_AXES + 1) + x] >= 0;
        counts[at * (MG_MAX_AXES + 1) + x] =
            own ? sub->axes[x].extent : mgi_wide_axis(g[1], sub, x, &c[1], extent + c[0].n, fixed + c[0].n);
      }
      at++;
    }
  good = good && mg_is_program(g[0]) && mg_resize(g[0], extent, NULL, &out[0], &e) == MG_OK &&
         mg_resize(g[1], extent + c[0].n, kernels ? counts : NULL, &out[1], &e) == MG_OK &&
         mg_verify_signature(out[0], out[1], &e) == MG_OK;
  if (!good) mg_graph_free(out[0]), mg_graph_free(out[1]), out[0] = out[1] = NULL;
  free(uf), free(extent), free(counts), free(fixed);
  mg_classes_free(&c[0]), mg_classes_free(&c[1]);
  return good;
}
MGI_FN double mgi_wide_work(const mg_graph *const *g) {
  mgi_cut cut;
  mgi_want all;
  memset(&cut, 0, sizeof cut), memset(&all, 0, sizeof all);
  cut.g[0] = g[0], cut.g[1] = g[1];
  for (uint32_t k = 0; k < g[0]->n_out; k++)
    for (int d = 0; d < g[0]->tensors[g[0]->out[k].id].shape.rank; d++)
      all.out[k].hi[d] = g[0]->tensors[g[0]->out[k].id].shape.dim[d];
  return mgi_cost_of(&cut, &all).work;
}

/* ---- the runs */

typedef struct mgi_wide_result {
  int runs;                  /* 0: the graphs are too large, and cannot be resized */
  int reduced;               /* at other sizes */
  int unconfirmed;           /* refuted at other sizes, and the own ones are too large for such a run */
  int refuted;               /* a is defined and b is not, or they differ */
  int nowhere;               /* there is an element that no run defined on both sides */
  int run, output;
  int64_t element;
  double a, b;               /* b is NAN where it is undefined */
  char sizes[96];            /* of the outputs' first, and of the inputs */
} mgi_wide_result;

MGI_FN double mgi_wide_double(mgi_wide x) {
  return x.state      ? NAN
         : x.v == 0   ? 0
         : x.e > 2000 ? (x.v > 0 ? INFINITY : -INFINITY)
                      : ldexp(x.v, x.e < -3000 ? -3000 : (int)x.e);
}
MGI_FN void mgi_wide_one(const mg_graph *const *g, uint64_t seed, int run, uint8_t **seen, mgi_wide_result *r,
                         mg_status *s, mg_error *e) {
  mgi_wide *in[MG_MAX_IN] = {NULL}, *out[2][MG_MAX_OUT] = {{NULL}};
  const mgi_wide_plan p = mgi_wide_planned(seed, run, (int)g[0]->n_in);
  const uint64_t key = mgi_ff_hash(seed, (uint64_t)run, 25);
  mg_domain d;
  int good = 1;
  memset(&d, 0, sizeof d);
  d.elem = sizeof(mgi_wide), d.map = mgi_wide_map, d.matmul = mgi_wide_matmul, d.combine = mgi_wide_combine,
  d.fill = mgi_wide_fill;
  for (uint32_t k = 0; k < g[0]->n_in && good; k++) {
    const mg_tensor_info *t = &g[0]->tensors[g[0]->in[k].id];
    const int64_t n = mg_shape_elements(&t->shape);
    good = (in[k] = (mgi_wide *)malloc((size_t)n * sizeof **in)) != NULL;
    for (int64_t i = 0; good && i < n; i++) {
      const double x = t->fill ? (double)mg_filled(t, i) : mgi_wide_input(&p, key, (int)k, &t->shape, i);
      in[k][i] = mgi_wide_number(x);
    }
  }
  for (int side = 0; side < 2 && good; side++) {
    for (uint32_t k = 0; k < g[0]->n_out && good; k++)
      good = (out[side][k] = (mgi_wide *)malloc((size_t)mgi_trial_elements(g[0], g[0]->out[k]) * sizeof(mgi_wide))) !=
             NULL;
    if (good) *s = mg_eval(g[side], &d, (const void *const *)in, (void *const *)out[side], e);
    good = good && *s == MG_OK;
  }
  if (!good && *s == MG_OK) *s = mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for a float64 run");
  for (uint32_t k = 0; k < g[0]->n_out && good && !r->refuted; k++)
    for (int64_t i = 0; i < mgi_trial_elements(g[0], g[0]->out[k]) && !r->refuted; i++) {
      const mgi_wide x = out[0][k][i], y = out[1][k][i];
      if (x.state != MGI_WIDE_OK || y.state == MGI_WIDE_UNKNOWN || y.state == MGI_WIDE_LOWEST) continue;
      if (y.state == MGI_WIDE_OK) {
        const mgi_wide gap = mgi_wide_add(x, mgi_wide_neg(y));
        seen[k][i] = 1;
        if (gap.state || fabs(gap.v) <= 2 * gap.err) continue;
      }
      r->refuted = 1, r->run = run, r->output = (int)k, r->element = i, r->a = mgi_wide_double(x),
      r->b = mgi_wide_double(y);
    }
  for (uint32_t k = 0; k < MG_MAX_IN; k++) free(in[k]);
  for (int side = 0; side < 2; side++)
    for (uint32_t k = 0; k < MG_MAX_OUT; k++) free(out[side][k]);
}
/* Runs both, `most` times at most, with run `first` first; *r says what came of it. */
MGI_FN mg_status mgi_wide_some(const mg_graph *const *g, uint64_t seed, int first, int most, const mgi_watch *w,
                               mgi_wide_result *r, mg_error *e) {
  uint8_t *seen[MG_MAX_OUT] = {NULL};
  mg_status s = MG_OK;
  size_t n = 0;
  for (uint32_t k = 0; k < g[0]->n_in && n < sizeof r->sizes; k++) {
    const mg_shape *z = &g[0]->tensors[g[0]->in[k].id].shape;
    for (int d = 0; d < z->rank && n < sizeof r->sizes; d++)
      n += (size_t)snprintf(r->sizes + n, sizeof r->sizes - n, "%s%lld", d ? "x" : k ? " " : "", (long long)z->dim[d]);
  }
  for (uint32_t k = 0; k < g[0]->n_out && s == MG_OK; k++)
    if (!(seen[k] = (uint8_t *)calloc((size_t)mgi_trial_elements(g[0], g[0]->out[k]) + 1, 1)))
      s = mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for a float64 run");
  for (int turn = 0; turn < most && s == MG_OK && !r->refuted; turn++, r->runs++) {
    if (mgi_watch_over(w)) { s = mg_fail(e, MG_LIMIT, "mg_verify", "the time limit ended the float64 runs"); break; }
    mgi_wide_one(g, seed, !turn ? first : turn <= first ? turn - 1 : turn, seen, r, &s, e);
  }
  for (uint32_t k = 0; k < g[0]->n_out && s == MG_OK && r->runs && !r->refuted && !r->nowhere; k++)
    for (int64_t i = 0; i < mgi_trial_elements(g[0], g[0]->out[k]) && !r->nowhere; i++)
      if (!seen[k][i]) r->nowhere = 1, r->output = (int)k, r->element = i;
  for (uint32_t k = 0; k < MG_MAX_OUT; k++) free(seen[k]);
  return s;
}
/* Runs both, at reduced sizes where their own take long; *r says what came of it.  What is refuted at other sizes is
   another pair than the one given: the same run, and others, have to refute that. */
MGI_FN mg_status mgi_wide_runs(const mg_graph *a, const mg_graph *b, uint64_t seed, const mgi_watch *w,
                               mgi_wide_result *r, mg_error *e) {
  const mg_graph *g[2];
  mg_graph *small[2] = {NULL, NULL};
  memset(r, 0, sizeof *r);
  g[0] = a, g[1] = b;
  double work = mgi_wide_work(g);
  const double own = work;
  if (work > MGI_WIDE_OWN)
    for (int64_t most = 8; most >= 4 && !small[0]; most /= 2) {
      const mg_graph *h[2];
      if (!mgi_wide_resized(g, most, NULL, small)) continue;
      h[0] = small[0], h[1] = small[1];
      const double less = mgi_wide_work(h);
      if (less < work && (less * 16 <= MGI_WIDE_WORK || most == 4)) work = less, r->reduced = 1;
      else mg_graph_free(small[0]), mg_graph_free(small[1]), small[0] = small[1] = NULL;
    }
  if (r->reduced) g[0] = small[0], g[1] = small[1];
  const int count = mgi_wide_count((int)g[0]->n_in),
            most = work > 0 && MGI_WIDE_WORK / work < count ? (int)(MGI_WIDE_WORK / work) : count;
  mg_status s = mgi_wide_some(g, seed, 0, most, w, r, e);
  mg_graph_free(small[0]), mg_graph_free(small[1]);
  if (s != MG_OK || !r->reduced || !r->refuted) return s;
  r->unconfirmed = own > MGI_WIDE_CONFIRM;
  if (r->unconfirmed) return s;
  const int again = MGI_WIDE_CONFIRM / own < count ? (int)(MGI_WIDE_CONFIRM / own) : count, run = r->run;
  memset(r, 0, sizeof *r);
  g[0] = a, g[1] = b;
  return mgi_wide_some(g, seed, run, again, w, r, e);
}
MGI_FN mg_status mgi_prove_normal(const mg_graph *a, const mg_graph *b, double deadline, size_t memory_limit,
                                  const volatile int *stop, mg_prove_report *r, char **derivation,
                                  mg_error *e); /* >>methods */

/* -------------------------------------------------------------------------------------------------- >>verify
     0. One canonical form: EQUAL by identity, without a test.
        Else, where a test of the whole is much work, piece by piece (>>pieces), if all of them are EQUAL; so too at the
        end, where the whole came to UNDECIDED or EQUAL_SAMPLED.
        Else, where classes of an index are found, all that follows at extent 2 of each; EQUAL and guarded: for all
        extents.  Else at the extents as written:
     1. exp and max opaque.  All agree: EQUAL, with Theorem A's bound; where there is none, by proof (>>proofs), else
        UNDECIDED.
     2. Else, if there is an exponential, the two-field test, max opaque.  All agree: the same with Theorem B's bound.
     3. Else, if there is a maximum, 1 and 2 again with maxima in a random total order.  One agrees: EQUAL by proof.  No
        proof:  more tests and float64, which may refute, but never accept: EQUAL_SAMPLED, which is no result.
     4. Else float64: a difference is NOT_EQUAL.  None: NOT_EQUAL still if the output that differs involves neither an
        opaque function nor a maximum (a field cannot tell equal rational functions apart), else EQUAL by proof, or
        UNDECIDED. */

const char *mg_verdict_name(mg_verdict v) {
  static const char *const name[4] = {"UNDECIDED", "EQUAL", "EQUAL_SAMPLED", "NOT_EQUAL"};
  return v >= 0 && (int)v < 4 ? name[v] : "?";
}

mg_verify_config mg_verify_config_default(void) {
  mg_verify_config c;
  memset(&c, 0, sizeof c);
  c.tier = MG_TIER_FULL, c.log2_delta = -64;
  return c;
}

/* What a message calls two graphs: by their names, or by their order where these are alike. */
MGI_FN void mgi_verify_names(const mg_graph *a, const mg_graph *b, char na[48], char nb[48]) {
  int alike = !strcmp(a->name, b->name);
  if (alike) strcpy(na, "the first"), strcpy(nb, "the second");
  else snprintf(na, 48, "'%.40s'", a->name), snprintf(nb, 48, "'%.40s'", b->name);
}

/* "'X' : f16[6, 8]" */
MGI_FN const char *mgi_signature_text(const mg_tensor_info *t, char *buf, size_t size) {
  size_t n = (size_t)snprintf(buf, size, "'%.20s' : %s[", t->name, mg_dtype_name(t->dtype));
  for (int d = 0; d < t->shape.rank && n < size; d++)
    n += (size_t)snprintf(buf + n, size - n, "%s%lld", d ? ", " : "", (long long)t->shape.dim[d]);
  if (n < size) snprintf(buf + n, size - n, "]%s%s", t->fill ? " = " : "", mg_fill_name((mg_filling)t->fill));
  return buf;
}

MGI_FN int mgi_signature_same(const mg_tensor_info *x, const mg_tensor_info *y) {
  int same = x->shape.rank == y->shape.rank && x->dtype == y->dtype && x->fill == y->fill;
  for (int d = 0; d < x->shape.rank && same; d++) same = x->shape.dim[d] == y->shape.dim[d];
  return same;
}
mg_status mg_verify_signature(const mg_graph *a, const mg_graph *b, mg_error *e) {
  char na[48], nb[48];
  if (!a || !b || a->up || b->up) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "expected two programs");
  mgi_verify_names(a, b, na, nb);
  if (a->n_in != b->n_in)
    return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s has %u input%s, %s has %u", na, a->n_in, a->n_in == 1 ? "" : "s",
                   nb, b->n_in);
  if (a->n_out != b->n_out)
    return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s has %u output%s, %s has %u", na, a->n_out,
                   a->n_out == 1 ? "" : "s", nb, b->n_out);
  if (!a->n_out) return mg_fail(e, MG_BAD_INPUT, "mg_verify", "'%.60s' has no output", a->name);
  if (a->n_symbols != b->n_symbols)
    return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s has %u symbol%s, %s has %u: a family is compared with a family",
                   na, a->n_symbols, a->n_symbols == 1 ? "" : "s", nb, b->n_symbols);
  for (uint32_t k = 0; k < a->n_symbols; k++)
    if (a->symbol[k].least != b->symbol[k].least || a->symbol[k].most != b->symbol[k].most ||
        a->symbol[k].last != b->symbol[k].last)
      return mg_fail(e, MG_BAD_INPUT, "mg_verify",
                     "%s is in %lld..%lld of %lld in %s, and %s in %lld..%lld of %lld in %s: bounds must be alike",
                     a->symbol[k].name, (long long)a->symbol[k].least, (long long)a->symbol[k].last,
                     (long long)a->symbol[k].most, na, b->symbol[k].name, (long long)b->symbol[k].least,
                     (long long)b->symbol[k].last, (long long)b->symbol[k].most, nb);
  int computed = a->n_computed == b->n_computed;
  for (uint32_t k = a->n_symbols; computed && k < mg_n_sizes(a); k++)
    computed = !strcmp(a->symbol[k].name, b->symbol[k].name);
  if (!computed)
    return mg_fail(e, MG_BAD_INPUT, "mg_verify",
                   "sizes computed of symbols are others in %s than in %s, or in another order", na, nb);
  for (uint32_t k = 0; k < a->n_in + a->n_out; k++) {
    const mg_tensor_info *x = &a->tensors[k < a->n_in ? a->in[k].id : a->out[k - a->n_in].id];
    const mg_tensor_info *y = &b->tensors[k < b->n_in ? b->in[k].id : b->out[k - b->n_in].id];
    char tx[96], ty[96];
    if (k < a->n_in && memcmp(a->in_symbol[k], b->in_symbol[k], sizeof a->in_symbol[k]))
      return mg_fail(e, MG_BAD_INPUT, "mg_verify", "input %u has other symbols in %s than in %s", k, na, nb);
    if (!mgi_signature_same(x, y))
      return mg_fail(e, MG_BAD_INPUT, "mg_verify", "%s %u is %s in %s and %s in %s: types and shapes must be alike",
                     k < a->n_in ? "input" : "output", k < a->n_in ? k : k - a->n_in,
                     mgi_signature_text(x, tx, sizeof tx), na, mgi_signature_text(y, ty, sizeof ty), nb);
  }
  return MG_OK;
}

MGI_FN void mgi_verify_counterexample(const mg_graph *a, const mg_graph *b, mg_verify_report *r) {
  char na[48], nb[48];
  mgi_verify_names(a, b, na, nb);
  snprintf(r->reason, sizeof r->reason,
           "float64 inputs of seed %llu: output %d, element %lld is %.9g in %s, %.9g in %s",
           (unsigned long long)r->cx_seed, r->cx_output, (long long)r->cx_element, r->cx_a, na, r->cx_b, nb);
}

/* A test did not end: for want of time or memory, or stopped, which are verdicts; or by a fault, which is not. */
MGI_FN mg_status mgi_verify_fault(const mgi_bench *B, const mg_verify_config *c, mg_verify_report *r,
                                  const mg_error *e) {
  int late = B->watch.deadline > 0 && mgi_seconds() >= B->watch.deadline, stopped = mgi_verify_flag(c->stop);
  if (e->status != MG_LIMIT) return e->status;
  r->verdict = MG_UNDECIDED, r->log2_delta = 0, r->unfinished = 1;
  if (stopped)
    snprintf(r->reason, sizeof r->reason, "not certified: interrupted; %d test%s agreed", r->tests,
             r->tests == 1 ? "" : "s");
  else if (late)
    snprintf(r->reason, sizeof r->reason, "not certified: the time limit of %g s ended the tests; %d agreed",
             c->time_limit_s, r->tests);
  else snprintf(r->reason, sizeof r->reason, "not certified: %.200s", e->msg);
  return MG_OK;
}

/* As many tests as delta takes, or, where no bound does, `else_tests`.  No product of doubles may round the count down.
   The fast tier makes one test, whose delta is what it is. */
MGI_FN int mgi_verify_count(const mg_verify_report *r, int full, int else_tests, int *bounded) {
  double need = r->log2_eps < 0 ? full ? ceil(r->want_log2_delta / r->log2_eps) : 1 : MG_VERIFY_TESTS + 1;
  *bounded = need <= MG_VERIFY_TESTS;
  return !*bounded ? else_tests : need < 1 ? 1 : (int)need;
}

/* "exp", "exp and max" .. : what stood for any function. */
MGI_FN const char *mgi_verify_any(uint32_t flags, int pair) {
  int exponential = !pair && (flags & MGI_HAS_EXP) != 0, maximum = (flags & MGI_HAS_MAX) != 0;
  return exponential && maximum ? " for any functions exp and max"
         : exponential          ? " for any function exp"
         : maximum              ? " for any function max"
                                : "";
}

enum { MGI_PROOF_BYTES = 1 << 28 }; /* of terms; a proof that takes more is none */

/* The tests of a verification: which kind came last, how it ended, and what its bound says. */
typedef struct mgi_finding {
  mgi_trial_result result;
  int kind, output, bounded;
  uint32_t flags;            /* of all outputs, in both graphs */
} mgi_finding;

/* 1, and the verdict is EQUAL, if both graphs have one normal form of real terms. */
MGI_FN int mgi_verify_proved(const mgi_bench *B, const mg_verify_config *c, mg_verify_report *r, mg_error *e) {
  mg_prove_report p;
  if (mgi_verify_flag(c->stop)) return 0;
  if (mgi_prove_normal(B->whole[0], B->whole[1], B->watch.deadline, MGI_PROOF_BYTES, c->stop, &p, NULL, e) != MG_OK)
    return 0;
  if (p.verdict != MG_EQUAL) {
    snprintf(r->unproved, sizeof r->unproved, "%.150s", p.reason);
    return 0;
  }
  r->verdict = MG_EQUAL, r->proof = MG_PROOF_NORMAL, r->log2_delta = 0, r->patterns = 0;
  snprintf(r->theorem, sizeof r->theorem, "proof: one normal form of real terms");
  snprintf(r->reason, sizeof r->reason, "proved, %.160s", p.reason);
  return 1;
}

/* Looks for a difference in float64; 1 if there is none.  What ends early or fails is told by *s, which is 0
   otherwise. */
MGI_FN int mgi_verify_unrefuted(mgi_bench *B, const mg_verify_config *c, int maximum, mg_verify_report *r, mg_status *s,
                                mg_error *e) {
  *s = MG_OK;
  if (c->skip_floats) return 1;
  *s = mgi_verify_floats(B, maximum, r, e);
  if (*s != MG_OK) {
    *s = mgi_verify_fault(B, c, r, e);
    return 0;
  }
  if (!r->confirmed) return 1;
  r->verdict = MG_NOT_EQUAL;
  mgi_verify_counterexample(B->g[0], B->g[1], r);
  return 0;
}

/* All tests with exp or max as any function agree: EQUAL with a delta; else, where no bound covers them, by proof or
   not at all. */
MGI_FN void mgi_verify_agreed(const mgi_bench *B, const mg_verify_config *c, const mgi_finding *F, mg_verify_report *r,
                              mg_error *e) {
  const char *any = mgi_verify_any(F->flags, r->two_field), *group = r->two_field ? " by exp(a+b) = exp(a)exp(b)" : "";
  r->agreed = 1;
  if (F->bounded) {
    r->verdict = MG_EQUAL, r->log2_delta = r->tests * r->log2_eps;
    if (r->two_field)
      snprintf(r->theorem, sizeof r->theorem, "Theorem B: rational functions of exponentials over two fields%s",
               F->flags & (MGI_HAS_OPAQUE | MGI_HAS_MAX) ? ", other functions opaque" : "");
    else
      snprintf(r->theorem, sizeof r->theorem, "Theorem A: Schwartz-Zippel over rational functions%s",
               F->flags & MGI_HAS_EXP ? ", exp and other functions opaque"
               : F->flags             ? ", other functions opaque"
                                      : "");
    snprintf(r->reason, sizeof r->reason, "equal%s%s; wrong with probability at most 2^%.2f", group, any,
             ceil(r->log2_delta * 100) / 100);
    return;
  }
  if (r->tier == MG_TIER_FULL && mgi_verify_proved(B, c, r, e)) return;
  if (r->two_field)
    snprintf(
        r->reason, sizeof r->reason,
        "not certified: rests on exp(a+b) = exp(a)exp(b), and 2^%.1f terms of degree %.3g are beyond %d tests over two fields; %d agreed",
        r->exp_terms, r->degree_exp, (int)MG_VERIFY_TESTS, r->tests);
  else
    snprintf(r->reason, sizeof r->reason,
             "not certified: degree %.3g, %.3g opaque terms and height %.3g are beyond %d tests; %d agreed", r->degree,
             r->opaque_terms, r->height, (int)MG_VERIFY_TESTS, r->tests);
}

/* Something differs.  What the mismatch itself proves: with exp opaque only, it needs the output to be free of
   exponentials. */
MGI_FN mg_status mgi_verify_differed(mgi_bench *B, const mg_verify_config *c, const mgi_bounds *X, const mgi_bounds *Y,
                                     const mgi_finding *F, mg_verify_report *r, mg_error *e) {
  uint32_t inside = X->flags[F->output] | Y->flags[F->output],
           doubt = MGI_HAS_OPAQUE | MGI_HAS_MAX | (r->two_field ? 0u : (uint32_t)MGI_HAS_EXP);
  mg_status s;
  int filled = 0; /* fields take any values for such an input: some differ, not those that it has */
  for (uint32_t k = 0; k < B->g[0]->n_in; k++) filled |= B->g[0]->tensors[B->g[0]->in[k].id].fill != MG_FILL_NONE;
  if (!mgi_verify_unrefuted(B, c, (F->flags & MGI_HAS_MAX) != 0, r, &s, e)) return s;
  if (F->result == MGI_TRIAL_DIFFER && !(inside & doubt) && !filled) {
    r->verdict = MG_NOT_EQUAL;
    snprintf(r->reason, sizeof r->reason,
             "output %d differs modulo p = %llu: not the same rational function, though float64 shows no difference",
             F->output, (unsigned long long)r->p[r->tests - 1]);
    return MG_OK;
  }
  if (!c->skip_floats && mgi_verify_proved(B, c, r, e)) return MG_OK;
  if (F->result == MGI_TRIAL_TWICE)
    snprintf(
        r->reason, sizeof r->reason,
        "as opaque functions they differ, and the two-field test met an exponential of an exponential; float64 shows no difference");
  else
    snprintf(r->reason, sizeof r->reason,
             "output %d differs with %s, which does not show that the real functions differ%s", F->output,
             inside & MGI_HAS_MAX ? "maxima in a random order"
             : inside & doubt     ? "opaque functions"
                                  : "any values of an input that is filled by definition",
             c->skip_floats ? "; float64 was not tried" : "; float64 shows no difference");
  return MG_OK;
}

/* A maximum does not cancel, and one test in a random order agreed: EQUAL by proof; else more tests, which may refute
   but never accept. */
MGI_FN mg_status mgi_verify_sampled(mgi_bench *B, const mg_verify_config *c, const mgi_bounds *X, const mgi_bounds *Y,
                                    mgi_finding *F, mg_verify_report *r, mg_error *e) {
  mg_status s;
  if (mgi_verify_proved(B, c, r, e)) return MG_OK;
  F->result = mgi_tests(B, F->kind, r->tier == MG_TIER_FULL ? 8 : 2, r, &F->output, e);
  if (F->result == MGI_TRIAL_FAULT) return mgi_verify_fault(B, c, r, e);
  if (F->result != MGI_TRIAL_AGREE) return mgi_verify_differed(B, c, X, Y, F, r, e);
  int ran = r->tests, patterns = r->patterns;
  if (!mgi_verify_unrefuted(B, c, 1, r, &s, e)) return s;
  r->verdict = MG_EQUAL_SAMPLED, r->agreed = 1;
  snprintf(
      r->reason, sizeof r->reason,
      "not certified: a maximum does not cancel, and %.90s; %d test%s agreed%s, each in a random total order of its own, %d winner pattern%s seen",
      *r->unproved ? r->unproved : "no proof was tried", ran, ran == 1 ? "" : "s",
      r->two_field ? " by exp(a+b) = exp(a)exp(b)" : "", patterns, patterns == 1 ? "" : "s");
  return MG_OK;
}

/* Everything but signature and bounds; B's memory is freed by the caller. */
MGI_FN mg_status mgi_verify_run(mgi_bench *B, const mg_verify_config *c, const mgi_bounds *X, const mgi_bounds *Y,
                                mg_verify_report *r, mg_error *e) {
  int full = r->tier == MG_TIER_FULL;
  mgi_finding F;
  memset(&F, 0, sizeof F);
  for (uint32_t k = 0; k < B->g[0]->n_out; k++) F.flags |= X->flags[k] | Y->flags[k];
  int maximum = (F.flags & MGI_HAS_MAX) != 0, exponential = (F.flags & MGI_HAS_EXP) != 0;
  F.result = MGI_TRIAL_DIFFER;
  for (int kind = 0; kind < 4; kind++) {
    int ordered = (kind & MGI_ORDER_TEST) != 0, pair = kind & MGI_PAIR_TEST;
    if ((pair && !exponential) || (ordered && !maximum)) continue;
    mgi_bounds U, V; /* the two-field reading */
    mg_status s = pair ? mgi_bounds_of(B->g[0], 1, &U, e) : MG_OK;
    if (pair && s == MG_OK) s = mgi_bounds_of(B->g[1], 1, &V, e);
    if (s != MG_OK) return s;
    mgi_bound_theorem(pair ? &U : X, pair ? &V : Y, r);
    B->q_bits = r->q_bits ? r->q_bits : 31, r->q_bits = pair ? B->q_bits : 0;
    int tests = mgi_verify_count(r, full, full && !ordered ? 4 : 1, &F.bounded);
    if (ordered) tests = 1;
    if (pair && !F.bounded) B->q_bits = r->q_bits = 31;
    r->two_field = pair, F.kind = kind;
    F.result = mgi_tests(B, kind, tests, r, &F.output, e);
    if (F.result == MGI_TRIAL_FAULT) return mgi_verify_fault(B, c, r, e);
    if (F.result != MGI_TRIAL_DIFFER && !(F.result == MGI_TRIAL_TWICE && maximum && !ordered)) break;
  }
  if (F.result == MGI_TRIAL_ZERO_DIVISOR) {
    snprintf(r->reason, sizeof r->reason, "%d draws in a row divided by zero: a divisor seems to vanish identically",
             (int)MG_VERIFY_DRAWS);
    return MG_OK;
  }
  if (F.result != MGI_TRIAL_AGREE) return mgi_verify_differed(B, c, X, Y, &F, r, e);
  if (F.kind & MGI_ORDER_TEST) return mgi_verify_sampled(B, c, X, Y, &F, r, e);
  mgi_verify_agreed(B, c, &F, r, e);
  return MG_OK;
}

/* (A B) C is A (B C), element by element, in a field: a copy of g with products of three matrices in the order of fewer
   multiplications, if that saves half of them.  Only where nothing else sees the product in the middle, and the third
   matrix was there before it.  *copy is NULL if there is none such. */
MGI_FN mg_status mgi_verify_reordered(const mg_graph *g, mg_graph **copy, mg_error *e) {
  mg_status s = MG_OK;
  *copy = NULL;
  for (int again = 1; again && s == MG_OK;) {
    const mg_graph *h = *copy ? *copy : g;
    again = 0;
    for (uint32_t i = 1; i < h->n_ops && !again; i++)
      for (int side = 0; side < 2 && h->ops[i].code == MG_OP_MATMUL && !again; side++) {
        const mg_op_node *o = &h->ops[i], *m;
        const mg_tensor t = o->in[side], third = o->in[!side]; /* the product of two, and the third */
        const uint32_t j = h->tensors[t.id].op;
        if (!j || h->ops[j].code != MG_OP_MATMUL || h->tensors[t.id].shape.rank != 2 ||
            h->tensors[third.id].shape.rank != 2 || h->tensors[third.id].op >= j)
          continue;
        m = &h->ops[j];
        const int uses = mg_uses_of(h, t);
        const mg_tensor outer = m->in[side], inner = m->in[!side]; /* `inner` meets the third */
        const int64_t *in = h->tensors[inner.id].shape.dim, *th = h->tensors[third.id].shape.dim,
                      *ou = h->tensors[outer.id].shape.dim;
        /* [all, left] [left, mid] [mid, right], or turned */
        const double all = (double)ou[side], left = (double)in[side], mid = (double)in[!side],
                     right = (double)th[!side];
        if (uses != 1 || all * left * mid + all * mid * right < 2 * (left * mid * right + all * left * right)) continue;
        again = 1;
        if (!*copy) { /* its inputs come first: it is looked through from the start */
          if ((s = mg_resize(g, NULL, NULL, copy, e)) != MG_OK) return s;
          continue;
        }
        const int64_t shape[2] = { in[side], th[!side] };
        mg_op_node *x = (*copy)->ops;
        x[j].in[side] = inner, x[j].in[!side] = third, x[i].in[side] = outer, x[i].in[!side] = t;
        (*copy)->tensors[t.id].shape.dim[side] = shape[0], (*copy)->tensors[t.id].shape.dim[!side] = shape[1];
      }
  }
  return s;
}

MGI_FN int mgi_defined_shown(const mg_graph *a, const mg_graph *b, double deadline, const volatile int *stop,
                             int *total, char line[256]); /* >>defined */

/* The counterexample of a float64 run in words. */
MGI_FN void mgi_wide_words(const mgi_wide_result *x, uint64_t seed, char *text, size_t size) {
  char b[40] = "undefined";
  if (!isnan(x->b)) snprintf(b, sizeof b, "%.9g", x->b);
  snprintf(
      text, size,
      "float64 run %d of seed %llu%s, inputs %.60s: output %d, element %lld is %.9g in the first, %s in the second",
      x->run, (unsigned long long)seed,
      x->unconfirmed ? " at reduced sizes, as their own are too large" : x->reduced ? " at reduced sizes" : "",
      x->sizes, x->output, (long long)x->element, x->a, b);
}
/* What is left to ask once the tests agree: whether b is defined wherever a is, and what float64 says. */
MGI_FN mg_status mgi_verify_domain(const mg_graph *a, const mg_graph *b, const mgi_bench *B, const mg_verify_config *c,
                                   mg_verify_report *r, mg_error *e) {
  char line[256];
  int total = 0, shown = mgi_defined_shown(a, b, B->watch.deadline, B->watch.stop, &total, line), refuted = 0,
      nowhere = 0;
  mgi_wide_result x;
  memset(&x, 0, sizeof x);
  if (r->tier == MG_TIER_FULL && !c->skip_floats) {
    mg_status s = mgi_wide_runs(a, b, B->seed, &B->watch, &x, e);
    if (s != MG_OK) return mgi_verify_fault(B, c, r, e);
    refuted = x.refuted && !x.unconfirmed, nowhere = x.nowhere && !total;
  }
  if (shown && !x.refuted && !nowhere) {
    snprintf(r->domain, sizeof r->domain, "%.160s", line);
    if (x.runs)
      snprintf(r->domain + strlen(r->domain), sizeof r->domain - strlen(r->domain), "; %d float64 runs%s do not object",
               x.runs, x.reduced ? " at reduced sizes" : "");
    else if (r->tier == MG_TIER_FULL)
      snprintf(r->domain + strlen(r->domain), sizeof r->domain - strlen(r->domain), "; no float64 run%s",
               c->skip_floats ? "" : ": too large, and sizes are fixed");
    return MG_OK;
  }
  r->verdict = refuted ? MG_NOT_EQUAL : MG_UNDECIDED, r->partial = !x.refuted || isnan(x.b), r->log2_delta = 0,
  r->theorem[0] = 0;
  r->agreed = 0, r->proof = MG_PROOF_NONE;
  r->unfinished = !refuted && (mgi_watch_over(&B->watch) || (!shown && strstr(line, "no memory")));
  if (x.refuted) mgi_wide_words(&x, B->seed, r->reason, sizeof r->reason);
  else if (!shown) snprintf(r->reason, sizeof r->reason, "%.250s", line);
  else
    snprintf(r->reason, sizeof r->reason,
             "output %d, element %lld%s: no float64 run was found on which both are defined there", x.output,
             (long long)x.element, x.reduced ? " at reduced sizes" : "");
  return MG_OK;
}

MGI_FN void mgi_report_begin(mg_verify_report *r, const mg_verify_config *c, const uint64_t root[4]) {
  memset(r, 0, sizeof *r);
  r->seed = c->seed, r->tier = c->tier != MG_TIER_FAST ? MG_TIER_FULL : MG_TIER_FAST;
  r->want_log2_delta = c->log2_delta, r->full_size = c->full_size;
  memcpy(r->digest, root, sizeof r->digest);
}
MGI_FN void mgi_report_identity(mg_verify_report *r) {
  r->verdict = MG_EQUAL, r->proof = MG_PROOF_IDENTITY;
  snprintf(r->domain, sizeof r->domain, "the same: one graph");
  snprintf(r->theorem, sizeof r->theorem, "identity: one graph");
  snprintf(r->reason, sizeof r->reason, "equal by identity: both have one canonical form");
}

/* One verification at the extents that both graphs have, its randomness from `root`.  domain: 0 leaves that half
   out. */
MGI_FN mg_status mgi_verify_sizes(const mg_graph *a, const mg_graph *b, const mg_verify_config *c,
                                  const uint64_t root[4], double deadline, int domain, mg_verify_report *r,
                                  mg_error *e) {
  mgi_bounds X, Y;
  mgi_bench B;
  mg_graph *fast[2] = {NULL, NULL};
  const int full = c->tier != MG_TIER_FAST;
  mg_status s = mgi_bounds_of(a, 0, &X, e);
  mgi_report_begin(r, c, root);
  if (s == MG_OK) s = mgi_bounds_of(b, 0, &Y, e);
  if (s != MG_OK) return s;
  memset(&B, 0, sizeof B);
  memcpy(B.root, root, sizeof B.root);
  B.g[0] = B.whole[0] = a, B.g[1] = B.whole[1] = b;
  B.seed = mgi_ff_hash(B.root[0] ^ B.root[1], B.root[2] ^ B.root[3], 14);
  B.memory = c->memory_limit ? (double)c->memory_limit : 4.0 * ((size_t)1 << 30);
  B.threads = c->threads > 0 ? c->threads : full ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
  if (B.threads < 1) B.threads = 1;
  B.watch.deadline = deadline;
  B.watch.stop = c->stop, B.watch.progress = c->progress, B.watch.user = c->user;
  for (int k = 0; k < 2 && s == MG_OK; k++) {
    s = mgi_verify_reordered(B.g[k], &fast[k], e);
    if (fast[k]) B.g[k] = fast[k];
  }
  if (s == MG_OK) s = mgi_verify_run(&B, c, &X, &Y, r, e);
  if (s == MG_OK && domain && (r->verdict == MG_EQUAL || r->verdict == MG_EQUAL_SAMPLED))
    s = mgi_verify_domain(a, b, &B, c, r, e);
  if (r->verdict == MG_UNDECIDED || r->verdict == MG_EQUAL_SAMPLED)
    r->unfinished |= strstr(r->unproved, "no memory") != NULL;
  for (int k = 0; k < 3; k++) mgi_cut_free(&B.cut[k]);
  mg_graph_free(fast[0]), mg_graph_free(fast[1]);
  return s;
}

/* ---- all extents of the classes (EXTENTS in the header comment) */

/* Both graphs at other extents; 0 if the builder refuses them. */
MGI_FN int mgi_every_at(const mg_parallel *p, const int64_t *extent, const int64_t *chunks, mg_graph *g[2]) {
  mg_error e;
  g[0] = g[1] = NULL;
  if (mg_parallel_resize(p, 0, extent, chunks, &g[0], &e) == MG_OK &&
      mg_parallel_resize(p, 1, extent, chunks, &g[1], &e) == MG_OK && mg_verify_signature(g[0], g[1], &e) == MG_OK)
    return 1;
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  g[0] = g[1] = NULL;
  return 0;
}

enum { MGI_EVERY_CHUNKS = 3, MGI_EVERY_WORK = 1 << 24, MGI_EVERY_CONTRACTED = 5 };
/* An extent that `nested` cuts into three leave with chunks of `least`, the last ones smaller (even: alike). */
MGI_FN int64_t mgi_every_extent(int nested, int64_t least, int even) {
  for (int k = 0; k < nested || k < 1; k++) least = MGI_EVERY_CHUNKS * least - !even;
  return least;
}
/* What is contracted is made less, in two steps of which the second is ragged, where it is much work and can be. */
MGI_FN void mgi_every_reduced(mg_graph *g[2]) {
  const mg_graph *was[2] = {g[0], g[1]};
  mg_graph *h[2];
  mg_parallel p;
  mg_error e;
  if (mgi_wide_work(was) <= MGI_EVERY_WORK || mg_parallel_of(g[0], g[1], &p, &e) != MG_OK) return;
  if (mgi_wide_resized(was, MGI_EVERY_CONTRACTED, &p, h)) {
    mg_graph_free(g[0]), mg_graph_free(g[1]);
    g[0] = h[0], g[1] = h[1];
  }
  mg_parallel_free(&p);
}
/* Both graphs for a guard: unlike extents for unlike classes, or, if `alike`, one for all.  Chunks are ragged where the
   builder has them so; where all that is much work, extents are small, and there are two of them.  0: there is no
   guard. */
MGI_FN int mgi_every_guard(const mg_parallel *p, int alike, mg_graph *g[2]) {
  int64_t extent[MG_MAX_CLASSES], chunks[MG_MAX_CLASSES];
  int most = 0;
  for (int c = 0; c < p->n; c++) most = p->nested[c] > most ? p->nested[c] : most, chunks[c] = MGI_EVERY_CHUNKS;
  for (int form = 0; form < 4; form++) {
    const int small = form / 2, even = form % 2;
    for (int c = 0; c < p->n; c++)
      extent[c] = mgi_every_extent(alike ? most : p->nested[c],
                                   (small ? 2 : 3) + (alike   ? 0
                                                      : small ? c % 2
                                                              : c),
                                   even);
    if (!mgi_every_at(p, extent, chunks, g)) continue;
    mgi_every_reduced(g);
    const mg_graph *h[2] = {g[0], g[1]};
    if (mgi_wide_work(h) <= (small ? 64.0 : 8.0) * MGI_EVERY_WORK) return 1;
    mg_graph_free(g[0]), mg_graph_free(g[1]);
  }
  return 0;
}
/* 1 if the graph at its own extents is the graph: the family that the analysis speaks of holds it. */
MGI_FN int mgi_every_own(const mg_parallel *p, const mg_graph *const *g) {
  mg_graph *h[2];
  if (!mgi_every_at(p, p->extent, NULL, h)) return 0;
  const int same = mg_graph_equal(g[0], h[0]) && mg_graph_equal(g[1], h[1]);
  mg_graph_free(h[0]), mg_graph_free(h[1]);
  return same;
}

/* 1 if a symbol is the letter, in either case: p is read as P. */
MGI_FN int mgi_every_alike(const char *letter, const char *symbol) {
  return (letter[0] | 32) == (symbol[0] | 32) && !symbol[1];
}
/* What a class is called: its symbol; else a letter that names no input, output or symbol, M, N, P .. first; else a
   number. */
MGI_FN const char *mgi_every_name(const mg_parallel *p, const mg_graph *g, int c, char name[16]) {
  static const char letters[] = "MNPQRSTUVWXYZABCDEFGHIJKL";
  for (uint32_t k = 0; k < g->n_in; k++)
    for (int d = 0; d < MG_MAX_RANK; d++)
      if (g->in_symbol[k][d] && p->in[k][d] == c) return g->symbol[g->in_symbol[k][d] - 1].name;
  for (const char *l = letters; *l; l++) {
    int taken = 0;
    name[0] = *l, name[1] = 0;
    for (uint32_t k = 0; k < g->n_symbols; k++) taken |= mgi_every_alike(name, g->symbol[k].name);
    for (uint32_t k = 0; k < MG_MAX_SYMBOLS && g->fixed[k]; k++) taken |= mgi_every_alike(name, g->fixed[k]);
    for (uint32_t k = 0; k < g->n_in + g->n_out; k++)
      taken |= !strcmp(name, g->tensors[k < g->n_in ? g->in[k].id : g->out[k - g->n_in].id].name);
    if (!taken && c-- == 0) return name;
  }
  snprintf(name, 16, "n%d", c);
  return name;
}
enum { MGI_EVERY_LINE = (MG_MAX_IN + MG_MAX_OUT + 1) * 64 }; /* one dimension of each tensor, at most */
/* "M (64): input X dimension 0, output O dimension 0": the dimensions of class c. */
MGI_FN int mgi_every_members(const mg_parallel *p, const mg_graph *g, int c, char *text, size_t size) {
  char name[16];
  size_t n = (size_t)snprintf(text, size, "%s (%lld):", mgi_every_name(p, g, c, name), (long long)p->extent[c]);
  int many = 0;
  for (uint32_t k = 0; k < g->n_in + g->n_out; k++) {
    const int output = k >= g->n_in;
    const mg_tensor t = output ? g->out[k - g->n_in] : g->in[k];
    for (int d = 0; d < g->tensors[t.id].shape.rank && n < size; d++)
      if ((output ? p->out[k - g->n_in] : p->in[k])[d] == c)
        n += (size_t)snprintf(text + n, size - n, "%s %s %.40s dimension %d", many++ ? "," : "",
                              output ? "output" : "input", g->tensors[t.id].name, d);
  }
  return n < size;
}
/* The classes in words, for the report. */
MGI_FN void mgi_every_words(const mg_parallel *p, const mg_graph *g, mg_verify_report *r) {
  size_t n = 0, m = 0;
  char line[MGI_EVERY_LINE], name[16];
  r->classes = p->n;
  for (int c = 0; c < p->n; c++) {
    mgi_every_members(p, g, c, line, sizeof line);
    if (n < sizeof r->every)
      n += (size_t)snprintf(r->every + n, sizeof r->every - n, "%s%s >= 1", c ? ", " : "",
                            mgi_every_name(p, g, c, name));
    if (m < sizeof r->members)
      m += (size_t)snprintf(r->members + m, sizeof r->members - m, "%s%s", c ? "; " : "", line);
  }
}

/* Both graphs at extent 2 of every class, uncut. */
MGI_FN int mgi_every_two(const mg_parallel *p, mg_graph *g[2]) {
  int64_t two[MG_MAX_CLASSES], one[MG_MAX_CLASSES];
  for (int c = 0; c < p->n; c++) two[c] = 2, one[c] = 1;
  return mgi_every_at(p, two, one, g);
}
MGI_FN mg_status mgi_every_proof_sizes(const mg_graph *a, const mg_graph *b, mg_graph *g[2], mg_error *e) {
  mg_parallel p;
  mg_status s = mg_parallel_of(a, b, &p, e);
  if (s != MG_OK) return s;
  if (!mgi_every_two(&p, g)) s = mg_fail(e, MG_NO_MEMORY, "mg_certificate", "no memory for graphs of other extents");
  mg_parallel_free(&p);
  return s;
}

/* A run of the guard: 1 if both agree, as what showed them equal shows it; -1 if they differ; 0 if that did not end. */
MGI_FN int mgi_every_agrees(const mg_graph *a, const mg_graph *b, const mg_verify_config *c, const uint64_t root[4],
                            double deadline, mg_proof_kind proof) {
  mg_verify_config how = *c;
  mg_verify_report r;
  mg_error e;
  how.skip_floats = 1, how.tier = MG_TIER_FAST;
  if (proof == MG_PROOF_NORMAL) {
    mg_prove_report p;
    return mgi_prove_normal(a, b, deadline, MGI_PROOF_BYTES, c->stop, &p, NULL, &e) == MG_OK && p.verdict == MG_EQUAL;
  }
  if (mgi_verify_sizes(a, b, &how, root, deadline, 0, &r, &e) != MG_OK || r.unfinished) return 0;
  return r.verdict == MG_EQUAL || r.agreed ? 1 : -1;
}

/* EQUAL for all extents: *shown is 1, and r says so.  Else *shown is 0, and nothing is known. */
MGI_FN mg_status mgi_verify_every(const mg_graph *a, const mg_graph *b, const mg_verify_config *c,
                                  const uint64_t root[4], double deadline, int *shown, mg_verify_report *r,
                                  mg_error *e) {
  mg_parallel p;
  int guarded = 0;
  mg_graph *g[2] = {NULL, NULL};
  const mg_graph *both[2] = {a, b};
  mg_status s = mg_parallel_of(a, b, &p, e);
  *shown = 0;
  if (s != MG_OK) return s;
  int good = p.n && mgi_every_own(&p, both) && mgi_every_two(&p, g);
  good = good && mgi_verify_sizes(g[0], g[1], c, root, deadline, 1, r, e) == MG_OK && r->verdict == MG_EQUAL;
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  for (int alike = 0; good && alike < (p.n > 1 ? 2 : 1); alike++) {
    if (!mgi_every_guard(&p, alike, g)) { good = 0; break; }
    const int said = mgi_every_agrees(g[0], g[1], c, root, deadline, r->proof);
    mg_graph_free(g[0]), mg_graph_free(g[1]);
    good = said > 0, guarded = said < 0 ? -1 : guarded + 1;
  }
  if (good) {
    char was[256];
    mgi_every_words(&p, a, r);
    memcpy(was, r->reason, sizeof was);
    snprintf(r->reason, sizeof r->reason, "for all %.80s: %.160s", r->every, was);
    snprintf(r->theorem + strlen(r->theorem), sizeof r->theorem - strlen(r->theorem), "; for all extents by Theorem C");
    *shown = 1;
  }
  r->guarded = guarded;
  mg_parallel_free(&p);
  return MG_OK;
}

/* ------------------------------------------------------------------------------------------------ >>pieces
   Theorem D.  Kernel-level tensors of both graphs are twins where their names, types and shapes are the same; inputs
   and outputs are by their places.  Where no names are, and the whole is much work, those are twins that have the same
   values at reduced sizes.  Which stand for the same values nobody has to believe: the tests say it. */

/* Twin `id` of the first graph as a function of those that either graph takes it from, in both.  like: an earlier piece
   that is the same pair, or -1. */
typedef struct mgi_piece { mg_graph *g[2]; uint32_t id; int like; } mgi_piece;

/* Scalar operations of one test: a whole of less is not taken apart, a piece of more not tested at its own extents. */
enum { MGI_PIECES_WORK = 1 << 24, MGI_PIECE_WORK = 1 << 28 };

MGI_FN void mgi_pieces_free(mgi_piece *x, int n) {
  for (int k = 0; k < n; k++) mg_graph_free(x[k].g[0]), mg_graph_free(x[k].g[1]);
  free(x);
}
/* mark[t]: a hash of the values of kernel-level tensor t of g, computed from the inputs; 0: it has none. */
MGI_FN void mgi_pieces_marks(const mg_graph *g, const mg_field *F, uint64_t *mark) {
  const mg_domain d = mgi_domain_word(F);
  void *in[MG_MAX_IN] = {NULL};
  mg_error e;
  int good = 1;
  for (uint32_t k = 0; k < g->n_in && good; k++) {
    const int64_t n = mgi_trial_elements(g, g->in[k]);
    in[k] = malloc((size_t)n * sizeof(uint64_t));
    good = in[k] != NULL;
    if (good) mgi_ff_draw_row(&F->mp, mgi_ff_hash(F->order, k, 7), 0, n, (uint64_t *)in[k]);
  }
  for (uint32_t t = 1; t < g->n_tensors && good; t++) {
    mg_graph *one = NULL;
    mg_tensor want;
    want.id = t;
    if (!g->tensors[t].op || mg_piece_of(g, (int)g->n_in, g->in, want, &one, &e) != MG_OK) continue;
    const int64_t n = mgi_trial_elements(g, want);
    uint64_t *value = (uint64_t *)malloc((size_t)n * sizeof *value), sum = 1;
    void *out[1] = {value};
    if (value && mg_eval(one, &d, (const void *const *)in, out, &e) == MG_OK) {
      for (int64_t i = 0; i < n; i++) sum = mgi_ff_hash(sum, value[i], 0);
      mark[t] = sum ? sum : 1;
    }
    free(value);
    mg_graph_free(one);
  }
  for (uint32_t k = 0; k < g->n_in; k++) free(in[k]);
}
/* Twins by their values at reduced sizes. */
MGI_FN void mgi_pieces_alike(const mg_graph *a, const mg_graph *b, uint32_t *twin, uint32_t *back) {
  const mg_graph *const g[2] = {a, b};
  mg_graph *small[2] = {NULL, NULL};
  mg_field F;
  uint64_t *mark = (uint64_t *)calloc((size_t)a->n_tensors + b->n_tensors, sizeof *mark);
  int good = mark && mgi_wide_resized(g, MGI_EVERY_CONTRACTED, NULL, small) && mg_field_large(1, 1, &F) == MG_OK;
  const mg_graph *const h[2] = {small[0], small[1]};
  good = good && h[0]->n_tensors == a->n_tensors && h[1]->n_tensors == b->n_tensors;
  good = good && mgi_wide_work(h) <= MGI_EVERY_WORK;
  for (int k = 0; k < 2 && good; k++) mgi_pieces_marks(h[k], &F, mark + (k ? a->n_tensors : 0));
  for (uint32_t t = 1; t < a->n_tensors && good; t++)
    for (uint32_t s = 1; s < b->n_tensors && mark[t] && !twin[t]; s++)
      if (!back[s] && mark[t] == mark[a->n_tensors + s] && mgi_signature_same(&a->tensors[t], &b->tensors[s]))
        twin[t] = s, back[s] = t;
  mg_graph_free(small[0]), mg_graph_free(small[1]);
  free(mark);
}
/* twin[t]: the tensor of b that is t's twin, or 0; back[]: of a.  0 if places and names contradict each other. */
MGI_FN int mgi_pieces_twins(const mg_graph *a, const mg_graph *b, uint32_t *twin, uint32_t *back) {
  const mg_graph *const both[2] = {a, b};
  int named = 0;
  for (uint32_t k = 0; k < a->n_in + a->n_out; k++) {
    const uint32_t t = k < a->n_in ? a->in[k].id : a->out[k - a->n_in].id;
    const uint32_t s = k < a->n_in ? b->in[k].id : b->out[k - a->n_in].id;
    if ((twin[t] || back[s]) && (twin[t] != s || back[s] != t)) return 0;
    twin[t] = s, back[s] = t;
  }
  for (uint32_t t = 1; t < a->n_tensors; t++)
    for (uint32_t s = 1; s < b->n_tensors && !twin[t]; s++) {
      const mg_tensor_info *x = &a->tensors[t], *y = &b->tensors[s];
      if (back[s] || !x->op || !y->op || strcmp(x->name, y->name) || !mgi_signature_same(x, y)) continue;
      twin[t] = s, back[s] = t, named++;
    }
  if (!named && mgi_wide_work(both) > MGI_PIECES_WORK) mgi_pieces_alike(a, b, twin, back);
  return 1;
}
/* Marks in stop[], by the first graph's tensors, the twins of which tensor t of g is made; of[]: the first's twin of
   each tensor of g, or 0; seen[]: by tensor. */
MGI_FN void mgi_piece_stops(const mg_graph *g, const uint32_t *of, mg_tensor t, uint8_t *seen, uint8_t *stop) {
  const mg_op_node *o = &g->ops[g->tensors[t.id].op];
  uint8_t need[MG_MAX_IN];
  if (seen[t.id]) return;
  seen[t.id] = 1;
  mg_piece_needs(g, t, need);
  for (int k = 0; k < o->n_in; k++) {
    if (need[k] && of[o->in[k].id]) stop[of[o->in[k].id]] = 1;
    else if (need[k]) mgi_piece_stops(g, of, o->in[k], seen, stop);
  }
}
/* The piece of twin t, from the twins from which b takes it; these are marked in `need`.  0: there is none, or no
   memory. */
MGI_FN int mgi_piece_make(const mg_graph *a, const mg_graph *b, const uint32_t *twin, const uint32_t *back, uint32_t t,
                          uint8_t *need, mgi_piece *x) {
  uint8_t *stop = (uint8_t *)calloc(a->n_tensors, 1), *seen = (uint8_t *)calloc((size_t)a->n_tensors + b->n_tensors, 1);
  uint32_t *own = (uint32_t *)calloc(a->n_tensors, sizeof *own);
  mg_tensor in[2][MG_MAX_IN], want[2];
  int n = 0, good = stop && seen && own && b->tensors[twin[t]].op;
  mg_error e;
  want[0].id = t, want[1].id = twin[t];
  if (good) mgi_piece_stops(b, back, want[1], seen + a->n_tensors, stop);
  for (uint32_t k = 1; k < a->n_tensors && good; k++) own[k] = stop[k] || !a->tensors[k].op ? k : 0;
  if (good) mgi_piece_stops(a, own, want[0], seen, stop);
  for (uint32_t k = 1; k < a->n_tensors && good; k++) {
    if (!stop[k]) continue;
    need[k] = 1;
    good = n < MG_MAX_IN;
    if (good) in[0][n].id = k, in[1][n++].id = twin[k];
  }
  free(stop), free(seen), free(own);
  x->id = t, x->like = -1;
  good = good && mg_piece_of(a, n, in[0], want[0], &x->g[0], &e) == MG_OK;
  good = good && mg_piece_of(b, n, in[1], want[1], &x->g[1], &e) == MG_OK;
  return good && mg_verify_signature(x->g[0], x->g[1], &e) == MG_OK;
}
/* The pieces that the outputs need, by the order of the first graph; *out is NULL if there are less than two. */
MGI_FN mg_status mgi_pieces_of(const mg_graph *a, const mg_graph *b, mgi_piece **out, int *n, mg_error *e) {
  uint32_t *twin = (uint32_t *)calloc((size_t)a->n_tensors + b->n_tensors, sizeof *twin);
  uint8_t *need = (uint8_t *)calloc(2 * (size_t)a->n_tensors, 1);
  mgi_piece *x = (mgi_piece *)calloc(a->n_tensors, sizeof *x);
  uint32_t *back = twin ? twin + a->n_tensors : NULL;
  uint8_t *done = need ? need + a->n_tensors : NULL;
  int good = twin && need && x, made = 0;
  const mg_status s = good ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the pieces of a graph");
  *out = NULL, *n = 0;
  good = good && mgi_pieces_twins(a, b, twin, back);
  for (uint32_t k = 0; k < a->n_out && good; k++) need[a->out[k].id] = 1;
  for (int more = 1; more && good;) {
    more = 0;
    for (uint32_t t = a->n_tensors; t-- > 1 && good;) {
      if (!need[t] || done[t] || !a->tensors[t].op) continue;
      done[t] = 1, more = 1;
      good = mgi_piece_make(a, b, twin, back, t, need, &x[made++]);
    }
  }
  for (int i = 1; i < made && good; i++) /* by the first graph's order */
    for (int k = i; k > 0 && x[k].id < x[k - 1].id; k--) {
      const mgi_piece y = x[k];
      x[k] = x[k - 1], x[k - 1] = y;
    }
  for (int i = 1; i < made && good; i++)
    for (int k = 0; k < i && x[i].like < 0; k++)
      if (x[k].like < 0 && mg_graph_equal(x[k].g[0], x[i].g[0]) && mg_graph_equal(x[k].g[1], x[i].g[1])) x[i].like = k;
  free(twin), free(need);
  if (good && made > 1) *out = x, *n = made;
  else mgi_pieces_free(x, x ? made : 0);
  return s;
}

/* 1 if one test of the whole takes so much that it is taken apart. */
MGI_FN int mgi_pieces_wanted(const mg_graph *const *g) {
  mg_parallel p;
  mg_graph *two[2] = {NULL, NULL};
  mg_error e;
  if (g[1]->n_ops < 3 || mgi_wide_work(g) <= MGI_PIECES_WORK || mg_parallel_of(g[0], g[1], &p, &e) != MG_OK) return 0;
  const int reduced = p.n && mgi_every_two(&p, two);
  const mg_graph *const at[2] = {reduced ? two[0] : g[0], reduced ? two[1] : g[1]};
  const int wanted = mgi_wide_work(at) > MGI_PIECES_WORK;
  mg_graph_free(two[0]), mg_graph_free(two[1]);
  mg_parallel_free(&p);
  return wanted;
}
/* One piece by itself; what is much work at its own extents is not tested there. */
MGI_FN mg_status mgi_piece_verify(const mgi_piece *x, const mg_verify_config *c, const uint64_t whole[4],
                                  double deadline, mg_verify_report *r, mg_error *e) {
  const mg_graph *const g[2] = {x->g[0], x->g[1]};
  uint64_t root[4];
  int shown = 0;
  mgi_seed_root(g[0], g[1], c->seed, whole, root);
  mgi_report_begin(r, c, root);
  if (mg_graph_equal(g[0], g[1])) {
    mgi_report_identity(r);
    return MG_OK;
  }
  mg_status s = mgi_verify_every(g[0], g[1], c, root, deadline, &shown, r, e);
  if (s != MG_OK || shown) return s;
  if (mgi_wide_work(g) <= MGI_PIECE_WORK) return mgi_verify_sizes(g[0], g[1], c, root, deadline, 1, r, e);
  mgi_report_begin(r, c, root);
  return MG_OK;
}
/* EQUAL by Theorem D: *shown is 1, and r says so.  Else *shown is 0, and nothing is known; so too of fewer than `least`
   pieces. */
MGI_FN mg_status mgi_verify_pieces(const mg_graph *a, const mg_graph *b, const mg_verify_config *c,
                                   const uint64_t root[4], double deadline, int least, int *shown, mg_verify_report *r,
                                   mg_error *e) {
  const mg_graph *const both[2] = {a, b};
  mg_verify_report one;
  mg_parallel p;
  mgi_piece *x;
  char domain[256];
  int n, total = 0, tested = 0, equal = 0;
  *shown = 0;
  mgi_report_begin(r, c, root);
  if (!mgi_defined_shown(a, b, deadline, c->stop, &total, domain) || !total) return MG_OK;
  mg_status s = mgi_pieces_of(a, b, &x, &n, e);
  for (; s == MG_OK && n >= least && equal < n; equal++) {
    if (x[equal].like >= 0) continue;
    s = mgi_piece_verify(&x[equal], c, root, deadline, &one, e);
    if (s != MG_OK || one.verdict != MG_EQUAL) break;
    tested += one.proof == MG_PROOF_NONE;
    r->tests += one.tests, r->compared += one.compared, r->guarded += one.guarded;
    r->undefined += one.undefined, r->redraws += one.redraws;
    if (one.log2_delta < 0 && (r->log2_delta == 0 || one.log2_delta > r->log2_delta)) r->log2_delta = one.log2_delta;
  }
  mgi_pieces_free(x, n);
  if (s != MG_OK || n < least || equal < n) return s;
  s = mg_parallel_of(a, b, &p, e);
  if (s != MG_OK) return s;
  if (p.n && mgi_every_own(&p, both)) mgi_every_words(&p, a, r);
  mg_parallel_free(&p);
  r->verdict = MG_EQUAL, r->proof = tested ? MG_PROOF_NONE : MG_PROOF_NORMAL, r->pieces = n;
  snprintf(r->domain, sizeof r->domain, "%s", domain);
  snprintf(r->theorem, sizeof r->theorem, "Theorem D: %d pieces, each by Theorem A, B or a proof%s", n,
           r->classes ? "; for all extents by Theorem C" : "");
  char chance[80] = "proved";
  if (tested) snprintf(chance, sizeof chance, "wrong with probability at most 2^%.2f", ceil(r->log2_delta * 100) / 100);
  if (r->classes) snprintf(r->reason, sizeof r->reason, "for all %.80s: equal piece by piece; %s", r->every, chance);
  else snprintf(r->reason, sizeof r->reason, "equal piece by piece; %s", chance);
  *shown = 1;
  return MG_OK;
}

/* 1 if what holds for all extents of the classes of both holds for all sizes of their symbols: each is a class of
   both. */
MGI_FN int mgi_every_symbols(const mg_graph *a, const mg_graph *b) {
  uint8_t of[MG_MAX_CLASSES] = {0};
  mg_parallel p;
  mg_error e;
  int all = mg_parallel_of(a, b, &p, &e) == MG_OK;
  for (uint32_t k = 0; k < a->n_in && all; k++)
    for (int d = 0; d < a->tensors[a->in[k].id].shape.rank && all; d++) {
      const int is = a->in_symbol[k][d], c = p.in[k][d];
      if (is && c < 0) all = a->symbol[is - 1].most == 1;
      if (c >= 0) all = all && (!of[c] || of[c] == is + 1), of[c] = (uint8_t)(is + 1);
    }
  mg_parallel_free(&p);
  return all;
}
/* Everything but the signature and the rows, of families without contracted symbols. */
MGI_FN mg_status mgi_verify_families(const mg_graph *a, const mg_graph *b, const mg_verify_config *c,
                                     const uint64_t root[4], double deadline, mg_verify_report *r, mg_error *e) {
  const mg_graph *const both[2] = {a, b};
  const int reduce = c->tier != MG_TIER_FAST && !c->full_size;
  int shown = 0;
  mg_status s = MG_OK;
  mgi_report_begin(r, c, root);
  if (mg_graph_equal(a, b)) {
    mgi_report_identity(r);
    return MG_OK;
  }
  const int wanted = reduce && mgi_pieces_wanted(both);
  if (wanted) s = mgi_verify_pieces(a, b, c, root, deadline, 1, &shown, r, e);
  if (s == MG_OK && reduce && !shown) s = mgi_verify_every(a, b, c, root, deadline, &shown, r, e);
  if (s == MG_OK && !shown) {
    const int guarded = r->guarded;
    s = mgi_verify_sizes(a, b, c, root, deadline, 1, r, e);
    r->guarded = guarded < 0 ? guarded : 0;
  }
  const int open = r->verdict == MG_UNDECIDED || r->verdict == MG_EQUAL_SAMPLED;
  /* too much for one proof, perhaps not for several */
  if (s == MG_OK && reduce && !wanted && open && !r->unfinished && b->n_ops > 2) {
    mg_verify_report parts;
    s = mgi_verify_pieces(a, b, c, root, deadline, 2, &shown, &parts, e);
    if (s == MG_OK && shown) *r = parts;
  }
  const int equal = r->verdict == MG_EQUAL || r->verdict == MG_EQUAL_SAMPLED;
  if (s == MG_OK && a->n_symbols && equal && !(shown && r->classes && mgi_every_symbols(a, b))) {
    r->verdict = MG_UNDECIDED; /* what was shown is of one member of the families */
    snprintf(r->reason, sizeof r->reason, "equal where each symbol is at its most; %.100s",
             reduce ? "of other sizes nothing is shown" : "other sizes were not asked for");
  }
  return s;
}

/* ---- values.  Members of families with contracted symbols, at some values of these. */

enum { MGI_VALUES = MG_SYMBOL_SIZES };
typedef struct mgi_values {
  uint8_t fixed[MG_MAX_SYMBOLS];               /* by symbol: 1 if it is contracted */
  int n;                                       /* members to compare; 0: no symbol is contracted */
  int64_t value[MGI_VALUES][MG_MAX_SYMBOLS];   /* of each */
} mgi_values;

/* Values of symbol k, from 0 on, in order; how many. */
MGI_FN int mgi_values_of(const mg_graph *const *g, uint32_t k, int64_t *value) {
  const mg_symbol *s = &g[0]->symbol[k];
  const int kernels = !mg_is_program(g[0]) || !mg_is_program(g[1]);
  int64_t least = s->most, most = 1;
  for (int j = 0; j < 2; j++) {
    int64_t chunk[2];
    if (kernels && mg_is_program(g[j])) continue;
    mg_symbol_chunks(g[j], k + 1, chunk);
    if (chunk[0] < least) least = chunk[0];
    if (chunk[1] > most) most = chunk[1];
  }
  const int64_t whole[2] = { mg_ceil_div(s->least, least) * least, mg_ceil_div(s->least, most) * most },
                further[2] = { whole[1] + 2 * most - 1, s->last };
  return mg_symbol_sizes(s->least, s->last, whole, further, value);
}
MGI_FN mg_status mgi_values_open(const mg_graph *a, const mg_graph *b, mgi_values *V, mg_error *e) {
  const mg_graph *const g[2] = {a, b};
  uint8_t other[MG_MAX_SYMBOLS];
  memset(V, 0, sizeof *V);
  mg_status s = mg_contracted(a, V->fixed, e);
  if (s == MG_OK) s = mg_contracted(b, other, e);
  for (uint32_t k = 0; k < a->n_symbols && s == MG_OK; k++) {
    int64_t value[MGI_VALUES];
    V->fixed[k] |= other[k];
    const int n = V->fixed[k] ? mgi_values_of(g, k, value) : 0;
    if (n > V->n) V->n = n;
    /* those with fewer stay at their most */
    for (int j = 0; j < MGI_VALUES && n; j++) V->value[j][k] = value[j < n ? j : n - 1];
  }
  return s;
}
/* "p = 1, 63, 64", or "p = 63, q = 15; p = 64, q = 16": the values of members from .. to; where that is too long, how
   many. */
MGI_FN void mgi_values_text(const mgi_values *V, const mg_graph *g, int from, int to, char *text, size_t size) {
  size_t n = 0;
  int many = 0;
  for (uint32_t k = 0; k < g->n_symbols; k++) many += V->fixed[k];
  text[0] = 0;
  for (int j = from; j < to; j++)
    for (uint32_t k = 0, first = 1; k < g->n_symbols && n < size; k++) {
      if (!V->fixed[k]) continue;
      const char *before = j > from && first ? many > 1 ? "; " : ", " : first ? "" : ", ";
      if (many > 1 || j == from)
        n += (size_t)snprintf(text + n, size - n, "%s%.20s = %lld", before, g->symbol[k].name,
                              (long long)V->value[j][k]);
      else n += (size_t)snprintf(text + n, size - n, "%s%lld", before, (long long)V->value[j][k]);
      first = 0;
    }
  if (n >= size) snprintf(text, size, "%d values, which the certificate lists", to - from);
}
/* Both members at the j-th values; the caller's. */
MGI_FN mg_status mgi_values_members(const mgi_values *V, const mg_graph *a, const mg_graph *b, int j, mg_graph *g[2],
                                    mg_error *e) {
  g[0] = g[1] = NULL;
  mg_status s = mg_fix(a, V->fixed, V->value[j], &g[0], e);
  if (s == MG_OK) s = mg_fix(b, V->fixed, V->value[j], &g[1], e);
  if (s != MG_OK) {
    mg_graph_free(g[0]);
    g[0] = NULL;
  }
  return s;
}
/* One pair of members by itself. */
MGI_FN mg_status mgi_values_verify(const mg_graph *const *g, const mgi_values *V, const mg_verify_config *c,
                                   const uint64_t whole[4], double deadline, mg_verify_report *r, mg_error *e) {
  mg_verify_config share = *c;
  uint64_t root[4];
  share.log2_delta -= log2(V->n);
  mgi_seed_root(g[0], g[1], c->seed, whole, root);
  return mgi_verify_families(g[0], g[1], &share, root, deadline, r, e);
}
/* All pairs: EQUAL if each is, at these values; else what the first is that is not. */
MGI_FN mg_status mgi_verify_values(const mg_graph *a, const mg_graph *b, const mgi_values *V, const mg_verify_config *c,
                                   const uint64_t root[4], double deadline, mg_verify_report *r, mg_error *e) {
  mg_verify_report one;
  double chance = 0;
  int tested = 0;
  char said[160];
  mgi_report_begin(r, c, root);
  for (int j = 0; j < V->n; j++) {
    mg_graph *g[2];
    mg_status s = mgi_values_members(V, a, b, j, g, e);
    const mg_graph *const both[2] = {g[0], g[1]};
    if (s == MG_OK) s = mgi_values_verify(both, V, c, root, deadline, &one, e);
    else if (s != MG_NO_MEMORY) { /* the builder has no member there: the verdict is UNDECIDED */
      mgi_report_begin(&one, c, root);
      snprintf(one.reason, sizeof one.reason, "there is no member: %.180s", e->msg);
      s = MG_OK;
    }
    mg_graph_free(g[0]), mg_graph_free(g[1]);
    if (s != MG_OK) return s;
    if (one.verdict != MG_EQUAL) {
      memcpy(one.digest, r->digest, sizeof one.digest);
      one.want_log2_delta = r->want_log2_delta;
      *r = one;
      mgi_values_text(V, a, j, j + 1, said, 62);
      snprintf(r->reason, sizeof r->reason, "at %.61s: %.188s", said, one.reason);
      return MG_OK;
    }
    tested += one.proof == MG_PROOF_NONE;
    r->tests += one.tests, r->compared += one.compared, r->guarded += one.guarded;
    r->undefined += one.undefined, r->redraws += one.redraws;
    if (one.log2_delta < 0) chance += exp2(one.log2_delta);
    if (!j) memcpy(r->domain, one.domain, sizeof r->domain);
    else if (strcmp(r->domain, one.domain)) snprintf(r->domain, sizeof r->domain, "shown at each of the values");
    if (!j) memcpy(said, one.every, 128);
    else if (strcmp(said, one.every)) said[0] = 0;
  }
  r->verdict = MG_EQUAL, r->proof = tested ? MG_PROOF_NONE : MG_PROOF_NORMAL, r->values = V->n;
  r->log2_delta = tested ? log2(chance) : 0;
  mgi_values_text(V, a, 0, V->n, r->at, sizeof r->at);
  char at[112];
  mgi_values_text(V, a, 0, V->n, at, sizeof at);
  snprintf(r->theorem, sizeof r->theorem, "%d values of what is contracted, at each Theorem A, B, D or a proof", V->n);
  char wrong[80] = "proved";
  if (tested) snprintf(wrong, sizeof wrong, "wrong with probability at most 2^%.2f", ceil(r->log2_delta * 100) / 100);
  const char *const every = *said ? said : NULL;
  snprintf(r->reason, sizeof r->reason, "at %s, and at no other: %s%.50s%sequal; %.45s", at, every ? "for all " : "",
           every ? every : "", every ? ": " : "", wrong);
  return MG_OK;
}
/* Everything but the signature and the rows, of what has no picks. */
MGI_FN mg_status mgi_verify_compared(const mg_graph *a, const mg_graph *b, const mg_verify_config *c,
                                     const uint64_t root[4], double deadline, mg_verify_report *r, mg_error *e) {
  mgi_values V;
  mg_status s = MG_OK;
  V.n = 0;
  if (a->n_symbols && c->tier != MG_TIER_FAST && !mg_graph_equal(a, b)) s = mgi_values_open(a, b, &V, e);
  if (s != MG_OK) return s;
  return V.n ? mgi_verify_values(a, b, &V, c, root, deadline, r, e)
             : mgi_verify_families(a, b, c, root, deadline, r, e);
}

/* ---- picks (PICKS in the header comment) */

/* Elements of inputs and outputs that a run in doubles may have, and its operations; of more than MOST there are FEW
   runs. */
enum { MGI_PICKS_RUNS = 16, MGI_PICKS_FEW = 4, MGI_PICKS_MOST = 1 << 22, MGI_PICKS_OWN = 1 << 26, MGI_PICKS_WORK = 1 << 29 };
enum { MGI_PICKS_ROWS = 1 << 10 }; /* of a table that gathers alone read, as many are enough */
/* Where run `seed` of both, x and y by output, shows another value. */
typedef struct mgi_picks_difference { int output; int64_t element; uint64_t seed; double a, b; } mgi_picks_difference;
MGI_FN int64_t mgi_picks_elements(const mg_graph *g) {
  int64_t n = 0;
  for (uint32_t k = 0; k < g->n_in + g->n_out; k++)
    n += mgi_trial_elements(g, k < g->n_in ? g->in[k] : g->out[k - g->n_in]);
  return n;
}
MGI_FN double mgi_picks_value(const mg_graph *g, uint32_t k, void *const *out, int64_t i) {
  return g->tensors[g->out[k].id].dtype == MG_I32 ? (double)((const int32_t *)out[k])[i] : ((const double *)out[k])[i];
}
/* By far more than rounding. */
MGI_FN int mgi_picks_apart(double x, double y) { return fabs(x - y) > 1e-6 * (1 + fabs(x) + fabs(y)); }
/* What output k, an argmax, looks through, in doubles: `made` or an input; NULL: it is none, or memory is out. */
typedef struct mgi_looked { double *made; const double *at; int64_t extent, inner; } mgi_looked;
MGI_FN mgi_looked mgi_looked_of(const mg_graph *g, uint32_t k, void *const *in, int index) {
  mgi_looked l = {NULL, NULL, 1, 1};
  const mg_op_node *o = &g->ops[g->tensors[g->out[k].id].op];
  const mg_domain real = mg_domain_real();
  mg_graph *piece = NULL;
  mg_error e;
  if (!index || o->code != MG_OP_ARGMAX) return l;
  const mg_shape *s = &g->tensors[o->in[0].id].shape;
  l.extent = s->dim[o->attr.dim];
  for (int d = o->attr.dim + 1; d < s->rank; d++) l.inner *= s->dim[d];
  for (uint32_t j = 0; j < g->n_in; j++)
    if (g->in[j].id == o->in[0].id) l.at = (const double *)in[j];
  if (l.at) return l;
  l.made = (double *)malloc((size_t)mgi_trial_elements(g, o->in[0]) * sizeof(double));
  void *const to[1] = {l.made};
  if (l.made && mg_piece_of(g, (int)g->n_in, g->in, o->in[0], &piece, &e) == MG_OK &&
      mg_eval(piece, &real, (const void *const *)in, to, &e) == MG_OK)
    l.at = l.made;
  mg_graph_free(piece);
  return l;
}
/* 1 if result i is at `is` rather than `other` by more than rounding. */
MGI_FN int mgi_looked_apart(const mgi_looked *l, int64_t i, int64_t is, int64_t other) {
  if (!l->at) return 0;
  const double *const row = l->at + i / l->inner * l->extent * l->inner + i % l->inner;
  const double x = row[is * l->inner], y = row[other * l->inner];
  return x > y && isfinite(x) && isfinite(y) && mgi_picks_apart(x, y);
}
/* 1 if a run in doubles of both graphs differs by far more than rounding. */
MGI_FN int mgi_picks_run(const mg_graph *const *g, uint64_t seed, mgi_picks_difference *d) {
  void *in[MG_MAX_IN] = {NULL}, *out[2][MG_MAX_OUT] = {{NULL}};
  const mg_domain real = mg_domain_real();
  mg_error e;
  int good = 1, found = 0;
  for (uint32_t k = 0; k < g[0]->n_in && good; k++) {
    const int64_t n = mgi_trial_elements(g[0], g[0]->in[k]);
    const int index = g[0]->tensors[g[0]->in[k].id].dtype == MG_I32;
    in[k] = malloc((size_t)n * sizeof(double)), good = in[k] != NULL;
    if (good && index) mg_verify_input_index(g[0], g[1], seed, (int)k, (int32_t *)in[k]);
    else if (good) mg_verify_input_real(g[0], seed, (int)k, (double *)in[k]);
  }
  for (int which = 0; which < 2 && good; which++) {
    for (uint32_t k = 0; k < g[0]->n_out && good; k++)
      out[which][k] = malloc((size_t)mgi_trial_elements(g[0], g[0]->out[k]) * sizeof(double)),
      good = out[which][k] != NULL;
    good = good && mg_eval(g[which], &real, (const void *const *)in, out[which], &e) == MG_OK;
  }
  for (uint32_t k = 0; k < g[0]->n_out && good && !found; k++) {
    const int index = g[0]->tensors[g[0]->out[k].id].dtype == MG_I32;
    mgi_looked looked[2] = {mgi_looked_of(g[0], k, in, index), mgi_looked_of(g[1], k, in, index)};
    for (int64_t i = 0; i < mgi_trial_elements(g[0], g[0]->out[k]) && !found; i++) {
      const double x = mgi_picks_value(g[0], k, out[0], i), y = mgi_picks_value(g[1], k, out[1], i);
      if (index)
        found = x != y && mgi_looked_apart(&looked[0], i, (int64_t)x, (int64_t)y) &&
                mgi_looked_apart(&looked[1], i, (int64_t)y, (int64_t)x);
      else found = isfinite(x) && isfinite(y) && mgi_picks_apart(x, y);
      if (found) d->output = (int)k, d->element = i, d->seed = seed, d->a = x, d->b = y;
    }
    free(looked[0].made), free(looked[1].made);
  }
  for (uint32_t k = 0; k < MG_MAX_IN; k++) free(in[k]);
  for (uint32_t k = 0; k < 2 * MG_MAX_OUT; k++) free(out[k / MG_MAX_OUT][k % MG_MAX_OUT]);
  return found;
}
/* 1 if what reads input k of g is gathers from it, by indices that are inputs: any of its rows are as good as
   others. */
MGI_FN int mgi_picks_table(const mg_graph *g, uint32_t k) {
  const uint32_t table = g->in[k].id;
  for (uint32_t j = 0; j < g->n_out; j++)
    if (g->out[j].id == table) return 0;
  for (uint32_t op = 1; op < g->n_ops; op++) {
    const mg_op_node *o = &g->ops[op];
    for (int j = 0; j < o->n_in; j++)
      if (o->in[j].id == table && (o->code != MG_OP_GATHER || j || g->tensors[o->in[1].id].op)) return 0;
  }
  return 1;
}
/* Both graphs with at most MGI_PICKS_ROWS rows of their tables: where these differ, so do a and b, at the same indices
   and with the same rows before others, which nothing reads.  0 and NULL where there is no such table. */
MGI_FN int mgi_picks_shorter(const mg_graph *const *g, mg_graph **out) {
  int good = 1, shorter = 0;
  for (int which = 0; which < 2 && good; which++) {
    mg_classes c;
    good = mg_classes_of(g[which], &c, NULL) == MG_OK;
    for (uint32_t k = 0; k < g[0]->n_in && good; k++) {
      if (!mgi_picks_table(g[0], k) || !mgi_picks_table(g[1], k)) continue;
      const int32_t rows = c.of[g[which]->in[k].id * MG_MAX_RANK];
      if (rows >= 0 && c.extent[rows] > MGI_PICKS_ROWS) c.extent[rows] = MGI_PICKS_ROWS, shorter = 1;
    }
    good = good && shorter && mg_resize(g[which], c.extent, NULL, &out[which], NULL) == MG_OK;
    mg_classes_free(&c);
  }
  if (!good) mg_graph_free(out[0]), mg_graph_free(out[1]), out[0] = out[1] = NULL;
  return good;
}
/* 1 if float64 runs with indices show that a and b, whose rests differ, do; *large: they are too large for any. */
MGI_FN int mgi_picks_differ(const mg_graph *a, const mg_graph *b, uint64_t seed, mgi_picks_difference *d, int *large) {
  const mg_graph *g[2] = {a, b};
  mg_graph *shorter[2] = {NULL, NULL};
  int found = 0;
  memset(d, 0, sizeof *d);
  if (mgi_picks_elements(a) > MGI_PICKS_MOST && mgi_picks_shorter(g, shorter)) g[0] = shorter[0], g[1] = shorter[1];
  const double elements = (double)mgi_picks_elements(g[0]);
  *large = elements > MGI_PICKS_MOST && (elements > MGI_PICKS_OWN || mgi_wide_work(g) > MGI_PICKS_WORK);
  const uint64_t runs = *large ? 0 : elements > MGI_PICKS_MOST ? MGI_PICKS_FEW : MGI_PICKS_RUNS;
  for (uint64_t round = 0; round < runs && !found; round++)
    found = mgi_picks_run(g,
                          (mgi_ff_hash(seed, round, 17) & ~(uint64_t)0xFF) | (uint64_t)MGI_REAL_QUIET << 2 |
                              (round & 3),
                          d);
  mg_graph_free(shorter[0]), mg_graph_free(shorter[1]);
  return found;
}
/* Why a pair whose rests differ is not told unequal. */
MGI_FN void mgi_picks_unshown(int large, char *why, size_t size) {
  snprintf(why, size, "what is left without gathers and argmaxes differs, and %s",
           large ? "both are too large for float64 runs with indices" : "no float64 run with indices does");
}
/* What EQUAL of the rests lacks to be one of the graphs: 1 and why, or 0. */
MGI_FN int mgi_picks_open(const mg_rest *R, double deadline, const volatile int *stop, char *why, size_t size) {
  char line[256];
  int total = 0;
  if (!R->computed || (mgi_defined_shown(R->g[0], R->g[1], deadline, stop, &total, line) && total)) return 0;
  snprintf(why, size,
           "not certified: a gather hands on what is computed, and facts do not show that to be defined everywhere");
  return 1;
}
MGI_FN mg_status mgi_verify_picks(const mg_graph *a, const mg_graph *b, const mg_verify_config *c,
                                  const uint64_t root[4], double deadline, mg_verify_report *r, mg_error *e) {
  mg_rest R;
  mg_error why;
  mgi_picks_difference d;
  int large = 0;
  mg_status s = mg_rest_of(a, b, &R, &why);
  const int apart = s != MG_OK; /* they cannot be paired */
  if (apart && s != MG_NO_MEMORY) {
    snprintf(r->reason, sizeof r->reason, "not certified: %.200s", why.msg);
    s = MG_OK;
  } else if (s != MG_OK) {
    if (e) *e = why;
  } else if (!R.g[0] || mg_graph_equal(R.g[0], R.g[1])) {
    mgi_report_identity(r);
    snprintf(r->domain, sizeof r->domain, "the same: one graph but for its gathers and argmaxes");
    snprintf(r->theorem, sizeof r->theorem,
             "identity: one graph but for its gathers and argmaxes; these are alike by Theorem E");
    snprintf(r->reason, sizeof r->reason,
             "equal by identity: both have one canonical form but for gathers and argmaxes, which are alike");
  } else s = mgi_verify_compared(R.g[0], R.g[1], c, root, deadline, r, e);
  r->picks = R.n;
  const int differ = apart || r->verdict == MG_NOT_EQUAL;
  if (s == MG_OK && differ && !c->skip_floats &&
      mgi_picks_differ(a, b, mgi_ff_hash(root[0], root[1], 18), &d, &large)) {
    r->verdict = MG_NOT_EQUAL, r->confirmed = 1;
    r->cx_seed = d.seed, r->cx_output = d.output, r->cx_element = d.element, r->cx_a = d.a, r->cx_b = d.b;
    mgi_verify_counterexample(a, b, r);
  } else if (s == MG_OK && r->verdict == MG_NOT_EQUAL) {
    r->verdict = MG_UNDECIDED, r->confirmed = 0;
    mgi_picks_unshown(large, r->reason, sizeof r->reason);
  } else if (s == MG_OK && r->verdict == MG_EQUAL && r->proof != MG_PROOF_IDENTITY) {
    if (mgi_picks_open(&R, deadline, c->stop, r->reason, sizeof r->reason)) r->verdict = MG_UNDECIDED;
    else
      snprintf(r->theorem + strlen(r->theorem), sizeof r->theorem - strlen(r->theorem), "; picks alike by Theorem E");
  }
  mg_rest_free(&R);
  return s;
}

mg_status mg_verify(const mg_graph *a, const mg_graph *b, const mg_verify_config *cfg, mg_verify_report *r,
                    mg_error *e) {
  mg_verify_config c = cfg ? *cfg : mg_verify_config_default();
  mg_verify_report local;
  mg_error unread;
  uint64_t root[4] = {0, 0, 0, 0};
  if (!r) r = &local;
  if (!e) e = &unread;
  mg_status s = mg_verify_signature(a, b, e);
  mgi_report_begin(r, &c, root);
  /* a search's end is a full tier */
  for (int k = 0; k < 2 && s == MG_OK && c.tier != MG_TIER_FAST; k++) s = mg_verify_rows(k ? b : a, e);
  if (s == MG_OK && c.log2_delta > 0)
    return mg_fail(e, MG_BAD_INPUT, "mg_verify", "log2_delta is %g; expected a negative number", c.log2_delta);
  if (c.log2_delta == 0) c.log2_delta = -64;
  if (s == MG_OK) mgi_seed_root(a, b, c.seed, c.salt, root);
  mgi_report_begin(r, &c, root);
  if (s != MG_OK) return s;
  const double deadline = c.time_limit_s > 0 ? mgi_seconds() + c.time_limit_s : 0;
  if (mg_graph_equal(a, b)) {
    mgi_report_identity(r);
    return MG_OK;
  }
  if (mg_has_picks(a) || mg_has_picks(b)) return mgi_verify_picks(a, b, &c, root, deadline, r, e);
  return mgi_verify_compared(a, b, &c, root, deadline, r, e);
}

/* ------------------------------------------------------------------------------------- >>text-of-certificates
   A checker parses the programs, the seed, the tier and the aim, runs mg_verify, prints the certificate anew and
   compares all bytes; so every line is rechecked.  The sum in the last line finds plain damage without that work.  A
   proof needs no search to be replayed: the same terms have the same normal form. */

/* every step is a bijection: one changed byte changes the sum */
MGI_FN uint64_t mgi_cert_sum(const char *s, size_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t k = 0; k < n; k++) h = (h ^ (unsigned char)s[k]) * 0x100000001b3u;
  return mgi_ff_mix(h);
}

/* 1: the random numbers did not depend on the graphs; 2: not on all bits of them; 3: graphs stood at their sizes. */
#define MGI_CERT_HEAD "mirage certificate 4\n"

/* Text that grows. */
typedef struct mgi_cert_text { char *s; size_t n, cap; int bad; } mgi_cert_text;
MGI_FN void mgi_cert_put(mgi_cert_text *t, const char *s, size_t n) {
  if (t->n + n + 1 > t->cap) {
    size_t cap = 2 * (t->n + n) + 1024;
    char *more = (char *)realloc(t->s, cap);
    if (!more) {
      t->bad = 1;
      return;
    }
    t->s = more, t->cap = cap;
  }
  memcpy(t->s + t->n, s, n);
  t->n += n, t->s[t->n] = 0;
}
MGI_FN void mgi_cert_add(mgi_cert_text *t, const char *format, ...) {
  char line[512];
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(line, sizeof line, format, ap);
  va_end(ap);
  if (n < 0 || n >= (int)sizeof line) t->bad = 1;
  else mgi_cert_put(t, line, (size_t)n);
}

/* A bound, rounded up to what the text shows of it. */
MGI_FN double mgi_cert_up(double x, double places) { return ceil(x * places) / places; }

/* What the tests were, and the quantities of their bound. */
MGI_FN void mgi_cert_tests(mgi_cert_text *t, const mg_verify_report *r) {
  mgi_cert_add(t, "degree %.17g\nopaque_terms %.17g\ndegree_arg %.17g\n", r->degree, r->opaque_terms, r->degree_arg);
  mgi_cert_add(t, "height %.3f\nheight_arg %.3f\n", mgi_cert_up(r->height, 1000), mgi_cert_up(r->height_arg, 1000));
  mgi_cert_add(t, "log2_eps %.2f\ndraws %d\n", mgi_cert_up(r->log2_eps, 100), (int)MG_VERIFY_DRAWS);
  if (r->two_field) {
    mgi_cert_add(t, "exp_terms 2^%.3f\ndegree_exp %.17g\n", mgi_cert_up(r->exp_terms, 1000), r->degree_exp);
    mgi_cert_add(t, "height_exp %.3f\nexp_events %.17g\n", mgi_cert_up(r->height_exp, 1000), r->exp_events);
    mgi_cert_add(t, "q_bits %d\ncandidates %d\n", r->q_bits, (int)MG_VERIFY_CANDIDATES);
  }
  mgi_cert_add(t, "compared %llu\ntests %d\n", (unsigned long long)r->compared, r->tests);
  for (int k = 0; k < r->tests && k < MG_VERIFY_TESTS; k++) {
    if (r->q[k]) mgi_cert_add(t, "primes %llu %llu\n", (unsigned long long)r->p[k], (unsigned long long)r->q[k]);
    else mgi_cert_add(t, "prime %llu\n", (unsigned long long)r->p[k]);
  }
}
/* The classes: their extents as written and their dimensions, then the axes of either graph that cut them. */
MGI_FN mg_status mgi_cert_classes(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, mg_error *e) {
  mg_parallel p;
  mg_status s = mg_parallel_of(a, b, &p, e);
  if (s != MG_OK) return s;
  mgi_cert_add(t, "extents every\n");
  for (int c = 0; c < p.n; c++) {
    char line[MGI_EVERY_LINE], name[16];
    if (!mgi_every_members(&p, a, c, line, sizeof line))
      s = mg_fail(e, MG_LIMIT, "mg_certificate", "a class of too many dimensions");
    mgi_cert_put(t, "class ", 6), mgi_cert_put(t, line, strlen(line)), mgi_cert_put(t, "\n", 1);
    for (int which = 0; which < 2; which++) {
      int kernel = 0;
      for (uint32_t l = p.first[which]; l < (which ? p.n_levels : p.first[1]); l++) {
        const mg_graph *g = p.level[l].g;
        kernel += g->level == MG_BLOCK;
        for (uint32_t x = 1; x < g->n_axes; x++)
          if (p.axis[l * (MG_MAX_AXES + 1) + x] == c)
            mgi_cert_add(t, "axis %s of kernel %d%s of the %s graph cuts %s, any number of times\n", g->axes[x].name,
                         kernel, g->level == MG_THREAD ? ", of a thread graph" : "", which ? "second" : "first",
                         mgi_every_name(&p, a, c, name));
      }
    }
  }
  mg_parallel_free(&p);
  return s;
}
/* The derivation, each of its lines set in by two spaces; every: at extent 2 of every class. */
MGI_FN mg_status mgi_cert_derivation(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, int every, mg_error *e) {
  mg_prove_report p;
  char *derivation = NULL;
  mg_graph *g[2] = {NULL, NULL};
  mg_status s = every ? mgi_every_proof_sizes(a, b, g, e) : MG_OK;
  if (s == MG_OK)
    s = mgi_prove_normal(every ? g[0] : a, every ? g[1] : b, 0, MGI_PROOF_BYTES, NULL, &p, &derivation, e);
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  if (s == MG_OK && (p.verdict != MG_EQUAL || !derivation))
    s = mg_fail(e, MG_NOT_FOUND, "mg_certificate", "there is no proof: %.200s", p.reason);
  mgi_cert_add(t, "derivation\n");
  for (const char *line = derivation; s == MG_OK && *line;) {
    size_t n = strcspn(line, "\n");
    mgi_cert_put(t, "  ", 2), mgi_cert_put(t, line, n), mgi_cert_put(t, "\n", 1);
    line += n + (line[n] == '\n');
  }
  free(derivation);
  return s;
}

/* What shows r's verdict: the classes, then the tests or the derivation. */
MGI_FN mg_status mgi_cert_shown(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, const mg_verify_report *r,
                                mg_error *e) {
  if (r->values) return MG_OK; /* of each value by itself */
  mg_status s = r->classes ? mgi_cert_classes(t, a, b, e) : MG_OK;
  if (s == MG_OK && !r->pieces && r->proof == MG_PROOF_NONE) mgi_cert_tests(t, r);
  if (s == MG_OK && !r->pieces && r->proof == MG_PROOF_NORMAL) s = mgi_cert_derivation(t, a, b, r->classes, e);
  return s;
}
/* The pieces, each verified anew: what it is a function of, and what shows that. */
MGI_FN mg_status mgi_cert_pieces(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, const mg_verify_report *r,
                                 mg_error *e) {
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report one;
  mgi_piece *x;
  int n;
  mg_status s = mgi_pieces_of(a, b, &x, &n, e);
  c.seed = r->seed, c.tier = r->tier, c.log2_delta = r->want_log2_delta;
  if (!r->classes) mgi_cert_add(t, "extents as written\n");
  for (int k = 0; k < n && s == MG_OK; k++) {
    const mg_graph *g = x[k].g[0];
    mgi_cert_add(t, "piece %d, %.64s of", k + 1, a->tensors[x[k].id].name);
    for (uint32_t i = 0; i < g->n_in; i++) mgi_cert_add(t, "%s %.64s", i ? "," : "", g->tensors[g->in[i].id].name);
    if (x[k].like >= 0) mgi_cert_add(t, "\nthe same as piece %d\n", x[k].like + 1);
    if (x[k].like >= 0) continue;
    s = mgi_piece_verify(&x[k], &c, r->digest, 0, &one, e);
    if (s == MG_OK && one.verdict != MG_EQUAL)
      s = mg_fail(e, MG_NOT_FOUND, "mg_certificate", "piece %d is %s: %.180s", k + 1,
                  mg_verdict_name(one.verdict), one.reason);
    if (s == MG_OK) mgi_cert_add(t, "\ntheorem %s\n", one.theorem);
    if (s == MG_OK) mgi_cert_add(t, "statement %s\ndomain %s\n", one.reason, one.domain);
    if (s == MG_OK) s = mgi_cert_shown(t, x[k].g[0], x[k].g[1], &one, e);
  }
  mgi_pieces_free(x, n);
  return s;
}

/* The values of contracted symbols, the pair of members at each verified anew: what shows that. */
MGI_FN mg_status mgi_cert_values(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, const mg_verify_report *r,
                                 mg_error *e) {
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report one;
  mgi_values V;
  mg_status s = mgi_values_open(a, b, &V, e);
  c.seed = r->seed, c.tier = r->tier, c.log2_delta = r->want_log2_delta, c.full_size = r->full_size;
  if (!r->full_size) mgi_cert_add(t, "extents at values\n");
  for (int j = 0; j < V.n && s == MG_OK; j++) {
    mg_graph *g[2];
    char at[160];
    s = mgi_values_members(&V, a, b, j, g, e);
    if (s != MG_OK) break;
    const mg_graph *const both[2] = {g[0], g[1]};
    s = mgi_values_verify(both, &V, &c, r->digest, 0, &one, e);
    mgi_values_text(&V, a, j, j + 1, at, sizeof at);
    if (s == MG_OK && one.verdict != MG_EQUAL)
      s = mg_fail(e, MG_NOT_FOUND, "mg_certificate", "at %.60s it is %s: %.150s", at, mg_verdict_name(one.verdict),
                  one.reason);
    if (s == MG_OK) mgi_cert_add(t, "value %s\ntheorem %s\n", at, one.theorem);
    if (s == MG_OK) mgi_cert_add(t, "statement %s\ndomain %s\n", one.reason, one.domain);
    if (s == MG_OK) s = mgi_cert_shown(t, g[0], g[1], &one, e);
    if (s == MG_OK && one.pieces) s = mgi_cert_pieces(t, g[0], g[1], &one, e);
    mg_graph_free(g[0]), mg_graph_free(g[1]);
  }
  return s;
}

/* The picks that are alike: what of the first graph is what of the second, and what of it is an input or an output
   above. */
MGI_FN void mgi_cert_picks(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, const mg_rest *R) {
  for (int k = 0; k < R->n; k++) {
    const mg_pick *p = &R->pick[k];
    const mg_op_node *o = &a->ops[p->op[0]];
    mgi_cert_add(t, "pick %.64s = %s(%.64s)", a->tensors[o->out[0].id].name, mg_op_row(o->code)->name,
                 a->tensors[p->of[0].id].name);
    if (p->op[1]) mgi_cert_add(t, " is %.64s", b->tensors[b->ops[p->op[1]].out[0].id].name);
    else mgi_cert_add(t, " is in the first alone");
    mgi_cert_add(t, "%s%s\n", p->input >= 0 ? ", any rows" : "", p->output >= 0 ? ", of what is equal" : "");
  }
}
/* The member of a family that stands in a certificate: each symbol is at its most.  The caller's. */
MGI_FN mg_status mgi_cert_member(const mg_graph *family, mg_graph **out, mg_error *e) {
  int64_t most[MG_MAX_SYMBOLS];
  mg_graph *member = NULL;
  for (uint32_t k = 0; k < family->n_symbols; k++) most[k] = family->symbol[k].most;
  *out = NULL;
  mg_status s = mg_at(family, most, &member, e);
  if (s == MG_OK) s = mg_resize(member, NULL, NULL, out, e); /* forgets the symbols' names: classes have them again */
  mg_graph_free(member);
  return s;
}
/* The text of graph `which` with these classes as symbols, each 1 to its extent as written; written: its text without.
   NULL where that is no family, or where the text's member is another graph. */
MGI_FN char *mgi_cert_family(const mg_parallel *p, int which, const uint8_t *chosen, const char *written) {
  const mg_graph *g = p->level[p->first[which]].g;
  mg_graph *named = NULL, *family = NULL, *again = NULL, *member = NULL;
  char *text = NULL, *same = NULL, name[16];
  mg_error e;
  int holds = mg_resize(g, NULL, NULL, &named, &e) == MG_OK;
  for (int c = 0; c < p->n && holds; c++) {
    if (!chosen[c]) continue;
    const char *called = mgi_every_name(p, p->level[p->first[0]].g, c, name);
    const uint32_t is = mg_symbol_new(named, called, 1, p->extent[c]);
    for (uint32_t k = 0; k < g->n_in; k++)
      for (int d = 0; d < MG_MAX_RANK; d++)
        if (p->in[k][d] == c) mg_symbol_input(named, named->in[k], d, is);
  }
  holds = holds && mg_family_of(g, named, &family, &e) == MG_OK;
  holds = holds && mg_print(family, &text, &e) == MG_OK;
  holds = holds && mg_parse(text, strlen(text), "certificate", NULL, &again, &e) == MG_OK;
  holds = holds && mgi_cert_member(again, &member, &e) == MG_OK && mg_print(member, &same, &e) == MG_OK;
  holds = holds && !strcmp(same, written);
  if (!holds) mg_string_free(text), text = NULL;
  mg_string_free(same);
  mg_graph_free(named), mg_graph_free(family), mg_graph_free(again), mg_graph_free(member);
  return text;
}
/* A line of the extents of the classes that are symbols, or of those that are not. */
MGI_FN void mgi_cert_sizes(mgi_cert_text *t, const mg_parallel *p, const mg_graph *a, const uint8_t *chosen,
                           int symbols, const char *what) {
  char name[16];
  int n = 0;
  for (int c = 0; c < p->n; c++)
    if (chosen[c] == symbols)
      mgi_cert_add(t, "%s %s = %lld", n++ ? "," : what, mgi_every_name(p, a, c, name), (long long)p->extent[c]);
  if (n) mgi_cert_add(t, "\n");
}
/* Puts both graphs' texts in symbols, a class each as far as the text form has such families: one line says at which
   sizes they are the graphs that were compared, one what stays as written (a class that is cut twice, say). */
MGI_FN mg_status mgi_cert_symbols(mgi_cert_text *t, const mg_graph *a, const mg_graph *b, char *text[2], mg_error *e) {
  uint8_t chosen[MG_MAX_CLASSES] = {0};
  mg_parallel p;
  int many = 0;
  char *best[2] = {NULL, NULL};
  mg_status s = mg_parallel_of(a, b, &p, e);
  if (s != MG_OK) return s;
  for (int c = 0; c < p.n && many < MG_MAX_SYMBOLS; c++) {
    char *found[2] = {NULL, NULL};
    chosen[c] = 1;
    for (int k = 0; k < 2 && (!k || found[0]); k++) found[k] = mgi_cert_family(&p, k, chosen, text[k]);
    const int both = found[0] && found[1];
    for (int k = 0; k < 2; k++) {
      mg_string_free(both ? best[k] : found[k]);
      if (both) best[k] = found[k];
    }
    chosen[c] = (uint8_t)both, many += both;
  }
  mgi_cert_sizes(t, &p, a, chosen, 1, "instance");
  mgi_cert_sizes(t, &p, a, chosen, 0, "as written");
  for (int k = 0; k < 2 && many; k++) mg_string_free(text[k]), text[k] = best[k];
  mg_parallel_free(&p);
  return MG_OK;
}
mg_status mg_certificate(const mg_graph *a, const mg_graph *b, const mg_verify_report *r, char **text, mg_error *e) {
  *text = NULL;
  if (r->verdict != MG_EQUAL)
    return mg_fail(e, MG_NOT_FOUND, "mg_certificate", "the verdict is %s: %s", mg_verdict_name(r->verdict), r->reason);
  char *of[2] = {NULL, NULL};
  mgi_cert_text t;
  mg_rest R;
  memset(&t, 0, sizeof t), memset(&R, 0, sizeof R);
  mg_status s = r->picks ? mg_rest_of(a, b, &R, e) : MG_OK;
  const mg_graph *x = R.g[0] ? R.g[0] : a, *y = R.g[1] ? R.g[1] : b; /* what was compared */
  for (int k = 0; k < 2 && s == MG_OK; k++) s = mg_print(k ? b : a, &of[k], e);
  if (s == MG_OK) {
    mgi_cert_add(&t, MGI_CERT_HEAD "verdict %s\n", mg_verdict_name(r->verdict));
    if (r->log2_delta < 0) mgi_cert_add(&t, "delta 2^%.2f\n", mgi_cert_up(r->log2_delta, 100));
    else mgi_cert_add(&t, "delta none\n");
    mgi_cert_add(&t, "theorem %s\nstatement %s\n", r->theorem, r->reason);
    mgi_cert_add(&t, "domain %s\n", r->domain);
    mgi_cert_add(&t, "seed %llu\ndigest ", (unsigned long long)r->seed);
    for (int k = 0; k < 4; k++) mgi_cert_add(&t, "%016llx", (unsigned long long)r->digest[k]);
    mgi_cert_add(&t, "\ntier %s\naim 2^%.17g\n", r->tier == MG_TIER_FAST ? "fast" : "full", r->want_log2_delta);
    s = mgi_cert_shown(&t, x, y, r, e);
    if (s == MG_OK && r->pieces) s = mgi_cert_pieces(&t, x, y, r, e);
    if (s == MG_OK && r->values) s = mgi_cert_values(&t, x, y, r, e);
    if (s == MG_OK && r->picks) mgi_cert_picks(&t, a, b, &R);
    if (s == MG_OK && r->classes && !r->picks && !a->n_symbols) s = mgi_cert_symbols(&t, a, b, of, e);
  }
  if (s == MG_OK) {
    for (int k = 0; k < 2; k++) {
      mgi_cert_add(&t, "%s %zu\n", k ? "second" : "first", strlen(of[k]));
      mgi_cert_put(&t, of[k], strlen(of[k]));
    }
    if (!t.bad) mgi_cert_add(&t, "sum %016llx\n", (unsigned long long)mgi_cert_sum(t.s, t.n));
    if (t.bad) s = mg_fail(e, MG_NO_MEMORY, "mg_certificate", "no memory for the text");
  }
  if (s == MG_OK) *text = t.s;
  else free(t.s);
  mg_string_free(of[0]), mg_string_free(of[1]);
  mg_rest_free(&R);
  return s;
}

/* Reads a line "key rest"; NULL if the next line has another key.  Advances *at; the rest is not terminated. */
MGI_FN const char *mgi_cert_line(const char **at, const char *end, const char *key, size_t *len) {
  size_t n = strlen(key);
  const char *s = *at, *stop = (const char *)memchr(s, '\n', (size_t)(end - s));
  if (!stop || (size_t)(stop - s) <= n || memcmp(s, key, n) || s[n] != ' ') return NULL;
  *at = stop + 1, *len = (size_t)(stop - s) - n - 1;
  return s + n + 1;
}
/* The decimal number that is the whole of s[0 .. n). */
MGI_FN int mgi_cert_number(const char *s, size_t n, uint64_t *out) {
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
  return mg_certificate_recheck(text, len, NULL, r, e);
}

/* Reads what a recheck starts from: the number, tier and aim into c, and both graphs, which are the caller's. */
MGI_FN mg_status mgi_cert_read(const char *text, size_t len, mg_verify_config *c, mg_graph *g[2], mg_error *e) {
  static const char where[] = "certificate";
  static const char *const skipped[] = {"verdict", "delta", "theorem", "statement", "domain"};
  const char *at = text, *end = text + len, *s;
  size_t n = 0, head = strlen(MGI_CERT_HEAD);
  char tail[32], num[40];
  uint64_t size;
  int members = 0;
  g[0] = g[1] = NULL;
  if (len < head || memcmp(text, MGI_CERT_HEAD, head))
    return mg_fail(e, MG_BAD_INPUT, where,
                   "expected the first line 'mirage certificate 4': of an earlier version, make it anew");
  if (len < head + 21) return mg_fail(e, MG_BAD_INPUT, where, "it is cut off");
  snprintf(tail, sizeof tail, "sum %016llx\n", (unsigned long long)mgi_cert_sum(text, len - 21));
  if (memcmp(text + len - 21, tail, 21))
    return mg_fail(e, MG_BAD_INPUT, where, "damaged: the sum in the last line is not that of the text");
  at += head;
  for (size_t k = 0; k < sizeof skipped / sizeof *skipped; k++)
    if (!mgi_cert_line(&at, end, skipped[k], &n))
      return mg_fail(e, MG_BAD_INPUT, where, "expected a line '%s'", skipped[k]);
  s = mgi_cert_line(&at, end, "seed", &n);
  if (!mgi_cert_number(s, n, &c->seed)) return mg_fail(e, MG_BAD_INPUT, where, "expected a line 'seed NUMBER'");
  if (!mgi_cert_line(&at, end, "digest", &n)) return mg_fail(e, MG_BAD_INPUT, where, "expected a line 'digest'");
  s = mgi_cert_line(&at, end, "tier", &n);
  if (!s || n != 4 || (memcmp(s, "full", 4) && memcmp(s, "fast", 4)))
    return mg_fail(e, MG_BAD_INPUT, where, "expected 'tier full' or 'tier fast'");
  c->tier = s[1] == 'u' ? MG_TIER_FULL : MG_TIER_FAST;
  s = mgi_cert_line(&at, end, "aim", &n);
  if (!s || n < 3 || n >= sizeof num || memcmp(s, "2^-", 3))
    return mg_fail(e, MG_BAD_INPUT, where, "expected a line 'aim 2^-NUMBER'");
  memcpy(num, s + 2, n - 2), num[n - 2] = 0;
  c->log2_delta = strtod(num, NULL);
  if (!(c->log2_delta < 0) || c->log2_delta < -1e6) return mg_fail(e, MG_BAD_INPUT, where, "the aim is out of range");
  c->full_size = !mgi_cert_line(&at, end, "extents", &n);
  while (at < end && memcmp(at, "first ", end - at < 6 ? (size_t)(end - at) : 6)) { /* rechecked below */
    const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at));
    members |= end - at > 9 && !memcmp(at, "instance ", 9);
    at = stop ? stop + 1 : end;
  }
  mg_status status = MG_OK;
  for (int k = 0; k < 2 && status == MG_OK; k++) {
    s = at < end ? mgi_cert_line(&at, end, k ? "second" : "first", &n) : NULL;
    if (!mgi_cert_number(s, n, &size) || size > (uint64_t)(end - at))
      status = mg_fail(e, MG_BAD_INPUT, where, "expected the %s program and its size", k ? "second" : "first");
    else if ((status = mg_parse(at, (size_t)size, k ? "certificate, second program" : "certificate, first program",
                                NULL, &g[k], e)) == MG_OK)
      at += size;
    mg_graph *family = g[k];
    if (status != MG_OK || !members) continue;
    status = mgi_cert_member(family, &g[k], e);
    mg_graph_free(family);
  }
  if (status != MG_OK) {
    mg_graph_free(g[0]), mg_graph_free(g[1]);
    g[0] = g[1] = NULL;
  }
  return status;
}

mg_status mg_certificate_graphs(const char *text, size_t len, mg_graph **a, mg_graph **b, mg_error *e) {
  mg_verify_config c = mg_verify_config_default();
  mg_graph *g[2];
  mg_status s = mgi_cert_read(text, len, &c, g, e);
  *a = g[0], *b = g[1];
  return s;
}

/* As many tests again, from a seed that nobody could know when the certificate was made. */
MGI_FN mg_status mgi_cert_afresh(const mg_graph *const *g, mg_verify_config c, mg_verify_report *r, mg_error *e) {
  mg_verify_report again;
  mg_status s = mg_verify_salt(c.salt, e);
  if (s == MG_OK) s = mg_verify(g[0], g[1], &c, &again, e);
  if (s != MG_OK) return s;
  if (again.unfinished) return mg_fail(e, MG_UNSUPPORTED, "certificate", "not rechecked: %.200s", again.reason);
  if (again.verdict != MG_EQUAL || again.classes != r->classes || again.pieces != r->pieces ||
      again.values != r->values || again.picks != r->picks)
    return mg_fail(e, MG_BAD_INPUT, "certificate", "with a seed of its own the recheck gives %s: %.180s",
                   mg_verdict_name(again.verdict), again.reason);
  memcpy(r->salt, c.salt, sizeof r->salt), r->fresh_tests = again.tests;
  return MG_OK;
}

mg_status mg_certificate_recheck(const char *text, size_t len, const mg_verify_config *how, mg_verify_report *r,
                                 mg_error *e) {
  static const char where[] = "certificate";
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report local;
  mg_graph *g[2];
  if (how)
    c.threads = how->threads, c.time_limit_s = how->time_limit_s, c.memory_limit = how->memory_limit,
    c.stop = how->stop, c.progress = how->progress, c.user = how->user;
  if (!r) r = &local;
  memset(r, 0, sizeof *r);
  mg_status status = mgi_cert_read(text, len, &c, g, e);
  if (status == MG_OK) status = mg_verify(g[0], g[1], &c, r, e);
  if (status == MG_UNSUPPORTED || status == MG_LIMIT) { /* there is no certificate of such programs */
    status = MG_BAD_INPUT;
    if (e) e->status = status;
  }
  if (status == MG_OK && r->unfinished) status = mg_fail(e, MG_UNSUPPORTED, where, "not rechecked: %.200s", r->reason);
  if (status == MG_OK && r->verdict != MG_EQUAL)
    status = mg_fail(e, MG_BAD_INPUT, where, "the tests give %s: %.180s", mg_verdict_name(r->verdict), r->reason);
  char *again = NULL;
  if (status == MG_OK) status = mg_certificate(g[0], g[1], r, &again, e);
  if (status == MG_OK && (strlen(again) != len || memcmp(again, text, len))) {
    int line = 1;
    for (size_t k = 0; k < len && again[k] && again[k] == text[k]; k++) line += text[k] == '\n';
    status = mg_fail(e, MG_BAD_INPUT, where, "line %d says what the tests do not give", line);
    if (e) e->line = line;
  }
  if (status == MG_OK && r->proof == MG_PROOF_NONE) status = mgi_cert_afresh((const mg_graph *const *)g, c, r, e);
  mg_string_free(again);
  mg_graph_free(g[0]), mg_graph_free(g[1]);
  return status;
}

/* ------------------------------------------------------------------------------------------------- >>yardstick
   mg_eval over floats, or over doubles, that knows which operator it is at: results of the text's operators are
   rounded, what is inner to sugar is not, and an inner exponential, which only a softmax has, is that of the difference
   to its row's maximum.
   Sums of f32: 64 terms at a time, then the sums of these.  So neither the last bits of one long chain nor the
   exactness of a wider sum is held against a kernel. */


double mg_unit_at(mg_dtype t, double x) {
  const mg_type_info *row = mg_type_row(t);
  int exponent;
  frexp(fabs(x), &exponent); /* below 2^exponent */
  exponent = x == 0 ? row->least : exponent - row->digits;
  return ldexp(1, exponent < row->least ? row->least : exponent);
}

typedef struct mgi_yard {
  const mg_graph *g;
  uint32_t op;          /* that is evaluated, at kernel level */
  int wide, doubles;
  uint64_t move;        /* 0: nothing moves */
  double logits;        /* the largest argument of a softmax so far, over doubles */
} mgi_yard;

MGI_FN double mgi_yard_get(const mgi_yard *Y, const mg_view *v, int64_t at) {
  return Y->doubles ? ((const double *)v->data)[at] : (double)((const float *)v->data)[at];
}
MGI_FN void mgi_yard_put(const mgi_yard *Y, const mg_view *v, int64_t at, double x) {
  if (Y->doubles) ((double *)v->data)[at] = x;
  else ((float *)v->data)[at] = (float)x;
}

MGI_FN mg_status mgi_yard_exp(mgi_yard *Y, const mg_view *out, const mg_view *in, int dim) {
  mg_shape rest = out->shape;
  int64_t at[MG_MAX_RANK] = {0}, n = out->shape.dim[dim];
  rest.dim[dim] = 1;
  do {
    const int64_t from = mgi_ff_row_offset(in, at, rest.rank), to = mgi_ff_row_offset(out, at, rest.rank);
    double most = -INFINITY;
    for (int64_t k = 0; k < n; k++) {
      const double x = mgi_yard_get(Y, in, from + k * in->stride[dim]);
      if (!(x <= most)) most = x;
      if (isfinite(x) && fabs(x) > Y->logits) Y->logits = fabs(x);
    }
    for (int64_t k = 0; k < n; k++) {
      const double x = mgi_yard_get(Y, in, from + k * in->stride[dim]);
      mgi_yard_put(Y, out, to + k * out->stride[dim], Y->doubles ? exp(x - most) : (double)expf((float)(x - most)));
    }
    int d = rest.rank - 1; /* the next place */
    while (d >= 0 && ++at[d] == rest.dim[d]) at[d--] = 0;
    if (d < 0) break;
  } while (1);
  return MG_OK;
}

MGI_FN mg_status mgi_yard_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  mgi_yard *Y = (mgi_yard *)user;
  const int r = out->shape.rank, two = mg_op_row(op)->n_in > 1;
  const int dim = op == MG_OP_EXP && Y->g->ops[Y->op].code == MG_OP_EXP ? mg_softmax_dim(Y->g, Y->op) : -1;
  int64_t at[MG_MAX_RANK] = {0};
  double c = rc.den ? (double)rc.num / (double)rc.den : 0;
  if (dim >= 0) return mgi_yard_exp(Y, out, in, dim);
  if (!Y->doubles) c = (double)(float)c;
  if (Y->doubles) {
    mg_domain d = mg_domain_real();
    return d.map(d.user, op, rc, out, in);
  }
  do {
    const int64_t n = out->shape.dim[r - 1], sa = in[0].stride[r - 1], sb = two ? in[1].stride[r - 1] : 0;
    float *o = (float *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const float *a = (const float *)in[0].data + mgi_ff_row_offset(&in[0], at, r - 1);
    const float *b = two ? (const float *)in[1].data + mgi_ff_row_offset(&in[1], at, r - 1) : a;
    switch (op) { /* those that there are most of; for all, rounding the double is rounding the result to f32 */
      case MG_OP_ADD: for (int64_t k = 0; k < n; k++) o[k] = a[k * sa] + b[k * sb]; break;
      case MG_OP_MUL: for (int64_t k = 0; k < n; k++) o[k] = a[k * sa] * b[k * sb]; break;
      case MG_OP_DIV: for (int64_t k = 0; k < n; k++) o[k] = a[k * sa] / b[k * sb]; break;
      case MG_OP_SQR: for (int64_t k = 0; k < n; k++) o[k] = a[k * sa] * a[k * sa]; break;
      case MG_OP_SCALE: for (int64_t k = 0; k < n; k++) o[k] = a[k * sa] * (float)c; break;
      default: for (int64_t k = 0; k < n; k++) o[k] = (float)mg_op_real(op, a[k * sa], b[k * sb], c);
    }
  } while (mgi_ff_next_row(&out->shape, at));
  return MG_OK;
}

enum { MGI_YARD_COLS = 16, MGI_YARD_CHAIN = 64 };
MGI_FN mg_status mgi_yard_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  const int64_t m = c->shape.dim[0], n = c->shape.dim[1], depth = a->shape.dim[1];
  (void)user;
  for (int64_t y = 0; y < n; y += MGI_YARD_COLS) {
    const int64_t cols = n - y < MGI_YARD_COLS ? n - y : (int64_t)MGI_YARD_COLS;
    for (int64_t x = 0; x < m; x++) {
      const float *f = (const float *)a->data + x * a->stride[0];
      float sum[MGI_YARD_COLS] = {0};
      for (int64_t z0 = 0; z0 < depth; z0 += MGI_YARD_CHAIN) {
        const int64_t z1 = depth - z0 < MGI_YARD_CHAIN ? depth : z0 + MGI_YARD_CHAIN;
        float part[MGI_YARD_COLS] = {0};
        const float *w = (const float *)b->data + z0 * b->stride[0] + y * b->stride[1];
        if (cols == MGI_YARD_COLS && b->stride[1] == 1)
          for (int64_t z = z0; z < z1; z++, w += b->stride[0]) {
            const float s = f[z * a->stride[1]];
            for (int j = 0; j < MGI_YARD_COLS; j++) part[j] += s * w[j];
          }
        else
          for (int64_t z = z0; z < z1; z++, w += b->stride[0])
            for (int64_t j = 0; j < cols; j++) part[j] += f[z * a->stride[1]] * w[j * b->stride[1]];
        for (int j = 0; j < MGI_YARD_COLS; j++) sum[j] += part[j];
      }
      for (int64_t j = 0; j < cols; j++) ((float *)c->data)[x * c->stride[0] + (y + j) * c->stride[1]] += sum[j];
    }
  }
  return MG_OK;
}

MGI_FN mg_status mgi_yard_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t at[MG_MAX_RANK] = {0};
  const int r = in->shape.rank;
  (void)user;
  do {
    float *o = (float *)out->data + mgi_ff_row_offset(out, at, r - 1);
    const float *a = (const float *)in->data + mgi_ff_row_offset(in, at, r - 1);
    const int64_t n = in->shape.dim[r - 1], step = in->stride[r - 1];
    if (op == MG_OP_SUM && out->stride[r - 1] == 0)
      for (int64_t k = 0; k < n; k += MGI_YARD_CHAIN) {
        float part = 0;
        for (int64_t j = k; j < n && j < k + MGI_YARD_CHAIN; j++) part += a[j * step];
        *o += part;
      }
    else
      for (int64_t k = 0; k < n; k++, o += out->stride[r - 1], a += step)
        *o = op == MG_OP_SUM ? *o + *a : *a > *o || *a != *a ? *a : *o;
  } while (mgi_ff_next_row(&in->shape, at));
  return MG_OK;
}
MGI_FN void mgi_yard_fill(void *user, mg_opcode op, void *dst, size_t n) {
  (void)user;
  for (size_t k = 0; k < n; k++) ((float *)dst)[k] = op == MG_OP_SUM ? 0.0f : -INFINITY;
}

MGI_FN void mgi_yard_next(void *user, const mg_graph *g, uint32_t op) {
  mgi_yard *Y = (mgi_yard *)user;
  Y->g = g, Y->op = op;
}
/* An operator's result: rounded, or moved. */
MGI_FN void mgi_yard_made(void *user, const mg_graph *g, mg_tensor t, const mg_view *v) {
  mgi_yard *Y = (mgi_yard *)user;
  const mg_tensor_info *i = mg_tensor_of(g, t);
  float *x = (float *)v->data;
  const int64_t n = mg_shape_elements(&v->shape);
  if (i->inner) return;
  for (int64_t k = 0; k < n && !Y->wide && Y->move; k++) {
    const double u = ldexp((double)(mgi_ff_hash(Y->move, t.id, (uint64_t)k) >> 11), -53) - 0.5;
    if (isfinite(x[k]) && x[k] != 0) x[k] = (float)(x[k] + u * mg_unit_at(i->dtype, x[k]));
  }
  for (int64_t k = 0; k < n && !Y->wide; k++) x[k] = mg_round_to(i->dtype, x[k]);
  for (int64_t k = 0; k < n && Y->wide && Y->move; k++)
    if (isfinite(x[k]) && x[k] != 0) { /* its neighbour, away from 0 or towards it */
      uint32_t u;
      memcpy(&u, &x[k], 4);
      u += mgi_ff_hash(Y->move, t.id, (uint64_t)k) & 1 ? 1 : -1;
      memcpy(&x[k], &u, 4);
    }
}

MGI_FN void mgi_yard_rounds(void *user, mg_dtype type, const mg_view *out) {
  float *x = (float *)out->data;
  (void)user;
  for (int64_t k = 0, n = mg_shape_elements(&out->shape); k < n; k++) x[k] = mg_round_to(type, x[k]);
}
mg_status mg_yardstick(const mg_graph *g, const mg_part *part, const float *const *in, float *const *out, int wide,
                       uint64_t move, mg_error *e) {
  mgi_yard Y;
  mg_domain d;
  const void *from[MG_MAX_IN];
  void *to[MG_MAX_OUT];
  memset(&Y, 0, sizeof Y);
  memset(&d, 0, sizeof d);
  Y.wide = wide, Y.move = move;
  d.user = &Y, d.elem = sizeof(float);
  d.map = mgi_yard_map, d.matmul = mgi_yard_matmul, d.combine = mgi_yard_combine, d.fill = mgi_yard_fill;
  d.next = mgi_yard_next, d.made = mgi_yard_made, d.rounds = mgi_yard_rounds;
  for (uint32_t k = 0; k < g->n_in; k++) from[k] = in[k];
  for (uint32_t k = 0; k < g->n_out; k++) to[k] = out[k];
  return mg_eval_part(g, &d, part, from, to, e);
}

/* *logits, unless NULL: the largest argument of a softmax. */
MGI_FN mg_status mgi_yard_exact(const mg_graph *g, const mg_part *part, const double *const *in, double *const *out,
                                double *logits, mg_error *e) {
  mgi_yard Y;
  mg_domain d = mg_domain_cast();
  const void *from[MG_MAX_IN];
  void *to[MG_MAX_OUT];
  memset(&Y, 0, sizeof Y);
  Y.doubles = 1;
  d.user = &Y, d.map = mgi_yard_map, d.next = mgi_yard_next;
  for (uint32_t k = 0; k < g->n_in; k++) from[k] = in[k];
  for (uint32_t k = 0; k < g->n_out; k++) to[k] = out[k];
  const mg_status s = mg_eval_part(g, &d, part, from, to, e);
  if (logits) *logits = Y.logits;
  return s;
}
mg_status mg_yardstick_reference(const mg_graph *g, const mg_part *part, const double *const *in, double *const *out,
                                 mg_error *e) {
  return mgi_yard_exact(g, part, in, out, NULL, e);
}

/* -------------------------------------------------------------------------------------------------- >>families
   Every value is a function of family, seed, draw, input and element.  Draws beyond the first renew the small inputs
   and keep those that hold most: rows are what there have to be many of, weights may stay. */

static const char *const mgi_family_names[] = {
#define MGI_F(id, name, what) name,
    MG_FAMILY_KINDS(MGI_F)
#undef MGI_F
};
static_assert(sizeof mgi_family_names / sizeof *mgi_family_names == MG_FAMILY_KIND_COUNT, "one name a kind");

/* Normal, nearly: the sum of four uniform numbers has its mean, variance and two more moments' signs; no value beyond
   3.5. */
MGI_FN double mgi_family_normal(uint64_t h) {
  const int64_t sum = (int64_t)(h & 0xFFFF) + (int64_t)(h >> 16 & 0xFFFF) + (int64_t)(h >> 32 & 0xFFFF) +
                      (int64_t)(h >> 48);
  return ((double)sum - 131070.0) * (1.7320508075688772 / 65536.0);
}
/* What a plain input is scaled by: a right operand of many rows so that the product keeps its size. */
MGI_FN double mgi_family_scale(const mg_graph *g, int k) {
  const mg_shape *s = &mg_tensor_of(g, g->in[k])->shape;
  int right = mg_is_program(g) ? 0 : 1; /* a kernel's loads do not say */
  for (uint32_t o = 1; o < g->n_ops; o++)
    for (int j = 0; j < g->ops[o].n_in; j++) {
      const int product = g->ops[o].code == MG_OP_MATMUL || g->ops[o].code == MG_OP_CONCAT_MATMUL;
      right |= product && j >= g->ops[o].n_in / 2 && g->ops[o].in[j].id == g->in[k].id;
    }
  return right && s->rank >= 2 && s->dim[s->rank - 2] >= 64 ? 1.0 / sqrt((double)s->dim[s->rank - 2]) : 1.0;
}

/* Whether a softmax's argument is input k added to something, scaled or not: an additive mask. */
MGI_FN int mgi_family_is_mask(const mg_graph *g, int k) {
  uint8_t *on = (uint8_t *)calloc(g->n_tensors, 1); /* what comes of the addition, up to a scale */
  int found = 0;
  for (uint32_t o = 1; on && o < g->n_ops && !found; o++) {
    const mg_op_node *p = &g->ops[o];
    if (p->code == MG_OP_ADD) {
      const uint32_t at = g->in[k].id;
      if (p->in[0].id == at || p->in[1].id == at || on[p->in[0].id] || on[p->in[1].id]) on[p->out[0].id] = 1;
    } else if ((p->code == MG_OP_SCALE || p->code == MG_OP_ADD_SCALAR || p->code == MG_OP_RESHAPE) && on[p->in[0].id])
      on[p->out[0].id] = 1;
    else if (p->code == MG_OP_EXP && on[p->in[0].id] && mg_softmax_dim(g, o) >= 0) found = 1;
  }
  free(on);
  return found;
}

/* Whether input k, by elements and moved, is multiplied by a constant of 2^13 or more: a switch of 0 and 1, such as the
   M of (M - 1) 10^9, which hides a key where it is 0.  Of other values the program is not finite in 16 bits. */
MGI_FN int mgi_family_is_switch(const mg_graph *g, int k) {
  double *by = (double *)calloc(g->n_tensors, sizeof *by); /* of an affine function of the input: its factor, else 0 */
  int found = 0;
  if (by) by[g->in[k].id] = 1;
  for (uint32_t o = 1; by && o < g->n_ops && !found; o++) {
    const mg_op_node *p = &g->ops[o];
    if (p->n_in != 1 || by[p->in[0].id] == 0) continue;
    const int scale = p->code == MG_OP_SCALE;
    if (scale || p->code == MG_OP_ADD_SCALAR || p->code == MG_OP_NEG || mg_op_row(p->code)->moves ||
        p->code == MG_OP_TO_F16 || p->code == MG_OP_TO_BF16 || p->code == MG_OP_TO_F32)
      by[p->out[0].id] = by[p->in[0].id] * (scale ? fabs((double)p->attr.c.num / (double)p->attr.c.den) : 1);
    found = by[p->out[0].id] >= 8192;
  }
  free(by);
  return found;
}

/* 10^2 to 10^4. */
MGI_FN double mgi_family_magnitude(uint64_t h) { return pow(10, 2 + 2 * ldexp((double)(h >> 11), -53)); }

/* Whether every draw has an input k of its own. */
MGI_FN int mgi_family_renews(const mg_graph *g, int k) {
  int64_t most = 0;
  for (uint32_t j = 0; j < g->n_in; j++)
    most = mgi_trial_elements(g, g->in[j]) > most ? mgi_trial_elements(g, g->in[j]) : most;
  return mgi_trial_elements(g, g->in[k]) * 4 <= most || g->n_in == 1 || most <= 4096;
}

void mg_family_input(const mg_graph *g, const mg_family *f, uint64_t seed, int draw, int k, const mg_box *box,
                     float *dst) {
  const mg_tensor_info *t = mg_tensor_of(g, g->in[k]);
  const int64_t n = mg_shape_elements(&t->shape), held = box ? mg_box_elements(box, t->shape.rank) : n,
                cols = t->shape.dim[t->shape.rank - 1];
  const uint64_t which = (uint64_t)f->kind * 1000003u + (uint64_t)(f->input + 1) * 8191u +
                         (uint64_t)(f->kind == MG_FAMILY_SCALE || f->kind == MG_FAMILY_JOINT ? (int64_t)f->a + 64
                                                                                             : isinf(f->a));
  const uint64_t key = mgi_ff_hash(mgi_ff_hash(seed, which, 21), (uint64_t)k,
                                   mgi_family_renews(g, k) ? (uint64_t)draw : 0);
  const int mine = f->kind >= MG_FAMILY_SCALE && f->kind != MG_FAMILY_JOINT && f->input == k,
            mask = mgi_family_is_mask(g, k), rows = f->kind == MG_FAMILY_CONSTANT || f->kind == MG_FAMILY_ZERO,
            switches = (!mine || rows) && mgi_family_is_switch(g, k);
  double scale = mask ? 1 : mgi_family_scale(g, k);
  if (f->kind == MG_FAMILY_SCALE && mine) scale *= ldexp(1, (int)f->a);
  if (f->kind == MG_FAMILY_ROWS && !mine && t->shape.rank == 1) scale *= 8; /* gains may be large where outliers are */
  if (f->kind == MG_FAMILY_LOGITS && mine) scale *= f->a;
  if (f->kind == MG_FAMILY_JOINT)
    scale *= ldexp(1, (int)(mgi_ff_hash(seed, (uint64_t)f->a, (uint64_t)k + 31) % 25) - 12);
  const int64_t column = (int64_t)(mgi_ff_hash(key, 5, 22) % 32);
  const double seen = f->a == 0; /* what shows a key, where 0 hides it 1 */
  for (int64_t j = 0; j < held; j++) {
    int64_t i = box ? 0 : j, step = 1, left = j;
    for (int d = t->shape.rank - 1; box && d >= 0; step *= t->shape.dim[d], d--) { /* its number in the whole */
      const int64_t extent = box->hi[d] - box->lo[d];
      i += (box->lo[d] + left % extent) * step;
      left /= extent;
    }
    const int64_t row = i / cols, col = i % cols;
    if (t->fill) {
      dst[j] = (float)mg_filled(t, i);
      continue;
    }
    const uint64_t h = mgi_ff_hash(key, (uint64_t)i, 23), hr = mgi_ff_hash(key, (uint64_t)row, 24);
    double x = switches ? h % 4 > 0 : scale * mgi_family_normal(h);
    if (mine) switch (f->kind) {
      case MG_FAMILY_ROWS:
        if (col == (int64_t)(hr % (uint64_t)cols))
          x = (x < 0 ? -scale : scale) * (row % 3 == 0 ? 10000 : row % 3 == 1 ? 1000 : 100) * (1 + fabs(x / scale));
        break;
      case MG_FAMILY_COLUMNS:
        if (col % 32 == column % cols) x *= mgi_family_magnitude(mgi_ff_hash(key, (uint64_t)col, 25));
        break;
      case MG_FAMILY_OFFSET: x += 1000 * scale; break;
      case MG_FAMILY_CONSTANT: x = switches ? hr % 4 > 0 : scale * mgi_family_normal(hr); break;
      case MG_FAMILY_ZERO: x = row % 3 == 1 ? 0 : x; break;
      case MG_FAMILY_DENORMAL:
        x = floor(x / scale * 300) *
            ldexp(1, t->dtype == MG_F32 ? mg_type_row(MG_F16)->least : mg_type_row(t->dtype)->least);
        break;
      case MG_FAMILY_FIRST: x = col < mg_ceil_div(cols, 4) ? f->a : seen; break;
      case MG_FAMILY_LAST: x = col >= cols - mg_ceil_div(cols, 4) ? f->a : seen; break;
      case MG_FAMILY_ALL_BUT: x = col == (int64_t)(hr % (uint64_t)cols) ? seen : f->a; break;
      default: break;
    }
    const double most = mg_type_row(t->dtype)->most;
    if (isfinite(x)) x = x > most ? most : x < -most ? -most : x;
    dst[j] = mg_round_to(t->dtype, (float)x);
  }
}

/* By how much input k has to be scaled for logits of 200; 0 if they do not follow it. */
MGI_FN double mgi_family_logits(const mg_graph *g, uint64_t seed, int k) {
  mg_box want[MG_MAX_OUT];
  mg_part part;
  float *one[MG_MAX_IN] = {NULL};
  double *in[MG_MAX_IN] = {NULL}, *out[MG_MAX_OUT] = {NULL}, logits[2] = {0, 0};
  int good = 1;
  memset(want, 0, sizeof want);
  for (uint32_t o = 0; o < g->n_out; o++) { /* the first row of every output */
    const mg_shape *s = &mg_tensor_of(g, g->out[o])->shape;
    for (int d = 0; d < s->rank; d++) want[o].hi[d] = d == s->rank - 1 ? s->dim[d] : 1;
  }
  if (mg_part_of(g, want, &part, NULL) != MG_OK) return 0;
  for (uint32_t j = 0; j < g->n_in && good; j++) {
    const int64_t held = mg_box_elements(&part.box[g->in[j].id], mg_tensor_of(g, g->in[j])->shape.rank);
    in[j] = (double *)malloc(sizeof(double) * (size_t)(held > 0 ? held : 1));
    one[j] = (float *)malloc(sizeof(float) * (size_t)(held > 0 ? held : 1));
    good = one[j] && in[j];
  }
  for (uint32_t o = 0; o < g->n_out && good; o++) {
    const int64_t n = mg_box_elements(&part.box[g->out[o].id], mg_tensor_of(g, g->out[o])->shape.rank);
    out[o] = (double *)malloc(sizeof(double) * (size_t)(n > 0 ? n : 1));
    good = out[o] != NULL;
  }
  for (int trial = 0; trial < 2 && good; trial++) {
    mg_family f;
    memset(&f, 0, sizeof f);
    f.kind = MG_FAMILY_LOGITS, f.input = k, f.a = trial ? 4096 : 1024; /* beyond what a mask adds */
    for (uint32_t j = 0; j < g->n_in; j++) {
      const mg_box *b = &part.box[g->in[j].id];
      const int64_t held = mg_box_elements(b, mg_tensor_of(g, g->in[j])->shape.rank);
      mg_family_input(g, &f, seed, 0, (int)j, b, one[j]);
      for (int64_t i = 0; i < held; i++) in[j][i] = one[j][i];
    }
    good = mgi_yard_exact(g, &part, (const double *const *)in, out, &logits[trial], NULL) == MG_OK;
  }
  for (uint32_t j = 0; j < g->n_in; j++) free(one[j]), free(in[j]);
  for (uint32_t o = 0; o < g->n_out; o++) free(out[o]);
  mg_part_free(&part);
  return good && logits[0] > 0 && logits[1] > 3 * logits[0] ? 200 * 4096 / logits[1] : 0;
}

typedef struct mgi_family_list { mg_family *out; int n, most; } mgi_family_list;
MGI_FN void mgi_family_add(mgi_family_list *L, const mg_graph *g, mg_family_kind kind, int input, double a) {
  if (L->n == L->most || (input >= 0 && mg_tensor_of(g, g->in[input])->fill)) return;
  mg_family *f = &L->out[L->n++];
  const char *of = input >= 0 ? mg_tensor_of(g, g->in[input])->name : "";
  memset(f, 0, sizeof *f);
  f->kind = kind, f->input = input, f->a = a;
  if (kind == MG_FAMILY_SCALE) snprintf(f->name, sizeof f->name, "%.60s scaled by 2^%d", of, (int)a);
  else if (kind == MG_FAMILY_JOINT) snprintf(f->name, sizeof f->name, "%s, draw %d", mgi_family_names[kind], (int)a);
  else if (kind >= MG_FAMILY_FIRST)
    snprintf(f->name, sizeof f->name, "%.50s: %s at %g", of, mgi_family_names[kind], a);
  else if (input >= 0) snprintf(f->name, sizeof f->name, "%.60s: %s", of, mgi_family_names[kind]);
  else snprintf(f->name, sizeof f->name, "%s", mgi_family_names[kind]);
}

int mg_families_of(const mg_graph *g, uint64_t seed, mg_family *out, int most) {
  static const int exponent[] = {-20, -10, 5, 10, 14};
  static const mg_family_kind shapes[] = { MG_FAMILY_ROWS,     MG_FAMILY_COLUMNS, MG_FAMILY_OFFSET,
                                           MG_FAMILY_CONSTANT, MG_FAMILY_ZERO,    MG_FAMILY_DENORMAL };
  mgi_family_list L = {out, 0, most};
  int softmax = 0, scaled = 0;
  for (uint32_t o = 1; o < g->n_ops; o++) softmax |= mg_softmax_dim(g, o) >= 0;
  mgi_family_add(&L, g, MG_FAMILY_PLAIN, -1, 0);
  for (int k = 0; k < (int)g->n_in; k++) {
    static const mg_family_kind dark[] = {MG_FAMILY_FIRST, MG_FAMILY_LAST, MG_FAMILY_ALL_BUT};
    const double value[] = {-INFINITY, -65504, -1e9}; /* the last where the mask's type has it */
    const int values = mg_tensor_of(g, g->in[k])->dtype == MG_F16 ? 2 : 3;
    for (int j = 0; j < 3 * values && softmax && mgi_family_is_mask(g, k); j++)
      mgi_family_add(&L, g, dark[j / values], k, value[j % values]);
    for (int j = 0; j < 6 && mgi_family_is_switch(g, k); j++) mgi_family_add(&L, g, dark[j / 2], k, j % 2);
  }
  for (int k = 0; k < (int)g->n_in && softmax && scaled < 2; k++) {
    const double a = mgi_family_is_mask(g, k) ? 0 : mgi_family_logits(g, seed, k);
    if (a > 0) mgi_family_add(&L, g, MG_FAMILY_LOGITS, k, a), scaled++;
  }
  for (int j = 0; j < MG_NUMERICS_JOINT; j++) mgi_family_add(&L, g, MG_FAMILY_JOINT, -1, j);
  for (int j = 4; j >= 0; j--)
    for (int k = 0; k < (int)g->n_in; k++) mgi_family_add(&L, g, MG_FAMILY_SCALE, k, exponent[j]);
  for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
    for (int k = 0; k < (int)g->n_in; k++)
      if (mg_tensor_of(g, g->in[k])->shape.rank > 1 || (shapes[j] != MG_FAMILY_CONSTANT && shapes[j] != MG_FAMILY_ZERO))
        mgi_family_add(&L, g, shapes[j], k, 0);
  return L.n;
}

/* ------------------------------------------------------------------------------------------------- >>judge
   One family at a time: what binds is found by the yardstick, then the kernel's values are held against it. */

typedef struct mgi_judge {
  const mg_graph *g;
  mg_part part, few[8];     /* what is judged; rows of it, for e32: every one of so many groups has its runs */
  int groups;
  float *in[MG_MAX_IN], *written[MG_MAX_OUT], *got[MG_MAX_OUT];
  double *exact_in[MG_MAX_IN], *exact[MG_MAX_OUT];
  int64_t n_in[MG_MAX_IN], n_out[MG_MAX_OUT], cols[MG_MAX_OUT];
  double e16, e32;
  int64_t rows, finite;
} mgi_judge;

/* rows, about, that a moved run has, or more where there are more groups then */
enum { MGI_JUDGE_FEW = 16, MGI_JUDGE_GROUPS = 8 };

MGI_FN void mgi_judge_free(mgi_judge *J) {
  for (int k = 0; k < MG_MAX_IN; k++) free(J->in[k]), free(J->exact_in[k]);
  for (int k = 0; k < MG_MAX_OUT; k++) free(J->written[k]), free(J->got[k]), free(J->exact[k]);
  mg_part_free(&J->part);
  for (int k = 0; k < MGI_JUDGE_GROUPS; k++) mg_part_free(&J->few[k]);
}

MGI_FN mg_status mgi_judge_new(mgi_judge *J, const mg_graph *g, const mg_box *want, mg_error *e) {
  mg_box all[MG_MAX_OUT], few[MG_MAX_OUT];
  mg_status s;
  memset(J, 0, sizeof *J);
  memset(all, 0, sizeof all);
  J->g = g;
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_shape *shape = &mg_tensor_of(g, g->out[k])->shape;
    for (int d = 0; d < shape->rank; d++) all[k].hi[d] = shape->dim[d];
    if (want) all[k] = want[k];
  }
  s = mg_part_of(g, all, &J->part, e);
  for (uint32_t k = 0; k < g->n_in && s == MG_OK && !want; k++) { /* one that nothing reads has elements too */
    const mg_shape *shape = &mg_tensor_of(g, g->in[k])->shape;
    mg_box *b = &J->part.box[g->in[k].id];
    for (int d = 0; d < shape->rank; d++) b->lo[d] = 0, b->hi[d] = shape->dim[d];
  }
  for (J->groups = 0; J->groups < MGI_JUDGE_GROUPS && s == MG_OK; J->groups++) {
    int more = J->groups == 0; /* rows that no group has yet */
    for (uint32_t k = 0; k < g->n_out; k++) {
      const mg_shape *shape = &mg_tensor_of(g, g->out[k])->shape;
      int64_t rows = 1, left = J->groups, of_group = 1; /* the groups stand side by side, innermost dimensions first */
      few[k] = all[k];
      for (int d = 0; d + 1 < shape->rank; d++) of_group *= all[k].hi[d] - all[k].lo[d];
      of_group = of_group > MGI_JUDGE_FEW * MGI_JUDGE_GROUPS ? mg_ceil_div(of_group, MGI_JUDGE_GROUPS)
                                                             : (int64_t)MGI_JUDGE_FEW;
      for (int d = shape->rank - 2; d >= 0; d--) {
        const int64_t extent = all[k].hi[d] - all[k].lo[d], most = of_group / rows > 0 ? of_group / rows : 1;
        const int64_t pieces = extent > most ? mg_ceil_div(extent, most) : 1, at = left % pieces;
        if (pieces > 1)
          few[k].lo[d] = all[k].lo[d] + at * most,
          few[k].hi[d] = few[k].lo[d] + most < all[k].hi[d] ? few[k].lo[d] + most : all[k].hi[d];
        more |= at > 0;
        left /= pieces, rows *= extent < most ? extent : most;
      }
    }
    if (!more) break;
    s = mg_part_of(g, few, &J->few[J->groups], e);
  }
  for (uint32_t k = 0; k < g->n_in + g->n_out && s == MG_OK; k++) {
    const int out = k >= g->n_in, j = (int)(out ? k - g->n_in : k);
    const mg_tensor t = out ? g->out[j] : g->in[j];
    const mg_shape *shape = &mg_tensor_of(g, t)->shape;
    const mg_box *b = &J->part.box[t.id];
    const int64_t n = mg_box_elements(b, shape->rank);
    const size_t some = (size_t)(n > 0 ? n : 1);
    float *a = (float *)malloc(some * sizeof(float)), *c = out ? (float *)malloc(some * sizeof(float)) : NULL;
    double *x = (double *)malloc(some * sizeof(double));
    if (out)
      J->written[j] = a, J->got[j] = c, J->exact[j] = x, J->n_out[j] = n,
      J->cols[j] = b->hi[shape->rank - 1] - b->lo[shape->rank - 1];
    else J->in[j] = a, J->exact_in[j] = x, J->n_in[j] = n;
    if (!a || !x || (out && !c))
      s = mg_fail(e, MG_NO_MEMORY, "mg_numerics", "no memory for %lld elements of '%.60s'", (long long)n,
                  mg_tensor_of(g, t)->name);
  }
  if (s != MG_OK) mgi_judge_free(J);
  return s;
}

MGI_FN void mgi_judge_draw(mgi_judge *J, const mg_family *f, uint64_t seed, int draw, int all) {
  for (uint32_t k = 0; k < J->g->n_in; k++) {
    if (!all && !mgi_family_renews(J->g, (int)k)) continue;
    mg_family_input(J->g, f, seed, draw, (int)k, &J->part.box[J->g->in[k].id], J->in[k]);
    for (int64_t i = 0; i < J->n_in[k]; i++) J->exact_in[k][i] = J->in[k][i];
  }
}

/* The largest |reference| of a row, at least `least`. */
MGI_FN double mgi_judge_size(const double *exact, int64_t n, double least) {
  double most = least;
  for (int64_t i = 0; i < n; i++)
    if (fabs(exact[i]) > most) most = fabs(exact[i]);
  return most;
}
/* The error of a row; -1 where it, or the reference, is not finite. */
MGI_FN double mgi_judge_error(const float *y, const double *exact, int64_t n, double least) {
  double gap = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(y[i]) || !isfinite(exact[i])) return -1;
    if (fabs((double)y[i] - exact[i]) > gap) gap = fabs((double)y[i] - exact[i]);
  }
  return gap / mgi_judge_size(exact, n, least);
}

/* Draws until there are enough rows; the first draw's inputs and values stay. */
MGI_FN mg_status mgi_judge_binds(mgi_judge *J, const mg_family *f, uint64_t seed, mg_error *e) {
  const mg_graph *g = J->g;
  int64_t all = 0;
  mg_status s = MG_OK;
  J->e16 = J->e32 = 0, J->rows = J->finite = 0;
  for (uint32_t k = 0; k < g->n_out; k++) all += J->cols[k] ? J->n_out[k] / J->cols[k] : 0;
  const int draws = all > 0 && all < MG_NUMERICS_ROWS ? (int)mg_ceil_div(MG_NUMERICS_ROWS, all) : 1;
  for (int draw = draws - 1; draw >= 0 && s == MG_OK; draw--) {
    mgi_judge_draw(J, f, seed, draw, draw == draws - 1);
    s = mg_yardstick_reference(g, &J->part, (const double *const *)J->exact_in, J->exact, e);
    if (s == MG_OK) s = mg_yardstick(g, &J->part, (const float *const *)J->in, J->written, 0, 0, e);
    for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++)
      for (int64_t i = 0; i < J->n_out[k]; i += J->cols[k]) {
        const double error = mgi_judge_error(J->written[k] + i, J->exact[k] + i, J->cols[k],
                                             mg_unit_at(mg_tensor_of(g, g->out[k])->dtype, 0));
        J->rows++, J->finite += error >= 0;
        if (error > J->e16) J->e16 = error;
      }
  }
  return s;
}
/* One group of rows, of the inputs that J has: its reference, then the runs that are the group's; e32 and e16 grow. */
MGI_FN mg_status mgi_judge_group(mgi_judge *J, int group, uint64_t seed, mg_error *e) {
  const mg_graph *g = J->g;
  const mg_part *few = &J->few[group];
  mg_status s = MG_OK;
  double *exact[MG_MAX_OUT] = {NULL}, *xin[MG_MAX_IN] = {NULL};
  float *out[MG_MAX_OUT] = {NULL}, *in[MG_MAX_IN] = {NULL};
  int good = 1;
  for (uint32_t k = 0; k < g->n_in && good; k++) { /* its inputs are a part of J's */
    const mg_shape *shape = &mg_tensor_of(g, g->in[k])->shape;
    const mg_box *b = &few->box[g->in[k].id], *whole = &J->part.box[g->in[k].id];
    const int64_t n = mg_box_elements(b, shape->rank);
    in[k] = (float *)malloc(sizeof(float) * (size_t)(n > 0 ? n : 1)),
    xin[k] = (double *)malloc(sizeof(double) * (size_t)(n > 0 ? n : 1));
    good = in[k] && xin[k];
    for (int64_t i = 0; i < n && good; i++) {
      int64_t at = 0, step = 1, left = i;
      for (int d = shape->rank - 1; d >= 0; d--) {
        at += (left % (b->hi[d] - b->lo[d]) + b->lo[d] - whole->lo[d]) * step;
        left /= b->hi[d] - b->lo[d], step *= whole->hi[d] - whole->lo[d];
      }
      in[k][i] = J->in[k][at], xin[k][i] = J->in[k][at];
    }
  }
  for (uint32_t k = 0; k < g->n_out && good; k++) {
    const int64_t n = mg_box_elements(&few->box[g->out[k].id], mg_tensor_of(g, g->out[k])->shape.rank);
    out[k] = (float *)malloc(sizeof(float) * (size_t)(n > 0 ? n : 1)),
    exact[k] = (double *)malloc(sizeof(double) * (size_t)(n > 0 ? n : 1));
    good = out[k] && exact[k];
  }
  if (!good) s = mg_fail(e, MG_NO_MEMORY, "mg_numerics", "no memory for the moved runs");
  if (s == MG_OK) s = mg_yardstick_reference(g, few, (const double *const *)xin, exact, e);
  for (int move = group; move < 2 * MG_NUMERICS_MOVES && s == MG_OK; move += J->groups) {
    const int wide = move < MG_NUMERICS_MOVES;
    double *const most = wide ? &J->e32 : &J->e16;
    s = mg_yardstick(g, few, (const float *const *)in, out, wide, mgi_ff_hash(seed, (uint64_t)move, 26) | 1, e);
    for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++) {
      const int64_t n = mg_box_elements(&few->box[g->out[k].id], mg_tensor_of(g, g->out[k])->shape.rank);
      const double least = mg_unit_at(wide ? MG_F32 : mg_tensor_of(g, g->out[k])->dtype, 0);
      for (int64_t i = 0; i < n; i += J->cols[k]) {
        const double error = mgi_judge_error(out[k] + i, exact[k] + i, J->cols[k], least);
        if (error > *most) *most = error;
      }
    }
  }
  for (uint32_t k = 0; k < g->n_in; k++) free(in[k]), free(xin[k]);
  for (uint32_t k = 0; k < g->n_out; k++) free(out[k]), free(exact[k]);
  return s;
}
/* What e16 and e32 have of moved runs, on the first draw: they take turns with the groups of rows. */
MGI_FN mg_status mgi_judge_moves(mgi_judge *J, uint64_t seed, mg_error *e) {
  mg_status s = MG_OK;
  for (int k = 0; k < J->groups && s == MG_OK; k++) s = mgi_judge_group(J, k, seed, e);
  return s;
}

/* Holds J->got against rule (i) or (ii); 1: safe.  Else *fault is of the row that is furthest beyond its bound. */
MGI_FN int mgi_judge_holds(const mgi_judge *J, int wide, mg_numerics_fault *fault) {
  const mg_graph *g = J->g;
  double worst = 0; /* error over bound */
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_dtype type = wide ? MG_F32 : mg_tensor_of(g, g->out[k])->dtype;
    const double least = mg_unit_at(type, 0);
    for (int64_t i = 0; i < J->n_out[k]; i += J->cols[k]) {
      const float *got = J->got[k] + i, *written = J->written[k] + i;
      const double *exact = J->exact[k] + i, size = mgi_judge_size(exact, J->cols[k], least),
                   unit = mg_unit_at(type, size) / size;
      const double bound = wide ? 16 * J->e32 + 2 * unit : 4 * (J->e16 + J->e32) + 2 * unit;
      const int whole = mgi_judge_error(written, exact, J->cols[k], least) >= 0; /* finite as written */
      for (int64_t c = 0; c < J->cols[k]; c++) {
        const double toward = got[c] < 0 ? -exact[c] : exact[c];
        /* what the bound allows is infinite in this type */
        const int edge = toward >= 0.5 * mg_type_row(type)->most && toward + bound * size >= mg_type_row(type)->most;
        const int lost = isfinite(written[c]) && isfinite(exact[c]) && !isfinite(got[c]) && !(edge && !isnan(got[c]));
        const double error = lost ? INFINITY : whole && isfinite(got[c]) ? fabs((double)got[c] - exact[c]) / size : 0;
        if (!(error > bound) || !(error / bound > worst)) continue;
        worst = error / bound;
        fault->wide = wide, fault->output = (int)k;
        fault->element = i + c, fault->row = i / J->cols[k];
        fault->got = got[c], fault->written = written[c], fault->reference = exact[c];
        fault->error = error, fault->bound = lost ? 0 : bound;
      }
    }
  }
  return worst == 0;
}

mg_status mg_numerics(const mg_graph *g, mg_numerics_run run, void *user, const mg_numerics_config *cfg,
                      mg_numerics_report *r, mg_error *e) {
  mg_numerics_config none;
  mgi_judge J;
  const double began = mgi_seconds();
  memset(&none, 0, sizeof none);
  memset(r, 0, sizeof *r);
  if (!cfg) cfg = &none;
  r->judged = run != NULL;
  if (!g || g->up) return mg_fail(e, MG_BAD_INPUT, "mg_numerics", "call it on a program");
  mg_family *family = (mg_family *)malloc(MG_FAMILIES_MOST * sizeof *family);
  if (!family) return mg_fail(e, MG_NO_MEMORY, "mg_numerics", "no memory for the families");
  mg_status s = mgi_judge_new(&J, g, cfg->want, e);
  if (s != MG_OK) { free(family); return s; }
  r->families = mg_families_of(g, cfg->seed, family, MG_FAMILIES_MOST);
  for (int k = 0; k < r->families && s == MG_OK && !(cfg->first && r->unsafe); k++) {
    if (cfg->parts > 1 && k % cfg->parts != cfg->part) continue;
    if (cfg->time_limit_s > 0 && mgi_seconds() - began > cfg->time_limit_s) break;
    s = mgi_judge_binds(&J, &family[k], cfg->seed, e);
    if (s != MG_OK) break;
    r->ran++;
    if (2 * J.finite < J.rows) continue;
    s = mgi_judge_moves(&J, cfg->seed, e);
    if (s != MG_OK) break;
    r->binding++, r->bind[k] = 1, r->e16[k] = J.e16, r->e32[k] = J.e32;
    for (int wide = 0; wide < 2 && run && s == MG_OK; wide++) {
      mg_numerics_fault fault;
      memset(&fault, 0, sizeof fault);
      if (cfg->only == 2 - wide || (wide && r->without_wide)) continue;
      s = run(user, (const float *const *)J.in, J.got, wide, e);
      if (s == MG_UNSUPPORTED && wide) { r->without_wide = 1, s = MG_OK; continue; }
      if (s != MG_OK || mgi_judge_holds(&J, wide, &fault)) continue;
      if (!r->bad[k]) r->unsafe++;
      r->bad[k] |= wide ? 2 : 1;
      if (r->has_fault) continue;
      snprintf(fault.family, sizeof fault.family, "%s", family[k].name);
      snprintf(r->output, sizeof r->output, "%.70s", mg_tensor_of(g, g->out[fault.output])->name);
      fault.number = k;
      r->fault = fault, r->has_fault = 1;
    }
  }
  mgi_judge_free(&J);
  free(family);
  r->seconds = mgi_seconds() - began;
  if (s != MG_OK) return s;
  if (r->unsafe) return mg_fail(e, MG_NOT_FOUND, g->name, "not as safe as written: %.60s", r->fault.family);
  if (cfg->parts <= 1 && r->binding < MG_FAMILIES_LEAST)
    return mg_fail(e, MG_UNSUPPORTED, g->name, "%d families bind, of %d that ran: fewer than %d", r->binding, r->ran,
                   MG_FAMILIES_LEAST);
  return MG_OK;
}

mg_status mg_numerics_join(mg_numerics_report *to, const mg_numerics_report *part) {
  if (part->has_fault && (!to->has_fault || part->fault.number < to->fault.number)) {
    to->has_fault = 1, to->fault = part->fault;
    memcpy(to->output, part->output, sizeof to->output);
  }
  to->families = part->families, to->judged |= part->judged;
  to->ran += part->ran, to->binding += part->binding, to->unsafe += part->unsafe,
      to->without_wide |= part->without_wide;
  if (part->seconds > to->seconds) to->seconds = part->seconds;
  for (int k = 0; k < MG_FAMILIES_MOST; k++) {
    to->bind[k] |= part->bind[k], to->bad[k] |= part->bad[k];
    to->e16[k] += part->e16[k], to->e32[k] += part->e32[k]; /* 0 but in one */
  }
  return to->unsafe ? MG_NOT_FOUND : to->binding < MG_FAMILIES_LEAST ? MG_UNSUPPORTED : MG_OK;
}

void mg_numerics_line(const mg_numerics_report *r, char *line, size_t n) {
  const mg_numerics_fault *f = &r->fault;
  if (r->unsafe && f->bound == 0)
    snprintf(
        line, n,
        "NOT as safe as written: family %s%s, output %.70s, row %lld, element %lld: got %.6g, as written %.6g (%d of %d families)",
        f->family, f->wide ? ", all in f32" : "", r->output, (long long)f->row, (long long)f->element, f->got,
        f->written, r->unsafe, r->binding);
  else if (r->unsafe)
    snprintf(
        line, n,
        "NOT as safe as written: family %s%s, output %.70s, row %lld, element %lld: got %.6g, as written %.6g, float64 %.6g; error %.3g, bound %.3g (%d of %d families)",
        f->family, f->wide ? ", all in f32" : "", r->output, (long long)f->row, (long long)f->element, f->got,
        f->written, f->reference, f->error, f->bound, r->unsafe, r->binding);
  else if (r->binding < MG_FAMILIES_LEAST)
    snprintf(line, n, "undecided: %d families bind, of %d that ran", r->binding, r->ran);
  else
    snprintf(line, n, "as safe as written, by runs (%d families bind%s%s)", r->binding,
             r->without_wide ? "; not run all in f32" : "", r->ran < r->families ? "; not all were run" : "");
}

/* --------------------------------------------------------------------------------------------------- >>terms
   Real terms in a normal form, hash-consed: equal ids are equal terms.
     polynomial   sum of rational * monomial, at least; a monomial is a product of atoms to powers, negative ones too
     atom         an input element; 1 or 0 for an index below a bound; f(polynomial ..); a maximum of polynomials;
                  1/(polynomial of two terms or more); a sum, or a maximum, over bound indices
   An index is a list of digits, most significant first: digit (v, div, mod) is (v / div) % mod of an index variable v.
   A reduction over an index that was cut into blocks and iterations so meets the one over the whole index: bound
   variables are split where no digit crosses, then merged where two always stand side by side.
     sum of a sum of terms           the sums of the terms; what does not depend on the index moves out
     sum of a product over i and j   the product of the sums, where no factor has both; nested sums are flattened
   Bound variables are named by the height of the term, in the order that gives the least id.
   Requirement 1: every step is an identity of the reals wherever both sides are defined, by the FORM rows.
   Requirement 2: a term that passes a limit sets `bad`; the result is then worthless, and the verdict UNDECIDED. */

enum { MGI_PV_IN = 1, MGI_PV_FN, MGI_PV_MAX, MGI_PV_INV, MGI_PV_SUM, MGI_PV_TOP, MGI_PV_MONO, MGI_PV_POLY, MGI_PV_KEY, MGI_PV_LESS,
       MGI_PV_SET, MGI_PV_FACTORS, MGI_PV_DUTY, MGI_PV_DIVISOR, MGI_PV_ROOT, MGI_PV_LOGARITHM, MGI_PV_USED /* >>defined */ };
enum { MGI_PV_ZERO = 1, MGI_PV_NONE = 2 };           /* ids: the polynomial 0; minus infinity, the maximum of nothing */
/* variables: 0.. free, 8.. bound, 40.. while building */
enum { MGI_PV_FREE = 8, MGI_PV_TEMP = 40, MGI_PV_VARS = 64, MGI_PV_NAUGHT = 255 };
enum { MGI_PV_BOUND = 5, MGI_PV_TERMS = 20000, MGI_PV_DIGITS = 12, MGI_PV_NEST = 200 /* functions in functions, operators on operators: recursion is as deep */ };
enum { MGI_PV_STEPS = 4000000, MGI_PV_NODES = 400000, MGI_PV_FEW = 512 }; /* limits of a proof without the solver */
enum { MGI_PV_KEY_WORDS = 4 + (MG_MAX_RANK + 3 * (MG_MAX_AXES + 1)) * (1 + 4 * MGI_PV_DIGITS) };

typedef struct mgi_pv_node {
  size_t off;
  uint32_t n, hash, top, value, height; /* top: past its bound variables */
  uint32_t found, factors;              /* of a key: what mgi_prover's were for this element */
  uint64_t vars;
  uint8_t sign;
} mgi_pv_node;
typedef struct mgi_pv_term { uint32_t mono; int64_t num, den; } mgi_pv_term;
typedef struct mgi_pv_digit { uint32_t var, div, mod; } mgi_pv_digit;
typedef struct mgi_pv_index { int n; mgi_pv_digit d[MGI_PV_DIGITS]; } mgi_pv_index;
/* Variable `var` := hi * at + lo, each times a scale; at == 0: lo only. */
typedef struct mgi_pv_sub { uint32_t var, at, lo, lo_scale, hi; } mgi_pv_sub;

typedef struct mgi_prover {
  uint32_t *w;
  size_t nw, cw, limit;
  mgi_pv_node *node;
  uint32_t n, cap, *slot, slots;
  int64_t extent[MGI_PV_VARS];
  int temps, bad;
  char why[160];
  uint64_t used;             /* rows of the axiom table, by index */
  uint64_t times[64];        /* how often each was applied */
  int16_t rises[MG_OP_TABLE_END]; /* mgi_pv_rising: 0 until it is asked */
  double deadline;
  const volatile int *stop;
  uint64_t steps, most;      /* taken, and 0 or the most: a limit that is no clock */
  uint64_t asked;            /* terms that were asked for */
  int depth;                 /* of mgi_pv_element */
  uint32_t key[MGI_PV_KEY_WORDS];
  uint32_t from, to;         /* an atom that mgi_pv_map replaces, and the polynomial in its place */
  const struct mgi_defined *record; /* NULL, or what is to be noted of where elements are defined (>>defined) */
  uint32_t found;            /* the set of what the element read last takes to be defined; 0: nothing */
  uint32_t factors;          /* polynomials one of which is 0 where it is, and only there; 0: itself */
} mgi_prover;

MGI_FN uint32_t mgi_pv_fail(mgi_prover *P, const char *why) {
  if (!P->bad) snprintf(P->why, sizeof P->why, "%.150s", why);
  P->bad = 1;
  return MGI_PV_ZERO;
}
MGI_FN void mgi_pv_clock(mgi_prover *P) {
  if (!P->bad && ((P->deadline > 0 && mgi_seconds() > P->deadline) || mgi_verify_flag(P->stop)))
    mgi_pv_fail(P, "the time limit ended it");
}
MGI_FN int mgi_pv_over(mgi_prover *P) {
  if (P->most && (P->steps > P->most || P->n > MGI_PV_NODES)) mgi_pv_fail(P, "too large: it takes too many steps");
  if ((P->steps++ & 1023) == 0) mgi_pv_clock(P);
  return P->bad;
}
MGI_FN uint32_t mgi_pv_word(const mgi_prover *P, uint32_t id, uint32_t k) { return P->w[P->node[id].off + k]; }
MGI_FN int64_t mgi_pv_long(const mgi_prover *P, uint32_t id, uint32_t k) {
  return (int64_t)((uint64_t)mgi_pv_word(P, id, k) | (uint64_t)mgi_pv_word(P, id, k + 1) << 32);
}
MGI_FN uint32_t mgi_pv_kind(const mgi_prover *P, uint32_t id) { return mgi_pv_word(P, id, 0); }

#define MGI_X(name, use, text) MGI_PV_ROW_##name,
enum { MG_BUILTIN_PROOF_AXIOMS(MGI_X) MG_USER_PROOF_AXIOMS(MGI_X) MGI_PV_ROWS };
#undef MGI_X
static_assert(MGI_PV_ROWS <= 64, "the rows in play are a 64-bit set");
MGI_FN void mgi_pv_use(mgi_prover *P, int row) { P->used |= (uint64_t)1 << row, P->times[row]++; }

/* What a node's children say of its variables. */
MGI_FN void mgi_pv_look(mgi_prover *P, mgi_pv_node *x) {
  const uint32_t *w = P->w + x->off;
  uint32_t first = x->n, step = 1;
  x->vars = 0, x->top = MGI_PV_FREE;
  switch (w[0]) {
    case MGI_PV_IN: case MGI_PV_LESS:
      if (w[2] != UINT32_MAX)
        for (uint32_t k = 2; k < x->n; k += 1 + 3 * w[k])
          for (uint32_t j = 0; j < w[k]; j++)
            if (w[k + 1 + 3 * j] < MGI_PV_VARS) x->vars |= (uint64_t)1 << w[k + 1 + 3 * j];
      return;
    case MGI_PV_FN: first = 6; break;
    case MGI_PV_MAX: case MGI_PV_INV: first = 1; break;
    case MGI_PV_SUM: first = x->n - 1; break;
    /* which indices there are, and of what */
    case MGI_PV_TOP:
    case MGI_PV_DIVISOR:
    case MGI_PV_ROOT:
    case MGI_PV_LOGARITHM:
    case MGI_PV_USED: first = x->n - 2; break;
    case MGI_PV_MONO: first = 1, step = 2; break;
    case MGI_PV_POLY: first = 1, step = 5; break;
    default: return;
  }
  for (uint32_t k = first; k < x->n; k += step) {
    const mgi_pv_node *c = &P->node[w[k]];
    x->vars |= c->vars;
    if (c->top > x->top) x->top = c->top;
    if (c->height >= x->height) x->height = c->height + 1;
  }
  if (w[0] == MGI_PV_SUM || w[0] == MGI_PV_TOP || w[0] >= MGI_PV_DIVISOR) {
    for (uint32_t k = 0; k < w[1]; k++) x->vars &= ~((uint64_t)1 << (w[2] + k));
    if (w[2] + w[1] > x->top) x->top = w[2] + w[1];
  }
}

/* The id of the node with these words; 0 if memory is out. */
MGI_FN uint32_t mgi_pv_intern(mgi_prover *P, const uint32_t *w, uint32_t n) {
  uint64_t h = n;
  if ((P->asked++ & 8191) == 0) mgi_pv_clock(P); /* a step may take many terms: maxima inside each other do */
  if (P->bad) return MGI_PV_ZERO;
  for (uint32_t k = 0; k < n; k++) h = mgi_ff_mix(h ^ w[k]);
  if (2 * (size_t)P->n + 2 >= P->slots) {
    uint32_t slots = P->slots ? 2 * P->slots : 4096, *s = (uint32_t *)calloc(slots, sizeof *s);
    if (!s || slots > (uint32_t)1 << 30) { free(s); return mgi_pv_fail(P, "no memory for terms"); }
    for (uint32_t id = 1; id < P->n; id++) {
      uint32_t at = P->node[id].hash & (slots - 1);
      while (s[at]) at = (at + 1) & (slots - 1);
      s[at] = id;
    }
    free(P->slot);
    P->slot = s, P->slots = slots;
  }
  uint32_t at = (uint32_t)h & (P->slots - 1);
  for (; P->slot[at]; at = (at + 1) & (P->slots - 1)) {
    const mgi_pv_node *x = &P->node[P->slot[at]];
    if (x->hash == (uint32_t)h && x->n == n && !memcmp(P->w + x->off, w, n * sizeof *w)) return P->slot[at];
  }
  if (P->nw + n > P->cw || P->n == P->cap) {
    size_t cw = 2 * P->cw + n + 4096;
    uint32_t cap = 2 * P->cap + 1024;
    if (cw * sizeof *P->w + cap * sizeof *P->node + P->slots * sizeof *P->slot > P->limit)
      return mgi_pv_fail(P, "too large: the terms pass the memory limit");
    uint32_t *ww = (uint32_t *)realloc(P->w, cw * sizeof *ww);
    if (ww) P->w = ww, P->cw = cw;
    mgi_pv_node *nn = ww ? (mgi_pv_node *)realloc(P->node, cap * sizeof *nn) : NULL;
    if (!nn) return mgi_pv_fail(P, "no memory for terms");
    P->node = nn, P->cap = cap;
  }
  if (!P->n) memset(&P->node[P->n++], 0, sizeof *P->node);
  mgi_pv_node x;
  memset(&x, 0, sizeof x);
  x.off = P->nw, x.n = n, x.hash = (uint32_t)h;
  memcpy(P->w + P->nw, w, n * sizeof *w);
  P->nw += n;
  mgi_pv_look(P, &x);
  if (x.height > 3 * MGI_PV_NEST) return mgi_pv_fail(P, "terms nest too deep");
  P->node[P->n] = x;
  P->slot[at] = P->n;
  return P->n++;
}

/* ---- rationals and polynomials */

MGI_FN int mgi_pv_ratio(mgi_i128 num, mgi_i128 den, int64_t *n, int64_t *d) {
  mgi_i128 a = num < 0 ? -num : num, b = den;
  while (b) { mgi_i128 t = a % b; a = b, b = t; }
  if (a > 1) num /= a, den /= a;
  if (num > INT64_MAX / 2 || num < -(INT64_MAX / 2) || den > INT64_MAX / 2) return 0;
  *n = (int64_t)num, *d = (int64_t)den;
  return 1;
}
MGI_FN int mgi_pv_by_mono(const void *a, const void *b) {
  uint32_t x = ((const mgi_pv_term *)a)->mono, y = ((const mgi_pv_term *)b)->mono;
  return x < y ? -1 : x > y;
}
/* Sorts and adds up; t is clobbered. */
MGI_FN uint32_t mgi_pv_poly(mgi_prover *P, mgi_pv_term *t, size_t n) {
  size_t m = 0;
  if (P->bad || !n) return MGI_PV_ZERO;
  qsort(t, n, sizeof *t, mgi_pv_by_mono);
  for (size_t k = 0; k < n; k++) {
    if (m && t[m - 1].mono == t[k].mono) {
      mgi_pv_term *x = &t[m - 1];
      if (x->den == 1 && t[k].den == 1 ? !mgi_pv_ratio((mgi_i128)x->num + t[k].num, 1, &x->num, &x->den)
                                       : !mgi_pv_ratio((mgi_i128)x->num * t[k].den + (mgi_i128)t[k].num * x->den,
                                                       (mgi_i128)x->den * t[k].den, &x->num, &x->den))
        return mgi_pv_fail(P, "too large: a coefficient");
    } else t[m++] = t[k];
    if (!t[m - 1].num) m--;
  }
  if (!m) return MGI_PV_ZERO;
  if (m > MGI_PV_TERMS) return mgi_pv_fail(P, "too large: a polynomial");
  uint32_t few[64], *w = m > 12 ? (uint32_t *)malloc((1 + 5 * m) * sizeof *w) : few, id;
  if (!w) return mgi_pv_fail(P, "no memory for terms");
  w[0] = MGI_PV_POLY;
  for (size_t k = 0; k < m; k++) {
    uint32_t *x = w + 1 + 5 * k;
    x[0] = t[k].mono, x[1] = (uint32_t)t[k].num, x[2] = (uint32_t)((uint64_t)t[k].num >> 32), x[3] = (uint32_t)t[k].den,
    x[4] = (uint32_t)((uint64_t)t[k].den >> 32);
  }
  id = mgi_pv_intern(P, w, (uint32_t)(1 + 5 * m));
  if (w != few) free(w);
  return id;
}
MGI_FN uint32_t mgi_pv_count(const mgi_prover *P, uint32_t p) { return (P->node[p].n - 1) / 5; }
MGI_FN mgi_pv_term mgi_pv_at(const mgi_prover *P, uint32_t p, uint32_t k) {
  mgi_pv_term t;
  t.mono = mgi_pv_word(P, p, 1 + 5 * k), t.num = mgi_pv_long(P, p, 2 + 5 * k), t.den = mgi_pv_long(P, p, 4 + 5 * k);
  return t;
}
MGI_FN uint32_t mgi_pv_unit(mgi_prover *P) { uint32_t w = MGI_PV_MONO; return mgi_pv_intern(P, &w, 1); }
MGI_FN uint32_t mgi_pv_single(mgi_prover *P, uint32_t mono, int64_t num, int64_t den) {
  mgi_pv_term t;
  t.mono = mono, t.num = num, t.den = den;
  return mgi_pv_poly(P, &t, 1);
}
MGI_FN uint32_t mgi_pv_number(mgi_prover *P, int64_t num, int64_t den) {
  return num ? mgi_pv_single(P, mgi_pv_unit(P), num, den) : (uint32_t)MGI_PV_ZERO;
}
MGI_FN uint32_t mgi_pv_atom(mgi_prover *P, uint32_t atom, int power) {
  uint32_t w[3];
  w[0] = MGI_PV_MONO, w[1] = atom, w[2] = (uint32_t)power;
  return mgi_pv_single(P, mgi_pv_intern(P, w, power ? 3 : 1), 1, 1);
}
MGI_FN uint32_t mgi_pv_powers(const mgi_prover *P, uint32_t mono) { return (P->node[mono].n - 1) / 2; }

/* x + c y */
MGI_FN uint32_t mgi_pv_axpy(mgi_prover *P, uint32_t x, uint32_t y, int64_t num, int64_t den) {
  if (P->bad) return MGI_PV_ZERO;
  if (x == MGI_PV_NONE || y == MGI_PV_NONE) return MGI_PV_NONE;
  uint32_t n = mgi_pv_count(P, x), m = mgi_pv_count(P, y);
  mgi_pv_term *t = (mgi_pv_term *)malloc((n + m + 1) * sizeof *t);
  if (!t || mgi_pv_over(P)) { free(t); return mgi_pv_fail(P, "no memory for terms"); }
  for (uint32_t k = 0; k < n; k++) t[k] = mgi_pv_at(P, x, k);
  for (uint32_t k = 0; k < m; k++) {
    t[n + k] = mgi_pv_at(P, y, k);
    if (!mgi_pv_ratio((mgi_i128)t[n + k].num * num, (mgi_i128)t[n + k].den * den, &t[n + k].num, &t[n + k].den))
      mgi_pv_fail(P, "too large: a coefficient");
  }
  uint32_t r = mgi_pv_poly(P, t, n + m);
  free(t);
  return r;
}
MGI_FN uint32_t mgi_pv_add(mgi_prover *P, uint32_t x, uint32_t y) { return mgi_pv_axpy(P, x, y, 1, 1); }
MGI_FN uint32_t mgi_pv_sub2(mgi_prover *P, uint32_t x, uint32_t y) {
  return y == MGI_PV_NONE ? mgi_pv_fail(P, "minus infinity is subtracted") : mgi_pv_axpy(P, x, y, -1, 1);
}
MGI_FN uint32_t mgi_pv_scale(mgi_prover *P, uint32_t x, int64_t num, int64_t den) {
  return num ? mgi_pv_axpy(P, MGI_PV_ZERO, x, num, den) : (uint32_t)MGI_PV_ZERO;
}

MGI_FN uint32_t mgi_pv_mono_mul(mgi_prover *P, uint32_t x, uint32_t y) {
  uint32_t n = mgi_pv_powers(P, x), m = mgi_pv_powers(P, y), few[64],
           *w = n + m > 30 ? (uint32_t *)malloc((1 + 2 * (size_t)(n + m)) * sizeof *w) : few, k = 1, i = 0, j = 0;
  if (!w) return mgi_pv_fail(P, "no memory for terms");
  w[0] = MGI_PV_MONO;
  while (i < n || j < m) {
    uint32_t a = i < n ? mgi_pv_word(P, x, 1 + 2 * i) : UINT32_MAX,
             b = j < m ? mgi_pv_word(P, y, 1 + 2 * j) : UINT32_MAX;
    int32_t e = 0;
    if (a <= b) e += (int32_t)mgi_pv_word(P, x, 2 + 2 * i++);
    if (b <= a) e += (int32_t)mgi_pv_word(P, y, 2 + 2 * j++);
    if (e > 4096 || e < -4096) mgi_pv_fail(P, "too large: a power");
    if (e) w[k++] = a < b ? a : b, w[k++] = (uint32_t)e;
  }
  uint32_t r = mgi_pv_intern(P, w, k);
  if (w != few) free(w);
  return r;
}
MGI_FN uint32_t mgi_pv_squares(mgi_prover *P, uint32_t p);
MGI_FN uint32_t mgi_pv_power(mgi_prover *P, uint32_t x, int e);
/* x, if factor k of a monomial is a power of max(x, 0) above the first; else 0. */
MGI_FN uint32_t mgi_pv_square_of(const mgi_prover *P, uint32_t mono, uint32_t k) {
  uint32_t a = mgi_pv_word(P, mono, 1 + 2 * k), x;
  int e = (int32_t)mgi_pv_word(P, mono, 2 + 2 * k);
  if (e < 2 || e > 4 || mgi_pv_kind(P, a) != MGI_PV_MAX || P->node[a].n != 3) return 0;
  if (mgi_pv_word(P, a, 1) != MGI_PV_ZERO && mgi_pv_word(P, a, 2) != MGI_PV_ZERO) return 0;
  x = mgi_pv_word(P, a, mgi_pv_word(P, a, 1) == MGI_PV_ZERO ? 2 : 1);
  return mgi_pv_count(P, x) <= 8 ? x : 0;
}
MGI_FN uint32_t mgi_pv_mul(mgi_prover *P, uint32_t x, uint32_t y) {
  if (P->bad) return MGI_PV_ZERO;
  if (x == MGI_PV_NONE || y == MGI_PV_NONE) return mgi_pv_fail(P, "minus infinity is multiplied");
  uint32_t n = mgi_pv_count(P, x), m = mgi_pv_count(P, y);
  if (!n || !m) return MGI_PV_ZERO;
  if ((uint64_t)n * m > 4 * MGI_PV_TERMS) return mgi_pv_fail(P, "too large: a product of polynomials");
  mgi_pv_term *t = (mgi_pv_term *)malloc((size_t)n * m * sizeof *t);
  if (!t) return mgi_pv_fail(P, "no memory for terms");
  for (uint32_t i = 0; i < n && !mgi_pv_over(P); i++)
    for (uint32_t j = 0; j < m && !P->bad; j++) {
      mgi_pv_term a = mgi_pv_at(P, x, i), b = mgi_pv_at(P, y, j), *o = &t[(size_t)i * m + j];
      o->mono = mgi_pv_mono_mul(P, a.mono, b.mono);
      if (!mgi_pv_ratio((mgi_i128)a.num * b.num, (mgi_i128)a.den * b.den, &o->num, &o->den))
        mgi_pv_fail(P, "too large: a coefficient");
    }
  uint32_t r = mgi_pv_poly(P, t, (size_t)n * m);
  free(t);
  return P->bad ? r : mgi_pv_squares(P, r);
}
/* A power of max(x, 0) is a power of x times it. */
MGI_FN uint32_t mgi_pv_squares(mgi_prover *P, uint32_t p) {
  uint32_t n = mgi_pv_count(P, p), r = MGI_PV_ZERO, any = 0;
  for (uint32_t k = 0; k < n && !any; k++) {
    uint32_t m = mgi_pv_at(P, p, k).mono;
    for (uint32_t j = 0; j < mgi_pv_powers(P, m) && !any; j++) any = mgi_pv_square_of(P, m, j) != 0;
  }
  if (!any || n > 64) return p;
  for (uint32_t k = 0; k < n && !P->bad; k++) {
    mgi_pv_term t = mgi_pv_at(P, p, k);
    uint32_t q = mgi_pv_single(P, t.mono, t.num, t.den);
    for (uint32_t j = 0; j < mgi_pv_powers(P, t.mono) && !P->bad; j++) {
      uint32_t x = mgi_pv_square_of(P, t.mono, j);
      if (!x) continue;
      int e = (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * j) - 1;
      q = mgi_pv_mul(P, mgi_pv_mul(P, q, mgi_pv_atom(P, mgi_pv_word(P, t.mono, 1 + 2 * j), -e)), mgi_pv_power(P, x, e));
      mgi_pv_use(P, MGI_PV_ROW_max_square);
      break; /* the product has looked at the others */
    }
    r = mgi_pv_add(P, r, q);
  }
  return r;
}
MGI_FN uint32_t mgi_pv_power(mgi_prover *P, uint32_t x, int e) {
  uint32_t r = mgi_pv_number(P, 1, 1);
  for (; e > 0 && !P->bad; e--) r = mgi_pv_mul(P, r, x);
  return r;
}
/* The product of the atoms of a monomial to `sign` times their powers. */
MGI_FN uint32_t mgi_pv_of_mono(mgi_prover *P, uint32_t mono, int sign) {
  uint32_t r = mgi_pv_number(P, 1, 1);
  for (uint32_t k = 0; k < mgi_pv_powers(P, mono) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, mono, 1 + 2 * k);
    int e = sign * (int32_t)mgi_pv_word(P, mono, 2 + 2 * k);
    r = mgi_pv_mul(P, r,
                   mgi_pv_kind(P, a) == MGI_PV_INV && e < 0 ? mgi_pv_power(P, mgi_pv_word(P, a, 1), -e)
                                                            : mgi_pv_atom(P, a, e));
  }
  return r;
}
/* The greatest monomial that divides all terms, powers of every sign counted. */
MGI_FN uint32_t mgi_pv_common(mgi_prover *P, uint32_t p) {
  uint32_t n = mgi_pv_count(P, p), r = mgi_pv_unit(P);
  for (uint32_t i = 0; i < n && !P->bad; i++) {
    uint32_t m = mgi_pv_at(P, p, i).mono;
    for (uint32_t k = 0; k < mgi_pv_powers(P, m) && !P->bad; k++) {
      uint32_t a = mgi_pv_word(P, m, 1 + 2 * k);
      int least = INT32_MAX, seen = 0;
      for (uint32_t j = 0; j < n; j++) {
        uint32_t y = mgi_pv_at(P, p, j).mono;
        int e = 0;
        for (uint32_t l = 0; l < mgi_pv_powers(P, y); l++)
          if (mgi_pv_word(P, y, 1 + 2 * l) == a) e = (int32_t)mgi_pv_word(P, y, 2 + 2 * l);
        if (j < i && e) seen = 1;
        if (e < least) least = e;
      }
      if (!seen && least) {
        uint32_t w[3];
        w[0] = MGI_PV_MONO, w[1] = a, w[2] = (uint32_t)least;
        r = mgi_pv_mono_mul(P, r, mgi_pv_intern(P, w, 3));
      }
    }
  }
  return r;
}
MGI_FN uint32_t mgi_pv_inverse(mgi_prover *P, uint32_t x) {
  if (P->bad) return MGI_PV_ZERO;
  if (x == MGI_PV_ZERO || x == MGI_PV_NONE) return mgi_pv_fail(P, "a divisor vanishes identically");
  mgi_pv_term t = mgi_pv_at(P, x, 0);
  int64_t num = t.num < 0 ? -t.den : t.den, den = t.num < 0 ? -t.num : t.num;
  if (mgi_pv_count(P, x) == 1) return mgi_pv_scale(P, mgi_pv_of_mono(P, t.mono, -1), num, den);
  if (mgi_pv_count(P, x) > 512) return mgi_pv_fail(P, "too large: a divisor");
  uint32_t common = mgi_pv_of_mono(P, mgi_pv_common(P, x), -1), w[2];
  x = mgi_pv_scale(P, mgi_pv_mul(P, x, common), num, den);
  if (mgi_pv_count(P, x) < 2) return mgi_pv_mul(P, mgi_pv_scale(P, common, num, den), mgi_pv_inverse(P, x));
  t = mgi_pv_at(P, x, 0); /* the first coefficient becomes 1: the order of terms may have changed */
  int64_t n2 = t.num < 0 ? -t.den : t.den, d2 = t.num < 0 ? -t.num : t.num;
  x = mgi_pv_scale(P, x, n2, d2);
  w[0] = MGI_PV_INV, w[1] = x;
  return mgi_pv_scale(P, mgi_pv_mul(P, mgi_pv_scale(P, common, num, den), mgi_pv_atom(P, mgi_pv_intern(P, w, 2), 1)),
                      n2, d2);
}

/* ---- functions */

MGI_FN uint32_t mgi_pv_fn(mgi_prover *P, int op, mg_rational c, int n, const uint32_t *arg) {
  uint32_t w[8];
  w[0] = MGI_PV_FN, w[1] = (uint32_t)op, w[2] = (uint32_t)c.num, w[3] = (uint32_t)((uint64_t)c.num >> 32),
  w[4] = (uint32_t)c.den, w[5] = (uint32_t)((uint64_t)c.den >> 32);
  for (int k = 0; k < n; k++) {
    if (arg[k] == MGI_PV_NONE) return mgi_pv_fail(P, "a function is applied to minus infinity");
    w[6 + k] = arg[k];
  }
  return mgi_pv_atom(P, mgi_pv_intern(P, w, (uint32_t)(6 + n)), 1);
}
MGI_FN int mgi_pv_is_fn(const mgi_prover *P, uint32_t atom, int op) {
  return mgi_pv_kind(P, atom) == MGI_PV_FN && mgi_pv_word(P, atom, 1) == (uint32_t)op;
}
/* The atom of a polynomial that is one atom to the power 1, times 1; else 0. */
MGI_FN uint32_t mgi_pv_alone(const mgi_prover *P, uint32_t p) {
  if (P->bad || p == MGI_PV_NONE || mgi_pv_count(P, p) != 1) return 0;
  mgi_pv_term t = mgi_pv_at(P, p, 0);
  return t.num == 1 && t.den == 1 && mgi_pv_powers(P, t.mono) == 1 && mgi_pv_word(P, t.mono, 2) == 1
             ? mgi_pv_word(P, t.mono, 1)
             : 0;
}
MGI_FN mg_rational mgi_pv_no_constant(void) {
  mg_rational r;
  r.num = 0, r.den = 1;
  return r;
}
/* exp of a sum is the product; exp(n/d m) = exp(m/d)^n. */
MGI_FN uint32_t mgi_pv_exp(mgi_prover *P, uint32_t x) {
  if (x == MGI_PV_NONE) return MGI_PV_ZERO;
  uint32_t r = mgi_pv_number(P, 1, 1), n = mgi_pv_count(P, x);
  if (n > 256) return mgi_pv_fail(P, "too large: an exponent");
  mgi_pv_use(P, n ? MGI_PV_ROW_exp_add : MGI_PV_ROW_exp_zero);
  for (uint32_t k = 0; k < n && !P->bad; k++) {
    mgi_pv_term t = mgi_pv_at(P, x, k);
    uint32_t arg = mgi_pv_single(P, t.mono, 1, t.den), one = mgi_pv_alone(P, arg), y;
    if (t.num < 0) mgi_pv_use(P, MGI_PV_ROW_exp_neg);
    if (t.num > 64 || t.num < -64)
      y = mgi_pv_single(P, t.mono, t.num, t.den), y = mgi_pv_fn(P, MG_OP_EXP, mgi_pv_no_constant(), 1, &y), t.num = 1;
    else if (one && mgi_pv_is_fn(P, one, MG_OP_LOG)) y = mgi_pv_word(P, one, 6), mgi_pv_use(P, MGI_PV_ROW_exp_log);
    else y = mgi_pv_fn(P, MG_OP_EXP, mgi_pv_no_constant(), 1, &arg);
    if (t.num < 0) y = mgi_pv_inverse(P, y), t.num = -t.num;
    r = mgi_pv_mul(P, r, mgi_pv_power(P, y, (int)t.num));
  }
  return r;
}
/* log of what all terms have in common, as far as it is made of exponentials, comes out. */
MGI_FN uint32_t mgi_pv_log(mgi_prover *P, uint32_t x) {
  uint32_t r = MGI_PV_ZERO, common = mgi_pv_common(P, x);
  for (uint32_t k = 0; k < mgi_pv_powers(P, common) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, common, 1 + 2 * k);
    int e = (int32_t)mgi_pv_word(P, common, 2 + 2 * k);
    if (!mgi_pv_is_fn(P, a, MG_OP_EXP)) continue;
    mgi_pv_use(P, MGI_PV_ROW_log_exp), mgi_pv_use(P, MGI_PV_ROW_log_exp_mul);
    r = mgi_pv_axpy(P, r, mgi_pv_word(P, a, 6), e, 1);
    x = mgi_pv_mul(P, x, mgi_pv_atom(P, a, -e));
  }
  if (x == mgi_pv_number(P, 1, 1)) mgi_pv_use(P, MGI_PV_ROW_log_one);
  else r = mgi_pv_add(P, r, mgi_pv_fn(P, MG_OP_LOG, mgi_pv_no_constant(), 1, &x));
  return r;
}
/* The greatest positive rational c with every coefficient an integer multiple of it. */
MGI_FN void mgi_pv_content(const mgi_prover *P, uint32_t p, int64_t *num, int64_t *den) {
  for (uint32_t k = 0; k < mgi_pv_count(P, p); k++) {
    mgi_pv_term t = mgi_pv_at(P, p, k);
    int64_t g = mg_gcd(*num, t.num), h = mg_gcd(*den, t.den);
    *num = g;
    if (*den / h > (int64_t)1 << 40 || t.den > (int64_t)1 << 20) *den = 1, *num = 1; /* any common factor would do */
    else *den = *den / h * t.den;
  }
}
MGI_FN int64_t mgi_pv_square_part(int64_t n) { /* the greatest s <= 2^16 with s^2 | n, by trial */
  int64_t s = 1;
  for (int64_t k = 2; k < 65536 && k * k <= n; k++)
    while (n % (k * k) == 0) n /= k * k, s *= k;
  return s;
}
MGI_FN uint32_t mgi_pv_root_of_square(mgi_prover *P, uint32_t *x);
MGI_FN uint32_t mgi_pv_bind_where(mgi_prover *P, uint32_t kind, int n, const uint32_t *var, uint32_t body,
                                  uint32_t where);
MGI_FN uint32_t mgi_pv_open(mgi_prover *P, uint32_t atom, uint32_t *var);
MGI_FN uint32_t mgi_pv_where(mgi_prover *P, uint32_t atom, const uint32_t *var);
/* The root of x where that is a maximum of squares: the maximum of what they are of, without a root; else 0. */
MGI_FN uint32_t mgi_pv_root_of_squares(mgi_prover *P, uint32_t x) {
  const uint32_t atom = mgi_pv_alone(P, x);
  uint32_t v[MGI_PV_BOUND], r = 0;
  const int temps = P->temps;
  if (P->bad || !atom || mgi_pv_kind(P, atom) != MGI_PV_TOP) return 0;
  uint32_t body = mgi_pv_open(P, atom, v), root = P->bad ? 0 : mgi_pv_root_of_square(P, &body);
  if (!P->bad && body == mgi_pv_number(P, 1, 1)) {
    mgi_pv_use(P, MGI_PV_ROW_max_sqrt);
    r = mgi_pv_bind_where(P, MGI_PV_TOP, (int)mgi_pv_word(P, atom, 1), v, root, mgi_pv_where(P, atom, v));
  }
  P->temps = temps;
  return r;
}
MGI_FN uint32_t mgi_pv_sqrt(mgi_prover *P, uint32_t x) {
  int64_t num = 0, den = 1;
  mgi_pv_content(P, x, &num, &den);
  if (!num) num = 1;
  int64_t s = mgi_pv_square_part(num), u = 1, v = den; /* sqrt(s^2 .. / (u^2 ..)) */
  u = mgi_pv_square_part(v);
  if (s * s > 1 || u > 1) {
    mgi_pv_use(P, MGI_PV_ROW_sqrt_scale);
    x = mgi_pv_scale(P, mgi_pv_scale(P, x, u * u, 1), 1, s * s);
  }
  uint32_t out = mgi_pv_root_of_square(P, &x);
  if (x == mgi_pv_number(P, 1, 1)) return mgi_pv_scale(P, out, s, u);
  const uint32_t squares = mgi_pv_root_of_squares(P, x);
  if (squares) return mgi_pv_mul(P, mgi_pv_scale(P, out, s, u), squares);
  return mgi_pv_mul(P, mgi_pv_scale(P, out, s, u), mgi_pv_fn(P, MG_OP_SQRT, mgi_pv_no_constant(), 1, &x));
}

MGI_FN int mgi_pv_by_id(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}
/* 1 if the term k of p stands in q, coefficient and all. */
MGI_FN int mgi_pv_has_term(const mgi_prover *P, uint32_t q, mgi_pv_term t) {
  for (uint32_t k = 0; k < mgi_pv_count(P, q); k++) {
    mgi_pv_term u = mgi_pv_at(P, q, k);
    if (u.mono == t.mono) return u.num == t.num && u.den == t.den;
  }
  return 0;
}
/* ---- signs, by facts */

MGI_FN uint32_t mgi_pv_apply(mgi_prover *P, mg_opcode op, mg_rational c, const uint32_t *in);
MGI_FN int mgi_fact_rises(int op); /* >>facts */

enum { MGI_PV_LEAST = 1, MGI_PV_MOST = 2, MGI_PV_NONZERO = 4, MGI_PV_SIGNED = 8 /* looked at */ }; /* >= 0, <= 0, never 0 */
enum { MGI_PV_JOIN = 512, MGI_PV_MEET = 8, MGI_PV_SPREAD = 32, MGI_PV_PAIRS = 24, MGI_PV_SHIFTS = 6 };

MGI_FN int mgi_pv_sign(mgi_prover *P, uint32_t p);
MGI_FN uint32_t mgi_pv_max(mgi_prover *P, const uint32_t *arg, uint32_t n);

MGI_FN int mgi_pv_sign_of_product(int x, int y) {
  int r = x & y & MGI_PV_NONZERO;
  if (((x & MGI_PV_LEAST) && (y & MGI_PV_LEAST)) || ((x & MGI_PV_MOST) && (y & MGI_PV_MOST))) r |= MGI_PV_LEAST;
  if (((x & MGI_PV_LEAST) && (y & MGI_PV_MOST)) || ((x & MGI_PV_MOST) && (y & MGI_PV_LEAST))) r |= MGI_PV_MOST;
  return r;
}
/* What is known of an atom's sign. */
MGI_FN int mgi_pv_sign_of_atom(mgi_prover *P, uint32_t a) {
  int s = 0;
  if (P->bad) return 0;
  if (P->node[a].sign & MGI_PV_SIGNED) return P->node[a].sign & ~MGI_PV_SIGNED;
  switch (mgi_pv_kind(P, a)) {
    case MGI_PV_FN:
      if (mgi_pv_is_fn(P, a, MG_OP_EXP)) s = MGI_PV_LEAST | MGI_PV_NONZERO;
      else if (mgi_pv_is_fn(P, a, MG_OP_SQRT))
        s = MGI_PV_LEAST | (mgi_pv_sign(P, mgi_pv_word(P, a, 6)) & MGI_PV_NONZERO);
      else if (mgi_pv_is_fn(P, a, MG_OP_SILU) || mgi_pv_is_fn(P, a, MG_OP_GELU))
        s = mgi_pv_sign(P, mgi_pv_word(P, a, 6));
      else if (mgi_pv_is_fn(P, a, MG_OP_LOG))
        s = mgi_pv_sign(P, mgi_pv_sub2(P, mgi_pv_word(P, a, 6), mgi_pv_number(P, 1, 1)));
      break;
    case MGI_PV_MAX: {
      int all = MGI_PV_MOST | MGI_PV_NONZERO;
      for (uint32_t k = 1; k < P->node[a].n && !P->bad; k++) {
        int t = mgi_pv_sign(P, mgi_pv_word(P, a, k));
        if (t & MGI_PV_LEAST) s |= t & (MGI_PV_LEAST | MGI_PV_NONZERO);
        all &= t & MGI_PV_MOST ? t : 0;
      }
      s |= all;
      break;
    }
    case MGI_PV_INV: s = mgi_pv_sign(P, mgi_pv_word(P, a, 1)) | MGI_PV_NONZERO; break;
    case MGI_PV_LESS: s = MGI_PV_LEAST; break;
    case MGI_PV_SUM: case MGI_PV_TOP:
      s = mgi_pv_sign(P, mgi_pv_word(P, a, P->node[a].n - 1));
      if (!(s & (MGI_PV_LEAST | MGI_PV_MOST))) s = 0;
      break;
    default: break;
  }
  if (!P->bad) P->node[a].sign = (uint8_t)(s | MGI_PV_SIGNED);
  return s;
}
MGI_FN int mgi_pv_sign_of_power(mgi_prover *P, uint32_t a, int e) {
  int s = mgi_pv_sign_of_atom(P, a);
  if (e % 2 == 0) s = MGI_PV_LEAST | (s & MGI_PV_NONZERO);
  return e < 0 ? s | MGI_PV_NONZERO : s;
}
MGI_FN int mgi_pv_sign_of_term(mgi_prover *P, mgi_pv_term t) {
  int s = (t.num > 0 ? MGI_PV_LEAST : MGI_PV_MOST) | MGI_PV_NONZERO;
  for (uint32_t k = 0; k < mgi_pv_powers(P, t.mono) && s && !P->bad; k++)
    s = mgi_pv_sign_of_product(s, mgi_pv_sign_of_power(P, mgi_pv_word(P, t.mono, 1 + 2 * k),
                                                       (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * k)));
  return s;
}
/* Of a polynomial, by its terms alone: a sum of what is never negative is never negative. */
MGI_FN int mgi_pv_sign_of_terms(mgi_prover *P, uint32_t p) {
  int all = MGI_PV_LEAST | MGI_PV_MOST, some = 0;
  for (uint32_t k = 0; k < mgi_pv_count(P, p) && all && !P->bad; k++) {
    int s = mgi_pv_sign_of_term(P, mgi_pv_at(P, p, k));
    all &= s, some |= s & MGI_PV_NONZERO;
  }
  return all ? all | some : 0;
}

/* ---- lattices: a maximum of minima of polynomials */

/* The minimum of n polynomials. */
typedef struct mgi_pv_meet { uint32_t n, p[MGI_PV_MEET]; } mgi_pv_meet;
/* The maximum of n minima. */
typedef struct mgi_pv_lattice { uint32_t n, cap; mgi_pv_meet *s; } mgi_pv_lattice;

/* 0 if there is no room. */
MGI_FN int mgi_pv_lattice_put(mgi_pv_lattice *L, const mgi_pv_meet *s) {
  if (L->n == MGI_PV_JOIN) return 0;
  if (L->n == L->cap) {
    uint32_t cap = L->cap ? 2 * L->cap : 8;
    mgi_pv_meet *m = (mgi_pv_meet *)realloc(L->s, cap * sizeof *m);
    if (!m) return 0;
    L->s = m, L->cap = cap;
  }
  L->s[L->n++] = *s;
  return 1;
}
MGI_FN int mgi_pv_lattice_put_one(mgi_pv_lattice *L, uint32_t p) {
  mgi_pv_meet s;
  s.n = 1, s.p[0] = p;
  return mgi_pv_lattice_put(L, &s);
}
MGI_FN int mgi_pv_meet_put(mgi_pv_meet *s, uint32_t p) {
  for (uint32_t k = 0; k < s->n; k++)
    if (s->p[k] == p) return 1;
  if (s->n == MGI_PV_MEET) return 0;
  s->p[s->n++] = p;
  return 1;
}
/* p <= q, by facts: 1 if that is known. */
MGI_FN int mgi_pv_below(mgi_prover *P, uint32_t p, uint32_t q) {
  if (p == q) return 1;
  return (mgi_pv_sign_of_terms(P, mgi_pv_sub2(P, q, p)) & MGI_PV_LEAST) != 0;
}
MGI_FN int mgi_pv_is_number(const mgi_prover *P, uint32_t p) {
  return p == MGI_PV_ZERO || (mgi_pv_count(P, p) == 1 && !mgi_pv_powers(P, mgi_pv_at(P, p, 0).mono));
}
MGI_FN int mgi_pv_meet_below(mgi_prover *P, const mgi_pv_meet *s, const mgi_pv_meet *t, int cheap) {
  for (uint32_t j = 0; j < t->n; j++) {
    int found = 0;
    for (uint32_t i = 0; i < s->n && !found && !P->bad; i++) {
      if (cheap && s->p[i] != t->p[j] && !(mgi_pv_is_number(P, s->p[i]) && mgi_pv_is_number(P, t->p[j]))) continue;
      found = mgi_pv_below(P, s->p[i], t->p[j]);
    }
    if (!found) return 0;
  }
  return 1;
}
MGI_FN int mgi_pv_by_meet(const void *a, const void *b) {
  const mgi_pv_meet *x = (const mgi_pv_meet *)a, *y = (const mgi_pv_meet *)b;
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  for (uint32_t k = 0; k < x->n; k++)
    if (x->p[k] != y->p[k]) return x->p[k] < y->p[k] ? -1 : 1;
  return 0;
}
/* Drops what others decide: a member that is not less than another of its minimum, a minimum that is not greater than
   another. */
MGI_FN void mgi_pv_reduce(mgi_prover *P, mgi_pv_lattice *L) {
  int cheap = L->n > MGI_PV_PAIRS;
  uint32_t kept = 0;
  for (uint32_t k = 0; k < L->n && !P->bad; k++) {
    mgi_pv_meet *s = &L->s[k];
    qsort(s->p, s->n, sizeof *s->p, mgi_pv_by_id);
    for (uint32_t i = 0; i < s->n; i++)
      for (uint32_t j = 0; j < s->n; j++)
        if (i != j && mgi_pv_below(P, s->p[i], s->p[j])) {
          mgi_pv_use(P, MGI_PV_ROW_max_least);
          for (uint32_t m = j + 1; m < s->n; m++) s->p[m - 1] = s->p[m];
          s->n--, i -= i > j, j--;
        }
  }
  qsort(L->s, L->n, sizeof *L->s, mgi_pv_by_meet);
  for (uint32_t k = 0; k < L->n && !P->bad; k++) {
    if (kept && !mgi_pv_by_meet(&L->s[k], &L->s[kept - 1])) mgi_pv_use(P, MGI_PV_ROW_max_same);
    else L->s[kept++] = L->s[k];
  }
  L->n = kept;
  for (uint32_t k = 0; k < L->n && !P->bad; k++)
    for (uint32_t j = 0; j < L->n && !P->bad; j++) {
      if (j == k || !mgi_pv_meet_below(P, &L->s[k], &L->s[j], cheap)) continue;
      mgi_pv_use(P, L->s[k].n > 1 ? MGI_PV_ROW_max_absorb : MGI_PV_ROW_max_least);
      memmove(&L->s[k], &L->s[k + 1], (L->n - k - 1) * sizeof *L->s);
      L->n--, k--;
      break;
    }
}
/* L := the minimum of L and M, a maximum of minima again.  0 if that is too large. */
MGI_FN int mgi_pv_meet_all(mgi_prover *P, mgi_pv_lattice *L, const mgi_pv_lattice *M) {
  mgi_pv_lattice r;
  int good = 1;
  memset(&r, 0, sizeof r);
  for (uint32_t i = 0; i < L->n && good; i++)
    for (uint32_t j = 0; j < M->n && good; j++) {
      mgi_pv_meet s = L->s[i];
      for (uint32_t k = 0; k < M->s[j].n && good; k++) good = mgi_pv_meet_put(&s, M->s[j].p[k]);
      good = good && r.n < MGI_PV_SPREAD && mgi_pv_lattice_put(&r, &s);
    }
  if (good) {
    mgi_pv_use(P, MGI_PV_ROW_max_meet);
    free(L->s);
    *L = r;
    mgi_pv_reduce(P, L);
  } else free(r.s);
  return good;
}

/* A maximum M with p = q M + r, where q is of a known sign: M's atom, else 0.  *leaves: how many polynomials p is made
   of if all such are opened. */
MGI_FN uint32_t mgi_pv_opens(mgi_prover *P, uint32_t p, uint32_t *q, uint32_t *r, int *sign, double *leaves) {
  uint32_t n = mgi_pv_count(P, p), best = 0;
  *leaves = 1;
  if (n > 64) return 0;
  for (uint32_t i = 0; i < n && !P->bad; i++) {
    uint32_t m = mgi_pv_at(P, p, i).mono;
    for (uint32_t k = 0; k < mgi_pv_powers(P, m) && !P->bad; k++) {
      uint32_t a = mgi_pv_word(P, m, 1 + 2 * k), with = MGI_PV_ZERO, rest = MGI_PV_ZERO;
      int plain = 1, first = 1;
      if (mgi_pv_kind(P, a) != MGI_PV_MAX) continue;
      for (uint32_t j = 0; j < n && plain && !P->bad; j++) {
        mgi_pv_term t = mgi_pv_at(P, p, j);
        int has = 0;
        for (uint32_t l = 0; l < mgi_pv_powers(P, t.mono); l++)
          if (mgi_pv_word(P, t.mono, 1 + 2 * l) == a) has = 1, plain &= mgi_pv_word(P, t.mono, 2 + 2 * l) == 1;
        if (has && j < i) first = 0;
        uint32_t one = mgi_pv_single(P, t.mono, t.num, t.den);
        if (has && plain) with = mgi_pv_add(P, with, mgi_pv_mul(P, one, mgi_pv_atom(P, a, -1)));
        else rest = mgi_pv_add(P, rest, one);
      }
      if (!first || !plain || P->bad) continue;
      int s = mgi_pv_is_number(P, with) ? (mgi_pv_at(P, with, 0).num > 0 ? MGI_PV_LEAST : MGI_PV_MOST)
                                        : mgi_pv_sign_of_terms(P, with) & (MGI_PV_LEAST | MGI_PV_MOST);
      if (!s) continue;
      *leaves *= P->node[a].n - 1;
      if (!best) best = a, *q = with, *r = rest, *sign = s;
    }
  }
  return P->bad ? 0 : best;
}
/* Adds p to L, its maxima opened as far as their signs are known.  0 if that is too large. */
MGI_FN int mgi_pv_spread_in(mgi_prover *P, mgi_pv_lattice *L, uint32_t p, int nested) {
  uint32_t q = 0, r = 0;
  int sign = 0, good = 1;
  double leaves;
  uint32_t a = mgi_pv_over(P) ? 0 : mgi_pv_opens(P, p, &q, &r, &sign, &leaves);
  if (P->bad) return 0;
  if (!a || nested > 8) return mgi_pv_lattice_put_one(L, p);
  uint32_t n = P->node[a].n - 1;
  if (leaves > (leaves == n ? (double)MGI_PV_JOIN : (double)MGI_PV_SPREAD)) return mgi_pv_lattice_put_one(L, p);
  int plain = r == MGI_PV_ZERO && q == mgi_pv_number(P, 1, 1);
  if (!plain) mgi_pv_use(P, MGI_PV_ROW_max_shift);
  if (!mgi_pv_is_number(P, q)) mgi_pv_use(P, MGI_PV_ROW_max_factor);
  mgi_pv_use(P, MGI_PV_ROW_max_assoc);
  if (sign & MGI_PV_LEAST) {
    for (uint32_t k = 0; k < n && good; k++) {
      uint32_t x = mgi_pv_word(P, a, 1 + k);
      good = mgi_pv_spread_in(P, L, plain ? x : mgi_pv_add(P, mgi_pv_mul(P, q, x), r), nested + 1);
    }
    return good && !P->bad;
  }
  mgi_pv_lattice meet, one;
  memset(&meet, 0, sizeof meet);
  for (uint32_t k = 0; k < n && good; k++) {
    memset(&one, 0, sizeof one);
    good = mgi_pv_spread_in(P, &one, mgi_pv_add(P, mgi_pv_mul(P, q, mgi_pv_word(P, a, 1 + k)), r), nested + 1);
    if (good && k) good = mgi_pv_meet_all(P, &meet, &one), free(one.s);
    else if (good) meet = one;
    else free(one.s);
  }
  for (uint32_t k = 0; k < meet.n && good; k++) good = mgi_pv_lattice_put(L, &meet.s[k]);
  free(meet.s);
  return good && !P->bad;
}
/* The same; what is too large stays as it is. */
MGI_FN int mgi_pv_spread(mgi_prover *P, mgi_pv_lattice *L, uint32_t p) {
  uint32_t was = L->n;
  if (mgi_pv_spread_in(P, L, p, 0)) return 1;
  L->n = was;
  return !P->bad && mgi_pv_lattice_put_one(L, p);
}
/* What is known of a polynomial's sign. */
MGI_FN int mgi_pv_sign(mgi_prover *P, uint32_t p) {
  if (P->bad || p == MGI_PV_NONE) return 0;
  if (p == MGI_PV_ZERO) return MGI_PV_LEAST | MGI_PV_MOST;
  if (P->node[p].sign & MGI_PV_SIGNED) return P->node[p].sign & ~MGI_PV_SIGNED;
  int s = mgi_pv_sign_of_terms(P, p);
  if (!s && mgi_pv_count(P, p) <= 16) {
    mgi_pv_lattice L;
    memset(&L, 0, sizeof L);
    if (mgi_pv_spread(P, &L, p) && (L.n > 1 || L.s[0].n > 1)) {
      int most = MGI_PV_MOST;
      for (uint32_t k = 0; k < L.n && !P->bad; k++) {
        int least = MGI_PV_LEAST | MGI_PV_NONZERO, some = 0;
        for (uint32_t j = 0; j < L.s[k].n; j++) {
          int t = mgi_pv_sign_of_terms(P, L.s[k].p[j]);
          least &= t & MGI_PV_LEAST ? t : 0, some |= t & MGI_PV_MOST;
        }
        if (least & MGI_PV_LEAST) s |= least;
        if (!some) most = 0;
      }
      s |= most;
    }
    free(L.s);
  }
  if (!P->bad) P->node[p].sign = (uint8_t)(s | MGI_PV_SIGNED);
  return s;
}

/* ---- from lattices to polynomials */

/* The part of a monomial that may leave a maximum: powers of known sign, even powers; of atoms without variables of
   `mask`.  *flip: whether it is never positive rather than never negative. */
MGI_FN uint32_t mgi_pv_signed_part(mgi_prover *P, uint32_t mono, uint64_t mask, int *flip) {
  uint32_t r = mgi_pv_unit(P);
  *flip = 0;
  for (uint32_t k = 0; k < mgi_pv_powers(P, mono) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, mono, 1 + 2 * k), w[3];
    int e = (int32_t)mgi_pv_word(P, mono, 2 + 2 * k), s = mgi_pv_sign_of_atom(P, a);
    if (P->node[a].vars & mask) continue;
    if (!(s & (MGI_PV_LEAST | MGI_PV_MOST))) e -= e & 1;
    else if (!(s & MGI_PV_LEAST) && e % 2) *flip ^= 1;
    w[0] = MGI_PV_MONO, w[1] = a, w[2] = (uint32_t)e;
    if (e) r = mgi_pv_mono_mul(P, r, mgi_pv_intern(P, w, 3));
  }
  return r;
}
MGI_FN uint32_t mgi_pv_mono_inverse(mgi_prover *P, uint32_t mono) {
  uint32_t few[64], n = mgi_pv_powers(P, mono);
  if (n > 31) return mgi_pv_fail(P, "too large: a monomial");
  few[0] = MGI_PV_MONO;
  for (uint32_t k = 0; k < n; k++)
    few[1 + 2 * k] = mgi_pv_word(P, mono, 1 + 2 * k),
                few[2 + 2 * k] = (uint32_t) - (int32_t)mgi_pv_word(P, mono, 2 + 2 * k);
  return mgi_pv_intern(P, few, 1 + 2 * n);
}
/* The greatest monomial in all terms of n polynomials, those that are 0 aside. */
MGI_FN uint32_t mgi_pv_common_of(mgi_prover *P, const uint32_t *a, uint32_t n) {
  uint32_t total = 0, m = 0, r;
  for (uint32_t k = 0; k < n; k++) total += mgi_pv_count(P, a[k]);
  mgi_pv_term *t = (mgi_pv_term *)malloc((total + 1) * sizeof *t);
  if (!t) return mgi_pv_fail(P, "no memory for terms");
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t j = 0; j < mgi_pv_count(P, a[k]); j++) t[m] = mgi_pv_at(P, a[k], j), t[m].num = t[m].den = 1, m++;
  r = total > 64 ? mgi_pv_unit(P) : mgi_pv_common(P, mgi_pv_poly(P, t, m));
  free(t);
  return r;
}
/* What a common function of some operands of a maximum makes of them: operand p = +-f(*inner). */
enum { MGI_PV_NOT_RISING, MGI_PV_RISING };
MGI_FN int mgi_pv_rising(mgi_prover *P, int op) {
  if (op == MG_OP_SQRT || op == MG_OP_LOG || op == MG_OP_EXP) return MGI_PV_RISING;
  if (op < 0 || op >= MG_OP_TABLE_END) return MGI_PV_NOT_RISING;
  if (!P->rises[op]) P->rises[op] = (int16_t)(mgi_fact_rises(op) + 2); /* 1: no row says so; else its number + 2 */
  return P->rises[op] > 1;
}
/* p as f(inner) or -f(inner) with f of the family of atom `like` (a function's); 0 if it is not. */
MGI_FN int mgi_pv_as(mgi_prover *P, uint32_t p, uint32_t like, int sign, uint32_t *inner) {
  int op = (int)mgi_pv_word(P, like, 1);
  if (p == MGI_PV_ZERO) {
    *inner = mgi_pv_number(P, 1, 1); /* log(1) */
    return op == MG_OP_LOG;
  }
  if (mgi_pv_count(P, p) != 1) return 0;
  mgi_pv_term t = mgi_pv_at(P, p, 0);
  if ((t.num > 0) != (sign > 0)) return 0;
  uint32_t n = mgi_pv_powers(P, t.mono);
  int64_t num = t.num < 0 ? -t.num : t.num;
  if (op == MG_OP_EXP) {
    *inner = MGI_PV_ZERO;
    if (num != 1 || t.den != 1) return 0;
    for (uint32_t k = 0; k < n && !P->bad; k++) {
      uint32_t a = mgi_pv_word(P, t.mono, 1 + 2 * k);
      if (!mgi_pv_is_fn(P, a, MG_OP_EXP)) return 0;
      *inner = mgi_pv_axpy(P, *inner, mgi_pv_word(P, a, 6), (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * k), 1);
    }
    return 1; /* 1 is exp(0) */
  }
  uint32_t a = n == 1 && mgi_pv_word(P, t.mono, 2) == 1 ? mgi_pv_word(P, t.mono, 1) : 0;
  if (!a || !mgi_pv_is_fn(P, a, op) || P->node[a].n != 7 || P->node[like].n != 7) return 0;
  for (uint32_t k = 2; k < 6; k++)
    if (mgi_pv_word(P, a, k) != mgi_pv_word(P, like, k)) return 0;
  *inner = mgi_pv_word(P, a, 6);
  if (op != MG_OP_SQRT) return num == 1 && t.den == 1;
  if (num > 1 << 20 || t.den > 1 << 20) return 0;
  *inner = mgi_pv_scale(P, *inner, num * num, t.den * t.den);
  return 1;
}
/* The function atom of a single term that a rising function may be taken out of; 0 if there is none. */
MGI_FN uint32_t mgi_pv_family(mgi_prover *P, uint32_t p) {
  if (p == MGI_PV_ZERO || mgi_pv_count(P, p) != 1 || !mgi_pv_powers(P, mgi_pv_at(P, p, 0).mono)) return 0;
  uint32_t a = mgi_pv_word(P, mgi_pv_at(P, p, 0).mono, 1);
  return mgi_pv_kind(P, a) == MGI_PV_FN && mgi_pv_rising(P, (int)mgi_pv_word(P, a, 1)) ? a : 0;
}
MGI_FN uint32_t mgi_pv_rise(mgi_prover *P, uint32_t like, uint32_t x) {
  mg_rational c;
  int op = (int)mgi_pv_word(P, like, 1);
  c.num = mgi_pv_long(P, like, 2), c.den = mgi_pv_long(P, like, 4);
  mgi_pv_use(P, op == MG_OP_EXP    ? MGI_PV_ROW_max_exp
                : op == MG_OP_SQRT ? MGI_PV_ROW_max_sqrt
                : op == MG_OP_LOG  ? MGI_PV_ROW_max_log
                                   : P->rises[op] - 2);
  return mgi_pv_apply(P, (mg_opcode)op, c, &x);
}
/* Takes rising functions out of the maximum of a: max(f(x), f(y)) = f(max(x, y)), -f(x) and -f(y) alike.  1 if any was;
   *n is less then. */
MGI_FN int mgi_pv_rise_out(mgi_prover *P, uint32_t *a, uint32_t *n) {
  uint32_t *inner = (uint32_t *)malloc((2 * (size_t)*n + 1) * sizeof *inner), *rest = inner ? inner + *n : NULL;
  int any = 0;
  if (!inner) return mgi_pv_fail(P, "no memory for terms"), 0;
  for (uint32_t k = 0; k < *n && !P->bad; k++) {
    uint32_t like = mgi_pv_family(P, a[k]), x, m = 0, left = 0;
    int sign = like && mgi_pv_at(P, a[k], 0).num < 0 ? -1 : 1;
    if (!like || !mgi_pv_as(P, a[k], like, sign, &x)) continue;
    for (uint32_t j = 0; j < *n; j++) {
      if (mgi_pv_as(P, a[j], like, sign, &x)) inner[m++] = sign > 0 ? x : mgi_pv_scale(P, x, -1, 1);
      else rest[left++] = a[j];
    }
    if (m < 2) continue;
    x = mgi_pv_scale(P, mgi_pv_max(P, inner, m), sign, 1);
    rest[left++] = mgi_pv_scale(P, mgi_pv_rise(P, like, x), sign, 1);
    memcpy(a, rest, left * sizeof *a);
    *n = left, any = 1, k = UINT32_MAX;
  }
  free(inner);
  return any && !P->bad;
}
/* A maximum as factor * atom + shift.  The atom is the same for all maxima that differ by a shift and a positive
   factor. */
typedef struct mgi_pv_joined { uint32_t core, value; } mgi_pv_joined;

MGI_FN uint32_t mgi_pv_divide(mgi_prover *P, uint32_t p, uint32_t mono) {
  return mgi_pv_mul(P, p, mgi_pv_single(P, mgi_pv_mono_inverse(P, mono), 1, 1));
}
/* Makes a's coefficients integers of greatest divisor 1, and sorts. */
MGI_FN void mgi_pv_primitive(mgi_prover *P, uint32_t *a, uint32_t n, int64_t *num, int64_t *den) {
  *num = 0, *den = 1;
  for (uint32_t j = 0; j < n; j++) mgi_pv_content(P, a[j], num, den);
  if (!*num) *num = 1;
  if (*num != 1 || *den != 1) {
    mgi_pv_use(P, MGI_PV_ROW_max_scale);
    for (uint32_t j = 0; j < n && !P->bad; j++) a[j] = mgi_pv_scale(P, a[j], *den, *num);
  }
  qsort(a, n, sizeof *a, mgi_pv_by_id);
}
/* What all of a have in common and is of a known sign moves out: returns it, or 1. */
MGI_FN uint32_t mgi_pv_factor_out(mgi_prover *P, uint32_t *a, uint32_t n) {
  int flip;
  uint32_t m = mgi_pv_signed_part(P, mgi_pv_common_of(P, a, n), 0, &flip);
  if (P->bad || m == mgi_pv_unit(P)) return mgi_pv_number(P, 1, 1);
  mgi_pv_use(P, MGI_PV_ROW_max_factor);
  for (uint32_t j = 0; j < n && !P->bad; j++) a[j] = mgi_pv_scale(P, mgi_pv_divide(P, a[j], m), flip ? -1 : 1, 1);
  return mgi_pv_single(P, m, flip ? -1 : 1, 1);
}
/* A factor of two terms or more, of a known sign, that all of a share beside a monomial each: taken out; or 1. */
MGI_FN uint32_t mgi_pv_cofactor_out(mgi_prover *P, uint32_t *a, uint32_t n) {
  uint32_t one = mgi_pv_number(P, 1, 1), q = 0, b[MGI_PV_SHIFTS];
  if (n > MGI_PV_SHIFTS) return one;
  for (uint32_t k = 0; k < n && !P->bad; k++) {
    b[k] = a[k];
    if (a[k] == MGI_PV_ZERO) continue;
    if (mgi_pv_count(P, a[k]) < 2) return one;
    int64_t num = 0, den = 1;
    uint32_t m = mgi_pv_common(P, a[k]), p = mgi_pv_divide(P, a[k], m), s = 1;
    if (P->bad) return one;
    mgi_pv_content(P, p, &num, &den);
    p = mgi_pv_scale(P, p, den, num);
    if (!q) q = p;
    else if (p != q) s = (uint32_t)-1, p = mgi_pv_scale(P, p, -1, 1);
    if (p != q) return one;
    b[k] = mgi_pv_scale(P, mgi_pv_single(P, m, num, den), (int32_t)s, 1);
  }
  int sign = q ? mgi_pv_sign(P, q) : 0;
  if (P->bad || !(sign & (MGI_PV_LEAST | MGI_PV_MOST))) return one;
  if (!(sign & MGI_PV_LEAST)) {
    q = mgi_pv_scale(P, q, -1, 1);
    for (uint32_t k = 0; k < n; k++) b[k] = mgi_pv_scale(P, b[k], -1, 1);
  }
  mgi_pv_use(P, MGI_PV_ROW_max_factor);
  memcpy(a, b, n * sizeof *a);
  return q;
}
/* The maximum of n unlike polynomials, none of which opens. */
MGI_FN mgi_pv_joined mgi_pv_join_of(mgi_prover *P, uint32_t *a, uint32_t n) {
  mgi_pv_joined r;
  uint32_t shift = MGI_PV_ZERO, factor, few[1 + 64],
           *w = n > 64 ? (uint32_t *)malloc((1 + (size_t)n) * sizeof *w) : few;
  int64_t num, den;
  r.core = 0, r.value = MGI_PV_ZERO;
  if (!w) { mgi_pv_fail(P, "no memory for terms"); return r; }
  qsort(a, n, sizeof *a, mgi_pv_by_id);
  for (uint32_t k = 0; k < mgi_pv_count(P, a[0]) && n > 1 && !P->bad; k++) { /* terms that all share */
    mgi_pv_term t = mgi_pv_at(P, a[0], k);
    int all = 1;
    for (uint32_t j = 1; j < n && all; j++) all = mgi_pv_has_term(P, a[j], t);
    if (all) shift = mgi_pv_add(P, shift, mgi_pv_single(P, t.mono, t.num, t.den));
  }
  if (shift != MGI_PV_ZERO) {
    mgi_pv_use(P, MGI_PV_ROW_max_shift);
    for (uint32_t j = 0; j < n && !P->bad; j++) a[j] = mgi_pv_sub2(P, a[j], shift);
  }
  factor = n > 1 && n <= MGI_PV_PAIRS ? mgi_pv_factor_out(P, a, n) : mgi_pv_number(P, 1, 1);
  if (n > 1 && n <= MGI_PV_PAIRS && mgi_pv_rise_out(P, a, &n)) {
    r.value = mgi_pv_max(P, a, n);
    uint32_t one = mgi_pv_alone(P, r.value);
    r.core = one ? one : r.value;
  } else if (n == 1) r.value = r.core = a[0];
  else if (!P->bad) {
    if (n <= MGI_PV_SHIFTS) { /* the one of them that leaves the least differences moves out */
      uint32_t best[MGI_PV_SHIFTS], d[MGI_PV_SHIFTS], which = 0;
      for (uint32_t k = 0; k < n && !P->bad; k++) {
        for (uint32_t j = 0; j < n; j++) d[j] = mgi_pv_sub2(P, a[j], a[k]);
        mgi_pv_factor_out(P, d, n);
        mgi_pv_primitive(P, d, n, &num, &den);
        int less = !k;
        for (uint32_t j = 0; j < n && k; j++)
          if (d[j] != best[j]) { less = d[j] < best[j]; break; }
        if (less) memcpy(best, d, sizeof best), which = k;
      }
      uint32_t by = a[which];
      if (by != MGI_PV_ZERO) mgi_pv_use(P, MGI_PV_ROW_max_shift);
      shift = mgi_pv_add(P, shift, mgi_pv_mul(P, factor, by));
      for (uint32_t j = 0; j < n && !P->bad; j++) a[j] = mgi_pv_sub2(P, a[j], by);
      factor = mgi_pv_mul(P, factor, mgi_pv_factor_out(P, a, n));
      uint32_t q = mgi_pv_cofactor_out(P, a, n);
      if (!P->bad && q != mgi_pv_number(P, 1, 1)) {
        r.value = mgi_pv_max(P, a, n);
        r.core = r.value;
        factor = mgi_pv_mul(P, factor, q);
      }
    }
    if (!r.core && !P->bad) {
      mgi_pv_primitive(P, a, n, &num, &den);
      w[0] = MGI_PV_MAX;
      memcpy(w + 1, a, n * sizeof *a);
      r.core = mgi_pv_intern(P, w, n + 1);
      r.value = mgi_pv_scale(P, mgi_pv_atom(P, r.core, 1), num, den);
    }
  }
  r.value = mgi_pv_add(P, mgi_pv_mul(P, factor, r.value), shift);
  if (w != few) free(w);
  return r;
}
MGI_FN uint32_t mgi_pv_meet_value(mgi_prover *P, const mgi_pv_meet *s, uint32_t *core) {
  uint32_t a[MGI_PV_MEET];
  if (s->n == 1) return s->p[0];
  for (uint32_t k = 0; k < s->n; k++) a[k] = mgi_pv_scale(P, s->p[k], -1, 1);
  mgi_pv_joined r = mgi_pv_join_of(P, a, s->n);
  if (core) *core = r.core;
  return mgi_pv_scale(P, r.value, -1, 1);
}
MGI_FN mgi_pv_joined mgi_pv_lattice_value(mgi_prover *P, const mgi_pv_lattice *L) {
  mgi_pv_joined r;
  r.core = 0, r.value = MGI_PV_NONE;
  if (P->bad || !L->n) return r;
  if (L->n == 1) {
    r.value = mgi_pv_meet_value(P, &L->s[0], &r.core);
    return r;
  }
  uint32_t *a = (uint32_t *)malloc(L->n * sizeof *a);
  if (!a) { mgi_pv_fail(P, "no memory for terms"); return r; }
  for (uint32_t k = 0; k < L->n && !P->bad; k++) a[k] = mgi_pv_meet_value(P, &L->s[k], NULL);
  if (!P->bad) r = mgi_pv_join_of(P, a, L->n);
  free(a);
  return r;
}
MGI_FN int mgi_pv_lattice_plain(const mgi_pv_lattice *L) {
  if (L->n < 2) return 1;
  for (uint32_t k = 0; k < L->n; k++)
    if (L->s[k].n > 1) return 0;
  return 1;
}
/* A reduced lattice's value.  A maximum of minima is a minimum of maxima as well: of the two that with the least core
   stands for both. */
MGI_FN uint32_t mgi_pv_settle(mgi_prover *P, mgi_pv_lattice *L) {
  mgi_pv_reduce(P, L);
  if (mgi_pv_lattice_plain(L)) return mgi_pv_lattice_value(P, L).value;
  mgi_pv_lattice dual, one;
  int good = 1;
  memset(&dual, 0, sizeof dual);
  for (uint32_t k = 0; k < L->n && good; k++) {
    memset(&one, 0, sizeof one);
    for (uint32_t j = 0; j < L->s[k].n && good; j++)
      good = mgi_pv_lattice_put_one(&one, mgi_pv_scale(P, L->s[k].p[j], -1, 1));
    if (good && k) good = mgi_pv_meet_all(P, &dual, &one), free(one.s);
    else if (good) dual = one;
    else free(one.s);
  }
  if (good) mgi_pv_reduce(P, &dual);
  uint32_t r;
  if (good && mgi_pv_lattice_plain(&dual)) r = mgi_pv_scale(P, mgi_pv_lattice_value(P, &dual).value, -1, 1);
  else {
    mgi_pv_joined x = mgi_pv_lattice_value(P, L), y;
    r = x.value;
    if (good) {
      y = mgi_pv_lattice_value(P, &dual);
      if (y.core < x.core) r = mgi_pv_scale(P, y.value, -1, 1);
    }
  }
  free(dual.s);
  return P->bad ? (uint32_t)MGI_PV_ZERO : r;
}
/* The maximum of n polynomials: minus infinity aside, maxima in it opened, and reduced. */
MGI_FN uint32_t mgi_pv_max(mgi_prover *P, const uint32_t *arg, uint32_t n) {
  mgi_pv_lattice L;
  uint32_t r = MGI_PV_NONE;
  int good = 1;
  memset(&L, 0, sizeof L);
  for (uint32_t k = 0; k < n && good && !mgi_pv_over(P); k++)
    if (arg[k] != MGI_PV_NONE) good = mgi_pv_spread(P, &L, arg[k]);
  if (!good || P->bad) r = mgi_pv_fail(P, "too large: a maximum");
  else if (L.n) r = mgi_pv_settle(P, &L);
  free(L.s);
  return r;
}

/* The root of the even powers in all terms of *x, which leave it: sqrt(y^2 z) = |y| sqrt(z), where z is not negative or
   y is never 0 (else the root of y^2 z would have the greater domain). */
MGI_FN uint32_t mgi_pv_root_of_square(mgi_prover *P, uint32_t *x) {
  uint32_t common = mgi_pv_common_of(P, x, 1), square = mgi_pv_unit(P), one = mgi_pv_number(P, 1, 1), r = one;
  int never = 1;
  for (uint32_t k = 0; k < mgi_pv_powers(P, common) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, common, 1 + 2 * k), w[3];
    int e = (int32_t)mgi_pv_word(P, common, 2 + 2 * k), s = mgi_pv_sign_of_atom(P, a);
    e -= e % 2; /* towards 0 */
    if (!e) continue;
    w[0] = MGI_PV_MONO, w[1] = a, w[2] = (uint32_t)e;
    square = mgi_pv_mono_mul(P, square, mgi_pv_intern(P, w, 3));
    never &= e < 0 || (s & MGI_PV_NONZERO) != 0;
  }
  if (P->bad || square == mgi_pv_unit(P)) return one;
  uint32_t rest = mgi_pv_divide(P, *x, square);
  if (!never && !(mgi_pv_sign(P, rest) & MGI_PV_LEAST)) return one;
  for (uint32_t k = 0; k < mgi_pv_powers(P, square) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, square, 1 + 2 * k), two[2];
    int e = (int32_t)mgi_pv_word(P, square, 2 + 2 * k) / 2, s = mgi_pv_sign_of_power(P, a, e);
    uint32_t y = e < 0 ? mgi_pv_power(P, mgi_pv_inverse(P, mgi_pv_atom(P, a, 1)), -e) : mgi_pv_atom(P, a, e);
    if (s & MGI_PV_LEAST) mgi_pv_use(P, MGI_PV_ROW_sqrt_scale);
    else {
      two[0] = y, two[1] = mgi_pv_scale(P, y, -1, 1);
      mgi_pv_use(P, MGI_PV_ROW_sqrt_abs);
      y = s & MGI_PV_MOST ? two[1] : mgi_pv_max(P, two, 2);
    }
    r = mgi_pv_mul(P, r, y);
  }
  *x = rest;
  return r;
}

/* An E row. */
/* 1 where keep or drop chooses its second operand by the first, x, and 0 elsewhere. */
MGI_FN uint32_t mgi_pv_chosen(mgi_prover *P, int op, uint32_t x) {
  if (x == MGI_PV_NONE) return mgi_pv_fail(P, "minus infinity is chosen by");
  const uint32_t two[2] = {x, mgi_pv_number(P, 1, 1)}, kept = mgi_pv_fn(P, MG_OP_KEEP, mgi_pv_no_constant(), 2, two);
  return op == MG_OP_KEEP ? kept : mgi_pv_sub2(P, mgi_pv_number(P, 1, 1), kept);
}
MGI_FN uint32_t mgi_pv_apply(mgi_prover *P, mg_opcode op, mg_rational c, const uint32_t *in) {
  uint32_t two[2];
  if (P->bad) return MGI_PV_ZERO;
  switch (op) {
    case MG_OP_ADD: return mgi_pv_add(P, in[0], in[1]);
    case MG_OP_SUB: return mgi_pv_sub2(P, in[0], in[1]);
    case MG_OP_MUL: return mgi_pv_mul(P, in[0], in[1]);
    case MG_OP_DIV: return mgi_pv_mul(P, in[0], mgi_pv_inverse(P, in[1]));
    case MG_OP_EXP: return mgi_pv_exp(P, in[0]);
    case MG_OP_SQR: return mgi_pv_mul(P, in[0], in[0]);
    case MG_OP_NEG: return mgi_pv_sub2(P, MGI_PV_ZERO, in[0]);
    case MG_OP_SCALE:
      return in[0] == MGI_PV_NONE && c.num <= 0 ? mgi_pv_fail(P, "minus infinity is multiplied")
                                                : mgi_pv_scale(P, in[0], c.num, c.den);
    case MG_OP_ADD_SCALAR: return mgi_pv_add(P, in[0], mgi_pv_number(P, c.num, c.den));
    case MG_OP_RELU:
      two[0] = in[0], two[1] = MGI_PV_ZERO;
      mgi_pv_use(P, MGI_PV_ROW_relu_max);
      return mgi_pv_max(P, two, 2);
    case MG_OP_ABS:
      two[0] = in[0], two[1] = mgi_pv_sub2(P, MGI_PV_ZERO, in[0]);
      mgi_pv_use(P, MGI_PV_ROW_abs_max);
      return mgi_pv_max(P, two, 2);
    case MG_OP_MAXIMUM: case MG_OP_CLAMP_MIN:
      two[0] = in[0], two[1] = op == MG_OP_MAXIMUM ? in[1] : mgi_pv_number(P, c.num, c.den);
      mgi_pv_use(P, MGI_PV_ROW_maximum_max);
      return mgi_pv_max(P, two, 2);
    case MG_OP_MINIMUM: case MG_OP_CLAMP_MAX:
      two[0] = mgi_pv_sub2(P, MGI_PV_ZERO, in[0]),
      two[1] = op == MG_OP_MINIMUM ? mgi_pv_sub2(P, MGI_PV_ZERO, in[1]) : mgi_pv_number(P, -c.num, c.den);
      mgi_pv_use(P, MGI_PV_ROW_minimum_max);
      return mgi_pv_sub2(P, MGI_PV_ZERO, mgi_pv_max(P, two, 2));
    case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: return in[0];
    case MG_OP_KEEP: case MG_OP_DROP: { /* 1 or 0 of the first, times the second; the rest of it */
      if (in[0] == MGI_PV_NONE || in[1] == MGI_PV_NONE) return mgi_pv_fail(P, "minus infinity is chosen");
      const uint32_t kept = mgi_pv_mul(P, mgi_pv_chosen(P, MG_OP_KEEP, in[0]), in[1]);
      mgi_pv_use(P, MGI_PV_ROW_keep_factor);
      if (op == MG_OP_KEEP) return kept;
      mgi_pv_use(P, MGI_PV_ROW_drop_keep);
      return mgi_pv_sub2(P, in[1], kept);
    }
    case MG_OP_RSQRT:
      if (in[0] == MGI_PV_NONE) return mgi_pv_fail(P, "the root of minus infinity");
      mgi_pv_use(P, MGI_PV_ROW_rsqrt_sqrt);
      return mgi_pv_inverse(P, mgi_pv_sqrt(P, in[0]));
    case MG_OP_SQRT: return in[0] == MGI_PV_NONE ? mgi_pv_fail(P, "the root of minus infinity") : mgi_pv_sqrt(P, in[0]);
    case MG_OP_LOG:
      return in[0] == MGI_PV_NONE ? mgi_pv_fail(P, "the logarithm of minus infinity") : mgi_pv_log(P, in[0]);
    default:
      return mgi_pv_fn(P, op, mg_op_row(op)->attr == MG_ATTR_RAT ? c : mgi_pv_no_constant(), mg_op_row(op)->n_in, in);
  }
}

/* -------------------------------------------------------------------------------------------------- >>indices
   Indices, and reductions over them: how their variables are split, merged, taken apart and named (>>terms).
   Requirement 1: a cut of an index is exact, or the term is given up: nothing is rounded, no bound is checked.
   Requirement 2: what a binding returns depends on its body alone, not on the names or the grouping of its variables,
   as far as they can be regrouped; so substitution binds anew whatever it goes through. */

/* How many values a variable takes; 0: it is not known.  It is not of a bound name, whose extent is that of whichever
   binding was closed last. */
MGI_FN uint64_t mgi_pv_range(const mgi_prover *P, uint32_t var) {
  const int bound = var >= MGI_PV_FREE && var < MGI_PV_TEMP;
  return bound || var >= MGI_PV_VARS || P->extent[var] <= 0 ? 0 : (uint64_t)P->extent[var];
}
/* A digit takes no more values than its variable leaves it: an uneven cut's last block is short.  One that is stored
   fits already. */
MGI_FN void mgi_pv_fit(const mgi_prover *P, mgi_pv_digit *d) {
  const uint64_t range = mgi_pv_range(P, d->var);
  if (range && (uint64_t)d->div * d->mod > range) d->mod = (uint32_t)mg_ceil_div((int64_t)range, d->div);
}
/* Adds a digit on the right. */
MGI_FN void mgi_pv_push(mgi_prover *P, mgi_pv_index *x, mgi_pv_digit d) {
  mgi_pv_digit *l = x->n ? &x->d[x->n - 1] : NULL;
  mgi_pv_fit(P, &d);
  if (d.mod == 1 || (!x->n && d.var == MGI_PV_NAUGHT)) return;
  if (l && l->var == d.var && (d.var == MGI_PV_NAUGHT || l->div == (uint64_t)d.div * d.mod)) {
    if ((uint64_t)l->mod * d.mod > INT32_MAX) mgi_pv_fail(P, "too large: an index");
    l->mod *= d.mod, l->div = d.div;
    mgi_pv_fit(P, l);
  }
  else if (x->n == MGI_PV_DIGITS) mgi_pv_fail(P, "an index of too many digits");
  else x->d[x->n++] = d;
}
MGI_FN void mgi_pv_join(mgi_prover *P, mgi_pv_index *x, const mgi_pv_index *low) {
  for (int k = 0; k < low->n; k++) mgi_pv_push(P, x, low->d[k]);
}
MGI_FN int64_t mgi_pv_span(const mgi_pv_index *x) {
  int64_t n = 1;
  for (int k = 0; k < x->n; k++) n *= x->d[k].mod;
  return n;
}
/* x, as the index of `extent` elements: leading naughts kept, so that more digits may stand on its left. */
MGI_FN mgi_pv_index mgi_pv_padded(mgi_prover *P, const mgi_pv_index *x, int64_t extent) {
  mgi_pv_index r;
  int64_t span = mgi_pv_span(x);
  memset(&r, 0, sizeof r);
  if (span && extent % span) mgi_pv_fail(P, "an index is cut unevenly");
  if (extent > span) r.n = 1, r.d[0].var = MGI_PV_NAUGHT, r.d[0].div = 1, r.d[0].mod = (uint32_t)(extent / span);
  for (int k = 0; k < x->n; k++) { /* not merged with a naught on its left only by var, so push is right */
    if (!r.n && x->d[k].var == MGI_PV_NAUGHT) r.d[r.n++] = x->d[k];
    else mgi_pv_push(P, &r, x->d[k]);
  }
  return r;
}
/* x = hi * low + lo, 0 <= lo < low. */
MGI_FN void mgi_pv_cut(mgi_prover *P, const mgi_pv_index *x, int64_t low, mgi_pv_index *hi, mgi_pv_index *lo) {
  mgi_pv_digit back[MGI_PV_DIGITS + 1];
  int k = x->n, m = 0;
  mgi_pv_index h, l;
  memset(&h, 0, sizeof h), memset(&l, 0, sizeof l);
  while (k && low > 1) {
    mgi_pv_digit d = x->d[k - 1];
    const uint64_t range = mgi_pv_range(P, d.var);
    const int leading = k == 1, whole = leading && range && (uint64_t)d.div * d.mod >= range;
    if (low % d.mod == 0) low /= d.mod, back[m++] = d, k--;
    else if (leading && d.mod < low) back[m++] = d, k = 0, low = 1;
    else if (d.mod % low && whole) { /* an uneven cut of a whole variable */
      mgi_pv_digit part = d;
      part.mod = (uint32_t)low, back[m++] = part;
      d.div *= (uint32_t)low, d.mod = (uint32_t)mg_ceil_div(d.mod, low);
      mgi_pv_push(P, &h, d);
      k = 0, low = 1;
    }
    else if (d.mod % low == 0) {
      mgi_pv_digit part = d;
      part.mod = (uint32_t)low, back[m++] = part;
      for (int j = 0; j < k - 1; j++) mgi_pv_push(P, &h, x->d[j]);
      d.mod /= (uint32_t)low, d.div *= (uint32_t)low;
      if (d.var == MGI_PV_NAUGHT) d.div = 1;
      mgi_pv_push(P, &h, d);
      k = 0, low = 1;
      break;
    } else { mgi_pv_fail(P, "an index is cut unevenly"); break; }
  }
  for (int j = 0; j < k; j++) mgi_pv_push(P, &h, x->d[j]);
  while (m) mgi_pv_push(P, &l, back[--m]);
  *hi = h, *lo = l;
}
MGI_FN uint32_t mgi_pv_input(mgi_prover *P, uint32_t which, int rank, const mgi_pv_index *x) {
  uint32_t w[2 + MG_MAX_RANK * (1 + 3 * MGI_PV_DIGITS)], n = 2;
  w[0] = MGI_PV_IN, w[1] = which;
  for (int d = 0; d < rank; d++) {
    w[n++] = (uint32_t)x[d].n;
    for (int k = 0; k < x[d].n; k++) w[n++] = x[d].d[k].var, w[n++] = x[d].d[k].div, w[n++] = x[d].d[k].mod;
  }
  return mgi_pv_intern(P, w, n);
}

/* 1 where the index is below the bound, else 0; the number 1 if it always is. */
MGI_FN uint32_t mgi_pv_less(mgi_prover *P, uint32_t bound, const mgi_pv_index *x) {
  uint32_t w[3 + 3 * MGI_PV_DIGITS], n = 3;
  if (mgi_pv_span(x) <= bound) return mgi_pv_number(P, 1, 1);
  uint64_t most = 0;
  for (int k = 0; k < x->n; k++) most = most * x->d[k].mod + (x->d[k].var == MGI_PV_NAUGHT ? 0 : x->d[k].mod - 1);
  if (most < bound) return mgi_pv_number(P, 1, 1);
  w[0] = MGI_PV_LESS, w[1] = bound, w[2] = (uint32_t)x->n;
  for (int k = 0; k < x->n; k++) w[n++] = x->d[k].var, w[n++] = x->d[k].div, w[n++] = x->d[k].mod;
  return mgi_pv_atom(P, mgi_pv_intern(P, w, n), 1);
}
/* The product of two such, each factor once. */
MGI_FN uint32_t mgi_pv_both(mgi_prover *P, uint32_t x, uint32_t y) {
  uint32_t r = mgi_pv_mul(P, x, y), once;
  if (P->bad || mgi_pv_count(P, r) != 1) return r;
  uint32_t m = mgi_pv_at(P, r, 0).mono;
  once = mgi_pv_number(P, 1, 1);
  for (uint32_t k = 0; k < mgi_pv_powers(P, m) && !P->bad; k++)
    once = mgi_pv_mul(P, once, mgi_pv_atom(P, mgi_pv_word(P, m, 1 + 2 * k), 1));
  return once;
}

/* ---- substitution and bound variables */

MGI_FN uint32_t mgi_pv_bind(mgi_prover *P, uint32_t kind, int n, const uint32_t *var, uint32_t body);
MGI_FN uint32_t mgi_pv_bind_where(mgi_prover *P, uint32_t kind, int n, const uint32_t *var, uint32_t body,
                                  uint32_t where);
MGI_FN uint32_t mgi_pv_map(mgi_prover *P, uint32_t p, int n, const mgi_pv_sub *s);

MGI_FN uint32_t mgi_pv_temp(mgi_prover *P, int64_t extent) {
  if (P->temps == MGI_PV_VARS - MGI_PV_TEMP) {
    mgi_pv_fail(P, "too many reductions inside each other");
    return MGI_PV_TEMP;
  }
  uint32_t v = (uint32_t)(MGI_PV_TEMP + P->temps++);
  P->extent[v] = extent;
  return v;
}
/* The body of a sum or maximum over fresh variables. */
MGI_FN uint32_t mgi_pv_open(mgi_prover *P, uint32_t atom, uint32_t *var) {
  int n = (int)mgi_pv_word(P, atom, 1);
  mgi_pv_sub s[MGI_PV_BOUND];
  memset(s, 0, sizeof s);
  for (int k = 0; k < n; k++)
    s[k].var = mgi_pv_word(P, atom, 2) + (uint32_t)k,
    s[k].lo = var[k] = mgi_pv_temp(P, mgi_pv_word(P, atom, 3 + (uint32_t)k)), s[k].lo_scale = 1;
  return P->bad ? (uint32_t)MGI_PV_ZERO : mgi_pv_map(P, mgi_pv_word(P, atom, P->node[atom].n - 1), n, s);
}
/* Of a maximum that was opened so: which indices there are (a product of LESS). */
MGI_FN uint32_t mgi_pv_where(mgi_prover *P, uint32_t atom, const uint32_t *var) {
  int n = (int)mgi_pv_word(P, atom, 1);
  mgi_pv_sub s[MGI_PV_BOUND];
  if (P->bad || (mgi_pv_kind(P, atom) != MGI_PV_TOP && mgi_pv_kind(P, atom) < MGI_PV_DIVISOR))
    return P->bad ? (uint32_t)MGI_PV_ZERO : mgi_pv_number(P, 1, 1);
  memset(s, 0, sizeof s);
  for (int k = 0; k < n; k++) s[k].var = mgi_pv_word(P, atom, 2) + (uint32_t)k, s[k].lo = var[k], s[k].lo_scale = 1;
  return mgi_pv_map(P, mgi_pv_word(P, atom, P->node[atom].n - 2), n, s);
}
MGI_FN mgi_pv_digit mgi_pv_map_digit(mgi_pv_digit d, int n, const mgi_pv_sub *s) {
  for (int k = 0; k < n; k++)
    if (s[k].var == d.var) {
      if (!s[k].at || d.div < s[k].at) d.var = s[k].lo, d.div *= s[k].lo_scale;
      else d.var = s[k].hi, d.div /= s[k].at;
      break;
    }
  return d;
}
MGI_FN uint64_t mgi_pv_mask(int n, const mgi_pv_sub *s) {
  uint64_t m = 0;
  for (int k = 0; k < n; k++) m |= (uint64_t)1 << s[k].var;
  return m;
}
/* The polynomial that an atom becomes under s, and under P->from := P->to. */
MGI_FN uint32_t mgi_pv_map_atom(mgi_prover *P, uint32_t a, int n, const mgi_pv_sub *s) {
  uint32_t kind = mgi_pv_kind(P, a), in[512], m = 0;
  if (P->from && a == P->from) return P->to;
  if (mgi_pv_over(P) || (!P->from && !(P->node[a].vars & mgi_pv_mask(n, s))) || (P->from && a < P->from))
    return mgi_pv_atom(P, a, 1);
  switch (kind) {
    case MGI_PV_IN: case MGI_PV_LESS: {
      mgi_pv_index x[MG_MAX_RANK];
      int rank = 0;
      if (mgi_pv_word(P, a, 2) == UINT32_MAX || P->from) return mgi_pv_atom(P, a, 1);
      memset(x, 0, sizeof x);
      for (uint32_t k = 2; k < P->node[a].n; k += 1 + 3 * mgi_pv_word(P, a, k), rank++)
        for (uint32_t j = 0; j < mgi_pv_word(P, a, k); j++) {
          mgi_pv_digit d;
          d.var = mgi_pv_word(P, a, k + 1 + 3 * j), d.div = mgi_pv_word(P, a, k + 2 + 3 * j),
          d.mod = mgi_pv_word(P, a, k + 3 + 3 * j);
          mgi_pv_push(P, &x[rank], mgi_pv_map_digit(d, n, s));
        }
      if (kind == MGI_PV_LESS) return mgi_pv_less(P, mgi_pv_word(P, a, 1), x);
      return mgi_pv_atom(P, mgi_pv_input(P, mgi_pv_word(P, a, 1), rank, x), 1);
    }
    case MGI_PV_FN: {
      mg_rational c;
      c.num = mgi_pv_long(P, a, 2), c.den = mgi_pv_long(P, a, 4);
      mg_opcode op = (mg_opcode)mgi_pv_word(P, a, 1);
      for (; m + 6 < P->node[a].n; m++) in[m] = mgi_pv_map(P, mgi_pv_word(P, a, 6 + m), n, s);
      return mgi_pv_apply(P, op, c, in);
    }
    case MGI_PV_MAX:
      for (; m + 1 < P->node[a].n; m++) in[m] = mgi_pv_map(P, mgi_pv_word(P, a, 1 + m), n, s);
      return mgi_pv_max(P, in, m);
    case MGI_PV_INV: return mgi_pv_inverse(P, mgi_pv_map(P, mgi_pv_word(P, a, 1), n, s));
    default: {
      uint32_t var[MGI_PV_BOUND], from = P->from;
      int temps = P->temps;
      P->from = 0;
      uint32_t body = mgi_pv_open(P, a, var), where = mgi_pv_where(P, a, var);
      P->from = from;
      body = mgi_pv_map(P, body, n, s);
      P->from = 0;
      where = mgi_pv_map(P, where, n, s);
      uint32_t r = mgi_pv_bind_where(P, kind, (int)mgi_pv_word(P, a, 1), var, body, where);
      P->from = from, P->temps = temps;
      return r;
    }
  }
}
MGI_FN uint32_t mgi_pv_map(mgi_prover *P, uint32_t p, int n, const mgi_pv_sub *s) {
  uint32_t r = MGI_PV_ZERO;
  if (!P->from && !(P->node[p].vars & mgi_pv_mask(n, s))) return p;
  for (uint32_t k = 0; k < mgi_pv_count(P, p) && !P->bad; k++) {
    mgi_pv_term t = mgi_pv_at(P, p, k);
    uint32_t q = mgi_pv_number(P, t.num, t.den);
    for (uint32_t j = 0; j < mgi_pv_powers(P, t.mono) && !P->bad; j++) {
      uint32_t a = mgi_pv_map_atom(P, mgi_pv_word(P, t.mono, 1 + 2 * j), n, s);
      int e = (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * j);
      q = mgi_pv_mul(P, q, mgi_pv_power(P, e < 0 ? mgi_pv_inverse(P, a) : a, e < 0 ? -e : e));
    }
    r = mgi_pv_add(P, r, q);
  }
  return r;
}

/* The digits of v in p as pairs of places: where one begins, and where it ends. */
typedef struct mgi_pv_places { uint32_t lo[64], hi[64]; int n, more; } mgi_pv_places;
MGI_FN void mgi_pv_place(const mgi_prover *P, uint32_t id, uint32_t v, mgi_pv_places *r) {
  const mgi_pv_node *x = &P->node[id];
  uint32_t kind = mgi_pv_kind(P, id);
  if (!(x->vars >> v & 1)) return;
  if (kind == MGI_PV_IN || kind == MGI_PV_LESS) {
    for (uint32_t k = 2; k < x->n; k += 1 + 3 * mgi_pv_word(P, id, k))
      for (uint32_t j = 0; j < mgi_pv_word(P, id, k); j++)
        if (mgi_pv_word(P, id, k + 1 + 3 * j) == v) {
          uint32_t lo = mgi_pv_word(P, id, k + 2 + 3 * j), hi = lo * mgi_pv_word(P, id, k + 3 + 3 * j);
          int seen = 0;
          for (int b = 0; b < r->n; b++) seen |= r->lo[b] == lo && r->hi[b] == hi;
          if (!seen && r->n < 64) r->lo[r->n] = lo, r->hi[r->n++] = hi;
          else r->more |= !seen;
        }
    return;
  }
  uint32_t first = kind == MGI_PV_FN    ? 6
                   : kind == MGI_PV_SUM ? x->n - 1
                   : kind == MGI_PV_TOP ? x->n - 2
                                        : 1,
           step = kind == MGI_PV_MONO   ? 2
                  : kind == MGI_PV_POLY ? 5
                                        : 1;
  for (uint32_t k = first; k < x->n; k += step) mgi_pv_place(P, mgi_pv_word(P, id, k), v, r);
}
/* The least place where v can be split and some digit ends; 0 if there is none. */
MGI_FN uint32_t mgi_pv_split_at(const mgi_prover *P, uint32_t p, uint32_t v) {
  mgi_pv_places r;
  uint32_t best = 0;
  r.n = r.more = 0;
  mgi_pv_place(P, p, v, &r);
  for (int k = 0; k < 2 * r.n && !r.more; k++) {
    uint32_t b = k & 1 ? r.hi[k >> 1] : r.lo[k >> 1];
    int good = b > 1 && b < P->extent[v] && P->extent[v] % b == 0 && (!best || b < best);
    /* the second: of an uneven cut */
    for (int j = 0; j < r.n && good; j++) good = r.lo[j] < b ? r.hi[j] <= b : r.lo[j] % b == 0;
    if (good) best = b;
  }
  return best;
}
/* 1 if every digit of v reaches over `place`. */
MGI_FN int mgi_pv_whole(const mgi_prover *P, uint32_t p, uint32_t v, uint32_t place) {
  mgi_pv_places r;
  r.n = r.more = 0;
  mgi_pv_place(P, p, v, &r);
  int good = r.n > 0 && !r.more;
  for (int k = 0; k < r.n; k++) good &= r.lo[k] < place && place < r.hi[k];
  return good;
}

/* Splits and merges the variables of a reduction of p; *n and var change.  Returns p over the new ones. */
MGI_FN uint32_t mgi_pv_regroup(mgi_prover *P, uint32_t p, int *n, uint32_t *var, int most) {
  mgi_pv_sub s[2];
  memset(s, 0, sizeof s);
  for (int k = 0; k < *n && !P->bad; k++) {
    uint32_t at = mgi_pv_split_at(P, p, var[k]);
    if (!at) continue;
    if (*n == most) return mgi_pv_fail(P, "a reduction over too many indices");
    uint32_t v = var[k];
    s[0].var = v, s[0].at = at, s[0].lo_scale = 1, s[0].lo = mgi_pv_temp(P, at),
    s[0].hi = mgi_pv_temp(P, P->extent[v] / at);
    if (P->bad) return MGI_PV_ZERO;
    p = mgi_pv_map(P, p, 1, s);
    var[k--] = s[0].lo, var[(*n)++] = s[0].hi;
  }
  for (int i = 0; i < *n && !P->bad; i++)
    for (int j = 0; j < *n && !P->bad; j++) {
      if (i == j || P->extent[var[i]] * P->extent[var[j]] > INT32_MAX || !(P->node[p].vars >> var[i] & 1) ||
          !(P->node[p].vars >> var[j] & 1))
        continue;
      int temps = P->temps;
      uint32_t v = mgi_pv_temp(P, P->extent[var[i]] * P->extent[var[j]]), q;
      memset(s, 0, sizeof s);
      s[0].var = var[i], s[0].lo = v, s[0].lo_scale = (uint32_t)P->extent[var[j]];
      s[1].var = var[j], s[1].lo = v, s[1].lo_scale = 1;
      if (P->bad) return MGI_PV_ZERO;
      q = mgi_pv_map(P, p, 2, s);
      if (P->bad || !mgi_pv_whole(P, q, v, s[0].lo_scale)) { P->temps = temps; continue; }
      p = q, var[i] = v, var[j] = var[--*n];
      i = -1;
      break;
    }
  return p;
}

/* 1 if p is a monomial, times 1. */
MGI_FN int mgi_pv_primitive_term(const mgi_prover *P, uint32_t p) {
  if (P->bad || mgi_pv_count(P, p) != 1) return 0;
  mgi_pv_term t = mgi_pv_at(P, p, 0);
  return t.num == 1 && t.den == 1;
}
/* The atom over var, whose names are chosen so that it has the least id of all namings. */
MGI_FN uint32_t mgi_pv_close(mgi_prover *P, uint32_t kind, int n, const uint32_t *var, uint32_t body, uint32_t where) {
  uint32_t base = P->node[body].top > P->node[where].top ? P->node[body].top : P->node[where].top, best = 0, apart = 0,
           name[MGI_PV_BOUND];
  int perm[MGI_PV_BOUND], done = 0;
  if (n > MGI_PV_BOUND || base + (uint32_t)n > MGI_PV_TEMP) return mgi_pv_fail(P, "reductions nest too deep");
  for (int k = 0; k < n; k++) perm[k] = k;
  while (!done && !P->bad) {
    mgi_pv_sub s[MGI_PV_BOUND];
    uint32_t w[5 + MGI_PV_BOUND], m = 3 + (uint32_t)n;
    memset(s, 0, sizeof s);
    w[0] = kind, w[1] = (uint32_t)n, w[2] = base;
    for (int k = 0; k < n; k++) {
      s[k].var = var[k], s[k].lo = base + (uint32_t)perm[k], s[k].lo_scale = 1;
      w[3 + perm[k]] = (uint32_t)P->extent[var[k]], P->extent[base + (uint32_t)perm[k]] = P->extent[var[k]];
    }
    if (kind != MGI_PV_SUM) w[m++] = mgi_pv_map(P, where, n, s);
    w[m] = mgi_pv_map(P, body, n, s);
    int whole = kind != MGI_PV_SUM || mgi_pv_primitive_term(P, w[m]);
    if (whole) {
      uint32_t id = mgi_pv_intern(P, w, m + 1);
      if (!best || id < best) best = id;
    } else if (!apart) { /* a maximum's other form under these names: the sum falls apart */
      apart = w[m];
      for (int k = 0; k < n; k++) name[k] = s[k].lo;
    }
    done = 1;
    for (int i = n - 2; i >= 0; i--)
      if (perm[i] < perm[i + 1]) { /* the next permutation */
        int j = n - 1;
        while (perm[j] < perm[i]) j--;
        int t = perm[i];
        perm[i] = perm[j], perm[j] = t;
        for (int a = i + 1, b = n - 1; a < b; a++, b--) t = perm[a], perm[a] = perm[b], perm[b] = t;
        done = 0;
        break;
      }
  }
  if (P->bad) return MGI_PV_ZERO;
  if (best) return mgi_pv_atom(P, best, 1);
  if (++P->depth > MGI_PV_NEST) return mgi_pv_fail(P, "a sum whose terms do not settle");
  mgi_pv_sub back[MGI_PV_BOUND];
  memset(back, 0, sizeof back);
  for (int k = 0; k < n; k++)
    back[k].var = name[k], back[k].lo = name[k] = mgi_pv_temp(P, P->extent[var[k]]), back[k].lo_scale = 1;
  if (!P->bad) apart = mgi_pv_map(P, apart, n, back); /* the names may be given anew */
  best = mgi_pv_bind(P, kind, n, name, apart);
  P->depth--;
  return best;
}

MGI_FN int mgi_pv_has_power(const mgi_prover *P, uint32_t mono, uint32_t atom) {
  for (uint32_t k = 0; k < mgi_pv_powers(P, mono); k++)
    if (mgi_pv_word(P, mono, 1 + 2 * k) == atom) return 1;
  return 0;
}
/* A bound on all of one of the variables makes its range the shorter: p without such factors, over other variables.
   The bounds are the factors of p's one term, or of the one that has `mark`: a factor of one of several terms bounds
   that term alone. */
MGI_FN uint32_t mgi_pv_shorten(mgi_prover *P, uint32_t p, int n, uint32_t *var, uint32_t mark) {
  uint32_t terms = 0;
  for (uint32_t i = 0; i < mgi_pv_count(P, p); i++)
    terms += !mark || mgi_pv_has_power(P, mgi_pv_at(P, p, i).mono, mark);
  if (terms != 1) return p;
  for (uint32_t i = 0; i < mgi_pv_count(P, p) && !P->bad; i++) {
    uint32_t m = mgi_pv_at(P, p, i).mono;
    if (mark && !mgi_pv_has_power(P, m, mark)) continue;
    for (uint32_t k = 0; k < mgi_pv_powers(P, m); k++) {
      uint32_t a = mgi_pv_word(P, m, 1 + 2 * k), v;
      if (a == mark || mgi_pv_kind(P, a) != MGI_PV_LESS || mgi_pv_word(P, a, 2) != 1 || mgi_pv_word(P, a, 4) != 1)
        continue;
      v = mgi_pv_word(P, a, 3);
      for (int j = 0; j < n; j++) {
        if (var[j] != v || mgi_pv_word(P, a, 5) < P->extent[v]) continue;
        mgi_pv_sub s;
        memset(&s, 0, sizeof s);
        s.var = v, s.lo = mgi_pv_temp(P, mgi_pv_word(P, a, 1)), s.lo_scale = 1;
        if (P->bad) return MGI_PV_ZERO;
        var[j] = s.lo;
        return mgi_pv_shorten(P, mgi_pv_map(P, p, 1, &s), n, var, mark);
      }
    }
  }
  return p;
}
/* The same of p in the indices that *where leaves: where that has variables too, those of both go together. */
MGI_FN uint32_t mgi_pv_regroup_in(mgi_prover *P, uint32_t p, uint32_t *where, int *n, uint32_t *var) {
  if (!P->node[*where].vars) return mgi_pv_regroup(P, p, n, var, MGI_PV_BOUND);
  const uint32_t w[3] = {MGI_PV_LESS, 0, 0}, mark = mgi_pv_intern(P, w, 3); /* what marks the bounds' term */
  uint32_t both = mgi_pv_add(P, p, mgi_pv_mul(P, *where, mgi_pv_atom(P, mark, 1)));
  both = mgi_pv_regroup(P, both, n, var, MGI_PV_BOUND);
  both = mgi_pv_shorten(P, both, *n, var, mark);
  p = MGI_PV_ZERO, *where = mgi_pv_number(P, 1, 1);
  for (uint32_t k = 0; k < mgi_pv_count(P, both) && !P->bad; k++) {
    mgi_pv_term t = mgi_pv_at(P, both, k);
    uint32_t one = mgi_pv_single(P, t.mono, t.num, t.den);
    if (mgi_pv_has_power(P, t.mono, mark)) *where = mgi_pv_mul(P, one, mgi_pv_atom(P, mark, -1));
    else p = mgi_pv_add(P, p, one);
  }
  return p;
}
/* The sum of a monomial. */
MGI_FN uint32_t mgi_pv_sum_mono(mgi_prover *P, uint32_t mono, int n, const uint32_t *over) {
  uint32_t var[MGI_PV_BOUND + 4], p = mgi_pv_single(P, mono, 1, 1), r = mgi_pv_number(P, 1, 1);
  uint64_t mask = 0;
  int m = n;
  if (n > MGI_PV_BOUND) return mgi_pv_fail(P, "a reduction over too many indices");
  for (int k = 0; k < n; k++) var[k] = over[k], mask |= (uint64_t)1 << over[k];
  /* nested sums that depend on a variable: flattened */
  for (uint32_t k = 0; k < mgi_pv_powers(P, mono) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, mono, 1 + 2 * k), inner[MGI_PV_BOUND], few = mgi_pv_word(P, a, 1);
    int e = (int32_t)mgi_pv_word(P, mono, 2 + 2 * k);
    if (mgi_pv_kind(P, a) != MGI_PV_SUM || e < 1 || e > 2 || !(P->node[a].vars & mask) || m + (int)few > MGI_PV_BOUND)
      continue;
    uint32_t body = mgi_pv_open(P, a, inner), rest = mgi_pv_mul(P, p, mgi_pv_atom(P, a, -1));
    for (uint32_t j = 0; j < few; j++) var[m++] = inner[j];
    return mgi_pv_bind(P, MGI_PV_SUM, m, var, mgi_pv_mul(P, rest, body));
  }
  p = mgi_pv_regroup(P, p, &m, var, MGI_PV_BOUND);
  p = mgi_pv_shorten(P, p, m, var, 0);
  if (P->bad) return MGI_PV_ZERO;
  if (mgi_pv_count(P, p) != 1) return mgi_pv_bind(P, MGI_PV_SUM, m, var, p);
  mono = mgi_pv_at(P, p, 0).mono;
  r = mgi_pv_number(P, mgi_pv_at(P, p, 0).num, mgi_pv_at(P, p, 0).den);
  uint64_t group[MGI_PV_BOUND];
  int groups = 0;
  mask = 0;
  for (int k = 0; k < m; k++) mask |= (uint64_t)1 << var[k];
  for (uint32_t k = 0; k < mgi_pv_powers(P, mono); k++) { /* components of variables that meet in a factor */
    uint64_t g = P->node[mgi_pv_word(P, mono, 1 + 2 * k)].vars & mask;
    for (int j = 0; g && j < groups;) {
      if (group[j] & g) g |= group[j], group[j] = group[--groups], j = 0;
      else j++;
    }
    if (g) group[groups++] = g;
  }
  for (int k = 0; k < m; k++) {
    int seen = 0;
    for (int j = 0; j < groups; j++) seen |= (int)(group[j] >> var[k] & 1);
    if (!seen) r = mgi_pv_scale(P, r, P->extent[var[k]], 1);
  }
  for (int j = -1; j < groups && !P->bad; j++) {
    uint32_t part = mgi_pv_number(P, 1, 1), own[MGI_PV_BOUND];
    int c = 0;
    for (uint32_t k = 0; k < mgi_pv_powers(P, mono) && !P->bad; k++) {
      uint32_t a = mgi_pv_word(P, mono, 1 + 2 * k);
      uint64_t g = P->node[a].vars & mask;
      if (j < 0 ? !g : (g & group[j]) != 0)
        part = mgi_pv_mul(P, part, mgi_pv_atom(P, a, (int32_t)mgi_pv_word(P, mono, 2 + 2 * k)));
    }
    for (int k = 0; j >= 0 && k < m; k++)
      if (group[j] >> var[k] & 1) own[c++] = var[k];
    r = mgi_pv_mul(P, r, j < 0 ? part : mgi_pv_close(P, MGI_PV_SUM, c, own, part, MGI_PV_ZERO));
  }
  return r;
}

/* The maximum over var of p, in which no maximum of polynomials opens; of the indices that `where` leaves, some at each
   index of the variables outside. */
MGI_FN uint32_t mgi_pv_top(mgi_prover *P, int n, const uint32_t *var, uint32_t p, uint32_t where) {
  uint32_t v[MGI_PV_BOUND], inner[MGI_PV_BOUND], shift = MGI_PV_ZERO, factor, like, arg;
  uint64_t mask = 0, group[MGI_PV_BOUND];
  int m = 0, groups = 0;
  for (int k = 0; k < n; k++) {
    if (!(P->node[p].vars >> var[k] & 1)) continue;
    v[m++] = var[k], mask |= (uint64_t)1 << var[k];
  }
  uint32_t body = MGI_PV_ZERO;
  for (uint32_t k = 0; k < mgi_pv_count(P, p) && !P->bad; k++) { /* what does not depend on the variables moves out */
    mgi_pv_term t = mgi_pv_at(P, p, k);
    uint32_t one = mgi_pv_single(P, t.mono, t.num, t.den);
    if (P->node[t.mono].vars & mask) body = mgi_pv_add(P, body, one);
    else shift = mgi_pv_add(P, shift, one);
  }
  if (P->bad || !m) return p;
  for (int k = 0; k < n; k++) { /* a bound is nearest to true where what p does not depend on is 0 */
    mgi_pv_sub s;
    if (mask >> var[k] & 1 || !(P->node[where].vars >> var[k] & 1)) continue;
    memset(&s, 0, sizeof s);
    s.var = var[k], s.lo = MGI_PV_NAUGHT, s.lo_scale = 1;
    where = mgi_pv_map(P, where, 1, &s);
  }
  if (P->bad) return MGI_PV_ZERO;
  if (!(P->node[where].vars & mask)) where = mgi_pv_number(P, 1, 1);
  if (shift != MGI_PV_ZERO) mgi_pv_use(P, MGI_PV_ROW_max_shift);
  /* a maximum inside that depends on them: flattened */
  for (uint32_t i = 0; i < mgi_pv_count(P, body) && !P->bad; i++) {
    uint32_t mono = mgi_pv_at(P, body, i).mono;
    for (uint32_t k = 0; k < mgi_pv_powers(P, mono) && !P->bad; k++) {
      uint32_t a = mgi_pv_word(P, mono, 1 + 2 * k), with = MGI_PV_ZERO, rest = MGI_PV_ZERO, few = mgi_pv_word(P, a, 1);
      int plain = 1;
      if (mgi_pv_kind(P, a) != MGI_PV_TOP || !(P->node[a].vars & mask) || m + (int)few > MGI_PV_BOUND) continue;
      for (uint32_t j = 0; j < mgi_pv_count(P, body) && plain && !P->bad; j++) {
        mgi_pv_term t = mgi_pv_at(P, body, j);
        uint32_t one = mgi_pv_single(P, t.mono, t.num, t.den);
        int has = 0;
        for (uint32_t l = 0; l < mgi_pv_powers(P, t.mono); l++)
          if (mgi_pv_word(P, t.mono, 1 + 2 * l) == a) has = 1, plain &= mgi_pv_word(P, t.mono, 2 + 2 * l) == 1;
        if (has && plain) with = mgi_pv_add(P, with, mgi_pv_mul(P, one, mgi_pv_atom(P, a, -1)));
        else rest = mgi_pv_add(P, rest, one);
      }
      if (!plain || P->bad || !(mgi_pv_sign(P, with) & MGI_PV_LEAST)) continue;
      mgi_pv_use(P, MGI_PV_ROW_max_regroup);
      if (!mgi_pv_is_number(P, with)) mgi_pv_use(P, MGI_PV_ROW_max_factor);
      body = mgi_pv_add(P, mgi_pv_mul(P, with, mgi_pv_open(P, a, inner)), rest);
      for (uint32_t j = 0; j < few; j++) v[m++] = inner[j];
      where = P->bad ? where : mgi_pv_both(P, where, mgi_pv_where(P, a, inner));
      return mgi_pv_add(P, mgi_pv_bind_where(P, MGI_PV_TOP, m, v, body, where), shift);
    }
  }
  int64_t num = 0, den = 1;
  mgi_pv_content(P, body, &num, &den);
  if (num != 1 || den != 1) mgi_pv_use(P, MGI_PV_ROW_max_scale);
  body = mgi_pv_scale(P, body, den, num);
  factor = mgi_pv_number(P, num, den);
  int flip;
  uint32_t part = P->bad ? 0 : mgi_pv_signed_part(P, mgi_pv_common(P, body), mask, &flip);
  if (!P->bad && part != mgi_pv_unit(P)) {
    mgi_pv_use(P, MGI_PV_ROW_max_factor);
    body = mgi_pv_scale(P, mgi_pv_divide(P, body, part), flip ? -1 : 1, 1);
    factor = mgi_pv_mul(P, factor, mgi_pv_single(P, part, flip ? -1 : 1, 1));
  }
  /* a sum that does not depend on them, of a known sign, times a monomial */
  if (!P->bad && mgi_pv_count(P, body) > 1) {
    uint32_t common = mgi_pv_common(P, body), q = mgi_pv_divide(P, body, common);
    int sign = !P->bad && mgi_pv_count(P, q) > 1 && !(P->node[q].vars & mask) ? mgi_pv_sign(P, q) : 0;
    if (sign & (MGI_PV_LEAST | MGI_PV_MOST)) {
      int s = sign & MGI_PV_LEAST ? 1 : -1;
      mgi_pv_use(P, MGI_PV_ROW_max_factor);
      factor = mgi_pv_mul(P, factor, mgi_pv_scale(P, q, s, 1));
      return mgi_pv_add(P,
                        mgi_pv_mul(P, factor,
                                   mgi_pv_bind_where(P, MGI_PV_TOP, m, v, mgi_pv_single(P, common, s, 1), where)),
                        shift);
    }
  }
  like = P->bad ? 0 : mgi_pv_family(P, body);
  if (like) {
    int sign = mgi_pv_at(P, body, 0).num < 0 ? -1 : 1;
    if (mgi_pv_as(P, body, like, sign, &arg)) {
      arg = mgi_pv_scale(P, mgi_pv_bind_where(P, MGI_PV_TOP, m, v, mgi_pv_scale(P, arg, sign, 1), where), sign, 1);
      return mgi_pv_add(P, mgi_pv_mul(P, factor, mgi_pv_scale(P, mgi_pv_rise(P, like, arg), sign, 1)), shift);
    }
  }
  body = mgi_pv_regroup_in(P, body, &where, &m, v);
  if (P->bad) return MGI_PV_ZERO;
  mask = 0;
  for (int k = 0; k < m; k++) mask |= (uint64_t)1 << v[k];
  for (uint32_t k = 0; k < mgi_pv_count(P, body); k++) { /* components of variables that meet in a term */
    uint64_t g = P->node[mgi_pv_at(P, body, k).mono].vars & mask;
    for (int j = 0; g && j < groups;) {
      if (group[j] & g) g |= group[j], group[j] = group[--groups], j = 0;
      else j++;
    }
    if (g) group[groups++] = g;
  }
  for (int j = 0; j < groups; j++) { /* a bound on variables of two binds them together */
    int together = (P->node[where].vars & group[j]) != 0;
    if (!together || j == 0) continue;
    int first = 0;
    while (first < j && !(P->node[where].vars & group[first])) first++;
    if (first == j) continue;
    group[first] |= group[j], group[j--] = group[--groups];
  }
  uint32_t sum = MGI_PV_ZERO;
  if (groups > 1) mgi_pv_use(P, MGI_PV_ROW_max_apart);
  for (int j = 0; j < groups && !P->bad; j++) {
    uint32_t own[MGI_PV_BOUND], mine = MGI_PV_ZERO;
    int c = 0;
    for (uint32_t k = 0; k < mgi_pv_count(P, body) && !P->bad; k++) {
      mgi_pv_term t = mgi_pv_at(P, body, k);
      if (P->node[t.mono].vars & group[j]) mine = mgi_pv_add(P, mine, mgi_pv_single(P, t.mono, t.num, t.den));
      else if (!(P->node[t.mono].vars & mask) && !j) sum = mgi_pv_add(P, sum, mgi_pv_single(P, t.mono, t.num, t.den));
    }
    for (int k = 0; k < m; k++)
      if (group[j] >> v[k] & 1) own[c++] = v[k];
    sum = mgi_pv_add(P, sum,
                     groups > 1
                         ? mgi_pv_top(P, c, own, mine, P->node[where].vars & group[j] ? where : mgi_pv_number(P, 1, 1))
                         : mgi_pv_close(P, MGI_PV_TOP, c, own, mine, where));
  }
  if (!groups) sum = body;
  return mgi_pv_add(P, mgi_pv_mul(P, factor, sum), shift);
}
/* The maximum over the variables of a maximum of minima: of each minimum, what does not depend on them aside. */
MGI_FN uint32_t mgi_pv_top_of(mgi_prover *P, int n, const uint32_t *var, uint32_t body, uint32_t where) {
  mgi_pv_lattice L;
  uint64_t mask = 0;
  memset(&L, 0, sizeof L);
  for (int k = 0; k < n; k++) mask |= (uint64_t)1 << var[k];
  if (!mgi_pv_spread(P, &L, body)) { free(L.s); return mgi_pv_fail(P, "too large: a maximum"); }
  mgi_pv_reduce(P, &L);
  uint32_t *a = (uint32_t *)malloc((L.n + 1) * sizeof *a), r = MGI_PV_ZERO;
  if (!a) mgi_pv_fail(P, "no memory for terms");
  if (L.n > 1) mgi_pv_use(P, MGI_PV_ROW_max_regroup);
  for (uint32_t k = 0; k < L.n && !P->bad; k++) {
    mgi_pv_meet in, out;
    in.n = out.n = 0;
    for (uint32_t j = 0; j < L.s[k].n; j++) {
      uint32_t p = L.s[k].p[j];
      if (P->node[p].vars & mask) in.p[in.n++] = p;
      else out.p[out.n++] = p;
    }
    if (out.n && in.n) mgi_pv_use(P, MGI_PV_ROW_max_meet);
    if (in.n) out.p[out.n++] = mgi_pv_top(P, n, var, mgi_pv_meet_value(P, &in, NULL), where);
    if (out.n == 1) a[k] = out.p[0];
    else {
      for (uint32_t j = 0; j < out.n; j++) out.p[j] = mgi_pv_scale(P, out.p[j], -1, 1);
      a[k] = mgi_pv_scale(P, mgi_pv_max(P, out.p, out.n), -1, 1);
    }
  }
  if (!P->bad) r = L.n == 1 ? a[0] : mgi_pv_max(P, a, L.n);
  free(a), free(L.s);
  return r;
}

/* The sum (SUM) or maximum (TOP) of body over var, temporaries or free; a maximum: of the indices that `where`
   leaves. */
MGI_FN uint32_t mgi_pv_bind_where(mgi_prover *P, uint32_t kind, int n, const uint32_t *var, uint32_t body,
                                  uint32_t where) {
  uint32_t r = MGI_PV_ZERO;
  int temps = P->temps;
  if (P->bad || body == MGI_PV_NONE) return body;
  if (kind == MGI_PV_TOP) {
    if (n > MGI_PV_BOUND) return mgi_pv_fail(P, "a reduction over too many indices");
    r = mgi_pv_top_of(P, n, var, body, where);
    P->temps = temps;
    return r;
  }
  for (uint32_t k = 0; k < mgi_pv_count(P, body) && !P->bad; k++) {
    mgi_pv_term t = mgi_pv_at(P, body, k);
    r = mgi_pv_axpy(P, r, mgi_pv_sum_mono(P, t.mono, n, var), t.num, t.den);
    P->temps = temps;
  }
  return r;
}
MGI_FN uint32_t mgi_pv_bind(mgi_prover *P, uint32_t kind, int n, const uint32_t *var, uint32_t body) {
  return P->bad ? (uint32_t)MGI_PV_ZERO : mgi_pv_bind_where(P, kind, n, var, body, mgi_pv_number(P, 1, 1));
}

/* ------------------------------------------------------------------------------------------------ >>elements
   The element of a graph's output at a symbolic index, asked for from the output down: stores, loads and accumulators
   turn into digits of an index, accumulators over axes into reductions.  Blocks along an axis that a store replicates
   hold the same value (mg_check): block 0 stands for them.  What is cut unevenly twice, concatenations, and user rows
   that move elements are left to the other method; where divisors are looked for (>>defined) these two are atoms of
   their own. */

/* A graph that is being read, and where: an index for each of its axes. */
typedef struct mgi_pv_frame {
  const mg_graph *g;
  const struct mgi_pv_frame *up;
  uint32_t serial;
  mgi_pv_index axis[MG_MAX_AXES + 1];
} mgi_pv_frame;

MGI_FN uint32_t mgi_pv_element(mgi_prover *P, const mgi_pv_frame *f, uint32_t tensor, const mgi_pv_index *x);
/* What becomes of P->found and P->factors (>>defined): for all of the indices that `where` leaves. */
MGI_FN uint32_t mgi_pv_union(mgi_prover *P, uint32_t x, uint32_t y);
MGI_FN uint32_t mgi_pv_found_for_all(mgi_prover *P, uint32_t found, int n, const uint32_t *var, uint32_t where);
/* The same where only one of the elements is used, it is not known which. */
MGI_FN uint32_t mgi_pv_found_of_some(mgi_prover *P, int n, const uint32_t *var);
/* The duties in it that mention the variable, or those that do not. */
MGI_FN uint32_t mgi_pv_found_with(mgi_prover *P, uint32_t var, int mention);
/* The same where it is used only if `chosen`, a polynomial that is 1 or 0, is 1. */
MGI_FN uint32_t mgi_pv_found_if(mgi_prover *P, uint32_t found, uint32_t chosen);
MGI_FN void mgi_pv_record(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, const uint32_t *in,
                          const uint32_t *factors);

/* The index in a dimension of `extent` elements of local index x in the chunk that the axes in `map` cut. */
MGI_FN mgi_pv_index mgi_pv_located(mgi_prover *P, const mgi_pv_frame *f, const mg_map *map, int d, int64_t extent,
                                   const mgi_pv_index *x) {
  mgi_pv_index r, part;
  int64_t left = extent;
  memset(&r, 0, sizeof r);
  for (uint32_t a = 1; a < f->g->n_axes; a++)
    if (map->to[a] == d) {
      if (left % f->g->axes[a].extent && left != extent) mgi_pv_fail(P, "a chunk is cut unevenly again");
      left = mg_ceil_div(left, f->g->axes[a].extent);
      part = mgi_pv_padded(P, &f->axis[a], f->g->axes[a].extent);
      mgi_pv_join(P, &r, &part);
    }
  part = mgi_pv_padded(P, x, left);
  mgi_pv_join(P, &r, &part);
  return r;
}
/* The reverse: from the index x in the whole, those of the axes (into f) and the local one. */
MGI_FN mgi_pv_index mgi_pv_localised(mgi_prover *P, mgi_pv_frame *f, const mg_map *map, int d, int64_t whole,
                                     mgi_pv_index x) {
  mgi_pv_index lo, hi;
  int64_t left = whole;
  for (uint32_t a = 1; a < f->g->n_axes; a++)
    if (map->to[a] == d) {
      if (left % f->g->axes[a].extent && left != whole) mgi_pv_fail(P, "a chunk is cut unevenly again");
      left = mg_ceil_div(left, f->g->axes[a].extent);
      mgi_pv_cut(P, &x, left, &hi, &lo);
      f->axis[a] = hi, x = lo;
    }
  return x;
}
/* Which indices v of dimension d of a tensor there are, where it was cut unevenly: a product of LESS. */
MGI_FN uint32_t mgi_pv_present(mgi_prover *P, const mgi_pv_frame *f, const mg_tensor_info *t, int d, uint32_t v) {
  const struct mgi_cuts *c = t->cuts[d];
  mgi_pv_index x, part;
  mgi_pv_digit digit;
  int64_t left, first;
  if (!c || P->bad) return P->bad ? (uint32_t)MGI_PV_ZERO : mgi_pv_number(P, 1, 1);
  memset(&x, 0, sizeof x);
  left = c->before[0], first = 0;
  for (int k = 0; k < c->n; k++) {
    int64_t count = f->g->axes[c->axis[k]].extent;
    if (left % count && k) return mgi_pv_fail(P, "a chunk is cut unevenly again");
    left = mg_ceil_div(left, count);
    first += (count - 1) * left;
    part = mgi_pv_padded(P, &f->axis[c->axis[k]], count);
    mgi_pv_join(P, &x, &part);
  }
  if (first >= c->before[0]) return mgi_pv_fail(P, "a chunk may be empty");
  memset(&part, 0, sizeof part);
  digit.var = v, digit.div = 1, digit.mod = (uint32_t)P->extent[v];
  mgi_pv_push(P, &part, digit);
  part = mgi_pv_padded(P, &part, left);
  mgi_pv_join(P, &x, &part);
  return P->bad || c->before[0] > INT32_MAX ? mgi_pv_fail(P, "too large: a dimension")
                                            : mgi_pv_less(P, (uint32_t)c->before[0], &x);
}
MGI_FN int mgi_pv_same_shape(const mg_shape *s, int64_t d, int at) { return at >= 0 && s->dim[at] == d; }

/* 1 where index x along a concat is operand k's, else 0; the first has so many elements there. */
MGI_FN uint32_t mgi_pv_side(mgi_prover *P, int k, int64_t first, const mgi_pv_index *x) {
  const uint32_t before = mgi_pv_less(P, (uint32_t)first, x);
  return k ? mgi_pv_sub2(P, mgi_pv_number(P, 1, 1), before) : before;
}
/* ---- whole tensors as functions of an index, where divisors are looked for only: an element whose place in the
   operands is not known is the function at its index.  Two that are made by one operator of the same functions are
   one. */
/* The index of a tensor's own dimensions, which its body is of: [1, 20, 64] has that of [20, 1, 64]. */
MGI_FN void mgi_pv_own_index(mgi_prover *P, const mg_shape *s, mgi_pv_index *x) {
  uint32_t var = 0;
  memset(x, 0, MG_MAX_RANK * sizeof *x);
  for (int d = 0; d < s->rank; d++) {
    mgi_pv_digit digit;
    if (s->dim[d] > INT32_MAX) mgi_pv_fail(P, "too large: a dimension");
    if (s->dim[d] == 1) continue;
    digit.var = var, digit.div = 1, digit.mod = (uint32_t)s->dim[d], P->extent[var++] = s->dim[d];
    mgi_pv_push(P, &x[d], digit);
  }
}
/* The element of tensor t of kernel level there. */
MGI_FN uint32_t mgi_pv_tensor(mgi_prover *P, const mgi_pv_frame *f, uint32_t t) {
  mgi_pv_index x[MG_MAX_RANK];
  int64_t extent[MG_MAX_RANK];
  const uint32_t found = P->found;
  for (int d = 0; d < MG_MAX_RANK; d++) extent[d] = P->extent[d];
  mgi_pv_own_index(P, &f->g->tensors[t].shape, x);
  const uint32_t body = mgi_pv_element(P, f, t, x);
  for (int d = 0; d < MG_MAX_RANK; d++) P->extent[d] = extent[d];
  P->found = found;
  return body;
}
/* The function that operator o makes, in this shape, of operands of these bodies, at index x.  In a block an operand is
   cut, but not in the operator's dimension.  Of a concatenation and a slice, whose operands are of the same shape but
   for that one, dimensions of one element are nothing. */
MGI_FN uint32_t mgi_pv_made(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, const mg_shape *shape,
                            const uint32_t *body, const mgi_pv_index *x) {
  const mg_attr *A = &o->attr;
  const int along = o->code == MG_OP_CONCAT || o->code == MG_OP_SLICE;
  int64_t number[] = {A->dim, A->n, A->from, A->c.num, A->c.den, A->most.num, A->most.den};
  mgi_pv_index at[MG_MAX_RANK];
  mg_shape own;
  uint32_t w[4 + 2 * (sizeof number / sizeof *number + MG_MAX_RANK) + MG_MAX_RANK + MG_MAX_IN * (1 + MG_MAX_RANK)],
      n = 0;
  own.rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (along && d == A->dim) number[0] = own.rank;
    if (along && d != A->dim && shape->dim[d] == 1) continue;
    at[own.rank] = x[d], own.dim[own.rank++] = shape->dim[d];
  }
  w[n++] = MGI_PV_KEY, w[n++] = 0, w[n++] = (uint32_t)o->code, w[n++] = (uint32_t)own.rank;
  for (size_t k = 0; k < sizeof number / sizeof *number; k++)
    w[n++] = (uint32_t)number[k], w[n++] = (uint32_t)((uint64_t)number[k] >> 32);
  for (int d = 0; d < own.rank; d++)
    w[n++] = (uint32_t)own.dim[d], w[n++] = (uint32_t)((uint64_t)own.dim[d] >> 32);
  for (int d = 0; d < own.rank && mg_op_row(o->code)->attr == MG_ATTR_PERM; d++) w[n++] = (uint32_t)A->perm[d];
  for (int k = 0; k < o->n_in; k++) {
    const mg_shape *s = &f->g->tensors[o->in[k].id].shape;
    w[n++] = body[k];
    for (int d = 0; d < s->rank; d++)
      if (!along || d == A->dim) w[n++] = (uint32_t)s->dim[d];
  }
  return mgi_pv_atom(P, mgi_pv_input(P, MG_MAX_IN + mgi_pv_intern(P, w, n), own.rank, at), 1);
}
/* 1 if operator o of a block, whose result is not cut in o's dimension, is a part of a whole that is cut as the result
   of `load` is:  each of its elements is one of the whole's, those of a ragged edge too. */
MGI_FN int mgi_pv_is_part(const mgi_pv_frame *f, const mg_op_node *o, const mg_op_node *load) {
  const mg_tensor_info *is = &f->g->tensors[o->out[0].id], *like = &f->g->tensors[load->out[0].id];
  if (load->code != MG_OP_LOAD || like->shape.rank != is->shape.rank) return 0;
  for (uint32_t a = 1; a < f->g->n_axes; a++)
    if (load->map.to[a] == o->attr.dim) return 0;
  for (int d = 0; d < is->shape.rank; d++)
    if (d != o->attr.dim && (is->shape.dim[d] != like->shape.dim[d] || !mgi_same_cuts(is->cuts[d], like->cuts[d])))
      return 0;
  return 1;
}
/* The bodies of the operands of such an operator, if no axis but those that cut the whole is in them; else 0. */
MGI_FN int mgi_pv_bodies(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, const mg_op_node *load,
                         uint32_t *body) {
  int64_t extent[MG_MAX_RANK];
  const uint32_t found = P->found;
  const int temps = P->temps;
  int known = 1;
  for (int d = 0; d < MG_MAX_RANK; d++) extent[d] = P->extent[d];
  for (int k = 0; k < o->n_in && known; k++) {
    mg_shape whole = f->up->g->tensors[load->in[0].id].shape;
    mgi_pv_frame inner = *f;
    mgi_pv_index x[MG_MAX_RANK];
    uint64_t others = 0;
    whole.dim[o->attr.dim] = f->g->tensors[o->in[k].id].shape.dim[o->attr.dim];
    mgi_pv_own_index(P, &whole, x);
    for (uint32_t a = 1; a < f->g->n_axes; a++) {
      mgi_pv_digit digit;
      digit.var = mgi_pv_temp(P, f->g->axes[a].extent), digit.div = 1, digit.mod = (uint32_t)f->g->axes[a].extent;
      inner.axis[a].n = 0, others |= (uint64_t)1 << digit.var;
      mgi_pv_push(P, &inner.axis[a], digit);
    }
    for (int d = 0; d < whole.rank; d++) x[d] = mgi_pv_localised(P, &inner, &load->map, d, whole.dim[d], x[d]);
    body[k] = mgi_pv_element(P, &inner, o->in[k].id, x);
    known = !P->bad && !(P->node[body[k]].vars & others);
    P->temps = temps;
  }
  for (int d = 0; d < MG_MAX_RANK; d++) P->extent[d] = extent[d];
  P->found = found;
  return known;
}
/* An atom for element x of a tensor that cannot be read: of the function that it is, or of one of which nothing is
   known. */
MGI_FN uint32_t mgi_pv_unread(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, int which,
                              const mgi_pv_index *x) {
  uint32_t name[3], body[MG_MAX_IN];
  mgi_pv_index all[MG_MAX_RANK];
  mg_shape whole = f->g->tensors[o->out[which].id].shape;
  const int rank = whole.rank, along = o->code == MG_OP_CONCAT || o->code == MG_OP_SLICE;
  memset(all, 0, sizeof all);
  for (int d = 0; d < rank; d++) all[d] = x[d];
  for (int k = 0; k < o->n_in && !f->up; k++) body[k] = mgi_pv_tensor(P, f, o->in[k].id);
  if (!f->up) return mgi_pv_made(P, f, o, &whole, body, x);
  for (uint32_t k = 1; k < f->g->n_ops && along && !f->up->up; k++) {
    const mg_op_node *load = &f->g->ops[k];
    if (!mgi_pv_is_part(f, o, load) || !mgi_pv_bodies(P, f, o, load, body)) continue;
    const int64_t uncut = whole.dim[o->attr.dim];
    whole = f->up->g->tensors[load->in[0].id].shape, whole.dim[o->attr.dim] = uncut;
    for (int d = 0; d < rank; d++) all[d] = mgi_pv_located(P, f, &load->map, d, whole.dim[d], &x[d]);
    return mgi_pv_made(P, f, o, &whole, body, all);
  }
  for (const mgi_pv_frame *u = f; u->up; u = u->up) /* that the element depends on, one way or another */
    for (uint32_t a = 1; a < u->g->n_axes; a++)
      for (int k = 0; k < u->axis[a].n; k++) {
        mgi_pv_index *to = &all[rank < MG_MAX_RANK ? rank : 0];
        if (to->n == MGI_PV_DIGITS) return mgi_pv_fail(P, "an index of too many digits");
        to->d[to->n++] = u->axis[a].d[k];
      }
  name[0] = MGI_PV_KEY, name[1] = f->serial, name[2] = o->out[which].id;
  return mgi_pv_atom(P, mgi_pv_input(P, MG_MAX_IN + mgi_pv_intern(P, name, 3), rank + (rank < MG_MAX_RANK), all), 1);
}

/* Element x of an operator's result, by its kind.  y: room for an index, all zero. */
MGI_FN uint32_t mgi_pv_element_of_elementwise(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o,
                                              const mgi_pv_index *x, mgi_pv_index *y) {
  const mg_shape *z = &f->g->tensors[o->out[0].id].shape;
  uint32_t in[2] = {MGI_PV_ZERO, MGI_PV_ZERO}, factors[2] = {0, 0}, found = P->found;
  const int choice = P->record && (o->code == MG_OP_KEEP || o->code == MG_OP_DROP);
  for (int k = 0; k < o->n_in && k < 2; k++) {
    const mg_shape *s = &f->g->tensors[o->in[k].id].shape;
    if (choice && k) found = P->found, P->found = 0;
    for (int d = 0; d < s->rank; d++) {
      int at = d + z->rank - s->rank;
      y[d] = x[at];
      if (!mgi_pv_same_shape(s, z->dim[at], d)) y[d].n = 0;
    }
    in[k] = mgi_pv_element(P, f, o->in[k].id, y);
    factors[k] = P->factors;
  }
  if (choice) P->found = mgi_pv_union(P, found, mgi_pv_found_if(P, P->found, mgi_pv_chosen(P, o->code, in[0])));
  if (P->record) mgi_pv_record(P, f, o, in, factors);
  return mgi_pv_apply(P, o->code, o->attr.c, in);
}
/* A product, or the sum of the two that a concat_matmul is: each a sum over a variable of its own. */
MGI_FN uint32_t mgi_pv_element_of_matmul(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o,
                                         const mgi_pv_index *x, mgi_pv_index *y) {
  const mg_graph *g = f->g;
  const mg_shape *z = &g->tensors[o->out[0].id].shape;
  const int pairs = o->code == MG_OP_MATMUL ? 1 : 2;
  uint32_t sum = MGI_PV_ZERO;
  for (int k = 0; k < pairs && !P->bad; k++) {
    uint32_t in[2];
    const mg_shape *sa = &g->tensors[o->in[k].id].shape;
    int temps = P->temps;
    uint32_t v = mgi_pv_temp(P, sa->dim[sa->rank - 1]), found = P->found;
    P->found = 0;
    for (int side = 0; side < 2; side++) {
      const mg_shape *s = &g->tensors[o->in[k + side * pairs].id].shape;
      for (int d = 0; d < s->rank; d++) {
        int at = d + z->rank - s->rank;
        y[d] = x[at];
        if (d < s->rank - 2 && !mgi_pv_same_shape(s, z->dim[at], d)) y[d].n = 0;
      }
      mgi_pv_index *depth = &y[side ? s->rank - 2 : s->rank - 1];
      mgi_pv_digit digit;
      digit.var = v, digit.div = 1, digit.mod = (uint32_t)P->extent[v];
      depth->n = 0;
      mgi_pv_push(P, depth, digit);
      in[side] = mgi_pv_element(P, f, o->in[k + side * pairs].id, y);
    }
    uint32_t where = mgi_pv_present(P, f, &g->tensors[o->in[k].id], sa->rank - 1, v);
    sum = mgi_pv_add(P, sum, mgi_pv_bind(P, MGI_PV_SUM, 1, &v, mgi_pv_mul(P, where, mgi_pv_mul(P, in[0], in[1]))));
    P->found = mgi_pv_union(P, found, mgi_pv_found_for_all(P, P->found, 1, &v, where)), P->factors = 0;
    P->temps = temps;
  }
  return sum;
}
MGI_FN uint32_t mgi_pv_element_of_accum(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o,
                                        const mgi_pv_index *x, mgi_pv_index *y) {
  const mg_graph *g = f->g;
  const mg_shape *s = &g->tensors[o->in[0].id].shape;
  mgi_pv_frame inner = *f;
  uint32_t var[MG_MAX_AXES], n = 0, kind = 0;
  int temps = P->temps;
  for (int d = 0; d < s->rank; d++)
    y[d] = mgi_pv_localised(P, &inner, &o->map, d, g->tensors[o->out[0].id].shape.dim[d], x[d]);
  for (uint32_t a = 1; a < g->n_axes && !P->bad; a++)
    if (o->map.to[a] == MG_MAP_SUM || o->map.to[a] == MG_MAP_MAX) {
      uint32_t k = o->map.to[a] == MG_MAP_SUM ? MGI_PV_SUM : MGI_PV_TOP;
      mgi_pv_digit digit;
      if (kind && kind != k) return mgi_pv_fail(P, "an accumulator that sums and takes a maximum");
      digit.var = mgi_pv_temp(P, g->axes[a].extent), digit.div = 1, digit.mod = (uint32_t)g->axes[a].extent;
      inner.axis[a].n = 0, kind = k, var[n++] = digit.var;
      mgi_pv_push(P, &inner.axis[a], digit);
    }
  uint32_t found = P->found;
  P->found = 0;
  uint32_t r = mgi_pv_element(P, &inner, o->in[0].id, y);
  for (uint32_t k = n; k-- > 0;) r = mgi_pv_bind(P, kind, 1, &var[k], r);
  if (P->found) P->found = mgi_pv_found_for_all(P, P->found, (int)n, var, mgi_pv_number(P, 1, 1));
  P->found = mgi_pv_union(P, found, P->found);
  if (n) P->factors = 0;
  P->temps = temps;
  return r;
}
/* Of a kernel's result `which`: of what its store has there. */
MGI_FN uint32_t mgi_pv_element_of_graph(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, int which,
                                        const mgi_pv_index *x, mgi_pv_index *y) {
  mgi_pv_frame inner;
  memset(&inner, 0, sizeof inner);
  uint32_t name[3];
  int result = which;
  name[0] = MGI_PV_KEY, name[1] = f->serial, name[2] = (uint32_t)(o - f->g->ops);
  inner.g = o->sub, inner.up = f, inner.serial = mgi_pv_intern(P, name, 3);
  for (uint32_t k = 1; k < o->sub->n_ops; k++) {
    const mg_op_node *store = &o->sub->ops[k];
    if (store->code != MG_OP_STORE || which--) continue;
    const mg_shape *s = &o->sub->tensors[store->in[0].id].shape;
    for (int d = 0; d < s->rank; d++)
      y[d] = mgi_pv_localised(P, &inner, &store->map, d, f->g->tensors[o->out[result].id].shape.dim[d], x[d]);
    return mgi_pv_element(P, &inner, store->in[0].id, y);
  }
  return mgi_pv_fail(P, "a result that nothing stores");
}
/* Element x of result `which` of an operator. */
MGI_FN uint32_t mgi_pv_element_of_op(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, int which,
                                     const mgi_pv_index *x) {
  const mg_op_info *row = mg_op_row(o->code);
  const mg_graph *g = f->g;
  const mg_shape *z = &g->tensors[o->out[which].id].shape;
  mgi_pv_index y[MG_MAX_RANK], flat;
  memset(y, 0, sizeof y);
  if (row->elementwise) return mgi_pv_element_of_elementwise(P, f, o, x, y);
  if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL) return mgi_pv_element_of_matmul(P, f, o, x, y);
  for (int d = 0; d < z->rank; d++) y[d] = x[d];
  switch (o->code) {
    case MG_OP_SUM: case MG_OP_MAX: {
      int temps = P->temps;
      mgi_pv_digit digit;
      digit.var = mgi_pv_temp(P, g->tensors[o->in[0].id].shape.dim[o->attr.dim]), digit.div = 1,
      digit.mod = (uint32_t)P->extent[digit.var];
      y[o->attr.dim].n = 0;
      mgi_pv_push(P, &y[o->attr.dim], digit);
      uint32_t found = P->found;
      P->found = 0;
      uint32_t body = mgi_pv_element(P, f, o->in[0].id, y),
               where = mgi_pv_present(P, f, &g->tensors[o->in[0].id], o->attr.dim, digit.var), r;
      if (o->code == MG_OP_SUM) r = mgi_pv_bind(P, MGI_PV_SUM, 1, &digit.var, mgi_pv_mul(P, where, body));
      else r = mgi_pv_bind_where(P, MGI_PV_TOP, 1, &digit.var, body, where);
      P->found = mgi_pv_union(P, found, mgi_pv_found_for_all(P, P->found, 1, &digit.var, where)), P->factors = 0;
      P->temps = temps;
      return r;
    }
    case MG_OP_REPEAT:
      mgi_pv_cut(P, &x[o->attr.dim], g->tensors[o->in[0].id].shape.dim[o->attr.dim], &flat, &y[o->attr.dim]);
      break;
    case MG_OP_TRANSPOSE:
      for (int d = 0; d < z->rank; d++) y[o->attr.perm[d]] = x[d];
      break;
    case MG_OP_RESHAPE: {
      const mg_shape *s = &g->tensors[o->in[0].id].shape;
      memset(&flat, 0, sizeof flat);
      for (int d = 0; d < z->rank; d++) {
        mgi_pv_index part = mgi_pv_padded(P, &x[d], z->dim[d]);
        mgi_pv_join(P, &flat, &part);
      }
      for (int d = s->rank - 1; d >= 0; d--) {
        mgi_pv_index rest = flat;
        mgi_pv_cut(P, &rest, s->dim[d], &flat, &y[d]);
      }
      break;
    }
    case MG_OP_LOAD: {
      const mg_shape *s = &f->up->g->tensors[o->in[0].id].shape;
      for (int d = 0; d < s->rank; d++) y[d] = mgi_pv_located(P, f, &o->map, d, s->dim[d], &x[d]);
      return mgi_pv_element(P, f->up, o->in[0].id, y);
    }
    case MG_OP_ACCUM: return mgi_pv_element_of_accum(P, f, o, x, y);
    case MG_OP_GRAPH: return mgi_pv_element_of_graph(P, f, o, which, x, y);
    default: {
      static const char say[] = "operator '%.40s' at a symbolic index";
      char why[80];
      snprintf(why, sizeof why, say, row->name);
      const int moved = row->user && row->moves; /* to where is not known: it is any element */
      if ((o->code != MG_OP_CONCAT && o->code != MG_OP_SLICE && !moved) || !P->record) return mgi_pv_fail(P, why);
      for (int k = 0; k < o->n_in; k++) { /* it is an element of one of them: any of each, and none for a fact */
        const mg_shape *s = &g->tensors[o->in[k].id].shape;
        uint32_t found = P->found, var[MG_MAX_RANK];
        int temps = P->temps, n = 0;
        for (int d = 0; d < s->rank; d++) {
          mgi_pv_digit digit;
          if (!moved && d != o->attr.dim) continue;
          digit.var = var[n++] = mgi_pv_temp(P, s->dim[d]);
          digit.div = 1, digit.mod = (uint32_t)P->extent[digit.var];
          y[d].n = 0;
          mgi_pv_push(P, &y[d], digit);
        }
        P->found = 0;
        mgi_pv_element(P, f, o->in[k].id, y);
        /* one element of it is used, of a concat's operand where the index is its: what all of them depend on counts */
        if (!moved) {
          uint32_t sure = mgi_pv_found_with(P, var[0], 0);
          if (o->code == MG_OP_CONCAT)
            sure = mgi_pv_found_if(P, sure,
                                   mgi_pv_side(P, k, g->tensors[o->in[0].id].shape.dim[o->attr.dim], &x[o->attr.dim]));
          found = mgi_pv_union(P, found, sure), P->found = mgi_pv_found_with(P, var[0], 1);
        }
        P->found = mgi_pv_union(P, found, mgi_pv_found_of_some(P, n, var));
        P->temps = temps;
      }
      const uint32_t atom = mgi_pv_unread(P, f, o, which, x);
      P->factors = 0; /* the operands' that were read are of other elements */
      return atom;
    }
  }
  return mgi_pv_element(P, f, o->in[0].id, y);
}

/* Element x of a tensor; each asked for once (the key: graph, tensor, index, axes). */
MGI_FN uint32_t mgi_pv_element(mgi_prover *P, const mgi_pv_frame *f, uint32_t tensor, const mgi_pv_index *x) {
  const mg_tensor_info *t = &f->g->tensors[tensor];
  uint32_t *w = P->key, n = 0;
  if (mgi_pv_over(P)) return MGI_PV_ZERO;
  for (int d = 0; d < t->shape.rank; d++) {
    if (t->shape.dim[d] > INT32_MAX) return mgi_pv_fail(P, "too large: a dimension");
  }
  if (!f->up && !t->op) {
    P->factors = 0;
    for (uint32_t k = 0; k < f->g->n_in; k++)
      if (f->g->in[k].id == tensor) return mgi_pv_atom(P, mgi_pv_input(P, k, t->shape.rank, x), 1);
    return mgi_pv_fail(P, "a tensor that nothing makes");
  }
  w[n++] = MGI_PV_KEY, w[n++] = f->serial, w[n++] = tensor;
  for (const mgi_pv_frame *u = f; u; u = u->up)
    for (uint32_t a = 0; a < (u == f ? (uint32_t)t->shape.rank : 0) + (u->up ? u->g->n_axes : 0); a++) {
      const mgi_pv_index *i = u == f && a < (uint32_t)t->shape.rank
                                  ? &x[a]
                                  : &u->axis[a - (u == f ? (uint32_t)t->shape.rank : 0)];
      if (n + 1 + 4 * (uint32_t)i->n > MGI_PV_KEY_WORDS) return mgi_pv_fail(P, "levels nest too deep");
      w[n++] = (uint32_t)i->n;
      for (int k = 0; k < i->n; k++) { /* a variable's range too: names are used again, and uneven cuts rest on it */
        w[n++] = i->d[k].var, w[n++] = i->d[k].div, w[n++] = i->d[k].mod;
        w[n++] = i->d[k].var < MGI_PV_VARS ? (uint32_t)P->extent[i->d[k].var] : 0;
      }
    }
  uint32_t key = mgi_pv_intern(P, w, n);
  if (P->bad) return MGI_PV_ZERO;
  if (P->node[key].value) {
    P->found = mgi_pv_union(P, P->found, P->node[key].found), P->factors = P->node[key].factors;
    return P->node[key].value;
  }
  const mg_op_node *o = &f->g->ops[t->op];
  int which = 0;
  while (which < o->n_out && o->out[which].id != tensor) which++;
  if (++P->depth > MGI_PV_NEST) return mgi_pv_fail(P, "operators nest too deep");
  uint32_t found = P->found;
  P->found = 0;
  uint32_t r = mgi_pv_element_of_op(P, f, o, which, x);
  P->depth--;
  if (!P->bad) P->node[key].value = r, P->node[key].found = P->found, P->node[key].factors = P->factors;
  P->found = mgi_pv_union(P, found, P->found);
  return r;
}

/* -------------------------------------------------------------------------------------------------- >>facts
   The text of an axiom, parsed; its value over doubles; and its instances for the applications in a question. */

static const mg_proof_axiom mgi_pv_axioms[] = {
#define MGI_X(name, use, text) { #name, text, MG_PROOF_##use },
  MG_BUILTIN_PROOF_AXIOMS(MGI_X) MG_USER_PROOF_AXIOMS(MGI_X)
#undef MGI_X
  { NULL, NULL, 0 }
};
int mg_proof_axiom_count(void) { return (int)MGI_PV_ROWS; }
const mg_proof_axiom *mg_proof_axiom_at(int k) { return k >= 0 && k < (int)MGI_PV_ROWS ? &mgi_pv_axioms[k] : NULL; }

enum { MGI_FACT_VAR = -1, MGI_FACT_NUMBER = -2, MGI_FACT_MAX = -3 };
enum { MGI_FACT_EQ, MGI_FACT_LT, MGI_FACT_LE, MGI_FACT_GT, MGI_FACT_GE };
typedef struct mgi_fact_node { int op, kid[2], n; int64_t num, den; } mgi_fact_node; /* VAR: num is the letter */
typedef struct mgi_fact_literal { int l, r, rel; } mgi_fact_literal;
/* conditions first */
typedef struct mgi_fact { mgi_fact_node n[64]; int count; mgi_fact_literal c[8]; int conditions, literals; } mgi_fact;

MGI_FN void mgi_fact_space(const char **s) { while (**s == ' ') ++*s; }
/* The node of a term at *s; -1 if there is none. */
MGI_FN int mgi_fact_term(mgi_fact *f, const char **s, mg_error *e) {
  mgi_fact_space(s);
  const char *b = *s;
  size_t n = 0;
  mgi_fact_node x;
  memset(&x, 0, sizeof x);
  if (f->count == 64) { mg_fail(e, MG_BAD_INPUT, "axioms", "a text of more than 64 terms at '%.32s'", b); return -1; }
  int self = f->count++;
  if (*b == '-' || (*b >= '0' && *b <= '9')) {
    char *end;
    x.op = MGI_FACT_NUMBER, x.num = strtol(b, &end, 10), x.den = 1;
    if (*end == '/') x.den = strtol(end + 1, &end, 10);
    mg_rational r = mg_rat(x.num, x.den);
    if (end == b || !r.den) { mg_fail(e, MG_BAD_INPUT, "axioms", "expected a number at '%.32s'", b); return -1; }
    x.num = r.num, x.den = r.den, *s = end;
    f->n[self] = x;
    return self;
  }
  while ((b[n] >= 'a' && b[n] <= 'z') || b[n] == '_' || (n && b[n] >= '0' && b[n] <= '9')) n++;
  *s = b + n;
  if (n == 1 && **s != '(') {
    x.op = MGI_FACT_VAR, x.num = *b - 'a';
    f->n[self] = x;
    return self;
  }
  mg_opcode op = mg_op_find(b, n);
  if (n == 3 && !memcmp(b, "max", 3)) x.op = MGI_FACT_MAX, x.n = 2;
  else if (n && op != MG_OP_NONE && mg_op_row(op)->elementwise && mg_op_row(op)->attr == MG_ATTR_NONE)
    x.op = (int)op, x.n = mg_op_row(op)->n_in;
  else { mg_fail(e, MG_BAD_INPUT, "axioms", "expected a term at '%.32s'", b); return -1; }
  for (int k = 0; k < x.n; k++) {
    mgi_fact_space(s);
    if (**s != (k ? ',' : '(')) {
      mg_fail(e, MG_BAD_INPUT, "axioms", "expected '%c' at '%.32s'", k ? ',' : '(', *s);
      return -1;
    }
    ++*s;
    if ((x.kid[k] = mgi_fact_term(f, s, e)) < 0) return -1;
  }
  mgi_fact_space(s);
  if (**s != ')') { mg_fail(e, MG_BAD_INPUT, "axioms", "expected ')' at '%.32s'", *s); return -1; }
  ++*s;
  f->n[self] = x;
  return self;
}
MGI_FN mg_status mgi_fact_parse(const char *text, mgi_fact *f, mg_error *e) {
  const char *s = text;
  memset(f, 0, sizeof *f);
  for (int arrow = strstr(text, "=>") != NULL;;) {
    mgi_fact_literal l;
    int *n = arrow ? &f->conditions : &f->literals;
    if (f->conditions + f->literals == 8) return mg_fail(e, MG_BAD_INPUT, "axioms", "more than 8 relations");
    if ((l.l = mgi_fact_term(f, &s, e)) < 0) return e ? e->status : MG_BAD_INPUT;
    mgi_fact_space(&s);
    l.rel = *s == '=' ? MGI_FACT_EQ : *s == '<' ? MGI_FACT_LT : *s == '>' ? MGI_FACT_GT : -1;
    if (l.rel < 0) return mg_fail(e, MG_BAD_INPUT, "axioms", "expected a relation at '%.32s'", s);
    s++;
    if (*s == '=' && l.rel != MGI_FACT_EQ) l.rel++, s++;
    if ((l.r = mgi_fact_term(f, &s, e)) < 0) return e ? e->status : MG_BAD_INPUT;
    f->c[f->conditions + f->literals] = l, ++*n;
    mgi_fact_space(&s);
    if (!*s && !arrow) return MG_OK;
    if (arrow && s[0] == '=' && s[1] == '>') arrow = 0, s += 2;
    else if (*s == (arrow ? '&' : '|')) s++;
    else return mg_fail(e, MG_BAD_INPUT, "axioms", "'%.32s' is left over", s);
  }
}

MGI_FN double mgi_fact_real(const mgi_fact *f, int k, const double *value) {
  const mgi_fact_node *x = &f->n[k];
  if (x->op == MGI_FACT_VAR) return value[x->num];
  if (x->op == MGI_FACT_NUMBER) return (double)x->num / (double)x->den;
  double a = mgi_fact_real(f, x->kid[0], value), b = x->n > 1 ? mgi_fact_real(f, x->kid[1], value) : 0;
  return x->op == MGI_FACT_MAX ? (a > b || isnan(a) ? a : b) : mg_op_real((mg_opcode)x->op, a, b, 0);
}
/* Equal up to rounding: 1e-9 of the larger, or of 1. */
MGI_FN int mgi_fact_compare(double a, double b, int rel) {
  double slack = 1e-9 * (1 + fabs(a) + fabs(b));
  return rel == MGI_FACT_EQ   ? fabs(a - b) <= slack
         : rel == MGI_FACT_LT ? a < b
         : rel == MGI_FACT_LE ? a <= b + slack
         : rel == MGI_FACT_GT ? a > b
                              : a >= b - slack;
}
int mg_proof_axiom_holds(const char *text, const double value[26], mg_error *e) {
  mgi_fact f;
  if (mgi_fact_parse(text, &f, e) != MG_OK) return -2;
  int holds = 0, finite = 1;
  for (int k = 0; k < f.conditions + f.literals; k++) {
    double a = mgi_fact_real(&f, f.c[k].l, value), b = mgi_fact_real(&f, f.c[k].r, value);
    if (k < f.conditions) {
      int rel = f.c[k].rel; /* conditions are taken as they are, without slack */
      if (!(rel == MGI_FACT_EQ   ? a == b
            : rel == MGI_FACT_LT ? a < b
            : rel == MGI_FACT_LE ? a <= b
            : rel == MGI_FACT_GT ? a > b
                                 : a >= b))
        return -1;
    } else finite &= isfinite(a) && isfinite(b), holds |= mgi_fact_compare(a, b, f.c[k].rel);
  }
  return finite && holds;
}

MGI_FN uint32_t mgi_fact_poly(mgi_prover *P, const mgi_fact *f, int k, const uint32_t *value) {
  const mgi_fact_node *x = &f->n[k];
  uint32_t in[2] = {MGI_PV_ZERO, MGI_PV_ZERO};
  if (x->op == MGI_FACT_VAR) return value[x->num];
  if (x->op == MGI_FACT_NUMBER) return mgi_pv_number(P, x->num, x->den);
  for (int j = 0; j < x->n; j++) in[j] = mgi_fact_poly(P, f, x->kid[j], value);
  return x->op == MGI_FACT_MAX ? mgi_pv_max(P, in, 2) : mgi_pv_apply(P, (mg_opcode)x->op, mgi_pv_no_constant(), in);
}

/* Applications whose operands are distinct variables, enough of them to bind all variables; -1: they cannot be. */
MGI_FN int mgi_fact_triggers(const mgi_fact *f, int *trigger);
/* The row that says that op, of one operand and no constant, increases on all reals: x < y => f(x) < f(y), or <=; else
   -1. */
MGI_FN int mgi_fact_rises(int op) {
  const mg_op_info *info = mg_op_row((mg_opcode)op);
  if (!info || info->n_in != 1 || info->attr != MG_ATTR_NONE) return -1;
  for (int row = 0; row < (int)MGI_PV_ROWS; row++) {
    mgi_fact f;
    if (mgi_fact_parse(mgi_pv_axioms[row].text, &f, NULL) != MG_OK || f.conditions != 1 || f.literals != 1) continue;
    if ((f.c[0].rel != MGI_FACT_LT && f.c[0].rel != MGI_FACT_LE) ||
        (f.c[1].rel != MGI_FACT_LT && f.c[1].rel != MGI_FACT_LE))
      continue;
    const mgi_fact_node *x = &f.n[f.c[0].l], *y = &f.n[f.c[0].r], *u = &f.n[f.c[1].l], *v = &f.n[f.c[1].r];
    if (x->op != MGI_FACT_VAR || y->op != MGI_FACT_VAR || x->num == y->num || u->op != op || v->op != op || u->n != 1 ||
        v->n != 1)
      continue;
    const mgi_fact_node *a = &f.n[u->kid[0]], *b = &f.n[v->kid[0]];
    if (a->op == MGI_FACT_VAR && b->op == MGI_FACT_VAR && a->num == x->num && b->num == y->num) return row;
  }
  return -1;
}
MGI_FN int mgi_fact_triggers(const mgi_fact *f, int *trigger) {
  uint32_t bound = 0, all = 0;
  int n = 0;
  for (int k = 0; k < f->count; k++) {
    const mgi_fact_node *x = &f->n[k];
    uint32_t here = 0;
    int good = x->n > 0 && x->op != MGI_FACT_MAX && mg_op_row((mg_opcode)x->op)->abstract == MG_ABS_OPAQUE;
    if (x->op == MG_OP_EXP) good = 1;
    if (x->op == MGI_FACT_VAR) all |= (uint32_t)1 << x->num;
    for (int j = 0; j < x->n && good; j++) {
      const mgi_fact_node *y = &f->n[x->kid[j]];
      if (y->op != MGI_FACT_VAR || (here >> y->num & 1)) good = 0;
      else here |= (uint32_t)1 << y->num;
    }
    if (good && (here & ~bound) && !(here & bound) && n < 3) bound |= here, trigger[n++] = k;
  }
  return bound == all ? n : -1;
}

/* -------------------------------------------------------------------------------------------------- >>library
   libz3 through its C interface, loaded at run time.  Its handles are pointers to it; no header of it is needed.
   A watchdog interrupts a question that outlives its time or passes the memory limit, again and again until it ends. */

typedef struct mgi_z3 {
  void *lib;
  void *(*mk_config)(void);
  void (*del_config)(void *);
  void *(*mk_context)(void *);
  void (*del_context)(void *);
  void (*interrupt)(void *);
  void (*set_error_handler)(void *, void (*)(void *, int));
  int (*get_error_code)(void *);
  void (*get_version)(unsigned *, unsigned *, unsigned *, unsigned *);
  uint64_t (*get_estimated_alloc_size)(void);
  void *(*mk_string_symbol)(void *, const char *);
  void *(*mk_real_sort)(void *);
  void *(*mk_const)(void *, void *, void *);
  void *(*mk_numeral)(void *, const char *, void *);
  void *(*mk_add)(void *, unsigned, void *const *);
  void *(*mk_mul)(void *, unsigned, void *const *);
  void *(*mk_eq)(void *, void *, void *);
  void *(*mk_lt)(void *, void *, void *);
  void *(*mk_le)(void *, void *, void *);
  void *(*mk_not)(void *, void *);
  void *(*mk_or)(void *, unsigned, void *const *);
  void *(*mk_solver_for_logic)(void *, void *);
  void (*solver_inc_ref)(void *, void *);
  void (*solver_dec_ref)(void *, void *);
  void (*solver_assert)(void *, void *, void *);
  int (*solver_check)(void *, void *);
} mgi_z3;

MGI_FN void mgi_z3_quiet(void *context, int code) { (void)context, (void)code; }

MGI_FN mg_status mgi_z3_load(mgi_z3 *Z, const char *library, mg_error *e) {
  const char *const names[2] = {library ? library : "libz3.so.4", library ? library : "libz3.so"};
  memset(Z, 0, sizeof *Z);
  for (int k = 0; k < 2 && !Z->lib; k++) Z->lib = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
  if (!Z->lib)
    return mg_fail(e, MG_UNSUPPORTED, "mg_prove",
                   "the solver needs %.60s, which cannot be loaded: install the package libz3-dev", names[0]);
#define MGI_X(f) *(void **)(void *)&Z->f = dlsym(Z->lib, "Z3_" #f); if (!Z->f) { dlclose(Z->lib); return mg_fail(e, MG_UNSUPPORTED, "mg_prove", "%.60s has no Z3_" #f ": install a later libz3-dev", names[0]); }
  MGI_X(mk_config)
  MGI_X(del_config) MGI_X(mk_context) MGI_X(del_context) MGI_X(interrupt) MGI_X(set_error_handler) MGI_X(get_error_code)
      MGI_X(get_version) MGI_X(get_estimated_alloc_size) MGI_X(mk_string_symbol) MGI_X(mk_real_sort) MGI_X(mk_const)
          MGI_X(mk_numeral) MGI_X(mk_add) MGI_X(mk_mul) MGI_X(mk_eq) MGI_X(mk_lt) MGI_X(mk_le) MGI_X(mk_not)
              MGI_X(mk_or) MGI_X(mk_solver_for_logic) MGI_X(solver_inc_ref) MGI_X(solver_dec_ref) MGI_X(solver_assert)
                  MGI_X(solver_check)
#undef MGI_X
                      return MG_OK;
}

typedef struct mgi_z3_watch {
  const mgi_z3 *Z;
  void *context;
  double deadline;
  uint64_t memory;
  const volatile int *stop;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  int done;
} mgi_z3_watch;
MGI_FN void *mgi_z3_watchdog(void *arg) {
  mgi_z3_watch *W = (mgi_z3_watch *)arg;
  pthread_mutex_lock(&W->lock);
  while (!W->done) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    t.tv_nsec += 20000000;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    pthread_cond_timedwait(&W->ended, &W->lock, &t);
    if (!W->done &&
        (mgi_seconds() > W->deadline || W->Z->get_estimated_alloc_size() > W->memory || mgi_verify_flag(W->stop)))
      W->Z->interrupt(W->context);
  }
  pthread_mutex_unlock(&W->lock);
  return NULL;
}

/* -------------------------------------------------------------------------------------------------- >>proofs
   To show that a difference of two normal forms vanishes:
     1. multiply by its divisors, put x for sqrt(x)^2; if nothing is left, done
     2. two sums, or two maxima, over the same extents are one if their bodies are (by the same means): replace one
     3. a sum of sums over the same extents, each times what does not depend on them, is the sum of one body: if that
        vanishes, done
     4. ask the solver whether it can be other than 0: atoms are variables; facts are the instances of the rows, that
        equal operands give equal results, and that the programs' divisors, roots and logarithms are defined
   Requirement 1: an atom at a symbolic index stands for any element: sums and inputs are related by nothing but 1 to 3.
   Requirement 2: definedness is taken for atoms of the programs only; what an instance adds is conditional on it. */

enum { MGI_PV_DEPTH = 3, MGI_PV_INSTANCES = 2000 };
typedef struct mgi_pv_list { uint32_t *p; uint32_t n, cap; } mgi_pv_list;

/* The derivation, where it is asked for. */
typedef struct mgi_pv_story { char *text; size_t n, cap; int bad; } mgi_pv_story;
typedef struct mgi_proof {
  mgi_prover *P;
  const mgi_z3 *Z;            /* NULL: what the normal forms leave open stays open */
  mgi_pv_story *story;        /* may be NULL */
  uint64_t memory;
  int queries, unknown;       /* asked; without an answer */
} mgi_proof;

MGI_FN void mgi_pv_note(mgi_prover *P, mgi_pv_list *l, uint32_t x) {
  for (uint32_t k = 0; k < l->n; k++)
    if (l->p[k] == x) return;
  if (l->n == 4096) { mgi_pv_fail(P, "too large: a question of more than 4096 atoms"); return; }
  if (l->n == l->cap) {
    uint32_t cap = 2 * l->cap + 64, *p = (uint32_t *)realloc(l->p, cap * sizeof *p);
    if (!p) { mgi_pv_fail(P, "no memory for a question"); return; }
    l->p = p, l->cap = cap;
  }
  l->p[l->n++] = x;
}
/* The atoms of p, and those in their operands; not those under a sum or maximum over an index. */
MGI_FN void mgi_pv_atoms(mgi_prover *P, uint32_t p, mgi_pv_list *l) {
  for (uint32_t k = 0; k < mgi_pv_count(P, p) && !mgi_pv_over(P); k++) {
    uint32_t m = mgi_pv_at(P, p, k).mono;
    for (uint32_t j = 0; j < mgi_pv_powers(P, m) && !P->bad; j++) {
      uint32_t a = mgi_pv_word(P, m, 1 + 2 * j), kind = mgi_pv_kind(P, a), was = l->n;
      mgi_pv_note(P, l, a);
      if (l->n == was) continue;
      for (uint32_t i = kind == MGI_PV_FN ? 6 : 1;
           (kind == MGI_PV_FN || kind == MGI_PV_MAX || kind == MGI_PV_INV) && i < P->node[a].n; i++)
        mgi_pv_atoms(P, mgi_pv_word(P, a, i), l);
    }
  }
}
MGI_FN int mgi_pv_degree(const mgi_prover *P, uint32_t mono, uint32_t atom) {
  for (uint32_t l = 0; l < mgi_pv_powers(P, mono); l++)
    if (mgi_pv_word(P, mono, 1 + 2 * l) == atom) return (int32_t)mgi_pv_word(P, mono, 2 + 2 * l);
  return 0;
}

/* p times nonzero divisors, so that none is left, and with x for sqrt(x)^2: the atom made last first. */
MGI_FN uint32_t mgi_pv_clear(mgi_prover *P, uint32_t p) {
  for (int round = 0; round < 256 && !mgi_pv_over(P); round++) {
    uint32_t atom = 0;
    int least = 0, most = 0;
    for (uint32_t k = 0; k < mgi_pv_count(P, p); k++) {
      uint32_t m = mgi_pv_at(P, p, k).mono;
      for (uint32_t j = 0; j < mgi_pv_powers(P, m); j++) {
        uint32_t a = mgi_pv_word(P, m, 1 + 2 * j);
        int e = (int32_t)mgi_pv_word(P, m, 2 + 2 * j);
        if (a > atom && (e < 0 || mgi_pv_kind(P, a) == MGI_PV_INV || (e > 1 && mgi_pv_is_fn(P, a, MG_OP_SQRT))))
          atom = a;
      }
    }
    if (!atom) return p;
    for (uint32_t k = 0; k < mgi_pv_count(P, p); k++) {
      int e = mgi_pv_degree(P, mgi_pv_at(P, p, k).mono, atom);
      if (e < least) least = e;
      if (e > most) most = e;
    }
    int inverse = mgi_pv_kind(P, atom) == MGI_PV_INV, root = mgi_pv_is_fn(P, atom, MG_OP_SQRT);
    uint32_t r = MGI_PV_ZERO;
    if (root) mgi_pv_use(P, MGI_PV_ROW_sqrt_square);
    for (uint32_t k = 0; k < mgi_pv_count(P, p) && !P->bad; k++) {
      mgi_pv_term t = mgi_pv_at(P, p, k);
      int e = mgi_pv_degree(P, t.mono, atom), up = e - least;
      uint32_t rest = mgi_pv_mul(P, mgi_pv_single(P, t.mono, t.num, t.den), mgi_pv_atom(P, atom, -e));
      if (inverse) rest = mgi_pv_mul(P, rest, mgi_pv_power(P, mgi_pv_word(P, atom, 1), most - e));
      else if (root)
        rest = mgi_pv_mul(P, mgi_pv_mul(P, rest, mgi_pv_power(P, mgi_pv_word(P, atom, 6), up / 2)),
                          mgi_pv_atom(P, atom, up % 2));
      else rest = mgi_pv_mul(P, rest, mgi_pv_atom(P, atom, up));
      r = mgi_pv_add(P, r, rest);
    }
    p = r;
  }
  return p;
}

/* The value of p where the atoms that mean nothing to the solver have random values; NAN where it is not defined. */
MGI_FN double mgi_pv_value(mgi_prover *P, uint32_t p, uint64_t seed, double *size, int depth) {
  double sum = 0;
  if (depth > 200 || mgi_pv_over(P)) return NAN;
  *size = 0;
  for (uint32_t k = 0; k < mgi_pv_count(P, p); k++) {
    mgi_pv_term t = mgi_pv_at(P, p, k);
    double x = (double)t.num / (double)t.den, unused;
    for (uint32_t j = 0; j < mgi_pv_powers(P, t.mono); j++) {
      uint32_t a = mgi_pv_word(P, t.mono, 1 + 2 * j), kind = mgi_pv_kind(P, a);
      double v = -INFINITY;
      if (kind == MGI_PV_FN) {
        double u = mgi_pv_value(P, mgi_pv_word(P, a, 6), seed, &unused, depth + 1),
               w = P->node[a].n > 7 ? mgi_pv_value(P, mgi_pv_word(P, a, 7), seed, &unused, depth + 1) : 0;
        v = mg_op_real((mg_opcode)mgi_pv_word(P, a, 1), u, w,
                       (double)mgi_pv_long(P, a, 2) / (double)mgi_pv_long(P, a, 4));
      } else if (kind == MGI_PV_INV) v = 1 / mgi_pv_value(P, mgi_pv_word(P, a, 1), seed, &unused, depth + 1);
      else if (kind == MGI_PV_MAX) {
        for (uint32_t i = 1; i < P->node[a].n; i++) {
          double u = mgi_pv_value(P, mgi_pv_word(P, a, i), seed, &unused, depth + 1);
          v = u > v || isnan(u) ? u : v;
        }
      } else v = ((seed & 1) != 0 ? 0.25 : -1) + 2 * ldexp((double)(mgi_ff_hash(seed, a, 12) >> 11), -53);
      x *= pow(v, (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * j));
    }
    sum += x, *size += fabs(x);
  }
  return sum;
}
/* 1 if p is seen to be other than 0 for some values of its atoms: then there is nothing to ask. */
MGI_FN int mgi_pv_refuted(mgi_prover *P, uint32_t p) {
  for (uint64_t seed = 1; seed <= 8; seed++) {
    double size, v = mgi_pv_value(P, p, seed, &size, 0);
    if (isfinite(v) && isfinite(size) && fabs(v) > 1e-7 * size) return 1;
  }
  return 0;
}

/* ---- the question */

typedef struct mgi_ask {
  mgi_proof *X;
  void *context, *solver, *real, **expr, **inverse; /* expr: by node; inverse: of an atom */
  uint32_t cap;
  mgi_pv_list atoms;     /* in play; the first `own` are the programs' */
  uint32_t own;
  int failed;
} mgi_ask;

MGI_FN int mgi_ask_room(mgi_ask *A) {
  uint32_t n = A->X->P->n + 1;
  if (n > A->cap) {
    uint32_t cap = 2 * n;
    void **p = (void **)realloc(A->expr, cap * sizeof *p), **q = NULL;
    if (p) A->expr = p, q = (void **)realloc(A->inverse, cap * sizeof *q);
    if (!q) { A->failed = 1; return 0; }
    A->inverse = q;
    memset(A->expr + A->cap, 0, (cap - A->cap) * sizeof *p), memset(A->inverse + A->cap, 0, (cap - A->cap) * sizeof *q);
    A->cap = cap;
  }
  return !A->failed;
}
MGI_FN void *mgi_ask_number(mgi_ask *A, int64_t num, int64_t den) {
  char text[64];
  snprintf(text, sizeof text, "%lld/%lld", (long long)num, (long long)den);
  return A->X->Z->mk_numeral(A->context, text, A->real);
}
MGI_FN void *mgi_ask_variable(mgi_ask *A, const char *what, uint32_t id) {
  char name[32];
  snprintf(name, sizeof name, "%s%u", what, id);
  return A->X->Z->mk_const(A->context, A->X->Z->mk_string_symbol(A->context, name), A->real);
}
MGI_FN void *mgi_ask_poly(mgi_ask *A, uint32_t p);
MGI_FN void mgi_ask_or(mgi_ask *A, void *x, void *y, void *z) {
  void *any[3];
  unsigned n = 0;
  if (x) any[n++] = x;
  if (y) any[n++] = y;
  if (z) any[n++] = z;
  A->X->Z->solver_assert(A->context, A->solver, n > 1 ? A->X->Z->mk_or(A->context, n, any) : any[0]);
}
/* The variable of an atom, or of its inverse. */
MGI_FN void *mgi_ask_atom(mgi_ask *A, uint32_t a, int inverse) {
  const mgi_z3 *Z = A->X->Z;
  mgi_prover *P = A->X->P;
  if (!mgi_ask_room(A)) return mgi_ask_number(A, 0, 1);
  if (!A->expr[a]) {
    A->expr[a] = mgi_ask_variable(A, "a", a);
    mgi_pv_note(P, &A->atoms, a);
    if (mgi_pv_kind(P, a) == MGI_PV_INV) {
      void *two[2], *x = mgi_ask_poly(A, mgi_pv_word(P, a, 1));
      two[0] = A->expr[a], two[1] = x;
      int theirs = 0;
      for (uint32_t k = 0; k < A->own; k++) theirs |= A->atoms.p[k] == a;
      mgi_ask_or(A, Z->mk_eq(A->context, Z->mk_mul(A->context, 2, two), mgi_ask_number(A, 1, 1)),
                 theirs ? NULL : Z->mk_eq(A->context, x, mgi_ask_number(A, 0, 1)), NULL);
    }
  }
  if (!inverse) return A->expr[a];
  if (!A->inverse[a]) {
    void *two[2];
    two[0] = A->expr[a], two[1] = A->inverse[a] = mgi_ask_variable(A, "i", a);
    mgi_ask_or(A, Z->mk_eq(A->context, Z->mk_mul(A->context, 2, two), mgi_ask_number(A, 1, 1)),
               Z->mk_eq(A->context, A->expr[a], mgi_ask_number(A, 0, 1)), NULL);
  }
  return A->inverse[a];
}
MGI_FN void *mgi_ask_poly(mgi_ask *A, uint32_t p) {
  const mgi_z3 *Z = A->X->Z;
  mgi_prover *P = A->X->P;
  uint32_t n = mgi_pv_count(P, p);
  if (!mgi_ask_room(A) || !n) return mgi_ask_number(A, 0, 1);
  if (A->expr[p]) return A->expr[p];
  void **sum = (void **)malloc(n * sizeof *sum), *r;
  for (uint32_t k = 0; sum && k < n; k++) {
    mgi_pv_term t = mgi_pv_at(P, p, k);
    void *factor[64];
    unsigned m = 0;
    factor[m++] = mgi_ask_number(A, t.num, t.den);
    for (uint32_t j = 0; j < mgi_pv_powers(P, t.mono); j++) {
      uint32_t a = mgi_pv_word(P, t.mono, 1 + 2 * j);
      int e = (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * j);
      for (int l = e < 0 ? -e : e; l > 0; l--) {
        if (m == 64) { A->failed = 1; break; }
        factor[m++] = mgi_ask_atom(A, a, e < 0);
      }
    }
    sum[k] = m > 1 ? Z->mk_mul(A->context, m, factor) : factor[0];
  }
  if (!sum) { A->failed = 1; return mgi_ask_number(A, 0, 1); }
  r = n > 1 ? Z->mk_add(A->context, n, sum) : sum[0];
  free(sum);
  if (mgi_ask_room(A)) A->expr[p] = r;
  return r;
}
MGI_FN void *mgi_ask_relation(mgi_ask *A, uint32_t l, uint32_t r, int rel) {
  const mgi_z3 *Z = A->X->Z;
  void *x = mgi_ask_poly(A, l), *y = mgi_ask_poly(A, r);
  return rel == MGI_FACT_EQ   ? Z->mk_eq(A->context, x, y)
         : rel == MGI_FACT_LT ? Z->mk_lt(A->context, x, y)
         : rel == MGI_FACT_LE ? Z->mk_le(A->context, x, y)
         : rel == MGI_FACT_GT ? Z->mk_lt(A->context, y, x)
                              : Z->mk_le(A->context, y, x);
}

/* All instances of a row for the programs' applications. */
MGI_FN void mgi_ask_facts(mgi_ask *A, int row, int *budget) {
  mgi_prover *P = A->X->P;
  const mgi_z3 *Z = A->X->Z;
  mgi_fact f;
  int trigger[3], n, used = 0;
  uint32_t pick[3] = {0, 0, 0}, value[26];
  if (mgi_fact_parse(mgi_pv_axioms[row].text, &f, NULL) != MG_OK || (n = mgi_fact_triggers(&f, trigger)) < 1) return;
  for (;;) {
    int match = 1;
    for (int k = 0; k < n && match; k++) {
      uint32_t a = A->atoms.p[pick[k]];
      const mgi_fact_node *x = &f.n[trigger[k]];
      match = mgi_pv_is_fn(P, a, x->op);
      for (int j = 0; j < x->n && match; j++) value[f.n[x->kid[j]].num] = mgi_pv_word(P, a, 6 + (uint32_t)j);
      /* the same twice says nothing */
      for (int j = 0; j < k && match; j++) match = f.n[trigger[j]].op != x->op || pick[j] != pick[k];
    }
    if (match) {
      void *any[8];
      unsigned m = 0;
      if (--*budget < 0 || mgi_pv_over(P)) return;
      for (int k = 0; k < f.conditions + f.literals; k++) {
        void *l = mgi_ask_relation(A, mgi_fact_poly(P, &f, f.c[k].l, value), mgi_fact_poly(P, &f, f.c[k].r, value),
                                   f.c[k].rel);
        any[m++] = k < f.conditions ? Z->mk_not(A->context, l) : l;
      }
      if (P->bad) return;
      Z->solver_assert(A->context, A->solver, m > 1 ? Z->mk_or(A->context, m, any) : any[0]);
      used = 1;
    }
    int k = 0;
    while (k < n && ++pick[k] == A->own) pick[k++] = 0;
    if (k == n) break;
  }
  if (used) mgi_pv_use(P, row);
}

/* 1: p is 0 wherever all is defined; 0: not shown. */
MGI_FN int mgi_ask_zero(mgi_proof *X, uint32_t p, double seconds) {
  const mgi_z3 *Z = X->Z;
  mgi_prover *P = X->P;
  mgi_ask A;
  mgi_z3_watch W;
  pthread_t watchdog;
  int answer = 0, budget = MGI_PV_INSTANCES;
  memset(&A, 0, sizeof A), memset(&W, 0, sizeof W);
  A.X = X;
  mgi_pv_atoms(P, p, &A.atoms);
  if (P->bad) { free(A.atoms.p); return 0; }
  A.own = A.atoms.n;
  void *config = Z->mk_config();
  A.context = config ? Z->mk_context(config) : NULL;
  if (config) Z->del_config(config);
  if (!A.context) { free(A.atoms.p); return 0; }
  Z->set_error_handler(A.context, mgi_z3_quiet);
  A.real = Z->mk_real_sort(A.context);
  A.solver = Z->mk_solver_for_logic(A.context, Z->mk_string_symbol(A.context, "QF_NRA"));
  if (A.solver) Z->solver_inc_ref(A.context, A.solver);
  else A.failed = 1;
  if (!A.failed) {
    uint32_t own = A.own;
    Z->solver_assert(A.context, A.solver, Z->mk_not(A.context, mgi_ask_relation(&A, p, MGI_PV_ZERO, MGI_FACT_EQ)));
    for (uint32_t k = 0; k < own && !A.failed; k++) { /* the inverses that they mention */
      uint32_t a = A.atoms.p[k], kind = mgi_pv_kind(P, a);
      for (uint32_t j = kind == MGI_PV_FN ? 6 : 1;
           (kind == MGI_PV_FN || kind == MGI_PV_MAX || kind == MGI_PV_INV) && j < P->node[a].n; j++)
        mgi_ask_poly(&A, mgi_pv_word(P, a, j));
    }
    for (uint32_t k = 0; k < own && !A.failed; k++) { /* where both programs are defined */
      uint32_t a = A.atoms.p[k];
      void *x = mgi_ask_atom(&A, a, 0), *naught = mgi_ask_number(&A, 0, 1);
      if (mgi_pv_is_fn(P, a, MG_OP_SQRT))
        mgi_ask_or(&A, Z->mk_le(A.context, naught, mgi_ask_poly(&A, mgi_pv_word(P, a, 6))), NULL, NULL);
      if (mgi_pv_is_fn(P, a, MG_OP_LOG))
        mgi_ask_or(&A, Z->mk_lt(A.context, naught, mgi_ask_poly(&A, mgi_pv_word(P, a, 6))), NULL, NULL);
      if (A.inverse[a]) mgi_ask_or(&A, Z->mk_not(A.context, Z->mk_eq(A.context, x, naught)), NULL, NULL);
    }
    for (int row = 0; row < (int)MGI_PV_ROWS; row++)
      if (mgi_pv_axioms[row].use == MG_PROOF_FACT) mgi_ask_facts(&A, row, &budget);
    for (uint32_t k = 0; k < A.atoms.n && !A.failed && !P->bad; k++) { /* atoms.n may grow */
      uint32_t a = A.atoms.p[k];
      void *x = mgi_ask_atom(&A, a, 0), *any[512];
      unsigned n = 0;
      if (mgi_pv_kind(P, a) == MGI_PV_MAX && P->node[a].n < 512) {
        for (uint32_t j = 1; j < P->node[a].n; j++) {
          void *y = mgi_ask_poly(&A, mgi_pv_word(P, a, j));
          mgi_ask_or(&A, Z->mk_le(A.context, y, x), NULL, NULL);
          any[n++] = Z->mk_eq(A.context, x, y);
        }
        Z->solver_assert(A.context, A.solver, Z->mk_or(A.context, n, any));
        mgi_pv_use(P, MGI_PV_ROW_max_above), mgi_pv_use(P, MGI_PV_ROW_max_one);
      }
      if (mgi_pv_kind(P, a) != MGI_PV_FN) continue;
      for (uint32_t j = 0; j < k && --budget > -2 * MGI_PV_INSTANCES; j++) { /* equal operands, equal results */
        uint32_t b = A.atoms.p[j], same = P->node[a].n == P->node[b].n;
        for (uint32_t i = 0; i < 6 && same; i++) same = mgi_pv_word(P, a, i) == mgi_pv_word(P, b, i);
        if (!same) continue;
        void *y = mgi_ask_atom(&A, b, 0), *d[2] = {NULL, NULL};
        for (uint32_t i = 6; i < P->node[a].n; i++)
          d[i - 6] = Z->mk_not(A.context,
                               mgi_ask_relation(&A, mgi_pv_word(P, a, i), mgi_pv_word(P, b, i), MGI_FACT_EQ));
        mgi_ask_or(&A, Z->mk_eq(A.context, x, y), d[0], d[1]);
      }
    }
    double now = mgi_seconds();
    W.Z = Z, W.context = A.context, W.stop = P->stop, W.memory = Z->get_estimated_alloc_size() + X->memory;
    W.deadline = now + seconds < P->deadline ? now + seconds : P->deadline;
    if (!A.failed && !P->bad && Z->get_error_code(A.context) == 0) {
      pthread_mutex_init(&W.lock, NULL), pthread_cond_init(&W.ended, NULL);
      if (pthread_create(&watchdog, NULL, mgi_z3_watchdog, &W) == 0) {
        answer = Z->solver_check(A.context, A.solver);
        pthread_mutex_lock(&W.lock);
        W.done = 1;
        pthread_cond_signal(&W.ended);
        pthread_mutex_unlock(&W.lock);
        pthread_join(watchdog, NULL);
        X->queries++;
        X->unknown += answer == 0 || Z->get_error_code(A.context) != 0;
        answer = answer == -1 && Z->get_error_code(A.context) == 0; /* unsatisfiable */
      }
      pthread_cond_destroy(&W.ended), pthread_mutex_destroy(&W.lock);
    }
  }
  if (A.solver) Z->solver_dec_ref(A.context, A.solver);
  Z->del_context(A.context);
  free(A.expr), free(A.inverse), free(A.atoms.p);
  return answer;
}

/* ---- the steps */

MGI_FN int mgi_pv_same_extents(const mgi_prover *P, uint32_t a, uint32_t b) {
  int same = mgi_pv_kind(P, a) == mgi_pv_kind(P, b) && mgi_pv_word(P, a, 1) == mgi_pv_word(P, b, 1);
  for (int k = 0; k < 2 && same; k++) /* ranges that are bounded from outside are not compared */
    same = mgi_pv_kind(P, k ? b : a) != MGI_PV_TOP ||
           !P->node[mgi_pv_word(P, k ? b : a, P->node[k ? b : a].n - 2)].vars;
  for (uint32_t k = 0; same && k < mgi_pv_word(P, a, 1); k++)
    same = mgi_pv_word(P, a, 3 + k) == mgi_pv_word(P, b, 3 + k);
  return same;
}
MGI_FN int mgi_pv_reduces(const mgi_prover *P, uint32_t a) {
  return mgi_pv_kind(P, a) == MGI_PV_SUM || mgi_pv_kind(P, a) == MGI_PV_TOP;
}
/* The body of b over the variables that a was opened with. */
MGI_FN uint32_t mgi_pv_body(mgi_prover *P, uint32_t atom, const uint32_t *var) {
  mgi_pv_sub s[MGI_PV_BOUND];
  int n = (int)mgi_pv_word(P, atom, 1);
  memset(s, 0, sizeof s);
  for (int k = 0; k < n; k++) s[k].var = mgi_pv_word(P, atom, 2) + (uint32_t)k, s[k].lo = var[k], s[k].lo_scale = 1;
  return mgi_pv_map(P, mgi_pv_word(P, atom, P->node[atom].n - 1), n, s);
}

MGI_FN int mgi_pv_vanishes(mgi_proof *X, uint32_t p, int depth) {
  mgi_prover *P = X->P;
  mgi_pv_list l;
  memset(&l, 0, sizeof l);
  for (int again = 1; again && !P->bad;) {
    again = 0;
    p = mgi_pv_clear(P, p);
    if (P->bad || p == MGI_PV_ZERO) break;
    if (depth == MGI_PV_DEPTH) break;
    l.n = 0;
    mgi_pv_atoms(P, p, &l);
    for (uint32_t i = 0; i < l.n && !again && !P->bad; i++)
      for (uint32_t j = 0; j < l.n && !again && !P->bad; j++) {
        uint32_t a = l.p[i], b = l.p[j], var[MGI_PV_BOUND];
        if (a >= b || !mgi_pv_reduces(P, a) || !mgi_pv_reduces(P, b) || !mgi_pv_same_extents(P, a, b)) continue;
        int temps = P->temps;
        uint32_t d = mgi_pv_open(P, a, var);
        d = mgi_pv_sub2(P, d, mgi_pv_body(P, b, var));
        if (mgi_pv_vanishes(X, d, depth + 1)) {
          P->from = b, P->to = mgi_pv_atom(P, a, 1);
          p = mgi_pv_map(P, p, 0, NULL);
          P->from = 0, again = 1;
        }
        P->temps = temps;
      }
  }
  free(l.p);
  if (P->bad) return 0;
  if (p == MGI_PV_ZERO) return 1;
  uint32_t first = 0, n = mgi_pv_count(P, p), body = MGI_PV_ZERO, var[MGI_PV_BOUND];
  int temps = P->temps, good = depth < MGI_PV_DEPTH;
  for (uint32_t k = 0; k < n && good && !P->bad; k++) { /* one sum a term */
    mgi_pv_term t = mgi_pv_at(P, p, k);
    uint32_t sum = 0;
    for (uint32_t j = 0; j < mgi_pv_powers(P, t.mono); j++) {
      uint32_t a = mgi_pv_word(P, t.mono, 1 + 2 * j);
      if (mgi_pv_kind(P, a) == MGI_PV_SUM && mgi_pv_word(P, t.mono, 2 + 2 * j) == 1 &&
          (!first || mgi_pv_same_extents(P, first, a))) {
        sum = a;
        break;
      }
    }
    good = sum != 0;
    if (!good) break;
    uint32_t inside = first ? mgi_pv_body(P, sum, var) : mgi_pv_open(P, sum, var);
    first = sum;
    body = mgi_pv_add(P, body,
                      mgi_pv_mul(P, inside,
                                 mgi_pv_mul(P, mgi_pv_single(P, t.mono, t.num, t.den), mgi_pv_atom(P, sum, -1))));
  }
  if (good && !P->bad && mgi_pv_vanishes(X, body, depth + 1)) { P->temps = temps; return 1; }
  P->temps = temps;
  if (P->bad || !X->Z || mgi_pv_refuted(P, p)) return 0;
  double left = P->deadline - mgi_seconds();
  return mgi_ask_zero(X, p, depth ? mgi_bound_min2(left / 4, 2) : left / 2);
}

/* ------------------------------------------------------------------------------------------------- >>defined
   Whether b is defined wherever a is (DOMAINS in the header comment), by output element, in two steps:
     facts      a pass over b gives each tensor the signs that all its elements have.  A divisor that is nonzero, the
                operand of a root that is not negative, that of a logarithm that is positive: shown.  Else it is left.
     elements   an output element at a symbolic index (>>elements), of both: reading it collects the set of its duties,
                what must be so for it to be defined, before anything cancels.  Each duty of b at an operator that
                is left must follow from a's set for the same element.
   A duty is a polynomial with the bound variables over which it is meant, closed like a maximum over them, so that
   equal families are equal ids; up to a positive factor, and, of a divisor, up to its sign.
     divisor d    nonzero.  Each factor of d nonzero will do: those that the graph multiplied, roots taken off, and the
                  atoms that all terms of its polynomial share, without those that are nonzero by their sign.
     root d       not negative: so is what is left of d without positive atoms and even powers.
     logarithm d  positive: not negative, and nonzero.
                  Of a maximum over indices both follow where they are so of all that it is taken of.
     what is chosen by keep or drop has its duties only where it is chosen: k d + 1 - k is what d has to be, with k 1
                  there and else 0.  Where A's element is defined and B's is, without what they do not choose, both are
                  what their rational functions are at these k, and the theorems compare these.
                  That is so as what is not chosen has no divisor that vanishes by these k alone: k (y / (k y)) is 1,
                  and where k is 0 it is 0.  A divisor that hangs on a choice, in what is chosen, is not shown.
     user row     an E row of the user whose text may divide or leave a domain is defined where a applies it, with the
                  same constant, to the same operands.  One whose text shows it total has no duty.
   Requirement 1: a's duties are facts on all inputs where a's element is defined; nothing else is taken for one.
   Requirement 2: a fact by sign holds of every element, those of a block at a ragged edge too: where a chunk may be
   empty a sum over it is 0, and where a maximum over one is taken no fact is used. */

enum { MGI_SIGN_LEAST = 1 /* >= 0 */, MGI_SIGN_MOST = 2 /* <= 0 */, MGI_SIGN_NONZERO = 4, MGI_SIGN_POSITIVE = 5 };
/* Beside a tensor's sign: keep or drop is above it; and a divisor, say, that hangs on one and facts do not show. */
enum { MGI_SIGN_ALL = 7, MGI_SIGN_CHOICE = 8, MGI_SIGN_POLE = 16 };
enum { MGI_DEFINED_LEFT = 64, MGI_DEFINED_SET = 1024, MGI_DEFINED_PARTS = 24 };

typedef struct mgi_left { const mg_graph *g; uint32_t op; int sign; } mgi_left;
typedef struct mgi_defined {
  mgi_left left[MGI_DEFINED_LEFT]; /* operators of b that facts do not show */
  int n, partial;                  /* how many there are; operators that may be undefined somewhere, in all */
  int all;                         /* record at every such operator, not at those that are left only */
  int empty_max;                   /* b may take the maximum of an empty chunk: no facts */
  int poles;                       /* keep or drop chooses what has a divisor that keep or drop makes */
  char why[200];                   /* what is not shown */
} mgi_defined;

MGI_FN int mgi_sign_mul(int a, int b) {
  int r = a & b & MGI_SIGN_NONZERO;
  if ((a & b & MGI_SIGN_LEAST) || (a & b & MGI_SIGN_MOST)) r |= MGI_SIGN_LEAST;
  if (((a & MGI_SIGN_LEAST) && (b & MGI_SIGN_MOST)) || ((a & MGI_SIGN_MOST) && (b & MGI_SIGN_LEAST)))
    r |= MGI_SIGN_MOST;
  return r;
}
MGI_FN int mgi_sign_add(int a, int b) {
  int r = a & b & (MGI_SIGN_LEAST | MGI_SIGN_MOST);
  return r ? r | ((a | b) & MGI_SIGN_NONZERO) : 0;
}
MGI_FN int mgi_sign_neg(int a) {
  return (a & MGI_SIGN_NONZERO) | (a & MGI_SIGN_LEAST ? MGI_SIGN_MOST : 0) | (a & MGI_SIGN_MOST ? MGI_SIGN_LEAST : 0);
}
MGI_FN int mgi_sign_of(int64_t num) {
  return num > 0 ? MGI_SIGN_POSITIVE : num < 0 ? MGI_SIGN_MOST | MGI_SIGN_NONZERO : MGI_SIGN_LEAST | MGI_SIGN_MOST;
}
/* Of a sum of one or more. */
MGI_FN int mgi_sign_sum(int a) { return a & (MGI_SIGN_LEAST | MGI_SIGN_MOST) ? a : 0; }

/* 1 if a block may find no element along dimension d of t. */
MGI_FN int mgi_empty_chunk(const mg_graph *g, const mg_tensor_info *t, int d) {
  const mgi_cuts *c = t->cuts[d];
  if (!c) return 0;
  int64_t full = c->before[0], last = full;
  for (int k = 0; k < c->n; k++) {
    int64_t n = g->axes[c->axis[k]].extent, chunk = mg_ceil_div(full, n), rest = last - (n - 1) * chunk;
    full = chunk, last = rest < chunk ? rest : chunk;
    if (last <= 0) return 1;
  }
  return 0;
}

/* The sign of the text of an E row's `real` column over all reals, as far as it is made of a, b, c, MG_C, MG_EXP ..,
   numbers and + - * / ( ); `partial` is set by a divisor that may be 0, a root or logarithm that may leave its domain,
   `odd` by the rest. */
typedef struct mgi_real_text { const char *s; int partial, odd, depth; } mgi_real_text;
MGI_FN int mgi_real_sum(mgi_real_text *T);
MGI_FN void mgi_real_space(mgi_real_text *T) {
  while (*T->s == ' ' || *T->s == '\t' || *T->s == '\n') T->s++;
}
MGI_FN int mgi_real_next(mgi_real_text *T, char c) {
  mgi_real_space(T);
  return *T->s == c ? (T->s++, 1) : 0;
}
MGI_FN int mgi_real_one(mgi_real_text *T) {
  static const char *const word[] = {"a",       "b",      "c",      "MG_C",   "MG_EXP", "MG_SQRT", "MG_LOG", "MG_ERF",
                                     "MG_TANH", "MG_SIN", "MG_COS", "MG_ABS", "MG_MAX", "MG_MIN",  "MG_POW"};
  enum { WORDS = sizeof word / sizeof *word };
  int which = 0, x[2] = {0, 0};
  size_t n = 0;
  mgi_real_space(T);
  if (++T->depth > 100) { T->odd = 1; return 0; }
  if (mgi_real_next(T, '-')) { x[0] = mgi_sign_neg(mgi_real_one(T)); T->depth--; return x[0]; }
  if (mgi_real_next(T, '(')) {
    x[0] = mgi_real_sum(T);
    T->odd |= !mgi_real_next(T, ')');
    T->depth--;
    return x[0];
  }
  T->depth--;
  if (*T->s >= '0' && *T->s <= '9') { /* whole: any other is a word that is not known */
    long long v = 0;
    for (; *T->s >= '0' && *T->s <= '9'; T->s++) v = v < 1000000000 ? 10 * v + (*T->s - '0') : v;
    T->odd |= *T->s == '.' || *T->s == 'x' || *T->s == 'e';
    return mgi_sign_of((int64_t)v);
  }
  while ((T->s[n] >= 'a' && T->s[n] <= 'z') || (T->s[n] >= 'A' && T->s[n] <= 'Z') || T->s[n] == '_' ||
         (n && T->s[n] >= '0' && T->s[n] <= '9'))
    n++;
  while (which < WORDS && (strlen(word[which]) != n || memcmp(word[which], T->s, n))) which++;
  T->s += n;
  if (which == WORDS) { T->odd = 1; return 0; }
  if (which < 3) return 0;
  T->odd |= !mgi_real_next(T, '(');
  if (!T->odd) x[0] = mgi_real_sum(T);
  if (!T->odd && (which == 3 || which >= 12)) T->odd |= !mgi_real_next(T, ','), x[1] = T->odd ? 0 : mgi_real_sum(T);
  T->odd |= !mgi_real_next(T, ')');
  switch (which) {
    case 3: return x[0]; /* MG_C(num, den), den > 0 */
    case 4: return MGI_SIGN_POSITIVE;
    case 5: T->partial |= !(x[0] & MGI_SIGN_LEAST); return MGI_SIGN_LEAST | (x[0] & MGI_SIGN_NONZERO);
    case 6: T->partial |= (x[0] & MGI_SIGN_POSITIVE) != MGI_SIGN_POSITIVE; return 0;
    case 7: case 8: return x[0];
    case 11: return MGI_SIGN_LEAST | (x[0] & MGI_SIGN_NONZERO);
    case 12:
      return (x[0] & x[1]) | ((x[0] & MGI_SIGN_LEAST ? x[0] : 0) & MGI_SIGN_POSITIVE) |
             ((x[1] & MGI_SIGN_LEAST ? x[1] : 0) & MGI_SIGN_POSITIVE);
    case 13: return x[0] & x[1];
    case 14: T->partial |= (x[0] & MGI_SIGN_POSITIVE) != MGI_SIGN_POSITIVE; return x[0] & MGI_SIGN_POSITIVE;
    default: return 0;
  }
}
/* Factors of the same text are a square. */
MGI_FN int mgi_real_product(mgi_real_text *T) {
  const char *from[16];
  size_t len[16];
  int sign[16], n = 0, r = MGI_SIGN_POSITIVE, over = 0;
  for (;;) {
    mgi_real_space(T);
    const char *at = T->s;
    const int x = mgi_real_one(T);
    if (T->odd || n == 16) { T->odd = 1; return 0; }
    T->partial |= over && !(x & MGI_SIGN_NONZERO);
    from[n] = at, len[n] = (size_t)(T->s - at), sign[n++] = x | (over ? MGI_SIGN_NONZERO : 0);
    if (mgi_real_next(T, '*')) over = 0;
    else if (mgi_real_next(T, '/')) over = 1;
    else break;
  }
  for (int k = 0; k < n; k++) {
    int j = k + 1;
    if (!from[k]) continue;
    while (j < n && (!from[j] || len[j] != len[k] || memcmp(from[j], from[k], len[k]))) j++;
    if (j < n) from[j] = NULL, sign[k] = MGI_SIGN_LEAST | (sign[k] & sign[j] & MGI_SIGN_NONZERO);
    r = mgi_sign_mul(r, sign[k]);
  }
  return r;
}
MGI_FN int mgi_real_sum(mgi_real_text *T) {
  int r = mgi_real_product(T);
  while (!T->odd) {
    if (mgi_real_next(T, '+')) r = mgi_sign_add(r, mgi_real_product(T));
    else if (mgi_real_next(T, '-')) r = mgi_sign_add(r, mgi_sign_neg(mgi_real_product(T)));
    else break;
  }
  return r;
}
/* 1 if an E row of the user has a value for all reals by its text: by signs, or words of functions that are total and
   no division. */
MGI_FN int mgi_real_total(const char *text) {
  mgi_real_text T;
  memset(&T, 0, sizeof T);
  T.s = text;
  mgi_real_sum(&T);
  mgi_real_space(&T);
  if (!T.odd && !*T.s) return !T.partial;
  static const char *const total[] = {"a",       "b",      "c",      "MG_C",   "MG_EXP", "MG_ERF",
                                      "MG_TANH", "MG_SIN", "MG_COS", "MG_ABS", "MG_MAX", "MG_MIN"};
  for (const char *s = text; *s;) {
    size_t n = 0;
    int known = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' ||
           (n && s[n] >= '0' && s[n] <= '9'))
      n++;
    if (!n && (*s == '/' || *s == '%' || *s == '"' || *s == '\'')) return 0;
    if (!n && *s >= '0' && *s <= '9') { /* a number with its suffix */
      while ((s[n] >= '0' && s[n] <= '9') || s[n] == '.' || s[n] == 'f' || s[n] == 'e') n++;
      s += n;
      continue;
    }
    for (size_t k = 0; n && k < sizeof total / sizeof *total; k++)
      known |= strlen(total[k]) == n && !memcmp(total[k], s, n);
    if (n && !known) return 0;
    s += n ? n : 1;
  }
  return 1;
}
/* What operator o may be undefined by: a kind of duty, or 0. */
MGI_FN uint32_t mgi_duty_of(const mg_op_node *o) {
  const mg_op_info *row = mg_op_row(o->code);
  if (o->code == MG_OP_DIV) return MGI_PV_DIVISOR;
  if (o->code == MG_OP_SQRT) return MGI_PV_ROOT;
  if (o->code == MG_OP_LOG || o->code == MG_OP_RSQRT) return MGI_PV_LOGARITHM; /* of what is positive */
  return row->user && row->elementwise && !mgi_real_total(row->real) ? (uint32_t)MGI_PV_USED : 0;
}
/* 1 if that sign of the operand (of a division: the divisor's) shows that it is defined. */
MGI_FN int mgi_duty_done(uint32_t duty, int sign) {
  return duty == MGI_PV_DIVISOR ? (sign & MGI_SIGN_NONZERO) != 0 : duty == MGI_PV_ROOT ? (sign & MGI_SIGN_LEAST) != 0
       : duty == MGI_PV_LOGARITHM ? (sign & MGI_SIGN_POSITIVE) == MGI_SIGN_POSITIVE : 0;
}

/* 1 if operands 0 and 1 are one tensor, or two loads of one that are alike. */
MGI_FN int mgi_same_operands(const mg_graph *g, const mg_op_node *o) {
  if (o->n_in < 2) return 0;
  if (o->in[0].id == o->in[1].id) return 1;
  const mg_op_node *x = &g->ops[g->tensors[o->in[0].id].op], *y = &g->ops[g->tensors[o->in[1].id].op];
  return x->code == MG_OP_LOAD && y->code == MG_OP_LOAD && x->in[0].id == y->in[0].id && x->scope == y->scope &&
         !memcmp(&x->map, &y->map, sizeof x->map);
}
/* The sign of operator o's result, an operator of the table or an accumulator, by the signs s[] of tensors. */
MGI_FN int mgi_sign_op(const mg_graph *g, const mg_op_node *o, const uint8_t *s, mgi_defined *D) {
  const mg_op_info *row = mg_op_row(o->code);
  const int a = s[o->in[0].id], b = o->n_in > 1 ? s[o->in[1].id] : 0, same = mgi_same_operands(g, o);
  const mg_tensor_info *t = &g->tensors[o->in[0].id];
  switch (o->code) {
    case MG_OP_ADD: return mgi_sign_add(a, b);
    case MG_OP_SUB: return mgi_sign_add(a, mgi_sign_neg(b));
    case MG_OP_MUL: return same ? MGI_SIGN_LEAST | (a & MGI_SIGN_NONZERO) : mgi_sign_mul(a, b);
    case MG_OP_DIV: return same ? MGI_SIGN_POSITIVE : mgi_sign_mul(a, b | MGI_SIGN_NONZERO);
    case MG_OP_EXP: case MG_OP_SIGMOID: case MG_OP_RSQRT: return MGI_SIGN_POSITIVE;
    case MG_OP_TANH: case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: return a;
    case MG_OP_KEEP: case MG_OP_DROP: return b & ~MGI_SIGN_NONZERO;
    case MG_OP_ABS: return MGI_SIGN_LEAST | (a & MGI_SIGN_NONZERO);
    case MG_OP_SQR: case MG_OP_SQRT: return MGI_SIGN_LEAST | (a & MGI_SIGN_NONZERO);
    case MG_OP_SILU: case MG_OP_GELU: return a; /* x times what is positive */
    case MG_OP_RELU:
      return MGI_SIGN_LEAST | ((a & MGI_SIGN_POSITIVE) == MGI_SIGN_POSITIVE ? MGI_SIGN_NONZERO : a & MGI_SIGN_MOST);
    case MG_OP_NEG: return mgi_sign_neg(a);
    case MG_OP_SCALE: return mgi_sign_mul(a, mgi_sign_of(o->attr.c.num));
    case MG_OP_ADD_SCALAR: return o->attr.c.num ? mgi_sign_add(a, mgi_sign_of(o->attr.c.num)) : a;
    case MG_OP_MATMUL: {
      int r = mgi_sign_sum(mgi_sign_mul(a, b));
      return mgi_empty_chunk(g, t, t->shape.rank - 1) ? r & ~MGI_SIGN_NONZERO : r;
    }
    case MG_OP_CONCAT_MATMUL: {
      int r =
          mgi_sign_add(mgi_sign_sum(mgi_sign_mul(a, s[o->in[2].id])), mgi_sign_sum(mgi_sign_mul(b, s[o->in[3].id])));
      const mg_tensor_info *u = &g->tensors[o->in[1].id];
      return mgi_empty_chunk(g, t, t->shape.rank - 1) || mgi_empty_chunk(g, u, u->shape.rank - 1)
                 ? r & ~MGI_SIGN_NONZERO
                 : r;
    }
    case MG_OP_SUM: return mgi_empty_chunk(g, t, o->attr.dim) ? mgi_sign_sum(a) & ~MGI_SIGN_NONZERO : mgi_sign_sum(a);
    case MG_OP_MAX: D->empty_max |= mgi_empty_chunk(g, t, o->attr.dim); return a;
    case MG_OP_ACCUM: {
      int r = a;
      for (uint32_t x = 1; x < g->n_axes; x++)
        if (o->map.to[x] == MG_MAP_SUM) r = mgi_sign_sum(r);
      return r;
    }
    default: break;
  }
  if (!row->moves) return 0;
  int r = a;
  for (int k = 1; k < o->n_in; k++) r &= s[o->in[k].id];
  return row->user ? r & ~MGI_SIGN_NONZERO : r; /* a user's may put zeros in between */
}
/* Signs of g's tensors; up: those of the graph above; out: those of what its stores make, in order. */
MGI_FN int mgi_sign_graph(const mg_graph *g, const uint8_t *up, uint8_t *out, mgi_defined *D) {
  uint8_t few[192], *s = g->n_tensors > sizeof few ? (uint8_t *)malloc(g->n_tensors) : few;
  int stores = 0, good = s != NULL;
  if (!good) return 0;
  memset(s, 0, g->n_tensors);
  for (uint32_t k = 1; k < g->n_ops && good; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->code == MG_OP_LOAD) s[o->out[0].id] = up[o->in[0].id];
    else if (o->code == MG_OP_STORE) {
      if (stores < MG_MAX_OUT) out[stores++] = s[o->in[0].id];
    } else if (o->code == MG_OP_GRAPH) {
      uint8_t made[MG_MAX_OUT] = {0};
      good = mgi_sign_graph(o->sub, s, made, D);
      for (int j = 0; j < o->n_out; j++) s[o->out[j].id] = made[j];
    } else {
      const uint32_t duty = mgi_duty_of(o);
      const int sign = s[o->in[duty == MGI_PV_DIVISOR].id];
      const int choice = o->code == MG_OP_KEEP || o->code == MG_OP_DROP;
      int above = choice ? MGI_SIGN_CHOICE : 0;
      for (int j = 0; j < o->n_in; j++) above |= s[o->in[j].id] & (MGI_SIGN_CHOICE | MGI_SIGN_POLE);
      D->poles += choice && (s[o->in[1].id] & MGI_SIGN_POLE);
      if (duty && duty != MGI_PV_ROOT && (sign & MGI_SIGN_CHOICE) && !mgi_duty_done(duty, sign)) above |= MGI_SIGN_POLE;
      s[o->out[0].id] = (uint8_t)((mgi_sign_op(g, o, s, D) & MGI_SIGN_ALL) | above);
      D->partial += duty != 0;
      if (!duty || mgi_duty_done(duty, sign)) continue;
      if (D->n < MGI_DEFINED_LEFT) D->left[D->n].g = g, D->left[D->n].op = k, D->left[D->n].sign = sign;
      D->n++;
    }
  }
  if (s != few) free(s);
  return good;
}

/* ---- sets of duties */

/* The union of two sets, each 0 or a node of sorted ids. */
MGI_FN uint32_t mgi_pv_union(mgi_prover *P, uint32_t x, uint32_t y) {
  uint32_t w[MGI_DEFINED_SET + 2], n = 1, i = 1, j = 1;
  if (P->bad || !y || x == y) return x;
  if (!x) return y;
  w[0] = MGI_PV_SET;
  while (i < P->node[x].n || j < P->node[y].n) {
    uint32_t a = i < P->node[x].n ? mgi_pv_word(P, x, i) : UINT32_MAX,
             b = j < P->node[y].n ? mgi_pv_word(P, y, j) : UINT32_MAX;
    if (n > MGI_DEFINED_SET) return mgi_pv_fail(P, "too large: the divisors of an element");
    w[n++] = a < b ? a : b;
    i += a <= b, j += b <= a;
  }
  return mgi_pv_intern(P, w, n);
}
/* The condition `kind` on polynomial p, for all values of the n variables in var that `where` leaves, some at each
   index of those outside: they are split, merged and named anew. */
MGI_FN uint32_t mgi_pv_condition(mgi_prover *P, uint32_t kind, uint32_t p, int n, const uint32_t *var, uint32_t where) {
  uint32_t v[MGI_PV_BOUND + 1], atom;
  int m = 0, temps = P->temps;
  int64_t num = 0, den = 1;
  for (int k = 0; k < n && !P->bad; k++) {
    if (P->node[p].vars >> var[k] & 1) {
      if (m == MGI_PV_BOUND) return mgi_pv_fail(P, "a divisor over too many indices");
      v[m++] = var[k];
    } else if (P->node[where].vars >> var[k] & 1) { /* a bound is nearest to true where what p does not depend on is
                                                       0 */
      mgi_pv_sub s;
      memset(&s, 0, sizeof s);
      s.var = var[k], s.lo = MGI_PV_NAUGHT, s.lo_scale = 1;
      where = mgi_pv_map(P, where, 1, &s);
    }
  }
  if (P->bad) return MGI_PV_ZERO;
  if (!m) where = mgi_pv_number(P, 1, 1);
  if (m) p = mgi_pv_regroup_in(P, p, &where, &m, v);
  if (P->bad) return MGI_PV_ZERO;
  if (kind != MGI_PV_USED) {
    mgi_pv_content(P, p, &num, &den);
    if (num && (num != 1 || den != 1)) p = mgi_pv_scale(P, p, den, num);
  }
  atom = mgi_pv_alone(P, mgi_pv_close(P, kind, m, v, p, where));
  P->temps = temps;
  return atom;
}
/* A condition over further variables, or (sign < 0) of the negative; where `chosen` is not MGI_PV_ZERO, if that is 1:
   of 1 else. */
MGI_FN uint32_t mgi_pv_condition_again(mgi_prover *P, uint32_t c, int sign, int n, const uint32_t *var, uint32_t where,
                                       uint32_t chosen) {
  uint32_t v[2 * MGI_PV_BOUND + MG_MAX_AXES + 2], kind = mgi_pv_kind(P, c);
  int m = (int)mgi_pv_word(P, c, 1), temps = P->temps;
  uint32_t p = m ? mgi_pv_open(P, c, v) : mgi_pv_word(P, c, P->node[c].n - 1);
  where = mgi_pv_both(P, where, m ? mgi_pv_where(P, c, v) : mgi_pv_word(P, c, P->node[c].n - 2));
  for (int k = 0; k < n; k++) v[m++] = var[k];
  if (sign < 0) p = mgi_pv_scale(P, p, -1, 1);
  const uint32_t negative = chosen != MGI_PV_ZERO && kind == MGI_PV_DIVISOR ? mgi_pv_scale(P, p, -1, 1) : p;
  if (negative < p) p = negative;
  if (chosen != MGI_PV_ZERO)
    p = mgi_pv_add(P, mgi_pv_mul(P, chosen, p), mgi_pv_sub2(P, mgi_pv_number(P, 1, 1), chosen));
  uint32_t r = P->bad ? 0 : mgi_pv_condition(P, kind, p, m, v, where);
  P->temps = temps;
  return r;
}
/* A duty: which operator (0: one of a's, else 1 + its place in mgi_defined), then choices, each a count and
   conditions. */
enum { MGI_DUTY_WORDS = 2 + 4 * (1 + MGI_DEFINED_PARTS) };
/* The set, for all values of the variables. */
MGI_FN uint32_t mgi_pv_found_for_all(mgi_prover *P, uint32_t found, int n, const uint32_t *var, uint32_t where) {
  uint32_t set = 0;
  if (!found || n <= 0) return found;
  for (uint32_t k = 1; k < P->node[found].n && !P->bad; k++) {
    uint32_t duty = mgi_pv_word(P, found, k), w[MGI_DUTY_WORDS], one[2], words = P->node[duty].n;
    for (uint32_t j = 0; j < words; j++) w[j] = mgi_pv_word(P, duty, j);
    for (uint32_t j = 2; j < words && !P->bad; j += 1 + w[j])
      for (uint32_t i = 1; i <= w[j] && !P->bad; i++)
        w[j + i] = mgi_pv_condition_again(P, w[j + i], 1, n, var, where, MGI_PV_ZERO);
    one[0] = MGI_PV_SET, one[1] = mgi_pv_intern(P, w, words);
    set = mgi_pv_union(P, set, mgi_pv_intern(P, one, 2));
  }
  return set;
}

/* Of the second program, what is found needs no choice either where the first has it without one. */
MGI_FN uint32_t mgi_pv_found_if(mgi_prover *P, uint32_t found, uint32_t chosen) {
  uint32_t set = 0;
  if (chosen == MGI_PV_ZERO) return 0; /* nowhere: nobody reads it */
  for (uint32_t k = 1; found && k < P->node[found].n && !P->bad; k++) {
    const uint32_t duty = mgi_pv_word(P, found, k), own = P->node[duty].n;
    uint32_t w[MGI_DUTY_WORDS], one[2], words = own;
    for (uint32_t j = 0; j < own; j++) w[j] = mgi_pv_word(P, duty, j);
    for (uint32_t j = 2; j < own && !P->bad; j += 1 + w[j])
      for (uint32_t i = 1; i <= w[j] && !P->bad; i++)
        w[j + i] = mgi_pv_condition_again(P, w[j + i], 1, 0, NULL, mgi_pv_number(P, 1, 1), chosen);
    for (uint32_t j = 2; j < own && !P->record->all && 2 * own - 2 <= MGI_DUTY_WORDS; j++)
      w[words++] = mgi_pv_word(P, duty, j);
    one[0] = MGI_PV_SET, one[1] = mgi_pv_intern(P, w, words);
    set = mgi_pv_union(P, set, mgi_pv_intern(P, one, 2));
  }
  return set;
}

MGI_FN uint32_t mgi_pv_found_of_some(mgi_prover *P, int n, const uint32_t *var) {
  return P->found && P->record->all ? 0 : mgi_pv_found_for_all(P, P->found, n, var, mgi_pv_number(P, 1, 1));
}

MGI_FN uint32_t mgi_pv_found_with(mgi_prover *P, uint32_t var, int mention) {
  uint32_t set = 0;
  for (uint32_t k = 1; P->found && k < P->node[P->found].n && !P->bad; k++) {
    const uint32_t duty = mgi_pv_word(P, P->found, k), words = P->node[duty].n;
    int mentioned = 0;
    for (uint32_t j = 2; j < words; j += 1 + mgi_pv_word(P, duty, j))
      for (uint32_t i = 1; i <= mgi_pv_word(P, duty, j); i++)
        mentioned |= (int)(P->node[mgi_pv_word(P, duty, j + i)].vars >> var & 1);
    const uint32_t one[2] = { MGI_PV_SET, duty };
    if (mentioned == mention) set = mgi_pv_union(P, set, mgi_pv_intern(P, one, 2));
  }
  return set;
}

/* ---- what an operator takes to be defined */

typedef struct mgi_choice { uint32_t n, c[MGI_DEFINED_PARTS]; } mgi_choice;
MGI_FN void mgi_choice_add(mgi_prover *P, mgi_choice *l, uint32_t kind, uint32_t p) {
  if (l->n == MGI_DEFINED_PARTS) { mgi_pv_fail(P, "too large: the factors of a divisor"); return; }
  l->c[l->n] = mgi_pv_condition(P, kind, p, 0, NULL, MGI_PV_ZERO);
  l->n++;
}
/* What must be nonzero for p to be: factors that all terms share, and the rest. */
MGI_FN void mgi_choice_factors(mgi_prover *P, mgi_choice *l, uint32_t p, int depth) {
  p = mgi_pv_clear(P, p);
  if (p == MGI_PV_ZERO && !P->bad) mgi_pv_fail(P, "a divisor vanishes identically");
  if (P->bad || (mgi_pv_sign(P, p) & MGI_SIGN_NONZERO)) return;
  uint32_t common = mgi_pv_common(P, p);
  for (uint32_t k = 0; k < mgi_pv_powers(P, common) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, common, 1 + 2 * k);
    if (mgi_pv_sign_of_atom(P, a) & MGI_SIGN_NONZERO) continue;
    if (mgi_pv_is_fn(P, a, MG_OP_SQRT) && depth > 0) mgi_choice_factors(P, l, mgi_pv_word(P, a, 6), depth - 1);
    else mgi_choice_add(P, l, MGI_PV_DIVISOR, mgi_pv_atom(P, a, 1));
  }
  uint32_t rest = mgi_pv_mul(P, p, mgi_pv_of_mono(P, common, -1));
  if (!P->bad && mgi_pv_count(P, rest) > 1 && !(mgi_pv_sign(P, rest) & MGI_SIGN_NONZERO))
    mgi_choice_add(P, l, MGI_PV_DIVISOR, rest);
}
/* p without atoms that are positive; with `even`, without even powers too. */
MGI_FN uint32_t mgi_pv_stripped(mgi_prover *P, uint32_t p, int even) {
  uint32_t common = mgi_pv_common(P, p);
  for (uint32_t k = 0; k < mgi_pv_powers(P, common) && !P->bad; k++) {
    uint32_t a = mgi_pv_word(P, common, 1 + 2 * k);
    int e = (int32_t)mgi_pv_word(P, common, 2 + 2 * k),
        positive = (mgi_pv_sign_of_atom(P, a) & MGI_SIGN_POSITIVE) == MGI_SIGN_POSITIVE;
    if (positive || e < -1 || (even && e > 1)) p = mgi_pv_mul(P, p, mgi_pv_atom(P, a, positive ? -e : -(e / 2 * 2)));
  }
  return p;
}
/* A maximum over indices is positive, or at least 0, where all are that it is taken of; one over none has no such
   rule. */
MGI_FN int mgi_choice_of_maximum(mgi_prover *P, mgi_choice *l, uint32_t duty, uint32_t p) {
  const uint32_t atom = mgi_pv_alone(P, p);
  uint32_t v[MGI_PV_BOUND];
  const int temps = P->temps;
  if (P->bad || !atom || mgi_pv_kind(P, atom) != MGI_PV_TOP) return 0;
  const uint32_t body = mgi_pv_open(P, atom, v), where = mgi_pv_where(P, atom, v);
  l->c[l->n++] = mgi_pv_condition(P, duty, body, (int)mgi_pv_word(P, atom, 1), v, where);
  P->temps = temps;
  return !P->bad;
}
/* The duties of operator o at the element whose operands are in[], into P->found. */
MGI_FN void mgi_pv_record(mgi_prover *P, const mgi_pv_frame *f, const mg_op_node *o, const uint32_t *in,
                          const uint32_t *factors) {
  const uint32_t duty = mgi_duty_of(o);
  const mgi_defined *D = P->record;
  uint32_t which = 0, p = in[duty == MGI_PV_DIVISOR], list[MGI_DEFINED_PARTS + 2], n = 1;
  int left = 0;
  /* the factors of the result */
  P->factors = 0;
  list[0] = MGI_PV_FACTORS;
  switch (o->code) {
    case MG_OP_MUL:
      for (int k = 0; k < 2; k++) {
        if (!factors[k]) list[n++] = in[k];
        for (uint32_t j = 1; factors[k] && j < P->node[factors[k]].n && n < MGI_DEFINED_PARTS; j++)
          list[n++] = mgi_pv_word(P, factors[k], j);
      }
      if (n < MGI_DEFINED_PARTS) P->factors = mgi_pv_intern(P, list, n);
      break;
    case MG_OP_EXP: P->factors = mgi_pv_intern(P, list, 1); break;
    case MG_OP_SCALE: case MG_OP_DIV: case MG_OP_SQR: case MG_OP_SQRT: case MG_OP_NEG:
      if (o->code == MG_OP_SCALE && !o->attr.c.num) break;
      list[1] = in[0], P->factors = factors[0] ? factors[0] : mgi_pv_intern(P, list, 2);
      break;
    default: break;
  }
  if (!duty || P->bad) return;
  for (; !D->all && which < (uint32_t)D->n; which++)
    if (D->left[which].g == f->g && &f->g->ops[D->left[which].op] == o) break;
  if (!D->all && which == (uint32_t)D->n) return;
  if (!D->all) left = D->left[which].sign;
  if (p == MGI_PV_NONE) { mgi_pv_fail(P, "a function is applied to minus infinity"); return; }
  /* the choices: for a, one, of all that follows */
  mgi_choice c[4], parts;
  uint32_t w[MGI_DUTY_WORDS], words = 2, set[2];
  const uint32_t own = factors[duty == MGI_PV_DIVISOR];
  const int sign = left | (duty == MGI_PV_USED ? 0 : mgi_pv_sign(P, p));
  int m = 0;
  memset(c, 0, sizeof c), memset(&parts, 0, sizeof parts);
  if (mgi_duty_done(duty, sign) && !D->all) return;
  if (duty == MGI_PV_DIVISOR || duty == MGI_PV_LOGARITHM) {
    if (!own) mgi_choice_factors(P, &parts, p, 3);
    for (uint32_t k = 1; own && k < P->node[own].n && !P->bad; k++)
      mgi_choice_factors(P, &parts, mgi_pv_word(P, own, k), 3);
  }
  if (P->bad) return;
  if (duty == MGI_PV_USED) {
    const uint32_t atom =
        mgi_pv_fn(P, o->code, mg_op_row(o->code)->attr == MG_ATTR_RAT ? o->attr.c : mgi_pv_no_constant(),
                  mg_op_row(o->code)->n_in, in);
    mgi_choice_add(P, &c[m++], MGI_PV_USED, atom);
  } else if (D->all) {
    c[m++] = parts;
    mgi_choice_add(P, &c[0], duty, p);
    if (duty == MGI_PV_LOGARITHM) mgi_choice_add(P, &c[0], MGI_PV_DIVISOR, p), mgi_choice_add(P, &c[0], MGI_PV_ROOT, p);
    if (duty != MGI_PV_DIVISOR) {
      const uint32_t q = mgi_pv_stripped(P, p, 0);
      mgi_choice_add(P, &c[0], duty, q);
      if (duty == MGI_PV_LOGARITHM) mgi_choice_add(P, &c[0], MGI_PV_ROOT, q);
    }
  } else {
    mgi_choice_add(P, &c[m++], duty, p);
    if (duty == MGI_PV_DIVISOR) c[m++] = parts;
    else mgi_choice_add(P, &c[m++], duty, mgi_pv_stripped(P, p, duty == MGI_PV_ROOT));
    if (duty == MGI_PV_LOGARITHM) {
      c[m] = parts;
      if (!(sign & MGI_SIGN_LEAST)) mgi_choice_add(P, &c[m], MGI_PV_ROOT, mgi_pv_stripped(P, p, 0));
      m++;
    }
    if (duty != MGI_PV_DIVISOR && !D->empty_max) m += mgi_choice_of_maximum(P, &c[m], duty, mgi_pv_stripped(P, p, 0));
  }
  w[0] = MGI_PV_DUTY, w[1] = D->all ? 0 : which + 1;
  for (int k = 0; k < m; k++) {
    w[words++] = c[k].n;
    for (uint32_t j = 0; j < c[k].n; j++) w[words++] = c[k].c[j];
  }
  set[0] = MGI_PV_SET, set[1] = mgi_pv_intern(P, w, words);
  P->found = mgi_pv_union(P, P->found, mgi_pv_intern(P, set, 2));
}

/* ---- a's facts and b's duties */

/* 1 if condition c is a fact, or, of a divisor, that of its negative. */
MGI_FN int mgi_pv_fact(mgi_prover *P, const mgi_pv_list *facts, uint32_t c) {
  for (int sign = 1; sign >= -1 && !P->bad; sign -= 2) {
    uint32_t id = sign < 0 ? mgi_pv_condition_again(P, c, -1, 0, NULL, mgi_pv_number(P, 1, 1), MGI_PV_ZERO) : c;
    for (uint32_t k = 0; k < facts->n; k++)
      if (facts->p[k] == id) return 1;
    if (mgi_pv_kind(P, c) != MGI_PV_DIVISOR) return 0;
  }
  /* a product of two facts that was multiplied out */
  uint32_t one[MGI_DEFINED_PARTS], n = 0;
  if (mgi_pv_word(P, c, 1)) return 0;
  for (uint32_t k = 0; k < facts->n && n < MGI_DEFINED_PARTS; k++) {
    const uint32_t f = facts->p[k];
    if (mgi_pv_kind(P, f) == MGI_PV_DIVISOR && !mgi_pv_word(P, f, 1) &&
        mgi_pv_count(P, mgi_pv_word(P, f, P->node[f].n - 1)) > 1)
      one[n++] = mgi_pv_word(P, f, P->node[f].n - 1);
  }
  const uint32_t negative = mgi_pv_condition_again(P, c, -1, 0, NULL, mgi_pv_number(P, 1, 1), MGI_PV_ZERO),
                 terms = mgi_pv_count(P, mgi_pv_word(P, c, P->node[c].n - 1));
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = i; j < n && !P->bad; j++) {
      if (mgi_pv_count(P, one[i]) * mgi_pv_count(P, one[j]) > 16 * terms) continue;
      const uint32_t both = mgi_pv_condition(P, MGI_PV_DIVISOR, mgi_pv_mul(P, one[i], one[j]), 0, NULL, MGI_PV_ZERO);
      if (!P->bad && (both == c || both == negative)) return 1;
    }
  return 0;
}
/* The operator of b that is left without a reason; -1: each duty of `set` follows; -2: a limit was passed. */
MGI_FN int mgi_pv_follows(mgi_prover *P, uint32_t facts_set, uint32_t set) {
  mgi_pv_list facts;
  int missing = -1;
  memset(&facts, 0, sizeof facts);
  for (uint32_t k = 1; facts_set && k < P->node[facts_set].n && !P->bad; k++) {
    uint32_t duty = mgi_pv_word(P, facts_set, k);
    for (uint32_t j = 3; j < P->node[duty].n && !P->bad; j++) mgi_pv_note(P, &facts, mgi_pv_word(P, duty, j));
  }
  for (uint32_t k = 1; set && k < P->node[set].n && missing == -1 && !P->bad; k++) {
    uint32_t duty = mgi_pv_word(P, set, k);
    int follows = 0;
    for (uint32_t j = 2; j < P->node[duty].n && !follows && !P->bad; j += 1 + mgi_pv_word(P, duty, j)) {
      int all = 1;
      for (uint32_t i = 1; i <= mgi_pv_word(P, duty, j) && all && !P->bad; i++)
        all = mgi_pv_fact(P, &facts, mgi_pv_word(P, duty, j + i));
      follows = all;
    }
    if (!follows) missing = (int)mgi_pv_word(P, duty, 1) - 1;
  }
  free(facts.p);
  return P->bad ? -2 : missing;
}

/* An element of output k of g at the symbolic index, read as `serial`. */
MGI_FN uint32_t mgi_pv_output(mgi_prover *P, const mg_graph *g, uint32_t k, uint32_t serial) {
  mgi_pv_frame f;
  mgi_pv_index x[MG_MAX_RANK];
  const mg_shape *s = &g->tensors[g->out[k].id].shape;
  memset(&f, 0, sizeof f);
  f.g = g, f.serial = serial;
  mgi_pv_own_index(P, s, x);
  return mgi_pv_element(P, &f, g->out[k].id, x);
}
MGI_FN int mgi_pv_begin(mgi_prover *P, size_t limit, double deadline, const volatile int *stop) {
  uint32_t w[2];
  memset(P, 0, sizeof *P);
  P->limit = limit, P->deadline = deadline, P->stop = stop, P->most = MGI_PV_STEPS;
  w[0] = MGI_PV_POLY, w[1] = MGI_PV_KEY;
  if (mgi_pv_intern(P, w, 1) != MGI_PV_ZERO || mgi_pv_intern(P, w + 1, 1) != MGI_PV_NONE)
    mgi_pv_fail(P, "no memory for terms");
  return !P->bad;
}

/* "divisor 't5' of 't6' (kernel 1)" */
MGI_FN void mgi_left_name(const mgi_left *l, char *buf, size_t size) {
  const mg_op_node *o = &l->g->ops[l->op];
  const uint32_t duty = mgi_duty_of(o);
  const char *of = l->g->tensors[o->out[0].id].name, *in = l->g->tensors[o->in[duty == MGI_PV_DIVISOR].id].name;
  snprintf(buf, size, "%s '%.40s' of '%.40s = %.20s'%s", duty == MGI_PV_DIVISOR ? "the divisor" : "the operand",
           in ? in : "?", of ? of : "?", mg_op_row(o->code)->name,
           l->g->level == MG_KERNEL  ? ""
           : l->g->level == MG_BLOCK ? " in a block graph"
                                     : " in a thread graph");
}

MGI_FN const char *mgi_duty_word(const mgi_left *l) {
  const uint32_t duty = mgi_duty_of(&l->g->ops[l->op]);
  return duty == MGI_PV_DIVISOR     ? "nonzero"
         : duty == MGI_PV_ROOT      ? "at least 0"
         : duty == MGI_PV_LOGARITHM ? "positive"
                                    : "in its domain";
}
/* All operators that have a duty, as if there were no facts. */
MGI_FN void mgi_left_all(const mg_graph *g, mgi_defined *D) {
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->sub) mgi_left_all(o->sub, D);
    if (o->code >= MG_OP_TABLE_END || !mgi_duty_of(o)) continue;
    if (D->n < MGI_DEFINED_LEFT) D->left[D->n].g = g, D->left[D->n].op = k, D->left[D->n].sign = 0;
    D->n++;
  }
}

/* 1 if b is shown to be defined wherever a is, by output element, and `line` says how; 0 with the reason in it.
   *total: both are defined everywhere, by facts. */
MGI_FN int mgi_defined_shown(const mg_graph *a, const mg_graph *b, double deadline, const volatile int *stop,
                             int *total, char line[256]) {
  mgi_defined D, all;
  mgi_prover P;
  char name[160];
  int shown = 1, worst = -1, limit = 0;
  memset(&D, 0, sizeof D);
  memset(&all, 0, sizeof all);
  *total = mgi_sign_graph(a, NULL, NULL, &all) && !all.n && !all.empty_max;
  if (!mgi_sign_graph(b, NULL, NULL, &D)) { snprintf(line, 256, "no memory for the signs of tensors"); return 0; }
  if (D.empty_max) { /* -inf may be among the values: no fact is used */
    D.n = 0;
    mgi_left_all(b, &D);
  }
  *total &= !D.n;
  if (all.poles || D.poles) {
    snprintf(line, 256, "keep or drop chooses what has a divisor that keep or drop makes: not chosen, it may be 0");
    return 0;
  }
  if (!D.partial) { snprintf(line, 256, "no divisor, root or logarithm"); return 1; }
  if (!D.n) {
    if (D.partial == 1) snprintf(line, 256, "the one divisor, root or logarithm is as it must be by facts");
    else snprintf(line, 256, "all %d divisors, roots and logarithms are as they must be by facts", D.partial);
    return 1;
  }
  if (D.n > MGI_DEFINED_LEFT) {
    snprintf(line, 256, "more than %d divisors, roots and logarithms are not positive by facts", (int)MGI_DEFINED_LEFT);
    return 0;
  }
  memset(&all, 0, sizeof all);
  all.all = 1;
  shown = mgi_pv_begin(&P, (size_t)1 << 28, deadline, stop);
  for (uint32_t k = 0; k < b->n_out && shown; k++) {
    P.record = &all, P.found = 0;
    mgi_pv_output(&P, a, k, 1);
    const uint32_t facts = P.found;
    P.record = &D, P.found = 0;
    mgi_pv_output(&P, b, k, 2);
    int missing = P.bad ? -2 : mgi_pv_follows(&P, facts, P.found);
    shown = missing == -1, limit = missing == -2;
    if (missing >= 0) worst = missing;
  }
  if (shown)
    snprintf(line, 256, "of %d divisors, roots and logarithms %d by facts, %d as the program's for each output element",
             D.partial, D.partial - D.n, D.n);
  else {
    mgi_left_name(&D.left[worst < 0 ? 0 : worst], name, sizeof name);
    if (worst >= 0)
      snprintf(line, 256, "%s is not shown to be %s wherever the program is defined", name,
               mgi_duty_word(&D.left[worst]));
    else
      snprintf(line, 256, "%.150s could not be compared with the program's: %.50s", name, limit ? P.why : "no memory");
  }
  free(P.w), free(P.node), free(P.slot);
  return shown;
}

/* ------------------------------------------------------------------------------------------------- >>methods
   One symbolic element an output, or each element by mg_eval over terms; and mg_prove, which tries both. */

MGI_FN uint32_t *mgi_pv_cell(const mg_view *v, const int64_t *at, int n) {
  return (uint32_t *)v->data + mgi_ff_row_offset(v, at, n);
}
MGI_FN mg_status mgi_pv_state(const mgi_prover *P) { return P->bad ? MG_LIMIT : MG_OK; }
MGI_FN mg_status mgi_pv_eval_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  mgi_prover *P = (mgi_prover *)user;
  int64_t at[MG_MAX_RANK] = {0};
  int r = out->shape.rank, two = mg_op_row(op)->n_in > 1;
  do {
    uint32_t *o = mgi_pv_cell(out, at, r - 1), *a = mgi_pv_cell(&in[0], at, r - 1),
             *b = two ? mgi_pv_cell(&in[1], at, r - 1) : NULL, x[2] = { MGI_PV_ZERO, MGI_PV_ZERO };
    for (int64_t k = 0; k < out->shape.dim[r - 1] && !mgi_pv_over(P); k++) {
      x[0] = a[k * in[0].stride[r - 1]];
      if (two) x[1] = b[k * in[1].stride[r - 1]];
      o[k * out->stride[r - 1]] = mgi_pv_apply(P, op, c, x);
    }
  } while (!P->bad && mgi_ff_next_row(&out->shape, at));
  return mgi_pv_state(P);
}
MGI_FN mg_status mgi_pv_eval_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  mgi_prover *P = (mgi_prover *)user;
  for (int64_t i = 0; i < c->shape.dim[0]; i++)
    for (int64_t j = 0; j < c->shape.dim[1]; j++)
      for (int64_t k = 0; k < a->shape.dim[1] && !mgi_pv_over(P); k++) {
        uint32_t *o = (uint32_t *)c->data + i * c->stride[0] + j * c->stride[1];
        *o = mgi_pv_add(P, *o,
                        mgi_pv_mul(P, ((uint32_t *)a->data)[i * a->stride[0] + k * a->stride[1]],
                                   ((uint32_t *)b->data)[k * b->stride[0] + j * b->stride[1]]));
      }
  return mgi_pv_state(P);
}
MGI_FN mg_status mgi_pv_eval_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  mgi_prover *P = (mgi_prover *)user;
  int64_t at[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  do {
    uint32_t *o = mgi_pv_cell(out, at, r - 1), *a = mgi_pv_cell(in, at, r - 1), x[2];
    for (int64_t k = 0; k < in->shape.dim[r - 1] && !mgi_pv_over(P); k++) {
      x[0] = o[k * out->stride[r - 1]], x[1] = a[k * in->stride[r - 1]];
      o[k * out->stride[r - 1]] = op == MG_OP_SUM ? mgi_pv_add(P, x[0], x[1]) : mgi_pv_max(P, x, 2);
    }
  } while (!P->bad && mgi_ff_next_row(&in->shape, at));
  return mgi_pv_state(P);
}
MGI_FN void mgi_pv_eval_fill(void *user, mg_opcode op, void *dst, size_t n) {
  (void)user;
  for (size_t k = 0; k < n; k++) ((uint32_t *)dst)[k] = op == MG_OP_SUM ? MGI_PV_ZERO : MGI_PV_NONE;
}

/* ---- the derivation in words: of each output its index, the rows that were applied, and the form that both have */

enum { MGI_PV_FORM = 600, MGI_PV_FORM_ALL = 1 << 20 /* characters that are looked at */ };
/* Text that is cut after MGI_PV_FORM characters, and the hash of all of it. */
typedef struct mgi_pv_print {
  const mgi_prover *P;
  const mg_graph *g;
  char text[MGI_PV_FORM + 1];
  size_t n, all;
  uint64_t hash;
} mgi_pv_print;

MGI_FN void mgi_pv_say(mgi_pv_print *o, const char *format, ...) {
  char some[128];
  va_list list;
  va_start(list, format);
  vsnprintf(some, sizeof some, format, list);
  va_end(list);
  for (const char *s = some; *s; s++) {
    o->hash = mgi_ff_mix(o->hash ^ (unsigned char)*s) + 1;
    if (o->n < MGI_PV_FORM) o->text[o->n++] = *s;
    o->all++;
  }
  o->text[o->n] = 0;
}
MGI_FN void mgi_pv_say_variable(mgi_pv_print *o, uint32_t v) {
  mgi_pv_say(o, v < MGI_PV_FREE ? "i%u" : "k%u", v < MGI_PV_FREE ? v : v - MGI_PV_FREE);
}
/* An index from its digits: i0, i0/4%8 or 16*i0+k0. */
MGI_FN void mgi_pv_say_index(mgi_pv_print *o, uint32_t a, uint32_t at, uint32_t digits) {
  const mgi_prover *P = o->P;
  if (!digits) mgi_pv_say(o, "0");
  for (uint32_t j = 0; j < digits; j++) {
    uint32_t v = mgi_pv_word(P, a, at + 3 * j), div = mgi_pv_word(P, a, at + 1 + 3 * j),
             mod = mgi_pv_word(P, a, at + 2 + 3 * j);
    int64_t weight = 1;
    for (uint32_t l = j + 1; l < digits; l++) weight *= mgi_pv_word(P, a, at + 2 + 3 * l);
    if (v == MGI_PV_NAUGHT) continue;
    if (j) mgi_pv_say(o, "+");
    if (weight > 1) mgi_pv_say(o, "%lld*", (long long)weight);
    mgi_pv_say_variable(o, v);
    if (div > 1) mgi_pv_say(o, "/%u", div);
    mgi_pv_say(o, "%%%u", mod);
  }
}
MGI_FN void mgi_pv_say_poly(mgi_pv_print *o, uint32_t p);
MGI_FN void mgi_pv_say_atom(mgi_pv_print *o, uint32_t a) {
  const mgi_prover *P = o->P;
  uint32_t n = P->node[a].n;
  /* what follows enters by its own number, which is the same whenever it is made anew */
  if (o->all > MGI_PV_FORM_ALL) {
    mgi_pv_say(o, "#%u", a);
    return;
  }
  switch (mgi_pv_kind(P, a)) {
    case MGI_PV_IN: {
      mgi_pv_say(o, "%.60s", o->g->tensors[o->g->in[mgi_pv_word(P, a, 1)].id].name);
      if (mgi_pv_word(P, a, 2) == UINT32_MAX) mgi_pv_say(o, "[%u]", mgi_pv_word(P, a, 3));
      else
        for (uint32_t k = 2; k < n; k += 1 + 3 * mgi_pv_word(P, a, k)) {
          mgi_pv_say(o, k == 2 ? "[" : ", ");
          mgi_pv_say_index(o, a, k + 1, mgi_pv_word(P, a, k));
          if (k + 1 + 3 * mgi_pv_word(P, a, k) >= n) mgi_pv_say(o, "]");
        }
      return;
    }
    case MGI_PV_LESS:
      mgi_pv_say(o, "[");
      mgi_pv_say_index(o, a, 3, mgi_pv_word(P, a, 2));
      mgi_pv_say(o, "<%u]", mgi_pv_word(P, a, 1));
      return;
    case MGI_PV_FN: {
      mg_opcode op = (mg_opcode)mgi_pv_word(P, a, 1);
      mgi_pv_say(o, "%.40s(", mg_op_row(op)->name);
      for (uint32_t k = 6; k < n; k++) {
        if (k > 6) mgi_pv_say(o, ", ");
        mgi_pv_say_poly(o, mgi_pv_word(P, a, k));
      }
      if (mg_op_row(op)->attr == MG_ATTR_RAT)
        mgi_pv_say(o, ", %lld/%lld", (long long)mgi_pv_long(P, a, 2), (long long)mgi_pv_long(P, a, 4));
      mgi_pv_say(o, ")");
      return;
    }
    case MGI_PV_MAX:
      mgi_pv_say(o, "max(");
      for (uint32_t k = 1; k < n; k++) {
        if (k > 1) mgi_pv_say(o, ", ");
        mgi_pv_say_poly(o, mgi_pv_word(P, a, k));
      }
      mgi_pv_say(o, ")");
      return;
    case MGI_PV_INV:
      mgi_pv_say(o, "1/(");
      mgi_pv_say_poly(o, mgi_pv_word(P, a, 1));
      mgi_pv_say(o, ")");
      return;
    case MGI_PV_SUM: case MGI_PV_TOP: {
      uint32_t few = mgi_pv_word(P, a, 1);
      mgi_pv_say(o, mgi_pv_kind(P, a) == MGI_PV_SUM ? "sum{" : "max{");
      for (uint32_t k = 0; k < few; k++) {
        if (k) mgi_pv_say(o, ", ");
        mgi_pv_say_variable(o, mgi_pv_word(P, a, 2) + k);
        mgi_pv_say(o, "<%u", mgi_pv_word(P, a, 3 + k));
      }
      if (mgi_pv_kind(P, a) == MGI_PV_TOP && P->node[mgi_pv_word(P, a, n - 2)].vars) {
        mgi_pv_say(o, " ");
        mgi_pv_say_poly(o, mgi_pv_word(P, a, n - 2));
      }
      mgi_pv_say(o, "}(");
      mgi_pv_say_poly(o, mgi_pv_word(P, a, n - 1));
      mgi_pv_say(o, ")");
      return;
    }
    default: mgi_pv_say(o, "?");
  }
}
MGI_FN void mgi_pv_say_poly(mgi_pv_print *o, uint32_t p) {
  const mgi_prover *P = o->P;
  uint32_t n = mgi_pv_count(P, p);
  if (p == MGI_PV_NONE) mgi_pv_say(o, "-infinity");
  else if (!n) mgi_pv_say(o, "0");
  for (uint32_t k = 0; k < n && p != MGI_PV_NONE; k++) {
    mgi_pv_term t = mgi_pv_at(P, p, k);
    uint32_t powers = mgi_pv_powers(P, t.mono);
    int64_t num = t.num < 0 ? -t.num : t.num;
    int one = num == 1 && t.den == 1;
    if (k || t.num < 0) mgi_pv_say(o, t.num < 0 ? (k ? " - " : "-") : " + ");
    if (!one || !powers) mgi_pv_say(o, t.den == 1 ? "%lld" : "%lld/%lld", (long long)num, (long long)t.den);
    for (uint32_t j = 0; j < powers; j++) {
      int e = (int32_t)mgi_pv_word(P, t.mono, 2 + 2 * j);
      if (j || !one) mgi_pv_say(o, " ");
      mgi_pv_say_atom(o, mgi_pv_word(P, t.mono, 1 + 2 * j));
      if (e != 1) mgi_pv_say(o, "^%d", e);
    }
  }
}
MGI_FN void mgi_pv_tell(mgi_pv_story *story, const char *format, ...) {
  char some[MGI_PV_FORM + 256];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(some, sizeof some, format, list);
  va_end(list);
  if (!story || story->bad || n < 0) return;
  size_t more = (size_t)n < sizeof some ? (size_t)n : sizeof some - 1;
  if (story->n + more + 1 > story->cap) {
    size_t cap = 2 * story->cap + more + 256;
    char *text = (char *)realloc(story->text, cap);
    if (!text) { story->bad = 1; return; }
    story->text = text, story->cap = cap;
  }
  memcpy(story->text + story->n, some, more + 1);
  story->n += more;
}
/* The rows applied since `before` was taken. */
MGI_FN void mgi_pv_tell_rows(mgi_pv_story *story, const mgi_prover *P, const uint64_t *before) {
  int any = 0;
  mgi_pv_tell(story, "  rows:");
  for (int k = 0; k < (int)MGI_PV_ROWS; k++)
    if (P->times[k] > before[k])
      any = 1, mgi_pv_tell(story, " %s %llu", mgi_pv_axioms[k].name, (unsigned long long)(P->times[k] - before[k]));
  mgi_pv_tell(story, any ? "\n" : " none\n");
}
MGI_FN void mgi_pv_tell_form(mgi_pv_story *story, const mgi_prover *P, const mg_graph *g, const char *what,
                             uint32_t p) {
  mgi_pv_print o;
  if (!story) return;
  memset(&o, 0, sizeof o);
  o.P = P, o.g = g;
  mgi_pv_say_poly(&o, p);
  if (o.all <= MGI_PV_FORM) mgi_pv_tell(story, "  %s: %s\n", what, o.text);
  else
    mgi_pv_tell(story, "  %s: %s .. (%zu characters, hash %016llx)\n", what, o.text, o.all, (unsigned long long)o.hash);
}

/* 1 proved, 0 not; *elements counts what was compared. */
MGI_FN int mgi_prove_indexed(mgi_proof *X, const mg_graph *const *g, int64_t *elements) {
  mgi_prover *P = X->P;
  int good = 1;
  for (uint32_t k = 0; k < g[0]->n_out && good; k++) {
    uint32_t r[2];
    uint64_t before[64];
    const mg_shape *s = &g[0]->tensors[g[0]->out[k].id].shape;
    memcpy(before, P->times, sizeof before);
    for (int side = 0; side < 2; side++) {
      mgi_pv_frame f;
      mgi_pv_index x[MG_MAX_RANK];
      memset(&f, 0, sizeof f), memset(x, 0, sizeof x);
      f.g = g[side], f.serial = (uint32_t)side + 1;
      for (int d = 0; d < s->rank; d++) {
        mgi_pv_digit digit;
        if (s->dim[d] > INT32_MAX) mgi_pv_fail(P, "too large: a dimension");
        digit.var = (uint32_t)d, digit.div = 1, digit.mod = (uint32_t)s->dim[d], P->extent[d] = s->dim[d];
        mgi_pv_push(P, &x[d], digit);
      }
      r[side] = mgi_pv_element(P, &f, g[side]->out[k].id, x);
    }
    good = !P->bad && (r[0] == r[1] || mgi_pv_vanishes(X, mgi_pv_sub2(P, r[0], r[1]), 0)) && !P->bad;
    *elements += good;
    if (!good || !X->story) continue;
    mgi_pv_tell(X->story, "output %u: %.60s[", k, g[0]->tensors[g[0]->out[k].id].name);
    for (int d = 0; d < s->rank; d++) mgi_pv_tell(X->story, "%si%d<%lld", d ? ", " : "", d, (long long)s->dim[d]);
    mgi_pv_tell(X->story, "] at a symbolic index\n");
    mgi_pv_tell_rows(X->story, P, before);
    if (r[0] == r[1]) mgi_pv_tell_form(X->story, P, g[0], "both are", r[0]);
    else {
      mgi_pv_tell_form(X->story, P, g[0], "the program is", r[0]);
      mgi_pv_tell_form(X->story, P, g[0], "the other is", r[1]);
      mgi_pv_tell(X->story, "  and their difference, its denominators cleared and its sums over one index, is 0\n");
    }
  }
  return good;
}

MGI_FN int mgi_prove_elements(mgi_proof *X, const mg_graph *const *g, int64_t *elements, mg_error *e) {
  mgi_prover *P = X->P;
  uint32_t *in[MG_MAX_IN] = {NULL}, *out[2][MG_MAX_OUT] = {{NULL}};
  static const uint64_t nothing[64] = {0};
  double total = 0;
  int good = 1;
  mg_domain d;
  memset(&d, 0, sizeof d);
  d.user = P, d.elem = sizeof(uint32_t), d.map = mgi_pv_eval_map, d.matmul = mgi_pv_eval_matmul,
  d.combine = mgi_pv_eval_combine, d.fill = mgi_pv_eval_fill;
  for (uint32_t k = 0; k < g[0]->n_in; k++) total += (double)mgi_trial_elements(g[0], g[0]->in[k]);
  for (uint32_t k = 0; k < g[0]->n_out; k++) total += (double)mgi_trial_elements(g[0], g[0]->out[k]);
  if (total > 65536) { mgi_pv_fail(P, "too large to be compared element by element"); return 0; }
  for (uint32_t k = 0; k < g[0]->n_in && !P->bad; k++) {
    int64_t n = mgi_trial_elements(g[0], g[0]->in[k]);
    in[k] = (uint32_t *)malloc((size_t)(n + 1) * sizeof **in);
    for (int64_t i = 0; in[k] && i < n; i++) {
      uint32_t w[4];
      w[0] = MGI_PV_IN, w[1] = k, w[2] = UINT32_MAX, w[3] = (uint32_t)i;
      in[k][i] = mgi_pv_atom(P, mgi_pv_intern(P, w, 4), 1);
    }
    if (!in[k]) mgi_pv_fail(P, "no memory for terms");
  }
  for (int s = 0; s < 2 && !P->bad; s++) {
    for (uint32_t k = 0; k < g[0]->n_out; k++)
      if (!(out[s][k] = (uint32_t *)calloc((size_t)mgi_trial_elements(g[0], g[0]->out[k]) + 1, sizeof(uint32_t))))
        mgi_pv_fail(P, "no memory for terms");
    if (!P->bad && mg_eval(g[s], &d, (const void *const *)in, (void *const *)out[s], e) != MG_OK)
      mgi_pv_fail(P, e->msg);
  }
  for (uint32_t k = 0; k < g[0]->n_out && good && !P->bad; k++) {
    int64_t n = mgi_trial_elements(g[0], g[0]->out[k]), same = 0;
    uint64_t hash = 0;
    for (int64_t i = 0; i < n && good && !P->bad; i++) {
      uint32_t x = out[0][k][i], y = out[1][k][i];
      same += x == y;
      good = x == y || (x != MGI_PV_NONE && y != MGI_PV_NONE && mgi_pv_vanishes(X, mgi_pv_sub2(P, x, y), 0));
      *elements += good;
      hash = mgi_ff_mix(mgi_ff_mix(hash ^ x) ^ P->node[x].hash);
    }
    if (!good || P->bad || !X->story) continue;
    mgi_pv_tell(X->story, "output %u: %.60s, each of %lld elements\n", k, g[0]->tensors[g[0]->out[k].id].name,
                (long long)n);
    mgi_pv_tell_rows(X->story, P, nothing);
    mgi_pv_tell_form(X->story, P, g[0], "the first is", out[0][k][0]);
    mgi_pv_tell(
        X->story,
        "  %lld have one form in both, of the others the difference with denominators cleared is 0; hash %016llx of all\n",
        (long long)same, (unsigned long long)hash);
  }
  for (uint32_t k = 0; k < g[0]->n_in; k++) free(in[k]);
  for (int s = 0; s < 2; s++)
    for (uint32_t k = 0; k < g[0]->n_out; k++) free(out[s][k]);
  return good && !P->bad;
}

/* Looks for a float64 counterexample, and for an element on which both are defined: at least the first part of the
   outputs on four inputs, then others while `seconds` last. */
MGI_FN mg_status mgi_prove_floats(mgi_bench *B, double seconds, mg_prove_report *r, uint64_t *compared, mg_error *e) {
  mgi_cut *c;
  mgi_trial t;
  double began = mgi_seconds();
  mg_status s = mgi_bench_cut(B, MGI_ELEM_BALL, &c, e);
  if (s != MG_OK) return s;
  memset(&t, 0, sizeof t);
  t.elem = MGI_ELEM_BALL, t.F.deadline = B->watch.deadline, t.F.stop = B->watch.stop;
  uint64_t plain = 4 + 2 * (uint64_t)B->g[0]->n_in;
  const int zeros = mgi_has_choice(B->g[0]) || mgi_has_choice(B->g[1]);
  for (uint64_t round = 0; round < plain + 8 && !r->confirmed; round++) {
    uint64_t loud = mgi_real_loud(round, plain, zeros);
    t.seed = (mgi_ff_hash(B->seed, round, 10) & ~(uint64_t)255) | loud << 2 |
             (round < 4        ? round
              : round >= plain ? round & 1
                               : 0);
    for (int k = 0; k < c->n && !r->confirmed; k++) {
      mgi_outcome o;
      if (*compared && mgi_seconds() - began > seconds) return MG_OK;
      memset(&o, 0, sizeof o);
      mgi_part_run(c, &t, &c->want[k], &o);
      if (o.status == MG_LIMIT) return MG_OK;
      if (o.status != MG_OK) { *e = o.error; return o.status; }
      *compared += o.compared;
      if (o.gap > 0)
        r->confirmed = 1, r->cx_seed = t.seed, r->cx_output = o.output, r->cx_element = o.element, r->cx_a = o.a,
        r->cx_b = o.b;
    }
  }
  return MG_OK;
}

MGI_FN void mgi_prove_rows(uint64_t used, mg_prove_report *r) {
  size_t n = 0;
  for (int k = 0; k < (int)MGI_PV_ROWS; k++)
    if (used >> k & 1 && n + strlen(mgi_pv_axioms[k].name) + 2 < sizeof r->axioms)
      n += (size_t)snprintf(r->axioms + n, sizeof r->axioms - n, "%s%s", n ? " " : "", mgi_pv_axioms[k].name);
}

#define MGI_PV_NOT_SHOWN "the axioms do not show it"
/* The proof alone, by one method, without a look at floats; *why says what it lacks. */
MGI_FN int mgi_prove_told(const mg_graph *const *g, const mgi_z3 *Z, const mg_prove_config *c, double deadline,
                          int method, mg_prove_report *r, mgi_pv_story *story, char why[160], mg_error *e) {
  mgi_prover P;
  mgi_proof X;
  uint32_t w[2];
  memset(&P, 0, sizeof P), memset(&X, 0, sizeof X);
  P.limit = c->memory_limit, P.stop = c->stop, P.deadline = deadline;
  w[0] = MGI_PV_POLY, w[1] = MGI_PV_KEY;
  if (mgi_pv_intern(&P, w, 1) != MGI_PV_ZERO || mgi_pv_intern(&P, w + 1, 1) != MGI_PV_NONE)
    mgi_pv_fail(&P, "no memory for terms");
  X.P = &P, X.Z = Z, X.memory = c->memory_limit, X.story = story;
  P.most = Z ? 0 : MGI_PV_STEPS;
  if (story) story->n = 0;
  r->elements = 0, r->method = method;
  int proved = !P.bad &&
               (method == MG_PROVE_INDEXED ? mgi_prove_indexed(&X, g, &r->elements)
                                           : mgi_prove_elements(&X, g, &r->elements, e)) &&
               !P.bad;
  r->queries += X.queries, r->terms = P.n;
  if (proved) mgi_prove_rows(P.used, r);
  else snprintf(why, 160, "%s", P.bad ? P.why : X.unknown ? "the solver ended without an answer" : MGI_PV_NOT_SHOWN);
  free(P.w), free(P.node), free(P.slot);
  return proved;
}
MGI_FN int mgi_prove_by(const mg_graph *const *g, const mgi_z3 *Z, const mg_prove_config *c, double deadline,
                        int method, mg_prove_report *r, char why[160], mg_error *e) {
  return mgi_prove_told(g, Z, c, deadline, method, r, NULL, why, e);
}

/* EQUAL or UNDECIDED by the normal forms alone: no library, no floats, no draw.  At a symbolic index; where that cannot
   be, element by element if that is little work.  *derivation, which may be NULL, becomes the text of the proof
   (malloc), or NULL without one; the same graphs give the same text, whatever the limits were.  MG_OK whenever there is
   a verdict. */
MGI_FN mg_status mgi_prove_normal(const mg_graph *a, const mg_graph *b, double deadline, size_t memory_limit,
                                  const volatile int *stop, mg_prove_report *r, char **derivation, mg_error *e) {
  mg_prove_config c = mg_prove_config_default();
  mg_prove_report local;
  mg_error unread;
  mgi_pv_story story;
  const mg_graph *g[2];
  char why[2][160] = {"", ""};
  double began = mgi_seconds();
  int proved = 0;
  if (!r) r = &local;
  if (!e) e = &unread;
  if (derivation) *derivation = NULL;
  memset(r, 0, sizeof *r), memset(&story, 0, sizeof story);
  mg_status s = mg_verify_signature(a, b, e);
  if (s != MG_OK) return s;
  g[0] = a, g[1] = b;
  c.stop = stop;
  if (memory_limit) c.memory_limit = memory_limit;
  double total = 0; /* elements of inputs and outputs */
  for (uint32_t k = 0; k < a->n_in; k++) total += (double)mgi_trial_elements(a, a->in[k]);
  for (uint32_t k = 0; k < a->n_out; k++) total += (double)mgi_trial_elements(a, a->out[k]);
  for (int method = MG_PROVE_INDEXED; !proved && method <= MG_PROVE_ELEMENTS; method++) {
    /* there is a form, and it is another */
    if (method == MG_PROVE_ELEMENTS && !strcmp(why[0], MGI_PV_NOT_SHOWN) && total > MGI_PV_FEW) break;
    proved = mgi_prove_told(g, NULL, &c, deadline, method, r, derivation ? &story : NULL, why[method - 1], e);
  }
  r->seconds = mgi_seconds() - began;
  if (proved && derivation && (story.bad || !story.text))
    s = mg_fail(e, MG_NO_MEMORY, "mg_verify", "no memory for the derivation"), proved = 0;
  if (proved) {
    r->verdict = MG_EQUAL;
    snprintf(r->reason, sizeof r->reason, "proved at these sizes, %s, wherever both are defined, by one normal form",
             r->method == MG_PROVE_INDEXED ? "for a symbolic index of each output" : "element by element");
    if (derivation) *derivation = story.text, story.text = NULL;
  } else if (!why[1][0])
    snprintf(r->reason, sizeof r->reason, "not proved by normal forms: at a symbolic index %.80s", why[0]);
  else
    snprintf(r->reason, sizeof r->reason,
             "not proved by normal forms: at a symbolic index %.80s; element by element %.80s", why[0], why[1]);
  free(story.text);
  return s;
}

mg_prove_config mg_prove_config_default(void) {
  mg_prove_config c;
  memset(&c, 0, sizeof c);
  c.time_limit_s = 10, c.memory_limit = (size_t)1 << 30;
  return c;
}

/* mg_prove of the rests (PICKS in the header comment). */
MGI_FN mg_status mgi_prove_picks(const mg_graph *a, const mg_graph *b, const mg_prove_config *c, mg_prove_report *r,
                                 mg_error *e) {
  mg_rest R;
  mg_error why;
  mgi_picks_difference d;
  int large = 0;
  mg_status s = mg_rest_of(a, b, &R, &why);
  const int apart = s != MG_OK;
  if (apart) snprintf(r->reason, sizeof r->reason, "not proved: %.200s", why.msg), s = s == MG_NO_MEMORY ? s : MG_OK;
  else if (!R.g[0]) {
    r->verdict = MG_EQUAL;
    snprintf(r->reason, sizeof r->reason, "proved: all outputs are gathers and argmaxes of inputs, which are alike");
  } else s = mg_prove(R.g[0], R.g[1], c, r, e);
  const int differ = apart || r->verdict == MG_NOT_EQUAL;
  const int shown = s == MG_OK && differ && !c->skip_floats && mgi_picks_differ(a, b, c->seed, &d, &large);
  if (r->verdict == MG_NOT_EQUAL || shown) r->verdict = shown ? MG_NOT_EQUAL : MG_UNDECIDED, r->confirmed = shown;
  if (shown) {
    r->cx_seed = d.seed, r->cx_output = d.output, r->cx_element = d.element, r->cx_a = d.a, r->cx_b = d.b;
    snprintf(r->reason, sizeof r->reason,
             "a float64 run with indices: output %d, element %lld is %.9g in the first, %.9g in the second", d.output,
             (long long)d.element, d.a, d.b);
  } else if (s == MG_OK && differ && !apart) {
    mgi_picks_unshown(large, r->reason, sizeof r->reason);
  } else if (s == MG_OK && r->verdict == MG_EQUAL && R.g[0]) {
    if (mgi_picks_open(&R, mgi_seconds() + c->time_limit_s, c->stop, r->reason, sizeof r->reason))
      r->verdict = MG_UNDECIDED;
  }
  mg_rest_free(&R);
  return s;
}

mg_status mg_prove(const mg_graph *a, const mg_graph *b, const mg_prove_config *cfg, mg_prove_report *r, mg_error *e) {
  mg_prove_config c = cfg ? *cfg : mg_prove_config_default();
  mg_prove_report local;
  mg_error unread;
  mgi_z3 Z;
  mgi_bench B;
  const mg_graph *g[2];
  uint64_t compared = 0;
  double began = mgi_seconds();
  if (!r) r = &local;
  if (!e) e = &unread;
  memset(r, 0, sizeof *r), memset(&B, 0, sizeof B);
  if (!(c.time_limit_s > 0)) c.time_limit_s = 10;
  if (!c.memory_limit) c.memory_limit = (size_t)1 << 30;
  mg_status s = mg_verify_signature(a, b, e);
  for (int k = 0; k < 2 && s == MG_OK; k++) s = mg_verify_rows(k ? b : a, e);
  if (s == MG_OK && (mg_has_picks(a) || mg_has_picks(b))) return mgi_prove_picks(a, b, &c, r, e);
  if (s == MG_OK) s = mgi_z3_load(&Z, c.library, e);
  if (s != MG_OK) return s;
  unsigned v[4] = {0, 0, 0, 0};
  Z.get_version(&v[0], &v[1], &v[2], &v[3]);
  snprintf(r->solver, sizeof r->solver, "Z3 %u.%u.%u", v[0], v[1], v[2]);
  g[0] = B.g[0] = a, g[1] = B.g[1] = b;
  B.seed = c.seed, B.memory = 4.0 * ((size_t)1 << 30), B.threads = 1;
  B.watch.deadline = began + c.time_limit_s / 2, B.watch.stop = c.stop;
  if (c.skip_floats) compared = 1;
  else s = mgi_prove_floats(&B, c.time_limit_s / 10, r, &compared, e);
  for (int k = 0; k < 3; k++) mgi_cut_free(&B.cut[k]);
  char why[2][160] = {"", ""}, line[256];
  int proved = 0, tried = 0, total = 0, shown = 0;
  mgi_wide_result wide;
  memset(&wide, 0, sizeof wide);
  for (int method = MG_PROVE_INDEXED; s == MG_OK && !r->confirmed && compared && !proved && method <= MG_PROVE_ELEMENTS;
       method++) {
    if (c.method != MG_PROVE_AUTO && c.method != method) continue;
    tried = method;
    proved = mgi_prove_by(g, &Z, &c, began + c.time_limit_s, method, r, why[method - 1], e);
  }
  if (proved) {
    B.watch.deadline = began + c.time_limit_s + 1;
    shown = mgi_defined_shown(a, b, B.watch.deadline, c.stop, &total, line);
    s = mgi_wide_runs(a, b, c.seed, &B.watch, &wide, e);
    if (s == MG_LIMIT) s = MG_OK, wide.nowhere = 1;
  }
  dlclose(Z.lib);
  r->seconds = mgi_seconds() - began;
  if (s != MG_OK) return s;
  if (r->confirmed) {
    mg_verify_report words;
    memset(&words, 0, sizeof words);
    words.cx_seed = r->cx_seed, words.cx_output = r->cx_output, words.cx_element = r->cx_element, words.cx_a = r->cx_a,
    words.cx_b = r->cx_b;
    mgi_verify_counterexample(a, b, &words);
    memcpy(r->reason, words.reason, sizeof r->reason);
    r->verdict = MG_NOT_EQUAL;
  } else if (!compared)
    snprintf(r->reason, sizeof r->reason, "no float64 input was found, within the limits, on which both are defined");
  else if (proved && wide.refuted && !wide.unconfirmed) {
    mgi_wide_words(&wide, c.seed, r->reason, sizeof r->reason);
    r->verdict = MG_NOT_EQUAL;
  } else if (proved && wide.unconfirmed) mgi_wide_words(&wide, c.seed, r->reason, sizeof r->reason);
  else if (proved && !shown) snprintf(r->reason, sizeof r->reason, "%.250s", line);
  else if (proved && !total && wide.nowhere)
    snprintf(r->reason, sizeof r->reason,
             "output %d, element %lld%s: no float64 run was found on which both are defined there", wide.output,
             (long long)wide.element, wide.reduced ? " at reduced sizes" : "");
  else if (proved && !total && !wide.runs)
    snprintf(r->reason, sizeof r->reason,
             "too large for float64 runs, so it is not known that each element is defined somewhere");
  else if (proved && a->n_symbols)
    snprintf(r->reason, sizeof r->reason, "proved where each symbol is at its most, and at no other size");
  else if (proved) {
    r->verdict = MG_EQUAL;
    snprintf(r->reason, sizeof r->reason, "proved at these sizes, %s, wherever the first is defined, by %s%s%s",
             r->method == MG_PROVE_INDEXED ? "for a symbolic index of each output" : "element by element",
             r->queries ? r->solver : "one normal form", *r->axioms ? " and the axioms named" : "",
             r->queries ? "" : " (nothing was left to ask the solver)");
  } else if (why[0][0] && why[1][0])
    snprintf(r->reason, sizeof r->reason, "not proved: at a symbolic index %.100s; element by element %.100s", why[0],
             why[1]);
  else snprintf(r->reason, sizeof r->reason, "not proved: %.150s", why[tried == MG_PROVE_ELEMENTS]);
  return MG_OK;
}

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_VERIFY_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_VERIFY_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
