/* mirage.h - v0.1.0 - µGraphs: tensor programs at kernel, block and thread level, in one C header

   WHAT
     A µGraph describes how a tensor program runs on a GPU: a kernel graph whose operators are library kernels or own
     a block graph (grid, loops, shared-memory tiles), whose operators may own a thread graph (registers).  The three
     are one struct.  This header holds the graph, its operator table, a builder, a text form, shapes and validation,
     a reference evaluator and Graphviz output.  It needs libc only.  Its companions: mirage_verify.h (equivalence),
     mirage_search.h (superoptimizer), mirage_cuda.cuh (CUDA emitter and device templates).

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage.h" (and any companion).
     Elsewhere just #include.  MIRAGE_IMPLEMENTATION means all headers, MIRAGE_CORE_IMPLEMENTATION this one alone.

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
     >>status  >>scalars  >>ops  >>graph  >>build  >>text  >>eval  >>transform          declarations
     >>arena  >>strings  >>rational  >>shapes  >>builder  >>validate  >>parser  >>printer  >>dot  >>evaluator
     >>resize                                                                            implementation

   CONFIGURATION (define before including)
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
#define MGI_FN static MGI_UNUSED

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
  X(NO_MEMORY,   4, "out of memory, or the configured limit was reached")                                     \
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

typedef enum mg_dtype { MG_F16, MG_BF16, MG_F32, MG_DTYPE_COUNT } mg_dtype;
const char *mg_dtype_name(mg_dtype t); /* "f16", "bf16", "f32" */
int mg_dtype_bytes(mg_dtype t);

/* Exact constant num/den, den > 0, in lowest terms, both below 2^31 in magnitude after reduction. */
typedef struct mg_rational { int64_t num, den; } mg_rational;
mg_rational mg_rat(int64_t num, int64_t den);                       /* reduced; den == 0 or overflow gives {0, 0} */
int mg_rat_mul(mg_rational a, mg_rational b, mg_rational *out);     /* 1 on success, 0 on overflow */
int mg_rat_add(mg_rational a, mg_rational b, mg_rational *out);

enum { MG_MAX_RANK = 5, MG_MAX_IN = 16, MG_MAX_OUT = 8, MG_MAX_AXES = 12, MG_MAX_PLAN = 48 };

/* Extents, outermost dimension first.  sym[d] is 0, or 1 + the index of a symbolic size whose bound dim[d] is. */
typedef struct mg_shape {
  int32_t rank;
  int64_t dim[MG_MAX_RANK];
  uint32_t sym[MG_MAX_RANK];
} mg_shape;

/* Attributes of an operator; which are used is the table's `attr` column. */
typedef struct mg_attr {
  int32_t dim;               /* DIM: reduced, repeated or concatenated dimension, 0 <= dim < rank */
  int64_t n;                 /* DIMN: repeat count */
  mg_rational c;             /* RAT: the constant of scale and add_scalar; eps of rms_norm */
  mg_shape shape;            /* SHAPE: target of reshape */
  int32_t perm[MG_MAX_RANK]; /* PERM: output dimension d is input dimension perm[d] */
} mg_attr;

/* ---------------------------------------------------------------------------------------------------- >>ops

   One row is all that an operator takes.  E rows are elementwise, NumPy broadcasting; T rows are structural.

   E(id, name, n, levels, attr, abstract, field, real)
     n         operands, a then b
     levels    MG_KBT: may stand in kernel, block and thread graphs; MG_KB_, MG_K__, MG__B_
     attr      NONE, or RAT: one exact constant c
     abstract  what the search's e-graph makes of it: ADD SUB MUL DIV EXP SQR NEG SCALE ADD_SCALAR have axioms;
               OPAQUE means a function of its own, of which only equality of arguments is known
     field     meaning over finite fields, in FF_* macros of mirage_verify.h over values a, b, c
     real      meaning over the reals, in a, b, c and the macros below: the evaluator's text over double, and the
               device's over float.  Typed by scalar: MG_C(num, den) is a constant, MG_EXP .. MG_TANH functions.

   T(id, name, n, levels, attr, shape, abstract, index)
     shape     suffix of the shape rule: mg_status mgi_shape_<shape>(const mg_attr *A, const mg_shape *in, int n,
               mg_shape *out, mg_error *e).  The table forward-declares it; a user row's is defined by the user
               after the include of mirage.h (in the one file that holds the implementation).
     abstract  MATMUL, SUM, MAX, SAME (the value is that of its operand, moved), CONCAT, OPAQUE, SUGAR
     index     NOINDEX (the operator computes), or, for operators that move elements, C statements that say where output
               element i comes from: set j[] (starts as a copy of i), `src` (the operand, starts at 0), or
               src = -1 for zero.  In scope: const int64_t *i; int64_t *j; int src; const mg_attr *A;
               const mg_shape *S (of the operands).  The same text serves evaluator, fields and device.

   Sugar rows are lowered by the builder and never stand in a graph.                                              */

