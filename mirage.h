/* mirage.h - v0.1.0 - µGraphs: tensor programs at kernel, block and thread level, in one C header

   WHAT
     A µGraph describes how a tensor program runs on a GPU: a kernel graph whose operators are library kernels or own
     a block graph (grid, loops, shared-memory tiles), whose operators may own a thread graph (registers).  The three
     are one struct.  This header holds the graph, its operator table, a builder, a text form, shapes and validation,
     a reference evaluator and Graphviz output.  It needs libc only.  Its companions: mirage_verify.h (equivalence),
     mirage_plan.h (machines), mirage_search.h (superoptimizer), mirage_cuda.cuh (CUDA emitter and device templates).

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage.h" (and any companion).
     Elsewhere just #include.  MIRAGE_IMPLEMENTATION means all headers, MIRAGE_CORE_IMPLEMENTATION this one alone.
     MIRAGE_DEVICE_ONLY leaves the types and the operator table that kernels need (mirage_cuda.cuh).

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage.h"
     #include <stdio.h>
     int main(void) {
       mg_graph *g = mg_program_new("tiny", NULL);
       int64_t xs[2] = {16, 64}, ws[2] = {64, 32};
       mg_tensor x = mg_input(g, "X", MG_F16, 2, xs), w = mg_input(g, "W", MG_F16, 2, ws);
       mg_output(g, mg_named(g, mg_silu(g, mg_matmul(g, x, w)), "O"));
       mg_error err;
       char *text = NULL;
       if (mg_check(g, &err) != MG_OK || mg_print(g, &text, &err) != MG_OK) {
         fprintf(stderr, "%s: %s\n", err.where, err.msg);
         return mg_exit_code(err.status);
       }
       fputs(text, stdout);
       mg_string_free(text);
       mg_graph_free(g);
       return 0;
     }

   CONTENTS (search for the tag)
     >>status  >>scalars  >>ops  >>graph  >>build  >>text  >>sizes  >>eval  >>transform  declarations
     >>arena  >>strings  >>rational  >>shapes  >>builder  >>levels  >>validate  >>polynomials  >>parser  >>printer
     >>dot  >>evaluator  >>resize  >>classes  >>symbols                                         implementation

   CONFIGURATION (define before including)
     MG_USER_TYPES(T)      rows added to the storage types from outside, see >>scalars
     MG_USER_TENSOR_SHAPES(S)  rows of those that tensor cores multiply, see there
     MG_USER_OPS(E, T)     rows added to the operator table from outside, see >>ops
     MG_USER_AXIOMS(A)     rows added to the axiom table of mirage_search.h

   CONCEPTS
     tensor   a value in one graph: device memory (kernel level), shared memory (block), registers (thread)
     op       pre-defined (a row of the operator table) or graph-defined (owns a lower graph)
     axis     of a lower graph: grid dimension x, y or z, or a loop.  A loop is also a scope: the ops in its body.
     map      for every axis, what it does to a tensor: partitions a data dimension, or replicates it (`*`); on an
              accumulator: sums (`+`), takes the maximum (`max`) or concatenates along a data dimension
     chunk    partition is contiguous, grid axes x, y, z first, then loops, outermost first; every step cuts the
              chunk so far into `count` pieces of ceil(chunk / count).  Chunks at the edge are smaller, or empty; a sum
              over nothing is 0, a maximum over nothing is minus infinity.  No padding is observable.

   ERRORS
     The library never aborts, exits or prints.  Builder calls return handles and nest; the first error sticks to the
     graph, and mg_check() reads it.  Other entry points return mg_status and fill an optional mg_error that says
     where, what was expected and what was found.

   MEMORY
     One arena a program: mg_graph_free(root) frees everything below.  mg_config sets the allocator, a byte limit, an
     allocation-count limit (for failure tests) and `separate`, which makes each allocation stand alone for the
     address sanitizer.  Strings from mg_print and mg_dot are freed by mg_string_free.

   THREADS
     No mutable globals.  Distinct programs are independent; a program that nobody changes may be read by many.

   DOES NOT
     Train, differentiate, quantise, or represent control flow that depends on data.
*/
#ifndef MIRAGE_H
#define MIRAGE_H

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define MG_VERSION 100 /* major*10000 + minor*100 + patch; companions compare it */

#if defined(__cplusplus)
#define MG_RESTRICT __restrict
#else
#define MG_RESTRICT restrict
#endif
#if defined(__GNUC__) || defined(__clang__)
#define MGI_UNUSED __attribute__((unused))
#else
#define MGI_UNUSED
#endif
#ifndef MGI_FN
#define MGI_FN static MGI_UNUSED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------- >>status */

/*          id           exit  message                                                                     */
#define MG_STATUSES(X)                                                                                        \
  X(OK,          0, "ok")                                                                                     \
  X(NOT_FOUND,   1, "nothing found, or not equal")                                                            \
  X(UNSUPPORTED, 2, "unsupported or undecided")                                                               \
  X(BAD_INPUT,   3, "bad input: text, graph or argument")                                                     \
  X(LIMIT,       3, "a stated limit was passed")                                                              \
  X(NO_MEMORY,   4, "out of memory")                                     \
  X(MACHINE,     4, "a fault of the machine: compiler, GPU, driver or file system")

typedef enum mg_status {
#define MGI_X(id, code, msg) MG_##id,
  MG_STATUSES(MGI_X)
#undef MGI_X
  MG_STATUS_COUNT
} mg_status;

/* Where and why something failed.  `line` and `column` count from 1; 0 means not applicable. */
typedef struct mg_error {
  mg_status status;
  int line, column;
  char where[96]; /* file, graph, operator or function */
  char msg[256];  /* what was expected and what was found */
} mg_error;

const char *mg_status_text(mg_status s);
int mg_exit_code(mg_status s); /* the command line tool's exit status for s */
/* Fills *e (may be NULL) and returns s.  printf-style. */
mg_status mg_fail(mg_error *e, mg_status s, const char *where, const char *fmt, ...);

/* ------------------------------------------------------------------------------------------------ >>scalars */

/* Storage types, one row each.  All but i32 are IEEE-like: a sign, an exponent, a significand whose first bit is not
   stored, subnormals, infinities.  i32 holds indices (MG_I32 below): inputs that gather reads, results of argmax,
     nothing else.  name    in the text form; the device's template of a row is mg_<name>
     digits  of the significand, with that first bit
     least   the smallest positive number is 2^least
     most    the largest finite number
     cuda    the number that cudaDataType gives it; -1: none, so that no library multiplies it
   MG_USER_TYPES(T) adds rows of 2 bytes from outside, before the include:
     #define MG_USER_TYPES(T) T(E6M9, e6m9, 2, 10, -39, 4290772992.0, -1)
   With exponents of 16 - digits bits, of which 4 to 7 are allowed, least is 3 - digits - 2^(15 - digits).  Such a row
   is all that it takes: its conversions follow from digits.  Products of a type that MG_TENSOR_SHAPES does not list are
   multiplied in f32.
     id    name  bytes  digits  least  most                    cuda                                                */
#define MG_BUILTIN_TYPES(T)                                                                                         \
  T(F16,  f16,  2,     11,     -24,   65504.0,                 2)                                                   \
  T(BF16, bf16, 2,     8,      -133,  3.3895313892515355e38,   14)                                                  \
  T(F32,  f32,  4,     24,     -149,  3.4028234663852886e38,   0)                                                   \
  T(I32,  i32,  4,     31,     0,     2147483647.0,            10)
#ifndef MG_USER_TYPES
#define MG_USER_TYPES(T)
#endif
#define MG_TYPES(T) MG_BUILTIN_TYPES(T) MG_USER_TYPES(T)

/* Shapes of the tensor cores' products, of the types that they multiply, with sums of f32: c[m, n] += a[m, k] b[k, n].
   The device's products, of warps and of warpgroups, are made of a row: ptx is what their instructions call the type.
   MG_USER_TENSOR_SHAPES(S) adds rows from outside, of types in MG_USER_TYPES.  An emitted file brings those it needs.
     type   name   m   n  k   ptx                                                                                   */
#define MG_BUILTIN_TENSOR_SHAPES(S)                                                                                 \
  S(F16,    f16,   16, 8, 16, "f16")                                                                                \
  S(BF16,   bf16,  16, 8, 16, "bf16")
#ifndef MG_USER_TENSOR_SHAPES
#define MG_USER_TENSOR_SHAPES(S)
#endif
#define MG_TENSOR_SHAPES(S) MG_BUILTIN_TENSOR_SHAPES(S) MG_USER_TENSOR_SHAPES(S)

typedef enum mg_dtype {
#define MGI_T(id, name, bytes, digits, least, most, cuda) MG_##id,
  MG_TYPES(MGI_T)
#undef MGI_T
  MG_DTYPE_COUNT
} mg_dtype;

/* One row of the list, as data; of what is no type, the first row. */
typedef struct mg_type_info {
  /* "f16", "MG_F16", "mg_f16": in the text form, to the emitted host code, to its kernels */
  const char *name, *id, *device;
  int bytes, digits, least;
  double most;
  int cuda;
} mg_type_info;
const mg_type_info *mg_type_row(mg_dtype t);

/* The row of MG_TENSOR_SHAPES of type t; NULL: the tensor cores do not multiply it. */
typedef struct mg_tensor_shape_info { mg_dtype type; int m, n, k; } mg_tensor_shape_info;
const mg_tensor_shape_info *mg_tensor_shape(mg_dtype t);
const char *mg_dtype_name(mg_dtype t); /* "f16", "bf16", "f32", "i32" */
int mg_dtype_bytes(mg_dtype t); /* i32: of an int32_t, wherever indices stand */
/* x rounded to nearest, ties to even, as the type holds it: denormals, and infinity from half a unit above the largest
   on. */
float mg_round_to(mg_dtype t, float x);
double mg_from_bits(mg_dtype t, uint32_t bits); /* of a float as it is stored */
uint32_t mg_to_bits(mg_dtype t, float x);       /* x, rounded so, as it is stored; a NaN is 0x7FFF of 16 bits */

/* Exact constant num/den, den > 0, in lowest terms, both below 2^31 in magnitude after reduction. */
typedef struct mg_rational { int64_t num, den; } mg_rational;
mg_rational mg_rat(int64_t num, int64_t den);                       /* reduced; den == 0 or overflow gives {0, 0} */
int mg_rat_mul(mg_rational a, mg_rational b, mg_rational *out);     /* 1 on success, 0 on overflow */
int mg_rat_add(mg_rational a, mg_rational b, mg_rational *out);
int64_t mg_gcd(int64_t a, int64_t b);                               /* the greatest common divisor; of 0 and b |b| */
int64_t mg_ceil_div(int64_t a, int64_t b);                          /* a / b rounded up; a >= 0, b >= 1 */

enum { MG_MAX_RANK = 5, MG_MAX_IN = 64, MG_MAX_OUT = 8, MG_MAX_AXES = 12, MG_MAX_PLAN = 48, MG_MAX_SYMBOLS = 8, MG_MAX_RANGES = 16 };
enum { MG_MASKED = -32768 }; /* what a mask adds (mg_filling): a real number, so that all that holds of reals holds;
                                exact in f16, bf16 and f32; exp of it is 0 in floats */

/* Extents, outermost dimension first. */
typedef struct mg_shape {
  int32_t rank;
  int64_t dim[MG_MAX_RANK];
} mg_shape;

/* Attributes of an operator; which are used is the table's `attr` column. */
typedef struct mg_attr {
  int32_t dim;               /* DIM: reduced, repeated or concatenated dimension, 0 <= dim < rank */
  int64_t n;                 /* DIMN: repeat count; SLICE: how many elements */
  mg_rational c;             /* RAT: the constant of scale and add_scalar; eps of rms_norm; RANGE: the least value of
                                clamp */
  mg_shape shape;            /* SHAPE: target of reshape */
  int32_t perm[MG_MAX_RANK]; /* PERM: output dimension d is input dimension perm[d] */
  mg_rational most;          /* RANGE: the greatest; emitted files initialise by position: what is new comes last */
  int64_t from;              /* SLICE: the first of the n elements along dim */
} mg_attr;

/* ---------------------------------------------------------------------------------------------------- >>ops

   One row is all that an operator takes.  E rows are elementwise, NumPy broadcasting; T rows are structural.

   E(id, name, n, levels, attr, abstract, field, real, cost)
     n         operands, a then b
     levels    MG_KBT: may stand in kernel, block and thread graphs; MG_KB_, MG_K__, MG__B_
     attr      NONE, or RAT: one exact constant c
     abstract  what the search's e-graph makes of it: ADD SUB MUL DIV EXP SQR NEG SCALE ADD_SCALAR have axioms;
               OPAQUE means a function of its own, of which only equality of arguments is known
     field     meaning over finite fields, over values a, b, c: FF_ADD, FF_SUB, FF_MUL, FF_DIV, FF_MAX (x, y),
               FF_EXP(x), FF_ZERO, FF_ONE, FF_OPAQUE(id, x): a function of x and c of which nothing is known, id being
               the row's, FF_OPAQUE_NONZERO(id, x): the same, nowhere 0; FF_OPAQUE_TWO(id, x, y): a function of two.  It
               has to be the real column's function: mirage_verify.h holds a user row's columns against each other
     real      meaning over the reals, in a, b, c and these macros: the evaluator's text over double, and the device's
               over float.  Typed by scalar: MG_C(num, den) is a constant; MG_EXP, MG_SQRT, MG_LOG, MG_ERF, MG_TANH,
               MG_SIN, MG_COS, MG_ABS take x; MG_MAX, MG_MIN, MG_POW take x, y.
     cost      its cost class, a row of the list below: what one element takes.  It decides nothing but times, and
               whether the emitter computes a value again where that saves a store.  A row may end before it, without
               the comma: it is SPECIAL then, the dearest

   T(id, name, n, levels, attr, shape, abstract, index, cost)
     shape     suffix of the shape rule: mg_status mgi_shape_<shape>(const mg_attr *A, const mg_shape *in, int n,
               mg_shape *out, mg_error *e).  The table forward-declares it; a user row's is defined by the user
               after the include of mirage.h (in the one file that holds the implementation).
     abstract  MATMUL, SUM, MAX, SAME (the value is that of its operand, moved), CONCAT, OPAQUE, SUGAR
     index     NOINDEX (the operator computes), or, for operators that move elements, C statements that say where output
               element i comes from: set j[] (starts as a copy of i), `src` (the operand, starts at 0), or
               src = -1 for zero.  In scope: const int64_t *i; int64_t *j; int src; const mg_attr *A;
               const mg_shape *S (of the operands).  The same text serves evaluator, fields and device.
     cost      as for E; where the row ends before it, MOVE for one that moves elements

   The last column of the rows here says where the operator is parallel: through which dimensions an index runs from
   operand to result, whatever the extents, so that rows picked from the operands are the rows picked from the result
   (>>classes).  A row that ends before it, and any row of the user, is parallel nowhere.

   Sugar rows are lowered by the builder and never stand in a graph.                                              */

/* Cost classes.  slots: issue slots of one element, roughly; a product's are the tensor cores', a sugar row has none.
     id        slots                                                                                               */
#define MG_COST_CLASSES(C)                                                                                         \
  C(PLAIN,     2)  /* an instruction: sums, products, comparisons */                                               \
  C(QUOTIENT,  4)                                                                                                  \
  C(SPECIAL,  10)  /* exponentials, roots, logarithms: a special function unit's, and what is around it */         \
  C(MOVE,      4)  /* of elements: addresses */                                                                    \
  C(REDUCE,    2)  /* of each element that goes in */                                                              \
  C(PRODUCT,   0)                                                                                                  \
  C(NONE,      0)

typedef enum mg_cost_class {
  MG_CLASS_, /* the row ends before the column */
#define MGI_C(id, slots) MG_CLASS_##id,
  MG_COST_CLASSES(MGI_C)
#undef MGI_C
  MG_CLASS_COUNT
} mg_cost_class;

/* Where an operator is parallel; mg_op_runs says it of one with its shapes. */
typedef enum mg_parallel_rule {
  MG_NOWHERE,
  MG_EACH,     /* everywhere, dimensions counted from the last one; one of extent 1 broadcasts */
  MG_PRODUCTS, /* rows of the left, columns of the right, leading dimensions; not what is contracted */
  MG_OTHERS,   /* all dimensions but the attribute's */
  MG_MOVED,    /* everywhere, in the attribute's order */
  MG_GROUPS,   /* a dimension that stands alone where the products of the extents before it are alike on both sides */
  MG_PICKED    /* the indices' dimensions, which come first, and those of the rows; not the one that is indexed */
} mg_parallel_rule;

enum { MG_LEVEL_K = 1, MG_LEVEL_B = 2, MG_LEVEL_T = 4 };
#define MG_KBT 7
#define MG_KB_ 3
#define MG_K__ 1
#define MG__B_ 2

#ifndef MG_USER_OPS
#define MG_USER_OPS(E, T)
#endif

#define MG_BUILTIN_OPS(E, T)                                                                                                                   \
  /* id             name            n  levels  attr   abstract    finite field                   real: evaluator and CUDA textcost class, parallel */ \
  E(ADD,           "add",           2, MG_KBT, NONE,  ADD,        FF_ADD(a, b),                  a + b,          PLAIN, MG_EACH)               \
  E(SUB,           "sub",           2, MG_KBT, NONE,  SUB,        FF_SUB(a, b),                  a - b,          PLAIN, MG_EACH)               \
  E(MUL,           "mul",           2, MG_KBT, NONE,  MUL,        FF_MUL(a, b),                  a * b,          PLAIN, MG_EACH)               \
  E(DIV,           "div",           2, MG_KBT, NONE,  DIV,        FF_DIV(a, b),                  a / b,          QUOTIENT, MG_EACH)            \
  E(EXP,           "exp",           1, MG_KBT, NONE,  EXP,        FF_EXP(a),                     MG_EXP(a),      SPECIAL, MG_EACH)             \
  E(SQR,           "sqr",           1, MG_KBT, NONE,  SQR,        FF_MUL(a, a),                  a * a,          PLAIN, MG_EACH)               \
  E(SQRT,          "sqrt",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE_NONZERO(SQRT, a),    MG_SQRT(a),     SPECIAL, MG_EACH)             \
  E(SILU,          "silu",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(SILU, a),            a / (MG_C(1, 1) + MG_EXP(-a)), SPECIAL, MG_EACH) \
  E(GELU,          "gelu",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(GELU, a),            a * MG_C(1, 2) * (MG_C(1, 1) + MG_ERF(a * MG_SQRT(MG_C(1, 2)))), SPECIAL, MG_EACH) \
  E(RELU,          "relu",          1, MG_KBT, NONE,  OPAQUE,     FF_MAX(a, FF_ZERO),            MG_MAX(a, MG_C(0, 1)), SPECIAL, MG_EACH)      \
  E(LOG,           "log",           1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(LOG, a),             MG_LOG(a),      SPECIAL, MG_EACH)             \
  E(NEG,           "neg",           1, MG_KBT, NONE,  NEG,        FF_SUB(FF_ZERO, a),            -a,             PLAIN, MG_EACH)               \
  E(SCALE,         "scale",         1, MG_KBT, RAT,   SCALE,      FF_MUL(a, c),                  a * c,          PLAIN, MG_EACH)               \
  E(ADD_SCALAR,    "add_scalar",    1, MG_KBT, RAT,   ADD_SCALAR, FF_ADD(a, c),                  a + c,          PLAIN, MG_EACH)               \
  /* id             name            n  levels  attr   shape          abstract  index: where output element i comes from   cost class, parallel */ \
  T(MATMUL,        "matmul",        2, MG_KB_, NONE,  MATMUL,        MATMUL,   NOINDEX,                                   PRODUCT, MG_PRODUCTS) \
  T(SUM,           "sum",           1, MG_KBT, DIM,   REDUCE,        SUM,      NOINDEX,                                   REDUCE, MG_OTHERS)   \
  T(MAX,           "max",           1, MG_KBT, DIM,   REDUCE,        MAX,      NOINDEX,                                   REDUCE, MG_OTHERS)   \
  T(REPEAT,        "repeat",        1, MG_KB_, DIMN,  REPEAT,        SAME,     j[A->dim] = i[A->dim] % S->dim[A->dim],    MOVE, MG_OTHERS)     \
  T(RESHAPE,       "reshape",       1, MG_KB_, SHAPE, RESHAPE,       SAME,     mg_reshape_index(i, &A->shape, j, S),      MOVE, MG_GROUPS)     \
  T(TRANSPOSE,     "transpose",     1, MG_KB_, PERM,  TRANSPOSE,     SAME,     for (int d_ = 0; d_ < S->rank; d_++) j[A->perm[d_]] = i[d_], MOVE, MG_MOVED) \
  T(CONCAT,        "concat",        2, MG_KB_, DIM,   CONCAT,        CONCAT,   if (i[A->dim] >= S->dim[A->dim]) { src = 1; j[A->dim] = i[A->dim] - S->dim[A->dim]; }, MOVE, MG_OTHERS) \
  T(CONCAT_MATMUL, "concat_matmul", 4, MG_KB_, NONE,  CONCAT_MATMUL, CONCAT_MATMUL, NOINDEX,                              PRODUCT, MG_PRODUCTS) \
  T(MEAN,          "mean",          1, MG_KBT, DIM,   REDUCE,        SUGAR,    NOINDEX,                                   NONE)                \
  T(RMS_NORM,      "rms_norm",      2, MG_KB_, NORM,  SAME,          SUGAR,    NOINDEX,                                   NONE)                \
  T(SOFTMAX,       "softmax",       1, MG_KB_, DIM,   SAME,          SUGAR,    NOINDEX,                                   NONE)                \
  T(MIN,           "min",           1, MG_KBT, DIM,   REDUCE,        SUGAR,    NOINDEX,                                   NONE)                \
  T(CLAMP,         "clamp",         1, MG_KBT, RANGE, SAME,          SUGAR,    NOINDEX,                                   NONE)                \
  T(WHERE,         "where",         3, MG_KBT, NONE,  SAME,          SUGAR,    NOINDEX,                                   NONE)                \
  T(ROPE,          "rope",          3, MG_KB_, NONE,  SAME,          SUGAR,    NOINDEX,                                   NONE)                \
  T(SLICE,         "slice",         1, MG_KB_, SLICE, SLICE,         OPAQUE,   j[A->dim] = i[A->dim] + A->from,           MOVE, MG_OTHERS)             \
  /* id             name            n  levels  attr   abstract    finite field                   real: evaluator and CUDA textcost class */    \
  E(TANH,          "tanh",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(TANH, a),            MG_TANH(a),     SPECIAL, MG_EACH)                      \
  E(SIGMOID,       "sigmoid",       1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE_NONZERO(SIGMOID, a), MG_C(1, 1) / (MG_C(1, 1) + MG_EXP(-a)), SPECIAL, MG_EACH) \
  E(RSQRT,         "rsqrt",         1, MG_KBT, NONE,  OPAQUE,     FF_DIV(FF_ONE, FF_OPAQUE_NONZERO(SQRT, a)), MG_C(1, 1) / MG_SQRT(a), SPECIAL, MG_EACH) \
  E(ABS,           "abs",           1, MG_KBT, NONE,  OPAQUE,     FF_MAX(a, FF_SUB(FF_ZERO, a)), MG_ABS(a),      PLAIN, MG_EACH)                        \
  E(TO_F16,        "to_f16",        1, MG_KBT, NONE,  OPAQUE,     a,                             a,              PLAIN, MG_EACH)                        \
  E(TO_BF16,       "to_bf16",       1, MG_KBT, NONE,  OPAQUE,     a,                             a,              PLAIN, MG_EACH)                        \
  E(TO_F32,        "to_f32",        1, MG_KBT, NONE,  OPAQUE,     a,                             a,              PLAIN, MG_EACH)                        \
  E(MAXIMUM,       "maximum",       2, MG_KBT, NONE,  OPAQUE,     FF_MAX(a, b),                  MG_MAX(a, b),   PLAIN, MG_EACH)                        \
  E(MINIMUM,       "minimum",       2, MG_KBT, NONE,  OPAQUE,     FF_SUB(FF_ZERO, FF_MAX(FF_SUB(FF_ZERO, a), FF_SUB(FF_ZERO, b))), MG_MIN(a, b), PLAIN, MG_EACH) \
  E(CLAMP_MIN,     "clamp_min",     1, MG_KBT, RAT,   OPAQUE,     FF_MAX(a, c),                  MG_MAX(a, c),   PLAIN, MG_EACH)                        \
  E(CLAMP_MAX,     "clamp_max",     1, MG_KBT, RAT,   OPAQUE,     FF_SUB(FF_ZERO, FF_MAX(FF_SUB(FF_ZERO, a), FF_SUB(FF_ZERO, c))), MG_MIN(a, c), PLAIN, MG_EACH) \
  E(KEEP,          "keep",          2, MG_KBT, NONE,  OPAQUE,     FF_MUL(FF_OPAQUE(KEEP, a), b), a != MG_C(0, 1) ? b : MG_C(0, 1), PLAIN, MG_EACH)      \
  E(DROP,          "drop",          2, MG_KBT, NONE,  OPAQUE,     FF_SUB(b, FF_MUL(FF_OPAQUE(KEEP, a), b)), a != MG_C(0, 1) ? MG_C(0, 1) : b, PLAIN, MG_EACH) \
  T(CAUSAL,        "causal",        1, MG_K__, NONE,  SAME,          SUGAR,    NOINDEX,                                   NONE)                \
  T(GATHER,        "gather",        2, MG_K__, NONE,  GATHER,        OPAQUE,   NOINDEX,                                   MOVE, MG_PICKED)     \
  T(ARGMAX,        "argmax",        1, MG_K__, DIM,   ARGMAX,        OPAQUE,   NOINDEX,                                   REDUCE, MG_OTHERS)

#define MG_OPS(E, T) MG_BUILTIN_OPS(E, T) MG_USER_OPS(E, T)

typedef enum mg_opcode {
  MG_OP_NONE = 0,
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) MG_OP_##id,
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) MG_OP_##id,
  MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
  MG_OP_TABLE_END, /* the rest are no rows of the table: they tie levels together */
  MG_OP_LOAD = MG_OP_TABLE_END, /* block: device -> shared; thread: shared -> register */
  MG_OP_STORE,                  /* the reverse; the lower graph's result */
  MG_OP_ACCUM,                  /* lifts a tensor out of loops or over grid axes */
  MG_OP_GRAPH,                  /* graph-defined operator: owns a lower graph */
  MG_OP_COUNT
} mg_opcode;

typedef enum mg_attr_kind { MG_ATTR_NONE, MG_ATTR_RAT, MG_ATTR_DIM, MG_ATTR_DIMN, MG_ATTR_SHAPE, MG_ATTR_PERM, MG_ATTR_NORM, MG_ATTR_RANGE, MG_ATTR_SLICE } mg_attr_kind;

#ifndef MIRAGE_DEVICE_ONLY /* what follows is for the host alone */
typedef enum mg_abstract {
  MG_ABS_ADD, MG_ABS_SUB, MG_ABS_MUL, MG_ABS_DIV, MG_ABS_EXP, MG_ABS_SQR, MG_ABS_NEG, MG_ABS_SCALE, MG_ABS_ADD_SCALAR,
  MG_ABS_OPAQUE, MG_ABS_MATMUL, MG_ABS_SUM, MG_ABS_MAX, MG_ABS_SAME, MG_ABS_CONCAT, MG_ABS_CONCAT_MATMUL, MG_ABS_SUGAR
} mg_abstract;

/* One row of the table, as data. */
typedef struct mg_op_info {
  const char *name;
  int n_in;
  int levels;          /* MG_LEVEL_* bits */
  mg_attr_kind attr;
  mg_abstract abstract;
  int elementwise;     /* an E row */
  int moves;           /* a T row with an index text */
  int user;            /* a row from MG_USER_OPS */
  const char *real;    /* E: the `real` column's text; else "" */
  const char *index;   /* T: the `index` column's text; else "" */
  const char *field;   /* E: the `field` column's text; else "" */
  mg_cost_class cost;  /* as the row has it; mg_op_cost says what it means */
  mg_parallel_rule parallel;
} mg_op_info;

/* The row of `op`; for LOAD .. GRAPH a row with the name and nothing else.  Never NULL. */
const mg_op_info *mg_op_row(mg_opcode op);
mg_opcode mg_op_find(const char *name, size_t len); /* MG_OP_NONE if there is no such row */
mg_cost_class mg_op_cost(int op);                   /* the row's class, or what stands for a missing one; never
                                                       MG_CLASS_ */
double mg_cost_slots(mg_cost_class c);              /* of one element */
/* The real meaning of an E row over doubles. */
double mg_op_real(mg_opcode op, double a, double b, double c);
/* Where a moving operator's output element i comes from: returns the operand, or -1 for zero; sets j. */
int mg_op_index(mg_opcode op, const mg_attr *A, const mg_shape *S, const int64_t *i, int64_t *j);
/* Where an operator is parallel: run[k][d] is the dimension of the result through which the index of operand k's
   dimension d runs, or -1.  in and out: shapes of operands and result. */
void mg_op_runs(mg_opcode op, const mg_attr *A, const mg_shape *in, const mg_shape *out,
                int8_t run[MG_MAX_IN][MG_MAX_RANK]);
/* For reshape's index text: j in shape `from` of the element that has coordinate i in shape `to`. */
void mg_reshape_index(const int64_t *i, const mg_shape *to, int64_t *j, const mg_shape *from);
/* 1 for gather and argmax, which read or make indices.  They stand in kernel-level graphs alone. */
int mg_op_picks(mg_opcode op);
/* 1 for a moving row that changes the place and the extent along one dimension, attr.dim, and passes the others
   through. */
int mg_op_along(mg_opcode op);

#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) \
  mg_status mgi_shape_##shape(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e);
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T

/* -------------------------------------------------------------------------------------------------- >>graph */

typedef enum mg_level { MG_KERNEL, MG_BLOCK, MG_THREAD } mg_level;

typedef struct { uint32_t id; } mg_tensor; /* index into graph->tensors; 0 invalid */
typedef struct { uint32_t id; } mg_axis;   /* index into graph->axes; 1, 2, 3 are grid x, y, z; loops follow; 0 is
                                              none */

/* Map entries by axis id; a data dimension is its number, >= 0. */
enum { MG_MAP_ALL = -1 /* `*` */, MG_MAP_SUM = -2 /* `+` */, MG_MAP_MAX = -3 /* `max` */, MG_MAP_NONE = -4 /* not named */ };
typedef struct mg_map { int8_t to[MG_MAX_AXES + 1]; } mg_map;
mg_map mg_map_none(void);                                /* names no axis */
mg_map mg_map_set(mg_map m, mg_axis a, int to);          /* m with axis a mapped to `to`; nests */

typedef struct mg_graph mg_graph;

/* How one dimension was cut, outermost cut first: before[k] is the extent before axis[k] cut it into its chunks. */
typedef struct mgi_cuts { int n; uint32_t axis[MG_MAX_AXES]; int64_t before[MG_MAX_AXES]; } mgi_cuts;

/* What an input of the program holds by definition.  It is an input in all that is proved: what is equal for every mask
   is equal for this one.  But nobody passes it: the evaluators' callers fill it in (mg_filled), and kernels compute it
   where they read it. */
typedef enum mg_filling {
  MG_FILL_NONE,
  MG_FILL_CAUSAL /* [queries, keys]: 0 where key <= query + keys - queries, else MG_MASKED */
} mg_filling;

typedef struct mg_tensor_info {
  const char *name;          /* unique in its graph; never NULL once mg_check passed */
  mg_dtype dtype;            /* of device tensors; block and thread tensors inherit, accumulate in fp32 */
  mg_shape shape;            /* the full chunk; at the edge it may be smaller */
  int32_t order[MG_MAX_RANK];/* memory order of an input's dimensions, outermost first; 0, 1, 2 .. by default */
  uint32_t op;               /* producer, index into graph->ops; 0 for an input of the program */
  uint32_t scope;            /* axis id of the innermost loop in whose body it lives; 0 for the graph's own body */
  uint32_t depends;          /* lower graphs: bit a is set if blocks along grid axis a may hold different values */
  uint32_t merged;           /* lower graphs: bit a is set if a grid accumulator over axis a is among its sources */
  uint8_t inner;             /* 1: no value that the program yields, as sugar makes on the way to its result, or a name
                                beginning with _ says: f32 between operators, whatever dtype is */
  uint8_t fill;              /* an mg_filling: of an input of the program, what its elements are by their indices; 0:
                                what the caller has in memory */
  const struct mgi_cuts *cuts[MG_MAX_RANK]; /* how a ragged dimension was cut; NULL if every cut was exact */
} mg_tensor_info;

typedef struct mg_op_node {
  mg_opcode code;
  uint32_t scope;            /* axis id of the loop whose body holds it; 0 for the graph's own body */
  uint8_t n_in, n_out;
  mg_tensor in[MG_MAX_IN];   /* LOAD: in[0] is a tensor of the graph above; all others: tensors of this graph */
  mg_tensor out[MG_MAX_OUT]; /* STORE has none */
  mg_attr attr;
  mg_map map;                /* LOAD: imap and fmap; STORE: omap; ACCUM: what it does over each axis */
  mg_graph *sub;             /* GRAPH: the lower graph; else NULL */
} mg_op_node;

typedef struct mg_axis_info {
  const char *name;          /* "x", "y", "z", or the loop's */
  int64_t extent;            /* number of blocks or iterations, >= 1 */
  uint32_t parent;           /* loop: enclosing loop's axis id or 0 */
  uint32_t symbol;           /* 0, or 1 + the symbol n of which it counts the chunks, ceil(n / chunk): extent is that of
                                n's most */
} mg_axis_info;

/* A size that comes with the launch.  A program with symbols is a family: the graph that stands here is the member in
   which each symbol is at its most; mg_at gives the others.  One index runs through all dimensions that a symbol names.
   Either the program is parallel in it (mg_parallel), or it contracts it: sums, maxima and products run over it
   (mg_contracted).  Chunks of it are fixed, and the one axis that cuts it counts them.
   Behind the symbols stand sizes computed of them, as 8*n, which inputs have as extents: their names are polynomials
   (>>sizes) that grow with each symbol, and no launch takes them.  Each is a class of its own, in which the program is
   parallel: what holds for all its extents holds for those that it takes. */
typedef struct mg_symbol {
  const char *name;
  int64_t least, most;       /* the graph that stands here is the member at `most` */
  int64_t last;              /* the greatest that a launch takes: `most`, or less where whole chunks go further, `in
                                3..37 of 39` */
} mg_symbol;

typedef struct mg_plan_entry { const char *key, *value; } mg_plan_entry; /* value: a word or an integer */

/* Read freely; change only through the functions below.  Index 0 of tensors, ops and axes is unused.  Ops stand in
   execution order; the ops of one loop body (nested loops included) are contiguous.  STOREs of a lower graph stand in
   the order of the owning op's outputs. */
struct mg_graph {
  const char *name;          /* the program's */
  mg_level level;
  mg_graph *up;              /* the graph that owns the op that owns this one; NULL for a program */
  uint32_t up_op;            /* that op's index in up->ops */
  mg_tensor_info *tensors;
  uint32_t n_tensors;        /* count + 1 */
  mg_op_node *ops;
  uint32_t n_ops;            /* count + 1 */
  mg_axis_info axes[MG_MAX_AXES + 1];
  uint32_t n_axes;           /* count + 1; at least 4 in a lower graph, 1 in a program */
  mg_tensor in[MG_MAX_IN];   /* kernel level: the program's inputs */
  uint32_t n_in;
  mg_tensor out[MG_MAX_OUT]; /* kernel level: the program's outputs */
  uint32_t n_out;
  mg_symbol symbol[MG_MAX_SYMBOLS]; /* kernel level */
  uint32_t n_symbols, n_computed; /* those that come with the launch, then so many computed ones */
  uint8_t in_symbol[MG_MAX_IN][MG_MAX_RANK]; /* by input and dimension: 0, or 1 + the symbol that its extent is */
  /* names of the symbols that mg_fix took out, up to a NULL: no class is called so */
  const char *fixed[MG_MAX_SYMBOLS];
  int32_t threads;           /* block level: threads of a block */
  mg_plan_entry plan[MG_MAX_PLAN];
  uint32_t n_plan;
  uint32_t cursor;           /* builder: the open scope */
  uint32_t cap_tensors, cap_ops;
  struct mgi_root *root;     /* arena and first error, shared by all levels of a program */
};

/* The info of a tensor / an op / an axis; the zeroth, all-zero entry for a handle that is not valid. */
const mg_tensor_info *mg_tensor_of(const mg_graph *g, mg_tensor t);
const mg_op_node *mg_op_of(const mg_graph *g, uint32_t op);
/* How many of g's operators before `op` have that code: of a kernel or a store, which one it is; before n_ops, all. */
int mg_ops_before(const mg_graph *g, uint32_t op, mg_opcode code);
int mg_is_output(const mg_graph *g, mg_tensor t);
int mg_uses_of(const mg_graph *g, mg_tensor t); /* how often t is an operand, or an output */
/* The dimension of which the exponential `op` of kernel-level g is divided by its sum, an inner value as it is: a
   softmax, which takes its rows' maxima off first wherever it is computed in floats; else -1. */
int mg_softmax_dim(const mg_graph *g, uint32_t op);
/* 1 if the program has no graph-defined operator, that is, if it is an input program and no µGraph. */
int mg_is_program(const mg_graph *g);
int64_t mg_shape_elements(const mg_shape *s); /* product of extents; -1 on overflow of int64 */
/* Memory strides, in elements, of an input stored densely in its `order`. */
void mg_strides(const mg_tensor_info *t, int64_t *stride);
/* A 64-bit hash of wiring, operators, attributes, maps, extents, dtypes and orders; names and plan left out. */
uint64_t mg_hash(const mg_graph *g);
/* Gives `put` the canonical form of g, word by word: what mg_hash covers, and no two graphs that differ in it give the
   same words.  Names, plan and comments are no part of it. */
void mg_canonical(const mg_graph *g, void (*put)(void *user, uint64_t word), void *user);
/* 1 if both have one canonical form; 0 if not, or if memory is out. */
int mg_graph_equal(const mg_graph *a, const mg_graph *b);

/* -------------------------------------------------------------------------------------------------- >>build */

typedef struct mg_config {
  void *(*alloc)(void *user, size_t bytes); /* NULL: malloc */
  void (*release)(void *user, void *p);
  void *user;
  size_t memory_limit;       /* bytes a program may take; 0: 256 MiB */
  size_t allocation_limit;   /* fail from this allocation on; 0: never */
  int separate;              /* each allocation stands alone */
} mg_config;
mg_config mg_config_default(void);

/* A new, empty program, or NULL if memory is out. */
mg_graph *mg_program_new(const char *name, const mg_config *cfg);
void mg_graph_free(mg_graph *program); /* NULL is fine; frees all levels; call it on the program only */

/* Program inputs, row-major, or with the memory order of the dimensions, outermost first. */
mg_tensor mg_input(mg_graph *g, const char *name, mg_dtype dtype, int rank, const int64_t *dim);
mg_tensor mg_input_ordered(mg_graph *g, const char *name, mg_dtype dtype, int rank, const int64_t *dim,
                           const int32_t *order);
/* An input [queries, keys] that is no memory: `fill` says what it holds. */
mg_tensor mg_input_filled(mg_graph *g, const char *name, mg_dtype dtype, int64_t queries, int64_t keys,
                          mg_filling fill);
/* An input like t, an input of another program, of these extents (NULL: its own). */
mg_tensor mg_input_like(mg_graph *g, const mg_tensor_info *t, const int64_t *dim);
/* What element i, in row-major order, of a filled input is. */
int64_t mg_filled(const mg_tensor_info *t, int64_t i);
const char *mg_fill_name(mg_filling fill); /* its word in a program's text */
void mg_output(mg_graph *g, mg_tensor t);
/* A size that comes with the launch, 1 <= least <= most.  Returns 1 + its index, or 0 on error. */
uint32_t mg_symbol_new(mg_graph *g, const char *name, int64_t least, int64_t most);
/* the greatest that a launch takes, if it is not `most` */
void mg_symbol_last(mg_graph *g, uint32_t symbol, int64_t last);
/* The size that text says, of the symbols so far: 1 + the index of a symbol or computed size, a new one maybe, or 0 on
   error. */
uint32_t mg_symbol_computed(mg_graph *g, const char *text);
uint32_t mg_n_sizes(const mg_graph *g); /* symbols and computed sizes */
void mg_symbol_input(mg_graph *g, mg_tensor input, int dim, uint32_t symbol);  /* that dimension, which has `most`
                                                                                  elements, is the symbol */
void mg_symbol_axis(mg_graph *sub, mg_axis a, uint32_t symbol);                /* its count is ceil(symbol / chunk) */
/* the tensor of that name on g's own level; {0}: there is none */
mg_tensor mg_find(const mg_graph *g, const char *name);
/* names t; returns t; a result named _.. is inner, unless it is an output */
mg_tensor mg_named(mg_graph *g, mg_tensor t, const char *name);

/* Any row of the table; sugar is lowered here.  `A` may be NULL where the row has no attribute. */
mg_tensor mg_apply(mg_graph *g, mg_opcode op, const mg_attr *A, int n, const mg_tensor *in);
mg_tensor mg_unary(mg_graph *g, mg_opcode op, mg_tensor a);
mg_tensor mg_binary(mg_graph *g, mg_opcode op, mg_tensor a, mg_tensor b);
mg_tensor mg_with_rat(mg_graph *g, mg_opcode op, mg_tensor a, mg_rational c); /* scale, add_scalar and user RAT rows */
mg_tensor mg_with_dim(mg_graph *g, mg_opcode op, mg_tensor a, int dim);       /* sum, max, mean, softmax; dim < 0 counts
                                                                                 from the end */
#define mg_add(g, a, b) mg_binary(g, MG_OP_ADD, a, b)
#define mg_sub(g, a, b) mg_binary(g, MG_OP_SUB, a, b)
#define mg_mul(g, a, b) mg_binary(g, MG_OP_MUL, a, b)
#define mg_div(g, a, b) mg_binary(g, MG_OP_DIV, a, b)
#define mg_matmul(g, a, b) mg_binary(g, MG_OP_MATMUL, a, b)
#define mg_exp(g, a) mg_unary(g, MG_OP_EXP, a)
#define mg_sqr(g, a) mg_unary(g, MG_OP_SQR, a)
#define mg_sqrt(g, a) mg_unary(g, MG_OP_SQRT, a)
#define mg_silu(g, a) mg_unary(g, MG_OP_SILU, a)
#define mg_gelu(g, a) mg_unary(g, MG_OP_GELU, a)
#define mg_relu(g, a) mg_unary(g, MG_OP_RELU, a)
#define mg_log(g, a) mg_unary(g, MG_OP_LOG, a)
#define mg_neg(g, a) mg_unary(g, MG_OP_NEG, a)
#define mg_tanh(g, a) mg_unary(g, MG_OP_TANH, a)
#define mg_sigmoid(g, a) mg_unary(g, MG_OP_SIGMOID, a)
#define mg_rsqrt(g, a) mg_unary(g, MG_OP_RSQRT, a)
#define mg_abs(g, a) mg_unary(g, MG_OP_ABS, a)
#define mg_maximum(g, a, b) mg_binary(g, MG_OP_MAXIMUM, a, b)
#define mg_minimum(g, a, b) mg_binary(g, MG_OP_MINIMUM, a, b)
#define mg_clamp_min(g, a, num, den) mg_with_rat(g, MG_OP_CLAMP_MIN, a, mg_rat(num, den)) /* max(a, constant) */
#define mg_clamp_max(g, a, num, den) mg_with_rat(g, MG_OP_CLAMP_MAX, a, mg_rat(num, den)) /* min(a, constant) */
#define mg_scale(g, a, num, den) mg_with_rat(g, MG_OP_SCALE, a, mg_rat(num, den))
#define mg_add_scalar(g, a, num, den) mg_with_rat(g, MG_OP_ADD_SCALAR, a, mg_rat(num, den))
#define mg_sum(g, a, dim) mg_with_dim(g, MG_OP_SUM, a, dim)
#define mg_mean(g, a, dim) mg_with_dim(g, MG_OP_MEAN, a, dim)
#define mg_max(g, a, dim) mg_with_dim(g, MG_OP_MAX, a, dim)
#define mg_min(g, a, dim) mg_with_dim(g, MG_OP_MIN, a, dim)
#define mg_softmax(g, a, dim) mg_with_dim(g, MG_OP_SOFTMAX, a, dim)
/* x / sqrt(mean(x^2, dim) + eps) [* gain]; gain {0} for none. */
mg_tensor mg_rms_norm(mg_graph *g, mg_tensor x, mg_tensor gain, mg_rational eps, int dim);
mg_tensor mg_clamp(mg_graph *g, mg_tensor a, mg_rational least, mg_rational most); /* min(max(a, least), most) */
mg_tensor mg_repeat(mg_graph *g, mg_tensor a, int dim, int64_t n);
/* Rows of w by indices: result [i.., d..] is w[index[i..], d..], for w of [m, ..] and indices of i32.  An index is in
   0..m-1; another is an error of whoever passes it: the evaluator answers MG_BAD_INPUT, a kernel traps. */
mg_tensor mg_gather(mg_graph *g, mg_tensor w, mg_tensor index);
enum { MG_NO_INDEX = -1 }; /* an argmax over what is undefined, in a field */
#define mg_argmax(g, a, dim) mg_with_dim(g, MG_OP_ARGMAX, a, dim) /* where the maximum stands, of several the first; i32; NaN is one */
/* The least number that no index in tensor t, of i32, may reach: by what gathers from, or 2^31 - 1. */
int64_t mg_index_bound(const mg_graph *g, mg_tensor t);
/* a, as a tensor of that type; there is no cast to or from i32. */
mg_tensor mg_cast(mg_graph *g, mg_tensor a, mg_dtype type);
/* 1 if op is a cast, with its type in *type, which may be NULL. */
int mg_is_cast(mg_opcode op, mg_dtype *type);
/* 1: operator op of g is a cast to 16 bits whose result is cast again, moves, loads and stores between aside: what it
   rounds off is asked for, as x - to_f32(to_bf16(x)) asks for it.  Other casts round nothing within a kernel. */
int mg_cast_rounds(const mg_graph *g, uint32_t op);
/* c != 0 ? a : b, as keep(c, a) + drop(c, b): what is not chosen may be anything, infinite too, in floats. */
mg_tensor mg_where(mg_graph *g, mg_tensor c, mg_tensor a, mg_tensor b);
/* The scores s, [.., queries, keys], plus the causal mask: later keys than the query's own, the last query's being the
   last key, get MG_MASKED.  The mask is an input that is made once for each shape and type. */
mg_tensor mg_causal(mg_graph *g, mg_tensor s);
/* Rotary embedding by halves of the last dimension: x c + (-x2 | x1) s, where x = (x1 | x2); c and s broadcast to x. */
mg_tensor mg_rope(mg_graph *g, mg_tensor x, mg_tensor c, mg_tensor s);
/* elements from .. from + n - 1 along dim */
mg_tensor mg_slice(mg_graph *g, mg_tensor a, int dim, int64_t from, int64_t n);
mg_tensor mg_reshape(mg_graph *g, mg_tensor a, int rank, const int64_t *dim);
mg_tensor mg_reshape_to(mg_graph *g, mg_tensor a, const mg_shape *shape); /* a itself, if it has that shape */
mg_tensor mg_transpose(mg_graph *g, mg_tensor a, const int32_t *perm);
mg_tensor mg_concat(mg_graph *g, mg_tensor a, mg_tensor b, int dim);
mg_tensor mg_concat_matmul(mg_graph *g, mg_tensor w, mg_tensor x, mg_tensor y, mg_tensor z); /* (w|x)(y|z) = wy + xz */

/* Opens a graph-defined operator in g: a kernel (g is a program) or a thread graph (g is a block graph).  grid holds
   the extents of x, y, z (blocks, or threads of a thread graph); threads, of a kernel's blocks, is a multiple of 32, at
   most 1024.  Build into the graph returned; then close it. */
mg_graph *mg_graph_begin(mg_graph *g, const int64_t grid[3], int threads);
mg_axis mg_grid_axis(mg_graph *sub, int which);                         /* 0, 1, 2: x, y, z */
mg_axis mg_loop_begin(mg_graph *sub, const char *name, int64_t extent); /* statements up to mg_loop_end are its body */
void mg_loop_end(mg_graph *sub);
mg_tensor mg_load(mg_graph *sub, mg_tensor above, mg_map map);
mg_tensor mg_accum(mg_graph *sub, mg_tensor t, mg_map map);
void mg_store(mg_graph *sub, mg_tensor t, mg_map map);
void mg_plan_set(mg_graph *sub, const char *key, const char *value);    /* replaces an entry of the same key */
const char *mg_plan_get(const mg_graph *sub, const char *key);          /* NULL if absent */
int64_t mg_plan_int(const mg_graph *sub, const char *key, int64_t otherwise);
/* Closes it.  out[k] is the tensor of g that the k-th store makes. Returns the number of outputs, 0 on error. */
int mg_graph_end(mg_graph *sub, mg_tensor *out);

/* The first error of building, else a validation of all levels: shapes, scopes, maps, stores, accumulators, names
   (unnamed tensors get fresh names).  A graph that passed may be given to every function of every header.  What is only
   missing yet, an output or the end of a kernel, may be added after it: it does not stick. */
mg_status mg_check(mg_graph *program, mg_error *e);

/* --------------------------------------------------------------------------------------------------- >>text

   program NAME, inputs, one statement a line, outputs; README.md has an example.  What it does not say:
     types      a kernel-level result has the 16-bit type of its operands, or f32 if one of them is f32: add(f16, f32)
                and matmul(f16, f32) are f32, matmul(f16, bf16) is refused.  cast(x, f32), printed as to_f32(x), has
                the type that it names, and is x over reals and fields: its rounding is that of what it stores.  A
                result whose name begins with _ is f32 between operators, whatever its operands are; so is what softmax
                and rms_norm make on their way, which the printer shows as _1, _2.  An output whose name begins with _
                has the type of its operands.
     constants  exact, of numerator and denominator below 2^31: 1/4096, 0.125, 1e-6; for 1/sqrt(128) 0.0883883
     softmax    exp(x) / sum(exp(x)) over the reals; in floats its rows' maxima are taken off first, in the program as
                it stands and in kernels, which keep running ones.  An exponential that is written out has none of its
                own: x beyond 88 gives NaN.  E = exp(sub(S, max(S, dim=1))), O = div(E, sum(E, dim=1)) is the form that
                keeps it.
     filled     input C : f16[64, 256] = causal is an input that nobody passes (mg_filling): 0 where key <= query + 256
                - 64, else -32768; an extent may be a size.  causal(S) adds it to scores S, one mask for all of their
                shape and type: no more queries than keys, at any size.  Kernels compute what they read of it.
                Masked scores are to lie within 32000 of the others; a row without any key has all.
     indices    input I : i32[16], Y = gather(W, I): row i of Y is row I[i] of W; argmax(X, dim=1) is of i32, the first
                of equal maxima, where both zeros are equal and a NaN is above all numbers; blocks may share a long row,
                in parts, and find the same.  No other operator reads i32, and no kernel loads it.
     accum      accum(b) {z->+} sums over the blocks of z, accum(b) {i->1} puts a loop's results side by side          */

/* Parses a program or a µGraph.  `where` names the source in errors.  *out is checked.  Any bytes may come in. */
mg_status mg_parse(const char *text, size_t len, const char *where, const mg_config *cfg, mg_graph **out, mg_error *e);
/* The same of a text that may hold several programs one after the other, as the result of a search over a symbol does;
   at most `most`. */
mg_status mg_parse_all(const char *text, size_t len, const char *where, const mg_config *cfg, int most, mg_graph **out,
                       int *n, mg_error *e);
/* Reads the file whole (at most 1 MiB) and parses it. */
mg_status mg_parse_file(const char *path, const mg_config *cfg, mg_graph **out, mg_error *e);
/* The text form; parsing it gives the same graph.  Free with mg_string_free. */
mg_status mg_print(const mg_graph *program, char **out, mg_error *e);
mg_status mg_dot(const mg_graph *program, char **out, mg_error *e); /* Graphviz, all levels as clusters */
void mg_string_free(char *s);

/* For companions with a text form of their own (mirage_model.h): memory of a program's arena, a growing string, and the
   words of a text.  mgi_alloc sets the program's sticky error where memory is out. */
void *mgi_alloc(struct mgi_root *r, size_t n); /* zeroed */
typedef struct mgi_text { char *p; size_t n, cap; int bad; } mgi_text; /* `bad` once memory is out */
void mgi_puts(mgi_text *t, const char *s);
void mgi_putf(mgi_text *t, const char *fmt, ...);
mg_status mgi_text_done(mgi_text *t, char **out, const char *where, mg_error *e);
uint64_t mgi_random(uint64_t *state); /* splitmix64 */
void mgi_names_apart(mg_graph *whole); /* no two values of all levels have one name then */
/* of two dimensions: by the same axes, to the same extents */
int mgi_same_cuts(const struct mgi_cuts *a, const struct mgi_cuts *b);
double mgi_seconds(void);             /* by the clock, from any beginning on */
int mgi_size_names(const char *text, const char *name); /* 1 if that name is in the text of a size */
enum { MGI_MAX_TEXT = 1 << 20, MGI_MAX_NEST = 64, MGI_MAX_OPS = 4096 };
typedef enum mgi_tok { MGI_EOF, MGI_NAME, MGI_NUMBER, MGI_ARROW, MGI_PUNCT } mgi_tok;
typedef struct mgi_parser {
  const char *p, *end, *where;
  const char *start; /* of the current token */
  size_t len;
  mgi_tok tok;
  int line, column;           /* of the current token */
  int next_line, next_column; /* of p */
  int depth, failed, many;    /* many: another program may follow */
  mg_error *e;
  mg_graph *root;
  struct mgi_written *shapes, **last; /* reshapes of a program with symbols, in the order of the text */
} mgi_parser;
/* P stands at the first word then. */
mg_status mgi_parser_open(mgi_parser *P, const char *text, size_t len, const char *where, mg_error *e);
void mgi_next(mgi_parser *P);
void mgi_perr(mgi_parser *P, mg_status s, const char *fmt, ...);     /* the first error, at the current word */
void mgi_expected(mgi_parser *P, const char *what);
int mgi_is(const mgi_parser *P, const char *s);
int mgi_accept(mgi_parser *P, const char *s);
void mgi_expect(mgi_parser *P, const char *s);
int mgi_name(mgi_parser *P, char name[65], const char *what);       /* of at most 64 characters */
int64_t mgi_int(mgi_parser *P, const char *what);
int mgi_good_name(const char *s);
/* MG_DTYPE_COUNT, and an error that tells of the first so many, where no type's name comes next. */
mg_dtype mgi_parse_type(mgi_parser *P, int types);

/* -------------------------------------------------------------------------------------------------- >>sizes
   Extents, counts and bytes that hang on symbols: polynomials with integer coefficients over symbols, each with bounds,
   and over floor(size / c), which counts as one more unknown.  A pool holds every size once, in canonical form: equal
   by the rules of rings is identical, n*(m + 1) and m*n + n have one index.  A ceil(x / c) is floor((x + c - 1) / c);
   of a floor what divides stands outside, floor((8*n + 3) / 4) = 2*n; a floor in a floor is one; one that its bounds
   pin is a number.  Beyond that floors are opaque: floor(n/2) + floor((n + 1)/2) is n, and has another index.
   Coefficients, constants and bounds are within -2^62..2^62.  Thread safety: one thread a pool at a time. */

typedef struct mg_sizes mg_sizes; /* a pool */
typedef uint32_t mg_size; /* of one pool; 0: none, as what it is made of is none or passes a limit, or memory ended */
enum { MG_MAX_SIZE_SYMBOLS = 16, MG_MAX_SIZE_DEGREE = 8, MG_MAX_SIZE_TERMS = 64 };
typedef enum mg_order { MG_ORDER_UNDECIDED, MG_ORDER_EQUAL, MG_ORDER_AT_MOST, MG_ORDER_AT_LEAST } mg_order;

mg_sizes *mg_sizes_new(void); /* NULL: no memory */
void mg_sizes_free(mg_sizes *s);
/* Why a size was 0, the first time since this was last called; MG_OK: none was. */
mg_status mg_sizes_error(mg_sizes *s, mg_error *e);

/* A symbol; the k-th that is new takes values[k] in mg_size_at.  One that is there already has to have its bounds. */
mg_size mg_size_symbol(mg_sizes *s, const char *name, int64_t least, int64_t most);
mg_size mg_size_int(mg_sizes *s, int64_t v);
mg_size mg_size_add(mg_sizes *s, mg_size a, mg_size b);
mg_size mg_size_sub(mg_sizes *s, mg_size a, mg_size b);
mg_size mg_size_mul(mg_sizes *s, mg_size a, mg_size b);
mg_size mg_size_floor(mg_sizes *s, mg_size a, int64_t c); /* a / c rounded towards minus infinity, c > 0 */
mg_size mg_size_ceil(mg_sizes *s, mg_size a, int64_t c);  /* towards infinity */

/* The size where symbol k is values[k], within its bounds.  MG_LIMIT: a term or a sum of terms passes 2^62. */
mg_status mg_size_at(const mg_sizes *s, mg_size a, const int64_t *values, int64_t *result, mg_error *e);
/* Bounds of its values, by intervals: each lies within, some may not be taken.  INT64_MIN, INT64_MAX: none is known. */
void mg_size_bounds(const mg_sizes *s, mg_size a, int64_t bounds[2]);
/* AT_MOST: a <= b at all values of the symbols; EQUAL: a = b at all; UNDECIDED: none was shown, any may hold.  For
   a < b compare a + 1 with b. */
mg_order mg_size_order(const mg_sizes *s, mg_size a, mg_size b);
/* Text as in "n*m + 2*ceil(n/64) - 3", one in all pools of the same symbols in order.  Free with mg_string_free. */
mg_status mg_size_print(const mg_sizes *s, mg_size a, char **out, mg_error *e);
/* size = ["-"] product {("+" | "-") product}    product = factor {"*" factor}
   factor = INT | NAME of a symbol | "(" size ")" | ("floor" | "ceil") "(" product "/" INT ")"
   `where` names the source in errors. */
mg_size mg_size_parse(mg_sizes *s, const char *text, size_t len, const char *where, mg_error *e);

/* --------------------------------------------------------------------------------------------------- >>eval */

/* A strided array of the domain's elements. */
typedef struct mg_view { void *data; mg_shape shape; int64_t stride[MG_MAX_RANK]; } mg_view;

/* What the evaluator computes over: doubles here, field elements in mirage_verify.h.  All callbacks may be called
   from several threads at once with the same `user`.  Each returns MG_OK, or what mg_eval shall return. */
typedef struct mg_domain {
  void *user;
  size_t elem; /* bytes of an element */
  /* E row: out = op(in..), every view of out's shape (0 strides where broadcast); out is dense. c is the constant. */
  mg_status (*map)(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in);
  /* C += A B for [m, k] [k, n] views. */
  mg_status (*matmul)(void *user, const mg_view *c, const mg_view *a, const mg_view *b);
  /* out = out + in, or max(out, in) (op is MG_OP_SUM or MG_OP_MAX); same shapes, strides may be 0 in out: a
     reduction. */
  mg_status (*combine)(void *user, mg_opcode op, const mg_view *out, const mg_view *in);
  /* n elements := 0 (MG_OP_SUM), the identity of max (MG_OP_MAX), or what is undefined (MG_OP_NONE). */
  void (*fill)(void *user, mg_opcode op, void *dst, size_t n);
  /* 1 if b takes the place of a, which stands before it, as their maximum; -1 if one of them is undefined, and so
     which; may be NULL: argmax has no meaning then. */
  int (*above)(void *user, const void *b, const void *a);
  /* Both may be NULL.  Kernel level: operator `op` of g comes next; its result `t` is there, dense. */
  void (*next)(void *user, const mg_graph *g, uint32_t op);
  void (*made)(void *user, const mg_graph *g, mg_tensor t, const mg_view *v);
  /* May be NULL: rounds `out`, the dense result of a cast to `type` of which mg_cast_rounds is 1. */
  void (*rounds)(void *user, mg_dtype type, const mg_view *out);
} mg_domain;

/* Doubles, of which casts are nothing; and such of which mg_cast_rounds is 1 round, what kernels are held against. */
mg_domain mg_domain_real(void);
mg_domain mg_domain_cast(void);

/* Evaluates program or µGraph as its definition says: block by block, iteration by iteration.  in[k] and out[k] are
   dense row-major arrays (whatever the memory order) of the domain's elements, of i32 int32_t (MG_NO_INDEX where it is
   undefined), matched by position; out is overwritten.  Scratch memory is bounded by the kernel-level intermediates
   that are still needed plus one block's tensors; where that is too much, evaluate in parts. */
mg_status mg_eval(const mg_graph *program, const mg_domain *d, const void *const *in, void *const *out, mg_error *e);

/* A part of a tensor: lo <= i < hi in each of its dimensions; none of it if all of these are 0. */
typedef struct mg_box { int64_t lo[MG_MAX_RANK], hi[MG_MAX_RANK]; } mg_box;
/* What a part of the outputs, or of another value, takes. */
typedef struct mg_part {
  mg_box *box;       /* by id of the kernel-level tensors: what is read of inputs and computed of the others */
  uint32_t value;    /* 0: of the outputs; else the id of the one kernel-level tensor that is wanted, and is out[0] */
  /* NULL, or by id: all of a kernel-level tensor, dense, that is read and not computed; else NULL.  The caller's */
  const void *const *given;
  double elements;   /* held at one time at most, the outputs' boxes included, the inputs' not */
  double work;       /* scalar operations, about */
} mg_part;
/* From want[k], boxes of the outputs.  Custom kernels run whole blocks, so more than that may be computed.  A caller
   may widen the boxes of inputs. */
mg_status mg_part_of(const mg_graph *program, const mg_box *want, mg_part *out, mg_error *e);
/* The same where given[id] != 0 says which kernel-level tensors are there already (all results of an operator, or none;
   given may be NULL); out->given is then to be set by the caller.  value: 0, or the tensor of which *want is a box. */
mg_status mg_part_of_value(const mg_graph *program, mg_tensor value, const mg_box *want, const uint8_t *given,
                           mg_part *out, mg_error *e);
void mg_part_free(mg_part *p);
int64_t mg_box_elements(const mg_box *b, int rank); /* -1 if that is beyond int64 */
/* mg_eval for one part.  in[k] and out[k] are dense row-major arrays of the tensors' boxes. */
mg_status mg_eval_part(const mg_graph *program, const mg_domain *d, const mg_part *p, const void *const *in,
                       void *const *out, mg_error *e);

/* ---------------------------------------------------------------------------------------------- >>transform */

/* Dimension classes: dimensions of kernel-level tensors that must have one extent (by matmul, elementwise operators,
   maps ..) share a class.  Classes are numbered from 0.  Dimensions of extent 1 that broadcast have class -1. */
typedef struct mg_classes {
  uint32_t n;
  int32_t *of;               /* of[tensor id * MG_MAX_RANK + dim] */
  int64_t *extent;           /* by class */
  uint8_t *fixed;            /* 1: an attribute (reshape, repeat, a move of a user row) pins the extent */
} mg_classes;
mg_status mg_classes_of(const mg_graph *program, mg_classes *out, mg_error *e);
void mg_classes_free(mg_classes *c);

/* The member of a family (mg_symbol) at value[k] for symbol k; it has no symbols.  Chunks are those of the member at
   hand, but where ceil(value / ceil(value / chunk)) is less, as chunks of one dimension differ by less than one row
   each.  MG_BAD_INPUT where a value is out of the symbol's bounds. */
mg_status mg_at(const mg_graph *program, const int64_t *value, mg_graph **out, mg_error *e);
/* The same family of other bounds, which need not be within its own; of its kernels the chunks are kept: MG_BAD_INPUT
   where so many rows are not cut in chunks of that size. */
mg_status mg_within(const mg_graph *program, const int64_t *least, const int64_t *most, mg_graph **out, mg_error *e);
/* The same with the bounds that the symbols of `like`, a family of the program, have. */
mg_status mg_within_of(const mg_graph *program, const mg_graph *like, mg_graph **out, mg_error *e);
/* The family of which g, without symbols, is the greatest member: its inputs have the symbols that those of `program`
   have.  MG_UNSUPPORTED where it is no family: not parallel in them, say. */
mg_status mg_family_of(const mg_graph *g, const mg_graph *program, mg_graph **out, mg_error *e);
/* Of n ranges of symbols, a µGraph each, in the order of their least values, of the first symbol first: the one that is
   for these values, and the value of `symbol` from which on range k is for none, 0: it has none such.  Example: n in
   1..8, p in 1..99; n in 1..8, p in 100..2048; n in 9..64, p in 1..2048. */
int mg_range_of(const mg_graph *const *range, int n, const int64_t *value);
int64_t mg_range_end(const mg_graph *const *range, int n, int k, uint32_t symbol);
/* mg_range_of; MG_BAD_INPUT where the values are out of the bounds of all ranges. */
mg_status mg_range_at(const mg_graph *const *range, int n, const int64_t *value, int *k, mg_error *e);
/* Their common NAME, of programs NAME_1, NAME_2 ..; MG_BAD_INPUT: they are none of the same symbols, inputs and outputs,
   one behind the other. */
mg_status mg_ranges_name(const mg_graph *const *range, int n, char name[120], mg_error *e);
/* Symbol k of all of them: its bounds, as far as each of those that have no other behind them goes.  Behind the
   symbols, the sizes computed of them. */
mg_symbol mg_range_symbol(const mg_graph *const *range, int n, uint32_t k);
/* Gives a program another name. */
mg_status mg_rename(mg_graph *program, const char *name, mg_error *e);
/* all[k]: the symbols' values, which it is given, and those of the sizes computed of them. */
mg_status mg_symbol_values(const mg_graph *program, const int64_t *value, int64_t all[MG_MAX_SYMBOLS], mg_error *e);
/* 1 if symbol k is in the text of computed size c, both from 0 on */
int mg_symbol_within(const mg_graph *g, uint32_t c, uint32_t k);
/* By dimension of kernel-level tensors, as mg_classes.of: 0, or 1 + the symbol that its extent is.  For free(). */
mg_status mg_symbols_of(const mg_graph *program, uint8_t **of, mg_error *e);
/* contracted[k]: 1 if the program is not parallel in symbol k, but contracts it: what holds at one of its sizes need
   not hold at another. */
mg_status mg_contracted(const mg_graph *program, uint8_t contracted[MG_MAX_SYMBOLS], mg_error *e);
/* The least and the greatest chunk that kernels of a family have of a symbol, 1 + its number: one that counts none has
   all of it in its tile; those of whole operators have tiles of 16 or 64. */
void mg_symbol_chunks(const mg_graph *g, uint32_t symbol, int64_t chunk[2]);
/* The values of a symbol that links 1 and 2 run, in order: its least, those around whole[k], whole numbers of its least
   and of its greatest chunks, and further[k], as far as they are within least..most; how many. */
enum { MG_SYMBOL_SIZES = 9 };
int mg_symbol_sizes(int64_t least, int64_t most, const int64_t whole[2], const int64_t further[2],
                    int64_t value[MG_SYMBOL_SIZES]);
/* The family in which symbol k has value[k], as in mg_at, wherever fixed[k] is not 0; it keeps the others. */
mg_status mg_fix(const mg_graph *program, const uint8_t *fixed, const int64_t *value, mg_graph **out, mg_error *e);

/* Classes of an index: sets of (input or output, dimension) through which one index runs from the inputs to the outputs
   of one graph, or of two with one signature at once, so that each output row is one function of the input rows of that
   index, whatever the extent (>>classes has the rules).  Extents are those of the graphs as written; of extent 1 is no
   class. */
enum { MG_MAX_CLASSES = MG_MAX_IN * MG_MAX_RANK };
typedef struct mgi_level { const mg_graph *g; uint32_t base; } mgi_level; /* nodes of a graph start at base */
typedef struct mg_parallel {
  int n;                                   /* classes, numbered from 0 in the order of the inputs' dimensions */
  int64_t extent[MG_MAX_CLASSES];          /* by class */
  int nested[MG_MAX_CLASSES];              /* by class: the most axes that cut it one after another */
  int32_t in[MG_MAX_IN][MG_MAX_RANK];      /* class of an input's dimension, or -1 */
  int32_t out[MG_MAX_OUT][MG_MAX_RANK];    /* of an output's */
  uint8_t lost[MG_MAX_IN][MG_MAX_RANK];    /* of an input's dimension that has none: the mg_opcode at which it first was
                                              none; 0: at none */
  int graphs;
  mgi_level *level;                        /* both graphs' levels; graph k's own is level[first[k]] */
  uint32_t n_levels, first[2];
  struct mgi_label *dim;                     /* by node */
  int32_t *axis;                           /* by level and axis: the class that it cuts, or below 0 */
} mg_parallel;
/* a alone, or with b; *out is to be freed, and speaks of the graphs as long as they live. */
mg_status mg_parallel_of(const mg_graph *a, const mg_graph *b, mg_parallel *out, mg_error *e);
/* The number of g, a graph of any level of graph `which`. */
uint32_t mg_parallel_level(const mg_parallel *p, int which, const mg_graph *g);
void mg_parallel_free(mg_parallel *p);
/* A copy of the which-th graph (0 or 1) at other extents of its classes: class c gets extent[c], and every axis that
   cuts it chunks[c] (chunks NULL: as written); all else is as written.  MG_BAD_INPUT and others where the builder
   refuses it. */
mg_status mg_parallel_resize(const mg_parallel *p, int which, const int64_t *extent, const int64_t *chunks,
                             mg_graph **out, mg_error *e);

/* Union-find: uf[x] is x for the least of a class. */
MGI_FN uint32_t mgi_uf_find(uint32_t *uf, uint32_t x) {
  while (uf[x] != x) x = uf[x] = uf[uf[x]];
  return x;
}
MGI_FN void mgi_uf_join(uint32_t *uf, uint32_t a, uint32_t b) {
  a = mgi_uf_find(uf, a), b = mgi_uf_find(uf, b);
  if (a != b) uf[a > b ? a : b] = a > b ? b : a;
}

/* A copy with other sizes: class c gets extent[c]; axis a of the k-th graph-defined kernel gets
   counts[k * (MG_MAX_AXES + 1) + a] (counts NULL: all kept).  Constants are kept.  Plans are kept.  A slice of the
   kernel level takes the same part of its operand: MG_BAD_INPUT where that is not whole. */
mg_status mg_resize(const mg_graph *program, const int64_t *extent, const int64_t *counts, mg_graph **out, mg_error *e);

/* What makes the kernel-level tensor `want` of a program or µGraph, as one of its own: in[k], other kernel-level
   tensors, are its inputs, by their names and in that order, needed or not.  Of a kernel with several outputs it has
   those that it needs and what they are made of, without a plan then.  It has no symbols: of a family it is a piece of
   the member with the most of each.  MG_BAD_INPUT if it needs an input of g besides. */
mg_status mg_piece_of(const mg_graph *g, int n_in, const mg_tensor *in, mg_tensor want, mg_graph **out, mg_error *e);
/* need[k]: whether the kernel-level tensor t of g, which an operator makes, is made of the k-th operand of that;
   returns which of its outputs t is. */
int mg_piece_needs(const mg_graph *g, mg_tensor t, uint8_t need[MG_MAX_IN]);
/* The reverse: adds all operators of `piece`, a program or µGraph, to g.  in[k], kernel-level tensors of g, take the
   places of its inputs; out[k] is what its k-th output becomes.  Errors stick to g, and out is not set then. */
void mg_insert(mg_graph *g, const mg_graph *piece, const mg_tensor *in, mg_tensor *out);

/* What a program, or two, is without its picks (mg_op_picks): a gather's result is an input of the rest, whatever its
   rows hold; what a gather takes rows of, or an argmax looks through, is one more output of it, unless that is an input
   of the rest.  Indices are in no rest.  Of two, pick k is the same function of both: of the same index, and of
   operands that have the same place in both rests.  So programs whose rests are equal have the same picks, and are
   equal (Theorem E of mirage_verify.h).  The rests' inputs are those of the program that one of them reads, and then
   the gathers' results. */
enum { MG_MAX_PICKS = 8 };
typedef struct mg_pick {
  uint32_t op[2];            /* the gather or argmax, by graph, the first of several that are one; 0: that graph has
                                none */
  mg_tensor of[2];           /* by graph: its first operand */
  int index;                 /* gather: by what input of the program; -1 - k: by pick k, an argmax */
  int input, output;         /* of the rest: a gather's result, or -1 where nothing reads it; the operand, or -1 where
                                that is no output */
} mg_pick;
typedef struct mg_rest {
  mg_graph *g[2];            /* NULL where nothing is left: all outputs are picks of inputs */
  int n;
  mg_pick pick[MG_MAX_PICKS];
  int in[MG_MAX_IN];         /* by input of the program: the rest's, or -1: it reads none such */
  int out[MG_MAX_OUT];       /* by output of the program: the rest's, or -1 - k: pick k's result */
  int computed;              /* 1: a gather hands on what is computed, or is by an index that is */
} mg_rest;
int mg_has_picks(const mg_graph *program);
/* a alone (b NULL), or both.  MG_UNSUPPORTED, with the reason: too many picks or outputs, or the second has a pick that
   the first has not.  Free *out in any case. */
mg_status mg_rest_of(const mg_graph *a, const mg_graph *b, mg_rest *out, mg_error *e);
void mg_rest_free(mg_rest *r);
/* The reverse: the µGraph that computes `program`, of which r is the rest, as `rest` computes r->g[0].  MG_UNSUPPORTED
   where a kernel of the rest would wait for a pick of what it stores. */
mg_status mg_rest_join(const mg_graph *program, const mg_rest *r, const mg_graph *rest, mg_graph **out, mg_error *e);

/* A copy of µGraph g in which load `op` of the kernel that is operator `kernel` reads tensor `to`, of which the
   reshapes and transposes move[0..n) make what it reads now; or in which store `op` writes `to`, which they make of
   what it writes now.  The moves become addresses, and a transpose or a reshape, or both, of what the block has; the
   grid's axes may change places, and one become two; the plan is copied as it is; operators that nothing needs are left
   out.  MG_UNSUPPORTED where no map of the kernel's axes says them, or where others read what would be stored no
   more. */
mg_status mg_fold_moves(const mg_graph *g, uint32_t kernel, uint32_t op, mg_tensor to, int n,
                        const mg_op_node *const *move, mg_graph **out, mg_error *e);

/* A copy without thread graphs: their operators stand in the block graph, over whole block tensors.  That is the same
   where they treat elements alike: no loop, elementwise operators over equal cuts, sums and maxima over dimensions that
   no thread axis cuts, stores that undo the cuts.  MG_UNSUPPORTED, with the reason, for any other.  The reverse of
   mg_fuse_threads (mirage_search.h). */
mg_status mg_inline_threads(const mg_graph *ugraph, mg_graph **out, mg_error *e);
int mg_has_threads(const mg_graph *ugraph); /* 1 if there is a thread graph */
#endif /* MIRAGE_DEVICE_ONLY */

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_H */

/* =================================================================================================== implementation */

#if (defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_CORE_IMPLEMENTATION)) && !defined(MIRAGE_DEVICE_ONLY)
#ifndef MIRAGE_CORE_IMPLEMENTED
#define MIRAGE_CORE_IMPLEMENTED

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

static_assert(MG_OP_COUNT < 256, "an opcode fits a byte: mg_hash and the search rely on it");
static_assert(MG_MAX_AXES <= 15, "axis sets are 16-bit masks");
static_assert(MG_MAX_IN <= 64, "sets of inputs are 64-bit masks");

/* --------------------------------------------------------------------------------------------- >>arena
   One arena a program, in chunks that are freed together.  `separate` gives every allocation a chunk of its own.
   Invariants: bytes and allocations only grow; a failed allocation sets the sticky error and changes nothing else. */

typedef struct mgi_chunk { struct mgi_chunk *next; size_t used, size; } mgi_chunk;

typedef struct mgi_root {
  mg_config cfg;
  mgi_chunk *chunks;
  size_t bytes, allocations;
  mg_error err; /* the first error of building */
  uint32_t open; /* graphs begun and not ended */
} mgi_root;

mg_config mg_config_default(void) {
  mg_config c;
  memset(&c, 0, sizeof c);
  c.memory_limit = (size_t)256 << 20;
  return c;
}

MGI_FN void *mgi_raw_alloc(mgi_root *r, size_t n) {
  r->allocations++;
  if (r->cfg.allocation_limit && r->allocations >= r->cfg.allocation_limit) return NULL;
  if (n > r->cfg.memory_limit - r->bytes) return NULL; /* bytes never passes the limit */
  void *p = r->cfg.alloc ? r->cfg.alloc(r->cfg.user, n) : malloc(n);
  if (p) r->bytes += n;
  return p;
}

MGI_FN void mgi_raw_free(const mg_config *c, void *p) {
  if (c->release) c->release(c->user, p);
  else if (!c->alloc) free(p);
}

/* Zeroed memory, or NULL with the sticky error set. */
void *mgi_alloc(mgi_root *r, size_t n) {
  n = (n + 15) & ~(size_t)15;
  mgi_chunk *c = r->chunks;
  if (!c || r->cfg.separate || c->size - c->used < n) {
    size_t size = r->cfg.separate || n > 16384 ? n : 16384;
    c = (mgi_chunk *)mgi_raw_alloc(r, sizeof(mgi_chunk) + size);
    if (!c) {
      int limit = sizeof(mgi_chunk) + size > r->cfg.memory_limit - r->bytes;
      if (r->err.status == MG_OK && limit)
        mg_fail(&r->err, MG_LIMIT, "arena", "%zu bytes more than the %zu in use pass the limit of %zu", n, r->bytes,
                r->cfg.memory_limit);
      else if (r->err.status == MG_OK)
        mg_fail(&r->err, MG_NO_MEMORY, "arena", "no memory for %zu bytes more than the %zu in use", n, r->bytes);
      return NULL;
    }
    c->next = r->chunks, c->used = 0, c->size = size;
    r->chunks = c;
  }
  void *p = (char *)(c + 1) + c->used;
  c->used += n;
  memset(p, 0, n);
  return p;
}

MGI_FN char *mgi_copy_string(mgi_root *r, const char *s, size_t n) {
  char *p = (char *)mgi_alloc(r, n + 1);
  if (p) memcpy(p, s, n);
  return p;
}

/* ------------------------------------------------------------------------------------------- >>strings */

const char *mg_status_text(mg_status s) {
  static const char *const text[] = {
#define MGI_X(id, code, msg) msg,
      MG_STATUSES(MGI_X)
#undef MGI_X
  };
  static_assert(sizeof text / sizeof *text == MG_STATUS_COUNT, "one message a status");
  return (unsigned)s < MG_STATUS_COUNT ? text[s] : "unknown status";
}

int mg_exit_code(mg_status s) {
  static const int code[] = {
#define MGI_X(id, code, msg) code,
      MG_STATUSES(MGI_X)
#undef MGI_X
  };
  return (unsigned)s < MG_STATUS_COUNT ? code[s] : 4;
}

MGI_FN mg_status mgi_vfail(mg_error *e, mg_status s, const char *where, const char *fmt, va_list ap) {
  if (!e) return s;
  memset(e, 0, sizeof *e);
  e->status = s;
  snprintf(e->where, sizeof e->where, "%s", where ? where : "");
  vsnprintf(e->msg, sizeof e->msg, fmt, ap);
  return s;
}

mg_status mg_fail(mg_error *e, mg_status s, const char *where, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  mgi_vfail(e, s, where, fmt, ap);
  va_end(ap);
  return s;
}

/* The builder's: only the first error is kept. */
MGI_FN void mgi_err(mg_graph *g, mg_status s, const char *where, const char *fmt, ...) {
  if (!g || g->root->err.status != MG_OK) return;
  va_list ap;
  va_start(ap, fmt);
  mgi_vfail(&g->root->err, s, where, fmt, ap);
  va_end(ap);
}

MGI_FN void mgi_putn(mgi_text *t, const char *s, size_t n) {
  if (t->bad) return;
  if (n + 1 > t->cap - t->n) {
    size_t cap = (t->cap + n + 64) * 2;
    char *p = (char *)realloc(t->p, cap);
    if (!p) { t->bad = 1; return; }
    t->p = p, t->cap = cap;
  }
  memcpy(t->p + t->n, s, n);
  t->n += n;
  t->p[t->n] = 0;
}
void mgi_puts(mgi_text *t, const char *s) { mgi_putn(t, s, strlen(s)); }
void mgi_putf(mgi_text *t, const char *fmt, ...) {
  char buf[512];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(buf, sizeof buf, fmt, ap);
  va_end(ap);
  mgi_putn(t, buf, n < 0 ? 0 : (size_t)n < sizeof buf ? (size_t)n : sizeof buf - 1);
}
mg_status mgi_text_done(mgi_text *t, char **out, const char *where, mg_error *e) {
  if (t->bad || !t->p) { free(t->p); *out = NULL; return mg_fail(e, MG_NO_MEMORY, where, "no memory for the text"); }
  *out = t->p;
  return MG_OK;
}
void mg_string_free(char *s) { free(s); }

MGI_FN uint64_t mgi_finish(uint64_t z) { /* the finalizer of splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
MGI_FN uint64_t mgi_mix(uint64_t h, uint64_t v) {
  return mgi_finish(h ^ (v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2)));
}
double mgi_seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
uint64_t mgi_random(uint64_t *state) { return mgi_finish(*state += 0x9e3779b97f4a7c15u); }

/* ------------------------------------------------------------------------------------------ >>rational */

int64_t mg_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
int64_t mg_gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a, b = b < 0 ? -b : b;
  while (b) { int64_t t = a % b; a = b, b = t; }
  return a;
}

mg_rational mg_rat(int64_t num, int64_t den) {
  mg_rational r = {0, 0};
  if (den == 0 || num == INT64_MIN || den == INT64_MIN) return r;
  int64_t g = mg_gcd(num, den);
  num /= g, den /= g;
  if (den < 0) num = -num, den = -den;
  if (num > INT32_MAX || num < -INT32_MAX || den > INT32_MAX) return r;
  r.num = num, r.den = den;
  return r;
}
int mg_rat_mul(mg_rational a, mg_rational b, mg_rational *out) {
  *out = mg_rat(a.num * b.num, a.den * b.den); /* both below 2^62 */
  return out->den != 0;
}
int mg_rat_add(mg_rational a, mg_rational b, mg_rational *out) {
  *out = mg_rat(a.num * b.den + b.num * a.den, a.den * b.den);
  return out->den != 0;
}

const mg_type_info *mg_type_row(mg_dtype t) {
  static const mg_type_info rows[] = {
#define MGI_T(id, name, bytes, digits, least, most, cuda) {#name, "MG_" #id, "mg_" #name, bytes, digits, least, most, cuda},
      MG_TYPES(MGI_T)
#undef MGI_T
  };
  return &rows[(unsigned)t < MG_DTYPE_COUNT ? t : 0];
}
#define MGI_T(id, name, bytes, digits, least, most, cuda)                                                           \
  static_assert(bytes == 2 && digits >= 9 && digits <= 12, "a user's type has 2 bytes, exponents of 4 to 7 bits");    \
  static_assert(least == 3 - digits - (1 << (15 - digits)), "the least number of an IEEE-like type of 16 bits");
MG_USER_TYPES(MGI_T)
#undef MGI_T
#define MGI_S(type, name, m, n, k, ptx) static_assert(m == 16 && n == 8 && k == 16, "fragments are laid out for 16 x 8 over 16");
MG_TENSOR_SHAPES(MGI_S)
#undef MGI_S
const mg_tensor_shape_info *mg_tensor_shape(mg_dtype t) {
  static const mg_tensor_shape_info rows[] = {
#define MGI_S(type, name, m, n, k, ptx) {MG_##type, m, n, k},
      MG_TENSOR_SHAPES(MGI_S)
#undef MGI_S
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (rows[k].type == t) return &rows[k];
  return NULL;
}
const char *mg_dtype_name(mg_dtype t) {
  return (unsigned)t < MG_DTYPE_COUNT ? mg_type_row(t)->name : "?";
}
int mg_dtype_bytes(mg_dtype t) { return mg_type_row(t)->bytes; }
float mg_round_to(mg_dtype t, float x) {
  const mg_type_info *row = mg_type_row(t);
  const int cut = 24 - row->digits; /* bits of f32's significand that are lost */
  uint32_t u, sign;
  memcpy(&u, &x, 4);
  if (!cut || x != x) return x;
  sign = u & 0x80000000u, u &= 0x7FFFFFFFu;
  if (row->least > -133 && (int)(u >> 23) - 127 < row->least + row->digits - 1) { /* subnormal: multiples of 2^least */
    const double steps = rint(ldexp(fabs((double)x), -row->least));
    x = (float)ldexp(steps, row->least);
    memcpy(&u, &x, 4);
  } else u = (u + ((1u << (cut - 1)) - 1) + ((u >> cut) & 1)) & ~((1u << cut) - 1);
  memcpy(&x, &u, 4);
  if ((double)x > row->most) u = 0x7F800000u;
  u |= sign;
  memcpy(&x, &u, 4);
  return x;
}
uint32_t mg_to_bits(mg_dtype t, float x) {
  const mg_type_info *row = mg_type_row(t);
  const int stored = row->digits - 1, low = row->least + row->digits; /* below 2^low all numbers are as far apart */
  const float r = mg_round_to(t, x);
  int exponent;
  uint32_t u;
  memcpy(&u, &r, 4);
  if (row->bytes == 4) return u;
  if (x != x) return 0x7FFF;
  if (row->digits == 8) return u >> 16; /* the upper half of an f32 */
  const uint32_t sign = u >> 16 & 0x8000;
  const double v = fabs((double)r), m = frexp(v, &exponent);
  if (v > row->most) return sign | (0xFFFFu >> row->digits) << stored;
  if (v < ldexp(1, low - 1)) return sign | (uint32_t)ldexp(v, -row->least);
  return sign | (uint32_t)(exponent - low + 1) << stored | ((uint32_t)ldexp(m, row->digits) & ((1u << stored) - 1));
}
double mg_from_bits(mg_dtype t, uint32_t bits) {
  const mg_type_info *row = mg_type_row(t);
  float f;
  if (row->bytes == 2 && row->digits != 8) {
    const int stored = row->digits - 1, special = (int)(0xFFFFu >> row->digits),
              exponent = (int)(bits >> stored) & special, m = (int)bits & ((1 << stored) - 1);
    double v = exponent == special ? (m ? NAN : HUGE_VAL)
               : exponent          ? ldexp((1 << stored) + m, exponent - 1 + row->least)
                                   : ldexp(m, row->least);
    return bits & 0x8000 ? -v : v;
  }
  if (row->bytes == 2) bits <<= 16;
  memcpy(&f, &bits, 4);
  return f;
}

/* -------------------------------------------------------------------------------------------- >>shapes
   The operator table as data, and the shape rules that its rows name.  A rule sees operand shapes and attribute, with
   attr.dim already made non-negative; it writes *out or says what was expected and what was found. */

/* 1 if the index column is the word NOINDEX: it pastes to a macro whose second piece is 1. */
#define MGI_PROBE_NOINDEX ~, 1
#define MGI_SECOND(a, b, ...) b
#define MGI_IS_NOINDEX(...) MGI_SECOND(__VA_ARGS__, 0, 0)

/* What may end a row: its cost class, and where it is parallel, which a row of the user does not say. */
#define MGI_FIRST(a, ...) a
#define MGI_FIRST_TWO(a, b, ...) a, b

static const mg_op_info mgi_rows[] = {
    {"none", 0, 0, MG_ATTR_NONE, MG_ABS_OPAQUE, 0, 0, 0, "", "", "", MG_CLASS_NONE, MG_NOWHERE},
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) \
  {name, n, lv, MG_ATTR_##attr, MG_ABS_##abs, 1, 0, 0, #real, "", #field, MGI_FIRST_TWO(MG_CLASS_##__VA_ARGS__, MG_NOWHERE, 0)},
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) \
  {name, n, lv, MG_ATTR_##attr, MG_ABS_##abs, 0, !MGI_IS_NOINDEX(MGI_PROBE_##index), 0, "", #index, "", MGI_FIRST_TWO(MG_CLASS_##__VA_ARGS__, MG_NOWHERE, 0)},
    MG_BUILTIN_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) \
  {name, n, lv, MG_ATTR_##attr, MG_ABS_##abs, 1, 0, 1, #real, "", #field, MGI_FIRST(MG_CLASS_##__VA_ARGS__, 0), MG_NOWHERE},
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) \
  {name, n, lv, MG_ATTR_##attr, MG_ABS_##abs, 0, !MGI_IS_NOINDEX(MGI_PROBE_##index), 1, "", #index, "", MGI_FIRST(MG_CLASS_##__VA_ARGS__, 0), MG_NOWHERE},
    MG_USER_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    {"load", 1, 0, MG_ATTR_NONE, MG_ABS_SAME, 0, 0, 0, "", "", "", MG_CLASS_NONE, MG_NOWHERE},
    {"store", 1, 0, MG_ATTR_NONE, MG_ABS_SAME, 0, 0, 0, "", "", "", MG_CLASS_NONE, MG_NOWHERE},
    {"accum", 1, 0, MG_ATTR_NONE, MG_ABS_SUM, 0, 0, 0, "", "", "", MG_CLASS_NONE, MG_NOWHERE},
    {"graph", 0, 0, MG_ATTR_NONE, MG_ABS_OPAQUE, 0, 0, 0, "", "", "", MG_CLASS_NONE, MG_NOWHERE},
};
static_assert(sizeof mgi_rows / sizeof *mgi_rows == MG_OP_COUNT, "one row an opcode, in the enum's order");

const mg_op_info *mg_op_row(mg_opcode op) { return &mgi_rows[(unsigned)op < MG_OP_COUNT ? op : 0]; }

mg_cost_class mg_op_cost(int op) {
  const mg_op_info *row = mg_op_row((mg_opcode)op);
  return row->cost != MG_CLASS_ ? row->cost : row->moves ? MG_CLASS_MOVE : MG_CLASS_SPECIAL;
}
double mg_cost_slots(mg_cost_class c) {
  static const double slots[] = {
      0,
#define MGI_C(id, slots) slots,
      MG_COST_CLASSES(MGI_C)
#undef MGI_C
  };
  return (unsigned)c < MG_CLASS_COUNT ? slots[c] : 0;
}

mg_opcode mg_op_find(const char *name, size_t len) {
  for (int k = 1; k < MG_OP_TABLE_END; k++)
    if (strlen(mgi_rows[k].name) == len && !memcmp(mgi_rows[k].name, name, len)) return (mg_opcode)k;
  return MG_OP_NONE;
}

/* The real column over doubles.  Unlike fmax, these spread a NaN, as frameworks and kernels do. */
MGI_FN double mgi_real_most(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }
MGI_FN double mgi_real_least(double a, double b) { return a != a ? a : b != b ? b : a < b ? a : b; }
#define MG_C(num, den) ((double)(num) / (double)(den))
#define MG_EXP(x) exp(x)
#define MG_SQRT(x) sqrt(x)
#define MG_LOG(x) log(x)
#define MG_ERF(x) erf(x)
#define MG_TANH(x) tanh(x)
#define MG_MAX(x, y) mgi_real_most(x, y)
#define MG_MIN(x, y) mgi_real_least(x, y)
#define MG_ABS(x) fabs(x)
#define MG_SIN(x) sin(x)
#define MG_COS(x) cos(x)
#define MG_POW(x, y) pow(x, y)
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) \
  MGI_FN double mgi_real_##id(double a, double b, double c) { (void)a; (void)b; (void)c; return real; }
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
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

double mg_op_real(mg_opcode op, double a, double b, double c) {
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) case MG_OP_##id: return mgi_real_##id(a, b, c);
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return NAN;
  }
}

void mg_reshape_index(const int64_t *i, const mg_shape *to, int64_t *j, const mg_shape *from) {
  int64_t flat = 0;
  for (int d = 0; d < to->rank; d++) flat = flat * to->dim[d] + i[d];
  for (int d = from->rank - 1; d >= 0; d--) j[d] = flat % from->dim[d], flat /= from->dim[d];
}

#define NOINDEX (void)j
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)                                               \
  MGI_FN int mgi_index_##id(const mg_attr *A, const mg_shape *S, const int64_t *i, int64_t *j) {            \
    int src = 0;                                                                                           \
    (void)A; (void)S; (void)i; (void)j;                                                                    \
    index;                                                                                                 \
    return src;                                                                                            \
  }
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#undef NOINDEX

int mg_op_index(mg_opcode op, const mg_attr *A, const mg_shape *S, const int64_t *i, int64_t *j) {
  for (int d = 0; d < MG_MAX_RANK; d++) j[d] = i[d];
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) case MG_OP_##id: return mgi_index_##id(A, S, i, j);
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return 0;
  }
}

int mg_op_picks(mg_opcode op) { return op == MG_OP_GATHER || op == MG_OP_ARGMAX; }
int mg_op_along(mg_opcode op) { return op == MG_OP_CONCAT || op == MG_OP_REPEAT || op == MG_OP_SLICE; }

/* "[16, 4096]" */
MGI_FN const char *mgi_shape_text(const mg_shape *s, char *buf, size_t n) {
  size_t k = (size_t)snprintf(buf, n, "[");
  for (int d = 0; d < s->rank && k < n; d++)
    k += (size_t)snprintf(buf + k, n - k, d ? ", %lld" : "%lld", (long long)s->dim[d]);
  if (k < n) snprintf(buf + k, n - k, "]");
  return buf;
}

int64_t mg_shape_elements(const mg_shape *s) {
  int64_t n = 1;
  for (int d = 0; d < s->rank; d++) {
    if (s->dim[d] == 0) return 0;
    if (n > INT64_MAX / s->dim[d]) return -1;
    n *= s->dim[d];
  }
  return n;
}

/* NumPy broadcasting of dimensions [0, rank - tail) from the right. */
MGI_FN mg_status mgi_broadcast(const mg_shape *a, const mg_shape *b, int tail, mg_shape *out, mg_error *e) {
  int ra = a->rank - tail, rb = b->rank - tail, r = ra > rb ? ra : rb;
  for (int k = 1; k <= r; k++) {
    int64_t x = k <= ra ? a->dim[ra - k] : 1, y = k <= rb ? b->dim[rb - k] : 1;
    if (x != y && x != 1 && y != 1) {
      char ta[96], tb[96];
      return mg_fail(e, MG_BAD_INPUT, NULL, "shapes %s and %s do not broadcast: %lld against %lld, %d from the right",
                     mgi_shape_text(a, ta, sizeof ta), mgi_shape_text(b, tb, sizeof tb), (long long)x, (long long)y,
                     k + tail);
    }
    out->dim[r - k] = x == 1 ? y : x;
  }
  out->rank = r;
  return MG_OK;
}

mg_status mgi_shape_SAME(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)A; (void)n_in; (void)e;
  *out = in[0];
  return MG_OK;
}
mg_status mgi_shape_REDUCE(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in; (void)e;
  *out = in[0];
  out->dim[A->dim] = 1;
  return MG_OK;
}
mg_status mgi_shape_ARGMAX(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  if (in[0].dim[A->dim] > INT32_MAX)
    return mg_fail(e, MG_LIMIT, NULL, "an index of %lld elements is no i32", (long long)in[0].dim[A->dim]);
  return mgi_shape_REDUCE(A, in, n_in, out, e);
}
mg_status mgi_shape_GATHER(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  const mg_shape *rows = &in[0], *index = &in[1];
  (void)A; (void)n_in;
  const int rank = index->rank + rows->rank - 1;
  if (rank > MG_MAX_RANK)
    return mg_fail(e, MG_BAD_INPUT, NULL,
                   "the result has rank %d, of indices of rank %d and rows of rank %d: at most %d", rank, index->rank,
                   rows->rank - 1, MG_MAX_RANK);
  if (rows->dim[0] > INT32_MAX)
    return mg_fail(e, MG_LIMIT, NULL, "an index of %lld rows is no i32", (long long)rows->dim[0]);
  *out = *index;
  out->rank = rank;
  for (int d = 1; d < rows->rank; d++) out->dim[index->rank + d - 1] = rows->dim[d];
  return MG_OK;
}
mg_status mgi_shape_MATMUL(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)A; (void)n_in;
  const mg_shape *a = &in[0], *b = &in[1];
  char ta[96], tb[96];
  if (a->rank < 2 || b->rank < 2)
    return mg_fail(e, MG_BAD_INPUT, NULL, "a matmul takes operands of rank 2 or more, got %s and %s",
                   mgi_shape_text(a, ta, sizeof ta), mgi_shape_text(b, tb, sizeof tb));
  if (a->dim[a->rank - 1] != b->dim[b->rank - 2])
    return mg_fail(e, MG_BAD_INPUT, NULL, "the last dimension of %s and the last but one of %s must be equal",
                   mgi_shape_text(a, ta, sizeof ta), mgi_shape_text(b, tb, sizeof tb));
  mg_shape o;
  memset(&o, 0, sizeof o);
  mg_status s = mgi_broadcast(a, b, 2, &o, e);
  if (s != MG_OK) return s;
  o.dim[o.rank++] = a->dim[a->rank - 2];
  o.dim[o.rank++] = b->dim[b->rank - 1];
  *out = o;
  return MG_OK;
}
mg_status mgi_shape_CONCAT_MATMUL(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  mg_shape wy, xz; /* (w|x)(y|z) = wy + xz */
  mg_shape p[2];
  (void)n_in;
  p[0] = in[0], p[1] = in[2];
  mg_status s = mgi_shape_MATMUL(A, p, 2, &wy, e);
  p[0] = in[1], p[1] = in[3];
  if (s == MG_OK) s = mgi_shape_MATMUL(A, p, 2, &xz, e);
  if (s != MG_OK) return s;
  if (wy.rank != xz.rank || memcmp(wy.dim, xz.dim, sizeof wy.dim)) {
    char ta[96], tb[96];
    return mg_fail(e, MG_BAD_INPUT, NULL, "w y has shape %s and x z %s: they must be equal",
                   mgi_shape_text(&wy, ta, sizeof ta), mgi_shape_text(&xz, tb, sizeof tb));
  }
  *out = wy;
  return MG_OK;
}
mg_status mgi_shape_REPEAT(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  if (A->n < 1 || A->n > ((int64_t)1 << 40))
    return mg_fail(e, MG_BAD_INPUT, NULL, "a repeat count is between 1 and 2^40, got %lld", (long long)A->n);
  *out = in[0];
  if (in[0].dim[A->dim] > ((int64_t)1 << 40) / A->n)
    return mg_fail(e, MG_BAD_INPUT, NULL, "the repeated dimension passes 2^40");
  out->dim[A->dim] *= A->n;
  return MG_OK;
}
mg_status mgi_shape_SLICE(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  const int64_t most = in[0].dim[A->dim];
  (void)n_in;
  if (A->from < 0 || A->n < 1 || A->n > most || A->from > most - A->n)
    return mg_fail(e, MG_BAD_INPUT, NULL, "dimension %d has %lld elements: from=%lld, n=%lld goes beyond", A->dim,
                   (long long)most, (long long)A->from, (long long)A->n);
  *out = in[0];
  out->dim[A->dim] = A->n;
  return MG_OK;
}
mg_status mgi_shape_RESHAPE(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  char ta[96], tb[96];
  if (mg_shape_elements(&A->shape) != mg_shape_elements(&in[0]))
    return mg_fail(e, MG_BAD_INPUT, NULL, "%s and %s differ in their number of elements",
                   mgi_shape_text(&in[0], ta, sizeof ta), mgi_shape_text(&A->shape, tb, sizeof tb));
  *out = A->shape;
  return MG_OK;
}
mg_status mgi_shape_TRANSPOSE(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  unsigned seen = 0;
  (void)n_in;
  *out = in[0];
  for (int d = 0; d < in[0].rank; d++) {
    int p = A->perm[d];
    if (p < 0 || p >= in[0].rank || (seen >> p & 1))
      return mg_fail(e, MG_BAD_INPUT, NULL, "the permutation must name each of the %d dimensions once", in[0].rank);
    seen |= 1u << p;
    out->dim[d] = in[0].dim[p];
  }
  return MG_OK;
}
mg_status mgi_shape_CONCAT(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  int ok = in[0].rank == in[1].rank;
  for (int d = 0; ok && d < in[0].rank; d++) ok = d == A->dim || in[0].dim[d] == in[1].dim[d];
  char ta[96], tb[96];
  if (!ok)
    return mg_fail(e, MG_BAD_INPUT, NULL, "shapes %s and %s must agree but along dimension %d",
                   mgi_shape_text(&in[0], ta, sizeof ta), mgi_shape_text(&in[1], tb, sizeof tb), A->dim);
  *out = in[0];
  out->dim[A->dim] += in[1].dim[A->dim];
  return MG_OK;
}

/* The shape rule of any row of the table. */
MGI_FN mg_status mgi_shape_of(mg_opcode op, const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out,
                              mg_error *e) {
  memset(out, 0, sizeof *out);
  if (mgi_rows[op].elementwise) {
    *out = in[0];
    return n_in > 1 ? mgi_broadcast(&in[0], &in[1], 0, out, e) : MG_OK;
  }
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) case MG_OP_##id: return mgi_shape_##shape(A, in, n_in, out, e);
    MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return mg_fail(e, MG_BAD_INPUT, NULL, "%s has no shape rule", mgi_rows[op].name);
  }
}

/* ------------------------------------------------------------------------------------------- >>builder
   Every call checks its operands against the rules of the level and of the open scope, so that a graph that was built
   without an error is valid; mg_check adds what needs the whole (outputs, names).
   Cuts.  A dimension that a map partitions unevenly carries the list of its cuts (mgi_cuts), so that a later
   concatenation can restore the extent before the cut, and so that two operands whose chunks would differ at the edge
   are refused.  Even cuts need no record: the extent before is chunk * count. */

mg_map mg_map_none(void) {
  mg_map m;
  memset(m.to, MG_MAP_NONE, sizeof m.to);
  return m;
}
mg_map mg_map_set(mg_map m, mg_axis a, int to) {
  if (a.id >= 1 && a.id <= MG_MAX_AXES) m.to[a.id] = (int8_t)to;
  return m;
}

#ifdef __cplusplus
#define MGI_ZERO {}
#else
#define MGI_ZERO {0}
#endif
static const mg_tensor_info mgi_no_tensor = MGI_ZERO;
static const mg_op_node mgi_no_op = MGI_ZERO;
const mg_tensor_info *mg_tensor_of(const mg_graph *g, mg_tensor t) {
  return g && t.id && t.id < g->n_tensors ? &g->tensors[t.id] : &mgi_no_tensor;
}
const mg_op_node *mg_op_of(const mg_graph *g, uint32_t op) {
  return g && op && op < g->n_ops ? &g->ops[op] : &mgi_no_op;
}

int mg_is_program(const mg_graph *g) {
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].code == MG_OP_GRAPH) return 0;
  return g->up == NULL;
}

void mg_strides(const mg_tensor_info *t, int64_t *stride) {
  int64_t s = 1;
  for (int k = t->shape.rank - 1; k >= 0; k--) stride[t->order[k]] = s, s *= t->shape.dim[t->order[k]];
}

MGI_FN mg_graph *mgi_graph_new(mgi_root *r, mg_level level) {
  mg_graph *g = (mg_graph *)mgi_alloc(r, sizeof *g);
  if (!g) return NULL;
  g->level = level, g->root = r;
  g->n_tensors = g->n_ops = g->n_axes = 1;
  return g;
}

mg_graph *mg_program_new(const char *name, const mg_config *cfg) {
  mgi_root seed;
  memset(&seed, 0, sizeof seed);
  seed.cfg = cfg ? *cfg : mg_config_default();
  if (!seed.cfg.memory_limit) seed.cfg.memory_limit = mg_config_default().memory_limit;
  mgi_root *r = (mgi_root *)mgi_raw_alloc(&seed, sizeof *r);
  if (!r) return NULL;
  *r = seed;
  mg_graph *g = mgi_graph_new(r, MG_KERNEL);
  if (g) g->name = mgi_copy_string(r, name ? name : "program", name ? strlen(name) : 7);
  if (!g || !g->name) {
    mg_config c = r->cfg;
    for (mgi_chunk *k = r->chunks, *next; k; k = next) next = k->next, mgi_raw_free(&c, k);
    mgi_raw_free(&c, r);
    return NULL;
  }
  return g;
}

void mg_graph_free(mg_graph *g) {
  if (!g) return;
  mgi_root *r = g->root;
  mg_config c = r->cfg;
  for (mgi_chunk *k = r->chunks, *next; k; k = next) next = k->next, mgi_raw_free(&c, k);
  mgi_raw_free(&c, r);
}

/* Room for one more element of a doubling array in the arena; NULL if memory is out. */
MGI_FN void *mgi_grow(mgi_root *r, void *p, uint32_t n, uint32_t *cap, size_t elem) {
  if (n < *cap) return p;
  uint32_t want = *cap ? *cap * 2 : 8;
  void *q = mgi_alloc(r, want * elem);
  if (!q) return NULL;
  if (n && p) memcpy(q, p, n * elem);
  *cap = want;
  return q;
}

MGI_FN mg_tensor mgi_new_tensor(mg_graph *g, const mg_shape *shape, mg_dtype dtype, uint32_t op, uint32_t scope) {
  mg_tensor t = {0};
  void *p = mgi_grow(g->root, g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors);
  if (!p) return t;
  g->tensors = (mg_tensor_info *)p;
  mg_tensor_info *i = &g->tensors[g->n_tensors];
  memset(i, 0, sizeof *i);
  i->shape = *shape, i->dtype = dtype, i->op = op, i->scope = scope;
  for (int d = 0; d < MG_MAX_RANK; d++) i->order[d] = d;
  t.id = g->n_tensors++;
  return t;
}

MGI_FN mg_op_node *mgi_new_op(mg_graph *g, mg_opcode code, uint32_t *index) {
  void *p = mgi_grow(g->root, g->ops, g->n_ops, &g->cap_ops, sizeof *g->ops);
  if (!p) return NULL;
  g->ops = (mg_op_node *)p;
  mg_op_node *o = &g->ops[g->n_ops];
  memset(o, 0, sizeof *o);
  o->code = code, o->scope = g->cursor, o->map = mg_map_none();
  *index = g->n_ops++;
  return o;
}

MGI_FN int mgi_good_shape(mg_graph *g, const char *where, const mg_shape *s) {
  if (s->rank < 1 || s->rank > MG_MAX_RANK) {
    mgi_err(g, MG_BAD_INPUT, where, "a tensor has rank 1 to %d, got %d", MG_MAX_RANK, s->rank);
    return 0;
  }
  for (int d = 0; d < s->rank; d++)
    if (s->dim[d] < 1 || s->dim[d] > ((int64_t)1 << 40)) {
      mgi_err(g, MG_BAD_INPUT, where, "an extent is between 1 and 2^40, got %lld in dimension %d", (long long)s->dim[d],
              d);
      return 0;
    }
  int64_t n = mg_shape_elements(s);
  if (n < 0 || n > ((int64_t)1 << 40)) {
    mgi_err(g, MG_BAD_INPUT, where, "a tensor has at most 2^40 elements");
    return 0;
  }
  return 1;
}

mg_tensor mg_input_ordered(mg_graph *g, const char *name, mg_dtype dtype, int rank, const int64_t *dim,
                           const int32_t *order) {
  mg_tensor none = {0};
  if (!g || g->root->err.status != MG_OK) return none;
  const char *where = name ? name : "input";
  if (g->level != MG_KERNEL) {
    mgi_err(g, MG_BAD_INPUT, where, "inputs belong to the program; a lower graph loads");
    return none;
  }
  if (g->n_in == MG_MAX_IN) { mgi_err(g, MG_LIMIT, where, "a program has at most %d inputs", MG_MAX_IN); return none; }
  if ((unsigned)dtype >= MG_DTYPE_COUNT) {
    mgi_err(g, MG_BAD_INPUT, where, "unknown dtype %d", (int)dtype);
    return none;
  }
  mg_shape s;
  memset(&s, 0, sizeof s);
  s.rank = rank;
  for (int d = 0; d < rank && rank <= MG_MAX_RANK; d++) s.dim[d] = dim[d];
  if (!mgi_good_shape(g, where, &s)) return none;
  unsigned seen = 0;
  for (int d = 0; order && d < rank; d++) {
    if (order[d] < 0 || order[d] >= rank || (seen >> order[d] & 1)) {
      mgi_err(g, MG_BAD_INPUT, where, "the memory order must name each of the %d dimensions once", rank);
      return none;
    }
    seen |= 1u << order[d];
  }
  mg_tensor t = mgi_new_tensor(g, &s, dtype, 0, 0);
  if (!t.id) return t;
  for (int d = 0; order && d < rank; d++) g->tensors[t.id].order[d] = order[d];
  g->in[g->n_in++] = t;
  return mg_named(g, t, name);
}
mg_tensor mg_input(mg_graph *g, const char *name, mg_dtype dtype, int rank, const int64_t *dim) {
  return mg_input_ordered(g, name, dtype, rank, dim, NULL);
}
static const char *const mgi_fill_words[] = {"", "causal"};
const char *mg_fill_name(mg_filling fill) { return mgi_fill_words[fill]; }
mg_tensor mg_input_filled(mg_graph *g, const char *name, mg_dtype dtype, int64_t queries, int64_t keys,
                          mg_filling fill) {
  const int64_t dim[2] = {queries, keys};
  const mg_tensor t = mg_input(g, name, dtype, 2, dim);
  if (t.id && dtype == MG_I32)
    mgi_err(g, MG_BAD_INPUT, "input", "a mask holds numbers, not indices: '%s' is of i32", name);
  if (t.id) g->tensors[t.id].fill = (uint8_t)fill;
  return t;
}
mg_tensor mg_input_like(mg_graph *g, const mg_tensor_info *like, const int64_t *dim) {
  const int64_t *extent = dim ? dim : like->shape.dim;
  const mg_tensor t = mg_input_ordered(g, like->name, like->dtype, like->shape.rank, extent, like->order);
  if (t.id) g->tensors[t.id].fill = like->fill;
  return t;
}
int64_t mg_filled(const mg_tensor_info *t, int64_t i) {
  const int64_t queries = t->shape.dim[0], keys = t->shape.dim[1];
  return i % keys <= i / keys + keys - queries ? 0 : MG_MASKED;
}

#define MGI_ALPHA(c) (((c) >= 'a' && (c) <= 'z') || ((c) >= 'A' && (c) <= 'Z') || (c) == '_')
#define MGI_DIGIT(c) ((c) >= '0' && (c) <= '9')
/* Of the name that begins here; 0: none does. */
MGI_FN size_t mgi_name_length(const char *s) {
  size_t n = 0;
  while (MGI_ALPHA(s[n]) || (n && MGI_DIGIT(s[n]))) n++;
  return n;
}
MGI_FN int mgi_keyword(const char *s);
MGI_FN int mgi_size_grows(const mg_sizes *s, mg_size a);
/* 1 if a symbol may have that name: neither a keyword nor what stands before a size in brackets. */
MGI_FN int mgi_symbol_name(const char *s) {
  return mgi_good_name(s) && !mgi_keyword(s) && strcmp(s, "ceil") && strcmp(s, "floor");
}
uint32_t mg_symbol_new(mg_graph *g, const char *name, int64_t least, int64_t most) {
  if (!g || g->root->err.status != MG_OK) return 0;
  if (g->up) return mgi_err(g, MG_BAD_INPUT, "sym", "a program has symbols, a lower graph none"), 0u;
  if (!mgi_symbol_name(name))
    return mgi_err(g, MG_BAD_INPUT, "sym", "'%.40s' is no name of a symbol", name ? name : "(null)"), 0u;
  for (uint32_t k = 0; k < g->n_symbols; k++)
    if (!strcmp(g->symbol[k].name, name)) return mgi_err(g, MG_BAD_INPUT, "sym", "'%s' is a symbol already", name), 0u;
  if (g->n_computed)
    return mgi_err(g, MG_BAD_INPUT, "sym", "'%s' stands after %s: symbols come before sizes computed of them", name,
                   g->symbol[g->n_symbols].name), 0u;
  if (g->n_symbols == MG_MAX_SYMBOLS)
    return mgi_err(g, MG_LIMIT, "sym", "a program has at most %d symbols", MG_MAX_SYMBOLS), 0u;
  if (least < 1 || most < least || most > ((int64_t)1 << 40))
    return mgi_err(g, MG_BAD_INPUT, "sym", "expected bounds 1 <= least <= most <= 2^40, got %lld..%lld",
                   (long long)least, (long long)most),
           0u;
  const char *copy = mgi_copy_string(g->root, name, strlen(name));
  if (!copy) return 0;
  mg_symbol *s = &g->symbol[g->n_symbols++];
  s->name = copy, s->least = least, s->most = s->last = most;
  return g->n_symbols;
}
void mg_symbol_last(mg_graph *g, uint32_t symbol, int64_t last) {
  mg_error e;
  int64_t at[MG_MAX_SYMBOLS];
  if (!g || g->root->err.status != MG_OK) return;
  if (g->up || symbol < 1 || symbol > g->n_symbols || last < g->symbol[symbol - 1].least ||
      last > g->symbol[symbol - 1].most) {
    mgi_err(g, MG_BAD_INPUT, "sym", "expected a symbol of the program and a value within its bounds, got %lld",
            (long long)last);
    return;
  }
  g->symbol[symbol - 1].last = last;
  for (uint32_t k = 0; k < g->n_symbols; k++) at[k] = g->symbol[k].last;
  const mg_status s = mg_symbol_values(g, at, at, &e);
  for (uint32_t k = g->n_symbols; k < mg_n_sizes(g) && s == MG_OK; k++) g->symbol[k].last = at[k];
  if (s != MG_OK) mgi_err(g, s, "sym", "%.180s", e.msg);
}
uint32_t mg_n_sizes(const mg_graph *g) { return g->n_symbols + g->n_computed; }
/* The symbols of g in a pool, at their bounds, or in 1..2^40; NULL: no memory. */
MGI_FN mg_sizes *mgi_symbols_pool(const mg_graph *g, int wide) {
  mg_sizes *s = mg_sizes_new();
  for (uint32_t k = 0; s && k < g->n_symbols; k++)
    mg_size_symbol(s, g->symbol[k].name, wide ? 1 : g->symbol[k].least, wide ? (int64_t)1 << 40 : g->symbol[k].most);
  return s;
}
MGI_FN mg_size mgi_symbols_size(mg_sizes *s, const char *text, mg_error *e) {
  return mg_size_parse(s, text, strlen(text), "sym", e);
}
uint32_t mg_symbol_computed(mg_graph *g, const char *text) {
  mg_error e;
  char *name = NULL;
  int64_t v[3] = {0, 0, 0}, at[3][MG_MAX_SYMBOLS];
  uint32_t is = 0;
  if (!g || g->root->err.status != MG_OK) return 0;
  if (g->up) return mgi_err(g, MG_BAD_INPUT, "sym", "a program has symbols, a lower graph none"), 0u;
  for (uint32_t k = 0; k < g->n_symbols; k++)
    at[0][k] = g->symbol[k].least, at[1][k] = g->symbol[k].most, at[2][k] = g->symbol[k].last;
  mg_sizes *s = mgi_symbols_pool(g, 0);
  const mg_size a = s ? mgi_symbols_size(s, text, &e) : 0;
  mg_status status = a   ? mg_size_print(s, a, &name, &e)
                     : s ? e.status
                         : mg_fail(&e, MG_NO_MEMORY, "sym", "no memory for a size");
  if (status != MG_OK) mgi_err(g, status, "sym", "%.180s", e.msg);
  for (uint32_t k = 0; name && k < mg_n_sizes(g) && !is; k++)
    if (!strcmp(g->symbol[k].name, name)) is = k + 1;
  if (name && !is) {
    const int grows = mgi_size_grows(s, a);
    for (int k = 0; k < 3 && grows; k++)
      if (mg_size_at(s, a, at[k], &v[k], &e) != MG_OK) v[k] = INT64_MAX;
    if (!grows)
      mgi_err(g, MG_UNSUPPORTED, "sym",
              "an extent grows with its symbols, by sums and products alone, as 8*n and n*m + 3 do: '%.60s' does not",
              name);
    else if (v[0] < 1 || v[1] > (int64_t)1 << 40)
      mgi_err(g, MG_BAD_INPUT, "sym", "expected %.60s in 1..2^40, it is in %lld..%lld%s", name, (long long)v[0],
              (long long)v[1], v[1] == INT64_MAX ? " and more" : "");
    else if (strlen(name) > 64)
      mgi_err(g, MG_LIMIT, "sym", "a size has at most 64 characters, found %zu", strlen(name));
    else if (mg_n_sizes(g) == MG_MAX_SYMBOLS)
      mgi_err(g, MG_LIMIT, "sym", "a program has at most %d symbols and sizes computed of them", MG_MAX_SYMBOLS);
    else {
      mg_symbol *to = &g->symbol[mg_n_sizes(g)];
      to->name = mgi_copy_string(g->root, name, strlen(name)), to->least = v[0], to->most = v[1], to->last = v[2];
      if (to->name) is = g->n_symbols + ++g->n_computed;
    }
  }
  mg_string_free(name);
  mg_sizes_free(s);
  return is;
}
mg_status mg_symbol_values(const mg_graph *g, const int64_t *value, int64_t all[MG_MAX_SYMBOLS], mg_error *e) {
  memmove(all, value, g->n_symbols * sizeof *all);
  if (!g->n_computed) return MG_OK;
  mg_sizes *s = mgi_symbols_pool(g, 1);
  mg_status status = s ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_symbol_values", "no memory for the sizes");
  for (uint32_t k = g->n_symbols; k < mg_n_sizes(g) && status == MG_OK; k++) {
    mg_error why;
    const mg_size a = mgi_symbols_size(s, g->symbol[k].name, &why);
    status = a ? mg_size_at(s, a, all, &all[k], e) : mg_fail(e, why.status, "mg_symbol_values", "%s", why.msg);
  }
  mg_sizes_free(s);
  return status;
}
int mgi_size_names(const char *text, const char *name) {
  while (*text) {
    const size_t n = mgi_name_length(text);
    if (n && n == strlen(name) && !memcmp(text, name, n)) return 1;
    text += n ? n : 1;
  }
  return 0;
}
/* 1 if symbol k is in the text of computed size c. */
int mg_symbol_within(const mg_graph *g, uint32_t c, uint32_t k) {
  return mgi_size_names(g->symbol[c].name, g->symbol[k].name);
}
void mg_symbol_input(mg_graph *g, mg_tensor input, int dim, uint32_t symbol) {
  uint32_t k = 0;
  if (!g || g->root->err.status != MG_OK) return;
  while (k < g->n_in && g->in[k].id != input.id) k++;
  if (k == g->n_in || dim < 0 || dim >= g->tensors[input.id].shape.rank || symbol < 1 || symbol > mg_n_sizes(g)) {
    mgi_err(g, MG_BAD_INPUT, "sym", "expected an input of the program, one of its dimensions and a symbol");
    return;
  }
  const int64_t has = g->tensors[input.id].shape.dim[dim], most = g->symbol[symbol - 1].most;
  if (has == most) g->in_symbol[k][dim] = (uint8_t)symbol;
  else
    mgi_err(g, MG_BAD_INPUT, "sym", "dimension %d of '%s' has %lld elements, %s at most %lld", dim,
            g->tensors[input.id].name, (long long)has, g->symbol[symbol - 1].name, (long long)most);
}
/* symbol[d]: 0, or the symbol that dimension d of the input is. */
MGI_FN void mgi_input_symbols(mg_graph *g, mg_tensor input, int rank, const uint32_t *symbol) {
  for (int d = 0; d < rank; d++)
    if (symbol[d]) mg_symbol_input(g, input, d, symbol[d]);
}
/* The program that holds g. */
MGI_FN const mg_graph *mgi_program_of(const mg_graph *g) {
  while (g->up) g = g->up;
  return g;
}
void mg_symbol_axis(mg_graph *g, mg_axis a, uint32_t symbol) {
  if (!g || g->root->err.status != MG_OK) return;
  const mg_graph *root = mgi_program_of(g);
  if (root == g || a.id < 1 || a.id >= g->n_axes || symbol < 1 || symbol > mg_n_sizes(root))
    mgi_err(g, MG_BAD_INPUT, "sym", "expected an axis of a lower graph and a symbol of its program");
  else if (g->axes[a.id].extent > 1 || a.id > 3) g->axes[a.id].symbol = symbol; /* a grid axis of one block is in no
                                                                                   map */
}

/* 1 if t is a tensor of g; else the sticky error is set (unless one is set already, which is why handles are 0). */
MGI_FN int mgi_valid(mg_graph *g, mg_tensor t, const char *where) {
  if (!g || g->root->err.status != MG_OK) return 0;
  if (t.id && t.id < g->n_tensors) return 1;
  mgi_err(g, MG_BAD_INPUT, where, "operand %u is no tensor of this graph, which has %u", t.id, g->n_tensors - 1);
  return 0;
}

MGI_FN int mgi_encloses(const mg_graph *g, uint32_t outer, uint32_t inner) {
  for (uint32_t s = inner;; s = g->axes[s].parent) {
    if (s == outer) return 1;
    if (!s) return 0;
  }
}

int mgi_good_name(const char *s) {
  const size_t n = s ? mgi_name_length(s) : 0;
  return n && n <= 64 && !s[n];
}
static const char *const mgi_keywords[] = { "program", "input", "output", "kernel", "thread",  "for", "load",
                                            "store",   "accum", "plan",   "grid",   "threads", "max" };
MGI_FN int mgi_keyword(const char *s) {
  for (size_t k = 0; k < sizeof mgi_keywords / sizeof *mgi_keywords; k++)
    if (!strcmp(s, mgi_keywords[k])) return 1;
  return 0;
}

mg_tensor mg_find(const mg_graph *g, const char *name) {
  mg_tensor t = {0};
  for (uint32_t k = 1; k < g->n_tensors && !t.id; k++)
    if (g->tensors[k].name && !strcmp(g->tensors[k].name, name)) t.id = k;
  return t;
}

mg_tensor mg_named(mg_graph *g, mg_tensor t, const char *name) {
  mg_tensor none = {0};
  if (!mgi_valid(g, t, "mg_named")) return none;
  if (!mgi_good_name(name) || mgi_keyword(name)) {
    mgi_err(g, MG_BAD_INPUT, "name",
            "a tensor's name is a letter or _, then letters, digits and _ (at most 64), and no keyword; got '%.40s'",
            name ? name : "(null)");
    return none;
  }
  uint32_t other = mg_find(g, name).id;
  if (other && other != t.id) {
    mgi_err(g, MG_BAD_INPUT, name, "the name is taken by another tensor of this graph");
    return none;
  }
  const char *copy = mgi_copy_string(g->root, name, strlen(name));
  if (!copy) return none;
  g->tensors[t.id].name = copy;
  g->tensors[t.id].inner = name[0] == '_' && g->level == MG_KERNEL && g->tensors[t.id].op &&
                           g->tensors[t.id].dtype != MG_I32;
  return t;
}

void mg_output(mg_graph *g, mg_tensor t) {
  if (!mgi_valid(g, t, "output")) return;
  if (g->level != MG_KERNEL) {
    mgi_err(g, MG_BAD_INPUT, "output", "outputs belong to the program; a lower graph stores");
    return;
  }
  if (!g->tensors[t.id].op) {
    mgi_err(g, MG_BAD_INPUT, "output", "'%s' is an input: nothing computes it", g->tensors[t.id].name);
    return;
  }
  if (g->n_out == MG_MAX_OUT) {
    mgi_err(g, MG_LIMIT, "output", "a program has at most %d outputs", MG_MAX_OUT);
    return;
  }
  for (uint32_t k = 0; k < g->n_out; k++)
    if (g->out[k].id == t.id) { mgi_err(g, MG_BAD_INPUT, "output", "the tensor is output %u already", k); return; }
  g->tensors[t.id].inner = 0;
  g->out[g->n_out++] = t;
}

int mgi_same_cuts(const struct mgi_cuts *a, const struct mgi_cuts *b) {
  return a == b || (a && b && a->n == b->n && !memcmp(a->axis, b->axis, sizeof(uint32_t) * (size_t)a->n) &&
                    !memcmp(a->before, b->before, sizeof(int64_t) * (size_t)a->n));
}

/* The cuts of output dimension `d` of an elementwise operator or of a matmul's leading dimensions: those of the
   operands whose extent there is not 1.  Two ragged operands must have been cut alike. */
MGI_FN int mgi_join_cuts(mg_graph *g, const char *where, const mgi_cuts *a, int a1, const mgi_cuts *b, int b1,
                         const mgi_cuts **out) {
  if (a1) a = NULL;
  if (b1) b = NULL;
  *out = a ? a : b;
  if (a1 || b1 || mgi_same_cuts(a, b)) return 1;
  mgi_err(g, MG_UNSUPPORTED, where, "operands are cut unevenly in different ways, so their chunks differ at the edge");
  return 0;
}

MGI_FN int mgi_set_cuts(mg_graph *g, const char *where, const mg_op_node *o, mg_tensor_info *out) {
  const mg_tensor_info *in[MG_MAX_IN];
  for (int k = 0; k < o->n_in; k++) in[k] = &g->tensors[o->in[k].id];
  int any = 0;
  for (int k = 0; k < o->n_in; k++)
    for (int d = 0; d < in[k]->shape.rank; d++) any |= in[k]->cuts[d] != NULL;
  if (!any) return 1;
  const mg_op_info *row = &mgi_rows[o->code];
  int ro = out->shape.rank;
  if (row->elementwise) {
    for (int k = 1; k <= ro; k++) {
      const mgi_cuts *c[2] = {NULL, NULL};
      int one[2] = {1, 1};
      for (int j = 0; j < o->n_in; j++)
        if (k <= in[j]->shape.rank)
          c[j] = in[j]->cuts[in[j]->shape.rank - k], one[j] = in[j]->shape.dim[in[j]->shape.rank - k] == 1 && !c[j];
      if (!mgi_join_cuts(g, where, c[0], one[0], c[1], one[1], &out->cuts[ro - k])) return 0;
    }
    return 1;
  }
  switch (o->code) {
    case MG_OP_SUM: case MG_OP_MAX:
      for (int d = 0; d < ro; d++) out->cuts[d] = d == o->attr.dim ? NULL : in[0]->cuts[d];
      return 1;
    case MG_OP_TRANSPOSE:
      for (int d = 0; d < ro; d++) out->cuts[d] = in[0]->cuts[o->attr.perm[d]];
      return 1;
    case MG_OP_MATMUL: case MG_OP_CONCAT_MATMUL: {
      int n = o->code == MG_OP_MATMUL ? 1 : 2;
      for (int j = 0; j < n; j++) {
        const mg_tensor_info *a = in[j], *b = in[j + n];
        int ra = a->shape.rank, rb = b->shape.rank;
        if (!mgi_same_cuts(a->cuts[ra - 1], b->cuts[rb - 2])) {
          mgi_err(g, MG_UNSUPPORTED, where, "the contracted dimensions are cut unevenly in different ways");
          return 0;
        }
        for (int k = 3; k <= ro; k++) {
          const mgi_cuts *ca = k <= ra ? a->cuts[ra - k] : NULL, *cb = k <= rb ? b->cuts[rb - k] : NULL;
          if (!mgi_join_cuts(g, where, ca, k > ra || (a->shape.dim[ra - k] == 1 && !ca), cb,
                             k > rb || (b->shape.dim[rb - k] == 1 && !cb), &out->cuts[ro - k]))
            return 0;
        }
        if (j && (!mgi_same_cuts(out->cuts[ro - 2], a->cuts[ra - 2]) ||
                  !mgi_same_cuts(out->cuts[ro - 1], b->cuts[rb - 1]))) {
          mgi_err(g, MG_UNSUPPORTED, where, "the two products are cut unevenly in different ways");
          return 0;
        }
        out->cuts[ro - 2] = a->cuts[ra - 2], out->cuts[ro - 1] = b->cuts[rb - 1];
      }
      return 1;
    }
    case MG_OP_REPEAT: case MG_OP_SLICE:
      for (int d = 0; d < ro; d++) out->cuts[d] = in[0]->cuts[d];
      if (!in[0]->cuts[o->attr.dim]) return 1;
      break;
    case MG_OP_CONCAT: {
      int ok = !in[0]->cuts[o->attr.dim] && !in[1]->cuts[o->attr.dim];
      for (int d = 0; d < ro && ok; d++)
        ok = mgi_same_cuts(in[0]->cuts[d], in[1]->cuts[d]), out->cuts[d] = in[0]->cuts[d];
      if (ok) return 1;
      break;
    }
    default: break;
  }
  mgi_err(g, MG_UNSUPPORTED, where, "%s of a chunk that is cut unevenly has no meaning here", row->name);
  return 0;
}

MGI_FN int mgi_attr_ok(mg_graph *g, const mg_op_info *row, mg_attr *A, const mg_shape *in) {
  switch (row->attr) {
    case MG_ATTR_DIM: case MG_ATTR_DIMN: case MG_ATTR_SLICE:
      if (A->dim < -in->rank || A->dim >= in->rank) {
        mgi_err(g, MG_BAD_INPUT, row->name, "dim is between %d and %d for a tensor of rank %d, got %d", -in->rank,
                in->rank - 1, in->rank, A->dim);
        return 0;
      }
      if (A->dim < 0) A->dim += in->rank;
      return 1;
    case MG_ATTR_RAT: case MG_ATTR_NORM: case MG_ATTR_RANGE:
      if (A->c.den > 0) A->c = mg_rat(A->c.num, A->c.den);
      if (row->attr == MG_ATTR_RANGE && A->most.den > 0) A->most = mg_rat(A->most.num, A->most.den);
      if (A->c.den <= 0 || (row->attr == MG_ATTR_RANGE && A->most.den <= 0)) {
        mgi_err(g, MG_BAD_INPUT, row->name, "the constant is no rational with numerator and denominator below 2^31");
        return 0;
      }
      if (row->attr == MG_ATTR_RANGE && A->c.num * A->most.den > A->most.num * A->c.den) {
        mgi_err(g, MG_BAD_INPUT, row->name, "the least value, %lld/%lld, is above the greatest, %lld/%lld",
                (long long)A->c.num, (long long)A->c.den, (long long)A->most.num, (long long)A->most.den);
        return 0;
      }
      return 1;
    case MG_ATTR_SHAPE: {
      int64_t known = 1;
      int open = -1;
      if (A->shape.rank < 1 || A->shape.rank > MG_MAX_RANK) {
        mgi_err(g, MG_BAD_INPUT, row->name, "the target has rank 1 to %d, got %d", MG_MAX_RANK, A->shape.rank);
        return 0;
      }
      for (int d = 0; d < A->shape.rank; d++) {
        int64_t x = A->shape.dim[d];
        if (x == -1 && open < 0) { open = d; continue; }
        if (x < 1 || x > ((int64_t)1 << 40) || known > ((int64_t)1 << 40) / x) {
          mgi_err(g, MG_BAD_INPUT, row->name, "bad extent %lld in dimension %d of the target (one of them may be -1)",
                  (long long)x, d);
          return 0;
        }
        known *= x;
      }
      if (open >= 0) A->shape.dim[open] = mg_shape_elements(in) / known ? mg_shape_elements(in) / known : 1;
      return 1;
    }
    default: return 1;
  }
}

/* What was made from tensor `first` on, but the result, is inner: between the parts of one call of the text. */
MGI_FN mg_tensor mgi_inner_but(mg_graph *g, uint32_t first, mg_tensor result) {
  for (uint32_t t = first; t < g->n_tensors; t++) g->tensors[t].inner = t != result.id;
  return result;
}

MGI_FN mg_tensor mgi_lower_mean(mg_graph *g, mg_tensor a, int dim) {
  mg_tensor none = {0};
  int64_t n = g->tensors[a.id].shape.dim[dim < 0 ? dim + g->tensors[a.id].shape.rank : dim];
  mg_tensor s = mg_sum(g, a, dim);
  if (n > INT32_MAX) { mgi_err(g, MG_LIMIT, "mean", "the dimension has more than 2^31 - 1 elements"); return none; }
  return mg_scale(g, s, 1, n);
}

mg_tensor mg_rms_norm(mg_graph *g, mg_tensor x, mg_tensor gain, mg_rational eps, int dim) {
  mg_tensor none = {0};
  if (!mgi_valid(g, x, "rms_norm") || (gain.id && !mgi_valid(g, gain, "rms_norm"))) return none;
  int rank = g->tensors[x.id].shape.rank;
  if (dim < -rank || dim >= rank) {
    mgi_err(g, MG_BAD_INPUT, "rms_norm", "dim is between %d and %d, got %d", -rank, rank - 1, dim);
    return none;
  }
  if (dim < 0) dim += rank;
  if (eps.den <= 0 || eps.num < 0) {
    mgi_err(g, MG_BAD_INPUT, "rms_norm", "eps is a rational, 0 or more");
    return none;
  }
  uint32_t first = g->n_tensors;
  mg_tensor m = mgi_lower_mean(g, mg_sqr(g, x), dim);
  if (eps.num) m = mg_with_rat(g, MG_OP_ADD_SCALAR, m, eps);
  mg_tensor y = mg_div(g, x, mg_sqrt(g, m));
  if (!gain.id || !y.id) return mgi_inner_but(g, first, y);
  if (g->tensors[gain.id].shape.rank == 1 && dim != rank - 1) { /* stand the gain along dim */
    int64_t s[MG_MAX_RANK] = {g->tensors[gain.id].shape.dim[0], 1, 1, 1, 1};
    gain = mg_reshape(g, gain, rank - dim, s);
  }
  return mgi_inner_but(g, first, mg_mul(g, y, gain));
}

MGI_FN mg_tensor mgi_lower_rope(mg_graph *g, mg_tensor x, mg_tensor c, mg_tensor s) {
  mg_tensor none = {0};
  const mg_shape shape = g->tensors[x.id].shape;
  const uint32_t first = g->n_tensors;
  const int last = shape.rank - 1;
  const int64_t half = shape.dim[last] / 2;
  if (shape.dim[last] % 2) {
    mgi_err(g, MG_BAD_INPUT, "rope", "expected a last dimension of two halves, found %lld", (long long)shape.dim[last]);
    return none;
  }
  mg_tensor turned = mg_concat(g, mg_neg(g, mg_slice(g, x, last, half, half)), mg_slice(g, x, last, 0, half), last);
  mg_tensor y = mg_add(g, mg_mul(g, x, c), mg_mul(g, turned, s));
  if (y.id && memcmp(&g->tensors[y.id].shape, &shape, sizeof shape)) {
    mgi_err(g, MG_BAD_INPUT, "rope", "the second and third operand must broadcast to the first");
    return none;
  }
  return mgi_inner_but(g, first, y);
}

/* What of a program's tensors and axes runs with its symbols (>>symbols).  of a class: 0, or 1 + its symbol;
   contracted: by symbol. */
typedef struct mgi_symbols {
  const mg_graph *g;
  mg_parallel p;
  uint8_t of[MG_MAX_CLASSES], contracted[MG_MAX_SYMBOLS];
} mgi_symbols;
MGI_FN mg_status mgi_symbols_open(const mg_graph *g, mgi_symbols *S, mg_error *e);
MGI_FN const mg_symbol *mgi_symbol_at(const mgi_symbols *S, const mg_graph *g, mg_tensor t, int d);
MGI_FN void mgi_symbols_close(mgi_symbols *S);

MGI_FN mg_tensor mgi_lower_causal(mg_graph *g, mg_tensor scores) {
  mg_tensor none = {0}, mask = none;
  const mg_tensor_info s = g->tensors[scores.id];
  const int first = s.shape.rank - 2;
  uint32_t symbol[2] = {0, 0};
  char extent[2][65];
  mgi_symbols S;
  mg_error e;
  if (first < 0) {
    mgi_err(g, MG_BAD_INPUT, "causal", "expected scores of at least two dimensions, queries and keys, got %d",
            s.shape.rank);
    return none;
  }
  const int64_t *size = s.shape.dim + first;
  if (mgi_symbols_open(g, &S, &e) != MG_OK) {
    mgi_err(g, e.status, e.where, "%s", e.msg);
    return none;
  }
  int64_t least_keys = size[1];
  for (int d = 0; d < 2; d++) {
    const mg_symbol *is = mgi_symbol_at(&S, g, scores, first + d);
    if (is) symbol[d] = (uint32_t)(is - g->symbol) + 1;
    if (is && d) least_keys = is->least;
    if (is) snprintf(extent[d], sizeof extent[d], "%s", is->name);
    else snprintf(extent[d], sizeof extent[d], "%lld", (long long)size[d]);
  }
  mgi_symbols_close(&S);
  if (size[0] > least_keys && !(symbol[0] && symbol[0] == symbol[1])) {
    mgi_err(g, MG_BAD_INPUT, "causal", "expected at least as many keys as queries, got %s%lld queries and %s%lld keys: "
            "the first queries would have no key", symbol[0] ? "up to " : "", (long long)size[0],
            symbol[1] ? "from " : "", (long long)least_keys);
    return none;
  }
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *i = &g->tensors[g->in[k].id];
    int alike = i->fill == MG_FILL_CAUSAL && i->dtype == s.dtype;
    for (int d = 0; d < 2; d++) alike &= i->shape.dim[d] == size[d] && g->in_symbol[k][d] == symbol[d];
    if (alike) mask = g->in[k];
  }
  if (!mask.id) {
    char name[200];
    snprintf(name, sizeof name, "causal_%s_%s_%s", extent[0], extent[1], mg_dtype_name(s.dtype));
    for (char *c = name; *c; c++)
      if (!MGI_ALPHA(*c) && !MGI_DIGIT(*c)) *c = '_'; /* of a computed size */
    mask = mg_input_filled(g, name, s.dtype, size[0], size[1], MG_FILL_CAUSAL);
    mgi_input_symbols(g, mask, 2, symbol);
  }
  return mg_add(g, scores, mask);
}

MGI_FN mg_tensor mgi_lower(mg_graph *g, mg_opcode op, const mg_attr *A, int n, const mg_tensor *in) {
  mg_tensor none = {0};
  const uint32_t first = g->n_tensors;
  switch (op) {
    case MG_OP_MEAN: return mgi_inner_but(g, first, mgi_lower_mean(g, in[0], A->dim));
    case MG_OP_WHERE:
      return mgi_inner_but(g, first,
                           mg_add(g, mg_binary(g, MG_OP_KEEP, in[0], in[1]), mg_binary(g, MG_OP_DROP, in[0], in[2])));
    case MG_OP_CAUSAL: return mgi_lower_causal(g, in[0]);
    case MG_OP_ROPE: return mgi_lower_rope(g, in[0], in[1], in[2]);
    case MG_OP_MIN: return mgi_inner_but(g, first, mg_neg(g, mg_max(g, mg_neg(g, in[0]), A->dim)));
    case MG_OP_CLAMP:
      return mgi_inner_but(g, first,
                           mg_with_rat(g, MG_OP_CLAMP_MAX, mg_with_rat(g, MG_OP_CLAMP_MIN, in[0], A->c), A->most));
    case MG_OP_RMS_NORM: return mg_rms_norm(g, in[0], n > 1 ? in[1] : none, A->c, A->dim);
    case MG_OP_SOFTMAX: {
      mg_tensor e = mg_exp(g, in[0]);
      return mgi_inner_but(g, first, mg_div(g, e, mg_sum(g, e, A->dim)));
    }
    default: mgi_err(g, MG_UNSUPPORTED, mgi_rows[op].name, "a sugar row of a user has no lowering"); return none;
  }
}

int64_t mg_index_bound(const mg_graph *g, mg_tensor t) {
  int64_t bound = INT32_MAX;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->code != MG_OP_GATHER || o->in[1].id != t.id) continue;
    const int64_t rows = g->tensors[o->in[0].id].shape.dim[0];
    if (rows < bound) bound = rows;
  }
  return bound;
}
/* 1 if operand k of op may be t: gather's second operand is of i32, and no other operand is. */
MGI_FN int mgi_index_ok(mg_graph *g, mg_opcode op, int k, const mg_tensor *in) {
  const mg_tensor_info *t = &g->tensors[in[k].id];
  const int index = op == MG_OP_GATHER && k == 1;
  const char *name = t->name ? t->name : "unnamed";
  if (index && t->dtype != MG_I32) {
    mgi_err(g, MG_BAD_INPUT, "gather", "expected indices of i32 as operand 2, found '%s' of %s", name,
            mg_dtype_name(t->dtype));
    return 0;
  }
  if (!index && t->dtype == MG_I32) {
    mgi_err(g, MG_BAD_INPUT, mgi_rows[op].name,
            "operand %d ('%s') holds indices (i32), which only gather reads, as its operand 2", k + 1, name);
    return 0;
  }
  const mg_op_node *by = mg_op_of(g, t->op);
  if (!index || by->code != MG_OP_ARGMAX) return 1;
  const int64_t rows = g->tensors[in[0].id].shape.dim[0], most = g->tensors[by->in[0].id].shape.dim[by->attr.dim];
  if (most <= rows) return 1;
  mgi_err(g, MG_BAD_INPUT, "gather", "'%s' is an argmax over %lld elements, and there are %lld rows to gather from",
          name, (long long)most, (long long)rows);
  return 0;
}

mg_tensor mg_apply(mg_graph *g, mg_opcode op, const mg_attr *A_in, int n, const mg_tensor *in) {
  mg_tensor none = {0};
  if (!g || g->root->err.status != MG_OK) return none;
  if (op <= MG_OP_NONE || op >= MG_OP_TABLE_END) {
    mgi_err(g, MG_BAD_INPUT, "mg_apply", "%d is no row of the operator table", (int)op);
    return none;
  }
  const mg_op_info *row = &mgi_rows[op];
  mg_attr A;
  if (A_in) A = *A_in;
  else memset(&A, 0, sizeof A), A.c.den = row->attr == MG_ATTR_NORM; /* where a constant is needed, none is an error */
  if (!(row->levels >> g->level & 1)) {
    mgi_err(g, MG_BAD_INPUT, row->name, "the operator may not stand in a %s graph",
            g->level == MG_KERNEL  ? "kernel"
            : g->level == MG_BLOCK ? "block"
                                   : "thread");
    return none;
  }
  int least = op == MG_OP_RMS_NORM ? 1 : row->n_in;
  if (n < least || n > row->n_in) {
    mgi_err(g, MG_BAD_INPUT, row->name, "takes %d operand%s, got %d", row->n_in, row->n_in == 1 ? "" : "s", n);
    return none;
  }
  mg_shape shape[MG_MAX_IN], out;
  mg_dtype dtype = MG_DTYPE_COUNT, half = MG_F32; /* half: the 16-bit type among the operands */
  uint32_t depends = 0, merged = 0;
  for (int k = 0; k < n; k++) {
    if (!mgi_valid(g, in[k], row->name)) return none;
    const mg_tensor_info *t = &g->tensors[in[k].id];
    if (!mgi_encloses(g, t->scope, g->cursor)) {
      mgi_err(g, MG_BAD_INPUT, row->name,
              "operand %d ('%s') lives in loop %s, which is not open here: lift it with accum", k + 1,
              t->name ? t->name : "unnamed", g->axes[t->scope].name);
      return none;
    }
    shape[k] = t->shape;
    depends |= t->depends, merged |= t->merged;
    if (!mgi_index_ok(g, op, k, in)) return none;
    if (t->dtype == MG_I32) continue;
    if (dtype == MG_DTYPE_COUNT || t->dtype == MG_F32) dtype = t->dtype;
    if (half == MG_F32) half = t->dtype;
    else if (t->dtype != MG_F32 && half != t->dtype) {
      mgi_err(g, MG_BAD_INPUT, row->name, "operands of dtype %s and %s do not mix", mg_dtype_name(half),
              mg_dtype_name(t->dtype));
      return none;
    }
  }
  mg_is_cast(op, &dtype);
  if (op == MG_OP_ARGMAX) dtype = MG_I32;
  if (!mgi_attr_ok(g, row, &A, &shape[0])) return none;
  if (row->abstract == MG_ABS_SUGAR) return mgi_lower(g, op, &A, n, in);
  mg_error e;
  memset(&e, 0, sizeof e);
  if (mgi_shape_of(op, &A, shape, n, &out, &e) != MG_OK) {
    mgi_err(g, e.status ? e.status : MG_BAD_INPUT, row->name, "%s", e.msg);
    return none;
  }
  if (!mgi_good_shape(g, row->name, &out)) return none;
  uint32_t index;
  mg_op_node *o = mgi_new_op(g, op, &index);
  if (!o) return none;
  /* only what the row uses is kept, so that equal operators have equal bytes */
  if (row->attr == MG_ATTR_RAT) o->attr.c = A.c;
  const int slice = row->attr == MG_ATTR_SLICE;
  if (row->attr == MG_ATTR_DIM || row->attr == MG_ATTR_DIMN || slice) o->attr.dim = A.dim;
  if (row->attr == MG_ATTR_DIMN || slice) o->attr.n = A.n;
  if (slice) o->attr.from = A.from;
  if (row->attr == MG_ATTR_SHAPE) o->attr.shape = A.shape;
  if (row->attr == MG_ATTR_PERM) for (int d = 0; d < shape[0].rank; d++) o->attr.perm[d] = A.perm[d];
  o->n_in = (uint8_t)n, o->n_out = 1;
  for (int k = 0; k < n; k++) o->in[k] = in[k];
  mg_tensor t = mgi_new_tensor(g, &out, dtype, index, g->cursor);
  if (!t.id) return none;
  g->tensors[t.id].depends = depends, g->tensors[t.id].merged = merged;
  g->ops[index].out[0] = t;
  return mgi_set_cuts(g, row->name, &g->ops[index], &g->tensors[t.id]) ? t : none;
}

mg_tensor mg_unary(mg_graph *g, mg_opcode op, mg_tensor a) { return mg_apply(g, op, NULL, 1, &a); }
mg_tensor mg_binary(mg_graph *g, mg_opcode op, mg_tensor a, mg_tensor b) {
  mg_tensor in[2];
  in[0] = a, in[1] = b;
  return mg_apply(g, op, NULL, 2, in);
}
mg_tensor mg_with_rat(mg_graph *g, mg_opcode op, mg_tensor a, mg_rational c) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.c = c;
  return mg_apply(g, op, &A, 1, &a);
}
mg_tensor mg_with_dim(mg_graph *g, mg_opcode op, mg_tensor a, int dim) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.dim = dim;
  return mg_apply(g, op, &A, 1, &a);
}
mg_tensor mg_clamp(mg_graph *g, mg_tensor a, mg_rational least, mg_rational most) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.c = least, A.most = most;
  return mg_apply(g, MG_OP_CLAMP, &A, 1, &a);
}
mg_tensor mg_repeat(mg_graph *g, mg_tensor a, int dim, int64_t n) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.dim = dim, A.n = n;
  return mg_apply(g, MG_OP_REPEAT, &A, 1, &a);
}
static const mg_opcode mgi_casts[] = {MG_OP_TO_F16, MG_OP_TO_BF16, MG_OP_TO_F32};
enum { MGI_CASTS = sizeof mgi_casts / sizeof *mgi_casts };
static_assert(MGI_CASTS == MG_F32 + 1, "one cast a built-in type, in the enum's order; to a user's type there is none");

int mg_is_cast(mg_opcode op, mg_dtype *type) {
  for (int t = 0; t < MGI_CASTS; t++)
    if (mgi_casts[t] == op) {
      if (type) *type = (mg_dtype)t;
      return 1;
    }
  return 0;
}
/* 1: a cast reads tensor t of g. */
MGI_FN int mgi_cast_reads(const mg_graph *g, mg_tensor t) {
  int stores = 0, reads = 0;
  for (uint32_t k = 1; k < g->n_ops && !reads; k++) {
    const mg_op_node *o = &g->ops[k];
    for (uint32_t i = 1; o->sub && i < o->sub->n_ops && !reads; i++) {
      const mg_op_node *load = &o->sub->ops[i];
      reads = load->code == MG_OP_LOAD && load->in[0].id == t.id && mgi_cast_reads(o->sub, load->out[0]);
    }
    const int store = o->code == MG_OP_STORE ? stores++ : -1;
    int mine = 0;
    for (int j = 0; j < o->n_in && !o->sub && o->code != MG_OP_LOAD; j++) mine |= o->in[j].id == t.id;
    if (!mine || reads) continue;
    for (uint32_t i = 1; store >= 0 && g->up && i < g->up->n_ops && !reads; i++)
      if (g->up->ops[i].sub == g) reads = mgi_cast_reads(g->up, g->up->ops[i].out[store]);
    if (store < 0) reads = mg_is_cast(o->code, NULL) || (mg_op_row(o->code)->moves && mgi_cast_reads(g, o->out[0]));
  }
  return reads;
}
int mg_cast_rounds(const mg_graph *g, uint32_t op) {
  const mg_op_node *o = &g->ops[op];
  mg_dtype type;
  return mg_is_cast(o->code, &type) && mg_dtype_bytes(type) == 2 && g->tensors[o->in[0].id].dtype != type &&
         mgi_cast_reads(g, o->out[0]);
}
mg_tensor mg_cast(mg_graph *g, mg_tensor a, mg_dtype type) {
  mg_tensor none = {0};
  if ((unsigned)type < MGI_CASTS) return mg_unary(g, mgi_casts[type], a);
  if (g) mgi_err(g, MG_BAD_INPUT, "cast", "there is no cast to %s", mg_dtype_name(type));
  return none;
}
mg_tensor mg_where(mg_graph *g, mg_tensor c, mg_tensor a, mg_tensor b) {
  mg_tensor in[3];
  in[0] = c, in[1] = a, in[2] = b;
  return mg_apply(g, MG_OP_WHERE, NULL, 3, in);
}
mg_tensor mg_gather(mg_graph *g, mg_tensor w, mg_tensor index) { return mg_binary(g, MG_OP_GATHER, w, index); }
mg_tensor mg_causal(mg_graph *g, mg_tensor s) { return mg_unary(g, MG_OP_CAUSAL, s); }
mg_tensor mg_rope(mg_graph *g, mg_tensor x, mg_tensor c, mg_tensor s) {
  mg_tensor in[3];
  in[0] = x, in[1] = c, in[2] = s;
  return mg_apply(g, MG_OP_ROPE, NULL, 3, in);
}
mg_tensor mg_slice(mg_graph *g, mg_tensor a, int dim, int64_t from, int64_t n) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.dim = dim, A.from = from, A.n = n;
  return mg_apply(g, MG_OP_SLICE, &A, 1, &a);
}
mg_tensor mg_reshape(mg_graph *g, mg_tensor a, int rank, const int64_t *dim) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.shape.rank = rank;
  for (int d = 0; d < rank && rank <= MG_MAX_RANK; d++) A.shape.dim[d] = dim[d];
  return mg_apply(g, MG_OP_RESHAPE, &A, 1, &a);
}
mg_tensor mg_transpose(mg_graph *g, mg_tensor a, const int32_t *perm) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  for (int d = 0; d < mg_tensor_of(g, a)->shape.rank; d++) A.perm[d] = perm[d];
  return mg_apply(g, MG_OP_TRANSPOSE, &A, 1, &a);
}
mg_tensor mg_concat(mg_graph *g, mg_tensor a, mg_tensor b, int dim) {
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.dim = dim;
  mg_tensor in[2];
  in[0] = a, in[1] = b;
  return mg_apply(g, MG_OP_CONCAT, &A, 2, in);
}
mg_tensor mg_concat_matmul(mg_graph *g, mg_tensor w, mg_tensor x, mg_tensor y, mg_tensor z) {
  mg_tensor in[4];
  in[0] = w, in[1] = x, in[2] = y, in[3] = z;
  return mg_apply(g, MG_OP_CONCAT_MATMUL, NULL, 4, in);
}

/* ------------------------------------------------------------------------------------------- >>levels
   Graph-defined operators: loops, loads, accumulators and stores of a lower graph.  A load's map cuts the tensor above
   into chunks; an accumulator or a store undoes cuts by the axes that it sends to a dimension, innermost first.
   Invariants: `depends` of a tensor holds the grid axes along which blocks may differ in it, `merged` those that an
   accumulator summed away; a store must account for every axis of the first and none of the second. */

mg_graph *mg_graph_begin(mg_graph *g, const int64_t grid[3], int threads) {
  if (!g || g->root->err.status != MG_OK) return NULL;
  if (g->level == MG_THREAD) { mgi_err(g, MG_BAD_INPUT, "graph", "a thread graph has no lower graph"); return NULL; }
  if (g->level == MG_KERNEL && (threads < 32 || threads > 1024 || threads % 32)) {
    mgi_err(g, MG_BAD_INPUT, "kernel", "threads is a multiple of 32 between 32 and 1024, got %d", threads);
    return NULL;
  }
  for (int k = 0; k < 3; k++) {
    int64_t top = g->level == MG_THREAD ? 1024 : k ? 65535 : 2147483647;
    if (grid[k] < 1 || grid[k] > top) {
      mgi_err(g, MG_BAD_INPUT, "grid", "grid %c is between 1 and %lld, got %lld", "xyz"[k], (long long)top,
              (long long)grid[k]);
      return NULL;
    }
  }
  mg_graph *s = mgi_graph_new(g->root, g->level == MG_KERNEL ? MG_BLOCK : MG_THREAD);
  if (!s) return NULL;
  static const char *const name[] = {"x", "y", "z"};
  s->name = g->name, s->up = g, s->threads = s->level == MG_BLOCK ? threads : 0;
  for (int k = 0; k < 3; k++) s->axes[k + 1].name = name[k], s->axes[k + 1].extent = grid[k];
  s->n_axes = 4;
  g->root->open++;
  return s;
}

mg_axis mg_grid_axis(mg_graph *sub, int which) {
  mg_axis a = {0};
  if (sub && which >= 0 && which < 3) a.id = (uint32_t)which + 1;
  return a;
}

mg_axis mg_loop_begin(mg_graph *g, const char *name, int64_t extent) {
  mg_axis a = {0};
  if (!g || g->root->err.status != MG_OK) return a;
  if (g->level == MG_KERNEL) { mgi_err(g, MG_BAD_INPUT, "for", "a loop stands in a block or thread graph"); return a; }
  if (g->n_axes > MG_MAX_AXES) {
    mgi_err(g, MG_LIMIT, "for", "a graph has at most %d loops", MG_MAX_AXES - 3);
    return a;
  }
  if (extent < 1 || extent > INT32_MAX) {
    mgi_err(g, MG_BAD_INPUT, "for", "a loop runs 1 to 2^31 - 1 times, got %lld", (long long)extent);
    return a;
  }
  if (!mgi_good_name(name) || mgi_keyword(name)) {
    mgi_err(g, MG_BAD_INPUT, "for", "'%.40s' is no name for a loop", name ? name : "(null)");
    return a;
  }
  for (uint32_t k = 1; k < g->n_axes; k++)
    if (!strcmp(g->axes[k].name, name)) {
      mgi_err(g, MG_BAD_INPUT, "for", "the name '%s' is taken by another axis", name);
      return a;
    }
  mg_axis_info *x = &g->axes[g->n_axes];
  x->name = mgi_copy_string(g->root, name, strlen(name));
  if (!x->name) return a;
  x->extent = extent, x->parent = g->cursor;
  a.id = g->cursor = g->n_axes++;
  return a;
}

void mg_loop_end(mg_graph *g) {
  if (!g || g->root->err.status != MG_OK) return;
  if (!g->cursor) { mgi_err(g, MG_BAD_INPUT, "for", "mg_loop_end without mg_loop_begin"); return; }
  for (uint32_t k = g->n_ops; k-- > 1;)
    if (mgi_encloses(g, g->cursor, g->ops[k].scope)) { g->cursor = g->axes[g->cursor].parent; return; }
  mgi_err(g, MG_BAD_INPUT, "for", "loop %s is empty", g->axes[g->cursor].name);
}

/* Checks a map's targets and drops axes of one block from it; axes outside the open scope are refused. */
MGI_FN int mgi_map_ok(mg_graph *g, const char *where, mg_map *m, int rank, uint32_t scope, int loops, int accum) {
  for (uint32_t a = 1; a <= MG_MAX_AXES; a++) {
    int to = m->to[a];
    if (to == MG_MAP_NONE) continue;
    if (a >= g->n_axes) {
      mgi_err(g, MG_BAD_INPUT, where, "the map names axis %u, the graph has %u", a, g->n_axes - 1);
      return 0;
    }
    if (a > 3 && (!loops || !mgi_encloses(g, a, scope))) {
      mgi_err(g, MG_BAD_INPUT, where, "the map names loop %s, %s", g->axes[a].name,
              loops ? "which is not open here" : "but a store stands outside of loops and maps grid axes");
      return 0;
    }
    if (to >= rank) {
      mgi_err(g, MG_BAD_INPUT, where, "the map sends %s to dimension %d of a tensor of rank %d", g->axes[a].name, to,
              rank);
      return 0;
    }
    if (to < MG_MAP_MAX || (!accum && to < MG_MAP_ALL)) {
      mgi_err(g, MG_BAD_INPUT, where, "the map sends %s to something that only an accumulator may name",
              g->axes[a].name);
      return 0;
    }
    if (accum && to == MG_MAP_ALL) {
      mgi_err(g, MG_BAD_INPUT, where, "an accumulator's map says +, max or a dimension for %s", g->axes[a].name);
      return 0;
    }
    if (g->axes[a].extent == 1 && a <= 3) m->to[a] = MG_MAP_NONE;
    else if (to == MG_MAP_ALL) m->to[a] = MG_MAP_NONE; /* a replica is what an axis that is not named means */
  }
  return 1;
}

mg_tensor mg_load(mg_graph *g, mg_tensor above, mg_map map) {
  mg_tensor none = {0};
  if (!g || g->root->err.status != MG_OK) return none;
  if (!g->up) { mgi_err(g, MG_BAD_INPUT, "load", "a program loads nothing: it has inputs"); return none; }
  if (!mgi_valid(g->up, above, "load")) return none;
  const mg_tensor_info *src = &g->up->tensors[above.id];
  if (src->dtype == MG_I32) {
    mgi_err(g, MG_BAD_INPUT, "load", "'%s' holds indices (i32): no kernel loads them, gather reads them",
            src->name ? src->name : "the tensor");
    return none;
  }
  if (!mgi_encloses(g->up, src->scope, g->up->cursor)) {
    mgi_err(g, MG_BAD_INPUT, "load", "'%s' lives in loop %s of the graph above, which is not open here",
            src->name ? src->name : "the tensor", g->up->axes[src->scope].name);
    return none;
  }
  if (!mgi_map_ok(g, "load", &map, src->shape.rank, g->cursor, 1, 0)) return none;
  mg_shape s = src->shape;
  mgi_cuts cut[MG_MAX_RANK];
  int ragged[MG_MAX_RANK] = {0};
  uint32_t depends = 0;
  memset(cut, 0, sizeof cut);
  for (uint32_t a = 1; a < g->n_axes; a++) {
    int d = map.to[a];
    if (d < 0) continue;
    int64_t n = g->axes[a].extent, chunk = mg_ceil_div(s.dim[d], n);
    if (n > s.dim[d]) {
      mgi_err(g, MG_BAD_INPUT, "load", "%s=%lld cuts dimension %d of '%s', whose chunk so far has only %lld",
              g->axes[a].name, (long long)n, d, src->name ? src->name : "the tensor", (long long)s.dim[d]);
      return none;
    }
    if ((n - 1) * chunk >= s.dim[d]) {
      mgi_err(
          g, MG_BAD_INPUT, "load",
          "%s=%lld cuts %lld of dimension %d of '%s' into chunks of %lld, which leaves the last one empty: use %lld",
          g->axes[a].name, (long long)n, (long long)s.dim[d], d, src->name ? src->name : "the tensor", (long long)chunk,
          (long long)mg_ceil_div(s.dim[d], chunk));
      return none;
    }
    ragged[d] |= chunk * n != s.dim[d];
    cut[d].axis[cut[d].n] = a, cut[d].before[cut[d].n++] = s.dim[d];
    s.dim[d] = chunk;
    if (a <= 3) depends |= 1u << a;
  }
  for (int d = 0; d < s.rank; d++)
    if (src->cuts[d]) {
      mgi_err(g, MG_UNSUPPORTED, "load", "a thread graph under a block tensor that is cut unevenly");
      return none;
    }
  uint32_t index;
  mg_op_node *o = mgi_new_op(g, MG_OP_LOAD, &index);
  if (!o) return none;
  o->n_in = o->n_out = 1, o->in[0] = above, o->map = map;
  mg_tensor t = mgi_new_tensor(g, &s, src->dtype, index, g->cursor);
  if (!t.id) return none;
  g->ops[index].out[0] = t;
  g->tensors[t.id].depends = depends;
  for (int d = 0; d < s.rank; d++)
    if (ragged[d]) {
      mgi_cuts *c = (mgi_cuts *)mgi_alloc(g->root, sizeof *c);
      if (!c) return none;
      *c = cut[d];
      g->tensors[t.id].cuts[d] = c;
    }
  return t;
}

/* Undoes the last cut of dimension d, which must be by axis a: the extent before it. */
MGI_FN int mgi_uncut(mg_graph *g, const char *where, mg_tensor_info *t, int d, uint32_t a) {
  const mgi_cuts *c = t->cuts[d];
  int64_t n = g->axes[a].extent;
  if (!c) {
    if (t->shape.dim[d] > ((int64_t)1 << 40) / n) {
      mgi_err(g, MG_BAD_INPUT, where, "the concatenated dimension passes 2^40");
      return 0;
    }
    t->shape.dim[d] *= n;
    return 1;
  }
  if (c->axis[c->n - 1] != a) {
    mgi_err(g, MG_UNSUPPORTED, where, "dimension %d is cut unevenly, last by %s, and would be put together by %s", d,
            g->axes[c->axis[c->n - 1]].name, g->axes[a].name);
    return 0;
  }
  t->shape.dim[d] = c->before[c->n - 1];
  t->cuts[d] = NULL;
  if (c->n == 1) return 1;
  mgi_cuts *r = (mgi_cuts *)mgi_alloc(g->root, sizeof *r);
  if (!r) return 0;
  *r = *c;
  r->n--;
  int64_t even = r->before[0];
  int ragged = 0;
  for (int k = 0; k < r->n; k++)
    ragged |= even % g->axes[r->axis[k]].extent != 0, even = mg_ceil_div(even, g->axes[r->axis[k]].extent);
  if (ragged) t->cuts[d] = r;
  return 1;
}

/* The grid axes that an accumulator merges, as bits. */
MGI_FN uint32_t mgi_grid_part(const mg_map *m) {
  uint32_t s = 0;
  for (uint32_t a = 1; a <= 3; a++) s |= (uint32_t)(m->to[a] != MG_MAP_NONE) << a;
  return s;
}

MGI_FN int mgi_cut_by(const mg_tensor_info *t, uint32_t a) {
  for (int d = 0; d < t->shape.rank; d++)
    for (int k = 0; t->cuts[d] && k < t->cuts[d]->n; k++)
      if (t->cuts[d]->axis[k] == a) return d;
  return -1;
}

mg_tensor mg_accum(mg_graph *g, mg_tensor in, mg_map map) {
  mg_tensor none = {0};
  if (!mgi_valid(g, in, "accum")) return none;
  if (g->level == MG_KERNEL) {
    mgi_err(g, MG_BAD_INPUT, "accum", "an accumulator stands in a block or thread graph");
    return none;
  }
  mg_tensor_info t = g->tensors[in.id]; /* a copy: what the accumulator makes of it */
  if (!mgi_encloses(g, g->cursor, t.scope)) {
    mgi_err(g, MG_BAD_INPUT, "accum", "'%s' lives in loop %s, which does not stand in the body that is open here",
            t.name ? t.name : "the operand", g->axes[t.scope].name);
    return none;
  }
  if (!mgi_map_ok(g, "accum", &map, t.shape.rank, t.scope, 1, 1)) return none;
  int any = 0, kinds = 0;
  for (uint32_t a = 1; a < g->n_axes; a++) kinds |= map.to[a] == MG_MAP_SUM ? 1 : map.to[a] == MG_MAP_MAX ? 2 : 0;
  if (kinds == 3) {
    mgi_err(g, MG_UNSUPPORTED, "accum", "+ and max in one accumulator: take the inner one first");
    return none;
  }
  uint32_t over = mgi_grid_part(&map);
  for (uint32_t k = 1; over && k < g->n_ops; k++)
    if (g->ops[k].code == MG_OP_ACCUM && mgi_grid_part(&g->ops[k].map) && mgi_grid_part(&g->ops[k].map) != over) {
      mgi_err(g, MG_UNSUPPORTED, "accum",
              "all accumulators of a kernel that merge blocks do so over the same grid axes");
      return none;
    }
  if (over && t.merged) {
    mgi_err(g, MG_UNSUPPORTED, "accum", "'%s' was merged over grid axes already", t.name ? t.name : "the operand");
    return none;
  }
  for (uint32_t s = t.scope; s != g->cursor; s = g->axes[s].parent) {
    if (map.to[s] == MG_MAP_NONE) {
      mgi_err(g, MG_BAD_INPUT, "accum", "'%s' lives in loop %s: the map must say what becomes of it",
              t.name ? t.name : "the operand", g->axes[s].name);
      return none;
    }
    any = 1;
  }
  for (uint32_t a = 1; a < g->n_axes; a++) {
    if (map.to[a] == MG_MAP_NONE) continue;
    if (a > 3 && (a == g->cursor || !mgi_encloses(g, g->cursor, a))) {
      mgi_err(g, MG_BAD_INPUT, "accum", "loop %s is still open here", g->axes[a].name);
      return none;
    }
    any = 1;
    if (a <= 3) {
      if (g->cursor) {
        mgi_err(g, MG_UNSUPPORTED, "accum", "an accumulator over grid axes stands outside of loops");
        return none;
      }
      if (g->level != MG_BLOCK) {
        mgi_err(g, MG_UNSUPPORTED, "accum", "an accumulator over grid axes stands in a block graph");
        return none;
      }
      t.depends &= ~(1u << a);
      t.merged |= 1u << a;
    }
    if (map.to[a] < 0 && mgi_cut_by(&t, a) >= 0) {
      mgi_err(g, MG_BAD_INPUT, "accum",
              "dimension %d is cut unevenly by %s: chunks of different extents cannot be combined element by element",
              mgi_cut_by(&t, a), g->axes[a].name);
      return none;
    }
  }
  if (!any && g->level == MG_BLOCK) { /* every axis named has one block: nothing to lift */
    for (int a = 1; a <= 3; a++) any |= g->axes[a].extent == 1;
  }
  if (!any) { mgi_err(g, MG_BAD_INPUT, "accum", "the map names no axis to accumulate over"); return none; }
  for (uint32_t a = g->n_axes; a-- > 1;) /* innermost cut first */
    if (map.to[a] >= 0 && !mgi_uncut(g, "accum", &t, map.to[a], a)) return none;
  for (uint32_t a = 1; a < g->n_axes; a++) {
    const int other = map.to[a] >= 0 ? mgi_cut_by(&t, a) : -1;
    if (other < 0) continue;
    mgi_err(g, MG_BAD_INPUT, "accum",
            "dimension %d is cut unevenly by %s, too: chunks of different extents cannot be put "
            "side by side along dimension %d alone",
            other, g->axes[a].name, map.to[a]);
    return none;
  }
  if (!mgi_good_shape(g, "accum", &t.shape)) return none;
  uint32_t index;
  mg_op_node *o = mgi_new_op(g, MG_OP_ACCUM, &index);
  if (!o) return none;
  o->n_in = o->n_out = 1, o->in[0] = in, o->map = map;
  mg_tensor out = mgi_new_tensor(g, &t.shape, t.dtype, index, g->cursor);
  if (!out.id) return none;
  g->ops[index].out[0] = out;
  g->tensors[out.id].depends = t.depends, g->tensors[out.id].merged = t.merged;
  memcpy(g->tensors[out.id].cuts, t.cuts, sizeof t.cuts);
  return out;
}

void mg_store(mg_graph *g, mg_tensor in, mg_map map) {
  if (!mgi_valid(g, in, "store")) return;
  if (g->level == MG_KERNEL) { mgi_err(g, MG_BAD_INPUT, "store", "a program stores nothing: it has outputs"); return; }
  const mg_tensor_info *t = &g->tensors[in.id];
  if (t->scope || g->cursor) {
    mgi_err(g, MG_BAD_INPUT, "store", "a store stands outside of loops: lift '%s' with accum",
            t->name ? t->name : "the tensor");
    return;
  }
  if (!mgi_map_ok(g, "store", &map, t->shape.rank, 0, 0, 0)) return;
  for (uint32_t a = 1; a <= 3; a++) {
    if (g->axes[a].extent == 1) continue;
    if (map.to[a] < 0 && (t->depends >> a & 1)) {
      mgi_err(
          g, MG_BAD_INPUT, "store",
          "blocks along %s hold different values of '%s': the map must send %s to a dimension, or an accumulator must merge them",
          g->axes[a].name, t->name ? t->name : "the tensor", g->axes[a].name);
      return;
    }
    if ((t->merged >> a & 1) && (map.to[a] >= 0 || (t->depends >> a & 1))) {
      mgi_err(g, MG_BAD_INPUT, "store",
              "'%s' is defined once per group of blocks over %s (an accumulator merged them) and must not depend on %s",
              t->name ? t->name : "the tensor", g->axes[a].name, g->axes[a].name);
      return;
    }
  }
  uint32_t index;
  mg_op_node *o = mgi_new_op(g, MG_OP_STORE, &index);
  if (!o) return;
  o->n_in = 1, o->in[0] = in, o->map = map;
}

void mg_plan_set(mg_graph *g, const char *key, const char *value) {
  if (!g || g->root->err.status != MG_OK) return;
  if (g->level != MG_BLOCK) { mgi_err(g, MG_BAD_INPUT, "plan", "a plan belongs to a block graph"); return; }
  for (const char *p = key; ; p = value) {
    size_t n = 0;
    for (; p && p[n] && n < 64; n++)
      if (!((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z') || (p[n] >= '0' && p[n] <= '9') ||
            p[n] == '_' || p[n] == '.' || p[n] == '-'))
        break;
    if (!n || p[n] || (p == key && p[0] >= '0' && p[0] <= '9')) {
      mgi_err(g, MG_BAD_INPUT, "plan", "'%.40s' is no key or value: letters, digits, '_', '.' and '-', at most 63",
              p ? p : "(null)");
      return;
    }
    if (p == value) break;
  }
  uint32_t k = 0;
  while (k < g->n_plan && strcmp(g->plan[k].key, key)) k++;
  if (k == MG_MAX_PLAN) { mgi_err(g, MG_LIMIT, "plan", "a plan has at most %d entries", MG_MAX_PLAN); return; }
  const char *v = mgi_copy_string(g->root, value, strlen(value)),
             *n = k < g->n_plan ? g->plan[k].key : mgi_copy_string(g->root, key, strlen(key));
  if (!v || !n) return;
  g->plan[k].key = n, g->plan[k].value = v;
  if (k == g->n_plan) g->n_plan++;
}
const char *mg_plan_get(const mg_graph *g, const char *key) {
  for (uint32_t k = 0; g && k < g->n_plan; k++)
    if (!strcmp(g->plan[k].key, key)) return g->plan[k].value;
  return NULL;
}
int64_t mg_plan_int(const mg_graph *g, const char *key, int64_t otherwise) {
  const char *v = mg_plan_get(g, key);
  char *end;
  if (!v) return otherwise;
  long long n = strtoll(v, &end, 10);
  return *end ? otherwise : (int64_t)n;
}

int mg_ops_before(const mg_graph *g, uint32_t op, mg_opcode code) {
  int n = 0;
  for (uint32_t k = 1; k < op; k++) n += g->ops[k].code == code;
  return n;
}
int mg_is_output(const mg_graph *g, mg_tensor t) {
  for (uint32_t k = 0; k < g->n_out; k++)
    if (g->out[k].id == t.id) return 1;
  return 0;
}
int mg_uses_of(const mg_graph *g, mg_tensor t) {
  int uses = 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (int j = 0; j < g->ops[k].n_in; j++) uses += g->ops[k].in[j].id == t.id;
  for (uint32_t k = 0; k < g->n_out; k++) uses += g->out[k].id == t.id;
  return uses;
}
int mg_softmax_dim(const mg_graph *g, uint32_t op) {
  const mg_op_node *o = mg_op_of(g, op), *sum = NULL;
  if (g->level != MG_KERNEL || o->code != MG_OP_EXP || !g->tensors[o->out[0].id].inner) return -1;
  for (uint32_t k = op + 1; k < g->n_ops; k++) {
    const mg_op_node *x = &g->ops[k];
    const int of_exp = x->in[0].id == o->out[0].id || (x->n_in > 1 && x->in[1].id == o->out[0].id);
    const int of_sum = sum && (x->in[0].id == sum->out[0].id || (x->n_in > 1 && x->in[1].id == sum->out[0].id));
    if (of_exp && x->code == MG_OP_SUM && !sum && g->tensors[x->out[0].id].inner) sum = x;
    else if ((of_exp || of_sum) &&
             !(sum && x->code == MG_OP_DIV && x->in[0].id == o->out[0].id && x->in[1].id == sum->out[0].id))
      return -1;
    for (int j = 2; j < x->n_in; j++)
      if (x->in[j].id == o->out[0].id || (sum && x->in[j].id == sum->out[0].id)) return -1;
  }
  return sum ? sum->attr.dim : -1;
}
int mg_graph_end(mg_graph *s, mg_tensor *out) {
  if (!s || s->root->err.status != MG_OK) return 0;
  mg_graph *g = s->up;
  if (!g || s->up_op) { mgi_err(s, MG_BAD_INPUT, "graph", "mg_graph_end without mg_graph_begin"); return 0; }
  if (s->cursor) { mgi_err(s, MG_BAD_INPUT, "graph", "loop %s is still open", s->axes[s->cursor].name); return 0; }
  uint32_t index;
  int n = mg_ops_before(s, s->n_ops, MG_OP_STORE);
  if (n < 1 || n > MG_MAX_OUT) {
    mgi_err(s, MG_BAD_INPUT, "graph", "a lower graph stores 1 to %d tensors, got %d", MG_MAX_OUT, n);
    return 0;
  }
  mg_op_node *o = mgi_new_op(g, MG_OP_GRAPH, &index);
  if (!o) return 0;
  o->sub = s;
  s->up_op = index;
  uint32_t depends = 0, merged = 0;
  for (uint32_t k = 1; k < s->n_ops; k++) {
    mg_op_node *l = &s->ops[k];
    if (l->code != MG_OP_LOAD) continue;
    int seen = 0;
    o = &g->ops[index];
    for (int j = 0; j < o->n_in; j++) seen |= o->in[j].id == l->in[0].id;
    if (seen) continue;
    if (o->n_in == MG_MAX_IN) {
      mgi_err(s, MG_LIMIT, "graph", "a lower graph loads at most %d tensors", MG_MAX_IN);
      return 0;
    }
    o->in[o->n_in++] = l->in[0];
    depends |= g->tensors[l->in[0].id].depends, merged |= g->tensors[l->in[0].id].merged;
  }
  n = 0;
  for (uint32_t k = 1; k < s->n_ops; k++) {
    if (s->ops[k].code != MG_OP_STORE) continue;
    mg_tensor_info t = s->tensors[s->ops[k].in[0].id];
    for (uint32_t a = 4; a-- > 1;)
      if (s->ops[k].map.to[a] >= 0 && !mgi_uncut(s, "store", &t, s->ops[k].map.to[a], a)) return 0;
    for (int d = 0; d < t.shape.rank; d++)
      if (t.cuts[d]) {
        mgi_err(s, MG_BAD_INPUT, "store", "dimension %d is cut unevenly by %s, which the store does not undo", d,
                s->axes[t.cuts[d]->axis[t.cuts[d]->n - 1]].name);
        return 0;
      }
    if (!mgi_good_shape(s, "store", &t.shape)) return 0;
    mg_tensor r = mgi_new_tensor(g, &t.shape, t.dtype, index, g->cursor);
    if (!r.id) return 0;
    g->tensors[r.id].depends = depends, g->tensors[r.id].merged = merged;
    g->ops[index].out[n] = r;
    if (out) out[n] = r;
    n++;
  }
  g->ops[index].n_out = (uint8_t)n;
  g->root->open--;
  return n;
}

/* ------------------------------------------------------------------------------------------ >>validate */

/* How many values of g, and of the graphs within it, have this name. */
MGI_FN int mgi_names_within(const mg_graph *g, const char *name) {
  int n = 0;
  for (uint32_t k = 1; k < g->n_tensors; k++) n += g->tensors[k].name && !strcmp(g->tensors[k].name, name);
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub) n += mgi_names_within(g->ops[k].sub, name);
  return n;
}
/* Names what has none, all levels of a listing apart: t1, t2, .., of the inner ones _1, _2, ..  *next: where to go
   on. */
MGI_FN void mgi_name_all(const mg_graph *whole, mg_graph *g, unsigned *next) {
  for (uint32_t k = 1; k < g->n_tensors; k++) {
    char buf[24];
    if (g->tensors[k].name) continue;
    do snprintf(buf, sizeof buf, g->tensors[k].inner ? "_%u" : "t%u", (*next)++);
    while (mgi_names_within(whole, buf));
    g->tensors[k].name = mgi_copy_string(g->root, buf, strlen(buf));
    if (!g->tensors[k].name) return;
  }
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub) mgi_name_all(whole, g->ops[k].sub, next);
}

/* Keys of the plans around g that are of `was`, and of no value in there that is still called so, become those of
   `name`. */
MGI_FN void mgi_plan_renamed(mg_graph *g, const char *was, const char *name) {
  const size_t n = strlen(was);
  char key[200];
  for (mg_graph *b = g; b->up; b = b->up)
    for (uint32_t k = 0; k < b->n_plan && !mgi_names_within(b, was); k++) {
      if (strncmp(b->plan[k].key, was, n) || b->plan[k].key[n] != '.') continue;
      snprintf(key, sizeof key, "%.90s%.90s", name, b->plan[k].key + n);
      const char *copy = mgi_copy_string(g->root, key, strlen(key));
      if (copy) b->plan[k].key = copy;
    }
}
/* Of values within the kernels of `whole` that share a name all but the first are called name_2, name_3, ..; of one
   outside that has it, all.  What there is no memory for keeps its name. */
MGI_FN void mgi_apart(const mg_graph *whole, mg_graph *g) {
  for (uint32_t k = g->n_ops; k-- > 1;)
    if (g->ops[k].sub) mgi_apart(whole, g->ops[k].sub);
  for (uint32_t k = g->n_tensors; k-- > 1 && g->up;) {
    const char *name = g->tensors[k].name;
    char buf[96];
    int have = name ? mgi_names_within(whole, name) : 1;
    if (have == 1) continue;
    do snprintf(buf, sizeof buf, "%.48s_%d", name, have++); /* keys of a plan have 63 letters */
    while (mgi_names_within(whole, buf));
    const char *other = mgi_copy_string(g->root, buf, strlen(buf));
    if (!other) return;
    g->tensors[k].name = other;
    mgi_plan_renamed(g, name, other);
  }
}
void mgi_names_apart(mg_graph *whole) { mgi_apart(whole, whole); }

MGI_FN mg_status mgi_symbols_hold(const mg_graph *g, mg_error *e);
mg_status mg_check(mg_graph *g, mg_error *e) {
  if (!g) return mg_fail(e, MG_NO_MEMORY, "mg_check", "there is no graph");
  if (g->root->err.status == MG_OK) {
    if (g->up) return mg_fail(e, MG_BAD_INPUT, "mg_check", "call it on the program");
    if (!mgi_good_name(g->name)) return mg_fail(e, MG_BAD_INPUT, "program", "'%.40s' is no name", g->name);
    if (g->root->open)
      return mg_fail(e, MG_BAD_INPUT, g->name, "mg_graph_begin without mg_graph_end: %u graph%s not closed",
                     g->root->open, g->root->open == 1 ? " is" : "s are");
    if (!g->n_in) return mg_fail(e, MG_BAD_INPUT, g->name, "the program has no input");
    if (!g->n_out) return mg_fail(e, MG_BAD_INPUT, g->name, "the program has no output");
    unsigned next = 1;
    mgi_name_all(g, g, &next);
    if (g->n_symbols && g->root->err.status == MG_OK) return mgi_symbols_hold(g, e);
  }
  if (g->root->err.status != MG_OK && e) *e = g->root->err;
  return g->root->err.status;
}

/* A tensor's number as if all inputs had come first, which is how they are printed. */
MGI_FN uint32_t mgi_hash_id(const mg_graph *g, mg_tensor t) {
  uint32_t id = t.id;
  if (g->level != MG_KERNEL || !id) return id;
  for (uint32_t k = 0; k < g->n_in; k++) {
    if (g->in[k].id == t.id) return k + 1;
    id += g->in[k].id > t.id;
  }
  return id;
}

/* Gives what a graph is, word by word.  exact: counts and attributes stand apart, so that no two graphs give the same
   words; mg_hash does without them. */
typedef struct mgi_words { void (*put)(void *user, uint64_t word); void *user; int exact; } mgi_words;

MGI_FN void mgi_words_exactly(const mgi_words *w, uint64_t word) {
  if (w->exact) w->put(w->user, word);
}
/* What ties levels together is where it stood when the table had softmax last; later rows come behind.  So a row more
   changes the words, and with them the certificates, of no graph without it. */
MGI_FN int mgi_code_word(mg_opcode code) {
  const int first = (int)MG_OP_SOFTMAX + 1, levels = (int)MG_OP_COUNT - (int)MG_OP_TABLE_END;
  const int c = (int)code;
  return c >= MG_OP_TABLE_END ? c - MG_OP_TABLE_END + first : c < first ? c : c + levels;
}
MGI_FN void mgi_words_of(const mg_graph *g, const mgi_words *w) {
  w->put(w->user, (uint64_t)g->level * 65536 + (uint64_t)g->n_axes);
  for (uint32_t k = 1; k < g->n_axes; k++) {
    w->put(w->user, (uint64_t)g->axes[k].extent * 16 + g->axes[k].parent);
    if (g->axes[k].symbol) w->put(w->user, (uint64_t)g->axes[k].symbol << 56);
  }
  for (uint32_t k = 0; k < mg_n_sizes(g); k++) { /* a graph without has the words that it had before there were any */
    w->put(w->user, (uint64_t)g->symbol[k].least);
    w->put(w->user, (uint64_t)g->symbol[k].most);
    if (g->symbol[k].last < g->symbol[k].most) w->put(w->user, (uint64_t)g->symbol[k].last << 8);
    for (const char *c = k < g->n_symbols ? "" : g->symbol[k].name; *c;) { /* symbols by number */
      const size_t n = mgi_name_length(c);
      uint32_t is = 0;
      while (n && (strlen(g->symbol[is].name) != n || memcmp(g->symbol[is].name, c, n))) is++;
      w->put(w->user, n ? (uint64_t)(is + 1) << 32 : (uint64_t)(unsigned char)*c);
      c += n ? n : 1;
    }
  }
  for (uint32_t k = 0; k < g->n_in * MG_MAX_RANK && g->n_symbols; k++)
    w->put(w->user, g->in_symbol[k / MG_MAX_RANK][k % MG_MAX_RANK]);
  w->put(w->user, (uint64_t)g->threads);
  mgi_words_exactly(w, (uint64_t)g->n_in << 32 | g->n_ops);
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *t = &g->tensors[g->in[k].id];
    w->put(w->user, (uint64_t)t->dtype * 256 + (uint64_t)t->shape.rank + ((uint64_t)mgi_hash_id(g, g->in[k]) << 32));
    for (int d = 0; d < t->shape.rank; d++) w->put(w->user, (uint64_t)t->shape.dim[d] * 8 + (uint64_t)t->order[d]);
    if (t->fill) w->put(w->user, ~(uint64_t)t->fill); /* no dimension's word */
  }
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    w->put(w->user, (uint64_t)mgi_code_word(o->code) * 65536 + o->scope);
    mgi_words_exactly(w, (uint64_t)o->n_in << 32 | o->n_out);
    for (int j = 0; j < o->n_in; j++) w->put(w->user, mgi_hash_id(o->code == MG_OP_LOAD ? g->up : g, o->in[j]));
    for (int j = 0; j < o->n_out; j++) w->put(w->user, mgi_hash_id(g, o->out[j]));
    w->put(w->user, (uint64_t)o->attr.dim * 31 + (uint64_t)o->attr.n);
    mgi_words_exactly(w, (uint64_t)o->attr.n);
    if (o->code == MG_OP_SLICE) w->put(w->user, (uint64_t)o->attr.from);
    w->put(w->user, (uint64_t)o->attr.c.num);
    w->put(w->user, (uint64_t)o->attr.c.den);
    mgi_words_exactly(w, (uint64_t)o->attr.shape.rank);
    for (int d = 0; d < MG_MAX_RANK; d++)
      w->put(w->user, (uint64_t)o->attr.shape.dim[d] * 8 + (uint64_t)o->attr.perm[d]);
    for (uint32_t a = 1; a <= MG_MAX_AXES; a++) w->put(w->user, (uint64_t)(o->map.to[a] + 8));
    if (o->sub) mgi_words_of(o->sub, w);
  }
  mgi_words_exactly(w, g->n_out);
  for (uint32_t k = 0; k < g->n_out; k++) w->put(w->user, mgi_hash_id(g, g->out[k]));
}
MGI_FN void mgi_hash_word(void *user, uint64_t word) { *(uint64_t *)user = mgi_mix(*(uint64_t *)user, word); }
uint64_t mg_hash(const mg_graph *g) {
  uint64_t h = MG_VERSION;
  const mgi_words w = { mgi_hash_word, &h, 0 };
  mgi_words_of(g, &w);
  return h;
}
void mg_canonical(const mg_graph *g, void (*put)(void *user, uint64_t word), void *user) {
  const mgi_words w = { put, user, 1 };
  mgi_words_of(g, &w);
}

/* A list of words, and another list held against it. */
typedef struct mgi_word_list { uint64_t *word; size_t n, cap, at; int bad; } mgi_word_list;
MGI_FN void mgi_word_count(void *user, uint64_t word) { (void)word, ((mgi_word_list *)user)->cap++; }
MGI_FN void mgi_word_keep(void *user, uint64_t word) {
  mgi_word_list *l = (mgi_word_list *)user;
  if (l->n < l->cap) l->word[l->n++] = word;
}
MGI_FN void mgi_word_match(void *user, uint64_t word) {
  mgi_word_list *l = (mgi_word_list *)user;
  l->bad |= l->at >= l->n || l->word[l->at] != word;
  l->at++;
}
int mg_graph_equal(const mg_graph *a, const mg_graph *b) {
  mgi_word_list l;
  memset(&l, 0, sizeof l);
  mg_canonical(a, mgi_word_count, &l);
  l.word = (uint64_t *)malloc(l.cap * sizeof *l.word);
  if (!l.word) return 0;
  mg_canonical(a, mgi_word_keep, &l);
  mg_canonical(b, mgi_word_match, &l);
  free(l.word);
  return !l.bad && l.at == l.n;
}

/* --------------------------------------------------------------------------------------------- >>polynomials
   A size is a list of terms, coefficient times monomial, greatest degree first; the pool finds it by hash.  A monomial
   is a sorted list of unknowns, each a symbol or a floor, as its index, then zeros.  Unknowns compare by structure, not
   by index, so that the order is the same in every pool.  Text and values walk what shares floors as a tree: its nodes
   are counted, as `weight`, and bounded.
   Bounds: of the terms as they stand, and where every unknown x is its least value + x', x' >= 0, so that signs of
   coefficients tell (n*n - n >= 0 from n = 1 on); both hold. */

enum { MGI_SIZE_POOL = 1 << 20, MGI_SIZE_UNKNOWNS = 4096, MGI_SIZE_WEIGHT = 4096, MGI_SIZE_DEEP = 16 };
static const int64_t mgi_size_most = (int64_t)1 << 62;

typedef struct mgi_term { int64_t c; uint16_t x[MG_MAX_SIZE_DEGREE]; } mgi_term;
typedef struct mgi_poly {
  int n;
  const char *bad; /* the limit that it passed, or NULL */
  mgi_term t[MG_MAX_SIZE_TERMS];
} mgi_poly;
typedef struct mgi_unknown {
  char *name;        /* a symbol's; else it is floor(inside / by) */
  uint32_t symbol;
  mg_size inside;
  int64_t by, bounds[2];
  uint32_t weight, depth;
} mgi_unknown;
typedef struct mgi_size { uint32_t from, n, weight, depth; } mgi_size; /* terms */
struct mg_sizes {
  mgi_term *term;
  mgi_size *size;    /* from 1 on */
  mgi_unknown *unknown;
  uint32_t *slot, n_terms, n_sizes, n_unknowns, n_symbols, cap_terms, cap_sizes, cap_unknowns, cap_slots;
  mg_error err;
};

MGI_FN mg_size mgi_size_fail(mg_sizes *s, mg_status status, const char *fmt, ...) {
  va_list ap;
  char msg[sizeof s->err.msg];
  if (s->err.status != MG_OK) return 0;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  mg_fail(&s->err, status, "size", "%s", msg);
  return 0;
}
mg_status mg_sizes_error(mg_sizes *s, mg_error *e) {
  const mg_status status = s->err.status;
  if (e) *e = s->err;
  memset(&s->err, 0, sizeof s->err);
  return status;
}

mg_sizes *mg_sizes_new(void) {
  mg_sizes *s = (mg_sizes *)calloc(1, sizeof *s);
  if (s) s->n_sizes = s->n_unknowns = 1;
  return s;
}
void mg_sizes_free(mg_sizes *s) {
  if (!s) return;
  for (uint32_t k = 1; k < s->n_unknowns; k++) free(s->unknown[k].name);
  free(s->term), free(s->size), free(s->unknown), free(s->slot);
  free(s);
}
/* An array of n with room for `more`; NULL and an error: there is none. */
MGI_FN void *mgi_size_room(mg_sizes *s, void *array, uint32_t *cap, uint32_t n, uint32_t more, size_t bytes) {
  const uint32_t most = MGI_SIZE_POOL;
  if (n + more <= *cap) return array;
  const uint32_t want = n + more < 32 ? 64 : 2 * (n + more);
  void *p = n + more > most ? NULL : realloc(array, want * bytes);
  if (p) *cap = want;
  else if (n + more > most) mgi_size_fail(s, MG_LIMIT, "the pool is full: it holds %u sizes", s->n_sizes - 1);
  else mgi_size_fail(s, MG_NO_MEMORY, "no memory for a size");
  return p;
}

/* 1 if the result is within the limits of coefficients. */
MGI_FN int mgi_size_plus(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a > mgi_size_most - b : a < -mgi_size_most - b) return 0;
  *out = a + b;
  return 1;
}
MGI_FN int mgi_size_times(int64_t a, int64_t b, int64_t *out) {
  const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  if (x && y > mgi_size_most / x) return 0;
  *out = a * b;
  return 1;
}
MGI_FN int64_t mgi_floor_div(int64_t a, int64_t c) { return a / c - (a % c < 0); }

MGI_FN int mgi_size_compare(const mg_sizes *s, mg_size a, mg_size b);
MGI_FN int mgi_unknown_compare(const mg_sizes *s, uint32_t a, uint32_t b) {
  const mgi_unknown *x = &s->unknown[a], *y = &s->unknown[b];
  if (a == b) return 0;
  if (x->name || y->name) return !x->name ? 1 : !y->name ? -1 : x->symbol < y->symbol ? -1 : 1;
  if (x->by != y->by) return x->by < y->by ? -1 : 1;
  return mgi_size_compare(s, x->inside, y->inside);
}
/* Below 0: the monomial x stands before y. */
MGI_FN int mgi_monomial_compare(const mg_sizes *s, const uint16_t *x, const uint16_t *y) {
  for (int k = MG_MAX_SIZE_DEGREE - 1; k >= 0; k--)
    if (!x[k] != !y[k]) return x[k] ? -1 : 1;
  for (int k = 0; k < MG_MAX_SIZE_DEGREE; k++)
    if (x[k] != y[k]) return mgi_unknown_compare(s, x[k], y[k]);
  return 0;
}
MGI_FN int mgi_size_compare(const mg_sizes *s, mg_size a, mg_size b) {
  const mgi_size *x = &s->size[a], *y = &s->size[b];
  if (a == b) return 0;
  for (uint32_t k = 0; k < x->n && k < y->n; k++) {
    const mgi_term *p = &s->term[x->from + k], *q = &s->term[y->from + k];
    const int c = mgi_monomial_compare(s, p->x, q->x);
    if (c) return c;
    if (p->c != q->c) return p->c < q->c ? -1 : 1;
  }
  return x->n < y->n ? -1 : 1;
}

/* p += c * x. */
MGI_FN void mgi_poly_put(const mg_sizes *s, mgi_poly *p, int64_t c, const uint16_t *x) {
  int at = 0, order = 1;
  while (at < p->n && (order = mgi_monomial_compare(s, p->t[at].x, x)) < 0) at++;
  if (at < p->n && order == 0) {
    if (!mgi_size_plus(p->t[at].c, c, &p->t[at].c)) p->bad = "a coefficient passes 2^62";
    if (!p->t[at].c) memmove(&p->t[at], &p->t[at + 1], (size_t)(--p->n - at) * sizeof *p->t);
    return;
  }
  if (!c || p->bad) return;
  if (p->n == MG_MAX_SIZE_TERMS) {
    p->bad = "it has more than 64 terms";
    return;
  }
  memmove(&p->t[at + 1], &p->t[at], (size_t)(p->n++ - at) * sizeof *p->t);
  p->t[at].c = c;
  memcpy(p->t[at].x, x, sizeof p->t[at].x);
}
static_assert(MG_MAX_SIZE_TERMS == 64 && MG_MAX_SIZE_DEGREE == 8, "the messages say so");

/* out += c * a * b, of na and nb terms. */
MGI_FN void mgi_poly_add_product(const mg_sizes *s, mgi_poly *out, int64_t c, const mgi_term *a, uint32_t na,
                                 const mgi_term *b, uint32_t nb) {
  for (uint32_t i = 0; i < na && !out->bad; i++)
    for (uint32_t j = 0; j < nb && !out->bad; j++) {
      uint16_t x[MG_MAX_SIZE_DEGREE];
      int64_t k;
      int m = 0, at[2] = {0, 0};
      memset(x, 0, sizeof x);
      for (;; m++) { /* merges two sorted lists */
        const uint16_t p = at[0] < MG_MAX_SIZE_DEGREE ? a[i].x[at[0]] : 0;
        const uint16_t q = at[1] < MG_MAX_SIZE_DEGREE ? b[j].x[at[1]] : 0;
        if (!p && !q) break;
        if (m == MG_MAX_SIZE_DEGREE) {
          out->bad = "a term has more than 8 factors";
          return;
        }
        const int second = !p || (q && mgi_unknown_compare(s, q, p) < 0);
        x[m] = second ? q : p;
        at[second]++;
      }
      if (!mgi_size_times(a[i].c, b[j].c, &k) || !mgi_size_times(k, c, &k)) out->bad = "a coefficient passes 2^62";
      else mgi_poly_put(s, out, k, x);
    }
}
static const mgi_term mgi_term_one = {1, {0, 0, 0, 0, 0, 0, 0, 0}};
MGI_FN void mgi_poly_add(const mg_sizes *s, mgi_poly *out, int64_t c, mg_size a) {
  mgi_poly_add_product(s, out, c, s->term + s->size[a].from, s->size[a].n, &mgi_term_one, 1);
}
MGI_FN void mgi_poly_zero(mgi_poly *p) { p->n = 0, p->bad = NULL; }

/* Intervals.  A least value of INT64_MIN and a greatest of INT64_MAX say that there is none; what passes int64 stays at
   its end. */
MGI_FN int64_t mgi_sum_saturated(int64_t a, int64_t b) {
  return b > 0 && a > INT64_MAX - b ? INT64_MAX : b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}
MGI_FN int64_t mgi_product_saturated(int64_t a, int a_none, int64_t b, int b_none) {
  if (!a || !b) return 0;
  const int64_t end = (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  if (a_none || b_none || a == INT64_MIN || b == INT64_MIN) return end;
  const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  return y > INT64_MAX / x ? end : a * b;
}
MGI_FN void mgi_interval_add(int64_t a[2], const int64_t b[2]) {
  a[0] = a[0] == INT64_MIN || b[0] == INT64_MIN ? INT64_MIN : mgi_sum_saturated(a[0], b[0]);
  a[1] = a[1] == INT64_MAX || b[1] == INT64_MAX ? INT64_MAX : mgi_sum_saturated(a[1], b[1]);
}
MGI_FN void mgi_interval_mul(int64_t a[2], const int64_t b[2]) {
  int64_t r[2] = {INT64_MAX, INT64_MIN};
  for (int k = 0; k < 4; k++) {
    const int i = k & 1, j = k >> 1;
    const int a_none = a[i] == (i ? INT64_MAX : INT64_MIN), b_none = b[j] == (j ? INT64_MAX : INT64_MIN);
    const int64_t v = mgi_product_saturated(a[i], a_none, b[j], b_none);
    if (v < r[0]) r[0] = v;
    if (v > r[1]) r[1] = v;
  }
  a[0] = r[0], a[1] = r[1];
}
/* Of n terms; `from_least`: each unknown stands for how much it is above its least value. */
MGI_FN void mgi_terms_interval(const mg_sizes *s, const mgi_term *t, uint32_t n, int from_least, int64_t out[2]) {
  out[0] = out[1] = 0;
  for (uint32_t k = 0; k < n; k++) {
    int64_t v[2] = {t[k].c, t[k].c};
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && t[k].x[d];) {
      int64_t x[2] = {s->unknown[t[k].x[d]].bounds[0], s->unknown[t[k].x[d]].bounds[1]}, power[2] = {1, 1};
      int m = 0;
      if (from_least) x[1] = x[1] == INT64_MAX ? x[1] : mgi_sum_saturated(x[1], -x[0]), x[0] = 0;
      for (const uint16_t u = t[k].x[d]; d < MG_MAX_SIZE_DEGREE && t[k].x[d] == u; d++, m++) mgi_interval_mul(power, x);
      if (m % 2 == 0 && power[0] < 0) power[0] = 0;
      mgi_interval_mul(v, power);
    }
    mgi_interval_add(out, v);
  }
}
MGI_FN void mgi_terms_bounds(const mg_sizes *s, const mgi_term *t, uint32_t n, int64_t out[2]) {
  mgi_poly sum, product[2];
  int64_t from_least[2];
  mgi_terms_interval(s, t, n, 0, out);
  mgi_poly_zero(&sum);
  for (uint32_t k = 0; k < n && !sum.bad; k++) {
    mgi_poly_zero(&product[0]);
    mgi_poly_put(s, &product[0], t[k].c, mgi_term_one.x);
    int at = 0;
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && t[k].x[d] && !product[at].bad; d++, at ^= 1) {
      mgi_term x[2] = {mgi_term_one, mgi_term_one};
      x[0].x[0] = t[k].x[d], x[1].c = s->unknown[t[k].x[d]].bounds[0];
      if (x[1].c < -mgi_size_most || x[1].c > mgi_size_most) return;
      mgi_poly_zero(&product[at ^ 1]);
      mgi_poly_add_product(s, &product[at ^ 1], 1, product[at].t, (uint32_t)product[at].n, x, 2);
    }
    sum.bad = product[at].bad;
    for (int j = 0; j < product[at].n && !sum.bad; j++) mgi_poly_put(s, &sum, product[at].t[j].c, product[at].t[j].x);
  }
  if (sum.bad) return; /* what holds is known */
  mgi_terms_interval(s, sum.t, (uint32_t)sum.n, 1, from_least);
  if (from_least[0] > out[0]) out[0] = from_least[0];
  if (from_least[1] < out[1]) out[1] = from_least[1];
}

/* The size that p is, or 0. */
MGI_FN mg_size mgi_size_of(mg_sizes *s, const mgi_poly *p) {
  uint64_t h = 0x9E3779B97F4A7C15ull;
  uint32_t weight = 1, depth = 0;
  if (p->bad) return mgi_size_fail(s, MG_LIMIT, "a size passes a limit: %s", p->bad);
  for (int k = 0; k < p->n; k++) {
    h = (h ^ (uint64_t)p->t[k].c) * 0xBF58476D1CE4E5B9ull, h ^= h >> 29, weight++;
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && p->t[k].x[d]; d++) {
      const mgi_unknown *u = &s->unknown[p->t[k].x[d]];
      h = (h ^ p->t[k].x[d]) * 0x94D049BB133111EBull, h ^= h >> 31;
      weight += u->weight, depth = u->depth > depth ? u->depth : depth;
    }
  }
  if (weight > MGI_SIZE_WEIGHT || depth > MGI_SIZE_DEEP)
    return mgi_size_fail(s, MG_LIMIT, "a size passes a limit: %d terms and factors, floors nested %d deep",
                         MGI_SIZE_WEIGHT, MGI_SIZE_DEEP);
  if (2 * s->n_sizes >= s->cap_slots) { /* a greater table, of the same pairs of size and hash */
    const uint32_t cap = s->cap_slots ? 2 * s->cap_slots : 128;
    uint32_t *slot = (uint32_t *)calloc(cap, 2 * sizeof *slot);
    if (!slot) return mgi_size_fail(s, MG_NO_MEMORY, "no memory for a size");
    for (uint32_t k = 0; k < s->cap_slots; k++) {
      if (!s->slot[2 * k]) continue;
      uint32_t at = s->slot[2 * k + 1] & (cap - 1);
      while (slot[2 * at]) at = (at + 1) & (cap - 1);
      slot[2 * at] = s->slot[2 * k], slot[2 * at + 1] = s->slot[2 * k + 1];
    }
    free(s->slot);
    s->slot = slot, s->cap_slots = cap;
  }
  uint32_t at = (uint32_t)h & (s->cap_slots - 1);
  for (; s->slot[2 * at]; at = (at + 1) & (s->cap_slots - 1)) {
    const mgi_size *is = &s->size[s->slot[2 * at]];
    const size_t bytes = (size_t)p->n * sizeof *p->t;
    if (is->n == (uint32_t)p->n && !memcmp(s->term + is->from, p->t, bytes)) return s->slot[2 * at];
  }
  mgi_term *term = (mgi_term *)mgi_size_room(s, s->term, &s->cap_terms, s->n_terms, (uint32_t)p->n + 1, sizeof *term);
  if (!term) return 0;
  s->term = term;
  mgi_size *size = (mgi_size *)mgi_size_room(s, s->size, &s->cap_sizes, s->n_sizes, 1, sizeof *size);
  if (!size) return 0;
  s->size = size;
  memcpy(s->term + s->n_terms, p->t, (size_t)p->n * sizeof *p->t);
  mgi_size *is = &s->size[s->n_sizes];
  is->from = s->n_terms, is->n = (uint32_t)p->n, is->weight = weight, is->depth = depth;
  s->n_terms += (uint32_t)p->n;
  s->slot[2 * at] = s->n_sizes, s->slot[2 * at + 1] = (uint32_t)h;
  return s->n_sizes++;
}
/* One unknown by itself; 0 and an error: there is no room for it. */
MGI_FN mg_size mgi_size_unknown(mg_sizes *s, mgi_unknown u) {
  mgi_poly p;
  mgi_term t = mgi_term_one;
  uint32_t k = 1;
  for (; k < s->n_unknowns; k++) {
    const mgi_unknown *is = &s->unknown[k];
    if (u.name ? is->name && !strcmp(is->name, u.name) : !is->name && is->inside == u.inside && is->by == u.by) break;
  }
  if (k == s->n_unknowns) {
    if (k == MGI_SIZE_UNKNOWNS) return mgi_size_fail(s, MG_LIMIT, "the pool is full: it has %u floors", k - 1);
    mgi_unknown *more = (mgi_unknown *)mgi_size_room(s, s->unknown, &s->cap_unknowns, k, 1, sizeof *more);
    if (!more) return 0;
    s->unknown = more;
    if (u.name) {
      char *name = (char *)malloc(strlen(u.name) + 1);
      if (!name) return mgi_size_fail(s, MG_NO_MEMORY, "no memory for a size");
      strcpy(name, u.name);
      u.name = name, u.symbol = s->n_symbols++;
    }
    s->unknown[s->n_unknowns++] = u;
  }
  t.x[0] = (uint16_t)k;
  mgi_poly_zero(&p);
  mgi_poly_put(s, &p, 1, t.x);
  return mgi_size_of(s, &p);
}

mg_size mg_size_symbol(mg_sizes *s, const char *name, int64_t least, int64_t most) {
  mgi_unknown u;
  uint32_t k = 1;
  if (!mgi_symbol_name(name))
    return mgi_size_fail(s, MG_BAD_INPUT, "'%.40s' is no name of a symbol", name ? name : "(null)");
  if (least > most || least < -mgi_size_most || most > mgi_size_most)
    return mgi_size_fail(s, MG_BAD_INPUT, "%.60s: expected bounds -2^62 <= least <= most <= 2^62, got %lld..%lld", name,
                         (long long)least, (long long)most);
  while (k < s->n_unknowns && (!s->unknown[k].name || strcmp(s->unknown[k].name, name))) k++;
  const int64_t *is = k < s->n_unknowns ? s->unknown[k].bounds : NULL;
  if (is && (is[0] != least || is[1] != most))
    return mgi_size_fail(s, MG_BAD_INPUT, "%.60s is in %lld..%lld already, got %lld..%lld", name, (long long)is[0],
                         (long long)is[1], (long long)least, (long long)most);
  if (!is && s->n_symbols == MG_MAX_SIZE_SYMBOLS)
    return mgi_size_fail(s, MG_LIMIT, "sizes have at most %d symbols", MG_MAX_SIZE_SYMBOLS);
  memset(&u, 0, sizeof u);
  u.name = (char *)(uintptr_t)name; /* copied where it is new */
  u.bounds[0] = least, u.bounds[1] = most, u.weight = 1;
  return mgi_size_unknown(s, u);
}
MGI_FN int mgi_size_there(const mg_sizes *s, mg_size a) { return a && a < s->n_sizes; }
mg_size mg_size_int(mg_sizes *s, int64_t v) {
  mgi_poly p;
  mgi_poly_zero(&p);
  if (v < -mgi_size_most || v > mgi_size_most)
    return mgi_size_fail(s, MG_LIMIT, "a number passes 2^62: %lld", (long long)v);
  mgi_poly_put(s, &p, v, mgi_term_one.x);
  return mgi_size_of(s, &p);
}
MGI_FN mg_size mgi_size_sum(mg_sizes *s, mg_size a, int64_t c, mg_size b) {
  mgi_poly p;
  mgi_poly_zero(&p);
  if (!mgi_size_there(s, a) || !mgi_size_there(s, b)) return 0;
  mgi_poly_add(s, &p, 1, a), mgi_poly_add(s, &p, c, b);
  return mgi_size_of(s, &p);
}
mg_size mg_size_add(mg_sizes *s, mg_size a, mg_size b) { return mgi_size_sum(s, a, 1, b); }
mg_size mg_size_sub(mg_sizes *s, mg_size a, mg_size b) { return mgi_size_sum(s, a, -1, b); }
mg_size mg_size_mul(mg_sizes *s, mg_size a, mg_size b) {
  mgi_poly p;
  mgi_poly_zero(&p);
  if (!mgi_size_there(s, a) || !mgi_size_there(s, b)) return 0;
  mgi_poly_add_product(s, &p, 1, s->term + s->size[a].from, s->size[a].n, s->term + s->size[b].from, s->size[b].n);
  return mgi_size_of(s, &p);
}

/* The one floor of p that stands alone, times 1, where no other term has a floor; 0: none. */
MGI_FN uint32_t mgi_poly_lone_floor(const mg_sizes *s, const mgi_poly *p) {
  uint32_t lone = 0;
  for (int k = 0; k < p->n; k++)
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && p->t[k].x[d]; d++) {
      if (s->unknown[p->t[k].x[d]].name) continue;
      if (lone || p->t[k].x[1] || p->t[k].c != 1) return 0;
      lone = p->t[k].x[d];
    }
  return lone;
}
mg_size mg_size_floor(mg_sizes *s, mg_size a, int64_t c) {
  mgi_poly whole, rest;
  mgi_unknown u;
  int64_t bounds[2], common = c;
  if (!mgi_size_there(s, a)) return 0;
  if (c < 1 || c > mgi_size_most)
    return mgi_size_fail(s, MG_BAD_INPUT, "a size is divided by 1 to 2^62, got %lld", (long long)c);
  mgi_poly_zero(&whole), mgi_poly_zero(&rest);
  for (uint32_t k = 0; k < s->size[a].n; k++) {
    const mgi_term *t = &s->term[s->size[a].from + k];
    const int64_t q = mgi_floor_div(t->c, c), r = t->c - q * c;
    mgi_poly_put(s, &whole, q, t->x), mgi_poly_put(s, &rest, r, t->x);
    if (t->x[0]) common = mg_gcd(common, r);
  }
  for (int k = 0; k < rest.n; k++) rest.t[k].c /= common; /* of the constant, the floor */
  if (rest.n && !rest.t[rest.n - 1].c) rest.n--;
  c /= common;
  mgi_terms_bounds(s, rest.t, (uint32_t)rest.n, bounds);
  memset(&u, 0, sizeof u);
  u.by = c;
  for (int k = 0; k < 2; k++) {
    const int none = bounds[k] == (k ? INT64_MAX : INT64_MIN);
    u.bounds[k] = none ? bounds[k] : mgi_floor_div(bounds[k], c);
  }
  mg_size floor;
  const uint32_t inner = mgi_poly_lone_floor(s, &rest);
  if (u.bounds[0] == u.bounds[1]) floor = mg_size_int(s, u.bounds[0]);
  else if (inner) { /* (floor(x / by) + r) / c = (x + by * r) / (by * c) */
    const int64_t by = s->unknown[inner].by;
    mgi_poly p;
    mgi_term t = mgi_term_one;
    mgi_poly_zero(&p);
    t.x[0] = (uint16_t)inner;
    mgi_poly_put(s, &rest, -1, t.x);
    mgi_poly_add(s, &p, 1, s->unknown[inner].inside);
    mgi_poly_add_product(s, &p, by, rest.t, (uint32_t)rest.n, &mgi_term_one, 1);
    if (!mgi_size_times(by, c, &c)) return mgi_size_fail(s, MG_LIMIT, "a divisor passes 2^62");
    floor = mg_size_floor(s, mgi_size_of(s, &p), c);
  } else {
    u.inside = mgi_size_of(s, &rest);
    if (!u.inside) return 0;
    u.weight = 1 + s->size[u.inside].weight, u.depth = 1 + s->size[u.inside].depth;
    floor = mgi_size_unknown(s, u);
  }
  const mg_size out = mgi_size_of(s, &whole);
  return mg_size_add(s, out, floor);
}
mg_size mg_size_ceil(mg_sizes *s, mg_size a, int64_t c) {
  return c < 1 ? mg_size_floor(s, a, c) : mg_size_floor(s, mg_size_add(s, a, mg_size_int(s, c - 1)), c);
}

MGI_FN int mgi_size_value(const mg_sizes *s, mg_size a, const int64_t *values, int64_t *out) {
  int64_t sum = 0;
  for (uint32_t k = 0; k < s->size[a].n; k++) {
    const mgi_term *t = &s->term[s->size[a].from + k];
    int64_t v = t->c, x;
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && t->x[d]; d++) {
      const mgi_unknown *u = &s->unknown[t->x[d]];
      if (u->name) x = values[u->symbol];
      else if (!mgi_size_value(s, u->inside, values, &x)) return 0;
      else x = mgi_floor_div(x, u->by);
      if (x < -mgi_size_most || x > mgi_size_most || !mgi_size_times(v, x, &v)) return 0;
    }
    if ((v > 0 && sum > INT64_MAX - v) || (v < 0 && sum < INT64_MIN - v)) return 0;
    sum += v;
  }
  *out = sum;
  return 1;
}
mg_status mg_size_at(const mg_sizes *s, mg_size a, const int64_t *values, int64_t *result, mg_error *e) {
  *result = 0;
  if (!mgi_size_there(s, a)) return mg_fail(e, MG_BAD_INPUT, "mg_size_at", "expected a size of the pool, got none");
  for (uint32_t k = 1; k < s->n_unknowns; k++) {
    const mgi_unknown *u = &s->unknown[k];
    if (u->name && (values[u->symbol] < u->bounds[0] || values[u->symbol] > u->bounds[1]))
      return mg_fail(e, MG_BAD_INPUT, "mg_size_at", "%.60s is in %lld..%lld, got %lld", u->name,
                     (long long)u->bounds[0], (long long)u->bounds[1], (long long)values[u->symbol]);
  }
  if (mgi_size_value(s, a, values, result)) return MG_OK;
  return mg_fail(e, MG_LIMIT, "mg_size_at", "the value passes what 64 bits hold");
}
void mg_size_bounds(const mg_sizes *s, mg_size a, int64_t bounds[2]) {
  bounds[0] = INT64_MIN, bounds[1] = INT64_MAX;
  if (mgi_size_there(s, a)) mgi_terms_bounds(s, s->term + s->size[a].from, s->size[a].n, bounds);
}
/* 1 if it is a polynomial, and no number, whose terms grow with every symbol. */
MGI_FN int mgi_size_grows(const mg_sizes *s, mg_size a) {
  const mgi_term *t = s->term + s->size[a].from;
  int grows = s->size[a].n && t->x[0];
  for (uint32_t k = 0; k < s->size[a].n && t[k].x[0]; k++) {
    grows &= t[k].c > 0;
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && t[k].x[d]; d++) grows &= s->unknown[t[k].x[d]].name != NULL;
  }
  return grows;
}
mg_order mg_size_order(const mg_sizes *s, mg_size a, mg_size b) {
  int64_t rest[2] = {0, 0};
  mgi_poly p, next;
  if (!mgi_size_there(s, a) || !mgi_size_there(s, b)) return MG_ORDER_UNDECIDED;
  mgi_poly_zero(&p);
  mgi_poly_add(s, &p, 1, a), mgi_poly_add(s, &p, -1, b);
  for (int round = 0; round < MG_MAX_SIZE_TERMS && !p.bad; round++) {
    int64_t v[2];
    mgi_terms_bounds(s, p.t, (uint32_t)p.n, v);
    mgi_interval_add(v, rest);
    if (v[0] >= 0 && v[1] <= 0) return MG_ORDER_EQUAL;
    if (v[0] >= 0) return MG_ORDER_AT_LEAST;
    if (v[1] <= 0) return MG_ORDER_AT_MOST;
    /* by * p: of its deepest floor that stands alone by * floor(x / by) = x - r, with r in 0..by - 1. */
    int at = -1;
    uint32_t depth = 0; /* a symbol's */
    for (int k = 0; k < p.n; k++) {
      const mgi_unknown *u = &s->unknown[p.t[k].x[0]];
      if (p.t[k].x[0] && !p.t[k].x[1] && u->depth > depth) at = k, depth = u->depth;
    }
    if (at < 0) break;
    const mgi_term t = p.t[at];
    const mgi_unknown *u = &s->unknown[t.x[0]];
    const int64_t by[2] = {u->by, u->by}, minus[2] = {-t.c, -t.c};
    int64_t r[2] = {0, u->by - 1};
    mgi_poly_zero(&next);
    mgi_poly_put(s, &p, -t.c, t.x);
    mgi_poly_add_product(s, &next, u->by, p.t, (uint32_t)p.n, &mgi_term_one, 1);
    mgi_poly_add(s, &next, t.c, u->inside);
    mgi_interval_mul(r, minus), mgi_interval_mul(rest, by), mgi_interval_add(rest, r);
    p = next;
  }
  return MG_ORDER_UNDECIDED;
}

MGI_FN void mgi_print_size(mgi_text *t, const mg_sizes *s, const mgi_term *term, uint32_t n) {
  if (!n) mgi_puts(t, "0");
  for (uint32_t k = 0; k < n; k++) {
    const int64_t c = term[k].c, size = c < 0 ? -c : c;
    const char *sep = "";
    mgi_puts(t, c < 0 ? k ? " - " : "-" : k ? " + " : "");
    if (size != 1 || !term[k].x[0]) mgi_putf(t, "%lld", (long long)size), sep = "*";
    for (int d = 0; d < MG_MAX_SIZE_DEGREE && term[k].x[d]; d++, sep = "*") {
      const mgi_unknown *u = &s->unknown[term[k].x[d]];
      mgi_puts(t, sep);
      if (u->name) {
        mgi_puts(t, u->name);
        continue;
      }
      const mgi_term *in = s->term + s->size[u->inside].from;
      uint32_t m = s->size[u->inside].n;
      const int ceil = !in[m - 1].x[0] && in[m - 1].c == u->by - 1;
      m -= (uint32_t)ceil;
      mgi_puts(t, ceil ? "ceil(" : "floor(");
      if (m > 1) mgi_puts(t, "(");
      mgi_print_size(t, s, in, m);
      mgi_putf(t, "%s/%lld)", m > 1 ? ")" : "", (long long)u->by);
    }
  }
}
mg_status mg_size_print(const mg_sizes *s, mg_size a, char **out, mg_error *e) {
  mgi_text t;
  *out = NULL;
  if (!mgi_size_there(s, a)) return mg_fail(e, MG_BAD_INPUT, "mg_size_print", "expected a size of the pool, got none");
  memset(&t, 0, sizeof t);
  mgi_print_size(&t, s, s->term + s->size[a].from, s->size[a].n);
  return mgi_text_done(&t, out, "mg_size_print", e);
}

/* -------------------------------------------------------------------------------------------- >>parser
   Recursive descent over one token of look-ahead; white space separates, `#` starts a comment.
     program   = "program" NAME { symbol | input | output | NAME {"," NAME} "=" (expr | lower) }
     symbol    = "sym" NAME "in" INT ".." INT ["of" INT]     an extent in `ints` is a size (>>sizes) without floor and ceil
     input     = "input" NAME ":" dtype ints ["@" ints | "=" fill]           output = "output" NAME {"," NAME}
     lower     = ("kernel" | "thread") ["grid" "=" "(" NAME "=" count {","..} ")"] ["threads" "=" INT] "{" body "}"
     count     = INT | "ceil" "(" product "/" INT ")" | size            of chunks of an extent, a size's product
     body      = { "for" NAME "=" count "{" body "}" | "store" expr map | "plan" "{" {key "=" value} "}" | names "=" ..
               }
     expr      = NAME | op "(" arguments ")" | "load" NAME map | "accum" "(" expr ")" map
     map       = "{" [ axis "->" ("*" | "+" | "max" | INT) {","..} ] "}"
   Bounds: text 1 MiB, nesting 64, 4096 operators a graph (names are looked up by a scan), the arena's limit. */

/* The symbols that the text of a reshape has, by the dimensions of its result t. */
typedef struct mgi_written {
  const mg_graph *g;
  mg_tensor t;
  int line, column;
  uint32_t symbol[MG_MAX_RANK];
  struct mgi_written *next;
} mgi_written;

void mgi_perr(mgi_parser *P, mg_status s, const char *fmt, ...) {
  if (P->failed) return;
  P->failed = 1;
  if (!P->e) { P->failed = s == MG_OK ? 1 : (int)s; return; }
  char msg[sizeof P->e->msg];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  mg_fail(P->e, s, NULL, "%s", msg);
  P->e->line = P->line, P->e->column = P->column;
  snprintf(P->e->where, sizeof P->e->where, "%.60s:%d:%d", P->where, P->line, P->column);
  P->failed = (int)s;
}

void mgi_next(mgi_parser *P) {
  for (;;) { /* white space and comments */
    if (P->p == P->end) break;
    char c = *P->p;
    if (c == '#') { while (P->p < P->end && *P->p != '\n') P->p++; continue; }
    if (c == '\n') { P->p++, P->next_line++, P->next_column = 1; continue; }
    if (c != ' ' && c != '\t' && c != '\r') break;
    P->p++, P->next_column++;
  }
  P->line = P->next_line, P->column = P->next_column;
  P->start = P->p;
  if (P->p == P->end) P->tok = MGI_EOF;
  else if (MGI_ALPHA(*P->p)) {
    P->tok = MGI_NAME;
    while (P->p < P->end && (MGI_ALPHA(*P->p) || MGI_DIGIT(*P->p))) P->p++;
  } else if (MGI_DIGIT(*P->p)) {
    P->tok = MGI_NUMBER;
    while (P->p < P->end && MGI_DIGIT(*P->p)) P->p++;
    if (P->p + 1 < P->end && *P->p == '.' && MGI_DIGIT(P->p[1]))
      for (P->p++; P->p < P->end && MGI_DIGIT(*P->p);) P->p++;
    if (P->p + 1 < P->end && (*P->p == 'e' || *P->p == 'E') &&
        (MGI_DIGIT(P->p[1]) || (P->p + 2 < P->end && (P->p[1] == '-' || P->p[1] == '+') && MGI_DIGIT(P->p[2]))))
      for (P->p += 2; P->p < P->end && MGI_DIGIT(*P->p);) P->p++;
  } else if (P->end - P->p >= 2 && P->p[0] == '-' && P->p[1] == '>') P->tok = MGI_ARROW, P->p += 2;
  else P->tok = MGI_PUNCT, P->p++;
  P->len = (size_t)(P->p - P->start);
  P->next_column += (int)P->len;
}

MGI_FN const char *mgi_found(const mgi_parser *P, char *buf, size_t n) {
  if (P->tok == MGI_EOF) snprintf(buf, n, "the end of the text");
  else if (P->tok == MGI_PUNCT && ((unsigned char)*P->start < 33 || (unsigned char)*P->start > 126))
    snprintf(buf, n, "byte 0x%02x", (unsigned char)*P->start);
  else snprintf(buf, n, "'%.*s'", (int)(P->len < 40 ? P->len : 40), P->start);
  return buf;
}
void mgi_expected(mgi_parser *P, const char *what) {
  char buf[64];
  mgi_perr(P, MG_BAD_INPUT, "expected %s, found %s", what, mgi_found(P, buf, sizeof buf));
}
int mgi_is(const mgi_parser *P, const char *s) {
  return !P->failed && P->tok != MGI_EOF && P->len == strlen(s) && !memcmp(P->start, s, P->len);
}
int mgi_accept(mgi_parser *P, const char *s) {
  if (!mgi_is(P, s)) return 0;
  mgi_next(P);
  return 1;
}
void mgi_expect(mgi_parser *P, const char *s) {
  char what[48];
  if (mgi_accept(P, s)) return;
  snprintf(what, sizeof what, "'%s'", s);
  mgi_expected(P, what);
}
int mgi_name(mgi_parser *P, char name[65], const char *what) {
  if (P->failed) return 0;
  if (P->tok != MGI_NAME) { mgi_expected(P, what); return 0; }
  if (P->len > 64) { mgi_perr(P, MG_BAD_INPUT, "a name has at most 64 characters, found %zu", P->len); return 0; }
  memcpy(name, P->start, P->len);
  name[P->len] = 0;
  mgi_next(P);
  return 1;
}
int64_t mgi_int(mgi_parser *P, const char *what) {
  int neg = mgi_accept(P, "-");
  int64_t v = 0;
  if (P->failed) return 0;
  if (P->tok != MGI_NUMBER) { mgi_expected(P, what); return 0; }
  for (size_t k = 0; k < P->len; k++) {
    if (!MGI_DIGIT(P->start[k])) { mgi_expected(P, what); return 0; }
    if (v > (INT64_MAX - 9) / 10) { mgi_perr(P, MG_BAD_INPUT, "the number is too large"); return 0; }
    v = v * 10 + (P->start[k] - '0');
  }
  mgi_next(P);
  return neg ? -v : v;
}
/* 3, -1/8, 0.125, 1e-6: exact. */
MGI_FN mg_rational mgi_rational(mgi_parser *P) {
  mg_rational none = {0, 1}, ten = {10, 1}, tenth = {1, 10}, r;
  int neg = mgi_accept(P, "-");
  if (P->failed) return none;
  if (P->tok != MGI_NUMBER) {
    mgi_expected(P, "a number (an integer, a fraction such as 1/4096, or a decimal)");
    return none;
  }
  int64_t v = 0;
  int shift = 0, point = 0, ok = 1;
  size_t k = 0;
  for (; k < P->len && P->start[k] != 'e' && P->start[k] != 'E'; k++) {
    if (P->start[k] == '.') { point = 1; continue; }
    if (v > INT32_MAX) ok = 0;
    else v = v * 10 + (P->start[k] - '0'), shift -= point;
  }
  if (k < P->len) {
    int64_t x = 0;
    int xneg = P->start[k + 1] == '-';
    for (k += 1 + !MGI_DIGIT(P->start[k + 1]); k < P->len; k++) x = x < 1000 ? x * 10 + (P->start[k] - '0') : x;
    shift += (int)(xneg ? -x : x);
  }
  r = mg_rat(neg ? -v : v, 1);
  ok = ok && r.den;
  if (r.num == 0) shift = 0;
  for (; ok && shift > 0; shift--) ok = mg_rat_mul(r, ten, &r);
  for (; ok && shift < 0; shift++) ok = mg_rat_mul(r, tenth, &r);
  if (!ok) {
    mgi_perr(P, MG_BAD_INPUT, "a constant has numerator and denominator below 2^31; a decimal may need fewer digits");
    return none;
  }
  mgi_next(P);
  if (mgi_accept(P, "/")) {
    int64_t d = mgi_int(P, "a denominator");
    if (P->failed) return none;
    mg_rational inv = d > 0 ? mg_rat(1, d) : mg_rat(0, 0);
    if (!inv.den || !mg_rat_mul(r, inv, &r)) {
      mgi_perr(P, MG_BAD_INPUT, "a constant has numerator and denominator below 2^31 and no zero denominator");
      return none;
    }
  }
  return r;
}
/* Moves an error of the pool to where the size that is none stood. */
MGI_FN mg_size mgi_parsed_size(mgi_parser *P, mg_sizes *s, mg_size a, int line, int column) {
  mg_error e;
  if (P->failed || a) return a;
  P->line = line, P->column = column;
  mg_sizes_error(s, &e);
  mgi_perr(P, e.status, "%s", e.msg);
  return 0;
}
/* A size of pool s, at most so deep in brackets as operators are; 0 and an error: none stands here. */
MGI_FN mg_size mgi_parse_size(mgi_parser *P, mg_sizes *s, const char *what);
MGI_FN mg_size mgi_parse_product(mgi_parser *P, mg_sizes *s, const char *what);
MGI_FN mg_size mgi_parse_factor(mgi_parser *P, mg_sizes *s, const char *what) {
  const int ceil = mgi_is(P, "ceil");
  uint32_t k = 1;
  mg_size a = 0;
  if (mgi_accept(P, "(")) {
    if (P->depth++ == MGI_MAX_NEST) mgi_perr(P, MG_LIMIT, "brackets are nested more than %d deep", MGI_MAX_NEST);
    a = mgi_parse_size(P, s, what);
    mgi_expect(P, ")");
    P->depth--;
  } else if (ceil || mgi_is(P, "floor")) {
    if (P->depth++ == MGI_MAX_NEST) mgi_perr(P, MG_LIMIT, "brackets are nested more than %d deep", MGI_MAX_NEST);
    mgi_next(P), mgi_expect(P, "(");
    a = mgi_parse_product(P, s, what);
    mgi_expect(P, "/");
    const int64_t c = mgi_int(P, "what a size is divided by");
    mgi_expect(P, ")");
    P->depth--;
    if (!P->failed) a = ceil ? mg_size_ceil(s, a, c) : mg_size_floor(s, a, c);
  } else if (!P->failed && P->tok == MGI_NAME) {
    while (k < s->n_unknowns && !(s->unknown[k].name && mgi_is(P, s->unknown[k].name))) k++;
    if (k == s->n_unknowns) mgi_expected(P, what);
    else a = mgi_size_unknown(s, s->unknown[k]), mgi_next(P);
  } else {
    const int64_t v = mgi_int(P, what);
    if (!P->failed) a = mg_size_int(s, v);
  }
  return a;
}
MGI_FN mg_size mgi_parse_product(mgi_parser *P, mg_sizes *s, const char *what) {
  mg_size a = mgi_parse_factor(P, s, what);
  while (!P->failed && mgi_accept(P, "*")) a = mg_size_mul(s, a, mgi_parse_factor(P, s, what));
  return a;
}
MGI_FN mg_size mgi_parse_size(mgi_parser *P, mg_sizes *s, const char *what) {
  const int line = P->line, column = P->column, minus = mgi_accept(P, "-");
  mg_size a = mgi_parse_product(P, s, what);
  if (minus) a = mg_size_sub(s, mg_size_int(s, 0), a);
  for (int less; !P->failed && ((less = mgi_accept(P, "-")) || mgi_accept(P, "+"));) {
    const mg_size b = mgi_parse_product(P, s, what);
    a = less ? mg_size_sub(s, a, b) : mg_size_add(s, a, b);
  }
  return mgi_parsed_size(P, s, a, line, column);
}

/* A size of the program's symbols, or, of a `product`, what ceil divides: a number, or which symbol or computed
   size. */
MGI_FN int mgi_built(mgi_parser *P, int line, int column);
MGI_FN int64_t mgi_symbol(mgi_parser *P, int product, uint32_t *symbol, const char *what) {
  const int line = P->line, column = P->column;
  char *text = NULL;
  int64_t v = 0;
  *symbol = 0;
  if (P->failed) return 0;
  mg_sizes *s = mgi_symbols_pool(P->root, 0);
  if (!s) mgi_perr(P, MG_NO_MEMORY, "no memory for a size");
  mg_size a = !s ? 0 : product ? mgi_parse_product(P, s, what) : mgi_parse_size(P, s, what);
  if (s) a = mgi_parsed_size(P, s, a, line, column);
  if (a && (!s->size[a].n || !s->term[s->size[a].from].x[0])) v = s->size[a].n ? s->term[s->size[a].from].c : 0;
  else if (a && mg_size_print(s, a, &text, P->e) != MG_OK) mgi_perr(P, MG_NO_MEMORY, "no memory for a size");
  else if (a) *symbol = mg_symbol_computed(P->root, text), mgi_built(P, line, column);
  mg_string_free(text);
  mg_sizes_free(s);
  return v;
}
/* A count: a number, or how many chunks of so many, or of one, a symbol has, which is then in *symbol. */
MGI_FN int64_t mgi_count(mgi_parser *P, uint32_t *symbol) {
  const int line = P->line, column = P->column;
  int64_t chunk = 1;
  *symbol = 0;
  if (!P->root->n_symbols && !mgi_is(P, "ceil")) return mgi_int(P, "a count");
  if (mgi_accept(P, "ceil")) {
    mgi_expect(P, "(");
    mgi_symbol(P, 1, symbol, "a symbol, as in ceil(n/64)");
    if (!P->failed && !*symbol) mgi_perr(P, MG_BAD_INPUT, "expected a symbol, as in ceil(n/64), found a number");
    mgi_expect(P, "/");
    chunk = mgi_int(P, "a chunk");
    mgi_expect(P, ")");
  } else {
    const int64_t v = mgi_symbol(P, 0, symbol, "a count, or ceil(symbol/chunk)");
    if (!*symbol) return v;
  }
  if (P->failed) return 1;
  const mg_symbol *s = &P->root->symbol[*symbol - 1];
  const int64_t n = chunk < 1 ? 0 : chunk > s->most ? 1 : mg_ceil_div(s->most, chunk);
  if (n < 1 || (n > 1 && mg_ceil_div(s->most, n) != chunk)) {
    P->line = line, P->column = column;
    if (n < 1) mgi_perr(P, MG_BAD_INPUT, "a chunk has at least one element, got %lld", (long long)chunk);
    else
      mgi_perr(
          P, MG_BAD_INPUT,
          "%s is at most %lld: %lld chunks of it have %lld elements, not %lld; let it have %lld, as by `sym %s in %lld..%lld of %lld`",
          s->name, (long long)s->most, (long long)n, (long long)mg_ceil_div(s->most, n), (long long)chunk,
          (long long)(n * chunk), s->name, (long long)s->least, (long long)s->last, (long long)(n * chunk));
    return 1;
  }
  return n;
}
/* "[" INT {"," INT} "]"; with `symbol` a symbol, or a size computed of some, may stand for its most. */
MGI_FN int mgi_ints(mgi_parser *P, int64_t *v, uint32_t *symbol, const char *what) {
  int n = 0;
  mgi_expect(P, "[");
  do {
    if (n == MG_MAX_RANK) { mgi_perr(P, MG_BAD_INPUT, "%s: at most %d of them", what, MG_MAX_RANK); return 0; }
    if (symbol) symbol[n] = 0;
    v[n] = symbol && P->root->n_symbols ? mgi_symbol(P, 0, &symbol[n], what) : mgi_int(P, what);
    if (symbol && symbol[n]) v[n] = P->root->symbol[symbol[n] - 1].most;
    n++;
  } while (!P->failed && mgi_accept(P, ","));
  mgi_expect(P, "]");
  return P->failed ? 0 : n;
}

/* Moves a builder error to the position where the statement or operator stood. */
MGI_FN int mgi_built(mgi_parser *P, int line, int column) {
  const mg_error *b = &P->root->root->err;
  if (P->failed || b->status == MG_OK) return !P->failed;
  P->line = line, P->column = column;
  mgi_perr(P, b->status, "%.60s: %.180s", b->where, b->msg);
  return 0;
}

MGI_FN mg_map mgi_parse_map(mgi_parser *P, mg_graph *g) {
  mg_map m = mg_map_none();
  mgi_expect(P, "{");
  if (mgi_accept(P, "}")) return m;
  do {
    char name[65];
    uint32_t a = 1;
    int line = P->line, column = P->column;
    if (!mgi_name(P, name, "the name of a grid dimension or loop")) return m;
    while (a < g->n_axes && strcmp(g->axes[a].name, name)) a++;
    if (a == g->n_axes) {
      P->line = line, P->column = column;
      mgi_perr(P, MG_BAD_INPUT, "'%s' is no grid dimension or loop of this graph", name);
      return m;
    }
    if (m.to[a] != MG_MAP_NONE) {
      P->line = line, P->column = column;
      mgi_perr(P, MG_BAD_INPUT, "the map names %s twice", name);
      return m;
    }
    if (!P->failed && P->tok != MGI_ARROW) { mgi_expected(P, "'->'"); return m; }
    mgi_next(P);
    if (mgi_accept(P, "*")) m.to[a] = MG_MAP_ALL;
    else if (mgi_accept(P, "+")) m.to[a] = MG_MAP_SUM;
    else if (mgi_accept(P, "max")) m.to[a] = MG_MAP_MAX;
    else {
      int64_t d = mgi_int(P, "'*', '+', 'max' or a dimension");
      if (!P->failed && (d < 0 || d >= MG_MAX_RANK))
        mgi_perr(P, MG_BAD_INPUT, "a dimension is between 0 and %d", MG_MAX_RANK - 1);
      m.to[a] = (int8_t)(d >= 0 && d < MG_MAX_RANK ? d : 0);
    }
  } while (!P->failed && mgi_accept(P, ","));
  mgi_expect(P, "}");
  return m;
}

MGI_FN mg_tensor mgi_parse_expr(mgi_parser *P, mg_graph *g);

/* Looks a name up; the current token was the name, at line and column. */
MGI_FN mg_tensor mgi_lookup(mgi_parser *P, mg_graph *g, const char *name, int line, int column) {
  const mg_tensor t = mg_find(g, name);
  if (!t.id) {
    P->line = line, P->column = column;
    mgi_perr(P, MG_BAD_INPUT, "'%s' is not defined here", name);
  }
  return t;
}

/* What the text form writes for an attribute. */
MGI_FN const char *mgi_attr_text(mg_attr_kind k) {
  switch (k) {
    case MG_ATTR_RAT: return "a constant";
    case MG_ATTR_DIM: return "dim=";
    case MG_ATTR_DIMN: return "dim= and n=";
    case MG_ATTR_NORM: return "eps= or dim=";
    case MG_ATTR_SLICE: return "dim=, from= and n=";
    case MG_ATTR_RANGE: return "two constants, the least and the greatest value";
    case MG_ATTR_SHAPE: return "a list of extents, such as [4, 64]";
    case MG_ATTR_PERM: return "a list of dimensions, such as [1, 0]";
    case MG_ATTR_NONE: break;
  }
  return "none";
}

/* The row whose name differs from `name`, of at most 64 characters, in the fewest characters put in, left out or
   changed:  in one a third of its length, at most two.  NULL if there is none. */
MGI_FN const char *mgi_nearest_op(const char *name) {
  int n = (int)strlen(name), least = n < 6 ? 2 : 3;
  const char *best = NULL;
  for (int k = 1; k < MG_OP_TABLE_END; k++) {
    const char *row = mgi_rows[k].name;
    int m = (int)strlen(row), d[65]; /* d[i]: of the first i characters of name and the first j of row */
    if (m < 3 || m > n + 2 || n > m + 2) continue;
    for (int i = 0; i <= n; i++) d[i] = i;
    for (int j = 1; j <= m; j++)
      for (int i = 0, corner = 0; i <= n; i++) {
        int up = d[i], v = up + 1;
        if (i && d[i - 1] + 1 < v) v = d[i - 1] + 1;
        if (i && corner + (name[i - 1] != row[j - 1]) < v) v = corner + (name[i - 1] != row[j - 1]);
        corner = up, d[i] = v;
      }
    if (d[n] < least) least = d[n], best = row;
  }
  return best;
}

/* "f16, bf16 or f32": the first so many types. */
MGI_FN const char *mgi_type_list(int types, char buf[128]) {
  size_t n = 0;
  for (int t = 0; t < types && n < 128; t++)
    n += (size_t)snprintf(buf + n, 128 - n, "%s%s",
                          !t              ? ""
                          : t + 1 < types ? ", "
                                          : " or ",
                          mg_dtype_name((mg_dtype)t));
  return buf;
}

mg_dtype mgi_parse_type(mgi_parser *P, int types) {
  char type[65];
  char list[128];
  const mgi_parser at = *P;
  int dt = 0;
  if (!mgi_name(P, type, mgi_type_list(types, list))) return MG_DTYPE_COUNT;
  while (dt < MG_DTYPE_COUNT && strcmp(type, mg_dtype_name((mg_dtype)dt))) dt++;
  if (dt == MG_DTYPE_COUNT) {
    P->line = at.line, P->column = at.column;
    mgi_perr(P, MG_BAD_INPUT, "expected %s, found '%s'", mgi_type_list(types, list), type);
  }
  return (mg_dtype)dt;
}
MGI_FN mg_tensor mgi_parse_cast(mgi_parser *P, mg_graph *g, int line, int column) {
  mg_tensor none = {0}, t = none;
  mgi_expect(P, "(");
  if (!P->failed) t = mgi_parse_expr(P, g);
  mgi_expect(P, ",");
  const mg_dtype type = P->failed ? MG_DTYPE_COUNT : mgi_parse_type(P, MGI_CASTS);
  mgi_expect(P, ")");
  if (P->failed) return none;
  t = mg_cast(g, t, type);
  return mgi_built(P, line, column) ? t : none;
}

MGI_FN mg_tensor mgi_parse_call(mgi_parser *P, mg_graph *g, const char *name, int line, int column) {
  uint32_t written[MG_MAX_RANK] = {0}; /* symbols, by dimension of a shape */
  mg_tensor none = {0}, in[MG_MAX_IN];
  mg_opcode op = mg_op_find(name, strlen(name));
  if (!op && !strcmp(name, "cast")) return mgi_parse_cast(P, g, line, column);
  if (!op) {
    const char *near = mgi_nearest_op(name);
    P->line = line, P->column = column;
    mgi_perr(P, MG_BAD_INPUT,
             near ? "'%s' is no operator: '%s' is one" : "'%s' is no operator; MG_USER_OPS adds one by a row", name,
             near);
    return none;
  }
  const mg_op_info *row = mg_op_row(op);
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.c = mg_rat(0, 1);
  if (op == MG_OP_RMS_NORM || op == MG_OP_SOFTMAX) A.dim = -1;
  int n = 0, have = op == MG_OP_RMS_NORM || op == MG_OP_SOFTMAX || row->attr == MG_ATTR_NONE;
  int have_n = row->attr != MG_ATTR_DIMN && row->attr != MG_ATTR_SLICE, have_least = 0;
  uint32_t given = 0;
  mgi_expect(P, "(");
  do {
    const mgi_parser at = *P;
    if (P->failed) return none;
    if (P->tok == MGI_NUMBER || mgi_is(P, "-")) {
      const int range = row->attr == MG_ATTR_RANGE;
      if ((row->attr != MG_ATTR_RAT && (!range || have)) || n < row->n_in) {
        mgi_expected(P, op == MG_OP_MUL || op == MG_OP_DIV
                            ? "a tensor (a constant goes with scale, as in scale(x, 1/8))"
                        : op == MG_OP_ADD || op == MG_OP_SUB
                            ? "a tensor (a constant goes with add_scalar, as in add_scalar(x, 1/8))"
                            : "a tensor");
        return none;
      }
      *(range && have_least ? &A.most : &A.c) = mgi_rational(P), have = !range || have_least, have_least = 1;
    } else if (mgi_is(P, "[")) {
      int64_t v[MG_MAX_RANK];
      int k = mgi_ints(P, v, row->attr == MG_ATTR_SHAPE ? written : NULL, "an integer");
      if (row->attr == MG_ATTR_SHAPE) { A.shape.rank = k; for (int d = 0; d < k; d++) A.shape.dim[d] = v[d]; have = 1; }
      else if (row->attr == MG_ATTR_PERM) {
        for (int d = 0; d < k; d++) A.perm[d] = v[d] < 0 || v[d] > MG_MAX_RANK ? -1 : (int32_t)v[d];
        if (n && g->tensors[in[0].id].shape.rank != k) {
          mgi_perr(P, MG_BAD_INPUT, "the permutation has %d entries, the tensor rank %d", k,
                   g->tensors[in[0].id].shape.rank);
          return none;
        }
        have = 1;
      } else {
        P->line = at.line, P->column = at.column;
        mgi_perr(P, MG_BAD_INPUT, "%s takes no list", name);
        return none;
      }
    } else {
      char arg[65];
      int l = P->line, c = P->column;
      const mgi_parser save = *P;
      if (!mgi_name(P, arg, "an operand or an attribute")) return none;
      if (mgi_accept(P, "=")) {
        const int slice = row->attr == MG_ATTR_SLICE;
        int dim = row->attr == MG_ATTR_DIM || row->attr == MG_ATTR_DIMN || row->attr == MG_ATTR_NORM || slice;
        const uint32_t bit = 1u << (arg[0] & 31); /* no two attributes begin alike */
        if (given & bit) {
          P->line = l, P->column = c;
          mgi_perr(P, MG_BAD_INPUT, "%s has '%s=' twice", name, arg);
          return none;
        }
        given |= bit;
        if (!strcmp(arg, "dim") && dim) {
          int64_t d = mgi_int(P, "a dimension");
          A.dim = d < -64 || d > 64 ? 64 : (int32_t)d, have = 1;
        } else if (!strcmp(arg, "n") && (row->attr == MG_ATTR_DIMN || slice)) A.n = mgi_int(P, "a count"), have_n = 1;
        else if (!strcmp(arg, "from") && slice) A.from = mgi_int(P, "the first element's place");
        else if ((!strcmp(arg, "eps") && row->attr == MG_ATTR_NORM) || (!strcmp(arg, "c") && row->attr == MG_ATTR_RAT))
          A.c = mgi_rational(P), have = 1;
        else {
          P->line = l, P->column = c;
          mgi_perr(P, MG_BAD_INPUT, "%s has no attribute '%s': expected %s", name, arg, mgi_attr_text(row->attr));
          return none;
        }
      } else {
        *P = save;
        if (n == row->n_in) {
          P->line = l, P->column = c;
          mgi_perr(P, MG_BAD_INPUT, "%s takes %d operand%s%s", name, row->n_in, row->n_in == 1 ? "" : "s",
                   row->attr == MG_ATTR_RAT ? " and a constant, a number such as 1/8" : "");
          return none;
        }
        in[n] = mgi_parse_expr(P, g);
        n++;
      }
    }
  } while (!P->failed && mgi_accept(P, ","));
  mgi_expect(P, ")");
  if (P->failed) return none;
  if (!have || !have_n) {
    static const char *const need[] = { "",
                                        "a constant, as in (x, 1/8)",
                                        "dim=",
                                        "dim= and n=",
                                        "a shape, as in (x, [2, 3])",
                                        "a permutation, as in (x, [1, 0])",
                                        "",
                                        "its least and greatest value, as in (x, 0, 6)",
                                        "dim= and n=" };
    P->line = line, P->column = column;
    mgi_perr(P, MG_BAD_INPUT, "%s needs %s", name, need[row->attr]);
    return none;
  }
  mg_tensor t = mg_apply(g, op, &A, n, in);
  if (op == MG_OP_RESHAPE && P->root->n_symbols) {
    /* without memory the error sticks to the graph */
    mgi_written *w = (mgi_written *)mgi_alloc(P->root->root, sizeof *w);
    if (w) {
      w->g = g, w->t = t, w->line = line, w->column = column, w->next = NULL;
      memcpy(w->symbol, written, sizeof written);
      *P->last = w, P->last = &w->next;
    }
  }
  return mgi_built(P, line, column) ? t : none;
}

MGI_FN mg_tensor mgi_parse_expr(mgi_parser *P, mg_graph *g) {
  mg_tensor none = {0}, t = none;
  char name[65];
  int line = P->line, column = P->column;
  if (g->n_ops > MGI_MAX_OPS) { mgi_perr(P, MG_LIMIT, "a graph has at most %d operators", MGI_MAX_OPS); return none; }
  if (++P->depth > MGI_MAX_NEST) { mgi_perr(P, MG_LIMIT, "calls nest at most %d deep", MGI_MAX_NEST); return none; }
  if (!mgi_name(P, name, "an expression")) return none;
  if (!strcmp(name, "load")) {
    int l = P->line, c = P->column;
    if (!g->up) {
      P->line = line, P->column = column;
      mgi_perr(P, MG_BAD_INPUT, "a load stands in a kernel or thread graph");
      return none;
    }
    if (!mgi_name(P, name, "the name of a tensor of the graph above")) return none;
    mg_tensor above = mgi_lookup(P, g->up, name, l, c);
    mg_map m = mgi_parse_map(P, g);
    if (!P->failed) t = mg_load(g, above, m), mgi_built(P, line, column);
  } else if (!strcmp(name, "accum")) {
    mgi_expect(P, "(");
    mg_tensor a = P->failed ? none : mgi_parse_expr(P, g);
    mgi_expect(P, ")");
    mg_map m = mgi_parse_map(P, g);
    if (!P->failed) t = mg_accum(g, a, m), mgi_built(P, line, column);
  } else if (mgi_is(P, "(")) t = mgi_parse_call(P, g, name, line, column);
  else t = mgi_lookup(P, g, name, line, column);
  P->depth--;
  return P->failed ? none : t;
}

MGI_FN void mgi_parse_body(mgi_parser *P, mg_graph *g);

MGI_FN mg_graph *mgi_parse_lower(mgi_parser *P, mg_graph *g, mg_tensor *out, int *n_out) {
  int64_t grid[3] = {1, 1, 1}, threads = 128;
  uint32_t symbol[3] = {0, 0, 0};
  int line = P->line, column = P->column, named = 0;
  int kernel = mgi_is(P, "kernel");
  if (kernel != (g->level == MG_KERNEL)) {
    mgi_perr(P, MG_BAD_INPUT, "a %s stands in a %s graph", kernel ? "kernel" : "thread graph",
             kernel ? "program's" : "kernel's block");
    return NULL;
  }
  mgi_next(P);
  while (!P->failed && !mgi_is(P, "{")) {
    if (mgi_accept(P, "grid")) {
      mgi_expect(P, "=");
      mgi_expect(P, "(");
      do {
        int k = mgi_is(P, "x") ? 0 : mgi_is(P, "y") ? 1 : mgi_is(P, "z") ? 2 : -1;
        if (k < 0 || (named >> k & 1)) {
          mgi_expected(P, k < 0 ? "x, y or z" : "each of x, y and z once");
          return NULL;
        }
        named |= 1 << k;
        mgi_next(P);
        mgi_expect(P, "=");
        grid[k] = mgi_count(P, &symbol[k]);
      } while (!P->failed && mgi_accept(P, ","));
      mgi_expect(P, ")");
    } else if (kernel && mgi_accept(P, "threads")) {
      mgi_expect(P, "=");
      threads = mgi_int(P, "a count");
      if (threads < 1 || threads > INT32_MAX) threads = 0;
    } else { mgi_expected(P, kernel ? "grid=, threads= or '{'" : "grid= or '{'"); return NULL; }
  }
  mgi_expect(P, "{");
  if (P->failed) return NULL;
  mg_graph *s = mg_graph_begin(g, grid, (int)threads);
  for (int k = 0; k < 3; k++)
    if (symbol[k]) mg_symbol_axis(s, mg_grid_axis(s, k), symbol[k]);
  if (!mgi_built(P, line, column)) return NULL;
  if (++P->depth > MGI_MAX_NEST) { mgi_perr(P, MG_LIMIT, "graphs nest too deep"); return NULL; }
  mgi_parse_body(P, s);
  P->depth--;
  mgi_expect(P, "}");
  if (P->failed) return NULL;
  *n_out = mg_graph_end(s, out);
  return mgi_built(P, line, column) ? s : NULL;
}

/* NAME {"," NAME} "=" (expr | lower) */
MGI_FN void mgi_parse_assign(mgi_parser *P, mg_graph *g) {
  char name[MG_MAX_OUT][65];
  int n = 0, line[MG_MAX_OUT], column[MG_MAX_OUT], n_out = 1;
  mg_tensor t[MG_MAX_OUT];
  do {
    if (n == MG_MAX_OUT) { mgi_perr(P, MG_LIMIT, "at most %d names", MG_MAX_OUT); return; }
    line[n] = P->line, column[n] = P->column;
    if (!mgi_name(P, name[n], "a statement")) return;
    if (mgi_keyword(name[n])) {
      P->line = line[n], P->column = column[n];
      mgi_perr(P, MG_BAD_INPUT, "'%s' does not stand here, and is no name: it is a keyword", name[n]);
      return;
    }
    n++;
  } while (mgi_accept(P, ","));
  mgi_expect(P, "=");
  if (P->failed) return;
  int l = P->line, c = P->column;
  if (mgi_is(P, "kernel") || mgi_is(P, "thread")) {
    mgi_parse_lower(P, g, t, &n_out);
    if (P->failed) return;
  } else {
    uint32_t before = g->n_tensors;
    t[0] = mgi_parse_expr(P, g);
    if (P->failed) return;
    if (g->n_tensors == before) {
      P->line = l, P->column = c;
      mgi_perr(P, MG_BAD_INPUT, "expected an operator, as in add(X, Y), found the name of a tensor");
      return;
    }
  }
  if (n != n_out) {
    P->line = line[0], P->column = column[0];
    mgi_perr(P, MG_BAD_INPUT, "%d name%s for %d tensor%s", n, n == 1 ? "" : "s", n_out, n_out == 1 ? "" : "s");
    return;
  }
  for (int k = 0; k < n && !P->failed; k++) mg_named(g, t[k], name[k]), mgi_built(P, line[k], column[k]);
}

MGI_FN void mgi_parse_body(mgi_parser *P, mg_graph *g) {
  while (!P->failed && P->tok != MGI_EOF && !mgi_is(P, "}")) {
    int line = P->line, column = P->column;
    if (mgi_accept(P, "for")) {
      char name[65];
      if (!mgi_name(P, name, "the name of a loop")) return;
      mgi_expect(P, "=");
      uint32_t symbol;
      int64_t n = mgi_count(P, &symbol);
      mgi_expect(P, "{");
      if (P->failed) return;
      const mg_axis loop = mg_loop_begin(g, name, n);
      if (symbol) mg_symbol_axis(g, loop, symbol);
      if (!mgi_built(P, line, column)) return;
      if (++P->depth > MGI_MAX_NEST) { mgi_perr(P, MG_LIMIT, "loops nest too deep"); return; }
      mgi_parse_body(P, g);
      P->depth--;
      mgi_expect(P, "}");
      if (P->failed) return;
      mg_loop_end(g);
      mgi_built(P, line, column);
    } else if (mgi_accept(P, "store")) {
      mg_tensor t = mgi_parse_expr(P, g);
      mg_map m = mgi_parse_map(P, g);
      if (!P->failed) mg_store(g, t, m), mgi_built(P, line, column);
    } else if (mgi_is(P, "plan")) {
      mgi_next(P);
      mgi_expect(P, "{");
      while (!P->failed && !mgi_is(P, "}")) {
        char word[2][65];
        /* keys and values also hold '.', '-' and digits: taken as bytes up to '=' or space */
        for (int k = 0; k < 2; k++) {
          size_t n = 0;
          const char *q = P->start;
          while (q + n < P->end && n < 64 && (MGI_ALPHA(q[n]) || MGI_DIGIT(q[n]) || q[n] == '.' || q[n] == '-')) n++;
          if (P->tok == MGI_EOF || !n) { mgi_expected(P, k ? "a value" : "a key"); return; }
          memcpy(word[k], q, n);
          word[k][n] = 0;
          P->next_column = P->column + (int)n;
          P->p = q + n;
          mgi_next(P);
          if (!k) mgi_expect(P, "=");
          if (P->failed) return;
        }
        mg_plan_set(g, word[0], word[1]);
        if (!mgi_built(P, line, column)) return;
      }
      mgi_expect(P, "}");
    } else mgi_parse_assign(P, g);
  }
}

/* 1 if the current token is the first name that a statement gives. */
MGI_FN int mgi_assignment_follows(const mgi_parser *P) {
  mgi_parser ahead = *P;
  mgi_next(&ahead);
  return ahead.tok == MGI_PUNCT && (*ahead.start == '=' || *ahead.start == ',');
}
/* `sym` begins a declaration before a name; a tensor may have it as its name. */
MGI_FN int mgi_symbol_follows(const mgi_parser *P) {
  mgi_parser ahead = *P;
  mgi_next(&ahead);
  return ahead.tok == MGI_NAME;
}
/* What an input holds by definition, behind its "=". */
MGI_FN void mgi_parse_filled(mgi_parser *P, mg_graph *g, const char *name, mg_dtype type, int rank,
                             const int64_t *dim, const uint32_t *symbol) {
  const int line = P->line, column = P->column;
  if (!mgi_accept(P, mg_fill_name(MG_FILL_CAUSAL))) {
    mgi_perr(P, MG_BAD_INPUT, "expected what the input holds: causal");
    return;
  }
  if (rank != 2) {
    P->line = line, P->column = column;
    mgi_perr(P, MG_BAD_INPUT, "a causal mask has two dimensions, queries and keys, got %d", rank);
    return;
  }
  const mg_tensor made = mg_input_filled(g, name, type, dim[0], dim[1], MG_FILL_CAUSAL);
  mgi_input_symbols(g, made, 2, symbol);
  mgi_built(P, line, column);
}

MGI_FN void mgi_parse_program(mgi_parser *P, mg_graph *g) {
  while (!P->failed && P->tok != MGI_EOF && !(P->many && mgi_is(P, "program"))) {
    char name[65];
    int line = P->line, column = P->column;
    if (mgi_accept(P, "input")) {
      int64_t dim[MG_MAX_RANK], at[MG_MAX_RANK];
      uint32_t symbol[MG_MAX_RANK];
      int32_t order[MG_MAX_RANK];
      int n_at = 0;
      line = P->line, column = P->column;
      if (!mgi_name(P, name, "the name of an input")) return;
      mgi_expect(P, ":");
      const mg_dtype dt = mgi_parse_type(P, MG_DTYPE_COUNT);
      if (P->failed) return;
      int n = mgi_ints(P, dim, symbol, P->root->n_symbols ? "an extent or a symbol" : "an extent");
      const int at_line = P->line, at_column = P->column;
      if (mgi_accept(P, "@")) n_at = mgi_ints(P, at, NULL, "a dimension");
      else if (mgi_accept(P, "=")) {
        if (!P->failed) mgi_parse_filled(P, g, name, dt, n, dim, symbol);
        continue;
      }
      if (P->failed) return;
      if (n_at && n_at != n) {
        P->line = at_line, P->column = at_column;
        mgi_perr(P, MG_BAD_INPUT, "the memory order has %d entries, the tensor rank %d", n_at, n);
        return;
      }
      for (int d = 0; d < n_at; d++) order[d] = at[d] < 0 || at[d] >= n ? -1 : (int32_t)at[d];
      const mg_tensor made = mg_input_ordered(g, name, dt, n, dim, n_at ? order : NULL);
      mgi_input_symbols(g, made, n, symbol);
      mgi_built(P, line, column);
    } else if (mgi_is(P, "sym") && mgi_symbol_follows(P)) {
      mgi_next(P);
      if (!mgi_name(P, name, "a symbol's name")) return;
      mgi_expect(P, "in");
      const int64_t least = mgi_int(P, "the symbol's least value");
      mgi_expect(P, "."), mgi_expect(P, ".");
      const int64_t last = mgi_int(P, "its greatest value");
      const int of = mgi_is(P, "of") && !mgi_assignment_follows(P) && mgi_accept(P, "of");
      const int64_t most = of ? mgi_int(P, "where whole chunks of it end") : last;
      if (P->failed) return;
      mg_symbol_last(g, mg_symbol_new(g, name, least, most), last);
      mgi_built(P, line, column);
    } else if (mgi_accept(P, "output")) {
      do {
        int l = P->line, c = P->column;
        if (!mgi_name(P, name, "the name of a tensor")) return;
        mg_tensor t = mgi_lookup(P, g, name, l, c);
        if (!P->failed) mg_output(g, t), mgi_built(P, l, c);
      } while (!P->failed && mgi_accept(P, ","));
    } else mgi_parse_assign(P, g);
  }
}

MGI_FN void mgi_shapes_hold(mgi_parser *P, const mg_graph *g);
/* One program, from where P stands. */
MGI_FN mg_status mgi_parse_one(mgi_parser *P, const mg_config *cfg, mg_graph **out) {
  char name[65];
  mgi_expect(P, "program");
  mgi_name(P, name, "the program's name");
  if (P->failed) return (mg_status)P->failed;
  mg_graph *g = mg_program_new(name, cfg);
  if (!g) return mg_fail(P->e, MG_NO_MEMORY, P->where, "no memory for the program");
  P->root = g, P->shapes = NULL, P->last = &P->shapes;
  mgi_parse_program(P, g);
  mg_error found;
  mg_status checked = P->failed ? MG_OK : mg_check(g, &found);
  if (checked != MG_OK) mgi_perr(P, checked, "%.60s: %.180s", found.where, found.msg);
  if (!P->failed && P->shapes) mgi_shapes_hold(P, g);
  if (P->failed) { mg_graph_free(g); return (mg_status)P->failed; }
  *out = g;
  return MG_OK;
}
/* At the first token of a text. */
mg_status mgi_parser_open(mgi_parser *P, const char *text, size_t len, const char *where, mg_error *e) {
  memset(P, 0, sizeof *P);
  if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, len -= 3; /* a byte order mark */
  P->p = text, P->end = text + len, P->where = where ? where : "text", P->next_line = P->next_column = 1, P->e = e;
  if (len > MGI_MAX_TEXT)
    return mg_fail(e, MG_LIMIT, P->where, "a text has at most %d bytes, this one %zu", MGI_MAX_TEXT, len);
  mgi_next(P);
  return MG_OK;
}
mg_size mg_size_parse(mg_sizes *s, const char *text, size_t len, const char *where, mg_error *e) {
  mgi_parser P;
  mg_error local;
  if (mgi_parser_open(&P, text, len, where, e ? e : &local) != MG_OK) return 0;
  const mg_size a = mgi_parse_size(&P, s, "a size: a number, a symbol, or floor or ceil of a size/number");
  if (!P.failed && P.tok != MGI_EOF) mgi_expected(&P, "+, -, * or the end of the text");
  return P.failed ? 0 : a;
}
mg_status mg_parse_all(const char *text, size_t len, const char *where, const mg_config *cfg, int most, mg_graph **out,
                       int *n, mg_error *e) {
  mgi_parser P;
  mg_error local;
  mg_status s = MG_OK;
  *n = 0;
  if ((s = mgi_parser_open(&P, text, len, where, e ? e : &local)) != MG_OK) return s;
  P.many = most > 1;
  do {
    if (*n == most) mgi_perr(&P, MG_LIMIT, "a text has at most %d programs", most), s = MG_LIMIT;
    else s = mgi_parse_one(&P, cfg, &out[*n]);
    if (s == MG_OK) ++*n;
  } while (s == MG_OK && P.tok != MGI_EOF);
  while (s != MG_OK && *n) mg_graph_free(out[--*n]);
  return s;
}
mg_status mg_parse(const char *text, size_t len, const char *where, const mg_config *cfg, mg_graph **out, mg_error *e) {
  int n;
  *out = NULL;
  return mg_parse_all(text, len, where, cfg, 1, out, &n, e);
}

mg_status mg_parse_file(const char *path, const mg_config *cfg, mg_graph **out, mg_error *e) {
  *out = NULL;
  FILE *f = fopen(path, "rb");
  if (!f) return mg_fail(e, MG_BAD_INPUT, path, "cannot be opened: %s", strerror(errno));
  char *buf = (char *)malloc(MGI_MAX_TEXT + 1);
  size_t n = buf ? fread(buf, 1, MGI_MAX_TEXT + 1, f) : 0;
  int bad = !buf || ferror(f);
  fclose(f);
  mg_status s = bad ? mg_fail(e, buf ? MG_BAD_INPUT : MG_NO_MEMORY, path, "the file cannot be read")
                    : mg_parse(buf, n, path, cfg, out, e);
  free(buf);
  return s;
}

/* ------------------------------------------------------------------------------------------- >>printer */

MGI_FN void mgi_indent(mgi_text *t, int n) { while (n-- > 0) mgi_puts(t, "  "); }

MGI_FN void mgi_print_map(mgi_text *t, const mg_graph *g, const mg_op_node *o) {
  const char *sep = "";
  mgi_puts(t, " {");
  for (uint32_t a = 1; a < g->n_axes; a++) {
    int to = o->map.to[a];
    if (o->code == MG_OP_ACCUM) { if (to == MG_MAP_NONE) continue; }
    else if (a <= 3 ? g->axes[a].extent == 1 : o->code == MG_OP_STORE || !mgi_encloses(g, a, o->scope)) continue;
    mgi_putf(t, "%s%s->", sep, g->axes[a].name);
    sep = ", ";
    if (to >= 0) mgi_putf(t, "%d", to);
    else mgi_puts(t, to == MG_MAP_SUM ? "+" : to == MG_MAP_MAX ? "max" : "*");
  }
  mgi_puts(t, "}");
}

MGI_FN void mgi_print_rat(mgi_text *t, mg_rational c) {
  if (c.den == 1) mgi_putf(t, "%lld", (long long)c.num);
  else mgi_putf(t, "%lld/%lld", (long long)c.num, (long long)c.den);
}

/* "mul(a, g)": the operator of one statement, without maps. */
MGI_FN void mgi_print_call(mgi_text *t, const mg_graph *g, const mg_op_node *o, const mgi_symbols *S) {
  const mg_op_info *row = &mgi_rows[o->code];
  if (o->code == MG_OP_LOAD) { mgi_putf(t, "load %s", g->up->tensors[o->in[0].id].name); return; }
  mgi_putf(t, "%s(", row->name);
  for (int k = 0; k < o->n_in; k++) mgi_putf(t, "%s%s", k ? ", " : "", g->tensors[o->in[k].id].name);
  if (o->code < MG_OP_TABLE_END) switch (row->attr) {
    case MG_ATTR_RAT: mgi_puts(t, ", "); mgi_print_rat(t, o->attr.c); break;
    case MG_ATTR_DIMN: mgi_putf(t, ", dim=%d, n=%lld", o->attr.dim, (long long)o->attr.n); break;
    case MG_ATTR_SLICE:
      mgi_putf(t, ", dim=%d, from=%lld, n=%lld", o->attr.dim, (long long)o->attr.from, (long long)o->attr.n);
      break;
    case MG_ATTR_DIM: mgi_putf(t, ", dim=%d", o->attr.dim); break;
    case MG_ATTR_SHAPE: case MG_ATTR_PERM: {
      int n = row->attr == MG_ATTR_SHAPE ? o->attr.shape.rank : g->tensors[o->in[0].id].shape.rank;
      for (int d = 0; d < n; d++) {
        const mg_symbol *s = row->attr == MG_ATTR_SHAPE ? mgi_symbol_at(S, g, o->out[0], d) : NULL;
        mgi_puts(t, d ? ", " : ", [");
        if (s) mgi_puts(t, s->name);
        else
          mgi_putf(t, "%lld",
                   row->attr == MG_ATTR_SHAPE ? (long long)o->attr.shape.dim[d] : (long long)o->attr.perm[d]);
      }
      mgi_puts(t, "]");
      break;
    }
    default: break;
  }
  mgi_puts(t, ")");
}

/* "ceil(n/64)", how many chunks of so many a symbol or computed size has. */
MGI_FN const char *mgi_count_text(const mg_symbol *s, int64_t chunk, char text[104]) {
  const int sum = strchr(s->name, ' ') != NULL;
  if (chunk > 1) snprintf(text, 104, "ceil(%s%s%s/%lld)", sum ? "(" : "", s->name, sum ? ")" : "", (long long)chunk);
  else snprintf(text, 104, "%s", s->name);
  return text;
}
/* "x=2", or "x=ceil(n/64)". */
MGI_FN void mgi_print_count(mgi_text *t, const mg_graph *g, uint32_t a) {
  const mg_symbol *s = g->axes[a].symbol ? &mgi_program_of(g)->symbol[g->axes[a].symbol - 1] : NULL;
  char text[104];
  if (s) mgi_putf(t, "%s=%s", g->axes[a].name, mgi_count_text(s, mg_ceil_div(s->most, g->axes[a].extent), text));
  else mgi_putf(t, "%s=%lld", g->axes[a].name, (long long)g->axes[a].extent);
}
MGI_FN void mgi_print_grid(mgi_text *t, const mg_graph *s) {
  const char *sep = "";
  mgi_puts(t, "grid=(");
  for (uint32_t k = 1; k <= 3; k++)
    if (s->axes[k].extent > 1) mgi_puts(t, sep), mgi_print_count(t, s, k), sep = ", ";
  if (!*sep) mgi_puts(t, "x=1");
  mgi_puts(t, ")");
}

MGI_FN void mgi_print_ops(mgi_text *t, const mg_graph *g, int indent, const mgi_symbols *S) {
  uint32_t scope = 0;
  for (uint32_t k = 1; k <= g->n_ops; k++) {
    uint32_t want = k < g->n_ops ? g->ops[k].scope : 0;
    while (!mgi_encloses(g, scope, want)) {
      scope = g->axes[scope].parent;
      mgi_indent(t, --indent);
      mgi_puts(t, "}\n");
    }
    while (scope != want) { /* open the loops on the way down */
      uint32_t s = want;
      while (g->axes[s].parent != scope) s = g->axes[s].parent;
      mgi_indent(t, indent++);
      mgi_puts(t, "for "), mgi_print_count(t, g, s), mgi_puts(t, " {\n");
      scope = s;
    }
    if (k == g->n_ops) break;
    const mg_op_node *o = &g->ops[k];
    mgi_indent(t, indent);
    if (o->code == MG_OP_STORE) {
      mgi_putf(t, "store %s", g->tensors[o->in[0].id].name);
      mgi_print_map(t, g, o);
    } else {
      for (int j = 0; j < o->n_out; j++) mgi_putf(t, "%s%s", j ? ", " : "", g->tensors[o->out[j].id].name);
      mgi_puts(t, " = ");
      if (o->code == MG_OP_GRAPH) {
        mgi_puts(t, o->sub->level == MG_BLOCK ? "kernel " : "thread ");
        mgi_print_grid(t, o->sub);
        if (o->sub->level == MG_BLOCK) mgi_putf(t, " threads=%d", o->sub->threads);
        mgi_puts(t, " {\n");
        mgi_print_ops(t, o->sub, indent + 1, S);
        if (o->sub->n_plan) {
          mgi_indent(t, indent + 1);
          mgi_puts(t, "plan {");
          for (uint32_t j = 0; j < o->sub->n_plan; j++)
            mgi_putf(t, " %s=%s", o->sub->plan[j].key, o->sub->plan[j].value);
          mgi_puts(t, " }\n");
        }
        mgi_indent(t, indent);
        mgi_puts(t, "}");
      } else {
        mgi_print_call(t, g, o, S);
        if (o->code == MG_OP_LOAD || o->code == MG_OP_ACCUM) mgi_print_map(t, g, o);
      }
    }
    mgi_puts(t, "\n");
  }
}

mg_status mg_print(const mg_graph *g, char **out, mg_error *e) {
  mgi_text t;
  mgi_symbols S;
  memset(&t, 0, sizeof t);
  const mg_status s = mgi_symbols_open(g, &S, e);
  if (s != MG_OK) return s;
  mgi_putf(&t, "program %s\n", g->name);
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    const mg_symbol *s = &g->symbol[k];
    mgi_putf(&t, "sym %s in %lld..%lld", s->name, (long long)s->least, (long long)s->last);
    if (s->last < s->most) mgi_putf(&t, " of %lld", (long long)s->most);
    mgi_puts(&t, "\n");
  }
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *i = &g->tensors[g->in[k].id];
    int plain = 1;
    mgi_putf(&t, "input %s : %s", i->name, mg_dtype_name(i->dtype));
    for (int d = 0; d < i->shape.rank; d++) {
      mgi_puts(&t, d ? ", " : "[");
      if (g->in_symbol[k][d]) mgi_puts(&t, g->symbol[g->in_symbol[k][d] - 1].name);
      else mgi_putf(&t, "%lld", (long long)i->shape.dim[d]);
      plain &= i->order[d] == d;
    }
    mgi_puts(&t, "]");
    for (int d = 0; !plain && d < i->shape.rank; d++) mgi_putf(&t, "%s%d", d ? ", " : " @ [", i->order[d]);
    mgi_puts(&t, plain ? "" : "]");
    mgi_putf(&t, "%s%s\n", i->fill ? " = " : "", mg_fill_name((mg_filling)i->fill));
  }
  mgi_print_ops(&t, g, 0, &S);
  mgi_symbols_close(&S);
  for (uint32_t k = 0; k < g->n_out; k++) mgi_putf(&t, "output %s\n", g->tensors[g->out[k].id].name);
  return mgi_text_done(&t, out, "mg_print", e);
}

/* ----------------------------------------------------------------------------------------------- >>dot
   Nodes are "o" + the op's path from the program; edges carry tensor names and shapes; a graph-defined operator is a
   cluster, and so is a loop. */

MGI_FN void mgi_dot_graph(mgi_text *t, const mg_graph *g, const char *path, int indent) {
  char shape[96], child[128];
  uint32_t scope = 0;
  int open = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    while (!mgi_encloses(g, scope, o->scope))
      scope = g->axes[scope].parent, open--, mgi_indent(t, --indent), mgi_puts(t, "}\n");
    while (scope != o->scope) {
      uint32_t s = o->scope;
      while (g->axes[s].parent != scope) s = g->axes[s].parent;
      mgi_indent(t, indent++);
      mgi_putf(t, "subgraph \"cluster_%s_l%u\" { label=\"for %s=%lld\"; style=dashed;\n", path, s, g->axes[s].name,
               (long long)g->axes[s].extent);
      scope = s, open++;
    }
    mgi_indent(t, indent);
    if (o->sub) {
      mgi_putf(t, "subgraph \"cluster_%s_%u\" { label=\"%s ", path, k, o->sub->level == MG_BLOCK ? "kernel" : "thread");
      mgi_print_grid(t, o->sub);
      mgi_puts(t, "\";\n");
      snprintf(child, sizeof child, "%.100s_%u", path, k);
      mgi_dot_graph(t, o->sub, child, indent + 1);
      mgi_indent(t, indent);
      mgi_puts(t, "}\n");
      continue;
    }
    mgi_putf(t, "\"o%s_%u\" [label=\"", path, k);
    if (o->code == MG_OP_STORE) mgi_putf(t, "store %s", g->tensors[o->in[0].id].name);
    else {
      mgi_putf(t, "%s = ", g->tensors[o->out[0].id].name);
      mgi_print_call(t, g, o, NULL);
      mgi_putf(t, "\\n%s", mgi_shape_text(&g->tensors[o->out[0].id].shape, shape, sizeof shape));
    }
    if (o->code >= MG_OP_LOAD && o->code <= MG_OP_ACCUM) mgi_puts(t, "\\n"), mgi_print_map(t, g, o);
    mgi_puts(t, "\"];\n");
  }
  while (open-- > 0) mgi_indent(t, --indent), mgi_puts(t, "}\n");
}

/* The node that computes tensor t of g, written to buf: a store of the lower graph if a graph-defined op makes it. */
MGI_FN void mgi_dot_source(const mg_graph *g, uint32_t tensor, const char *path, char *buf, size_t n) {
  uint32_t op = g->tensors[tensor].op;
  if (!op) { snprintf(buf, n, "i%s_%u", path, tensor); return; }
  const mg_op_node *o = &g->ops[op];
  if (!o->sub) { snprintf(buf, n, "o%s_%u", path, op); return; }
  int k = 0;
  while (o->out[k].id != tensor) k++;
  for (uint32_t j = 1; j < o->sub->n_ops; j++)
    if (o->sub->ops[j].code == MG_OP_STORE && k-- == 0) { snprintf(buf, n, "o%s_%u_%u", path, op, j); return; }
}

MGI_FN void mgi_dot_edges(mgi_text *t, const mg_graph *g, const char *path) {
  char src[160], child[128], up[128];
  snprintf(up, sizeof up, "%s", path);
  char *cut = strrchr(up, '_');
  if (cut) *cut = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->sub) { snprintf(child, sizeof child, "%.100s_%u", path, k); mgi_dot_edges(t, o->sub, child); continue; }
    for (int j = 0; j < o->n_in; j++) {
      if (o->code == MG_OP_LOAD) mgi_dot_source(g->up, o->in[j].id, up, src, sizeof src);
      else mgi_dot_source(g, o->in[j].id, path, src, sizeof src);
      mgi_putf(t, "  \"%s\" -> \"o%s_%u\";\n", src, path, k);
    }
  }
}

mg_status mg_dot(const mg_graph *g, char **out, mg_error *e) {
  mgi_text t;
  char shape[96], src[160];
  memset(&t, 0, sizeof t);
  mgi_putf(&t, "digraph %s {\n  node [shape=box, fontname=\"monospace\"];\n", g->name);
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *i = &g->tensors[g->in[k].id];
    mgi_putf(&t, "  \"ig_%u\" [shape=oval, label=\"%s : %s%s%s%s\"];\n", g->in[k].id, i->name, mg_dtype_name(i->dtype),
             mgi_shape_text(&i->shape, shape, sizeof shape), i->fill ? " = " : "", mg_fill_name((mg_filling)i->fill));
  }
  mgi_dot_graph(&t, g, "g", 1);
  mgi_dot_edges(&t, g, "g");
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_tensor_info *i = &g->tensors[g->out[k].id];
    mgi_dot_source(g, g->out[k].id, "g", src, sizeof src);
    mgi_putf(&t, "  \"out%u\" [shape=oval, label=\"%s %s\"];\n  \"%s\" -> \"out%u\";\n", k, i->name,
             mgi_shape_text(&i->shape, shape, sizeof shape), src, k);
  }
  mgi_puts(&t, "}\n");
  return mgi_text_done(&t, out, "mg_dot", e);
}

/* ----------------------------------------------------------------------------------------- >>evaluator
   A value is a view.  Loads are views into the graph above; everything else is dense in a buffer of its own, kept for
   the next block.  The extents of a tensor at given coordinates follow from its cuts alone.
   Loops: at the end of every iteration of loop L, each accumulator whose operand lives in L's own body takes it in; it
   was reset when the outermost loop that it lifts was entered.
   Grid accumulators: blocks are visited in groups that differ only along the merged axes.  In pass 1 every block of
   the group runs what does not depend on the merged value, stores too, and adds its part; in pass 2 the first block
   runs the rest.
   Parts: at kernel level every tensor may be a box of itself; an operator then sees its operands through what its own
   box needs of them.  Only loads and stores of block graphs look at such boxes, so lower levels know nothing of
   them. */

MGI_FN void mgi_dense(mg_view *v) {
  int64_t s = 1;
  for (int d = v->shape.rank - 1; d >= 0; d--) v->stride[d] = s, s *= v->shape.dim[d];
}

/* Odometer over the dimensions of `shape` but the last `skip`; returns 0 when it wraps. */
MGI_FN int mgi_step(const mg_shape *shape, int skip, int64_t *i) {
  for (int d = shape->rank - 1 - skip; d >= 0; d--) {
    if (++i[d] < shape->dim[d]) return 1;
    i[d] = 0;
  }
  return 0;
}
MGI_FN int64_t mgi_offset(const mg_view *v, const int64_t *i, int n) {
  int64_t o = 0;
  for (int d = 0; d < n; d++) o += i[d] * v->stride[d];
  return o;
}

MGI_FN mg_status mgi_real_map(void *user, mg_opcode op, mg_rational rc, const mg_view *out, const mg_view *in) {
  int64_t i[MG_MAX_RANK] = {0};
  int r = out->shape.rank, n_in = mgi_rows[op].n_in;
  int64_t n = out->shape.dim[r - 1], sa = in[0].stride[r - 1], sb = n_in > 1 ? in[1].stride[r - 1] : 0;
  double c = rc.den ? (double)rc.num / (double)rc.den : 0;
  (void)user;
  do {
    double *o = (double *)out->data + mgi_offset(out, i, r - 1);
    const double *a = (const double *)in[0].data + mgi_offset(&in[0], i, r - 1);
    const double *b = n_in > 1 ? (const double *)in[1].data + mgi_offset(&in[1], i, r - 1) : a;
    switch (op) {
#define MGI_E(id, name, n_, lv, attr, abs, field, real, ...) \
  case MG_OP_##id: for (int64_t k = 0; k < n; k++) o[k] = mgi_real_##id(a[k * sa], b[k * sb], c); break;
#define MGI_T(id, name, n_, lv, attr, shape, abs, index, ...)
      MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
      default: return MG_UNSUPPORTED;
    }
  } while (mgi_step(&out->shape, 1, i));
  return MG_OK;
}

MGI_FN mg_status mgi_real_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  int64_t m = c->shape.dim[0], n = c->shape.dim[1], k = a->shape.dim[1];
  (void)user;
  for (int64_t x = 0; x < m; x++)
    for (int64_t z = 0; z < k; z++) {
      double f = ((const double *)a->data)[x * a->stride[0] + z * a->stride[1]];
      double *MG_RESTRICT o = (double *)c->data + x * c->stride[0];
      const double *w = (const double *)b->data + z * b->stride[0];
      if (b->stride[1] == 1 && c->stride[1] == 1)
        for (int64_t y = 0; y < n; y++) o[y] += f * w[y];
      else
        for (int64_t y = 0; y < n; y++) o[y * c->stride[1]] += f * w[y * b->stride[1]];
    }
  return MG_OK;
}

MGI_FN mg_status mgi_real_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  int64_t i[MG_MAX_RANK] = {0};
  int r = in->shape.rank;
  (void)user;
  do {
    double *o = (double *)out->data + mgi_offset(out, i, r - 1);
    const double *a = (const double *)in->data + mgi_offset(in, i, r - 1);
    for (int64_t k = 0; k < in->shape.dim[r - 1]; k++, o += out->stride[r - 1], a += in->stride[r - 1])
      *o = op == MG_OP_SUM ? *o + *a : *a > *o || isnan(*a) ? *a : *o;
  } while (mgi_step(&in->shape, 1, i));
  return MG_OK;
}

MGI_FN void mgi_real_fill(void *user, mg_opcode op, void *dst, size_t n) {
  (void)user;
  for (size_t k = 0; k < n; k++) ((double *)dst)[k] = op == MG_OP_SUM ? 0.0 : op == MG_OP_MAX ? -INFINITY : NAN;
}

MGI_FN int mgi_real_above(void *user, const void *b, const void *a) {
  const double x = *(const double *)b, y = *(const double *)a;
  (void)user;
  return x > y || (isnan(x) && !isnan(y));
}

mg_domain mg_domain_real(void) {
  mg_domain d;
  memset(&d, 0, sizeof d);
  d.elem = sizeof(double);
  d.above = mgi_real_above;
  d.map = mgi_real_map, d.matmul = mgi_real_matmul, d.combine = mgi_real_combine, d.fill = mgi_real_fill;
  return d;
}

MGI_FN void mgi_real_rounds(void *user, mg_dtype type, const mg_view *out) {
  double *x = (double *)out->data;
  (void)user;
  for (int64_t i = 0, n = mg_shape_elements(&out->shape); i < n; i++) x[i] = (double)mg_round_to(type, (float)x[i]);
}
mg_domain mg_domain_cast(void) {
  mg_domain d = mg_domain_real();
  d.rounds = mgi_real_rounds;
  return d;
}

typedef struct mgi_eval {
  const mg_graph *g;
  const mg_domain *d;
  struct mgi_eval *up;
  const mg_box *box; /* kernel level: by tensor; NULL: all of every tensor */
  const void *const *given; /* kernel level: by tensor; see mg_part */
  uint32_t *last;   /* kernel level: by tensor, the last operator that reads it */
  mg_view *val;     /* by tensor */
  void **buf;       /* by tensor; NULL for views of others */
  struct mgi_eval **sub; /* by op: state of lower graphs */
  int64_t at[MG_MAX_AXES + 1]; /* coordinates */
  int pass;         /* 0: no grid accumulator here; 1, 2: as above */
  mg_error *e;
} mgi_eval;

MGI_FN void mgi_eval_free(mgi_eval *E) {
  if (!E) return;
  for (uint32_t k = 1; E->buf && k < E->g->n_tensors; k++) free(E->buf[k]);
  for (uint32_t k = 1; E->sub && k < E->g->n_ops; k++) mgi_eval_free(E->sub[k]);
  free(E->val), free(E->buf), free(E->sub), free(E->last), free(E);
}

MGI_FN mgi_eval *mgi_eval_new(const mg_graph *g, const mg_domain *d, mgi_eval *up, mg_error *e) {
  mgi_eval *E = (mgi_eval *)calloc(1, sizeof *E);
  if (!E) return NULL;
  E->g = g, E->d = d, E->up = up, E->e = e;
  E->val = (mg_view *)calloc(g->n_tensors, sizeof *E->val);
  E->buf = (void **)calloc(g->n_tensors, sizeof *E->buf);
  E->sub = (mgi_eval **)calloc(g->n_ops, sizeof *E->sub);
  if (!E->val || !E->buf || !E->sub) { mgi_eval_free(E); return NULL; }
  return E;
}

/* Offset and extent of dimension d of a tensor at the coordinates, within the extent before its first cut. */
MGI_FN int64_t mgi_extent_at(const mgi_eval *E, const mg_tensor_info *t, int d) {
  const mgi_cuts *c = t->cuts[d];
  if (!c) return t->shape.dim[d];
  int64_t left = c->before[0], full = c->before[0];
  for (int k = 0; k < c->n; k++) {
    full = mg_ceil_div(full, E->g->axes[c->axis[k]].extent);
    left -= E->at[c->axis[k]] * full;
    left = left < 0 ? 0 : left > full ? full : left;
  }
  return left;
}

/* Bytes of an element of tensor t: indices are integers in every domain. */
MGI_FN size_t mgi_eval_bytes(const mgi_eval *E, uint32_t t) {
  return E->g->tensors[t].dtype == MG_I32 ? sizeof(int32_t) : E->d->elem;
}

/* Makes val[t] a dense view with the extents of this moment. */
MGI_FN mg_status mgi_val(mgi_eval *E, mg_tensor t) {
  const mg_tensor_info *i = &E->g->tensors[t.id];
  mg_view *v = &E->val[t.id];
  v->shape = i->shape;
  for (int d = 0; d < i->shape.rank; d++)
    v->shape.dim[d] = E->box ? E->box[t.id].hi[d] - E->box[t.id].lo[d] : mgi_extent_at(E, i, d);
  mgi_dense(v);
  if (!v->data) {
    size_t n = (size_t)mg_shape_elements(E->box ? &v->shape : &i->shape);
    const size_t bytes = mgi_eval_bytes(E, t.id);
    if (n > ((size_t)1 << 36) / bytes)
      return mg_fail(E->e, MG_LIMIT, "mg_eval", "tensor '%s' takes more than 64 GiB", i->name);
    v->data = E->buf[t.id] = malloc(n * bytes);
    if (!v->data) return mg_fail(E->e, MG_NO_MEMORY, "mg_eval", "no memory for tensor '%s' (%zu elements)", i->name, n);
  }
  return MG_OK;
}

/* v seen with the shape `to` that it broadcasts to. */
MGI_FN mg_view mgi_broadcast_to(const mg_view *v, const mg_shape *to) {
  mg_view r = *v;
  r.shape = *to;
  for (int k = 1; k <= to->rank; k++) {
    int d = v->shape.rank - k;
    r.stride[to->rank - k] = d >= 0 && v->shape.dim[d] != 1 ? v->stride[d] : 0;
  }
  return r;
}

MGI_FN void mgi_copy(size_t elem, const mg_view *dst, const mg_view *src) {
  int64_t i[MG_MAX_RANK] = {0};
  int r = src->shape.rank;
  int64_t n = src->shape.dim[r - 1];
  if (!mg_shape_elements(&src->shape)) return;
  do {
    char *o = (char *)dst->data + (size_t)mgi_offset(dst, i, r - 1) * elem;
    const char *a = (const char *)src->data + (size_t)mgi_offset(src, i, r - 1) * elem;
    if (dst->stride[r - 1] == 1 && src->stride[r - 1] == 1) memcpy(o, a, (size_t)n * elem);
    else
      for (int64_t k = 0; k < n; k++)
        memcpy(o + (size_t)(k * dst->stride[r - 1]) * elem, a + (size_t)(k * src->stride[r - 1]) * elem, elem);
  } while (mgi_step(&src->shape, 1, i));
}

MGI_FN mg_status mgi_eval_matmul(mgi_eval *E, const mg_view *out, const mg_view *a, const mg_view *b) {
  mg_shape sa = out->shape, sb = out->shape;
  int r = out->shape.rank;
  int64_t i[MG_MAX_RANK] = {0};
  sa.dim[r - 2] = a->shape.dim[a->shape.rank - 2], sa.dim[r - 1] = a->shape.dim[a->shape.rank - 1];
  sb.dim[r - 2] = b->shape.dim[b->shape.rank - 2], sb.dim[r - 1] = b->shape.dim[b->shape.rank - 1];
  mg_view v[3];
  v[0] = *out, v[1] = mgi_broadcast_to(a, &sa), v[2] = mgi_broadcast_to(b, &sb);
  for (int k = 0; k < 2; k++) { /* the last two dimensions never broadcast */
    v[1].stride[r - 1 - k] = a->stride[a->shape.rank - 1 - k];
    v[2].stride[r - 1 - k] = b->stride[b->shape.rank - 1 - k];
  }
  do {
    mg_view m[3];
    for (int k = 0; k < 3; k++) {
      m[k] = v[k];
      m[k].data = (char *)v[k].data + (size_t)mgi_offset(&v[k], i, r - 2) * E->d->elem;
      m[k].shape.rank = 2;
      for (int d = 0; d < 2; d++)
        m[k].shape.dim[d] = v[k].shape.dim[r - 2 + d], m[k].stride[d] = v[k].stride[r - 2 + d];
    }
    mg_status s = E->d->matmul(E->d->user, &m[0], &m[1], &m[2]);
    if (s != MG_OK) return s;
  } while (mgi_step(&out->shape, 2, i));
  return MG_OK;
}

MGI_FN mg_box mgi_box_whole(const mg_shape *s) {
  mg_box b;
  memset(&b, 0, sizeof b);
  for (int d = 0; d < s->rank; d++) b.hi[d] = s->dim[d];
  return b;
}
MGI_FN int mgi_box_empty(const mg_box *b, int rank) {
  for (int d = 0; d < rank; d++)
    if (b->lo[d] >= b->hi[d]) return 1;
  return 0;
}
MGI_FN void mgi_box_join(mg_box *b, const mg_box *with, int rank) {
  if (mgi_box_empty(with, rank)) return;
  if (mgi_box_empty(b, rank)) { *b = *with; return; }
  for (int d = 0; d < rank; d++) {
    if (with->lo[d] < b->lo[d]) b->lo[d] = with->lo[d];
    if (with->hi[d] > b->hi[d]) b->hi[d] = with->hi[d];
  }
}
int64_t mg_box_elements(const mg_box *b, int rank) {
  mg_shape s;
  memset(&s, 0, sizeof s);
  s.rank = rank;
  for (int d = 0; d < rank; d++) s.dim[d] = b->hi[d] - b->lo[d];
  return mg_shape_elements(&s);
}

/* Reshape: dimensions that group alike on both sides are handled group by group; within one, the flat indices from the
   box's first element to its last. */
MGI_FN mg_box mgi_need_reshape(const mg_shape *from, const mg_shape *to, const mg_box *b) {
  mg_box r = mgi_box_whole(from);
  for (int i = 0, j = 0; i < from->rank && j < to->rank;) {
    int i0 = i, j0 = j;
    int64_t x = from->dim[i++], y = to->dim[j++], first = 0, last = 0;
    while (x != y) {
      if (x < y && i < from->rank) x *= from->dim[i++];
      else if (y < x && j < to->rank) y *= to->dim[j++];
      else return r; /* not reached: they have the same number of elements */
    }
    for (int d = j0; d < j; d++) first = first * to->dim[d] + b->lo[d], last = last * to->dim[d] + b->hi[d] - 1;
    for (int d = i0, apart = 0; d < i; d++) {
      x /= from->dim[d]; /* elements of one index of d */
      int64_t u = first / x, v = last / x;
      first %= x, last %= x;
      r.lo[d] = apart ? 0 : u, r.hi[d] = apart ? from->dim[d] : v + 1;
      apart |= u != v;
    }
  }
  return r;
}

/* What box b, not empty, of o's result needs of operand k. */
MGI_FN mg_box mgi_need(const mg_graph *g, const mg_op_node *o, int k, const mg_box *b) {
  const mg_shape *s = &g->tensors[o->in[k].id].shape, *z = &g->tensors[o->out[0].id].shape;
  mg_box r = mgi_box_whole(s);
  const mg_op_info *row = &mgi_rows[o->code];
  int D = o->attr.dim;
  if (row->elementwise || o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL) {
    int product = !row->elementwise, right = o->code == MG_OP_MATMUL ? k == 1 : k >= 2;
    for (int d = 0; d < s->rank; d++) {
      /* the dimension that is summed */
      int at = d + z->rank - s->rank, depth = product && d == s->rank - (right ? 2 : 1);
      int batch = !product || d < s->rank - 2;
      if (at >= 0 && !depth && !(batch && s->dim[d] == 1)) r.lo[d] = b->lo[at], r.hi[d] = b->hi[at];
    }
  } else if (o->code == MG_OP_SUM || o->code == MG_OP_MAX || o->code == MG_OP_ARGMAX) {
    r = *b, r.lo[D] = 0, r.hi[D] = s->dim[D];
  } else if (o->code == MG_OP_GATHER) { /* any of the rows */
    const int before = k ? 0 : z->rank - s->rank;
    for (int d = k ? 0 : 1; d < s->rank; d++) r.lo[d] = b->lo[before + d], r.hi[d] = b->hi[before + d];
  } else if (o->code == MG_OP_TRANSPOSE) {
    for (int d = 0; d < z->rank; d++) r.lo[o->attr.perm[d]] = b->lo[d], r.hi[o->attr.perm[d]] = b->hi[d];
  } else if (o->code == MG_OP_CONCAT) {
    int64_t at = k ? z->dim[D] - s->dim[D] : 0, lo = b->lo[D] - at, hi = b->hi[D] - at;
    r = *b, r.lo[D] = lo < 0 ? 0 : lo, r.hi[D] = hi > s->dim[D] ? s->dim[D] : hi;
    if (r.lo[D] >= r.hi[D]) memset(&r, 0, sizeof r);
  } else if (o->code == MG_OP_REPEAT) {
    int64_t n = s->dim[D], lo = b->lo[D] % n, hi = lo + b->hi[D] - b->lo[D];
    r = *b, r.lo[D] = hi > n ? 0 : lo, r.hi[D] = hi > n ? n : hi;
  } else if (o->code == MG_OP_SLICE) {
    r = *b, r.lo[D] += o->attr.from, r.hi[D] += o->attr.from;
  } else if (o->code == MG_OP_RESHAPE) r = mgi_need_reshape(s, z, b);
  return r; /* rows of the user that move elements: all */
}

/* The part `need` of v, which holds the part `box`. */
MGI_FN mg_view mgi_view_part(const mg_view *v, const mg_box *box, const mg_box *need, size_t elem) {
  mg_view r = *v;
  for (int d = 0; d < v->shape.rank; d++) {
    r.data = (char *)r.data + (size_t)((need->lo[d] - box->lo[d]) * v->stride[d]) * elem;
    r.shape.dim[d] = need->hi[d] - need->lo[d];
  }
  return r;
}

/* Rows by index; in[0] has all of them. */
MGI_FN mg_status mgi_eval_gather(mgi_eval *E, const mg_op_node *o, const mg_view *out, const mg_view *const *in) {
  const mg_view *rows = in[0], *index = in[1];
  const size_t elem = E->d->elem;
  const int first = index->shape.rank, computed = E->g->tensors[o->in[1].id].op != 0;
  mg_view row = *rows, to = *out; /* one of them, and its place */
  int64_t i[MG_MAX_RANK] = {0};
  row.shape.rank = to.shape.rank = rows->shape.rank - 1;
  for (int d = 0; d < row.shape.rank; d++) {
    row.shape.dim[d] = to.shape.dim[d] = rows->shape.dim[d + 1];
    row.stride[d] = rows->stride[d + 1], to.stride[d] = out->stride[first + d];
  }
  do {
    const int32_t at = ((const int32_t *)index->data)[mgi_offset(index, i, first)];
    to.data = (char *)out->data + (size_t)mgi_offset(out, i, first) * elem; /* dense */
    if (computed && at == MG_NO_INDEX) {
      E->d->fill(E->d->user, MG_OP_NONE, to.data, (size_t)mg_shape_elements(&row.shape));
      continue;
    }
    if (at < 0 || at >= rows->shape.dim[0])
      return mg_fail(E->e, MG_BAD_INPUT, "gather", "index %d is not in 0..%lld", (int)at,
                     (long long)rows->shape.dim[0] - 1);
    row.data = (char *)rows->data + (size_t)(at * rows->stride[0]) * elem;
    if (row.shape.rank) mgi_copy(elem, &to, &row);
    else memcpy(to.data, row.data, elem);
  } while (mgi_step(&index->shape, 0, i));
  return MG_OK;
}
/* Where the maximum along `dim` stands, of several the first. */
MGI_FN mg_status mgi_eval_argmax(mgi_eval *E, const mg_view *out, const mg_view *in, int dim) {
  const mg_domain *d = E->d;
  int64_t i[MG_MAX_RANK] = {0};
  if (!d->above) return MG_UNSUPPORTED;
  do {
    const char *row = (const char *)in->data + (size_t)mgi_offset(in, i, in->shape.rank) * d->elem, *top = row;
    int32_t at = 0;
    for (int64_t k = 1; k < in->shape.dim[dim]; k++) {
      const char *x = row + (size_t)(k * in->stride[dim]) * d->elem;
      const int above = at == MG_NO_INDEX ? 0 : d->above(d->user, x, top);
      if (above > 0) top = x, at = (int32_t)k;
      if (above < 0) at = MG_NO_INDEX;
    }
    ((int32_t *)out->data)[mgi_offset(out, i, out->shape.rank)] = at;
  } while (mgi_step(&out->shape, 0, i));
  return MG_OK;
}

/* Pre-defined operators: out is dense and has its shape. */
MGI_FN mg_status mgi_eval_op(mgi_eval *E, const mg_op_node *o) {
  const mg_op_info *row = &mgi_rows[o->code];
  if (E->box && mgi_box_empty(&E->box[o->out[0].id], E->g->tensors[o->out[0].id].shape.rank)) return MG_OK;
  mg_status s = mgi_val(E, o->out[0]);
  if (s != MG_OK) return s;
  mg_view *out = &E->val[o->out[0].id], part[MG_MAX_IN];
  const mg_view *in[MG_MAX_IN];
  for (int k = 0; k < o->n_in; k++) {
    in[k] = &E->val[o->in[k].id];
    if (!E->box || row->moves) continue;
    mg_box need = mgi_need(E->g, o, k, &E->box[o->out[0].id]);
    part[k] = mgi_view_part(in[k], &E->box[o->in[k].id], &need, mgi_eval_bytes(E, o->in[k].id));
    in[k] = &part[k];
  }
  int64_t n = mg_shape_elements(&out->shape);
  if (!n) return MG_OK;
  const mg_domain *d = E->d;
  if (row->elementwise) {
    mg_view v[2];
    for (int k = 0; k < o->n_in; k++) v[k] = mgi_broadcast_to(in[k], &out->shape);
    s = d->map(d->user, o->code, o->attr.c, out, v);
    mg_dtype type;
    if (s == MG_OK && d->rounds && mg_is_cast(o->code, &type) && mg_cast_rounds(E->g, (uint32_t)(o - E->g->ops)))
      d->rounds(d->user, type, out);
  } else if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL) {
    d->fill(d->user, MG_OP_SUM, out->data, (size_t)n);
    int pairs = o->code == MG_OP_MATMUL ? 1 : 2;
    for (int k = 0; k < pairs && s == MG_OK; k++)
      if (in[k]->shape.dim[in[k]->shape.rank - 1]) s = mgi_eval_matmul(E, out, in[k], in[k + pairs]);
  } else if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) {
    d->fill(d->user, o->code, out->data, (size_t)n);
    mg_view v = *out;
    v.shape = in[0]->shape, v.stride[o->attr.dim] = 0;
    if (mg_shape_elements(&v.shape)) s = d->combine(d->user, o->code, &v, in[0]);
  } else if (o->code == MG_OP_GATHER) {
    s = mgi_eval_gather(E, o, out, in);
    if (s != MG_OK) return s;
  } else if (o->code == MG_OP_ARGMAX) {
    s = mgi_eval_argmax(E, out, in[0], o->attr.dim);
  } else if (row->moves) {
    mg_shape S[MG_MAX_IN];
    int64_t i[MG_MAX_RANK] = {0}, j[MG_MAX_RANK], at[MG_MAX_RANK] = {0};
    const mg_box *B = E->box ? &E->box[o->out[0].id] : NULL;
    for (int k = 0; k < o->n_in; k++) S[k] = B ? E->g->tensors[o->in[k].id].shape : in[k]->shape;
    do {
      for (int k = 0; k < out->shape.rank; k++) at[k] = i[k] + (B ? B->lo[k] : 0);
      int src = mg_op_index(o->code, &o->attr, S, at, j);
      char *dst = (char *)out->data + (size_t)mgi_offset(out, i, out->shape.rank) * d->elem;
      if (src < 0) { d->fill(d->user, MG_OP_SUM, dst, 1); continue; }
      if (src >= o->n_in)
        return mg_fail(E->e, MG_BAD_INPUT, row->name, "the index text names operand %d of %d", src, o->n_in);
      for (int k = 0; k < S[src].rank; k++)
        if (j[k] < 0 || j[k] >= S[src].dim[k])
          return mg_fail(E->e, MG_BAD_INPUT, row->name,
                         "the index text reads element %lld of dimension %d, which has %lld", (long long)j[k], k,
                         (long long)S[src].dim[k]);
      if (B) for (int k = 0; k < S[src].rank; k++) j[k] -= E->box[o->in[src].id].lo[k];
      memcpy(dst, (const char *)in[src]->data + (size_t)mgi_offset(in[src], j, S[src].rank) * d->elem, d->elem);
    } while (mgi_step(&out->shape, 0, i));
  } else
    return mg_fail(E->e, MG_UNSUPPORTED, row->name,
                   "the row says neither how to move elements nor how to compute them");
  return s == MG_OK ? MG_OK : mg_fail(E->e, s, row->name, "the domain has no meaning for it");
}

/* Where the chunk at the coordinates lies in a tensor that a map partitions: offsets by dimension. `full` starts as
   the extents before the cuts and becomes the nominal chunk. */
MGI_FN void mgi_locate(const mgi_eval *E, const mg_map *m, uint32_t axes, mg_shape *full, int64_t *off) {
  for (int d = 0; d < full->rank; d++) off[d] = 0;
  for (uint32_t a = 1; a < E->g->n_axes; a++) {
    int d = m->to[a];
    if (d < 0 || !(axes >> a & 1)) continue;
    full->dim[d] = mg_ceil_div(full->dim[d], E->g->axes[a].extent);
    off[d] += E->at[a] * full->dim[d];
  }
}

/* A tensor of the graph above whole, and where the part of it lies that is there. */
MGI_FN mg_shape mgi_up_shape(const mgi_eval *E, uint32_t t) {
  return E->box ? E->g->tensors[t].shape : E->val[t].shape;
}
MGI_FN void mgi_up_offset(const mgi_eval *E, uint32_t t, int64_t *off) {
  for (int d = 0; E->box && d < E->g->tensors[t].shape.rank; d++) off[d] -= E->box[t].lo[d];
}

MGI_FN mg_opcode mgi_accum_kind(const mg_map *m) {
  for (uint32_t a = 1; a <= MG_MAX_AXES; a++)
    if (m->to[a] == MG_MAP_MAX) return MG_OP_MAX;
  return MG_OP_SUM;
}

MGI_FN mg_status mgi_accum_reset(mgi_eval *E, const mg_op_node *o) {
  mg_status s = mgi_val(E, o->out[0]);
  mg_view *v = &E->val[o->out[0].id];
  if (s == MG_OK && mg_shape_elements(&v->shape))
    E->d->fill(E->d->user, mgi_accum_kind(&o->map), v->data, (size_t)mg_shape_elements(&v->shape));
  return s;
}

/* Takes the operand in, at the place that the coordinates say. */
MGI_FN mg_status mgi_accum_take(mgi_eval *E, const mg_op_node *o) {
  const mg_view *src = &E->val[o->in[0].id];
  mg_view dst = E->val[o->out[0].id];
  mg_shape full = E->g->tensors[o->out[0].id].shape;
  int64_t off[MG_MAX_RANK];
  if (!mg_shape_elements(&src->shape)) return MG_OK;
  mgi_locate(E, &o->map, ~0u, &full, off);
  dst.data = (char *)dst.data + (size_t)mgi_offset(&dst, off, full.rank) * E->d->elem;
  dst.shape = src->shape;
  return E->d->combine(E->d->user, mgi_accum_kind(&o->map), &dst, src);
}

/* Pass 1 leaves out what needs a merged value. */
MGI_FN int mgi_left_out(const mgi_eval *E, const mg_op_node *o) {
  if (E->pass != 1 || (o->code == MG_OP_ACCUM && mgi_grid_part(&o->map))) return 0;
  return E->g->tensors[(o->code == MG_OP_STORE ? o->in[0] : o->out[0]).id].merged != 0;
}
/* Pass 2 has the merged values already. */
MGI_FN int mgi_takes(const mgi_eval *E, const mg_op_node *o) {
  return !mgi_left_out(E, o) && !(E->pass == 2 && mgi_grid_part(&o->map));
}

MGI_FN mg_status mgi_eval_graph(mgi_eval *E, const mg_op_node *owner);
MGI_FN int mgi_is_given(const mgi_eval *E, const mg_op_node *o);

MGI_FN mg_status mgi_eval_range(mgi_eval *E, uint32_t lo, uint32_t hi, uint32_t scope) {
  const mg_graph *g = E->g;
  mg_status s = MG_OK;
  for (uint32_t k = lo; k < hi && s == MG_OK;) {
    const mg_op_node *o = &g->ops[k];
    if (o->scope != scope) { /* a loop: [k, end) is its body */
      uint32_t loop = o->scope, end = k;
      while (g->axes[loop].parent != scope) loop = g->axes[loop].parent;
      while (end < hi && mgi_encloses(g, loop, g->ops[end].scope)) end++;
      /* accumulators of this scope that lift out of the loop */
      for (uint32_t j = end; j < g->n_ops && s == MG_OK; j++) {
        const mg_op_node *a = &g->ops[j];
        if (a->code == MG_OP_ACCUM && a->scope == scope && !mgi_grid_part(&a->map) &&
            mgi_encloses(g, loop, g->tensors[a->in[0].id].scope))
          s = mgi_accum_reset(E, a);
      }
      for (int64_t it = 0; it < g->axes[loop].extent && s == MG_OK; it++) {
        E->at[loop] = it;
        s = mgi_eval_range(E, k, end, loop);
        for (uint32_t j = end; j < g->n_ops && s == MG_OK; j++) {
          const mg_op_node *a = &g->ops[j];
          if (a->code == MG_OP_ACCUM && g->tensors[a->in[0].id].scope == loop && mgi_takes(E, a))
            s = mgi_accum_take(E, a);
        }
      }
      E->at[loop] = 0;
      k = end;
      continue;
    }
    k++;
    if (mgi_left_out(E, o) || mgi_is_given(E, o)) continue;
    if (E->last && E->d->next) E->d->next(E->d->user, g, k - 1);
    switch (o->code) {
      case MG_OP_LOAD: {
        const mg_view *up = &E->up->val[o->in[0].id];
        mg_view *v = &E->val[o->out[0].id];
        mg_shape full = mgi_up_shape(E->up, o->in[0].id);
        int64_t off[MG_MAX_RANK];
        mgi_locate(E, &o->map, ~0u, &full, off);
        mgi_up_offset(E->up, o->in[0].id, off);
        *v = *up;
        for (int d = 0; d < full.rank; d++)
          v->shape.dim[d] = g->tensors[o->out[0].id].cuts[d] ? mgi_extent_at(E, &g->tensors[o->out[0].id], d)
                                                             : full.dim[d];
        if (mg_shape_elements(&v->shape))
          v->data = (char *)up->data + (size_t)mgi_offset(up, off, full.rank) * E->d->elem;
        break;
      }
      case MG_OP_STORE: {
        const mg_view *v = &E->val[o->in[0].id];
        const mg_op_node *owner = &g->up->ops[g->up_op];
        const int index = mg_ops_before(g, k - 1, MG_OP_STORE);
        mg_view up = E->up->val[owner->out[index].id];
        mg_shape full = mgi_up_shape(E->up, owner->out[index].id);
        int64_t off[MG_MAX_RANK];
        mgi_locate(E, &o->map, ~0u, &full, off);
        mgi_up_offset(E->up, owner->out[index].id, off);
        if (!mg_shape_elements(&v->shape)) break;
        up.data = (char *)up.data + (size_t)mgi_offset(&up, off, full.rank) * E->d->elem;
        mgi_copy(E->d->elem, &up, v);
        break;
      }
      case MG_OP_ACCUM: /* one that lifts a loop took its parts there; one over the grid alone takes here */
        if (g->tensors[o->in[0].id].scope == scope && mgi_takes(E, o)) {
          if (!mgi_grid_part(&o->map)) s = mgi_accum_reset(E, o); /* every axis that it names has one block */
          if (s == MG_OK) s = mgi_accum_take(E, o);
        }
        break;
      case MG_OP_GRAPH: s = mgi_eval_graph(E, o); break;
      default: s = mgi_eval_op(E, o);
    }
    for (int j = 0; E->last && E->d->made && s == MG_OK && j < o->n_out; j++)
      if (E->val[o->out[j].id].data) E->d->made(E->d->user, g, o->out[j], &E->val[o->out[j].id]);
    for (int j = 0; E->last && j < o->n_in; j++)
      if (E->last[o->in[j].id] == k - 1 && E->buf[o->in[j].id])
        free(E->buf[o->in[j].id]), E->buf[o->in[j].id] = E->val[o->in[j].id].data = NULL;
  }
  return s;
}

/* Axes over whose blocks a grid accumulator merges. */
MGI_FN uint32_t mgi_merged_axes(const mg_graph *g) {
  uint32_t r = 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].code == MG_OP_ACCUM) r |= mgi_grid_part(&g->ops[k].map);
  return r;
}

/* The blocks lo[a] <= at[a] < hi[a] of o->sub that the boxes of o's results need; 0 if none.  Of blocks that hold
   replicas one will do. */
MGI_FN int mgi_block_range(const mg_graph *g, const mg_op_node *o, const mg_box *box, int64_t *lo, int64_t *hi) {
  const mg_graph *s = o->sub;
  uint32_t merged = mgi_merged_axes(s), store = 0;
  int any = 0;
  for (int a = 1; a <= 3; a++) lo[a] = s->axes[a].extent, hi[a] = 0;
  for (int k = 0; k < o->n_out; k++) {
    const mg_shape *z = &g->tensors[o->out[k].id].shape;
    const mg_box *b = &box[o->out[k].id];
    mg_shape full = *z;
    int inside[MG_MAX_RANK] = {0}; /* the box spans several blocks of an axis: all of the next one's */
    int64_t at[MG_MAX_RANK] = {0};
    do store++; while (s->ops[store].code != MG_OP_STORE);
    if (mgi_box_empty(b, z->rank)) continue;
    any = 1;
    for (int a = 1; a <= 3; a++) {
      int d = s->ops[store].map.to[a];
      int64_t first = 0, last = s->axes[a].extent - 1;
      if (d < 0 && !(merged >> a & 1)) continue;
      if (d >= 0 && !(merged >> a & 1)) {
        full.dim[d] = mg_ceil_div(full.dim[d], s->axes[a].extent);
        if (!inside[d]) {
          first = (b->lo[d] - at[d]) / full.dim[d], last = (b->hi[d] - 1 - at[d]) / full.dim[d];
          at[d] += first * full.dim[d], inside[d] = first != last;
        }
      }
      if (first < lo[a]) lo[a] = first;
      if (last + 1 > hi[a]) hi[a] = last + 1;
    }
  }
  for (int a = 1; a <= 3; a++)
    if (lo[a] >= hi[a]) lo[a] = 0, hi[a] = 1;
  return any;
}

/* What those blocks cover of a tensor of shape s under map m; loops run over all of theirs. */
MGI_FN mg_box mgi_block_cover(const mg_graph *g, const mg_map *m, const mg_shape *s, const int64_t *lo,
                              const int64_t *hi) {
  mg_box b;
  mg_shape full = *s;
  memset(&b, 0, sizeof b);
  for (uint32_t a = 1; a < g->n_axes; a++) {
    int d = m->to[a];
    if (d < 0) continue;
    full.dim[d] = mg_ceil_div(full.dim[d], g->axes[a].extent);
    b.lo[d] += (a <= 3 ? lo[a] : 0) * full.dim[d],
        b.hi[d] += (a <= 3 ? hi[a] - 1 : g->axes[a].extent - 1) * full.dim[d];
  }
  for (int d = 0; d < s->rank; d++) {
    b.hi[d] += full.dim[d];
    if (b.hi[d] > s->dim[d]) b.hi[d] = s->dim[d];
  }
  if (mgi_box_empty(&b, s->rank)) memset(&b, 0, sizeof b); /* blocks past the edge */
  return b;
}

/* Elements of a lower graph's own tensors, and the work of one block of it. */
MGI_FN void mgi_block_cost(const mg_graph *g, double *elements, double *work) {
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    double times = 1, n = 0;
    for (uint32_t l = o->scope; l; l = g->axes[l].parent) times *= (double)g->axes[l].extent;
    if (o->code == MG_OP_ACCUM)
      for (uint32_t a = 4; a < g->n_axes; a++)
        if (o->map.to[a] != MG_MAP_NONE) times *= (double)g->axes[a].extent;
    if (o->code == MG_OP_GRAPH) {
      double inner = 0;
      mgi_block_cost(o->sub, elements, &inner);
      *work += times * inner * (double)o->sub->axes[1].extent * (double)o->sub->axes[2].extent *
               (double)o->sub->axes[3].extent;
    }
    for (int j = 0; j < o->n_out; j++) n += (double)mg_shape_elements(&g->tensors[o->out[j].id].shape);
    if (o->code != MG_OP_LOAD) *elements += n;
    if (o->code == MG_OP_MATMUL) n *= (double)g->tensors[o->in[0].id].shape.dim[g->tensors[o->in[0].id].shape.rank - 1];
    if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) n = (double)mg_shape_elements(&g->tensors[o->in[0].id].shape);
    *work += times * (n + 16) * (o->code == MG_OP_MATMUL ? 1 : 4);
  }
}

void mg_part_free(mg_part *p) {
  if (p) free(p->box), memset(p, 0, sizeof *p);
}

MGI_FN int mgi_all_given(const mg_op_node *o, const uint8_t *given) {
  int all = given && o->n_out > 0;
  for (int j = 0; all && j < o->n_out; j++) all = given[o->out[j].id] != 0;
  return all;
}

mg_status mg_part_of(const mg_graph *g, const mg_box *want, mg_part *out, mg_error *e) {
  mg_tensor none;
  none.id = 0;
  return mg_part_of_value(g, none, want, NULL, out, e);
}
mg_status mg_part_of_value(const mg_graph *g, mg_tensor value, const mg_box *want, const uint8_t *given, mg_part *out,
                           mg_error *e) {
  memset(out, 0, sizeof *out);
  if (!g || g->up) return mg_fail(e, MG_BAD_INPUT, "mg_part_of", "call it on a program");
  mg_box *box = out->box = (mg_box *)calloc(g->n_tensors, sizeof *box);
  uint32_t *last = (uint32_t *)calloc(g->n_tensors, sizeof *last);
  if (!box || !last) {
    free(last);
    mg_part_free(out);
    return mg_fail(e, MG_NO_MEMORY, "mg_part_of", "no memory for %u boxes", g->n_tensors);
  }
  const mg_tensor *wanted = value.id ? &value : g->out;
  const uint32_t n_wanted = value.id ? 1 : g->n_out;
  out->value = value.id;
  for (uint32_t k = 0; k < n_wanted; k++) {
    const mg_shape *s = &g->tensors[wanted[k].id].shape;
    for (int d = 0; d < s->rank; d++)
      if (want[k].lo[d] < 0 || want[k].lo[d] > want[k].hi[d] || want[k].hi[d] > s->dim[d]) {
        free(last);
        mg_part_free(out);
        return mg_fail(e, MG_BAD_INPUT, "mg_part_of", "output %u has no part %lld to %lld of dimension %d", k,
                       (long long)want[k].lo[d], (long long)want[k].hi[d], d);
      }
    mgi_box_join(&box[wanted[k].id], &want[k], s->rank);
  }
  for (uint32_t k = g->n_ops; k-- > 1;) {
    const mg_op_node *o = &g->ops[k];
    int64_t lo[4], hi[4];
    if (mgi_all_given(o, given)) continue;
    if (o->code == MG_OP_GRAPH) {
      const mg_graph *s = o->sub;
      int stores = 0;
      double elements = 0, work = 0;
      if (!mgi_block_range(g, o, box, lo, hi)) continue;
      for (int grown = 1; grown;) { /* until all that the blocks store lies in the boxes, whose blocks they are */
        int64_t lo1[4], hi1[4];
        stores = grown = 0;
        for (uint32_t j = 1; j < s->n_ops; j++) {
          if (s->ops[j].code != MG_OP_STORE) continue;
          uint32_t t = o->out[stores++].id;
          mg_box b = mgi_block_cover(s, &s->ops[j].map, &g->tensors[t].shape, lo, hi);
          mgi_box_join(&box[t], &b, g->tensors[t].shape.rank);
        }
        mgi_block_range(g, o, box, lo1, hi1);
        for (int a = 1; a <= 3; a++) {
          if (lo1[a] < lo[a]) lo[a] = lo1[a], grown = 1;
          if (hi1[a] > hi[a]) hi[a] = hi1[a], grown = 1;
        }
      }
      for (uint32_t j = 1; j < s->n_ops; j++) {
        uint32_t t = s->ops[j].in[0].id;
        if (s->ops[j].code != MG_OP_LOAD) continue;
        mg_box b = mgi_block_cover(s, &s->ops[j].map, &g->tensors[t].shape, lo, hi);
        mgi_box_join(&box[t], &b, g->tensors[t].shape.rank);
      }
      mgi_block_cost(s, &elements, &work);
      out->work += work * (double)(hi[1] - lo[1]) * (double)(hi[2] - lo[2]) * (double)(hi[3] - lo[3]) *
                   (mgi_merged_axes(s) ? 2 : 1);
      for (int j = 0; j < o->n_in; j++) if (!last[o->in[j].id]) last[o->in[j].id] = k;
      continue;
    }
    const mg_shape *z = &g->tensors[o->out[0].id].shape;
    if (mgi_box_empty(&box[o->out[0].id], z->rank)) continue;
    double n = (double)mg_box_elements(&box[o->out[0].id], z->rank);
    for (int j = 0; j < o->n_in; j++) {
      const mg_shape *s = &g->tensors[o->in[j].id].shape;
      mg_box b = mgi_need(g, o, j, &box[o->out[0].id]);
      mgi_box_join(&box[o->in[j].id], &b, s->rank);
      if (!last[o->in[j].id]) last[o->in[j].id] = k;
      if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL)
        out->work += j < o->n_in / 2 ? n * (double)s->dim[s->rank - 1] : 0;
      else out->work += 4 * (double)mg_box_elements(&b, s->rank);
    }
  }
  double held = 0;
  for (uint32_t k = 0; k < n_wanted; k++) last[wanted[k].id] = g->n_ops;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    double own = 0, unused = 0;
    for (int j = 0; j < o->n_out; j++)
      held += (double)mg_box_elements(&box[o->out[j].id], g->tensors[o->out[j].id].shape.rank);
    if (o->code == MG_OP_GRAPH && o->n_out && !mgi_all_given(o, given) &&
        !mgi_box_empty(&box[o->out[0].id], g->tensors[o->out[0].id].shape.rank))
      mgi_block_cost(o->sub, &own, &unused);
    if (held + own > out->elements) out->elements = held + own;
    for (uint32_t t = 1; t < g->n_tensors; t++)
      if (last[t] == k && g->tensors[t].op) held -= (double)mg_box_elements(&box[t], g->tensors[t].shape.rank);
  }
  free(last);
  return MG_OK;
}

/* Runs all blocks (or threads) of a graph-defined operator of E->g, or those that its results' boxes need. */
MGI_FN mg_status mgi_eval_graph(mgi_eval *E, const mg_op_node *owner) {
  const mg_graph *g = owner->sub;
  int64_t lo[4] = {0}, hi[4] = {0};
  if (E->box && !mgi_block_range(E->g, owner, E->box, lo, hi)) return MG_OK;
  uint32_t index = (uint32_t)(owner - E->g->ops), merged = 0;
  mg_status s = MG_OK;
  for (int k = 0; k < owner->n_out && s == MG_OK; k++) s = mgi_val(E, owner->out[k]);
  if (s != MG_OK) return s;
  if (!E->sub[index]) E->sub[index] = mgi_eval_new(g, E->d, E, E->e);
  mgi_eval *S = E->sub[index];
  if (!S) return mg_fail(E->e, MG_NO_MEMORY, "mg_eval", "no memory for a lower graph");
  merged = mgi_merged_axes(g);
  int64_t n[4] = {0, 1, 1, 1}, m[4] = {0, 1, 1, 1}; /* groups, and blocks of a group, by axis */
  for (int a = 1; a <= 3; a++)
    *((merged >> a & 1) ? &m[a] : &n[a]) = E->box && !(merged >> a & 1) ? hi[a] - lo[a] : g->axes[a].extent;
  for (int64_t group = 0; group < n[1] * n[2] * n[3] && s == MG_OK; group++) {
    S->at[1] = lo[1] + group % n[1], S->at[2] = lo[2] + group / n[1] % n[2], S->at[3] = lo[3] + group / n[1] / n[2];
    if (merged) {
      for (uint32_t k = 1; k < g->n_ops && s == MG_OK; k++)
        if (g->ops[k].code == MG_OP_ACCUM && mgi_grid_part(&g->ops[k].map)) s = mgi_accum_reset(S, &g->ops[k]);
      S->pass = 1;
      for (int64_t b = 0; b < m[1] * m[2] * m[3] && s == MG_OK; b++) {
        int64_t at[4] = {0, b % m[1], b / m[1] % m[2], b / m[1] / m[2]};
        for (int a = 1; a <= 3; a++) if (merged >> a & 1) S->at[a] = at[a];
        s = mgi_eval_range(S, 1, g->n_ops, 0);
      }
      for (int a = 1; a <= 3; a++) if (merged >> a & 1) S->at[a] = 0;
      S->pass = 2;
    }
    if (s == MG_OK) s = mgi_eval_range(S, 1, g->n_ops, 0);
    S->pass = 0;
  }
  if (!E->up) mgi_eval_free(S), E->sub[index] = NULL; /* a kernel runs once */
  return s;
}

/* The boxes of the tensors that are given, as if they had been computed. */
MGI_FN mg_status mgi_eval_given(mgi_eval *E) {
  for (uint32_t t = 1; E->given && E->box && t < E->g->n_tensors; t++) {
    const mg_shape *s = &E->g->tensors[t].shape;
    if (!E->given[t] || mgi_box_empty(&E->box[t], s->rank)) continue;
    mg_tensor id;
    id.id = t;
    mg_status st = mgi_val(E, id);
    if (st != MG_OK) return st;
    mg_view from;
    memset(&from, 0, sizeof from);
    from.shape = *s;
    mgi_dense(&from);
    from.data = (char *)(uintptr_t)E->given[t] +
                (size_t)mgi_offset(&from, E->box[t].lo, s->rank) * mgi_eval_bytes(E, t);
    from.shape = E->val[t].shape;
    mgi_copy(mgi_eval_bytes(E, t), &E->val[t], &from);
  }
  return MG_OK;
}
MGI_FN int mgi_is_given(const mgi_eval *E, const mg_op_node *o) {
  int all = E->given != NULL && o->n_out > 0;
  for (int j = 0; all && j < o->n_out; j++) all = E->given[o->out[j].id] != NULL;
  return all;
}

mg_status mg_eval_part(const mg_graph *g, const mg_domain *d, const mg_part *p, const void *const *in, void *const *out,
                       mg_error *e) {
  if (!g || g->up) return mg_fail(e, MG_BAD_INPUT, "mg_eval", "call it on a program");
  mg_error local;
  mgi_eval *E = mgi_eval_new(g, d, NULL, e ? e : &local);
  if (E) E->last = (uint32_t *)calloc(g->n_tensors, sizeof *E->last);
  if (!E || !E->last) {
    mgi_eval_free(E);
    return mg_fail(e, MG_NO_MEMORY, "mg_eval", "no memory for the evaluator");
  }
  E->box = p ? p->box : NULL;
  E->given = p ? p->given : NULL;
  const uint32_t value = p ? p->value : 0, n_out = value ? 1 : g->n_out;
  for (uint32_t k = 0; k < g->n_in + n_out; k++) {
    uint32_t t = k < g->n_in ? g->in[k].id : value ? value : g->out[k - g->n_in].id;
    mg_view *v = &E->val[t];
    v->data = k < g->n_in ? (void *)(uintptr_t)in[k] : out[k - g->n_in];
    v->shape = g->tensors[t].shape;
    for (int j = 0; E->box && j < v->shape.rank; j++) v->shape.dim[j] = E->box[t].hi[j] - E->box[t].lo[j];
    mgi_dense(v);
  }
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (int j = 0; j < g->ops[k].n_in; j++) E->last[g->ops[k].in[j].id] = k;
  mg_status s = mgi_eval_given(E);
  if (s == MG_OK) s = mgi_eval_range(E, 1, g->n_ops, 0);
  if (s != MG_OK && e && e->status == MG_OK) mg_fail(e, s, "mg_eval", "%s", mg_status_text(s));
  mgi_eval_free(E);
  return s;
}

mg_status mg_eval(const mg_graph *g, const mg_domain *d, const void *const *in, void *const *out, mg_error *e) {
  return mg_eval_part(g, d, NULL, in, out, e);
}

/* -------------------------------------------------------------------------------------------- >>resize
   Dimension classes by union-find over the dimensions of all tensors at all levels; a chunk's dimension is of the class
   that it was cut from.  Resizing rebuilds the program through the builder, so that every check runs again. */


/* extent: by root, of its dimensions of kernel-level tensors, 0: all of them are 1; stacked: blocks' results side by
   side. */
typedef struct mgi_classer {
  uint32_t *uf;
  int64_t *extent;
  uint8_t *fixed, *stacked;
  mgi_level *level;
  uint32_t n_levels;
} mgi_classer;

MGI_FN uint32_t mgi_node(const mgi_classer *C, const mg_graph *g, mg_tensor t, int d) {
  uint32_t k = 0;
  while (C->level[k].g != g) k++;
  return C->level[k].base + t.id * MG_MAX_RANK + (uint32_t)d;
}
/* Joins two nodes, unless dimensions of kernel-level tensors would share a class that have not one extent: tiles of as
   many rows may be cut from dimensions of 4 and of 12. */
MGI_FN void mgi_class_join(mgi_classer *C, uint32_t x, uint32_t y) {
  const int64_t a = C->extent[mgi_uf_find(C->uf, x)], b = C->extent[mgi_uf_find(C->uf, y)];
  if (a && b && a != b) return;
  mgi_uf_join(C->uf, x, y);
  C->extent[mgi_uf_find(C->uf, x)] = a ? a : b;
}
/* The same, and not if one of the two has extent 1 and the other has not (a broadcast). */
MGI_FN void mgi_join_dims(mgi_classer *C, const mg_graph *ga, mg_tensor a, int da, const mg_graph *gb, mg_tensor b,
                          int db) {
  int64_t x = ga->tensors[a.id].shape.dim[da], y = gb->tensors[b.id].shape.dim[db];
  if (ga == gb && (x == 1) != (y == 1)) return;
  mgi_class_join(C, mgi_node(C, ga, a, da), mgi_node(C, gb, b, db));
}
MGI_FN void mgi_fix_from(mgi_classer *C, const mg_graph *g, mg_tensor t, int first) {
  for (int d = first; d < g->tensors[t.id].shape.rank; d++) C->fixed[mgi_node(C, g, t, d)] = 1;
}

/* How many leading dimensions a reshape passes through. */
MGI_FN int mgi_reshape_kept(const mg_shape *in, const mg_shape *out) {
  int d = 0;
  while (d < in->rank && d < out->rank && in->dim[d] == out->dim[d]) d++;
  return d;
}

/* run[d]: the dimension of `out` that dimension d of `in` is, or -1: dimensions that it passes through, and those that
   stand alone where the products of the extents before them are alike. */
MGI_FN void mgi_reshape_runs(const mg_shape *in, const mg_shape *out, int8_t *run) {
  int i = mgi_reshape_kept(in, out), j = i;
  for (int d = 0; d < in->rank; d++) run[d] = (int8_t)(d < i ? d : -1);
  while (i < in->rank && j < out->rank) {
    if (in->dim[i] == 1) { i++; continue; }
    if (out->dim[j] == 1) { j++; continue; }
    const int from = i, to = j;
    int64_t x = in->dim[i++], y = out->dim[j++];
    while (x != y) {
      if (x < y && i < in->rank) x *= in->dim[i++];
      else if (y < x && j < out->rank) y *= out->dim[j++];
      else return; /* not reached: they have the same number of elements */
    }
    if (i == from + 1 && j == to + 1) run[from] = (int8_t)to;
  }
}

void mg_op_runs(mg_opcode op, const mg_attr *A, const mg_shape *in, const mg_shape *out,
                int8_t run[MG_MAX_IN][MG_MAX_RANK]) {
  const mg_op_info *row = mg_op_row(op);
  for (int k = 0; k < row->n_in; k++)
    for (int d = 0; d < MG_MAX_RANK; d++) run[k][d] = -1;
  for (int k = 0; k < row->n_in && row->parallel != MG_NOWHERE; k++) {
    const int rank = in[k].rank, right = 2 * k >= row->n_in;
    if (row->parallel == MG_GROUPS) { mgi_reshape_runs(&in[k], out, run[k]); continue; }
    for (int d = 0; d < rank; d++) {
      if (row->parallel == MG_EACH) run[k][d] = (int8_t)(out->rank - rank + d);
      if (row->parallel == MG_OTHERS) run[k][d] = (int8_t)(d != A->dim ? d : -1);
      if (row->parallel == MG_MOVED) run[k][A->perm[d]] = (int8_t)d;
      if (row->parallel == MG_PICKED) run[k][d] = (int8_t)(k ? d : d ? out->rank - rank + d : -1);
      if (row->parallel == MG_PRODUCTS) run[k][d] = (int8_t)(d == rank - (right ? 2 : 1) ? -1 : out->rank - rank + d);
    }
  }
}

MGI_FN void mgi_class_op(mgi_classer *C, const mg_graph *g, const mg_op_node *o) {
  const mg_op_info *row = &mgi_rows[o->code];
  mg_tensor out = o->n_out ? o->out[0] : o->in[0];
  int r = g->tensors[out.id].shape.rank;
#define MGI_RANK(t) (g->tensors[(t).id].shape.rank)
  if (row->elementwise) {
    for (int k = 0; k < o->n_in; k++)
      for (int d = 1; d <= MGI_RANK(o->in[k]); d++)
        mgi_join_dims(C, g, o->in[k], MGI_RANK(o->in[k]) - d, g, out, r - d);
    return;
  }
  switch (o->code) {
    case MG_OP_LOAD:
      for (int d = 0; d < r; d++) {
        int apart = 0; /* taken apart again: the piece has an extent of its own */
        for (uint32_t a = 1; a < g->n_axes; a++)
          apart |= o->map.to[a] == d && C->stacked[mgi_node(C, g->up, o->in[0], d)];
        if (!apart) mgi_class_join(C, mgi_node(C, g, out, d), mgi_node(C, g->up, o->in[0], d));
      }
      return;
    case MG_OP_STORE: {
      const mg_op_node *owner = &g->up->ops[g->up_op];
      const int index = mg_ops_before(g, (uint32_t)(o - g->ops), MG_OP_STORE);
      for (int d = 0; d < r; d++) {
        /* blocks side by side along a dimension that no load cut: its extent is the count times the block's */
        int stacked = 0;
        for (int a = 1; a <= 3; a++) stacked |= o->map.to[a] == d && g->tensors[out.id].shape.dim[d] == 1;
        const int64_t own = C->extent[mgi_uf_find(C->uf, mgi_node(C, g, out, d))];
        stacked |= own && own != g->up->tensors[owner->out[index].id].shape.dim[d];
        if (!stacked) mgi_class_join(C, mgi_node(C, g, out, d), mgi_node(C, g->up, owner->out[index], d));
        C->stacked[mgi_node(C, g->up, owner->out[index], d)] = (uint8_t)stacked;
      }
      return;
    }
    case MG_OP_ACCUM: case MG_OP_SUM: case MG_OP_MAX: case MG_OP_ARGMAX:
      for (int d = 0; d < r; d++) mgi_join_dims(C, g, o->in[0], d, g, out, d);
      return;
    case MG_OP_GATHER: {
      const int first = MGI_RANK(o->in[1]);
      for (int d = 0; d < r; d++) {
        const int row = d >= first;
        mgi_class_join(C, mgi_node(C, g, o->in[!row], row ? d - first + 1 : d), mgi_node(C, g, out, d));
      }
      return;
    }
    case MG_OP_TRANSPOSE:
      for (int d = 0; d < r; d++) mgi_join_dims(C, g, o->in[0], o->attr.perm[d], g, out, d);
      return;
    case MG_OP_MATMUL: case MG_OP_CONCAT_MATMUL: {
      int n = o->code == MG_OP_MATMUL ? 1 : 2;
      for (int k = 0; k < n; k++) {
        mg_tensor a = o->in[k], b = o->in[k + n];
        int ra = MGI_RANK(a), rb = MGI_RANK(b);
        mgi_class_join(C, mgi_node(C, g, a, ra - 1), mgi_node(C, g, b, rb - 2));
        mgi_class_join(C, mgi_node(C, g, a, ra - 2), mgi_node(C, g, out, r - 2));
        mgi_class_join(C, mgi_node(C, g, b, rb - 1), mgi_node(C, g, out, r - 1));
        for (int d = 3; d <= ra; d++) mgi_join_dims(C, g, a, ra - d, g, out, r - d);
        for (int d = 3; d <= rb; d++) mgi_join_dims(C, g, b, rb - d, g, out, r - d);
      }
      return;
    }
    case MG_OP_GRAPH: return;
    default: { /* moves: extents stay free where dimensions pass through, or if the shapes are equal and nothing but a
                  dimension is an attribute */
      const mg_shape *to = &g->tensors[out.id].shape;
      int same = row->attr == MG_ATTR_NONE || row->attr == MG_ATTR_DIM;
      for (int k = 0; k < o->n_in; k++) same &= !memcmp(&g->tensors[o->in[k].id].shape, to, sizeof *to);
      for (int k = 0; k < o->n_in; k++) {
        const mg_tensor x = o->in[k];
        if (mg_op_along(o->code)) {
          for (int d = 0; d < r; d++)
            if (d != o->attr.dim) mgi_class_join(C, mgi_node(C, g, x, d), mgi_node(C, g, out, d));
            else C->fixed[mgi_node(C, g, x, d)] = C->fixed[mgi_node(C, g, out, d)] = 1;
          continue;
        }
        const int kept = same ? r : o->code == MG_OP_RESHAPE ? mgi_reshape_kept(&g->tensors[x.id].shape, to) : 0;
        for (int d = 0; d < kept; d++) mgi_class_join(C, mgi_node(C, g, x, d), mgi_node(C, g, out, d));
        mgi_fix_from(C, g, x, kept), mgi_fix_from(C, g, out, kept);
      }
    }
  }
#undef MGI_RANK
}

/* Lists g and the graphs below it; with level NULL it only counts. */
MGI_FN void mgi_levels(const mg_graph *g, mgi_level *level, uint32_t *n, uint32_t *nodes) {
  if (level) level[*n].g = g, level[*n].base = *nodes;
  ++*n;
  *nodes += g->n_tensors * MG_MAX_RANK;
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub) mgi_levels(g->ops[k].sub, level, n, nodes);
}

mg_status mg_classes_of(const mg_graph *g, mg_classes *out, mg_error *e) {
  mgi_classer C;
  uint32_t n = 0, nodes = 0, levels = 0;
  memset(out, 0, sizeof *out);
  memset(&C, 0, sizeof C);
  mgi_levels(g, NULL, &levels, &nodes);
  C.level = (mgi_level *)malloc(levels * sizeof *C.level);
  C.uf = (uint32_t *)malloc(nodes * sizeof *C.uf);
  C.extent = (int64_t *)calloc(nodes, sizeof *C.extent);
  C.fixed = (uint8_t *)calloc(nodes, 1);
  C.stacked = (uint8_t *)calloc(nodes, 1);
  out->of = (int32_t *)malloc(g->n_tensors * MG_MAX_RANK * sizeof *out->of);
  out->extent = (int64_t *)malloc(g->n_tensors * MG_MAX_RANK * sizeof *out->extent);
  out->fixed = (uint8_t *)calloc(g->n_tensors * MG_MAX_RANK, 1);
  int32_t *number = (int32_t *)malloc(nodes * sizeof *number);
  mg_status s = MG_OK;
  if (!C.level || !C.uf || !C.extent || !C.fixed || !C.stacked || !out->of || !out->extent || !out->fixed || !number)
    s = mg_fail(e, MG_NO_MEMORY, "mg_classes_of", "no memory for the classes");
  else {
    nodes = 0;
    mgi_levels(g, C.level, &n, &nodes);
    C.n_levels = n;
    for (uint32_t k = 0; k < nodes; k++) C.uf[k] = k, number[k] = -1;
    for (uint32_t t = 1; t < g->n_tensors; t++) /* the kernel graph's nodes come first */
      for (int d = 0; d < g->tensors[t].shape.rank; d++)
        if (g->tensors[t].shape.dim[d] != 1) C.extent[t * MG_MAX_RANK + (uint32_t)d] = g->tensors[t].shape.dim[d];
    for (uint32_t l = 0; l < n; l++)
      for (uint32_t k = 1; k < C.level[l].g->n_ops; k++) mgi_class_op(&C, C.level[l].g, &C.level[l].g->ops[k]);
    for (uint32_t k = 0; k < nodes; k++)
      if (C.fixed[k]) C.fixed[mgi_uf_find(C.uf, k)] = 1;
    for (uint32_t t = 0; t < g->n_tensors; t++)
      for (int d = 0; d < MG_MAX_RANK; d++) {
        int32_t *of = &out->of[t * MG_MAX_RANK + (uint32_t)d];
        *of = -1;
        if (!t || d >= g->tensors[t].shape.rank || g->tensors[t].shape.dim[d] == 1) continue;
        uint32_t root = mgi_uf_find(C.uf, t * MG_MAX_RANK + (uint32_t)d);
        if (number[root] < 0) {
          number[root] = (int32_t)out->n;
          out->extent[out->n] = g->tensors[t].shape.dim[d];
          out->fixed[out->n++] = C.fixed[root];
        }
        *of = number[root];
      }
  }
  free(number), free(C.level), free(C.uf), free(C.extent), free(C.fixed), free(C.stacked);
  if (s != MG_OK) mg_classes_free(out);
  return s;
}

void mg_classes_free(mg_classes *c) {
  free(c->of), free(c->extent), free(c->fixed);
  memset(c, 0, sizeof *c);
}

MGI_FN mg_axis mgi_axis(uint32_t id) {
  mg_axis a;
  a.id = id;
  return a;
}
/* Load or store `op` of kernel `kernel`, the out-th of its stores, is of tensor `to` instead, by `map`; `box` is what
   the block has of what it loaded, or hands to what it stores.  axis: what the kernel's grid axes are now. */
typedef struct mgi_fold {
  uint32_t kernel, op;
  mg_tensor to;
  int out;
  mg_map map;
  mg_shape box, parts;           /* what the block has in its place; if it is turned, as what by `perm` before */
  int turned;
  int32_t perm[MG_MAX_RANK];
  /* split, if any: a grid axis that becomes two, `outer` blocks of it and the rest of `into`, inside */
  uint32_t axis[4], split, into;
  int64_t outer;
} mgi_fold;

/* Other extents of classes of an index: axes that cut class c get chunks[c], if that is not NULL; those that count a
   symbol's chunks count them in value[symbol], if that is not NULL.  The copy has no symbol that is fixed; least: of
   the others, or NULL.  keep: NULL, or by kernel-level operator whether it is copied.  outs: NULL, or of each such
   kernel which outputs are, a bit each, without its plan where some are not; lines: what they take of the block graph.
   fold: NULL, or what is loaded or stored elsewhere. */
typedef struct mgi_family {
  const mg_parallel *p;
  int which;
  const int64_t *extent, *chunks, *value, *least;
  const uint8_t *fixed, *keep, *outs, *lines;
  const mgi_fold *fold;
} mgi_family;
/* Marks operator `op` of a block graph, and what it is made of. */
MGI_FN void mgi_lines_mark(const mg_graph *s, uint32_t op, uint8_t *lines) {
  if (lines[op]) return;
  lines[op] = 1;
  for (int k = 0; k < s->ops[op].n_in && s->ops[op].code != MG_OP_LOAD; k++)
    mgi_lines_mark(s, s->tensors[s->ops[op].in[k].id].op, lines);
}
/* What the outputs `outs` of the block graph s are made of, by operator; NULL: no memory. */
MGI_FN uint8_t *mgi_lines_of(const mg_graph *s, uint32_t outs) {
  uint8_t *lines = (uint8_t *)calloc(s->n_ops, 1);
  for (uint32_t k = 1, j = 0; k < s->n_ops && lines; k++)
    if (s->ops[k].code == MG_OP_STORE && (outs >> j++ & 1)) mgi_lines_mark(s, k, lines);
  return lines;
}
int mg_piece_needs(const mg_graph *g, mg_tensor t, uint8_t need[MG_MAX_IN]) {
  const mg_op_node *o = &g->ops[g->tensors[t.id].op];
  int j = 0;
  while (j < o->n_out - 1 && o->out[j].id != t.id) j++;
  uint8_t *lines = o->sub && o->n_out > 1 ? mgi_lines_of(o->sub, 1u << j) : NULL;
  for (int k = 0; k < o->n_in; k++) need[k] = !lines; /* without memory: of all */
  for (uint32_t q = 1; lines && q < o->sub->n_ops; q++)
    for (int k = 0; k < o->n_in; k++)
      need[k] |= lines[q] && o->sub->ops[q].code == MG_OP_LOAD && o->sub->ops[q].in[0].id == o->in[k].id;
  free(lines);
  return j;
}
/* What symbol s, from 1 on, is in the copy; 0: fixed, or none. */
MGI_FN uint32_t mgi_family_symbol(const mgi_family *F, uint32_t s) {
  uint32_t now = s;
  if (!s || !F || !F->fixed) return s;
  for (uint32_t k = 0; k < s; k++) now -= F->fixed[k] != 0;
  return F->fixed[s - 1] ? 0 : now;
}
MGI_FN int64_t mgi_family_count(const mgi_family *F, const mg_graph *g, uint32_t axis, int64_t otherwise);

mg_tensor mg_reshape_to(mg_graph *g, mg_tensor a, const mg_shape *shape) {
  const mg_shape *has = &mg_tensor_of(g, a)->shape;
  int same = has->rank == shape->rank;
  for (int d = 0; d < shape->rank && same; d++) same = has->dim[d] == shape->dim[d];
  return same ? a : mg_reshape(g, a, shape->rank, shape->dim);
}
/* What the block had in the place of t, or stores in its place. */
MGI_FN mg_tensor mgi_fold_box(mg_graph *to, const mgi_fold *f, mg_tensor t) {
  if (!f->turned) return mg_reshape_to(to, t, &f->box);
  return mg_reshape_to(to, mg_transpose(to, mg_reshape_to(to, t, &f->parts), f->perm), &f->box);
}
/* A slice of a dimension of `was` elements that has `now`: the same part of it. */
MGI_FN void mgi_slice_resize(mg_graph *to, mg_attr *A, int64_t was, int64_t now) {
  const int64_t common = mg_gcd(was, now), by = was / common;
  if (A->from % by || A->n % by)
    mgi_err(to, MG_BAD_INPUT, "mg_resize", "%lld of %lld elements from %lld on are no whole part of %lld",
            (long long)A->n, (long long)was, (long long)A->from, (long long)now);
  A->from = A->from / by * (now / common), A->n = A->n / by * (now / common);
}
/* Rebuilds the ops of `from` in `to`; map[t] is the new handle of tensor t; `up` maps those of the graph above.
   flat: thread graphs are inlined, which mgi_flat_threads must have allowed.  F: NULL, or what counts follow
   besides. */
MGI_FN void mgi_rebuild(mg_graph *to, const mg_graph *from, mg_tensor *map, const mg_tensor *up, const int64_t *counts,
                        int *kernel, int flat, const mgi_family *F) {
  uint32_t scope = 0, axis[MG_MAX_AXES + 1] = {0, 1, 2, 3};
  const mgi_fold *fold = F ? F->fold : NULL; /* where this graph is the kernel, or the program */
  if (fold && from->level != MG_KERNEL && (from->level != MG_BLOCK || from->up_op != fold->kernel)) fold = NULL;
  if (fold && from->level == MG_BLOCK) memcpy(axis, fold->axis, sizeof fold->axis);
  for (uint32_t k = 1; k <= from->n_ops && to->root->err.status == MG_OK; k++) {
    if (F && F->lines && from->level == MG_BLOCK && k < from->n_ops && !F->lines[k]) continue;
    uint32_t want = k < from->n_ops ? from->ops[k].scope : 0;
    while (!mgi_encloses(from, scope, want)) scope = from->axes[scope].parent, mg_loop_end(to);
    while (scope != want) {
      uint32_t s = want;
      while (from->axes[s].parent != scope) s = from->axes[s].parent;
      axis[s] = mg_loop_begin(to, from->axes[s].name,
                              mgi_family_count(F, from, s, counts ? counts[s] : from->axes[s].extent))
                    .id;
      const uint32_t counted = mgi_family_symbol(F, from->axes[s].symbol);
      if (counted) mg_symbol_axis(to, mgi_axis(axis[s]), counted);
      scope = s;
    }
    if (k == from->n_ops) break;
    if (F && F->keep && from->level == MG_KERNEL && !F->keep[k]) continue;
    const mg_op_node *o = &from->ops[k];
    mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT] = {{0}};
    const uint32_t all = (1u << o->n_out) - 1,
                   outs = F && F->outs && from->level == MG_KERNEL && o->sub ? F->outs[k] & all : all;
    mg_map m = mg_map_none();
    for (uint32_t a = 1; a < from->n_axes; a++)
      if (o->map.to[a] != MG_MAP_NONE) m.to[axis[a]] = o->map.to[a];
    if (fold && fold->split && from->level == MG_BLOCK) m.to[axis[fold->into]] = o->map.to[fold->split];
    for (int j = 0; j < o->n_in; j++) in[j] = o->code == MG_OP_LOAD ? up[o->in[j].id] : map[o->in[j].id];
    if (fold && from->level == MG_BLOCK && k == fold->op) {
      if (o->code == MG_OP_LOAD) in[0] = mg_load(to, up[fold->to.id], fold->map);
      const mg_tensor box = mgi_fold_box(to, fold, in[0]);
      if (o->code == MG_OP_STORE) mg_store(to, box, fold->map);
      else map[o->out[0].id] = box;
      /* what the plan says is of the load */
      if (o->code == MG_OP_LOAD) mg_named(to, in[0], from->tensors[o->out[0].id].name);
      continue;
    }
    switch (o->code) {
      case MG_OP_LOAD: out[0] = mg_load(to, in[0], m); break;
      case MG_OP_ACCUM: out[0] = mg_accum(to, in[0], m); break;
      case MG_OP_STORE: mg_store(to, in[0], m); break;
      case MG_OP_GRAPH: {
        const mg_graph *s = o->sub;
        const int64_t *c = counts, *mine = NULL;
        const int folded = fold && from->level == MG_KERNEL && k == fold->kernel;
        int64_t grid[3];
        if (from->level == MG_BLOCK && flat) {
          mg_tensor *lower = (mg_tensor *)calloc(s->n_tensors, sizeof *lower);
          if (!lower) { mgi_err(to, MG_NO_MEMORY, "mg_inline_threads", "no memory"); return; }
          for (uint32_t j = 1, n = 0; j < s->n_ops; j++) {
            const mg_op_node *l = &s->ops[j];
            mg_tensor a[MG_MAX_IN];
            for (int i = 0; i < l->n_in; i++) a[i] = l->code == MG_OP_LOAD ? map[l->in[i].id] : lower[l->in[i].id];
            if (l->code == MG_OP_STORE) out[n++] = a[0];
            else lower[l->out[0].id] = l->code == MG_OP_LOAD ? a[0] : mg_apply(to, l->code, &l->attr, l->n_in, a);
          }
          free(lower);
          break;
        }
        if (from->level == MG_KERNEL) mine = c ? c + *kernel * (MG_MAX_AXES + 1) : NULL, ++*kernel;
        for (int a = 0; a < 3; a++) {
          const uint32_t now = folded ? fold->axis[a + 1] - 1 : (uint32_t)a;
          grid[now] = mgi_family_count(F, s, (uint32_t)a + 1, mine ? mine[a + 1] : s->axes[a + 1].extent);
        }
        if (folded && fold->split) {
          int64_t *const whole = &grid[fold->axis[fold->split] - 1];
          grid[fold->axis[fold->into] - 1] = *whole / fold->outer, *whole = fold->outer;
        }
        mg_graph *sub = mg_graph_begin(to, grid, s->threads ? s->threads : 1);
        for (uint32_t a = 1; a <= 3; a++) {
          const uint32_t counted = mgi_family_symbol(F, s->axes[a].symbol);
          if (counted) mg_symbol_axis(sub, mgi_axis(folded ? fold->axis[a] : a), counted);
        }
        mg_tensor *lower = (mg_tensor *)calloc(s->n_tensors, sizeof *lower);
        uint8_t *lines = outs != all ? mgi_lines_of(s, outs) : NULL;
        mgi_family some;
        if (lines) some = *F, some.lines = lines;
        if (sub && lower && (outs == all || lines))
          mgi_rebuild(sub, s, lower, map, mine, kernel, flat, lines ? &some : F);
        else if (sub) mgi_err(to, MG_NO_MEMORY, "mg_resize", "no memory");
        for (uint32_t j = 0; j < s->n_plan && sub && !lines; j++) mg_plan_set(sub, s->plan[j].key, s->plan[j].value);
        free(lower), free(lines);
        mg_graph_end(sub, out);
        break;
      }
      default: {
        mg_attr A = o->attr;
        if (o->code == MG_OP_RESHAPE) { /* what passes through has the operand's extents */
          const mg_shape *was = &from->tensors[o->in[0].id].shape;
          int8_t run[MG_MAX_RANK];
          mgi_reshape_runs(was, &o->attr.shape, run);
          for (int d = 0; d < was->rank; d++)
            if (run[d] >= 0) A.shape.dim[run[d]] = mg_tensor_of(to, in[0])->shape.dim[d];
        }
        /* a family's slices, and a block's, are as they are written */
        if (o->code == MG_OP_SLICE && from->level == MG_KERNEL && !(F && F->p))
          mgi_slice_resize(to, &A, from->tensors[o->in[0].id].shape.dim[A.dim],
                           mg_tensor_of(to, in[0])->shape.dim[A.dim]);
        out[0] = mg_apply(to, o->code, &A, o->n_in, in);
      }
    }
    for (int j = 0, made = 0; j < o->n_out; j++) {
      if (!(outs >> j & 1)) continue;
      const int moved = fold && from->level == MG_KERNEL && k == fold->kernel && j == fold->out;
      const uint32_t was = moved ? fold->to.id : o->out[j].id;
      const mg_tensor now = map[was] = out[made++];
      const mg_tensor_info *t = mg_tensor_of(to, now);
      if (t->name == NULL && now.id) to->tensors[now.id].inner = from->tensors[was].inner; /* inlined, two may be one */
      /* inlined, two may be one */
      if (from->tensors[was].name && !(t->name && flat)) mg_named(to, now, from->tensors[was].name);
    }
  }
}

int mg_has_threads(const mg_graph *g) {
  for (uint32_t k = 1; g && k < g->n_ops; k++)
    if (g->ops[k].sub && (g->level == MG_BLOCK || mg_has_threads(g->ops[k].sub))) return 1;
  return 0;
}

/* Whether the thread graph s may be inlined: where[t][a] is the dimension, counted from the last one, along which axis
   a cut tensor t, or -1. */
MGI_FN mg_status mgi_flat_threads(const mg_graph *s, mg_error *e) {
  int8_t (*where)[4] = (int8_t (*)[4])malloc(s->n_tensors * sizeof *where);
  const char *why = NULL, *at = "thread graph";
  if (!where) return mg_fail(e, MG_NO_MEMORY, "mg_inline_threads", "no memory");
  memset(where, -1, s->n_tensors * sizeof *where);
  if (s->n_axes > 4) why = "it has a loop";
  for (uint32_t k = 1; k < s->n_ops && !why; k++) {
    const mg_op_node *o = &s->ops[k];
    const mg_op_info *row = &mgi_rows[o->code];
    const mg_graph *g = o->code == MG_OP_LOAD ? s->up : s;
    at = o->code == MG_OP_LOAD ? "load" : o->code == MG_OP_STORE ? "store" : row->name;
    if (!row->elementwise && o->code != MG_OP_LOAD && o->code != MG_OP_STORE && o->code != MG_OP_SUM &&
        o->code != MG_OP_MAX)
      why = "it is neither elementwise, sum nor max";
    for (int a = 1; a < 4 && !why; a++) {
      int8_t d = -1;
      for (int j = 0; j < o->n_in && o->code != MG_OP_LOAD; j++)
        if (where[o->in[j].id][a] >= 0) d = where[o->in[j].id][a];
      if (o->code == MG_OP_LOAD || o->code == MG_OP_STORE) {
        int rank = g->tensors[o->in[0].id].shape.rank;
        int8_t m = o->map.to[a] >= 0 && s->axes[a].extent > 1 ? (int8_t)(rank - 1 - o->map.to[a]) : -1;
        if (o->code == MG_OP_LOAD) where[o->out[0].id][a] = m;
        else if (m != d) why = "it does not undo the cut that the loads made";
        continue;
      }
      for (int j = 0; j < o->n_in && d >= 0 && row->elementwise; j++) {
        const mg_shape *x = &s->tensors[o->in[j].id].shape;
        if (where[o->in[j].id][a] != d &&
            !(where[o->in[j].id][a] < 0 && (d >= x->rank || x->dim[x->rank - 1 - d] == 1)))
          why = "its operands are cut along different dimensions";
      }
      if (!row->elementwise && d >= 0 && d == s->tensors[o->in[0].id].shape.rank - 1 - o->attr.dim)
        why = "it reduces a dimension that the threads cut";
      where[o->out[0].id][a] = d;
    }
  }
  free(where);
  return why ? mg_fail(e, MG_UNSUPPORTED, at, "the thread graph cannot be inlined: %s", why) : MG_OK;
}

MGI_FN mg_status mgi_flat_all(const mg_graph *g, mg_error *e) {
  mg_status s = MG_OK;
  for (uint32_t k = 1; k < g->n_ops && s == MG_OK; k++)
    if (g->ops[k].sub) s = g->level == MG_BLOCK ? mgi_flat_threads(g->ops[k].sub, e) : mgi_flat_all(g->ops[k].sub, e);
  return s;
}

/* What symbol k of g, which no input has, is at where computed sizes are what inputs of `to` have; their other symbols
   are at v. */
MGI_FN int64_t mgi_symbol_from(const mg_graph *to, const mg_graph *g, uint32_t k, const int64_t *v) {
  int64_t at[MG_MAX_SYMBOLS], least = 1, most = (int64_t)1 << 40, value;
  for (uint32_t j = 0; j < g->n_in; j++)
    for (int d = 0; d < g->tensors[g->in[j].id].shape.rank; d++) {
      const uint32_t c = g->in_symbol[j][d];
      const int64_t want = mg_tensor_of(to, to->in[j])->shape.dim[d];
      if (c <= g->n_symbols || !mg_symbol_within(g, c - 1, k)) continue;
      mg_sizes *s = mgi_symbols_pool(g, 1);
      const mg_size a = s ? mgi_symbols_size(s, g->symbol[c - 1].name, NULL) : 0;
      memcpy(at, v, sizeof at);
      while (least < most) {
        at[k] = least + (most - least) / 2;
        if (mg_size_at(s, a, at, &value, NULL) != MG_OK || value >= want) most = at[k];
        else least = at[k] + 1;
      }
      mg_sizes_free(s);
      return least;
    }
  return g->symbol[k].most;
}
/* The symbols of g that F does not fix, in a graph of its inputs: each at most what its dimensions have there. */
MGI_FN void mgi_copy_symbols(mg_graph *to, const mg_graph *g, const mgi_family *F) {
  int64_t most[MG_MAX_SYMBOLS];
  uint8_t has[MG_MAX_SYMBOLS] = {0};
  const int64_t *now = F ? F->value : NULL;
  for (uint32_t s = 0; s < MG_MAX_SYMBOLS; s++) most[s] = s >= g->n_symbols ? 1 : now ? now[s] : g->symbol[s].most;
  for (uint32_t k = 0; k < g->n_in; k++)
    for (int d = 0; d < g->tensors[g->in[k].id].shape.rank; d++) {
      const uint32_t is = g->in_symbol[k][d];
      if (is) most[is - 1] = mg_tensor_of(to, to->in[k])->shape.dim[d], has[is - 1] = 1;
    }
  for (uint32_t s = 0; s < mg_n_sizes(g); s++) {
    const uint32_t is = mgi_family_symbol(F, s + 1);
    if (!is) continue;
    if (s < g->n_symbols) {
      if (!has[s] && !now) most[s] = mgi_symbol_from(to, g, s, most);
      const int64_t least = F && F->least ? F->least[s] : g->symbol[s].least;
      const uint32_t made = mg_symbol_new(to, g->symbol[s].name, least < most[s] ? least : most[s], most[s]);
      if (g->symbol[s].last < most[s] && !(F && F->least)) mg_symbol_last(to, made, g->symbol[s].last);
    } else mg_symbol_computed(to, g->symbol[s].name);
    for (uint32_t k = 0; k < g->n_in; k++)
      for (int d = 0; d < g->tensors[g->in[k].id].shape.rank; d++)
        if (g->in_symbol[k][d] == s + 1) mg_symbol_input(to, to->in[k], d, is);
  }
}
/* The names of the symbols that F fixes in a copy of g. */
MGI_FN void mgi_copy_fixed(mg_graph *to, const mg_graph *g, const mgi_family *F) {
  int n = 0;
  for (uint32_t k = 0; k < g->n_symbols && F && F->fixed; k++)
    if (F->fixed[k]) to->fixed[n++] = mgi_copy_string(to->root, g->symbol[k].name, strlen(g->symbol[k].name));
}
/* A copy, of other sizes or without thread graphs. */
MGI_FN mg_status mgi_copy_program(const mg_graph *g, const int64_t *extent, const int64_t *counts, int flat,
                                  const mgi_family *F, mg_graph **out, mg_error *e) {
  uint8_t all[MG_MAX_SYMBOLS];
  mg_classes C;
  int kernel = 0, apart = 0;
  *out = NULL;
  mg_status s = mg_classes_of(g, &C, e);
  if (s != MG_OK) return s;
  mg_config cfg = g->root->cfg;
  mg_graph *r = mg_program_new(g->name, &cfg);
  mg_tensor *map = (mg_tensor *)calloc(g->n_tensors, sizeof *map);
  if (!r || !map) s = mg_fail(e, MG_NO_MEMORY, flat ? "mg_inline_threads" : "mg_resize", "no memory for the copy");
  else {
    for (uint32_t k = 0; k < g->n_in; k++) {
      const mg_tensor_info *t = &g->tensors[g->in[k].id];
      int64_t dim[MG_MAX_RANK];
      for (int d = 0; d < t->shape.rank; d++) {
        int32_t c = F ? F->p->in[k][d] : C.of[g->in[k].id * MG_MAX_RANK + (uint32_t)d];
        dim[d] = c < 0 ? t->shape.dim[d] : F ? F->extent[c] : extent ? extent[c] : t->shape.dim[d];
      }
      map[g->in[k].id] = mg_input_like(r, t, dim);
      for (int d = 0; d < t->shape.rank; d++) apart |= g->in_symbol[k][d] && dim[d] != t->shape.dim[d];
    }
    mgi_family none;
    if (g->n_computed && apart && !(F && F->value)) { /* extents that computed sizes do not take together: no family */
      if (F) none = *F;
      else memset(&none, 0, sizeof none);
      memset(all, 1, sizeof all);
      none.fixed = all, F = &none;
    }
    mgi_copy_symbols(r, g, F);
    mgi_copy_fixed(r, g, F);
    mgi_rebuild(r, g, map, NULL, counts, &kernel, flat, F);
    for (uint32_t k = 0; k < g->n_out; k++) mg_output(r, map[g->out[k].id]);
    s = mg_check(r, e);
  }
  free(map);
  mg_classes_free(&C);
  if (s != MG_OK) { mg_graph_free(r); return s; }
  *out = r;
  return MG_OK;
}

/* See mg_piece_of. */
MGI_FN void mgi_piece_mark(const mg_graph *g, const uint8_t *given, mg_tensor t, uint8_t *keep, uint8_t *outs) {
  const uint32_t op = g->tensors[t.id].op;
  uint8_t need[MG_MAX_IN];
  if (given[t.id]) return;
  const uint32_t bit = outs ? 1u << mg_piece_needs(g, t, need) : 1;
  if (keep[op] && (!outs || (outs[op] & bit))) return;
  keep[op] = 1;
  if (outs) outs[op] |= (uint8_t)bit;
  for (int k = 0; k < g->ops[op].n_in; k++)
    if (!outs || need[k]) mgi_piece_mark(g, given, g->ops[op].in[k], keep, outs);
}
mg_status mg_piece_of(const mg_graph *g, int n_in, const mg_tensor *in, mg_tensor want, mg_graph **out, mg_error *e) {
  static const char where[] = "mg_piece_of";
  mg_config cfg = g->root->cfg;
  mg_graph *r = mg_program_new(g->name, &cfg);
  mg_tensor *map = (mg_tensor *)calloc(g->n_tensors, sizeof *map);
  uint8_t *given = (uint8_t *)calloc(g->n_tensors, 1), *keep = (uint8_t *)calloc(g->n_ops, 1),
          *outs = (uint8_t *)calloc(g->n_ops, 1);
  mg_status s = MG_OK;
  int kernel = 0;
  uint8_t fixed[MG_MAX_SYMBOLS];
  mgi_family F;
  memset(fixed, 1, sizeof fixed);
  memset(&F, 0, sizeof F), F.keep = keep, F.outs = outs, F.fixed = fixed;
  *out = NULL;
  if (!r || !map || !given || !keep || !outs) s = mg_fail(e, MG_NO_MEMORY, where, "no memory for the piece");
  else {
    int known = want.id && want.id < g->n_tensors;
    for (int k = 0; k < n_in && known; k++) known = in[k].id && in[k].id < g->n_tensors;
    if (!known) s = mg_fail(e, MG_BAD_INPUT, where, "expected tensors of '%.60s'", g->name);
    for (int k = 0; k < n_in && known; k++) {
      const mg_tensor_info *t = &g->tensors[in[k].id];
      given[in[k].id] = 1;
      map[in[k].id] = mg_input_like(r, t, NULL);
    }
    if (known) mgi_piece_mark(g, given, want, keep, outs);
    if (keep[0])
      s = mg_fail(e, MG_BAD_INPUT, where, "%.60s needs an input besides the piece's", g->tensors[want.id].name);
    if (s == MG_OK) mgi_rebuild(r, g, map, NULL, NULL, &kernel, 0, &F), mg_output(r, map[want.id]), s = mg_check(r, e);
  }
  free(map), free(given), free(keep), free(outs);
  if (s != MG_OK) { mg_graph_free(r); return s; }
  *out = r;
  return MG_OK;
}
void mg_insert(mg_graph *g, const mg_graph *piece, const mg_tensor *in, mg_tensor *out) {
  mg_tensor *map = (mg_tensor *)calloc(piece->n_tensors, sizeof *map);
  int kernel = 0;
  if (!map) {
    mgi_err(g, MG_NO_MEMORY, "mg_insert", "no memory for '%.60s'", piece->name);
    return;
  }
  for (uint32_t k = 0; k < piece->n_in; k++) map[piece->in[k].id] = in[k];
  mgi_rebuild(g, piece, map, NULL, NULL, &kernel, 0, NULL);
  for (uint32_t k = 0; k < piece->n_out; k++) out[k] = map[piece->out[k].id];
  free(map);
}
/* ---- picks and the rest */

int mg_has_picks(const mg_graph *g) {
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (mg_op_picks(g->ops[k].code)) return 1;
  return 0;
}
void mg_rest_free(mg_rest *r) {
  mg_graph_free(r->g[0]), mg_graph_free(r->g[1]);
  memset(r, 0, sizeof *r);
}
MGI_FN int mgi_input_of(const mg_graph *g, mg_tensor t) {
  for (uint32_t k = 0; k < g->n_in; k++)
    if (g->in[k].id == t.id) return (int)k;
  return -1;
}
/* What a pick takes: the input, the gather's pick (result[] has them by tensor, from 1) or the computed tensor. */
typedef struct mgi_picked { int kind, which; } mgi_picked;
enum { MGI_PICKED_INPUT, MGI_PICKED_PICK, MGI_PICKED_COMPUTED };
MGI_FN mgi_picked mgi_picked_of(const mg_graph *g, mg_tensor t, const int *result) {
  mgi_picked p = {MGI_PICKED_COMPUTED, (int)t.id};
  if (result[t.id]) p.kind = MGI_PICKED_PICK, p.which = result[t.id] - 1;
  else if (!g->tensors[t.id].op) p.kind = MGI_PICKED_INPUT, p.which = mgi_input_of(g, t);
  return p;
}
MGI_FN int mgi_pick_index(const mg_graph *g, const mg_op_node *o, const int *result) {
  if (o->code != MG_OP_GATHER) return 0;
  return result[o->in[1].id] ? -result[o->in[1].id] : mgi_input_of(g, o->in[1]);
}
/* 1 if operator `op` of graph `which` is pick p.  Computed operands of the second graph are taken to be the first's in
   order. */
MGI_FN int mgi_pick_same(const mg_rest *r, const mg_graph *const *g, int which, const mg_pick *p, uint32_t op,
                         const int *const *result) {
  const mg_op_node *x = &g[0]->ops[p->op[0]], *y = &g[which]->ops[op];
  if (x->code != y->code || x->attr.dim != y->attr.dim || p->index != mgi_pick_index(g[which], y, result[which]))
    return 0;
  const mgi_picked had = mgi_picked_of(g[0], p->of[0], result[0]),
                   is = mgi_picked_of(g[which], y->in[0], result[which]);
  if (had.kind != is.kind) return 0;
  if (is.kind != MGI_PICKED_COMPUTED || !which) return had.which == is.which;
  const mg_tensor_info *s = &g[0]->tensors[p->of[0].id], *t = &g[1]->tensors[y->in[0].id];
  if (p->op[1]) return p->of[1].id == y->in[0].id;
  for (int k = 0; k < r->n; k++) /* the same tensor is the same operand */
    if ((r->pick[k].of[0].id == p->of[0].id) != (r->pick[k].of[1].id == y->in[0].id) && r->pick[k].op[1]) return 0;
  return s->dtype == t->dtype && !memcmp(&s->shape, &t->shape, sizeof s->shape);
}
/* The picks of graph `which`, in its order. */
MGI_FN mg_status mgi_rest_picks(mg_rest *r, const mg_graph *const *g, int which, int *const *result, mg_error *e) {
  const mg_graph *h = g[which];
  for (uint32_t op = 1; op < h->n_ops; op++) {
    const mg_op_node *o = &h->ops[op];
    const char *name = h->tensors[o->out[0].id].name;
    int k = r->n;
    if (!mg_op_picks(o->code)) continue;
    for (int named = 1; named >= 0 && k == r->n; named--) /* of several that it may be, the one of its name */
      for (k = 0; k < r->n; k++) {
        const mg_pick *p = &r->pick[k];
        if (named && strcmp(name, g[0]->tensors[g[0]->ops[p->op[0]].out[0].id].name)) continue;
        if (mgi_pick_same(r, g, which, p, op, (const int *const *)result)) break;
      }
    if (k == r->n && which)
      return mg_fail(e, MG_UNSUPPORTED, "picks", "%s '%.60s' of the second is none that the first has",
                     mg_op_row(o->code)->name, name);
    if (k == MG_MAX_PICKS)
      return mg_fail(e, MG_UNSUPPORTED, "picks", "more than %d gathers and argmaxes", (int)MG_MAX_PICKS);
    mg_pick *p = &r->pick[k];
    if (k == r->n) r->n++, p->index = mgi_pick_index(h, o, result[0]), p->input = p->output = -1;
    if (!p->op[which]) p->op[which] = op, p->of[which] = o->in[0];
    result[which][o->out[0].id] = k + 1;
  }
  return MG_OK;
}
/* 1 if pick k's result may be undefined: what it picks of, or where, is computed. */
MGI_FN int mgi_pick_computed(const mg_rest *r, const mg_graph *g, int k, const int *result) {
  const mg_pick *p = &r->pick[k];
  const mgi_picked of = mgi_picked_of(g, p->of[0], result);
  if (of.kind == MGI_PICKED_COMPUTED || (of.kind == MGI_PICKED_PICK && mgi_pick_computed(r, g, of.which, result)))
    return 1;
  return p->index < 0 && mgi_pick_computed(r, g, -1 - p->index, result);
}
/* The rests' outputs, out[which][j] of n. */
typedef struct mgi_rest_outputs { int n; mg_tensor out[2][MG_MAX_OUT]; } mgi_rest_outputs;
MGI_FN mg_status mgi_rest_add(mgi_rest_outputs *w, mg_tensor a, mg_tensor b, int *at, mg_error *e) {
  for (*at = 0; *at < w->n; ++*at)
    if (w->out[0][*at].id == a.id && w->out[1][*at].id == b.id) return MG_OK;
  if (w->n == MG_MAX_OUT)
    return mg_fail(e, MG_UNSUPPORTED, "picks", "outputs, and what is picked of, are more than %d", (int)MG_MAX_OUT);
  w->out[0][w->n] = a, w->out[1][w->n++] = b;
  return MG_OK;
}
MGI_FN mg_status mgi_rest_wanted(mg_rest *r, const mg_graph *const *g, int graphs, int *const *result,
                                 mgi_rest_outputs *w, mg_error *e) {
  const int second = graphs - 1;
  mg_status s = MG_OK;
  for (uint32_t k = 0; k < g[0]->n_out && s == MG_OK; k++) {
    const mg_tensor a = g[0]->out[k], b = g[second]->out[k];
    const int index = g[0]->tensors[a.id].dtype == MG_I32, x = result[0][a.id], y = result[second][b.id];
    if (x && x == y) r->out[k] = -x;
    else if (index)
      s = mg_fail(e, MG_UNSUPPORTED, "picks",
                  "output '%.60s' is an argmax of one thing in the first and of another in the second",
                  g[0]->tensors[a.id].name);
    else s = mgi_rest_add(w, a, b, &r->out[k], e);
  }
  for (int k = 0; k < r->n && s == MG_OK; k++) {
    mg_pick *p = &r->pick[k];
    const int in_both = p->op[second] != 0,
              computed = mgi_picked_of(g[0], p->of[0], result[0]).kind == MGI_PICKED_COMPUTED;
    if (computed && in_both) s = mgi_rest_add(w, p->of[0], p->of[second], &p->output, e);
    if (g[0]->ops[p->op[0]].code == MG_OP_GATHER) r->computed |= mgi_pick_computed(r, g[0], k, result[0]);
  }
  return s;
}
/* A name that no tensor of g has but t, which may be none, and none of h, which may be NULL: `name`, or with more. */
MGI_FN const char *mgi_rest_name(const mg_graph *g, uint32_t t, const mg_graph *h, const char *name, char buf[65]) {
  snprintf(buf, 65, "%.60s", name);
  for (int k = 2; (mg_find(g, buf).id && mg_find(g, buf).id != t) || (h && mg_find(h, buf).id); k++)
    snprintf(buf, 65, "%.48s_%d", name, k);
  return buf;
}
/* Marks in keep[] the operators of g that its rest has; given[]: what ends there, an input or a gather's result.  Of
   these, what is read is marked in r: by a place that is not -1. */
MGI_FN void mgi_rest_mark(mg_rest *r, const mg_graph *g, int which, const int *result, const mgi_rest_outputs *w,
                          uint8_t *given, uint8_t *keep) {
  for (uint32_t t = 1; t < g->n_tensors; t++)
    given[t] = g->tensors[t].dtype != MG_I32 && (!g->tensors[t].op || result[t]);
  for (int j = 0; j < w->n; j++) mgi_piece_mark(g, given, w->out[which][j], keep, NULL);
  for (uint32_t t = 1; t < g->n_tensors; t++) {
    mg_tensor h;
    h.id = t;
    int reads = 0;
    for (int j = 0; j < w->n; j++) reads |= w->out[which][j].id == t;
    for (uint32_t k = 1; k < g->n_ops; k++)
      for (int j = 0; j < g->ops[k].n_in && keep[k]; j++) reads |= g->ops[k].in[j].id == t;
    if (!given[t] || !reads) continue;
    if (result[t]) r->pick[result[t] - 1].input = 0;
    else r->in[mgi_input_of(g, h)] = 0;
  }
}
MGI_FN mg_status mgi_rest_make(mg_rest *r, const mg_graph *const *g, int which, const int *result,
                               const uint8_t *symbols, const mgi_rest_outputs *w, mg_error *e) {
  const mg_graph *h = g[which];
  mg_config cfg = h->root->cfg;
  mg_graph *to = r->g[which] = mg_program_new(h->name, &cfg);
  mg_tensor *map = (mg_tensor *)calloc(h->n_tensors, sizeof *map), made[MG_MAX_PICKS];
  uint8_t *given = (uint8_t *)calloc(h->n_tensors, 1), *keep = (uint8_t *)calloc(h->n_ops, 1);
  mgi_family F;
  int kernel = 0;
  memset(&F, 0, sizeof F), F.keep = keep;
  mg_status s = to && map && given && keep ? MG_OK
                                           : mg_fail(e, MG_NO_MEMORY, "picks", "no memory for the rest of a program");
  if (s == MG_OK) mgi_rest_mark(r, h, which, result, w, given, keep);
  for (uint32_t k = 0; k < mg_n_sizes(h) && s == MG_OK; k++) {
    if (k < h->n_symbols)
      mg_symbol_last(to, mg_symbol_new(to, h->symbol[k].name, h->symbol[k].least, h->symbol[k].most),
                     h->symbol[k].last);
    else mg_symbol_computed(to, h->symbol[k].name);
  }
  for (uint32_t k = 0; k < h->n_in && s == MG_OK; k++) {
    const mg_tensor_info *t = &h->tensors[h->in[k].id];
    if (r->in[k] < 0) continue;
    r->in[k] = (int)to->n_in;
    const mg_tensor in = map[h->in[k].id] = mg_input_like(to, t, NULL);
    for (int d = 0; d < t->shape.rank; d++)
      if (h->in_symbol[k][d]) mg_symbol_input(to, in, d, h->in_symbol[k][d]);
  }
  for (int k = 0; k < r->n && s == MG_OK; k++) {
    const mg_op_node *o = &g[0]->ops[r->pick[k].op[0]];
    if (r->pick[k].input < 0) continue;
    const uint32_t own = r->pick[k].op[which] ? h->ops[r->pick[k].op[which]].out[0].id : 0;
    mg_tensor_info like = g[0]->tensors[o->out[0].id];
    char name[65];
    like.name = mgi_rest_name(h, own, NULL, own ? h->tensors[own].name : like.name, name);
    r->pick[k].input = (int)to->n_in;
    made[k] = mg_input_like(to, &like, NULL);
    for (int d = 0; d < like.shape.rank && symbols; d++) {
      const uint8_t is = symbols[o->out[0].id * MG_MAX_RANK + (uint32_t)d];
      if (is) mg_symbol_input(to, made[k], d, is);
    }
  }
  for (uint32_t t = 1; t < h->n_tensors && s == MG_OK; t++)
    if (result[t] && r->pick[result[t] - 1].input >= 0) map[t] = made[result[t] - 1];
  if (s == MG_OK) mgi_rebuild(to, h, map, NULL, NULL, &kernel, 0, &F);
  for (int j = 0; j < w->n && s == MG_OK; j++) {
    const mg_tensor t = map[w->out[which][j].id];
    /* an input, or one twice, is an output times one */
    const int had = given[w->out[which][j].id] || mg_is_output(to, t);
    mg_output(to, had ? mg_scale(to, t, 1, 1) : t);
  }
  if (s == MG_OK) s = mg_check(to, e);
  free(map), free(given), free(keep);
  return s;
}
/* A symbol stays one: where nothing that is read has it as a dimension, something else that has it stays too. */
MGI_FN void mgi_rest_sizes(mg_rest *r, const mg_graph *g, const uint8_t *symbols) {
  for (uint32_t is = 1; is <= mg_n_sizes(g); is++) {
    int input = -1, pick = -1, there = 0;
    for (uint32_t k = 0; k < g->n_in; k++)
      for (int d = 0; d < MG_MAX_RANK; d++) {
        if (g->in_symbol[k][d] != is || g->tensors[g->in[k].id].dtype == MG_I32) continue;
        input = (int)k, there |= r->in[k] >= 0;
      }
    for (int k = 0; k < r->n; k++) {
      const mg_op_node *o = &g->ops[r->pick[k].op[0]];
      for (int d = 0; d < MG_MAX_RANK && o->code == MG_OP_GATHER; d++)
        if (symbols[o->out[0].id * MG_MAX_RANK + (uint32_t)d] == is) pick = k, there |= r->pick[k].input >= 0;
    }
    if (!there && input >= 0) r->in[input] = 0;
    else if (!there && pick >= 0) r->pick[pick].input = 0;
  }
}
mg_status mg_rest_of(const mg_graph *a, const mg_graph *b, mg_rest *r, mg_error *e) {
  const mg_graph *const g[2] = {a, b ? b : a};
  const int graphs = b ? 2 : 1;
  int *result[2] = {NULL, NULL};
  uint8_t *symbols = NULL;
  mgi_rest_outputs w;
  mg_status s = MG_OK;
  memset(r, 0, sizeof *r), memset(&w, 0, sizeof w);
  for (int which = 0; which < graphs; which++) result[which] = (int *)calloc(g[which]->n_tensors, sizeof **result);
  if (!result[0] || (b && !result[1])) s = mg_fail(e, MG_NO_MEMORY, "picks", "no memory for the rest of a program");
  if (s == MG_OK && a->n_symbols) s = mg_symbols_of(a, &symbols, e);
  for (int which = 0; which < graphs && s == MG_OK; which++) s = mgi_rest_picks(r, g, which, result, e);
  if (s == MG_OK) s = mgi_rest_wanted(r, g, graphs, result, &w, e);
  for (int k = 0; k < MG_MAX_IN; k++) r->in[k] = -1;
  for (int which = 0; which < graphs && s == MG_OK && w.n; which++) { /* what either reads, both have */
    uint8_t *given = (uint8_t *)calloc(g[which]->n_tensors, 1), *keep = (uint8_t *)calloc(g[which]->n_ops, 1);
    if (given && keep) mgi_rest_mark(r, g[which], which, result[which], &w, given, keep);
    else s = mg_fail(e, MG_NO_MEMORY, "picks", "no memory for the rest of a program");
    free(given), free(keep);
  }
  if (s == MG_OK && symbols) mgi_rest_sizes(r, a, symbols);
  for (int which = 0; which < graphs && s == MG_OK && w.n; which++)
    s = mgi_rest_make(r, g, which, result[which], symbols, &w, e);
  free(result[0]), free(result[1]), free(symbols);
  return s;
}

/* Copies to `to` what can be of the operators of the rest that are not there yet; map: by its tensors.  1 if any
   was. */
MGI_FN int mgi_rest_ready(mg_graph *to, const mg_graph *rest, mg_tensor *map, uint8_t *done, uint8_t *keep) {
  mgi_family F;
  int kernel = 0, any = 0;
  memset(&F, 0, sizeof F), F.keep = keep;
  uint8_t *there = (uint8_t *)calloc(rest->n_tensors, 1);
  if (!there) return 0;
  for (uint32_t t = 1; t < rest->n_tensors; t++) there[t] = map[t].id != 0;
  for (uint32_t k = 1; k < rest->n_ops; k++) {
    const mg_op_node *o = &rest->ops[k];
    int ready = !done[k];
    for (int j = 0; j < o->n_in; j++) ready &= there[o->in[j].id];
    keep[k] = (uint8_t)ready;
    for (int j = 0; j < o->n_out && ready; j++) there[o->out[j].id] = 1;
    done[k] |= keep[k], any |= ready;
  }
  free(there);
  if (any) mgi_rebuild(to, rest, map, NULL, NULL, &kernel, 0, &F);
  return any;
}
mg_status mg_rest_join(const mg_graph *g, const mg_rest *r, const mg_graph *rest, mg_graph **out, mg_error *e) {
  mg_config cfg = g->root->cfg;
  mg_graph *to = mg_program_new(g->name, &cfg), *own = NULL;
  mg_tensor in[MG_MAX_IN], made[MG_MAX_PICKS];
  mg_tensor *map = NULL;
  uint8_t *done = NULL;
  *out = NULL;
  memset(made, 0, sizeof made);
  mg_status s = to ? MG_OK : mg_fail(e, MG_NO_MEMORY, "picks", "no memory for the copy");
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++) in[k] = mg_input_like(to, &g->tensors[g->in[k].id], NULL);
  if (s == MG_OK) mgi_copy_symbols(to, g, NULL);
  if (s == MG_OK && rest) {
    s = mg_resize(rest, NULL, NULL, &own, e); /* whose names may change */
    map = own ? (mg_tensor *)calloc(own->n_tensors, sizeof *map) : NULL;
    done = own ? (uint8_t *)calloc(2 * (size_t)own->n_ops, 1) : NULL;
    if (s == MG_OK && (!map || !done)) s = mg_fail(e, MG_NO_MEMORY, "picks", "no memory for the copy");
  }
  for (uint32_t t = 1; s == MG_OK && own && t < own->n_tensors; t++) { /* indices keep their names */
    mg_tensor is;
    is.id = t;
    const uint32_t other = mg_find(g, own->tensors[t].name).id;
    char name[65];
    if (!other || g->tensors[other].dtype != MG_I32) continue;
    mg_named(own, is, mgi_rest_name(own, 0, g, own->tensors[t].name, name));
  }
  for (uint32_t k = 0; s == MG_OK && own && k < g->n_in; k++)
    if (r->in[k] >= 0) map[own->in[r->in[k]].id] = in[k];
  for (int more = 1; s == MG_OK && more;) {
    more = own && mgi_rest_ready(to, own, map, done, done + own->n_ops);
    for (int k = 0; k < r->n && to->root->err.status == MG_OK; k++) {
      const mg_pick *p = &r->pick[k];
      const mg_op_node *o = &g->ops[p->op[0]];
      const int from = mgi_input_of(g, p->of[0]);
      mg_tensor x[2], none = {0};
      x[0] = x[1] = none;
      if (from >= 0) x[0] = in[from];
      else if (p->output >= 0) x[0] = map[own->out[p->output].id];
      for (int q = 0; q < r->n; q++) /* rows of a gather's result */
        if (from < 0 && p->output < 0 && g->ops[r->pick[q].op[0]].out[0].id == p->of[0].id) x[0] = made[q];
      if (o->code == MG_OP_GATHER) x[1] = p->index >= 0 ? in[p->index] : made[-1 - p->index];
      if (made[k].id || !x[0].id || (o->n_in > 1 && !x[1].id)) continue;
      made[k] = mg_apply(to, o->code, &o->attr, o->n_in, x), more = 1;
      if (p->input >= 0 && own)
        mg_named(to, made[k], own->tensors[own->in[p->input].id].name), map[own->in[p->input].id] = made[k];
      else mg_named(to, made[k], g->tensors[o->out[0].id].name);
    }
  }
  for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++) {
    mg_tensor t = r->out[k] < 0 ? made[-1 - r->out[k]] : map[own->out[r->out[k]].id];
    for (uint32_t j = 0; j < to->n_out; j++) /* the same twice */
      if (to->out[j].id == t.id) {
        const mg_op_node *o = mg_op_of(to, to->tensors[t.id].op);
        t = mg_named(to, mg_apply(to, o->code, &o->attr, o->n_in, o->in), g->tensors[g->out[k].id].name);
        break;
      }
    if (t.id) mg_output(to, t);
    else if (to->root->err.status == MG_OK)
      s = mg_fail(e, MG_UNSUPPORTED, "picks", "a kernel waits for a pick of what it stores");
  }
  if (s == MG_OK) s = mg_check(to, e);
  free(map), free(done);
  mg_graph_free(own);
  if (s == MG_OK) *out = to;
  else mg_graph_free(to);
  return s;
}

/* Of mg_fold_moves: dimensions as lists of factors, the outermost first.  Both tensors' elements are those of the
   factors' indices; what one holds at an index the other holds at the same. */
enum { MGI_FACTORS = 24 };
typedef struct mgi_factored { int n[MG_MAX_RANK], rank; uint8_t of[MG_MAX_RANK][MGI_FACTORS]; } mgi_factored;
/* cut: the axis that cuts a factor; 0: none. */
typedef struct mgi_factors {
  int n;
  int64_t extent[MGI_FACTORS];
  uint32_t cut[MGI_FACTORS];
  mgi_factored x[2];
} mgi_factors;

/* Factor f becomes two of which the outer one has extent `outer`; 0 if it cannot. */
MGI_FN int mgi_factor_split(mgi_factors *F, int f, int64_t outer) {
  if (F->n == MGI_FACTORS || outer < 2 || F->extent[f] % outer || F->extent[f] == outer) return 0;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < F->x[side].rank; d++)
      for (int k = 0; k < F->x[side].n[d]; k++)
        if (F->x[side].of[d][k] == f) {
          uint8_t *at = &F->x[side].of[d][k];
          memmove(at + 1, at, (size_t)(F->x[side].n[d] - k));
          at[1] = (uint8_t)F->n, F->x[side].n[d]++, k++;
        }
  F->extent[F->n] = F->extent[f] / outer, F->cut[F->n++] = 0, F->extent[f] = outer;
  return 1;
}
/* One move of the second tensor. */
MGI_FN int mgi_factor_move(mgi_factors *F, const mg_op_node *o) {
  mgi_factored *x = &F->x[1], y;
  memset(&y, 0, sizeof y);
  if (o->code == MG_OP_TRANSPOSE) {
    y.rank = x->rank;
    for (int d = 0; d < y.rank; d++) {
      y.n[d] = x->n[o->attr.perm[d]];
      memcpy(y.of[d], x->of[o->attr.perm[d]], sizeof y.of[d]);
    }
    *x = y;
    return 1;
  }
  y.rank = o->attr.shape.rank;
  for (int d = 0, from = 0, k = 0; d < y.rank; d++)
    for (int64_t left = o->attr.shape.dim[d]; left > 1;) {
      while (from < x->rank && k == x->n[from]) from++, k = 0;
      if (from == x->rank) return 0;
      const int f = x->of[from][k];
      if (F->extent[f] > left && !mgi_factor_split(F, f, left)) return 0;
      if (left % F->extent[f]) return 0;
      left /= F->extent[f], y.of[d][y.n[d]++] = (uint8_t)f, k++;
    }
  *x = y;
  return 1;
}
/* 1 if factor f is a whole dimension of both tensors. */
MGI_FN int mgi_factor_whole(const mgi_factors *F, int f) {
  int whole = 0;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < F->x[side].rank; d++) whole += F->x[side].n[d] == 1 && F->x[side].of[d][0] == f;
  return whole == 2;
}
/* The axes of g cut tensor `side` by `map`: exactly, or a whole dimension of both tensors, the last of whose chunks may
   be short then, as the other's. */
MGI_FN int mgi_factor_cut(mgi_factors *F, int side, const mg_graph *g, const mg_map *map) {
  int at[MG_MAX_RANK] = {0};
  for (uint32_t a = 1; a < g->n_axes; a++) {
    const int d = map->to[a];
    for (int64_t left = d < 0 ? 1 : g->axes[a].extent; left > 1;) {
      if (at[d] == F->x[side].n[d]) return 0;
      const int f = F->x[side].of[d][at[d]++];
      if (F->extent[f] % left && mgi_factor_whole(F, f)) F->extent[f] = left * mg_ceil_div(F->extent[f], left);
      if (F->extent[f] > left && !mgi_factor_split(F, f, left)) return 0;
      if (left % F->extent[f]) return 0;
      left /= F->extent[f], F->cut[f] = a;
    }
  }
  return 1;
}
/* The map by which the axes, a being axis[a] now, cut tensor `side` alike; 0 if none does: each is of one dimension, in
   the order of its factors in the other tensor, and cuts are outside of what is left, in the order of the axes. */
MGI_FN int mgi_factor_map(const mgi_factors *F, int side, const uint32_t *axis, const mg_map *was, mg_map *map) {
  const mgi_factored *x = &F->x[side], *y = &F->x[!side];
  uint8_t order[2][MGI_FACTORS];
  int n[2] = {0, 0}, dim[MG_MAX_AXES + 1];
  *map = mg_map_none();
  for (uint32_t a = 1; a <= MG_MAX_AXES; a++) {
    dim[a] = -1;
    if (was->to[a] < 0) map->to[axis[a]] = was->to[a];
  }
  for (int d = 0; d < x->rank; d++) {
    uint32_t last = 0;
    for (int k = 0, inner = 0; k < x->n[d]; k++) {
      const uint32_t a = F->cut[x->of[d][k]];
      if (!a) { inner = 1; continue; }
      if (inner || axis[a] < last || (dim[a] >= 0 && dim[a] != d)) return 0;
      dim[a] = d, last = axis[a], map->to[axis[a]] = (int8_t)d;
    }
  }
  for (int both = 0; both < 2; both++) { /* each axis' factors: one order in both tensors */
    const mgi_factored *z = both ? y : x;
    for (uint32_t a = 1; a <= MG_MAX_AXES; a++)
      for (int d = 0; d < z->rank; d++)
        for (int k = 0; k < z->n[d]; k++) if (F->cut[z->of[d][k]] == a) order[both][n[both]++] = z->of[d][k];
  }
  return n[0] == n[1] && !memcmp(order[0], order[1], (size_t)n[0]);
}
MGI_FN void mgi_factor_box(const mgi_factors *F, int side, mg_shape *box) {
  box->rank = F->x[side].rank;
  for (int d = 0; d < box->rank; d++) {
    box->dim[d] = 1;
    for (int k = 0; k < F->x[side].n[d]; k++)
      if (!F->cut[F->x[side].of[d][k]]) box->dim[d] *= F->extent[F->x[side].of[d][k]];
  }
}
/* What is left of dimension d of tensor `side`, at most MGI_FACTORS of them; how many. */
MGI_FN int mgi_factor_left(const mgi_factors *F, int side, int d, uint8_t *left) {
  int n = 0;
  for (int k = 0; k < F->x[side].n[d]; k++)
    if (!F->cut[F->x[side].of[d][k]]) left[n++] = F->x[side].of[d][k];
  return n;
}
/* Whether what is left of the first tensor becomes what is left of the second by an exchange of whole dimensions, *f
   has which. */
MGI_FN int mgi_factor_exchange(const mgi_factors *F, mgi_fold *f) {
  uint8_t left[2][MGI_FACTORS];
  int taken = 0, moved = 0;
  const int rank = F->x[1].rank;
  if (F->x[0].rank != rank) return 0;
  for (int d = 0; d < rank; d++) {
    const int n = mgi_factor_left(F, 1, d, left[1]);
    int from = -1;
    for (int g = 0; g < rank && from < 0; g++)
      if (!(taken >> g & 1) && mgi_factor_left(F, 0, g, left[0]) == n && !memcmp(left[0], left[1], (size_t)n)) from = g;
    if (from < 0) return 0;
    taken |= 1 << from, f->perm[d] = from, moved |= from != d;
  }
  mgi_factor_box(F, 0, &f->parts);
  f->turned = moved;
  return 1;
}
/* The same by an exchange of parts of dimensions: runs of factors that are neighbours in both.  0 if there are too
   many. */
MGI_FN int mgi_factor_parts(const mgi_factors *F, mgi_fold *f) {
  uint8_t left[2][MGI_FACTORS], run[MGI_FACTORS], part[MGI_FACTORS];
  int n[2] = {0, 0}, at[MGI_FACTORS], parts = 0;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < F->x[side].rank; d++) n[side] += mgi_factor_left(F, side, d, left[side] + n[side]);
  if (n[0] != n[1]) return 0;
  for (int k = 0; k < n[1]; k++) at[left[1][k]] = k;
  for (int k = 0; k < n[0]; k++) { /* run: the first part of each run, in the second tensor */
    const int next = k && at[left[0][k]] == at[left[0][k - 1]] + 1;
    if (!next && parts == MG_MAX_RANK) return 0;
    if (!next) run[parts] = left[0][k], f->parts.dim[parts++] = 1;
    f->parts.dim[parts - 1] *= F->extent[left[0][k]], part[left[0][k]] = (uint8_t)(parts - 1);
  }
  f->parts.rank = parts, f->turned = 0;
  for (int k = 0, d = 0; k < n[1]; k++) {
    if (run[part[left[1][k]]] != left[1][k]) continue;
    f->turned |= part[left[1][k]] != d, f->perm[d++] = part[left[1][k]];
  }
  return 1;
}
MGI_FN int mgi_has_map(int code) { return code == MG_OP_LOAD || code == MG_OP_STORE || code == MG_OP_ACCUM; }
/* 1 if no two grid axes of extents above 1 that cut one dimension anywhere in b, but at `but`, change their order; what
   a split axis left to another stays inside of it, and outside of those that it was outside of. */
MGI_FN int mgi_axes_keep(const mg_graph *b, uint32_t but, const uint32_t *axis, const mgi_fold *f) {
  if (f->split && axis[f->split] > axis[f->into]) return 0;
  for (uint32_t k = 1; k < b->n_ops; k++)
    for (uint32_t a = 1; a < 3 && k != but && mgi_has_map(b->ops[k].code); a++)
      for (uint32_t c = a + 1; c <= 3; c++) {
        const int8_t *to = b->ops[k].map.to;
        const int both = to[a] >= 0 && to[a] == to[c] && b->axes[a].extent > 1 && b->axes[c].extent > 1;
        if (both && axis[a == f->split ? f->into : a] > axis[c]) return 0;
      }
  return 1;
}
/* 1 if all that axis a cuts in b is cut into chunks of one extent: cut by two axes in its place they are the same
   chunks. */
MGI_FN int mgi_cuts_evenly(const mg_graph *b, uint32_t a) {
  for (uint32_t t = 1; t < b->n_tensors; t++)
    if (mgi_cut_by(&b->tensors[t], a) >= 0) return 0;
  return 1;
}
/* A grid axis whose cuts of tensor `side` lie in two dimensions of the other, as 32 blocks that are 8 heads of 4 parts
   do, becomes two: a grid axis that had one block takes the inner cuts.  0: there is none, or none is free. */
MGI_FN int mgi_factor_axis(mgi_factors *F, int side, const mg_graph *b, mgi_fold *f) {
  const mgi_factored *x = &F->x[side], *y = &F->x[!side];
  int where[MGI_FACTORS];
  for (int d = 0; d < y->rank; d++)
    for (int k = 0; k < y->n[d]; k++) where[y->of[d][k]] = d;
  for (uint32_t c = 3; c > 0 && !f->into; c--)
    if (b->axes[c].extent == 1 && !b->axes[c].symbol) f->into = c;
  for (uint32_t a = 1; a <= 3 && f->into && !f->split; a++) {
    int dims = 0, last = -1;
    f->outer = 1;
    for (int d = 0; d < x->rank; d++)
      for (int k = 0; k < x->n[d]; k++) {
        const int cut = x->of[d][k];
        if (F->cut[cut] != a) continue;
        if (where[cut] != last) dims++, last = where[cut];
        if (dims == 1) f->outer *= F->extent[cut];
      }
    if (dims != 2 || b->axes[a].symbol || !mgi_cuts_evenly(b, a)) continue;
    f->split = a;
    for (int d = 0; d < x->rank; d++)
      for (int k = 0; k < x->n[d]; k++)
        if (F->cut[x->of[d][k]] == a && where[x->of[d][k]] == last) F->cut[x->of[d][k]] = f->into;
  }
  return f->split != 0;
}
/* What is needed for t, where the fold is done; 1 if `gone` is among it. */
MGI_FN int mgi_fold_mark(const mg_graph *g, const mgi_fold *f, mg_tensor t, mg_tensor gone, uint8_t *keep) {
  const uint32_t op = f->out >= 0 && t.id == f->to.id ? f->kernel : g->tensors[t.id].op;
  int bad = t.id == gone.id;
  if (!op || keep[op] || bad) return bad;
  keep[op] = 1;
  const mg_graph *b = op == f->kernel ? g->ops[op].sub : NULL;
  for (uint32_t k = 1; b && k < b->n_ops; k++)
    if (b->ops[k].code == MG_OP_LOAD) bad |= mgi_fold_mark(g, f, k == f->op ? f->to : b->ops[k].in[0], gone, keep);
  for (int k = 0; !b && k < g->ops[op].n_in; k++) bad |= mgi_fold_mark(g, f, g->ops[op].in[k], gone, keep);
  return bad;
}
mg_status mg_fold_moves(const mg_graph *g, uint32_t kernel, uint32_t op, mg_tensor to, int n,
                        const mg_op_node *const *move, mg_graph **out, mg_error *e) {
  static const char where[] = "mg_fold_moves";
  static const uint8_t orders[6][3] = {{1, 2, 3}, {2, 1, 3}, {3, 2, 1}, {1, 3, 2}, {2, 3, 1}, {3, 1, 2}};
  const mg_graph *b = mg_op_of(g, kernel)->sub;
  int good = g->level == MG_KERNEL && b && to.id && to.id < g->n_tensors && n > 0;
  const mg_op_node *o = mg_op_of(b, op);
  *out = NULL;
  good = good && (o->code == MG_OP_LOAD || o->code == MG_OP_STORE);
  for (int k = 0; k < n && good; k++) good = move[k]->code == MG_OP_RESHAPE || move[k]->code == MG_OP_TRANSPOSE;
  if (!good) return mg_fail(e, MG_BAD_INPUT, where, "expected a load or a store of a kernel, and moves to a tensor");
  const int store = o->code == MG_OP_STORE, cut_side = store ? 0 : 1;
  mg_tensor gone = {0};
  mgi_factors F;
  mgi_fold f;
  mgi_family family;
  mg_config cfg = g->root->cfg;
  memset(&F, 0, sizeof F), memset(&f, 0, sizeof f), memset(&family, 0, sizeof family);
  f.kernel = kernel, f.op = op, f.to = to, f.out = -1;
  for (uint32_t k = 1, stores = 0; k < b->n_ops && store; k++) {
    if (k == op) f.out = (int)stores, gone = g->ops[kernel].out[stores];
    stores += b->ops[k].code == MG_OP_STORE;
  }
  const mg_shape *first = &g->tensors[store ? gone.id : to.id].shape;
  const mg_shape *second = &g->tensors[store ? to.id : o->in[0].id].shape;
  F.x[0].rank = first->rank;
  for (int d = 0; d < first->rank; d++)
    if (first->dim[d] > 1) F.x[0].of[d][F.x[0].n[d]++] = (uint8_t)F.n, F.extent[F.n++] = first->dim[d];
  F.x[1] = F.x[0];
  int found = 0;
  for (int k = 0; k < n && good; k++) good = mgi_factor_move(&F, move[k]);
  mg_shape box;
  mgi_factor_box(&F, 1, &box);
  good = good && box.rank == second->rank;
  for (int d = 0; d < box.rank && good; d++) good = box.dim[d] == second->dim[d];
  good = good && mgi_factor_cut(&F, cut_side, b, &o->map);
  uint32_t axis[MG_MAX_AXES + 1];
  for (uint32_t a = 0; a <= MG_MAX_AXES; a++) axis[a] = a;
  for (int k = 0; k < 12 && good && !found; k++) {
    if (k == 6 && !mgi_factor_axis(&F, cut_side, b, &f)) break;
    for (int a = 0; a < 3; a++) axis[a + 1] = orders[k % 6][a];
    found = mgi_axes_keep(b, op, axis, &f) && mgi_factor_map(&F, !cut_side, axis, &o->map, &f.map);
  }
  if (!found) return mg_fail(e, MG_UNSUPPORTED, where, "the moves are no addresses of what a block has");
  memcpy(f.axis, axis, sizeof f.axis);
  mgi_factor_box(&F, 1, &f.box); /* of what is loaded as the block reads it, of what is stored as it is stored */
  if (!mgi_factor_exchange(&F, &f) && !mgi_factor_parts(&F, &f))
    return mg_fail(e, MG_UNSUPPORTED, where, "the moves exchange too many parts of what a block has");
  mg_graph *r = mg_program_new(g->name, &cfg);
  mg_tensor *map = (mg_tensor *)calloc(g->n_tensors, sizeof *map);
  uint8_t *keep = (uint8_t *)calloc(g->n_ops, 1);
  mg_status s = r && map && keep ? MG_OK : mg_fail(e, MG_NO_MEMORY, where, "no memory for the copy");
  family.keep = keep, family.fold = &f;
  for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++)
    if (mgi_fold_mark(g, &f, g->out[k], gone, keep))
      s = mg_fail(e, MG_UNSUPPORTED, where, "what is stored has other readers");
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++) {
    const mg_tensor_info *t = &g->tensors[g->in[k].id];
    map[g->in[k].id] = mg_input_like(r, t, NULL);
  }
  int kernels = 0;
  if (s == MG_OK) {
    mgi_rebuild(r, g, map, NULL, NULL, &kernels, 0, &family);
    for (uint32_t k = 0; k < g->n_out; k++) mg_output(r, map[g->out[k].id]);
    s = mg_check(r, e);
  }
  free(map), free(keep);
  if (s != MG_OK) { mg_graph_free(r); return s; }
  *out = r;
  return MG_OK;
}
mg_status mg_resize(const mg_graph *g, const int64_t *extent, const int64_t *counts, mg_graph **out, mg_error *e) {
  return mgi_copy_program(g, extent, counts, 0, NULL, out, e);
}

mg_status mg_inline_threads(const mg_graph *g, mg_graph **out, mg_error *e) {
  *out = NULL;
  if (!g || g->up) return mg_fail(e, MG_BAD_INPUT, "mg_inline_threads", "expected a program");
  mg_status s = mgi_flat_all(g, e);
  return s == MG_OK ? mgi_copy_program(g, NULL, NULL, 1, NULL, out, e) : s;
}

/* ------------------------------------------------------------------------------------------ >>classes
   Classes of an index (mg_parallel), as labels that run through both graphs.  A label stands at a dimension of a
   tensor, with the list of the axes that cut it, outermost first.  What is to hold for every tensor of every level, at
   all extents of the classes, all counts of the axes that cut them and all intervals that the cuts make (empty ones
   too):

     carried   a tensor that carries class c at dimension d holds, along d, the indices of the interval that its list of
               cuts says, and its row at index i is one function of the rows at i of the inputs that carry c, and of
               other inputs
     free      a tensor that does not carry c depends neither on inputs that do, nor on c's extent, counts and
               coordinates

   Both hold of the inputs.  Each rule below keeps them (mg_op_runs is proved by a test that draws maps of indices), so
   they hold of the outputs: then output row i is f(input rows i) with one f for all extents, T(phi*x) = phi*T(x) for
   every map phi of indices.  A rule that fails takes its class's label off everywhere: its extent is a constant then.
   Two labels that meet are one class.  Labels are given anew until nothing changes; so all rules hold of those that are
     left.  1  An operator hands labels on by mg_op_runs.  Dimensions that it hands to one have one label and one list
        of cuts, or are of a constant extent 1 that broadcasts.  A label that is not handed on is lost.  No tensor has a
        label twice.
     2  An axis that cuts a class cuts that class and nothing else in its graph, after the same cuts, and all of it: a
        load in its scope maps it to the class's dimension, or does not carry the class.
     3  An accumulator neither sums nor takes maxima nor concatenates over such an axis, but a loop's that undoes the
        last cut (exact or not: the builder looks at ragged ones alone); over another axis it concatenates no dimension
        of a class.  A store undoes the cuts that its graph made, innermost first.
     4  An output has the labels of the other graph's output.  What carries a class uncut has its extent as written.
   A reshape of (n, 8) to 8 n hands no label on: rows of the result would run through n in groups of 8, and a label
   knows no groups.  The same memory may be an input of 8*n rows.
   An axis that cuts no class keeps its count; so does a grid axis of one block, which the builder takes out of all
   maps.  Requirement 1: in doubt there is no class.

   Indices that are contracted (mgi_indices_of) follow the same rules but three, so that every extent has a graph that
   is well formed; what it computes is another question at each of them, and Theorem C does not answer it:
     1' A sum or maximum of the labelled dimension, or a product over it whose operands have the same label there and
        the same list of cuts, ends the label.  A tensor may have a label twice.
     2' An axis that cuts a class may leave it whole in some of the loads in its scope, and cut another dimension of it
        in others.
     3' An accumulator may sum or take maxima over an axis that cuts the class, of what that axis does not cut; what it
        puts together along one dimension that axis does not cut in another.
   Example: softmax(Q K) V, K : [64, p], V : [p, 64], scores [n, p]: one index p through both inputs, and no output.
   Where Q, K and V are made of one X : [n, 64], scores are [n, n]: a block with some rows of Q has all of K and V. */

enum { MGI_LABEL_CUTS = 7 };
/* c: of the union-find, or -1; cut: axes, +16 in a thread graph */
typedef struct mgi_label { int32_t c; uint8_t n, cut[MGI_LABEL_CUTS]; } mgi_label;

/* before: by level and axis, the label that it cuts as it stands before that.  contract: by the rules of indices that
   are contracted. */
typedef struct mgi_labeller {
  mg_parallel *p;
  mgi_label *before;
  uint32_t uf[MG_MAX_CLASSES];
  uint8_t lost[MG_MAX_CLASSES], lost_at[MG_MAX_CLASSES]; /* the operator that is looked at then */
  int changed, contract, at;
} mgi_labeller;

enum { MGI_AXIS_FREE = -2 /* it cuts nothing */, MGI_AXIS_PLAIN = -1 /* it cuts what is no class */ };

MGI_FN int32_t mgi_label_root(mgi_labeller *R, int32_t c) {
  if (c < 0) return -1;
  c = (int32_t)mgi_uf_find(R->uf, (uint32_t)c);
  return R->lost[c] ? -1 : c;
}
MGI_FN void mgi_label_lose(mgi_labeller *R, int32_t c) {
  c = mgi_label_root(R, c);
  if (c >= 0) R->lost[c] = 1, R->lost_at[c] = (uint8_t)R->at, R->changed = 1;
}
MGI_FN void mgi_label_join(mgi_labeller *R, int32_t a, int32_t b) {
  const uint32_t x = mgi_uf_find(R->uf, (uint32_t)a), y = mgi_uf_find(R->uf, (uint32_t)b);
  if (x == y) return;
  R->lost[x] = R->lost[y] = R->lost[x] | R->lost[y];
  R->lost_at[x] = R->lost_at[y] = R->lost_at[x] ? R->lost_at[x] : R->lost_at[y];
  mgi_uf_join(R->uf, x, y), R->changed = 1;
}
uint32_t mg_parallel_level(const mg_parallel *p, int which, const mg_graph *g) {
  uint32_t k = p->first[which];
  while (p->level[k].g != g) k++;
  return k;
}
MGI_FN mgi_label *mgi_labels(const mg_parallel *p, uint32_t level, mg_tensor t) {
  return &p->dim[p->level[level].base + t.id * MG_MAX_RANK];
}
MGI_FN int mgi_label_same_cuts(const mgi_label *a, const mgi_label *b) {
  return a->n == b->n && !memcmp(a->cut, b->cut, a->n);
}
/* A label may stand at one dimension of a tensor, but by rule 1'. */
MGI_FN void mgi_label_once(mgi_labeller *R, const mgi_label *x, int rank) {
  if (R->contract) return;
  for (int d = 0; d < rank; d++)
    for (int f = 0; f < d; f++)
      if (x[d].c >= 0 && mgi_label_root(R, x[d].c) == mgi_label_root(R, x[f].c)) mgi_label_lose(R, x[d].c);
}
MGI_FN uint8_t mgi_label_axis(const mg_graph *g, uint32_t a) { return (uint8_t)(a + (g->level == MG_THREAD ? 16 : 0)); }

/* Rule 1': 1 if operator o ends the label that dimension d of its operand k has. */
MGI_FN int mgi_label_ends(mgi_labeller *R, uint32_t level, const mg_op_node *o, int k, int d) {
  const mg_graph *g = R->p->level[level].g;
  const int pairs = o->n_in / 2;
  if (!R->contract) return 0;
  if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) return 1;
  if (o->code != MG_OP_MATMUL && o->code != MG_OP_CONCAT_MATMUL) return 0;
  const mg_tensor other = o->in[k < pairs ? k + pairs : k - pairs];
  const mgi_label *x = mgi_labels(R->p, level, o->in[k]) + d;
  const mgi_label *y = mgi_labels(R->p, level, other) + g->tensors[other.id].shape.rank - (k < pairs ? 2 : 1);
  if (y->c < 0 || !mgi_label_same_cuts(x, y)) return 0;
  mgi_label_join(R, x->c, y->c);
  return 1;
}
/* Rule 1. */
MGI_FN void mgi_label_op(mgi_labeller *R, uint32_t level, const mg_op_node *o) {
  const mg_graph *g = R->p->level[level].g;
  const mg_op_info *row = &mgi_rows[o->code];
  const mg_shape *to = &g->tensors[o->out[0].id].shape;
  mgi_label *out = mgi_labels(R->p, level, o->out[0]);
  mg_shape in[MG_MAX_IN];
  int8_t run[MG_MAX_IN][MG_MAX_RANK];
  for (int k = 0; k < o->n_in; k++) in[k] = g->tensors[o->in[k].id].shape;
  mg_op_runs(o->code, &o->attr, in, to, run);
  for (int k = 0; k < o->n_in; k++) {
    const mgi_label *x = mgi_labels(R->p, level, o->in[k]);
    for (int d = 0; d < in[k].rank; d++) {
      if (x[d].c < 0) continue;
      const int f = run[k][d];
      if (f < 0 && mgi_label_ends(R, level, o, k, d)) continue;
      if (f < 0) mgi_label_lose(R, x[d].c);
      else if (out[f].c < 0) out[f] = x[d];
      else if (!mgi_label_same_cuts(&out[f], &x[d])) mgi_label_lose(R, x[d].c), mgi_label_lose(R, out[f].c);
      else mgi_label_join(R, out[f].c, x[d].c);
    }
  }
  for (int f = 0; f < to->rank; f++) { /* what meets a label without having it */
    const int batch = row->parallel == MG_EACH || (row->parallel == MG_PRODUCTS && f < to->rank - 2);
    int carried[2] = {0, 0}; /* of the two products of a concat_matmul, each carries it */
    if (out[f].c < 0) continue;
    for (int k = 0; k < o->n_in; k++)
      for (int d = 0; d < in[k].rank; d++) {
        const mgi_label *x = mgi_labels(R->p, level, o->in[k]);
        if (run[k][d] != f) continue;
        if (x[d].c >= 0) carried[k % (row->n_in > 1 ? row->n_in / 2 : 1) & 1] = 1;
        else if (!batch || in[k].dim[d] != 1 || g->tensors[o->in[k].id].cuts[d]) mgi_label_lose(R, out[f].c);
      }
    if (o->code == MG_OP_CONCAT_MATMUL && !(carried[0] && carried[1])) mgi_label_lose(R, out[f].c);
  }
  mgi_label_once(R, out, to->rank);
}

/* Takes axis a's cut off dimension f of x: 0 if that is not the last. */
MGI_FN int mgi_label_undo(mgi_label *x, uint8_t axis) { return x->n && x->cut[x->n - 1] == axis ? (x->n--, 1) : 0; }

/* Rules 2 and 3: loads, accumulators, stores of a lower graph; `up` is the level above. */
MGI_FN void mgi_label_move(mgi_labeller *R, uint32_t level, uint32_t up, const mg_op_node *o, mg_tensor made) {
  const mg_graph *g = R->p->level[level].g;
  const int32_t *label = &R->p->axis[level * (MG_MAX_AXES + 1)];
  mgi_label *before = &R->before[level * (MG_MAX_AXES + 1)];
  const mgi_label *from = mgi_labels(R->p, o->code == MG_OP_LOAD ? up : level, o->in[0]);
  mgi_label x[MG_MAX_RANK];
  const int rank = (o->code == MG_OP_LOAD ? g->up : g)->tensors[o->in[0].id].shape.rank;
  memcpy(x, from, sizeof x);
  if (o->code == MG_OP_LOAD)
    for (uint32_t a = 1; a < g->n_axes; a++) {
      const int32_t c = mgi_label_root(R, label[a]);
      const int to = o->map.to[a];
      if (to >= 0 && x[to].c >= 0) {
        if (before[a].c < 0) before[a] = x[to];
        if (x[to].n == MGI_LABEL_CUTS || c != mgi_label_root(R, x[to].c) || !mgi_label_same_cuts(&before[a], &x[to]))
          mgi_label_lose(R, x[to].c);
        else x[to].cut[x[to].n++] = mgi_label_axis(g, a);
      } else if (to >= 0) mgi_label_lose(R, c);
      for (int d = 0; d < rank && c >= 0 && !R->contract && (a <= 3 || mgi_encloses(g, a, o->scope)); d++)
        if (mgi_label_root(R, x[d].c) == c && to != d) mgi_label_lose(R, c);
    }
  else
    for (uint32_t a = g->n_axes; a-- > 1;) { /* the innermost cut first */
      const int32_t c = mgi_label_root(R, label[a]);
      const int to = o->map.to[a];
      if (to == MG_MAP_NONE || to == MG_MAP_ALL) continue;
      if (c >= 0 && to < 0 && R->contract) {
        for (int d = 0; d < rank; d++)
          if (x[d].c >= 0 && memchr(x[d].cut, mgi_label_axis(g, a), x[d].n)) mgi_label_lose(R, c);
      } else if (c < 0) {
        if (to >= 0) mgi_label_lose(R, x[to].c);
      } else if (to < 0 || (o->code == MG_OP_ACCUM && a <= 3) || mgi_label_root(R, x[to].c) != c ||
                 !mgi_label_undo(&x[to], mgi_label_axis(g, a)))
        mgi_label_lose(R, c);
      /* what is put together is not cut by the axis elsewhere */
      for (int d = 0; d < rank && R->contract && c >= 0; d++)
        if (x[d].c >= 0 && memchr(x[d].cut, mgi_label_axis(g, a), x[d].n)) mgi_label_lose(R, c);
    }
  for (int d = 0; d < rank && o->code == MG_OP_STORE; d++)
    for (int k = 0; k < x[d].n && x[d].c >= 0; k++)
      if (g->level == MG_BLOCK || x[d].cut[k] >= 16) mgi_label_lose(R, x[d].c);
  memcpy(mgi_labels(R->p, o->code == MG_OP_STORE ? up : level, made), x, (size_t)rank * sizeof *x);
}

/* What the axes of a lower graph cut. */
MGI_FN void mgi_label_axes(mgi_labeller *R, uint32_t level, uint32_t up) {
  const mg_graph *g = R->p->level[level].g;
  int32_t *label = &R->p->axis[level * (MG_MAX_AXES + 1)];
  for (uint32_t a = 0; a <= MG_MAX_AXES; a++) label[a] = MGI_AXIS_FREE;
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (uint32_t a = 1; a < g->n_axes && g->ops[k].code == MG_OP_LOAD; a++) {
      if (g->ops[k].map.to[a] < 0) continue;
      const int32_t c = mgi_label_root(R, mgi_labels(R->p, up, g->ops[k].in[0])[g->ops[k].map.to[a]].c),
                    old = mgi_label_root(R, label[a]);
      if (label[a] == MGI_AXIS_FREE) label[a] = c;
      else if (c >= 0 && old >= 0) mgi_label_join(R, c, old);
      else mgi_label_lose(R, c), mgi_label_lose(R, old), label[a] = MGI_AXIS_PLAIN;
    }
}

MGI_FN void mgi_label_graph(mgi_labeller *R, int which, uint32_t level, uint32_t up) {
  const mg_graph *g = R->p->level[level].g;
  int stores = 0;
  if (g->up) mgi_label_axes(R, level, up);
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    R->at = o->code;
    if (o->code == MG_OP_GRAPH) mgi_label_graph(R, which, mg_parallel_level(R->p, which, o->sub), level);
    else if (o->code == MG_OP_LOAD || o->code == MG_OP_ACCUM) mgi_label_move(R, level, up, o, o->out[0]);
    else if (o->code == MG_OP_STORE) mgi_label_move(R, level, up, o, g->up->ops[g->up_op].out[stores++]);
    else mgi_label_op(R, level, o);
  }
}

/* Labels of both graphs, from those classes that are left; 1 if one was lost, or two became one. */
MGI_FN int mgi_label_all(mgi_labeller *R, uint32_t nodes) {
  mg_parallel *p = R->p;
  R->changed = 0;
  for (uint32_t k = 0; k < nodes; k++) p->dim[k].c = -1, p->dim[k].n = 0;
  for (uint32_t k = 0; k < p->n_levels * (MG_MAX_AXES + 1); k++) R->before[k].c = -1;
  for (int which = 0; which < p->graphs; which++) {
    const mg_graph *g = p->level[p->first[which]].g;
    for (uint32_t k = 0; k < g->n_in; k++) {
      const mg_shape *z = &g->tensors[g->in[k].id].shape;
      mgi_label *x = mgi_labels(p, p->first[which], g->in[k]);
      for (int d = 0; d < z->rank; d++) {
        const int32_t c = x[d].c = z->dim[d] == 1 ? -1 : mgi_label_root(R, (int32_t)(k * MG_MAX_RANK) + d);
        if (c >= 0 && p->extent[c] != z->dim[d]) mgi_label_lose(R, c);
      }
      mgi_label_once(R, x, z->rank);
    }
    mgi_label_graph(R, which, p->first[which], 0);
    R->at = 0;
  }
  const mg_graph *g = p->level[p->first[0]].g, *h = p->level[p->first[p->graphs - 1]].g;
  for (uint32_t k = 0; k < g->n_out; k++)
    for (int d = 0; d < g->tensors[g->out[k].id].shape.rank; d++) {
      const mgi_label *x = mgi_labels(p, p->first[0], g->out[k]) + d,
                      *y = mgi_labels(p, p->first[p->graphs - 1], h->out[k]) + d;
      if (x->c >= 0 && y->c >= 0) mgi_label_join(R, x->c, y->c);
      else mgi_label_lose(R, x->c), mgi_label_lose(R, y->c);
    }
  for (uint32_t l = 0; l < p->n_levels; l++)
    for (uint32_t t = 1; t < p->level[l].g->n_tensors; t++)
      for (int d = 0; d < p->level[l].g->tensors[t].shape.rank; d++) {
        const mgi_label *x = &p->dim[p->level[l].base + t * MG_MAX_RANK + (uint32_t)d];
        const int32_t c = x->n ? -1 : mgi_label_root(R, x->c);
        if (c >= 0 && p->level[l].g->tensors[t].shape.dim[d] != p->extent[c]) mgi_label_lose(R, c);
      }
  return R->changed;
}

/* The classes that are left, numbered. */
MGI_FN void mgi_label_number(mgi_labeller *R, uint32_t nodes) {
  mg_parallel *p = R->p;
  const mg_graph *g = p->level[p->first[0]].g;
  int32_t number[MG_MAX_CLASSES];
  int64_t extent[MG_MAX_CLASSES];
  for (int k = 0; k < MG_MAX_CLASSES; k++) number[k] = -1;
  for (uint32_t k = 0; k < g->n_in; k++)
    for (int d = 0; d < MG_MAX_RANK; d++) {
      const int32_t c = d < g->tensors[g->in[k].id].shape.rank
                            ? mgi_label_root(R, mgi_labels(p, p->first[0], g->in[k])[d].c)
                            : -1;
      if (c >= 0 && number[c] < 0) extent[p->n] = p->extent[c], number[c] = p->n++;
      p->in[k][d] = c < 0 ? -1 : number[c];
      p->lost[k][d] = R->lost_at[mgi_uf_find(R->uf, k * MG_MAX_RANK + (uint32_t)d)];
    }
  memcpy(p->extent, extent, (size_t)p->n * sizeof *extent);
  for (uint32_t k = 0; k < p->n_levels * (MG_MAX_AXES + 1); k++) {
    const int32_t c = mgi_label_root(R, p->axis[k]);
    p->axis[k] = c < 0 ? -1 : number[c];
  }
  for (uint32_t k = 0; k < nodes; k++) {
    const int32_t c = mgi_label_root(R, p->dim[k].c);
    p->dim[k].c = c < 0 ? -1 : number[c];
    if (c >= 0 && p->dim[k].n > p->nested[number[c]]) p->nested[number[c]] = p->dim[k].n;
  }
  for (uint32_t k = 0; k < g->n_out; k++)
    for (int d = 0; d < MG_MAX_RANK; d++)
      p->out[k][d] = d < g->tensors[g->out[k].id].shape.rank ? mgi_labels(p, p->first[0], g->out[k])[d].c : -1;
}

MGI_FN mg_status mgi_indices_of(const mg_graph *a, const mg_graph *b, int contract, mg_parallel *out, mg_error *e) {
  mgi_labeller R;
  uint32_t nodes = 0, levels = 0;
  memset(out, 0, sizeof *out), memset(&R, 0, sizeof R);
  R.contract = contract;
  out->graphs = b ? 2 : 1;
  for (int k = 0; k < out->graphs; k++) mgi_levels(k ? b : a, NULL, &levels, &nodes);
  out->level = (mgi_level *)malloc(levels * sizeof *out->level);
  out->dim = (mgi_label *)calloc(nodes, sizeof *out->dim);
  out->axis = (int32_t *)malloc(levels * (MG_MAX_AXES + 1) * sizeof *out->axis);
  R.before = (mgi_label *)calloc(levels * (MG_MAX_AXES + 1), sizeof *R.before);
  if (!out->level || !out->dim || !out->axis || !R.before) {
    free(R.before);
    mg_parallel_free(out);
    return mg_fail(e, MG_NO_MEMORY, "mg_parallel_of", "no memory for the classes");
  }
  nodes = 0;
  for (int k = 0; k < out->graphs; k++) {
    out->first[k] = out->n_levels;
    mgi_levels(k ? b : a, out->level, &out->n_levels, &nodes);
  }
  for (uint32_t k = 0; k < levels * (MG_MAX_AXES + 1); k++) out->axis[k] = MGI_AXIS_FREE;
  R.p = out;
  for (uint32_t k = 0; k < MG_MAX_CLASSES; k++) R.uf[k] = k;
  for (uint32_t k = 0; k < a->n_in; k++)
    for (int d = 0; d < a->tensors[a->in[k].id].shape.rank; d++)
      out->extent[k * MG_MAX_RANK + (uint32_t)d] = a->tensors[a->in[k].id].shape.dim[d];
  while (mgi_label_all(&R, nodes)) {}
  mgi_label_number(&R, nodes);
  free(R.before);
  return MG_OK;
}
mg_status mg_parallel_of(const mg_graph *a, const mg_graph *b, mg_parallel *out, mg_error *e) {
  return mgi_indices_of(a, b, 0, out, e);
}

void mg_parallel_free(mg_parallel *p) {
  free(p->level), free(p->dim), free(p->axis);
  memset(p, 0, sizeof *p);
}

MGI_FN int64_t mgi_family_count(const mgi_family *F, const mg_graph *g, uint32_t axis, int64_t otherwise) {
  const uint32_t symbol = F && F->value ? g->axes[axis].symbol : 0;
  if (symbol)
    return mg_ceil_div(F->value[symbol - 1], mg_ceil_div(F->p->level[F->p->first[F->which]].g->symbol[symbol - 1].most,
                                                         g->axes[axis].extent));
  if (!F || !F->chunks) return otherwise;
  const int32_t c = F->p->axis[mg_parallel_level(F->p, F->which, g) * (MG_MAX_AXES + 1) + axis];
  return c < 0 ? otherwise : F->chunks[c];
}

mg_status mg_parallel_resize(const mg_parallel *p, int which, const int64_t *extent, const int64_t *chunks,
                             mg_graph **out, mg_error *e) {
  mgi_family F;
  memset(&F, 0, sizeof F);
  F.p = p, F.which = which, F.extent = extent, F.chunks = chunks;
  return mgi_copy_program(p->level[p->first[which]].g, NULL, NULL, 0, &F, out, e);
}

/* ------------------------------------------------------------------------------------------ >>symbols
   A symbol's dimensions are classes of an index, each cut once at most in a kernel.  Write c for the chunk of an axis
   that cuts one, and so counts its symbol n: its count is ceil(n / c), all other axes keep theirs.  Where no class of
   the symbol is contracted, the member at any n is of the family that Theorem C of mirage_verify.h speaks of, and
   output row i of each is one function of the input rows i.  Example: sym n in 1..4096, X : f16[n, 64], kernel
   grid=(x=ceil(n/128)), load X {x->0}.  Where one is, the members are well formed at every n, as no other size follows
   n: not a count, not a constant.  A mean is a sum times 1/n, with n as written, and so it is refused.  Example: sym p
   in 1..2048, V : f16[p, 64], for i=ceil(p/64), load V {i->0}, accum(..) {i->+}. */

/* The symbol, as 1 + its number, that axis a of level graph `level` cuts, or 0.  No symbol is cut twice
   (mgi_symbols_hold). */
MGI_FN uint32_t mgi_symbol_cut(const mgi_symbols *S, uint32_t level, uint32_t a) {
  const int c = S->p.axis[level * (MG_MAX_AXES + 1) + a];
  return c >= 0 ? S->of[c] : 0;
}
/* Where the axes of graph g, of which level `level` of the classes is, count otherwise than the symbols say. */
MGI_FN mg_status mgi_symbols_axes(const mgi_symbols *S, uint32_t level, mg_error *e) {
  const mg_graph *g = S->p.level[level].g;
  for (uint32_t a = 1; a < g->n_axes; a++) {
    const uint32_t runs = mgi_symbol_cut(S, level, a);
    if (g->level == MG_THREAD && (runs || g->axes[a].symbol))
      return mg_fail(e, MG_UNSUPPORTED, "sym",
                     "threads do not cut %s: a block has as many as it has, whatever the size",
                     S->g->symbol[(runs ? runs : g->axes[a].symbol) - 1].name);
    if (runs == g->axes[a].symbol) continue;
    if (runs) {
      const mg_symbol *is = &S->g->symbol[runs - 1];
      char text[104];
      return mg_fail(e, MG_BAD_INPUT, "sym", "%s=%lld cuts %s: expected the count of its chunks, %s=%s",
                     g->axes[a].name, (long long)g->axes[a].extent, is->name, g->axes[a].name,
                     mgi_count_text(is, mg_ceil_div(is->most, g->axes[a].extent), text));
    }
    return mg_fail(e, MG_BAD_INPUT, "sym",
                   "%s counts chunks of %s, and is not the outermost axis that cuts it in its graph", g->axes[a].name,
                   S->g->symbol[g->axes[a].symbol - 1].name);
  }
  return MG_OK;
}
MGI_FN mg_status mgi_symbols_open(const mg_graph *g, mgi_symbols *S, mg_error *e) {
  memset(S, 0, sizeof *S);
  S->g = g;
  if (!g->n_symbols) return MG_OK;
  mg_status s = mg_parallel_of(g, NULL, &S->p, e);
  int contract = 0;
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++)
    for (int d = 0; d < g->tensors[g->in[k].id].shape.rank; d++) {
      const uint32_t is = g->in_symbol[k][d];
      if (!is || S->p.in[k][d] >= 0 || g->symbol[is - 1].most == 1) continue;
      S->contracted[is - 1] = 1, contract = 1;
    }
  if (contract) {
    mg_parallel_free(&S->p);
    s = mgi_indices_of(g, NULL, 1, &S->p, e);
  }
  if (s != MG_OK) return s;
  for (uint32_t k = 0; k < g->n_in; k++)
    for (int d = 0; d < g->tensors[g->in[k].id].shape.rank; d++)
      if (g->in_symbol[k][d] && S->p.in[k][d] >= 0) S->of[S->p.in[k][d]] = g->in_symbol[k][d];
  return MG_OK;
}
MGI_FN void mgi_symbols_close(mgi_symbols *S) {
  if (S->g->n_symbols) mg_parallel_free(&S->p);
}
MGI_FN const mg_symbol *mgi_symbol_at(const mgi_symbols *S, const mg_graph *g, mg_tensor t, int d) {
  if (!S || !S->g->n_symbols) return NULL;
  const mgi_label *x = &mgi_labels(&S->p, mg_parallel_level(&S->p, 0, g), t)[d];
  return x->c >= 0 && !x->n && S->of[x->c] ? &S->g->symbol[S->of[x->c] - 1] : NULL;
}
/* A contracted symbol whose extent is a constant of kernel-level g: a sum over it is divided by its most.
   NULL: none. */
MGI_FN const mg_symbol *mgi_symbols_mean(const mgi_symbols *S) {
  const mg_graph *g = S->g;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *sum = &g->ops[g->tensors[g->ops[k].in[0].id].op];
    if (g->ops[k].code != MG_OP_SCALE || sum->code != MG_OP_SUM) continue;
    const mg_symbol *is = mgi_symbol_at(S, g, sum->in[0], sum->attr.dim);
    const mg_rational c = g->ops[k].attr.c;
    if (is && S->contracted[is - g->symbol] && is->most > 1 && c.num == 1 && c.den == is->most) return is;
  }
  return NULL;
}
/* MG_OK if the program is the family that its symbols say. */
MGI_FN mg_status mgi_symbols_hold(const mg_graph *g, mg_error *e) {
  mgi_symbols S;
  uint32_t named = 0;
  mg_status s = mgi_symbols_open(g, &S, e);
  if (s != MG_OK) return s;
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++)
    for (int d = 0; d < g->tensors[g->in[k].id].shape.rank && s == MG_OK; d++) {
      const uint32_t is = g->in_symbol[k][d];
      const int c = S.p.in[k][d];
      const char *name = g->tensors[g->in[k].id].name;
      if (is) named |= 1u << (is - 1);
      for (uint32_t j = 0; is > g->n_symbols && j < g->n_symbols && s == MG_OK; j++) {
        if (!mg_symbol_within(g, is - 1, j)) continue;
        named |= 1u << j;
        if (S.contracted[j])
          s = mg_fail(e, MG_UNSUPPORTED, "sym",
                      "dimension %d of '%s' is %s, and %s is contracted: only sizes that are not are computed with", d,
                      name, g->symbol[is - 1].name, g->symbol[j].name);
      }
      const int shaped = S.p.lost[k][d] == MG_OP_RESHAPE && c < 0;
      if (is && shaped && s == MG_OK && g->symbol[is - 1].most > 1)
        s = mg_fail(
            e, MG_UNSUPPORTED, "sym",
            "dimension %d of '%s' is %s, and the program is not parallel in it: a reshape joins it with others, or takes it apart; give the input in the "
            "reshape's shape, as [8*n, 64]",
            d, name, g->symbol[is - 1].name);
      if (is > g->n_symbols && S.contracted[is - 1] && s == MG_OK && g->symbol[is - 1].most > 1)
        s = mg_fail(
            e, MG_UNSUPPORTED, "sym",
            "dimension %d of '%s' is %s, a computed size, and the program is not parallel in it: what is summed over has a symbol of its own",
            d, name, g->symbol[is - 1].name);
      if (s != MG_OK) break;
      const uint8_t at = S.p.lost[k][d];
      if (is && c < 0 && g->symbol[is - 1].most > 1)
        s = mg_fail(e, MG_UNSUPPORTED, "sym",
                    "dimension %d of '%s' is %s, and the program is not parallel in it, nor does it contract it: at %s "
                    "%s is joined or taken apart, is picked from by an index, or meets another size",
                    d, name, g->symbol[is - 1].name, at && at < MG_OP_TABLE_END ? mgi_rows[at].name : "an output",
                    g->symbol[is - 1].name);
      else if (c >= 0 && S.of[c] != is)
        s = mg_fail(e, MG_BAD_INPUT, "sym", "dimension %d of '%s' runs with %s: it has to be %s too", d, name,
                    g->symbol[S.of[c] - 1].name, g->symbol[S.of[c] - 1].name);
    }
  for (int c = 0; c < S.p.n && s == MG_OK; c++)
    if (S.of[c] && S.p.nested[c] > 1)
      s = mg_fail(e, MG_UNSUPPORTED, "sym", "%s is cut twice: where it is small, there are too few rows for that",
                  g->symbol[S.of[c] - 1].name);
  const mg_symbol *mean = s == MG_OK ? mgi_symbols_mean(&S) : NULL;
  if (mean)
    s = mg_fail(
        e, MG_UNSUPPORTED, "sym",
        "a mean over %s, as a sum times 1/%lld: that constant is no other at another %s; divide outside of the program",
        mean->name, (long long)mean->most, mean->name);
  for (uint32_t k = 0; k < mg_n_sizes(g) && s == MG_OK; k++)
    if (!(named >> k & 1)) s = mg_fail(e, MG_BAD_INPUT, "sym", "no input has %s as a dimension", g->symbol[k].name);
  for (uint32_t l = 1; l < S.p.n_levels && s == MG_OK; l++) s = mgi_symbols_axes(&S, l, e);
  mgi_symbols_close(&S);
  return s;
}

mg_status mg_family_of(const mg_graph *g, const mg_graph *program, mg_graph **out, mg_error *e) {
  mgi_symbols S;
  *out = NULL;
  if (g->n_symbols || g->n_in != program->n_in)
    return mg_fail(e, MG_BAD_INPUT, "mg_family_of",
                   "expected a graph without symbols, and a program with as many inputs");
  if (program->root->err.status != MG_OK) {
    if (e) *e = program->root->err;
    return program->root->err.status;
  }
  mg_graph *f = NULL;
  mg_status s = mgi_copy_program(g, NULL, NULL, 0, NULL, &f, e);
  if (s != MG_OK) return s;
  mgi_copy_symbols(f, program, NULL);
  s = f->root->err.status == MG_OK ? mgi_symbols_open(f, &S, e) : mg_check(f, e);
  if (s == MG_OK) {
    for (uint32_t l = 1; l < S.p.n_levels; l++) {
      mg_graph *b = (mg_graph *)(uintptr_t)S.p.level[l].g; /* f's own */
      for (uint32_t a = 1; a < b->n_axes; a++) b->axes[a].symbol = mgi_symbol_cut(&S, l, a);
    }
    mgi_symbols_close(&S);
    s = mg_check(f, e);
  }
  if (s == MG_OK) *out = f;
  else mg_graph_free(f);
  return s;
}
int64_t mg_range_end(const mg_graph *const *range, int n, int k, uint32_t symbol) {
  for (int j = k + 1; j < n; j++) {
    if (range[j]->n_symbols != range[k]->n_symbols) return 0;
    for (uint32_t s = 0; s < symbol; s++)
      if (range[j]->symbol[s].least != range[k]->symbol[s].least) return 0;
    if (range[j]->symbol[symbol].least > range[k]->symbol[symbol].least) return range[j]->symbol[symbol].least;
  }
  return 0;
}
int mg_range_of(const mg_graph *const *range, int n, const int64_t *value) {
  for (int k = 0; k < n; k++) {
    int is = 1;
    for (uint32_t s = 0; s < range[k]->n_symbols; s++) {
      const int64_t end = mg_range_end(range, n, k, s);
      is &= !end || value[s] < end;
    }
    if (is) return k;
  }
  return n - 1;
}
mg_symbol mg_range_symbol(const mg_graph *const *range, int n, uint32_t k) {
  mg_symbol is = range[n - 1]->symbol[k];
  is.least = range[0]->symbol[k].least;
  for (int j = 0; j < n && k < range[0]->n_symbols; j++)
    if (!mg_range_end(range, n, j, k) && range[j]->symbol[k].last < is.last) is.last = range[j]->symbol[k].last;
  if (k < range[0]->n_symbols) return is;
  int64_t last[MG_MAX_SYMBOLS];
  for (uint32_t v = 0; v < range[0]->n_symbols; v++) last[v] = mg_range_symbol(range, n, v).last;
  if (mg_symbol_values(range[0], last, last, NULL) == MG_OK) is.last = last[k];
  return is;
}
mg_status mg_range_at(const mg_graph *const *range, int n, const int64_t *value, int *k, mg_error *e) {
  for (uint32_t s = 0; s < range[0]->n_symbols; s++) {
    const mg_symbol is = mg_range_symbol(range, n, s);
    if (value[s] < is.least || value[s] > is.last)
      return mg_fail(e, MG_BAD_INPUT, n > 1 ? "ranges" : range[0]->name, "%s is in %lld..%lld, got %lld", is.name,
                     (long long)is.least, (long long)is.last, (long long)value[s]);
  }
  *k = mg_range_of(range, n, value);
  return MG_OK;
}
/* 1 if both have one signature, but for the bounds of their symbols, and of sizes computed of them. */
MGI_FN int mgi_ranges_alike(const mg_graph *a, const mg_graph *b) {
  int same = a->n_in == b->n_in && a->n_out == b->n_out && a->n_symbols == b->n_symbols &&
             a->n_computed == b->n_computed;
  for (uint32_t v = 0; same && v < mg_n_sizes(a); v++) same = !strcmp(a->symbol[v].name, b->symbol[v].name);
  for (uint32_t k = 0; same && k < a->n_in + a->n_out; k++) {
    const int out = k >= a->n_in;
    const mg_tensor_info *x = mg_tensor_of(a, out ? a->out[k - a->n_in] : a->in[k]),
                         *y = mg_tensor_of(b, out ? b->out[k - b->n_in] : b->in[k]);
    same = x->dtype == y->dtype && x->fill == y->fill && x->shape.rank == y->shape.rank && !strcmp(x->name, y->name) &&
           (out || !memcmp(a->in_symbol[k], b->in_symbol[k], sizeof a->in_symbol[k]));
    for (int d = 0; same && d < x->shape.rank; d++) {
      int sized = 0;
      for (uint32_t j = 0; j < mg_n_sizes(a); j++)
        sized |= (out || a->in_symbol[k][d] == j + 1) && x->shape.dim[d] == a->symbol[j].most &&
                 y->shape.dim[d] == b->symbol[j].most;
      same = (x->shape.dim[d] == y->shape.dim[d] || sized) && (out || x->order[d] == y->order[d]);
    }
  }
  return same;
}
/* 1 if range k begins where those before it end, and what ends there goes so far. */
MGI_FN int mgi_ranges_follow(const mg_graph *const *range, int k, mg_error *e) {
  const mg_graph *g = range[k], *before = range[k - 1];
  uint32_t v = 0;
  while (v + 1 < g->n_symbols && g->symbol[v].least == before->symbol[v].least) v++;
  const mg_symbol *is = &g->symbol[v];
  int64_t last = before->symbol[v].last;
  for (int j = k - 1; v == 0 && j >= 0 && range[j]->symbol[0].least == before->symbol[0].least; j--)
    last = range[j]->symbol[v].last < last ? range[j]->symbol[v].last : last;
  if (is->least <= before->symbol[v].least || is->least > last + 1)
    return mg_fail(e, MG_BAD_INPUT, g->name, "it begins at %s = %lld, the range before it is %lld..%lld", is->name,
                   (long long)is->least, (long long)before->symbol[v].least, (long long)last),
           0;
  for (v++; v < g->n_symbols; v++)
    if (g->symbol[v].least != range[0]->symbol[v].least)
      return mg_fail(e, MG_BAD_INPUT, g->name, "the first range from %s = %lld on begins at %s = %lld: expected %lld",
                     is->name, (long long)is->least, g->symbol[v].name, (long long)g->symbol[v].least,
                     (long long)range[0]->symbol[v].least),
             0;
  return 1;
}
mg_status mg_ranges_name(const mg_graph *const *range, int n, char name[120], mg_error *e) {
  const size_t l = strlen(range[0]->name);
  if (l < 3 || l > 100 || strcmp(range[0]->name + l - 2, "_1"))
    return mg_fail(e, MG_BAD_INPUT, "ranges", "expected programs NAME_1, NAME_2 .., found '%.60s'", range[0]->name);
  snprintf(name, 120, "%.*s", (int)l - 2, range[0]->name);
  for (int k = 0; k < n; k++) {
    char want[140];
    snprintf(want, sizeof want, "%s_%d", name, k + 1);
    if (strcmp(range[k]->name, want))
      return mg_fail(e, MG_BAD_INPUT, "ranges", "expected the program %.60s, found %.60s", want, range[k]->name);
    if (range[k]->n_symbols < 1 || range[k]->n_symbols > 2)
      return mg_fail(e, MG_BAD_INPUT, range[k]->name, "expected one symbol or two, found %u", range[k]->n_symbols);
    if (!mgi_ranges_alike(range[0], range[k]))
      return mg_fail(
          e, MG_BAD_INPUT, range[k]->name,
          "it has other inputs, outputs or symbols than %.60s: types, shapes, orders and names have to be the same",
          range[0]->name);
    if (k && !mgi_ranges_follow(range, k, e)) return MG_BAD_INPUT;
  }
  return MG_OK;
}
mg_status mg_rename(mg_graph *g, const char *name, mg_error *e) {
  if (!mgi_good_name(name) || mgi_keyword(name))
    return mg_fail(e, MG_BAD_INPUT, "program", "'%.40s' is no name", name ? name : "(null)");
  const char *copy = mgi_copy_string(g->root, name, strlen(name));
  if (!copy) return mg_fail(e, MG_NO_MEMORY, "mg_rename", "no memory");
  g->name = copy;
  return MG_OK;
}

/* Where a reshape's text has a symbol, its result runs with it, and nowhere else: [4, n] is not [n, 4]
   where n is at most 4. */
MGI_FN void mgi_shapes_hold(mgi_parser *P, const mg_graph *g) {
  mgi_symbols S;
  const mg_status s = mgi_symbols_open(g, &S, P->e);
  if (s != MG_OK) {
    P->failed = (int)s;
    return;
  }
  for (const mgi_written *w = P->shapes; w && !P->failed; w = w->next)
    for (int d = 0; d < w->g->tensors[w->t.id].shape.rank && !P->failed; d++) {
      const mg_symbol *is = mgi_symbol_at(&S, w->g, w->t, d);
      const uint32_t want = w->symbol[d], has = is ? (uint32_t)(is - g->symbol) + 1 : 0;
      if (want == has || (want && g->symbol[want - 1].most == 1)) continue;
      P->line = w->line, P->column = w->column;
      if (has)
        mgi_perr(P, MG_BAD_INPUT, "reshape: dimension %d runs with %s: expected %s there", d, is->name, is->name);
      else mgi_perr(P, MG_UNSUPPORTED, "reshape: dimension %d is not what runs with %s", d, g->symbol[want - 1].name);
    }
  mgi_symbols_close(&S);
}

mg_status mg_symbols_of(const mg_graph *g, uint8_t **of, mg_error *e) {
  mgi_symbols S;
  *of = (uint8_t *)calloc(g->n_tensors * MG_MAX_RANK, 1);
  if (!*of) return mg_fail(e, MG_NO_MEMORY, "mg_symbols_of", "no memory");
  const mg_status s = mgi_symbols_open(g, &S, e);
  if (s != MG_OK) {
    free(*of);
    *of = NULL;
    return s;
  }
  for (uint32_t t = 1; t < g->n_tensors; t++)
    for (int d = 0; d < g->tensors[t].shape.rank; d++) {
      mg_tensor h;
      h.id = t;
      const mg_symbol *is = mgi_symbol_at(&S, g, h, d);
      if (is) (*of)[t * MG_MAX_RANK + (uint32_t)d] = (uint8_t)(is - g->symbol + 1);
    }
  mgi_symbols_close(&S);
  return MG_OK;
}

void mg_symbol_chunks(const mg_graph *g, uint32_t symbol, int64_t chunk[2]) {
  const int64_t most = g->symbol[symbol - 1].most;
  chunk[0] = most, chunk[1] = 1;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    int64_t low = b || most < 64 ? most : 64, high = low;
    int cuts = 0;
    if (!b && chunk[0] > 16) chunk[0] = 16;
    for (uint32_t a = 1; b && a < b->n_axes; a++) { /* rows and keys may be cut by several axes of one kernel */
      if (b->axes[a].symbol != symbol) continue;
      const int64_t c = mg_ceil_div(most, b->axes[a].extent);
      low = !cuts || c < low ? c : low;
      high = !cuts || c > high ? c : high;
      cuts++;
    }
    if (low < chunk[0]) chunk[0] = low;
    if (high > chunk[1]) chunk[1] = high;
  }
}
int mg_symbol_sizes(int64_t least, int64_t most, const int64_t whole[2], const int64_t further[2],
                    int64_t value[MG_SYMBOL_SIZES]) {
  const int64_t want[MG_SYMBOL_SIZES] = { least,    whole[0] - 1, whole[0],   whole[0] + 1, whole[1] - 1,
                                          whole[1], whole[1] + 1, further[0], further[1] };
  int n = 0;
  for (int j = 0; j < MG_SYMBOL_SIZES; j++) {
    int at = n;
    while (at > 0 && value[at - 1] > want[j]) at--;
    if (want[j] < least || want[j] > most || (at > 0 && value[at - 1] == want[j])) continue;
    memmove(value + at + 1, value + at, (size_t)(n - at) * sizeof *value);
    value[at] = want[j], n++;
  }
  return n;
}
mg_status mg_contracted(const mg_graph *g, uint8_t contracted[MG_MAX_SYMBOLS], mg_error *e) {
  mgi_symbols S;
  const mg_status s = mgi_symbols_open(g, &S, e);
  memcpy(contracted, S.contracted, sizeof S.contracted);
  if (s == MG_OK) mgi_symbols_close(&S);
  return s;
}

/* A copy with the symbols at these values: without those that are fixed; others are a family's of other bounds. */
MGI_FN mg_status mgi_symbols_copy(const mg_graph *g, const uint8_t *fixed, const int64_t *least, const int64_t *value,
                                  mg_graph **out, mg_error *e) {
  mgi_symbols S;
  mgi_family F;
  int64_t extent[MG_MAX_CLASSES];
  *out = NULL;
  if (!g->n_symbols) return mgi_copy_program(g, NULL, NULL, 0, NULL, out, e);
  mg_status s = mgi_symbols_open(g, &S, e);
  if (s != MG_OK) return s;
  for (int c = 0; c < S.p.n; c++) extent[c] = S.of[c] ? value[S.of[c] - 1] : S.p.extent[c];
  memset(&F, 0, sizeof F);
  F.p = &S.p, F.extent = extent, F.value = value, F.least = least, F.fixed = fixed;
  s = mgi_copy_program(g, NULL, NULL, 0, &F, out, e);
  mgi_symbols_close(&S);
  return s;
}
mg_status mg_fix(const mg_graph *g, const uint8_t *some, const int64_t *given, mg_graph **out, mg_error *e) {
  int64_t value[MG_MAX_SYMBOLS];
  uint8_t fixed[MG_MAX_SYMBOLS];
  *out = NULL;
  memset(fixed, 0, sizeof fixed);
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    fixed[k] = some[k];
    value[k] = fixed[k] ? given[k] : g->symbol[k].most;
    if (fixed[k] && (value[k] < g->symbol[k].least || value[k] > g->symbol[k].last))
      return mg_fail(e, MG_BAD_INPUT, "mg_at", "%s is in %lld..%lld, got %lld", g->symbol[k].name,
                     (long long)g->symbol[k].least, (long long)g->symbol[k].last, (long long)value[k]);
  }
  for (uint32_t c = g->n_symbols; c < mg_n_sizes(g); c++) { /* with its symbols, all or none */
    int in = 0, of = 0;
    for (uint32_t k = 0; k < g->n_symbols; k++)
      if (mg_symbol_within(g, c, k)) in++, of += fixed[k] != 0;
    if (of && of < in)
      return mg_fail(e, MG_UNSUPPORTED, "mg_fix", "%s is computed of several symbols: they are fixed together",
                     g->symbol[c].name);
    fixed[c] = of > 0;
  }
  const mg_status s = mg_symbol_values(g, value, value, e);
  return s == MG_OK ? mgi_symbols_copy(g, fixed, NULL, value, out, e) : s;
}
mg_status mg_at(const mg_graph *g, const int64_t *value, mg_graph **out, mg_error *e) {
  uint8_t fixed[MG_MAX_SYMBOLS];
  memset(fixed, 1, sizeof fixed);
  const mg_status s = mg_fix(g, fixed, value, out, e);
  if (s == MG_OK) (*out)->fixed[0] = NULL; /* a program of its own, as its text says it */
  return s;
}
mg_status mg_within(const mg_graph *g, const int64_t *low, const int64_t *high, mg_graph **out, mg_error *e) {
  int64_t least[MG_MAX_SYMBOLS], most[MG_MAX_SYMBOLS];
  *out = NULL;
  for (uint32_t k = 0; k < g->n_symbols; k++)
    if (low[k] < 1 || low[k] > high[k])
      return mg_fail(e, MG_BAD_INPUT, "mg_within", "%s: expected bounds 1 <= least <= most, got %lld..%lld",
                     g->symbol[k].name, (long long)low[k], (long long)high[k]);
  mg_status status = mg_symbol_values(g, low, least, e);
  if (status == MG_OK) status = mg_symbol_values(g, high, most, e);
  if (status != MG_OK) return status;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    for (uint32_t a = 1; b && a < b->n_axes; a++) {
      if (!b->axes[a].symbol) continue;
      const mg_symbol *s = &g->symbol[b->axes[a].symbol - 1];
      const int64_t to = most[b->axes[a].symbol - 1], chunk = mg_ceil_div(s->most, b->axes[a].extent),
                    n = mg_ceil_div(to, chunk);
      if (n > 1 && mg_ceil_div(to, n) != chunk)
        return mg_fail(e, MG_BAD_INPUT, "mg_within", "%lld chunks of %s, at most %lld, have %lld elements, not %lld",
                       (long long)n, s->name, (long long)to, (long long)mg_ceil_div(to, n), (long long)chunk);
    }
  }
  return mgi_symbols_copy(g, NULL, least, most, out, e);
}

mg_status mg_within_of(const mg_graph *program, const mg_graph *like, mg_graph **out, mg_error *e) {
  int64_t least[MG_MAX_SYMBOLS], most[MG_MAX_SYMBOLS];
  *out = NULL;
  if (program->n_symbols != like->n_symbols)
    return mg_fail(e, MG_BAD_INPUT, "mg_within_of", "expected %u symbols, found %u", program->n_symbols,
                   like->n_symbols);
  for (uint32_t k = 0; k < like->n_symbols; k++) least[k] = like->symbol[k].least, most[k] = like->symbol[k].most;
  mg_status s = mg_within(program, least, most, out, e);
  for (uint32_t k = 0; k < like->n_symbols && s == MG_OK; k++) mg_symbol_last(*out, k + 1, like->symbol[k].last);
  if (s == MG_OK) s = mg_check(*out, e);
  if (s == MG_OK) return MG_OK;
  mg_graph_free(*out);
  *out = NULL;
  return s;
}

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_CORE_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_CORE_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
