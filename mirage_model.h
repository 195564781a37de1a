/* mirage_model.h - v0.1.0 - whole models: text form, shapes, launches, partition, memory plan, weights, steps on a GPU

   WHAT
     A model is a list of calls over tensors whose sizes are polynomials of symbols with bounds: inputs, weights, states
     that are updated in place, functions with signatures, loops over layers, kernels of others.  This header reads and
     prints it, deduces every shape, makes one list of launches of it, cuts that into pieces that a search takes, at
     the least cost, evaluates both in float64 on the CPU, plans the memory of all intermediates once for all sizes
     within the bounds, and runs steps on a GPU by the emitted kernels of the pieces, in a CUDA graph, or on a stand-in
     for a GPU, where these are emulated.

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage_model.h".  Elsewhere just #include.
     MIRAGE_MODEL_IMPLEMENTATION means this header alone.

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage_model.h"
     #include <stdio.h>
     int main(void) {
       static const char text[] = "model m  sym n in 1..64  input X : f32[2, n]  A = exp(X)  O = relu(A)  output O";
       mg_model *m = NULL;
       mg_model_list *l = NULL;
       mg_model_plan *p = NULL;
       mg_error e;
       char *s = NULL;
       if (mg_model_parse(text, sizeof text - 1, "text", NULL, &m, &e) || mg_model_list_of(m, &l, &e) ||
           mg_model_plan_of(l, &p, &e) || mg_model_plan_print(p, &s, &e)) {
         fprintf(stderr, "%s: %s\n", e.where, e.msg);
         return mg_exit_code(e.status);
       }
       fputs(s, stdout);
       mg_string_free(s), mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
       return 0;
     }

   CONTENTS (search for the tag)
     >>model  >>modelbuild  >>modeltext  >>modellist  >>modelparts  >>modelweights  >>modelrun
     >>modelplan  >>modelfound  >>modelloaded                                                 declarations
     >>making  >>reading  >>writing  >>listing  >>pieces  >>statements  >>partition  >>weights  >>running
     >>planning  >>found  >>emitting  >>loaded                                                implementation

   CONFIGURATION
     That of mirage.h; there is no other.

   TEXT
       model NAME                                   # a comment
       sym n in 1..64                               # a size that comes with the launch
       sym p in 1..8192 device                      # one that lives in device memory
       input X : bf16[n, 4096]
       input C : bf16[1, 128] = cos at p-1 base 10000 # a table of a rotary embedding, or sin: see mg_model_table
       weight W[32] : bf16[4096, 6144]              # one for each of 32 layers
       weight V[2] : bf16[64, 96] from "h.{l}.q", "h.{l}.k" transposed # where it is in files: see mg_model_from
       state K[32], V[32] : bf16[n, 8, p, 128]
       fn norm(A : bf16[a, b], G : bf16[b]) : bf16[a, b] {
         return rms_norm(A, G, eps=1e-5)            # operators of mirage.h's table; they nest
       }
       for l=32 {
         Y = norm(X, G[l])                          # a function is called as a whole right side
         update K[l] at p-1 = reshape(.., [n, 8, 1, 128])
         T = extern user "attn" in "attn.cu" (Y, K[l]; p) : bf16[n, 4096] scratch 16*n
         match T : bf16[rows, 4096]                 # binds a new name to a size, or asserts one
         X = add(X, T)
       }
       output X
     sizes      integers, names, + - *, floor(a / 4), ceil(a / 4) and parentheses; in shapes, lists, n=, from=, dim=, at
     fn         sees its parameters and the symbols, nothing else.  A name in a parameter's shape that is neither a
                symbol nor bound before it is bound by the call.  A call's result has the shape that the signature says.
     update     writes its value to the state from element `at` on along the one dimension in which both differ in size.
     state      a parameter is declared `K : state bf16[..]` where the function updates it.  A name for a state, A =
                K, is that state: it is read as it stands then.
     name[l]    of a weight or state with several: a number or a loop's name.

   ERRORS
     As in mirage.h.  Building and parsing: the first error sticks to the model, with line and column.

   MEMORY
     One arena a model, one a list, one a plan; each has its function that frees it, in the reverse order of making.
     On a device, tensors are row-major, but states: the dimension that a symbol of the kind `device` is in is
     outermost, so that what grows only gets longer, and a step's row lies in one.

   THREADS
     No mutable globals.  A model may be read by many; a list, with its data and plans, is one thread's at a time.

   DOES NOT, in this version
     Take an update, a launch of its own, into a piece: what only an update reads is made in its row, the rest are
     copies.  Join products of one operand into one.  Keep states on a device that grow along two dimensions, or
     run steps of other sizes than they were loaded for in the rest.  Evaluate foreign kernels in float64 without a
     function of the caller's.  What one changes in place (`: bf16[n, 64], in K`) is a state, or what the model made,
     which nobody reads afterwards.
     Check the body of a function that nobody calls. */
#ifndef MIRAGE_MODEL_H
#define MIRAGE_MODEL_H

#include "mirage.h"
#if MG_VERSION != 100
#error "mirage_model.h 0.1.0 needs mirage.h 0.1.0"
#endif
#include "mirage_plan.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifndef MIRAGE_DEVICE_ONLY

/* -------------------------------------------------------------------------------------------------- >>model
   What a model's text says, as data.  Read freely; change only through the functions below. */

enum {
  MG_MODEL_MAX_SYMBOLS = 8,
  MG_MODEL_MAX_DECLS = 1024,   /* inputs, weights, states; as many functions */
  MG_MODEL_MAX_PARAMS = MG_MAX_IN, /* a launch of a piece holds its inputs as one of a function holds its operands */
  MG_MODEL_MAX_PARTS = 8,      /* tensors of a file that one weight is made of */
  MG_MODEL_MAX_LAYERS = 4096,  /* of a weight or state, and turns of a loop */
  MG_MODEL_MAX_STEPS = 1 << 16 /* statements that one list runs through, loops and calls written out */
};

/* A size as it is written. */
typedef struct mg_extent {
  char kind; /* 'i' integer n, 'n' name; 'a' '+' b, 'a' '-' b, 'a' '*' b; 'f' floor(a / n), 'c' ceil(a / n) */
  int64_t n;
  const char *name;
  const struct mg_extent *a, *b;
  int weight; /* nodes */
  int line, column;
} mg_extent;

/* A tensor's name, type and shape as they are written. */
typedef struct mg_signature {
  const char *name;
  mg_dtype type;
  int rank;
  const mg_extent *dim[MG_MAX_RANK];
  int state; /* 1: a parameter that is a state */
  int line, column;
} mg_signature;

/* An operand, an operator's call, or one of its arguments. */
typedef struct mg_expr {
  char kind;             /* 'v' value, 'o' operator, '#' constant or type, '=' attribute, '[' list of sizes */
  const char *name;      /* of value, operator or attribute; the constant's text */
  const mg_extent *size; /* value: which one of several, or NULL; attribute: its size, or NULL: arg is its constant */
  int n;                 /* list: how many */
  const mg_extent *list[MG_MAX_RANK];
  struct mg_expr *arg, *last, *next; /* arguments, in order */
  int depth, used;       /* calls in calls; 1: an argument already */
  int line, column;
} mg_expr;

typedef enum mg_step_kind {
  MG_STEP_LET, MG_STEP_CALL, MG_STEP_FOREIGN, MG_STEP_UPDATE, MG_STEP_MATCH, MG_STEP_FOR, MG_STEP_RETURN
} mg_step_kind;
typedef struct mg_step {
  mg_step_kind kind;
  int line, column;
  int n_names;
  const char *name[MG_MAX_OUT];       /* of the results; FOR: of the loop */
  mg_expr *value;                     /* LET, UPDATE */
  mg_expr *target;                    /* UPDATE, MATCH */
  const mg_extent *at;                /* UPDATE; FOR: how many turns; FOREIGN: bytes of scratch, or NULL */
  const struct mg_function *fn;       /* CALL */
  int n_args;
  const mg_expr *arg[MG_MODEL_MAX_PARAMS]; /* CALL, FOREIGN, RETURN */
  int library;                        /* FOREIGN: 1 of a library, 0 the user's own */
  const char *symbol, *file;          /* FOREIGN; file: NULL, or where the user's is */
  int n_sizes;
  const mg_extent *size[MG_MODEL_MAX_SYMBOLS]; /* FOREIGN: sizes that it is given */
  int n_results;
  mg_signature result[MG_MAX_OUT];    /* FOREIGN; MATCH: the first */
  int in_place[MG_MAX_OUT];           /* FOREIGN: 1 + the operand, a state, that it is; 0: a result of its own */
  struct mg_step *body, *next;        /* FOR; the statement after it */
} mg_step;

typedef struct mg_function {
  const char *name;
  int n_params, n_results;
  mg_signature param[MG_MODEL_MAX_PARAMS], result[MG_MAX_OUT];
  mg_step *body;
  int line, column;
  struct mg_function *next;
} mg_function;

typedef enum mg_value_kind { MG_VALUE_INPUT, MG_VALUE_WEIGHT, MG_VALUE_STATE, MG_VALUE_MADE } mg_value_kind;
typedef struct mg_model_decl {
  mg_value_kind kind;
  int64_t count; /* 0: one; else one for each layer */
  mg_signature as;
  int n_from, transposed;                  /* weight: see mg_model_from; n_from 0: of its own name */
  const char *from[MG_MODEL_MAX_PARTS];
  char table;                              /* input: 'c' cosines, 's' sines, as mg_model_table says; 0: none */
  const mg_extent *at;
  int64_t base;
  struct mg_model_decl *next;
} mg_model_decl;

typedef struct mg_model_symbol { const char *name; int64_t least, most; int device; } mg_model_symbol;

typedef struct mg_model {
  const char *name;
  int n_symbols, n_decls, n_functions;
  mg_model_symbol symbol[MG_MODEL_MAX_SYMBOLS];
  mg_model_decl *decls;
  mg_function *functions;
  mg_step *body;
  int n_outputs;
  const mg_expr *output[MG_MAX_OUT];
  /* the builder's */
  int line, column;          /* where the text stands: what is made next is there */
  const char *where;
  mg_error err;              /* the first error of building */
  mg_graph *arena;           /* an empty program: its memory is the model's */
  int depth;
  mg_step **tail[MGI_MAX_NEST];
  mg_model_decl **last_decl;
  mg_function **last_function, *open;
} mg_model;

/* --------------------------------------------------------------------------------------------- >>modelbuild
   What the parser calls.  A call with a NULL argument where one is needed does nothing and returns NULL, so that
   calls nest. */

mg_model *mg_model_new(const char *name, const mg_config *cfg); /* NULL: memory is out, or that is no name */
void mg_model_free(mg_model *m);
void mg_model_symbol_new(mg_model *m, const char *name, int64_t least, int64_t most, int device);
void mg_model_declare(mg_model *m, mg_value_kind kind, const char *name, int64_t count, mg_dtype type, int rank,
                      const mg_extent *const *dim);
/* What the weight of that name is in files: tensors one behind another along their first dimension, then, if asked,
   with their last two dimensions swapped.  In the names {l} stands for the layer, where there are several. */
void mg_model_from(mg_model *m, const char *weight, int n, const char *const *from, int transposed);
/* The input is a rotary embedding's table: element [i, j] of [rows, width] is the cosine (kind 'c') or sine ('s') of
   (at + i) base^(-2 (j mod width/2) / width). */
void mg_model_table(mg_model *m, const char *input, char kind, const mg_extent *at, int64_t base);

const mg_extent *mg_extent_int(mg_model *m, int64_t n);
const mg_extent *mg_extent_name(mg_model *m, const char *name);
/* The rest of mg_extent.kind. */
const mg_extent *mg_extent_of(mg_model *m, char kind, const mg_extent *a, const mg_extent *b, int64_t n);

/* which: of several, NULL where it is the only one. */
mg_expr *mg_expr_value(mg_model *m, const char *name, const mg_extent *which);
mg_expr *mg_expr_op(mg_model *m, const char *op);                              /* a row of the table, or cast */
mg_expr *mg_expr_constant(mg_model *m, const char *text);                      /* "1/8", or a type's name for cast */
mg_expr *mg_expr_attribute(mg_model *m, const char *key, const mg_extent *size, mg_expr *constant); /* one of both */
mg_expr *mg_expr_list(mg_model *m, int n, const mg_extent *const *size);
mg_expr *mg_expr_arg(mg_model *m, mg_expr *op, mg_expr *arg);                  /* adds an argument; returns op */

/* Statements up to mg_function_end are its body; functions do not nest, and are there before they are called. */
mg_function *mg_function_begin(mg_model *m, const char *name);
void mg_function_param(mg_model *m, int state, const char *name, mg_dtype type, int rank, const mg_extent *const *dim);
void mg_function_result(mg_model *m, mg_dtype type, int rank, const mg_extent *const *dim);
void mg_function_end(mg_model *m);

mg_step *mg_step_let(mg_model *m, const char *name, mg_expr *value);
mg_step *mg_step_call(mg_model *m, int n, const char *const *name, const char *fn);     /* then mg_step_arg */
mg_step *mg_step_foreign(mg_model *m, int n, const char *const *name, int library, const char *symbol,
                         const char *file);
mg_step *mg_step_update(mg_model *m, mg_expr *state, const mg_extent *at, mg_expr *value);
mg_step *mg_step_match(mg_model *m, mg_expr *value, mg_dtype type, int rank, const mg_extent *const *dim);
mg_step *mg_step_return(mg_model *m);                                                   /* then mg_step_arg */
void mg_step_arg(mg_model *m, mg_step *s, const mg_expr *arg);
void mg_step_size(mg_model *m, mg_step *s, const mg_extent *size);
void mg_step_result(mg_model *m, mg_step *s, mg_dtype type, int rank, const mg_extent *const *dim);
void mg_step_in_place(mg_model *m, mg_step *s, const char *name); /* a result that is the operand of that name */
void mg_step_scratch(mg_model *m, mg_step *s, const mg_extent *bytes);
mg_step *mg_for_begin(mg_model *m, const char *name, const mg_extent *turns);
void mg_for_end(mg_model *m);
void mg_model_output(mg_model *m, const mg_expr *value);

/* The first error of building; it is MG_OK then, and shapes are mg_model_list_of's. */
mg_status mg_model_check(const mg_model *m, mg_error *e);

/* ---------------------------------------------------------------------------------------------- >>modeltext */

/* Any bytes may come in.  The grammar only: shapes are mg_model_list_of's. */
mg_status mg_model_parse(const char *text, size_t len, const char *where, const mg_config *cfg, mg_model **out,
                         mg_error *e);
/* Parsing what it prints gives the same model.  Free with mg_string_free. */
mg_status mg_model_print(const mg_model *m, char **out, mg_error *e);

/* ---------------------------------------------------------------------------------------------- >>modellist
   One list of launches: loops and calls are written out, every statement with operators is a piece, which is a
   program of mirage.h at given values of the symbols.  Pieces that are equal up to names are one. */

/* A tensor.  Those of a weight or state with several stand one behind another. */
typedef struct mg_value {
  const char *name;
  mg_value_kind kind;
  int64_t layer;      /* of several: which; else -1 */
  mg_dtype type;
  int rank;
  mg_size dim[MG_MAX_RANK];
  int outer;          /* the dimension that is outermost in memory, the others as they are written; see MEMORY */
  mg_size bytes;      /* MADE: all of it */
  const mg_model_decl *decl; /* NULL: MADE */
  mg_size at;         /* of a table's first row */
  uint32_t alias;     /* MADE: the value in whose place it is made, by a foreign kernel; 0: none */
  int taken;          /* 1: another was made in its place: nobody reads it after that */
} mg_value;

/* One operator of a piece. */
typedef struct mg_piece_node {
  const mg_expr *op;           /* its call, of which constants and attributes count */
  uint32_t n_operands, n_sizes;
  const uint16_t *operand;     /* in order: input k, or MG_MAX_IN + a node before it */
  const mg_size *size;         /* of attributes and lists, in order */
  mg_value out;                /* type and shape */
} mg_piece_node;
typedef struct mg_piece {
  const mg_expr *expr;         /* the statement's; NULL: it is of several, or of a part of one */
  int n_in, n_out;
  mg_value in[MG_MAX_IN], out[MG_MAX_OUT]; /* types and shapes */
  uint16_t made[MG_MAX_OUT];   /* by output: the node that makes it */
  uint32_t n_nodes;
  const mg_piece_node *node;
  int user;                    /* 1: the shape of a user's row is in it, which only mirage.h knows */
  uint64_t hash;
} mg_piece;

typedef enum mg_launch_kind { MG_LAUNCH_PIECE, MG_LAUNCH_UPDATE, MG_LAUNCH_FOREIGN } mg_launch_kind;
typedef struct mg_launch {
  mg_launch_kind kind;
  const mg_step *from;          /* the statement; its line */
  uint32_t piece;               /* PIECE: index */
  int n_in, n_out;
  /* Values.  UPDATE: in[0] goes into state out[0].  FOREIGN: states that it changes are in both. */
  uint32_t in[MG_MODEL_MAX_PARAMS], out[MG_MAX_OUT];
  int dim;                      /* UPDATE: along it, from element `at` on */
  mg_size at;
  uint32_t scratch;             /* FOREIGN: a value that it may write over, or 0 */
  int n_sizes;
  mg_size size[MG_MODEL_MAX_SYMBOLS]; /* FOREIGN */
} mg_launch;

/* What is to hold where the symbols have values, and could not be shown for all: dimension `dim` is `want`. */
typedef struct mg_size_check { const char *name; int dim; mg_size have, want; const mg_step *from; } mg_size_check;

/* A gain that a partition folds into the matrix behind it, as two programs of the same operands x, gain and matrix. */
typedef struct mg_fold { mg_piece written, folded; } mg_fold;

typedef struct mg_model_list {
  const mg_model *m;
  mg_sizes *sizes;    /* symbol k of the model is symbol k of the pool */
  mg_value *value;    /* from 1 on */
  mg_launch *launch;
  mg_piece *piece;
  mg_size_check *check;
  uint32_t n_values, n_launches, n_pieces, n_checks, cap_values, cap_launches, cap_pieces, cap_checks;
  uint32_t n_once;    /* of a partition: the first launches, of weights alone (>>modelparts); else 0 */
  uint32_t n_folds;   /* of a partition: what it folds, each once */
  mg_fold *fold;
  uint32_t output[MG_MAX_OUT];
  mg_graph *arena;
  const struct mg_model_list *whole; /* NULL, or the list that this is a partition of: the pool of sizes is its */
} mg_model_list;

/* Deduces all shapes.  Errors name where, expected, found.  m is read as long as the list lives. */
mg_status mg_model_list_of(const mg_model *m, mg_model_list **out, mg_error *e);
void mg_model_list_free(mg_model_list *l);
/* The program that piece k is where symbol s is sym[s]; its filled inputs, causal masks, stand behind the piece's
   own. */
mg_status mg_piece_at(const mg_model_list *l, uint32_t k, const int64_t *sym, mg_graph **out, mg_error *e);
/* The same as a family of the symbols that its inputs have.  MG_UNSUPPORTED or MG_BAD_INPUT where it is none, as a
   reshape may join a symbol with another dimension; MG_LIMIT where it passes a limit of programs. */
mg_status mg_piece_family(const mg_model_list *l, uint32_t k, mg_graph **out, mg_error *e);
/* The extents of a value there; MG_BAD_INPUT where one is none. */
mg_status mg_value_shape(const mg_model_list *l, const mg_value *v, const int64_t *sym, mg_shape *out, mg_error *e);
/* Below which the elements of an i32 value have to lie there, as it picks rows: the least of what its readers have. */
mg_status mg_value_bound(const mg_model_list *l, uint32_t v, const int64_t *sym, int64_t *bound, mg_error *e);
/* An input, weight or state; 0: none. */
uint32_t mg_value_find(const mg_model_list *l, const char *name, int64_t layer);

/* ---------------------------------------------------------------------------------------------- >>modelparts
   The partition: the same model as a list of pieces that a search takes, each of operators of several statements and
   layers.  Updates, foreign kernels and what mirage.h has no family for stand between them; an operator may always be
   a piece by itself.  Everything below the list, evaluation and plan among it, takes a partition as it takes a list.
   A piece's cost is what its kernels take at least: another one where what a product makes is contracted or taken
   apart, and for results of another shape; a launch each, its tensors moved once, its operations.  Of all ways to cut,
   within the limits, the sum over the pieces is the least, at the symbols' values given, or at their least and at their
   greatest together.
   What weights alone decide, at sizes that are numbers, is no part of a step: those operators are the list's first
   launches, each a piece, n_once of them, which a device runs once, when weights are loaded (mg_model_load).  What they
   make, of the type that it has as written, and steps read, is kept; what is equal is made once for all that read it.
   Left with its reader is what kernels do by addresses (reshape, transpose, slice, repeat), and what is larger than all
   that it is made of, but for products.
   mg_model_step, the reference, runs all launches in every step: it never has what is of other weights.
   `fold`: where all readers of a normed value are products by a weight that nobody else reads, its gain goes into these
   weights, rms_norm(x, g) W = rms_norm(x) (diag(g) W), which is made once.  It is rounded once more then, as what it is
   made of and the normed value were: in bf16 that is as safe as written; not in f16, where small products underflow, so
   that these stand as they are written.  Each fold is a pair of programs, which mg_model_search verifies (link 1), and
   mg_model_partition_check takes such a product for the one that is written, and nothing else. */

typedef struct mg_partition_config {
  const mg_machine *machine; /* NULL: the first row of the table */
  const int64_t *sym;        /* the values of the symbols that are priced; NULL: the least, and the greatest */
  int max_kernels;           /* a piece is of at most so many kernels by the count above; 0: 3 */
  int max_ops;               /* operators of a piece, as they are written; 0: 24, at most 64 */
  int fold;                  /* 1: gains of bf16 are folded into the weights behind them */
} mg_partition_config;

/* l is read as long as *out lives.  cfg may be NULL.  MG_LIMIT: more than 16384 operators. */
mg_status mg_model_partition(const mg_model_list *l, const mg_partition_config *cfg, mg_model_list **out, mg_error *e);
/* Decides, for all sizes, that a partition composes to its list: every operator, update and foreign kernel is taken as
   a function of which nothing is known, and outputs and states are the same terms.  MG_NOT_FOUND says which is not. */
mg_status mg_model_partition_check(const mg_model_list *partition, mg_error *e);
/* What of a partition is made when weights are loaded, and its bytes; *out is NULL where nothing is. */
mg_status mg_model_once_print(const mg_model_list *partition, char **out, mg_error *e);
/* ------------------------------------------------------------------------------------------- >>modelweights
   Tensors of safetensors files.  Files are mapped, not read: nobody may cut one short while it is open.  A header is
   checked as a whole: its form and length, every tensor's type, shape and place, and that they fill the file without
   a gap or an overlap. */

typedef struct mg_stored {
  const char *name, *type;   /* "BF16" */
  int rank;
  int64_t dim[8];
  const unsigned char *data; /* row-major, little-endian */
  uint64_t bytes;
  uint32_t file;
} mg_stored;
typedef struct mg_weights mg_weights;

/* All tensors of n paths: each a file, an index (.json) of several beside it, or a directory with a
   model.safetensors.index.json or a model.safetensors. */
mg_status mg_weights_open(int n, const char *const *path, mg_weights **out, mg_error *e);
/* A file that is in memory, and stays there as long as it is used; `where` names it in errors. */
mg_status mg_weights_of(const void *bytes, size_t n, const char *where, mg_weights **out, mg_error *e);
void mg_weights_close(mg_weights *w);
uint32_t mg_weights_count(const mg_weights *w);
const mg_stored *mg_weights_at(const mg_weights *w, uint32_t k); /* by name, ascending */
const mg_stored *mg_weights_find(const mg_weights *w, const char *name); /* NULL: it is not there */
/* Every weight of the list, at these values of the symbols, is there with its shape, as its text says.  The stored type
   is the weight's, or a float type that holds less; or F32, which is rounded to nearest.  rounded: NULL, or how many
   weights are. */
mg_status mg_weights_fit(const mg_weights *w, const mg_model_list *l, const int64_t *sym, int *rounded, mg_error *e);
/* Weight v as doubles, dense row-major.  mg_weights_fit was MG_OK. */
void mg_weights_read(const mg_weights *w, const mg_model_list *l, uint32_t v, double *to);

/* ----------------------------------------------------------------------------------------------- >>modelrun
   Reference evaluation: the list in float64, in order; nothing is rounded to its type. */

/* Where values are.  `data` is by value, dense row-major doubles: inputs and outputs at the sizes of the last step,
   weights at theirs, states at those of `room`.  With `weights` they are read from there, whenever a launch needs one:
   data has NULL for them. */
typedef struct mg_model_data {
  const mg_model_list *l;
  const mg_weights *weights;
  double **data;
  int64_t room[MG_MODEL_MAX_SYMBOLS];
  uint64_t seed;
} mg_model_data;
enum { MG_MODEL_MAX_ELEMENTS = 1 << 26 }; /* that weights and states, or one step, hold, of 8 bytes; MG_LIMIT beyond */

/* Random weights and states; of states, room for these values of the symbols. */
mg_status mg_model_data_new(const mg_model_list *l, const int64_t *room, uint64_t seed, mg_model_data **out,
                            mg_error *e);
/* Weights of files, which stay open as long as the data lives; states are 0. */
mg_status mg_model_data_open(const mg_model_list *l, const int64_t *room, const mg_weights *w, mg_model_data **out,
                             mg_error *e);
void mg_model_data_free(mg_model_data *d);

/* A foreign kernel's launch: operands and results dense, sizes as the text gives them. */
typedef struct mg_foreign_call {
  const mg_step *step;
  int n_in, n_out, n_sizes;
  const double *in[MG_MODEL_MAX_PARAMS];
  mg_shape in_shape[MG_MODEL_MAX_PARAMS];
  double *out[MG_MAX_OUT];
  mg_shape out_shape[MG_MAX_OUT];
  int64_t size[MG_MODEL_MAX_SYMBOLS];
} mg_foreign_call;

typedef struct mg_model_config {
  uint64_t inputs;                    /* 0: inputs are in data; else the seed of random ones */
  const struct mg_model_plan *plan;   /* NULL: every value has memory of its own; else the plan's arena is used */
  uint64_t order; /* with a plan: 0: as listed; else the seed of an order that its dependences allow */
  double work;                        /* scalar operations that a step may take; 0: 2^36; MG_LIMIT beyond */
  double elements;                    /* that it may hold; 0: MG_MODEL_MAX_ELEMENTS; MG_LIMIT beyond */
  void (*progress)(void *user, uint32_t launch, uint32_t n); /* NULL, or called before each of n launches */
  /* NULL: MG_UNSUPPORTED where one is launched. */
  mg_status (*foreign)(void *user, const mg_foreign_call *c, mg_error *e);
  void *user;
  /* NULL, or what runs a piece in the place of mg_eval: program g is the piece at these sizes, in and out as there. */
  mg_status (*piece)(void *piece_user, uint32_t piece, const mg_graph *g, const int64_t *sym, const void *const *in,
                     void *const *out, mg_error *e);
  void *piece_user;
} mg_model_config;

/* One step: symbol s is sym[s].  States are updated, outputs are in d->data[l->output[k]].  On an error before the
   first launch nothing has changed. */
mg_status mg_model_step(mg_model_data *d, const int64_t *sym, const mg_model_config *cfg, mg_error *e);

/* Runs a list and another of the same model, which may have a plan and hooks of its own, for some steps on random
   weights and inputs of `seed`, with room for the last.  Symbols that live in device memory grow by one a step.  off is
   the largest relative error of an output or a state, by Frobenius norms; 0: the same bits.  of: the name of that.  Of
   i32 it is counted which are others; and, where an output is the argmax of another one by a statement of its own,
   which of the second list's say no argmax of what that list itself gives there. */
typedef struct mg_model_distance {
  double off;
  const char *of;
  int steps;
  int64_t indices, misplaced;
} mg_model_distance;
mg_status mg_model_compare(const mg_model_list *a, const mg_model_list *b, const int64_t *sym, int steps, uint64_t seed,
                           const mg_model_config *of_a, const mg_model_config *of_b, mg_model_distance *d, mg_error *e);

/* ---------------------------------------------------------------------------------------------- >>modelplan
   The memory of what is made, outputs included: storages that values share one after another, made once for all sizes
   within the bounds.  A value takes a storage only where its size is shown to be at most the storage's, or at least
   it: the storage grows then; what cannot be decided gets a storage of its own. */

typedef struct mg_model_plan {
  const mg_model_list *l;
  mg_launch *launch;      /* what is launched, in order: a copy of the list's */
  uint32_t n_launches;
  uint32_t *storage;      /* by value: 1 + its storage; 0: not in the arena */
  uint32_t *first, *last; /* by value: the launch that makes it, the last that reads it; outputs, and what is made once
                             and steps read: n_launches */
  mg_size *size;          /* by storage: bytes */
  uint32_t n_storages;
  mg_size total;          /* bytes of the arena: each storage begins at a multiple of MG_MODEL_ALIGN */
  mg_graph *arena;
} mg_model_plan;
enum { MG_MODEL_ALIGN = 256 };

mg_status mg_model_plan_of(const mg_model_list *l, mg_model_plan **out, mg_error *e);
void mg_model_plan_free(mg_model_plan *p);
/* Decides again, from the launches alone and for all sizes within the bounds, that the plan is right: its launches
   are the list's, every value is there from its making to its last reader, no two in one storage live at once, all
   fit; what is made once is of weights alone, and stays as it is.  MG_BAD_INPUT says what is not. */
mg_status mg_model_plan_check(const mg_model_plan *p, mg_error *e);
/* Launches, storages, total. */
mg_status mg_model_plan_print(const mg_model_plan *p, char **out, mg_error *e);

#ifdef MIRAGE_SEARCH_H
/* ------------------------------------------------------------------------------------------------ >>modelfound
   The search of a partition's pieces, each once; this is there where mirage_search.h was included before.  A piece is
   searched as a family of its symbols, for all sizes, or at sizes that are given, and for these alone.  Nothing but
   what mirage_verify.h says EQUAL of is a result; a piece that has none stands as it is written, each operator a
   kernel.  Time is divided over the pieces, what one leaves goes to those behind it; what hooks that measure take is
   not of it. */

typedef struct mg_found_piece {
  mg_graph *program;         /* what was searched; NULL: the piece is no family, and no sizes are given */
  int n;                     /* its ranges (mg_range_of); 1 where it has no symbols */
  mg_graph *graph[MG_MAX_RANGES];
  mg_verify_report report[MG_MAX_RANGES];
  double timed_us[MG_MAX_RANGES][2]; /* at the least and the greatest size priced, where the search measured; else 0 */
  uint32_t launches;         /* of it in a step; 0: it is made once, and stands as it is written */
  int kernels[2];            /* of one launch, and microseconds by the model, at the sizes priced */
  double us[2];
  int written;               /* 1: it stands as it is written */
  int kept;                  /* 1: from cfg.keep, and verified anew */
  int complete;              /* 1: no limit cut the search short */
  char why[256];             /* why it stands as written, or what was kept was not taken; else empty */
} mg_found_piece;
typedef struct mg_model_found {
  const mg_model_list *l;
  int sized;                 /* 1: at sizes given */
  int n_at;                  /* sizes priced: those given, or the symbols' least and greatest */
  int64_t at[2][MG_MODEL_MAX_SYMBOLS];
  mg_found_piece *piece;
  mg_verify_report *fold;    /* of each of the list's folds: the folded program is EQUAL to the one that is written */
  double us[2];              /* of a step without foreign kernels and updates */
  double seconds;
} mg_model_found;

typedef struct mg_model_search_config {
  mg_search_config search;   /* time_limit_s is for everything together; no checkpoint */
  mg_verify_config verify;
  const int64_t *sym;        /* the symbols' values, or NULL: for all of them */
  const char *keep;          /* NULL, or a directory that is there: what is found stands in files, one a piece, as text;
                                what is there is verified, and taken.  An interrupt keeps what it cut short from it */
  int no_search;             /* 1: what is not kept stands as it is written */
  void *user;
  void (*progress)(void *user, const mg_model_found *found, uint32_t piece); /* NULL, or called before each piece */
} mg_model_search_config;
mg_model_search_config mg_model_search_config_default(void);

/* l: a partition.  MG_OK whenever every piece stands at least as it is written.  *out is to be freed before l. */
mg_status mg_model_search(const mg_model_list *l, const mg_model_search_config *cfg, mg_model_found *out, mg_error *e);
void mg_model_found_free(mg_model_found *f);
/* The graph of piece k where the symbols have these values, without symbols. */
mg_status mg_model_found_at(const mg_model_found *f, uint32_t k, const int64_t *sym, mg_graph **out, mg_error *e);
/* A table: by piece its launches, kernels, microseconds, verdict; the sums. */
mg_status mg_model_found_print(const mg_model_found *f, char **out, mg_error *e);
/* The chain: what is proved, bounded or only measured, of each piece and of the whole; *equal: every piece is EQUAL. */
mg_status mg_model_chain_print(const mg_model_found *f, int *equal, char **out, mg_error *e);
/* mg_model_config's hook `piece`: evaluates what was found; user: a mg_model_found. */
mg_status mg_model_found_run(void *user, uint32_t piece, const mg_graph *g, const int64_t *sym, const void *const *in,
                             void *const *out, mg_error *e);

#ifdef MIRAGE_CUDA_CUH
/* The .cu file of piece k, MODEL_pK, of all its ranges; this is there where mirage_cuda.cuh was included before.
   MG_UNSUPPORTED: the piece is no family, and no sizes are given.  Free with mg_string_free. */
mg_status mg_model_emit(const mg_model_found *f, uint32_t k, const mg_emit_config *cfg, char **text, mg_error *e);

/* Steps of the model by the emitted kernels of its pieces, compiled for the CPU and emulated (mg_cuda_check says how),
   from values that their types hold, against the list in float64; the yardstick is the model operator by operator, each
   result rounded to its type.  A piece that has no file is evaluated as that is. */
typedef struct mg_model_emulation {
  mg_model_distance emulated, eager; /* from float64 */
  uint32_t kernels, evaluated;       /* distinct pieces that were emulated; that were not */
  uint32_t launches;
} mg_model_emulation;
/* MG_OK: off by at most 1.5 times what the yardstick is off by, no index misplaced; where one draw of weights and
   inputs is further off, as one large element can make it, the root mean squares over four draws decide.  MG_NOT_FOUND:
   else, or a kernel faults.  Of cfg count include_dir, work_dir, cxx, timeout_s, and jobs: compilers at a time; it may
   be NULL. */
mg_status mg_model_emulate(const mg_model_found *f, const int64_t *sym, int steps, uint64_t seed,
                           const mg_check_config *cfg, mg_model_emulation *r, mg_error *e);

/* ------------------------------------------------------------------------------------------------- >>modelloaded
   A model on a device (mirage_cuda.cuh, mg_device): its pieces' files and foreign kernels compiled and loaded, weights
   and states in its memory, the plan's arena at the bounds of all sizes, a workspace for each file.  A step is the list
   of launches; from the second on a recorded graph, one for each vector of grid counts, never for a value.  Symbols of
   the kind `device` are read by the kernels in device memory, as are the rows where updates stand: their values, of one
   vector, change one copy before the graph, and not the graph.  Other symbols come with the launch: for their values
   the vector's graph is changed.  So it is for a `device` symbol that some launch has to hand over itself, as
   mg_model_loaded_info says: in the sizes of a tensor copy or of a library's product; of a foreign kernel whose file
   does not read it there; in an update whose rows do not each lie in one, in multiples of 16 bytes.
   What a partition makes once is made when weights are there; those that no step reads are freed then, and what it is
   made of cannot be put any more: other weights are loaded again.  A kernel whose early inputs are weights, or made
   once, is launched by NAME_launch_pdl.  What makes a value that only an update reads, a row of the state that lies in
   one, of a multiple of 16 bytes, makes it there: such an update is no copy.
   Foreign kernels: `extern user "k" in "f.cu"`: that file, beside the model's or as it is named, has k_launch as
   emitted files have it (mirage_cuda.cuh, >>host), with the sizes given as `sym`, the scratch as its workspace; where
   it exports k_info with `device`, and k_blocks, sizes are read in device memory, as emitted kernels do, and k_launch
   is asked once for each vector of grid counts: it refuses no size within the bounds;
   `extern library "cublas.matmul"`: the product of two operands. */

typedef struct mg_model_loaded mg_model_loaded;
typedef struct mg_model_load_config {
  const mg_weights *weights;  /* of files; states are 0 */
  const mg_model_data *data;  /* else, if not NULL, the weights and states of that, of the list or of its whole, with
                                 the same room; weights that it has of files are read from there */
  uint64_t seed;              /* else at random: copies of a pool, made on the device */
  int no_graph, no_early;     /* 1: every step by launches in the stream; none by NAME_launch_pdl */
  int no_device;              /* 1: all symbols come with the launch */
  void *user;
  void (*progress)(void *user, const char *what, double done); /* NULL, or called as it loads */
} mg_model_load_config;
typedef struct mg_model_loaded_info {
  uint32_t files, foreign;    /* compiled; those of them that are not mirage's */
  uint32_t launches, early, copies, placed; /* a step's; updates that are copies, and that are not */
  uint32_t once;              /* launches that were run as weights were loaded */
  uint32_t followed, graphs;  /* symbols, as bits, that recorded graphs follow; the graphs that there are */
  /* graphs that were captured for a vector of grid counts; for values of one that had its own */
  uint64_t captured, changed;
  char handed[160];           /* why a `device` symbol is not followed, the first; empty: all are */
  uint64_t arena, weights, states, workspaces; /* bytes; weights: that are still there */
  uint64_t read;              /* bytes of weights and states that a step reads at least, at its last sizes */
} mg_model_loaded_info;

/* room: symbols' values that steps have at most; those of a state's sizes but for the dimension that grows are every
   step's.  f and d are read as long as *out lives.  Everything that is wrong is said here, before anything runs:
   MG_UNSUPPORTED names the piece that has no kernel. */
mg_status mg_model_load(const mg_model_found *f, mg_device *d, const int64_t *room, const mg_model_load_config *cfg,
                        mg_model_loaded **out, mg_error *e);
void mg_model_unload(mg_model_loaded *g);
void mg_model_loaded_say(const mg_model_loaded *g, mg_model_loaded_info *i);
/* Input v, dense row-major at these sizes, rounded to its type; tables (mg_model_table) are put by the step. */
mg_status mg_model_put(mg_model_loaded *g, uint32_t v, const int64_t *sym, const double *x, mg_error *e);
/* All inputs but tables, as a step of the whole (mg_model_list) with mg_model_config.inputs = seed has them. */
mg_status mg_model_put_random(mg_model_loaded *g, const int64_t *sym, uint64_t seed, mg_error *e);
/* What an input, state or output is; it waits for the step. */
mg_status mg_model_get(mg_model_loaded *g, uint32_t v, const int64_t *sym, double *x, mg_error *e);
/* One step; it comes back before the device is done. */
mg_status mg_model_launch(mg_model_loaded *g, const int64_t *sym, mg_error *e);
/* The last step again, n times, by the graph: microseconds of each.  States are those of one step. */
mg_status mg_model_time(mg_model_loaded *g, int n, double *us, mg_error *e);
/* One step by launches in the stream, each timed by itself: us[k] of launch k of the list, 0 where it is none; so that
   each starts when the one before it has ended, which in a graph it need not. */
mg_status mg_model_timeline(mg_model_loaded *g, const int64_t *sym, double *us, mg_error *e);
/* Teacher-forced steps on the device against the list in float64, as mg_model_emulate does. */
mg_status mg_model_loaded_check(const mg_model_found *f, mg_device *d, const int64_t *sym, int steps, uint64_t seed,
                                const mg_model_load_config *cfg, mg_model_emulation *r, mg_error *e);
#endif
#endif

#endif /* MIRAGE_DEVICE_ONLY */
#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_MODEL_H */

/* =================================================================================================== implementation */

#if (defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_MODEL_IMPLEMENTATION)) && !defined(MIRAGE_DEVICE_ONLY)
#ifndef MIRAGE_MODEL_IMPLEMENTED
#define MIRAGE_MODEL_IMPLEMENTED

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------- >>making
   Nodes are made at the builder's line and column.  Lists are chained in order; the tail of every open body is kept. */

enum { MGI_EXTENT_WEIGHT = 256 };

MGI_FN void mgi_model_err(mg_model *m, mg_status s, const char *fmt, ...) {
  char msg[sizeof m->err.msg], where[sizeof m->err.where];
  va_list ap;
  if (!m || m->err.status != MG_OK) return;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  snprintf(where, sizeof where, "%.60s:%d:%d", m->where ? m->where : m->name, m->line, m->column);
  mg_fail(&m->err, s, where, "%s", msg);
  m->err.line = m->line, m->err.column = m->column;
}
MGI_FN int mgi_model_good(const mg_model *m) { return m && m->err.status == MG_OK; }
/* Zeroed memory of a program's arena; NULL, with its error in *e, where that is out. */
MGI_FN void *mgi_arena(mg_graph *arena, size_t bytes, mg_error *e) {
  void *p = mgi_alloc(arena->root, bytes);
  if (!p) mg_check(arena, e);
  return p;
}
MGI_FN void *mgi_model_alloc(mg_model *m, size_t bytes) {
  return mgi_model_good(m) ? mgi_arena(m->arena, bytes, &m->err) : NULL;
}
MGI_FN const char *mgi_model_copy(mg_model *m, const char *s) {
  char *p = (char *)mgi_model_alloc(m, strlen(s) + 1);
  return p ? strcpy(p, s) : NULL;
}
MGI_FN int mgi_type_word(const char *s) {
  for (int t = 0; t < MG_DTYPE_COUNT; t++)
    if (!strcmp(s, mg_dtype_name((mg_dtype)t))) return 1;
  return 0;
}
MGI_FN int mgi_model_word(const char *s) { /* what is no name in a model */
  static const char *const words[] = {"model",  "sym",    "input",  "weight", "state", "fn",     "for",     "match",
                                      "update", "extern", "return", "output", "floor", "ceil",   "scratch", "device",
                                      "from",   "transposed"};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (!strcmp(s, words[k])) return 1;
  return mgi_type_word(s);
}
/* A copy of a name; NULL and an error where it is none. */
MGI_FN const char *mgi_model_name(mg_model *m, const char *s) {
  if (!mgi_model_good(m)) return NULL;
  if (!s || !mgi_good_name(s) || mgi_model_word(s)) {
    mgi_model_err(m, MG_BAD_INPUT, "expected a name, found '%.40s'%s", s ? s : "(null)",
                  s && mgi_good_name(s) ? ", which is a word of the text form" : "");
    return NULL;
  }
  return mgi_model_copy(m, s);
}

mg_model *mg_model_new(const char *name, const mg_config *cfg) {
  mg_graph *arena = name && mgi_good_name(name) ? mg_program_new(name, cfg) : NULL;
  mg_model *m = arena ? (mg_model *)mgi_alloc(arena->root, sizeof *m) : NULL;
  if (!m) return mg_graph_free(arena), (mg_model *)NULL;
  m->arena = arena, m->name = arena->name;
  m->tail[0] = &m->body, m->last_decl = &m->decls, m->last_function = &m->functions;
  return m;
}
void mg_model_free(mg_model *m) {
  if (m) mg_graph_free(m->arena);
}
mg_status mg_model_check(const mg_model *m, mg_error *e) {
  if (m->err.status == MG_OK && (m->depth || m->open))
    return mg_fail(e, MG_BAD_INPUT, m->name, "a loop or function is not ended");
  if (m->err.status == MG_OK && !m->n_outputs) return mg_fail(e, MG_BAD_INPUT, m->name, "a model has an output");
  if (e) *e = m->err;
  return m->err.status;
}

MGI_FN int mgi_model_symbol_find(const mg_model *m, const char *name) {
  for (int k = 0; k < m->n_symbols; k++)
    if (!strcmp(m->symbol[k].name, name)) return k;
  return -1;
}
MGI_FN const mg_model_decl *mgi_decl_find(const mg_model *m, const char *name) {
  for (const mg_model_decl *d = m->decls; d; d = d->next)
    if (!strcmp(d->as.name, name)) return d;
  return NULL;
}
MGI_FN mg_function *mgi_function_find(const mg_model *m, const char *name) {
  for (mg_function *f = m->functions; f; f = f->next)
    if (!strcmp(f->name, name)) return f;
  return NULL;
}
/* 1, and an error, where the name is taken at the model's own level. */
MGI_FN int mgi_model_taken(mg_model *m, const char *name) {
  const char *as = mgi_model_symbol_find(m, name) >= 0 ? "a symbol"
                   : mgi_decl_find(m, name)            ? "an input, weight or state"
                   : mgi_function_find(m, name)        ? "a function"
                                                       : NULL;
  if (as) mgi_model_err(m, MG_BAD_INPUT, "'%s' is %s already", name, as);
  return as != NULL;
}
void mg_model_symbol_new(mg_model *m, const char *name, int64_t least, int64_t most, int device) {
  const char *copy = mgi_model_name(m, name);
  if (!copy || mgi_model_taken(m, copy)) return;
  if (m->n_symbols == MG_MODEL_MAX_SYMBOLS) {
    mgi_model_err(m, MG_LIMIT, "a model has at most %d symbols", MG_MODEL_MAX_SYMBOLS);
    return;
  }
  if (least < 1 || most < least || most > (int64_t)1 << 40) {
    mgi_model_err(m, MG_BAD_INPUT, "%s: expected bounds 1 <= least <= most <= 2^40, found %lld..%lld", copy,
                  (long long)least, (long long)most);
    return;
  }
  mg_model_symbol *s = &m->symbol[m->n_symbols++];
  s->name = copy, s->least = least, s->most = most, s->device = device;
}
/* Fills a signature; 0 and an error where something is missing. */
MGI_FN int mgi_sign(mg_model *m, mg_signature *s, const char *name, mg_dtype type, int rank,
                    const mg_extent *const *dim) {
  if (!mgi_model_good(m)) return 0;
  memset(s, 0, sizeof *s);
  s->name = name, s->type = type, s->rank = rank, s->line = m->line, s->column = m->column;
  if ((unsigned)type >= MG_DTYPE_COUNT) { mgi_model_err(m, MG_BAD_INPUT, "unknown dtype %d", (int)type); return 0; }
  if (rank < 1 || rank > MG_MAX_RANK) {
    mgi_model_err(m, MG_BAD_INPUT, "a tensor has rank 1 to %d, found %d", MG_MAX_RANK, rank);
    return 0;
  }
  for (int d = 0; d < rank; d++) {
    if (!dim[d]) { mgi_model_err(m, MG_BAD_INPUT, "dimension %d has no size", d); return 0; }
    s->dim[d] = dim[d];
  }
  return 1;
}
void mg_model_declare(mg_model *m, mg_value_kind kind, const char *name, int64_t count, mg_dtype type, int rank,
                      const mg_extent *const *dim) {
  const char *copy = mgi_model_name(m, name);
  mg_model_decl *d = copy && !mgi_model_taken(m, copy) ? (mg_model_decl *)mgi_model_alloc(m, sizeof *d) : NULL;
  if (!d || !mgi_sign(m, &d->as, copy, type, rank, dim)) return;
  if (kind != MG_VALUE_INPUT && kind != MG_VALUE_WEIGHT && kind != MG_VALUE_STATE) {
    mgi_model_err(m, MG_BAD_INPUT, "'%s' is an input, a weight or a state", copy);
    return;
  }
  if (count < 0 || count > MG_MODEL_MAX_LAYERS || (count && kind == MG_VALUE_INPUT)) {
    mgi_model_err(m, MG_BAD_INPUT, "'%s': expected 1 to %d of a weight or state, found %lld", copy, MG_MODEL_MAX_LAYERS,
                  (long long)count);
    return;
  }
  if (m->n_decls++ == MG_MODEL_MAX_DECLS) {
    mgi_model_err(m, MG_LIMIT, "at most %d inputs, weights and states", MG_MODEL_MAX_DECLS);
    return;
  }
  d->kind = kind, d->count = count, d->as.state = kind == MG_VALUE_STATE;
  *m->last_decl = d, m->last_decl = &d->next;
}

/* A kernel's, file's or tensor's name, as it stands in quotes. */
MGI_FN const char *mgi_model_quote(mg_model *m, const char *s) {
  size_t n = s ? strlen(s) : 0, k = 0;
  while (k < n && s[k] >= ' ' && s[k] <= '~' && s[k] != '"' && s[k] != '\\') k++;
  if (n && n <= 200 && k == n) return mgi_model_copy(m, s);
  mgi_model_err(m, MG_BAD_INPUT, "expected 1 to 200 printable characters without quotes and backslashes");
  return NULL;
}
MGI_FN mg_model_decl *mgi_decl_of(mg_model *m, mg_value_kind kind, const char *name) {
  mg_model_decl *d = mgi_model_good(m) ? m->decls : NULL;
  while (d && (strcmp(d->as.name, name) || d->kind != kind)) d = d->next;
  if (!d)
    mgi_model_err(m, MG_BAD_INPUT, "expected %s, found '%.64s'", kind == MG_VALUE_WEIGHT ? "a weight" : "an input",
                  name);
  return d;
}
void mg_model_from(mg_model *m, const char *weight, int n, const char *const *from, int transposed) {
  mg_model_decl *d = mgi_decl_of(m, MG_VALUE_WEIGHT, weight);
  if (!d) return;
  if (n < 1 || n > MG_MODEL_MAX_PARTS || d->n_from)
    mgi_model_err(m, MG_BAD_INPUT, "a weight is made of 1 to %d tensors, said once", MG_MODEL_MAX_PARTS);
  if (transposed && d->as.rank < 2)
    mgi_model_err(m, MG_BAD_INPUT, "'%s' has one dimension: it is not transposed", weight);
  for (int k = 0; k < n && mgi_model_good(m); k++) {
    const char *brace = from[k] ? strpbrk(from[k], "{}") : NULL;
    const int layer = brace && !strncmp(brace, "{l}", 3) && !strpbrk(brace + 3, "{}");
    if ((brace || d->count) && !(layer && d->count))
      mgi_model_err(m, MG_BAD_INPUT, d->count ? "expected one {l}, the layer, in the name '%.100s'"
                                              : "'%.100s': there are no layers of '%.64s'", from[k], weight);
    d->from[k] = mgi_model_quote(m, from[k]);
  }
  d->n_from = n, d->transposed = transposed;
}
void mg_model_table(mg_model *m, const char *input, char kind, const mg_extent *at, int64_t base) {
  mg_model_decl *d = at ? mgi_decl_of(m, MG_VALUE_INPUT, input) : NULL;
  if (!d) return;
  if ((kind != 'c' && kind != 's') || base < 1 || d->as.rank != 2 || d->as.type == MG_I32) {
    mgi_model_err(m, MG_BAD_INPUT, "a table is cos or sin, with a base of 1 or more, in floats of [rows, width]");
    return;
  }
  d->table = kind, d->at = at, d->base = base;
}

MGI_FN mg_extent *mgi_extent_new(mg_model *m, char kind) {
  mg_extent *x = (mg_extent *)mgi_model_alloc(m, sizeof *x);
  if (x) x->kind = kind, x->weight = 1, x->line = m->line, x->column = m->column;
  return x;
}
const mg_extent *mg_extent_int(mg_model *m, int64_t n) {
  mg_extent *x = mgi_extent_new(m, 'i');
  if (x) x->n = n;
  return x;
}
const mg_extent *mg_extent_name(mg_model *m, const char *name) {
  const char *copy = mgi_model_name(m, name);
  mg_extent *x = copy ? mgi_extent_new(m, 'n') : NULL;
  if (x) x->name = copy;
  return x;
}
const mg_extent *mg_extent_of(mg_model *m, char kind, const mg_extent *a, const mg_extent *b, int64_t n) {
  const int by = kind == 'f' || kind == 'c', two = kind == '+' || kind == '-' || kind == '*';
  if (!mgi_model_good(m) || !a || (two && !b)) return NULL;
  if (!by && !two) {
    mgi_model_err(m, MG_BAD_INPUT, "sizes are made by +, -, *, floor and ceil, found '%c'", kind);
    return NULL;
  }
  if (by && n < 1) {
    mgi_model_err(m, MG_BAD_INPUT, "expected a divisor of 1 or more, found %lld", (long long)n);
    return NULL;
  }
  const int weight = 1 + a->weight + (two ? b->weight : 0);
  if (weight > MGI_EXTENT_WEIGHT) {
    mgi_model_err(m, MG_LIMIT, "a size has at most %d terms", MGI_EXTENT_WEIGHT);
    return NULL;
  }
  mg_extent *x = mgi_extent_new(m, kind);
  if (x) x->weight = weight, x->a = a, x->b = two ? b : NULL, x->n = by ? n : 0;
  return x;
}

MGI_FN mg_expr *mgi_expr_new(mg_model *m, char kind, const char *name) {
  mg_expr *x = (mg_expr *)mgi_model_alloc(m, sizeof *x);
  if (x) x->kind = kind, x->name = name, x->line = m->line, x->column = m->column;
  return x;
}
mg_expr *mg_expr_value(mg_model *m, const char *name, const mg_extent *which) {
  const char *copy = mgi_model_name(m, name);
  mg_expr *x = copy ? mgi_expr_new(m, 'v', copy) : NULL;
  if (x) x->size = which;
  return x;
}
mg_expr *mg_expr_op(mg_model *m, const char *op) {
  if (!mgi_model_good(m)) return NULL;
  if (!op || (!mg_op_find(op, strlen(op)) && strcmp(op, "cast"))) {
    const int fn = op && mgi_function_find(m, op);
    mgi_model_err(m, MG_BAD_INPUT,
                  fn ? "'%.40s' is a function: a call of it is the whole right side"
                     : "'%.40s' is no operator, nor a function defined before; MG_USER_OPS adds an operator by a row",
                  op ? op : "(null)");
    return NULL;
  }
  const char *copy = mgi_model_copy(m, op);
  return copy ? mgi_expr_new(m, 'o', copy) : NULL;
}
mg_expr *mg_expr_constant(mg_model *m, const char *text) {
  if (!mgi_model_good(m)) return NULL;
  if (!text || !*text || strlen(text) > 64 ||
      (strspn(text, "0123456789eE+-./") != strlen(text) && !mgi_type_word(text))) {
    mgi_model_err(m, MG_BAD_INPUT, "expected a constant such as 1/8, found '%.40s'", text ? text : "(null)");
    return NULL;
  }
  const char *copy = mgi_model_copy(m, text);
  return copy ? mgi_expr_new(m, '#', copy) : NULL;
}
mg_expr *mg_expr_attribute(mg_model *m, const char *key, const mg_extent *size, mg_expr *constant) {
  if (!mgi_model_good(m) || !size == !constant || (constant && constant->kind != '#')) return NULL;
  if (!key || !mgi_good_name(key)) {
    mgi_model_err(m, MG_BAD_INPUT, "expected an attribute, found '%.40s'", key ? key : "(null)");
    return NULL;
  }
  const char *copy = mgi_model_copy(m, key);
  mg_expr *x = copy ? mgi_expr_new(m, '=', copy) : NULL;
  if (x) x->size = size, x->arg = constant;
  return x;
}
mg_expr *mg_expr_list(mg_model *m, int n, const mg_extent *const *size) {
  if (!mgi_model_good(m)) return NULL;
  if (n < 1 || n > MG_MAX_RANK) {
    mgi_model_err(m, MG_BAD_INPUT, "a list has 1 to %d sizes, found %d", MG_MAX_RANK, n);
    return NULL;
  }
  for (int k = 0; k < n; k++)
    if (!size[k]) return NULL;
  mg_expr *x = mgi_expr_new(m, '[', NULL);
  for (int k = 0; x && k < n; k++) x->list[k] = size[k];
  if (x) x->n = n;
  return x;
}
mg_expr *mg_expr_arg(mg_model *m, mg_expr *op, mg_expr *arg) {
  if (!mgi_model_good(m) || !op || !arg) return NULL;
  if (op->kind != 'o' || arg->used || arg == op) {
    mgi_model_err(m, MG_BAD_INPUT, "an argument belongs to one operator");
    return NULL;
  }
  if (op->last) op->last->next = arg;
  else op->arg = arg;
  op->last = arg, arg->used = 1;
  if (arg->depth >= op->depth) op->depth = arg->depth + 1;
  if (op->depth > MGI_MAX_NEST) mgi_model_err(m, MG_LIMIT, "calls nest at most %d deep", MGI_MAX_NEST);
  return op;
}

mg_function *mg_function_begin(mg_model *m, const char *name) {
  const char *copy = mgi_model_name(m, name);
  if (!copy || mgi_model_taken(m, copy)) return NULL;
  if (mg_op_find(copy, strlen(copy)) || !strcmp(copy, "cast")) {
    mgi_model_err(m, MG_BAD_INPUT, "'%s' is an operator", copy);
    return NULL;
  }
  if (m->open || m->depth) {
    mgi_model_err(m, MG_BAD_INPUT, "a function stands at the model's own level");
    return NULL;
  }
  if (m->n_functions++ == MG_MODEL_MAX_DECLS) {
    mgi_model_err(m, MG_LIMIT, "at most %d functions", MG_MODEL_MAX_DECLS);
    return NULL;
  }
  mg_function *f = (mg_function *)mgi_model_alloc(m, sizeof *f);
  if (!f) return NULL;
  f->name = copy, f->line = m->line, f->column = m->column;
  m->open = f, m->tail[m->depth = 1] = &f->body;
  return f;
}
void mg_function_param(mg_model *m, int state, const char *name, mg_dtype type, int rank, const mg_extent *const *dim) {
  mg_function *f = mgi_model_good(m) ? m->open : NULL;
  const char *copy = f ? mgi_model_name(m, name) : NULL;
  if (!copy) return;
  if (f->n_params == MG_MODEL_MAX_PARAMS) {
    mgi_model_err(m, MG_LIMIT, "a function has at most %d parameters", MG_MODEL_MAX_PARAMS);
    return;
  }
  for (int k = 0; k < f->n_params; k++)
    if (!strcmp(f->param[k].name, copy)) {
      mgi_model_err(m, MG_BAD_INPUT, "'%s' is a parameter already", copy);
      return;
    }
  if (!mgi_sign(m, &f->param[f->n_params], copy, type, rank, dim)) return;
  f->param[f->n_params++].state = state;
}
void mg_function_result(mg_model *m, mg_dtype type, int rank, const mg_extent *const *dim) {
  mg_function *f = mgi_model_good(m) ? m->open : NULL;
  if (!f) return;
  if (f->n_results == MG_MAX_OUT) {
    mgi_model_err(m, MG_LIMIT, "a function has at most %d results", MG_MAX_OUT);
    return;
  }
  if (mgi_sign(m, &f->result[f->n_results], NULL, type, rank, dim)) f->n_results++;
}
void mg_function_end(mg_model *m) {
  if (!mgi_model_good(m)) return;
  if (!m->open || m->depth != 1) { mgi_model_err(m, MG_BAD_INPUT, "no function is open, or a loop in it is"); return; }
  *m->last_function = m->open, m->last_function = &m->open->next;
  m->open = NULL, m->depth = 0;
}

MGI_FN mg_step *mgi_step_new(mg_model *m, mg_step_kind kind, int n, const char *const *name) {
  mg_step *s = (mg_step *)mgi_model_alloc(m, sizeof *s);
  if (!s) return NULL;
  if (n < 0 || n > MG_MAX_OUT) { mgi_model_err(m, MG_LIMIT, "at most %d names", MG_MAX_OUT); return NULL; }
  s->kind = kind, s->line = m->line, s->column = m->column, s->n_names = n;
  for (int k = 0; k < n; k++) {
    if (!(s->name[k] = mgi_model_name(m, name[k]))) return NULL;
    for (int j = 0; j < k; j++)
      if (!strcmp(s->name[j], s->name[k])) {
        mgi_model_err(m, MG_BAD_INPUT, "'%s' is named twice", s->name[k]);
        return NULL;
      }
  }
  *m->tail[m->depth] = s, m->tail[m->depth] = &s->next;
  return s;
}
mg_step *mg_step_let(mg_model *m, const char *name, mg_expr *value) {
  mg_step *s = value ? mgi_step_new(m, MG_STEP_LET, 1, &name) : NULL;
  if (s) s->value = value;
  return s;
}
mg_step *mg_step_call(mg_model *m, int n, const char *const *name, const char *fn) {
  const mg_function *f = mgi_model_good(m) ? mgi_function_find(m, fn) : NULL;
  if (mgi_model_good(m) && !f) mgi_model_err(m, MG_BAD_INPUT, "'%.40s' is no function defined before", fn);
  if (f && f->n_results != n)
    mgi_model_err(m, MG_BAD_INPUT, "%s has %d result%s, found %d name%s", f->name, f->n_results,
                  f->n_results == 1 ? "" : "s", n, n == 1 ? "" : "s");
  mg_step *s = f ? mgi_step_new(m, MG_STEP_CALL, n, name) : NULL;
  if (s) s->fn = f;
  return s;
}
mg_step *mg_step_foreign(mg_model *m, int n, const char *const *name, int library, const char *symbol,
                         const char *file) {
  mg_step *s = mgi_step_new(m, MG_STEP_FOREIGN, n, name);
  if (!s) return NULL;
  s->library = library, s->symbol = mgi_model_quote(m, symbol), s->file = file ? mgi_model_quote(m, file) : NULL;
  return mgi_model_good(m) ? s : NULL;
}
mg_step *mg_step_update(mg_model *m, mg_expr *state, const mg_extent *at, mg_expr *value) {
  mg_step *s = state && at && value ? mgi_step_new(m, MG_STEP_UPDATE, 0, NULL) : NULL;
  if (s) s->target = state, s->at = at, s->value = value;
  return s;
}
mg_step *mg_step_match(mg_model *m, mg_expr *value, mg_dtype type, int rank, const mg_extent *const *dim) {
  mg_step *s = value ? mgi_step_new(m, MG_STEP_MATCH, 0, NULL) : NULL;
  if (s) s->target = value, s->n_results = mgi_sign(m, &s->result[0], NULL, type, rank, dim);
  return s;
}
mg_step *mg_step_return(mg_model *m) {
  if (mgi_model_good(m) && !m->open) mgi_model_err(m, MG_BAD_INPUT, "a return stands in a function");
  if (mgi_model_good(m) && m->depth > 1) mgi_model_err(m, MG_BAD_INPUT, "a return stands in no loop");
  return mgi_step_new(m, MG_STEP_RETURN, 0, NULL);
}
void mg_step_arg(mg_model *m, mg_step *s, const mg_expr *arg) {
  if (!mgi_model_good(m) || !s || !arg) return;
  if (s->n_args == MG_MODEL_MAX_PARAMS) {
    mgi_model_err(m, MG_LIMIT, "at most %d operands", MG_MODEL_MAX_PARAMS);
    return;
  }
  s->arg[s->n_args++] = arg;
}
void mg_step_size(mg_model *m, mg_step *s, const mg_extent *size) {
  if (!mgi_model_good(m) || !s || !size) return;
  if (s->n_sizes == MG_MODEL_MAX_SYMBOLS) {
    mgi_model_err(m, MG_LIMIT, "at most %d sizes", MG_MODEL_MAX_SYMBOLS);
    return;
  }
  s->size[s->n_sizes++] = size;
}
void mg_step_result(mg_model *m, mg_step *s, mg_dtype type, int rank, const mg_extent *const *dim) {
  if (!mgi_model_good(m) || !s) return;
  if (s->n_results == MG_MAX_OUT) { mgi_model_err(m, MG_LIMIT, "at most %d results", MG_MAX_OUT); return; }
  if (mgi_sign(m, &s->result[s->n_results], NULL, type, rank, dim)) s->n_results++;
}
void mg_step_in_place(mg_model *m, mg_step *s, const char *name) {
  int is = 0;
  if (!mgi_model_good(m) || !s || !name) return;
  if (s->n_results == MG_MAX_OUT) { mgi_model_err(m, MG_LIMIT, "at most %d results", MG_MAX_OUT); return; }
  for (int k = 0; k < s->n_args; k++)
    if (s->arg[k]->kind == 'v' && !strcmp(s->arg[k]->name, name)) {
      if (is) { mgi_model_err(m, MG_BAD_INPUT, "'%.64s' is several operands of %s", name, s->symbol); return; }
      is = k + 1;
    }
  if (!is) { mgi_model_err(m, MG_BAD_INPUT, "expected an operand of %s, found '%.64s'", s->symbol, name); return; }
  s->in_place[s->n_results++] = is;
}
void mg_step_scratch(mg_model *m, mg_step *s, const mg_extent *bytes) {
  if (mgi_model_good(m) && s) s->at = bytes;
}
mg_step *mg_for_begin(mg_model *m, const char *name, const mg_extent *turns) {
  if (!turns) return NULL;
  if (mgi_model_good(m) && m->depth + 1 == MGI_MAX_NEST) {
    mgi_model_err(m, MG_LIMIT, "loops nest at most %d deep", MGI_MAX_NEST - 1);
    return NULL;
  }
  mg_step *s = mgi_step_new(m, MG_STEP_FOR, 1, &name);
  if (s) s->at = turns, m->tail[++m->depth] = &s->body;
  return s;
}
void mg_for_end(mg_model *m) {
  if (!mgi_model_good(m)) return;
  if (m->depth <= (m->open ? 1 : 0)) { mgi_model_err(m, MG_BAD_INPUT, "no loop is open"); return; }
  m->depth--;
}
void mg_model_output(mg_model *m, const mg_expr *value) {
  if (!mgi_model_good(m) || !value) return;
  if (m->open || m->depth) { mgi_model_err(m, MG_BAD_INPUT, "an output stands at the model's own level"); return; }
  if (m->n_outputs == MG_MAX_OUT) { mgi_model_err(m, MG_LIMIT, "a model has at most %d outputs", MG_MAX_OUT); return; }
  m->output[m->n_outputs++] = value;
}

/* -------------------------------------------------------------------------------------------------- >>reading
   Recursive descent over mirage.h's words (mgi_next); every piece is handed to the builder, whose error ends the parse.
     model     = "model" NAME { sym | declare | fn | statement | "output" value {"," value} }
     sym       = "sym" NAME "in" INT ".." INT ["device"]
     declare   = ("input" | "weight" | "state") NAME ["[" INT "]"] {"," ..} ":" type [from | table]
     from      = "from" QUOTED {"," QUOTED} ["transposed"]       table = "=" ("cos" | "sin") "at" size "base" INT
     type      = dtype "[" size {"," size} "]"
     fn        = "fn" NAME "(" NAME ":" ["state"] type {"," ..} ")" ":" type {"," type} "{" {statement} "}"
     statement = NAME {"," NAME} "=" (expr | fn "(" [expr {"," expr}] ")" | foreign)
               | "update" value "at" size "=" expr
               | "match" value ":" type  |  "for" NAME "=" size "{" {statement} "}"  |  "return" expr {"," expr}
     foreign   = "extern" ("user" QUOTED ["in" QUOTED] | "library" QUOTED)
                 "(" [expr {"," expr}] [";" size {"," size}] ")" ":" result {"," result} ["scratch" size]
     result    = type | "in" NAME
     expr      = value | OP "(" [argument {"," argument}] ")"
     argument  = expr | constant | dtype | list | NAME "=" (size | constant)
     value     = NAME ["[" size "]"]                               list = "[" size {"," size} "]"
     size      = ["-"] product {("+" | "-") product}               product = factor {"*" factor}
     factor    = INT | NAME | "(" size ")" | ("floor" | "ceil") "(" product "/" INT ")" */

typedef struct mgi_reader { mgi_parser P; mg_model *m; } mgi_reader;

/* The builder makes what comes next where the current word stands. */
MGI_FN void mgi_here(mgi_reader *R) { R->m->line = R->P.line, R->m->column = R->P.column; }
MGI_FN void mgi_back(mgi_reader *R, int line, int column) { R->m->line = line, R->m->column = column; }
/* 1 while all is well; the builder's error becomes the parser's. */
MGI_FN int mgi_well(mgi_reader *R) {
  if (R->P.failed || R->m->err.status == MG_OK) return !R->P.failed;
  *R->P.e = R->m->err, R->P.failed = (int)R->m->err.status;
  return 0;
}

MGI_FN const mg_extent *mgi_read_size(mgi_reader *R);
MGI_FN const mg_extent *mgi_read_product(mgi_reader *R);
MGI_FN const mg_extent *mgi_read_factor(mgi_reader *R) {
  mgi_parser *P = &R->P;
  char name[65];
  const mg_extent *x = NULL;
  const int line = P->line, column = P->column;
  if (!mgi_well(R)) return NULL;
  if (++P->depth > MGI_MAX_NEST) { mgi_perr(P, MG_LIMIT, "sizes nest at most %d deep", MGI_MAX_NEST); return NULL; }
  if (P->tok == MGI_NUMBER) {
    const int64_t n = mgi_int(P, "an integer");
    mgi_back(R, line, column);
    if (!P->failed) x = mg_extent_int(R->m, n);
  } else if (mgi_accept(P, "(")) {
    x = mgi_read_size(R);
    mgi_expect(P, ")");
  } else if (mgi_is(P, "floor") || mgi_is(P, "ceil")) {
    const char kind = mgi_is(P, "floor") ? 'f' : 'c';
    mgi_next(P), mgi_expect(P, "(");
    const mg_extent *a = mgi_read_product(R);
    mgi_expect(P, "/");
    const int64_t by = mgi_int(P, "an integer");
    mgi_expect(P, ")");
    mgi_back(R, line, column);
    if (!P->failed) x = mg_extent_of(R->m, kind, a, NULL, by);
  } else if (mgi_name(P, name, "a size")) {
    mgi_back(R, line, column);
    x = mg_extent_name(R->m, name);
  }
  P->depth--;
  return mgi_well(R) ? x : NULL;
}
MGI_FN const mg_extent *mgi_read_product(mgi_reader *R) {
  const int line = R->P.line, column = R->P.column;
  const mg_extent *x = mgi_read_factor(R);
  while (mgi_well(R) && mgi_accept(&R->P, "*")) {
    const mg_extent *y = mgi_read_factor(R);
    mgi_back(R, line, column);
    x = mg_extent_of(R->m, '*', x, y, 0);
  }
  return mgi_well(R) ? x : NULL;
}
MGI_FN const mg_extent *mgi_read_size(mgi_reader *R) {
  const int line = R->P.line, column = R->P.column, minus = mgi_accept(&R->P, "-");
  const mg_extent *x = mgi_read_product(R);
  mgi_back(R, line, column);
  if (minus && x)
    x = x->kind == 'i' ? mg_extent_int(R->m, -x->n) : mg_extent_of(R->m, '-', mg_extent_int(R->m, 0), x, 0);
  while (mgi_well(R) && (mgi_is(&R->P, "+") || mgi_is(&R->P, "-"))) {
    const char kind = *R->P.start;
    mgi_next(&R->P);
    const mg_extent *y = mgi_read_product(R);
    mgi_back(R, line, column);
    x = mg_extent_of(R->m, kind, x, y, 0);
  }
  return mgi_well(R) ? x : NULL;
}
/* "[" size {"," size} "]": how many. */
MGI_FN int mgi_read_sizes(mgi_reader *R, const mg_extent **size) {
  int n = 0;
  mgi_expect(&R->P, "[");
  do {
    if (n == MG_MAX_RANK) { mgi_perr(&R->P, MG_BAD_INPUT, "at most %d sizes", MG_MAX_RANK); return 0; }
    size[n++] = mgi_read_size(R);
  } while (mgi_well(R) && mgi_accept(&R->P, ","));
  mgi_expect(&R->P, "]");
  return mgi_well(R) ? n : 0;
}
MGI_FN mg_dtype mgi_read_type(mgi_reader *R, int *rank, const mg_extent **dim) {
  const mg_dtype type = R->P.failed ? MG_DTYPE_COUNT : mgi_parse_type(&R->P, MG_DTYPE_COUNT);
  *rank = R->P.failed ? 0 : mgi_read_sizes(R, dim);
  return type;
}

/* ["-"] NUMBER ["/" NUMBER], as it stands. */
MGI_FN mg_expr *mgi_read_constant(mgi_reader *R) {
  mgi_parser *P = &R->P;
  char text[65];
  size_t n = 0;
  const int line = P->line, column = P->column;
  for (int k = 0; k < 3 && !P->failed; k++) {
    const int sign = !k && mgi_is(P, "-");
    if (k == 1 && !mgi_accept(P, "/")) break;
    if (k == 1) { text[n++] = '/'; continue; }
    if (!sign && P->tok != MGI_NUMBER) { mgi_expected(P, "a number"); return NULL; }
    if (P->len > 24) {
      mgi_perr(P, MG_BAD_INPUT, "a number has at most 24 characters, found %zu", P->len);
      return NULL;
    }
    memcpy(text + n, P->start, P->len), n += P->len;
    mgi_next(P);
    k -= sign;
    if (sign && P->tok != MGI_NUMBER) { mgi_expected(P, "a number"); return NULL; }
  }
  text[n] = 0;
  mgi_back(R, line, column);
  return mgi_well(R) ? mg_expr_constant(R->m, text) : NULL;
}
/* The name was read, at line and column. */
MGI_FN mg_expr *mgi_read_value(mgi_reader *R, const char *name, int line, int column) {
  const mg_extent *which = NULL;
  if (mgi_accept(&R->P, "[")) {
    which = mgi_read_size(R);
    mgi_expect(&R->P, "]");
  }
  mgi_back(R, line, column);
  return mgi_well(R) ? mg_expr_value(R->m, name, which) : NULL;
}
MGI_FN mg_expr *mgi_read_expr(mgi_reader *R);
MGI_FN mg_expr *mgi_read_argument(mgi_reader *R) {
  mgi_parser *P = &R->P;
  const mgi_parser save = *P;
  char name[65];
  const mg_extent *size[MG_MAX_RANK];
  mgi_here(R);
  const int line = P->line, column = P->column;
  if (P->tok == MGI_NUMBER || mgi_is(P, "-")) return mgi_read_constant(R);
  if (mgi_is(P, "[")) {
    const int n = mgi_read_sizes(R, size);
    mgi_back(R, line, column);
    return mgi_well(R) ? mg_expr_list(R->m, n, size) : NULL;
  }
  if (!mgi_name(P, name, "an operand or an attribute")) return NULL;
  if (mgi_accept(P, "=")) {
    const int rational = !strcmp(name, "eps") || !strcmp(name, "c");
    mg_expr *constant = rational ? mgi_read_constant(R) : NULL;
    const mg_extent *x = rational ? NULL : mgi_read_size(R);
    mgi_back(R, line, column);
    return mgi_well(R) ? mg_expr_attribute(R->m, name, x, constant) : NULL;
  }
  if (mgi_type_word(name)) return mg_expr_constant(R->m, name);
  *P = save;
  return mgi_read_expr(R);
}
MGI_FN mg_expr *mgi_read_expr(mgi_reader *R) {
  mgi_parser *P = &R->P;
  char name[65];
  const int line = P->line, column = P->column;
  if (!mgi_well(R) || !mgi_name(P, name, "a value or an operator")) return NULL;
  if (!mgi_is(P, "(")) return mgi_read_value(R, name, line, column);
  if (++P->depth > MGI_MAX_NEST) { mgi_perr(P, MG_LIMIT, "calls nest at most %d deep", MGI_MAX_NEST); return NULL; }
  mgi_back(R, line, column);
  mg_expr *x = mg_expr_op(R->m, name);
  if (!mgi_well(R)) return NULL;
  mgi_next(P);
  do {
    mg_expr *arg = mgi_read_argument(R);
    mgi_back(R, line, column);
    if (mgi_well(R)) mg_expr_arg(R->m, x, arg);
  } while (mgi_well(R) && mgi_accept(P, ","));
  mgi_expect(P, ")");
  P->depth--;
  return mgi_well(R) ? x : NULL;
}

/* Operands of a call up to `end`, which is not read. */
MGI_FN void mgi_read_operands(mgi_reader *R, mg_step *s, const char *end, const char *other) {
  if (mgi_is(&R->P, end) || (other && mgi_is(&R->P, other))) return;
  do {
    const mg_expr *x = mgi_read_expr(R);
    if (mgi_well(R)) mg_step_arg(R->m, s, x);
  } while (mgi_well(R) && mgi_accept(&R->P, ","));
}
MGI_FN int mgi_read_quoted(mgi_reader *R, char text[201]) {
  mgi_parser *P = &R->P;
  size_t n = 0;
  if (!mgi_is(P, "\"")) { mgi_expected(P, "a name in quotes"); return 0; }
  const char *from = P->p;
  while (from + n < P->end && from[n] != '"' && from[n] != '\n') n++;
  if (from + n == P->end || from[n] == '\n' || n > 200) {
    mgi_perr(P, MG_BAD_INPUT, "expected the closing quote within 200 characters of this line");
    return 0;
  }
  memcpy(text, from, n);
  text[n] = 0;
  if (strlen(text) != n) { mgi_perr(P, MG_BAD_INPUT, "expected printable characters, found byte 0x00"); return 0; }
  P->p += n + 1, P->next_column += (int)n + 1;
  mgi_next(P);
  return 1;
}
MGI_FN void mgi_read_foreign(mgi_reader *R, int n, const char *const *name, int line, int column) {
  mgi_parser *P = &R->P;
  char symbol[201], file[201];
  const mg_extent *dim[MG_MAX_RANK];
  int rank, in = 0;
  mgi_next(P);
  const int library = mgi_accept(P, "library");
  if (!library) {
    if (!mgi_is(P, "user")) { mgi_expected(P, "'user' or 'library'"); return; }
    mgi_next(P);
  }
  if (!mgi_read_quoted(R, symbol)) return;
  if (!library && mgi_accept(P, "in") && !(in = mgi_read_quoted(R, file))) return;
  mgi_back(R, line, column);
  mg_step *s = mg_step_foreign(R->m, n, name, library, symbol, in ? file : NULL);
  mgi_expect(P, "(");
  if (!mgi_well(R)) return;
  mgi_read_operands(R, s, ")", ";");
  if (mgi_accept(P, ";"))
    do {
      const mg_extent *x = mgi_read_size(R);
      if (mgi_well(R)) mg_step_size(R->m, s, x);
    } while (mgi_well(R) && mgi_accept(P, ","));
  mgi_expect(P, ")"), mgi_expect(P, ":");
  do {
    mgi_here(R);
    if (mgi_accept(P, "in")) {
      char operand[65];
      mgi_here(R);
      if (mgi_name(P, operand, "an operand")) mg_step_in_place(R->m, s, operand);
      continue;
    }
    const mg_dtype type = mgi_read_type(R, &rank, dim);
    if (mgi_well(R)) mg_step_result(R->m, s, type, rank, dim);
  } while (mgi_well(R) && mgi_accept(P, ","));
  if (mgi_accept(P, "scratch")) {
    const mg_extent *x = mgi_read_size(R);
    if (mgi_well(R)) mg_step_scratch(R->m, s, x);
  }
  mgi_back(R, line, column);
  if (mgi_well(R) && s->n_results != n)
    mgi_model_err(R->m, MG_BAD_INPUT, "%d name%s for %d result%s", n, n == 1 ? "" : "s", s->n_results,
                  s->n_results == 1 ? "" : "s");
  mgi_well(R);
}

MGI_FN void mgi_read_body(mgi_reader *R);
MGI_FN void mgi_read_statement(mgi_reader *R) {
  mgi_parser *P = &R->P;
  char name[MG_MAX_OUT][65];
  const char *names[MG_MAX_OUT];
  const mg_extent *dim[MG_MAX_RANK];
  int n = 0, rank;
  const int line = P->line, column = P->column;
  mgi_here(R);
  if (mgi_accept(P, "for")) {
    if (!mgi_name(P, name[0], "the name of a loop")) return;
    mgi_expect(P, "=");
    const mg_extent *turns = mgi_read_size(R);
    mgi_expect(P, "{");
    names[0] = name[0], mgi_back(R, line, column);
    if (!mgi_well(R) || !mg_for_begin(R->m, names[0], turns)) { mgi_well(R); return; }
    mgi_read_body(R);
    mgi_expect(P, "}");
    if (mgi_well(R)) mg_for_end(R->m);
  } else if (mgi_accept(P, "update")) {
    int l = P->line, c = P->column;
    if (!mgi_name(P, name[0], "the name of a state")) return;
    mg_expr *state = mgi_read_value(R, name[0], l, c);
    mgi_expect(P, "at");
    const mg_extent *at = mgi_read_size(R);
    mgi_expect(P, "=");
    mg_expr *value = mgi_read_expr(R);
    mgi_back(R, line, column);
    if (mgi_well(R)) mg_step_update(R->m, state, at, value);
  } else if (mgi_accept(P, "match")) {
    int l = P->line, c = P->column;
    if (!mgi_name(P, name[0], "a value")) return;
    mg_expr *value = mgi_read_value(R, name[0], l, c);
    mgi_expect(P, ":");
    const mg_dtype type = mgi_read_type(R, &rank, dim);
    mgi_back(R, line, column);
    if (mgi_well(R)) mg_step_match(R->m, value, type, rank, dim);
  } else if (mgi_accept(P, "return")) {
    mg_step *s = mg_step_return(R->m);
    if (mgi_well(R)) mgi_read_operands(R, s, "}", NULL);
  } else {
    do {
      if (n == MG_MAX_OUT) { mgi_perr(P, MG_LIMIT, "at most %d names", MG_MAX_OUT); return; }
      const mgi_parser at = *P;
      if (!mgi_name(P, name[n], "a statement")) return;
      if (mgi_model_word(name[n])) {
        P->line = at.line, P->column = at.column;
        mgi_perr(P, MG_BAD_INPUT, "'%s' does not stand here, and is no name: it is a word of the text form", name[n]);
        return;
      }
      names[n] = name[n], n++;
    } while (mgi_accept(P, ","));
    mgi_expect(P, "=");
    if (P->failed) return;
    if (mgi_is(P, "extern")) { mgi_read_foreign(R, n, names, line, column); return; }
    char fn[65];
    const mgi_parser save = *P;
    mgi_back(R, line, column);
    if (mgi_name(P, fn, "a value, an operator, a function or extern") && mgi_is(P, "(") &&
        mgi_function_find(R->m, fn)) {
      mg_step *s = mg_step_call(R->m, n, names, fn);
      mgi_next(P);
      if (mgi_well(R)) mgi_read_operands(R, s, ")", NULL);
      mgi_expect(P, ")");
    } else if (!P->failed) {
      *P = save;
      mg_expr *x = mgi_read_expr(R);
      mgi_back(R, line, column);
      if (mgi_well(R) && n > 1) mgi_model_err(R->m, MG_BAD_INPUT, "%d names for one value", n);
      if (mgi_well(R)) mg_step_let(R->m, names[0], x);
    }
  }
  mgi_well(R);
}
MGI_FN void mgi_read_body(mgi_reader *R) {
  if (++R->P.depth > MGI_MAX_NEST) mgi_perr(&R->P, MG_LIMIT, "loops nest too deep");
  while (mgi_well(R) && R->P.tok != MGI_EOF && !mgi_is(&R->P, "}")) mgi_read_statement(R);
  R->P.depth--;
}

MGI_FN void mgi_read_declaration(mgi_reader *R, mg_value_kind kind) {
  enum { MOST = 16 };
  mgi_parser *P = &R->P;
  char name[MOST][65];
  int64_t count[MOST];
  int line[MOST], column[MOST], n = 0, rank;
  const mg_extent *dim[MG_MAX_RANK];
  mgi_next(P);
  do {
    if (n == MOST) { mgi_perr(P, MG_LIMIT, "at most %d names", MOST); return; }
    line[n] = P->line, column[n] = P->column, count[n] = 0;
    if (!mgi_name(P, name[n], "a name")) return;
    if (mgi_accept(P, "[")) {
      count[n] = mgi_int(P, "how many there are");
      if (count[n] < 1) count[n] = -1;
      mgi_expect(P, "]");
    }
    n++;
  } while (!P->failed && mgi_accept(P, ","));
  mgi_expect(P, ":");
  const mg_dtype type = mgi_read_type(R, &rank, dim);
  for (int k = 0; k < n && mgi_well(R); k++)
    mgi_back(R, line[k], column[k]), mg_model_declare(R->m, kind, name[k], count[k], type, rank, dim);
  mgi_here(R);
  if (mgi_accept(P, "from")) {
    char text[MG_MODEL_MAX_PARTS][201];
    const char *from[MG_MODEL_MAX_PARTS];
    int parts = 0;
    do {
      if (parts == MG_MODEL_MAX_PARTS) { mgi_perr(P, MG_LIMIT, "at most %d tensors", MG_MODEL_MAX_PARTS); return; }
      from[parts] = text[parts];
      if (!mgi_read_quoted(R, text[parts++])) return;
    } while (mgi_accept(P, ","));
    const int transposed = mgi_accept(P, "transposed");
    if (mgi_well(R) && n > 1) mgi_model_err(R->m, MG_BAD_INPUT, "one weight comes 'from' tensors, found %d names", n);
    if (mgi_well(R)) mg_model_from(R->m, name[0], parts, from, transposed);
  } else if (mgi_accept(P, "=")) {
    const char of = mgi_is(P, "sin") ? 's' : 'c';
    if (!mgi_is(P, "cos") && !mgi_is(P, "sin")) { mgi_expected(P, "cos or sin"); return; }
    mgi_next(P), mgi_expect(P, "at");
    const mg_extent *at = mgi_read_size(R);
    mgi_expect(P, "base");
    const int64_t base = mgi_int(P, "a base");
    for (int k = 0; k < n && mgi_well(R); k++) mg_model_table(R->m, name[k], of, at, base);
  }
  mgi_well(R);
}
MGI_FN void mgi_read_symbol(mgi_reader *R) {
  mgi_parser *P = &R->P;
  char name[65];
  mgi_next(P), mgi_here(R);
  if (!mgi_name(P, name, "a symbol's name")) return;
  mgi_expect(P, "in");
  const int64_t least = mgi_int(P, "the symbol's least value");
  mgi_expect(P, "."), mgi_expect(P, ".");
  const int64_t most = mgi_int(P, "its greatest value");
  const int device = mgi_accept(P, "device");
  if (mgi_well(R)) mg_model_symbol_new(R->m, name, least, most, device);
}
MGI_FN void mgi_read_function(mgi_reader *R) {
  mgi_parser *P = &R->P;
  char name[65];
  const mg_extent *dim[MG_MAX_RANK];
  int rank;
  mgi_next(P), mgi_here(R);
  if (!mgi_name(P, name, "the name of a function")) return;
  mg_function_begin(R->m, name);
  mgi_expect(P, "(");
  if (!mgi_is(P, ")"))
    do {
      const int line = P->line, column = P->column;
      if (!mgi_well(R) || !mgi_name(P, name, "a parameter")) return;
      mgi_expect(P, ":");
      const int state = mgi_accept(P, "state");
      const mg_dtype type = mgi_read_type(R, &rank, dim);
      mgi_back(R, line, column);
      if (mgi_well(R)) mg_function_param(R->m, state, name, type, rank, dim);
    } while (mgi_well(R) && mgi_accept(P, ","));
  mgi_expect(P, ")"), mgi_expect(P, ":");
  do {
    mgi_here(R);
    const mg_dtype type = mgi_read_type(R, &rank, dim);
    if (mgi_well(R)) mg_function_result(R->m, type, rank, dim);
  } while (mgi_well(R) && mgi_accept(P, ","));
  mgi_expect(P, "{");
  mgi_read_body(R);
  mgi_expect(P, "}");
  if (mgi_well(R)) mg_function_end(R->m);
}

mg_status mg_model_parse(const char *text, size_t len, const char *where, const mg_config *cfg, mg_model **out,
                         mg_error *e) {
  mgi_reader R;
  mgi_parser *P = &R.P;
  mg_error local;
  char name[65];
  *out = NULL;
  if (mgi_parser_open(P, text, len, where, e ? e : &local) != MG_OK) return MG_LIMIT;
  mgi_expect(P, "model");
  if (!mgi_name(P, name, "the model's name")) return (mg_status)P->failed;
  R.m = mg_model_new(name, cfg);
  if (!R.m) return mg_fail(e, MG_NO_MEMORY, P->where, "no memory for the model");
  R.m->where = mgi_model_copy(R.m, P->where);
  while (mgi_well(&R) && P->tok != MGI_EOF) {
    if (mgi_is(P, "sym")) mgi_read_symbol(&R);
    else if (mgi_is(P, "input")) mgi_read_declaration(&R, MG_VALUE_INPUT);
    else if (mgi_is(P, "weight")) mgi_read_declaration(&R, MG_VALUE_WEIGHT);
    else if (mgi_is(P, "state")) mgi_read_declaration(&R, MG_VALUE_STATE);
    else if (mgi_is(P, "fn")) mgi_read_function(&R);
    else if (mgi_accept(P, "output")) {
      do {
        mgi_here(&R);
        const mg_expr *x = mgi_read_expr(&R);
        if (mgi_well(&R)) mg_model_output(R.m, x);
      } while (mgi_well(&R) && mgi_accept(P, ","));
    } else mgi_read_statement(&R);
  }
  mgi_here(&R);
  if (mgi_well(&R) && !R.m->n_outputs) mgi_expected(P, "an output");
  if (mgi_well(&R)) *out = R.m;
  else mg_model_free(R.m);
  return (mg_status)P->failed;
}

/* -------------------------------------------------------------------------------------------------- >>writing */

MGI_FN void mgi_write_size(mgi_text *t, const mg_extent *x, int inside) {
  const int sum = x->kind == '+' || x->kind == '-' || (x->kind == 'i' && x->n < 0) || (x->kind == '*' && inside == 2);
  switch (x->kind) {
    case 'n': mgi_puts(t, x->name); return;
    case 'f': case 'c':
      mgi_puts(t, x->kind == 'f' ? "floor(" : "ceil(");
      mgi_write_size(t, x->a, 1);
      mgi_putf(t, "/%lld)", (long long)x->n);
      return;
    default: break;
  }
  if (sum && inside) mgi_puts(t, "(");
  if (x->kind == 'i') mgi_putf(t, "%lld", (long long)x->n);
  else {
    mgi_write_size(t, x->a, x->kind == '*');
    mgi_putf(t, "%c", x->kind);
    mgi_write_size(t, x->b, x->kind == '*' ? 2 : 1);
  }
  if (sum && inside) mgi_puts(t, ")");
}
MGI_FN void mgi_write_sizes(mgi_text *t, int n, const mg_extent *const *size) {
  mgi_puts(t, "[");
  for (int k = 0; k < n; k++) mgi_puts(t, k ? ", " : ""), mgi_write_size(t, size[k], 0);
  mgi_puts(t, "]");
}
MGI_FN void mgi_write_type(mgi_text *t, const mg_signature *s) {
  mgi_puts(t, mg_dtype_name(s->type));
  mgi_write_sizes(t, s->rank, s->dim);
}
MGI_FN void mgi_write_expr(mgi_text *t, const mg_expr *x) {
  switch (x->kind) {
    case '[': mgi_write_sizes(t, x->n, x->list); return;
    case '=':
      mgi_putf(t, "%s=", x->name);
      if (x->size) mgi_write_size(t, x->size, 0);
      else mgi_write_expr(t, x->arg);
      return;
    default: break;
  }
  mgi_puts(t, x->name);
  if (x->kind == 'v' && x->size) mgi_puts(t, "["), mgi_write_size(t, x->size, 0), mgi_puts(t, "]");
  if (x->kind != 'o') return;
  mgi_puts(t, "(");
  for (const mg_expr *a = x->arg; a; a = a->next) mgi_puts(t, a == x->arg ? "" : ", "), mgi_write_expr(t, a);
  mgi_puts(t, ")");
}
MGI_FN void mgi_write_exprs(mgi_text *t, int n, const mg_expr *const *x) {
  for (int k = 0; k < n; k++) mgi_puts(t, k ? ", " : ""), mgi_write_expr(t, x[k]);
}
MGI_FN void mgi_write_steps(mgi_text *t, const mg_step *s, int indent) {
  for (; s; s = s->next) {
    for (int k = 0; k < indent; k++) mgi_puts(t, "  ");
    for (int k = 0; k < s->n_names && s->kind != MG_STEP_FOR; k++) mgi_putf(t, "%s%s", k ? ", " : "", s->name[k]);
    if (s->n_names && s->kind != MG_STEP_FOR) mgi_puts(t, " = ");
    switch (s->kind) {
      case MG_STEP_LET: mgi_write_expr(t, s->value); break;
      case MG_STEP_CALL:
        mgi_putf(t, "%s(", s->fn->name);
        mgi_write_exprs(t, s->n_args, s->arg);
        mgi_puts(t, ")");
        break;
      case MG_STEP_FOREIGN:
        mgi_putf(t, "extern %s \"%s\"", s->library ? "library" : "user", s->symbol);
        if (s->file) mgi_putf(t, " in \"%s\"", s->file);
        mgi_puts(t, " (");
        mgi_write_exprs(t, s->n_args, s->arg);
        for (int k = 0; k < s->n_sizes; k++) mgi_puts(t, k ? ", " : "; "), mgi_write_size(t, s->size[k], 0);
        mgi_puts(t, ") : ");
        for (int k = 0; k < s->n_results; k++) {
          mgi_puts(t, k ? ", " : "");
          if (s->in_place[k]) mgi_putf(t, "in %s", s->arg[s->in_place[k] - 1]->name);
          else mgi_write_type(t, &s->result[k]);
        }
        if (s->at) mgi_puts(t, " scratch "), mgi_write_size(t, s->at, 0);
        break;
      case MG_STEP_UPDATE:
        mgi_puts(t, "update "), mgi_write_expr(t, s->target);
        mgi_puts(t, " at "), mgi_write_size(t, s->at, 0);
        mgi_puts(t, " = "), mgi_write_expr(t, s->value);
        break;
      case MG_STEP_MATCH:
        mgi_puts(t, "match "), mgi_write_expr(t, s->target);
        mgi_puts(t, " : "), mgi_write_type(t, &s->result[0]);
        break;
      case MG_STEP_FOR:
        mgi_putf(t, "for %s=", s->name[0]), mgi_write_size(t, s->at, 0);
        mgi_puts(t, " {\n"), mgi_write_steps(t, s->body, indent + 1);
        for (int k = 0; k < indent; k++) mgi_puts(t, "  ");
        mgi_puts(t, "}");
        break;
      case MG_STEP_RETURN: mgi_puts(t, "return "), mgi_write_exprs(t, s->n_args, s->arg); break;
    }
    mgi_puts(t, "\n");
  }
}
mg_status mg_model_print(const mg_model *m, char **out, mg_error *e) {
  static const char *const kind[] = {"input", "weight", "state"};
  mgi_text t;
  *out = NULL;
  const mg_status s = mg_model_check(m, e);
  if (s != MG_OK) return s;
  memset(&t, 0, sizeof t);
  mgi_putf(&t, "model %s\n", m->name);
  for (int k = 0; k < m->n_symbols; k++)
    mgi_putf(&t, "sym %s in %lld..%lld%s\n", m->symbol[k].name, (long long)m->symbol[k].least,
             (long long)m->symbol[k].most, m->symbol[k].device ? " device" : "");
  for (const mg_model_decl *d = m->decls; d; d = d->next) {
    mgi_putf(&t, "%s %s", kind[d->kind], d->as.name);
    if (d->count) mgi_putf(&t, "[%lld]", (long long)d->count);
    mgi_puts(&t, " : "), mgi_write_type(&t, &d->as);
    for (int k = 0; k < d->n_from; k++) mgi_putf(&t, "%s\"%s\"", k ? ", " : " from ", d->from[k]);
    if (d->transposed) mgi_puts(&t, " transposed");
    if (d->table) {
      mgi_putf(&t, " = %s at ", d->table == 'c' ? "cos" : "sin"), mgi_write_size(&t, d->at, 0);
      mgi_putf(&t, " base %lld", (long long)d->base);
    }
    mgi_puts(&t, "\n");
  }
  for (const mg_function *f = m->functions; f; f = f->next) {
    mgi_putf(&t, "fn %s(", f->name);
    for (int k = 0; k < f->n_params; k++) {
      mgi_putf(&t, "%s%s : %s", k ? ", " : "", f->param[k].name, f->param[k].state ? "state " : "");
      mgi_write_type(&t, &f->param[k]);
    }
    mgi_puts(&t, ") : ");
    for (int k = 0; k < f->n_results; k++) mgi_puts(&t, k ? ", " : ""), mgi_write_type(&t, &f->result[k]);
    mgi_puts(&t, " {\n"), mgi_write_steps(&t, f->body, 1), mgi_puts(&t, "}\n");
  }
  mgi_write_steps(&t, m->body, 0);
  mgi_puts(&t, "output "), mgi_write_exprs(&t, m->n_outputs, m->output), mgi_puts(&t, "\n");
  return mgi_text_done(&t, out, "mg_model_print", e);
}

/* -------------------------------------------------------------------------------------------------- >>listing
   One pass runs through the statements as they would be executed, with names bound to values and sizes.  A call opens
   a frame of its own: its parameters and the sizes that they bind.  Within a loop a name from outside keeps type and
   shape. Shapes follow the table's rules, over sizes (mgi_infer); every new piece is then built as a program at the
   symbols' least and greatest values, where its shape must be the same, and so again at each value that is run.
   Bounds: MG_MODEL_MAX_STEPS statements, calls MGI_MAX_NEST deep, MGI_PIECE_NODES a statement, MGI_PIECES, MGI_NAMES
   in sight. */

enum { MGI_PIECE_NODES = 256, MGI_PIECES = 8192, MGI_NAMES = 4096 };

typedef struct mgi_binding {
  const char *name;
  mg_size size;      /* not 0: a size */
  uint32_t value;    /* else the first of `count` values, of one where that is 0 */
  int64_t count;
  int depth;         /* loops that are open around it */
  int state;         /* may be updated */
  int kept;          /* a weight or state: it is bound once */
} mgi_binding;
typedef struct mgi_lister {
  const mg_model *m;
  mg_model_list *l;
  mgi_binding *b;
  uint32_t n, frame;
  int loops, nest;
  uint32_t steps;
  mg_size symbol[MG_MODEL_MAX_SYMBOLS];
  int64_t least[MG_MODEL_MAX_SYMBOLS], most[MG_MODEL_MAX_SYMBOLS];
  mg_error err;
  uint32_t result[MG_MAX_OUT]; /* of the function that returned last */
  int returned;
  /* the piece at hand */
  mg_piece piece;
  uint32_t in[MG_MAX_IN];
  mg_piece_node node[MGI_PIECE_NODES];
  uint16_t operand[MGI_PIECE_NODES], operands[MGI_PIECE_NODES]; /* of nodes; of calls that are still open */
  mg_size size[MGI_PIECE_NODES * MG_MAX_RANK], sizes[MGI_PIECE_NODES * MG_MAX_RANK];
  uint32_t n_operand, n_operands, n_size, n_sizes;
  int nodes, vague; /* vague: arguments that mirage.h is to refuse */
} mgi_lister;
typedef struct mgi_dims { int rank; mg_size dim[MG_MAX_RANK]; } mgi_dims;

MGI_FN void mgi_list_err(mgi_lister *L, mg_status s, int line, int column, const char *fmt, ...) {
  char msg[sizeof L->err.msg], where[sizeof L->err.where];
  va_list ap;
  if (L->err.status != MG_OK) return;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  if (line) snprintf(where, sizeof where, "%.60s:%d:%d", L->m->where ? L->m->where : L->m->name, line, column);
  else snprintf(where, sizeof where, "%.60s", L->m->where ? L->m->where : L->m->name);
  mg_fail(&L->err, s, where, "%s", msg);
  L->err.line = line, L->err.column = column;
}
MGI_FN int mgi_listing(const mgi_lister *L) { return L->err.status == MG_OK; }

/* A size as text, cut off where the buffer ends. */
MGI_FN const char *mgi_size_text(const mg_sizes *sizes, mg_size s, char *buf, size_t n) {
  char *text = NULL;
  if (!s || mg_size_print(sizes, s, &text, NULL) != MG_OK) snprintf(buf, n, "?");
  else snprintf(buf, n, "%s", text);
  mg_string_free(text);
  return buf;
}
MGI_FN const char *mgi_dims_text(const mg_sizes *sizes, int rank, const mg_size *dim, char *buf, size_t n) {
  char one[64];
  size_t k = 0;
  for (int d = 0; d < rank && k < n; d++)
    k += (size_t)snprintf(buf + k, n - k, "%s%s", d ? ", " : "[", mgi_size_text(sizes, dim[d], one, sizeof one));
  if (k < n) snprintf(buf + k, n - k, "]");
  return buf;
}
/* A size that could not be made: why. */
MGI_FN mg_size mgi_size_made(mgi_lister *L, mg_size s, int line, int column) {
  mg_error e;
  if (s || !mgi_listing(L)) return s;
  const mg_status why = mg_sizes_error(L->l->sizes, &e);
  mgi_list_err(L, why != MG_OK ? why : MG_LIMIT, line, column, "%s",
               why != MG_OK ? e.msg : "the size passes the limits of sizes");
  return 0;
}
/* 1 if s is the same number at all values, which is then in *n. */
MGI_FN int mgi_size_number(const mg_sizes *sizes, mg_size s, int64_t *n) {
  int64_t b[2];
  mg_size_bounds(sizes, s, b);
  *n = b[0];
  return b[0] == b[1] && b[0] > INT64_MIN && b[0] < INT64_MAX;
}

/* 1 if all sizes of a value are numbers. */
MGI_FN int mgi_value_fixed(const mg_model_list *l, const mg_value *v) {
  int64_t n;
  int fixed = 1;
  for (int d = 0; d < v->rank; d++) fixed &= mgi_size_number(l->sizes, v->dim[d], &n);
  return fixed;
}
/* 1 if symbol k is in it. */
MGI_FN int mgi_size_has(const mg_model_list *l, mg_size size, int k) {
  char *text = NULL;
  const int has = mg_size_print(l->sizes, size, &text, NULL) == MG_OK && mgi_size_names(text, l->m->symbol[k].name);
  mg_string_free(text);
  return has;
}
/* 1 if it hangs on a symbol of the kind `device`. */
MGI_FN int mgi_size_on_device(const mg_model_list *l, mg_size size) {
  int has = 0;
  for (int k = 0; k < l->m->n_symbols && !has; k++) has = l->m->symbol[k].device && mgi_size_has(l, size, k);
  return has;
}
/* The one dimension whose size hangs on a symbol of the kind `device`; 0: there is none; -1: there are more. */
MGI_FN int mgi_value_grows(const mg_model_list *l, const mg_value *v) {
  int at = 0, n = 0;
  for (int d = 0; d < v->rank; d++)
    if (mgi_size_on_device(l, v->dim[d])) at = d, n++;
  return n > 1 ? -1 : at;
}

MGI_FN mgi_binding *mgi_find(mgi_lister *L, const char *name) {
  for (uint32_t k = L->n; k > L->frame; k--)
    if (!strcmp(L->b[k - 1].name, name)) return &L->b[k - 1];
  return NULL;
}
MGI_FN mgi_binding *mgi_bind(mgi_lister *L, const char *name, int line, int column) {
  static const mgi_binding none = {NULL, 0, 0, 0, 0, 0, 0};
  if (!mgi_listing(L)) return NULL;
  if (L->n == MGI_NAMES) {
    mgi_list_err(L, MG_LIMIT, line, column, "at most %d names are in sight", MGI_NAMES);
    return NULL;
  }
  mgi_binding *b = &L->b[L->n++];
  *b = none;
  b->name = name, b->depth = L->loops;
  return b;
}

MGI_FN mg_size mgi_extent_size(mgi_lister *L, const mg_extent *x) {
  mg_sizes *S = L->l->sizes;
  mg_size a, b;
  if (!mgi_listing(L)) return 0;
  switch (x->kind) {
    case 'i': return mgi_size_made(L, mg_size_int(S, x->n), x->line, x->column);
    case 'n': {
      const mgi_binding *is = mgi_find(L, x->name);
      const int k = mgi_model_symbol_find(L->m, x->name);
      if (is && is->size) return is->size;
      if (!is && k >= 0) return L->symbol[k];
      mgi_list_err(L, MG_BAD_INPUT, x->line, x->column,
                   is ? "expected a size, found '%s', a tensor" : "'%s' is no size here", x->name);
      return 0;
    }
    case 'f': case 'c':
      a = mgi_extent_size(L, x->a);
      return a ? mgi_size_made(L, x->kind == 'f' ? mg_size_floor(S, a, x->n) : mg_size_ceil(S, a, x->n), x->line,
                               x->column)
               : 0;
    default:
      a = mgi_extent_size(L, x->a), b = mgi_extent_size(L, x->b);
      if (!a || !b) return 0;
      return mgi_size_made(L,
                           x->kind == '+'   ? mg_size_add(S, a, b)
                           : x->kind == '-' ? mg_size_sub(S, a, b)
                                            : mg_size_mul(S, a, b),
                           x->line, x->column);
  }
}
/* A number that may not hang on symbols. */
MGI_FN int64_t mgi_extent_number(mgi_lister *L, const mg_extent *x, const char *what) {
  char text[64];
  int64_t n = 0;
  const mg_size s = mgi_extent_size(L, x);
  if (s && !mgi_size_number(L->l->sizes, s, &n))
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "expected a number for %s, found %s", what,
                 mgi_size_text(L->l->sizes, s, text, sizeof text));
  return n;
}

/* Room for one more in an array of the list. */
MGI_FN void *mgi_list_grow(mgi_lister *L, void *p, uint32_t n, uint32_t *cap, size_t bytes) {
  if (n < *cap) return p;
  const uint32_t want = *cap ? 2 * *cap : 16;
  void *q = mgi_listing(L) ? mgi_arena(L->l->arena, want * bytes, &L->err) : NULL;
  if (!q) return NULL;
  if (n) memcpy(q, p, n * bytes);
  *cap = want;
  return q;
}
mg_status mg_value_shape(const mg_model_list *l, const mg_value *v, const int64_t *sym, mg_shape *out, mg_error *e) {
  char text[64];
  memset(out, 0, sizeof *out);
  out->rank = v->rank;
  for (int d = 0; d < v->rank; d++) {
    const mg_status s = mg_size_at(l->sizes, v->dim[d], sym, &out->dim[d], e);
    if (s != MG_OK) return s;
    if (out->dim[d] < 1 || out->dim[d] > (int64_t)1 << 40)
      return mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' dimension %d: expected 1 to 2^40 elements, found %s = %lld",
                     v->name ? v->name : "a result", d, mgi_size_text(l->sizes, v->dim[d], text, sizeof text),
                     (long long)out->dim[d]);
  }
  const int64_t n = mg_shape_elements(out);
  if (n < 0 || n > (int64_t)1 << 40)
    return mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' has more than 2^40 elements", v->name ? v->name : "a result");
  return MG_OK;
}
MGI_FN uint32_t mgi_value_new(mgi_lister *L, const mg_value *like, int line, int column) {
  mg_shape s;
  mg_error e;
  mg_value *p = (mg_value *)mgi_list_grow(L, L->l->value, L->l->n_values, &L->l->cap_values, sizeof *p);
  if (!p || !mgi_listing(L)) return 0;
  L->l->value = p;
  for (int k = 0; k < 2; k++)
    if (mg_value_shape(L->l, like, k ? L->most : L->least, &s, &e) != MG_OK) {
      mgi_list_err(L, e.status, line, column, "%s", e.msg);
      return 0;
    }
  p += L->l->n_values;
  *p = *like;
  if (p->kind == MG_VALUE_MADE) {
    mg_size b = mg_size_int(L->l->sizes, mg_dtype_bytes(p->type));
    for (int d = 0; d < p->rank; d++) b = mg_size_mul(L->l->sizes, b, p->dim[d]);
    if (!(p->bytes = mgi_size_made(L, b, line, column))) return 0;
  }
  return L->l->n_values++;
}
/* Type and shape of a signature, in sight of the names there are now. */
MGI_FN int mgi_value_signed(mgi_lister *L, const mg_signature *s, mg_value *out) {
  memset(out, 0, sizeof *out);
  out->name = s->name, out->type = s->type, out->rank = s->rank, out->layer = -1, out->kind = MG_VALUE_MADE;
  for (int d = 0; d < s->rank && mgi_listing(L); d++) out->dim[d] = mgi_extent_size(L, s->dim[d]);
  return mgi_listing(L);
}
MGI_FN mg_launch *mgi_launch_new(mgi_lister *L, mg_launch_kind kind, const mg_step *from) {
  mg_launch *p = (mg_launch *)mgi_list_grow(L, L->l->launch, L->l->n_launches, &L->l->cap_launches, sizeof *p);
  if (!p || !mgi_listing(L)) return NULL;
  L->l->launch = p;
  p += L->l->n_launches++;
  memset(p, 0, sizeof *p);
  p->kind = kind, p->from = from;
  return p;
}

/* The value that a name stands for, and, if `bound` is not NULL, what binds it. */
MGI_FN uint32_t mgi_resolve(mgi_lister *L, const mg_expr *x, const mgi_binding **bound) {
  int64_t which = 0;
  const mgi_binding *b = mgi_find(L, x->name);
  if (!b || b->size) {
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column,
                 b ? "expected a tensor, found '%s', a size" : "'%s' is not defined here", x->name);
    return 0;
  }
  if (x->size && !b->count)
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' is one tensor: expected no [..]", x->name);
  if (!x->size && b->count)
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' is %lld tensors: expected %s[..]", x->name,
                 (long long)b->count, x->name);
  if (x->size) which = mgi_extent_number(L, x->size, "which of several");
  if (mgi_listing(L) && x->size && (which < 0 || which >= b->count))
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' has 0 to %lld, found %lld", x->name,
                 (long long)b->count - 1, (long long)which);
  if (bound) *bound = b;
  if (mgi_listing(L) && L->l->value[b->value + which].taken)
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' was changed in place, and is not there any more", x->name);
  return mgi_listing(L) ? b->value + (uint32_t)which : 0;
}

/* --------------------------------------------------------------------------------------------------- >>pieces
   What a statement's operators make: shapes by the table's rules, over sizes instead of numbers, then the piece as a
   program in mirage.h's text form, at given values or as a family, which mirage.h parses: what it refuses is refused
   here in its words. */

/* The rule of a row, as its column `shape` names it. */
enum {
  MGI_RULE_SAME,
  MGI_RULE_MATMUL,
  MGI_RULE_REDUCE,
  MGI_RULE_REPEAT,
  MGI_RULE_RESHAPE,
  MGI_RULE_TRANSPOSE,
  MGI_RULE_CONCAT,
  MGI_RULE_CONCAT_MATMUL,
  MGI_RULE_SLICE,
  MGI_RULE_GATHER,
  MGI_RULE_ARGMAX,
  MGI_RULE_USER
};
MGI_FN int mgi_rule(mg_opcode op) {
  if (op == MG_OP_NONE || mg_op_row(op)->elementwise) return MGI_RULE_SAME; /* a cast is no row */
  switch (op) {
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) case MG_OP_##id: return MGI_RULE_##shape;
    MG_BUILTIN_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
    default: return MGI_RULE_USER;
  }
}
MGI_FN int mgi_is_one(const mgi_lister *L, mg_size s) {
  int64_t n;
  return mgi_size_number(L->l->sizes, s, &n) && n == 1;
}
/* NumPy broadcasting of all dimensions but the last `tail`. */
MGI_FN int mgi_broadcast_sizes(mgi_lister *L, const mg_expr *x, const mgi_dims *a, const mgi_dims *b, int tail,
                               mgi_dims *out) {
  char ta[120], tb[120];
  const int ra = a->rank - tail, rb = b->rank - tail, r = ra > rb ? ra : rb;
  mgi_dims o;
  memset(&o, 0, sizeof o);
  o.rank = r;
  for (int k = 1; k <= r; k++) {
    const mg_size p = k <= ra ? a->dim[ra - k] : 0, q = k <= rb ? b->dim[rb - k] : 0;
    if (p && q && p != q && !mgi_is_one(L, p) && !mgi_is_one(L, q)) {
      mgi_list_err(L, MG_BAD_INPUT, x->line, x->column,
                   "%s: shapes %s and %s do not broadcast: their sizes %d from the right are not known to be equal",
                   x->name, mgi_dims_text(L->l->sizes, a->rank, a->dim, ta, sizeof ta),
                   mgi_dims_text(L->l->sizes, b->rank, b->dim, tb, sizeof tb), k + tail);
      return 0;
    }
    o.dim[r - k] = !p || (q && mgi_is_one(L, p)) ? q : p;
  }
  *out = o;
  return 1;
}
MGI_FN int mgi_matmul_sizes(mgi_lister *L, const mg_expr *x, const mgi_dims *a, const mgi_dims *b, mgi_dims *out) {
  char ta[120], tb[120];
  if (a->rank < 2 || b->rank < 2) return L->vague = 1, 0;
  if (a->dim[a->rank - 1] != b->dim[b->rank - 2]) {
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column,
                 "%s: the last size of %s and the last but one of %s are not known to be equal", x->name,
                 mgi_dims_text(L->l->sizes, a->rank, a->dim, ta, sizeof ta),
                 mgi_dims_text(L->l->sizes, b->rank, b->dim, tb, sizeof tb));
    return 0;
  }
  if (!mgi_broadcast_sizes(L, x, a, b, 2, out)) return 0;
  out->dim[out->rank++] = a->dim[a->rank - 2];
  out->dim[out->rank++] = b->dim[b->rank - 1];
  return 1;
}
MGI_FN mg_size mgi_elements(mgi_lister *L, const mgi_dims *a) {
  mg_size n = mg_size_int(L->l->sizes, 1);
  for (int d = 0; d < a->rank; d++) n = mg_size_mul(L->l->sizes, n, a->dim[d]);
  return n;
}

/* The shape of operator x over operands in[0..n), with its attributes dim, count `times`, and list. */
MGI_FN int mgi_infer_op(mgi_lister *L, const mg_expr *x, int n, const mgi_dims *in, int64_t dim, mg_size times,
                        const mgi_dims *list, mgi_dims *out) {
  char ta[120], tb[120];
  const mg_opcode op = mg_op_find(x->name, strlen(x->name));
  const int rule = mgi_rule(op);
  mg_sizes *S = L->l->sizes;
  *out = in[0];
  if (rule == MGI_RULE_USER) return L->piece.user = 1;
  if (rule == MGI_RULE_REDUCE || rule == MGI_RULE_ARGMAX || rule == MGI_RULE_REPEAT || rule == MGI_RULE_CONCAT ||
      rule == MGI_RULE_SLICE) {
    if (dim < 0) dim += in[0].rank;
    if (dim < 0 || dim >= in[0].rank) return L->vague = 1, 0;
  }
  switch (rule) {
    case MGI_RULE_SAME:
      for (int k = 1; k < n; k++)
        if (!mgi_broadcast_sizes(L, x, out, &in[k], 0, out)) return 0;
      return 1;
    case MGI_RULE_REDUCE: case MGI_RULE_ARGMAX: out->dim[dim] = mg_size_int(S, 1); break;
    case MGI_RULE_REPEAT: out->dim[dim] = times ? mg_size_mul(S, in[0].dim[dim], times) : 0; break;
    case MGI_RULE_SLICE: out->dim[dim] = times; break;
    case MGI_RULE_MATMUL: return n == 2 ? mgi_matmul_sizes(L, x, &in[0], &in[1], out) : (L->vague = 1, 0);
    case MGI_RULE_CONCAT_MATMUL: return n == 4 ? mgi_matmul_sizes(L, x, &in[0], &in[2], out) : (L->vague = 1, 0);
    case MGI_RULE_RESHAPE: {
      const mg_size before = mgi_elements(L, &in[0]), after = mgi_elements(L, list);
      if (!list->rank) return L->vague = 1, 0;
      if (!mgi_size_made(L, before, x->line, x->column) || !mgi_size_made(L, after, x->line, x->column)) return 0;
      if (before != after) {
        mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "reshape: %s and %s are not known to have as many elements",
                     mgi_dims_text(S, in[0].rank, in[0].dim, ta, sizeof ta),
                     mgi_dims_text(S, list->rank, list->dim, tb, sizeof tb));
        return 0;
      }
      *out = *list;
      break;
    }
    case MGI_RULE_TRANSPOSE:
      if (list->rank != in[0].rank) return L->vague = 1, 0;
      for (int d = 0; d < list->rank; d++) {
        int64_t p;
        if (!mgi_size_number(S, list->dim[d], &p) || p < 0 || p >= in[0].rank) return L->vague = 1, 0;
        out->dim[d] = in[0].dim[p];
      }
      break;
    case MGI_RULE_CONCAT:
      if (n != 2 || in[1].rank != in[0].rank) return L->vague = 1, 0;
      for (int d = 0; d < in[0].rank; d++) {
        if (d == dim) out->dim[d] = mg_size_add(S, in[0].dim[d], in[1].dim[d]);
        else if (in[0].dim[d] != in[1].dim[d]) {
          mgi_list_err(L, MG_BAD_INPUT, x->line, x->column,
                       "concat: shapes %s and %s are not known to agree but along dimension %lld",
                       mgi_dims_text(S, in[0].rank, in[0].dim, ta, sizeof ta),
                       mgi_dims_text(S, in[1].rank, in[1].dim, tb, sizeof tb), (long long)dim);
          return 0;
        }
      }
      break;
    case MGI_RULE_GATHER:
      if (n != 2 || in[0].rank + in[1].rank - 1 > MG_MAX_RANK) return L->vague = 1, 0;
      *out = in[1];
      for (int d = 1; d < in[0].rank; d++) out->dim[out->rank++] = in[0].dim[d];
      break;
    default: return L->vague = 1, 0;
  }
  for (int d = 0; d < out->rank; d++)
    if (!out->dim[d]) {
      if (mg_sizes_error(S, NULL) == MG_OK) L->vague = 1; /* an attribute is missing */
      else
        mgi_list_err(L, MG_LIMIT, x->line, x->column, "%s: a size of the result passes the limits of sizes", x->name);
      return 0;
    }
  return 1;
}
/* A statement's operators, operands and attributes are so many. */
MGI_FN int mgi_node_counts(mgi_lister *L, const mg_expr *x) {
  if (++L->nodes <= MGI_PIECE_NODES) return 1;
  mgi_list_err(L, MG_LIMIT, x->line, x->column, "a statement has at most %d operators, operands and attributes",
               MGI_PIECE_NODES);
  return 0;
}
/* The input of the piece at hand that a value is; MG_MAX_IN on an error. */
MGI_FN int mgi_piece_input(mgi_lister *L, const mg_expr *x) {
  const uint32_t v = mgi_resolve(L, x, NULL);
  int k = 0;
  if (!v) return MG_MAX_IN;
  while (k < L->piece.n_in && L->in[k] != v) k++;
  if (k == MG_MAX_IN)
    mgi_list_err(L, MG_LIMIT, x->line, x->column, "a statement reads at most %d tensors", MG_MAX_IN);
  else if (k == L->piece.n_in) L->in[k] = v, L->piece.in[k] = L->l->value[v], L->piece.n_in++;
  return k;
}
/* The shape of an expression, whose operators become nodes of the piece at hand, operands first; *is is what it is, as
   an operand.  0: it is not known, and the nodes are there for mirage.h to say why. */
MGI_FN int mgi_infer(mgi_lister *L, const mg_expr *x, mgi_dims *out, uint16_t *is) {
  enum { MOST = 4 };
  mgi_dims in[MOST], list;
  mg_size times = 0;
  int64_t dim = x->arg ? INT64_MIN / 2 : 0;
  int n = 0, good = 1;
  const uint32_t operands = L->n_operands, sizes = L->n_sizes;
  memset(out, 0, sizeof *out);
  memset(&list, 0, sizeof list);
  if (!mgi_node_counts(L, x) || !mgi_listing(L)) return 0;
  if (x->kind == 'v') {
    const int k = mgi_piece_input(L, x);
    if (k == MG_MAX_IN) return 0;
    *is = (uint16_t)k;
    out->rank = L->piece.in[k].rank;
    memcpy(out->dim, L->piece.in[k].dim, sizeof out->dim);
    return 1;
  }
  for (const mg_expr *a = x->arg; a && mgi_listing(L); a = a->next) {
    if (a->kind == '#') continue;
    if (a->kind == '=' && !a->size) continue;
    if (a->kind == '=') {
      if (!mgi_node_counts(L, x)) break;
      const mg_size s = L->sizes[L->n_sizes++] = mgi_extent_size(L, a->size);
      if (s && !strcmp(a->name, "dim")) dim = mgi_extent_number(L, a->size, "dim=");
      if (!strcmp(a->name, "n")) times = s;
    } else if (a->kind == '[') {
      if (!mgi_node_counts(L, x)) break;
      list.rank = a->n;
      for (int k = 0; k < a->n; k++) list.dim[k] = L->sizes[L->n_sizes++] = mgi_extent_size(L, a->list[k]);
    } else {
      mgi_dims one;
      uint16_t operand = 0;
      good &= mgi_infer(L, a, &one, &operand);
      if (!mgi_listing(L)) break;
      L->operands[L->n_operands++] = operand;
      if (n < MOST) in[n] = one;
      n++;
    }
  }
  if (!mgi_listing(L)) return 0;
  if (!n || n > MOST) L->vague = 1, good = 0;
  good = good && mgi_infer_op(L, x, n, in, dim, times, &list, out);
  mg_piece_node *p = &L->node[L->piece.n_nodes];
  memset(p, 0, sizeof *p);
  p->op = x, p->operand = L->operand + L->n_operand, p->size = L->size + L->n_size;
  p->n_operands = L->n_operands - operands, p->n_sizes = L->n_sizes - sizes;
  memcpy(L->operand + L->n_operand, L->operands + operands, p->n_operands * sizeof *L->operand);
  memcpy(L->size + L->n_size, L->sizes + sizes, p->n_sizes * sizeof *L->size);
  L->n_operand += p->n_operands, L->n_size += p->n_sizes;
  L->n_operands = operands, L->n_sizes = sizes;
  p->out.kind = MG_VALUE_MADE, p->out.layer = -1, p->out.rank = out->rank;
  memcpy(p->out.dim, out->dim, sizeof out->dim);
  *is = (uint16_t)(MG_MAX_IN + L->piece.n_nodes++);
  return good;
}

/* A piece as text: at given values of the symbols, or, sym being NULL, as a family of them. */
typedef struct mgi_piece_writer {
  const mg_model_list *l;
  const int64_t *sym;
  mgi_text t;
  mg_status s;
  mg_error *e;
} mgi_piece_writer;
MGI_FN void mgi_piece_size(mgi_piece_writer *W, mg_size size) {
  int64_t n = 0;
  char *text = NULL;
  if (W->s != MG_OK) return;
  if (W->sym) {
    W->s = mg_size_at(W->l->sizes, size, W->sym, &n, W->e);
    mgi_putf(&W->t, "%lld", (long long)n);
    return;
  }
  W->s = mg_size_print(W->l->sizes, size, &text, W->e);
  if (W->s == MG_OK) mgi_puts(&W->t, text);
  mg_string_free(text);
}
/* "bf16[n, 8, p, 128] @ [2, 0, 1, 3]", and the line's end */
MGI_FN void mgi_piece_input_text(mgi_piece_writer *W, const mg_value *v) {
  mgi_puts(&W->t, mg_dtype_name(v->type));
  for (int d = 0; d < v->rank; d++) mgi_puts(&W->t, d ? ", " : "["), mgi_piece_size(W, v->dim[d]);
  mgi_puts(&W->t, "]");
  if (v->outer) mgi_putf(&W->t, " @ [%d", v->outer);
  for (int d = 0; v->outer && d < v->rank; d++)
    if (d != v->outer) mgi_putf(&W->t, ", %d", d);
  mgi_puts(&W->t, v->outer ? "]\n" : "\n");
}
MGI_FN void mgi_piece_operand(mgi_piece_writer *W, uint16_t is) {
  mgi_putf(&W->t, is < MG_MAX_IN ? "i%d" : "t%d", is < MG_MAX_IN ? is : is - MG_MAX_IN);
}
MGI_FN void mgi_piece_call(mgi_piece_writer *W, const mg_piece_node *p) {
  uint32_t operand = 0, size = 0;
  mgi_putf(&W->t, "%s(", p->op->name);
  for (const mg_expr *a = p->op->arg; a; a = a->next) {
    mgi_puts(&W->t, a == p->op->arg ? "" : ", ");
    if (a->kind == '#') mgi_puts(&W->t, a->name);
    else if (a->kind == '=') {
      mgi_putf(&W->t, "%s=", a->name);
      if (a->size) mgi_piece_size(W, p->size[size++]);
      else mgi_puts(&W->t, a->arg->name);
    } else if (a->kind == '[') {
      for (int k = 0; k < a->n; k++) mgi_puts(&W->t, k ? ", " : "["), mgi_piece_size(W, p->size[size++]);
      mgi_puts(&W->t, "]");
    } else mgi_piece_operand(W, p->operand[operand++]);
  }
  mgi_puts(&W->t, ")");
}
/* 1 if symbol s is in a size of the piece's inputs. */
MGI_FN int mgi_piece_has(const mg_model_list *l, const mg_piece *p, int s) {
  int has = 0;
  for (int k = 0; k < p->n_in; k++)
    for (int d = 0; d < p->in[k].rank && !has; d++) has = mgi_size_has(l, p->in[k].dim[d], s);
  return has;
}
/* sym NULL: a family. */
MGI_FN mg_status mgi_piece_build(const mg_model_list *l, const mg_piece *p, const int64_t *sym, mg_graph **out,
                                 mg_error *e) {
  mgi_piece_writer W;
  mg_shape shape;
  *out = NULL;
  memset(&W, 0, sizeof W);
  W.l = l, W.sym = sym, W.s = MG_OK, W.e = e;
  mgi_puts(&W.t, "program piece\n");
  for (int k = 0; k < l->m->n_symbols && !sym; k++)
    if (mgi_piece_has(l, p, k))
      mgi_putf(&W.t, "sym %s in %lld..%lld\n", l->m->symbol[k].name, (long long)l->m->symbol[k].least,
               (long long)l->m->symbol[k].most);
  for (int k = 0; k < p->n_in && W.s == MG_OK; k++) {
    if (sym) W.s = mg_value_shape(l, &p->in[k], sym, &shape, e);
    mgi_putf(&W.t, "input i%d : ", k);
    mgi_piece_input_text(&W, &p->in[k]);
  }
  for (uint32_t k = 0; k < p->n_nodes && W.s == MG_OK; k++) {
    mgi_putf(&W.t, "t%u = ", k);
    mgi_piece_call(&W, &p->node[k]);
    mgi_puts(&W.t, "\n");
  }
  for (int k = 0; k < p->n_out; k++) mgi_putf(&W.t, k ? ", t%u" : "output t%u", p->made[k]);
  mgi_puts(&W.t, "\n");
  if (W.s == MG_OK && W.t.bad) W.s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for a piece");
  if (W.s == MG_OK) W.s = mg_parse(W.t.p, W.t.n, "piece", NULL, out, e);
  mg_string_free(W.t.p);
  return W.s;
}
mg_status mg_piece_at(const mg_model_list *l, uint32_t k, const int64_t *sym, mg_graph **out, mg_error *e) {
  const mg_piece *p = &l->piece[k];
  mg_shape want;
  char ta[120];
  mg_status s = mgi_piece_build(l, p, sym, out, e);
  for (int j = 0; j < p->n_out && s == MG_OK; j++) {
    s = mg_value_shape(l, &p->out[j], sym, &want, e);
    const mg_shape *got = &(*out)->tensors[(*out)->out[j].id].shape;
    int same = s == MG_OK && got->rank == want.rank;
    for (int d = 0; same && d < got->rank; d++) same = got->dim[d] == want.dim[d];
    if (s == MG_OK && !same)
      s = mg_fail(e, MG_UNSUPPORTED, l->m->name, "%s: its shape is deduced as %s, and is another at these sizes",
                  p->node[p->made[j]].op->name,
                  mgi_dims_text(l->sizes, p->out[j].rank, p->out[j].dim, ta, sizeof ta));
  }
  if (s == MG_OK) return MG_OK;
  mg_graph_free(*out);
  *out = NULL;
  return s;
}

mg_status mg_piece_family(const mg_model_list *l, uint32_t k, mg_graph **out, mg_error *e) {
  return mgi_piece_build(l, &l->piece[k], NULL, out, e);
}

/* Lowers bound[v] of every value v that launch a, of a piece, picks rows by (mg_index_bound). */
MGI_FN mg_status mgi_launch_bounds(const mg_model_list *l, const mg_launch *a, const int64_t *sym, int64_t *bound,
                                   mg_error *e) {
  const mg_piece *p = &l->piece[a->piece];
  mg_status s = MG_OK;
  for (uint32_t k = 0; k < p->n_nodes && s == MG_OK; k++) {
    const mg_piece_node *x = &p->node[k];
    int64_t rows = 0;
    if (strcmp(x->op->name, "gather") || x->operand[1] >= MG_MAX_IN) continue;
    const uint16_t of = x->operand[0];
    const uint32_t by = a->in[x->operand[1]];
    s = mg_size_at(l->sizes, of < MG_MAX_IN ? p->in[of].dim[0] : p->node[of - MG_MAX_IN].out.dim[0], sym, &rows, e);
    if (s == MG_OK && rows < bound[by]) bound[by] = rows;
  }
  return s;
}
mg_status mg_value_bound(const mg_model_list *l, uint32_t v, const int64_t *sym, int64_t *bound, mg_error *e) {
  int64_t *all = (int64_t *)malloc(l->n_values * sizeof *all);
  mg_status s = all ? MG_OK : mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for bounds");
  for (uint32_t k = 0; k < l->n_values && s == MG_OK; k++) all[k] = INT32_MAX;
  for (uint32_t k = 0; k < l->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &l->launch[k];
    int reads = 0;
    for (int j = 0; j < a->n_in; j++) reads |= a->in[j] == v;
    if (reads && a->kind == MG_LAUNCH_PIECE) s = mgi_launch_bounds(l, a, sym, all, e);
  }
  if (s == MG_OK) *bound = all[v];
  free(all);
  return s;
}

MGI_FN uint64_t mgi_piece_mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x100000001b3u ^ (h >> 29); }
MGI_FN uint64_t mgi_expr_hash(const mg_expr *x, uint64_t h) {
  h = mgi_piece_mix(h, (uint64_t)x->kind);
  for (const char *s = x->kind == 'v' || !x->name ? "" : x->name; *s; s++) h = mgi_piece_mix(h, (uint64_t)*s);
  return h;
}
/* The same operator, constants and attributes; which operands and sizes is the nodes'. */
MGI_FN int mgi_call_equal(const mg_expr *a, const mg_expr *b) {
  const mg_expr *p = a->arg, *q = b->arg;
  if (strcmp(a->name, b->name)) return 0;
  for (; p && q; p = p->next, q = q->next) {
    const int operand = p->kind == 'v' || p->kind == 'o';
    if (operand != (q->kind == 'v' || q->kind == 'o')) return 0;
    if (operand) continue;
    if (p->kind != q->kind || p->n != q->n || !p->size != !q->size) return 0;
    if (p->name && strcmp(p->name, q->name)) return 0;
    if (p->arg && strcmp(p->arg->name, q->arg->name)) return 0;
  }
  return !p && !q;
}
/* The same operator, of whatever operands. */
MGI_FN int mgi_node_alike(const mg_piece_node *x, const mg_piece_node *y) {
  return x->n_sizes == y->n_sizes && mgi_call_equal(x->op, y->op) &&
         (!x->n_sizes || !memcmp(x->size, y->size, x->n_sizes * sizeof *x->size));
}
MGI_FN int mgi_node_equal(const mg_piece_node *a, const mg_piece_node *b) {
  return a->n_operands == b->n_operands && mgi_node_alike(a, b) &&
         (!a->n_operands || !memcmp(a->operand, b->operand, a->n_operands * sizeof *a->operand));
}
/* Of what makes two pieces one (mgi_piece_equal). */
MGI_FN uint64_t mgi_piece_hash(const mg_piece *p) {
  uint64_t h = 0xcbf29ce484222325u;
  for (uint32_t k = 0; k < p->n_nodes; k++) {
    h = mgi_expr_hash(p->node[k].op, h);
    for (uint32_t j = 0; j < p->node[k].n_operands; j++) h = mgi_piece_mix(h, p->node[k].operand[j]);
    for (uint32_t j = 0; j < p->node[k].n_sizes; j++) h = mgi_piece_mix(h, p->node[k].size[j]);
  }
  for (int k = 0; k < p->n_out; k++) h = mgi_piece_mix(h, p->made[k]);
  return h;
}
MGI_FN int mgi_value_alike(const mg_value *a, const mg_value *b) {
  return a->type == b->type && a->rank == b->rank && a->outer == b->outer &&
         !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}
MGI_FN int mgi_piece_equal(const mg_piece *a, const mg_piece *b) {
  int same = a->hash == b->hash && a->n_in == b->n_in && a->n_out == b->n_out && a->n_nodes == b->n_nodes;
  for (int k = 0; same && k < a->n_out; k++) same = a->made[k] == b->made[k];
  for (int k = 0; same && k < a->n_in; k++) same = mgi_value_alike(&a->in[k], &b->in[k]);
  for (uint32_t k = 0; same && k < a->n_nodes; k++) same = mgi_node_equal(&a->node[k], &b->node[k]);
  return same;
}
/* Puts a copy of piece p, its hash included, behind those of the list; NULL on an error. */
MGI_FN mg_piece *mgi_piece_keep(mgi_lister *L, const mg_piece *p) {
  mg_model_list *l = L->l;
  mg_piece_node *node = (mg_piece_node *)mgi_arena(l->arena, (p->n_nodes + 1) * sizeof *node, &L->err);
  mg_piece *to = node ? (mg_piece *)mgi_list_grow(L, l->piece, l->n_pieces, &l->cap_pieces, sizeof *to) : NULL;
  if (!to) return NULL;
  for (uint32_t k = 0; k < p->n_nodes; k++) {
    uint16_t *operand = (uint16_t *)mgi_arena(l->arena, (p->node[k].n_operands + 1) * sizeof *operand, &L->err);
    mg_size *size =
        operand ? (mg_size *)mgi_arena(l->arena, (p->node[k].n_sizes + 1) * sizeof *size, &L->err) : NULL;
    if (!size) return NULL;
    memcpy(operand, p->node[k].operand, p->node[k].n_operands * sizeof *operand);
    memcpy(size, p->node[k].size, p->node[k].n_sizes * sizeof *size);
    node[k] = p->node[k], node[k].operand = operand, node[k].size = size;
  }
  l->piece = to, to += l->n_pieces;
  *to = *p;
  to->node = node;
  return to;
}
/* The type that node k of a piece has in g, which the piece was built as. */
MGI_FN mg_dtype mgi_node_type(const mg_graph *g, uint32_t k) {
  char name[16];
  snprintf(name, sizeof name, "t%u", k);
  for (uint32_t t = g->n_tensors; t-- > 1;)
    if (g->tensors[t].name && !strcmp(g->tensors[t].name, name)) return g->tensors[t].dtype;
  return MG_DTYPE_COUNT;
}
/* The piece at hand, as one of the list: its index, and n_pieces on an error. */
MGI_FN uint32_t mgi_piece_of(mgi_lister *L, const mg_expr *x) {
  mg_model_list *l = L->l;
  mg_piece *p = &L->piece;
  mg_graph *g = NULL;
  mg_error e;
  p->expr = x, p->node = L->node, p->n_out = 1, p->made[0] = (uint16_t)(p->n_nodes - 1);
  p->out[0] = L->node[p->n_nodes - 1].out;
  p->hash = mgi_piece_hash(p);
  for (uint32_t k = 0; k < l->n_pieces; k++)
    if (mgi_piece_equal(&l->piece[k], p)) return k;
  if (l->n_pieces == MGI_PIECES) {
    mgi_list_err(L, MG_LIMIT, x->line, x->column, "a model has at most %d distinct pieces", MGI_PIECES);
    return l->n_pieces;
  }
  mg_piece *to = mgi_piece_keep(L, p);
  if (!to) return l->n_pieces;
  if (p->user) { /* a row whose rule over sizes is unknown: the shape is what it is at numbers */
    int64_t n;
    int fixed = 1;
    for (uint32_t k = 0; k < L->n_size; k++) fixed &= mgi_size_number(l->sizes, L->size[k], &n);
    for (int k = 0; k < p->n_in; k++)
      for (int d = 0; d < p->in[k].rank; d++) fixed &= mgi_size_number(l->sizes, p->in[k].dim[d], &n);
    if (!fixed) {
      mgi_list_err(L, MG_UNSUPPORTED, x->line, x->column,
                   "a user's row that moves elements takes sizes that are numbers");
      return l->n_pieces;
    }
    if (mgi_piece_build(l, to, L->least, &g, &e) != MG_OK) {
      mgi_list_err(L, e.status, x->line, x->column, "%s", e.msg);
      return l->n_pieces;
    }
    const mg_shape *s = &g->tensors[g->out[0].id].shape;
    to->out[0].rank = s->rank;
    for (int d = 0; d < s->rank; d++) to->out[0].dim[d] = mg_size_int(l->sizes, s->dim[d]);
    mg_graph_free(g);
  }
  for (int k = 0; k < 2; k++) {
    if (mg_piece_at(l, l->n_pieces, k ? L->most : L->least, &g, &e) != MG_OK) {
      mgi_list_err(L, e.status, x->line, x->column, "%s", e.msg);
      return l->n_pieces;
    }
    to->out[0].type = g->tensors[g->out[0].id].dtype;
    for (uint32_t j = 0; j < to->n_nodes; j++) ((mg_piece_node *)(uintptr_t)to->node)[j].out.type = mgi_node_type(g, j);
    mg_graph_free(g);
  }
  return l->n_pieces++;
}
/* The value of an expression: a launch, where it has operators. */
MGI_FN uint32_t mgi_value_of(mgi_lister *L, const mg_expr *x, const mg_step *from, const char *name) {
  mgi_dims dims;
  uint16_t is = 0;
  mg_value v;
  mg_graph *g = NULL;
  mg_error e;
  if (!mgi_listing(L)) return 0;
  if (x->kind == 'v') return mgi_resolve(L, x, NULL);
  if (x->kind != 'o') {
    mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "expected a value or an operator's call");
    return 0;
  }
  memset(&L->piece, 0, sizeof L->piece);
  L->nodes = L->vague = 0;
  L->n_operand = L->n_operands = L->n_size = L->n_sizes = 0;
  const int known = mgi_infer(L, x, &dims, &is);
  if (!known && mgi_listing(L)) { /* mirage.h says what is wrong with the arguments */
    L->piece.node = L->node, L->piece.n_out = 1, L->piece.made[0] = (uint16_t)(L->piece.n_nodes - 1);
    const mg_status s = mgi_piece_build(L->l, &L->piece, L->least, &g, &e);
    mg_graph_free(g);
    mgi_list_err(L, s != MG_OK ? s : MG_UNSUPPORTED, x->line, x->column, "%s",
                 s != MG_OK ? e.msg : "the shape of this cannot be deduced");
  }
  if (!known) return 0;
  const uint32_t piece = mgi_piece_of(L, x);
  if (!mgi_listing(L)) return 0;
  v = L->l->piece[piece].out[0];
  v.name = name ? name : x->name;
  const uint32_t id = mgi_value_new(L, &v, x->line, x->column);
  mg_launch *a = id ? mgi_launch_new(L, MG_LAUNCH_PIECE, from) : NULL;
  if (!a) return 0;
  a->piece = piece, a->n_in = L->piece.n_in, a->n_out = 1, a->out[0] = id;
  memcpy(a->in, L->in, sizeof L->in);
  return id;
}

/* ----------------------------------------------------------------------------------------------- >>statements
   Each is run through as often as it would be executed. */

/* Names a value; within a loop, a name from outside keeps type and shape. */
MGI_FN void mgi_assign(mgi_lister *L, const char *name, uint32_t value, int line, int column) {
  char ta[120], tb[120];
  mgi_binding *b = mgi_find(L, name);
  if (!mgi_listing(L) || !value) return;
  if (b && b->kept && !b->count && b->value == value) return; /* a state that was changed in place */
  if (mgi_model_symbol_find(L->m, name) >= 0 || (b && (b->size || b->kept))) {
    mgi_list_err(L, MG_BAD_INPUT, line, column, "'%s' is a %s, and keeps its name", name,
                 b && b->kept ? "weight or state" : "size");
    return;
  }
  if (b && b->depth < L->loops && !mgi_value_alike(&L->l->value[b->value], &L->l->value[value])) {
    const mg_value *p = &L->l->value[b->value], *q = &L->l->value[value];
    mgi_list_err(L, MG_BAD_INPUT, line, column, "'%s' keeps type and shape in a loop: expected %s%s, found %s%s", name,
                 mg_dtype_name(p->type), mgi_dims_text(L->l->sizes, p->rank, p->dim, ta, sizeof ta),
                 mg_dtype_name(q->type), mgi_dims_text(L->l->sizes, q->rank, q->dim, tb, sizeof tb));
    return;
  }
  if (!b) b = mgi_bind(L, name, line, column);
  if (b) b->value = value, b->state = 0;
}

/* Dimension d of value v is `want`: shown, refused, or, where neither can be, checked at every launch if `from` is
   given. */
MGI_FN void mgi_same_size(mgi_lister *L, const char *what, const char *name, uint32_t v, int d, mg_size want, int line,
                          int column, const mg_step *from) {
  char ta[64], tb[64];
  int64_t bounds[2];
  const mg_size have = L->l->value[v].dim[d];
  if (!want || have == want) return;
  const mg_size off = mg_size_sub(L->l->sizes, have, want);
  bounds[0] = INT64_MIN, bounds[1] = INT64_MAX;
  if (off) mg_size_bounds(L->l->sizes, off, bounds);
  if (off && mg_size_order(L->l->sizes, have, want) == MG_ORDER_EQUAL) return;
  if (!off) mg_sizes_error(L->l->sizes, NULL); /* undecided, and no error */
  const int never = bounds[0] > 0 || bounds[1] < 0;
  if (never || !from) {
    mgi_list_err(L, MG_BAD_INPUT, line, column, "%s: '%s' dimension %d: expected %s, found %s%s", what, name, d,
                 mgi_size_text(L->l->sizes, want, ta, sizeof ta), mgi_size_text(L->l->sizes, have, tb, sizeof tb),
                 never ? "" : ", not known to be equal");
    return;
  }
  mg_size_check *p = (mg_size_check *)mgi_list_grow(L, L->l->check, L->l->n_checks, &L->l->cap_checks, sizeof *p);
  if (!p) return;
  L->l->check = p, p += L->l->n_checks++;
  p->name = L->l->value[v].name, p->dim = d, p->have = have, p->want = want, p->from = from;
}
/* 1 if a value has that type, and so many dimensions. */
MGI_FN int mgi_same_kind(mgi_lister *L, const char *subject, mg_dtype type, int rank, const mg_value *is, int line,
                         int column) {
  if (is->rank != rank)
    mgi_list_err(L, MG_BAD_INPUT, line, column, "%s: expected %d dimensions, found %d", subject, rank, is->rank);
  else if (is->type != type)
    mgi_list_err(L, MG_BAD_INPUT, line, column, "%s: expected %s, found %s", subject, mg_dtype_name(type),
                 mg_dtype_name(is->type));
  return mgi_listing(L);
}
/* Value v has the type and shape that a signature says; a name that is nothing yet is bound to the size there. */
MGI_FN void mgi_fits(mgi_lister *L, const char *what, const char *name, const mg_signature *s, uint32_t v, int line,
                     int column, const mg_step *from) {
  const mg_value *is = &L->l->value[v];
  char subject[160];
  if (!mgi_listing(L)) return;
  snprintf(subject, sizeof subject, "%s: '%s'", what, name);
  if (!mgi_same_kind(L, subject, s->type, s->rank, is, line, column)) return;
  for (int d = 0; d < s->rank && mgi_listing(L); d++) {
    const mg_extent *x = s->dim[d];
    if (x->kind == 'n' && !mgi_find(L, x->name) && mgi_model_symbol_find(L->m, x->name) < 0) {
      mgi_binding *b = mgi_bind(L, x->name, x->line, x->column);
      if (b) b->size = L->l->value[v].dim[d];
    } else mgi_same_size(L, what, name, v, d, mgi_extent_size(L, x), line, column, from);
  }
}

MGI_FN void mgi_list_steps(mgi_lister *L, const mg_step *s, const mg_step *call, const mg_value *result);
MGI_FN void mgi_list_call(mgi_lister *L, const mg_step *s) {
  const mg_function *f = s->fn;
  uint32_t arg[MG_MODEL_MAX_PARAMS];
  mg_value result[MG_MAX_OUT];
  if (s->n_args != f->n_params) {
    mgi_list_err(L, MG_BAD_INPUT, s->line, s->column, "%s takes %d operands, found %d", f->name, f->n_params,
                 s->n_args);
    return;
  }
  for (int k = 0; k < s->n_args && mgi_listing(L); k++) {
    const mgi_binding *b = NULL;
    arg[k] = s->arg[k]->kind == 'v' ? mgi_resolve(L, s->arg[k], &b) : mgi_value_of(L, s->arg[k], s, f->param[k].name);
    if (mgi_listing(L) && f->param[k].state && !(b && b->state))
      mgi_list_err(L, MG_BAD_INPUT, s->arg[k]->line, s->arg[k]->column, "%s updates '%s': expected a state, found '%s'",
                   f->name, f->param[k].name, s->arg[k]->name);
    for (int j = 0; j < k && mgi_listing(L); j++)
      if (arg[j] == arg[k] && (f->param[j].state || f->param[k].state))
        mgi_list_err(L, MG_BAD_INPUT, s->arg[k]->line, s->arg[k]->column, "%s: '%s' and '%s' are one state", f->name,
                     f->param[j].name, f->param[k].name);
  }
  if (!mgi_listing(L)) return;
  if (L->nest == MGI_MAX_NEST) {
    mgi_list_err(L, MG_LIMIT, s->line, s->column, "calls nest at most %d deep", MGI_MAX_NEST);
    return;
  }
  const uint32_t frame = L->frame, n = L->n;
  const int loops = L->loops;
  L->frame = L->n, L->loops = 0, L->nest++;
  for (int k = 0; k < f->n_params; k++)
    mgi_fits(L, f->name, f->param[k].name, &f->param[k], arg[k], s->arg[k]->line, s->arg[k]->column, NULL);
  for (int k = 0; k < f->n_params; k++) {
    if (mgi_find(L, f->param[k].name))
      mgi_list_err(L, MG_BAD_INPUT, f->param[k].line, f->param[k].column, "'%s' is a parameter and a size",
                   f->param[k].name);
    mgi_binding *b = mgi_bind(L, f->param[k].name, f->param[k].line, f->param[k].column);
    if (b) b->value = arg[k], b->state = f->param[k].state, b->kept = b->state;
  }
  for (int k = 0; k < f->n_results; k++) mgi_value_signed(L, &f->result[k], &result[k]);
  L->returned = 0;
  mgi_list_steps(L, f->body, s, result);
  if (!L->returned)
    mgi_list_err(L, MG_BAD_INPUT, f->line, f->column, "%s returns nothing: expected a return at its end", f->name);
  L->returned = 0;
  L->frame = frame, L->n = n, L->loops = loops, L->nest--;
  for (int k = 0; k < s->n_names; k++) mgi_assign(L, s->name[k], L->result[k], s->line, s->column);
}
/* The results of `call` are to be as `result` says. */
MGI_FN void mgi_list_return(mgi_lister *L, const mg_step *s, const mg_step *call, const mg_value *result) {
  char ta[120], tb[120];
  const int n = call->fn->n_results;
  if (s->n_args != n)
    mgi_list_err(L, MG_BAD_INPUT, s->line, s->column, "expected %d result%s, found %d", n, n == 1 ? "" : "s",
                 s->n_args);
  for (int k = 0; k < n && mgi_listing(L); k++) {
    const uint32_t v = L->result[k] = mgi_value_of(L, s->arg[k], s, call->name[k]);
    if (v && !mgi_value_alike(&L->l->value[v], &result[k]))
      mgi_list_err(L, MG_BAD_INPUT, s->arg[k]->line, s->arg[k]->column, "result %d: expected %s%s, found %s%s", k,
                   mg_dtype_name(result[k].type),
                   mgi_dims_text(L->l->sizes, result[k].rank, result[k].dim, ta, sizeof ta),
                   mg_dtype_name(L->l->value[v].type),
                   mgi_dims_text(L->l->sizes, L->l->value[v].rank, L->l->value[v].dim, tb, sizeof tb));
  }
  L->returned = 1;
}
MGI_FN void mgi_list_update(mgi_lister *L, const mg_step *s) {
  const mgi_binding *b = NULL;
  const uint32_t state = mgi_resolve(L, s->target, &b), v = mgi_value_of(L, s->value, s, s->target->name);
  if (!mgi_listing(L)) return;
  if (!b->state) {
    mgi_list_err(L, MG_BAD_INPUT, s->line, s->column, "'%s' is no state that may be updated here", s->target->name);
    return;
  }
  const mg_value *to = &L->l->value[state], *from = &L->l->value[v];
  int dim = -1;
  char subject[160];
  snprintf(subject, sizeof subject, "update %s", s->target->name);
  if (!mgi_same_kind(L, subject, to->type, to->rank, from, s->line, s->column)) return;
  for (int d = 0; d < to->rank && mgi_listing(L); d++)
    if (to->dim[d] != from->dim[d]) {
      if (dim < 0) dim = d;
      else mgi_same_size(L, "update", s->target->name, v, d, to->dim[d], s->line, s->column, NULL);
    }
  if (dim < 0) dim = 0;
  const mg_size at = mgi_extent_size(L, s->at);
  mg_launch *a = at ? mgi_launch_new(L, MG_LAUNCH_UPDATE, s) : NULL;
  if (a) a->n_in = a->n_out = 1, a->in[0] = v, a->out[0] = state, a->dim = dim, a->at = at;
}
/* Bytes that a foreign kernel may write over: a value of so many words, which no one reads. */
MGI_FN uint32_t mgi_scratch_new(mgi_lister *L, const mg_step *s) {
  mg_value v;
  const mg_size bytes = mgi_extent_size(L, s->at);
  memset(&v, 0, sizeof v);
  v.name = "scratch", v.kind = MG_VALUE_MADE, v.layer = -1, v.type = MG_F32, v.rank = 1;
  v.dim[0] =
      bytes ? mgi_size_made(L, mg_size_ceil(L->l->sizes, bytes, mg_dtype_bytes(MG_F32)), s->at->line, s->at->column)
            : 0;
  return v.dim[0] ? mgi_value_new(L, &v, s->at->line, s->at->column) : 0;
}
MGI_FN void mgi_list_foreign(mgi_lister *L, const mg_step *s) {
  uint32_t in[MG_MODEL_MAX_PARAMS], out[MG_MAX_OUT];
  mg_value v;
  for (int k = 0; k < s->n_args && mgi_listing(L); k++) in[k] = mgi_value_of(L, s->arg[k], s, NULL);
  for (int k = 0; k < s->n_results && mgi_listing(L); k++) {
    if (s->in_place[k]) {
      const mg_expr *x = s->arg[s->in_place[k] - 1];
      const uint32_t is = in[s->in_place[k] - 1];
      if (L->l->value[is].kind != MG_VALUE_MADE && !mgi_find(L, x->name)->state)
        mgi_list_err(L, MG_BAD_INPUT, x->line, x->column,
                     "'%s' is no state or result that may be changed in place here", x->name);
      for (int j = 0; j < s->n_args && mgi_listing(L); j++)
        if (j != s->in_place[k] - 1 && in[j] == is)
          mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' is two operands, and changed in place", x->name);
      for (int j = 0; j < k && mgi_listing(L); j++)
        if (s->in_place[j] == s->in_place[k])
          mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' is two results", x->name);
      out[k] = is;
      if (!mgi_listing(L) || L->l->value[is].kind != MG_VALUE_MADE) continue;
      v = L->l->value[is];
      v.name = s->name[k], v.alias = is;
      out[k] = mgi_value_new(L, &v, x->line, x->column);
      L->l->value[is].taken = 1;
      continue;
    }
    if (!mgi_value_signed(L, &s->result[k], &v)) return;
    v.name = s->name[k];
    out[k] = mgi_value_new(L, &v, s->result[k].line, s->result[k].column);
  }
  const uint32_t scratch = s->at && mgi_listing(L) ? mgi_scratch_new(L, s) : 0;
  mg_launch *a = mgi_listing(L) ? mgi_launch_new(L, MG_LAUNCH_FOREIGN, s) : NULL;
  if (!a) return;
  a->n_in = s->n_args, a->n_out = s->n_results, a->n_sizes = s->n_sizes, a->scratch = scratch;
  memcpy(a->in, in, (size_t)s->n_args * sizeof *in);
  memcpy(a->out, out, (size_t)s->n_results * sizeof *out);
  for (int k = 0; k < s->n_sizes; k++) a->size[k] = mgi_extent_size(L, s->size[k]);
  for (int k = 0; k < s->n_names; k++) mgi_assign(L, s->name[k], out[k], s->line, s->column);
}
MGI_FN void mgi_list_loop(mgi_lister *L, const mg_step *s) {
  const int64_t turns = mgi_extent_number(L, s->at, "the turns of a loop");
  if (!mgi_listing(L)) return;
  if (turns < 1 || turns > MG_MODEL_MAX_LAYERS) {
    mgi_list_err(L, MG_BAD_INPUT, s->line, s->column, "a loop has 1 to %d turns, found %lld", MG_MODEL_MAX_LAYERS,
                 (long long)turns);
    return;
  }
  if (mgi_find(L, s->name[0]) || mgi_model_symbol_find(L->m, s->name[0]) >= 0) {
    mgi_list_err(L, MG_BAD_INPUT, s->line, s->column, "'%s' is defined already", s->name[0]);
    return;
  }
  const uint32_t n = L->n;
  L->loops++;
  for (int64_t k = 0; k < turns && mgi_listing(L); k++, L->n = n) {
    mgi_binding *b = mgi_bind(L, s->name[0], s->line, s->column);
    if (b) b->size = mgi_size_made(L, mg_size_int(L->l->sizes, k), s->line, s->column);
    if (++L->steps > MG_MODEL_MAX_STEPS)
      mgi_list_err(L, MG_LIMIT, s->line, s->column, "a model runs through at most %d statements", MG_MODEL_MAX_STEPS);
    mgi_list_steps(L, s->body, NULL, NULL);
  }
  L->loops--;
}
MGI_FN void mgi_list_steps(mgi_lister *L, const mg_step *s, const mg_step *call, const mg_value *result) {
  for (; s && mgi_listing(L); s = s->next) {
    if (++L->steps > MG_MODEL_MAX_STEPS)
      mgi_list_err(L, MG_LIMIT, s->line, s->column, "a model runs through at most %d statements", MG_MODEL_MAX_STEPS);
    if (L->returned)
      mgi_list_err(L, MG_BAD_INPUT, s->line, s->column, "expected the end of the function after its return");
    if (!mgi_listing(L)) return;
    switch (s->kind) {
      case MG_STEP_LET: mgi_assign(L, s->name[0], mgi_value_of(L, s->value, s, s->name[0]), s->line, s->column); break;
      case MG_STEP_CALL: mgi_list_call(L, s); break;
      case MG_STEP_FOREIGN: mgi_list_foreign(L, s); break;
      case MG_STEP_UPDATE: mgi_list_update(L, s); break;
      case MG_STEP_MATCH: {
        const uint32_t v = mgi_resolve(L, s->target, NULL);
        if (v) mgi_fits(L, "match", s->target->name, &s->result[0], v, s->line, s->column, s);
        break;
      }
      case MG_STEP_FOR: mgi_list_loop(L, s); break;
      case MG_STEP_RETURN: mgi_list_return(L, s, call, result); break;
    }
  }
}

MGI_FN void mgi_list_decls(mgi_lister *L) {
  for (const mg_model_decl *d = L->m->decls; d && mgi_listing(L); d = d->next) {
    mg_value v;
    if (!mgi_value_signed(L, &d->as, &v)) return;
    v.kind = d->kind, v.decl = d;
    if (d->kind == MG_VALUE_STATE && (v.outer = mgi_value_grows(L->l, &v)) < 0) v.outer = 0;
    if (d->table && !(v.at = mgi_extent_size(L, d->at))) return;
    const uint32_t first = L->l->n_values;
    for (int64_t k = 0; k < (d->count ? d->count : 1) && mgi_listing(L); k++) {
      v.layer = d->count ? k : -1;
      mgi_value_new(L, &v, d->as.line, d->as.column);
    }
    mgi_binding *b = mgi_bind(L, d->as.name, d->as.line, d->as.column);
    if (b)
      b->value = first, b->count = d->count, b->state = d->kind == MG_VALUE_STATE, b->kept = d->kind != MG_VALUE_INPUT;
  }
}
mg_status mg_model_list_of(const mg_model *m, mg_model_list **out, mg_error *e) {
  *out = NULL;
  const mg_status s = mg_model_check(m, e);
  if (s != MG_OK) return s;
  mg_graph *arena = mg_program_new(m->name, NULL);
  mg_model_list *l = arena ? (mg_model_list *)mgi_alloc(arena->root, sizeof *l) : NULL;
  mgi_lister *L = (mgi_lister *)calloc(1, sizeof *L);
  mgi_binding *b = (mgi_binding *)malloc(MGI_NAMES * sizeof *b);
  mg_sizes *sizes = mg_sizes_new();
  if (!l || !L || !b || !sizes) {
    mg_graph_free(arena), free(L), free(b), mg_sizes_free(sizes);
    return mg_fail(e, MG_NO_MEMORY, m->name, "no memory for the list");
  }
  l->m = m, l->arena = arena, l->sizes = sizes, l->n_values = 1;
  l->value = (mg_value *)mgi_alloc(arena->root, 16 * sizeof *l->value), l->cap_values = l->value ? 16 : 0;
  if (!l->value) mg_check(arena, &L->err);
  L->m = m, L->l = l, L->b = b;
  for (int k = 0; k < m->n_symbols; k++) {
    L->symbol[k] =
        mgi_size_made(L, mg_size_symbol(sizes, m->symbol[k].name, m->symbol[k].least, m->symbol[k].most), 0, 0);
    L->least[k] = m->symbol[k].least, L->most[k] = m->symbol[k].most;
  }
  mgi_list_decls(L);
  mgi_list_steps(L, m->body, NULL, NULL);
  for (int k = 0; k < m->n_outputs && mgi_listing(L); k++) {
    const mg_expr *x = m->output[k];
    if (x->kind != 'v')
      mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "expected the name of a value, found a call of %s", x->name);
    else l->output[k] = mgi_resolve(L, x, NULL);
    if (mgi_listing(L) && l->value[l->output[k]].kind != MG_VALUE_MADE)
      mgi_list_err(L, MG_BAD_INPUT, x->line, x->column, "'%s' is what it was: expected a result", x->name);
  }
  const mg_status status = L->err.status;
  if (status == MG_OK) *out = l;
  else mg_model_list_free(l);
  if (e) *e = L->err;
  free(L), free(b);
  return status;
}
void mg_model_list_free(mg_model_list *l) {
  if (!l) return;
  if (!l->whole) mg_sizes_free(l->sizes);
  mg_graph_free(l->arena);
}
uint32_t mg_value_find(const mg_model_list *l, const char *name, int64_t layer) {
  for (uint32_t v = 1; v < l->n_values; v++)
    if (l->value[v].kind != MG_VALUE_MADE && l->value[v].layer == layer && !strcmp(l->value[v].name, name)) return v;
  return 0;
}

/* ------------------------------------------------------------------------------------------------ >>partition
   1. An atom is an operator, an update or a foreign kernel, with the values that it reads and makes: those of the list,
      and one for what an operator makes within a statement.  A piece with a user's row of unknown shape is one atom.
      A reshape moves nothing: each operator that reads one has its own, and nobody stores it for several; but that of a
      state is read as the state stands then, and one that adds or drops ones stays with what it is of.
   2. Atoms are put in an order that the dependences allow, in which updates and foreign kernels come as late, and
      together, as they can; what weights alone decide comes first, if it is made once (mgi_atoms_once), else right
      before its first reader.  What stands between them is a region.
   3. In a region, a piece is an interval of atoms; the least sum of costs by a shortest path over the cuts.  Limits
      that only grow with an interval end it.  What was priced once is known by its hash.
   4. The pieces become a list of their own; pieces that are equal up to names are one (mgi_piece_equal). */

enum { MGI_ATOMS = 16384, MGI_PRICED = 20000, MGI_MOST_OPS = 64, MGI_FOLDS = 64 };
#define MGI_NO_PRICE 1e30

typedef struct mgi_atom {
  uint32_t launch;
  uint32_t node;     /* of the launch's piece; UINT32_MAX: all of the launch */
  uint32_t in, n_in; /* values: from the partitioner's operands */
  uint32_t out;      /* of a node: its value */
  uint32_t waits;    /* atoms before it that have not been placed */
  int lazy;          /* of weights alone */
  int fixed;         /* lazy, and of sizes that are numbers: it may be made once */
  int once;          /* it is, before all steps */
  const mg_piece_node *is; /* the operator, where it is not the launch's */
  int own;           /* a reshape of its reader's own: it comes right before that */
} mgi_atom;
typedef struct mgi_edge { uint32_t from, to; } mgi_edge;
/* A value that a reshape makes: of what, and whether it has the atom that is not an operator's own. */
typedef struct mgi_moved { int is, placed; uint32_t launch, node, from; } mgi_moved;
typedef struct mgi_parting {
  const mg_model_list *l;
  mg_partition_config cfg;
  mgi_atom *atom;
  uint32_t n_atoms, n_operands, n_values, n_edges, cap_edges, cap_values, cap_moved, cap_operands;
  uint32_t *operand;
  mg_value *value;      /* the list's, then those within statements */
  mgi_moved *moved;     /* by value */
  uint32_t *maker;      /* by value: 1 + the atom that makes it */
  uint32_t *order;      /* atoms as they are placed */
  uint32_t *place;      /* by atom, once placed: 1 + where */
  uint32_t *last;       /* by value: 1 + the last place where it is read; UINT32_MAX: an output */
  mgi_edge *edge;       /* by `from` */
  uint32_t *first_edge; /* by atom */
  uint64_t *known;      /* hashes of what was priced */
  double *price;
  uint32_t n_known;
  uint32_t n_once;      /* the first places: of atoms that are made once */
  mg_graph *arena;      /* NULL, or that of folds */
  mg_fold *fold;
  uint32_t n_folds;
  mg_error *e;
} mgi_parting;

/* Room for one more of an array that is malloc'ed. */
MGI_FN int mgi_parting_room(mgi_parting *P, void **p, uint32_t n, uint32_t *cap, size_t bytes) {
  if (n < *cap) return 1;
  const uint32_t want = *cap ? 2 * *cap : 256;
  void *q = realloc(*p, want * bytes);
  if (!q) return mg_fail(P->e, MG_NO_MEMORY, P->l->m->name, "no memory for a partition"), 0;
  *p = q, *cap = want;
  return 1;
}
/* An atom of these operands. */
MGI_FN mgi_atom *mgi_atom_new(mgi_parting *P, uint32_t launch, uint32_t node, const uint32_t *in, uint32_t n_in) {
  if (P->n_atoms == MGI_ATOMS) {
    mg_fail(P->e, MG_LIMIT, P->l->m->name, "a model of more than %d operators is not cut", MGI_ATOMS);
    return NULL;
  }
  mgi_atom *a = &P->atom[P->n_atoms];
  memset(a, 0, sizeof *a);
  a->launch = launch, a->node = node, a->in = P->n_operands, a->n_in = n_in;
  for (uint32_t j = 0; j < n_in; j++) {
    if (!mgi_parting_room(P, (void **)&P->operand, P->n_operands, &P->cap_operands, sizeof *P->operand)) return NULL;
    P->operand[P->n_operands++] = in[j];
  }
  P->n_atoms++;
  return a;
}
/* A value like another; 0: no memory. */
MGI_FN uint32_t mgi_parting_value(mgi_parting *P, const mg_value *like, const char *name) {
  if (!mgi_parting_room(P, (void **)&P->value, P->n_values, &P->cap_values, sizeof *P->value)) return 0;
  if (!mgi_parting_room(P, (void **)&P->moved, P->n_values, &P->cap_moved, sizeof *P->moved)) return 0;
  memset(&P->moved[P->n_values], 0, sizeof *P->moved);
  P->value[P->n_values] = *like;
  P->value[P->n_values].name = name;
  return P->n_values++;
}
/* What to read in the place of value v: itself, or, of a reshape that has no atom yet, one of its own for an operator,
   or the one for all others; 0 on an error. */
MGI_FN uint32_t mgi_parting_read(mgi_parting *P, uint32_t v, int own) {
  if (!P->moved[v].is || (!own && P->moved[v].placed)) return v;
  const mgi_moved m = P->moved[v];
  const uint32_t from = mgi_parting_read(P, m.from, 1);
  const mg_value like = P->value[v];
  const uint32_t to = own && from ? mgi_parting_value(P, &like, like.name) : v;
  mgi_atom *a = from && to ? mgi_atom_new(P, m.launch, m.node, &from, 1) : NULL;
  if (!a) return 0;
  if (!own) P->moved[v].placed = 1;
  a->own = own;
  return a->out = to;
}
/* 1 if a reshape does more than to add or drop sizes of 1. */
MGI_FN int mgi_parting_splits(const mgi_parting *P, const mg_value *a, const mg_value *b) {
  int64_t n;
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->rank && mgi_size_number(P->l->sizes, a->dim[i], &n) && n == 1) i++;
    while (j < b->rank && mgi_size_number(P->l->sizes, b->dim[j], &n) && n == 1) j++;
    if (i == a->rank || j == b->rank) return i < a->rank || j < b->rank;
    if (a->dim[i] != b->dim[j]) return 1;
  }
}
/* The atoms of a launch of a piece: every node makes a value, the last one the launch's own. */
MGI_FN int mgi_atoms_of_piece(mgi_parting *P, uint32_t launch) {
  const mg_launch *run = &P->l->launch[launch];
  const mg_piece *p = &P->l->piece[run->piece];
  uint32_t in[MGI_PIECE_NODES], made[MGI_PIECE_NODES];
  for (uint32_t k = 0; k < p->n_nodes; k++) {
    const mg_piece_node *node = &p->node[k];
    const mg_opcode op = mg_op_find(node->op->name, strlen(node->op->name));
    for (uint32_t j = 0; j < node->n_operands; j++)
      in[j] = node->operand[j] < MG_MAX_IN ? run->in[node->operand[j]] : made[node->operand[j] - MG_MAX_IN];
    made[k] = k + 1 == p->n_nodes ? run->out[0] : mgi_parting_value(P, &node->out, node->op->name);
    if (!made[k]) return 0;
    if (op == MG_OP_RESHAPE && P->value[in[0]].kind != MG_VALUE_STATE && !P->value[in[0]].taken &&
        mgi_parting_splits(P, &P->value[in[0]], &node->out)) {
      mgi_moved *m = &P->moved[made[k]];
      m->is = 1, m->launch = launch, m->node = k, m->from = in[0];
      continue;
    }
    for (uint32_t j = 0; j < node->n_operands; j++)
      if (!(in[j] = mgi_parting_read(P, in[j], 1))) return 0;
    mgi_atom *a = mgi_atom_new(P, launch, k, in, node->n_operands);
    if (!a) return 0;
    a->out = made[k];
  }
  return 1;
}
MGI_FN int mgi_atoms_of(mgi_parting *P) {
  const mg_model_list *l = P->l;
  uint32_t in[MG_MODEL_MAX_PARAMS];
  for (uint32_t k = 0; k < l->n_launches; k++) {
    const mg_launch *run = &l->launch[k];
    const mg_piece *p = run->kind == MG_LAUNCH_PIECE ? &l->piece[run->piece] : NULL;
    int split = p && !p->user;
    for (uint32_t j = 0; split && j < p->n_nodes; j++) split = p->node[j].out.type != MG_DTYPE_COUNT;
    if (split && !mgi_atoms_of_piece(P, k)) return 0;
    if (split) continue;
    for (int j = 0; j < run->n_in; j++)
      if (!mgi_parting_read(P, in[j] = run->in[j], 0)) return 0;
    if (!mgi_atom_new(P, k, UINT32_MAX, in, (uint32_t)run->n_in)) return 0;
  }
  for (int k = 0; k < l->m->n_outputs; k++)
    if (!mgi_parting_read(P, l->output[k], 0)) return 0;
  return 1;
}

/* The operator of an atom that is one. */
MGI_FN const mg_piece_node *mgi_atom_node(const mgi_parting *P, const mgi_atom *a) {
  return a->is ? a->is : &P->l->piece[P->l->launch[a->launch].piece].node[a->node];
}
MGI_FN int mgi_atom_of(const mgi_parting *P, const mgi_atom *a, mg_opcode op) {
  if (a->node == UINT32_MAX) return 0;
  const char *name = mgi_atom_node(P, a)->op->name;
  return mg_op_find(name, strlen(name)) == op;
}
/* ---- folds */
MGI_FN int mgi_foldable(const mgi_parting *P, uint32_t v, int rank) {
  const mg_value *is = &P->value[v];
  return is->kind == MG_VALUE_WEIGHT && is->type == MG_BF16 && is->rank == rank && mgi_value_fixed(P->l, is);
}
/* Operands of atoms, and outputs, that are value v. */
MGI_FN uint32_t mgi_fold_readers(const mgi_parting *P, uint32_t v) {
  uint32_t n = 0;
  for (uint32_t a = 0; a < P->n_atoms; a++)
    for (uint32_t j = 0; j < P->atom[a].n_in; j++) n += P->operand[P->atom[a].in + j] == v;
  for (int k = 0; k < P->l->m->n_outputs; k++) n += P->l->output[k] == v;
  return n;
}
/* 1 if atom a is a product of value v by a weight of its own. */
MGI_FN int mgi_fold_product(const mgi_parting *P, const mgi_atom *a, uint32_t v) {
  if (!mgi_atom_of(P, a, MG_OP_MATMUL) || P->operand[a->in] != v) return 0;
  const uint32_t w = P->operand[a->in + 1];
  return mgi_foldable(P, w, 2) && mgi_fold_readers(P, w) == 1;
}
/* 1 if the gain of atom a goes into all that read its result. */
MGI_FN int mgi_folds(const mgi_parting *P, const mgi_atom *a) {
  uint32_t products = 0;
  if (!mgi_atom_of(P, a, MG_OP_RMS_NORM) || a->n_in != 2 || P->n_folds == MGI_FOLDS) return 0;
  const mg_value *x = &P->value[P->operand[a->in]], *out = &P->value[a->out];
  if (!mgi_foldable(P, P->operand[a->in + 1], 1) || x->type != MG_BF16 || out->type != MG_BF16 || out->taken) return 0;
  for (const mg_expr *arg = mgi_atom_node(P, a)->op->arg; arg; arg = arg->next)
    if (arg->kind == '=' && !strcmp(arg->name, "dim")) return 0;
  for (uint32_t k = 0; k < P->n_atoms; k++) products += (uint32_t)mgi_fold_product(P, &P->atom[k], a->out);
  return products && products == mgi_fold_readers(P, a->out);
}
/* A call of `name` with n operands, and the rest of the arguments of `like` behind its own operands. */
MGI_FN mg_expr *mgi_fold_call(mgi_parting *P, const char *name, int n, const mg_expr *like) {
  mg_expr *x = (mg_expr *)mgi_arena(P->arena, sizeof *x, P->e), **tail = x ? &x->arg : NULL;
  const mg_expr *rest = like;
  while (rest && (rest->kind == 'v' || rest->kind == 'o')) rest = rest->next;
  for (int k = 0; x && (k < n || rest); k++) {
    mg_expr *arg = (mg_expr *)mgi_arena(P->arena, sizeof *arg, P->e);
    if (!arg) return NULL;
    if (k < n) arg->kind = 'v';
    else *arg = *rest, arg->next = NULL, rest = rest->next;
    *tail = arg, tail = &arg->next;
  }
  if (x) x->kind = 'o', x->name = name;
  return x;
}
/* The two programs of a fold of norm and product, of these operands, in *f: nodes of the second are the norm, the gain
   as a column, the matrix by it, the product. */
MGI_FN int mgi_fold_of(mgi_parting *P, const mg_piece_node *norm, const mg_piece_node *product, const mg_value *in,
                       mg_fold *f) {
  static const uint16_t written[2][2] = {{0, 1}, {MG_MAX_IN, 2}};
  static const uint16_t folded[4][2] = {{0}, {1}, {2, MG_MAX_IN + 1}, {MG_MAX_IN, MG_MAX_IN + 2}};
  static const uint32_t operands[4] = {1, 1, 2, 2};
  mg_piece_node *x = (mg_piece_node *)mgi_arena(P->arena, 6 * sizeof *x, P->e), *y = x + 2;
  mg_size *column = (mg_size *)mgi_arena(P->arena, 2 * sizeof *column, P->e);
  mg_expr *list = mgi_fold_call(P, NULL, 0, NULL), *by[3];
  if (!x || !column || !list) return 0;
  list->kind = '[', list->n = 2;
  by[0] = mgi_fold_call(P, norm->op->name, 1, norm->op->arg);
  by[1] = mgi_fold_call(P, "reshape", 1, list), by[2] = mgi_fold_call(P, "mul", 2, NULL);
  if (!by[0] || !by[1] || !by[2]) return 0;
  column[0] = in[1].dim[0], column[1] = mg_size_int(P->l->sizes, 1);
  x[0] = y[0] = *norm, x[1] = y[3] = *product;
  for (int k = 0; k < 2; k++) x[k].operand = written[k];
  for (int k = 0; k < 4; k++) y[k].operand = folded[k], y[k].n_operands = operands[k];
  for (int k = 0; k < 3; k++) y[k].op = by[k];
  y[1].size = y[2].size = column, y[1].n_sizes = 2, y[1].out = in[1]; /* the product by the gain has none */
  y[1].out.rank = 2, y[1].out.dim[0] = column[0], y[1].out.dim[1] = column[1];
  y[2].out = in[2];
  for (int k = 1; k < 3; k++) y[k].out.kind = MG_VALUE_MADE, y[k].out.layer = -1, y[k].out.decl = NULL;
  memset(f, 0, sizeof *f);
  for (int w = 0; w < 2; w++) {
    mg_piece *p = w ? &f->folded : &f->written;
    p->n_in = 3, p->n_out = 1, p->node = w ? y : x, p->n_nodes = w ? 4 : 2, p->made[0] = (uint16_t)(p->n_nodes - 1);
    for (int k = 0; k < 3; k++) p->in[k] = in[k];
    p->out[0] = product->out;
    p->hash = mgi_piece_hash(p);
  }
  return 1;
}
/* The gain of a norm, atom a, goes into the weight of a product, atom k; the norm without it, NULL on an error. */
MGI_FN const mg_piece_node *mgi_fold_one(mgi_parting *P, const mgi_atom *a, const mgi_atom *k) {
  const uint32_t operand[3] = {P->operand[a->in], P->operand[a->in + 1], P->operand[k->in + 1]};
  const mg_value in[3] = {P->value[operand[0]], P->value[operand[1]], P->value[operand[2]]};
  uint32_t at = 0, made[2];
  if (!mgi_fold_of(P, mgi_atom_node(P, a), mgi_atom_node(P, k), in, &P->fold[P->n_folds])) return NULL;
  while (!mgi_piece_equal(&P->fold[at].written, &P->fold[P->n_folds].written)) at++;
  P->n_folds += at == P->n_folds;
  for (int j = 0; j < 2; j++) {
    const mg_piece_node *x = &P->fold[at].folded.node[1 + j];
    const uint32_t of[2] = {operand[1 + j], made[0]};
    made[j] = mgi_parting_value(P, &x->out, x->op->name);
    mgi_atom *m = made[j] ? mgi_atom_new(P, k->launch, k->node, of, x->n_operands) : NULL;
    if (!m) return NULL;
    m->is = x, m->out = made[j];
  }
  P->operand[k->in + 1] = made[1];
  return P->fold[at].folded.node;
}
/* What is folded: the norm loses its gain behind all its products. */
MGI_FN int mgi_fold_all(mgi_parting *P) {
  const uint32_t n = P->n_atoms;
  P->arena = mg_program_new(P->l->m->name, NULL);
  P->fold = P->arena ? (mg_fold *)mgi_arena(P->arena, (MGI_FOLDS + 1) * sizeof *P->fold, P->e) : NULL;
  if (!P->fold) return mg_fail(P->e, MG_NO_MEMORY, P->l->m->name, "no memory for folds"), 0;
  for (uint32_t a = 0; a < n; a++) {
    if (!mgi_folds(P, &P->atom[a])) continue;
    const mg_piece_node *norm = NULL;
    for (uint32_t k = 0; k < n; k++) {
      if (!mgi_fold_product(P, &P->atom[k], P->atom[a].out)) continue;
      if (P->n_folds == MGI_FOLDS) return mg_fail(P->e, MG_LIMIT, P->l->m->name, "at most %d folds", MGI_FOLDS), 0;
      if (!(norm = mgi_fold_one(P, &P->atom[a], &P->atom[k]))) return 0;
    }
    P->atom[a].is = norm, P->atom[a].n_in = 1;
  }
  return 1;
}

/* Atom `to` waits for `from`; what weights alone decide is placed with its first reader, and nobody waits for it. */
MGI_FN int mgi_edge_add(mgi_parting *P, uint32_t from, uint32_t to) {
  if (P->atom[from].lazy) return 1;
  if (!mgi_parting_room(P, (void **)&P->edge, P->n_edges, &P->cap_edges, sizeof *P->edge)) return 0;
  P->edge[P->n_edges].from = from, P->edge[P->n_edges++].to = to;
  P->atom[to].waits++;
  return 1;
}
MGI_FN int mgi_edge_order(const void *a, const void *b) {
  const mgi_edge *x = (const mgi_edge *)a, *y = (const mgi_edge *)b;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to < y->to ? -1 : x->to > y->to;
}
/* What an atom makes or changes: its k-th, 0 if there are fewer. */
MGI_FN uint32_t mgi_atom_out(const mgi_parting *P, uint32_t a, int k) {
  const mg_launch *run = &P->l->launch[P->atom[a].launch];
  if (P->atom[a].node != UINT32_MAX) return k ? 0 : P->atom[a].out;
  return k < run->n_out ? run->out[k] : 0;
}
/* Atom `to` waits for what makes value v, or, where that is a reshape of its own, what that reads. */
MGI_FN int mgi_edge_of_value(mgi_parting *P, uint32_t v, uint32_t to) {
  while (P->maker[v] && P->atom[P->maker[v] - 1].own) v = P->operand[P->atom[P->maker[v] - 1].in];
  return !P->maker[v] || mgi_edge_add(P, P->maker[v] - 1, to);
}
/* A value waits for its maker; a reader of a state for its last writer, a writer for all readers since; so does what is
   made in a value's place. */
MGI_FN int mgi_edges(mgi_parting *P) {
  uint32_t *writer = (uint32_t *)calloc(P->n_values, sizeof *writer), *reader = NULL, n_readers = 0, cap = 0;
  int good = writer != NULL;
  if (!good) mg_fail(P->e, MG_NO_MEMORY, P->l->m->name, "no memory for a partition");
  for (uint32_t a = 0; a < P->n_atoms && good; a++) {
    int lazy = P->atom[a].node != UINT32_MAX;
    for (uint32_t j = 0; j < P->atom[a].n_in && good; j++) {
      const uint32_t v = P->operand[P->atom[a].in + j], from = P->maker[v];
      lazy &= P->value[v].kind == MG_VALUE_WEIGHT || (from && P->atom[from - 1].lazy && !P->value[v].taken);
      good = mgi_edge_of_value(P, v, a);
      if ((P->value[v].kind != MG_VALUE_STATE && !P->value[v].taken) || !good) continue;
      if (writer[v] && writer[v] - 1 != a) good = mgi_edge_add(P, writer[v] - 1, a);
      if (good && (good = mgi_parting_room(P, (void **)&reader, n_readers + 1, &cap, sizeof *reader)))
        reader[n_readers++] = v, reader[n_readers++] = a;
    }
    P->atom[a].lazy = lazy;
    for (int k = 0; good && mgi_atom_out(P, a, k); k++) {
      const uint32_t made = mgi_atom_out(P, a, k), v = P->value[made].alias ? P->value[made].alias : made;
      uint32_t left = 0;
      if (P->value[made].kind != MG_VALUE_STATE) P->maker[made] = a + 1;
      if (P->value[made].kind != MG_VALUE_STATE && v == made) continue;
      for (uint32_t r = 0; r < n_readers && good; r += 2) {
        if (reader[r] != v) { reader[left++] = reader[r], reader[left++] = reader[r + 1]; continue; }
        if (reader[r + 1] != a) good = mgi_edge_add(P, reader[r + 1], a);
      }
      n_readers = left;
      if (writer[v] && good) good = mgi_edge_add(P, writer[v] - 1, a);
      writer[v] = a + 1;
    }
  }
  free(writer), free(reader);
  if (!good) return 0;
  if (P->n_edges) qsort(P->edge, P->n_edges, sizeof *P->edge, mgi_edge_order);
  for (uint32_t a = 0, k = 0; a <= P->n_atoms; a++) {
    while (k < P->n_edges && P->edge[k].from < a) k++;
    P->first_edge[a] = k;
  }
  return 1;
}
MGI_FN int mgi_node_fixed(const mg_model_list *l, const mg_piece_node *x) {
  int64_t n;
  int fixed = mgi_value_fixed(l, &x->out);
  for (uint32_t k = 0; k < x->n_sizes; k++) fixed &= mgi_size_number(l->sizes, x->size[k], &n);
  return fixed;
}
/* Bytes of a value of fixed sizes. */
MGI_FN double mgi_value_bytes(const mg_model_list *l, const mg_value *v) {
  double bytes = mg_dtype_bytes(v->type);
  int64_t n = 0;
  for (int d = 0; d < v->rank; d++) bytes *= mgi_size_number(l->sizes, v->dim[d], &n) ? (double)n : 0;
  return bytes;
}
/* 1 if a step is the shorter for it that an atom that may be made once is: no kernel has it by addresses alone, and its
   result is no more to read than its operands, or a product. */
MGI_FN int mgi_once_pays(const mgi_parting *P, const mgi_atom *a, const mg_piece_node *x) {
  const mg_opcode op = mg_op_find(x->op->name, strlen(x->op->name));
  double read = 0;
  if (op == MG_OP_RESHAPE || op == MG_OP_TRANSPOSE || op == MG_OP_SLICE || op == MG_OP_REPEAT) return 0;
  if (op == MG_OP_MATMUL || op == MG_OP_CONCAT_MATMUL) return 1;
  for (uint32_t j = 0; j < a->n_in; j++) read += mgi_value_bytes(P->l, &P->value[P->operand[a->in + j]]);
  return mgi_value_bytes(P->l, &P->value[a->out]) <= read;
}
/* Which atoms are made once: those that pay, and what they are made of.  Nothing is made in the place of such. */
MGI_FN void mgi_atoms_once(mgi_parting *P) {
  for (uint32_t k = 0; k < P->n_atoms; k++) {
    mgi_atom *a = &P->atom[k];
    if (!a->lazy) continue;
    const mg_piece_node *x = mgi_atom_node(P, a);
    a->fixed = mgi_node_fixed(P->l, x) && !P->value[a->out].taken;
    for (uint32_t j = 0; j < a->n_in; j++) {
      const uint32_t v = P->operand[a->in + j], from = P->maker[v];
      a->fixed &= from ? P->atom[from - 1].fixed : mgi_value_fixed(P->l, &P->value[v]);
    }
    a->once = a->fixed && mgi_once_pays(P, a, x);
  }
  for (uint32_t k = P->n_atoms; k-- > 0;)
    for (uint32_t j = 0; P->atom[k].once && j < P->atom[k].n_in; j++) {
      const uint32_t from = P->maker[P->operand[P->atom[k].in + j]];
      if (from) P->atom[from - 1].once = 1;
    }
}
/* 1 if atom b, behind a, makes of the same operands what a does. */
MGI_FN int mgi_atom_again(const mgi_parting *P, const mgi_atom *a, const mgi_atom *b) {
  return a->once && a->n_in == b->n_in &&
         !memcmp(P->operand + a->in, P->operand + b->in, a->n_in * sizeof *P->operand) &&
         mgi_node_alike(mgi_atom_node(P, a), mgi_atom_node(P, b)) &&
         mgi_value_alike(&P->value[a->out], &P->value[b->out]);
}
/* What is made once is made for all that read it: an atom gives way to one before it that makes the same, unless its
   value is an output, or is read by what is no operator.  The atoms left are in order, and have no edges yet. */
MGI_FN int mgi_atoms_shared(mgi_parting *P) {
  const uint32_t own = UINT32_MAX;
  uint32_t n = 0, *instead = (uint32_t *)calloc(P->n_values, sizeof *instead); /* by value; 0: none yet */
  if (!instead) return mg_fail(P->e, MG_NO_MEMORY, P->l->m->name, "no memory for a partition"), 0;
  for (int k = 0; k < P->l->m->n_outputs; k++) instead[P->l->output[k]] = own;
  for (uint32_t a = 0; a < P->n_atoms; a++)
    for (uint32_t j = 0; P->atom[a].node == UINT32_MAX && j < P->atom[a].n_in; j++)
      instead[P->operand[P->atom[a].in + j]] = own;
  for (uint32_t a = 0; a < P->n_atoms; a++) {
    mgi_atom x = P->atom[a];
    for (uint32_t j = 0; j < x.n_in; j++) {
      uint32_t *v = &P->operand[x.in + j];
      if (instead[*v] && instead[*v] != own) *v = instead[*v];
    }
    uint32_t b = x.once && !instead[x.out] ? 0 : n;
    while (b < n && !mgi_atom_again(P, &P->atom[b], &x)) b++;
    if (b < n) instead[x.out] = P->atom[b].out;
    else x.waits = 0, P->atom[n++] = x;
  }
  free(instead);
  P->n_atoms = n, P->n_edges = 0;
  memset(P->maker, 0, P->n_values * sizeof *P->maker);
  return 1;
}
/* A heap of atoms, the least first. */
MGI_FN void mgi_heap_put(uint32_t *heap, uint32_t *n, uint32_t a) {
  uint32_t k = (*n)++;
  for (; k && heap[(k - 1) / 2] > a; k = (k - 1) / 2) heap[k] = heap[(k - 1) / 2];
  heap[k] = a;
}
MGI_FN uint32_t mgi_heap_take(uint32_t *heap, uint32_t *n) {
  const uint32_t top = heap[0], end = heap[--*n];
  uint32_t k = 0;
  for (uint32_t c = 1; c < *n; k = c, c = 2 * k + 1) {
    if (c + 1 < *n && heap[c + 1] < heap[c]) c++;
    if (heap[c] >= end) break;
    heap[k] = heap[c];
  }
  if (*n) heap[k] = end;
  return top;
}
/* 1 if an atom stands between regions. */
MGI_FN int mgi_atom_apart(const mgi_parting *P, uint32_t a) {
  return P->atom[a].node == UINT32_MAX && P->l->launch[P->atom[a].launch].kind != MG_LAUNCH_PIECE;
}
/* Places atom a, after its own reshapes and what weights alone decide and it reads, by their numbers, as makers have
   less; who waits for nothing more goes on a heap: 0 of operators, 1 of what stands between regions. */
MGI_FN void mgi_place(mgi_parting *P, uint32_t a, uint32_t *n, uint32_t *heap[2], uint32_t count[2]) {
  const uint32_t from = *n;
  P->place[a] = 1, P->order[(*n)++] = a;
  for (uint32_t k = from; k < *n; k++)
    for (uint32_t j = 0; j < P->atom[P->order[k]].n_in; j++) {
      const uint32_t m = P->maker[P->operand[P->atom[P->order[k]].in + j]];
      if (!m || P->place[m - 1] || !(P->atom[m - 1].lazy || P->atom[m - 1].own)) continue;
      P->place[m - 1] = 1, P->order[(*n)++] = m - 1;
    }
  for (uint32_t k = from + 1; k < *n; k++)
    for (uint32_t j = k; j > from && P->order[j - 1] > P->order[j]; j--) {
      const uint32_t t = P->order[j];
      P->order[j] = P->order[j - 1], P->order[j - 1] = t;
    }
  for (uint32_t k = from; k < *n; k++) {
    const uint32_t x = P->order[k];
    P->place[x] = k + 1;
    for (uint32_t j = P->first_edge[x]; j < P->first_edge[x + 1]; j++) {
      const uint32_t to = P->edge[j].to;
      const int apart = mgi_atom_apart(P, to);
      if (!--P->atom[to].waits && !P->atom[to].own) mgi_heap_put(heap[apart], &count[apart], to);
    }
  }
}
MGI_FN int mgi_order_of(mgi_parting *P) {
  uint32_t *heap[2], count[2] = {0, 0}, n = 0;
  heap[0] = (uint32_t *)malloc((P->n_atoms + 1) * sizeof **heap);
  heap[1] = (uint32_t *)malloc((P->n_atoms + 1) * sizeof **heap);
  const int good = heap[0] && heap[1];
  if (!good) mg_fail(P->e, MG_NO_MEMORY, P->l->m->name, "no memory for a partition");
  for (uint32_t a = 0; a < P->n_atoms && good; a++) {
    const int apart = mgi_atom_apart(P, a);
    if (!P->atom[a].waits && !P->atom[a].lazy && !P->atom[a].own) mgi_heap_put(heap[apart], &count[apart], a);
  }
  for (uint32_t a = 0; a < P->n_atoms && good; a++)
    if (P->atom[a].once && !P->place[a]) mgi_place(P, a, &n, heap, count);
  P->n_once = n;
  for (int which = 0; good && count[0] + count[1]; which = !which)
    while (count[which]) mgi_place(P, mgi_heap_take(heap[which], &count[which]), &n, heap, count);
  for (uint32_t a = 0; a < P->n_atoms && good; a++) /* of weights alone, and read by nobody but the caller */
    if (!P->place[a]) mgi_place(P, a, &n, heap, count);
  free(heap[0]), free(heap[1]);
  return good;
}

/* ---- pieces.  The interval of places from..to - 1 as a piece, with its values; 0: it passes a limit that only
   grows. */
typedef struct mgi_interval {
  mg_piece p;
  mg_piece_node node[MGI_MOST_OPS];
  uint16_t operand[4 * MGI_MOST_OPS];
  uint32_t n_operands, n_in, in[MG_MAX_IN], out[MG_MAX_OUT];
} mgi_interval;
MGI_FN int mgi_cut_operand(const mgi_parting *P, mgi_interval *C, uint32_t v, uint32_t from, uint16_t *is) {
  const uint32_t m = P->maker[v];
  uint32_t k = 0;
  if (m && P->place[m - 1] > from) { /* by the operator there */
    *is = (uint16_t)(MG_MAX_IN + P->place[m - 1] - 1 - from);
    return 1;
  }
  while (k < C->n_in && C->in[k] != v) k++;
  if (k == MG_MAX_IN) return 0;
  if (k == C->n_in) C->in[k] = v, C->p.in[k] = P->value[v], C->n_in++;
  *is = (uint16_t)k;
  return 1;
}
MGI_FN int mgi_cut_of(const mgi_parting *P, uint32_t from, uint32_t to, mgi_interval *C) {
  memset(&C->p, 0, sizeof C->p);
  C->n_operands = C->n_in = 0;
  if (to - from > (uint32_t)P->cfg.max_ops) return 0;
  for (uint32_t k = from; k < to; k++) {
    const mgi_atom *a = &P->atom[P->order[k]];
    if (a->node == UINT32_MAX) return 0;
    mg_piece_node *node = &C->node[k - from];
    *node = *mgi_atom_node(P, a);
    node->operand = C->operand + C->n_operands;
    for (uint32_t j = 0; j < a->n_in; j++)
      if (!mgi_cut_operand(P, C, P->operand[a->in + j], from, &C->operand[C->n_operands++])) return 0;
  }
  C->p.node = C->node, C->p.n_nodes = to - from, C->p.n_in = (int)C->n_in;
  for (uint32_t k = from; k < to; k++) {
    const uint32_t v = P->atom[P->order[k]].out;
    if (P->last[v] && P->last[v] <= to) continue;
    if (C->p.n_out == MG_MAX_OUT) { C->p.n_out = 0; return 1; } /* a longer one may have fewer */
    C->p.made[C->p.n_out] = (uint16_t)(k - from), C->out[C->p.n_out] = v, C->p.out[C->p.n_out++] = P->value[v];
  }
  C->p.hash = mgi_piece_hash(&C->p);
  for (uint32_t k = 0; k < C->n_in; k++) {
    C->p.hash = mgi_piece_mix(C->p.hash, (uint64_t)C->p.in[k].type);
    for (int d = 0; d < C->p.in[k].rank; d++) C->p.hash = mgi_piece_mix(C->p.hash, C->p.in[k].dim[d]);
  }
  return 1;
}

/* ---- cost.  A program's kernels, by what may be in one: an operator begins another kernel where it contracts, or
   takes apart, what a product or a gather in it has to finish before; and so do results of different shapes. */
enum { MGI_HELD_NOT, MGI_HELD_BATCH /* a product whose rows one block may have whole */, MGI_HELD };
typedef struct mgi_kernels {
  const mg_graph *g;
  int *at, *held; /* by tensor: the level of the kernel that makes it; what of it is to be finished */
  int *need;      /* by tensor: of the kernel at hand */
} mgi_kernels;
MGI_FN int mgi_batched(const mg_graph *g, mg_tensor t) {
  const mg_shape *s = &g->tensors[t.id].shape;
  for (int d = 0; d + 2 < s->rank; d++)
    if (s->dim[d] > 1) return 1;
  return 0;
}
/* 1 if both have the same extents but for ones. */
MGI_FN int mgi_same_rows(const mg_shape *a, const mg_shape *b) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->rank && a->dim[i] == 1) i++;
    while (j < b->rank && b->dim[j] == 1) j++;
    if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
    if (a->dim[i] != b->dim[j]) return 0;
  }
}
MGI_FN void mgi_kernels_op(mgi_kernels *K, const mg_op_node *o) {
  const mg_graph *g = K->g;
  const int product = o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL;
  const int joins = product || o->code == MG_OP_SUM || o->code == MG_OP_MAX || o->code == MG_OP_ARGMAX;
  const int batched = product && mgi_batched(g, o->out[0]);
  int at = 0, has = MGI_HELD_NOT, moves = 0;
  for (int j = 0; j < o->n_in; j++)
    if (K->at[o->in[j].id] > at) at = K->at[o->in[j].id];
  for (int j = 0; j < o->n_in; j++)
    if (K->at[o->in[j].id] == at && K->held[o->in[j].id] > has) has = K->held[o->in[j].id];
  if (!joins && !mg_op_row(o->code)->elementwise && o->code != MG_OP_GATHER)
    moves = o->code != MG_OP_RESHAPE ||
            !mgi_same_rows(&g->tensors[o->in[0].id].shape, &g->tensors[o->out[0].id].shape);
  if ((joins && (has == MGI_HELD || (has == MGI_HELD_BATCH && product && !batched))) || (moves && has))
    at++, has = MGI_HELD_NOT;
  if (product || o->code == MG_OP_GATHER) has = batched ? MGI_HELD_BATCH : MGI_HELD;
  for (int j = 0; j < o->n_out; j++) K->at[o->out[j].id] = at, K->held[o->out[j].id] = has;
}
/* 1 if tensor t is stored: an output, or read by kernels of another level. */
MGI_FN int mgi_kernels_store(const mgi_kernels *K, uint32_t t) {
  const mg_graph *g = K->g;
  int stored = 0;
  for (uint32_t j = 0; j < g->n_out; j++) stored |= g->out[j].id == t;
  for (uint32_t k = 1; k < g->n_ops && !stored; k++)
    for (int j = 0; j < g->ops[k].n_in; j++) stored |= g->ops[k].in[j].id == t && K->at[g->ops[k].out[0].id] > K->at[t];
  return stored && g->tensors[t].op;
}
/* The kernel that stores t and what else of its level has its rows; 0 if it is another such one's.  Microseconds. */
MGI_FN double mgi_kernel_price(const mgi_kernels *K, uint32_t t, const mg_machine *m) {
  const mg_graph *g = K->g;
  const int level = K->at[t];
  double bytes = 0, flops = 0;
  for (uint32_t b = 1; b < g->n_tensors; b++) {
    K->need[b] = K->at[b] == level && mgi_same_rows(&g->tensors[b].shape, &g->tensors[t].shape) &&
                 mgi_kernels_store(K, b);
    if (K->need[b] && b < t) return 0;
    if (K->need[b]) bytes += (double)mg_shape_elements(&g->tensors[b].shape) * mg_dtype_bytes(g->tensors[b].dtype);
  }
  for (uint32_t k = g->n_ops; k-- > 1;) { /* operands are by operators before it */
    const mg_op_node *o = &g->ops[k];
    const mg_shape *s = &g->tensors[o->in[0].id].shape, *out = &g->tensors[o->out[0].id].shape;
    if (!K->need[o->out[0].id] || K->at[o->out[0].id] != level) continue;
    if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL)
      flops += 2.0 * (double)mg_shape_elements(out) * (double)s->dim[s->rank - 1] * (o->code == MG_OP_MATMUL ? 1 : 2);
    for (int j = 0; j < o->n_in; j++) {
      const mg_tensor_info *in = &g->tensors[o->in[j].id];
      const int inside = in->op && K->at[o->in[j].id] == level;
      /* of a gather's rows those that are asked for */
      const mg_shape *read = o->code == MG_OP_GATHER && !j ? out : &in->shape;
      if (!K->need[o->in[j].id] && !inside && !in->fill)
        bytes += (double)mg_shape_elements(read) * mg_dtype_bytes(in->dtype);
      K->need[o->in[j].id] = 1;
    }
  }
  const double moved = bytes / (m->dram_gbps * 1e3), computed = flops / (m->tensor_tflops * 1e6);
  return m->launch_us + (moved > computed ? moved : computed);
}
/* Microseconds of a program's kernels, and in *kernels how many; negative: no memory. */
MGI_FN double mgi_program_price(const mg_graph *g, const mg_machine *m, int *kernels) {
  mgi_kernels K;
  double us = 0;
  memset(&K, 0, sizeof K);
  K.g = g, K.at = (int *)calloc(3 * (size_t)g->n_tensors, sizeof *K.at);
  if (!K.at) return -1;
  K.held = K.at + g->n_tensors, K.need = K.held + g->n_tensors;
  for (uint32_t k = 1; k < g->n_ops; k++) mgi_kernels_op(&K, &g->ops[k]);
  *kernels = 0;
  for (uint32_t t = 1; t < g->n_tensors; t++) {
    const double one = mgi_kernels_store(&K, t) ? mgi_kernel_price(&K, t, m) : 0;
    us += one, *kernels += one > 0;
  }
  free(K.at);
  return us;
}
/* What an interval costs; MGI_NO_PRICE where it is no piece. */
MGI_FN double mgi_cut_price(mgi_parting *P, const mgi_interval *C, int alone) {
  const mg_model_list *l = P->l;
  int64_t at[2][MG_MODEL_MAX_SYMBOLS];
  double us = 0;
  mg_error why;
  uint32_t slot = (uint32_t)(C->p.hash % (2 * MGI_PRICED));
  if (!C->p.n_out) return MGI_NO_PRICE;
  while (P->known[slot] && P->known[slot] != C->p.hash) slot = (slot + 1) % (2 * MGI_PRICED);
  if (P->known[slot]) return P->price[slot];
  if (P->n_known == MGI_PRICED) return alone ? 0 : MGI_NO_PRICE;
  for (int k = 0; k < l->m->n_symbols; k++)
    at[0][k] = P->cfg.sym ? P->cfg.sym[k] : l->m->symbol[k].least, at[1][k] = l->m->symbol[k].most;
  mg_graph *g = NULL;
  const mg_status family = mgi_piece_build(l, &C->p, NULL, &g, &why);
  mg_graph_free(g);
  if (family == MG_NO_MEMORY) return mg_fail(P->e, MG_NO_MEMORY, l->m->name, "%s", why.msg), MGI_NO_PRICE;
  if (family != MG_OK && !alone) us = MGI_NO_PRICE;
  for (int k = 0; k < (P->cfg.sym ? 1 : 2) && us < MGI_NO_PRICE; k++) {
    int kernels = 0;
    const mg_status s = mgi_piece_build(l, &C->p, at[k], &g, &why);
    const double one = s == MG_OK ? mgi_program_price(g, P->cfg.machine, &kernels) : 0;
    mg_graph_free(g);
    if (s == MG_NO_MEMORY || one < 0)
      return mg_fail(P->e, MG_NO_MEMORY, l->m->name, "no memory for a price"), MGI_NO_PRICE;
    if (!alone && (s != MG_OK || kernels > P->cfg.max_kernels)) us = MGI_NO_PRICE;
    else us += one;
  }
  P->known[slot] = C->p.hash, P->price[slot] = us, P->n_known++;
  return us;
}

/* ---- the list of the pieces. */
typedef struct mgi_regroup_state {
  mgi_lister L;
  uint32_t *is; /* by value of the partitioner: the new list's */
} mgi_regroup_state;
MGI_FN uint32_t mgi_regroup_value(mgi_regroup_state *G, const mgi_parting *P, uint32_t v, const mg_step *from) {
  if (G->is[v]) return G->is[v];
  mg_value like = P->value[v];
  if (like.alias) like.alias = mgi_regroup_value(G, P, like.alias, from);
  return G->is[v] = mgi_value_new(&G->L, &like, from->line, from->column);
}
/* A launch that stands for itself. */
MGI_FN void mgi_regroup_launch(mgi_regroup_state *G, const mgi_parting *P, uint32_t launch) {
  const mg_launch *run = &P->l->launch[launch];
  uint32_t piece = 0;
  if (run->kind == MG_LAUNCH_PIECE) {
    const mg_piece *p = &P->l->piece[run->piece];
    while (piece < G->L.l->n_pieces && !mgi_piece_equal(&G->L.l->piece[piece], p)) piece++;
    if (piece == G->L.l->n_pieces && mgi_piece_keep(&G->L, p)) G->L.l->n_pieces++;
  }
  mg_launch *to = mgi_launch_new(&G->L, run->kind, run->from);
  if (!to) return;
  *to = *run;
  to->piece = piece;
  for (int k = 0; k < run->n_in; k++) to->in[k] = mgi_regroup_value(G, P, run->in[k], run->from);
  for (int k = 0; k < run->n_out; k++) to->out[k] = mgi_regroup_value(G, P, run->out[k], run->from);
  if (run->scratch) to->scratch = mgi_regroup_value(G, P, run->scratch, run->from);
}
MGI_FN void mgi_regroup_cut(mgi_regroup_state *G, const mgi_parting *P, uint32_t from, uint32_t to, mgi_interval *C) {
  mg_model_list *l = G->L.l;
  const mg_step *step = P->l->launch[P->atom[P->order[to - 1]].launch].from;
  uint32_t piece = 0;
  mgi_cut_of(P, from, to, C);
  while (piece < l->n_pieces && !mgi_piece_equal(&l->piece[piece], &C->p)) piece++;
  if (piece == MGI_PIECES)
    mgi_list_err(&G->L, MG_LIMIT, step->line, step->column, "a model has at most %d distinct pieces", MGI_PIECES);
  if (piece == l->n_pieces && mgi_piece_keep(&G->L, &C->p)) l->n_pieces++;
  mg_launch *run = mgi_launch_new(&G->L, MG_LAUNCH_PIECE, step);
  if (!run) return;
  run->piece = piece, run->n_in = C->p.n_in, run->n_out = C->p.n_out;
  for (int k = 0; k < run->n_in; k++) run->in[k] = mgi_regroup_value(G, P, C->in[k], step);
  for (int k = 0; k < run->n_out; k++) run->out[k] = mgi_regroup_value(G, P, C->out[k], step);
}
/* The cuts of places a..b - 1, a region, of which the piece up to place k begins at cut[k]; best[b] is what they cost.
   Where costs are the same, the last piece is the shorter one. */
MGI_FN void mgi_parting_cuts(mgi_parting *P, uint32_t a, uint32_t b, mgi_interval *C, double *best, uint32_t *cut) {
  for (uint32_t k = a; k <= b; k++) best[k] = k == a ? 0 : 2 * MGI_NO_PRICE, cut[k] = a;
  for (uint32_t from = a; from < b; from++)
    for (uint32_t to = from + 1; to <= b && mgi_cut_of(P, from, to, C) && P->e->status == MG_OK; to++) {
      const double us = mgi_cut_price(P, C, to == from + 1);
      if (us < MGI_NO_PRICE && best[from] + us <= best[to] * (1 + 1e-12)) best[to] = best[from] + us, cut[to] = from;
    }
}
/* Regions, cuts, launches. */
MGI_FN void mgi_regroup_all(mgi_regroup_state *G, mgi_parting *P) {
  double *best = (double *)malloc((P->n_atoms + 1) * sizeof *best);
  uint32_t *cut = (uint32_t *)malloc((P->n_atoms + 1) * sizeof *cut);
  uint32_t *at = (uint32_t *)malloc((P->n_atoms + 1) * sizeof *at);
  mgi_interval *C = (mgi_interval *)malloc(sizeof *C);
  if (!best || !cut || !at || !C) mg_fail(P->e, MG_NO_MEMORY, P->l->m->name, "no memory for a partition");
  for (uint32_t a = 0, b; a < P->n_atoms && P->e->status == MG_OK && mgi_listing(&G->L); a = b) {
    b = a + 1;
    if (a < P->n_once) {
      mgi_regroup_cut(G, P, a, b, C);
      G->L.l->n_once = G->L.l->n_launches;
      continue;
    }
    if (P->atom[P->order[a]].node == UINT32_MAX) { mgi_regroup_launch(G, P, P->atom[P->order[a]].launch); continue; }
    while (b < P->n_atoms && P->atom[P->order[b]].node != UINT32_MAX) b++;
    mgi_parting_cuts(P, a, b, C, best, cut);
    uint32_t n = 0;
    for (uint32_t k = b; k > a && P->e->status == MG_OK; k = cut[k]) at[n++] = k;
    for (uint32_t from = a; n && mgi_listing(&G->L); from = at[n]) mgi_regroup_cut(G, P, from, at[n - 1], C), n--;
  }
  free(best), free(cut), free(at), free(C);
}
MGI_FN void mgi_parting_close(mgi_parting *P) {
  free(P->value), free(P->moved), free(P->atom), free(P->operand), free(P->maker), free(P->last), free(P->order);
  free(P->place), free(P->edge), free(P->first_edge), free(P->known), free(P->price);
  mg_graph_free(P->arena);
}
/* Atoms in their order; *e is the partitioner's, and clear. */
MGI_FN mg_status mgi_parting_open(mgi_parting *P, const mg_model_list *l, const mg_partition_config *cfg, mg_error *e) {
  memset(P, 0, sizeof *P), memset(e, 0, sizeof *e);
  P->l = l, P->e = e;
  if (cfg) P->cfg = *cfg;
  if (!P->cfg.machine) P->cfg.machine = mg_machine_at(0);
  if (!P->cfg.max_kernels) P->cfg.max_kernels = 3;
  if (!P->cfg.max_ops) P->cfg.max_ops = 24;
  if (l->whole || P->cfg.max_ops < 1 || P->cfg.max_ops > MGI_MOST_OPS || P->cfg.max_kernels < 1)
    return mg_fail(e, MG_BAD_INPUT, l->m->name, "expected a model's list, 1 to %d operators and 1 kernel or more",
                   MGI_MOST_OPS);
  for (int k = 0; k < l->m->n_symbols && P->cfg.sym; k++)
    if (P->cfg.sym[k] < l->m->symbol[k].least || P->cfg.sym[k] > l->m->symbol[k].most)
      return mg_fail(e, MG_BAD_INPUT, l->m->name, "%s is in %lld..%lld, found %lld", l->m->symbol[k].name,
                     (long long)l->m->symbol[k].least, (long long)l->m->symbol[k].most, (long long)P->cfg.sym[k]);
  P->n_values = l->n_values, P->cap_values = P->cap_moved = l->n_values + 256;
  P->value = (mg_value *)malloc(P->cap_values * sizeof *P->value);
  P->moved = (mgi_moved *)calloc(P->cap_moved, sizeof *P->moved);
  P->atom = (mgi_atom *)malloc(MGI_ATOMS * sizeof *P->atom);
  if (!P->value || !P->moved || !P->atom) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for a partition");
  memcpy(P->value, l->value, l->n_values * sizeof *P->value);
  if (!mgi_atoms_of(P) || (P->cfg.fold && !mgi_fold_all(P))) return e->status;
  P->maker = (uint32_t *)calloc(P->n_values, sizeof *P->maker);
  P->last = (uint32_t *)calloc(P->n_values, sizeof *P->last);
  P->order = (uint32_t *)calloc(P->n_atoms + 1, sizeof *P->order);
  P->place = (uint32_t *)calloc(P->n_atoms + 1, sizeof *P->place);
  P->first_edge = (uint32_t *)calloc(P->n_atoms + 2, sizeof *P->first_edge);
  P->known = (uint64_t *)calloc(2 * MGI_PRICED, sizeof *P->known);
  P->price = (double *)calloc(2 * MGI_PRICED, sizeof *P->price);
  if (!P->maker || !P->last || !P->order || !P->place || !P->first_edge || !P->known || !P->price)
    return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for a partition");
  for (int shared = 0; shared < 2; shared++) { /* of all atoms, and of those that are left */
    if (!mgi_edges(P)) return e->status;
    mgi_atoms_once(P);
    if (!shared && !mgi_atoms_shared(P)) return e->status;
  }
  if (!mgi_order_of(P)) return e->status;
  for (uint32_t k = 0; k < P->n_atoms; k++)
    for (uint32_t j = 0; j < P->atom[P->order[k]].n_in; j++) P->last[P->operand[P->atom[P->order[k]].in + j]] = k + 1;
  for (int k = 0; k < l->m->n_outputs; k++) P->last[l->output[k]] = UINT32_MAX;
  return MG_OK;
}
/* The list of P's pieces, in an empty one. */
MGI_FN void mgi_regroup(mgi_parting *P, mg_model_list *to, mg_graph *arena) {
  const mg_model_list *l = P->l;
  mgi_regroup_state *G = (mgi_regroup_state *)calloc(1, sizeof *G);
  if (G) G->is = (uint32_t *)calloc(P->n_values + 1, sizeof *G->is);
  if (!G || !G->is) mg_fail(P->e, MG_NO_MEMORY, l->m->name, "no memory for a partition");
  to->m = l->m, to->arena = arena, to->sizes = l->sizes, to->n_values = 1, to->whole = l;
  to->check = l->check, to->n_checks = l->n_checks;
  if (P->e->status == MG_OK) {
    mg_step none;
    memset(&none, 0, sizeof none);
    G->L.m = l->m, G->L.l = to;
    for (int k = 0; k < l->m->n_symbols; k++)
      G->L.least[k] = l->m->symbol[k].least, G->L.most[k] = l->m->symbol[k].most;
    to->value = (mg_value *)mgi_arena(arena, 16 * sizeof *to->value, &G->L.err), to->cap_values = 16;
    for (uint32_t v = 1; v < l->n_values && mgi_listing(&G->L); v++) /* inputs, weights and states come first */
      if (l->value[v].kind != MG_VALUE_MADE) mgi_regroup_value(G, P, v, &none);
    mgi_regroup_all(G, P);
    for (int k = 0; k < l->m->n_outputs; k++) to->output[k] = G->is[l->output[k]];
    if (!mgi_listing(&G->L)) *P->e = G->L.err;
  }
  if (G) free(G->is);
  free(G);
}
mg_status mg_model_partition(const mg_model_list *l, const mg_partition_config *cfg, mg_model_list **out, mg_error *e) {
  mgi_parting P;
  mg_error local;
  *out = NULL;
  if (!e) e = &local;
  mg_status s = mgi_parting_open(&P, l, cfg, e);
  mg_graph *arena = P.arena ? P.arena : s == MG_OK ? mg_program_new(l->m->name, NULL) : NULL;
  mg_model_list *to = arena ? (mg_model_list *)mgi_alloc(arena->root, sizeof *to) : NULL;
  P.arena = NULL; /* it is the list's */
  if (to) to->fold = P.fold, to->n_folds = P.n_folds;
  if (s == MG_OK && !to) s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for a partition");
  if (s == MG_OK) mgi_regroup(&P, to, arena), s = e->status;
  mgi_parting_close(&P);
  if (s == MG_OK) s = mg_model_partition_check(to, e);
  if (s == MG_OK) *out = to;
  else mg_graph_free(arena);
  return s;
}

/* ---- the check.  A term is what a value is, as a tree of operators of which nothing is known but that equal operands
   give equal results: inputs, weights and states at first, calls, updates, results of foreign kernels.  Equal terms
   have one number, over both lists. */
typedef struct mgi_term_node {
  char kind;      /* 'v' value k; 'o' operator; 'u' update along k from `at` on; 'f' result k of a foreign kernel */
  const void *of; /* 'o': a node of a piece; 'f': the statement */
  uint32_t k, first, n; /* operands, by number */
  mg_size at;
  uint64_t hash;
} mgi_term_node;
typedef struct mgi_terms {
  mgi_term_node *term;
  uint32_t *operand, *slot, n, n_operands, slots;
} mgi_terms;
MGI_FN int mgi_terms_equal(const mgi_terms *T, const mgi_term_node *a, const mgi_term_node *b) {
  if (a->hash != b->hash || a->kind != b->kind || a->k != b->k || a->n != b->n || a->at != b->at) return 0;
  if (a->n && memcmp(T->operand + a->first, T->operand + b->first, a->n * sizeof *T->operand)) return 0;
  if (a->kind != 'o') return a->of == b->of;
  return mgi_node_alike((const mg_piece_node *)a->of, (const mg_piece_node *)b->of);
}
/* The number, from 1 on, of a term whose operands are the last n of T. */
MGI_FN uint32_t mgi_term_number(mgi_terms *T, char kind, const void *of, uint32_t k, mg_size at, uint32_t n) {
  mgi_term_node *t = &T->term[T->n + 1];
  t->kind = kind, t->of = of, t->k = k, t->at = at, t->n = n, t->first = T->n_operands - n;
  t->hash = mgi_piece_mix(mgi_piece_mix(0xcbf29ce484222325u, (uint64_t)kind), k);
  for (uint32_t j = 0; j < n; j++) t->hash = mgi_piece_mix(t->hash, T->operand[t->first + j]);
  if (kind == 'o') t->hash = mgi_expr_hash(((const mg_piece_node *)of)->op, t->hash);
  uint32_t s = (uint32_t)(t->hash % T->slots);
  for (; T->slot[s]; s = (s + 1) % T->slots)
    if (mgi_terms_equal(T, &T->term[T->slot[s]], t)) {
      T->n_operands = t->first;
      return T->slot[s];
    }
  return T->slot[s] = ++T->n;
}
/* 1 if term k is operator x. */
MGI_FN int mgi_term_is(const mgi_terms *T, uint32_t k, const mg_piece_node *x) {
  return T->term[k].kind == 'o' && T->term[k].n == x->n_operands &&
         mgi_node_alike((const mg_piece_node *)T->term[k].of, x);
}
/* The term that product x of the last two operands, a norm and a matrix by its gain, is where it is not folded as
   partition l does; 0: it is no such product. */
MGI_FN uint32_t mgi_fold_term(mgi_terms *T, const mg_model_list *l, const mg_piece_node *x) {
  const uint32_t norm = T->operand[T->n_operands - 2], matrix = T->operand[T->n_operands - 1];
  for (uint32_t k = 0; k < l->n_folds; k++) {
    const mg_piece_node *y = l->fold[k].folded.node, *written = l->fold[k].written.node;
    if (!mgi_node_alike(x, &y[3]) || !mgi_value_alike(&x->out, &y[3].out)) continue;
    if (!mgi_term_is(T, norm, &y[0]) || !mgi_term_is(T, matrix, &y[2])) continue;
    const uint32_t w = T->operand[T->term[matrix].first], column = T->operand[T->term[matrix].first + 1];
    if (!mgi_term_is(T, column, &y[1])) continue;
    T->n_operands -= 2;
    T->operand[T->n_operands++] = T->operand[T->term[norm].first];
    T->operand[T->n_operands++] = T->operand[T->term[column].first];
    const uint32_t by = mgi_term_number(T, 'o', &written[0], 0, 0, 2);
    T->operand[T->n_operands++] = by, T->operand[T->n_operands++] = w;
    return mgi_term_number(T, 'o', &written[1], 0, 0, 2);
  }
  return 0;
}
/* The terms of all of a list's values, in is[], without the folds of a partition of it, or of its own; node: room for a
   piece's. */
MGI_FN void mgi_terms_of(mgi_terms *T, const mg_model_list *l, const mg_model_list *folds, uint32_t *is,
                         uint32_t *node) {
  for (uint32_t v = 1; v < l->n_values; v++)
    if (l->value[v].kind != MG_VALUE_MADE) is[v] = mgi_term_number(T, 'v', NULL, v, 0, 0);
  for (uint32_t k = 0; k < l->n_launches; k++) {
    const mg_launch *a = &l->launch[k];
    uint32_t made[MG_MAX_OUT];
    if (a->kind == MG_LAUNCH_PIECE) {
      const mg_piece *p = &l->piece[a->piece];
      for (uint32_t j = 0; j < p->n_nodes; j++) {
        const mg_piece_node *x = &p->node[j];
        for (uint32_t q = 0; q < x->n_operands; q++)
          T->operand[T->n_operands++] =
              x->operand[q] < MG_MAX_IN ? is[a->in[x->operand[q]]] : node[x->operand[q] - MG_MAX_IN];
        const uint32_t unfolded = x->n_operands == 2 ? mgi_fold_term(T, folds, x) : 0;
        node[j] = unfolded ? unfolded : mgi_term_number(T, 'o', x, 0, 0, x->n_operands);
      }
      for (int j = 0; j < a->n_out; j++) made[j] = node[p->made[j]];
    } else if (a->kind == MG_LAUNCH_UPDATE) {
      T->operand[T->n_operands++] = is[a->out[0]], T->operand[T->n_operands++] = is[a->in[0]];
      made[0] = mgi_term_number(T, 'u', NULL, (uint32_t)a->dim, a->at, 2);
    } else
      for (int j = 0; j < a->n_out; j++) {
        for (int q = 0; q < a->n_in; q++) T->operand[T->n_operands++] = is[a->in[q]];
        for (int q = 0; q < a->n_sizes; q++) T->operand[T->n_operands++] = a->size[q];
        made[j] = mgi_term_number(T, 'f', a->from, (uint32_t)j, 0, (uint32_t)(a->n_in + a->n_sizes));
      }
    for (int j = 0; j < a->n_out; j++) is[a->out[j]] = made[j];
  }
}
mg_status mg_model_partition_check(const mg_model_list *p, mg_error *e) {
  const mg_model_list *const both[2] = {p->whole, p};
  mgi_terms T;
  uint32_t *is[2] = {NULL, NULL}, *node = NULL;
  size_t terms = 2, operands = 2;
  mg_status s = MG_OK;
  if (!p->whole) return mg_fail(e, MG_BAD_INPUT, p->m->name, "expected a partition, found a model's list");
  memset(&T, 0, sizeof T);
  for (int w = 0; w < 2; w++) {
    terms += both[w]->n_values;
    for (uint32_t k = 0; k < both[w]->n_launches; k++) {
      const mg_launch *a = &both[w]->launch[k];
      const mg_piece *x = a->kind == MG_LAUNCH_PIECE ? &both[w]->piece[a->piece] : NULL;
      terms += x ? (p->n_folds ? 2 : 1) * x->n_nodes : (uint32_t)a->n_out;
      for (uint32_t j = 0; x && j < x->n_nodes; j++) operands += x->node[j].n_operands + (p->n_folds ? 2u : 0u);
      if (!x) operands += (size_t)(a->n_in + a->n_sizes + 2) * (size_t)a->n_out;
    }
    is[w] = (uint32_t *)calloc(both[w]->n_values, sizeof **is);
  }
  if (terms < (uint32_t)1 << 30 && operands < (uint32_t)1 << 30) {
    T.slots = (uint32_t)(2 * terms);
    T.term = (mgi_term_node *)calloc(terms, sizeof *T.term);
    T.operand = (uint32_t *)calloc(operands, sizeof *T.operand);
    T.slot = (uint32_t *)calloc(T.slots, sizeof *T.slot);
  }
  node = (uint32_t *)calloc(MGI_PIECE_NODES + MGI_MOST_OPS, sizeof *node);
  if (!is[0] || !is[1] || !T.term || !T.operand || !T.slot || !node)
    s = mg_fail(e, MG_NO_MEMORY, p->m->name, "no memory for the check of a partition");
  for (int w = 0; w < 2 && s == MG_OK; w++) mgi_terms_of(&T, both[w], p, is[w], node);
  for (int k = 0; k < p->m->n_outputs && s == MG_OK; k++)
    if (is[0][both[0]->output[k]] != is[1][p->output[k]])
      s = mg_fail(e, MG_NOT_FOUND, p->m->name, "the partition is wrong: output '%s' is another term",
                  both[0]->value[both[0]->output[k]].name);
  for (uint32_t v = 1; v < both[0]->n_values && s == MG_OK; v++)
    if (both[0]->value[v].kind == MG_VALUE_STATE && is[0][v] != is[1][v])
      s = mg_fail(e, MG_NOT_FOUND, p->m->name, "the partition is wrong: state '%s' is another term",
                  both[0]->value[v].name);
  free(T.term), free(T.operand), free(T.slot), free(node), free(is[0]), free(is[1]);
  return s;
}
/* -------------------------------------------------------------------------------------------------- >>weights
   A safetensors file: 8 bytes, how long its header is; the header, JSON; the tensors' bytes.
     {"__metadata__": {..}, "a name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, ..}
   Of JSON there is what that and an index take: values that nobody asks for are skipped, nested MGI_MAX_NEST deep. */

enum { MGI_STORED = 1 << 20, MGI_WEIGHT_FILES = 1024, MGI_HEADER_BYTES = 100 << 20 };

struct mg_weights {
  mg_graph *arena;
  mg_stored *stored;
  uint32_t n, cap, n_files;
  struct { const char *name; void *map; size_t bytes; } file[MGI_WEIGHT_FILES];
};

typedef struct mgi_json {
  const char *p, *end, *from;
  mg_weights *w;
  const char *where;
  mg_error *e;
  mg_status s;
} mgi_json;

/* The first error, at the byte that comes next. */
MGI_FN int mgi_json_fail(mgi_json *J, mg_status s, const char *fmt, ...) {
  char msg[sizeof J->e->msg];
  va_list ap;
  if (J->s != MG_OK) return 0;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  J->s = mg_fail(J->e, s, J->where, "byte %zu: %s", (size_t)(J->p - J->from), msg);
  return 0;
}
MGI_FN int mgi_json_expected(mgi_json *J, const char *what) {
  if (J->p == J->end) return mgi_json_fail(J, MG_BAD_INPUT, "expected %s, found the end", what);
  if (*J->p < ' ' || *J->p > '~') return mgi_json_fail(J, MG_BAD_INPUT, "expected %s, found byte 0x%02x", what,
                                                       (unsigned char)*J->p);
  return mgi_json_fail(J, MG_BAD_INPUT, "expected %s, found '%c'", what, *J->p);
}
MGI_FN void mgi_json_space(mgi_json *J) {
  while (J->p < J->end && (*J->p == ' ' || *J->p == '\t' || *J->p == '\n' || *J->p == '\r')) J->p++;
}
MGI_FN int mgi_json_is(mgi_json *J, char c) { /* 1 if c comes next, which is read then */
  mgi_json_space(J);
  if (J->s != MG_OK || J->p == J->end || *J->p != c) return 0;
  J->p++;
  return 1;
}
MGI_FN int mgi_json_need(mgi_json *J, char c) {
  const char what[] = {'\'', c, '\'', 0};
  return mgi_json_is(J, c) || mgi_json_expected(J, what);
}
/* One of a list or an object comes next; `first` is 1 before the first. */
MGI_FN int mgi_json_more(mgi_json *J, char close, int *first) {
  if (J->s != MG_OK) return 0;
  if (mgi_json_is(J, close)) return 0;
  if (!*first && !mgi_json_need(J, ',')) return 0;
  *first = 0;
  return 1;
}
/* A copy of the string that comes next; "" and an error where there is none.  keep 0: it is skipped. */
MGI_FN const char *mgi_json_string(mgi_json *J, int keep) {
  if (!mgi_json_need(J, '"')) return "";
  const char *from = J->p;
  size_t n = 0;
  for (; J->p < J->end && *J->p != '"'; J->p++, n++) {
    if ((unsigned char)*J->p < ' ') { mgi_json_expected(J, "a character of a string"); return ""; }
    if (*J->p == '\\' && ++J->p == J->end) break;
  }
  if (J->p == J->end) { mgi_json_expected(J, "'\"'"); return ""; }
  char *to = keep ? (char *)mgi_arena(J->w->arena, n + 1, J->e) : NULL;
  if (keep && !to) J->s = J->e->status;
  for (size_t k = 0; to && k < n; k++) {
    if (*from == '\\' && *++from != '"' && *from != '\\' && *from != '/') {
      mgi_json_fail(J, MG_UNSUPPORTED, "expected one of \\\", \\\\ and \\/ in a name, found another escape");
      return "";
    }
    to[k] = *from++;
  }
  J->p++;
  return to ? to : "";
}
MGI_FN int64_t mgi_json_count(mgi_json *J) { /* 0 to 2^62 */
  int64_t n = 0;
  mgi_json_space(J);
  if (J->s != MG_OK) return 0;
  if (J->p == J->end || *J->p < '0' || *J->p > '9') return mgi_json_expected(J, "a whole number");
  while (J->p < J->end && *J->p >= '0' && *J->p <= '9') {
    n = n * 10 + (*J->p++ - '0');
    if (n > (int64_t)1 << 58) return mgi_json_fail(J, MG_BAD_INPUT, "expected a number below 2^58");
  }
  return n;
}
MGI_FN void mgi_json_skip(mgi_json *J, int depth) {
  int first = 1;
  if (depth > MGI_MAX_NEST) mgi_json_fail(J, MG_LIMIT, "values nest at most %d deep", MGI_MAX_NEST);
  if (mgi_json_is(J, '{'))
    while (mgi_json_more(J, '}', &first)) mgi_json_string(J, 0), mgi_json_need(J, ':'), mgi_json_skip(J, depth + 1);
  else if (mgi_json_is(J, '['))
    while (mgi_json_more(J, ']', &first)) mgi_json_skip(J, depth + 1);
  else if (mgi_json_is(J, '"')) J->p--, mgi_json_string(J, 0);
  else { /* a number, true, false, null */
    const char *from = J->p;
    while (J->p < J->end && (isalnum((unsigned char)*J->p) || *J->p == '+' || *J->p == '-' || *J->p == '.')) J->p++;
    if (J->p == from) mgi_json_expected(J, "a value");
  }
}

/* The types that files have, by name, and the one of a weight that is the same. */
MGI_FN int mgi_stored_bits(const char *type, mg_dtype *is) {
  static const struct { const char *name; int bits; int is; } rows[] = {
      {"BF16", 16, MG_BF16}, {"F16", 16, MG_F16}, {"F32", 32, MG_F32}, {"I32", 32, MG_I32}, {"F64", 64, -1},
      {"BOOL", 8, -1},       {"U8", 8, -1},       {"I8", 8, -1},       {"I16", 16, -1},     {"U16", 16, -1},
      {"U32", 32, -1},       {"I64", 64, -1},     {"U64", 64, -1},     {"F8_E5M2", 8, -1},  {"F8_E4M3", 8, -1},
      {"F8_E8M0", 8, -1},    {"C64", 64, -1}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (!strcmp(rows[k].name, type)) {
      *is = rows[k].is < 0 ? MG_DTYPE_COUNT : (mg_dtype)rows[k].is;
      return rows[k].bits;
    }
  return 0;
}
MGI_FN int mgi_stored_by_name(const void *a, const void *b) {
  return strcmp(((const mg_stored *)a)->name, ((const mg_stored *)b)->name);
}
MGI_FN int mgi_stored_by_place(const void *a, const void *b) {
  const mg_stored *x = (const mg_stored *)a, *y = (const mg_stored *)b;
  if (x->data != y->data) return x->data < y->data ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}
MGI_FN mg_status mgi_weights_new(const char *where, mg_weights **out, mg_error *e) {
  mg_graph *arena = mg_program_new("weights", NULL);
  *out = arena ? (mg_weights *)mgi_alloc(arena->root, sizeof **out) : NULL;
  if (*out) return (*out)->arena = arena, MG_OK;
  mg_graph_free(arena);
  return mg_fail(e, MG_NO_MEMORY, where, "no memory for the list of tensors");
}
MGI_FN void mgi_json_open(mgi_json *J, mg_weights *w, const char *text, size_t n, const char *where, mg_error *e) {
  memset(e, 0, sizeof *e);
  J->p = J->from = text, J->end = text + n, J->w = w, J->where = where, J->e = e, J->s = MG_OK;
}
/* What comes behind a tensor's name; its place is counted from `data` on. */
MGI_FN void mgi_read_stored(mgi_json *J, mg_stored *t, const unsigned char *data, uint64_t n) {
  int first = 1, seen = 0;
  int64_t elements = 1, from = 0, to = 0;
  mg_dtype is;
  mgi_json_need(J, '{');
  while (mgi_json_more(J, '}', &first)) {
    const char *key = mgi_json_string(J, 1);
    int one = 1;
    const int bit = !strcmp(key, "dtype") ? 1 : !strcmp(key, "shape") ? 2 : !strcmp(key, "data_offsets") ? 4 : 0;
    if (J->s == MG_OK && (!bit || (seen & bit)))
      mgi_json_fail(J, MG_BAD_INPUT, "'%.64s': expected dtype, shape and data_offsets once, found '%.40s'", t->name,
                    key);
    mgi_json_need(J, ':'), seen |= bit;
    if (bit == 1) t->type = mgi_json_string(J, 1);
    if (bit == 2 && mgi_json_need(J, '['))
      while (mgi_json_more(J, ']', &one)) {
        const int64_t d = mgi_json_count(J);
        if (t->rank == 8) { mgi_json_fail(J, MG_LIMIT, "'%.64s': more than 8 dimensions", t->name); break; }
        t->dim[t->rank++] = d;
        if (d && elements > ((int64_t)1 << 56) / d) {
          mgi_json_fail(J, MG_BAD_INPUT, "'%.64s' has more than 2^56 elements", t->name);
          break;
        }
        elements *= d;
      }
    if (bit == 4)
      mgi_json_need(J, '['), from = mgi_json_count(J), mgi_json_need(J, ','), to = mgi_json_count(J),
                             mgi_json_need(J, ']');
  }
  if (J->s != MG_OK) return;
  const int bits = t->type ? mgi_stored_bits(t->type, &is) : 0;
  if (seen != 7) mgi_json_fail(J, MG_BAD_INPUT, "'%.64s': expected dtype, shape and data_offsets", t->name);
  else if (!bits) mgi_json_fail(J, MG_UNSUPPORTED, "'%.64s': unknown type '%.20s'", t->name, t->type);
  else if (from > to || (uint64_t)to > n)
    mgi_json_fail(J, MG_BAD_INPUT, "'%.64s': expected a place within the file's %llu bytes of data, found %lld to %lld",
                  t->name, (unsigned long long)n, (long long)from, (long long)to);
  else if (to - from != elements * (bits / 8))
    mgi_json_fail(J, MG_BAD_INPUT, "'%.64s': expected %lld bytes, found %lld to %lld", t->name,
                  (long long)(elements * (bits / 8)), (long long)from, (long long)to);
  else t->data = data + from, t->bytes = (uint64_t)(to - from);
}
/* Adds the tensors of a file. */
MGI_FN mg_status mgi_weights_add(mg_weights *w, const void *bytes, size_t n, const char *where, mg_error *e) {
  const unsigned char *b = (const unsigned char *)bytes;
  uint64_t header = 0;
  const uint32_t before = w->n;
  int first = 1;
  mgi_json J;
  for (int k = 0; k < 8 && n >= 8; k++) header |= (uint64_t)b[k] << 8 * k;
  if (n < 8 || header > n - 8 || header > MGI_HEADER_BYTES)
    return mg_fail(e, MG_BAD_INPUT, where, n < 8 ? "expected a safetensors file, found %llu bytes" :
                   "expected a header within the file and 100 MiB, found one of %llu bytes",
                   (unsigned long long)(n < 8 ? n : header));
  mgi_json_open(&J, w, (const char *)b + 8, (size_t)header, where, e);
  const unsigned char *data = b + 8 + header;
  const uint64_t left = n - 8 - header;
  mgi_json_need(&J, '{');
  while (mgi_json_more(&J, '}', &first)) {
    if (w->n == w->cap) {
      const uint32_t cap = w->cap ? 2 * w->cap : 64;
      mg_stored *to = cap > MGI_STORED ? NULL : (mg_stored *)realloc(w->stored, cap * sizeof *to);
      if (!to)
        return mg_fail(e, cap > MGI_STORED ? MG_LIMIT : MG_NO_MEMORY, where, "no room for more than %u tensors", w->n);
      w->stored = to, w->cap = cap;
    }
    mg_stored *t = &w->stored[w->n];
    memset(t, 0, sizeof *t);
    t->name = mgi_json_string(&J, 1), t->file = w->n_files;
    mgi_json_need(&J, ':');
    if (!strcmp(t->name, "__metadata__")) { mgi_json_skip(&J, 0); continue; }
    mgi_read_stored(&J, t, data, left);
    if (J.s == MG_OK) w->n++;
  }
  mgi_json_space(&J);
  if (J.s == MG_OK && J.p < J.end) mgi_json_expected(&J, "the end of the header");
  if (J.s != MG_OK) return J.s;
  const unsigned char *end = data;
  if (w->n > before) qsort(w->stored + before, w->n - before, sizeof *w->stored, mgi_stored_by_place);
  for (uint32_t k = before; k < w->n; k++) {
    const mg_stored *t = &w->stored[k];
    if (t->data != end)
      return mg_fail(e, MG_BAD_INPUT, where,
                     "'%.64s' begins at byte %lld of the data: expected %lld, behind the tensor before it", t->name,
                     (long long)(t->data - data), (long long)(end - data));
    end += t->bytes;
  }
  if ((uint64_t)(end - data) != left)
    return mg_fail(e, MG_BAD_INPUT, where, "its tensors have %lld bytes: expected the %lld behind the header",
                   (long long)(end - data), (long long)left);
  return MG_OK;
}
/* All files are added: tensors by name. */
MGI_FN mg_status mgi_weights_sort(mg_weights *w, const char *where, mg_error *e) {
  if (w->n) qsort(w->stored, w->n, sizeof *w->stored, mgi_stored_by_name);
  for (uint32_t k = 1; k < w->n; k++)
    if (!strcmp(w->stored[k].name, w->stored[k - 1].name))
      return mg_fail(e, MG_BAD_INPUT, where, "two tensors are named '%.100s'", w->stored[k].name);
  return MG_OK;
}
mg_status mg_weights_of(const void *bytes, size_t n, const char *where, mg_weights **out, mg_error *e) {
  mg_error local;
  mg_weights *w;
  if (!e) e = &local;
  *out = NULL;
  mg_status s = mgi_weights_new(where, &w, e);
  if (s == MG_OK) s = mgi_weights_add(w, bytes, n, where, e);
  if (s == MG_OK) s = mgi_weights_sort(w, where, e);
  if (s == MG_OK) *out = w;
  else mg_weights_close(w);
  return s;
}
/* Maps a file, which is the last then; its name is DIR/NAME, or NAME where dir is empty. */
MGI_FN mg_status mgi_weights_map(mg_weights *w, const char *dir, const char *name, mg_error *e) {
  char path[4096];
  struct stat st;
  const int fits = snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", name) < (int)sizeof path;
  const int f = fits ? open(path, O_RDONLY | O_NONBLOCK) : -1;
  if (f < 0)
    return mg_fail(e, MG_BAD_INPUT, path, "cannot be opened: %s", fits ? strerror(errno) : "the name is too long");
  char *copy = (char *)mgi_arena(w->arena, strlen(path) + 1, e);
  const int known = !fstat(f, &st) && S_ISREG(st.st_mode) && st.st_size > 0;
  void *map = known && copy ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, f, 0) : MAP_FAILED;
  close(f);
  if (!copy) return e->status;
  if (map == MAP_FAILED)
    return mg_fail(e, MG_BAD_INPUT, path, known ? "cannot be mapped: %s" : "expected a file that is not empty",
                   strerror(errno));
  w->file[w->n_files].name = strcpy(copy, path), w->file[w->n_files].map = map;
  w->file[w->n_files++].bytes = (size_t)st.st_size;
  return MG_OK;
}
/* An index, which is mapped as the last file: {"metadata": .., "weight_map": {"a name": "a file", ..}}. */
MGI_FN mg_status mgi_weights_index(mg_weights *w, const char *dir, mg_error *e) {
  const uint32_t index = w->n_files - 1;
  const char *where = w->file[index].name;
  mg_status s = w->file[index].bytes <= MGI_HEADER_BYTES
                    ? MG_OK
                    : mg_fail(e, MG_BAD_INPUT, where, "an index has at most 100 MiB");
  for (int pass = 0; pass < 2 && s == MG_OK; pass++) { /* the files; then, which tensor is where */
    mgi_json J;
    int first = 1, one = 1, seen = 0;
    mgi_json_open(&J, w, (const char *)w->file[index].map, w->file[index].bytes, where, e);
    mgi_json_need(&J, '{');
    while (mgi_json_more(&J, '}', &first)) {
      const char *key = mgi_json_string(&J, 1);
      mgi_json_need(&J, ':');
      if (strcmp(key, "weight_map")) { mgi_json_skip(&J, 0); continue; }
      if (seen++) mgi_json_fail(&J, MG_BAD_INPUT, "expected one weight_map");
      mgi_json_need(&J, '{');
      while (mgi_json_more(&J, '}', &one)) {
        const char *name = mgi_json_string(&J, 1);
        mgi_json_need(&J, ':');
        const char *file = mgi_json_string(&J, 1);
        const size_t n = strlen(file);
        uint32_t k = w->n_files;
        if (J.s != MG_OK) break;
        if (!n || strchr(file, '/')) {
          mgi_json_fail(&J, MG_BAD_INPUT, "expected a file's name, found '%.64s'", file);
          break;
        }
        while (k > index + 1) {
          const char *is = w->file[k - 1].name;
          if (strlen(is) >= n && !strcmp(is + strlen(is) - n, file) &&
              (strlen(is) == n || is[strlen(is) - n - 1] == '/'))
            break;
          k--;
        }
        if (!pass && k == index + 1) {
          if (w->n_files == MGI_WEIGHT_FILES) mgi_json_fail(&J, MG_LIMIT, "at most %d files", MGI_WEIGHT_FILES);
          else if ((J.s = mgi_weights_map(w, dir, file, e)) == MG_OK) {
            const uint32_t last = w->n_files - 1;
            J.s = mgi_weights_add(w, w->file[last].map, w->file[last].bytes, w->file[last].name, e);
          }
        }
        const mg_stored *t = pass ? mg_weights_find(w, name) : NULL;
        if (pass && (!t || t->file != k))
          mgi_json_fail(&J, MG_BAD_INPUT, "'%.64s' is not in %.64s", name, file);
      }
    }
    mgi_json_space(&J);
    if (J.s == MG_OK && J.p < J.end) mgi_json_expected(&J, "the end of the index");
    if (J.s == MG_OK && !seen) mgi_json_expected(&J, "a weight_map");
    s = J.s;
    if (s == MG_OK && !pass) s = mgi_weights_sort(w, where, e);
  }
  return s;
}
MGI_FN mg_status mgi_weights_path(mg_weights *w, const char *path, mg_error *e) {
  static const char *const names[] = {"model.safetensors.index.json", "model.safetensors"};
  struct stat st;
  char dir[4096];
  const char *name = path, *slash = strrchr(path, '/');
  if (strlen(path) >= sizeof dir) return mg_fail(e, MG_BAD_INPUT, "weights", "the name is too long");
  snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 0, path);
  if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
    char both[sizeof dir + 32];
    snprintf(dir, sizeof dir, "%s", path);
    for (int k = 0; k < 2 && name == path; k++) {
      snprintf(both, sizeof both, "%s/%s", dir, names[k]);
      if (!stat(both, &st)) name = names[k];
    }
    if (name == path) return mg_fail(e, MG_BAD_INPUT, path, "expected %s or %s in it", names[0], names[1]);
  } else if (slash == path) snprintf(dir, sizeof dir, "/.");
  if (w->n_files == MGI_WEIGHT_FILES) return mg_fail(e, MG_LIMIT, path, "at most %d files", MGI_WEIGHT_FILES);
  const size_t n = strlen(name);
  const mg_status s = mgi_weights_map(w, dir, name == path && slash ? slash + 1 : name, e);
  if (s != MG_OK || (n > 5 && !strcmp(name + n - 5, ".json"))) return s != MG_OK ? s : mgi_weights_index(w, dir, e);
  const uint32_t k = w->n_files - 1;
  return mgi_weights_add(w, w->file[k].map, w->file[k].bytes, w->file[k].name, e);
}
mg_status mg_weights_open(int n, const char *const *path, mg_weights **out, mg_error *e) {
  mg_error local;
  mg_weights *w;
  if (!e) e = &local;
  *out = NULL;
  mg_status s = mgi_weights_new("weights", &w, e);
  for (int k = 0; k < n && s == MG_OK; k++) s = mgi_weights_path(w, path[k], e);
  if (s == MG_OK) s = mgi_weights_sort(w, n ? path[n - 1] : "weights", e);
  if (s == MG_OK) *out = w;
  else mg_weights_close(w);
  return s;
}
void mg_weights_close(mg_weights *w) {
  if (!w) return;
  for (uint32_t k = 0; k < w->n_files; k++) munmap(w->file[k].map, w->file[k].bytes);
  free(w->stored);
  mg_graph_free(w->arena);
}
uint32_t mg_weights_count(const mg_weights *w) { return w->n; }
const mg_stored *mg_weights_at(const mg_weights *w, uint32_t k) { return &w->stored[k]; }
const mg_stored *mg_weights_find(const mg_weights *w, const char *name) {
  mg_stored key;
  memset(&key, 0, sizeof key);
  key.name = name;
  return w->n ? (const mg_stored *)bsearch(&key, w->stored, w->n, sizeof key, mgi_stored_by_name) : NULL;
}

/* How many tensors weight v is made of, and the k-th one's name. */
MGI_FN int mgi_weight_parts(const mg_value *v) { return v->decl->n_from ? v->decl->n_from : 1; }
MGI_FN const char *mgi_weight_part(const mg_value *v, int k, char name[240]) {
  const char *from = v->decl->n_from ? v->decl->from[k] : NULL, *layer = from ? strstr(from, "{l}") : NULL;
  if (layer) snprintf(name, 240, "%.*s%lld%s", (int)(layer - from), from, (long long)v->layer, layer + 3);
  else if (from) snprintf(name, 240, "%s", from);
  else if (v->layer >= 0) snprintf(name, 240, "%s.%lld", v->name, (long long)v->layer);
  else snprintf(name, 240, "%s", v->name);
  return name;
}
/* Weight v of this shape, as files have it: its last two sizes swapped where it is transposed. */
MGI_FN mg_shape mgi_weight_stored(const mg_value *v, const mg_shape *shape) {
  mg_shape want = *shape;
  const int r = want.rank;
  if (v->decl->transposed) want.dim[r - 1] = shape->dim[r - 2], want.dim[r - 2] = shape->dim[r - 1];
  return want;
}
MGI_FN mg_status mgi_weight_fits(const mg_weights *w, const mg_model_list *l, const mg_value *v, const mg_shape *shape,
                                 int *rounded, mg_error *e) {
  const mg_shape want = mgi_weight_stored(v, shape);
  char name[240], where[96];
  int64_t rows = 0;
  const int parts = mgi_weight_parts(v);
  snprintf(where, sizeof where, "%.60s:%d:%d", l->m->where ? l->m->where : l->m->name, v->decl->as.line,
           v->decl->as.column);
  for (int k = 0; k < parts; k++) {
    const mg_stored *t = mg_weights_find(w, mgi_weight_part(v, k, name));
    mg_dtype is = MG_DTYPE_COUNT;
    if (!t)
      return mg_fail(e, MG_BAD_INPUT, where, "weight '%s': no tensor of the files is named '%.150s'", v->name, name);
    mgi_stored_bits(t->type, &is);
    if (is != v->type && !(is < MG_DTYPE_COUNT && is != MG_I32 && v->type == MG_F32) &&
        !(is == MG_F32 && v->type != MG_I32))
      return mg_fail(e, MG_BAD_INPUT, where, "weight '%s', '%.120s': expected %s%s, found %s", v->name, name,
                     mg_dtype_name(v->type), v->type == MG_I32 ? "" : " or F32", t->type);
    if (rounded && !k && is != v->type && is == MG_F32) ++*rounded;
    if (t->rank != want.rank)
      return mg_fail(e, MG_BAD_INPUT, where, "weight '%s', '%.120s': expected %d dimensions, found %d", v->name, name,
                     want.rank, t->rank);
    for (int d = 1; d < want.rank; d++)
      if (t->dim[d] != want.dim[d])
        return mg_fail(e, MG_BAD_INPUT, where, "weight '%s', '%.120s' dimension %d: expected %lld, found %lld", v->name,
                       name, d, (long long)want.dim[d], (long long)t->dim[d]);
    if (t->dim[0] > want.dim[0] - rows || (k + 1 == parts && t->dim[0] != want.dim[0] - rows))
      return mg_fail(e, MG_BAD_INPUT, where, "weight '%s', '%.120s' dimension 0: expected %lld%s, found %lld", v->name,
                     name, (long long)(want.dim[0] - rows), k + 1 == parts ? "" : " or less", (long long)t->dim[0]);
    rows += t->dim[0];
  }
  return MG_OK;
}
mg_status mg_weights_fit(const mg_weights *w, const mg_model_list *l, const int64_t *sym, int *rounded, mg_error *e) {
  mg_status s = MG_OK;
  if (rounded) *rounded = 0;
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    mg_shape shape;
    if (l->value[v].kind != MG_VALUE_WEIGHT) continue;
    s = mg_value_shape(l, &l->value[v], sym, &shape, e);
    if (s == MG_OK) s = mgi_weight_fits(w, l, &l->value[v], &shape, rounded, e);
  }
  return s;
}
MGI_FN double mgi_stored_value(const mg_stored *t, mg_dtype is, mg_dtype as, int64_t k) {
  const unsigned char *p = t->data + k * mg_dtype_bytes(is);
  uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8;
  if (mg_dtype_bytes(is) == 4) bits |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  if (is == MG_I32) return (double)(int32_t)bits;
  const double x = mg_from_bits(is, bits);
  return is == as || as == MG_F32 ? x : (double)mg_round_to(as, (float)x);
}
void mg_weights_read(const mg_weights *w, const mg_model_list *l, uint32_t v, double *to) {
  const mg_value *is = &l->value[v];
  char name[240];
  int64_t all = 0, at = 0;
  for (int k = 0; k < mgi_weight_parts(is); k++) all += mg_weights_find(w, mgi_weight_part(is, k, name))->dim[0];
  for (int k = 0; k < mgi_weight_parts(is); k++) {
    const mg_stored *t = mg_weights_find(w, mgi_weight_part(is, k, name));
    int64_t n = 1;
    mg_dtype type = is->type;
    for (int d = 0; d < t->rank; d++) n *= t->dim[d];
    mgi_stored_bits(t->type, &type);
    if (!is->decl->transposed) {
      for (int64_t i = 0; i < n; i++) *to++ = mgi_stored_value(t, type, is->type, i);
      continue;
    }
    /* [.., rows, columns] becomes [.., columns, rows]; of two dimensions the parts' rows stand side by side. */
    const int64_t columns = t->dim[t->rank - 1], rows = t->dim[t->rank - 2], width = t->rank == 2 ? all : rows;
    for (int64_t m = 0; rows && columns && m < n / (rows * columns); m++)
      for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++)
          to[m * rows * columns + j * width + at + i] =
              mgi_stored_value(t, type, is->type, (m * rows + i) * columns + j);
    if (t->rank == 2) at += rows;
    else to += n;
  }
}

/* -------------------------------------------------------------------------------------------------- >>running
   A step makes sure of everything first: symbols, checks, shapes, room, pieces at these sizes, memory, work.  Then it
   launches in order.  Where a plan is given, what is made stands in its arena, of which every byte has a double here:
   an element of b bytes is written to all of its b, and is there when they agree.  What no launch is to read any more
   is poisoned. */

enum { MGI_ORDERED = 4096 }; /* launches that an order is drawn for: each is compared with each */

/* In -1..1, as the type holds it; of i32, 0 to bound - 1. */
MGI_FN void mgi_draw_all(double *to, int64_t n, uint64_t seed, uint32_t value, mg_dtype type, int64_t bound) {
  uint64_t state = seed * 0x2545f4914f6cdd1du + value;
  for (int64_t k = 0; k < n; k++) {
    const uint64_t r = mgi_random(&state);
    to[k] = type == MG_I32 ? (double)(r % (uint64_t)bound)
                           : mg_round_to(type, (float)((double)(r >> 11) / 4503599627370496.0 - 1));
  }
}
MGI_FN double mgi_poison(void) {
  const uint64_t bits = 0x7ff8dead0000beefu; /* a NaN that no computation makes */
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}
MGI_FN int mgi_same_bits(double a, double b) { return !memcmp(&a, &b, sizeof a); }

/* Symbols have values within their bounds. */
MGI_FN mg_status mgi_symbols_fit(const mg_model *m, const int64_t *sym, mg_error *e) {
  for (int k = 0; k < m->n_symbols; k++) {
    const mg_model_symbol *y = &m->symbol[k];
    if (sym[k] < y->least || sym[k] > y->most)
      return mg_fail(e, MG_BAD_INPUT, m->name, "%s is in %lld..%lld, found %lld", y->name, (long long)y->least,
                     (long long)y->most, (long long)sym[k]);
  }
  return MG_OK;
}
/* 1 if the data holds the value itself. */
MGI_FN int mgi_data_holds(const mg_value *v, const mg_weights *w) {
  return v->kind == MG_VALUE_STATE || (v->kind == MG_VALUE_WEIGHT && !w);
}
MGI_FN mg_status mgi_data_new(const mg_model_list *l, const int64_t *room, uint64_t seed, const mg_weights *w,
                              mg_model_data **out, mg_error *e) {
  mg_model_data *d = (mg_model_data *)calloc(1, sizeof *d);
  mg_status s = MG_OK;
  int64_t total = 0;
  *out = NULL;
  if (d) d->data = (double **)calloc(l->n_values, sizeof *d->data);
  if (!d || !d->data) { free(d); return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the data"); }
  d->l = l, d->seed = seed, d->weights = w;
  for (int k = 0; k < l->m->n_symbols; k++) d->room[k] = room[k];
  s = mgi_symbols_fit(l->m, room, e);
  if (s == MG_OK && w) s = mg_weights_fit(w, l, room, NULL, e);
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) { /* how much, before any of it */
    mg_shape shape;
    if (!mgi_data_holds(&l->value[v], w)) continue;
    s = mg_value_shape(l, &l->value[v], room, &shape, e);
    if (s == MG_OK) total += mg_shape_elements(&shape); /* at most 2^40 each */
  }
  if (s == MG_OK && total > MG_MODEL_MAX_ELEMENTS)
    s = mg_fail(e, MG_LIMIT, l->m->name, "%s of %lld elements take %lld bytes in float64: at most %lld are evaluated",
                w ? "states" : "weights and states", (long long)total, (long long)total * 8,
                (long long)MG_MODEL_MAX_ELEMENTS * 8);
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    mg_shape shape;
    if (!mgi_data_holds(&l->value[v], w)) continue;
    s = mg_value_shape(l, &l->value[v], room, &shape, e);
    const int64_t n = s == MG_OK ? mg_shape_elements(&shape) : 0;
    if (s == MG_OK && !(d->data[v] = (double *)calloc((size_t)n, sizeof(double))))
      s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for '%s'", l->value[v].name);
    if (s == MG_OK && !w) mgi_draw_all(d->data[v], n, seed, v, l->value[v].type, 1);
  }
  if (s == MG_OK) *out = d;
  else mg_model_data_free(d);
  return s;
}
mg_status mg_model_data_new(const mg_model_list *l, const int64_t *room, uint64_t seed, mg_model_data **out,
                            mg_error *e) {
  return mgi_data_new(l, room, seed, NULL, out, e);
}
mg_status mg_model_data_open(const mg_model_list *l, const int64_t *room, const mg_weights *w, mg_model_data **out,
                             mg_error *e) {
  return mgi_data_new(l, room, 0, w, out, e);
}
void mg_model_data_free(mg_model_data *d) {
  if (!d) return;
  for (uint32_t v = 1; v < d->l->n_values; v++) free(d->data[v]);
  free(d->data), free(d);
}

/* One step at hand. */
typedef struct mgi_running {
  const mg_model_list *l;
  mg_model_data *d;
  const int64_t *sym;
  const mg_model_config *cfg;
  const mg_launch *launch;  /* the plan's or the list's */
  uint32_t n_launches;
  mg_shape *shape, *room;   /* by value; of states */
  mg_graph **piece;         /* by piece */
  int64_t *bound;           /* by value: of i32, below which indices lie */
  double **made;            /* by value, without a plan */
  double *arena;            /* with one: by byte */
  int64_t *offset;          /* by storage */
  int64_t arena_bytes;
  uint32_t *readers;        /* by value: launches up to its last that are still to run */
  mg_error *e;
} mgi_running;

MGI_FN mg_status mgi_step_fail(const mgi_running *S, const mg_launch *a, mg_status s, const char *what) {
  char where[96];
  snprintf(where, sizeof where, "%.60s:%d:%d", S->l->m->where ? S->l->m->where : S->l->m->name, a->from->line,
           a->from->column);
  return mg_fail(S->e, s, where, "%s", what);
}

/* What a launch has: operands, results, scratch. */
MGI_FN int mgi_launch_count(const mg_launch *a) { return a->n_in + a->n_out + (a->scratch != 0); }
MGI_FN uint32_t mgi_launch_value(const mg_launch *a, int k) {
  return k < a->n_in ? a->in[k] : k < a->n_in + a->n_out ? a->out[k - a->n_in] : a->scratch;
}
/* 1 if it is the k-th's first appearance among them. */
MGI_FN int mgi_launch_first(const mg_launch *a, int k) {
  for (int j = 0; j < k; j++)
    if (mgi_launch_value(a, j) == mgi_launch_value(a, k)) return 0;
  return 1;
}
/* 1 if v is a state that launch a writes. */
MGI_FN int mgi_launch_writes(const mg_model_list *l, const mg_launch *a, uint32_t v) {
  for (int k = 0; k < a->n_out; k++)
    if (a->out[k] == v && l->value[v].kind == MG_VALUE_STATE) return 1;
  return 0;
}

/* Element k of a value in the arena. */
MGI_FN double *mgi_arena_at(const mgi_running *S, uint32_t v, int64_t k) {
  return S->arena + S->offset[S->cfg->plan->storage[v] - 1] + k * mg_dtype_bytes(S->l->value[v].type);
}
MGI_FN void mgi_write_value(mgi_running *S, uint32_t v, const double *from) {
  const int64_t n = mg_shape_elements(&S->shape[v]);
  if (!S->arena && from) memcpy(S->made[v], from, (size_t)n * sizeof *from);
  if (!S->arena) return;
  const int b = mg_dtype_bytes(S->l->value[v].type);
  for (int64_t k = 0; k < n; k++)
    for (int j = 0; j < b; j++) mgi_arena_at(S, v, k)[j] = from ? from[k] : mgi_poison();
}
/* A dense copy of a value as it stands; of states, what is within the step's sizes. */
MGI_FN mg_status mgi_read_value_of(mgi_running *S, const mg_launch *a, uint32_t v, double *to) {
  const mg_value *is = &S->l->value[v];
  const int64_t n = mg_shape_elements(&S->shape[v]);
  char what[200];
  if (is->kind == MG_VALUE_STATE) {
    int64_t i[MG_MAX_RANK] = {0, 0, 0, 0, 0};
    for (int64_t k = 0; k < n; k++) {
      int64_t at = 0;
      for (int d = 0; d < is->rank; d++) at = at * S->room[v].dim[d] + i[d];
      to[k] = S->d->data[v][at];
      for (int d = is->rank - 1; d >= 0 && ++i[d] == S->shape[v].dim[d]; d--) i[d] = 0;
    }
    return MG_OK;
  }
  if (is->kind == MG_VALUE_WEIGHT && S->d->weights) {
    mg_weights_read(S->d->weights, S->l, v, to);
    return MG_OK;
  }
  if (is->kind != MG_VALUE_MADE || !S->arena) {
    memcpy(to, is->kind == MG_VALUE_MADE ? S->made[v] : S->d->data[v], (size_t)n * sizeof *to);
    return MG_OK;
  }
  const int b = mg_dtype_bytes(is->type);
  for (int64_t k = 0; k < n; k++) {
    const double *p = mgi_arena_at(S, v, k);
    int there = !mgi_same_bits(*p, mgi_poison());
    for (int j = 1; j < b; j++) there &= mgi_same_bits(*p, p[j]);
    to[k] = *p;
    if (there) continue;
    snprintf(what, sizeof what, "the plan is wrong: element %lld of '%.60s' is read, and is not there", (long long)k,
             is->name);
    return mgi_step_fail(S, a, MG_BAD_INPUT, what);
  }
  return MG_OK;
}

/* Where an update goes: from `at` on along its dimension. */
MGI_FN mg_status mgi_update_fits(const mgi_running *S, const mg_launch *a, int64_t *at) {
  char what[200];
  const mg_status s = mg_size_at(S->l->sizes, a->at, S->sym, at, S->e);
  const int64_t have = S->shape[a->out[0]].dim[a->dim], n = S->shape[a->in[0]].dim[a->dim];
  if (s != MG_OK || (*at >= 0 && *at <= have - n)) return s;
  snprintf(what, sizeof what, "update %.60s: dimension %d has %lld elements, found %lld from %lld on",
           S->l->value[a->out[0]].name, a->dim, (long long)have, (long long)n, (long long)*at);
  return mgi_step_fail(S, a, MG_BAD_INPUT, what);
}
/* Writes dense x of shape `from` to state v, from `at` on along dimension `dim`. */
MGI_FN void mgi_write_state(mgi_running *S, uint32_t v, const double *x, const mg_shape *from, int dim, int64_t at) {
  int64_t i[MG_MAX_RANK] = {0, 0, 0, 0, 0};
  const int64_t n = mg_shape_elements(from);
  for (int64_t k = 0; k < n; k++) {
    int64_t to = 0;
    for (int d = 0; d < from->rank; d++) to = to * S->room[v].dim[d] + i[d] + (d == dim ? at : 0);
    S->d->data[v][to] = x[k];
    for (int d = from->rank - 1; d >= 0 && ++i[d] == from->dim[d]; d--) i[d] = 0;
  }
}
MGI_FN mg_status mgi_launch_update(mgi_running *S, const mg_launch *a) {
  const uint32_t v = a->out[0], from = a->in[0];
  const int64_t n = mg_shape_elements(&S->shape[from]);
  int64_t at = 0;
  double *x = (double *)malloc((size_t)n * sizeof *x);
  mg_status s = x ? mgi_update_fits(S, a, &at) : mgi_step_fail(S, a, MG_NO_MEMORY, "no memory");
  if (s == MG_OK) s = mgi_read_value_of(S, a, from, x);
  if (s == MG_OK) mgi_write_state(S, v, x, &S->shape[from], a->dim, at);
  free(x);
  return s;
}
MGI_FN mg_status mgi_launch_piece(mgi_running *S, const mg_launch *a) {
  const mg_graph *g = S->piece[a->piece];
  const mg_domain d = mg_domain_cast();
  const void *in[MG_MAX_IN];
  void *out[MG_MAX_OUT];
  mg_status s = MG_OK;
  memset(in, 0, sizeof in), memset(out, 0, sizeof out);
  for (int k = 0; k < a->n_out && s == MG_OK; k++) {
    out[k] = malloc((size_t)mg_shape_elements(&S->shape[a->out[k]]) * sizeof(double));
    if (!out[k]) s = mgi_step_fail(S, a, MG_NO_MEMORY, "no memory");
  }
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++) {
    const mg_tensor_info *t = &g->tensors[g->in[k].id];
    const int64_t n = mg_shape_elements(&t->shape);
    double *x = (double *)malloc((size_t)n * sizeof *x);
    in[k] = x;
    if (!x) s = mgi_step_fail(S, a, MG_NO_MEMORY, "no memory");
    else if (t->fill) for (int64_t j = 0; j < n; j++) x[j] = (double)mg_filled(t, j);
    else s = mgi_read_value_of(S, a, a->in[k], x);
    if (s == MG_OK && t->dtype == MG_I32) /* in place: an index never stands behind the double that it is taken from */
      for (int64_t j = 0; j < n; j++) {
        const int32_t index = x[j] >= 0 && x[j] <= INT32_MAX ? (int32_t)x[j] : MG_NO_INDEX;
        memcpy((char *)x + (size_t)j * sizeof index, &index, sizeof index);
      }
  }
  if (s == MG_OK) {
    mg_error e;
    s = S->cfg->piece ? S->cfg->piece(S->cfg->piece_user, a->piece, g, S->sym, in, out, &e)
                      : mg_eval(g, &d, in, out, &e);
    if (s != MG_OK) s = mgi_step_fail(S, a, s, e.msg);
  }
  for (int k = 0; k < a->n_out && s == MG_OK; k++) {
    double *result = (double *)out[k];
    for (int64_t j = mg_shape_elements(&S->shape[a->out[k]]); j-- > 0 && S->l->value[a->out[k]].type == MG_I32;) {
      int32_t index;
      memcpy(&index, (char *)result + (size_t)j * sizeof index, sizeof index);
      result[j] = (double)index;
    }
    mgi_write_value(S, a->out[k], result);
  }
  for (uint32_t k = 0; k < g->n_in; k++) free((void *)in[k]);
  for (int k = 0; k < a->n_out; k++) free(out[k]);
  return s;
}
MGI_FN mg_status mgi_launch_foreign(mgi_running *S, const mg_launch *a) {
  mg_foreign_call c;
  mg_status s = MG_OK;
  double *in[MG_MODEL_MAX_PARAMS];
  memset(&c, 0, sizeof c);
  memset(in, 0, sizeof in);
  c.step = a->from, c.n_in = a->n_in, c.n_out = a->n_out, c.n_sizes = a->n_sizes;
  for (int k = 0; k < a->n_sizes && s == MG_OK; k++) s = mg_size_at(S->l->sizes, a->size[k], S->sym, &c.size[k], S->e);
  for (int k = 0; k < a->n_in && s == MG_OK; k++) {
    c.in_shape[k] = S->shape[a->in[k]];
    c.in[k] = in[k] = (double *)malloc((size_t)mg_shape_elements(&c.in_shape[k]) * sizeof(double));
    s = in[k] ? mgi_read_value_of(S, a, a->in[k], in[k]) : mgi_step_fail(S, a, MG_NO_MEMORY, "no memory");
  }
  for (int k = 0; k < a->n_out && s == MG_OK; k++) {
    c.out_shape[k] = S->shape[a->out[k]];
    c.out[k] = (double *)calloc((size_t)mg_shape_elements(&c.out_shape[k]), sizeof(double));
    if (!c.out[k]) s = mgi_step_fail(S, a, MG_NO_MEMORY, "no memory");
    else if (mgi_launch_writes(S->l, a, a->out[k])) s = mgi_read_value_of(S, a, a->out[k], c.out[k]);
    else if (S->l->value[a->out[k]].alias) s = mgi_read_value_of(S, a, S->l->value[a->out[k]].alias, c.out[k]);
  }
  if (s == MG_OK && a->scratch) mgi_write_value(S, a->scratch, NULL); /* as the kernel may */
  if (s == MG_OK) s = S->cfg->foreign(S->cfg->user, &c, S->e);
  for (int k = 0; k < a->n_out && s == MG_OK; k++) {
    if (mgi_launch_writes(S->l, a, a->out[k])) mgi_write_state(S, a->out[k], c.out[k], &c.out_shape[k], 0, 0);
    else mgi_write_value(S, a->out[k], c.out[k]);
  }
  for (int k = 0; k < a->n_in; k++) free(in[k]);
  for (int k = 0; k < a->n_out; k++) free(c.out[k]);
  return s;
}

/* 1 if launch b, listed after a, may not run before it: it reads what a makes, one of them writes a state that the
   other has, or it makes what stands where a's values stand. */
MGI_FN int mgi_launch_before(const mg_model_plan *p, const mg_launch *a, const mg_launch *b) {
  const mg_model_list *l = p->l;
  for (int k = 0; k < mgi_launch_count(b); k++) {
    const uint32_t v = mgi_launch_value(b, k);
    for (int j = 0; j < mgi_launch_count(a); j++) {
      const uint32_t u = mgi_launch_value(a, j);
      if (u == v && k < b->n_in && j >= a->n_in && l->value[v].kind == MG_VALUE_MADE) return 1;
      if (u == v && (mgi_launch_writes(l, a, v) || mgi_launch_writes(l, b, v))) return 1;
      if (k >= b->n_in && p->storage[v] && p->storage[u] == p->storage[v]) return 1;
    }
  }
  return 0;
}
MGI_FN mg_status mgi_launch_run(mgi_running *S, uint32_t k) {
  const mg_launch *a = &S->launch[k];
  const mg_model_plan *p = S->cfg->plan;
  if (S->cfg->progress) S->cfg->progress(S->cfg->user, k, S->n_launches);
  mg_status s = a->kind == MG_LAUNCH_PIECE    ? mgi_launch_piece(S, a)
                : a->kind == MG_LAUNCH_UPDATE ? mgi_launch_update(S, a)
                                              : mgi_launch_foreign(S, a);
  for (int j = 0; p && j < mgi_launch_count(a) && s == MG_OK; j++) {
    const uint32_t v = mgi_launch_value(a, j);
    if (!p->storage[v] || k > p->last[v] || !mgi_launch_first(a, j)) continue;
    if (--S->readers[v] == 0 && p->last[v] < p->n_launches && !S->l->value[v].taken) mgi_write_value(S, v, NULL);
  }
  return s;
}
/* All launches, in order or in another that the plan's dependences allow. */
MGI_FN mg_status mgi_step_launches(mgi_running *S) {
  const uint32_t n = S->n_launches;
  mg_status s = MG_OK;
  if (!S->cfg->plan || !S->cfg->order) {
    for (uint32_t k = 0; k < n && s == MG_OK; k++) s = mgi_launch_run(S, k);
    return s;
  }
  if (n > MGI_ORDERED)
    return mg_fail(S->e, MG_LIMIT, S->l->m->name, "other orders than the list's are for at most %d launches",
                   MGI_ORDERED);
  uint32_t *waits = (uint32_t *)calloc(n + 1, sizeof *waits), *ready = (uint32_t *)calloc(n + 1, sizeof *ready),
           n_ready = 0;
  uint64_t state = S->cfg->order;
  if (!waits || !ready) s = mg_fail(S->e, MG_NO_MEMORY, S->l->m->name, "no memory for an order");
  for (uint32_t b = 0; b < n && s == MG_OK; b++) {
    for (uint32_t a = 0; a < b; a++)
      waits[b] += (uint32_t)mgi_launch_before(S->cfg->plan, &S->launch[a], &S->launch[b]);
    if (!waits[b]) ready[n_ready++] = b;
  }
  while (n_ready && s == MG_OK) {
    const uint32_t at = (uint32_t)(mgi_random(&state) % n_ready), a = ready[at];
    ready[at] = ready[--n_ready];
    s = mgi_launch_run(S, a);
    for (uint32_t b = a + 1; b < n && s == MG_OK; b++)
      if (mgi_launch_before(S->cfg->plan, &S->launch[a], &S->launch[b]) && !--waits[b]) ready[n_ready++] = b;
  }
  free(waits), free(ready);
  return s;
}

/* The shapes of a step, and what can be wrong with its sizes. */
MGI_FN mg_status mgi_step_sizes(mgi_running *S) {
  const mg_model_list *l = S->l;
  mg_status s = mgi_symbols_fit(l->m, S->sym, S->e);
  char text[64];
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    const mg_value *is = &l->value[v];
    s = mg_value_shape(l, is, S->sym, &S->shape[v], S->e);
    if (s != MG_OK) break;
    if (is->kind == MG_VALUE_STATE || is->kind == MG_VALUE_WEIGHT)
      s = mg_value_shape(l, is, S->d->room, &S->room[v], S->e);
    for (int d = 0; d < is->rank && s == MG_OK && is->kind != MG_VALUE_MADE && is->kind != MG_VALUE_INPUT; d++)
      if (is->kind == MG_VALUE_STATE ? S->shape[v].dim[d] > S->room[v].dim[d] : S->shape[v].dim[d] != S->room[v].dim[d])
        s = mg_fail(S->e, MG_BAD_INPUT, l->m->name, "'%s' dimension %d: there is room for %lld, found %s = %lld",
                    is->name, d, (long long)S->room[v].dim[d], mgi_size_text(l->sizes, is->dim[d], text, sizeof text),
                    (long long)S->shape[v].dim[d]);
  }
  for (uint32_t k = 0; k < l->n_checks && s == MG_OK; k++) {
    const mg_size_check *c = &l->check[k];
    int64_t have = 0, want = 0;
    s = mg_size_at(l->sizes, c->want, S->sym, &want, S->e);
    if (s == MG_OK) s = mg_size_at(l->sizes, c->have, S->sym, &have, S->e);
    if (s == MG_OK && have != want) {
      char where[96];
      snprintf(where, sizeof where, "%.60s:%d:%d", l->m->where ? l->m->where : l->m->name, c->from->line,
               c->from->column);
      s = mg_fail(S->e, MG_BAD_INPUT, where, "match: '%s' dimension %d: expected %s = %lld, found %lld", c->name,
                  c->dim, mgi_size_text(l->sizes, c->want, text, sizeof text), (long long)want, (long long)have);
    }
  }
  for (uint32_t k = 0; k < S->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &S->launch[k];
    int64_t at;
    if (a->kind == MG_LAUNCH_UPDATE) s = mgi_update_fits(S, a, &at);
  }
  return s;
}
/* Everything that can be wrong with a step before it begins. */
MGI_FN mg_status mgi_step_prepare(mgi_running *S) {
  const mg_model_list *l = S->l;
  double total = 0, work = 0;
  const double room = S->cfg->elements > 0 ? S->cfg->elements : (double)MG_MODEL_MAX_ELEMENTS;
  mg_status s = mgi_step_sizes(S);
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++)
    if (l->value[v].kind == MG_VALUE_MADE || l->value[v].kind == MG_VALUE_INPUT)
      total += (double)mg_shape_elements(&S->shape[v]);
  for (uint32_t k = 0; k < S->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &S->launch[k];
    if (a->kind == MG_LAUNCH_FOREIGN && !S->cfg->foreign) {
      char what[300];
      snprintf(what, sizeof what, "%s is not mirage's: to evaluate it, give mg_model_config.foreign", a->from->symbol);
      s = mgi_step_fail(S, a, MG_UNSUPPORTED, what);
    }
  }
  for (uint32_t k = 0; k < l->n_pieces && s == MG_OK; k++) s = mg_piece_at(l, k, S->sym, &S->piece[k], S->e);
  for (uint32_t k = 0; k < S->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &S->launch[k];
    if (a->kind != MG_LAUNCH_PIECE) continue;
    const mg_graph *g = S->piece[a->piece];
    mg_part part;
    mg_box all[MG_MAX_OUT];
    memset(all, 0, sizeof all);
    for (int j = 0; j < a->n_out; j++) memcpy(all[j].hi, S->shape[a->out[j]].dim, sizeof all[j].hi);
    if ((s = mg_part_of(g, all, &part, S->e)) != MG_OK) break;
    work += part.work;
    if (part.elements + total > room)
      s = mg_fail(S->e, MG_LIMIT, l->m->name,
                  "a step of %.3g elements, %.3g bytes in float64, is not evaluated: at most %.3g",
                  part.elements + total, 8 * (part.elements + total), room * 8);
    mg_part_free(&part);
    if (s == MG_OK) s = mgi_launch_bounds(l, a, S->sym, S->bound, S->e);
  }
  const double most = S->cfg->work > 0 ? S->cfg->work : 68719476736.0;
  if (s == MG_OK && work > most)
    s = mg_fail(S->e, MG_LIMIT, l->m->name, "a step of %.3g operations is not evaluated: at most %.3g", work, most);
  return s;
}
/* What mg_model_table says of input v. */
MGI_FN mg_status mgi_table_fill(const mgi_running *S, uint32_t v, double *to) {
  const mg_value *is = &S->l->value[v];
  const int64_t rows = S->shape[v].dim[0], width = S->shape[v].dim[1];
  int64_t at = 0;
  const mg_status s = mg_size_at(S->l->sizes, is->at, S->sym, &at, S->e);
  for (int64_t k = 0; k < rows * width && s == MG_OK; k++) {
    const int64_t j = width < 2 ? 0 : k % width % (width / 2);
    const double angle = (double)(at + k / width) * pow((double)is->decl->base, -2.0 * (double)j / (double)width);
    to[k] = is->decl->table == 'c' ? cos(angle) : sin(angle);
  }
  return s;
}
/* Memory of a step: inputs, and what is made. */
MGI_FN mg_status mgi_step_memory(mgi_running *S) {
  const mg_model_list *l = S->l;
  const mg_model_plan *p = S->cfg->plan;
  mg_status s = MG_OK;
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    const size_t n = (size_t)mg_shape_elements(&S->shape[v]);
    const int input = l->value[v].kind == MG_VALUE_INPUT, table = input && l->value[v].decl->table;
    if (input && !table && !S->cfg->inputs && !S->d->data[v])
      return mg_fail(S->e, MG_BAD_INPUT, l->m->name, "input '%s' is not there", l->value[v].name);
    if (input && !S->cfg->inputs && l->value[v].type == MG_I32)
      for (size_t k = 0; k < n; k++)
        if (!(S->d->data[v][k] >= 0 && S->d->data[v][k] < (double)S->bound[v]))
          return mg_fail(S->e, MG_BAD_INPUT, l->m->name, "input '%s' element %zu: expected 0 to %lld, found %.17g",
                         l->value[v].name, k, (long long)S->bound[v] - 1, S->d->data[v][k]);
    if ((!input || (!S->cfg->inputs && !table)) && (l->value[v].kind != MG_VALUE_MADE || p)) continue;
    double *x = (double *)malloc(n * sizeof *x);
    if (!x) return mg_fail(S->e, MG_NO_MEMORY, l->m->name, "no memory for '%s'", l->value[v].name);
    if (!input) { S->made[v] = x; continue; }
    if (!table) mgi_draw_all(x, (int64_t)n, S->cfg->inputs, v, l->value[v].type, S->bound[v]);
    else s = mgi_table_fill(S, v, x);
    free(S->d->data[v]);
    S->d->data[v] = x;
  }
  if (!p) return s;
  for (uint32_t k = 0; k < p->n_storages && s == MG_OK; k++) {
    int64_t bytes = 0;
    S->offset[k] = S->arena_bytes;
    s = mg_size_at(l->sizes, p->size[k], S->sym, &bytes, S->e);
    if (bytes > MG_MODEL_MAX_ELEMENTS || S->arena_bytes > MG_MODEL_MAX_ELEMENTS)
      return mg_fail(S->e, MG_LIMIT, l->m->name, "an arena of more than %d bytes is not evaluated",
                     MG_MODEL_MAX_ELEMENTS);
    S->arena_bytes += mg_ceil_div(bytes, MG_MODEL_ALIGN) * MG_MODEL_ALIGN;
  }
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    if (l->value[v].kind != MG_VALUE_MADE) continue;
    const uint32_t at = p->storage[v];
    if (!at || at > p->n_storages ||
        S->offset[at - 1] + mg_shape_elements(&S->shape[v]) * mg_dtype_bytes(l->value[v].type) > S->arena_bytes)
      s = mg_fail(S->e, MG_BAD_INPUT, l->m->name, "the plan is wrong: '%s' is not within the arena", l->value[v].name);
  }
  if (s != MG_OK) return s;
  S->arena = (double *)malloc((size_t)(S->arena_bytes + 1) * sizeof *S->arena);
  if (!S->arena) return mg_fail(S->e, MG_NO_MEMORY, l->m->name, "no memory for the arena");
  for (int64_t k = 0; k <= S->arena_bytes; k++) S->arena[k] = mgi_poison();
  /* A value is poisoned once all of its launches up to its last have run. */
  for (uint32_t k = 0; k < S->n_launches; k++)
    for (int j = 0; j < mgi_launch_count(&S->launch[k]); j++) {
      const uint32_t v = mgi_launch_value(&S->launch[k], j);
      if (mgi_launch_first(&S->launch[k], j) && k <= p->last[v]) S->readers[v]++;
    }
  return s;
}

mg_status mg_model_step(mg_model_data *d, const int64_t *sym, const mg_model_config *given, mg_error *e) {
  mgi_running S;
  mg_model_config cfg;
  mg_error local;
  const mg_model_list *l = d->l;
  memset(&cfg, 0, sizeof cfg);
  if (given) cfg = *given;
  memset(&S, 0, sizeof S);
  S.l = l, S.d = d, S.sym = sym, S.cfg = &cfg, S.e = e ? e : &local;
  if (cfg.plan && cfg.plan->l != l)
    return mg_fail(e, MG_BAD_INPUT, l->m->name, "expected a plan of this list, found one of another");
  S.launch = cfg.plan ? cfg.plan->launch : l->launch, S.n_launches = cfg.plan ? cfg.plan->n_launches : l->n_launches;
  S.shape = (mg_shape *)calloc(l->n_values, sizeof *S.shape), S.room = (mg_shape *)calloc(l->n_values, sizeof *S.room);
  S.piece = (mg_graph **)calloc(l->n_pieces + 1, sizeof *S.piece),
  S.bound = (int64_t *)calloc(l->n_values, sizeof *S.bound);
  S.made = (double **)calloc(l->n_values, sizeof *S.made),
  S.readers = (uint32_t *)calloc(l->n_values, sizeof *S.readers);
  S.offset = (int64_t *)calloc((cfg.plan ? cfg.plan->n_storages : 0) + 1, sizeof *S.offset);
  mg_status s = S.shape && S.room && S.piece && S.bound && S.made && S.readers && S.offset
                    ? MG_OK
                    : mg_fail(S.e, MG_NO_MEMORY, l->m->name, "no memory for a step");
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) S.bound[v] = INT32_MAX;
  if (s == MG_OK) s = mgi_step_prepare(&S);
  if (s == MG_OK) s = mgi_step_memory(&S);
  if (s == MG_OK) s = mgi_step_launches(&S);
  for (int k = 0; k < l->m->n_outputs && s == MG_OK; k++) {
    const uint32_t v = l->output[k];
    mg_step none;
    mg_launch end; /* for the place of an error: behind all statements */
    double *x = (double *)malloc((size_t)mg_shape_elements(&S.shape[v]) * sizeof *x);
    memset(&none, 0, sizeof none), memset(&end, 0, sizeof end);
    end.from = &none;
    s = x ? mgi_read_value_of(&S, &end, v, x) : mg_fail(S.e, MG_NO_MEMORY, l->m->name, "no memory for an output");
    if (s != MG_OK) { free(x); break; }
    free(d->data[v]);
    d->data[v] = x;
  }
  for (uint32_t v = 0; v < l->n_values && S.made; v++) free(S.made[v]);
  for (uint32_t k = 0; k < l->n_pieces && S.piece; k++) mg_graph_free(S.piece[k]);
  free(S.shape), free(S.room), free(S.piece), free(S.bound), free(S.made), free(S.readers), free(S.offset),
      free(S.arena);
  return s;
}

/* Distance of one value of two runs, of n elements. */
MGI_FN void mgi_model_off(const double *a, const double *b, int64_t n, const mg_value *v, mg_model_distance *d) {
  double square = 0, off = 0;
  if (!memcmp(a, b, (size_t)n * sizeof *a)) return;
  for (int64_t i = 0; i < n && v->type == MG_I32; i++) d->indices += a[i] != b[i];
  if (v->type == MG_I32) return;
  for (int64_t i = 0; i < n; i++) {
    if (mgi_same_bits(a[i], b[i])) continue;
    off += (a[i] - b[i]) * (a[i] - b[i]);
  }
  for (int64_t i = 0; i < n; i++) square += a[i] * a[i];
  off = square > 0 ? sqrt(off / square) : sqrt(off);
  if (!(off < 1e300)) off = 1e300; /* something is no number */
  if (off > d->off) d->off = off, d->of = v->name;
}
/* The index of the output whose argmax output k is, by a statement of its own; -1: none.  *launch: that statement's. */
MGI_FN int mgi_output_argmax(const mg_model_list *l, int k, const mg_launch **launch) {
  for (uint32_t j = 0; j < l->n_launches; j++) {
    const mg_launch *a = &l->launch[j];
    if (a->kind != MG_LAUNCH_PIECE || a->out[0] != l->output[k]) continue;
    const mg_piece *p = &l->piece[a->piece];
    if (p->n_nodes != 1 || strcmp(p->node[0].op->name, "argmax")) return -1;
    *launch = a;
    for (int o = 0; o < l->m->n_outputs; o++)
      if (l->output[o] == a->in[0]) return o;
  }
  return -1;
}
/* Of x[k], the outputs of one step of list l, adds to *n the indices that do not say where the first of the largest
   elements is. */
MGI_FN mg_status mgi_model_misplaced(const mg_model_list *l, const int64_t *sym, const double *const *x, int64_t *n,
                                     mg_error *e) {
  mg_status s = MG_OK;
  for (int k = 0; k < l->m->n_outputs && s == MG_OK; k++) {
    const mg_launch *a;
    mg_graph *g = NULL;
    const int of = mgi_output_argmax(l, k, &a);
    if (of < 0) continue;
    s = mg_piece_at(l, a->piece, sym, &g, e);
    if (s != MG_OK) break;
    const mg_shape *shape = &mg_tensor_of(g, g->in[0])->shape;
    const int dim = mg_op_of(g, mg_tensor_of(g, g->out[0])->op)->attr.dim;
    const int64_t extent = shape->dim[dim], all = mg_shape_elements(shape);
    int64_t inner = 1;
    for (int d = dim + 1; d < shape->rank; d++) inner *= shape->dim[d];
    for (int64_t i = 0; i < all / extent; i++) {
      const double *row = x[of] + i / inner * inner * extent + i % inner;
      int64_t top = 0;
      for (int64_t j = 1; j < extent; j++)
        if (row[j * inner] > row[top * inner]) top = j;
      *n += x[k][i] != (double)top;
    }
    mg_graph_free(g);
  }
  return s;
}
mg_status mg_model_compare(const mg_model_list *a, const mg_model_list *b, const int64_t *sym, int steps, uint64_t seed,
                           const mg_model_config *of_a, const mg_model_config *of_b, mg_model_distance *out,
                           mg_error *e) {
  const double *x[MG_MAX_OUT];
  const mg_model_list *const l[2] = {a, b};
  const mg_model_config *const of[2] = {of_a, of_b};
  int64_t at[MG_MODEL_MAX_SYMBOLS], room[MG_MODEL_MAX_SYMBOLS];
  mg_model_data *d[2] = {NULL, NULL};
  mg_status s = MG_OK;
  memset(out, 0, sizeof *out);
  if (a->m != b->m) return mg_fail(e, MG_BAD_INPUT, a->m->name, "expected two lists of one model");
  for (int k = 0; k < a->m->n_symbols; k++)
    at[k] = sym[k], room[k] = sym[k] + (a->m->symbol[k].device ? steps - 1 : 0);
  for (int w = 0; w < 2 && s == MG_OK; w++) s = mg_model_data_new(l[w], room, seed, &d[w], e);
  for (int t = 0; t < steps && s == MG_OK; t++, out->steps++) {
    for (int w = 0; w < 2 && s == MG_OK; w++) {
      mg_model_config c;
      memset(&c, 0, sizeof c);
      if (of[w]) c = *of[w];
      c.inputs = seed + 1 + (uint64_t)t;
      s = mg_model_step(d[w], at, &c, e);
    }
    for (int k = 0; k < a->m->n_outputs && s == MG_OK; k++) {
      mg_shape shape;
      s = mg_value_shape(a, &a->value[a->output[k]], at, &shape, e);
      if (s == MG_OK)
        mgi_model_off(d[0]->data[a->output[k]], d[1]->data[b->output[k]], mg_shape_elements(&shape),
                      &a->value[a->output[k]], out);
      x[k] = d[1]->data[b->output[k]];
    }
    if (s == MG_OK) s = mgi_model_misplaced(a, at, x, &out->misplaced, e);
    for (int k = 0; k < a->m->n_symbols; k++) at[k] += a->m->symbol[k].device;
  }
  for (uint32_t v = 1; v < a->n_values && s == MG_OK; v++) {
    mg_shape shape;
    if (a->value[v].kind != MG_VALUE_STATE) continue;
    s = mg_value_shape(a, &a->value[v], room, &shape, e);
    if (s == MG_OK) mgi_model_off(d[0]->data[v], d[1]->data[v], mg_shape_elements(&shape), &a->value[v], out);
  }
  mg_model_data_free(d[0]), mg_model_data_free(d[1]);
  return s;
}

/* ------------------------------------------------------------------------------------------------- >>planning
   Launches in order; each value that is made takes a storage whose last value nobody reads any more: the least at the
   symbols' greatest values that holds it, else the greatest that grows to it, else a new one.  Sizes are compared for
   all values of the symbols at once (mg_size_order).  An operand and a result of one launch never share, unless the
   result is made in the operand's place. */

enum { MGI_STORAGES = 8192 }; /* what is made once has one each */

/* By value: the launch that makes it, and the last that reads it; n of outputs, and of what is made once and read by
   others.  Both arrays start at 0. */
MGI_FN void mgi_lifetimes(const mg_model_list *l, const mg_launch *launch, uint32_t n, uint32_t *first,
                          uint32_t *last) {
  for (uint32_t k = 0; k < n; k++) {
    for (int j = 0; j < mgi_launch_count(&launch[k]); j++) {
      const uint32_t v = mgi_launch_value(&launch[k], j);
      const int made = l->value[v].kind == MG_VALUE_MADE;
      if (j >= launch[k].n_in && made) first[v] = k;
      last[v] = made && first[v] < l->n_once && k >= l->n_once ? n : k;
    }
  }
  for (int k = 0; k < l->m->n_outputs; k++) last[l->output[k]] = n;
}
/* 1 if weight v goes into what is made once. */
MGI_FN int mgi_once_takes(const mg_model_list *l, uint32_t v) {
  int takes = 0;
  for (uint32_t k = 0; k < l->n_once && l->value[v].kind == MG_VALUE_WEIGHT; k++)
    for (int j = 0; j < l->launch[k].n_in; j++) takes |= l->launch[k].in[j] == v;
  return takes;
}
/* At the symbols' greatest values; INT64_MAX: beyond int64. */
MGI_FN int64_t mgi_size_at_most(const mg_model_list *l, mg_size s) {
  int64_t most[MG_MODEL_MAX_SYMBOLS], n;
  for (int k = 0; k < l->m->n_symbols; k++) most[k] = l->m->symbol[k].most;
  return mg_size_at(l->sizes, s, most, &n, NULL) == MG_OK ? n : INT64_MAX;
}
/* a <= b for all values of the symbols. */
MGI_FN int mgi_size_within(const mg_model_list *l, mg_size a, mg_size b) {
  const mg_order o = a == b ? MG_ORDER_EQUAL : mg_size_order(l->sizes, a, b);
  return o == MG_ORDER_EQUAL || o == MG_ORDER_AT_MOST;
}
/* The sum of all storages, each rounded up; 0: it passes the limits of sizes. */
MGI_FN mg_size mgi_plan_total(const mg_model_plan *p) {
  mg_sizes *S = p->l->sizes;
  mg_size total = mg_size_int(S, 0);
  for (uint32_t k = 0; k < p->n_storages; k++)
    total = mg_size_add(S, total,
                        mg_size_mul(S, mg_size_int(S, MG_MODEL_ALIGN), mg_size_ceil(S, p->size[k], MG_MODEL_ALIGN)));
  return total;
}
/* Which storage value v, made by launch k, takes; MGI_STORAGES: there are too many.  busy: by storage, until when. */
MGI_FN uint32_t mgi_plan_take(mg_model_plan *p, uint32_t k, uint32_t v, const uint32_t *busy) {
  const mg_size bytes = p->l->value[v].bytes;
  uint32_t fits = MGI_STORAGES, grows = MGI_STORAGES;
  for (uint32_t s = 0; s < p->n_storages; s++) {
    if (busy[s] >= k) continue;
    if (mgi_size_within(p->l, bytes, p->size[s])) {
      if (fits == MGI_STORAGES || mgi_size_at_most(p->l, p->size[s]) < mgi_size_at_most(p->l, p->size[fits])) fits = s;
    } else if (fits == MGI_STORAGES && mgi_size_within(p->l, p->size[s], bytes)) {
      if (grows == MGI_STORAGES || mgi_size_at_most(p->l, p->size[s]) > mgi_size_at_most(p->l, p->size[grows]))
        grows = s;
    }
  }
  const uint32_t take = fits < MGI_STORAGES ? fits : grows < MGI_STORAGES ? grows : p->n_storages;
  if (take == MGI_STORAGES) return take;
  if (take == p->n_storages) p->n_storages++;
  if (take != fits) p->size[take] = bytes;
  return take;
}
mg_status mg_model_plan_of(const mg_model_list *l, mg_model_plan **out, mg_error *e) {
  mg_error local;
  if (!e) e = &local;
  *out = NULL;
  mg_graph *arena = mg_program_new(l->m->name, NULL);
  if (!arena) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the plan");
  memset(e, 0, sizeof *e);
  mg_model_plan *p = (mg_model_plan *)mgi_arena(arena, sizeof *p, e);
  if (p) {
    p->l = l, p->arena = arena, p->n_launches = l->n_launches;
    p->launch = (mg_launch *)mgi_arena(arena, (l->n_launches + 1) * sizeof *p->launch, e);
    p->storage = (uint32_t *)mgi_arena(arena, 3 * l->n_values * sizeof *p->storage, e);
    p->size = (mg_size *)mgi_arena(arena, MGI_STORAGES * sizeof *p->size, e);
  }
  uint32_t *busy = p && e->status == MG_OK ? (uint32_t *)mgi_arena(arena, MGI_STORAGES * sizeof *busy, e) : NULL;
  if (!busy) {
    mg_graph_free(arena);
    return e->status != MG_OK ? e->status : mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the plan");
  }
  p->first = p->storage + l->n_values, p->last = p->first + l->n_values;
  if (l->n_launches) memcpy(p->launch, l->launch, l->n_launches * sizeof *p->launch);
  mgi_lifetimes(l, p->launch, p->n_launches, p->first, p->last);
  for (uint32_t k = 0; k < p->n_launches && e->status == MG_OK; k++)
    for (int j = p->launch[k].n_in; j < mgi_launch_count(&p->launch[k]) && e->status == MG_OK; j++) {
      const uint32_t v = mgi_launch_value(&p->launch[k], j);
      if (l->value[v].kind != MG_VALUE_MADE) continue;
      const uint32_t s = l->value[v].alias ? p->storage[l->value[v].alias] - 1 : mgi_plan_take(p, k, v, busy);
      if (s == MGI_STORAGES) mg_fail(e, MG_LIMIT, l->m->name, "a plan has at most %d storages", MGI_STORAGES);
      else p->storage[v] = s + 1, busy[s] = p->last[v];
    }
  if (e->status == MG_OK && !(p->total = mgi_plan_total(p)))
    mg_fail(e, MG_LIMIT, l->m->name, "the size of the arena passes the limits of sizes");
  const mg_status s = e->status == MG_OK ? mg_model_plan_check(p, e) : e->status;
  if (s == MG_OK) *out = p;
  else mg_graph_free(arena);
  return s;
}
void mg_model_plan_free(mg_model_plan *p) {
  if (p) mg_graph_free(p->arena);
}

/* 1 if both launch the same. */
MGI_FN int mgi_launch_same(const mg_launch *a, const mg_launch *b) {
  return a->kind == b->kind && a->from == b->from && a->piece == b->piece && a->n_in == b->n_in &&
         a->n_out == b->n_out && a->dim == b->dim && a->at == b->at && a->scratch == b->scratch &&
         !memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) &&
         !memcmp(a->out, b->out, (size_t)a->n_out * sizeof *a->out);
}
/* 1 if a launch, whose operands are made before it, may be run once: it is a piece of weights, and of what is made
   once, with sizes that are numbers. */
MGI_FN int mgi_once_right(const mg_model_list *l, const mg_launch *a) {
  int right = a->kind == MG_LAUNCH_PIECE;
  for (int k = 0; right && k < a->n_in; k++)
    right = (l->value[a->in[k]].kind == MG_VALUE_WEIGHT || l->value[a->in[k]].kind == MG_VALUE_MADE) &&
            mgi_value_fixed(l, &l->value[a->in[k]]);
  for (uint32_t k = 0; right && k < l->piece[a->piece].n_nodes; k++)
    right = mgi_node_fixed(l, &l->piece[a->piece].node[k]);
  return right;
}
mg_status mg_model_plan_check(const mg_model_plan *p, mg_error *e) {
  const mg_model_list *l = p->l;
  char ta[64], tb[64];
  mg_status s = MG_OK;
  if (p->n_launches != l->n_launches)
    return mg_fail(e, MG_BAD_INPUT, l->m->name, "expected %u launches, found %u", l->n_launches, p->n_launches);
  for (uint32_t k = 0; k < p->n_launches; k++)
    if (!mgi_launch_same(&p->launch[k], &l->launch[k]))
      return mg_fail(e, MG_BAD_INPUT, l->m->name, "launch %u is not the list's", k);
  uint32_t *first = (uint32_t *)calloc(3 * (size_t)l->n_values + p->n_storages + 1, sizeof *first),
           *last = first ? first + l->n_values : NULL;
  if (!first) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the check of a plan");
  uint32_t *made = last + l->n_values, *holder = made + l->n_values;
  mgi_lifetimes(l, l->launch, l->n_launches, first, last);
  for (uint32_t k = 0; k < l->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &l->launch[k];
    if (k < l->n_once && !mgi_once_right(l, a))
      s = mg_fail(e, MG_BAD_INPUT, l->m->name, "launch %u is made once, and is not of weights alone", k);
    for (int j = 0; j < a->n_in && s == MG_OK; j++)
      if (l->value[a->in[j]].kind == MG_VALUE_MADE && !made[a->in[j]])
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "launch %u reads '%s' before it is made", k, l->value[a->in[j]].name);
    for (int j = a->n_in; j < mgi_launch_count(a) && s == MG_OK; j++) {
      const uint32_t v = mgi_launch_value(a, j), at = p->storage[v];
      const mg_value *is = &l->value[v];
      if (is->kind != MG_VALUE_MADE) continue;
      if (made[v]++) s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' is made twice", is->name);
      else if (!at || at > p->n_storages) s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' has no storage", is->name);
      else if (p->first[v] != first[v] || p->last[v] < last[v])
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' lives from launch %u to %u: expected %u to %u", is->name,
                    p->first[v], p->last[v], first[v], last[v]);
      else if (!mgi_size_within(l, is->bytes, p->size[at - 1]))
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' of %s bytes is not known to fit storage %u of %s", is->name,
                    mgi_size_text(l->sizes, is->bytes, ta, sizeof ta), at - 1,
                    mgi_size_text(l->sizes, p->size[at - 1], tb, sizeof tb));
      else if (is->alias && first[is->alias] < l->n_once)
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' is made in the place of '%s', which is made once", is->name,
                    l->value[is->alias].name);
      else if (is->alias && (p->storage[is->alias] != at || holder[at] != is->alias))
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' is not where '%s' is, in whose place it is made", is->name,
                    l->value[is->alias].name);
      else if (holder[at] && p->last[holder[at]] >= k + (is->alias != 0))
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "'%s' and '%s' are in storage %u at launch %u", is->name,
                    l->value[holder[at]].name, at - 1, k);
      else holder[at] = v;
    }
  }
  free(first);
  if (s == MG_OK && p->total != mgi_plan_total(p))
    s = mg_fail(e, MG_BAD_INPUT, l->m->name, "the arena is not the sum of its storages");
  return s;
}

/* "K[3]" */
MGI_FN void mgi_write_value_name(mgi_text *t, const mg_value *v) {
  mgi_puts(t, v->name);
  if (v->layer >= 0) mgi_putf(t, "[%lld]", (long long)v->layer);
}
/* A statement, or the names of a piece's operators, in order. */
MGI_FN void mgi_write_piece(mgi_text *t, const mg_piece *p) {
  if (p->expr) mgi_write_expr(t, p->expr);
  for (uint32_t k = 0; k < p->n_nodes && !p->expr; k++) mgi_putf(t, "%s%s", k ? ", " : "", p->node[k].op->name);
}
MGI_FN void mgi_write_bytes(mgi_text *t, const mg_model_list *l, mg_size s) {
  char *text = NULL;
  if (mg_size_print(l->sizes, s, &text, NULL) != MG_OK) t->bad = 1;
  else mgi_puts(t, text);
  mg_string_free(text);
  mgi_puts(t, " bytes");
  if (l->m->n_symbols) mgi_putf(t, ", at most %lld", (long long)mgi_size_at_most(l, s));
  mgi_puts(t, "\n");
}
mg_status mg_model_plan_print(const mg_model_plan *p, char **out, mg_error *e) {
  static const char *const kind[] = {"piece", "update", "extern"};
  const mg_model_list *l = p->l;
  char shape[120];
  mgi_text t;
  memset(&t, 0, sizeof t);
  mgi_putf(&t, "model %s: %u launches, %u distinct pieces\n", l->m->name, p->n_launches, l->n_pieces);
  for (uint32_t k = 0; k < l->n_pieces; k++)
    mgi_putf(&t, "piece %u: ", k), mgi_write_piece(&t, &l->piece[k]), mgi_puts(&t, "\n");
  for (uint32_t k = 0; k < p->n_launches; k++) {
    const mg_launch *a = &p->launch[k];
    mgi_putf(&t, "launch %u%s, line %d: ", k, k < l->n_once ? ", once" : "", a->from->line);
    mgi_puts(&t, kind[a->kind]);
    if (a->kind == MG_LAUNCH_PIECE) mgi_putf(&t, " %u", a->piece);
    if (a->kind == MG_LAUNCH_FOREIGN) mgi_putf(&t, " %s", a->from->symbol);
    mgi_puts(&t, "(");
    for (int j = 0; j < a->n_in; j++) mgi_puts(&t, j ? ", " : ""), mgi_write_value_name(&t, &l->value[a->in[j]]);
    mgi_puts(&t, ")");
    for (int j = 0; j < a->n_out; j++) {
      const mg_value *v = &l->value[a->out[j]];
      mgi_puts(&t, j ? ", " : " -> "), mgi_write_value_name(&t, v);
      mgi_putf(&t, " : %s%s", mg_dtype_name(v->type), mgi_dims_text(l->sizes, v->rank, v->dim, shape, sizeof shape));
      if (p->storage[a->out[j]]) mgi_putf(&t, " in storage %u", p->storage[a->out[j]] - 1);
    }
    if (a->scratch) mgi_putf(&t, ", scratch in storage %u", p->storage[a->scratch] - 1);
    mgi_puts(&t, "\n");
  }
  for (uint32_t s = 0; s < p->n_storages; s++) mgi_putf(&t, "storage %u: ", s), mgi_write_bytes(&t, l, p->size[s]);
  mgi_putf(&t, "arena, storages at multiples of %d: ", MG_MODEL_ALIGN), mgi_write_bytes(&t, l, p->total);
  return mgi_text_done(&t, out, "mg_model_plan_print", e);
}

mg_status mg_model_once_print(const mg_model_list *l, char **out, mg_error *e) {
  uint32_t *first = (uint32_t *)calloc(2 * (size_t)l->n_values, sizeof *first),
           *last = first ? first + l->n_values : NULL;
  double kept = 0, freed = 0;
  char shape[120];
  mgi_text t;
  *out = NULL;
  if (!l->n_once) return free(first), MG_OK;
  if (!first) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for lifetimes");
  memset(&t, 0, sizeof t);
  mgi_lifetimes(l, l->launch, l->n_launches, first, last);
  for (uint32_t k = 0; k < l->n_once; k++) {
    const mg_launch *a = &l->launch[k];
    const mg_value *v = &l->value[a->out[0]];
    mgi_putf(&t, "once, line %d: %s(", a->from->line, l->piece[a->piece].node[0].op->name);
    for (int j = 0; j < a->n_in; j++) mgi_puts(&t, j ? ", " : ""), mgi_write_value_name(&t, &l->value[a->in[j]]);
    mgi_putf(&t, ") : %s%s, ", mg_dtype_name(v->type), mgi_dims_text(l->sizes, v->rank, v->dim, shape, sizeof shape));
    if (last[a->out[0]] == l->n_launches) mgi_putf(&t, "%.0f bytes kept\n", mgi_value_bytes(l, v));
    else mgi_puts(&t, "for another\n");
    if (last[a->out[0]] == l->n_launches) kept += mgi_value_bytes(l, v);
  }
  for (uint32_t v = 1; v < l->n_values; v++)
    if (mgi_once_takes(l, v) && last[v] < l->n_once) freed += mgi_value_bytes(l, &l->value[v]);
  mgi_putf(&t, "once, when weights are loaded: %u launches, %.0f bytes kept, %.0f bytes of weights freed\n", l->n_once,
           kept, freed);
  free(first);
  return mgi_text_done(&t, out, "mg_model_once_print", e);
}

#ifdef MIRAGE_SEARCH_H
/* ---------------------------------------------------------------------------------------------------- >>found
   One piece after the other: what is kept, else a search, else as it is written.  A file of `keep` is named by the
   piece's hash, and holds its ranges behind comments, as `mirage search` writes them; the piece itself is not in it:
   what it says is verified against the piece at hand. */

enum { MGI_KEPT_S = 300 }; /* in which what is kept is verified, where there is no limit */
/* The caller's hooks that measure, and what they took: the limit is put off by it. */
typedef struct mgi_found_timer { const mg_search_config *search; double seconds; } mgi_found_timer;
MGI_FN mg_status mgi_found_measure(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us,
                                   mg_error *e) {
  mgi_found_timer *t = (mgi_found_timer *)user;
  const double began = mgi_seconds();
  const mg_status s = t->search->measure(t->search->measure_user, program, g, n, us, e);
  t->seconds += mgi_seconds() - began;
  return s;
}
MGI_FN mg_status mgi_found_measure_all(void *user, const mg_measure_job *job, int n, mg_error *e) {
  mgi_found_timer *t = (mgi_found_timer *)user;
  const double began = mgi_seconds();
  const mg_status s = t->search->measure_all(t->search->measure_user, job, n, e);
  t->seconds += mgi_seconds() - began;
  return s;
}
MGI_FN int mgi_found_stopped(const mg_search_config *c) { return c->stop && *c->stop; }
mg_model_search_config mg_model_search_config_default(void) {
  mg_model_search_config c;
  memset(&c, 0, sizeof c);
  c.search = mg_search_config_default(), c.verify = mg_verify_config_default();
  return c;
}
void mg_model_found_free(mg_model_found *f) {
  if (!f) return;
  for (uint32_t k = 0; f->piece && k < f->l->n_pieces; k++) {
    for (int j = 0; j < f->piece[k].n; j++) mg_graph_free(f->piece[k].graph[j]);
    mg_graph_free(f->piece[k].program);
  }
  free(f->piece), free(f->fold);
  f->piece = NULL, f->fold = NULL;
}
MGI_FN void mgi_found_drop(mg_found_piece *p) {
  memset(p->timed_us, 0, sizeof p->timed_us);
  while (p->n > 0) mg_graph_free(p->graph[--p->n]);
}
/* The values of a program's symbols, by name, out of the model's. */
MGI_FN void mgi_found_values(const mg_model_list *l, const mg_graph *g, const int64_t *sym, int64_t *value) {
  for (uint32_t k = 0; k < g->n_symbols; k++) value[k] = sym[mgi_model_symbol_find(l->m, g->symbol[k].name)];
}
/* What was searched at sizes that were given is for these alone. */
MGI_FN mg_status mgi_found_takes(const mg_model_found *f, const int64_t *sym, mg_error *e) {
  for (int s = 0; s < f->l->m->n_symbols && f->sized; s++)
    if (sym[s] != f->at[0][s])
      return mg_fail(e, MG_BAD_INPUT, f->l->m->name, "it was searched for %s = %lld, found %lld",
                     f->l->m->symbol[s].name, (long long)f->at[0][s], (long long)sym[s]);
  return MG_OK;
}
mg_status mg_model_found_at(const mg_model_found *f, uint32_t k, const int64_t *sym, mg_graph **out, mg_error *e) {
  const mg_found_piece *p = &f->piece[k];
  int64_t value[MG_MAX_SYMBOLS];
  *out = NULL;
  int at = 0;
  mg_status s = mgi_found_takes(f, sym, e);
  if (s != MG_OK) return s;
  if (!p->program) return mg_piece_at(f->l, k, sym, out, e);
  mgi_found_values(f->l, p->program, sym, value);
  s = mg_range_at((const mg_graph *const *)p->graph, p->n, value, &at, e);
  return s == MG_OK ? mg_at(p->graph[at], value, out, e) : s;
}
mg_status mg_model_found_run(void *user, uint32_t piece, const mg_graph *g, const int64_t *sym, const void *const *in,
                             void *const *out, mg_error *e) {
  const mg_domain d = mg_domain_cast();
  mg_graph *u = NULL;
  mg_status s = mg_model_found_at((const mg_model_found *)user, piece, sym, &u, e);
  if (s == MG_OK) s = mg_verify_signature(g, u, e);
  if (s == MG_OK) s = mg_eval(u, &d, in, out, e);
  mg_graph_free(u);
  return s;
}

/* 1 if the ranges are for all sizes of the program's symbols. */
MGI_FN int mgi_found_whole(const mg_found_piece *p) {
  const mg_graph *const *g = (const mg_graph *const *)p->graph;
  const mg_graph *of = p->program;
  for (int k = 0; k < p->n; k++) {
    if (g[k]->n_symbols != of->n_symbols) return 0;
    for (uint32_t s = 0; s < of->n_symbols; s++) {
      const int64_t end = mg_range_end(g, p->n, k, s);
      if (strcmp(g[k]->symbol[s].name, of->symbol[s].name)) return 0;
      if (g[k]->symbol[s].last < (end ? end - 1 : of->symbol[s].most)) return 0;
      if (!k && g[k]->symbol[s].least > of->symbol[s].least) return 0;
    }
  }
  return p->n > 0;
}
/* The verdict of range k: against the program of its bounds. */
MGI_FN mg_status mgi_found_verify(mg_found_piece *p, int k, const mg_verify_config *v, mg_error *e) {
  mg_graph *of = NULL;
  mg_status s = p->program->n_symbols ? mg_within_of(p->program, p->graph[k], &of, e) : MG_OK;
  if (s == MG_OK) s = mg_verify(of ? of : p->program, p->graph[k], v, &p->report[k], e);
  mg_graph_free(of);
  return s;
}
MGI_FN void mgi_found_path(const char *keep, const mg_graph *program, const char *end, char *path, size_t n) {
  snprintf(path, n, "%.900s/%016llx.mg%s", keep, (unsigned long long)mg_hash(program), end);
}
/* Takes what is kept; 1 if it stands. */
MGI_FN int mgi_found_take(mg_found_piece *p, const mg_model_search_config *c, const mg_verify_config *v) {
  enum { MOST = 1 << 22 };
  char path[1024];
  mg_error e;
  mgi_found_path(c->keep, p->program, "", path, sizeof path);
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  char *text = (char *)malloc(MOST);
  const size_t n = text ? fread(text, 1, MOST, f) : 0;
  fclose(f);
  mg_status s = text && n < MOST ? mg_parse_all(text, n, path, NULL, MG_MAX_RANGES, p->graph, &p->n, &e)
                                 : mg_fail(&e, MG_LIMIT, path, "it is too large");
  free(text);
  if (s == MG_OK && !mgi_found_whole(p))
    s = mg_fail(&e, MG_BAD_INPUT, path, "it has other symbols than the piece, or leaves out sizes of them");
  for (int k = 0; k < p->n && s == MG_OK; k++) {
    s = mgi_found_verify(p, k, v, &e);
    if (s == MG_OK && p->report[k].verdict != MG_EQUAL)
      s = mg_fail(&e, MG_NOT_FOUND, path, "%s: %.150s", mg_verdict_name(p->report[k].verdict), p->report[k].reason);
  }
  if (s == MG_OK) return p->kept = p->complete = 1;
  snprintf(p->why, sizeof p->why, "what is kept in %.60s is not taken: %.150s", path, e.msg);
  mgi_found_drop(p);
  return 0;
}
/* Writes what was found; an error is in p->why. */
MGI_FN void mgi_found_keep(mg_found_piece *p, const mg_model_search_config *c) {
  char path[1024], whole[1024];
  mgi_text t;
  memset(&t, 0, sizeof t);
  for (int k = 0; k < p->n && !t.bad; k++) {
    char *text = NULL;
    mgi_putf(&t, "# verdict: %s\n", mg_verdict_name(p->report[k].verdict));
    if (p->timed_us[k][0] > 0) mgi_putf(&t, "# timed: %.2f us, %.2f us\n", p->timed_us[k][0], p->timed_us[k][1]);
    if (mg_print(p->graph[k], &text, NULL) != MG_OK) t.bad = 1;
    else mgi_puts(&t, text);
    mg_string_free(text);
  }
  mgi_found_path(c->keep, p->program, ".part", path, sizeof path);
  mgi_found_path(c->keep, p->program, "", whole, sizeof whole);
  FILE *f = t.bad ? NULL : fopen(path, "wb");
  int good = f && fwrite(t.p, 1, t.n, f) == t.n;
  if (f) good = !fclose(f) && good;
  if (!good || rename(path, whole))
    snprintf(p->why, sizeof p->why, "it could not be kept: %.150s cannot be written", whole);
  free(t.p);
}
/* Searches; MG_OK: it has results, all EQUAL. */
MGI_FN mg_status mgi_found_search(mg_found_piece *p, const mg_search_config *c, const mg_verify_config *v,
                                  mg_error *e) {
  mg_search_result r;
  mg_family_result family;
  char why[256] = "";
  int undecided = 0;
  mg_status s;
  if (p->program->n_symbols) {
    s = mg_search_family(p->program, c, v, &family, e);
    if (s != MG_OK) return s;
    for (p->n = 0; p->n < family.n; p->n++) {
      p->graph[p->n] = family.range[p->n].graph, p->report[p->n] = family.range[p->n].report;
      memcpy(p->timed_us[p->n], family.range[p->n].timed_us, sizeof p->timed_us[p->n]);
      family.range[p->n].graph = NULL;
    }
    p->complete = family.complete;
    mg_family_result_free(&family);
  } else {
    memset(&r, 0, sizeof r);
    s = mg_search(p->program, c, &r, e);
    if (s == MG_OK) s = mg_search_certify(p->program, c, v, 1, &r, &undecided, why, e);
    if (s == MG_OK) {
      p->n = 1, p->graph[0] = r.graph[0], p->report[0] = r.report[0], p->complete = r.stats.complete;
      p->timed_us[0][0] = p->timed_us[0][1] = r.measured_us[0];
      r.graph[0] = NULL;
    }
    mg_search_result_free(&r);
    if (s != MG_OK) return s;
  }
  for (int k = 0; k < p->n; k++)
    if (p->report[k].verdict != MG_EQUAL)
      return mg_fail(e, MG_UNSUPPORTED, "search", "%s: %.150s", mg_verdict_name(p->report[k].verdict),
                     p->report[k].reason);
  return mgi_found_whole(p) ? MG_OK : mg_fail(e, MG_UNSUPPORTED, "search", "its ranges leave out sizes");
}
/* The piece as it is written, for all sizes: by identity. */
MGI_FN mg_status mgi_found_written(mg_found_piece *p, const mg_verify_config *v, mg_error *e) {
  mgi_found_drop(p);
  p->written = 1;
  if (!p->program) return MG_OK;
  const mg_status s = mg_within_of(p->program, p->program, &p->graph[0], e);
  if (s != MG_OK) return s;
  p->n = 1;
  return mgi_found_verify(p, 0, v, e);
}
MGI_FN mg_status mgi_found_price(mg_model_found *f, uint32_t k, const mg_machine *m, mg_error *e) {
  mg_found_piece *p = &f->piece[k];
  for (int j = 0; j < f->n_at; j++) {
    mg_graph *g = NULL;
    const mg_status s = mg_model_found_at(f, k, f->at[j], &g, e);
    if (s != MG_OK) return s;
    p->us[j] = mg_predict_us(g, m), p->kernels[j] = mg_kernels(g);
    f->us[j] += p->us[j] * p->launches;
    mg_graph_free(g);
  }
  return MG_OK;
}
/* A piece within `seconds`, 0: without limit. */
MGI_FN mg_status mgi_found_piece(mg_model_found *f, uint32_t k, const mg_model_search_config *c, double seconds,
                                 mg_error *e) {
  mg_found_piece *p = &f->piece[k];
  mg_search_config search = c->search;
  mg_verify_config verify = c->verify;
  mg_error why;
  mg_status s = MG_OK;
  verify.time_limit_s = search.time_limit_s = 0;
  search.checkpoint = NULL;
  p->why[0] = 0, p->written = 0;
  if (f->sized && !p->program && (s = mg_piece_at(f->l, k, f->at[0], &p->program, e)) != MG_OK) return s;
  if (!f->sized && !p->program && (s = mg_piece_family(f->l, k, &p->program, &why)) != MG_OK) {
    if (s == MG_NO_MEMORY) return mg_fail(e, s, f->l->m->name, "%s", why.msg);
    snprintf(p->why, sizeof p->why, "%.250s", why.msg);
  }
  verify.time_limit_s = seconds > 0 ? seconds : (double)MGI_KEPT_S;
  if (p->program && c->keep && mgi_found_take(p, c, &verify)) return MG_OK;
  verify.time_limit_s = 0;
  if (seconds > 0) search.time_limit_s = 0.6 * seconds, verify.time_limit_s = 0.4 * seconds;
  if (!p->program || c->no_search || !p->launches) s = MG_NOT_FOUND;
  else if (mgi_found_stopped(&search)) s = mg_fail(&why, MG_NOT_FOUND, "search", "interrupted");
  else s = mgi_found_search(p, &search, &verify, &why);
  if (s == MG_NO_MEMORY) return mg_fail(e, s, f->l->m->name, "%s", why.msg);
  if (s == MG_OK && c->keep && !mgi_found_stopped(&search)) mgi_found_keep(p, c);
  if (s == MG_OK) return s;
  if (!p->launches) snprintf(p->why, sizeof p->why, "made once, when weights are loaded");
  else if (p->program && !c->no_search) snprintf(p->why, sizeof p->why, "%.250s", why.msg);
  verify.time_limit_s = 0, verify.stop = NULL; /* by identity, at once */
  return mgi_found_written(p, &verify, e);
}
/* Link 1 of what the partition folds, until `end`, if that is not 0; MG_NOT_FOUND names what is not EQUAL. */
MGI_FN mg_status mgi_found_folds(mg_model_found *f, const mg_verify_config *config, double end, mg_error *e) {
  const mg_model_list *l = f->l;
  mg_verify_config v = *config;
  mg_status s = MG_OK;
  f->fold = (mg_verify_report *)calloc(l->n_folds + 1, sizeof *f->fold);
  if (!f->fold) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the folds' reports");
  for (uint32_t k = 0; k < l->n_folds && s == MG_OK; k++) {
    const int64_t *sym = f->sized ? f->at[0] : NULL;
    mg_graph *written = NULL, *folded = NULL;
    s = mgi_piece_build(l, &l->fold[k].written, sym, &written, e);
    if (s == MG_OK) s = mgi_piece_build(l, &l->fold[k].folded, sym, &folded, e);
    if (end > 0) v.time_limit_s = fmax(end - mgi_seconds(), 1e-3); /* 0 would be none */
    if (s == MG_OK) s = mg_verify(written, folded, &v, &f->fold[k], e);
    if (s == MG_OK && f->fold[k].verdict != MG_EQUAL)
      s = mg_fail(e, MG_NOT_FOUND, l->m->name, "fold %u is %s: %.150s", k, mg_verdict_name(f->fold[k].verdict),
                  f->fold[k].reason);
    mg_graph_free(written), mg_graph_free(folded);
  }
  return s;
}
/* Those of few symbols and operators first, as they leave time to the others; then, while there is time, once more
   those that stand as they are written. */
MGI_FN mg_status mgi_found_all(mg_model_found *f, const mg_model_search_config *c, double end,
                               const mgi_found_timer *timer, mg_error *e) {
  const uint32_t n = f->l->n_pieces;
  uint32_t *order = (uint32_t *)malloc((n + 1) * sizeof *order), *effort = (uint32_t *)malloc((n + 1) * sizeof *effort);
  mg_status s = order && effort ? MG_OK : mg_fail(e, MG_NO_MEMORY, f->l->m->name, "no memory for the search");
  for (uint32_t k = 0; k < n && s == MG_OK; k++) {
    uint32_t at = k;
    effort[k] = f->l->piece[k].n_nodes;
    for (int y = 0; y < f->l->m->n_symbols; y++)
      if (mgi_piece_has(f->l, &f->l->piece[k], y)) effort[k] += MGI_MOST_OPS;
    for (; at && effort[order[at - 1]] > effort[k]; at--) order[at] = order[at - 1];
    order[at] = k;
  }
  for (int again = 0; again < 2 && s == MG_OK; again++) {
    uint32_t left = 0;
    for (uint32_t j = 0; j < n; j++) left += !again || f->piece[order[j]].written;
    for (uint32_t j = 0; j < n && s == MG_OK; j++) {
      mg_found_piece *p = &f->piece[order[j]];
      const double seconds = end > 0 ? (end + timer->seconds - mgi_seconds()) / left : 0;
      if (again && (!p->written || !p->program || !p->launches || end <= 0 || c->no_search || seconds < 1)) continue;
      if (c->progress) c->progress(c->user, f, order[j]);
      left--;
      mgi_found_drop(p);
      s = mgi_found_piece(f, order[j], c, seconds < 0.01 && end > 0 ? 0.01 : seconds, e);
    }
  }
  for (uint32_t k = 0; k < n && s == MG_OK; k++) s = mgi_found_price(f, k, c->search.machine, e);
  free(order), free(effort);
  return s;
}
mg_status mg_model_search(const mg_model_list *l, const mg_model_search_config *cfg, mg_model_found *out, mg_error *e) {
  mg_model_search_config c = cfg ? *cfg : mg_model_search_config_default();
  const double began = mgi_seconds(), end = c.search.time_limit_s > 0 ? began + c.search.time_limit_s : 0;
  mgi_found_timer timer = {cfg ? &cfg->search : NULL, 0};
  mg_status s = MG_OK;
  memset(out, 0, sizeof *out);
  if (!c.search.machine) c.search.machine = mg_machine_at(0);
  c.search.measure_user = &timer;
  if (c.search.measure) c.search.measure = mgi_found_measure;
  if (c.search.measure_all) c.search.measure_all = mgi_found_measure_all;
  out->l = l, out->sized = c.sym != NULL, out->n_at = c.sym || !l->m->n_symbols ? 1 : 2;
  if (c.sym && (s = mgi_symbols_fit(l->m, c.sym, e)) != MG_OK) return s;
  for (int k = 0; k < l->m->n_symbols; k++)
    out->at[0][k] = c.sym ? c.sym[k] : l->m->symbol[k].least, out->at[1][k] = l->m->symbol[k].most;
  out->piece = (mg_found_piece *)calloc(l->n_pieces + 1, sizeof *out->piece);
  if (!out->piece) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the search");
  for (uint32_t k = l->n_once; k < l->n_launches; k++)
    if (l->launch[k].kind == MG_LAUNCH_PIECE) out->piece[l->launch[k].piece].launches++;
  s = mgi_found_folds(out, &c.verify, end, e);
  if (s == MG_OK) s = mgi_found_all(out, &c, end, &timer, e);
  out->seconds = mgi_seconds() - began;
  if (s != MG_OK) mg_model_found_free(out);
  return s;
}

/* "n=1 p=32" */
MGI_FN void mgi_found_put_at(mgi_text *t, const mg_model_found *f, int j) {
  for (int k = 0; k < f->l->m->n_symbols; k++)
    mgi_putf(t, "%s%s=%lld", k ? " " : "", f->l->m->symbol[k].name, (long long)f->at[j][k]);
  if (!f->l->m->n_symbols) mgi_puts(t, "its sizes");
}
/* For which sizes a report speaks: "for all n", "at p = 1, 63", "at n=1 p=32". */
MGI_FN void mgi_found_put_sizes(mgi_text *t, const mg_model_found *f, const mg_found_piece *p,
                                const mg_verify_report *r) {
  if (f->sized) mgi_puts(t, "at "), mgi_found_put_at(t, f, 0);
  else if (!p->program) mgi_puts(t, "at each size");
  else if (!p->program->n_symbols) mgi_puts(t, "it has no symbol");
  else if (r->values) mgi_putf(t, "at %s", r->at);
  else mgi_puts(t, "for all ");
  for (uint32_t k = 0; !f->sized && p->program && !r->values && k < p->program->n_symbols; k++)
    mgi_putf(t, "%s%s", k ? ", " : "", p->program->symbol[k].name);
}
MGI_FN void mgi_found_put_verdict(mgi_text *t, const mg_model_found *f, const mg_found_piece *p) {
  double worst = -1e300;
  for (int k = 0; k < p->n; k++)
    if (p->report[k].log2_delta < 0 && p->report[k].log2_delta > worst) worst = p->report[k].log2_delta;
  if (!p->program) mgi_puts(t, "EQUAL as written, ");
  else if (p->written) mgi_putf(t, "%s as written, ", mg_verdict_name(p->report[0].verdict));
  else if (worst > -1e300) mgi_putf(t, "EQUAL, delta 2^%.2f, ", ceil(worst * 100) / 100);
  else mgi_puts(t, "EQUAL by proof, ");
  mgi_found_put_sizes(t, f, p, &p->report[0]);
}
MGI_FN void mgi_found_put_ops(mgi_text *t, const mg_piece *p) {
  for (uint32_t k = 0; k < p->n_nodes && k < 8; k++) mgi_putf(t, "%s%s", k ? " " : "", p->node[k].op->name);
  if (p->n_nodes > 8) mgi_putf(t, " .. %u operators", p->n_nodes);
}
mg_status mg_model_found_print(const mg_model_found *f, char **out, mg_error *e) {
  const mg_model_list *l = f->l;
  uint32_t pieces = 0, others = 0;
  int kernels[2] = {0, 0};
  mgi_text t;
  *out = NULL;
  memset(&t, 0, sizeof t);
  for (uint32_t k = l->n_once; k < l->n_launches; k++) l->launch[k].kind == MG_LAUNCH_PIECE ? pieces++ : others++;
  mgi_putf(&t, "model %s: %u launches, %u of %u distinct pieces, %u updates and foreign kernels\n", l->m->name,
           l->n_launches - l->n_once, pieces, l->n_pieces, others);
  if (l->n_once) mgi_putf(&t, "%u launches more once, when weights are loaded\n", l->n_once);
  mgi_puts(&t, "piece  launches  kernels       us predicted");
  for (int j = 0; j < f->n_at; j++) mgi_puts(&t, j ? " | " : " at "), mgi_found_put_at(&t, f, j);
  mgi_puts(&t, ", verdict\n");
  for (uint32_t k = 0; k < l->n_pieces; k++) {
    const mg_found_piece *p = &f->piece[k];
    mgi_putf(&t, "%5u %9u ", k, p->launches);
    for (int j = 0; j < 2; j++) mgi_putf(&t, j < f->n_at ? "%4d" : "    ", p->kernels[j]);
    for (int j = 0; j < 2; j++) mgi_putf(&t, j < f->n_at ? " %10.2f" : "           ", p->us[j]);
    mgi_puts(&t, "  "), mgi_found_put_verdict(&t, f, p);
    if (p->n > 1) mgi_putf(&t, ", %d ranges", p->n);
    if (p->timed_us[0][0] > 0) mgi_puts(&t, ", by times");
    mgi_putf(&t, "%s%s: ", p->kept ? ", kept" : "", p->complete || p->written ? "" : ", cut short");
    mgi_found_put_ops(&t, &l->piece[k]);
    if (p->why[0]) mgi_putf(&t, " (%s)", p->why);
    mgi_puts(&t, "\n");
    for (int j = 0; j < f->n_at; j++) kernels[j] += p->kernels[j] * (int)p->launches;
  }
  mgi_putf(&t, "  all %9u ", pieces);
  for (int j = 0; j < 2; j++) mgi_putf(&t, j < f->n_at ? "%4d" : "    ", kernels[j]);
  for (int j = 0; j < 2; j++) mgi_putf(&t, j < f->n_at ? " %10.2f" : "           ", f->us[j]);
  mgi_putf(&t, "  a step, without updates and foreign kernels; by the model, links 2 and 3 not run; %.1f s\n",
           f->seconds);
  return mgi_text_done(&t, out, "mg_model_found_print", e);
}
mg_status mg_model_chain_print(const mg_model_found *f, int *equal, char **out, mg_error *e) {
  const mg_model_list *l = f->l;
  double sum = 0;
  int proofs = 0, bounds = 0, values = 0;
  uint32_t foreign = 0, updates = 0;
  mgi_text t;
  *out = NULL, *equal = 1;
  memset(&t, 0, sizeof t);
  for (uint32_t k = 0; k < l->n_pieces; k++) {
    const mg_found_piece *p = &f->piece[k];
    mgi_putf(&t, "piece %u, %u launch%s: ", k, p->launches, p->launches == 1 ? "" : "es");
    mgi_found_put_ops(&t, &l->piece[k]), mgi_puts(&t, "\n");
    if (!p->program) mgi_putf(&t, "  EQUAL by identity at each size: as written (%s)\n", p->why), proofs++;
    for (int j = 0; j < p->n; j++) {
      const mg_verify_report *r = &p->report[j];
      mgi_putf(&t, "  %s, ", mg_verdict_name(r->verdict));
      if (r->verdict != MG_EQUAL) { mgi_putf(&t, "%s\n", r->reason), *equal = 0; continue; }
      if (r->log2_delta < 0) mgi_putf(&t, "delta 2^%.2f by %s", ceil(r->log2_delta * 100) / 100, r->theorem), bounds++;
      else mgi_putf(&t, "proved: %s", r->theorem[0] ? r->theorem : r->reason), proofs++;
      if (r->log2_delta < 0) sum += exp2(r->log2_delta);
      mgi_puts(&t, "; "), mgi_found_put_sizes(&t, f, p, r);
      for (uint32_t y = 0; y < p->graph[j]->n_symbols && p->n > 1; y++)
        mgi_putf(&t, "%s%s in %lld..%lld", y ? ", " : "; range ", p->graph[j]->symbol[y].name,
                 (long long)p->graph[j]->symbol[y].least, (long long)p->graph[j]->symbol[y].last);
      mgi_puts(&t, p->written ? "; as written\n" : "\n");
      values += r->values > 0;
    }
  }
  for (uint32_t k = 0; k < l->n_launches; k++) {
    const mg_launch *a = &l->launch[k];
    int seen = 0;
    updates += a->kind == MG_LAUNCH_UPDATE, foreign += a->kind == MG_LAUNCH_FOREIGN;
    if (a->kind != MG_LAUNCH_FOREIGN) continue;
    for (uint32_t j = 0; j < k && !seen; j++)
      seen = l->launch[j].kind == MG_LAUNCH_FOREIGN && !strcmp(l->launch[j].from->symbol, a->from->symbol);
    if (!seen) mgi_putf(&t, "foreign %s: only measured\n", a->from->symbol);
  }
  for (uint32_t k = 0; k < l->n_folds; k++) {
    const mg_verify_report *r = &f->fold[k];
    mgi_putf(&t, "fold %u, a gain into the matrix behind it: %s, ", k, mg_verdict_name(r->verdict));
    if (r->log2_delta < 0) mgi_putf(&t, "delta 2^%.2f by %s\n", ceil(r->log2_delta * 100) / 100, r->theorem), bounds++;
    else mgi_putf(&t, "proved: %s\n", r->theorem[0] ? r->theorem : r->reason), proofs++;
    if (r->log2_delta < 0) sum += exp2(r->log2_delta);
    values += r->values > 0;
  }
  mgi_putf(&t, "partition: composes to the model for all sizes, as terms%s; %u updates are copies\n",
           l->n_folds ? " and by the folds" : "", updates);
  if (l->n_once)
    mgi_putf(&t, "once: %u launches, of weights alone, are run when these are loaded, and are in the composition\n",
             l->n_once);
  if (*equal) {
    mgi_putf(&t, "whole: EQUAL");
    if (bounds)
      mgi_putf(&t, ", delta 2^%.2f, the sum over %d of its pieces' ranges%s", ceil(log2(sum) * 100) / 100, bounds,
               l->n_folds ? " and folds" : "");
    if (proofs) mgi_putf(&t, "%s%d by proof", bounds ? "; " : ", all ", proofs);
    if (f->sized) mgi_puts(&t, "; at "), mgi_found_put_at(&t, f, 0);
    else if (values) mgi_putf(&t, "; %d of them at the values said there, and at no others", values);
    else mgi_puts(&t, "; for all sizes");
    mgi_puts(&t, foreign ? "; but for what is foreign\n" : "\n");
  } else {
    mgi_puts(&t, "whole: no figure, as these pieces are not EQUAL:");
    for (uint32_t k = 0; k < l->n_pieces; k++) {
      int open = 0;
      for (int j = 0; j < f->piece[k].n; j++) open |= f->piece[k].report[j].verdict != MG_EQUAL;
      if (open) mgi_putf(&t, " %u", k);
    }
    mgi_puts(&t, "\n");
  }
  return mgi_text_done(&t, out, "mg_model_chain_print", e);
}

#ifdef MIRAGE_CUDA_CUH
/* ------------------------------------------------------------------------------------------------- >>emitting
   A file a piece.  They are compiled by some processes, and loaded in one, as what is emulated may end it: it runs all
   steps, and sends the distances. */

mg_status mg_model_emit(const mg_model_found *f, uint32_t k, const mg_emit_config *cfg, char **text, mg_error *e) {
  const mg_found_piece *p = &f->piece[k];
  const char *said[MG_MAX_RANGES];
  char name[100];
  mgi_text verdict;
  mg_status s = MG_OK;
  *text = NULL;
  if (!p->program)
    return mg_fail(e, MG_UNSUPPORTED, f->l->m->name, "piece %u has no kernels for all sizes: %.150s", k, p->why);
  memset(&verdict, 0, sizeof verdict);
  mgi_puts(&verdict, "verdict: "), mgi_found_put_verdict(&verdict, f, p), mgi_puts(&verdict, "\n");
  for (int j = 0; j < p->n && s == MG_OK; j++) {
    snprintf(name, sizeof name, p->n > 1 ? "%.60s_p%u_%d" : "%.60s_p%u", f->l->m->name, k, j + 1);
    s = mg_rename(p->graph[j], name, e), said[j] = verdict.p;
  }
  if (s == MG_OK && verdict.bad) s = mg_fail(e, MG_NO_MEMORY, f->l->m->name, "no memory for a file");
  if (s == MG_OK) s = mg_cuda_emit_ranges((const mg_graph *const *)p->graph, p->n, cfg, said, text, e);
  mg_string_free(verdict.p);
  return s;
}

typedef struct mgi_emulating {
  const mg_model_found *f;
  const mg_model_list *eager;
  const mg_model_plan *plan;
  const int64_t *sym;
  int steps;
  uint64_t seed;
  mg_emulated *files;
  char **text; /* by piece, of its file; NULL: it has none */
} mgi_emulating;
typedef struct mgi_emulation_record { mg_status status; mg_error error; mg_model_emulation r; } mgi_emulation_record;

/* A model_config's hook `piece`: operands and results as their types hold them. */
MGI_FN mg_status mgi_eager_piece(void *user, uint32_t piece, const mg_graph *g, const int64_t *sym,
                                 const void *const *in, void *const *out, mg_error *e) {
  const mg_domain d = mg_domain_cast();
  (void)user, (void)piece, (void)sym;
  mg_status s = MG_OK;
  void *rounded[MG_MAX_IN];
  memset(rounded, 0, sizeof rounded);
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++) {
    const mg_tensor_info *t = mg_tensor_of(g, g->in[k]);
    const int64_t n = mg_shape_elements(&t->shape);
    double *x = (double *)malloc((size_t)n * sizeof *x);
    if (!x) s = mg_fail(e, MG_NO_MEMORY, g->name, "no memory");
    if (x) memcpy(x, in[k], (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n && x && t->dtype != MG_I32; i++) x[i] = mg_round_to(t->dtype, (float)x[i]);
    rounded[k] = x;
  }
  if (s == MG_OK) s = mg_eval(g, &d, (const void *const *)rounded, out, e);
  for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++) {
    const mg_tensor_info *t = mg_tensor_of(g, g->out[k]);
    double *x = (double *)out[k];
    for (int64_t i = 0; i < mg_shape_elements(&t->shape) && t->dtype != MG_I32; i++)
      x[i] = mg_round_to(t->dtype, (float)x[i]);
  }
  for (uint32_t k = 0; k < g->n_in; k++) free(rounded[k]);
  return s;
}
MGI_FN mg_status mgi_emulated_piece(void *user, uint32_t piece, const mg_graph *g, const int64_t *sym,
                                    const void *const *in, void *const *out, mg_error *e) {
  const mgi_emulating *E = (const mgi_emulating *)user;
  int64_t value[MG_MAX_SYMBOLS];
  if (!E->text[piece]) return mgi_eager_piece(NULL, piece, g, sym, in, out, e);
  const mg_graph *program = E->f->piece[piece].program;
  mgi_found_values(E->f->l, program, sym, value);
  return mg_emulated_launch(E->files, (int)piece, g, program->n_symbols ? value : NULL, in, out, e);
}
MGI_FN mg_status mgi_emulation_verdict(const mg_model_list *l, const mg_model_emulation *r, mg_error *e) {
  const mg_model_distance *d = &r->emulated;
  if (d->misplaced)
    return mg_fail(e, MG_NOT_FOUND, l->m->name, "%lld indices do not say where the largest element is",
                   (long long)d->misplaced);
  if (d->off <= 1.5 * r->eager.off) return MG_OK;
  return mg_fail(e, MG_NOT_FOUND, l->m->name,
                 "'%s' is off from float64 by %.3g, operator by operator in its types by %.3g", d->of ? d->of : "?",
                 d->off, r->eager.off);
}
/* Adds draw number `draw` to what came before it: distances are root mean squares, counts are sums. */
MGI_FN void mgi_distance_draw(mg_model_distance *of, const mg_model_distance *one, int draw) {
  const double square = of->off * of->off * draw + one->off * one->off;
  if (one->off > of->off) of->of = one->of;
  of->off = sqrt(square / (draw + 1));
  of->steps = one->steps;
  of->indices += one->indices, of->misplaced += one->misplaced;
}
/* One draw, or, where that is not near enough, four: one large element can decide over a single one. */
enum { MGI_EMULATION_DRAWS = 4 };
typedef mg_status (*mgi_emulation_draw)(void *task, uint64_t seed, mg_model_emulation *r, mg_error *e);
MGI_FN mg_status mgi_emulation_draws(const mg_model_list *l, mgi_emulation_draw draw, void *task, uint64_t seed,
                                     mg_model_emulation *r, mg_error *e) {
  mg_error far;
  for (int k = 0; k < MGI_EMULATION_DRAWS; k++) {
    mg_model_emulation one;
    memset(&one, 0, sizeof one);
    const mg_status s = draw(task, seed + 1000003u * (uint64_t)k, &one, e);
    if (s != MG_OK) return s;
    mgi_distance_draw(&r->emulated, &one.emulated, k);
    mgi_distance_draw(&r->eager, &one.eager, k);
    r->kernels = one.kernels, r->launches = one.launches;
    if (!k && mgi_emulation_verdict(l, r, &far) == MG_OK) return MG_OK;
  }
  return MG_OK;
}
MGI_FN mg_status mgi_emulated_draw(void *task, uint64_t seed, mg_model_emulation *r, mg_error *e) {
  const mgi_emulating *E = (const mgi_emulating *)task;
  const mg_model_list *whole = E->f->l->whole;
  mg_model_config c;
  memset(&c, 0, sizeof c);
  c.piece = mgi_eager_piece;
  mg_status s = mg_model_compare(whole, E->eager, E->sym, E->steps, seed, NULL, &c, &r->eager, e);
  c.piece = mgi_emulated_piece, c.piece_user = task, c.plan = E->plan;
  if (s == MG_OK) s = mg_model_compare(whole, E->f->l, E->sym, E->steps, seed, NULL, &c, &r->emulated, e);
  return s;
}
/* In a process of its own. */
MGI_FN void mgi_emulate_body(const void *task, void *record) {
  const mgi_emulating *E = (const mgi_emulating *)task;
  mgi_emulation_record *r = (mgi_emulation_record *)record;
  r->status = mgi_emulation_draws(E->f->l, mgi_emulated_draw, (void *)(uintptr_t)E, E->seed, &r->r, &r->error);
}
/* The files of all pieces, compiled. */
MGI_FN mg_status mgi_emulate_build(mgi_emulating *E, const mg_check_config *cfg, mg_error *e) {
  const mg_model_list *l = E->f->l;
  char(*name)[100] = (char(*)[100])calloc(l->n_pieces + 1, sizeof *name);
  const char **entry = (const char **)calloc(l->n_pieces + 1, sizeof *entry);
  mg_status s = name && entry ? MG_OK : mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the kernels");
  for (uint32_t k = 0; k < l->n_pieces && s == MG_OK; k++) {
    mg_error why;
    snprintf(name[k], sizeof name[k], "%.60s_p%u", l->m->name, k);
    entry[k] = name[k];
    s = mg_model_emit(E->f, k, NULL, &E->text[k], &why);
    if (s != MG_OK) E->text[k] = NULL;
    s = s == MG_NO_MEMORY ? mg_fail(e, s, l->m->name, "%s", why.msg) : MG_OK;
  }
  if (s == MG_OK) s = mg_cuda_emulate((const char *const *)E->text, entry, (int)l->n_pieces, cfg, &E->files, e);
  free(name), free(entry);
  return s;
}
mg_status mg_model_emulate(const mg_model_found *f, const int64_t *sym, int steps, uint64_t seed,
                           const mg_check_config *cfg, mg_model_emulation *r, mg_error *e) {
  const mg_model_list *l = f->l;
  mg_partition_config one;
  mg_model_list *eager = NULL;
  mg_model_plan *plan = NULL;
  mgi_emulating E;
  mgi_emulation_record got;
  int64_t last[MG_MODEL_MAX_SYMBOLS];
  memset(r, 0, sizeof *r), memset(&E, 0, sizeof E), memset(&one, 0, sizeof one), memset(&got, 0, sizeof got);
  if (!l->whole) return mg_fail(e, MG_BAD_INPUT, l->m->name, "expected a partition");
  one.max_ops = 1;
  for (int k = 0; k < l->m->n_symbols; k++) last[k] = sym[k] + (l->m->symbol[k].device ? steps - 1 : 0);
  mg_status s = mgi_found_takes(f, sym, e);
  if (s == MG_OK) s = mgi_found_takes(f, last, e);
  if (s == MG_OK) s = mg_model_partition(l->whole, &one, &eager, e);
  if (s == MG_OK) s = mg_model_plan_of(l, &plan, e);
  E.f = f, E.eager = eager, E.plan = plan, E.sym = sym, E.steps = steps, E.seed = seed;
  E.text = (char **)calloc(l->n_pieces + 1, sizeof *E.text);
  if (s == MG_OK && !E.text) s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the kernels");
  if (s == MG_OK) s = mgi_emulate_build(&E, cfg, e);
  if (s == MG_OK)
    s = mg_cuda_apart(mgi_emulate_body, &E, &got, sizeof got, cfg && cfg->timeout_s > 0 ? cfg->timeout_s : 300, e);
  if (s == MG_OK && got.status != MG_OK) {
    s = got.status;
    if (e) *e = got.error;
  }
  *r = got.r;
  for (uint32_t k = 0; E.text && k < l->n_pieces; k++) E.text[k] ? r->kernels++ : r->evaluated++;
  for (uint32_t k = 0; k < l->n_launches; k++)
    r->launches += k >= l->n_once && l->launch[k].kind == MG_LAUNCH_PIECE && E.text && E.text[l->launch[k].piece];
  for (uint32_t k = 0; E.text && k < l->n_pieces; k++) mg_string_free(E.text[k]);
  mg_emulated_free(E.files), free(E.text), mg_model_plan_free(plan), mg_model_list_free(eager);
  return s == MG_OK ? mgi_emulation_verdict(l, r, e) : s;
}

/* --------------------------------------------------------------------------------------------------- >>loaded
   1. Files: one of each piece that is launched, then one of each foreign kernel.  Each has a workspace, zeroed once:
      launches follow each other, so that those of one file may share it.  Copies of rows are files too.
   2. Values: inputs, weights, states have memory of their own; the rest stand in the arena, each storage at its
      greatest; a value that is made in a state's row (mgi_loaded_place) stands there.
   3. A step: sizes, then pointers and symbols of every launch, then the launches, or the graph.  Nothing is allocated
      on the device.
   4. Words: of each launch that reads anything in device memory the values of its file's symbols, then by output by how
      many elements it stands behind its pointer, which is the state's then.  One copy before each step brings all.
   5. Graphs: by the vector of grid counts of all files that read symbols.  A vector's own is changed where a symbol
      that is not followed has another value; of more than MGI_LOADED_GRAPHS the one that was used longest ago is
      changed. */

enum { MGI_LOADED_ALIGN = 16 }; /* of what an emitted kernel takes */
enum { MGI_LOADED_GRAPHS = 64 };

typedef struct mgi_loaded_file {
  uint32_t piece;             /* UINT32_MAX: foreign, or a copy of rows */
  const mg_step *foreign;     /* NULL: it is none */
  int library;
  char name[100];
  char *text;
  void *workspace;
  size_t bytes;
  int is;                     /* the device's number of it */
  int n_symbols, symbol[MG_MAX_SYMBOLS]; /* of the model, as its launch takes them */
} mgi_loaded_file;
typedef struct mgi_loaded_launch { int file, early, placed, words; } mgi_loaded_launch; /* words: its first; -1: none */
typedef struct mgi_loaded_graph {
  mg_device_graph *graph;
  int recorded;
  int64_t *blocks;            /* the vector */
  uint32_t n_blocks;
  uint64_t used;
  int64_t last[MG_MODEL_MAX_SYMBOLS];
} mgi_loaded_graph;
struct mg_model_loaded {
  const mg_model_found *f;
  const mg_model_list *l;
  mg_device *d;
  mg_model_load_config cfg;
  mg_model_plan *plan;
  mg_model_data room;         /* no data: sizes alone */
  mg_model_config none;
  mgi_running S;
  mgi_loaded_file *file;
  mgi_loaded_launch *launch;  /* by launch */
  uint32_t n_files, steps;
  unsigned char **at;         /* by value */
  size_t *bytes;              /* by value: of its memory */
  uint32_t *into;             /* by value: 1 + the update whose row it is */
  int64_t *row;               /* by launch, of a placed update: the byte where its row begins */
  void *arena;
  int64_t *word, *blocks;     /* this step's words and vector */
  void *words;                /* the same on the device */
  uint32_t n_words, n_blocks, cap_blocks;
  /* now: the last step's; NULL: it had none, or the words are of other sizes */
  mgi_loaded_graph graph[MGI_LOADED_GRAPHS], *now;
  int64_t brought[MG_MODEL_MAX_SYMBOLS]; /* the sizes that the words are of */
  mg_model_loaded_info is;
};

MGI_FN mg_status mgi_loaded_fail(const mg_model_loaded *g, mg_error *e, mg_status s, const mg_launch *a,
                                 const char *fmt, ...) {
  char where[96], what[220];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  snprintf(where, sizeof where, "%.60s:%d:%d", g->l->m->where ? g->l->m->where : g->l->m->name, a->from->line,
           a->from->column);
  return mg_fail(e, s, where, "%s", what);
}
/* The text of a file beside the model's, or as it is named; NULL: it is not there. */
MGI_FN char *mgi_loaded_read(const mg_model *m, const char *name) {
  const char *slash = m->where ? strrchr(m->where, '/') : NULL;
  char path[1200];
  for (int beside = slash && name[0] != '/'; beside >= 0; beside--) {
    enum { MOST = 1 << 22 };
    snprintf(path, sizeof path, "%.*s%.900s", beside ? (int)(slash - m->where + 1) : 0, beside ? m->where : "", name);
    FILE *f = fopen(path, "rb");
    char *text = f ? (char *)malloc(MOST) : NULL;
    const size_t n = text ? fread(text, 1, MOST, f) : 0;
    if (f) fclose(f);
    if (n && n < MOST) return text[n] = 0, text;
    free(text);
  }
  return NULL;
}
/* A file of one operator over the launch's operands, as `op` says. */
MGI_FN mg_status mgi_loaded_operator(const mg_model_loaded *g, const mg_launch *a, mgi_loaded_file *f, const char *op,
                                     const mg_emit_config *cfg, mg_error *e) {
  const mg_model_list *l = g->l;
  mgi_piece_writer W;
  mg_graph *program = NULL;
  memset(&W, 0, sizeof W);
  W.l = l, W.s = MG_OK, W.e = e;
  mgi_putf(&W.t, "program %s\n", f->name);
  for (int k = 0; k < l->m->n_symbols; k++) {
    int has = 0;
    for (int j = 0; j < a->n_in; j++)
      for (int d = 0; d < l->value[a->in[j]].rank && !has; d++) has = mgi_size_has(l, l->value[a->in[j]].dim[d], k);
    if (has)
      mgi_putf(&W.t, "sym %s in %lld..%lld\n", l->m->symbol[k].name, (long long)l->m->symbol[k].least,
               (long long)l->m->symbol[k].most);
  }
  for (int j = 0; j < a->n_in; j++) {
    mgi_putf(&W.t, "input i%d : ", j);
    mgi_piece_input_text(&W, &l->value[a->in[j]]);
  }
  mgi_putf(&W.t, "o = %s\noutput o\n", op);
  if (W.s == MG_OK && W.t.bad) W.s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for an operator");
  if (W.s == MG_OK) W.s = mg_parse(W.t.p, W.t.n, "operator", NULL, &program, e);
  if (W.s == MG_OK) W.s = mg_cuda_emit(program, cfg, &f->text, e);
  mg_graph_free(program), mg_string_free(W.t.p);
  return W.s;
}
/* What a library has, and what it takes: asked of each launch, as launches of one file differ in it. */
MGI_FN mg_status mgi_loaded_library(const mg_model_loaded *g, const mg_launch *a, mg_error *e) {
  const mg_step *x = a->from;
  if (strcmp(x->symbol, "cublas.matmul"))
    return mgi_loaded_fail(g, e, MG_UNSUPPORTED, a, "no library has '%.60s': expected cublas.matmul", x->symbol);
  if (a->n_in != 2 || a->n_out != 1 || x->in_place[0])
    return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "cublas.matmul takes two operands, and makes one result of its own");
  return MG_OK;
}
MGI_FN mg_status mgi_loaded_foreign(mg_model_loaded *g, const mg_launch *a, mgi_loaded_file *f, mg_error *e) {
  const mg_step *x = a->from;
  if (a->n_in > MG_MAX_IN || a->n_out > MG_MAX_OUT)
    return mgi_loaded_fail(g, e, MG_LIMIT, a, "%.60s: at most %d operands and %d results", x->symbol, MG_MAX_IN,
                           MG_MAX_OUT);
  f->piece = UINT32_MAX, f->foreign = x, f->library = x->library;
  snprintf(f->name, sizeof f->name, "%.99s", x->symbol);
  if (x->library) {
    snprintf(f->name, sizeof f->name, "%.60s_f%u", g->l->m->name, (unsigned)(f - g->file));
    mg_error why;
    mg_emit_config c;
    memset(&c, 0, sizeof c);
    c.arch = mg_device_arch(g->d);
    const mg_status s = mgi_loaded_operator(g, a, f, "matmul(i0, i1)", &c, &why);
    return s == MG_OK ? s : mgi_loaded_fail(g, e, s, a, "cublas.matmul: %.150s", why.msg);
  }
  for (const char *p = x->symbol; *p; p++)
    if (!isalnum((unsigned char)*p) && *p != '_')
      return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "'%.60s' is no name of a function", x->symbol);
  if (!x->file)
    return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "%.60s: no file says what it is: expected in \"..\"", x->symbol);
  f->text = mgi_loaded_read(g->l->m, x->file);
  return f->text ? MG_OK
                 : mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "%.60s: cannot read its file '%.100s'", x->symbol, x->file);
}
/* A library's product hangs on its operands' shapes. */
MGI_FN int mgi_loaded_alike(const mg_model_loaded *g, const mgi_loaded_file *f, const mg_launch *first,
                            const mg_launch *a) {
  if (!f->foreign || strcmp(f->foreign->symbol, a->from->symbol) || f->library != a->from->library) return 0;
  if (!f->library) return !strcmp(f->foreign->file ? f->foreign->file : "", a->from->file ? a->from->file : "");
  for (int j = 0; j < a->n_in; j++)
    if (!mgi_value_alike(&g->l->value[first->in[j]], &g->l->value[a->in[j]])) return 0;
  return 1;
}
/* The bytes of a state's row, one index of the dimension that is outermost. */
MGI_FN size_t mgi_loaded_row(const mg_model_loaded *g, uint32_t v) {
  const mg_shape *shape = &g->S.room[v];
  size_t n = (size_t)mg_dtype_bytes(g->l->value[v].type);
  for (int d = 0; d < shape->rank; d++)
    if (d != g->l->value[v].outer) n *= (size_t)shape->dim[d];
  return n;
}
/* What the kernels of a piece shall read in device memory. */
MGI_FN void mgi_loaded_reading(const mg_model_loaded *g, uint32_t piece, mg_emit_config *c) {
  const mg_model_list *l = g->l;
  const mg_graph *program = g->f->piece[piece].program;
  c->device = c->displaced = 0;
  if (g->cfg.no_device || g->f->sized || !program) return;
  for (uint32_t j = 0; j < program->n_symbols; j++) {
    const int at = mgi_model_symbol_find(l->m, program->symbol[j].name);
    if (at >= 0 && l->m->symbol[at].device) c->device |= 1u << j;
  }
  for (uint32_t k = 0; k < g->plan->n_launches; k++) {
    const mg_launch *a = &g->plan->launch[k];
    for (int j = 0; a->kind == MG_LAUNCH_PIECE && a->piece == piece && j < a->n_out; j++) {
      const uint32_t u = g->into[a->out[j]];
      if (u && mgi_size_on_device(l, g->plan->launch[u - 1].at)) c->displaced |= 1u << j;
    }
  }
}
/* A file that copies what an update brings to where it has to stand, rows that each lie in one; NULL text: none
   does. */
MGI_FN mg_status mgi_loaded_copying(const mg_model_loaded *g, const mg_launch *a, mgi_loaded_file *f, mg_error *e) {
  const mg_model_list *l = g->l;
  const mg_value *is = &l->value[a->in[0]], *to = &l->value[a->out[0]];
  char op[80];
  mg_emit_config c;
  mg_error why;
  int64_t rows;
  size_t at;
  int whole = 1;
  if (g->cfg.no_device || g->f->sized || !mgi_size_on_device(l, a->at)) return MG_OK;
  for (int d = 0; d < is->rank; d++) whole &= !mgi_size_on_device(l, is->dim[d]);
  if (!whole || a->dim != to->outer || mgi_loaded_row(g, a->out[0]) % MGI_LOADED_ALIGN) return MG_OK;
  at = (size_t)snprintf(op, sizeof op, "scale(i0, 1)");
  if (a->dim && !(mgi_size_number(l->sizes, is->dim[a->dim], &rows) && rows == 1)) {
    at = (size_t)snprintf(op, sizeof op, "transpose(i0, [%d", a->dim);
    for (int d = 0; d < is->rank; d++)
      if (d != a->dim) at += (size_t)snprintf(op + at, sizeof op - at, ", %d", d);
    snprintf(op + at, sizeof op - at, "])");
  }
  memset(&c, 0, sizeof c);
  c.arch = mg_device_arch(g->d), c.displaced = 1;
  f->piece = UINT32_MAX;
  snprintf(f->name, sizeof f->name, "%.60s_u%u", l->m->name, (unsigned)(f - g->file));
  const mg_status s = mgi_loaded_operator(g, a, f, op, &c, &why);
  return s == MG_NO_MEMORY ? mg_fail(e, s, l->m->name, "%s", why.msg) : MG_OK;
}
/* 1 if both updates are copied by one file. */
MGI_FN int mgi_loaded_copies(const mg_model_loaded *g, const mgi_loaded_file *f, const mg_launch *first,
                             const mg_launch *a) {
  return f->piece == UINT32_MAX && !f->foreign && first->dim == a->dim &&
         mgi_value_alike(&g->l->value[first->in[0]], &g->l->value[a->in[0]]) &&
         g->l->value[first->out[0]].outer == g->l->value[a->out[0]].outer && mgi_size_on_device(g->l, a->at) &&
         mgi_loaded_row(g, a->out[0]) % MGI_LOADED_ALIGN == 0;
}
/* 1 if that file is the launch's; `first`: whose it was made for. */
MGI_FN int mgi_loaded_is(const mg_model_loaded *g, const mgi_loaded_file *f, const mg_launch *first,
                         const mg_launch *a) {
  if (a->kind == MG_LAUNCH_PIECE) return f->piece == a->piece;
  return a->kind == MG_LAUNCH_UPDATE ? mgi_loaded_copies(g, f, first, a) : mgi_loaded_alike(g, f, first, a);
}
/* The files, as text, and which is each launch's. */
MGI_FN mg_status mgi_loaded_texts(mg_model_loaded *g, mg_error *e) {
  const mg_model_list *l = g->l;
  mg_emit_config c;
  mg_status s = MG_OK;
  uint32_t *first = (uint32_t *)calloc(l->n_launches + 1, sizeof *first);
  if (!first) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the files");
  memset(&c, 0, sizeof c);
  c.arch = mg_device_arch(g->d);
  for (uint32_t k = 0; k < g->plan->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &g->plan->launch[k];
    uint32_t at = 0;
    g->launch[k].file = -1, g->launch[k].words = -1;
    if (a->kind == MG_LAUNCH_UPDATE && g->launch[k].placed) continue;
    if (a->kind == MG_LAUNCH_FOREIGN && a->from->library && (s = mgi_loaded_library(g, a, e)) != MG_OK) break;
    while (at < g->n_files && !mgi_loaded_is(g, &g->file[at], &g->plan->launch[first[at]], a)) at++;
    g->launch[k].file = (int)at;
    if (at < g->n_files) continue;
    mgi_loaded_file *f = &g->file[at];
    if (a->kind == MG_LAUNCH_UPDATE) {
      s = mgi_loaded_copying(g, a, f, e);
      if (!f->text) memset(f, 0, sizeof *f), g->launch[k].file = -1;
      else first[at] = k, g->n_files++;
      continue;
    }
    first[at] = k, f->piece = a->piece, g->n_files++;
    if (a->kind == MG_LAUNCH_FOREIGN) { s = mgi_loaded_foreign(g, a, f, e), g->is.foreign++; continue; }
    snprintf(f->name, sizeof f->name, "%.60s_p%u", l->m->name, a->piece);
    mgi_loaded_reading(g, a->piece, &c);
    s = mg_model_emit(g->f, a->piece, &c, &f->text, e);
  }
  free(first);
  return s;
}
/* What a loaded file says of itself has to be the launch's. */
MGI_FN mg_status mgi_loaded_fits(mg_model_loaded *g, const mg_launch *a, mgi_loaded_file *f, mg_error *e) {
  const mg_emitted_info *is = mg_device_info(g->d, f->is);
  const mg_model *m = g->l->m;
  f->n_symbols = 0;
  if (f->foreign && !f->library) return MG_OK;
  if (!is) return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "the file of %.60s has no %.60s_info", f->name, f->name);
  if (is->n_in < a->n_in || is->n_out != a->n_out || is->n_in > MG_MAX_IN)
    return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "%.60s takes %d tensors and makes %d: expected %d and %d", f->name,
                           is->n_in, is->n_out, a->n_in, a->n_out);
  for (int j = 0; j < a->n_in + a->n_out && a->kind != MG_LAUNCH_UPDATE; j++) {
    const mg_io_info *t = j < a->n_in ? &is->in[j] : &is->out[j - a->n_in];
    const mg_value *v = &g->l->value[j < a->n_in ? a->in[j] : a->out[j - a->n_in]];
    int same = t->dtype == v->type && t->rank == v->rank && t->order[0] == v->outer;
    for (int d = 1; same && d < v->rank; d++) same = t->order[d] == d - (d <= v->outer);
    if (!same)
      return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "%.60s: '%.60s' is another tensor there", f->name, v->name);
  }
  for (int j = 0; j < is->n_symbols; j++) {
    const int at = mgi_model_symbol_find(m, is->symbol[j].name);
    if (at < 0 || j == MG_MAX_SYMBOLS)
      return mgi_loaded_fail(g, e, MG_BAD_INPUT, a, "%.60s takes a size '%.40s' that the model has not", f->name,
                             is->symbol[j].name);
    f->symbol[f->n_symbols++] = at;
  }
  return MG_OK;
}
/* 1 if value v is made once. */
MGI_FN int mgi_loaded_kept(const mg_model_loaded *g, uint32_t v) {
  return g->l->value[v].kind == MG_VALUE_MADE && g->plan->first[v] < g->l->n_once;
}
MGI_FN mg_status mgi_loaded_files(mg_model_loaded *g, mg_error *e) {
  const char **text = (const char **)calloc(2 * (size_t)g->n_files + 2, sizeof *text),
             **name = text ? text + g->n_files + 1 : NULL;
  if (!text) return mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for the files");
  for (uint32_t k = 0; k < g->n_files; k++) text[k] = g->file[k].text, name[k] = g->file[k].name;
  if (g->cfg.progress) g->cfg.progress(g->cfg.user, "compiling", 0);
  int *is = (int *)calloc(g->n_files + 1, sizeof *is);
  mg_status s = is ? mg_device_load(g->d, text, name, (int)g->n_files, is, e)
                   : mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for the files");
  for (uint32_t k = 0; k < g->n_files && s == MG_OK; k++) g->file[k].is = is[k];
  free(text), free(is);
  for (uint32_t k = 0; k < g->plan->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &g->plan->launch[k];
    mgi_loaded_launch *x = &g->launch[k];
    if (x->file < 0) continue;
    const mgi_loaded_file *f = &g->file[x->file];
    s = mgi_loaded_fits(g, a, &g->file[x->file], e);
    const mg_emitted_info *info = mg_device_info(g->d, f->is);
    if (s != MG_OK || g->cfg.no_early || !info || !mg_device_early(g->d, f->is) || k < g->l->n_once) continue;
    x->early = 1;
    for (int j = 0; j < a->n_in; j++)
      if (j < 32 && info->early >> j & 1 && g->l->value[a->in[j]].kind != MG_VALUE_WEIGHT &&
          !mgi_loaded_kept(g, a->in[j]))
        x->early = 0;
  }
  for (uint32_t k = 0; k < g->n_files && s == MG_OK; k++) {
    mgi_loaded_file *f = &g->file[k];
    f->bytes = mg_device_workspace(g->d, f->is);
    if (f->bytes) s = mg_device_new(g->d, f->name, f->bytes, &f->workspace, e);
    g->is.workspaces += f->bytes;
  }
  g->is.files = g->n_files;
  return s;
}

/* What is made by launch k may be made in the state's row where only launch u, an update, reads it: one row lies in
   one, and nobody has to do with the state between both.  Rows begin where a kernel may write. */
MGI_FN int mgi_loaded_place(const mg_model_loaded *g, uint32_t u) {
  const mg_model_list *l = g->l;
  const mg_launch *a = &g->plan->launch[u];
  const uint32_t v = a->in[0], state = a->out[0];
  const mg_value *is = &l->value[v], *to = &l->value[state];
  int64_t n;
  if (is->kind != MG_VALUE_MADE || is->alias || is->taken || is->type != to->type || a->dim != to->outer) return 0;
  if (mgi_loaded_kept(g, v)) return 0;
  if (a->dim && !(mgi_size_number(l->sizes, is->dim[a->dim], &n) && n == 1)) return 0;
  if (mgi_loaded_row(g, state) % MGI_LOADED_ALIGN) return 0;
  for (int k = 0; k < l->m->n_outputs; k++)
    if (l->output[k] == v) return 0;
  for (uint32_t k = 0; k < g->plan->n_launches; k++) {
    const mg_launch *b = &g->plan->launch[k];
    if (k < g->plan->first[v] || k == u) continue;
    for (int j = 0; j < mgi_launch_count(b); j++) {
      const uint32_t x = mgi_launch_value(b, j);
      if (x == v && j < b->n_in) return 0;
      if (x == state && k < u) return 0;
    }
  }
  return 1;
}
/* Which updates are made in place; the others are copies of what lies row-major. */
MGI_FN mg_status mgi_loaded_updates(mg_model_loaded *g, mg_error *e) {
  for (uint32_t k = 0; k < g->plan->n_launches; k++) {
    const mg_launch *a = &g->plan->launch[k];
    if (a->kind != MG_LAUNCH_UPDATE) continue;
    const mg_value *is = &g->l->value[a->in[0]], *to = &g->l->value[a->out[0]];
    g->launch[k].placed = mgi_loaded_place(g, k);
    if (g->launch[k].placed) { g->into[a->in[0]] = k + 1, g->is.placed++; continue; }
    g->is.copies++;
    if (is->outer)
      return mgi_loaded_fail(g, e, MG_UNSUPPORTED, a,
                             "'%.60s' grows along dimension %d: it goes into a state only by what is made of it",
                             is->name, is->outer);
    if (to->outer && to->outer != a->dim)
      return mgi_loaded_fail(g, e, MG_UNSUPPORTED, a, "'%.60s' is updated along another dimension than it grows",
                             to->name);
  }
  return MG_OK;
}
/* 1 if what launch k makes as output j stands, by a word, behind the pointer that its launch has. */
MGI_FN int mgi_loaded_displaced(const mg_model_loaded *g, uint32_t k, int j) {
  const mgi_loaded_launch *x = &g->launch[k];
  const mg_emitted_info *is = x->file < 0 ? NULL : mg_device_info(g->d, g->file[x->file].is);
  return x->words >= 0 && is && is->displaced >> j & 1;
}
/* The sizes that launch k hands over itself, of those that it takes: as bits, by symbol of the model. */
MGI_FN uint32_t mgi_loaded_handed(const mg_model_loaded *g, uint32_t k) {
  const mg_model_list *l = g->l;
  const mg_launch *a = &g->plan->launch[k];
  const mgi_loaded_launch *x = &g->launch[k];
  uint32_t handed = 0;
  for (int s = 0; s < l->m->n_symbols; s++) {
    int has = 0;
    if (x->file >= 0) {
      const mgi_loaded_file *f = &g->file[x->file];
      const mg_emitted_info *is = mg_device_info(g->d, f->is);
      const uint32_t read = is && mg_device_has_blocks(g->d, f->is) ? is->device : 0; /* else nobody knows its grid */
      for (int j = 0; f->foreign && !f->library && j < a->n_sizes; j++)
        has |= mgi_size_has(l, a->size[j], s) && !(read >> j & 1);
      for (int j = 0; j < f->n_symbols; j++) has |= f->symbol[j] == s && !(read >> j & 1);
    } else if (!x->placed) { /* a copy */
      has = mgi_size_has(l, a->at, s);
      for (int d = 0; d < l->value[a->in[0]].rank; d++) has |= mgi_size_has(l, l->value[a->in[0]].dim[d], s);
    }
    for (int j = 0; j < a->n_out && a->kind != MG_LAUNCH_UPDATE; j++) {
      const uint32_t u = g->into[a->out[j]];
      has |= u && !mgi_loaded_displaced(g, k, j) && mgi_size_has(l, g->plan->launch[u - 1].at, s);
    }
    handed |= (uint32_t)has << s;
  }
  return handed;
}
/* How many words a launch has that has any. */
MGI_FN uint32_t mgi_loaded_words_of(const mg_model_loaded *g, uint32_t k) {
  const mg_launch *a = &g->plan->launch[k];
  const mgi_loaded_file *f = &g->file[g->launch[k].file];
  return (uint32_t)((f->foreign && !f->library ? a->n_sizes : f->n_symbols) + a->n_out);
}
/* Which launches have words, and where; which symbols graphs follow. */
MGI_FN mg_status mgi_loaded_words(mg_model_loaded *g, mg_error *e) {
  const mg_model *m = g->l->m;
  for (uint32_t k = 0; k < g->plan->n_launches; k++) {
    mgi_loaded_launch *x = &g->launch[k];
    const mg_emitted_info *is = x->file < 0 ? NULL : mg_device_info(g->d, g->file[x->file].is);
    if (!is || !(is->device | is->displaced)) continue;
    x->words = (int)g->n_words;
    g->n_words += mgi_loaded_words_of(g, k);
  }
  for (int s = 0; s < m->n_symbols; s++) g->is.followed |= (uint32_t)(m->symbol[s].device && !g->cfg.no_device) << s;
  for (uint32_t k = g->l->n_once; k < g->plan->n_launches; k++) {
    const uint32_t handed = mgi_loaded_handed(g, k) & g->is.followed;
    const mgi_loaded_launch *x = &g->launch[k];
    for (int s = 0; s < m->n_symbols && !g->is.handed[0]; s++)
      if (handed >> s & 1)
        snprintf(g->is.handed, sizeof g->is.handed, "%.24s comes with the launch of %.60s, line %d", m->symbol[s].name,
                 x->file < 0 ? "a copy" : g->file[x->file].name, g->plan->launch[k].from->line);
    g->is.followed &= ~handed;
  }
  g->word = (int64_t *)calloc(g->n_words + 1, sizeof *g->word);
  if (!g->word) return mg_fail(e, MG_NO_MEMORY, m->name, "no memory for sizes");
  return g->n_words ? mg_device_new(g->d, "sizes", g->n_words * sizeof *g->word, &g->words, e) : MG_OK;
}
/* Bytes of a value where the symbols have these values. */
MGI_FN mg_status mgi_loaded_bytes(const mg_model_list *l, uint32_t v, const int64_t *sym, size_t *bytes, mg_error *e) {
  mg_shape shape;
  const mg_status s = mg_value_shape(l, &l->value[v], sym, &shape, e);
  if (s == MG_OK) *bytes = (size_t)mg_shape_elements(&shape) * (size_t)mg_dtype_bytes(l->value[v].type);
  return s;
}
MGI_FN mg_status mgi_loaded_memory(mg_model_loaded *g, mg_error *e) {
  const mg_model_list *l = g->l;
  mg_status s = MG_OK;
  size_t arena = 0;
  size_t *offset = (size_t *)calloc(g->plan->n_storages + 1, sizeof *offset);
  if (!offset) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the arena's storages");
  for (uint32_t k = 0; k < g->plan->n_storages; k++) {
    int64_t b[2];
    mg_size_bounds(l->sizes, g->plan->size[k], b);
    if (b[1] < 0 || b[1] > (int64_t)1 << 44) s = mg_fail(e, MG_LIMIT, l->m->name, "a storage of more than 2^44 bytes");
    offset[k] = arena, arena += s == MG_OK ? ((size_t)b[1] + MG_MODEL_ALIGN - 1) / MG_MODEL_ALIGN * MG_MODEL_ALIGN : 0;
  }
  if (s == MG_OK) s = mg_device_new(g->d, "the arena", arena, &g->arena, e);
  g->is.arena = arena;
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    const mg_value *is = &l->value[v];
    if (is->kind == MG_VALUE_MADE) {
      if (g->plan->storage[v]) g->at[v] = (unsigned char *)g->arena + offset[g->plan->storage[v] - 1];
      continue;
    }
    void *own;
    s = mgi_loaded_bytes(l, v, g->room.room, &g->bytes[v], e);
    if (s == MG_OK) s = mg_device_new(g->d, is->name, g->bytes[v], &own, e);
    if (s != MG_OK) break;
    g->at[v] = (unsigned char *)own;
    if (is->kind == MG_VALUE_WEIGHT) g->is.weights += g->bytes[v];
    if (is->kind == MG_VALUE_STATE) g->is.states += g->bytes[v];
  }
  free(offset);
  return s;
}

MGI_FN void mgi_loaded_put(unsigned char *to, mg_dtype type, int64_t k, double x) {
  const uint32_t bits = type == MG_I32 ? (uint32_t)(x >= 0 && x <= INT32_MAX ? (int32_t)x : MG_NO_INDEX)
                                       : mg_to_bits(type, (float)x);
  const int n = mg_dtype_bytes(type);
  for (int j = 0; j < n; j++) to[k * n + j] = (unsigned char)(bits >> 8 * j);
}
MGI_FN double mgi_loaded_get(const unsigned char *from, mg_dtype type, int64_t k) {
  const int n = mg_dtype_bytes(type);
  uint32_t bits = 0;
  for (int j = 0; j < n; j++) bits |= (uint32_t)from[k * n + j] << 8 * j;
  return type == MG_I32 ? (double)(int32_t)bits : mg_from_bits(type, bits);
}
/* Where element k, row-major, of a value of this shape stands, `outer` outermost. */
MGI_FN int64_t mgi_loaded_index(const mg_shape *s, int outer, int64_t k) {
  int64_t at = 0, stride = 1, mine = 0;
  if (!outer) return k;
  for (int d = s->rank - 1; d >= 0; k /= s->dim[d], d--)
    if (d == outer) mine = k % s->dim[d];
    else at += k % s->dim[d] * stride, stride *= s->dim[d];
  return at + mine * stride;
}
/* Doubles, dense row-major, to or from the memory of value v, of shape `shape`. */
MGI_FN mg_status mgi_loaded_move(mg_model_loaded *g, uint32_t v, const mg_shape *shape, const double *put, double *get,
                                 mg_error *e) {
  const mg_value *is = &g->l->value[v];
  const int64_t n = mg_shape_elements(shape);
  const size_t bytes = (size_t)n * (size_t)mg_dtype_bytes(is->type);
  unsigned char *x = (unsigned char *)malloc(bytes + 1);
  mg_status s = x ? MG_OK : mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for '%s'", is->name);
  for (int64_t k = 0; k < n && put && s == MG_OK; k++)
    mgi_loaded_put(x, is->type, mgi_loaded_index(shape, is->outer, k), put[k]);
  if (s == MG_OK)
    s = put ? mg_device_copy(g->d, MG_TO_DEVICE, g->at[v], bytes, x, bytes, bytes, 1, e)
            : mg_device_copy(g->d, MG_FROM_DEVICE, x, bytes, g->at[v], bytes, bytes, 1, e);
  if (s == MG_OK) s = mg_device_wait(g->d, e);
  for (int64_t k = 0; k < n && get && s == MG_OK; k++)
    get[k] = mgi_loaded_get(x, is->type, mgi_loaded_index(shape, is->outer, k));
  free(x);
  return s;
}
/* A weight of files: as it is stored, where its type is the value's. */
MGI_FN mg_status mgi_loaded_weight(mg_model_loaded *g, uint32_t v, mg_error *e) {
  const mg_weights *w = g->cfg.weights;
  const mg_value *is = &g->l->value[v];
  const size_t size = (size_t)mg_dtype_bytes(is->type);
  char name[240];
  mg_shape shape;
  int plain = 1;
  mg_status s = mg_value_shape(g->l, is, g->room.room, &shape, e);
  for (int k = 0; k < mgi_weight_parts(is); k++) {
    mg_dtype type = is->type;
    mgi_stored_bits(mg_weights_find(w, mgi_weight_part(is, k, name))->type, &type);
    plain &= type == is->type;
  }
  if (s != MG_OK) return s;
  if (!plain || (is->decl->transposed && (is->rank != 2 || size != 2))) {
    double *x = (double *)malloc((size_t)mg_shape_elements(&shape) * sizeof *x);
    if (!x) return mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for '%s'", is->name);
    mg_weights_read(w, g->l, v, x);
    s = mgi_loaded_move(g, v, &shape, x, NULL, e);
    free(x);
    return s;
  }
  uint16_t *x = is->decl->transposed ? (uint16_t *)malloc(g->bytes[v] + 1) : NULL;
  if (is->decl->transposed && !x) return mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for '%s'", is->name);
  int64_t at = 0;
  for (int k = 0; k < mgi_weight_parts(is) && s == MG_OK; k++) {
    const mg_stored *t = mg_weights_find(w, mgi_weight_part(is, k, name));
    if (!x) {
      s = mg_device_copy(g->d, MG_TO_DEVICE, g->at[v] + at, t->bytes, t->data, t->bytes, t->bytes, 1, e);
      at += (int64_t)t->bytes;
      continue;
    }
    enum { TILE = 64 };
    const int64_t rows = t->dim[0], columns = t->dim[1], width = shape.dim[1];
    for (int64_t i = 0; i < rows; i += TILE)
      for (int64_t j = 0; j < columns; j += TILE)
        for (int64_t b = j; b < columns && b < j + TILE; b++)
          for (int64_t a = i; a < rows && a < i + TILE; a++)
            memcpy(&x[b * width + at + a], t->data + 2 * (a * columns + b), 2);
    at += rows;
  }
  if (x && s == MG_OK) s = mg_device_copy(g->d, MG_TO_DEVICE, g->at[v], g->bytes[v], x, g->bytes[v], g->bytes[v], 1, e);
  if (s == MG_OK) s = mg_device_wait(g->d, e);
  free(x);
  return s;
}
/* Weights and states at random: matrices near +-0.035, vectors near 1, by copies of a pool on the device. */
MGI_FN mg_status mgi_loaded_random(mg_model_loaded *g, mg_error *e) {
  enum { POOL = 1 << 22 };
  const mg_model_list *l = g->l;
  uint64_t state = g->cfg.seed * 0x2545f4914f6cdd1du + 1;
  mg_status s = MG_OK;
  for (int type = 0; type < MG_DTYPE_COUNT && s == MG_OK; type++)
    for (int vectors = 0; vectors < 2 && s == MG_OK; vectors++) {
      const size_t size = (size_t)mg_dtype_bytes((mg_dtype)type);
      void *pool = NULL;
      for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
        const mg_value *is = &l->value[v];
        if ((is->kind != MG_VALUE_WEIGHT && is->kind != MG_VALUE_STATE) || (int)is->type != type ||
            is->type == MG_I32 || (is->rank == 1) != vectors)
          continue;
        if (!pool) {
          unsigned char *x = (unsigned char *)malloc(POOL * size);
          if (!x) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for random numbers");
          for (int64_t k = 0; k < POOL; k++) {
            const double u = (double)(mgi_random(&state) >> 11) / 4503599627370496.0 - 1;
            mgi_loaded_put(x, is->type, k, vectors ? 1 + 0.1 * u : 0.035 * u);
          }
          s = mg_device_new(g->d, "random numbers", POOL * size, &pool, e);
          if (s == MG_OK) s = mg_device_copy(g->d, MG_TO_DEVICE, pool, POOL * size, x, POOL * size, POOL * size, 1, e);
          if (s == MG_OK) s = mg_device_wait(g->d, e);
          free(x);
        }
        for (size_t at = 0; at < g->bytes[v] && s == MG_OK;) {
          const size_t from = (size_t)(mgi_random(&state) % (POOL / 2)) / 128 * 128 * size;
          const size_t n = g->bytes[v] - at < POOL * size - from ? g->bytes[v] - at : POOL * size - from;
          s = mg_device_copy(g->d, MG_ON_DEVICE, g->at[v] + at, n, (unsigned char *)pool + from, n, n, 1, e);
          at += n;
        }
      }
      mg_device_free(g->d, pool);
    }
  return s;
}
MGI_FN mg_status mgi_loaded_fill(mg_model_loaded *g, mg_error *e) {
  const mg_model_list *l = g->l;
  mg_status s = MG_OK;
  if (!g->cfg.weights && !g->cfg.data) s = mgi_loaded_random(g, e);
  for (uint32_t v = 1; v < l->n_values && s == MG_OK && (g->cfg.weights || g->cfg.data); v++) {
    const mg_value *is = &l->value[v];
    mg_shape shape;
    if (is->kind != MG_VALUE_WEIGHT && is->kind != MG_VALUE_STATE) continue;
    if (g->cfg.progress) g->cfg.progress(g->cfg.user, "weights", (double)v / l->n_values);
    if (g->cfg.data && g->cfg.data->data[mg_value_find(g->cfg.data->l, is->name, is->layer)]) {
      s = mg_value_shape(l, is, g->room.room, &shape, e);
      if (s == MG_OK)
        s = mgi_loaded_move(g, v, &shape, g->cfg.data->data[mg_value_find(g->cfg.data->l, is->name, is->layer)], NULL,
                            e);
    } else if (is->kind == MG_VALUE_WEIGHT && g->cfg.weights) s = mgi_loaded_weight(g, v, e);
  }
  return s == MG_OK ? mg_device_wait(g->d, e) : s;
}

MGI_FN mg_status mgi_loaded_start(mg_model_loaded *g, uint32_t k, mg_error *e);
MGI_FN mg_status mgi_loaded_bring(mg_model_loaded *g, mg_error *e);
/* What is made once, of weights that are there; those that no step reads go. */
MGI_FN mg_status mgi_loaded_once(mg_model_loaded *g, mg_error *e) {
  mg_status s = g->l->n_once ? mgi_loaded_bring(g, e) : MG_OK;
  for (uint32_t k = 0; k < g->l->n_once && s == MG_OK; k++) s = mgi_loaded_start(g, k, e);
  if (s == MG_OK && g->l->n_once) s = mg_device_wait(g->d, e);
  g->is.once = g->l->n_once;
  for (uint32_t v = 1; v < g->l->n_values && s == MG_OK; v++) {
    if (!mgi_once_takes(g->l, v) || g->plan->last[v] >= g->l->n_once) continue;
    mg_device_free(g->d, g->at[v]);
    g->is.weights -= g->bytes[v], g->at[v] = NULL, g->bytes[v] = 0;
  }
  return s;
}
void mg_model_unload(mg_model_loaded *g) {
  if (!g) return;
  for (uint32_t k = 0; g->file && k < g->n_files; k++)
    mg_string_free(g->file[k].text), mg_device_free(g->d, g->file[k].workspace);
  for (uint32_t v = 1; g->at && g->bytes && v < g->l->n_values; v++)
    if (g->bytes[v] && g->at[v]) mg_device_free(g->d, g->at[v]);
  mg_device_free(g->d, g->arena), mg_device_free(g->d, g->words);
  mg_model_plan_free(g->plan);
  for (int k = 0; k < MGI_LOADED_GRAPHS; k++)
    mg_device_graph_free(g->d, g->graph[k].graph), free(g->graph[k].blocks);
  free(g->word), free(g->blocks);
  free(g->S.shape), free(g->S.room), free(g->file), free(g->launch), free(g->at), free(g->bytes), free(g->into);
  free(g->row), free(g);
}
mg_status mg_model_load(const mg_model_found *f, mg_device *d, const int64_t *room, const mg_model_load_config *cfg,
                        mg_model_loaded **out, mg_error *e) {
  const mg_model_list *l = f->l;
  mg_model_loaded *g = (mg_model_loaded *)calloc(1, sizeof *g);
  *out = NULL;
  if (!g) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the model");
  g->f = f, g->l = l, g->d = d;
  if (cfg) g->cfg = *cfg;
  g->room.l = l;
  for (int k = 0; k < l->m->n_symbols; k++) g->room.room[k] = room[k];
  mg_status s = mg_model_plan_of(l, &g->plan, e);
  g->S.shape = (mg_shape *)calloc(l->n_values, sizeof(mg_shape)),
  g->S.room = (mg_shape *)calloc(l->n_values, sizeof(mg_shape));
  g->file = (mgi_loaded_file *)calloc(l->n_launches + 1, sizeof *g->file);
  g->launch = (mgi_loaded_launch *)calloc(l->n_launches + 1, sizeof *g->launch);
  g->at = (unsigned char **)calloc(l->n_values, sizeof *g->at),
  g->bytes = (size_t *)calloc(l->n_values, sizeof *g->bytes);
  g->into = (uint32_t *)calloc(l->n_values, sizeof *g->into);
  g->row = (int64_t *)calloc(l->n_launches + 1, sizeof *g->row);
  if (s == MG_OK &&
      (!g->S.shape || !g->S.room || !g->file || !g->launch || !g->at || !g->bytes || !g->into || !g->row))
    s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for the model");
  g->S.l = l, g->S.d = &g->room, g->S.sym = g->room.room, g->S.cfg = &g->none, g->S.e = e;
  if (s == MG_OK) g->S.launch = g->plan->launch, g->S.n_launches = g->plan->n_launches, s = mgi_step_sizes(&g->S);
  const mg_model_data *data = g->cfg.data;
  for (int k = 0; k < l->m->n_symbols && data && s == MG_OK; k++)
    if (data->room[k] != room[k])
      s = mg_fail(e, MG_BAD_INPUT, l->m->name, "the data has room for %s = %lld, found %lld", l->m->symbol[k].name,
                  (long long)data->room[k], (long long)room[k]);
  if (data && !g->cfg.weights) g->cfg.weights = data->weights;
  if (s == MG_OK && g->cfg.weights) s = mg_weights_fit(g->cfg.weights, l, room, NULL, e);
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    const mg_value *is = &l->value[v];
    if (is->kind == MG_VALUE_STATE && mgi_value_grows(l, is) < 0)
      s = mg_fail(e, MG_UNSUPPORTED, l->m->name, "state '%s' grows along several dimensions: one is kept on a device",
                  is->name);
  }
  if (s == MG_OK) s = mgi_loaded_updates(g, e);
  if (s == MG_OK) s = mgi_loaded_texts(g, e);
  if (s == MG_OK) s = mgi_loaded_files(g, e);
  for (uint32_t k = l->n_once; s == MG_OK && k < g->plan->n_launches; k++)
    if (g->launch[k].file >= 0) g->is.launches++, g->is.early += (uint32_t)g->launch[k].early;
  if (s == MG_OK) s = mgi_loaded_words(g, e);
  if (s == MG_OK) s = mgi_loaded_memory(g, e);
  if (s == MG_OK) s = mgi_loaded_fill(g, e);
  if (s == MG_OK) s = mgi_loaded_once(g, e);
  if (s == MG_OK) *out = g;
  else mg_model_unload(g);
  return s;
}
void mg_model_loaded_say(const mg_model_loaded *g, mg_model_loaded_info *i) { *i = g->is; }

MGI_FN mg_status mgi_loaded_shape(mg_model_loaded *g, uint32_t v, const int64_t *sym, mg_shape *shape, mg_error *e) {
  const mg_value *is = &g->l->value[v];
  mg_status s = mgi_symbols_fit(g->l->m, sym, e);
  if (s == MG_OK && mgi_once_takes(g->l, v))
    s = mg_fail(e, MG_BAD_INPUT, g->l->m->name, "'%s' went into what was made once: other weights are loaded again",
                is->name);
  if (s == MG_OK) s = mg_value_shape(g->l, is, sym, shape, e);
  const size_t bytes = s == MG_OK ? (size_t)mg_shape_elements(shape) * (size_t)mg_dtype_bytes(is->type) : 0;
  if (s == MG_OK && is->kind != MG_VALUE_MADE && bytes > g->bytes[v])
    s = mg_fail(e, MG_BAD_INPUT, g->l->m->name, "'%s' has room for %zu bytes, found %zu", is->name, g->bytes[v], bytes);
  return s;
}
mg_status mg_model_put(mg_model_loaded *g, uint32_t v, const int64_t *sym, const double *x, mg_error *e) {
  mg_shape shape;
  const mg_value *is = &g->l->value[v];
  const int picks = is->kind == MG_VALUE_INPUT && is->type == MG_I32;
  int64_t bound = 0;
  mg_status s = mgi_loaded_shape(g, v, sym, &shape, e);
  if (s == MG_OK && picks) s = mg_value_bound(g->l, v, sym, &bound, e);
  for (int64_t k = 0; s == MG_OK && picks && k < mg_shape_elements(&shape); k++)
    if (!(x[k] >= 0 && x[k] < (double)bound))
      s = mg_fail(e, MG_BAD_INPUT, g->l->m->name, "input '%s' element %lld: expected 0 to %lld, found %.17g", is->name,
                  (long long)k, (long long)bound - 1, x[k]);
  return s == MG_OK ? mgi_loaded_move(g, v, &shape, x, NULL, e) : s;
}
mg_status mg_model_put_random(mg_model_loaded *g, const int64_t *sym, uint64_t seed, mg_error *e) {
  mg_status s = MG_OK;
  for (uint32_t v = 1; v < g->l->n_values && s == MG_OK; v++) {
    const mg_value *is = &g->l->value[v];
    mg_shape shape;
    int64_t bound = 0;
    if (is->kind != MG_VALUE_INPUT || is->decl->table) continue;
    s = mgi_loaded_shape(g, v, sym, &shape, e);
    if (s == MG_OK && is->type == MG_I32) s = mg_value_bound(g->l, v, sym, &bound, e);
    if (s != MG_OK) break;
    double *x = (double *)malloc((size_t)mg_shape_elements(&shape) * sizeof *x);
    if (!x) return mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for '%s'", is->name);
    mgi_draw_all(x, mg_shape_elements(&shape), seed, g->l->whole ? mg_value_find(g->l->whole, is->name, -1) : v,
                 is->type, bound);
    s = mg_model_put(g, v, sym, x, e);
    free(x);
  }
  return s;
}
mg_status mg_model_get(mg_model_loaded *g, uint32_t v, const int64_t *sym, double *x, mg_error *e) {
  mg_shape shape;
  const mg_status s = mgi_loaded_shape(g, v, sym, &shape, e);
  return s == MG_OK ? mgi_loaded_move(g, v, &shape, NULL, x, e) : s;
}

/* Where value v stands at this step's sizes. */
MGI_FN unsigned char *mgi_loaded_at(const mg_model_loaded *g, uint32_t v) {
  const uint32_t u = g->into[v];
  return u ? g->at[g->plan->launch[u - 1].out[0]] + g->row[u - 1] : g->at[v];
}
/* The update whose row output j of launch k is, from 1; 0: none. */
MGI_FN uint32_t mgi_loaded_row_of(const mg_model_loaded *g, uint32_t k, int j) {
  const mg_launch *a = &g->plan->launch[k];
  return a->kind == MG_LAUNCH_UPDATE ? k + 1 : g->into[a->out[j]];
}
/* This step's words, to the device. */
MGI_FN mg_status mgi_loaded_bring(mg_model_loaded *g, mg_error *e) {
  const mg_model_list *l = g->l;
  const size_t bytes = g->n_words * sizeof *g->word, sizes = (size_t)l->m->n_symbols * sizeof *g->brought;
  mg_status s = MG_OK;
  if (memcmp(g->brought, g->S.sym, sizes)) g->now = NULL;
  memcpy(g->brought, g->S.sym, sizes);
  for (uint32_t k = 0; k < g->plan->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &g->plan->launch[k];
    const mgi_loaded_launch *x = &g->launch[k];
    if (x->words < 0) continue;
    const mgi_loaded_file *f = &g->file[x->file];
    int64_t *word = g->word + x->words;
    if (f->foreign && !f->library)
      for (int j = 0; j < a->n_sizes && s == MG_OK; j++) s = mg_size_at(l->sizes, a->size[j], g->S.sym, word++, e);
    for (int j = 0; j < f->n_symbols; j++) *word++ = g->S.sym[f->symbol[j]];
    for (int j = 0; j < a->n_out; j++, word++) {
      const uint32_t u = mgi_loaded_row_of(g, k, j);
      *word = u && mgi_loaded_displaced(g, k, j) ? g->row[u - 1] / mg_dtype_bytes(l->value[a->out[j]].type) : 0;
    }
  }
  return s == MG_OK && bytes ? mg_device_copy(g->d, MG_TO_DEVICE, g->words, bytes, g->word, bytes, bytes, 1, e) : s;
}
/* An update that is a copy: lines of what lies in one in both. */
MGI_FN mg_status mgi_loaded_update(mg_model_loaded *g, const mg_launch *a, mg_error *e) {
  const uint32_t v = a->in[0], to = a->out[0];
  const mg_shape *from = &g->S.shape[v], *whole = &g->S.room[to];
  int64_t at = 0;
  size_t line = (size_t)mg_dtype_bytes(g->l->value[v].type), lines = 1;
  for (int d = a->dim + 1; d < from->rank; d++) line *= (size_t)from->dim[d];
  for (int d = 0; d < a->dim; d++) lines *= (size_t)from->dim[d];
  const size_t n = (size_t)from->dim[a->dim];
  mg_status s = mgi_update_fits(&g->S, a, &at);
  const unsigned char *x = mgi_loaded_at(g, v);
  if (s != MG_OK) return s;
  if (g->l->value[to].outer) { /* [lines, n, line] to [n, lines, line] */
    unsigned char *row = g->at[to] + (size_t)at * lines * line;
    for (size_t k = 0; k < (n < lines ? n : lines) && s == MG_OK; k++)
      s = n < lines
              ? mg_device_copy(g->d, MG_ON_DEVICE, row + k * lines * line, line, x + k * line, n * line, line, lines, e)
              : mg_device_copy(g->d, MG_ON_DEVICE, row + k * line, lines * line, x + k * n * line, line, line, n, e);
    return s;
  }
  const size_t have = (size_t)whole->dim[a->dim] * line;
  return mg_device_copy(g->d, MG_ON_DEVICE, g->at[to] + (size_t)at * line, have, x, n * line, n * line, lines, e);
}
MGI_FN mg_status mgi_loaded_start(mg_model_loaded *g, uint32_t k, mg_error *e) {
  const mg_launch *a = &g->plan->launch[k];
  const mgi_loaded_launch *x = &g->launch[k];
  const void *in[MG_MAX_IN + 1];
  void *out[MG_MAX_OUT];
  size_t in_bytes[MG_MAX_IN + 1], out_bytes[MG_MAX_OUT];
  int64_t sym[MG_MODEL_MAX_SYMBOLS];
  mg_device_call c;
  mg_status s = MG_OK;
  if (x->file < 0) return x->placed ? MG_OK : mgi_loaded_update(g, a, e);
  const mgi_loaded_file *f = &g->file[x->file];
  const mg_emitted_info *is = mg_device_info(g->d, f->is);
  memset(&c, 0, sizeof c), memset(in, 0, sizeof in), memset(in_bytes, 0, sizeof in_bytes);
  c.n_in = is && is->n_in > a->n_in ? is->n_in : a->n_in, c.n_out = a->n_out, c.early = x->early;
  c.in = in, c.out = out, c.in_bytes = in_bytes, c.out_bytes = out_bytes;
  for (int j = 0; j < a->n_in + a->n_out; j++) {
    const uint32_t v = j < a->n_in ? a->in[j] : a->out[j - a->n_in];
    size_t bytes = 0; /* with words, of all sizes that they may have */
    s = mgi_loaded_bytes(g->l, v, x->words < 0 ? g->S.sym : g->room.room, &bytes, e);
    if (s != MG_OK) return s;
    if (j < a->n_in) {
      in[j] = mgi_loaded_at(g, v), in_bytes[j] = bytes;
      continue;
    }
    const uint32_t u = mgi_loaded_displaced(g, k, j - a->n_in) ? mgi_loaded_row_of(g, k, j - a->n_in) : 0;
    const uint32_t state = u ? g->plan->launch[u - 1].out[0] : 0;
    out[j - a->n_in] = u ? g->at[state] : mgi_loaded_at(g, v), out_bytes[j - a->n_in] = u ? g->bytes[state] : bytes;
  }
  if (x->words >= 0) {
    in[c.n_in] = (const int64_t *)g->words + x->words;
    in_bytes[c.n_in++] = mgi_loaded_words_of(g, k) * sizeof(int64_t);
  }
  if (f->foreign && !f->library) {
    for (int j = 0; j < a->n_sizes && s == MG_OK; j++) s = mg_size_at(g->l->sizes, a->size[j], g->S.sym, &sym[j], e);
    c.n_sym = a->n_sizes;
    if (a->scratch) {
      c.workspace = g->at[a->scratch];
      c.workspace_bytes =
          (size_t)mg_shape_elements(&g->S.shape[a->scratch]) * (size_t)mg_dtype_bytes(g->l->value[a->scratch].type);
    }
  } else {
    for (int j = 0; j < f->n_symbols; j++) sym[j] = g->S.sym[f->symbol[j]];
    c.n_sym = f->n_symbols, c.workspace = f->workspace, c.workspace_bytes = f->bytes;
  }
  c.sym = c.n_sym ? sym : NULL;
  return s == MG_OK ? mg_device_launch(g->d, f->is, &c, e) : s;
}
MGI_FN mg_status mgi_loaded_all(mg_model_loaded *g, mg_error *e) {
  mg_status s = MG_OK;
  for (uint32_t k = g->l->n_once; k < g->plan->n_launches && s == MG_OK; k++) s = mgi_loaded_start(g, k, e);
  return s;
}
/* Sizes, rows of placed updates, tables. */
MGI_FN mg_status mgi_loaded_sizes(mg_model_loaded *g, mg_error *e) {
  const mg_model_list *l = g->l;
  char text[64];
  mg_status s = mgi_found_takes(g->f, g->S.sym, e);
  if (s == MG_OK) s = mgi_step_sizes(&g->S);
  g->is.read = 0;
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    const mg_value *is = &l->value[v];
    const mg_shape *have = &g->S.shape[v], *room = &g->S.room[v];
    const int made = mgi_loaded_kept(g, v);
    if (is->kind == MG_VALUE_WEIGHT && g->plan->last[v] >= l->n_once) g->is.read += g->bytes[v];
    if (is->kind == MG_VALUE_STATE || (made && g->plan->last[v] >= l->n_once))
      g->is.read += (uint64_t)mg_shape_elements(have) * (uint64_t)mg_dtype_bytes(is->type);
    for (int d = 0; d < is->rank && is->kind == MG_VALUE_STATE && s == MG_OK; d++)
      if (d != is->outer && have->dim[d] != room->dim[d])
        s = mg_fail(e, MG_BAD_INPUT, l->m->name, "state '%s' dimension %d: it was loaded for %s = %lld, found %lld",
                    is->name, d, mgi_size_text(l->sizes, is->dim[d], text, sizeof text), (long long)room->dim[d],
                    (long long)have->dim[d]);
    mg_shape shape;
    if (is->kind == MG_VALUE_INPUT && s == MG_OK) s = mgi_loaded_shape(g, v, g->S.sym, &shape, e);
  }
  for (uint32_t k = 0; k < g->plan->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &g->plan->launch[k];
    int64_t at = 0;
    if (a->kind != MG_LAUNCH_UPDATE || (!g->launch[k].placed && g->launch[k].file < 0)) continue;
    s = mgi_update_fits(&g->S, a, &at);
    g->row[k] = at * (int64_t)mgi_loaded_row(g, a->out[0]);
  }
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    if (l->value[v].kind != MG_VALUE_INPUT || !l->value[v].decl->table) continue;
    double *x = (double *)malloc((size_t)mg_shape_elements(&g->S.shape[v]) * sizeof *x);
    if (!x) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for '%s'", l->value[v].name);
    s = mgi_table_fill(&g->S, v, x);
    if (s == MG_OK) s = mgi_loaded_move(g, v, &g->S.shape[v], x, NULL, e);
    free(x);
  }
  return s;
}
/* Adds a file's counts of blocks to this step's vector. */
MGI_FN mg_status mgi_loaded_count(mg_model_loaded *g, const mgi_loaded_file *f, const int64_t *sym, mg_error *e) {
  enum { MOST = 1 << 16 };
  const int n = mg_device_blocks(g->d, f->is, sym, NULL, 0);
  if (n < 0 || n > MOST)
    return mg_fail(e, MG_BAD_INPUT, f->name, "expected 0 to %d counts of %s_blocks, found %d", (int)MOST, f->name, n);
  const uint32_t all = g->n_blocks + (uint32_t)n;
  if (all > g->cap_blocks) {
    int64_t *more = (int64_t *)realloc(g->blocks, 2 * (size_t)all * sizeof *more);
    if (!more) return mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for grids");
    g->blocks = more, g->cap_blocks = 2 * all;
  }
  const int again = n ? mg_device_blocks(g->d, f->is, sym, g->blocks + g->n_blocks, n) : 0;
  if (again != n)
    return mg_fail(e, MG_BAD_INPUT, f->name, "expected %d counts of %s_blocks again, found %d", n, f->name, again);
  g->n_blocks = all;
  return MG_OK;
}
/* The vector of grid counts of this step. */
MGI_FN mg_status mgi_loaded_vector(mg_model_loaded *g, mg_error *e) {
  int64_t sym[MG_MODEL_MAX_SYMBOLS];
  mg_status s = MG_OK;
  g->n_blocks = 0;
  for (uint32_t k = 0; k < g->n_files && s == MG_OK; k++) {
    const mgi_loaded_file *f = &g->file[k];
    for (int j = 0; j < f->n_symbols; j++) sym[j] = g->S.sym[f->symbol[j]];
    if (f->n_symbols) s = mgi_loaded_count(g, f, sym, e);
  }
  for (uint32_t k = g->l->n_once; k < g->plan->n_launches && s == MG_OK; k++) {
    const mg_launch *a = &g->plan->launch[k];
    if (a->kind != MG_LAUNCH_FOREIGN || a->from->library || !a->n_sizes) continue;
    for (int j = 0; j < a->n_sizes && s == MG_OK; j++) s = mg_size_at(g->l->sizes, a->size[j], g->S.sym, &sym[j], e);
    if (s == MG_OK) s = mgi_loaded_count(g, &g->file[g->launch[k].file], sym, e);
  }
  return s;
}
/* The graph of this step's vector, or the one that becomes it. */
MGI_FN mgi_loaded_graph *mgi_loaded_graph_of(mg_model_loaded *g, mg_error *e) {
  const size_t bytes = g->n_blocks * sizeof *g->blocks;
  mgi_loaded_graph *oldest = &g->graph[0];
  for (int k = 0; k < MGI_LOADED_GRAPHS; k++) {
    mgi_loaded_graph *x = &g->graph[k];
    if (x->recorded && x->n_blocks == g->n_blocks && (!bytes || !memcmp(x->blocks, g->blocks, bytes))) return x;
    if (x->used < oldest->used) oldest = x;
  }
  int64_t *blocks = (int64_t *)malloc(bytes + 1);
  if (!blocks) mg_fail(e, MG_NO_MEMORY, g->l->m->name, "no memory for a graph");
  if (!blocks) return NULL;
  if (bytes) memcpy(blocks, g->blocks, bytes);
  free(oldest->blocks);
  oldest->blocks = blocks, oldest->n_blocks = g->n_blocks, oldest->recorded = 0;
  return oldest;
}
mg_status mg_model_launch(mg_model_loaded *g, const int64_t *sym, mg_error *e) {
  mg_error local;
  if (!e) e = &local;
  g->S.sym = sym, g->S.e = e;
  mg_status s = mgi_loaded_sizes(g, e);
  if (s == MG_OK) s = mgi_loaded_bring(g, e);
  if (s != MG_OK) return s;
  if (g->cfg.no_graph || !g->steps++) return mgi_loaded_all(g, e); /* the first: modules are loaded */
  s = mgi_loaded_vector(g, e);
  mgi_loaded_graph *x = s == MG_OK ? mgi_loaded_graph_of(g, e) : NULL;
  if (!x) return e->status;
  const int had = x->recorded;
  int same = had;
  for (int k = 0; k < g->l->m->n_symbols; k++) same &= x->last[k] == sym[k] || (g->is.followed >> k & 1);
  if (!same) {
    x->recorded = 0, g->now = NULL;
    s = mg_device_record(g->d, e);
    if (s == MG_OK) s = mgi_loaded_all(g, e);
    const mg_status ended = mg_device_recorded(g->d, s != MG_OK, &x->graph, e);
    if (s == MG_OK) s = ended;
    if (s != MG_OK) return s;
    x->recorded = 1;
    had ? g->is.changed++ : g->is.captured++;
    for (int k = 0; k < g->l->m->n_symbols; k++) x->last[k] = sym[k];
  }
  g->now = x, x->used = g->steps;
  g->is.graphs = 0;
  for (int k = 0; k < MGI_LOADED_GRAPHS; k++) g->is.graphs += (uint32_t)g->graph[k].recorded;
  return mg_device_replay(g->d, x->graph, e);
}
mg_status mg_model_time(mg_model_loaded *g, int n, double *us, mg_error *e) {
  if (!g->now) return mg_fail(e, MG_BAD_INPUT, g->l->m->name, "expected a step that was recorded, found none");
  return mg_device_time(g->d, g->now->graph, n, us, e);
}

mg_status mg_model_timeline(mg_model_loaded *g, const int64_t *sym, double *us, mg_error *e) {
  mg_error local;
  if (!e) e = &local;
  g->S.sym = sym, g->S.e = e;
  mg_status s = mgi_loaded_sizes(g, e);
  if (s == MG_OK) s = mgi_loaded_bring(g, e);
  for (uint32_t k = 0; k < g->plan->n_launches && s == MG_OK; k++) {
    s = mg_device_mark(g->d, (int)k, e);
    if (s == MG_OK && k >= g->l->n_once) s = mgi_loaded_start(g, k, e);
  }
  if (s == MG_OK) s = mg_device_mark(g->d, (int)g->plan->n_launches, e);
  if (s == MG_OK) s = mg_device_between(g->d, (int)g->plan->n_launches, us, e);
  for (uint32_t k = 0; k < g->l->n_once && s == MG_OK; k++) us[k] = 0;
  return s;
}

typedef struct mgi_loaded_checking {
  const mg_model_found *f;
  mg_device *d;
  const int64_t *sym;
  int steps;
  const mg_model_load_config *cfg;
} mgi_loaded_checking;
MGI_FN mg_status mgi_loaded_draw(void *task, uint64_t seed, mg_model_emulation *r, mg_error *e) {
  const mgi_loaded_checking *C = (const mgi_loaded_checking *)task;
  const mg_model_found *f = C->f;
  const mg_model_list *l = f->l, *whole = l->whole;
  const int64_t *sym = C->sym;
  const int steps = C->steps;
  int64_t at[MG_MODEL_MAX_SYMBOLS], room[MG_MODEL_MAX_SYMBOLS];
  mg_model_load_config c;
  mg_model_config plain, eager;
  mg_model_loaded *g = NULL;
  mg_model_data *data = NULL;
  mg_partition_config one;
  mg_model_list *single = NULL;
  mg_status s = MG_OK;
  memset(&c, 0, sizeof c), memset(&plain, 0, sizeof plain), memset(&eager, 0, sizeof eager);
  memset(&one, 0, sizeof one);
  if (C->cfg) c = *C->cfg;
  for (int k = 0; k < l->m->n_symbols; k++)
    at[k] = sym[k], room[k] = sym[k] + (l->m->symbol[k].device ? steps - 1 : 0);
  one.max_ops = 1, eager.piece = mgi_eager_piece;
  if (s == MG_OK) s = mg_model_partition(whole, &one, &single, e);
  if (s == MG_OK) s = mg_model_compare(whole, single, sym, steps, seed, NULL, &eager, &r->eager, e);
  if (s == MG_OK) s = mg_model_data_new(whole, room, seed, &data, e);
  c.data = data, c.weights = NULL;
  if (s == MG_OK) s = mg_model_load(f, C->d, room, &c, &g, e);
  for (int t = 0; t < steps && s == MG_OK; t++, r->emulated.steps++) {
    plain.inputs = seed + 1 + (uint64_t)t;
    s = mg_model_step(data, at, &plain, e);
    for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++)
      if (l->value[v].kind == MG_VALUE_INPUT && !l->value[v].decl->table)
        s = mg_model_put(g, v, at, data->data[mg_value_find(whole, l->value[v].name, -1)], e);
    if (s == MG_OK) s = mg_model_launch(g, at, e);
    double *x[MG_MAX_OUT] = {NULL};
    for (int k = 0; k < l->m->n_outputs && s == MG_OK; k++) {
      const uint32_t v = l->output[k];
      mg_shape shape;
      s = mg_value_shape(l, &l->value[v], at, &shape, e);
      const int64_t n = s == MG_OK ? mg_shape_elements(&shape) : 0;
      x[k] = (double *)malloc((size_t)n * sizeof **x + 1);
      if (s == MG_OK && !x[k]) s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for an output");
      if (s == MG_OK) s = mg_model_get(g, v, at, x[k], e);
      if (s == MG_OK) mgi_model_off(data->data[whole->output[k]], x[k], n, &l->value[v], &r->emulated);
    }
    if (s == MG_OK) s = mgi_model_misplaced(whole, at, (const double *const *)x, &r->emulated.misplaced, e);
    for (int k = 0; k < l->m->n_outputs; k++) free(x[k]);
    for (int k = 0; k < l->m->n_symbols; k++) at[k] += l->m->symbol[k].device;
  }
  for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
    if (l->value[v].kind != MG_VALUE_STATE) continue;
    double *x = (double *)malloc((size_t)mg_shape_elements(&g->S.room[v]) * sizeof *x + 1);
    if (!x) s = mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for a state");
    if (s == MG_OK) s = mg_model_get(g, v, room, x, e);
    if (s == MG_OK)
      mgi_model_off(data->data[mg_value_find(whole, l->value[v].name, l->value[v].layer)], x,
                    mg_shape_elements(&g->S.room[v]), &l->value[v], &r->emulated);
    free(x);
  }
  if (g) r->kernels = g->is.files, r->launches = g->is.launches;
  mg_model_unload(g), mg_model_data_free(data), mg_model_list_free(single);
  return s;
}
mg_status mg_model_loaded_check(const mg_model_found *f, mg_device *d, const int64_t *sym, int steps, uint64_t seed,
                                const mg_model_load_config *cfg, mg_model_emulation *r, mg_error *e) {
  mgi_loaded_checking C;
  memset(r, 0, sizeof *r);
  if (!f->l->whole) return mg_fail(e, MG_BAD_INPUT, f->l->m->name, "expected a partition");
  C.f = f, C.d = d, C.sym = sym, C.steps = steps, C.cfg = cfg;
  const mg_status s = mgi_emulation_draws(f->l, mgi_loaded_draw, &C, seed, r, e);
  return s == MG_OK ? mgi_emulation_verdict(f->l, r, e) : s;
}
#endif /* MIRAGE_CUDA_CUH */
#endif /* MIRAGE_SEARCH_H */

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_MODEL_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_MODEL_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