enum { MG_LEVEL_K = 1, MG_LEVEL_B = 2, MG_LEVEL_T = 4 };
#define MG_KBT 7
#define MG_KB_ 3
#define MG_K__ 1
#define MG__B_ 2

#ifndef MG_USER_OPS
#define MG_USER_OPS(E, T)
#endif

#define MG_BUILTIN_OPS(E, T)                                                                                                                  \
  /* id             name            n  levels  attr   abstract    finite field                   real: evaluator and CUDA text            */  \
  E(ADD,           "add",           2, MG_KBT, NONE,  ADD,        FF_ADD(a, b),                  a + b)                                       \
  E(SUB,           "sub",           2, MG_KBT, NONE,  SUB,        FF_SUB(a, b),                  a - b)                                       \
  E(MUL,           "mul",           2, MG_KBT, NONE,  MUL,        FF_MUL(a, b),                  a * b)                                       \
  E(DIV,           "div",           2, MG_KBT, NONE,  DIV,        FF_DIV(a, b),                  a / b)                                       \
  E(EXP,           "exp",           1, MG_KBT, NONE,  EXP,        FF_EXP(a),                     MG_EXP(a))                                   \
  E(SQR,           "sqr",           1, MG_KBT, NONE,  SQR,        FF_MUL(a, a),                  a * a)                                       \
  E(SQRT,          "sqrt",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE_NONZERO(SQRT, a),    MG_SQRT(a))                                  \
  E(SILU,          "silu",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(SILU, a),            a / (MG_C(1, 1) + MG_EXP(-a)))               \
  E(GELU,          "gelu",          1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(GELU, a),            a * MG_C(1, 2) * (MG_C(1, 1) + MG_ERF(a * MG_SQRT(MG_C(1, 2))))) \
  E(RELU,          "relu",          1, MG_KBT, NONE,  OPAQUE,     FF_MAX(a, FF_ZERO),            MG_MAX(a, MG_C(0, 1)))                       \
  E(LOG,           "log",           1, MG_KBT, NONE,  OPAQUE,     FF_OPAQUE(LOG, a),             MG_LOG(a))                                   \
  E(NEG,           "neg",           1, MG_KBT, NONE,  NEG,        FF_SUB(FF_ZERO, a),            -a)                                          \
  E(SCALE,         "scale",         1, MG_KBT, RAT,   SCALE,      FF_MUL(a, c),                  a * c)                                       \
  E(ADD_SCALAR,    "add_scalar",    1, MG_KBT, RAT,   ADD_SCALAR, FF_ADD(a, c),                  a + c)                                       \
  /* id             name            n  levels  attr   shape          abstract  index: where output element i comes from                   */  \
  T(MATMUL,        "matmul",        2, MG_KB_, NONE,  MATMUL,        MATMUL,   NOINDEX)                                                       \
  T(SUM,           "sum",           1, MG_KBT, DIM,   REDUCE,        SUM,      NOINDEX)                                                       \
  T(MAX,           "max",           1, MG_KBT, DIM,   REDUCE,        MAX,      NOINDEX)                                                       \
  T(REPEAT,        "repeat",        1, MG_KB_, DIMN,  REPEAT,        SAME,     j[A->dim] = i[A->dim] % S->dim[A->dim])                        \
  T(RESHAPE,       "reshape",       1, MG_KB_, SHAPE, RESHAPE,       SAME,     mg_reshape_index(i, &A->shape, j, S))                          \
  T(TRANSPOSE,     "transpose",     1, MG_KB_, PERM,  TRANSPOSE,     SAME,     for (int d_ = 0; d_ < S->rank; d_++) j[A->perm[d_]] = i[d_])   \
  T(CONCAT,        "concat",        2, MG_KB_, DIM,   CONCAT,        CONCAT,   if (i[A->dim] >= S->dim[A->dim]) { src = 1; j[A->dim] = i[A->dim] - S->dim[A->dim]; }) \
  T(CONCAT_MATMUL, "concat_matmul", 4, MG_KB_, NONE,  CONCAT_MATMUL, CONCAT_MATMUL, NOINDEX)                                                  \
  T(MEAN,          "mean",          1, MG_KBT, DIM,   REDUCE,        SUGAR,    NOINDEX)                                                       \
  T(RMS_NORM,      "rms_norm",      2, MG_KB_, NORM,  SAME,          SUGAR,    NOINDEX)                                                       \
  T(SOFTMAX,       "softmax",       1, MG_KB_, DIM,   SAME,          SUGAR,    NOINDEX)

