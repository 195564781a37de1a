/* mirage_search.h - v0.1.0 - superoptimizer for tensor programs: e-graph, generator, tuner, in one C header

   WHAT
     Takes a program (a µGraph of library operators, see mirage.h) and looks for faster equivalent µGraphs: custom
     kernels with a grid, loops, accumulators and an epilogue.  Candidates that cannot be part of the program are cut
     off by abstract expressions in a saturated e-graph (Mirage paper, section 4.3); what remains is told apart, and
     compared with the program, over a finite field; each result is checked again by mirage_verify.h, and its grid and
     loop sizes are chosen by an analytic model of the machine (mirage_plan.h).  Needs mirage.h, mirage_plan.h,
     mirage_verify.h, libc, pthreads.

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage_search.h".  MIRAGE_SEARCH_IMPLEMENTATION
     means this header alone.  Link with -lm -lpthread.

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage_search.h"
     #include <stdio.h>
     int main(void) {
       mg_graph *g = mg_program_new("tiny", NULL);
       int64_t xs[2] = {16, 1024}, ws[2] = {1024, 512};
       mg_tensor x = mg_input(g, "X", MG_F16, 2, xs), w = mg_input(g, "W", MG_F16, 2, ws);
       mg_output(g, mg_named(g, mg_silu(g, mg_matmul(g, x, w)), "O"));
       mg_search_config cfg = mg_search_config_default();
       mg_search_result r;
       mg_error err;
       char *text = NULL;
       if (mg_check(g, &err) || mg_search(g, &cfg, &r, &err)) { fprintf(stderr, "%s\n", err.msg); return 1; }
       if (mg_print(r.graph[0], &text, &err) == MG_OK) printf("# %.1f us predicted\n%s", r.predicted_us[0], text);
       mg_string_free(text);
       mg_search_result_free(&r);
       mg_graph_free(g);
       return 0;
     }

   CONTENTS (search for the tag)
     >>egraph-api  >>search-api  >>family-api  >>safety-api  >>tilings-api  >>threads-api
                   declarations
     >>egraph  >>patterns  >>saturation  >>polynomials  >>expressions  >>tilings  >>threads  >>values  >>closure
     >>structures  >>tuner  >>bounds  >>kernels  >>safety  >>kept  >>cuts  >>search  >>rewrite  >>results
     >>families                                                                                          implementation

   CONFIGURATION (define before including)
     MG_USER_AXIOMS(A)     rows added to the axiom table: A(name, "pattern", "pattern", "equation"), as in
                           A(cube_mul, "cube(mul(x,y))", "mul(cube(x),cube(y))", "a note")

   CONCEPTS
     class        dimensions that must have one extent (mg_classes_of); and those of equal extent that no output and no
                  tensor together has, so that one loop may run over several sums.  Structures leave extents open.
     factor       a class's extent is the product of three symbolic factors, `grid`, `loop` and `rest`.  A full sum over
                  it is sum(grid, sum(loop, sum(rest, x))); in a loop's body, which sees one chunk, a sum goes without
                  sum(loop, ..), which an accumulator adds; in a block that sees one part of it, without sum(grid, ..).
                  Classes of equal extent share factors, so that the pruning is never stronger than the axioms are.
     frame        which classes the grid axes and the loops partition.  Each frame is searched on its own.  One grid
                  axis may partition a class that is summed over: the group axis, over whose blocks accumulators sum.
                  One may partition classes of several outputs that no tensor together has (the columns of X A and of X
                  B).
     value        a tensor of a block graph, known by e-class, scope, dimension classes, partition and by what it is: a
                  hash of all its elements over a large prime field, at small sizes.  Two ways to compute one value are
                  one value with two derivations: nothing is searched twice.
     structure    a choice of derivations that makes the outputs: operators and maps, no sizes yet.
     segment      operators of the program that one kernel shall compute.  Programs that do not fit one kernel are cut
                  into segments by dynamic programming over predicted times, in every order that operands allow: the
                  order of the program's text counts for nothing.  Long programs are cut before they are searched whole,
                  small segments first.
     effort       limits of a segment's search that rise from one time to the next: little for all segments that may be
                  part of the best program comes before more for any.
                  Reshapes and transposes between kernels are addresses of their loads and stores where axes say them,
                  slices that kernels alone read are addresses of their loads (mg_slice_is_address); reshapes of what
                  lies row by row are other names of it (mg_renames), and are moved to a program's edges first where
                  they can be.
     parts        of a row too long for a block, or of few rows: one kernel makes what each part gives to a reduction,
                  the next puts that together (>>search, rows in parts): a softmax over a vocabulary.
     piece        a kernel from any values of the program's closure to others (>>rewrite): (A B) v may become A (B v) in
                  two.
     tiling       an expression: a forest of the loops over a chain of matmuls (mg_tilings_of), and a tile size for
                  each.
     thread graph operators of one scope that pass values in registers: by rule, after the search (mg_fuse_threads).

   ERRORS
     mg_status and an optional mg_error, as in mirage.h.  A search that a limit ended returns what it has, and says so
     in stats.complete; MG_NOT_FOUND only if nothing at all is left.

   MEMORY
     Results are freed by mg_search_result_free, e-graphs by mg_egraph_free.  A frame's values take at most
     256 MiB, none more than 32, and 2^27 operations over a field, none more than 2^24; what bounds the walk over n of
     them n * n / 16 bytes, and what the walk remembers 64 MiB, one frame at a time and thread.

   THREADS
     cfg.threads workers (at most 64) take the frames of all segments under way, and begin another segment when none is
     left.  The result does not depend on their number, nor on the seed.

   DOES NOT
     Search nested loops other than the tilings', accumulators over two grid axes, compositions beyond >>rewrite's
     requirements, kernels that hand on exponentials that nothing has normalised yet (fp16 overflows), a kernel that
     ends before a unary elementwise operator, no exponential, on what it makes, no product, for that alone (>>cuts), or
     rewrite exp(a) exp(b).  Add up, element by element, the pieces of a dimension that the loop cuts; join pieces along
     a dimension that it does not cut; cut two dimensions of a tensor by one axis; pair or cut dimensions of two classes
     because their extents are equal, where an output or a tensor together has them; cut one of several outputs'
     dimensions of one extent and not the others that no tensor together has; move other dimensions than the program
     moves.  (tests/test_theorem.c counts what these leave out.) Take apart a sum of two inputs that nothing else uses,
     where the closure with its parts passes the e-graph's limit (mgi_se_seg_seals).  Price what the model's bound
     (cfg.bound) puts behind: sums at one tile, of which a frame keeps 48; and at all tiles only the 96 best of a frame
     and of a segment by coarse ones (by all tiles, where there is no loop).  Of 150 random programs one had a kernel
     0.3 % faster, by the model, without the bound.  stats.complete speaks of the space without these.
*/
#ifndef MIRAGE_SEARCH_H
#define MIRAGE_SEARCH_H

#include "mirage.h"
#include "mirage_plan.h"
#include "mirage_verify.h"

#if MG_VERSION != 100
#error "mirage_search.h and mirage.h are of different versions"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------- >>egraph-api

   An e-graph over abstract expressions.  A term is (op, attr, children); classes hold terms known to be equal.  Build
   it with mg_egraph_add, saturate it under the axioms, freeze it; a frozen e-graph is read-only, and any number of
   threads may probe it.  Class ids are 1 and up; 0 means none.                                                     */

typedef enum mg_eop {
  MG_E_VAR, MG_E_ADD, MG_E_MUL, MG_E_DIV, MG_E_EXP, MG_E_SCALE, MG_E_ADD_SCALAR, MG_E_SUM, MG_E_MAX, MG_E_OPAQUE, MG_E_COUNT
} mg_eop;

/* VAR: a = which atom.  SCALE, ADD_SCALAR: the rational a/b.  SUM, MAX: factor b (0 loop, 1 rest, 2 grid) of size class
   a.  OPAQUE: a = key of operator and attributes.  Others: zero. */
typedef struct mg_eattr { int64_t a, b; } mg_eattr;

typedef enum mg_saturation { MG_SATURATED, MG_NODES, MG_TIME, MG_STOPPED } mg_saturation;
const char *mg_saturation_name(mg_saturation s); /* "SATURATED", "NODES", "TIME", "STOPPED" */

/* A(name, left, right, the paper's equation).  Patterns: lower-case letters are terms; [i] is an attribute, [c*d],
   [1/c] and [d/c] computed ones.  A row is an equality: each side whose variables the other side binds is rewritten
   to the other.  Other functions are OPAQUE rows of the operator table without an attribute, by name. */
#define MG_BUILTIN_AXIOMS(A)                                                                                          \
  A(add_comm,   "add(x,y)",               "add(y,x)",                  "add(x,y) = add(y,x)")                         \
  A(mul_comm,   "mul(x,y)",               "mul(y,x)",                  "mul(x,y) = mul(y,x)")                         \
  A(add_assoc,  "add(x,add(y,z))",        "add(add(x,y),z)",           "add(x,add(y,z)) = add(add(x,y),z)")           \
  A(mul_assoc,  "mul(x,mul(y,z))",        "mul(mul(x,y),z)",           "mul(x,mul(y,z)) = mul(mul(x,y),z)")           \
  A(mul_add,    "add(mul(x,z),mul(y,z))", "mul(add(x,y),z)",           "add(mul(x,z),mul(y,z)) = mul(add(x,y),z)")    \
  A(div_add,    "add(div(x,z),div(y,z))", "div(add(x,y),z)",           "add(div(x,z),div(y,z)) = div(add(x,y),z)")    \
  A(mul_div,    "mul(x,div(y,z))",        "div(mul(x,y),z)",           "mul(x,div(y,z)) = div(mul(x,y),z)")           \
  A(div_div,    "div(div(x,y),z)",        "div(x,mul(y,z))",           "div(div(x,y),z) = div(x,mul(y,z))")           \
  A(sum_sum,    "sum[i](sum[j](x))",      "sum[j](sum[i](x))",         "sum(i,sum(j,x)) = sum(i*j,x), i*j = j*i")     \
  A(sum_add,    "sum[i](add(x,y))",       "add(sum[i](x),sum[i](y))",  "sum(i,add(x,y)) = add(sum(i,x),sum(i,y))")    \
  A(sum_mul,    "sum[i](mul(x,y))",       "mul(sum[i](x),y)",          "sum(i,mul(x,y)) = mul(sum(i,x),y)")           \
  A(sum_div,    "sum[i](div(x,y))",       "div(sum[i](x),y)",          "sum(i,div(x,y)) = div(sum(i,x),y)")           \
  A(scale_scale,"scale[c](scale[d](x))",  "scale[c*d](x)",             "(here) c(dx) = (cd)x")                        \
  A(scale_swap, "scale[c](scale[d](x))",  "scale[d](scale[c](x))",     "(here) c(dx) = d(cx)")                        \
  A(scale_add,  "scale[c](add(x,y))",     "add(scale[c](x),scale[c](y))", "(here) c(x+y) = cx+cy")                    \
  A(scale_mul,  "scale[c](mul(x,y))",     "mul(scale[c](x),y)",        "(here) c(xy) = (cx)y")                        \
  A(scale_div,  "scale[c](div(x,y))",     "div(scale[c](x),y)",        "(here) c(x/y) = (cx)/y")                      \
  A(div_scale,  "div(x,scale[c](y))",     "scale[1/c](div(x,y))",      "(here) x/(cy) = (1/c)(x/y)")                  \
  A(scale_sum,  "scale[c](sum[i](x))",    "sum[i](scale[c](x))",       "(here) c sum(i,x) = sum(i,cx)")               \
  A(shift_scale,"scale[c](add_scalar[d](x))", "add_scalar[c*d](scale[c](x))", "(here) c(x+d) = cx+cd")                 \
  A(scale_shift,"add_scalar[d](scale[c](x))", "scale[c](add_scalar[d/c](x))", "(here) cx+d = c(x+d/c)")                \
  A(shift_add,  "add_scalar[d](add(x,y))",    "add(add_scalar[d](x),y)",      "(here) (x+y)+d = (x+d)+y")              \
  A(max_max,    "max[i](max[j](x))",      "max[j](max[i](x))",         "(here) max(i,max(j,x)) = max(j,max(i,x))")

#ifndef MG_USER_AXIOMS
#define MG_USER_AXIOMS(A)
#endif
#define MG_AXIOMS(A) MG_BUILTIN_AXIOMS(A) MG_USER_AXIOMS(A)

typedef struct mg_axiom { const char *name, *left, *right, *equation; } mg_axiom;
int mg_axiom_count(void);
enum { MG_AXIOM_TIMES = 64 }; /* of so many axioms the times are kept */
const mg_axiom *mg_axiom_at(int k); /* NULL if there is none */

typedef struct mg_egraph mg_egraph;
mg_egraph *mg_egraph_new(void);
void mg_egraph_free(mg_egraph *eg);
/* The class of op[attr](a, b); a and b are 0 where op takes fewer.  0 if memory is out or eg is frozen. */
uint32_t mg_egraph_add(mg_egraph *eg, mg_eop op, mg_eattr attr, uint32_t a, uint32_t b);
uint32_t mg_egraph_find(const mg_egraph *eg, uint32_t id); /* the representative of id's class */
int mg_egraph_union(mg_egraph *eg, uint32_t a, uint32_t b); /* asserts a = b; 1 if that was new; rebuild before use */
void mg_egraph_rebuild(mg_egraph *eg);                      /* closes under congruence */
typedef struct mg_egraph_limits {
  uint32_t nodes;  /* 0: 20000; in a search 200000 where the closure is written down at once, see >>polynomials */
  double seconds;  /* 0: 10 */
  int no_copies;   /* 1: only the directions that copy no term */
  volatile int *stop; /* may be NULL; set non-zero to end it: MG_STOPPED.  A search gives it its own */
} mg_egraph_limits;
/* Applies the axioms until nothing changes: first the directions that copy no term, then those that do
   (distribution), so that a limit that ends it early leaves the cheap closure whole. */
mg_status mg_egraph_saturate(mg_egraph *eg, const mg_egraph_limits *limits, mg_saturation *outcome, mg_error *e);
void mg_egraph_freeze(mg_egraph *eg);
/* One hash lookup: the class of a term, 0 if the e-graph has no such term.  a and b must be representatives. */
uint32_t mg_egraph_probe(const mg_egraph *eg, mg_eop op, mg_eattr attr, uint32_t a, uint32_t b);
uint32_t mg_egraph_nodes(const mg_egraph *eg);
uint32_t mg_egraph_classes(const mg_egraph *eg);
/* The k-th term, 0 <= k < mg_egraph_nodes; returns its class. */
uint32_t mg_egraph_node(const mg_egraph *eg, uint32_t k, mg_eop *op, mg_eattr *attr, uint32_t child[2]);

/* --------------------------------------------------------------------------------------------- >>search-api */

typedef struct mg_search_stats {
  double seconds, egraph_ms;         /* egraph_ms: the slowest saturation */
  double probe_ns;                   /* the median check of a candidate operator's expression, every 64th being timed,
                                        less the clock's own time; 0: none was */
  double closure_us[4];              /* of the whole program's closure by normal forms: the program's terms, classes,
                                        factors, terms of the classes.  Zero where rewriting found it: then, by axiom,
                                        both directions: */
  double axiom_us[MG_AXIOM_TIMES];
  int threads;
  uint64_t states;                   /* operators tried in block graphs, shapes fitting */
  uint64_t pruned_pairs;             /* not tried: pairs of values that no operator joins to a subexpression of the
                                        program */
  uint64_t pruned_expression;        /* of the states: not a subexpression of the program */
  uint64_t pruned_shape;             /* operands do not fit */
  uint64_t pruned_duplicate;         /* the value was there: a derivation was added */
  uint64_t pruned_limit;             /* past max_block_ops or max_states, or too large or too long (MEMORY) */
  uint64_t pruned_bound;             /* the model's bound: structures behind the best of their frame, or that the model
                                        cannot tell from them; segments behind the best program */
  uint64_t frames, values, structures, segments, tilings; /* tilings: µGraphs of tiling expressions looked at */
  /* sized graphs built; passed and failed the fast tier; not emittable */
  uint64_t candidates, verified, rejected, refused;
  int complete;                      /* 1: no limit, budget or early end cut anything off the stated space */
  int late;                          /* 1: the time limit, the e-graph's, or `stop` cut something off; the ten seconds
                                        of a check (mg_search) leave it 0 */
  int timed;                         /* 1: those, or a check's memory, did */
  uint64_t egraph_nodes, egraph_classes;
  uint64_t resumed;                  /* of the frames, those taken from the checkpoint */
  int checkpoint_lost;               /* 1: the checkpoint could not be written again; the result is not touched by it */
  int cached;                        /* 1: from cfg.cache; all but seconds and threads is what the search that found it
                                        said */
  char cache_note[200];              /* one line: why the cache's entry was not used, or why none was written; else
                                        empty */
  const char *egraph_stop;           /* "SATURATED", or what ended the first e-graph that did not saturate: its own
                                        limits, "NODES" or "TIME", or the search's time limit or `stop`, "STOPPED".  Its
                                        closure under the axioms that copy no term is searched then */
  int best_kernels, best_block_ops;
  double predicted_us;               /* of the best µGraph; 0 before there is one that passed the fast tier */
  double measured_us;                /* of the best, by the hook `measure`; 0: the order is predicted */
  char unmeasured[256];              /* then: why, or empty without a hook */
  /* while it runs: of the frames of the segments begun, how many there are; an estimate of the seconds left for the
     whole search, negative if there is none yet; by the model the program as it is written, and the least that the
     whole program takes by what is known yet, one kernel or parts put together, not verified, 0: nothing */
  uint64_t frames_begun;
  double left_s, own_us, structure_us;
  int left_limit;                    /* 1: left_s is what is left of the time limit: it takes no longer */
} mg_search_stats;

typedef struct mg_search_config {
  const mg_machine *machine;         /* NULL: the first row of the table, an H200 */
  int threads;                       /* 0: 2 */
  int max_kernel_ops;                /* 0: of up to 5 kernels the best for each number, of more the best where it is
                                        better.  The program itself is a candidate at any number */
  int max_loops;                     /* in a block, one after the other; 0: 1, at most 2 */
  int max_block_ops;                 /* 0: 11, of tilings 40; at most 40; loads, stores and unary elementwise operators
                                        are not counted */
  int top_k;                         /* 0: 8; of kernels for the whole program, at most as many as a segment keeps:
                                        96 */
  int bound;                         /* leave out what the model's bound puts behind a frame's best; the default config
                                        has 1 */
  int prune;                         /* abstract expressions on; the default config has 1.  Off: max_block_ops bounds
                                        the depth in operators of every kind, as nothing else would */
  int allow_sampled;                 /* 1: also what agrees in all tests of a maximum that does not cancel, without a
                                        proof; it may be wrong, and is never MG_OK */
  double time_limit_s;               /* 0: none.  An e-graph takes at most half of what is left of it */
  uint64_t seed;                     /* of the field test; 0: 1 */
  int64_t max_states;                /* values a frame may hold; 0: 32768, at most 65535 */
  int64_t max_structures;            /* structures a frame may yield, cheapest operators first; 0: 500000 */
  int64_t max_steps;                 /* choices a frame may try to find them; 0: 400000000 */
  mg_egraph_limits egraph;
  void *user;
  mg_status (*emittable)(void *user, const mg_graph *g, mg_error *why); /* may be NULL; refuses sized µGraphs; by any thread, one at a time.
                                        Where it is given, structures that leave a block more than one matrix of a
                                        tensor are not tried */
  void (*progress)(void *user, const mg_search_stats *s);               /* may be NULL; called from the caller's
                                                                           thread */
  void (*structure)(void *user, const mg_graph *g);                     /* may be NULL; every structure of one kernel
                                        for the whole program, axes at their smallest counts, not verified; by any
                                        thread, one at a time */
  void *measure_user;
  mg_status (*measure)(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e); /* may be
                                        NULL; times the results: us[k] of g[k], 0 where it failed.  They are then ranked
                                        by it, those that failed last.  Not MG_OK: the predicted order stands, and
                                        stats.unmeasured says why.  mg_cuda_measure_us of mirage_cuda.cuh is one */
  mg_status (*measure_all)(void *user, const mg_measure_job *job, int n, mg_error *e); /* may be NULL: the same of several calls, so that
                                        they can be prepared side by side; mg_search_family asks it.  With
                                        measure_user */
  double timed_loss;                 /* of mg_search_family: what a range may lose by times; 0: MG_RANGE_LOSS_TIMED */
  int measure_few;                   /* 0, or of mg_search_family: at a size so many of what was found there are timed,
                                        and of others as many */
  int (*wary)(void *user, const mg_graph *g); /* may be NULL; with `user`; 1: whatever its time, measured or predicted, g is ranked
                                        behind those that are 0: one that overflows where these do not, say; and a form
                                        with its rows' maxima taken off exponentials is tried beside it;
                                        mg_search_family has none that it names, unless it names the program.  By the
                                        caller's thread */
  int unsafe;                        /* 1: results that are not as safe as written (>>safety-api) are neither repaired
                                        nor ranked behind.  0: one is repaired by its plan where that makes it safe or
                                        leaves it open: f32 between kernels, wide products; else it is ranked behind all
                                        others, as one that `wary` names */
  int batch_invariant;               /* 1: no library makes a product of a result (mg_library_multiplies), none is
                                        repaired by a power of two that rows have together (NAME.store=split), and
                                        mg_search_family has one range along every symbol that nothing sums over: a
                                        row's bits depend on no size and on no other row */
  void *settle_user;
  int (*settle)(void *user, const mg_graph *program, const mg_graph *g); /* may be NULL; in mg_search_certify, of a result that >>safety-api
                                        leaves open: 1 if g is not as safe as written, 2 if the time ended before that
                                        was known, else
                                        0.  With 2 it is ranked behind those with 0, with 1 behind all others, the
                                        program itself too.  mg_cuda_settle of mirage_cuda.cuh is one: by runs */
  const char *checkpoint;            /* a file, may be NULL: finished frames are kept there, appended at most ten times
                                        a second and at the end; one that a kill has torn is dropped when it is read.
                                        The same search started again (program, GPU, options but threads and time limit,
                                        version) skips these and gives the result of one that nothing ended; hook
                                        `structure`, which has more counted, does not see theirs.  MG_BAD_INPUT, and the
                                        file is left alone, if it is damaged or of another search; MG_MACHINE if it
                                        cannot be written */
  const char *cache;                 /* a directory, may be NULL: a result that neither time nor `stop` ended is kept
                                        there, in a file named by a hash of what a checkpoint's key holds.  Found there
                                        again, each µGraph is checked, priced, asked of `emittable`, passes the fast
                                        tier anew and is measured before it is a result; `structure` sees none.  What is
                                        damaged, or was made otherwise, is searched anew and replaced
                                        (stats.cache_note).  Written whole and then renamed: processes may share the
                                        directory */
  volatile int *stop;                /* may be NULL; set non-zero to end the search, keeping what was found */
} mg_search_config;
mg_search_config mg_search_config_default(void);

/* Ranked, best first.  Each graph is checked, planned, named, and has passed the fast tier: report[k]. */
typedef struct mg_search_result {
  int n;
  mg_graph **graph;
  double *predicted_us;
  double *measured_us;               /* by the hook `measure`; 0: not measured, or it failed */
  mg_verify_report *report;
  mg_search_stats stats;
} mg_search_result;

/* MG_OK with at least one graph; MG_NOT_FOUND if none; MG_BAD_INPUT if `program` has graph-defined operators.  µGraphs
   are compared with the program at small sizes; where dimensions stay large, as a reshape's do, a check has 10 s, or
   what is left of the time limit, but 1 s at least (one whose reshapes became addresses 3 s); one that `stop` finds
   under way has 1 s more. */
mg_status mg_search(const mg_graph *program, const mg_search_config *cfg, mg_search_result *out, mg_error *e);
/* Lets `s` say of graph k what it says of the best: for one who takes it, as those before it did not stand at full
   size. */
void mg_search_stats_best(mg_search_stats *s, const mg_search_result *r, int k);
void mg_search_result_free(mg_search_result *r);

/* The full tier of mg_verify on the results, in their order, until `most` of them are EQUAL.  *r then holds these, with
   their reports; behind them, where cfg says allow_sampled, what was EQUAL_SAMPLED; all else is dropped and counted as
   rejected.  What cfg->settle finds unsafe is looked at last; if nothing before it is EQUAL, the program itself stands
   before it.  Where nothing is left it holds the program itself, EQUAL by identity; MG_NOT_FOUND where cfg says
   batch_invariant and a library makes products of that.  *undecided counts what was left out for want of time or a
   bound, and why says so of the first.  cfg and v may be NULL; what mg_search was called with. */
mg_status mg_search_certify(const mg_graph *program, const mg_search_config *cfg, const mg_verify_config *v, int most,
                            mg_search_result *r, int *undecided, char why[256], mg_error *e);
/* mg_search, then mg_search_certify for one: MG_OK means that report says EQUAL, with a delta or by proof; where no
   kernel is, *best is the program itself.  With cfg->allow_sampled an EQUAL_SAMPLED one, where nothing is EQUAL, is
   MG_UNSUPPORTED with *best set.  *best is the caller's.  v may be NULL. */
mg_status mg_superoptimize(const mg_graph *program, const mg_search_config *cfg, const mg_verify_config *v,
                           mg_graph **best, mg_verify_report *report, mg_search_stats *stats, mg_error *e);

/* --------------------------------------------------------------------------------------------- >>family-api

   A program with a symbol (mg_symbol of mirage.h), or two, is searched at some sizes; what is found at one is taken as
   a family, with its chunks, and priced at the others; and, with as many chunks, at the sizes next to it.  The result
   is a list of ranges with one µGraph each: the fewest that, at every size that was priced, are by the model within
   MG_RANGE_LOSS of the best that was found there; of two symbols, at every pair of sizes, as intervals of the first,
   cut each into intervals of the second.  With the hook `measure` what was found at a size that was searched, and the
   best few of the others, are timed there, and at sizes between, and MG_RANGE_LOSS_TIMED is what they may lose by these
   times (timed_loss of mg_search_config says other).  Where a symbol is contracted (mg_contracted), reports are of
   values of it (r->at), and what sums in f16 is as safe as written at the greatest of the range. */

#define MG_RANGE_LOSS 0.10
#define MG_RANGE_LOSS_TIMED 0.15
enum { MG_FEW_RANGES = 8 };
typedef struct mg_range {
  int64_t least[MG_MAX_SYMBOLS], most[MG_MAX_SYMBOLS]; /* by symbol: it is for these; the bounds of its graph's symbols hold them, and may go
                                                        further, to whole chunks */
  mg_graph *graph;
  mg_verify_report report;           /* EQUAL, for all n, or at values of it where it is contracted, or it is the
                                        program */
  int64_t sizes[2][MG_MAX_SYMBOLS];  /* the least and the greatest sizes of the range that were priced, and what the
                                        model says there, */
  double predicted_us[2];
  double timed_us[2];                /* times what was measured of it at the next size timed by what the model says
                                        there; 0: it was not */
  int safety;                        /* an mg_safety, of >>safety-api, at sizes safe_at; 0 there: it is the program */
  int64_t safe_at[MG_MAX_SYMBOLS];
} mg_range;
typedef struct mg_family_result {
  int n;
  mg_range range[MG_MAX_RANGES];
  double loss;                       /* the most that a range loses against the best at a size that was priced, 0.1
                                        being 10 % */
  double few_lose;                   /* where there are more than MG_FEW_RANGES: what so many would lose */
  int timed;                         /* by times; 0: by the model alone, and why: empty without the hook */
  char unmeasured[256];
  int searches, families, complete;  /* sizes searched; different families found, the program's own among them; 1: no
                                        search was cut off */
  mg_search_stats cut;               /* else: of the first that was */
  double seconds;
} mg_family_result;
/* MG_OK with at least one range; the ranges are whole: from each symbol's least to its most.  MG_UNSUPPORTED: more than
   two symbols.  Of cfg all but `checkpoint` and `structure` count; its time limit is for all searches together, v's for
   all certificates. */
mg_status mg_search_family(const mg_graph *program, const mg_search_config *cfg, const mg_verify_config *v,
                           mg_family_result *out, mg_error *e);
void mg_family_result_free(mg_family_result *r);

/* ---------------------------------------------------------------------------------------------- >>safety-api

   Equal over the reals is not equal in 16 bits.  Whether a µGraph is finite and about as exact as its program run
   operator by operator, each result rounded to its type, what sugar does inside in f32: by bounds on every value that
   it keeps in 16 bits, see >>safety.  Runs over families of inputs may settle what this leaves
   open.                          */

typedef enum mg_safety { MG_SAFE, MG_SAFETY_OPEN, MG_UNSAFE, MG_SAFETIES } mg_safety;
const char *mg_safety_name(mg_safety s); /* "as safe as written", "not decided", "not as safe as written" */
typedef struct mg_safety_report {
  mg_safety verdict;
  int kernel, stored;        /* of the value below: its kernel, an operator of the µGraph; 1: it is handed on, 0: a
                                product takes it */
  mg_tensor tensor;          /* stored: of the µGraph; else of the kernel's block graph */
  char value[64], why[256];  /* its name, and what is the matter; empty if MG_SAFE */
} mg_safety_report;
/* open_exp: the name of an exponential that has neither a bound nor a running maximum, or NULL: whoever emits knows.
   Not MG_OK: bad input, or no memory.  Thread safety: as a pure function. */
mg_status mg_safety_of(const mg_graph *program, const mg_graph *ugraph, const char *open_exp, mg_safety_report *r,
                       mg_error *e);

/* -------------------------------------------------------------------------------------------- >>tilings-api

   Every way to tile a chain of matmuls, or an attention, as one kernel: the tiling expressions of the MCFuser paper
   (section III).  Each class of dimensions that a matmul has is one cross-tile loop; an expression is a forest over
   the loops in which all loops of one matmul are nested: `mhnk` is deep, `mn(k,h)` flat, k and h running one after
   the other in n.  Loops are called m, k, n, h, p .. by the matmuls in order (rows, contraction, columns); batch
   dimensions are no loops of an expression: the grid always has them, a tile has one.                              */

enum { MG_TILING_LOOPS = 8, MG_TILING_MAX = 7 }; /* all loops, batch included; those of an expression */

/* R(id, name, what it removes).  The first three judge expressions, in this order, the others tile sizes.  The
   predicate of a row is mgi_ti_rule_<id> in >>tilings. */
#define MG_TILING_RULES(R)                                                                                             \
  R(DUPLICATE,  "rule 1",     "an earlier expression does the same in each block, spatial loops taken to the grid")     \
  R(CACHED,     "rule 2",     "a loop that reduces an intermediate runs outside of one over its tiles: many are held")  \
  R(DEPENDENCE, "dependence", "a value, recomputed in a loop that does not index it, is needed outside of that loop")   \
  R(PADDING,    "rule 3",     "tiles pad a power of two, or another size by 5 % or more")                               \
  R(SHARED,     "rule 4",     "the tiles pass 1.2 times the shared memory of a block")

typedef enum mg_tiling_rule {
  MG_TILING_KEPT,
#define MGI_R(id, name, what) MG_TILING_##id,
  MG_TILING_RULES(MGI_R)
#undef MGI_R
  MG_TILING_RULE_COUNT
} mg_tiling_rule;
const char *mg_tiling_rule_name(mg_tiling_rule r); /* "kept", "rule 1" .. */
const char *mg_tiling_rule_text(mg_tiling_rule r); /* what the row removes */

typedef struct mg_tiling_loop {
  char name;
  int spatial, batch;        /* spatial: indexes every output and is reduced nowhere */
  int64_t extent;            /* elements */
} mg_tiling_loop;

typedef struct mg_tiling {
  int8_t parent[MG_TILING_LOOPS]; /* the loop around each; -1 at the top */
  uint32_t bound;            /* bit l: loop l is an axis of the grid.  A spatial loop is bound unless it stands beside
                                another loop, and if all loops around it are bound, or every product that is computed
                                inside of it is indexed by it. */
  int flat;                  /* 1: some loops are sequential */
  mg_tiling_rule rule;       /* the first row that removes the expression */
  int same;                  /* the first expression of its class (rule 1): itself if that one */
  char text[32], sub[32];    /* `mhnk`; what is left of it in each block, `nk` */
} mg_tiling;

typedef struct mg_tilings_config {
  const mg_machine *machine; /* NULL: the first row of the table, an H200 */
  int deep_only;             /* 1: Chimera's subset, no sequential loops */
  int step;                  /* tile sizes are the multiples of it, and the whole extent; 0: 16 */
  double seconds;            /* mg_tilings_best ends then, with the best of what it has looked at; 0: no limit */
  volatile int *stop;        /* may be NULL; set non-zero to end it likewise */
} mg_tilings_config;

typedef struct mg_tilings {
  int n_loops, n_all;        /* without and with batch loops, which come last */
  mg_tiling_loop loop[MG_TILING_LOOPS];
  int n;
  mg_tiling *tiling;         /* deep ones first */
  uint64_t candidates;       /* expressions times tile sizes; saturates */
  int after[MG_TILING_RULE_COUNT]; /* expressions left after row r, rows 1 .. r applied; after[0] is n */
  mg_tilings_config cfg;
  struct mgi_ti_program *program;
} mg_tilings;

/* All expressions of `program`, which must outlive *out.  MG_UNSUPPORTED, with the reason, if it has no matmul, an
   operator that is neither matmul, elementwise, sum, max, transpose, slice nor concat.  No loop cuts what a slice or a
   concat goes along, nor what is twice in a tensor. */
mg_status mg_tilings_of(const mg_graph *program, const mg_tilings_config *cfg, mg_tilings *out, mg_error *e);
void mg_tilings_free(mg_tilings *t);
int mg_tilings_find(const mg_tilings *t, const char *text); /* the expression's index, or -1 */

/* Below, tile[l] is the tile size along loop l < n_loops, in elements, clipped to the extent; loops of one tile are
   dead and vanish.  tile NULL: every loop has several. */

/* The expression with its statements, loads (L), computation (C) and stores (S) each in the outermost loop that the
   dependences allow: `mh(n(k(L_A,L_B,C_C),L_D,C_E),S_E)`.  Free with mg_string_free. */
mg_status mg_tiling_statements(const mg_tilings *t, int which, const int64_t *tile, char **text, mg_error *e);
/* The first row that removes the candidate. */
mg_tiling_rule mg_tiling_judge(const mg_tilings *t, int which, const int64_t *tile);
/* MCFuser's equations 2 to 5, in microseconds: (t_mem + t_comp)(blocks + SMs)/blocks; *shared (may be NULL) is the
   bytes of all tiles, of those that are cached over a loop all of them.  Negative if DEPENDENCE removes it. */
double mg_tiling_us(const mg_tilings *t, int which, const int64_t *tile, int64_t *shared);
/* The candidate as a µGraph of one kernel.  Ragged sizes are cut as mirage.h cuts them: in as many chunks as tile says,
   of equal size but for the last. */
mg_status mg_tiling_graph(const mg_tilings *t, int which, const int64_t *tile, mg_graph **out, mg_error *e);

/* For the search: at most `most` different planned µGraphs of one kernel for `program`, best first by mg_predict_us, no
   class of expressions having more than its equal share, rounded up: of each the tile sizes that the rules leave and
   equations 2 to 5 rank best.  All are ranked; where there are more than a million, every second size of the longest
   list is left out until there are not.  Here rule 2 and the dependence judge an expression without its dead loops:
   sizes for which these are the ones at fault stay.  What does not fit the GPU by mg_predict_us is left out.  graph and
   us have room for `most`; the graphs are the caller's.  MG_UNSUPPORTED as above; *n may be 0.  cfg.seconds and
   cfg.stop end it. */
mg_status mg_tilings_best(const mg_graph *program, const mg_tilings_config *cfg, int most, mg_graph **graph, double *us,
                          int *n, mg_error *e);

/* --------------------------------------------------------------------------------------------- >>threads-api

   Thread graphs by rule (Mirage paper, section 4.2).  R(id, name, pattern, condition): what may stand in one, and when
   operators of one scope, one of which uses another, join in one.  The predicates are mgi_th_<id> in >>threads. */
#define MG_THREAD_RULES(R)                                                                                             \
  R(ELEMENTWISE, "elementwise", "f(x), f(x, y)",          "f is an elementwise operator")                              \
  R(REDUCTION,   "reduction",   "sum(x, d), max(x, d)",   "a thread holds all of d: at most 128 elements")             \
  R(EVEN,        "even",        "any",                    "no tensor is cut unevenly")                                 \
  R(BROADCAST,   "broadcast",   "any",                    "every extent is 1 or that of the largest tensor")           \
  R(FRAGMENT,    "fragment",    "with sum(x, d)",         "another dimension is left for the threads to cut")          \
  R(SIGNATURE,   "signature",   "any",                    "at most 64 tensors come in, and 1 to 8 go out")             \
  R(ORDER,       "order",       "any",                    "nothing outside needs one of them and is needed by another")

typedef struct mg_thread_rule { const char *name, *pattern, *condition; } mg_thread_rule;
int mg_thread_rule_count(void);
const mg_thread_rule *mg_thread_rule_at(int k); /* NULL if there is none */

/* A copy of ugraph in which every maximal chain of two or more operators that the rows let join, within one scope of a
   block graph (of at most 128 operators), is a thread graph.  Its threads cut the dimensions that no operator in it
   reduces, with at most the block's number of threads.  *joined (may be NULL) counts the operators that went into
   thread graphs.  Fusing again changes nothing; mg_inline_threads undoes it. */
mg_status mg_fuse_threads(const mg_graph *ugraph, mg_graph **out, int *joined, mg_error *e);

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_SEARCH_H */

#if defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_SEARCH_IMPLEMENTATION)
#ifndef MIRAGE_SEARCH_IMPLEMENTED
#define MIRAGE_SEARCH_IMPLEMENTED

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's flag: another thread, or a signal's handler, may set it at any time. */
MGI_FN int mgi_se_flag(volatile int *stop) {
#if defined(__GNUC__) || defined(__clang__)
  return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
#else
  return stop && *stop;
#endif
}
MGI_FN int mgi_se_stopped(const mg_search_config *c) { return mgi_se_flag(c->stop); }

MGI_FN double mgi_se_seconds(void) { return mgi_seconds(); }

MGI_FN int64_t mgi_se_ns(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

MGI_FN uint64_t mgi_se_mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  h *= 0xFF51AFD7ED558CCDull;
  return h ^ h >> 32;
}

/* ------------------------------------------------------------------------------------------------- >>egraph

   Nodes are hash-consed in `memo` (open addressing over node indices).  Classes are a union-find over the ids that
   nodes were born with.  A union leaves nodes with children that are no representatives; rebuild canonicalises all
   nodes, merges the classes of those that became equal, drops the copies, and repeats until nothing merges.
   Invariant after rebuild: every node's children and class are representatives, no two nodes are equal, and `first`
   and `next` chain the nodes of each class.  Frozen: the same, for good.                                          */

typedef struct mgi_se_enode { uint32_t op, attr, a, b, cls, next; } mgi_se_enode;

struct mg_egraph {
  mgi_se_enode *node;
  uint32_t n, cap;
  uint32_t *uf, *first, *stamp, n_cls, cap_cls; /* uf[0] unused; stamp: the round that last changed a class */
  uint32_t round;
  double axiom_us[MG_AXIOM_TIMES], closure_us[4];
  uint32_t *memo, memo_cap;             /* node index + 1 */
  uint64_t *filter;                     /* frozen: of 6 bits and more a node those that nodes hash to; what misses them
                                           is no node.  NULL: there is none */
  uint32_t filter_mask;
  mg_eattr *attr;
  uint32_t n_attr, cap_attr, *attr_memo, attr_memo_cap;
  int frozen, oom;
};

MGI_FN void *mgi_se_grow(void *p, uint32_t *cap, uint32_t need, size_t elem) {
  if (need <= *cap) return p;
  uint32_t c = *cap ? *cap : 64;
  while (c < need) c *= 2;
  void *q = realloc(p, c * elem);
  if (q) *cap = c;
  return q;
}

/* The attribute's index + 1; 0 if it is not there and add is 0, or memory is out. */
MGI_FN uint32_t mgi_se_eattr_id(mg_egraph *eg, mg_eattr at, int add) {
  if (!at.a && !at.b && eg->n_attr) return 1; /* the first of all: none */
  uint32_t mask = eg->attr_memo_cap - 1, h = (uint32_t)mgi_se_mix(mgi_se_mix(7, (uint64_t)at.a), (uint64_t)at.b) & mask;
  for (; eg->attr_memo[h]; h = (h + 1) & mask) {
    const mg_eattr *k = &eg->attr[eg->attr_memo[h] - 1];
    if (k->a == at.a && k->b == at.b) return eg->attr_memo[h];
  }
  if (!add) return 0;
  mg_eattr *p = (mg_eattr *)mgi_se_grow(eg->attr, &eg->cap_attr, eg->n_attr + 1, sizeof *p);
  if (!p) { eg->oom = 1; return 0; }
  eg->attr = p;
  eg->attr[eg->n_attr++] = at;
  eg->attr_memo[h] = eg->n_attr;
  if (eg->n_attr * 2 > eg->attr_memo_cap) {
    uint32_t cap = eg->attr_memo_cap * 2, *m = (uint32_t *)calloc(cap, sizeof *m);
    if (!m) { eg->oom = 1; return eg->n_attr; }
    for (uint32_t k = 0; k < eg->n_attr; k++) {
      uint32_t j = (uint32_t)mgi_se_mix(mgi_se_mix(7, (uint64_t)eg->attr[k].a), (uint64_t)eg->attr[k].b) & (cap - 1);
      while (m[j]) j = (j + 1) & (cap - 1);
      m[j] = k + 1;
    }
    free(eg->attr_memo);
    eg->attr_memo = m, eg->attr_memo_cap = cap;
  }
  return eg->n_attr;
}

mg_egraph *mg_egraph_new(void) {
  mg_egraph *eg = (mg_egraph *)calloc(1, sizeof *eg);
  mg_eattr none = { 0, 0 };
  if (!eg) return NULL;
  eg->n_cls = 1;
  eg->memo_cap = 256, eg->attr_memo_cap = 256;
  eg->memo = (uint32_t *)calloc(eg->memo_cap, sizeof *eg->memo);
  eg->attr_memo = (uint32_t *)calloc(eg->attr_memo_cap, sizeof *eg->attr_memo);
  eg->uf = (uint32_t *)calloc(64, sizeof *eg->uf);
  eg->first = (uint32_t *)calloc(64, sizeof *eg->first);
  eg->stamp = (uint32_t *)calloc(64, sizeof *eg->stamp);
  eg->cap_cls = 64;
  if (!eg->memo || !eg->attr_memo || !eg->uf || !eg->first || !eg->stamp || !mgi_se_eattr_id(eg, none, 1)) {
    mg_egraph_free(eg);
    return NULL;
  }
  return eg;
}

void mg_egraph_free(mg_egraph *eg) {
  if (!eg) return;
  free(eg->node), free(eg->uf), free(eg->first), free(eg->stamp), free(eg->memo), free(eg->filter), free(eg->attr),
      free(eg->attr_memo), free(eg);
}

uint32_t mg_egraph_find(const mg_egraph *eg, uint32_t id) {
  if (id == 0 || id >= eg->n_cls) return 0;
  while (eg->uf[id] != id) id = eg->uf[id];
  return id;
}

MGI_FN uint32_t mgi_se_ehash(uint32_t op, uint32_t attr, uint32_t a, uint32_t b) {
  uint64_t h = ((uint64_t)op << 56 ^ (uint64_t)attr << 40) + ((uint64_t)a << 20 ^ b);
  h = (h ^ h >> 31) * 0x9E3779B97F4A7C15ull;
  return (uint32_t)(h >> 29 ^ h >> 47);
}

/* The slot of the memo where the node is or would be. */
MGI_FN uint32_t mgi_se_eslot(const mg_egraph *eg, uint32_t op, uint32_t attr, uint32_t a, uint32_t b) {
  uint32_t mask = eg->memo_cap - 1, h = mgi_se_ehash(op, attr, a, b) & mask;
  for (; eg->memo[h]; h = (h + 1) & mask) {
    const mgi_se_enode *k = &eg->node[eg->memo[h] - 1];
    if (k->op == op && k->attr == attr && k->a == a && k->b == b) break;
  }
  return h;
}

MGI_FN int mgi_se_ememo(mg_egraph *eg, uint32_t want) {
  uint32_t cap = eg->memo_cap;
  while (cap < want * 2 + 16) cap *= 2;
  uint32_t *m = (uint32_t *)calloc(cap, sizeof *m);
  if (!m) { eg->oom = 1; return 0; }
  free(eg->memo);
  eg->memo = m, eg->memo_cap = cap;
  for (uint32_t k = 0; k < eg->n; k++) {
    const mgi_se_enode *x = &eg->node[k];
    eg->memo[mgi_se_eslot(eg, x->op, x->attr, x->a, x->b)] = k + 1;
  }
  return 1;
}

MGI_FN uint32_t mgi_se_eadd(mg_egraph *eg, uint32_t op, uint32_t attr, uint32_t a, uint32_t b) {
  a = mg_egraph_find(eg, a), b = mg_egraph_find(eg, b);
  uint32_t h = mgi_se_eslot(eg, op, attr, a, b);
  if (eg->memo[h]) return mg_egraph_find(eg, eg->node[eg->memo[h] - 1].cls);
  if (eg->frozen || eg->oom) return 0;
  mgi_se_enode *p = (mgi_se_enode *)mgi_se_grow(eg->node, &eg->cap, eg->n + 1, sizeof *p);
  if (!p) { eg->oom = 1; return 0; }
  eg->node = p;
  if (eg->n_cls + 1 > eg->cap_cls) {
    uint32_t c1 = eg->cap_cls, c2 = eg->cap_cls, c3 = eg->cap_cls;
    uint32_t *u = (uint32_t *)mgi_se_grow(eg->uf, &c1, eg->n_cls + 1, sizeof *u);
    if (u) eg->uf = u;
    uint32_t *f = (uint32_t *)mgi_se_grow(eg->first, &c2, eg->n_cls + 1, sizeof *f);
    if (f) eg->first = f;
    uint32_t *t = (uint32_t *)mgi_se_grow(eg->stamp, &c3, eg->n_cls + 1, sizeof *t);
    if (t) eg->stamp = t;
    if (!u || !f || !t) { eg->oom = 1; return 0; }
    eg->cap_cls = c1;
  }
  uint32_t c = eg->n_cls++;
  mgi_se_enode x = { op, attr, a, b, c, 0 };
  eg->uf[c] = c, eg->stamp[c] = eg->round;
  eg->node[eg->n++] = x;
  eg->first[c] = eg->n;
  eg->memo[h] = eg->n;
  if (eg->n * 2 > eg->memo_cap && !mgi_se_ememo(eg, eg->n * 2)) return 0;
  return c;
}

uint32_t mg_egraph_add(mg_egraph *eg, mg_eop op, mg_eattr attr, uint32_t a, uint32_t b) {
  if (!eg || (unsigned)op >= MG_E_COUNT || eg->frozen) return 0;
  uint32_t id = mgi_se_eattr_id(eg, attr, 1);
  return id ? mgi_se_eadd(eg, (uint32_t)op, id, a, b) : 0;
}

int mg_egraph_union(mg_egraph *eg, uint32_t a, uint32_t b) {
  a = mg_egraph_find(eg, a), b = mg_egraph_find(eg, b);
  if (!a || !b || a == b) return 0;
  if (a > b) { uint32_t t = a; a = b; b = t; } /* the older id stands for both: deterministic */
  eg->uf[b] = a, eg->stamp[a] = eg->round;
  return 1;
}

void mg_egraph_rebuild(mg_egraph *eg) {
  for (int again = 1; again && !eg->oom;) {
    again = 0;
    for (uint32_t c = 1; c < eg->n_cls; c++) eg->uf[c] = mg_egraph_find(eg, c); /* parents precede: flat in one pass */
    memset(eg->memo, 0, eg->memo_cap * sizeof *eg->memo);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < eg->n; k++) {
      mgi_se_enode x = eg->node[k];
      uint32_t a = x.a, b = x.b;
      x.a = x.a ? mg_egraph_find(eg, x.a) : 0;
      x.b = x.b ? mg_egraph_find(eg, x.b) : 0;
      x.cls = mg_egraph_find(eg, x.cls);
      if (x.a != a || x.b != b) eg->stamp[x.cls] = eg->round;
      uint32_t h = mgi_se_eslot(eg, x.op, x.attr, x.a, x.b);
      if (eg->memo[h]) again |= mg_egraph_union(eg, eg->node[eg->memo[h] - 1].cls, x.cls);
      else {
        eg->node[kept++] = x;
        eg->memo[h] = kept;
      }
    }
    eg->n = kept;
  }
  memset(eg->first, 0, eg->n_cls * sizeof *eg->first);
  for (uint32_t k = eg->n; k-- > 0;) {
    mgi_se_enode *x = &eg->node[k];
    x->cls = mg_egraph_find(eg, x->cls);
    x->next = eg->first[x->cls];
    eg->first[x->cls] = k + 1;
  }
}

/* Most candidates are no subexpressions, and the table of the nodes outgrows a core's cache: one bit says so of 7 in
   8. */
MGI_FN void mgi_se_efreeze(mg_egraph *eg) {
  uint32_t bits = 1024;
  eg->frozen = 1;
  free(eg->filter);
  while (bits / 6 < eg->n && bits < (uint32_t)1 << 31) bits *= 2;
  eg->filter = (uint64_t *)calloc(bits / 64, sizeof *eg->filter), eg->filter_mask = bits - 1;
  for (uint32_t k = 0; k < eg->n && eg->filter; k++) { /* without memory it does without */
    const mgi_se_enode *x = &eg->node[k];
    uint32_t h = mgi_se_ehash(x->op, x->attr, x->a, x->b) & eg->filter_mask;
    eg->filter[h / 64] |= (uint64_t)1 << h % 64;
  }
}
void mg_egraph_freeze(mg_egraph *eg) {
  mg_egraph_rebuild(eg);
  mgi_se_efreeze(eg);
}

uint32_t mg_egraph_probe(const mg_egraph *eg, mg_eop op, mg_eattr attr, uint32_t a, uint32_t b) {
  uint32_t id = mgi_se_eattr_id((mg_egraph *)eg, attr, 0);
  if (!id) return 0;
  if (eg->filter) {
    uint32_t bit = mgi_se_ehash((uint32_t)op, id, a, b) & eg->filter_mask;
    if (!(eg->filter[bit / 64] >> bit % 64 & 1)) return 0;
  }
  uint32_t h = mgi_se_eslot(eg, (uint32_t)op, id, a, b);
  return eg->memo[h] ? mg_egraph_find(eg, eg->node[eg->memo[h] - 1].cls) : 0;
}

uint32_t mg_egraph_nodes(const mg_egraph *eg) { return eg->n; }
uint32_t mg_egraph_classes(const mg_egraph *eg) {
  uint32_t n = 0;
  for (uint32_t c = 1; c < eg->n_cls; c++) n += eg->uf[c] == c;
  return n;
}
uint32_t mg_egraph_node(const mg_egraph *eg, uint32_t k, mg_eop *op, mg_eattr *attr, uint32_t child[2]) {
  if (k >= eg->n) return 0;
  const mgi_se_enode *x = &eg->node[k];
  *op = (mg_eop)x->op, *attr = eg->attr[x->attr - 1];
  child[0] = mg_egraph_find(eg, x->a), child[1] = mg_egraph_find(eg, x->b);
  return mg_egraph_find(eg, x->cls);
}

/* ----------------------------------------------------------------------------------------------- >>patterns

   A pattern is a tree in an array: variables x y z w (terms), attribute expressions over i j c d.                  */

static const mg_axiom mgi_se_axioms[] = {
#define MGI_X(name, left, right, equation) { #name, left, right, equation },
  MG_AXIOMS(MGI_X)
#undef MGI_X
  { NULL, NULL, NULL, NULL }
};
enum {
  MGI_SE_BUILTIN_AXIOMS = 0
#define MGI_X(name, left, right, equation) + 1
  MG_BUILTIN_AXIOMS(MGI_X)
#undef MGI_X
};
int mg_axiom_count(void) { return (int)(sizeof mgi_se_axioms / sizeof *mgi_se_axioms) - 1; }
const mg_axiom *mg_axiom_at(int k) { return k >= 0 && k < mg_axiom_count() ? &mgi_se_axioms[k] : NULL; }

enum { MGI_SE_PAT_MAX = 16, MGI_SE_PAT_VARS = 26 };
typedef struct mgi_se_pnode {
  int var;           /* 0..25: a variable; else -1 */
  uint32_t op, key;  /* key: attribute id of an opaque function */
  int kid[2];        /* -1: none */
  int at[2], how;    /* attribute variables; how: 0 none, 1 at[0], 2 at[0]*at[1], 3 1/at[0], 4 at[0]/at[1] */
} mgi_se_pnode;
typedef struct mgi_se_pattern { mgi_se_pnode n[MGI_SE_PAT_MAX]; int count, root; } mgi_se_pattern;

MGI_FN uint64_t mgi_se_name_key(const char *s, size_t n) {
  uint64_t h = 1469598103934665603ull;
  for (size_t k = 0; k < n; k++) h = (h ^ (unsigned char)s[k]) * 1099511628211ull;
  return h;
}
MGI_FN mg_eattr mgi_se_opaque_attr(mg_opcode op, uint64_t extra) {
  const char *name = mg_op_row(op)->name;
  mg_eattr a = { (int64_t)mgi_se_mix(mgi_se_name_key(name, strlen(name)), extra), 1 };
  return a;
}

/* Returns the node's index, or -1 and sets *e. */
MGI_FN int mgi_se_pattern_parse(mg_egraph *eg, mgi_se_pattern *p, const char **s, mg_error *e) {
  static const char *const names[MG_E_COUNT] = {
    "", "add", "mul", "div", "exp", "scale", "add_scalar", "sum", "max", ""
  };
  const char *b = *s;
  size_t n = 0;
  while ((b[n] >= 'a' && b[n] <= 'z') || b[n] == '_' || (n && b[n] >= '0' && b[n] <= '9')) n++;
  if (!n || p->count == MGI_SE_PAT_MAX) {
    mg_fail(e, MG_BAD_INPUT, "axioms", "expected a term at '%.32s'", b);
    return -1;
  }
  mgi_se_pnode x;
  memset(&x, 0, sizeof x);
  x.var = -1, x.kid[0] = x.kid[1] = -1;
  *s = b + n;
  if (n == 1 && **s != '(' && **s != '[') {
    x.var = b[0] - 'a';
    p->n[p->count] = x;
    return p->count++;
  }
  for (uint32_t k = 1; k < MG_E_COUNT; k++)
    if (strlen(names[k]) == n && !memcmp(names[k], b, n)) x.op = k;
  int operands = x.op == MG_E_ADD || x.op == MG_E_MUL || x.op == MG_E_DIV ? 2 : 1, attribute = x.op >= MG_E_SCALE;
  if (!x.op) {
    mg_opcode op = mg_op_find(b, n);
    if (op == MG_OP_NONE) { mg_fail(e, MG_BAD_INPUT, "axioms", "'%.*s' is no operator", (int)n, b); return -1; }
    /* such a term would match nothing */
    if (mg_op_row(op)->abstract != MG_ABS_OPAQUE || mg_op_row(op)->attr != MG_ATTR_NONE || mg_op_row(op)->n_in > 2) {
      mg_fail(
          e, MG_BAD_INPUT, "axioms",
          "'%.*s' is no term of the e-graph: they are add, mul, div, exp, scale, add_scalar, sum, max and OPAQUE rows without an attribute",
          (int)n, b);
      return -1;
    }
    operands = mg_op_row(op)->n_in;
    x.op = MG_E_OPAQUE, x.key = mgi_se_eattr_id(eg, mgi_se_opaque_attr(op, 0), 1);
  }
  if (**s == '[') {
    const char *q = *s + 1;
    if (q[0] == '1' && q[1] == '/') x.how = 3, x.at[0] = q[2] - 'a', q += 3;
    else if (q[0] && q[1] == '*') x.how = 2, x.at[0] = q[0] - 'a', x.at[1] = q[2] - 'a', q += 3;
    else if (q[0] && q[1] == '/') x.how = 4, x.at[0] = q[0] - 'a', x.at[1] = q[2] - 'a', q += 3;
    else if (q[0]) x.how = 1, x.at[0] = q[0] - 'a', q += 1;
    if (*q != ']' || x.at[0] < 0 || x.at[0] > 25 || x.at[1] < 0 || x.at[1] > 25) {
      mg_fail(e, MG_BAD_INPUT, "axioms", "expected [attribute] at '%.32s'", *s);
      return -1;
    }
    *s = q + 1;
  }
  if (attribute != (x.how != 0)) {
    mg_fail(e, MG_BAD_INPUT, "axioms", "expected %s at '%.32s'", attribute ? "[attribute]" : "'('", b + n);
    return -1;
  }
  if (**s != '(') { mg_fail(e, MG_BAD_INPUT, "axioms", "expected '(' at '%.32s'", *s); return -1; }
  int self = p->count++;
  for (int k = 0; k < operands; k++) {
    ++*s;
    x.kid[k] = mgi_se_pattern_parse(eg, p, s, e);
    if (x.kid[k] < 0) return -1;
    if (**s != (k + 1 < operands ? ',' : ')')) {
      mg_fail(e, MG_BAD_INPUT, "axioms", "expected '%c' at '%.32s'", k + 1 < operands ? ',' : ')', *s);
      return -1;
    }
  }
  ++*s;
  p->n[self] = x;
  return self;
}

typedef struct mgi_se_bind { uint32_t term[MGI_SE_PAT_VARS], attr[MGI_SE_PAT_VARS]; } mgi_se_bind;
/* deep: of more than two levels */
typedef struct mgi_se_rule { mgi_se_pattern from, to; int axiom, copies, deep; uint64_t applied; } mgi_se_rule;

/* How often each variable occurs; term variables in t, attribute variables in a; sets whether attributes are
   computed. */
MGI_FN int mgi_se_pattern_vars(const mgi_se_pattern *p, int *t, int *a) {
  int computed = 0;
  memset(t, 0, MGI_SE_PAT_VARS * sizeof *t), memset(a, 0, MGI_SE_PAT_VARS * sizeof *a);
  for (int k = 0; k < p->count; k++) {
    if (p->n[k].var >= 0) t[p->n[k].var]++;
    else if (p->n[k].how) {
      a[p->n[k].at[0]]++;
      if (p->n[k].how == 2 || p->n[k].how == 4) a[p->n[k].at[1]]++;
      computed |= p->n[k].how > 1;
    }
  }
  return computed;
}

/* ---------------------------------------------------------------------------------------------- >>saturation

   Each round collects the matches of all rules over the clean e-graph, applies them, then rebuilds once.  A pattern of
   two levels at a node sees the node and its children's classes: where the last round changed none of these, it matches
   what it matched before, and is not tried.  Nodes, the clock and the caller's flag are checked inside both
   loops.       */

typedef struct mgi_se_matcher {
  mg_egraph *eg;
  const mgi_se_rule *rule;
  uint32_t rule_index, cls;
  mgi_se_bind bind;
  struct { int pnode; uint32_t cls; } todo[MGI_SE_PAT_MAX];
  uint32_t *hit;          /* packed matches: rule, class, terms and attributes of the variables in use */
  uint32_t n_hit, cap_hit;
  int oom;
  double end;             /* on the clock */
  volatile int *stop;
  uint32_t steps;
  mg_saturation outcome;
} mgi_se_matcher;

enum { MGI_SE_HIT = 14 }; /* words a match: rule, class, 8 terms, 4 attributes */
static const char mgi_se_hit_vars[] = "wxyzabuv";
static const char mgi_se_hit_attrs[] = "ijcd";

MGI_FN void mgi_se_emit_match(mgi_se_matcher *M) {
  uint32_t *p = (uint32_t *)mgi_se_grow(M->hit, &M->cap_hit, M->n_hit + MGI_SE_HIT, sizeof *p);
  if (!p) { M->oom = 1; return; }
  M->hit = p;
  p += M->n_hit;
  *p++ = M->rule_index, *p++ = M->cls;
  for (int k = 0; k < 8; k++) *p++ = M->bind.term[mgi_se_hit_vars[k] - 'a'];
  for (int k = 0; k < 4; k++) *p++ = M->bind.attr[mgi_se_hit_attrs[k] - 'a'];
  M->n_hit += MGI_SE_HIT;
}

/* 1: it is over.  The clock is read every so many steps. */
MGI_FN int mgi_se_ematch_over(mgi_se_matcher *M) {
  if (++M->steps & 1023 || M->outcome != MG_SATURATED) return M->outcome != MG_SATURATED;
  if (mgi_se_seconds() > M->end) M->outcome = MG_TIME;
  else if (mgi_se_flag(M->stop)) M->outcome = MG_STOPPED;
  return M->outcome != MG_SATURATED;
}

MGI_FN void mgi_se_ematch(mgi_se_matcher *M, int depth) {
  if (M->oom || mgi_se_ematch_over(M)) return;
  if (!depth) { mgi_se_emit_match(M); return; }
  int k = M->todo[depth - 1].pnode;
  uint32_t cls = M->todo[depth - 1].cls;
  const mgi_se_pnode *q = &M->rule->from.n[k];
  if (q->var >= 0) {
    uint32_t was = M->bind.term[q->var];
    if (was && was != cls) return;
    M->bind.term[q->var] = cls;
    mgi_se_ematch(M, depth - 1);
    M->bind.term[q->var] = was;
  } else {
    for (uint32_t i = M->eg->first[cls]; i; i = M->eg->node[i - 1].next) {
      const mgi_se_enode *x = &M->eg->node[i - 1];
      if (x->op != q->op || (q->key && x->attr != q->key)) continue;
      uint32_t *slot = q->how ? &M->bind.attr[q->at[0]] : NULL, was = slot ? *slot : 0;
      if (slot && was && was != x->attr) continue;
      if (slot) *slot = x->attr;
      int d = depth - 1;
      if (q->kid[1] >= 0) M->todo[d].pnode = q->kid[1], M->todo[d++].cls = x->b;
      if (q->kid[0] >= 0) M->todo[d].pnode = q->kid[0], M->todo[d++].cls = x->a;
      mgi_se_ematch(M, d);
      if (slot) *slot = was;
      M->todo[depth - 1].pnode = k, M->todo[depth - 1].cls = cls;
    }
  }
  M->todo[depth - 1].pnode = k, M->todo[depth - 1].cls = cls;
}

/* The class of the pattern under the binding, built where it is not there; 0 if an attribute overflows. */
MGI_FN uint32_t mgi_se_instantiate(mg_egraph *eg, const mgi_se_pattern *p, int k, const mgi_se_bind *b) {
  const mgi_se_pnode *q = &p->n[k];
  if (q->var >= 0) return b->term[q->var];
  uint32_t attr = q->key;
  if (!attr && q->how <= 1) {
    mg_eattr none = { 0, 0 };
    attr = q->how ? b->attr[q->at[0]] : mgi_se_eattr_id(eg, none, 1);
  } else if (!attr) {
    mg_eattr l = eg->attr[b->attr[q->at[0]] - 1], r = l;
    if (q->how != 3) r = eg->attr[b->attr[q->at[1]] - 1];
    mg_rational x = { l.a, l.b }, y = { r.a, r.b }, o = { 0, 0 };
    if (q->how == 3) o = mg_rat(x.den, x.num);
    else if (q->how == 2 || (y = mg_rat(y.den, y.num)).den) { if (!mg_rat_mul(x, y, &o)) return 0; }
    if (!o.den) return 0;
    mg_eattr at = { o.num, o.den };
    attr = mgi_se_eattr_id(eg, at, 1);
  }
  uint32_t a = 0, c = 0;
  if (q->kid[0] >= 0 && !(a = mgi_se_instantiate(eg, p, q->kid[0], b))) return 0;
  if (q->kid[1] >= 0 && !(c = mgi_se_instantiate(eg, p, q->kid[1], b))) return 0;
  return attr ? mgi_se_eadd(eg, q->op, attr, a, c) : 0;
}

const char *mg_saturation_name(mg_saturation s) {
  return s == MG_SATURATED ? "SATURATED" : s == MG_NODES ? "NODES" : s == MG_TIME ? "TIME" : "STOPPED";
}

MGI_FN int mgi_se_rules(mg_egraph *eg, mgi_se_rule *rule, mg_error *e) {
  int n = 0;
  for (const mg_axiom *a = mgi_se_axioms; a->name; a++) {
    mgi_se_pattern side[2];
    int t[2][MGI_SE_PAT_VARS], v[2][MGI_SE_PAT_VARS], computed[2];
    for (int k = 0; k < 2; k++) {
      const char *s = k ? a->right : a->left;
      memset(&side[k], 0, sizeof side[k]);
      side[k].root = mgi_se_pattern_parse(eg, &side[k], &s, e);
      if (side[k].root < 0) return -1;
      if (*s) { mg_fail(e, MG_BAD_INPUT, "axioms", "axiom %s: '%.32s' is left over", a->name, s); return -1; }
      computed[k] = mgi_se_pattern_vars(&side[k], t[k], v[k]);
    }
    for (int k = 0; k < 2; k++) { /* from side k to the other */
      int bound = !computed[k] && side[k].n[side[k].root].var < 0, copies = 0;
      for (int c = 0; c < MGI_SE_PAT_VARS; c++) {
        if ((t[1 - k][c] && !t[k][c]) || (v[1 - k][c] && !v[k][c])) bound = 0;
        if (t[1 - k][c] > t[k][c]) copies = 1;
        if ((t[k][c] && !strchr(mgi_se_hit_vars, 'a' + c)) || (v[k][c] && !strchr(mgi_se_hit_attrs, 'a' + c))) {
          mg_fail(e, MG_BAD_INPUT, "axioms", "axiom %s: variables are of \"%s\", attributes of \"%s\"", a->name,
                  mgi_se_hit_vars, mgi_se_hit_attrs);
          return -1;
        }
      }
      if (!bound) continue;
      rule[n].from = side[k], rule[n].to = side[1 - k], rule[n].copies = copies, rule[n].applied = 0, rule[n].deep = 0,
      rule[n].axiom = (int)(a - mgi_se_axioms);
      for (int q = 0; q < side[k].count; q++)
        for (int j = 0; j < 2 && q != side[k].root && side[k].n[q].var < 0; j++)
          if (side[k].n[q].kid[j] >= 0 && side[k].n[side[k].n[q].kid[j]].var < 0) rule[n].deep = 1;
      n++;
    }
  }
  return n;
}

mg_status mg_egraph_saturate(mg_egraph *eg, const mg_egraph_limits *limits, mg_saturation *outcome, mg_error *e) {
  uint32_t max_nodes = limits && limits->nodes ? limits->nodes : 20000;
  *outcome = MG_SATURATED;
  mgi_se_rule *rule = (mgi_se_rule *)malloc(2 * (size_t)(mg_axiom_count() + 1) * sizeof *rule);
  if (!rule) return mg_fail(e, MG_NO_MEMORY, "mg_egraph_saturate", "no memory for the rules");
  int n_rules = mgi_se_rules(eg, rule, e);
  if (n_rules < 0) { free(rule); return MG_BAD_INPUT; }
  mgi_se_matcher M;
  memset(&M, 0, sizeof M);
  M.eg = eg, M.stop = limits ? limits->stop : NULL;
  M.end = mgi_se_seconds() + (limits && limits->seconds > 0 ? limits->seconds : 10.0);
  mg_egraph_rebuild(eg);
  for (int phase = 0; phase < (limits && limits->no_copies ? 1 : 2) && M.outcome == MG_SATURATED; phase++) {
    uint32_t since = 0; /* everything is new to a phase */
    for (int changed = 1; changed && M.outcome == MG_SATURATED && !eg->oom && !M.oom; since = eg->round) {
      changed = 0;
      M.n_hit = 0;
      eg->round++;
      for (uint32_t r = 0; r < (uint32_t)n_rules && M.outcome == MG_SATURATED; r++) {
        double rule_t0 = mgi_se_seconds();
        if (rule[r].copies > phase) continue;
        M.rule = &rule[r], M.rule_index = r;
        uint32_t op = rule[r].from.n[rule[r].from.root].op;
        for (uint32_t k = 0; k < eg->n && M.outcome == MG_SATURATED; k++) {
          const mgi_se_enode *x = &eg->node[k];
          const mgi_se_pnode *q = &rule[r].from.n[rule[r].from.root];
          if (x->op != op || (q->key && x->attr != q->key)) continue;
          if (!rule[r].deep && eg->stamp[x->cls] < since && (!x->a || eg->stamp[x->a] < since) &&
              (!x->b || eg->stamp[x->b] < since))
            continue;
          memset(&M.bind, 0, sizeof M.bind);
          if (q->how) M.bind.attr[q->at[0]] = x->attr;
          M.cls = x->cls;
          int d = 0;
          if (q->kid[1] >= 0) M.todo[d].pnode = q->kid[1], M.todo[d++].cls = x->b;
          if (q->kid[0] >= 0) M.todo[d].pnode = q->kid[0], M.todo[d++].cls = x->a;
          mgi_se_ematch(&M, d);
        }
        if (rule[r].axiom < MG_AXIOM_TIMES) eg->axiom_us[rule[r].axiom] += 1e6 * (mgi_se_seconds() - rule_t0);
      }
      for (uint32_t m = 0; m < M.n_hit && !mgi_se_ematch_over(&M); m += MGI_SE_HIT) {
        const uint32_t *p = M.hit + m;
        mgi_se_bind b;
        for (int k = 0; k < 8; k++) b.term[mgi_se_hit_vars[k] - 'a'] = p[2 + k];
        for (int k = 0; k < 4; k++) b.attr[mgi_se_hit_attrs[k] - 'a'] = p[10 + k];
        uint32_t before = eg->n_cls, c = mgi_se_instantiate(eg, &rule[p[0]].to, rule[p[0]].to.root, &b);
        if (eg->n_cls != before) changed = 1;
        if (c && mg_egraph_union(eg, c, p[1])) changed = 1, rule[p[0]].applied++;
        if (eg->n > max_nodes) M.outcome = MG_NODES;
      }
      mg_egraph_rebuild(eg);
    }
  }
  free(M.hit), free(rule);
  *outcome = M.outcome;
  if (eg->oom || M.oom) return mg_fail(e, MG_NO_MEMORY, "mg_egraph_saturate", "no memory for the e-graph");
  return MG_OK;
}

/* ----------------------------------------------------------------------------------------------- >>polynomials

   The closure of a program's expressions, written down at once instead of found by rewriting.
   Under the axioms every expression is a multiset of monomials, and a monomial a multiset of atoms: inputs, functions
   of expressions, inverses of atoms, constants (scale), factors of sums; and K_d, a monomial that stands for `+ d`.
     add        unites the multisets of monomials                            add_comm, add_assoc
     mul        unites the atoms, every monomial with every monomial         mul_*, mul_add
     div        by a monomial: joins the inverses of its atoms; by several: what they share, and one inverse of the rest
                                                                             div_*, mul_div
     sum, scale join one atom to every monomial                              sum_*, scale_*, div_scale
     add_scalar joins K_d; scale c makes K_d K_(c d)                          shift_*
   Each axiom's two sides have the same normal form, and each step above is an instance of an axiom, so two expressions
   are equal under the axioms iff their normal forms are (constants are kept as factors: 6 is not taken for 2 * 3).

   Lemma.  Let T be a normal form.  E is a part of an expression equal to T, outside of its atoms, iff a monomial M, or
   none, has E M inside T as multisets.  Proof.  What surrounds E up to the next atom is add, mul, div, sum and scale;
   each is linear, so the whole is E C + R for sums of monomials C and R; all coefficients being positive, E M lies in T
   for every monomial M of C.  Conversely E M + (T - E M) is an expression equal to T, if M can be joined: a factor of a
   sum under an inverse needs something in that denominator that it sums (requirement 1).  Within atoms the lemma holds
   for their arguments, and for denominators: for the product of all inverses of a monomial, of which the others are
   parts.

   Indices.  The axioms let sum(i, x) y stand for sum(i, x y) whatever y's shape is; the elements are equal only if y
   does not have the dimension that is summed over.  Let T be of tensors without a dimension of size s, and a monomial
   of T have one sum over s.  Then all its atoms with such a dimension stand under that sum; a part that has the sum, or
   a factor of it, but not all these atoms has elements (X_i X_j for X_i X_i) that no monomial of T has, unless another
   one, equal but for its constants, cancels them.  So if T has no two such monomials, those parts are in no right
   µGraph, and are no classes.  Where the program sums over one class alone of those of size s, `such a dimension` is
   one of that class: T is without it, and the one sum has to do away with it, so that none is left for another class of
   that size.

   So the classes are the sub-multisets of T / M, for all T and M; each has as nodes its splits in two (add), its
   factorisations (mul), and what is left when an inverse, a sum or a constant is taken off.  A product of two
   polynomials is looked for among the pairs of those that share no atom, and the shared atoms go to either side in
   every way.  Requirements: (1) a class has an input or function in every monomial that is no K, and a sum or another
   inverse inverted only beside one.  (2) What has no such form is left to rewriting: max, products of shifted
   expressions, denominators of 4 or more monomials that might be products, user
   axioms.                                                             */

enum { MGI_SE_PL_DEG = 23, MGI_SE_PL_TERMS = 24, MGI_SE_PL_GOALS = 64 };
enum { MGI_SE_PL_VAR, MGI_SE_PL_FN, MGI_SE_PL_SUM, MGI_SE_PL_CONST, MGI_SE_PL_SHIFT, MGI_SE_PL_INV, MGI_SE_PL_INVP };
/* FN: of polynomials x, y; INV: of atom x; INVP: of polynomial x */
typedef struct mgi_se_patom { int kind; uint32_t op; mg_eattr at; uint32_t x, y; } mgi_se_patom;
/* sorted; unused places 0 */
typedef struct mgi_se_mono { uint8_t n, a[MGI_SE_PL_DEG]; } mgi_se_mono;
/* prim: first factorisation + 1 */
typedef struct mgi_se_poly { uint32_t at, n, cls, prim; } mgi_se_poly;
typedef struct mgi_se_pfact { uint32_t x, y, next; } mgi_se_pfact;
/* A class: of which polynomial; content, what its monomials share, and primitive, the polynomial left when that is
   taken out, 0 if it has but one monomial (both 0 if it has a K); where it stands among the sub-multisets of the
   polynomial that it was first found in: lattice and place. */
typedef struct mgi_se_pclass { uint32_t poly, content, primitive, lattice, place; } mgi_se_pclass;
typedef enum mgi_se_pl_fail { MGI_SE_PL_OK, MGI_SE_PL_NONE, MGI_SE_PL_MEMORY, MGI_SE_PL_NODES, MGI_SE_PL_TIME,
                             MGI_SE_PL_STOPPED } mgi_se_pl_fail;

typedef struct mgi_se_pl {
  mgi_se_patom atom[256];
  mgi_se_mono *mono;       /* [0] unused */
  mgi_se_poly *poly;       /* [0] unused */
  mgi_se_pclass *cls;      /* [0] unused */
  uint32_t *term, *mslot, *pslot, *stamp;
  uint32_t *lattice;       /* of each: how many different monomials, how often each is there, the classes of all its
                              sub-multisets */
  uint32_t *cslot, *sub;   /* cslot: classes by primitive and content; sub: room of mgi_se_pl_nodes */
  mgi_se_pfact *fact;
  uint32_t n_atom, n_mono, n_poly, n_term, n_cls, n_fact, n_lattice, cap_mono, cap_poly, cap_term, cap_stamp, cap_cls,
      cap_fact, cap_lattice, cap_sub, mcap, pcap, ccap, round;
  uint32_t goal[MGI_SE_PL_GOALS], n_goal, max_nodes;
  uint32_t has[256];       /* by atom: the size classes of which it has a dimension, as bits */
  uint32_t loose;          /* size classes for which some goal does not fulfil what `Indices` asks for */
  double end;              /* on the clock */
  volatile int *stop;
  uint32_t steps;
  mgi_se_pl_fail fail;
} mgi_se_pl;

/* 1: it is over.  The clock is read every so many steps, as mgi_se_ematch_over does; a step takes microseconds at
   most. */
MGI_FN int mgi_se_pl_over(mgi_se_pl *L) {
  if (L->fail || ++L->steps & 1023) return L->fail != MGI_SE_PL_OK;
  if (mgi_se_seconds() > L->end) L->fail = MGI_SE_PL_TIME;
  else if (mgi_se_flag(L->stop)) L->fail = MGI_SE_PL_STOPPED;
  return L->fail != MGI_SE_PL_OK;
}

MGI_FN uint32_t mgi_se_pl_atom(mgi_se_pl *L, int kind, uint32_t op, mg_eattr at, uint32_t x, uint32_t y) {
  for (uint32_t k = 0; k < L->n_atom; k++) {
    const mgi_se_patom *p = &L->atom[k];
    if (p->kind == kind && p->op == op && p->at.a == at.a && p->at.b == at.b && p->x == x && p->y == y) return k;
  }
  if (L->n_atom == 256) { L->fail = MGI_SE_PL_NONE; return 0; }
  mgi_se_patom *p = &L->atom[L->n_atom];
  p->kind = kind, p->op = op, p->at = at, p->x = x, p->y = y;
  return L->n_atom++;
}

MGI_FN uint32_t mgi_se_pl_hash(const void *p, size_t n) { /* of words */
  uint64_t h = n;
  const uint32_t *w = (const uint32_t *)p;
  for (size_t k = 0; k < n; k++) h = (h ^ w[k]) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
  return (uint32_t)(h ^ h >> 32);
}

/* The monomial's number; 0 if it is not there and add is 0. */
MGI_FN uint32_t mgi_se_pl_mono(mgi_se_pl *L, const mgi_se_mono *m, int add) {
  uint32_t w[sizeof *m / 4];
  memcpy(w, m, sizeof *m);
  uint32_t h = mgi_se_pl_hash(w, sizeof *m / 4) & (L->mcap - 1);
  for (; L->mslot[h]; h = (h + 1) & (L->mcap - 1)) if (!memcmp(&L->mono[L->mslot[h]], m, sizeof *m)) return L->mslot[h];
  if (!add || L->fail) return 0;
  mgi_se_mono *p = (mgi_se_mono *)mgi_se_grow(L->mono, &L->cap_mono, L->n_mono + 1, sizeof *p);
  if (p) L->mono = p;
  uint32_t *st = (uint32_t *)mgi_se_grow(L->stamp, &L->cap_stamp, L->n_mono + 1, sizeof *st);
  if (st) L->stamp = st;
  if (!p || !st) { L->fail = MGI_SE_PL_MEMORY; return 0; }
  L->mono[L->n_mono] = *m, L->stamp[L->n_mono] = 0;
  L->mslot[h] = L->n_mono++;
  if (L->n_mono * 2 > L->mcap) {
    uint32_t cap = L->mcap * 4, *s = (uint32_t *)calloc(cap, sizeof *s);
    if (!s) { L->fail = MGI_SE_PL_MEMORY; return L->n_mono - 1; }
    for (uint32_t k = 1; k < L->n_mono; k++) {
      memcpy(w, &L->mono[k], sizeof *m);
      uint32_t j = mgi_se_pl_hash(w, sizeof *m / 4) & (cap - 1);
      while (s[j]) j = (j + 1) & (cap - 1);
      s[j] = k;
    }
    free(L->mslot);
    L->mslot = s, L->mcap = cap;
  }
  return L->n_mono - 1;
}

/* The polynomial of n monomials, which are sorted on the way; 0 if it is not there and add is 0. */
MGI_FN uint32_t mgi_se_pl_poly(mgi_se_pl *L, uint32_t *t, uint32_t n, int add) {
  for (uint32_t i = 1; i < n; i++) {
    uint32_t x = t[i], j = i;
    for (; j && t[j - 1] > x; j--) t[j] = t[j - 1];
    t[j] = x;
  }
  uint32_t h = mgi_se_pl_hash(t, n) & (L->pcap - 1);
  for (; L->pslot[h]; h = (h + 1) & (L->pcap - 1)) {
    const mgi_se_poly *p = &L->poly[L->pslot[h]];
    if (p->n == n && !memcmp(L->term + p->at, t, n * sizeof *t)) return L->pslot[h];
  }
  if (!add || L->fail) return 0;
  mgi_se_poly *p = (mgi_se_poly *)mgi_se_grow(L->poly, &L->cap_poly, L->n_poly + 1, sizeof *p);
  if (p) L->poly = p;
  uint32_t *q = (uint32_t *)mgi_se_grow(L->term, &L->cap_term, L->n_term + n, sizeof *q);
  if (q) L->term = q;
  if (!p || !q || !n) { L->fail = p && q ? MGI_SE_PL_NONE : MGI_SE_PL_MEMORY; return 0; }
  memcpy(L->term + L->n_term, t, n * sizeof *t);
  p = &L->poly[L->n_poly];
  p->at = L->n_term, p->n = n, p->cls = p->prim = 0;
  L->n_term += n;
  L->pslot[h] = L->n_poly++;
  if (L->n_poly * 2 > L->pcap) {
    uint32_t cap = L->pcap * 4, *s = (uint32_t *)calloc(cap, sizeof *s);
    if (!s) { L->fail = MGI_SE_PL_MEMORY; return L->n_poly - 1; }
    for (uint32_t k = 1; k < L->n_poly; k++) {
      uint32_t j = mgi_se_pl_hash(L->term + L->poly[k].at, L->poly[k].n) & (cap - 1);
      while (s[j]) j = (j + 1) & (cap - 1);
      s[j] = k;
    }
    free(L->pslot);
    L->pslot = s, L->pcap = cap;
  }
  return L->n_poly - 1;
}

MGI_FN int mgi_se_pl_mul(mgi_se_mono *r, const mgi_se_mono *x, const mgi_se_mono *y) {
  mgi_se_mono o;
  memset(&o, 0, sizeof o);
  if (x->n + y->n > MGI_SE_PL_DEG) return 0;
  for (int i = 0, j = 0; o.n < x->n + y->n; o.n++)
    o.a[o.n] = j == y->n || (i < x->n && x->a[i] <= y->a[j]) ? x->a[i++] : y->a[j++];
  *r = o;
  return 1;
}
/* r = x / y; 0 if y is no part of x */
MGI_FN int mgi_se_pl_quo(mgi_se_mono *r, const mgi_se_mono *x, const mgi_se_mono *y) {
  mgi_se_mono o;
  int j = 0;
  memset(&o, 0, sizeof o);
  for (int i = 0; i < x->n; i++)
    if (j < y->n && y->a[j] == x->a[i]) j++;
    else o.a[o.n++] = x->a[i];
  *r = o;
  return j == y->n;
}
MGI_FN void mgi_se_pl_gcd(mgi_se_mono *g, const mgi_se_mono *x) {
  mgi_se_mono o;
  memset(&o, 0, sizeof o);
  for (int i = 0, j = 0; i < g->n && j < x->n;)
    if (g->a[i] == x->a[j]) o.a[o.n++] = g->a[i], i++, j++;
    else if (g->a[i] < x->a[j]) i++;
    else j++;
  *g = o;
}
MGI_FN int mgi_se_pl_is_k(const mgi_se_pl *L, const mgi_se_mono *m) {
  return m->n == 1 && L->atom[m->a[0]].kind == MGI_SE_PL_SHIFT;
}
MGI_FN int mgi_se_pl_has_k(const mgi_se_pl *L, uint32_t p) {
  for (uint32_t i = 0; i < L->poly[p].n; i++) if (mgi_se_pl_is_k(L, &L->mono[L->term[L->poly[p].at + i]])) return 1;
  return 0;
}
/* Requirement 1, of a class's monomial or, with whole 0, of what surrounds one. */
MGI_FN int mgi_se_pl_valid(const mgi_se_pl *L, const mgi_se_mono *m, int whole) {
  int up = 0, down = 0, odd = 0;
  for (int i = 0; i < m->n; i++) {
    const mgi_se_patom *a = &L->atom[m->a[i]];
    int inner = a->kind == MGI_SE_PL_INV ? L->atom[a->x].kind : -1;
    if (a->kind <= MGI_SE_PL_FN) up = 1;
    if (a->kind == MGI_SE_PL_INVP || (inner >= 0 && inner <= MGI_SE_PL_FN)) down = 1;
    else if (inner >= 0) odd = 1;
  }
  return (up || !whole) && (down || !odd);
}

/* The monomial that dividing by p joins. */
MGI_FN void mgi_se_pl_inverse(mgi_se_pl *L, uint32_t p, mgi_se_mono *r) {
  mg_eattr none = { 0, 0 };
  mgi_se_mono g = L->mono[L->term[L->poly[p].at]], t;
  uint32_t n = L->poly[p].n, rest[MGI_SE_PL_TERMS];
  memset(r, 0, sizeof *r);
  for (uint32_t i = 1; i < n; i++) mgi_se_pl_gcd(&g, &L->mono[L->term[L->poly[p].at + i]]);
  uint8_t out[MGI_SE_PL_DEG + 1];
  int n_out = 0;
  for (int i = 0; i < g.n; i++) {
    mgi_se_patom a = L->atom[g.a[i]];
    mg_eattr inv = { a.at.b, a.at.a };
    if (inv.b < 0) inv.a = -inv.a, inv.b = -inv.b;
    out[n_out++] = (uint8_t)(a.kind == MGI_SE_PL_CONST ? mgi_se_pl_atom(L, MGI_SE_PL_CONST, 0, inv, 0, 0)
                                                       : mgi_se_pl_atom(L, MGI_SE_PL_INV, 0, none, g.a[i], 0));
  }
  if (n > 1) {
    int prime = 1;
    for (uint32_t q = 2; q * q <= n; q++) prime &= n % q != 0;
    if (!prime && !mgi_se_pl_has_k(L, p)) { L->fail = MGI_SE_PL_NONE; return; } /* requirement 2 */
    for (uint32_t i = 0; i < n; i++) {
      mgi_se_pl_quo(&t, &L->mono[L->term[L->poly[p].at + i]], &g);
      if (!t.n) { L->fail = MGI_SE_PL_NONE; return; }
      rest[i] = mgi_se_pl_mono(L, &t, 1);
    }
    uint32_t q = mgi_se_pl_poly(L, rest, n, 1);
    if (n_out < MGI_SE_PL_DEG) out[n_out++] = (uint8_t)mgi_se_pl_atom(L, MGI_SE_PL_INVP, 0, none, q, 0);
    else L->fail = MGI_SE_PL_NONE;
  }
  for (int i = 0; i < n_out && !L->fail; i++) {
    mgi_se_mono one;
    memset(&one, 0, sizeof one);
    one.n = 1, one.a[0] = out[i];
    if (!mgi_se_pl_mul(r, r, &one)) L->fail = MGI_SE_PL_NONE;
  }
}

/* x y for polynomials without K; 0 and a failure if it is too large. */
MGI_FN uint32_t mgi_se_pl_times(mgi_se_pl *L, uint32_t x, uint32_t y, int add) {
  uint32_t t[MGI_SE_PL_TERMS], n = 0;
  if (L->poly[x].n * L->poly[y].n > MGI_SE_PL_TERMS) { if (add) L->fail = MGI_SE_PL_NONE; return 0; }
  for (uint32_t i = 0; i < L->poly[x].n; i++)
    for (uint32_t j = 0; j < L->poly[y].n; j++) {
      mgi_se_mono m;
      if (!mgi_se_pl_mul(&m, &L->mono[L->term[L->poly[x].at + i]], &L->mono[L->term[L->poly[y].at + j]])) {
        if (add) L->fail = MGI_SE_PL_NONE;
        return 0;
      }
      if (!(t[n++] = mgi_se_pl_mono(L, &m, add))) return 0;
    }
  return mgi_se_pl_poly(L, t, n, add);
}
/* x m; K_d by a constant. */
MGI_FN uint32_t mgi_se_pl_join(mgi_se_pl *L, uint32_t x, const mgi_se_mono *m, int add) {
  uint32_t t[MGI_SE_PL_TERMS], n = L->poly[x].n;
  for (uint32_t i = 0; i < n; i++) {
    mgi_se_mono r;
    if (!mgi_se_pl_mul(&r, &L->mono[L->term[L->poly[x].at + i]], m)) { if (add) L->fail = MGI_SE_PL_NONE; return 0; }
    if (!(t[i] = mgi_se_pl_mono(L, &r, add))) return 0;
  }
  return mgi_se_pl_poly(L, t, n, add);
}
MGI_FN void mgi_se_pl_one(mgi_se_mono *m, uint32_t a) { memset(m, 0, sizeof *m), m->n = 1, m->a[0] = (uint8_t)a; }

/* x c, or with inverse set x / c, for a constant; K_d becomes K_(c d). */
MGI_FN uint32_t mgi_se_pl_scaled(mgi_se_pl *L, uint32_t x, mg_eattr c) {
  uint32_t t[MGI_SE_PL_TERMS], n = L->poly[x].n;
  mgi_se_mono m, r;
  mgi_se_pl_one(&m, mgi_se_pl_atom(L, MGI_SE_PL_CONST, 0, c, 0, 0));
  for (uint32_t i = 0; i < n && !L->fail; i++) {
    r = L->mono[L->term[L->poly[x].at + i]];
    if (mgi_se_pl_is_k(L, &r)) {
      mg_eattr d = L->atom[r.a[0]].at;
      mg_rational p = { d.a, d.b }, q = { c.a, c.b }, v;
      if (!mg_rat_mul(p, q, &v)) { L->fail = MGI_SE_PL_NONE; return 0; }
      d.a = v.num, d.b = v.den;
      mgi_se_pl_one(&r, mgi_se_pl_atom(L, MGI_SE_PL_SHIFT, 0, d, 0, 0));
    } else if (!mgi_se_pl_mul(&r, &r, &m)) L->fail = MGI_SE_PL_NONE;
    t[i] = mgi_se_pl_mono(L, &r, 1);
  }
  return L->fail ? 0 : mgi_se_pl_poly(L, t, n, 1);
}

static const mg_eattr mgi_se_pl_sealed = { INT64_MIN, 0 }; /* of an opaque term: a sum that is an atom */

/* The normal form of node k, children's in of. */
MGI_FN uint32_t mgi_se_pl_term(mgi_se_pl *L, mg_eop op, mg_eattr at, uint32_t x, uint32_t y) {
  mgi_se_mono m;
  uint32_t t[MGI_SE_PL_TERMS], n = 0;
  switch (op) {
  case MG_E_VAR: case MG_E_EXP: case MG_E_OPAQUE:
    if (op == MG_E_OPAQUE && at.a == mgi_se_pl_sealed.a) op = MG_E_ADD, at.a = 0;
    mgi_se_pl_one(&m, mgi_se_pl_atom(L, op == MG_E_VAR ? MGI_SE_PL_VAR : MGI_SE_PL_FN, (uint32_t)op, at, x, y));
    t[n++] = mgi_se_pl_mono(L, &m, 1);
    return mgi_se_pl_poly(L, t, n, 1);
  case MG_E_ADD:
    if (L->poly[x].n + L->poly[y].n > MGI_SE_PL_TERMS) break;
    for (uint32_t i = 0; i < L->poly[x].n; i++) t[n++] = L->term[L->poly[x].at + i];
    for (uint32_t i = 0; i < L->poly[y].n; i++) t[n++] = L->term[L->poly[y].at + i];
    return mgi_se_pl_poly(L, t, n, 1);
  case MG_E_ADD_SCALAR:
    if (L->poly[x].n + 1 > MGI_SE_PL_TERMS || !at.a) break;
    for (; n < L->poly[x].n; n++) t[n] = L->term[L->poly[x].at + n];
    mgi_se_pl_one(&m, mgi_se_pl_atom(L, MGI_SE_PL_SHIFT, 0, at, 0, 0));
    t[n++] = mgi_se_pl_mono(L, &m, 1);
    return mgi_se_pl_poly(L, t, n, 1);
  case MG_E_SCALE: return at.a ? mgi_se_pl_scaled(L, x, at) : 0;
  case MG_E_MUL: return mgi_se_pl_has_k(L, x) || mgi_se_pl_has_k(L, y) ? 0 : mgi_se_pl_times(L, x, y, 1);
  case MG_E_DIV:
    if (mgi_se_pl_has_k(L, x)) break;
    mgi_se_pl_inverse(L, y, &m);
    return L->fail ? 0 : mgi_se_pl_join(L, x, &m, 1);
  case MG_E_SUM:
    if (mgi_se_pl_has_k(L, x)) break;
    mgi_se_pl_one(&m, mgi_se_pl_atom(L, MGI_SE_PL_SUM, 0, at, 0, 0));
    return mgi_se_pl_join(L, x, &m, 1);
  default: break;
  }
  return 0;
}

/* The product of the inverses in m, upside down; 0 if there is none. */
MGI_FN uint32_t mgi_se_pl_denominator(mgi_se_pl *L, const mgi_se_mono *m, int add) {
  mgi_se_mono d;
  uint32_t p = 0, k = 0;
  memset(&d, 0, sizeof d);
  for (int i = 0; i < m->n; i++) {
    const mgi_se_patom *a = &L->atom[m->a[i]];
    mgi_se_mono one;
    if (a->kind == MGI_SE_PL_INV) mgi_se_pl_one(&one, a->x), mgi_se_pl_mul(&d, &d, &one);
    if (a->kind != MGI_SE_PL_INVP) continue;
    if (p && (k || mgi_se_pl_has_k(L, a->x))) { if (add) L->fail = MGI_SE_PL_NONE; return 0; }
    p = p ? mgi_se_pl_times(L, p, a->x, add) : a->x, k = mgi_se_pl_has_k(L, a->x);
    if (!p) return 0;
  }
  if (!d.n) return p;
  if (p) return k ? 0 : mgi_se_pl_join(L, p, &d, add);
  uint32_t t = mgi_se_pl_mono(L, &d, add);
  return t ? mgi_se_pl_poly(L, &t, 1, add) : 0;
}

MGI_FN void mgi_se_pl_goal(mgi_se_pl *L, uint32_t p) {
  if (!p || L->fail) return;
  for (uint32_t i = 0; i < L->n_goal; i++) if (L->goal[i] == p) return;
  if (L->n_goal == MGI_SE_PL_GOALS) { L->fail = MGI_SE_PL_NODES; return; }
  L->goal[L->n_goal++] = p;
  for (uint32_t i = 0; i < L->poly[p].n && !L->fail; i++) {
    mgi_se_mono m = L->mono[L->term[L->poly[p].at + i]];
    mgi_se_pl_goal(L, mgi_se_pl_denominator(L, &m, 1));
    for (int j = 0; j < m.n; j++)
      if (L->atom[m.a[j]].kind == MGI_SE_PL_FN)
        mgi_se_pl_goal(L, L->atom[m.a[j]].x), mgi_se_pl_goal(L, L->atom[m.a[j]].y);
  }
}

/* Sub-multisets of g's atoms whose kinds are in the set, the empty one first: for (start; ; ) { .. if (!next) break;
   } */
typedef struct mgi_se_psub { int n; uint8_t a[MGI_SE_PL_DEG], most[MGI_SE_PL_DEG], now[MGI_SE_PL_DEG]; } mgi_se_psub;
MGI_FN void mgi_se_pl_sub_start(const mgi_se_pl *L, mgi_se_psub *s, const mgi_se_mono *g, int kinds) {
  memset(s, 0, sizeof *s);
  for (int i = 0; i < g->n; i++) {
    if (!(kinds >> L->atom[g->a[i]].kind & 1)) continue;
    if (s->n && s->a[s->n - 1] == g->a[i]) s->most[s->n - 1]++;
    else s->a[s->n] = g->a[i], s->most[s->n++] = 1;
  }
}
MGI_FN int mgi_se_pl_sub_next(mgi_se_psub *s) {
  for (int i = 0; i < s->n; i++) {
    if (s->now[i] < s->most[i]) { s->now[i]++; return 1; }
    s->now[i] = 0;
  }
  return 0;
}
MGI_FN void mgi_se_pl_sub_mono(const mgi_se_psub *s, mgi_se_mono *m) {
  memset(m, 0, sizeof *m);
  for (int i = 0; i < s->n; i++) for (int k = 0; k < s->now[i]; k++) m->a[m->n++] = s->a[i];
}

/* The value of a product of constants; 0 if it overflows. */
MGI_FN int mgi_se_pl_value(const mgi_se_pl *L, const mgi_se_mono *m, mg_eattr *v) {
  mg_rational r = { 1, 1 };
  for (int i = 0; i < m->n; i++) {
    mg_rational c = { L->atom[m->a[i]].at.a, L->atom[m->a[i]].at.b };
    if (!mg_rat_mul(r, c, &r)) return 0;
  }
  v->a = r.num, v->b = r.den;
  return 1;
}

MGI_FN void mgi_se_pl_class(mgi_se_pl *L, uint32_t p, uint32_t lattice, uint32_t place) {
  if (!p || L->fail || L->poly[p].cls) return;
  mgi_se_pclass *c = (mgi_se_pclass *)mgi_se_grow(L->cls, &L->cap_cls, L->n_cls + 2, sizeof *c),
                x = { p, 0, 0, lattice, place };
  if (!c) { L->fail = MGI_SE_PL_MEMORY; return; }
  L->cls = c;
  L->cls[++L->n_cls] = x, L->poly[p].cls = L->n_cls;
  if (L->n_cls > L->max_nodes) L->fail = MGI_SE_PL_NODES;
}

/* The sub-multisets of t[0 .. n), sorted, as classes: all but those of K alone.  They are counted with a digit for each
   different monomial, the first one fastest: what is left of a when b is taken off stands at a - b. */
MGI_FN void mgi_se_pl_lattice(mgi_se_pl *L, uint32_t *t, uint32_t n) {
  uint32_t most[MGI_SE_PL_TERMS], now[MGI_SE_PL_TERMS], v[MGI_SE_PL_TERMS], k[MGI_SE_PL_TERMS],
      g = 0, at = L->n_lattice, all = mgi_se_pl_poly(L, t, n, 0);
  uint64_t size = 1;
  if (all && L->poly[all].cls) return; /* so are its parts */
  for (uint32_t i = 0; i < n; i++) {
    if (g && v[g - 1] == t[i]) most[g - 1]++;
    else v[g] = t[i], k[g] = (uint32_t)mgi_se_pl_is_k(L, &L->mono[t[i]]), now[g] = 0, most[g++] = 1;
  }
  for (uint32_t i = 0; i < g; i++) size *= most[i] + 1;
  /* half of them are classes, or more */
  if (size > 2 * (uint64_t)L->max_nodes || at + size > 16 * (uint64_t)L->max_nodes + 4096) {
    L->fail = MGI_SE_PL_NODES;
    return;
  }
  uint32_t *p = (uint32_t *)mgi_se_grow(L->lattice, &L->cap_lattice, at + g + 1 + (uint32_t)size, sizeof *p);
  if (!p) { L->fail = MGI_SE_PL_MEMORY; return; }
  L->lattice = p, L->n_lattice = at + g + 1 + (uint32_t)size;
  p += at;
  *p++ = g;
  memcpy(p, most, g * sizeof *p);
  p += g, *p = 0;
  for (uint32_t place = 1; place < size && !mgi_se_pl_over(L); place++) {
    uint32_t i = 0, m = 0, in[MGI_SE_PL_TERMS], some = 0;
    for (; now[i] == most[i]; i++) now[i] = 0;
    now[i]++;
    for (uint32_t j = 0; j < g; j++) {
      some |= now[j] && !k[j];
      for (uint32_t c = 0; c < now[j]; c++) in[m++] = v[j];
    }
    uint32_t q = some ? mgi_se_pl_poly(L, in, m, 1) : 0;
    mgi_se_pl_class(L, q, at, place);
    p[place] = q ? L->poly[q].cls : 0;
  }
}

/* The size classes over which m has one sum, as bits; in *any, those over which it has some part of one. */
MGI_FN uint32_t mgi_se_pl_sums(const mgi_se_pl *L, const mgi_se_mono *m, uint32_t *any) {
  uint32_t part[3] = { 0, 0, 0 }, twice = 0;
  for (int i = 0; i < m->n; i++) {
    const mgi_se_patom *a = &L->atom[m->a[i]];
    if (a->kind != MGI_SE_PL_SUM || a->at.a < 0 || a->at.a > 31 || a->at.b < 0 || a->at.b > 2) continue;
    twice |= part[a->at.b] & (uint32_t)1 << a->at.a, part[a->at.b] |= (uint32_t)1 << a->at.a;
  }
  *any = part[0] | part[1] | part[2];
  return part[0] & part[1] & part[2] & ~twice;
}

/* Whether two monomials of T differ in constants alone. */
MGI_FN int mgi_se_pl_cancels(const mgi_se_pl *L, uint32_t T) {
  for (uint32_t i = 0; i < L->poly[T].n; i++)
    for (uint32_t j = 0; j < i; j++) {
      const mgi_se_mono *x = &L->mono[L->term[L->poly[T].at + i]], *y = &L->mono[L->term[L->poly[T].at + j]];
      int p = 0, q = 0;
      if (x == y) continue;
      for (;;) {
        while (p < x->n && L->atom[x->a[p]].kind == MGI_SE_PL_CONST) p++;
        while (q < y->n && L->atom[y->a[q]].kind == MGI_SE_PL_CONST) q++;
        if (p == x->n || q == y->n || x->a[p] != y->a[q]) break;
        p++, q++;
      }
      if (p == x->n && q == y->n) return 1;
    }
  return 0;
}

/* The lemma: every class of goal T, whose tensors have dimensions of the size classes in `dims`. */
MGI_FN void mgi_se_pl_classes(mgi_se_pl *L, uint32_t T, uint32_t dims) {
  if (mgi_se_pl_cancels(L, T)) dims = ~(uint32_t)0;
  L->round++;
  for (uint32_t i = 0; i < L->poly[T].n && !L->fail; i++) {
    mgi_se_mono m = L->mono[L->term[L->poly[T].at + i]], by;
    mgi_se_psub s;
    if (mgi_se_pl_is_k(L, &m)) continue;
    mgi_se_pl_sub_start(L, &s, &m, ~0);
    do {
      mgi_se_pl_sub_mono(&s, &by);
      uint32_t id = mgi_se_pl_mono(L, &by, 1), t[MGI_SE_PL_TERMS], n = 0;
      if (!id || L->stamp[id] == L->round) continue;
      L->stamp[id] = L->round;
      if (!mgi_se_pl_valid(L, &by, 0)) continue;
      mg_eattr v;
      int constant = 1;
      for (int k = 0; k < by.n; k++) constant &= L->atom[by.a[k]].kind == MGI_SE_PL_CONST;
      if (constant && !mgi_se_pl_value(L, &by, &v)) constant = 0;
      uint32_t left = 0; /* size classes that what surrounds the part has */
      for (int k = 0; k < by.n; k++) left |= L->has[by.a[k]];
      for (uint32_t j = 0; j < L->poly[T].n; j++) {
        mgi_se_mono x = L->mono[L->term[L->poly[T].at + j]], q;
        if (mgi_se_pl_is_k(L, &x)) {
          mg_rational d = { L->atom[x.a[0]].at.a, L->atom[x.a[0]].at.b }, r;
          if (!constant || !mg_rat_mul(d, mg_rat(v.b, v.a), &r)) continue;
          mg_eattr at = { r.num, r.den };
          mgi_se_pl_one(&q, mgi_se_pl_atom(L, MGI_SE_PL_SHIFT, 0, at, 0, 0));
        } else {
          if (!mgi_se_pl_quo(&q, &x, &by) || !mgi_se_pl_valid(L, &q, 1)) continue;
          uint32_t some, one = mgi_se_pl_sums(L, &x, &some) & ~dims;
          mgi_se_pl_sums(L, &q, &some);
          L->loose |= some & ~one;
          if (one & some & left) continue;
        }
        t[n++] = mgi_se_pl_mono(L, &q, 1);
      }
      if (!n || L->fail) continue;
      for (uint32_t a = 1; a < n; a++) /* equal ones together */
        for (uint32_t b = a; b && t[b - 1] > t[b]; b--) { uint32_t x = t[b]; t[b] = t[b - 1], t[b - 1] = x; }
      mgi_se_pl_lattice(L, t, n);
    } while (!mgi_se_pl_over(L) && mgi_se_pl_sub_next(&s));
  }
}

MGI_FN uint32_t mgi_se_pl_dims(const mgi_se_pl *L, const mgi_se_mono *m) {
  uint32_t h = 0;
  for (int i = 0; i < m->n; i++) h |= L->has[m->a[i]];
  return h;
}
/* Whether a sum in g, or in what goes with it, would have to reach over to m, or the other way round: no node. */
MGI_FN int mgi_se_pl_apart(const mgi_se_pl *L, const mgi_se_mono *g, const mgi_se_mono *m) {
  uint32_t x, y;
  mgi_se_pl_sums(L, g, &x), mgi_se_pl_sums(L, m, &y);
  return ((x & mgi_se_pl_dims(L, m)) | (y & mgi_se_pl_dims(L, g))) & ~L->loose ? 1 : 0;
}

MGI_FN int mgi_se_pl_joins(const mgi_se_pl *L, uint32_t x, uint32_t y) { /* of all monomials */
  for (uint32_t i = 0; i < L->poly[x].n; i++)
    for (uint32_t j = 0; j < L->poly[y].n; j++)
      if (mgi_se_pl_apart(L, &L->mono[L->term[L->poly[x].at + i]], &L->mono[L->term[L->poly[y].at + j]])) return 0;
  return 1;
}

/* One node of class cls.  No other is like it, but for a scale: see mgi_se_pl_memo. */
MGI_FN void mgi_se_pl_put(mgi_se_pl *L, mg_egraph *eg, mg_eop op, mg_eattr at, uint32_t a, uint32_t b, uint32_t cls) {
  uint32_t attr = mgi_se_eattr_id(eg, at, 1);
  mgi_se_enode *p = (mgi_se_enode *)mgi_se_grow(eg->node, &eg->cap, eg->n + 1, sizeof *p),
               x = { (uint32_t)op, attr, a, b, cls, 0 };
  if (p) eg->node = p;
  if (!p || !attr) { L->fail = MGI_SE_PL_MEMORY; return; }
  eg->node[eg->n++] = x;
  if (eg->n > L->max_nodes) L->fail = MGI_SE_PL_NODES;
}
/* The splits of class c in two. */
MGI_FN void mgi_se_pl_splits(mgi_se_pl *L, mg_egraph *eg, uint32_t c) {
  const uint32_t *cls = L->lattice + L->cls[c].lattice, *most = cls + 1;
  uint32_t n = 0, place = L->cls[c].place, have[MGI_SE_PL_TERMS], now[MGI_SE_PL_TERMS], step[MGI_SE_PL_TERMS],
           left = place, stride = 1, part = 0;
  mg_eattr none = { 0, 0 };
  for (uint32_t i = 0; i < *cls; left /= most[i] + 1, stride *= most[i] + 1, i++)
    if (left % (most[i] + 1)) have[n] = left % (most[i] + 1), now[n] = 0, step[n++] = stride;
  for (cls += 1 + *cls; !mgi_se_pl_over(L);) {
    uint32_t i = 0;
    for (; now[i] == have[i]; i++) part -= now[i] * step[i], now[i] = 0;
    now[i]++, part += step[i];
    if (part == place) return;
    if (cls[part] && cls[place - part]) mgi_se_pl_put(L, eg, MG_E_ADD, none, cls[part], cls[place - part], c);
  }
}
/* What the monomials of p share. */
MGI_FN void mgi_se_pl_content(const mgi_se_pl *L, uint32_t p, mgi_se_mono *g) {
  *g = L->mono[L->term[L->poly[p].at]];
  for (uint32_t i = 1; i < L->poly[p].n; i++) mgi_se_pl_gcd(g, &L->mono[L->term[L->poly[p].at + i]]);
}

/* Classes without K by primitive and content: the slot where it is or would be. */
MGI_FN uint32_t mgi_se_pl_cslot(const mgi_se_pl *L, uint32_t primitive, uint32_t content) {
  uint32_t h = (uint32_t)(((uint64_t)primitive << 32 | content) * 0x9E3779B97F4A7C15ull >> 32) & (L->ccap - 1);
  for (; L->cslot[h]; h = (h + 1) & (L->ccap - 1)) {
    const mgi_se_pclass *x = &L->cls[L->cslot[h]];
    if (x->primitive == primitive && x->content == content) break;
  }
  return h;
}

/* Each class's content and primitive, and which of the primitives are products of two of them. */
MGI_FN void mgi_se_pl_factors(mgi_se_pl *L) {
  uint32_t *prim = NULL, n = 0, cap = 0, most = 0;
  for (L->ccap = 64; L->ccap < 2 * L->n_cls;) L->ccap *= 2;
  L->cslot = (uint32_t *)calloc(L->ccap, sizeof *L->cslot);
  if (!L->cslot) { L->fail = MGI_SE_PL_MEMORY; return; }
  for (uint32_t c = 1; c <= L->n_cls && !L->fail; c++) {
    uint32_t p = L->cls[c].poly, k = L->poly[p].n, t[MGI_SE_PL_TERMS];
    mgi_se_mono g;
    if (mgi_se_pl_has_k(L, p)) continue;
    mgi_se_pl_content(L, p, &g);
    L->cls[c].content = mgi_se_pl_mono(L, &g, 1);
    if (k == 1) { if (!L->fail) L->cslot[mgi_se_pl_cslot(L, 0, L->cls[c].content)] = c; continue; }
    for (uint32_t i = 0; i < k; i++) {
      mgi_se_mono q;
      mgi_se_pl_quo(&q, &L->mono[L->term[L->poly[p].at + i]], &g);
      t[i] = mgi_se_pl_mono(L, &q, 1);
    }
    uint32_t q = mgi_se_pl_poly(L, t, k, 1);
    if (L->fail) break;
    L->cls[c].primitive = q, L->cslot[mgi_se_pl_cslot(L, q, L->cls[c].content)] = c;
    if (L->poly[q].prim) continue;
    uint32_t *list = (uint32_t *)mgi_se_grow(prim, &cap, n + 1, sizeof *list);
    mgi_se_pfact *f = (mgi_se_pfact *)mgi_se_grow(L->fact, &L->cap_fact, L->n_fact + 1, sizeof *f);
    if (list) prim = list;
    if (f) L->fact = f;
    if (!list || !f) { L->fail = MGI_SE_PL_MEMORY; break; }
    if (k > most) most = k;
    mgi_se_pfact self = { q, 0, 0 };
    prim[n++] = q, L->fact[L->n_fact++] = self, L->poly[q].prim = L->n_fact;
  }
  for (uint32_t i = 0; i < n && !L->fail; i++)
    for (uint32_t j = 0; j <= i && !mgi_se_pl_over(L); j++) {
      if (L->poly[prim[i]].n * L->poly[prim[j]].n > most) continue;
      uint32_t p = mgi_se_pl_times(L, prim[i], prim[j], 0);
      if (!p || !L->poly[p].prim) continue;
      mgi_se_pfact *f = (mgi_se_pfact *)mgi_se_grow(L->fact, &L->cap_fact, L->n_fact + 1, sizeof *f),
                   x = { prim[i], prim[j], L->poly[p].prim };
      if (!f) { L->fail = MGI_SE_PL_MEMORY; break; }
      L->fact = f, L->fact[L->n_fact++] = x, L->poly[p].prim = L->n_fact;
    }
  free(prim);
}

/* The class of q g, q 0 standing for one; 0 if it is none. */
MGI_FN uint32_t mgi_se_pl_find(const mgi_se_pl *L, uint32_t q, uint32_t g) {
  return g ? L->cslot[mgi_se_pl_cslot(L, q, g)] : 0;
}

/* All nodes of class c. */
MGI_FN void mgi_se_pl_nodes(mgi_se_pl *L, mg_egraph *eg, uint32_t c) {
  uint32_t p = L->cls[c].poly, n = L->poly[p].n, t[MGI_SE_PL_TERMS], q = 0, primitive = L->cls[c].primitive;
  mg_eattr none = { 0, 0 }, v;
  mgi_se_mono g, m, rest;
  mgi_se_psub s;
  memcpy(t, L->term + L->poly[p].at, n * sizeof *t);
  if (n > 1) mgi_se_pl_splits(L, eg, c);
  int shifted = 0, first = -1;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t u[MGI_SE_PL_TERMS], k = 0;
    const mgi_se_mono *x = &L->mono[t[i]];
    if (!mgi_se_pl_is_k(L, x)) { /* what all others share */
      if (first < 0) g = *x, first = (int)i;
      else mgi_se_pl_gcd(&g, x);
      continue;
    }
    shifted = 1;
    if (i && t[i - 1] == t[i]) continue;
    mg_eattr d = L->atom[x->a[0]].at;
    for (uint32_t j = 0; j < n; j++) if (j != i) u[k++] = t[j];
    if (k && (q = mgi_se_pl_poly(L, u, k, 0)) && L->poly[q].cls)
      mgi_se_pl_put(L, eg, MG_E_ADD_SCALAR, d, L->poly[q].cls, 0, c);
  }
  if (first < 0) return;
  for (mgi_se_pl_sub_start(L, &s, &g, 1 << MGI_SE_PL_CONST); mgi_se_pl_sub_next(&s);) {
    uint32_t u[MGI_SE_PL_TERMS];
    mgi_se_pl_sub_mono(&s, &m);
    if (!mgi_se_pl_value(L, &m, &v)) continue;
    if (!shifted) {
      mgi_se_pl_quo(&rest, &g, &m);
      if ((q = mgi_se_pl_find(L, primitive, mgi_se_pl_mono(L, &rest, 0)))) mgi_se_pl_put(L, eg, MG_E_SCALE, v, q, 0, c);
      continue;
    }
    for (uint32_t i = 0; i < n; i++) {
      mgi_se_mono x = L->mono[t[i]];
      if (mgi_se_pl_is_k(L, &x)) {
        mg_rational d = { L->atom[x.a[0]].at.a, L->atom[x.a[0]].at.b }, r;
        uint32_t a = 0;
        if (!mg_rat_mul(d, mg_rat(v.b, v.a), &r)) { u[i] = 0; break; }
        while (a < L->n_atom &&
               !(L->atom[a].kind == MGI_SE_PL_SHIFT && L->atom[a].at.a == r.num && L->atom[a].at.b == r.den))
          a++;
        if (a == L->n_atom) { u[i] = 0; break; }
        mgi_se_pl_one(&rest, a);
      } else mgi_se_pl_quo(&rest, &x, &m);
      if (!(u[i] = mgi_se_pl_mono(L, &rest, 0))) break;
      if (i == n - 1 && (q = mgi_se_pl_poly(L, u, n, 0)) && L->poly[q].cls)
        mgi_se_pl_put(L, eg, MG_E_SCALE, v, L->poly[q].cls, 0, c);
    }
  }
  if (n == 1 && g.n == 1 && L->atom[g.a[0]].kind <= MGI_SE_PL_FN) {
    const mgi_se_patom *a = &L->atom[g.a[0]];
    mgi_se_pl_put(L, eg, (mg_eop)a->op, a->at, a->x ? L->poly[a->x].cls : 0, a->y ? L->poly[a->y].cls : 0, c);
    if (a->op == MG_E_ADD) mgi_se_pl_put(L, eg, MG_E_ADD, a->at, L->poly[a->y].cls, L->poly[a->x].cls, c); /* sealed */
  }
  if (shifted) return;
  for (int i = 0; i < g.n; i++) {
    if (L->atom[g.a[i]].kind != MGI_SE_PL_SUM || (i && g.a[i - 1] == g.a[i])) continue;
    mgi_se_pl_one(&m, g.a[i]);
    mgi_se_pl_quo(&rest, &g, &m);
    q = mgi_se_pl_find(L, primitive, mgi_se_pl_mono(L, &rest, 0));
    if (q) mgi_se_pl_put(L, eg, MG_E_SUM, L->atom[g.a[i]].at, q, 0, c);
  }
  for (mgi_se_pl_sub_start(L, &s, &g, 1 << MGI_SE_PL_INV | 1 << MGI_SE_PL_INVP | 1 << MGI_SE_PL_CONST);
       mgi_se_pl_sub_next(&s);) {
    mgi_se_mono con;
    mgi_se_pl_sub_mono(&s, &m);
    mgi_se_pl_quo(&rest, &g, &m);
    q = mgi_se_pl_apart(L, &rest, &m) ? 0 : mgi_se_pl_find(L, primitive, mgi_se_pl_mono(L, &rest, 0));
    uint32_t d = q ? mgi_se_pl_denominator(L, &m, 0) : 0;
    if (!d) continue;
    memset(&con, 0, sizeof con);
    for (int i = 0; i < m.n; i++) { /* x / (c y) = (1/c) (x / y) */
      const mgi_se_patom *a = &L->atom[m.a[i]];
      if (a->kind != MGI_SE_PL_CONST) continue;
      uint32_t k = 0;
      mg_rational r = mg_rat(a->at.b, a->at.a);
      while (k < L->n_atom &&
             !(L->atom[k].kind == MGI_SE_PL_CONST && L->atom[k].at.a == r.num && L->atom[k].at.b == r.den))
        k++;
      mgi_se_pl_one(&rest, k < L->n_atom ? k : 0);
      if (k == L->n_atom || !mgi_se_pl_mul(&con, &con, &rest)) { d = 0; break; }
    }
    if (d && con.n) d = mgi_se_pl_has_k(L, d) ? 0 : mgi_se_pl_join(L, d, &con, 0);
    if (d && L->poly[d].cls) mgi_se_pl_put(L, eg, MG_E_DIV, none, q, L->poly[d].cls, c);
  }
  uint64_t size = 1; /* the content goes to either side in every way */
  mgi_se_pl_sub_start(L, &s, &g, ~0);
  for (int i = 0; i < s.n; i++) size *= s.most[i] + 1u;
  if (size > 16 * (uint64_t)L->max_nodes + 4096) { L->fail = MGI_SE_PL_NODES; return; }
  uint32_t *sub = (uint32_t *)mgi_se_grow(L->sub, &L->cap_sub, (uint32_t)size, sizeof *sub);
  if (!sub) { L->fail = MGI_SE_PL_MEMORY; return; }
  L->sub = sub, size = 0;
  do {
    mgi_se_pl_sub_mono(&s, &m);
    sub[size++] = mgi_se_pl_mono(L, &m, 0);
  } while (!mgi_se_pl_over(L) && mgi_se_pl_sub_next(&s));
  /* sub[j] is what sub[i] leaves */
  for (uint32_t i = 0, j = (uint32_t)size - 1; i < size && !mgi_se_pl_over(L); i++, j--) {
    uint32_t f = n > 1 ? L->poly[primitive].prim : 0;
    do {
      uint32_t x = f ? L->fact[f - 1].x : 0, y = f ? L->fact[f - 1].y : 0;
      uint32_t a = x != y || i <= j ? mgi_se_pl_find(L, x, sub[i]) : 0, b = a ? mgi_se_pl_find(L, y, sub[j]) : 0;
      if (b && mgi_se_pl_joins(L, L->cls[a].poly, L->cls[b].poly)) {
        mgi_se_pl_put(L, eg, MG_E_MUL, none, a, b, c);
        if (a != b) mgi_se_pl_put(L, eg, MG_E_MUL, none, b, a, c);
      }
      f = f ? L->fact[f - 1].next : 0;
    } while (f);
  }
}

/* The table of the nodes.  Where products of constants have one value (-1 -1 is 1), two classes are that multiple of
   one: the first is found.  All other nodes differ, so that the table is filled in without a look at them. */
MGI_FN void mgi_se_pl_memo(mgi_se_pl *L, mg_egraph *eg) {
  uint32_t cap = eg->memo_cap, n = 0;
  while (cap < eg->n + eg->n / 2) cap *= 2;
  uint32_t *m = (uint32_t *)calloc(cap, sizeof *m);
  if (!m) { L->fail = MGI_SE_PL_MEMORY; return; }
  free(eg->memo);
  eg->memo = m, eg->memo_cap = cap;
  for (uint32_t k = 0; k < eg->n; k++) {
    const mgi_se_enode x = eg->node[k];
    uint32_t h;
    if (x.op == MG_E_SCALE) h = mgi_se_eslot(eg, x.op, x.attr, x.a, x.b);
    else for (h = mgi_se_ehash(x.op, x.attr, x.a, x.b) & (cap - 1); m[h];) h = (h + 1) & (cap - 1);
    if (!m[h]) eg->node[n++] = x, m[h] = n;
  }
  eg->n = n;
}

/* The closure of eg's terms, of which `out` are the outputs; dims[k] are the size classes of the dimensions of tensor
   k, of class of_tensor[k], 0 < k < n_tensors; NULL: without `Indices`, what rewriting finds.  As a frozen e-graph in
   *closed; map[c], for c below eg's number of classes, becomes the class in it.  MG_UNSUPPORTED: requirement 2.
   *outcome: not MG_SATURATED: over a limit, or stopped. */
MGI_FN mg_status mgi_se_pl_close(const mg_egraph *eg, const uint32_t *out, int n_out, const uint32_t *of_tensor,
                                 const uint32_t *dims, uint32_t n_tensors, const mg_egraph_limits *limits,
                                 mg_egraph **closed, uint32_t *map, mg_saturation *outcome) {
  mgi_se_pl *L = (mgi_se_pl *)calloc(1, sizeof *L);
  mg_egraph *g = mg_egraph_new();
  uint32_t *of = (uint32_t *)calloc(eg->n_cls, sizeof *of);
  double at[5] = { mgi_se_seconds(), 0, 0, 0, 0 };
  *closed = NULL, *outcome = MG_SATURATED;
  if (L) {
    L->n_mono = L->n_poly = 1, L->mcap = L->pcap = 4096, L->max_nodes = limits->nodes ? limits->nodes : 200000;
    L->end = at[0] + (limits->seconds > 0 ? limits->seconds : 10.0), L->stop = limits->stop;
    L->mslot = (uint32_t *)calloc(L->mcap, sizeof *L->mslot), L->pslot = (uint32_t *)calloc(L->pcap, sizeof *L->pslot);
  }
  if (!L || !g || !of || !L->mslot || !L->pslot) {
    if (L) free(L->mslot), free(L->pslot);
    free(L), free(of), mg_egraph_free(g);
    return MG_NO_MEMORY;
  }
  if (mg_axiom_count() != MGI_SE_BUILTIN_AXIOMS) L->fail = MGI_SE_PL_NONE;
  for (uint32_t k = 0; k < eg->n && !L->fail; k++) {
    const mgi_se_enode *x = &eg->node[k];
    of[x->cls] = mgi_se_pl_term(L, (mg_eop)x->op, eg->attr[x->attr - 1], of[x->a], of[x->b]);
    if (!of[x->cls] && !L->fail) L->fail = MGI_SE_PL_NONE;
  }
  for (int k = 0; k < n_out && !L->fail; k++) mgi_se_pl_goal(L, of[out[k]]);
  /* denominators as they stand: their constants have left the inverses */
  for (uint32_t k = 0; k < eg->n && !L->fail; k++) {
    const mgi_se_enode *x = &eg->node[k];
    if (x->op == MG_E_DIV) mgi_se_pl_goal(L, of[x->b]);
  }
  at[1] = mgi_se_seconds();
  if (!dims) L->loose = ~(uint32_t)0;
  for (uint32_t a = 0; a < L->n_atom && !L->fail && dims; a++) {
    const mgi_se_patom *p = &L->atom[a];
    if (p->kind > MGI_SE_PL_FN) continue; /* an inverse may stand under a sum of its own: it asks for none */
    int some = 0;
    for (uint32_t t = 1; t < n_tensors; t++) {
      const mgi_se_poly *q = &L->poly[of[of_tensor[t]]];
      if (!of[of_tensor[t]] || q->n != 1 || L->mono[L->term[q->at]].n != 1 || L->mono[L->term[q->at]].a[0] != a)
        continue;
      L->has[a] = some ? L->has[a] & dims[t] : dims[t], some = 1;
    }
  }
  for (uint32_t k = 0; k < L->n_goal && !L->fail; k++) {
    uint32_t free_dims = 0, some = 0;
    for (uint32_t t = 1; t < n_tensors && dims; t++) if (of[of_tensor[t]] == L->goal[k]) free_dims |= dims[t], some = 1;
    mgi_se_pl_classes(L, L->goal[k], some ? free_dims : ~(uint32_t)0);
  }
  at[2] = mgi_se_seconds();
  if (!L->fail) mgi_se_pl_factors(L);
  at[3] = mgi_se_seconds();
  if (!L->fail) {
    uint32_t n = L->n_cls + 1;
    uint32_t *u = (uint32_t *)realloc(g->uf, n * sizeof *u);
    if (u) g->uf = u;
    uint32_t *f = (uint32_t *)realloc(g->first, n * sizeof *f);
    if (f) g->first = f;
    uint32_t *t = (uint32_t *)realloc(g->stamp, n * sizeof *t);
    if (t) g->stamp = t;
    if (!u || !f || !t) L->fail = MGI_SE_PL_MEMORY;
    else {
      g->n_cls = g->cap_cls = n;
      for (uint32_t c = 0; c < n; c++) g->uf[c] = c, g->first[c] = g->stamp[c] = 0;
    }
  }
  for (uint32_t c = 1; c <= L->n_cls && !mgi_se_pl_over(L); c++) mgi_se_pl_nodes(L, g, c);
  if (!L->fail) mgi_se_pl_memo(L, g);
  at[4] = mgi_se_seconds();
  for (int k = 0; k < 4; k++) g->closure_us[k] = 1e6 * (at[k + 1] - at[k]);
  mgi_se_pl_fail fail = L->fail;
  if (!fail) {
    for (uint32_t k = g->n; k-- > 0;) g->node[k].next = g->first[g->node[k].cls], g->first[g->node[k].cls] = k + 1;
    for (uint32_t c = 0; c < eg->n_cls; c++) map[c] = of[c] ? L->poly[of[c]].cls : 0;
    mgi_se_efreeze(g), *closed = g;
  } else mg_egraph_free(g);
  *outcome = fail == MGI_SE_PL_NODES     ? MG_NODES
             : fail == MGI_SE_PL_TIME    ? MG_TIME
             : fail == MGI_SE_PL_STOPPED ? MG_STOPPED
                                         : MG_SATURATED;
  free(L->mono), free(L->poly), free(L->term), free(L->mslot), free(L->pslot), free(L->stamp), free(L->cls),
      free(L->lattice), free(L->cslot), free(L->sub), free(L->fact), free(L), free(of);
  return fail == MGI_SE_PL_MEMORY ? MG_NO_MEMORY : fail == MGI_SE_PL_NONE ? MG_UNSUPPORTED : MG_OK;
}

/* ------------------------------------------------------------------------------------------------ >>tilings

   1. The program becomes a list of operators whose dimensions are loops.  Divisions by what a loop of the divided
      tensor's consumer has to sum up first are moved behind that consumer: table `mgi_ti_moves`, its right sides equal
      to the left ones because the divisor has extent 1 along what is contracted.
   2. Forests: the loops that are left fall into connected components (two loops of one matmul are connected); those of
      one component share a root; components may be nested in each other or stand in sequence.
   3. Placement, the DAG analysis (III-B): an operator runs in the innermost of its loops.  A value is raw in the scope
      that makes it; an accumulator lifts it to where it is used, adding over the loops that it reduces and joining
      tiles along those that index it.  Invariant: nothing uses a value that is not complete, or tiles of it that are
      not those at hand; what would, moves outward, and its operands are lifted that far.  A loop that a value was
      recomputed in cannot be left: its user sinks into it, and if that cannot be, the expression is removed.
   4. Statements are then put in order, a loop opened when all it needs is there.  Text, graph and cost come from
      that.  */

/* PARTS: what a cluster has of blocks */
enum { MGI_TI_OPS = 96, MGI_TI_ITEMS = 224, MGI_TI_SIZES = 1024, MGI_TI_PARTS = 16 };

typedef struct mgi_ti_op {
  mg_opcode code;                  /* LOAD for an input: in[0] is its tensor */
  mg_attr attr;
  int n_in, in[4], rank, bytes;    /* bytes of an element */
  int64_t dim[MG_MAX_RANK];
  int8_t loop[MG_MAX_RANK];        /* -1: no loop */
  uint32_t idx, red;               /* loops that index it; that it reduces */
  const char *name;
} mgi_ti_op;

typedef struct mgi_ti_program {
  const mg_graph *g;
  int n, n_out, out[MG_MAX_OUT], first[MG_TILING_LOOPS]; /* first: the first matmul that has the loop */
  uint32_t with[MG_TILING_LOOPS];  /* loops that share a matmul with it */
  uint8_t mid[MGI_TI_OPS];         /* a matmul whose value another matmul needs */
  mgi_ti_op op[MGI_TI_OPS];
} mgi_ti_program;

enum { MGI_TI_OPEN = 1000, MGI_TI_CLOSE = 2000 }; /* events: an item, or one of these and a loop */
/* LOAD, ACCUM, STORE, or the op's own code */
typedef struct mgi_ti_item { mg_opcode code; int op, scope, dep[4], n_dep; uint32_t sum, join; } mgi_ti_item;
typedef struct mgi_ti_place {
  const mgi_ti_program *p;
  int8_t parent[MG_TILING_LOOPS];  /* among live loops */
  uint32_t live, path[MG_TILING_LOOPS + 1]; /* path[1 + l]: l and the loops around it */
  int scope[MGI_TI_OPS], item_of[MGI_TI_OPS], n;
  uint32_t pend[MGI_TI_OPS];       /* loops that a raw value has yet to be added over */
  mgi_ti_item item[MGI_TI_ITEMS];
  int n_events;
  int16_t event[MGI_TI_ITEMS + 2 * MG_TILING_LOOPS];
} mgi_ti_place;

/* --- 1. the program --- */

MGI_FN int mgi_ti_same_dims(const mgi_ti_op *a, const mgi_ti_op *b) {
  return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* Rows: who consumes the quotient, which operand it is, which dimension from the end the divisor must not have. */
typedef struct mgi_ti_move { const char *name, *left, *right; mg_opcode user; int side, without; } mgi_ti_move;
static const mgi_ti_move mgi_ti_moves[] = {
  { "left of a product",  "matmul(div(x,l),y)", "div(matmul(x,y),l)", MG_OP_MATMUL, 0, 1 },
  { "right of a product", "matmul(x,div(y,l))", "div(matmul(x,y),l)", MG_OP_MATMUL, 1, 2 },
  { "left of a factor",   "mul(div(x,l),y)",    "div(mul(x,y),l)",    MG_OP_MUL,    0, 0 },
  { "right of a factor",  "mul(x,div(y,l))",    "div(mul(x,y),l)",    MG_OP_MUL,    1, 0 },
  { "under a scale",      "scale(div(x,l))",    "div(scale(x),l)",    MG_OP_SCALE,  0, 0 },
  { "under a cast",       "to_f16(div(x,l))",   "div(to_f16(x),l)",   MG_OP_TO_F16, 0, 0 },
  { "under a cast",       "to_bf16(div(x,l))",  "div(to_bf16(x),l)",  MG_OP_TO_BF16, 0, 0 },
};

/* Whether op i needs a sum that some loop makes, products aside. */
MGI_FN int mgi_ti_has_sum(const mgi_ti_program *p, int i) {
  uint8_t seen[MGI_TI_OPS] = { 0 };
  int todo[MGI_TI_OPS], n = 0;
  todo[n++] = i, seen[i] = 1;
  while (n) {
    const mgi_ti_op *o = &p->op[todo[--n]];
    if (o->code == MG_OP_LOAD || o->code == MG_OP_MATMUL) continue;
    if (o->code == MG_OP_SUM && o->red) return 1;
    for (int j = 0; j < o->n_in; j++) if (!seen[o->in[j]]) seen[o->in[j]] = 1, todo[n++] = o->in[j];
  }
  return 0;
}
/* Whether a product uses op i, directly or through factors and scales. */
MGI_FN int mgi_ti_feeds_matmul(const mgi_ti_program *p, int i) {
  uint8_t seen[MGI_TI_OPS] = { 0 };
  int todo[MGI_TI_OPS], n = 0;
  todo[n++] = i, seen[i] = 1;
  while (n) {
    int v = todo[--n];
    for (int k = 0; k < p->n; k++) {
      const mgi_ti_op *o = &p->op[k];
      int uses = 0;
      for (int j = 0; j < o->n_in && o->code != MG_OP_LOAD; j++) uses |= o->in[j] == v;
      if (uses && o->code == MG_OP_MATMUL) return 1;
      if (uses && (o->code == MG_OP_MUL || o->code == MG_OP_SCALE) && !seen[k]) seen[k] = 1, todo[n++] = k;
    }
  }
  return 0;
}
/* One move, if a row fits.  The user's op becomes the quotient; a new op at the end is the inner one. */
MGI_FN int mgi_ti_move_once(mgi_ti_program *p) {
  for (int i = 0; i < p->n; i++)
    for (size_t r = 0; r < sizeof mgi_ti_moves / sizeof *mgi_ti_moves; r++) {
      const mgi_ti_move *m = &mgi_ti_moves[r];
      mgi_ti_op *o = &p->op[i];
      if (o->code != m->user || p->n == MGI_TI_OPS) continue;
      int d = o->in[m->side];
      const mgi_ti_op *q = &p->op[d], *x = &p->op[q->in[0]], *l = &p->op[q->in[1]];
      if (q->code != MG_OP_DIV || !mgi_ti_has_sum(p, q->in[1]) || !mgi_ti_same_dims(q, x)) continue;
      if (m->without && l->rank >= m->without && l->dim[l->rank - m->without] != 1) continue;
      if (!m->without && (!mgi_ti_same_dims(o, q) || !mgi_ti_feeds_matmul(p, i))) continue;
      const int cast = mg_is_cast(o->code, NULL);
      if (cast && x->code != MG_OP_EXP) continue; /* it may be too large for 16 bits; an exponential has a running maximum */
      int again = 0; /* the cast is cast: it rounds the quotient, not what is divided */
      for (int k = 0; k < p->n && cast; k++)
        again |= mg_is_cast(p->op[k].code, NULL) && p->op[k].n_in && p->op[k].in[0] == i;
      if (again) continue;
      mgi_ti_op *n = &p->op[p->n];
      *n = *o, n->name = NULL;
      n->in[m->side] = q->in[0];
      /* all that reads x reads it cast (mg_flat_power) */
      for (int k = 0, from = q->in[0]; k < p->n && cast; k++)
        for (int j = 0; j < p->op[k].n_in && p->op[k].code != MG_OP_LOAD; j++)
          if (p->op[k].in[j] == from) p->op[k].in[j] = p->n;
      memset(&o->attr, 0, sizeof o->attr);
      o->in[1] = q->in[1], o->in[0] = p->n++;
      o->code = MG_OP_DIV, o->n_in = 2, o->red = 0;
      return 1;
    }
  return 0;
}

MGI_FN int mgi_ti_visit(const mgi_ti_program *p, int i, int *order, int n, int *to) {
  if (to[i] >= 0) return n;
  for (int j = 0; j < p->op[i].n_in && p->op[i].code != MG_OP_LOAD; j++)
    n = mgi_ti_visit(p, p->op[i].in[j], order, n, to);
  order[n] = i, to[i] = n;
  return n + 1;
}

/* Topological order, what no output needs dropped. */
MGI_FN int mgi_ti_sort(mgi_ti_program *p) {
  int order[MGI_TI_OPS], to[MGI_TI_OPS], n = 0;
  mgi_ti_op *old = (mgi_ti_op *)malloc(sizeof p->op);
  if (!old) return 0;
  memcpy(old, p->op, sizeof p->op);
  memset(to, -1, sizeof to);
  for (int k = 0; k < p->n_out; k++) n = mgi_ti_visit(p, p->out[k], order, n, to);
  for (int k = 0; k < n; k++) {
    p->op[k] = old[order[k]];
    for (int j = 0; j < p->op[k].n_in && p->op[k].code != MG_OP_LOAD; j++) p->op[k].in[j] = to[p->op[k].in[j]];
  }
  for (int k = 0; k < p->n_out; k++) p->out[k] = to[p->out[k]];
  p->n = n;
  free(old);
  return 1;
}

MGI_FN int mgi_ti_loop_of(mg_tilings *t, int32_t *cls, int32_t c, int64_t extent, int batch) {
  int l = 0;
  while (l < t->n_all && cls[l] != c) l++;
  if (l < t->n_all) return l;
  if (t->n_all == MG_TILING_LOOPS) return -1;
  cls[l] = c;
  t->loop[l].extent = extent, t->loop[l].batch = batch;
  t->n_all++;
  return l;
}

MGI_FN int mgi_ti_takes(mg_opcode code) {
  const int moves = code == MG_OP_TRANSPOSE || code == MG_OP_SLICE || code == MG_OP_CONCAT;
  return mg_op_row(code)->elementwise || code == MG_OP_MATMUL || code == MG_OP_SUM || code == MG_OP_MAX || moves;
}
/* 1: class c goes along a slice or a concat, or is twice in a tensor (a rotation's matrix): no loop cuts it, a block
   has all of it. */
MGI_FN int mgi_ti_whole(const mg_graph *g, const mg_classes *C, int32_t c) {
  for (uint32_t i = 1; i < g->n_ops; i++) {
    const mg_op_node *o = &g->ops[i];
    if (o->code != MG_OP_SLICE && o->code != MG_OP_CONCAT) continue;
    const uint32_t along = (uint32_t)o->attr.dim;
    if (C->of[o->out[0].id * MG_MAX_RANK + along] == c) return 1;
    for (int j = 0; j < o->n_in; j++) if (C->of[o->in[j].id * MG_MAX_RANK + along] == c) return 1;
  }
  for (uint32_t i = 1; i < g->n_tensors; i++) {
    const mg_shape *x = &g->tensors[i].shape;
    int times = 0;
    for (int d = 0; d < x->rank; d++) times += x->dim[d] > 1 && C->of[i * MG_MAX_RANK + (uint32_t)d] == c;
    if (times > 1) return 1;
  }
  return 0;
}
/* The class of dimension d of x; -1: no loop is along it. */
MGI_FN int32_t mgi_ti_class(const mg_graph *g, const mg_classes *C, mg_tensor x, int d) {
  const int32_t c = C->of[x.id * MG_MAX_RANK + (uint32_t)d];
  return mg_tensor_of(g, x)->shape.dim[d] == 1 || mgi_ti_whole(g, C, c) ? -1 : c;
}

MGI_FN mg_status mgi_ti_read(mg_tilings *t, const mg_graph *g, const mg_classes *C, mg_error *e) {
  mgi_ti_program *p = t->program;
  int32_t cls[MG_TILING_LOOPS];
  int of[1024];
  const char *where = g->name;
  if (!mg_is_program(g))
    return mg_fail(e, MG_BAD_INPUT, where, "expected a program of library operators, found a µGraph");
  if (g->n_tensors > 1024 || g->n_ops + g->n_in > MGI_TI_OPS / 2)
    return mg_fail(e, MG_UNSUPPORTED, where, "expected at most %d operators and inputs, found %u", MGI_TI_OPS / 2,
                   (unsigned)(g->n_ops + g->n_in));
  for (int batch = 0; batch < 2; batch++) {
    for (uint32_t i = 1; i < g->n_ops; i++) {
      const mg_op_node *o = &g->ops[i];
      if (o->code != MG_OP_MATMUL) continue;
      int ra = mg_tensor_of(g, o->in[0])->shape.rank, r = mg_tensor_of(g, o->out[0])->shape.rank;
      for (int k = 0; k < (batch ? r - 2 : 3); k++) { /* rows, contraction, columns; or what comes before them */
        mg_tensor x = batch || k == 2 ? o->out[0] : o->in[0];
        int d = batch ? k : k == 0 ? ra - 2 : k == 1 ? ra - 1 : r - 1;
        int32_t c = mgi_ti_class(g, C, x, d);
        if (c >= 0 && mgi_ti_loop_of(t, cls, c, mg_tensor_of(g, x)->shape.dim[d], batch) < 0)
          return mg_fail(e, MG_UNSUPPORTED, where, "expected at most %d classes of dimensions in matmuls, found more",
                         MG_TILING_LOOPS);
      }
    }
    if (!batch) t->n_loops = t->n_all;
  }
  if (t->n_loops > MG_TILING_MAX)
    return mg_fail(e, MG_UNSUPPORTED, where, "expected at most %d loops, found %d", MG_TILING_MAX, t->n_loops);
  if (!t->n_loops)
    return mg_fail(e, MG_UNSUPPORTED, where, "expected a matmul with a dimension for a loop, found none");
  memset(of, -1, sizeof of);
  for (uint32_t i = 0; i < g->n_in + g->n_ops - 1; i++) {
    const mg_op_node *o = i < g->n_in ? NULL : &g->ops[i - g->n_in + 1];
    mg_tensor out = o ? o->out[0] : g->in[i];
    const mg_tensor_info *x = mg_tensor_of(g, out);
    mgi_ti_op *q = &p->op[p->n];
    memset(q, 0, sizeof *q);
    q->code = o ? o->code : MG_OP_LOAD, q->name = x->name, q->rank = x->shape.rank, q->bytes = mg_dtype_bytes(x->dtype);
    if (!o) q->in[0] = (int)i;
    for (int d = 0; d < q->rank; d++) {
      int32_t c = mgi_ti_class(g, C, out, d);
      int l = 0;
      while (l < t->n_all && (c < 0 || cls[l] != c)) l++;
      q->dim[d] = x->shape.dim[d], q->loop[d] = (int8_t)(l < t->n_all ? l : -1);
      if (l < t->n_all) q->idx |= 1u << l;
    }
    if (o) {
      if (!mgi_ti_takes(o->code))
        return mg_fail(e, MG_UNSUPPORTED, where,
                       "expected matmul, sum, max, transpose, slice, concat or an elementwise operator, found %s",
                       mg_op_row(o->code)->name);
      q->attr = o->attr;
      for (int j = 0; j < o->n_in; j++) {
        q->in[q->n_in++] = of[o->in[j].id];
        q->red |= p->op[of[o->in[j].id]].idx;
      }
      q->red &= ~q->idx;
    }
    of[out.id] = p->n++;
  }
  p->n_out = (int)g->n_out;
  for (int k = 0; k < p->n_out; k++) p->out[k] = of[g->out[k].id];
  for (int k = 0; k < 64 && mgi_ti_move_once(p);) k++;
  if (!mgi_ti_sort(p)) return mg_fail(e, MG_NO_MEMORY, where, "no memory for the operators");
  /* what the loops are */
  uint32_t spatial = ~0u;
  for (int k = 0; k < p->n_out; k++) spatial &= p->op[p->out[k]].idx;
  for (int k = 0; k < p->n; k++) if (p->op[k].code != MG_OP_LOAD) spatial &= ~p->op[k].red;
  for (int l = 0; l < t->n_all; l++) {
    p->first[l] = MGI_TI_OPS;
    t->loop[l].spatial = spatial >> l & 1;
    t->loop[l].name = l < t->n_loops ? "mknhpqrs"[l] : "bcdefgij"[l - t->n_loops];
    if (t->loop[l].batch && !t->loop[l].spatial)
      return mg_fail(e, MG_UNSUPPORTED, where,
                     "expected batch dimensions to index every output, found one of extent %lld that does not",
                     (long long)t->loop[l].extent);
  }
  uint32_t batch = ~((1u << t->n_loops) - 1);
  uint8_t need[MGI_TI_OPS] = { 0 };
  for (int k = p->n; k-- > 0;) {
    const mgi_ti_op *o = &p->op[k];
    p->mid[k] = need[k] && o->code == MG_OP_MATMUL;
    for (int j = 0; j < o->n_in && o->code != MG_OP_LOAD; j++) need[o->in[j]] |= need[k] | (o->code == MG_OP_MATMUL);
    if (o->code != MG_OP_MATMUL) continue;
    for (int l = 0; l < t->n_loops; l++)
      if ((o->idx | o->red) >> l & 1) p->first[l] = k, p->with[l] |= (o->idx | o->red) & ~batch;
  }
  return MG_OK;
}

/* --- 2. the expressions --- */

MGI_FN uint32_t mgi_ti_component(const mgi_ti_program *p, uint32_t set) { /* that of the lowest loop */
  uint32_t c = set & (~set + 1);
  for (uint32_t old = 0; old != c;) {
    old = c;
    for (int l = 0; l < MG_TILING_LOOPS; l++) if (c >> l & 1) c |= p->with[l] & set;
  }
  return c;
}

/* the first product inside of l */
MGI_FN int mgi_ti_first(const mgi_ti_program *p, const int8_t *parent, int n, int l) {
  int f = p->first[l];
  for (int k = 0; k < n; k++)
    if (parent[k] == l) { int g = mgi_ti_first(p, parent, n, k); f = g < f ? g : f; }
  return f;
}

/* The loops whose parent is l, in the order of their first product. */
MGI_FN int mgi_ti_children(const mgi_ti_program *p, const int8_t *parent, int n, uint32_t live, int l, int *kid) {
  int c = 0;
  for (int k = 0; k < n; k++) {
    if (parent[k] != l || !(live >> k & 1)) continue;
    int j = c++;
    while (j > 0 && mgi_ti_first(p, parent, n, kid[j - 1]) > mgi_ti_first(p, parent, n, k)) kid[j] = kid[j - 1], j--;
    kid[j] = k;
  }
  return c;
}

MGI_FN void mgi_ti_text(const mg_tilings *t, const int8_t *parent, uint32_t live, int l, char *s, size_t *n,
                        size_t cap) {
  int kid[MG_TILING_LOOPS], c = mgi_ti_children(t->program, parent, t->n_loops, live, l, kid);
#define MGI_TI_PUT(ch) do { if (*n + 1 < cap) s[(*n)++] = (ch), s[*n] = 0; } while (0)
  if (c > 1) MGI_TI_PUT('(');
  for (int k = 0; k < c; k++) {
    if (k) MGI_TI_PUT(',');
    MGI_TI_PUT(t->loop[kid[k]].name);
    mgi_ti_text(t, parent, live, kid[k], s, n, cap);
  }
  if (c > 1) MGI_TI_PUT(')');
#undef MGI_TI_PUT
}

/* parent with the loops that are not in `live` taken out of the tree. */
MGI_FN void mgi_ti_without(const int8_t *parent, int n, uint32_t live, int8_t *out) {
  for (int l = 0; l < n; l++) {
    int q = parent[l];
    while (q >= 0 && !(live >> q & 1)) q = parent[q];
    out[l] = (int8_t)q;
  }
}

MGI_FN uint32_t mgi_ti_around(const int8_t *parent, int l) {
  uint32_t m = 0;
  for (; l >= 0; l = parent[l]) m |= 1u << l;
  return m;
}

/* Rule 1's binding: see mg_tiling.bound. */
MGI_FN uint32_t mgi_ti_bind(const mg_tilings *t, const int8_t *parent) {
  const mgi_ti_program *p = t->program;
  uint32_t all = (1u << t->n_loops) - 1, bound = (1u << t->n_all) - 1 - all;
  for (int again = 1; again;) {
    again = 0;
    for (int l = 0; l < t->n_loops; l++) {
      if (!t->loop[l].spatial || (bound >> l & 1)) continue;
      int beside = 0, free_ = !(mgi_ti_around(parent, parent[l]) & ~bound), whole = 1;
      for (int x = l; x >= 0; x = parent[x])
        for (int y = 0; y < t->n_loops; y++) beside |= y != x && parent[y] == parent[x];
      for (int k = 0; k < p->n; k++) {
        const mgi_ti_op *o = &p->op[k];
        uint32_t loops = (o->idx | o->red) & all & ~bound;
        int inside = 0;
        for (int x = 0; x < t->n_loops; x++) inside |= (loops >> x & 1) && (mgi_ti_around(parent, x) >> l & 1);
        if (o->code == MG_OP_MATMUL && inside && !(o->idx >> l & 1)) whole = 0;
      }
      if (!beside && (free_ || whole)) bound |= 1u << l, again = 1;
    }
  }
  return bound;
}

typedef struct mgi_ti_task { uint32_t set; int parent; } mgi_ti_task;
typedef struct mgi_ti_gen { mg_tilings *t; int flat, cap, oom; int8_t parent[MG_TILING_LOOPS]; } mgi_ti_gen;

MGI_FN void mgi_ti_record(mgi_ti_gen *G) {
  mg_tilings *t = G->t;
  if (t->n == G->cap) {
    G->cap = G->cap ? G->cap * 2 : 32;
    mg_tiling *x = (mg_tiling *)realloc(t->tiling, (size_t)G->cap * sizeof *x);
    if (!x) { G->oom = 1; return; }
    t->tiling = x;
  }
  mg_tiling *x = &t->tiling[t->n];
  size_t n = 0;
  memset(x, 0, sizeof *x);
  memcpy(x->parent, G->parent, sizeof x->parent);
  x->flat = G->flat, x->same = t->n;
  mgi_ti_text(t, x->parent, ~0u, -1, x->text, &n, sizeof x->text);
  x->bound = mgi_ti_bind(t, x->parent);
  int8_t sub[MG_TILING_LOOPS];
  mgi_ti_without(x->parent, t->n_loops, ~x->bound, sub);
  n = 0;
  mgi_ti_text(t, sub, ~x->bound, -1, x->sub, &n, sizeof x->sub);
  t->n++;
}

/* Works off tasks: a set of loops that are to stand in one parent.  split: how often loops were put side by side. */
MGI_FN void mgi_ti_forests(mgi_ti_gen *G, const mgi_ti_task *task, int n, int split) {
  const mgi_ti_program *p = G->t->program;
  if (G->oom) return;
  if (!n) { if ((split > 0) == G->flat) mgi_ti_record(G); return; }
  mgi_ti_task next[2 * MG_TILING_LOOPS];
  uint32_t set = task[n - 1].set, comp[MG_TILING_LOOPS], one = mgi_ti_component(p, set), left = set & ~one;
  int at = task[n - 1].parent, c = 0;
  while (left) comp[c] = mgi_ti_component(p, left), left &= ~comp[c++];
  memcpy(next, task, (size_t)(n - 1) * sizeof *task);
  for (uint32_t pick = 1u << c; pick-- > 0;) { /* components that are nested with the first one */
    uint32_t group = one, rest;
    for (int k = 0; k < c; k++) if (pick >> k & 1) group |= comp[k];
    rest = set & ~group;
    if (rest && !G->flat) continue;
    for (int r = 0; r < G->t->n_loops; r++) {
      if (!(group >> r & 1)) continue;
      int m = n - 1;
      G->parent[r] = (int8_t)at;
      if (rest) next[m].set = rest, next[m++].parent = at;
      if (group & ~(1u << r)) next[m].set = group & ~(1u << r), next[m++].parent = r;
      mgi_ti_forests(G, next, m, split + (rest != 0));
    }
  }
}

/* --- 3. placement --- */

MGI_FN int mgi_ti_deepest(const mgi_ti_place *P, uint32_t set) { /* -1 for none; -2 if they do not nest */
  int best = -1;
  for (int l = 0; l < MG_TILING_LOOPS; l++)
    if ((set >> l & 1) && (best < 0 || (P->path[1 + l] & ~P->path[1 + best]))) best = l;
  return set & ~P->path[1 + best] ? -2 : best;
}

/* Where an operator with these operands runs that would best run in the innermost loop of `want`.  -2: nowhere. */
MGI_FN int mgi_ti_resolve(const mgi_ti_place *P, const int *in, int n, uint32_t want, uint32_t whole) {
  const mgi_ti_program *p = P->p;
  for (int round = 0; round < 4 * MG_TILING_LOOPS; round++) {
    int s = mgi_ti_deepest(P, want), sink = -1;
    if (s == -2) return s;
    uint32_t bad = whole & P->path[1 + s]; /* loops in which an operand is not there, or not complete */
    for (int j = 0; j < n; j++)
      if (p->op[in[j]].code != MG_OP_LOAD)
        bad |= (P->pend[in[j]] | (p->op[in[j]].idx & P->live & ~P->path[1 + P->scope[in[j]]])) & P->path[1 + s];
    if (bad) {
      while (bad & P->path[1 + s]) s = P->parent[s];
      want &= P->path[1 + s];
      continue;
    }
    for (int j = 0; j < n; j++) {
      int v = in[j];
      if (p->op[v].code == MG_OP_LOAD) continue;
      uint32_t leave = P->path[1 + P->scope[v]] & ~P->path[1 + s] & ~P->pend[v] & ~p->op[v].idx;
      if (leave) sink = mgi_ti_deepest(P, leave);
    }
    if (sink < 0) return s;
    if (P->path[1 + s] & ~P->path[1 + sink]) return -2;
    want |= 1u << sink;
  }
  return -2;
}

MGI_FN int mgi_ti_item_add(mgi_ti_place *P, mg_opcode code, int op, int scope) {
  if (P->n == MGI_TI_ITEMS) return -1;
  mgi_ti_item *x = &P->item[P->n];
  memset(x, 0, sizeof *x);
  x->code = code, x->op = op, x->scope = scope;
  return P->n++;
}

/* The item whose value is operand v in scope s: a load, the operator, or an accumulator. */
MGI_FN int mgi_ti_lift(mgi_ti_place *P, int v, int s) {
  const mgi_ti_op *o = &P->p->op[v];
  mg_opcode code = o->code == MG_OP_LOAD ? MG_OP_LOAD : MG_OP_ACCUM;
  uint32_t leave = 0;
  if (code == MG_OP_LOAD) s = mgi_ti_deepest(P, o->idx & P->path[1 + s]);
  else {
    int from = P->scope[v];
    leave = P->path[1 + from] & ~P->path[1 + s];
    if (!leave) return P->item_of[v];
    while (s >= 0 && !(P->path[1 + from] >> s & 1)) s = P->parent[s];
  }
  for (int k = 0; k < P->n; k++) if (P->item[k].code == code && P->item[k].op == v && P->item[k].scope == s) return k;
  int k = mgi_ti_item_add(P, code, v, s);
  if (k < 0) return k;
  P->item[k].join = code == MG_OP_LOAD ? o->idx & P->path[1 + s] : leave & o->idx;
  P->item[k].sum = leave & P->pend[v];
  if (code == MG_OP_ACCUM) P->item[k].dep[P->item[k].n_dep++] = P->item_of[v];
  return k;
}

/* Whether loop l's body has all that it needs from outside, loads aside; 2 if it has nothing to do. */
MGI_FN int mgi_ti_ready(const mgi_ti_place *P, const uint8_t *done, int l) {
  int any = 0;
  for (int k = 0; k < P->n; k++) {
    if (!(P->path[1 + P->item[k].scope] >> l & 1)) continue;
    any = 1;
    for (int j = 0; j < P->item[k].n_dep; j++) {
      int d = P->item[k].dep[j];
      if (!done[d] && P->item[d].code != MG_OP_LOAD && !(P->path[1 + P->item[d].scope] >> l & 1)) return 0;
    }
  }
  return any ? 1 : 2;
}

/* The loads of `scope` that item k, or what stands in loop l, needs. */
MGI_FN void mgi_ti_loads(mgi_ti_place *P, uint8_t *done, int scope, int item, int l) {
  for (int k = 0; k < P->n; k++) {
    if (item >= 0 ? k != item : !(P->path[1 + P->item[k].scope] >> l & 1)) continue;
    for (int j = 0; j < P->item[k].n_dep; j++) {
      int d = P->item[k].dep[j];
      if (P->item[d].code == MG_OP_LOAD && P->item[d].scope == scope && !done[d])
        P->event[P->n_events++] = (int16_t)d, done[d] = 1;
    }
  }
}

/* Statements as soon as they can be, then loops; a load right before what needs it. */
MGI_FN void mgi_ti_order(mgi_ti_place *P, int scope, uint8_t *done) {
  int kid[MG_TILING_LOOPS], c = mgi_ti_children(P->p, P->parent, MG_TILING_LOOPS, P->live, scope, kid);
  uint32_t opened = 0;
  for (int again = 1; again;) {
    again = 0;
    for (int k = 0; k < P->n; k++) {
      int ok = P->item[k].scope == scope && !done[k] && P->item[k].code != MG_OP_LOAD;
      for (int j = 0; ok && j < P->item[k].n_dep; j++)
        ok = done[P->item[k].dep[j]] || P->item[P->item[k].dep[j]].code == MG_OP_LOAD;
      if (!ok) continue;
      mgi_ti_loads(P, done, scope, k, -1);
      P->event[P->n_events++] = (int16_t)k, done[k] = 1, again = 1;
    }
    for (int k = 0; k < c && !again; k++) {
      if (opened >> kid[k] & 1) continue;
      int r = mgi_ti_ready(P, done, kid[k]);
      if (!r) continue;
      opened |= 1u << kid[k], again = 1;
      if (r == 2) continue;
      mgi_ti_loads(P, done, scope, -1, kid[k]);
      P->event[P->n_events++] = (int16_t)(MGI_TI_OPEN + kid[k]);
      mgi_ti_order(P, kid[k], done);
      P->event[P->n_events++] = (int16_t)(MGI_TI_CLOSE + kid[k]);
    }
  }
}

/* Places the program under a forest of the live loops.  hoist: stores stand in loops, as the paper writes them; else
   outside of all, as µGraphs have them.  0 if a dependence forbids it. */
MGI_FN int mgi_ti_place_all(mgi_ti_place *P, const mg_tilings *t, const int8_t *parent, uint32_t live, int hoist) {
  const mgi_ti_program *p = t->program;
  uint8_t done[MGI_TI_ITEMS] = { 0 };
  P->p = p, P->live = live, P->n = P->n_events = 0, P->path[0] = 0;
  memset(P->parent, -1, sizeof P->parent);
  mgi_ti_without(parent, t->n_loops, live, P->parent);
  for (int l = 0; l < MG_TILING_LOOPS; l++) P->path[1 + l] = live >> l & 1 ? mgi_ti_around(P->parent, l) : 0;
  for (int i = 0; i < p->n; i++) {
    const mgi_ti_op *o = &p->op[i];
    if (o->code == MG_OP_LOAD) continue;
    uint32_t whole = o->code == MG_OP_MAX ? o->red & live : 0;
    int s = mgi_ti_resolve(P, o->in, o->n_in, (o->idx | o->red) & live & ~whole, whole);
    if (s == -2) return 0;
    P->scope[i] = s, P->pend[i] = whole ? 0 : o->red & P->path[1 + s];
    int dep[4] = { 0, 0, 0, 0 };
    for (int j = 0; j < o->n_in; j++) if ((dep[j] = mgi_ti_lift(P, o->in[j], s)) < 0) return 0;
    int k = P->item_of[i] = mgi_ti_item_add(P, o->code, i, s);
    if (k < 0) return 0;
    memcpy(P->item[k].dep, dep, sizeof dep);
    P->item[k].n_dep = o->n_in;
  }
  for (int k = 0; k < p->n_out; k++) {
    int v = p->out[k], s;
    if (p->op[v].code == MG_OP_LOAD) return 0;
    s = mgi_ti_resolve(P, &v, 1, hoist ? p->op[v].idx & P->path[1 + P->scope[v]] : 0, 0);
    if (s == -2 || (!hoist && s != -1)) return 0;
    int d = mgi_ti_lift(P, v, s), i = d < 0 ? -1 : mgi_ti_item_add(P, MG_OP_STORE, v, s);
    if (i < 0) return 0;
    P->item[i].dep[P->item[i].n_dep++] = d;
  }
  mgi_ti_order(P, -1, done);
  for (int k = 0; k < P->n; k++) if (!done[k]) return 0;
  return 1;
}

/* Tiles along l, and elements of one; tile NULL: more than one. */
MGI_FN int64_t mgi_ti_trips(const mg_tilings *t, const int64_t *tile, int l) {
  if (l >= t->n_loops) return t->loop[l].extent;
  if (!tile) return 2;
  int64_t s = tile[l] < 1 ? 1 : tile[l];
  return s >= t->loop[l].extent ? 1 : mg_ceil_div(t->loop[l].extent, s);
}
MGI_FN int64_t mgi_ti_chunk(const mg_tilings *t, const int64_t *tile, int l) {
  int64_t n = mgi_ti_trips(t, tile, l);
  return mg_ceil_div(t->loop[l].extent, n);
}
MGI_FN uint32_t mgi_ti_live(const mg_tilings *t, const int64_t *tile) {
  uint32_t live = 0;
  for (int l = 0; l < t->n_loops; l++) live |= (uint32_t)(mgi_ti_trips(t, tile, l) > 1) << l;
  return live;
}
MGI_FN int mgi_ti_place_of(mgi_ti_place *P, const mg_tilings *t, int which, const int64_t *tile) {
  const mg_tiling *x = &t->tiling[which];
  return mgi_ti_place_all(P, t, x->parent, mgi_ti_live(t, tile) & ~x->bound, 0);
}

/* --- the rules --- */

MGI_FN int mgi_ti_rule_DUPLICATE(const mg_tilings *t, int which, const int64_t *tile) {
  (void)tile;
  return t->tiling[which].same != which;
}
MGI_FN int mgi_ti_rule_CACHED(const mg_tilings *t, int which, const int64_t *tile) {
  const mgi_ti_program *p = t->program;
  const mg_tiling *x = &t->tiling[which];
  uint32_t live = mgi_ti_live(t, tile) & ~x->bound;
  for (int k = 0; k < p->n; k++)
    for (int l = 0; l < t->n_loops && p->mid[k]; l++)
      if ((p->op[k].idx & live) >> l & 1 && (mgi_ti_around(x->parent, l) & p->op[k].red & live)) return 1;
  return 0;
}
MGI_FN int mgi_ti_rule_DEPENDENCE(const mg_tilings *t, int which, const int64_t *tile) {
  mgi_ti_place P;
  return !mgi_ti_place_of(&P, t, which, tile);
}
MGI_FN int mgi_ti_padded(int64_t extent, int64_t tile) {
  int64_t s = tile < extent ? tile : extent, over = s < 1 ? extent : mg_round_up(extent, s) - extent;
  return (extent & (extent - 1)) ? over * 20 >= extent : over > 0;
}
MGI_FN int mgi_ti_rule_PADDING(const mg_tilings *t, int which, const int64_t *tile) {
  (void)which;
  for (int l = 0; l < t->n_loops && tile; l++) if (mgi_ti_padded(t->loop[l].extent, tile[l])) return 1;
  return 0;
}
MGI_FN int mgi_ti_rule_SHARED(const mg_tilings *t, int which, const int64_t *tile) {
  int64_t shared = 0;
  if (!tile) return 0;
  const mg_machine *gpu = t->cfg.machine;
  return mg_tiling_us(t, which, tile, &shared) < 0 || (double)shared > 1.2 * (double)gpu->shared_per_block;
}

static const struct { const char *name, *text; int (*removes)(const mg_tilings *, int, const int64_t *); } mgi_ti_rules[] = {
  { "kept", "nothing", NULL },
#define MGI_R(id, name, what) { name, what, mgi_ti_rule_##id },
  MG_TILING_RULES(MGI_R)
#undef MGI_R
};
const char *mg_tiling_rule_name(mg_tiling_rule r) {
  return (unsigned)r < MG_TILING_RULE_COUNT ? mgi_ti_rules[r].name : "?";
}
const char *mg_tiling_rule_text(mg_tiling_rule r) {
  return (unsigned)r < MG_TILING_RULE_COUNT ? mgi_ti_rules[r].text : "?";
}

mg_tiling_rule mg_tiling_judge(const mg_tilings *t, int which, const int64_t *tile) {
  for (int r = 1; r < MG_TILING_RULE_COUNT; r++) {
    /* rules 1 and 2 speak of the expression, whatever the sizes */
    if (mgi_ti_rules[r].removes(t, which, r <= MG_TILING_CACHED ? NULL : tile)) return (mg_tiling_rule)r;
  }
  return MG_TILING_KEPT;
}

mg_status mg_tilings_of(const mg_graph *program, const mg_tilings_config *cfg, mg_tilings *out, mg_error *e) {
  memset(out, 0, sizeof *out);
  if (cfg) out->cfg = *cfg;
  if (!out->cfg.machine) out->cfg.machine = mg_machine_at(0);
  if (out->cfg.step < 1) out->cfg.step = 16;
  mg_classes C;
  if (!program) return mg_fail(e, MG_BAD_INPUT, "mg_tilings_of", "expected a program, found none");
  mg_status s = mg_classes_of(program, &C, e);
  if (s != MG_OK) return s;
  out->program = (mgi_ti_program *)calloc(1, sizeof *out->program);
  if (!out->program) s = mg_fail(e, MG_NO_MEMORY, "mg_tilings_of", "no memory for the program");
  else out->program->g = program, s = mgi_ti_read(out, program, &C, e);
  mg_classes_free(&C);
  mgi_ti_gen G;
  memset(&G, 0, sizeof G);
  G.t = out;
  mgi_ti_task all;
  all.set = (1u << out->n_loops) - 1, all.parent = -1;
  for (G.flat = 0; s == MG_OK && G.flat < (out->cfg.deep_only ? 1 : 2); G.flat++) mgi_ti_forests(&G, &all, 1, 0);
  if (s == MG_OK && G.oom) s = mg_fail(e, MG_NO_MEMORY, "mg_tilings_of", "no memory for the expressions");
  if (s != MG_OK) { mg_tilings_free(out); return s; }
  for (int i = 0; i < out->n; i++) {
    mg_tiling *x = &out->tiling[i];
    for (int k = 0; k < i && x->same == i; k++)
      if (out->tiling[k].bound == x->bound && !strcmp(out->tiling[k].sub, x->sub)) x->same = k;
  }
  out->after[0] = out->n;
  for (int i = 0; i < out->n; i++) {
    out->tiling[i].rule = mg_tiling_judge(out, i, NULL);
    for (int r = 1; r < MG_TILING_RULE_COUNT; r++)
      out->after[r] += out->tiling[i].rule == MG_TILING_KEPT || (int)out->tiling[i].rule > r;
  }
  out->candidates = (uint64_t)out->n;
  for (int l = 0; l < out->n_loops; l++) {
    uint64_t k = (uint64_t)mg_ceil_div(out->loop[l].extent, out->cfg.step);
    out->candidates = out->candidates > UINT64_MAX / k ? UINT64_MAX : out->candidates * k;
  }
  return MG_OK;
}

void mg_tilings_free(mg_tilings *t) {
  if (!t) return;
  free(t->tiling), free(t->program);
  memset(t, 0, sizeof *t);
}

int mg_tilings_find(const mg_tilings *t, const char *text) {
  for (int k = 0; k < t->n; k++) if (!strcmp(t->tiling[k].text, text)) return k;
  return -1;
}

/* --- 4. text, cost, graph --- */

enum { MGI_TI_LINE = MGI_TI_ITEMS * 72 }; /* a statement is a name of at most 64 characters, and a few more */

/* Appends to s, which has MGI_TI_LINE bytes. */
MGI_FN void mgi_ti_puts(char *s, const char *x) {
  size_t n = strlen(s);
  snprintf(s + n, MGI_TI_LINE - n, "%s", x);
}

MGI_FN void mgi_ti_statement(char *s, const mgi_ti_place *P, int k) {
  const mgi_ti_item *x = &P->item[k];
  const mgi_ti_op *o = &P->p->op[x->op];
  char moved[48];
  /* an operator that was moved has no tensor of the program */
  snprintf(moved, sizeof moved, "%s%d", mg_op_row(o->code)->name, x->op);
  mgi_ti_puts(s, x->code == MG_OP_LOAD ? "L_" : x->code == MG_OP_STORE ? "S_" : "C_");
  mgi_ti_puts(s, o->name ? o->name : moved);
}

/* Events up to the close of the scope; returns the index after it. */
MGI_FN int mgi_ti_print(char *s, const mg_tilings *t, const mgi_ti_place *P, int at) {
  int n = 0, first = at, only;
  for (int i = at, depth = 0; i < P->n_events && depth >= 0; i++) { /* statements and loops of this scope */
    int v = P->event[i];
    if (v >= MGI_TI_CLOSE) depth--;
    else {
      if (!depth && (v >= MGI_TI_OPEN || P->item[v].code != MG_OP_ACCUM)) n++;
      if (v >= MGI_TI_OPEN) depth++;
    }
  }
  only = n == 1 && P->event[first] >= MGI_TI_OPEN;
  if (!only) mgi_ti_puts(s, "(");
  for (int any = 0; at < P->n_events && P->event[at] < MGI_TI_CLOSE;) {
    int v = P->event[at++];
    if (v < MGI_TI_OPEN && P->item[v].code == MG_OP_ACCUM) continue;
    if (any++) mgi_ti_puts(s, ",");
    if (v < MGI_TI_OPEN) mgi_ti_statement(s, P, v);
    else {
      char name[2] = { t->loop[v - MGI_TI_OPEN].name, 0 };
      mgi_ti_puts(s, name);
      at = mgi_ti_print(s, t, P, at);
    }
  }
  if (!only) mgi_ti_puts(s, ")");
  return at + 1;
}

MGI_FN mg_status mgi_ti_asked(const mg_tilings *t, int which, const char *where, mg_error *e) {
  if (which >= 0 && which < t->n) return MG_OK;
  return mg_fail(e, MG_BAD_INPUT, where, "expected an expression from 0 to %d, found %d", t->n - 1, which);
}

mg_status mg_tiling_statements(const mg_tilings *t, int which, const int64_t *tile, char **text, mg_error *e) {
  mgi_ti_place P;
  *text = NULL;
  if (mgi_ti_asked(t, which, "mg_tiling_statements", e)) return MG_BAD_INPUT;
  if (!mgi_ti_place_all(&P, t, t->tiling[which].parent, mgi_ti_live(t, tile), 1))
    return mg_fail(e, MG_UNSUPPORTED, t->tiling[which].text, "%s", mg_tiling_rule_text(MG_TILING_DEPENDENCE));
  *text = (char *)malloc(MGI_TI_LINE);
  if (!*text) return mg_fail(e, MG_NO_MEMORY, "mg_tiling_statements", "no memory for the text");
  **text = 0;
  mgi_ti_print(*text, t, &P, 0);
  return MG_OK;
}

double mg_tiling_us(const mg_tilings *t, int which, const int64_t *tile, int64_t *shared) {
  mgi_ti_place P;
  const mgi_ti_program *p = t->program;
  const mg_machine *gpu = t->cfg.machine;
  double bytes = 0, flops = 0, held = 0, blocks = 1;
  if (which < 0 || which >= t->n || !tile || !mgi_ti_place_of(&P, t, which, tile)) return -1;
  for (int l = 0; l < t->n_all; l++) if (t->tiling[which].bound >> l & 1) blocks *= (double)mgi_ti_trips(t, tile, l);
  for (int k = 0; k < P.n; k++) {
    const mgi_ti_item *x = &P.item[k];
    const mgi_ti_op *o = &p->op[x->op];
    uint32_t cut = t->tiling[which].bound | P.path[1 + x->scope];
    double el = 1, trips = blocks;
    for (int d = 0; d < o->rank; d++)
      el *= o->loop[d] >= 0 && (cut >> o->loop[d] & 1)
                ? (o->loop[d] < t->n_loops ? (double)mgi_ti_chunk(t, tile, o->loop[d]) : 1)
                : (double)o->dim[d];
    for (int l = 0; l < t->n_loops; l++) if (P.path[1 + x->scope] >> l & 1) trips *= (double)mgi_ti_trips(t, tile, l);
    if (x->code == MG_OP_LOAD || x->code == MG_OP_STORE) bytes += el * o->bytes * trips;
    if (x->code == MG_OP_LOAD) held += el * o->bytes;
    if (x->code == MG_OP_ACCUM && o->code == MG_OP_MATMUL) held += el * o->bytes;
    if (x->code != MG_OP_MATMUL) continue;
    if (!P.pend[x->op]) held += el * o->bytes; /* no accumulator holds it */
    const mgi_ti_op *left = &p->op[o->in[0]];
    if (left->loop[left->rank - 1] < 0) el *= (double)left->dim[left->rank - 1];
    for (int l = 0; l < t->n_loops; l++)
      if (o->red >> l & 1)
        el *= P.path[1 + x->scope] >> l & 1 ? (double)mgi_ti_chunk(t, tile, l) : (double)t->loop[l].extent;
    flops += 2 * el * trips;
  }
  if (shared) *shared = held < 9e18 ? (int64_t)held : INT64_MAX;
  return (bytes / (gpu->dram_gbps * 1e3) + flops / (gpu->tensor_tflops * 1e6)) * (blocks + gpu->sms) / blocks;
}

MGI_FN mg_map mgi_ti_map(const mg_graph *b, mg_map m, const mgi_ti_op *o, uint32_t loops, const mg_axis *axis) {
  (void)b;
  for (int d = 0; d < o->rank; d++)
    if (o->loop[d] >= 0 && (loops >> o->loop[d] & 1) && axis[o->loop[d]].id) m = mg_map_set(m, axis[o->loop[d]], d);
  return m;
}

/* The loop that stands alone around all others and sums up all that leaves it, in tiles of one size, or -1: blocks of
   the grid may share its tiles, `parts` of them, and add up what each makes. */
MGI_FN int mgi_ti_shared_loop(const mg_tilings *t, const mgi_ti_place *P, const int64_t *tile, int64_t parts) {
  int l = -1, roots = 0;
  for (int k = 0; k < t->n_loops; k++) if ((P->live >> k & 1) && P->parent[k] < 0) l = k, roots++;
  if (roots != 1 || mgi_ti_trips(t, tile, l) % parts || t->loop[l].extent % mgi_ti_trips(t, tile, l)) return -1;
  for (int k = 0; k < P->n; k++) if (P->item[k].code == MG_OP_ACCUM && (P->item[k].join >> l & 1)) return -1;
  return l;
}

/* What output k of the program is stored from: of its type, which a quotient that was moved behind a cast has not. */
MGI_FN mg_tensor mgi_ti_stored(mg_graph *b, mg_tensor a, const mg_graph *program, int k) {
  const mg_dtype type = mg_tensor_of(program, program->out[k])->dtype;
  return mg_tensor_of(b, a)->dtype == type ? a : mg_cast(b, a, type);
}
/* The candidate, with the outermost loop's tiles in so many parts that different blocks sum up; MG_UNSUPPORTED: they
   cannot. */
MGI_FN mg_status mgi_ti_graph(const mg_tilings *t, int which, const int64_t *tile, int64_t parts, mg_graph **out,
                              mg_error *e) {
  mgi_ti_place P;
  *out = NULL;
  if (mgi_ti_asked(t, which, "mg_tiling_graph", e)) return MG_BAD_INPUT;
  const mg_tiling *x = &t->tiling[which];
  const mgi_ti_program *p = t->program;
  if (!tile)
    return mg_fail(e, MG_BAD_INPUT, x->text, "expected a tile size for each of %d loops, found none", t->n_loops);
  if (!mgi_ti_place_of(&P, t, which, tile))
    return mg_fail(e, MG_UNSUPPORTED, x->text, "%s", mg_tiling_rule_text(MG_TILING_DEPENDENCE));
  int64_t grid[3] = { 1, 1, 1 };
  mg_axis axis[MG_TILING_LOOPS];
  /* stored: the output of each store: loops put them in an order of their own */
  int used = 0, stored[MG_MAX_OUT], n_stored = 0;
  memset(axis, 0, sizeof axis);
  for (int l = 0; l < t->n_all; l++) {
    if (!(x->bound >> l & 1) || mgi_ti_trips(t, tile, l) == 1) continue;
    if (used == 3)
      return mg_fail(e, MG_UNSUPPORTED, x->text, "expected at most 3 spatial loops of several tiles, found more");
    grid[used++] = mgi_ti_trips(t, tile, l);
    axis[l].id = (uint32_t)used;
  }
  const int split = parts > 1 ? mgi_ti_shared_loop(t, &P, tile, parts) : -1;
  mg_axis group = { 0 };
  if (parts > 1 && (split < 0 || used == 3))
    return mg_fail(e, MG_UNSUPPORTED, x->text, "no loop whose tiles blocks can share");
  if (split >= 0) grid[used++] = parts, group.id = (uint32_t)used;
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(p->g->name, &c);
  if (!g) return mg_fail(e, MG_NO_MEMORY, x->text, "no memory for a graph");
  mg_tensor in[MG_MAX_IN], val[MGI_TI_ITEMS], made[MG_MAX_OUT];
  memset(val, 0, sizeof val), memset(made, 0, sizeof made);
  for (uint32_t k = 0; k < p->g->n_in; k++) {
    const mg_tensor_info *i = mg_tensor_of(p->g, p->g->in[k]);
    in[k] = mg_input_like(g, i, NULL);
  }
  mg_graph *b = mg_graph_begin(g, grid, 128);
  for (int i = 0; b && i < P.n_events; i++) {
    int v = P.event[i];
    if (v >= MGI_TI_OPEN) {
      const int l = v >= MGI_TI_CLOSE ? v - MGI_TI_CLOSE : v - MGI_TI_OPEN;
      const int64_t trips = l == split ? mgi_ti_trips(t, tile, l) / parts : mgi_ti_trips(t, tile, l);
      char name[2] = { t->loop[l].name, 0 };
      if (l == split && trips == 1) continue;
      if (v >= MGI_TI_CLOSE) mg_loop_end(b);
      else axis[l] = mg_loop_begin(b, name, trips);
      continue;
    }
    const mgi_ti_item *m = &P.item[v];
    const mgi_ti_op *o = &p->op[m->op];
    mg_tensor a[4];
    for (int j = 0; j < m->n_dep; j++) a[j] = val[m->dep[j]];
    mg_map map = mg_map_none();
    if (m->code == MG_OP_LOAD) {
      for (int d = 0; d < o->rank && split >= 0; d++)
        if (o->loop[d] == split && (m->join >> split & 1)) map = mg_map_set(map, group, d);
      val[v] = mg_load(b, in[o->in[0]], mgi_ti_map(b, map, o, m->join | x->bound, axis));
    }
    else if (m->code == MG_OP_STORE) {
      int k = 0, taken = 0;
      for (int q = 0; q < n_stored; q++) taken += p->out[stored[q]] == m->op;
      while (p->out[k] != m->op || taken-- > 0) k++;
      stored[n_stored++] = k;
      mg_store(b, mgi_ti_stored(b, a[0], p->g, k), mgi_ti_map(b, map, o, x->bound, axis));
    }
    else if (m->code == MG_OP_ACCUM) {
      map = mgi_ti_map(b, map, o, m->join, axis);
      for (int l = 0; l < t->n_loops; l++)
        if ((m->sum >> l & 1) && axis[l].id) map = mg_map_set(map, axis[l], MG_MAP_SUM);
      if (split >= 0 && (m->sum >> split & 1)) map = mg_map_set(map, group, MG_MAP_SUM);
      val[v] = mg_accum(b, a[0], map);
    } else val[v] = mg_apply(b, o->code, &o->attr, m->n_dep, a);
  }
  mg_tensor by[MG_MAX_OUT];
  memset(by, 0, sizeof by);
  if (b) mg_plan_kernel(b, t->cfg.machine), mg_graph_end(b, by);
  for (int k = 0; k < n_stored; k++) made[stored[k]] = by[k];
  for (int k = 0; k < p->n_out; k++) mg_output(g, mg_named(g, made[k], mg_tensor_of(p->g, p->g->out[k])->name));
  mg_status s = mg_check(g, e);
  if (s != MG_OK) { mg_graph_free(g); return s; }
  *out = g;
  return MG_OK;
}

mg_status mg_tiling_graph(const mg_tilings *t, int which, const int64_t *tile, mg_graph **out, mg_error *e) {
  return mgi_ti_graph(t, which, tile, 1, out, e);
}

/* --- the best --- */

typedef struct mgi_ti_cand { double us; int which; int64_t tile[MG_TILING_LOOPS]; } mgi_ti_cand;

/* Sizes along l that rule 3 leaves, largest first; past 2^24 those of counts that are powers of two. */
MGI_FN int mgi_ti_sizes(const mg_tilings *t, int l, int64_t *size) {
  int n = 0;
  int64_t e = t->loop[l].extent, last = 0;
  for (int64_t count = 1; count <= mg_ceil_div(e, t->cfg.step) && n < MGI_TI_SIZES; count += e > 1 << 24 ? count : 1) {
    int64_t s = mg_ceil_div(e, count);
    s = count == 1 ? e : mg_round_up(s, t->cfg.step);
    if (s == last || mgi_ti_padded(e, s)) continue;
    size[n++] = last = s;
  }
  return n;
}

/* The candidate in as many parts as are the fastest, and what it takes; NULL: there is none. */
MGI_FN double mgi_ti_fastest(const mg_tilings *t, int which, const int64_t *tile, mg_graph **out) {
  double least = 0;
  *out = NULL;
  for (int64_t parts = 1; parts <= MGI_TI_PARTS; parts *= 2) {
    mg_graph *g = NULL;
    if (mgi_ti_graph(t, which, tile, parts, &g, NULL) != MG_OK) break;
    const double us = mg_predict_us(g, t->cfg.machine);
    if (*out && us >= least) mg_graph_free(g);
    else mg_graph_free(*out), *out = g, least = us;
  }
  return least;
}
MGI_FN int mgi_ti_over(const mg_tilings *t, double end) {
  return mgi_se_flag(t->cfg.stop) || (t->cfg.seconds > 0 && mgi_se_seconds() > end);
}

mg_status mg_tilings_best(const mg_graph *program, const mg_tilings_config *cfg, int most, mg_graph **graph, double *us,
                          int *n, mg_error *e) {
  enum { POOL = 64 };
  mg_tilings t;
  double end = mgi_se_seconds() + (cfg ? cfg->seconds : 0);
  uint32_t steps = 0;
  int over = 0;
  *n = 0;
  mg_status s = mg_tilings_of(program, cfg, &t, e);
  if (s != MG_OK) return s;
  int64_t (*size)[MGI_TI_SIZES] = (int64_t (*)[MGI_TI_SIZES])malloc(MG_TILING_LOOPS * sizeof *size);
  int count[MG_TILING_LOOPS], classes = t.after[MG_TILING_DUPLICATE],
                              share = classes ? (int)mg_ceil_div(most, classes) : 0;
  int *of = (int *)malloc((size_t)(most > 0 ? most : 1) * sizeof *of); /* the class of each graph */
  if (!size || !of || most < 1) {
    free(size), free(of), mg_tilings_free(&t);
    return most < 1 ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_tilings_best", "no memory for tile sizes");
  }
  for (int l = 0; l < t.n_loops; l++) count[l] = mgi_ti_sizes(&t, l, size[l]);
  for (;;) {
    double all = 1;
    int longest = 0;
    for (int l = 0; l < t.n_loops; l++) {
      all *= count[l];
      if (count[l] > count[longest]) longest = l;
    }
    if (all * classes <= 1e6) break;
    for (int k = 0; 2 * k < count[longest]; k++) size[longest][k] = size[longest][2 * k];
    count[longest] = (count[longest] + 1) / 2;
  }
  if (share < 1) share = 1;
  for (int w = 0; w < t.n && !over; w++) {
    if (t.tiling[w].same != w) continue;
    mgi_ti_cand best[POOL];
    int have = 0, at[MG_TILING_LOOPS] = { 0 }, kept = 0, l;
    do {
      mgi_ti_cand c;
      int64_t shared = 0;
      c.which = w;
      for (l = 0; l < t.n_loops; l++) c.tile[l] = size[l][at[l]];
      if (!mgi_ti_rule_CACHED(&t, w, c.tile)) {
        c.us = mg_tiling_us(&t, w, c.tile, &shared);
        if (c.us >= 0 && (double)shared <= 1.2 * (double)t.cfg.machine->shared_per_block &&
            (have < POOL || c.us < best[have - 1].us)) {
          int k = have < POOL ? have++ : have - 1;
          while (k > 0 && best[k - 1].us > c.us) best[k] = best[k - 1], k--;
          best[k] = c;
        }
      }
      for (l = 0; l < t.n_loops && ++at[l] == count[l]; l++) at[l] = 0;
      over = !(++steps & 63) && mgi_ti_over(&t, end);
    } while (l < t.n_loops && !over);
    for (int k = 0; k < have && !(over && kept); k++) { /* the best of a class that it has begun stays */
      over |= mgi_ti_over(&t, end);
      mg_graph *g;
      int seen = 0, q = *n;
      double p = mgi_ti_fastest(&t, w, best[k].tile, &g);
      if (!g) continue; /* a grid that is too large */
      for (int i = 0; i < *n; i++) seen |= mg_hash(graph[i]) == mg_hash(g);
      int drop = -1; /* the worst of this class if it has its share, else the worst of all if there is no room */
      for (int i = 0; i < *n && kept == share; i++) if (of[i] == w) drop = i;
      if (kept < share && *n == most) drop = most - 1;
      if (seen || p >= MG_UNFIT_US || (drop >= 0 && p >= us[drop])) { mg_graph_free(g); continue; }
      if (drop >= 0) {
        kept -= of[drop] == w;
        mg_graph_free(graph[drop]);
        for (int i = drop; i + 1 < *n; i++) us[i] = us[i + 1], graph[i] = graph[i + 1], of[i] = of[i + 1];
        q = --*n;
      }
      while (q > 0 && us[q - 1] > p) us[q] = us[q - 1], graph[q] = graph[q - 1], of[q] = of[q - 1], q--;
      us[q] = p, graph[q] = g, of[q] = w;
      kept++, ++*n;
    }
  }
  free(of);
  free(size);
  mg_tilings_free(&t);
  return MG_OK;
}

/* ------------------------------------------------------------------------------------------------- >>threads

   In each scope, operators that ELEMENTWISE or REDUCTION lets in are united with their users, in order, where the other
   rows hold for the union; else the union is undone.  ORDER: the scope's operators, its loops taken as one node each,
   have no cycle once groups are taken as one node each.  The copy emits groups, loops and single operators by the last
   operator of each, as soon as all that they need is there; stores keep their order.                              */

enum { MGI_TH_FRAGMENT = 128 };

typedef struct mgi_th_scope {
  const mg_graph *b;
  int *group;                       /* by op: an op of its group, 0 if in none */
  uint8_t *stamp, *done;            /* by op: scratch */
} mgi_th_scope;

/* The extents of the largest tensor, from the last dimension on; bit d of *reduced: one reduces it. */
MGI_FN int mgi_th_full(const mgi_th_scope *S, int g, int64_t *full, uint32_t *reduced) {
  const mg_graph *b = S->b;
  int rank = 0;
  *reduced = 0;
  for (int d = 0; d < MG_MAX_RANK; d++) full[d] = 1;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    if (S->group[k] != g) continue;
    const mg_op_node *o = &b->ops[k];
    for (int j = -1; j < o->n_in; j++) {
      const mg_shape *x = &b->tensors[(j < 0 ? o->out[0] : o->in[j]).id].shape;
      rank = x->rank > rank ? x->rank : rank;
      for (int d = 0; d < x->rank; d++) if (x->dim[x->rank - 1 - d] > full[d]) full[d] = x->dim[x->rank - 1 - d];
    }
    if (!mg_op_row(o->code)->elementwise) *reduced |= 1u << (b->tensors[o->in[0].id].shape.rank - 1 - o->attr.dim);
  }
  return rank;
}

MGI_FN int mgi_th_ELEMENTWISE(const mgi_th_scope *S, int k) {
  const mg_op_info *row = mg_op_row(S->b->ops[k].code);
  return row->elementwise && (row->levels & MG_LEVEL_T);
}
MGI_FN int mgi_th_REDUCTION(const mgi_th_scope *S, int k) {
  const mg_op_node *o = &S->b->ops[k];
  if (o->code != MG_OP_SUM && o->code != MG_OP_MAX) return 0;
  return S->b->tensors[o->in[0].id].shape.dim[o->attr.dim] <= MGI_TH_FRAGMENT;
}
MGI_FN int mgi_th_EVEN(const mgi_th_scope *S, int g) {
  for (uint32_t k = 1; k < S->b->n_ops; k++) {
    const mg_op_node *o = &S->b->ops[k];
    if (S->group[k] != g) continue;
    for (int j = -1; j < o->n_in; j++)
      for (int d = 0; d < MG_MAX_RANK; d++) if (S->b->tensors[(j < 0 ? o->out[0] : o->in[j]).id].cuts[d]) return 0;
  }
  return 1;
}
MGI_FN int mgi_th_BROADCAST(const mgi_th_scope *S, int g) {
  int64_t full[MG_MAX_RANK];
  uint32_t reduced;
  mgi_th_full(S, g, full, &reduced);
  for (uint32_t k = 1; k < S->b->n_ops; k++) {
    const mg_op_node *o = &S->b->ops[k];
    if (S->group[k] != g) continue;
    for (int j = -1; j < o->n_in; j++) {
      const mg_shape *x = &S->b->tensors[(j < 0 ? o->out[0] : o->in[j]).id].shape;
      for (int d = 0; d < x->rank; d++)
        if (x->dim[x->rank - 1 - d] != 1 && x->dim[x->rank - 1 - d] != full[d]) return 0;
    }
  }
  return 1;
}
MGI_FN int mgi_th_FRAGMENT(const mgi_th_scope *S, int g) {
  int64_t full[MG_MAX_RANK], held = 1, rest = 1;
  uint32_t reduced;
  int rank = mgi_th_full(S, g, full, &reduced);
  for (int d = 0; d < rank; d++) *(reduced >> d & 1 ? &held : &rest) *= full[d];
  return !reduced || (held <= MGI_TH_FRAGMENT && rest > 1);
}

/* Whether tensor t is used outside of group g. */
MGI_FN int mgi_th_used(const mgi_th_scope *S, uint32_t t, int g) {
  for (uint32_t k = 1; k < S->b->n_ops; k++)
    for (int j = 0; j < S->b->ops[k].n_in; j++)
      if (S->b->ops[k].in[j].id == t && S->b->ops[k].code != MG_OP_LOAD && S->group[k] != g) return 1;
  return 0;
}
/* What comes in, and what goes out; in has room for one more than MG_MAX_IN. */
MGI_FN void mgi_th_signature(const mgi_th_scope *S, int g, uint32_t *in, int *n_in, uint32_t *out, int *n_out) {
  const mg_graph *b = S->b;
  *n_in = *n_out = 0;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    if (S->group[k] != g) continue;
    const mg_op_node *o = &b->ops[k];
    for (int j = 0; j < o->n_in; j++) {
      int seen = S->group[b->tensors[o->in[j].id].op] == g;
      for (int i = 0; i < *n_in; i++) seen |= in[i] == o->in[j].id;
      if (!seen && *n_in <= MG_MAX_IN) in[(*n_in)++] = o->in[j].id;
    }
    if (mgi_th_used(S, o->out[0].id, g) && *n_out <= MG_MAX_OUT) out[(*n_out)++] = o->out[0].id;
  }
}
MGI_FN int mgi_th_SIGNATURE(const mgi_th_scope *S, int g) {
  uint32_t in[MG_MAX_IN + 1], out[MG_MAX_OUT + 1];
  int n_in, n_out;
  mgi_th_signature(S, g, in, &n_in, out, &n_out);
  return n_in <= MG_MAX_IN && n_out >= 1 && n_out <= MG_MAX_OUT;
}

/* Whether op k is part of the node that op r stands for in scope s: itself, its group, or the loop around it. */
/* the loop of s's body around scope; 0: none */
MGI_FN uint32_t mgi_th_child(const mg_graph *b, uint32_t s, uint32_t scope) {
  while (scope && b->axes[scope].parent != s) scope = b->axes[scope].parent;
  return scope;
}
MGI_FN int mgi_th_inside(const mg_graph *b, uint32_t s, uint32_t scope) { /* scope is s or in it */
  while (scope != s && scope) scope = b->axes[scope].parent;
  return scope == s;
}
MGI_FN int mgi_th_same(const mgi_th_scope *S, uint32_t s, uint32_t k, uint32_t r) {
  const mg_graph *b = S->b;
  if (k == r) return 1;
  if (b->ops[k].scope == s && b->ops[r].scope == s) return S->group[k] && S->group[k] == S->group[r];
  return b->ops[k].scope != s && b->ops[r].scope != s &&
         mgi_th_child(b, s, b->ops[k].scope) == mgi_th_child(b, s, b->ops[r].scope);
}
/* Whether all that r's node needs in scope s is done. */
MGI_FN int mgi_th_ready(const mgi_th_scope *S, uint32_t s, uint32_t r) {
  const mg_graph *b = S->b;
  uint32_t store = 0;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (!mgi_th_inside(b, s, o->scope)) continue;
    if (mgi_th_same(S, s, k, r)) {
      for (int j = 0; j < o->n_in && o->code != MG_OP_LOAD; j++) {
        uint32_t q = b->tensors[o->in[j].id].op;
        if (q && mgi_th_inside(b, s, b->ops[q].scope) && !S->done[q] && !mgi_th_same(S, s, q, r)) return 0;
      }
      if (o->code == MG_OP_STORE && store && !S->done[store]) return 0;
    }
    if (o->code == MG_OP_STORE) store = k;
  }
  return 1;
}
/* The next node of scope s to emit, as its last op; 0 if none is left, or none is ready. */
MGI_FN uint32_t mgi_th_next(const mgi_th_scope *S, uint32_t s) {
  const mg_graph *b = S->b;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    int last = !S->done[k] && mgi_th_inside(b, s, b->ops[k].scope);
    for (uint32_t q = k + 1; last && q < b->n_ops; q++)
      last = !mgi_th_inside(b, s, b->ops[q].scope) || !mgi_th_same(S, s, q, k);
    if (last && mgi_th_ready(S, s, k)) return k;
  }
  return 0;
}
MGI_FN void mgi_th_mark(const mgi_th_scope *S, uint32_t s, uint32_t r) {
  for (uint32_t k = 1; k < S->b->n_ops; k++)
    if (mgi_th_inside(S->b, s, S->b->ops[k].scope) && mgi_th_same(S, s, k, r)) S->done[k] = 1;
}
MGI_FN int mgi_th_ORDER(const mgi_th_scope *S, int g) {
  const mg_graph *b = S->b;
  uint32_t s = b->ops[g].scope, k;
  memset(S->done, 0, b->n_ops);
  while ((k = mgi_th_next(S, s)) != 0) mgi_th_mark(S, s, k);
  int all = 1;
  for (k = 1; k < b->n_ops; k++) all &= S->done[k] || !mgi_th_inside(b, s, b->ops[k].scope);
  memset(S->done, 0, b->n_ops);
  return all;
}

static const struct { mg_thread_rule rule; int (*holds)(const mgi_th_scope *, int); } mgi_th_rules[] = {
#define MGI_R(id, name, pattern, condition) { { name, pattern, condition }, mgi_th_##id },
  MG_THREAD_RULES(MGI_R)
#undef MGI_R
};
enum { MGI_TH_MEMBER = 2 }; /* rows that let an operator in; the rest judge a group */
int mg_thread_rule_count(void) { return (int)(sizeof mgi_th_rules / sizeof *mgi_th_rules); }
const mg_thread_rule *mg_thread_rule_at(int k) {
  return k >= 0 && k < mg_thread_rule_count() ? &mgi_th_rules[k].rule : NULL;
}

MGI_FN int mgi_th_member(const mgi_th_scope *S, int k) {
  for (int r = 0; r < MGI_TH_MEMBER; r++) if (mgi_th_rules[r].holds(S, k)) return 1;
  return 0;
}
MGI_FN int mgi_th_holds(const mgi_th_scope *S, int g) {
  for (int r = MGI_TH_MEMBER; r < mg_thread_rule_count(); r++) if (!mgi_th_rules[r].holds(S, g)) return 0;
  return 1;
}

/* Groups by op; those of one operator are dissolved.  Unions change what later ones find: repeated until none is
   left. */
MGI_FN void mgi_th_groups(const mgi_th_scope *S) {
  const mg_graph *b = S->b;
  for (uint32_t k = 1; k < b->n_ops; k++) S->group[k] = mgi_th_member(S, (int)k) ? (int)k : 0;
  for (int again = 1; again;) {
    again = 0;
    for (uint32_t k = 1; k < b->n_ops; k++) {
      const mg_op_node *o = &b->ops[k];
      for (int j = 0; j < o->n_in && S->group[k]; j++) {
        uint32_t q = b->tensors[o->in[j].id].op;
        int from = S->group[k], to = S->group[q];
        if (!to || to == from || b->ops[q].scope != o->scope) continue;
        for (uint32_t i = 1; i < b->n_ops; i++) S->stamp[i] = S->group[i] == from;
        for (uint32_t i = 1; i < b->n_ops; i++) if (S->stamp[i]) S->group[i] = to;
        if (mgi_th_holds(S, to)) again = 1;
        else for (uint32_t i = 1; i < b->n_ops; i++) if (S->stamp[i]) S->group[i] = from;
      }
    }
  }
  for (uint32_t k = 1; k < b->n_ops; k++) {
    int n = 0;
    for (uint32_t i = 1; i < b->n_ops; i++) n += S->group[i] == (int)k;
    if (n == 1) for (uint32_t i = 1; i < b->n_ops; i++) if (S->group[i] == (int)k) S->group[i] = 0;
  }
}

MGI_FN void mgi_th_name(mg_graph *to, mg_tensor t, const mg_graph *from, mg_tensor was) {
  const char *n = mg_tensor_of(from, was)->name;
  if (n) mg_named(to, t, n);
}

/* Group g as a thread graph of `to`. */
MGI_FN void mgi_th_build(const mgi_th_scope *S, int g, mg_graph *to, mg_tensor *map, mg_tensor *lower) {
  const mg_graph *b = S->b;
  int64_t full[MG_MAX_RANK], grid[3] = { 1, 1, 1 }, left = b->threads < 1 ? 1 : b->threads;
  uint32_t reduced, in[MG_MAX_IN + 1], out[MG_MAX_OUT + 1];
  int n_in, n_out, rank = mgi_th_full(S, g, full, &reduced), dim[3], axes = 0;
  /* the last dimension first: neighbours in memory, neighbours in threads */
  for (int d = 0; d < rank && axes < 3; d++) {
    if ((reduced >> d & 1) || full[d] == 1) continue;
    int64_t n = full[d] < left ? full[d] : left;
    while (full[d] % n) n--;
    grid[axes] = n, dim[axes++] = d, left /= n;
  }
  mg_graph *s = mg_graph_begin(to, grid, 1);
  mgi_th_signature(S, g, in, &n_in, out, &n_out);
  if (!s) return;
#define MGI_TH_MAP(x, m) \
  mg_map m = mg_map_none(); \
  for (int a = 0; a < axes; a++) if (dim[a] < (x)->rank && (x)->dim[(x)->rank - 1 - dim[a]] > 1) m = mg_map_set(m, mg_grid_axis(s, a), (x)->rank - 1 - dim[a])
  for (int i = 0; i < n_in; i++) {
    const mg_shape *x = &b->tensors[in[i]].shape;
    mg_tensor was = { in[i] };
    MGI_TH_MAP(x, m);
    lower[in[i]] = mg_load(s, map[in[i]], m);
    mgi_th_name(s, lower[in[i]], b, was);
  }
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    mg_tensor a[MG_MAX_IN];
    if (S->group[k] != g) continue;
    for (int j = 0; j < o->n_in; j++) a[j] = lower[o->in[j].id];
    lower[o->out[0].id] = mg_apply(s, o->code, &o->attr, o->n_in, a);
    mgi_th_name(s, lower[o->out[0].id], b, o->out[0]);
  }
  mg_tensor made[MG_MAX_OUT];
  memset(made, 0, sizeof made);
  for (int i = 0; i < n_out; i++) {
    const mg_shape *x = &b->tensors[out[i]].shape;
    MGI_TH_MAP(x, m);
    mg_store(s, lower[out[i]], m);
  }
#undef MGI_TH_MAP
  mg_graph_end(s, made);
  for (int i = 0; i < n_out; i++) {
    mg_tensor was = { out[i] };
    map[out[i]] = made[i];
    mgi_th_name(to, made[i], b, was);
  }
}

enum { MGI_TH_OPS = 128 }; /* a block graph of more stays as it is */
typedef struct mgi_th_copy {
  mg_tensor *map, *lower;
  const mg_tensor *up;
  uint32_t axis[MG_MAX_AXES + 1];
  int *joined;
} mgi_th_copy;

MGI_FN int mgi_th_graph(const mg_graph *from, mg_graph *to, mg_tensor *map, const mg_tensor *up, int *joined);

MGI_FN int mgi_th_emit(const mgi_th_scope *S, uint32_t scope, mg_graph *to, mgi_th_copy *C) {
  const mg_graph *b = S->b;
  uint32_t k;
  int ok = 1;
  while (ok && (k = mgi_th_next(S, scope)) != 0) {
    const mg_op_node *o = &b->ops[k];
    mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT];
    mg_map m = mg_map_none();
    memset(out, 0, sizeof out);
    if (o->scope != scope) {
      uint32_t l = mgi_th_child(b, scope, o->scope);
      C->axis[l] = mg_loop_begin(to, b->axes[l].name, b->axes[l].extent).id;
      ok = mgi_th_emit(S, l, to, C);
      mg_loop_end(to);
      mgi_th_mark(S, scope, k);
      continue;
    }
    mgi_th_mark(S, scope, k);
    if (S->group[k]) {
      for (uint32_t i = 1; i < b->n_ops; i++) *C->joined += S->group[i] == S->group[k];
      mgi_th_build(S, S->group[k], to, C->map, C->lower);
      continue;
    }
    for (uint32_t a = 1; a < b->n_axes; a++) if (o->map.to[a] != MG_MAP_NONE) m.to[C->axis[a]] = o->map.to[a];
    for (int j = 0; j < o->n_in; j++) in[j] = o->code == MG_OP_LOAD ? C->up[o->in[j].id] : C->map[o->in[j].id];
    if (o->code == MG_OP_GRAPH) {
      int64_t grid[3];
      for (int a = 0; a < 3; a++) grid[a] = o->sub->axes[a + 1].extent;
      mg_graph *sub = mg_graph_begin(to, grid, o->sub->threads > 0 ? o->sub->threads : 1);
      mg_tensor *lower = (mg_tensor *)calloc(o->sub->n_tensors, sizeof *lower);
      ok = sub && lower && mgi_th_graph(o->sub, sub, lower, C->map, C->joined);
      for (uint32_t j = 0; ok && j < o->sub->n_plan; j++) mg_plan_set(sub, o->sub->plan[j].key, o->sub->plan[j].value);
      if (ok) mg_graph_end(sub, out);
      free(lower);
    } else if (o->code == MG_OP_STORE) mg_store(to, in[0], m);
    else
      out[0] = o->code == MG_OP_LOAD    ? mg_load(to, in[0], m)
               : o->code == MG_OP_ACCUM ? mg_accum(to, in[0], m)
                                        : mg_apply(to, o->code, &o->attr, o->n_in, in);
    for (int j = 0; j < o->n_out; j++) {
      C->map[o->out[j].id] = out[j];
      mgi_th_name(to, out[j], b, o->out[j]);
    }
  }
  return ok;
}

/* Copies `from` into `to`, fused if it is a block graph; map[t] becomes the handle of tensor t.  0: no memory. */
MGI_FN int mgi_th_graph(const mg_graph *from, mg_graph *to, mg_tensor *map, const mg_tensor *up, int *joined) {
  mgi_th_scope S;
  mgi_th_copy C;
  S.b = from;
  S.group = (int *)calloc(from->n_ops, sizeof *S.group);
  S.stamp = (uint8_t *)calloc(from->n_ops, 1), S.done = (uint8_t *)calloc(from->n_ops, 1);
  C.map = map, C.up = up, C.joined = joined;
  C.lower = (mg_tensor *)calloc(from->n_tensors, sizeof *C.lower);
  for (uint32_t a = 0; a <= MG_MAX_AXES; a++) C.axis[a] = a;
  int ok = S.group && S.stamp && S.done && C.lower;
  if (ok && from->level == MG_BLOCK && from->n_ops <= MGI_TH_OPS) mgi_th_groups(&S);
  if (ok) ok = mgi_th_emit(&S, 0, to, &C);
  free(S.group), free(S.stamp), free(S.done), free(C.lower);
  return ok;
}

mg_status mg_fuse_threads(const mg_graph *g, mg_graph **out, int *joined, mg_error *e) {
  int none = 0;
  if (!joined) joined = &none;
  *out = NULL, *joined = 0;
  if (!g || g->up) return mg_fail(e, MG_BAD_INPUT, "mg_fuse_threads", "expected a program");
  mg_config c = mg_config_default();
  mg_graph *r = mg_program_new(g->name, &c);
  mg_tensor *map = (mg_tensor *)calloc(g->n_tensors, sizeof *map);
  int ok = r && map;
  for (uint32_t k = 0; ok && k < g->n_in; k++) {
    const mg_tensor_info *t = mg_tensor_of(g, g->in[k]);
    map[g->in[k].id] = mg_input_like(r, t, NULL);
  }
  ok = ok && mgi_th_graph(g, r, map, NULL, joined);
  for (uint32_t k = 0; ok && k < g->n_out; k++) mg_output(r, map[g->out[k].id]);
  free(map);
  mg_status s = r ? mg_check(r, e) : MG_NO_MEMORY; /* what the builder met, else memory */
  if (s == MG_OK && !ok) s = MG_NO_MEMORY;
  if (s == MG_NO_MEMORY) mg_fail(e, s, "mg_fuse_threads", "no memory for the copy");
  if (s != MG_OK) { mg_graph_free(r); return s; }
  *out = r;
  return MG_OK;
}

/* --------------------------------------------------------------------------------------------- >>expressions

   A segment is a program of its own, with its e-graph and a small instance.  Every class has a small extent and a small
   count, by which an axis that is bound to it cuts it; the small instance's inputs are random field elements.      */

enum { MGI_SE_MAX_CLASSES = 24, MGI_SE_MAX_CONST = 24, MGI_SE_MAX_INST = 24, MGI_SE_SMALL_LIMIT = 1 << 16 };
enum { MGI_SE_FRAME_BYTES = 256 << 20, MGI_SE_VALUE_BYTES = MGI_SE_FRAME_BYTES / 8, MGI_SE_FRAME_WORK = 1 << 27, MGI_SE_VALUE_WORK = MGI_SE_FRAME_WORK / 8, MGI_SE_TRIED = 256 };

typedef struct mgi_se_inst { /* an operator of the program that the generator may use elsewhere */
  mg_opcode op;
  mg_attr attr;
  mg_eattr key;
  int n_in;
  int8_t rank[3], cls[3][MG_MAX_RANK]; /* operands, then the result: moving operators */
} mgi_se_inst;

typedef struct mgi_se_seg {
  mg_graph *p, *small;
  mg_classes cls;
  int n_cls, size_class[MGI_SE_MAX_CLASSES], as[MGI_SE_MAX_CLASSES]; /* as: the class that it is searched as */
  int64_t real[MGI_SE_MAX_CLASSES], ext[MGI_SE_MAX_CLASSES], cnt[MGI_SE_MAX_CLASSES], ragged[MGI_SE_MAX_CLASSES];
  uint8_t fixed[MGI_SE_MAX_CLASSES], summed[MGI_SE_MAX_CLASSES]; /* summed: something reduces over it */
  int n_tied;
  uint32_t tied[MGI_SE_MAX_CLASSES];                             /* class n_cls + k: what a grid axis cuts together, as
                                                                    bits */
  mg_egraph *eg;
  uint32_t *ecls;
  /* of class c: partner[partner_at[c]] .. partner[partner_at[c + 1] - 1], classes below n_classes */
  uint32_t *partner, *partner_at, n_classes;
  mg_saturation stop;
  double egraph_ms;
  int sealed;   /* see mgi_se_seg_seals */
  int has_max, n_scale, n_shift, n_inst;
  mg_rational scale[MGI_SE_MAX_CONST], shift[MGI_SE_MAX_CONST];
  mgi_se_inst inst[MGI_SE_MAX_INST];
  mg_field F;
  mg_fv *in[MG_MAX_IN], *out[MG_MAX_OUT];
  int overflow; /* a table above was too short: not complete */
  int accums;   /* see mgi_se_seg_accums */
  /* how mgi_se_seg_new ended; not MG_OK: there is no small instance, and only what it has made may be read */
  mg_status made;
} mgi_se_seg;

MGI_FN int mgi_se_cls(const mgi_se_seg *s, mg_tensor t, int d) { return s->cls.of[t.id * MG_MAX_RANK + (uint32_t)d]; }

/* The classes of axis class a, which may be several that are tied, as bits. */
MGI_FN uint32_t mgi_se_cut_by(const mgi_se_seg *s, int a) {
  return a < 0 ? 0 : a < s->n_cls ? (uint32_t)1 << a : s->tied[a - s->n_cls];
}
MGI_FN int mgi_se_cuts_class(const mgi_se_seg *s, int a, int c) { return c >= 0 && mgi_se_cut_by(s, a) >> c & 1; }

MGI_FN void mgi_se_seg_free(mgi_se_seg *s) {
  for (int k = 0; k < MG_MAX_IN; k++) free(s->in[k]);
  for (int k = 0; k < MG_MAX_OUT; k++) free(s->out[k]);
  mg_egraph_free(s->eg);
  free(s->ecls), free(s->partner), free(s->partner_at);
  mg_classes_free(&s->cls);
  mg_graph_free(s->small);
  mg_graph_free(s->p);
  free(s);
}

MGI_FN uint64_t mgi_se_attr_extra(const mg_op_info *row, const mg_attr *A) {
  uint64_t h = 0;
  switch (row->attr) {
  case MG_ATTR_RAT: h = mgi_se_mix(mgi_se_mix(1, (uint64_t)A->c.num), (uint64_t)A->c.den); break;
  case MG_ATTR_DIM: h = mgi_se_mix(2, (uint64_t)A->dim); break;
  case MG_ATTR_DIMN: h = mgi_se_mix(mgi_se_mix(3, (uint64_t)A->dim), (uint64_t)A->n); break;
  case MG_ATTR_SLICE:
    h = mgi_se_mix(mgi_se_mix(mgi_se_mix(6, (uint64_t)A->dim), (uint64_t)A->n), (uint64_t)A->from);
    break;
  case MG_ATTR_SHAPE:
    h = 4;
    for (int d = 0; d < A->shape.rank; d++) h = mgi_se_mix(h, (uint64_t)A->shape.dim[d]);
    break;
  case MG_ATTR_PERM: h = 5; for (int d = 0; d < MG_MAX_RANK; d++) h = mgi_se_mix(h, (uint64_t)A->perm[d]); break;
  default: break;
  }
  return h;
}

/* sum or max over the factors of a class that the bits name: 1 loop, 2 rest, 4 grid. */
MGI_FN uint32_t mgi_se_reduce_term(mg_egraph *eg, int add, mg_eop op, int size_class, int factors, uint32_t x) {
  for (int f = 2; f >= 0 && x; f--)
    if (factors >> f & 1) {
      mg_eattr a = { size_class, f };
      x = add ? mg_egraph_add(eg, op, a, x, 0) : mg_egraph_probe(eg, op, a, x, 0);
    }
  return x;
}

MGI_FN uint32_t mgi_se_unary_term(mg_egraph *eg, int add, mg_eop op, int64_t a, int64_t b, uint32_t x) {
  mg_eattr at = { a, b };
  return add ? mg_egraph_add(eg, op, at, x, 0) : mg_egraph_probe(eg, op, at, x, 0);
}
MGI_FN uint32_t mgi_se_binary_term(mg_egraph *eg, int add, mg_eop op, uint32_t x, uint32_t y) {
  mg_eattr at = { 0, 0 };
  if (!x || !y) return 0;
  return add ? mg_egraph_add(eg, op, at, x, y) : mg_egraph_probe(eg, op, at, x, y);
}

/* The abstract expression of an elementwise row: added, or probed (0: no subexpression of the program). */
MGI_FN uint32_t mgi_se_elementwise_term(mg_egraph *eg, int add, mg_opcode op, mg_rational c, uint32_t x, uint32_t y) {
  const mg_op_info *row = mg_op_row(op);
  switch (row->abstract) {
  case MG_ABS_ADD: return mgi_se_binary_term(eg, add, MG_E_ADD, x, y);
  case MG_ABS_SUB: return mgi_se_binary_term(eg, add, MG_E_ADD, x, mgi_se_unary_term(eg, add, MG_E_SCALE, -1, 1, y));
  case MG_ABS_MUL: return mgi_se_binary_term(eg, add, MG_E_MUL, x, y);
  case MG_ABS_DIV: return mgi_se_binary_term(eg, add, MG_E_DIV, x, y);
  case MG_ABS_SQR: return mgi_se_binary_term(eg, add, MG_E_MUL, x, x);
  case MG_ABS_EXP: return mgi_se_unary_term(eg, add, MG_E_EXP, 0, 0, x);
  case MG_ABS_NEG: return mgi_se_unary_term(eg, add, MG_E_SCALE, -1, 1, x);
  case MG_ABS_SCALE: return mgi_se_unary_term(eg, add, MG_E_SCALE, c.num, c.den, x);
  case MG_ABS_ADD_SCALAR: return mgi_se_unary_term(eg, add, MG_E_ADD_SCALAR, c.num, c.den, x);
  default: {
    mg_attr A;
    memset(&A, 0, sizeof A);
    A.c = c;
    mg_eattr key = mgi_se_opaque_attr(op, mgi_se_attr_extra(row, &A));
    return add ? mg_egraph_add(eg, MG_E_OPAQUE, key, x, y) : mg_egraph_probe(eg, MG_E_OPAQUE, key, x, y);
  }
  }
}

MGI_FN void mgi_se_add_const(mg_rational *list, int *n, mg_rational c, int *overflow) {
  for (int k = 0; k < *n; k++) if (list[k].num == c.num && list[k].den == c.den) return;
  if (*n == MGI_SE_MAX_CONST) { *overflow = 1; return; }
  list[(*n)++] = c;
}

/* 1: operator k is a sum of two inputs of one type that nothing else uses: a residual.  Where the closure passes its
   limit (a norm of four monomials instead of two), such a sum S = X + R becomes an atom of it: nothing takes it apart.
   Of a µGraph G(X, R) for f(X + R), G(X + R, 0) and G(0, X + R) compute f too, with a sum at each place where G loads
   X, or R, and without what G does with the other alone and to join the two.  The one of the two that is loaded at
   fewer places takes no more bytes than G; nor more operators where that is one place. */
MGI_FN int mgi_se_seg_seals(const mgi_se_seg *s, uint32_t k) {
  const mg_graph *p = s->p;
  const mg_op_node *o = &p->ops[k];
  if (o->code != MG_OP_ADD || o->in[0].id == o->in[1].id) return 0;
  for (int j = 0; j < 2; j++) {
    const mg_tensor_info *x = mg_tensor_of(p, o->in[j]), *y = mg_tensor_of(p, o->out[0]);
    int in = 0;
    for (uint32_t i = 0; i < p->n_in; i++) in |= p->in[i].id == o->in[j].id;
    if (!in || mg_uses_of(p, o->in[j]) != 1 || x->dtype != mg_tensor_of(p, o->in[0])->dtype ||
        x->shape.rank != y->shape.rank)
      return 0;
    for (int d = 0; d < y->shape.rank; d++) if (x->shape.dim[d] != y->shape.dim[d]) return 0;
  }
  return 1;
}

/* The program's terms: fills s->ecls, and the operators that the generator may use elsewhere. */
MGI_FN mg_status mgi_se_seg_terms(mgi_se_seg *s, mg_error *e) {
  const mg_graph *p = s->p;
  s->n_inst = 0;
  s->eg = mg_egraph_new();
  s->ecls = (uint32_t *)calloc(p->n_tensors, sizeof *s->ecls);
  if (!s->eg || !s->ecls) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the e-graph");
  for (uint32_t k = 0; k < p->n_in; k++) {
    mg_eattr a = { (int64_t)k, 0 };
    s->ecls[p->in[k].id] = mg_egraph_add(s->eg, MG_E_VAR, a, 0, 0);
  }
  for (uint32_t k = 1; k < p->n_ops; k++) {
    const mg_op_node *o = &p->ops[k];
    const mg_op_info *row = mg_op_row(o->code);
    uint32_t x[4] = { 0, 0, 0, 0 }, r = 0;
    for (int j = 0; j < o->n_in && j < 4; j++) x[j] = s->ecls[o->in[j].id];
    int keep = 0; /* an instance for the generator */
    if (s->sealed && mgi_se_seg_seals(s, k)) r = mg_egraph_add(s->eg, MG_E_OPAQUE, mgi_se_pl_sealed, x[0], x[1]);
    else if (row->elementwise) {
      r = mgi_se_elementwise_term(s->eg, 1, o->code, o->attr.c, x[0], x[1]);
      keep = row->abstract == MG_ABS_OPAQUE;
    } else if (row->abstract == MG_ABS_MATMUL || row->abstract == MG_ABS_CONCAT_MATMUL) {
      uint32_t part[2] = { 0, 0 };
      for (int h = 0; h < (row->abstract == MG_ABS_MATMUL ? 1 : 2); h++) { /* (w|x)(y|z): w y and x z */
        int a = row->abstract == MG_ABS_MATMUL ? 0 : h, b = row->abstract == MG_ABS_MATMUL ? 1 : h + 2;
        int c = mgi_se_cls(s, o->in[a], mg_tensor_of(p, o->in[a])->shape.rank - 1);
        part[h] = mgi_se_binary_term(s->eg, 1, MG_E_MUL, x[a], x[b]);
        if (c >= 0) part[h] = mgi_se_reduce_term(s->eg, 1, MG_E_SUM, s->size_class[c], 7, part[h]), s->summed[c] = 1;
      }
      r = part[1] ? mgi_se_binary_term(s->eg, 1, MG_E_ADD, part[0], part[1]) : part[0];
    } else if (row->abstract == MG_ABS_SUM || row->abstract == MG_ABS_MAX) {
      int c = mgi_se_cls(s, o->in[0], o->attr.dim);
      s->has_max |= row->abstract == MG_ABS_MAX;
      r = c < 0 ? x[0]
                : mgi_se_reduce_term(s->eg, 1, row->abstract == MG_ABS_SUM ? MG_E_SUM : MG_E_MAX, s->size_class[c], 7,
                                     x[0]);
      if (c >= 0) s->summed[c] = 1;
    } else {
      r = row->abstract == MG_ABS_SAME
              ? x[0]
              : mg_egraph_add(s->eg, MG_E_OPAQUE, mgi_se_opaque_attr(o->code, mgi_se_attr_extra(row, &o->attr)), x[0],
                              x[1]);
      keep = row->moves && o->n_in <= 2;
    }
    if (!r) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the e-graph");
    s->ecls[o->out[0].id] = r;
    if (!keep) continue;
    mgi_se_inst in;
    memset(&in, 0, sizeof in);
    in.op = o->code, in.n_in = o->n_in, in.attr = o->attr;
    in.key = mgi_se_opaque_attr(o->code, mgi_se_attr_extra(row, &o->attr));
    int same = 0;
    for (int j = 0; j <= o->n_in && row->moves; j++) {
      mg_tensor t = j < o->n_in ? o->in[j] : o->out[0];
      in.rank[j] = (int8_t)mg_tensor_of(p, t)->shape.rank;
      for (int d = 0; d < in.rank[j]; d++) in.cls[j][d] = (int8_t)mgi_se_cls(s, t, d);
    }
    for (int j = 0; j < s->n_inst; j++) {
      const mgi_se_inst *q = &s->inst[j];
      same |= q->op == in.op && q->key.a == in.key.a && !memcmp(q->cls, in.cls, sizeof in.cls) &&
              !memcmp(q->rank, in.rank, sizeof in.rank);
    }
    if (same) continue;
    if (s->n_inst == MGI_SE_MAX_INST) s->overflow = 1;
    else s->inst[s->n_inst++] = in;
  }
  return MG_OK;
}

/* The classes that some binary operator joins with each: all others need not be tried.  Counted, then filled in. */
MGI_FN mg_status mgi_se_seg_partners(mgi_se_seg *s, mg_error *e) {
  const mg_egraph *eg = s->eg;
  uint32_t n = eg->n_cls, *neg = (uint32_t *)calloc((size_t)eg->n_cls + eg->n + 1, sizeof *neg),
           *next = neg ? neg + n : NULL, *seen = (uint32_t *)calloc(n, sizeof *seen);
  s->n_classes = n;
  s->partner_at = (uint32_t *)calloc((size_t)n + 2, sizeof *s->partner_at);
  if (!neg || !seen || !s->partner_at) {
    free(neg), free(seen);
    return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the e-graph");
  }
  for (uint32_t k = 0; k < eg->n; k++) { /* neg[c]: nodes that are -1 times something, in class c; next: the list */
    const mgi_se_enode *x = &eg->node[k];
    if (x->op != MG_E_SCALE || eg->attr[x->attr - 1].a != -1 || eg->attr[x->attr - 1].b != 1) continue;
    uint32_t c = mg_egraph_find(eg, x->cls);
    next[k] = neg[c], neg[c] = k + 1;
  }
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t k = 0; k < eg->n; k++) {
      const mgi_se_enode *x = &eg->node[k];
      if (!x->b) continue;
      uint32_t a = mg_egraph_find(eg, x->a), b = mg_egraph_find(eg, x->b);
      for (uint32_t i = neg[b] && x->op == MG_E_ADD ? neg[b] : 0, first = 1; first || i;
           i = first ? i : next[i - 1], first = 0) {
        uint32_t y = first ? b : mg_egraph_find(eg, eg->node[i - 1].a);
        if (!fill) s->partner_at[a]++, s->partner_at[y]++;
        else s->partner[--s->partner_at[a]] = y, s->partner[--s->partner_at[y]] = a;
      }
    }
    if (fill) break;
    /* ends; filling moves them to the starts */
    for (uint32_t c = 1; c <= n; c++) s->partner_at[c] += s->partner_at[c - 1];
    s->partner_at[n + 1] = s->partner_at[n];
    s->partner = (uint32_t *)malloc(((size_t)s->partner_at[n] + 1) * sizeof *s->partner);
    if (!s->partner) {
      free(neg), free(seen);
      return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the e-graph");
    }
  }
  uint32_t kept = 0;
  for (uint32_t c = 0; c < n; c++) { /* each once */
    uint32_t from = s->partner_at[c], to = s->partner_at[c + 1];
    s->partner_at[c] = kept;
    for (uint32_t k = from; k < to; k++)
      if (seen[s->partner[k]] != c + 1) seen[s->partner[k]] = c + 1, s->partner[kept++] = s->partner[k];
  }
  s->partner_at[n] = kept;
  free(neg), free(seen);
  return MG_OK;
}

/* The limits of a closure within a search that ends at `end`: half of the time is for what follows.  1: that is less
   than its own. */
MGI_FN int mgi_se_seg_limits(mg_egraph_limits *l, double end) {
  const double left = (end - mgi_se_seconds()) / 2;
  const int clipped = left < (l->seconds > 0 ? l->seconds : 10);
  if (clipped) l->seconds = left > 1e-9 ? left : 1e-9; /* 0 would be none */
  return clipped;
}
/* What ended it: of time that was clipped, not its own. */
MGI_FN mg_saturation mgi_se_seg_ended(mg_saturation by, int clipped) {
  return clipped && by == MG_TIME ? MG_STOPPED : by;
}
MGI_FN mg_status mgi_se_seg_saturate(mgi_se_seg *s, mg_egraph_limits l, double end, mg_saturation *outcome,
                                     mg_error *e) {
  const int clipped = mgi_se_seg_limits(&l, end);
  mg_status st = mg_egraph_saturate(s->eg, &l, outcome, e);
  *outcome = mgi_se_seg_ended(*outcome, clipped);
  return st;
}

/* The closure as normal forms; *closed: it is s->eg.  MG_UNSUPPORTED, or s->stop: it is not. */
MGI_FN mg_status mgi_se_seg_close(mgi_se_seg *s, mg_egraph_limits l, double end, mg_egraph **closed, mg_error *e) {
  const int clipped = mgi_se_seg_limits(&l, end);
  const mg_graph *p = s->p;
  uint32_t out[MG_MAX_OUT], *map = (uint32_t *)calloc(s->eg->n_cls, sizeof *map),
                            *dims = (uint32_t *)calloc(p->n_tensors, sizeof *dims);
  if (!map || !dims) {
    free(map), free(dims);
    return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the e-graph");
  }
  /* by size class: how many classes the program sums over, the last */
  int moves = 0, sums[MGI_SE_MAX_CLASSES] = { 0 }, over[MGI_SE_MAX_CLASSES] = { 0 };
  for (int k = 0; k < s->n_inst; k++) moves |= mg_op_row(s->inst[k].op)->moves && s->inst[k].op != MG_OP_TRANSPOSE;
  for (int c = 0; c < s->n_cls; c++) if (s->summed[c]) sums[s->size_class[c]]++, over[s->size_class[c]] = c;
  for (uint32_t k = 1; k < p->n_tensors; k++)
    for (int d = 0; d < p->tensors[k].shape.rank; d++) {
      mg_tensor t = { k };
      int c = mgi_se_cls(s, t, d), of = c < 0 ? 0 : s->size_class[c];
      /* others of that size are not summed over: see `Indices` */
      if (c >= 0 && (moves || sums[of] != 1 || over[of] == c)) dims[k] |= (uint32_t)1 << of;
    }
  for (uint32_t k = 0; k < p->n_out; k++) out[k] = s->ecls[p->out[k].id];
  const mg_status st = mgi_se_pl_close(s->eg, out, (int)p->n_out, s->ecls, dims, p->n_tensors, &l, closed, map,
                                       &s->stop);
  s->stop = mgi_se_seg_ended(s->stop, clipped);
  if (*closed) {
    for (uint32_t k = 1; k < p->n_tensors; k++) s->ecls[k] = map[s->ecls[k]];
    mg_egraph_free(s->eg);
    s->eg = *closed;
  }
  free(map), free(dims);
  return st == MG_NO_MEMORY ? mg_fail(e, st, "mg_search", "no memory for the e-graph") : st;
}

/* Builds the e-graph of the segment's program, saturates and freezes it; the search ends at `end`. */
MGI_FN mg_status mgi_se_seg_egraph(mgi_se_seg *s, const mg_search_config *cfg, double end, mg_error *e) {
  const mg_graph *p = s->p;
  double t0 = mgi_se_seconds();
  mg_egraph_limits limits = cfg->egraph;
  limits.stop = cfg->stop;
  mg_status st = mgi_se_seg_terms(s, e);
  if (st != MG_OK) return st;
  mg_egraph *closed = NULL;
  st = limits.no_copies ? MG_UNSUPPORTED : mgi_se_seg_close(s, limits, end, &closed, e);
  if (st == MG_NO_MEMORY) return st;
  if (st == MG_UNSUPPORTED) st = mgi_se_seg_saturate(s, limits, end, &s->stop, e);
  for (uint32_t k = 1; k < p->n_ops && s->stop == MG_NODES && !limits.no_copies; k++)
    s->sealed |= mgi_se_seg_seals(s, k);
  if (st == MG_OK && s->sealed) {
    mg_egraph_free(s->eg), free(s->ecls);
    s->eg = NULL, s->ecls = NULL;
    st = mgi_se_seg_terms(s, e);
    if (st == MG_OK) st = mgi_se_seg_close(s, limits, end, &closed, e);
    if (st == MG_UNSUPPORTED) st = MG_OK;
    if (!closed) s->sealed = 0, s->stop = s->stop >= MG_TIME ? s->stop : MG_NODES;
  }
  if (st == MG_OK && s->stop != MG_SATURATED && !limits.no_copies) {
    mg_saturation cheap;
    mg_egraph_free(s->eg), free(s->ecls);
    s->eg = NULL, s->ecls = NULL;
    limits.no_copies = 1;
    st = mgi_se_seg_terms(s, e);
    if (st == MG_OK) st = mgi_se_seg_saturate(s, limits, end, &cheap, e);
    if (st == MG_OK && cheap >= MG_TIME) s->stop = cheap;
  }
  if (st != MG_OK) return st;
  if (!closed) mg_egraph_freeze(s->eg);
  s->egraph_ms = 1e3 * (mgi_se_seconds() - t0);
  for (uint32_t k = 1; k < p->n_tensors; k++) s->ecls[k] = mg_egraph_find(s->eg, s->ecls[k]);
  for (uint32_t k = 0; k < mg_egraph_nodes(s->eg); k++) {
    mg_eop op;
    mg_eattr a;
    uint32_t kid[2];
    mg_egraph_node(s->eg, k, &op, &a, kid);
    mg_rational c = { a.a, a.b };
    if (op == MG_E_SCALE) mgi_se_add_const(s->scale, &s->n_scale, c, &s->overflow);
    if (op == MG_E_ADD_SCALAR) mgi_se_add_const(s->shift, &s->n_shift, c, &s->overflow);
  }
  return mgi_se_seg_partners(s, e);
}

/* 1 if no tensor has dimensions of both classes. */
MGI_FN int mgi_se_seg_apart(const mgi_se_seg *s, int a, int b) {
  for (uint32_t t = 1; t < s->p->n_tensors; t++) {
    mg_tensor h = { t };
    int has = 0;
    for (int d = 0; d < s->p->tensors[t].shape.rank; d++)
      has |= mgi_se_cls(s, h, d) == a ? 1 : mgi_se_cls(s, h, d) == b ? 2 : 0;
    if (has == 3) return 0;
  }
  return 1;
}

/* Classes of one extent that no output and no tensor together has are searched as one, so that one loop can cut the
   dimensions of several sums. */
MGI_FN void mgi_se_seg_merge(mgi_se_seg *s) {
  const mg_graph *p = s->p;
  for (int a = 0; a < s->n_cls; a++) s->as[a] = a;
  for (int a = 0; a < s->n_cls; a++)
    for (int b = a + 1; b < s->n_cls; b++) {
      int apart = s->as[a] == a && s->as[b] == b && s->real[a] == s->real[b] && !s->fixed[a] && !s->fixed[b] &&
                  mgi_se_seg_apart(s, a, b);
      for (uint32_t k = 0; k < p->n_out && apart; k++)
        for (int d = 0; d < p->tensors[p->out[k].id].shape.rank; d++)
          apart &= mgi_se_cls(s, p->out[k], d) != a && mgi_se_cls(s, p->out[k], d) != b;
      if (!apart) continue;
      s->as[b] = a;
      for (uint32_t i = 0; i < p->n_tensors * MG_MAX_RANK; i++) if (s->cls.of[i] == b) s->cls.of[i] = a;
    }
}

/* Outputs that share no dimension, as X A and X B, come from one kernel if an axis of its grid cuts a dimension of
   each: those at one place from the end that nothing sums over and no tensor together has, all whose extents are equal,
   then all whose extents have the smallest as a divisor, or a common one that can be cut. */
enum { MGI_SE_TIED = 32 };
MGI_FN void mgi_se_seg_tie(mgi_se_seg *s) {
  const mg_graph *p = s->p;
  for (int place = 0; place < 2; place++) {
    int cls[MG_MAX_OUT], n = 0;
    for (uint32_t k = 0; k < p->n_out; k++) {
      const int d = p->tensors[p->out[k].id].shape.rank - 1 - place, c = d < 0 ? -1 : mgi_se_cls(s, p->out[k], d);
      int fits = c >= 0 && !s->fixed[c] && !s->summed[c] && s->real[c] >= 8;
      for (int j = 0; j < n && fits; j++) fits = cls[j] != c;
      if (fits) cls[n++] = c;
    }
    for (int all = 0; all < 2; all++)
      for (int i = 0; i < n; i++) {
        uint32_t with = (uint32_t)1 << cls[i];
        int64_t least = s->real[cls[i]], known = 0;
        for (int j = 0; j < n; j++) {
          int64_t both = least;
          for (int64_t r = s->real[cls[j]], q; r; r = q) q = both % r, both = r;
          int fits = j != i && (all ? both == least || both >= MGI_SE_TIED : s->real[cls[j]] == least && j > i);
          for (int k = 0; k < n && fits; k++) fits = !(with >> cls[k] & 1) || mgi_se_seg_apart(s, cls[j], cls[k]);
          if (fits) with |= (uint32_t)1 << cls[j], least = both;
        }
        for (int k = 0; k < s->n_tied; k++) known |= (with & ~s->tied[k]) == 0;
        if (known || !(with & (with - 1))) continue;
        const int to = s->n_cls + s->n_tied;
        if (to == MGI_SE_MAX_CLASSES) { s->overflow = 1; return; }
        s->tied[s->n_tied++] = with;
        s->real[to] = least, s->ext[to] = s->ext[cls[i]], s->ragged[to] = s->ragged[cls[i]],
        s->cnt[to] = s->cnt[cls[i]], s->as[to] = to;
      }
  }
}

/* Looks on while a small program is evaluated: one is set by a relu or clamp whose constant wins all, or none. */
typedef struct mgi_se_sided { mg_domain field; int one; } mgi_se_sided;
MGI_FN mg_status mgi_se_sided_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  mgi_se_sided *side = (mgi_se_sided *)user;
  mg_status st = side->field.map(side->field.user, op, c, out, in);
  const mg_fv *v = (const mg_fv *)out->data; /* dense */
  int64_t n = mg_shape_elements(&out->shape), wins = 0;
  if (st != MG_OK || (op != MG_OP_RELU && op != MG_OP_CLAMP_MIN && op != MG_OP_CLAMP_MAX)) return st;
  const mg_fv bound = mg_ff_const((const mg_field *)side->field.user, op == MG_OP_RELU ? mg_rat(0, 1) : c);
  for (int64_t k = 0; k < n; k++) wins += v[k].p == bound.p;
  side->one |= n > 2 && (wins == 0 || wins == n);
  return MG_OK;
}
MGI_FN mg_status mgi_se_sided_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  const mg_domain *d = &((mgi_se_sided *)user)->field;
  return d->matmul(d->user, c, a, b);
}
MGI_FN mg_status mgi_se_sided_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  const mg_domain *d = &((mgi_se_sided *)user)->field;
  return d->combine(d->user, op, out, in);
}
MGI_FN void mgi_se_sided_fill(void *user, mg_opcode op, void *dst, size_t n) {
  const mg_domain *d = &((mgi_se_sided *)user)->field;
  d->fill(d->user, op, dst, n);
}
/* The field, inputs and outputs of the small program, of one seed.  Of 12 residues 11 are below 0 and the constants: a
   maximum of 8 or 12 then is above it about as often as not. */
MGI_FN mg_status mgi_se_seg_draw(mgi_se_seg *s, uint64_t seed, mgi_se_sided *side, mg_error *e) {
  const mg_graph *const small = s->small;
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  mg_status st = mg_field_large(seed, 1, &s->F);
  if (st != MG_OK) return mg_fail(e, st, "mg_search", "no field");
  mg_field_levels(&s->F, &small, 1, 1.0 / 12);
  for (uint32_t k = 0; k < small->n_in; k++) {
    int64_t n = mg_shape_elements(&small->tensors[small->in[k].id].shape);
    for (int64_t i = 0; i < n; i++) s->in[k][i] = mg_ff_random(&s->F, &state);
  }
  mg_domain look;
  memset(&look, 0, sizeof look), memset(side, 0, sizeof *side);
  side->field = mg_domain_field(&s->F);
  look.user = side, look.elem = side->field.elem;
  look.map = mgi_se_sided_map, look.matmul = mgi_se_sided_matmul, look.combine = mgi_se_sided_combine,
  look.fill = mgi_se_sided_fill;
  const void *in[MG_MAX_IN];
  void *out[MG_MAX_OUT];
  for (uint32_t k = 0; k < small->n_in; k++) in[k] = s->in[k];
  for (uint32_t k = 0; k < small->n_out; k++) out[k] = s->out[k];
  return mg_eval(small, &look, in, out, e);
}

/* The small extents of fixed classes: what slices, concatenations and repetitions join is made of blocks that they
   leave whole, of as many elements as divide every extent and every `from`.  Smaller blocks make the same program at
   other sizes: 4 elements, or the next more that divide a block; where 64 are not enough it stays.  Other moves keep
   what they fix as it is. */
MGI_FN void mgi_se_seg_shrink(mgi_se_seg *s) {
  const mg_graph *p = s->p;
  uint32_t of[MGI_SE_MAX_CLASSES];
  /* what divides all that has been seen of a class, then of what it is joined with */
  int64_t block[MGI_SE_MAX_CLASSES];
  for (int c = 0; c < s->n_cls; c++) of[c] = (uint32_t)c, block[c] = s->real[c];
  for (uint32_t k = 1; k < p->n_ops; k++) {
    const mg_op_node *o = &p->ops[k];
    const int along = mg_op_along(o->code),
              whole = !along && (mg_op_moves(o->code) || mg_op_picks(o->code)) && o->code != MG_OP_TRANSPOSE;
    int last = -1;                              /* a class of those that it joins */
    int64_t all = o->code == MG_OP_SLICE ? o->attr.from : 0;
    for (int j = 0; j <= o->n_in && (along || whole); j++) {
      const mg_tensor t = j < o->n_in ? o->in[j] : o->out[0];
      for (int d = 0; d < p->tensors[t.id].shape.rank; d++) {
        const int c = mgi_se_cls(s, t, d);
        if (along && d != o->attr.dim) continue;
        all = whole ? 1 : mg_gcd(p->tensors[t.id].shape.dim[d], all);
        if (c < 0) continue;
        if (last >= 0 && along) mgi_uf_join(of, (uint32_t)last, (uint32_t)c);
        last = c;
        if (whole) block[c] = 1;
      }
    }
    if (last >= 0) block[last] = mg_gcd(block[last], all);
  }
  for (int c = 0; c < s->n_cls; c++) {
    const uint32_t root = mgi_uf_find(of, (uint32_t)c);
    block[root] = mg_gcd(block[root], block[c]);
  }
  for (int c = 0; c < s->n_cls; c++) {
    const int64_t whole = block[mgi_uf_find(of, (uint32_t)c)];
    int64_t small = whole < 4 ? whole : 4;
    while (whole % small && small < 64) small++;
    if (whole % small) small = whole;
    s->ext[c] = s->real[c] / (whole / small);
  }
}

/* Takes p over; the search ends at `end`.  MG_UNSUPPORTED: no small instance, so no fused kernels for this segment. */
MGI_FN mg_status mgi_se_seg_new(mg_graph *p, const mg_search_config *cfg, double end, mgi_se_seg **out, mg_error *e) {
  mgi_se_seg *s = (mgi_se_seg *)calloc(1, sizeof *s);
  *out = s;
  if (!s) { mg_graph_free(p); return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for a segment"); }
  s->p = p;
  mg_status st = mg_classes_of(p, &s->cls, e);
  if (st != MG_OK) return st;
  if (s->cls.n > MGI_SE_MAX_CLASSES)
    return mg_fail(e, MG_UNSUPPORTED, "mg_search", "%u dimension classes, at most %d", s->cls.n, MGI_SE_MAX_CLASSES);
  s->n_cls = (int)s->cls.n;
  for (int c = 0; c < s->n_cls; c++) {
    s->real[c] = s->cls.extent[c], s->fixed[c] = s->cls.fixed[c];
    for (s->size_class[c] = 0; s->real[s->size_class[c]] != s->real[c];) s->size_class[c]++;
  }
  mgi_se_seg_merge(s);
  st = mgi_se_seg_egraph(s, cfg, end, e);
  if (st != MG_OK) return st;
  mgi_se_seg_shrink(s);
  for (int c = 0; c < s->n_cls; c++) { /* an axis cuts a small extent by 2, two by 4 */
    const int64_t r = s->real[c];
    s->ext[c] = s->fixed[c] ? s->ext[c] : r < 4 ? r : r < 8 || !s->summed[c] ? 4 : c % 2 && r >= 12 ? 12 : 8;
    s->ragged[c] = s->fixed[c] || r < 5 ? s->ext[c] : c % 2 && r >= 7 ? 7 : 5;
    s->cnt[c] = s->ext[c];
    for (int64_t f = 2; f * f <= s->ext[c]; f++) if (s->ext[c] % f == 0) { s->cnt[c] = f; break; }
    if (s->as[c] != c) s->ext[c] = s->ext[s->as[c]], s->ragged[c] = s->ragged[s->as[c]], s->cnt[c] = s->cnt[s->as[c]];
  }
  mgi_se_seg_tie(s);
  st = mg_resize(p, s->ext, NULL, &s->small, e);
  if (st != MG_OK) return st;
  for (uint32_t k = 1; k < s->small->n_tensors; k++) {
    int64_t n = mg_shape_elements(&s->small->tensors[k].shape);
    if (n < 0 || n > MGI_SE_SMALL_LIMIT)
      return mg_fail(e, MG_UNSUPPORTED, "mg_search", "'%s' has %lld elements even at small sizes",
                     s->small->tensors[k].name, (long long)n);
  }
  for (uint32_t k = 0; k < p->n_in + p->n_out; k++) {
    const mg_tensor t = k < p->n_in ? s->small->in[k] : s->small->out[k - p->n_in];
    mg_fv *v = (mg_fv *)calloc((size_t)mg_shape_elements(&s->small->tensors[t.id].shape) + 1, sizeof(mg_fv));
    *(k < p->n_in ? &s->in[k] : &s->out[k - p->n_in]) = v;
    if (!v) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for inputs and outputs");
  }
  for (uint64_t k = 0; k < 32; k++) { /* some draw of inputs and of an order tells relu of a maximum from the maximum */
    mgi_se_sided side;
    st = mgi_se_seg_draw(s, cfg->seed + 0x9E3779B97F4A7C15ull * k, &side, e);
    if (st != MG_OK || !side.one) break;
  }
  return st;
}

/* ------------------------------------------------------------------------------------------------- >>values

   A value of a frame holds its elements for every block in which they differ, those of the grid axes that it depends
   on, and, in a loop's body, every iteration: data[(block * iterations + iteration) * elements + element].  Axis
   numbers: 1 .. 3 grid, 4 and 5 the loops, in order.  A scope is where in the block an operator stands: before, in and
   after each loop, and after the accumulators over the group axis, the grid axis whose blocks share one result.  Odd
   scopes are loops' bodies.    */

enum { MGI_SE_PRE, MGI_SE_LOOP, MGI_SE_POST, MGI_SE_LOOP2, MGI_SE_POST2, MGI_SE_GROUP = 6, MGI_SE_AXES = 6 };

typedef struct mgi_se_val {
  uint64_t fp;
  mg_fv *data;
  uint32_t ecls, der, last; /* der, last: the first and the last derivation + 1 */
  int8_t scope, rank, cls[MG_MAX_RANK];
  uint8_t mask[MG_MAX_RANK]; /* the axes that cut each dimension, as bits */
  uint8_t dep;             /* the grid axes that it depends on, as bits */
  /* counted operators on the longest path, of the derivation first found; of the best; in the round before */
  uint8_t depth, low, old;
  uint8_t product;         /* some derivation is a matmul */
} mgi_se_val;

typedef struct mgi_se_der {
  uint32_t next;
  int16_t code;
  int8_t n_in, arg;        /* LOAD: input; ACCUM: map entry; SUM, MAX: dimension; instance of a moving operator */
  int8_t map[MGI_SE_AXES]; /* LOAD: dimension cut by each axis, or MG_MAP_ALL; ACCUM: map[0] is the axis */
  uint32_t in[4];
  mg_rational c;
} mgi_se_der;

enum { MGI_SE_PROBES = 512 };

typedef struct mgi_se_frame {
  const mgi_se_seg *s;
  const mg_search_config *cfg;
  int n_grid, gcls[4], group, loop[2]; /* gcls[1 .. n_grid]; group: an axis or 0; loops: classes or -1 */
  int64_t cnt[MGI_SE_AXES];
  mgi_se_val *val;
  mgi_se_der *der;
  uint32_t n_val, cap_val, n_der, cap_der, *memo, memo_cap;
  uint32_t *of_class, *alike, cap_alike; /* by e-class: the last value of it + 1; by value: the one before */
  uint64_t *may;                         /* bits of the values that a value may be joined with */
  uint32_t cap_may, listed;              /* listed: values in the lists */
  mg_fv *scratch;
  size_t scratch_cap, bytes;
  double work;        /* operations over the field, of the closure so far */
  mg_search_stats st;
  double end;
  struct mgi_se_search *tell; /* not NULL: the caller is told how far the search is now and then */
  int kept;           /* the grid axes by which what has their class must be cut, as no operator takes that dimension
                         away, as bits */
  int filled;         /* see mgi_se_filled_axes */
  int oom, cut, late; /* cut: a limit ended something; late: the time limit or the caller did */
  int spent;          /* 1: a limit did that is not the last: of states, of steps, or brief */
  double brief;       /* not 0: it ends where it is spent, and has so much work, an operator tried counting as
                         MGI_SE_TRIED */
  int few_states, few_steps; /* 1: cfg's limits of these are not the last */
  int huge;           /* 1: what was last asked for is too large for scratch, or takes too long */
  int refused, retry; /* candidates that depth refused; 1: only what was refused in the round before is tried */
  int64_t probe_t0;   /* not 0: the check in hand is timed */
  uint32_t n_probes, probe_ns[MGI_SE_PROBES]; /* checks that took so many ns, the last: or more */
} mgi_se_frame;

MGI_FN int mgi_se_axis_class(const mgi_se_frame *f, int a) {
  return a >= 4 ? f->loop[a - 4] : a <= f->n_grid ? f->gcls[a] : -1;
}
MGI_FN int mgi_se_loop_axis(int scope) { return 4 + (scope >> 1); }
MGI_FN int64_t mgi_se_trips(const mgi_se_frame *f, int scope) {
  return scope & 1 ? f->cnt[mgi_se_loop_axis(scope)] : 1;
}

MGI_FN int64_t mgi_se_chunk(const mgi_se_frame *f, const mgi_se_val *v, int d) {
  if (v->cls[d] < 0) return 1;
  int64_t n = f->s->ext[v->cls[d]];
  for (int a = 1; v->mask[d] >> a; a++) if (v->mask[d] >> a & 1) n /= f->cnt[a];
  return n;
}
MGI_FN int64_t mgi_se_val_elems(const mgi_se_frame *f, const mgi_se_val *v) {
  int64_t n = 1;
  for (int d = 0; d < v->rank; d++) n *= mgi_se_chunk(f, v, d);
  return n;
}
/* How many blocks differ in a value that depends on the axes `dep`; where the b-th of them is, by axis. */
MGI_FN int64_t mgi_se_val_blocks(const mgi_se_frame *f, int dep) {
  int64_t n = 1;
  for (int a = 1; a < 4; a++) if (dep >> a & 1) n *= f->cnt[a];
  return n;
}
MGI_FN void mgi_se_block_at(const mgi_se_frame *f, int dep, int64_t b, int64_t at[MGI_SE_AXES]) {
  for (int a = 0; a < MGI_SE_AXES; a++) at[a] = 0;
  for (int a = 1; a < 4; a++) if (dep >> a & 1) at[a] = b % f->cnt[a], b /= f->cnt[a];
}
/* The elements that v's value has, in all blocks and iterations. */
MGI_FN int64_t mgi_se_val_size(const mgi_se_frame *f, const mgi_se_val *v) {
  return mgi_se_val_elems(f, v) * mgi_se_val_blocks(f, v->dep) * mgi_se_trips(f, v->scope);
}
/* v's n elements in the block at `at`, in iteration i. */
MGI_FN const mg_fv *mgi_se_val_at(const mgi_se_frame *f, const mgi_se_val *v, const int64_t *at, int64_t i, int64_t n) {
  int64_t b = 0;
  for (int a = 3; a > 0; a--) if (v->dep >> a & 1) b = b * f->cnt[a] + at[a];
  return v->data + (v->scope & 1 ? b * mgi_se_trips(f, v->scope) + i : b) * n;
}

/* Room for v's elements in the frame's scratch, each of which takes `each` operations over the field; NULL too where a
   frame could keep, or evaluate, few of its kind: an extent that stays as it is may be large. */
MGI_FN mg_fv *mgi_se_val_room(mgi_se_frame *f, const mgi_se_val *v, int64_t each) {
  const size_t most = MGI_SE_VALUE_BYTES / sizeof(mg_fv), n = (size_t)mgi_se_val_size(f, v);
  const double work = (double)n * (double)each;
  if (f->brief > 0 && f->work + work + (double)MGI_SE_TRIED * (double)f->st.states > f->brief) f->spent = 1;
  if ((f->huge = n > most || work > MGI_SE_VALUE_WORK || f->work + work > MGI_SE_FRAME_WORK)) {
    f->st.pruned_limit++, f->cut = 1;
    return NULL;
  }
  f->work += work;
  if (n > f->scratch_cap) {
    const size_t cap = n * 2 + 64 < most ? n * 2 + 64 : most;
    free(f->scratch);
    f->scratch = (mg_fv *)malloc(cap * sizeof(mg_fv));
    f->scratch_cap = f->scratch ? cap : 0;
    if (!f->scratch) f->oom = 1;
  }
  return f->scratch;
}

/* Cuts v's blocks and iterations out of a dense array of the whole tensor. */
MGI_FN void mgi_se_slice(mgi_se_frame *f, const mgi_se_val *v, const mg_fv *whole) {
  mg_fv *o = mgi_se_val_room(f, v, 0);
  if (!o) return;
  int64_t n = mgi_se_val_elems(f, v), ni = mgi_se_trips(f, v->scope), stride[MG_MAX_RANK + 1], ch[MG_MAX_RANK];
  stride[v->rank] = 1;
  for (int d = v->rank; d-- > 0;)
    stride[d] = stride[d + 1] * (v->cls[d] < 0 ? 1 : f->s->ext[v->cls[d]]), ch[d] = mgi_se_chunk(f, v, d);
  for (int64_t b = 0, blocks = mgi_se_val_blocks(f, v->dep); b < blocks; b++)
    for (int64_t i = 0; i < ni; i++) {
      int64_t at[MGI_SE_AXES], base = 0;
      mgi_se_block_at(f, v->dep, b, at), at[4] = at[5] = i;
      for (int d = 0; d < v->rank; d++) {
        int64_t size = v->cls[d] < 0 ? 1 : f->s->ext[v->cls[d]];
        for (int a = 1; v->mask[d] >> a; a++)
          if (v->mask[d] >> a & 1) size /= f->cnt[a], base += at[a] * size * stride[d + 1];
      }
      for (int64_t k = 0; k < n; k++) {
        int64_t r = k, off = base;
        for (int d = v->rank; d-- > 0; r /= ch[d]) off += r % ch[d] * stride[d + 1];
        *o++ = whole[off];
      }
    }
}

/* For every element of v its operand's element: strides 0 where it broadcasts, dimensions aligned at the right. */
MGI_FN void mgi_se_strides_for(const mgi_se_frame *f, const mgi_se_val *v, const mgi_se_val *a, int64_t *st) {
  int64_t s = 1;
  for (int d = 0; d < MG_MAX_RANK; d++) st[d] = 0;
  for (int d = a->rank; d-- > 0;) {
    int64_t c = mgi_se_chunk(f, a, d);
    int o = d + v->rank - a->rank;
    if (o >= 0 && a->cls[d] >= 0) st[o] = s;
    s *= c;
  }
}

/* 1/y for every element of a value; undefined where y is 0. */
MGI_FN mg_fv *mgi_se_inverses(const mgi_se_frame *f, const mgi_se_val *v) {
  const int64_t n = mgi_se_val_size(f, v);
  mg_fv *r = (mg_fv *)malloc((size_t)n * sizeof *r);
  uint64_t *y = (uint64_t *)calloc((size_t)n * 2, sizeof *y); /* behind them their inverses */
  if (r && y) {
    for (int64_t k = 0; k < n; k++) y[k] = v->data[k].p;
    mgi_word_inverses(&f->s->F.mp, y, 1, n, y + n);
    for (int64_t k = 0; k < n; k++) {
      const mg_fv x = v->data[k];
      r[k] = x.p ? mgi_fv(y[n + k], x.q, x.flags) : mgi_fv_special(x.flags | (uint32_t)MG_FV_UNDEF);
    }
  } else {
    free(r);
    r = NULL;
  }
  free(y);
  return r;
}

MGI_FN void mgi_se_eval_map(mgi_se_frame *f, const mgi_se_val *v, mg_opcode op, mg_rational c, int n_in,
                            const mgi_se_val *const *in) {
  mg_fv *o = mgi_se_val_room(f, v, 1), K = mg_ff_const(&f->s->F, c.den ? c : mg_rat(0, 1));
  if (!o) return;
  int64_t n = mgi_se_val_elems(f, v), ni = mgi_se_trips(f, v->scope), st[2][MG_MAX_RANK], ch[MG_MAX_RANK],
          na[2] = { 1, 1 }, at[MGI_SE_AXES];
  memset(st, 0, sizeof st);
  for (int j = 0; j < n_in; j++) mgi_se_strides_for(f, v, in[j], st[j]), na[j] = mgi_se_val_elems(f, in[j]);
  for (int d = 0; d < v->rank; d++) ch[d] = mgi_se_chunk(f, v, d);
  mg_fv *inverse = op == MG_OP_DIV ? mgi_se_inverses(f, in[1]) : NULL;
  if (inverse) op = MG_OP_MUL;
  const int last = v->rank - 1;
  const int64_t row = ch[last], sx = st[0][last], sy = st[1][last];
  for (int64_t b = 0, blocks = mgi_se_val_blocks(f, v->dep); b < blocks; b++) {
    mgi_se_block_at(f, v->dep, b, at);
    for (int64_t i = 0; i < ni; i++) {
      const mg_fv *x0 = mgi_se_val_at(f, in[0], at, i, na[0]),
                  *y0 = n_in > 1 ? mgi_se_val_at(f, in[1], at, i, na[1]) : x0;
      if (inverse) y0 = inverse + (y0 - in[1]->data);
      for (int64_t k = 0; k < n / row; k++) {
        const mg_fv *x = x0, *y = y0;
        int64_t r = k;
        for (int d = last; d-- > 0; r /= ch[d]) x += r % ch[d] * st[0][d], y += r % ch[d] * st[1][d];
        if (op == MG_OP_MUL) for (int64_t j = 0; j < row; j++) *o++ = mg_ff_mul(&f->s->F, x[j * sx], y[j * sy]);
        else if (op == MG_OP_ADD) for (int64_t j = 0; j < row; j++) *o++ = mg_ff_add(&f->s->F, x[j * sx], y[j * sy]);
        else for (int64_t j = 0; j < row; j++) *o++ = mg_ff_apply(&f->s->F, op, x[j * sx], y[j * sy], K);
      }
    }
  }
  free(inverse);
}

MGI_FN void mgi_se_eval_matmul(mgi_se_frame *f, const mgi_se_val *v, const mgi_se_val *a, const mgi_se_val *b) {
  mg_fv *o = mgi_se_val_room(f, v, mgi_se_chunk(f, a, a->rank - 1)), zero = mg_ff_const(&f->s->F, mg_rat(0, 1));
  if (!o) return;
  int64_t ni = mgi_se_trips(f, v->scope), na = mgi_se_val_elems(f, a), nb = mgi_se_val_elems(f, b);
  int64_t M = mgi_se_chunk(f, v, v->rank - 2), N = mgi_se_chunk(f, v, v->rank - 1), K = mgi_se_chunk(f, a, a->rank - 1),
          batch = mgi_se_val_elems(f, v) / (M * N);
  int64_t sa[MG_MAX_RANK], sb[MG_MAX_RANK];
  mgi_se_strides_for(f, v, a, sa), mgi_se_strides_for(f, v, b, sb);
  for (int64_t blk = 0, blocks = mgi_se_val_blocks(f, v->dep); blk < blocks; blk++)
    for (int64_t i = 0; i < ni; i++) {
      int64_t at[MGI_SE_AXES];
      mgi_se_block_at(f, v->dep, blk, at);
      const mg_fv *x0 = mgi_se_val_at(f, a, at, i, na), *y0 = mgi_se_val_at(f, b, at, i, nb);
      for (int64_t t = 0; t < batch; t++) {
        const mg_fv *x = x0, *y = y0;
        int64_t r = t;
        for (int d = v->rank - 2; d-- > 0;) {
          int64_t c = mgi_se_chunk(f, v, d);
          x += r % c * sa[d], y += r % c * sb[d];
          r /= c;
        }
        for (int64_t m = 0; m < M; m++)
          for (int64_t n = 0; n < N; n++) {
            mg_fv s = zero;
            for (int64_t k = 0; k < K; k++) s = mg_ff_add(&f->s->F, s, mg_ff_mul(&f->s->F, x[m * K + k], y[k * N + n]));
            *o++ = s;
          }
      }
    }
}

/* v = sum or max of a over dimension d. */
MGI_FN void mgi_se_eval_reduce(mgi_se_frame *f, const mgi_se_val *v, const mgi_se_val *a, int d, int max) {
  mg_fv *o = mgi_se_val_room(f, v, mgi_se_chunk(f, a, d));
  if (!o) return;
  int64_t ni = mgi_se_trips(f, v->scope), na = mgi_se_val_elems(f, a), inner = 1, len = mgi_se_chunk(f, a, d);
  for (int k = d + 1; k < a->rank; k++) inner *= mgi_se_chunk(f, a, k);
  int64_t outer = na / (inner * len);
  for (int64_t b = 0, blocks = mgi_se_val_blocks(f, v->dep); b < blocks; b++)
    for (int64_t i = 0; i < ni; i++) {
      int64_t at[MGI_SE_AXES];
      mgi_se_block_at(f, v->dep, b, at);
      const mg_fv *x = mgi_se_val_at(f, a, at, i, na);
      for (int64_t p = 0; p < outer; p++)
        for (int64_t q = 0; q < inner; q++) {
          mg_fv s = x[p * len * inner + q];
          for (int64_t k = 1; k < len; k++) {
            mg_fv y = x[(p * len + k) * inner + q];
            s = max ? mg_ff_max(&f->s->F, s, y) : mg_ff_add(&f->s->F, s, y);
          }
          *o++ = s;
        }
    }
}

/* v = accum(a) over `axis`: kind is MG_MAP_SUM, MG_MAP_MAX or the dimension along which iterations are joined. */
MGI_FN void mgi_se_eval_accum(mgi_se_frame *f, const mgi_se_val *v, const mgi_se_val *a, int axis, int kind) {
  mg_fv *o = mgi_se_val_room(f, v, kind < 0 ? f->cnt[axis] : 1);
  if (!o) return;
  int64_t na = mgi_se_val_elems(f, a), inner = 1, len = 1, n = f->cnt[axis], at[MGI_SE_AXES];
  if (kind >= 0) {
    len = mgi_se_chunk(f, a, kind);
    for (int k = kind + 1; k < a->rank; k++) inner *= mgi_se_chunk(f, a, k);
  }
  for (int64_t b = 0, blocks = mgi_se_val_blocks(f, v->dep); b < blocks; b++) {
    mgi_se_block_at(f, v->dep, b, at);
    for (int64_t i = 0; i < n && kind < 0; i++) {
      at[axis] = i; /* a block of the group, or an iteration */
      const mg_fv *y = mgi_se_val_at(f, a, at, i, na);
      for (int64_t k = 0; k < na; k++)
        o[k] = !i ? y[k] : kind == MG_MAP_MAX ? mg_ff_max(&f->s->F, o[k], y[k]) : mg_ff_add(&f->s->F, o[k], y[k]);
    }
    if (kind < 0) o += na;
    for (int64_t p = 0; kind >= 0 && p < na / (inner * len); p++)
      for (int64_t i = 0; i < n; i++, o += len * inner)
        memcpy(o, mgi_se_val_at(f, a, at, i, na) + p * len * inner, (size_t)(len * inner) * sizeof *o);
  }
}

/* The attribute with the shape of the chunk, `ext` giving the extents. */
MGI_FN mg_attr mgi_se_chunk_attr(const mgi_se_inst *in, const int64_t *ext) {
  mg_attr A = in->attr;
  if (mg_op_row(in->op)->attr == MG_ATTR_SHAPE) for (int d = 0; d < A.shape.rank; d++) A.shape.dim[d] = ext[d];
  if (mg_op_row(in->op)->attr == MG_ATTR_SLICE) A.from /= A.n / ext[A.dim], A.n = ext[A.dim]; /* mgi_se_seg_shrink */
  return A;
}

MGI_FN void mgi_se_eval_move(mgi_se_frame *f, const mgi_se_val *v, const mgi_se_inst *in, const mgi_se_val *const *a) {
  mg_fv *o = mgi_se_val_room(f, v, 1), zero = mg_ff_const(&f->s->F, mg_rat(0, 1));
  if (!o) return;
  mg_shape S[2];
  int64_t ext[MG_MAX_RANK] = { 0 }, n = mgi_se_val_elems(f, v), ni = mgi_se_trips(f, v->scope), na[2] = { 1, 1 };
  memset(S, 0, sizeof S);
  for (int j = 0; j < in->n_in; j++) {
    S[j].rank = a[j]->rank, na[j] = mgi_se_val_elems(f, a[j]);
    for (int d = 0; d < a[j]->rank; d++) S[j].dim[d] = mgi_se_chunk(f, a[j], d);
  }
  for (int d = 0; d < v->rank; d++) ext[d] = mgi_se_chunk(f, v, d);
  mg_attr A = mgi_se_chunk_attr(in, ext);
  for (int64_t b = 0, blocks = mgi_se_val_blocks(f, v->dep); b < blocks; b++)
    for (int64_t it = 0; it < ni; it++) {
      const mg_fv *from[2] = { NULL, NULL };
      int64_t at[MGI_SE_AXES];
      mgi_se_block_at(f, v->dep, b, at);
      for (int j = 0; j < in->n_in; j++) from[j] = mgi_se_val_at(f, a[j], at, it, na[j]);
      for (int64_t k = 0; k < n; k++) {
        int64_t i[MG_MAX_RANK] = { 0 }, j[MG_MAX_RANK], r = k, off = 0;
        for (int d = v->rank; d-- > 0; r /= ext[d]) i[d] = r % ext[d];
        memcpy(j, i, sizeof j);
        int src = mg_op_index(in->op, &A, S, i, j), inside = src >= 0 && src < in->n_in;
        for (int d = 0; inside && d < S[src].rank; d++) {
          inside = j[d] >= 0 && j[d] < S[src].dim[d];
          off = off * S[src].dim[d] + j[d];
        }
        *o++ = inside ? from[src][off] : zero;
      }
    }
}

MGI_FN uint64_t mgi_se_fingerprint(const mgi_se_frame *f, const mgi_se_val *v, const mg_fv *data) {
  const int64_t n = mgi_se_val_size(f, v);
  uint64_t h[4] = { 0x51ED270B, 1, 2, 3 }; /* four at a time */
  for (int64_t k = 0; k < n; k++) h[k & 3] = mgi_se_mix(h[k & 3], data[k].flags & MG_FV_UNDEF ? 0x0DDu : data[k].p);
  return mgi_se_mix(mgi_se_mix(h[0], h[1]), mgi_se_mix(h[2], h[3]));
}

/* ------------------------------------------------------------------------------------------------ >>closure

   All values of a frame, bottom up, a pass for each scope in order.  A pass takes values in order and pairs each with
   all before it, so that every operator is tried on every tuple of operands once, commutative ones in one order.  A
   candidate is typed first, probed in the e-graph second, evaluated last.
   Requirements: (1) a sum never runs over a dimension that a grid axis cuts, but for the group axis: no accumulator
   could complete it; (2) an axis cuts at most one dimension of a value; (3) a loop's body sees what precedes that loop
   and nothing that follows it; (4) after the group's accumulators nothing depends on the group axis; (5) mul(x, x) is
   sqr(x), and a matmul over an extent of 1 is a broadcast mul; (6) where there is an emitter, a block has one matrix of
   a tensor: device templates are of matrices, so that every structure with another value in it is refused at all
   sizes. */

MGI_FN int mgi_se_counted(int code) {
  if (code == MG_OP_LOAD || code == MG_OP_STORE) return 0;
  if (code >= MG_OP_TABLE_END) return 1;
  const mg_op_info *r = mg_op_row((mg_opcode)code);
  return !(r->elementwise && r->n_in == 1);
}

MGI_FN uint64_t mgi_se_val_hash(const mgi_se_val *v) {
  uint64_t h = mgi_se_mix(mgi_se_mix(v->fp, v->ecls),
                          (uint64_t)v->dep << 16 | (uint64_t)v->scope << 8 | (uint64_t)v->rank);
  for (int d = 0; d < v->rank; d++) h = mgi_se_mix(h, (uint64_t)(v->cls[d] + 1) << 8 | (uint64_t)v->mask[d]);
  return h;
}
MGI_FN int mgi_se_val_same(const mgi_se_val *a, const mgi_se_val *b) {
  return a->fp == b->fp && a->ecls == b->ecls && a->scope == b->scope && a->dep == b->dep && a->rank == b->rank &&
         !memcmp(a->cls, b->cls, (size_t)a->rank) && !memcmp(a->mask, b->mask, (size_t)a->rank);
}

/* The value with v's type and elements (in scratch), from pass `scope`; 0 or index + 1. */
MGI_FN uint32_t mgi_se_val_find(const mgi_se_frame *f, const mgi_se_val *v) {
  for (uint32_t h = (uint32_t)mgi_se_val_hash(v) & (f->memo_cap - 1); f->memo[h]; h = (h + 1) & (f->memo_cap - 1))
    if (mgi_se_val_same(&f->val[f->memo[h] - 1], v)) return f->memo[h];
  return 0;
}

/* Requirement 6: no axis cuts a leading dimension, so that a block has all its elements (one that is cut has one:
   mgi_se_counts).  Where one of these has a block's rows the emitter takes it; moves are folded into such loads and
   stores, the search does without (>>search, regions). */
MGI_FN int mgi_se_leading_chunk(const mgi_se_frame *f, const mgi_se_val *v) {
  for (int d = 0; d < v->rank - 2; d++) if (v->cls[d] >= 0 && !v->mask[d] && f->s->real[v->cls[d]] > 1) return 1;
  return 0;
}

/* Where an axis cuts a leading dimension of some value its chunks are 1 in all of the block (mgi_se_leading,
   mgi_se_counts).  So a grid axis that does leaves no steps to a loop over what it cuts: of such a structure there is
   no tile.  The grid axes with such a loop, as bits. */
MGI_FN int mgi_se_filled_axes(const mgi_se_seg *s, const mgi_se_frame *f) {
  int filled = 0;
  for (int a = 1; a <= f->n_grid; a++)
    for (int l = 0; l < 2; l++) {
      const int by = f->gcls[a], over = f->loop[l];
      if (mgi_se_cuts_class(s, by, over) && s->real[by] >= s->real[over]) filled |= 1 << a;
    }
  return filled;
}
/* 1: a structure with value v has no tile. */
MGI_FN int mgi_se_without_tile(const mgi_se_frame *f, const mgi_se_val *v) {
  for (int d = 0; d < v->rank - 2; d++)
    if (v->mask[d] & f->filled) return 1;
  return 0;
}

/* Takes the evaluated candidate in scratch: a new value, or one more derivation of a known one. */
MGI_FN void mgi_se_val_add(mgi_se_frame *f, mgi_se_val *v, const mgi_se_der *d) {
  if (f->oom || f->huge) return;
  const int refused = f->cfg->emittable && mgi_se_leading_chunk(f, v);
  if (refused || mgi_se_without_tile(f, v)) { f->st.pruned_shape++; return; }
  v->fp = mgi_se_fingerprint(f, v, f->scratch);
  uint32_t at = mgi_se_val_find(f, v);
  mgi_se_der *dp = (mgi_se_der *)mgi_se_grow(f->der, &f->cap_der, f->n_der + 1, sizeof *dp);
  if (!dp) { f->oom = 1; return; }
  f->der = dp;
  if (!at) {
    const size_t n = (size_t)mgi_se_val_size(f, v);
    const int many = (int64_t)f->n_val >= f->cfg->max_states;
    if (many || f->bytes + n * sizeof(mg_fv) > MGI_SE_FRAME_BYTES) {
      f->st.pruned_limit++, f->cut = 1, f->spent |= many && f->few_states;
      return;
    }
    f->bytes += n * sizeof(mg_fv);
    mgi_se_val *p = (mgi_se_val *)mgi_se_grow(f->val, &f->cap_val, f->n_val + 1, sizeof *p);
    if (!p) { f->oom = 1; return; }
    f->val = p;
    v->data = (mg_fv *)malloc(n * sizeof(mg_fv));
    if (!v->data) { f->oom = 1; return; }
    memcpy(v->data, f->scratch, n * sizeof(mg_fv));
    v->der = v->last = 0, v->product = 0, v->low = v->depth, v->old = 255;
    f->val[f->n_val++] = *v;
    at = f->n_val;
    if (f->n_val * 2 > f->memo_cap) {
      uint32_t cap = f->memo_cap * 2, *m = (uint32_t *)calloc(cap, sizeof *m);
      if (!m) { f->oom = 1; return; }
      for (uint32_t k = 0; k < f->n_val; k++) {
        uint32_t h = (uint32_t)mgi_se_val_hash(&f->val[k]) & (cap - 1);
        while (m[h]) h = (h + 1) & (cap - 1);
        m[h] = k + 1;
      }
      free(f->memo);
      f->memo = m, f->memo_cap = cap;
    } else {
      uint32_t h = (uint32_t)mgi_se_val_hash(v) & (f->memo_cap - 1);
      while (f->memo[h]) h = (h + 1) & (f->memo_cap - 1);
      f->memo[h] = at;
    }
  } else {
    f->st.pruned_duplicate++;
    if (v->depth < f->val[at - 1].low) f->val[at - 1].low = v->depth;
  }
  f->der[f->n_der] = *d;
  f->der[f->n_der].next = 0;
  mgi_se_val *x = &f->val[at - 1]; /* appended: the first derivation is the first found */
  x->product |= d->code == MG_OP_MATMUL;
  f->n_der++;
  if (x->last) f->der[x->last - 1].next = f->n_der;
  else x->der = f->n_der;
  x->last = f->n_der;
}

/* A check of a candidate's expression begins; mgi_se_pruned ends it.  One in 64 is timed. */
MGI_FN void mgi_se_probe_begin(mgi_se_frame *f) {
  if (!(++f->n_probes & 63) && f->cfg->prune) f->probe_t0 = mgi_se_ns();
}
MGI_FN void mgi_se_probe_end(mgi_se_frame *f) {
  int64_t ns = mgi_se_ns() - f->probe_t0;
  f->probe_ns[ns < 0 ? 0 : ns < MGI_SE_PROBES ? ns : MGI_SE_PROBES - 1]++;
  f->probe_t0 = 0;
}
/* The median of so many counts by ns, less that of reading the clock; 0 if there are none. */
MGI_FN double mgi_se_probe_median(const uint32_t *count) {
  uint32_t empty[MGI_SE_PROBES] = { 0 };
  int at[2] = { 0, 0 };
  for (int k = 0; k < 255; k++) {
    int64_t t = mgi_se_ns(), ns = mgi_se_ns() - t;
    empty[ns < 0 ? 0 : ns < MGI_SE_PROBES ? ns : MGI_SE_PROBES - 1]++;
  }
  for (int j = 0; j < 2; j++) {
    const uint32_t *c = j ? empty : count;
    uint64_t all = 0, n = 0;
    for (int k = 0; k < MGI_SE_PROBES; k++) all += c[k];
    if (!all) return 0;
    while ((n += c[at[j]]) * 2 <= all) at[j]++;
  }
  return at[0] > at[1] ? at[0] - at[1] : 1; /* the clock's step is a nanosecond at best */
}

MGI_FN int mgi_se_pruned(mgi_se_frame *f, uint32_t ecls) {
  if (f->probe_t0) mgi_se_probe_end(f);
  f->st.states++;
  if (!ecls && f->cfg->prune) { f->st.pruned_expression++; return 1; }
  return 0;
}
MGI_FN int mgi_se_axes_once(const mgi_se_val *v) { /* requirement 2 */
  int seen = 0;
  for (int d = 0; d < v->rank; d++) {
    if (v->mask[d] & seen) return 0;
    seen |= v->mask[d];
  }
  return 1;
}
/* 1: more counted operators on a path than a block may have.  A sum of two products may be one operator:
   mgi_se_concat_matmuls.  In a retry also: it was not refused for that before. */
MGI_FN int mgi_se_deep(mgi_se_frame *f, mgi_se_val *v, int code, const mgi_se_val *a, const mgi_se_val *b) {
  /* without pruning nothing else ends exp(exp(..)) */
  int d = a->depth, was = a->old, one = f->cfg->prune ? mgi_se_counted(code) : 1;
  if (b && b->depth > d) d = b->depth;
  if (b && b->old > was) was = b->old;
  if (code == MG_OP_ADD && f->cfg->prune && a->product && b->product) one = 0;
  v->depth = (uint8_t)(d + one);
  if (f->retry && (d + one > f->cfg->max_block_ops || was + one <= f->cfg->max_block_ops)) return 1;
  if (d + one > f->cfg->max_block_ops) { f->st.pruned_limit++, f->refused++; return 1; }
  return 0;
}
/* Where an operator on both stands; -1: requirements 3 and 4. */
MGI_FN int mgi_se_join_scope(const mgi_se_frame *f, const mgi_se_val *a, const mgi_se_val *b) {
  const mgi_se_val *lo = a->scope < b->scope ? a : b, *hi = lo == a ? b : a;
  if (lo->scope == hi->scope) return lo->scope;
  if (lo->scope & 1) return -1;
  if (hi->scope == MGI_SE_GROUP && (lo->dep >> f->group & 1)) return -1;
  return hi->scope;
}
/* The factors of a dimension's class that its chunk spans, as bits of mgi_se_reduce_term; 0: requirement 1. */
MGI_FN int mgi_se_spans(const mgi_se_frame *f, int mask) {
  int factors = 7;
  for (int a = 1; mask >> a; a++) {
    if (!(mask >> a & 1)) continue;
    if (a < 4 && a != f->group) return 0;
    factors &= a < 4 ? ~4 : ~1;
  }
  return factors;
}

/* NumPy broadcasting of the last dimensions, but `skip`; 0 if they do not fit. */
MGI_FN int mgi_se_broadcast_type(mgi_se_val *v, const mgi_se_val *a, const mgi_se_val *b, int skip) {
  v->rank = a->rank > b->rank ? a->rank : b->rank;
  v->dep = a->dep | b->dep;
  for (int k = skip; k < v->rank; k++) {
    int da = a->rank - 1 - k, db = b->rank - 1 - k, d = v->rank - 1 - k;
    int ca = da >= 0 ? a->cls[da] : -1, cb = db >= 0 ? b->cls[db] : -1;
    if (ca >= 0 && cb >= 0 && (ca != cb || a->mask[da] != b->mask[db])) return 0;
    v->cls[d] = (int8_t)(ca >= 0 ? ca : cb);
    v->mask[d] = (uint8_t)(ca >= 0 ? a->mask[da] : cb >= 0 ? b->mask[db] : 0);
  }
  return 1;
}

MGI_FN void mgi_se_try_map(mgi_se_frame *f, mg_opcode op, mg_rational c, uint32_t ia, uint32_t ib) {
  const mgi_se_val *in[2] = { &f->val[ia], &f->val[ib] };
  int n = mg_op_row(op)->n_in, scope = n > 1 ? mgi_se_join_scope(f, in[0], in[1]) : in[0]->scope;
  mgi_se_val v;
  memset(&v, 0, sizeof v);
  if (scope < 0) { f->st.pruned_shape++; return; }
  if (n > 1) {
    if (!mgi_se_broadcast_type(&v, in[0], in[1], 0) || !mgi_se_axes_once(&v)) { f->st.pruned_shape++; return; }
  } else
    v.rank = in[0]->rank, v.dep = in[0]->dep, memcpy(v.cls, in[0]->cls, sizeof v.cls),
    memcpy(v.mask, in[0]->mask, sizeof v.mask);
  v.scope = (int8_t)scope;
  mgi_se_probe_begin(f);
  v.ecls = mgi_se_elementwise_term(f->s->eg, 0, op, c, in[0]->ecls, n > 1 ? in[1]->ecls : 0);
  if (mgi_se_pruned(f, v.ecls) || mgi_se_deep(f, &v, op, in[0], n > 1 ? in[1] : NULL)) return;
  mgi_se_der d;
  memset(&d, 0, sizeof d);
  d.code = (int16_t)op, d.n_in = (int8_t)n, d.c = c, d.in[0] = ia, d.in[1] = ib;
  mgi_se_eval_map(f, &v, op, c, n, in);
  mgi_se_val_add(f, &v, &d);
}

MGI_FN void mgi_se_try_matmul(mgi_se_frame *f, uint32_t ia, uint32_t ib) {
  const mgi_se_val *a = &f->val[ia], *b = &f->val[ib];
  mgi_se_val v;
  memset(&v, 0, sizeof v);
  int scope = mgi_se_join_scope(f, a, b);
  if (scope < 0 || a->rank < 2 || b->rank < 2) { f->st.pruned_shape++; return; }
  int c = a->cls[a->rank - 1], m = a->mask[a->rank - 1];
  if (c < 0 || c != b->cls[b->rank - 2] || m != b->mask[b->rank - 2] || !mgi_se_spans(f, m) ||
      !mgi_se_broadcast_type(&v, a, b, 2)) {
    f->st.pruned_shape++;
    return;
  }
  v.cls[v.rank - 2] = a->cls[a->rank - 2], v.mask[v.rank - 2] = a->mask[a->rank - 2];
  v.cls[v.rank - 1] = b->cls[b->rank - 1], v.mask[v.rank - 1] = b->mask[b->rank - 1];
  v.scope = (int8_t)scope;
  if (!mgi_se_axes_once(&v)) { f->st.pruned_shape++; return; }
  mgi_se_probe_begin(f);
  v.ecls = mgi_se_binary_term(f->s->eg, 0, MG_E_MUL, a->ecls, b->ecls);
  v.ecls = mgi_se_reduce_term(f->s->eg, 0, MG_E_SUM, f->s->size_class[c], mgi_se_spans(f, m), v.ecls);
  if (mgi_se_pruned(f, v.ecls) || mgi_se_deep(f, &v, MG_OP_MATMUL, a, b)) return;
  mgi_se_der d;
  memset(&d, 0, sizeof d);
  d.code = MG_OP_MATMUL, d.n_in = 2, d.in[0] = ia, d.in[1] = ib;
  mgi_se_eval_matmul(f, &v, a, b);
  mgi_se_val_add(f, &v, &d);
}

MGI_FN void mgi_se_try_reduce(mgi_se_frame *f, uint32_t ia, int dim, int max) {
  const mgi_se_val *a = &f->val[ia];
  mgi_se_val v = *a;
  int c = a->cls[dim], m = a->mask[dim];
  if (c < 0 || !mgi_se_spans(f, m)) { f->st.pruned_shape++; return; }
  v.cls[dim] = -1, v.mask[dim] = 0;
  mgi_se_probe_begin(f);
  v.ecls = mgi_se_reduce_term(f->s->eg, 0, max ? MG_E_MAX : MG_E_SUM, f->s->size_class[c], mgi_se_spans(f, m), a->ecls);
  if (mgi_se_pruned(f, v.ecls) || mgi_se_deep(f, &v, MG_OP_SUM, a, NULL)) return;
  mgi_se_der d;
  memset(&d, 0, sizeof d);
  d.code = (int16_t)(max ? MG_OP_MAX : MG_OP_SUM), d.n_in = 1, d.arg = (int8_t)dim, d.in[0] = ia;
  mgi_se_eval_reduce(f, &v, a, dim, max);
  mgi_se_val_add(f, &v, &d);
}

MGI_FN void mgi_se_try_move(mgi_se_frame *f, int inst, uint32_t ia, uint32_t ib) {
  const mgi_se_inst *in = &f->s->inst[inst];
  const mgi_se_val *a[2] = { &f->val[ia], &f->val[ib] };
  mgi_se_val v;
  for (int j = 0; j < in->n_in; j++)
    if (a[j]->rank != in->rank[j] || memcmp(a[j]->cls, in->cls[j], (size_t)a[j]->rank)) {
      f->st.pruned_shape++;
      return;
    }
  memset(&v, 0, sizeof v);
  int scope = in->n_in > 1 ? mgi_se_join_scope(f, a[0], a[1]) : a[0]->scope, fits = scope >= 0;
  v.scope = (int8_t)scope, v.rank = in->rank[in->n_in], v.dep = a[0]->dep | (in->n_in > 1 ? a[1]->dep : 0);
  memcpy(v.cls, in->cls[in->n_in], sizeof v.cls);
  for (int j = 0; j < in->n_in && fits && in->op != MG_OP_TRANSPOSE; j++)
    for (int d = 0; d < a[j]->rank && fits; d++) {
      int kept = d < v.rank && v.cls[d] == a[j]->cls[d]; /* a dimension that the operator passes through */
      if (j == 0 && kept) v.mask[d] = a[j]->mask[d];
      if (a[j]->mask[d] && !kept) fits = 0;
      if (j && kept && a[j]->mask[d] != v.mask[d]) fits = 0;
    }
  if (fits && in->op == MG_OP_TRANSPOSE) for (int d = 0; d < v.rank; d++) v.mask[d] = a[0]->mask[in->attr.perm[d]];
  if (!fits) { f->st.pruned_shape++; return; }
  const mg_op_info *row = mg_op_row(in->op);
  if (row->abstract != MG_ABS_SAME) mgi_se_probe_begin(f);
  v.ecls = row->abstract == MG_ABS_SAME
               ? a[0]->ecls
               : mg_egraph_probe(f->s->eg, MG_E_OPAQUE, in->key, a[0]->ecls, in->n_in > 1 ? a[1]->ecls : 0);
  if (mgi_se_pruned(f, v.ecls) || mgi_se_deep(f, &v, in->op, a[0], in->n_in > 1 ? a[1] : NULL)) return;
  mgi_se_der d;
  memset(&d, 0, sizeof d);
  d.code = (int16_t)in->op, d.n_in = (int8_t)in->n_in, d.arg = (int8_t)inst, d.in[0] = ia, d.in[1] = ib;
  mgi_se_eval_move(f, &v, in, a);
  mgi_se_val_add(f, &v, &d);
}

/* The accumulators of a value over `axis`: a loop's, of values of its body, or the group's. */
MGI_FN void mgi_se_try_accum(mgi_se_frame *f, uint32_t ia, int axis) {
  int cut = -1;
  for (int d = 0; d < f->val[ia].rank; d++) if (f->val[ia].mask[d] >> axis & 1) cut = d;
  if (axis < 4 && (cut >= 0 || !(f->val[ia].dep >> axis & 1))) return;
  for (int max = 0; max <= (cut < 0 && f->s->has_max); max++) {
    const mgi_se_val *a = &f->val[ia];
    mgi_se_val v = *a;
    mgi_se_der d;
    memset(&d, 0, sizeof d);
    d.code = MG_OP_ACCUM, d.n_in = 1, d.in[0] = ia, d.map[0] = (int8_t)axis;
    d.arg = (int8_t)(cut >= 0 ? cut : max ? MG_MAP_MAX : MG_MAP_SUM);
    if (axis < 4) v.scope = MGI_SE_GROUP, v.dep = (uint8_t)(v.dep & ~(1 << axis));
    else v.scope = (int8_t)(v.scope + 1);
    if (cut >= 0) {
      if (f->der[a->der - 1].code == MG_OP_LOAD) return; /* loading it at once, before the loop, is the same */
      v.mask[cut] = (uint8_t)(v.mask[cut] & ~(1 << axis));
    } else {
      mgi_se_probe_begin(f);
      v.ecls = mgi_se_reduce_term(f->s->eg, 0, max ? MG_E_MAX : MG_E_SUM, f->s->size_class[mgi_se_axis_class(f, axis)],
                                  axis < 4 ? 4 : 1, a->ecls);
    }
    if (mgi_se_pruned(f, v.ecls) || mgi_se_deep(f, &v, MG_OP_ACCUM, a, NULL)) continue;
    mgi_se_eval_accum(f, &v, a, axis, d.arg);
    mgi_se_val_add(f, &v, &d);
  }
}

MGI_FN void mgi_se_tell(struct mgi_se_search *S, int locked);
MGI_FN int mgi_se_frame_over(mgi_se_frame *f) {
  if (f->tell) mgi_se_tell(f->tell, 0);
  if (f->oom || (f->spent && f->brief > 0)) return 1;
  if (mgi_se_stopped(f->cfg) || mgi_se_seconds() > f->end) { f->cut = f->late = 1; return 1; }
  return 0;
}

/* The values up to w of classes that some operator joins with w's, as bits; 0 if memory is out. */
MGI_FN int mgi_se_partners(mgi_se_frame *f, uint32_t w) {
  const mgi_se_seg *s = f->s;
  uint32_t words = w / 64 + 1;
  uint32_t *p = (uint32_t *)mgi_se_grow(f->alike, &f->cap_alike, w + 1, sizeof *p);
  if (p) f->alike = p;
  uint64_t *m = (uint64_t *)mgi_se_grow(f->may, &f->cap_may, words, sizeof *m);
  if (m) f->may = m;
  if (!p || !m) { f->oom = 1; return 0; }
  for (; f->listed <= w; f->listed++)
    f->alike[f->listed] = f->of_class[f->val[f->listed].ecls], f->of_class[f->val[f->listed].ecls] = f->listed + 1;
  memset(f->may, 0, words * sizeof *f->may);
  uint32_t c = f->val[w].ecls;
  for (uint32_t k = s->partner_at[c]; k < s->partner_at[c + 1]; k++)
    for (uint32_t u = f->of_class[s->partner[k]]; u; u = f->alike[u - 1])
      f->may[(u - 1) / 64] |= (uint64_t)1 << ((u - 1) % 64);
  return 1;
}

MGI_FN uint32_t mgi_se_lowest(uint64_t m) { /* the lowest bit that is set */
#ifdef __GNUC__
  return (uint32_t)__builtin_ctzll(m);
#else
  uint32_t k = 0;
  while (!(m >> k & 1)) k++;
  return k;
#endif
}

/* Everything with value w as an operand and no later one. */
MGI_FN void mgi_se_expand(mgi_se_frame *f, uint32_t w) {
  mg_rational none = { 0, 1 };
  const mgi_se_seg *s = f->s;
  mgi_se_try_map(f, MG_OP_EXP, none, w, w);
  mgi_se_try_map(f, MG_OP_SQR, none, w, w);
  for (int k = 0; k < s->n_scale; k++)
    if (s->scale[k].num == -1 && s->scale[k].den == 1) mgi_se_try_map(f, MG_OP_NEG, none, w, w);
    else mgi_se_try_map(f, MG_OP_SCALE, s->scale[k], w, w);
  for (int k = 0; k < s->n_shift; k++) mgi_se_try_map(f, MG_OP_ADD_SCALAR, s->shift[k], w, w);
  for (int d = 0; d < f->val[w].rank; d++) {
    mgi_se_try_reduce(f, w, d, 0);
    if (s->has_max) mgi_se_try_reduce(f, w, d, 1);
  }
  for (int k = 0; k < s->n_inst; k++) {
    const mgi_se_inst *in = &s->inst[k];
    if (in->n_in > 1) continue;
    if (mg_op_row(in->op)->moves) mgi_se_try_move(f, k, w, w);
    else mgi_se_try_map(f, in->op, in->attr.c, w, w);
  }
  int negative = 0;
  for (int k = 0; k < s->n_scale; k++) negative |= s->scale[k].num == -1 && s->scale[k].den == 1;
  int all = !f->cfg->prune; /* without classes, and for moves that keep the expression, no pair is left out */
  for (int k = 0; k < s->n_inst; k++) all |= s->inst[k].n_in == 2 && mg_op_row(s->inst[k].op)->abstract == MG_ABS_SAME;
  if (!all && !mgi_se_partners(f, w)) return;
  for (uint32_t u = 0, tried = 0; u <= w; u++) {
    if (!all) { /* on to the next that it may be joined with */
      uint64_t rest = f->may[u / 64] >> u % 64;
      uint32_t skip = rest ? mgi_se_lowest(rest) : 64 - u % 64;
      if (skip > w + 1 - u) skip = w + 1 - u;
      f->st.pruned_pairs += skip, u += skip;
      if (u > w) break; /* in a retry there are later ones */
      if (!rest) { u--; continue; }
    }
    if (!(tried++ & 63) && mgi_se_frame_over(f)) return;
    if (mgi_se_join_scope(f, &f->val[u], &f->val[w]) < 0) continue;
    mgi_se_try_map(f, MG_OP_ADD, none, u, w);
    if (u != w) mgi_se_try_map(f, MG_OP_MUL, none, u, w);
    for (int swap = 0; swap <= (u != w); swap++) {
      uint32_t a = swap ? w : u, b = swap ? u : w;
      mgi_se_try_map(f, MG_OP_DIV, none, a, b);
      if (negative) mgi_se_try_map(f, MG_OP_SUB, none, a, b);
      mgi_se_try_matmul(f, a, b);
      for (int k = 0; k < s->n_inst; k++) {
        const mgi_se_inst *in = &s->inst[k];
        if (in->n_in != 2) continue;
        if (mg_op_row(in->op)->moves) mgi_se_try_move(f, k, a, b);
        else mgi_se_try_map(f, in->op, in->attr.c, a, b);
      }
    }
  }
}

/* Loads of input k in `scope`, every choice of dimension or `*` for each axis from `axis` on; in a loop's body its axis
   cuts one. */
MGI_FN void mgi_se_loads(mgi_se_frame *f, int k, int axis, mgi_se_val *v, int8_t *map, int scope) {
  int la = mgi_se_loop_axis(scope), next = axis < f->n_grid ? axis + 1 : axis < la ? la : MGI_SE_AXES;
  if (axis == MGI_SE_AXES || (!(scope & 1) && axis >= 4)) {
    mgi_se_der d;
    memset(&d, 0, sizeof d);
    v->scope = (int8_t)scope, v->dep = 0;
    for (int a = 1; a <= f->n_grid; a++) if (map[a] >= 0) v->dep = (uint8_t)(v->dep | 1 << a);
    d.code = MG_OP_LOAD, d.arg = (int8_t)k;
    memcpy(d.map, map, sizeof d.map);
    mgi_se_slice(f, v, f->s->in[k]);
    mgi_se_val_add(f, v, &d);
    return;
  }
  int c = mgi_se_axis_class(f, axis), whole = axis != la || !(scope & 1);
  /* one output: nothing is tied */
  for (int d = 0; d < v->rank && axis < 4 && (f->kept >> axis & 1); d++) whole &= v->cls[d] != c;
  if (whole) mgi_se_loads(f, k, next, v, map, scope);
  for (int d = 0; d < v->rank && c >= 0; d++) {
    if (!mgi_se_cuts_class(f->s, c, v->cls[d])) continue;
    map[axis] = (int8_t)d, v->mask[d] = (uint8_t)(v->mask[d] | 1 << axis);
    mgi_se_loads(f, k, next, v, map, scope);
    map[axis] = MG_MAP_ALL, v->mask[d] = (uint8_t)(v->mask[d] & ~(1 << axis));
  }
}

/* A sum of two products is also one product of two concatenations: (w|x)(y|z) = w y + x z. */
MGI_FN void mgi_se_concat_matmuls(mgi_se_frame *f) {
  for (uint32_t v = 0; v < f->n_val && !f->oom; v++)
    for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
      if (f->der[i - 1].code != MG_OP_ADD || !f->val[f->der[i - 1].in[0]].product ||
          !f->val[f->der[i - 1].in[1]].product)
        continue;
      for (uint32_t p = f->val[f->der[i - 1].in[0]].der; p; p = f->der[p - 1].next)
        for (uint32_t q = f->der[p - 1].code == MG_OP_MATMUL ? f->val[f->der[i - 1].in[1]].der : 0; q;
             q = f->der[q - 1].next) {
          if (f->der[q - 1].code != MG_OP_MATMUL) continue;
          int fits = f->val[f->der[i - 1].in[0]].rank == f->val[v].rank &&
                     f->val[f->der[i - 1].in[1]].rank == f->val[v].rank;
          for (int d = 0; d < f->val[v].rank && fits; d++) { /* no broadcast, in the sum or in the batch */
            const mgi_se_val *x = &f->val[f->der[i - 1].in[0]], *y = &f->val[f->der[i - 1].in[1]];
            fits = x->cls[d] == y->cls[d];
          }
          if (!fits) continue;
          mgi_se_der *dp = (mgi_se_der *)mgi_se_grow(f->der, &f->cap_der, f->n_der + 1, sizeof *dp), d;
          if (!dp) { f->oom = 1; return; }
          f->der = dp;
          memset(&d, 0, sizeof d);
          d.code = MG_OP_CONCAT_MATMUL, d.n_in = 4;
          d.in[0] = f->der[p - 1].in[0], d.in[1] = f->der[q - 1].in[0], d.in[2] = f->der[p - 1].in[1],
          d.in[3] = f->der[q - 1].in[1];
          d.next = f->val[v].der; /* in front: the walk orders derivations by cost anyway */
          f->der[f->n_der] = d;
          f->val[v].der = ++f->n_der;
        }
    }
}

/* Lays out derivations value by value: from here on they are walked, and many times.  Without memory they stay where
   they are. */
MGI_FN void mgi_se_der_pack(mgi_se_frame *f) {
  mgi_se_der *to = (mgi_se_der *)malloc(((size_t)f->n_der + 1) * sizeof *to);
  uint32_t n = 0;
  if (!to) return;
  for (uint32_t v = 0; v < f->n_val; v++) {
    uint32_t i = f->val[v].der;
    for (f->val[v].der = i ? n + 1 : 0; i; i = to[n - 1].next, to[n - 1].next = i ? n + 1 : 0) to[n++] = f->der[i - 1];
    f->val[v].last = f->val[v].der ? n : 0;
  }
  free(f->der);
  f->der = to, f->n_der = n, f->cap_der = n + 1;
}

/* After a pass: a value may have got a derivation of fewer operators than the one that it was expanded with.  Depths
   are lowered until they are those of the best derivations, and what they had refused is tried again; 0: there is
   nothing to try. */
MGI_FN int mgi_se_retry(mgi_se_frame *f) {
  int lower = 0;
  uint32_t n = f->n_val;
  for (uint32_t v = 0; v < n; v++) lower |= f->val[v].low < f->val[v].depth;
  if (lower) mgi_se_der_pack(f);
  for (int again = lower; again;) { /* else all derivations are of the depths that there are */
    again = 0;
    for (uint32_t v = 0; v < n; v++)
      for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
        const mgi_se_der *d = &f->der[i - 1];
        int deep = 0;
        for (int j = 0; j < d->n_in; j++) if (f->val[d->in[j]].low > deep) deep = f->val[d->in[j]].low;
        deep += f->cfg->prune ? mgi_se_counted(d->code) : d->n_in > 0;
        if (deep < f->val[v].low) f->val[v].low = (uint8_t)deep, again = 1;
      }
  }
  for (uint32_t v = 0; v < n; v++) f->val[v].old = f->val[v].depth, f->val[v].depth = f->val[v].low;
  if (!lower || !f->refused) return 0;
  mg_search_stats st = f->st; /* these were counted */
  f->retry = 1;
  for (uint32_t v = 0; v < n && !mgi_se_frame_over(f); v++) mgi_se_expand(f, v);
  f->retry = 0, f->st = st;
  return 1;
}

/* The grid axes of one output's dimensions whose class nothing sums over or moves: a tensor with that dimension whole
   would hand it on to the output, which must be cut. */
MGI_FN int mgi_se_kept_axes(const mgi_se_frame *f) {
  const mgi_se_seg *s = f->s;
  int kept = 0;
  if (s->p->n_out > 1) return 0;
  for (int k = 0; k < s->n_inst; k++) if (mg_op_row(s->inst[k].op)->moves) return 0;
  for (int a = 1; a <= f->n_grid; a++) {
    int n = 0, summed = 0;
    for (int d = 0; d < s->p->tensors[s->p->out[0].id].shape.rank; d++)
      n += mgi_se_cls(s, s->p->out[0], d) == f->gcls[a];
    for (int c = 0; c < s->n_cls; c++) summed |= s->summed[c] && s->size_class[c] == s->size_class[f->gcls[a]];
    if (n == 1 && !summed && a != f->group) kept |= 1 << a;
  }
  return kept;
}

MGI_FN void mgi_se_closure(mgi_se_frame *f) {
  const mgi_se_seg *s = f->s;
  for (int a = 0; a < MGI_SE_AXES; a++) {
    int c = a ? mgi_se_axis_class(f, a) : -1;
    f->cnt[a] = c >= 0 ? s->cnt[c] : 1;
  }
  f->kept = mgi_se_kept_axes(f);
  f->filled = f->cfg->structure ? 0 : mgi_se_filled_axes(s, f); /* the hook sees structures at sizes of its own */
  f->memo_cap = 1024;
  f->memo = (uint32_t *)calloc(f->memo_cap, sizeof *f->memo);
  f->of_class = (uint32_t *)calloc(s->n_classes, sizeof *f->of_class);
  if (!f->memo || !f->of_class) { f->oom = 1; return; }
  uint32_t w = 0, from = 0; /* from: the first value of the pass before */
  for (int pass = MGI_SE_PRE; pass <= MGI_SE_GROUP; pass++) {
    uint32_t first = f->n_val;
    if (pass == 5 || (pass == MGI_SE_GROUP && !f->group) ||
        (pass && pass < MGI_SE_GROUP && f->loop[(pass - 1) / 2] < 0))
      continue;
    if (pass == MGI_SE_GROUP)
      for (uint32_t i = 0; i < first && !f->oom; i++) {
        if (!(f->val[i].scope & 1)) mgi_se_try_accum(f, i, f->group);
      }
    else if (pass && !(pass & 1))
      for (uint32_t i = from; i < first && !f->oom; i++) mgi_se_try_accum(f, i, mgi_se_loop_axis(pass - 1));
    else
      for (uint32_t k = 0; k < s->p->n_in && !f->oom; k++) {
        mgi_se_val v;
        int8_t map[MGI_SE_AXES];
        memset(&v, 0, sizeof v), memset(map, MG_MAP_ALL, sizeof map);
        mg_tensor t = s->p->in[k];
        v.rank = (int8_t)s->p->tensors[t.id].shape.rank;
        v.ecls = s->ecls[t.id];
        for (int d = 0; d < v.rank; d++) v.cls[d] = (int8_t)mgi_se_cls(s, t, d);
        mgi_se_loads(f, (int)k, f->n_grid ? 1 : mgi_se_loop_axis(pass), &v, map, pass);
      }
    do
      for (; w < f->n_val && !mgi_se_frame_over(f); w++) mgi_se_expand(f, w);
    while (w == f->n_val && mgi_se_retry(f));
    from = first;
  }
  mgi_se_der_pack(f);
  mgi_se_concat_matmuls(f);
  f->work = 0; /* what follows passes over the values once */
}

MGI_FN void mgi_se_frame_free(mgi_se_frame *f) {
  for (uint32_t k = 0; k < f->n_val; k++) free(f->val[k].data);
  free(f->val), free(f->der), free(f->memo), free(f->scratch), free(f->of_class), free(f->alike), free(f->may);
}

/* --------------------------------------------------------------------------------------------- >>structures

   A structure is one derivation for every value that the outputs need.  `need` lists values in the order in which
   they were first needed; the choice for need[k] appends its operands; at the end of the list a choice is complete.
   Derivations may be cyclic (transpose twice): a depth-first order from the outputs finds that.                     */

enum { MGI_SE_SOPS = 48, MGI_SE_KEEP = 96, MGI_SE_ALIKE = 4, MGI_SE_WORKS = 48, MGI_SE_TILES = 8 };

typedef struct mgi_se_sop {
  int16_t code;
  int8_t n_in, arg, scope, rank, cls[MG_MAX_RANK], map[MGI_SE_AXES];
  uint8_t mask[MG_MAX_RANK];
  int16_t in[4];
  mg_rational c;
} mgi_se_sop;

typedef struct mgi_se_structure {
  int n, n_out, n_grid, gcls[4], group, loop[2];
  mgi_se_sop op[MGI_SE_SOPS];           /* operands first */
  int16_t out[MG_MAX_OUT];
  int8_t omap[MG_MAX_OUT][4];           /* dimension that axis 1 .. 3 cuts, or MG_MAP_ALL */
  uint64_t hash, work;                  /* work: equal for structures that the model cannot tell apart */
  double foreign;                       /* tie-break, in us: constants that the program does not have */
  double us;                            /* predicted for the best tile, and `foreign` */
  int n_tiles;
  int64_t count[MGI_SE_TILES][MGI_SE_AXES]; /* axis counts, best first */
  double tile_us[MGI_SE_TILES];
} mgi_se_structure;

/* The kernel of a structure as the model sees it, sizes open: mgi_se_form_size fills them in, to what mg_flat_of says
   of the graph that is built from it. */
typedef struct mgi_se_form {
  mg_flat k;
  int loops, group;                     /* how many loops; the group axis or 0 */
  int n_cut;                            /* the different chunks: of an extent, under axes */
  struct { int64_t extent; int mask; } cut[MG_FLAT_OPS * MG_MAX_RANK];
  int16_t chunk[MG_FLAT_OPS][MG_MAX_RANK]; /* of each dimension: which of them */
  int8_t both[MG_FLAT_OPS];             /* concat_matmul: twice */
  int64_t unique[MG_FLAT_OPS];
  int again;                            /* a tensor is loaded twice */
  uint8_t made[MG_FLAT_OPS];            /* a product is in it */
  const mg_attr *move[MG_FLAT_OPS];     /* of an operator that moves elements; else NULL */
  int unshifted;
} mgi_se_form;

typedef struct mgi_se_exit { uint32_t val; int8_t omap[4]; } mgi_se_exit;

typedef struct mgi_se_cost { uint64_t work; double us; int64_t count[2][MGI_SE_AXES]; } mgi_se_cost;

typedef struct mgi_se_walk {
  mgi_se_frame *f;
  const mg_machine *gpu;
  uint32_t need[MGI_SE_SOPS], choice[MGI_SE_SOPS];
  int n_need, n_out;
  int bound, extra;                     /* counted operators: of values that every choice needs; of the choices made
                                           beside them */
  uint32_t out[MG_MAX_OUT];
  int8_t omap[MG_MAX_OUT][4];
  int cut[MG_MAX_OUT];                  /* the axes that cut each output, the group axis too, as bits */
  int16_t *slot;                        /* by value: index in need + 1 */
  uint64_t above[MGI_SE_SOPS];          /* by index in need: what is chosen and uses it, as bits */
  mgi_se_exit *exit;                    /* by output, where values of the frame equal it: exit[n_exit[k]] ..
                                           exit[n_exit[k + 1] - 1] */
  uint32_t n_exit[MG_MAX_OUT + 1], cap_exit;
  uint8_t *least;                       /* by value: 1 if each of its derivations is a counted operator */
  uint8_t *over;                        /* by value: the axes that accumulators below it may run over, as bits */
  int all;                              /* the axes that some accumulator must run over */
  uint32_t *mark, seen;                 /* mark: by value, when mgi_se_walk_choices saw it last */
  uint16_t *must, *refs;                /* by value: how many, then which values every derivation of it needs; who needs
                                           them */
  int stride;                           /* of must; a value that needs too many has a count of stride */
  int64_t ref[MGI_SE_AXES];             /* the frame's reference tile; ref[0] is 1 once there is one */
  double *der_cost, *least_cost;        /* there, in us: of a derivation's own operator; by value, of the cheapest
                                           one */
  double cost_now, cutoff, sum[MGI_SE_WORKS]; /* of what is chosen or surely needed; the lowest of different work */
  int n_sum, first_only, ended;         /* ended: by a limit */
  uint32_t *order, *first;              /* derivations of value v, cheapest first: order[first[v]] .. order[first[v + 1]
                                           - 1] */
  int64_t steps;
  mgi_se_structure *best;               /* at most MGI_SE_KEEP, ordered, at most MGI_SE_ALIKE of the same work */
  int n_best;
  mgi_se_cost *cost;                    /* by work, and by skeleton with its best tiles: open addressing */
  mgi_se_form model;
  uint32_t n_cost, cap_cost;
  int64_t made;
  int full;
  struct mgi_se_bound *guide;           /* NULL: without */
  uint64_t key, some, start;            /* sums of mgi_se_bder.kind and some of what is chosen; start: of the outputs in
                                           hand */
  int64_t reached;                      /* structures, and sets of open values left for the like of them */
  int filled;                           /* its bounds are those of the costs */
  pthread_mutex_t *show;                /* held while the caller looks at a structure */
} mgi_se_walk;

/* Postorder from value v; 0 on a cycle. */
MGI_FN int mgi_se_order(mgi_se_walk *w, int k, uint8_t *mark, int16_t *pos, mgi_se_structure *s) {
  if (mark[k] == 2) return 1;
  if (mark[k] == 1) return 0;
  mark[k] = 1;
  const mgi_se_der *d = &w->f->der[w->choice[k]];
  for (int j = 0; j < d->n_in; j++) if (!mgi_se_order(w, w->slot[d->in[j]] - 1, mark, pos, s)) return 0;
  mark[k] = 2;
  const mgi_se_val *v = &w->f->val[w->need[k]];
  mgi_se_sop *o = &s->op[s->n];
  memset(o, 0, sizeof *o);
  o->code = d->code, o->n_in = d->n_in, o->arg = d->arg, o->scope = v->scope, o->rank = v->rank, o->c = d->c;
  memcpy(o->cls, v->cls, sizeof o->cls), memcpy(o->mask, v->mask, sizeof o->mask),
      memcpy(o->map, d->map, sizeof o->map);
  for (int j = 0; j < d->n_in; j++) o->in[j] = pos[w->slot[d->in[j]] - 1];
  pos[k] = (int16_t)s->n++;
  return 1;
}

MGI_FN int mgi_se_structure_class(const mgi_se_structure *t, int a) {
  return a >= 4 ? t->loop[a - 4] : a <= t->n_grid ? t->gcls[a] : -1;
}

/* The chunk of an extent e under the axes of `mask`, nested in order. */
MGI_FN int64_t mgi_se_cut(int64_t e, int mask, const int64_t *count) {
  for (int a = 1; mask >> a; a++) if (mask >> a & 1) e = mg_ceil_div(e, count[a]);
  return e;
}

/* Notes a loop's accumulators that the group's take along: accum over the group of an accum over a loop that nothing
   else uses is one accumulator in the kernel. */
MGI_FN void mgi_se_joined(const mgi_se_structure *t, uint8_t *joined) {
  int uses[MGI_SE_SOPS] = { 0 };
  memset(joined, 0, MGI_SE_SOPS);
  if (!t->group) return;
  for (int i = 0; i < t->n; i++) for (int j = 0; j < t->op[i].n_in; j++) uses[t->op[i].in[j]]++;
  for (int i = 0; i < t->n_out; i++) uses[t->out[i]]++;
  for (int i = 0; i < t->n; i++) {
    const mgi_se_sop *o = &t->op[i], *x = &t->op[o->in[0]];
    if (o->code == MG_OP_ACCUM && o->map[0] < 4 && x->code == MG_OP_ACCUM && x->map[0] >= 4 && x->arg == o->arg &&
        uses[o->in[0]] == 1)
      joined[o->in[0]] = 1;
  }
}

MGI_FN void mgi_se_form_of(const mgi_se_seg *s, const mgi_se_structure *t, mgi_se_form *h) {
  uint8_t joined[MGI_SE_SOPS];
  int16_t at[MGI_SE_SOPS];
  mg_flat *k = &h->k;
  mgi_se_joined(t, joined);
  memset(&k->blocks, 0, sizeof *k - offsetof(mg_flat, blocks));
  k->n = 0, h->n_cut = 0, h->again = 0, h->group = t->group, h->loops = (t->loop[0] >= 0) + (t->loop[1] >= 0);
  for (int i = 0; i < t->n; i++) {
    const mgi_se_sop *o = &t->op[i];
    if (joined[i]) { at[i] = at[o->in[0]]; continue; }
    const int x = at[i] = (int16_t)k->n++;
    mg_flat_op *m = &k->op[x];
    memset(m, 0, sizeof *m);
    /* esize: as operands are widened */
    m->code = o->code, m->n_in = o->n_in, m->inloop = o->scope & 1, m->rank = o->rank, m->esize = 2,
    m->narrow = m->half = 1;
    m->along = (int8_t)(o->code == MG_OP_SUM || o->code == MG_OP_MAX ? o->arg : 0);
    m->loop = m->outer = (int8_t)(m->inloop ? mgi_se_loop_axis(o->scope) : 0);
    m->across = o->code == MG_OP_ACCUM && o->map[0] < 4;
    m->adds = o->code == MG_OP_ACCUM && o->arg == MG_MAP_SUM;
    const int leaves = o->code == MG_OP_ACCUM && (o->map[0] >= 4 || joined[o->in[0]]); /* loops */
    m->sums = leaves && o->arg == MG_MAP_SUM;
    m->maxima = leaves && o->arg == MG_MAP_MAX;
    h->both[x] = o->code == MG_OP_CONCAT_MATMUL;
    h->move[x] = mg_op_moves(o->code) ? &s->inst[o->arg].attr : NULL;
    for (int j = 0; j < o->n_in; j++) {
      m->in[j] = at[o->in[j]];
      if (k->op[m->in[j]].esize > m->esize) m->esize = k->op[m->in[j]].esize;
      m->narrow &= k->op[m->in[j]].narrow;
      m->half &= k->op[m->in[j]].half;
    }
    m->inner = (int8_t)(o->rank ? o->rank - 1 : 0);
    for (int d = 0; d < o->rank; d++) {
      const int64_t e = o->cls[d] < 0 ? 1 : s->real[o->cls[d]];
      int c = 0;
      while (c < h->n_cut && (h->cut[c].extent != e || h->cut[c].mask != o->mask[d])) c++;
      if (c == h->n_cut) h->cut[c].extent = e, h->cut[c].mask = o->mask[d], h->n_cut++;
      h->chunk[x][d] = (int16_t)c;
    }
    if (o->code == MG_OP_LOAD) {
      const mg_tensor_info *u = mg_tensor_of(s->p, s->p->in[o->arg]);
      m->esize = (int8_t)mg_dtype_bytes(u->dtype);
      m->narrow = mg_tensor_shape(u->dtype) != NULL;
      m->half = u->dtype == MG_F16;
      m->inner = (int8_t)(o->rank ? u->order[o->rank - 1] : 0);
      m->down = (int8_t)mg_runs_down(u, u->shape.rank - 2);
      m->runs = (int8_t)(mg_innermost(u) == u->shape.rank - 1);
      for (int d = 0; d < o->rank && m->inloop; d++)
        if (o->mask[d] >> m->loop & 1) m->chunk = (int8_t)(d + 1);
      m->made = (int8_t)(u->fill != MG_FILL_NONE);
      if (m->made) k->queries = u->shape.dim[0], k->keys = u->shape.dim[1];
      m->in[0] = o->arg, m->unique = m->made ? 0 : mg_shape_elements(&u->shape) * m->esize;
      for (int j = 0; j < x; j++) h->again |= k->op[j].code == MG_OP_LOAD && k->op[j].in[0] == m->in[0];
    }
    if (o->code == MG_OP_CONCAT_MATMUL) mg_flat_join(m);
    h->made[x] = m->code == MG_OP_MATMUL;
    for (int j = 0; j < m->n_in && m->code != MG_OP_LOAD; j++) h->made[x] |= h->made[m->in[j]];
    h->unique[x] = m->unique;
  }
  for (int i = 0; i < t->n_out; i++) {
    const int from = at[t->out[i]], x = k->n++;
    mg_flat_op *m = &k->op[x];
    *m = k->op[from];
    m->code = MG_OP_STORE, m->n_in = 1, m->in[0] = (int16_t)from, m->inloop = m->loop = m->outer = 0;
    m->unique = mg_shape_elements(&mg_tensor_of(s->p, s->p->out[i])->shape) * m->esize;
    m->inner = (int8_t)(m->rank ? m->rank - 1 : 0);
    h->both[x] = 0, h->move[x] = NULL, h->made[x] = h->made[from], h->unique[x] = m->unique;
    memcpy(h->chunk[x], h->chunk[from], sizeof h->chunk[x]);
  }
  h->unshifted = mg_flat_unshifted(k);
}

/* What move i makes of rows and columns at the sizes that it has. */
MGI_FN void mgi_se_form_moves(mgi_se_form *h, int i) {
  mg_flat_op *m = &h->k.op[i];
  const mg_flat_op *of = &h->k.op[m->in[0]];
  mg_shape from, to;
  mg_op_node o;
  memset(&o, 0, sizeof o);
  o.code = (mg_opcode)m->code, o.attr = *h->move[i];
  from.rank = of->rank, to.rank = m->rank;
  memcpy(from.dim, of->d, sizeof from.dim), memcpy(to.dim, m->d, sizeof to.dim);
  const int how = mg_moves_how(&o, &from, &to);
  m->turns = how == MG_MOVES_TURNS, m->stays = how == MG_MOVES_NOTHING;
}

MGI_FN void mgi_se_form_size(mgi_se_form *h, const int64_t *count) {
  int64_t chunk[MG_FLAT_OPS * MG_MAX_RANK];
  int8_t ragged[MG_FLAT_OPS * MG_MAX_RANK];
  mg_flat *k = &h->k;
  k->blocks = count[1] * count[2] * count[3], k->group = h->group ? count[h->group] : 1;
  k->iters = h->loops > 1 ? count[4] + count[5] : count[4];
  for (int c = 0; c < h->n_cut; c++) {
    int64_t parts = 1;
    for (int a = 1; h->cut[c].mask >> a; a++) parts *= h->cut[c].mask >> a & 1 ? count[a] : 1;
    chunk[c] = mgi_se_cut(h->cut[c].extent, h->cut[c].mask, count);
    ragged[c] = parts * chunk[c] != h->cut[c].extent;
  }
  for (int i = 0; i < k->n; i++) {
    mg_flat_op *m = &k->op[i];
    m->trips = (m->loop ? (double)count[m->loop] : 1) * (h->both[i] ? 2 : 1);
    for (int d = 0; d < m->rank; d++) m->d[d] = chunk[h->chunk[i][d]];
    m->ragged = 0;
    for (int d = 0; d < m->rank && m->code == MG_OP_LOAD; d++) m->ragged |= ragged[h->chunk[i][d]];
    if (h->again) m->unique = h->unique[i];
    if (h->move[i]) mgi_se_form_moves(h, i);
  }
  if (h->again) mg_flat_read_once(k);
  mg_flat_takers(k);
}

/* Whether axis a cuts a leading dimension somewhere: then its chunks are 1, as the device templates are of matrices. */
MGI_FN int mgi_se_leading(const mgi_se_structure *t, int a) {
  for (int i = 0; i < t->n; i++)
    for (int d = 0; d < t->op[i].rank - 2; d++) if (t->op[i].mask[d] >> a & 1) return 1;
  return 0;
}

enum { MGI_SE_COUNTS = 128, MGI_SE_EXTENT = 1 << 24, MGI_SE_GRID = 65535 };

/* Counts by which axis a may cut an extent e: every divisor; and, where divisors are few, those whose chunks are a
   multiple of 8 and the last one short, and for an e that is none those that are 1 or 3 times a power of two; else
   those whose chunks are 3 times a power of two.  Past MGI_SE_EXTENT, where finding the
   divisors takes longer than they are worth, chunks of a power of two, or 3 times one.  Chunks below 8 of a long
   extent: none but those of 1 along the grid, which rows that fill a block's memory need.  Coarse: a few of them. */
MGI_FN int mgi_se_counts(const mgi_se_structure *t, int a, int64_t e, int coarse, int64_t *out) {
  static const int few[] = { 1, 16, 64, 256 };
  int n = 0, loop = a >= 4, divisors = 0;
  if (mgi_se_leading(t, a)) { out[0] = e; return 1; }
  for (int k = 0; coarse && k < 4; k++) {
    if (few[k] >= e || (loop && few[k] < 16 && e > 16) || (few[k] == 1 && e > 64)) continue;
    out[n++] = mg_ceil_div(e, few[k]);
  }
  int huge = !coarse && e > MGI_SE_EXTENT;
  for (int64_t c = MGI_SE_EXTENT; huge && c >= 8; c /= 2) {
    out[n++] = mg_ceil_div(e, c);
    if (c > 8) out[n++] = mg_ceil_div(e, 3 * c / 4);
  }
  int64_t last = coarse || huge ? 0 : e, chunk;
  for (int64_t c = 1; c * c <= last && divisors < 8; c++) divisors += e % c ? 0 : c * c == e ? 1 : 2;
  /* the next count of a smaller chunk: none is empty */
  for (int64_t count = 2;
       count <= last && n<MGI_SE_COUNTS - 2; count = chunk> 1 ? mg_ceil_div(e, chunk - 1) : last + 1) {
    chunk = mg_ceil_div(e, count);
    int64_t odd = divisors < 8 ? count : chunk;
    while (odd % 2 == 0) odd /= 2;
    const int even = odd == 1 || odd == 3;
    if (e % count && chunk > 8 && (divisors < 8 ? chunk % 8 && (e % 8 == 0 || !even) : !even)) continue;
    if (chunk < 8 && e > 64 && (loop || chunk > 1 || e > MGI_SE_GRID)) continue;
    out[n++] = count;
  }
  if (!loop) out[n++] = 1;
  if (!n) out[n++] = e > 1 ? 2 : 1;
  int kept = 0; /* but no more than a grid's second and third axis may have; the last is 1 */
  for (int k = 0; k < n; k++)
    if (loop || a == 1 || out[k] <= MGI_SE_GRID) out[kept++] = out[k];
  return kept;
}

/* 1: some extent of s has more counts than there is room for. */
MGI_FN int mgi_se_counts_over(const mgi_se_seg *s) {
  mgi_se_structure t;
  int64_t list[MGI_SE_COUNTS];
  int over = 0;
  t.n = 0;
  for (int c = 0; c < s->n_cls; c++)
    over |= s->real[c] > MGI_SE_EXTENT || mgi_se_counts(&t, 4, s->real[c], 0, list) == MGI_SE_COUNTS - 2;
  return over;
}

/* ------------------------------------------------------------------------------------------------- >>tuner

   Every combination of counts of a structure, by the model; inner axes cut what outer ones left.  Coarse: a few, to
   order structures.  A combination is priced only where a floor (mgi_se_floor), which no plan of it passes under, is
   below what is wanted: the best that were found, or a limit; so is what a grid leaves to the loops.  The result is
   that of pricing all (tests/test_tuner.c).                                                                                */

typedef struct mgi_se_tuner {
  const mgi_se_seg *s;
  mgi_se_structure *t;
  const mg_machine *gpu;
  int coarse, keep;
  double limit;
  int64_t count[MGI_SE_AXES];
  int n_list[MGI_SE_AXES];              /* of an axis, for the extent that it was last asked for */
  int64_t extent[MGI_SE_AXES], list[MGI_SE_AXES][MGI_SE_COUNTS];
  mgi_se_form form;
} mgi_se_tuner;

/* What every plan of the form as it is sized takes at least; `open`: at any counts of its loops, which are sized as
   one.  Never above the model, whose terms these are: the bytes and the products of a block on one multiprocessor, of
   which a plan may take more and overlap the smaller with the larger; barriers; merges.  At least MG_UNFIT_US where no
   plan fits. */
MGI_FN double mgi_se_floor(const mgi_se_form *h, const mg_machine *gpu, int open) {
  const mg_flat *k = &h->k;
  const int64_t iters = open ? 2 * h->loops : k->iters;
  double slow = 0, dram = 0, flops = 0, alu = 0, sh = 0, out = 0, stored = 0, early = 0, joins = 0, apart = 0;
  int64_t rows = 0, ring = 0, once = 0;
  int streams = iters > 1, leads = 0, loose = 0, split = 0;
  uint8_t inlined[MG_FLAT_OPS] = { 0 }; /* a product's operand: counted there */
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL) continue;
    for (int j = 0; j < 2; j++) /* what is moved on its way, too */
      for (int x = o->in[j]; !inlined[x]; x = h->move[x] ? k->op[x].in[0] : x) inlined[x] = 1;
    rows |= o->d[o->rank - 2], loose |= open && h->cut[h->chunk[i][o->rank - 2]].mask >> 4;
    streams &= o->d[o->rank - 2] <= 16 && !(o->inloop && (h->made[o->in[0]] || h->made[o->in[1]]));
  }
  /* warpgroups may make the products */
  const int group = (loose || rows == 64 || rows == 128) && mg_machine_can(gpu, MG_CAN_WARPGROUP);
  /* And have them under way while the next step begins: see mgi_plan_flies. */
  const int flies = group && iters > 1 && (loose || rows == 128) && k->group < 2;
  const double waves = mg_waves(gpu, k->blocks, k->group);
  /* what of compute counts at least */
  const double hidden = fmin(1, mg_least_of(gpu, iters > 1, group + flies, 1, streams).unhidden);
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    leads |= !mg_flat_matrix(o);
    if (o->made || h->move[i]) continue;
    const double share = o->inloop ? 1 : 1 / (double)k->group; /* at least, of what may stand behind a merge */
    if (o->code == MG_OP_LOAD || o->code == MG_OP_STORE) {
      const double b = share * (double)mg_flat_elements(o) * o->esize;
      /* the best run that it may come to */
      const int64_t run = o->rank ? o->d[o->inner] : 1, most = !open                 ? run
                                                               : run * o->esize > 32 ? 128 / o->esize
                                                                                     : mg_round_up(run, 8);
      const double moved = b * mg_load_waste(most, o->rank, o->esize);
      slow += moved * o->trips, dram += (double)o->unique;
      if (!flies || !o->inloop) alu += gpu->copy_slots * b * o->trips / 16;
      if (o->code == MG_OP_STORE) stored += b * o->trips;
      else if (!o->inloop && iters > 1) early += moved;
      if (o->code == MG_OP_LOAD) *(o->inloop ? &ring : &once) += mg_flat_elements(o) * o->esize;
    } else if (o->code == MG_OP_MATMUL) {
      int64_t m, n, c, b;
      mg_flat_product(k, o, &m, &n, &c, &b);
      const double deep = (double)(mg_round_up(c, 16) * b) * o->trips, left = (double)mg_round_up(m, 16) * deep,
                   right = (double)mg_round_up(n, 8) * deep;
      flops += 2 * left * (double)mg_round_up(n, 8);
      for (int j = 0; j < (flies ? 0 : group ? 1 : 2); j++) {
        int from = o->in[j];
        while (h->move[from]) from = k->op[from].in[0]; /* a tile may be read turned */
        const mg_flat_op *a = &k->op[from];
        split |= a->code == MG_OP_LOAD && (a->split || a->esize != 2);
        if (h->made[o->in[j]]) continue;
        sh += 2 * (j ? right : left);
        if (a->code == MG_OP_LOAD || (!a->inloop && o->inloop)) continue;
        const double here = j ? 6 * right : 2 * left;
        if (a->inloop && !mg_flat_costly(k, from)) {
          alu += here;
          continue;
        }
        /* It may be computed once, mg_flat_once, with a barrier. */
        const double by_all = fmin(2 * (double)mg_flat_elements(a) * a->trips, here);
        alu += by_all;
        apart += fmin(hidden * waves * mg_slots_us(gpu, here - by_all), gpu->barrier * gpu->barrier_us * a->trips);
      }
    } else if (o->code == MG_OP_ACCUM) out += o->across ? (double)mg_flat_elements(o) * 4 : 0;
    else if (!inlined[i] || !mg_op_row((mg_opcode)o->code)->elementwise) {
      const mg_flat_op *in = o->n_in ? &k->op[o->in[0]] : o;
      const int square = o->code == MG_OP_SQR || (o->code == MG_OP_MUL && o->in[0] == o->in[1]);
      const int of_square = o->code == MG_OP_SUM &&
                            (in->code == MG_OP_SQR || (in->code == MG_OP_MUL && in->in[0] == in->in[1]));
      if (square || of_square) continue; /* tensor cores may take them */
      const double slots = o->code == MG_OP_DIV ? 2 : mg_cost_slots(mg_op_cost(o->code));
      alu += share * fmax((double)mg_flat_elements(o), (double)mg_flat_elements(in)) * slots * o->trips;
      joins += o->code == MG_OP_SUM || o->code == MG_OP_MAX ? o->trips : 0;
    }
  }
  if (!open && (iters > 1 ? 2 * ring + once : 0) > gpu->shared_per_block - 1024) return MG_UNFIT_US;
  const double sm_rate = mg_sm_rate(gpu), t_dram = mg_dram_us(gpu, dram);
  double t_products = mg_products_us(gpu, flops, 0);
  if (group) t_products = fmin(t_products, mg_products_us(gpu, flops, 1));
  if (flies) t_products = fmin(t_products, mg_flying_us(gpu, flops));
  const double t_slots = mg_slots_us(gpu, alu), t_shared = mg_shared_us(gpu, sh);
  const mg_least least = mg_least_of(gpu, iters > 1, group + flies, flops > 0, streams);
  const double threads = fmin((double)gpu->threads_per_sm, 1024 * waves); /* no more are there to hide latencies */
  const double few = 1 + fmin(gpu->threads_stream, gpu->threads_products) / threads;
  const double few_slots = 1 + (streams ? fmin(gpu->threads_stream, gpu->threads_slots) : gpu->threads_slots) / threads;
  const double t_comp = waves * (few * (t_products + t_shared) + few_slots * t_slots);
  double t_mem = fmax(waves * slow / sm_rate, gpu->chip_draw * slow * (double)k->blocks / (gpu->l2_gbps * 1e3));
  if (t_dram > t_mem) t_mem = t_dram;
  if (streams) {
    const double again = t_dram + fmin(gpu->again, gpu->again_own) * fmax(0, slow * (double)k->blocks - dram) /
                                      (gpu->l2_gbps * 1e3);
    if (again > t_mem) t_mem = again;
  }
  const double held = (double)((iters > 1 && !open ? 2 * ring : 0) + 1024),
               most = fmin(48, fmax(1, floor((double)gpu->shared_per_sm / held)));
  const double rounds = ceil(waves / most), ahead = iters > 8 ? 5 + flies : 8; /* see mgi_stages_of, mgi_plan_flies */
  const double wait_stream = flops > 0 ? gpu->wait_stream_us : gpu->wait_elements_us;
  const double wait_us = fmin(gpu->wait_us, streams ? wait_stream : flies ? gpu->wait_fly_us : 1e300);
  const double waits = iters > 1 ? rounds * (double)iters * wait_us / ahead : 0;
  if (streams && t_mem < waits) t_mem = waits;
  const double big = fmax(t_mem, t_comp), small = fmin(t_mem, t_comp);
  double t = gpu->launch * gpu->launch_us + gpu->drain_us + big + least.unhidden * small +
             gpu->operator_us * (double)k->n + gpu->round_us * (rounds - 1);
  if (iters > 1) t += rounds * (double)iters * least.step_us + (streams ? 0 : waits);
  t += apart + rounds * gpu->join * joins * gpu->barrier_us + gpu->early * waves * early / sm_rate;
  if (iters > 1 || flops > 0) t += gpu->store * stored / sm_rate;
  if (split) t += gpu->split_us;
  if (iters > 1 && joins > 0 && flops <= 0) t += gpu->tile_us;
  if (iters > 1 && !open) t += (least.fill * t_mem + gpu->last_step * t_comp) / (double)iters;
  if (k->group > 1) {
    const double last = rounds * (gpu->last_us + gpu->last_block_us * (double)k->group +
                                  gpu->last_bytes * out * (double)k->group / sm_rate);
    const double cluster = rounds * (k->group > 8 ? gpu->cluster_large_us : gpu->cluster_us) +
                           waves * out / gpu->cluster_bytes_us;
    t += mg_machine_clusters(gpu, k->group) ? fmin(last, cluster) : last;
  }
  if (h->unshifted) t *= 8;
  if (leads && !open) t *= 4;
  if (k->keys) t *= MG_SEEN_LEAST;
  return t * (1 - 1e-9); /* rounding */
}

MGI_FN void mgi_se_tune_axis(mgi_se_tuner *T, int a) {
  mgi_se_structure *t = T->t;
  const int full = t->n_tiles == T->keep;
  const double limit = full && t->tile_us[T->keep - 1] < T->limit ? t->tile_us[T->keep - 1] : T->limit;
  if (a == 4 && t->loop[0] >= 0) { /* the grid is cut */
    T->count[4] = T->count[5] = 1;
    mgi_se_form_size(&T->form, T->count);
    if (mgi_se_floor(&T->form, T->gpu, 1) > limit) return;
  }
  if (a == MGI_SE_AXES) {
    mgi_se_form_size(&T->form, T->count);
    if (mgi_se_floor(&T->form, T->gpu, 0) > limit) return;
    double us = mg_flat_us(&T->form.k, T->gpu, NULL);
    if (us > T->limit || (full && us >= t->tile_us[T->keep - 1])) return;
    int at = full ? T->keep - 1 : t->n_tiles++;
    for (; at > 0 && t->tile_us[at - 1] > us; at--) {
      t->tile_us[at] = t->tile_us[at - 1];
      memcpy(t->count[at], t->count[at - 1], sizeof T->count);
    }
    t->tile_us[at] = us;
    memcpy(t->count[at], T->count, sizeof T->count);
    return;
  }
  int c = mgi_se_structure_class(t, a), same = 0;
  T->count[a] = 1;
  if (c < 0) { mgi_se_tune_axis(T, a + 1); return; }
  for (int x = 1; x < 4; x++) if (x < a && mgi_se_cuts_class(T->s, mgi_se_structure_class(t, x), c)) same |= 1 << x;
  const int64_t e = mgi_se_cut(T->s->real[c], same, T->count);
  if (T->extent[a] != e) T->extent[a] = e, T->n_list[a] = mgi_se_counts(t, a, e, T->coarse, T->list[a]);
  for (int i = 0; i < T->n_list[a]; i++) {
    T->count[a] = T->list[a][i];
    if (T->count[a] < 2 && (a >= 4 || a == t->group)) continue;
    mgi_se_tune_axis(T, a + 1);
  }
}

/* The `keep` best tiles of t, of those that take no more than `limit` us; t->us is 2e9 where there is none. */
MGI_FN void mgi_se_tune(const mgi_se_seg *s, mgi_se_structure *t, const mg_machine *gpu, int coarse, int keep,
                        double limit) {
  mgi_se_tuner T;
  t->n_tiles = 0, t->us = 2e9;
  memset(&T, 0, sizeof T);
  T.s = s, T.t = t, T.gpu = gpu, T.coarse = coarse, T.keep = keep, T.limit = limit, T.count[0] = 1;
  mgi_se_form_of(s, t, &T.form);
  mgi_se_tune_axis(&T, 1);
  if (t->n_tiles) t->us = t->tile_us[0] + t->foreign;
}

MGI_FN uint64_t mgi_se_structure_hash(const mgi_se_structure *t) {
  uint64_t h = mgi_se_mix((uint64_t)t->n,
                          (uint64_t)(t->loop[0] + 1) << 16 | (uint64_t)(t->loop[1] + 1) << 8 | (uint64_t)t->group);
  for (int a = 1; a <= t->n_grid; a++) h = mgi_se_mix(h, (uint64_t)t->gcls[a]);
  for (int i = 0; i < t->n; i++) {
    const mgi_se_sop *o = &t->op[i];
    h = mgi_se_mix(h, (uint64_t)o->code << 32 | (uint64_t)(uint8_t)o->arg << 16 | (uint64_t)(uint8_t)o->map[0] << 8 |
                          (uint64_t)o->scope);
    for (int j = 0; j < o->n_in; j++) h = mgi_se_mix(h, (uint64_t)(o->in[j] + 1));
    h = mgi_se_mix(mgi_se_mix(h, (uint64_t)o->c.num), (uint64_t)o->c.den);
    for (int d = 0; d < o->rank; d++) h = mgi_se_mix(h, (uint64_t)(o->cls[d] + 1) << 8 | (uint64_t)o->mask[d]);
  }
  for (int i = 0; i < t->n_out; i++) h = mgi_se_mix(h, (uint64_t)t->out[i]);
  return h;
}

/* 1 if an operator's result is computed where it is read; and if that may make it costly (mg_flat_costly). */
MGI_FN int mgi_se_computed(int code) {
  return code < MG_OP_TABLE_END && (mg_op_row((mg_opcode)code)->elementwise || mg_op_moves(code));
}
MGI_FN int mgi_se_costly(int code) {
  return mgi_se_computed(code) && (mg_op_moves(code) || mg_op_cost(code) != MG_CLASS_PLAIN);
}
/* Hashes of what the model looks at, of each operator apart, so that they do not depend on their order: of all of them,
   and (skeleton) of loads, products, accumulators and stores, which decide the best tile. */
MGI_FN uint64_t mgi_se_structure_work(const mgi_se_structure *t, uint64_t *skeleton) {
  /* costly: mg_flat_costly */
  uint8_t made[MGI_SE_SOPS] = { 0 }, fed[MGI_SE_SOPS] = { 0 }, costly[MGI_SE_SOPS] = { 0 }, joined[MGI_SE_SOPS];
  uint64_t sum = 0, bones = 0;
  mgi_se_joined(t, joined);
  for (int i = 0; i < t->n; i++) {
    int product = t->op[i].code == MG_OP_MATMUL || t->op[i].code == MG_OP_CONCAT_MATMUL;
    made[i] = (uint8_t)product;
    costly[i] = (uint8_t)mgi_se_costly(t->op[i].code);
    for (int j = 0; j < t->op[i].n_in && mgi_se_computed(t->op[i].code); j++) costly[i] |= costly[t->op[i].in[j]];
    for (int j = 0; j < t->op[i].n_in; j++)
      made[i] |= made[t->op[i].in[j]], fed[t->op[i].in[j]] |= (uint8_t)(product                        ? 1
                                                                        : t->op[i].code == MG_OP_ACCUM ? 2
                                                                                                       : 0);
  }
  for (int i = 0; i < t->n; i++) {
    const mgi_se_sop *o = &t->op[i];
    int elementwise = o->code < MG_OP_TABLE_END && mg_op_row((mg_opcode)o->code)->elementwise,
        reads = elementwise || mg_op_moves(o->code) ? 1 : o->n_in;
    uint64_t h = mgi_se_mix(elementwise ? 1000 + (uint64_t)mg_cost_slots(mg_op_cost(o->code)) : (uint64_t)o->code,
                            (uint64_t)o->scope << 16 | (uint64_t)fed[i] << 8 |
                                (uint64_t)(o->code == MG_OP_LOAD ? o->arg + 1 : 0));
    if (o->code == MG_OP_ACCUM)
      h = mgi_se_mix(h, (uint64_t)joined[i] << 16 | (uint64_t)(uint8_t)o->map[0] << 8 | (uint64_t)(uint8_t)o->arg);
    for (int d = 0; d < o->rank; d++) h = mgi_se_mix(h, (uint64_t)(o->cls[d] + 1) << 8 | (uint64_t)o->mask[d]);
    for (int j = 0; j < reads && j < o->n_in; j++) {
      const mgi_se_sop *x = &t->op[o->in[j]];
      const int takes = o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL;
      h = mgi_se_mix(h, (uint64_t)(x->code == MG_OP_LOAD) | (uint64_t)(x->code == MG_OP_MATMUL) << 1 |
                            (uint64_t)made[o->in[j]] << 2 | (uint64_t)(x->scope & 1) << 3 |
                            (uint64_t)(takes && costly[o->in[j]]) << 4);
      for (int d = 0; d < x->rank; d++) h = mgi_se_mix(h, (uint64_t)(x->cls[d] + 1) << 8 | (uint64_t)x->mask[d]);
    }
    sum += mgi_se_mix(h, 77);
    if (o->code >= MG_OP_TABLE_END || o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL)
      bones += mgi_se_mix(h, 78);
  }
  for (int i = 0; i < t->n_out; i++) {
    uint64_t h = 99;
    for (int d = 0; d < t->op[t->out[i]].rank; d++) h = mgi_se_mix(h, (uint64_t)t->op[t->out[i]].mask[d]);
    sum += h, bones += h;
  }
  *skeleton = bones | 1;
  return sum | 1;
}

MGI_FN int mgi_se_structure_before(const mgi_se_structure *a, const mgi_se_structure *b) {
  if (a->us < b->us * (1 - 1e-9)) return 1;
  if (b->us < a->us * (1 - 1e-9)) return 0;
  if (a->n != b->n) return a->n < b->n;
  return a->hash < b->hash;
}

/* The entry of a key, made where there is none (work is 0 then); NULL if memory is out. */
MGI_FN mgi_se_cost *mgi_se_cost_of(mgi_se_walk *w, uint64_t key) {
  if (w->n_cost * 2 >= w->cap_cost) {
    uint32_t cap = w->cap_cost ? w->cap_cost * 2 : 256;
    mgi_se_cost *m = (mgi_se_cost *)calloc(cap, sizeof *m);
    if (!m) return NULL;
    for (uint32_t k = 0; k < w->cap_cost; k++) {
      uint32_t h = (uint32_t)(w->cost[k].work >> 7) & (cap - 1);
      while (m[h].work) h = (h + 1) & (cap - 1);
      if (w->cost[k].work) m[h] = w->cost[k];
    }
    free(w->cost), w->cost = m, w->cap_cost = cap;
  }
  uint32_t h = (uint32_t)(key >> 7) & (w->cap_cost - 1);
  while (w->cost[h].work && w->cost[h].work != key) h = (h + 1) & (w->cap_cost - 1);
  return &w->cost[h];
}

/* The time of a structure at the tiles that are best for its skeleton, coarse ones where it has loops; remembered by
   its work. */
MGI_FN double mgi_se_coarse_us(mgi_se_walk *w, mgi_se_structure *s, uint64_t skeleton) {
  mgi_se_cost *c = mgi_se_cost_of(w, s->work);
  if (!c) { w->f->oom = 1; return 2e9; }
  if (c->work) return c->us + s->foreign;
  /* as much as so many others of different work: the cutoff */
  if (w->n_sum < MGI_SE_WORKS || w->cost_now < w->sum[MGI_SE_WORKS - 1]) {
    int at = w->n_sum < MGI_SE_WORKS ? w->n_sum++ : MGI_SE_WORKS - 1;
    for (; at > 0 && w->sum[at - 1] > w->cost_now; at--) w->sum[at] = w->sum[at - 1];
    w->sum[at] = w->cost_now;
    if (w->n_sum == MGI_SE_WORKS && w->f->cfg->bound) w->cutoff = w->sum[MGI_SE_WORKS - 1] * (1 + 1e-9);
  }
  double foreign = s->foreign, us = 2e9;
  c = mgi_se_cost_of(w, skeleton);
  if (!c) { w->f->oom = 1; return 2e9; }
  s->foreign = 0;
  if (!c->work) {
    mgi_se_tune(w->f->s, s, w->gpu, s->loop[0] >= 0, MGI_SE_TILES, 1e300); /* a grid alone has few counts: all */
    if (!s->n_tiles) mgi_se_tune(w->f->s, s, w->gpu, 0, MGI_SE_TILES, 1e300);
    c->work = skeleton, c->us = s->us, w->n_cost++;
    if (!s->n_tiles) c->count[0][1] = 0;
    else
      memcpy(c->count[0], s->count[0], sizeof c->count[0]),
          memcpy(c->count[1], s->count[s->n_tiles > 1], sizeof c->count[1]);
  }
  mgi_se_form_of(w->f->s, s, &w->model);
  for (int k = 0; k < 2 && c->count[0][1]; k++) {
    mgi_se_form_size(&w->model, c->count[k]);
    double t = mg_flat_us(&w->model.k, w->gpu, NULL);
    if (t < us) us = t;
  }
  s->foreign = foreign;
  c = mgi_se_cost_of(w, s->work);
  if (c && !c->work) c->work = s->work, c->us = us, w->n_cost++;
  return us + foreign;
}

/* Elements of value v at tile `ref`. */
MGI_FN double mgi_se_walk_elements(const mgi_se_walk *w, uint32_t v) {
  const mgi_se_val *t = &w->f->val[v];
  double n = 1;
  for (int d = 0; d < t->rank; d++)
    n *= (double)mgi_se_cut(t->cls[d] < 0 ? 1 : w->f->s->real[t->cls[d]], t->mask[d], w->ref);
  return n;
}
/* Marks with 32 the values that some derivation computes costly, with 64 those that some makes of a product's
   result. */
MGI_FN void mgi_se_walk_marks(const mgi_se_frame *f, uint8_t *loaded) {
  for (int more = 1; more;) {
    more = 0;
    for (uint32_t v = 0; v < f->n_val; v++)
      for (uint32_t i = f->val[v].der; i && (loaded[v] & 96) != 96; i = f->der[i - 1].next) {
        const mgi_se_der *d = &f->der[i - 1];
        int marks = mgi_se_costly(d->code) ? 32 : 0;
        for (int j = 0; j < d->n_in && mgi_se_computed(d->code); j++) {
          const int of = loaded[d->in[j]];
          marks |= (of & 96) | (of & 4 ? 64 : 0);
        }
        more |= marks & ~loaded[v];
        loaded[v] |= (uint8_t)marks;
      }
  }
}
/* Fills in what each derivation's own operator costs at tile `ref` of a structure that the model found `rates` for.
   Never more than the model takes with that plan (one of more warps may take less): an elementwise operator that a
   product may take in is free. */
MGI_FN void mgi_se_walk_costs(mgi_se_walk *w, const mg_rates *r) {
  const mgi_se_frame *f = w->f;
  const mgi_se_seg *s = f->s;
  /* 1: a load gives it; 2: a product takes it; 4: a product gives it; 8: a square; 16: a move, as which 2 counts too;
     32: it may be costly; 64: it may be made of a product's result */
  uint8_t *loaded = (uint8_t *)calloc(f->n_val + 1, 1);
  if (!loaded) { w->f->oom = 1; return; }
  for (uint32_t v = 0; v < f->n_val; v++)
    for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
      const mgi_se_der *d = &f->der[i - 1];
      int product = d->code == MG_OP_MATMUL || d->code == MG_OP_CONCAT_MATMUL;
      loaded[v] |= (uint8_t)((d->code == MG_OP_LOAD) | product << 2 |
                             (d->code == MG_OP_SQR || (d->code == MG_OP_MUL && d->in[0] == d->in[1])) << 3);
      for (int j = 0; j < d->n_in && product; j++) loaded[d->in[j]] |= 2;
      if (mg_op_moves(d->code)) loaded[v] |= 16, loaded[d->in[0]] |= 2;
    }
  mgi_se_walk_marks(f, loaded);
  for (uint32_t v = 0; v < f->n_val; v++) {
    const mgi_se_val *t = &f->val[v];
    double el = mgi_se_walk_elements(w, v), trips = t->scope & 1 ? (double)w->ref[mgi_se_loop_axis(t->scope)] : 1,
           least = 1e300;
    for (uint32_t i = t->der; i; i = f->der[i - 1].next) {
      const mgi_se_der *d = &f->der[i - 1];
      double alu = 0, flops = 0, sh = 0, c = 0;
      if (d->code == MG_OP_LOAD) {
        const mg_tensor_info *u = mg_tensor_of(s->p, s->p->in[d->arg]);
        int inner = t->rank ? u->order[t->rank - 1] : 0;
        int64_t run = t->rank ? mgi_se_cut(t->cls[inner] < 0 ? 1 : s->real[t->cls[inner]], t->mask[inner], w->ref) : 1;
        c = el * mg_dtype_bytes(u->dtype) * trips * mg_load_waste(run, t->rank, mg_dtype_bytes(u->dtype)) * r->mem;
      } else if (d->code == MG_OP_MATMUL || d->code == MG_OP_CONCAT_MATMUL) {
        const mgi_se_val *a = &f->val[d->in[0]];
        int64_t m = mgi_se_cut(t->cls[t->rank - 2] < 0 ? 1 : s->real[t->cls[t->rank - 2]], t->mask[t->rank - 2],
                               w->ref);
        int64_t n = mgi_se_cut(t->cls[t->rank - 1] < 0 ? 1 : s->real[t->cls[t->rank - 1]], t->mask[t->rank - 1],
                               w->ref);
        int64_t k = mg_round_up(mgi_se_cut(s->real[a->cls[a->rank - 1]], a->mask[a->rank - 1], w->ref), 16);
        double batch = el / (double)(m * n), both = d->code == MG_OP_MATMUL ? 1 : 2;
        m = mg_round_up(m, 16), n = mg_round_up(n, 8);
        flops = 2.0 * (double)(m * n * k) * batch * trips * both;
        for (int j = 0; j < 2; j++) {
          double el2 = (double)(j ? k * n * r->warps_m : m * k * r->warps_n) * batch * trips * both;
          const uint32_t from = d->in[d->code == MG_OP_MATMUL ? j : 2 * j];
          /* from before the loop: computed once */
          int plain = (loaded[from] & 17) || ((t->scope & 1) && !(f->val[from].scope & 1));
          const int once = plain || !(f->val[from].scope & 1) || loaded[from] & 32; /* it may be: mg_flat_once */
          const int made = (loaded[from] & 68) != 0;
          sh += el2 * 2 * (once || (made && j) ? 1 : 2);
          if (plain || made) continue;
          alu += once ? 2 * mgi_se_walk_elements(w, from) * trips : el2 * (j ? 6 : 2);
        }
      } else if (d->code == MG_OP_ACCUM) {
        if (!(loaded[d->in[0]] & 4) && d->map[0] >= 4) alu += el * 2 * (double)w->ref[d->map[0]];
      } else if (!mg_op_moves(d->code) && (!(loaded[v] & 2) || !mg_op_row((mg_opcode)d->code)->elementwise)) {
        const double in = mgi_se_walk_elements(w, d->in[0]);
        /* tensor cores may take it */
        if (d->code == MG_OP_SQR || (d->code == MG_OP_MUL && d->in[0] == d->in[1]) ||
            (d->code == MG_OP_SUM && (loaded[d->in[0]] & 8)))
          alu += 0;
        else alu += (el > in ? el : in) * (d->code == MG_OP_DIV ? 2 : mg_cost_slots(mg_op_cost(d->code))) * trips;
      }
      c += r->comp * (mg_products_us(w->gpu, flops, 0) + mg_slots_us(w->gpu, alu) + mg_shared_us(w->gpu, sh));
      w->der_cost[i - 1] = c;
      if (c < least) least = c;
    }
    w->least_cost[v] = least;
  }
  free(loaded);
}

MGI_FN mg_graph *mgi_se_kernel_graph(const mgi_se_seg *s, const mg_graph *like, const mgi_se_structure *t,
                                     const int64_t *ext, const int64_t *count, const int64_t *count2,
                                     const mg_machine *gpu, mg_error *e);

/* Hands t to the caller, every axis at the smallest divisor of what it cuts. */
MGI_FN void mgi_se_structure_show(const mgi_se_walk *w, const mgi_se_structure *t) {
  const mgi_se_seg *s = w->f->s;
  int64_t count[MGI_SE_AXES];
  mg_error e;
  for (int a = 0; a < MGI_SE_AXES; a++) {
    int c = a ? mgi_se_structure_class(t, a) : -1;
    count[a] = 1;
    if (c < 0 || s->real[c] < 2) continue;
    for (count[a] = 2; s->real[c] % count[a]; count[a]++) {}
  }
  mg_graph *g = mgi_se_kernel_graph(s, s->p, t, s->real, count, NULL, NULL, &e);
  pthread_mutex_lock(w->show);
  if (g) w->f->cfg->structure(w->f->cfg->user, g);
  pthread_mutex_unlock(w->show);
  mg_graph_free(g);
}

/* What breaks ties, in us: a thousandth for each constant that the program p does not have. */
MGI_FN int mgi_se_foreign(const mg_graph *p, int code, mg_rational c) {
  int own = mg_op_row((mg_opcode)code)->attr != MG_ATTR_RAT;
  for (uint32_t i = 1; i < p->n_ops && !own; i++)
    own = (int)p->ops[i].code == code && p->ops[i].attr.c.num == c.num && p->ops[i].attr.c.den == c.den;
  return !own;
}
MGI_FN double mgi_se_structure_foreign(const mg_graph *p, const mgi_se_structure *t) {
  double foreign = 0;
  for (int k = 0; k < t->n; k++) if (mgi_se_foreign(p, t->op[k].code, t->op[k].c)) foreign += 0.001;
  return foreign;
}

MGI_FN void mgi_se_structure_done(mgi_se_walk *w) {
  mgi_se_structure s;
  uint8_t mark[MGI_SE_SOPS] = { 0 };
  int16_t pos[MGI_SE_SOPS];
  memset(&s, 0, sizeof s);
  for (int k = 0; k < w->n_out; k++)
    if (!mgi_se_order(w, w->slot[w->out[k]] - 1, mark, pos, &s)) return;
  for (int k = 0; k < w->n_out; k++) s.out[k] = pos[w->slot[w->out[k]] - 1];
  memcpy(s.omap, w->omap, sizeof s.omap);
  s.n_out = w->n_out, s.n_grid = w->f->n_grid, s.group = w->f->group;
  memcpy(s.loop, w->f->loop, sizeof s.loop);
  memcpy(s.gcls, w->f->gcls, sizeof s.gcls);
  s.foreign = mgi_se_structure_foreign(w->f->s->p, &s);
  uint64_t skeleton;
  s.work = mgi_se_structure_work(&s, &skeleton);
  if (w->first_only) {
    mg_rates r;
    mgi_se_tune(w->f->s, &s, w->gpu, 1, 1, 1e300);
    if (!s.n_tiles) mgi_se_tune(w->f->s, &s, w->gpu, 0, 1, 1e300); /* small extents: no coarse tile may fit */
    if (!s.n_tiles) return;
    mgi_se_form_of(w->f->s, &s, &w->model);
    mgi_se_form_size(&w->model, s.count[0]);
    mg_flat_us(&w->model.k, w->gpu, &r);
    memcpy(w->ref, s.count[0], sizeof w->ref);
    w->ref[0] = 1, w->full = 1;
    if (w->f->cfg->bound) mgi_se_walk_costs(w, &r);
    return;
  }
  w->made++;
  if (w->f->cfg->structure) mgi_se_structure_show(w, &s);
  s.us = mgi_se_coarse_us(w, &s, skeleton);
  if (w->n_best == MGI_SE_KEEP && s.us > w->best[MGI_SE_KEEP - 1].us * (1 + 1e-9)) return;
  s.hash = mgi_se_structure_hash(&s);
  if (w->n_best == MGI_SE_KEEP && !mgi_se_structure_before(&s, &w->best[MGI_SE_KEEP - 1])) return;
  int alike = 0, last = -1;
  for (int k = 0; k < w->n_best; k++) {
    if (w->best[k].hash == s.hash) return;
    if (w->best[k].work == s.work) alike++, last = k;
  }
  if (alike == MGI_SE_ALIKE) {
    if (!mgi_se_structure_before(&s, &w->best[last])) return;
    memmove(&w->best[last], &w->best[last + 1], (size_t)(--w->n_best - last) * sizeof s);
  }
  int at = w->n_best < MGI_SE_KEEP ? w->n_best++ : MGI_SE_KEEP - 1;
  for (; at > 0 && mgi_se_structure_before(&s, &w->best[at - 1]); at--) w->best[at] = w->best[at - 1];
  w->best[at] = s;
}

/* Where the values of the frame equal an output, each way of cutting it by the grid's axes. */
MGI_FN int mgi_se_walk_exits(mgi_se_walk *w) {
  mgi_se_frame *f = w->f;
  const mg_graph *p = f->s->p;
  for (uint32_t k = 0; k < p->n_out; k++) {
    mg_tensor t = p->out[k];
    int rank = p->tensors[t.id].shape.rank, choices = 1; /* each grid axis takes one of the dimensions, or none */
    int8_t to[4] = { MG_MAP_ALL, MG_MAP_ALL, MG_MAP_ALL, MG_MAP_ALL };
    w->n_exit[k + 1] = w->n_exit[k];
    for (int a = 1; a <= f->n_grid; a++) choices *= a == f->group ? 1 : rank + 1;
    for (int i = 0; i < choices; i++) {
      mgi_se_val v;
      memset(&v, 0, sizeof v);
      v.rank = (int8_t)rank, v.scope = MGI_SE_PRE;
      for (int d = 0; d < rank; d++) v.cls[d] = (int8_t)mgi_se_cls(f->s, t, d);
      int r = i, ok = 1;
      for (int a = 1; a <= f->n_grid; a++) {
        to[a] = MG_MAP_ALL;
        if (a != f->group) to[a] = (int8_t)(r % (rank + 1) - 1), r /= rank + 1;
        if (to[a] < 0) continue; /* MG_MAP_ALL is -1 */
        ok &= mgi_se_cuts_class(f->s, f->gcls[a], v.cls[to[a]]) && !v.mask[to[a]];
        v.mask[to[a]] = (uint8_t)(1 << a), v.dep = (uint8_t)(v.dep | 1 << a);
      }
      if (!ok) continue;
      mgi_se_slice(f, &v, f->s->out[k]);
      if (f->oom) return 0;
      if (f->huge) continue;
      v.fp = mgi_se_fingerprint(f, &v, f->scratch);
      for (uint32_t j = 0; j < f->n_val; j++) {
        const mgi_se_val *q = &f->val[j];
        if ((q->scope & 1) || q->fp != v.fp || q->rank != v.rank || q->dep != v.dep ||
            memcmp(q->cls, v.cls, sizeof v.cls) ||
            /* dep: the cut axes, which a value depends on, and no others */
            memcmp(q->mask, v.mask, sizeof v.mask))
          continue;
        mgi_se_exit *x = (mgi_se_exit *)mgi_se_grow(w->exit, &w->cap_exit, w->n_exit[k + 1] + 1, sizeof *x);
        if (!x) return 0;
        w->exit = x, x += w->n_exit[k + 1]++;
        x->val = j;
        memcpy(x->omap, to, sizeof to);
      }
    }
  }
  return 1;
}

/* Signs.  x, -x and (-1)(-1)x are values of three classes, and each of what is made of x may be there as often.  Let
   to(v) be the one that stands for a value v: one of its type whose elements are sign(v) times v's; mostly v itself.  A
   derivation of v from a, b .. has an image: none, if to(v) is among to(a), to(b) ..; else one of to(v) from these, by
   the same operator, add and sub being alike, with constants of the program if it has such.  Outputs stand for
   themselves, or for each other.  The image of a structure is each to(v) that it has, by the image of the derivation
   that comes first, operands first, of those of what v stands for: a structure for the same outputs with no operator
   more, in number or cost.  So the values with to(v) = v are enough, if all images that are missing are added; a value
   that one cannot be written down for (exp(-x), (-a) + (-b), a constant that the program does not have) stands for
   itself.  (tests/test_norms.c compares with a search without this.)  */
/* rank: 0 outputs, 1 what the program has, 2 others */
typedef struct mgi_se_twin { uint64_t key; uint32_t v; int rank; } mgi_se_twin;
MGI_FN int mgi_se_twin_cmp(const void *a, const void *b) {
  const mgi_se_twin *x = (const mgi_se_twin *)a, *y = (const mgi_se_twin *)b;
  return x->key != y->key     ? x->key < y->key ? -1 : 1
         : x->rank != y->rank ? x->rank - y->rank
                              : (x->v > y->v) - (x->v < y->v);
}

typedef struct mgi_se_signs {
  uint32_t *to;  /* by value */
  int8_t *sign;  /* by value: 1 or -1 */
  uint8_t *need; /* by value: 1: an output needs it */
} mgi_se_signs;

/* The image of derivation d of value v to *e; 0: there is none, 1: none is needed or it is d itself, 2: it is e. */
MGI_FN int mgi_se_sign_image(const mgi_se_frame *f, const mgi_se_signs *g, uint32_t v, const mgi_se_der *d,
                             mgi_se_der *e) {
  const uint32_t q = g->to[v];
  int same = q == v, up = g->sign[v], linear = 0;
  *e = *d, e->next = 0;
  for (int j = 0; j < d->n_in; j++) {
    if (g->to[d->in[j]] == q) return 1;
    same &= g->to[d->in[j]] == d->in[j];
    e->in[j] = g->to[d->in[j]], linear |= g->sign[d->in[j]] < 0;
  }
  if (same) return 1;
  if (d->code == MG_OP_ADD || d->code == MG_OP_SUB) {
    int a = up * g->sign[d->in[0]], b = up * g->sign[d->in[1]] * (d->code == MG_OP_SUB ? -1 : 1);
    if (a < 0 && b < 0) return 0;
    e->code = (int16_t)(a > 0 && b > 0 ? MG_OP_ADD : MG_OP_SUB);
    if (a < 0 || (a > 0 && b > 0 && e->in[0] > e->in[1])) { uint32_t x = e->in[0]; e->in[0] = e->in[1], e->in[1] = x; }
    return 2;
  }
  if (d->code == MG_OP_NEG || d->code == MG_OP_SCALE) {
    mg_rational c = d->code == MG_OP_NEG ? mg_rat(-1, 1) : d->c;
    if (up * g->sign[d->in[0]] < 0) c.num = -c.num;
    if (c.den == 1 && (c.num == 1 || c.num == -1)) return 0; /* a twin that stands for itself: there would be a cycle */
    e->code = MG_OP_SCALE, e->c = c;
    return mgi_se_foreign(f->s->p, e->code, e->c) > mgi_se_foreign(f->s->p, d->code, d->c) ? 0 : 2;
  }
  int s = up; /* of the image's elements */
  for (int j = 0; j < d->n_in && d->code != MG_OP_SQR; j++) s *= g->sign[d->in[j]];
  if (d->code == MG_OP_MUL && e->in[0] == e->in[1]) e->code = MG_OP_SQR, e->n_in = 1;
  if (d->code == MG_OP_MUL || d->code == MG_OP_DIV || d->code == MG_OP_MATMUL || d->code == MG_OP_SQR ||
      d->code == MG_OP_SUM || (mg_op_moves(d->code) && d->n_in == 1) ||
      (d->code == MG_OP_ACCUM && d->arg != MG_MAP_MAX))
    return s > 0 ? 2 : 0; /* signs go out */
  if (d->code == MG_OP_ADD_SCALAR && linear && up < 0) { e->c.num = -e->c.num; return 2; }
  return linear || up < 0 ? 0 : 2;
}

/* Whether d is among the derivations of v. */
MGI_FN int mgi_se_sign_has(const mgi_se_frame *f, uint32_t v, const mgi_se_der *d) {
  for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
    const mgi_se_der *x = &f->der[i - 1];
    int same = x->code == d->code && x->n_in == d->n_in && x->arg == d->arg && !memcmp(x->map, d->map, sizeof x->map) &&
               x->c.num == d->c.num && x->c.den == d->c.den;
    int swap = same && d->n_in == 2 && (d->code == MG_OP_ADD || d->code == MG_OP_MUL) && x->in[0] == d->in[1] &&
               x->in[1] == d->in[0];
    for (int j = 0; j < d->n_in && same && !swap; j++) same = x->in[j] == d->in[j];
    if (same) return 1;
  }
  return 0;
}

/* Whether a value below the exits is made of itself; room for a number and a mark a value, the marks 0. */
MGI_FN int mgi_se_walk_cyclic(const mgi_se_walk *w, uint32_t *stack, uint32_t *next, uint8_t *mark) {
  const mgi_se_frame *f = w->f;
  for (uint32_t x = 0, top; x < w->n_exit[f->s->p->n_out]; x++)
    for (top = 0, stack[0] = w->exit[x].val; top != ~(uint32_t)0;) {
      const uint32_t v = stack[top];
      if (!mark[v]) mark[v] = 1, next[v] = f->val[v].der;
      if (!next[v]) mark[v] = 2;
      if (mark[v] == 2) { top--; continue; }
      const mgi_se_der *d = &f->der[next[v] - 1];
      int j = 0;
      while (j < d->n_in && mark[d->in[j]] == 2) j++;
      if (j == d->n_in) next[v] = d->next;
      else if (mark[d->in[j]]) return 1;
      else stack[++top] = d->in[j];
    }
  return 0;
}

/* Leaves the values that stand for themselves.  All is as it was where memory is out, or where a value would be made of
   itself: sums that cancel have twins of fewer operators, x + y - y. */
MGI_FN void mgi_se_walk_signs(mgi_se_walk *w) {
  mgi_se_frame *f = w->f;
  const uint32_t n = f->n_val, n_out = f->s->p->n_out;
  mgi_se_twin *t = (mgi_se_twin *)malloc(((size_t)n + 1) * sizeof *t);
  uint32_t *stack = (uint32_t *)malloc(((size_t)n + 1) * sizeof *stack), top = 0, k = 0;
  mgi_se_signs g = { (uint32_t *)malloc(((size_t)n + 1) * sizeof *g.to), (int8_t *)calloc((size_t)n + 1, 1),
                     (uint8_t *)calloc((size_t)n + 1, 1) };
  int ok = t && stack && g.to && g.sign && g.need;
  for (uint32_t x = 0; ok && x < w->n_exit[n_out]; x++)
    if (!g.need[w->exit[x].val]) g.need[stack[top++] = w->exit[x].val] = 1;
  while (ok && top) { /* by type and {x, -x} */
    const uint32_t v = stack[--top];
    mgi_se_val neg = f->val[v];
    const mgi_se_val *in[2] = { &f->val[v], NULL };
    for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next)
      for (int j = 0; j < f->der[i - 1].n_in; j++)
        if (!g.need[f->der[i - 1].in[j]]) g.need[stack[top++] = f->der[i - 1].in[j]] = 1;
    t[k].v = v, t[k].rank = 2;
    for (uint32_t x = 1; x < f->s->p->n_tensors; x++) if (f->s->ecls[x] == neg.ecls) t[k].rank = 1;
    for (uint32_t x = 0; x < w->n_exit[n_out]; x++) if (w->exit[x].val == v) t[k].rank = 0;
    mgi_se_eval_map(f, &neg, MG_OP_NEG, mg_rat(0, 1), 1, in);
    if (f->oom) { ok = 0; break; }
    neg.ecls = 0, t[k].key = mgi_se_val_hash(&neg);
    neg.fp = mgi_se_fingerprint(f, &neg, f->scratch), t[k++].key += mgi_se_val_hash(&neg);
  }
  if (ok) qsort(t, k, sizeof *t, mgi_se_twin_cmp);
  for (uint32_t i = 0, next; ok && i < k; i = next) { /* g.to: the next of a ring of twins, for now */
    for (next = i + 1; next < k && t[next].key == t[i].key; next++) g.to[t[next - 1].v] = t[next].v;
    g.to[t[next - 1].v] = t[i].v;
  }
  for (uint32_t v = 0; ok && v < n; v++) { /* signs, so that products and sums of what is positive are */
    int up = g.need[v] && !g.sign[v];
    if (!up) continue;
    for (uint32_t u = v, first = 1; first || (u != v && up == 1); u = g.to[u], first = 0)
      for (uint32_t i = f->val[u].der; i && up == 1; i = f->der[i - 1].next) {
        const mgi_se_der *d = &f->der[i - 1];
        int s = d->code == MG_OP_NEG || (d->code == MG_OP_SCALE && d->c.num < 0) ? -1 : 1;
        for (int j = 0; j < d->n_in; j++) s *= g.sign[d->in[j]];
        if (s && (d->n_in == 1 || d->code == MG_OP_MUL || d->code == MG_OP_DIV || d->code == MG_OP_MATMUL))
          up = 2 * s * (f->val[u].fp == f->val[v].fp ? 1 : -1);
      }
    up = up < 0 ? -1 : 1;
    for (uint32_t u = v, first = 1; first || u != v; u = g.to[u], first = 0)
      g.sign[u] = (int8_t)(f->val[u].fp == f->val[v].fp ? up : -up);
  }
  for (uint32_t i = 0, next; ok && i < k; i = next) { /* who stands for all: an output, or one that is positive */
    uint32_t q = t[i].v;
    for (next = i + 1; next < k && t[next].key == t[i].key; next++)
      if (t[i].rank && g.sign[q] < 0 && g.sign[t[next].v] > 0) q = t[next].v;
    const int up = g.sign[q];
    int loaded = 0; /* an output that is an input: no kernel for that is left if nothing is between them */
    for (uint32_t j = i; j < next && !t[i].rank; j++)
      for (uint32_t d = f->val[t[j].v].der; d; d = f->der[d - 1].next) loaded |= f->der[d - 1].code == MG_OP_LOAD;
    for (uint32_t j = i; j < next; j++) {
      const uint32_t v = t[j].v;
      const int own = loaded || (!t[j].rank && g.sign[v] != up);
      g.to[v] = own ? v : q, g.sign[v] = (int8_t)(own ? 1 : g.sign[v] * up);
    }
  }
  for (int again = ok; again;) {
    again = 0;
    for (uint32_t i = 0; i < k; i++)
      for (uint32_t v = t[i].v, j = f->val[v].der; j; j = f->der[j - 1].next) {
        const mgi_se_der *d = &f->der[j - 1];
        mgi_se_der e;
        if (mgi_se_sign_image(f, &g, v, d, &e)) continue;
        again = 1;
        if (g.to[v] != v) { g.to[v] = v, g.sign[v] = 1; continue; }
        for (int x = 0; x < d->n_in; x++) g.to[d->in[x]] = d->in[x], g.sign[d->in[x]] = 1;
      }
  }
  const uint32_t n_der = f->n_der;
  uint32_t *was = ok ? (uint32_t *)malloc(((size_t)n + n_der + 1) * sizeof *was) : NULL;
  ok = ok && was;
  for (uint32_t v = 0; ok && v < n; v++) was[v] = f->val[v].der;
  for (uint32_t i = 0; ok && i < n_der; i++) was[n + i] = f->der[i].next;
  for (uint32_t i = 0; ok && i < k; i++) /* the images */
    for (uint32_t v = t[i].v, j = f->val[v].der; j; j = f->der[j - 1].next) {
      mgi_se_der e;
      if (mgi_se_sign_image(f, &g, v, &f->der[j - 1], &e) != 2 || mgi_se_sign_has(f, g.to[v], &e)) continue;
      mgi_se_der *dp = (mgi_se_der *)mgi_se_grow(f->der, &f->cap_der, f->n_der + 1, sizeof *dp);
      if (!dp) { f->oom = 1; ok = 0; break; }
      f->der = dp, f->der[f->n_der] = e;
      e.next = 0;
      uint32_t *link = &f->val[g.to[v]].der;
      while (*link) link = &f->der[*link - 1].next;
      *link = ++f->n_der;
    }
  for (uint32_t i = 0; ok && i < k; i++) /* the others go */
    for (uint32_t *link = &f->val[t[i].v].der; *link;) {
      const mgi_se_der *d = &f->der[*link - 1];
      int gone = g.to[t[i].v] != t[i].v;
      for (int x = 0; x < d->n_in; x++) gone |= g.to[d->in[x]] != d->in[x];
      if (gone) *link = d->next;
      else link = &f->der[*link - 1].next;
    }
  if (ok) memset(g.need, 0, n);
  if (was && (!ok || mgi_se_walk_cyclic(w, stack, g.to, g.need))) {
    for (uint32_t v = 0; v < n; v++) f->val[v].der = was[v];
    for (uint32_t i = 0; i < n_der; i++) f->der[i].next = was[n + i];
    f->n_der = n_der;
  }
  free(t), free(stack), free(g.to), free(g.sign), free(g.need), free(was);
}

/* Orders each value's derivations by the work of the whole tree below, at small sizes: a guess, for the order only. */
MGI_FN int mgi_se_walk_order(mgi_se_walk *w) {
  mgi_se_frame *f = w->f;
  double *best = (double *)malloc((f->n_val + 1) * sizeof *best),
         *cost = (double *)malloc((f->n_der + 1) * sizeof *cost);
  w->slot = (int16_t *)calloc(f->n_val + 1, sizeof *w->slot), w->least = (uint8_t *)calloc(f->n_val + 1, 1),
  w->over = (uint8_t *)calloc(f->n_val + 1, 1);
  w->order = (uint32_t *)malloc((f->n_der + 1) * sizeof *w->order),
  w->first = (uint32_t *)malloc((f->n_val + 1) * sizeof *w->first);
  w->best = (mgi_se_structure *)malloc(MGI_SE_KEEP * sizeof *w->best);
  w->der_cost = (double *)calloc(f->n_der + 1, sizeof *w->der_cost),
  w->least_cost = (double *)calloc(f->n_val + 1, sizeof *w->least_cost);
  w->cutoff = 1e300;
  int ok = best && cost && w->slot && w->least && w->over && w->order && w->first && w->best && w->der_cost &&
           w->least_cost;
  for (uint32_t v = 0; ok && v < f->n_val; v++) best[v] = 1e300;
  for (int again = 1; ok && again;) {
    again = 0;
    for (uint32_t v = 0; v < f->n_val; v++)
      for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
        const mgi_se_der *d = &f->der[i - 1];
        double c = (double)mgi_se_val_elems(f, &f->val[v]) * (double)mgi_se_trips(f, f->val[v].scope);
        if (d->n_in) {
          double in = (double)mgi_se_val_elems(f, &f->val[d->in[0]]) * (double)mgi_se_trips(f, f->val[d->in[0]].scope);
          if (d->code == MG_OP_MATMUL || d->code == MG_OP_CONCAT_MATMUL)
            c *= (double)mgi_se_chunk(f, &f->val[d->in[0]], f->val[d->in[0]].rank - 1);
          else if (in > c) c = in;
          c += 1;
        }
        int over = d->code == MG_OP_ACCUM ? 1 << d->map[0] : 0;
        for (int j = 0; j < d->n_in; j++) c += best[d->in[j]], over |= w->over[d->in[j]];
        cost[i - 1] = c;
        if (c < best[v]) best[v] = c, again = 1;
        if (over & ~w->over[v]) w->over[v] = (uint8_t)(w->over[v] | over), again = 1;
      }
  }
  uint32_t n = 0;
  w->all = (f->loop[0] >= 0) << 4 | (f->loop[1] >= 0) << 5 | (f->group ? 1 << f->group : 0);
  for (uint32_t v = 0; ok && v < f->n_val; v++) {
    w->first[v] = n;
    w->least[v] = 1;
    for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
      uint32_t at = n++;
      for (; at > w->first[v] && cost[w->order[at - 1]] > cost[i - 1]; at--) w->order[at] = w->order[at - 1];
      w->order[at] = i - 1;
      if (!mgi_se_counted(f->der[i - 1].code)) w->least[v] = 0;
    }
  }
  if (ok) w->first[f->n_val] = n;
  free(best), free(cost);
  return ok;
}

/* For each value those that it cannot do without, itself included: the greatest solution of
   must(v) = {v} + what the must of each derivation's operands, united, have in common. */
MGI_FN int mgi_se_walk_must(mgi_se_walk *w) {
  const mgi_se_frame *f = w->f;
  uint32_t n = f->n_val, words = n / 64 + 1;
  uint64_t *set = (uint64_t *)malloc((size_t)(n + 2) * words * sizeof *set), *one = set + (size_t)n * words,
           *all = one + words;
  w->stride = MGI_SE_SOPS + 2;
  w->must = (uint16_t *)calloc((size_t)(n + 1) * (size_t)w->stride, sizeof *w->must),
  w->refs = (uint16_t *)calloc(n + 1, sizeof *w->refs), w->mark = (uint32_t *)calloc(n + 1, sizeof *w->mark);
  if (!set || !w->must || !w->refs || !w->mark || n > 65535) { free(set); return 0; }
  memset(set, 0xFF, (size_t)n * words * sizeof *set);
  for (int again = 1; again;) {
    again = 0;
    for (uint32_t v = 0; v < n; v++) {
      memset(all, 0xFF, words * sizeof *all);
      for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
        const mgi_se_der *d = &f->der[i - 1];
        memset(one, 0, words * sizeof *one);
        for (int j = 0; j < d->n_in; j++)
          for (uint32_t q = 0; q < words; q++) one[q] |= set[(size_t)d->in[j] * words + q];
        for (uint32_t q = 0; q < words; q++) all[q] &= one[q];
      }
      all[v / 64] |= 1ull << v % 64;
      if (memcmp(all, set + (size_t)v * words, words * sizeof *all))
        memcpy(set + (size_t)v * words, all, words * sizeof *all), again = 1;
    }
  }
  for (uint32_t v = 0; v < n; v++) {
    uint16_t *m = w->must + (size_t)v * (size_t)w->stride;
    for (uint32_t u = 0; u < n && *m < w->stride; u++) {
      if (!set[(size_t)v * words + u / 64]) { u |= 63; continue; }
      if (!(set[(size_t)v * words + u / 64] >> u % 64 & 1)) continue;
      if (*m + 1 == w->stride) { *m = (uint16_t)w->stride; break; }
      m[++*m] = (uint16_t)u;
    }
  }
  free(set);
  return 1;
}

/* Puts value v on the list; 0 if there is no room. */
MGI_FN int mgi_se_walk_need(mgi_se_walk *w, uint32_t v) {
  if (w->slot[v]) return 1;
  const uint16_t *m = w->must + (size_t)v * (size_t)w->stride;
  if (w->n_need == MGI_SE_SOPS || *m == w->stride) { w->f->cut = 1; return 0; }
  for (int k = 1; k <= *m; k++) if (!w->refs[m[k]]++) w->bound += w->least[m[k]], w->cost_now += w->least_cost[m[k]];
  w->above[w->n_need] = 0;
  w->need[w->n_need++] = v;
  w->slot[v] = (int16_t)w->n_need;
  return 1;
}
MGI_FN void mgi_se_walk_drop(mgi_se_walk *w, int n_need) {
  while (w->n_need > n_need) {
    uint32_t v = w->need[--w->n_need];
    const uint16_t *m = w->must + (size_t)v * (size_t)w->stride;
    for (int k = 1; k <= *m; k++) if (!--w->refs[m[k]]) w->bound -= w->least[m[k]], w->cost_now -= w->least_cost[m[k]];
    w->slot[v] = 0;
  }
}

MGI_FN void mgi_se_walk_swap(mgi_se_walk *w, int a, int b) {
  uint32_t v = w->need[a];
  w->need[a] = w->need[b], w->need[b] = v;
  uint64_t above = w->above[a];
  w->above[a] = w->above[b], w->above[b] = above;
  w->slot[w->need[a]] = (int16_t)(a + 1), w->slot[w->need[b]] = (int16_t)(b + 1);
}

/* How many derivations of need[j] the limits let, by what each needs that is not needed yet; not counted past
   `most`. */
MGI_FN int mgi_se_walk_choices(mgi_se_walk *w, int j, int most) {
  const mgi_se_frame *f = w->f;
  uint32_t v = w->need[j];
  int n = 0;
  for (uint32_t i = w->first[v]; i < w->first[v + 1] && n < most; i++) {
    const mgi_se_der *d = &f->der[w->order[i]];
    int counted = w->bound + w->extra + (mgi_se_counted(d->code) && !w->least[v]), fits = 1;
    double cost = w->cost_now + w->der_cost[w->order[i]] - w->least_cost[v];
    w->seen++;
    for (int x = 0; x < d->n_in && fits; x++) {
      uint32_t u = d->in[x];
      if (w->slot[u]) { fits = u != v && !(w->above[j] >> (w->slot[u] - 1) & 1); continue; } /* no cycles */
      const uint16_t *m = w->must + (size_t)u * (size_t)w->stride;
      fits = *m < w->stride;
      if (!fits) w->f->cut = 1; /* no room */
      for (int q = 1; q <= *m && fits; q++) {
        if (w->refs[m[q]] || w->mark[m[q]] == w->seen) continue;
        w->mark[m[q]] = w->seen, counted += w->least[m[q]], cost += w->least_cost[m[q]];
        fits = counted <= f->cfg->max_block_ops && cost <= w->cutoff;
      }
    }
    n += fits && counted <= f->cfg->max_block_ops && cost <= w->cutoff;
  }
  return n;
}

/* Without bounds (cfg.bound = 0), and where a value may be made of itself: transposed twice.
   Chooses for need[k] and all after it; of these the one goes first of which the limits let the fewest derivations; if
   none, back.  over: the axes that the accumulators chosen run over; one that none does is the business of a frame
   without it. */
MGI_FN void mgi_se_walk_from(mgi_se_walk *w, int k, int over) {
  mgi_se_frame *f = w->f;
  if (w->made >= f->cfg->max_structures || w->steps >= f->cfg->max_steps) {
    f->cut = w->full = w->ended = 1, f->spent |= f->few_steps;
    return;
  }
  if (!(++w->steps & 1023) && mgi_se_frame_over(f)) { w->full = w->ended = 1; return; }
  if (k == w->n_need) { if (over == w->all) mgi_se_structure_done(w); return; }
  int may = over;
  for (int j = k; j < w->n_need; j++) may |= w->over[w->need[j]];
  if (may != w->all) return;
  int was = w->n_need, next = k, least = 1 << 30;
  for (int j = k; j < was && least; j++) {
    int n = mgi_se_walk_choices(w, j, least);
    if (n < least) least = n, next = j;
  }
  if (!least) return;
  mgi_se_walk_swap(w, k, next);
  uint32_t v = w->need[k];
  for (uint32_t i = w->first[v]; i < w->first[v + 1] && !w->full; i++) {
    const mgi_se_der *d = &f->der[w->order[i]];
    int c = mgi_se_counted(d->code) && !w->least[v], fits = 1, n_in = 0;
    uint64_t above[4];
    w->choice[k] = w->order[i];
    for (; n_in < d->n_in && (fits = mgi_se_walk_need(w, d->in[n_in])); n_in++)
      above[n_in] = w->above[w->slot[d->in[n_in]] - 1], w->above[w->slot[d->in[n_in]] - 1] |= w->above[k] | 1ull << k;
    double more = w->der_cost[w->order[i]] - w->least_cost[v];
    w->extra += c, w->cost_now += more;
    if (!fits || w->bound + w->extra > f->cfg->max_block_ops) f->st.pruned_limit++;
    else if (w->cost_now > w->cutoff) f->st.pruned_bound++;
    else mgi_se_walk_from(w, k + 1, d->code == MG_OP_ACCUM ? over | 1 << d->map[0] : over);
    w->extra -= c, w->cost_now -= more;
    while (n_in-- > 0) w->above[w->slot[d->in[n_in]] - 1] = above[n_in];
    mgi_se_walk_drop(w, was);
  }
  mgi_se_walk_swap(w, k, next);
}

/* -------------------------------------------------------------------------------------------------- >>bounds

   What the structures that a walk is after cost at least, and the walk that these bounds guide.
   Where no value is made of itself, values have an order, operands first, and the walk makes of the values still open
   the last one first: it is never needed again after that, so that what is still to be paid depends on the set of open
   values alone.  Let D(v) be all that any derivation under v makes, v included.  Bounds, of counted operators and of
     costs alike:  chain        a structure for the open values a, b, c .. has under a only operators that make
                  something of D(a): at least h(a).  What it has for b outside of D(a) is other operators: at least h(b
                  | D(a)), the least for b if all of D(a) were there.  So h({a, b, c}) >= h(a) + h(b | D(a)) + h(c |
                  D(a), D(b)), in any order.
     h(v)         the least over the derivations of v of their own operator and the chain of the operands, both ways.
     h(b | F)     the costliest path below b that leaves out what is in F, in the cheapest choice of derivations: cheap.
   For the programs at hand h(outputs) is what the best structure costs, and few sets of open values that pass their
   bound lead nowhere.  What operators alone rule out (mgi_se_bound_trim) is gone before costs are known.  (Helmert and
   Domshlak's landmarks of delete-free planning are the model: the parts of a chain are such.)  */

typedef struct mgi_se_bder {
  uint32_t der, in[4]; /* places of the operands */
  uint8_t n_in, counted, foreign;
  int ops;             /* at least so many operators has a structure for the value by this derivation */
  double us;
  /* what the model can tell of it, before it is known who uses the value, and a part of that; see mgi_se_bound_kinds */
  uint64_t kind, some;
} mgi_se_bder;

/* What the paths of mgi_se_bound_given see of a derivation, and of a place: they are walked more than anything else. */
typedef struct mgi_se_bleast { double us, ops; } mgi_se_bleast;
/* in: an operand that stands alone twice; MGI_SE_MANY: see der */
typedef struct mgi_se_bstep { mgi_se_bleast own; uint32_t in[2]; } mgi_se_bstep;
enum { MGI_SE_MANY = -1 };

/* see mgi_se_bound_been */
typedef struct mgi_se_bseen { uint64_t key; double us; uint16_t n, ops, need; } mgi_se_bseen;
enum { MGI_SE_SEEN = 1 << 21 };

/* a derivation, and what a structure with it still costs */
typedef struct mgi_se_bcand { double us; uint32_t der; } mgi_se_bcand;

typedef struct mgi_se_bound {
  uint32_t n;                /* values below the outputs */
  uint32_t *val, *at;        /* by place; by value: its place + 1, or 0 */
  uint32_t *first;           /* derivations of place p, cheapest first: der[first[p]] .. der[first[p + 1] - 1] */
  uint32_t *root, n_root;    /* places of outputs */
  mgi_se_bder *der;
  mgi_se_bstep *step;        /* by derivation */
  mgi_se_bleast *least;      /* by place: of the pass in hand, 0 between passes */
  uint32_t none;             /* a place of no value, the operand of loads: its least stays 0 */
  uint64_t *below, *have;    /* D of each place, as bits, the row of place p up to it; a set in hand */
  uint8_t *over;             /* by place: the axes that accumulators in D may run over */
  int *ops, *own_ops;        /* by place: h; the least of its derivations' own operators */
  double *us, *own_us;
  mgi_se_bcand *cand;        /* of all steps of the walk in hand */
  uint32_t n_cand, cap_cand;
  uint8_t *fed;              /* by place, of what is chosen: 1 a product takes it, 2 an accumulator, 4 and 8 the group's
                                of maxima and of sums, 16 one operator, 32 several */
  mgi_se_bseen *seen;        /* open addressing, at most MGI_SE_SEEN slots */
  uint32_t n_seen, cap_seen;
} mgi_se_bound;

MGI_FN size_t mgi_se_bound_row(uint32_t p) {
  return 32 * (size_t)(p / 64) * (p / 64 + 1) + (size_t)(p % 64) * (p / 64 + 1);
}
MGI_FN int mgi_se_bound_in(const uint64_t *set, uint32_t p) { return (int)(set[p / 64] >> (p % 64) & 1); }

MGI_FN void mgi_se_bound_free(mgi_se_bound *B) {
  if (!B) return;
  free(B->val), free(B->at), free(B->root), free(B->first), free(B->der), free(B->step), free(B->least), free(B->below),
      free(B->have), free(B->over), free(B->ops), free(B->own_ops), free(B->us), free(B->own_us), free(B->cand),
      free(B->fed), free(B->seen);
  free(B);
}

/* D of each place. */
MGI_FN void mgi_se_bound_rows(mgi_se_bound *B) {
  memset(B->below, 0, (mgi_se_bound_row(B->n) + B->n / 64 + 1) * sizeof *B->below);
  for (uint32_t p = 0; p < B->n; p++) {
    uint64_t *row = B->below + mgi_se_bound_row(p);
    row[p / 64] |= (uint64_t)1 << (p % 64);
    for (const mgi_se_bder *b = &B->der[B->first[p]], *end = &B->der[B->first[p + 1]]; b < end; b++)
      for (int j = 0; j < b->n_in; j++) {
        const uint64_t *under = B->below + mgi_se_bound_row(b->in[j]);
        for (uint32_t q = 0; q <= b->in[j] / 64; q++) row[q] |= under[q];
      }
  }
}

/* The axes that cut an exit, as bits; the group axis cuts none, and all know it. */
MGI_FN int mgi_se_exit_cuts(const mgi_se_frame *f, const mgi_se_exit *x) {
  int cut = f->group ? 1 << f->group : 0;
  for (int a = 1; a <= f->n_grid; a++) if (x->omap[a] >= 0) cut |= 1 << a;
  return cut;
}

/* The values below the outputs in an order, operands first, with their derivations and D.  NULL, and *cyclic where that
   is why, if there is none, or no memory. */
MGI_FN mgi_se_bound *mgi_se_bound_new(const mgi_se_walk *w, int *cyclic) {
  const mgi_se_frame *f = w->f;
  mgi_se_bound *B = (mgi_se_bound *)calloc(1, sizeof *B);
  uint32_t *stack = (uint32_t *)malloc(((size_t)f->n_val + 1) * sizeof *stack),
           *next = (uint32_t *)malloc(((size_t)f->n_val + 1) * sizeof *next), n_der = 0;
  *cyclic = 0;
  if (B)
    B->val = (uint32_t *)malloc(((size_t)f->n_val + 1) * sizeof *B->val),
    B->at = (uint32_t *)calloc((size_t)f->n_val + 1, sizeof *B->at),
    B->root = (uint32_t *)malloc(((size_t)w->n_exit[f->s->p->n_out] + 1) * sizeof *B->root);
  int ok = B && stack && next && B->val && B->at && B->root;
  int cuts[MG_MAX_OUT] = { 0 }, n_out = (int)f->s->p->n_out, of = 0; /* the axes that each output's exits may cut */
  for (int o = 0; o < n_out; o++)
    for (uint32_t x = w->n_exit[o]; x < w->n_exit[o + 1]; x++) cuts[o] |= mgi_se_exit_cuts(f, &w->exit[x]);
  /* depth first; at: ~0 while a value is on the stack */
  for (uint32_t x = 0; ok && !*cyclic && x < w->n_exit[n_out]; x++) {
    uint32_t top = 0;
    while (x >= w->n_exit[of + 1]) of++;
    int all = mgi_se_exit_cuts(f, &w->exit[x]);
    for (int o = 0; o < n_out; o++) if (o != of) all |= cuts[o];
    if (all != (2 << f->n_grid) - 2) continue; /* an axis would cut no output */
    B->root[B->n_root++] = w->exit[x].val; /* its place later */
    if (B->at[w->exit[x].val]) continue;
    stack[0] = w->exit[x].val, next[0] = f->val[stack[0]].der, B->at[stack[0]] = ~(uint32_t)0;
    for (uint32_t j = 0; top != ~(uint32_t)0 && !*cyclic;) {
      if (!next[top]) { B->val[B->n++] = stack[top], B->at[stack[top]] = B->n, top--, j = 0; continue; }
      const mgi_se_der *d = &f->der[next[top] - 1];
      while (j < (uint32_t)d->n_in && B->at[d->in[j]] && B->at[d->in[j]] != ~(uint32_t)0) j++;
      if (j == (uint32_t)d->n_in) { next[top] = d->next, n_der++, j = 0; continue; }
      if (B->at[d->in[j]]) { *cyclic = 1; break; }
      uint32_t u = d->in[j];
      stack[++top] = u, next[top] = f->val[u].der, B->at[u] = ~(uint32_t)0, j = 0;
    }
  }
  free(stack), free(next);
  if (ok && !*cyclic) {
    uint32_t n = B->n, k = 0; /* k: derivations */
    for (uint32_t x = 0; x < B->n_root; x++) B->root[x] = B->at[B->root[x]] - 1;
    B->first = (uint32_t *)malloc(((size_t)n + 1) * sizeof *B->first),
    B->der = (mgi_se_bder *)malloc(((size_t)n_der + 1) * sizeof *B->der);
    B->below = (uint64_t *)calloc(mgi_se_bound_row(n) + n / 64 + 1, sizeof *B->below),
    B->have = (uint64_t *)calloc(n / 64 + 1, sizeof *B->have);
    B->over = (uint8_t *)calloc((size_t)n + 1, 1), B->fed = (uint8_t *)calloc((size_t)n + 1, 1);
    B->step = (mgi_se_bstep *)malloc(((size_t)n_der + 1) * sizeof *B->step),
    B->least = (mgi_se_bleast *)calloc((size_t)n + 1, sizeof *B->least), B->none = n;
    B->ops = (int *)calloc((size_t)n + 1, sizeof *B->ops),
    B->own_ops = (int *)calloc((size_t)n + 1, sizeof *B->own_ops);
    B->us = (double *)calloc((size_t)n + 1, sizeof *B->us),
    B->own_us = (double *)calloc((size_t)n + 1, sizeof *B->own_us);
    ok = B->first && B->der && B->step && B->least && B->below && B->have && B->over && B->fed && B->ops &&
         B->own_ops && B->us && B->own_us;
    for (uint32_t p = 0; ok && p < n; p++) {
      uint32_t v = B->val[p];
      B->first[p] = k, B->over[p] = w->over[v];
      for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) {
        const mgi_se_der *d = &f->der[w->order[i]];
        mgi_se_bder *b = &B->der[k++];
        b->der = w->order[i], b->n_in = 0, b->counted = (uint8_t)mgi_se_counted(d->code), b->us = 0;
        for (int j = 0; j < d->n_in; j++) {
          uint32_t u = B->at[d->in[j]] - 1;
          int same = 0;
          for (int q = 0; q < b->n_in; q++) same |= b->in[q] == u;
          if (same) continue;
          b->in[b->n_in++] = u;
        }
      }
    }
    if (ok) B->first[n] = k, mgi_se_bound_rows(B);
  }
  if (!ok || *cyclic) { mgi_se_bound_free(B); return NULL; }
  return B;
}

/* The steps of the derivations from k to before `to`. */
MGI_FN void mgi_se_bound_steps(mgi_se_bound *B, uint32_t k, uint32_t to) {
  for (; k < to; k++) {
    const mgi_se_bder *b = &B->der[k];
    mgi_se_bstep *x = &B->step[k];
    x->own.us = b->us, x->own.ops = b->counted;
    x->in[0] = b->n_in ? b->in[0] : B->none, x->in[1] = b->n_in > 2   ? (uint32_t)MGI_SE_MANY
                                                        : b->n_in > 1 ? b->in[1]
                                                                      : x->in[0];
  }
}

/* h(p | have), of both. */
MGI_FN void mgi_se_bound_given(mgi_se_bound *B, uint32_t p, const uint64_t *have, int *ops, double *us) {
  const uint64_t *row = B->below + mgi_se_bound_row(p);
  *ops = 1 << 20, *us = 1e300;
  for (const mgi_se_bder *b = &B->der[B->first[p]], *end = &B->der[B->first[p + 1]]; b < end; b++) {
    int all = 1;
    for (int j = 0; j < b->n_in && all; j++) all = mgi_se_bound_in(have, b->in[j]);
    if (all && b->counted < *ops) *ops = b->counted;
    if (all && b->us < *us) *us = b->us;
  }
  if (*ops <= B->own_ops[p] && *us <= B->own_us[p]) return; /* there is one operator missing, and no less would do */
  mgi_se_bleast *t = B->least; /* what is there costs 0, and what is not is an operand after it has been looked at */
  for (uint32_t x = 0; x <= p / 64; x++)
    for (uint64_t m = row[x] & ~have[x]; m; m &= m - 1) {
      uint32_t q = x * 64 + mgi_se_lowest(m);
      mgi_se_bleast least = { 1e300, 1 << 20 };
      for (const mgi_se_bstep *b = &B->step[B->first[q]], *end = &B->step[B->first[q + 1]]; b < end; b++) {
        mgi_se_bleast c;
        if (b->in[1] != (uint32_t)MGI_SE_MANY) {
          const mgi_se_bleast y = t[b->in[0]], z = t[b->in[1]];
          c.us = y.us > z.us ? y.us : z.us, c.ops = y.ops > z.ops ? y.ops : z.ops;
        } else {
          const mgi_se_bder *d = &B->der[b - B->step];
          c.us = c.ops = 0;
          for (int k = 0; k < d->n_in; k++) {
            if (t[d->in[k]].us > c.us) c.us = t[d->in[k]].us;
            if (t[d->in[k]].ops > c.ops) c.ops = t[d->in[k]].ops;
          }
        }
        c.us += b->own.us, c.ops += b->own.ops;
        if (c.us < least.us) least.us = c.us;
        if (c.ops < least.ops) least.ops = c.ops;
      }
      t[q] = least;
    }
  *ops = (int)t[p].ops, *us = t[p].us;
  for (uint32_t x = 0; x <= p / 64; x++)
    for (uint64_t m = row[x] & ~have[x]; m; m &= m - 1)
      t[x * 64 + mgi_se_lowest(m)].us = 0, t[x * 64 + mgi_se_lowest(m)].ops = 0;
}

/* As mgi_se_bound_chain, but of each place that is not below s[first] its own operator only. */
MGI_FN void mgi_se_bound_quick(const mgi_se_bound *B, const uint32_t *s, int n, int first, int *ops, double *us) {
  uint32_t lead = s[first];
  const uint64_t *under = B->below + mgi_se_bound_row(lead);
  *ops = B->ops[lead], *us = B->us[lead];
  for (int i = 0; i < n; i++)
    if (s[i] > lead || !mgi_se_bound_in(under, s[i])) *ops += B->own_ops[s[i]], *us += B->own_us[s[i]];
}

/* The bounds of n open places, by the chain that begins with s[first]; 0 as soon as it passes what is allowed. */
MGI_FN int mgi_se_bound_chain(mgi_se_bound *B, const uint32_t *s, int n, int first, int max_ops, double max_us,
                              int *ops, double *us) {
  uint32_t top = 0, lead = s[first];
  mgi_se_bound_quick(B, s, n, first, ops, us);
  if (*ops > max_ops || *us > max_us) return 0;
  *ops = B->ops[lead], *us = B->us[lead];
  for (int i = 0; i < n; i++) if (s[i] > top) top = s[i];
  memset(B->have, 0, ((size_t)top / 64 + 1) * sizeof *B->have);
  for (int i = -1; i < n; i++) {
    uint32_t p = i < 0 ? lead : s[i];
    if (i >= 0) {
      int o;
      double c;
      if (mgi_se_bound_in(B->have, p)) continue;
      mgi_se_bound_given(B, p, B->have, &o, &c);
      *ops += o, *us += c;
      if (*ops > max_ops || *us > max_us) return 0;
    }
    const uint64_t *row = B->below + mgi_se_bound_row(p);
    for (uint32_t x = 0; i + 1 < n && x <= p / 64; x++) B->have[x] |= row[x];
  }
  return 1;
}

/* Fills in h for what the walk's derivations cost now, quick: by own operators instead of chains; 0 if the time is
   over. */
MGI_FN int mgi_se_bound_fill(mgi_se_bound *B, const mgi_se_walk *w, int quick) {
  for (uint32_t p = 0; p < B->n; p++) {
    int least = 1 << 20;
    double us = 1e300;
    B->own_ops[p] = 1, B->own_us[p] = us;
    for (uint32_t k = B->first[p]; k < B->first[p + 1]; k++) {
      mgi_se_bder *b = &B->der[k];
      b->us = w->der_cost[b->der];
      if (b->counted < B->own_ops[p]) B->own_ops[p] = b->counted;
      if (b->us < B->own_us[p]) B->own_us[p] = b->us;
    }
    mgi_se_bound_steps(B, B->first[p], B->first[p + 1]);
    if (!(p & 63) && mgi_se_frame_over(w->f)) return 0;
    for (uint32_t k = B->first[p]; k < B->first[p + 1]; k++) {
      mgi_se_bder *b = &B->der[k];
      int ops = 0, o;
      double cost = 0, c;
      for (int j = 0; j < b->n_in; j++) { /* most are no better than the best yet by this alone */
        mgi_se_bound_quick(B, b->in, b->n_in, j, &o, &c);
        if (o > ops) ops = o;
        if (c > cost) cost = c;
      }
      for (int j = 0; j < b->n_in && b->n_in > 1 && !quick && (ops + b->counted < least || cost + b->us < us); j++) {
        mgi_se_bound_chain(B, b->in, b->n_in, j, 1 << 20, 1e300, &o, &c);
        if (o > ops) ops = o;
        if (c > cost) cost = c;
      }
      b->ops = ops + b->counted;
      if (b->ops < least) least = b->ops;
      if (cost + b->us < us) us = cost + b->us;
    }
    B->ops[p] = least, B->us[p] = us;
  }
  return 1;
}

/* Takes out what no structure of `most` counted operators has.  above: of what is not in D(p) a structure with p makes
   at least so many values by counted operators: those above p, each with its operands that are not in D(p). */
MGI_FN void mgi_se_bound_trim(mgi_se_bound *B, int most) {
  uint32_t n = 0, k = 0, root = 0;
  /* place: the new one, or -1 */
  int *above = (int *)malloc(2 * ((size_t)B->n + 1) * sizeof *above), *place = above + B->n + 1;
  if (!above) return; /* it does without */
  for (uint32_t p = 0; p < B->n; p++) above[p] = 1 << 20;
  for (uint32_t x = 0; x < B->n_root; x++) above[B->root[x]] = 0;
  for (uint32_t p = B->n; p-- > 0;) {
    if (above[p] + B->ops[p] > most) { above[p] = 1 << 20; continue; }
    for (const mgi_se_bder *b = &B->der[B->first[p]], *end = &B->der[B->first[p + 1]]; b < end; b++)
      for (int j = 0; j < b->n_in && above[p] + b->ops <= most; j++) {
        const uint64_t *under = B->below + mgi_se_bound_row(b->in[j]);
        int a = above[p] + b->counted;
        for (int i = 0; i < b->n_in; i++)
          if (b->in[i] > b->in[j] || !mgi_se_bound_in(under, b->in[i])) a += B->own_ops[b->in[i]];
        if (a < above[b->in[j]]) above[b->in[j]] = a;
      }
  }
  for (uint32_t p = 0; p < B->n; p++) {
    uint32_t from = B->first[p], to = B->first[p + 1];
    place[p] = -1;
    B->at[B->val[p]] = 0;
    if (above[p] + B->ops[p] > most) continue;
    uint32_t was = k;
    for (uint32_t i = from; i < to; i++) {
      mgi_se_bder b = B->der[i];
      int fits = above[p] + b.ops <= most;
      for (int j = 0; j < b.n_in && fits; j++) fits = place[b.in[j]] >= 0;
      for (int j = 0; j < b.n_in && fits; j++) b.in[j] = (uint32_t)place[b.in[j]];
      if (fits) B->der[k++] = b;
    }
    if (k == was) continue; /* nothing makes it any more */
    B->val[n] = B->val[p], B->over[n] = B->over[p], B->ops[n] = B->ops[p], B->us[n] = B->us[p],
    B->own_ops[n] = B->own_ops[p], B->own_us[n] = B->own_us[p], B->first[n] = was;
    place[p] = (int)n++;
    B->at[B->val[n - 1]] = n;
  }
  for (uint32_t x = 0; x < B->n_root; x++) if (place[B->root[x]] >= 0) B->root[root++] = (uint32_t)place[B->root[x]];
  B->n_root = root, B->n = n, B->first[n] = k;
  mgi_se_bound_rows(B);
  mgi_se_bound_steps(B, 0, k);
  free(above);
}

/* What mgi_se_structure_work sees of each derivation, but for who uses its value.  It looks at whether an operand is a
   load, a product, or made of one: where a value's derivations differ in that, they, and who reads it, are told apart
   by name.  `some` leaves that out: where it differs the model does see a difference. */
MGI_FN int mgi_se_bound_kinds(mgi_se_bound *B, const mgi_se_walk *w) {
  /* MADE: of a product, MAY: some derivations; EITHER: by code */
  enum { LOAD = 1, PRODUCT = 2, MADE = 4, MAY = 8, EITHER = 16 };
  const mgi_se_frame *f = w->f;
  uint8_t *is = (uint8_t *)calloc((size_t)B->n + 1, 1);
  if (!is) { w->f->oom = 1; return 0; }
  for (uint32_t p = 0; p < B->n; p++) {
    const mgi_se_val *v = &f->val[B->val[p]];
    for (uint32_t k = B->first[p]; k < B->first[p + 1]; k++) {
      mgi_se_bder *b = &B->der[k];
      const mgi_se_der *d = &f->der[b->der];
      int elementwise = d->code < MG_OP_TABLE_END && mg_op_row((mg_opcode)d->code)->elementwise,
          reads = elementwise || mg_op_moves(d->code) ? 1 : d->n_in;
      int bits = (d->code == MG_OP_LOAD ? LOAD : 0) | (d->code == MG_OP_MATMUL ? PRODUCT : 0), may = 0,
          made = d->code == MG_OP_MATMUL || d->code == MG_OP_CONCAT_MATMUL;
      uint64_t h = mgi_se_mix(elementwise ? 1000 + (uint64_t)mg_cost_slots(mg_op_cost(d->code)) : (uint64_t)d->code,
                              (uint64_t)v->scope << 16 | (uint64_t)(d->code == MG_OP_LOAD ? d->arg + 1 : 0)),
               named;
      if (d->code == MG_OP_ACCUM) h = mgi_se_mix(h, (uint64_t)(uint8_t)d->map[0] << 8 | (uint64_t)(uint8_t)d->arg);
      for (int i = 0; i < v->rank; i++) h = mgi_se_mix(h, (uint64_t)(v->cls[i] + 1) << 8 | (uint64_t)v->mask[i]);
      named = (uint64_t)b->counted;
      for (int j = 0; j < d->n_in; j++) {
        const mgi_se_val *x = &f->val[d->in[j]];
        uint32_t q = B->at[d->in[j]] - 1;
        if (is[q] & MAY) may = 1;
        else if (is[q] & MADE) made = 1;
        if (j >= reads) continue;
        if (is[q] & (MAY | EITHER)) named = mgi_se_mix(named, q);
        h = mgi_se_mix(h, is[q] & (MAY | EITHER) ? (uint64_t)EITHER : (uint64_t)is[q] | (uint64_t)(x->scope & 1) << 7);
        for (int i = 0; i < x->rank; i++) h = mgi_se_mix(h, (uint64_t)(x->cls[i] + 1) << 8 | (uint64_t)x->mask[i]);
      }
      bits |= made ? MADE : may ? MAY : 0;
      if (k == B->first[p]) is[p] = (uint8_t)bits;
      if ((is[p] ^ bits) & (LOAD | PRODUCT)) is[p] |= EITHER;
      if ((is[p] ^ bits) & (MADE | MAY)) is[p] |= MAY;
      b->some = h, b->kind = mgi_se_mix(h, named), b->foreign = (uint8_t)mgi_se_foreign(f->s->p, d->code, d->c);
    }
    for (uint32_t k = B->first[p]; k < B->first[p + 1] && (is[p] & (MAY | EITHER)); k++)
      B->der[k].kind = mgi_se_mix(B->der[k].kind, (uint64_t)k + 1);
  }
  free(is);
  return 1;
}

/* Bounds for what derivations cost now; 0 if the time is over. */
MGI_FN int mgi_se_bound_ready(mgi_se_walk *w) {
  int most = w->f->cfg->max_block_ops;
  /* what operators alone rule out goes before costs are known */
  for (int quick = !w->ref[0]; quick >= 0 && !w->filled; quick--) {
    if (!mgi_se_bound_fill(w->guide, w, quick)) return 0;
    if (!w->ref[0]) mgi_se_bound_trim(w->guide, most);
  }
  w->filled = 1;
  return w->first_only || mgi_se_bound_kinds(w->guide, w);
}

/* Room for n more entries; 0 if there is no memory.  A full table begins anew: what it forgets is walked again. */
MGI_FN int mgi_se_bound_room(mgi_se_bound *B, uint32_t n) {
  if ((B->n_seen + n) * 2 <= B->cap_seen) return 1;
  if (B->cap_seen == MGI_SE_SEEN) {
    memset(B->seen, 0, B->cap_seen * sizeof *B->seen), B->n_seen = 0;
    return 1;
  }
  uint32_t cap = B->cap_seen ? B->cap_seen * 2 : 1024;
  mgi_se_bseen *m = (mgi_se_bseen *)calloc(cap, sizeof *m);
  if (!m) return 0;
  for (uint32_t k = 0; k < B->cap_seen; k++) {
    uint32_t h = (uint32_t)(B->seen[k].key >> 7) & (cap - 1);
    if (!B->seen[k].key) continue;
    while (m[h].key) h = (h + 1) & (cap - 1);
    m[h] = B->seen[k];
  }
  free(B->seen), B->seen = m, B->cap_seen = cap;
  return 1;
}
/* The entry of a key, made where there is none; there is room. */
MGI_FN mgi_se_bseen *mgi_se_bound_seen(mgi_se_bound *B, uint64_t key) {
  key |= !key;
  uint32_t h = (uint32_t)(key >> 7) & (B->cap_seen - 1);
  while (B->seen[h].key && B->seen[h].key != key) h = (h + 1) & (B->cap_seen - 1);
  if (!B->seen[h].key) B->n_seen++, B->seen[h].key = key;
  return &B->seen[h];
}

/* 1: there is no use in going on from the open places s, n of them.  What is left to choose depends on them alone, so
     that - if no structure came of them once, none will with no more operators or time to spend: `dead`, which is to be
       noted by the caller if none comes this time;
     - if what the model sees of what is chosen is the same as MGI_SE_ALIKE times before, and it costs no less, all that
       would come are structures that the model cannot tell from those that came then;
     - if MGI_SE_WORKS choices of as many operators that the model does tell apart have led here, none at a higher cost,
       then whatever comes has so many before it that it is behind the cutoff. */
MGI_FN int mgi_se_bound_been(mgi_se_walk *w, mgi_se_bound *B, const uint32_t *s, int n, int over, uint64_t *dead) {
  uint64_t h = mgi_se_mix(w->start, (uint64_t)over);
  if (!mgi_se_bound_room(B, 5)) return 0; /* it does without */
  for (int i = 0; i < n; i++) h = mgi_se_mix(h, s[i]);
  const mgi_se_bseen *d = mgi_se_bound_seen(B, *dead = h);
  if (d->n && w->cutoff - w->cost_now <= d->us && w->f->cfg->max_block_ops - w->extra <= d->ops &&
      w->n_need >= d->need) {
    w->f->st.pruned_bound++;
    return 1;
  }
  if (w->first_only) return 0;
  for (int i = 0; i < n; i++) h = mgi_se_mix(h, B->fed[s[i]]);
  h = mgi_se_mix(h, (uint64_t)w->extra << 8 | (uint64_t)w->n_need);
  mgi_se_bseen *same = mgi_se_bound_seen(B, mgi_se_mix(h, w->key)),
               *some = mgi_se_bound_seen(B, mgi_se_mix(h + 1, w->some)), *all = mgi_se_bound_seen(B, h);
  int behind = same->n ? same->n >= MGI_SE_ALIKE && w->cost_now >= same->us * (1 - 1e-12)
                       : all->n >= MGI_SE_WORKS && w->cost_now >= all->us * (1 + 1e-9);
  if (behind) { w->reached++, w->f->st.pruned_bound++; return 1; }
  if (!some->n && all->n < MGI_SE_WORKS && (!all->n++ || w->cost_now > all->us)) all->us = w->cost_now;
  some->n = 1;
  if (!same->n || w->cost_now < same->us) same->us = w->cost_now;
  if (same->n < MGI_SE_ALIKE) same->n++;
  return 0;
}

/* The open places s, n of them and the last one first, with derivation b chosen for s[0], to t; how many, or -1 if too
   many. */
MGI_FN int mgi_se_bound_open(const uint32_t *s, int n, const mgi_se_bder *b, int most, uint32_t *t) {
  int m = n - 1;
  memcpy(t, s + 1, (size_t)m * sizeof *t);
  for (int j = 0; j < b->n_in; j++) {
    int at = 0;
    while (at < m && t[at] > b->in[j]) at++;
    if (at < m && t[at] == b->in[j]) continue;
    if (m == most) return -1;
    memmove(&t[at + 1], &t[at], (size_t)(m++ - at) * sizeof *t);
    t[at] = b->in[j];
  }
  return m;
}

/* Every structure of what is chosen and of the open places s, n of them and the last one first, that the limits and the
   cutoff let; the cheapest first.  over: the axes that the accumulators chosen run over; one that none does is the
   business of a frame without it. */
MGI_FN void mgi_se_bound_from(mgi_se_walk *w, mgi_se_bound *B, const uint32_t *s, int n, int over) {
  mgi_se_frame *f = w->f;
  if (w->made >= f->cfg->max_structures || w->steps >= f->cfg->max_steps) {
    f->cut = w->full = w->ended = 1, f->spent |= f->few_steps;
    return;
  }
  if (!(++w->steps & 15) && mgi_se_frame_over(f)) { w->full = w->ended = 1; return; }
  if (!n) { if (over == w->all) w->reached++, mgi_se_structure_done(w); return; }
  uint64_t dead = 0, key = w->key, some = w->some;
  int64_t reached = w->reached;
  double left_us = w->cutoff - w->cost_now;
  if (w->start && mgi_se_bound_been(w, B, s, n, over, &dead)) return;
  uint32_t from = B->n_cand, v = B->val[s[0]], t[MGI_SE_SOPS];
  for (uint32_t k = B->first[s[0]]; k < B->first[s[0] + 1]; k++) {
    const mgi_se_bder *b = &B->der[k];
    const mgi_se_der *d = &f->der[b->der];
    int m = mgi_se_bound_open(s, n, b, MGI_SE_SOPS - w->n_need - 1, t),
        may = d->code == MG_OP_ACCUM ? over | 1 << d->map[0] : over,
        left = f->cfg->max_block_ops - w->extra - b->counted, ops = 0, best[2] = { 0, 0 }, o;
    double us = 0, c;
    /* more than a structure has room for is no stated limit */
    if (m < 0 || left < 0) { f->st.pruned_limit++, f->cut |= left >= 0; continue; }
    for (int j = 0; j < m; j++) {
      may |= B->over[t[j]];
      if (B->us[t[j]] > B->us[t[best[0]]]) best[0] = j;
      if (B->ops[t[j]] > B->ops[t[best[1]]]) best[1] = j;
    }
    if (may != w->all) continue;
    int fits = !m || B->ops[t[best[1]]] <= left;
    for (int j = 0; j < 2 && m && fits; j++) { /* two chains: from the costliest, from that of the most operators */
      if (j && best[1] == best[0]) continue;
      fits = mgi_se_bound_chain(B, t, m, best[j], left, w->cutoff - w->cost_now - b->us, &o, &c);
      if (o > ops) ops = o;
      if (c > us) us = c;
    }
    if (!fits || w->cost_now + b->us + us > w->cutoff) {
      if (ops > left) f->st.pruned_limit++;
      else f->st.pruned_bound++;
      continue;
    }
    mgi_se_bcand *q = (mgi_se_bcand *)mgi_se_grow(B->cand, &B->cap_cand, B->n_cand + 1, sizeof *q);
    if (!q) { f->oom = w->full = 1; break; }
    B->cand = q;
    uint32_t at = B->n_cand++;
    for (; at > from && q[at - 1].us > b->us + us; at--) q[at] = q[at - 1];
    q[at].us = b->us + us, q[at].der = k;
  }
  uint32_t to = B->n_cand;
  w->need[w->n_need++] = v, w->slot[v] = (int16_t)w->n_need;
  for (uint32_t k = from; k < to && !w->full; k++) {
    const mgi_se_bder *b = &B->der[B->cand[k].der];
    const mgi_se_der *d = &f->der[b->der];
    if (w->cost_now + B->cand[k].us > w->cutoff) { f->st.pruned_bound += to - k; break; }
    int m = mgi_se_bound_open(s, n, b, MGI_SE_SOPS, t);
    double was = w->cost_now;
    w->choice[w->n_need - 1] = b->der, w->extra += b->counted, w->cost_now = was + b->us;
    uint8_t fed[4];
    int use = d->code == MG_OP_MATMUL || d->code == MG_OP_CONCAT_MATMUL ? 1
              : d->code != MG_OP_ACCUM                                  ? 0
              : d->map[0] >= 4                                          ? 2
              : d->arg == MG_MAP_MAX                                    ? 2 | 4
                                                                        : 2 | 8;
    w->key = key + mgi_se_mix(b->kind, B->fed[s[0]]) + ((uint64_t)b->foreign << 40),
    w->some = some + mgi_se_mix(b->some, B->fed[s[0]] & 3);
    for (int j = 0; j < b->n_in; j++)
      fed[j] = B->fed[b->in[j]], B->fed[b->in[j]] = (uint8_t)(fed[j] | use | (fed[j] & 16 ? 32 : 16));
    mgi_se_bound_from(w, B, t, m, d->code == MG_OP_ACCUM ? over | 1 << d->map[0] : over);
    for (int j = 0; j < b->n_in; j++) B->fed[b->in[j]] = fed[j];
    w->extra -= b->counted, w->cost_now = was;
  }
  w->slot[v] = 0, w->n_need--, B->n_cand = from, w->key = key, w->some = some;
  if (!dead || w->full || w->reached != reached) return;
  if (!mgi_se_bound_room(B, 1)) return;
  mgi_se_bseen *e = mgi_se_bound_seen(B, dead);
  e->n = 1, e->us = left_us, e->ops = (uint16_t)(f->cfg->max_block_ops - w->extra), e->need = (uint16_t)w->n_need;
}

/* The structures of each combination of the exits of outputs k and after. */
MGI_FN void mgi_se_outputs(mgi_se_walk *w, int k) {
  mgi_se_frame *f = w->f;
  if (k < (int)f->s->p->n_out) {
    for (uint32_t x = w->n_exit[k]; x < w->n_exit[k + 1]; x++) {
      w->out[k] = w->exit[x].val;
      memcpy(w->omap[k], w->exit[x].omap, sizeof w->omap[k]);
      w->cut[k] = mgi_se_exit_cuts(f, &w->exit[x]);
      mgi_se_outputs(w, k + 1);
    }
    return;
  }
  int fits = 1, cut = 0, last = 0;
  for (int j = 0; j < k; j++) cut |= w->cut[j];
  for (int j = 0; j < k; j++) if (f->val[w->out[j]].scope > last) last = f->val[w->out[j]].scope;
  if (cut != (2 << f->n_grid) - 2) return; /* an axis that cuts no output, or */
  /* lends it nothing: the frame without it */
  if (last < (f->group ? MGI_SE_GROUP : f->loop[1] >= 0 ? MGI_SE_POST2 : f->loop[0] >= 0 ? MGI_SE_POST : MGI_SE_PRE))
    return;
  mg_search_stats st;
  int shown = 0; /* 1: the second pass is for the hook alone, and counts nothing */
  for (int first = !w->ref[0]; first >= 0; first--) { /* first: up to one structure, whose best tile is the reference */
    w->n_need = w->bound = w->extra = 0, w->n_out = k, w->cost_now = 0, w->first_only = first;
    if (w->guide) {
      uint32_t s[MG_MAX_OUT];
      int n = 0;
      if (!mgi_se_bound_ready(w)) { w->full = w->ended = 1; return; }
      for (int j = 0; j < k; j++) if (!w->guide->at[w->out[j]]) return; /* too many operators */
      for (int j = 0; j < k; j++) {
        uint32_t p = w->guide->at[w->out[j]] - 1;
        int at = 0;
        while (at < n && s[at] > p) at++;
        if (at < n && s[at] == p) continue;
        memmove(&s[at + 1], &s[at], (size_t)(n++ - at) * sizeof *s);
        s[at] = p;
      }
      w->start = w->key = w->some = 0;
      if (f->cfg->bound && !f->cfg->structure) { /* otherwise all are asked for */
        w->start = first ? 0xF125 : 0x5EED;
        for (int j = 0; j < k; j++) w->start = mgi_se_mix(w->start, w->out[j]) ^ (uint64_t)(uint32_t)w->cut[j];
        memset(w->guide->fed, 0, w->guide->n);
        for (int j = 0; j < n; j++) w->guide->fed[s[j]] = 16;
      }
      mgi_se_bound_from(w, w->guide, s, n, 0);
    } else {
      for (int j = 0; j < k && fits; j++) fits = mgi_se_walk_need(w, w->out[j]);
      if (fits && w->bound <= f->cfg->max_block_ops) mgi_se_walk_from(w, 0, 0);
      else f->st.pruned_limit++;
      mgi_se_walk_drop(w, 0);
    }
    if (first && w->ref[0]) w->filled = 0; /* now there are costs */
    if (first && !w->ref[0]) { /* there is none that has a tile */
      if (!f->cfg->structure) break;
      shown = 1, st = f->st;
    }
    if (first && !w->ended) w->full = 0;
  }
  if (shown) f->st = st;
}

/* ------------------------------------------------------------------------------------------------- >>kernels

   From a structure and counts to a graph-defined operator of a graph under construction.                            */

MGI_FN int mgi_se_keyword(const char *s) {
  static const char *const words[] = { "program", "input", "output", "kernel",  "for",    "load", "store",
                                       "accum",   "plan",  "grid",   "threads", "thread", "max" };
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) if (!strcmp(words[k], s)) return 1;
  return mg_op_find(s, strlen(s)) != MG_OP_NONE;
}

typedef struct mgi_se_builder {
  mg_graph *g, *b;                /* under construction; the kernel's block graph */
  const mgi_se_seg *s;
  const mgi_se_structure *t;
  const int64_t *ext, *count;     /* extents by class; counts by axis */
  const mg_machine *gpu;
  const mg_tensor *in;            /* of g, for the inputs of the segment's program */
  mg_tensor val[MGI_SE_SOPS];
  mg_axis grid[4], loop[2];       /* the axes of the block graph that stand for the structure's 1, 2, 3 */
  int when[MGI_SE_SOPS], used[MG_MAX_IN]; /* when: the scope in which each operator is emitted */
  uint8_t joined[MGI_SE_SOPS];    /* a loop's accumulator that the group's takes along */
} mgi_se_builder;

MGI_FN void mgi_se_builder_init(mgi_se_builder *B, mg_graph *g, const mgi_se_seg *s, const mgi_se_structure *t,
                                const int64_t *ext, const mg_machine *gpu, const mg_tensor *in) {
  memset(B, 0, sizeof *B);
  B->g = g, B->s = s, B->t = t, B->ext = ext, B->gpu = gpu, B->in = in;
  mgi_se_joined(t, B->joined);
  for (int i = t->n; i-- > 0;) { /* what precedes the loops stands where it is first needed */
    B->when[i] = t->op[i].scope;
    if (t->op[i].scope != MGI_SE_PRE) continue;
    B->when[i] = MGI_SE_GROUP;
    for (int k = i + 1; k < t->n; k++)
      for (int j = 0; j < t->op[k].n_in; j++)
        if (t->op[k].in[j] == i && (B->when[k] & ~1) < B->when[i]) B->when[i] = B->when[k] & ~1;
  }
}

/* The block graph.  Axes of one block stand behind the others: what a structure cuts by fewer axes than it has is the
   same graph as another's that has no more. */
MGI_FN int mgi_se_build_begin(mgi_se_builder *B, const int64_t *count) {
  int64_t size[3] = { 1, 1, 1 };
  int place[4], n = 0;
  for (int cut = 1; cut >= 0; cut--)
    for (int x = 1; x <= 3; x++) if ((count[x] > 1) == cut) size[n] = count[x], place[x] = n++;
  B->count = count, B->b = mg_graph_begin(B->g, size, 128);
  for (int x = 1; x <= 3 && B->b; x++) B->grid[x] = mg_grid_axis(B->b, place[x]);
  return B->b != NULL;
}

MGI_FN void mgi_se_build_load(mgi_se_builder *B, int i) {
  const mgi_se_sop *o = &B->t->op[i];
  const mg_graph *p = B->s->p;
  mg_map map = mg_map_none();
  char name[64];
  for (int x = 1; x <= B->t->n_grid; x++) map = mg_map_set(map, B->grid[x], o->map[x]);
  if (o->scope & 1) map = mg_map_set(map, B->loop[o->scope >> 1], o->map[mgi_se_loop_axis(o->scope)]);
  B->val[i] = mg_load(B->b, B->in[o->arg], map);
  const char *n = mg_tensor_of(p, p->in[o->arg])->name;
  size_t len = 0;
  for (; n && n[len] && len < 40; len++) name[len] = n[len] >= 'A' && n[len] <= 'Z' ? (char)(n[len] + 32) : n[len];
  name[len] = 0;
  if (mgi_se_keyword(name)) { name[len++] = '_'; name[len] = 0; }
  for (int k = 0; k < o->arg; k++) { /* inputs that differ in case only */
    const char *m = mg_tensor_of(p, p->in[k])->name;
    size_t q = 0;
    while (m && m[q] && q < len && (m[q] >= 'A' && m[q] <= 'Z' ? m[q] + 32 : m[q]) == name[q]) q++;
    if (m && q == len && !m[q]) len += (size_t)snprintf(name + len, sizeof name - len, "_%d", o->arg);
  }
  if (B->used[o->arg]++) snprintf(name + len, sizeof name - len, "_%d", B->used[o->arg]);
  if (len) mg_named(B->b, B->val[i], name);
}

MGI_FN void mgi_se_build_op(mgi_se_builder *B, int i) {
  const mgi_se_structure *t = B->t;
  const mgi_se_sop *o = &t->op[i];
  mg_tensor a[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
  mg_attr A;
  if (o->code == MG_OP_LOAD) { mgi_se_build_load(B, i); return; }
  memset(&A, 0, sizeof A);
  for (int j = 0; j < o->n_in; j++) a[j] = B->val[o->in[j]];
  A.c = o->c;
  if (o->code == MG_OP_ACCUM) {
    int x = o->map[0];
    B->val[i] = a[0];
    if (B->joined[i]) return;
    mg_map map = mg_map_set(mg_map_none(), x >= 4 ? B->loop[x - 4] : B->grid[x], o->arg);
    if (x < 4 && B->joined[o->in[0]]) map = mg_map_set(map, B->loop[t->op[o->in[0]].map[0] - 4], t->op[o->in[0]].arg);
    B->val[i] = mg_accum(B->b, a[0], map);
    return;
  }
  if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) A.dim = o->arg;
  if (mg_op_moves(o->code)) {
    int64_t e[MG_MAX_RANK] = { 0 };
    for (int d = 0; d < o->rank; d++) e[d] = mgi_se_cut(o->cls[d] < 0 ? 1 : B->ext[o->cls[d]], o->mask[d], B->count);
    A = mgi_se_chunk_attr(&B->s->inst[o->arg], e);
  }
  B->val[i] = mg_apply(B->b, (mg_opcode)o->code, &A, o->n_in, a);
}

/* All operators of the scopes up to `last`, loops around them. */
MGI_FN void mgi_se_build_scopes(mgi_se_builder *B, int last) {
  for (int scope = 0; scope <= last; scope++) {
    int loop = scope & 1 ? scope >> 1 : -1;
    if (scope == 5 || (loop >= 0 && B->t->loop[loop] < 0)) continue;
    if (loop >= 0) B->loop[loop] = mg_loop_begin(B->b, loop ? "j" : "i", B->count[4 + loop]);
    for (int i = 0; i < B->t->n; i++) if (B->when[i] == scope) mgi_se_build_op(B, i);
    if (loop >= 0) mg_loop_end(B->b);
  }
}
MGI_FN int mgi_se_build_stores(mgi_se_builder *B, mg_tensor *out) {
  for (int k = 0; k < B->t->n_out; k++) {
    mg_map map = mg_map_none();
    for (int x = 1; x <= B->t->n_grid; x++) map = mg_map_set(map, B->grid[x], B->t->omap[k][x]);
    mg_store(B->b, B->val[B->t->out[k]], map);
  }
  if (B->gpu) mg_plan_kernel(B->b, B->gpu);
  return mg_graph_end(B->b, out);
}

/* in[k] is the tensor of g that stands for input k of the segment's program; ext the extents by class. */
MGI_FN int mgi_se_build_kernel(mg_graph *g, const mgi_se_seg *s, const mgi_se_structure *t, const int64_t *ext,
                               const int64_t *count, const mg_machine *gpu, const mg_tensor *in, mg_tensor *out) {
  mgi_se_builder B;
  mgi_se_builder_init(&B, g, s, t, ext, gpu, in);
  if (!mgi_se_build_begin(&B, count)) return 0;
  mgi_se_build_scopes(&B, MGI_SE_GROUP);
  return mgi_se_build_stores(&B, out);
}

/* A structure with a group axis as two kernels: the first stores what the group's accumulators would take, the parts of
   the group side by side along a dimension that no other grid axis cuts; the second loops over the parts, accumulates,
   and goes on (FlashDecoding's form, where the structure is an attention).  count2: counts of the second.  0 where the
   second would need more of the first than that. */
MGI_FN int mgi_se_build_split(mg_graph *g, const mgi_se_seg *s, const mgi_se_structure *t, const int64_t *ext,
                              const int64_t *count, const int64_t *count2, const mg_machine *gpu, const mg_tensor *in,
                              mg_tensor *out) {
  int part[MG_MAX_OUT], along[MG_MAX_OUT], n = 0;
  uint8_t early[MGI_SE_SOPS] = { 0 }, late[MGI_SE_SOPS] = { 0 }; /* the first kernel needs it; the second does */
  mg_tensor between[MG_MAX_OUT];
  mgi_se_builder B;
  for (int i = t->n; i-- > 0;) {
    late[i] |= t->op[i].scope == MGI_SE_GROUP;
    for (int j = 0; j < t->op[i].n_in; j++)
      early[t->op[i].in[j]] |= early[i] || (t->op[i].code == MG_OP_ACCUM && t->op[i].map[0] == t->group);
    if (!late[i] || (t->op[i].code == MG_OP_ACCUM && t->op[i].map[0] == t->group)) continue;
    for (int j = 0; j < t->op[i].n_in; j++) late[t->op[i].in[j]] = 1;
    if (t->op[i].scope != MGI_SE_PRE && t->op[i].scope != MGI_SE_GROUP) return 0;
  }
  mgi_se_builder_init(&B, g, s, t, ext, gpu, in);
  for (int i = 0; i < t->n; i++) if (early[i] && B.when[i] == MGI_SE_GROUP) B.when[i] = MGI_SE_POST2;
  if (!mgi_se_build_begin(&B, count)) return 0;
  mgi_se_build_scopes(&B, MGI_SE_POST2);
  for (int i = 0; i < t->n; i++) {
    const mgi_se_sop *o = &t->op[i], *x = &t->op[o->in[0]];
    int seen = 0, free_dim = -1;
    if (o->code != MG_OP_ACCUM || o->map[0] != t->group) continue;
    for (int k = 0; k < n; k++) seen |= part[k] == o->in[0];
    if (seen) continue;
    for (int d = 0; d < x->rank; d++)
      if (!(x->mask[d] & 15) && (free_dim < 0 || x->cls[d] < 0 || x->cls[free_dim] >= 0)) free_dim = d;
    if (free_dim < 0 || n == MG_MAX_OUT) { mg_graph_end(B.b, between); return 0; }
    mg_map map = mg_map_none();
    for (int a = 1; a <= t->n_grid; a++) {
      int to = a == t->group ? free_dim : MG_MAP_ALL;
      for (int d = 0; d < x->rank && a != t->group; d++) if (x->mask[d] >> a & 1) to = d;
      map = mg_map_set(map, B.grid[a], to);
    }
    if (B.joined[o->in[0]])
      B.joined[o->in[0]] = 0,
      B.val[o->in[0]] = mg_accum(B.b, B.val[o->in[0]], mg_map_set(mg_map_none(), B.loop[x->map[0] - 4], x->arg));
    mg_store(B.b, B.val[o->in[0]], map);
    part[n] = o->in[0], along[n++] = free_dim;
  }
  if (gpu) mg_plan_kernel(B.b, gpu);
  if (mg_graph_end(B.b, between) != n) return 0;
  memset(B.used, 0, sizeof B.used), memset(B.val, 0, sizeof B.val);
  if (!mgi_se_build_begin(&B, count2)) return 0;
  mg_axis loop = mg_loop_begin(B.b, "i", count[t->group]);
  mg_tensor piece[MG_MAX_OUT];
  for (int k = 0; k < n; k++) {
    const mgi_se_sop *x = &t->op[part[k]];
    mg_map map = mg_map_set(mg_map_none(), loop, along[k]);
    for (int a = 1; a <= t->n_grid; a++) {
      int to = MG_MAP_ALL;
      for (int d = 0; d < x->rank && a != t->group; d++) if (x->mask[d] >> a & 1) to = d;
      map = mg_map_set(map, B.grid[a], to);
    }
    piece[k] = mg_load(B.b, between[k], map);
  }
  mg_loop_end(B.b);
  for (int i = 0; i < t->n; i++) {
    if (!late[i]) continue;
    if (t->op[i].code == MG_OP_ACCUM && t->op[i].map[0] == t->group) {
      for (int k = 0; k < n; k++)
        if (part[k] == t->op[i].in[0])
          B.val[i] = mg_accum(B.b, piece[k], mg_map_set(mg_map_none(), loop, t->op[i].arg));
    } else mgi_se_build_op(&B, i);
  }
  return mgi_se_build_stores(&B, out);
}

MGI_FN mg_tensor mgi_se_copy_input(mg_graph *g, const mg_graph *p, mg_tensor t) {
  return mg_input_like(g, mg_tensor_of(p, t), NULL);
}

/* A graph with the signature of `like` (the segment's program at some size): one kernel, or with count2 the two of
   mgi_se_build_split.  NULL if it does not check. */
MGI_FN mg_graph *mgi_se_kernel_graph(const mgi_se_seg *s, const mg_graph *like, const mgi_se_structure *t,
                                     const int64_t *ext, const int64_t *count, const int64_t *count2,
                                     const mg_machine *gpu, mg_error *e) {
  mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT];
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(like->name, &c);
  if (!g) { mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for a graph"); return NULL; }
  for (uint32_t k = 0; k < like->n_in; k++) in[k] = mgi_se_copy_input(g, like, like->in[k]);
  int n = count2 ? mgi_se_build_split(g, s, t, ext, count, count2, gpu, in, out)
                 : mgi_se_build_kernel(g, s, t, ext, count, gpu, in, out);
  for (int k = 0; k < n; k++) mg_output(g, mg_named(g, out[k], mg_tensor_of(like, like->out[k])->name));
  if (mg_check(g, e) != MG_OK) { mg_graph_free(g); return NULL; }
  return g;
}

/* ------------------------------------------------------------------------------------------------- >>safety

   Whether a µGraph is as safe as its program in floating point, by a static pass.  Program and µGraph become lists of
   nodes in which MGI_NUM_ROUND stands where a value goes into 16 bits: of a program, every tensor but those that sugar
   makes on its way; of a µGraph, what its kernels store and what their products take (accumulators, row statistics
   and epilogues are f32).
     1. Bounds.  A value is a sum of at most MGI_NUM_TERMS terms 2^c * product of atom^e.  Atoms are inputs, root mean
        squares, exponentials and what else no rule sees through; 2^c is the constant for inputs whose elements are all
        equal, u the upper one.  Facts: |x| <= sqrt(n) rms(x); exp under its row's maximum is at most 1; divided by
        their sum, exponentials sum to 1.  A 16-bit value whose every term is bounded by facts, or is a term of a
        16-bit value of the program (an input is one) up to a small constant, is safe.  An output is the program's.
     2. Witnesses.  Both lists are run over inputs of one value each in f32, with the roundings: where the program as
        written is right and the µGraph is not, with one input far from 1, that is a proof that it is unsafe; so it is
        where several are far (a chain of products taken in another order) and the µGraph is not finite.  Else that is
        said, and not decided.  The two are first compared without roundings, so that a list which does not say what the
        graph says proves nothing.
     3. Precision.  A part of a sum that the program rounds whole, and a sum that it does not round as an operand over
        tf32, may be large and cancel later: not decided.
   What neither settles is not decided.  A difference of two sums of squares that the program does not take is unsafe:
   it cancels.  So is a sum with a multiple of a constant of 2^12 or more that no sum of the program is.             */

enum { MGI_NUM_ATOMS = MG_MAX_IN + 24, MGI_NUM_TERMS = 8, MGI_NUM_POINTS = 1500 };
/* BITS: f16's precision, f32's range */
typedef enum mgi_num_kind { MGI_NUM_INPUT, MGI_NUM_OP, MGI_NUM_SUM, MGI_NUM_ROUND, MGI_NUM_BITS } mgi_num_kind;
enum { MGI_NUM_MEMORY = 2 }; /* of mgi_num_list.bad: there was none */
typedef struct mgi_num_node {
  mgi_num_kind kind;
  mg_opcode code;
  mg_rational c;
  int n_in, in[2];
  double count;              /* SUM: how many are added up */
  mg_dtype half;             /* what type it is known to be exact in; MG_F32: none of 16 bits */
  const char *name;
  mg_tensor tensor;          /* ROUND: of what it rounds */
  /* of which kernel; ROUND: of an output of the program; of device memory, else of a product's operand */
  int kernel, output, inner, stored;
  int safe;                  /* found of a ROUND: it is bounded, or the program's */
  double gain;               /* the constant that its largest term is a multiple of */
} mgi_num_node;
/* bad: no memory, or nothing that it can say */
typedef struct mgi_num_list { int n, cap, bad; mgi_num_node *node; } mgi_num_list;

MGI_FN int mgi_num_put(mgi_num_list *l, mgi_num_kind kind, mg_opcode code, int n_in, int a, int b) {
  if (l->n == l->cap) {
    const int cap = l->cap ? 2 * l->cap : 64;
    mgi_num_node *more = (mgi_num_node *)realloc(l->node, (size_t)cap * sizeof *more);
    if (!more) { l->bad = MGI_NUM_MEMORY; return 0; }
    l->node = more, l->cap = cap;
  }
  mgi_num_node *x = &l->node[l->n];
  memset(x, 0, sizeof *x);
  x->kind = kind, x->code = code, x->n_in = n_in, x->in[0] = a, x->in[1] = b;
  x->half = MG_F32, x->name = "?", x->count = 1;
  return l->n++;
}
MGI_FN int mgi_num_sum(mgi_num_list *l, int a, double count) {
  const int k = mgi_num_put(l, MGI_NUM_SUM, MG_OP_SUM, 1, a, 0);
  if (k < l->n) l->node[k].count = count;
  return k;
}
/* The value as it is once it has gone into `type`. */
MGI_FN int mgi_num_round(mgi_num_list *l, int a, mg_dtype type, const char *name, mg_tensor t, int kernel, int stored) {
  if (type == MG_F32 || l->bad || l->node[a].half == type) return a;
  const int k = mgi_num_put(l, MGI_NUM_ROUND, MG_OP_NONE, 1, a, 0);
  mgi_num_node *x = &l->node[k];
  x->half = type, x->name = name ? name : "?", x->tensor = t, x->kernel = kernel, x->stored = stored;
  return k;
}
/* The value as a product over tf32 takes it. */
MGI_FN int mgi_num_eleven(mgi_num_list *l, int a, mg_dtype type, const char *name, mg_tensor t, int kernel) {
  if (type == MG_F32 || l->bad || l->node[a].half == type) return a;
  const int k = mgi_num_put(l, MGI_NUM_BITS, MG_OP_NONE, 1, a, 0);
  l->node[k].name = name ? name : "?", l->node[k].tensor = t, l->node[k].kernel = kernel;
  return k;
}
MGI_FN int mgi_num_product(mgi_num_list *l, int a, int b, double count) {
  return mgi_num_sum(l, mgi_num_put(l, MGI_NUM_OP, MG_OP_MUL, 2, a, b), count);
}
/* The nodes of what g computes.  above: of the tensors of the graph that loads read; of[t]: of g's tensors; of a lower
   graph's stores the nodes come into stored[].  program: g is the yardstick. */
MGI_FN void mgi_num_graph(mgi_num_list *l, const mg_graph *g, int program, int kernel, const int *above, int *of,
                          int *stored) {
  int n_stored = 0;
  for (uint32_t k = 1; k < g->n_ops && !l->bad; k++) {
    const mg_op_node *o = &g->ops[k];
    const mg_op_info *row = mg_op_row(o->code);
    const mg_tensor t = o->n_out ? o->out[0] : o->in[0];
    const mg_tensor_info *info = mg_tensor_of(g, t);
    int a = 0, b = 0, made = 0;
    if (o->code != MG_OP_LOAD && o->n_in) a = of[o->in[0].id];
    if (o->code != MG_OP_LOAD && o->n_in > 1) b = of[o->in[1].id];
    if (o->code == MG_OP_LOAD) made = above[o->in[0].id];
    else if (o->code == MG_OP_STORE) {
      stored[n_stored++] = a;
      continue;
    } else if (o->code == MG_OP_ACCUM) {
      double count = 1;
      for (uint32_t x = 1; x < g->n_axes; x++)
        if (o->map.to[x] == MG_MAP_SUM) count *= (double)g->axes[x].extent;
      made = count > 1 ? mgi_num_sum(l, a, count) : a;
    } else if (o->code == MG_OP_GRAPH) {
      int out[MG_MAX_OUT] = { 0 };
      int *below = (int *)calloc(o->sub->n_tensors, sizeof *below);
      if (!below) { l->bad = MGI_NUM_MEMORY; return; }
      mgi_num_graph(l, o->sub, program, g->level == MG_KERNEL ? (int)k : kernel, of, below, out);
      free(below);
      for (int j = 0; j < o->n_out && !l->bad; j++) {
        const mg_tensor_info *to = mg_tensor_of(g, o->out[j]);
        const int wide = g->level != MG_KERNEL || mg_wide(g, o->out[j]) || mg_split(g, o->out[j]);
        of[o->out[j].id] = wide ? out[j] : mgi_num_round(l, out[j], to->dtype, to->name, o->out[j], (int)k, 1);
      }
      continue;
    } else if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL) {
      const int pairs = o->n_in / 2;
      for (int j = 0; j < pairs; j++) {
        const mg_tensor_info *p = mg_tensor_of(g, o->in[j]), *q = mg_tensor_of(g, o->in[j + pairs]);
        const mg_dtype type = p->dtype == q->dtype && !mg_wide_product(g, k) ? p->dtype : MG_F32;
        int x = mgi_num_round(l, of[o->in[j].id], program || mg_loads_what(g, o->in[j], mg_split) ? MG_F32 : type,
                              p->name, o->in[j], kernel, 0);
        int y = mgi_num_round(l, of[o->in[j + pairs].id],
                              program || mg_loads_what(g, o->in[j + pairs], mg_split) ? MG_F32 : type, q->name,
                              o->in[j + pairs], kernel, 0);
        if (!program && mg_wide_product(g, k) && p->dtype == q->dtype && !mg_loads_what(g, o->in[j], mg_wide) &&
            !mg_loads_what(g, o->in[j + pairs], mg_wide))
          x = mgi_num_eleven(l, x, p->dtype, p->name, o->in[j], kernel),
          y = mgi_num_eleven(l, y, q->dtype, q->name, o->in[j + pairs], kernel);
        const int one = mgi_num_product(l, x, y, (double)p->shape.dim[p->shape.rank - 1]);
        made = j ? mgi_num_put(l, MGI_NUM_OP, MG_OP_ADD, 2, made, one) : one;
      }
    } else if (o->code == MG_OP_SUM)
      made = mgi_num_sum(l, a, (double)mg_tensor_of(g, o->in[0])->shape.dim[o->attr.dim]);
    else if (o->code == MG_OP_MAX || (row->moves && o->n_in == 1)) made = a;
    else {
      made = mgi_num_put(l, MGI_NUM_OP, o->code, o->n_in, a, b);
      l->bad |= o->n_in > 2;
      if (!l->bad)
        l->node[made].c = o->attr.c, l->node[made].name = info->name, l->node[made].inner = info->inner,
        l->node[made].kernel = kernel;
    }
    if (!l->bad && g->level == MG_KERNEL && !(program ? info->inner : mg_wide(g, t)))
      made = mgi_num_round(l, made, info->dtype, info->name, t, (int)k, 1);
    of[t.id] = made;
  }
}
/* The list of g, whose inputs are nodes 0, 1, ..; out[]: its outputs' nodes. */
MGI_FN void mgi_num_list_of(mgi_num_list *l, const mg_graph *g, int program, int *out) {
  int *of = (int *)calloc(g->n_tensors, sizeof *of);
  memset(l, 0, sizeof *l);
  l->bad = !of ? (int)MGI_NUM_MEMORY : 0;
  for (uint32_t k = 0; k < g->n_in && !l->bad; k++) {
    const int x = mgi_num_put(l, MGI_NUM_INPUT, MG_OP_NONE, 0, (int)k, 0);
    const mg_tensor_info *t = mg_tensor_of(g, g->in[k]);
    if (l->bad) break;
    l->node[x].half = t->dtype, l->node[x].name = t->name ? t->name : "?", of[g->in[k].id] = x;
  }
  if (!l->bad) mgi_num_graph(l, g, program, 0, of, of, NULL);
  for (uint32_t k = 0; k < g->n_out && !l->bad; k++) {
    out[k] = of[g->out[k].id];
    l->node[out[k]].output = 1;
  }
  free(of);
}

/* ---- bounds */
typedef struct mgi_num_term { double c, u; int8_t e[MGI_NUM_ATOMS]; } mgi_num_term; /* c, u: log2 */
typedef struct mgi_num_value {
  int n, lost;               /* lost: more terms, or atoms, than there is room for */
  int root, even;            /* the node of x where this is a multiple of a sum of squares of x, -1: none; even: nowhere
                                below 0 */
  double root_c, root_n;     /* then log2 of that multiple, of one square; of how many */
  mgi_num_term term[MGI_NUM_TERMS];
} mgi_num_value;
/* kind: 0 an input, else which rule */
typedef struct mgi_num_atom { int kind; mg_opcode code; mg_rational c; double n; mgi_num_value of, also; } mgi_num_atom;
enum { MGI_NUM_AN_INPUT, MGI_NUM_RMS, MGI_NUM_EXP, MGI_NUM_DIVISOR, MGI_NUM_OPAQUE };
typedef struct mgi_num_bounds { int n_atoms; mgi_num_atom atom[MGI_NUM_ATOMS]; } mgi_num_bounds;

MGI_FN void mgi_num_add(mgi_num_value *v, const mgi_num_term *t) {
  int at = 0;
  while (at < v->n && memcmp(v->term[at].e, t->e, sizeof t->e) < 0) at++;
  if (at < v->n && !memcmp(v->term[at].e, t->e, sizeof t->e)) {
    v->term[at].c = log2(exp2(v->term[at].c) + exp2(t->c)), v->term[at].u = log2(exp2(v->term[at].u) + exp2(t->u));
    return;
  }
  if (v->n == MGI_NUM_TERMS) { v->lost = 1; return; }
  for (int k = v->n++; k > at; k--) v->term[k] = v->term[k - 1];
  v->term[at] = *t;
}
MGI_FN int mgi_num_alike(const mgi_num_value *a, const mgi_num_value *b) {
  int same = a->n == b->n && !a->lost && !b->lost;
  for (int k = 0; k < a->n && same; k++)
    same = !memcmp(a->term[k].e, b->term[k].e, sizeof a->term[k].e) && fabs(a->term[k].c - b->term[k].c) < 1e-3;
  return same;
}
/* The atom of that kind, of those values; -1 if there is no room. */
MGI_FN int mgi_num_atom_of(mgi_num_bounds *B, int kind, mg_opcode code, mg_rational c, const mgi_num_value *of,
                           const mgi_num_value *also, double n) {
  for (int k = 0; k < B->n_atoms; k++) {
    const mgi_num_atom *x = &B->atom[k];
    if (x->kind == kind && x->code == code && x->c.num == c.num && x->c.den == c.den && x->n == n &&
        mgi_num_alike(&x->of, of) && mgi_num_alike(&x->also, also))
      return k;
  }
  if (B->n_atoms == MGI_NUM_ATOMS || of->lost || also->lost) return -1;
  mgi_num_atom *x = &B->atom[B->n_atoms];
  x->kind = kind, x->code = code, x->c = c, x->n = n, x->of = *of, x->also = *also;
  return B->n_atoms++;
}
MGI_FN void mgi_num_single(mgi_num_value *v, int atom, int power, double c, double u) {
  mgi_num_term t;
  memset(v, 0, sizeof *v), memset(&t, 0, sizeof t);
  v->root = -1, v->lost = atom < -1;
  t.c = c, t.u = u;
  if (atom >= 0) t.e[atom] = (int8_t)power;
  mgi_num_add(v, &t);
}
MGI_FN void mgi_num_times(const mgi_num_value *a, const mgi_num_value *b, int sign, mgi_num_value *out) {
  memset(out, 0, sizeof *out);
  out->root = -1, out->lost = a->lost | b->lost;
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < b->n; j++) {
      mgi_num_term t = a->term[i];
      t.c += sign * b->term[j].c, t.u += sign > 0 ? b->term[j].u : -b->term[j].c;
      for (int k = 0; k < MGI_NUM_ATOMS; k++) {
        const int e = t.e[k] + sign * b->term[j].e[k];
        if (e < -100 || e > 100) out->lost = 1;
        else t.e[k] = (int8_t)e;
      }
      mgi_num_add(out, &t);
    }
}
/* Takes root mean squares in divisors together with what they are of: |x| <= sqrt(n) rms(x). */
MGI_FN void mgi_num_fold(const mgi_num_bounds *B, mgi_num_value *v) {
  for (int r = 0; r < B->n_atoms && !v->lost; r++) {
    const mgi_num_value *of = &B->atom[r].of;
    if (B->atom[r].kind != MGI_NUM_RMS || !of->n || v->n % of->n) continue;
    for (int again = 1; again;) {
      mgi_num_value out;
      again = 0, memset(&out, 0, sizeof out);
      out.root = -1;
      if (of->n == 1) {
        for (int k = 0; k < v->n; k++) {
          mgi_num_term t = v->term[k];
          int has = t.e[r] < 0;
          for (int a = 0; a < MGI_NUM_ATOMS && has; a++) has = of->term[0].e[a] <= 0 || t.e[a] >= of->term[0].e[a];
          if (has) {
            for (int a = 0; a < MGI_NUM_ATOMS; a++) t.e[a] = (int8_t)(t.e[a] - of->term[0].e[a]);
            t.e[r]++, t.c -= of->term[0].c, t.u += 0.5 * log2(B->atom[r].n) - of->term[0].c, again = 1;
          }
          mgi_num_add(&out, &t);
        }
      } else if (v->n == of->n) { /* all of x, times one factor: a sum's terms are in one order, and a common factor
                                     keeps it or not */
        mgi_num_term q = v->term[0];
        int whole = q.e[r] < 0;
        for (int a = 0; a < MGI_NUM_ATOMS; a++) q.e[a] = (int8_t)(q.e[a] - of->term[0].e[a]);
        q.c -= of->term[0].c, q.u -= of->term[0].u;
        for (int k = 1; k < v->n && whole; k++) {
          for (int a = 0; a < MGI_NUM_ATOMS; a++) whole &= v->term[k].e[a] == of->term[k].e[a] + q.e[a];
          whole &= fabs(v->term[k].c - of->term[k].c - q.c) < 1e-3;
        }
        if (!whole) break;
        q.e[r]++, q.u += 0.5 * log2(B->atom[r].n), again = 1;
        mgi_num_add(&out, &q);
      }
      if (again) *v = out;
    }
  }
}
/* The bounds of node i, of those of the nodes before it. */
MGI_FN void mgi_num_bound(mgi_num_bounds *B, const mgi_num_list *l, int i, mgi_num_value *v) {
  const mgi_num_node *x = &l->node[i];
  const mgi_num_value *a = x->n_in ? &v[x->in[0]] : NULL, *b = x->n_in > 1 ? &v[x->in[1]] : NULL;
  mgi_num_value *out = &v[i], none, key;
  const mg_rational zero = { 0, 1 };
  double by = 0;
  int atom;
  memset(&none, 0, sizeof none);
  if (x->kind == MGI_NUM_INPUT) { mgi_num_single(out, x->in[0], 1, 0, 0); return; }
  if (x->kind == MGI_NUM_ROUND || x->kind == MGI_NUM_BITS) { *out = *a; return; }
  if (x->kind == MGI_NUM_SUM) by = log2(x->count);
  else switch (x->code) {
    case MG_OP_ADD: case MG_OP_SUB:
      *out = *a, out->root = -1, out->even = x->code == MG_OP_ADD && a->even && b->even, out->lost |= b->lost;
      for (int k = 0; k < b->n; k++) mgi_num_add(out, &b->term[k]);
      return;
    case MG_OP_NEG: *out = *a, out->root = -1, out->even = 0; return;
    case MG_OP_TO_F16: case MG_OP_TO_BF16: case MG_OP_TO_F32: *out = *a, out->root = -1; return;
    case MG_OP_RELU: case MG_OP_ABS: *out = *a, out->root = -1, out->even = 1; return;
    case MG_OP_SCALE:
      if (!x->c.num || x->c.den <= 0) { mgi_num_single(out, -1, 0, -100, -100); return; }
      *out = *a, by = log2(fabs((double)x->c.num / (double)x->c.den));
      for (int k = 0; k < out->n; k++) out->term[k].c += by, out->term[k].u += by;
      out->root_c += by, out->even = a->even && x->c.num > 0;
      if (x->c.num < 0) out->root = -1;
      return;
    case MG_OP_ADD_SCALAR:
      *out = *a;
      if (a->root >= 0 && x->c.num >= 0) return; /* an epsilon: it only makes a root mean square larger */
      if (x->c.num) {
        mgi_num_single(&key, -1, 0, log2(fabs((double)x->c.num / (double)x->c.den)),
                       log2(fabs((double)x->c.num / (double)x->c.den)));
        mgi_num_add(out, &key.term[0]);
      }
      out->root = -1, out->even = a->even && x->c.num > 0;
      return;
    case MG_OP_SQR: case MG_OP_MUL: {
      const int squared = x->code == MG_OP_SQR || x->in[0] == x->in[1];
      mgi_num_times(a, squared ? a : b, 1, out);
      if (squared) out->root = x->in[0], out->even = 1, out->root_c = 0, out->root_n = 1;
      else out->even = a->even && b->even;
      mgi_num_fold(B, out);
      return;
    }
    case MG_OP_DIV:
      if (b->n == 1) {
        mgi_num_times(a, b, -1, out);
        for (int k = 0, sums = 0; k < B->n_atoms; k++) { /* a sum of exponentials under their maximum is 1 at least */
          sums |= B->atom[k].kind == MGI_NUM_EXP && b->term[0].e[k] > 0;
          for (int j = 0; j < out->n && sums && k == B->n_atoms - 1; j++) out->term[j].u += b->term[0].c;
        }
      } else {
        atom = mgi_num_atom_of(B, MGI_NUM_DIVISOR, MG_OP_DIV, zero, b, &none, 0);
        mgi_num_single(&key, atom < 0 ? -2 : atom, -1, 0, 0), mgi_num_times(a, &key, 1, out);
      }
      out->even = a->even && b->even, out->lost |= b->lost;
      mgi_num_fold(B, out);
      return;
    default:
      if (x->code == MG_OP_SQRT && a->root >= 0) {
        atom = mgi_num_atom_of(B, MGI_NUM_RMS, MG_OP_SQRT, zero, &v[a->root], &none, a->root_n);
        mgi_num_single(out, atom < 0 ? -2 : atom, 1, 0.5 * a->root_c, 0.5 * a->root_c), out->even = 1;
        return;
      }
      if (x->code == MG_OP_SILU || x->code == MG_OP_GELU || x->code == MG_OP_TANH) { /* |f(x)| <= |x| */
        *out = *a, out->root = -1, out->even = 0;
        return;
      }
      atom = mgi_num_atom_of(B, x->code == MG_OP_EXP ? MGI_NUM_EXP : MGI_NUM_OPAQUE, x->code,
                             mg_op_row(x->code)->attr == MG_ATTR_RAT ? x->c : zero, a ? a : &none, b ? b : &none, 0);
      mgi_num_single(out, atom < 0 ? -2 : atom, 1, 0, 0), out->even = x->code == MG_OP_EXP || x->code == MG_OP_SQRT;
      return;
  }
  *out = *a; /* a sum */
  for (int k = 0; k < out->n; k++) out->term[k].c += by, out->term[k].u += by;
  out->root_c += by, out->root_n *= x->count;
}
/* 1 if term t is bounded, or is one of w's up to a small constant. */
MGI_FN int mgi_num_term_bounded(const mgi_num_bounds *B, const mgi_num_term *t) {
  for (int a = 0; a < B->n_atoms; a++)
    if (t->e[a] && (B->atom[a].kind != MGI_NUM_EXP || t->e[a] < 0)) return 0;
  return t->u <= 13 && t->c >= -13;
}
MGI_FN int mgi_num_term_of(const mgi_num_bounds *B, const mgi_num_term *t, const mgi_num_value *w) {
  for (int k = 0; k < w->n; k++) {
    int same = t->c - w->term[k].c <= 1 && t->c - w->term[k].c >= -6;
    for (int a = 0; a < B->n_atoms && same; a++)
      same = t->e[a] == w->term[k].e[a] || (B->atom[a].kind == MGI_NUM_EXP && t->e[a] > 0 && !w->term[k].e[a]);
    if (same) return 1;
  }
  return 0;
}
/* How many products node i of the list, but for its roundings, factors and divisors, adds up; 1 where it is no sum. */
MGI_FN double mgi_num_count(const mgi_num_list *l, int i) {
  double n = 1;
  for (;; i = l->node[i].in[0]) {
    const mgi_num_node *x = &l->node[i];
    if (x->kind == MGI_NUM_SUM) n *= x->count;
    else if (x->kind != MGI_NUM_ROUND && x->kind != MGI_NUM_BITS &&
             !(x->kind == MGI_NUM_OP && (x->code == MG_OP_SCALE || x->code == MG_OP_NEG || x->code == MG_OP_DIV)))
      return n;
  }
}
/* 1 if the term of a sum of so many is bounded by facts, or is that of a sum of no more which program p rounds; *part:
   1 if p rounds only longer ones, of which parts may be large and cancel, whatever they are held in. */
MGI_FN int mgi_num_term_rounded(const mgi_num_bounds *B, const mgi_num_term *t, double count, const mgi_num_list *p,
                                const mgi_num_value *pv, int *part) {
  if (mgi_num_term_bounded(B, t)) return 1;
  for (int j = 0; j < p->n; j++) {
    if (p->node[j].half == MG_F32 || !mgi_num_term_of(B, t, &pv[j])) continue;
    if (count >= mgi_num_count(p, j)) return 1;
    *part = 1;
  }
  return 0;
}
/* The difference of two sums of squares in list l that no difference of list p is; or -1. */
MGI_FN int mgi_num_cancels(const mgi_num_list *l, const mgi_num_value *v, const mgi_num_list *p,
                           const mgi_num_value *pv) {
  for (int i = 0; i < l->n; i++) {
    const mgi_num_node *x = &l->node[i];
    if (x->kind != MGI_NUM_OP || (x->code != MG_OP_SUB && x->code != MG_OP_ADD)) continue;
    int at = x->in[1], less = x->code == MG_OP_SUB; /* a + (-b), a + (-c) b */
    const mgi_num_node *y = &l->node[at];
    if (!less && y->kind == MGI_NUM_OP && (y->code == MG_OP_NEG || (y->code == MG_OP_SCALE && y->c.num < 0)))
      less = 1, at = y->in[0];
    const mgi_num_value *a = &v[x->in[0]], *b = &v[at];
    int same = less && a->even && b->even && a->n == b->n && a->n > 0 && x->in[0] != at;
    for (int k = 0; same && k < a->n; k++) {
      int any = 0;
      same = !memcmp(a->term[k].e, b->term[k].e, sizeof a->term[k].e);
      for (int e = 0; e < MGI_NUM_ATOMS; e++) any |= a->term[k].e[e];
      same &= any != 0;
    }
    for (int j = 0; same && j < p->n; j++) {
      const mgi_num_node *z = &p->node[j];
      if (z->kind == MGI_NUM_OP && z->code == MG_OP_SUB && pv[z->in[0]].even && pv[z->in[1]].even &&
          mgi_num_alike(&pv[j], &v[i]))
        same = 0;
    }
    if (same) return i;
  }
  return -1;
}

/* The sum in list l, one of its terms a multiple of a constant of 2^12 or more, that no sum of list p is; or -1: in f32
   what is small is gone beside what is so large, though that cancels later. */
MGI_FN int mgi_num_swallows(mgi_num_list *l, const mgi_num_value *v, const mgi_num_list *p, const mgi_num_value *pv) {
  for (int i = 0; i < l->n; i++) {
    mgi_num_node *x = &l->node[i];
    const int op = x->kind == MGI_NUM_OP, adds = op && (x->code == MG_OP_ADD || x->code == MG_OP_SUB);
    const int scalar = op && x->code == MG_OP_ADD_SCALAR;
    const double a = x->n_in ? l->node[x->in[0]].gain : 1, b = x->n_in > 1 ? l->node[x->in[1]].gain : 0;
    const double c = op && x->c.den ? fabs((double)x->c.num / (double)x->c.den) : 0;
    if (!op) x->gain = a;
    else if (x->code == MG_OP_SCALE) x->gain = a * c;
    else if (x->code == MG_OP_EXP) x->gain = 1;
    else x->gain = fmax(fmax(a, b), scalar ? c : 0);
    int same = x->gain < 4096 || !(adds || scalar);
    for (int j = 0; j < p->n && !same; j++) same = p->node[j].kind == MGI_NUM_OP && mgi_num_alike(&pv[j], &v[i]);
    if (!same) return i;
  }
  return -1;
}

/* ---- witnesses */
MGI_FN double mgi_num_to(double x, mg_dtype type) {
  int e;
  if (type == MG_F32 || x == 0 || !isfinite(x)) return x;
  (void)frexp(x, &e);
  const mg_type_info *row = mg_type_row(type);
  const double unit = ldexp(1, e - row->digits < row->least ? row->least : e - row->digits), y = rint(x / unit) * unit;
  return fabs(y) > row->most ? copysign(HUGE_VAL, y) : y;
}
/* The list's values for those inputs.  rounding: -2 none, in double; -1 all; else f32, and that node alone is
   rounded. */
MGI_FN void mgi_num_run(const mgi_num_list *l, const double *input, int rounding, int shifted, double *x) {
  for (int i = 0; i < l->n; i++) {
    const mgi_num_node *o = &l->node[i];
    const double a = o->kind == MGI_NUM_INPUT ? input[o->in[0]]
                     : o->n_in                ? x[o->in[0]]
                                              : 0,
                 b = o->n_in > 1 ? x[o->in[1]] : 0;
    if (o->kind == MGI_NUM_INPUT) x[i] = a;
    else if (o->kind == MGI_NUM_SUM) x[i] = a * o->count;
    else if (o->kind == MGI_NUM_BITS) x[i] = a;
    else if (o->kind == MGI_NUM_ROUND) x[i] = rounding == -1 || rounding == i ? mgi_num_to(a, o->half) : a;
    else if (o->code == MG_OP_EXP && (shifted > 1 || (shifted && o->inner))) x[i] = 1;
    else x[i] = mg_op_real(o->code, a, b, o->c.den ? (double)o->c.num / (double)o->c.den : 0);
    if (rounding != -2) x[i] = (double)(float)x[i];
  }
}
/* How far `got` is from `want`, against the size of it or the least normal of 16 bits. */
MGI_FN double mgi_num_error(double got, double want) {
  const double size = fabs(want) > 6.2e-5 ? fabs(want) : 6.2e-5;
  return isfinite(got) ? fabs(got - want) / size : HUGE_VAL;
}
typedef struct mgi_num_witness { int node; double x, got, want, in[MG_MAX_IN]; int memory; /* 1: there was none */ } mgi_num_witness;
/* Inputs by number: log2 of their sizes.  joint: any together, from 2^-14 to 2^14, all of them or drawn; else one from
   2^-20 to 2^14, another, of many inputs one that comes soon after it, from 2^-3 to 2^3, and the rest near 1.  0: there
   are no more. */
MGI_FN int mgi_num_point(int q, int n_in, int joint, int *at) {
  static const int8_t far[7] = { 0, 14, -14, 7, -7, 11, -11 }, one[7] = { 14, 11, 7, -7, -14, -17, -20 };
  int points = 1;
  if (!joint) {
    const int many = n_in > 16, others = many ? 512 / n_in : 2 * n_in, which = q / 7 / others;
    const int other = (q / 7 % others + many * 2 * which) % (2 * n_in);
    for (int k = 0; k < n_in; k++) at[k] = k == which ? one[q % 7] : k == other / 2 ? other % 2 ? -3 : 3 : 0;
    return which < n_in;
  }
  for (int k = 0; k < n_in && points < MGI_NUM_POINTS; k++) points *= 7;
  uint64_t s = (uint64_t)q * 0x9E3779B97F4A7C15ull;
  for (int k = 0, left = q; k < n_in; k++, left /= 7) {
    s = (s ^ s >> 31) * 6364136223846793005ull + 1442695040888963407ull;
    at[k] = far[points > MGI_NUM_POINTS ? (int)((s >> 33) % 7) : left % 7];
  }
  return q < (points < MGI_NUM_POINTS ? points : MGI_NUM_POINTS);
}
/* 1: there are inputs, by mgi_num_point, for which list p is right and list u is not. */
MGI_FN int mgi_num_refuted(const mgi_num_list *p, const int *p_out, const mgi_num_list *u, const int *u_out, int n_out,
                           int n_in, int joint, mgi_num_witness *w) {
  const int n = p->n > u->n ? p->n : u->n;
  double *x = (double *)malloc((size_t)n * 4 * sizeof *x), *exact = x + n, *y = x + 2 * n, *z = x + 3 * n, worst = 0;
  double unit = 1; /* of what is coarsest, in f16's */
  int found = 0, shifted = -1, clean = 1, at[MG_MAX_IN];
  if (!x) {
    w->memory = 1;
    return 0;
  }
  for (int i = 0; i < u->n; i++)
    if (u->node[i].kind == MGI_NUM_ROUND)
      unit = fmax(unit, ldexp(1, mg_type_row(MG_F16)->digits - mg_type_row(u->node[i].half)->digits));
  for (int q = 0; clean && mgi_num_point(q, n_in, joint, at); q++) {
    double in[MG_MAX_IN];
    for (int k = 0; k < n_in; k++)
      in[k] = mgi_num_to(ldexp(1.3 + 0.11 * (k % 16) + 0.017 * (k / 16), at[k]),
                         p->node[k].half == MG_F32 ? MG_F16 : p->node[k].half);
    mgi_num_run(p, in, -2, 1, exact);
    /* whether the µGraph's exponentials run under maxima, as a softmax's do */
    for (int mode = 2; shifted < 0 && mode >= 0; mode -= 2) {
      int same = 1;
      mgi_num_run(u, in, -2, mode, y);
      for (int k = 0; k < n_out; k++) same &= mgi_num_error(y[u_out[k]], exact[p_out[k]]) < 1e-6;
      if (same) shifted = mode;
    }
    if (shifted < 0) break;
    int right = 1;
    mgi_num_run(u, in, -2, shifted, y);
    mgi_num_run(p, in, -1, 1, x);
    for (int k = 0; k < n_out; k++) {
      const double want = exact[p_out[k]];
      /* else the lists are not of one function */
      if (isfinite(want) && isfinite(y[u_out[k]])) clean &= mgi_num_error(y[u_out[k]], want) < 1e-3;
      right &= mgi_num_error(x[p_out[k]], want) < 0.01;
    }
    for (int i = 0; i < p->n; i++) right &= isfinite(x[i]) != 0;
    if (!right || !clean) continue;
    mgi_num_run(u, in, -1, shifted, z);
    double bad = 0, got = 0, right_one = 0;
    for (int k = 0; k < n_out; k++) {
      const double e = mgi_num_error(z[u_out[k]], exact[p_out[k]]), own = mgi_num_error(x[p_out[k]], exact[p_out[k]]);
      if (e > 0.006 * unit + 4 * own && e > bad) bad = e, got = z[u_out[k]], right_one = exact[p_out[k]];
    }
    if (bad <= worst) continue;
    worst = bad, found = 1, w->node = -1, w->got = got, w->want = right_one;
    memcpy(w->in, in, sizeof in);
    for (int i = 0; i < u->n && w->node < 0; i++) { /* the first that went wrong */
      if (u->node[i].kind != MGI_NUM_ROUND || u->node[i].output ||
          (isfinite(z[i]) && fabs(z[i] - y[i]) < 0.003 * unit * fabs(y[i])))
        continue;
      w->node = i, w->x = y[i];
    }
    if (!isfinite(worst)) break;
  }
  free(x);
  return found && clean && w->node >= 0;
}

const char *mg_safety_name(mg_safety s) {
  static const char *const name[] = { "as safe as written", "not decided", "not as safe as written" };
  static_assert(sizeof name / sizeof *name == MG_SAFETIES, "one name a verdict");
  return name[(unsigned)s < MG_SAFETIES ? s : MG_SAFETY_OPEN];
}
MGI_FN mg_status mgi_num_picks(const mg_graph *program, const mg_graph *ugraph, const char *open_exp,
                               mg_safety_report *r, mg_error *e);
mg_status mg_safety_of(const mg_graph *program, const mg_graph *ugraph, const char *open_exp, mg_safety_report *r,
                       mg_error *e) {
  mgi_num_list p, u;
  mgi_num_witness w;
  int p_out[MG_MAX_OUT], u_out[MG_MAX_OUT], first = -1, parts = -1, lost = 0, joint = 0;
  memset(r, 0, sizeof *r), memset(&w, 0, sizeof w);
  r->verdict = MG_SAFETY_OPEN;
  if (!program || !ugraph || !mg_is_program(program) || program->n_in != ugraph->n_in ||
      program->n_out != ugraph->n_out)
    return mg_fail(e, MG_BAD_INPUT, "mg_safety_of", "expected a program and a µGraph of its inputs and outputs");
  if (mg_has_picks(program) || mg_has_picks(ugraph)) return mgi_num_picks(program, ugraph, open_exp, r, e);
  mgi_num_list_of(&p, program, 1, p_out), mgi_num_list_of(&u, ugraph, 0, u_out);
  mgi_num_bounds *B = (mgi_num_bounds *)calloc(1, sizeof *B);
  mgi_num_value *pv = (mgi_num_value *)calloc((size_t)p.n + 1, sizeof *pv),
                *uv = (mgi_num_value *)calloc((size_t)u.n + 1, sizeof *uv);
  int room = B && pv && uv && !(p.bad & MGI_NUM_MEMORY) && !(u.bad & MGI_NUM_MEMORY);
  int strange = 0;
  for (uint32_t k = 0; k < program->n_in; k++) strange |= mg_tensor_of(program, program->in[k])->dtype > MG_F32;
  if (strange) {
    snprintf(r->why, sizeof r->why, "it has a user's type, whose range no rule knows");
    lost = 1;
  } else if (!room || p.bad || u.bad) {
    snprintf(r->why, sizeof r->why, "it has an operator of more than two operands");
    lost = 1;
  }
  if (!lost) {
    for (uint32_t k = 0; k < program->n_in; k++) B->n_atoms++; /* atoms 0, 1, ..: the inputs */
    for (int i = 0; i < p.n; i++) mgi_num_bound(B, &p, i, pv);
    for (int i = 0; i < u.n; i++) mgi_num_bound(B, &u, i, uv);
    for (int i = 0; i < u.n; i++) {
      mgi_num_node *x = &u.node[i];
      if ((x->kind != MGI_NUM_ROUND && x->kind != MGI_NUM_BITS) || x->output) continue;
      const int bits = x->kind == MGI_NUM_BITS;
      const double count = uv[i].even ? HUGE_VAL : mgi_num_count(&u, i); /* what has one sign does not cancel */
      if (bits && (uv[i].even || count <= 1)) continue;
      int part = 0, safe = !uv[i].lost;
      for (int k = 0; k < uv[i].n && safe; k++)
        part = 0, safe = (!bits && x->half == MG_BF16) || mgi_num_term_rounded(B, &uv[i].term[k], count, &p, pv, &part);
      if (!safe && (bits || part) && parts < 0) parts = i;
      if (bits) continue;
      x->safe = safe;
      if (!x->safe && first < 0) first = i;
    }
    const int cancels = mgi_num_cancels(&u, uv, &p, pv), swallows = mgi_num_swallows(&u, uv, &p, pv);
    if (open_exp) {
      r->verdict = MG_UNSAFE, snprintf(r->value, sizeof r->value, "%.60s", open_exp);
      snprintf(r->why, sizeof r->why, "an exponential that nothing is seen to bound, and that has no running maximum");
    } else if (cancels >= 0) {
      r->verdict = MG_UNSAFE, r->kernel = u.node[cancels].kernel,
      snprintf(r->value, sizeof r->value, "%.60s", u.node[cancels].name);
      snprintf(r->why, sizeof r->why,
               "a difference of two sums of squares, which the program does not take: it cancels");
    } else if (swallows >= 0) {
      r->verdict = MG_UNSAFE, r->kernel = u.node[swallows].kernel,
      snprintf(r->value, sizeof r->value, "%.60s", u.node[swallows].name);
      snprintf(r->why, sizeof r->why,
               "a sum with a multiple of a large constant, which the program does not take: the rest may be gone beside it");
    } else if (mgi_num_refuted(&p, p_out, &u, u_out, (int)program->n_out, (int)program->n_in, 0, &w) ||
               (joint = 1, mgi_num_refuted(&p, p_out, &u, u_out, (int)program->n_out, (int)program->n_in, 1, &w))) {
      const mgi_num_node *x = &u.node[w.node];
      size_t n = 0;
      r->verdict = joint && isfinite(w.got) ? MG_SAFETY_OPEN : MG_UNSAFE, r->kernel = x->kernel, r->stored = x->stored,
      r->tensor = x->tensor;
      snprintf(r->value, sizeof r->value, "%.60s", x->name);
      n = (size_t)snprintf(r->why, sizeof r->why, "%s, it would be %.2g where",
                           x->stored ? "handed on in 16 bits" : "a product's operand in 16 bits", w.x);
      for (uint32_t k = 0; k < program->n_in && n + 40 < sizeof r->why; k++)
        n += (size_t)snprintf(r->why + n, sizeof r->why - n, "%s %.20s is %.2g", k ? "," : "", p.node[k].name, w.in[k]);
      snprintf(r->why + n, sizeof r->why - n, ": %.2g for %.2g", w.got, w.want);
    } else if (parts >= 0) {
      snprintf(r->value, sizeof r->value, "%.60s", u.node[parts].name), r->kernel = u.node[parts].kernel;
      snprintf(r->why, sizeof r->why,
               "%s, it is a sum, or a part of one, that the program does not round: it may cancel later",
               u.node[parts].stored ? "handed on in 16 bits" : "a product's operand of 11 bits");
    } else if (first >= 0) {
      const mgi_num_node *x = &u.node[first];
      r->kernel = x->kernel, r->stored = x->stored, r->tensor = x->tensor,
      snprintf(r->value, sizeof r->value, "%.60s", x->name);
      snprintf(r->why, sizeof r->why, "%s, it is none of the program's values, and nothing is seen to bound it",
               x->stored ? "handed on in 16 bits" : "a product's operand in 16 bits");
    } else r->verdict = MG_SAFE;
  }
  room &= !w.memory;
  free(B), free(pv), free(uv), free(p.node), free(u.node);
  return room ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_safety_of", "no memory");
}
/* Gathers and argmaxes keep nothing: the verdict is of the rests (mg_rest_of), whose tensors r names by name alone. */
MGI_FN mg_status mgi_num_picks(const mg_graph *program, const mg_graph *ugraph, const char *open_exp,
                               mg_safety_report *r, mg_error *e) {
  mg_rest R;
  mg_error why;
  mg_status s = mg_rest_of(program, ugraph, &R, &why);
  if (s == MG_OK && R.g[0]) s = mg_safety_of(R.g[0], R.g[1], open_exp, r, e);
  else if (s == MG_OK) r->verdict = MG_SAFE;
  else if (s == MG_NO_MEMORY && e) *e = why;
  else if (s != MG_NO_MEMORY) snprintf(r->why, sizeof r->why, "%.250s", why.msg), s = MG_OK;
  r->kernel = 0, r->tensor.id = 0;
  mg_rest_free(&R);
  return s;
}

/* --------------------------------------------------------------------------------------------------- >>kept

   What a search keeps in files: its checkpoint, and results in a cache.  Both are named by a key: the program, the
   GPU's row, the options that choose what is found, and the version, with the limits above, the tables of operators and
   axioms, and what the model says of sample kernels.

   A checkpoint is a head and, appended as frames are finished, their records: nothing is written twice.  A record holds
   the frame's counts and those of its structures that were among their segment's best then: as the best of a part of
   the frames hold all of the part that are among the best of the whole (mgi_se_pool_add), a record needs no other.  Of
   a structure it holds what cannot be derived: operators, maps, the predicted time that orders it; numbers as bytes of
   7 bits.  Each record has a checksum of its own, seeded with the key, and its length has another, so that an end that
   is torn (the search was killed) is told from a file that is damaged: the one is dropped, the other refused.  Whatever
   frames the records are of, and in whatever order, the others are searched: the result is the
   same.                           */

/* SPLITS: structures with a group axis that become two kernels; POOL: structures that a segment has at once. */
enum { MGI_SE_TOP = 8, MGI_SE_SPLITS = 6, MGI_SE_TILINGS = 8, MGI_SE_POOL = MGI_SE_KEEP + 16 * MGI_SE_SPLITS };
/* Of >>rewrite: values under way at a time; how much smaller a small tensor is; operators more than the program has;
   sets, pieces and edges; operators on a path. */
enum { MGI_SE_RW_UNDER = 3, MGI_SE_RW_SMALL = 8, MGI_SE_RW_MORE = 1, MGI_SE_RW_SETS = 16384, MGI_SE_RW_PIECES = 16384, MGI_SE_RW_EDGES = 1 << 18, MGI_SE_RW_DEPTH = 250 };
/* a frame's record; n structures follow */
typedef struct mgi_se_kept { uint64_t seg; int32_t frame, n, cut, effort; uint64_t count[9]; } mgi_se_kept;
typedef struct mgi_se_record { uint64_t seg; int32_t frame, effort; uint32_t bytes; size_t at; } mgi_se_record;
typedef struct mgi_se_key { uint64_t part[4]; } mgi_se_key;
static const char *const mgi_se_key_other[4] = { "another program", "another GPU", "other options",
                                                 "another version, or another model" };

/* n: bytes there; at: those read, or the room that there is */
typedef struct mgi_se_buffer { uint8_t *b; size_t n, at; int bad, reads; } mgi_se_buffer;

MGI_FN void mgi_se_put(mgi_se_buffer *w, const void *data, size_t n) {
  if (!w->bad && w->n + n > w->at) {
    size_t room = (w->n + n) * 2;
    uint8_t *b = (uint8_t *)realloc(w->b, room);
    if (b) w->b = b, w->at = room;
    else w->bad = 1;
  }
  if (!w->bad && n) memcpy(w->b + w->n, data, n), w->n += n;
}
/* The next n bytes, or NULL. */
MGI_FN const uint8_t *mgi_se_get(mgi_se_buffer *r, uint64_t n) {
  if (r->bad || n > r->n - r->at) { r->bad = 1; return NULL; }
  r->at += (size_t)n;
  return r->b + r->at - n;
}
MGI_FN int mgi_se_get_to(mgi_se_buffer *r, void *to, size_t n) {
  const uint8_t *b = mgi_se_get(r, n);
  if (b) memcpy(to, b, n);
  return b != NULL;
}
/* Writes v, or reads what is returned: 7 bits a byte, the lowest first, the sign in the lowest of all. */
MGI_FN int64_t mgi_se_number(mgi_se_buffer *c, int64_t v) {
  uint64_t u = (uint64_t)v << 1 ^ (v < 0 ? ~(uint64_t)0 : 0);
  uint8_t b[10];
  int n = 0;
  if (c->reads) {
    const uint8_t *p = NULL;
    for (u = 0; n < 10 && (!n || p[0] >> 7); n++) {
      if (!(p = mgi_se_get(c, 1))) return 0;
      u |= (uint64_t)(p[0] & 127) << 7 * n;
    }
    if (p[0] >> 7) c->bad = 1;
    return (int64_t)(u >> 1 ^ (u & 1 ? ~(uint64_t)0 : 0));
  }
  for (; n < 10; n++, u >>= 7) {
    b[n] = (uint8_t)((u & 127) | (u > 127) << 7);
    if (u < 128) { n++; break; }
  }
  mgi_se_put(c, b, (size_t)n);
  return v;
}
/* One text of a record for both directions: field = what is read, which must fit, or written. */
#define MGI_SE_FIELD(c, field)                                                                                          \
  do {                                                                                                                 \
    int64_t v_ = mgi_se_number(c, (int64_t)(field));                                                                   \
    if ((c)->reads) memset(&(field), 0, sizeof(field)), (field) += v_, (c)->bad |= (int64_t)(field) != v_;              \
  } while (0)

MGI_FN uint64_t mgi_se_bytes_hash(uint64_t h, const void *data, size_t n) {
  const uint8_t *b = (const uint8_t *)data;
  for (size_t k = 0; k < n; k += 8) {
    uint64_t v = 0;
    memcpy(&v, b + k, n - k < 8 ? n - k : 8);
    h = mgi_se_mix(h, v);
  }
  return mgi_se_mix(h, n);
}
MGI_FN uint64_t mgi_se_text_hash(uint64_t h, const char *s) { return mgi_se_bytes_hash(h, s, strlen(s)); }

MGI_FN int mgi_se_sample_op(mg_flat *k, int code, int inloop, int in0, int in1, int64_t rows, int64_t cols) {
  mg_flat_op *o = &k->op[k->n];
  memset(o, 0, sizeof *o);
  o->code = (int16_t)code, o->inloop = (int8_t)inloop, o->loop = o->outer = (int8_t)(inloop ? 4 : 0),
  o->trips = inloop ? (double)k->iters : 1, o->esize = 2;
  o->rank = 2, o->inner = 1, o->d[0] = rows, o->d[1] = cols, o->narrow = 1;
  o->along = 1;
  o->sums = code == MG_OP_ACCUM && k->op[in0].inloop && !inloop && cols == k->op[in0].d[1];
  o->in[0] = (int16_t)in0, o->in[1] = (int16_t)in1, o->n_in = (int8_t)(code == MG_OP_LOAD ? 0 : in1 >= 0 ? 2 : 1);
  if (in1 < 0) o->in[1] = 0;
  return k->n++;
}
/* A hash of what the model says of kernels of every kind: functions of one or two products, with and without a loop,
   row sums, accumulators over a group of blocks.  The seed is fixed: another hash is another model. */
MGI_FN uint64_t mgi_se_model_hash(const mg_machine *gpu) {
  static const int64_t rows[] = { 1, 16, 16, 64, 128, 40 }, cols[] = { 8, 64, 128, 256, 37 },
                       inner[] = { 16, 64, 128, 512, 90 };
  static const int64_t iters[] = { 1, 1, 2, 3, 8, 64 }, groups[] = { 1, 1, 2, 8, 16, 32 };
  const int64_t blocks[] = { 1, 32, gpu->sms, 300, 2000 };
  mg_flat sample, *k = &sample;
  uint64_t h = 0, s = 1;
  int unary[64], n_unary = 0;
#define MGI_SE_DRAW(n) (s = s * 6364136223846793005ull + 1442695040888963407ull, (int)((s >> 33) % (uint64_t)(n)))
  for (int i = MG_OP_NONE + 1; i < MG_OP_TABLE_END && n_unary < 64; i++)
    if (mg_op_row((mg_opcode)i)->elementwise && mg_op_row((mg_opcode)i)->n_in == 1) unary[n_unary++] = i;
  for (int i = 0; i < 400; i++) {
    memset(k, 0, sizeof *k);
    k->iters = iters[MGI_SE_DRAW(6)], k->blocks = blocks[MGI_SE_DRAW(5)], k->group = groups[MGI_SE_DRAW(6)];
    int64_t m = rows[MGI_SE_DRAW(6)], n = cols[MGI_SE_DRAW(5)], c = inner[MGI_SE_DRAW(5)], z = cols[MGI_SE_DRAW(5)];
    int loop = k->iters > 1, product = MGI_SE_DRAW(4) > 0, second = product && MGI_SE_DRAW(2), summed = MGI_SE_DRAW(2),
        sum = -1;
    int a = mgi_se_sample_op(k, MG_OP_LOAD, loop && MGI_SE_DRAW(4), 0, -1, m, c);
    k->op[a].unique = m * c * 2 * k->blocks, k->op[a].esize = (int8_t)(MGI_SE_DRAW(4) ? 2 : 4);
    if (MGI_SE_DRAW(8) == 0) k->op[a].inner = 0;
    if (MGI_SE_DRAW(3) == 0) a = mgi_se_sample_op(k, unary[MGI_SE_DRAW(n_unary)], loop, a, -1, m, c);
    if (product) {
      int b = mgi_se_sample_op(k, MG_OP_LOAD, loop, 1, -1, c, n);
      k->op[b].unique = c * n * 2 * k->iters;
      if (MGI_SE_DRAW(4) == 0) b = mgi_se_sample_op(k, unary[MGI_SE_DRAW(n_unary)], loop, b, -1, c, n);
      a = mgi_se_sample_op(k, MG_OP_MATMUL, loop, a, b, m, n);
    } else n = c;
    if (!second && loop && MGI_SE_DRAW(2))
      a = mgi_se_sample_op(k, MG_OP_ACCUM, loop = 0, a, -1, m, MGI_SE_DRAW(4) ? n : n * 2);
    if (MGI_SE_DRAW(2)) a = mgi_se_sample_op(k, MGI_SE_DRAW(2) ? MG_OP_EXP : MG_OP_SQR, loop, a, -1, m, n);
    if (summed) sum = mgi_se_sample_op(k, MGI_SE_DRAW(4) ? MG_OP_SUM : MG_OP_MAX, loop, a, -1, m, 1);
    if (second) {
      int b = mgi_se_sample_op(k, MG_OP_LOAD, loop && MGI_SE_DRAW(4), 2, -1, n, z);
      k->op[b].unique = n * z * 2;
      a = mgi_se_sample_op(k, MG_OP_MATMUL, loop, a, b, m, n = z);
    }
    if (loop) a = mgi_se_sample_op(k, MG_OP_ACCUM, 0, a, -1, m, n);
    if (loop && sum >= 0) sum = mgi_se_sample_op(k, MG_OP_ACCUM, 0, sum, -1, m, 1);
    if (k->group > 1) a = mgi_se_sample_op(k, MG_OP_ACCUM, 0, a, -1, m, n), k->op[a].across = 1;
    if (k->group > 1 && sum >= 0) sum = mgi_se_sample_op(k, MG_OP_ACCUM, 0, sum, -1, m, 1), k->op[sum].across = 1;
    if (sum >= 0) a = mgi_se_sample_op(k, MGI_SE_DRAW(4) ? MG_OP_DIV : MG_OP_MUL, 0, a, sum, m, n);
    if (MGI_SE_DRAW(8) == 0) a = mgi_se_sample_op(k, MG_OP_TRANSPOSE, 0, a, -1, m, n);
    a = mgi_se_sample_op(k, MG_OP_STORE, 0, a, -1, m, n), k->op[a].unique = m * n * 2 * (k->blocks / k->group);
    if (MGI_SE_DRAW(10) == 0) for (int j = 0; j < k->n; j++) { /* three dimensions, the first of two */
        k->op[j].rank = 3, k->op[j].inner++, k->op[j].d[2] = k->op[j].d[1], k->op[j].d[1] = k->op[j].d[0],
        k->op[j].d[0] = 2;
    }
    double us;
    const mg_kernel_plan p = mg_flat_plan(k, gpu, &us, NULL);
    int64_t plan[] = { p.stages, p.warps_m, p.warps_n, p.warps_k, p.shared, p.feasible,
                       p.own,    p.parts,   p.group,   p.copies,  p.late };
    h = mgi_se_bytes_hash(mgi_se_bytes_hash(h, &us, sizeof us), plan, sizeof plan);
  }
#undef MGI_SE_DRAW
  return h;
}

/* Of what the result depends on, in a complete configuration.  0 if there is no memory. */
MGI_FN int mgi_se_key_of(const mg_graph *program, const mg_search_config *c, mgi_se_key *key) {
  char *text = NULL;
  mg_error e;
  if (mg_print(program, &text, &e) != MG_OK) return 0;
  const mg_machine *g = c->machine;
  char row[MG_MACHINE_TEXT];
  int64_t option[] = { c->max_kernel_ops,
                       c->max_loops,
                       c->max_block_ops,
                       c->top_k,
                       c->bound,
                       c->prune,
                       (int64_t)c->seed,
                       c->max_states,
                       c->max_structures,
                       c->max_steps,
                       c->emittable != NULL,
                       c->wary != NULL,
                       c->unsafe != 0,
                       c->egraph.nodes,
                       c->egraph.no_copies,
                       c->allow_sampled,
                       c->batch_invariant != 0 };
  int64_t limit[] = { MG_VERSION,         MG_OP_COUNT,       MG_MAX_RANK,       MG_MAX_IN,      MG_MAX_OUT,
                      MGI_SE_FRAME_BYTES, MGI_SE_FRAME_WORK, MGI_SE_VALUE_WORK, MGI_SE_SOPS,    MGI_SE_KEEP,
                      MGI_SE_ALIKE,       MGI_SE_WORKS,      MGI_SE_TILES,      MGI_SE_SPLITS,  MGI_SE_TILINGS,
                      MGI_SE_POOL,        MGI_SE_RW_UNDER,   MGI_SE_RW_SMALL,   MGI_SE_RW_MORE, MGI_SE_RW_SETS,
                      MGI_SE_RW_PIECES,   MGI_SE_RW_EDGES,   MGI_SE_RW_DEPTH };
  double seconds = c->egraph.seconds;
  uint64_t h = mgi_se_bytes_hash(mgi_se_model_hash(g), limit, sizeof limit);
  double library = mg_predict_us(program, g);
  h = mgi_se_bytes_hash(h, &library, sizeof library);
  for (int k = 0; mg_axiom_at(k); k++)
    h = mgi_se_text_hash(mgi_se_text_hash(mgi_se_text_hash(h, mg_axiom_at(k)->name), mg_axiom_at(k)->left),
                         mg_axiom_at(k)->right);
  for (int k = MG_OP_NONE + 1; k < MG_OP_COUNT; k++) h = mgi_se_text_hash(h, mg_op_row((mg_opcode)k)->name);
  key->part[0] = mgi_se_text_hash(1, text);
  /* the text does not say it */
  for (uint32_t t = 1; t < program->n_tensors; t++) key->part[0] = mgi_se_mix(key->part[0], program->tensors[t].inner);
  key->part[1] = mgi_se_text_hash(2, mg_machine_print(g, row)); /* all of the row */
  key->part[2] = mgi_se_bytes_hash(mgi_se_bytes_hash(3, option, sizeof option), &seconds, sizeof seconds);
  key->part[3] = h;
  mg_string_free(text);
  return 1;
}
MGI_FN uint64_t mgi_se_key_hash(const mgi_se_key *k) { return mgi_se_bytes_hash(4, k, sizeof *k); }

/* Reads all of a file that begins with `magic`, as far as it goes.  `kind` and `fate` name it, and what becomes of it,
   in messages. */
MGI_FN mg_status mgi_se_kept_read(FILE *f, const char *path, const char *kind, const char *fate, const char *magic,
                                  mgi_se_buffer *to, mg_error *e) {
  size_t room = 0, n = 0;
  for (;; to->n = n) { /* what is there, not what a head says */
    if (n == room) {
      uint8_t *b = room >= (size_t)4 << 30 ? NULL : (uint8_t *)realloc(to->b, room = room ? room * 2 : 1 << 16);
      if (!b) return mg_fail(e, MG_NO_MEMORY, path, "no memory for the %s", kind);
      to->b = b;
    }
    size_t got = fread(to->b + n, 1, room - n, f);
    n += got;
    if (memcmp(to->b, magic, n < 8 ? n : 8))
      return mg_fail(e, MG_BAD_INPUT, path, "expected a %s, found something else; %s", kind, fate);
    if (!got) return MG_OK;
  }
}

/* Writes head and body to `tmp`, which is opened in `mode`, and renames it. */
MGI_FN int mgi_se_kept_put(const char *path, const char *tmp, const char *mode, const void *head, size_t bytes,
                           const uint8_t *b, size_t n) {
  FILE *f = fopen(tmp, mode);
  int ok = f && (!bytes || fwrite(head, bytes, 1, f) == 1) && (!n || fwrite(b, n, 1, f) == 1);
  if (f) ok &= fclose(f) == 0;
  ok = ok && rename(tmp, path) == 0;
  if (f && !ok) remove(tmp);
  return ok;
}

/* Whether a structure that was read can be one of frame f's: all indices within their tables, operands first.  What it
   computes is for the verifier to say. */
MGI_FN int mgi_se_structure_fits(const mgi_se_seg *s, const mgi_se_structure *t) {
  if (t->n < 1 || t->n > MGI_SE_SOPS || !(t->us >= 0 && t->us <= 2e9 + 1)) return 0; /* 2e9: no tile, and `foreign` */
  for (int i = 0; i < t->n; i++) {
    const mgi_se_sop *o = &t->op[i];
    if (o->code <= MG_OP_NONE || o->code >= MG_OP_COUNT || o->code == MG_OP_STORE || o->n_in < 0 || o->n_in > 4 ||
        (!o->n_in && o->code != MG_OP_LOAD))
      return 0;
    for (int j = 0; j < 4; j++) if (o->in[j] < 0 || (j < o->n_in ? o->in[j] >= i : o->in[j] != 0)) return 0;
    if (o->scope < MGI_SE_PRE || o->scope > MGI_SE_GROUP || o->scope == 5 ||
        ((o->scope & 1) && t->loop[o->scope >> 1] < 0) || o->rank < 0 || o->rank > MG_MAX_RANK)
      return 0;
    for (int d = 0; d < o->rank; d++)
      if (o->cls[d] < -1 || o->cls[d] >= s->n_cls || o->mask[d] >> MGI_SE_AXES) return 0;
    if (o->code == MG_OP_LOAD && (o->n_in || o->arg < 0 || o->arg >= (int)s->p->n_in)) return 0;
    if (o->code == MG_OP_ACCUM) {
      int x = o->map[0];
      if (o->n_in != 1 || x < 1 || x >= MGI_SE_AXES || (x < 4 ? x > t->n_grid : t->loop[x - 4] < 0)) return 0;
    }
    if (mg_op_moves(o->code) && (o->arg < 0 || o->arg >= s->n_inst || (int)s->inst[o->arg].op != o->code)) return 0;
  }
  for (int k = 0; k < t->n_out; k++) {
    if (t->out[k] < 0 || t->out[k] >= t->n) return 0;
    for (int a = 1; a < 4; a++) if (t->omap[k][a] < MG_MAP_ALL || t->omap[k][a] >= t->op[t->out[k]].rank) return 0;
  }
  return 1;
}

/* Writes a structure, or reads one of frame f; axis counts are not kept, as the tuner finds them anew. */
MGI_FN void mgi_se_structure_code(mgi_se_buffer *c, const mgi_se_seg *s, const mgi_se_frame *f, mgi_se_structure *t) {
  if (c->reads) {
    memset(t, 0, sizeof *t);
    t->n_out = (int)s->p->n_out, t->n_grid = f->n_grid, t->group = f->group;
    memcpy(t->loop, f->loop, sizeof t->loop), memcpy(t->gcls, f->gcls, sizeof t->gcls);
    c->bad |= !mgi_se_get_to(c, &t->us, sizeof t->us);
  } else mgi_se_put(c, &t->us, sizeof t->us);
  MGI_SE_FIELD(c, t->n);
  for (int i = 0; i < t->n && i < MGI_SE_SOPS && !c->bad; i++) {
    mgi_se_sop *o = &t->op[i];
    MGI_SE_FIELD(c, o->code);
    MGI_SE_FIELD(c, o->n_in);
    MGI_SE_FIELD(c, o->arg);
    MGI_SE_FIELD(c, o->scope);
    MGI_SE_FIELD(c, o->rank);
    for (int d = 0; d < o->rank && d < MG_MAX_RANK; d++) {
      MGI_SE_FIELD(c, o->cls[d]);
      MGI_SE_FIELD(c, o->mask[d]);
    }
    for (int j = 0; j < o->n_in && j < 4; j++) MGI_SE_FIELD(c, o->in[j]);
    MGI_SE_FIELD(c, o->c.num);
    MGI_SE_FIELD(c, o->c.den);
    if (o->code == MG_OP_ACCUM) MGI_SE_FIELD(c, o->map[0]);
    if (o->code != MG_OP_LOAD || !c->reads) continue;
    memset(o->map, MG_MAP_ALL, sizeof o->map);
    for (int a = 1; a < MGI_SE_AXES; a++)
      for (int d = 0; d < o->rank && d < MG_MAX_RANK; d++) if (o->mask[d] >> a & 1) o->map[a] = (int8_t)d;
  }
  for (int k = 0; k < t->n_out; k++) {
    MGI_SE_FIELD(c, t->out[k]);
    for (int a = 1; a <= t->n_grid; a++) MGI_SE_FIELD(c, t->omap[k][a]);
  }
  if (!c->reads || c->bad || !mgi_se_structure_fits(s, t)) { c->bad |= c->reads; return; }
  uint64_t skeleton;
  t->hash = mgi_se_structure_hash(t), t->work = mgi_se_structure_work(t, &skeleton),
  t->foreign = mgi_se_structure_foreign(s->p, t);
}

/* --------------------------------------------------------------------------------------------------- >>cuts

   Where a program may be cut into kernels.  A program is run in any order of its operators in which operands come
   first, so what has been run at some time is a down-set: with an operator, all that it is made of.  A segment is what
   one down-set has more than another, and a program in k kernels is a chain of k + 1 of them, from the empty one to the
   whole.  Neither depends on the order in which the program's text has its operators, nor does anything below:
   operators are taken in postorder from the outputs (what no output needs is left out).  A unary elementwise operator
   on what another makes for it alone stays with that one, as it costs no byte less anywhere else; not with a matmul,
   which a library kernel may be better at, and not an exponential, which may not be handed on while what it is of may;
   nor behind so many that a kernel has no room for more.  With too many down-sets, more than MGI_SE_DOWN or
   MGI_SE_CHAINS steps of a shortest path over them, blocks of operators take the place of these, each block cut where
   the postorder passes; then only those are taken that it passes through.  The search is not complete then. */

enum { MGI_SE_MOST_OPS = 200, MGI_SE_KERNELS = 5, MGI_SE_DOWN = 1024, MGI_SE_CHAINS = 1 << 23, MGI_SE_SET_WORDS = (MGI_SE_MOST_OPS + 63) / 64 };

typedef struct mgi_se_set { uint64_t w[MGI_SE_SET_WORDS]; } mgi_se_set; /* of operators, by place in postorder */

MGI_FN int mgi_se_set_has(const mgi_se_set *a, int k) { return (int)(a->w[k / 64] >> k % 64 & 1); }
MGI_FN void mgi_se_set_put(mgi_se_set *a, int k) { a->w[k / 64] |= (uint64_t)1 << k % 64; }
MGI_FN void mgi_se_set_join(mgi_se_set *a, const mgi_se_set *b) {
  for (int i = 0; i < MGI_SE_SET_WORDS; i++) a->w[i] |= b->w[i];
}
MGI_FN int mgi_se_set_same(const mgi_se_set *a, const mgi_se_set *b) { return !memcmp(a, b, sizeof *a); }
/* a without b; `none`: nothing is left. */
MGI_FN mgi_se_set mgi_se_set_minus(const mgi_se_set *a, const mgi_se_set *b, int *none) {
  mgi_se_set c;
  *none = 1;
  for (int i = 0; i < MGI_SE_SET_WORDS; i++) c.w[i] = a->w[i] & ~b->w[i], *none &= !c.w[i];
  return c;
}
MGI_FN int mgi_se_set_size(const mgi_se_set *a, int n) {
  int c = 0;
  for (int k = 0; k < n; k++) c += mgi_se_set_has(a, k);
  return c;
}
MGI_FN uint64_t mgi_se_set_hash(const mgi_se_set *a) {
  uint64_t h = 1;
  for (int i = 0; i < MGI_SE_SET_WORDS; i++) h = mgi_se_mix(h, a->w[i]);
  return h;
}

typedef struct mgi_se_cuts {
  const mg_graph *p;
  int n;                                     /* operators */
  uint32_t op[MGI_SE_MOST_OPS];              /* in postorder, by id */
  int16_t *place;                            /* by tensor: of the operator that makes it, or -1 */
  /* who makes its operands; who uses it; the operators that stay with it, itself too, empty where it stays with
     another */
  mgi_se_set of[MGI_SE_MOST_OPS], to[MGI_SE_MOST_OPS], alone[MGI_SE_MOST_OPS];
  uint64_t takes[MGI_SE_MOST_OPS];           /* the program's inputs that it takes, as bits */
  /* an output of the program; grows like an exponential that nothing has divided yet */
  uint8_t given[MGI_SE_MOST_OPS], raw[MGI_SE_MOST_OPS];
  uint8_t address[MGI_SE_MOST_OPS];          /* a slice: an address of kernels' loads, a kernel where a library kernel
                                                reads it */
  int16_t taker[MGI_SE_MOST_OPS];            /* the product whose library call takes it, or -1 (mg_library_taker) */
  double bytes[MGI_SE_MOST_OPS], in_bytes[MG_MAX_IN];
  mgi_se_set all, *down;                     /* down-sets, smaller ones first */
  int n_down, part;                          /* part: not all of them */
} mgi_se_cuts;

typedef struct mgi_se_found { /* of one segment */
  mgi_se_set ops;
  mg_graph *own;                             /* the segment's program, until it is begun */
  uint64_t hash;                             /* of that, mg_hash */
  int want;                                  /* so many structures */
  double most;                               /* not 0: a kernel that takes so many us or more is of no use */
  int shared;                                /* not 0: what follows but in and out is that of segment shared - 1, whose
                                                program this one's is */
  mgi_se_seg *s;
  uint8_t *open;                             /* by frame: 0: it is done; 1: it was not searched yet; 2 + e: the limits
                                                of effort e ended it */
  int n_frames, n_open, n_spent, effort;     /* n_spent: of the open ones, those of the most promising that it ended;
                                                effort: the next one */
  int none;                                  /* 1: there was no kernel for it, as far as the effort went */
  int lost;                                  /* 1: of the last effort: structures that no result could be made of */
  mg_graph *tiled;                           /* faster than these, or in place of a search: one kernel, by >>tilings or
                                                with maxima of its own, or kernels by parts of rows */
  double tiled_us;
  mg_verify_report tiled_report;
  mgi_se_structure *st, split[MGI_SE_SPLITS]; /* split: the best ones with a group axis, of different work */
  int n, n_split;
  int *tile;
  mg_verify_report *report;
  mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT]; /* tensors of the program */
  double us;
} mgi_se_found;

MGI_FN void mgi_se_cuts_visit(mgi_se_cuts *C, uint32_t t) {
  const uint32_t id = C->p->tensors[t].op;
  if (!id || C->place[t] >= 0) return;
  const mg_op_node *o = &C->p->ops[id];
  for (int q = 0; q < o->n_in; q++) mgi_se_cuts_visit(C, o->in[q].id);
  C->place[t] = (int16_t)C->n, C->op[C->n++] = id;
}

/* What the operators of p are to each other; p has at most MGI_SE_MOST_OPS.  0 if memory is out. */
MGI_FN int mgi_se_cuts_of(mgi_se_cuts *C, const mg_graph *p) {
  memset(C, 0, sizeof *C);
  C->p = p;
  C->place = (int16_t *)malloc(p->n_tensors * sizeof *C->place);
  if (!C->place) return 0;
  memset(C->place, -1, p->n_tensors * sizeof *C->place);
  for (uint32_t k = 0; k < p->n_out; k++) mgi_se_cuts_visit(C, p->out[k].id);
  for (uint32_t i = 0; i < p->n_in; i++)
    C->in_bytes[i] = (double)mg_shape_elements(&p->tensors[p->in[i].id].shape) *
                     mg_dtype_bytes(p->tensors[p->in[i].id].dtype);
  for (int k = 0; k < C->n; k++) {
    const mg_op_node *o = &p->ops[C->op[k]];
    const mg_tensor_info *t = mg_tensor_of(p, o->out[0]);
    int any = o->code == MG_OP_EXP, every = 1;
    mgi_se_set_put(&C->all, k);
    C->bytes[k] = (double)mg_shape_elements(&t->shape) * mg_dtype_bytes(t->dtype);
    C->given[k] |= mg_is_output(p, o->out[0]);
    C->address[k] = (uint8_t)mg_slice_may_be_address(p, C->op[k]);
    const uint32_t product = mg_library_taker(p, C->op[k]);
    C->taker[k] = product ? C->place[p->ops[product].out[0].id] : (int16_t)-1;
    for (int q = 0; q < o->n_in; q++) {
      const int x = C->place[o->in[q].id];
      any |= x >= 0 && C->raw[x], every &= x >= 0 && C->raw[x];
      if (x >= 0) mgi_se_set_put(&C->of[k], x), mgi_se_set_put(&C->to[x], k);
      for (uint32_t i = 0; i < p->n_in; i++) if (p->in[i].id == o->in[q].id) C->takes[k] |= (uint64_t)1 << i;
    }
    C->raw[k] = (uint8_t)(mg_op_row(o->code)->abstract == MG_ABS_DIV ? any && !every : any);
  }
  int with[MGI_SE_MOST_OPS];
  for (int k = 0; k < C->n; k++) {
    const mg_op_node *o = &p->ops[C->op[k]];
    const int x = o->n_in == 1 && o->code != MG_OP_EXP && mg_op_row(o->code)->elementwise ? C->place[o->in[0].id] : -1;
    const int glued = x >= 0 && !C->given[x] && !C->address[x] && p->ops[C->op[x]].code != MG_OP_MATMUL &&
                      mgi_se_set_size(&C->to[x], C->n) == 1 &&
                      mgi_se_set_size(&C->alone[with[x]], C->n) < MGI_SE_SOPS / 2;
    with[k] = glued ? with[x] : k;
    mgi_se_set_put(&C->alone[with[k]], k);
  }
  return 1;
}
MGI_FN void mgi_se_cuts_free(mgi_se_cuts *C) { free(C->place), free(C->down); }

/* The operators outside of segment s that make what it takes; *takes: the inputs of the program that it takes, as
   bits. */
MGI_FN mgi_se_set mgi_se_cuts_need(const mgi_se_cuts *C, const mgi_se_set *s, uint64_t *takes) {
  mgi_se_set need;
  int none;
  memset(&need, 0, sizeof need), *takes = 0;
  for (int k = 0; k < C->n; k++) if (mgi_se_set_has(s, k)) mgi_se_set_join(&need, &C->of[k]), *takes |= C->takes[k];
  return mgi_se_set_minus(&need, s, &none);
}

/* The sets to start from for the down-sets: together[k], those of operator k, empty where it stays with another. */
typedef struct mgi_se_blocks { mgi_se_set together[MGI_SE_MOST_OPS]; } mgi_se_blocks;

/* 1: block k is not in the down-set, and all that it needs is. */
MGI_FN int mgi_se_cuts_follows(const mgi_se_cuts *C, const mgi_se_blocks *B, const mgi_se_set *down, int k) {
  uint64_t takes;
  int none;
  if (mgi_se_set_has(down, k) || !mgi_se_set_has(&B->together[k], k)) return 0;
  const mgi_se_set need = mgi_se_cuts_need(C, &B->together[k], &takes);
  mgi_se_set_minus(&need, down, &none);
  return none;
}
/* All down-sets of the blocks: from the empty one, what has all its operands is added, in every order.  0: there are
   more than `most`; -1: memory is out. */
MGI_FN int mgi_se_cuts_orders(mgi_se_cuts *C, const mgi_se_blocks *B, int most) {
  enum { SLOTS = 4 * MGI_SE_DOWN };
  int16_t *slot = (int16_t *)malloc(SLOTS * sizeof *slot);
  int all = 1;
  if (!slot) return -1;
  memset(slot, -1, SLOTS * sizeof *slot);
  C->n_down = 1;
  memset(&C->down[0], 0, sizeof C->down[0]);
  for (int at = 0; at < C->n_down && all; at++)
    for (int k = 0; k < C->n && all; k++) {
      mgi_se_set next = C->down[at];
      if (!mgi_se_cuts_follows(C, B, &next, k)) continue;
      mgi_se_set_join(&next, &B->together[k]);
      uint32_t h = (uint32_t)mgi_se_set_hash(&next) & (SLOTS - 1);
      while (slot[h] >= 0 && !mgi_se_set_same(&C->down[slot[h]], &next)) h = (h + 1) & (SLOTS - 1);
      if (slot[h] >= 0) continue;
      if (C->n_down > most) all = 0;
      else slot[h] = (int16_t)C->n_down, C->down[C->n_down++] = next;
    }
  free(slot);
  return all;
}
/* Blocks of a long program: with what nothing else uses, its only user, if that is no product. */
MGI_FN void mgi_se_cuts_blocks(const mgi_se_cuts *C, mgi_se_blocks *B) {
  int block[MGI_SE_MOST_OPS];
  memset(B, 0, sizeof *B);
  for (int k = 0; k < C->n; k++) {
    const mg_opcode code = (mg_opcode)C->p->ops[C->op[k]].code;
    block[k] = k;
    for (int x = 0; x < k && code != MG_OP_MATMUL && code != MG_OP_CONCAT_MATMUL; x++) {
      if (!mgi_se_set_has(&C->of[k], x) || C->given[x] || mgi_se_set_size(&C->to[x], C->n) > 1) continue;
      const int was = block[x];
      for (int j = 0; j < k; j++) if (block[j] == was) block[j] = k;
    }
  }
  for (int k = 0; k < C->n; k++) mgi_se_set_put(&B->together[block[k]], k);
}
MGI_FN int mgi_se_down_cmp(const void *x, const void *y) {
  const mgi_se_set *a = (const mgi_se_set *)x, *b = (const mgi_se_set *)y;
  const int more = mgi_se_set_size(a, MGI_SE_MOST_OPS) - mgi_se_set_size(b, MGI_SE_MOST_OPS);
  return more ? more : memcmp(a, b, sizeof *a);
}
/* Fills in the down-sets: all, if there are few enough; of a long program those of its blocks, and with each of these
   what begins another block; or those that the postorder passes through.  0 if memory is out. */
MGI_FN int mgi_se_cuts_down(mgi_se_cuts *C) {
  const double most = sqrt((double)MGI_SE_CHAINS / (C->n + 1));
  const int few = most < MGI_SE_DOWN ? (int)most : (int)MGI_SE_DOWN;
  mgi_se_blocks *B = (mgi_se_blocks *)calloc(1, sizeof *B);
  C->down = (mgi_se_set *)calloc(MGI_SE_DOWN + 2, sizeof *C->down);
  if (!B || !C->down) { free(B); return 0; }
  memcpy(B->together, C->alone, sizeof B->together);
  int all = mgi_se_cuts_orders(C, B, few);
  C->part = all == 0;
  if (C->part) mgi_se_cuts_blocks(C, B), all = mgi_se_cuts_orders(C, B, few);
  const int whole = C->n_down;
  for (int at = 0; at < whole && C->part && all > 0; at++)
    for (int k = 0; k < C->n; k++) {
      mgi_se_set next = C->down[at];
      if (!mgi_se_cuts_follows(C, B, &next, k)) continue;
      for (int j = 0; j < k && C->n_down < few; j++) {
        if (!mgi_se_set_has(&B->together[k], j) || !mgi_se_set_has(&C->alone[j], j)) continue;
        mgi_se_set_join(&next, &C->alone[j]);
        int known = 0;
        for (int i = 0; i < C->n_down; i++) known |= mgi_se_set_same(&C->down[i], &next);
        if (!known) C->down[C->n_down++] = next;
      }
    }
  if (C->part && all > 0) qsort(C->down, (size_t)C->n_down, sizeof *C->down, mgi_se_down_cmp);
  free(B);
  if (all) return all > 0;
  C->n_down = 1;
  for (int k = 0; k < C->n; k++)
    if (mgi_se_set_has(&C->alone[k], k))
      C->down[C->n_down] = C->down[C->n_down - 1], mgi_se_set_join(&C->down[C->n_down++], &C->alone[k]);
  return 1;
}

/* Whether operator k of segment s hands what it makes to others. */
MGI_FN int mgi_se_cuts_leaves(const mgi_se_cuts *C, const mgi_se_set *s, int k) {
  int none;
  mgi_se_set_minus(&C->to[k], s, &none);
  return C->given[k] || !none;
}

/* The bytes that segment s takes and gives; negative if it has too many inputs or outputs, or hands another segment an
   exponential that is not normalised: fp16 in device memory would overflow. */
MGI_FN double mgi_se_cuts_bytes(const mgi_se_cuts *C, const mgi_se_set *s) {
  uint64_t takes;
  const mgi_se_set need = mgi_se_cuts_need(C, s, &takes);
  double bytes = 0;
  int n_in = 0, n_out = 0;
  for (int k = 0; k < C->n; k++) {
    if (mgi_se_set_has(&need, k)) n_in++, bytes += C->bytes[k];
    if (!mgi_se_set_has(s, k) || !mgi_se_cuts_leaves(C, s, k)) continue;
    if (C->raw[k] && !C->given[k]) return -1; /* an output of the program is as the program wants it */
    n_out++, bytes += C->bytes[k];
  }
  for (uint32_t i = 0; i < C->p->n_in; i++) if (takes >> i & 1) n_in++, bytes += C->in_bytes[i];
  return n_in > MG_MAX_IN || n_out > MG_MAX_OUT ? -1 : bytes;
}

/* Segment f->ops as a program of its own, and which tensors its inputs and outputs are; NULL: *e says why not.  Inputs
   come in the order in which its operators take them, those of the whole program in the program's: segments that are
   equal up to names are one program. */
MGI_FN mg_graph *mgi_se_segment(const mgi_se_cuts *C, mgi_se_found *f, mg_error *e) {
  const mg_graph *p = C->p;
  const int whole = mgi_se_set_same(&f->ops, &C->all);
  mg_tensor *map = (mg_tensor *)calloc(p->n_tensors, sizeof *map);
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(p->name, &c);
  int n_in = 0, n_out = 0, bad = !map || !g;
  for (uint32_t i = 0; i < p->n_in && whole; i++) f->in[n_in++] = p->in[i];
  for (int k = 0; k < C->n && !whole && !bad; k++) {
    const mg_op_node *o = &p->ops[C->op[k]];
    for (int q = 0; q < o->n_in && mgi_se_set_has(&f->ops, k) && !bad; q++) {
      const int x = C->place[o->in[q].id];
      int known = x >= 0 && mgi_se_set_has(&f->ops, x);
      for (int i = 0; i < n_in; i++) known |= f->in[i].id == o->in[q].id;
      if (!known && n_in == MG_MAX_IN) bad = 1;
      else if (!known) f->in[n_in++] = o->in[q];
    }
  }
  for (int i = 0; i < n_in && !bad; i++) map[f->in[i].id] = mgi_se_copy_input(g, p, f->in[i]);
  for (int k = 0; k < C->n && !bad; k++) {
    if (!mgi_se_set_has(&f->ops, k)) continue;
    mg_tensor in[MG_MAX_IN];
    const mg_op_node *o = &p->ops[C->op[k]];
    for (int q = 0; q < o->n_in; q++) in[q] = map[o->in[q].id];
    map[o->out[0].id] = mg_named(g, mg_apply(g, o->code, &o->attr, o->n_in, in), mg_tensor_of(p, o->out[0])->name);
    if (map[o->out[0].id].id) g->tensors[map[o->out[0].id].id].inner = mg_tensor_of(p, o->out[0])->inner;
    if (whole || !mgi_se_cuts_leaves(C, &f->ops, k)) continue;
    if (n_out == MG_MAX_OUT) bad = 1;
    else f->out[n_out++] = o->out[0];
  }
  if (whole) for (uint32_t k = 0; k < p->n_out; k++) f->out[n_out++] = p->out[k];
  for (int k = 0; k < n_out && !bad; k++) mg_output(g, map[f->out[k].id]);
  if (!bad) bad = mg_check(g, e) != MG_OK;
  free(map);
  if (bad) { mg_graph_free(g); return NULL; }
  return g;
}

/* ------------------------------------------------------------------------------------------------- >>search

   A segment is searched by frames, in parallel; its best structures are tuned, then checked in order until enough
   passed.  The whole program is the first segment.  Others are searched where a lower bound (launches and bytes) does
   not already show that a program cut there cannot win: which ones is known before the first of them is begun, so they
   are searched at once.  A worker takes the next frame of a segment that is under way; if there is none it begins
   another segment; who finishes a segment's last frame tunes and checks what it found.  A segment's result depends on
   nothing but the segment, and segments are put together in their order: any number of workers gives the
   same.              */

/* One for the whole search, the root, and one for each segment beside the whole program.  What several threads use,
   lock, checkpoint and `failed`, is the root's. */
typedef struct mgi_se_search {
  struct mgi_se_search *root;
  const mg_graph *p;
  mg_search_config cfg;
  mg_search_stats st;
  double t0, end, shown;
  const mg_graph *rows;                  /* NULL, or the program as one kernel by rows or as kernels by parts of them,
                                            and what that takes */
  double rows_us;
  pthread_mutex_t lock, hook;
  int cut, late, timed;                 /* cut: something was left out; late: the time limit or `stop` did it; timed: a
                                           check's own limit, as on a busy machine */
  /* the segment in hand */
  const mgi_se_seg *seg;
  mgi_se_frame *frame;
  int n_frames, cap_frames;
  int *turn, n_turns, next;             /* the frames to search now, in their order; of them, the next */
  int effort;                           /* see mgi_se_effort */
  double seg_t0;
  mgi_se_found *found;                  /* of a segment under way: what it becomes */
  mgi_se_found *had;                    /* what >>cuts has found, for >>rewrite */
  int tiling_ops;                       /* max_block_ops of tilings, of which more operators are no more to try */
  int n_had, n_sure;                     /* n_sure: of the results so many, the first, are none that `wary` names */
  mgi_se_structure *pool;               /* at most MGI_SE_POOL */
  int16_t order[MGI_SE_POOL];           /* of them, the best first */
  uint8_t tuned[MGI_SE_POOL];           /* of them: 1: us is of the best tile; 2: there was no time for more than a
                                           coarse one */
  double limit;                         /* us; slower ones need not be tuned */
  int n_pool, next_tune, oom, unkept;   /* unkept: in the pool is what a frame that was cut short has found */
  /* the checkpoint: what was there, where each frame's record is, sorted; what is not yet written, and when it may
     be */
  uint64_t seed, seg_id;
  mgi_se_buffer kept, news;
  mgi_se_record *record;
  uint32_t n_record;
  FILE *file;
  double write_at;
  int units, units_done;                /* for the caller: frames of the whole program, then segments */
  int more;                             /* 1: and there are steps of the search behind these */
  int damaged;                          /* a record was not what it must be: nothing is written any more */
  uint32_t probe_ns[MGI_SE_PROBES];     /* sums of the frames' */
} mgi_se_search;

/* Takes the outcome of a step that makes or judges a candidate: where memory was out, the search is not complete. */
MGI_FN mg_status mgi_se_step(mgi_se_search *S, mg_status st) {
  S->cut |= st == MG_NO_MEMORY;
  return st;
}

/* What the model says of g; 1e18 if there is none, and e says why. */
MGI_FN double mgi_se_us(mgi_se_search *S, const mg_graph *g, const mg_error *e) {
  const double us = g ? mg_predict_us(g, S->cfg.machine) : MG_NO_TIME;
  mgi_se_step(S, g ? us < MG_NO_TIME ? MG_OK : MG_NO_MEMORY : e->status);
  return us;
}

/* 1 if g may go on as a candidate; where memory or time kept the verifier from a verdict, the search is not
   complete. */
MGI_FN int mgi_se_equal(mgi_se_search *S, const mg_graph *p, const mg_graph *g, const mg_verify_config *v,
                        mg_verify_report *r) {
  mg_error e;
  if (mgi_se_step(S, mg_verify(p, g, v, r, &e)) != MG_OK) return 0;
  if (r->unfinished && v->stop && mgi_se_stopped(&S->cfg)) { /* most take far less: what was found is kept */
    mg_verify_config last = *v;
    last.stop = NULL, last.time_limit_s = 1;
    if (mgi_se_step(S, mg_verify(p, g, &last, r, &e)) != MG_OK) return 0;
  }
  /* a check's own ten seconds are no option's */
  const int ended = mgi_se_stopped(&S->cfg) || mgi_se_seconds() >= S->end;
  S->cut |= r->unfinished, S->late |= r->unfinished && ended, S->timed |= r->unfinished && !ended;
  if (r->verdict == MG_EQUAL_SAMPLED) return S->cfg.allow_sampled;
  return r->verdict == MG_EQUAL || r->agreed; /* no bound at small sizes: the certificate decides */
}

/* The hook's answer; one thread at a time asks. */
MGI_FN mg_status mgi_se_emittable(mgi_se_search *S, const mg_graph *g, mg_error *why) {
  if (!S->cfg.emittable) return MG_OK;
  pthread_mutex_lock(&S->root->hook);
  mg_status st = mgi_se_step(S, S->cfg.emittable(S->cfg.user, g, why));
  pthread_mutex_unlock(&S->root->hook);
  return st;
}

MGI_FN int mgi_se_over(mgi_se_search *S) {
  if (mgi_se_stopped(&S->cfg) || mgi_se_seconds() > S->end) { S->cut = S->late = 1; return 1; }
  return 0;
}

/* The file's head and a record's.  mark: of `bytes` alone. */
typedef struct mgi_se_kept_head { char magic[8]; mgi_se_key key; uint64_t check; } mgi_se_kept_head;
typedef struct mgi_se_kept_mark { uint32_t bytes, mark; uint64_t check; } mgi_se_kept_mark;

MGI_FN mgi_se_kept_head mgi_se_kept_head_of(const mgi_se_key *key) {
  mgi_se_kept_head h;
  memset(&h, 0, sizeof h);
  memcpy(h.magic, "mirageK7", 8), h.key = *key, h.check = mgi_se_key_hash(key);
  return h;
}
MGI_FN uint32_t mgi_se_kept_marked(uint64_t seed, uint32_t bytes) { return (uint32_t)mgi_se_mix(seed, bytes); }

/* The body of a record but its structures, in both directions. */
MGI_FN void mgi_se_kept_code(mgi_se_buffer *c, mgi_se_kept *r) {
  if (c->reads) memset(r, 0, sizeof *r), mgi_se_get_to(c, &r->seg, sizeof r->seg);
  else mgi_se_put(c, &r->seg, sizeof r->seg);
  MGI_SE_FIELD(c, r->frame);
  MGI_SE_FIELD(c, r->n);
  MGI_SE_FIELD(c, r->cut);
  MGI_SE_FIELD(c, r->effort);
  for (int k = 0; k < 9; k++) MGI_SE_FIELD(c, r->count[k]);
  c->bad |= r->frame < 0 || r->n < 0 || r->n > MGI_SE_KEEP;
}

MGI_FN int mgi_se_record_cmp(const void *a, const void *b) {
  const mgi_se_record *x = (const mgi_se_record *)a, *y = (const mgi_se_record *)b;
  return x->seg != y->seg ? x->seg < y->seg ? -1 : 1 : x->frame != y->frame ? x->frame < y->frame ? -1 : 1 : 0;
}
MGI_FN int mgi_se_record_order(const void *a, const void *b) {
  const int differ = mgi_se_record_cmp(a, b);
  return differ ? differ : ((const mgi_se_record *)a)->effort - ((const mgi_se_record *)b)->effort;
}

/* Notes where the records are; *whole is what is left of the file without an end that is torn: a last record that is
   not whole, or zeros. */
MGI_FN mg_status mgi_se_kept_index(mgi_se_search *S, size_t *whole, mg_error *e) {
  const uint8_t *b = S->kept.b;
  size_t n = S->kept.n, at = sizeof(mgi_se_kept_head), end = n;
  uint32_t cap = 0;
  while (end > at && !b[end - 1]) end--;
  for (mgi_se_kept_mark m; n - at >= sizeof m && end > at; at += sizeof m + m.bytes) {
    memcpy(&m, b + at, sizeof m);
    int torn = m.bytes > n - at - sizeof m, bad = m.mark != mgi_se_kept_marked(S->seed, m.bytes);
    if (torn && !bad) break;
    mgi_se_kept r;
    mgi_se_buffer c;
    memset(&r, 0, sizeof r), memset(&c, 0, sizeof c);
    if (!bad) {
      c.b = S->kept.b, c.at = at + sizeof m, c.n = c.at + m.bytes, c.reads = 1;
      bad = mgi_se_bytes_hash(S->seed, b + c.at, m.bytes) != m.check;
      if (!bad) mgi_se_kept_code(&c, &r), bad = c.bad;
    }
    /* nothing follows */
    if (bad && !torn && m.mark == mgi_se_kept_marked(S->seed, m.bytes) && end <= at + sizeof m + m.bytes) break;
    if (bad)
      return mg_fail(e, MG_BAD_INPUT, S->cfg.checkpoint,
                     "the checkpoint is damaged at byte %llu of %llu; it is left as it is", (unsigned long long)at,
                     (unsigned long long)n);
    mgi_se_record *to = (mgi_se_record *)mgi_se_grow(S->record, &cap, S->n_record + 1, sizeof *to);
    if (!to) return mg_fail(e, MG_NO_MEMORY, S->cfg.checkpoint, "no memory for the checkpoint");
    S->record = to, to += S->n_record++;
    to->seg = r.seg, to->frame = r.frame, to->effort = r.effort, to->at = at + sizeof m, to->bytes = m.bytes;
  }
  *whole = at;
  if (S->n_record) qsort(S->record, S->n_record, sizeof *S->record, mgi_se_record_order);
  uint32_t kept = 0; /* of a frame that was searched more than once, what took the least effort */
  for (uint32_t k = 0; k < S->n_record; k++)
    if (!kept || mgi_se_record_cmp(&S->record[kept - 1], &S->record[k])) S->record[kept++] = S->record[k];
  S->n_record = kept;
  return MG_OK;
}

/* Opens the checkpoint for more records, if one is asked for.  What has no whole head, as it was begun only, or a torn
   end, is first written anew beside it. */
MGI_FN mg_status mgi_se_kept_open(mgi_se_search *S, mg_error *e) {
  const char *path = S->cfg.checkpoint;
  mgi_se_key key;
  if (!path) return MG_OK;
  if (!mgi_se_key_of(S->p, &S->cfg, &key)) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the checkpoint");
  mgi_se_kept_head h = mgi_se_kept_head_of(&key), was;
  size_t whole = 0;
  S->seed = h.check;
  FILE *f = fopen(path, "rb");
  if (f) {
    mg_status st = mgi_se_kept_read(f, path, "checkpoint", "it is left as it is", "mirageK7", &S->kept, e);
    fclose(f);
    if (st != MG_OK) return st;
    const mgi_se_buffer *b = &S->kept;
    if (b->n >= sizeof h) {
      memcpy(&was, b->b, sizeof was);
      if (was.check != mgi_se_key_hash(&was.key))
        return mg_fail(e, MG_BAD_INPUT, path, "the checkpoint is damaged at byte 8 of %llu; it is left as it is",
                       (unsigned long long)b->n);
      for (int k = 0; k < 4; k++)
        if (was.key.part[k] != key.part[k])
          return mg_fail(e, MG_BAD_INPUT, path,
                         "expected a checkpoint of this search, found one of %s; it is left as it is",
                         mgi_se_key_other[k]);
      st = mgi_se_kept_index(S, &whole, e);
      if (st != MG_OK) return st;
    } else if (memcmp(b->b, &h, b->n))
      return mg_fail(e, MG_BAD_INPUT, path,
                     "expected a checkpoint of this search, found the beginning of another's; it is left as it is");
  }
  /* what is there stays what it is: a link, a device; a rename would put a file in its place */
  const int empty = f && !S->kept.n;
  if (!empty && (!f || whole < S->kept.n || !whole)) {
    size_t len = strlen(path), head = whole ? 0 : sizeof h;
    char *tmp = (char *)malloc(len + 5);
    if (!tmp) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for the checkpoint");
    memcpy(tmp, path, len), memcpy(tmp + len, ".tmp", 5);
    int ok = mgi_se_kept_put(path, tmp, "wb", &h, head, S->kept.b, whole);
    free(tmp);
    if (!ok) return mg_fail(e, MG_MACHINE, path, "the checkpoint cannot be written");
  }
  S->file = fopen(path, "ab");
  const int ok = S->file && (!empty || (fwrite(&h, sizeof h, 1, S->file) == 1 && fflush(S->file) == 0));
  return ok ? MG_OK : mg_fail(e, MG_MACHINE, path, "the checkpoint cannot be written");
}

/* Appends what is new; under the lock, or alone.  What fails leaves a torn end: nothing follows it. */
MGI_FN void mgi_se_kept_write(mgi_se_search *S) {
  double t = mgi_se_seconds();
  int ok = !S->news.bad && S->file && (!S->news.n || fwrite(S->news.b, 1, S->news.n, S->file) == S->news.n) &&
           fflush(S->file) == 0;
  S->news.n = 0;
  if (!ok) {
    S->st.checkpoint_lost = 1;
    if (S->file) fclose(S->file);
    S->file = NULL;
  }
  double now = mgi_se_seconds(), pause = 20 * (now - t); /* at most a twentieth of the time */
  S->write_at = now + (pause > 0.1 ? pause : 0.1);
}

/* Takes t to the segment's pool, which holds the MGI_SE_KEEP best that it was given and, of the others, the best with a
   group axis; 0 if t is not among them.  Who is left out here is left out by all: more that are better do not bring it
   back. */
MGI_FN int mgi_se_pool_add(mgi_se_search *S, const mgi_se_structure *t) {
  int at = S->n_pool, out = -1;
  while (at > 0 && mgi_se_structure_before(t, &S->pool[S->order[at - 1]])) at--;
  if (at >= MGI_SE_POOL || (at >= MGI_SE_KEEP && !t->group)) return 0;
  if (S->n_pool >= MGI_SE_KEEP && at < MGI_SE_KEEP && !S->pool[S->order[MGI_SE_KEEP - 1]].group) out = MGI_SE_KEEP - 1;
  else if (S->n_pool == MGI_SE_POOL) out = MGI_SE_POOL - 1;
  int slot = out < 0 ? S->n_pool : S->order[out], end = out < 0 ? S->n_pool++ : out;
  memmove(&S->order[at + 1], &S->order[at], (size_t)(end - at) * sizeof *S->order);
  S->order[at] = (int16_t)slot, S->pool[slot] = *t;
  return 1;
}

/* The caller is told of `us` for the whole program, if that is less than all before. */
MGI_FN void mgi_se_likely(mgi_se_search *S, double us) {
  if (us < MG_UNFIT_US && (S->st.structure_us <= 0 || us < S->st.structure_us)) S->st.structure_us = us;
}
/* What a frame says of itself, and the fastest of its structures that anyone wants, NULL: none, go to the sums; under
   the lock. */
MGI_FN void mgi_se_frame_done(mgi_se_search *S, const mgi_se_kept *r, const mgi_se_structure *best) {
  mgi_se_search *R = S->root;
  mg_search_stats *st = &R->st;
  st->states += r->count[0], st->pruned_expression += r->count[1], st->pruned_shape += r->count[2],
      st->pruned_duplicate += r->count[3];
  st->pruned_limit += r->count[4], st->pruned_bound += r->count[5], st->values += r->count[6],
      st->structures += r->count[7], st->pruned_pairs += r->count[8];
  st->frames++;
  if (S == R) {
    S->units_done++;
    if (best) mgi_se_likely(S, best->us);
  }
  R->cut |= r->cut;
}

/* Tells the caller how far the search is, at most five times a second; the main thread, with or without the lock. */
MGI_FN void mgi_se_tell(mgi_se_search *S, int locked) {
  double now = mgi_se_seconds(), left = -1;
  if (!S->cfg.progress || now - S->shown <= 0.2) return;
  if (!locked) pthread_mutex_lock(&S->lock);
  S->shown = now;
  mg_search_stats st = S->st;
  if (S->units_done && now - S->seg_t0 > 0.5) left = (now - S->seg_t0) * (S->units - S->units_done) / S->units_done;
  const double most = S->cfg.time_limit_s > 0 ? S->t0 + S->cfg.time_limit_s - now : -1;
  st.left_limit = S->cfg.time_limit_s > 0 && (S->more || left < 0 || left > most);
  if (st.left_limit || S->more) left = most; /* nobody knows how long the steps behind this one take */
  if (!locked) pthread_mutex_unlock(&S->lock);
  st.seconds = now - S->t0, st.left_s = left;
  S->cfg.progress(S->cfg.user, &st);
}

/* Effort e: a segment's most promising frames first, as far as a few states and steps go; then more of both.  The last
   is all of the space that is stated.  None depends on a clock.  A frame that such a limit ended is searched anew by
   the next. */
enum { MGI_SE_EFFORTS = 4, MGI_SE_EFFORT_FRAMES = 8, MGI_SE_EFFORT_STATES = 512, MGI_SE_EFFORT_STEPS = 1 << 12, MGI_SE_EFFORT_WORK = 1 << 22 };
MGI_FN mg_search_config mgi_se_effort(const mg_search_config *cfg, int e) {
  mg_search_config c = *cfg;
  const int64_t states = (int64_t)MGI_SE_EFFORT_STATES << 2 * e, steps = (int64_t)MGI_SE_EFFORT_STEPS << 4 * e;
  if (e >= MGI_SE_EFFORTS - 1) return c;
  if (c.max_states > states) c.max_states = states;
  if (c.max_steps > steps && !c.structure) c.max_steps = steps; /* the hook sees each once */
  return c;
}
/* A frame's work; 0: all that there is, as nothing more may be given. */
MGI_FN double mgi_se_effort_work(const mg_search_config *cfg, int e) {
  const mg_search_config c = mgi_se_effort(cfg, e);
  return c.max_states < cfg->max_states || c.max_steps < cfg->max_steps ? (double)((int64_t)MGI_SE_EFFORT_WORK << 3 * e)
                                                                        : 0;
}
/* What effort e is for frame k: e for the most promising, for others, up to a number, that of the first one; -1:
   none. */
MGI_FN int mgi_se_effort_of(int e, int k) {
  const int most = MGI_SE_EFFORT_FRAMES << e / 2;
  if (e == MGI_SE_EFFORTS - 1 || k < most) return e;
  return k < 2 * most ? 0 : -1;
}

/* 1: frame k of the segment in hand has a record, whose part it then takes, unless it took more effort; under the
   lock. */
MGI_FN int mgi_se_kept_take(mgi_se_search *S, int k) {
  mgi_se_search *R = S->root;
  mgi_se_record key = { S->seg_id, k, 0, 0, 0 };
  const mgi_se_record *at = R->n_record ? (const mgi_se_record *)bsearch(&key, R->record, R->n_record, sizeof key,
                                                                         mgi_se_record_cmp)
                                        : NULL;
  if (!at || R->damaged) return 0;
  mgi_se_buffer c = R->kept;
  mgi_se_kept r;
  mgi_se_structure t, best;
  c.at = at->at, c.n = at->at + at->bytes, c.reads = 1;
  mgi_se_kept_code(&c, &r);
  const int effort = mgi_se_effort_of(S->effort, k);
  if (!c.bad && r.effort > effort) {
    S->found->n_open++, S->found->n_spent += effort == S->effort;
    S->found->open[k] = (uint8_t)(2 + effort);
    return 1;
  }
  S->found->open[k] = 0;
  for (int i = 0; i < r.n && !c.bad; i++) {
    mgi_se_structure_code(&c, S->seg, &S->frame[k], &t);
    if (!c.bad) mgi_se_pool_add(S, &t);
    if (!i) best = t;
  }
  if (c.bad || c.at != c.n) R->damaged = 1;
  else mgi_se_frame_done(S, &r, r.n ? &best : NULL), R->st.resumed++;
  return 1;
}

/* The record of a finished frame, with those of its structures that `keep` marks; under the lock. */
MGI_FN void mgi_se_kept_add(mgi_se_search *S, mgi_se_kept *r, mgi_se_structure *t, const uint8_t *keep) {
  mgi_se_search *R = S->root;
  mgi_se_buffer *w = &R->news;
  mgi_se_kept_mark m;
  size_t at = w->n;
  if (!R->file || R->damaged || S->seg->stop >= MG_TIME) return; /* with more time it has more to find */
  memset(&m, 0, sizeof m);
  mgi_se_put(w, &m, sizeof m);
  mgi_se_kept_code(w, r);
  for (int i = 0, n = r->n; n; i++) if (keep[i]) mgi_se_structure_code(w, S->seg, &S->frame[r->frame], &t[i]), n--;
  if (!w->bad) {
    m.bytes = (uint32_t)(w->n - at - sizeof m), m.mark = mgi_se_kept_marked(R->seed, m.bytes);
    m.check = mgi_se_bytes_hash(R->seed, w->b + at + sizeof m, m.bytes);
    memcpy(w->b + at, &m, sizeof m);
  }
  if (w->bad || mgi_se_seconds() >= R->write_at) mgi_se_kept_write(R);
}

/* Finds the structures of frame f, whose values are there; 0 if memory is out. */
MGI_FN int mgi_se_walk_all(mgi_se_search *S, mgi_se_walk *w, mgi_se_frame *f) {
  int cyclic = 1;
  w->f = f, w->gpu = S->cfg.machine, w->show = &S->root->lock;
  if (f->oom || !mgi_se_walk_exits(w)) return 0;
  if (S->cfg.bound && !S->cfg.structure) mgi_se_walk_signs(w);
  if (f->oom || !mgi_se_walk_order(w)) return 0;
  if (S->cfg.bound) w->guide = mgi_se_bound_new(w, &cyclic);
  if (!w->guide && (!cyclic || !mgi_se_walk_must(w))) return 0;
  mgi_se_outputs(w, 0);
  return 1;
}
MGI_FN void mgi_se_walk_free(mgi_se_walk *w) {
  if (!w) return;
  free(w->slot), free(w->best), free(w->least), free(w->over), free(w->order), free(w->first), free(w->cost);
  free(w->must), free(w->refs), free(w->der_cost), free(w->least_cost), free(w->exit), free(w->mark);
  mgi_se_bound_free(w->guide);
  free(w);
}

MGI_FN double mgi_se_launch_least(const mg_machine *gpu) { return gpu->launch * gpu->launch_us + gpu->drain_us; }

/* What a frame's blocks load and store: of each tensor its bytes, and the grid axes that may cut it. */
typedef struct mgi_se_traffic {
  int n, axes, group, list[4];
  double bytes[MG_MAX_IN + MG_MAX_OUT], all, fixed;
  uint8_t cut[MG_MAX_IN + MG_MAX_OUT];
  int64_t count[4][2 * MGI_SE_COUNTS];
} mgi_se_traffic;

/* The counts that axis a may have (mgi_se_counts), whatever the structure. */
MGI_FN int mgi_se_counts_any(int a, int64_t e, int64_t *out) {
  mgi_se_structure none;
  none.n = 0;
  int n = mgi_se_counts(&none, a, e, 0, out);
  n += mgi_se_counts(&none, a, e, 1, out + n);
  out[n++] = e;
  return n;
}

MGI_FN void mgi_se_traffic_of(const mgi_se_seg *s, const mgi_se_frame *f, const mg_machine *gpu, mgi_se_traffic *T) {
  const mg_graph *p = s->p;
  memset(T, 0, sizeof *T);
  T->axes = f->n_grid, T->group = f->group;
  T->fixed = mgi_se_launch_least(gpu) + gpu->operator_us * (p->n_in + p->n_out);
  for (uint32_t k = 0; k < p->n_in + p->n_out; k++) {
    const mg_tensor t = k < p->n_in ? p->in[k] : p->out[k - p->n_in];
    const mg_tensor_info *u = mg_tensor_of(p, t);
    if (u->fill != MG_FILL_NONE) continue; /* it is made, not loaded */
    T->bytes[T->n] = (double)mg_shape_elements(&u->shape) * mg_dtype_bytes(u->dtype);
    for (int a = 1; a <= f->n_grid; a++) {
      int cuts = a == f->group; /* what stands behind the merge is shared out */
      for (int d = 0; d < u->shape.rank; d++) cuts |= mgi_se_cuts_class(s, f->gcls[a], mgi_se_cls(s, t, d));
      if (cuts) T->cut[T->n] |= (uint8_t)(1 << a);
    }
    T->all += T->bytes[T->n++];
  }
  for (int a = 1; a <= f->n_grid; a++) T->list[a] = mgi_se_counts_any(a, s->real[f->gcls[a]], T->count[a]);
}

/* At these counts of the grid's axes: a block has its part of each tensor, all of it where no axis cuts it. */
MGI_FN double mgi_se_traffic_us(const mgi_se_traffic *T, const mg_machine *gpu, const int64_t *count) {
  const int64_t group = T->group ? count[T->group] : 1, blocks = count[1] * count[2] * count[3];
  double slow = 0, merge = 0;
  for (int k = 0; k < T->n; k++) {
    double parts = 1;
    for (int a = 1; a <= T->axes; a++)
      if (T->cut[k] >> a & 1) parts *= (double)count[a];
    slow += T->bytes[k] / parts;
  }
  if (group > 1) {
    merge = gpu->last_us + gpu->last_block_us * (double)group;
    if (mg_machine_clusters(gpu, group)) merge = fmin(merge, group > 8 ? gpu->cluster_large_us : gpu->cluster_us);
  }
  const double drawn = mg_waves(gpu, blocks, group) * slow / mg_sm_rate(gpu);
  const double chip = gpu->chip_draw * slow * (double)blocks / (gpu->l2_gbps * 1e3);
  const double body = fmax(fmax(drawn, chip), fmax(mg_dram_us(gpu, T->all), gpu->block_start_us * (double)blocks));
  return T->fixed + body + merge;
}

/* 1: every kernel of frame f that takes all inputs takes `most` us or more, by its loads and stores alone.
   (tests/test_tuner.c holds it against the model.) */
MGI_FN int mgi_se_frame_slow(const mgi_se_seg *s, const mgi_se_frame *f, const mg_machine *gpu, double most) {
  enum { TRIED = 1 << 14 }; /* more counts take longer than they are worth */
  mgi_se_traffic T;
  int64_t count[4] = { 1, 1, 1, 1 };
  int masked = 0;
  for (uint32_t k = 0; k < s->p->n_in; k++) masked |= mg_tensor_of(s->p, s->p->in[k])->fill != MG_FILL_NONE;
  if (masked) most /= MG_SEEN_LEAST;
  mgi_se_traffic_of(s, f, gpu, &T);
  if (T.fixed + mg_dram_us(gpu, T.all) >= most * (1 + 1e-9)) return 1;
  int64_t tried = 1;
  for (int a = 1; a <= T.axes; a++) tried *= T.list[a];
  if (tried > TRIED) return 0;
  for (int64_t k = 0; k < tried; k++) {
    int64_t at = k;
    for (int a = 1; a <= T.axes; a++) count[a] = T.count[a][at % T.list[a]], at /= T.list[a];
    if (mgi_se_traffic_us(&T, gpu, count) < most * (1 + 1e-9)) return 0; /* rounding */
  }
  return 1;
}

MGI_FN void mgi_se_run_frame(mgi_se_search *S, int k) {
  mgi_se_search *R = S->root;
  mgi_se_frame *f = &S->frame[k];
  const int effort = mgi_se_effort_of(S->effort, k), counts = effort == S->effort;
  const mg_search_config pace = mgi_se_effort(&S->cfg, effort);
  mgi_se_kept r;
  if (S->cfg.checkpoint) {
    pthread_mutex_lock(&R->lock);
    int done = mgi_se_kept_take(S, k) || R->damaged;
    pthread_mutex_unlock(&R->lock);
    if (done) return;
  }
  memset(&r, 0, sizeof r);
  if (S->found->most > 0 && mgi_se_frame_slow(S->seg, f, S->cfg.machine, S->found->most)) {
    pthread_mutex_lock(&R->lock);
    R->st.pruned_bound++; /* it is not searched, and has no record: another run may ask for more */
    S->found->open[k] = 0;
    pthread_mutex_unlock(&R->lock);
    return;
  }
  mgi_se_walk *w = (mgi_se_walk *)calloc(1, sizeof *w);
  f->s = S->seg, f->cfg = &pace, f->end = S->end, f->brief = mgi_se_effort_work(&S->cfg, effort);
  f->few_states = pace.max_states < S->cfg.max_states, f->few_steps = pace.max_steps < S->cfg.max_steps;
  f->n_probes = 21 * (uint32_t)k; /* so that of short frames, too, one check in 64 is timed */
  mgi_se_closure(f);
  const int short_of = f->spent && f->brief > 0; /* what is made last is not there */
  if (!short_of && !(w && mgi_se_walk_all(S, w, f))) f->oom = 1;
  const int again = f->spent && !f->late && !f->oom && f->brief > 0;
  r.seg = S->seg_id, r.frame = k, r.cut = f->cut && !again && !f->late, r.effort = effort;
  r.count[0] = f->st.states, r.count[1] = f->st.pruned_expression, r.count[2] = f->st.pruned_shape,
  r.count[3] = f->st.pruned_duplicate;
  r.count[4] = f->st.pruned_limit, r.count[5] = f->st.pruned_bound, r.count[6] = f->n_val,
  r.count[7] = w ? (uint64_t)w->made : 0, r.count[8] = f->st.pruned_pairs;
  pthread_mutex_lock(&R->lock);
  uint8_t keep[MGI_SE_KEEP] = { 0 };
  S->unkept |= f->late || f->oom;
  for (int i = 0; w && i < w->n_best; i++)
    keep[i] = (uint8_t)(mgi_se_pool_add(S, &w->best[i]) || S->unkept), r.n += keep[i];
  mgi_se_frame_done(S, &r, w && w->n_best ? w->best : NULL);
  if (again) R->st.frames--;
  if (again || f->late) S->found->n_open++, S->found->n_spent += counts || f->late;
  if (again) S->found->open[k] = (uint8_t)(2 + effort);
  else if (!f->late) S->found->open[k] = 0;
  if (S->cfg.checkpoint && !again && !f->late && !f->oom) mgi_se_kept_add(S, &r, w ? w->best : NULL, keep);
  S->oom |= f->oom, R->late |= f->late;
  for (int i = 0; i < MGI_SE_PROBES; i++) R->probe_ns[i] += f->probe_ns[i];
  pthread_mutex_unlock(&R->lock);
  mgi_se_walk_free(w);
  mgi_se_frame_free(f);
}

typedef struct mgi_se_worker { mgi_se_search *S; int main, tune; } mgi_se_worker;
MGI_FN void *mgi_se_work(void *arg) {
  mgi_se_worker *W = (mgi_se_worker *)arg;
  mgi_se_search *S = W->S;
  for (;;) {
    pthread_mutex_lock(&S->lock);
    int k = W->tune ? S->next_tune++ : S->next++;
    const int frame = !W->tune && k < S->n_turns ? S->turn[k] : -1;
    double now = mgi_se_seconds();
    if (W->main) mgi_se_tell(S, 1);
    pthread_mutex_unlock(&S->lock);
    if (W->tune) {
      if (k >= S->n_pool) return NULL;
      if (S->tuned[k]) continue;
      mgi_se_structure *t = &S->pool[k];
      int over = mgi_se_stopped(&S->cfg) || now > S->end; /* then a coarse tile will do, where there is none yet */
      if (!over) mgi_se_tune(S->seg, t, S->cfg.machine, 0, 1, S->limit - t->foreign);
      else if (!t->n_tiles) mgi_se_tune(S->seg, t, S->cfg.machine, 1, MGI_SE_TILES, 1e300);
      S->tuned[k] = (uint8_t)(over ? 2 : t->n_tiles || S->limit >= 1e300);
    } else {
      if (frame < 0) return NULL;
      if (W->main) S->frame[frame].tell = S;
      mgi_se_run_frame(S, frame);
    }
  }
}
MGI_FN void mgi_se_parallel(mgi_se_search *S, int tune) {
  pthread_t thread[64];
  mgi_se_worker W[64];
  int n = 0, want = S->cfg.threads < 64 ? S->cfg.threads : 64;
  S->next = S->next_tune = 0;
  for (int k = 1; k < want; k++) {
    W[n + 1].S = S, W[n + 1].main = 0, W[n + 1].tune = tune;
    if (!pthread_create(&thread[n], NULL, mgi_se_work, &W[n + 1])) n++;
  }
  W[0].S = S, W[0].main = 1, W[0].tune = tune;
  mgi_se_work(&W[0]);
  for (int k = 0; k < n; k++) pthread_join(thread[k], NULL);
}

/* Whether axis class `by` cuts leading dimensions alone of outputs. */
MGI_FN int mgi_se_leads(const mgi_se_seg *s, int by) {
  for (uint32_t k = 0; k < s->p->n_out; k++) {
    const int rank = s->p->tensors[s->p->out[k].id].shape.rank;
    for (int d = rank > 2 ? rank - 2 : 0; d < rank; d++)
      if (mgi_se_cuts_class(s, by, mgi_se_cls(s, s->p->out[k], d))) return 0;
  }
  return 1;
}

MGI_FN void mgi_se_frame_add(mgi_se_search *S, const mgi_se_seg *s, const mgi_se_frame *like) {
  int axes[MGI_SE_MAX_CLASSES] = { 0 };
  for (int a = 1; a < MGI_SE_AXES; a++) {
    const int by = mgi_se_axis_class(like, a);
    for (int c = 0; c < s->n_cls; c++)
      axes[c] += mgi_se_cuts_class(s, by, c) && (a <= 4 || like->loop[1] != like->loop[0]);
  }
  const int filled = S->cfg.structure ? 0 : mgi_se_filled_axes(s, like);
  for (int a = 1; a <= like->n_grid; a++) /* each axis cuts an output, but for the group's */
    if (filled >> a & 1 && a != like->group && mgi_se_leads(s, like->gcls[a])) return;
  for (int c = 0; c < s->n_cls; c++) /* axes that cut one class need room at the small size */
    if (s->ext[c] < 2 ? axes[c] > 0 : axes[c] > 1 && s->ext[c] % (s->cnt[c] * s->cnt[c])) {
      S->cut |= s->real[c] > 3; /* a size that stays as it is: two axes could cut it */
      return;
    }
  if (S->n_frames == S->cap_frames) {
    int cap = S->cap_frames ? S->cap_frames * 2 : 64;
    mgi_se_frame *f = (mgi_se_frame *)realloc(S->frame, (size_t)cap * sizeof *f);
    if (!f) { S->oom = 1; return; }
    S->frame = f, S->cap_frames = cap;
  }
  S->frame[S->n_frames++] = *like;
}

/* What is most likely to have the fastest first: many grid axes, no group axis, no loop. */
MGI_FN int mgi_se_frame_cmp(const void *x, const void *y) {
  const mgi_se_frame *a = (const mgi_se_frame *)x, *b = (const mgi_se_frame *)y;
  const int axes = (b->n_grid - (b->group > 0)) - (a->n_grid - (a->group > 0)), group = (a->group > 0) - (b->group > 0);
  if (axes || group) return axes ? axes : group;
  for (int k = 1; k <= a->n_grid; k++) if (a->gcls[k] != b->gcls[k]) return a->gcls[k] - b->gcls[k];
  return a->loop[0] != b->loop[0] ? a->loop[0] - b->loop[0] : a->loop[1] - b->loop[1];
}

/* Frames: sets of the outputs' classes for the grid (the last dimension goes on x), times a class that is summed over
   for the group axis or none, times a class for each loop or none. */
MGI_FN void mgi_se_frames(mgi_se_search *S, const mgi_se_seg *s) {
  int cls[MGI_SE_MAX_CLASSES], n = 0;
  uint8_t loaded[MGI_SE_MAX_CLASSES] = { 0 };
  S->n_frames = 0;
  uint32_t equal = 0; /* classes that are cut with others of their extent or not at all */
  for (int k = 0; k < s->n_tied; k++) {
    int same = 1;
    for (int c = 0; c < s->n_cls; c++) same &= !(s->tied[k] >> c & 1) || s->real[c] == s->real[s->n_cls + k];
    cls[n++] = s->n_cls + k;
    if (same) equal |= s->tied[k];
  }
  for (uint32_t k = 0; k < s->p->n_out; k++)
    for (int d = s->p->tensors[s->p->out[k].id].shape.rank; d-- > 0;) {
      int c = mgi_se_cls(s, s->p->out[k], d), seen = c < 0 || (equal >> c & 1);
      for (int j = 0; j < n; j++) seen |= cls[j] == c;
      if (!seen && n < 12) cls[n++] = c;
      else if (!seen) S->cut = 1;
    }
  for (uint32_t k = 0; k < s->p->n_in; k++)
    for (int d = 0; d < s->p->tensors[s->p->in[k].id].shape.rank; d++) {
      int c = mgi_se_cls(s, s->p->in[k], d);
      if (c >= 0) loaded[c] = 1;
    }
  for (int set = 0; set < 1 << n; set++) {
    mgi_se_frame f;
    memset(&f, 0, sizeof f);
    int bits = 0;
    uint32_t cut = 0, twice = 0;
    for (int j = 0; j < n; j++)
      if (set >> j & 1) bits++, twice |= cut & mgi_se_cut_by(s, cls[j]), cut |= mgi_se_cut_by(s, cls[j]);
    if (bits > 3 || twice) continue;
    for (int j = 0; j < n; j++) if (set >> j & 1) f.gcls[++f.n_grid] = cls[j];
    for (int g = -1; g < s->n_cls; g++) {
      if (g >= 0 && (bits == 3 || (cut >> g & 1) || !s->summed[g] || !loaded[g])) continue;
      f.n_grid = bits + (g >= 0), f.group = g >= 0 ? f.n_grid : 0;
      if (g >= 0) f.gcls[f.n_grid] = g;
      for (int c = -1; c < s->n_cls; c++)
        for (int d = -1; d < (c >= 0 && S->cfg.max_loops > 1 ? s->n_cls : 0); d++) {
          if ((c >= 0 && !loaded[c]) || (d >= 0 && !loaded[d])) continue;
          f.loop[0] = c, f.loop[1] = d;
          mgi_se_frame_add(S, s, &f);
        }
    }
  }
  if (S->n_frames) qsort(S->frame, (size_t)S->n_frames, sizeof *S->frame, mgi_se_frame_cmp);
}

/* For graphs at sizes that may stay large, as what a reshape takes apart does, or of which none is smaller: hours.  So
   many seconds at most, and no more than the search has left; a last one is there for what was found by then, and for
   what `stop` finds under way. */
enum { MGI_SE_CHECK_S = 10 };
MGI_FN mg_verify_config mgi_se_check_config(const mgi_se_search *S) {
  mg_verify_config v = mg_verify_config_default();
  const int stopped = mgi_se_stopped(&S->cfg);
  const double left = stopped ? 0 : S->end - mgi_se_seconds();
  if (!stopped) v.stop = S->cfg.stop;
  v.tier = MG_TIER_FAST, v.seed = S->cfg.seed, v.threads = S->cfg.threads;
  v.time_limit_s = left < 1 ? 1 : left < MGI_SE_CHECK_S ? left : (double)MGI_SE_CHECK_S;
  return v;
}

/* The small, uneven instance of structure t against the program's. */
MGI_FN int mgi_se_fast_check(mgi_se_search *S, const mgi_se_seg *s, const mgi_se_structure *t, int split,
                             mg_verify_report *r) {
  mg_error e;
  int ok = 0;
  memset(r, 0, sizeof *r);
  for (int ragged = 1; ragged >= 0 && !ok; ragged--) {
    int64_t ext[MGI_SE_MAX_CLASSES], count[MGI_SE_AXES] = { 1, 1, 1, 1, 1, 1 };
    for (int c = 0; c < s->n_cls; c++) {
      int axes = 0;
      for (int a = 1; a < 5; a++) axes += mgi_se_cuts_class(s, mgi_se_structure_class(t, a), c);
      axes += t->loop[1] == c && t->loop[0] != c;
      ext[c] = !ragged                                        ? s->ext[c]
               : axes > 1 && !s->fixed[c] && s->real[c] >= 16 ? 11 + 2 * (c % 2)
               : axes > 1                                     ? s->ext[c]
                                                              : s->ragged[c];
      if (s->as[c] != c) ext[c] = ext[s->as[c]];
    }
    for (int c = s->n_cls; c < s->n_cls + s->n_tied; c++) ext[c] = s->ext[c];
    for (int a = 1; a < MGI_SE_AXES; a++) {
      int c = mgi_se_structure_class(t, a);
      if (c >= 0) count[a] = ragged && !s->fixed[c] && ext[c] > 2 ? 2 : s->cnt[c];
    }
    mg_graph *p = NULL;
    if (mgi_se_step(S, mg_resize(s->p, ext, NULL, &p, &e)) != MG_OK) continue;
    int64_t count2[MGI_SE_AXES];
    memcpy(count2, count, sizeof count2);
    if (split) count2[t->group] = 1;
    mg_graph *g = mgi_se_kernel_graph(s, p, t, ext, count, split ? count2 : NULL, NULL, &e);
    if (!g) mgi_se_step(S, e.status);
    else {
      mg_verify_config v = mgi_se_check_config(S);
      v.threads = 1;
      ok = mgi_se_equal(S, p, g, &v, r) ? 1 : -1;
    }
    mg_graph_free(g);
    mg_graph_free(p);
  }
  return ok > 0;
}

/* Which of the segment's frames have their turn now. */
MGI_FN mg_status mgi_se_turns(mgi_se_search *S, mgi_se_found *f, mg_error *e) {
  if (!f->open) {
    f->open = (uint8_t *)malloc((size_t)S->n_frames + 1), f->n_frames = S->n_frames;
    for (int k = 0; k < S->n_frames && f->open; k++) {
      const mgi_se_frame *x = &S->frame[k];
      f->open[k] = (x->group > 0) + (x->loop[0] >= 0) + (x->loop[1] >= 0) <= f->s->accums;
    }
  }
  S->turn = (int *)malloc(((size_t)S->n_frames + 1) * sizeof *S->turn);
  if (!f->open || !S->turn) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for frames");
  S->n_turns = 0, f->effort = S->effort + 1;
  for (int k = 0; k < S->n_frames; k++) {
    if (!f->open[k]) continue;
    const int effort = mgi_se_effort_of(S->effort, k);
    if (effort >= 0 && (f->open[k] == 1 || effort > f->open[k] - 2)) S->turn[S->n_turns++] = k;
    else f->n_open++;
  }
  return MG_OK;
}

/* Of how many axes a structure of segment s may have accumulators, at most `most`; -1: it has no structure, as each
   would need more counted operators than a block may have.

   A structure of a frame has an image in the frame without grid and loops: each of its operators, on whole tensors,
   without the accumulators.  It holds where it has one block and one iteration, as it holds for any number of them; and
   there an accumulator hands on what it is given, a load is of the whole tensor, and a chunk's sum is the dimension's.
   - It has no counted operator more, and no path is longer.  Each loop and the group axis has an accumulator, a counted
     operator, that it lacks.
   - Its operators fit: requirements 1 to 4 restrict axes, of which there are none.  Requirement 6, by which a leading
     dimension is cut, is lifted.
   - Its values' expressions are subexpressions of the program's: let sum(grid, x) and sum(loop, x) be x, and sum(rest,
     x) be sum(grid, sum(loop, sum(rest, x))).  Every axiom stays one, the program's sums, which are full ones, stay
     what they are, and a partial sum's expression becomes that of the image's.  So what is a part of the program by
     axioms stays one.  This needs all of the closure.
   So where bounds of counted operators (>>bounds, mgi_se_walk_must) leave no step there, none of any frame leads to a
   structure.  A limit that ends that frame leaves it open.  */
/* Whether there may be one with so many counted operators: MG_NOT_FOUND where there is none, MG_UNSUPPORTED where a limit
   ends that frame.  Where it helps it is short: for 1124 segments of two attentions with rotary embeddings it took 0.03 s
   at most, and where it went on for up to 5 s it ended at a limit. */
enum { MGI_SE_FITS_WORK = 1 << 24 };
MGI_FN mg_status mgi_se_seg_fits(mgi_se_search *S, const mgi_se_seg *s, int ops) {
  mgi_se_walk *w = (mgi_se_walk *)calloc(1, sizeof *w);
  mg_search_config c = S->cfg;
  mgi_se_frame f;
  memset(&f, 0, sizeof f);
  c.emittable = NULL, c.max_block_ops = ops, c.max_steps = 0; /* a frame that would take a step is cut */
  f.s = s, f.cfg = &c, f.end = S->end, f.loop[0] = f.loop[1] = -1, f.brief = MGI_SE_FITS_WORK;
  mgi_se_closure(&f);
  const int known = w && !f.spent && !f.cut && !f.oom, none = known && mgi_se_walk_all(S, w, &f) && !f.cut && !f.oom;
  mgi_se_walk_free(w);
  mgi_se_frame_free(&f);
  return none ? MG_NOT_FOUND : known ? MG_OK : MG_UNSUPPORTED;
}
MGI_FN int mgi_se_seg_accums(mgi_se_search *S, const mgi_se_seg *s, int most) {
  int n = S->cfg.max_block_ops; /* the program itself is an image */
  for (uint32_t k = 1; k < s->p->n_ops; k++) n -= mgi_se_counted((int)s->p->ops[k].code);
  if (n >= most || !S->cfg.prune || s->overflow || !s->eg || s->stop != MG_SATURATED) return most;
  for (n = n < -1 ? -1 : n; n < most; n++) {
    const mg_status st = mgi_se_seg_fits(S, s, S->cfg.max_block_ops - n - 1);
    if (st != MG_OK) return st == MG_NOT_FOUND ? n : most;
  }
  return most;
}

/* Begins f's segment, `key` among those of the search, or goes on with it, by S->effort; p becomes its own.  *frames:
   there are frames to search.  Only S is written, and of the root what is written under its lock. */
MGI_FN mg_status mgi_se_segment_begin(mgi_se_search *S, mg_graph *p, mgi_se_found *f, uint64_t key, int *frames,
                                      mg_error *e) {
  mgi_se_search *R = S->root;
  mg_error local;
  const int first = !f->s;
  *frames = 0;
  f->n_open = f->n_spent = 0, f->effort = MGI_SE_EFFORTS;
  mg_status st = first ? mgi_se_seg_new(p, &S->cfg, S->end, &f->s, &local) : f->s->made;
  if (f->s) f->s->made = st;
  pthread_mutex_lock(&R->lock);
  R->st.segments += (uint64_t)first;
  if (first && f->s && f->s->eg) {
    if (f->s->egraph_ms > R->st.egraph_ms) R->st.egraph_ms = f->s->egraph_ms;
    if (S == R)
      memcpy(R->st.axiom_us, f->s->eg->axiom_us, sizeof R->st.axiom_us),
          memcpy(R->st.closure_us, f->s->eg->closure_us, sizeof R->st.closure_us);
    if (S == R) R->st.egraph_nodes = mg_egraph_nodes(f->s->eg), R->st.egraph_classes = mg_egraph_classes(f->s->eg);
    R->cut |= f->s->stop != MG_SATURATED || f->s->overflow, R->late |= f->s->stop >= MG_TIME;
  }
  if (st != MG_OK && st != MG_NO_MEMORY) R->cut = 1;
  pthread_mutex_unlock(&R->lock);
  if (st == MG_NO_MEMORY) { if (e) *e = local; return st; }
  if (st != MG_OK) return MG_OK; /* no fused kernel here; library kernels remain */
  S->seg = f->s, S->n_pool = S->oom = S->next = S->unkept = 0;
  S->seg_id = mgi_se_mix(mg_hash(f->s->p), key);
  if (first) f->s->accums = mgi_se_seg_accums(S, f->s, S->cfg.max_loops + 1);
  if (f->s->accums < 0) return MG_OK;
  mgi_se_frames(S, f->s);
  S->cut |= mgi_se_counts_over(f->s);
  S->pool = (mgi_se_structure *)malloc(MGI_SE_POOL * sizeof *S->pool);
  if (!S->pool || S->oom) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for structures");
  st = mgi_se_turns(S, f, e);
  if (st != MG_OK) return st;
  pthread_mutex_lock(&R->lock);
  if (first) R->st.frames_begun += (uint64_t)S->n_frames;
  pthread_mutex_unlock(&R->lock);
  S->found = f, *frames = 1;
  return MG_OK;
}

/* Among the structures of the pool, as frames price them, that of which `want` of different work are no slower: their
   us, as a limit for the tuner. */
MGI_FN double mgi_se_pool_guess(const mgi_se_search *S, int want, int group) {
  uint64_t seen[64];
  int n = 0;
  for (int i = 0; i < S->n_pool && want <= 64; i++) {
    const mgi_se_structure *t = &S->pool[S->order[i]];
    int known = group && !t->group;
    for (int j = 0; j < n; j++) known |= seen[j] == t->work;
    if (!known) seen[n++] = t->work;
    if (n == want) return t->us * (1 + 1e-6);
  }
  return 1e300;
}

/* Tunes the pool up to `limit` us, and orders it; how many of it are then in their places: all that are slower come
   later. */
MGI_FN int mgi_se_pool_tune(mgi_se_search *S, double limit) {
  S->limit = limit;
  mgi_se_parallel(S, 1);
  for (int k = 1; k < S->n_pool; k++) {
    const int16_t x = S->order[k];
    int at = k;
    for (; at > 0 && mgi_se_structure_before(&S->pool[x], &S->pool[S->order[at - 1]]); at--)
      S->order[at] = S->order[at - 1];
    S->order[at] = x;
  }
  int n = 0;
  while (n < S->n_pool && S->tuned[S->order[n]] && (limit >= 1e300 || S->pool[S->order[n]].us < limit * (1 - 1e-8)))
    n++;
  return n;
}

/* The k-th of the pool with all its best tiles; its place in the order took the first. */
MGI_FN const mgi_se_structure *mgi_se_pool_tiles(mgi_se_search *S, int k) {
  const int x = S->order[k];
  mgi_se_structure *t = &S->pool[x];
  for (int all = 0; all < 2 && S->tuned[x] == 1 && t->n_tiles < MGI_SE_TILES; all++)
    mgi_se_tune(S->seg, t, S->cfg.machine, 0, MGI_SE_TILES, all ? 1e300 : t->tile_us[0] * 1.25);
  S->tuned[x] = 2;
  return t;
}

/* 1 if there are results that are ranked behind others, whatever their times; then, whether g is one. */
MGI_FN int mgi_se_judges(const mgi_se_search *S) { return S->cfg.wary != NULL || !S->cfg.unsafe; }
MGI_FN int mgi_se_behind(mgi_se_search *S, const mg_graph *g) {
  mg_safety_report r;
  mg_error why;
  if (S->cfg.wary && S->cfg.wary(S->cfg.user, g)) return 1;
  return !S->cfg.unsafe && mgi_se_step(S, mg_safety_of(S->root->p, g, NULL, &r, &why)) == MG_OK &&
         r.verdict == MG_UNSAFE;
}
/* g with what makes it unsafe stored as `stored` says (MG_STORE_..), and products of it wide; NULL where that is not
   enough, or not emitted.  r: g's report. */
MGI_FN mg_graph *mgi_se_repaired(mgi_se_search *S, const mg_graph *g, int stored, mg_safety_report r) {
  mg_graph *with = NULL;
  mg_error why;
  /* what is not decided is left so, or shown */
  const mg_safety least = r.verdict == MG_UNSAFE ? MG_SAFETY_OPEN : MG_SAFE;
  int good = mgi_se_step(S, mg_resize(g, NULL, NULL, &with, &why)) == MG_OK &&
             mgi_se_step(S, mg_check(with, &why)) == MG_OK;
  for (int round = 0; round < 12 && good && r.verdict != MG_SAFE && r.tensor.id; round++) {
    const mg_op_node *kernel = mg_op_of(with, (uint32_t)r.kernel);
    mg_graph *b = kernel->sub;
    int store = 0, changed = 0;
    if (!b) break;
    while (r.stored && store < kernel->n_out && kernel->out[store].id != r.tensor.id) store++;
    for (uint32_t k = 1; k < b->n_ops; k++) {
      const mg_op_node *o = &b->ops[k];
      const int product = o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL;
      int of = r.stored && o->code == MG_OP_STORE && store-- == 0;
      for (int j = 0; j < o->n_in && !r.stored && product; j++) of |= o->in[j].id == r.tensor.id;
      if (!of || (product && mg_wide_product(b, k))) continue;
      const char *name = mg_tensor_of(b, r.stored ? o->in[0] : o->out[0])->name;
      if (name)
        changed |= mg_plan_say(b, r.stored ? MG_PLAN_STORE : MG_PLAN_WIDE, name, r.stored ? stored : MG_WIDE_WIDE);
    }
    if (!changed || mgi_se_step(S, mg_safety_of(S->root->p, with, NULL, &r, &why)) != MG_OK) break;
  }
  if (good && mgi_se_step(S, mg_check(with, &why)) == MG_OK && r.verdict <= least &&
      mgi_se_emittable(S, with, &why) == MG_OK)
    return with;
  mg_graph_free(with);
  return NULL;
}
/* g with the kernels that read what is stored in more than 16 bits planned for that, which the tuner did not know, and
   as mgi_se_us prices them; NULL where there are none, or the emitter refuses one so. */
MGI_FN mg_graph *mgi_se_replanned(mgi_se_search *S, const mg_graph *g) {
  mg_graph *with = NULL;
  mg_error why;
  int any = 0;
  if (mgi_se_step(S, mg_resize(g, NULL, NULL, &with, &why)) != MG_OK || mgi_se_step(S, mg_check(with, &why)) != MG_OK)
    any = -1;
  for (uint32_t k = 1; any >= 0 && k < with->n_ops; k++) {
    mg_graph *b = with->ops[k].sub;
    int reads = 0;
    for (uint32_t j = 1; b && j < b->n_ops; j++) {
      const mg_op_node *o = &b->ops[j];
      reads |= o->code == MG_OP_LOAD && (mg_split(with, o->in[0]) || mg_wide(with, o->in[0]));
    }
    if (reads) mg_plan_kernel(b, S->cfg.machine), any = 1;
  }
  if (any > 0 && mgi_se_emittable(S, with, &why) == MG_OK) return with;
  mg_graph_free(with);
  return NULL;
}
/* Has the plans of g keep what makes it unsafe in f16 by powers of two, or else in f32; leaves it as it is where
   neither is enough, or would not fit the machine.  What that costs, in microseconds.  A power is of a block's rows
   together: it is in the bits of each. */
MGI_FN double mgi_se_repair(mgi_se_search *S, mg_graph **g) {
  mg_safety_report r;
  mg_graph *with = NULL;
  mg_error why;
  if (S->cfg.unsafe || mgi_se_step(S, mg_safety_of(S->root->p, *g, NULL, &r, &why)) != MG_OK || r.verdict == MG_SAFE ||
      !r.tensor.id)
    return 0;
  if (!S->cfg.batch_invariant) with = mgi_se_repaired(S, *g, MG_STORE_SPLIT, r);
  if (!with) with = mgi_se_repaired(S, *g, MG_STORE_F32, r);
  if (!with) return 0;
  mg_graph *const planned = mgi_se_replanned(S, with);
  if (planned) mg_graph_free(with), with = planned;
  const double us = mgi_se_us(S, with, NULL), were = mgi_se_us(S, *g, NULL);
  if (us >= MG_UNFIT_US) { mg_graph_free(with); return 0; }
  mg_graph_free(*g), *g = with;
  return us - were;
}

/* When its frames are done: keeps at most `want` structures, those of the root tuned by all threads.  Only so many are
   tuned as are wanted, or before one that is, by a limit that rises until they are there. */
MGI_FN mg_status mgi_se_segment_end(mgi_se_search *S, int want, mg_error *e) {
  mgi_se_found *f = S->found;
  const mgi_se_seg *s = S->seg;
  mg_error local;
  mg_status st = MG_OK;
  int lost = 0; /* structures that are none for what is no fault of the model's */
  /* more than `want` are looked at until none is left that may be faster than the fastest */
  const int asks = S == S->root && mgi_se_judges(S);
  double best = 1e18;                                /* which is, repaired, none that `wary` names */
  if (want > MGI_SE_POOL) want = MGI_SE_POOL;
  pthread_mutex_lock(&S->root->lock);
  int damaged = S->root->damaged, splits = S == S->root && S->cfg.max_kernel_ops > 1 ? MGI_SE_SPLITS : 0, k = 0, q = 0,
      ready = 0;
  pthread_mutex_unlock(&S->root->lock);
  if (damaged)
    st = mg_fail(e, MG_BAD_INPUT, S->cfg.checkpoint,
                 "the checkpoint is damaged: a structure in it is none of this search; it is left as it is");
  else {
    const size_t room = (size_t)(asks ? MGI_SE_POOL : want) + 1;
    f->st = (mgi_se_structure *)malloc(room * sizeof *f->st);
    f->tile = (int *)calloc(room, sizeof *f->tile);
    f->report = (mg_verify_report *)calloc(room, sizeof *f->report);
  }
  if (st == MG_OK && (!f->st || !f->tile || !f->report || S->oom))
    st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for structures");
  double late = 0; /* since when the time is over, and nothing is found: one second is left for that */
  double limit = mgi_se_pool_guess(S, want, 0), other = splits ? mgi_se_pool_guess(S, splits, 1) : 0;
  memset(S->tuned, 0, sizeof S->tuned);
  const double most = f->most > 0 ? f->most : 1e300; /* what is slower is not asked for */
  double upto = 0;
  for (int round = 0; st == MG_OK && ready < S->n_pool && upto < most && (f->n < want || f->n_split < splits);
       round++, limit *= 1.5, other *= 1.5) {
    upto = fmin(most, round > 2 ? 1e300 : f->n < want && limit > other ? limit : other);
    ready = mgi_se_pool_tune(S, upto);
    for (; k < ready && f->n_split < splits; k++) {
      const mgi_se_structure *t = &S->pool[S->order[k]];
      int seen = !t->group || t->us >= MG_UNFIT_US;
      for (int j = 0; j < f->n_split; j++) seen |= f->split[j].work == t->work;
      if (!seen) f->split[f->n_split++] = *mgi_se_pool_tiles(S, k);
    }
    for (; q < ready && f->n < want; q++) {
      int alike = 0; /* of those that cost the same, the first that passes */
      const mgi_se_structure *t = &S->pool[S->order[q]];
      if (mgi_se_over(S) && late == 0) late = mgi_se_seconds();
      if (t->us >= MG_UNFIT_US || (late > 0 && (f->n || mgi_se_seconds() > late + 1))) {
        want = f->n, ready = S->n_pool;
        break;
      }
      for (int j = 0; j < f->n; j++) alike |= f->st[j].work == t->work;
      if (alike) continue;
      mgi_se_pool_tiles(S, q);
      int tile = -1;
      double us = 1e18;
      for (int i = 0; i < t->n_tiles && i < 4 && tile < 0 && t->tile_us[i] < MG_UNFIT_US; i++) {
        mg_graph *g = mgi_se_kernel_graph(s, s->p, t, s->real, t->count[i], NULL, S->cfg.machine, &local);
        S->st.candidates++;
        if (!g) mgi_se_step(S, local.status);
        if (g && mgi_se_emittable(S, g, &local) == MG_OK) {
          tile = i;
          const double more = asks ? mgi_se_repair(S, &g) : 0;
          if (asks && !mgi_se_behind(S, g)) us = t->tile_us[i] + more;
        } else S->st.refused++;
        mg_graph_free(g);
      }
      if (tile < 0) { lost++; continue; }
      if (!mgi_se_fast_check(S, s, t, 0, &f->report[f->n])) { S->st.rejected++, lost++; continue; }
      S->st.verified++;
      f->st[f->n] = *t;
      f->tile[f->n++] = tile;
      if (us < best) best = us;
      if (f->n == want && asks && best > t->us && want < MGI_SE_POOL) want++;
    }
  }
  if (f->n) f->us = f->st[0].tile_us[f->tile[0]];
  f->lost = lost > 0;
  return st;
}

MGI_FN void mgi_se_segment_free(mgi_se_search *S) {
  free(S->frame), free(S->pool), free(S->turn);
  S->frame = NULL, S->pool = NULL, S->turn = NULL, S->n_pool = S->cap_frames = S->n_frames = S->n_turns = 0;
}

/* mgi_se_segment_end; what the efforts before this one found stays among it. */
MGI_FN mg_status mgi_se_segment_better(mgi_se_search *S, int want, mg_error *e) {
  mgi_se_found *f = S->found, was = *f;
  f->st = NULL, f->tile = NULL, f->report = NULL, f->n = f->n_split = 0, f->us = 0;
  mg_status st = mgi_se_segment_end(S, want, e);
  const size_t room = (size_t)(was.n + f->n) + 1;
  mgi_se_structure *t = (mgi_se_structure *)malloc(room * sizeof *t);
  int *tile = (int *)malloc(room * sizeof *tile), n = 0;
  mg_verify_report *report = (mg_verify_report *)malloc(room * sizeof *report);
  if (!t || !tile || !report) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for structures");
  for (int i = 0, j = 0; st == MG_OK && (i < was.n || j < f->n);) {
    const int old = j == f->n || (i < was.n && was.st[i].tile_us[was.tile[i]] <= f->st[j].tile_us[f->tile[j]]);
    const mgi_se_found *x = old ? &was : f;
    const int k = old ? i++ : j++;
    int alike = 0;
    for (int q = 0; q < n; q++) alike |= t[q].work == x->st[k].work;
    if (!alike) t[n] = x->st[k], tile[n] = x->tile[k], report[n++] = x->report[k];
  }
  for (int k = 0; k < was.n_split; k++) {
    int at = f->n_split, alike = 0;
    for (int j = 0; j < f->n_split; j++) alike |= f->split[j].work == was.split[k].work;
    while (!alike && at > 0 && was.split[k].us < f->split[at - 1].us) at--;
    if (alike || at == MGI_SE_SPLITS) continue;
    const int last = f->n_split < MGI_SE_SPLITS ? f->n_split++ : MGI_SE_SPLITS - 1;
    memmove(&f->split[at + 1], &f->split[at], (size_t)(last - at) * sizeof *f->split);
    f->split[at] = was.split[k];
  }
  free(was.st), free(was.tile), free(was.report);
  free(f->st), free(f->tile), free(f->report);
  f->st = t, f->tile = tile, f->report = report, f->n = st == MG_OK ? n : 0;
  if (f->n) f->us = t[0].tile_us[tile[0]];
  else if (!f->n_open) S->cut |= f->lost; /* what stood behind them was not looked at, and no effort will */
  return st;
}

/* The whole program, or more of it: p is given the first time, when its frames have a part of the time that is left, if
   its pieces are to come; those that it ends stay open. */
enum { MGI_SE_WHOLE_PART = 3 };
MGI_FN mg_status mgi_se_search_whole(mgi_se_search *S, mg_graph *p, mgi_se_found *f, int effort, mg_error *e) {
  int frames;
  S->effort = effort;
  mg_status st = mgi_se_segment_begin(S, p, f, 1, &frames, e);
  S->units = S->n_turns, S->units_done = 0, S->seg_t0 = mgi_se_seconds();
  const double end = S->end;
  const int late = S->late, early = p && S->more && end < 1e300;
  if (early) S->end = S->seg_t0 + (end - S->seg_t0) / MGI_SE_WHOLE_PART;
  if (st == MG_OK && frames) mgi_se_parallel(S, 0);
  S->end = end;
  if (early && !mgi_se_over(S)) S->late = late;
  if (st == MG_OK && frames) st = mgi_se_segment_better(S, S->cfg.top_k, e);
  mgi_se_segment_free(S);
  return st;
}

/* The other segments, in the order in which they are begun. */
typedef struct mgi_se_queue {
  mgi_se_search *root;
  mgi_se_found **seg;
  int effort;                           /* for each of them */
  int n, begun, beginning, n_live;     /* beginning: how many workers are about to add to live */
  mgi_se_search *live[64];              /* each with frames that nobody took, or with a worker at its last ones */
  int left[64];                         /* its frames not done */
  pthread_cond_t more;
  mg_status st;                         /* the first that failed: all stop */
  mg_error e;
} mgi_se_queue;

MGI_FN void mgi_se_queue_failed(mgi_se_queue *q, mg_status st, const mg_error *e) {
  if (st != MG_OK && q->st == MG_OK) q->st = st, q->e = *e;
}

MGI_FN void mgi_se_queue_work(mgi_se_queue *q, int main) {
  mgi_se_search *R = q->root;
  mg_error e;
  memset(&e, 0, sizeof e);
  pthread_mutex_lock(&R->lock);
  while (q->st == MG_OK) {
    mgi_se_search *T = NULL;
    int k = 0;
    if (main) mgi_se_tell(R, 1);
    for (int i = 0; i < q->n_live && !T; i++)
      if (q->live[i]->next < q->live[i]->n_turns) T = q->live[i], k = T->turn[T->next++];
    if (T) {
      if (main) T->frame[k].tell = R;
      pthread_mutex_unlock(&R->lock);
      mgi_se_run_frame(T, k);
      pthread_mutex_lock(&R->lock);
      int at = 0;
      while (q->live[at] != T) at++;
      if (--q->left[at]) continue;
      for (q->n_live--; at < q->n_live; at++) q->live[at] = q->live[at + 1], q->left[at] = q->left[at + 1];
    } else if (q->begun < q->n) {
      int which = q->begun++, frames = 0;
      mgi_se_found *f = q->seg[which];
      q->beginning++;
      T = (mgi_se_search *)calloc(1, sizeof *T);
      if (T)
        T->root = R, T->p = R->p, T->cfg = R->cfg, T->t0 = R->t0, T->end = R->end, T->effort = q->effort,
        T->cfg.threads = 1, T->cfg.progress = NULL, T->cfg.structure = NULL;
      pthread_mutex_unlock(&R->lock);
      mg_status st = T ? MG_OK : mg_fail(&e, MG_NO_MEMORY, "mg_search", "no memory for a segment");
      mg_graph *g = f->own;
      if (T && !mgi_se_over(T) && (g || f->s)) f->own = NULL, st = mgi_se_segment_begin(T, g, f, 4, &frames, &e);
      pthread_mutex_lock(&R->lock);
      q->beginning--;
      mgi_se_queue_failed(q, st, &e);
      pthread_cond_broadcast(&q->more);
      if (frames && T->n_turns) { q->left[q->n_live] = T->n_turns, q->live[q->n_live++] = T; continue; }
    } else if (q->beginning) {
      pthread_cond_wait(&q->more, &R->lock);
      continue;
    } else break;
    /* T has no frame left: what came of it */
    pthread_mutex_unlock(&R->lock);
    mg_status st = T && T->found ? mgi_se_segment_better(T, T->found->want, &e) : MG_OK;
    pthread_mutex_lock(&R->lock);
    mgi_se_queue_failed(q, st, &e);
    if (T) {
      R->st.candidates += T->st.candidates, R->st.verified += T->st.verified, R->st.rejected += T->st.rejected,
          R->st.refused += T->st.refused;
      R->cut |= T->cut, R->late |= T->late, R->timed |= T->timed, R->units_done++;
      mgi_se_segment_free(T);
      free(T);
    }
  }
  pthread_cond_broadcast(&q->more);
  pthread_mutex_unlock(&R->lock);
}
MGI_FN void *mgi_se_queue_thread(void *q) {
  mgi_se_queue_work((mgi_se_queue *)q, 0);
  return NULL;
}

/* Searches n segments by `effort`, each of which has its program or was begun before. */
MGI_FN mg_status mgi_se_search_segments(mgi_se_search *R, mgi_se_found **seg, int n, int effort, mg_error *e) {
  pthread_t thread[64];
  mgi_se_queue q;
  int started = 0;
  memset(&q, 0, sizeof q);
  q.root = R, q.seg = seg, q.n = n, q.effort = effort;
  if (!n) return MG_OK;
  pthread_cond_init(&q.more, NULL);
  for (int k = 1; k < R->cfg.threads && k < 64; k++)
    if (!pthread_create(&thread[started], NULL, mgi_se_queue_thread, &q)) started++;
  mgi_se_queue_work(&q, 1);
  for (int k = 0; k < started; k++) pthread_join(thread[k], NULL);
  pthread_cond_destroy(&q.more);
  for (int k = 0; k < q.n_live; k++) mgi_se_segment_free(q.live[k]), free(q.live[k]); /* where it failed */
  if (q.st != MG_OK && e) *e = q.e;
  return q.st;
}

/* Says what ended an e-graph early: of the first of these segments, in their order, whose was; if none was before. */
MGI_FN void mgi_se_stops(mgi_se_search *S, const mgi_se_found *f, int n) {
  for (int k = 0; k < n; k++)
    if (f[k].s && f[k].s->eg && f[k].s->stop != MG_SATURATED && !strcmp(S->st.egraph_stop, "SATURATED"))
      S->st.egraph_stop = mg_saturation_name(f[k].s->stop);
}
MGI_FN void mgi_se_found_free(mgi_se_found *f) {
  mg_graph_free(f->own);
  if (f->shared) return;
  mg_graph_free(f->tiled);
  if (f->s) mgi_se_seg_free(f->s);
  free(f->open), free(f->st), free(f->tile), free(f->report);
}

mg_search_config mg_search_config_default(void) {
  mg_search_config c;
  memset(&c, 0, sizeof c);
  c.prune = c.bound = 1;
  return c;
}

MGI_FN int mgi_se_block_ops(const mg_graph *g) {
  int most = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    if (g->ops[k].code != MG_OP_GRAPH) continue;
    int n = 0;
    const mg_graph *b = g->ops[k].sub;
    for (uint32_t i = 1; i < b->n_ops; i++) n += mgi_se_counted(b->ops[i].code);
    if (n > most) most = n;
  }
  return most;
}

/* A segment of the program: its n operators, where in the list of those that are searched it stands or -1, what it
   takes at least, and by what is known: by a kernel of its own, and by n library kernels; 1e18 for nothing.  guess:
   what it is likely to take at least; apart: see mgi_se_piece_apart; large: it has more counted operators than a block
   may have. */
typedef struct mgi_se_piece { mgi_se_set ops; double bound, guess, us, library; int at, n, apart, large; } mgi_se_piece;

/* What library kernel k of a piece of these operators takes, with what slices take that it alone keeps from being
   addresses. */
MGI_FN double mgi_se_library_us(const mgi_se_search *S, const mgi_se_cuts *C, const mgi_se_set *ops, int k) {
  const mg_op_node *o = &S->p->ops[C->op[k]];
  if (S->cfg.batch_invariant && (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL)) return 1e18;
  const int with = C->taker[k] >= 0 && mgi_se_set_has(ops, C->taker[k]);
  double us = C->address[k] ? 0
              : with        ? mg_library_us(S->p, o, S->cfg.machine)
                            : mg_library_alone_us(S->p, o, S->cfg.machine);
  for (int x = 0; x < C->n && !C->address[k]; x++)
    if (C->address[x] && mgi_se_set_has(&C->of[k], x)) us += mg_library_us(S->p, &S->p->ops[C->op[x]], S->cfg.machine);
  return us;
}
/* What library kernels take for a piece; 1e18 where they may not.  What nothing has normalised yet would be in memory
   between them, and fp16 may overflow: of such a piece all that could be cut off is that or takes that, and the `best`
   kernel of its own takes twice as long. */
MGI_FN double mgi_se_piece_library(const mgi_se_search *S, const mgi_se_cuts *C, const mgi_se_piece *x, double best) {
  double us = 0;
  int raw = 0, other = 0, none;
  mgi_se_set hot;
  memset(&hot, 0, sizeof hot);
  for (int k = 0; k < C->n; k++) if (C->raw[k]) mgi_se_set_put(&hot, k), mgi_se_set_join(&hot, &C->to[k]);
  for (int k = 0; k < C->n; k++) {
    if (!mgi_se_set_has(&x->ops, k)) continue;
    us += mgi_se_library_us(S, C, &x->ops, k), raw |= C->raw[k] && !C->given[k];
    const mgi_se_set cold = mgi_se_set_minus(&C->alone[k], &hot, &none); /* empty where k stays with another */
    other |= mgi_se_set_has(&C->alone[k], k) && mgi_se_set_same(&cold, &C->alone[k]);
  }
  return raw && (other || best < 2 * us) ? 1e18 : us;
}

MGI_FN int mgi_se_piece_counted(const mgi_se_cuts *C, const mgi_se_piece *x) {
  int n = 0;
  for (int k = 0; k < C->n; k++) if (mgi_se_set_has(&x->ops, k)) n += mgi_se_counted((int)C->p->ops[C->op[k]].code);
  return n;
}
/* 1: operators that have no tensor in common with the others of the piece are among it: one kernel for both saves a
   launch at most. */
MGI_FN int mgi_se_piece_apart(const mgi_se_cuts *C, const mgi_se_piece *x) {
  mgi_se_set met, reads;
  uint64_t takes = 0;
  int n = 0;
  memset(&met, 0, sizeof met), memset(&reads, 0, sizeof reads);
  for (int again = 1; again;) {
    again = 0;
    for (int k = 0; k < C->n; k++) {
      if (!mgi_se_set_has(&x->ops, k) || mgi_se_set_has(&met, k)) continue;
      int joins = !n || (C->takes[k] & takes) || mgi_se_set_has(&reads, k);
      for (int i = 0; i < C->n && !joins; i++)
        joins = mgi_se_set_has(&C->of[k], i) && (mgi_se_set_has(&met, i) || mgi_se_set_has(&reads, i));
      if (!joins) continue;
      mgi_se_set_put(&met, k), mgi_se_set_join(&reads, &C->of[k]);
      takes |= C->takes[k], n++, again = 1;
    }
  }
  return n < x->n;
}

/* Adds the kernel f->tiled to g; map: the tensors of the program p in g. */
MGI_FN void mgi_se_compose_tiled(mg_graph *g, const mg_graph *p, const mgi_se_found *f, mg_tensor *map) {
  mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT];
  memset(out, 0, sizeof out);
  for (uint32_t q = 0; q < f->tiled->n_in; q++) in[q] = map[f->in[q].id];
  for (uint32_t t = 1; t < f->tiled->n_tensors; t++) /* what it hands on may be called as another part's is */
    if (f->tiled->tensors[t].op) f->tiled->tensors[t].name = NULL;
  mg_insert(g, f->tiled, in, out);
  for (uint32_t q = 0; q < f->tiled->n_out; q++)
    map[f->out[q].id] = mg_named(g, out[q], mg_tensor_of(p, f->out[q])->name);
}

/* The program in n pieces: each by its best kernel, or, those of `library`, by library kernels. */
MGI_FN mg_graph *mgi_se_compose(mgi_se_search *S, const mgi_se_cuts *C, const mgi_se_found *seg,
                                const mgi_se_piece *const *piece, const uint8_t *library, int n, mg_error *e) {
  const mg_graph *p = S->p;
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(p->name, &c);
  mg_tensor *map = (mg_tensor *)calloc(p->n_tensors, sizeof *map);
  if (g && map) {
    for (uint32_t k = 0; k < p->n_in; k++) map[p->in[k].id] = mgi_se_copy_input(g, p, p->in[k]);
    for (int k = 0; k < n; k++) {
      const mgi_se_found *f = library[k] ? NULL : &seg[piece[k]->at];
      mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT];
      if (!library[k] && f->tiled) {
        mgi_se_compose_tiled(g, p, f, map);
        continue;
      }
      if (!library[k]) {
        for (uint32_t q = 0; q < f->s->p->n_in; q++) in[q] = map[f->in[q].id];
        const mgi_se_structure *t = &f->st[0];
        mgi_se_build_kernel(g, f->s, t, f->s->real, t->count[f->tile[0]], S->cfg.machine, in, out);
        for (uint32_t q = 0; q < f->s->p->n_out; q++)
          map[f->out[q].id] = mg_named(g, out[q], mg_tensor_of(p, f->out[q])->name);
        continue;
      }
      for (int i = 0; i < C->n; i++) {
        if (!mgi_se_set_has(&piece[k]->ops, i)) continue;
        const mg_op_node *o = &p->ops[C->op[i]];
        for (int q = 0; q < o->n_in; q++) in[q] = map[o->in[q].id];
        map[o->out[0].id] = mg_named(g, mg_apply(g, o->code, &o->attr, o->n_in, in), mg_tensor_of(p, o->out[0])->name);
        if (map[o->out[0].id].id) g->tensors[map[o->out[0].id].id].inner = mg_tensor_of(p, o->out[0])->inner;
      }
    }
    for (uint32_t k = 0; k < p->n_out; k++) mg_output(g, map[p->out[k].id]);
  }
  const int there = g && map;
  free(map);
  if (!there) mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for a composition");
  if (!there || mg_check(g, e) != MG_OK) { mg_graph_free(g); return NULL; }
  return g;
}

/* A graph of several kernels, resized to be small, against the program. */
MGI_FN int mgi_se_check_whole(mgi_se_search *S, const mg_graph *g, mg_verify_report *r) {
  mg_classes a;
  mg_error e;
  mg_graph *ps = NULL, *gs = NULL;
  memset(r, 0, sizeof *r);
  if (mgi_se_step(S, mg_classes_of(S->p, &a, &e)) != MG_OK) return 0;
  int64_t ext[256];
  int ok = 0;
  for (uint32_t c = 0; c < a.n && c < 256; c++) ext[c] = a.fixed[c] || a.extent[c] < 4 ? a.extent[c] : 4 + c % 2;
  const mg_verify_config v = mgi_se_check_config(S);
  if (mg_is_program(g) && a.n <= 256 && mgi_se_step(S, mg_resize(S->p, ext, NULL, &ps, &e)) == MG_OK &&
      mgi_se_step(S, mg_resize(g, ext, NULL, &gs, &e)) == MG_OK)
    ok = mgi_se_equal(S, ps, gs, &v, r);
  else
    ok = mgi_se_equal(S, S->p, g, &v, r);
  mg_graph_free(ps), mg_graph_free(gs);
  mg_classes_free(&a);
  return ok;
}

/* A small extent for class c of `a`.  One that an operator keeps as it is, as a reshape does, is kept; so are other
   classes of few elements that have that extent: where a kernel's blocks have chunks of 1 of the two, as of heads,
   nothing says that they are one. */
enum { MGI_SE_SMALL = 16, MGI_SE_FEW = 256 };
MGI_FN int64_t mgi_se_small_extent(const mg_classes *a, const mg_classes *b, uint32_t c) {
  int kept = a->fixed[c] || a->extent[c] < MGI_SE_SMALL;
  for (int both = 0; both < 2; both++) {
    const mg_classes *x = both ? b : a;
    for (uint32_t k = 0; k < x->n && a->extent[c] <= MGI_SE_FEW; k++)
      kept |= x->fixed[k] && x->extent[k] == a->extent[c];
  }
  return kept ? a->extent[c] : (int64_t)MGI_SE_SMALL;
}

/* Fast tier of g, a µGraph for the program p, both at small sizes where g can be resized: extents by what the inputs
   say, every axis of two or more at two.  What that leaves open the full tier may show, kernel by kernel (Theorem
   D). */
MGI_FN int mgi_se_check_small(mgi_se_search *S, const mg_graph *p, const mg_graph *g, mg_verify_report *r) {
  mg_classes a, b;
  mg_error e;
  mg_graph *ps = NULL, *gs = NULL;
  mg_verify_config v = mgi_se_check_config(S);
  memset(r, 0, sizeof *r);
  v.skip_floats = 1;
  int ok = mgi_se_step(S, mg_classes_of(p, &a, &e)) == MG_OK;
  if (!ok) return 0;
  if (mgi_se_step(S, mg_classes_of(g, &b, &e)) != MG_OK) { mg_classes_free(&a); return 0; }
  const int kernels = mg_ops_before(g, g->n_ops, MG_OP_GRAPH);
  int64_t *ea = (int64_t *)calloc(a.n + 1, sizeof *ea), *eb = (int64_t *)calloc(b.n + 1, sizeof *eb),
          *counts = (int64_t *)calloc((size_t)(kernels + 1) * (MG_MAX_AXES + 1), sizeof *counts);
  const int had = ok = ea && eb && counts;
  if (!ok) mgi_se_step(S, MG_NO_MEMORY);
  for (uint32_t c = 0; ok && c < a.n; c++) ea[c] = mgi_se_small_extent(&a, &b, c);
  for (uint32_t c = 0; ok && c < b.n; c++) eb[c] = mgi_se_small_extent(&b, &a, c);
  for (uint32_t i = 1, k = 0; ok && i < g->n_ops; i++) {
    if (g->ops[i].code != MG_OP_GRAPH) continue;
    for (uint32_t x = 1; x < g->ops[i].sub->n_axes && x <= MG_MAX_AXES; x++)
      counts[k * (MG_MAX_AXES + 1) + x] = g->ops[i].sub->axes[x].extent > 1 ? 2 : 1;
    k++;
  }
  if (ok && mgi_se_step(S, mg_resize(p, ea, NULL, &ps, &e)) == MG_OK &&
      mgi_se_step(S, mg_resize(g, eb, counts, &gs, &e)) == MG_OK)
    p = ps, g = gs;
  if (ok) ok = mgi_se_equal(S, p, g, &v, r);
  const int open = r->verdict == MG_EQUAL_SAMPLED || (r->verdict == MG_UNDECIDED && !r->unfinished);
  v.tier = MG_TIER_FULL;
  if (had && !ok && open) ok = mgi_se_equal(S, p, g, &v, r);
  mg_graph_free(ps), mg_graph_free(gs);
  free(ea), free(eb), free(counts);
  mg_classes_free(&a), mg_classes_free(&b);
  return ok;
}

/* g with the maximum of its rows taken off the argument of every exponential that a sum behind it adds up; NULL if
   there is none.  Not equal where the argument is a part of such a row. */
MGI_FN mg_graph *mgi_se_steady(mgi_se_search *S, const mg_graph *g) {
  mg_graph *with = NULL;
  mg_error e;
  char *text = NULL;
  if (mgi_se_step(S, mg_print(g, &text, &e)) != MG_OK) return NULL;
  size_t n = strlen(text), to = 0, lines = 1;
  for (size_t k = 0; k < n; k++) lines += text[k] == '\n';
  char *out = (char *)malloc(n + lines * 160 + 1);
  int changed = 0;
  for (const char *line = text, *end; out && *line; line = end) {
    char name[72], of[72], sum[88];
    int32_t dim = 0;
    end = line + strcspn(line, "\n");
    end += *end == '\n';
    memcpy(out + to, line, (size_t)(end - line));
    if (sscanf(line, " %71[A-Za-z0-9_] = exp(%71[A-Za-z0-9_])", name, of) == 2) {
      const char *close = *line == ' ' ? strstr(line, "\n}") : NULL; /* the end of its kernel */
      snprintf(sum, sizeof sum, "sum(%s, dim=", name);
      const char *at = strstr(end, sum);
      if (at && (!close || at < close) && sscanf(at + strlen(sum), "%d", &dim) == 1) {
        changed = 1;
        to += (size_t)snprintf(out + to, 300, "%.*s%s = exp(sub(%s, max(%s, dim=%d)))\n", (int)strspn(line, " "), line,
                               name, of, of, (int)dim);
        continue;
      }
    }
    to += (size_t)(end - line);
  }
  if (!changed || !out || mgi_se_step(S, mg_parse(out, to, "steady", NULL, &with, &e)) != MG_OK) with = NULL;
  if (!out) mgi_se_step(S, MG_NO_MEMORY);
  mg_string_free(text);
  free(out);
  return with;
}
/* 1 if the results are full, and none that takes `us` could be one of them.  Those that `wary` names are the last of
   S->n_sure. */
MGI_FN int mgi_se_full(const mgi_se_search *S, const mg_search_result *r, double us) {
  return r->n == S->cfg.top_k && S->n_sure == r->n && us >= r->predicted_us[r->n - 1];
}
/* Moves result `from` of r to rank `to` of it, where its own graph is given up. */
MGI_FN void mgi_se_result_move(mg_search_result *r, int from, int to) {
  if (from == to) return;
  r->graph[to] = r->graph[from], r->predicted_us[to] = r->predicted_us[from], r->measured_us[to] = r->measured_us[from],
  r->report[to] = r->report[from];
  r->graph[from] = NULL;
}

/* Result k goes behind those before `end`. */
MGI_FN void mgi_se_result_behind(mg_search_result *r, int k, int end) {
  mg_graph *g = r->graph[k];
  const double predicted = r->predicted_us[k], measured = r->measured_us[k];
  const mg_verify_report report = r->report[k];
  for (; k + 1 < end; k++) mgi_se_result_move(r, k + 1, k);
  r->graph[k] = g, r->predicted_us[k] = predicted, r->measured_us[k] = measured, r->report[k] = report;
}
/* What a map says, whatever its axes are called and in which order they stand. */
MGI_FN uint64_t mgi_se_like_map(const mg_graph *g, const mg_map *map) {
  uint64_t sum = 0;
  for (uint32_t a = 1; a < g->n_axes; a++) {
    const uint64_t axis = mgi_se_mix((uint64_t)g->axes[a].extent, a > 3);
    if (map->to[a] != MG_MAP_NONE) sum += mgi_se_mix(axis, (uint64_t)(map->to[a] + 8));
  }
  return sum;
}
/* A value for each tensor of g in `of`, and one for g, that do not follow from the order of operators, the order and
   names of axes, nor from plans: two results of one value are one to those who choose among them.  outer: of the graph
   above. */
MGI_FN uint64_t mgi_se_like_graph(const mg_graph *g, const uint64_t *outer) {
  uint64_t *of = (uint64_t *)calloc(g->n_tensors, sizeof *of), sum = (uint64_t)g->threads;
  if (!of) return mg_hash(g);
  for (uint32_t k = 0; k < g->n_in; k++) of[g->in[k].id] = k + 1;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    uint64_t h = mgi_se_mix((uint64_t)o->code, mgi_se_like_map(g, &o->map));
    for (uint32_t a = o->scope; a; a = g->axes[a].parent) h = mgi_se_mix(h, (uint64_t)g->axes[a].extent);
    const int either = o->code == MG_OP_ADD || o->code == MG_OP_MUL; /* in any order */
    uint64_t operands = 0;
    for (int j = 0; j < o->n_in && !o->sub; j++) { /* a lower graph's loads say what it takes */
      const uint64_t in = o->code == MG_OP_LOAD ? outer[o->in[j].id] : of[o->in[j].id];
      operands = either ? operands + mgi_se_mix(1, in) : mgi_se_mix(operands, in);
    }
    h = mgi_se_mix(h, operands);
    h = mgi_se_mix(mgi_se_mix(mgi_se_mix(h, (uint64_t)o->attr.dim), (uint64_t)o->attr.n), (uint64_t)o->attr.from);
    h = mgi_se_mix(mgi_se_mix(h, (uint64_t)o->attr.c.num), (uint64_t)o->attr.c.den);
    for (int d = 0; d < MG_MAX_RANK; d++)
      h = mgi_se_mix(mgi_se_mix(h, (uint64_t)o->attr.shape.dim[d]), (uint64_t)o->attr.perm[d]);
    if (o->sub) h = mgi_se_mix(h, mgi_se_like_graph(o->sub, of));
    for (int j = 0; j < o->n_out; j++) of[o->out[j].id] = mgi_se_mix(h, (uint64_t)j);
    sum += h;
  }
  for (uint32_t k = 0; k < g->n_out; k++) sum = mgi_se_mix(sum, of[g->out[k].id]);
  free(of);
  return sum;
}
/* Of results that are alike the first by time and hash stays: 1 if that is one of r's, and none but g's place is free
   then. */
MGI_FN int mgi_se_like_better(mgi_se_search *S, mg_search_result *r, const mg_graph *g, double us, int wary) {
  const uint64_t like = mgi_se_like_graph(g, NULL);
  for (int k = wary ? S->n_sure : 0, end = wary ? r->n : S->n_sure; k < end; k++) {
    if (mgi_se_like_graph(r->graph[k], NULL) != like) continue;
    if (r->predicted_us[k] < us || (r->predicted_us[k] == us && mg_hash(r->graph[k]) <= mg_hash(g))) return 1;
    mgi_se_result_behind(r, k, r->n);
    mg_graph_free(r->graph[--r->n]);
    S->n_sure -= !wary;
    return 0;
  }
  return 0;
}
/* Puts g in at its rank; takes it over.  Of one that `wary` names a form with maxima of its own is put in beside it, if
   that is none. */
MGI_FN void mgi_se_result_add(mgi_se_search *S, mg_search_result *r, mg_graph *g, double us,
                              const mg_verify_report *rep) {
  uint64_t h = mg_hash(g);
  if (S->cfg.batch_invariant && mg_library_multiplies(g)) { mg_graph_free(g); return; }
  if (!mgi_se_full(S, r, us)) us += mgi_se_repair(S, &g);
  const int wary = mgi_se_judges(S) && !mgi_se_full(S, r, us) && mgi_se_behind(S, g);
  mg_graph *steady = wary ? mgi_se_steady(S, g) : NULL;
  if (steady) {
    mg_verify_report own;
    mg_error why;
    const double longer = mgi_se_us(S, steady, NULL);
    S->st.candidates++;
    if (mgi_se_full(S, r, longer) || mgi_se_behind(S, steady)) mg_graph_free(steady);
    else if (mgi_se_emittable(S, steady, &why) != MG_OK) S->st.refused++, mg_graph_free(steady);
    else if (!mgi_se_check_small(S, S->p, steady, &own)) S->st.rejected++, mg_graph_free(steady);
    else S->st.verified++, mgi_se_result_add(S, r, steady, longer, &own);
  }
  if (mgi_se_like_better(S, r, g, us, wary)) { mg_graph_free(g); return; }
  int at = wary ? S->n_sure : 0, end = wary ? r->n : S->n_sure;
  while (at < end && (r->predicted_us[at] < us || (r->predicted_us[at] == us && mg_hash(r->graph[at]) < h))) at++;
  for (int k = 0; k < r->n; k++) if (mg_hash(r->graph[k]) == h) at = S->cfg.top_k;
  if (at >= S->cfg.top_k) { mg_graph_free(g); return; }
  if (r->n == S->cfg.top_k) mg_graph_free(r->graph[--r->n]);
  for (int k = r->n++; k > at; k--)
    r->graph[k] = r->graph[k - 1], r->predicted_us[k] = r->predicted_us[k - 1], r->report[k] = r->report[k - 1];
  r->graph[at] = g, r->predicted_us[at] = us, r->report[at] = *rep;
  S->n_sure += !wary;
  if (S->n_sure > r->n) S->n_sure = r->n;
  S->st.predicted_us = r->predicted_us[0];
}

/* Tiling expressions, where the whole program is a chain of matmuls or an attention: nested and sequential loops. */
MGI_FN void mgi_se_search_tilings(mgi_se_search *S, mg_search_result *out, mg_error *why) {
  mg_graph *g[MGI_SE_TILINGS] = { NULL };
  double us[MGI_SE_TILINGS];
  int n = 0;
  mg_error e;
  mg_tilings_config c;
  memset(&c, 0, sizeof c);
  c.machine = S->cfg.machine, c.stop = S->cfg.stop;
  if (S->end < 1e300) c.seconds = S->end - mgi_se_seconds();
  if (mgi_se_over(S) || mgi_se_step(S, mg_tilings_best(S->p, &c, MGI_SE_TILINGS, g, us, &n, &e)) != MG_OK) return;
  for (int k = 0; k < n; k++) {
    mg_verify_report rep;
    int known = 0;
    for (int j = 0; j < out->n; j++) known |= mg_hash(out->graph[j]) == mg_hash(g[k]);
    S->st.tilings++;
    if (known || mgi_se_block_ops(g[k]) > S->tiling_ops || mgi_se_over(S) || mgi_se_full(S, out, us[k])) {
      mg_graph_free(g[k]);
      continue;
    }
    S->st.candidates++;
    if (mgi_se_emittable(S, g[k], why) != MG_OK) S->st.refused++, mg_graph_free(g[k]);
    else if (!mgi_se_check_small(S, S->p, g[k], &rep)) S->st.rejected++, mg_graph_free(g[k]);
    else S->st.verified++, mgi_se_result_add(S, out, g[k], us[k], &rep);
  }
}

/* ---- one kernel by rows
   The program as it is written, in one kernel: a block has a chunk of the rows of one parallel dimension, or one of
   each of up to three, and all of the others.  Where rows go through several reductions, as in a norm of a norm, a
   search comes to it late: it is made before any, and is a result where nothing that was found in time is as fast.  Of
   products and exponentials there is none: the form of those decides what overflows, and they are found early.

       O = norm(add(X, norm(H))) [8, 4096]      kernel grid=(x=8) { x = load X {x->0}  h = load H {x->0}  .. store o
       {x->0} } */
enum { MGI_SE_ROWS = 32 }; /* of a block at most */
MGI_FN mg_map mgi_se_rows_map(const int32_t *of, const int *cls, int n) {
  mg_map map = mg_map_none();
  for (int a = 0; a < n; a++) {
    mg_axis axis;
    memset(&axis, 0, sizeof axis);
    axis.id = (uint32_t)a + 1;
    for (int d = 0; d < MG_MAX_RANK; d++)
      if (of[d] == cls[a]) map = mg_map_set(map, axis, d);
  }
  return map;
}
MGI_FN mg_graph *mgi_se_rows_kernel(mgi_se_search *S, const mg_parallel *P, const int *cls, int n,
                                    const int64_t *grid) {
  const mg_graph *p = S->p;
  mg_config c = mg_config_default();
  mg_error e;
  mg_graph *g = mg_program_new(p->name, &c);
  mg_tensor *val = (mg_tensor *)calloc(p->n_tensors, sizeof *val), in[MG_MAX_IN], out[MG_MAX_OUT];
  if (!g || !val) {
    mgi_se_step(S, MG_NO_MEMORY);
    mg_graph_free(g), free(val);
    return NULL;
  }
  for (uint32_t k = 0; k < p->n_in; k++) in[k] = mgi_se_copy_input(g, p, p->in[k]);
  mg_graph *b = mg_graph_begin(g, grid, 128);
  memset(out, 0, sizeof out);
  for (uint32_t k = 0; b && k < p->n_in; k++) val[p->in[k].id] = mg_load(b, in[k], mgi_se_rows_map(P->in[k], cls, n));
  for (uint32_t k = 1; b && k < p->n_ops; k++) {
    const mg_op_node *o = &p->ops[k];
    mg_tensor arg[MG_MAX_IN];
    for (int j = 0; j < o->n_in; j++) arg[j] = val[o->in[j].id];
    val[o->out[0].id] = mg_apply(b, o->code, &o->attr, o->n_in, arg);
  }
  for (uint32_t k = 0; b && k < p->n_out; k++) mg_store(b, val[p->out[k].id], mgi_se_rows_map(P->out[k], cls, n));
  if (b) mg_plan_kernel(b, S->cfg.machine), mg_graph_end(b, out);
  for (uint32_t k = 0; k < p->n_out; k++) mg_output(g, mg_named(g, out[k], mg_tensor_of(p, p->out[k])->name));
  free(val);
  if (mg_check(g, &e) == MG_OK) return g;
  mgi_se_step(S, e.status == MG_NO_MEMORY ? MG_NO_MEMORY : MG_OK);
  mg_graph_free(g);
  return NULL;
}
/* The fastest of these that is equal, and what it takes; NULL: there is none. */
MGI_FN mg_graph *mgi_se_search_rows(mgi_se_search *S, double *us, mg_verify_report *rep) {
  mg_parallel P;
  mg_error e;
  mg_graph *best = NULL;
  int cls[3], n = 0, takes = S->cfg.max_kernel_ops > 1 && !S->cfg.structure;
  for (uint32_t k = 1; k < S->p->n_ops; k++) {
    const mg_opcode code = (mg_opcode)S->p->ops[k].code;
    takes &= mgi_ti_takes(code) && code != MG_OP_MATMUL && code != MG_OP_EXP;
  }
  if (!takes || mgi_se_over(S) || mgi_se_step(S, mg_parallel_of(S->p, NULL, &P, &e)) != MG_OK) return NULL;
  for (int c = 0; c < P.n && n < 3; c++) {
    int all = P.extent[c] > 1;
    for (uint32_t k = 0; k < S->p->n_out; k++) {
      int there = 0;
      for (int d = 0; d < MG_MAX_RANK; d++) there |= P.out[k][d] == c;
      all &= there;
    }
    if (all) cls[n++] = c;
  }
  for (int axes = 1; axes <= n; axes++)
    for (int64_t rows = 1; rows <= MGI_SE_ROWS && rows <= P.extent[cls[axes - 1]]; rows *= 2) {
      int64_t grid[3] = { 1, 1, 1 };
      for (int a = 0; a < axes; a++) grid[a] = mg_ceil_div(P.extent[cls[a]], a == axes - 1 ? rows : 1);
      mg_graph *g = mgi_se_rows_kernel(S, &P, cls, axes, grid);
      const double t = g ? mgi_se_us(S, g, NULL) : MG_NO_TIME;
      if (t >= MG_NO_TIME || (best && t >= *us) || mgi_se_block_ops(g) > S->tiling_ops) mg_graph_free(g);
      else mg_graph_free(best), best = g, *us = t;
    }
  mg_parallel_free(&P);
  if (best && mgi_se_emittable(S, best, &e) == MG_OK && mgi_se_check_small(S, S->p, best, rep)) return best;
  mg_graph_free(best);
  return NULL;
}

/* ---- rows in parts
   The program as it is written, in kernels whose blocks have a part of one row each: for rows that are too long, or too
   few, to have a block each.  A reduction along them is two: over a part, in one kernel, and over the parts, in the
   kernels that follow, which compute again what else they need of the row.  Where a reduction is of what others make,
   these are of earlier kernels: a sum of exponentials is under the maximum of the whole row, not of a part, in which
   all may be -inf.

       E = exp(X - max X)        kernel 0, of a part:   m = max x
       O = E / sum E             kernel 1, of a part:   M = max over parts m     s = sum exp(x - M)
                                 kernel 2, of a part:   M, S = sum over parts s  o = exp(x - M) / S                    */
enum { MGI_SE_PART = 128, MGI_SE_PART_OF = 8 };  /* elements of a part at least, and of whole loads */
enum { MGI_SE_PARTS = 24, MGI_SE_PASSES = 8 };   /* numbers of parts that are tried; kernels at most */
typedef struct mgi_se_parts {
  const mg_graph *p;
  int row, n_other, other[2];  /* dimensions, counted from the last: that of reductions; others of the grid */
  int64_t extent, others[2];   /* of these */
  int passes;                  /* kernels before the last one */
  int wide;                    /* 1: an output has rows */
  int turned;                  /* 1: others[0] is along x, as only that goes so far, and parts are along y */
  /* by tensor: */
  uint32_t *same;              /* the first that is computed alike, in whose place it is */
  int *pass;                   /* the first kernel that can compute it, a reduction of all parts */
  int *by;                     /* of a reduction: the kernel that makes its parts; else -1 */
  uint8_t *used;               /* outputs are made of it */
} mgi_se_parts;

MGI_FN int64_t mgi_se_parts_extent(const mg_graph *p, uint32_t t, int from_last) {
  const mg_shape *s = &p->tensors[t].shape;
  return from_last < s->rank ? s->dim[s->rank - 1 - from_last] : 1;
}
/* The dimension, counted from the last one, along which o reduces rows; -1: it is no such reduction. */
MGI_FN int mgi_se_parts_along(const mg_graph *p, const mg_op_node *o) {
  if (o->code != MG_OP_SUM && o->code != MG_OP_MAX) return -1;
  return p->tensors[o->in[0].id].shape.rank - 1 - o->attr.dim;
}
/* What o takes as its operand j. */
MGI_FN uint32_t mgi_se_parts_in(const mgi_se_parts *X, const mg_op_node *o, int j) { return X->same[o->in[j].id]; }
/* 1 if none before it computes what o does. */
MGI_FN int mgi_se_parts_first(const mgi_se_parts *X, const mg_op_node *o) {
  return X->same[o->out[0].id] == o->out[0].id;
}
MGI_FN void mgi_se_parts_alike(mgi_se_parts *X) {
  const mg_graph *p = X->p;
  for (uint32_t t = 1; t < p->n_tensors; t++) X->same[t] = t;
  for (uint32_t k = 1; k < p->n_ops; k++)
    for (uint32_t i = k; i-- > 1;) {
      const mg_op_node *o = &p->ops[k], *like = &p->ops[i];
      const mg_tensor_info *made = mg_tensor_of(p, o->out[0]), *was = mg_tensor_of(p, like->out[0]);
      int alike = o->code == like->code && made->dtype == was->dtype && o->attr.dim == like->attr.dim;
      alike &= o->attr.c.num == like->attr.c.num && o->attr.c.den == like->attr.c.den;
      for (int j = 0; j < o->n_in && alike; j++) alike = mgi_se_parts_in(X, o, j) == mgi_se_parts_in(X, like, j);
      if (alike) X->same[o->out[0].id] = X->same[like->out[0].id];
    }
}
MGI_FN void mgi_se_parts_free(mgi_se_parts *X) {
  free(X->same);
  free(X->pass);
  free(X->by);
  free(X->used);
}
/* The axes beside that of parts: of the most extents that an output has, two at most. */
MGI_FN void mgi_se_parts_others(mgi_se_parts *X) {
  int64_t most[MG_MAX_RANK] = { 0 };
  for (uint32_t k = 0; k < X->p->n_out; k++)
    for (int d = 0; d < MG_MAX_RANK; d++) {
      const int64_t n = mgi_se_parts_extent(X->p, X->p->out[k].id, d);
      if (n > most[d]) most[d] = n;
    }
  most[X->row] = 1;
  while (X->n_other < 2) {
    int best = 0;
    for (int d = 1; d < MG_MAX_RANK; d++)
      if (most[d] > most[best]) best = d;
    if (most[best] < 2) return;
    X->others[X->n_other] = most[best];
    X->other[X->n_other++] = best;
    X->turned |= most[best] > MGI_SE_GRID;
    most[best] = 1;
  }
}
/* The grid's axis of parts, 0, or of others[of - 1]. */
MGI_FN int mgi_se_parts_axis(const mgi_se_parts *X, int of) { return X->turned && of < 2 ? 1 - of : of; }
/* 1 if p can be computed so; X is the caller's to free in any case. */
MGI_FN int mgi_se_parts_of(mgi_se_search *S, const mg_graph *p, mgi_se_parts *X) {
  const size_t n = p->n_tensors;
  int takes = 1;
  memset(X, 0, sizeof *X);
  X->p = p, X->row = -1, X->extent = 1;
  for (uint32_t k = 0; k < p->n_in; k++) takes &= !p->tensors[p->in[k].id].fill;
  for (uint32_t k = 1; k < p->n_ops && takes; k++) {
    const mg_op_node *o = &p->ops[k];
    const int along = mgi_se_parts_along(p, o);
    takes = (mg_op_row(o->code)->elementwise && o->n_in <= 2) || along >= 0;
    if (along < 0) continue;
    takes &= X->row < 0 || X->row == along;
    X->row = along;
  }
  if (!takes || X->row < 0) return 0;
  for (uint32_t t = 1; t < n; t++) {
    const int64_t extent = mgi_se_parts_extent(p, t, X->row);
    takes &= extent == 1 || X->extent == 1 || extent == X->extent;
    if (extent > 1) X->extent = extent;
  }
  if (!takes || X->extent < 2 * MGI_SE_PART) return 0;
  X->same = (uint32_t *)calloc(n, sizeof *X->same);
  X->pass = (int *)calloc(n, sizeof *X->pass);
  X->by = (int *)calloc(n, sizeof *X->by);
  X->used = (uint8_t *)calloc(n, sizeof *X->used);
  if (!X->same || !X->pass || !X->by || !X->used) {
    mgi_se_step(S, MG_NO_MEMORY);
    return 0;
  }
  for (uint32_t t = 1; t < n; t++) X->by[t] = -1;
  mgi_se_parts_alike(X);
  for (uint32_t k = 1; k < p->n_ops && takes; k++) {
    const mg_op_node *o = &p->ops[k];
    const uint32_t t = o->out[0].id;
    if (!mgi_se_parts_first(X, o)) continue;
    for (int j = 0; j < o->n_in; j++)
      if (X->pass[mgi_se_parts_in(X, o, j)] > X->pass[t]) X->pass[t] = X->pass[mgi_se_parts_in(X, o, j)];
    if (mgi_se_parts_along(p, o) < 0) continue;
    takes = mgi_se_parts_extent(p, o->in[0].id, X->row) > 1; /* else it reduces nothing */
    X->by[t] = X->pass[t]++;
  }
  for (uint32_t k = 0; k < p->n_out; k++) {
    const uint32_t t = X->same[p->out[k].id];
    takes &= p->tensors[t].op > 0;
    X->used[t] = 1;
    X->wide |= mgi_se_parts_extent(p, t, X->row) > 1;
    if (X->pass[t] > X->passes) X->passes = X->pass[t];
  }
  for (uint32_t k = p->n_ops; k-- > 1;) {
    const mg_op_node *o = &p->ops[k];
    for (int j = 0; j < o->n_in; j++) X->used[mgi_se_parts_in(X, o, j)] |= X->used[o->out[0].id];
  }
  mgi_se_parts_others(X);
  return takes && X->passes > 0 && X->passes < MGI_SE_PASSES && X->passes < S->cfg.max_kernel_ops;
}

/* Its kernels as they are built: what they make of X's tensors, in g and in kernel b. */
typedef struct mgi_se_parting {
  const mgi_se_parts *X;
  mg_graph *g, *b;
  mg_tensor *in, *part;        /* of g, by tensor of the program: inputs; the parts of reductions */
  mg_tensor *val;              /* of b, by tensor of the program */
} mgi_se_parting;
/* How tensor t of the program is cut; `rows`: along the rows too. */
MGI_FN mg_map mgi_se_parts_map(const mgi_se_parting *W, uint32_t t, int rows) {
  const mgi_se_parts *X = W->X;
  const int last = X->p->tensors[t].shape.rank - 1;
  mg_map map = mg_map_none();
  if (rows) map = mg_map_set(map, mg_grid_axis(W->b, mgi_se_parts_axis(X, 0)), last - X->row);
  for (int a = 0; a < X->n_other; a++) {
    const int d = X->other[a];
    if (mgi_se_parts_extent(X->p, t, d) == 1) continue;
    map = mg_map_set(map, mg_grid_axis(W->b, mgi_se_parts_axis(X, 1 + a)), last - d);
  }
  return map;
}
/* What the block has of the program's tensor t: of a reduction that of all parts. */
MGI_FN mg_tensor mgi_se_parts_value(mgi_se_parting *W, uint32_t t) {
  const mgi_se_parts *X = W->X;
  const mg_graph *p = X->p;
  const mg_op_node *o = &p->ops[p->tensors[t].op];
  mg_tensor *v = &W->val[t], arg[2];
  if (v->id) return *v;
  if (!p->tensors[t].op) {
    const int rows = mgi_se_parts_extent(p, t, X->row) > 1;
    *v = mg_load(W->b, W->in[t], mgi_se_parts_map(W, t, rows));
  } else if (X->by[t] >= 0) {
    *v = mg_with_dim(W->b, o->code, mg_load(W->b, W->part[t], mgi_se_parts_map(W, t, 0)), o->attr.dim);
  } else {
    for (int j = 0; j < o->n_in; j++) arg[j] = mgi_se_parts_value(W, mgi_se_parts_in(X, o, j));
    *v = mg_apply(W->b, o->code, &o->attr, o->n_in, arg);
  }
  return *v;
}
/* Kernel number `at`, of `count` parts, 0 if it has no block graph. */
MGI_FN int mgi_se_parts_kernel(mgi_se_parting *W, int at, int64_t count) {
  const mgi_se_parts *X = W->X;
  const mg_graph *p = X->p;
  const int last = at == X->passes;
  int64_t grid[3] = { 1, 1, 1 };
  mg_tensor out[MG_MAX_OUT];
  uint32_t made[MG_MAX_OUT];
  int n = 0;
  if (!last || X->wide) grid[mgi_se_parts_axis(X, 0)] = count;
  for (int a = 0; a < X->n_other; a++) grid[mgi_se_parts_axis(X, 1 + a)] = X->others[a];
  W->b = mg_graph_begin(W->g, grid, 128);
  if (!W->b) return 0;
  memset(W->val, 0, p->n_tensors * sizeof *W->val);
  for (uint32_t k = 1; k < p->n_ops && !last; k++) {
    const mg_op_node *o = &p->ops[k];
    const uint32_t t = o->out[0].id;
    if (X->by[t] != at || !X->used[t]) continue;
    if (n == MG_MAX_OUT) return 0;
    made[n++] = t;
    const mg_tensor of = mgi_se_parts_value(W, mgi_se_parts_in(X, o, 0));
    mg_store(W->b, mg_with_dim(W->b, o->code, of, o->attr.dim), mgi_se_parts_map(W, t, 1));
  }
  for (uint32_t k = 0; k < p->n_out && last; k++) {
    const uint32_t t = p->out[k].id;
    const int rows = mgi_se_parts_extent(p, t, X->row) > 1;
    mg_store(W->b, mgi_se_parts_value(W, X->same[t]), mgi_se_parts_map(W, t, rows));
  }
  memset(out, 0, sizeof out);
  mg_graph_end(W->b, out);
  for (int k = 0; k < n; k++) W->part[made[k]] = out[k];
  for (uint32_t k = 0; k < p->n_out && last; k++)
    mg_output(W->g, mg_named(W->g, out[k], mg_tensor_of(p, p->out[k])->name));
  return 1;
}
/* Plans g's kernels; parts are handed on in f32: they are accumulators. */
MGI_FN void mgi_se_parts_plan(mgi_se_search *S, mg_graph *g) {
  for (uint32_t k = 1; k < g->n_ops; k++) {
    mg_graph *b = g->ops[k].sub;
    int at = 0;
    for (uint32_t i = 1; i < b->n_ops; i++) {
      if (b->ops[i].code != MG_OP_STORE) continue;
      const mg_tensor to = g->ops[k].out[at++];
      if (mg_is_output(g, to) || mg_dtype_bytes(mg_tensor_of(g, to)->dtype) > 2) continue;
      mg_plan_say(b, MG_PLAN_STORE, mg_tensor_of(b, b->ops[i].in[0])->name, MG_STORE_F32);
    }
    mg_plan_kernel(b, S->cfg.machine);
  }
}
/* The kernels, number k of count[k] parts; NULL: it is no µGraph. */
MGI_FN mg_graph *mgi_se_parts_graph(mgi_se_search *S, const mgi_se_parts *X, const int64_t *count) {
  const mg_graph *p = X->p;
  const size_t n = p->n_tensors;
  const mg_config c = mg_config_default();
  mgi_se_parting W;
  mg_error e;
  memset(&W, 0, sizeof W);
  W.X = X, W.g = mg_program_new(p->name, &c);
  mg_tensor *room = (mg_tensor *)calloc(3 * n, sizeof *room);
  int ok = W.g && room;
  W.in = room, W.part = room + n, W.val = room + 2 * n;
  if (!ok) mgi_se_step(S, MG_NO_MEMORY);
  for (uint32_t k = 0; k < p->n_in && ok; k++) W.in[p->in[k].id] = mgi_se_copy_input(W.g, p, p->in[k]);
  for (int k = 0; k <= X->passes && ok; k++) ok = mgi_se_parts_kernel(&W, k, count[k]);
  ok = ok && mgi_se_step(S, mg_check(W.g, &e)) == MG_OK;
  if (ok) mgi_se_parts_plan(S, W.g);
  free(room);
  if (ok) return W.g;
  mg_graph_free(W.g);
  return NULL;
}
/* Numbers of parts to try, none of them empty: powers of two, and below each the largest whose parts begin where whole
   loads do. */
MGI_FN int mgi_se_parts_counts(int64_t extent, int64_t *list) {
  int n = 0;
  for (int64_t most = 2; n + 2 <= MGI_SE_PARTS && mg_ceil_div(extent, most) >= MGI_SE_PART; most *= 2) {
    int64_t even = most, chunk = mg_ceil_div(extent, most);
    if ((most - 1) * chunk < extent) list[n++] = most;
    while (even > most / 2 && chunk % MGI_SE_PART_OF) chunk = mg_ceil_div(extent, --even);
    if (even > most / 2 && even < most && (even - 1) * chunk < extent) list[n++] = even;
  }
  return n;
}
/* The fastest numbers of parts of X's kernels: all alike first, then of one after the other. */
MGI_FN mg_graph *mgi_se_parts_best(mgi_se_search *S, const mgi_se_parts *X, double *us) {
  int64_t list[MGI_SE_PARTS], count[MGI_SE_PASSES];
  const int n = mgi_se_parts_counts(X->extent, list);
  mg_graph *best = NULL;
  memset(count, 0, sizeof count);
  for (int k = -1; k <= X->passes; k++)
    for (int i = 0; i < n && !mgi_se_over(S); i++) {
      int64_t now[MGI_SE_PASSES];
      memcpy(now, count, sizeof now);
      for (int j = 0; j <= X->passes; j++)
        if (k < 0 || j == k) now[j] = list[i];
      if (k >= 0 && (!best || now[k] == count[k])) continue;
      mg_graph *g = mgi_se_parts_graph(S, X, now);
      const double t = g ? mgi_se_us(S, g, NULL) : MG_NO_TIME;
      if (t >= MG_NO_TIME || (best && t >= *us) || mgi_se_block_ops(g) > S->tiling_ops) {
        mg_graph_free(g);
        continue;
      }
      mg_graph_free(best);
      best = g, *us = t;
      memcpy(count, now, sizeof count);
    }
  return best;
}
/* 1: an exponential of p is of no difference from a maximum of its rows. */
MGI_FN int mgi_se_parts_raw(const mgi_se_parts *X) {
  const mg_graph *p = X->p;
  for (uint32_t k = 1; k < p->n_ops; k++) {
    if (p->ops[k].code != MG_OP_EXP) continue;
    const mg_op_node *sub = &p->ops[p->tensors[p->ops[k].in[0].id].op];
    if (sub->code != MG_OP_SUB) return 1;
    const mg_op_node *max = &p->ops[p->tensors[sub->in[1].id].op];
    if (max->code != MG_OP_MAX || mgi_se_parts_in(X, max, 0) != mgi_se_parts_in(X, sub, 0)) return 1;
  }
  return 0;
}
/* The fastest of these that is equal to p, if it takes less than *us, which is then what it takes; else NULL.
   Exponentials under no maximum are taken under maxima of their own first. */
MGI_FN mg_graph *mgi_se_search_parts(mgi_se_search *S, const mg_graph *p, double *us, mg_verify_report *rep) {
  const double most = *us;
  mg_graph *best = NULL;
  for (int steady = 1; steady >= 0 && !best && !S->cfg.structure && !mgi_se_over(S); steady--) {
    mgi_se_parts X;
    mg_error e;
    mg_graph *form = NULL;
    int takes = mgi_se_parts_of(S, p, &X);
    if (takes && steady && mgi_se_parts_raw(&X)) form = mgi_se_steady(S, p);
    if (form) {
      mgi_se_parts_free(&X);
      takes = mgi_se_parts_of(S, form, &X);
    }
    takes = takes && (form || !steady) && (X.passes + 1) * mgi_se_launch_least(S->cfg.machine) < most;
    if (takes) best = mgi_se_parts_best(S, &X, us);
    int good = best && *us < most && mgi_se_emittable(S, best, &e) == MG_OK && mgi_se_check_small(S, p, best, rep);
    good = good && !(steady && p == S->p && mgi_se_behind(S, best)); /* the other form is ranked so as well, if it is */
    if (!good) {
      mg_graph_free(best);
      best = NULL;
    }
    mgi_se_parts_free(&X);
    mg_graph_free(form);
  }
  if (!best) *us = most;
  return best;
}

/* The structures of the whole program that have a group axis, in two kernels each: tiles near the best of the one
   kernel, then for the second kernel one axis after the other. */
MGI_FN void mgi_se_search_splits(mgi_se_search *S, const mgi_se_found *f, mg_search_result *out, mg_error *why) {
  mg_error e;
  for (int k = 0; k < f->n_split; k++) {
    const mgi_se_structure *t = &f->split[k];
    int64_t best[2][MGI_SE_AXES] = { { 0 } }, list[MGI_SE_COUNTS];
    double us = MG_UNFIT_US;
    if (mgi_se_over(S)) return;
    for (int i = 0; i < t->n_tiles * 3; i++) {
      int64_t c[MGI_SE_AXES], c2[MGI_SE_AXES];
      memcpy(c, t->count[i / 3], sizeof c);
      c[t->group] <<= i % 3;
      if (c[t->group] > f->s->real[t->gcls[t->group]]) continue;
      memcpy(c2, c, sizeof c2), c2[t->group] = 1;
      mg_graph *g = mgi_se_kernel_graph(f->s, f->s->p, t, f->s->real, c, c2, S->cfg.machine, &e);
      const double p = mgi_se_us(S, g, &e);
      mg_graph_free(g);
      if (p < us) us = p, memcpy(best[0], c, sizeof c), memcpy(best[1], c2, sizeof c2);
    }
    for (int a = 1; a <= t->n_grid && us < MG_UNFIT_US; a++) {
      if (a == t->group) continue;
      int n = mgi_se_counts(t, a, f->s->real[t->gcls[a]], 0, list);
      for (int i = 0; i < n; i++) {
        int64_t c2[MGI_SE_AXES];
        memcpy(c2, best[1], sizeof c2), c2[a] = list[i];
        mg_graph *g = mgi_se_kernel_graph(f->s, f->s->p, t, f->s->real, best[0], c2, S->cfg.machine, &e);
        const double p = mgi_se_us(S, g, &e);
        mg_graph_free(g);
        if (p < us) us = p, memcpy(best[1], c2, sizeof c2);
      }
    }
    mg_verify_report rep;
    mg_graph *g = us < MG_UNFIT_US ? mgi_se_kernel_graph(f->s, f->s->p, t, f->s->real, best[0], best[1],
                                                         S->cfg.machine, &e)
                           : NULL;
    if (!g) { if (us < MG_UNFIT_US) mgi_se_step(S, e.status); continue; }
    S->st.candidates++;
    if (mgi_se_emittable(S, g, why) != MG_OK) S->st.refused++, mg_graph_free(g);
    else if (!mgi_se_fast_check(S, f->s, t, 1, &rep)) S->st.rejected++, mg_graph_free(g);
    else S->st.verified++, mgi_se_result_add(S, out, g, us, &rep);
  }
}

/* What a kernel takes at least beside its bytes and products. */
/* The segments between down-sets: id[a * n + b] is that of the a-th and b-th, -1 where there is none, or none that may
   be a kernel.  *out is the caller's to free; its number, or -1 if memory is out. */
MGI_FN int mgi_se_pieces(const mgi_se_search *S, const mgi_se_cuts *C, int32_t *id, mgi_se_piece **out) {
  const int D = C->n_down;
  const double over = mgi_se_launch_least(S->cfg.machine);
  uint32_t n = 0, cap = 0, slots = 1024;
  int32_t *slot = (int32_t *)malloc(slots * sizeof *slot);
  mgi_se_piece *x = NULL;
  if (slot) memset(slot, -1, slots * sizeof *slot);
  for (int b = 0; b < D; b++)
    for (int a = 0; a < D; a++) {
      int none;
      id[a * D + b] = -1;
      if (a >= b || !slot) continue;
      mgi_se_set_minus(&C->down[a], &C->down[b], &none);
      if (!none) continue;
      const mgi_se_set ops = mgi_se_set_minus(&C->down[b], &C->down[a], &none);
      if (mgi_se_set_same(&ops, &C->all)) continue;
      uint32_t h = (uint32_t)mgi_se_set_hash(&ops) & (slots - 1);
      while (slot[h] >= 0 && !mgi_se_set_same(&x[slot[h]].ops, &ops)) h = (h + 1) & (slots - 1);
      if (slot[h] < 0) {
        mgi_se_piece *m = (mgi_se_piece *)mgi_se_grow(x, &cap, n + 1, sizeof *x);
        if (!m) { free(slot), slot = NULL; continue; }
        x = m;
        const double bytes = mgi_se_cuts_bytes(C, &ops);
        x[n].ops = ops, x[n].n = mgi_se_set_size(&ops, C->n), x[n].at = -1;
        x[n].bound = bytes < 0 ? 1e18 : over + mg_dram_us(S->cfg.machine, bytes), x[n].us = 1e18,
        x[n].library = mgi_se_piece_library(S, C, &x[n], 0);
        x[n].apart = mgi_se_piece_apart(C, &x[n]), x[n].large = mgi_se_piece_counted(C, &x[n]) > S->cfg.max_block_ops;
        slot[h] = (int32_t)n++;
        if (2 * n > slots) {
          int32_t *wide = (int32_t *)malloc(2 * slots * sizeof *wide);
          free(slot), slot = wide, slots *= 2;
          if (wide) memset(wide, -1, slots * sizeof *wide);
          for (uint32_t k = 0; wide && k < n; k++) {
            for (h = (uint32_t)mgi_se_set_hash(&x[k].ops) & (slots - 1); wide[h] >= 0;) h = (h + 1) & (slots - 1);
            wide[h] = (int32_t)k;
          }
          if (wide) id[a * D + b] = x[n - 1].bound < 1e18 ? (int32_t)n - 1 : -1;
          continue;
        }
      }
      if (x[slot[h]].bound < 1e18) id[a * D + b] = slot[h];
    }
  if (!slot) free(x), x = NULL;
  free(slot), *out = x;
  return slot ? (int)n : -1;
}

/* Chains of down-sets over the pieces id (mgi_se_pieces). */
typedef struct mgi_se_chains {
  int n, most;                               /* down-sets; kernels */
  const int32_t *id;
  mgi_se_piece *piece;
  double *cost;                              /* cost[k * n + b]: the b-th down-set in k kernels, by what is known */
  int16_t *from;                             /* and the one before it */
  uint8_t *by;                               /* between them: 1: library kernels */
} mgi_se_chains;

/* Fills the chains in; what the whole program takes, by what is known. */
MGI_FN double mgi_se_chains_fill(mgi_se_chains *H) {
  const int n = H->n;
  double best = 1e18;
  for (int k = 0; k <= H->most; k++) {
    for (int b = 0; b < n; b++) {
      double *c = &H->cost[k * n + b];
      *c = k || b ? 1e18 : 0;
      for (int a = 0; k && a < b; a++) {
        if (H->id[a * n + b] < 0) continue;
        const mgi_se_piece *x = &H->piece[H->id[a * n + b]];
        const double us = H->cost[(k - 1) * n + a] + x->us,
                     library = k < x->n ? 1e18 : H->cost[(k - x->n) * n + a] + x->library;
        if (us < *c) *c = us, H->from[k * n + b] = (int16_t)a, H->by[k * n + b] = 0;
        if (library < *c) *c = library, H->from[k * n + b] = (int16_t)a, H->by[k * n + b] = 1;
      }
    }
    if (H->cost[k * n + n - 1] < best) best = H->cost[k * n + n - 1];
  }
  return best;
}

/* A piece that is to be searched: what the best composition with it takes at least, in us and, where those that differ
   by rounding are alike, in picoseconds; the operators of the form that it is searched from. */
typedef struct mgi_se_todo { double us; int64_t ps; int piece, ops; } mgi_se_todo;
MGI_FN int mgi_se_todo_cmp(const void *x, const void *y) {
  const mgi_se_todo *a = (const mgi_se_todo *)x, *b = (const mgi_se_todo *)y;
  if (a->ps != b->ps) return a->ps < b->ps ? -1 : 1;
  return a->ops != b->ops ? a->ops - b->ops : a->piece - b->piece;
}
/* Puts those of n pieces, which are in order, in front that none of their composition is before: these take less time
   to search, and what they take may rule the others out.  How many. */
MGI_FN int mgi_se_todo_first(mgi_se_todo *t, int n) {
  int m = 0;
  for (int k = 0; k < n; k++) {
    const mgi_se_todo x = t[k];
    if (m && t[m - 1].ps == x.ps && t[m - 1].ops < x.ops) continue;
    t[k] = t[m], t[m++] = x;
  }
  return m;
}

MGI_FN const mg_verify_report *mgi_se_found_report(const mgi_se_found *f) {
  return f->tiled ? &f->tiled_report : &f->report[0];
}

/* What a program's cuts have come to. */
typedef struct mgi_se_cutting {
  const mgi_se_cuts *C;
  mgi_se_chains H;
  mgi_se_piece *piece;
  int *todo;                                 /* pieces to search; room for all */
  mgi_se_found *seg;                         /* what was searched, in its order; seg[piece.at] */
  uint32_t cap_seg;
  int n_piece, n;                            /* n: of seg */
  mgi_se_set kept;                           /* operators whose results stay within a kernel: in 16 bits they are not as
                                                safe as written */
  int moves;                                 /* 1: reshapes and transposes are priced as if they were addresses */
  uint64_t tried;                            /* mg_hash of the program that was put together last */
  double least;                              /* us: what one kernel for the whole is likely to take */
  double enough;                             /* us: no slower path is looked at, if all of its space or the whole's is;
                                                or 1e18 */
} mgi_se_cutting;

/* What library kernels take for piece x, see mgi_se_piece_library; 1e18 too where they would hand on what is kept. */
MGI_FN double mgi_se_cuts_library(const mgi_se_search *S, const mgi_se_cutting *X, const mgi_se_piece *x, double best) {
  int none;
  const mgi_se_set rest = mgi_se_set_minus(&x->ops, &X->kept, &none);
  return mgi_se_set_same(&rest, &x->ops) ? mgi_se_piece_library(S, X->C, x, best) : 1e18;
}

/* Of the segments before number n, one whose program this is, or -1. */
MGI_FN int mgi_se_cuts_twin(const mgi_se_cutting *X, int n, const mgi_se_found *f) {
  for (int k = 0; k < n && f->own; k++) if (X->seg[k].hash == f->hash && !X->seg[k].shared) return k;
  return -1;
}

/* Drops the fastest structures of f that `wary` names: of a program of several kernels one such is enough to rank it
   behind all others.  A form of it with maxima of its own may take its place.  By the caller's thread. */
enum { MGI_SE_PICKS = 8 };
MGI_FN void mgi_se_cuts_pick(mgi_se_search *S, mgi_se_found *f) {
  double fastest = f->tiled ? f->tiled_us : 1e18;
  while (f->want > 1 && f->n && S->cfg.wary) {
    mg_error e;
    const mgi_se_structure *t = &f->st[0];
    mg_graph *g = mgi_se_kernel_graph(f->s, f->s->p, t, f->s->real, t->count[f->tile[0]], NULL, S->cfg.machine, &e);
    const int wary = !g || S->cfg.wary(S->cfg.user, g);
    mg_graph *steady = g && wary ? mgi_se_steady(S, g) : NULL;
    const double us = steady ? mgi_se_us(S, steady, &e) : 1e18;
    mg_verify_report report;
    if (!g) mgi_se_step(S, e.status);
    mg_graph_free(g);
    if (!wary) break;
    const int good = us < fastest && !S->cfg.wary(S->cfg.user, steady) && mgi_se_emittable(S, steady, &e) == MG_OK;
    if (good && mgi_se_check_small(S, f->s->p, steady, &report)) {
      mg_graph_free(f->tiled);
      f->tiled = steady, f->tiled_report = report, f->tiled_us = fastest = us;
    } else mg_graph_free(steady);
    for (int k = 1; k < f->n; k++)
      f->st[k - 1] = f->st[k], f->tile[k - 1] = f->tile[k], f->report[k - 1] = f->report[k];
    f->n--;
  }
  if (f->n) f->us = f->st[0].tile_us[f->tile[0]];
  if (f->tiled && f->n && f->us <= fastest) mg_graph_free(f->tiled), f->tiled = NULL;
  else if (f->tiled) f->us = fastest, f->none = 0;
}

/* Piece x as a segment of its own, not searched yet; those of one program (mg_hash) are one. */
MGI_FN void mgi_se_cuts_add(mgi_se_search *S, mgi_se_cutting *X, mgi_se_piece *x) {
  mgi_se_found f;
  mg_error local;
  memset(&f, 0, sizeof f);
  f.ops = x->ops, f.own = mgi_se_segment(X->C, &f, &local);
  f.hash = f.own ? mg_hash(f.own) : 0, f.want = 1;
  for (int i = 0; i < X->C->n; i++) /* an output of the program is as the program wants it */
    if (X->C->raw[i] && !X->C->given[i] && mgi_se_set_has(&x->ops, i)) f.want = MGI_SE_PICKS;
  f.shared = 1 + mgi_se_cuts_twin(X, X->n, &f);
  if (f.shared) mg_graph_free(f.own), f.own = NULL;
  f.tiled_us = x->library;
  if (f.own && S->cfg.max_kernel_ops == MGI_SE_MOST_OPS)
    f.tiled = mgi_se_search_parts(S, f.own, &f.tiled_us, &f.tiled_report);
  x->at = X->n, X->seg[X->n++] = f;
}
/* What was found for a segment, between the tensors of those that share it. */
MGI_FN void mgi_se_cuts_share(mgi_se_cutting *X) {
  for (int k = 0; k < X->n; k++) {
    const mgi_se_found own = X->seg[k];
    if (!own.shared) continue;
    mgi_se_found *f = &X->seg[k];
    *f = X->seg[own.shared - 1];
    f->ops = own.ops, f->own = NULL, f->shared = own.shared;
    memcpy(f->in, own.in, sizeof f->in), memcpy(f->out, own.out, sizeof f->out);
  }
}
/* 1: effort e may find more for piece x. */
MGI_FN int mgi_se_cuts_open(const mgi_se_cutting *X, const mgi_se_piece *x, int e) {
  if (x->at < 0) return x->bound < 1e18;
  const mgi_se_found *f = &X->seg[x->at];
  return f->effort ? f->n_open > 0 && f->effort <= e : f->own != NULL || f->s != NULL || f->shared;
}

/* Searches the pieces todo[0 .. m) by `effort`, and takes over what they cost. */
MGI_FN mg_status mgi_se_cuts_pieces(mgi_se_search *S, mgi_se_cutting *X, int m, int effort, mg_error *e) {
  int n = 0;
  mg_status st = MG_OK;
  mgi_se_found *seg = (mgi_se_found *)mgi_se_grow(X->seg, &X->cap_seg, (uint32_t)(X->n + m), sizeof *seg);
  if (seg) X->seg = seg;
  mgi_se_found **list = (mgi_se_found **)malloc(((size_t)m + 1) * sizeof *list);
  if (!seg || !list) { free(list); return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments"); }
  for (int k = 0; k < m; k++) {
    mgi_se_piece *x = &X->piece[X->todo[k]];
    if (x->at < 0) mgi_se_cuts_add(S, X, x);
    mgi_se_found *f = &seg[seg[x->at].shared ? seg[x->at].shared - 1 : x->at];
    int there = 0;
    for (int i = 0; i < n; i++) there |= list[i] == f;
    if (!there) list[n++] = f;
  }
  st = mgi_se_search_segments(S, list, n, effort, e);
  for (int k = 0; k < n && st == MG_OK; k++) {
    list[k]->none = !list[k]->n && list[k]->effort;
    mgi_se_cuts_pick(S, list[k]);
  }
  free(list);
  mgi_se_cuts_share(X);
  for (int k = 0; k < X->n_piece && st == MG_OK; k++) {
    mgi_se_piece *x = &X->piece[k];
    if (x->at < 0 || x->bound >= 1e18) continue;
    if (seg[x->at].n || seg[x->at].tiled) x->us = seg[x->at].us;
    x->library = mgi_se_cuts_library(S, X, x, x->us);
    if (!seg[x->at].n_open && seg[x->at].effort) x->bound = x->us < x->library ? x->us : x->library;
  }
  mgi_se_likely(S, mgi_se_chains_fill(&X->H));
  return st;
}

/* The program that cost[k] is of: its pieces, in their order, and whether library kernels run them; how many, 0: there
   is none. */
MGI_FN int mgi_se_cuts_path(const mgi_se_cutting *X, int k, const mgi_se_piece **cut, uint8_t *library) {
  const mgi_se_chains *H = &X->H;
  const int D = H->n;
  int n = 0;
  if (H->cost[k * D + D - 1] >= 1e17) return 0;
  for (int q = k, b = D - 1; q > 0; n++) { /* backwards */
    const int from = H->from[q * D + b];
    memmove(cut + 1, cut, (size_t)n * sizeof *cut), memmove(library + 1, library, (size_t)n);
    cut[0] = &X->piece[H->id[from * D + b]], library[0] = H->by[q * D + b];
    b = from, q -= library[0] ? cut[0]->n : 1;
  }
  return n;
}

/* 1: no one kernel is likely to be the whole program: it has more operators than a block may have, or a chain of more
   products than any kernel was found to hold.  Its cuts are then tried first (mgi_se_cuts_path_by_path). */
enum { MGI_SE_PRODUCTS = 3 };
MGI_FN int mgi_se_long(const mgi_se_cuts *C, const mg_search_config *cfg) {
  int deep[MGI_SE_MOST_OPS] = { 0 }, most = 0, ops = 0;
  for (int k = 0; k < C->n; k++) {
    const mg_op_node *o = &C->p->ops[C->op[k]];
    ops += mgi_se_counted((int)o->code);
    for (int x = 0; x < k; x++) if (mgi_se_set_has(&C->of[k], x) && deep[x] > deep[k]) deep[k] = deep[x];
    deep[k] += o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL;
    if (deep[k] > most) most = deep[k];
  }
  return ops > cfg->max_block_ops || most > MGI_SE_PRODUCTS;
}

/* 1: the program of k kernels hands on in 16 bits what is not as safe so as it was written, and no plan repairs it.  No
   other program does then. */
MGI_FN int mgi_se_cuts_keep(mgi_se_search *S, mgi_se_cutting *X, int k) {
  const mgi_se_cuts *C = X->C;
  const mgi_se_piece *cut[MGI_SE_MOST_OPS];
  uint8_t library[MGI_SE_MOST_OPS];
  const int n = S->cfg.unsafe ? 0 : mgi_se_cuts_path(X, k, cut, library);
  mg_safety_report r;
  mg_error e;
  mg_graph *g = n ? mgi_se_compose(S, C, X->seg, cut, library, n, &e) : NULL;
  int op = -1;
  if (g) mgi_se_repair(S, &g);
  if (g && mgi_se_step(S, mg_safety_of(S->p, g, NULL, &r, &e)) == MG_OK && r.verdict == MG_UNSAFE && r.stored)
    for (int i = 0; i < C->n; i++)
      if (!C->given[i] &&
          !strcmp(mg_tensor_of(S->p, S->p->ops[C->op[i]].out[0])->name, mg_tensor_of(g, r.tensor)->name))
        op = i;
  mg_graph_free(g);
  if (op < 0 || mgi_se_set_has(&X->kept, op)) return 0;
  mgi_se_set_put(&X->kept, op);
  for (int i = 0; i < X->n_piece; i++) {
    mgi_se_piece *x = &X->piece[i];
    if (!mgi_se_set_has(&x->ops, op)) continue;
    x->library = 1e18;
    if (mgi_se_cuts_leaves(C, &x->ops, op)) x->us = x->bound = 1e18;
  }
  return 1;
}

/* 1: piece x has several products, which *products is then, and the generator does not get far with it: it has a slice
   or a concat, or more operators than that puts into a kernel. */
MGI_FN int mgi_se_cuts_tileable(const mgi_se_search *S, const mgi_se_cuts *C, const mgi_se_piece *x,
                                mgi_se_set *products) {
  int hard = 0;
  memset(products, 0, sizeof *products);
  for (int k = 0; k < C->n; k++) {
    if (!mgi_se_set_has(&x->ops, k)) continue;
    const mg_opcode code = (mg_opcode)C->p->ops[C->op[k]].code;
    if (!mgi_ti_takes(code)) return 0;
    hard |= code == MG_OP_SLICE || code == MG_OP_CONCAT;
    if (code == MG_OP_MATMUL) mgi_se_set_put(products, k);
  }
  if (mgi_se_piece_counted(C, x) > S->tiling_ops || mgi_se_set_size(products, C->n) < 2) return 0;
  return hard || x->large;
}
/* Such pieces by tilings: of those with the same products the longest that has one.  They are not searched then; they
   have a quarter of the time. */
MGI_FN mg_status mgi_se_cuts_tilings(mgi_se_search *S, mgi_se_cutting *X, mg_error *e) {
  const double begun = mgi_se_seconds();
  mg_tilings_config c;
  memset(&c, 0, sizeof c);
  c.machine = S->cfg.machine, c.stop = S->cfg.stop;
  mgi_se_set *had = (mgi_se_set *)calloc((size_t)X->n_piece + 1, sizeof *had);
  int n_had = 0;
  if (!had) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments");
  for (int size = X->C->n; size > 1; size--)
    for (int k = 0; k < X->n_piece; k++) {
      mgi_se_piece *x = &X->piece[k];
      mgi_se_found f;
      mg_graph *g = NULL;
      mg_error why;
      double us = 0;
      mgi_se_set products;
      int n = 0, known = 0;
      if (x->n != size || x->bound >= 1e18 || !mgi_se_cuts_tileable(S, X->C, x, &products)) continue;
      for (int j = 0; j < n_had; j++) known |= mgi_se_set_same(&had[j], &products);
      if (known) continue;
      c.seconds = S->end < 1e300 ? (S->end - begun) / 4 - (mgi_se_seconds() - begun) : 0;
      if (mgi_se_over(S) || (S->end < 1e300 && c.seconds <= 0)) break;
      memset(&f, 0, sizeof f);
      f.ops = x->ops, f.own = mgi_se_segment(X->C, &f, &why);
      mgi_se_found *seg = NULL;
      if (f.own) mgi_se_step(S, mg_tilings_best(f.own, &c, 1, &g, &us, &n, &why));
      if (n) seg = (mgi_se_found *)mgi_se_grow(X->seg, &X->cap_seg, (uint32_t)X->n + 1, sizeof *seg);
      if (seg) X->seg = seg;
      S->st.candidates += (uint64_t)n;
      if (seg && mgi_se_emittable(S, g, &why) == MG_OK && mgi_se_check_small(S, f.own, g, &f.tiled_report)) {
        S->st.verified++;
        f.tiled = g, f.us = f.tiled_us = us, f.effort = MGI_SE_EFFORTS, x->at = X->n, x->us = x->bound = us,
        had[n_had++] = products;
        mg_graph_free(f.own), f.own = NULL;
        X->seg[X->n++] = f;
      } else {
        if (n) mg_graph_free(g), S->st.rejected++;
        mgi_se_found_free(&f);
      }
    }
  free(had);
  return MG_OK;
}

/* What pieces with `of` in them, and more, are likely to take: at least what that does, if no limit of an effort ended
   a frame of it; 1e18 where there was no kernel for that, and `effort` is not to look for one. */
MGI_FN void mgi_se_cuts_guess(mgi_se_cutting *X, const mgi_se_piece *of, int effort) {
  const mgi_se_found *f = of->at >= 0 ? &X->seg[of->at] : NULL;
  if (!f || (f->none ? f->n_spent && f->effort <= effort : (!f->n && !f->tiled) || f->n_spent)) return;
  const double found = of->us < of->library ? of->us : of->library, us = f->none ? 1e18 : found;
  for (int i = 0; i < X->n_piece; i++) {
    mgi_se_piece *x = &X->piece[i];
    int none;
    mgi_se_set_minus(&of->ops, &x->ops, &none);
    if (none && x != of && x->guess < us) x->guess = us;
  }
  if (X->least < us && !f->none) X->least = us;
}

/* The fastest path through the cuts, a piece that `effort` may find more for, of at most `size` operators, priced by
   its guess; its pieces are searched, and so on until none of the fastest path's is left. */
MGI_FN mg_status mgi_se_cuts_paths(mgi_se_search *S, mgi_se_cutting *X, int effort, int size, mg_error *e) {
  const mgi_se_chains *H = &X->H;
  const int D = H->n;
  mg_status st = MG_OK;
  double *known = (double *)malloc(((size_t)X->n_piece + 1) * sizeof *known);
  if (!known) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments");
  for (int m = 1; m && st == MG_OK && !mgi_se_over(S);) {
    const mgi_se_piece *cut[MGI_SE_MOST_OPS];
    uint8_t library[MGI_SE_MOST_OPS];
    int k = 0, left = 0;
    m = 0;
    for (int i = 0; i < X->n_piece; i++) {
      mgi_se_piece *x = &X->piece[i];
      known[i] = x->us;
      if (x->n > size || x->guess >= 1e18 || !mgi_se_cuts_open(X, x, effort)) continue;
      left++;
      if (x->guess < x->us) x->us = x->guess;
    }
    mgi_se_chains_fill(&X->H);
    for (int q = 1; q <= H->most; q++) if (H->cost[q * D + D - 1] < H->cost[k * D + D - 1]) k = q;
    const int n = H->cost[k * D + D - 1] < X->enough ? mgi_se_cuts_path(X, k, cut, library) : 0;
    for (int i = 0; i < n; i++)
      if (!library[i] && cut[i]->n <= size && cut[i]->guess < 1e18 && mgi_se_cuts_open(X, cut[i], effort))
        X->todo[m++] = (int)(cut[i] - X->piece);
    for (int i = 0; i < X->n_piece; i++) X->piece[i].us = known[i];
    if (!m && n && mgi_se_cuts_keep(S, X, k)) m = 1;
    else if (m) {
      S->units = S->units_done + left;
      st = mgi_se_cuts_pieces(S, X, m, effort, e);
      for (int i = 0; i < m; i++) mgi_se_cuts_guess(X, &X->piece[X->todo[i]], effort);
    }
  }
  free(known);
  return st;
}

/* What a kernel for the whole program that takes `us` takes when it is made safe; 1e18: it is not equal, or behind
   others.  Frees it. */
MGI_FN double mgi_se_safe_us(mgi_se_search *S, mg_graph *g, double us) {
  mg_verify_report rep;
  const double more = mgi_se_repair(S, &g);
  const int good = mgi_se_check_small(S, S->p, g, &rep) && !(mgi_se_judges(S) && mgi_se_behind(S, g));
  mg_graph_free(g);
  return good ? us + more : 1e18;
}
/* Of the fastest that was found; 1e18: there is none. */
MGI_FN double mgi_se_whole_us(mgi_se_search *S, const mgi_se_found *whole) {
  mg_error e;
  if (!whole || !whole->n) return 1e18;
  const mgi_se_structure *t = &whole->st[0];
  mg_graph *g = mgi_se_kernel_graph(whole->s, S->p, t, whole->s->real, t->count[whole->tile[0]], NULL, S->cfg.machine,
                                    &e);
  if (!g) mgi_se_step(S, e.status);
  return g ? mgi_se_safe_us(S, g, whole->us) : 1e18;
}
/* What a kernel for the whole program may take, by the model, to be asked for: the program itself is a result too, and
   where one kernel does much over again, its tiles would have all of the time that its parts need.  0: any time. */
#define MGI_SE_WHOLE_WORTH 2.0
MGI_FN double mgi_se_whole_most(mgi_se_search *S) {
  mg_error why;
  if (S->cfg.batch_invariant && mg_library_multiplies(S->p)) return 0; /* it is no result */
  return S->st.own_us < MG_NO_TIME && mgi_se_emittable(S, S->p, &why) == MG_OK ? MGI_SE_WHOLE_WORTH * S->st.own_us : 0;
}
/* Of the one by rows. */
MGI_FN double mgi_se_rows_us(mgi_se_search *S) {
  mg_graph *g = NULL;
  mg_error e;
  if (!S->rows || mgi_se_step(S, mg_resize(S->rows, NULL, NULL, &g, &e)) != MG_OK) return 1e18;
  return mgi_se_safe_us(S, g, S->rows_us);
}

enum { MGI_SE_LARGE = 2 }; /* the effort from which on large pieces are searched */
/* By little effort, pieces of at most two operators first, then of as many again: so there is a whole program early;
   then by more, what may be a part of a better one; at last, what may be by its bound alone.  Large pieces, most of
   which no kernel makes, wait for the effort MGI_SE_LARGE.  whole: NULL, or the whole program, which more effort may be
   a kernel of. */
MGI_FN mg_status mgi_se_cuts_path_by_path(mgi_se_search *S, mgi_se_cutting *X, mgi_se_found *whole, mg_error *e) {
  const int settled = whole && !whole->n_open; /* it will not be faster */
  const double least = settled ? mgi_se_whole_us(S, whole) : 1e18, rows = mgi_se_rows_us(S);
  mg_status st = mgi_se_cuts_tilings(S, X, e);
  for (int effort = 0; st == MG_OK && effort <= MGI_SE_EFFORTS && !mgi_se_over(S); effort++) {
    const int last = effort == MGI_SE_EFFORTS, by = last ? MGI_SE_EFFORTS - 1 : effort;
    for (int i = 0; i < X->n_piece; i++) {
      mgi_se_piece *x = &X->piece[i];
      x->guess = (x->apart && !last) || (x->large && by < MGI_SE_LARGE) ? 1e18 : x->bound;
    }
    X->least = 0, X->enough = settled ? least : by == MGI_SE_EFFORTS - 1 ? mgi_se_whole_us(S, whole) : 1e18;
    if (rows < X->enough) X->enough = rows;
    for (int i = 0; i < X->n_piece && !last; i++) if (X->piece[i].at >= 0) mgi_se_cuts_guess(X, &X->piece[i], by);
    for (int size = effort ? X->C->n : 2, end = 0; st == MG_OK && !end; size *= 2)
      st = mgi_se_cuts_paths(S, X, by, size, e), end = size >= X->C->n;
    const double best = mgi_se_chains_fill(&X->H);
    if (whole && whole->n_open && whole->effort <= by && X->least < best && st == MG_OK && !mgi_se_over(S))
      st = mgi_se_search_whole(S, NULL, whole, by, e);
  }
  for (int i = 0; i < X->n_piece; i++) { /* what was not looked at may run as it stands */
    mgi_se_piece *x = &X->piece[i];
    if (x->at < 0) x->library = mgi_se_cuts_library(S, X, x, 1e18);
    S->st.pruned_bound += x->at < 0 && x->bound < 1e18 && !mgi_se_over(S);
  }
  return st;
}

enum { MGI_SE_MOVES = 8 }; /* one after the other, at most */
MGI_FN int mgi_se_is_move(const mg_op_node *o) { return o->code == MG_OP_RESHAPE || o->code == MG_OP_TRANSPOSE; }
/* The reshapes and transposes of the program that end in t (back), or begin with it and have no other reader: end[k] is
   what lies beyond the first k + 1 of them. */
MGI_FN int mgi_se_moves(const mg_graph *p, mg_tensor t, int back, const mg_op_node **move, mg_tensor *end) {
  int n = 0;
  while (n < MGI_SE_MOVES && t.id) {
    uint32_t at = back ? p->tensors[t.id].op : 0;
    int readers = 0;
    for (uint32_t k = 1; k < p->n_ops && !back; k++)
      for (int j = 0; j < p->ops[k].n_in; j++) if (p->ops[k].in[j].id == t.id) readers++, at = k;
    if (!at || readers > 1 || !mgi_se_is_move(&p->ops[at])) break;
    t = back ? p->ops[at].in[0] : p->ops[at].out[0];
    move[n] = &p->ops[at], end[n++] = t;
  }
  return n;
}
/* A faster form of g, which names what the program does, in which a load or a store takes the place of reshapes and
   transposes, as many as can be; NULL if there is none. */
MGI_FN mg_graph *mgi_se_fold_once(mgi_se_search *S, const mg_graph *g) {
  const double us = mgi_se_us(S, g, NULL);
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    for (uint32_t i = 1, stores = 0; b && i < b->n_ops; i++) {
      const int store = b->ops[i].code == MG_OP_STORE;
      if (!store && b->ops[i].code != MG_OP_LOAD) continue;
      const mg_tensor mine = store ? g->ops[k].out[stores++] : b->ops[i].in[0];
      const mg_op_node *move[MGI_SE_MOVES], *run[MGI_SE_MOVES];
      mg_tensor end[MGI_SE_MOVES];
      for (int n = mgi_se_moves(S->p, mg_find(S->p, g->tensors[mine.id].name), !store, move, end); n > 0; n--) {
        const mg_tensor to = mg_find(g, S->p->tensors[end[n - 1].id].name);
        mg_graph *with = NULL;
        mg_error e;
        if (!to.id || (store ? g->tensors[to.id].op <= k : g->tensors[to.id].op >= k)) continue;
        for (int q = 0; q < n; q++) run[q] = move[store ? q : n - 1 - q];
        if (mgi_se_step(S, mg_fold_moves(g, k, i, to, n, run, &with, &e)) != MG_OK) continue;
        const double now = mgi_se_us(S, with, NULL); /* as fast, too: what is left says less */
        if (now <= us * (1 + 1e-9) && mgi_se_emittable(S, with, &e) == MG_OK) return with;
        mg_graph_free(with);
      }
    }
  }
  return NULL;
}
/* The program of several kernels g with its reshapes and transposes as addresses, if it is equal and faster than all
   others, among the results.  What a reshape takes apart cannot be made small: it is verified as a certificate will be,
   piece by piece. */
enum { MGI_SE_FOLD_S = 3 }; /* seconds that this has at least */
MGI_FN void mgi_se_fold(mgi_se_search *S, const mg_graph *g, mg_search_result *out) {
  mg_graph *with = mgi_se_fold_once(S, g);
  mg_verify_config v = mgi_se_check_config(S);
  mg_verify_report rep;
  for (mg_graph *more; with && (more = mgi_se_fold_once(S, with)) != NULL; with = more) mg_graph_free(with);
  const double us = with ? mgi_se_us(S, with, NULL) : 1e18;
  if (!with || (out->n && us >= out->predicted_us[0])) { mg_graph_free(with); return; }
  v.tier = MG_TIER_FULL;
  if (v.time_limit_s < MGI_SE_FOLD_S) v.time_limit_s = MGI_SE_FOLD_S;
  S->st.candidates++;
  if (!mgi_se_equal(S, S->p, with, &v, &rep)) S->st.rejected++, mg_graph_free(with);
  else S->st.verified++, mgi_se_result_add(S, out, with, us, &rep);
}

/* ---- reshapes at the edges
   A reshape that an operator does not see is moved behind it: slice(reshape(A)), rope(reshape(A)).  So the reshapes of
   a program come to its edges, where they are addresses of loads and stores; what is left without them, the core, is
   searched as a program of its own: a slice between two reshapes is found in no time then.

       A [n, 6144] -> reshape [n, 48, 128] -> slice [n, 32, 128] -> reshape [n, 8, 4, 128] -> rope -> [n, 8, 4, 128]
       A [n, 6144] -> reshape [n, 48, 128] -> slice [n, 32, 128] -> rope -> [n, 32, 128] -> reshape [n, 8, 4, 128]

   Each tensor of the program is a tensor `as` of the core, of as many elements in the same order, and of another shape
   where a reshape is still to come.  Nothing depends on this being right: what is found for the core is compared with
   the program. */
typedef struct mgi_se_edges {
  mg_graph *p, *core;        /* the program with its reshapes at its edges; without them */
} mgi_se_edges;
typedef struct mgi_se_edging {
  const mg_graph *p;
  mg_graph *core;
  mg_tensor *as, *whole;     /* by tensor of p: the core's; the same in p's shape, once it was asked for */
  int fresh;
} mgi_se_edging;
/* Dimensions of a tensor's `own` shape, and of `to`, that come to the same. */
typedef struct mgi_se_regroup { int own, n_own, to, n_to; } mgi_se_regroup;

/* The finest groups of both shapes, which have as many elements; how many. */
MGI_FN int mgi_se_regroups(const mg_shape *own, const mg_shape *to, mgi_se_regroup *out) {
  int n = 0;
  for (int i = 0, j = 0; i < own->rank || j < to->rank;) {
    mgi_se_regroup *r = &out[n++];
    int64_t a = 1, b = 1;
    r->own = i, r->to = j;
    if (i < own->rank && j < to->rank && own->dim[i] == to->dim[j]) i++, j++;
    else if (j < to->rank && to->dim[j] == 1) j++;
    else if (i < own->rank && own->dim[i] == 1) i++;
    else
      do {
        if (a <= b && i < own->rank) a *= own->dim[i++];
        else if (j < to->rank) b *= to->dim[j++];
        else break;
      } while (a != b);
    r->n_own = i - r->own, r->n_to = j - r->to;
    if (n == 2 * MG_MAX_RANK) break;
  }
  return n;
}
/* 1: operator o of p is a reshape, or a transpose that leaves what has more than one element in its order:
   [8, 1, 20, 64] to [8, 20, 1, 64]. */
MGI_FN int mgi_se_reshapes(const mg_graph *p, const mg_op_node *o) {
  if (o->code != MG_OP_TRANSPOSE) return o->code == MG_OP_RESHAPE;
  const mg_shape *from = &p->tensors[o->in[0].id].shape;
  int last = -1;
  for (int d = 0; d < from->rank; d++) {
    const int k = o->attr.perm[d];
    if (from->dim[k] == 1) continue;
    if (k < last) return 0;
    last = k;
  }
  return 1;
}
MGI_FN const char *mgi_se_edge_name(mgi_se_edging *E, char room[32]) {
  do snprintf(room, 32, "edge%d", ++E->fresh);
  while (mg_find(E->p, room).id);
  return room;
}
/* What moves `in` so, which is there once; its name is fresh. */
MGI_FN mg_tensor mgi_se_edge_moved(mgi_se_edging *E, mg_opcode code, const mg_attr *A, mg_tensor in) {
  char room[32];
  for (uint32_t k = 1; k < E->core->n_ops; k++) {
    const mg_op_node *o = &E->core->ops[k];
    if (o->code != code || o->in[0].id != in.id || !mg_same_shape(&o->attr.shape, &A->shape)) continue;
    if (o->attr.dim == A->dim && o->attr.from == A->from && o->attr.n == A->n) return o->out[0];
  }
  return mg_named(E->core, mg_apply(E->core, code, A, 1, &in), mgi_se_edge_name(E, room));
}
/* `as`, of another shape than `want`.  Of a slice of the last dimension, which `want` takes apart, as the same slice of
   what it is of, taken apart so: heads of one product's columns are addresses in it. */
MGI_FN mg_tensor mgi_se_edge_reshaped(mgi_se_edging *E, mg_tensor as, const mg_shape *want) {
  const mg_op_node *o = mg_op_of(E->core, mg_tensor_of(E->core, as)->op); /* none of an input */
  const mg_shape *own = &mg_tensor_of(E->core, as)->shape;
  const int last = own->rank - 1;
  int64_t inner = 1;
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.shape = *want;
  int alike = o->code == MG_OP_SLICE && last >= 0 && o->attr.dim == last && want->rank > own->rank;
  for (int d = 0; d < last && alike; d++) alike = own->dim[d] == want->dim[d];
  for (int d = last + 1; d < want->rank && alike; d++) inner *= want->dim[d];
  mg_tensor of = alike ? o->in[0] : as;
  const int64_t all = mg_tensor_of(E->core, of)->shape.dim[last < 0 ? 0 : last], from = o->attr.from;
  if (!alike || from % inner || all % inner) return mgi_se_edge_moved(E, MG_OP_RESHAPE, &A, as);
  A.shape.dim[last] = all / inner;
  of = mgi_se_edge_moved(E, MG_OP_RESHAPE, &A, of);
  memset(&A, 0, sizeof A);
  A.dim = last, A.from = from / inner, A.n = want->dim[last];
  return mgi_se_edge_moved(E, MG_OP_SLICE, &A, of);
}
/* Tensor t of the program in its own shape. */
MGI_FN mg_tensor mgi_se_edge_whole(mgi_se_edging *E, mg_tensor t) {
  const mg_shape *want = &E->p->tensors[t.id].shape;
  const mg_tensor as = E->as[t.id];
  if (mg_same_shape(&mg_tensor_of(E->core, as)->shape, want)) return as;
  if (!E->whole[t.id].id) E->whole[t.id] = mgi_se_edge_reshaped(E, as, want);
  return E->whole[t.id];
}
/* 1: operator o may take its operands as they are, inputs of the core in another shape, too: in; its attribute is then
   *A. */
MGI_FN int mgi_se_edge_through(mgi_se_edging *E, const mg_op_node *o, mg_attr *A, mg_tensor *in) {
  const mg_op_info *row = mg_op_row(o->code);
  const mg_shape *out = &E->p->tensors[o->out[0].id].shape;
  const int along = row->attr == MG_ATTR_DIM || row->attr == MG_ATTR_DIMN || row->attr == MG_ATTR_SLICE;
  mgi_se_regroup r[2 * MG_MAX_RANK];
  const mg_shape *own = NULL, *to = NULL;
  mg_attr moved[MG_MAX_IN];
  memset(moved, 0, sizeof moved);
  *A = o->attr;
  if (row->user || (!along && !(row->elementwise && (row->attr == MG_ATTR_NONE || row->attr == MG_ATTR_RAT)))) return 0;
  for (int k = 0; k < o->n_in && !own; k++) {
    to = &E->p->tensors[o->in[k].id].shape;
    if (!mg_same_shape(&mg_tensor_of(E->core, E->as[o->in[k].id])->shape, to))
      own = &mg_tensor_of(E->core, E->as[o->in[k].id])->shape;
  }
  if (!own || to->rank != out->rank) return 0;
  const int n = mgi_se_regroups(own, to, r);
  for (int g = 0, found = 0; g < n && along && !found; g++) {
    found = o->attr.dim >= r[g].to && o->attr.dim < r[g].to + r[g].n_to;
    if (!found) continue;
    A->dim = r[g].own;
    if (r[g].n_own == 1 && r[g].n_to == 1) continue;
    /* of the outermost of what one dimension is taken apart into, a slice is one of that dimension */
    int64_t inner = 1;
    for (int d = r[g].to; d < r[g].to + r[g].n_to; d++) {
      if (d < o->attr.dim && to->dim[d] > 1) return 0;
      if (d > o->attr.dim) inner *= to->dim[d];
    }
    if (row->attr != MG_ATTR_SLICE || r[g].n_own != 1) return 0;
    A->from *= inner, A->n *= inner;
  }
  for (int k = 0; k < o->n_in; k++) {
    const mg_shape *t = &E->p->tensors[o->in[k].id].shape, *have = &mg_tensor_of(E->core, E->as[o->in[k].id])->shape;
    const int off = out->rank - t->rank;
    int64_t want[2 * MG_MAX_RANK];
    int m = 0, from = 0, first = 0;
    for (int g = 0; g < n; g++) {
      const int single = r[g].n_own == 1 && r[g].n_to == 1;
      int full = 1, ones = 1;
      for (int d = r[g].to; d < r[g].to + r[g].n_to; d++) {
        const int64_t extent = d < off ? 1 : t->dim[d - off];
        full &= extent == to->dim[d], ones &= extent == 1;
        if (single) want[m++] = extent;
      }
      if (single) continue;
      if (!full && !ones) return 0;
      for (int d = 0; d < r[g].n_own; d++) want[m++] = ones ? 1 : own->dim[r[g].own + d];
    }
    const int most = m;
    while (from < m && want[from] == 1) from++;
    while (first < have->rank && have->dim[first] == 1) first++;
    int same = have->rank <= most && !(along && have->rank != most) && have->rank - first == m - from;
    for (int d = 0; d < m - from && same; d++) same = have->dim[first + d] == want[from + d];
    if (same) continue;
    if (mg_tensor_of(E->core, E->as[o->in[k].id])->op || most > MG_MAX_RANK) return 0;
    moved[k].shape.rank = most;
    for (int d = 0; d < most; d++) moved[k].shape.dim[d] = want[d];
    if (mg_shape_elements(&moved[k].shape) != mg_shape_elements(have)) return 0;
  }
  for (int k = 0; k < o->n_in; k++) {
    const mg_tensor as = E->as[o->in[k].id];
    in[k] = moved[k].shape.rank ? mgi_se_edge_moved(E, MG_OP_RESHAPE, &moved[k], as) : as;
  }
  return 1;
}
/* How many reshapes of g are of slices. */
MGI_FN int mgi_se_reshaped_slices(const mg_graph *g) {
  int n = 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    n += g->ops[k].code == MG_OP_RESHAPE && g->ops[g->tensors[g->ops[k].in[0].id].op].code == MG_OP_SLICE;
  return n;
}
/* 0: there is nothing to be gained, or no memory. */
MGI_FN int mgi_se_edges_of(const mg_graph *p, mgi_se_edges *out) {
  mgi_se_edging E;
  mg_tensor in[MG_MAX_IN], made[MG_MAX_OUT], outer[MG_MAX_OUT];
  const mg_op_node *first[MG_MAX_IN];
  mg_config c = mg_config_default();
  int moves = 0, left = 0, moved = 0;
  mg_error e;
  char room[32];
  memset(out, 0, sizeof *out), memset(&E, 0, sizeof E);
  if (p->n_ops == 2 || mg_n_sizes(p)) return 0;
  for (uint32_t k = 1; k < p->n_ops; k++) moves += mgi_se_reshapes(p, &p->ops[k]);
  if (!moves) return 0;
  E.p = p, E.core = mg_program_new(p->name, &c);
  out->p = mg_program_new(p->name, &c);
  E.as = (mg_tensor *)calloc(p->n_tensors, sizeof *E.as), E.whole = (mg_tensor *)calloc(p->n_tensors, sizeof *E.whole);
  int good = E.core && out->p && E.as && E.whole;
  /* an input that nothing but reshapes to one shape read is one of that shape */
  for (uint32_t k = 0; k < p->n_in && good; k++) {
    const mg_tensor_info *t = &p->tensors[p->in[k].id];
    int other = t->fill != 0;
    first[k] = NULL;
    for (int d = 0; d < t->shape.rank; d++) other |= t->order[d] != d;
    for (uint32_t i = 1; i < p->n_ops; i++)
      for (int j = 0; j < p->ops[i].n_in; j++) {
        if (p->ops[i].in[j].id != p->in[k].id) continue;
        const mg_op_node *o = &p->ops[i];
        if (!first[k]) first[k] = o;
        const mg_shape *to = &p->tensors[o->out[0].id].shape;
        other |= !mgi_se_reshapes(p, o) || !mg_same_shape(to, &p->tensors[first[k]->out[0].id].shape) ||
                 mg_same_shape(to, &t->shape);
      }
    other |= mg_is_output(p, p->in[k]);
    if (other || !first[k]) first[k] = NULL, E.as[p->in[k].id] = mg_input_like(E.core, t, NULL);
    else
    {
      const mg_tensor_info *as = &p->tensors[first[k]->out[0].id];
      E.as[p->in[k].id] = mg_input(E.core, as->name, t->dtype, as->shape.rank, as->shape.dim);
    }
  }
  for (uint32_t i = 1; i < p->n_ops && good; i++) {
    const mg_op_node *o = &p->ops[i];
    const mg_tensor t = o->out[0];
    mg_attr A;
    if (mgi_se_reshapes(p, o)) { E.as[t.id] = E.as[o->in[0].id]; continue; }
    const int through = mgi_se_edge_through(&E, o, &A, in);
    if (!through) A = o->attr;
    moved += through;
    for (int k = 0; k < o->n_in && !through; k++) in[k] = mgi_se_edge_whole(&E, o->in[k]);
    E.as[t.id] = mg_apply(E.core, o->code, &A, o->n_in, in);
    good = E.as[t.id].id &&
           mg_shape_elements(&mg_tensor_of(E.core, E.as[t.id])->shape) == mg_shape_elements(&p->tensors[t.id].shape);
    /* Whether the name is that of what an edge makes of it. */
    const int ends = mg_is_output(p, t) && good &&
                     !mg_same_shape(&mg_tensor_of(E.core, E.as[t.id])->shape, &p->tensors[t.id].shape);
    if (good) mg_named(E.core, E.as[t.id], ends ? mgi_se_edge_name(&E, room) : p->tensors[t.id].name);
    if (good && !ends) E.core->tensors[E.as[t.id].id].inner = p->tensors[t.id].inner;
  }
  for (uint32_t q = 0; q < p->n_out && good; q++) {
    const mg_tensor t = E.as[p->out[q].id];
    for (uint32_t k = 0; k < q; k++) good &= E.as[p->out[k].id].id != t.id; /* two shapes of one tensor */
    good &= mg_tensor_of(E.core, t)->op != 0;
    if (good) mg_output(E.core, t);
  }
  for (uint32_t k = 1; good && k < E.core->n_ops; k++) left += E.core->ops[k].code == MG_OP_RESHAPE;
  const int turned = good && mgi_se_reshaped_slices(E.core) < mgi_se_reshaped_slices(p);
  /* where none moved, the cuts are there already */
  good = good && (moved || turned) && left < moves + turned && mg_check(E.core, &e) == MG_OK;
  for (uint32_t k = 0; k < p->n_in && good; k++) {
    in[k] = mg_input_like(out->p, &p->tensors[p->in[k].id], NULL);
    if (!first[k]) continue;
    const mg_tensor_info *as = &p->tensors[first[k]->out[0].id];
    in[k] = mg_named(out->p, mg_reshape_to(out->p, in[k], &as->shape), as->name);
  }
  if (good) mg_insert(out->p, E.core, in, made);
  for (uint32_t q = 0; q < p->n_out && good; q++) {
    const mg_tensor_info *t = &p->tensors[p->out[q].id];
    mg_attr A;
    memset(&A, 0, sizeof A);
    A.shape = t->shape, outer[q] = made[q];
    if (!mg_same_shape(&mg_tensor_of(out->p, made[q])->shape, &t->shape))
      outer[q] = mg_named(out->p, mg_apply(out->p, MG_OP_RESHAPE, &A, 1, &made[q]), t->name);
    mg_output(out->p, outer[q]);
  }
  good = good && mg_check(out->p, &e) == MG_OK;
  free(E.as), free(E.whole);
  if (good) out->core = E.core;
  else mg_graph_free(E.core), mg_graph_free(out->p), out->p = NULL;
  return good;
}
/* ---- grouped heads
   A product with copies of an operand, one for each head of a group, is one with the operand itself, the group's rows
   below each other:

       K [2, d, m] -> repeat -> [2, 4, d, m] -> reshape [8, d, m],   matmul(Q [8, n, d], .. ) -> [8, n, m]
       matmul(reshape(Q, [2, 4 n, d]), K) -> [2, 4 n, m], the same elements in the same order

   What follows rows of these goes on with them so: elementwise operators, reductions of rows, the next product.  The
   program without the copies is searched in the place of the program.  Nothing depends on this being right: what is
   found is compared with the program. */
typedef struct mgi_se_heads { /* id 0: not there */
  mg_tensor whole, few, below; /* as the program has it; without the copies; with a group's rows below each other */
  mg_shape shape;              /* of few: what it is reshaped to where it is used */
  int dim;                     /* of few: the dimension that has the copies */
  int64_t n;                   /* of few and below: heads of a group */
} mgi_se_heads;
typedef struct mgi_se_grouping {
  const mg_graph *p;
  mg_graph *g;
  mgi_se_heads *of;          /* by tensor of the program */
} mgi_se_grouping;

MGI_FN mg_tensor mgi_se_group_named(mgi_se_grouping *G, mg_tensor made, mg_tensor t) {
  if (made.id) mg_named(G->g, made, G->p->tensors[t.id].name), G->g->tensors[made.id].inner = G->p->tensors[t.id].inner;
  return made;
}
/* Tensor t as the program has it, or, `any`, in whatever shape it is there; reshapes are made where they are needed. */
MGI_FN mg_tensor mgi_se_group_whole(mgi_se_grouping *G, mg_tensor t, int any) {
  mgi_se_heads *h = &G->of[t.id];
  const mg_op_node *o = &G->p->ops[G->p->tensors[t.id].op];
  if (h->whole.id) return h->whole;
  const int later = h->below.id || (o->code == MG_OP_RESHAPE && !h->few.id);
  const mg_tensor in = h->below.id ? h->below : mgi_se_group_whole(G, o->in[0], later);
  if (later && any) return in;
  h->whole = later ? mg_reshape_to(G->g, in, &G->p->tensors[t.id].shape) : mg_apply(G->g, o->code, &o->attr, 1, &in);
  return h->whole.id == in.id ? in : mgi_se_group_named(G, h->whole, t);
}
/* 1: operator o makes copies, or moves what has them: *out says of its result what it is without them. */
MGI_FN int mgi_se_group_few(mgi_se_grouping *G, const mg_op_node *o, mgi_se_heads *out) {
  const mgi_se_heads *h = &G->of[o->in[0].id];
  const mg_shape *from = &G->p->tensors[o->in[0].id].shape;
  const int d = h->dim;
  *out = *h, out->whole.id = out->below.id = 0;
  if (o->code == MG_OP_REPEAT && !h->few.id && from->dim[o->attr.dim] == 1 && o->attr.n > 1) {
    out->few = mgi_se_group_whole(G, o->in[0], 1), out->shape = *from, out->dim = o->attr.dim, out->n = o->attr.n;
    return 1;
  }
  if (h->few.id && o->code == MG_OP_TRANSPOSE) {
    const mg_tensor turned = mg_reshape_to(G->g, h->few, &h->shape);
    for (int k = 0; k < from->rank; k++)
      if (o->attr.perm[k] == d) out->dim = k;
    out->few = mg_transpose(G->g, turned, o->attr.perm), out->shape = mg_tensor_of(G->g, out->few)->shape;
    return 1;
  }
  if (!h->few.id || o->code != MG_OP_RESHAPE || o->attr.shape.rank != from->rank - 1) return 0;
  if (!d || h->shape.dim[d] != 1) return 0;
  memmove(out->shape.dim + d, out->shape.dim + d + 1, (size_t)(out->shape.rank-- - d - 1) * sizeof *out->shape.dim);
  for (int k = 0; k < out->shape.rank; k++)
    if (o->attr.shape.dim[k] != out->shape.dim[k] * (k == d - 1 ? h->n : 1)) return 0;
  out->dim = d - 1;
  return 1;
}
/* Tensor t with groups of n heads' rows below each other; id 0: it has no such groups. */
MGI_FN mg_tensor mgi_se_group_below(mgi_se_grouping *G, mg_tensor t, int64_t n) {
  const mgi_se_heads *h = &G->of[t.id];
  mg_shape s = G->p->tensors[t.id].shape;
  const mg_tensor none = {0};
  if (h->below.id) return h->n == n ? h->below : none;
  if (s.rank < 3 || s.dim[s.rank - 3] % n) return none;
  s.dim[s.rank - 3] /= n, s.dim[s.rank - 2] *= n;
  return mg_reshape_to(G->g, mgi_se_group_whole(G, t, 1), &s);
}
/* Tensor t, whose rows are the same for all heads, with n copies of them below each other: of a mask, a copy costs less
   than of keys. */
MGI_FN mg_tensor mgi_se_group_copied(mgi_se_grouping *G, mg_tensor t, int rank, int64_t n) {
  const mg_shape *own = &G->p->tensors[t.id].shape;
  mg_shape s;
  s.rank = rank;
  for (int d = 0; d < rank; d++) s.dim[d] = d < rank - own->rank ? 1 : own->dim[d - (rank - own->rank)];
  const mg_tensor copies = mg_repeat(G->g, mg_reshape_to(G->g, mgi_se_group_whole(G, t, 1), &s), rank - 3, n);
  s.dim[rank - 2] *= n;
  return mg_reshape_to(G->g, copies, &s);
}
/* Operator o over rows that are below each other; id 0: it is none of these.  *lost: 1: it takes such rows, and
   something that differs by row or head in another way: then the copies cost less than what takes the rows apart
   again. */
MGI_FN mg_tensor mgi_se_group_rows(mgi_se_grouping *G, const mg_op_node *o, int64_t *n, int *lost) {
  const mg_op_info *row = mg_op_row(o->code);
  const mg_shape *out = &G->p->tensors[o->out[0].id].shape;
  const int plain = row->elementwise && (row->attr == MG_ATTR_NONE || row->attr == MG_ATTR_RAT);
  const int sums = (o->code == MG_OP_SUM || o->code == MG_OP_MAX) && o->attr.dim == out->rank - 1;
  const mg_tensor none = {0};
  mg_tensor in[MG_MAX_IN];
  if (row->user || out->rank < 3) return none;
  if (o->code == MG_OP_MATMUL) {
    const mgi_se_heads *b = &G->of[o->in[1].id];
    if (!b->few.id || b->dim != out->rank - 3 || G->p->tensors[o->in[1].id].shape.rank != out->rank) return none;
    if (G->p->tensors[o->in[0].id].shape.rank != out->rank) return none;
    *n = b->n, in[0] = mgi_se_group_below(G, o->in[0], *n);
    return in[0].id ? mg_matmul(G->g, in[0], mg_reshape_to(G->g, b->few, &b->shape)) : none;
  }
  *n = 0;
  for (int k = 0; k < o->n_in; k++)
    if (G->of[o->in[k].id].below.id) *n = G->of[o->in[k].id].n;
  if (!*n || !(plain || sums)) return none;
  for (int k = 0; k < o->n_in; k++) {
    const mg_tensor t = o->in[k];
    const mg_shape *s = &G->p->tensors[t.id].shape;
    const int64_t heads = s->rank > 2 ? s->dim[s->rank - 3] : 1, rows = s->rank > 1 ? s->dim[s->rank - 2] : 1;
    const int all_rows = rows == out->dim[out->rank - 2];
    if (all_rows && s->rank == out->rank && heads == out->dim[out->rank - 3]) in[k] = mgi_se_group_below(G, t, *n);
    else if (heads == 1 && rows == 1) in[k] = mgi_se_group_whole(G, t, 0);
    else if (heads == 1 && all_rows) in[k] = mgi_se_group_copied(G, t, out->rank, *n);
    else in[k] = none;
    if (!in[k].id) { *lost = 1; return none; }
  }
  return mg_apply(G->g, o->code, &o->attr, o->n_in, in);
}
/* The program without copies for the heads of a group; NULL: it has none, or no memory. */
MGI_FN mg_graph *mgi_se_ungrouped(const mg_graph *p) {
  mg_config c = mg_config_default();
  mgi_se_grouping G;
  mg_error e;
  int products = 0, copies = 0, lost = 0;
  for (uint32_t k = 1; k < p->n_ops; k++) copies += p->ops[k].code == MG_OP_REPEAT;
  if (!copies || mg_n_sizes(p)) return NULL;
  G.p = p, G.g = mg_program_new(p->name, &c);
  G.of = (mgi_se_heads *)calloc(p->n_tensors, sizeof *G.of);
  int good = G.g && G.of;
  for (uint32_t k = 0; k < p->n_in && good; k++)
    G.of[p->in[k].id].whole = mg_input_like(G.g, &p->tensors[p->in[k].id], NULL);
  for (uint32_t i = 1; i < p->n_ops && good; i++) {
    const mg_op_node *o = &p->ops[i];
    mgi_se_heads *h = &G.of[o->out[0].id];
    mg_tensor in[MG_MAX_IN];
    if (mgi_se_group_few(&G, o, h)) continue;
    memset(h, 0, sizeof *h);
    if (o->code == MG_OP_RESHAPE) continue;
    h->below = mgi_se_group_rows(&G, o, &h->n, &lost);
    if (h->below.id) G.g->tensors[h->below.id].inner = p->tensors[o->out[0].id].inner;
    products += h->below.id && o->code == MG_OP_MATMUL;
    for (int k = 0; k < o->n_in && !h->below.id; k++) in[k] = mgi_se_group_whole(&G, o->in[k], 0);
    if (!h->below.id) h->whole = mgi_se_group_named(&G, mg_apply(G.g, o->code, &o->attr, o->n_in, in), o->out[0]);
    good = !lost && (h->whole.id || h->below.id);
  }
  for (uint32_t k = 0; k < p->n_out && good; k++) mg_output(G.g, mgi_se_group_whole(&G, p->out[k], 0));
  free(G.of);
  if (good && products && mg_check(G.g, &e) == MG_OK) return G.g;
  mg_graph_free(G.g);
  return NULL;
}
/* ---- regions
   Chains of moves, of which some are transposes, cut the program apart: what lies between them is searched as programs
   of their own, and the chains become addresses of what their kernels load and store.  What a chain makes is as a rule
   the same memory, its dimensions in another order; a region takes it so:

       matmul [n, 512] -> reshape [n, 8, 64] -> transpose [8, n, 64] -> ..        input Q' : [8, n, 64] @ [1, 0, 2]

   The level of an operator is the largest number of chains on a way to it from another operator.  A region is of one
   level: operators that hand tensors to each other, or take the same one.  So no region waits for itself.  Nothing
   depends on this being right: what it comes to is compared with the program. */
enum { MGI_SE_REGIONS = 8 };
typedef struct mgi_se_region {
  mg_graph *p, *found;
  int level, n_in, n_out;
  mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT]; /* tensors of the program */
  mg_search_result r;
} mgi_se_region;
typedef struct mgi_se_regions {
  int n;
  mgi_se_region at[MGI_SE_REGIONS]; /* by their levels */
  uint8_t *moved;                   /* by operator of the program: it is of such a chain */
} mgi_se_regions;

/* How that would lie which the n moves make of `in`: *like, its dimensions in what order; 0 where that is none. */
MGI_FN int mgi_se_lies(const mg_graph *p, mg_tensor in, int n, const mg_tensor *end, mg_tensor_info *like) {
  const mg_tensor_info *t = &p->tensors[in.id];
  int64_t stride[MG_MAX_RANK], place[MG_MAX_RANK];
  mg_shape shape = t->shape;
  mg_strides(t, stride);
  for (int k = 0; k < n; k++) {
    const mg_op_node *o = &p->ops[p->tensors[end[k].id].op];
    const mg_shape *to = &p->tensors[end[k].id].shape;
    for (int d = 0, f = 0; d < to->rank; d++) {
      if (o->code == MG_OP_TRANSPOSE) { place[d] = stride[o->attr.perm[d]]; continue; }
      int64_t left = to->dim[d]; /* of this dimension, and of the one that it is taken from */
      place[d] = 1;
      if (left == 1) continue;
      while (f < shape.rank && shape.dim[f] == 1) f++;
      if (f == shape.rank) return 0;
      if (left < shape.dim[f]) {
        if (shape.dim[f] % left) return 0;
        shape.dim[f] /= left, place[d] = stride[f] * shape.dim[f];
        continue;
      }
      for (;; f++) { /* neighbours that become one */
        while (f < shape.rank && shape.dim[f] == 1) f++;
        if (f == shape.rank || left % shape.dim[f]) return 0;
        left /= shape.dim[f];
        const int64_t outer = stride[f];
        place[d] = outer;
        if (left == 1) break;
        int next = f + 1;
        while (next < shape.rank && shape.dim[next] == 1) next++;
        if (next == shape.rank || outer != stride[next] * shape.dim[next]) return 0;
      }
      shape.dim[f++] = 1;
    }
    shape = *to, memcpy(stride, place, sizeof stride);
  }
  *like = *t, like->shape = shape;
  for (int k = 0; k < shape.rank; k++) like->order[k] = k;
  for (int k = 1; k < shape.rank; k++) /* a dimension of one element stays where it is */
    for (int i = k; i > 0; i--) {
      const int a = like->order[i - 1], b = like->order[i];
      if (shape.dim[a] == 1 || shape.dim[b] == 1 || stride[a] >= stride[b]) break;
      like->order[i - 1] = b, like->order[i] = a;
    }
  int64_t inner = 1;
  for (int k = shape.rank - 1; k >= 0; k--) {
    const int d = like->order[k];
    if (shape.dim[d] == 1) continue;
    if (stride[d] != inner) return 0;
    inner *= shape.dim[d];
  }
  return 1;
}
/* Marks the chains, and the slices that they begin at, which are addresses then; 0: there are none. */
MGI_FN int mgi_se_regions_moved(const mg_graph *p, uint8_t *moved) {
  int turned = 0;
  for (int more = 1; more;) {
    more = 0;
    for (uint32_t k = 1; k < p->n_ops; k++) {
      const mg_op_node *o = &p->ops[k];
      if (!mgi_se_is_move(o)) continue;
      const uint32_t before = p->tensors[o->in[0].id].op;
      if (o->code != MG_OP_TRANSPOSE && !moved[k] && !moved[before]) continue;
      turned = 1;
      if (!moved[k]) moved[k] = 1, more = 1;
      if (before && mgi_se_is_move(&p->ops[before]) && !moved[before]) moved[before] = 1, more = 1;
    }
  }
  for (uint32_t k = p->n_ops; --k > 0;) { /* operands precede */
    int chains = mg_slice_may_be_address(p, k);
    for (uint32_t q = k + 1; q < p->n_ops; q++)
      for (int j = 0; j < p->ops[q].n_in; j++) chains &= p->ops[q].in[j].id != p->ops[k].out[0].id || moved[q];
    if (chains) moved[k] = 1;
  }
  return turned;
}
/* What a region takes in the place of t, which a chain makes or an input is. */
MGI_FN mg_tensor mgi_se_region_input(const mg_graph *p, const uint8_t *moved, mg_tensor t, mg_graph *g) {
  mg_tensor end[MGI_SE_MOVES], from = t;
  mg_tensor_info like = p->tensors[t.id];
  int n = 0;
  for (; n < MGI_SE_MOVES && moved[p->tensors[from.id].op] && mgi_se_is_move(&p->ops[p->tensors[from.id].op]); n++) {
    memmove(end + 1, end, (size_t)n * sizeof *end);
    end[0] = from, from = p->ops[p->tensors[from.id].op].in[0];
  }
  const uint32_t before = p->tensors[from.id].op;
  const int more = moved[before] && mgi_se_is_move(&p->ops[before]);
  if (!n || more || !mgi_se_lies(p, from, n, end, &like)) like = p->tensors[t.id];
  like.name = p->tensors[t.id].name;
  return mg_input_like(g, &like, NULL);
}
/* Region r of the program, of the operators whose part it is; 0 if it is none. */
MGI_FN int mgi_se_region_of(const mg_graph *p, const uint8_t *moved, const uint32_t *part, uint32_t which,
                            mgi_se_region *r) {
  mg_config c = mg_config_default();
  mg_tensor *map = (mg_tensor *)calloc(p->n_tensors, sizeof *map);
  mg_error e;
  r->p = mg_program_new(p->name, &c);
  int good = map && r->p;
  for (uint32_t k = 1; k < p->n_ops && good; k++) {
    const mg_op_node *o = &p->ops[k];
    mg_tensor in[MG_MAX_IN];
    if (part[k] != which || moved[k]) continue;
    for (int j = 0; j < o->n_in && good; j++) {
      mg_tensor *of = &map[o->in[j].id];
      good = of->id || r->n_in < MG_MAX_IN;
      if (good && !of->id) *of = mgi_se_region_input(p, moved, o->in[j], r->p), r->in[r->n_in++] = o->in[j];
      in[j] = *of;
    }
    if (!good) break;
    const mg_tensor made = mg_named(r->p, mg_apply(r->p, o->code, &o->attr, o->n_in, in),
                                    p->tensors[o->out[0].id].name);
    int leaves = mg_is_output(p, o->out[0]);
    map[o->out[0].id] = made, good = made.id != 0;
    if (good) r->p->tensors[made.id].inner = p->tensors[o->out[0].id].inner;
    for (uint32_t q = 1; q < p->n_ops; q++)
      for (int j = 0; j < p->ops[q].n_in; j++)
        leaves |= p->ops[q].in[j].id == o->out[0].id && (moved[q] || part[q] != which);
    good &= !leaves || r->n_out < MG_MAX_OUT;
    if (good && leaves) r->out[r->n_out++] = o->out[0], mg_output(r->p, made);
  }
  good = good && mg_check(r->p, &e) == MG_OK;
  free(map);
  return good;
}
MGI_FN void mgi_se_regions_free(mgi_se_regions *R) {
  for (int k = 0; k < R->n; k++) mg_graph_free(R->at[k].p), mg_search_result_free(&R->at[k].r);
  free(R->moved);
}
/* 0: no chain has a transpose, or there are too many regions. */
MGI_FN int mgi_se_regions_of(const mg_graph *p, mgi_se_regions *R) {
  memset(R, 0, sizeof *R);
  R->moved = (uint8_t *)calloc(p->n_ops, 1);
  int *level = (int *)calloc(p->n_ops, sizeof *level),
      good = level && R->moved && !mg_n_sizes(p) && mgi_se_regions_moved(p, R->moved), deepest = 0;
  uint32_t *part = (uint32_t *)calloc(p->n_ops, sizeof *part);
  good = good && part;
  for (uint32_t k = 1; k < p->n_ops && good; k++) { /* operands precede; of a chain of an input it is 0 */
    const mg_op_node *o = &p->ops[k];
    for (int j = 0; j < o->n_in; j++) {
      uint32_t by = p->tensors[o->in[j].id].op, root = by;
      while (R->moved[root]) root = p->tensors[p->ops[root].in[0].id].op;
      const int at = level[root] + (root != by && root && !R->moved[k]);
      if (at > level[k]) level[k] = at;
    }
    part[k] = k;
    if (level[k] > deepest) deepest = level[k];
  }
  for (int more = good; more;) { /* the first of each region */
    more = 0;
    for (uint32_t a = 1; a < p->n_ops; a++)
      for (uint32_t b = 1; b < p->n_ops; b++) {
        int together = 0;
        if (a == b || R->moved[a] || R->moved[b] || level[a] != level[b] || part[a] <= part[b]) continue;
        for (int i = 0; i < p->ops[a].n_in; i++) {
          together |= p->ops[a].in[i].id == p->ops[b].out[0].id;
          for (int j = 0; j < p->ops[b].n_in; j++) together |= p->ops[a].in[i].id == p->ops[b].in[j].id;
        }
        for (int j = 0; j < p->ops[b].n_in; j++) together |= p->ops[b].in[j].id == p->ops[a].out[0].id;
        if (together) part[a] = part[b], more = 1;
      }
  }
  for (int l = 0; l <= deepest && good; l++)
    for (uint32_t k = 1; k < p->n_ops && good; k++) {
      if (R->moved[k] || level[k] != l || part[k] != k) continue;
      good = R->n < MGI_SE_REGIONS;
      if (good) R->at[R->n].level = l, good = mgi_se_region_of(p, R->moved, part, k, &R->at[R->n++]);
    }
  free(level), free(part);
  if (good && R->n) return 1;
  mgi_se_regions_free(R);
  return 0;
}
/* Tensor t of the program in g, with the moves that make it where they are not yet there. */
MGI_FN mg_tensor mgi_se_regions_tensor(const mg_graph *p, mg_graph *g, mg_tensor *map, mg_tensor t) {
  const mg_op_node *o = &p->ops[p->tensors[t.id].op];
  if (map[t.id].id) return map[t.id];
  mg_tensor in = mgi_se_regions_tensor(p, g, map, o->in[0]);
  return map[t.id] = mg_named(g, mg_apply(g, o->code, &o->attr, 1, &in), p->tensors[t.id].name);
}
/* The program with what each region has found, its chains addresses where they can be; NULL if there is none. */
MGI_FN mg_graph *mgi_se_regions_join(mgi_se_search *S, const mgi_se_regions *R) {
  const mg_graph *p = S->p;
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(p->name, &c);
  mg_tensor *map = (mg_tensor *)calloc(p->n_tensors, sizeof *map);
  mg_error e;
  int good = g && map;
  for (uint32_t k = 0; k < p->n_in && good; k++) map[p->in[k].id] = mg_input_like(g, &p->tensors[p->in[k].id], NULL);
  for (int k = 0; k < R->n && good; k++) {
    const mgi_se_region *r = &R->at[k];
    mg_tensor in[MG_MAX_IN], made[MG_MAX_OUT];
    for (int j = 0; j < r->n_in; j++) in[j] = mgi_se_regions_tensor(p, g, map, r->in[j]);
    memset(made, 0, sizeof made);
    mg_insert(g, r->found, in, made);
    for (int q = 0; q < r->n_out; q++) map[r->out[q].id] = mg_named(g, made[q], p->tensors[r->out[q].id].name);
  }
  for (uint32_t q = 0; q < p->n_out && good; q++) mg_output(g, mgi_se_regions_tensor(p, g, map, p->out[q]));
  free(map);
  if (!good || mg_check(g, &e) != MG_OK) {
    mgi_se_step(S, good ? e.status : MG_NO_MEMORY);
    mg_graph_free(g);
    return NULL;
  }
  for (mg_graph *more; (more = mgi_se_fold_once(S, g)) != NULL; g = more) mg_graph_free(g);
  return g;
}
/* g among the results, if it is equal; 1 if it is. */
MGI_FN int mgi_se_folded_add(mgi_se_search *S, mg_graph *g, mg_search_result *out) {
  mg_error e;
  const double us = mgi_se_us(S, g, NULL);
  mg_verify_config v = mgi_se_check_config(S);
  mg_verify_report rep;
  v.tier = MG_TIER_FULL;
  if (v.time_limit_s < MGI_SE_FOLD_S) v.time_limit_s = MGI_SE_FOLD_S;
  S->st.candidates++;
  if (mgi_se_emittable(S, g, &e) != MG_OK) S->st.refused++, mg_graph_free(g);
  else if (!mgi_se_equal(S, S->p, g, &v, &rep)) S->st.rejected++, mg_graph_free(g);
  else { S->st.verified++, mgi_se_result_add(S, out, g, us, &rep); return 1; }
  return 0;
}
MGI_FN void mgi_se_search_also(mgi_se_search *S, const mg_search_stats *r) {
  S->st.states += r->states, S->st.structures += r->structures, S->st.segments += r->segments,
      S->st.frames += r->frames;
}
/* 1 if the regions of p, all of them, take no long time. */
enum { MGI_SE_SHORT = 18 };
MGI_FN int mgi_se_short(const mg_graph *p) { return p->n_ops <= MGI_SE_SHORT + 1; }
/* Searches the regions, in at most half of the time that is left; 1 if there is one alone, and no chain is a kernel of
   its best, which ends the search. */
MGI_FN int mgi_se_search_regions(mgi_se_search *S, mg_search_result *out) {
  mgi_se_regions R;
  mg_error e;
  int done = 0, good = 1, kernels = 0;
  if (S->cfg.structure || !mgi_se_regions_of(S->p, &R)) return 0;
  const double end = S->end < 1e300 ? mgi_se_seconds() + (S->end - mgi_se_seconds()) / 2 : S->end;
  for (int k = 0; k < R.n && good; k++) {
    mg_search_config c = S->cfg;
    mgi_se_region *r = &R.at[k];
    c.measure = NULL, c.checkpoint = NULL, c.progress = NULL;
    c.max_kernel_ops = S->cfg.max_kernel_ops - kernels - (R.n - 1 - k);
    if (c.time_limit_s > 0) c.time_limit_s = fmax((end - mgi_se_seconds()) / (R.n - k), 1e-3); /* 0 would be none */
    good = c.max_kernel_ops > 0 && mg_search(r->p, &c, &r->r, &e) == MG_OK;
    if (good) r->found = r->r.graph[0], kernels += mg_kernels(r->found), mgi_se_search_also(S, &r->r.stats);
  }
  for (int i = 0; i < R.n && good && R.n > 1; i++) { /* of a region's results the one that chains are addresses of */
    mgi_se_region *r = &R.at[i];
    double best = 1e18;
    int at = 0;
    for (int k = 0; k < r->r.n && (!k || !mgi_se_over(S)); k++) {
      r->found = r->r.graph[k];
      mg_graph *g = mgi_se_regions_join(S, &R);
      const double us = g ? mgi_se_us(S, g, NULL) : 1e18;
      mg_graph_free(g);
      if (us < best) best = us, at = k;
    }
    mg_graph *first = r->r.graph[0];
    r->found = r->r.graph[0] = r->r.graph[at], r->r.graph[at] = first;
  }
  const int n = good ? R.n == 1 ? R.at[0].r.n : 1 : 0;
  for (int k = 0; k < n && (!k || !mgi_se_over(S)); k++) { /* the first's check has its own time */
    mgi_se_region *r = &R.at[0];
    r->found = r->r.graph[k];
    mg_graph *g = mgi_se_regions_join(S, &R);
    if (!g) continue;
    const int none = R.n == 1 && !k && mg_kernels(g) <= mg_kernels(r->found) &&
                     mgi_se_us(S, g, NULL) <= 1.1 * r->r.predicted_us[0];
    if (mg_kernels(g) > S->cfg.max_kernel_ops) mg_graph_free(g);
    else done |= mgi_se_folded_add(S, g, out) && none;
  }
  if (done)
    S->cut |= !R.at[0].r.stats.complete, S->late |= R.at[0].r.stats.late,
        S->st.egraph_stop = R.at[0].r.stats.egraph_stop;
  mgi_se_regions_free(&R);
  return done;
}

/* Searches the program without copies for heads, in most of the time that is left; 1 if what is found is equal, and
   fused but for names, which ends the search. */
MGI_FN int mgi_se_search_ungrouped(mgi_se_search *S, mg_search_result *out) {
  mg_search_config c = S->cfg;
  mg_search_result r;
  mg_error e;
  int done = 0;
  mg_graph *p = c.structure ? NULL : mgi_se_ungrouped(S->p);
  if (!p) return 0;
  c.measure = NULL, c.checkpoint = NULL, c.progress = NULL;
  if (c.time_limit_s > 0) c.time_limit_s = fmax(0.75 * (S->end - mgi_se_seconds()), 1e-3); /* 0 would be none */
  if (mg_search(p, &c, &r, &e) == MG_OK) {
    for (int k = 0; k < r.n && (!k || !mgi_se_over(S)); k++) { /* the first's check has its own time */
      const mg_graph *g = r.graph[k];
      int fused = !k;
      for (uint32_t i = 1; i < g->n_ops; i++) fused &= g->ops[i].code == MG_OP_GRAPH || mg_renames(g, i);
      done |= mgi_se_folded_add(S, r.graph[k], out) && fused;
      r.graph[k] = NULL;
    }
    mgi_se_search_also(S, &r.stats);
    if (done) S->cut |= !r.stats.complete, S->late |= r.stats.late, S->st.egraph_stop = r.stats.egraph_stop;
    mg_search_result_free(&r);
  }
  mg_graph_free(p);
  return done;
}

/* What was found for the core as a µGraph of the program, its edges addresses where they can be. */
MGI_FN mg_graph *mgi_se_edges_join(mgi_se_search *S, const mgi_se_edges *E, const mg_graph *found) {
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(S->p->name, &c);
  mg_tensor in[MG_MAX_IN], made[MG_MAX_OUT];
  const mg_graph *p = E->p;
  const mg_graph *program = S->p;
  mg_error e;
  for (uint32_t k = 0; k < p->n_in && g; k++) {
    mg_tensor from = p->in[k];
    in[k] = mg_input_like(g, &p->tensors[from.id], NULL);
    for (uint32_t i = 1; i < p->n_ops; i++)
      if (p->ops[i].in[0].id == from.id && strcmp(E->core->tensors[E->core->in[k].id].name, p->tensors[from.id].name))
        in[k] = mg_named(g, mg_apply(g, MG_OP_RESHAPE, &p->ops[i].attr, 1, &in[k]),
                         p->tensors[p->ops[i].out[0].id].name),
        i = p->n_ops;
  }
  if (g) mg_insert(g, found, in, made);
  for (uint32_t q = 0; q < p->n_out && g; q++) {
    const mg_tensor_info *t = &p->tensors[p->out[q].id];
    const int edge = !mg_same_shape(&mg_tensor_of(g, made[q])->shape, &t->shape);
    mg_output(g, edge ? mg_named(g, mg_apply(g, MG_OP_RESHAPE, &p->ops[t->op].attr, 1, &made[q]), t->name) : made[q]);
  }
  if (!g || mg_check(g, &e) != MG_OK) { mgi_se_step(S, g ? e.status : MG_NO_MEMORY); mg_graph_free(g); return NULL; }
  S->p = p;
  for (mg_graph *more; (more = mgi_se_fold_once(S, g)) != NULL; g = more) mg_graph_free(g);
  S->p = program;
  return g;
}
/* Searches the core, in at most half of the time that is left; 1 if the edges of its best are no kernels, which ends
   the search. */
MGI_FN int mgi_se_search_edges(mgi_se_search *S, mg_search_result *out) {
  mg_search_config c = S->cfg;
  mg_search_result r;
  mgi_se_edges E;
  mg_error e;
  int done = 0;
  if (c.structure || !mgi_se_edges_of(S->p, &E)) return 0;
  c.measure = NULL, c.checkpoint = NULL, c.progress = NULL;
  if (c.time_limit_s > 0) c.time_limit_s = fmax((S->end - mgi_se_seconds()) / 2, 1e-3); /* 0 would be none */
  if (mg_search(E.core, &c, &r, &e) == MG_OK) {
    for (int k = 0; k < r.n && (!k || !mgi_se_over(S)); k++) { /* the first's check has its own time */
      mg_graph *g = mgi_se_edges_join(S, &E, r.graph[k]);
      if (!g) continue;
      const int none = !k && mg_kernels(g) <= mg_kernels(r.graph[k]) &&
                       mgi_se_us(S, g, NULL) <= 1.02 * r.predicted_us[k];
      done |= mgi_se_folded_add(S, g, out) && none;
    }
    mgi_se_search_also(S, &r.stats);
    if (done) S->cut |= !r.stats.complete, S->late |= r.stats.late, S->st.egraph_stop = r.stats.egraph_stop;
    mg_search_result_free(&r);
  }
  mg_graph_free(E.p), mg_graph_free(E.core);
  return done;
}

/* 1 if slices of g are addresses: it takes less than its pieces do. */
MGI_FN int mgi_se_slices(const mg_graph *g) {
  int any = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) any |= mg_slice_is_address(g, k);
  return any;
}
/* The program of k kernels that the chains have, if it is equal, among the results. */
MGI_FN void mgi_se_cuts_result(mgi_se_search *S, mgi_se_cutting *X, int k, mg_search_result *out, mg_error *why) {
  const mgi_se_piece *cut[MGI_SE_MOST_OPS];
  uint8_t library[MGI_SE_MOST_OPS];
  const int n = mgi_se_cuts_path(X, k, cut, library);
  mg_error local;
  mg_verify_report rep;
  if (!n) return;
  mg_graph *g = mgi_se_compose(S, X->C, X->seg, cut, library, n, &local);
  const uint64_t hash = g ? mg_hash(g) : 0;
  if (g && hash == X->tried) { mg_graph_free(g); return; }
  X->tried = hash;
  const double us = X->moves || (g && mgi_se_slices(g)) ? mgi_se_us(S, g, &local) : X->H.cost[(k + 1) * X->H.n - 1];
  S->st.candidates++;
  if (!g) mgi_se_step(S, local.status);
  const int refused = g && mgi_se_emittable(S, g, why) != MG_OK;
  /* every custom kernel of it passed on its own: this is about the whole as it is wired */
  if (!g || refused || !mgi_se_check_small(S, S->p, g, &rep)) {
    S->st.refused += (uint64_t)refused, S->st.rejected += (uint64_t)!refused, mg_graph_free(g);
    if (!out->n || us < out->predicted_us[0]) S->cut = 1; /* other programs of as many kernels were not looked at */
    return;
  }
  for (int q = 0; q < n; q++)
    if (!library[q] && mgi_se_found_report(&X->seg[cut[q]->at])->verdict == MG_EQUAL_SAMPLED)
      rep = *mgi_se_found_report(&X->seg[cut[q]->at]);
  S->st.verified++;
  mgi_se_fold(S, g, out);
  mgi_se_result_add(S, out, g, us, &rep);
}

/* The fastest program whose products are library kernels, with those found around them, among the results: the model
   may be wrong of either, and a timed search compares them. */
MGI_FN void mgi_se_cuts_products(mgi_se_search *S, mgi_se_cutting *X, mg_search_result *out, mg_error *why) {
  const mgi_se_chains *H = &X->H;
  int k = 0, products = 0;
  for (int i = 0; i < X->n_piece; i++)
    for (int q = 0; q < X->C->n; q++) {
      const int product = X->C->p->ops[X->C->op[q]].code == MG_OP_MATMUL;
      products += product;
      if (product && mgi_se_set_has(&X->piece[i].ops, q)) X->piece[i].us = 1e18;
    }
  if (!products) return;
  mgi_se_chains_fill(&X->H);
  for (int q = 1; q <= H->most; q++)
    if (H->cost[q * H->n + H->n - 1] < H->cost[k * H->n + H->n - 1]) k = q;
  mgi_se_cuts_result(S, X, k, out, why);
}

/* Whether a piece is of slices, reshapes and transposes alone: they become addresses, mgi_se_fold says where. */
MGI_FN int mgi_se_piece_moves(const mgi_se_cuts *C, const mgi_se_piece *x) {
  for (int q = 0; q < C->n; q++)
    if (mgi_se_set_has(&x->ops, q) && !C->address[q] && !mgi_se_is_move(&C->p->ops[C->op[q]])) return 0;
  return 1;
}
/* Whether a piece is a product and what a library's call makes with it (mg_library_takes). */
MGI_FN int mgi_se_piece_takes(const mgi_se_cuts *C, const mgi_se_piece *x) {
  for (int q = 0; q < C->n; q++) {
    mgi_se_set made;
    if (!mgi_se_set_has(&x->ops, q) || C->p->ops[C->op[q]].code != MG_OP_MATMUL) continue;
    int taken = 0;
    memset(&made, 0, sizeof made);
    mgi_se_set_put(&made, q);
    for (int k = 0; k < C->n; k++) {
      if (C->taker[k] != q) continue;
      mgi_se_set_put(&made, k);
      taken = 1;
    }
    return taken && mgi_se_set_same(&made, &x->ops);
  }
  return 0;
}
/* Among the results the fastest program of those that have the pieces which are `wanted`, by library kernels where
   by_library, at its own price: of such pieces the model knows too little, so they cost nothing while it is found. */
MGI_FN void mgi_se_cuts_wanted(mgi_se_search *S, mgi_se_cutting *X,
                               int (*wanted)(const mgi_se_cuts *, const mgi_se_piece *), int by_library,
                               mg_search_result *out, mg_error *why) {
  const mgi_se_chains *H = &X->H;
  int k = 0;
  double *known = (double *)malloc((2 * (size_t)X->n_piece + 1) * sizeof *known);
  if (!known) { mgi_se_step(S, MG_NO_MEMORY); return; }
  for (int i = 0; i < X->n_piece; i++) {
    mgi_se_piece *x = &X->piece[i];
    known[2 * i] = x->us, known[2 * i + 1] = x->library;
    if (x->library >= 1e18 && (by_library || x->us >= 1e18)) continue;
    if (!wanted(X->C, x)) continue;
    X->moves = 1;
    if (!by_library && x->us < x->library) x->us = 0;
    else x->library = 0;
  }
  if (X->moves) {
    mgi_se_chains_fill(&X->H);
    for (int q = 1; q <= H->most; q++)
      if (H->cost[q * H->n + H->n - 1] < H->cost[k * H->n + H->n - 1]) k = q;
    mgi_se_cuts_result(S, X, k, out, why);
  }
  X->moves = 0;
  for (int i = 0; i < X->n_piece; i++) X->piece[i].us = known[2 * i], X->piece[i].library = known[2 * i + 1];
  free(known);
}

/* Programs of several kernels.  A segment that is not searched yet costs at least its tensors' bytes.  whole: NULL for
   a program too long to be searched whole first: a part of its time is left to put together what was found, and to test
   that. */
enum { MGI_SE_JOIN_S = 4, MGI_SE_JOIN_PART = 6 }; /* so many seconds, at most such a part of what is left */
MGI_FN mg_status mgi_se_search_cuts(mgi_se_search *S, mgi_se_cuts *C, mgi_se_found *whole, mg_search_result *out,
                                    mg_error *e, mg_error *why) {
  const int K = S->cfg.max_kernel_ops < C->n ? S->cfg.max_kernel_ops : C->n;
  const int all = S->cfg.max_kernel_ops < MGI_SE_MOST_OPS || K < MGI_SE_KERNELS ? K : MGI_SE_KERNELS;
  mg_status st = MG_OK;
  mgi_se_cutting X;
  memset(&X, 0, sizeof X);
  if (!mgi_se_cuts_down(C)) return mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments");
  const int D = C->n_down;
  S->cut |= C->part;
  X.C = C;
  int32_t *id = (int32_t *)malloc((size_t)D * (size_t)D * sizeof *id);
  double *cost = (double *)malloc((size_t)D * (size_t)(K + 1) * sizeof *cost);
  int16_t *from = (int16_t *)calloc((size_t)D * (size_t)(K + 1), sizeof *from);
  uint8_t *by = (uint8_t *)calloc((size_t)D * (size_t)(K + 1), sizeof *by);
  X.n_piece = id && cost && from && by ? mgi_se_pieces(S, C, id, &X.piece) : -1;
  if (X.n_piece >= 0) X.todo = (int *)malloc(((size_t)X.n_piece + 1) * sizeof *X.todo);
  if (!X.todo) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments");
  const mgi_se_chains H = { D, K, id, X.piece, cost, from, by };
  X.H = H;
  S->units_done = 0, S->seg_t0 = mgi_se_seconds();
  const double end = S->end, part = (end - S->seg_t0) / MGI_SE_JOIN_PART;
  if (!whole && end < 1e300 && part > 0) S->end -= fmin(part, MGI_SE_JOIN_S);
  if (st == MG_OK) st = mgi_se_cuts_path_by_path(S, &X, whole, e);
  S->end = end;
  mgi_se_stops(S, X.seg, X.n);
  if (st == MG_OK) {
    int first = 2;
    mgi_se_chains_fill(&X.H);
    for (int k = 2; k <= K; k++) if (cost[k * D + D - 1] < cost[first * D + D - 1]) first = k;
    mgi_se_cuts_result(S, &X, first, out, why);
    if (!out->n || !mgi_se_over(S)) mgi_se_cuts_wanted(S, &X, mgi_se_piece_moves, 0, out, why);
    mgi_se_chains_fill(&X.H);
    /* repairs may cost less there */
    for (int k = first + 1; k <= K && k <= first + 2 && (!out->n || !mgi_se_over(S)); k++)
      mgi_se_cuts_result(S, &X, k, out, why);
    for (int k = 2; k <= all; k++)
      if ((k < first || k > first + 2) && !mgi_se_over(S)) mgi_se_cuts_result(S, &X, k, out, why);
    if (!mgi_se_over(S)) mgi_se_cuts_wanted(S, &X, mgi_se_piece_takes, 1, out, why);
    if (!mgi_se_over(S)) mgi_se_cuts_products(S, &X, out, why);
  }
  S->had = X.seg, S->n_had = X.n;
  free(X.piece), free(X.todo), free(id), free(cost), free(from), free(by);
  return st;
}

/* ------------------------------------------------------------------------------------------------ >>rewrite

   Kernels that hand on tensors which the program does not have.  Every value of the program as a whole, with every way
   to make it by one operator, is a value of the frame without grid and loops (>>closure): an operator that the frozen
   e-graph does not know is never made, what is equal is one value.  A kernel is a map from a set of values to another,
   a piece: by whatever operators, as its own search finds them all from any one form; the form that it is searched from
   is that of the cheapest operators.  Compositions are paths, from the outputs back:  state = set of values that are
   still to be made; edge = a piece that makes some of them, and wants others in their place.  Edges are priced by a
   lower bound (a launch and the bytes of what goes in and out), then by what their search finds, in rounds
   (mgi_se_rw_rounds); a piece is one piece in whatever state it is met, and pieces of one program (mg_hash) are
   searched once, those of >>cuts not again.

     T = matmul(A, B), O = matmul(T, v):    {O} --(A, T2)--> {T2} --(B, v)--> {}       T2 = B v is no tensor of the program

   Compositions that hand on tensors of the program alone are those of >>cuts: here a piece is searched only for one
   that does not.  Left out by the bound, which is true: state s if what was spent to come to it, plus one more launch,
   plus the bytes of its values and of the inputs without which they cannot be made, is no better than the best known.
   Requirements: (1) at most MGI_SE_RW_UNDER values, or as many as the program has outputs, are under way at a time; (2)
   a value handed on is no raw exponential, and grows no larger than the program's own tensors may (mgi_se_rw_sizes): it
   is fp16; (3) a value that only one unary elementwise operator uses is not handed on, its result may be; (4) of values
   that differ by unary operators, and by binary ones with a tensor at most 1/MGI_SE_RW_SMALL as large, one may be: the
   program's furthest from the inputs; if it has none there but an output, and no input is among them, the one of the
   fewest operators; no outer product; (5) a piece uses all that it is handed in its cheapest form, and is met by
   handing it one value more after the other; (6) a value that the program does not have is in an equal program of at
   most MGI_SE_RW_MORE operators more.                           */

typedef struct mgi_se_rw_set { int32_t n, v[MG_MAX_OUT]; } mgi_se_rw_set; /* values, ascending; unused places 0 */

typedef struct mgi_se_rw_item { /* a set that was met, as a state or as what a piece makes */
  mgi_se_rw_set s;
  /* us, at least: from the outputs; the same, and on to the end, by the pieces: [0] handing on tensors of the program
     alone, [1] others too */
  double before, ahead[2], after[2];
  double least;                 /* us: to the end at least, by its bytes */
  int first, n;                 /* pieces that make it; first -1: not listed yet */
  int own, stamp, state;        /* own: it has a value that the program has not; stamp: of the listing that met it last;
                                   state: 1: is one, 2: its edges are there */
} mgi_se_rw_item;

/* from, to: items; inputs: of the program that it takes, as bits; at: among the segments found, or -1; had: of those of
   >>cuts. */
typedef struct mgi_se_rw_piece {
  int from, to, ops, at, had;
  uint64_t inputs;
  double bound, us, library;
  uint64_t hash;
} mgi_se_rw_piece;
typedef struct mgi_se_rw_edge { int a, b, piece; } mgi_se_rw_edge;

/* value v by derivation d; what a library takes for it, 1e18: it is no operator of a program */
typedef struct mgi_se_rw_way { uint32_t v, d; double price; } mgi_se_rw_way;

typedef struct mgi_se_rw {
  mgi_se_search *S;
  const mg_graph *p;              /* the program */
  const mgi_se_seg *s;            /* its segment: the same inputs and outputs */
  mgi_se_frame f;
  mg_search_config cfg;
  int n, n_way, over, out[MG_MAX_OUT]; /* values; ways; over: a table above was too short, or memory is out (2) */
  mgi_se_rw_way *way;
  int32_t *input, *value;         /* by value: the input that it is, or -1; by tensor of the program: the value that it
                                     is, or -1 */
  uint32_t *tensor;               /* by value: the program's tensor that it is, or 0 */
  uint64_t *need;                 /* by value: the inputs without which it cannot be made, as bits */
  double *bytes, *size, *cost;    /* size: requirement 2; cost, pick: of mgi_se_rw_cheapest */
  uint32_t *pick;                 /* a way + 1 */
  uint8_t *type, *hand, *mark;    /* mg_dtype; 1: may be handed on; mgi_se_rw_uses */
  char prefix[8];                 /* of names for values that the program does not have */
  mgi_se_rw_item *item;
  mgi_se_rw_piece *piece;
  mgi_se_rw_edge *edge;
  int32_t *slot;
  uint32_t cap_item, cap_piece, cap_edge;
  int n_item, n_piece, n_edge, stamp, start; /* start: the outputs */
  double best, launch;
} mgi_se_rw;

MGI_FN void mgi_se_rw_free(mgi_se_rw *R) {
  mgi_se_frame_free(&R->f);
  free(R->way), free(R->input), free(R->value), free(R->tensor), free(R->need), free(R->bytes), free(R->size),
      free(R->cost), free(R->pick), free(R->type), free(R->hand), free(R->mark);
  free(R->item), free(R->piece), free(R->edge), free(R->slot);
}

MGI_FN int mgi_se_rw_has(const mgi_se_rw_set *s, int v) {
  for (int k = 0; k < s->n; k++) if (s->v[k] == v) return 1;
  return 0;
}
/* s with v; s has room. */
MGI_FN mgi_se_rw_set mgi_se_rw_with(mgi_se_rw_set s, int v) {
  int k = s.n;
  if (mgi_se_rw_has(&s, v)) return s;
  for (; k > 0 && s.v[k - 1] > v; k--) s.v[k] = s.v[k - 1];
  s.v[k] = v, s.n++;
  return s;
}

/* Whether derivation d may be an operator of a program. */
MGI_FN int mgi_se_rw_is_way(const mgi_se_rw *R, uint32_t d) {
  const mgi_se_der *x = &R->f.der[d];
  return x->code != MG_OP_LOAD && x->code != MG_OP_CONCAT_MATMUL; /* which is a sum of two products, too */
}

/* The operator of way w in g. */
MGI_FN mg_tensor mgi_se_rw_apply(const mgi_se_rw *R, mg_graph *g, int w, const mg_tensor *in) {
  const mgi_se_der *d = &R->f.der[R->way[w].d];
  const mgi_se_val *v = &R->f.val[R->way[w].v];
  int64_t ext[MG_MAX_RANK] = { 0 };
  mg_attr A;
  memset(&A, 0, sizeof A);
  A.c = d->c;
  if (d->code == MG_OP_SUM || d->code == MG_OP_MAX) A.dim = d->arg;
  if (mg_op_moves(d->code)) {
    for (int k = 0; k < v->rank; k++) ext[k] = v->cls[k] < 0 ? 1 : R->s->real[v->cls[k]];
    A = mgi_se_chunk_attr(&R->s->inst[d->arg], ext);
  }
  return mg_apply(g, (mg_opcode)d->code, &A, d->n_in, in);
}

MGI_FN const char *mgi_se_rw_name(const mgi_se_rw *R, int v, char *room, size_t size) {
  if (R->tensor[v]) return R->p->tensors[R->tensor[v]].name;
  snprintf(room, size, "%s%d", R->prefix, v);
  return room;
}

/* Value v as an input of g. */
MGI_FN mg_tensor mgi_se_rw_input(const mgi_se_rw *R, mg_graph *g, int v) {
  const mgi_se_val *x = &R->f.val[v];
  int64_t dim[MG_MAX_RANK];
  char name[32];
  if (R->input[v] >= 0) return mgi_se_copy_input(g, R->p, R->p->in[R->input[v]]);
  for (int k = 0; k < x->rank; k++) dim[k] = x->cls[k] < 0 ? 1 : R->s->real[x->cls[k]];
  return mg_input(g, mgi_se_rw_name(R, v, name, sizeof name), (mg_dtype)R->type[v], x->rank, dim);
}

/* The cheapest way to each value from the inputs, without those whose bits `without` has, and from what `from` has:
   pick, and its cost, 1e18 where there is none.  Prices are positive, so no way is around a circle.  unit: each
   operator costs 1. */
MGI_FN void mgi_se_rw_cheapest(mgi_se_rw *R, const mgi_se_rw_set *from, uint64_t without, int unit) {
  for (int v = 0; v < R->n; v++)
    R->pick[v] = 0, R->cost[v] = R->input[v] >= 0 && !(without >> R->input[v] & 1) ? 0 : 1e18;
  for (int k = 0; from && k < from->n; k++) R->cost[from->v[k]] = -1e-3; /* of two ways, one that uses it */
  for (int again = 1; again;) {
    again = 0;
    for (int w = 0; w < R->n_way; w++) {
      const mgi_se_der *d = &R->f.der[R->way[w].d];
      const uint32_t v = R->way[w].v;
      double c = unit ? 1 : R->way[w].price;
      if (c >= 1e18 || R->cost[v] <= 0) continue;
      for (int j = 0; j < d->n_in; j++) if (!j || d->in[j] != d->in[0]) c += R->cost[d->in[j]];
      if (c < R->cost[v] * (1 - 1e-12) && c < 1e18) R->cost[v] = c, R->pick[v] = (uint32_t)w + 1, again = 1;
    }
  }
}

/* Marks what value v is made of by the picks: 1 what is made, 2 what is there; the number of operators. */
MGI_FN int mgi_se_rw_uses(mgi_se_rw *R, uint32_t v) {
  int n = 1;
  if (R->mark[v]) return 0;
  R->mark[v] = R->pick[v] ? 1 : 2;
  if (!R->pick[v]) return 0;
  const mgi_se_der *d = &R->f.der[R->way[R->pick[v] - 1].d];
  for (int j = 0; j < d->n_in; j++) n += mgi_se_rw_uses(R, d->in[j]);
  return n;
}

/* Value v in g by the picks; map: tensors of g, by value. */
MGI_FN mg_tensor mgi_se_rw_make(const mgi_se_rw *R, mg_graph *g, uint32_t v, mg_tensor *map) {
  mg_tensor in[4];
  if (map[v].id || !R->pick[v]) return map[v];
  const mgi_se_der *d = &R->f.der[R->way[R->pick[v] - 1].d];
  for (int j = 0; j < d->n_in; j++) in[j] = mgi_se_rw_make(R, g, d->in[j], map);
  return map[v] = mgi_se_rw_apply(R, g, (int)R->pick[v] - 1, in);
}

/* The piece as a program of its own: of the inputs it takes those that it uses.  in: its inputs' values.  NULL: it is
   none, or *oom. */
MGI_FN mg_graph *mgi_se_rw_program(mgi_se_rw *R, const mgi_se_rw_set *from, const mgi_se_rw_set *to, int *in, int *n_in,
                                   int *ops) {
  mg_error e;
  mg_config c = mg_config_default();
  int ok = 1;
  *n_in = *ops = 0;
  mgi_se_rw_cheapest(R, from, 0, 0);
  memset(R->mark, 0, (size_t)R->n);
  for (int k = 0; k < to->n; k++)
    ok &= R->cost[to->v[k]] < 1e18 && R->pick[to->v[k]], *ops += ok ? mgi_se_rw_uses(R, (uint32_t)to->v[k]) : 0;
  for (int k = 0; k < from->n; k++) ok &= R->mark[from->v[k]] == 2;
  for (int pass = 0; pass < 2; pass++)
    for (int v = 0; v < R->n && ok; v++) {
      if (R->mark[v] != 2 || (R->input[v] >= 0) == pass) continue;
      if (*n_in == MG_MAX_IN) ok = 0;
      else in[(*n_in)++] = v;
    }
  if (!ok) return NULL;
  mg_graph *g = mg_program_new(R->p->name, &c);
  mg_tensor *map = (mg_tensor *)calloc((size_t)R->n, sizeof *map);
  for (int k = 0; k < *n_in && g && map; k++) map[in[k]] = mgi_se_rw_input(R, g, in[k]);
  for (int k = 0; k < to->n && g && map; k++) {
    char name[32];
    mg_output(g, mg_named(g, mgi_se_rw_make(R, g, (uint32_t)to->v[k], map),
                          mgi_se_rw_name(R, to->v[k], name, sizeof name)));
  }
  const mg_status st = g && map ? mg_check(g, &e) : MG_NO_MEMORY;
  if (st == MG_NO_MEMORY) R->over = 2;
  free(map);
  ok = st == MG_OK;
  for (int k = 0; ok && k < to->n; k++) ok = mg_tensor_of(g, g->out[k])->dtype == (mg_dtype)R->type[to->v[k]];
  if (!ok) { mg_graph_free(g); return NULL; }
  return g;
}

/* What it takes at least to make what s has: one more launch, the values, and the inputs without which they cannot be
   made. */
MGI_FN double mgi_se_rw_least(const mgi_se_rw *R, const mgi_se_rw_set *s) {
  uint64_t need = 0;
  double bytes = 0;
  for (int k = 0; k < s->n; k++) bytes += R->bytes[s->v[k]], need |= R->need[s->v[k]];
  for (int v = 0; v < R->n; v++) if (R->input[v] >= 0 && (need >> R->input[v] & 1)) bytes += R->bytes[v];
  return s->n ? R->launch + mg_dram_us(R->cfg.machine, bytes) : 0;
}

/* The index of set s among the items; -1: no room. */
MGI_FN int mgi_se_rw_item_of(mgi_se_rw *R, const mgi_se_rw_set *s) {
  const uint32_t mask = 2 * MGI_SE_RW_SETS - 1;
  uint32_t h = (uint32_t)mgi_se_bytes_hash(1, s, sizeof *s) & mask;
  for (; R->slot[h] >= 0; h = (h + 1) & mask) if (!memcmp(&R->item[R->slot[h]].s, s, sizeof *s)) return R->slot[h];
  mgi_se_rw_item *x = R->n_item < MGI_SE_RW_SETS
                          ? (mgi_se_rw_item *)mgi_se_grow(R->item, &R->cap_item, (uint32_t)R->n_item + 1, sizeof *x)
                          : NULL;
  if (!x) { R->over |= R->n_item < MGI_SE_RW_SETS ? 2 : 1; return -1; }
  R->item = x, x += R->n_item;
  memset(x, 0, sizeof *x);
  x->s = *s, x->before = x->ahead[0] = x->ahead[1] = x->after[0] = x->after[1] = 1e18, x->first = -1,
  x->least = mgi_se_rw_least(R, s);
  for (int k = 0; k < s->n; k++) x->own |= !R->tensor[s->v[k]];
  return R->slot[h] = R->n_item++;
}

/* Lists the pieces that make set `to`, where `spent` us are spent at least on what follows them. */
MGI_FN void mgi_se_rw_list(mgi_se_rw *R, int to, double spent) {
  const double us = mg_dram_us(R->cfg.machine, 1);
  int *queue = (int *)malloc(MGI_SE_RW_SETS * sizeof *queue), n = 0;
  mgi_se_rw_set none;
  memset(&none, 0, sizeof none);
  R->item[to].first = R->n_piece, R->stamp++;
  if (!queue) { R->over = 2; return; }
  if ((queue[0] = mgi_se_rw_item_of(R, &none)) >= 0) n = 1;
  for (int at = 0; at < n && !R->over; at++) {
    const mgi_se_rw_set from = R->item[queue[at]].s, make = R->item[to].s;
    int in[MG_MAX_IN], n_in, ops;
    mg_graph *g = mgi_se_rw_program(R, &from, &make, in, &n_in, &ops);
    if (!g) continue;
    double out = 0, bytes = 0;
    for (int k = 0; k < make.n; k++) out += R->bytes[make.v[k]];
    for (int k = 0; k < n_in; k++) bytes += R->bytes[in[k]];
    int whole = !from.n;
    uint64_t inputs = 0;
    for (int k = 0; k < n_in; k++) if (R->input[in[k]] >= 0) inputs |= (uint64_t)1 << R->input[in[k]];
    for (int k = 0; k < (int)R->p->n_out; k++) whole &= mgi_se_rw_has(&make, R->out[k]);
    mgi_se_rw_piece *x = R->n_piece < MGI_SE_RW_PIECES
                             ? (mgi_se_rw_piece *)mgi_se_grow(R->piece, &R->cap_piece, (uint32_t)R->n_piece + 1,
                                                              sizeof *x)
                             : NULL;
    if (x) R->piece = x;
    else R->over |= R->n_piece < MGI_SE_RW_PIECES ? 2 : 1;
    /* the whole program in one kernel was searched */
    if (x && !whole && spent + R->launch + (out + bytes) * us + R->item[queue[at]].least < R->best) {
      x += R->n_piece++;
      memset(x, 0, sizeof *x);
      x->inputs = inputs;
      x->from = queue[at], x->to = to, x->ops = ops, x->at = x->had = -1, x->hash = mg_hash(g);
      x->bound = R->launch + (out + bytes) * us,
      x->library = ops == 1 && !(R->S->cfg.batch_invariant && mg_library_multiplies(g))
                       ? mg_library_us(g, &g->ops[1], R->cfg.machine)
                       : 1e18,
      x->us = x->library;
    }
    mg_graph_free(g);
    for (int v = 0; v < R->n && from.n < MGI_SE_RW_UNDER; v++) {
      if (!R->hand[v] || mgi_se_rw_has(&from, v) || mgi_se_rw_has(&make, v)) continue;
      const mgi_se_rw_set wide = mgi_se_rw_with(from, v);
      double given = out;
      for (int j = 0; j < wide.n; j++) given += R->bytes[wide.v[j]];
      if (spent + R->launch + given * us + mgi_se_rw_least(R, &wide) >= R->best) continue;
      const int k = mgi_se_rw_item_of(R, &wide);
      if (k < 0 || R->item[k].stamp == R->stamp) continue;
      R->item[k].stamp = R->stamp, queue[n++] = k;
    }
  }
  R->item[to].n = R->n_piece - R->item[to].first;
  free(queue);
}

/* The states that can be part of something better than the best, those with the least spent first, and their edges. */
MGI_FN void mgi_se_rw_states(mgi_se_rw *R) {
  mgi_se_rw_set outputs;
  memset(&outputs, 0, sizeof outputs);
  for (uint32_t k = 0; k < R->p->n_out; k++) outputs = mgi_se_rw_with(outputs, R->out[k]);
  const int start = R->start = mgi_se_rw_item_of(R, &outputs),
            most = outputs.n > MGI_SE_RW_UNDER ? outputs.n : MGI_SE_RW_UNDER;
  if (start < 0) return;
  R->item[start].before = 0, R->item[start].state = 1;
  while (!R->over) {
    int a = -1;
    for (int k = 0; k < R->n_item; k++)
      if (R->item[k].state == 1 && (a < 0 || R->item[k].before < R->item[a].before)) a = k;
    if (a < 0 || mgi_se_over(R->S)) return;
    const mgi_se_rw_set s = R->item[a].s;
    const double spent = R->item[a].before;
    R->item[a].state = 2;
    for (int bits = 1; bits < 1 << s.n && !R->over; bits++) {
      mgi_se_rw_set make, rest;
      memset(&make, 0, sizeof make), memset(&rest, 0, sizeof rest);
      for (int k = 0; k < s.n; k++) if (bits >> k & 1) make.v[make.n++] = s.v[k]; else rest.v[rest.n++] = s.v[k];
      const int to = mgi_se_rw_item_of(R, &make);
      if (to < 0) return;
      if (R->item[to].first < 0) mgi_se_rw_list(R, to, spent);
      for (int i = R->item[to].first, end = i + R->item[to].n; i < end && !R->over; i++) {
        mgi_se_rw_set next = rest;
        const mgi_se_rw_set *from = &R->item[R->piece[i].from].s;
        int more = 0;
        for (int k = 0; k < from->n; k++) more += !mgi_se_rw_has(&rest, from->v[k]);
        if (rest.n + more > most) continue;
        for (int k = 0; k < from->n; k++) next = mgi_se_rw_with(next, from->v[k]);
        const int b = mgi_se_rw_item_of(R, &next);
        const double before = spent + R->piece[i].bound;
        if (b < 0 || before + R->item[b].least >= R->best) continue;
        mgi_se_rw_edge *x = R->n_edge < MGI_SE_RW_EDGES
                                ? (mgi_se_rw_edge *)mgi_se_grow(R->edge, &R->cap_edge, (uint32_t)R->n_edge + 1,
                                                                sizeof *x)
                                : NULL;
        if (!x) { R->over |= R->n_edge < MGI_SE_RW_EDGES ? 2 : 1; continue; }
        R->edge = x, x += R->n_edge++;
        x->a = a, x->b = b, x->piece = i;
        if (before < R->item[b].before) R->item[b].before = before;
        if (!R->item[b].state && next.n) R->item[b].state = 1;
      }
    }
  }
}

/* What each value may be at most, for inputs of 1 and denominators that are no less: as a measure, to compare
   (requirement 2). */
MGI_FN void mgi_se_rw_sizes(mgi_se_rw *R) {
  for (int v = 0; v < R->n; v++) R->size[v] = R->input[v] >= 0 ? 1 : 1e300;
  for (int again = 1, round = 0; again && round <= R->n; round++) {
    again = 0;
    for (int w = 0; w < R->n_way; w++) {
      const mgi_se_der *d = &R->f.der[R->way[w].d];
      const double a = R->size[d->in[0]], b = d->n_in > 1 ? R->size[d->in[1]] : 0;
      const mgi_se_val *x = &R->f.val[d->in[0]];
      double y = a > b ? a : b, c = d->c.den ? fabs((double)d->c.num / (double)d->c.den) : 0;
      const int last = d->code == MG_OP_MATMUL ? x->cls[x->rank - 1] : d->code == MG_OP_SUM ? x->cls[d->arg] : -1;
      const double terms = last < 0 ? 1 : (double)R->s->real[last];
      if (a >= 1e300 || b >= 1e300) continue;
      switch (mg_op_row((mg_opcode)d->code)->abstract) {
      case MG_ABS_ADD: case MG_ABS_SUB: y = a + b; break;
      case MG_ABS_MUL: case MG_ABS_MATMUL: y = a * b * terms; break;
      case MG_ABS_SUM: y = a * terms; break;
      case MG_ABS_DIV: y = a; break;
      case MG_ABS_SQR: y = a * a; break;
      case MG_ABS_SCALE: y = a * c; break;
      case MG_ABS_ADD_SCALAR: y = a + c; break;
      default: if (d->code == MG_OP_SQRT) y = sqrt(a); break;
      }
      if (y < R->size[R->way[w].v] * (1 - 1e-9)) R->size[R->way[w].v] = y, again = 1;
    }
  }
}

/* Which value each tensor of the program is: by the derivation that is its operator. */
MGI_FN void mgi_se_rw_tensors(mgi_se_rw *R) {
  const mg_graph *p = R->p;
  int32_t *value = R->value = (int32_t *)malloc(p->n_tensors * sizeof *value);
  if (!value) { R->over = 2; return; }
  for (uint32_t t = 0; t < p->n_tensors; t++) value[t] = -1;
  for (int v = R->n; v-- > 0;) if (R->input[v] >= 0) value[p->in[R->input[v]].id] = v;
  for (uint32_t i = 1; i < p->n_ops; i++) {
    const mg_op_node *o = &p->ops[i];
    const mg_op_info *row = mg_op_row(o->code);
    const int one = o->n_in == 2 && o->in[0].id == o->in[1].id && o->code == MG_OP_MUL,
              code = one ? MG_OP_SQR : o->code, n = one ? 1 : o->n_in;
    for (int w = 0; w < R->n_way && value[o->out[0].id] < 0; w++) {
      const mgi_se_der *d = &R->f.der[R->way[w].d];
      int same = d->code == code && d->n_in == n, swap = n == 2 && (code == MG_OP_ADD || code == MG_OP_MUL);
      for (int j = 0; j < n && same; j++) same = value[o->in[j].id] == (int32_t)d->in[j];
      if (!same && swap && d->code == code)
        same = value[o->in[0].id] == (int32_t)d->in[1] && value[o->in[1].id] == (int32_t)d->in[0];
      if (same && row->attr == MG_ATTR_RAT) same = d->c.num == o->attr.c.num && d->c.den == o->attr.c.den;
      if (same && (code == MG_OP_SUM || code == MG_OP_MAX)) same = d->arg == o->attr.dim;
      if (same && row->moves)
        same = mgi_se_attr_extra(row, &R->s->inst[d->arg].attr) == mgi_se_attr_extra(row, &o->attr);
      if (same) value[o->out[0].id] = (int32_t)R->way[w].v;
    }
    if (value[o->out[0].id] >= 0 && !R->tensor[value[o->out[0].id]]) R->tensor[value[o->out[0].id]] = o->out[0].id;
  }
  for (int v = 0; v < R->n; v++) if (R->input[v] >= 0) R->tensor[v] = p->in[R->input[v]].id;
}

/* The values and the ways to make them.  0: something failed (over). */
MGI_FN int mgi_se_rw_values(mgi_se_rw *R) {
  mgi_se_frame *f = &R->f;
  const mg_graph *p = R->p;
  mg_error e;
  f->s = R->s, f->cfg = &R->cfg, f->end = R->S->end, f->loop[0] = f->loop[1] = -1;
  mgi_se_closure(f);
  if (f->oom) { R->over = 2; return 0; }
  if (f->cut) R->over = 1;
  const size_t n = (size_t)(R->n = (int)f->n_val) + 1;
  R->way = (mgi_se_rw_way *)calloc((size_t)f->n_der + 1, sizeof *R->way);
  R->input = (int32_t *)malloc(n * sizeof *R->input), R->tensor = (uint32_t *)calloc(n, sizeof *R->tensor),
  R->need = (uint64_t *)calloc(n, sizeof *R->need), R->pick = (uint32_t *)calloc(n, sizeof *R->pick);
  R->bytes = (double *)calloc(n, sizeof *R->bytes), R->size = (double *)calloc(n, sizeof *R->size),
  R->cost = (double *)calloc(n, sizeof *R->cost);
  R->type = (uint8_t *)calloc(n, 1), R->hand = (uint8_t *)calloc(n, 1), R->mark = (uint8_t *)calloc(n, 1);
  R->slot = (int32_t *)malloc(2 * MGI_SE_RW_SETS * sizeof *R->slot);
  if (!R->way || !R->input || !R->tensor || !R->need || !R->pick || !R->bytes || !R->size || !R->cost || !R->type ||
      !R->hand || !R->mark || !R->slot)
    R->over = 2;
  if (R->slot) memset(R->slot, -1, 2 * MGI_SE_RW_SETS * sizeof *R->slot);
  for (int v = 0; v < R->n && R->over < 2; v++) { /* inputs, and where a value is one of the outputs */
    R->input[v] = -1;
    for (uint32_t i = f->val[v].der; i; i = f->der[i - 1].next) {
      if (f->der[i - 1].code == MG_OP_LOAD && R->input[v] < 0) R->input[v] = f->der[i - 1].arg;
      if (mgi_se_rw_is_way(R, i - 1)) R->way[R->n_way].v = (uint32_t)v, R->way[R->n_way++].d = i - 1;
    }
  }
  for (uint32_t k = 0; k < p->n_out && R->over < 2; k++) {
    const mg_tensor t = R->s->p->out[k];
    mgi_se_val v;
    memset(&v, 0, sizeof v);
    v.rank = (int8_t)p->tensors[p->out[k].id].shape.rank, R->out[k] = -1;
    for (int d = 0; d < v.rank; d++) v.cls[d] = (int8_t)mgi_se_cls(R->s, t, d);
    mgi_se_slice(f, &v, R->s->out[k]);
    if (f->oom || f->huge) { R->over = f->oom ? 2 : 1; break; }
    v.fp = mgi_se_fingerprint(f, &v, f->scratch);
    for (int own = 1; own >= 0; own--) /* of its class, else of any */
      for (int j = 0; j < R->n && R->out[k] < 0; j++)
        if (f->val[j].fp == v.fp && f->val[j].rank == v.rank && !memcmp(f->val[j].cls, v.cls, (size_t)v.rank) &&
            (!own || f->val[j].ecls == R->s->ecls[t.id]))
          R->out[k] = j;
    int bad = R->out[k] < 0 || R->input[R->out[k]] >= 0;
    for (uint32_t j = 0; j < k; j++) bad |= R->out[j] == R->out[k];
    if (bad) R->over |= 1;
  }
  if (R->over) return 0;
  mgi_se_rw_cheapest(R, NULL, 0, 1);
  for (int v = 0; v < R->n; v++)
    R->type[v] = (uint8_t)(R->input[v] >= 0 ? mg_tensor_of(p, p->in[R->input[v]])->dtype : MG_DTYPE_COUNT);
  for (int again = 1; again;) { /* types, as mg_apply gives them */
    again = 0;
    for (int v = 0; v < R->n; v++) {
      int type = MG_DTYPE_COUNT;
      if (!R->pick[v] || R->type[v] != MG_DTYPE_COUNT) continue;
      const mgi_se_der *d = &f->der[R->way[R->pick[v] - 1].d];
      for (int j = 0; j < d->n_in; j++)
        if (!j || R->type[d->in[j]] >= MG_F32) type = type == MG_DTYPE_COUNT && j ? type : R->type[d->in[j]];
      if (type != MG_DTYPE_COUNT) R->type[v] = (uint8_t)type, again = 1;
    }
  }
  for (int v = 0; v < R->n; v++) {
    if (R->type[v] == MG_DTYPE_COUNT) R->type[v] = MG_F16; /* nothing makes it */
    R->bytes[v] = mg_dtype_bytes((mg_dtype)R->type[v]);
    for (int k = 0; k < f->val[v].rank; k++)
      R->bytes[v] *= f->val[v].cls[k] < 0 ? 1 : (double)R->s->real[f->val[v].cls[k]];
  }
  for (int w = 0; w < R->n_way; w++) {
    const mgi_se_der *d = &f->der[R->way[w].d];
    mg_config c = mg_config_default();
    mg_graph *g = mg_program_new("way", &c);
    mg_tensor in[4];
    R->way[w].price = 1e18;
    for (int j = 0; j < d->n_in && g; j++)
      in[j] = j && d->in[j] == d->in[0] ? in[0] : mgi_se_rw_input(R, g, (int)d->in[j]);
    if (g) mg_output(g, mgi_se_rw_apply(R, g, w, in));
    const mg_status st = g ? mg_check(g, &e) : MG_NO_MEMORY;
    if (st == MG_OK) R->way[w].price = mg_library_us(g, &g->ops[1], R->cfg.machine);
    if (st == MG_NO_MEMORY) R->over = 2;
    mg_graph_free(g);
  }
  mgi_se_rw_tensors(R);
  mgi_se_rw_sizes(R);
  for (uint32_t k = 0; k < p->n_in; k++) { /* what cannot be made without input k */
    mgi_se_rw_cheapest(R, NULL, (uint64_t)1 << k, 1);
    for (int v = 0; v < R->n; v++) if (R->cost[v] >= 1e18) R->need[v] |= (uint64_t)1 << k;
  }
  return !R->over;
}

/* Which values may be handed on.  0: none that the program does not have, or memory is out. */
MGI_FN int mgi_se_rw_hands(mgi_se_rw *R) {
  const mgi_se_frame *f = &R->f;
  const mg_graph *p = R->p;
  const size_t n = (size_t)R->n + 1;
  uint8_t *raw = (uint8_t *)malloc(n), *used = (uint8_t *)calloc(n, 1);
  int32_t *user = (int32_t *)malloc(n * sizeof *user);
  int any = 0;
  if (!raw || !used || !user) { free(raw), free(used), free(user), R->over = 2; return 0; }
  memset(R->mark, 0, n); /* what the outputs may be made of */
  for (uint32_t k = 0; k < p->n_out; k++) R->mark[R->out[k]] = 1;
  for (int again = 1; again;) {
    again = 0;
    for (int w = 0; w < R->n_way; w++)
      for (int j = 0; R->mark[R->way[w].v] && R->way[w].price < 1e18 && j < f->der[R->way[w].d].n_in; j++)
        if (!R->mark[f->der[R->way[w].d].in[j]]) R->mark[f->der[R->way[w].d].in[j]] = 1, again = 1;
  }
  for (int v = 0; v < R->n; v++) raw[v] = R->input[v] < 0, user[v] = -1;
  for (int again = 1; again;) { /* raw where every way is */
    again = 0;
    for (int w = 0; w < R->n_way; w++) {
      const mgi_se_der *d = &f->der[R->way[w].d];
      int some = d->code == MG_OP_EXP, every = 1;
      for (int j = 0; j < d->n_in; j++) some |= raw[d->in[j]], every &= raw[d->in[j]];
      if (mg_op_row((mg_opcode)d->code)->abstract == MG_ABS_DIV) some = some && !every;
      if (!some && raw[R->way[w].v]) raw[R->way[w].v] = 0, again = 1;
    }
  }
  /* requirement 3.  used: 1: by a unary elementwise operator, for `user` alone; 2: otherwise */
  for (int w = 0; w < R->n_way; w++) {
    const mgi_se_der *d = &f->der[R->way[w].d];
    if (!R->mark[R->way[w].v] || R->way[w].price >= 1e18) continue;
    for (int j = 0; j < d->n_in; j++) {
      const int v = (int)d->in[j], unary = d->n_in == 1 && mg_op_row((mg_opcode)d->code)->elementwise;
      if (!unary || (used[v] && user[v] != (int32_t)R->way[w].v)) used[v] = 2;
      else if (!used[v]) used[v] = 1, user[v] = (int32_t)R->way[w].v;
    }
  }
  double most = 0;
  for (int v = 0; v < R->n; v++) if (R->tensor[v] && R->size[v] > most) most = R->size[v];
  for (int v = 0; v < R->n; v++) {
    int back = 0;
    for (int w = 0; w < R->n_way && used[v] == 1; w++)
      back |= (int)R->way[w].v == v && f->der[R->way[w].d].n_in == 1 && (int32_t)f->der[R->way[w].d].in[0] == user[v];
    for (uint32_t k = 0; k < p->n_out; k++) back |= R->out[k] == v;
    R->hand[v] = R->mark[v] && R->input[v] < 0 && !raw[v] && R->size[v] <= most && (used[v] == 2 || back);
  }
  for (int v = 0; v < R->n; v++) { /* requirement 6 */
    mgi_se_rw_set one;
    int ops = 0;
    if (!R->hand[v] || R->tensor[v] || mgi_se_over(R->S)) continue;
    memset(&one, 0, sizeof one), one.n = 1, one.v[0] = v;
    mgi_se_rw_cheapest(R, &one, 0, 1);
    memset(R->mark, 0, n);
    for (uint32_t k = 0; k < p->n_out; k++) ops += mgi_se_rw_uses(R, (uint32_t)R->out[k]);
    R->hand[v] = R->mark[v] == 2;
    mgi_se_rw_cheapest(R, NULL, 0, 1);
    R->mark[v] = 0, ops += mgi_se_rw_uses(R, (uint32_t)v);
    R->hand[v] &= ops <= (int)R->s->p->n_ops - 1 + MGI_SE_RW_MORE;
  }
  /* requirement 4.  user: the first value that v differs little from, so far */
  for (int v = 0; v < R->n; v++) user[v] = v;
  for (int w = 0; w < R->n_way; w++) {
    const mgi_se_der *d = &f->der[R->way[w].d];
    if (!mg_op_row((mg_opcode)d->code)->elementwise || R->way[w].price >= 1e18) continue;
    if (d->n_in == 2 && !R->tensor[R->way[w].v] && R->bytes[d->in[0]] < R->bytes[R->way[w].v] &&
        R->bytes[d->in[1]] < R->bytes[R->way[w].v])
      R->hand[R->way[w].v] = 0;
    for (int j = 0; j < d->n_in; j++) {
      const int v = (int)R->way[w].v, u = (int)d->in[j], x = d->n_in > 1 ? (int)d->in[1 - j] : u;
      if (R->bytes[u] != R->bytes[v] || (x != u && MGI_SE_RW_SMALL * R->bytes[x] > R->bytes[v])) continue;
      const int a = user[u] < user[v] ? user[u] : user[v], b = user[u] < user[v] ? user[v] : user[u];
      for (int k = 0; k < R->n && a != b; k++) if (user[k] == b) user[k] = a;
    }
  }
  mgi_se_rw_cheapest(R, NULL, 0, 1);
  for (int a = 0; a < R->n; a++) {
    int first = -1, last = -1, given = 0;
    for (int v = a; v < R->n; v++) {
      int out = 0;
      if (user[v] != a) continue;
      for (uint32_t k = 0; k < p->n_out; k++) out |= R->out[k] == v;
      given |= R->input[v] >= 0, used[v] = (uint8_t)out;
      if (R->hand[v] && !out && R->tensor[v] && (last < 0 || R->cost[v] > R->cost[last])) last = v;
      if (R->hand[v] && !R->tensor[v] && (first < 0 || R->cost[v] < R->cost[first])) first = v;
    }
    if (last >= 0 || given) first = last;
    for (int v = a; v < R->n; v++) if (user[v] == a && v != first && !used[v]) R->hand[v] = 0;
  }
  for (int v = 0; v < R->n; v++) any |= R->hand[v] && !R->tensor[v]; /* else >>cuts has tried all */
  free(raw), free(used), free(user);
  return any;
}

/* The bounds of all states by what is known of the pieces; the cost of the program by what is found.  cost[k * n_item +
   a]: state a in k kernels; by: the edge that it takes first. */
MGI_FN double mgi_se_rw_fill(mgi_se_rw *R, int most, double *cost, int32_t *by) {
  const int n = R->n_item;
  double best = 1e18;
  for (int a = 0; a < n; a++)
    R->item[a].ahead[0] = R->item[a].ahead[1] = R->item[a].after[0] = R->item[a].after[1] = 1e18,
    cost[a] = R->item[a].s.n ? 1e18 : 0;
  R->item[R->start].ahead[0] = 0;
  for (int a = 0; a < n; a++) if (!R->item[a].s.n) R->item[a].after[0] = 0;
  for (int again = 1; again;) {
    again = 0;
    for (int i = 0; i < R->n_edge; i++)
      for (int has = 0; has < 2; has++) {
        mgi_se_rw_item *a = &R->item[R->edge[i].a], *b = &R->item[R->edge[i].b];
        const mgi_se_rw_piece *x = &R->piece[R->edge[i].piece];
        const int own = has | R->item[x->from].own;
        if (a->ahead[has] + x->bound < b->ahead[own]) b->ahead[own] = a->ahead[has] + x->bound, again = 1;
        if (b->after[has] + x->bound < a->after[own]) a->after[own] = b->after[has] + x->bound, again = 1;
      }
  }
  for (int k = 1; k <= most; k++) {
    for (int a = 0; a < n; a++) cost[k * n + a] = 1e18, by[k * n + a] = -1;
    for (int i = 0; i < R->n_edge; i++) {
      const mgi_se_rw_edge *x = &R->edge[i];
      const double us = cost[(k - 1) * n + x->b] + R->piece[x->piece].us;
      if (us < cost[k * n + x->a]) cost[k * n + x->a] = us, by[k * n + x->a] = i;
    }
    if (cost[k * n + R->start] < best) best = cost[k * n + R->start];
  }
  return best;
}

/* The best kernel that was found for piece x, or NULL. */
MGI_FN const mgi_se_found *mgi_se_rw_found(const mgi_se_rw *R, const mgi_se_found *found, const mgi_se_rw_piece *x) {
  const mgi_se_found *f = x->had >= 0 ? &R->S->had[x->had] : x->at >= 0 ? &found[x->at] : NULL;
  return f && f->n ? f : NULL;
}
/* The composition whose n pieces run in this order.  turn -1: each as the best kernel found or a library's; else as the
   kernel of that turn or the last found, and as a library's where none was.  *sampled: a check of one of them that says
   EQUAL_SAMPLED, if there is one. */
MGI_FN mg_graph *mgi_se_rw_compose(mgi_se_rw *R, const mgi_se_found *found, const int *piece, int n, int turn,
                                   const mg_verify_report **sampled, mg_error *e) {
  const mg_graph *p = R->p;
  mg_config c = mg_config_default();
  mg_graph *g = mg_program_new(p->name, &c);
  mg_tensor *map = (mg_tensor *)calloc((size_t)R->n, sizeof *map),
            *own = (mg_tensor *)calloc((size_t)R->n, sizeof *own);
  uint8_t *named = (uint8_t *)calloc((size_t)R->n, 1);
  int ok = g && map && own && named;
  for (int v = 0; v < R->n && ok; v++) named[v] = R->input[v] >= 0;
  for (uint32_t k = 0; k < p->n_in && ok; k++) {
    const mg_tensor t = mgi_se_copy_input(g, p, p->in[k]);
    for (int v = 0; v < R->n; v++) if (R->input[v] == (int32_t)k) map[v] = t;
  }
  for (int i = 0; i < n && ok; i++) {
    const mgi_se_rw_piece *x = &R->piece[piece[i]];
    const mgi_se_rw_set *from = &R->item[x->from].s, *to = &R->item[x->to].s;
    const mgi_se_found *f = mgi_se_rw_found(R, found, x);
    mg_tensor in[MG_MAX_IN], out[MG_MAX_OUT];
    int values[MG_MAX_IN], n_in, ops;
    if (f && (turn >= 0 || f->us <= x->library)) {
      mg_graph *own_program = x->had >= 0 ? NULL : mgi_se_rw_program(R, from, to, values, &n_in, &ops);
      const uint32_t takes = f->s->p->n_in;
      ok = x->had >= 0 || (own_program && (uint32_t)n_in == takes);
      mg_graph_free(own_program);
      for (uint32_t q = 0; q < takes && ok; q++) in[q] = map[x->had >= 0 ? R->value[f->in[q].id] : values[q]];
      const int at = turn < 0 ? 0 : turn < f->n ? turn : f->n - 1;
      const mgi_se_structure *t = &f->st[at];
      if (ok) mgi_se_build_kernel(g, f->s, t, f->s->real, t->count[f->tile[at]], R->cfg.machine, in, out);
      for (int q = 0; q < to->n && ok; q++) map[x->had >= 0 ? R->value[f->out[q].id] : to->v[q]] = out[q];
      if (f->report[at].verdict == MG_EQUAL_SAMPLED) *sampled = &f->report[at];
    } else {
      mgi_se_rw_cheapest(R, from, 0, 0);
      memset(own, 0, (size_t)R->n * sizeof *own);
      for (int v = 0; v < R->n; v++) if (R->input[v] >= 0 || mgi_se_rw_has(from, v)) own[v] = map[v];
      for (int q = 0; q < to->n; q++) map[to->v[q]] = mgi_se_rw_make(R, g, (uint32_t)to->v[q], own);
    }
    for (int q = 0; q < to->n && ok; q++) {
      char name[32];
      if (!named[to->v[q]])
        mg_named(g, map[to->v[q]], mgi_se_rw_name(R, to->v[q], name, sizeof name)), named[to->v[q]] = 1;
    }
  }
  for (uint32_t k = 0; k < p->n_out && ok; k++) mg_output(g, map[R->out[k]]);
  free(map), free(own), free(named);
  if (!ok) mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for a composition");
  if (!ok || mg_check(g, e) != MG_OK) { mg_graph_free(g); return NULL; }
  return g;
}

/* The segment of >>cuts that is piece x and was searched to its end, or -1. */
MGI_FN int mgi_se_rw_had(const mgi_se_rw *R, const mgi_se_rw_piece *x) {
  for (int k = 0; k < R->S->n_had; k++) {
    const mgi_se_found *f = &R->S->had[k];
    mgi_se_rw_set from, to;
    uint64_t inputs = 0;
    int ok = f->s && f->s->p && f->s->p->n_out <= MG_MAX_OUT && f->effort &&
             (!f->n_open || f->effort == MGI_SE_EFFORTS);
    memset(&from, 0, sizeof from), memset(&to, 0, sizeof to);
    for (uint32_t q = 0; ok && q < f->s->p->n_in; q++) {
      const int v = R->value[f->in[q].id];
      if (v >= 0 && R->input[v] >= 0) inputs |= (uint64_t)1 << R->input[v];
      else if (v < 0 || from.n == MGI_SE_RW_UNDER) ok = 0;
      else from = mgi_se_rw_with(from, v);
    }
    for (uint32_t q = 0; ok && q < f->s->p->n_out; q++) {
      const int v = R->value[f->out[q].id];
      if (v < 0) ok = 0;
      else to = mgi_se_rw_with(to, v);
    }
    if (ok && to.n == (int32_t)f->s->p->n_out && inputs == x->inputs &&
        !memcmp(&from, &R->item[x->from].s, sizeof from) && !memcmp(&to, &R->item[x->to].s, sizeof to))
      return k;
  }
  return -1;
}

/* Searches what may be part of something better than the best, in rounds; *found is the caller's to free. */
MGI_FN mg_status mgi_se_rw_rounds(mgi_se_rw *R, double *cost, int32_t *by, int most, mgi_se_found **found, int *n_found,
                                  mg_error *e) {
  mgi_se_search *S = R->S;
  mg_status st = MG_OK;
  mgi_se_todo *todo = (mgi_se_todo *)malloc(((size_t)R->n_piece + 1) * sizeof *todo);
  uint8_t *done = (uint8_t *)calloc((size_t)R->n_piece + 1, 1);
  mgi_se_found *f = *found = (mgi_se_found *)calloc((size_t)R->n_piece + 1, sizeof **found);
  mgi_se_found **list = (mgi_se_found **)malloc(((size_t)R->n_piece + 1) * sizeof *list);
  int n = 0, left = 0;
  if (!todo || !done || !f || !list) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments");
  for (int k = 0; k < R->n_piece && st == MG_OK; k++) {
    mgi_se_rw_piece *x = &R->piece[k];
    x->had = mgi_se_rw_had(R, x);
    if (x->had < 0) continue;
    done[k] = 1;
    const mgi_se_found *had = &S->had[x->had];
    if (had->n && had->st[0].tile_us[had->tile[0]] < x->us) x->us = had->st[0].tile_us[had->tile[0]];
    x->bound = x->us;
  }
  for (int round = 0; st == MG_OK; round++) {
    const double known = mgi_se_rw_fill(R, most, cost, by);
    const int first = n;
    int m = 0;
    if (known < R->best) R->best = known;
    for (int k = 0; k < R->n_piece; k++) todo[k].us = 1e18, todo[k].piece = k;
    for (int i = 0; i < R->n_edge; i++) {
      const mgi_se_rw_edge *x = &R->edge[i];
      const mgi_se_rw_item *a = &R->item[x->a], *b = &R->item[x->b];
      const int own = R->item[R->piece[x->piece].from].own; /* of the way before, it and the way behind one has to */
      double us = a->ahead[1] + (b->after[0] < b->after[1] ? b->after[0] : b->after[1]);
      if (a->ahead[0] + b->after[!own] < us) us = a->ahead[0] + b->after[!own];
      if (own && a->ahead[0] + b->after[1] < us) us = a->ahead[0] + b->after[1];
      us += R->piece[x->piece].bound;
      if (!done[x->piece] && us < todo[x->piece].us) todo[x->piece].us = us;
    }
    left = 0;
    for (int k = 0; k < R->n_piece; k++) {
      if (todo[k].us < R->best) todo[m++] = todo[k];
      else left += todo[k].us < 1e18;
    }
    if (!m || mgi_se_over(S)) break;
    for (int k = 0; k < m; k++) todo[k].ps = (int64_t)(todo[k].us * 1e6), todo[k].ops = R->piece[todo[k].piece].ops;
    qsort(todo, (size_t)m, sizeof *todo, mgi_se_todo_cmp);
    S->units = S->units_done + m;
    const int wanted = m, next = m > 8 ? m < 32 ? 8 : m / 4 : m; /* the rest may not be needed any more */
    m = mgi_se_todo_first(todo, next);
    for (int k = 0; k < m && st == MG_OK; k++) {
      mgi_se_rw_piece *x = &R->piece[todo[k].piece];
      int in[MG_MAX_IN], n_in, ops;
      for (int j = 0; j < R->n_piece && x->at < 0; j++)
        if (R->piece[j].at >= 0 && R->piece[j].hash == x->hash) x->at = R->piece[j].at;
      done[todo[k].piece] = 1;
      if (x->at >= 0) continue;
      f[n].own = mgi_se_rw_program(R, &R->item[x->from].s, &R->item[x->to].s, in, &n_in, &ops);
      if (!f[n].own) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for a segment");
      else f[n].want = S->cfg.unsafe || !R->item[x->from].s.n ? 1 : MGI_SE_PICKS, f[n].hash = x->hash, x->at = n++;
    }
    /* Of all pieces of one program.  None will ask for more later: bounds only rise, the best only falls. */
    for (int k = 0; k < wanted; k++) {
      const mgi_se_rw_piece *x = &R->piece[todo[k].piece];
      const double most = R->best - (todo[k].us - x->bound);
      for (int j = first; j < n; j++)
        if (f[j].hash == x->hash && most > f[j].most) f[j].most = most;
    }
    for (int k = first; k < n; k++) list[k - first] = &f[k];
    if (st == MG_OK) st = mgi_se_search_segments(S, list, n - first, MGI_SE_EFFORTS - 1, e);
    for (int k = 0; k < m && st == MG_OK; k++) {
      mgi_se_rw_piece *x = &R->piece[todo[k].piece];
      if (f[x->at].n && f[x->at].us < x->us) x->us = f[x->at].us;
      x->bound = x->us;
    }
  }
  free(todo), free(done), free(list);
  S->st.pruned_bound += (uint64_t)left;
  mgi_se_stops(S, f, n);
  *n_found = n;
  return st;
}

/* Adds the composition of n pieces (mgi_se_rw_compose) to the results.  1: it is not as safe as written, and no plan
   repairs it. */
MGI_FN int mgi_se_rw_result(mgi_se_rw *R, const mgi_se_found *found, const int *piece, int n, double us, int turn,
                            mg_search_result *out, mg_error *why) {
  mgi_se_search *S = R->S;
  mg_error local;
  mg_verify_report rep;
  const mg_verify_report *sampled = NULL;
  mg_graph *g = mgi_se_rw_compose(R, found, piece, n, turn, &sampled, &local);
  S->st.candidates++;
  if (!g) mgi_se_step(S, local.status);
  if (g && (turn >= 0 || mgi_se_slices(g))) us = mgi_se_us(S, g, &local);
  const int refused = g && mgi_se_emittable(S, g, why) != MG_OK;
  /* every kernel passed on its own: this is about the whole as it is wired */
  if (refused || !g || !mgi_se_check_small(S, S->p, g, &rep)) {
    S->st.refused += (uint64_t)refused, S->st.rejected += (uint64_t)!refused, mg_graph_free(g);
    if (!out->n || us < out->predicted_us[0]) S->cut = 1; /* other compositions of as many kernels were not looked at */
    return 0;
  }
  S->st.verified++;
  us += mgi_se_repair(S, &g);
  const int unsafe = mgi_se_behind(S, g);
  mgi_se_result_add(S, out, g, us, sampled ? sampled : &rep);
  return unsafe;
}
/* Adds what compositions over other values than the program's tensors can do better than the best of `out`; s: the
   whole program's segment. */
MGI_FN mg_status mgi_se_search_rewrites(mgi_se_search *S, const mgi_se_seg *s, mg_search_result *out, mg_error *e,
                                        mg_error *why) {
  const int K = S->cfg.max_kernel_ops < MGI_SE_MOST_OPS ? S->cfg.max_kernel_ops : MGI_SE_KERNELS;
  const mg_graph *p = S->p;
  mg_status st = MG_OK;
  mgi_se_rw R;
  double bytes = 0;
  memset(&R, 0, sizeof R);
  /* no block: what the emitter refuses in one is no matter here */
  R.S = S, R.p = p, R.s = s, R.cfg = S->cfg, R.cfg.prune = 1, R.cfg.max_block_ops = MGI_SE_RW_DEPTH,
  R.cfg.emittable = NULL;
  R.launch = mgi_se_launch_least(S->cfg.machine);
  R.best = mg_predict_us(p, S->cfg.machine);
  if (out->n && out->predicted_us[0] < R.best) R.best = out->predicted_us[0];
  for (uint32_t k = 0; k < p->n_out; k++)
    bytes += (double)mg_shape_elements(&p->tensors[p->out[k].id].shape) *
             mg_dtype_bytes(p->tensors[p->out[k].id].dtype);
  if (2 * R.launch + mg_dram_us(S->cfg.machine, bytes) >= R.best || mgi_se_over(S)) return MG_OK;
  strcpy(R.prefix, "h");
  /* no name of the program's begins so; of h0_, h1_, .. it can have no more than it has tensors */
  for (uint32_t k = 1, n = 0; k < p->n_tensors; k++)
    if (p->tensors[k].name && !strncmp(p->tensors[k].name, R.prefix, strlen(R.prefix)))
      snprintf(R.prefix, sizeof R.prefix, "h%u_", (unsigned)n++ % 100000), k = 0;
  mgi_se_found *found = NULL;
  double *cost = NULL;
  int32_t *by = NULL;
  int n = 0;
  const int any = mgi_se_rw_values(&R) && mgi_se_rw_hands(&R);
  if (any) mgi_se_rw_states(&R);
  if (R.over == 1) S->cut = 1;
  if (R.over == 2) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for compositions");
  if (st == MG_OK && any && R.n_edge) {
    cost = (double *)malloc((size_t)R.n_item * (size_t)(K + 1) * sizeof *cost),
    by = (int32_t *)malloc((size_t)R.n_item * (size_t)(K + 1) * sizeof *by);
    S->units_done = 0, S->seg_t0 = mgi_se_seconds();
    if (!cost || !by) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for compositions");
    const double before = R.best;
    if (st == MG_OK) st = mgi_se_rw_rounds(&R, cost, by, K, &found, &n, e);
    if (st == MG_OK) mgi_se_rw_fill(&R, K, cost, by);
    for (int k = 2; k <= K && st == MG_OK; k++) {
      int piece[MGI_SE_MOST_OPS];
      const double us = cost[k * R.n_item + R.start];
      if (us >= before) continue;
      for (int q = k, a = R.start; q > 0; a = R.edge[by[q * R.n_item + a]].b, q--)
        piece[q - 1] = R.edge[by[q * R.n_item + a]].piece;
      /* A library's kernel reads no tensor that a plan has stored otherwise, nor does one of ours without a loop:
         others are tried. */
      int turns = 0;
      for (int q = 0; q < k; q++) {
        const mgi_se_found *f = mgi_se_rw_found(&R, found, &R.piece[piece[q]]);
        if (f && f->n > turns) turns = f->n;
      }
      if (mgi_se_rw_result(&R, found, piece, k, us, -1, out, why))
        for (int turn = 0; turn < turns; turn++) mgi_se_rw_result(&R, found, piece, k, us, turn, out, why);
    }
  }
  for (int k = 0; k < n; k++) mgi_se_found_free(&found[k]);
  free(found), free(cost), free(by);
  mgi_se_rw_free(&R);
  return st;
}

/* ------------------------------------------------------------------------------------------------- >>results

   What was found, ranked by the time that it takes where there is a way to measure it; kept in a cache; and the
   searches that the caller may ask
   for.                                                                                     */

/* Ranks the results by the time that they take: a stable insertion of each behind those that are not slower.  Those
   that failed are last, those that mgi_se_behind names just before them; last[k]: 2, 1 of them, 0 of the others, asked
   once. */
MGI_FN void mgi_se_timed(mgi_se_search *S, mg_search_result *r) {
  mg_error why;
  uint8_t *last = (uint8_t *)malloc((size_t)r->n + 1);
  memset(&why, 0, sizeof why);
  if (!last) mg_fail(&why, MG_NO_MEMORY, "mg_search", "no memory to rank by time");
  if (!last || S->cfg.measure(S->cfg.measure_user, S->p, (const mg_graph *const *)r->graph, r->n, r->measured_us,
                              &why) != MG_OK) {
    memset(r->measured_us, 0, (size_t)r->n * sizeof *r->measured_us);
    snprintf(S->st.unmeasured, sizeof S->st.unmeasured, "%.250s", why.msg[0] ? why.msg : "the hook failed");
    free(last);
    return;
  }
  for (int k = 0; k < r->n; k++) {
    mg_graph *g = r->graph[k];
    double predicted = r->predicted_us[k], us = r->measured_us[k];
    mg_verify_report report = r->report[k];
    const uint8_t mine = (uint8_t)(us > 0 ? mgi_se_judges(S) && mgi_se_behind(S, g) : 2);
    int at = k;
    for (; at > 0 && (last[at - 1] > mine || (last[at - 1] == mine && mine < 2 && r->measured_us[at - 1] > us)); at--)
      r->graph[at] = r->graph[at - 1], r->predicted_us[at] = r->predicted_us[at - 1],
      r->measured_us[at] = r->measured_us[at - 1], r->report[at] = r->report[at - 1], last[at] = last[at - 1];
    r->graph[at] = g, r->predicted_us[at] = predicted, r->measured_us[at] = us, r->report[at] = report, last[at] = mine;
  }
  free(last);
  if (!(r->measured_us[0] > 0))
    snprintf(S->st.unmeasured, sizeof S->st.unmeasured, "none of the %d candidates ran rightly", r->n);
}
/* 1 if one block at most shares a multiprocessor with the loop of warpgroups that `block`'s plan has, with the block's
   ring. */
MGI_FN int mgi_se_copies_pay(const mg_graph *block, const mg_machine *gpu) {
  const int open = mg_plan_says(block, MG_PLAN_RING, NULL) < 0 && mg_plan_says(block, MG_PLAN_COPY, NULL) < 0;
  mg_flat k;
  int is = 0;
  if (mg_plan_says(block, MG_PLAN_MMA, NULL) == MG_MMA_WARPGROUP && open && mg_flat_of(block, &k) && k.iters > 1) {
    double us;
    const mg_kernel_plan p = mg_flat_plan(&k, gpu, &us, NULL);
    is = k.blocks <= gpu->sms || 2 * (p.shared + 1024) > gpu->shared_per_sm;
  }
  return is;
}
/* The best plan of `block`, for who copies and when products of fragments are made; none where its text says how it
   copies. */
MGI_FN mg_kernel_plan mgi_se_plan_of(const mg_graph *block, const mg_machine *gpu) {
  mg_kernel_plan none;
  mg_flat k;
  double us;
  memset(&none, 0, sizeof none);
  if (mg_plan_says(block, MG_PLAN_COPY, NULL) >= 0 || !mg_flat_of(block, &k)) return none;
  return mg_flat_plan(&k, gpu, &us, NULL);
}
/* 1 if tensor copies let a product of the block be under way while the next step of its loop begins. */
MGI_FN int mgi_se_flies(const mg_graph *block) {
  mg_kernel_plan p;
  mg_chains c;
  mg_flat k;
  int flies = 0;
  memset(&p, 0, sizeof p);
  if (!mg_flat_of(block, &k) || !mg_plan_warps(block, &k, &p)) return 0;
  p.group = p.copies = 1;
  p.stages = mg_plan_says(block, MG_PLAN_STAGES, NULL);
  mg_flat_chains(&k, &p, &c);
  for (int i = 0; i < k.n; i++) flies |= mg_flat_flies(&k, &p, &c, i);
  return flies;
}
/* Has kernel k of *g copied so, with a late product if `late`.  1 if the emitter takes it: *g is that then. */
MGI_FN int mgi_se_copies_so(mgi_se_search *S, mg_graph **g, uint32_t k, int copy, int late) {
  mg_graph *with = NULL;
  mg_error why;
  if (mgi_se_step(S, mg_resize(*g, NULL, NULL, &with, &why)) != MG_OK) return 0;
  mg_graph *block = with->ops[k].sub;
  mg_plan_say(block, MG_PLAN_COPY, NULL, copy);
  if (late) mg_plan_say(block, MG_PLAN_CHAIN, NULL, MG_CHAIN_LATE);
  if (late && mg_plan_says(block, MG_PLAN_STAGES, NULL) < MG_STAGES)
    mg_plan_say(block, MG_PLAN_STAGES, NULL, MG_STAGES);
  const int taken = mgi_se_emittable(S, with, &why) == MG_OK;
  mg_graph_free(taken ? *g : with);
  if (taken) *g = with;
  return taken;
}
/* Tensor copies where they pay and the emitter takes them: not where two blocks share a multiprocessor, of which one
   computes while the other waits. */
MGI_FN void mgi_se_copies(mgi_se_search *S, mg_graph **g) {
  if (!S->cfg.emittable || !mg_machine_can(S->cfg.machine, MG_CAN_TENSOR_COPY)) return;
  for (uint32_t k = 1; k < (*g)->n_ops; k++) {
    const mg_graph *block = (*g)->ops[k].sub;
    int done = 0;
    if (!block) continue;
    const mg_kernel_plan p = mgi_se_plan_of(block, S->cfg.machine);
    int copy = p.late ? MG_COPY_ASYNC : p.copies;
    for (int by = p.copies; p.late && by >= MG_COPY_TMA && !done; by--) done = mgi_se_copies_so(S, g, k, by, 1);
    if (copy == MG_COPY_ASYNC && !done && mgi_se_copies_pay((*g)->ops[k].sub, S->cfg.machine))
      copy = mgi_se_flies((*g)->ops[k].sub) ? MG_COPY_WARP : MG_COPY_TMA;
    for (; copy >= MG_COPY_TMA && !done; copy--) done = mgi_se_copies_so(S, g, k, copy, 0);
  }
}

/* The program itself is timed beside them where the model left it out: its matmuls are the library's.  r has room for
   one more. */
MGI_FN void mgi_se_measure(mgi_se_search *S, mg_search_result *r) {
  mg_error why;
  mg_graph *own = NULL;
  int there = 0;
  memset(&why, 0, sizeof why);
  if (mg_resize(S->p, NULL, NULL, &own, &why) == MG_OK) {
    for (int k = 0; k < r->n; k++) there |= mg_hash(r->graph[k]) == mg_hash(own);
    if (!there && mgi_se_emittable(S, own, &why) == MG_OK && mgi_se_check_whole(S, own, &r->report[r->n]))
      r->predicted_us[r->n] = mg_predict_us(own, S->cfg.machine), r->graph[r->n++] = own, own = NULL;
  }
  mg_graph_free(own);
  mgi_se_timed(S, r);
  if (r->n > S->cfg.top_k) mg_graph_free(r->graph[--r->n]);
}

/* A cache entry's body: the program's text, the statistics, how many µGraphs; of each its time, what mg_predict_us says
   of it, and its text.  A text is a length, 64 bits, and as many bytes. */

MGI_FN void mgi_se_put_text(mgi_se_buffer *w, const mg_graph *g) {
  char *text = NULL;
  mg_error e;
  uint64_t n;
  if (mg_print(g, &text, &e) != MG_OK) { w->bad = 1; return; }
  n = strlen(text);
  mgi_se_put(w, &n, sizeof n), mgi_se_put(w, text, (size_t)n);
  mg_string_free(text);
}

/* check: of all that follows it */
typedef struct mgi_se_cache_head { char magic[8]; uint64_t check, key, bytes; } mgi_se_cache_head;
MGI_FN mgi_se_cache_head mgi_se_cache_head_of(uint64_t key, const uint8_t *b, size_t n) {
  mgi_se_cache_head h;
  memset(&h, 0, sizeof h);
  memcpy(h.magic, "mirageC4", 8), h.key = key, h.bytes = n;
  h.check = mgi_se_bytes_hash(mgi_se_mix(h.key, h.bytes), b, n);
  return h;
}

MGI_FN uint64_t mgi_se_cache_path(const mgi_se_search *S, char *path, size_t size) {
  mgi_se_key parts;
  if (!mgi_se_key_of(S->p, &S->cfg, &parts)) return 0;
  uint64_t key = mgi_se_mix(mgi_se_mix(mgi_se_key_hash(&parts), sizeof(mg_search_stats)), MG_AXIOM_TIMES) | 1;
  int n = snprintf(path, size, "%s/%016llx.search", S->cfg.cache, (unsigned long long)key);
  return n > 0 && (size_t)n + 32 < size ? key : 0; /* room for what a temporary name adds */
}

/* 1: *out is filled in.  0: there is nothing to use; stats.cache_note says why, if there is a file. */
MGI_FN int mgi_se_cache_load(mgi_se_search *S, mg_search_result *out) {
  char path[1024];
  mg_error e;
  uint64_t key = mgi_se_cache_path(S, path, sizeof path), n = 0;
  FILE *f = key ? fopen(path, "rb") : NULL;
  if (!f) return 0;
  mgi_se_buffer r;
  memset(&r, 0, sizeof r);
  mg_status st = mgi_se_kept_read(f, path, "cache entry", "searched anew", "mirageC4", &r, &e);
  fclose(f);
  mgi_se_cache_head h;
  memset(&h, 0, sizeof h);
  if (st == MG_OK && mgi_se_get_to(&r, &h, sizeof h)) {
    mgi_se_cache_head own = mgi_se_cache_head_of(key, r.b + sizeof h, r.n - sizeof h);
    if (memcmp(&h, &own, sizeof h)) st = mg_fail(&e, MG_BAD_INPUT, path, "the cache entry is damaged; searched anew");
  } else if (st == MG_OK) st = mg_fail(&e, MG_BAD_INPUT, path, "the cache entry is cut off; searched anew");
  if (st != MG_OK) {
    free(r.b), snprintf(S->st.cache_note, sizeof S->st.cache_note, "%.90s: %.100s", path, e.msg);
    return 0;
  }
  mg_search_stats stats;
  char *own = NULL;
  const char *why = "the cache entry is malformed";
  int32_t count = 0, stop = 0, falls = mgi_se_judges(S); /* falls: ranks at which the order may begin again */
  const uint8_t *text = mgi_se_get_to(&r, &n, sizeof n) ? mgi_se_get(&r, n) : NULL;
  int ok = text && mg_print(S->p, &own, &e) == MG_OK && strlen(own) == n && !memcmp(own, text, (size_t)n);
  if (text && !ok) why = "the cache entry is of another program";
  mg_string_free(own);
  ok = ok && mgi_se_get_to(&r, &stats, sizeof stats) && mgi_se_get_to(&r, &stop, sizeof stop) &&
       mgi_se_get_to(&r, &count, sizeof count);
  ok = ok && count > 0 && count <= S->cfg.top_k && stop >= MG_SATURATED && stop <= MG_TIME;
  for (int k = 0; k < count && ok; k++) {
    double us = 0, model = 0;
    mg_graph *g = NULL;
    ok = mgi_se_get_to(&r, &us, sizeof us) && mgi_se_get_to(&r, &model, sizeof model) &&
         mgi_se_get_to(&r, &n, sizeof n) && (text = mgi_se_get(&r, n)) != NULL;
    if (!ok) break;
    if (mgi_se_stopped(&S->cfg)) { ok = 0, why = "interrupted"; break; }
    ok = mg_parse((const char *)text, (size_t)n, path, NULL, &g, &e) == MG_OK &&
         mg_verify_signature(S->p, g, &e) == MG_OK && us >= 0 && (!k || us >= out->predicted_us[k - 1] || falls-- > 0);
    if (ok && mg_predict_us(g, S->cfg.machine) != model) ok = 0, why = "the model prices a cached µGraph otherwise";
    if (ok && mgi_se_emittable(S, g, &e) != MG_OK) ok = 0, why = "a cached µGraph is not emitted any more";
    /* what the entry's tests lack, the search that follows need not */
    const int cut = S->cut, late = S->late, timed = S->timed;
    if (ok && !mgi_se_check_small(S, S->p, g, &out->report[k])) {
      ok = 0, why = out->report[k].unfinished ? "a cached µGraph's tests were not ended in time"
                                              : "a cached µGraph is not equal to the program";
      S->cut = cut, S->late = late, S->timed = timed;
    }
    if (ok) out->graph[out->n] = g, out->predicted_us[out->n++] = us;
    else mg_graph_free(g);
  }
  ok = ok && r.at == r.n;
  free(r.b);
  if (ok) {
    stats.cached = 1, stats.cache_note[0] = 0, stats.egraph_stop = mg_saturation_name((mg_saturation)stop),
    stats.threads = S->st.threads;
    stats.resumed = 0, stats.checkpoint_lost = 0, stats.measured_us = 0, stats.unmeasured[0] = 0;
    S->st = stats;
    return 1;
  }
  while (out->n) mg_graph_free(out->graph[--out->n]);
  snprintf(S->st.cache_note, sizeof S->st.cache_note, "%.90s: %s; searched anew", path, why);
  return 0;
}

/* Keeps *out as the model ranks it, and the statistics. */
MGI_FN void mgi_se_cache_store(mgi_se_search *S, const mg_search_result *out) {
  char path[1024], tmp[1064];
  uint64_t key = mgi_se_cache_path(S, path, sizeof path);
  mgi_se_buffer w;
  memset(&w, 0, sizeof w);
  mg_search_stats stats = S->st;
  int32_t count = out->n, stop = MG_SATURATED;
  while (stop < MG_TIME && strcmp(mg_saturation_name((mg_saturation)stop), stats.egraph_stop)) stop++;
  stats.egraph_stop = NULL;
  mgi_se_put_text(&w, S->p);
  mgi_se_put(&w, &stats, sizeof stats), mgi_se_put(&w, &stop, sizeof stop), mgi_se_put(&w, &count, sizeof count);
  for (int k = 0; k < out->n; k++) {
    double model = mg_predict_us(out->graph[k], S->cfg.machine);
    mgi_se_put(&w, &out->predicted_us[k], sizeof(double)), mgi_se_put(&w, &model, sizeof model);
    mgi_se_put_text(&w, out->graph[k]);
  }
  int ok = key && !w.bad;
  if (ok) { /* a name that no other thread or process takes, and none takes over */
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    snprintf(tmp, sizeof tmp, "%s.%016llx", path,
             (unsigned long long)mgi_se_mix(mgi_se_mix((uint64_t)t.tv_nsec, (uint64_t)t.tv_sec),
                                            (uint64_t)(uintptr_t)&w));
    mgi_se_cache_head h = mgi_se_cache_head_of(key, w.b, w.n);
    ok = mgi_se_kept_put(path, tmp, "wbx", &h, sizeof h, w.b, w.n);
  }
  free(w.b);
  if (!ok)
    snprintf(S->st.cache_note, sizeof S->st.cache_note, "%.120s: the cache entry cannot be written", S->cfg.cache);
}

/* What was found for the rest of `program` (mg_rest_of) becomes what is found for the program: its picks stay kernels
   of their own. */
MGI_FN mg_status mgi_se_join(const mg_graph *program, const mg_rest *R, const mg_search_config *c,
                             mg_search_result *out, mg_error *e) {
  mg_error why;
  int n = 0;
  for (int k = 0; k < out->n; k++) {
    mg_graph *g = NULL;
    mg_status s = mg_rest_join(program, R, out->graph[k], &g, &why);
    if (s == MG_OK && c->emittable && c->emittable(c->user, g, &why) != MG_OK) mg_graph_free(g), g = NULL;
    mg_graph_free(out->graph[k]);
    out->graph[k] = NULL;
    if (!g) out->stats.refused++, out->stats.complete = 0;
    if (!g) continue;
    out->graph[n] = g, out->predicted_us[n] = mg_predict_us(g, c->machine), out->measured_us[n] = 0;
    out->report[n] = out->report[k], out->report[n++].picks = R->n;
  }
  /* a reshape of what a pick makes is no kernel, which it was of an input: as written it may be best */
  for (int k = 1; k < n; k++)
    if (mg_is_program(out->graph[k]) && out->predicted_us[k] < out->predicted_us[0]) {
      mg_graph *g = out->graph[k];
      const double us = out->predicted_us[k];
      const mg_verify_report own = out->report[k];
      out->graph[k] = out->graph[0], out->predicted_us[k] = out->predicted_us[0], out->report[k] = out->report[0];
      out->graph[0] = g, out->predicted_us[0] = us, out->report[0] = own;
    }
  out->n = n;
  return n ? MG_OK : mg_fail(e, MG_NOT_FOUND, "mg_search", "no µGraph is left: %.200s", why.msg);
}
/* mg_search of a program with gathers or argmaxes: of its rest. */
MGI_FN mg_status mgi_se_search_rest(const mg_graph *program, const mg_search_config *cfg, mg_search_result *out,
                                    mg_error *e) {
  mg_search_config c = cfg ? *cfg : mg_search_config_default();
  mg_rest R;
  mg_error why;
  mgi_se_search S;
  const mg_status apart = mg_rest_of(program, NULL, &R, &why);
  mg_status st = MG_OK;
  memset(&S, 0, sizeof S);
  c.measure = NULL;
  if (!c.machine) c.machine = mg_machine_at(0);
  if (apart == MG_OK && R.g[0]) {
    st = mg_search(R.g[0], &c, out, e);
    if (st == MG_OK) st = mgi_se_join(program, &R, &c, out, e);
  } else if (apart == MG_NO_MEMORY) st = mg_fail(e, apart, "mg_search", "%.200s", why.msg);
  else { /* nothing is left to search, or it cannot be taken apart */
    out->graph = (mg_graph **)calloc(1, sizeof *out->graph);
    out->predicted_us = (double *)calloc(1, sizeof *out->predicted_us);
    out->measured_us = (double *)calloc(1, sizeof *out->measured_us);
    out->report = (mg_verify_report *)calloc(1, sizeof *out->report);
    if (!out->graph || !out->predicted_us || !out->measured_us || !out->report)
      st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for results");
    if (st == MG_OK) st = mg_resize(program, NULL, NULL, &out->graph[0], e);
    if (st == MG_OK) st = mg_verify(program, out->graph[0], NULL, &out->report[0], e);
    if (st == MG_OK) out->predicted_us[0] = mg_predict_us(out->graph[0], c.machine), out->n = 1;
    out->stats.complete = apart == MG_OK, out->stats.egraph_stop = "SATURATED";
  }
  S.p = program, S.root = &S, S.cfg = c, S.st = out->stats;
  S.cfg.measure = cfg ? cfg->measure : NULL;
  if (st == MG_OK && S.cfg.measure) mgi_se_timed(&S, out);
  out->stats = S.st;
  if (st == MG_OK) mg_search_stats_best(&out->stats, out, 0);
  mg_rest_free(&R);
  if (st != MG_OK) {
    const mg_search_stats kept = out->stats;
    if (out->graph) mg_search_result_free(out);
    out->stats = kept;
  }
  return st;
}

mg_status mg_search(const mg_graph *program, const mg_search_config *cfg, mg_search_result *out, mg_error *e) {
  mgi_se_search S;
  mg_error why;
  memset(&S, 0, sizeof S), memset(out, 0, sizeof *out), memset(&why, 0, sizeof why);
  if (!program || program->level != MG_KERNEL || !mg_is_program(program) || !program->n_out)
    return mg_fail(e, MG_BAD_INPUT, "mg_search",
                   "expected a program of library operators with at least one output, got %s",
                   program ? "a graph with graph-defined operators, or without outputs" : "nothing");
  if (program->n_symbols)
    return mg_fail(e, MG_BAD_INPUT, "mg_search",
                   "a program with the symbol %s is searched by mg_search_family, or at one size (mg_at)",
                   program->symbol[0].name);
  mg_status st = mg_verify_rows(program, e);
  if (st != MG_OK) return st;
  if (mg_has_picks(program)) return mgi_se_search_rest(program, cfg, out, e);
  S.p = program, S.cfg = cfg ? *cfg : mg_search_config_default();
  if (!S.cfg.machine) S.cfg.machine = mg_machine_at(0);
  if (S.cfg.threads <= 0) S.cfg.threads = 2;
  if (S.cfg.max_kernel_ops <= 0 || S.cfg.max_kernel_ops > MGI_SE_MOST_OPS) S.cfg.max_kernel_ops = MGI_SE_MOST_OPS;
  S.tiling_ops = S.cfg.max_block_ops > 0 ? S.cfg.max_block_ops : 40;
  if (S.cfg.max_block_ops <= 0) S.cfg.max_block_ops = 11;
  if (S.cfg.max_block_ops > 40) S.cfg.max_block_ops = 40;
  if (S.cfg.max_loops <= 0) S.cfg.max_loops = 1;
  if (S.cfg.max_loops > 2) S.cfg.max_loops = 2;
  if (S.cfg.top_k <= 0) S.cfg.top_k = MGI_SE_TOP;
  if (!S.cfg.seed) S.cfg.seed = 1;
  if (S.cfg.max_states <= 0) S.cfg.max_states = 32768;
  if (S.cfg.max_states > 65535) S.cfg.max_states = 65535;
  if (S.cfg.max_structures <= 0) S.cfg.max_structures = 500000;
  if (S.cfg.max_steps <= 0) S.cfg.max_steps = 400000000;
  S.st.own_us = mg_predict_us(program, S.cfg.machine);
  S.t0 = S.shown = mgi_se_seconds();
  S.end = S.cfg.time_limit_s > 0 ? S.t0 + S.cfg.time_limit_s : 1e300;
  S.st.threads = S.cfg.threads, S.st.egraph_stop = "SATURATED";
  out->graph = (mg_graph **)calloc((size_t)S.cfg.top_k + 1, sizeof *out->graph);
  out->predicted_us = (double *)calloc((size_t)S.cfg.top_k + 1, sizeof *out->predicted_us);
  out->measured_us = (double *)calloc((size_t)S.cfg.top_k + 1, sizeof *out->measured_us);
  out->report = (mg_verify_report *)calloc((size_t)S.cfg.top_k + 1, sizeof *out->report);
  mgi_se_cuts *cuts = (mgi_se_cuts *)calloc(1, sizeof *cuts);
  mgi_se_found whole;
  mg_graph *rows = NULL; /* the program as one kernel by rows, or as kernels by parts of them */
  mg_verify_report rows_report, report;
  memset(&whole, 0, sizeof whole);
  if (!out->graph || !out->predicted_us || !out->measured_us || !out->report || !cuts)
    st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for results");
  S.root = &S;
  pthread_mutex_init(&S.lock, NULL), pthread_mutex_init(&S.hook, NULL);
  int hit = st == MG_OK && S.cfg.cache && mgi_se_cache_load(&S, out);
  const int large = program->n_ops > MGI_SE_MOST_OPS + 1;
  if (!hit && large) S.cut = 1;
  if (st == MG_OK && !hit) st = mgi_se_kept_open(&S, e);
  const int others = st == MG_OK && !hit && !large && S.cfg.max_kernel_ops > 1; /* programs in the place of this one */
  const int edges = others && (mgi_se_search_ungrouped(&S, out) ||
                               (mgi_se_short(program) && mgi_se_search_regions(&S, out)) ||
                               mgi_se_search_edges(&S, out));
  if (st == MG_OK && !hit && !large && !edges && program->n_ops > 1) {
    mg_graph *g = NULL;
    if (!mgi_se_cuts_of(cuts, program)) st = mg_fail(e, MG_NO_MEMORY, "mg_search", "no memory for segments");
    else whole.ops = cuts->all, g = mgi_se_segment(cuts, &whole, e);
    if (S.cfg.max_kernel_ops > 1 && !S.cfg.structure) whole.most = mgi_se_whole_most(&S);
    const int is_long = g && S.cfg.max_kernel_ops > 1 && !S.cfg.structure && mgi_se_long(cuts, &S.cfg);
    S.more = is_long || (S.cfg.max_kernel_ops > 1 && cuts->n > 1);
    S.rows = rows = mgi_se_search_rows(&S, &S.rows_us, &rows_report);
    double us = rows ? S.rows_us : MG_NO_TIME;
    mg_graph *parts = mgi_se_search_parts(&S, program, &us, &report);
    if (rows && parts && mgi_se_behind(&S, parts)) mg_graph_free(parts);
    else if (parts) {
      mg_graph_free(rows);
      S.rows = rows = parts, S.rows_us = us, rows_report = report;
    }
    if (g) mgi_se_search_tilings(&S, out, &why); /* in no time */
    if (is_long) st = mgi_se_search_cuts(&S, cuts, NULL, out, e, &why), S.more = 0;
    if (g && st == MG_OK && !mgi_se_short(program) && S.cfg.max_kernel_ops > 1 && !mgi_se_over(&S))
      mgi_se_search_regions(&S, out);
    int effort = is_long ? MGI_SE_EFFORTS - 1 : 0;
    if (g && st == MG_OK && !(is_long && mgi_se_over(&S))) st = mgi_se_search_whole(&S, g, &whole, effort, e);
    else S.cut = 1, mg_graph_free(g);
    while (st == MG_OK && whole.n_open && !whole.n_spent && ++effort < MGI_SE_EFFORTS && !mgi_se_over(&S))
      st = mgi_se_search_whole(&S, NULL, &whole, effort, e);
    if (st == MG_OK && S.cfg.max_kernel_ops > 1 && cuts->n > 1 && !is_long)
      st = mgi_se_search_cuts(&S, cuts, &whole, out, e, &why);
    for (; st == MG_OK && whole.n_open && whole.effort < MGI_SE_EFFORTS && !mgi_se_over(&S);)
      st = mgi_se_search_whole(&S, NULL, &whole, whole.effort, e);
    S.cfg.structure = NULL, S.more = 0;
    if (whole.s && whole.s->eg && whole.s->stop != MG_SATURATED) S.st.egraph_stop = mg_saturation_name(whole.s->stop);
    for (int k = 0; k < whole.n && st == MG_OK; k++) {
      const mgi_se_structure *t = &whole.st[k];
      mg_graph *u = mgi_se_kernel_graph(whole.s, program, t, whole.s->real, t->count[whole.tile[k]], NULL,
                                        S.cfg.machine, e);
      if (u) mgi_se_result_add(&S, out, u, t->tile_us[whole.tile[k]], &whole.report[k]);
      else S.cut = 1;
    }
    if (st == MG_OK && S.cfg.max_kernel_ops > 1 && whole.n_split) mgi_se_search_splits(&S, &whole, out, &why);
    if (st == MG_OK && S.cfg.max_kernel_ops > 1 && cuts->n > 1 && whole.s && S.seg == whole.s)
      st = mgi_se_search_rewrites(&S, whole.s, out, e, &why);
  }
  if (st == MG_OK && rows && (!out->n || S.rows_us < out->predicted_us[0])) {
    S.st.candidates++, S.st.verified++;
    mgi_se_result_add(&S, out, rows, S.rows_us, &rows_report), rows = NULL;
  }
  mg_graph_free(rows);
  if (st == MG_OK && others && out->n) mgi_se_fold(&S, out->graph[0], out); /* by whatever way it came about */
  if (st == MG_OK && !hit) { /* the program itself, a library kernel an operator */
    mg_graph *g = NULL;
    st = mg_resize(program, NULL, NULL, &g, e);
    S.st.candidates++;
    if (g && mgi_se_emittable(&S, g, &why) != MG_OK) S.st.refused++, mg_graph_free(g);
    else if (g) {
      mg_verify_report rep;
      const int equal = mgi_se_check_whole(&S, g, &rep); /* by identity, without a test */
      if (equal) S.st.verified++, mgi_se_result_add(&S, out, g, mgi_se_us(&S, g, NULL), &rep);
      else S.st.rejected++, mg_graph_free(g),
           mg_fail(&why, MG_NOT_FOUND, "mg_search", "the program was not shown equal to itself: %.200s", rep.reason);
    }
  }
  mgi_se_found_free(&whole);
  for (int k = 0; k < S.n_had; k++) mgi_se_found_free(&S.had[k]);
  free(S.had);
  if (cuts) mgi_se_cuts_free(cuts);
  free(cuts);
  for (int k = 0; k < out->n && !hit; k++) {
    mgi_se_copies(&S, &out->graph[k]);
    mgi_names_apart(out->graph[k]);
  }
  if (S.file && S.news.n) mgi_se_kept_write(&S);
  if (S.file && fclose(S.file)) S.st.checkpoint_lost = 1;
  free(S.kept.b), free(S.news.b), free(S.record);
  if (!hit) mgi_se_over(&S), S.st.complete = !S.cut && !S.late, S.st.late = S.late, S.st.timed = S.timed;
  S.st.seconds = mgi_se_seconds() - S.t0;
  if (!hit) S.st.probe_ns = mgi_se_probe_median(S.probe_ns);
  if (!hit && S.cfg.cache && st == MG_OK && out->n && !S.late && !S.timed) mgi_se_cache_store(&S, out);
  if (st == MG_OK && out->n && S.cfg.measure) mgi_se_measure(&S, out);
  if (out->n) mg_search_stats_best(&S.st, out, 0);
  pthread_mutex_destroy(&S.lock), pthread_mutex_destroy(&S.hook);
  out->stats = S.st;
  if (S.cfg.progress) S.cfg.progress(S.cfg.user, &S.st);
  if (st == MG_OK && !out->n && S.cfg.batch_invariant && mg_library_multiplies(program) && !why.msg[0])
    mg_fail(&why, MG_NOT_FOUND, "mg_search", "a library makes products of it, and a row's bits are to depend on none");
  if (st == MG_OK && !out->n)
    st = mg_fail(e, MG_NOT_FOUND, "mg_search", "no µGraph is left%s%.200s",
                 why.msg[0] ? "; the last was refused: " : "", why.msg);
  if (st != MG_OK) { mg_search_stats keep = out->stats; mg_search_result_free(out); out->stats = keep; }
  return st;
}

void mg_search_stats_best(mg_search_stats *s, const mg_search_result *r, int k) {
  s->best_kernels = mg_kernels(r->graph[k]), s->best_block_ops = mgi_se_block_ops(r->graph[k]);
  s->predicted_us = r->predicted_us[k], s->measured_us = r->measured_us[k];
}
void mg_search_result_free(mg_search_result *r) {
  for (int k = 0; k < r->n; k++) mg_graph_free(r->graph[k]);
  free(r->graph), free(r->predicted_us), free(r->measured_us), free(r->report);
  memset(r, 0, sizeof *r);
}

/* What the hook says of g, of picks of its rest. */
MGI_FN int mgi_se_settle(const mg_graph *program, const mg_search_config *cfg, const mg_graph *g) {
  mg_rest R;
  mg_error why;
  if (!mg_has_picks(program)) return cfg->settle(cfg->settle_user, program, g);
  const int has = mg_rest_of(program, g, &R, &why) == MG_OK && R.g[0];
  const int said = has ? cfg->settle(cfg->settle_user, R.g[0], R.g[1]) : 0;
  mg_rest_free(&R);
  return said;
}
/* Where >>safety leaves it open, what the hook says; else 0. */
MGI_FN int mgi_se_unsettled(const mg_graph *program, const mg_search_config *cfg, const mg_graph *g) {
  mg_safety_report r;
  mg_error why;
  if (!cfg || !cfg->settle || cfg->unsafe || mg_safety_of(program, g, NULL, &r, &why) != MG_OK) return 0;
  return r.verdict == MG_SAFETY_OPEN ? mgi_se_settle(program, cfg, g) : 0;
}
mg_status mg_search_certify(const mg_graph *program, const mg_search_config *cfg, const mg_verify_config *v, int most,
                            mg_search_result *r, int *undecided, char why[256], mg_error *e) {
  const mg_machine *gpu = cfg && cfg->machine ? cfg->machine : mg_machine_at(0);
  const int sampled_too = cfg && cfg->allow_sampled;
  mg_verify_config c = v ? *v : mg_verify_config_default();
  mg_status st = MG_OK;
  double end = c.time_limit_s > 0 ? mgi_se_seconds() + c.time_limit_s : 0;
  /* from `late` on time leaves it open, from `settled` on they are unsafe */
  int equal = 0, n = r->n, late = n, settled = n;
  /* the program itself is a result */
  const int itself = !(cfg && cfg->batch_invariant && mg_library_multiplies(program));
  c.tier = MG_TIER_FULL;
  *undecided = 0, why[0] = 0;
  for (int k = 0; k < n && equal < most && st == MG_OK; k++) {
    const double asked = mgi_se_seconds();
    while (k < late && (end == 0 || !equal || mgi_se_seconds() < end)) {
      const int said = mgi_se_unsettled(program, cfg, r->graph[k]);
      if (!said) break;
      mgi_se_result_behind(r, k, said == 1 ? n : settled);
      settled -= said == 1, late--;
    }
    if (end > 0 && !equal) end += mgi_se_seconds() - asked; /* until there is one the limit is of the tests */
    if (k == settled && !equal && itself) { /* it takes the place of one of them */
      mg_graph *own = NULL;
      st = mg_resize(program, NULL, NULL, &own, e);
      if (st != MG_OK) break;
      mg_graph_free(r->graph[k]);
      r->graph[k] = own, r->predicted_us[k] = mg_predict_us(own, gpu), r->measured_us[k] = 0;
    }
    if (end > 0) c.time_limit_s = end - mgi_se_seconds();
    mg_verify_report *rep = &r->report[k];
    /* one that is the program needs no time */
    if (end > 0 && !(c.time_limit_s > 0) && !mg_graph_equal(program, r->graph[k])) {
      memset(rep, 0, sizeof *rep);
      rep->unfinished = 1;
      snprintf(rep->reason, sizeof rep->reason, "not certified: the time limit ended the tests of those before it");
    } else st = mg_verify(program, r->graph[k], &c, rep, e);
    if (st != MG_OK) break;
    equal += rep->verdict == MG_EQUAL;
    if (rep->verdict == MG_UNDECIDED && !(*undecided)++) snprintf(why, 256, "%s", rep->reason);
    r->stats.rejected += rep->verdict != MG_EQUAL;
    if (equal == most) /* the rest was not looked at */
      for (; n > k + 1; n--) mg_graph_free(r->graph[n - 1]);
  }
  r->n = n;
  int to = 0;
  mg_graph *sampled[2] = { NULL, NULL }; /* the first one that is; more would say no more */
  double sampled_us[2] = { 0, 0 };
  mg_verify_report sampled_report;
  memset(&sampled_report, 0, sizeof sampled_report);
  for (int k = 0; k < n; k++) {
    if (st == MG_OK && r->report[k].verdict == MG_EQUAL) {
      mgi_se_result_move(r, k, to++);
      continue;
    }
    if (st == MG_OK && sampled_too && !sampled[0] && r->report[k].verdict == MG_EQUAL_SAMPLED) {
      sampled[0] = r->graph[k], sampled_us[0] = r->predicted_us[k], sampled_us[1] = r->measured_us[k],
      sampled_report = r->report[k];
    } else mg_graph_free(r->graph[k]);
    r->graph[k] = NULL;
  }
  r->n = to;
  if (st != MG_OK) {
    mg_graph_free(sampled[0]);
    return st;
  }
  if (sampled[0]) { /* there is room: it was one of them */
    r->graph[to] = sampled[0], r->predicted_us[to] = sampled_us[0], r->measured_us[to] = sampled_us[1],
    r->report[to] = sampled_report;
    r->n = to + 1;
  }
  if (!r->n && !itself)
    return mg_fail(e, MG_NOT_FOUND, "mg_search", "nothing without a library's products is certified%s%.190s",
                   why[0] ? ": " : "", why);
  if (!r->n) {
    st = mg_resize(program, NULL, NULL, &r->graph[0], e);
    if (st == MG_OK) st = mg_verify(program, r->graph[0], &c, &r->report[0], e);
    if (st != MG_OK) return st;
    r->predicted_us[0] = mg_predict_us(r->graph[0], gpu), r->measured_us[0] = 0, r->n = 1;
  }
  mg_search_stats_best(&r->stats, r, 0);
  return MG_OK;
}

mg_status mg_superoptimize(const mg_graph *program, const mg_search_config *cfg, const mg_verify_config *v,
                           mg_graph **best, mg_verify_report *report, mg_search_stats *stats, mg_error *e) {
  mg_search_result r;
  mg_search_config c = cfg ? *cfg : mg_search_config_default();
  char why[256];
  int undecided = 0;
  *best = NULL;
  if (report) memset(report, 0, sizeof *report);
  if (c.top_k > 0 && c.top_k < MGI_SE_TOP) c.top_k = MGI_SE_TOP; /* for the one, several may be tried */
  mg_status st = mg_search(program, &c, &r, e);
  if (st == MG_OK) st = mg_search_certify(program, cfg, v, 1, &r, &undecided, why, e);
  if (stats) *stats = r.stats;
  if (st == MG_OK) {
    *best = r.graph[0];
    if (report) *report = r.report[0];
    if (r.report[0].verdict != MG_EQUAL)
      st = mg_fail(e, MG_UNSUPPORTED, "mg_superoptimize", "%.220s", r.report[0].reason);
    r.graph[0] = NULL;
  }
  mg_search_result_free(&r);
  return st;
}

/* ----------------------------------------------------------------------------------------------- >>families
   What is priced is what runs: a kernel whose rows are cut in chunks of c takes as long for n rows as for the next
   multiple of c, and one whose tile holds all rows takes as long for one as for all that it is for.  Example: X[n,
   4096] W, found at n = 16 uncut, is for n <= 16; found at 64 in four chunks of 16, it is for all n.
   Sizes lie on two axes: of a program with one symbol, on the second; the first has one place then.  A cell is a size
   of each.  Ranges are intervals of the first, cut each into intervals of the second, as mg_range_of reads them. */
enum { MGI_RANGE_POINTS = 21, MGI_RANGE_SEARCHED = 10, MGI_RANGE_LEAST = 8, MGI_RANGE_SIZES = 1280, MGI_RANGE_KEPT = 8, MGI_RANGE_FAMILIES = 3 * MGI_RANGE_POINTS * MGI_RANGE_KEPT + 1 };
enum { MGI_RANGE_SHARES = 3, MGI_RANGE_ENOUGH = 5 }; /* of the time that is left a size has one, or so many seconds */
#define MGI_RANGE_WORTH 1.5 /* times the best, by the model: what else is worth a look */
/* Chunks of a size that is no multiple of a symbol, times * n + more of symbol n, as n + 1 is. */
enum { MGI_RANGE_SHIFTS = 8, MGI_RANGE_ROUNDS = 64 }; /* of a family; until all agree on a size */
typedef struct mgi_range_shift { uint32_t symbol; int64_t times, more, chunk; } mgi_range_shift;
typedef struct mgi_range_family {
  mg_graph *graph;                   /* bound: the sizes at which it was found */
  /* n is rounded up to a multiple of it; the greatest n that it is for, 0: any */
  int64_t chunk[MG_MAX_SYMBOLS], most[MG_MAX_SYMBOLS];
  mgi_range_shift shift[MGI_RANGE_SHIFTS]; /* and to whole chunks of these */
  int shifts;
  double *us;                        /* by cell; 0: not for it */
  double *model;                     /* the same by the model, where `us` is by times */
  double factor[MGI_RANGE_POINTS];   /* a time by what the model says, at the points; 0: it was not timed, below 0: it
                                        failed */
  int own, point, like;              /* 1: the program itself; where it was found; the family that has other chunks, -1:
                                        it was found */
  mg_range made;                     /* the last range that was made of it and shown equal; graph NULL: none */
} mgi_range_family;
typedef struct mgi_range_point {
  int at[2];                         /* by axis, the size's place */
  int searched;                      /* 0: only what was found beside it is tried there, with as many chunks */
  int extra;                         /* 1: it is next to another, and between none */
  double limit;                      /* of its last search, in seconds */
  mg_search_stats stats;             /* of that */
} mgi_range_point;
typedef struct mgi_range_box { int family, lo[2], hi[2]; } mgi_range_box; /* places by axis, hi included */
typedef struct mgi_ranges {
  const mg_graph *program;
  const mg_search_config *cfg;
  const mg_machine *machine;
  int64_t least[MG_MAX_SYMBOLS];     /* the program's: a size may be none below */
  uint8_t contracted[MG_MAX_SYMBOLS];
  int contracts;                     /* any symbol is */
  int open;                          /* `wary` names the program itself */
  int whole[2];                      /* by axis: one range along it, batch_invariant */
  int n_size[2], n, points;
  int64_t *size[2];
  double *top;                       /* by cell, the best of what was not dropped */
  mgi_range_point point[MGI_RANGE_POINTS];
  mgi_range_family family[MGI_RANGE_FAMILIES];
} mgi_ranges;

MGI_FN int mgi_range_cells(const mgi_ranges *R) { return R->n_size[0] * R->n_size[1]; }
MGI_FN int mgi_range_cell(const mgi_ranges *R, const int at[2]) { return at[0] * R->n_size[1] + at[1]; }
MGI_FN int mgi_range_axis(const mgi_ranges *R, uint32_t symbol) { return (int)(symbol + 2 - R->program->n_symbols); }
/* The sizes at a place, by symbol. */
MGI_FN void mgi_range_values(const mgi_ranges *R, const int at[2], int64_t *value) {
  for (uint32_t s = 0; s < R->program->n_symbols; s++)
    value[s] = R->size[mgi_range_axis(R, s)][at[mgi_range_axis(R, s)]];
}
/* From least to most: of each power of two so many steps to the next, as far as they differ, and its neighbour, where
   one more chunk begins, and that of the most; none but the least below `from`. */
MGI_FN int mgi_range_sizes(int64_t least, int64_t most, int steps, int neighbours, int64_t from, int64_t *size) {
  int n = 0;
  size[n++] = least;
  for (int64_t p = 1; p <= most && n < MGI_RANGE_SIZES - 64; p *= 2)
    for (int j = 0; j < 2 * steps; j++) {
      const int64_t at = p + p / steps * (j / 2) + p % steps * (j / 2) / steps + (j == 1);
      if ((j % 2 && (j > 1 || !neighbours)) || at <= size[n - 1] || at < from || at >= most) continue;
      size[n++] = at;
    }
  if (neighbours && size[n - 1] < most - 1) size[n++] = most - 1;
  if (size[n - 1] < most) size[n++] = most;
  return n;
}
/* Of the sizes of an axis, places of at most `most` powers of two and numbers halfway, evenly: the least, and those
   from the least tile of a product on. */
MGI_FN int mgi_range_evenly(const int64_t *size, int n, int most, int *place) {
  int64_t all[MGI_RANGE_SIZES];
  const int many = mgi_range_sizes(size[0], size[n - 1], 2, 0, MGI_RANGE_LEAST, all), kept = many < most ? many : most;
  for (int k = 0, at = 0; k < kept; k++) {
    while (size[at] < all[kept > 1 ? k * (many - 1) / (kept - 1) : 0]) at++;
    place[k] = at;
  }
  return kept;
}
/* The points: those that are searched, of two symbols every place of one with every one of the other; and of one
   symbol, between two that are searched, where a chunk may be uneven, one more; and one more that is searched, the size
   before the most: with fewer divisors than that it has fewer tiles, and other kernels are among the best few.
   Example: attention of 16 heads over 2048 keys, 11 % quicker by the model as it is found for 127 rows than as found
   for 128. */
MGI_FN void mgi_range_points(mgi_ranges *R) {
  const int two = R->program->n_symbols == 2;
  int place[2][MGI_RANGE_SEARCHED], n[2], side = MGI_RANGE_SEARCHED;
  if (two) side = 4;
  for (int a = 0; a < 2; a++) n[a] = mgi_range_evenly(R->size[a], R->n_size[a], side, place[a]);
  for (int i = 0; i < n[0]; i++)
    for (int j = 0; j < n[1]; j++) {
      const int to = place[1][j], from = two || !j || R->size[1][to] < 4 * MGI_RANGE_LEAST ? to : place[1][j - 1];
      const int step[3] = {(from + to) / 2, to - 1, to}; /* the second of the greatest alone */
      for (int k = to - from < 2 ? 2 : 0; k < 3; k++) {
        if (k == 1 && (j < n[1] - 1 || to - from < 3)) continue;
        mgi_range_point *q = &R->point[R->points++];
        q->at[0] = place[0][i], q->at[1] = step[k], q->searched = k, q->extra = k == 1;
      }
    }
}
/* How often symbol v is in computed size k, all others being 1; 0: k is no multiple of v, as n + 1 is none of n. */
MGI_FN int64_t mgi_range_times(const mg_graph *program, uint32_t k, uint32_t v) {
  int64_t times = 0, one[MG_MAX_SYMBOLS], more[MG_MAX_SYMBOLS];
  if (!mg_symbol_within(program, k, v)) return 0;
  for (int most = 1; most >= 0; most--) {
    for (uint32_t u = 0; u < program->n_symbols; u++) one[u] = more[u] = most ? program->symbol[u].most : 1;
    one[v] = 1;
    const int64_t of = more[v] = program->symbol[v].most + 1;
    if (mg_symbol_values(program, one, one, NULL) != MG_OK) return 0;
    if (mg_symbol_values(program, more, more, NULL) != MG_OK) return 0;
    times = one[k];
    if (more[k] % of || more[k] / of != times) return 0;
  }
  return times;
}
/* 1 if computed size k is times * n + more of symbol v, n, and of no other, at all n that are tried. */
MGI_FN int mgi_range_shifted(const mg_graph *program, uint32_t k, uint32_t v, mgi_range_shift *to) {
  int64_t n[MG_MAX_SYMBOLS], all[MG_MAX_SYMBOLS], at[2] = {0, 0};
  const int64_t tried[] = {1, 2, 3, 4, 5, 7, 64, program->symbol[v].most};
  for (uint32_t u = 0; u < program->n_symbols; u++) {
    n[u] = 1;
    if (u != v && mg_symbol_within(program, k, u)) return 0;
  }
  to->symbol = v;
  for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
    n[v] = tried[i];
    if (mg_symbol_values(program, n, all, NULL) != MG_OK) return 0;
    if (i < 2) at[i] = all[k], to->times = at[1] - at[0], to->more = at[0] - to->times;
    else if (all[k] != to->times * n[v] + to->more) return 0;
  }
  return to->times > 0;
}
/* The least n from `from` on of which the size is whole chunks, or so few less that as many chunks of it are no
   smaller (mg_within). */
MGI_FN int64_t mgi_range_shift_up(const mgi_range_shift *s, int64_t from) {
  for (int64_t count = mg_ceil_div(s->times * from + s->more, s->chunk);; count++) {
    const int64_t n = (s->chunk * count - s->more) / s->times, rest = s->chunk * count - s->more - s->times * n;
    if (n >= from && rest < count) return n;
  }
}
/* How many of symbol v make whole chunks of size k, which is computed of it: the first symbol that k is a multiple of
   has to.  0: it is one of none. */
MGI_FN int64_t mgi_range_chunk(const mg_graph *program, uint32_t k, uint32_t v, int64_t chunk) {
  uint32_t first = 0, symbols = 0;
  if (k < program->n_symbols || chunk == 1) return chunk;
  while (first < program->n_symbols && !mgi_range_times(program, k, first)) first++;
  if (first == program->n_symbols) return 0;
  for (uint32_t u = 0; u < program->n_symbols; u++) symbols += mg_symbol_within(program, k, u) != 0;
  if (symbols > 1) return first == v ? chunk : 1;
  return chunk / mg_gcd(chunk, mgi_range_times(program, k, v));
}
/* 1 if size is, 1 + its number, is symbol v or computed of it. */
MGI_FN int mgi_range_runs(const mg_graph *program, uint32_t is, uint32_t v) {
  return is == v + 1 || (is > program->n_symbols && mg_symbol_within(program, is - 1, v));
}
/* 1 if the family has a member with fewer rows than its greatest: of whole chunks there may be one where of others
   there is none. */
MGI_FN int mgi_range_ragged(const mg_graph *family) {
  int64_t less[MG_MAX_SYMBOLS];
  mg_graph *member;
  mg_error ignored;
  for (uint32_t v = 0; v < family->n_symbols; v++)
    less[v] = family->symbol[v].most - (family->symbol[v].most > family->symbol[v].least);
  const mg_status s = mg_at(family, less, &member, &ignored);
  mg_graph_free(member);
  return s == MG_OK;
}
/* Adds chunks of size k, of symbol v; 0: it is no such size, or there are too many. */
MGI_FN int mgi_range_shift_add(const mg_graph *program, uint32_t k, uint32_t v, int64_t chunk, mgi_range_family *f) {
  mgi_range_shift s;
  memset(&s, 0, sizeof s);
  if (!mgi_range_shifted(program, k, v, &s)) return 0;
  s.chunk = chunk;
  for (int j = 0; j < f->shifts; j++)
    if (!memcmp(&f->shift[j], &s, sizeof s)) return 1;
  if (f->shifts == MGI_RANGE_SHIFTS) return 0;
  f->shift[f->shifts++] = s;
  return 1;
}
/* The family that g, found at these sizes, belongs to.  Its chunks and the sizes that it is for; 0: it is none, or too
   many chunks differ. */
MGI_FN int mgi_range_family_of(const mg_graph *program, const mg_graph *g, const int64_t *n, mgi_range_family *f) {
  mg_error e;
  mg_graph *flat = NULL;
  uint8_t *of = NULL;
  memset(f, 0, sizeof *f);
  if (mg_has_threads(g) && mg_inline_threads(g, &flat, &e) != MG_OK) return 0;
  mg_status s = mg_family_of(flat ? flat : g, program, &f->graph, &e);
  if (s == MG_OK) s = mg_symbols_of(f->graph, &of, &e);
  mg_graph_free(flat);
  int good = s == MG_OK;
  for (uint32_t v = 0; v < program->n_symbols && good; v++) {
    f->chunk[v] = 1;
    for (uint32_t k = 1; k < f->graph->n_ops; k++) {
      const mg_op_node *o = &f->graph->ops[k];
      const mg_graph *b = o->sub;
      int64_t chunk = 0;
      int has = 0, shifted = 0;
      for (uint32_t a = 1; b && a < b->n_axes; a++)
        if (mgi_range_runs(program, b->axes[a].symbol, v)) {
          const uint32_t is = b->axes[a].symbol - 1u;
          const int64_t rows = mg_ceil_div(f->graph->symbol[is].most, b->axes[a].extent);
          const int64_t one = mgi_range_chunk(program, is, v, rows);
          if (!one) good &= mgi_range_shift_add(program, is, v, rows, f), shifted = 1;
          if (one) chunk = chunk ? chunk / mg_gcd(chunk, one) * one : one;
        }
      for (uint32_t t = 0; t < (uint32_t)(o->n_in + o->n_out); t++)
        for (int d = 0; d < MG_MAX_RANK; d++) {
          const uint8_t is = of[(t < o->n_in ? o->in[t] : o->out[t - o->n_in]).id * MG_MAX_RANK + (uint32_t)d];
          has |= mgi_range_runs(program, is, v);
        }
      if (b && !chunk && !shifted && has && n[v] > 1) f->most[v] = n[v]; /* its tile has them all */
      if (chunk) f->chunk[v] = f->chunk[v] / mg_gcd(f->chunk[v], chunk) * chunk;
    }
    if (n[v] == 1) f->most[v] = 1;
    good &= f->chunk[v] <= 4096;
  }
  free(of);
  return good && mgi_range_ragged(f->graph);
}
/* What it runs as at most[]: rounded up to its chunks.  0: it is not for that, or no size that is near is whole chunks
   of all. */
MGI_FN int mgi_range_rounded(const mgi_range_family *f, uint32_t symbols, const int64_t *most, int64_t *to) {
  for (uint32_t v = 0; v < symbols; v++) {
    if (f->most[v] && most[v] > f->most[v]) return 0;
    to[v] = f->most[v] ? f->most[v] : most[v];
    int64_t was = 0;
    for (int round = 0; was != to[v]; round++) {
      if (round == MGI_RANGE_ROUNDS) return 0;
      was = to[v];
      for (int j = 0; j < f->shifts; j++)
        if (f->shift[j].symbol == v) to[v] = mgi_range_shift_up(&f->shift[j], to[v]);
      to[v] = mg_round_up(to[v], f->chunk[v]);
    }
  }
  return 1;
}
/* f from least[] to most[], in whole chunks; NULL: it is not for these. */
MGI_FN mg_graph *mgi_range_within(const mgi_range_family *f, const int64_t *least, const int64_t *most) {
  mg_graph *g = NULL;
  mg_error e;
  int64_t to[MG_MAX_SYMBOLS];
  if (!mgi_range_rounded(f, f->graph->n_symbols, most, to) || mg_within(f->graph, least, to, &g, &e) != MG_OK)
    return NULL;
  for (uint32_t v = 0; v < g->n_symbols; v++) mg_symbol_last(g, v + 1, most[v]);
  if (mg_check(g, &e) == MG_OK) return g;
  mg_graph_free(g);
  return NULL;
}
/* By cell; one that rounds up to what the cell before it does on either axis has that one's price.  0: there is no
   memory. */
MGI_FN int mgi_range_price(const mgi_ranges *R, mgi_range_family *f) {
  const int n = mgi_range_cells(R);
  const uint32_t symbols = R->program->n_symbols;
  int64_t value[MG_MAX_SYMBOLS], to[MG_MAX_SYMBOLS], other[MG_MAX_SYMBOLS];
  f->us = (double *)calloc((size_t)n * 2, sizeof *f->us);
  if (!f->us) return 0;
  f->model = f->us + n;
  for (int k = 0; k < n; k++) {
    const int at[2] = {k / R->n_size[1], k % R->n_size[1]};
    int same = 0;
    mgi_range_values(R, at, value);
    if (!mgi_range_rounded(f, symbols, value, to)) continue;
    for (int a = 0; a < 2 && !same; a++) {
      const int before[2] = {at[0] - (a == 0), at[1] - (a == 1)};
      if (before[a] < 0) continue;
      mgi_range_values(R, before, value);
      same = mgi_range_rounded(f, symbols, value, other) && !memcmp(to, other, symbols * sizeof *to);
      if (same) f->us[k] = f->us[mgi_range_cell(R, before)];
    }
    if (same) continue;
    mg_graph *g = NULL;
    mg_error why;
    const double us = mg_within(f->graph, R->least, to, &g, &why) == MG_OK ? mg_predict_us(g, R->machine) : MG_NO_TIME;
    const int asked = g && f->own && R->cfg->emittable; /* at some sizes its grids may be too large */
    const int refused = asked && R->cfg->emittable(R->cfg->user, g, &why) != MG_OK;
    f->us[k] = us < MG_NO_TIME && !refused ? us : 0;
    mg_graph_free(g);
  }
  return 1;
}
MGI_FN void mgi_range_drop(mgi_range_family *f) {
  mg_graph_free(f->graph);
  mg_graph_free(f->made.graph);
  free(f->us);
}
/* Adds f, which is given up, unless it is there. */
MGI_FN mg_status mgi_range_add(mgi_ranges *R, mgi_range_family *f, mg_error *e) {
  int there = R->n == MGI_RANGE_FAMILIES;
  for (int k = 0; k < R->n && !there; k++) there = mg_graph_equal(R->family[k].graph, f->graph);
  if (there || !mgi_range_price(R, f)) mgi_range_drop(f);
  else R->family[R->n++] = *f;
  return there || f->us ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_search_family", "no memory for the prices");
}
/* 1 unless g, for `program`, both at one size, is not as safe as written: by bounds, whose verdict is *said, and where
   these leave it open by the hook; said NULL: without it. */
MGI_FN int mgi_range_safe(const mg_graph *program, const mg_search_config *cfg, const mg_graph *g, int *said) {
  mg_safety_report r;
  mg_error e;
  if (mg_safety_of(program, g, NULL, &r, &e) != MG_OK) r.verdict = MG_SAFETY_OPEN;
  if (said) *said = r.verdict;
  if (cfg->unsafe || r.verdict != MG_SAFETY_OPEN) return cfg->unsafe || r.verdict == MG_SAFE;
  return !(said && cfg->settle && mgi_se_settle(program, cfg, g) == 1);
}
/* ---- hooks of a search at sizes of what is contracted.  A µGraph of one size may be emitted where its family is not:
   blocks that are merged are a number.  So the search asks for the family, and goes on to what has one. */
/* at: the program at n */
typedef struct mgi_range_hooks { const mgi_ranges *R; const mg_graph *at; const int64_t *n; } mgi_range_hooks;
MGI_FN mg_status mgi_range_emittable(void *user, const mg_graph *g, mg_error *why) {
  const mgi_range_hooks *H = (const mgi_range_hooks *)user;
  const mg_search_config *c = H->R->cfg;
  mgi_range_family f;
  mg_error other;
  mg_status s = c->emittable(c->user, g, why);
  /* a part of the program is no family of it */
  if (s != MG_OK || mg_verify_signature(H->at, g, &other) != MG_OK) return s;
  if (mgi_range_family_of(H->R->program, g, H->n, &f)) s = c->emittable(c->user, f.graph, why);
  else s = mg_fail(why, MG_UNSUPPORTED, "sym", "it is of one size");
  mg_graph_free(f.graph);
  return s;
}
MGI_FN void mgi_range_progress(void *user, const mg_search_stats *st) {
  const mg_search_config *c = ((const mgi_range_hooks *)user)->R->cfg;
  c->progress(c->user, st);
}
MGI_FN int mgi_range_wary(void *user, const mg_graph *g) {
  const mg_search_config *c = ((const mgi_range_hooks *)user)->R->cfg;
  return c->wary(c->user, g);
}
/* 1 if `wary` names g, a family, and, without `sure`, not the program itself: nothing ranks behind what a range
   runs. */
MGI_FN int mgi_range_open(const mgi_ranges *R, const mg_graph *g, int sure) {
  const mg_search_config *c = R->cfg;
  return c->wary && (sure || !(c->unsafe || R->open)) && c->wary(c->user, g);
}
/* Adds the family of g, found at point `point`, which has sizes n, or made there of family `like`; *took is 0 where g
   has none, has the chunks of `like`, or is open; or, with `sure`, `wary` names it. */
MGI_FN mg_status mgi_range_take(mgi_ranges *R, const mg_graph *g, const int64_t *n, int point, int sure, int like,
                                int *took, mg_error *e) {
  mgi_range_family f;
  *took = mgi_range_family_of(R->program, g, n, &f) && !mgi_range_open(R, f.graph, sure);
  if (*took && like >= 0)
    *took = f.most[0] || f.most[1] || memcmp(f.chunk, R->family[like].chunk, sizeof f.chunk) ||
            memcmp(f.shift, R->family[like].shift, sizeof f.shift);
  f.point = point, f.like = like;
  if (*took) return mgi_range_add(R, &f, e);
  mg_graph_free(f.graph);
  return MG_OK;
}
/* Searches at a point, and adds what is found: of what `wary` names nothing where there is other. */
MGI_FN mg_status mgi_range_search(mgi_ranges *R, int point, double seconds, mg_family_result *out, mg_error *e) {
  const int again = R->point[point].limit > 0;
  mg_search_config c = *R->cfg;
  mg_search_result r;
  mg_graph *p = NULL;
  int64_t n[MG_MAX_SYMBOLS];
  memset(&r, 0, sizeof r);
  c.measure = NULL, c.structure = NULL, c.checkpoint = NULL;
  c.time_limit_s = seconds;
  mgi_range_values(R, R->point[point].at, n);
  mg_status s = mg_at(R->program, n, &p, e);
  const mgi_range_hooks H = {R, p, n};
  if (R->contracts && c.emittable) {
    c.user = (void *)(uintptr_t)&H, c.emittable = mgi_range_emittable;
    if (c.progress) c.progress = mgi_range_progress;
    if (c.wary) c.wary = mgi_range_wary;
  }
  if (s == MG_OK) s = mg_search(p, &c, &r, e);
  for (int k = 0, kept = 0; s == MG_OK && k < r.n && kept < MGI_RANGE_KEPT; k++) {
    int took;
    if (mg_is_program(r.graph[k]) || !mgi_range_safe(p, R->cfg, r.graph[k], NULL)) continue;
    s = mgi_range_take(R, r.graph[k], n, point, kept > 0, -1, &took, e);
    kept += took;
  }
  R->point[point].stats = r.stats, R->point[point].limit = seconds;
  out->searches += !again;
  mg_search_result_free(&r);
  mg_graph_free(p);
  return s == MG_NOT_FOUND ? MG_OK : s;
}
/* 1 if p was searched, and is next to q: on a line along an axis, with no other between them that was. */
MGI_FN int mgi_range_beside(const mgi_ranges *R, int p, int q) {
  const int *from = R->point[p].at, *to = R->point[q].at, a = from[0] == to[0];
  int beside = p != q && R->point[p].searched && from[!a] == to[!a];
  for (int k = 0; k < R->points && beside; k++) {
    const int *at = R->point[k].at;
    const int between = at[!a] == to[!a] && (at[a] - from[a] > 0) == (to[a] - at[a] > 0) && at[a] != from[a] &&
                        at[a] != to[a];
    beside = !(between && R->point[k].searched && !R->point[k].extra);
  }
  return beside;
}
/* The member of f at from[], with as many chunks of n[]: even ones; NULL: there is none. */
MGI_FN mg_graph *mgi_range_resized(const mgi_range_family *f, const int64_t *from, const int64_t *n) {
  mg_graph *g = NULL, *out = NULL;
  mg_classes C;
  mg_error e;
  uint8_t *of = NULL;
  int64_t all[MG_MAX_SYMBOLS];
  memset(&C, 0, sizeof C);
  if (mg_at(f->graph, from, &g, &e) == MG_OK && mg_symbols_of(f->graph, &of, &e) == MG_OK &&
      mg_classes_of(g, &C, &e) == MG_OK && mg_symbol_values(f->graph, n, all, &e) == MG_OK) {
    for (uint32_t k = 0; k < g->n_in; k++)
      for (int d = 0; d < MG_MAX_RANK; d++) {
        const uint8_t is = of[f->graph->in[k].id * MG_MAX_RANK + (uint32_t)d];
        const int32_t c = C.of[g->in[k].id * MG_MAX_RANK + (uint32_t)d];
        if (is && c >= 0) C.extent[c] = all[is - 1];
      }
    if (mg_resize(g, C.extent, NULL, &out, &e) != MG_OK) out = NULL;
  }
  mg_classes_free(&C), free(of), mg_graph_free(g);
  return out;
}
/* Adds what was found beside the point with as many chunks, even ones of these sizes: 100 rows in two are cut at 50,
   not at 64. */
MGI_FN mg_status mgi_range_vary(mgi_ranges *R, int point, mg_error *e) {
  const int cell = mgi_range_cell(R, R->point[point].at), found = R->n;
  mg_status s = MG_OK;
  int64_t n[MG_MAX_SYMBOLS], from[MG_MAX_SYMBOLS];
  double top = 0;
  mgi_range_values(R, R->point[point].at, n);
  for (int k = 0; k < found; k++)
    if (R->family[k].us[cell] > 0 && (top == 0 || R->family[k].us[cell] < top)) top = R->family[k].us[cell];
  for (int k = 0; k < found && s == MG_OK; k++) {
    const mgi_range_family *of = &R->family[k];
    if (of->own || of->like >= 0 || !mgi_range_beside(R, of->point, point)) continue;
    mgi_range_values(R, R->point[of->point].at, from);
    mg_graph *g = mgi_range_resized(of, from, n);
    int took;
    if (g && mg_predict_us(g, R->machine) < MGI_RANGE_WORTH * top) s = mgi_range_take(R, g, n, point, 1, k, &took, e);
    mg_graph_free(g);
  }
  return s;
}
/* ---- times.  At each point what was found there is timed, as a search for that size alone would; then, of all others,
   the best few: as members whose n is a multiple of their chunks, those that have the same one by one call of the hook,
   as that compares them with one program.  A member is timed once, wherever else it would run.  Calls are two lots,
   each handed over at once. */
enum { MGI_RANGE_OTHERS = 4, MGI_RANGE_TIMED = MGI_RANGE_KEPT + MGI_RANGE_OTHERS + MGI_RANGE_POINTS };
#define MGI_RANGE_NEAR 1.3
/* 1 if point q is nowhere less than `at`. */
MGI_FN int mgi_range_behind(const mgi_ranges *R, int q, const int at[2]) {
  return R->point[q].at[0] >= at[0] && R->point[q].at[1] >= at[1];
}
/* What f takes at point q by its time at the least point from there on that has one, or by that of the one that it has
   other chunks of, or by the model. */
MGI_FN double mgi_range_known(const mgi_ranges *R, const mgi_range_family *f, int q) {
  const int cell = mgi_range_cell(R, R->point[q].at);
  for (int later = q; later < R->points; later++)
    if (f->factor[later] != 0 && mgi_range_behind(R, later, R->point[q].at)) return f->us[cell] * f->factor[later];
  const mgi_range_family *like = f->like < 0 ? f : &R->family[f->like];
  const double factor = like->point < 0 ? 0 : like->factor[like->point];
  return f->us[cell] * (factor > 0 ? factor : 1);
}
/* The families to time at point q: those found there; or else, of those near the best, the best few that have no end,
   and the best of each other length; how many. */
MGI_FN int mgi_range_near(const mgi_ranges *R, int q, int found, int which[MGI_RANGE_TIMED]) {
  const int few = R->cfg->measure_few, kept = few && few < MGI_RANGE_KEPT ? few : MGI_RANGE_KEPT;
  const int others = few && few < MGI_RANGE_OTHERS ? few : MGI_RANGE_OTHERS;
  int n = 0;
  double top = 0;
  for (int f = 0; f < R->n; f++) {
    const mgi_range_family *x = &R->family[f];
    const double us = mgi_range_known(R, x, q);
    if (us > 0 && (top == 0 || us < top)) top = us;
    if (found && us > 0 && !x->own && x->like < 0 && x->point == q && n < kept) which[n++] = f;
  }
  while (!found && n < MGI_RANGE_TIMED) {
    int next = -1;
    double least = MGI_RANGE_NEAR * top;
    for (int f = 0; f < R->n; f++) {
      const mgi_range_family *x = &R->family[f];
      const double us = mgi_range_known(R, x, q);
      int alike = 0, had = x->factor[q] != 0, ends = 0;
      for (int v = 0; v < MG_MAX_SYMBOLS; v++) ends |= x->most[v] > 0;
      for (int j = 0; j < n; j++)
        alike += !memcmp(R->family[which[j]].most, x->most, sizeof x->most), had |= which[j] == f;
      if (!had && alike < (ends ? 1 : others) && us > 0 && us < least) next = f, least = us;
    }
    if (next < 0) break;
    which[n++] = next;
  }
  return n;
}
/* One call of the hook: members of families `of`, all at sizes `at`, which is what they run as at point q. */
typedef struct mgi_range_call {
  int q, n, of[MGI_RANGE_TIMED];
  int64_t at[MG_MAX_SYMBOLS];
  mg_graph *program, *g[MGI_RANGE_TIMED];
  double us[MGI_RANGE_TIMED];
} mgi_range_call;
/* Family f's factor at point q is that of the same member elsewhere.  0: none has been timed. */
MGI_FN int mgi_range_timed_there(mgi_ranges *R, int f, int q, const int64_t *to) {
  mgi_range_family *x = &R->family[f];
  const uint32_t symbols = R->program->n_symbols;
  int64_t other[MG_MAX_SYMBOLS], same[MG_MAX_SYMBOLS];
  for (int k = 0; k < R->points && x->factor[q] == 0; k++) {
    mgi_range_values(R, R->point[k].at, other);
    if (x->factor[k] != 0 && mgi_range_rounded(x, symbols, other, same) && !memcmp(to, same, symbols * sizeof *to))
      x->factor[q] = x->factor[k];
  }
  return x->factor[q] != 0;
}
/* The member of family f that point q asks for joins a call of its point and sizes, a new one maybe, unless it has a
   time or is in one. */
MGI_FN mg_status mgi_range_ask(mgi_ranges *R, int f, int q, mgi_range_call *call, int *calls, mg_error *e) {
  const mgi_range_family *x = &R->family[f];
  const uint32_t symbols = R->program->n_symbols;
  int64_t value[MG_MAX_SYMBOLS], to[MG_MAX_SYMBOLS];
  mg_graph *all;
  mg_error why;
  int k = 0;
  mgi_range_values(R, R->point[q].at, value);
  if (!mgi_range_rounded(x, symbols, value, to) || mgi_range_timed_there(R, f, q, to)) return MG_OK;
  for (int c = 0; c < *calls; c++)
    for (int j = 0; j < call[c].n; j++)
      if (call[c].of[j] == f && !memcmp(call[c].at, to, symbols * sizeof *to)) return MG_OK;
  while (k < *calls && (call[k].q != q || call[k].n == MGI_RANGE_TIMED || memcmp(call[k].at, to, symbols * sizeof *to)))
    k++;
  if (mg_within(x->graph, R->least, to, &all, &why) != MG_OK) return MG_OK;
  mg_status s = mg_at(all, to, &call[k].g[call[k].n], e);
  mg_graph_free(all);
  if (s != MG_OK) return s;
  call[k].of[call[k].n++] = f;
  if (k < *calls) return s;
  call[k].q = q, memcpy(call[k].at, to, sizeof to), ++*calls;
  s = mg_within(R->program, R->least, to, &all, e);
  if (s == MG_OK) s = mg_at(all, to, &call[k].program, e);
  mg_graph_free(all);
  return s;
}
/* Times what is found at each point, or else the best few of all: which[] of each. */
MGI_FN mg_status mgi_range_time_all(mgi_ranges *R, int found, mg_error *e) {
  enum { MOST = 2 * MGI_RANGE_POINTS * MGI_RANGE_TIMED };
  mgi_range_call *call = (mgi_range_call *)calloc(MOST, sizeof *call);
  mg_measure_job *job = (mg_measure_job *)calloc(MOST, sizeof *job);
  int which[MGI_RANGE_TIMED], calls = 0;
  mg_status s = call && job ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_search_family", "no memory for the times");
  for (int q = R->points - 1; q >= 0; q--) {
    const int n = mgi_range_near(R, q, found, which);
    for (int j = 0; j < n && s == MG_OK; j++) s = mgi_range_ask(R, which[j], q, call, &calls, e);
  }
  for (int k = 0; k < calls; k++)
    job[k].program = call[k].program, job[k].g = (const mg_graph *const *)call[k].g, job[k].n = call[k].n,
    job[k].us = call[k].us;
  if (R->cfg->measure_all && calls && s == MG_OK) s = R->cfg->measure_all(R->cfg->measure_user, job, calls, e);
  for (int k = 0; k < calls; k++) {
    if (!R->cfg->measure_all && s == MG_OK)
      s = R->cfg->measure(R->cfg->measure_user, job[k].program, job[k].g, job[k].n, job[k].us, e);
    for (int j = 0; j < call[k].n && s == MG_OK; j++) {
      mgi_range_family *x = &R->family[call[k].of[j]];
      x->factor[call[k].q] = call[k].us[j] > 0 ? call[k].us[j] / x->us[mgi_range_cell(R, R->point[call[k].q].at)] : -1;
    }
    while (call[k].n > 0) mg_graph_free(call[k].g[--call[k].n]);
    mg_graph_free(call[k].program);
  }
  for (int f = 0; f < R->n && s == MG_OK; f++) /* one that was asked for at another point */
    for (int q = 0; q < R->points; q++) {
      int64_t value[MG_MAX_SYMBOLS], to[MG_MAX_SYMBOLS];
      mgi_range_values(R, R->point[q].at, value);
      if (mgi_range_rounded(&R->family[f], R->program->n_symbols, value, to)) mgi_range_timed_there(R, f, q, to);
    }
  free(call), free(job);
  return s;
}
/* Prices by times, of what was found and then of others: at each size as at the next point from there on.  What was not
   timed is no choice where something was. */
MGI_FN mg_status mgi_range_time(mgi_ranges *R, mg_error *e) {
  const int cells = mgi_range_cells(R);
  for (int found = 1; found >= 0; found--) {
    const mg_status s = mgi_range_time_all(R, found, e);
    if (s != MG_OK) return s;
  }
  for (int f = 0; f < R->n; f++) memcpy(R->family[f].model, R->family[f].us, (size_t)cells * sizeof *R->family[f].us);
  for (int k = 0; k < cells; k++) {
    const int at[2] = {k / R->n_size[1], k % R->n_size[1]};
    int any = 0, q = 0;
    while (!mgi_range_behind(R, q, at)) q++; /* the last has the most of all */
    for (int f = 0; f < R->n; f++) any |= R->family[f].us[k] > 0 && R->family[f].factor[q] > 0;
    for (int f = 0; f < R->n && any; f++) R->family[f].us[k] *= R->family[f].factor[q];
  }
  return MG_OK;
}
/* ---- choice.  The best at each cell of families that are not `out`. */
MGI_FN void mgi_range_tops(mgi_ranges *R, const uint8_t *out) {
  for (int k = 0; k < mgi_range_cells(R); k++) {
    R->top[k] = 0;
    for (int f = 0; f < R->n; f++)
      if (!out[f] && R->family[f].us[k] > 0 && (R->top[k] == 0 || R->family[f].us[k] < R->top[k]))
        R->top[k] = R->family[f].us[k];
  }
}
/* From lo[1] on, over all of lo[0]..hi[0], the family that goes furthest within `loss` of the best, the least in sum
   where several do. */
MGI_FN void mgi_range_next(const mgi_ranges *R, const uint8_t *out, double loss, mgi_range_box *b) {
  double least = 0;
  b->family = -1, b->hi[1] = b->lo[1] - 1;
  for (int f = 0; f < R->n; f++) {
    const double *us = R->family[f].us;
    double sum = 0;
    int at[2] = {b->lo[0], b->lo[1]}, good = !out[f];
    for (; at[1] < R->n_size[1]; at[1]++) {
      double here = 0;
      for (at[0] = b->lo[0]; at[0] <= b->hi[0] && good; at[0]++) {
        const int k = mgi_range_cell(R, at);
        good = us[k] > 0 && us[k] <= (1 + loss) * R->top[k];
        if (good) here += us[k] / R->top[k];
      }
      if (!good) break;
      sum += here;
    }
    const int to = at[1] - 1;
    if (to < b->lo[1] || to < b->hi[1] || (to == b->hi[1] && sum >= least)) continue;
    b->hi[1] = to, b->family = f, least = sum;
  }
}
/* Ranges for lo .. hi of the first axis; how many, more than MG_MAX_RANGES: too many. */
MGI_FN int mgi_range_slice(const mgi_ranges *R, const uint8_t *out, double loss, int lo, int hi,
                           mgi_range_box box[MG_MAX_RANGES]) {
  int n = 0;
  for (int from = 0; from < R->n_size[1]; n++) {
    if (n == MG_MAX_RANGES) return n + 1;
    box[n].lo[0] = lo, box[n].hi[0] = hi, box[n].lo[1] = from;
    mgi_range_next(R, out, loss, &box[n]);
    from = box[n].hi[1] + 1;
    if (box[n].family < 0 || (R->whole[1] && from < R->n_size[1])) return MG_MAX_RANGES + 1;
  }
  return n;
}
/* The fewest ranges, with families that are not `out`: how many; more than MG_MAX_RANGES: too many. */
MGI_FN int mgi_range_choose(const mgi_ranges *R, const uint8_t *out, double loss, mgi_range_box box[MG_MAX_RANGES]) {
  mgi_range_box ignored[MG_MAX_RANGES];
  /* of what is below a place: ranges, and where its last slice begins */
  int few[MGI_RANGE_SIZES + 1], begin[MGI_RANGE_SIZES + 1];
  few[0] = 0;
  for (int hi = 1; hi <= R->n_size[0]; hi++) {
    few[hi] = MG_MAX_RANGES + 1, begin[hi] = 0;
    if (R->whole[0] && hi < R->n_size[0]) continue;
    for (int lo = 0; lo < (R->whole[0] ? 1 : hi); lo++) {
      const int n = few[lo] + (few[lo] < few[hi] ? mgi_range_slice(R, out, loss, lo, hi - 1, ignored) : 1);
      if (n < few[hi]) few[hi] = n, begin[hi] = lo;
    }
  }
  const int n = few[R->n_size[0]];
  for (int hi = R->n_size[0]; hi > 0 && n <= MG_MAX_RANGES; hi = begin[hi])
    mgi_range_slice(R, out, loss, begin[hi], hi - 1, ignored),
        memcpy(box + few[begin[hi]], ignored, (size_t)(few[hi] - few[begin[hi]]) * sizeof *box);
  return n;
}
MGI_FN double mgi_range_loss(const mgi_ranges *R, const mgi_range_box *b) {
  double loss = 0;
  int at[2];
  for (at[0] = b->lo[0]; at[0] <= b->hi[0]; at[0]++)
    for (at[1] = b->lo[1]; at[1] <= b->hi[1]; at[1]++) {
      const int k = mgi_range_cell(R, at);
      const double lost = R->family[b->family].us[k] / R->top[k] - 1;
      if (lost > loss) loss = lost;
    }
  return loss;
}
/* What MG_FEW_RANGES of them would lose, if `loss` takes more. */
MGI_FN double mgi_range_few_lose(const mgi_ranges *R, const uint8_t *out, double loss) {
  mgi_range_box box[MG_MAX_RANGES];
  int n = MG_FEW_RANGES + 1;
  double most = 0;
  while (n > MG_FEW_RANGES && loss < 100) loss *= 1.02, n = mgi_range_choose(R, out, loss, box);
  for (int k = 0; k < n && n <= MG_FEW_RANGES; k++) {
    const double lost = mgi_range_loss(R, &box[k]);
    if (lost > most) most = lost;
  }
  return n > MG_FEW_RANGES ? loss : most;
}
/* The bounds of a range, and what is said of its ends. */
MGI_FN void mgi_range_begin(const mgi_ranges *R, const mgi_range_box *b, int timed, mg_range *r) {
  const mgi_range_family *f = &R->family[b->family];
  memset(r, 0, sizeof *r);
  for (uint32_t v = 0; v < R->program->n_symbols; v++) {
    const int a = mgi_range_axis(R, v);
    r->least[v] = b->lo[a] ? R->size[a][b->lo[a] - 1] + 1 : R->program->symbol[v].least,
    r->most[v] = R->size[a][b->hi[a]];
  }
  for (int j = 0; j < 2; j++) {
    const int *at = j ? b->hi : b->lo, k = mgi_range_cell(R, at);
    mgi_range_values(R, at, r->sizes[j]);
    r->predicted_us[j] = timed ? f->model[k] : f->us[k];
    r->timed_us[j] = timed && f->us[k] != f->model[k] ? f->us[k] : 0;
  }
}
/* Makes range r of family f, emittable and shown equal, or *shown is 0.  What is shown once with these bounds is
   shown. */
MGI_FN mg_status mgi_range_make(mgi_ranges *R, int f, const mg_verify_config *v, mg_range *r, int *shown, mg_error *e) {
  mg_graph *p = NULL;
  mg_range *made = &R->family[f].made;
  *shown = made->graph && !memcmp(made->least, r->least, sizeof r->least) &&
           !memcmp(made->most, r->most, sizeof r->most);
  if (*shown) {
    r->graph = made->graph, r->report = made->report, r->safety = made->safety, made->graph = NULL;
    memcpy(r->safe_at, made->safe_at, sizeof r->safe_at);
    return MG_OK;
  }
  r->graph = mgi_range_within(&R->family[f], r->least, r->most);
  if (!r->graph) return MG_OK;
  mg_error why;
  if (R->cfg->emittable && R->cfg->emittable(R->cfg->user, r->graph, &why) != MG_OK) {
    snprintf(r->report.reason, sizeof r->report.reason, "%.250s", why.msg);
    mg_graph_free(r->graph);
    r->graph = NULL;
    return MG_OK;
  }
  mg_status s = mg_within_of(R->program, r->graph, &p, e);
  if (s == MG_OK) s = mg_verify(p, r->graph, v, &r->report, e);
  *shown = s == MG_OK && r->report.verdict == MG_EQUAL && (R->family[f].own || !mgi_range_open(R, r->graph, 0));
  /* as safe as written, where it was found; of what is contracted at the most that is summed */
  if (*shown && !R->family[f].own) {
    const mg_graph *found = R->family[f].graph;
    mg_graph *at[2] = {NULL, NULL};
    int64_t *most = r->safe_at;
    r->safety = MG_SAFETY_OPEN;
    for (uint32_t k = 0; k < found->n_symbols; k++) {
      const mg_symbol *is = &r->graph->symbol[k];
      most[k] = R->contracts ? is->last : found->symbol[k].most;
      if (R->contracts && !R->contracted[k] && found->symbol[k].most < most[k])
        most[k] = found->symbol[k].most > is->least ? found->symbol[k].most : is->least;
    }
    if (mg_at(R->contracts ? p : R->program, most, &at[0], &why) == MG_OK &&
        mg_at(R->contracts ? r->graph : found, most, &at[1], &why) == MG_OK)
      *shown = mgi_range_safe(at[0], R->cfg, at[1], &r->safety);
    mg_graph_free(at[0]), mg_graph_free(at[1]);
  }
  if (!*shown) mg_graph_free(r->graph), r->graph = NULL;
  mg_graph_free(p);
  return s;
}
void mg_family_result_free(mg_family_result *r) {
  for (int k = 0; k < r->n; k++) mg_graph_free(r->range[k].graph);
  memset(r, 0, sizeof *r);
}
/* The points that are searched, the last first, then always the one farthest from those before it: where time ends,
   sizes all over were searched, not the small ones alone. */
MGI_FN int mgi_range_order(const mgi_ranges *R, int order[MGI_RANGE_POINTS]) {
  int n = 0, away[MGI_RANGE_POINTS];
  for (int k = 0; k < R->points; k++) away[k] = R->point[k].searched ? 4 * MGI_RANGE_SIZES : -1;
  for (;;) {
    int next = R->points - 1;
    for (int k = R->points - 1; k >= 0; k--) if (away[k] > away[next]) next = k;
    if (away[next] < 0) return n;
    order[n++] = next;
    for (int k = 0; k < R->points; k++) {
      const int *a = R->point[k].at, *b = R->point[next].at, far = abs(a[0] - b[0]) + abs(a[1] - b[1]);
      if (far < away[k]) away[k] = far;
    }
    away[next] = -1;
  }
}
/* Searches at all points that are to be: each may take a share of the time that is left, and no less than finds
   something, as what is found there serves others, too; then, of what is over, those that theirs cut short. */
MGI_FN mg_status mgi_range_search_all(mgi_ranges *R, double end, mg_family_result *out, mg_error *e) {
  mg_status s = MG_OK;
  int order[MGI_RANGE_POINTS];
  const int n = mgi_range_order(R, order);
  for (int again = 0; again < 2; again++) {
    int waiting = 0;
    for (int k = 0; k < n; k++) waiting += !again || R->point[order[k]].stats.late;
    for (int k = 0; k < n && s == MG_OK; k++) {
      mgi_range_point *q = &R->point[order[k]];
      if (again && !q->stats.late) continue;
      const int share = waiting < MGI_RANGE_SHARES ? waiting : MGI_RANGE_SHARES;
      const double all = end > 0 ? end - mgi_se_seconds() : 0, left = fmax(all / share, fmin(all, MGI_RANGE_ENOUGH));
      waiting--;
      if ((end > 0 && left < 0.01 + 1.5 * q->limit) || (R->cfg->stop && *R->cfg->stop)) q->stats.late |= !again;
      else s = mgi_range_search(R, order[k], left, out, e);
    }
  }
  out->complete = 1;
  for (int k = R->points - 1; k >= 0 && s == MG_OK; k--)
    if (R->point[k].searched && !R->point[k].stats.complete) out->complete = 0, out->cut = R->point[k].stats;
  if (!out->complete && !out->cut.egraph_stop) out->cut.egraph_stop = mg_saturation_name(MG_SATURATED);
  return s;
}
/* The sizes, the points, and the program as its own family. */
MGI_FN mg_status mgi_ranges_open(mgi_ranges *R, mg_error *e) {
  const mg_graph *program = R->program;
  const int two = program->n_symbols == 2;
  int64_t most[MG_MAX_SYMBOLS];
  for (int a = 0; a < 2; a++) {
    R->size[a] = (int64_t *)malloc(MGI_RANGE_SIZES * sizeof *R->size[a]);
    if (!R->size[a]) return mg_fail(e, MG_NO_MEMORY, "mg_search_family", "no memory");
    R->size[a][0] = 1, R->n_size[a] = 1;
  }
  for (uint32_t v = 0; v < program->n_symbols; v++) {
    const int a = mgi_range_axis(R, v);
    const mg_symbol *is = &program->symbol[v];
    R->least[v] = is->least, most[v] = is->last;
    R->n_size[a] = mgi_range_sizes(is->least, is->last, two ? 1 + (is->last < 4096) : 16, 1, 1, R->size[a]);
  }
  R->top = (double *)malloc((size_t)mgi_range_cells(R) * sizeof *R->top);
  if (!R->top) return mg_fail(e, MG_NO_MEMORY, "mg_search_family", "no memory");
  mgi_range_points(R);
  mgi_range_family own;
  memset(&own, 0, sizeof own);
  for (int v = 0; v < MG_MAX_SYMBOLS; v++) own.chunk[v] = 1;
  own.own = 1, own.point = own.like = -1;
  mg_status s = mg_contracted(program, R->contracted, e);
  for (uint32_t v = 0; v < program->n_symbols; v++) R->contracts |= R->contracted[v];
  for (uint32_t v = 0; v < program->n_symbols; v++)
    R->whole[mgi_range_axis(R, v)] = R->cfg->batch_invariant && !R->contracted[v];
  if (s == MG_OK) s = mg_within(program, R->least, most, &own.graph, e);
  return s == MG_OK ? mgi_range_add(R, &own, e) : s;
}
MGI_FN void mgi_ranges_close(mgi_ranges *R) {
  for (int k = 0; k < R->n; k++) mgi_range_drop(&R->family[k]);
  free(R->size[0]), free(R->size[1]), free(R->top), free(R);
}
mg_status mg_search_family(const mg_graph *program, const mg_search_config *cfg, const mg_verify_config *v,
                           mg_family_result *out, mg_error *e) {
  mg_search_config c = cfg ? *cfg : mg_search_config_default();
  mg_verify_config vc = v ? *v : mg_verify_config_default();
  mgi_range_box box[MG_MAX_RANGES];
  uint8_t dropped[MGI_RANGE_FAMILIES];
  memset(out, 0, sizeof *out);
  if (!mg_is_program(program))
    return mg_fail(e, MG_BAD_INPUT, "mg_search_family", "expected a program without kernels");
  if (program->n_symbols < 1 || program->n_symbols > 2)
    return mg_fail(e, MG_UNSUPPORTED, "mg_search_family", "expected a program with one symbol or two, found %u",
                   program->n_symbols);
  mgi_ranges *R = (mgi_ranges *)calloc(1, sizeof *R);
  if (!R) return mg_fail(e, MG_NO_MEMORY, "mg_search_family", "no memory");
  const double began = mgi_se_seconds(), end = c.time_limit_s > 0 ? began + c.time_limit_s : 0;
  R->program = program, R->cfg = &c, R->machine = c.machine ? c.machine : mg_machine_at(0);
  R->open = c.wary && c.wary(c.user, program);
  mg_status s = mgi_ranges_open(R, e);
  if (s == MG_OK) s = mgi_range_search_all(R, end, out, e);
  for (int k = 0; k < R->points && s == MG_OK; k++) s = mgi_range_vary(R, k, e);
  out->families = R->n;
  const char *const invariant = c.batch_invariant ? " that make a row's bits depend on none of them" : "";
  int late = 0;
  for (int k = 0; k < R->points; k++) late |= R->point[k].stats.late;
  mg_error why;
  const double asked = mgi_se_seconds();
  if (c.measure && R->n > 1 && s == MG_OK) {
    const mg_status measured = mgi_range_time(R, &why);
    for (int f = 0; f < R->n && measured == MG_OK; f++)
      for (int q = 0; q < R->points; q++) out->timed |= R->family[f].factor[q] > 0;
    if (measured == MG_OK && !out->timed) snprintf(why.msg, sizeof why.msg, "no candidate could be timed");
    if (!out->timed) snprintf(out->unmeasured, sizeof out->unmeasured, "%.250s", why.msg);
  }
  memset(dropped, 0, sizeof dropped);
  for (int k = 0; k < R->n; k++) dropped[k] = c.batch_invariant && mg_library_multiplies(R->family[k].graph);
  const double until = vc.time_limit_s <= 0
                           ? 0
                           : vc.time_limit_s + (end > 0 ? end + mgi_se_seconds() - asked : mgi_se_seconds());
  vc.tier = MG_TIER_FULL;
  for (int again = s == MG_OK; again && s == MG_OK;) {
    double loss = !out->timed ? MG_RANGE_LOSS : c.timed_loss > 0 ? c.timed_loss : MG_RANGE_LOSS_TIMED;
    for (int k = 0; k < R->n && until > 0 && mgi_se_seconds() > until; k++) /* what was shown, and the program itself */
      dropped[k] |= !R->family[k].own && !R->family[k].made.graph;
    mgi_range_tops(R, dropped);
    int n = mgi_range_choose(R, dropped, loss, box);
    while (n > MG_MAX_RANGES && loss < 100) loss *= 1.25, n = mgi_range_choose(R, dropped, loss, box);
    out->few_lose = n > MG_FEW_RANGES ? mgi_range_few_lose(R, dropped, loss) : 0;
    again = 0, out->loss = 0;
    if (n > MG_MAX_RANGES)
      s = mg_fail(e, MG_NOT_FOUND, "mg_search_family", "no kernels are for all sizes%s%s", invariant,
                  late ? ", of those found before the time limit" : "");
    for (int k = 0; k < n && !again && s == MG_OK; k++) {
      mg_range *r = &out->range[k];
      const int f = box[k].family;
      int shown = 0;
      mgi_range_begin(R, &box[k], out->timed, r);
      /* of one that takes too long, others can take the sizes: some time is left for them */
      if (until > 0) vc.time_limit_s = fmax(0.01, (until - mgi_se_seconds()) / (n - k + 1));
      s = mgi_range_make(R, f, &vc, r, &shown, e);
      const double lost = mgi_range_loss(R, &box[k]);
      if (lost > out->loss) out->loss = lost;
      out->n = k + shown;
      if (!shown && R->family[f].own && s == MG_OK)
        s = mg_fail(e, MG_UNSUPPORTED, "mg_search_family", "%.220s", r->report.reason);
      else if (!shown) dropped[f] = 1, again = 1; /* others take its sizes */
    }
    for (int k = 0; again && k < out->n; k++) { /* kept, in case its bounds stay */
      mg_range *made = &R->family[box[k].family].made;
      mg_graph_free(made->graph);
      *made = out->range[k];
    }
    if (again) out->n = 0;
  }
  mgi_ranges_close(R);
  out->seconds = mgi_se_seconds() - began;
  if (s != MG_OK) mg_family_result_free(out);
  return s;
}

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_SEARCH_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_SEARCH_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