#define MG_OPS(E, T) MG_BUILTIN_OPS(E, T) MG_USER_OPS(E, T)

typedef enum mg_opcode {
  MG_OP_NONE = 0,
#define MGI_E(id, name, n, lv, attr, abs, field, real) MG_OP_##id,
#define MGI_T(id, name, n, lv, attr, shape, abs, index) MG_OP_##id,
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

typedef enum mg_attr_kind { MG_ATTR_NONE, MG_ATTR_RAT, MG_ATTR_DIM, MG_ATTR_DIMN, MG_ATTR_SHAPE, MG_ATTR_PERM, MG_ATTR_NORM } mg_attr_kind;
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
} mg_op_info;

/* The row of `op`; for LOAD .. GRAPH a row with the name and nothing else.  Never NULL. */
const mg_op_info *mg_op_row(mg_opcode op);
mg_opcode mg_op_find(const char *name, size_t len); /* MG_OP_NONE if there is no such row */
/* The real meaning of an E row over doubles. */
double mg_op_real(mg_opcode op, double a, double b, double c);
/* Where a moving operator's output element i comes from: returns the operand, or -1 for zero; sets j. */
int mg_op_index(mg_opcode op, const mg_attr *A, const mg_shape *S, const int64_t *i, int64_t *j);
/* For reshape's index text: j in shape `from` of the element that has coordinate i in shape `to`. */
void mg_reshape_index(const int64_t *i, const mg_shape *to, int64_t *j, const mg_shape *from);

#define MGI_T(id, name, n, lv, attr, shape, abs, index) \
  mg_status mgi_shape_##shape(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e);
#define MGI_E(id, name, n, lv, attr, abs, field, real)
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T

/* -------------------------------------------------------------------------------------------------- >>graph */

typedef enum mg_level { MG_KERNEL, MG_BLOCK, MG_THREAD } mg_level;

typedef struct { uint32_t id; } mg_tensor; /* index into graph->tensors; 0 invalid */
typedef struct { uint32_t id; } mg_axis;   /* index into graph->axes; 1, 2, 3 are grid x, y, z; loops follow; 0 is none */

/* Map entries by axis id; a data dimension is its number, >= 0. */
enum { MG_MAP_ALL = -1 /* `*` */, MG_MAP_SUM = -2 /* `+` */, MG_MAP_MAX = -3 /* `max` */, MG_MAP_NONE = -4 /* not named */ };
typedef struct mg_map { int8_t to[MG_MAX_AXES + 1]; } mg_map;
mg_map mg_map_none(void);                                /* names no axis */
mg_map mg_map_set(mg_map m, mg_axis a, int to);          /* m with axis a mapped to `to`; nests */

typedef struct mg_graph mg_graph;

typedef struct mg_tensor_info {
  const char *name;          /* unique in its graph; never NULL once mg_check passed */
  mg_dtype dtype;            /* of device tensors; block and thread tensors inherit, accumulate in fp32 */
  mg_shape shape;            /* the full chunk; at the edge it may be smaller */
  int32_t order[MG_MAX_RANK];/* memory order of an input's dimensions, outermost first; 0, 1, 2 .. by default */
  uint32_t op;               /* producer, index into graph->ops; 0 for an input of the program */
  uint32_t scope;            /* axis id of the innermost loop in whose body it lives; 0 for the graph's own body */
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
} mg_axis_info;

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
  int32_t threads;           /* block level: threads of a block */
  mg_plan_entry plan[MG_MAX_PLAN];
  uint32_t n_plan;
  struct mgi_root *root;     /* arena, error, builder state */
};

/* The info of a tensor / an op / an axis; the zeroth, all-zero entry for a handle that is not valid. */
const mg_tensor_info *mg_tensor_of(const mg_graph *g, mg_tensor t);
const mg_op_node *mg_op_of(const mg_graph *g, uint32_t op);
/* 1 if the program has no graph-defined operator, that is, if it is an input program and no µGraph. */
int mg_is_program(const mg_graph *g);
int64_t mg_shape_elements(const mg_shape *s); /* product of extents; -1 on overflow of int64 */
/* Memory strides, in elements, of an input stored densely in its `order`. */
void mg_strides(const mg_tensor_info *t, int64_t *stride);
/* A 64-bit hash of wiring, operators, attributes, maps, extents, dtypes and orders; names and plan left out. */
uint64_t mg_hash(const mg_graph *g);

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
mg_tensor mg_input_ordered(mg_graph *g, const char *name, mg_dtype dtype, int rank, const int64_t *dim, const int32_t *order);
void mg_output(mg_graph *g, mg_tensor t);
mg_tensor mg_named(mg_graph *g, mg_tensor t, const char *name); /* names t; returns t */

/* Any row of the table; sugar is lowered here.  `A` may be NULL where the row has no attribute. */
mg_tensor mg_apply(mg_graph *g, mg_opcode op, const mg_attr *A, int n, const mg_tensor *in);
mg_tensor mg_unary(mg_graph *g, mg_opcode op, mg_tensor a);
mg_tensor mg_binary(mg_graph *g, mg_opcode op, mg_tensor a, mg_tensor b);
mg_tensor mg_with_rat(mg_graph *g, mg_opcode op, mg_tensor a, mg_rational c); /* scale, add_scalar and user RAT rows */
mg_tensor mg_with_dim(mg_graph *g, mg_opcode op, mg_tensor a, int dim);       /* sum, max, mean, softmax; dim < 0 counts from the end */
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
#define mg_scale(g, a, num, den) mg_with_rat(g, MG_OP_SCALE, a, mg_rat(num, den))
#define mg_add_scalar(g, a, num, den) mg_with_rat(g, MG_OP_ADD_SCALAR, a, mg_rat(num, den))
#define mg_sum(g, a, dim) mg_with_dim(g, MG_OP_SUM, a, dim)
#define mg_mean(g, a, dim) mg_with_dim(g, MG_OP_MEAN, a, dim)
#define mg_max(g, a, dim) mg_with_dim(g, MG_OP_MAX, a, dim)
#define mg_softmax(g, a, dim) mg_with_dim(g, MG_OP_SOFTMAX, a, dim)
/* x / sqrt(mean(x^2, dim) + eps) [* gain]; gain {0} for none. */
mg_tensor mg_rms_norm(mg_graph *g, mg_tensor x, mg_tensor gain, mg_rational eps, int dim);
mg_tensor mg_repeat(mg_graph *g, mg_tensor a, int dim, int64_t n);
mg_tensor mg_reshape(mg_graph *g, mg_tensor a, int rank, const int64_t *dim);
mg_tensor mg_transpose(mg_graph *g, mg_tensor a, const int32_t *perm);
mg_tensor mg_concat(mg_graph *g, mg_tensor a, mg_tensor b, int dim);
mg_tensor mg_concat_matmul(mg_graph *g, mg_tensor w, mg_tensor x, mg_tensor y, mg_tensor z); /* (w|x)(y|z) = wy + xz */

/* Opens a graph-defined operator in g: a kernel (g is a program) or a thread graph (g is a block graph).  grid holds
   the extents of x, y, z (blocks, or threads of a thread graph).  Build into the graph returned; then close it. */
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
   (unnamed tensors get fresh names).  A graph that passed may be given to every function of every header. */
mg_status mg_check(mg_graph *program, mg_error *e);

/* --------------------------------------------------------------------------------------------------- >>text */

/* Parses a program or a µGraph.  `where` names the source in errors.  *out is checked.  Any bytes may come in. */
mg_status mg_parse(const char *text, size_t len, const char *where, const mg_config *cfg, mg_graph **out, mg_error *e);
/* Reads the file whole (at most 16 MiB) and parses it. */
mg_status mg_parse_file(const char *path, const mg_config *cfg, mg_graph **out, mg_error *e);
/* The text form; parsing it gives the same graph.  Free with mg_string_free. */
mg_status mg_print(const mg_graph *program, char **out, mg_error *e);
mg_status mg_dot(const mg_graph *program, char **out, mg_error *e); /* Graphviz, all levels as clusters */
void mg_string_free(char *s);

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
  /* out = out + in, or max(out, in) (op is MG_OP_SUM or MG_OP_MAX); same shapes, strides may be 0 in out: a reduction. */
  mg_status (*combine)(void *user, mg_opcode op, const mg_view *out, const mg_view *in);
  /* n elements := 0 (MG_OP_SUM), or the identity of max (MG_OP_MAX). */
  void (*fill)(void *user, mg_opcode op, void *dst, size_t n);
} mg_domain;

/* Doubles. */
mg_domain mg_domain_real(void);

/* Evaluates program or µGraph as its definition says: block by block, iteration by iteration.  in[k] and out[k] are
   dense row-major arrays (whatever the memory order) of the domain's elements, matched by position; out is
   overwritten.  Scratch memory is bounded by the kernel-level intermediates plus one block's tensors. */
mg_status mg_eval(const mg_graph *program, const mg_domain *d, const void *const *in, void *const *out, mg_error *e);

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

/* A copy with other sizes: class c gets extent[c]; axis a of the k-th graph-defined kernel gets
   counts[k * (MG_MAX_AXES + 1) + a] (counts NULL: all kept).  Constants are kept.  Plans are kept. */
mg_status mg_resize(const mg_graph *program, const int64_t *extent, const int64_t *counts, mg_graph **out, mg_error *e);

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_H */
