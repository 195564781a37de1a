/* mirage_cuda.cuh - v0.1.0 - CUDA for µGraphs: emitter, device templates, emulation, compile and run

   WHAT
     Turns a µGraph (mirage.h) into one readable .cu file over the device templates of this header, checks that file on
     the CPU thread by thread (link 2 of the chain of trust), compiles it with nvcc, runs and times it (link 3).

   DO THIS
     Host: in one C or C++ file #define MIRAGE_IMPLEMENTATION, then #include "mirage.h", "mirage_verify.h" (for the
     check) and "mirage_cuda.cuh", which includes mirage_plan.h.  Emitted files #include "mirage_cuda.cuh" by themselves:
     put its directory on the include path.

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage.h"
     #include "mirage_cuda.cuh"
     #include <stdio.h>
     int main(void) {
       mg_graph *g;
       mg_error err;
       char *text;
       if (mg_parse_file("best.mg", NULL, &g, &err) != MG_OK || mg_cuda_emit(g, NULL, &text, &err) != MG_OK) {
         fprintf(stderr, "%s: %s\n", err.where, err.msg);
         return mg_exit_code(err.status);
       }
       fputs(text, stdout);
       mg_string_free(text);
       mg_graph_free(g);
       return 0;
     }

   CONTENTS (search for the tag)
     >>host        declarations: what an emitted file exports, the emitter
     >>links       declarations: check, compile, run
     >>wrappers    what all device code is written over; CUDA's side of it
     >>emulator    the other side, on the CPU
     >>races       of the emulator: which accesses no barrier orders
     >>tiles       shared-memory tiles and their loads
     >>matmul      tensor-core products into register fragments
     >>reduce      row and column statistics
     >>sites       loops over the elements of a result, and where the elements go
     >>split       tensors between kernels as two of f16 by a power of two
     >>merge       the parts of an accumulator over grid axes
     >>library     whole-tensor kernels of the operators at kernel level
     >>launch      launching
     >>glue        launching kernels that NVRTC compiled
     >>maps        tensors as tensor copies see them
     >>blas        cuBLAS for matmuls at kernel level
     >>runner      timing on a GPU, compiled into the shared object of a kernel that is run
     >>calibrate   a machine's rates: the kernels whose times they are, compiled with MG_CALIBRATE
     >>driver      check (link 2), compile, run (link 3), calibrate
     >>device      where files are launched one after the other: a GPU, or its stand-in
     >>layouts     emitter: how the tiles of loads lie
     >>text        emitter: text and names
     >>plan        emitter: which tensor lives where, shared memory, barriers
     >>values      emitter: elementwise expressions, inlined where they are used
     >>steps       emitter: one operator after the other
     >>schedule    emitter: in which order, for the fewest barriers
     >>file        emitter: the whole file

   CONFIGURATION (define before including)
     MIRAGE_DEVICE_ONLY  leaves what an emitted kernel and its launch need, of mirage.h and mirage_plan.h too, whatever else
                         is defined (emitted files define it)
     MG_EMULATE          host meaning of the wrappers; with MG_EMULATE_FIELD over field elements, else over floats;
                         with MG_EMULATE_RACES, and -fsanitize=thread, every access to shared memory is watched
     MG_RUNNER           adds the part that mg_cuda_run calls
     MG_CALIBRATE        adds the kernels of mg_cuda_calibrate, and, with MG_RUNNER, what times them
     MG_CUBLAS           matmuls at kernel level ask cuBLAS first (emitted files define it)
     MG_HOST_ONLY        the host half of an emitted file, for a C++ compiler; MG_CUBIN names the other half

   CONCEPTS
     residency  where a block tensor lives: a load in a shared-memory tile (in a loop: in a ring of `stages` tiles filled
                by cp.async); a matmul's accumulator in register fragments, or, if warps split the contraction, in fp32
                partials in shared memory once the loop is done; a sum or maximum as an fp32 vector; an elementwise
                value nowhere: its expression is inlined where it is used.  A matmul's result that another matmul
                or a reduction consumes stays in its fragments if warps_k is 1 and warps_n of 16 columns divide it, else
                it is materialised in a tile.
     maximum    an exponential of such a product runs under a maximum of its row, and what is summed from it carries the
                factor, wherever that cancels in what is stored (softmax; not: exp stored by itself), or in what the kernels
                store that read it: then the maxima are handed on in the workspace.  A row's sum, and its logarithm, have it
                back where they are stored; the product's own elements are stored before
     site       a place where an inlined expression is evaluated, element by element, on valid elements only
     plan       keys obeyed: those of MG_PLAN_KEYS (mirage_plan.h), or it is refused; the product of warps_m, warps_n and
                warps_k, times 32, is `threads`.  The emitted text's µGraph has all keys that do not follow from the rest
     wide       with NAME.mma=wide the operands of product NAME may pass f16's exponents: by running powers of two of their rows,
                where rows times a row come in rings of warps (mg_steady); else over tf32: f16's precision, half of its rate; what is
                computed of them is f32 until then, and warps make it, as no warpgroup does
     f32        with NAME.store=f32 what is stored as NAME stands in device memory in f32 where it is no output; so do what library
                operators, but products, hand on to each other
     split      with NAME.store=split what is stored as NAME, in f16, stands in device memory as the sum of two, times a power of two
                of its block, which its largest element says; one product takes both, and has the power back on its accumulators
     ring       with ring=warp, where warps_m = warps_n = 1 and the loop permits it, every warp brings the part of the
                contraction that it multiplies into a ring of its own, and no barrier stands in the loop; where
                warps_m = warps_k = 1 and products are chained, its columns of the one and its rows of the next; with
                ring=group (mma=warpgroup, warps_m = 4) every warpgroup does so, and meets nobody else in the loop
     mma        with mma=warpgroup (where the machine can; else refused, with the reason) four warps with 64 rows multiply as one: left
                operands come in registers, right ones from swizzled tiles, loads of whole panels of 64 neighbours in memory; a
                warpgroup has 16, 32 or a multiple of 64 columns of the result; fragments are those of mma=warp, so all else is
                the same.  A product whose operands do not allow it is made by warps, in the same fragments
     copy       with copy=tma (where the machine can, and a tile's shape and strides allow it; else refused, with the reason)
                tensor copies bring the loads of loops: one thread asks for a whole tile, and barriers of phases count its
                bytes.  Their maps are made at the first launch, and again when a tensor stands elsewhere.  With copy=warp
                that thread is of a warpgroup of its own, beside the `threads` of the µGraph, which leaves them its registers
                where their products need them.  With three stages or more, products of warpgroups of two such loads read both in
                shared memory, and are under way while the next step begins
     chain      with chain=late (warpgroups, tensor copies, three stages or more; else refused, with the reason) a loop's product of
                fragments is made beside the first product of the next step, and done when that step's exponentials are
     share      with share=N, N blocks side by side are a cluster: each has its part of the tiles that all of them read copied
                to all
     strip      a kernel that reads whole rows, joins each to one value and writes whole rows keeps them in registers
     merge      an accumulator over grid axes: each block computes its part; then one block of the group computes, and
                stores, what depends on the whole.  Where the machine has clusters, up to 16 blocks: a cluster, the parts pushed through
                distributed shared memory.  Else the last block to write its part to the workspace goes on.  So do
                blocks that share a long row of an argmax over whole tensors (mg_library_shares)
     masks      every tile is padded with zeros; a site never evaluates, and a store never writes, a padded element

   ERRORS
     mg_status and mg_error as in mirage.h.  What cannot be emitted is MG_UNSUPPORTED with operator and reason.

   MEMORY
     mg_cuda_emit's text is freed with mg_string_free.  An emitted launch allocates nothing, uses the caller's stream
     only, and may be captured in a CUDA graph.  Pointers of inputs, outputs and workspace are 16-byte aligned.

   THREADS
     No mutable globals; distinct graphs are independent.

   DOES NOT
     Emit concatenations over grid axes, or thread graphs that mg_inline_threads refuses (with loops, or cut unevenly); block
     tensors are effectively 2-D: all but the last two dimensions have a chunk of extent 1.  Nor a loop's exponentials that are
     joined over one loop and concatenated over another: these would have no running maximum.  Parts of a grid axis under maxima
     of their own lie side by side along the last dimension, only kernels of the µGraph read them, and each divides by what all
     parts are joined in or takes every part alone: none leaves the joined parts for a third kernel to divide.
*/
#ifndef MIRAGE_CUDA_CUH
#define MIRAGE_CUDA_CUH

#include "mirage.h"
#if MG_VERSION != 100
#error "mirage_cuda.cuh 0.1.0 needs mirage.h 0.1.0"
#endif
#include "mirage_plan.h"

/* --------------------------------------------------------------------------------------------------- >>host */

#ifdef __cplusplus
extern "C" {
#endif

/* What an emitted file NAME.cu exports, beside
     int NAME_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream);  0 or the CUDA error
     int NAME_launch_pdl(...);    the same, by programmatic dependent launch, where the machine has it: it may begin while the kernel before
                                  it in the stream is still running, and waits for that one's end before it reads
                                  anything but NAME_info's `early` inputs, which nothing in flight may write: weights.
                                  The kernels of one call follow each other so in either entry
     int NAME_run(const half *in_X, .., half *out_O, .., void *workspace, cudaStream_t stream);  NAME_launch, with each
                                  tensor by name and type: half, __nv_bfloat16 or float
     size_t NAME_workspace_bytes(void);
     extern const mg_emitted_info NAME_info;
   Where the program has symbols, every launch takes their values before the stream, `const int64_t *sym` in the order of
   NAME_info.symbol: tensors are dense at these sizes, grids in NAME_info are those of the greatest, the workspace is enough for all.
   Extents computed of them (8*n) stand behind them there, and are no arguments.
   Symbols of NAME_info's `device` are read in device memory by the kernels, each as it begins: in[n_in], one more pointer than
   there are inputs, is to int64_t there, first a value for each symbol, in their order, then for each output by how many elements
   behind its pointer it stands, of which those of `displaced` are read.  Nothing in flight may write them.  Such a launch takes
   of `sym` nothing but its grids, for which
     int NAME_blocks(const int64_t *sym, int64_t *count, int room);  how many counts of blocks there are; the first `room` into count
   says the blocks of each kernel along x, y and z (of several ranges first, which it is): a launch that was captured in a graph
   is right for all values in device memory for which these are the same.  What the host hands over instead, the map of a
   tensor copy, or a product of cuBLAS, is made at the launch: symbols of its sizes are never in `device`, outputs that it reads or
   writes never in `displaced`.  What a launch looks at, bounds of sizes and the alignment of pointers, nobody looks at where a
   graph is replayed: values in device memory are within the bounds, displacements multiples of 16 bytes.
   A size out of its bounds: cudaErrorInvalidValue (1), and nothing is launched.
   A pointer to no multiple of 16 bytes: cudaErrorMisalignedAddress (716), and nothing is launched.
   An index (i32, an int32_t) beyond the rows that a gather takes: its kernel traps, and the stream's next call says so
   (cudaErrorLaunchFailure); the context is lost.  Whoever does not trust indices looks at them before the launch.
   Inputs and outputs stand in the program's order, inputs dense in their memory `order`, outputs row-major.  What is
   filled by definition (mirage.h, mg_filling) has a place among them, which is not read, and is no parameter of
   NAME_run.  The workspace is zeroed once by the caller; concurrent launches need one each. */
typedef struct mg_io_info {
  const char *name;
  mg_dtype dtype;
  int rank;
  int64_t dim[MG_MAX_RANK], stride[MG_MAX_RANK]; /* strides in elements */
  int32_t order[MG_MAX_RANK];
  uint8_t symbol[MG_MAX_RANK]; /* 0, or 1 + the size of `symbol` that the dimension has; dim and stride are of its most */
} mg_io_info;
typedef struct mg_size_info { const char *name; int64_t least, most; } mg_size_info;
typedef struct mg_kernel_info {
  const char *name;
  int64_t grid[3];           /* blocks along x, y and z */
  int threads;               /* of a block */
  int64_t shared_bytes;      /* of a block, dynamic */
} mg_kernel_info;
typedef struct mg_emitted_info {
  const char *name;
  int n_in, n_out, n_kernels;
  const mg_io_info *in, *out;
  uint32_t early;            /* by input, of the first 32, as bits: NAME_launch_pdl reads it before the kernel before ends */
  const mg_kernel_info *kernels; /* in the order of their launches; for a product that cuBLAS takes, the kernel without it */
  int n_symbols;             /* sizes that come with the launch */
  const mg_size_info *symbol;
  int n_computed;            /* behind these in `symbol`: extents that the launch computes of them, named "8*n" */
  uint32_t device, displaced; /* by symbol, by output, as bits: what kernels read in device memory */
} mg_emitted_info;

#ifndef MIRAGE_DEVICE_ONLY
typedef struct mg_emit_config {
  const char *arch;          /* an architecture, or a machine's name, of mirage_plan.h; NULL: its first row's, "sm_90a" */
  const char *certificate;   /* lines that the head comment quotes, or NULL: it says "not certified" */
  uint32_t device, displaced; /* by symbol, by output, as bits: what kernels shall read in device memory; NAME_info says what of
                                these they do */
} mg_emit_config;

/* MG_OK if mg_cuda_emit would emit the µGraph for `arch`; else MG_UNSUPPORTED and why.  A program without kernels is
   emitted too: every operator becomes a kernel of its own. */
mg_status mg_cuda_emittable(const mg_graph *ugraph, const char *arch, mg_error *why);
/* The .cu text.  The same graph and configuration always give the same text.  Thread graphs are inlined first, by
   mg_inline_threads, in the µGraph that the text quotes too. */
mg_status mg_cuda_emit(const mg_graph *ugraph, const mg_emit_config *cfg, char **text, mg_error *e);
/* One file of the ranges of a symbol (mg_search_family): n >= 1 families of it, each from where the one before ends, named NAME_1,
   NAME_2 ..; of one, what mg_cuda_emit gives.  NAME_launch takes the one that its size is for.  certificate: NULL, or one of each. */
mg_status mg_cuda_emit_ranges(const mg_graph *const *range, int n, const mg_emit_config *cfg, const char *const *certificate, char **text, mg_error *e);

/* What the emitter decides of a kernel of the µGraph: where every value lives, and what a block takes. */
typedef struct mg_cuda_value {
  char name[64];
  const char *op;            /* "load", "matmul", .. */
  const char *lives;         /* "shared memory", "fragments", "inline", .. : see `residency` above */
  int rows, cols, in_loop;   /* its last two dimensions, in one block and step */
  int64_t bytes;             /* of shared memory, all stages of its ring among them; 0: none of its own */
} mg_cuda_value;
typedef struct mg_cuda_kernel {
  mg_kernel_takes takes;     /* by which mg_kernel_facts_taking prices it */
  int warps_m, warps_n, warps_k;
  const char *ring, *mma, *copy, *chain, *merge, *schedule; /* words of the plan; merge "none" where no blocks share a result */
  int dealt;                 /* registers a thread once the warpgroup that copies has given up its own; 0: it keeps them */
  int n_values;
  mg_cuda_value *value;
} mg_cuda_kernel;
/* *n kernels, in their order, for mg_cuda_facts_free.  MG_UNSUPPORTED and why, as mg_cuda_emittable. */
mg_status mg_cuda_facts(const mg_graph *ugraph, const char *arch, mg_cuda_kernel **kernel, int *n, mg_error *why);
void mg_cuda_facts_free(mg_cuda_kernel *kernel, int n);
#endif /* MIRAGE_DEVICE_ONLY */

#ifdef __cplusplus
}
#endif

/* --------------------------------------------------------------------------------------------------- >>links
   Links 2 and 3 of the chain of trust: the emitted text against its µGraph, on the CPU (mg_cuda_check) and on a GPU
   (mg_cuda_run).  All of it is plain C; compilers are run as child processes, kernels are loaded with dlopen.        */
#ifdef __cplusplus
extern "C" {
#endif

enum { MG_RUN_CALLS = 64 }; /* of so many calls of a launch each can be timed alone */
#ifndef MIRAGE_DEVICE_ONLY
/* How link 2 is run.  Zero means default. */
typedef struct mg_check_config {
  uint64_t seed;             /* of inputs, fields and fiber orders; 0: 1 */
  int seeds;                 /* fiber orders tried over each field; 0: 8 */
  const char *include_dir;   /* where mirage_cuda.cuh is; NULL: $MIRAGE_INCLUDE, else where it was when this was compiled */
  const char *work_dir;      /* where the temporary directory goes; NULL: $TMPDIR or /tmp */
  const char *cxx;           /* NULL: $CXX or g++ */
  int keep;                  /* 1: keep the temporary directory */
  int full_size;             /* 1: do not reduce the sizes */
  int samples;               /* places of the grid at which blocks run at full size too, where sizes are reduced; 0: 6; -1: none */
  int timeout_s;             /* for one compilation, and of processor time for one field's runs; 0: 300 */
  double wall_s;             /* mg_cuda_numerics: seconds by the clock, after which its processes are ended; 0: any */
  double numerics_s;         /* mg_cuda_numerics: families that have not begun by then are not run; 0: all are */
  int numerics_first;        /* mg_cuda_numerics: 1: it ends at the first family that is unsafe */
  int jobs;                  /* mg_cuda_numerics: processes; 0: as many as the machine has processors, at most 8 */
  int whole;                 /* 1: no bound on its work: all fiber orders and families, at the reduced sizes too, however large these are */
} mg_check_config;

/* What link 2 says, by rows F(join, type, name, count, what).  join: how a file of several ranges says it, of theirs: LEAST, MOST,
   SUM, ANY, ALL; LAST of them, which is where it ended; the FIRST that says it; or all of them in a LIST. */
#define MG_CHECK_FIELDS(F) \
  F(LEAST, int, fields, , "small pairs over which all outputs agreed") \
  F(LEAST, int, seeds, , "fiber orders tried over each of them") \
  F(ALL, int, float_checked, , "1: compared over emulated floats too") \
  F(SUM, uint64_t, compared, , "output elements compared over the fields") \
  F(SUM, uint64_t, undefined, , "of the reference: skipped") \
  F(MOST, double, float_error, , "largest relative Frobenius error of an output, emulated floats against float64") \
  F(LAST, double, tolerance, , "what float_error had to stay below") \
  F(ANY, int, reduced, , "1: sizes were reduced for this") \
  F(ANY, int, exp_opaque, , "1: exp was taken as an uninterpreted function") \
  F(LAST, uint64_t, p, [8], "the pairs") \
  F(LAST, uint64_t, q, [8], "and their second fields") \
  F(SUM, uint64_t, sampled, , \
    "blocks run at full size, where sizes were reduced: the first, the last, edges, others at random") \
  F(SUM, uint64_t, sampled_compared, , "output elements that they stored") \
  F(SUM, uint64_t, sampled_floats, , \
    "blocks run at full size over floats, at most three places of the grid; 16, where these have few elements") \
  F(FIRST, char, unsampled, [160], "why there are none, or not as many as asked for; empty: no reason") \
  F(SUM, int, unformed, , \
    "kernels of which none ran: no offset of theirs is formed as at full size, and the check is undecided") \
  F(SUM, int, host_calls, , \
    "launches that ran no block: with other buffers each, by two threads, and with one call that fails each") \
  F(SUM, int, products, , \
    "by cuBLAS, whose calls were made, and the products by definition: link 3 sees what it computes") \
  F(MOST, double, work, , \
    "of one launch at these sizes, in operations: what follows from it is the same on every machine") \
  F(LIST, char, sizes, [400], \
    "of the inputs, where sizes were reduced; of a family: of its symbols, whole, and where blocks ran") \
  F(LEAST, int, rows, , \
    "of a family: 1: over floats rows of the same sums and masks have the same bits at these sizes; -1: not; 0: none was " \
    "compared") \
  F(LEAST, int, float_seeds, , "fiber orders over floats") \
  F(LEAST, int, families, , "families of inputs over them") \
  F(ANY, int, at_last, , "1: of a family: families of inputs, over floats, at the last of its sizes alone: at all would be too much work") \
  F(MOST, int, left_orders, , "fiber orders that were too much work") \
  F(MOST, int, left_families, , \
    "families that were too much work, at most: of which of them a program has inputs is known when they are drawn") \
  F(ANY, int, apart, , \
    "1: the reduced sizes were too much work: kernels ran one by one, watched for races, at full size alone") \
  F(LAST, int, race, , "1: two accesses race, whatever the values: who, where, at which lines") \
  F(LAST, char, difference, [512], \
    "MG_NOT_FOUND: field or floats, fiber order, output, element, got, expected, who stored it") \
  F(LAST, char, kept, [256], "the temporary directory, with cfg->keep")
typedef struct mg_check_report {
#define MGI_F(join, type, name, count, what) type name count;
  MG_CHECK_FIELDS(MGI_F)
#undef MGI_F
} mg_check_report;

/* Link 2: compiles the emitted text for the CPU, over field elements and over floats, runs it thread by thread under
   several fiber orders (every other one by NAME_launch_pdl, where the file has it), and compares every output element with the µGraph's.  `ugraph` NULL: the µGraph in the text.
   The host's code is run with no blocks too: what it launches must not depend on which buffers earlier calls, or another thread's,
   had; it must be on the caller's stream, return every error, and launch as many kernels as its info says.  Each launch has other
   buffers, between pages that fault; launches are held against the limits of the machine that the nvcc command names.
   In a file with tickets, other atomics or volatile accesses, and without clusters, blocks take turns at these: up to 16 under
   every other order from the third on, and wherever those that run spin as many more as the machine that the nvcc command names
   holds, or as there is room for (256).  What waits for more blocks than the machine holds is a deadlock; for more than there
   is room for, MG_UNSUPPORTED.  Else blocks, or clusters, run one after another.
   A file of several ranges (mg_cuda_emit_ranges) is checked with `ugraph` NULL: each of them, launched by way of the whole.
   A family is run at its symbols' least values, at a chunk less 1, a chunk, a chunk and 1, three chunks and a ragged rest, all
   other extents reduced; at full size where each is at its most.  What is contracted starts from the first whole number of chunks
   instead that is not below its least: where it has bounds of its own, no less is run.  Sizes out of bounds have to be refused.
   Its work is bounded, by counts of operations that follow from the µGraph alone, so that two processors take a minute at most and
   every machine comes to the same verdict: what is large runs under fewer fiber orders, over fewer families of inputs; what is larger
   still, at full size alone (r->apart; cfg->whole lifts this).  The ranges of a file are compiled once and share this bound: where
   they are many, floats run under one order, families of inputs at the last size of each range alone (r->at_last), and the largest
   ranges, if all are still too much, at full size alone.  The report says what ran, and what was left out.
   Indices of inputs are drawn within bounds; an index out of bounds is a fault.  Those of outputs are compared over fields, whose
   maxima are in a random order, without exception; over floats as mg_cuda_run does.
   Not seen: what cuBLAS computes, and what the host's code does between two calls of the runtime; registers, in what a
   machine holds.
   MG_OK: same.  MG_NOT_FOUND: differs (r->difference), two accesses to shared or global memory race, or the kernel
   faults (deadlock, out of bounds, misaligned, copies that nobody waits for).
   MG_UNSUPPORTED: undecided.  MG_MACHINE: no compiler.  mg_error holds the compiler's message where it refuses. */
mg_status mg_cuda_check(const mg_graph *ugraph, const char *cu_text, const mg_check_config *cfg, mg_check_report *r, mg_error *e);

#ifdef MIRAGE_VERIFY_H
/* Whether the emitted text is as safe as `program` is written (mirage_verify.h, >>numerics), by runs: compiled for the CPU, over the
   families, with its 16-bit storage and with f32 in its place.  `program` NULL: the yardstick is the µGraph's own kernel level.
   What is contracted, and every loop over it, is at full size; other extents shrink to what one block takes, where they can.
   MG_OK: safe.  MG_NOT_FOUND: not, r says where.  MG_UNSUPPORTED: undecided. */
mg_status mg_cuda_numerics(const mg_graph *program, const mg_graph *ugraph, const char *cu_text, const mg_check_config *cfg, mg_numerics_report *r, mg_error *e);
/* mg_cuda_numerics of what is emitted, as mg_search_config's hook `settle`: 1 if it is not as safe as `program`; 0 if it is, or where that is
   undecided.  user: NULL, or the architecture's name. */
int mg_cuda_settle(void *user, const mg_graph *program, const mg_graph *ugraph);
#endif

/* Emitted files, compiled for the CPU over floats, at their own sizes, and launched on data of the caller's. */
typedef struct mg_emulated mg_emulated;
/* n texts, compiled side by side, cfg->jobs at a time (0: one a processor), the other fields as for mg_cuda_check; entry[k]: the
   NAME of NAME_launch.  A text NULL is passed over.  What is launched may end the process: see mg_cuda_apart. */
mg_status mg_cuda_emulate(const char *const *cu_text, const char *const *entry, int n, const mg_check_config *cfg, mg_emulated **out, mg_error *e);
/* Launches file k; in and out as mg_eval has them over doubles for g, a graph of the file's signature at these sizes, which are rounded
   to their types.  sym: the values of the file's symbols, or NULL where it has none.  Fibers run in another order the next time. */
mg_status mg_emulated_launch(mg_emulated *m, int k, const mg_graph *g, const int64_t *sym, const void *const *in, void *const *out, mg_error *e);
/* A launch of what lies in memory as the kernels read it, by NAME_launch, or, early, by NAME_launch_pdl.  sym: NULL where the file
   has no symbols. */
typedef struct mg_device_call {
  int n_in, n_out, early;
  const void *const *in;     /* NULL: what is filled by definition */
  void *const *out;
  const size_t *in_bytes, *out_bytes;
  void *workspace;
  size_t workspace_bytes;
  const int64_t *sym;
  int n_sym;
} mg_device_call;
mg_status mg_emulated_call(mg_emulated *m, int k, const mg_device_call *c, mg_error *e);
/* NAME_info, NULL where file k has none, and what NAME_workspace_bytes says; NULL too on an error. */
const mg_emitted_info *mg_emulated_info(mg_emulated *m, int k, size_t *workspace, mg_error *e);
int mg_emulated_early(mg_emulated *m, int k); /* 1: it was loaded, and has NAME_launch_pdl */
int mg_emulated_has_blocks(const mg_emulated *m, int k); /* 1 if the file, loaded, has NAME_blocks */
int mg_emulated_blocks(mg_emulated *m, int k, const int64_t *sym, int64_t *count, int room); /* NAME_blocks; 0: it has none */
void mg_emulated_free(mg_emulated *m);
/* Runs body in a process of its own, for timeout_s seconds of processor time at most, and hands back what it wrote to record, at most
   8192 bytes, zeroed.  MG_NOT_FOUND: it did not come to its end. */
mg_status mg_cuda_apart(void (*body)(const void *task, void *record), const void *task, void *record, size_t bytes, int timeout_s, mg_error *e);

/* Where emitted files are launched, one after the other in one stream: the first GPU, by its driver; or, without one, a stand-in for it,
   which is the host's memory and files compiled for the CPU.  Between mg_device_record and mg_device_recorded launches and
   copies on the device do not run: they are what mg_device_replay runs, by a CUDA graph.  What is recorded anew changes the graph
   that is there, where it can.  The stand-in refuses what a stream that is captured refuses. */
typedef struct mg_device mg_device;
typedef struct mg_device_graph mg_device_graph;
typedef struct mg_device_config {
  int emulated;              /* 1: the stand-in */
  const char *arch;          /* NULL: that of the first GPU */
  const char *include_dir, *cache_dir, *nvcc; /* as in mg_compile_config */
  const char *cxx;           /* the stand-in's, as in mg_check_config; work_dir too */
  const char *work_dir;
  int timeout_s, jobs;       /* for the compilations, as there */
} mg_device_config;
typedef enum mg_device_way { MG_TO_DEVICE, MG_FROM_DEVICE, MG_ON_DEVICE } mg_device_way;
typedef struct mg_device_counts {
  uint64_t calls, launches, copies, allocations, bytes; /* calls: of everything below but the counts */
  uint64_t recorded, changed, replayed; /* graphs that were made, those that were changed to what was recorded anew, replays */
} mg_device_counts;
/* MG_MACHINE: no GPU.  cfg: NULL is a GPU. */
mg_status mg_device_open(const mg_device_config *cfg, mg_device **out, mg_error *e);
void mg_device_close(mg_device *d); /* and frees all of its memory */
const char *mg_device_name(const mg_device *d);
const char *mg_device_arch(const mg_device *d); /* what files are to be emitted for; NULL: any */
void mg_device_count(const mg_device *d, mg_device_counts *c);
/* The stand-in: of its calls from here on the one of this number, counted from 1, fails; 0: none. */
void mg_device_fail(mg_device *d, uint64_t call);
/* Compiles and loads n texts, each once in the device's life; entry[k]: the NAME of NAME_launch; file[k]: what it is called below.  A text
   need not be emitted, but has such a launch. */
mg_status mg_device_load(mg_device *d, const char *const *cu_text, const char *const *entry, int n, int *file, mg_error *e);
const mg_emitted_info *mg_device_info(const mg_device *d, int k); /* NULL: it has none */
size_t mg_device_workspace(const mg_device *d, int k);
int mg_device_early(const mg_device *d, int k); /* 1: it has NAME_launch_pdl */
int mg_device_has_blocks(const mg_device *d, int k); /* 1 if file k has NAME_blocks */
int mg_device_blocks(const mg_device *d, int k, const int64_t *sym, int64_t *count, int room); /* NAME_blocks; 0: it has none */
/* Memory, zeroed; `what` names it where there is none left. */
mg_status mg_device_new(mg_device *d, const char *what, size_t bytes, void **p, mg_error *e);
void mg_device_free(mg_device *d, void *p); /* waits for the stream; NULL: nothing */
/* rows of `width` bytes, to_pitch and from_pitch apart. */
mg_status mg_device_copy(mg_device *d, mg_device_way way, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, mg_error *e);
mg_status mg_device_launch(mg_device *d, int k, const mg_device_call *c, mg_error *e);
mg_status mg_device_wait(mg_device *d, mg_error *e);
mg_status mg_device_record(mg_device *d, mg_error *e);
/* *g: NULL, or the graph that it is to change; failed: 1: what was recorded is dropped. */
mg_status mg_device_recorded(mg_device *d, int failed, mg_device_graph **g, mg_error *e);
mg_status mg_device_replay(mg_device *d, mg_device_graph *g, mg_error *e);
void mg_device_graph_free(mg_device *d, mg_device_graph *g);
/* n replays, one behind the other, and the microseconds of each; the stand-in's are 0. */
enum { MG_DEVICE_TIMES = 256, MG_DEVICE_MARKS = 4096 };
mg_status mg_device_time(mg_device *d, mg_device_graph *g, int n, double *us, mg_error *e);

/* A mark in the stream, of a number below MG_DEVICE_MARKS; then, once the stream is done, the microseconds from each of n marks to the next. */
mg_status mg_device_mark(mg_device *d, int k, mg_error *e);
mg_status mg_device_between(mg_device *d, int n, double *us, mg_error *e);

/* The µGraph that an emitted file was made from: the text between its `mugraph {{{` and `}}} mugraph`.  Any bytes may come in. */
mg_status mg_cuda_source_graph(const char *cu_text, size_t len, mg_graph **out, mg_error *e);
/* All of them, where the file has several ranges: *n, at most MG_MAX_RANGES. */
mg_status mg_cuda_source_graphs(const char *cu_text, size_t len, mg_graph *out[MG_MAX_RANGES], int *n, mg_error *e);

/* Smaller sizes on which an emitted file runs unchanged but for its named constants: every chunk (so every tile, mask
   and template argument) stays, only counts of grid and loop axes and the extents that they partition shrink: grid
   axes to no less than 2, loops to no less than their pipeline's stages + 2, with the same remainder by the stages (by
   12 where the plan does not say how many).  An extent keeps its remainder by every chunk, and by 8 where a tensor is dense
   along it in memory.  What cannot shrink so stays.  extent[] (by class) and counts[] (kernel * (MG_MAX_AXES + 1) + axis) are
   malloc'ed.  *out is checked, and every tensor inside a kernel has the shape that it had. */
typedef struct mg_reduced { mg_graph *graph; int64_t *extent, *counts; uint32_t n_classes, n_kernels; int changed; } mg_reduced;
mg_status mg_cuda_reduce(const mg_graph *ugraph, mg_reduced *out, mg_error *e);
void mg_reduced_free(mg_reduced *r);

typedef struct mg_compile_config {
  const char *arch;          /* NULL: sm_90a; or any that nvcc knows */
  const char *include_dir;   /* as in mg_check_config */
  const char *cache_dir;     /* NULL: $XDG_CACHE_HOME/mirage, ~/.cache/mirage or /tmp/mirage-<uid> */
  const char *nvcc;          /* NULL: $NVCC, nvcc on the PATH, or /usr/local/cuda/bin/nvcc */
  int runner;                /* 1: with the part that mg_cuda_run calls; by NVRTC and $CXX where the toolkit in $CUDA_HOME,
                                $CUDA_PATH or /usr/local/cuda has it, `nvcc` is NULL and $MIRAGE_NVRTC is not 0 */
  int timeout_s;             /* 0: 300 */
  int jobs;                  /* of mg_cuda_compile_all, compilers that run at a time; 0: one a processor */
  int64_t cache_bytes;       /* past it the entries used longest ago are deleted; 0: 1 GiB */
} mg_compile_config;

/* nvcc -> shared object, kept in a cache under a hash of text, headers, flags and the compiler's version.  An entry ends
   with a checksum; one that is damaged is made again.  so_path gets its path.  MG_MACHINE: no nvcc.  MG_BAD_INPUT: nvcc
   refuses; the message is its first lines. */
mg_status mg_cuda_compile(const char *cu_text, const mg_compile_config *cfg, char *so_path, size_t n, mg_error *e);
/* Several, side by side.  status[k], why[k] and so_path[k] are those of text k; a text NULL is passed over, its status stays.
   The result is MG_OK unless nothing could be started at all. */
enum { MG_SO_PATH = 512 };
mg_status mg_cuda_compile_all(const char *const *cu_text, int n, const mg_compile_config *cfg, char (*so_path)[MG_SO_PATH], mg_status *status, mg_error *why, mg_error *e);

typedef struct mg_run_config {
  const char *arch;          /* NULL: that of the first GPU (mg_arch_of_gpu) */
  int reps;                  /* timed replays, of which the median counts; 0: 15 */
  int cold;                  /* 1: time over rotating buffers that exceed the L2 cache too */
  uint64_t seed;             /* of the inputs; 0: drawn from the clock */
  double tolerance;          /* relative Frobenius error of every output; 0: 2e-3 for f16 and f32, 1e-2 if bf16 occurs */
  const char *include_dir, *cache_dir, *nvcc;
  int timeout_s;             /* for the compilation; 0: 300 */
  int no_time;               /* 1: compare only */
  int calls;                 /* 1: time every kernel, and library operator, alone too: launched again and again on what the
                                others left behind */
  const int64_t *sym;        /* of a family, the sizes to run at; NULL: the greatest */
  double numerics_s;         /* mg_cuda_run_numerics: families that have not begun by then are not run; 0: all are */
  double most_work;          /* mg_cuda_measure, mg_cuda_measure_all: candidates for a program whose run in float64 takes more scalar
                                operations, 30 for each element of an input, have failed (MG_LIMIT); 0: none */
} mg_run_config;

typedef struct mg_run_report {
  double relative_error;     /* largest of the outputs, against float64 */
  double tolerance;
  int worst_output;
  uint64_t seed;
  uint64_t unwritten;        /* output elements that still hold the poison */
  double us_hot, us_cold;    /* median time of one call, microseconds, in a replayed CUDA graph; 0: not measured */
  double us_hot_min, us_cold_min;
  double us_pdl_hot, us_pdl_cold; /* the same by NAME_launch_pdl, where the file has it; compared with the outputs of the plain launch before */
  int launches, cold_sets;   /* calls a graph; buffer sets of the cold one */
  int rows;                  /* of a family: 1: a row has the same bits in the member at `rows_at`; -1: it has not; 0: not compared */
  int64_t rows_at[MG_MAX_SYMBOLS]; /* sizes below those that it ran at, drawn by the seed */
  size_t bytes;              /* inputs and outputs of one call */
  char gpu[128];
  int driver, runtime;       /* CUDA versions, 12080 is 12.8 */
  int sms; size_t l2_bytes;
  int n_calls;               /* with cfg->calls: kernels, and library operators, of a launch, each timed alone, in their order; */
  double call_us_hot[MG_RUN_CALLS], call_us_cold[MG_RUN_CALLS]; /* 0: more than MG_RUN_CALLS, or not measured */
  char so_path[512];
} mg_run_report;

/* Link 3: compiles with nvcc, runs on the first GPU with fresh random inputs and poisoned outputs, twice, compares
   with mg_eval over float64 on the same rounded inputs, then times.  `ugraph` NULL: the µGraph in the text.
   Indices are drawn within bounds; those of outputs have to be right: of an argmax of an input the same, of what is computed
   one where float64 is within 5 % of the largest magnitude of its maximum.  What rows such indices gather is not compared.
   MG_NOT_FOUND: the error is above the tolerance, or the two runs differ.  MG_MACHINE: no nvcc, no GPU, no memory, or
   the launch failed; the message has the driver's words. */
mg_status mg_cuda_run(const mg_graph *ugraph, const char *cu_text, const mg_run_config *cfg, mg_run_report *r, mg_error *e);

/* The rates of the GPU that is here, measured (>>calibrate says how), and its sizes. */
typedef struct mg_spread { double median, least, most; } mg_spread; /* of all runs */
typedef struct mg_calibration {
  mg_machine_file file;      /* its row; rates are medians, to four digits */
  int runs;
#define MGI_F(kind, type, name, least, most, text) mg_spread name;
  MG_MACHINE_RATES(MGI_F)
#undef MGI_F
} mg_calibration;
/* Compiles and runs the kernels, in a few seconds (the compiler's time limit is 45 s).  Its name is that of the GPU, its
   capabilities those of its architecture in the table, or of the newest older one there.  Of cfg (may be NULL) include_dir,
   cache_dir and nvcc count.
   MG_MACHINE: no GPU, no compiler, or a rate that no GPU has.  MG_UNSUPPORTED: a GPU before compute capability 8.0. */
mg_status mg_cuda_calibrate(const mg_run_config *cfg, mg_calibration *out, mg_error *e);

#ifdef MIRAGE_VERIFY_H
/* Whether the kernel on the GPU is as safe as `program` is written (NULL: as its own kernels), by rule (i) of mirage_verify.h's
   numerics: its families of inputs at full size, some rows and columns of every output, poisoned outputs, each family twice.  As
   mg_numerics says, or what mg_cuda_run fails with. */
mg_status mg_cuda_run_numerics(const mg_graph *program, const mg_graph *ugraph, const char *cu_text, const mg_run_config *cfg, mg_numerics_report *r, mg_error *e);
#endif

/* Link 3 and the times of several µGraphs of one program: emitted, compiled side by side, then run one after the other in a
   child process, on the same inputs, against the float64 values of `program` (NULL: each one's own).  A kernel that faults or
   hangs ends its own measurement only.  status[k] is what mg_cuda_run would say of g[k], why[k] its message.  The result is
   MG_OK if there is a GPU and a compiler; else MG_MACHINE, and nothing was measured: so too in a process that has used CUDA
   before, as its children cannot.  Runs of one user take turns on the machine, by a lock in the cache. */
mg_status mg_cuda_measure(const mg_graph *program, const mg_graph *const *g, int n, const mg_run_config *cfg, mg_run_report *r, mg_status *status, mg_error *why, mg_error *e);
/* The same as mg_search_config's hook `measure`; user: NULL, or a mg_run_config.  us[k] is the cold time, 0 if g[k] failed. */
mg_status mg_cuda_measure_us(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e);
/* The same of several programs, its hook `measure_all`: everything is compiled first, side by side, and expected values are found side by
   side too; kernels run one after the other. */
mg_status mg_cuda_measure_all(void *user, const mg_measure_job *job, int n, mg_error *e);
#endif /* MIRAGE_DEVICE_ONLY */

/* Between mg_cuda_check and a kernel compiled under MG_EMULATE.  A field element as the emulator holds it: residues,
   or marks.  p: MGI_EMU_UNDEFINED, _NEGINF or _EXP2 for what is no residue; q: MGI_EMU_ABSENT inside an exponential. */
typedef struct mgi_emu_value { uint16_t p, q; } mgi_emu_value;
enum { MGI_EMU_UNDEFINED = 0xFFFF, MGI_EMU_NEGINF = 0xFFFE, MGI_EMU_EXP2 = 0xFFFD, MGI_EMU_MARK = 0xFFF0, MGI_EMU_ABSENT = 0xFFFF };
typedef struct mgi_emu_range { const char *name; void *base; size_t bytes; int writable; } mgi_emu_range;
enum { MGI_EMU_RANGES = 96 }; /* inputs, outputs, workspaces */
/* 16-bit storage replaced by f32, in a build with MG_EMULATE_WIDE.  What a word stands for is told by three runs in the same order, as
   long as no run's course depends on values: every word that is stored is the number of its storing, from `made` on, its low half in
   pass 1 and its high half in pass 2; `log` keeps what every read found.  In pass 3 a read takes the value of that number.
   Number 0 is zeroed memory; the driver numbers the inputs' elements before. */
typedef struct mgi_emu_wide {
  int pass;                  /* 0: 16 bits as they are */
  uint32_t made;             /* the last number given */
  size_t read, logged, room; /* reads of this pass; of pass 1 */
  uint32_t *log;
  float *value;              /* by number, so many: */
  uint32_t values;
  int lost;                  /* out: the passes went different ways, or there was no memory */
} mgi_emu_wide;
typedef struct mgi_emulator {
  int size;                  /* sizeof(mgi_emulator) */
  mgi_emu_wide *wide;        /* NULL: 16 bits as they are */
  uint64_t seed;             /* of fiber, block and copy order: below 6 the plain orders, else random */
  uint32_t p, q;             /* field scalars: the small pair */
  uint64_t key;              /* differs where any of its arithmetic does */
  const void *user;          /* for the callbacks, which are mirage_verify.h's arithmetic on the same pair */
  mgi_emu_value (*arith)(const void *user, int op /* + - * / or m for maximum */, mgi_emu_value a, mgi_emu_value b);
  mgi_emu_value (*row)(const void *user, const char *name, mgi_emu_value a, mgi_emu_value b, mgi_emu_value c);
  mgi_emu_value (*constant)(const void *user, int64_t num, int64_t den);
  mgi_emu_value (*unpack)(const void *user, uint16_t word);
  uint16_t (*pack)(const void *user, mgi_emu_value v);
  size_t shared_limit;       /* bytes a block may have; 0: MG_SHARED_MOST */
  const char *only;          /* of the kernel of this name only the blocks from lo to below hi run; NULL: all do */
  int64_t lo[3], hi[3];
  int64_t grid[3];           /* what `only` has to be launched with; 0: any */
  int alone;                 /* 1: of the other kernels none runs */
  const void *argument[160]; /* out: what `only` was launched with, the pointers of it; 0 for the rest */
  int n_arguments;
  const char *text;          /* NULL, or the emitted file: no launch has more threads than its MG_KERNEL says */
  int unwatched;             /* 1: races in shared memory are not looked for, whatever was compiled for them */
  int n_ranges;              /* global memory that the kernel may touch; 0: any */
  mgi_emu_range range[MGI_EMU_RANGES];
  char error[400];           /* out: the first fault; `@123` in it is an address of the code, from where it was loaded */
  int race;                  /* out: 1 if it is a race */
  uint8_t ahead[MGI_EMU_RANGES]; /* out: ranges read before mg_grid_wait, if it does not wait for the launch before */
  uint64_t blocks, barriers, collectives, copies; /* out: what ran */
  /* the host's side */
  void *stream;              /* the caller's, on which everything has to be; NULL: any */
  int dry;                   /* 1: no block runs; what is launched is noted, to be compared with other calls */
  uint32_t lacks;            /* MG_CAN_.. that the machine which the file is for has not: no such launches */
  int sms, sm_threads, sm_blocks; /* its multiprocessors, and the threads and blocks that one holds; 0: not known */
  int watched;               /* 1: blocks may run side by side, as the file has atomics, tickets or volatile accesses and no clusters */
  int blas;                  /* 1: products at kernel level are cuBLAS's, 0: the templates' */
  int fail_at, fail_with;    /* the call of the runtime, counted from 1, that returns this error; 0: none does */
  const struct mgi_emulator *other; /* another call, whose ranges this one must not know; or NULL */
  char *notes; size_t notes_size; /* where launches are noted, a line each; NULL: nowhere */
  void (*ended)(void *owner, const char *what); /* outside of every array; does not return.  NULL: the signal ends the process */
  void *owner;
  int calls, launches, products; /* out: calls of the runtime, kernels among them, products by cuBLAS */
  int unmodelled;            /* out: 1 if the error is something that the emulator has no meaning for, and no fault */
  int waits;                 /* out: 1 if it is that the blocks that run wait for those that are left out */
  int64_t last_grid[3];      /* out: of the last kernel, or of the one that is alone */
  char last[200];            /* out: its name */
} mgi_emulator;
/* Exported by such a kernel: from here on launches obey, and report to, *s.  Returns what it was compiled for:
   1 field scalars, 0 floats, -1 if the struct is not the one that it knows. */
typedef int (*mgi_emulate_setup_fn)(mgi_emulator *s);
/* Who stored to the global address last: 0 if nobody did since the setup. */
typedef int (*mgi_emulate_writer_fn)(const void *p, int block[3], int *thread);
/* Memory between pages that fault, flush with its end (up to 256 bytes) or with its start.  access: 0 none, 1 read, 2 both.
   NULL: there is none. */
typedef void *(*mgi_emulate_buffer_fn)(const char *name, size_t bytes, int at_end, int access);
typedef void (*mgi_emulate_protect_fn)(void *p, int access);
/* Was anything written beside such memory?  1: no; else a fault of the job says where. */
typedef int (*mgi_emulate_beside_fn)(void);
/* Both calls by two host threads, which take turns at each call of the runtime. */
typedef void (*mgi_emulate_two_fn)(mgi_emulator *a, mgi_emulator *b, int (*call)(void *with, int which), void *with, int rc[2]);

/* Between mg_cuda_run and a kernel compiled under MG_RUNNER. */
enum { MGI_RUN_IN = 64, MGI_RUN_OUT = 8 }; /* MG_MAX_IN, MG_MAX_OUT: a compiled file has no mirage.h */
typedef struct mgi_runner_job {
  int size;                  /* sizeof(mgi_runner_job) */
  int (*launch)(const void *const *in, void *const *out, void *workspace, void *stream);
  int (*launch_pdl)(const void *const *in, void *const *out, void *workspace, void *stream); /* NULL: there is none */
  const int64_t *sym;        /* sizes that come with the launch, before the stream; NULL: it takes none */
  int n_in, n_out;
  const void *in[MGI_RUN_IN]; size_t in_bytes[MGI_RUN_IN];
  void *out[MGI_RUN_OUT]; size_t out_bytes[MGI_RUN_OUT];
  void *again[MGI_RUN_OUT];  /* outputs of the second run */
  void *pdl[MGI_RUN_OUT];    /* outputs of the last of several overlapping runs by launch_pdl */
  size_t workspace_bytes;
  int reps, cold, no_time;
  int n_calls;               /* of a launch, up to MG_RUN_CALLS, each to be timed alone (0: none is) */
  /* results */
  char error[256];
  double us_hot, us_cold, us_hot_min, us_cold_min, us_pdl_hot, us_pdl_cold;
  int launches, cold_sets, driver, runtime, sms, major, minor;
  size_t l2_bytes;
  char gpu[128];
  double call_us_hot[MG_RUN_CALLS], call_us_cold[MG_RUN_CALLS];
} mgi_runner_job;

typedef int (*mgi_runner_fn)(mgi_runner_job *job); /* 0, or the CUDA error, described in job->error */

#ifndef MIRAGE_DEVICE_ONLY
/* Between mg_cuda_calibrate and >>calibrate.  A rate of every run. */
enum { MGI_CALIBRATE_RUNS = 15 };
typedef struct mgi_calibrate_job {
  mgi_runner_job run;        /* first, as the caller knows no more of it; size: of the whole */
  mg_machine m;              /* out: its sizes */
#define MGI_F(kind, type, name, least, most, text) type name[MGI_CALIBRATE_RUNS];
  MG_MACHINE_RATES(MGI_F)    /* out */
#undef MGI_F
} mgi_calibrate_job;
#endif /* MIRAGE_DEVICE_ONLY */

#ifdef __cplusplus
}
#endif

enum { MG_ARGMAX_SHARED = 64 }; /* bytes of a block of an argmax over whole tensors: a key of each warp */
#ifdef __cplusplus
struct alignas(8) mg_key { uint32_t w[2]; }; /* a number and its place (>>library) */
#endif

#if defined(MG_RUNNER) && !defined(__CUDACC_RTC__)
/* Of the calls that a launch makes, the one that the runner wants alone (-1: all are made), and how many it came to. */
struct mgi_picked { int only, come; };
static inline mgi_picked &mgi_picks() {
  static thread_local mgi_picked p = {-1, 0};
  return p;
}
/* 1: the call that would come now is left out. */
static inline int mgi_left_out() {
  mgi_picked &p = mgi_picks();
  return p.only >= 0 && p.come++ != p.only;
}
#else
#define mgi_left_out() 0
#endif

#if defined(__CUDACC__) || defined(MG_EMULATE)
/* ----------------------------------------------------------------------------------------------- >>wrappers
   All device code below and in emitted files is written over these names; nothing else touches the hardware.  Their
   second meaning, on the CPU, is the emulator's (MG_EMULATE).

     mg_num                          a computed scalar: float here
     mg_f16, mg_bf16, mg_f32         storage; mg_widen and mg_narrow<T> convert
     mg_dev_ROW(a, b, c)             an elementwise row of the operator table
     mg_dev_index_ROW(A, S, i, j)    a moving row: operand and place that output element i comes from               */
#ifdef MG_EMULATE
#define MG_UNROLL
#define MG_UNROLL_BY(n)
#define MG_BOTH constexpr

/* ------------------------------------------------------------------------------------------------------- >>emulator
   The device wrappers on the CPU (MG_EMULATE), over floats or, with MG_EMULATE_FIELD, over elements of a small pair of
   fields.  What stands above the wrappers is compiled unchanged.

   Invariants
   1. One block, or one cluster of blocks, runs at a time; its threads are fibers.  A fiber runs until it has to wait: at
      a barrier, a warp collective or an order point of the seed.  Which one runs next is drawn from the seed, so that
      code which relies on an order that no barrier enforces gives a wrong value under some seed.
      A file with atomics, tickets or volatile accesses and no clusters: under every other seed from 2 on up to 16 blocks run
      side by side, no more than the machine holds; under the others another block begins when all that run spin, until as many
      run as the machine holds or there is room for (256, of 16384 threads and 96 MiB in all).  Threads change turns
      at every such access.  Registers do not count in what the machine holds; an atomic that others see is seen by all at once.
   2. A collective (shuffle, mma, ldmatrix, warp barrier) happens when all 32 lanes have arrived, at the same one; a barrier when
      all its threads have.  Two shuffles, products or barriers of the block at different places of the file are not the same
      (mgi_emu_site); barriers of a warp are, and those of a warpgroup go by their number.
   3. A cp.async lands at its issue, or later, at the latest at the wait that covers its group; until then its
      destination holds poison, so that both a read too early and a write too early show.
   4. Shared memory starts each block as poison, and is poison again once the block has ended.  Poison is a NaN among floats and "undefined" among field elements;
      both spread through every operation.
   5. Every fault ends the launch with a message: deadlock, lanes at different collectives, misaligned or
      out-of-bounds access, limits of the launch.  What spins on a volatile, an atomic or a load by a wrapper yields to others:
      where nothing changes for 2000 turns of all, it is a deadlock.  Nothing hangs but a loop without any of these in it.
   6. A kernel that is launched without waiting for the one before must not write, nor read what that one wrote, before
      mg_grid_wait.
   7. Two accesses that no barrier orders are a fault, whatever the values (>>races): to global memory always, to shared
      memory under MG_EMULATE_RACES.
   8. A product of a warpgroup happens warp by warp, at a moment of the seed between its issue and the wait; only then is
      its right operand read.  The four warps issue the same ones; what they read has to be published, under
      MG_EMULATE_RACES.
   9. Everything of a launch is on the caller's stream; nothing in it waits or allocates.  A plain pointer outside of its tensor
      is a fault: by the compiler's instrumentation under MG_EMULATE_RACES, else by pages that fault.
   10. A tensor copy lands at a moment of the seed from its issue on, at the latest when
      no fiber can go on without it.  Till then its destination is poison; from then on it may be read by who has waited for
      the phase that counted its bytes, under MG_EMULATE_RACES.  Phases that get more bytes or arrivals than they expect,
      that were not made known, or whose bytes nobody waits for, are faults.                                       */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <type_traits>
#include <ucontext.h>
#include <unistd.h>
#ifdef MG_EMULATE_FIELD
#include <pthread.h>
#endif
#if defined(__x86_64__) && !defined(MG_EMULATE_UCONTEXT)
#define MGI_EMU_ASM 1
#else
#define MGI_EMU_ASM 0
#endif

typedef void *cudaStream_t;
#define MG_DEV inline __attribute__((unused))
#define MG_KERNEL(...) static
#define MG_MAP const mg_tensor_map
#define MGI_EMU static inline __attribute__((unused))
#define MGI_EMU_QUIET __attribute__((no_sanitize("thread"))) /* it reads and writes what is the emulator's: no access that may race */
#define MGI_EMU_OWN static inline __attribute__((unused)) MGI_EMU_QUIET

/* State of the emulator: one launch at a time, in one host thread.  It is the only mutable state of an emulated file. */
enum { MGI_EMU_THREADS = 1024, MGI_EMU_CLUSTER = 16, MGI_EMU_BESIDE = 16, MGI_EMU_PARTS = 256, MGI_EMU_PARTS_MIB = 96, MGI_EMU_IDLE = 2000, MGI_EMU_FIBERS = MGI_EMU_THREADS * MGI_EMU_CLUSTER, MGI_EMU_STACK = 256 << 10, MGI_EMU_FRAME = 8 << 10,
       MGI_EMU_PHASES = 8 * 2 * 8 + 1 }; /* rings of eight loops, two barriers a stage, eight stages; and a merge's */
typedef struct mgi_emu_copy { unsigned char *to; const unsigned char *from; int valid, landed; uint32_t group; } mgi_emu_copy;
typedef struct mgi_emu_site { int line, from; } mgi_emu_site; /* a call's line; of a call by a template, the line of this file and where the template was called from */
typedef struct mgi_emu_collective { const char *name; void (*perform)(void *const *arg); } mgi_emu_collective;
/* What has been released, or acquired: of `block` what thread tid did up to `when`; of all its threads, if tid is -1, before it. */
typedef struct mgi_emu_edge { uint32_t block, when; int tid; } mgi_emu_edge;
typedef struct mgi_emu_clock { mgi_emu_edge *edge; int n, room; uint32_t news; } mgi_emu_clock; /* news: changes */
typedef struct mgi_emu_thread {
#if MGI_EMU_ASM
  void *sp;
#else
  ucontext_t context;
#endif
  mgi_emu_copy *copy;        /* [0, n_copy) have not been waited for, oldest first */
  int n_copy, cap_copy;
  uint32_t group;            /* of the next cp.async */
  uint32_t arrived, waited;  /* the cluster's barriers that it arrived at and waited for last, counted from 1 */
  uint32_t arrived_at[4];    /* when, by the arrival's number modulo 4 */
  uint8_t state, granted;    /* granted: it has passed mg_grid_wait */
  int from;                  /* the line of the file that the template was called from that it is in, or was last */
  uint16_t published;        /* calls of mg_group_publish */
  int left;                  /* 1: it comes to no further barrier of its block, which counts it until it exits */
  uint32_t waited_for[MGI_EMU_PHASES]; /* phases of each of its block's barriers that it, or one that it met since, has waited for */
  struct mgi_emu_phases *at; /* AT_PHASE: for the next of which it waits */
  mgi_emu_clock read, has;   /* what its atomics and volatile loads found released; of this, what was there before its last fence */
  uint32_t fenced, upto;     /* its last fence, 0: none; its block's last barrier before that */
  struct { const void *at; uint32_t news, now; int wrote; } met; /* where its last atomic was; what it left */
  const void *spin_at;       /* its last look at global memory that may change, */
  uint64_t spin_value, spin_changes; /* what it found, and the count of changes then */
  uint32_t spins, strong;    /* how often nothing was new; atomics and volatile accesses */
} mgi_emu_thread;
enum { MGI_EMU_READY, MGI_EMU_AT_WARP, MGI_EMU_AT_GROUP, MGI_EMU_AT_BLOCK, MGI_EMU_AT_CLUSTER, MGI_EMU_AT_PHASE, MGI_EMU_EXITED, MGI_EMU_AT_SPIN };
/* A barrier of phases in a block's shared memory: its phase `done` is open, and ends when all `count` arrivals and as many bytes
   as were expected have come. */
typedef struct mgi_emu_phases {
  size_t at;                 /* in shared memory */
  int count, arrivals, by;   /* by: the thread that made it */
  int64_t bytes;             /* expected and not yet there */
  uint32_t done, waited, carried; /* phases that have ended; that someone has waited for; to the last one that brought bytes */
  uint8_t known, brings;     /* it was published; its open phase has had bytes */
  uint32_t known_at;         /* at which barrier of the cluster that thread last arrived before */
  uint32_t now_at[MGI_EMU_FIBERS / 32], was_at[MGI_EMU_FIBERS / 32]; /* by warp: what it did before is ordered before the end of the open phase, of the last one */
} mgi_emu_phases;
/* A tensor, and the box of it that a copy brings (mg_map_tensor). */
typedef struct mg_tensor_map { const unsigned char *base; int rank, bytes, wide, lines; int64_t dim[5], stride[5]; } mg_tensor_map;
typedef struct mgi_emu_tensor { mg_tensor_map map; int at[5], part, pushed; size_t to; mgi_emu_phases *phases; unsigned char value[16]; } mgi_emu_tensor; /* a copy under way; pushed: so many bytes of `value` */
typedef struct mgi_emu_part { /* a block that runs, of the cluster or of those side by side */
  unsigned char *shared, *shared_map;
  size_t shared_map_bytes;
  int bid[3], at_block, meets, gone, exited, ended, vote, voted; /* meets: threads of the barrier that some are at; gone: that have said that they leave (mg_leaves), and exited; ended: that exited otherwise */
  mgi_emu_site site;         /* of the barrier that its threads are at */
  uint32_t began, since, block; /* its beginning, its last barrier; its number in the grid */
  mgi_emu_clock has;         /* acquired before its last barrier */
  int acquired, live;        /* acquired: a thread of it has since; live: it has begun and not ended */
  mgi_emu_phases phases[MGI_EMU_PHASES];
  int n_phases;
#ifdef MG_EMULATE_RACES
  struct mgi_emu_cell *cell; /* one a byte of shared_map */
#endif
} mgi_emu_part;
typedef struct mgi_emu_product mgi_emu_product;
typedef struct mgi_emu_warp {
  const mgi_emu_collective *at;
  void *arg[32];
  uint32_t ready;            /* lanes that may run */
  uint32_t since, group;     /* its last barrier; its warpgroup's */
  int arrived, at_group;     /* at_group, of a warpgroup's first: lanes at its barrier */
  mgi_emu_site site;         /* of the collective */
  mgi_emu_product *product;  /* issued and not yet computed, oldest first */
  int n_product, cap_product, fenced;
  uint32_t groups;           /* of products, that have been committed */
  uint64_t issued;           /* of all of them a hash: the warps of a warpgroup issue the same */
} mgi_emu_warp;
typedef struct mgi_emu_state {
  mgi_emulator *job;
  mgi_emu_thread thread[MGI_EMU_FIBERS];
  mgi_emu_warp warp[MGI_EMU_FIBERS / 32];
  int priority[MGI_EMU_FIBERS / 32];
  mgi_emu_part part[MGI_EMU_PARTS];
  int tid, threads, cluster, parts, fibers, exited, failed, order, landing; /* tid: of the fiber, through all parts; parts: that have been used */
  int live, beside, most;    /* blocks that run; that are to, where there are so many; that may, each if those before wait for others */
  int ended;                 /* the part whose block has ended; -1: none has */
  int64_t holds, blocks, begun; /* blocks that the machine holds at once, 0: any number; of the grid; that have begun, with those that are left out */
  int64_t left_out;
  int asleep, idle;          /* fibers that spin; turns of all of these in which nothing changed */
  uint64_t changes, idle_at; /* of memory that others look at, and arrivals; their count when `idle` began */
  uint32_t barrier;          /* the cluster's barrier that is open, from 1 */
  int arrived, gone;         /* arrivals at it; fibers that ended without one */
  int inside;                /* 1: blocks run; 0: the host's code */
  int early;                 /* 1: this launch does not wait for the one before */
  int overlaps;              /* 1: no launch of this call has waited for what was before the call */
  uint32_t now, launched;    /* counts barriers of any kind; where this launch began */
  int grid[3];
  struct mgi_emu_place *place[MGI_EMU_RANGES]; /* of every two bytes of a writable range */
  size_t place_bytes[MGI_EMU_RANGES];
  struct mgi_emu_release *release; /* by what was released through it, in this launch */
  uint32_t n_release, cap_release;
  mgi_emu_tensor *tensor;    /* copies under way */
  int n_tensor, cap_tensor;
  uint64_t rng;
  unsigned char *stacks;
  int n_stacks, n_guarded;   /* guarded: those whose lowest page faults */
  size_t shared_bytes;
#if MGI_EMU_ASM
  void *main_sp;
#else
  ucontext_t main_context;
#endif
  void (*body)(void *);
  void *body_arg;
} mgi_emu_state;
static mgi_emu_state mgi_emu;
MGI_EMU_OWN mgi_emu_part *mgi_emu_part_of(int tid) { return &mgi_emu.part[mgi_emu.parts == 1 ? 0 : tid / mgi_emu.threads]; }

MGI_EMU_OWN uint64_t mgi_emu_random(void) { /* splitmix64 */
  uint64_t z = (mgi_emu.rng += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* ---- switching: fiber to fiber, and to and from the launch */
#if MGI_EMU_ASM
/* Saves the callee-saved registers and the stack pointer to *save, goes on at `load`. */
extern "C" void mgi_emu_jump(void **save, void *load) __attribute__((visibility("hidden")));
__asm__(".text\n.p2align 4\n.globl mgi_emu_jump\n.hidden mgi_emu_jump\n.type mgi_emu_jump,@function\nmgi_emu_jump:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
        ".size mgi_emu_jump, .-mgi_emu_jump\n");
#define MGI_EMU_JUMP(from, to) mgi_emu_jump(&(from), (to))
#define MGI_EMU_SELF(t) mgi_emu.thread[t].sp
#define MGI_EMU_MAIN mgi_emu.main_sp
#else
#define MGI_EMU_JUMP(from, to) swapcontext(&(from), &(to))
#define MGI_EMU_SELF(t) mgi_emu.thread[t].context
#define MGI_EMU_MAIN mgi_emu.main_context
#endif

/* Records the first fault; inside a fiber does not return. */
MGI_EMU_OWN void mgi_emu_fault(int in_fiber, const char *fmt, ...) {
  mgi_emu_state *s = &mgi_emu;
  if (!s->failed && s->job && !s->job->error[0]) {
    int n = 0;
    if (in_fiber)
      n = snprintf(s->job->error, sizeof s->job->error, "block (%d, %d, %d) thread %d: ", mgi_emu_part_of(s->tid)->bid[0], mgi_emu_part_of(s->tid)->bid[1], mgi_emu_part_of(s->tid)->bid[2], s->tid % s->threads);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->job->error + n, sizeof s->job->error - (size_t)n, fmt, ap);
    va_end(ap);
  }
  s->failed = 1;
  if (in_fiber) MGI_EMU_JUMP(MGI_EMU_SELF(s->tid), MGI_EMU_MAIN);
}
/* Room for one more behind the n of a list; 0: there is no memory. */
template<class T, class N> static __attribute__((unused, no_sanitize("thread"))) int mgi_emu_room(T **list, N n, N *room) {
  if (n < *room) return 1;
  const N wider = *room ? 2 * *room : 16;
  T *const more = (T *)realloc(*list, (size_t)wider * sizeof *more);
  if (more) *list = more, *room = wider;
  else mgi_emu_fault(1, "out of memory");
  return more != 0;
}

/* The next thread by the seed's order; -1 if none is ready. */
MGI_EMU_OWN int mgi_emu_next(void) {
  mgi_emu_state *s = &mgi_emu;
  int warps = s->fibers / 32, w = -1;
  switch (s->order) {
  case 0: /* lowest first */
    for (w = 0; w < warps && !s->warp[w].ready; w++) {}
    return w < warps ? w * 32 + __builtin_ctz(s->warp[w].ready) : -1;
  case 1: /* highest first */
    for (w = warps - 1; w >= 0 && !s->warp[w].ready; w--) {}
    return w >= 0 ? w * 32 + 31 - __builtin_clz(s->warp[w].ready) : -1;
  case 2: { /* any warp, now and then another */
    int n = 0;
    for (int v = 0; v < warps; v++)
      if (s->warp[v].ready && mgi_emu_random() % (uint64_t)++n == 0) w = v;
    break;
  }
  default: /* the favoured warp runs as far ahead as it can; favours change rarely */
    if (mgi_emu_random() % 256 == 0) {
      int a = (int)(mgi_emu_random() % (uint64_t)warps), b = (int)(mgi_emu_random() % (uint64_t)warps), t = s->priority[a];
      s->priority[a] = s->priority[b];
      s->priority[b] = t;
    }
    for (int v = 0; v < warps; v++)
      if (s->warp[v].ready && (w < 0 || s->priority[v] < s->priority[w])) w = v;
  }
  if (w < 0) return -1;
  uint32_t ready = s->warp[w].ready;
  int lane = (int)(mgi_emu_random() & 31);
  uint32_t turned = lane ? (ready >> lane) | (ready << (32 - lane)) : ready;
  return w * 32 + ((lane + __builtin_ctz(turned)) & 31);
}

/* What is not modelled ends the launch as a fault does, and refutes nothing. */
#define MGI_EMU_UNMODELLED(in_fiber, ...) (mgi_emu.job->unmodelled |= !mgi_emu.failed, mgi_emu_fault(in_fiber, __VA_ARGS__))
MGI_EMU_OWN void mgi_emu_stuck(void) {
  mgi_emu_state *s = &mgi_emu;
  int at_warp = 0, at_group = 0, at_block = 0, at_cluster = 0, at_phase = 0, first = -1, left = -1;
  for (int t = 0; t < s->fibers; t++) {
    const int state = s->thread[t].state;
    at_block += state == MGI_EMU_AT_BLOCK;
    at_cluster += state == MGI_EMU_AT_CLUSTER;
    at_group += state == MGI_EMU_AT_GROUP;
    at_phase += state == MGI_EMU_AT_PHASE;
    if (state != MGI_EMU_EXITED && (left < 0 || (state == MGI_EMU_AT_SPIN && s->thread[left].state != MGI_EMU_AT_SPIN))) left = t;
    if (state == MGI_EMU_AT_WARP) {
      at_warp++;
      if (first < 0) first = t;
    }
  }
  if (left < 0) left = 0;
  const int *bid = mgi_emu_part_of(left)->bid;
  const long long blocks = (long long)s->blocks, live = s->live, more = blocks - (long long)s->begun;
  if (s->asleep) {
    const mgi_emu_thread *f = &s->thread[left];
    char where[160] = "memory";
    for (int k = 0; k < s->job->n_ranges; k++) {
      const mgi_emu_range *g = &s->job->range[k];
      if ((uintptr_t)f->spin_at - (uintptr_t)g->base < g->bytes) snprintf(where, sizeof where, "offset %lld of %.80s", (long long)((const char *)f->spin_at - (const char *)g->base), g->name);
    }
    if (s->left_out) {
      s->job->waits = 1;
      mgi_emu_fault(0, "its blocks wait for others, of which only some run");
    } else if (more && (!s->holds || live < s->holds))
      MGI_EMU_UNMODELLED(0, "%lld blocks of %d threads that wait for others of a grid of %lld%s: no more run side by side", live, s->threads, blocks, s->cluster > 1 ? " in clusters" : "");
    else if (more)
      mgi_emu_fault(0, "deadlock: %lld blocks of a grid of %lld wait for others, and the machine holds no more than %lld at once: block (%d, %d, %d) thread %d spins on %s, where it finds %lld", live, blocks, (long long)s->holds,
                    bid[0], bid[1], bid[2], left % s->threads, where, (long long)f->spin_value);
    else
      mgi_emu_fault(0, "deadlock: of a grid of %lld blocks %lld are left, all of which wait: block (%d, %d, %d) thread %d spins on %s, where it finds %lld, and %d more spin, %d wait at mg_sync", blocks, live, bid[0],
                    bid[1], bid[2], left % s->threads, where, (long long)f->spin_value, s->asleep - 1, at_block);
    return;
  }
  char waits[160] = "";
  if (at_cluster) snprintf(waits, sizeof waits, ", %d at the cluster's barrier", at_cluster);
  if (at_group) snprintf(waits + strlen(waits), sizeof waits - strlen(waits), ", %d at a warpgroup's", at_group);
  if (at_phase) snprintf(waits + strlen(waits), sizeof waits - strlen(waits), ", %d for a phase that does not end", at_phase);
  mgi_emu_fault(0, "deadlock in block (%d, %d, %d): of %d threads %d wait at mg_sync%s, %d in a warp at %s (thread %d among them), %d have exited", bid[0], bid[1], bid[2], s->live * s->threads, at_block, waits,
                at_warp, first < 0 ? "nothing" : s->warp[first / 32].at->name, first, s->exited);
}

MGI_EMU void mgi_emu_tensor_land(int which);
/* Those that spin look again. */
MGI_EMU_OWN void mgi_emu_wake(void) {
  mgi_emu_state *s = &mgi_emu;
  for (int t = 0; t < s->fibers && s->asleep; t++)
    if (s->thread[t].state == MGI_EMU_AT_SPIN) s->thread[t].state = MGI_EMU_READY, s->warp[t / 32].ready |= 1u << (t % 32), s->asleep--;
}
/* Something that others may wait for has changed. */
MGI_EMU_OWN void mgi_emu_changes(void) {
  mgi_emu.changes++;
  if (mgi_emu.asleep) mgi_emu_wake();
}
/* The next fiber; -1: none can go on.  Where none is ready copies land, then those that spin look again: twice where another
   block may begin, else often, as a loop of so many turns need not be a wait. */
MGI_EMU_OWN int mgi_emu_pick(void) {
  mgi_emu_state *s = &mgi_emu;
  int next = mgi_emu_next();
  for (; next < 0 && s->n_tensor; next = mgi_emu_next()) mgi_emu_tensor_land((int)(mgi_emu_random() % (uint64_t)s->n_tensor));
  if (next >= 0 || !s->asleep) return next;
  if (s->idle_at != s->changes) s->idle = 0, s->idle_at = s->changes;
  if (s->idle >= (s->begun < s->blocks - s->left_out && s->live < s->most ? 2 : (int)MGI_EMU_IDLE)) return -1;
  s->idle++;
  mgi_emu_wake();
  return mgi_emu_next();
}
/* Gives the processor to the next fiber; returns when it is this one's turn again. */
MGI_EMU_OWN void mgi_emu_yield(void) {
  mgi_emu_state *s = &mgi_emu;
  int self = s->tid, next = mgi_emu_pick();
  if (next == self) return;
  if (next < 0) {
    MGI_EMU_JUMP(MGI_EMU_SELF(self), MGI_EMU_MAIN);
    return;
  }
  s->tid = next;
  MGI_EMU_JUMP(MGI_EMU_SELF(self), MGI_EMU_SELF(next));
}
/* This thread looked at p and found `value`: if that is what it found before, so often that it seems to wait, others run. */
MGI_FN __attribute__((unused, no_sanitize("thread"))) void mgi_emu_look(const void *p, uint64_t value, uint32_t most) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  const int same = t->spin_at == p && t->spin_value == value && t->spin_changes == s->changes;
  t->spins = same ? t->spins + 1 : 0;
  t->spin_at = p, t->spin_value = value, t->spin_changes = s->changes;
  if (t->spins < most) return;
  t->state = MGI_EMU_AT_SPIN;
  s->warp[s->tid / 32].ready &= ~(1u << (s->tid % 32));
  s->asleep++;
  mgi_emu_yield();
}

/* ------------------------------------------------------------------------------------------------------- >>races
   Which accesses no barrier orders.  s->now counts barriers of any kind; an access is stamped with it, and an earlier
   access `a` of thread u is ordered before one of thread t now, if

     u = t                            or
     they share a warp, and the warp's last barrier of any of these came after a       a.when < warp.since   or
     they share a warpgroup, and its last mg_sync_group or mg_sync came after a        a.when < warp.group   or
     they share a block, and its last mg_sync came after a                             a.when < part.since   or
     they share a cluster, and u arrived after a at the barrier that t waited for      a.when < u.arrived_at or
     u's warp arrived, after a and its mg_sync_warp, at a phase that t waited for      a.when < was_at[warp] or
     u's block released it, and t's block has acquired that: by a fence and an atomic, or a volatile store, of a thread after a
     and, if the thread is not u, its block's barrier; then an atomic or a volatile load of the same word and a fence of a thread
     of t's block; then, if that is not t, its barrier.  A ticket is an atomic between two fences (mg_last_of).  Blocks hand on
     what they have acquired.

   Every byte of shared memory has a cell: its last write, and the reads that no later access has shown to be ordered, of
   which the latest thread and how many others are kept: all lanes of one warp, or of several, stand and fall together.  A
   cp.async writes from its issue to the wait that covers it: whoever touches its bytes in between races, its own thread
   too.  Every two bytes of a writable tensor or the workspace have a place, which also tells who stored there last.
   Shuffles, ldmatrix and mma order no memory.  Accesses to shared memory are reported by the compiler's
   instrumentation for thread sanitizers, whose entry points are defined here; nothing of a sanitizer is linked.     */
#define MGI_EMU_PLAIN __attribute__((unused)) MGI_EMU_QUIET
typedef struct mgi_emu_release { const void *count; mgi_emu_clock clock; } mgi_emu_release;
typedef struct mgi_emu_place { uint32_t w_when, w_block, r_when, r_block; uint16_t w_tid, r_tid, many, w_atomic; } mgi_emu_place; /* tid: in the block; w_atomic: it was by an atomic, or volatile */
enum { MGI_EMU_ONE, MGI_EMU_WARP, MGI_EMU_GROUP, MGI_EMU_BLOCK, MGI_EMU_GRID };
static inline MGI_EMU_PLAIN int mgi_emu_both(int u, int t) { return u / 32 == t / 32 ? MGI_EMU_WARP : u / 128 == t / 128 ? MGI_EMU_GROUP : MGI_EMU_BLOCK; } /* what threads u and t share */

/* Is what thread u (through the cluster) did at `when` ordered before thread t?  many: who else did. */
static inline MGI_EMU_PLAIN int mgi_emu_ordered(int u, uint32_t when, int many, int t) {
  const mgi_emu_state *s = &mgi_emu;
  if (u == t && many == MGI_EMU_ONE) return 1;
  const int k = s->parts == 1 ? 0 : t / s->threads;
  if (u / 32 == t / 32 && many < MGI_EMU_GROUP && when < s->warp[t / 32].since) return 1;
  if (s->parts == 1 || u / s->threads == k) {
    if (u / 128 == t / 128 && many < MGI_EMU_BLOCK && when < s->warp[t / 32].group) return 1;
    if (when < s->part[k].since) return 1;
  }
  if (s->cluster == 1) return 0;
  const mgi_emu_thread *a = &s->thread[u];
  const uint32_t waited = s->thread[t].waited;
  return waited && a->arrived >= waited && a->arrived < waited + 4 && when < a->arrived_at[waited % 4];
}
/* The same by phases: of each barrier the last one alone, as a warp that may not go on arrives at no next one. */
MGI_FN MGI_EMU_PLAIN int mgi_emu_ordered_by_phase(int u, uint32_t when, int t) {
  const mgi_emu_state *s = &mgi_emu;
  const mgi_emu_part *b = &s->part[t / s->threads];
  for (int k = 0; k < b->n_phases; k++)
    if (s->thread[t].waited_for[k] && s->thread[t].waited_for[k] == b->phases[k].done && when < b->phases[k].was_at[u / 32]) return 1;
  return 0;
}
static inline MGI_EMU_PLAIN uint64_t mgi_emu_edge_key(const mgi_emu_edge *x) {
  return (uint64_t)x->block << 32 | (uint32_t)(x->tid + 1);
}
/* Into c what it does not have of `from`: both are in order, as grids of blocks that all wait make long ones. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_clock_join(mgi_emu_clock *c, const mgi_emu_clock *from) {
  int more = 0, later = 0;
  for (int k = 0, i = 0; k < from->n; k++) {
    const uint64_t key = mgi_emu_edge_key(&from->edge[k]);
    while (i < c->n && mgi_emu_edge_key(&c->edge[i]) < key) i++;
    if (i == c->n || mgi_emu_edge_key(&c->edge[i]) > key) more++;
    else if (c->edge[i].when < from->edge[k].when) c->edge[i].when = from->edge[k].when, later = 1;
  }
  if (!more && !later) return;
  c->news++;
  while (more && c->room < c->n + more)
    if (!mgi_emu_room(&c->edge, c->room, &c->room)) return;
  int i = c->n - 1, to = (c->n += more) - 1;
  for (int k = from->n - 1; to > i; to--) { /* from the end on, in place, while some are missing */
    const uint64_t key = mgi_emu_edge_key(&from->edge[k]), mine = i < 0 ? 0 : mgi_emu_edge_key(&c->edge[i]);
    if (i >= 0 && mine >= key) c->edge[to] = c->edge[i--], k -= mine == key;
    else c->edge[to] = from->edge[k--];
  }
}
/* When what thread tid of `block` did, or all did if it is -1, was released, as c knows; 0: it was not. */
MGI_FN MGI_EMU_PLAIN uint32_t mgi_emu_clock_when(const mgi_emu_clock *c, uint32_t block, int tid) {
  const mgi_emu_edge x = {block, 0, tid};
  int low = 0, high = c->n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (mgi_emu_edge_key(&c->edge[middle]) < mgi_emu_edge_key(&x)) low = middle + 1;
    else high = middle;
  }
  return low < c->n && c->edge[low].block == block && c->edge[low].tid == tid ? c->edge[low].when : 0;
}
/* The same across the launch: `block` is the number of u's block, u counts within it. */
MGI_FN MGI_EMU_PLAIN int mgi_emu_ordered_global(uint32_t block, int u, uint32_t when, int many, int *by_ticket) {
  const mgi_emu_state *s = &mgi_emu;
  const int t = s->tid;
  const mgi_emu_part *me = mgi_emu_part_of(t);
  if (when < s->launched) return 1;
  if (many < MGI_EMU_GRID)
    for (int k = 0; k < s->parts; k++)
      if (s->part[k].block == block && mgi_emu_ordered(k * s->threads + u, when, many, t)) return 1;
  if (block == me->block) return 0;
  for (int which = 0; which < 2; which++) {
    const mgi_emu_clock *c = which ? &s->thread[t].has : &me->has;
    if (when < mgi_emu_clock_when(c, block, -1) || (many == MGI_EMU_ONE && when <= mgi_emu_clock_when(c, block, u)))
      return *by_ticket = 1;
  }
  return 0;
}
MGI_FN MGI_EMU_PLAIN const char *mgi_emu_block_text(uint32_t block, char *text, size_t n) {
  const mgi_emu_state *s = &mgi_emu;
  const uint32_t x = (uint32_t)s->grid[0], y = (uint32_t)s->grid[1];
  snprintf(text, n, "block (%u, %u, %u)", block % x, block / x % y, block / x / y);
  return text;
}
MGI_FN __attribute__((noinline)) MGI_EMU_PLAIN void mgi_emu_race_global(const mgi_emu_range *g, const void *p, int write, int was_write, uint32_t block, int u, int fresh) {
  char who[64];
  mgi_emu.job->race = 1;
  mgi_emu_fault(1, "%s offset %lld of %s, which thread %d of %s %s: %s", write ? "writes" : "reads", (long long)((const char *)p - (const char *)g->base), g->name, u,
                mgi_emu_block_text(block, who, sizeof who), was_write ? "wrote" : "read", fresh ? "that needs mg_ldg_fresh" : "nothing orders the two");
}
/* An access of this thread to a writable range.  fresh -1: an atomic or a volatile access, which needs no order among such. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_touch_global(int range, const void *p, size_t bytes, int write, int fresh) {
  mgi_emu_state *s = &mgi_emu;
  const mgi_emu_range *g = &s->job->range[range];
  const uint32_t block = mgi_emu_part_of(s->tid)->block;
  const int t = s->tid % s->threads;
  size_t at = (size_t)((const char *)p - (const char *)g->base);
  int by_ticket = 0;
  if (!s->place[range]) return;
  if (s->early && !s->thread[s->tid].granted) { /* the launch before may still run */
    if (write || (s->place[range][at / 2].w_when && s->place[range][at / 2].w_when < s->launched)) {
      s->job->race = 1;
      mgi_emu_fault(1, "%s offset %lld of %s before mg_grid_wait, in a launch that does not wait for the one before", write ? "writes" : "reads", (long long)at, g->name);
    }
  }
  for (size_t k = at / 2; k <= (at + bytes - 1) / 2; k++) {
    mgi_emu_place *c = &s->place[range][k];
    if (c->w_when && !(c->w_block == block && c->w_tid == t) && !(fresh < 0 && c->w_atomic) && !mgi_emu_ordered_global(c->w_block, c->w_tid, c->w_when, MGI_EMU_ONE, &by_ticket))
      mgi_emu_race_global(g, p, write, 1, c->w_block, c->w_tid, 0);
    if (by_ticket && !write && !fresh) mgi_emu_race_global(g, p, write, 1, c->w_block, c->w_tid, 1);
    if (!write && fresh < 0) continue;
    const int alone = !c->r_when || (c->r_block == block && c->r_tid == t && c->many == MGI_EMU_ONE) || mgi_emu_ordered_global(c->r_block, c->r_tid, c->r_when, c->many, &by_ticket);
    if (write) {
      if (!alone) mgi_emu_race_global(g, p, 1, 0, c->r_block, c->r_tid, 0);
      c->w_when = s->now;
      c->w_block = block;
      c->w_tid = (uint16_t)t;
      c->w_atomic = fresh < 0;
      c->r_when = 0;
    } else {
      if (alone) c->r_block = block, c->r_tid = (uint16_t)t, c->many = MGI_EMU_ONE;
      else {
        const int many = c->r_block != block ? MGI_EMU_GRID : mgi_emu_both(c->r_tid, t);
        if (c->many < many) c->many = (uint16_t)many;
        c->r_block = block, c->r_tid = (uint16_t)t;
      }
      c->r_when = s->now;
    }
  }
}
/* ---- what atomics and volatile accesses hand on */
/* Of the word at p; NULL: nothing was released through it, or, if it is to be made, there is no memory. */
MGI_FN MGI_EMU_PLAIN mgi_emu_clock *mgi_emu_released(const void *p, int make) {
  mgi_emu_state *s = &mgi_emu;
  for (uint32_t k = 0; k < s->n_release; k++)
    if (s->release[k].count == p) return &s->release[k].clock;
  const uint32_t room = s->cap_release;
  if (!make || !mgi_emu_room(&s->release, s->n_release, &s->cap_release)) return 0;
  memset((void *)(s->release + room), 0, (s->cap_release - room) * sizeof *s->release);
  s->release[s->n_release].count = p;
  s->release[s->n_release].clock.n = 0;
  return &s->release[s->n_release++].clock;
}
/* A fence: what was done before is released by what is stored after; what was read before is acquired. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_fence(void) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  mgi_emu_part *b = mgi_emu_part_of(s->tid);
  t->fenced = ++s->now;
  t->upto = b->since;
  if (!t->read.n) return;
  mgi_emu_clock_join(&t->has, &t->read);
  t->read.n = 0;
  b->acquired = 1;
}
/* An atomic, or a volatile access, of the word at p: what it finds released, and what it releases.  A store ends what was. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_hands_on(const void *p, int reads, int writes) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  const mgi_emu_part *b = mgi_emu_part_of(s->tid);
  mgi_emu_clock *c = mgi_emu_released(p, writes && t->fenced);
  if (!c) return;
  if (reads && t->met.at == p && t->met.news == c->news && (t->met.wrote || !writes) && t->fenced <= t->met.now &&
      b->since <= t->met.now)
    return; /* it spins: neither has anything new for the other */
  if (reads) mgi_emu_clock_join(&t->read, c);
  if (writes && !reads) c->n = 0, c->news++;
  if (writes && t->fenced) {
    mgi_emu_edge edge[2] = {{b->block, t->upto, -1}, {b->block, t->fenced, s->tid % s->threads}};
    const mgi_emu_clock mine = {edge, 2, 2, 0};
    mgi_emu_clock_join(c, &b->has);
    mgi_emu_clock_join(c, &t->has);
    mgi_emu_clock_join(c, &mine);
  }
  t->met.at = p, t->met.news = c->news, t->met.now = s->now, t->met.wrote = writes;
}
/* At the block's barrier: what its threads have acquired is all threads'. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_acquired(mgi_emu_part *b) {
  mgi_emu_state *s = &mgi_emu;
  b->acquired = 0;
  for (int t = (int)(b - s->part) * s->threads, end = t + s->threads; t < end; t++) {
    if (s->thread[t].has.n) mgi_emu_clock_join(&b->has, &s->thread[t].has);
    s->thread[t].has.n = 0;
  }
}
MGI_EMU int mgi_emu_places(void) { /* memory for them, poured as it is touched */
  mgi_emu_state *s = &mgi_emu;
  for (int k = 0; k < MGI_EMU_RANGES; k++) {
    size_t need = k < s->job->n_ranges && s->job->range[k].writable ? (s->job->range[k].bytes / 2 + 1) * sizeof(mgi_emu_place) : 0;
    if (s->place[k]) munmap(s->place[k], s->place_bytes[k]);
    s->place[k] = 0;
    if (!need) continue;
    void *m = mmap(0, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) return 0;
    s->place[k] = (mgi_emu_place *)m;
    s->place_bytes[k] = need;
  }
  return 1;
}
extern "C" __attribute__((visibility("default"))) int mgi_emulate_writer(const void *p, int block[3], int *thread) {
  const mgi_emu_state *s = &mgi_emu;
  for (int k = 0; s->job && k < s->job->n_ranges; k++) {
    const mgi_emu_range *g = &s->job->range[k];
    if ((uintptr_t)p < (uintptr_t)g->base || (uintptr_t)p >= (uintptr_t)g->base + g->bytes || !s->place[k]) continue;
    const mgi_emu_place *c = &s->place[k][((const char *)p - (const char *)g->base) / 2];
    if (!c->w_when || c->w_block == ~0u) return 0; /* nobody, or the host's order */
    block[0] = (int)(c->w_block % (uint32_t)s->grid[0]);
    block[1] = (int)(c->w_block / (uint32_t)s->grid[0] % (uint32_t)s->grid[1]);
    block[2] = (int)(c->w_block / (uint32_t)s->grid[0] / (uint32_t)s->grid[1]);
    *thread = c->w_tid;
    return 1;
  }
  return 0;
}

/* ---- memory between pages that fault: tensors and workspaces of link 2 */
typedef struct mgi_emu_buffer { char name[64]; unsigned char *map, *data; size_t map_bytes, bytes; } mgi_emu_buffer;
enum { MGI_EMU_BUFFERS = 512, MGI_EMU_GUARD = 64 << 10 };
static struct mgi_emu_memory { unsigned char *base; size_t bytes, used; int n; mgi_emu_buffer buffer[MGI_EMU_BUFFERS]; } mgi_emu_memory;

extern "C" __attribute__((visibility("default"))) MGI_EMU_PLAIN void mgi_emulate_protect(void *p, int access) {
  for (int k = 0; k < mgi_emu_memory.n; k++) {
    const mgi_emu_buffer *b = &mgi_emu_memory.buffer[k];
    if (b->data == p) mprotect(b->map, b->map_bytes, access == 2 ? PROT_READ | PROT_WRITE : access ? PROT_READ : PROT_NONE);
  }
}
extern "C" __attribute__((visibility("default"))) MGI_EMU_PLAIN void *mgi_emulate_buffer(const char *name, size_t bytes, int at_end, int access) {
  struct mgi_emu_memory *m = &mgi_emu_memory;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + 255) / 256 * 256, need = (room + page) / page * page;
  for (m->bytes = m->base ? m->bytes : (size_t)1 << 46; !m->base && m->bytes >= (size_t)1 << 30; m->bytes /= m->base ? 1 : 4) {
    void *all = mmap(0, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all != MAP_FAILED) m->base = (unsigned char *)all;
  }
  if (!m->base || m->n == MGI_EMU_BUFFERS || m->bytes - m->used < need + 2 * MGI_EMU_GUARD) return 0;
  mgi_emu_buffer *b = &m->buffer[m->n];
  snprintf(b->name, sizeof b->name, "%s", name);
  b->map = m->base + m->used + MGI_EMU_GUARD;
  b->map_bytes = need;
  b->bytes = bytes;
  b->data = at_end ? b->map + need - room : b->map;
  if (access && mprotect(b->map, need, PROT_READ | PROT_WRITE)) return 0;
  for (size_t k = 0; access && k < need; k++) /* poison beside it, as far as a page goes */
    if (b->map + k < b->data || b->map + k >= b->data + bytes) b->map[k] = 0xFF;
    else k += bytes - 1;
  m->used += need + MGI_EMU_GUARD;
  m->n++;
  mgi_emulate_protect(b->data, access);
  return b->data;
}
extern "C" __attribute__((visibility("default"))) MGI_EMU_PLAIN int mgi_emulate_beside(void) {
  const mgi_emulator *job = mgi_emu.job;
  for (int k = 0; job && k < mgi_emu_memory.n; k++) {
    const mgi_emu_buffer *b = &mgi_emu_memory.buffer[k];
    int open = 0;
    for (int r = 0; r < job->n_ranges; r++) open |= job->range[r].base == (void *)b->data && job->range[r].writable;
    for (size_t j = 0; open && j < b->map_bytes; j++)
      if (b->map + j >= b->data && b->map + j < b->data + b->bytes) j += b->bytes - 1;
      else if (b->map[j] != 0xFF) {
        const long long at = (long long)(b->map + j - b->data);
        mgi_emu_fault(0, "something was written %lld bytes %s of %s", at < 0 ? -at : at - (long long)b->bytes + 1, at < 0 ? "before the start" : "past the end", b->name);
        return 0;
      }
  }
  return 1;
}
/* An access by a plain pointer, that no wrapper has looked at. */
MGI_FN __attribute__((unused)) MGI_EMU_PLAIN void mgi_emu_raw(const void *p, size_t bytes, int write, int fresh) {
  const mgi_emulator *job = mgi_emu.job;
  const uintptr_t a = (uintptr_t)p;
  if (a - (uintptr_t)mgi_emu_memory.base >= mgi_emu_memory.used || !job->n_ranges) return;
  for (int k = 0; k < job->n_ranges; k++) {
    const mgi_emu_range *g = &job->range[k];
    if (a < (uintptr_t)g->base || a + bytes > (uintptr_t)g->base + g->bytes) continue;
    if (write && !g->writable) mgi_emu_fault(1, "writes to %s, which is an input", g->name);
    if (g->writable) mgi_emu_touch_global(k, p, bytes, write, fresh);
    return;
  }
  for (int k = 0; k < mgi_emu_memory.n; k++) {
    const mgi_emu_buffer *b = &mgi_emu_memory.buffer[k];
    if (a + MGI_EMU_GUARD >= (uintptr_t)b->map && a < (uintptr_t)b->map + b->map_bytes)
      mgi_emu_fault(1, "%s %d bytes at offset %lld of %s, which has %llu, by a plain pointer", write ? "writes" : "reads", (int)bytes, (long long)(a - (uintptr_t)b->data), b->name, (unsigned long long)b->bytes);
  }
}
/* A page that faults was touched: says whose, and ends. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_signal(int sig, siginfo_t *how, void *context) {
  mgi_emu_state *s = &mgi_emu;
  const unsigned char *a = (const unsigned char *)how->si_addr;
  char who[120] = "the host's code", what[300];
  int write = 0;
#if defined(__x86_64__) && defined(REG_ERR)
  write = (int)(((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1);
#else
  (void)context;
#endif
  if (s->inside) snprintf(who, sizeof who, "block (%d, %d, %d) thread %d", mgi_emu_part_of(s->tid)->bid[0], mgi_emu_part_of(s->tid)->bid[1], mgi_emu_part_of(s->tid)->bid[2], s->tid % s->threads);
  snprintf(what, sizeof what, "%s %s memory outside of every array%s", who, write ? "writes" : "reads", (uintptr_t)a < 65536 ? ": by a null pointer" : "");
  for (int k = 0; k < mgi_emu_memory.n; k++) {
    const mgi_emu_buffer *b = &mgi_emu_memory.buffer[k];
    int mine = 0, input = 0;
    if (a + MGI_EMU_GUARD / 2 < b->map || a >= b->map + b->map_bytes + MGI_EMU_GUARD / 2) continue; /* the nearer one's */
    for (int r = 0; s->job && r < s->job->n_ranges; r++)
      if (s->job->range[r].base == (void *)b->data) mine = 1, input = !s->job->range[r].writable;
    if (s->inside && mine && input && write && a >= b->data && a < b->data + b->bytes) snprintf(what, sizeof what, "%s writes to %s, which is an input", who, b->name);
    else
      snprintf(what, sizeof what, "%s %s offset %lld of %s, which has %llu bytes%s", who, write ? "writes" : "reads", (long long)(a - b->data), b->name, (unsigned long long)b->bytes,
               !s->inside ? " of the device's" : !mine ? ", of another call" : a >= b->data && a < b->data + b->bytes && !input ? ": the rest is another range's" : "");
    break;
  }
  for (int k = 0; s->inside && k < s->parts; k++)
    if (a >= s->part[k].shared_map && a < s->part[k].shared_map + s->part[k].shared_map_bytes)
      snprintf(what, sizeof what, "%s %s offset %lld of its %llu bytes of shared memory", who, write ? "writes" : "reads", (long long)(a - s->part[k].shared), (unsigned long long)s->shared_bytes);
  signal(sig, SIG_DFL);
  if (s->job && s->job->ended) s->job->ended(s->job->owner, what);
}
MGI_FN MGI_EMU_PLAIN void mgi_emu_signals(void) {
  static unsigned char stack[64 << 10];
  static int done;
  stack_t alone;
  struct sigaction act;
  if (done++) return;
  memset(&alone, 0, sizeof alone);
  memset(&act, 0, sizeof act);
  alone.ss_sp = stack;
  alone.ss_size = sizeof stack;
  act.sa_sigaction = mgi_emu_signal;
  act.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaltstack(&alone, 0);
  sigaction(SIGSEGV, &act, 0);
  sigaction(SIGBUS, &act, 0);
}

/* Before an atomic or a volatile access: others may come first, and now and then even those that would wait. */
MGI_FN __attribute__((unused)) MGI_EMU_PLAIN void mgi_emu_others_first(mgi_emu_thread *t) {
  if (++t->strong % 256 == 0) t->spin_at = 0, mgi_emu_look(0, 0, 0);
  else mgi_emu_yield();
}
/* Before a volatile access: others may come first.  0 if it is to no global memory, and has to be looked at as any other. */
MGI_FN __attribute__((unused, noinline)) MGI_EMU_PLAIN int mgi_emu_strong(const void *p, size_t bytes, int write) {
  mgi_emu_state *s = &mgi_emu;
  const uintptr_t a = (uintptr_t)p;
  if (!s->inside || s->failed) return 0;
  mgi_emu_thread *t = &s->thread[s->tid];
  if (a - (uintptr_t)s->stacks < (size_t)s->n_stacks * MGI_EMU_STACK) return 0; /* a thread's own */
  uint64_t value = 0;
  const int known = a - (uintptr_t)mgi_emu_memory.base < mgi_emu_memory.used;
  int here = 0;
  for (int k = 0; k < s->job->n_ranges && !here; k++) here = a >= (uintptr_t)s->job->range[k].base && a + bytes <= (uintptr_t)s->job->range[k].base + s->job->range[k].bytes;
  mgi_emu_others_first(t);
  if (!here && known) return 0;
  if (write) mgi_emu_changes();
  else {
    memcpy(&value, p, bytes < 8 ? bytes : 8);
    mgi_emu_look(p, value, 1);
  }
  if (!here) return 0;
  mgi_emu_raw(p, bytes, write, -1);
  mgi_emu_hands_on(p, !write, write);
  return 1;
}

#ifdef MG_EMULATE_RACES
/* flying: 1 a cp.async, 3 a tensor copy, under way or there, of phase w_phase of its block's barrier w_bar; w_published: the writer's count */
typedef struct mgi_emu_cell { uint32_t w_when, r_when, w_pc, r_pc, w_phase; uint16_t w_tid, r_tid, w_published; uint8_t flying, many, w_bar, none[3]; } mgi_emu_cell;
static_assert(sizeof(mgi_emu_cell) == 32, "cells are compared as four words");
/* 1 if the two cells are the same. */
static inline MGI_EMU_PLAIN int mgi_emu_cell_same(const mgi_emu_cell *c, const mgi_emu_cell *d) {
  uint64_t x[4], y[4];
  memcpy(x, c, sizeof x);
  memcpy(y, d, sizeof y);
  return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]));
}
extern "C" const char mgi_emu_image[] __asm__("__ehdr_start") __attribute__((visibility("hidden"))); /* the linker's: where the file was loaded */
MGI_FN MGI_EMU_PLAIN uint32_t mgi_emu_pc(const void *at) { return (uint32_t)((uintptr_t)at - (uintptr_t)mgi_emu_image) - 1; }

MGI_FN __attribute__((noinline)) MGI_EMU_PLAIN void mgi_emu_race(const mgi_emu_part *b, const mgi_emu_cell *c, const unsigned char *p, int write, int was_write, uint32_t pc) {
  const mgi_emu_state *s = &mgi_emu;
  const int u = was_write ? c->w_tid : c->r_tid;
  char who[64] = "", by[128];
  if (u / s->threads != s->tid / s->threads) mgi_emu_block_text(s->part[u / s->threads].block, who, sizeof who);
  if (u == s->tid && was_write && c->flying) snprintf(by, sizeof by, "it");
  else if (u == s->tid && !was_write && c->many) snprintf(by, sizeof by, "other threads"); /* it read too, the last of them */
  else snprintf(by, sizeof by, "thread %d%s%s%s", u % s->threads, !was_write && c->many ? " and others" : "", who[0] ? " of " : "", who);
  s->job->race = 1;
  mgi_emu_fault(1, "race: it %s byte %lld of shared memory at @%u, which %s %s at @%u%s", write ? "writes" : "reads", (long long)(p - b->shared), pc, by,
                !was_write ? "read" : c->flying == 3 ? "has had a tensor copy or a push bring" : c->flying ? "is copying to by cp.async" : "wrote", was_write ? c->w_pc : c->r_pc,
                was_write && c->flying == 3 ? ", and it has not waited for that" : was_write && c->flying ? "" : ", and no barrier stands between");
}
static uint8_t mgi_emu_flying_bar; /* of the tensor copy that is being issued: its barrier and phase */
static uint32_t mgi_emu_flying_phase;
/* What a tensor copy brought to cell c of block b is there for thread t; for the next copy, once it has landed. */
MGI_FN MGI_EMU_PLAIN int mgi_emu_brought(const mgi_emu_part *b, const mgi_emu_cell *c, int t, int fly) {
  const mgi_emu_state *s = &mgi_emu;
  if (c->w_when < b->began) return 1;
  if (fly == 3 || &s->part[t / s->threads] != b) return b->phases[c->w_bar].done > c->w_phase;
  return s->thread[t].waited_for[c->w_bar] > c->w_phase;
}
/* An access of this thread to shared memory, or to anything else.  fly: 1 the issue of a cp.async, 2 by the tensor cores, 3 the
   issue of a tensor copy. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_touch(const void *p, size_t bytes, int write, int fly, const void *at) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_part *b = 0;
  const unsigned char *a = (const unsigned char *)p;
  if (!s->inside) return; /* the emulator's own */
  for (int k = s->cluster > 1 ? 0 : s->parts == 1 ? 0 : s->tid / s->threads, end = s->cluster > 1 ? s->cluster : k + 1; k < end && !b; k++)
    if ((uintptr_t)a - (uintptr_t)s->part[k].shared < s->shared_bytes) b = &s->part[k];
  if (!b && !s->failed) mgi_emu_raw(p, bytes, write, 1);
  if (!b || s->failed || s->job->unwatched) return;
  const int t = s->tid;
  const uint32_t pc = mgi_emu_pc(at);
  mgi_emu_cell *c = b->cell + (a - b->shared_map), was;
  for (size_t k = 0; k < bytes; k++, c++) {
    if (k && mgi_emu_cell_same(c, &was)) { /* what was found and left there is found and left here */
      *c = c[-1];
      continue;
    }
    was = *c;
    if (c->flying == 3) {
      if (!mgi_emu_brought(b, c, t, fly)) mgi_emu_race(b, c, a + k, write, 1, pc);
    } else if (c->flying || (c->w_tid != t && c->w_when >= b->began && !mgi_emu_ordered(c->w_tid, c->w_when, MGI_EMU_ONE, t) && !mgi_emu_ordered_by_phase(c->w_tid, c->w_when, t))) mgi_emu_race(b, c, a + k, write, 1, pc);
    if (fly == 2 && c->flying != 3 && c->w_when >= b->began && c->w_published == s->thread[c->w_tid].published) {
      s->job->race = 1;
      mgi_emu_fault(1, "race: a product of a warpgroup reads byte %lld of shared memory, which thread %d wrote at @%u and has not published", (long long)(a + k - b->shared), c->w_tid % s->threads, c->w_pc);
    }
    const int alone = c->r_when < b->began || mgi_emu_ordered(c->r_tid, c->r_when, c->many, t);
    if (write) {
      if (!alone && !mgi_emu_ordered_by_phase(c->r_tid, c->r_when, t)) mgi_emu_race(b, c, a + k, 1, 0, pc);
      c->w_when = s->now;
      c->w_tid = (uint16_t)t;
      c->w_pc = pc;
      c->w_published = s->thread[t].published;
      c->flying = (uint8_t)fly;
      c->w_bar = mgi_emu_flying_bar;
      c->w_phase = mgi_emu_flying_phase;
      c->r_when = 0;
    } else {
      if (alone) c->r_tid = (uint16_t)t, c->many = MGI_EMU_ONE;
      else if (c->many < mgi_emu_both(c->r_tid, t)) c->many = (uint8_t)mgi_emu_both(c->r_tid, t);
      c->r_tid = (uint16_t)t; /* the latest reader's arrival at a cluster's barrier is what its time is held against */
      c->r_when = s->now;
      c->r_pc = pc;
    }
  }
}
/* A tensor copy is of another proxy than a thread's own writes, cp.async's among them: what lies where it goes has to be
   published. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_overwrites(const mgi_emu_part *b, const void *to, size_t bytes) {
  mgi_emu_state *s = &mgi_emu;
  const mgi_emu_cell *c = b->cell + ((const unsigned char *)to - b->shared_map);
  for (size_t k = 0; k < bytes && !s->failed && !s->job->unwatched; k++, c++) {
    if (c->flying || c->w_when < b->began || c->w_published != s->thread[c->w_tid].published) continue;
    s->job->race = 1;
    const long long at = (long long)((const unsigned char *)to + k - b->shared);
    mgi_emu_fault(1, "race: a tensor copy goes over byte %lld of shared memory, which thread %d wrote at @%u and has not published",
                  at, c->w_tid % s->threads, c->w_pc);
  }
}
/* A cp.async of thread t has been waited for: from here on it is an ordinary write. */
MGI_FN MGI_EMU_PLAIN void mgi_emu_touch_landed(const unsigned char *to) {
  mgi_emu_part *b = mgi_emu_part_of(mgi_emu.tid);
  mgi_emu_cell *c = b->cell + (to - b->shared_map);
  for (int k = 0; k < 16; k++) c[k].flying = 0, c[k].w_when = mgi_emu.now, c[k].w_published = mgi_emu.thread[mgi_emu.tid].published;
}
#define MGI_EMU_TOUCH(p, bytes, write, fly) mgi_emu_touch(p, bytes, write, fly, __builtin_return_address(0))
#define MGI_EMU_NOINLINE __attribute__((noinline))
#else
#define MGI_EMU_TOUCH(p, bytes, write, fly) ((void)(p), (void)(bytes))
#define MGI_EMU_NOINLINE
MGI_EMU void mgi_emu_overwrites(const mgi_emu_part *b, const void *to, size_t bytes) { (void)b, (void)to, (void)bytes; }
MGI_EMU void mgi_emu_touch_landed(const unsigned char *to) { (void)to; }
#endif
#if defined(MG_EMULATE_RACES) || defined(MG_EMULATE_VOLATILE) /* with the latter alone only volatile accesses matter */
/* The entry points, by their names in the object file: as names in C++ they would be the compiler's own. */
#define MGI_EMU_HOOK(name, call, ...)                                                      \
  extern "C" __attribute__((visibility("hidden"), noinline)) MGI_EMU_PLAIN void mgi_emu_hook_##name(__VA_ARGS__) __asm__("__tsan_" #name); \
  void mgi_emu_hook_##name(__VA_ARGS__) { call; }
MGI_EMU_HOOK(init, (void)0, void)
MGI_EMU_HOOK(func_entry, (void)pc, void *pc)
MGI_EMU_HOOK(func_exit, (void)0, void)
MGI_EMU_HOOK(vptr_update, (void)p; (void)v, void **p, void *v)
MGI_EMU_HOOK(vptr_read, (void)p, void **p)
MGI_EMU_HOOK(read_range, MGI_EMU_TOUCH(p, n, 0, 0), void *p, size_t n)
MGI_EMU_HOOK(write_range, MGI_EMU_TOUCH(p, n, 1, 0), void *p, size_t n)
#define MGI_EMU_HOOKS(n)                                     \
  MGI_EMU_HOOK(read##n, MGI_EMU_TOUCH(p, n, 0, 0), void *p)  \
  MGI_EMU_HOOK(write##n, MGI_EMU_TOUCH(p, n, 1, 0), void *p) \
  MGI_EMU_HOOK(volatile_read##n, if (!mgi_emu_strong(p, n, 0)) MGI_EMU_TOUCH(p, n, 0, 0), void *p)  \
  MGI_EMU_HOOK(volatile_write##n, if (!mgi_emu_strong(p, n, 1)) MGI_EMU_TOUCH(p, n, 1, 0), void *p)
MGI_EMU_HOOKS(1)
MGI_EMU_HOOKS(2)
MGI_EMU_HOOKS(4)
MGI_EMU_HOOKS(8)
MGI_EMU_HOOKS(16)
#define MGI_EMU_HOOKS_UNALIGNED(n)                                     \
  MGI_EMU_HOOK(unaligned_read##n, MGI_EMU_TOUCH(p, n, 0, 0), void *p)  \
  MGI_EMU_HOOK(unaligned_write##n, MGI_EMU_TOUCH(p, n, 1, 0), void *p)
MGI_EMU_HOOKS_UNALIGNED(2)
MGI_EMU_HOOKS_UNALIGNED(4)
MGI_EMU_HOOKS_UNALIGNED(8)
MGI_EMU_HOOKS_UNALIGNED(16)
#endif
#ifdef MG_EMULATE_RACES
/* clang calls these where the source copies or fills memory. */
extern "C" __attribute__((visibility("hidden"), noinline)) MGI_EMU_PLAIN void *mgi_emu_hook_memcpy(void *to, const void *from, size_t n) __asm__("__tsan_memcpy");
void *mgi_emu_hook_memcpy(void *to, const void *from, size_t n) {
  MGI_EMU_TOUCH(from, n, 0, 0);
  MGI_EMU_TOUCH(to, n, 1, 0);
  return memcpy(to, from, n);
}
extern "C" __attribute__((visibility("hidden"), noinline)) MGI_EMU_PLAIN void *mgi_emu_hook_memmove(void *to, const void *from, size_t n) __asm__("__tsan_memmove");
void *mgi_emu_hook_memmove(void *to, const void *from, size_t n) {
  MGI_EMU_TOUCH(from, n, 0, 0);
  MGI_EMU_TOUCH(to, n, 1, 0);
  return memmove(to, from, n);
}
extern "C" __attribute__((visibility("hidden"), noinline)) MGI_EMU_PLAIN void *mgi_emu_hook_memset(void *to, int v, size_t n) __asm__("__tsan_memset");
void *mgi_emu_hook_memset(void *to, int v, size_t n) {
  MGI_EMU_TOUCH(to, n, 1, 0);
  return memset(to, v, n);
}
#endif

/* ---- blocks and threads end */
MGI_EMU_OWN void mgi_emu_copy_land(int tid, int n);
MGI_EMU_OWN void mgi_emu_block_goes_on(mgi_emu_part *b);

/* What a block wrote is gone with it, but for a write past the end, which is a fault. */
MGI_EMU_OWN void mgi_emu_poison(mgi_emu_part *b) {
  size_t room = (mgi_emu.shared_bytes + 127) / 128 * 128;
  for (size_t k = mgi_emu.shared_bytes; k < room; k++)
    if (b->shared[k] != 0xFF) mgi_emu_fault(0, "block (%d, %d, %d) writes past its %llu bytes of shared memory", b->bid[0], b->bid[1], b->bid[2], (unsigned long long)mgi_emu.shared_bytes);
  memset(b->shared, 0xFF, room);
}
/* Opens the next barrier of the cluster if all that have not exited are at this one. */
MGI_EMU_OWN void mgi_emu_share_waits(int first, int n);
MGI_EMU_OWN void mgi_emu_cluster_passes(void) {
  mgi_emu_state *s = &mgi_emu;
  if (!s->arrived || s->arrived + s->gone < s->fibers) return;
  for (int k = 0; k < s->cluster; k++) mgi_emu_share_waits(k * s->threads, s->threads);
  s->barrier++;
  s->arrived = 0;
  s->gone = s->exited;
  s->job->barriers++;
  for (int t = 0; t < s->fibers; t++)
    if (s->thread[t].state == MGI_EMU_AT_CLUSTER) s->thread[t].state = MGI_EMU_READY, s->warp[t / 32].ready |= 1u << (t % 32);
}

MGI_FN void mgi_emu_fiber(void) {
  mgi_emu_state *s = &mgi_emu;
  s->body(s->body_arg);
  int t = s->tid;
  if (s->thread[t].n_copy) mgi_emu_fault(1, "ends with %d cp.async that it has not waited for", s->thread[t].n_copy);
  if (s->warp[t / 32].n_product) mgi_emu_fault(1, "ends with %d products of a warpgroup that it has not waited for", s->warp[t / 32].n_product);
  s->thread[t].state = MGI_EMU_EXITED;
  s->warp[t / 32].ready &= ~(1u << (t % 32));
  s->exited++;
  mgi_emu_part *b = mgi_emu_part_of(t);
  s->changes++;
  if (s->thread[t].left) mgi_emu_block_goes_on(b);
  else b->ended++;
  if (++b->exited == s->threads && s->cluster > 1) mgi_emu_poison(b);
  s->gone += s->thread[t].arrived != s->barrier;
  mgi_emu_cluster_passes();
  if (b->exited == s->threads && s->cluster == 1) {
    s->ended = (int)(b - s->part);
    MGI_EMU_JUMP(MGI_EMU_SELF(t), MGI_EMU_MAIN);
  }
  mgi_emu_yield();
  abort(); /* not reached: an exited fiber is never ready */
}

/* ---- rendezvous */
/* Threads that met: what one has waited for is there for all. */
MGI_EMU_OWN void mgi_emu_share_waits(int first, int n) {
  mgi_emu_state *s = &mgi_emu;
  const mgi_emu_part *b = mgi_emu_part_of(first);
  for (int k = 0; k < b->n_phases; k++) {
    uint32_t most = 0;
    for (int t = first; t < first + n; t++)
      if (s->thread[t].waited_for[k] > most) most = s->thread[t].waited_for[k];
    for (int t = first; t < first + n; t++) s->thread[t].waited_for[k] = most;
  }
}
/* Those that meet come from one place. */
MGI_EMU_OWN void mgi_emu_meet(mgi_emu_site *at, int first, mgi_emu_site me, const char *name, const char *who) {
  char mine[60], other[60];
  if (first) *at = me;
  if (at->line == me.line && at->from == me.from) return;
  snprintf(mine, sizeof mine, me.from ? "mirage_cuda.cuh:%d, called from line %d" : "line %d", me.line, me.from);
  snprintf(other, sizeof other, at->from ? "mirage_cuda.cuh:%d, called from line %d" : "line %d", at->line, at->from);
  mgi_emu_fault(1, "is at the %s of %s while other %s are at that of %s", name, mine, who, other);
}
MGI_EMU_OWN mgi_emu_site mgi_emu_within(int line) { /* of a template's call */
  mgi_emu_site at = {line, mgi_emu.thread[mgi_emu.tid].from};
  if (!at.from) at.from = -1;
  return at;
}
MGI_EMU_OWN mgi_emu_site mgi_emu_called(int line) { /* of the file's */
  mgi_emu_site at = {line, 0};
  return at;
}
MGI_EMU_OWN void mgi_emu_collect(const mgi_emu_collective *what, void *arg, mgi_emu_site site) {
  mgi_emu_state *s = &mgi_emu;
  int t = s->tid, lane = t % 32;
  mgi_emu_warp *w = &s->warp[t / 32];
  if (!w->arrived) w->at = what;
  if (w->at != what) mgi_emu_fault(1, "is at %s while other lanes of its warp are at %s", what->name, w->at->name);
  if (what->perform) mgi_emu_meet(&w->site, !w->arrived, site, what->name, "lanes of its warp"); /* a warp's barrier may be passed in two places */
  w->arg[lane] = arg;
  if (++w->arrived < 32) {
    s->thread[t].state = MGI_EMU_AT_WARP;
    w->ready &= ~(1u << lane);
  } else {
    if (what->perform) what->perform(w->arg);
    else w->since = ++s->now, mgi_emu_share_waits(t - lane, 32); /* only the warp's barrier orders memory: the others move registers */
    s->job->collectives++;
    w->arrived = 0;
    w->ready = ~0u;
    for (int k = t - lane; k < t - lane + 32; k++) s->thread[k].state = MGI_EMU_READY;
  }
  mgi_emu_yield();
}

/* All threads of block b that are to come to its barrier are there: its first `of`, or those of them that have not exited. */
MGI_EMU_OWN void mgi_emu_block_passes(mgi_emu_part *b, int of) {
  mgi_emu_state *s = &mgi_emu;
  const int first = (int)(b - s->part) * s->threads;
  b->at_block = 0;
  b->voted = b->vote;
  b->vote = 0;
  b->since = ++s->now;
  s->changes++;
  s->job->barriers++;
  if (b->acquired) mgi_emu_acquired(b);
  mgi_emu_share_waits(first, of);
  for (int t = first; t < first + of; t++) {
    s->warp[t / 32].since = s->warp[t / 32].group = s->now;
    if (s->thread[t].state == MGI_EMU_AT_BLOCK) s->thread[t].state = MGI_EMU_READY, s->warp[t / 32].ready |= 1u << (t % 32);
  }
}
/* A thread that leaves has exited: a barrier of the whole block counts it no longer. */
MGI_EMU_OWN void mgi_emu_block_goes_on(mgi_emu_part *b) {
  b->gone++;
  if (b->at_block && !b->meets && b->at_block == mgi_emu.threads - b->gone) mgi_emu_block_passes(b, mgi_emu.threads);
}
/* The barrier of the first `meets` threads of a block; 0: of all that have not exited. */
MGI_EMU_QUIET MG_DEV void mgi_emu_sync(int meets, mgi_emu_site site) {
  mgi_emu_state *s = &mgi_emu;
  int t = s->tid;
  mgi_emu_part *b = mgi_emu_part_of(t);
  mgi_emu_meet(&b->site, !b->at_block, site, "mg_sync", "threads of its block");
  if (meets && t % s->threads >= meets) mgi_emu_fault(1, "is at a barrier of the first %d threads", meets);
  b->meets = meets;
  if (++b->at_block < (meets ? meets : s->threads - b->gone)) {
    s->thread[t].state = MGI_EMU_AT_BLOCK;
    s->warp[t / 32].ready &= ~(1u << (t % 32));
  } else mgi_emu_block_passes(b, meets ? meets : s->threads);
  mgi_emu_yield();
}
MGI_EMU_QUIET MG_DEV void mg_sync(mgi_emu_site site) { mgi_emu_sync(0, site); }
template<int> MG_DEV void mg_gives_registers() {}
template<int> MG_DEV void mg_takes_registers() {}
/* The thread comes to no further barrier of its block, and ends. */
MG_DEV void mg_leaves() {
  mgi_emu.thread[mgi_emu.tid].left = 1;
  mgi_emu_yield();
}
MG_DEV void mg_sync(int line = __builtin_LINE()) { mg_sync(mgi_emu_called(line)); }
template<int THREADS> MG_DEV void mg_sync_first(int line = __builtin_LINE()) { mgi_emu_sync(THREADS, mgi_emu_called(line)); }
#define MG_SITE , int mg_called_from = __builtin_LINE() /* of a template in which threads meet, its last parameter */
#define MG_SITE_AGAIN , int mg_called_from             /* where it is defined, if it was declared before */
#define MG_FROM mgi_emu.thread[mgi_emu.tid].from = mg_called_from /* its first statement */
#define MG_WITHIN mgi_emu_within(__LINE__)              /* what it hands a barrier */
#define MG_ALSO_WITHIN , mgi_emu_within(__LINE__)
/* A barrier that tells every thread whether one of them says yes. */
MGI_EMU_QUIET MG_DEV bool mg_sync_or(bool yes, mgi_emu_site site) {
  mgi_emu_part *b = mgi_emu_part_of(mgi_emu.tid);
  b->vote |= yes;
  mg_sync(site);
  return b->voted;
}
MG_DEV bool mg_sync_or(bool yes, int line = __builtin_LINE()) { return mg_sync_or(yes, mgi_emu_called(line)); }
static const mgi_emu_collective mgi_emu_at_sync_warp = {"mg_sync_warp", 0};
MG_DEV void mg_sync_warp(int line = __builtin_LINE()) { mgi_emu_collect(&mgi_emu_at_sync_warp, 0, mgi_emu_called(line)); }
MGI_EMU_QUIET MG_DEV void mg_sync_group() { /* of its number, whose threads are counted wherever they come from */
  mgi_emu_state *s = &mgi_emu;
  const int t = s->tid;
  mgi_emu_warp *const w = &s->warp[t / 128 * 4];
  if (s->threads % 128) mgi_emu_fault(1, "mg_sync_group: a block of %d threads is no whole number of warpgroups", s->threads);
  if (++w->at_group < 128) {
    s->thread[t].state = MGI_EMU_AT_GROUP;
    s->warp[t / 32].ready &= ~(1u << (t % 32));
  } else {
    w->at_group = 0;
    s->now++;
    mgi_emu_share_waits(t / 128 * 128, 128);
    s->job->barriers++;
    for (int k = t / 128 * 128; k < t / 128 * 128 + 128; k++) s->thread[k].state = MGI_EMU_READY;
    for (int k = 0; k < 4; k++) w[k].ready = ~0u, w[k].since = w[k].group = s->now;
  }
  mgi_emu_yield();
}

MGI_EMU_QUIET MG_DEV int mg_tid() { return mgi_emu.parts == 1 ? mgi_emu.tid : mgi_emu.tid % mgi_emu.threads; }
MGI_EMU_QUIET MG_DEV int mg_lane() { return mgi_emu.tid % 32; }
MGI_EMU_QUIET MG_DEV int mg_warp() { return mg_tid() / 32; }
MGI_EMU_QUIET MG_DEV int mg_warpgroup() { return mg_tid() / 128; }
MGI_EMU_QUIET MG_DEV int mg_bid(int axis) { return mgi_emu_part_of(mgi_emu.tid)->bid[axis]; }
MGI_EMU_QUIET MG_DEV unsigned char *mg_shared() { return mgi_emu_part_of(mgi_emu.tid)->shared; }

/* ---- clusters */
MGI_EMU_QUIET MG_DEV int mg_cluster_rank() { return mgi_emu.cluster == 1 ? 0 : (int)(mgi_emu_part_of(mgi_emu.tid) - mgi_emu.part); }
MGI_EMU_OWN void mgi_emu_cluster_arrive(int release) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  if (s->parts > s->cluster) MGI_EMU_UNMODELLED(1, "a cluster of one block among blocks that wait for each other");
  if (t->arrived == s->barrier) mgi_emu_fault(1, "arrives twice at the cluster's barrier");
  t->arrived = s->barrier;
  t->arrived_at[t->arrived % 4] = release ? ++s->now : t->arrived > 1 ? t->arrived_at[(t->arrived - 1) % 4] : 0;
  s->arrived++;
  mgi_emu_cluster_passes();
  mgi_emu_yield();
}
MG_DEV void mg_cluster_arrive() { mgi_emu_cluster_arrive(1); }
MG_DEV void mg_cluster_begun() { mgi_emu_cluster_arrive(0); } /* orders nothing that was done before */
template<class T> MG_DEV T *mg_once(T *p) { return p; }
MG_DEV void mg_grid_next() {}
MG_DEV void mg_grid_wait() { mgi_emu.thread[mgi_emu.tid].granted = 1; }
MG_DEV void mg_cluster_wait() {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  if (t->arrived == t->waited) mgi_emu_fault(1, "waits at the cluster's barrier and has not arrived");
  t->waited = t->arrived;
  if (t->arrived == s->barrier) {
    t->state = MGI_EMU_AT_CLUSTER;
    s->warp[s->tid / 32].ready &= ~(1u << (s->tid % 32));
  }
  mgi_emu_yield();
}
/* Shared memory of the cluster's block `rank`, at the place that `mine` has in this block's. */
MG_DEV unsigned char *mg_cluster_shared(unsigned char *mine, int rank) {
  mgi_emu_state *s = &mgi_emu;
  if (rank < 0 || rank >= s->cluster) mgi_emu_fault(1, "block %d of a cluster of %d", rank, s->cluster);
  if (s->barrier < 2) mgi_emu_fault(1, "shared memory of another block, which may not have begun: no barrier of the cluster has passed");
  if (s->part[rank].ended) mgi_emu_fault(1, "shared memory of a block that has exited");
  return s->part[rank].shared + (mine - mg_shared());
}

/* ---- memory */
MGI_EMU_OWN void mgi_emu_global(const void *p, size_t bytes, size_t align, int write, int fresh) {
  mgi_emulator *job = mgi_emu.job;
  uintptr_t a = (uintptr_t)p;
  if (a % align) mgi_emu_fault(1, "a global %s of %d bytes is misaligned", write ? "write" : "read", (int)align);
  if (!job->n_ranges) return;
  const mgi_emu_range *near_ = 0;
  for (int k = 0; k < job->n_ranges; k++) {
    const mgi_emu_range *g = &job->range[k];
    uintptr_t b = (uintptr_t)g->base;
    if (a >= b && a + bytes <= b + g->bytes) {
      if (write && !g->writable) mgi_emu_fault(1, "writes to %s, which is an input", g->name);
      if (mgi_emu.early && mgi_emu.overlaps && !mgi_emu.thread[mgi_emu.tid].granted) job->ahead[k] = 1;
      if (g->writable) mgi_emu_touch_global(k, p, bytes, write, fresh);
      return;
    }
    if (a + 4096 >= b && a < b + g->bytes + 65536 && (!near_ || (a >= b && (uintptr_t)near_->base < b))) near_ = g;
  }
  if (near_)
    mgi_emu_fault(1, "%s %d bytes at offset %lld of %s, which has %llu", write ? "writes" : "reads", (int)bytes,
                  (long long)(a - (uintptr_t)near_->base), near_->name, (unsigned long long)near_->bytes);
  mgi_emu_fault(1, "%s global memory that belongs to no tensor", write ? "writes" : "reads");
}
MGI_EMU_OWN void mgi_emu_in_shared(const void *p, size_t bytes, const char *who) {
  const unsigned char *a = (const unsigned char *)p;
  if ((uintptr_t)p % 16) mgi_emu_fault(1, "%s: the shared address is not a multiple of 16", who);
  if (a < mg_shared() || a + bytes > mg_shared() + mgi_emu.shared_bytes)
    mgi_emu_fault(1, "%s: offset %lld is outside the %llu bytes of shared memory", who, (long long)(a - mg_shared()), (unsigned long long)mgi_emu.shared_bytes);
}
template<class V> MGI_EMU_PLAIN static inline V mgi_emu_load(const V *p, int fresh) {
  mgi_emu_global(p, sizeof(V), sizeof(V), 0, fresh);
  V v;
  memcpy(&v, (const void *)p, sizeof v);
  if (mgi_emu.thread[mgi_emu.tid].spin_at == p) { /* it may wait for what it will never see */
    uint64_t value = 0;
    memcpy(&value, &v, sizeof v < 8 ? sizeof v : 8);
    mgi_emu_look(p, value, 64);
  }
  mgi_emu.thread[mgi_emu.tid].spin_at = p;
  return v;
}
template<class V> MG_DEV V mg_ldg(const V *p) { return mgi_emu_load(p, 0); }
template<class V> MGI_EMU_PLAIN static inline void mg_stg(V *p, V v) {
  mgi_emu_global(p, sizeof(V), sizeof(V), 1, 0);
  mgi_emu.changes++;
  memcpy((void *)p, &v, sizeof v);
}
/* An atomic of *p, relaxed: others may come before it.  Of two sizes, as CUDA's; `f` makes the new value. */
template<class V, class F> MGI_EMU_PLAIN static inline V mgi_emu_atomic(V *p, const F &f) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  static_assert(sizeof(V) == 4 || sizeof(V) == 8, "an atomic of 4 or 8 bytes");
  if ((uintptr_t)p - (uintptr_t)mg_shared() < s->shared_bytes) MGI_EMU_UNMODELLED(1, "an atomic of shared memory");
  mgi_emu_others_first(t);
  for (;; ) {
    V was, now;
    memcpy(&was, (const void *)p, sizeof was);
    now = f(was);
    if (now == was) { /* it only looked: it may have to wait */
      const uint64_t changes = s->changes;
      mgi_emu_look(p, (uint64_t)was, 1);
      if (changes != s->changes) continue;
    }
    mgi_emu_global(p, sizeof(V), sizeof(V), 1, -1);
    mgi_emu_hands_on(p, 1, 1);
    if (now != was) mgi_emu_changes();
    memcpy((void *)p, &now, sizeof now);
    return was;
  }
}

/* Global memory that other blocks wrote in the same launch. */
template<class V> MG_DEV V mg_ldg_fresh(const V *p) { return mgi_emu_load(p, 1); }
/* The number of calls on *count before this one, which all that this thread's block wrote before precedes. */
MG_DEV uint32_t mg_ticket(uint32_t *count) {
  mgi_emu_fence();
  const uint32_t was = mgi_emu_atomic(count, [](uint32_t v) { return v + 1; });
  mgi_emu_fence();
  return was;
}

/* ---- cp.async */
MGI_EMU_OWN void mgi_emu_copy_one(mgi_emu_copy *c) {
  if (c->landed) return;
  if (c->valid) memcpy(c->to, c->from, (size_t)c->valid);
  memset(c->to + c->valid, 0, (size_t)(16 - c->valid));
  c->landed = 1;
}
/* Copies [0, n) of a thread land, if they have not; what has been waited for is forgotten. */
MGI_EMU_OWN void mgi_emu_copy_land(int tid, int n) {
  mgi_emu_thread *t = &mgi_emu.thread[tid];
  for (int k = 0; k < n; k++) mgi_emu_copy_one(&t->copy[k]);
}
MGI_EMU_OWN void mgi_emu_copy_drop(int tid, int n) {
  mgi_emu_thread *t = &mgi_emu.thread[tid];
  mgi_emu_copy_land(tid, n);
  for (int k = 0; k < n; k++) mgi_emu_touch_landed(t->copy[k].to);
  if (n) memmove(t->copy, t->copy + n, (size_t)(t->n_copy - n) * sizeof *t->copy);
  t->n_copy -= n;
}
template<int ROW = 128> MGI_EMU_NOINLINE MG_DEV void mg_cp_async16(void *smem, const void *gmem, int valid_bytes) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_thread *t = &s->thread[s->tid];
  if (valid_bytes < 0 || valid_bytes > 16) mgi_emu_fault(1, "cp.async: %d valid bytes", valid_bytes);
  mgi_emu_in_shared(smem, 16, "cp.async");
  if (valid_bytes) mgi_emu_global(gmem, (size_t)valid_bytes, 16, 0, 0);
  MGI_EMU_TOUCH(smem, 16, 1, 1);
  s->job->copies++;
  mgi_emu_copy c = {(unsigned char *)smem, (const unsigned char *)gmem, valid_bytes, 0, t->group};
  memset(smem, 0xFF, 16);
  if (!mgi_emu_room(&t->copy, t->n_copy, &t->cap_copy)) return;
  t->copy[t->n_copy++] = c;
  if (s->landing == 0 || (s->landing == 2 && (mgi_emu_random() & 1))) mgi_emu_copy_one(&t->copy[t->n_copy - 1]);
}
MGI_EMU_QUIET MG_DEV void mg_cp_async_commit() {
  mgi_emu_thread *t = &mgi_emu.thread[mgi_emu.tid];
  t->group++;
  if (mgi_emu.landing == 2 && (mgi_emu_random() & 7) == 0) mgi_emu_copy_land(mgi_emu.tid, t->n_copy);
}
/* Groups older than the N newest have landed.  Copies of the group that is still open are not waited for. */
template<int N> MGI_EMU_QUIET MG_DEV void mg_cp_async_wait() {
  static_assert(N >= 0, "cp.async.wait_group takes a number of groups");
  mgi_emu_thread *t = &mgi_emu.thread[mgi_emu.tid];
  int n = 0;
  while (n < t->n_copy && t->copy[n].group + (uint32_t)N < t->group) n++;
  mgi_emu_copy_drop(mgi_emu.tid, n);
}

/* ---- phases and tensor copies */
typedef uint64_t mg_phase;
MGI_EMU void mgi_emu_phase_ends(mgi_emu_part *b, mgi_emu_phases *f) { /* if nothing is missing */
  mgi_emu_state *s = &mgi_emu;
  if (f->arrivals < f->count || f->bytes) return;
  f->done++;
  if (f->brings) f->carried = f->done;
  f->brings = 0;
  f->arrivals = 0;
  memcpy(f->was_at, f->now_at, sizeof f->was_at);
  s->now++;
  s->job->barriers++;
  for (int t = (int)(b - s->part) * s->threads, end = t + s->threads; t < end; t++)
    if (s->thread[t].state == MGI_EMU_AT_PHASE && s->thread[t].at == f) s->thread[t].state = MGI_EMU_READY, s->warp[t / 32].ready |= 1u << (t % 32);
}
/* The barrier at p, in the shared memory of b, which has to know of it. */
MGI_FN MGI_EMU_NOINLINE MGI_EMU_PLAIN mgi_emu_phases *mgi_emu_phases_of(mgi_emu_part *b, const mg_phase *p, const char *who) {
  const size_t at = (size_t)((const unsigned char *)p - b->shared);
  for (int k = 0; k < b->n_phases; k++)
    if (b->phases[k].at == at) {
      uint64_t mark;
      memcpy(&mark, (const void *)p, 8);
      if (mark != 0xA110CA7ED0000000u + (uint64_t)k) mgi_emu_fault(1, "%s: the barrier at byte %lld of shared memory has been overwritten", who, (long long)at);
      if (!b->phases[k].known) mgi_emu_fault(1, "%s: the barrier at byte %lld has not been made known by mg_phase_publish", who, (long long)at);
      return &b->phases[k];
    }
  mgi_emu_fault(1, "%s: there is no barrier of phases at byte %lld of shared memory", who, (long long)at);
  return 0;
}
MGI_EMU_OWN mgi_emu_phases *mgi_emu_phases_at(const mg_phase *p, const char *who) { return mgi_emu_phases_of(mgi_emu_part_of(mgi_emu.tid), p, who); }
/* Whether a barrier of the cluster lies between the publication of f and this thread. */
MGI_EMU_OWN int mgi_emu_phases_shared(const mgi_emu_phases *f) { return f->known && mgi_emu.thread[mgi_emu.tid].waited > f->known_at; }
MGI_EMU_NOINLINE MG_DEV void mg_phase_init(mg_phase *p, int count) {
  mgi_emu_part *b = mgi_emu_part_of(mgi_emu.tid);
  const size_t at = (size_t)((unsigned char *)p - b->shared);
  if (at % 8 || at + 8 > mgi_emu.shared_bytes || (unsigned char *)p < b->shared) mgi_emu_fault(1, "mg_phase_init: offset %lld: want 8 bytes of shared memory, aligned", (long long)at);
  if (count < 1 || count >= 1 << 20) mgi_emu_fault(1, "mg_phase_init: %d arrivals", count);
  if (b->n_phases == MGI_EMU_PHASES) mgi_emu_fault(1, "mg_phase_init: more than %d barriers", (int)MGI_EMU_PHASES);
  for (int k = 0; k < b->n_phases; k++)
    if (b->phases[k].at == at) mgi_emu_fault(1, "mg_phase_init: the barrier at byte %lld is made twice", (long long)at);
  MGI_EMU_TOUCH(p, 8, 1, 0);
  mgi_emu_phases *f = &b->phases[b->n_phases];
  memset(f, 0, sizeof *f);
  f->at = at;
  f->count = count;
  f->by = mgi_emu.tid;
  const uint64_t mark = 0xA110CA7ED0000000u + (uint64_t)b->n_phases++;
  memcpy((void *)p, &mark, 8);
}
/* The barriers that this thread has made are made known, to copies too. */
MG_DEV void mg_phase_publish() {
  mgi_emu_part *b = mgi_emu_part_of(mgi_emu.tid);
  for (int k = 0; k < b->n_phases; k++)
    if (b->phases[k].by == mgi_emu.tid && !b->phases[k].known) b->phases[k].known = 1, b->phases[k].known_at = mgi_emu.thread[mgi_emu.tid].arrived;
}
MGI_EMU void mgi_emu_phase_arrives_in(mgi_emu_part *b, mg_phase *p, const char *who) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_phases *f = mgi_emu_phases_of(b, p, who);
  if (b != mgi_emu_part_of(s->tid) && !mgi_emu_phases_shared(f)) mgi_emu_fault(1, "%s: no barrier of the cluster lies between the block's barrier of phases and this", who);
  if (f->arrivals == f->count) mgi_emu_fault(1, "%s: more arrivals than the %d that the barrier expects", who, f->count);
  f->arrivals++;
  f->now_at[s->tid / 32] = s->warp[s->tid / 32].since;
  s->now++;
  mgi_emu_phase_ends(b, f);
}
MGI_EMU void mgi_emu_phase_arrives(mg_phase *p, const char *who) { mgi_emu_phase_arrives_in(mgi_emu_part_of(mgi_emu.tid), p, who); }
MGI_EMU_NOINLINE MG_DEV void mg_phase_arrive(mg_phase *p) {
  MGI_EMU_TOUCH(p, 8, 0, 0);
  mgi_emu_phase_arrives(p, "mg_phase_arrive");
  mgi_emu_yield();
}
/* At the barrier that lies in block `rank` of the cluster as p does here. */
MGI_EMU_NOINLINE MG_DEV void mg_phase_arrive_at(mg_phase *p, int rank) {
  mgi_emu_phase_arrives_in(&mgi_emu.part[rank], (mg_phase *)mg_cluster_shared((unsigned char *)p, rank), "mg_phase_arrive_at");
  mgi_emu_yield();
}
/* Arrives, and has the open phase wait for so many bytes of copies. */
MGI_EMU_NOINLINE MG_DEV void mg_phase_expect(mg_phase *p, int bytes) {
  MGI_EMU_TOUCH(p, 8, 0, 0);
  mgi_emu_phases *f = mgi_emu_phases_at(p, "mg_phase_expect");
  if (bytes < 0 || bytes >= 1 << 20) mgi_emu_fault(1, "mg_phase_expect: %d bytes", bytes);
  f->bytes += bytes;
  mgi_emu_phase_arrives(p, "mg_phase_expect");
  mgi_emu_yield();
}
/* Until the phase of that parity has ended: phases are numbered from 0, and the one before the first has ended. */
MGI_EMU_NOINLINE MG_DEV void mg_phase_wait(mg_phase *p, int parity) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_phases *f = mgi_emu_phases_at(p, "mg_phase_wait");
  if (!mgi_emu_phases_shared(f)) MGI_EMU_TOUCH(p, 8, 0, 0);
  if (parity != 0 && parity != 1) mgi_emu_fault(1, "mg_phase_wait: parity %d", parity);
  if (s->n_tensor && s->landing == 2 && (mgi_emu_random() & 3) == 0) mgi_emu_tensor_land((int)(mgi_emu_random() % (uint64_t)s->n_tensor));
  while ((int)(f->done & 1) == parity) {
    s->thread[s->tid].state = MGI_EMU_AT_PHASE;
    s->thread[s->tid].at = f;
    s->warp[s->tid / 32].ready &= ~(1u << (s->tid % 32));
    mgi_emu_yield();
  }
  s->thread[s->tid].waited_for[f - mgi_emu_part_of(s->tid)->phases] = f->done;
  if (f->done > f->waited) f->waited = f->done;
  mgi_emu_yield();
}
MGI_EMU void mgi_emu_phases_end(mgi_emu_part *b) { /* the block has, and its copies have landed */
  for (int k = 0; k < b->n_phases && !mgi_emu.failed; k++) {
    const mgi_emu_phases *f = &b->phases[k];
    if (f->carried > f->waited || f->brings || f->bytes)
      mgi_emu_fault(0, "block (%d, %d, %d) ends with copies that nobody has waited for", b->bid[0], b->bid[1], b->bid[2]);
  }
}
/* Line l of the box of m from element `at` on; *inside: how many of its elements, from the first, the tensor has. */
MGI_EMU const unsigned char *mgi_emu_line(const mg_tensor_map *m, const int *at, int l, int64_t *inside) {
  const unsigned char *from = m->base + at[0] * m->stride[0];
  *inside = at[0] < 0 || at[0] > m->dim[0] ? 0 : m->dim[0] - at[0];
  for (int d = 1; d < m->rank; d++) {
    const int64_t x = (int64_t)at[d] + (d == 1 ? l : 0);
    if (x < 0 || x >= m->dim[d]) *inside = 0;
    from += x * m->stride[d];
  }
  return from;
}
/* Copy `which` of those under way lands. */
MGI_EMU void mgi_emu_tensor_land(int which) {
  mgi_emu_state *s = &mgi_emu;
  const mgi_emu_tensor c = s->tensor[which];
  const mg_tensor_map *m = &c.map;
  mgi_emu_part *b = &s->part[c.part];
  const int line = m->wide * m->bytes, turn = m->lines == 1 ? 1 : line / 16; /* pieces that are exchanged */
  s->tensor[which] = s->tensor[--s->n_tensor];
  if (c.pushed) {
    if (b->exited == s->threads) mgi_emu_fault(0, "what was pushed to block (%d, %d, %d) lands when it has exited", b->bid[0], b->bid[1], b->bid[2]);
    memcpy(b->shared + c.to, c.value, (size_t)c.pushed);
  }
  for (int l = 0; l < m->lines; l++) { /* a push has none */
    int64_t inside;
    const unsigned char *const from = mgi_emu_line(m, c.at, l, &inside);
    for (int i = 0; i < line; i += 16) {
      const size_t off = c.to + (size_t)(l * line + i);
      const int64_t left = inside * m->bytes - i, n = left < 0 ? 0 : left > 16 ? 16 : left;
      unsigned char *const to = b->shared + (off ^ (((off >> 7) & (size_t)(turn - 1)) << 4));
      if (n) memcpy(to, from + i, (size_t)n);
      memset(to + n, 0, (size_t)(16 - n));
    }
  }
  c.phases->bytes -= c.pushed + m->lines * line;
  c.phases->brings = 1;
  mgi_emu_phase_ends(b, c.phases);
}
MGI_EMU void mgi_emu_tensor_begins(const mgi_emu_tensor *c) {
  mgi_emu_state *s = &mgi_emu;
  s->job->copies++;
  if (!mgi_emu_room(&s->tensor, s->n_tensor, &s->cap_tensor)) return;
  s->tensor[s->n_tensor++] = *c;
  if (s->landing == 0 || (s->landing == 2 && (mgi_emu_random() & 1))) mgi_emu_tensor_land(s->n_tensor - 1);
}
/* Whether the box of m from element `at` on is one that can be brought to offset `off` of shared memory. */
template<int RANK> MGI_EMU void mgi_emu_tensor_may(size_t off, const mg_tensor_map &m, const int (&at)[RANK], const char *who) {
  mgi_emu_state *s = &mgi_emu;
  const size_t line = (size_t)(m.wide * m.bytes), bytes = line * (size_t)m.lines;
  if (m.rank != RANK) mgi_emu_fault(1, "%s: %d coordinates of a tensor of %d dimensions", who, RANK, m.rank);
  if (off % (m.lines == 1 ? 128 : line * 8)) mgi_emu_fault(1, "%s: to byte %lld of shared memory, no multiple of %lld", who, (long long)off, m.lines == 1 ? 128LL : (long long)line * 8);
  if (off + bytes > s->shared_bytes) mgi_emu_fault(1, "%s: offset %lld is outside the %llu bytes of shared memory", who, (long long)off, (unsigned long long)s->shared_bytes);
  for (int l = 0; l < m.lines; l++) { /* what it reads */
    int64_t inside;
    const unsigned char *const from = mgi_emu_line(&m, at, l, &inside);
    if (inside) mgi_emu_global(from, (size_t)((inside < m.wide ? inside : m.wide) * m.bytes), 16, 0, 0);
  }
}
/* It is on its way there in block b, and counts in f of the same. */
template<int RANK> MGI_EMU_NOINLINE void mgi_emu_tensor_to(mgi_emu_part *b, size_t off, const mg_tensor_map &m, mgi_emu_phases *f, const int (&at)[RANK]) {
  const size_t bytes = (size_t)(m.wide * m.bytes) * (size_t)m.lines;
  unsigned char *const to = b->shared + off;
#ifdef MG_EMULATE_RACES
  mgi_emu_flying_bar = (uint8_t)(f - b->phases);
  mgi_emu_flying_phase = f->done;
#endif
  mgi_emu_overwrites(b, to, bytes);
  MGI_EMU_TOUCH(to, bytes, 1, 3);
  memset(to, 0xFF, bytes);
  mgi_emu_tensor c;
  memset(&c, 0, sizeof c);
  c.map = m;
  for (int d = 0; d < RANK; d++) c.at[d] = at[d];
  c.part = (int)(b - mgi_emu.part);
  c.to = off;
  c.phases = f;
  mgi_emu_tensor_begins(&c);
}
/* Brings the box of m from element `at` on, the contiguous dimension first, to `to`, and counts its bytes in a phase of p. */
template<int RANK> MGI_EMU_NOINLINE MG_DEV void mg_tensor_copy(void *to, const mg_tensor_map &m, mg_phase *p, const int (&at)[RANK]) {
  const size_t off = (size_t)((unsigned char *)to - mg_shared());
  mgi_emu_tensor_may(off, m, at, "mg_tensor_copy");
  MGI_EMU_TOUCH(p, 8, 0, 0);
  mgi_emu_tensor_to(mgi_emu_part_of(mgi_emu.tid), off, m, mgi_emu_phases_at(p, "mg_tensor_copy"), at);
  mgi_emu_yield();
}
/* The same to that place in each of the first BLOCKS of the cluster, where they count in the barrier that lies as p does here. */
template<int BLOCKS, int RANK> MGI_EMU_NOINLINE MG_DEV void mg_tensor_copy_all(void *to, const mg_tensor_map &m, mg_phase *p, const int (&at)[RANK]) {
  mgi_emu_state *s = &mgi_emu;
  const size_t off = (size_t)((unsigned char *)to - mg_shared());
  mgi_emu_tensor_may(off, m, at, "mg_tensor_copy_all");
  for (int r = 0; r < BLOCKS; r++) {
    mgi_emu_part *const b = &s->part[r];
    mgi_emu_phases *const f = mgi_emu_phases_of(b, (const mg_phase *)mg_cluster_shared((unsigned char *)p, r), "mg_tensor_copy_all");
    if (!mgi_emu_phases_shared(f)) mgi_emu_fault(1, "mg_tensor_copy_all: no barrier of the cluster lies between the block's barrier of phases and this");
    mgi_emu_tensor_to(b, off, m, f, at);
  }
  mgi_emu_yield();
}
/* N words to the place that `mine` has in block `rank` of the cluster; their bytes count in a phase of the barrier that lies there as p does here. */
template<int N, class W> MGI_EMU_NOINLINE MG_DEV void mg_push(W *mine, int rank, mg_phase *p, const W (&v)[N]) {
  static_assert((N == 1 || N == 2 || N == 4) && sizeof(W) == 4, "pushes are of 4, 8 or 16 bytes");
  mgi_emu_state *s = &mgi_emu;
  unsigned char *const to = mg_cluster_shared((unsigned char *)mine, rank);
  mgi_emu_part *b = &s->part[rank];
  mgi_emu_tensor c;
  memset(&c, 0, sizeof c);
  c.pushed = 4 * N;
  c.part = rank;
  c.to = (size_t)(to - b->shared);
  c.phases = mgi_emu_phases_of(b, (const mg_phase *)mg_cluster_shared((unsigned char *)p, rank), "mg_push");
  if (c.to % (4 * N) || c.to + 4 * N > s->shared_bytes) mgi_emu_fault(1, "mg_push: %d bytes to byte %lld of shared memory", 4 * N, (long long)c.to);
  if (!mgi_emu_phases_shared(c.phases)) mgi_emu_fault(1, "mg_push: no barrier of the cluster lies between the block's barrier of phases and this");
#ifdef MG_EMULATE_RACES
  mgi_emu_flying_bar = (uint8_t)(c.phases - b->phases);
  mgi_emu_flying_phase = c.phases->done;
#endif
  MGI_EMU_TOUCH(to, 4 * N, 1, 3);
  memcpy(c.value, v, 4 * N);
  memset(to, 0xFF, 4 * N);
  mgi_emu_tensor_begins(&c);
  mgi_emu_yield();
}

/* ---- scalars */
struct mg_f16 { uint16_t bits; };
struct mg_bf16 { uint16_t bits; };
struct mg_f32 { uint32_t bits; };
struct mg_i32 { int32_t v; };
#define MGI_T(id, name, bytes, digits, least, most, cuda) struct mg_##name { uint16_t bits; };
MG_USER_TYPES(MGI_T)
#undef MGI_T
typedef mg_f16 mg_half;
typedef mg_bf16 mg_bfloat;

#ifdef MG_EMULATE_FIELD
/* An element of the small pair, four bytes like the float that it stands for; all bits set is "undefined". */
struct mg_num;
MGI_EMU mg_num mgi_emu_literal(double x, int digits);
struct mg_num {
  uint16_t p, q;
  mg_num() = default;
  constexpr mg_num(uint16_t p_, uint16_t q_) : p(p_), q(q_) {}
  mg_num(float x) { *this = mgi_emu_literal(x, 24); }
  mg_num(double x) { *this = mgi_emu_literal(x, 52); }
  template<class I, class = typename std::enable_if<std::is_integral<I>::value>::type> mg_num(I x) { *this = mgi_emu_literal((double)x, 52); }
};
static struct mgi_emu_tables {
  mgi_emu_value *unpacked;   /* by word */
  uint16_t *packed;          /* by p * (q + 1) + (absent ? q : x_q) */
  uint16_t undefined, neginf;
} mgi_emu_tables;

MGI_EMU mg_num mgi_emu_num(mgi_emu_value v) { mg_num r = {v.p, v.q}; return r; }
MGI_EMU mgi_emu_value mgi_emu_val(mg_num v) { mgi_emu_value r = {v.p, v.q}; return r; }
MGI_EMU int mgi_emu_marked(mg_num v) { return v.p >= MGI_EMU_MARK; }
MGI_EMU mg_num mgi_emu_arith(int op, mg_num a, mg_num b) {
  return mgi_emu_num(mgi_emu.job->arith(mgi_emu.job->user, op, mgi_emu_val(a), mgi_emu_val(b)));
}
MG_DEV mg_num operator+(mg_num a, mg_num b) {
  if (mgi_emu_marked(a) || mgi_emu_marked(b)) return mgi_emu_arith('+', a, b);
  uint32_t P = mgi_emu.job->p, Q = mgi_emu.job->q, p = (uint32_t)a.p + b.p, q = (uint32_t)a.q + b.q;
  mg_num r = {(uint16_t)(p >= P ? p - P : p), (uint16_t)(q >= Q ? q - Q : q)};
  if (a.q == MGI_EMU_ABSENT || b.q == MGI_EMU_ABSENT) r.q = MGI_EMU_ABSENT;
  return r;
}
MG_DEV mg_num operator-(mg_num a, mg_num b) {
  if (mgi_emu_marked(a) || mgi_emu_marked(b)) return mgi_emu_arith('-', a, b);
  uint32_t P = mgi_emu.job->p, Q = mgi_emu.job->q, p = (uint32_t)a.p + P - b.p, q = (uint32_t)a.q + Q - b.q;
  mg_num r = {(uint16_t)(p >= P ? p - P : p), (uint16_t)(q >= Q ? q - Q : q)};
  if (a.q == MGI_EMU_ABSENT || b.q == MGI_EMU_ABSENT) r.q = MGI_EMU_ABSENT;
  return r;
}
MG_DEV mg_num operator*(mg_num a, mg_num b) {
  if (mgi_emu_marked(a) || mgi_emu_marked(b)) return mgi_emu_arith('*', a, b);
  mg_num r = {(uint16_t)((uint32_t)a.p * b.p % mgi_emu.job->p), (uint16_t)((uint32_t)a.q * b.q % mgi_emu.job->q)};
  if (a.q == MGI_EMU_ABSENT || b.q == MGI_EMU_ABSENT) r.q = MGI_EMU_ABSENT;
  return r;
}
MG_DEV mg_num operator/(mg_num a, mg_num b) { return mgi_emu_arith('/', a, b); }
MG_DEV mg_num operator-(mg_num a) { mg_num z = {0, 0}; return z - a; }
MG_DEV mg_num &operator+=(mg_num &a, mg_num b) { return a = a + b; }
MG_DEV mg_num &operator-=(mg_num &a, mg_num b) { return a = a - b; }
MG_DEV mg_num &operator*=(mg_num &a, mg_num b) { return a = a * b; }
MG_DEV mg_num &operator/=(mg_num &a, mg_num b) { return a = a / b; }
MG_DEV mg_num mg_zero() { mg_num z = {0, 0}; return z; }
MG_DEV mg_num mg_neg_inf() { mg_num z = {MGI_EMU_NEGINF, 0}; return z; }
MG_DEV mg_num mg_dev_max(mg_num a, mg_num b) { return mgi_emu_arith('m', a, b); }
MG_DEV int mg_above(mg_num b, mg_num a) { /* in the order that maxima are taken in */
  const mg_num m = mg_dev_max(a, b);
  return (b.p != a.p || b.q != a.q) && m.p == b.p && m.q == b.q;
}
/* A number as a word, and whether word b's is above word a's: that order is the host's. */
MG_DEV uint32_t mg_order_word(mg_num v) { return (uint32_t)v.p << 16 | v.q; }
MG_DEV int mg_order_above(uint32_t b, uint32_t a) {
  return mg_above(mg_num{(uint16_t)(b >> 16), (uint16_t)b}, mg_num{(uint16_t)(a >> 16), (uint16_t)a});
}
MG_DEV mg_num mg_const(int64_t num, int64_t den) {
  static struct { int64_t num, den; uint32_t p; uint64_t key; mg_num v; } kept[64];
  uint64_t h = ((uint64_t)num * 31 + (uint64_t)den) % 64;
  if (kept[h].den != den || kept[h].num != num || kept[h].p != mgi_emu.job->p || kept[h].key != mgi_emu.job->key) {
    kept[h].num = num;
    kept[h].den = den;
    kept[h].p = mgi_emu.job->p;
    kept[h].key = mgi_emu.job->key;
    kept[h].v = mgi_emu_num(mgi_emu.job->constant(mgi_emu.job->user, num, den));
  }
  return kept[h].v;
}
/* What a number in the text stands for: the simplest fraction that rounds to it, at so many binary digits. */
MGI_EMU mg_num mgi_emu_literal(double x, int digits) {
  if (!mgi_emu.job) return mg_num{MGI_EMU_UNDEFINED, 0};
  int power = 0;
  frexp(x, &power);
  const double size = x < 0 ? -x : x, half = ldexp(0.5, power - digits), lo = size - half, hi = size + half;
  if (x != x) return mg_num{MGI_EMU_UNDEFINED, 0};
  if (size == HUGE_VAL && x < 0) return mg_neg_inf();
  if (x == 0) return mg_zero();
  int64_t n0 = 0, n1 = 1, d0 = 1, d1 = 0; /* the last two convergents */
  double a = lo, b = hi;
  for (int k = 0; k < 64 && size < 1e15 && size > 1e-15; k++) { /* the simplest between a and b: their common whole parts, then the rest */
    const double whole = floor(a), next = floor(b);
    const int64_t take = (int64_t)(whole == a ? whole : next > whole ? whole + 1 : whole), n = take * n1 + n0, d = take * d1 + d0;
    if (n < 0 || d < 0 || n > ((int64_t)1 << 40) || d > ((int64_t)1 << 40)) break;
    n0 = n1, n1 = n, d0 = d1, d1 = d;
    if (whole == a || next > whole) return mg_const(x < 0 ? -n1 : n1, d1);
    const double from = 1 / (b - whole);
    b = 1 / (a - whole), a = from;
  }
  mgi_emu.job->unmodelled = 1;
  mgi_emu_fault(mgi_emu.inside, "the number %g, which stands for no simple fraction over fields: mg_const and mg_neg_inf have a meaning there", x);
  return mg_num{MGI_EMU_UNDEFINED, 0};
}
MGI_EMU mg_num mgi_emu_unpack(uint16_t w) { return mgi_emu_num(mgi_emu_tables.unpacked[w]); }
MGI_EMU uint16_t mgi_emu_pack(mg_num v) {
  if (v.p == MGI_EMU_NEGINF) return mgi_emu_tables.neginf;
  if (v.p == MGI_EMU_EXP2) return mgi_emu.job->pack(mgi_emu.job->user, mgi_emu_val(v));
  if (mgi_emu_marked(v)) return mgi_emu_tables.undefined;
  uint32_t q = mgi_emu.job->q;
  return mgi_emu_tables.packed[v.p * (q + 1) + (v.q == MGI_EMU_ABSENT ? q : v.q)];
}
MG_DEV mg_num mg_widen(mg_f16 v) { return mgi_emu_unpack(v.bits); }
MG_DEV mg_num mg_widen(mg_bf16 v) { return mgi_emu_unpack(v.bits); }
#define MGI_T(id, name, bytes, digits, least, most, cuda)                            \
  MG_DEV mg_num mg_widen(mg_##name v) { return mgi_emu_unpack(v.bits); }
MG_USER_TYPES(MGI_T)
#undef MGI_T
MG_DEV mg_num mg_widen(mg_f32 v) { return v.bits > 0xFFFF ? mg_num{MGI_EMU_UNDEFINED, 0} : mgi_emu_unpack((uint16_t)v.bits); }
template<class T> struct mgi_narrow { static T of(mg_num v) { T r; r.bits = mgi_emu_pack(v); return r; } };

/* A row of the operator table: asked of the host, remembered for one-operand rows without a constant. */
MGI_EMU mg_num mgi_emu_row(const char *name, int n, int constant, mgi_emu_value **memo, mg_num a, mg_num b, mg_num c) {
  mgi_emulator *job = mgi_emu.job;
  if (n != 1 || constant || mgi_emu_marked(a)) return mgi_emu_num(job->row(job->user, name, mgi_emu_val(a), mgi_emu_val(b), mgi_emu_val(c)));
  size_t words = (size_t)job->p * (job->q + 1);
  if (!*memo) { /* {MARK, 0} is "not asked yet" */
    *memo = (mgi_emu_value *)malloc(words * sizeof **memo);
    if (!*memo) {
      mgi_emu_fault(1, "out of memory");
      return a;
    }
    for (size_t k = 0; k < words; k++) (*memo)[k].p = MGI_EMU_MARK, (*memo)[k].q = 0;
  }
  mgi_emu_value *r = &(*memo)[a.p * (job->q + 1) + (a.q == MGI_EMU_ABSENT ? job->q : a.q)];
  if (r->p == MGI_EMU_MARK) *r = job->row(job->user, name, mgi_emu_val(a), mgi_emu_val(b), mgi_emu_val(c));
  return mgi_emu_num(*r);
}
enum { /* a place in the memo for every row */
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) MGI_EMU_ROW_##id,
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
  MG_OPS(MGI_E, MGI_T)
#undef MGI_E
  MGI_EMU_ROWS
};
static mgi_emu_value *mgi_emu_memo[MGI_EMU_ROWS];
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)                                                  \
  MG_DEV mg_num mg_dev_##id(mg_num a, mg_num b, mg_num c) {                                                  \
    return mgi_emu_row(name, n, MG_ATTR_##attr != MG_ATTR_NONE, &mgi_emu_memo[MGI_EMU_ROW_##id], a, b, c);   \
  }
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T

#else /* floats */
typedef float mg_num;
MGI_EMU uint32_t mgi_emu_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
MGI_EMU float mgi_emu_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
#ifdef MG_EMULATE_WIDE
MGI_EMU mgi_emu_wide *mgi_emu_wider(void) { return mgi_emu.job && mgi_emu.job->wide && mgi_emu.job->wide->pass ? mgi_emu.job->wide : 0; }
MGI_EMU float mgi_emu_wide_read(mgi_emu_wide *w, uint16_t word) {
  if (w->pass == 1) {
    if (w->read == w->room) {
      const size_t room = w->room ? 2 * w->room : 1 << 20;
      uint32_t *const log = w->lost || room > (size_t)1 << 28 ? 0 : (uint32_t *)realloc(w->log, room * sizeof *log);
      if (!log) {
        w->lost = 1;
        return 1;
      }
      w->log = log, w->room = room;
    }
    w->log[w->read++] = word;
    return 1;
  }
  if (w->read >= w->logged) {
    w->lost = 1;
    return 1;
  }
  uint32_t *const at = &w->log[w->read++];
  if (w->pass == 2) {
    *at |= (uint32_t)word << 16;
    return 1;
  }
  return *at == 0 ? 0.0f : *at <= w->values ? w->value[*at] : NAN; /* beyond: poison */
}
MGI_EMU uint16_t mgi_emu_wide_write(mgi_emu_wide *w, float f) {
  const uint32_t number = ++w->made;
  if (w->pass == 1) return (uint16_t)number;
  if (w->pass == 2) return (uint16_t)(number >> 16);
  if (number <= w->values) w->value[number] = f;
  else w->lost = 1;
  return 0;
}
#define MGI_EMU_WIDE_READ(v) if (mgi_emu_wide *const w_ = mgi_emu_wider()) return mgi_emu_wide_read(w_, (v).bits)
#define MGI_EMU_WIDE_WRITE(T, f) if (mgi_emu_wide *const w_ = mgi_emu_wider()) return T{mgi_emu_wide_write(w_, f)}
#else
#define MGI_EMU_WIDE_READ(v)
#define MGI_EMU_WIDE_WRITE(T, f)
#endif
#define MGI_FLOAT(u) mgi_emu_float(u)
#define MGI_BITS(f) mgi_emu_bits(f)
MG_DEV mg_num mg_widen(mg_f32 v) { return MGI_FLOAT(v.bits); }
MG_DEV mg_num mg_widen(mg_bf16 v) {
  MGI_EMU_WIDE_READ(v);
  return mgi_emu_float((uint32_t)v.bits << 16);
}
MG_DEV mg_num mg_widen(mg_f16 v) {
  MGI_EMU_WIDE_READ(v);
  uint32_t sign = (uint32_t)(v.bits & 0x8000) << 16, e = (v.bits >> 10) & 31, m = v.bits & 1023;
  if (e == 31) return mgi_emu_float(sign | 0x7F800000u | m << 13);
  if (e) return mgi_emu_float(sign | (e + 112) << 23 | m << 13);
  float f = (float)m * 0x1p-24f; /* subnormal: exact */
  return sign ? -f : f;
}
template<class T> struct mgi_narrow;
template<> struct mgi_narrow<mg_f32> { static mg_f32 of(float f) { mg_f32 r = {mgi_emu_bits(f)}; return r; } };
/* Round to nearest, ties to even; NaN becomes the device's 0x7FFF, so that it is never the poison 0xFFFF. */
template<> struct mgi_narrow<mg_bf16> {
  static mg_bf16 of(float f) {
    MGI_EMU_WIDE_WRITE(mg_bf16, f);
    uint32_t u = mgi_emu_bits(f);
    mg_bf16 r = {(uint16_t)0x7FFF};
    if (f == f) r.bits = (uint16_t)((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    return r;
  }
};
template<> struct mgi_narrow<mg_f16> {
  static mg_f16 of(float f) {
    MGI_EMU_WIDE_WRITE(mg_f16, f);
    uint32_t u = mgi_emu_bits(f), sign = (u >> 16) & 0x8000, a = u & 0x7FFFFFFF, r;
    if (a > 0x7F800000u) r = 0x7FFF, sign = 0;
    else if (a >= 0x477FF000u) r = 0x7C00;                                  /* 65520 and more round to infinity */
    else if (a < 0x38800000u) {                                             /* below 2^-14: multiples of 2^-24 */
      float scaled = mgi_emu_float(a) + 0.5f;                               /* ulp of [0.5, 1) is 2^-24: the add rounds */
      r = mgi_emu_bits(scaled) - 0x3F000000u;
    } else r = (a + 0xFFF + ((a >> 13) & 1) - 0x38000000u) >> 13;
    mg_f16 h = {(uint16_t)(sign | r)};
    return h;
  }
};
MG_DEV mg_num mg_zero() { return 0.0f; }
MG_DEV mg_num mg_neg_inf() { return -HUGE_VALF; }
MG_DEV mg_num mg_const(int64_t num, int64_t den) { return (float)((double)num / (double)den); }
#endif /* scalars */

static_assert(sizeof(mg_num) == 4, "shared memory layouts must be those of the device");
template<class T> MG_DEV T mg_narrow(mg_num v) { return mgi_narrow<T>::of(v); }

template<class T> MG_DEV uint32_t mg_pack2(T lo, T hi) { return (uint32_t)lo.bits | (uint32_t)hi.bits << 16; }
template<class T> MG_DEV uint32_t mg_narrow2(mg_num lo, mg_num hi) { return mg_pack2<T>(mg_narrow<T>(lo), mg_narrow<T>(hi)); }
template<class T> MG_DEV void mg_unpack2(uint32_t r, T &lo, T &hi) {
  lo.bits = (uint16_t)(r & 0xFFFF);
  hi.bits = (uint16_t)(r >> 16);
}

/* ---- warp collectives */
typedef struct mgi_emu_shfl { mg_num v, got; int mask; } mgi_emu_shfl;
MGI_EMU_OWN void mgi_emu_do_shfl(void *const *arg) {
  for (int l = 0; l < 32; l++) {
    mgi_emu_shfl *me = (mgi_emu_shfl *)arg[l];
    me->got = ((const mgi_emu_shfl *)arg[(l ^ me->mask) & 31])->v;
  }
}
static const mgi_emu_collective mgi_emu_at_shfl = {"mg_shfl_xor", mgi_emu_do_shfl};
MG_DEV mg_num mg_shfl_xor(mg_num v, int mask, int line = __builtin_LINE()) {
  mgi_emu_shfl s = {v, v, mask};
  mgi_emu_collect(&mgi_emu_at_shfl, &s, mgi_emu_within(line));
  return s.got;
}

/* ldmatrix: lane l gives the address of row l % 8 of 8x8 matrix l / 8.  Lane t receives, of every matrix, the elements
   (t / 4, 2 (t % 4)) and the next of its row; of a transposed one (2 (t % 4), t / 4) and the next of its column. */
typedef struct mgi_emu_ldsm { uint32_t *r; const void *row; } mgi_emu_ldsm;
template<int N, bool TRANS> MGI_EMU_OWN void mgi_emu_do_ldsm(void *const *arg) {
  for (int m = 0; m < N; m++) {
    uint16_t e[8][8];
    for (int k = 0; k < 8; k++) memcpy(e[k], ((const mgi_emu_ldsm *)arg[m * 8 + k])->row, 16);
    for (int t = 0; t < 32; t++) {
      int a = t / 4, b = 2 * (t % 4);
      uint32_t lo = TRANS ? e[b][a] : e[a][b], hi = TRANS ? e[b + 1][a] : e[a][b + 1];
      ((const mgi_emu_ldsm *)arg[t])->r[m] = lo | hi << 16;
    }
  }
}
static const mgi_emu_collective mgi_emu_at_ldsm[4] = {{"mg_ldsm_x4", mgi_emu_do_ldsm<4, false>}, {"mg_ldsm_x4_trans", mgi_emu_do_ldsm<4, true>},
                                                      {"mg_ldsm_x2", mgi_emu_do_ldsm<2, false>}, {"mg_ldsm_x2_trans", mgi_emu_do_ldsm<2, true>}};
MGI_EMU_NOINLINE MGI_EMU_OWN void mgi_emu_load_matrix(int which, int n, uint32_t *r, const void *row, int line) {
  if (mg_lane() < 8 * n) {
    mgi_emu_in_shared(row, 16, mgi_emu_at_ldsm[which].name);
    MGI_EMU_TOUCH(row, 16, 0, 0);
  }
  mgi_emu_ldsm a = {r, row};
  mgi_emu_collect(&mgi_emu_at_ldsm[which], &a, mgi_emu_within(line));
}
MG_DEV void mg_ldsm_x4(uint32_t (&r)[4], const void *row, int line = __builtin_LINE()) { mgi_emu_load_matrix(0, 4, r, row, line); }
MG_DEV void mg_ldsm_x4_trans(uint32_t (&r)[4], const void *row, int line = __builtin_LINE()) { mgi_emu_load_matrix(1, 4, r, row, line); }
MG_DEV void mg_ldsm_x2(uint32_t (&r)[2], const void *row, int line = __builtin_LINE()) { mgi_emu_load_matrix(2, 2, r, row, line); }
MG_DEV void mg_ldsm_x2_trans(uint32_t (&r)[2], const void *row, int line = __builtin_LINE()) { mgi_emu_load_matrix(3, 2, r, row, line); }

/* mma.sync m16n8k16, A row, B column.  With g = lane / 4 and t = 2 (lane % 4), a lane holds
     a[0] (g, t) (g, t+1)   a[1] (g+8, t) ..   a[2] (g, t+8) ..   a[3] (g+8, t+8) ..
     b[0] (t, g) (t+1, g)   b[1] (t+8, g) ..   c[0] (g, t)  c[1] (g, t+1)  c[2] (g+8, t)  c[3] (g+8, t+1)            */
typedef struct mgi_emu_mma { mg_num *c; const uint32_t *a, *b; } mgi_emu_mma;
#ifdef MG_EMULATE_FIELD
enum { MGI_EMU_DOT = 11585 }; /* 16 products of elements below it fit 31 bits */
__attribute__((optimize("O3"))) MGI_EMU void mgi_emu_dots(const int16_t (*a)[16], const int16_t (*b)[16], int32_t (*sum)[8]) { /* vectors of 16 bits */
  for (int r = 0; r < 16; r++)
    for (int n = 0; n < 8; n++) {
      int32_t s = 0;
      for (int j = 0; j < 16; j++) s += a[r][j] * b[n][j];
      sum[r][n] = s;
    }
}
#endif
template<class T> MGI_EMU_OWN void mgi_emu_do_mma(void *const *arg) {
  mg_num A[16][16], B[8][16]; /* B by column */
  for (int l = 0; l < 32; l++) {
    const mgi_emu_mma *m = (const mgi_emu_mma *)arg[l];
    int g = l / 4, t = 2 * (l % 4);
    for (int k = 0; k < 4; k++) {
      T lo, hi;
      mg_unpack2<T>(m->a[k], lo, hi);
      int row = g + (k & 1) * 8, col = t + (k >> 1) * 8;
      A[row][col] = mg_widen(lo);
      A[row][col + 1] = mg_widen(hi);
    }
    for (int k = 0; k < 2; k++) {
      T lo, hi;
      mg_unpack2<T>(m->b[k], lo, hi);
      B[g][t + k * 8] = mg_widen(lo);
      B[g][t + k * 8 + 1] = mg_widen(hi);
    }
  }
#ifdef MG_EMULATE_FIELD
  /* Sums of products of clean elements are taken over integers, of 64 bits where they need as many; a row or column with a mark
     goes one by one. */
  const uint32_t P = mgi_emu.job->p, Q = mgi_emu.job->q;
  const int few = P <= MGI_EMU_DOT && Q <= MGI_EMU_DOT;
  const uint64_t over[2] = {~UINT64_C(0) / P + 1, ~UINT64_C(0) / Q + 1}; /* 2^64 / P: what is below 2^32 is divided by one product */
  int16_t left[2][16][16], right[2][8][16];
  int32_t sum[2][16][8];
  int row_marked[16], col_marked[8], row_absent[16], col_absent[8];
  for (int r = 0; r < 16; r++) {
    row_marked[r] = row_absent[r] = 0;
    for (int k = 0; k < 16; k++) {
      row_marked[r] |= mgi_emu_marked(A[r][k]), row_absent[r] |= A[r][k].q == MGI_EMU_ABSENT;
      left[0][r][k] = (int16_t)A[r][k].p, left[1][r][k] = (int16_t)A[r][k].q;
    }
  }
  for (int r = 0; r < 8; r++) {
    col_marked[r] = col_absent[r] = 0;
    for (int k = 0; k < 16; k++) {
      col_marked[r] |= mgi_emu_marked(B[r][k]), col_absent[r] |= B[r][k].q == MGI_EMU_ABSENT;
      right[0][r][k] = (int16_t)B[r][k].p, right[1][r][k] = (int16_t)B[r][k].q;
    }
  }
  for (int f = 0; f < 2 && few; f++) mgi_emu_dots(left[f], right[f], sum[f]);
#endif
  for (int l = 0; l < 32; l++) {
    const mgi_emu_mma *m = (const mgi_emu_mma *)arg[l];
    for (int k = 0; k < 4; k++) {
      int r = l / 4 + (k >> 1) * 8, n = 2 * (l % 4) + (k & 1);
#ifdef MG_EMULATE_FIELD
      if (!row_marked[r] && !col_marked[n]) {
        uint64_t p = 0, q = 0;
        if (few) {
          p = (uint64_t)sum[0][r][n], q = (uint64_t)sum[1][r][n];
          p -= P * (uint64_t)((unsigned __int128)over[0] * p >> 64), q -= Q * (uint64_t)((unsigned __int128)over[1] * q >> 64);
        } else {
          for (int j = 0; j < 16; j++) p += (uint32_t)A[r][j].p * B[n][j].p, q += (uint32_t)A[r][j].q * B[n][j].q;
          p %= P, q %= Q;
        }
        mg_num s = {(uint16_t)p, (uint16_t)q};
        if (row_absent[r] || col_absent[n]) s.q = MGI_EMU_ABSENT;
        m->c[k] = m->c[k] + s;
        continue;
      }
#endif
      mg_num s = m->c[k];
      for (int j = 0; j < 16; j++) s = s + A[r][j] * B[n][j];
      m->c[k] = s;
    }
  }
}
template<class T> MG_DEV uint32_t mg_mul2(uint32_t a, uint32_t b) {
  T x[2], y[2];
  mg_unpack2<T>(a, x[0], x[1]);
  mg_unpack2<T>(b, y[0], y[1]);
  return mg_narrow2<T>(mg_widen(x[0]) * mg_widen(y[0]), mg_widen(x[1]) * mg_widen(y[1]));
}
/* `static`: what a template has else is one for all files of a process, with the functions of the first. */
template<class T> static const mgi_emu_collective mgi_emu_at_mma = {"mg_mma_16816", mgi_emu_do_mma<T>};
template<class T> MG_DEV void mg_mma_16816(mg_num (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int line = __builtin_LINE()) {
  mgi_emu_mma m = {c, a, b};
  mgi_emu_collect(&mgi_emu_at_mma<T>, &m, mgi_emu_within(line));
}

/* A word of lane `from`. */
typedef struct mgi_emu_word { uint32_t v, got; int from; } mgi_emu_word;
MGI_EMU_OWN void mgi_emu_do_word(void *const *arg) {
  for (int l = 0; l < 32; l++) {
    mgi_emu_word *me = (mgi_emu_word *)arg[l];
    me->got = ((const mgi_emu_word *)arg[me->from & 31])->v;
  }
}
static const mgi_emu_collective mgi_emu_at_word = {"mg_shfl_word", mgi_emu_do_word};
MG_DEV uint32_t mg_shfl_word(uint32_t v, int from, int line = __builtin_LINE()) {
  mgi_emu_word me = {v, 0, from};
  mgi_emu_collect(&mgi_emu_at_word, &me, mgi_emu_within(line));
  return me.got;
}
/* Of f16 pairs: the larger magnitudes; the power k for which one of magnitude m is below 2^(below + 1) times 2^k; pairs of 2^k.  Over a
   field a word's last bits stand for its magnitude: the powers are taken and undone all the same. */
MG_DEV uint32_t mg_most2(uint32_t a, uint32_t b) {
#ifdef MG_EMULATE_FIELD
  const uint32_t mask = 3;
#else
  const uint32_t mask = 0x7FFF;
#endif
  const uint32_t lo = (a & mask) > (b & mask) ? a & mask : b & mask, c = a >> 16 & mask, d = b >> 16 & mask;
  return lo | (c > d ? c : d) << 16;
}
/* The largest that need no other power. */
MG_DEV uint32_t mg_ceil2(uint32_t a) {
#ifdef MG_EMULATE_FIELD
  return a;
#else
  return a | 0x03FF03FFu;
#endif
}
/* Whether it holds in any lane of the warp. */
MG_DEV bool mg_any(bool v) {
  uint32_t any = v;
  for (int m = 1; m < 32; m *= 2) any |= mg_shfl_word(any, mg_lane() ^ m);
  return any != 0;
}
MG_DEV int mg_power_for(uint32_t m, int below) {
#ifdef MG_EMULATE_FIELD
  return below - 6 - (int)(m & 3);
#else
  const int k = below + 15 - (int)(m >> 10 & 31);
  return k < 15 ? k : 15;
#endif
}
#ifdef MG_EMULATE_FIELD
MG_DEV mg_num mg_power(int k) { return k < 0 ? mg_const(1, (int64_t)1 << -k) : mg_const((int64_t)1 << k, 1); }
MG_DEV uint32_t mg_size_bits(mg_num) { return 0x45000000; } /* elements of fields have no sizes: all are alike */
MG_DEV mg_num mg_high_part(mg_num v) { return mgi_emu.job->alone ? v : v * mg_const(3, 1); } /* alone, what is handed on is one tensor's */
#else
MG_DEV mg_num mg_high_part(mg_num v) { return mg_widen(mg_narrow<mg_f16>(v)); }
MG_DEV mg_num mg_power(int k) { return ldexpf(1, k); }
MG_DEV uint32_t mg_size_bits(mg_num v) {
#ifdef MG_EMULATE_WIDE
  if (mgi_emu_wider()) return 0x45000000; /* nothing is of 16 bits */
#endif
  const uint32_t b = mgi_emu_bits(v) & 0x7FFFFFFF;
  return b < 0x7F800000 ? b : 0;
}
#endif
MG_DEV uint32_t mg_power2(int k) { return mg_narrow2<mg_f16>(mg_power(k), mg_power(k)); }

/* mma.sync m16n8k8 over tf32: f32's exponents, 10 bits behind the point.  With g = lane / 4 and t = lane % 4, a lane holds
     a[0] (g, t)  a[1] (g+8, t)  a[2] (g, t+4)  a[3] (g+8, t+4)   b[0] (t, g)  b[1] (t+4, g)   c as above            */
typedef struct mgi_emu_mma_wide { mg_num *c; const mg_num *a, *b; } mgi_emu_mma_wide;
MGI_EMU mg_num mgi_emu_tf32(mg_num v) {
#ifdef MG_EMULATE_WIDE
  if (mgi_emu_wider()) return v; /* nothing is of 10 bits */
#endif
#ifndef MG_EMULATE_FIELD
  uint32_t bits;
  memcpy(&bits, &v, 4);
  if ((bits >> 23 & 255) != 255) bits = (bits + 0x1000u) & ~0x1FFFu;
  memcpy(&v, &bits, 4);
#endif
  return v;
}
MGI_EMU_OWN void mgi_emu_do_mma_wide(void *const *arg) {
  mg_num A[16][8], B[8][8]; /* B by column */
  for (int l = 0; l < 32; l++) {
    const mgi_emu_mma_wide *m = (const mgi_emu_mma_wide *)arg[l];
    for (int k = 0; k < 4; k++) A[l / 4 + (k & 1) * 8][l % 4 + (k >> 1) * 4] = mgi_emu_tf32(m->a[k]);
    for (int k = 0; k < 2; k++) B[l / 4][l % 4 + k * 4] = mgi_emu_tf32(m->b[k]);
  }
  for (int l = 0; l < 32; l++) {
    const mgi_emu_mma_wide *m = (const mgi_emu_mma_wide *)arg[l];
    for (int k = 0; k < 4; k++) {
      const int r = l / 4 + (k >> 1) * 8, n = 2 * (l % 4) + (k & 1);
      mg_num s = m->c[k];
      for (int j = 0; j < 8; j++) s = s + A[r][j] * B[n][j];
      m->c[k] = s;
    }
  }
}
static const mgi_emu_collective mgi_emu_at_mma_wide = {"mg_mma_1688", mgi_emu_do_mma_wide};
MG_DEV void mg_mma_1688(mg_num (&c)[4], const mg_num (&a)[4], const mg_num (&b)[2], int line = __builtin_LINE()) {
  mgi_emu_mma_wide m = {c, a, b};
  mgi_emu_collect(&mgi_emu_at_mma_wide, &m, mgi_emu_within(line));
}

/* Products of a warpgroup: every warp computes its rows, at the issue or later, at the latest at the wait; only then B, and A where
   it lies there, are read in shared memory, at the places that the swizzle gives. */
typedef struct mgi_emu_left { const unsigned char *a; int along; } mgi_emu_left; /* A; NULL: it is in registers */
typedef struct mgi_emu_right { const unsigned char *b; int n, along, panel, add; void (*mma)(void *const *arg); } mgi_emu_right; /* B, and what is done with it */
typedef struct mgi_emu_issue { mg_num (*c)[4]; const uint32_t *a; mgi_emu_left left; mgi_emu_right right; } mgi_emu_issue; /* a lane's part */
struct mgi_emu_product { mg_num (*c[32])[4]; uint32_t a[32][4], group; int warp; mgi_emu_left left; mgi_emu_right right; };
MGI_EMU_PLAIN static inline void mgi_emu_group_read(const unsigned char *b, size_t off, uint16_t *to) { /* 8 elements */
  const size_t at = (size_t)(b - mg_shared()) + off;
  const unsigned char *p = mg_shared() + (at ^ ((at >> 7 & 7) << 4));
  mgi_emu_in_shared(p, 16, "mg_group_mma");
  MGI_EMU_TOUCH(p, 16, 0, 2);
  memcpy(to, p, 16);
}
/* The warp's 16 rows of A, of 64, as fragments. */
MGI_EMU_OWN void mgi_emu_group_left(mgi_emu_product *g) {
  const int row0 = g->warp * 16;
  uint16_t a[16][16]; /* by row */
  if (g->left.along) {
    for (int k = 0; k < 16; k++)
      for (int m = 0; m < 16; m += 8) {
        uint16_t line[8];
        mgi_emu_group_read(g->left.a, (size_t)(k / 8 * 1024 + k % 8 * 128 + (row0 + m) * 2), line);
        for (int j = 0; j < 8; j++) a[m + j][k] = line[j];
      }
  } else
    for (int m = 0; m < 16; m++)
      for (int k = 0; k < 16; k += 8) mgi_emu_group_read(g->left.a, (size_t)((row0 + m) / 8 * 1024 + m % 8 * 128 + k * 2), &a[m][k]);
  for (int l = 0; l < 32; l++)
    for (int x = 0; x < 4; x++) {
      const uint16_t *at = &a[l / 4 + (x & 1) * 8][l % 4 * 2 + (x >> 1) * 8];
      g->a[l][x] = (uint32_t)at[0] | (uint32_t)at[1] << 16;
    }
}
MGI_EMU_OWN void mgi_emu_group_go(mgi_emu_product *g) {
  const mgi_emu_right *x = &g->right;
  uint16_t line[16], b[16][256]; /* b by row */
  if (g->left.a) mgi_emu_group_left(g);
  if (x->along) {
    for (int k = 0; k < 16; k++)
      for (int n = 0; n < x->n; n += 8) mgi_emu_group_read(x->b, (size_t)(n / 64) * (size_t)x->panel + (size_t)(k / 8 * 1024 + k % 8 * 128 + n % 64 * 2), &b[k][n]);
  } else
    for (int n = 0; n < x->n; n++) {
      for (int k = 0; k < 16; k += 8) mgi_emu_group_read(x->b, (size_t)(n / 8 * 1024 + n % 8 * 128 + k * 2), &line[k]);
      for (int k = 0; k < 16; k++) b[k][n] = line[k];
    }
  for (int n = 0; n < x->n; n += 8) {
    uint32_t right[32][2];
    mgi_emu_mma m[32];
    void *arg[32];
    for (int l = 0; l < 32; l++) {
      const int k = 2 * (l % 4), j = n + l / 4;
      mg_num *const c = g->c[l][n / 8];
      if (!x->add)
        for (int i = 0; i < 4; i++) c[i] = mg_zero();
      right[l][0] = (uint32_t)b[k][j] | (uint32_t)b[k + 1][j] << 16;
      right[l][1] = (uint32_t)b[k + 8][j] | (uint32_t)b[k + 9][j] << 16;
      m[l].c = c;
      m[l].a = g->a[l];
      m[l].b = right[l];
      arg[l] = &m[l];
    }
    x->mma(arg);
  }
}
/* The first n of the warp's products that have not been computed. */
MGI_EMU_OWN void mgi_emu_group_land(mgi_emu_warp *w, int n) {
  for (int k = 0; k < n; k++) mgi_emu_group_go(&w->product[k]);
  if (n) memmove(w->product, w->product + n, (size_t)(w->n_product - n) * sizeof *w->product);
  w->n_product -= n;
}
MGI_EMU void mgi_emu_do_group(void *const *arg) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_warp *w = &s->warp[s->tid / 32];
  const mgi_emu_right *x = &((const mgi_emu_issue *)arg[0])->right;
  const mgi_emu_left left = ((const mgi_emu_issue *)arg[0])->left;
  if (s->threads % 128) mgi_emu_fault(1, "mg_group_mma: a block of %d threads is no whole number of warpgroups", s->threads);
  if (!w->fenced) mgi_emu_fault(1, "mg_group_mma without mg_group_fence");
  if ((x->b - mg_shared()) % 1024 / 128) mgi_emu_fault(1, "mg_group_mma: its operand starts at byte %lld, not in the first of eight lines", (long long)(x->b - mg_shared()));
  mgi_emu_in_shared(x->b, 16, "mg_group_mma");
  if (left.a && (left.a - mg_shared()) % 1024 / 128) mgi_emu_fault(1, "mg_group_mma: its left operand starts at byte %lld, not in the first of eight lines", (long long)(left.a - mg_shared()));
  if (left.a) mgi_emu_in_shared(left.a, 16, "mg_group_mma");
  if (!mgi_emu_room(&w->product, w->n_product, &w->cap_product)) return;
  mgi_emu_product *g = &w->product[w->n_product++];
  g->left = left;
  g->right = *x;
  g->group = w->groups;
  g->warp = s->tid / 32 % 4;
  for (int l = 0; l < 32; l++) {
    const mgi_emu_issue *y = (const mgi_emu_issue *)arg[l];
    if (y->right.b != x->b || y->right.add != x->add || y->left.a != left.a) mgi_emu_fault(1, "mg_group_mma: lanes with different operands");
    g->c[l] = y->c;
    for (int k = 0; k < 4 && !left.a; k++) g->a[l][k] = y->a[k];
  }
  w->issued = (w->issued * 31 + (uint64_t)(x->b - mg_shared())) * 31 + (uint64_t)(x->n * 2 + x->add);
  if (left.a) w->issued = w->issued * 31 + (uint64_t)(left.a - mg_shared());
  if (s->landing == 0 || (s->landing == 2 && (mgi_emu_random() & 1))) mgi_emu_group_land(w, w->n_product);
}
MGI_EMU void mgi_emu_do_group_fence(void *const *) { mgi_emu.warp[mgi_emu.tid / 32].fenced = 1; }
MGI_EMU void mgi_emu_do_group_commit(void *const *) { mgi_emu.warp[mgi_emu.tid / 32].groups++; }
MGI_EMU void mgi_emu_do_group_wait(void *const *arg) {
  mgi_emu_warp *w = &mgi_emu.warp[mgi_emu.tid / 32];
  const uint32_t but = *(const uint32_t *)arg[0];
  int n = 0;
  while (n < w->n_product && w->product[n].group + but < w->groups) n++;
  mgi_emu_group_land(w, n);
  w->fenced = 0;
}
static const mgi_emu_collective mgi_emu_at_group[4] = {{"mg_group_mma", mgi_emu_do_group}, {"mg_group_fence", mgi_emu_do_group_fence}, {"mg_group_commit", mgi_emu_do_group_commit}, {"mg_group_wait", mgi_emu_do_group_wait}};
MG_DEV void mg_group_publish() { mgi_emu.thread[mgi_emu.tid].published++; }
MG_DEV void mg_group_fence(int line = __builtin_LINE()) { mgi_emu_collect(&mgi_emu_at_group[1], 0, mgi_emu_called(line)); }
MG_DEV void mg_group_commit(int line = __builtin_LINE()) { mgi_emu_collect(&mgi_emu_at_group[2], 0, mgi_emu_called(line)); }
template<int BUT = 0, int TILES> MG_DEV void mg_group_wait(mg_num (&)[TILES][4], int line = __builtin_LINE()) {
  uint32_t but = BUT;
  mgi_emu_collect(&mgi_emu_at_group[3], &but, mgi_emu_called(line));
}
template<class T, int N, bool ALONG, int PANEL> MG_DEV void mg_group_mma(mg_num (*c)[4], const uint32_t (&a)[4], const T *b, bool add, int line = __builtin_LINE()) {
  mgi_emu_issue x = {c, a, {0, 0}, {(const unsigned char *)b, N, ALONG, PANEL, add, mgi_emu_do_mma<T>}};
  mgi_emu_collect(&mgi_emu_at_group[0], &x, mgi_emu_within(line));
}
template<class T, int N, bool ALONG, int PANEL, bool LEFT_ALONG> MG_DEV void mg_group_mma_tiles(mg_num (*c)[4], const T *a, const T *b, bool add, int line = __builtin_LINE()) {
  mgi_emu_issue x = {c, 0, {(const unsigned char *)a, LEFT_ALONG}, {(const unsigned char *)b, N, ALONG, PANEL, add, mgi_emu_do_mma<T>}};
  mgi_emu_collect(&mgi_emu_at_group[0], &x, mgi_emu_within(line));
}

/* ---- the host's side: what NAME_launch does.  Every call of the runtime is on the caller's stream, or is a fault; it may be
   the one that fails; in a dry run it is noted, pointers as offsets into the buffers of the call. */
static thread_local mgi_emulator *mgi_emu_own; /* of one of two host threads */
static void (*mgi_emu_turn)(void);             /* where two take turns */
MGI_EMU mgi_emulator *mgi_emu_job(void) { return mgi_emu_own ? mgi_emu_own : mgi_emu.job; }
MGI_EMU void mgi_emu_note(const char *fmt, ...) {
  const mgi_emulator *job = mgi_emu_job();
  const size_t used = job->notes ? strlen(job->notes) : 0;
  va_list ap;
  if (!job->notes || used + 1 >= job->notes_size) return;
  va_start(ap, fmt);
  vsnprintf(job->notes + used, job->notes_size - used, fmt, ap);
  va_end(ap);
}
/* 1 if p points into a buffer, as is noted. */
MGI_EMU int mgi_emu_note_pointer(const void *p) {
  const mgi_emulator *job = mgi_emu_job();
  for (int other = 0; p && other < 2 && job; other++, job = job->other)
    for (int k = 0; k < job->n_ranges; k++) {
      const mgi_emu_range *g = &job->range[k];
      if ((uintptr_t)p < (uintptr_t)g->base || (uintptr_t)p > (uintptr_t)g->base + g->bytes) continue;
      mgi_emu_note(" %s%s+%llu", other ? "another call's " : "", g->name, (unsigned long long)((uintptr_t)p - (uintptr_t)g->base));
      return 1;
    }
  return 0;
}
template<class A> MGI_EMU void mgi_emu_note_argument(const A &a) {
  int pointers = 0;
  for (size_t k = 0; k + sizeof(void *) <= sizeof a; k += sizeof(void *)) {
    const void *p;
    memcpy((void *)&p, (const char *)&a + k, sizeof p);
    pointers += mgi_emu_note_pointer(p);
  }
  if constexpr (std::is_integral<A>::value) {
    if (!pointers) mgi_emu_note(" %lld", (long long)a);
  } else if (!pointers) mgi_emu_note(" ?");
}
template<class... ARGS> MGI_EMU void mgi_emu_note_arguments(const ARGS &...args) {
  const int each[] = {0, (mgi_emu_note_argument(args), 0)...};
  (void)each;
}
/* A fault of the host's code. */
MGI_EMU int mgi_emu_host_fault(const char *fmt, ...) {
  mgi_emulator *job = mgi_emu_job();
  va_list ap;
  va_start(ap, fmt);
  if (job && !job->error[0]) vsnprintf(job->error, sizeof job->error, fmt, ap);
  va_end(ap);
  mgi_emu.failed = 1;
  return 719;
}
/* A call of the runtime begins.  0, or the error that it returns. */
MGI_EMU int mgi_emu_begins(const char *what, const void *stream) {
  mgi_emulator *job = mgi_emu_job();
  if (!job || mgi_emu.failed) return 719;
  if (mgi_emu_turn) mgi_emu_turn();
  job->calls++;
  if (job->stream && stream != job->stream)
    return mgi_emu_host_fault("%s is on %s, not on the caller's", what, !stream ? "the default stream" : job->other && job->other->stream == stream ? "the stream of another call" : "another stream");
  return job->fail_at && job->calls == job->fail_at ? job->fail_with : 0;
}
MGI_EMU int mgi_emu_turns(void) {
  if (mgi_emu_turn) mgi_emu_turn();
  return 0;
}
/* Global memory that the host has set in the stream's order. */
MGI_EMU int mgi_emu_host_range(const char *what, const void *p, size_t bytes, int write) {
  mgi_emu_state *s = &mgi_emu;
  const mgi_emulator *job = mgi_emu_job();
  for (int k = 0; k < job->n_ranges; k++) {
    const mgi_emu_range *g = &job->range[k];
    const uintptr_t a = (uintptr_t)p, b = (uintptr_t)g->base;
    if (a < b || a > b + g->bytes) continue;
    if (a + bytes > b + g->bytes) return mgi_emu_host_fault("%s: %llu bytes at offset %llu of %s, which has %llu", what, (unsigned long long)bytes, (unsigned long long)(a - b), g->name, (unsigned long long)g->bytes);
    if (write && !g->writable) return mgi_emu_host_fault("%s writes to %s, which is an input", what, g->name);
    for (size_t at = (a - b) / 2; write && !job->dry && s->place[k] && bytes && at <= (a - b + bytes - 1) / 2; at++)
      s->place[k][at].w_when = s->now, s->place[k][at].w_block = ~0u, s->place[k][at].r_when = 0;
    return 0;
  }
  return job->n_ranges && bytes ? mgi_emu_host_fault("%s: memory that belongs to no tensor of this call", what) : 0;
}

/* ---- launch */
/* The shared memory of part k: it ends, up to its alignment, at a page that faults. */
MGI_EMU int mgi_emu_part_memory(int k) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (mgi_emu.shared_bytes + 127) / 128 * 128, need = (room + page - 1) / page * page + page;
  mgi_emu_part *b = &mgi_emu.part[k];
  if (!b->shared_map || b->shared_map_bytes != need) {
    if (b->shared_map) munmap(b->shared_map, b->shared_map_bytes);
#ifdef MG_EMULATE_RACES
    if (b->cell) munmap(b->cell, b->shared_map_bytes * sizeof *b->cell);
    void *cells = mmap(0, need * sizeof *b->cell, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    b->cell = cells == MAP_FAILED ? 0 : (mgi_emu_cell *)cells;
    b->shared_map_bytes = need;
    if (!b->cell) {
      b->shared_map = 0;
      return 0;
    }
#endif
    void *m = mmap(0, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    b->shared_map = m == MAP_FAILED ? 0 : (unsigned char *)m;
    if (m == MAP_FAILED) return 0;
    b->shared_map_bytes = need;
    if (mprotect(b->shared_map + need - page, page, PROT_NONE)) return 0;
  }
  b->shared = b->shared_map + need - page - room;
  return 1;
}
/* Stacks of all fibers that may run at once. */
MGI_EMU int mgi_emu_prepare(size_t shared) {
  mgi_emu_state *s = &mgi_emu;
  const int stacks = s->most * s->threads;
  if (s->n_stacks < stacks) {
    if (s->stacks) munmap(s->stacks, (size_t)s->n_stacks * MGI_EMU_STACK);
    s->n_stacks = s->n_guarded = 0;
    void *m = mmap(0, (size_t)stacks * MGI_EMU_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) {
      s->stacks = 0;
      if (s->most == s->cluster) return 0;
      s->most = s->cluster; /* where memory is promised only if it is there: one after another */
      s->beside = 1;
      return mgi_emu_prepare(shared);
    }
    s->stacks = (unsigned char *)m;
    s->n_stacks = stacks;
  }
  s->shared_bytes = shared;
  for (int k = 0; k < s->cluster; k++)
    if (!mgi_emu_part_memory(k)) return 0;
  return 1;
}

/* The block whose indices stand in part k begins there. */
MGI_EMU void mgi_emu_part_opens(int k) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_part *b = &s->part[k];
  const int fresh = k >= s->parts, first = k * s->threads, end = first + s->threads;
  if (fresh) {
    s->parts = k + 1;
    s->fibers = end;
  } else s->exited -= s->threads;
  for (; s->n_guarded < end; s->n_guarded++) /* the lowest page of each stack catches an overflow */
    if (mprotect(s->stacks + (size_t)s->n_guarded * MGI_EMU_STACK, 4096, PROT_NONE)) mgi_emu_fault(0, "no memory for stacks");
  memset(b->shared, 0xFF, (s->shared_bytes + 127) / 128 * 128);
  b->exited = b->ended = b->at_block = b->gone = b->vote = b->n_phases = b->has.n = b->acquired = 0;
  b->live = 1;
  b->began = b->since = s->now;
  s->live++;
  s->begun++;
  for (int w = first / 32; w < end / 32; w++) {
    s->warp[w].ready = ~0u;
    s->warp[w].arrived = s->warp[w].at_group = s->warp[w].n_product = s->warp[w].fenced = 0;
    s->warp[w].issued = s->warp[w].groups = 0;
    s->warp[w].since = s->warp[w].group = s->now;
    if (!fresh && s->parts > 1) continue;
    int v = (int)(mgi_emu_random() % (uint64_t)(w + 1)); /* priorities: a random permutation */
    s->priority[w] = s->priority[v];
    s->priority[v] = w;
  }
  for (int t = first; t < end; t++) {
    mgi_emu_thread *f = &s->thread[t];
    f->state = MGI_EMU_READY;
    f->n_copy = f->granted = 0;
    f->from = 0;
    f->published = 0;
    f->group = f->arrived = f->waited = 0;
    f->read.n = f->has.n = 0;
    f->fenced = f->upto = f->spins = f->strong = 0;
    f->spin_at = f->met.at = 0;
    f->left = 0;
    memset(f->waited_for, 0, sizeof f->waited_for);
    unsigned char *low = s->stacks + (size_t)t * MGI_EMU_STACK;
    memset(low + MGI_EMU_STACK - MGI_EMU_FRAME, 0xFF, MGI_EMU_FRAME); /* registers start as poison too */
#if MGI_EMU_ASM
    /* As mgi_emu_jump leaves it: six registers, then where to go on; above it stands a return address that is never used. */
    void **top = (void **)(low + MGI_EMU_STACK);
    top[-1] = 0;
    top[-2] = (void *)mgi_emu_fiber;
    for (int n = 3; n <= 8; n++) top[-n] = 0;
    f->sp = top - 8;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = low;
    f->context.uc_stack.ss_size = MGI_EMU_STACK;
    f->context.uc_link = 0;
    makecontext(&f->context, mgi_emu_fiber, 0);
#endif
  }
}
/* All threads of the block in part k have exited. */
MGI_EMU void mgi_emu_part_ends(int k) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emu_part *b = &s->part[k];
  b->live = 0;
  s->live--;
  for (int c = 0; c < s->n_tensor;)
    if (s->tensor[c].part == k) mgi_emu_tensor_land(c), c = 0;
    else c++;
  for (int w = k * s->threads / 32; w < (k + 1) * s->threads / 32 && !s->failed; w++) {
    const int leader = k * s->threads / 32 + ((w - k * s->threads / 32) & ~3);
    if (s->warp[w].issued != s->warp[leader].issued)
      mgi_emu_fault(0, "block (%d, %d, %d): warps %d and %d of a warpgroup issue different products", b->bid[0], b->bid[1], b->bid[2], leader - k * s->threads / 32, w - k * s->threads / 32);
  }
  if (!s->failed) mgi_emu_phases_end(b);
  if (s->failed) return;
  s->job->blocks++;
  if (s->cluster == 1) mgi_emu_poison(b);
}
/* Runs blocks until none is left: `begins` puts the indices of the next one, or of the next cluster's, into part[k] and on; 0: there
   is none. */
template<class N> MGI_EMU void mgi_emu_blocks(const N &begins) {
  mgi_emu_state *s = &mgi_emu;
  s->parts = s->fibers = s->exited = s->live = s->asleep = s->idle = s->n_tensor = 0;
  while (!s->failed) {
    while (!s->failed && (s->cluster > 1 ? !s->live : s->live < s->beside)) { /* side by side, or one cluster */
      int k = 0;
      while (s->cluster == 1 && s->part[k].live && k < s->parts) k++;
      if (!mgi_emu_part_memory(k)) mgi_emu_fault(0, "no memory for the shared memory of %d blocks", k + 1);
      if (s->failed || !begins(k)) break;
      if (s->live == 0) s->arrived = s->gone = 0, s->barrier = 1;
      s->now++;
      for (int r = 0; r < s->cluster; r++) mgi_emu_part_opens(k + r);
    }
    if (s->failed || !s->live) break;
    const int next = mgi_emu_pick();
    if (next < 0 && s->asleep && s->begun < s->blocks - s->left_out && s->live < s->most) { /* all wait: one more */
      s->beside = s->live + 1;
      continue;
    }
    if (next >= 0) {
      s->ended = -1;
      s->tid = next;
      s->inside = 1;
      MGI_EMU_JUMP(MGI_EMU_MAIN, MGI_EMU_SELF(s->tid));
      s->inside = 0;
      if (s->failed) break;
      if (s->ended >= 0) mgi_emu_part_ends(s->ended);
    } else if (s->cluster > 1 && s->exited == s->fibers) {
      for (int k = 0; k < s->cluster && !s->failed; k++) mgi_emu_part_ends(k);
    } else mgi_emu_stuck();
  }
}

/* The threads that the file's MG_KERNEL(..) promises of a kernel; what is not found may have all. */
MGI_EMU int64_t mgi_emu_bound(const char *text, const char *name) {
  static const char open[] = "\nMG_KERNEL(";
  for (const char *at = text ? strstr(text, open) : 0; at; at = strstr(at + 1, open)) {
    char *end;
    const long long bound = strtoll(at + sizeof open - 1, &end, 10);
    const size_t n = strlen(name);
    if (end == at + sizeof open - 1) continue; /* no number */
    if (*end == ',') strtoll(end + 1, &end, 10); /* blocks at once */
    if (!strncmp(end, ") void ", 7) && !strncmp(end + 7, name, n) && end[7 + n] == '(') return bound;
  }
  return MGI_EMU_THREADS;
}
/* Blocks that the machine holds at once, by their threads and shared memory; registers are not known.  0: no machine is. */
MGI_EMU int64_t mgi_emu_holds(const mgi_emulator *job, int threads, int64_t shared) {
  if (!job->sms || shared < 0) return 0;
  int64_t n = job->sm_threads / threads, by = ((int64_t)job->shared_limit + 1024) / (shared + 1024); /* each block takes 1024 bytes more than it asks for */
  if (n > by) n = by;
  if (n > job->sm_blocks) n = job->sm_blocks;
  return n < 1 ? job->sms : n * job->sms;
}
/* Blocks that may run side by side here: one cluster, or, of a file that may wait, or race, by atomics or volatile accesses and
   has no clusters, as many as the machine holds, and there is room for. */
MGI_EMU int mgi_emu_most(const mgi_emulator *job, int64_t shared) {
  const mgi_emu_state *s = &mgi_emu;
  if (s->cluster > 1 || !job->watched || shared < 0) return s->cluster;
  int64_t n = MGI_EMU_FIBERS / s->threads, by = ((int64_t)MGI_EMU_PARTS_MIB << 20) / (shared + 1);
  if (n > MGI_EMU_PARTS) n = MGI_EMU_PARTS;
  if (n > by) n = by;
  if (s->holds && n > s->holds) n = s->holds;
  return n < 1 ? 1 : (int)n;
}
template<class F, class N> MGI_EMU int mgi_emu_launch(const char *name, int64_t gx, int64_t gy, int64_t gz, int64_t cx, int64_t cy, int64_t cz, int64_t threads, int64_t shared, cudaStream_t stream, F body, N note) {
  mgi_emu_state *s = &mgi_emu;
  mgi_emulator *job = mgi_emu_job();
  const int early = s->early;
  s->early = 0;
  const int refused = mgi_emu_begins(name, stream);
  if (refused) return refused;
  s->early = early;
  job->launches++;
  if (!job->alone || !strcmp(job->only, name)) {
    snprintf(job->last, sizeof job->last, "%s", name);
    job->last_grid[0] = gx, job->last_grid[1] = gy, job->last_grid[2] = gz;
  }
  if (!s->early) s->overlaps = 0;
  size_t limit = job->shared_limit ? job->shared_limit : (size_t)MG_SHARED_MOST;
  int in_range = cx >= 1 && cy >= 1 && cz >= 1 && cx <= MGI_EMU_CLUSTER && cy <= MGI_EMU_CLUSTER && cz <= MGI_EMU_CLUSTER && cx * cy * cz <= MGI_EMU_CLUSTER;
  s->cluster = in_range ? (int)(cx * cy * cz) : 1;
  s->threads = threads < 32 || threads > MGI_EMU_THREADS ? 32 : (int)threads;
  s->holds = mgi_emu_holds(job, s->threads, shared);
  s->most = mgi_emu_most(job, shared);
  s->beside = s->most < MGI_EMU_BESIDE ? s->most : (int)MGI_EMU_BESIDE;
  if (s->order != 2 || job->only) s->beside = 1;
  if (gx < 1 || gy < 1 || gz < 1 || gx > 0x7FFFFFFF || gy > 65535 || gz > 65535)
    mgi_emu_fault(0, "%s: a grid of %lld x %lld x %lld blocks cannot be launched", name, (long long)gx, (long long)gy, (long long)gz);
  else if (!in_range || gx % cx || gy % cy || gz % cz)
    mgi_emu_fault(0, "%s: clusters of %lld x %lld x %lld blocks in a grid of %lld x %lld x %lld: want divisors, at most %d blocks", name, (long long)cx, (long long)cy, (long long)cz, (long long)gx, (long long)gy,
                  (long long)gz, (int)MGI_EMU_CLUSTER);
  else if (threads < 32 || threads > MGI_EMU_THREADS || threads % 32)
    mgi_emu_fault(0, "%s: %lld threads a block: want a multiple of 32, at most 1024", name, (long long)threads);
  else if (threads > mgi_emu_bound(job->text, name))
    mgi_emu_fault(0, "%s: %lld threads a block, its MG_KERNEL allows %lld", name, (long long)threads, (long long)mgi_emu_bound(job->text, name));
  else if (job->only && !strcmp(job->only, name) && job->grid[0] && (gx != job->grid[0] || gy != job->grid[1] || gz != job->grid[2]))
    mgi_emu_fault(0, "%s: a grid of %lld x %lld x %lld blocks, its \xC2\xB5Graph's is %lld x %lld x %lld", name, (long long)gx, (long long)gy, (long long)gz, (long long)job->grid[0],
                  (long long)job->grid[1], (long long)job->grid[2]);
  else if (shared < 0 || (size_t)shared > limit)
    mgi_emu_fault(0, "%s: %lld bytes of shared memory a block, the limit is %llu", name, (long long)shared, (unsigned long long)limit);
  else if (early && (job->lacks & MG_CAN_DEPENDENT_LAUNCH))
    mgi_emu_fault(0, "%s: launched without waiting for the kernel before it, which the machine that the file is for cannot",
                  name);
  else if (cx * cy * cz > 1 && (job->lacks & MG_CAN_CLUSTER))
    mgi_emu_fault(0, "%s: launched in clusters, which the machine that the file is for cannot", name);
  else if (!job->dry && !mgi_emu_prepare((size_t)shared))
    mgi_emu_fault(0, "%s: no memory for stacks and shared memory", name);
  if (job->dry && !s->failed) {
    s->early = 0;
    mgi_emu_note("%s: %lld x %lld x %lld blocks in clusters of %lld x %lld x %lld, %lld threads, %lld bytes%s; arguments", name, (long long)gx, (long long)gy, (long long)gz, (long long)cx, (long long)cy, (long long)cz,
                 (long long)threads, (long long)shared, early ? ", early" : "");
    note();
    mgi_emu_note("\n");
    return 0;
  }
  if (s->failed) return 719;
  s->body = [](void *f) { (*(F *)f)(); };
  s->body_arg = &body;
  int64_t clusters = gx / cx * (gy / cy) * (gz / cz);
  s->grid[0] = (int)gx;
  s->grid[1] = (int)gy;
  s->grid[2] = (int)gz;
  s->launched = ++s->now;
  s->n_release = 0;
  /* Their order: up, down, or up by a step that shares no divisor with their number. */
  int64_t step = 1, from = 0;
  if (s->order == 1) step = clusters - 1, from = clusters - 1;
  else if (s->order > 1 && clusters > 2) {
    from = (int64_t)(mgi_emu_random() % (uint64_t)clusters);
    for (step = 1 + (int64_t)(mgi_emu_random() % (uint64_t)(clusters - 1));; step++) {
      int64_t a = step, b = clusters;
      while (b) { int64_t t = a % b; a = b; b = t; }
      if (a == 1) break;
    }
  }
  const int some = job->only && !strcmp(job->only, name);
  s->blocks = clusters * s->cluster;
  s->left_out = s->begun = 0;
  if (some) {
    int64_t inside = 1;
    for (int x = 0; x < 3; x++) inside *= (job->hi[x] < s->grid[x] ? job->hi[x] : s->grid[x]) - (job->lo[x] > 0 ? job->lo[x] : 0);
    s->left_out = s->blocks - (inside > 0 ? inside : 0);
  }
  int64_t k = 0, at = from;
  if (!job->alone || some)
    mgi_emu_blocks([&](int first) {
      for (; k < clusters; k++, at = (at + step) % clusters) {
        int runs = !some;
        for (int r = 0; r < s->cluster; r++) { /* ranks: x fastest */
          mgi_emu_part *b = &s->part[first + r];
          b->bid[0] = (int)(at % (gx / cx) * cx + r % cx);
          b->bid[1] = (int)(at / (gx / cx) % (gy / cy) * cy + r / cx % cy);
          b->bid[2] = (int)(at / (gx / cx) / (gy / cy) * cz + r / cx / cy);
          b->block = (uint32_t)(b->bid[0] + gx * (b->bid[1] + gy * b->bid[2]));
          int inside = 1;
          for (int x = 0; x < 3; x++) inside &= b->bid[x] >= job->lo[x] && b->bid[x] < job->hi[x];
          runs |= inside;
        }
        if (!runs) continue;
        k++, at = (at + step) % clusters;
        return 1;
      }
      return 0;
    });
  s->early = 0;
  return s->failed ? 719 : 0;
}
MGI_EMU void mgi_emu_argument(const void *p) {
  mgi_emulator *job = mgi_emu.job;
  if (job->n_arguments < (int)(sizeof job->argument / sizeof *job->argument)) job->argument[job->n_arguments++] = p;
}
template<class A> MGI_EMU const void *mgi_emu_pointer(const A &) { return 0; }
template<class A> MGI_EMU const void *mgi_emu_pointer(A *const &p) { return (const void *)p; }
template<class... A> MGI_EMU void mgi_emu_arguments(const char *name, const A &...a) {
  mgi_emulator *job = mgi_emu.job;
  if (!job || !job->only || strcmp(job->only, name)) return;
  job->n_arguments = 0;
  (mgi_emu_argument(mgi_emu_pointer(a)), ...);
}
#define MG_LAUNCH_AFTER(early_, kernel, gx, gy, gz, cx, cy, cz, threads, smem, stream, ...) \
  (mgi_emu.early = (early_), MG_LAUNCH_CLUSTER(kernel, gx, gy, gz, cx, cy, cz, threads, smem, stream, __VA_ARGS__))
#define MG_LAUNCH(kernel, gx, gy, gz, threads, smem, stream, ...) MG_LAUNCH_CLUSTER(kernel, gx, gy, gz, 1, 1, 1, threads, smem, stream, __VA_ARGS__)
#define MG_LAUNCH_CLUSTER(kernel, gx, gy, gz, cx, cy, cz, threads, smem, stream, ...) \
  (mgi_emu_arguments(#kernel, __VA_ARGS__), \
   mgi_left_out() ? mgi_emu.early = 0 : mgi_emu_launch(#kernel, (gx), (gy), (gz), (cx), (cy), (cz), (threads), (smem), (stream), [=]() { kernel(__VA_ARGS__); }, [&]() { mgi_emu_note_arguments(__VA_ARGS__); }))

#ifndef MG_RUNNER /* the runtime, where a file was edited by hand: what may stand in a launch, and what may not */
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 };
enum { cudaErrorMisalignedAddress = 716 };
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout, cudaFuncAttributeNonPortableClusterSizeAllowed = 14 };
static thread_local cudaError_t mgi_emu_last_error; /* of the calls below: a launch returns its own */
MGI_EMU cudaError_t cudaPeekAtLastError() { return mgi_emu_last_error; }
MGI_EMU cudaError_t cudaGetLastError() {
  const cudaError_t rc = mgi_emu_last_error;
  mgi_emu_last_error = cudaSuccess;
  return rc;
}
MGI_EMU const char *cudaGetErrorString(cudaError_t rc) { return rc ? "an error" : "no error"; }
MGI_EMU const char *cudaGetErrorName(cudaError_t rc) { return rc ? "cudaError" : "cudaSuccess"; }
MGI_EMU cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t stream = 0) {
  int rc = mgi_emu_begins("cudaMemsetAsync", stream);
  if (!rc) rc = mgi_emu_host_range("cudaMemsetAsync", p, n, 1);
  mgi_emu_note("cudaMemsetAsync: %d, %llu bytes;", v, (unsigned long long)n);
  mgi_emu_note_arguments(p);
  mgi_emu_note("\n");
  if (!rc && !mgi_emu_job()->dry) memset(p, v, n);
  return mgi_emu_last_error = rc ? rc : mgi_emu_last_error, rc;
}
MGI_EMU cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, cudaStream_t stream = 0) {
  int rc = mgi_emu_begins("cudaMemcpyAsync", stream);
  if (!rc && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) rc = mgi_emu_host_fault("cudaMemcpyAsync to or from the host's memory in a launch");
  if (!rc) rc = mgi_emu_host_range("cudaMemcpyAsync", to, n, 1);
  if (!rc) rc = mgi_emu_host_range("cudaMemcpyAsync", from, n, 0);
  mgi_emu_note("cudaMemcpyAsync: %llu bytes;", (unsigned long long)n);
  mgi_emu_note_arguments(to, from);
  mgi_emu_note("\n");
  if (!rc && !mgi_emu_job()->dry) memmove(to, from, n);
  return mgi_emu_last_error = rc ? rc : mgi_emu_last_error, rc;
}
template<class K> MGI_EMU cudaError_t cudaFuncSetAttribute(K *, int, int) {
  const int rc = mgi_emu_begins("cudaFuncSetAttribute", mgi_emu_job() ? mgi_emu_job()->stream : 0);
  return mgi_emu_last_error = rc ? rc : mgi_emu_last_error, rc;
}
/* These do not belong into a launch: it uses the caller's stream only, waits for nothing and allocates nothing. */
#define MGI_EMU_NEVER(name, why) \
  template<class... ARGS> MGI_EMU cudaError_t name(ARGS...) { return mgi_emu_host_fault(#name " in a launch, which " why); }
MGI_EMU_NEVER(cudaMemset, "uses the caller's stream only")
MGI_EMU_NEVER(cudaMemcpy, "uses the caller's stream only")
MGI_EMU_NEVER(cudaMemset2D, "uses the caller's stream only")
MGI_EMU_NEVER(cudaMemcpy2D, "uses the caller's stream only")
MGI_EMU_NEVER(cudaMemcpyToSymbol, "uses the caller's stream only")
MGI_EMU_NEVER(cudaStreamCreate, "uses the caller's stream only")
MGI_EMU_NEVER(cudaStreamCreateWithFlags, "uses the caller's stream only")
MGI_EMU_NEVER(cudaDeviceSynchronize, "waits for nothing, so that it may be captured in a graph")
MGI_EMU_NEVER(cudaStreamSynchronize, "waits for nothing, so that it may be captured in a graph")
MGI_EMU_NEVER(cudaMalloc, "allocates nothing")
MGI_EMU_NEVER(cudaFree, "allocates nothing")
MGI_EMU_NEVER(cudaMallocAsync, "allocates nothing")
MGI_EMU_NEVER(cudaFreeAsync, "allocates nothing")
#endif

/* CUDA's own spellings of what the wrappers say, in files edited by hand. */
typedef struct mgi_emu_index { unsigned x, y, z; } mgi_emu_index;
MG_DEV mgi_emu_index mgi_emu_thread_index() { mgi_emu_index i = {(unsigned)mg_tid(), 0, 0}; return i; }
MG_DEV mgi_emu_index mgi_emu_block_index() { mgi_emu_index i = {(unsigned)mg_bid(0), (unsigned)mg_bid(1), (unsigned)mg_bid(2)}; return i; }
MG_DEV mgi_emu_index mgi_emu_block_size() { mgi_emu_index i = {(unsigned)mgi_emu.threads, 1, 1}; return i; }
MG_DEV mgi_emu_index mgi_emu_grid_size() { mgi_emu_index i = {(unsigned)mgi_emu.grid[0], (unsigned)mgi_emu.grid[1], (unsigned)mgi_emu.grid[2]}; return i; }
#ifndef __CUDACC__
#define threadIdx mgi_emu_thread_index()
#define blockIdx mgi_emu_block_index()
#define blockDim mgi_emu_block_size()
#define gridDim mgi_emu_grid_size()
#define warpSize 32
#define __syncthreads() mg_sync()
#define __syncthreads_or(yes) ((int)mg_sync_or((yes) != 0))
#define __syncwarp(...) mg_sync_warp()
#define __threadfence() mgi_emu_fence()
#define __threadfence_block() (void)0 /* barriers are taken to order what a block does */
#define __threadfence_system() mgi_emu_fence()
#define __nanosleep(ns) mgi_emu_look(0, 0, 0)
#define __ldg(p) mg_ldg(p)
#define __device__ __attribute__((unused))
#define __host__ __attribute__((unused))
#define __forceinline__ __attribute__((unused))
#define __noinline__
#define __global__ __attribute__((unused))
#define __constant__
#define __launch_bounds__(...)
/* Atomics of integers in global memory. */
#define MGI_EMU_ATOMIC(name, to) \
  template<class V, class W> MGI_EMU_PLAIN static inline typename std::enable_if<std::is_integral<V>::value, V>::type name(V *p, W with) { \
    const V by = (V)with; \
    return mgi_emu_atomic(p, [by](V was) { return (V)(to); }); \
  }
MGI_EMU_ATOMIC(atomicAdd, was + by)
MGI_EMU_ATOMIC(atomicSub, was - by)
MGI_EMU_ATOMIC(atomicExch, ((void)was, by))
MGI_EMU_ATOMIC(atomicMin, by < was ? by : was)
MGI_EMU_ATOMIC(atomicMax, was < by ? by : was)
MGI_EMU_ATOMIC(atomicAnd, was & by)
MGI_EMU_ATOMIC(atomicOr, was | by)
MGI_EMU_ATOMIC(atomicXor, was ^ by)
MGI_EMU_ATOMIC(atomicInc, was >= by ? 0 : was + 1)
MGI_EMU_ATOMIC(atomicDec, was == 0 || was > by ? by : was - 1)
template<class V, class W, class X> MGI_EMU_PLAIN static inline typename std::enable_if<std::is_integral<V>::value, V>::type atomicCAS(V *p, W is, X then) {
  const V old = (V)is, by = (V)then;
  return mgi_emu_atomic(p, [old, by](V was) { return was == old ? by : was; });
}
/* Shuffles of whole warps, of values of four bytes. */
template<class V> MG_DEV V mgi_emu_shuffle(unsigned mask, V v, int from, int line) {
  static_assert(sizeof(V) == 4, "a shuffle of four bytes");
  mgi_emu_word me = {0, 0, from};
  if (mask != 0xFFFFFFFFu) {
    mgi_emu.job->unmodelled = 1;
    mgi_emu_fault(1, "a shuffle of some lanes of a warp");
  }
  memcpy(&me.v, (const void *)&v, 4);
  mgi_emu_collect(&mgi_emu_at_word, &me, mgi_emu_called(line));
  memcpy((void *)&v, &me.got, 4);
  return v;
}
template<class V> MG_DEV V __shfl_sync(unsigned mask, V v, int from, int width = 32, int line = __builtin_LINE()) {
  return mgi_emu_shuffle(mask, v, (mg_lane() & -width) | (from & (width - 1)), line);
}
template<class V> MG_DEV V __shfl_up_sync(unsigned mask, V v, unsigned by, int width = 32, int line = __builtin_LINE()) {
  const int at = mg_lane() - (int)by;
  return mgi_emu_shuffle(mask, v, at < (mg_lane() & -width) ? mg_lane() : at, line);
}
template<class V> MG_DEV V __shfl_down_sync(unsigned mask, V v, unsigned by, int width = 32, int line = __builtin_LINE()) {
  const int at = mg_lane() + (int)by;
  return mgi_emu_shuffle(mask, v, at > (mg_lane() | (width - 1)) ? mg_lane() : at, line);
}
template<class V> MG_DEV V __shfl_xor_sync(unsigned mask, V v, int by, int width = 32, int line = __builtin_LINE()) {
  const int at = mg_lane() ^ by;
  return mgi_emu_shuffle(mask, v, at > (mg_lane() | (width - 1)) ? mg_lane() : at, line);
}
/* Of integers: values have no order over fields. */
template<class A, class B, class = typename std::enable_if<std::is_integral<A>::value && std::is_integral<B>::value>::type> constexpr typename std::common_type<A, B>::type min(A a, B b) {
  typedef typename std::common_type<A, B>::type C;
  return (C)b < (C)a ? (C)b : (C)a;
}
template<class A, class B, class = typename std::enable_if<std::is_integral<A>::value && std::is_integral<B>::value>::type> constexpr typename std::common_type<A, B>::type max(A a, B b) {
  typedef typename std::common_type<A, B>::type C;
  return (C)a < (C)b ? (C)b : (C)a;
}
#endif

#ifdef MG_EMULATE_FIELD
/* ---- two host threads, one of which runs at a time: each gives way at every call of the runtime */
static struct mgi_emu_pair { pthread_mutex_t lock; pthread_cond_t moved; mgi_emulator *job[2]; int (*call)(void *, int); void *with; int turn, over[2], rc[2]; } mgi_emu_pair = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0, 0}, 0, 0, 0, {0, 0}, {0, 0}};
static thread_local int mgi_emu_which;
MGI_EMU void mgi_emu_give_way(int me) { /* until the other one has given way, ended, or waits for this one */
  struct mgi_emu_pair *p = &mgi_emu_pair;
  struct timespec until;
  pthread_mutex_lock(&p->lock);
  p->turn = 1 - me;
  pthread_cond_broadcast(&p->moved);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2;
  while (p->turn != me && !p->over[1 - me])
    if (pthread_cond_timedwait(&p->moved, &p->lock, &until)) break;
  p->turn = me;
  pthread_mutex_unlock(&p->lock);
}
MGI_EMU void mgi_emu_take_turns(void) {
  if (mgi_emu_own) mgi_emu_give_way(mgi_emu_which);
}
MGI_FN void *mgi_emu_host_thread(void *which) {
  struct mgi_emu_pair *p = &mgi_emu_pair;
  mgi_emu_which = (int)(intptr_t)which;
  mgi_emu_own = p->job[mgi_emu_which];
  pthread_mutex_lock(&p->lock);
  while (p->turn != mgi_emu_which && !p->over[1 - mgi_emu_which]) pthread_cond_wait(&p->moved, &p->lock);
  pthread_mutex_unlock(&p->lock);
  p->rc[mgi_emu_which] = p->call(p->with, mgi_emu_which);
  pthread_mutex_lock(&p->lock);
  p->over[mgi_emu_which] = 1;
  p->turn = 1 - mgi_emu_which;
  pthread_cond_broadcast(&p->moved);
  pthread_mutex_unlock(&p->lock);
  return 0;
}
extern "C" __attribute__((visibility("default"))) void mgi_emulate_two(mgi_emulator *a, mgi_emulator *b, int (*call)(void *, int), void *with, int rc[2]) {
  struct mgi_emu_pair *p = &mgi_emu_pair;
  pthread_t t[2];
  p->job[0] = a, p->job[1] = b, p->call = call, p->with = with, p->turn = 0;
  p->over[0] = p->over[1] = p->rc[0] = p->rc[1] = 0;
  mgi_emu_turn = mgi_emu_take_turns;
  int n = 0;
  for (; n < 2 && !pthread_create(&t[n], 0, mgi_emu_host_thread, (void *)(intptr_t)n); n++) {}
  for (int k = n; k < 2; k++) p->over[k] = 1;
  for (int k = 0; k < n; k++) pthread_join(t[k], 0);
  mgi_emu_turn = 0;
  rc[0] = p->rc[0], rc[1] = p->rc[1];
}
#endif

extern "C" __attribute__((visibility("default"))) int mgi_emulate_setup(mgi_emulator *job) {
  mgi_emu_state *s = &mgi_emu;
  if (job->size != (int)sizeof *job) return -1;
  s->job = job;
  s->failed = s->inside = 0;
  s->now = 1;
  if (job->ended) mgi_emu_signals();
  job->calls = job->launches = job->products = job->unmodelled = job->waits = 0;
  s->parts = s->cluster = 1;
  job->last[0] = 0;
#ifndef MG_RUNNER
  mgi_emu_last_error = cudaSuccess;
#endif
  if (job->notes) job->notes[0] = 0;
  for (int k = 0; k < MGI_EMU_PARTS; k++) {
    mgi_emu_part *b = &s->part[k];
    if (b->shared_map) munmap(b->shared_map, b->shared_map_bytes);
#ifdef MG_EMULATE_RACES
    if (b->cell) munmap(b->cell, b->shared_map_bytes * sizeof *b->cell);
    b->cell = 0;
#endif
    b->shared_map = 0;
  }
  s->early = 0;
  s->overlaps = 1;
  job->race = 0;
  memset(job->ahead, 0, sizeof job->ahead);
  job->error[0] = 0;
  job->blocks = job->barriers = job->collectives = job->copies = 0;
  if (!job->dry && !mgi_emu_places()) mgi_emu_fault(0, "no memory to watch the outputs");
  s->rng = job->seed * 0x9E3779B97F4A7C15u + 1;
  s->order = (int)(job->seed % 2 ? 3 - 2 * (job->seed == 1) : job->seed ? 2 : 0); /* 0 up, 1 down, then any and ahead in turn */
  s->landing = (int)((job->seed + 1 + job->seed / 3) % 3);
#ifdef MG_EMULATE_FIELD
  static uint32_t p, q;
  static uint64_t key;
  const void *user = job->user;
  struct mgi_emu_tables *t = &mgi_emu_tables;
  size_t words = (size_t)job->p * (job->q + 1);
  if (!t->unpacked) t->unpacked = (mgi_emu_value *)malloc(65536 * sizeof *t->unpacked), t->packed = (uint16_t *)malloc(65536 * sizeof *t->packed);
  if (!t->unpacked || !t->packed || words + 2 > 65536) {
    mgi_emu_fault(0, "no tables for the pair (%u, %u)", job->p, job->q);
    return 1;
  }
  if (p != job->p || q != job->q || key != job->key) {
    p = job->p;
    q = job->q;
    key = job->key;
    mgi_emu_value none = {MGI_EMU_UNDEFINED, 0}, inf = {MGI_EMU_NEGINF, 0};
    for (uint32_t w = 0; w < 65536; w++) t->unpacked[w] = job->unpack(user, (uint16_t)w);
    t->undefined = job->pack(user, none);
    t->neginf = job->pack(user, inf);
    for (uint32_t x = 0; x < p; x++)
      for (uint32_t y = 0; y <= q; y++) {
        mgi_emu_value v = {(uint16_t)x, (uint16_t)(y == q ? (uint32_t)MGI_EMU_ABSENT : y)};
        t->packed[x * (q + 1) + y] = job->pack(user, v);
      }
    for (int k = 0; k < MGI_EMU_ROWS; k++) free(mgi_emu_memo[k]), mgi_emu_memo[k] = 0;
    if (t->unpacked[0].p || t->unpacked[0].q || t->unpacked[0xFFFF].p != MGI_EMU_UNDEFINED)
      mgi_emu_fault(0, "the pair's word 0 is not zero, or 0xFFFF not undefined");
  }
  return 1;
#else
  return 0;
#endif
}

#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
/* MG_KERNEL(threads) or MG_KERNEL(threads, blocks): of a block, and blocks that a multiprocessor is to hold at once, else 1. */
#define MGI_BOUND(threads, blocks, ...) __launch_bounds__(threads, blocks)
#ifdef __CUDACC_RTC__
#define MG_KERNEL(...) extern "C" __global__ MGI_BOUND(__VA_ARGS__, 1, 1)
#else
#include <cuda_runtime.h>
#define MG_KERNEL(...) static __global__ MGI_BOUND(__VA_ARGS__, 1, 1)
#endif
#define MG_MAP const __grid_constant__ mg_tensor_map /* a kernel's parameter */
#define MG_DEV __device__ __forceinline__
#define MG_BOTH __host__ __device__ constexpr
#define MG_UNROLL _Pragma("unroll")
#define MGI_PRAGMA(x) _Pragma(#x)
#define MG_UNROLL_BY(n) MGI_PRAGMA(unroll n)

struct mg_f16 { uint16_t bits; };
struct mg_bf16 { uint16_t bits; };
struct mg_f32 { uint32_t bits; };
struct mg_i32 { int32_t v; };
#define MGI_T(id, name, bytes, digits, least, most, cuda) struct mg_##name { uint16_t bits; };
MG_USER_TYPES(MGI_T)
#undef MGI_T
typedef float mg_num;
typedef __half mg_half;          /* of NAME_run's parameters */
typedef __nv_bfloat16 mg_bfloat;

MG_DEV mg_num mg_widen(mg_f16 v) { return __half2float(__ushort_as_half(v.bits)); }
MG_DEV mg_num mg_widen(mg_bf16 v) { return __uint_as_float((uint32_t)v.bits << 16); }
MG_DEV mg_num mg_widen(mg_f32 v) { return __uint_as_float(v.bits); }
template<class T> struct mgi_narrow;
template<> struct mgi_narrow<mg_f16> {
  static MG_DEV mg_f16 of(mg_num v) { mg_f16 r = {__half_as_ushort(__float2half_rn(v))}; return r; }
  static MG_DEV uint32_t two(mg_num lo, mg_num hi) {
    uint32_t r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
  }
};
template<> struct mgi_narrow<mg_bf16> {
  static MG_DEV mg_bf16 of(mg_num v) { mg_bf16 r = {__bfloat16_as_ushort(__float2bfloat16_rn(v))}; return r; }
  static MG_DEV uint32_t two(mg_num lo, mg_num hi) {
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
  }
};
template<> struct mgi_narrow<mg_f32> { static MG_DEV mg_f32 of(mg_num v) { mg_f32 r = {__float_as_uint(v)}; return r; } };
#define MGI_FLOAT(u) __uint_as_float(u)
#define MGI_BITS(f) __float_as_uint(f)
#define MGI_EMU_WIDE_READ(v)
#define MGI_EMU_WIDE_WRITE(T, f)
template<class T> MG_DEV T mg_narrow(mg_num v) { return mgi_narrow<T>::of(v); }
template<class T> MG_DEV uint32_t mg_narrow2(mg_num lo, mg_num hi) { return mgi_narrow<T>::two(lo, hi); } /* 16-bit neighbours in a word */
MG_DEV constexpr mg_num mg_const(int64_t num, int64_t den) { return (float)((double)num / (double)den); }
MG_DEV constexpr mg_num mg_zero() { return 0.0f; }
MG_DEV mg_num mg_neg_inf() { return __uint_as_float(0xFF800000u); }

/* One instruction each, to one or two units in the last place. */
MG_DEV mg_num mg_inverse_root(mg_num v) {
  mg_num r;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
MG_DEV mg_num mg_inverse(mg_num v) {
  mg_num r;
  asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

template<class T> MG_DEV uint32_t mg_pack2(T lo, T hi) { return (uint32_t)lo.bits | (uint32_t)hi.bits << 16; }
template<class T> MG_DEV void mg_unpack2(uint32_t r, T &lo, T &hi) {
  lo.bits = (uint16_t)(r & 0xFFFF);
  hi.bits = (uint16_t)(r >> 16);
}
MG_DEV int mg_tid() { return (int)(threadIdx.x & 1023u); }
MG_DEV int mg_lane() { return (int)(threadIdx.x & 31u); }
MG_DEV int mg_warp() { return (int)(threadIdx.x >> 5); }
MG_DEV int mg_warpgroup() { return (int)(threadIdx.x >> 7); }
MG_DEV int mg_bid(int axis) { return (int)(axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z); }
extern __shared__ __align__(1024) unsigned char mgi_shared[];
MG_DEV unsigned char *mg_shared() { return mgi_shared; }
#define MG_SITE   /* the emulator's: where a template in which threads meet was called */
#define MG_SITE_AGAIN
#define MG_FROM (void)0
#define MG_WITHIN
#define MG_ALSO_WITHIN
MG_DEV void mg_sync() { __syncthreads(); }
/* All threads of a warpgroup keep no more registers than so many, or wait for as many of what others of the block gave up.  The launch
   deals out all that MG_KERNEL leaves a thread. */
template<int REGISTERS> MG_DEV void mg_gives_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
template<int REGISTERS> MG_DEV void mg_takes_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
MG_DEV void mg_leaves() {} /* the thread comes to no further barrier of its block, and ends: mg_sync waits for it until then */
template<int THREADS> MG_DEV void mg_sync_first() { asm volatile("bar.sync 9, %0;" ::"n"(THREADS) : "memory"); } /* of the first threads: 1 to 8 are warpgroups' */
MG_DEV bool mg_sync_or(bool yes) { return __syncthreads_or(yes) != 0; } /* a barrier: true for all if for one */
MG_DEV void mg_sync_warp() { __syncwarp(); }
MG_DEV void mg_sync_group() { asm volatile("bar.sync %0, 128;" ::"r"(1 + mg_warpgroup()) : "memory"); } /* of the 128 threads of a warpgroup */
MG_DEV mg_num mg_shfl_xor(mg_num v, int mask) { return __shfl_xor_sync(0xFFFFFFFFu, v, mask); }
template<class V> MG_DEV V mg_ldg(const V *p) { return *p; }
/* Several words go by one instruction: left to itself the compiler takes one for each where they come from conversions. */
template<class V> MG_DEV void mg_stg(V *p, V v) {
  if constexpr (sizeof(V) == 16) {
    const uint32_t(&w)[4] = v.w;
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
  } else if constexpr (sizeof(V) == 8) asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(v.w[0]), "r"(v.w[1]) : "memory");
  else *p = v;
}
/* Global memory that other blocks wrote in the same launch: past the first-level cache. */
template<class V> MG_DEV V mg_ldg_fresh(const V *p) {
  static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16, "a word, two or four");
  V v;
  if constexpr (sizeof(V) == 4) {
    const uint32_t w = __ldcg((const unsigned int *)p);
    memcpy(&v, &w, 4);
  } else if constexpr (sizeof(V) == 8) {
    const uint2 w = __ldcg((const uint2 *)p);
    memcpy(&v, &w, 8);
  } else {
    const uint4 w = __ldcg((const uint4 *)p);
    memcpy(&v, &w, 16);
  }
  return v;
}
/* The number of calls on *count before this one.  What the block wrote before its last barrier is seen by whoever
   draws a later number, after its next barrier. */
MG_DEV uint32_t mg_ticket(uint32_t *count) {
  __threadfence();
  const uint32_t was = atomicAdd(count, 1u);
  __threadfence();
  return was;
}
/* Dependent launches (sm_90): what follows may begin; and what the kernels before wrote is there. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
MG_DEV void mg_grid_next() { asm volatile("griddepcontrol.launch_dependents;"); }
MG_DEV void mg_grid_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
template<int ARCH = __CUDA_ARCH__> MG_DEV void mg_grid_wait() { static_assert(ARCH >= 900, "a kernel that was emitted for sm_90: mirage emit --arch writes it for another"); }
#endif
/* Clusters (sm_90): a barrier in two halves, releasing and acquiring, and the shared memory of another block. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
MG_DEV int mg_cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return (int)r;
}
MG_DEV void mg_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
MG_DEV void mg_cluster_begun() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); } /* the same with nothing to release */
MG_DEV void mg_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
MG_DEV unsigned char *mg_cluster_shared(unsigned char *mine, int rank) {
  uint64_t theirs;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"((uint64_t)mine), "r"(rank));
  return (unsigned char *)theirs;
}
#endif

/* An address that is computed once, not again for each of the constants added to it. */
template<class T> MG_DEV T *mg_once(T *p) {
  asm("" : "+l"(p));
  return p;
}
MG_DEV uint32_t mgi_shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
/* Barriers of phases in shared memory (sm_90), and tensor copies, whose bytes they count.  A phase ends when `count` threads have
   arrived and as many bytes as they expect have come; they are numbered from 0.  mg_phase_wait waits until the last one of that
   parity has ended, so that nobody may be two behind, and orders what was done before the arrivals, and the copies, before what
   comes after.  mg_phase_publish follows mg_phase_init, and a barrier of all who use it follows that. */
struct alignas(64) mg_tensor_map { uint64_t w[16]; }; /* a tensor, and the box of it that a copy brings: mg_map_tensor */
typedef uint64_t mg_phase;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
MG_DEV void mg_phase_init(mg_phase *p, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mgi_shared_address(p)), "r"(count) : "memory"); }
MG_DEV void mg_phase_publish() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
MG_DEV void mg_phase_arrive(mg_phase *p) { asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(mgi_shared_address(p)) : "memory"); }
/* At the barrier that lies in block `rank` of the cluster as p does here. */
MG_DEV void mg_phase_arrive_at(mg_phase *p, int rank) {
  asm volatile("{.reg .b32 at; mapa.shared::cluster.u32 at, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [at];}" ::"r"(mgi_shared_address(p)), "r"(rank) : "memory");
}
/* Arrives, and has the open phase wait for so many bytes of copies. */
MG_DEV void mg_phase_expect(mg_phase *p, int bytes) { asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(mgi_shared_address(p)), "r"(bytes) : "memory"); }
MG_DEV void mg_phase_wait(mg_phase *p, int parity) {
  uint32_t ended;
  do
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(ended) : "r"(mgi_shared_address(p)), "r"(parity) : "memory");
  while (!ended);
}
/* N words to the place that `mine` has in block `rank` of the cluster; their bytes count in a phase of the barrier that lies there as p does here. */
template<int N, class W> MG_DEV void mg_push(W *mine, int rank, mg_phase *p, const W (&v)[N]) {
  uint32_t to, at;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(mgi_shared_address(mine)), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(mgi_shared_address(p)), "r"(rank));
  if constexpr (N == 4) asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to), "r"(v[0].bits), "r"(v[1].bits), "r"(v[2].bits), "r"(v[3].bits), "r"(at) : "memory");
  else if constexpr (N == 2) asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to), "r"(v[0].bits), "r"(v[1].bits), "r"(at) : "memory");
  else asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to), "r"(v[0].bits), "r"(at) : "memory");
}
#define MGI_COPIES \
  if constexpr (RANK == 2) MGI_COPY("2d", "%3, %4", "%5", "r"(at[0]), "r"(at[1])); \
  if constexpr (RANK == 3) MGI_COPY("3d", "%3, %4, %5", "%6", "r"(at[0]), "r"(at[1]), "r"(at[2])); \
  if constexpr (RANK == 4) MGI_COPY("4d", "%3, %4, %5, %6", "%7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])); \
  if constexpr (RANK == 5) MGI_COPY("5d", "%3, %4, %5, %6, %7", "%8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
/* Brings the box of m from element `at` on, the contiguous dimension first, to `to`, and counts its bytes in a phase of p. */
template<int RANK> MG_DEV void mg_tensor_copy(void *to, const mg_tensor_map &m, mg_phase *p, const int (&at)[RANK]) {
  static_assert(RANK >= 2 && RANK <= 5, "a tensor of 2 to 5 dimensions");
  const uint32_t s = mgi_shared_address(to), b = mgi_shared_address(p);
#define MGI_COPY(DIM, AT, NEXT, ...) asm volatile("cp.async.bulk.tensor." DIM ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" AT "}], [%2];" ::"r"(s), "l"(&m), "r"(b), __VA_ARGS__ : "memory")
  MGI_COPIES
#undef MGI_COPY
}
/* The same to that place in each of the first BLOCKS of the cluster, where they count in the barrier that lies as p does here. */
template<int BLOCKS, int RANK> MG_DEV void mg_tensor_copy_all(void *to, const mg_tensor_map &m, mg_phase *p, const int (&at)[RANK]) {
  static_assert(RANK >= 2 && RANK <= 5 && BLOCKS <= 16, "a tensor of 2 to 5 dimensions, a cluster of up to 16 blocks");
  const uint32_t s = mgi_shared_address(to), b = mgi_shared_address(p);
  const uint16_t all = (uint16_t)((1 << BLOCKS) - 1);
#define MGI_COPY(DIM, AT, NEXT, ...) asm volatile("cp.async.bulk.tensor." DIM ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" AT "}], [%2], " NEXT ";" ::"r"(s), "l"(&m), "r"(b), __VA_ARGS__, "h"(all) : "memory")
  MGI_COPIES
#undef MGI_COPY
}
#endif
/* ROW: the bytes that lie side by side of what is copied.  Of less than a line of 128 bytes a neighbour's share comes to the L2
   cache with it: 64 blocks side by side that read half lines of 67 MB take 16.8 us on an H200, not 18.9. */
template<int ROW = 128> MG_DEV void mg_cp_async16(void *smem, const void *gmem, int valid_bytes) {
  if constexpr (ROW < 128) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(mgi_shared_address(smem)), "l"(gmem), "r"(valid_bytes) : "memory");
  else asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(mgi_shared_address(smem)), "l"(gmem), "r"(valid_bytes) : "memory");
}
MG_DEV void mg_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template<int N> MG_DEV void mg_cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
MG_DEV void mg_ldsm_x4(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mgi_shared_address(row)) : "memory");
}
MG_DEV void mg_ldsm_x4_trans(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mgi_shared_address(row)) : "memory");
}
MG_DEV void mg_ldsm_x2(uint32_t (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(mgi_shared_address(row)) : "memory");
}
MG_DEV void mg_ldsm_x2_trans(uint32_t (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(mgi_shared_address(row)) : "memory");
}
/* c += A B, A 16 x 16 by rows, B 16 x 8 by columns, fp32 accumulation.  With g = lane / 4 and t = 2 (lane % 4):
     a[0] (g, t..) a[1] (g+8, t..) a[2] (g, t+8..) a[3] (g+8, t+8..)   b[0] (t.., g) b[1] (t+8.., g)
     c[0] (g, t) c[1] (g, t+1) c[2] (g+8, t) c[3] (g+8, t+1)                                                       */
template<class T> struct mgi_mma;
#define MGI_S(type, name, m, n, k, ptx)                                                                              \
  template<> struct mgi_mma<mg_##name> {                                                                            \
    static MG_DEV void go(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {                          \
      asm volatile("mma.sync.aligned.m" #m "n" #n "k" #k ".row.col.f32." ptx "." ptx                                \
                   ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                           \
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                             \
    }                                                                                                               \
    static MG_DEV void times(uint32_t &v, uint32_t a, uint32_t b) { /* a b - 0, rounded once */                     \
      asm("fma.rn." ptx "x2 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(0x80008000u));                         \
    }                                                                                                               \
  };
MG_TENSOR_SHAPES(MGI_S)
#undef MGI_S
template<class T> MG_DEV void mg_mma_16816(mg_num (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) { mgi_mma<T>::go(c, a, b); }
MG_DEV uint32_t mg_shfl_word(uint32_t v, int from) { return __shfl_sync(0xFFFFFFFFu, v, from); }
/* Of f16 pairs: the larger magnitudes; the power k, at most 15, for which one of magnitude m is below 2^(below + 1) times 2^k; pairs
   of 2^k. */
MG_DEV uint32_t mg_most2(uint32_t a, uint32_t b) {
  uint32_t v;
  asm("{.reg .b32 a, b; and.b32 a, %1, 0x7FFF7FFF; and.b32 b, %2, 0x7FFF7FFF; max.f16x2 %0, a, b;}" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
MG_DEV uint32_t mg_ceil2(uint32_t a) { return a | 0x03FF03FFu; }             /* the largest that need no other power */
MG_DEV bool mg_any(bool v) { return __any_sync(0xFFFFFFFFu, v) != 0; } /* whether it holds in any lane of the warp */
MG_DEV int mg_power_for(uint32_t m, int below) {
  const int k = below + 15 - (int)(m >> 10 & 31);
  return k < 15 ? k : 15;
}
MG_DEV mg_num mg_power(int k) { return __uint_as_float((uint32_t)(k + 127) << 23); }
MG_DEV mg_num mg_high_part(mg_num v) { return mg_widen(mg_narrow<mg_f16>(v)); }
MG_DEV uint32_t mg_size_bits(mg_num v) { /* of |v|, as they are ordered; 0 of what is not finite */
  const uint32_t b = __float_as_uint(v) & 0x7FFFFFFF;
  return b < 0x7F800000 ? b : 0;
}
MG_DEV uint32_t mg_power2(int k) { return (uint32_t)(k + 15) * 0x04000400u; }
/* c += A B, A 16 x 8 by rows, B 8 x 8 by columns, over tf32: f32's exponents, 10 bits behind the point, as many as f16 has.  With
   g = lane / 4 and t = lane % 4:
     a[0] (g, t) a[1] (g+8, t) a[2] (g, t+4) a[3] (g+8, t+4)   b[0] (t, g) b[1] (t+4, g)   c as above               */
MG_DEV uint32_t mgi_tf32(mg_num v) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return r;
}
MG_DEV void mg_mma_1688(mg_num (&c)[4], const mg_num (&a)[4], const mg_num (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(mgi_tf32(a[0])), "r"(mgi_tf32(a[1])), "r"(mgi_tf32(a[2])), "r"(mgi_tf32(a[3])), "r"(mgi_tf32(b[0])), "r"(mgi_tf32(b[1])));
}
template<class A, class B> struct mgi_same { static constexpr bool yes = false; };
template<class A> struct mgi_same<A, A> { static constexpr bool yes = true; };
/* Two products of neighbours, each rounded once: what fp32 would give, rounded to T. */
template<class T> MG_DEV uint32_t mg_mul2(uint32_t a, uint32_t b) {
  uint32_t v;
  if constexpr (mgi_same<T, mg_f16>::yes) asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  else mgi_mma<T>::times(v, a, b);
  return v;
}
/* Products of a warpgroup (sm_90a), four consecutive warps from a multiple of 4 on, all of their lanes: c += A B, or c = A B
   without `add`, A 64 x 16 in registers, warp w rows 16 w, laid out as for mg_mma_16816, as is c, N / 8 fragments of it; B
   16 x N in shared memory, swizzled (>>tiles), from its element (0, 0) on.  ALONG: a line is a row of B, 64 columns of it, the
   next 64 PANEL bytes on; else a column.  mg_group_mma_tiles: A lies in shared memory too; LEFT_ALONG: a line is a column of it.
   Asynchronous: between mg_group_fence and mg_group_wait nobody touches c and a; what was issued before a mg_group_commit is a
   group, and mg_group_wait<BUT> waits for all of them but the last BUT; and what was written to shared memory is seen after its
   writers' mg_group_publish and a barrier. */
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
MG_DEV void mg_group_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
MG_DEV void mg_group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MG_DEV void mg_group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int BUT = 0, int TILES> MG_DEV void mg_group_wait(float (&c)[TILES][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(BUT) : "memory");
  MG_UNROLL
  for (int i = 0; i < TILES * 4; i++) asm volatile("" : "+f"(c[i >> 2][i & 3])::"memory"); /* from here on, not before */
}
#define MGI_GROUP_C1(t) "+f"(c[t][0]), "+f"(c[t][1]), "+f"(c[t][2]), "+f"(c[t][3])
#define MGI_GROUP_C2(t) MGI_GROUP_C1(t), MGI_GROUP_C1(t + 1)
#define MGI_GROUP_C4(t) MGI_GROUP_C2(t), MGI_GROUP_C2(t + 2)
#define MGI_GROUP_C8(t) MGI_GROUP_C4(t), MGI_GROUP_C4(t + 4)
#define MGI_GROUP_C16(t) MGI_GROUP_C8(t), MGI_GROUP_C8(t + 8)
#define MGI_GROUP_C32(t) MGI_GROUP_C16(t), MGI_GROUP_C16(t + 16)
#define MGI_GROUP_R16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define MGI_GROUP_R32 MGI_GROUP_R16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define MGI_GROUP_R64 MGI_GROUP_R32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MGI_GROUP_R128 MGI_GROUP_R64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MGI_GROUP_R256 MGI_GROUP_R128 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
template<class T, int N> struct mgi_group_mma;
#define MGI_GROUP_MMA(T, TYPE, N, TILES, A0, A1, A2, A3, B, ADD, ALONG_) \
  template<> struct mgi_group_mma<T, N> { \
    template<bool ALONG> static MG_DEV void go(float (*c)[4], const uint32_t (&a)[4], uint64_t b, int add) { \
      asm volatile("{.reg .pred p; setp.ne.b32 p, " ADD ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" MGI_GROUP_R##N "}, {" A0 ", " A1 ", " A2 ", " A3 "}, " B ", p, 1, 1, " ALONG_ ";}" \
                   : MGI_GROUP_C##TILES(0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"((int)ALONG)); \
    } \
    template<bool LEFT_ALONG, bool ALONG> static MG_DEV void tiles(float (*c)[4], uint64_t a, uint64_t b, int add) { \
      asm volatile("{.reg .pred p; setp.ne.b32 p, " A2 ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" MGI_GROUP_R##N "}, " A0 ", " A1 ", p, 1, 1, " A3 ", " B ";}" \
                   : MGI_GROUP_C##TILES(0) : "l"(a), "l"(b), "r"(add), "n"((int)LEFT_ALONG), "n"((int)ALONG)); \
    } \
  };
#define MGI_GROUP_MMAS(T, TYPE) \
  MGI_GROUP_MMA(T, TYPE, 16, 2, "%8", "%9", "%10", "%11", "%12", "%13", "%14") \
  MGI_GROUP_MMA(T, TYPE, 32, 4, "%16", "%17", "%18", "%19", "%20", "%21", "%22") \
  MGI_GROUP_MMA(T, TYPE, 64, 8, "%32", "%33", "%34", "%35", "%36", "%37", "%38") \
  MGI_GROUP_MMA(T, TYPE, 128, 16, "%64", "%65", "%66", "%67", "%68", "%69", "%70") \
  MGI_GROUP_MMA(T, TYPE, 256, 32, "%128", "%129", "%130", "%131", "%132", "%133", "%134")
#define MGI_S(type, name, m, n, k, ptx) MGI_GROUP_MMAS(mg_##name, ptx)
MG_TENSOR_SHAPES(MGI_S)
#undef MGI_S
/* An operand's address, panels PANEL bytes apart, groups of 8 lines 1024, swizzle over 128 bytes. */
template<int PANEL> MG_DEV uint64_t mgi_group_operand(const void *p) {
  return (uint64_t)1 << 62 | (uint64_t)(1024 / 16) << 32 | (uint64_t)(PANEL / 16) << 16 | (mgi_shared_address(p) & 0x3FFFF) >> 4;
}
template<class T, int N, bool ALONG, int PANEL> MG_DEV void mg_group_mma(float (*c)[4], const uint32_t (&a)[4], const T *b, bool add) {
  mgi_group_mma<T, N>::template go<ALONG>(c, a, mgi_group_operand<PANEL>(b), add);
}
template<class T, int N, bool ALONG, int PANEL, bool LEFT_ALONG> MG_DEV void mg_group_mma_tiles(float (*c)[4], const T *a, const T *b, bool add) {
  mgi_group_mma<T, N>::template tiles<LEFT_ALONG, ALONG>(c, mgi_group_operand<0>(a), mgi_group_operand<PANEL>(b), add); /* 64 rows are one panel */
}
#else
template<int ARCH = __CUDA_ARCH__> MG_DEV void mg_group_fence() { static_assert(ARCH < 0, "products of a warpgroup are for sm_90a: nvcc -gencode arch=compute_90a,code=sm_90a"); }
#endif
#endif /* MG_EMULATE */

/* ---- what both sides have alike */
#ifndef MG_EMULATE_FIELD
/* IEEE-like types of 16 bits, of DIGITS binary digits: what MG_USER_TYPES adds is made of these.  Rounded to nearest, ties to even;
   NaN is 0x7FFF, as of f16. */
template<int DIGITS> MG_DEV mg_num mgi_widen_like(uint32_t bits) {
  constexpr uint32_t STORED = DIGITS - 1, SPECIAL = 0xFFFFu >> DIGITS, BIAS = SPECIAL >> 1;
  const uint32_t sign = (bits & 0x8000) << 16, e = bits >> STORED & SPECIAL, m = bits & ((1u << STORED) - 1);
  if (e == SPECIAL) return MGI_FLOAT(sign | 0x7F800000u | m << (23 - STORED));
  if (e) return MGI_FLOAT(sign | (e + 127 - BIAS) << 23 | m << (23 - STORED));
  const mg_num v = (mg_num)m * MGI_FLOAT((128 - BIAS - STORED) << 23); /* multiples of 2^least */
  return sign ? -v : v;
}
template<int DIGITS> MG_DEV uint16_t mgi_narrow_like(mg_num v) {
  constexpr uint32_t STORED = DIGITS - 1, SPECIAL = 0xFFFFu >> DIGITS, BIAS = SPECIAL >> 1, CUT = 24 - DIGITS;
  const uint32_t u = MGI_BITS(v), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
  if (a > 0x7F800000u) return 0x7FFF;
  uint32_t r;
  if (a >= (128 - BIAS) << 23) {
    r = (a + ((1u << (CUT - 1)) - 1) + (a >> CUT & 1)) >> CUT;
    r -= (127 - BIAS) << STORED;
    if (r > SPECIAL << STORED) r = SPECIAL << STORED;
  } else r = (uint32_t)(MGI_FLOAT(a) * MGI_FLOAT((126 + BIAS + STORED) << 23) + 8388608.0f - 8388608.0f);
  return (uint16_t)(sign | r);
}
#define MGI_T(id, name, bytes, digits, least, most, cuda)                                         \
  MG_DEV mg_num mg_widen(mg_##name v) {                                                           \
    MGI_EMU_WIDE_READ(v);                                                                         \
    return mgi_widen_like<digits>(v.bits);                                                        \
  }                                                                                               \
  template<> struct mgi_narrow<mg_##name> {                                                       \
    static MG_DEV mg_##name of(mg_num v) {                                                        \
      MGI_EMU_WIDE_WRITE(mg_##name, v);                                                           \
      return mg_##name{mgi_narrow_like<digits>(v)};                                               \
    }                                                                                             \
    static MG_DEV uint32_t two(mg_num lo, mg_num hi) {                                            \
      return mgi_narrow_like<digits>(lo) | (uint32_t)mgi_narrow_like<digits>(hi) << 16;           \
    }                                                                                             \
  };
MG_USER_TYPES(MGI_T)
#undef MGI_T
/* Unlike fmaxf, spreads a NaN: poison must not vanish. */
MG_DEV mg_num mg_dev_max(mg_num a, mg_num b) { return a != a ? a : b != b ? b : a > b ? a : b; }
MG_DEV int mg_above(mg_num b, mg_num a) { return b > a || (b != b && a == a); } /* a NaN takes a number's place, not another NaN's */
/* A number as a word, in the same order: both zeros are one word, all NaNs the greatest. */
MG_DEV uint32_t mg_order_word(mg_num v) {
  const uint32_t sign = 0x80000000u, nan = 0xFFFFFFFFu;
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  const uint32_t number = bits & sign ? ~bits : bits | sign;
  return v != v ? nan : v == 0 ? sign : number;
}
MG_DEV int mg_order_above(uint32_t b, uint32_t a) { return b > a; }
MG_DEV mg_num mg_dev_min(mg_num a, mg_num b) { return a != a ? a : b != b ? b : a < b ? a : b; }

/* The table's real column over floats.  The evaluator's macros of the same names are put back below. */
#pragma push_macro("MG_C")
#pragma push_macro("MG_EXP")
#pragma push_macro("MG_SQRT")
#pragma push_macro("MG_LOG")
#pragma push_macro("MG_ERF")
#pragma push_macro("MG_TANH")
#pragma push_macro("MG_MAX")
#pragma push_macro("MG_MIN")
#pragma push_macro("MG_ABS")
#pragma push_macro("MG_SIN")
#pragma push_macro("MG_COS")
#pragma push_macro("MG_POW")
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
#define MG_C(num, den) mg_const(num, den)
#ifdef MG_EMULATE
#define MG_EXP(x) exp2f((x) * 1.4426950408889634f) /* what __expf(x) is */
#else
#define MG_EXP(x) __expf(x)
#endif
#define MG_SQRT(x) sqrtf(x)
#define MG_LOG(x) logf(x)
#define MG_ERF(x) erff(x)
#define MG_TANH(x) tanhf(x)
#define MG_MAX(x, y) mg_dev_max(x, y)
#define MG_MIN(x, y) mg_dev_min(x, y)
#define MG_ABS(x) fabsf(x)
#define MG_SIN(x) sinf(x)
#define MG_COS(x) cosf(x)
#define MG_POW(x, y) powf(x, y)
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) \
  MG_DEV mg_num mg_dev_##id(mg_num a, mg_num b, mg_num c) { (void)a; (void)b; (void)c; return real; }
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#pragma pop_macro("MG_C")
#pragma pop_macro("MG_EXP")
#pragma pop_macro("MG_SQRT")
#pragma pop_macro("MG_LOG")
#pragma pop_macro("MG_ERF")
#pragma pop_macro("MG_TANH")
#pragma pop_macro("MG_MAX")
#pragma pop_macro("MG_MIN")
#pragma pop_macro("MG_ABS")
#pragma pop_macro("MG_SIN")
#pragma pop_macro("MG_COS")
#pragma pop_macro("MG_POW")
#endif

/* The table's index column: where element i of a moving row's result comes from.  i and j have MG_MAX_RANK places. */
MG_DEV void mg_dev_reshape(const int64_t *i, const mg_shape *to, int64_t *j, const mg_shape *from) {
  int64_t at = 0;
  for (int d = 0; d < to->rank; d++) at = at * to->dim[d] + i[d];
  for (int d = from->rank; d-- > 0; at /= from->dim[d]) j[d] = at % from->dim[d];
}
#pragma push_macro("mg_reshape_index")
#pragma push_macro("NOINDEX")
#undef mg_reshape_index
#undef NOINDEX
#define mg_reshape_index mg_dev_reshape
#define NOINDEX (void)src
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...)
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...)                                        \
  MG_DEV int mg_dev_index_##id(const mg_attr *A, const mg_shape *S, const int64_t *i, int64_t *j) { \
    int src = 0;                                                                                    \
    (void)A; (void)S;                                                                               \
    for (int d_ = 0; d_ < MG_MAX_RANK; d_++) j[d_] = i[d_];                                         \
    index;                                                                                          \
    return src;                                                                                     \
  }
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#pragma pop_macro("mg_reshape_index")
#pragma pop_macro("NOINDEX")

#ifdef MG_EMULATE
MG_DEV mg_num mg_inverse(mg_num v) { return mg_dev_DIV(mg_const(1, 1), v, mg_zero()); }
MG_DEV mg_num mg_inverse_root(mg_num v) { return mg_inverse(mg_dev_SQRT(v, mg_zero(), mg_zero())); }
#ifndef __CUDACC__ /* CUDA's functions of values, in files edited by hand: the table's rows, over fields too */
#ifdef MG_EMULATE_FIELD
MG_DEV mg_num expf(mg_num v) { return mg_dev_EXP(v, mg_zero(), mg_zero()); }
MG_DEV mg_num logf(mg_num v) { return mg_dev_LOG(v, mg_zero(), mg_zero()); }
MG_DEV mg_num sqrtf(mg_num v) { return mg_dev_SQRT(v, mg_zero(), mg_zero()); }
MG_DEV mg_num fmaf(mg_num a, mg_num b, mg_num c) { return a * b + c; }
#endif
#define fmaxf(a, b) mg_dev_max(a, b) /* spreads a NaN: poison must not vanish */
#define __expf(v) mg_dev_EXP(v, mg_zero(), mg_zero())
#define __logf(v) mg_dev_LOG(v, mg_zero(), mg_zero())
#define rsqrtf(v) mg_inverse_root(v)
MG_DEV mg_num __fdividef(mg_num a, mg_num b) { return a / b; }
MG_DEV mg_num __fadd_rn(mg_num a, mg_num b) { return a + b; }
MG_DEV mg_num __fsub_rn(mg_num a, mg_num b) { return a - b; }
MG_DEV mg_num __fmul_rn(mg_num a, mg_num b) { return a * b; }
MG_DEV mg_num __fdiv_rn(mg_num a, mg_num b) { return a / b; }
MG_DEV mg_num __fmaf_rn(mg_num a, mg_num b, mg_num c) { return fmaf(a, b, c); }
MG_DEV mg_num __fsqrt_rn(mg_num v) { return sqrtf(v); }
MG_DEV mg_num __frcp_rn(mg_num v) { return mg_inverse(v); }
#endif
#endif

/* The shift of a row under an exponential: a running maximum, which in a field is 0 and changes nothing.  One that was read
   before it was written, or is that of undefined values, makes what depends on it undefined. */
#ifdef MG_EMULATE_FIELD
MGI_EMU mg_num mgi_shift_or(mg_num a, mg_num v) { return a.p == MGI_EMU_UNDEFINED ? a : v; }
MG_DEV mg_num mg_shift_max(mg_num a, mg_num b) { return mgi_shift_or(a, mgi_shift_or(b, mg_zero())); }
MG_DEV mg_num mg_shift_factor(mg_num was, mg_num is) { return mgi_shift_or(was, mgi_shift_or(is, mg_const(1, 1))); }
MG_DEV mg_num mg_shift_exp(mg_num v, mg_num m) { return mgi_shift_or(m, mg_dev_EXP(v, mg_zero(), mg_zero())); }
MG_DEV mg_num mg_shift_exp_by(mg_num v, mg_num by, mg_num m) { return mg_shift_exp(v * by, m); }
MG_DEV mg_num mg_shift_times(mg_num m, mg_num by) { (void)by; return m; }
MG_DEV mg_num mg_shift_undo(mg_num v, mg_num m, bool log) { (void)log; return mgi_shift_or(m, v); }
MG_DEV mg_num mg_shift_off(mg_num v, mg_num m) { return mgi_shift_or(m, v); }
#elif !defined(MG_EMULATE)
/* exp(v - m) is 2^(v log2 e - m log2 e): one multiplication and addition, one 2^x.  A NaN in v stays; m = -inf, a row of
   -inf so far, gives 0 for them. */
MG_DEV mg_num mg_shift_max(mg_num a, mg_num b) { return fmaxf(a, b); }
MG_DEV mg_num mg_shift_off(mg_num v, mg_num m) { return v - m; }
MG_DEV mg_num mg_shift_exp_by(mg_num v, mg_num by, mg_num m) { /* of v * by */
  mg_num r;
  const mg_num base = fmaxf(m, -1e30f) * -1.4426950408889634f;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaf(v, by * 1.4426950408889634f, base)));
  return r;
}
MG_DEV mg_num mg_shift_exp(mg_num v, mg_num m) { return mg_shift_exp_by(v, 1.0f, m); }
MG_DEV mg_num mg_shift_times(mg_num m, mg_num by) { return m * by; }
MG_DEV mg_num mg_shift_undo(mg_num v, mg_num m, bool log) { return log ? v + m : v * mg_dev_EXP(m, mg_zero(), mg_zero()); }
MG_DEV mg_num mg_shift_factor(mg_num was, mg_num is) { return was == is ? 1.0f : mg_shift_exp(was, is); }
#else
MG_DEV mg_num mg_shift_max(mg_num a, mg_num b) { return mg_dev_max(a, b); }
MG_DEV mg_num mg_shift_off(mg_num v, mg_num m) { return v - m; }
MG_DEV mg_num mg_shift_exp_by(mg_num v, mg_num by, mg_num m) { /* as on the device, but that poison in m spreads */
  const mg_num base = (m < -1e30f ? -1e30f : m) * -1.4426950408889634f, r = exp2f(fmaf(v, by * 1.4426950408889634f, base));
  return r < 0x1p-126f ? mg_zero() : r;
}
MG_DEV mg_num mg_shift_exp(mg_num v, mg_num m) { return mg_shift_exp_by(v, 1.0f, m); }
MG_DEV mg_num mg_shift_factor(mg_num was, mg_num is) { return was == is ? mg_const(1, 1) : mg_shift_exp(was, is); }
MG_DEV mg_num mg_shift_times(mg_num m, mg_num by) { return m * by; }
MG_DEV mg_num mg_shift_undo(mg_num v, mg_num m, bool log) { return log ? v + m : v * mg_dev_EXP(m, mg_zero(), mg_zero()); }
#endif

typedef uint32_t __attribute__((may_alias)) mg_word;
struct __attribute__((may_alias, aligned(8))) mg_words2 { uint32_t w[2]; };
struct __attribute__((may_alias, aligned(16))) mg_words4 { uint32_t w[4]; };

/* Extent of the i-th chunk of `chunk` elements, of what has `extent` of them; 0 beyond the end. */
MG_DEV int mg_cut(int64_t extent, int64_t i, int64_t chunk) {
  const int64_t left = extent - i * chunk;
  return (int)(left < 0 ? 0 : left > chunk ? chunk : left);
}

/* -------------------------------------------------------------------------------------------------- >>tiles
   A tile holds ROWS x COLS elements of T (extents after padding) in shared memory: element (r, c) at r * PITCH + c, or,
   transposed, at c * PITCH + r.  PITCH * sizeof(T) is an odd multiple of 16 bytes wherever ldmatrix may read it: eight
   consecutive rows then start in eight different groups of banks.  SWIZZLED: rows lie close, and the 16-byte pieces of
   every 128 bytes are exchanged, by a number that is the row's; then eight consecutive rows have what stands at one place
   of theirs in different groups of banks too, and copies fill whole lines of 128 bytes, which is twice as fast:

       row    0  1  2  3  4  5  6  7        rows of 64 bytes, two a line:   0 1 2 3 | 0 1 2 3
         1    1  0  3  2  5  4  7  6                                        1 0 3 2 | 1 0 3 2
         2    2  3  0  1  6  7  4  5                                        2 3 0 1 | 2 3 0 1       pieces where they lie

   PITCH 0: the same as warpgroup products read it: panels of 64 elements (128 bytes) a line, each of all lines.  Such a
   tile starts at a multiple of 1024 bytes.

   TURNED: rows lie close, and the pieces of every 128 bytes are exchanged by the number of the row's group, of as many rows as a
   piece has elements.  Who writes a column's elements side by side, a piece at a time, reads one of each group with its neighbours:

       row    0    0  1  2  3  4  5  6  7
         ..    7    0  1  2  3  4  5  6  7      of 16 bits, 64 a row: in column 0, threads read rows 0, 8, 16 .., then rows 1, 9, 17 ..
         ..   15    1  0  3  2  5  4  7  6
         ..   23    2  3  0  1  6  7  4  5                                                                                          */
template<int W> struct mg_few {
  mg_num v[W];
  MG_DEV mg_num at(int i) const { return v[i]; }
};
/* W neighbours of a row, as words. */
template<class T, int W> struct mg_row_run {
  enum { WORDS = W * (int)sizeof(T) / 4 };
  uint32_t word[WORDS];
  MG_DEV mg_num at(int i) const {
    if constexpr (sizeof(T) == 4) return mg_widen(T{word[i]});
    else {
      T lo, hi;
      mg_unpack2<T>(word[i / 2], lo, hi);
      return mg_widen(i % 2 ? hi : lo);
    }
  }
  MG_DEV void whole(const T *from) { /* aligned to their size */
    if constexpr (WORDS == 1) word[0] = mg_ldg((const mg_word *)from);
    else if constexpr (WORDS == 2) {
      const mg_words2 two = mg_ldg((const mg_words2 *)from);
      word[0] = two.w[0], word[1] = two.w[1];
    } else {
      MG_UNROLL
      for (int k = 0; k < WORDS; k += 4) {
        const mg_words4 four = mg_ldg((const mg_words4 *)from + k / 4);
        MG_UNROLL
        for (int j = 0; j < 4; j++) word[k + j] = four.w[j];
      }
    }
  }
  MG_DEV void first(const T *from, int64_t stride, int n) {
    MG_UNROLL
    for (int k = 0; k < WORDS; k++) {
      if constexpr (sizeof(T) == 4) word[k] = k < n ? mg_ldg(from + k * stride).bits : 0;
      else {
        T lo = {}, hi = {};
        if (2 * k < n) lo = mg_ldg(from + 2 * k * stride);
        if (2 * k + 1 < n) hi = mg_ldg(from + (2 * k + 1) * stride);
        word[k] = mg_pack2<T>(lo, hi);
      }
    }
  }
};
template<class TYPE, int ROWS_, int COLS_, int PITCH_, bool TRANS_, bool SWIZZLED_ = PITCH_ == 0, bool TURNED_ = false> struct mg_tile {
  typedef TYPE T;
  enum { ROWS = ROWS_, COLS = COLS_, PITCH = PITCH_, LINES = TRANS_ ? COLS_ : ROWS_, ACROSS = TRANS_ ? ROWS_ : COLS_ };
  static constexpr bool TRANS = TRANS_, SWIZZLED = SWIZZLED_, TURNED = TURNED_;
  static_assert(!TURNED || PITCH % 8 == 0, "a group's rows are whole lines of 128 bytes");
  static_assert(PITCH > 0 || (sizeof(TYPE) == 2 && ACROSS % 64 == 0), "panels are whole: 64 elements of 16 bits");
  T *p;
  MG_DEV explicit mg_tile(unsigned char *at) : p((T *)at) {}
  static MG_DEV int offset(int line, int i) { /* of the element, in memory order; both at least 0 */
    constexpr int E = 16 / (int)sizeof(T), TURN = MGI_TILE_TURN(PITCH / E);
    if (PITCH == 0) return i / 64 * (LINES * 64) + line * 64 + ((i / 8 ^ line) & 7) * 8 + i % 8;
    if (TURNED) return (line * PITCH + i) ^ (int)((unsigned)line / E % 8 * E);
    return line * PITCH + (SWIZZLED ? i ^ (int)((unsigned)line / (8 / TURN) % TURN * E) : i);
  }
  MG_DEV T *place(int r, int c) const { return p + (TRANS ? offset(c, r) : offset(r, c)); }
  MG_DEV mg_num at(int r, int c) const { return mg_widen(*place(r, c)); }
  /* Elements (r, c) and (r, c + 1), c even: one read of shared memory where they are 16-bit neighbours.  Beyond the last of an odd
     number of columns nothing is read: what comes back as the second is for nobody. */
  MG_DEV void pair(int r, int c, mg_num &first, mg_num &second) const {
    if constexpr (!TRANS && sizeof(T) == 2 && PITCH % 2 == 0) {
      T lo, hi;
      mg_unpack2<T>(*(const mg_word *)place(r, c), lo, hi);
      first = mg_widen(lo);
      second = mg_widen(hi);
    } else {
      first = second = at(r, c);
      if (COLS % 2 == 0 || c + 1 < COLS) second = at(r, c + 1);
    }
  }
  MG_DEV void put(int r, int c, mg_num v) const { *place(r, c) = mg_narrow<T>(v); }
  /* W neighbours from (r, c) on, c a multiple of W, of which n are there, of a tile's row that lies as one. */
  template<int W> MG_DEV mg_row_run<T, W> run(int r, int c, int n) const {
    static_assert(!TRANS && (PITCH > 0 || SWIZZLED), "a row is neighbours in memory");
    constexpr int E = 16 / (int)sizeof(T);
    mg_row_run<T, W> got;
    if constexpr (got.WORDS == 1) got.word[0] = *(const mg_word *)place(r, c);
    else if constexpr (got.WORDS == 2) {
      const mg_words2 two = *(const mg_words2 *)place(r, c);
      got.word[0] = two.w[0], got.word[1] = two.w[1];
    } else {
      MG_UNROLL
      for (int k = 0; k < W; k += E)
        if (k < n) {
          const mg_words4 four = *(const mg_words4 *)place(r, c + k);
          MG_UNROLL
          for (int j = 0; j < 4; j++) got.word[k / E * 4 + j] = four.w[j];
        }
    }
    return got;
  }
  /* Element i of W lines from one on that is a multiple of W, of which n are there: a constant apart where they are of one group, which
     has whole lines of 128 bytes. */
  template<int W> MG_DEV mg_few<W> lines(int line, int i, int n) const {
    constexpr int E = 16 / (int)sizeof(T);
    constexpr bool APART = TURNED && W <= E && PITCH / E % 8 == 0;
    const T *const first = p + offset(line, i);
    mg_few<W> got;
    MG_UNROLL
    for (int j = 0; j < W; j++) got.v[j] = j < n ? mg_widen(APART ? first[j * PITCH] : p[offset(line + j, i)]) : mg_zero();
    return got;
  }
};

/* The same memory, rows and columns exchanged. */
template<class TILE> using mg_turned_tile =
    mg_tile<typename TILE::T, TILE::COLS, TILE::ROWS, TILE::PITCH, !TILE::TRANS, TILE::SWIZZLED, TILE::TURNED>;
template<class TILE> MG_DEV mg_turned_tile<TILE> mg_transposed(const TILE &t) { return mg_turned_tile<TILE>((unsigned char *)t.p); }

/* A tensor read from global memory in place, element by element. */
template<class T, int ALIGN> struct mg_global {
  const T *p;
  int64_t row, col; /* strides */
  MG_DEV mg_global(const T *at, int64_t r, int64_t c) : p(at), row(r), col(c) {}
  MG_DEV mg_num at(int r, int c) const { return mg_widen(mg_ldg(p + r * row + c * col)); }
  /* W neighbours from (r, c) on, c a multiple of W, of which n are there. */
  template<int W> MG_DEV mg_row_run<T, W> run(int r, int c, int n) const {
    mg_row_run<T, W> got;
    const T *const from = p + r * row + c * col;
    if (ALIGN >= W && n == W) got.whole(from);
    else got.first(from, col, n);
    return got;
  }
};

/* 0, which nobody need add. */
struct mg_nothing {
  MG_DEV operator mg_num() const { return mg_zero(); }
};
MG_DEV mg_num mg_dev_ADD(mg_nothing, mg_num v, mg_num) { return v; }
MG_DEV mg_num mg_dev_ADD(mg_num v, mg_nothing, mg_num) { return v; }
MG_DEV mg_num mg_dev_ADD(mg_nothing, mg_nothing, mg_num) { return mg_zero(); }
struct mg_hides_nothing {
  MG_DEV mg_nothing at(int, int) const { return mg_nothing(); }
};
/* The causal mask (mirage.h, mg_filling) of a block, computed.  past: how far the last key that its first query may see
   is from its first key. */
struct mg_causal_block {
  int past; /* of a block's own rows and columns, which an int holds, what is further is as far */
  MG_DEV explicit mg_causal_block(int64_t last)
      : past((int)(last > INT32_MAX ? INT32_MAX : last < -INT32_MAX ? -INT32_MAX : last)) {}
  MG_DEV mg_num at(int r, int c) const { return c - r <= past ? mg_zero() : mg_const(MG_MASKED, 1); }
  /* f(mask) of a block of COLS columns.  Where it hides none of them, mask.at() is known to be 0 when f is compiled. */
  template<int COLS, class F> MG_DEV void with(const F &f) const {
    if (past >= COLS - 1) f(mg_hides_nothing());
    else f(*this);
  }
};

/* Of `count` steps of `chunk` keys each, those that have a key which a block sees whose last query sees key `last`, and at least one
   (mirage_plan.h, >>seen).  Over field elements none is masked. */
MG_DEV int mg_causal_steps(int count, int64_t chunk, int64_t last) {
#ifdef MG_EMULATE_FIELD
  return (void)chunk, (void)last, count;
#else
  const int64_t steps = last / chunk + 1;
  return steps < 1 ? 1 : steps < count ? (int)steps : count;
#endif
}
/* The turns of a grid of `most` x `others` blocks, where a block has the more steps the further it is along the axis of `most`,
   and those of one place along the other axis read the same keys and values: as many of these places come together as fill the
   GPU, `wave` blocks, once, so that L2 has what they read; and of their blocks those of the most steps first, so that none of
   them is begun last. */
MG_BOTH int mgi_turns_together(int most, int wave) { return wave > most ? wave / most : 1; }
MG_BOTH int mg_turn_most(int turn, int most, int others, int wave) {
  const int some = mgi_turns_together(most, wave), first = turn / (most * some) * some;
  const int n = others - first < some ? others - first : some;
  return most - 1 - (turn - first * most) / n;
}
MG_BOTH int mg_turn_other(int turn, int most, int others, int wave) {
  const int some = mgi_turns_together(most, wave), first = turn / (most * some) * some;
  const int n = others - first < some ? others - first : some;
  return first + (turn - first * most) % n;
}
/* The block's place along those axes, which are the grid's first two in either order.  The emulator runs blocks in several
   orders anyway. */
#ifdef MG_EMULATE
MG_DEV int mg_bid_most(int axis, int, int, int) { return mg_bid(axis); }
MG_DEV int mg_bid_other(int axis, int, int, int) { return mg_bid(axis); }
#else
MG_DEV int mgi_turn() { return (int)(blockIdx.y * gridDim.x + blockIdx.x); }
MG_DEV int mg_bid_most(int, int most, int others, int wave) { return mg_turn_most(mgi_turn(), most, others, wave); }
MG_DEV int mg_bid_other(int, int most, int others, int wave) { return mg_turn_other(mgi_turn(), most, others, wave); }
#endif

/* Fills OUTER x INNER elements of a tile (its memory order) from global memory: outer x inner of them are valid, the
   rest becomes zero.  VEC: by cp.async in 16-byte pieces, which needs inner_stride 1 and 16-byte aligned rows; the
   caller commits and waits.  Else element by element, visible after the next barrier.  THREADS: the block's; 32: every
   warp fills a tile of its own; with OWN: as many threads as that do. */
template<class TILE, int OUTER, int INNER, bool VEC, int THREADS, bool OWN = false>
MG_DEV void mg_load_tile(const TILE &to, const typename TILE::T *from, int64_t outer_stride, int64_t inner_stride, int outer, int inner) {
  typedef typename TILE::T T;
  constexpr int E = 16 / (int)sizeof(T);
  const int me = OWN ? mg_tid() % THREADS : THREADS == 32 ? mg_lane() : mg_tid();
  if constexpr (VEC) {
    static_assert(INNER % E == 0, "a row of a tile is a whole number of 16-byte pieces");
    constexpr int ROW = INNER / E, UNITS = OUTER * ROW;
    if constexpr (THREADS % ROW == 0 && (TILE::PITCH > 0 || THREADS / ROW % 8 == 0)) { /* whole rows a pass: a thread's places differ by constants */
      const int o = me / ROW, i = me % ROW * E;
      const T *const get = mg_once(from + o * outer_stride + i);
      MG_UNROLL_BY(8)
      for (int u0 = 0; u0 < UNITS; u0 += THREADS)
        if (UNITS % THREADS == 0 || u0 + me < UNITS) {
          const int left = outer == OUTER && inner == INNER ? E : u0 / ROW + o < outer ? inner - i : 0, n = left < 0 ? 0 : left > E ? E : left;
          mg_cp_async16<INNER * (int)sizeof(T)>(to.p + TILE::offset(o + u0 / ROW, i), n ? get + u0 / ROW * outer_stride : from, n * (int)sizeof(T));
        }
    } else {
      MG_UNROLL_BY(8)
      for (int u0 = 0; u0 < UNITS; u0 += THREADS) {
        const int u = u0 + me;
        if (UNITS % THREADS == 0 || u < UNITS) {
          const int o = u / ROW, i = u % ROW * E;
          const int left = outer == OUTER && inner == INNER ? E : o < outer ? inner - i : 0, n = left < 0 ? 0 : left > E ? E : left;
          mg_cp_async16<INNER * (int)sizeof(T)>(to.p + TILE::offset(o, i), n ? from + o * outer_stride + i : from, n * (int)sizeof(T));
        }
      }
    }
  } else {
    for (int u = me; u < OUTER * INNER; u += THREADS) {
      const int o = u / INNER, i = u % INNER;
      T v = mg_narrow<T>(mg_zero());
      if (o < outer && i < inner) v = mg_ldg(from + o * outer_stride + i * inner_stride);
      to.p[TILE::offset(o, i)] = v;
    }
  }
}

/* A ring whose STAGES tensor copies fill: of each stage, what says that its BYTES have come, and what says that all WARPS
   have read it, which are of all BLOCKS of a cluster whose blocks copy for one another.  Iteration i reads stage i % STAGES, at its turn i / STAGES % 2; in its iteration each waits for filled(),
   reads, and calls read(), unless nothing is to follow in that stage; one thread of the first warp, all of which waits for
   drained(), has the next copied.
       block's thread 0    expect(0) copy  expect(1) copy ..     drained(0) expect(0) copy ..
       every warp                filled(0) .. read(0)  filled(1) .. read(1)  ..                                        */
template<int STAGES, int BYTES, int WARPS, int BLOCKS = 1> struct mg_ring {
  mg_phase *p; /* of STAGES that are filled, then of as many that are drained */
  MG_DEV explicit mg_ring(unsigned char *at) : p((mg_phase *)at) {}
  MG_DEV void init() const { /* a barrier of all who use it follows */
    if (mg_tid() == 0)
      for (int s = 0; s < STAGES; s++) {
        mg_phase_init(p + s, 1);
        mg_phase_init(p + STAGES + s, WARPS);
      }
    mg_phase_publish();
  }
  MG_DEV void expect(int s) const { mg_phase_expect(p + s, BYTES); }
  MG_DEV void filled(int s, int turn) const { mg_phase_wait(p + s, turn); }
  MG_DEV void drained(int s, int turn) const { mg_phase_wait(p + STAGES + s, turn); }
  MG_DEV void read(int s) const {
    mg_sync_warp();
    if constexpr (BLOCKS > 1) {
      if (mg_lane() < BLOCKS) mg_phase_arrive_at(p + STAGES + s, mg_lane());
      return;
    }
    if (mg_lane() == 0) mg_phase_arrive(p + STAGES + s);
  }
};
/* Has a tile copied, of whose lines BOX come at a time.  `at`: its first element, the contiguous dimension first.  Called by
   one thread, behind expect(). */
template<class TILE, int BOX, int RANK> MG_DEV void mg_copy_tile(const TILE &to, const mg_tensor_map &m, mg_phase *p, const int (&at)[RANK]) {
  constexpr int WIDE = TILE::ACROSS < 64 || TILE::LINES == 1 ? TILE::ACROSS : 64;
  static_assert(sizeof(typename TILE::T) == 2 && (TILE::PITCH == 0 || (TILE::PITCH == TILE::ACROSS && WIDE == TILE::ACROSS)) && TILE::SWIZZLED == (TILE::LINES > 1), "16-bit tiles, swizzled by lines of up to 128 bytes, or one line");
  static_assert(TILE::LINES % BOX == 0 && BOX <= 256 && (BOX % 8 == 0 || BOX == TILE::LINES), "whole boxes, of whole turns of the swizzle");
  for (int i = 0; i < TILE::ACROSS; i += WIDE)
    for (int l = 0; l < TILE::LINES; l += BOX) {
      int from[RANK];
      MG_UNROLL
      for (int d = 0; d < RANK; d++) from[d] = at[d] + (d == 0 ? i : d == 1 ? l : 0);
      mg_tensor_copy<RANK>(to.p + i * TILE::LINES + l * WIDE, m, p, from);
    }
}
/* The same of a tile that BLOCKS blocks, a cluster, all read: each has a part of its boxes copied to all of them. */
template<class TILE, int BOX, int BLOCKS, int RANK> MG_DEV void mg_copy_tile_part(const TILE &to, const mg_tensor_map &m, mg_phase *p, const int (&at)[RANK]) {
  constexpr int WIDE = TILE::ACROSS < 64 || TILE::LINES == 1 ? TILE::ACROSS : 64, DOWN = TILE::LINES / BOX, PART = TILE::ACROSS / WIDE * DOWN / BLOCKS;
  static_assert(sizeof(typename TILE::T) == 2 && (TILE::PITCH == 0 || (TILE::PITCH == TILE::ACROSS && WIDE == TILE::ACROSS)) && TILE::SWIZZLED == (TILE::LINES > 1), "16-bit tiles, swizzled by lines of up to 128 bytes, or one line");
  static_assert(TILE::LINES % BOX == 0 && BOX <= 256 && (BOX % 8 == 0 || BOX == TILE::LINES), "whole boxes, of whole turns of the swizzle");
  static_assert(PART * BLOCKS * BOX * WIDE == TILE::LINES * TILE::ACROSS, "as many boxes for every block");
  for (int k = mg_cluster_rank() * PART, end = k + PART; k < end; k++) {
    const int i = k / DOWN * WIDE, l = k % DOWN * BOX;
    int from[RANK];
    MG_UNROLL
    for (int d = 0; d < RANK; d++) from[d] = at[d] + (d == 0 ? i : d == 1 ? l : 0);
    mg_tensor_copy_all<BLOCKS>(to.p + i * TILE::LINES + l * WIDE, m, p, from);
  }
}

/* Zeroes what lies outside of the valid rows x cols elements of a tile. */
template<class TILE, int THREADS> MG_DEV void mg_zero_outside(const TILE &t, int rows, int cols) {
  if (rows == TILE::ROWS && cols == TILE::COLS) return;
  for (int u = mg_tid(); u < TILE::ROWS * TILE::COLS; u += THREADS) {
    const int r = u / TILE::COLS, c = u % TILE::COLS;
    if (r >= rows || c >= cols) t.put(r, c, mg_zero());
  }
}
template<class TILE, int THREADS> MG_DEV void mg_fill(const TILE &t, mg_num v) {
  for (int u = mg_tid(); u < TILE::ROWS * TILE::COLS; u += THREADS) t.put(u / TILE::COLS, u % TILE::COLS, v);
}

/* ------------------------------------------------------------------------------------------------- >>matmul
   An M x N product on WM x WN x WK warps: WM x WN of them tile it, WK split the contraction, in steps of 16.  A warp owns
   MT x NT tiles of 16 x 8.  Element i of a lane's fragments (i = 4 * tile + k) lies at (row(i), col(i)); places beyond M
   or N compute with clamped operands and are never stored.  With CHAIN the warps of a row split the contraction: each owns
   the columns of a product on WM x WK warps that it takes as its left operand.  With GROUP four consecutive warps, a
   warpgroup, own 64 neighbouring rows and the same columns. */
template<int M_, int N_, int WM, int WN_, int WK_, bool CHAIN = false, bool GROUP_ = false> struct mg_acc {
  enum { M = M_, N = N_, WN = WN_, WK = WK_, THREADS = 32 * WM * WN_ * WK_, RUN = 2, ROWS = 2 * ((M + 16 * WM - 1) / (16 * WM)), MT = (M + 16 * WM - 1) / (16 * WM), NT = (N + 8 * WN - 1) / (8 * WN), COUNT = MT * NT * 4 };
  static constexpr bool ALL_ROWS = WM * MT * 16 == M, ALL_COLS = WN * NT * 8 == N; /* no place lies beyond M, beyond N */
  mg_num c[MT * NT][4];
  static constexpr bool GROUP = GROUP_, QUADS = GROUP_ && ALL_ROWS && ALL_COLS && NT % 4 == 0; /* QUADS: whole fragments, 32 columns after 32 */
  static_assert(!GROUP || (WM % 4 == 0 && MT == 1 && ALL_ROWS), "a warpgroup owns 64 rows, a warp 16 of them");
  static MG_DEV int unit() { return GROUP ? mg_warp() / 4 : mg_warp(); } /* what is dealt out: a warpgroup or a warp */
  static MG_DEV int warp_k() { return WK == 1 ? 0 : CHAIN ? unit() % WK : mg_warp() / (WM * WN); }
  static MG_DEV int warp_n() { return WN == 1 ? 0 : unit() % WN; }
  static MG_DEV int row0() {
    if constexpr (GROUP) return (CHAIN ? unit() / WK : unit() % (WM / 4 * WN) / WN) * 64 + mg_warp() % 4 * 16;
    else return WM == 1 ? 0 : (CHAIN ? mg_warp() / WK : mg_warp() % (WM * WN) / WN) * (MT * 16);
  }
  static MG_DEV int col0() { return warp_n() * (NT * 8); }
  static MG_DEV int row(int i) { return row0() + i / 4 / NT * 16 + mg_lane() / 4 + (i & 2) * 4; }
  static MG_DEV int col(int i) { return col0() + i / 4 % NT * 8 + mg_lane() % 4 * 2 + (i & 1); }
  static MG_DEV bool within(int i, int cols) { return (ALL_COLS && cols == N) || col(i) < cols; }
  static MG_DEV int row_of(int i) { return i / 4 / NT * 2 + (i >> 1 & 1); } /* of the ROWS that a lane has a part of */
  static MG_DEV int row_in(int i) { return ALL_ROWS || row(i) < M ? row(i) : M - 1; } /* one that there is: what stands beside it may be read */
  MG_DEV mg_num at(int i) const { return c[i >> 2][i & 3]; }
  MG_DEV void scale_rows(const mg_num (&f)[ROWS]) {
    MG_UNROLL
    for (int i = 0; i < COUNT; i++) c[i >> 2][i & 3] = c[i >> 2][i & 3] * f[row_of(i)];
  }
  MG_DEV void zero() {
    MG_UNROLL
    for (int t = 0; t < MT * NT; t++) {
      MG_UNROLL
      for (int k = 0; k < 4; k++) c[t][k] = mg_zero();
    }
  }
};

/* An M x N product of few rows, computed as the N x M one of the operands exchanged: M <= 8 then fills the 8 columns of a
   tile, not half of its 16 rows.  All warps split the contraction. */
template<int M_, int N_, int WK_> struct mg_acc_turned : mg_acc<N_, M_, 1, 1, WK_> {
  typedef mg_acc<N_, M_, 1, 1, WK_> TURNED;
  enum { M = M_, N = N_, RUN = 1 };
  static constexpr bool QUADS = false;
  static constexpr bool ALL_ROWS = TURNED::ALL_COLS, ALL_COLS = TURNED::ALL_ROWS;
  static MG_DEV int row(int i) { return TURNED::col(i); }
  static MG_DEV int col(int i) { return TURNED::row(i); }
  static MG_DEV int row_in(int i) { return ALL_ROWS || row(i) < M ? row(i) : M - 1; }
  MG_DEV TURNED &turned() { return *this; }
};

/* A left operand in a tile. */
template<class TILE> struct mg_left_tile {
  TILE t;
  template<bool ALL> MG_DEV void fragment(uint32_t (&a)[4], int row, int k) const { /* ALL: no row is beyond the tile */
    const int l = mg_lane();
    if (TILE::TRANS) {
      int m = row + ((l >> 3) & 1) * 8;
      if (!ALL && TILE::ROWS % 16 && m > TILE::ROWS - 8) m = TILE::ROWS - 8;
      mg_ldsm_x4_trans(a, t.place(m, k + (l & 7) + (l >> 4) * 8));
    } else {
      int m = row + (l & 15);
      if (!ALL && m > TILE::ROWS - 1) m = TILE::ROWS - 1;
      mg_ldsm_x4(a, t.place(m, k + (l >> 4) * 8));
    }
  }
};
/* Two neighbours, from an even column on, of a row in a tile. */
template<class TILE> MG_DEV uint32_t mgi_two(const TILE &t, int c) {
  static_assert(!TILE::TRANS && TILE::PITCH % 2 == 0 && sizeof(typename TILE::T) == 2, "a row of pairs");
  return *(const mg_word *)t.place(0, c);
}
/* An operand whose elements along the contraction are multiplied by a row's: fragments times pairs of it. */
template<class L, class ROW> struct mg_left_scaled {
  L left;
  ROW row_of;
  template<bool ALL> MG_DEV void fragment(uint32_t (&a)[4], int row, int k) const {
    const int at = k + mg_lane() % 4 * 2;
    const uint32_t s[2] = {mgi_two(row_of, at), mgi_two(row_of, at + 8)};
    left.template fragment<ALL>(a, row, k);
    MG_UNROLL
    for (int x = 0; x < 4; x++) a[x] = mg_mul2<typename ROW::T>(a[x], s[x >> 1]);
  }
};
/* A left operand that is computed: f on rows < ROWS, two columns at a time, zero from column `end` of the
   contraction on.  FULL: no step of 16 passes `end`, so nothing is asked there. */
template<class T, int ROWS, bool FULL, class F> struct mg_left_value {
  F f;
  int end;
  template<bool ALL> MG_DEV void fragment(uint32_t (&a)[4], int row, int k) const {
    MG_UNROLL
    for (int x = 0; x < 4; x++) {
      int r = row + mg_lane() / 4 + (x & 1) * 8;
      if (!ALL && r > ROWS - 1) r = ROWS - 1;
      const int kk = k + mg_lane() % 4 * 2 + (x >> 1) * 8;
      mg_num first = mg_zero(), second = mg_zero();
      if (FULL || kk < end) f(r, kk, first, second);
      a[x] = mg_narrow2<T>(first, FULL || kk + 1 < end ? second : mg_zero());
    }
  }
};
/* Right operands: one fragment, or those of two neighbouring tiles of 8 columns. */
template<class TILE> struct mg_right_tile {
  TILE t;
  template<bool ALL> MG_DEV const typename TILE::T *place(int k, int n, int l) const { /* ALL: no column is beyond the tile */
    if (TILE::TRANS) {
      int c = n + (l & 7);
      if (!ALL && c > TILE::COLS - 1) c = TILE::COLS - 1;
      return t.place(k + ((l >> 3) & 1) * 8, c);
    }
    if (!ALL && n > TILE::COLS - 8) n = TILE::COLS - 8;
    return t.place(k + (l & 15), n);
  }
  template<bool ALL> MG_DEV void one(uint32_t (&b)[2], int k, int n) const {
    if (TILE::TRANS) mg_ldsm_x2(b, place<ALL>(k, n, mg_lane()));
    else mg_ldsm_x2_trans(b, place<ALL>(k, n, mg_lane()));
  }
  template<bool ALL> MG_DEV void two(uint32_t (&b)[2][2], int k, int n) const {
    uint32_t r[4];
    if (TILE::TRANS) mg_ldsm_x4(r, place<ALL>(k, n + (mg_lane() >> 4) * 8, mg_lane()));
    else mg_ldsm_x4_trans(r, place<ALL>(k, n + (mg_lane() >> 4) * 8, mg_lane()));
    b[0][0] = r[0];
    b[0][1] = r[1];
    b[1][0] = r[2];
    b[1][1] = r[3];
  }
};
template<class T, int COLS, bool FULL, class F> struct mg_right_value {
  F f;
  int end;
  MG_DEV T at(int k, int c) const { return mg_narrow<T>(FULL || k < end ? f(k, c, 0) : mg_zero()); }
  template<bool ALL> MG_DEV void one(uint32_t (&b)[2], int k, int n) const {
    int c = n + mg_lane() / 4;
    if (!ALL && c > COLS - 1) c = COLS - 1;
    const int kk = k + mg_lane() % 4 * 2;
    b[0] = mg_pack2<T>(at(kk, c), at(kk + 1, c));
    b[1] = mg_pack2<T>(at(kk + 8, c), at(kk + 9, c));
  }
  template<bool ALL> MG_DEV void two(uint32_t (&b)[2][2], int k, int n) const {
    one<ALL>(b[0], k, n);
    one<ALL>(b[1], k, n + 8);
  }
};
template<class R, class ROW> struct mg_right_scaled {
  R right;
  ROW row_of;
  template<bool ALL> MG_DEV void one(uint32_t (&b)[2], int k, int n) const {
    const int at = k + mg_lane() % 4 * 2;
    right.template one<ALL>(b, k, n);
    b[0] = mg_mul2<typename ROW::T>(b[0], mgi_two(row_of, at));
    b[1] = mg_mul2<typename ROW::T>(b[1], mgi_two(row_of, at + 8));
  }
  template<bool ALL> MG_DEV void two(uint32_t (&b)[2][2], int k, int n) const {
    one<ALL>(b[0], k, n);
    one<ALL>(b[1], k, n + 8);
  }
};
template<class L, class ROW> MG_DEV mg_left_scaled<L, ROW> mg_left_times(const L &left, const ROW &row) { return mg_left_scaled<L, ROW>{left, row}; }
template<class R, class ROW> MG_DEV mg_right_scaled<R, ROW> mg_right_times(const R &right, const ROW &row) { return mg_right_scaled<R, ROW>{right, row}; }
template<class TILE> MG_DEV mg_left_tile<TILE> mg_left(const TILE &t) { return mg_left_tile<TILE>{t}; }
template<class TILE> MG_DEV mg_right_tile<TILE> mg_right(const TILE &t) { return mg_right_tile<TILE>{t}; }
template<class T, int ROWS, bool FULL, class F> MG_DEV mg_left_value<T, ROWS, FULL, F> mg_left_of(int end, const F &f) { return mg_left_value<T, ROWS, FULL, F>{f, end}; }
template<class T, int COLS, bool FULL, class F> MG_DEV mg_right_value<T, COLS, FULL, F> mg_right_of(int end, const F &f) { return mg_right_value<T, COLS, FULL, F>{f, end}; }

/* acc += a b over 16 of the contraction, from k. */
template<class T, class ACC, class R> MG_DEV void mgi_contract_step(ACC &acc, const uint32_t (&a)[ACC::MT][4], const R &right, int col0, int k) {
  MG_UNROLL
  for (int n = 0; n + 1 < ACC::NT; n += 2) {
    uint32_t b[2][2];
    right.template two<ACC::ALL_COLS>(b, k, col0 + n * 8);
    MG_UNROLL
    for (int m = 0; m < ACC::MT; m++) {
      mg_mma_16816<T>(acc.c[m * ACC::NT + n], a[m], b[0]);
      mg_mma_16816<T>(acc.c[m * ACC::NT + n + 1], a[m], b[1]);
    }
  }
  if (ACC::NT % 2) {
    uint32_t b[2];
    right.template one<ACC::ALL_COLS>(b, k, col0 + (ACC::NT - 1) * 8);
    MG_UNROLL
    for (int m = 0; m < ACC::MT; m++) mg_mma_16816<T>(acc.c[m * ACC::NT + ACC::NT - 1], a[m], b);
  }
}
/* acc += p right: the fragments of the product p are, as they are, those of a left operand.  Its columns beyond the valid
   ones are zero.  Where the warps have parts of p, they get parts of acc. */
template<class T, class P, class ACC, class R> MG_DEV void mg_contract_chain(ACC &acc, const P &p, const R &right MG_SITE) {
  MG_FROM;
  static_assert(P::NT % 2 == 0 && (int)P::MT == (int)ACC::MT && ((int)P::WN == (int)ACC::WK || (P::WN == 1 && (int)P::WK == (int)ACC::WK)), "a warp owns whole steps of 16 columns, or has a part of all, and the same rows");
  MG_UNROLL
  for (int j = 0; j < P::NT; j += 2) {
    if (P::WN * P::NT * 8 > (P::N + 15) / 16 * 16 && P::col0() + j * 8 >= P::N) break; /* the right operand ends there */
    uint32_t a[ACC::MT][4];
    MG_UNROLL
    for (int m = 0; m < ACC::MT; m++) {
      MG_UNROLL
      for (int k = 0; k < 4; k++) {
        const mg_num(&from)[4] = p.c[m * P::NT + j + (k >> 1)];
        a[m][k] = mg_narrow2<T>(from[(k & 1) * 2], from[(k & 1) * 2 + 1]);
      }
    }
    mgi_contract_step<T>(acc, a, right, 0, P::col0() + j * 8);
  }
}
/* acc += left right over K (rounded up to 16; both operands are zero there). */
template<class T, int K, class ACC, class L, class R> MG_DEV void mg_contract(ACC &acc, const L &left, const R &right MG_SITE) {
  MG_FROM;
  constexpr int STEPS = (K + 15) / 16, MINE = (STEPS + ACC::WK - 1) / ACC::WK;
  const int row0 = ACC::row0(), col0 = ACC::col0(), warp_k = ACC::warp_k();
  MG_UNROLL
  for (int s = 0; s < MINE; s++) {
    const int step = s * ACC::WK + warp_k;
    if (STEPS % ACC::WK == 0 || step < STEPS) {
      const int k = step * 16;
      uint32_t a[ACC::MT][4];
      MG_UNROLL
      for (int m = 0; m < ACC::MT; m++) left.template fragment<ACC::ALL_ROWS>(a[m], row0 + m * 16, k);
      mgi_contract_step<T>(acc, a, right, col0, k);
    }
  }
}
/* ---- products over tf32: operands that pass f16's exponents on either side.  16 of the contraction are two steps of 8, of
   the even and of the odd ones, so that a lane has what it has of 16-bit fragments: the halves of their words.  A plain
   tile's elements are exact so; what is computed stays f32 until it is rounded to as many bits as f16 has.          */
template<class T> MG_DEV void mgi_halves(uint32_t word, mg_num &even, mg_num &odd) {
  T lo, hi;
  mg_unpack2<T>(word, lo, hi);
  even = mg_widen(lo), odd = mg_widen(hi);
}
template<class T, bool ALL, class L> MG_DEV void mgi_wide_left(const L &left, mg_num (&a)[2][4], int row, int k) {
  uint32_t w[4];
  left.template fragment<ALL>(w, row, k);
  MG_UNROLL
  for (int x = 0; x < 4; x++) mgi_halves<T>(w[x], a[0][x], a[1][x]);
}
template<class T, bool ALL, class L, class ROW> MG_DEV void mgi_wide_left(const mg_left_scaled<L, ROW> &left, mg_num (&a)[2][4], int row, int k) {
  const int at = k + mg_lane() % 4 * 2;
  mg_num s[2][2];
  mgi_wide_left<T, ALL>(left.left, a, row, k);
  MG_UNROLL
  for (int x = 0; x < 2; x++) mgi_halves<T>(mgi_two(left.row_of, at + 8 * x), s[0][x], s[1][x]);
  MG_UNROLL
  for (int x = 0; x < 8; x++) a[x >> 2][x & 3] = a[x >> 2][x & 3] * s[x >> 2][x >> 1 & 1];
}
template<class T, bool ALL, int ROWS, bool FULL, class F> MG_DEV void mgi_wide_left(const mg_left_value<T, ROWS, FULL, F> &left, mg_num (&a)[2][4], int row, int k) {
  MG_UNROLL
  for (int x = 0; x < 4; x++) {
    int r = row + mg_lane() / 4 + (x & 1) * 8;
    if (!ALL && r > ROWS - 1) r = ROWS - 1;
    const int kk = k + mg_lane() % 4 * 2 + (x >> 1) * 8;
    a[0][x] = a[1][x] = mg_zero();
    if (FULL || kk < left.end) left.f(r, kk, a[0][x], a[1][x]);
    if (!FULL && kk + 1 >= left.end) a[1][x] = mg_zero();
  }
}
template<class T, bool ALL, class R> MG_DEV void mgi_wide_right(const R &right, mg_num (&b)[2][2], int k, int n) {
  uint32_t w[2];
  right.template one<ALL>(w, k, n);
  mgi_halves<T>(w[0], b[0][0], b[1][0]);
  mgi_halves<T>(w[1], b[0][1], b[1][1]);
}
template<class T, bool ALL, class R, class ROW> MG_DEV void mgi_wide_right(const mg_right_scaled<R, ROW> &right, mg_num (&b)[2][2], int k, int n) {
  const int at = k + mg_lane() % 4 * 2;
  mg_num even, odd;
  mgi_wide_right<T, ALL>(right.right, b, k, n);
  MG_UNROLL
  for (int x = 0; x < 2; x++) {
    mgi_halves<T>(mgi_two(right.row_of, at + 8 * x), even, odd);
    b[0][x] = b[0][x] * even, b[1][x] = b[1][x] * odd;
  }
}
template<class T, bool ALL, int COLS, bool FULL, class F> MG_DEV void mgi_wide_right(const mg_right_value<T, COLS, FULL, F> &right, mg_num (&b)[2][2], int k, int n) {
  int c = n + mg_lane() / 4;
  if (!ALL && c > COLS - 1) c = COLS - 1;
  MG_UNROLL
  for (int x = 0; x < 4; x++) {
    const int kk = k + mg_lane() % 4 * 2 + (x >> 1) * 8 + (x & 1);
    b[x & 1][x >> 1] = FULL || kk < right.end ? right.f(kk, c, 0) : mg_zero();
  }
}
template<class T, class ACC, class R> MG_DEV void mgi_wide_step(ACC &acc, const mg_num (&a)[ACC::MT][2][4], const R &right, int col0, int k) {
  MG_UNROLL
  for (int n = 0; n < ACC::NT; n++) {
    mg_num b[2][2];
    mgi_wide_right<T, ACC::ALL_COLS>(right, b, k, col0 + n * 8);
    MG_UNROLL
    for (int m = 0; m < 2 * ACC::MT; m++) mg_mma_1688(acc.c[m / 2 * ACC::NT + n], a[m / 2][m & 1], b[m & 1]);
  }
}
/* As mg_contract, mg_contract_own and mg_contract_chain. */
template<class T, int K, class ACC, class L, class R> MG_DEV void mg_contract_wide(ACC &acc, const L &left, const R &right MG_SITE) {
  MG_FROM;
  constexpr int STEPS = (K + 15) / 16, MINE = (STEPS + ACC::WK - 1) / ACC::WK;
  const int row0 = ACC::row0(), col0 = ACC::col0(), warp_k = ACC::warp_k();
  MG_UNROLL
  for (int s = 0; s < MINE; s++) {
    const int step = s * ACC::WK + warp_k;
    if (STEPS % ACC::WK == 0 || step < STEPS) {
      mg_num a[ACC::MT][2][4];
      MG_UNROLL
      for (int m = 0; m < ACC::MT; m++) mgi_wide_left<T, ACC::ALL_ROWS>(left, a[m], row0 + m * 16, step * 16);
      mgi_wide_step<T>(acc, a, right, col0, step * 16);
    }
  }
}
template<class T, int K, class ACC, class L, class R> MG_DEV void mg_contract_wide_own(ACC &acc, const L &left, const R &right MG_SITE) {
  MG_FROM;
  static_assert(K % 16 == 0 && ACC::M <= ACC::MT * 16 && ACC::N <= ACC::NT * 8, "whole steps of 16, all rows and columns in every warp");
  MG_UNROLL
  for (int s = 0; s < K / 16; s++) {
    mg_num a[ACC::MT][2][4];
    MG_UNROLL
    for (int m = 0; m < ACC::MT; m++) mgi_wide_left<T, ACC::ALL_ROWS>(left, a[m], m * 16, s * 16);
    mgi_wide_step<T>(acc, a, right, 0, s * 16);
  }
}
template<class T, class P, class ACC, class R> MG_DEV void mg_contract_wide_chain(ACC &acc, const P &p, const R &right MG_SITE) {
  MG_FROM;
  static_assert(P::NT % 2 == 0 && (int)P::MT == (int)ACC::MT && ((int)P::WN == (int)ACC::WK || (P::WN == 1 && (int)P::WK == (int)ACC::WK)), "a warp owns whole steps of 16 columns, or has a part of all, and the same rows");
  MG_UNROLL
  for (int j = 0; j < P::NT; j += 2) {
    if (P::WN * P::NT * 8 > (P::N + 15) / 16 * 16 && P::col0() + j * 8 >= P::N) break; /* the right operand ends there */
    mg_num a[ACC::MT][2][4];
    MG_UNROLL
    for (int x = 0; x < ACC::MT * 4; x++) {
      const mg_num(&from)[4] = p.c[x / 4 * P::NT + j + (x >> 1 & 1)];
      a[x / 4][0][x & 3] = from[(x & 1) * 2], a[x / 4][1][x & 3] = from[(x & 1) * 2 + 1];
    }
    mgi_wide_step<T>(acc, a, right, 0, P::col0() + j * 8);
  }
}
/* ---- rows times a row, in f16 whatever their sizes: x is taken 2^k times, with the k of its row for which it stays below 2^7,
   the other row 2^kg times, below 2^8, by the largest that came yet; where a larger one comes, what has been added up is
   taken down with them.  Powers of two are exact, and undone at the end: nothing else is rounded than without them.
   TURNED: the product is computed as its transpose (mg_acc_turned).  For 16 rows at most, TURNED 8. */
template<bool TURNED> struct mg_steady {
  uint32_t most[2], gain;    /* the largest yet, and what needs no other power, twice: of the fragment's rows; of the other row */
  uint32_t by[2], all;       /* their powers, twice */
  int k[2], kg;              /* of the two rows that the accumulators' elements are of; of the other row */
  MG_DEV void init() {
    most[0] = most[1] = gain = 0;
    k[0] = k[1] = mg_power_for(0, 6), kg = mg_power_for(0, 7);
    by[0] = by[1] = mg_power2(k[0]), all = mg_power2(kg);
  }
  template<class ACC> MG_DEV void times(ACC &acc, int first, int second) const {
    const mg_num f[2] = {mg_power(first), mg_power(second)};
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) acc.c[i >> 2][i & 3] = acc.c[i >> 2][i & 3] * f[TURNED ? i & 1 : i >> 1 & 1];
  }
  static MG_DEV uint32_t twice(uint32_t v) { return (v & 0xFFFF) * 0x10001u; }
  /* The largest of four lanes in a row, of both halves. */
  static MG_DEV uint32_t of_four(uint32_t v) {
    v = mg_most2(v, v >> 16 | v << 16);
    v = mg_most2(v, mg_shfl_word(v, mg_lane() ^ 1));
    return mg_most2(v, mg_shfl_word(v, mg_lane() ^ 2));
  }
  /* A lane has met these: of its rows, the other row.  Of one warp, all of whose lanes call it. */
  template<class ACC> MG_DEV void meet(ACC &acc, uint32_t upper, uint32_t lower, uint32_t row) {
    if (!mg_any(mg_most2(upper, most[0]) != most[0] || mg_most2(lower, most[1]) != most[1] || mg_most2(row, gain) != gain)) return;
    most[0] = mg_ceil2(mg_most2(most[0], of_four(upper))), most[1] = mg_ceil2(mg_most2(most[1], of_four(lower))), gain = mg_ceil2(mg_most2(gain, of_four(row)));
    /* TURNED: a fragment's lane has row lane / 4, an accumulator's elements are of rows 2 (lane % 4) and the next */
    const uint32_t first = TURNED ? mg_shfl_word(most[0], mg_lane() % 4 * 8) : most[0], second = TURNED ? mg_shfl_word(most[0], mg_lane() % 4 * 8 + 4) : most[1];
    const int k0 = mg_power_for(first & 0xFFFF, 6), k1 = mg_power_for(second & 0xFFFF, 6), kr = mg_power_for(gain & 0xFFFF, 7);
    times(acc, k0 - k[0] + kr - kg, k1 - k[1] + kr - kg);
    k[0] = k0, k[1] = k1, kg = kr;
    by[0] = mg_power2(mg_power_for(most[0] & 0xFFFF, 6)), by[1] = mg_power2(mg_power_for(most[1] & 0xFFFF, 6)), all = mg_power2(kg);
  }
  template<class ACC> MG_DEV void settle(ACC &acc) const { times(acc, -k[0] - kg, -k[1] - kg); }
};
template<class T, int K, class ACC, class L, class ROW, class R> MG_DEV void mg_contract_steady_own(ACC &acc, mg_steady<false> &steady, const mg_left_scaled<L, ROW> &left, const R &right MG_SITE) {
  MG_FROM;
  static_assert(K % 16 == 0 && ACC::MT == 1 && ACC::N <= ACC::NT * 8 && sizeof(T) == 2, "16 rows, whole steps of 16, all columns in every warp");
  uint32_t a[K / 16][1][4], s[K / 16][2], upper = 0, lower = 0, row = 0;
  MG_UNROLL
  for (int j = 0; j < K / 16; j++) {
    left.left.template fragment<ACC::ALL_ROWS>(a[j][0], 0, j * 16);
    MG_UNROLL
    for (int x = 0; x < 2; x++) {
      s[j][x] = mgi_two(left.row_of, j * 16 + mg_lane() % 4 * 2 + 8 * x);
      upper = mg_most2(upper, a[j][0][2 * x]), lower = mg_most2(lower, a[j][0][2 * x + 1]), row = mg_most2(row, s[j][x]);
    }
  }
  steady.meet(acc, upper, lower, row);
  MG_UNROLL
  for (int j = 0; j < K / 16; j++) {
    MG_UNROLL
    for (int x = 0; x < 4; x++) a[j][0][x] = mg_mul2<T>(mg_mul2<T>(a[j][0][x], steady.by[x & 1]), mg_mul2<T>(s[j][x >> 1], steady.all));
    mgi_contract_step<T>(acc, a[j], right, 0, j * 16);
  }
}
template<class T, int K, class ACC, class L, class R> MG_DEV void mg_contract_own(ACC &acc, const L &left, const R &right MG_SITE);
/* A right operand in registers. */
template<int STEPS> struct mgi_right_held {
  const uint32_t (&b)[STEPS][2];
  template<bool ALL> MG_DEV void one(uint32_t (&to)[2], int k, int n) const {
    (void)n;
    to[0] = b[k / 16][0], to[1] = b[k / 16][1];
  }
  template<bool ALL> MG_DEV void two(uint32_t (&to)[2][2], int k, int n) const {
    one<ALL>(to[0], k, n);
    one<ALL>(to[1], k, n);
  }
};
template<class T, int K, class ACC, class L, class R, class ROW> MG_DEV void mg_contract_steady_own(ACC &acc, mg_steady<true> &steady, const L &left, const mg_right_scaled<R, ROW> &right MG_SITE) {
  MG_FROM;
  static_assert(K % 16 == 0 && ACC::NT == 1 && ACC::M <= ACC::MT * 16 && sizeof(T) == 2, "8 rows of the product, whole steps of 16, all columns in every warp");
  uint32_t b[K / 16][2], s[K / 16][2], mine = 0, row = 0;
  MG_UNROLL
  for (int j = 0; j < K / 16; j++) {
    right.right.template one<ACC::ALL_COLS>(b[j], j * 16, 0);
    MG_UNROLL
    for (int x = 0; x < 2; x++) {
      s[j][x] = mgi_two(right.row_of, j * 16 + mg_lane() % 4 * 2 + 8 * x);
      mine = mg_most2(mine, b[j][x]), row = mg_most2(row, s[j][x]);
    }
  }
  steady.meet(acc, mine, 0, row);
  MG_UNROLL
  for (int j = 0; j < K / 16; j++) {
    MG_UNROLL
    for (int x = 0; x < 2; x++) b[j][x] = mg_mul2<T>(mg_mul2<T>(b[j][x], steady.by[0]), mg_mul2<T>(s[j][x], steady.all));
  }
  mg_contract_own<T, K>(acc, left, mgi_right_held<K / 16>{b});
}
/* What a warpgroup multiplies with: the element (k, n) of a swizzled tile, k and n multiples of 16, n % 64 + columns within
   a panel if the panels run along n. */
template<class TILE> MG_DEV const typename TILE::T *mgi_group_place(const TILE &t, int k, int n) {
  static_assert(TILE::PITCH == 0, "warpgroups read swizzled tiles");
  const int line = TILE::TRANS ? n : k, i = TILE::TRANS ? k : n;
  return t.p + i / 64 * (TILE::LINES * 64) + line * 64 + i % 64;
}
constexpr MG_DEV int mgi_group_width(int left) { return left >= 256 ? 256 : left >= 128 ? 128 : left >= 64 ? 64 : left >= 32 ? 32 : 16; } /* of the next product, of columns that are left */
/* Columns from J of acc += a right over 16 * STEPS of the contraction, from k0; the first step writes acc if CLEAR. */
template<class T, int STEPS, bool CLEAR, int J, class ACC, class TILE> MG_DEV void mgi_group_columns(ACC &acc, const uint32_t (&a)[STEPS][4], const TILE &right, int k0) {
  if constexpr (J < ACC::NT) {
    constexpr int N = mgi_group_width((ACC::NT - J) * 8);
    MG_UNROLL
    for (int s = 0; s < STEPS; s++) mg_group_mma<T, N, !TILE::TRANS, TILE::LINES * 128>(&acc.c[J], a[s], mgi_group_place(right, k0 + s * 16, ACC::col0() + J * 8), !CLEAR || s > 0);
    mgi_group_columns<T, STEPS, CLEAR, J + N / 8>(acc, a, right, k0);
  }
}
template<class T, int STEPS, bool CLEAR, class ACC, class TILE> MG_DEV void mgi_group_begin(ACC &acc, const uint32_t (&a)[STEPS][4], const TILE &right, int k0) {
  static_assert(ACC::GROUP && ACC::ALL_COLS && (ACC::NT * 8 % 64 == 0 || ACC::NT == 2 || ACC::NT == 4), "16, 32 or a multiple of 64 columns a warpgroup");
  mg_group_fence();
  mgi_group_columns<T, STEPS, CLEAR, 0>(acc, a, right, k0);
  mg_group_commit();
}
/* acc = left right (CLEAR) or acc += left right by warpgroups over K, a multiple of 16; `right` is a swizzled tile.  It is done
   after mg_group_wait(acc.c), until which nobody touches acc. */
template<class T, int K, bool CLEAR, class ACC, class L, class TILE> MG_DEV void mg_group_begin(ACC &acc, const L &left, const mg_right_tile<TILE> &right) {
  static_assert(K % 16 == 0 && ACC::WK == 1, "whole steps of 16, all of them in every warpgroup");
  uint32_t a[K / 16][4];
  MG_UNROLL
  for (int s = 0; s < K / 16; s++) left.template fragment<true>(a[s], ACC::row0(), s * 16);
  mgi_group_begin<T, K / 16, CLEAR>(acc, a, right.t, 0);
}
/* acc += left right, both swizzled tiles: nobody touches acc or the tiles until a mg_group_wait of all groups up to this one. */
template<class T, int K, int J, class ACC, class LEFT, class RIGHT> MG_DEV void mgi_group_columns_of(ACC &acc, const LEFT &left, const RIGHT &right) {
  if constexpr (J < ACC::NT) {
    constexpr int N = mgi_group_width((ACC::NT - J) * 8);
    MG_UNROLL
    for (int k = 0; k < K; k += 16)
      mg_group_mma_tiles<T, N, !RIGHT::TRANS, RIGHT::LINES * 128, LEFT::TRANS>(&acc.c[J], mgi_group_place(left, ACC::row0() / 64 * 64, k), mgi_group_place(right, k, ACC::col0() + J * 8), true);
    mgi_group_columns_of<T, K, J + N / 8>(acc, left, right);
  }
}
template<class T, int K, class ACC, class LEFT, class RIGHT> MG_DEV void mg_group_add(ACC &acc, const mg_left_tile<LEFT> &left, const mg_right_tile<RIGHT> &right) {
  static_assert(K % 16 == 0 && ACC::WK == 1 && ACC::GROUP && ACC::ALL_COLS, "whole steps of 16, all of them in every warpgroup");
  static_assert((int)LEFT::ROWS == (int)ACC::M, "all rows lie in the tile");
  mg_group_fence();
  mgi_group_columns_of<T, K, 0>(acc, left.t, right.t);
  mg_group_commit();
}
/* As mg_group_begin, done. */
template<class T, int K, bool CLEAR, class ACC, class L, class TILE> MG_DEV void mg_group_contract(ACC &acc, const L &left, const mg_right_tile<TILE> &right) {
  mg_group_begin<T, K, CLEAR>(acc, left, right);
  mg_group_wait(acc.c);
}
/* The same by both halves of a split operand. */
template<class T, int K, bool CLEAR, class ACC, class L, class TILE> MG_DEV void mg_group_contract_both(ACC &acc, const L &left, const mg_right_tile<TILE> &high, const mg_right_tile<TILE> &low) {
  static_assert(K % 16 == 0 && ACC::WK == 1, "whole steps of 16, all of them in every warpgroup");
  uint32_t a[K / 16][4];
  MG_UNROLL
  for (int s = 0; s < K / 16; s++) left.template fragment<true>(a[s], ACC::row0(), s * 16);
  mgi_group_begin<T, K / 16, CLEAR>(acc, a, high.t, 0);
  mgi_group_begin<T, K / 16, false>(acc, a, low.t, 0);
  mg_group_wait(acc.c);
}
/* A product's fragments as the left operand of another one, in 16 bits. */
template<class T, class P> struct mg_narrowed {
  static_assert(P::GROUP && P::ALL_COLS && P::NT % 2 == 0, "a warpgroup owns whole steps of 16 columns");
  uint32_t a[P::NT / 2][4];
  MG_DEV void take(const P &p) {
    MG_UNROLL
    for (int j = 0; j < P::NT; j++) {
      a[j / 2][j % 2 * 2] = mg_narrow2<T>(p.c[j][0], p.c[j][1]);
      a[j / 2][j % 2 * 2 + 1] = mg_narrow2<T>(p.c[j][2], p.c[j][3]);
    }
  }
};
/* acc += p right by warpgroups, as mg_contract_chain; it is done after mg_group_wait(acc.c), until which nobody touches
   either. */
template<class T, class P, class ACC, class TILE>
MG_DEV void mg_group_chain_begin(ACC &acc, const mg_narrowed<T, P> &p, const mg_right_tile<TILE> &right) {
  static_assert((int)P::WN == (int)ACC::WK, "a warpgroup owns the same rows of both");
  mgi_group_begin<T, P::NT / 2, false>(acc, p.a, right.t, P::col0());
}
template<class T, class P, class ACC, class TILE>
MG_DEV void mg_group_chain(ACC &acc, const P &p, const mg_right_tile<TILE> &right) {
  mg_narrowed<T, P> narrow;
  narrow.take(p);
  mg_group_chain_begin(acc, narrow, right);
  mg_group_wait(acc.c);
}
/* The same where K is the warp's own part of the contraction. */
template<class T, int K, class ACC, class L, class R> MG_DEV void mg_contract_own(ACC &acc, const L &left, const R &right MG_SITE_AGAIN) {
  MG_FROM;
  static_assert(K % 16 == 0 && ACC::M <= ACC::MT * 16 && ACC::N <= ACC::NT * 8, "whole steps of 16, all rows and columns in every warp");
  uint32_t a[K / 16][ACC::MT][4];
  MG_UNROLL
  for (int s = 0; s < K / 16; s++) {
    MG_UNROLL
    for (int m = 0; m < ACC::MT; m++) left.template fragment<ACC::ALL_ROWS>(a[s][m], m * 16, s * 16);
  }
  MG_UNROLL
  for (int s = 0; s < K / 16; s++) mgi_contract_step<T>(acc, a[s], right, 0, s * 16);
}
/* The same without tensor cores, for operands that are no 16-bit type. */
template<class ACC, class L, class R> MG_DEV void mg_contract_fma(ACC &acc, int end, const L &left, const R &right) {
  for (int k = ACC::warp_k(); k < end; k += ACC::WK) {
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) {
      const int r = ACC::row(i), c = ACC::col(i);
      acc.c[i >> 2][i & 3] = acc.c[i >> 2][i & 3] + left(r < ACC::M ? r : ACC::M - 1, k, 0) * right(k, c < ACC::N ? c : ACC::N - 1, 0);
    }
  }
}

/* The partial sums of WK warps, in shared memory: PITCH = columns + 8 words, so that neither the pairs that fragments
   write nor the rows that sites read meet in a bank. */
template<class ACC, int WK> struct mg_partial {
  enum { M = ACC::M, PITCH = (ACC::N + 7) / 8 * 8 + 8, WORDS = WK * M * PITCH };
  mg_f32 *p;
  MG_DEV explicit mg_partial(unsigned char *at) : p((mg_f32 *)at) {}
  MG_DEV void spill(const ACC &acc) const {
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) {
      const int r = ACC::row(i), c = ACC::col(i);
      if ((ACC::ALL_ROWS || r < M) && (ACC::ALL_COLS || c < PITCH - 8)) p[(ACC::warp_k() * M + r) * PITCH + c] = mg_narrow<mg_f32>(acc.at(i));
    }
  }
  MG_DEV mg_num at(int r, int c) const {
    mg_num v = mg_widen(p[r * PITCH + c]);
    MG_UNROLL
    for (int k = 1; k < WK; k++) v = v + mg_widen(p[(k * M + r) * PITCH + c]);
    return v;
  }
};

/* ------------------------------------------------------------------------------------------------- >>reduce
   Statistics are kept in registers while a loop runs, each thread its part, and joined by finish(): shuffles first, then
   one pass through shared memory. */
struct mg_by_sum { static MG_DEV mg_num identity() { return mg_zero(); } static MG_DEV mg_num join(mg_num a, mg_num b) { return a + b; } };
struct mg_by_max { static MG_DEV mg_num identity() { return mg_neg_inf(); } static MG_DEV mg_num join(mg_num a, mg_num b) { return mg_dev_max(a, b); } };

MG_BOTH int mg_row_group(int rows, int threads) { /* threads that share a row: a power of two */
  int g = 8;
  while (g * 2 * rows <= threads) g *= 2;
  return g;
}
struct mg_same { MG_DEV mg_num operator()(mg_num v) const { return v; } };
/* One value a row.  OUT is a tile of ROWS x 1; SCRATCH words of shared memory follow it.  finish(out, f) stores f of it. */
template<class OP, int ROWS, int THREADS> struct mg_row_reduce {
  enum { G = mg_row_group(ROWS, THREADS), STEP = THREADS / G, PASSES = (ROWS + STEP - 1) / STEP, LANES = G < 32 ? G : 32, PER_ROW = G / LANES,
         SCRATCH = PER_ROW > 1 ? ROWS * PER_ROW : 0 };
  mg_num part[PASSES];
  MG_DEV void init() {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) part[p] = OP::identity();
  }
  template<class F> MG_DEV void add(int rows, int cols, const F &f) {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int r = p * STEP + mg_tid() / G;
      if (mg_tid() / G < STEP && r < rows) {
        MG_UNROLL_BY(4)
        for (int c = mg_tid() % G * 2; c < cols; c += 2 * G) {
          mg_num first, second;
          f(r, c, first, second);
          part[p] = OP::join(part[p], first);
          if (cols % 2 == 0 || c + 1 < cols) part[p] = OP::join(part[p], second);
        }
      }
    }
  }
  template<class OUT, class F = mg_same> MG_DEV void finish(const OUT &out, const F &f = F() MG_SITE) {
    MG_FROM;
    const mg_tile<mg_f32, ROWS, PER_ROW, PER_ROW, false> scratch((unsigned char *)(out.p + ROWS));
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int r = p * STEP + mg_tid() / G;
      mg_num v = part[p];
      MG_UNROLL
      for (int m = LANES / 2; m > 0; m /= 2) v = OP::join(v, mg_shfl_xor(v, m));
      if (mg_tid() / G < STEP && r < ROWS && mg_tid() % LANES == 0) {
        if (PER_ROW == 1) out.put(r, 0, f(v));
        else scratch.put(r, mg_tid() % G / LANES, v);
      }
    }
    if (PER_ROW > 1) {
      mg_sync(MG_WITHIN);
      for (int r = mg_tid(); r < ROWS; r += THREADS) {
        mg_num v = OP::identity();
        for (int k = 0; k < PER_ROW; k++) v = OP::join(v, scratch.at(r, k));
        out.put(r, 0, f(v));
      }
    }
  }
};
/* Sums of squares by tensor cores: 16 rows times themselves, 8 of them at a time.  Half of a left operand's fragment a, registers
   0 and 2, is the right operand of its rows 0..7 (h = 0), 1 and 3 that of rows 8..15 (h = 1).  The diagonal of the product c, where the
   squares are, lies in lanes 0, 4, 9, 13, 18, 22, 27, 31: lane l has that of row 8 h + l / 4. */
template<class T> MG_DEV void mgi_squares_add(mg_num (&c)[4], const uint32_t (&a)[4], int h) {
  const uint32_t b[2] = {a[h], a[h + 2]};
  mg_mma_16816<T>(c, a, b);
}
MG_DEV bool mgi_squares_here() { return mg_lane() % 4 == mg_lane() / 8; }
MG_DEV mg_num mgi_squares_at(const mg_num (&c)[4], int h) { return mg_lane() / 4 % 2 ? c[h * 2 + 1] : c[h * 2]; }
/* out(r, 0) = f(sum over c of t(r, c)^2), for t of 16-bit elements that is zero to whole steps of 16 columns.  OWN: every
   warpgroup has neighbouring rows, as many as the others. */
template<int ROWS, int COLS, int WARPS, bool OWN = false, class TILE, class OUT, class F = mg_same> MG_DEV void mg_row_squares(const TILE &t, const OUT &out, const F &f = F() MG_SITE) {
  MG_FROM;
  enum { GROUPS = (ROWS + 15) / 16, MINE = OWN ? GROUPS * 4 / WARPS : GROUPS };
  static_assert(!OWN || (WARPS % 4 == 0 && MINE * 16 * (WARPS / 4) == ROWS), "whole sixteens of rows in every warpgroup");
  MG_UNROLL
  for (int g0 = 0; g0 < GROUPS; g0 += WARPS) {
    const int own = g0 / WARPS * 4 + mg_warp() % 4, g = OWN ? mg_warpgroup() * MINE + own : g0 + mg_warp(), r = g * 16 + mg_lane() / 4;
    if (GROUPS % WARPS == 0 || (OWN ? own : g) < MINE) {
      mg_num upper[4] = {mg_zero(), mg_zero(), mg_zero(), mg_zero()}, lower[4] = {mg_zero(), mg_zero(), mg_zero(), mg_zero()}; /* of rows 0..7, 8..15 */
      MG_UNROLL
      for (int k = 0; k < COLS; k += 16) {
        uint32_t a[4];
        mg_left(t).template fragment<ROWS % 16 == 0>(a, g * 16, k);
        mgi_squares_add<typename TILE::T>(upper, a, 0);
        mgi_squares_add<typename TILE::T>(lower, a, 1);
      }
      if (mgi_squares_here()) {
        if (ROWS % 16 == 0 || r < ROWS) out.put(r, 0, f(mgi_squares_at(upper, 0)));
        if (ROWS % 16 == 0 || r + 8 < ROWS) out.put(r + 8, 0, f(mgi_squares_at(lower, 1)));
      }
    }
  }
}
/* Parts of one value a row, joined where it is read. */
template<class OP, int ROWS, int PARTS> struct mg_row_parts {
  mg_f32 *p;
  MG_DEV explicit mg_row_parts(unsigned char *at) : p((mg_f32 *)at) {}
  MG_DEV mg_num at(int r, int) const {
    if constexpr (PARTS % 4 == 0) { /* 16 bytes at a time */
      mg_num v = OP::identity();
      MG_UNROLL
      for (int k = 0; k < PARTS; k += 4) {
        const mg_words4 four = *(const mg_words4 *)(p + r * PARTS + k);
        v = OP::join(v, OP::join(OP::join(mg_widen(mg_f32{four.w[0]}), mg_widen(mg_f32{four.w[1]})), OP::join(mg_widen(mg_f32{four.w[2]}), mg_widen(mg_f32{four.w[3]}))));
      }
      return v;
    }
    mg_num v = mg_widen(p[r * PARTS]);
    MG_UNROLL
    for (int k = 1; k < PARTS; k++) v = OP::join(v, mg_widen(p[r * PARTS + k]));
    return v;
  }
};
/* What `red` has in WARPS warps, put behind `out`, then joined into it. */
template<class OP, int ROWS, int WARPS, class RED, class OUT> MG_DEV void mgi_join_own(const RED &red, const OUT &out) {
  const mg_row_parts<OP, ROWS, WARPS> parts((unsigned char *)(out.p + (ROWS + 3) / 4 * 4));
  red.put(parts);
  mg_sync(MG_WITHIN);
  MG_UNROLL
  for (int r0 = 0; r0 < ROWS; r0 += WARPS * 32)
    if (r0 + mg_tid() < ROWS) out.put(r0 + mg_tid(), 0, parts.at(r0 + mg_tid(), 0));
}
/* One value a row, where each of WARPS warps has columns of its own: a lane reads what it has of a left operand, rows
   lane / 4 and lane / 4 + 8 of every 16, columns 2 (lane % 4) and the next of every 8.  put() leaves the warps' parts;
   finish() joins them: its OUT is a tile of ROWS x 1, and WARPS * ROWS words follow the multiple of 4 words that holds it. */
template<class OP, int ROWS, int WARPS> struct mg_own_row_reduce {
  typedef mg_row_parts<OP, ROWS, WARPS> PARTS;
  enum { HALVES = (ROWS + 15) / 16 * 2 };
  mg_num part[HALVES];
  MG_DEV void init() {
    MG_UNROLL
    for (int p = 0; p < HALVES; p++) part[p] = OP::identity();
  }
  template<int COLS, class F> MG_DEV void add(int rows, int cols, const F &f) {
    MG_UNROLL
    for (int p = 0; p < HALVES; p++) {
      const int r = p * 8 + mg_lane() / 4;
      MG_UNROLL
      for (int c = mg_lane() % 4 * 2; c < COLS; c += 8)
        if (r < rows && c < cols) {
          mg_num first, second;
          f(r, c, first, second);
          part[p] = OP::join(part[p], first);
          if (c + 1 < cols) part[p] = OP::join(part[p], second);
        }
    }
  }
  MG_DEV void put(const PARTS &parts) const {
    MG_UNROLL
    for (int p = 0; p < HALVES; p++) {
      const int r = p * 8 + mg_lane() / 4;
      mg_num v = part[p];
      v = OP::join(v, mg_shfl_xor(v, 1));
      v = OP::join(v, mg_shfl_xor(v, 2));
      if (mg_lane() % 4 == 0 && r < ROWS) parts.p[r * WARPS + mg_warp()] = mg_narrow<mg_f32>(v);
    }
  }
  template<class OUT> MG_DEV void finish(const OUT &out MG_SITE) {
    MG_FROM;
    mgi_join_own<OP, ROWS, WARPS>(*this, out);
  }
};
/* The same of the squares of a left operand (mgi_squares_add). */
template<class T, int ROWS, int WARPS> struct mg_own_row_squares {
  typedef mg_row_parts<mg_by_sum, ROWS, WARPS> PARTS;
  enum { TILES = (ROWS + 15) / 16, HALVES = (ROWS + 7) / 8 };
  mg_num c[HALVES][4];
  MG_DEV void init() {
    MG_UNROLL
    for (int h = 0; h < HALVES; h++) {
      MG_UNROLL
      for (int k = 0; k < 4; k++) c[h][k] = mg_zero();
    }
  }
  template<int COLS, class L> MG_DEV void add(const L &left) {
    MG_UNROLL
    for (int s = 0; s < COLS / 16; s++) {
      MG_UNROLL
      for (int m = 0; m < TILES; m++) {
        uint32_t a[4];
        left.template fragment<ROWS % 16 == 0>(a, m * 16, s * 16);
        MG_UNROLL
        for (int h = 0; h < 2 && m * 2 + h < HALVES; h++) mgi_squares_add<T>(c[m * 2 + h], a, h);
      }
    }
  }
  MG_DEV void put(const PARTS &parts) const {
    MG_UNROLL
    for (int h = 0; h < HALVES; h++) {
      const int r = h * 8 + mg_lane() / 4;
      if (mgi_squares_here() && r < ROWS) parts.p[r * WARPS + mg_warp()] = mg_narrow<mg_f32>(mgi_squares_at(c[h], h % 2));
    }
  }
  template<class OUT> MG_DEV void finish(const OUT &out MG_SITE) {
    MG_FROM;
    mgi_join_own<mg_by_sum, ROWS, WARPS>(*this, out);
  }
};
/* One value a column.  OUT is a tile of 1 x COLS; SCRATCH words of shared memory follow it. */
template<class OP, int COLS, int THREADS> struct mg_col_reduce {
  enum { WIDE = COLS >= THREADS, PARTS = WIDE ? 1 : THREADS / COLS, STEP = WIDE ? THREADS : COLS, PASSES = (COLS + STEP - 1) / STEP,
         SCRATCH = PARTS > 1 ? PARTS * COLS : 0 };
  mg_num part[PASSES];
  MG_DEV void init() {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) part[p] = OP::identity();
  }
  template<class F> MG_DEV void add(int rows, int cols, const F &f) {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int c = p * STEP + mg_tid() % STEP;
      if (mg_tid() / STEP < PARTS && c < cols)
        for (int r = mg_tid() / STEP; r < rows; r += PARTS) part[p] = OP::join(part[p], f(r, c, 0));
    }
  }
  template<class OUT, class F = mg_same> MG_DEV void finish(const OUT &out, const F &f = F() MG_SITE) {
    MG_FROM;
    const mg_tile<mg_f32, PARTS, COLS, COLS, false> scratch((unsigned char *)(out.p + COLS));
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int c = p * STEP + mg_tid() % STEP;
      if (mg_tid() / STEP < PARTS && c < COLS) {
        if (PARTS == 1) out.put(0, c, f(part[p]));
        else scratch.put(mg_tid() / STEP, c, part[p]);
      }
    }
    if (PARTS > 1) {
      mg_sync(MG_WITHIN);
      for (int c = mg_tid(); c < COLS; c += THREADS) {
        mg_num v = OP::identity();
        for (int k = 0; k < PARTS; k++) v = OP::join(v, scratch.at(k, c));
        out.put(0, c, f(v));
      }
    }
  }
};

/* ROWS x COLS elements of T in the registers of a block, RUN neighbours of a row to a thread, then the next run: element
   i of a thread, as of fragments, lies at (row(i), col(i)).  The threads of a row are a power of two, or all. */
template<class T, int ROWS_, int COLS_, int THREADS_> struct mg_strip {
  enum { M = ROWS_, ROWS = ROWS_, COLS = COLS_, THREADS = THREADS_, RUN = 16 / (int)sizeof(T), PER_ROW = COLS / RUN, PASSES = ROWS * PER_ROW / THREADS, COUNT = PASSES * RUN, GROUP = PER_ROW < THREADS ? PER_ROW : THREADS,
         PARTS = PER_ROW < THREADS ? PASSES : ROWS };
  static_assert(COLS % RUN == 0 && PASSES * THREADS == ROWS * PER_ROW && (PER_ROW % THREADS == 0 || THREADS % PER_ROW == 0), "whole passes, of whole rows or of a part of one");
  static constexpr bool ALL_ROWS = true, QUADS = false; /* ALL_ROWS: no place lies beyond them */
  mg_words4 raw[PASSES];
  static MG_DEV bool within(int i, int cols) { return cols == COLS || col(i) < cols; }
  static MG_DEV int row(int i) { return PER_ROW < THREADS ? i / RUN * (THREADS / GROUP) + mg_tid() / GROUP : i / RUN / (PER_ROW / GROUP); }
  static MG_DEV int col(int i) { return (PER_ROW < THREADS ? mg_tid() % GROUP : i / RUN % (PER_ROW / GROUP) * THREADS + mg_tid()) * RUN + i % RUN; }
  static MG_DEV int part(int i) { return PER_ROW < THREADS ? i / RUN : i / RUN / (PER_ROW / GROUP); } /* of the rows that a thread has a part of */
  static MG_DEV int row_of_part(int k) { return PER_ROW < THREADS ? k * (THREADS / GROUP) + mg_tid() / GROUP : k; }
  MG_DEV void load(const T *from, int64_t stride) { /* 16-byte aligned */
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) raw[p] = mg_ldg((const mg_words4 *)(from + row(p * RUN) * stride + col(p * RUN)));
  }
  MG_DEV mg_num at(int i) const {
    if constexpr (sizeof(T) == 4) return mg_widen(T{raw[i / RUN].w[i % RUN]});
    else {
      T lo, hi;
      mg_unpack2<T>(raw[i / RUN].w[i % RUN / 2], lo, hi);
      return mg_widen(i % 2 ? hi : lo);
    }
  }
};
/* One value a row in the registers of the threads of strip S that have a part of it: f(r, 0, 0). */
template<class S> struct mg_strip_row {
  mg_num v[S::PARTS];
  template<class F> MG_DEV explicit mg_strip_row(const F &f) {
    MG_UNROLL
    for (int k = 0; k < S::PARTS; k++) v[k] = f(S::row_of_part(k), 0, 0);
  }
  MG_DEV mg_num at(int i) const { return v[S::part(i)]; }
};
/* A value as large as strip S, element by element in the registers of the threads: f(r, c, i). */
template<class S> struct mg_strip_kept {
  mg_num v[S::COUNT];
  template<class F> MG_DEV explicit mg_strip_kept(const F &f) {
    MG_UNROLL
    for (int i = 0; i < S::COUNT; i++) v[i] = f(S::row(i), S::col(i), i);
  }
  MG_DEV mg_num at(int i) const { return v[i]; }
};
template<class OP, class S> struct mg_strip_reduce {
  enum { LANES = S::GROUP < 32 ? S::GROUP : 32, WARPS = S::GROUP / LANES };
  typedef mg_row_parts<OP, S::ROWS, WARPS> OUT;
  mg_num part[S::PARTS];
  MG_DEV void init() {
    MG_UNROLL
    for (int k = 0; k < S::PARTS; k++) part[k] = OP::identity();
  }
  template<class F> MG_DEV void add(const F &f) {
    MG_UNROLL
    for (int i = 0; i < S::COUNT; i++) part[S::part(i)] = OP::join(part[S::part(i)], f(S::row(i), S::col(i), i));
  }
  MG_DEV void finish(const OUT &out MG_SITE) {
    MG_FROM;
    MG_UNROLL
    for (int k = 0; k < S::PARTS; k++) {
      mg_num v = part[k];
      MG_UNROLL
      for (int m = LANES / 2; m > 0; m /= 2) v = OP::join(v, mg_shfl_xor(v, m));
      if (mg_tid() % LANES == 0) out.p[S::row_of_part(k) * WARPS + mg_tid() % S::GROUP / LANES] = mg_narrow<mg_f32>(v);
    }
  }
};

/* Elements of a product, replaced by f of them where they are; zero from column `cols` on. */
template<class ACC, class F> MG_DEV void mg_replace(ACC &acc, int cols, const F &f) {
  MG_UNROLL
  for (int i = 0; i < ACC::COUNT; i++) acc.c[i >> 2][i & 3] = ACC::within(i, cols) ? f(ACC::row_in(i), ACC::col(i), i) : mg_zero();
}
/* The running maximum of an exponential's argument, by row: values are kept as v exp(-m).  In a field m is 0. */
template<class ACC> struct mg_row_shift {
  mg_num m[ACC::ROWS], factor[ACC::ROWS]; /* factor: what values so far are to be multiplied by */
  MG_DEV void init() {
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) m[k] = mg_neg_inf();
  }
  /* acc = exp(by f - m), by > 0, with m raised to the maximum of its row of by f in this warp. */
  template<class F> MG_DEV void raise(ACC &acc, int cols, const F &f, mg_num by = mg_const(1, 1) MG_SITE) {
    MG_FROM;
    mg_num top[ACC::ROWS];
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) top[k] = mg_neg_inf();
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++)
      if (ACC::within(i, cols)) {
        const mg_num v = f(ACC::row_in(i), ACC::col(i), i);
        acc.c[i >> 2][i & 3] = v;
        top[ACC::row_of(i)] = mg_shift_max(top[ACC::row_of(i)], v);
      }
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) {
      top[k] = mg_shift_max(top[k], mg_shfl_xor(top[k], 1));
      top[k] = mg_shift_max(m[k], mg_shift_times(mg_shift_max(top[k], mg_shfl_xor(top[k], 2)), by));
      factor[k] = mg_shift_factor(m[k], top[k]);
      m[k] = top[k];
    }
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) acc.c[i >> 2][i & 3] = ACC::within(i, cols) ? mg_shift_exp_by(acc.c[i >> 2][i & 3], by, m[ACC::row_of(i)]) : mg_zero();
  }
  /* The warps of a row take the largest of their shifts; `shared` is a tile of WN x M. */
  template<class TILE> MG_DEV void agree(const TILE &shared MG_SITE) {
    MG_FROM;
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) {
      const int r = ACC::row0() + k / 2 * 16 + k % 2 * 8 + mg_lane() / 4;
      if (mg_lane() % 4 == 0 && r < ACC::M) shared.put(ACC::warp_n(), r, m[k]);
    }
    mg_sync(MG_WITHIN);
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) {
      const int r = ACC::row0() + k / 2 * 16 + k % 2 * 8 + mg_lane() / 4;
      mg_num top = m[k];
      if (r < ACC::M) {
        MG_UNROLL
        for (int w = 0; w < ACC::WN; w++) top = mg_shift_max(top, shared.at(w, r));
      }
      factor[k] = mg_shift_factor(m[k], top);
      m[k] = top;
    }
  }
  /* One value a row, of the first `rows`; the warps have agreed. */
  template<class SINK> MG_DEV void put(const SINK &sink, int rows = ACC::M) const {
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) {
      const int r = ACC::row0() + k / 2 * 16 + k % 2 * 8 + mg_lane() / 4;
      const mg_num v[1] = {m[k]};
      if (mg_lane() % 4 == 0 && r < rows && ACC::warp_n() == 0) sink.template put<1>(r, 0, v, 1);
    }
  }
};
/* Sums of the rows of a product that stays in fragments.  OUT is a tile of M x 1; WN * M words follow it if WN > 1. */
template<class ACC> struct mg_fragment_sum {
  mg_num part[ACC::ROWS];
  MG_DEV void init() {
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) part[k] = mg_zero();
  }
  MG_DEV void scale_rows(const mg_num (&f)[ACC::ROWS]) {
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) part[k] = part[k] * f[k];
  }
  MG_DEV void add(const ACC &acc) {
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) part[ACC::row_of(i)] = part[ACC::row_of(i)] + acc.at(i);
  }
  template<class OUT> MG_DEV void finish(const OUT &out MG_SITE) {
    MG_FROM;
    const mg_tile<mg_f32, ACC::WN, ACC::M, ACC::M, false> scratch((unsigned char *)(out.p + ACC::M));
    MG_UNROLL
    for (int k = 0; k < ACC::ROWS; k++) {
      const int r = ACC::row0() + k / 2 * 16 + k % 2 * 8 + mg_lane() / 4;
      mg_num v = part[k];
      v = v + mg_shfl_xor(v, 1);
      v = v + mg_shfl_xor(v, 2);
      if (mg_lane() % 4 == 0 && r < ACC::M) {
        if (ACC::WN == 1) out.put(r, 0, v);
        else scratch.put(ACC::warp_n(), r, v);
      }
    }
    if (ACC::WN > 1) {
      mg_sync(MG_WITHIN);
      for (int r0 = 0; r0 < ACC::M; r0 += ACC::THREADS)
        if (r0 + mg_tid() < ACC::M) {
          mg_num v = scratch.at(0, r0 + mg_tid());
          for (int w = 1; w < ACC::WN; w++) v = v + scratch.at(w, r0 + mg_tid());
          out.put(r0 + mg_tid(), 0, v);
        }
    }
  }
};

/* Where values of rows go that are to have back what was taken off their row: of v exp(-m) v, of log(v) - m, with LOG, log(v). */
template<bool LOG, class TILE, class SINK> struct mg_shift_back {
  SINK to;
  TILE m; /* by row */
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    mg_num back[W];
    MG_UNROLL
    for (int j = 0; j < W; j++) back[j] = j < n ? mg_shift_undo(v[j], m.at(r, 0), LOG) : mg_zero();
    to.template put<W>(r, c, back, n);
  }
};
template<bool LOG, class TILE, class SINK> MG_DEV mg_shift_back<LOG, TILE, SINK> mg_undone(const SINK &to, const TILE &m) { return mg_shift_back<LOG, TILE, SINK>{to, m}; }

/* -------------------------------------------------------------------------------------------------- >>sites
   Loops over the valid elements of a result.  f(r, c, i) gives its element (r, c); i is the fragment element, where the
   loop runs over fragments.  The sink takes W neighbours of a row at a time, n of them valid. */
/* Of whole fragments: the four lanes that have a row's columns in pairs, of 8 columns after 8, exchange them, so that each stores 8
   neighbours: of word t of lane s, lane t has what it stores as its word s. */
MG_DEV void mgi_exchange_quad(uint32_t (&w)[4]) {
  MG_UNROLL
  for (int m = 1; m < 4; m *= 2) {
    const bool high = (mg_lane() & m) != 0;
    MG_UNROLL
    for (int t = 0; t < 4; t++)
      if (!(t & m)) {
        const uint32_t got = mg_shfl_word(high ? w[t] : w[t | m], mg_lane() ^ m);
        if (high) w[t] = got;
        else w[t | m] = got;
      }
  }
}
template<class S> struct mgi_by_words { static constexpr bool IS = false; }; /* whether a sink takes 8 neighbours as words */
template<class ACC, class F, class S> MG_DEV void mgi_each_quad(const F &f, const S &sink) {
  MG_UNROLL
  for (int i0 = 0; i0 < ACC::COUNT; i0 += 16) {
    MG_UNROLL
    for (int half = 0; half < 4; half += 2) { /* rows, 8 apart */
      uint32_t w[4];
      MG_UNROLL
      for (int t = 0; t < 4; t++) {
        const int i = i0 + t * 4 + half, r = ACC::row(i), c = ACC::col(i);
        w[t] = sink.word(f(r, c, i), f(r, c + 1, i + 1));
      }
      mgi_exchange_quad(w);
      sink.put_words(ACC::row(i0 + half), ACC::col(i0) - mg_lane() % 4 * 2 + mg_lane() % 4 * 8, w);
    }
  }
}
/* Of rows in registers: all is computed before the first is stored, so that what all elements share is read once. */
template<class ACC> struct mgi_few_in_registers { static constexpr bool IS = false; };
template<class T, int ROWS, int COLS, int THREADS> struct mgi_few_in_registers<mg_strip<T, ROWS, COLS, THREADS>> {
  static constexpr bool IS = mg_strip<T, ROWS, COLS, THREADS>::COUNT <= 32;
};
template<class ACC, class F, class S> MG_DEV void mgi_each_at_once(int cols, const F &f, const S &sink) {
  mg_num v[ACC::COUNT];
  MG_UNROLL
  for (int i = 0; i < ACC::COUNT; i++)
    if (ACC::within(i, cols)) v[i] = f(ACC::row(i), ACC::col(i), i);
  MG_UNROLL
  for (int i = 0; i < ACC::COUNT; i += ACC::RUN) {
    mg_num run[ACC::RUN];
    MG_UNROLL
    for (int j = 0; j < ACC::RUN; j++) run[j] = v[i + j];
    if (ACC::within(i, cols)) sink.template put<ACC::RUN>(ACC::row(i), ACC::col(i), run, ACC::RUN);
  }
}
/* The rest: a run at a time, with the edges of rows and columns. */
template<class ACC, class F, class S> MG_DEV void mgi_each_in_turn(int rows, int cols, const F &f, const S &sink) {
  MG_UNROLL
  for (int i = 0; i < ACC::COUNT; i += ACC::RUN) {
    const int r = ACC::row(i), c = ACC::col(i);
    if (((ACC::ALL_ROWS && rows == ACC::M) || r < rows) && ACC::within(i, cols)) {
      const int n = cols % ACC::RUN != 0 && cols - c < ACC::RUN ? cols - c : (int)ACC::RUN; /* c is a multiple of RUN */
      mg_num v[ACC::RUN];
      MG_UNROLL
      for (int j = 0; j < ACC::RUN; j++) v[j] = j < n ? f(r, c + j, i + j) : mg_zero();
      sink.template put<ACC::RUN>(r, c, v, n);
    }
  }
}
template<class ACC, class F, class S> MG_DEV void mg_each_fragment(int rows, int cols, const F &f, const S &sink) {
  if constexpr (mgi_few_in_registers<ACC>::IS)
    mgi_each_at_once<ACC>(cols, f, sink);
  else {
    if constexpr (ACC::QUADS && mgi_by_words<S>::IS)
      if (rows == ACC::M && cols == ACC::N) {
        mgi_each_quad<ACC>(f, sink);
        return;
      }
    mgi_each_in_turn<ACC>(rows, cols, f, sink);
  }
}
/* W neighbours at a time: f(r, c, n) reads what n of them, from (r, c) on, are made of; what it gives, of (r, c, j), makes one. */
template<int ROWS, int COLS, int THREADS, int W, class F, class S> MG_DEV void mg_each_run(int rows, int cols, const F &f, const S &sink) {
  constexpr int ROW = (COLS + W - 1) / W, UNITS = ROWS * ROW;
  MG_UNROLL_BY(UNITS <= 4 * THREADS ? 4 : 1)
  for (int u0 = 0; u0 < UNITS; u0 += THREADS) {
    const int u = u0 + mg_tid(), r = u / ROW, c = u % ROW * W;
    if ((UNITS % THREADS == 0 || u < UNITS) && r < rows && c < cols) {
      const int n = cols % W != 0 && cols - c < W ? cols - c : W; /* c is a multiple of W */
      const auto one = f(r, c, n);
      mg_num v[W];
      MG_UNROLL
      for (int j = 0; j < W; j++) v[j] = j < n ? one(r, c + j, j) : mg_zero();
      sink.template put<W>(r, c, v, n);
    }
  }
}
template<int ROWS, int COLS, int THREADS, class F, class S> MG_DEV void mg_each_unit(int rows, int cols, const F &f, const S &sink) {
  mg_each_run<ROWS, COLS, THREADS, COLS < 4 ? 1 : 4>(rows, cols, [&](int, int, int) {
    return [&](int r, int c, int) { return f(r, c, 0); };
  }, sink);
}

/* How many elements, at most `most`, a run may have that starts at multiples of them in rows of `stride`. */
MG_BOTH int mg_run(int most, int64_t stride) { return most >= 8 && stride % 8 == 0 ? 8 : most >= 4 && stride % 4 == 0 ? 4 : most >= 2 && stride % 2 == 0 ? 2 : 1; }

/* To global memory; runs of ALIGN elements from a column that is a multiple of ALIGN are aligned to their size. */
template<class T, int ALIGN> struct mg_to_global {
  T *p;
  int64_t row, col; /* strides */
  MG_DEV mg_to_global(T *at, int64_t r, int64_t c) : p(at), row(r), col(c) {}
  MG_DEV static uint32_t word(mg_num first, mg_num second) { return mg_narrow2<T>(first, second); }
  MG_DEV void put_words(int r, int c, const uint32_t (&w)[4]) const { mg_stg((mg_words4 *)(p + r * row + c * col), mg_words4{{w[0], w[1], w[2], w[3]}}); }
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    T *at = p + r * row + c * col;
    if constexpr (W == 8) {
      if constexpr (ALIGN >= 8 && sizeof(T) == 2)
        if (n == 8) {
          mg_stg((mg_words4 *)at, mg_words4{{mg_narrow2<T>(v[0], v[1]), mg_narrow2<T>(v[2], v[3]), mg_narrow2<T>(v[4], v[5]), mg_narrow2<T>(v[6], v[7])}});
          return;
        }
      MG_UNROLL
      for (int j = 0; j < 8; j += 4)
        if (n > j) put<4>(r, c + j, {v[j], v[j + 1], v[j + 2], v[j + 3]}, n - j < 4 ? n - j : 4);
      return;
    }
    if constexpr (W > 1 && ALIGN >= W && sizeof(T) == 2) {
      if (n == W) {
        if constexpr (W == 4) {
          const mg_words2 both = {{mg_narrow2<T>(v[0], v[1]), mg_narrow2<T>(v[2], v[3])}};
          mg_stg((mg_words2 *)at, both);
        } else mg_stg((uint32_t *)at, mg_narrow2<T>(v[0], v[1]));
        return;
      }
    } else if constexpr (W > 1 && ALIGN >= W) {
      if (n == W) {
        if constexpr (W == 4) mg_stg((mg_words4 *)at, mg_words4{{mg_narrow<T>(v[0]).bits, mg_narrow<T>(v[1]).bits, mg_narrow<T>(v[2]).bits, mg_narrow<T>(v[3]).bits}});
        else mg_stg((mg_words2 *)at, mg_words2{{mg_narrow<T>(v[0]).bits, mg_narrow<T>(v[1]).bits}});
        return;
      }
    }
    MG_UNROLL
    for (int j = 0; j < W; j++)
      if (j < n) mg_stg(at + j * col, mg_narrow<T>(v[j]));
  }
};
template<class T, int ALIGN> struct mgi_by_words<mg_to_global<T, ALIGN>> { static constexpr bool IS = ALIGN >= 8 && sizeof(T) == 2; };
/* To a tile, at an offset: in place of what is there, added to it, or the larger of the two. */
template<class TILE> struct mg_to_tile {
  TILE t;
  int r0, c0;
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    typedef typename TILE::T T;
    if constexpr ((W == 2 || W == 4) && sizeof(T) == 2 && !TILE::TRANS && TILE::PITCH % W == 0) {
      if (n == W && (c0 + c) % W == 0) {
        if constexpr (W == 4) *(mg_words2 *)t.place(r0 + r, c0 + c) = mg_words2{{mg_narrow2<T>(v[0], v[1]), mg_narrow2<T>(v[2], v[3])}};
        else *(mg_word *)t.place(r0 + r, c0 + c) = mg_narrow2<T>(v[0], v[1]);
        return;
      }
    }
    if constexpr (W > 1 && W <= 4 && sizeof(T) == 4 && !TILE::TRANS && TILE::PITCH % W == 0) {
      if (n == W && (c0 + c) % W == 0) {
        if constexpr (W == 4) *(mg_words4 *)t.place(r0 + r, c0 + c) = mg_words4{{mg_narrow<T>(v[0]).bits, mg_narrow<T>(v[1]).bits, mg_narrow<T>(v[2]).bits, mg_narrow<T>(v[3]).bits}};
        else *(mg_words2 *)t.place(r0 + r, c0 + c) = mg_words2{{mg_narrow<T>(v[0]).bits, mg_narrow<T>(v[1]).bits}};
        return;
      }
    }
    MG_UNROLL
    for (int j = 0; j < W; j++)
      if (j < n) t.put(r0 + r, c0 + c + j, v[j]);
  }
};
template<class OP, class TILE> struct mg_join_tile {
  TILE t;
  int r0, c0;
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    MG_UNROLL
    for (int j = 0; j < W; j++)
      if (j < n) t.put(r0 + r, c0 + c + j, OP::join(t.at(r0 + r, c0 + c + j), v[j]));
  }
};
template<class TILE> MG_DEV mg_to_tile<TILE> mg_into(const TILE &t, int r0, int c0) { return mg_to_tile<TILE>{t, r0, c0}; }
template<class OP, class TILE> MG_DEV mg_join_tile<OP, TILE> mg_join(const TILE &t, int r0 = 0, int c0 = 0) { return mg_join_tile<OP, TILE>{t, r0, c0}; }

/* ------------------------------------------------------------------------------------------------- >>split
   Tensors between kernels as two of f16, whatever their sizes: what a block stores it takes 2^(-4 p) times, p being such that its
   largest element is then in [2^11, 2^15), and stores that, what is left of it in a second tensor behind, and p behind both.  Blocks
   of like sizes have one p.  Who reads the tensor as an operand multiplies by both; it takes what has a smaller power than the
   largest of all that it reads down to that, in its tiles, and has the largest back on its accumulators.  Powers of two are exact;
   what is lost is 2^-22 of an element, or 2^-36 of the largest of all that is read.  Over fields, which round nothing, the parts
   are any two. */
enum { MG_NO_POWER = -100 }; /* of a block whose elements are all 0 */
struct mg_to_size {
  uint32_t *most;
  template<int W> MG_DEV void put(int, int, const mg_num (&v)[W], int n) const {
    MG_UNROLL
    for (int j = 0; j < W; j++) {
      const uint32_t size = j < n ? mg_size_bits(v[j]) : 0;
      if (size > *most) *most = size;
    }
  }
};
/* A block's, whose threads have met elements of up to these sizes. */
MG_DEV int mg_block_power(uint32_t most MG_SITE) {
  MG_FROM;
  const int p = ((int)(most >> 23) - 138) >> 2, mine = !most ? 0 : 32 + (p < -30 ? -30 : p > 30 ? 30 : p);
  int k = 0; /* the largest, from its first binary digit on */
  MG_UNROLL
  for (int digit = 32; digit > 0; digit /= 2)
    if (mg_sync_or(mine >= k + digit MG_ALSO_WITHIN)) k += digit;
  return k ? k - 32 : MG_NO_POWER;
}
template<class SINK> struct mg_to_split {
  SINK high, low;
  mg_num f;
  MG_DEV mg_to_split(const SINK &to, int64_t elements, int p) : high(to), low(to.p + elements, to.row, to.col), f(mg_power(p == MG_NO_POWER ? 0 : -4 * p)) {}
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    mg_num a[W], b[W];
    MG_UNROLL
    for (int j = 0; j < W; j++) a[j] = mg_high_part(v[j] * f), b[j] = v[j] * f - a[j];
    high.template put<W>(r, c, a, n);
    low.template put<W>(r, c, b, n);
  }
};
/* The chunk of `chunk` elements that `at` is in, of n. */
MG_DEV int mg_chunk_of(int64_t at, int64_t chunk, int n) {
  const int64_t k = at / chunk;
  return k < n ? (int)k : n - 1;
}
/* `extent` elements from `at` on, of a dimension whose chunks of `chunk` elements n blocks made. */
struct mg_span { int64_t at, extent, chunk; int n; };
/* The powers of all blocks that made a part of a tensor: of its maker's three grid axes. */
struct mg_powers {
  const uint32_t *p;
  int most;
  bool mixed;
  MG_DEV mg_powers(const uint32_t *at, const mg_span &x, const mg_span &y, const mg_span &z MG_SITE) : p(at) {
    MG_FROM;
    const int x0 = mg_chunk_of(x.at, x.chunk, x.n), y0 = mg_chunk_of(y.at, y.chunk, y.n), z0 = mg_chunk_of(z.at, z.chunk, z.n);
    const int X = mg_chunk_of(x.at + x.extent - 1, x.chunk, x.n) - x0 + 1, XY = X * (mg_chunk_of(y.at + y.extent - 1, y.chunk, y.n) - y0 + 1);
    const int n = XY * (mg_chunk_of(z.at + z.extent - 1, z.chunk, z.n) - z0 + 1);
    int top = MG_NO_POWER, low = 100;
    for (int i = mg_lane(); i < n; i += 32) {
      const int v = (int)mg_ldg(p + x0 + i % X + (y0 + i % XY / X + (z0 + i / XY) * y.n) * x.n);
      if (v == MG_NO_POWER) continue;
      if (v > top) top = v;
      if (v < low) low = v;
    }
    const int first = (int)mg_shfl_word((uint32_t)top, 0);
    if (mg_any(top != MG_NO_POWER && (top != first || low != top))) {
      MG_UNROLL
      for (int m = 16; m > 0; m /= 2) {
        const int a = (int)mg_shfl_word((uint32_t)top, mg_lane() ^ m), b = (int)mg_shfl_word((uint32_t)low, mg_lane() ^ m);
        if (a > top) top = a;
        if (b < low) low = b;
      }
    } else top = low = first;
    most = top == MG_NO_POWER ? 0 : top;
    mixed = top != low;
  }
  template<class ACC> MG_DEV void undo(ACC &acc) const {
    const mg_num f = mg_power(4 * most);
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT && most != 0; i++) acc.c[i >> 2][i & 3] = acc.c[i >> 2][i & 3] * f;
  }
};
/* Takes the elements of a tile down to the largest power; the thread is the `me`-th of LANES; at(r, c): whose element (r, c) is, which
   is the same for eight neighbours. */
template<int LANES, class TILE, class AT> MG_DEV void mg_one_power(const TILE &t, const mg_powers &by, int me, const AT &at) {
  typedef typename TILE::T T;
  static_assert(sizeof(T) == 2, "eight elements are 16 bytes");
  static_assert(TILE::COLS % 8 == 0 && TILE::PITCH % 8 == 0 && !TILE::TRANS, "eight neighbours are of one block");
  for (int u = me; u < TILE::ROWS * TILE::COLS / 8; u += LANES) {
    const int r = u / (TILE::COLS / 8), c = u % (TILE::COLS / 8) * 8, p = (int)mg_ldg(by.p + at(r, c));
    if (p >= by.most || p == MG_NO_POWER) continue; /* larger: outside of what the block reads */
    const mg_num f = mg_power(p - by.most < -30 ? -120 : 4 * (p - by.most));
    mg_words4 *const eight = (mg_words4 *)t.place(r, c);
    mg_words4 w = *eight;
    MG_UNROLL
    for (int j = 0; j < 4; j++) {
      T lo, hi;
      mg_unpack2<T>(w.w[j], lo, hi);
      w.w[j] = mg_narrow2<T>(mg_widen(lo) * f, mg_widen(hi) * f);
    }
    *eight = w;
  }
}

/* -------------------------------------------------------------------------------------------------- >>merge
   An accumulator over grid axes joins the parts of Z blocks, each a tile of fp32.  In a cluster every block pushes its
   part into the shared memory of the group's first one; else it writes it to the workspace, and whoever draws the
   group's last ticket goes on.  The parts are read where the value is used, always in the blocks' order:

     cluster     arrive .. loop .. wait | push | all but the first exit         | until all has come | join, compute, store
     owners      arrive .. loop .. wait | push                                  | until all has come | join, compute, store one's own
     workspace                     loop | write | ticket; all but the last exit                      | join, compute, store

   Pushes count in a barrier of phases of the block that gets them, which knows how many bytes are to come: nobody waits
   for others to arrive (measured on an H200: 0.1 to 0.3 us less than by a second barrier of the cluster).  Owners: where
   all that depends on the whole is elementwise and stored, every block of a cluster owns PER of the result's units, which
   are up to four neighbours of a row, and gets all blocks' parts of these; vectors go to every block. */
template<int ROWS_, int COLS_, int Z_> struct mg_owners {
  enum { ROWS = ROWS_, COLS = COLS_, Z = Z_, W = COLS < 4 ? 1 : 4, ROW = (COLS + W - 1) / W, UNITS = ROWS * ROW, PER = (UNITS + Z - 1) / Z, BYTES = PER * W * 4 };
  /* The bytes of one block's part of rows x cols valid elements that this block owns. */
  static MG_DEV int bytes(int rows, int cols) { return before(mg_cluster_rank() * PER + PER, rows, cols) - before(mg_cluster_rank() * PER, rows, cols); }
  static MG_DEV int before(int u, int rows, int cols) {
    const int c = u % ROW * W, r = u / ROW;
    return 4 * (r < rows ? r * cols + (c < cols ? c : cols) : rows * cols);
  }
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* The barrier that the pushes of a merge count in; then all of the cluster have it once mg_cluster_wait has returned. */
MG_DEV void mg_cluster_opens(mg_phase *all) {
  if (mg_tid() == 0) {
    mg_phase_init(all, 1);
    mg_phase_publish();
  }
  mg_cluster_begun();
}
MG_DEV void mg_cluster_takes(mg_phase *all, int bytes) {
  if (mg_tid() == 0) mg_phase_expect(all, bytes);
  mg_phase_wait(all, 0);
}
#endif
/* Up to N neighbours, n of them valid, to their place in a block of the cluster: 4 n bytes. */
template<int N> MG_DEV void mg_push_run(mg_f32 *mine, int rank, mg_phase *all, const mg_num (&v)[N], int n) {
  mg_f32 w[N];
  MG_UNROLL
  for (int j = 0; j < N; j++) w[j] = mg_narrow<mg_f32>(v[j]);
  if (n == N) mg_push<N>(mine, rank, all, w);
  else {
    MG_UNROLL
    for (int j = 0; j < N; j++)
      if (j < n) {
        const mg_f32 one[1] = {w[j]};
        mg_push<1>(mine + j, rank, all, one);
      }
  }
}
/* To the owners' shared memory: `at` is where the parts begin, in this block. */
template<class O> struct mg_to_owners {
  unsigned char *at;
  mg_phase *all;
  MG_DEV mg_to_owners(unsigned char *parts, mg_phase *p) : at(parts + mg_cluster_rank() * O::BYTES), all(p) {}
  template<int N> MG_DEV void put(int r, int c, const mg_num (&v)[N], int n) const {
    if constexpr (N <= O::W) { /* neighbours have one owner: columns are multiples of N */
      const int u = r * O::ROW + c / O::W;
      mg_push_run<N>((mg_f32 *)at + u % O::PER * O::W + c % O::W, u / O::PER, all, v, n);
    } else {
      MG_UNROLL
      for (int j = 0; j < N; j++)
        if (j < n) {
          const mg_num one[1] = {v[j]};
          put<1>(r, c + j, one, 1);
        }
    }
  }
};
/* The same tile in every block of the cluster from the first to Z - 1. */
template<class TILE, int Z> struct mg_to_all {
  unsigned char *at;
  mg_phase *all;
  MG_DEV mg_to_all(unsigned char *mine, mg_phase *p) : at(mine), all(p) {}
  template<int N> MG_DEV void put(int r, int c, const mg_num (&v)[N], int n) const {
    constexpr int W = N > 4 ? 4 : TILE::PITCH % 4 ? 1 : N; /* of a run as much as is aligned */
    for (int k = 0; k < Z; k++) {
      MG_UNROLL
      for (int j = 0; j < N; j += W)
        if (j < n) {
          mg_num w[W];
          MG_UNROLL
          for (int i = 0; i < W; i++) w[i] = v[j + i];
          mg_push_run<W>((mg_f32 *)at + r * TILE::PITCH + c + j, k, all, w, n - j < W ? n - j : W);
        }
    }
  }
};
/* All blocks' parts of what this block owns; nothing else may be asked for. */
template<class OP, class O> struct mg_merge_owned {
  const mg_f32 *p;
  int first;
  enum { COUNT = O::Z };
  MG_DEV explicit mg_merge_owned(unsigned char *at) : p((const mg_f32 *)at), first(mg_cluster_rank() * O::PER) {}
  MG_DEV mg_num part(int k, int r, int c) const { return mg_widen(p[(k * O::PER + r * O::ROW + c / O::W - first) * O::W + c % O::W]); }
  MG_DEV mg_num at(int r, int c) const {
    mg_num v = part(0, r, c);
    MG_UNROLL
    for (int k = 1; k < O::Z; k++) v = OP::join(v, part(k, r, c));
    return v;
  }
};
template<class O, int THREADS, class F, class S> MG_DEV void mg_each_owned(int rows, int cols, const F &f, const S &sink) {
  const int first = mg_cluster_rank() * O::PER;
  for (int k = mg_tid(); k < O::PER; k += THREADS) {
    const int r = (first + k) / O::ROW, c = (first + k) % O::ROW * O::W;
    if (r < rows && c < cols) {
      const int n = cols - c < O::W ? cols - c : O::W;
      mg_num v[O::W];
      MG_UNROLL
      for (int j = 0; j < O::W; j++) v[j] = j < n ? f(r, c + j, 0) : mg_zero();
      sink.template put<O::W>(r, c, v, n);
    }
  }
}
template<class OP, class TILE, int Z, int BYTES> struct mg_merge_shared { /* part k lies k * BYTES behind `p` */
  unsigned char *p;
  enum { COUNT = Z };
  MG_DEV explicit mg_merge_shared(unsigned char *at) : p(at) {}
  MG_DEV mg_num part(int k, int r, int c) const { return TILE(p + k * BYTES).at(r, c); }
  MG_DEV mg_num at(int r, int c) const {
    mg_num v = part(0, r, c);
    MG_UNROLL
    for (int k = 1; k < Z; k++) v = OP::join(v, part(k, r, c));
    return v;
  }
};
template<class OP, class TILE, int Z, int BYTES> struct mg_merge_global {
  const unsigned char *p;
  enum { COUNT = Z };
  MG_DEV explicit mg_merge_global(const unsigned char *at) : p(at) {}
  MG_DEV mg_num part(int k, int r, int c) const { return mg_widen(mg_ldg_fresh((const mg_f32 *)(p + (int64_t)k * BYTES) + r * TILE::PITCH + c)); }
  MG_DEV mg_num at(int r, int c) const {
    mg_num v = part(0, r, c);
    MG_UNROLL_BY(8)
    for (int k = 1; k < Z; k++) v = OP::join(v, part(k, r, c));
    return v;
  }
};
/* Parts whose rows have shifts of their own: each is weighted by what is to be undone of its shift.  The weights are a
   tile of rows x Z. */
template<class PARTS, class TILE> struct mg_merge_weighted {
  PARTS parts;
  TILE weights;
  MG_DEV mg_merge_weighted(const PARTS &p, const TILE &w) : parts(p), weights(w) {}
  MG_DEV mg_num at(int r, int c) const {
    mg_num v = parts.part(0, r, c) * weights.at(r, 0);
    MG_UNROLL_BY(8)
    for (int k = 1; k < PARTS::COUNT; k++) v = v + parts.part(k, r, c) * weights.at(r, k);
    return v;
  }
};
template<int ROWS, int THREADS, class PARTS, class TILE> MG_DEV void mg_merge_weights(const PARTS &shifts, const TILE &weights) {
  for (int r = mg_tid(); r < ROWS; r += THREADS) {
    mg_num top = shifts.part(0, r, 0);
    for (int k = 1; k < PARTS::COUNT; k++) top = mg_shift_max(top, shifts.part(k, r, 0));
    for (int k = 0; k < PARTS::COUNT; k++) weights.put(r, k, mg_shift_factor(shifts.part(k, r, 0), top));
  }
}
/* The same between kernels: of every row the shifts of its Z parts, neighbours in global memory, as the kernel before left them;
   the weights bring all parts to the largest.  A part's row of -inf weighs nothing beside others, and changes nothing alone. */
template<int THREADS, class TILE> MG_DEV void mg_shift_weights(const TILE &weights, const mg_f32 *from, int rows MG_SITE) {
  MG_FROM;
  constexpr int Z = TILE::COLS, G = Z > 16 ? 32 : Z > 8 ? 16 : Z > 4 ? 8 : Z > 2 ? 4 : 2, N = (Z + G - 1) / G; /* G lanes a row */
  for (int r0 = 0; r0 < rows; r0 += THREADS / G) {
    const int r = r0 + mg_tid() / G, z = mg_tid() % G;
    mg_num m[N], top = mg_neg_inf();
    MG_UNROLL
    for (int k = 0; k < N; k++) {
      m[k] = r < rows && z + k * G < Z ? mg_widen(mg_ldg_fresh(from + (int64_t)r * Z + z + k * G)) : mg_neg_inf();
      top = mg_shift_max(top, m[k]);
    }
    MG_UNROLL
    for (int d = 1; d < G; d *= 2) top = mg_shift_max(top, mg_shfl_xor(top, d));
    MG_UNROLL
    for (int k = 0; k < N; k++)
      if (r < rows && z + k * G < Z) weights.put(r, z + k * G, mg_shift_factor(m[k], top));
  }
}
/* A tile, or a tensor in place, whose columns are of such parts: INNER of each, counted from column `first` of the whole; with
   INNER 0 all of part `first`. */
template<class OF, class TILE, int INNER> struct mg_reweighted {
  OF of;
  TILE weights;
  int first;
  MG_DEV mg_reweighted(const OF &t, const TILE &w, int64_t from) : of(t), weights(w), first((int)from) {}
  MG_DEV mg_num weight(int r, int c) const {
    if constexpr (INNER > 0) return weights.at(r, (first + c) / INNER % TILE::COLS);
    else return weights.at(r, first);
  }
  MG_DEV mg_num at(int r, int c) const { return of.at(r, c) * weight(r, c); }
  MG_DEV void pair(int r, int c, mg_num &a, mg_num &b) const {
    of.pair(r, c, a, b);
    a = a * weight(r, c);
    b = b * weight(r, c + 1);
  }
};
/* True in the block of a group of z that comes last; what the others wrote before is there for it to read.  Leaves the
   ticket as it was. */
MG_DEV bool mg_last_of(uint32_t *ticket, int z MG_SITE) {
  MG_FROM;
  mg_sync(MG_WITHIN);
  const bool last = mg_sync_or(mg_tid() == 0 && mg_ticket(ticket) == (uint32_t)z - 1 MG_ALSO_WITHIN);
  if (last && mg_tid() == 0) mg_stg(ticket, (uint32_t)0);
  return last;
}

/* ------------------------------------------------------------------------------------------------ >>library */
/* f(e) for every e < n, over all blocks of 256 threads. */
template<class F> MG_DEV void mg_each_element(int64_t n, int64_t blocks, const F &f) {
  for (int64_t e = (int64_t)mg_bid(0) * 256 + mg_tid(); e < n; e += blocks * 256) f(e);
}
/* One warp an element: out(e, OP over k < extent of f(e, k)). */
template<class OP, class F, class O> MG_DEV void mg_each_reduction(int64_t n, int64_t extent, int64_t blocks, const F &f, const O &out) {
  for (int64_t e = (int64_t)mg_bid(0) * 8 + mg_warp(); e < n; e += blocks * 8) {
    mg_num v = OP::identity();
    for (int64_t k = mg_lane(); k < extent; k += 32) v = OP::join(v, f(e, k));
    MG_UNROLL
    for (int m = 16; m > 0; m /= 2) v = OP::join(v, mg_shfl_xor(v, m));
    if (mg_lane() == 0) out(e, v);
  }
}
/* A word that is no number, of the lane whose number differs by the mask. */
MG_DEV uint32_t mg_shfl_xor_word(uint32_t w, int mask) {
#ifdef MG_EMULATE
  mg_num v;
  static_assert(sizeof v == sizeof w, "a number has the bytes of a word");
  memcpy((void *)&v, &w, sizeof v);
  v = mg_shfl_xor(v, mask);
  memcpy(&w, (const void *)&v, sizeof w);
  return w;
#else
  return __shfl_xor_sync(0xFFFFFFFFu, w, mask);
#endif
}
/* A number and its place as a key: what is joined of keys is the greatest number and, of several, the first place.
   That is the join of a lattice, so lanes', warps' and blocks' keys give the same in any order and grouping.
   w[1]: the number (mg_order_word); w[0]: the complement of the place, 0 in the least key, which has none. */
MG_DEV mg_key mg_no_key() { return mg_key{{0, 0}}; }
MG_DEV mg_key mg_key_of(mg_num v, uint32_t place) { return mg_key{{~place, mg_order_word(v)}}; }
MG_DEV mg_i32 mg_key_place(mg_key a) { return mg_i32{(int32_t)~a.w[0]}; }
MG_DEV mg_key mg_key_join(mg_key a, mg_key b) {
  const int above = !a.w[0] || (b.w[0] && mg_order_above(b.w[1], a.w[1]));
  const int before = b.w[0] > a.w[0] && !mg_order_above(a.w[1], b.w[1]);
  return above || before ? b : a;
}
/* All keys of a block of 256 threads, joined, in its first thread. */
MG_DEV mg_key mg_key_block(mg_key key MG_SITE) {
  MG_FROM;
  mg_key *const warps = (mg_key *)mg_shared();
  static_assert(8 * sizeof *warps == MG_ARGMAX_SHARED, "a key of each warp");
  MG_UNROLL
  for (int m = 16; m > 0; m /= 2) {
    mg_key other;
    for (int h = 0; h < 2; h++) other.w[h] = mg_shfl_xor_word(key.w[h], m);
    key = mg_key_join(key, other);
  }
  if (mg_lane() == 0) warps[mg_warp()] = key;
  mg_sync(MG_WITHIN);
  for (int w = 1; w < 8 && mg_tid() == 0; w++) key = mg_key_join(key, warps[w]);
  mg_sync(MG_WITHIN);
  return key;
}
/* The larger of (top, at) and f(e, k), f(e, k + 256) .., A of them, all under way at once: nothing branches here, as behind a branch a
   load would wait for the one before it.  WHOLE: all of them are there. */
template<int A, int WHOLE, class F> MG_DEV void mg_argmax_step(const F &f, int64_t e, int64_t k, int64_t extent, mg_num &top, uint32_t &at) {
  mg_num v[A];
  MG_UNROLL
  for (int j = 0; j < A; j++) v[j] = f(e, WHOLE || k + j * 256 < extent ? k + j * 256 : extent - 1);
  MG_UNROLL
  for (int j = 0; j < A; j++) {
    const int there = WHOLE || k + j * 256 < extent, above = (at == 0xFFFFFFFFu) | mg_above(v[j], top);
    top = there & above ? v[j] : top;
    at = there & above ? (uint32_t)(k + j * 256) : at;
  }
}
/* The key of those f(e, k) that this thread of 256 comes to, of from <= k < to.  Few blocks read a row: its time is that
   of the loads which a thread has under way. */
template<class F> MG_DEV mg_key mg_argmax_key(const F &f, int64_t e, int64_t from, int64_t to) {
  enum { FEW = MG_PART_LEAST / 256, MANY = 32 };
  mg_num top = mg_neg_inf();
  uint32_t at = 0xFFFFFFFFu;
  int64_t k = from + mg_tid();
  for (; k + (MANY - 1) * 256 < to; k += MANY * 256) mg_argmax_step<MANY, 1>(f, e, k, to, top, at);
  for (; k < to; k += FEW * 256) mg_argmax_step<FEW, 0>(f, e, k, to, top, at);
  return at == 0xFFFFFFFFu ? mg_no_key() : mg_key_of(top, at);
}
/* One block of 256 threads an element: out(e, the first k < extent where f(e, k) is largest). */
template<class F, class O> MG_DEV void mg_each_argmax(int64_t n, int64_t extent, int64_t blocks, const F &f, const O &out) {
  for (int64_t e = mg_bid(0); e < n; e += blocks) {
    const mg_key key = mg_key_block(mg_argmax_key(f, e, 0, extent));
    if (mg_tid() == 0) out(e, mg_key_place(key));
  }
}
/* The same by as many blocks an element as there are parts, side by side along y: each leaves its part's key, and the one
   in which last(e) is true joins them.  A lone part is the whole row, and leaves nothing. */
template<class F, class L, class O>
MG_DEV void mg_each_argmax_parts(int64_t n, int64_t extent, int64_t blocks, int64_t parts, mg_key *keys, const F &f,
                                 const L &last, const O &out) {
  const int64_t size = (extent + parts - 1) / parts, from = mg_bid(1) * size;
  const int64_t to = from + size < extent ? from + size : extent;
  for (int64_t e = mg_bid(0); e < n; e += blocks) {
    mg_key key = mg_key_block(mg_argmax_key(f, e, from, to));
    if (parts > 1) {
      mg_key *const all = keys + e * parts;
      if (mg_tid() == 0) mg_stg(all + mg_bid(1), key);
      if (!last(e)) continue;
      key = mg_no_key();
      for (int64_t p = mg_tid(); p < parts; p += 256) key = mg_key_join(key, mg_ldg_fresh(all + p));
      key = mg_key_block(key);
    }
    if (mg_tid() == 0) out(e, mg_key_place(key));
  }
}
/* The index there, of rows 0 .. n - 1.  Another ends the launch with an error: no row is read for it, and none is made up. */
MG_DEV int64_t mg_index(const mg_i32 *p, int64_t n) {
  const int32_t at = mg_ldg(p).v;
#ifdef MG_EMULATE
  if (at < 0 || at >= n) mgi_emu_fault(1, "gathers row %d of %lld", (int)at, (long long)n);
#else
  if (at < 0 || at >= n) asm volatile("trap;");
#endif
  return at;
}
/* One warp a row: out(e, k, exp(f(e, k) - m)), m being the largest f(e, k) of k < extent. */
template<class F, class O> MG_DEV void mg_each_shifted_exp(int64_t n, int64_t extent, int64_t blocks, const F &f, const O &out) {
  for (int64_t e = (int64_t)mg_bid(0) * 8 + mg_warp(); e < n; e += blocks * 8) {
    mg_num m = mg_neg_inf();
    for (int64_t k = mg_lane(); k < extent; k += 32) m = mg_shift_max(m, f(e, k));
    MG_UNROLL
    for (int d = 16; d > 0; d /= 2) m = mg_shift_max(m, mg_shfl_xor(m, d));
    for (int64_t k = mg_lane(); k < extent; k += 32) out(e, k, mg_dev_EXP(mg_shift_off(f(e, k), m), mg_zero(), mg_zero()));
  }
}

/* ------------------------------------------------------------------------------------------------- >>launch */
#if !defined(MG_EMULATE) && !defined(__CUDACC_RTC__)
#ifdef MG_TENSOR_MAPS
#include <cuda.h>
/* The driver's function of that name, without linking to its library; NULL: it has none. */
static inline void *mgi_driver_function(const char *name) {
  void *f = 0;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t rc = cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t rc = cudaGetDriverEntryPoint(name, &f, cudaEnableDefault, &found);
#endif
  return rc == cudaSuccess && found == cudaDriverEntryPointSuccess ? f : 0;
}
#endif
/* early: it may begin before the kernel before has ended. */
template<class K, class... ARGS>
static inline int mgi_launch(int early, K *kernel, int64_t gx, int64_t gy, int64_t gz, int cx, int cy, int cz, int threads, size_t shared, cudaStream_t stream, ARGS... args) {
  cudaError_t rc = cudaSuccess;
  if (mgi_left_out()) return 0;
  if (shared > 48 * 1024) rc = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (rc == cudaSuccess && cx * cy * cz > 8) rc = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (rc != cudaSuccess) return (int)rc;
  if (cx * cy * cz == 1 && !early) {
    kernel<<<dim3((unsigned)gx, (unsigned)gy, (unsigned)gz), (unsigned)threads, shared, stream>>>(args...);
    return (int)cudaGetLastError();
  }
  cudaLaunchConfig_t how = {};
  cudaLaunchAttribute with[2] = {};
  how.gridDim = dim3((unsigned)gx, (unsigned)gy, (unsigned)gz);
  how.blockDim = dim3((unsigned)threads);
  how.dynamicSmemBytes = shared;
  how.stream = stream;
  how.attrs = with;
  if (cx * cy * cz > 1) {
    with[how.numAttrs].id = cudaLaunchAttributeClusterDimension;
    with[how.numAttrs].val.clusterDim.x = (unsigned)cx;
    with[how.numAttrs].val.clusterDim.y = (unsigned)cy;
    with[how.numAttrs++].val.clusterDim.z = (unsigned)cz;
  }
  if (early) {
    with[how.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    with[how.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  return (int)cudaLaunchKernelEx(&how, kernel, args...);
}
#define MG_LAUNCH(kernel, gx, gy, gz, threads, shared, stream, ...) mgi_launch(0, kernel, gx, gy, gz, 1, 1, 1, threads, shared, stream, __VA_ARGS__)
#define MG_LAUNCH_CLUSTER(kernel, gx, gy, gz, cx, cy, cz, threads, shared, stream, ...) mgi_launch(0, kernel, gx, gy, gz, cx, cy, cz, threads, shared, stream, __VA_ARGS__)
#define MG_LAUNCH_AFTER(early, kernel, gx, gy, gz, cx, cy, cz, threads, shared, stream, ...) mgi_launch(early, kernel, gx, gy, gz, cx, cy, cz, threads, shared, stream, __VA_ARGS__)
#endif
#endif /* __CUDACC__ or MG_EMULATE */

/* --------------------------------------------------------------------------------------------------- >>glue
   The host half of an emitted file, compiled by a C++ compiler with MG_HOST_ONLY: the device half was compiled by NVRTC
   into the machine code MG_CUBIN, a file name in quotes, which becomes part of this object.  The kernels are found by
   their names and launched through the driver, in the context that is current.                                     */
#if defined(MG_HOST_ONLY) && !defined(__CUDACC__) && !defined(MG_EMULATE)
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#define MG_BOTH constexpr
struct mg_f16 { uint16_t bits; };
struct mg_bf16 { uint16_t bits; };
struct mg_f32 { uint32_t bits; };
struct mg_i32 { int32_t v; };
#define MGI_T(id, name, bytes, digits, least, most, cuda) struct mg_##name { uint16_t bits; };
MG_USER_TYPES(MGI_T)
#undef MGI_T
typedef struct __half mg_half;
typedef struct __nv_bfloat16 mg_bfloat;
struct alignas(64) mg_tensor_map { uint64_t w[16]; };

__asm__(".pushsection .rodata\n.balign 64\n.local mgi_cubin\nmgi_cubin:\n.incbin \"" MG_CUBIN "\"\n.byte 0\n.popsection\n");
extern "C" __attribute__((visibility("hidden"))) const unsigned char mgi_cubin[];

/* The driver's functions, and this object's module in the context that was current first. */
struct mgi_glue {
  CUmodule module;
  CUresult (*get)(CUfunction *, CUmodule, const char *);
  CUresult (*set)(CUfunction, CUfunction_attribute, int);
  CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **);
  CUresult rc;
  mgi_glue() : module(0), get(0), set(0), launch(0), rc(CUDA_ERROR_NOT_FOUND) {
    CUresult (*load)(CUmodule *, const void *) = 0;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) return;
    *(void **)&load = dlsym(lib, "cuModuleLoadData");
    *(void **)&get = dlsym(lib, "cuModuleGetFunction");
    *(void **)&set = dlsym(lib, "cuFuncSetAttribute");
    *(void **)&launch = dlsym(lib, "cuLaunchKernelEx");
    if (load && get && set && launch) rc = load(&module, mgi_cubin);
  }
};
MGI_FN mgi_glue &mgi_glued() {
  static mgi_glue one;
  return one;
}
#ifdef MG_TENSOR_MAPS
static inline void *mgi_driver_function(const char *name) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return lib ? dlsym(lib, name) : 0;
}
#endif
struct mgi_kernel { /* one of its kernels, looked up at its first launch */
  CUfunction f;
  CUresult rc;
  mgi_kernel(const char *name) : f(0) {
    mgi_glue &g = mgi_glued();
    rc = g.rc != CUDA_SUCCESS ? g.rc : g.get(&f, g.module, name);
    if (rc == CUDA_SUCCESS) g.set(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1); /* refused before sm_90 */
  }
};
template<class... ARGS>
static inline int mgi_launch(int early, const mgi_kernel &k, int64_t gx, int64_t gy, int64_t gz, int cx, int cy, int cz, int threads, size_t shared, cudaStream_t stream, const ARGS &...args) {
  void *at[] = {(void *)&args...};
  CUlaunchConfig how = {};
  CUlaunchAttribute with[2] = {};
  CUresult rc = k.rc;
  if (mgi_left_out()) return 0;
  if (rc == CUDA_SUCCESS && shared > 48 * 1024) rc = mgi_glued().set(k.f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
  if (rc != CUDA_SUCCESS) return (int)rc;
  how.gridDimX = (unsigned)gx;
  how.gridDimY = (unsigned)gy;
  how.gridDimZ = (unsigned)gz;
  how.blockDimX = (unsigned)threads;
  how.blockDimY = how.blockDimZ = 1;
  how.sharedMemBytes = (unsigned)shared;
  how.hStream = stream;
  if (cx * cy * cz > 1) {
    with[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    with[how.numAttrs].value.clusterDim.x = (unsigned)cx;
    with[how.numAttrs].value.clusterDim.y = (unsigned)cy;
    with[how.numAttrs++].value.clusterDim.z = (unsigned)cz;
  }
  if (early) {
    with[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    with[how.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
  }
  how.attrs = with;
  return (int)mgi_glued().launch(&how, k.f, at, 0);
}
#define MGI_KERNEL_OF(kernel) ([]() -> const mgi_kernel & { static const mgi_kernel k(#kernel); return k; }())
#define MG_LAUNCH(kernel, gx, gy, gz, threads, shared, stream, ...) mgi_launch(0, MGI_KERNEL_OF(kernel), gx, gy, gz, 1, 1, 1, threads, shared, stream, __VA_ARGS__)
#define MG_LAUNCH_CLUSTER(kernel, gx, gy, gz, cx, cy, cz, threads, shared, stream, ...) mgi_launch(0, MGI_KERNEL_OF(kernel), gx, gy, gz, cx, cy, cz, threads, shared, stream, __VA_ARGS__)
#define MG_LAUNCH_AFTER(early, kernel, gx, gy, gz, cx, cy, cz, threads, shared, stream, ...) mgi_launch(early, MGI_KERNEL_OF(kernel), gx, gy, gz, cx, cy, cz, threads, shared, stream, __VA_ARGS__)
#endif

/* --------------------------------------------------------------------------------------------------- >>maps
   What a tensor copy needs of a tensor in device memory, made by the driver and handed to the kernel as an argument: made anew
   only where the tensor stands elsewhere, or has other extents, than at the last launch of this thread.  Emitted files that have one define
   MG_TENSOR_MAPS.                                                                                                  */
#if defined(MG_TENSOR_MAPS) && !defined(__CUDACC_RTC__)
struct mg_mapped { const void *at; int64_t dim[5]; mg_tensor_map map; };
/* *m becomes the map of a tensor of `rank` dimensions, the contiguous one first, of which copies bring boxes of wide x lines
   elements along the first two, lines swizzled, but a single one.  Strides in elements, of `bytes` bytes each.  0 or the CUDA error. */
static inline __attribute__((unused)) int mg_map_tensor(mg_mapped *m, const void *at, int bytes, int rank, const int64_t *dim, const int64_t *stride, int wide, int lines) {
#ifdef MG_EMULATE
  const int refused = mgi_emu_begins("mg_map_tensor", mgi_emu_job() ? mgi_emu_job()->stream : 0);
  if (refused) return refused;
#endif
  int same = m->at == at;
  for (int d = 0; d < rank && d < 5; d++) same &= m->dim[d] == dim[d];
  if (same) return 0;
  int ok = rank >= 2 && rank <= 5 && (uintptr_t)at % 16 == 0 && lines >= 1 && lines <= 256 && (lines == 1 ? wide <= 256 && wide * bytes % 16 == 0 : wide * bytes == 32 || wide * bytes == 64 || wide * bytes == 128) && stride[0] == 1;
  for (int d = 0; d < rank && ok; d++) ok = dim[d] >= 1 && dim[d] <= INT32_MAX && (!d || (stride[d] * bytes % 16 == 0 && stride[d] < ((int64_t)1 << 40) / bytes));
  if (!ok) return 1; /* cudaErrorInvalidValue */
#ifdef MG_EMULATE
  mg_tensor_map map = {(const unsigned char *)at, rank, bytes, wide, lines, {0}, {0}};
  for (int d = 0; d < rank; d++) map.dim[d] = dim[d], map.stride[d] = stride[d] * bytes;
#else
  static_assert(sizeof(CUtensorMap) == sizeof(mg_tensor_map), "the driver's form");
  typedef CUresult (*encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static const encoder encode = (encoder)mgi_driver_function("cuTensorMapEncodeTiled");
  mg_tensor_map map;
  cuuint64_t extent[5], pitch[4];
  cuuint32_t box[5], step[5];
  for (int d = 0; d < rank; d++) {
    extent[d] = (cuuint64_t)dim[d];
    if (d) pitch[d - 1] = (cuuint64_t)(stride[d] * bytes);
    box[d] = d == 0 ? (cuuint32_t)wide : d == 1 ? (cuuint32_t)lines : 1;
    step[d] = 1;
  }
  if (!encode) return (int)cudaErrorNotSupported;
  const CUresult rc = encode((CUtensorMap *)&map, bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16 : CU_TENSOR_MAP_DATA_TYPE_UINT32, (cuuint32_t)rank, (void *)at, extent, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             lines == 1 ? CU_TENSOR_MAP_SWIZZLE_NONE : wide * bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : wide * bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (rc != CUDA_SUCCESS) return (int)rc;
#endif
  m->map = map;
  m->at = at;
  for (int d = 0; d < rank; d++) m->dim[d] = dim[d];
  return 0;
}
#ifdef MG_EMULATE
#define mg_map_tensor(...) (mgi_emu_turns(), mg_map_tensor(__VA_ARGS__)) /* another thread may come between what was kept and what is read */
#endif
#endif

/* --------------------------------------------------------------------------------------------------- >>blas
   A matmul at kernel level is cuBLAS's where the library is found when the file is first launched: it is looked for by
   name, not linked; $MIRAGE_CUBLAS=0 leaves it alone.  Else, and under emulation, the templates' kernel runs.  Emitted
   files that have one define MG_CUBLAS.  Its handle is the calling thread's and stays; its workspace is part of ours. */
#ifdef MG_CUBLAS
#ifndef __CUDACC_RTC__
struct mg_blas_operand { const void *p; int64_t row, col, batch; }; /* strides in elements; row or col is 1 */
#endif
#ifdef __CUDACC_RTC__
#define MG_CUBLAS_BYTES 0
#define mg_cublas(...) 0
#elif defined(MG_EMULATE)
#define MG_CUBLAS_BYTES 0
template<class T> MGI_EMU void mgi_emu_gemm(int64_t m, int64_t n, int64_t k, int64_t batches, mg_blas_operand a, mg_blas_operand b, void *c) {
  for (int64_t z = 0; z < batches; z++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        mg_num v = mg_zero();
        for (int64_t x = 0; x < k; x++) v = v + mg_widen(((const T *)a.p)[z * a.batch + i * a.row + x * a.col]) * mg_widen(((const T *)b.p)[z * b.batch + x * b.row + j * b.col]);
        ((T *)c)[(z * m + i) * n + j] = mg_narrow<T>(v);
      }
}
/* The product by its definition, in some runs: link 2 takes cuBLAS's word for it, not the call's arguments. */
MGI_EMU int mg_cublas(int type, int64_t m, int64_t n, int64_t k, int64_t batches, mg_blas_operand a, mg_blas_operand b, void *c, void *space, cudaStream_t stream, int *rc) {
  mgi_emulator *job = mgi_emu_job();
  static const int bytes_of[] = {
#define MGI_T(id, name, bytes, digits, least, most, cuda) bytes,
    MG_TYPES(MGI_T)
#undef MGI_T
  };
  const int64_t bytes = bytes_of[type];
  (void)space;
  if (!job || !job->blas || (!job->dry && (double)m * (double)n * (double)k * (double)batches > 2e8)) return 0;
  *rc = mgi_emu_begins("a product by cuBLAS", stream);
  job->products++;
  const mg_blas_operand in[2] = {a, b};
  if (!*rc && ((a.row != 1 && a.col != 1) || (b.row != 1 && b.col != 1))) *rc = mgi_emu_host_fault("a product by cuBLAS: neither stride of an operand is 1");
  for (int x = 0; x < 2 && !*rc; x++) {
    const int64_t last = ((x ? k : m) - 1) * in[x].row + ((x ? n : k) - 1) * in[x].col + (batches - 1) * in[x].batch;
    *rc = mgi_emu_host_range("a product by cuBLAS", in[x].p, (size_t)((last + 1) * bytes), 0);
  }
  if (!*rc) *rc = mgi_emu_host_range("a product by cuBLAS", c, (size_t)(batches * m * n * bytes), 1);
  mgi_emu_note("a product of %lld x %lld over %lld, %lld times;", (long long)m, (long long)n, (long long)k, (long long)batches);
  mgi_emu_note_arguments(a, b, c);
  mgi_emu_note("\n");
  if (*rc || job->dry) return 1;
  if (type == MG_F16) mgi_emu_gemm<mg_f16>(m, n, k, batches, a, b, c);
  else if (type == MG_BF16) mgi_emu_gemm<mg_bf16>(m, n, k, batches, a, b, c);
  else mgi_emu_gemm<mg_f32>(m, n, k, batches, a, b, c);
  return 1;
}
#else
#include <dlfcn.h>
#include <stdlib.h>
#define MG_CUBLAS_BYTES (32 << 20) /* what NVIDIA recommends for sm_90 */
struct mgi_blas {
  int there; /* 0 not looked for yet, 1, -1 */
  void *handle;
  int (*stream)(void *, cudaStream_t), (*space)(void *, void *, size_t);
  int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, long long, const void *, int, int, long long, const void *, void *, int, int, long long, int, int, int);
};
/* C[b] = A[b] B[b], row-major, m x n, over k; type: MG_F16, MG_BF16 or MG_F32, sums in fp32.  0: no cuBLAS; else *rc is its answer. */
static inline int mg_cublas(int type, int64_t m, int64_t n, int64_t k, int64_t batches, mg_blas_operand a, mg_blas_operand b, void *c, void *space, cudaStream_t stream, int *rc) {
  static thread_local mgi_blas l;
  static const int cuda_type[] = {
#define MGI_T(id, name, bytes, digits, least, most, cuda) cuda,
    MG_TYPES(MGI_T)
#undef MGI_T
  };
  if (!l.there) {
    static const char *const name[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "/usr/local/cuda/lib64/libcublas.so"};
    const char *off = getenv("MIRAGE_CUBLAS");
    void *lib = 0;
    int (*create)(void **) = 0;
    for (int i = 0; i < 4 && !lib && !(off && off[0] == '0'); i++) lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
    if (lib) {
      *(void **)&create = dlsym(lib, "cublasCreate_v2");
      *(void **)&l.stream = dlsym(lib, "cublasSetStream_v2");
      *(void **)&l.space = dlsym(lib, "cublasSetWorkspace_v2");
      *(void **)&l.gemm = dlsym(lib, "cublasGemmStridedBatchedEx");
    }
    l.there = create && l.stream && l.space && l.gemm && !create(&l.handle) ? 1 : -1;
  }
  if (l.there < 0) return 0;
  *rc = 0;
  if (mgi_left_out()) return 1;
  const float one = 1, zero = 0;
  /* Column-major by its book: C^T = B^T A^T, where a row-major matrix is its transpose already. */
  *rc = l.stream(l.handle, stream);
  if (!*rc) *rc = l.space(l.handle, space, MG_CUBLAS_BYTES);
  if (!*rc)
    *rc = l.gemm(l.handle, b.col == 1 ? 0 : 1, a.col == 1 ? 0 : 1, (int)n, (int)m, (int)k, &one, b.p, cuda_type[type], (int)(b.col == 1 ? b.row : b.col), b.batch, a.p,
                 cuda_type[type], (int)(a.col == 1 ? a.row : a.col), a.batch, &zero, c, cuda_type[type], (int)n, m * n, (int)batches, 68 /* fp32 sums */, -1);
  if (*rc) *rc += 10000; /* its codes are not CUDA's */
  return 1;
}
#endif
#endif

#ifdef MG_BOTH /* what both halves count with */
MG_BOTH int64_t mg_library_blocks(int64_t n, int64_t per_block) {
  return (n + per_block - 1) / per_block > 2112 ? 2112 : (n + per_block - 1) / per_block;
}
/* Blocks that share each of n rows (mg_library_shares). */
MG_BOTH int64_t mg_library_parts(int64_t n, int64_t blocks, int64_t most) { return MG_SHARED_BY(n, blocks, most); }
MG_BOTH int64_t mg_chunks(int64_t extent, int64_t chunk) { return (extent + chunk - 1) / chunk; }
MG_BOTH size_t mg_round256(int64_t bytes) { return ((size_t)bytes + 255) / 256 * 256; }
#endif
#if defined(MG_LAUNCH)
/* 1 if one of the pointers is to no multiple of 16 bytes, which is the most that a thread reads or writes at once. */
static inline MGI_UNUSED int mg_misaligned(const void *const *in, int n_in, void *const *out, int n_out, const void *workspace) {
  uintptr_t any = (uintptr_t)workspace;
  for (int k = 0; k < n_in; k++) any |= (uintptr_t)in[k];
  for (int k = 0; k < n_out; k++) any |= (uintptr_t)out[k];
  return any % 16 != 0;
}
#endif

/* --------------------------------------------------------------------------------------------------------- >>runner
   The part of mg_cuda_run that needs the CUDA runtime; compiled into the kernel's shared object (MG_RUNNER).

   Times are those of one call in a replayed CUDA graph of at least 32 calls: the median of `reps` replays after 3 warm
   ones.  Hot: one set of buffers.  Cold: the calls rotate over so many sets that together they exceed 4 times the L2
   cache (capped by half of the free memory and by 512).                                                          */
#if defined(MG_RUNNER) && (defined(__CUDACC__) || defined(MG_HOST_ONLY)) && !defined(MGI_CUDA_RUNNER)
#define MGI_CUDA_RUNNER
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mgi_runner_set { void *in[MGI_RUN_IN], *out[MGI_RUN_OUT], *workspace; };

MGI_FN int mgi_runner_failed(mgi_runner_job *job, cudaError_t rc, const char *call) {
  if (rc == cudaSuccess) return 0;
  if (!job->error[0]) snprintf(job->error, sizeof job->error, "%s: %s (%s)", call, cudaGetErrorString(rc), cudaGetErrorName(rc));
  return (int)rc;
}
#define MGI_CU(call)                                                          \
  do {                                                                        \
    char name_[64];                                                           \
    snprintf(name_, sizeof name_, "%.*s", (int)strcspn(#call, "("), #call);   \
    int rc_ = mgi_runner_failed(job, (call), name_);                          \
    if (rc_) return rc_;                                                      \
  } while (0)

MGI_FN int mgi_runner_launch(mgi_runner_job *job, int pdl, const mgi_runner_set *s, cudaStream_t stream) {
  typedef int (*sized)(const void *const *in, void *const *out, void *workspace, const int64_t *sym, void *stream);
  int (*const launch)(const void *const *, void *const *, void *, void *) = pdl ? job->launch_pdl : job->launch;
  const void *const *in = (const void *const *)s->in;
  void *const *out = (void *const *)s->out;
  mgi_picks().come = 0;
  const int rc = job->sym ? ((sized)(void *)launch)(in, out, s->workspace, job->sym, (void *)stream) : launch(in, out, s->workspace, (void *)stream);
  return mgi_runner_failed(job, (cudaError_t)rc, "the kernel's launch");
}
MGI_FN int mgi_runner_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
/* One buffer set: inputs copied from `from`, or from the host. */
MGI_FN int mgi_runner_new_set(mgi_runner_job *job, mgi_runner_set *s, const mgi_runner_set *from, cudaStream_t stream) {
  memset(s, 0, sizeof *s);
  for (int k = 0; k < job->n_in; k++) {
    MGI_CU(cudaMalloc(&s->in[k], job->in_bytes[k] + 16));
    MGI_CU(cudaMemcpyAsync(s->in[k], from ? from->in[k] : job->in[k], job->in_bytes[k], from ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, stream));
  }
  for (int k = 0; k < job->n_out; k++) {
    MGI_CU(cudaMalloc(&s->out[k], job->out_bytes[k] + 16));
    MGI_CU(cudaMemsetAsync(s->out[k], 0xFF, job->out_bytes[k], stream)); /* poison */
  }
  if (job->workspace_bytes) {
    MGI_CU(cudaMalloc(&s->workspace, job->workspace_bytes));
    MGI_CU(cudaMemsetAsync(s->workspace, 0, job->workspace_bytes, stream));
  }
  MGI_CU(cudaStreamSynchronize(stream));
  return 0;
}
MGI_FN void mgi_runner_free_set(mgi_runner_job *job, mgi_runner_set *s) {
  for (int k = 0; k < job->n_in; k++) cudaFree(s->in[k]);
  for (int k = 0; k < job->n_out; k++) cudaFree(s->out[k]);
  cudaFree(s->workspace);
}
MGI_FN int mgi_runner_time(mgi_runner_job *job, int pdl, mgi_runner_set *set, int sets, cudaStream_t stream, double *median, double *least) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t from, to;
  int launches = sets > 32 ? sets : (32 + sets - 1) / sets * sets, reps = job->reps < 1 ? 1 : job->reps > 1000 ? 1000 : job->reps;
  double us[1000];
  job->launches = launches;
  MGI_CU(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  int failed = 0;
  for (int k = 0; k < launches && !failed; k++) failed = mgi_runner_launch(job, pdl, &set[k % sets], stream);
  cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (failed) return failed;
  MGI_CU(ended);
  MGI_CU(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  MGI_CU(cudaEventCreate(&from));
  MGI_CU(cudaEventCreate(&to));
  for (int k = -3; k < reps; k++) {
    float ms = 0;
    MGI_CU(cudaEventRecord(from, stream));
    MGI_CU(cudaGraphLaunch(exec, stream));
    MGI_CU(cudaEventRecord(to, stream));
    MGI_CU(cudaEventSynchronize(to));
    MGI_CU(cudaEventElapsedTime(&ms, from, to));
    if (k >= 0) us[k] = 1000.0 * (double)ms / launches;
  }
  qsort(us, (size_t)reps, sizeof us[0], mgi_runner_order);
  *median = reps % 2 ? us[reps / 2] : 0.5 * (us[reps / 2 - 1] + us[reps / 2]);
  *least = us[0];
  MGI_CU(cudaEventDestroy(from));
  MGI_CU(cudaEventDestroy(to));
  MGI_CU(cudaGraphExecDestroy(exec));
  MGI_CU(cudaGraphDestroy(graph));
  return 0;
}
/* Every call of a launch alone, on what whole launches left in each set.  cold: so many sets, or 0. */
MGI_FN int mgi_runner_calls(mgi_runner_job *job, mgi_runner_set *sets, int cold, cudaStream_t stream) {
  const int launches = job->launches;
  int rc = 0;
  if (job->n_calls == 1) {
    job->call_us_hot[0] = job->us_hot;
    job->call_us_cold[0] = job->us_cold;
    return 0;
  }
  for (int k = 0; k < job->n_calls && !rc; k++) {
    double least;
    mgi_picks().only = k;
    rc = mgi_runner_time(job, 0, sets, 1, stream, &job->call_us_hot[k], &least);
    if (!rc && cold) rc = mgi_runner_time(job, 0, sets, cold, stream, &job->call_us_cold[k], &least);
    if (mgi_picks().come != job->n_calls) job->n_calls = 0; /* it makes others: whose times these are is not known */
  }
  mgi_picks().only = -1;
  job->launches = launches;
  return rc;
}
MGI_FN int mgi_runner_all(mgi_runner_job *job, mgi_runner_set **sets, int *n_sets) {
  cudaDeviceProp p;
  cudaStream_t stream;
  size_t bytes = 0, free_bytes, all_bytes;
  MGI_CU(cudaSetDevice(0));
  MGI_CU(cudaGetDeviceProperties(&p, 0));
  MGI_CU(cudaDriverGetVersion(&job->driver));
  MGI_CU(cudaRuntimeGetVersion(&job->runtime));
  snprintf(job->gpu, sizeof job->gpu, "%.127s", p.name);
  job->sms = p.multiProcessorCount;
  job->major = p.major;
  job->minor = p.minor;
  job->l2_bytes = (size_t)p.l2CacheSize;
  MGI_CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int k = 0; k < job->n_in; k++) bytes += job->in_bytes[k];
  for (int k = 0; k < job->n_out; k++) bytes += job->out_bytes[k];
  MGI_CU(cudaMemGetInfo(&free_bytes, &all_bytes));
  size_t want = bytes ? 4 * job->l2_bytes / bytes + 1 : 2;
  if (bytes && want > free_bytes / 2 / (bytes + job->workspace_bytes)) want = free_bytes / 2 / (bytes + job->workspace_bytes);
  if (want > 512) want = 512;
  if (want < 2) want = 2;
  if (!job->cold || job->no_time) want = 1;
  *sets = (mgi_runner_set *)calloc(want, sizeof **sets);
  if (!*sets) return mgi_runner_failed(job, cudaErrorMemoryAllocation, "calloc");
  for (size_t k = 0; k < want; k++) {
    ++*n_sets;
    int rc = mgi_runner_new_set(job, &(*sets)[k], k ? &(*sets)[0] : 0, stream);
    if (rc) return rc;
  }
  for (int run = 0; run < (job->launch_pdl ? 3 : 2); run++) { /* on the workspace that the one before left */
    for (int k = 0; k < job->n_out; k++) MGI_CU(cudaMemsetAsync((*sets)[0].out[k], 0xFF, job->out_bytes[k], stream));
    int rc = 0;
    for (int k = 0; k < (run == 2 ? 8 : 1) && !rc; k++) rc = mgi_runner_launch(job, run == 2, &(*sets)[0], stream);
    if (rc) return rc;
    void *const *to = run == 2 ? job->pdl : run ? job->again : job->out;
    for (int k = 0; k < job->n_out; k++) MGI_CU(cudaMemcpyAsync(to[k], (*sets)[0].out[k], job->out_bytes[k], cudaMemcpyDeviceToHost, stream));
    MGI_CU(cudaStreamSynchronize(stream));
  }
  if (!job->no_time) {
    double least;
    int rc = mgi_runner_time(job, 0, *sets, 1, stream, &job->us_hot, &job->us_hot_min);
    if (!rc && job->launch_pdl) rc = mgi_runner_time(job, 1, *sets, 1, stream, &job->us_pdl_hot, &least);
    if (!rc && job->launch_pdl && job->cold) rc = mgi_runner_time(job, 1, *sets, (int)want, stream, &job->us_pdl_cold, &least);
    if (!rc && job->cold) rc = mgi_runner_time(job, 0, *sets, (int)want, stream, &job->us_cold, &job->us_cold_min);
    if (rc) return rc;
    job->cold_sets = job->cold ? (int)want : 0;
    rc = mgi_runner_calls(job, *sets, job->cold_sets, stream);
    if (rc) return rc;
  }
  MGI_CU(cudaStreamDestroy(stream));
  return 0;
}
extern "C" __attribute__((visibility("default"))) int mgi_runner_run(mgi_runner_job *job) {
  mgi_runner_set *sets = 0;
  int n = 0;
  job->error[0] = 0;
  if (job->size != (int)sizeof *job) {
    snprintf(job->error, sizeof job->error, "the kernel was compiled with another version of mirage_cuda.cuh");
    return -1;
  }
  int rc = mgi_runner_all(job, &sets, &n);
  for (int k = 0; k < n; k++) mgi_runner_free_set(job, &sets[k]);
  free(sets);
  return rc;
}
#endif /* runner */

/* ------------------------------------------------------------------------------------------------------ >>calibrate
   What `mirage calibrate` measures: the rates of an mg_machine (mirage_plan.h), on the GPU that is here.

   1. A launch lasts about 4 ms (its steps are doubled until it does), so that its own microseconds do not count; 15 runs
      of all measurements in turn, behind a third of a second that raises the clock.
   2. Every thread knows what it has to find, and says whether it did: what a compiler, or a GPU, left out is an error.
   3. Rates:
        launch_us        256 empty kernels in a CUDA graph, one after another, a block of 256 threads for each
                         multiprocessor: the time of one.
        dram_gbps        reads of 16 bytes, past the first-level cache, over and over through 64 times the L2 cache (or
                         half of the free memory), by 1024 threads of each multiprocessor.
        l2_gbps          the same over a power of two of at most a quarter of the L2 cache.
        tensor_tflops    mma.sync m16n8k16 on registers alone, 16 warps of each multiprocessor, 8 accumulators each.
        fp32_tflops      fused multiply-adds, two operations each, 1024 threads of each multiprocessor, 8 chains each.
        shared_bytes_us  ldmatrix.x4 without bank conflicts, 16 warps of each multiprocessor.
        barrier_us       8 warps a multiprocessor; a step reads the fragments of 8 products by ldmatrix and multiplies.
                         What a barrier before each step adds to it: the barrier, and the bubble behind it.
   4. These are rates, of kernels that do one thing each.  Of the table's rates of the H200 device memory is that of a
      copy; launch_us that of a small addition in a CUDA graph (tests/bench/peers.py), which is more than an empty
      kernel's; products are measured, the others scaled from the data sheet.  The cost model's constants were chosen
      with that row: by a calibrated one it says other times.                                                       */
#if defined(MG_CALIBRATE) && !defined(MG_HOST_ONLY) && (defined(__CUDACC__) || defined(MG_EMULATE))
MG_KERNEL(256) void mgi_rate_launch(uint32_t *right) { (void)right; }

/* Item i, 16 bytes, has the words 4 (i % 256) and on: as many threads a block read what each knows. */
MG_KERNEL(256) void mgi_rate_fill(uint32_t *p, int64_t items, int blocks) {
  const uint32_t w = 4 * (uint32_t)mg_tid();
  for (int64_t i = mg_bid(0) * (int64_t)256 + mg_tid(); i < items; i += blocks * (int64_t)256)
    mg_stg((mg_words4 *)p + i, mg_words4{{w, w + 1, w + 2, w + 3}});
}
MG_KERNEL(256) void mgi_rate_read(const uint32_t *p, uint32_t last, int blocks, int steps, uint32_t *right) {
  const uint32_t mine = (uint32_t)(mg_bid(0) * 256 + mg_tid()), all = (uint32_t)blocks * 256;
  uint32_t sum = 0, i = mine;
  MG_UNROLL_BY(1)
  for (int s = 0; s < steps; s++) {
    mg_words4 v[8];
    MG_UNROLL
    for (int k = 0; k < 8; k++, i += all) v[k] = mg_ldg_fresh((const mg_words4 *)p + (i & last));
    MG_UNROLL
    for (int k = 0; k < 8; k++) sum += v[k].w[0] + v[k].w[1] + v[k].w[2] + v[k].w[3];
  }
  mg_stg(right + mine, (uint32_t)(sum == 8 * (uint32_t)steps * (16 * (uint32_t)mg_tid() + 6)));
}

/* by and add are 1, which the compiler does not know. */
MG_KERNEL(256) void mgi_rate_fp32(int steps, float by, float add, uint32_t *right) {
  mg_num x[8];
  bool same = true;
  MG_UNROLL
  for (int k = 0; k < 8; k++) x[k] = (mg_num)k;
  MG_UNROLL_BY(1)
  for (int s = 0; s < steps; s++) {
    MG_UNROLL
    for (int k = 0; k < 128; k++) x[k & 7] = x[k & 7] * (mg_num)by + (mg_num)add;
  }
  MG_UNROLL
  for (int k = 0; k < 8; k++) same = same && x[k] == (mg_num)(k + 16 * steps);
  mg_stg(right + mg_bid(0) * (int64_t)256 + mg_tid(), (uint32_t)same);
}

/* 32 tiles of 512 bytes; a step reads half of them.  A lane gets word 32 m + lane of a tile in register m. */
MG_KERNEL(256) void mgi_rate_shared(int steps, uint32_t *right) {
  uint32_t *const word = (uint32_t *)mg_shared();
  uint32_t sum = 0, want = 0;
  for (int i = mg_tid(); i < 32 * 128; i += 256) word[i] = (uint32_t)i * 2654435761u;
  mg_sync();
  MG_UNROLL_BY(1)
  for (int s = 0; s < steps; s++) {
    const unsigned char *const at = mg_shared() + ((mg_warp() + s) & 1) * 8192 + mg_lane() * 16;
    MG_UNROLL
    for (int k = 0; k < 16; k++) {
      uint32_t r[4];
      mg_ldsm_x4(r, at + k * 512);
      sum += r[0] + r[1] + r[2] + r[3];
    }
  }
  for (int i = mg_lane(); i < 32 * 128; i += 32) want += word[i] * (uint32_t)(steps / 2);
  mg_stg(right + mg_bid(0) * (int64_t)256 + mg_tid(), (uint32_t)(sum == want));
}

/* Products of small integers, exact in f32 over 2^15 steps: 4 slices of the contraction, each 16 x 16 times 16 x 16, every slice
   with accumulators of its own.  A slice's operand lies as ldmatrix takes it: 4 matrices of 8 rows of 8. */
enum { MGI_RATE_PRODUCTS, MGI_RATE_STEPS, MGI_RATE_BARRIERS };
template<int KIND> MG_DEV void mgi_rate_contract(int steps, uint32_t *right) {
  mg_f16 *const left = (mg_f16 *)mg_shared(), *const by = left + 4 * 256;
  uint32_t a[4][4], b[4][4];
  mg_num c[4][2][4];
  bool same = true;
  for (int i = mg_tid(); i < 2 * 4 * 256; i += 256)
    left[i] = mg_narrow<mg_f16>((mg_num)((int)(((uint32_t)i * 2654435761u) >> 16) % 3 - 1));
  mg_sync();
  MG_UNROLL
  for (int i = 0; i < 32; i++) c[i >> 3][i >> 2 & 1][i & 3] = mg_zero();
  const unsigned char *const at = mg_shared() + mg_lane() * 16;
  MG_UNROLL
  for (int k = 0; k < 4; k++) mg_ldsm_x4(a[k], at + k * 512), mg_ldsm_x4(b[k], at + 2048 + k * 512);
  MG_UNROLL_BY(1)
  for (int s = 0; s < steps; s++) {
    if (KIND == MGI_RATE_BARRIERS) mg_sync();
    MG_UNROLL
    for (int k = 0; k < 4; k++) {
      if (KIND != MGI_RATE_PRODUCTS) mg_ldsm_x4(a[k], at + k * 512), mg_ldsm_x4(b[k], at + 2048 + k * 512);
      const uint32_t low[2] = {b[k][0], b[k][1]}, high[2] = {b[k][2], b[k][3]};
      mg_mma_16816<mg_f16>(c[k][0], a[k], low);
      mg_mma_16816<mg_f16>(c[k][1], a[k], high);
    }
  }
  MG_UNROLL
  for (int i = 0; i < 32; i++) {
    const int k = i >> 3, n = i >> 2 & 1, row = mg_lane() / 4 + (i >> 1 & 1) * 8, col = mg_lane() % 4 * 2 + (i & 1);
    mg_num want = mg_zero();
    MG_UNROLL_BY(1)
    for (int j = 0; j < 16; j++) {
      const mg_f16 x = left[k * 256 + ((row >> 3) + 2 * (j >> 3)) * 64 + (row & 7) * 8 + (j & 7)];
      const mg_f16 y = by[k * 256 + (2 * n + (j >> 3)) * 64 + col * 8 + (j & 7)];
      want = want + mg_widen(x) * mg_widen(y);
    }
    same = same && c[k][n][i & 3] == want * (mg_num)steps;
  }
  mg_stg(right + mg_bid(0) * (int64_t)256 + mg_tid(), (uint32_t)same);
}
MG_KERNEL(256) void mgi_rate_products(int steps, uint32_t *right) { mgi_rate_contract<MGI_RATE_PRODUCTS>(steps, right); }
MG_KERNEL(256) void mgi_rate_steps(int steps, uint32_t *right) { mgi_rate_contract<MGI_RATE_STEPS>(steps, right); }
MG_KERNEL(256) void mgi_rate_barriers(int steps, uint32_t *right) { mgi_rate_contract<MGI_RATE_BARRIERS>(steps, right); }
#endif

#if defined(MG_CALIBRATE) && defined(MGI_CUDA_RUNNER)
enum { MGI_RATE_GRAPH = 256, MGI_RATE_US = 4000 }; /* launches of the graph; what a launch lasts at least, if its steps allow */
struct mgi_rate_place { /* what the measurements share */
  int sms;
  cudaStream_t stream;
  cudaEvent_t from, to;
  cudaGraph_t graph;
  cudaGraphExec_t exec;      /* of empty kernels */
  void *right, *words;       /* a word for each thread; what is read */
  uint32_t *found;           /* `right` on the host */
  int64_t dram, l2;          /* items of 16 bytes, powers of two */
};
struct mgi_rate {
  const char *name;
  int blocks;                /* for each multiprocessor */
  int most;                  /* steps */
  double work;               /* of a step of such a block: rate = work * steps / us */
  int (*go)(mgi_rate_place *w, int steps);
  double *out;               /* a run each */
  int steps;
};
#define MGI_RATE_GO(kernel, blocks, shared, ...)   [](mgi_rate_place *w, int steps) { return (int)MG_LAUNCH(kernel, (blocks) * w->sms, 1, 1, 256, shared, w->stream, __VA_ARGS__, (uint32_t *)w->right); }

/* Microseconds of one launch, all of whose threads have to find what they should. */
MGI_FN int mgi_rate_us(mgi_runner_job *job, mgi_rate_place *w, const mgi_rate *r, double *us) {
  const size_t n = (size_t)r->blocks * (size_t)w->sms * 256;
  float ms = 0;
  MGI_CU(cudaMemsetAsync(w->right, 0, n * 4, w->stream));
  MGI_CU(cudaEventRecord(w->from, w->stream));
  const int rc = mgi_runner_failed(job, (cudaError_t)r->go(w, r->steps), r->name);
  if (rc) return rc;
  MGI_CU(cudaEventRecord(w->to, w->stream));
  MGI_CU(cudaEventSynchronize(w->to));
  MGI_CU(cudaEventElapsedTime(&ms, w->from, w->to));
  MGI_CU(cudaMemcpyAsync(w->found, w->right, n * 4, cudaMemcpyDeviceToHost, w->stream));
  MGI_CU(cudaStreamSynchronize(w->stream));
  for (size_t k = 0; k < n; k++) {
    if (w->found[k] == 1) continue;
    snprintf(job->error, sizeof job->error, "%s: thread %d of block %d did not find what it should", r->name, (int)(k % 256), (int)(k / 256));
    return -1;
  }
  *us = 1000.0 * (double)ms;
  return 0;
}
MGI_FN int mgi_rate_launches_us(mgi_runner_job *job, mgi_rate_place *w, double *us) {
  float ms = 0;
  MGI_CU(cudaEventRecord(w->from, w->stream));
  MGI_CU(cudaGraphLaunch(w->exec, w->stream));
  MGI_CU(cudaEventRecord(w->to, w->stream));
  MGI_CU(cudaEventSynchronize(w->to));
  MGI_CU(cudaEventElapsedTime(&ms, w->from, w->to));
  *us = 1000.0 * (double)ms / MGI_RATE_GRAPH;
  return 0;
}

MGI_FN int mgi_rate_begin(mgi_calibrate_job *all, mgi_rate_place *w) {
  mgi_runner_job *const job = &all->run;
  cudaDeviceProp p;
  size_t free_bytes, all_bytes;
  MGI_CU(cudaSetDevice(0));
  MGI_CU(cudaGetDeviceProperties(&p, 0));
  snprintf(job->gpu, sizeof job->gpu, "%.127s", p.name);
  w->sms = all->m.sms = p.multiProcessorCount;
  all->m.threads_per_sm = p.maxThreadsPerMultiProcessor;
  all->m.blocks_per_sm = p.maxBlocksPerMultiProcessor;
  all->m.shared_per_block = (int64_t)p.sharedMemPerBlockOptin;
  all->m.shared_per_sm = (int64_t)p.sharedMemPerMultiprocessor;
  all->m.registers_per_sm = p.regsPerMultiprocessor;
  all->m.l2_bytes = p.l2CacheSize;
  MGI_CU(cudaMemGetInfo(&free_bytes, &all_bytes));
  const int64_t most = all->m.l2_bytes * 64 < (int64_t)(free_bytes / 2) ? all->m.l2_bytes * 64 : (int64_t)(free_bytes / 2);
  for (w->l2 = 256; w->l2 * 32 <= all->m.l2_bytes / 4;) w->l2 *= 2;
  for (w->dram = w->l2; w->dram * 32 <= most && w->dram < INT64_C(1) << 30;) w->dram *= 2;
  const size_t n = (size_t)4 * (size_t)w->sms * 256;
  w->found = (uint32_t *)malloc(n * 4);
  if (!w->found) return mgi_runner_failed(job, cudaErrorMemoryAllocation, "malloc");
  MGI_CU(cudaMalloc(&w->right, n * 4));
  MGI_CU(cudaMalloc(&w->words, (size_t)w->dram * 16));
  MGI_CU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
  MGI_CU(cudaEventCreate(&w->from));
  MGI_CU(cudaEventCreate(&w->to));
  MGI_CU((cudaError_t)MG_LAUNCH(mgi_rate_fill, 4 * w->sms, 1, 1, 256, 0, w->stream, (uint32_t *)w->words, w->dram, 4 * w->sms));
  MGI_CU(cudaStreamSynchronize(w->stream));
  MGI_CU(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
  int rc = 0;
  for (int k = 0; k < MGI_RATE_GRAPH && !rc; k++) rc = (int)MG_LAUNCH(mgi_rate_launch, w->sms, 1, 1, 256, 0, w->stream, (uint32_t *)w->right);
  const cudaError_t ended = cudaStreamEndCapture(w->stream, &w->graph);
  MGI_CU((cudaError_t)rc);
  MGI_CU(ended);
  MGI_CU(cudaGraphInstantiateWithFlags(&w->exec, w->graph, 0));
  return 0;
}
MGI_FN int mgi_rate_all(mgi_calibrate_job *all, mgi_rate_place *w) {
  mgi_runner_job *const job = &all->run;
  double step_us[MGI_CALIBRATE_RUNS], us = 0, warm = 0;
  mgi_rate rate[] = { /* a GB/s is 1000 bytes a microsecond, a TFLOP/s 10^6 operations */
      {"fp32_tflops", 4, 1 << 19, 256 * 128 * 2 * 1e-6, MGI_RATE_GO(mgi_rate_fp32, 4, 0, steps, 1.0f, 1.0f), all->fp32_tflops, 2},
      {"dram_gbps", 4, 1 << 20, 256 * 8 * 16 * 1e-3, MGI_RATE_GO(mgi_rate_read, 4, 0, (const uint32_t *)w->words, (uint32_t)w->dram - 1, 4 * w->sms, steps), all->dram_gbps, 2},
      {"l2_gbps", 4, 1 << 20, 256 * 8 * 16 * 1e-3, MGI_RATE_GO(mgi_rate_read, 4, 0, (const uint32_t *)w->words, (uint32_t)w->l2 - 1, 4 * w->sms, steps), all->l2_gbps, 2},
      {"tensor_tflops", 2, 1 << 15, 8 * 8 * 4096 * 1e-6, MGI_RATE_GO(mgi_rate_products, 2, 4096, steps), all->tensor_tflops, 2},
      {"shared_bytes_us", 2, 1 << 24, 8 * 16 * 512.0, MGI_RATE_GO(mgi_rate_shared, 2, 16384, steps), all->shared_bytes_us, 2},
      {"a step without a barrier", 1, 1 << 15, 1, MGI_RATE_GO(mgi_rate_steps, 1, 4096, steps), step_us, 2},
      {"barrier_us", 1, 1 << 15, 1, MGI_RATE_GO(mgi_rate_barriers, 1, 4096, steps), all->barrier_us, 2}};
  const int n = (int)(sizeof rate / sizeof *rate);
  for (int k = 0; k < n; k++) /* and how many steps each takes */
    for (;; rate[k].steps *= 2) {
      const int rc = mgi_rate_us(job, w, &rate[k], &us);
      if (rc) return rc;
      warm += us;
      if (us >= MGI_RATE_US || rate[k].steps * 2 > rate[k].most) break;
    }
  for (; warm < 3.3e5; warm += us > 100 ? us : 100) {
    const int rc = mgi_rate_us(job, w, &rate[0], &us);
    if (rc) return rc;
  }
  for (int run = -1; run < MGI_CALIBRATE_RUNS; run++) { /* the first does not count */
    const int at = run < 0 ? 0 : run;
    int rc = mgi_rate_launches_us(job, w, &all->launch_us[at]);
    for (int k = 0; k < n && !rc; k++) {
      rc = mgi_rate_us(job, w, &rate[k], &us);
      rate[k].out[at] = rate[k].work * rate[k].blocks * rate[k].steps / us;
    }
    if (rc) return rc;
    for (int k = 0; k < n - 2; k++)
      if (rate[k].out != all->shared_bytes_us) rate[k].out[at] *= w->sms; /* of the chip */
    all->barrier_us[at] = 1 / all->barrier_us[at] - 1 / step_us[at];
  }
  return 0;
}
extern "C" __attribute__((visibility("default"))) int mgi_calibrate_run(mgi_runner_job *job) {
  mgi_calibrate_job *const all = (mgi_calibrate_job *)job;
  mgi_rate_place w;
  memset(&w, 0, sizeof w);
  job->error[0] = 0;
  if (job->size != (int)sizeof *all) {
    snprintf(job->error, sizeof job->error, "the kernels were compiled with another version of mirage_cuda.cuh");
    return -1;
  }
  int rc = mgi_rate_begin(all, &w);
  if (!rc) rc = mgi_rate_all(all, &w);
  if (w.exec) cudaGraphExecDestroy(w.exec);
  if (w.graph) cudaGraphDestroy(w.graph);
  if (w.from) cudaEventDestroy(w.from);
  if (w.to) cudaEventDestroy(w.to);
  if (w.stream) cudaStreamDestroy(w.stream);
  cudaFree(w.right);
  cudaFree(w.words);
  free(w.found);
  return rc;
}
#undef MGI_RATE_GO
#endif
#undef MGI_CU

/* ---------------------------------------------------------------------------------------------------- >>driver
   Requirements
   1. Nothing that a kernel does, compiled for the CPU, ends or hangs the caller: it runs in a child process with a
      time limit, which compares by itself and sends back one fixed-size record.
   2. Compilers are started without a shell; their messages end up in mg_error.
   3. Only what strict C11 headers of a POSIX system declare is used, so that -std=c11 needs no feature macro.       */
#if (defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_CUDA_IMPLEMENTATION)) && \
    !defined(MGI_CUDA_DRIVER_IMPLEMENTED) && !defined(MIRAGE_DEVICE_ONLY)
#define MGI_CUDA_DRIVER_IMPLEMENTED

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- small things */
MGI_FN double mgi_cd_normal(uint64_t *state) { /* Box and Muller's, one of the two */
  double u = ((double)(mgi_random(state) >> 11) + 1.0) * 0x1p-53, v = (double)(mgi_random(state) >> 11) * 0x1p-53;
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
/* The element of logical index i (row-major number `at`) of an input, in its memory order. */
MGI_FN int64_t mgi_cd_place(const mg_shape *s, const int64_t *stride, int64_t at) {
  int64_t off = 0;
  for (int d = s->rank; d-- > 0; at /= s->dim[d]) off += at % s->dim[d] * stride[d];
  return off;
}
/* What both tensors have. */
MGI_FN mg_shape mgi_shape_of_both(const mg_tensor_info *x, const mg_tensor_info *y) {
  mg_shape both = x->shape;
  for (int d = 0; d < both.rank; d++)
    if (y->shape.dim[d] < both.dim[d]) both.dim[d] = y->shape.dim[d];
  return both;
}
/* 1 if rows that both members have are one function of the same rows of inputs: what is filled in by definition is the same wherever
   both have it.  Of a causal mask it is not, where query 0 sees more keys in one of them. */
MGI_FN int mgi_rows_alike(const mg_graph *g, const mg_graph *h) {
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *x = mg_tensor_of(g, g->in[k]), *y = mg_tensor_of(h, h->in[k]);
    const mg_shape both = mgi_shape_of_both(x, y);
    int64_t stride[2][MG_MAX_RANK];
    if (!x->fill) continue;
    mg_strides(x, stride[0]);
    mg_strides(y, stride[1]);
    for (int64_t i = 0, n = mg_shape_elements(&both); i < n; i++)
      if (mg_filled(x, mgi_cd_place(&both, stride[0], i)) != mg_filled(y, mgi_cd_place(&both, stride[1], i))) return 0;
  }
  return 1;
}

/* ---- child processes */
typedef struct mgi_child { int pid, fd; size_t n; char out[16384]; } mgi_child; /* keeps the first 16 KiB of what it says */

/* Forks, with a pipe from the child.  In the parent: the child's number, or -1, and *fd to read from.  In the child: 0, and *fd to
   write to.  What stdout and stderr hold is written before, so that it is not written twice. */
MGI_FN int mgi_forked(int *fd) {
  int p[2];
  fflush(stdout), fflush(stderr);
  if (pipe(p)) return -1;
  const int pid = (int)fork();
  *fd = p[!pid];
  if (pid < 0) close(p[0]);
  close(p[pid != 0]);
  return pid;
}
/* In a forked child: a fault ends it, whatever its parent does about faults. */
MGI_FN void mgi_child_signals(void) {
  static const int all[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGPIPE, SIGTERM, SIGINT};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) signal(all[k], SIG_DFL);
}
/* In a forked child: nothing to read; standard output and error are the pipe. */
MGI_FN void mgi_child_speaks(int fd) {
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  dup2(fd, 1), dup2(fd, 2);
  if (fd > 2) close(fd);
}

/* Starts argv[0] from the PATH, standard output and error to a pipe, killed after timeout_s; what it starts has as much
   processor time, and `bytes` of memory (0: any).  0 if it could not. */
MGI_FN int mgi_child_limited(mgi_child *c, const char *const *argv, int timeout_s, int64_t bytes) {
  c->n = 0;
  c->out[0] = 0;
  c->pid = mgi_forked(&c->fd);
  if (!c->pid) {
    mgi_child_speaks(c->fd);
    struct rlimit most = {(rlim_t)timeout_s, (rlim_t)timeout_s}; /* its children hold the pipe, and no alarm ends them */
    setrlimit(RLIMIT_CPU, &most);
    most.rlim_cur = most.rlim_max = (rlim_t)bytes;
    if (bytes) setrlimit(RLIMIT_AS, &most);
    alarm((unsigned)timeout_s);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
  }
  return c->pid > 0;
}
MGI_FN int mgi_child_start(mgi_child *c, const char *const *argv, int timeout_s) { return mgi_child_limited(c, argv, timeout_s, 0); }
/* Reads to its end.  Exit status, 127 if there is no such program, or 256 + the signal that ended it. */
MGI_FN int mgi_child_wait(mgi_child *c) {
  char rest[4096];
  int status = 0;
  for (;;) {
    size_t room = sizeof c->out - 1 - c->n;
    ssize_t got = read(c->fd, room ? c->out + c->n : rest, room ? room : sizeof rest);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (room) c->n += (size_t)got;
  }
  c->out[c->n] = 0;
  close(c->fd);
  while (waitpid((pid_t)c->pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
/* The part of a compiler's output that says what is wrong: from the first line with "error" on. */
MGI_FN const char *mgi_child_says(const mgi_child *c) {
  const char *at = strstr(c->out, "error"), *line = c->out;
  if (!at) return c->out;
  for (const char *s = c->out; s < at; s++)
    if (*s == '\n') line = s + 1;
  return line;
}

/* ---- files */
MGI_FN int mgi_cd_write(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f) return 0;
  int ok = fwrite(text, 1, n, f) == n;
  return fclose(f) == 0 && ok;
}
MGI_FN mg_status mgi_cd_temp_dir(const char *under, char *path, size_t n, mg_error *e) {
  uint64_t state = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32 ^ (uint64_t)clock() << 16 ^ (uint64_t)(uintptr_t)path;
  const char *base = under ? under : getenv("TMPDIR");
  if (!base || !base[0]) base = "/tmp";
  for (int k = 0; k < 100; k++) {
    if (snprintf(path, n, "%s/mirage-%08llx", base, (unsigned long long)(mgi_random(&state) & 0xFFFFFFFF)) >= (int)n)
      return mg_fail(e, MG_BAD_INPUT, base, "the path is too long");
    if (!mkdir(path, 0700)) return MG_OK;
    if (errno != EEXIST) break;
  }
  return mg_fail(e, MG_MACHINE, base, "cannot make a temporary directory: %s", strerror(errno));
}
/* Where mirage_cuda.cuh is: `given`, $MIRAGE_INCLUDE, where it was when this was compiled, beside the program that runs, one
   directory above it, where `make install` puts it, the current directory: the first of the last five that has it.
   MG_MACHINE: it is nowhere. */
MGI_FN mg_status mgi_cd_header_dir(const char *given, char *dir, size_t n, mg_error *e) {
  const char *env = getenv("MIRAGE_INCLUDE"), *slash = strrchr(__FILE__, '/'), *end = NULL, *exe = NULL;
  char file[1100];
  if (!given && env && *env) given = env;
#ifdef __linux__
  exe = (const char *)(uintptr_t)getauxval(AT_EXECFN);
  end = exe ? strrchr(exe, '/') : NULL;
#endif
  static const char *const beside[] = {"", "/..", "/../include/mirage"};
  for (int k = 0; k < (given ? 1 : 5); k++) {
    snprintf(dir, n, "%s", given ? given : ".");
    if (k == 0 && !given && slash) snprintf(dir, n, "%.*s", (int)(slash - __FILE__), __FILE__);
    if (k > 0 && k < 4 && end) snprintf(dir, n, "%.*s%s", (int)(end - exe), exe, beside[k - 1]);
    snprintf(file, sizeof file, "%.1000s/mirage_cuda.cuh", dir);
    if (!access(file, R_OK)) return MG_OK;
  }
  return mg_fail(e, MG_MACHINE, "mirage_cuda.cuh", "it is not in '%s', but emitted files include it: set MIRAGE_INCLUDE to its directory",
                 dir);
}

/* What is `most` where a symbol (0: none) is at its most, where it is at the greatest that a launch takes: an extent, or a count of chunks. */
MGI_FN int64_t mgi_cu_last(const mg_graph *g, uint32_t symbol, int64_t most) {
  const mg_symbol *s = symbol ? &g->symbol[symbol - 1] : NULL;
  return s ? mg_ceil_div(s->last, mg_ceil_div(s->most, most)) : most;
}
/* The greatest value of symbol k that is range `at`'s. */
MGI_FN int64_t mgi_cu_ranges_greatest(const mg_graph *const *range, int n, int at, uint32_t k) {
  const int64_t end = mg_range_end(range, n, at, k);
  return end ? end - 1 : mg_range_symbol(range, n, k).last;
}
MGI_FN int mgi_cu_ranges_name(const mg_graph *const *range, int n, char name[120], mg_error *e);

/* ---- the µGraphs inside an emitted file */
/* The next one, from *at on, which moves behind it.  MG_NOT_FOUND, and e as it was: there is no mark any more. */
MGI_FN mg_status mgi_source_next(const char **at, const char *end, mg_graph **out, mg_error *e) {
  static const char open_[] = "mugraph {{{", close_[] = "}}} mugraph";
  const char *from = NULL, *to = NULL;
  *out = NULL;
  for (const char *s = *at; s && !to && s + sizeof close_ - 1 <= end; s++) {
    if (!from && !memcmp(s, open_, sizeof open_ - 1)) from = s + sizeof open_ - 1;
    else if (!memcmp(s, close_, sizeof close_ - 1)) to = s;
  }
  if (!from && !to) return MG_NOT_FOUND;
  if (!to) return mg_fail(e, MG_BAD_INPUT, "emitted file", "expected the markers `mugraph {{{` and `}}} mugraph`, found only the first");
  if (!from) return mg_fail(e, MG_BAD_INPUT, "emitted file", "expected `mugraph {{{` before a `}}} mugraph`, found none");
  *at = to + sizeof close_ - 1;
  char *text = (char *)malloc((size_t)(to - from) + 1);
  if (!text) return mg_fail(e, MG_NO_MEMORY, "emitted file", "no memory for %llu bytes of text", (unsigned long long)(to - from));
  size_t n = 0;
  while (from < to && *from != '\n') from++; /* the rest of the marker's line */
  if (from < to) from++;
  while (from < to) {
    const char *eol = (const char *)memchr(from, '\n', (size_t)(to - from));
    if (!eol) break; /* the closing marker's own line */
    if (from < eol && *from == ' ') from++;
    if (from < eol && *from == '*') from++;
    if (from < eol && *from == ' ') from++;
    memcpy(text + n, from, (size_t)(eol + 1 - from));
    n += (size_t)(eol + 1 - from);
    from = eol + 1;
  }
  mg_status s = mg_parse(text, n, "mugraph in the emitted file", NULL, out, e);
  free(text);
  return s;
}
MGI_FN mg_status mgi_source_none(mg_error *e) {
  return mg_fail(e, MG_BAD_INPUT, "emitted file", "expected the markers `mugraph {{{` and `}}} mugraph`, found none");
}
/* How many programs the text defines, by what it says of their workspaces. */
MGI_FN int mgi_source_programs(const char *text, const char *end) {
  static const char mark[] = "_workspace_bytes(void) {";
  int n = 0;
  for (const char *s = text; s + sizeof mark - 1 <= end; s++) n += !memcmp(s, mark, sizeof mark - 1);
  return n;
}
mg_status mg_cuda_source_graph(const char *cu_text, size_t len, mg_graph **out, mg_error *e) {
  const mg_status s = mgi_source_next(&cu_text, cu_text + len, out, e);
  return s == MG_NOT_FOUND ? mgi_source_none(e) : s;
}
mg_status mg_cuda_source_graphs(const char *cu_text, size_t len, mg_graph *out[MG_MAX_RANGES], int *n, mg_error *e) {
  const char *const end = cu_text + len;
  const int programs = mgi_source_programs(cu_text, end);
  mg_graph *g = NULL;
  mg_status s = MG_OK;
  for (*n = 0; s == MG_OK;) {
    s = mgi_source_next(&cu_text, end, &g, e);
    if (s != MG_OK) break;
    if (*n < MG_MAX_RANGES) out[(*n)++] = g;
    else {
      s = mg_fail(e, MG_LIMIT, "emitted file", "it has more than %d ranges", (int)MG_MAX_RANGES);
      mg_graph_free(g);
    }
  }
  if (s == MG_NOT_FOUND) s = *n ? MG_OK : mgi_source_none(e);
  if (s == MG_OK && programs > *n + (*n > 1)) /* of several ranges the whole is one too */
    s = mg_fail(e, MG_BAD_INPUT, "emitted file", "it defines more programs than the %d that it quotes between `mugraph {{{` and `}}} mugraph`", *n);
  while (s != MG_OK && *n) mg_graph_free(out[--*n]);
  return s;
}

/* ---- smaller sizes
   Every chain of axes that cuts a dimension of class c begins with one axis: an edge c -- axis with the first chunk.
   Taking d blocks (or iterations) away from the axis takes d * chunk away from the class, the same for every edge at the
   class, and d the same for every edge at the axis.  Along a connected component this fixes all amounts up to one
   factor s, which is then chosen as large as the least counts allow:

       class u ----chunk---- axis v        u = v * chunk, over the whole component; extent' = extent - s u, count' = count - s v */
typedef struct mgi_red_edge { int32_t cls, axis; int64_t chunk; } mgi_red_edge;
typedef struct mgi_red_node { int64_t num, den, size, least, step; int fixed, seen; } mgi_red_node; /* step: what is taken away is a multiple of it */

MGI_FN int mgi_red_same_shapes(const mg_graph *a, const mg_graph *b) {
  if (a->n_tensors != b->n_tensors || a->n_ops != b->n_ops) return 0;
  for (uint32_t t = 1; t < a->n_tensors && a->level != MG_KERNEL; t++) {
    const mg_shape *s = &a->tensors[t].shape, *z = &b->tensors[t].shape;
    if (s->rank != z->rank) return 0;
    for (int d = 0; d < s->rank; d++)
      if (s->dim[d] != z->dim[d]) return 0;
  }
  for (uint32_t o = 1; o < a->n_ops; o++)
    if (a->ops[o].code == MG_OP_GRAPH && (b->ops[o].code != MG_OP_GRAPH || !mgi_red_same_shapes(a->ops[o].sub, b->ops[o].sub))) return 0;
  return 1;
}

/* The edges of the map of one load or store: of each data dimension, the first axis that cuts it.  Later axes stay. */
MGI_FN void mgi_red_map(const mg_graph *sub, int k, const mg_map *m, uint32_t tensor, const mg_classes *c, const mg_shape *shape, mgi_red_node *axes,
                        mgi_red_edge *edge, int *n_edges, int most) {
  for (int d = 0; d < shape->rank; d++) {
    int first = 1;
    for (uint32_t a = 1; a < sub->n_axes; a++) {
      if (m->to[a] != d) continue;
      int node = k * (MG_MAX_AXES + 1) + (int)a, cls = c->of[tensor * MG_MAX_RANK + (uint32_t)d];
      if (sub->axes[a].extent == 1) continue; /* cuts nothing */
      if (!first || cls < 0 || *n_edges == most) axes[node].fixed = 1;
      else {
        mgi_red_edge x = {cls, node, mg_ceil_div(shape->dim[d], sub->axes[a].extent)};
        edge[(*n_edges)++] = x;
      }
      first = 0;
    }
  }
}

void mg_reduced_free(mg_reduced *r) {
  if (!r) return;
  mg_graph_free(r->graph);
  free(r->extent);
  free(r->counts);
  memset(r, 0, sizeof *r);
}

enum { MGI_RED_GRANULE = 256, MGI_RED_PER = MG_MAX_AXES + 1 }; /* tiles of kernel-level operators divide the granule; nodes of a kernel's axes */
/* Nodes: axes of kernels, then one for every class where library operators need a granule, then the classes. */
typedef struct mgi_red {
  mg_classes c;
  mgi_red_node *node;
  mgi_red_edge *edge;
  int *queue;                /* the component: nodes that have been reached */
  int n_edges, most, n_axes, n_nodes, first_class;
  uint8_t *keep;             /* by class: 0 it may shrink, and need not stay a multiple of 8; 1 it may, and stays as it was by 8; 2 it may not */
  int least_grid;            /* blocks that an axis keeps */
} mgi_red;

/* Rows of 16 bytes stay so: the classes along which a tensor is dense in memory. */
MGI_FN void mgi_red_rows(const mg_graph *g, const mg_classes *c, uint8_t *keep) {
  for (uint32_t t = 1; t < g->n_tensors; t++) {
    const mg_tensor_info *x = &g->tensors[t];
    int d = x->shape.rank - 1;
    while (d > 0 && x->shape.dim[x->order[d]] == 1) d--;
    const int32_t cls = c->of[t * MG_MAX_RANK + (uint32_t)x->order[d]];
    if (cls >= 0 && !keep[cls]) keep[cls] = 1;
  }
}

/* A library operator: its classes shrink by whole granules. */
MGI_FN void mgi_red_library(mgi_red *R, const mg_graph *g, const mg_op_node *op) {
  for (int t = 0; t < op->n_in + op->n_out; t++) {
    mg_tensor x = t < op->n_in ? op->in[t] : op->out[t - op->n_in];
    for (int d = 0; d < mg_tensor_of(g, x)->shape.rank; d++) {
      const int cls = R->c.of[x.id * MG_MAX_RANK + (uint32_t)d];
      if (cls < 0 || R->node[R->n_axes + cls].size || R->n_edges == R->most) continue;
      mgi_red_node *n = &R->node[R->n_axes + cls];
      n->size = R->c.extent[cls] / MGI_RED_GRANULE;
      n->least = 1;
      if (!n->size) R->node[R->first_class + cls].fixed = n->size = 1;
      mgi_red_edge x2 = {cls, R->n_axes + cls, MGI_RED_GRANULE};
      R->edge[R->n_edges++] = x2;
    }
  }
}
/* The axes of graph-defined operator o, kernel k: their counts and what they cut. */
MGI_FN void mgi_red_kernel(mgi_red *R, const mg_graph *g, const mg_op_node *op, int k) {
  const mg_graph *sub = op->sub;
  const int stages = mg_plan_says(sub, MG_PLAN_STAGES, NULL), share = mg_plan_says(sub, MG_PLAN_SHARE, NULL);
  int stores = 0;
  for (uint32_t a = 1; a < sub->n_axes; a++) {
    mgi_red_node *x = &R->node[k * MGI_RED_PER + (int)a];
    x->size = sub->axes[a].extent;
    x->least = a <= 3 ? R->least_grid : (stages > 0 ? stages : 4) + 2;
    x->step = a <= 3 ? 1 : stages > 0 ? stages : 12; /* the last iteration's stage stays the same */
    if (a <= 3 && share > 1 && x->size % share == 0) x->least = mg_round_up(x->least, share), x->step = share; /* whole clusters */
    if (x->size <= x->least) x->fixed = 1;
  }
  for (uint32_t l = 1; l < sub->n_ops; l++) {
    const mg_op_node *in = &sub->ops[l];
    if (in->code == MG_OP_LOAD) mgi_red_map(sub, k, &in->map, in->in[0].id, &R->c, &mg_tensor_of(g, in->in[0])->shape, R->node, R->edge, &R->n_edges, R->most);
    if (in->code == MG_OP_STORE && stores < op->n_out) {
      mg_tensor to = op->out[stores++];
      mgi_red_map(sub, k, &in->map, to.id, &R->c, &mg_tensor_of(g, to)->shape, R->node, R->edge, &R->n_edges, R->most);
    }
    if (in->code == MG_OP_ACCUM)
      for (uint32_t a = 1; a < sub->n_axes; a++) /* a concatenation's width is a tile: its count is part of the text */
        if (in->map.to[a] >= 0) R->node[k * MGI_RED_PER + (int)a].fixed = 1;
  }
}
/* The component of class node `root`, its nodes' num the least integers in the ratios that its edges ask for; how many nodes
   it has.  *most: the largest factor of these that leaves every axis its least count; 0 if a size has to stay. */
MGI_FN int mgi_red_component(mgi_red *R, int root, int64_t *most) {
  mgi_red_node *node = R->node;
  int *queue = R->queue, head = 0, tail = 0, fixed = 0, cut = 0;
  int64_t scale = 1;
  queue[tail++] = root;
  node[root].seen = 1;
  node[root].num = node[root].den = 1;
  while (head < tail) {
    const int at = queue[head++];
    fixed |= node[at].fixed;
    for (int k = 0; k < R->n_edges; k++) {
      const int cls = R->first_class + R->edge[k].cls, ax = R->edge[k].axis;
      if (cls != at && ax != at) continue;
      const int to = cls == at ? ax : cls;
      int64_t num = node[at].num, den = node[at].den, chunk = R->edge[k].chunk;
      int64_t *const more = to == ax ? &den : &num, *const less = to == ax ? &num : &den, f = mg_gcd(*less, chunk);
      *less /= f;
      chunk /= f;
      if (*more > (INT64_C(1) << 31) / chunk) fixed = 1;
      else *more *= chunk;
      if (!node[to].seen) {
        node[to].seen = 1;
        node[to].num = num;
        node[to].den = den;
        queue[tail++] = to;
      } else if (node[to].num != num || node[to].den != den) fixed = 1; /* no ratio fits all: the sizes stay */
    }
  }
  for (int k = 0; k < tail && !fixed; k++) {
    const int64_t f = node[queue[k]].den / mg_gcd(node[queue[k]].den, scale);
    if (scale > (INT64_C(1) << 31) / f) fixed = 1;
    else scale *= f;
  }
  *most = INT64_MAX;
  for (int k = 0; k < tail && !fixed; k++) {
    mgi_red_node *x = &node[queue[k]];
    x->num = x->num > INT64_MAX / scale ? INT64_MAX : x->num * scale / x->den;
    if (queue[k] >= R->first_class) continue;
    cut = 1;
    if ((x->size - x->least) / x->num < *most) *most = (x->size - x->least) / x->num;
  }
  if (fixed || !cut) *most = 0;
  return tail;
}
/* 1 if the component's sizes may shrink by `take` times its numbers: no chunk changes, 16-byte rows stay so, and others stay others. */
MGI_FN int mgi_red_holds(const mgi_red *R, int n, int64_t take) {
  for (int k = 0; k < R->n_edges; k++) {
    const mgi_red_edge *x = &R->edge[k];
    const mgi_red_node *cls = &R->node[R->first_class + x->cls], *ax = &R->node[x->axis];
    int within = 0;
    if (!ax->seen || cls->num == 0 || x->axis >= R->n_axes) continue;
    for (int j = 0; j < n; j++) within |= R->queue[j] == x->axis;
    if (!within) continue;
    const int64_t extent = R->c.extent[x->cls] - take * cls->num;
    if (extent < 1 || mg_ceil_div(extent, ax->size - take * ax->num) != x->chunk) return 0;
  }
  for (int k = 0; k < n; k++) {
    const int at = R->queue[k];
    if (take * R->node[at].num % (at >= R->first_class ? R->keep[at - R->first_class] ? 8 : 1 : at < R->n_axes ? R->node[at].step : 1)) return 0;
  }
  return 1;
}
/* A symbol comes with the launch, and is no constant of the text that another may take the place of: it may not shrink. */
MGI_FN mg_status mgi_red_symbols(const mg_graph *g, const mg_classes *c, uint8_t *keep, mg_error *e) {
  uint8_t *of = NULL;
  mg_status s = g->n_symbols ? mg_symbols_of(g, &of, e) : MG_OK;
  for (uint32_t k = 0; of && k < g->n_tensors * MG_MAX_RANK; k++)
    if (of[k] && c->of[k] >= 0) keep[c->of[k]] = 2;
  free(of);
  return s;
}
/* Takes `take` times their numbers away from the n nodes of the component, or puts them back where it is below 0. */
MGI_FN void mgi_red_take(const mgi_red *R, int n, int64_t take, mg_reduced *out) {
  for (int k = 0; k < n; k++) {
    const int x = R->queue[k];
    if (x >= R->first_class) out->extent[x - R->first_class] -= take * R->node[x].num;
    else if (x < R->n_axes) out->counts[x] -= take * R->node[x].num;
  }
}
/* The µGraph at the sizes of *out, in out->graph: MG_OK only if every tensor inside a kernel keeps its shape. */
MGI_FN mg_status mgi_red_build(const mg_graph *ugraph, mg_reduced *out, mg_error *e) {
  mg_graph *g = NULL;
  mg_status s = mg_resize(ugraph, out->extent, out->counts, &g, e);
  if (s == MG_OK && !mgi_red_same_shapes(ugraph, g)) s = mg_fail(e, MG_UNSUPPORTED, "mg_cuda_reduce", "a tile would have another shape");
  if (s == MG_OK) mg_graph_free(out->graph), out->graph = g;
  else mg_graph_free(g);
  return s;
}
/* keep, by class, as in mgi_red, which it is put into.  One component after the other shrinks: those stay that a size cannot follow. */
MGI_FN mg_status mgi_red_reduce(const mg_graph *ugraph, const uint8_t *keep, int least_grid, mg_reduced *out, mg_error *e) {
  mgi_red R;
  mg_error ignored;
  memset(out, 0, sizeof *out);
  memset(&R, 0, sizeof R);
  R.least_grid = least_grid;
  mg_status s = mg_classes_of(ugraph, &R.c, e);
  if (s != MG_OK) return s;
  const int kernels = mg_ops_before(ugraph, ugraph->n_ops, MG_OP_GRAPH);
  R.most = 64;
  for (uint32_t o = 1; o < ugraph->n_ops; o++)
    R.most += (ugraph->ops[o].code == MG_OP_GRAPH ? (int)ugraph->ops[o].sub->n_ops : MG_MAX_IN + MG_MAX_OUT) * MG_MAX_RANK * 2;
  R.n_axes = kernels * MGI_RED_PER, R.n_nodes = R.n_axes + 2 * (int)R.c.n, R.first_class = R.n_axes + (int)R.c.n;
  R.node = (mgi_red_node *)calloc((size_t)R.n_nodes + 1, sizeof *R.node);
  R.edge = (mgi_red_edge *)calloc((size_t)R.most, sizeof *R.edge);
  R.queue = (int *)calloc((size_t)R.n_nodes + 1, sizeof *R.queue);
  R.keep = (uint8_t *)calloc(R.c.n + 1u, 1);
  out->extent = (int64_t *)calloc(R.c.n + 1u, sizeof *out->extent);
  out->counts = (int64_t *)calloc((size_t)R.n_axes + 1, sizeof *out->counts);
  out->n_classes = R.c.n;
  out->n_kernels = (uint32_t)kernels;
  if (!R.node || !R.edge || !R.queue || !R.keep || !out->extent || !out->counts) {
    s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_reduce", "no memory for %d classes", (int)R.c.n);
    goto done;
  }
  if (keep) memcpy(R.keep, keep, R.c.n);
  s = mgi_red_symbols(ugraph, &R.c, R.keep, e);
  if (s != MG_OK) goto done;
  mgi_red_rows(ugraph, &R.c, R.keep);
  for (uint32_t k = 0; k < R.c.n; k++) {
    R.node[R.first_class + (int)k].size = out->extent[k] = R.c.extent[k];
    R.node[R.first_class + (int)k].fixed = R.c.fixed[k] || R.keep[k] == 2;
  }
  for (uint32_t o = 1; o < ugraph->n_ops; o++) {
    const mg_op_node *op = &ugraph->ops[o];
    if (op->code == MG_OP_GRAPH) mgi_red_kernel(&R, ugraph, op, mg_ops_before(ugraph, o, MG_OP_GRAPH));
    else mgi_red_library(&R, ugraph, op);
  }
  for (int k = 0; k < R.n_axes; k++) out->counts[k] = R.node[k].size;
  s = mgi_red_build(ugraph, out, e);
  for (int root = R.first_class; root < R.n_nodes && s == MG_OK; root++) {
    int64_t take;
    if (R.node[root].seen || R.c.extent[root - R.first_class] <= 1) continue;
    const int n = mgi_red_component(&R, root, &take);
    while (take > 0 && !mgi_red_holds(&R, n, take)) take--; /* the first try holds unless trailing chunks are empty */
    if (take <= 0) continue;
    mgi_red_take(&R, n, take, out);
    if (mgi_red_build(ugraph, out, &ignored) == MG_OK) out->changed = 1;
    else mgi_red_take(&R, n, -take, out);
  }
done:
  free(R.node);
  free(R.edge);
  free(R.queue);
  free(R.keep);
  mg_classes_free(&R.c);
  if (s != MG_OK) mg_reduced_free(out);
  return s;
}
mg_status mg_cuda_reduce(const mg_graph *ugraph, mg_reduced *out, mg_error *e) { return mgi_red_reduce(ugraph, NULL, 2, out, e); }

/* ---- numbers as they are stored */
MGI_FN float mgi_cd_rounded(mg_dtype t, float x, uint32_t *bits) { /* x rounded to nearest even in t, and its bits */
  *bits = mg_to_bits(t, x);
  return mg_round_to(t, x);
}
MGI_FN void mgi_cd_put(void *at, mg_dtype t, int64_t k, uint32_t bits) {
  if (mg_dtype_bytes(t) == 4) ((uint32_t *)at)[k] = bits;
  else ((uint16_t *)at)[k] = (uint16_t)bits;
}
MGI_FN uint32_t mgi_cd_get(const void *at, mg_dtype t, int64_t k) { return mg_dtype_bytes(t) == 4 ? ((const uint32_t *)at)[k] : ((const uint16_t *)at)[k]; }

/* Inputs, outputs and reference of one program: `in` in memory order as the kernel sees them, `given` row-major. */
typedef struct mgi_tensors {
  void *in[MG_MAX_IN], *given[MG_MAX_IN], *out[MG_MAX_OUT], *expected[MG_MAX_OUT];
  size_t in_bytes[MG_MAX_IN], out_bytes[MG_MAX_OUT];
  int64_t in_n[MG_MAX_IN], out_n[MG_MAX_OUT];
} mgi_tensors;
MGI_FN void mgi_tensors_free(mgi_tensors *t) {
  for (int k = 0; k < MG_MAX_IN; k++) free(t->in[k]), free(t->given[k]);
  for (int k = 0; k < MG_MAX_OUT; k++) free(t->out[k]), free(t->expected[k]);
  memset(t, 0, sizeof *t);
}
MGI_FN mg_status mgi_tensors_new(const mg_graph *g, size_t elem, mgi_tensors *t, mg_error *e) {
  memset(t, 0, sizeof *t);
  for (uint32_t k = 0; k < g->n_in + g->n_out; k++) {
    int out = k >= g->n_in, j = (int)(out ? k - g->n_in : k);
    const mg_tensor_info *x = mg_tensor_of(g, out ? g->out[j] : g->in[j]);
    int64_t n = mg_shape_elements(&x->shape);
    if (n < 0 || n > (INT64_C(1) << 36)) return mg_fail(e, MG_LIMIT, x->name, "too many elements to run");
    size_t bytes = (size_t)n * (size_t)mg_dtype_bytes(x->dtype);
    void *device = malloc(bytes + 16), *host = malloc((size_t)n * elem + 16);
    if (out) t->out[j] = device, t->expected[j] = host, t->out_bytes[j] = bytes, t->out_n[j] = n;
    else t->in[j] = device, t->given[j] = host, t->in_bytes[j] = bytes, t->in_n[j] = n;
    if (!device || !host) return mg_fail(e, MG_NO_MEMORY, x->name, "no memory for %llu elements", (unsigned long long)n);
  }
  return MG_OK;
}
/* What inputs are scaled by: those with many rows so that a sum over them keeps its size. */
MGI_FN double mgi_cd_scale(const mg_shape *s) { return s->rank >= 2 && s->dim[s->rank - 2] > 64 ? 1.0 / sqrt((double)s->dim[s->rank - 2]) : 1.0; }
/* 1 if x is filled by definition (mg_filling): given[j] is its element i then, and no kernel reads it from memory. */
MGI_FN int mgi_given_real(const mg_tensor_info *x, void *given, int64_t j, int64_t i) {
  if (x->fill) ((double *)given)[j] = (double)mg_filled(x, i);
  return x->fill != MG_FILL_NONE;
}
/* How input k of g is filled in: what holds of all its elements.  An element's value hangs on its number in `like`, x's shape or
   that in the family of which g is a member: members have the same values at the same indices. */
typedef struct mgi_filler {
  const mg_tensor_info *x;
  const mg_shape *like;
  uint32_t k;
  int64_t bound;             /* of its indices; 0: it holds none */
  int64_t stride[MG_MAX_RANK];
} mgi_filler;
MGI_FN mgi_filler mgi_filler_of(const mg_graph *g, uint32_t k) {
  mgi_filler f;
  f.x = mg_tensor_of(g, g->in[k]), f.like = &f.x->shape, f.k = k;
  f.bound = f.x->dtype == MG_I32 ? mg_index_bound(g, g->in[k]) : 0;
  mg_strides(f.x, f.stride);
  return f;
}
/* Puts the bits of element i where the kernel reads it. */
MGI_FN void mgi_filler_put(const mgi_filler *f, void *raw, int64_t i, uint32_t bits) { mgi_cd_put(raw, f->x->dtype, mgi_cd_place(&f->x->shape, f->stride, i), bits); }
/* The number of element i in `like`, modulo 2^64: a family may have more elements than any of its members that run. */
MGI_FN uint64_t mgi_filler_number(const mgi_filler *f, int64_t i) {
  uint64_t number = 0, stride = 1;
  if (f->like == &f->x->shape) return (uint64_t)i;
  for (int d = f->like->rank; d-- > 0; i /= f->x->shape.dim[d], stride *= (uint64_t)f->like->dim[d])
    number += (uint64_t)(i % f->x->shape.dim[d]) * stride;
  return number;
}
MGI_FN uint64_t mgi_filler_state(const mgi_filler *f, uint64_t seed, int64_t i) {
  return (seed * 64 + f->k) * 0x9E3779B97F4A7C15u ^ mgi_filler_number(f, i) * 0xD1342543DE82EF95u;
}
/* 1 if the input holds indices: given[j] is its element i then, drawn within bounds, of sixteen one the last and one the first;
   `raw` has it where the kernel reads it. */
MGI_FN int mgi_given_index(const mgi_filler *f, uint64_t seed, void *given, int64_t j, int64_t i, void *raw) {
  if (!f->bound) return 0;
  uint64_t state = mgi_filler_state(f, seed, i);
  const uint64_t number = mgi_filler_number(f, i);
  int64_t at = (int64_t)(mgi_random(&state) % (uint64_t)f->bound);
  if (number % 16 == 1) at = 0;
  if (number % 16 == 0 && mg_shape_elements(f->like) > 1) at = f->bound - 1;
  ((int32_t *)given)[j] = (int32_t)at;
  mgi_filler_put(f, raw, i, (uint32_t)at);
  return 1;
}
/* Random normal inputs, rounded to their dtype: those of `like`, which is g, or the family of which it is a member, as far as g has
   them. */
MGI_FN void mgi_tensors_like(const mg_graph *like, const mg_graph *g, mgi_tensors *t, uint64_t seed) {
  for (uint32_t k = 0; k < g->n_in; k++) {
    mgi_filler f = mgi_filler_of(g, k);
    f.like = &mg_tensor_of(like, like->in[k])->shape;
    const double scale = mgi_cd_scale(f.like);
    for (int64_t i = 0; i < t->in_n[k]; i++) {
      uint64_t state = mgi_filler_state(&f, seed, i);
      uint32_t bits;
      if (mgi_given_real(f.x, t->given[k], i, i) || mgi_given_index(&f, seed, t->given[k], i, i, t->in[k])) continue;
      ((double *)t->given[k])[i] = mgi_cd_rounded(f.x->dtype, (float)(scale * mgi_cd_normal(&state)), &bits);
      mgi_filler_put(&f, t->in[k], i, bits);
    }
  }
}
MGI_FN void mgi_tensors_real(const mg_graph *g, mgi_tensors *t, uint64_t seed) { mgi_tensors_like(g, g, t, seed); }
MGI_FN mg_tensor mgi_cu_handle(uint32_t id) {
  mg_tensor t;
  t.id = id;
  return t;
}
/* Families of inputs for emulated floats.  Fields order their elements as they like and round nothing: what a maximum keeps
   from overflowing, and what a value is stored in, shows among floats alone, and there in few inputs.
     CANCEL  whole numbers, of which sums are large half way and small at their end: f32 holds them, 16 bits do not
     SMALL   an eighth of normal ones: exponentials are alike, and their sums are of many terms
     SPREAD  halves of rows and columns, or of columns alone (ACROSS), are of other sizes: blocks that store as two of f16 have powers of their own
             (mg_split), and then what a kernel touches depends on values
     PEAKS   of every line one element is loud, in every fourth the first, in every fourth the last: rows of products have
             their maxima in one place each, far above the rest, and other rows in other places
     BELOW   every second input is negative, of the others every second line: all of some rows are, of what is given and of products
     ABOVE   every second input is positive instead, where the inputs are few: what is no product may know its operands' signs
   How loud follows from what a program's exponentials and maxima make of them (mgi_family_reals). */
enum { MGI_FAMILY_NORMAL, MGI_FAMILY_CANCEL, MGI_FAMILY_SMALL, MGI_FAMILY_SPREAD, MGI_FAMILY_ACROSS, MGI_FAMILY_PEAKS, MGI_FAMILY_BELOW, MGI_FAMILY_ABOVE, MGI_FAMILIES, MGI_FAMILY_FEW = 1 << 18 };
static const char *const mgi_draw_names[MGI_FAMILIES] = {"normal inputs", "sums that cancel", "small inputs", "halves of other sizes", "halves of columns of other sizes", "maxima in one place of a row each", "rows that are all negative", "others that are all negative"};
/* Element i of line `line` of input k, which has n; `row`: the line's place in the dimension before, of `rows`. */
MGI_FN double mgi_family_value(int family, uint32_t k, int64_t line, int64_t i, int64_t n, int64_t row, int64_t rows, double loud, uint64_t seed, uint64_t *state) {
  uint64_t where = (seed * 64 + k) * 0x9E3779B97F4A7C15u ^ (uint64_t)line * 0xD1342543DE82EF95u;
  switch (family) {
  case MGI_FAMILY_CANCEL: return (double)(1 + mgi_random(state) % 3) * (rows > 1 && row >= rows / 2 ? -1 : 1);
  case MGI_FAMILY_SMALL: return mgi_cd_normal(state) / 8;
  case MGI_FAMILY_SPREAD: return mgi_cd_normal(state) * (k ? ((2 * row < rows) != (line / rows & 1) ? 0x1p-8 : 0x1p6) * (2 * i < n ? 0x1p-14 : 1) : 0x1p-10); /* the other half of every second matrix */
  case MGI_FAMILY_ACROSS: return mgi_cd_normal(state) * (k && (2 * i < n) != (line / rows & 1) ? 0x1p-14 : 1);
  case MGI_FAMILY_BELOW:
  case MGI_FAMILY_ABOVE: return ((k % 2 ? family == MGI_FAMILY_BELOW : line % 2) ? -loud : loud) * (0.7 + 0.3 * (double)(mgi_random(state) >> 11) * 0x1p-53);
  case MGI_FAMILY_PEAKS:
    if (i == (line % 4 == 1 ? 0 : line % 4 == 2 ? n - 1 : (int64_t)(mgi_random(&where) % (uint64_t)n))) return loud;
    return loud * 0.03 * mgi_cd_normal(state);
  default: return mgi_cd_normal(state);
  }
}
MGI_FN void mgi_family_draw(const mg_graph *g, mgi_tensors *t, int family, double loud, uint64_t seed) {
  if (family == MGI_FAMILY_NORMAL) mgi_tensors_real(g, t, seed);
  for (uint32_t k = 0; k < g->n_in && family != MGI_FAMILY_NORMAL; k++) {
    const mgi_filler f = mgi_filler_of(g, k);
    const mg_tensor_info *x = f.x;
    const int r = x->shape.rank;
    const int64_t n = r ? x->shape.dim[r - 1] : 1, rows = r > 1 ? x->shape.dim[r - 2] : 1;
    double scale = mgi_cd_scale(&x->shape);
    uint64_t state = (seed * MGI_FAMILIES + (uint64_t)family) * 0xD1342543DE82EF95u + k;
    if (family == MGI_FAMILY_CANCEL) scale = exp2(floor(log2(scale))); /* whole numbers stay few bits */
    else scale = 1;
    for (int64_t i = 0; i < t->in_n[k]; i++) {
      uint32_t bits;
      if (mgi_given_real(x, t->given[k], i, i) || mgi_given_index(&f, seed, t->given[k], i, i, t->in[k])) continue;
      const double v = scale * mgi_family_value(family, k, i / n, i % n, n, i / n % rows, rows, loud, seed, &state);
      ((double *)t->given[k])[i] = mgi_cd_rounded(x->dtype, (float)v, &bits);
      mgi_filler_put(&f, t->in[k], i, bits);
    }
  }
}
/* mg_domain_real, which notes the largest argument of an exponential, and operand of a maximum.  single: results are rounded to f32,
   what kernels hand on to its type, and the largest of all is noted. */
typedef struct mgi_heard { mg_domain real; double exponent, maximum; int single; double largest; } mgi_heard;
MGI_FN void mgi_heard_round(mgi_heard *h, const mg_view *v, mg_dtype type) {
  for (int64_t at = 0, n = h->single ? mg_shape_elements(&v->shape) : 0; at < n; at++) {
    double *x = &((double *)v->data)[mgi_cd_place(&v->shape, v->stride, at)];
    uint32_t bits;
    *x = fabs(*x) < 0x1p-126 ? 0 : (double)mgi_cd_rounded(type, (float)*x, &bits);
    if (!(fabs(*x) <= h->largest) && *x != -HUGE_VAL) h->largest = isfinite(*x) ? fabs(*x) : HUGE_VAL; /* -inf: a maximum over nothing */
  }
}
MGI_FN void mgi_heard_made(void *user, const mg_graph *g, mg_tensor t, const mg_view *v) {
  if (mg_tensor_of(g, t)->dtype == MG_I32) return;
  mgi_heard_round((mgi_heard *)user, v, mg_wide(g, t) || mg_split(g, t) ? MG_F32 : mg_tensor_of(g, t)->dtype);
}
MGI_FN void mgi_heard_view(double *most, const mg_view *v, const mg_shape *s) {
  for (int64_t at = 0, n = mg_shape_elements(s); at < n; at++) {
    const double x = fabs(((const double *)v->data)[mgi_cd_place(s, v->stride, at)]);
    if (x < 1e300 && x > *most) *most = x;
  }
}
MGI_FN mg_status mgi_heard_map(void *user, mg_opcode op, mg_rational c, const mg_view *out, const mg_view *in) {
  mgi_heard *h = (mgi_heard *)user;
  if (op == MG_OP_EXP) mgi_heard_view(&h->exponent, in, &out->shape);
  const mg_status s = h->real.map(h->real.user, op, c, out, in);
  if (s == MG_OK) mgi_heard_round(h, out, MG_F32);
  return s;
}
MGI_FN mg_status mgi_heard_matmul(void *user, const mg_view *c, const mg_view *a, const mg_view *b) {
  mgi_heard *h = (mgi_heard *)user;
  const mg_status s = h->real.matmul(h->real.user, c, a, b);
  if (s == MG_OK) mgi_heard_round(h, c, MG_F32);
  return s;
}
MGI_FN mg_status mgi_heard_combine(void *user, mg_opcode op, const mg_view *out, const mg_view *in) {
  mgi_heard *h = (mgi_heard *)user;
  if (op == MG_OP_MAX) mgi_heard_view(&h->maximum, in, &in->shape);
  const mg_status s = h->real.combine(h->real.user, op, out, in);
  if (s == MG_OK) mgi_heard_round(h, out, MG_F32);
  return s;
}
MGI_FN void mgi_heard_fill(void *user, mg_opcode op, void *dst, size_t n) {
  mgi_heard *h = (mgi_heard *)user;
  h->real.fill(h->real.user, op, dst, n);
}
MGI_FN int mgi_heard_above(void *user, const void *b, const void *a) {
  mgi_heard *h = (mgi_heard *)user;
  return h->real.above(h->real.user, b, a);
}
MGI_FN mg_domain mgi_heard_domain(mgi_heard *h) {
  mg_domain d;
  memset(&d, 0, sizeof d);
  d.user = h, d.elem = sizeof(double), d.map = mgi_heard_map, d.matmul = mgi_heard_matmul, d.combine = mgi_heard_combine, d.fill = mgi_heard_fill, d.made = mgi_heard_made;
  d.above = mgi_heard_above;
  return d;
}
/* 1 if the µGraph itself, in f32, leaves what 16 bits hold on the inputs that are drawn, or is not defined on them. */
MGI_FN int mgi_family_overflows(const mg_graph *g, const mgi_tensors *t) {
  mgi_heard h = {mg_domain_real(), 0, 0, 1, 0};
  const mg_domain d = mgi_heard_domain(&h);
  const void *given[MG_MAX_IN];
  void *out[MG_MAX_OUT] = {NULL};
  mg_error ignored;
  int bad = 0;
  for (uint32_t k = 0; k < g->n_in; k++) given[k] = t->given[k];
  for (uint32_t k = 0; k < g->n_out; k++) bad |= (out[k] = malloc((size_t)t->out_n[k] * sizeof(double) + 16)) == NULL;
  bad = bad || mg_eval(g, &d, given, out, &ignored) != MG_OK || !(h.largest < 3e4);
  for (uint32_t k = 0; k < g->n_out; k++) {
    const int64_t n = mg_tensor_of(g, g->out[k])->dtype == MG_I32 ? 0 : t->out_n[k];
    for (int64_t i = 0; i < n && !bad; i++) bad = !isfinite(((const double *)out[k])[i]);
    free(out[k]);
  }
  return bad;
}
/* The elements of all inputs. */
MGI_FN int64_t mgi_family_elements(const mg_graph *g, const mgi_tensors *t) {
  int64_t elements = 0;
  for (uint32_t k = 0; k < g->n_in; k++) elements += t->in_n[k];
  return elements;
}
/* 0: the family is not for this µGraph. */
MGI_FN int mgi_family_is_for(const mg_graph *g, const mgi_tensors *t, int family) {
  int split = 0;
  if (family == MGI_FAMILY_ABOVE) return mgi_family_elements(g, t) <= MGI_FAMILY_FEW;
  if (family != MGI_FAMILY_SPREAD && family != MGI_FAMILY_ACROSS) return 1;
  for (uint32_t j = 1; j < g->n_tensors; j++) split |= mg_split(g, mgi_cu_handle(j));
  return split;
}
/* Draws the family's inputs and evaluates them: twice or more where it is loud, till what a maximum is taken of is some 200 at
   most, beyond what an exponential of f32 holds.  *power: 0, or as another such family has left it.  0: the program has no maximum,
   nor a running one (`shifted`), or its results are beyond what 16 bits hold; rows of one sign are made softer till they are not. */
MGI_FN int mgi_family_reals(const mg_graph *g, mgi_tensors *t, int family, int shifted, uint64_t seed, double *power, mg_status *s, mg_error *e) {
  const void *given[MG_MAX_IN];
  const mg_domain real = mg_domain_real();
  const double want = family >= MGI_FAMILY_BELOW ? 250 : 200;
  const int64_t elements = mgi_family_elements(g, t);
  const int spread = family == MGI_FAMILY_SPREAD || family == MGI_FAMILY_ACROSS;
  double loud = 1, before = 0, was = 1;
  for (uint32_t k = 0; k < g->n_in; k++) given[k] = t->given[k];
  if (!mgi_family_is_for(g, t, family)) return 0;
  for (int tries = 0; tries < (elements > MGI_FAMILY_FEW ? 4 : 8); tries++) {
    mgi_heard h = {mg_domain_real(), 0, 0, 0, 0};
    const mg_domain d = mgi_heard_domain(&h);
    mgi_family_draw(g, t, family, loud, seed);
    if ((*s = mg_eval(g, &d, given, t->expected, e)) != MG_OK) return 0;
    if (spread) break;
    if (family < MGI_FAMILY_PEAKS) return 1;
    const double heard = h.maximum > 0 ? h.maximum : shifted ? h.exponent : 0;
    if (!(heard > 0)) return 0;
    if (*power < 0 || (tries && heard > 0.8 * want && heard < 1.5 * want)) break;
    if (tries && before > 0 && loud != was) { /* how the operands grow with the inputs */
      *power = log(heard / before) / log(loud / was);
      if (*power < 0.3 && tries == 1) *power = -1; /* they do not */
      else if (*power < 0.3 || *power > 8) *power = *power < 0.3 ? 0.3 : 8;
    }
    before = heard, was = loud;
    loud = *power > 0 ? loud * pow(want / heard, 1 / *power) : 4 * loud;
    if (!(loud > 1e-3 && loud < 1e3)) return 0;
  }
  for (int softer = 0;; softer++) { /* signs show among soft values too, unless these are so small that they are of few bits */
    double most = 0;
    for (uint32_t k = 0; k < g->n_out; k++)
      for (int64_t i = 0; i < t->out_n[k] && mg_tensor_of(g, g->out[k])->dtype != MG_I32; i++) {
        const double x = fabs(((const double *)t->expected[k])[i]);
        if (!(x <= most)) most = x < 3e4 ? x : HUGE_VAL;
      }
    if (most < 3e4) return !softer || most > 1;
    if (family < MGI_FAMILY_BELOW || softer == (elements > MGI_FAMILY_FEW ? 2 : 6)) return 0;
    loud /= 4;
    mgi_family_draw(g, t, family, loud, seed);
    if ((*s = mg_eval(g, &real, given, t->expected, e)) != MG_OK) return 0;
  }
}
/* The row-major number within a tensor of element i of a box of it. */
MGI_FN int64_t mgi_box_place(const mg_shape *s, const mg_box *b, int64_t i) {
  int64_t at = 0, step = 1;
  for (int d = s->rank; d-- > 0; step *= s->dim[d]) {
    const int64_t n = b->hi[d] - b->lo[d];
    at += (b->lo[d] + i % n) * step;
    i /= n;
  }
  return at;
}
/* The other way round. */
MGI_FN int64_t mgi_box_number(const mg_shape *s, const mg_box *b, int64_t at) {
  int64_t i = 0, step = 1;
  for (int d = s->rank; d-- > 0; at /= s->dim[d]) {
    i += (at % s->dim[d] - b->lo[d]) * step;
    step *= b->hi[d] - b->lo[d];
  }
  return i;
}
MGI_FN double mgi_cd_relative(double difference, double norm) { return norm > 0 ? sqrt(difference / norm) : difference > 0 ? HUGE_VAL : 0; }
/* 1 if what tensor t is hangs on where the maximum of something computed stands: of rounded values another may be the largest.
   Fields do not round, so there it is compared all the same. */
MGI_FN int mgi_by_maxima(const mg_graph *g, uint32_t t) {
  uint8_t *by = mg_has_picks(g) ? (uint8_t *)calloc(g->n_tensors, 1) : NULL; /* by tensor; without memory all is compared */
  for (uint32_t k = 1; by && k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    int hangs = o->code == MG_OP_ARGMAX && mg_tensor_of(g, o->in[0])->op;
    for (int j = 0; j < o->n_in; j++) hangs |= by[o->in[j].id];
    for (int j = 0; j < o->n_out; j++) by[o->out[j].id] = (uint8_t)hangs;
  }
  const int does = by && by[t];
  free(by);
  return does;
}
/* What output k, the argmax of something computed, looks through, over float64, from all inputs; NULL: memory is out. */
MGI_FN double *mgi_looked_through(const mg_graph *g, const mgi_tensors *t, int k) {
  const mg_tensor of = mg_op_of(g, mg_tensor_of(g, g->out[k])->op)->in[0];
  const mg_shape *z = &mg_tensor_of(g, of)->shape;
  const mg_domain real = mg_domain_real();
  const void *given[MG_MAX_IN];
  mg_part part;
  mg_box all;
  mg_error ignored;
  double *v = (double *)malloc((size_t)mg_shape_elements(z) * sizeof *v + 16);
  void *out[1];
  memset(&all, 0, sizeof all);
  for (int d = 0; d < z->rank; d++) all.hi[d] = z->dim[d];
  for (uint32_t j = 0; j < g->n_in; j++) given[j] = t->given[j];
  out[0] = v;
  mg_status s = v ? mg_part_of_value(g, of, &all, NULL, &part, &ignored) : MG_NO_MEMORY;
  for (uint32_t j = 0; j < g->n_in && s == MG_OK; j++) { /* all of each, as it lies in given[] */
    const mg_shape *x = &mg_tensor_of(g, g->in[j])->shape;
    memset(&part.box[g->in[j].id], 0, sizeof all);
    for (int d = 0; d < x->rank; d++) part.box[g->in[j].id].hi[d] = x->dim[d];
  }
  if (s == MG_OK) s = mg_eval_part(g, &real, &part, given, out, &ignored);
  if (v) mg_part_free(&part);
  if (s != MG_OK) free(v), v = NULL;
  return v;
}
#define MGI_LOOKED_NEAR 0.05 /* of the largest magnitude: what is so near the maximum may be it in 16 bits */
/* Indices are right or wrong: 0, or infinite.  Of what is computed, one is right where float64 has nearly the maximum. */
MGI_FN double mgi_indices_error(const mg_graph *g, const mgi_tensors *t, int k, const mg_box *box, const mg_box *whole, uint64_t *unwritten, uint64_t *undefined, int64_t *worst) {
  const mg_tensor_info *x = mg_tensor_of(g, g->out[k]);
  const mg_op_node *o = mg_op_of(g, x->op);
  const mg_shape *z = &mg_tensor_of(g, o->in[0])->shape;
  const int dim = o->attr.dim, computed = mgi_by_maxima(g, g->out[k].id);
  double *v = computed && !whole ? mgi_looked_through(g, t, k) : NULL, most = 0, bad = 0;
  int64_t step = 1;
  for (int d = dim + 1; d < z->rank; d++) step *= z->dim[d];
  for (int64_t i = 0; v && i < mg_shape_elements(z); i++) most = fabs(v[i]) > most && isfinite(v[i]) ? fabs(v[i]) : most;
  *worst = 0;
  for (int64_t j = 0, n = box ? mg_box_elements(box, x->shape.rank) : t->out_n[k]; j < n; j++) {
    const int64_t i = box ? mgi_box_place(&x->shape, box, j) : j;
    const int32_t want = ((const int32_t *)t->expected[k])[whole ? mgi_box_number(&x->shape, whole, i) : i];
    const uint32_t bits = mgi_cd_get(t->out[k], MG_I32, i);
    const double *row = v ? v + i / step * step * z->dim[dim] + i % step : NULL;
    if (bits == 0xFFFFFFFFu) ++*unwritten;
    if (want == MG_NO_INDEX) ++*undefined;
    if (want == MG_NO_INDEX || (int32_t)bits == want) continue;
    const int within = bits < (uint64_t)z->dim[dim];
    if (within && computed && (!row || !(row[bits * step] < row[want * step] - MGI_LOOKED_NEAR * most))) continue;
    if (!bad) *worst = i;
    bad = HUGE_VAL;
  }
  free(v);
  return bad;
}
/* Relative Frobenius error of output k; elements that the reference leaves undefined are skipped, poison is counted.  What a
   half can hold no better is right: exp(-64) is 0 there, and what passes its largest number, or is as near as a kernel may
   err, is infinite with its sign.  `box`: of that part of it, and `whole` what the reference is of, or both NULL.
   To `sums`, may be NULL, the squares of both are added. */
MGI_FN double mgi_tensors_error(const mg_graph *g, const mgi_tensors *t, int k, const mg_box *box, const mg_box *whole, uint64_t *unwritten, uint64_t *undefined, int64_t *worst, double *sums) {
  const mg_shape *shape = &mg_tensor_of(g, g->out[k])->shape;
  mg_dtype type = mg_tensor_of(g, g->out[k])->dtype;
  double difference = 0, norm = 0, most = -1;
  if (type == MG_I32) return mgi_indices_error(g, t, k, box, whole, unwritten, undefined, worst);
  const int other = mgi_by_maxima(g, g->out[k].id);
  *worst = 0;
  for (int64_t j = 0, n = box ? mg_box_elements(box, shape->rank) : t->out_n[k]; j < n; j++) {
    const int64_t i = box ? mgi_box_place(shape, box, j) : j;
    uint32_t bits = mgi_cd_get(t->out[k], type, i);
    double want = ((const double *)t->expected[k])[whole ? mgi_box_number(shape, whole, i) : i], got = mg_from_bits(type, bits), d;
    if (bits == (type == MG_F32 ? 0xFFFFFFFFu : 0xFFFFu)) ++*unwritten;
    if (other) continue;
    if (!(fabs(want) < 1e300)) {
      ++*undefined;
      continue;
    }
    d = got - want;
    if (isinf(got) && mgi_cd_rounded(type, (float)(want * (1 + 2e-3)), &bits) == (float)got) continue;
    if (type != MG_F32 && fabs(d) <= ldexp(0.5, mg_type_row(type)->least)) d = 0; /* half a step of the smallest: what rounding may take from any */
    if (!(d * d <= most)) most = d == d ? d * d : HUGE_VAL, *worst = i;
    difference += d == d ? d * d : HUGE_VAL;
    norm += want * want;
  }
  if (sums) sums[0] += difference, sums[1] += norm;
  return mgi_cd_relative(difference, norm);
}
MGI_FN void mgi_cd_index_text(const mg_shape *s, int64_t at, char *text, size_t n) {
  int64_t i[MG_MAX_RANK];
  size_t used = 0;
  for (int d = s->rank; d-- > 0; at /= s->dim[d]) i[d] = at % s->dim[d];
  text[0] = 0;
  for (int d = 0; d < s->rank && used < n; d++) used += (size_t)snprintf(text + used, n - used, "%s%lld", d ? ", " : "[", (long long)i[d]);
  if (used < n) snprintf(text + used, n - used, "]");
}
MGI_FN double mgi_cd_tolerance(const mg_graph *g) {
  double most = 2e-3;
  for (uint32_t t = 1; t < g->n_tensors; t++) {
    const int lost = mg_type_row(MG_F16)->digits - mg_type_row(g->tensors[t].dtype)->digits;
    const double least = lost <= 0 ? 2e-3 : lost < 3 ? ldexp(2e-3, lost) : 1e-2;
    if (least > most) most = least;
  }
  return most;
}

/* ---- link 2 */
typedef int (*mgi_launch_fn)(const void *const *in, void *const *out, void *workspace, void *stream);
typedef int (*mgi_sized_fn)(const void *const *in, void *const *out, void *workspace, const int64_t *sym, void *stream);
typedef size_t (*mgi_workspace_fn)(void);
typedef int (*mgi_blocks_fn)(const int64_t *sym, int64_t *count, int room);

/* What a file is compared with: the µGraph given, else the one that its text quotes, without thread graphs as mg_cuda_emit has
   it.  *own is the caller's to free, whatever comes back. */
MGI_FN mg_status mgi_cd_meant(const char *cu_text, const mg_graph **ugraph, mg_graph **own, mg_error *e) {
  mg_status s = MG_OK;
  mg_graph *flat = NULL;
  *own = NULL;
  if (!*ugraph && (s = mg_cuda_source_graph(cu_text, strlen(cu_text), own, e)) == MG_OK) *ugraph = *own;
  if (s == MG_OK && mg_has_threads(*ugraph) && (s = mg_inline_threads(*ugraph, &flat, e)) == MG_OK) {
    mg_graph_free(*own);
    *ugraph = *own = flat;
  }
  if (s != MG_OK) mg_graph_free(*own), *own = NULL;
  return s;
}

/* Of a family, its member at the sizes given, NULL: at the greatest, or, of what is parallel, at `enough`, where that is less:
   *ugraph and *own become it, *sym its sizes, kept in value.  Of what is none nothing changes, and *sym is NULL. */
MGI_FN mg_status mgi_cd_member(const mg_graph **ugraph, mg_graph **own, const int64_t *given, int64_t enough, int64_t value[MG_MAX_SYMBOLS], const int64_t **sym, mg_error *e) {
  const mg_graph *g = *ugraph;
  mg_graph *member = NULL;
  *sym = NULL;
  uint8_t contracted[MG_MAX_SYMBOLS];
  if (!g->n_symbols) return MG_OK;
  mg_status s = mg_contracted(g, contracted, e);
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    const mg_symbol *is = &g->symbol[k];
    value[k] = is->least > enough ? is->least : enough;
    if (contracted[k] || is->last < enough) value[k] = is->last;
    if (given) value[k] = given[k];
  }
  if (s == MG_OK) s = mg_at(g, value, &member, e);
  if (s != MG_OK) return s;
  mg_graph_free(*own);
  *ugraph = *own = member;
  *sym = value;
  return MG_OK;
}
/* Tensor t of kernel-level g, and what kernels load of it, is f32; what they compute keeps its type. */
MGI_FN void mgi_cu_widen(mg_graph *g, uint32_t t) {
  g->tensors[t].dtype = MG_F32;
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (uint32_t j = 1; g->ops[k].sub && j < g->ops[k].sub->n_ops; j++) {
      mg_graph *b = g->ops[k].sub;
      if (b->ops[j].code == MG_OP_LOAD && b->ops[j].in[0].id == t) b->tensors[b->ops[j].out[0].id].dtype = MG_F32;
    }
}

#ifdef MIRAGE_VERIFY_H
/* mirage_verify.h's arithmetic, as the emulator asks for it. */
MGI_FN mgi_emu_value mgi_emu_from(mg_fv v) {
  mgi_emu_value r = {0, 0};
  if (v.flags & MG_FV_UNDEF) r.p = MGI_EMU_UNDEFINED;
  else if (v.flags & MG_FV_EXP2) r.p = MGI_EMU_EXP2;
  else if (v.flags & MG_FV_NEGINF) r.p = MGI_EMU_NEGINF;
  else {
    r.p = (uint16_t)v.p;
    r.q = v.flags & MG_FV_NOQ ? (uint16_t)MGI_EMU_ABSENT : (uint16_t)v.q;
  }
  return r;
}
MGI_FN mg_fv mgi_emu_to(mgi_emu_value v) {
  mg_fv r;
  memset(&r, 0, sizeof r);
  if (v.p == MGI_EMU_NEGINF) r.flags = MG_FV_NEGINF;
  else if (v.p == MGI_EMU_EXP2) r.flags = MG_FV_EXP2 | MG_FV_NOQ;
  else if (v.p >= MGI_EMU_MARK) r.flags = MG_FV_UNDEF;
  else {
    r.p = v.p;
    if (v.q == MGI_EMU_ABSENT) r.flags = MG_FV_NOQ;
    else r.q = v.q;
  }
  return r;
}
MGI_FN mgi_emu_value mgi_emu_cb_arith(const void *user, int op, mgi_emu_value a, mgi_emu_value b) {
  const mg_field *F = (const mg_field *)user;
  mg_fv x = mgi_emu_to(a), y = mgi_emu_to(b);
  switch (op) {
  case '+': return mgi_emu_from(mg_ff_add(F, x, y));
  case '-': return mgi_emu_from(mg_ff_sub(F, x, y));
  case '*': return mgi_emu_from(mg_ff_mul(F, x, y));
  case '/': return mgi_emu_from(mg_ff_div(F, x, y));
  default: return mgi_emu_from(mg_ff_max(F, x, y));
  }
}
MGI_FN mgi_emu_value mgi_emu_cb_row(const void *user, const char *name, mgi_emu_value a, mgi_emu_value b, mgi_emu_value c) {
  mg_opcode op = mg_op_find(name, strlen(name));
  if (op == MG_OP_NONE) { /* a user row of the emitted file that this program was built without */
    mgi_emu_value none = {MGI_EMU_UNDEFINED, 0};
    return none;
  }
  return mgi_emu_from(mg_ff_apply((const mg_field *)user, op, mgi_emu_to(a), mgi_emu_to(b), mgi_emu_to(c)));
}
MGI_FN mgi_emu_value mgi_emu_cb_constant(const void *user, int64_t num, int64_t den) {
  return mgi_emu_from(mg_ff_const((const mg_field *)user, mg_rat(num, den)));
}
MGI_FN mgi_emu_value mgi_emu_cb_unpack(const void *user, uint16_t w) {
  const mg_field *F = (const mg_field *)user;
  mgi_emu_value none = {MGI_EMU_UNDEFINED, 0};
  return w >= F->p * (F->q + 1) + 2 ? none : mgi_emu_from(mg_ff_unpack(F, w));
}
MGI_FN uint16_t mgi_emu_cb_pack(const void *user, mgi_emu_value v) { return mg_ff_pack((const mg_field *)user, mgi_emu_to(v)); }

enum { MGI_FAMILY_PERCENT = 25 };
#define MGI_FAMILY_TOLERANCE (MGI_FAMILY_PERCENT / 100.0) /* of a file that is as it was emitted: an exponential of 200 has few digits of one in 16 bits */
/* What a child that ran one build sends back. */
typedef struct mgi_check_record {
  mg_status status;
  uint64_t compared, undefined, twice; /* twice: reference elements that are undecided by a second exponential */
  double float_error;
  uint64_t sampled;
  double share;              /* of MGI_SAMPLE_SHARE, that its places at full size took */
  int seeds, race, host_calls, products;
  int unformed;              /* kernels of which no block ran at full size, where sizes are reduced */
  int families, left_families; /* that ran; that were too much work */
  double family[MGI_FAMILIES]; /* relative error with each; -1: it was not tried */
  char difference[512], unsampled[160];
  mg_error error;
} mgi_check_record;

typedef struct mgi_check_task {
  const mg_graph *g;         /* reduced; of a family the member that runs */
  const mg_graph *family;    /* NULL: g is no member of one */
  const char *entry;         /* whose launch it is; NULL: g's own */
  const mg_graph *const *range; /* NULL: the file has one; else all, and which, from 0 */
  int n_ranges, at;
  const int64_t *sym;        /* its sizes; NULL: it has none */
  const char *text;          /* the file */
  const mg_field *F;         /* NULL: floats */
  char so[512];
  uint64_t seed;
  int seeds;
  int samples;               /* > 0: g is at full size, and blocks at so many places run */
  double share;              /* of MGI_SAMPLE_SHARE, that these may take */
  int apart;                 /* 1: nothing runs but these */
  int families;              /* of inputs, at most; 0: all; -1: normal ones alone */
  int shifted;               /* exponentials run under maxima of their rows */
  int yardstick;             /* 1: errors are measured, not judged */
  char keep[512];            /* outputs over the families that have no maxima are kept under this name; empty: nowhere */
  double tolerance;
} mgi_check_task;

/* What the nvcc command that an emitted file opens with calls the architecture; 0 if there is no such command. */
MGI_FN int mgi_check_arch(const char *text, char arch[MG_ARCH_TEXT]) {
  static const char before[] = ",code=";
  const char *at = text ? strstr(text, before) : NULL;
  if (!at) return 0;
  at += sizeof before - 1;
  const size_t n = strcspn(at, " \n");
  if (n >= MG_ARCH_TEXT) return 0;
  memcpy(arch, at, n);
  arch[n] = 0;
  return 1;
}

/* Whether the text, outside of comments and strings, has atomics, tickets or volatile accesses, the latter alone, or clusters. */
enum { MGI_HAS_ATOMICS, MGI_HAS_VOLATILE, MGI_HAS_CLUSTERS };
MGI_FN int mgi_check_has(const char *text, int what) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  static const char *const word[] = {"mg_cluster", "volatile", "atomic", "mg_last_of", "mg_ticket"};
  const int from = what == MGI_HAS_CLUSTERS ? 0 : 1, to = what == MGI_HAS_CLUSTERS ? 1 : what == MGI_HAS_VOLATILE ? 2 : 5;
  const char *end;
  int some = 0; /* of these words, comments and all: a launch asks, and most files have none */
  for (int k = from; k < to; k++) some |= strstr(text, word[k]) != NULL;
  if (!some) return 0;
  int held = 0; /* the word before says that it is no access: static volatile, asm volatile */
  for (const char *p = text; *p;) {
    if (!strncmp(p, "/*", 2)) p = (end = strstr(p + 2, "*/")) != NULL ? end + 2 : p + strlen(p);
    else if (!strncmp(p, "//", 2)) p += strcspn(p, "\n");
    else if (*p == '"' || *p == '\'') {
      const char quote = *p++;
      while (*p && *p != quote) p += *p == '\\' && p[1] ? 2 : 1;
      if (*p) p++;
    } else {
      const size_t w = strspn(p, letters);
      const int is_volatile = w == 8 && !memcmp(p, "volatile", 8) && !held;
      if (what == MGI_HAS_CLUSTERS ? w > 10 && !memcmp(p, "mg_cluster", 10) : is_volatile) return 1;
      if (what == MGI_HAS_ATOMICS && ((w > 6 && !memcmp(p, "atomic", 6)) || (w == 10 && !memcmp(p, "mg_last_of", 10)) || (w == 9 && !memcmp(p, "mg_ticket", 9)))) return 1;
      if (w) held = (w == 6 && !memcmp(p, "static", 6)) || (w == 3 && !memcmp(p, "asm", 3)) || (w == 7 && !memcmp(p, "__asm__", 7));
      else if (!strchr(" \t\r\n", *p)) held = 0;
      p += w ? w : 1;
    }
  }
  return 0;
}
MGI_FN void mgi_check_emulator(mgi_emulator *m, const char *text, const mg_field *F) {
  memset(m, 0, sizeof *m);
  m->size = (int)sizeof *m;
  m->text = text;
  char arch[MG_ARCH_TEXT];
  mg_machine machine;
  const int known = mgi_check_arch(text, arch) && mg_machine_for(arch, &machine);
  if (!known) mg_machine_for(NULL, &machine);
  m->shared_limit = (size_t)machine.shared_per_block;
  m->lacks = ~machine.can;
  if (known) {
    m->sms = machine.sms;
    m->sm_threads = machine.threads_per_sm;
    m->sm_blocks = machine.blocks_per_sm;
  }
  m->watched = text && mgi_check_has(text, MGI_HAS_ATOMICS) && !mgi_check_has(text, MGI_HAS_CLUSTERS);
  if (!F) return;
  m->p = (uint32_t)F->p;
  m->q = (uint32_t)F->q;
  m->key = ((F->omega * 0x9E3779B97F4A7C15u + F->seed) * 0xBF58476D1CE4E5B9u) + (uint64_t)F->exp_opaque;
  m->user = F;
  m->arith = mgi_emu_cb_arith;
  m->row = mgi_emu_cb_row;
  m->constant = mgi_emu_cb_constant;
  m->unpack = mgi_emu_cb_unpack;
  m->pack = mgi_emu_cb_pack;
}
MGI_FN void mgi_check_range(mgi_emulator *m, const char *name, void *base, size_t bytes, int writable) {
  if (m->n_ranges == MGI_EMU_RANGES) return;
  mgi_emu_range *r = &m->range[m->n_ranges++];
  r->name = name;
  r->base = base;
  r->bytes = bytes;
  r->writable = writable;
}
/* Adds who stored the element `at` of output k to the difference. */
MGI_FN void mgi_check_writer(mgi_emulate_writer_fn writer, const mg_graph *g, const mgi_tensors *x, int k, int64_t at, mgi_check_record *r) {
  int block[3], thread;
  size_t n = strlen(r->difference);
  if (writer && writer((const char *)x->out[k] + at * mg_dtype_bytes(mg_tensor_of(g, g->out[k])->dtype), block, &thread))
    snprintf(r->difference + n, sizeof r->difference - n, "; stored by block (%d, %d, %d) thread %d", block[0], block[1], block[2], thread);
}
/* The same of indices: what is undefined has none. */
MGI_FN int mgi_check_indices(const mgi_check_task *t, const mgi_tensors *x, int k, const mg_box *box, const mg_box *whole, uint64_t order, mgi_emulate_writer_fn writer, mgi_check_record *r) {
  const mg_tensor_info *o = mg_tensor_of(t->g, t->g->out[k]);
  for (int64_t j = 0, n = box ? mg_box_elements(box, o->shape.rank) : x->out_n[k]; j < n; j++) {
    const int64_t i = box ? mgi_box_place(&o->shape, box, j) : j;
    const int32_t want = ((const int32_t *)x->expected[k])[whole ? mgi_box_number(&o->shape, whole, i) : i];
    const int32_t got = (int32_t)mgi_cd_get(x->out[k], MG_I32, i);
    char at[128];
    if (want == MG_NO_INDEX && got != MG_NO_INDEX) {
      r->undefined++;
      continue;
    }
    r->compared++;
    if (got == want && got != MG_NO_INDEX) continue;
    mgi_cd_index_text(&o->shape, i, at, sizeof at);
    if (got == MG_NO_INDEX) snprintf(r->difference, sizeof r->difference, "output %.40s%.40s was not written, fiber order %u", o->name, at, (unsigned)order);
    else snprintf(r->difference, sizeof r->difference, "output %.40s%.40s differs: got %d, expected %d in the fields (%u, %u), fiber order %u", o->name, at, (int)got, (int)want, (unsigned)t->F->p, (unsigned)t->F->q, (unsigned)order);
    mgi_check_writer(writer, t->g, x, k, i, r);
    return 0;
  }
  return 1;
}
/* Compares output k with the reference over a field; `box`: that part of it, and `whole` what the reference is of, or both
   NULL.  1: same. */
MGI_FN int mgi_check_words(const mgi_check_task *t, const mgi_tensors *x, int k, const mg_box *box, const mg_box *whole, uint64_t order, mgi_emulate_writer_fn writer, mgi_check_record *r) {
  const mg_tensor_info *o = mg_tensor_of(t->g, t->g->out[k]);
  const int64_t n = box ? mg_box_elements(box, o->shape.rank) : x->out_n[k];
  if (o->dtype == MG_I32) return mgi_check_indices(t, x, k, box, whole, order, writer, r);
  for (int64_t j = 0; j < n; j++) {
    const int64_t i = box ? mgi_box_place(&o->shape, box, j) : j;
    mg_fv want = ((const mg_fv *)x->expected[k])[whole ? mgi_box_number(&o->shape, whole, i) : i], got;
    uint32_t bits = mgi_cd_get(x->out[k], o->dtype, i), poison = o->dtype == MG_F32 ? 0xFFFFFFFFu : 0xFFFFu;
    const char *what = NULL;
    memset(&got, 0, sizeof got);
    if (bits == poison) what = "was not written";
    else if (want.flags & (MG_FV_UNDEF | MG_FV_EXP2)) {
      r->twice += (want.flags & MG_FV_EXP2) != 0;
      r->undefined++;
      continue;
    } else {
      got = mgi_emu_to(bits > 0xFFFF ? mgi_emu_cb_unpack(t->F, 0xFFFF) : mgi_emu_cb_unpack(t->F, (uint16_t)bits));
      if (got.flags & (MG_FV_UNDEF | MG_FV_EXP2)) what = "is undefined (a division by zero, or memory read before it was written)";
      else if (bits != mg_ff_pack(t->F, want)) what = "differs";
    }
    r->compared++;
    if (what) {
      char at[128];
      mgi_cd_index_text(&o->shape, i, at, sizeof at);
      snprintf(r->difference, sizeof r->difference, "output %.40s%.40s %.80s: got (%u, %u), expected (%u, %u) in the fields (%u, %u), fiber order %u", o->name, at,
               what, (unsigned)got.p, (unsigned)got.q, (unsigned)want.p, (unsigned)want.q, (unsigned)t->F->p, (unsigned)t->F->q, (unsigned)order);
      mgi_check_writer(writer, t->g, x, k, i, r);
      return 0;
    }
  }
  return 1;
}

/* The same over floats, by the relative error of the whole part; by that of all parts, to whose `sums` this one's is added, where
   they are of few elements: one of them alone may be a sum that cancels.  Then it is 1, and the difference is noted. */
MGI_FN int mgi_check_reals(const mgi_check_task *t, const mgi_tensors *x, int k, const mg_box *box, const mg_box *whole, uint64_t order, mgi_emulate_writer_fn writer, double *sums, mgi_check_record *r) {
  const mg_tensor_info *o = mg_tensor_of(t->g, t->g->out[k]);
  uint64_t unwritten = 0;
  int64_t worst;
  char at[128];
  const double error = mgi_tensors_error(t->g, x, k, box, whole, &unwritten, &r->undefined, &worst, sums);
  if (!sums && !(error <= r->float_error)) r->float_error = error;
  if (!unwritten && error <= t->tolerance) return 1;
  mgi_cd_index_text(&o->shape, worst, at, sizeof at);
  if (unwritten)
    snprintf(r->difference, sizeof r->difference, "%llu elements of output %s were not written (floats, fiber order %llu)", (unsigned long long)unwritten, o->name, (unsigned long long)order);
  else {
    snprintf(r->difference, sizeof r->difference, "output %.40s over floats: relative error %.3g, not %.3g; worst at %.40s: got %.6g, expected %.6g (fiber order %u)%s", o->name, error, t->tolerance, at,
             o->dtype == MG_I32 ? (double)(int32_t)mgi_cd_get(x->out[k], MG_I32, worst) : mg_from_bits(o->dtype, mgi_cd_get(x->out[k], o->dtype, worst)),
             o->dtype == MG_I32 ? (double)((const int32_t *)x->expected[k])[whole ? mgi_box_number(&o->shape, whole, worst) : worst] : ((const double *)x->expected[k])[whole ? mgi_box_number(&o->shape, whole, worst) : worst], (unsigned)order,
             isinf(error) ? ": overflow?" : "");
    mgi_check_writer(writer, t->g, x, k, worst, r);
  }
  return sums && !unwritten;
}

/* The emulation replaces the file's named constants; what stands there otherwise must be the µGraph's: `#define name v` is
   looked up, and a name that the file does not have is none of its constants.  `symbol`: it comes with the launch from some line
   on, which is run. */
MGI_FN int mgi_check_constant(const char *text, const char *name, int64_t want, int symbol, mg_check_report *r) {
  char line[400];
  size_t n = (size_t)snprintf(line, sizeof line, "#define %.300s ", name);
  for (const char *p = strstr(text, line); p; p = strstr(p + 1, line)) {
    char *end;
    const char *from = p + n + strspn(p + n, " \t(");
    long long found = strtoll(from, &end, 0);
    const char *rest = end + strspn(end, " \t)uUlL\r");
    if ((p != text && p[-1] != '\n') || (symbol && (!strncmp(from, "sym_", 4) || !strncmp(from, "mg_chunks(sym_", 14))) || (end != from && (*rest == '\n' || *rest == '/') && found == (long long)want)) continue;
    snprintf(r->difference, sizeof r->difference, "the file defines %.100s as %.*s, its µGraph says %lld", name, (int)strcspn(p + n, "\n") > 40 ? 40 : (int)strcspn(p + n, "\n"), p + n, (long long)want);
    return 0;
  }
  return 1;
}
/* The µGraph that the file quotes, where it quotes one, is the one that it is held against, and the one that its certificate's lines
   speak of: both by their hashes. */
MGI_FN int mgi_check_quoted(const mg_graph *g, const char *text, mg_check_report *r) {
  static const char inlined[] = "\n * # hash, thread graphs inlined: ", plain[] = "\n * # hash: ";
  const char *begin = strstr(text, "mugraph {{{"), *end = begin ? strstr(begin, "}}} mugraph") : NULL;
  const char *certified = end ? strstr(end, inlined) : NULL, *close = end ? strstr(end, "*/") : NULL;
  mg_graph *quoted = NULL;
  if (!end || mg_cuda_source_graph(text, strlen(text), &quoted, NULL) != MG_OK) return 1; /* a file by hand */
  const uint64_t is = mg_hash(quoted), meant = mg_hash(g);
  const int threads = mg_has_threads(quoted); /* only by hand: they are inlined in what is emitted */
  mg_graph_free(quoted);
  if (certified && certified < close) certified += sizeof inlined - 1;
  else if ((certified = strstr(end, plain)) != NULL) certified = certified < close ? certified + sizeof plain - 1 : NULL;
  if (!threads && is != meant)
    snprintf(r->difference, sizeof r->difference, "the file quotes a µGraph with the hash %016llx; the one that it is checked against has %016llx", (unsigned long long)is, (unsigned long long)meant);
  else if (!threads && certified && strtoull(certified, NULL, 16) != is)
    snprintf(r->difference, sizeof r->difference, "the file quotes a µGraph with the hash %016llx; its certificate speaks of one with %.16s", (unsigned long long)is, certified);
  return !r->difference[0];
}
MGI_FN mg_status mgi_check_constants(const mg_graph *g, const char *text, mg_check_report *r, mg_error *e) {
  mg_classes c;
  char name[300];
  int ok = 1, kernel = 0;
  uint8_t *symbol = NULL;
  mg_status s = mg_classes_of(g, &c, e);
  if (s == MG_OK) s = mg_symbols_of(g, &symbol, e);
  for (uint32_t k = 0; s == MG_OK && k < c.n && ok; k++) {
    uint32_t d = 0;
    while (d < g->n_tensors * MG_MAX_RANK && !(c.of[d] == (int32_t)k && symbol[d])) d++;
    snprintf(name, sizeof name, "%.100s_D%u", g->name, k);
    ok = mgi_check_constant(text, name, mgi_cu_last(g, d < g->n_tensors * MG_MAX_RANK ? symbol[d] : 0, c.extent[k]), g->n_symbols > 0, r);
  }
  free(symbol);
  if (s != MG_OK) {
    mg_classes_free(&c);
    return s;
  }
  for (uint32_t k = 1; k < g->n_ops && ok; k++) {
    const mg_graph *b = g->ops[k].sub;
    for (uint32_t a = 1; b && a < b->n_axes && ok; a++) {
      snprintf(name, sizeof name, "%.100s_K%d_%.70s", g->name, kernel, b->axes[a].name);
      ok = mgi_check_constant(text, name, mgi_cu_last(g, b->axes[a].symbol, b->axes[a].extent), b->axes[a].symbol > 0, r);
    }
    kernel += b != NULL;
  }
  mg_classes_free(&c);
  return ok ? MG_OK : MG_NOT_FOUND;
}
/* NAME_info, if the file has it, against the µGraph of the sizes that it was compiled for. */
MGI_FN int mgi_check_info(const mg_graph *g, const mg_emitted_info *info, mgi_check_record *r) {
  int same = info->n_in == (int)g->n_in && info->n_out == (int)g->n_out && !strcmp(info->name, g->name);
  const char *what = "the number of inputs or outputs, or the name";
  int64_t last[MG_MAX_SYMBOLS];
  mg_graph *whole = NULL;
  for (uint32_t k = 0; k < g->n_symbols; k++) last[k] = g->symbol[k].last;
  r->status = mg_at(g, last, &whole, &r->error);
  if (r->status != MG_OK) return 0;
  for (uint32_t k = 0; same && k < g->n_in + g->n_out; k++) {
    int out = k >= g->n_in;
    const mg_tensor_info *t = mg_tensor_of(whole, out ? whole->out[k - g->n_in] : whole->in[k]);
    const mg_io_info *i = out ? &info->out[k - g->n_in] : &info->in[k];
    int64_t stride[MG_MAX_RANK];
    mg_strides(t, stride);
    what = t->name;
    same = i->dtype == t->dtype && i->rank == t->shape.rank && !strcmp(i->name, t->name);
    for (int d = 0; same && d < t->shape.rank; d++) same = i->dim[d] == t->shape.dim[d] && i->order[d] == t->order[d] && (i->stride[d] == stride[d] || t->shape.dim[d] == 1);
    for (int d = 0; same && !out && d < t->shape.rank; d++) same = i->symbol[d] == g->in_symbol[k][d];
  }
  if (same) what = "its symbols", same = info->n_symbols == (int)g->n_symbols && info->n_computed == (int)g->n_computed;
  for (uint32_t k = 0; same && k < mg_n_sizes(g); k++)
    same = !strcmp(info->symbol[k].name, g->symbol[k].name) && info->symbol[k].least == g->symbol[k].least && info->symbol[k].most == g->symbol[k].last;
  if (!same) snprintf(r->difference, sizeof r->difference, "%.100s_info is not what the µGraph says: %.60s", g->name, what);
  mg_graph_free(whole);
  return same;
}

/* A build's entry points.  0: it has not all of them, as the record says. */
typedef struct mgi_check_entry {
  void *so;
  mgi_emulate_setup_fn setup;
  mgi_emulate_writer_fn writer;
  mgi_emulate_buffer_fn buffer;
  mgi_emulate_protect_fn protect;
  mgi_emulate_beside_fn beside;
  mgi_emulate_two_fn two;    /* NULL: in this build none */
  const mg_emitted_info *info; /* NULL: the file has none */
  mgi_launch_fn launch, launch_pdl; /* launch_pdl: NULL where there is none */
  const int64_t *sym;        /* what they take before the stream; NULL: nothing */
  mgi_workspace_fn workspace;
  mgi_blocks_fn blocks;      /* NULL: there is none */
  int64_t *words;            /* what is read in device memory; NULL: nothing is, or it is the caller's */
  int still;                 /* 1: outputs stand where they are said to */
} mgi_check_entry;
enum { MGI_SIZED_WORDS = MG_MAX_SYMBOLS + MG_MAX_OUT, MGI_SIZED_BLOCKS = 4096, MGI_SIZED_MOVED = 64 };
/* 1 if launches at a and b are of the same blocks. */
MGI_FN int mgi_sized_alike(const mgi_check_entry *n, const int64_t *a, const int64_t *b) {
  int64_t x[MGI_SIZED_BLOCKS], y[MGI_SIZED_BLOCKS];
  const int count = n->blocks(a, x, MGI_SIZED_BLOCKS);
  if (count < 0 || count > MGI_SIZED_BLOCKS || n->blocks(b, y, MGI_SIZED_BLOCKS) != count) return 0;
  return !memcmp(x, y, (size_t)count * sizeof *x);
}
/* Other sizes for what is read in device memory, of which a launch has the same blocks: none of it may be taken from them.
   They are greater for some and less for others: a count that NAME_blocks left out is then too small for some. */
MGI_FN void mgi_sized_stale(const mgi_check_entry *n, int64_t sym[MG_MAX_SYMBOLS]) {
  enum { NEAR = 64 };
  for (int k = 0; k < n->info->n_symbols; k++) {
    const mg_size_info *is = &n->info->symbol[k];
    const int64_t right = sym[k], first = right % 2 ? is->least : is->most, second = right % 2 ? is->most : is->least;
    if (!(n->info->device >> k & 1) || right < is->least || right > is->most) continue;
    for (int j = 0; j < 2 + 2 * NEAR && sym[k] == right; j++) {
      int64_t other[MG_MAX_SYMBOLS];
      memcpy(other, sym, sizeof other);
      const int64_t near = right + (j % 2 ? -(j / 2) : j / 2);
      other[k] = j == 0 ? first : j == 1 ? second : near;
      if (other[k] >= is->least && other[k] <= is->most && mgi_sized_alike(n, sym, other)) sym[k] = other[k];
    }
  }
}
/* What is `launch` or `launch_pdl` of n, called. */
MGI_FN int mgi_check_launch(const mgi_check_entry *n, mgi_launch_fn launch, const void *const *in, void *const *out, void *space, void *stream) {
  const void *with[MG_MAX_IN + 1];
  void *to[MG_MAX_OUT];
  int64_t sym[MG_MAX_SYMBOLS] = {0};
  if (n->words) {
    const int n_in = n->info->n_in, n_symbols = n->info->n_symbols;
    for (int k = 0; k < n_symbols; k++) sym[k] = n->words[k] = n->sym[k];
    mgi_sized_stale(n, sym);
    for (int k = 0; k < n_in; k++) with[k] = in[k];
    for (int k = 0; k < n->info->n_out; k++) {
      const int64_t moved = !n->still && n->info->displaced >> k & 1 ? MGI_SIZED_MOVED : 0;
      n->words[n_symbols + k] = moved;
      to[k] = (char *)out[k] - moved * mg_dtype_bytes(n->info->out[k].dtype);
    }
    with[n_in] = n->words, in = with, out = to;
  }
  const int64_t *sizes = n->words ? sym : n->sym;
  return n->sym ? ((mgi_sized_fn)(void (*)(void))launch)(in, out, space, sizes, stream) : launch(in, out, space, stream);
}
MGI_FN int mgi_check_open(const mgi_check_task *t, mgi_check_entry *n, mgi_check_record *r) {
  char name[256];
  n->sym = t->sym, n->words = NULL, n->still = 0;
  n->so = dlopen(t->so, RTLD_NOW | RTLD_LOCAL);
  if (!n->so) {
    r->status = mg_fail(&r->error, MG_BAD_INPUT, "emitted file", "cannot load it: %.180s", dlerror());
    return 0;
  }
  *(void **)&n->setup = dlsym(n->so, "mgi_emulate_setup");
  *(void **)&n->writer = dlsym(n->so, "mgi_emulate_writer");
  *(void **)&n->buffer = dlsym(n->so, "mgi_emulate_buffer");
  *(void **)&n->protect = dlsym(n->so, "mgi_emulate_protect");
  *(void **)&n->beside = dlsym(n->so, "mgi_emulate_beside");
  *(void **)&n->two = dlsym(n->so, "mgi_emulate_two");
  const char *entry = t->entry ? t->entry : t->g->name;
  snprintf(name, sizeof name, "%s_info", t->g->name);
  n->info = (const mg_emitted_info *)dlsym(n->so, name);
  snprintf(name, sizeof name, "%s_launch", entry);
  *(void **)&n->launch = dlsym(n->so, name);
  snprintf(name, sizeof name, "%s_launch_pdl", entry);
  *(void **)&n->launch_pdl = dlsym(n->so, name);
  snprintf(name, sizeof name, "%s_workspace_bytes", entry);
  *(void **)&n->workspace = dlsym(n->so, name);
  snprintf(name, sizeof name, "%s_blocks", entry);
  *(void **)&n->blocks = dlsym(n->so, name);
  if (n->setup && n->buffer && n->protect && n->beside && n->launch && n->workspace) return 1;
  r->status = mg_fail(&r->error, MG_BAD_INPUT, "emitted file", "expected the entry points %.80s_launch and %.80s_workspace_bytes, found no %s", entry, entry,
                      !n->launch ? "launch" : !n->workspace ? "workspace_bytes" : "emulator");
  return 0;
}
MGI_FN int mgi_check_whole_bounds(const mgi_check_task *t, const mg_emitted_info *all) {
  const mg_graph *f = t->family;
  int same = (uint32_t)all->n_symbols == f->n_symbols && (uint32_t)all->n_computed == f->n_computed;
  for (uint32_t k = 0; same && k < mg_n_sizes(f); k++) {
    const mg_symbol is = mg_range_symbol(t->range, t->n_ranges, k);
    same = all->symbol[k].least == is.least && all->symbol[k].most == is.last && !strcmp(all->symbol[k].name, is.name);
  }
  return same;
}
/* Of a file of several ranges: what it says of the whole is the last one's tensors, all bounds, and whatever any of them reads early. */
MGI_FN int mgi_check_whole(const mgi_check_task *t, const mgi_check_entry *n, mgi_check_record *r) {
  char name[256];
  uint32_t early = 0;
  const mg_emitted_info *one = NULL;
  if (!t->entry) return 1;
  snprintf(name, sizeof name, "%.200s_info", t->entry);
  const mg_emitted_info *all = (const mg_emitted_info *)dlsym(n->so, name);
  for (int k = 1; k <= t->n_ranges; k++) {
    snprintf(name, sizeof name, "%.200s_%d_info", t->entry, k);
    one = (const mg_emitted_info *)dlsym(n->so, name);
    if (!one) break;
    early |= one->early;
  }
  const char *what = !all || !one ? "it is not there" : strcmp(all->name, t->entry) ? "the name" : all->n_in != one->n_in || all->n_out != one->n_out || all->in != one->in || all->out != one->out ? "inputs or outputs" :
                     !mgi_check_whole_bounds(t, all) ? "the symbols' bounds" :
                     all->device != one->device || all->displaced != one->displaced ? "what is read in device memory" :
                     all->early != early ? "what is read early" : NULL;
  if (!what) return 1;
  snprintf(r->difference, sizeof r->difference, "%.100s_info is not what its ranges say: %s", t->entry, what);
  return 0;
}

/* Memory for what is read in device memory; 0: there is none, or nobody can say which values are alike. */
MGI_FN int mgi_sized_room(mgi_check_entry *n, mgi_check_record *r) {
  if (!n->info || !(n->info->device | n->info->displaced)) return 1;
  if (n->info->device && !n->blocks) {
    snprintf(r->difference, sizeof r->difference, "the file does not export %.100s_blocks", n->info->name);
    r->status = MG_NOT_FOUND;
    return 0;
  }
  const int count = n->info->device ? n->blocks(n->sym, NULL, 0) : 0;
  if (count < 0 || count > MGI_SIZED_BLOCKS) {
    r->status = mg_fail(&r->error, MG_UNSUPPORTED, n->info->name, "link 2 holds 0 to %d counts of blocks, its %.80s_blocks has %d",
                        (int)MGI_SIZED_BLOCKS, n->info->name, count);
    return 0;
  }
  n->words = (int64_t *)n->buffer("the sizes in device memory", MGI_SIZED_WORDS * sizeof *n->words, 0, 2);
  if (!n->words) r->status = mg_fail(&r->error, MG_NO_MEMORY, "mg_cuda_check", "no memory for sizes");
  return n->words != NULL;
}
/* Whether range k may be read before the kernel before has ended: of the inputs what NAME_info says; sizes in device memory
   are there before any launch. */
MGI_FN int mgi_sized_early(const mgi_emulator *m, const mgi_check_entry *n, uint32_t said, int k) {
  if (k < 32 && said >> k & 1) return 1;
  return n->words && m->range[k].base == (void *)n->words;
}
/* NAME_info: 0 if a file that mg_cuda_emit wrote has none, or it is not the µGraph's. */
MGI_FN int mgi_check_exports(const mgi_check_task *t, const mgi_check_entry *n, mgi_check_record *r) {
  const int none = !n->info && strstr(t->text, "mugraph {{{");
  if (none) snprintf(r->difference, sizeof r->difference, "the file does not export %.100s_info", t->g->name);
  if (!none && (!n->info || mgi_check_info(t->family ? t->family : t->g, n->info, r)) && mgi_check_whole(t, n, r)) return 1;
  if (r->status == MG_OK) r->status = MG_NOT_FOUND;
  return 0;
}

/* What a child writes when it is done, or when the kernel ends it. */
typedef struct mgi_check_sent { mgi_check_record r; int fd; } mgi_check_sent; /* r is the first: who has it has the whole */
MGI_FN int mgi_check_send(const mgi_check_sent *out) {
  const char *at = (const char *)&out->r;
  for (size_t n = 0; n < sizeof out->r;) {
    ssize_t put = write(out->fd, at + n, sizeof out->r - n);
    if (put <= 0) return 0;
    n += (size_t)put;
  }
  return 1;
}
MGI_FN void mgi_check_ended(void *owner, const char *what) {
  mgi_check_sent *out = (mgi_check_sent *)owner;
  snprintf(out->r.difference, sizeof out->r.difference, "the launch faults: %.400s", what);
  out->r.status = MG_NOT_FOUND;
  _exit(mgi_check_send(out) ? 0 : 1);
}
/* Behind all others, whose numbers are those of the operands. */
MGI_FN void mgi_sized_range(mgi_emulator *m, const mgi_check_entry *n) {
  if (n->words) mgi_check_range(m, "the sizes in device memory", n->words, (size_t)(n->info->n_symbols + n->info->n_out) * sizeof *n->words, 0);
}
/* An emulator for one call with these buffers. */
typedef struct mgi_call { const void *in[MG_MAX_IN]; void *out[MG_MAX_OUT], *space, *stream; } mgi_call;
MGI_FN void mgi_check_job_of(const mgi_check_task *t, const mgi_check_entry *n, const mgi_call *c, size_t space, mgi_check_record *r, mgi_emulator *m) {
  const mg_graph *g = t->g;
  mgi_check_emulator(m, t->text, t->F);
  m->stream = c->stream;
  m->ended = mgi_check_ended;
  m->owner = r;
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *x = mg_tensor_of(g, g->in[k]);
    mgi_check_range(m, x->name, (void *)(uintptr_t)c->in[k], (size_t)mg_shape_elements(&x->shape) * (size_t)mg_dtype_bytes(x->dtype), 0);
  }
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_tensor_info *x = mg_tensor_of(g, g->out[k]);
    mgi_check_range(m, x->name, c->out[k], (size_t)mg_shape_elements(&x->shape) * (size_t)mg_dtype_bytes(x->dtype), 1);
  }
  if (space) mgi_check_range(m, "the workspace", c->space, space, 1);
  mgi_sized_range(m, n);
}
/* Buffers for a call, as mgi_emulate_buffer gives them; 0: there is no memory. */
/* Not as many bytes: of very many nobody is to blame. */
MGI_FN int mgi_check_no_room(mgi_check_record *r, const char *name, size_t bytes) {
  r->status = mg_fail(&r->error, bytes >> 30 ? MG_UNSUPPORTED : MG_NO_MEMORY, "mg_cuda_check", "undecided: there is no room for the %zu bytes of %.60s", bytes, name);
  return 0;
}
MGI_FN int mgi_check_buffers(const mgi_check_task *t, const mgi_check_entry *n, size_t space, int at_end, int access, mgi_call *c, mgi_check_record *r) {
  const mg_graph *g = t->g;
  for (uint32_t k = 0; k < g->n_in + g->n_out; k++) {
    const int out = k >= g->n_in, j = (int)(out ? k - g->n_in : k);
    const mg_tensor_info *x = mg_tensor_of(g, out ? g->out[j] : g->in[j]);
    const size_t bytes = (size_t)mg_shape_elements(&x->shape) * (size_t)mg_dtype_bytes(x->dtype);
    void *p = n->buffer(x->name, bytes, at_end, access);
    if (out) c->out[j] = p;
    else c->in[j] = p;
    if (!p) return mgi_check_no_room(r, x->name, bytes);
  }
  c->space = space ? n->buffer("the workspace", space, at_end, access) : NULL;
  return c->space || !space ? 1 : mgi_check_no_room(r, "the workspace", space);
}

/* ---- the host's code, without its kernels
   Calls in which no block runs, and whose buffers may not even be touched: what they launch, with which arguments, is noted
   as offsets into their buffers, and has to be the same for every call: with all other buffers, with those of the first again, with a
   single other one (a map or a pointer kept from an earlier call shows), by two threads at once that take turns at every call
   of the runtime.  Each call of the runtime fails once, and the launch has to return its error. */
enum { MGI_HOST_NOTES = 1 << 16, MGI_HOST_FAILS = 700 }; /* the error: no other comes from there */
typedef struct mgi_host {
  const mgi_check_task *t;
  const mgi_check_entry *n;
  mgi_check_record *r;
  mgi_launch_fn launch;
  const char *which;         /* "" or "_pdl" */
  int blas;
  size_t space;
  mgi_call call[4];          /* two with buffers of their own; two that have one exchanged */
  mgi_emulator m[2];
  char *first, *notes[2];    /* what the first call did; what the last ones did */
} mgi_host;
MGI_FN int mgi_host_launch(void *with, int which) {
  mgi_host *H = (mgi_host *)with;
  const mgi_call *c = &H->call[which];
  return mgi_check_launch(H->n, H->launch, c->in, c->out, c->space, c->stream);
}
MGI_FN int mgi_host_differs(mgi_host *H, const char *what) {
  snprintf(H->r->difference, sizeof H->r->difference, "%.100s_launch%s%.300s", H->t->g->name, H->which, what);
  H->r->status = MG_NOT_FOUND;
  return 0;
}
/* Do the notes of job k say what those of the first call say? */
MGI_FN int mgi_host_same(mgi_host *H, int k, const char *when) {
  const char *a = H->first, *b = H->notes[k];
  char text[400];
  int line = 1;
  if (!strcmp(a, b)) return 1;
  while (*a && *b && strcspn(a, "\n") == strcspn(b, "\n") && !memcmp(a, b, strcspn(a, "\n")) && a[strcspn(a, "\n")] && b[strcspn(b, "\n")]) a += strcspn(a, "\n") + 1, b += strcspn(b, "\n") + 1, line++;
  snprintf(text, sizeof text, " does not do the same %s: step %d was '%.*s', is '%.*s'", when, line, (int)(strcspn(a, "\n") < 150 ? strcspn(a, "\n") : 150), a, (int)(strcspn(b, "\n") < 150 ? strcspn(b, "\n") : 150), b);
  return mgi_host_differs(H, text);
}
/* Call `which` alone, the `fails`-th call of the runtime failing; its notes, held against the first's where `when` says which call it is. */
MGI_FN int mgi_host_one(mgi_host *H, int which, int fails, const char *when) {
  mgi_emulator *m = &H->m[0];
  char text[400];
  mgi_check_job_of(H->t, H->n, &H->call[which], H->space, H->r, m);
  mgi_check_job_of(H->t, H->n, &H->call[which ^ 1], H->space, H->r, &H->m[1]);
  m->dry = 1, m->blas = H->blas, m->other = &H->m[1];
  m->fail_at = fails, m->fail_with = MGI_HOST_FAILS;
  m->notes = H->notes[0], m->notes_size = MGI_HOST_NOTES;
  if (H->n->setup(m) != (H->t->F != NULL)) {
    H->r->status = mg_fail(&H->r->error, MG_BAD_INPUT, "emitted file", "it was compiled with another version of mirage_cuda.cuh: include_dir has to name this one's");
    return 0;
  }
  const int rc = mgi_host_launch(H, which);
  H->r->host_calls++;
  if (m->unmodelled) {
    H->r->status = mg_fail(&H->r->error, MG_UNSUPPORTED, "emitted file", "link 2 does not model %.200s", m->error);
    return 0;
  }
  if (m->error[0]) {
    snprintf(text, sizeof text, ": %.300s", m->error);
    return mgi_host_differs(H, text);
  }
  if (fails && rc != MGI_HOST_FAILS) {
    snprintf(text, sizeof text, " returns %d where call %d of the runtime has failed with %d", rc, fails, (int)MGI_HOST_FAILS);
    return mgi_host_differs(H, text);
  }
  if (!fails && rc) {
    snprintf(text, sizeof text, " returns %d where nothing has failed", rc);
    return mgi_host_differs(H, text);
  }
  return !when || mgi_host_same(H, 0, when);
}
MGI_FN int mgi_host_two(mgi_host *H) {
  int rc[2];
  for (int k = 0; k < 2; k++) {
    mgi_emulator *m = &H->m[k];
    mgi_check_job_of(H->t, H->n, &H->call[k], H->space, H->r, m);
    m->dry = 1, m->blas = H->blas, m->other = &H->m[1 - k];
    m->notes = H->notes[k], m->notes_size = MGI_HOST_NOTES;
    m->notes[0] = 0;
  }
  H->n->setup(&H->m[0]);
  H->n->two(&H->m[0], &H->m[1], mgi_host_launch, H, rc);
  H->r->host_calls += 2;
  for (int k = 0; k < 2; k++) {
    char text[400];
    if (H->m[k].error[0] || rc[k]) {
      snprintf(text, sizeof text, ", by two threads at once: %.300s", H->m[k].error[0] ? H->m[k].error : "one returns an error where nothing has failed");
      return mgi_host_differs(H, text);
    }
  }
  return mgi_host_same(H, 0, "when two threads call it at once") && mgi_host_same(H, 1, "when two threads call it at once");
}
/* One way to launch: all of its calls. */
MGI_FN int mgi_host_way(mgi_host *H) {
  const mg_graph *g = H->t->g;
  char text[200];
  if (!mgi_host_one(H, 0, 0, NULL)) return 0;
  memcpy(H->first, H->notes[0], MGI_HOST_NOTES);
  const int calls = H->m[0].calls, launches = H->m[0].launches;
  H->r->products += H->blas ? H->m[0].products : 0;
  if (!H->blas && H->n->info && H->n->info->n_kernels != launches) {
    snprintf(text, sizeof text, " launches %d kernels, its info says %d", launches, H->n->info->n_kernels);
    return mgi_host_differs(H, text);
  }
  if (!mgi_host_one(H, 1, 0, "with all other buffers") || !mgi_host_one(H, 0, 0, "with the buffers of the call before the last")) return 0;
  for (uint32_t k = 0; k < g->n_in + g->n_out + (H->space > 0); k++) { /* one other buffer, and back */
    H->call[2] = H->call[0], H->call[3] = H->call[1];
    if (k < g->n_in) H->call[2].in[k] = H->call[1].in[k], H->call[3].in[k] = H->call[0].in[k];
    else if (k < g->n_in + g->n_out) H->call[2].out[k - g->n_in] = H->call[1].out[k - g->n_in], H->call[3].out[k - g->n_in] = H->call[0].out[k - g->n_in];
    else H->call[2].space = H->call[1].space, H->call[3].space = H->call[0].space;
    if (!mgi_host_one(H, 2, 0, "with one other buffer") || !mgi_host_one(H, 0, 0, "with the buffers of the call before the last")) return 0;
  }
  if (H->n->two && !mgi_host_two(H)) return 0;
  for (int k = 1; k <= calls && k <= 64; k++)
    if (!mgi_host_one(H, 0, k, NULL)) return 0;
  return 1;
}
/* All ways to launch.  1: nothing was found; else the record says what.  last: the last kernel that is launched, and its grid. */
/* A launch of no blocks at sizes of a family; *launches: of kernels.  Its status. */
MGI_FN int mgi_host_sized(mgi_host *H, mgi_launch_fn launch, const int64_t *sym, uint64_t *launches) {
  mgi_check_entry n = *H->n;
  mgi_emulator *m = &H->m[0];
  n.sym = sym;
  mgi_check_job_of(H->t, H->n, &H->call[0], H->space, H->r, m);
  m->dry = 1, m->other = m;
  m->notes = H->notes[0], m->notes_size = MGI_HOST_NOTES;
  if (n.setup(m) != (H->t->F != NULL)) return -1;
  const int rc = mgi_check_launch(&n, launch, H->call[0].in, H->call[0].out, H->call[0].space, H->call[0].stream);
  *launches = (uint64_t)m->launches;
  return rc;
}
/* Sizes out of their bounds: an error, and nothing is launched. */
MGI_FN int mgi_host_bounds(mgi_host *H) {
  const mg_graph *f = H->t->family;
  int64_t sym[MG_MAX_SYMBOLS];
  char text[120];
  for (uint32_t k = 0; f && k < 2 * f->n_symbols; k++) {
    const mg_symbol *s = &f->symbol[k / 2];
    uint64_t launches = 0;
    memcpy(sym, H->t->sym, f->n_symbols * sizeof *sym);
    const mg_symbol whole = H->t->range ? mg_range_symbol(H->t->range, H->t->n_ranges, k / 2) : *s;
    sym[k / 2] = k % 2 ? whole.last + 1 : whole.least - 1;
    if (mgi_host_sized(H, H->launch, sym, &launches) && !launches) continue;
    snprintf(text, sizeof text, " takes %.60s = %lld, which is out of its bounds", s->name, (long long)sym[k / 2]);
    return mgi_host_differs(H, text);
  }
  return 1;
}
/* Calls at other sizes come before all others: what is kept of them must not be taken for the next one's. */
MGI_FN void mgi_host_before(mgi_host *H) {
  const mg_graph *f = H->t->family;
  int64_t sym[MG_MAX_SYMBOLS];
  uint64_t launches;
  for (uint32_t k = 0; f && k < f->n_symbols; k++) {
    const int64_t most = H->t->range ? mgi_cu_ranges_greatest(H->t->range, H->t->n_ranges, H->t->at, k) : f->symbol[k].last;
    sym[k] = H->t->sym[k] == most ? f->symbol[k].least : most;
  }
  if (f) mgi_host_sized(H, H->n->launch, sym, &launches);
  if (f && H->n->launch_pdl) mgi_host_sized(H, H->n->launch_pdl, sym, &launches);
}
MGI_FN int mgi_check_host(const mgi_check_task *t, const mgi_check_entry *n, mgi_check_record *r, mgi_emulator *last) {
  mgi_host H;
  char *room = (char *)malloc(3 * (size_t)MGI_HOST_NOTES);
  int ok = room != NULL;
  memset(&H, 0, sizeof H);
  mgi_check_entry still = *n; /* what is handed over is told by where it is */
  still.still = 1;
  H.t = t, H.n = &still, H.r = r;
  H.space = n->workspace();
  if (!ok) r->status = mg_fail(&r->error, MG_NO_MEMORY, "mg_cuda_check", "no memory");
  H.first = room, H.notes[0] = room + MGI_HOST_NOTES, H.notes[1] = room + 2 * (size_t)MGI_HOST_NOTES;
  for (int k = 0; k < 2 && ok; k++) {
    ok = mgi_check_buffers(t, n, H.space, k, 0, &H.call[k], r);
    H.call[k].stream = &H.call[k];
  }
  if (ok) mgi_host_before(&H);
  for (int way = 0; way < 3 && ok; way++) { /* with cuBLAS only where something is left to it */
    H.launch = way == 1 ? n->launch_pdl : n->launch;
    H.which = way == 1 ? "_pdl" : "";
    H.blas = way == 2;
    if (!H.launch || (H.blas && !strstr(t->text, "mg_cublas("))) continue;
    ok = mgi_host_way(&H);
    if (ok && way < 2) ok = mgi_host_bounds(&H);
    if (ok && !way && !mgi_host_one(&H, 0, 0, NULL)) ok = 0;
    if (ok && !way) *last = H.m[0];
  }
  free(room);
  return ok;
}

/* ---- what emulation takes
   Counted, not timed: multiplications of tensor cores, by warpgroups or by warps, elements moved, elements of all else, and operators
   that threads step through, each by what it takes of the first's kind: one of these is 2 ns over a field and 7 ns over floats on the
   machine that they were fitted on, over examples/ and tests/bench/programs. */
enum { MGI_COST_GROUPED, MGI_COST_PRODUCTS, MGI_COST_MOVED, MGI_COST_ELEMENTS, MGI_COST_STEPS, MGI_COSTS };
static const double mgi_check_weight[MGI_COSTS] = {1, 1.8, 14, 25, 50};
#define MGI_COST_WHOLE 2.5 /* of a whole operator every element is addressed alone */

/* ---- blocks at full size
   Where all blocks run at reduced sizes only, some run once more at full size, over one pair and over floats: at places of the grid (the
   axes over which nothing is merged: along the others all blocks of the group run) that are the first, the last, edges and
   others at random.  What they store is compared with a part of the µGraph's outputs (mg_eval_part).  Inputs are functions
   of the element's number: only what such a part reads is filled in, and pages of the rest are never touched.  It is the last
   kernel of which some blocks run; what stands before it runs whole. */
typedef struct mgi_sample { int64_t at[4]; mg_box want[MG_MAX_OUT]; } mgi_sample; /* by axis 1, 2, 3 */
enum { MGI_SAMPLE_WORK = 60000000, MGI_SAMPLE_SHARE = 2000000000, MGI_SAMPLE_MIB = 1536, MGI_SAMPLE_ROOM_MIB = 32768, MGI_SAMPLE_FEW = 64, MGI_SAMPLE_PARTS = 8 }; /* WORK: of kernels that run whole, and of further places; SHARE: half of what the first and the last places take, of all kernels of a file; MIB: touched; ROOM: of whole tensors; FEW: elements of an output at a place; PARTS: of what is left, one is the next operator's */

/* The box of output tensor `to` that the store `o` of the block graph writes at a place of the grid; merged: by axis bits.  Chunks are
   those of `whole`, that kernel in the family of which it is a member, or itself, which stores `all` there. */
MGI_FN int mgi_sample_box(const mg_graph *sub, const mg_op_node *o, const mg_shape *to, const mg_graph *whole, const mg_shape *all, const int64_t *at, unsigned merged, mg_box *box) {
  memset(box, 0, sizeof *box);
  for (uint32_t a = 1; a <= 3; a++)
    if (sub->axes[a].extent > 1 && !(merged >> a & 1) && o->map.to[a] < 0 && at[a]) return 1; /* another block stores it */
  for (int d = 0; d < to->rank; d++) {
    int64_t lo = 0, n = to->dim[d], chunk = all->dim[d];
    int every = 0, cut = 0;
    for (uint32_t a = 1; a <= 3; a++)
      if (o->map.to[a] == d && sub->axes[a].extent > 1) *(merged >> a & 1 ? &every : &cut) = 1;
    if (every && cut) return 0;
    for (uint32_t a = 1; a <= 3 && cut; a++) {
      if (o->map.to[a] != d) continue;
      chunk = mg_ceil_div(chunk, whole->axes[a].extent);
      const int64_t from = at[a] * chunk < n ? at[a] * chunk : n;
      lo += from;
      n = n - from < chunk ? n - from : chunk;
    }
    box->lo[d] = lo;
    box->hi[d] = lo + n;
    if (!n) {
      memset(box, 0, sizeof *box);
      return 1;
    }
  }
  return 1;
}
/* mgi_given_real, of the task's scalars. */
MGI_FN int mgi_given_filled(const mgi_check_task *t, const mg_tensor_info *x, void *given, int64_t j, int64_t i) {
  if (!t->F || !x->fill) return mgi_given_real(x, given, j, i);
  ((mg_fv *)given)[j] = mg_ff_const(t->F, mg_rat(mg_filled(x, i), 1));
  return 1;
}
/* Fills in what a box of input k holds: elements of the field, or normal ones as mgi_tensors_real's. */
MGI_FN void mgi_sample_fill(const mgi_check_task *t, const mgi_tensors *x, uint32_t k, const mg_box *b, void *given) {
  const mgi_filler f = mgi_filler_of(t->g, k);
  const mg_tensor_info *o = f.x;
  const int64_t n = mg_box_elements(b, o->shape.rank);
  const double scale = mgi_cd_scale(&o->shape);
  for (int64_t j = 0; j < n; j++) {
    const int64_t i = mgi_box_place(&o->shape, b, j);
    uint64_t state = mgi_filler_state(&f, t->seed, i);
    uint32_t bits;
    if (mgi_given_filled(t, o, given, j, i) || mgi_given_index(&f, t->seed, given, j, i, x->in[k])) continue;
    if (t->F) {
      const mg_fv v = mg_ff_random(t->F, &state);
      ((mg_fv *)given)[j] = v, bits = mg_ff_pack(t->F, v);
    } else ((double *)given)[j] = mgi_cd_rounded(o->dtype, (float)(scale * mgi_cd_normal(&state)), &bits);
    mgi_filler_put(&f, x->in[k], i, bits);
  }
}
/* A check of sampled places of the last kernel's grid at full size. */
typedef struct mgi_sampler {
  const mgi_check_task *t;
  const mg_graph *g, *sub;   /* sub: that kernel's; NULL: a whole operator's */
  mgi_check_entry n;
  mgi_tensors x;
  mgi_emulator m;
  mgi_sample sample[16];
  int n_samples, before;     /* 1: there are kernels before it, which run whole */
  int alone;                 /* 1: g is one kernel of the file's program, whose tensors are `program`; no other runs */
  unsigned merged;           /* axes over which accumulators merge, as bits */
  int of[MG_MAX_OUT];        /* the number of each output's store; -1: made before */
  double work, spent, most;  /* operations of the kernels before; so far; that its first and last place may take */
  int strided;               /* 1: its grid is not the µGraph's: all of it runs, not the blocks of a place */
  mgi_emulator last;         /* the last kernel that is launched, and its grid */
  mgi_call call;
  size_t space_bytes, unit;  /* unit: bytes of a value */
  double sums[MG_MAX_OUT][2];
  char noted[MG_MAX_OUT][sizeof((mgi_check_record *)0)->difference]; /* the first of an output's places with few elements that is off by itself */
} mgi_sampler;

/* The last operator of g that is a kernel. */
MGI_FN uint32_t mgi_cd_last(const mg_graph *g) {
  uint32_t op = g->n_ops - 1;
  while (op > 1 && mg_renames(g, op)) op--;
  return op;
}
/* Draws the places of operator `which` of the task's graph, none twice; 0 if what one stores is no box. */
MGI_FN int mgi_sample_places(mgi_sampler *S, const mg_graph *task, uint32_t which, mgi_check_record *r) {
  const mg_graph *g = S->g, *sub = S->sub, *family = S->t->family ? S->t->family : task;
  const mg_op_node *last = &g->ops[mgi_cd_last(g)], *kernel = &family->ops[which];
  int most = S->t->samples > 16 ? 16 : S->t->samples, outs = 0;
  unsigned stored = 0;
  uint32_t store[MG_MAX_OUT];
  uint64_t state = S->t->seed;
  for (uint32_t k = 1; k < sub->n_ops; k++) {
    const mg_op_node *o = &sub->ops[k];
    if (o->code == MG_OP_STORE && outs < MG_MAX_OUT) {
      store[outs++] = k;
      for (uint32_t a = 1; a <= 3; a++)
        if (o->map.to[a] >= 0) stored |= 1u << a;
    }
    for (uint32_t a = 1; a <= 3; a++)
      if (o->code == MG_OP_ACCUM && o->map.to[a] != MG_MAP_NONE && sub->axes[a].extent > 1) S->merged |= 1u << a;
  }
  for (uint32_t k = 0; k < g->n_out; k++) {
    S->of[k] = -1;
    for (int j = 0; j < outs; j++)
      if (last->out[j].id == g->out[k].id) S->of[k] = j;
  }
  for (int tries = 0; S->n_samples < most && tries < 8 * most; tries++) {
    mgi_sample *s = &S->sample[S->n_samples];
    int again = 0;
    memset(s, 0, sizeof *s);
    for (uint32_t a = 1; a <= 3; a++) {
      const int64_t extent = sub->axes[a].extent, any = (int64_t)(mgi_random(&state) % (uint64_t)(extent > 0 ? extent : 1));
      if (extent > 1 && !(S->merged >> a & 1) && (stored >> a & 1)) s->at[a] = tries == 0 ? 0 : tries == 1 ? extent - 1 : tries == 2 ? (a == 1 ? extent - 1 : 0) : tries == 3 ? (a == 1 ? 0 : extent - 1) : any;
    }
    for (int k = 0; k < S->n_samples; k++) again |= !memcmp(s->at, S->sample[k].at, sizeof s->at);
    for (uint32_t k = 0; k < g->n_out; k++) {
      const mg_shape *shape = &mg_tensor_of(g, g->out[k])->shape;
      if (S->of[k] < 0) continue;
      const mg_shape *all = &family->tensors[kernel->out[S->of[k]].id].shape;
      if (!mgi_sample_box(sub, &sub->ops[store[S->of[k]]], shape, kernel->sub, all, s->at, S->merged, &s->want[k])) {
        snprintf(r->unsampled, sizeof r->unsampled, "a dimension of %.60s is cut over merged and other axes", mg_tensor_of(g, g->out[k])->name);
        return 0;
      }
    }
    S->n_samples += !again;
    for (uint32_t k = 0; k < g->n_out && !tries && !S->t->F; k++) { /* what is judged by all places takes more of them */
      const mg_shape *shape = &mg_tensor_of(g, g->out[k])->shape;
      const int64_t elements = mg_box_elements(&s->want[k], shape->rank);
      if (S->of[k] >= 0 && elements < MGI_SAMPLE_FEW && elements < mg_shape_elements(shape)) most = 16;
    }
  }
  return 1;
}
/* The bytes of all inputs and outputs; what: which of them has most, and how many. */
MGI_FN double mgi_check_tensors(const mg_graph *g, char *what, size_t size) {
  double all = 0, most = -1;
  for (uint32_t k = 0; k < g->n_in + g->n_out; k++) {
    const mg_tensor_info *o = mg_tensor_of(g, k < g->n_in ? g->in[k] : g->out[k - g->n_in]);
    const double bytes = (double)mg_shape_elements(&o->shape) * mg_dtype_bytes(o->dtype);
    all += bytes;
    if (bytes > most && what) snprintf(what, size, "%.60s has %.0f bytes", o->name, bytes);
    if (bytes > most) most = bytes;
  }
  return all;
}
/* 0 if the tensors are too large, or the kernels before the last too much work. */
MGI_FN int mgi_sample_affordable(mgi_sampler *S, mgi_check_record *r) {
  const mg_graph *g = S->g;
  const double bytes = mgi_check_tensors(g, NULL, 0);
  mg_box all[MG_MAX_OUT];
  mg_part part;
  const int most = S->before ? MGI_SAMPLE_MIB : MGI_SAMPLE_ROOM_MIB;
  if (bytes > most * 1048576.0) {
    char what[120];
    mgi_check_tensors(g, what, sizeof what);
    snprintf(r->unsampled, sizeof r->unsampled, "its tensors are %.0f MiB, the limit is %d: %.80s", bytes / 1048576, most, what);
    return 0;
  }
  if (!S->before) return 1;
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_shape *shape = &mg_tensor_of(g, g->out[k])->shape;
    memset(&all[k], 0, sizeof all[k]);
    for (int d = 0; d < shape->rank; d++) all[k].hi[d] = shape->dim[d];
  }
  r->status = mg_part_of(g, all, &part, &r->error);
  if (r->status != MG_OK) return 0;
  S->work = part.work;
  mg_part_free(&part);
  if (S->work > MGI_SAMPLE_WORK) snprintf(r->unsampled, sizeof r->unsampled, "the kernels before the last would have to run whole: %.2g operations, the limit is %.2g", S->work, (double)MGI_SAMPLE_WORK);
  return S->work <= MGI_SAMPLE_WORK;
}
/* Memory for whole tensors and the workspace, which the emulator watches; 0 if there is not as much. */
MGI_FN int mgi_sample_open(mgi_sampler *S, mgi_check_record *r) {
  const mg_graph *g = S->g;
  mgi_tensors *x = &S->x;
  S->space_bytes = S->n.workspace();
  if (!mgi_check_buffers(S->t, &S->n, S->space_bytes, 1, 2, &S->call, r)) { /* pages that are not touched cost nothing */
    snprintf(r->unsampled, sizeof r->unsampled, "%.100s", r->error.msg);
    r->status = MG_OK;
    return 0;
  }
  S->call.stream = &S->call;
  for (uint32_t k = 0; k < g->n_in; k++) x->in[k] = (void *)(uintptr_t)S->call.in[k];
  for (uint32_t k = 0; k < g->n_out; k++) x->out[k] = S->call.out[k];
  mgi_check_job_of(S->t, &S->n, &S->call, S->space_bytes, r, &S->m);
  return 1;
}
/* Draws the inputs that place q's part needs, and evaluates it; 0 if that is too much. */
MGI_FN int mgi_sample_expect(mgi_sampler *S, int q, mg_part *part, mgi_check_record *r) {
  const mg_graph *g = S->g;
  const mg_domain d = S->t->F ? mg_domain_field(S->t->F) : mg_domain_real();
  const void *given[MG_MAX_IN];
  double held = part->elements, limit = q == 0 || (q == 1 && S->t->F) ? S->most : (double)MGI_SAMPLE_WORK;
  for (uint32_t k = 0; k < g->n_in; k++) held += (double)mg_box_elements(&part->box[g->in[k].id], mg_tensor_of(g, g->in[k])->shape.rank);
  const double spent = S->spent + part->work + S->work;
  if (spent > limit || held * (double)S->unit > MGI_SAMPLE_MIB * 1048576.0) {
    snprintf(r->unsampled, sizeof r->unsampled, "%.2g operations and %.0f MiB for %s place are beyond the limits of %.2g and %d", part->work, held * (double)S->unit / 1048576, q ? "one more" : "the first", limit,
             (int)MGI_SAMPLE_MIB);
    return 0;
  }
  S->spent = spent;
  for (uint32_t k = 0; k < g->n_in && r->status == MG_OK; k++) {
    const mg_tensor_info *o = mg_tensor_of(g, g->in[k]);
    mg_box *b = &part->box[g->in[k].id];
    for (int e = 0; e < o->shape.rank && S->before; e++) b->lo[e] = 0, b->hi[e] = o->shape.dim[e];
    S->x.given[k] = malloc((size_t)mg_box_elements(b, o->shape.rank) * S->unit + 16);
    given[k] = S->x.given[k];
    if (!S->x.given[k]) r->status = mg_fail(&r->error, MG_NO_MEMORY, o->name, "no memory for a part of it");
    else mgi_sample_fill(S->t, &S->x, k, b, S->x.given[k]);
  }
  for (uint32_t k = 0; k < g->n_out && r->status == MG_OK; k++) {
    const mg_tensor_info *o = mg_tensor_of(g, g->out[k]);
    const int64_t count = mg_box_elements(&part->box[g->out[k].id], o->shape.rank);
    S->x.expected[k] = malloc((size_t)count * S->unit + 16);
    if (!S->x.expected[k]) r->status = mg_fail(&r->error, MG_NO_MEMORY, o->name, "no memory for a part of it");
  }
  if (r->status == MG_OK) r->status = mg_eval_part(g, &d, part, given, S->x.expected, &r->error);
  return 1;
}
/* Launches the blocks of place q; the second launch of the first place finds the workspace as the first has left it.  0 if it cannot. */
MGI_FN int mgi_sample_launch(mgi_sampler *S, int q, const char *only, mgi_check_record *r) {
  const mg_graph *g = S->g;
  const mgi_sample *s = &S->sample[q];
  mgi_emulator *m = &S->m;
  int rc = 0;
  m->only = S->strided ? NULL : only;
  m->alone = S->alone;
  m->seed = q < 6 ? (uint64_t)(q + 2) : (uint64_t)q + (S->t->seed << 8);
  for (uint32_t a = 1; a <= 3; a++) {
    const int64_t blocks = S->sub ? S->sub->axes[a].extent : m->last_grid[a - 1];
    m->grid[a - 1] = S->strided || !S->sub ? 0 : blocks;
    m->lo[a - 1] = S->merged >> a & 1 ? 0 : s->at[a];
    m->hi[a - 1] = S->merged >> a & 1 ? blocks : s->at[a] + 1;
  }
  if (r->status == MG_OK && S->n.setup(m) != (S->t->F != NULL)) r->status = mg_fail(&r->error, MG_BAD_INPUT, "emitted file", "it was compiled with another version of mirage_cuda.cuh: include_dir has to name this one's");
  if (r->status != MG_OK) return 0;
  for (int again = q == 0 && S->space_bytes; again >= 0 && !rc && !m->error[0]; again--) {
    for (uint32_t k = 0; k < g->n_out; k++)
      for (int64_t j = 0, count = mg_box_elements(&s->want[k], mg_tensor_of(g, g->out[k])->shape.rank); j < count; j++)
        mgi_cd_put(S->x.out[k], mg_tensor_of(g, g->out[k])->dtype, mgi_box_place(&mg_tensor_of(g, g->out[k])->shape, &s->want[k], j), 0xFFFFFFFFu);
    m->blocks = 0;
    rc = mgi_check_launch(&S->n, S->n.launch_pdl && q % 2 ? S->n.launch_pdl : S->n.launch, S->call.in, S->call.out, S->call.space, S->call.stream);
    if (!rc && !m->error[0] && !S->alone) S->n.beside();
  }
  if (m->unmodelled) {
    r->status = mg_fail(&r->error, MG_UNSUPPORTED, "emitted file", "link 2 does not model %.200s", m->error);
    return 0;
  }
  if (m->waits) return 0;
  if (!strncmp(m->error, "no memory", 9)) {
    snprintf(r->unsampled, sizeof r->unsampled, "%.150s", m->error);
    return 0;
  }
  if (rc || m->error[0]) {
    snprintf(r->difference, sizeof r->difference, "at full size the launch fails (%d, fiber order %llu): %.350s", rc, (unsigned long long)m->seed, m->error);
    r->race = m->race;
    r->status = MG_NOT_FOUND;
  }
  return 1;
}
/* What place q has stored against what was expected. */
MGI_FN void mgi_sample_compare(mgi_sampler *S, int q, const mg_part *part, mgi_check_record *r) {
  const mg_graph *g = S->g;
  const mgi_sample *s = &S->sample[q];
  const mgi_emulator *m = &S->m;
  int64_t blocks = 1;
  for (uint32_t k = 0; k < g->n_out && r->status == MG_OK; k++) {
    const int64_t elements = mg_box_elements(&s->want[k], mg_tensor_of(g, g->out[k])->shape.rank);
    if (S->of[k] < 0 || elements <= 0) continue;
    const mg_box *whole = &part->box[g->out[k].id];
    const int same = S->t->F ? mgi_check_words(S->t, &S->x, (int)k, &s->want[k], whole, m->seed, S->n.writer, r)
                             : mgi_check_reals(S->t, &S->x, (int)k, &s->want[k], whole, m->seed, S->n.writer, elements < MGI_SAMPLE_FEW ? S->sums[k] : NULL, r);
    if (same && !r->difference[0]) continue;
    const size_t used = strlen(r->difference);
    snprintf(r->difference + used, sizeof r->difference - used, "; at full size");
    if (!same) r->status = MG_NOT_FOUND;
    else if (!S->noted[k][0]) strcpy(S->noted[k], r->difference);
    if (same) r->difference[0] = 0;
  }
  for (int a = 0; a < 3; a++) blocks *= m->hi[a] - m->lo[a];
  r->sampled += S->before ? (uint64_t)blocks : m->blocks;
}
/* All places of S, and the judgement of those that are judged together. */
MGI_FN void mgi_sample_all(mgi_sampler *S, const char *name, mgi_check_record *r) {
  const mg_graph *g = S->g;
  for (int q = 0, more = 1; q < S->n_samples && more && r->status == MG_OK; q++) {
    mg_part part;
    r->status = mg_part_of(g, S->sample[q].want, &part, &r->error);
    if (r->status != MG_OK) break;
    more = mgi_sample_expect(S, q, &part, r);
    const int ran = more && r->status == MG_OK && mgi_sample_launch(S, q, name, r), all = !ran && S->m.waits;
    if (ran) mgi_sample_compare(S, q, &part, r);
    for (uint32_t k = 0; k < g->n_in; k++) free(S->x.given[k]), S->x.given[k] = NULL;
    for (uint32_t k = 0; k < g->n_out; k++) free(S->x.expected[k]), S->x.expected[k] = NULL;
    mg_part_free(&part);
    if (!all || r->status != MG_OK) continue;
    if (S->strided || S->alone) snprintf(r->unsampled, sizeof r->unsampled, "its blocks wait for others, of which only some run");
    else { /* all blocks run, from a workspace as the first call's */
      S->strided = S->before = 1;
      if (mgi_sample_affordable(S, r)) q--, memset(S->call.space, 0, S->space_bytes);
      else snprintf(r->unsampled, sizeof r->unsampled, "its blocks wait for others, and all of them are too many to run");
    }
    more = !r->unsampled[0];
  }
  for (uint32_t k = 0; k < g->n_out && r->status == MG_OK; k++) {
    const double error = mgi_cd_relative(S->sums[k][0], S->sums[k][1]);
    if (!(error <= r->float_error)) r->float_error = error;
    if (error <= S->t->tolerance) continue;
    strcpy(r->difference, S->noted[k]);
    r->status = MG_NOT_FOUND;
  }
}

/* ---- kernels alone
   Where the kernels before the last are too much to run whole, or the last is a whole operator's, each graph-defined kernel runs
   alone at its places: what it reads of kernels before it is drawn too, at its place in the workspace, which the emulator tells
   from the arguments of the launch, and the file from the names of the parameters.  The last kernel comes first: rows' shifts,
   which the kernels before it leave in the workspace, are then 0. */
enum { MGI_ALONE_NAME = 100 };
typedef struct mgi_alone { char *text; char (*name)[MGI_ALONE_NAME]; const char **at; uint32_t n; } mgi_alone; /* the program as text; of tensors their names in it; of operators where they begin */
/* The text's lines are those of the inputs, then of the operators in their order, each up to the next line at the margin. */
MGI_FN int mgi_alone_open(const mg_graph *g, mgi_alone *A) {
  uint32_t op = 1, in = 0;
  mg_error ignored;
  memset(A, 0, sizeof *A);
  if (mg_print(g, &A->text, &ignored) != MG_OK) return 0;
  A->name = (char(*)[MGI_ALONE_NAME])calloc(g->n_tensors, MGI_ALONE_NAME);
  A->at = (const char **)calloc(g->n_ops + 1, sizeof *A->at);
  if (!A->name || !A->at) return 0;
  for (const char *p = A->text; *p;) {
    const char *end = strchr(p, '\n'), *next = end ? end + 1 : p + strlen(p);
    const int inside = *p == ' ' || *p == '}' || *p == '#' || *p == '\n';
    if (!strncmp(p, "input ", 6) && in < g->n_in) snprintf(A->name[g->in[in++].id], MGI_ALONE_NAME, "%.*s", (int)strcspn(p + 6, " :"), p + 6);
    else if (!inside && strncmp(p, "program ", 8) && strncmp(p, "output ", 7) && strncmp(p, "input ", 6)) {
      if (op >= g->n_ops) return 0;
      const char *left = p;
      for (int k = 0; k < g->ops[op].n_out; k++, left += strspn(left, ", ")) {
        const size_t n = strcspn(left, ", =");
        snprintf(A->name[g->ops[op].out[k].id], MGI_ALONE_NAME, "%.*s", (int)n, left);
        left += n;
      }
      A->at[op++] = p;
    } else if (!strncmp(p, "output ", 7) && !A->at[op]) A->at[op] = p;
    p = next;
  }
  A->n = op;
  return op == g->n_ops && A->at[op];
}
MGI_FN void mgi_alone_free(mgi_alone *A) {
  mg_string_free(A->text);
  free(A->name);
  free((void *)A->at);
}
/* 1 if operator o of g reads what operator k makes, or slices of it that are addresses. */
MGI_FN int mgi_alone_reads(const mg_graph *g, uint32_t o, uint32_t k) {
  for (int j = 0; j < g->ops[o].n_in; j++)
    for (mg_tensor t = g->ops[o].in[j]; t.id != mg_sliced_from(g, t).id; t = g->ops[g->tensors[t.id].op].in[0])
      if (g->tensors[t.id].op == k) return 1;
  return 0;
}
/* Operator o as a program, of it and of slices that are addresses for it; NULL if it cannot be told apart. */
MGI_FN mg_graph *mgi_alone_program(const mg_graph *g, const mgi_alone *A, uint32_t o) {
  const mg_op_node *op = &g->ops[o];
  const size_t room = strlen(A->text) + 4096;
  char *text = (char *)malloc(room);
  mg_tensor in[MG_MAX_IN];
  mg_graph *one = NULL;
  mg_error ignored;
  size_t n = 0;
  uint32_t ops = 2;
  if (!text) return NULL;
  n += (size_t)snprintf(text + n, room - n, "program %s\n", g->name);
  for (int k = 0; k < op->n_in; k++) {
    const mg_tensor_info *x = mg_tensor_of(g, in[k] = mg_sliced_from(g, op->in[k]));
    int again = 0;
    for (int j = 0; j < k; j++) again |= in[j].id == in[k].id;
    if (again) continue;
    n += (size_t)snprintf(text + n, room - n, "input %s : %s[", A->name[in[k].id], mg_dtype_name(x->dtype));
    for (int d = 0; d < x->shape.rank; d++) n += (size_t)snprintf(text + n, room - n, "%s%lld", d ? ", " : "", (long long)x->shape.dim[d]);
    n += (size_t)snprintf(text + n, room - n, x->fill ? "] = %s" : "] @ [", mg_fill_name((mg_filling)x->fill));
    for (int d = 0; d < x->shape.rank && !x->fill; d++) n += (size_t)snprintf(text + n, room - n, "%s%d", d ? ", " : "", (int)x->order[d]);
    n += (size_t)snprintf(text + n, room - n, x->fill ? "\n" : "]\n");
  }
  for (uint32_t k = 1; k <= o; k++) {
    if (k != o && !mgi_alone_reads(g, o, k)) continue;
    n += (size_t)snprintf(text + n, room - n, "%.*s", (int)(A->at[k + 1] - A->at[k]), A->at[k]);
    ops += k != o;
  }
  for (int k = 0; k < op->n_out; k++) n += (size_t)snprintf(text + n, room - n, "output %s\n", A->name[op->out[k].id]);
  if (mg_parse(text, n, "a kernel alone", NULL, &one, &ignored) != MG_OK || one->n_ops != ops || one->ops[ops - 1].code != op->code) mg_graph_free(one), one = NULL;
  free(text);
  for (int k = 0; one && k < op->n_in + op->n_out; k++) { /* in device memory it is as in g */
    const mg_tensor t = k < op->n_in ? in[k] : op->out[k - op->n_in];
    const mg_tensor same = mg_find(one, A->name[t.id]);
    if (same.id && mg_wide(g, t)) mgi_cu_widen(one, same.id);
  }
  return one;
}
/* Which parameter of the kernel has this name behind the prefix; -1: none. */
MGI_FN int mgi_alone_parameter(const char *text, const char *kernel, const char *prefix, const char *name) {
  char want[MGI_ALONE_NAME + 8], head[320];
  snprintf(want, sizeof want, "%s%s", prefix, name);
  snprintf(head, sizeof head, " void %s(", kernel);
  const char *p = strstr(text, head);
  for (int k = 0; p && *p != ')'; k++) {
    p++;
    const char *end = p + strcspn(p, ",){"), *word = end;
    if (k == 0) p = strchr(p, '(') + 1, end = p + strcspn(p, ",){"), word = end;
    while (word > p && (word[-1] == '_' || (word[-1] >= '0' && word[-1] <= '9') || (word[-1] >= 'a' && word[-1] <= 'z') || (word[-1] >= 'A' && word[-1] <= 'Z'))) word--;
    if ((size_t)(end - word) == strlen(want) && !strncmp(word, want, (size_t)(end - word))) return k;
    p = end;
  }
  return -1;
}
MGI_FN int mgi_sample_is_product(const mg_op_node *op) { return op->code == MG_OP_MATMUL || op->code == MG_OP_CONCAT_MATMUL; }
/* What a block of whole operator o takes, of the weights' unit; grid: of its launch, NULL: it is not known, and is of one turn a
   thread.  A product's tiles are of 64 columns, and of 64 rows or as many as there are by 16. */
MGI_FN double mgi_sample_block(const mg_graph *g, uint32_t o, const int64_t *grid) {
  const mg_op_node *op = &g->ops[o];
  const mg_shape *made = &mg_tensor_of(g, op->out[0])->shape, *read = &mg_tensor_of(g, op->in[0])->shape;
  if (mgi_sample_is_product(op)) {
    const int64_t rows = mg_round_up(made->dim[made->rank - 2], 16), columns = made->dim[made->rank - 1];
    double deep = 0;
    for (int k = 0; k < op->n_in / 2; k++) deep += (double)mg_tensor_of(g, op->in[k])->shape.dim[read->rank - 1];
    return mgi_check_weight[MGI_COST_PRODUCTS] * MGI_COST_WHOLE * (double)(rows < 64 ? rows : 64) * (double)(columns < 64 ? columns : 64) * deep;
  }
  const int softmax = mg_softmax_dim(g, o), per = mg_library_items(op->code, softmax);
  const double items = (double)mg_shape_elements(made) / (double)(softmax >= 0 ? made->dim[softmax] : 1);
  const double deep = softmax >= 0 ? (double)made->dim[softmax] : per < 256 ? (double)mg_shape_elements(read) / items : 1;
  return mgi_check_weight[MGI_COST_ELEMENTS] * MGI_COST_WHOLE * ((grid ? items / ((double)grid[0] * per) : 0) + 1) * per * deep;
}
enum { MGI_SAMPLE_PRODUCT = 2, MGI_SAMPLE_EACH = 3 }; /* places of a whole operator: of a product, of any other */
/* What the places of all whole operators take; *which: the operator of the most. */
MGI_FN double mgi_sample_whole(const mg_graph *g, uint32_t *which) {
  double all = 0, most = 0;
  for (uint32_t o = 1; o < g->n_ops; o++) {
    if (g->ops[o].code == MG_OP_GRAPH || mg_renames(g, o)) continue;
    const double one = (mgi_sample_is_product(&g->ops[o]) ? MGI_SAMPLE_PRODUCT : MGI_SAMPLE_EACH) * mgi_sample_block(g, o, NULL);
    all += one;
    if (which && one >= most) *which = o;
    if (one > most) most = one;
  }
  return all;
}
/* Places of a whole operator's kernel: elements of the first and the last that it makes, and of one between.  An element, or a warp a
   row, is that of mg_each_element and its like, with all blocks that share it; of a product the first and the last block.  *took: what
   these blocks take.  0: it is too much. */
MGI_FN int mgi_sample_places_whole(mgi_sampler *S, const mg_graph *program, uint32_t o, double *took) {
  const mg_tensor_info *x = mg_tensor_of(S->g, S->g->out[0]);
  const mg_op_node *op = &S->g->ops[1];
  const int product = mgi_sample_is_product(op), softmax = mg_softmax_dim(program, o), per = mg_library_items(op->code, softmax), places = product ? MGI_SAMPLE_PRODUCT : MGI_SAMPLE_EACH;
  const int64_t along = softmax >= 0 ? x->shape.dim[softmax] : 1, items = mg_shape_elements(&x->shape) / along, *grid = S->m.last_grid;
  *took = places * mgi_sample_block(program, o, grid);
  if (*took > S->most) return 0;
  S->of[0] = 0;
  if (op->code == MG_OP_ARGMAX) S->merged = 1u << 2; /* blocks along y */
  for (int q = 0; q < places; q++) {
    mgi_sample *s = &S->sample[S->n_samples];
    int64_t e = q == 0 ? 0 : q == 1 ? items - 1 : items / 2;
    if (q && e == 0) continue;
    memset(s, 0, sizeof *s);
    s->at[1] = product ? q * (grid[0] - 1) : e / per % grid[0], s->at[2] = product ? q * (grid[1] - 1) : 0, s->at[3] = product ? q * (grid[2] - 1) : 0;
    for (int d = x->shape.rank - 1; d >= 0; d--) {
      s->want[0].lo[d] = d == softmax ? q ? along - 1 : 0 : e % x->shape.dim[d];
      s->want[0].hi[d] = s->want[0].lo[d] + 1;
      if (d == x->shape.rank - 1 && d != softmax && !product) { /* and up to seven on either side, which the block makes too: one alone may be right by chance */
        const int64_t before = e % per < s->want[0].lo[d] ? e % per : s->want[0].lo[d], left = x->shape.dim[d] - s->want[0].hi[d], behind = per - 1 - e % per < left ? per - 1 - e % per : left;
        s->want[0].lo[d] -= before < 7 ? before : 7, s->want[0].hi[d] += behind < 7 ? behind : 7;
      }
      if (d != softmax) e /= x->shape.dim[d];
    }
    S->n_samples++;
  }
  return 1;
}
/* Kernel o of the file alone: S has the program's tensors.  What keeps it from running is put into why. */
MGI_FN void mgi_sample_alone(mgi_sampler *S, const mgi_alone *A, uint32_t o, const char *name, mgi_check_record *r, int *ran, char *why, size_t n) {
  const mg_graph *program = S->t->g;
  const int shifts = mgi_alone_parameter(S->t->text, name, "", "made_shifts") >= 0, is_last = o == mgi_cd_last(program);
  mgi_check_task task = *S->t;
  mgi_sampler one = *S;
  mg_graph *g = mgi_alone_program(program, A, o);
  if (!g) {
    snprintf(why, n, "it is no program by itself");
    return;
  }
  const mg_op_node *op = &g->ops[g->n_ops - 1];
  const int whole = op->code != MG_OP_GRAPH;
  if (!S->t->F && (shifts || (!is_last && !S->t->apart) || whole)) { /* values under maxima of their own are others; floats of the rest are much work */
    mg_graph_free(g);
    return;
  }
  task.g = g;
  if (!is_last) task.samples = 2; /* the first and the last */
  one.t = &task, one.g = g, one.sub = whole ? NULL : op->sub, one.before = 0, one.alone = 1, one.n_samples = 0, one.merged = 0, one.work = one.spent = 0;
  const int fits = mgi_sample_whole(program, NULL) <= S->most; /* each has its blocks */
  one.most = (S->most - S->spent) / (whole && fits ? 1 : o < MGI_SAMPLE_PARTS ? o : (int)MGI_SAMPLE_PARTS); /* else a part of what is left */
  memset(&one.x, 0, sizeof one.x);
  one.m.only = name, one.m.alone = 1;
  memset(one.m.lo, 0, sizeof one.m.lo);
  memset(one.m.hi, 0, sizeof one.m.hi);
  memset(one.m.grid, 0, sizeof one.m.grid);
  int rc = one.n.setup(&one.m) == (S->t->F != NULL) ? mgi_check_launch(&one.n, one.n.launch, one.call.in, one.call.out, one.call.space, one.call.stream) : -1; /* no block: to be told the arguments */
  for (uint32_t k = 0; k < g->n_in + g->n_out && !rc; k++) {
    const int out = k >= g->n_in, j = (int)(out ? k - g->n_in : k);
    const mg_tensor_info *x = mg_tensor_of(g, out ? g->out[j] : g->in[j]);
    if (x->fill) continue; /* no parameter */
    const int which = mgi_alone_parameter(S->t->text, name, "p_", x->name);
    const void *p = which >= 0 && which < one.m.n_arguments ? one.m.argument[which] : NULL;
    if (!p) rc = -1, snprintf(why, n, "no parameter of it is known to be %.40s", x->name);
    *(out ? &one.x.out[j] : &one.x.in[j]) = (void *)(uintptr_t)p;
  }
  if (rc && !why[0]) snprintf(why, n, "%.100s", one.m.error[0] ? one.m.error : "it cannot be launched");
  const size_t said = strlen(r->unsampled);
  const uint64_t were = r->sampled;
  double took = 0; /* the blocks of a whole operator, of which few elements are looked at */
  if (!rc && whole && !mgi_sample_places_whole(&one, program, o, &took)) snprintf(why, n, "a block of it is too much work"), rc = -1, took = 0;
  if (!rc && (whole || mgi_sample_places(&one, program, o, r))) mgi_sample_all(&one, name, r);
  *ran = r->sampled > were;
  S->spent += one.spent + took;
  if (!said && r->unsampled[0]) snprintf(why, n, "%.110s", r->unsampled), r->unsampled[0] = 0;
  mg_graph_free(g);
}
/* The first places at full size, of t's outputs; what the file says of itself is `said`'s. */
MGI_FN void mgi_check_sampled_as(const mgi_check_task *t, const mgi_check_task *said, mgi_check_record *r) {
  const mg_graph *g = t->g;
  const mg_op_node *last = &g->ops[mgi_cd_last(g)];
  mgi_sampler S;
  mgi_alone A;
  char name[300];
  r->status = MG_OK;
  memset(&S, 0, sizeof S);
  S.t = t;
  if (!mgi_check_open(t, &S.n, r) || (t->apart && !mgi_check_exports(said, &S.n, r)) || !mgi_sized_room(&S.n, r)) return;
  S.n.still = 1;
  if (!mgi_check_host(t, &S.n, r, &S.last)) return;
  const int kernels = mg_kernels(g);
  S.g = g, S.before = kernels > 1, S.unit = t->F ? sizeof(mg_fv) : sizeof(double);
  S.most = (t->F ? 2.0 : 1.0) * MGI_SAMPLE_SHARE * t->share;
  int whole = last->code == MG_OP_GRAPH;
  if (whole) {
    S.sub = last->sub;
    for (uint32_t a = 1; a <= 3; a++) S.strided |= S.last.last_grid[a - 1] != S.sub->axes[a].extent;
    S.before |= S.strided;
    whole = mgi_sample_places(&S, g, mgi_cd_last(g), r) && mgi_sample_affordable(&S, r);
    if (S.strided && r->status == MG_OK && !whole) /* right or wrong, a grid of its own is not compared */
      r->status = mg_fail(&r->error, MG_UNSUPPORTED, "emitted file", "undecided: %.80s is launched on %lld x %lld x %lld blocks, its µGraph has %lld x %lld x %lld, and at full size all of them are too many to run: %.80s", S.last.last,
                          (long long)S.last.last_grid[0], (long long)S.last.last_grid[1], (long long)S.last.last_grid[2], (long long)S.sub->axes[1].extent, (long long)S.sub->axes[2].extent,
                          (long long)S.sub->axes[3].extent, r->unsampled);
  } else snprintf(r->unsampled, sizeof r->unsampled, "its last kernel is that of a whole operator");
  if (!whole && (r->status != MG_OK || (kernels == 1 && last->code == MG_OP_GRAPH))) { /* there is no other kernel */
    r->unformed = t->F && r->status == MG_OK;
    return;
  }
  if (whole) {
    if (S.strided && S.n_samples > 2) S.n_samples = 2;
    if (mgi_sample_open(&S, r)) mgi_sample_all(&S, S.last.last, r);
    r->unformed = t->F && r->status == MG_OK && !r->sampled;
  } else {
    char left[sizeof r->unsampled] = "";
    S.before = 0;
    r->unsampled[0] = 0;
    int ok = mgi_alone_open(g, &A) && mgi_sample_affordable(&S, r) && mgi_sample_open(&S, r);
    for (uint32_t o = g->n_ops - 1; o > 0 && ok && r->status == MG_OK; o--) {
      char why[128] = "";
      int ran = 0;
      if (mg_renames(g, o)) continue;
      if (g->ops[o].code == MG_OP_GRAPH) snprintf(name, sizeof name, "%.200s_kernel%d", g->name, mg_ops_before(g, o, MG_OP_GRAPH));
      else snprintf(name, sizeof name, "%.200s_op%u_%s", g->name, (unsigned)o, mg_op_row(g->ops[o].code)->name);
      mgi_sample_alone(&S, &A, o, name, r, &ran, why, sizeof why);
      const size_t used = strlen(left);
      r->unformed += !ran && t->F && r->status == MG_OK;
      if (why[0] && r->status == MG_OK) snprintf(left + used, sizeof left - used, "%soperator %u: %s", used ? "; " : "not run: ", (unsigned)o, why);
    }
    r->unformed += !ok && t->F && r->status == MG_OK;
    if (!r->unsampled[0]) memcpy(r->unsampled, left, sizeof left);
    mgi_alone_free(&A);
  }
  r->share = S.spent / S.most * t->share;
  memset(S.x.in, 0, sizeof S.x.in); /* the emulator's */
  memset(S.x.out, 0, sizeof S.x.out);
  mgi_tensors_free(&S.x);
}
/* An output that is another name of what a kernel makes is looked at as the kernel has it. */
MGI_FN void mgi_check_sampled(const mgi_check_task *t, mgi_check_record *r) {
  mgi_check_task task = *t;
  mg_graph *g = NULL;
  mg_tensor out[MG_MAX_OUT];
  int renamed = 0;
  for (uint32_t k = 0; k < t->g->n_out; k++) renamed |= mg_renames(t->g, mg_tensor_of(t->g, t->g->out[k])->op);
  if (renamed) r->status = mg_resize(t->g, NULL, NULL, &g, &r->error);
  if (g) r->status = mg_check(g, &r->error);
  if (renamed && r->status != MG_OK) {
    mg_graph_free(g);
    return;
  }
  for (uint32_t k = 0; g && k < g->n_out; k++)
    for (out[k] = g->out[k]; mg_renames(g, mg_tensor_of(g, out[k])->op);) out[k] = mg_op_of(g, mg_tensor_of(g, out[k])->op)->in[0];
  if (g) memcpy(g->out, out, g->n_out * sizeof *out), task.g = g;
  mgi_check_sampled_as(&task, t, r);
  mg_graph_free(g);
}

/* The order-th launch takes buffers of these sets, and this workspace: all others, the first again, some of each; the workspace
   as the launch before the last has left it, or, of its own, that of the first. */
enum { MGI_CHECK_SETS = 3 };
MGI_FN void mgi_check_mix(const mg_graph *g, const mgi_call *set, int order, int sets, mgi_call *c, int *space) {
  static const char way[] = "010ab201", spaces[] = "00102102";
  const char w = order < 8 ? way[order] : (char)('0' + order % MGI_CHECK_SETS);
  for (uint32_t k = 0; k < g->n_in + g->n_out; k++) {
    const int from = (w == 'a' ? (int)(k & 1) : w == 'b' ? (int)(~k & 1) : w - '0') % sets;
    if (k < g->n_in) c->in[k] = set[from].in[k];
    else c->out[k - g->n_in] = set[from].out[k - g->n_in];
  }
  *space = (order < 8 ? spaces[order] - '0' : order / 2 % MGI_CHECK_SETS) % sets;
  c->space = set[*space].space;
  c->stream = (void *)(uintptr_t)&set[*space];
}
/* A call with the tensors of x, and a workspace. */
MGI_FN void mgi_check_own(const mg_graph *g, const mgi_tensors *x, void *space, mgi_call *c) {
  for (uint32_t k = 0; k < g->n_in; k++) c->in[k] = x->in[k];
  for (uint32_t k = 0; k < g->n_out; k++) c->out[k] = x->out[k];
  c->space = space, c->stream = c;
}
/* The outputs of a launch, for the other side of an edited file's comparison. */
MGI_FN void mgi_check_keep(const mgi_check_task *t, const mgi_tensors *x, int family) {
  char path[540];
  if (!t->keep[0] || family >= MGI_FAMILY_PEAKS) return;
  snprintf(path, sizeof path, "%s.%d", t->keep, family);
  FILE *f = fopen(path, "wb");
  if (!f) return;
  for (uint32_t k = 0; k < t->g->n_out; k++) fwrite(x->out[k], 1, x->out_bytes[k], f);
  fclose(f);
}
/* The families of inputs, one launch each. */
MGI_FN void mgi_check_families(const mgi_check_task *t, mgi_tensors *x, mgi_emulator *m, const mgi_check_entry *n, const mgi_call *c, mgi_check_record *r) {
  const mg_graph *g = t->g;
  mgi_check_task loose = *t;
  double power = 0;
  if (!t->yardstick) mgi_check_keep(t, x, MGI_FAMILY_NORMAL);
  loose.tolerance = MGI_FAMILY_TOLERANCE;
  for (int family = t->yardstick ? 0 : 1; family < MGI_FAMILIES; family++) {
    if (t->families && r->families >= t->families) { /* to know whether it would run takes evaluations */
      r->left_families += mgi_family_is_for(g, x, family);
      continue;
    }
    const int drawn = family == MGI_FAMILY_NORMAL; /* those of a family's members have its scale */
    if (!drawn && !mgi_family_reals(g, x, family, t->shifted, t->seed, &power, &r->status, &r->error)) {
      if (r->status != MG_OK) return;
      continue;
    }
    r->families++;
    m->seed = (uint64_t)family + 1;
    m->unwatched = family != MGI_FAMILY_SPREAD && family != MGI_FAMILY_ACROSS; /* else what a kernel touches does not depend on values */
    for (uint32_t k = 0; k < g->n_out; k++) memset(x->out[k], 0xFF, x->out_bytes[k]);
    if (n->setup(m) != 0) {
      r->status = mg_fail(&r->error, MG_BAD_INPUT, "emitted file", "it was compiled with another version of mirage_cuda.cuh: include_dir has to name this one's");
      return;
    }
    const int rc = mgi_check_launch(n, n->launch, c->in, c->out, c->space, c->stream);
    if (rc || m->error[0]) {
      snprintf(r->difference, sizeof r->difference, "the launch fails (%d, %s): %.350s", rc, mgi_draw_names[family], m->error);
      r->status = MG_NOT_FOUND;
      return;
    }
    r->family[family] = 0;
    mgi_check_keep(t, x, family);
    for (uint32_t k = 0; k < g->n_out; k++) {
      uint64_t unwritten = 0, undefined = 0;
      int64_t worst;
      const double error = mgi_tensors_error(g, x, (int)k, NULL, NULL, &unwritten, &undefined, &worst, NULL), told = r->float_error;
      if (!(error <= r->family[family])) r->family[family] = isfinite(error) ? error : HUGE_VAL;
      if (t->yardstick || (!isfinite(error) && !t->shifted && family != MGI_FAMILY_SPREAD && family != MGI_FAMILY_ACROSS && mgi_family_overflows(g, x)) || /* what overflows without a running maximum may do so by its definition: an edited file is held against the right one */
          mgi_check_reals(&loose, x, (int)k, NULL, NULL, m->seed, n->writer, NULL, r)) {
        r->float_error = told;
        continue;
      }
      const size_t used = strlen(r->difference);
      snprintf(r->difference + used, sizeof r->difference - used, "; %s", mgi_draw_names[family]);
      r->status = MG_NOT_FOUND;
      return;
    }
  }
}
/* A call at the family's least sizes in the workspace that others then find: 0, and r says so, if it fails.  Its tensors are less than
   those of the buffers. */
MGI_FN int mgi_check_lesser(const mgi_check_task *t, const mgi_check_entry *n, const mgi_call *c, size_t bytes, mgi_check_record *r) {
  int64_t sym[MG_MAX_SYMBOLS];
  mgi_check_entry less = *n;
  mgi_emulator m;
  for (uint32_t k = 0; k < t->family->n_symbols; k++) sym[k] = t->family->symbol[k].least;
  less.sym = sym;
  mgi_check_job_of(t, n, c, bytes, r, &m);
  if (n->setup(&m) != (t->F != NULL)) return 1;
  const int rc = mgi_check_launch(&less, less.launch, c->in, c->out, c->space, c->stream);
  if (!rc && !m.error[0]) return 1;
  snprintf(r->difference, sizeof r->difference, "the launch fails (%d, at the least sizes, in the buffers of others): %.350s", rc, m.error);
  r->race = m.race;
  r->status = MG_NOT_FOUND;
  return 0;
}
/* Of several ranges each has its own part of the workspace, behind those of the ranges before it: *from to *to.  0, and neither is set:
   there are none, or none of their names, and what it launches was compared. */
MGI_FN int mgi_check_part(const mgi_check_task *t, const mgi_check_entry *n, size_t *from, size_t *to) {
  char name[256];
  mgi_workspace_fn size = NULL;
  size_t before = 0;
  for (int k = 1; t->entry && k <= t->at + 1; k++) {
    if (size) before += mg_round_up(size(), 256);
    snprintf(name, sizeof name, "%.200s_%d_workspace_bytes", t->entry, k);
    *(void **)&size = dlsym(n->so, name);
    if (!size) return 0;
  }
  if (size) *from = before, *to = before + size();
  return size != NULL;
}
/* The whole pages among the bytes from lo on and before hi; 0: there are none. */
MGI_FN int mgi_check_pages(unsigned char *lo, unsigned char *hi, unsigned char **first, unsigned char **end) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  *first = lo + (page - (uintptr_t)lo % page) % page;
  *end = hi - (uintptr_t)hi % page;
  return *first < *end;
}
/* What a range must not touch of a workspace: whole pages, of which there may be more than memory, fault when it does. */
MGI_FN void mgi_check_apart(unsigned char *lo, unsigned char *hi) {
  unsigned char *first, *end;
  if (mgi_check_pages(lo, hi, &first, &end)) mprotect(first, (size_t)(end - first), PROT_NONE);
}
/* And of the others no byte is written: all are zero, as they were.  NULL, or the first that is not. */
MGI_FN const unsigned char *mgi_check_written(unsigned char *lo, unsigned char *hi) {
  unsigned char *first, *end;
  const int whole = mgi_check_pages(lo, hi, &first, &end);
  for (unsigned char *p = lo; p < hi; p++) {
    if (whole && p == first) p = end;
    if (p < hi && *p) return p;
  }
  return NULL;
}
/* Everything over one build, in the child. */
MGI_FN void mgi_check_inside(const mgi_check_task *t, mgi_check_record *r) {
  const mg_graph *g = t->g;
  mgi_tensors x;
  mgi_emulator m, last;
  mgi_check_entry n;
  mgi_call set[MGI_CHECK_SETS], c, others;
  const void *given[MG_MAX_IN];
  void *own[MG_MAX_OUT];
  memset(&x, 0, sizeof x);
  memset(&c, 0, sizeof c);
  memset(&last, 0, sizeof last);
  if (!mgi_check_open(t, &n, r) || !mgi_check_exports(t, &n, r) || !mgi_sized_room(&n, r)) return;
  for (int k = 0; k < MGI_FAMILIES; k++) r->family[k] = -1;
  if (!t->yardstick && !mgi_check_host(t, &n, r, &last)) return;
  r->status = mgi_tensors_new(g, t->F ? sizeof(mg_fv) : sizeof(double), &x, &r->error);
  if (r->status != MG_OK) return;
  if (t->F) {
    uint64_t state = t->seed;
    for (uint32_t k = 0; k < g->n_in; k++) {
      const mgi_filler f = mgi_filler_of(g, k);
      for (int64_t i = 0; i < x.in_n[k]; i++) {
        if (mgi_given_filled(t, f.x, x.given[k], i, i) || mgi_given_index(&f, t->seed, x.given[k], i, i, x.in[k])) continue;
        mg_fv v = mg_ff_random(t->F, &state);
        ((mg_fv *)x.given[k])[i] = v;
        mgi_filler_put(&f, x.in[k], i, mg_ff_pack(t->F, v));
      }
    }
  } else mgi_tensors_like(t->family ? t->family : g, g, &x, t->seed);
  for (uint32_t k = 0; k < g->n_in; k++) given[k] = x.given[k];
  mg_domain d = t->F ? mg_domain_field(t->F) : mg_domain_real();
  r->status = mg_eval(g, &d, given, x.expected, &r->error);
  if (r->status != MG_OK) return;
  const size_t bytes = n.workspace();
  size_t all = bytes, from = 0, to = bytes; /* what of the workspace is the kernel's */
  for (uint32_t k = 0; k < g->n_in; k++) all += x.in_bytes[k];
  for (uint32_t k = 0; k < g->n_out; k++) all += x.out_bytes[k], own[k] = x.out[k];
  const int sets = all > (size_t)256 << 20 ? 2 : (int)MGI_CHECK_SETS;
  for (int q = 0; q < sets; q++) { /* workspaces are zeroed once, as the caller does; the launches that follow find what the last one left */
    if (!mgi_check_buffers(t, &n, bytes, q != 1, 2, &set[q], r)) return;
    for (uint32_t k = 0; k < g->n_in; k++) {
      memcpy((void *)(uintptr_t)set[q].in[k], x.in[k], x.in_bytes[k]);
      n.protect((void *)(uintptr_t)set[q].in[k], 1);
    }
  }
  const int part = !t->yardstick && mgi_check_part(t, &n, &from, &to);
  for (int q = 0; q < sets && part; q++) {
    mgi_check_apart((unsigned char *)set[q].space, (unsigned char *)set[q].space + from);
    mgi_check_apart((unsigned char *)set[q].space + to, (unsigned char *)set[q].space + bytes);
  }
  memset(&others, 0, sizeof others);
  for (uint32_t k = 0; k < g->n_in && t->F && from < to; k++) { /* inputs of other values: what they leave in the workspace must not be taken for this call's */
    const mgi_filler f = mgi_filler_of(g, k);
    uint64_t state = ~t->seed + k;
    void *p = n.buffer(f.x->name, x.in_bytes[k], 1, 2);
    if (!p) {
      mgi_check_no_room(r, f.x->name, x.in_bytes[k]);
      return;
    }
    for (int64_t i = 0; i < x.in_n[k]; i++)
      mgi_cd_put(p, f.x->dtype, i, f.bound ? (uint32_t)(mgi_random(&state) % (uint64_t)f.bound) : mg_ff_pack(t->F, mg_ff_random(t->F, &state)));
    n.protect(p, 1);
    others.in[k] = p;
  }
  for (int order = 0; order < t->seeds && !t->yardstick; order++) {
    int space, rc = 0;
    mgi_check_mix(g, set, order, sets, &c, &space);
    if (t->F && from < to && (order == 0 || order == 3)) { /* a call that is not compared, in the same workspace: the first of the first, which a call may have left as it must not */
      for (uint32_t k = 0; k < g->n_out; k++) others.out[k] = set[space].out[k];
      others.space = c.space;
      others.stream = c.stream;
      if (t->family && !mgi_check_lesser(t, &n, &others, bytes, r)) return;
      mgi_check_job_of(t, &n, &others, bytes, r, &m);
      if (n.setup(&m) == (t->F != NULL)) rc = mgi_check_launch(&n, n.launch, others.in, others.out, others.space, others.stream);
      if (rc || m.error[0]) {
        snprintf(r->difference, sizeof r->difference, "the launch fails (%d, with inputs of other values): %.350s", rc, m.error);
        r->race = m.race;
        r->status = MG_NOT_FOUND;
        return;
      }
    }
    mgi_check_job_of(t, &n, &c, bytes, r, &m);
    m.seed = (uint64_t)order < 6 ? (uint64_t)order : (uint64_t)order + (t->seed << 8);
    m.blas = order / 2 % 2;
    for (uint32_t k = 0; k < g->n_out; k++) memset(c.out[k], 0xFF, x.out_bytes[k]);
    if (n.setup(&m) != (t->F != NULL)) {
      r->status = mg_fail(&r->error, MG_BAD_INPUT, "emitted file", "it was compiled with another version of mirage_cuda.cuh: include_dir has to name this one's");
      return;
    }
    rc = mgi_check_launch(&n, n.launch_pdl && order % 2 ? n.launch_pdl : n.launch, c.in, c.out, c.space, c.stream);
    if (!rc && !m.error[0]) n.beside();
    r->seeds = order + 1;
    if (m.unmodelled) {
      r->status = mg_fail(&r->error, MG_UNSUPPORTED, "emitted file", "link 2 does not model %.200s", m.error);
      return;
    }
    const uint32_t said = n.launch_pdl && order % 2 && n.info ? n.info->early : 0;
    int k = 0;
    while (k < m.n_ranges && (!m.ahead[k] || mgi_sized_early(&m, &n, said, k))) k++;
    if (!rc && !m.error[0] && k < m.n_ranges) {
      snprintf(r->difference, sizeof r->difference, "%.100s_launch%s reads %.60s before the kernel before it in the stream has ended%s", g->name, order % 2 ? "_pdl" : "", m.range[k].name,
               order % 2 ? ": its info does not say so" : "");
      r->status = MG_NOT_FOUND;
      return;
    }
    if (rc || m.error[0]) {
      snprintf(r->difference, sizeof r->difference, "the launch fails (%d, fiber order %llu): %.350s", rc, (unsigned long long)m.seed, m.error);
      r->race = m.race;
      r->status = MG_NOT_FOUND;
      return;
    }
    for (uint32_t k = 0; k < g->n_out; k++) {
      x.out[k] = c.out[k];
      if (t->F ? mgi_check_words(t, &x, (int)k, NULL, NULL, m.seed, n.writer, r) : mgi_check_reals(t, &x, (int)k, NULL, NULL, m.seed, n.writer, NULL, r)) continue;
      r->status = MG_NOT_FOUND;
      return;
    }
  }
  for (int q = 0; q < sets && part; q++) {
    const unsigned char *space = (const unsigned char *)set[q].space, *at = mgi_check_written((unsigned char *)set[q].space, (unsigned char *)set[q].space + from);
    if (!at) at = mgi_check_written((unsigned char *)set[q].space + to, (unsigned char *)set[q].space + bytes);
    if (!at) continue;
    snprintf(r->difference, sizeof r->difference, "it writes byte %llu of the workspace, its part is %llu..%llu: the rest is another range's", (unsigned long long)(at - space), (unsigned long long)from, (unsigned long long)to);
    r->status = MG_NOT_FOUND;
    return;
  }
  for (uint32_t k = 0; k < g->n_out; k++) { /* what the last launch left is kept with the families' */
    if (x.out[k] != own[k]) memcpy(own[k], x.out[k], x.out_bytes[k]);
    x.out[k] = own[k];
  }
  r->family[MGI_FAMILY_NORMAL] = r->float_error;
  if (!t->F) {
    mgi_check_own(g, &x, set[0].space, &c);
    mgi_check_job_of(t, &n, &c, bytes, r, &m);
    mgi_check_families(t, &x, &m, &n, &c, r);
  }
  mgi_tensors_free(&x);
}

/* Starts `body` in a child; the record that it fills, at most 16 KiB, comes through the pipe.  wall_s: after which it is ended; 0: 16
   times timeout_s, which is of processor time. */
MGI_FN int mgi_check_fork(mgi_child *c, void (*body)(const void *task, void *record), const void *task, size_t bytes, int timeout_s, int wall_s) {
  char *record = (char *)calloc(bytes + sizeof(mgi_check_sent), 1);
  if (!record) return 0;
  c->n = 0;
  c->pid = mgi_forked(&c->fd);
  if (!c->pid) {
    if (bytes == sizeof(mgi_check_record)) ((mgi_check_sent *)(void *)record)->fd = c->fd; /* for one whose kernel faults */
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU}; /* the caller's handlers are not for us */
    for (int k = 0; k < 7; k++) signal(fatal[k], SIG_DFL);
    struct rlimit most = {(rlim_t)timeout_s, (rlim_t)timeout_s + 5}; /* a kernel that does not end spins; what is slow may be the machine */
    setrlimit(RLIMIT_CPU, &most);
    alarm(wall_s > 0 ? (unsigned)wall_s : (unsigned)timeout_s < 1u << 26 ? 16u * (unsigned)timeout_s : 1u << 30);
    body(task, record);
    for (size_t n = 0; n < bytes;) {
      ssize_t put = write(c->fd, record + n, bytes - n);
      if (put <= 0) _exit(1);
      n += (size_t)put;
    }
    _exit(0);
  }
  free(record);
  return c->pid > 0;
}
MGI_FN void mgi_check_body(const void *task, void *record) {
  const mgi_check_task *t = (const mgi_check_task *)task;
  if (t->samples > 0) mgi_check_sampled(t, (mgi_check_record *)record);
  else mgi_check_inside(t, (mgi_check_record *)record);
}
MGI_FN int mgi_check_start(mgi_child *c, const mgi_check_task *t, int timeout_s) { return mgi_check_fork(c, mgi_check_body, t, sizeof(mgi_check_record), timeout_s, 0); }
MGI_FN void mgi_check_finish(mgi_child *c, int timeout_s, mgi_check_record *r) {
  int code = mgi_child_wait(c); /* a record is smaller than what it keeps */
  memset(r, 0, sizeof *r);
  if (code == 0 && c->n == sizeof *r) {
    memcpy(r, c->out, sizeof *r);
    return;
  }
  r->status = MG_NOT_FOUND;
  if (code == 256 + SIGALRM) r->status = mg_fail(&r->error, MG_MACHINE, "mg_cuda_check", "the emulated kernel got no %d s of processor time in 16 times as long: it waits, or the machine is too busy", timeout_s);
  else if (code == 256 + SIGXCPU) snprintf(r->difference, sizeof r->difference, "the emulated kernel did not end within %d s of processor time", timeout_s);
  else if (code < 256) snprintf(r->difference, sizeof r->difference, "the emulated kernel ends its process (status %d)", code);
  else snprintf(r->difference, sizeof r->difference, "the emulated kernel faults (signal %d): memory outside of every array", code - 256);
}

/* What of CUDA a text has that link 2 has no meaning for, if that is why the compiler refuses it: 1, and it is said. */
MGI_FN int mgi_check_unmodelled(const char *text, const char *says, char *what, size_t n) {
  static const struct { const char *word, *why; } known[] = {
    {"<<<", "a launch by <<< >>> (MG_LAUNCH returns its error)"}, {"__shared__", "__shared__ (mg_shared() is a block's shared memory)"}, {"asm", "assembly"}, {"__asm__", "assembly"},
    {"cooperative_groups", "cooperative_groups"}, {"dim3", "dim3 (MG_LAUNCH takes the counts)"}, {"__half", "__half (mg_f16 is what is stored, mg_num what is computed)"},
    {"__nv_bfloat16", "__nv_bfloat16 (mg_bf16 is what is stored, mg_num what is computed)"}, {"__half2", "__half2"}, {"float4", "float4"}, {"uint4", "uint4"}, {"nvcuda", "nvcuda"}};
  const char *at, *end;
  for (const char *p = text; *p;) { /* words outside of comments and strings */
    if (!strncmp(p, "/*", 2)) p = (end = strstr(p + 2, "*/")) != NULL ? end + 2 : p + strlen(p);
    else if (!strncmp(p, "//", 2)) p += strcspn(p, "\n");
    else if (*p == '"' || *p == '\'') {
      const char quote = *p++;
      while (*p && *p != quote) p += *p == '\\' && p[1] ? 2 : 1;
      if (*p) p++;
    } else {
      size_t w = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
      if (!strncmp(p, "<<<", 3)) w = 3;
      for (size_t k = 0; w && k < sizeof known / sizeof *known; k++)
        if (strlen(known[k].word) == w && !memcmp(p, known[k].word, w)) {
          snprintf(what, n, "%s", known[k].why);
          return 1;
        }
      p += w ? w : 1;
    }
  }
  if ((at = strstr(says, " was not declared")) != NULL) { /* the word before, in quotes of any kind */
    while (at > says && !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", at[-1])) at--;
    end = at;
    while (at > says && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", at[-1])) at--;
    if (!strncmp(at, "__", 2) || !strncmp(at, "cuda", 4) || !strncmp(at, "atomic", 6) || !strncmp(at, "cu", 2)) {
      snprintf(what, n, "%.*s", (int)(end - at) < 100 ? (int)(end - at) : 100, at);
      return 1;
    }
  }
  if ((at = strstr(says, "no matching function for call to ")) != NULL && (at = strstr(at, "atomic")) != NULL && strcspn(at, "(\n") < 40) {
    snprintf(what, n, "%.*s of these", (int)strcspn(at, "(\n'"), at);
    return 1;
  }
  if (strstr(says, "tsan-distinguish-volatile")) {
    snprintf(what, n, "volatile accesses with this compiler: g++ from 11 on, or clang, tells them from others");
    return 1;
  }
  if (strstr(says, "mg_num") && (strstr(says, "cannot convert") || strstr(says, "no match for") || strstr(says, "invalid"))) {
    snprintf(what, n, "float in the place of mg_num, nor comparisons of it: over fields a value has no order, and is no float (mg_dev_MAX and the other rows have a meaning there)");
    return 1;
  }
  return 0;
}
enum { MGI_CHECK_DEFINES = 400, MGI_CHECK_DEFINE = 300 }; /* -D options, of so many characters */
/* The named constants that differ at the sizes `small`, as options of a compiler; how many; -1 with *e. */
MGI_FN int mgi_check_defines(const mg_graph *g, const mg_classes *c, const mg_reduced *small, const char *text, char *define, mg_error *e) {
  int defines = 0;
  for (uint32_t k = 0, kernel = 0; small->changed && k < c->n + g->n_ops; k++) {
    const mg_graph *sub = k <= c->n || g->ops[k - c->n].code != MG_OP_GRAPH ? NULL : g->ops[k - c->n].sub;
    for (uint32_t a = k < c->n ? 0 : 1; a < (k < c->n ? 1u : sub ? sub->n_axes : 0u); a++) {
      char name[200], line[256];
      const int64_t was = sub ? sub->axes[a].extent : c->extent[k];
      const int64_t is = sub ? small->counts[kernel * (MG_MAX_AXES + 1) + a] : small->extent[k];
      if (is == was) continue;
      if (sub) snprintf(name, sizeof name, "%s_K%u_%s", g->name, (unsigned)kernel, sub->axes[a].name);
      else snprintf(name, sizeof name, "%s_D%u", g->name, (unsigned)k);
      const size_t length = (size_t)snprintf(line, sizeof line, "#ifndef %s", name);
      const char *named = strstr(text, line);
      while (named && !strchr(" \t\r\n/", named[length])) named = strstr(named + 1, line);
      if (!named) {
        mg_fail(e, MG_BAD_INPUT, "emitted file", "expected the named constant %s, found none: it is not made from this µGraph", name);
        return -1;
      }
      if (defines == MGI_CHECK_DEFINES) {
        mg_fail(e, MG_LIMIT, "emitted file", "more than %d named constants", (int)MGI_CHECK_DEFINES);
        return -1;
      }
      snprintf(define + MGI_CHECK_DEFINE * defines++, MGI_CHECK_DEFINE, "-D%s=%lld", name, (long long)is);
    }
    kernel += sub != NULL;
  }
  return defines;
}
/* Replaces the addresses `@123` of a message by lines of the emitted text, and by the comment that stands above them, or by
   lines of a template, where addr2line (binutils) can tell. */
MGI_FN void mgi_check_lines(const char *dir, const char *build, const char *text, char *message, size_t size) {
  static const char source[] = "/kernel.cu:"; /* in whatever directory the object was made */
  char out[1024], so[600], address[32];
  size_t n = 0;
  snprintf(so, sizeof so, "%s/%s.so", dir, build);
  for (const char *p = message; *p && n + 1 < sizeof out;) {
    char *end;
    if (*p != '@' || p[1] < '0' || p[1] > '9') {
      out[n++] = *p++;
      continue;
    }
    snprintf(address, sizeof address, "0x%lx", strtoul(p + 1, &end, 10));
    const char *argv[] = {"addr2line", "-i", "-e", so, address, NULL};
    mgi_child c;
    long line = 0, lines = 1, inside = 0;
    for (const char *k = text; (k = strchr(k, '\n')) != NULL; k++) lines++;
    if (mgi_child_start(&c, argv, 20) && !mgi_child_wait(&c))
      for (const char *at = strstr(c.out, source); at && !line; at = strstr(at + 1, source)) { /* the innermost */
        line = strtol(at + sizeof source - 1, NULL, 10);
        if (line > lines) line = 0;
      }
    const char *header = line ? NULL : strstr(c.out, "/mirage_cuda.cuh:"); /* a template that was not inlined */
    if (header) inside = strtol(header + 17, NULL, 10);
    const char *comment = NULL, *at = text;
    for (long k = 1; at && k <= line; k++) {
      const char *word = at + strspn(at, " ");
      if (!strncmp(word, "// ", 3)) comment = word + 3;
      at = strchr(at, '\n');
      if (at) at++;
    }
    size_t room = sizeof out - n;
    int put = !line && inside > 0 ? snprintf(out + n, room, "mirage_cuda.cuh:%ld", inside) : !line ? snprintf(out + n, room, "?") : !comment ? snprintf(out + n, room, "line %ld", line)
              : snprintf(out + n, room, "line %ld (%.*s)", line, (int)strcspn(comment, "\n") > 60 ? 60 : (int)strcspn(comment, "\n"), comment);
    n += put < 0 ? 0 : (size_t)put < room ? (size_t)put : room - 1;
    p = end;
  }
  out[n] = 0;
  snprintf(message, size, "%.*s", (int)size - 1, out);
}

/* ---- what a check takes, and what runs of it */
/* WORK: up to so much a launch all fiber orders and families run; MOST: up to so much it runs at all, under FEW orders; LAUNCHES: of
   floats, together; TOGETHER: one launch at each size of each range; ELEMENTS: of inputs and outputs. */
#define MGI_CHECK_WORK 4e8
#define MGI_CHECK_WORK_MOST 1.2e9
#define MGI_CHECK_LAUNCHES 3.6e9
#define MGI_CHECK_TOGETHER 6.4e9
enum { MGI_CHECK_FEW = 4, MGI_CHECK_ORDERS = 8, MGI_CHECK_ELEMENTS = 1 << 25 };
MGI_FN void mgi_check_cost_op(const mg_graph *g, const mg_op_node *o, double times, int grouped, double cost[MGI_COSTS]) {
  const mg_shape *to = &g->tensors[o->n_out ? o->out[0].id : o->in[0].id].shape;
  double most = (double)mg_shape_elements(to);
  for (int k = 0; k < o->n_in && o->code != MG_OP_LOAD; k++) {
    const double n = (double)mg_shape_elements(&g->tensors[o->in[k].id].shape);
    if (n > most) most = n;
  }
  if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL)
    for (int k = 0; k < o->n_in / 2; k++) {
      const mg_shape *left = &g->tensors[o->in[k].id].shape;
      cost[grouped ? MGI_COST_GROUPED : MGI_COST_PRODUCTS] += times * (double)mg_shape_elements(to) * (double)left->dim[left->rank - 1];
    }
  else cost[o->code == MG_OP_LOAD ? MGI_COST_MOVED : MGI_COST_ELEMENTS] += times * most;
}
MGI_FN double mgi_check_work(const mg_graph *g) {
  double cost[MGI_COSTS] = {0}, work = 0;
  for (uint32_t o = 1; o < g->n_ops; o++) {
    const mg_graph *b = g->ops[o].sub;
    if (!b) mgi_check_cost_op(g, &g->ops[o], MGI_COST_WHOLE, 0, cost);
    if (!b) continue;
    const double blocks = (double)b->axes[1].extent * (double)b->axes[2].extent * (double)b->axes[3].extent;
    const int grouped = mg_plan_says(b, MG_PLAN_MMA, NULL) == MG_MMA_WARPGROUP;
    for (uint32_t l = 1; l < b->n_ops; l++) {
      double times = blocks;
      for (uint32_t a = b->ops[l].scope; a > 3; a = b->axes[a].parent) times *= (double)b->axes[a].extent;
      mgi_check_cost_op(b, &b->ops[l], times, grouped, cost);
      cost[MGI_COST_STEPS] += times * b->threads;
    }
  }
  for (int k = 0; k < MGI_COSTS; k++) work += mgi_check_weight[k] * cost[k];
  return work;
}
/* The inputs' sizes as text. */
MGI_FN void mgi_check_say_sizes(const mg_graph *g, char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
  for (uint32_t k = 0; k < g->n_in && n + 1 < size; k++) {
    const mg_tensor_info *x = mg_tensor_of(g, g->in[k]);
    n += (size_t)snprintf(text + n, size - n, "%s%.40s[", k ? ", " : "", x->name ? x->name : "");
    for (int d = 0; d < x->shape.rank && n + 1 < size; d++) n += (size_t)snprintf(text + n, size - n, "%s%lld", d ? ", " : "", (long long)x->shape.dim[d]);
    if (n + 1 < size) n += (size_t)snprintf(text + n, size - n, "]");
  }
}

/* One check: of ugraph and its reduction by text, in files of dir; full: at full size too. */
enum { MGI_CHECK_AROUND = 8, MGI_CHECK_SIZES = 16 };
typedef struct mgi_check_job {
  const mg_graph *ugraph;
  mg_reduced small;
  const char *text;
  const mg_check_config *cfg;
  uint64_t seed;
  int timeout_s, full;
  int n_sizes;               /* 1 without symbols */
  int64_t size[MGI_CHECK_SIZES + 1][MG_MAX_SYMBOLS]; /* of the symbols; the last of all is their most */
  mg_graph *member[MGI_CHECK_SIZES + 1]; /* of the reduced family, at these; the last of ugraph's */
  mg_graph *own;             /* ugraph, where it is read from the text */
  double work, all, elements; /* of a launch at the sizes of `small`: the most, the sum over them; of inputs and outputs */
  double share, took;        /* of MGI_SAMPLE_SHARE: what blocks at full size may take, and took */
  int seeds, float_seeds, families; /* fiber orders over fields, over floats; families of inputs at most, 0: all */
  int last;                  /* 1: these two at its last sizes alone, one order over normal inputs at the others */
  int apart;                 /* 1: its reduced sizes are too much work: blocks at full size alone */
  char *right;               /* what the emitter makes of the µGraph, of a file of several the first one's; NULL: nothing */
  int edited, shifted;       /* the text differs from it, in more than comments; it has running maxima */
  const mg_graph *const *range; /* of a file of several: all of them, of which ugraph is number `at`; NULL: it is the only one */
  int n_ranges, at;
  char entry[120];           /* then: whose launch it is */
  int rows;                  /* 1: of a family with symbols that are not contracted: its members' rows are compared, bit for bit */
  uint8_t contracted[MG_MAX_SYMBOLS];
  const char *quoted;        /* where in the text what it quotes begins */
  char unheld[100];          /* at the greatest sizes of a family, where its tensors are too large: which and by how much */
  char dir[400];
  mg_check_report r;
} mgi_check_job;
/* The greatest value of symbol k that is the family's. */
MGI_FN int64_t mgi_check_greatest(const mgi_check_job *J, uint32_t k) { return J->range ? mgi_cu_ranges_greatest(J->range, J->n_ranges, J->at, k) : J->ugraph->symbol[k].last; }
/* 1 if the members' symbols that are contracted, sizes of sums, are alike. */
MGI_FN int mgi_check_sums_alike(const mgi_check_job *J, int one, int other) {
  for (uint32_t k = 0; k < J->ugraph->n_symbols; k++)
    if (J->contracted[k] && J->size[one][k] != J->size[other][k]) return 0;
  return 1;
}
/* What member `at` kept of its floats, all outputs in memory order; NULL: nothing, or not all.  free() it. */
MGI_FN unsigned char *mgi_check_kept(const mgi_check_job *J, int at) {
  const mg_graph *g = J->member[at];
  char path[540];
  size_t bytes = 0;
  for (uint32_t k = 0; k < g->n_out; k++)
    bytes += (size_t)mg_shape_elements(&mg_tensor_of(g, g->out[k])->shape) * (size_t)mg_dtype_bytes(mg_tensor_of(g, g->out[k])->dtype);
  snprintf(path, sizeof path, "%s/size%d.%d", J->dir, at, (int)MGI_FAMILY_NORMAL);
  FILE *f = fopen(path, "rb");
  unsigned char *kept = f ? (unsigned char *)malloc(bytes + 1) : NULL;
  if (kept && fread(kept, 1, bytes + 1, f) != bytes) free(kept), kept = NULL;
  if (f) fclose(f);
  return kept;
}
/* 1 if the elements that both members have, at the same indices, are of the same bits. */
MGI_FN int mgi_check_same_rows(const mg_graph *g, const unsigned char *mine, const mg_graph *h, const unsigned char *its) {
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_tensor_info *x = mg_tensor_of(g, g->out[k]), *y = mg_tensor_of(h, h->out[k]);
    const mg_shape both = mgi_shape_of_both(x, y);
    int64_t stride[2][MG_MAX_RANK];
    mg_strides(x, stride[0]);
    mg_strides(y, stride[1]);
    for (int64_t i = 0, n = mg_shape_elements(&both); i < n; i++)
      if (mgi_cd_get(mine, x->dtype, mgi_cd_place(&both, stride[0], i)) != mgi_cd_get(its, y->dtype, mgi_cd_place(&both, stride[1], i))) return 0;
    mine += (size_t)mg_shape_elements(&x->shape) * (size_t)mg_dtype_bytes(x->dtype);
    its += (size_t)mg_shape_elements(&y->shape) * (size_t)mg_dtype_bytes(y->dtype);
  }
  return 1;
}
/* What the members' floats kept, each two with the same sums, whose rows are alike, against each other: r->rows.  The files are removed. */
MGI_FN void mgi_check_rows(const mgi_check_job *J, mg_check_report *r) {
  unsigned char *kept[MGI_CHECK_SIZES];
  char path[540];
  int compared = 0, lost = 0, differ = 0;
  for (int at = 0; at < J->n_sizes; at++) lost |= (kept[at] = mgi_check_kept(J, at)) == NULL;
  for (int at = 1; at < J->n_sizes && !lost; at++)
    for (int to = 0; to < at; to++) {
      if (!mgi_check_sums_alike(J, at, to) || !mgi_rows_alike(J->member[at], J->member[to])) continue;
      differ |= !mgi_check_same_rows(J->member[at], kept[at], J->member[to], kept[to]);
      compared = 1;
    }
  r->rows = differ ? -1 : compared;
  for (int at = 0; at < J->n_sizes; at++) {
    free(kept[at]);
    for (int family = 0; family < MGI_FAMILY_PEAKS; family++) {
      snprintf(path, sizeof path, "%s/size%d.%d", J->dir, at, family);
      unlink(path);
    }
  }
}
/* Sizes of symbol or computed size k that a check tries, up to `most`: its least, those around whole[], the first whole chunks from
   there on, of the least and the greatest chunk, and, returned, two chunks and a ragged rest later, as far as it goes, so that
   counts differ. */
MGI_FN int64_t mgi_check_around(const mg_graph *g, uint32_t k, int64_t most, int64_t whole[2]) {
  const mg_symbol *is = &g->symbol[k];
  int64_t c[2];
  mg_symbol_chunks(g, k + 1, c);
  for (int j = 0; j < 2; j++) whole[j] = mg_round_up(is->least, c[j]);
  const int64_t rest = whole[1] + 2 * c[1] + (c[1] > 2 ? 2 : 1);
  const int bound = c[1] < 256 || whole[1] > most; /* is among them */
  return rest < most ? rest : bound ? most : whole[1];
}
/* at[k], the least value from its least on with which size c is `want` or more, up to `most`: one beyond that where it never is. */
MGI_FN void mgi_check_raise(const mg_graph *g, uint32_t c, int64_t want, uint32_t k, int64_t most, int64_t at[MG_MAX_SYMBOLS]) {
  int64_t all[MG_MAX_SYMBOLS], from = g->symbol[k].least, to = most + 1;
  while (from < to) {
    at[k] = from + (to - from) / 2;
    if (mg_symbol_values(g, at, all, NULL) != MG_OK || all[c] >= want) to = at[k];
    else from = at[k] + 1;
  }
  at[k] = from;
}
enum { MGI_CHECK_STEPS = 64 };
/* Values in at[], of the symbols that size c hangs on, with which it is as wanted: one symbol steps from its least on, and another is
   raised to what that takes, the rest are at their least.  0: there are none such. */
MGI_FN int mgi_check_exactly(const mg_graph *g, uint32_t c, int64_t want, const int *of, const int64_t *most, int64_t at[MG_MAX_SYMBOLS]) {
  int64_t all[MG_MAX_SYMBOLS];
  for (uint32_t k = 0; k < g->n_symbols; k++)
    if (of[k]) at[k] = g->symbol[k].least;
  for (uint32_t j = 0; j < g->n_symbols; j++)
    for (uint32_t k = 0; k < g->n_symbols && of[j]; k++) {
      for (int64_t step = 0; of[k] && k != j && step < MGI_CHECK_STEPS && g->symbol[j].least + step <= most[j]; step++) {
        at[j] = g->symbol[j].least + step;
        mgi_check_raise(g, c, want, k, most[k], at);
        if (at[k] <= most[k] && mg_symbol_values(g, at, all, NULL) == MG_OK && all[c] == want) return 1;
      }
      if (of[k]) at[k] = g->symbol[k].least;
      at[j] = g->symbol[j].least;
    }
  return 0;
}
/* Values in at[] of the symbols that size c hangs on, with which it is as wanted, or, as these are raised one after the other from their
   least on, as little more as it can be; `below`: not more than that.  0: it never is, up to the symbols' `most`. */
MGI_FN int mgi_check_reach(const mg_graph *g, uint32_t c, int64_t want, int below, const int64_t *most, int64_t at[MG_MAX_SYMBOLS]) {
  int64_t least[MG_MAX_SYMBOLS], all[MG_MAX_SYMBOLS];
  int of[MG_MAX_SYMBOLS] = {0}; /* it hangs on the symbol */
  for (uint32_t k = 0; k < g->n_symbols; k++) least[k] = g->symbol[k].least;
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    least[k] = g->symbol[k].most;
    of[k] = mg_symbol_values(g, least, all, NULL) == MG_OK && all[c] != g->symbol[c].least;
    least[k] = g->symbol[k].least;
  }
  if (mgi_check_exactly(g, c, want, of, most, at)) return 1;
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    if (!of[k]) continue;
    mgi_check_raise(g, c, want + below, k, most[k], at);
    if (at[k] <= most[k]) return (at[k] -= below) >= g->symbol[k].least;
    at[k] = most[k];
  }
  return 0;
}
/* Rows of J->size for a family with computed sizes: around chunks of each size that inputs have; symbols that it does not hang on are
   at their least and their most in turn. */
MGI_FN int mgi_check_computed(mgi_check_job *J) {
  static const uint8_t order[MGI_CHECK_AROUND] = {0, 6, 4, 5, 7, 3, 1, 2}; /* what matters first: the edges of the greatest chunk */
  const mg_graph *g = J->ugraph;
  const int64_t *most = J->size[MGI_CHECK_SIZES];
  int64_t all[MG_MAX_SYMBOLS], has[MGI_CHECK_SIZES][MG_MAX_SYMBOLS];
  int rows = 0;
  if (mg_symbol_values(g, most, all, NULL) != MG_OK) return 0;
  for (int j = 0; j < MGI_CHECK_AROUND; j++)
    for (uint32_t c = 0; c < mg_n_sizes(g) && rows < MGI_CHECK_SIZES; c++) {
      int64_t whole[2], *at = J->size[rows];
      int own = 0, again = 0, to = rows;
      for (uint32_t i = 0; i < g->n_in * MG_MAX_RANK; i++) own |= g->in_symbol[i / MG_MAX_RANK][i % MG_MAX_RANK] == c + 1;
      for (uint32_t k = 0; k < g->n_symbols; k++) at[k] = rows % 2 ? most[k] : g->symbol[k].least;
      const int64_t last = mgi_check_around(g, c, all[c], whole);
      const int64_t want[MGI_CHECK_AROUND] = {g->symbol[c].least, whole[0] - 1, whole[0], whole[0] + 1, whole[1] - 1, whole[1], whole[1] + 1, last};
      for (int r = 0; r < rows; r++) again |= has[r][c] == want[order[j]];
      if (!own || again || !mgi_check_reach(g, c, want[order[j]], order[j] == 1 || order[j] == 4, most, at)) continue;
      for (int r = 0; r < rows; r++) again |= !memcmp(J->size[r], at, g->n_symbols * sizeof *at);
      if (again || mg_symbol_values(g, at, has[rows], NULL) != MG_OK) continue;
      int64_t row[MG_MAX_SYMBOLS], sizes[MG_MAX_SYMBOLS];
      memcpy(row, at, sizeof row);
      memcpy(sizes, has[rows], sizeof sizes);
      for (; to > 0 && J->size[to - 1][0] > row[0]; to--) {
        memcpy(J->size[to], J->size[to - 1], sizeof row);
        memcpy(has[to], has[to - 1], sizeof sizes);
      }
      memcpy(J->size[to], row, sizeof row);
      memcpy(has[to], sizes, sizeof sizes);
      rows++;
    }
  return rows;
}
/* 1 if the member at full size takes too much: its tensors cannot be held, or blocks of its whole operators are more work than is the range's part. */
MGI_FN int mgi_check_unheld(const mgi_check_job *J, const mg_graph *g, char *why, size_t n) {
  uint32_t o = 0;
  if (mgi_check_tensors(g, why, n) > MGI_SAMPLE_ROOM_MIB * 1048576.0) return 1;
  if (mgi_sample_whole(g, &o) <= 2.0 * MGI_SAMPLE_SHARE / (J->n_ranges > 1 ? J->n_ranges : 1)) return 0;
  snprintf(why, n, "a block of operator %u, %s, takes %.2g operations", (unsigned)o, mg_op_row(g->ops[o].code)->name, mgi_sample_block(g, o, NULL));
  return 1;
}
/* The member at full size: at the greatest values, or, where that is too much, at so much less that it is not: the greatest symbol is
   halved as often as it takes. */
MGI_FN mg_status mgi_check_greatest_held(mgi_check_job *J, mg_error *e) {
  int64_t *at = J->size[MGI_CHECK_SIZES];
  mg_graph **m = &J->member[MGI_CHECK_SIZES];
  char why[sizeof J->unheld] = "";
  mg_status s = mg_at(J->ugraph, at, m, e);
  while (s == MG_OK && mgi_check_unheld(J, *m, why, sizeof why)) {
    uint32_t k = 0;
    if (!J->unheld[0]) memcpy(J->unheld, why, sizeof why);
    for (uint32_t j = 1; j < J->ugraph->n_symbols; j++)
      if (at[j] > at[k]) k = j;
    if (at[k] / 2 < J->ugraph->symbol[k].least) return s; /* what is to run says that it cannot */
    at[k] /= 2;
    mg_graph_free(*m);
    *m = NULL;
    s = mg_at(J->ugraph, at, m, e);
  }
  return s;
}
/* The members of a family that a check runs: at each symbol's values around chunks of it; where there are several symbols, each is at
   another of these; where some are contracted, once more the one that sums most, with the others at other values, so that rows can be
   compared.  The last is the greatest, at full size. */
MGI_FN mg_status mgi_check_members(mgi_check_job *J, mg_error *e) {
  const mg_graph *g = J->ugraph;
  int n[MG_MAX_SYMBOLS], rows = 0, beyond = 0;
  int64_t v[MG_MAX_SYMBOLS][MG_SYMBOL_SIZES]; /* at most MGI_CHECK_AROUND of them: one further */
  mg_status s = mg_contracted(g, J->contracted, e);
  int sums = 0, most_sums = 0, again = 0;
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    sums |= J->contracted[k];
    J->rows |= !J->contracted[k];
    const int64_t most = J->size[MGI_CHECK_SIZES][k] = mgi_check_greatest(J, k);
    int64_t whole[2];
    if (g->n_computed) continue;
    const int64_t last = mgi_check_around(g, k, most, whole), further[2] = {last, last};
    n[k] = mg_symbol_sizes(g->symbol[k].least, most, whole, further, v[k]);
    rows = n[k] > rows ? n[k] : rows;
    if (!n[k]) v[k][n[k]++] = most;
    beyond |= most != v[k][n[k] - 1];
  }
  if (g->n_computed) {
    rows = mgi_check_computed(J), beyond = 1;
    if (!rows) return mg_fail(e, MG_NO_MEMORY, "mg_cuda_check", "no memory for the sizes that are tried");
    for (int j = 0; j < rows; j++) beyond &= memcmp(J->size[j], J->size[MGI_CHECK_SIZES], g->n_symbols * sizeof **J->size) != 0;
  }
  for (int j = 0; j < rows && !g->n_computed; j++)
    for (uint32_t k = 0; k < g->n_symbols; k++) {
      J->size[j][k] = v[k][(j + (int)k) % n[k]];
      if (J->contracted[k] && J->size[j][k] >= J->size[most_sums][k]) most_sums = j;
    }
  for (uint32_t k = 0; k < g->n_symbols && sums && !g->n_computed; k++) {
    const int64_t of = J->size[rows][k] = J->size[most_sums][k];
    if (J->contracted[k] || n[k] < 2) continue;
    J->size[rows][k] = v[k][n[k] - 1] > of ? v[k][n[k] - 1] : v[k][n[k] - 2];
    again = 1;
  }
  rows += again;
  for (int j = 0; j < rows && s == MG_OK; j++) {
    s = mg_at(J->small.graph, J->size[j], &J->member[j], e);
  }
  if (s == MG_OK) s = mgi_check_greatest_held(J, e);
  J->n_sizes = rows;
  J->full = J->full || (beyond && J->cfg->samples >= 0);
  return s;
}
/* "n = 1, 15, 16; at most 256": what was run. */
MGI_FN void mgi_check_sizes_text(const mgi_check_job *J, char *text, size_t size) {
  const mg_graph *g = J->ugraph;
  size_t at = 0;
  text[0] = 0;
  for (uint32_t k = 0; k < g->n_symbols && at < size; k++) {
    at += (size_t)snprintf(text + at, size - at, "%s%s%s", k ? "; " : "", g->symbol[k].name, J->apart ? "" : " = ");
    for (int j = 0; j < J->n_sizes && at < size && !J->apart; j++) at += (size_t)snprintf(text + at, size - at, "%s%lld", j ? ", " : "", (long long)J->size[j][k]);
    if (at < size && J->full) at += (size_t)snprintf(text + at, size - at, ", blocks of %lld", (long long)J->size[MGI_CHECK_SIZES][k]);
  }
  if (J->full && J->unheld[0] && at < size) snprintf(text + at, size - at, " (at the most %s)", J->unheld);
}
/* Its reduced sizes are too much work. */
MGI_FN void mgi_check_alone(mgi_check_job *J) {
  J->apart = J->n_sizes = 1; /* each of its tasks is of the greatest */
  J->full = J->cfg->samples >= 0;
}
/* What of n ranges of a file, or of its only µGraph, is run, by their work together. */
MGI_FN void mgi_check_bound(mgi_check_job *J, int n) {
  double all = 0; /* of a launch at each size of each */
  for (mgi_check_job *j = J; j < J + n; j++) {
    for (int size = 0; size < j->n_sizes; size++) { /* of a family its members, else the µGraph */
      const mg_graph *g = j->member[size] ? j->member[size] : j->small.graph;
      const double work = mgi_check_work(g);
      double elements = 0;
      for (uint32_t k = 0; k < g->n_in + g->n_out; k++) elements += (double)mg_shape_elements(&mg_tensor_of(g, k < g->n_in ? g->in[k] : g->out[k - g->n_in])->shape);
      if (work > j->work) j->work = work;
      if (elements > j->elements) j->elements = elements;
      j->all += work + (size ? mgi_check_weight[MGI_COST_ELEMENTS] * elements : 0); /* further sizes are drawn anew */
    }
    if (!j->cfg->whole && !j->cfg->full_size && (j->work > MGI_CHECK_WORK_MOST || j->elements > MGI_CHECK_ELEMENTS)) mgi_check_alone(j);
    else all += j->all;
  }
  while (n > 1 && all > MGI_CHECK_TOGETHER && !J->cfg->whole && !J->cfg->full_size) { /* the largest is left to its blocks at full size */
    mgi_check_job *most = NULL;
    for (mgi_check_job *j = J; j < J + n; j++)
      if (!j->apart && (!most || j->work > most->work)) most = j;
    mgi_check_alone(most);
    all -= most->all;
  }
  const double orders = MGI_CHECK_FEW * MGI_CHECK_WORK_MOST / all; /* of all launches over a field */
  for (mgi_check_job *j = J; j < J + n; j++) {
    if (j->cfg->whole || (!j->apart && all <= MGI_CHECK_WORK && j->elements <= MGI_CHECK_ELEMENTS)) continue;
    if (j->work > MGI_CHECK_WORK && j->seeds > MGI_CHECK_FEW) j->seeds = MGI_CHECK_FEW;
    if (j->apart) continue;
    if (orders < j->seeds) j->seeds = orders < 1 ? 1 : (int)orders;
    const double launches = MGI_CHECK_LAUNCHES / all - j->float_seeds;
    j->families = launches > 1 ? (int)launches : 1;
    j->last = all > MGI_CHECK_LAUNCHES && j->n_sizes > 1;
    if (j->last) j->float_seeds = 1;
  }
}
/* The sizes that a check runs at: reduced ones, or, where they are asked for, the µGraph's own. */
MGI_FN mg_status mgi_check_sizes(mgi_check_job *J, mg_error *e) {
  mg_status s = mg_cuda_reduce(J->ugraph, &J->small, e);
  if (s == MG_OK && J->cfg->full_size && J->small.changed) {
    mg_classes c;
    mg_graph_free(J->small.graph);
    J->small.graph = NULL;
    J->small.changed = 0;
    s = mg_classes_of(J->ugraph, &c, e);
    if (s == MG_OK) {
      s = mg_resize(J->ugraph, c.extent, NULL, &J->small.graph, e);
      mg_classes_free(&c);
    }
  }
  J->full = J->small.changed && J->cfg->samples >= 0;
  J->n_sizes = 1;
  J->seeds = J->cfg->seeds > 0 ? J->cfg->seeds : MGI_CHECK_ORDERS;
  J->float_seeds = 2;
  if (s == MG_OK && J->ugraph->n_symbols) s = mgi_check_members(J, e);
  return s;
}
/* The text without comments and blanks; NULL: there is no memory. */
MGI_FN char *mgi_check_code(const char *text) {
  char *out = (char *)malloc(strlen(text) + 1), *to = out;
  for (const char *p = text; out && *p; p++) {
    if (p[0] == '/' && p[1] == '/') p += strcspn(p, "\n") - 1;
    else if (p[0] == '/' && p[1] == '*' && strstr(p + 2, "*/")) p = strstr(p + 2, "*/") + 1;
    else if (!strchr(" \t\r\n", *p)) *to++ = *p;
  }
  if (out) *to = 0;
  return out;
}
/* What the head of an emitted file says that its kernels read in device memory. */
MGI_FN void mgi_check_reading(const char *text, const mg_graph *g, mg_emit_config *cfg) {
  const char *at = strstr(text, "words, is in device memory, where kernels read"), *end = at ? strchr(at, ';') : NULL;
  for (; end && (at = strstr(at, "words[")) != NULL && at < end; at++) {
    const uint32_t k = (uint32_t)strtoul(at + 6, NULL, 10);
    if (k < g->n_symbols) cfg->device |= 1u << k;
    else if (k - g->n_symbols < g->n_out) cfg->displaced |= 1u << (k - g->n_symbols);
  }
}
/* What the emitter makes of the µGraphs of an emitted file, for the architecture that the file names. */
MGI_FN void mgi_check_right(mgi_check_job *J, int n) {
  mg_emit_config cfg;
  mg_error ignored;
  char arch[MG_ARCH_TEXT];
  memset(&cfg, 0, sizeof cfg);
  if (!strstr(J->text, "mugraph {{{")) return;
  if (mgi_check_arch(J->text, arch)) cfg.arch = arch;
  mgi_check_reading(J->text, J->ugraph, &cfg);
  for (int k = 0; k < n; k++) {
    char *own = NULL; /* without the other ranges: what these do with maxima says nothing of it */
    if (mg_cuda_emit(J[k].ugraph, &cfg, &own, &ignored) != MG_OK) return;
    J[k].shifted = strstr(own, "mg_row_shift<") != NULL;
    if (!J->range) J->right = own, own = NULL;
    mg_string_free(own);
  }
  if (J->range && mg_cuda_emit_ranges(J->range, n, &cfg, NULL, &J->right, &ignored) != MG_OK) J->right = NULL;
  char *one = J->right ? mgi_check_code(J->text) : NULL, *other = one ? mgi_check_code(J->right) : NULL;
  for (int k = 0; k < n; k++) J[k].right = J->right, J[k].edited = one && other && strcmp(one, other);
  free(one);
  free(other);
}
static const char *const mgi_check_builds[] = {"fields", "floats", "full", "full_floats", "right"};
enum { MGI_CHECK_BUILDS = 5, MGI_CHECK_BUILD_RIGHT = 4 };
/* The builds of the text that n ranges share, at the same time: over field elements, over floats and, where one is run at full size,
   both at full size, which are all where none is run at reduced sizes; of an edited file one of what the emitter makes of the µGraph,
   over floats. */
MGI_FN mg_status mgi_check_build(const mgi_check_job *J, int n_jobs, const char *cxx, const char *headers, mg_error *e) {
  const int has_volatile = mgi_check_has(J->text, MGI_HAS_VOLATILE), clang = strstr(cxx, "clang") != NULL;
  const size_t room = (size_t)n_jobs * MGI_CHECK_DEFINES;
  const char **argv = (const char **)malloc((room + 32) * sizeof *argv);
  char *define = (char *)malloc(room * MGI_CHECK_DEFINE), source[600], right[600], out[MGI_CHECK_BUILDS][600], include[600];
  mgi_child child[MGI_CHECK_BUILDS];
  int n = 0, defines = 0, started = 0, full = 0, apart = 0, reduced = 0;
  mg_status s = argv && define ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_cuda_check", "no memory");
  for (int k = 0; k < n_jobs && s == MG_OK; k++) {
    mg_classes c;
    full |= J[k].full, apart |= J[k].apart, reduced |= !J[k].apart;
    s = J[k].apart ? MG_OK : mg_classes_of(J[k].ugraph, &c, e);
    if (s != MG_OK || J[k].apart) continue;
    const int of = mgi_check_defines(J[k].ugraph, &c, &J[k].small, J->text, define + (size_t)MGI_CHECK_DEFINE * (size_t)defines, e);
    if (of < 0) s = e ? e->status : MG_BAD_INPUT;
    else defines += of;
    mg_classes_free(&c);
  }
  if (s != MG_OK) {
    free((void *)argv);
    free(define);
    return s;
  }
  snprintf(include, sizeof include, "-I%s", headers);
  snprintf(source, sizeof source, "%s/kernel.cu", J->dir);
  snprintf(right, sizeof right, "%s/right.cu", J->dir);
  const char *fixed[] = {cxx, NULL, "-std=c++17", "-shared", "-fPIC", "-w", "-DMG_EMULATE", include};
  static const char *const fields[] = {"-DMG_EMULATE_FIELD", "-pthread"}, *const floats[] = {"-DMG_EMULATE_RACES", "-fsanitize=thread", "-g1", "-fno-exceptions", "-nodefaultlibs", "-lm", "-lc"};
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) argv[n++] = fixed[k];
  for (int k = 0; k < defines; k++) argv[n++] = define + MGI_CHECK_DEFINE * k;
  argv[n++] = "-o";
  int at_out = n;
  static const int order[MGI_CHECK_BUILDS] = {0, 1, MGI_CHECK_BUILD_RIGHT, 2, 3}; /* those without the sizes last: they take their place */
  for (int b = 0; b < MGI_CHECK_BUILDS && s == MG_OK; b++) {
    const int k = order[b];
    if (k == MGI_CHECK_BUILD_RIGHT ? !J->edited || !reduced : k >= 2 ? !full : !reduced) continue;
    const int watched = k == 1 || (k == 3 && apart); /* races do not depend on values: of each range one build watches */
    const int instrumented = watched || (has_volatile && k != MGI_CHECK_BUILD_RIGHT);
    argv[1] = instrumented ? "-O1" : "-Og"; /* -Og compiles faster; which line an access is at is told by what -O1 inlines */
    n = at_out;
    if (k == 2 || k == 3) { /* without the sizes */
      n -= 1 + defines;
      argv[n++] = "-o";
    }
    snprintf(out[k], sizeof out[k], "%s/%s.so", J->dir, mgi_check_builds[k]);
    argv[n++] = out[k];
    for (int a = 0; a < (watched ? 7 : k == 1 || k == 3 || k == MGI_CHECK_BUILD_RIGHT ? 0 : 2); a++) argv[n++] = watched ? floats[a] : fields[a];
    if (has_volatile && k != MGI_CHECK_BUILD_RIGHT) { /* its accesses are order points, in every build */
      for (int a = 1; !watched && a < 7; a++) argv[n++] = floats[a];
      if (!watched) argv[n++] = "-lpthread", argv[n++] = "-DMG_EMULATE_VOLATILE", argv[n++] = "-fno-threadsafe-statics";
      argv[n++] = clang ? "-mllvm" : "--param=tsan-distinguish-volatile=1";
      if (clang) argv[n++] = "-tsan-distinguish-volatile=1";
    }
    argv[n++] = "-x";
    argv[n++] = "c++";
    argv[n++] = k == MGI_CHECK_BUILD_RIGHT ? right : source;
    argv[n++] = NULL;
    if (mgi_child_limited(&child[started], argv, J->timeout_s, (int64_t)4 << 30)) started++; /* any text may come in */
    else s = mg_fail(e, MG_MACHINE, cxx, "cannot start it: %s", strerror(errno));
  }
  for (int k = 0; k < started; k++) {
    int code = mgi_child_wait(&child[k]);
    if (s != MG_OK || !code) continue;
    if (code == 127 && !child[k].n) s = mg_fail(e, MG_MACHINE, cxx, "no such C++ compiler: install g++ (Debian: apt-get install g++) or set CXX");
    else if (code >= 256) s = mg_fail(e, MG_MACHINE, cxx, "the compiler was ended by signal %d%s", code - 256, code == 256 + SIGALRM ? ": out of time" : "");
    else {
      char what[256];
      if (mgi_check_unmodelled(J->text, mgi_child_says(&child[k]), what, sizeof what)) s = mg_fail(e, MG_UNSUPPORTED, "emitted file", "link 2 does not model %.200s", what);
      else s = mg_fail(e, MG_BAD_INPUT, "emitted file", "%s refuses it: %.200s", cxx, mgi_child_says(&child[k]));
    }
  }
  free((void *)argv);
  free(define);
  return s;
}
/* Two pairs; the second also avoids the first one's primes, as if a constant held them. */
MGI_FN mg_status mgi_check_fields(const mgi_check_job *J, int opaque, mg_field F[2], mg_error *e) {
  const mg_graph *both[3] = {J->ugraph, J->small.graph, NULL};
  int64_t one = 1;
  mg_status s = mg_field_small(both, 2, J->seed, opaque, &F[0], e);
  if (s != MG_OK) return s;
  mg_graph *shun = mg_program_new("shun", NULL);
  mg_output(shun, mg_scale(shun, mg_input(shun, "X", MG_F16, 1, &one), 1, (int64_t)(F[0].p * F[0].q)));
  s = mg_check(shun, e);
  both[2] = shun;
  if (s == MG_OK) s = mg_field_small(both, 3, J->seed + 1, opaque, &F[1], e);
  mg_graph_free(shun);
  return s;
}
/* Its tasks: two fields, floats; at full size a field and floats; of an edited file, floats of what it was edited from. */
enum { MGI_CHECK_FIELDS = 2, MGI_CHECK_FLOATS = 2, MGI_CHECK_SAMPLED, MGI_CHECK_SAMPLED_FLOATS, MGI_CHECK_RIGHT, MGI_CHECK_TASKS };
MGI_FN void mgi_check_task_of(const mgi_check_job *J, int k, int size, const mg_field F[2], double tolerance, mgi_check_task *task) {
  const mg_check_config *cfg = J->cfg;
  const int reduced = k < MGI_CHECK_SAMPLED || k == MGI_CHECK_RIGHT, at = reduced ? size : (int)MGI_CHECK_SIZES;
  task->g = reduced ? J->small.graph : J->ugraph;
  if (J->ugraph->n_symbols) task->family = task->g, task->g = J->member[at], task->sym = J->size[at];
  if (J->range) {
    task->entry = J->entry;
    task->range = J->range, task->n_ranges = J->n_ranges, task->at = J->at;
  }
  task->text = k == MGI_CHECK_RIGHT ? J->right : J->text;
  task->shifted = J->shifted;
  task->yardstick = k == MGI_CHECK_RIGHT;
  if (J->rows && k == MGI_CHECK_FLOATS) snprintf(task->keep, sizeof task->keep, "%s/size%d", J->dir, size);
  if (J->edited && (k == MGI_CHECK_RIGHT || k == MGI_CHECK_FLOATS)) snprintf(task->keep, sizeof task->keep, "%s/%s", J->dir, k == MGI_CHECK_RIGHT ? "right" : "floats");
  task->F = k < MGI_CHECK_FIELDS ? &F[k] : k == MGI_CHECK_SAMPLED ? &F[0] : NULL;
  task->samples = k < MGI_CHECK_SAMPLED || k == MGI_CHECK_RIGHT ? 0 : k == MGI_CHECK_SAMPLED_FLOATS && (cfg->samples <= 0 || cfg->samples > 3) ? 3 : cfg->samples ? cfg->samples : 6;
  task->seed = J->seed * 3 + (uint64_t)(k == MGI_CHECK_RIGHT ? MGI_CHECK_FLOATS : k);
  const int least = J->last && reduced && size + 1 < J->n_sizes;
  task->seeds = k < MGI_CHECK_FIELDS ? J->seeds : least ? 1 : J->float_seeds;
  task->families = least ? -1 : J->families;
  if (task->families && task->yardstick) task->families = least ? 1 : J->families + 1; /* of the right one normal inputs are a family too */
  task->share = J->share;
  task->apart = J->apart;
  task->tolerance = tolerance;
  snprintf(task->so, sizeof task->so, "%s/%s.so", J->dir, mgi_check_builds[k < MGI_CHECK_FIELDS ? 0 : k - 1]);
}
/* What task k found goes into the report. */
MGI_FN void mgi_check_tell(const mgi_check_job *J, int k, const mgi_check_record *found, const mg_field F[2], mg_check_report *r) {
  if (k < MGI_CHECK_FIELDS || (k == MGI_CHECK_SAMPLED && J->apart)) {
    const int f = k < MGI_CHECK_FIELDS ? k : 0;
    r->compared += found->compared;
    r->undefined += found->undefined;
    r->p[f] = F[f].p;
    r->q[f] = F[f].q;
    r->fields += found->status == MG_OK;
    r->seeds = found->seeds;
    r->host_calls = found->host_calls;
    r->products = found->products;
  }
  if (k == MGI_CHECK_FLOATS || (k == MGI_CHECK_SAMPLED_FLOATS && J->apart)) {
    if (found->float_error > r->float_error) r->float_error = found->float_error;
    r->float_checked = found->status == MG_OK && (!J->apart || found->sampled);
    r->float_seeds = found->seeds;
    r->families = found->families;
    r->left_families = found->left_families;
  }
  if (k < MGI_CHECK_SAMPLED) {
  } else if (k == MGI_CHECK_SAMPLED) {
    r->sampled = found->sampled;
    r->sampled_compared = found->compared;
    memcpy(r->unsampled, found->unsampled, sizeof r->unsampled);
    r->unformed = found->unformed;
  } else if (k == MGI_CHECK_SAMPLED_FLOATS) {
    r->sampled_floats = found->sampled;
    if (found->float_error > r->float_error) r->float_error = found->float_error;
    r->float_checked = r->float_checked && found->status == MG_OK;
  }
  if (found->status == MG_NOT_FOUND) {
    if (!r->difference[0] || (found->race && !r->race)) memcpy(r->difference, found->difference, sizeof r->difference); /* it says why */
    r->race |= found->race;
  }
}
/* Outputs of an edited file against those of what the emitter makes of its µGraph, on the same inputs: relative to their size, and
   to half a step of what they are stored in.  Sums in another order differ in the last bits of f32, by which few of the stored values
   become their neighbours; one more rounding to 16 bits moves many.  1: same. */
MGI_FN int mgi_check_alike(const mgi_check_job *J, int size, int family, double *off, double *most) {
  const mg_graph *g = J->member[size] ? J->member[size] : J->small.graph;
  char path[2][540];
  FILE *f[2];
  int same = 1;
  for (int k = 0; k < 2; k++) {
    snprintf(path[k], sizeof path[k], "%s/%s.%d", J->dir, k ? "right" : "floats", family);
    f[k] = fopen(path[k], "rb");
  }
  for (uint32_t k = 0; k < g->n_out && f[0] && f[1] && same; k++) {
    const mg_tensor_info *o = mg_tensor_of(g, g->out[k]);
    const size_t size = (size_t)mg_dtype_bytes(o->dtype);
    double difference = 0, norm = 0;
    for (int64_t i = 0, n = mg_shape_elements(&o->shape); i < n; i++) {
      uint32_t bits[2];
      unsigned char raw[2][4];
      if (fread(raw[0], 1, size, f[0]) != size || fread(raw[1], 1, size, f[1]) != size) break;
      for (int j = 0; j < 2; j++) bits[j] = mgi_cd_get(raw[j], o->dtype, 0);
      const double got = mg_from_bits(o->dtype, bits[0]), right = mg_from_bits(o->dtype, bits[1]);
      if (fabs(right) < 1e300) norm += right * right;
      if (!(fabs(right) < 1e300) || fabs(got - right) <= (size == 2 ? ldexp(1, mg_type_row(o->dtype)->least) : 0)) continue; /* one of the smallest steps */
      difference += got == got ? (got - right) * (got - right) : HUGE_VAL;
    }
    *most = size == 2 ? ldexp(1, -mg_type_row(o->dtype)->digits) / 6 : 2e-5;
    *off = mgi_cd_relative(difference, norm);
    same = *off <= *most;
  }
  for (int k = 0; k < 2; k++)
    if (f[k]) fclose(f[k]);
  return same;
}
MGI_FN mg_status mgi_check_against(const mgi_check_job *J, int size, const mgi_check_record *got, const mgi_check_record *right, mg_check_report *r) {
  for (int k = 0; k < MGI_FAMILIES; k++) {
    double off = got->family[k], most = 2 * right->family[k] + 0x1p-8;
    if (right->family[k] < 0 || got->family[k] < 0 || (k < MGI_FAMILY_PEAKS ? mgi_check_alike(J, size, k, &off, &most) : off <= most)) continue;
    snprintf(r->difference, sizeof r->difference, "over floats it %s %.3g, not %.3g, %s what the emitter makes of its \xC2\xB5Graph (%s): values are rounded to other bits, or maxima are other ones",
             k < MGI_FAMILY_PEAKS ? "differs by" : "has a relative error of", off, most, k < MGI_FAMILY_PEAKS ? "from" : "by", mgi_draw_names[k]);
    return MG_NOT_FOUND;
  }
  return MG_OK;
}
/* All tasks at once, each a process.  *again: a second exponential hid elements. */
MGI_FN mg_status mgi_check_tasks(mgi_check_job *J, int size, const mg_field F[2], int *again, mg_error *e) {
  mg_check_report *r = &J->r;
  mgi_check_task task[MGI_CHECK_TASKS];
  mgi_check_record record[MGI_CHECK_TASKS];
  mgi_child child[MGI_CHECK_TASKS];
  mg_status s = MG_OK;
  int started = 0;
  for (int k = 0; k < MGI_CHECK_TASKS && s == MG_OK; k++) {
    const int full = k == MGI_CHECK_SAMPLED || k == MGI_CHECK_SAMPLED_FLOATS;
    if (full ? !J->full || size : J->apart || (k == MGI_CHECK_RIGHT && !J->edited)) continue;
    memset(&task[k], 0, sizeof task[k]);
    mgi_check_task_of(J, k, size, F, r->tolerance, &task[k]);
    if (mgi_check_start(&child[k], &task[k], J->timeout_s)) started |= 1 << k;
    else s = mg_fail(e, MG_MACHINE, "mg_cuda_check", "cannot start a process: %s", strerror(errno));
  }
  if (!size) r->compared = r->undefined = 0, *again = 0;
  r->fields = 0;
  r->left_orders = J->apart ? 0 : (J->cfg->seeds > 0 ? J->cfg->seeds : MGI_CHECK_ORDERS) - J->seeds;
  r->difference[0] = 0;
  for (int k = 0; k < MGI_CHECK_TASKS; k++) {
    if (!(started >> k & 1)) continue;
    mgi_check_finish(&child[k], J->timeout_s, &record[k]);
    if (k == MGI_CHECK_RIGHT) {
      if (s == MG_OK && record[k].status == MG_OK) s = mgi_check_against(J, size, &record[MGI_CHECK_FLOATS], &record[k], r);
      continue;
    }
    mgi_check_tell(J, k, &record[k], F, r);
    if (record[k].share > J->took) J->took = record[k].share;
    if (k < MGI_CHECK_FIELDS || k == MGI_CHECK_SAMPLED) *again |= record[k].twice > 0;
    if (record[k].status == MG_NOT_FOUND) s = MG_NOT_FOUND; /* a difference beats any other outcome */
    else if (record[k].status != MG_OK && s == MG_OK) {
      s = record[k].status;
      if (e) *e = record[k].error;
    }
  }
  return s;
}
/* The files of a check, and their directory. */
MGI_FN void mgi_check_remove(const char *dir) {
  char path[600];
  for (int k = 0; k < MGI_CHECK_BUILDS; k++) {
    snprintf(path, sizeof path, "%s/%s.so", dir, mgi_check_builds[k]);
    unlink(path);
  }
  for (int k = 0; k < 2; k++) {
    snprintf(path, sizeof path, "%s/%s.cu", dir, k ? "right" : "kernel");
    unlink(path);
    for (int family = 0; family < MGI_FAMILY_PEAKS; family++) {
      snprintf(path, sizeof path, "%s/%s.%d", dir, k ? "right" : "floats", family);
      unlink(path);
    }
  }
  rmdir(dir);
}

/* What a job is of, before it is known what of it is run. */
MGI_FN mg_status mgi_check_prepare(mgi_check_job *J, const mg_graph *ugraph, mg_error *e) {
  J->quoted = J->text;
  if (J->range && !mgi_cu_ranges_name(J->range, J->n_ranges, J->entry, e)) return MG_BAD_INPUT;
  for (int k = 0; J->range && k <= J->at; k++) J->quoted = strstr(J->quoted + (k > 0), "mugraph {{{");
  J->ugraph = ugraph;
  mg_status s = mgi_cd_meant(J->text, &J->ugraph, &J->own, e);
  if (s != MG_OK) return s;
  J->r.tolerance = mgi_cd_tolerance(J->ugraph);
  s = mg_verify_rows(J->ugraph, e);
  return s == MG_OK ? mgi_check_sizes(J, e) : s;
}
/* What is seen without running it. */
MGI_FN mg_status mgi_check_read(mgi_check_job *J, mg_error *e) {
  J->r.reduced = J->small.changed && !J->apart;
  J->r.work = J->work;
  J->r.at_last = J->last;
  J->r.apart = J->apart;
  if (J->r.reduced) mgi_check_say_sizes(J->small.graph, J->r.sizes, sizeof J->r.sizes);
  if (J->apart && !J->full)
    return mg_fail(e, MG_UNSUPPORTED, J->ugraph->name, "undecided: a launch at the least sizes takes %.2g operations, the limit is %.2g, and no block is to run at full size", J->work, MGI_CHECK_WORK_MOST);
  return mgi_check_quoted(J->ugraph, J->quoted, &J->r) ? mgi_check_constants(J->ugraph, J->text, &J->r, e) : MG_NOT_FOUND;
}
/* The files of n jobs, compiled. */
MGI_FN mg_status mgi_check_make(mgi_check_job *J, int n, const char *headers, mg_error *e) {
  char path[600];
  const char *cxx = J->cfg->cxx ? J->cfg->cxx : getenv("CXX");
  if (!cxx || !cxx[0] || strchr(cxx, ' ')) cxx = "g++";
  mg_status s = mgi_cd_temp_dir(J->cfg->work_dir, J->dir, sizeof J->dir, e);
  for (int k = 1; k < n; k++) memcpy(J[k].dir, J->dir, sizeof J->dir);
  for (int right = 0; right < (J->edited ? 2 : 1) && s == MG_OK; right++) {
    const char *text = right ? J->right : J->text;
    snprintf(path, sizeof path, "%s/%s.cu", J->dir, right ? "right" : "kernel");
    if (!mgi_cd_write(path, text, strlen(text))) s = mg_fail(e, MG_MACHINE, path, "cannot write it: %s", strerror(errno));
  }
  return s == MG_OK ? mgi_check_build(J, n, cxx, headers, e) : s;
}
/* All that a job runs. */
MGI_FN mg_status mgi_check_run(mgi_check_job *J, mg_error *e) {
  mg_check_report *r = &J->r;
  mg_status s = MG_OK;
  J->rows &= !J->edited && !J->apart;
  for (int opaque = 0, again = 1; opaque < 2 && again && s == MG_OK; opaque++) { /* once more with exp uninterpreted where a second exponential hides elements */
    mg_field F[2];
    s = mgi_check_fields(J, opaque, F, e);
    if (s != MG_OK) break;
    r->float_error = 0;
    for (int size = 0; size < J->n_sizes && s == MG_OK; size++) {
      s = mgi_check_tasks(J, size, F, &again, e);
      const size_t used = strlen(r->difference);
      if (s == MG_NOT_FOUND && J->ugraph->n_symbols)
        for (uint32_t k = 0, at = (uint32_t)used; k < J->ugraph->n_symbols && at < sizeof r->difference; k++)
          at += (uint32_t)snprintf(r->difference + at, sizeof r->difference - at, "%s%s = %lld", k ? ", " : "; at ", J->ugraph->symbol[k].name, (long long)J->size[strstr(r->difference, "at full size") ? (int)MGI_CHECK_SIZES : size][k]);
    }
    if (J->ugraph->n_symbols) mgi_check_sizes_text(J, r->sizes, sizeof r->sizes);
    if (J->rows) mgi_check_rows(J, r);
    r->exp_opaque = opaque;
  }
  if (s == MG_OK && r->unformed) /* in the sizes that it is for, nothing is seen of it */
    s = mg_fail(e, MG_UNSUPPORTED, J->ugraph->name, "undecided: of %d kernel%s no block ran at full size: %.160s", r->unformed, r->unformed == 1 ? "" : "s", r->unsampled);
  if (s == MG_OK && r->compared < r->undefined) /* the program divides by zero too often for a verdict */
    s = mg_fail(e, MG_UNSUPPORTED, J->ugraph->name, "undecided: %llu of %llu output elements are undefined over the fields", (unsigned long long)r->undefined,
                (unsigned long long)(r->undefined + r->compared));
  return s;
}
/* What one range's check says goes to what is said of all. */
#define MGI_JOIN_LEAST(x, y) if ((y) < (x)) (x) = (y);
#define MGI_JOIN_MOST(x, y) if ((y) > (x)) (x) = (y);
#define MGI_JOIN_SUM(x, y) (x) += (y);
#define MGI_JOIN_ANY(x, y) (x) |= (y);
#define MGI_JOIN_ALL(x, y) (x) &= (y);
#define MGI_JOIN_LAST(x, y) memcpy(&(x), &(y), sizeof(x));
#define MGI_JOIN_FIRST(x, y) if (!(x)[0]) memcpy(x, y, sizeof(x));
#define MGI_JOIN_LIST(x, y) snprintf((x) + strlen(x), sizeof(x) - strlen(x), "; %s", y);
MGI_FN void mgi_check_join(mg_check_report *all, const mg_check_report *one) {
#define MGI_F(join, type, name, count, what) MGI_JOIN_##join(all->name, one->name)
  MG_CHECK_FIELDS(MGI_F)
#undef MGI_F
}
mg_status mg_cuda_check(const mg_graph *ugraph, const char *cu_text, const mg_check_config *cfg, mg_check_report *r, mg_error *e) {
  mg_check_config none;
  mg_check_report ignored;
  mg_graph *read[MG_MAX_RANGES];
  const mg_graph *range[MG_MAX_RANGES] = {ugraph};
  char headers[400];
  int n = 0, at = 0;
  memset(&none, 0, sizeof none);
  cfg = cfg ? cfg : &none;
  if (!r) r = &ignored;
  memset(r, 0, sizeof *r);
  mg_status s = ugraph ? MG_OK : mg_cuda_source_graphs(cu_text, strlen(cu_text), read, &n, e);
  for (int k = 0; k < n; k++) range[k] = read[k];
  const int jobs = n > 1 ? n : 1;
  mgi_check_job *J = (mgi_check_job *)calloc((size_t)jobs, sizeof *J);
  if (s == MG_OK && !J) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_check", "no memory");
  if (s == MG_OK) s = mgi_cd_header_dir(cfg->include_dir, headers, sizeof headers, e);
  const mg_status found = s;
  for (int k = 0; k < jobs && s == MG_OK; k++) {
    J[k].cfg = cfg, J[k].text = cu_text;
    J[k].seed = cfg->seed ? cfg->seed : 1;
    J[k].timeout_s = cfg->timeout_s > 0 ? cfg->timeout_s : 300;
    if (n > 1) J[k].range = range, J[k].n_ranges = n, J[k].at = k;
    s = mgi_check_prepare(&J[at = k], range[k], e);
  }
  if (s == MG_OK) mgi_check_bound(J, jobs);
  for (int k = 0; k < jobs && s == MG_OK; k++) s = mgi_check_read(&J[at = k], e);
  if (s == MG_OK) mgi_check_right(J, jobs);
  if (s == MG_OK) s = mgi_check_make(J, jobs, headers, e);
  double left = 1; /* of what blocks at full size may take: each an equal part of what those before it left */
  for (int k = 0; k < jobs && s == MG_OK; k++) {
    J[k].share = left / (jobs - k);
    s = mgi_check_run(&J[at = k], e);
    left -= J[k].took;
  }
  for (int k = 0; k <= at && found == MG_OK; k++)
    if (k) mgi_check_join(r, &J[k].r);
    else *r = J->r;
  if (r->race) mgi_check_lines(J->dir, mgi_check_builds[strstr(r->difference, "at full size") ? 3 : 1], cu_text, r->difference, sizeof r->difference);
  if (s == MG_NOT_FOUND && J[at].ugraph) mg_fail(e, MG_NOT_FOUND, J[at].ugraph->name, "the kernel is not its µGraph: %.200s", r->difference);
  if (J && J->dir[0] && cfg->keep) snprintf(r->kept, sizeof r->kept, "%.250s", J->dir);
  else if (J && J->dir[0]) mgi_check_remove(J->dir);
  if (J) mg_string_free(J->right);
  for (int k = 0; J && k < jobs; k++) {
    for (int m = 0; m <= MGI_CHECK_SIZES; m++) mg_graph_free(J[k].member[m]);
    mg_reduced_free(&J[k].small);
    mg_graph_free(J[k].own);
  }
  free(J);
  while (n > 0) mg_graph_free(read[--n]);
  return s;
}

/* ---- numerics: the families of mirage_verify.h over the emulated file
   Sizes: what is contracted or reduced keeps its extent, so that sums are as long as they are; other classes shrink to one block's. */
typedef struct mgi_safe_task {
  const mg_graph *program, *g; /* both at these sizes */
  const int64_t *sym;        /* of their families; NULL: they are of none */
  const char *text;
  char so[512];
  const mg_check_config *cfg;
  uint64_t seed;
  int part, parts;
} mgi_safe_task;
typedef struct mgi_safe_record {
  mg_status status;
  mg_error error;
  mg_numerics_report r;
} mgi_safe_record;
static_assert(sizeof(mgi_safe_record) < 16384, "a child's record is what mgi_child keeps");
typedef struct mgi_safe_runner {
  const mgi_safe_task *t;
  mgi_check_entry n;
  mgi_tensors x;
  mgi_emulator m;
  mgi_emu_wide wide;
  unsigned char *space, *aligned;
  size_t space_bytes;
  uint32_t first[MG_MAX_IN], *stored[MG_MAX_OUT]; /* the number before an input's; outputs' */
} mgi_safe_runner;

MGI_FN mg_status mgi_safe_launch(mgi_safe_runner *R, int pass, mg_error *e) {
  R->wide.pass = pass;
  R->wide.read = 0;
  R->m.wide = &R->wide;
  R->m.seed = 0;
  memset(R->aligned, 0, R->space_bytes);
  for (uint32_t k = 0; k < R->t->g->n_out; k++) memset(R->x.out[k], 0xFF, R->x.out_bytes[k]);
  if (R->n.setup(&R->m) != 0) return mg_fail(e, MG_BAD_INPUT, "emitted file", "it was compiled with another version of mirage_cuda.cuh: include_dir has to name this one's");
  const int rc = mgi_check_launch(&R->n, R->n.launch, (const void *const *)R->x.in, R->x.out, R->space_bytes ? R->aligned : NULL, NULL);
  return rc || R->m.error[0] ? mg_fail(e, MG_BAD_INPUT, R->t->g->name, "the launch fails (%d): %.200s", rc, R->m.error) : MG_OK;
}

/* Fills the inputs in: values in their memory order, or in passes 1 and 2 the halves of their elements' numbers. */
MGI_FN void mgi_safe_fill(mgi_safe_runner *R, const float *const *in, int pass) {
  const mg_graph *g = R->t->g;
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *o = mg_tensor_of(g, g->in[k]);
    int64_t stride[MG_MAX_RANK];
    mg_strides(o, stride);
    for (int64_t i = 0; i < R->x.in_n[k]; i++) {
      uint32_t bits, number = R->first[k] + (uint32_t)i + 1;
      mgi_cd_rounded(o->dtype, in[k][i], &bits);
      if (o->dtype != MG_F32 && pass) {
        if (pass == 3) R->wide.value[number] = in[k][i];
        bits = pass == 2 ? number >> 16 : number & 0xFFFF;
      }
      if (pass < 3 || o->dtype == MG_F32) mgi_cd_put(R->x.in[k], o->dtype, mgi_cd_place(&o->shape, stride, i), bits);
    }
  }
}

/* Passes 1 and 2, once: which storing every read finds. */
MGI_FN mg_status mgi_safe_trace(mgi_safe_runner *R, const float *const *in, mg_error *e) {
  const mg_graph *g = R->t->g;
  uint32_t inputs = 0;
  mg_status s = MG_OK;
  for (uint32_t k = 0; k < g->n_in; k++) R->first[k] = inputs, inputs += (uint32_t)R->x.in_n[k];
  for (int pass = 1; pass < 3 && s == MG_OK; pass++) {
    const uint32_t made = R->wide.made;
    R->wide.made = inputs;
    mgi_safe_fill(R, in, pass);
    s = mgi_safe_launch(R, pass, e);
    if (pass == 1) R->wide.logged = R->wide.read;
    else if (R->wide.read != R->wide.logged || R->wide.made != made) R->wide.lost = 1;
    for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++) {
      const mg_dtype type = mg_tensor_of(g, g->out[k])->dtype;
      for (int64_t i = 0; i < R->x.out_n[k] && type != MG_F32; i++) R->stored[k][i] |= mgi_cd_get(R->x.out[k], type, i) << (pass == 2 ? 16 : 0);
    }
  }
  R->wide.values = R->wide.made;
  R->wide.value = (float *)malloc(((size_t)R->wide.values + 1) * sizeof(float));
  if (!R->wide.value) R->wide.lost = 1;
  return s;
}

MGI_FN mg_status mgi_safe_run(void *user, const float *const *in, float *const *out, int wide, mg_error *e) {
  mgi_safe_runner *R = (mgi_safe_runner *)user;
  const mg_graph *g = R->t->g;
  mg_status s = MG_OK;
  if (wide && !R->wide.value && !R->wide.lost) s = mgi_safe_trace(R, in, e);
  if (wide && R->wide.lost) return mg_fail(e, MG_UNSUPPORTED, g->name, "what the kernel stores and reads depends on values, or is too much to keep");
  if (s != MG_OK) return s;
  if (wide) R->wide.made = R->first[g->n_in - 1] + (uint32_t)R->x.in_n[g->n_in - 1];
  mgi_safe_fill(R, in, wide ? 3 : 0);
  s = mgi_safe_launch(R, wide ? 3 : 0, e);
  if (s == MG_OK && wide && (R->wide.lost || R->wide.read != R->wide.logged || R->wide.made != R->wide.values))
    s = mg_fail(e, MG_UNSUPPORTED, g->name, "what the kernel stores and reads depends on values");
  for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++) {
    const mg_dtype type = mg_tensor_of(g, g->out[k])->dtype;
    for (int64_t i = 0; i < R->x.out_n[k]; i++) {
      const uint32_t number = R->stored[k][i];
      out[k][i] = !wide || type == MG_F32 ? (float)mg_from_bits(type, mgi_cd_get(R->x.out[k], type, i)) : number == 0 ? 0.0f : number <= R->wide.values ? R->wide.value[number] : NAN;
    }
  }
  return s;
}

/* In the child. */
MGI_FN void mgi_safe_body(const void *task, void *record) {
  const mgi_safe_task *t = (const mgi_safe_task *)task;
  const mg_graph *g = t->g;
  mgi_safe_record *r = (mgi_safe_record *)record;
  mgi_safe_runner R;
  mgi_check_task opened;
  mgi_check_record why;
  mg_numerics_config c;
  memset(&R, 0, sizeof R);
  memset(&opened, 0, sizeof opened);
  memset(&why, 0, sizeof why);
  memset(&c, 0, sizeof c);
  R.t = t;
  opened.g = g, opened.sym = t->sym;
  memcpy(opened.so, t->so, sizeof opened.so);
  if (!mgi_check_open(&opened, &R.n, &why) || !mgi_sized_room(&R.n, &why)) {
    r->status = why.status, r->error = why.error;
    return;
  }
  r->status = mgi_tensors_new(g, 1, &R.x, &r->error);
  R.space_bytes = R.n.workspace();
  R.space = (unsigned char *)malloc(R.space_bytes + 512);
  R.aligned = R.space ? R.space + (256 - (uintptr_t)R.space % 256) % 256 : NULL;
  for (uint32_t k = 0; k < g->n_out && r->status == MG_OK; k++) {
    R.stored[k] = (uint32_t *)calloc((size_t)R.x.out_n[k] + 1, sizeof(uint32_t));
    if (!R.stored[k]) r->status = mg_fail(&r->error, MG_NO_MEMORY, "mg_cuda_numerics", "no memory for an output");
  }
  if (r->status == MG_OK && !R.space) r->status = mg_fail(&r->error, MG_NO_MEMORY, "workspace", "no memory for %llu bytes", (unsigned long long)R.space_bytes);
  if (r->status != MG_OK) return;
  mgi_check_emulator(&R.m, t->text, NULL);
  for (uint32_t k = 0; k < g->n_in; k++) mgi_check_range(&R.m, mg_tensor_of(g, g->in[k])->name, R.x.in[k], R.x.in_bytes[k], 0);
  for (uint32_t k = 0; k < g->n_out; k++) mgi_check_range(&R.m, mg_tensor_of(g, g->out[k])->name, R.x.out[k], R.x.out_bytes[k], 1);
  if (R.space_bytes) mgi_check_range(&R.m, "the workspace", R.aligned, R.space_bytes, 1);
  mgi_sized_range(&R.m, &R.n);
  c.seed = t->seed, c.part = t->part, c.parts = t->parts, c.time_limit_s = t->cfg->numerics_s, c.first = t->cfg->numerics_first;
  r->status = mg_numerics(t->program, mgi_safe_run, &R, &c, &r->r, &r->error);
} /* the process ends: what it holds goes with it */

/* Which classes of g may shrink, as mgi_red_reduce takes it: none that `p` contracts, reduces or concatenates, p being g's program
   (inputs by position).  Without one: none but those of outputs that no loop cuts. */
MGI_FN void mgi_safe_keep(const mg_graph *p, const mg_classes *pc, const mg_graph *g, const mg_classes *c, uint8_t *keep) {
  memset(keep, 0, c->n);
  for (uint32_t o = 1; o < g->n_ops; o++) { /* what a kernel holds whole is part of its tiles */
    const mg_graph *sub = g->ops[o].sub;
    int stores = 0;
    for (uint32_t l = 1; sub && l < sub->n_ops; l++) {
      const mg_op_node *in = &sub->ops[l];
      if (in->code != MG_OP_LOAD && in->code != MG_OP_STORE) continue;
      const uint32_t t = in->code == MG_OP_LOAD ? in->in[0].id : g->ops[o].out[stores++].id;
      for (int d = 0; d < g->tensors[t].shape.rank; d++) {
        const int32_t cls = c->of[t * MG_MAX_RANK + (uint32_t)d];
        int cut = 0;
        for (uint32_t a = 1; a < sub->n_axes; a++) cut |= in->map.to[a] == d && sub->axes[a].extent > 1;
        if (cls >= 0 && !cut) keep[cls] = 2;
      }
    }
  }
  if (!p) {
    for (uint32_t k = 0; k < c->n; k++) {
      int out = 0;
      for (uint32_t o = 0; o < g->n_out; o++)
        for (int d = 0; d < mg_tensor_of(g, g->out[o])->shape.rank; d++) out |= c->of[g->out[o].id * MG_MAX_RANK + (uint32_t)d] == (int32_t)k;
      if (!out) keep[k] = 2;
    }
    for (uint32_t o = 1; o < g->n_ops; o++)
      for (uint32_t l = 1; g->ops[o].sub && l < g->ops[o].sub->n_ops; l++)
        for (uint32_t a = 4; a < g->ops[o].sub->n_axes; a++) {
          const mg_op_node *in = &g->ops[o].sub->ops[l];
          const int32_t cls = in->code == MG_OP_LOAD && in->map.to[a] >= 0 ? c->of[in->in[0].id * MG_MAX_RANK + (uint32_t)in->map.to[a]] : -1;
          if (cls >= 0) keep[cls] = 2;
        }
    return;
  }
  for (uint32_t o = 1; o < p->n_ops; o++) {
    const mg_op_node *op = &p->ops[o];
    const int product = op->code == MG_OP_MATMUL || op->code == MG_OP_CONCAT_MATMUL, along = op->code == MG_OP_SUM || op->code == MG_OP_MAX || op->code == MG_OP_ARGMAX || mg_op_along(op->code);
    for (int j = 0; j < op->n_in; j++) {
      const int rank = mg_tensor_of(p, op->in[j])->shape.rank, d = product ? rank - (j < op->n_in / 2 ? 1 : 2) : op->attr.dim;
      const int32_t cls = product || along ? pc->of[op->in[j].id * MG_MAX_RANK + (uint32_t)d] : -1;
      for (uint32_t k = 0; k < p->n_in && cls >= 0; k++)
        for (int b = 0; b < mg_tensor_of(p, p->in[k])->shape.rank; b++) {
          const int32_t mine = c->of[g->in[k].id * MG_MAX_RANK + (uint32_t)b];
          if (pc->of[p->in[k].id * MG_MAX_RANK + (uint32_t)b] == cls && mine >= 0) keep[mine] = 2;
        }
    }
  }
}

/* Both graphs at those sizes. */
MGI_FN mg_status mgi_safe_sizes(const mg_graph *p, const mg_graph *g, mg_reduced *small, mg_graph **program, mg_error *e) {
  mg_classes c, pc;
  memset(&pc, 0, sizeof pc);
  *program = NULL;
  mg_status s = mg_classes_of(g, &c, e);
  if (s != MG_OK) return s;
  uint8_t *keep = (uint8_t *)calloc(c.n + 1u, 1);
  if (!keep) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_numerics", "no memory");
  if (s == MG_OK && p) s = mg_classes_of(p, &pc, e);
  if (s == MG_OK) {
    mgi_safe_keep(p, &pc, g, &c, keep);
    s = mgi_red_reduce(g, keep, 1, small, e);
  }
  for (uint32_t k = 0; p && s == MG_OK && k < p->n_in; k++)
    for (int d = 0; d < mg_tensor_of(p, p->in[k])->shape.rank; d++) {
      const int32_t cls = pc.of[p->in[k].id * MG_MAX_RANK + (uint32_t)d];
      if (cls >= 0) pc.extent[cls] = mg_tensor_of(small->graph, small->graph->in[k])->shape.dim[d];
    }
  if (s == MG_OK && p) s = mg_resize(p, pc.extent, NULL, program, e);
  if (s == MG_OK && p) s = mg_verify_signature(*program, small->graph, e);
  free(keep);
  mg_classes_free(&c);
  mg_classes_free(&pc);
  return s;
}

/* g: what the file was emitted of, or NULL. */
MGI_FN mg_status mgi_safe_build(const mg_graph *g, const mg_reduced *small, const char *so, const char *source, const char *cxx, const char *headers, int timeout_s, const char *text, mg_error *e) {
  const char *argv[MGI_CHECK_DEFINES + 20];
  char *define = (char *)malloc((size_t)MGI_CHECK_DEFINES * MGI_CHECK_DEFINE), include[600];
  mgi_child child;
  mg_classes c;
  int n = 0;
  memset(&c, 0, sizeof c);
  mg_status s = g ? mg_classes_of(g, &c, e) : MG_OK;
  if (s == MG_OK && !define) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_numerics", "no memory");
  const int defines = s == MG_OK && g ? mgi_check_defines(g, &c, small, text, define, e) : 0;
  if (defines < 0) s = MG_BAD_INPUT;
  snprintf(include, sizeof include, "-I%s", headers);
  const char *fixed[] = {cxx, "-std=c++17", "-O2", "-shared", "-fPIC", "-w", "-DMG_EMULATE", "-DMG_EMULATE_WIDE", include};
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) argv[n++] = fixed[k];
  for (int k = 0; k < defines; k++) argv[n++] = define + MGI_CHECK_DEFINE * k;
  const char *last[] = {"-o", so, "-x", "c++", source, NULL};
  for (size_t k = 0; k < sizeof last / sizeof *last; k++) argv[n++] = last[k];
  if (s == MG_OK && !mgi_child_limited(&child, argv, timeout_s, (int64_t)4 << 30)) s = mg_fail(e, MG_MACHINE, cxx, "cannot start it: %s", strerror(errno));
  else if (s == MG_OK) {
    const int code = mgi_child_wait(&child);
    if (code == 127 && !child.n) s = mg_fail(e, MG_MACHINE, cxx, "no such C++ compiler: install g++ (Debian: apt-get install g++) or set CXX");
    else if (code >= 256) s = mg_fail(e, MG_MACHINE, cxx, "the compiler was ended by signal %d%s", code - 256, code == 256 + SIGALRM ? ": out of time" : "");
    else if (code) s = mg_fail(e, MG_BAD_INPUT, "emitted file", "%s refuses it: %.200s", cxx, mgi_child_says(&child));
  }
  mg_classes_free(&c);
  free(define);
  return s;
}

/* Scalar operations of all outputs of g, about; more than a process does of them in a second, by far. */
enum { MGI_SAFE_RATE = 1000000000 };
MGI_FN double mgi_safe_work(const mg_graph *g) {
  mg_box all[MG_MAX_OUT];
  mg_part part;
  memset(all, 0, sizeof all);
  for (uint32_t k = 0; k < g->n_out; k++)
    for (int d = 0; d < mg_tensor_of(g, g->out[k])->shape.rank; d++) all[k].hi[d] = mg_tensor_of(g, g->out[k])->shape.dim[d];
  if (mg_part_of(g, all, &part, NULL) != MG_OK) return 0;
  const double work = part.work;
  mg_part_free(&part);
  return work;
}
/* Of a µGraph with gathers and argmaxes, which take indices and keep what they hand on, the rest (mg_rest_of):
   *program, which may be NULL, *ugraph and *cu_text become its.  Of an edited file that would be another text.  Of any
   other µGraph nothing changes.  R and *text are the caller's to free, whatever comes back. */
MGI_FN mg_status mgi_safe_rest(const mg_graph **program, const mg_graph **ugraph, const char **cu_text,
                               const char *arch, mg_rest *R, char **text, mg_error *e) {
  static const char include[] = "#include \"mirage_cuda.cuh\"";
  mg_emit_config emit;
  char *own = NULL;
  memset(&emit, 0, sizeof emit), memset(R, 0, sizeof *R);
  emit.arch = arch, *text = NULL;
  if (!mg_has_picks(*ugraph)) return MG_OK;
  mg_status s = mg_cuda_emit(*ugraph, &emit, &own, e);
  const char *code = s == MG_OK ? strstr(own, include) : NULL, *given = strstr(*cu_text, include);
  if (s == MG_OK && (!code || !given || strcmp(code, given)))
    s = mg_fail(e, MG_UNSUPPORTED, (*ugraph)->name,
                "of an edited file, or one for another architecture, with gathers or argmaxes there are no numerics");
  mg_string_free(own);
  if (s == MG_OK) s = mg_rest_of(*program ? *program : *ugraph, *program ? *ugraph : NULL, R, e);
  if (s == MG_OK && !R->g[0])
    s = mg_fail(e, MG_UNSUPPORTED, (*ugraph)->name, "it computes nothing but gathers and argmaxes");
  if (s == MG_OK) s = mg_cuda_emit(R->g[*program != NULL], &emit, text, e);
  if (s != MG_OK) return s;
  *ugraph = R->g[*program != NULL], *cu_text = *text;
  if (*program) *program = R->g[0];
  return MG_OK;
}
/* Whole seconds of the clock that are left of cfg->wall_s, at least one and at most `most`, which it is where there is no such limit. */
MGI_FN int mgi_safe_left(const mg_check_config *cfg, double began, int most) {
  const double left = ceil(began + cfg->wall_s - mgi_seconds());
  return !(cfg->wall_s > 0) || left > most ? most : left < 1 ? 1 : (int)left;
}
mg_status mg_cuda_numerics(const mg_graph *program, const mg_graph *ugraph, const char *cu_text, const mg_check_config *cfg, mg_numerics_report *r, mg_error *e) {
  enum { MOST = 8, MGI_SAFE_ROWS = 16 }; /* of a symbol, more say no more: they are parallel */
  mg_check_config none;
  mg_graph *own = NULL, *sized = NULL, *member = NULL;
  int64_t value[MG_MAX_SYMBOLS];
  mg_reduced small;
  char headers[400], dir[400] = "", source[600], so[600];
  mgi_safe_task task[MOST];
  mgi_child child[MOST];
  mg_rest rest;
  char *text = NULL;
  int started = 0;
  memset(&none, 0, sizeof none);
  memset(&small, 0, sizeof small);
  memset(r, 0, sizeof *r);
  cfg = cfg ? cfg : &none;
  const char *cxx = cfg->cxx ? cfg->cxx : getenv("CXX");
  if (!cxx || !cxx[0] || strchr(cxx, ' ')) cxx = "g++";
  const int timeout_s = cfg->timeout_s > 0 ? cfg->timeout_s : 300;
  const double began = mgi_seconds();
  mg_status s = mgi_cd_header_dir(cfg->include_dir, headers, sizeof headers, e);
  if (s == MG_OK) s = mgi_cd_meant(cu_text, &ugraph, &own, e);
  if (s != MG_OK) return s;
  s = mgi_safe_rest(&program, &ugraph, &cu_text, NULL, &rest, &text, e);
  if (s == MG_OK && program) s = mg_verify_signature(program, ugraph, e);
  if (s == MG_OK) s = mgi_safe_sizes(program, ugraph, &small, &sized, e);
  const mg_graph *g = small.graph, *yardstick = sized;
  const int64_t *sym = NULL;
  if (s == MG_OK) s = mgi_cd_member(&g, &member, NULL, MGI_SAFE_ROWS, value, &sym, e);
  if (s == MG_OK && sized) s = mgi_cd_member(&yardstick, &sized, NULL, MGI_SAFE_ROWS, value, &sym, e);
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  const int parts = cfg->jobs > 0 ? cfg->jobs < MOST ? cfg->jobs : MOST : processors > MOST ? MOST : processors > 0 ? (int)processors : 1;
  if (s == MG_OK) { /* known before it is compiled: each family runs the program twice, in two precisions */
    const double work = mgi_safe_work(yardstick ? yardstick : g) + mgi_safe_work(g);
    if (2.0 * MG_FAMILIES_LEAST * work > (double)MGI_SAFE_RATE * parts * timeout_s)
      s = mg_fail(e, MG_UNSUPPORTED, ugraph->name, "its families take more than %d s of processor time", timeout_s);
  }
  if (s == MG_OK) s = mgi_cd_temp_dir(cfg->work_dir, dir, sizeof dir, e);
  snprintf(source, sizeof source, "%s/kernel.cu", dir);
  snprintf(so, sizeof so, "%s/numerics.so", dir);
  if (s == MG_OK && !mgi_cd_write(source, cu_text, strlen(cu_text))) s = mg_fail(e, MG_MACHINE, source, "cannot write it: %s", strerror(errno));
  if (s == MG_OK) s = mgi_safe_build(ugraph, &small, so, source, cxx, headers, mgi_safe_left(cfg, began, timeout_s), cu_text, e);
  const int left = cfg->wall_s > 0 ? mgi_safe_left(cfg, began, INT32_MAX) : 0;
  for (int k = 0; k < parts && s == MG_OK; k++) {
    mgi_safe_task *t = &task[k];
    t->program = yardstick ? yardstick : g, t->g = g, t->sym = sym;
    t->text = cu_text, t->cfg = cfg, t->seed = cfg->seed ? cfg->seed : 1;
    t->part = k, t->parts = parts;
    snprintf(t->so, sizeof t->so, "%.500s", so);
    if (mgi_check_fork(&child[k], mgi_safe_body, t, sizeof(mgi_safe_record), timeout_s, left)) started++;
    else s = mg_fail(e, MG_MACHINE, "mg_cuda_numerics", "cannot start a process: %s", strerror(errno));
  }
  mg_status both = MG_OK;
  for (int k = 0; k < started; k++) {
    mgi_safe_record got;
    const int code = mgi_child_wait(&child[k]);
    if (code || child[k].n != sizeof got) {
      if (s != MG_OK) continue;
      const int late = code == 256 + SIGXCPU || code == 256 + SIGALRM;
      if (late && left) s = mg_fail(e, MG_UNSUPPORTED, ugraph->name, "its families take more than %g s", cfg->wall_s);
      else if (late) s = mg_fail(e, MG_UNSUPPORTED, ugraph->name, "its families take more than %d s of processor time", timeout_s);
      else s = mg_fail(e, MG_UNSUPPORTED, ugraph->name, "the emulated kernel ends its process (%d)", code);
      continue;
    }
    memcpy(&got, child[k].out, sizeof got);
    if (got.status != MG_OK && got.status != MG_NOT_FOUND && s == MG_OK) {
      s = got.status;
      if (e) *e = got.error;
    }
    both = mg_numerics_join(r, &got.r);
  }
  if (s == MG_OK) s = both;
  if (s == MG_NOT_FOUND) mg_fail(e, s, ugraph->name, "not as safe as written: %.100s", r->fault.family);
  else if (s == MG_UNSUPPORTED && both == MG_UNSUPPORTED) mg_fail(e, s, ugraph->name, "%d families bind, of %d that ran: fewer than %d", r->binding, r->ran, (int)MG_FAMILIES_LEAST);
  if (dir[0] && !cfg->keep) {
    unlink(so);
    unlink(source);
    rmdir(dir);
  }
  mg_graph_free(sized);
  mg_graph_free(member);
  mg_reduced_free(&small);
  mg_string_free(text);
  mg_rest_free(&rest);
  mg_graph_free(own);
  return s;
}
int mg_cuda_settle(void *user, const mg_graph *program, const mg_graph *ugraph) {
  mg_emit_config emit;
  mg_check_config c;
  mg_numerics_report r;
  mg_error ignored;
  char *text = NULL;
  memset(&emit, 0, sizeof emit), memset(&c, 0, sizeof c);
  emit.arch = (const char *)user, c.numerics_first = 1;
  const int unsafe = mg_cuda_emit(ugraph, &emit, &text, &ignored) == MG_OK && mg_cuda_numerics(program, ugraph, text, &c, &r, &ignored) == MG_NOT_FOUND;
  mg_string_free(text);
  return unsafe;
}

/* ---- emulation on the caller's data */
typedef struct mgi_emulated_file {
  char *text, so[512], name[100];
  mgi_check_entry n;
  unsigned char *space, *aligned;
  size_t bytes;
} mgi_emulated_file;
struct mg_emulated {
  int n;
  uint64_t launches;
  char dir[400], headers[400];
  const char *cxx;
  int timeout_s, jobs;
  mgi_emulated_file *file;
};
typedef struct mgi_emulated_share { const mg_emulated *m; int first; } mgi_emulated_share;
typedef struct mgi_emulated_built { mg_status status; mg_error error; } mgi_emulated_built;
mg_status mg_cuda_apart(void (*body)(const void *task, void *record), const void *task, void *record, size_t bytes, int timeout_s, mg_error *e) {
  mgi_child child;
  if (bytes > 8192 || !mgi_check_fork(&child, body, task, bytes, timeout_s, 0)) return mg_fail(e, MG_MACHINE, "mg_cuda_apart", "cannot start a process: %s", strerror(errno));
  const int code = mgi_child_wait(&child);
  if (code || child.n != bytes) return mg_fail(e, MG_NOT_FOUND, "mg_cuda_apart", "the process ends with %d", code);
  memcpy(record, child.out, bytes);
  return MG_OK;
}
/* Of every `jobs`-th file, from the first of the share on. */
MGI_FN void mgi_emulated_compile(const void *task, void *record) {
  const mgi_emulated_share *S = (const mgi_emulated_share *)task;
  mgi_emulated_built *r = (mgi_emulated_built *)record;
  mg_reduced none;
  char source[600];
  memset(&none, 0, sizeof none);
  for (int k = S->first; k < S->m->n && r->status == MG_OK; k += S->m->jobs) {
    const mgi_emulated_file *f = &S->m->file[k];
    mg_graph *g[MG_MAX_RANGES];
    int n = 0;
    if (!f->text) continue;
    snprintf(source, sizeof source, "%s/%d.cu", S->m->dir, k);
    g[0] = NULL;
    if (strstr(f->text, "mugraph {{{")) r->status = mg_cuda_source_graphs(f->text, strlen(f->text), g, &n, &r->error);
    if (r->status == MG_OK && !mgi_cd_write(source, f->text, strlen(f->text))) r->status = mg_fail(&r->error, MG_MACHINE, source, "cannot write it: %s", strerror(errno));
    if (r->status == MG_OK) r->status = mgi_safe_build(g[0], &none, f->so, source, S->m->cxx, S->m->headers, S->m->timeout_s, f->text, &r->error);
    unlink(source);
    while (n > 0) mg_graph_free(g[--n]);
  }
}
mg_status mg_cuda_emulate(const char *const *cu_text, const char *const *entry, int n, const mg_check_config *cfg, mg_emulated **out, mg_error *e) {
  enum { MOST = 8 };
  mg_check_config none;
  mgi_emulated_share share[MOST];
  mgi_child child[MOST];
  int started = 0;
  memset(&none, 0, sizeof none);
  *out = NULL;
  cfg = cfg ? cfg : &none;
  mg_emulated *m = (mg_emulated *)calloc(1, sizeof *m);
  if (m) m->file = (mgi_emulated_file *)calloc((size_t)n + 1, sizeof *m->file), m->n = n;
  mg_status s = m && m->file ? mgi_cd_temp_dir(cfg->work_dir, m->dir, sizeof m->dir, e) : mg_fail(e, MG_NO_MEMORY, "mg_cuda_emulate", "no memory");
  if (s == MG_OK) s = mgi_cd_header_dir(cfg->include_dir, m->headers, sizeof m->headers, e);
  if (s != MG_OK) { mg_emulated_free(m); return s; }
  m->cxx = cfg->cxx ? cfg->cxx : getenv("CXX");
  if (!m->cxx || !m->cxx[0] || strchr(m->cxx, ' ')) m->cxx = "g++";
  m->timeout_s = cfg->timeout_s > 0 ? cfg->timeout_s : 300;
  const long processors = cfg->jobs > 0 ? cfg->jobs : sysconf(_SC_NPROCESSORS_ONLN);
  m->jobs = processors < 1 ? 1 : processors > MOST ? (int)MOST : (int)processors;
  for (int k = 0; k < n && s == MG_OK; k++) {
    mgi_emulated_file *f = &m->file[k];
    if (!cu_text[k]) continue;
    snprintf(f->so, sizeof f->so, "%s/%d.so", m->dir, k), snprintf(f->name, sizeof f->name, "%s", entry[k]);
    f->text = (char *)malloc(strlen(cu_text[k]) + 1);
    if (!f->text) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_emulate", "no memory");
    else strcpy(f->text, cu_text[k]);
  }
  for (; started < m->jobs && s == MG_OK; started++) {
    share[started].m = m, share[started].first = started;
    if (mgi_check_fork(&child[started], mgi_emulated_compile, &share[started], sizeof(mgi_emulated_built), m->timeout_s, 0)) continue;
    s = mg_fail(e, MG_MACHINE, "mg_cuda_emulate", "cannot start a process: %s", strerror(errno));
    break;
  }
  for (int j = 0; j < started; j++) {
    mgi_emulated_built got;
    const int code = mgi_child_wait(&child[j]);
    if (!code && child[j].n == sizeof got) memcpy(&got, child[j].out, sizeof got);
    else got.status = mg_fail(&got.error, MG_MACHINE, "mg_cuda_emulate", "a process that compiles ends with %d", code);
    if (s != MG_OK || got.status == MG_OK) continue;
    s = got.status;
    if (e) *e = got.error;
  }
  if (s == MG_OK) *out = m;
  else mg_emulated_free(m);
  return s;
}
void mg_emulated_free(mg_emulated *m) {
  if (!m) return;
  for (int k = 0; m->file && k < m->n; k++) {
    if (m->file[k].text) unlink(m->file[k].so);
    if (m->file[k].n.so) dlclose(m->file[k].n.so);
    free(m->file[k].text), free(m->file[k].space);
  }
  if (m->dir[0]) rmdir(m->dir);
  free(m->file), free(m);
}
/* File k, loaded at its first use. */
MGI_FN mg_status mgi_emulated_open(mg_emulated *m, int k, mgi_emulated_file **out, mg_error *e) {
  mgi_emulated_file *f = *out = &m->file[k];
  mgi_check_task t;
  mgi_check_record why;
  mg_graph named;
  if (f->n.so) return MG_OK;
  memset(&t, 0, sizeof t), memset(&why, 0, sizeof why), memset(&named, 0, sizeof named);
  named.name = f->name, t.g = &named, memcpy(t.so, f->so, sizeof t.so);
  if (mgi_check_open(&t, &f->n, &why) || (f->n.setup && f->n.launch)) return MG_OK; /* one that nobody emitted may have no workspace */
  if (f->n.so) dlclose(f->n.so);
  memset(&f->n, 0, sizeof f->n);
  if (e) *e = why.error;
  return why.status;
}
const mg_emitted_info *mg_emulated_info(mg_emulated *m, int k, size_t *workspace, mg_error *e) {
  mgi_emulated_file *f;
  *workspace = 0;
  if (mgi_emulated_open(m, k, &f, e) != MG_OK) return NULL;
  if (f->n.workspace) *workspace = f->n.workspace();
  return f->n.info;
}
int mg_emulated_early(mg_emulated *m, int k) { return m->file[k].n.launch_pdl != NULL; }
int mg_emulated_has_blocks(const mg_emulated *m, int k) { return m->file[k].n.blocks != NULL; }
int mg_emulated_blocks(mg_emulated *m, int k, const int64_t *sym, int64_t *count, int room) {
  return m->file[k].n.blocks ? m->file[k].n.blocks(sym, count, room) : 0;
}
mg_status mg_emulated_call(mg_emulated *m, int k, const mg_device_call *c, mg_error *e) {
  mgi_emulated_file *f;
  mgi_emulator is;
  mg_status s = mgi_emulated_open(m, k, &f, e);
  if (s != MG_OK) return s;
  if (c->early && !f->n.launch_pdl) return mg_fail(e, MG_BAD_INPUT, f->name, "it has no %.80s_launch_pdl", f->name);
  f->n.sym = c->sym;
  mgi_check_emulator(&is, f->text, NULL);
  for (int i = 0; i < c->n_in; i++) {
    int made = !c->in[i];
    for (int j = 0; j < c->n_out; j++) made |= c->in[i] == c->out[j];
    if (!made) mgi_check_range(&is, "an operand", (void *)(uintptr_t)c->in[i], c->in_bytes[i], 0);
  }
  for (int i = 0; i < c->n_out; i++) mgi_check_range(&is, "a result", c->out[i], c->out_bytes[i], 1);
  if (c->workspace_bytes) mgi_check_range(&is, "the workspace", c->workspace, c->workspace_bytes, 1);
  is.seed = m->launches++;
  if (f->n.setup(&is) != 0) return mg_fail(e, MG_BAD_INPUT, "emitted file", "it was compiled with another version of mirage_cuda.cuh: include_dir has to name this one's");
  const int rc = mgi_check_launch(&f->n, c->early ? f->n.launch_pdl : f->n.launch, c->in, c->out, c->workspace, NULL);
  return rc || is.error[0] ? mg_fail(e, MG_NOT_FOUND, f->name, "the launch fails (%d): %.200s", rc, is.error) : MG_OK;
}
mg_status mg_emulated_launch(mg_emulated *m, int k, const mg_graph *g, const int64_t *sym, const void *const *in, void *const *out, mg_error *e) {
  mgi_emulated_file *f;
  mgi_tensors x;
  mg_device_call c;
  mg_status s = mgi_emulated_open(m, k, &f, e);
  if (s != MG_OK) return s;
  if (!f->space) {
    f->bytes = f->n.workspace ? f->n.workspace() : 0;
    f->space = (unsigned char *)calloc(f->bytes + 512, 1);
    if (!f->space) return mg_fail(e, MG_NO_MEMORY, "workspace", "no memory for %llu bytes", (unsigned long long)f->bytes);
    f->aligned = f->space + (256 - (uintptr_t)f->space % 256) % 256;
  }
  s = mgi_tensors_new(g, 1, &x, e);
  for (uint32_t i = 0; i < g->n_in && s == MG_OK; i++) {
    const mgi_filler at = mgi_filler_of(g, i);
    uint32_t bits;
    if (at.x->dtype == MG_I32) memcpy(x.in[i], in[i], x.in_bytes[i]);
    else
      for (int64_t j = 0; j < x.in_n[i]; j++) mgi_cd_rounded(at.x->dtype, (float)((const double *)in[i])[j], &bits), mgi_filler_put(&at, x.in[i], j, bits);
  }
  for (uint32_t i = 0; i < g->n_out && s == MG_OK; i++) memset(x.out[i], 0xFF, x.out_bytes[i]);
  memset(&c, 0, sizeof c);
  c.n_in = (int)g->n_in, c.n_out = (int)g->n_out, c.in = (const void *const *)x.in, c.out = x.out, c.in_bytes = x.in_bytes, c.out_bytes = x.out_bytes;
  c.workspace = f->bytes ? f->aligned : NULL, c.workspace_bytes = f->bytes, c.sym = sym;
  if (s == MG_OK) s = mg_emulated_call(m, k, &c, e);
  for (uint32_t i = 0; i < g->n_out && s == MG_OK; i++) {
    const mg_dtype type = mg_tensor_of(g, g->out[i])->dtype;
    if (type == MG_I32) memcpy(out[i], x.out[i], x.out_bytes[i]);
    else
      for (int64_t j = 0; j < x.out_n[i]; j++) ((double *)out[i])[j] = mg_from_bits(type, mgi_cd_get(x.out[i], type, j));
  }
  mgi_tensors_free(&x);
  return s;
}

#else
mg_status mg_cuda_check(const mg_graph *ugraph, const char *cu_text, const mg_check_config *cfg, mg_check_report *r, mg_error *e) {
  (void)ugraph, (void)cu_text, (void)cfg;
  if (r) memset(r, 0, sizeof *r);
  return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_check", "it needs field arithmetic: include mirage_verify.h before mirage_cuda.cuh");
}
mg_status mg_cuda_emulate(const char *const *cu_text, const char *const *entry, int n, const mg_check_config *cfg, mg_emulated **out, mg_error *e) {
  (void)cu_text, (void)entry, (void)n, (void)cfg;
  *out = NULL;
  return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emulate", "it needs mirage_verify.h, included before mirage_cuda.cuh");
}
mg_status mg_emulated_launch(mg_emulated *m, int k, const mg_graph *g, const int64_t *sym, const void *const *in, void *const *out, mg_error *e) {
  (void)m, (void)k, (void)g, (void)sym, (void)in, (void)out;
  return mg_fail(e, MG_UNSUPPORTED, "mg_emulated_launch", "it needs mirage_verify.h, included before mirage_cuda.cuh");
}
const mg_emitted_info *mg_emulated_info(mg_emulated *m, int k, size_t *workspace, mg_error *e) {
  (void)m, (void)k, (void)workspace;
  mg_fail(e, MG_UNSUPPORTED, "mg_emulated_info", "it needs mirage_verify.h, included before mirage_cuda.cuh");
  return NULL;
}
mg_status mg_emulated_call(mg_emulated *m, int k, const mg_device_call *c, mg_error *e) {
  (void)m, (void)k, (void)c;
  return mg_fail(e, MG_UNSUPPORTED, "mg_emulated_call", "it needs mirage_verify.h, included before mirage_cuda.cuh");
}
int mg_emulated_early(mg_emulated *m, int k) { return (void)m, (void)k, 0; }
int mg_emulated_has_blocks(const mg_emulated *m, int k) { return (void)m, (void)k, 0; }
int mg_emulated_blocks(mg_emulated *m, int k, const int64_t *sym, int64_t *count, int room) { return (void)m, (void)k, (void)sym, (void)count, (void)room, 0; }
void mg_emulated_free(mg_emulated *m) { (void)m; }
mg_status mg_cuda_apart(void (*body)(const void *task, void *record), const void *task, void *record, size_t bytes, int timeout_s, mg_error *e) {
  (void)body, (void)task, (void)record, (void)bytes, (void)timeout_s;
  return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_apart", "it needs mirage_verify.h, included before mirage_cuda.cuh");
}
#endif /* MIRAGE_VERIFY_H */

/* ---- nvcc, and the cache of what it made */
MGI_FN uint64_t mgi_cd_hash(uint64_t h, const void *p, size_t n) { /* FNV-1a */
  for (size_t k = 0; k < n; k++) h = (h ^ ((const unsigned char *)p)[k]) * 0x100000001B3u;
  return h;
}
MGI_FN int mgi_cd_hash_file(const char *dir, const char *name, uint64_t h[2]) {
  char path[700], buffer[8192];
  size_t n;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) {
    h[0] = mgi_cd_hash(h[0], buffer, n);
    h[1] = mgi_cd_hash(h[1], buffer, n);
  }
  fclose(f);
  return 1;
}
MGI_FN int mgi_cd_make_dirs(char *path) {
  for (char *s = path + 1; *s; s++)
    if (*s == '/') {
      *s = 0;
      int failed = mkdir(path, 0700) && errno != EEXIST;
      *s = '/';
      if (failed) return 0;
    }
  return !mkdir(path, 0700) || errno == EEXIST;
}

/* An entry of the cache ends with "mirage." and 16 digits, the hash of what stands before. */
enum { MGI_SEAL = 24 };
MGI_FN int mgi_cache_hash(FILE *f, long n, uint64_t *h) {
  unsigned char buffer[65536];
  *h = 0xCBF29CE484222325u;
  for (size_t got; n > 0; n -= (long)got) {
    got = fread(buffer, 1, n < (long)sizeof buffer ? (size_t)n : sizeof buffer, f);
    if (!got) return 0;
    *h = mgi_cd_hash(*h, buffer, got);
  }
  return 1;
}
MGI_FN int mgi_cache_seal(const char *path) {
  uint64_t h;
  FILE *f = fopen(path, "rb+");
  if (!f) return 0;
  int ok = !fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  ok = ok && n > 0 && mgi_cache_hash(f, n, &h) && !fseek(f, 0, SEEK_END) && fprintf(f, "mirage. %016llx", (unsigned long long)h) == MGI_SEAL;
  return fclose(f) == 0 && ok;
}
MGI_FN int mgi_cache_whole(const char *path) {
  char seal[MGI_SEAL + 1] = "", want[MGI_SEAL + 1];
  uint64_t h;
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  int ok = !fseek(f, -MGI_SEAL, SEEK_END);
  long n = ftell(f);
  ok = ok && fread(seal, 1, MGI_SEAL, f) == MGI_SEAL;
  rewind(f);
  ok = ok && mgi_cache_hash(f, n, &h);
  if (ok) snprintf(want, sizeof want, "mirage. %016llx", (unsigned long long)h), ok = !strcmp(seal, want);
  fclose(f);
  return ok;
}
/* Deletes the entries of `dir` used longest ago until they have no more than `most` bytes together; `keep` stays. */
MGI_FN void mgi_cache_trim(const char *dir, int64_t most, const char *keep) {
  for (;;) {
    char path[MG_SO_PATH + 300], oldest[MG_SO_PATH + 300] = "";
    int64_t all = 0;
    time_t at = 0;
    struct stat st;
    DIR *d = opendir(dir);
    if (!d) return;
    for (struct dirent *x; (x = readdir(d)) != NULL;) {
      size_t n = strlen(x->d_name);
      if (n != 35 || strcmp(x->d_name + 32, ".so") || strspn(x->d_name, "0123456789abcdef") != 32) continue;
      snprintf(path, sizeof path, "%.500s/%s", dir, x->d_name);
      if (stat(path, &st)) continue;
      all += (int64_t)st.st_size;
      if (strcmp(path, keep) && (!oldest[0] || st.st_mtime < at)) snprintf(oldest, sizeof oldest, "%s", path), at = st.st_mtime;
    }
    closedir(d);
    if (all <= most || !oldest[0] || unlink(oldest)) return;
  }
}

/* ---- compilers: nvcc; or NVRTC for the kernels and a C++ compiler for their launch, a quarter of the time */
typedef struct mgi_rtc { /* NULL functions: it is not there */
  int (*version)(int *, int *), (*create)(void **, const char *, const char *, int, const char *const *, const char *const *), (*compile)(void *, int, const char *const *);
  int (*log_size)(void *, size_t *), (*log)(void *, char *), (*cubin_size)(void *, size_t *), (*cubin)(void *, char *);
  int major, minor;
  char root[300];
} mgi_rtc;
MGI_FN int mgi_rtc_open(mgi_rtc *r) {
  const char *off = getenv("MIRAGE_NVRTC"), *root[3];
  char path[400];
  memset(r, 0, sizeof *r);
  if (off && !strcmp(off, "0")) return 0;
  root[0] = getenv("CUDA_HOME"), root[1] = getenv("CUDA_PATH"), root[2] = "/usr/local/cuda";
  for (int k = 0; k < 3; k++) {
    static const char *const needs[] = {"include/cuda.h", "include/cuda_fp16.h", "include/cuda_runtime_api.h", "lib64/libcudart_static.a", "lib64/libnvrtc.so"};
    int all = root[k] && root[k][0] && strlen(root[k]) < sizeof r->root;
    for (size_t j = 0; all && j < sizeof needs / sizeof *needs; j++) {
      snprintf(path, sizeof path, "%.300s/%s", root[k], needs[j]);
      all = !access(path, R_OK);
    }
    void *lib = all ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!lib) continue;
    snprintf(r->root, sizeof r->root, "%s", root[k]);
    *(void **)&r->version = dlsym(lib, "nvrtcVersion");
    *(void **)&r->create = dlsym(lib, "nvrtcCreateProgram");
    *(void **)&r->compile = dlsym(lib, "nvrtcCompileProgram");
    *(void **)&r->log_size = dlsym(lib, "nvrtcGetProgramLogSize");
    *(void **)&r->log = dlsym(lib, "nvrtcGetProgramLog");
    *(void **)&r->cubin_size = dlsym(lib, "nvrtcGetCUBINSize");
    *(void **)&r->cubin = dlsym(lib, "nvrtcGetCUBIN");
    if (r->version && r->create && r->compile && r->log_size && r->log && r->cubin_size && r->cubin && !r->version(&r->major, &r->minor)) return 1;
  }
  memset(r, 0, sizeof *r);
  return 0;
}
/* In the child: text -> machine code in the file `cubin`.  What is wrong goes to standard output.  1 if it is done. */
MGI_FN int mgi_rtc_compile(const mgi_rtc *r, const char *text, const char *arch, const char *headers, const char *cubin) {
  /* What mirage.h includes, for a compiler that knows no host headers; of the C library only types are used. */
  static const char *const name[] = {"assert.h", "math.h", "stddef.h", "stdint.h", "cuda_runtime.h"};
  static const char *const held[] = {"", "", "#define NULL 0\n",
      "#pragma once\ntypedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef short int16_t;\ntypedef unsigned short uint16_t;\ntypedef int int32_t;\n"
      "typedef unsigned uint32_t;\ntypedef long int64_t;\ntypedef unsigned long uint64_t;\ntypedef long intptr_t;\ntypedef unsigned long uintptr_t;\n"
      "#define INT32_MAX 0x7FFFFFFF\n#define UINT32_MAX 0xFFFFFFFFu\n#define INT64_MAX 0x7FFFFFFFFFFFFFFFL\n#define UINT64_MAX 0xFFFFFFFFFFFFFFFFuL\n"
      "#define INT64_C(x) x##L\n#define UINT64_C(x) x##uL\n",
      ""};
  char gpu[40], mirage[410], toolkit[320];
  void *program = NULL;
  size_t n = 0;
  snprintf(gpu, sizeof gpu, "--gpu-architecture=%.20s", arch);
  snprintf(mirage, sizeof mirage, "-I%.400s", headers);
  snprintf(toolkit, sizeof toolkit, "-I%.300s/include", r->root);
  const char *option[] = {gpu, "-std=c++17", "-default-device", "-prec-div=false", "-prec-sqrt=false", mirage, toolkit};
  int rc = r->create(&program, text, "emitted.cu", 5, held, name);
  if (!rc) rc = r->compile(program, 7, option);
  if (rc && program && !r->log_size(program, &n) && n) {
    char *log = (char *)malloc(n + 1);
    if (log && !r->log(program, log)) printf("%s\n", log);
    free(log);
  }
  char *code = NULL;
  if (!rc) rc = r->cubin_size(program, &n);
  if (!rc && !(code = (char *)malloc(n + 1))) rc = -1;
  if (!rc) rc = r->cubin(program, code);
  if (!rc && !mgi_cd_write(cubin, code, n)) rc = -1;
  fflush(stdout);
  free(code);
  return !rc;
}

typedef struct mgi_tools { /* what all compilations of one configuration share */
  char headers[400], cache[400], gencode[80], arch[20], nvcc[300];
  int runner, timeout_s, nvcc_works; /* nvcc_works: 0 not asked yet, 1, -1 */
  int64_t cache_bytes;
  mgi_rtc rtc;               /* rtc.compile NULL: nvcc is used */
  uint64_t h[2];             /* of what does not depend on the text */
} mgi_tools;
typedef struct mgi_build {   /* one compilation */
  mgi_child child;
  int running, by_rtc;
  char so[MG_SO_PATH], source[MG_SO_PATH + 40], cubin[MG_SO_PATH + 40], partial[MG_SO_PATH + 40];
} mgi_build;

/* Finds nvcc; its version goes into the key. */
MGI_FN mg_status mgi_tools_nvcc(mgi_tools *t, const mg_compile_config *cfg, mg_error *e) {
  const char *nvcc = cfg->nvcc ? cfg->nvcc : getenv("NVCC");
  mgi_child *c = (mgi_child *)malloc(sizeof *c);
  int code = 127;
  if (!c) return mg_fail(e, MG_NO_MEMORY, "nvcc", "no memory");
  if (!nvcc || !nvcc[0]) nvcc = "nvcc";
  for (int k = 0; k < 2; k++) {
    const char *ask[] = {nvcc, "--version", NULL};
    if (!mgi_child_start(c, ask, 60)) {
      free(c);
      return mg_fail(e, MG_MACHINE, nvcc, "cannot start it: %s", strerror(errno));
    }
    code = mgi_child_wait(c);
    if (code != 127 || strcmp(nvcc, "nvcc")) break;
    nvcc = "/usr/local/cuda/bin/nvcc";
  }
  for (int k = 0; k < 2; k++) t->h[k] = mgi_cd_hash(t->h[k], c->out, c->n);
  free(c);
  t->nvcc_works = code || strlen(nvcc) >= sizeof t->nvcc ? -1 : 1;
  if (t->nvcc_works < 0) return mg_fail(e, MG_MACHINE, "nvcc", "no working %s: install the CUDA toolkit (package cuda-nvcc or nvidia-cuda-toolkit), or set NVCC", cfg->nvcc ? cfg->nvcc : "nvcc");
  snprintf(t->nvcc, sizeof t->nvcc, "%s", nvcc);
  return MG_OK;
}
MGI_FN mg_status mgi_tools_open(const mg_compile_config *cfg, mgi_tools *t, mg_error *e) {
  const char *home, *arch = cfg->arch ? cfg->arch : mg_machine_at(0)->arch;
  struct stat st;
  memset(t, 0, sizeof *t);
  if (!mg_arch_number(arch, NULL)) {
    char known[MG_MACHINE_LIST];
    mg_machine_list(0, known);
    return mg_fail(e, MG_BAD_INPUT, "arch", "expected an architecture, as %s, found %.40s", known, arch);
  }
  snprintf(t->arch, sizeof t->arch, "%.19s", arch);
  snprintf(t->gencode, sizeof t->gencode, "-gencode=arch=compute_%s,code=%s", arch + 3, arch);
  const mg_status s = mgi_cd_header_dir(cfg->include_dir, t->headers, sizeof t->headers, e);
  if (s != MG_OK) return s;
  t->runner = cfg->runner;
  t->timeout_s = cfg->timeout_s > 0 ? cfg->timeout_s : 300;
  t->cache_bytes = cfg->cache_bytes > 0 ? cfg->cache_bytes : INT64_C(1) << 30;
  t->h[0] = 0xCBF29CE484222325u, t->h[1] = 0x9AE16A3B2F90404Fu;
  if (!t->runner || cfg->nvcc || !mgi_rtc_open(&t->rtc)) {
    mg_status s = mgi_tools_nvcc(t, cfg, e);
    if (s != MG_OK) return s;
  }
  static const char *const parts[] = {"mirage.h", "mirage_plan.h", "mirage_cuda.cuh"};
  for (int k = 0; k < 3; k++)
    if (!mgi_cd_hash_file(t->headers, parts[k], t->h)) return mg_fail(e, MG_BAD_INPUT, t->headers, "expected %s there, found none: set include_dir", parts[k]);
  for (int k = 0; k < 2; k++) {
    int how[4] = {t->runner, t->rtc.compile != NULL, t->rtc.major, t->rtc.minor};
    t->h[k] = mgi_cd_hash(mgi_cd_hash(t->h[k], t->gencode, strlen(t->gencode) + 1), how, sizeof how);
  }
  if (cfg->cache_dir) snprintf(t->cache, sizeof t->cache, "%s", cfg->cache_dir);
  else if ((home = getenv("XDG_CACHE_HOME")) != NULL && home[0]) snprintf(t->cache, sizeof t->cache, "%s/mirage", home);
  else if ((home = getenv("HOME")) != NULL && home[0]) snprintf(t->cache, sizeof t->cache, "%s/.cache/mirage", home);
  else snprintf(t->cache, sizeof t->cache, "/tmp/mirage-%u", (unsigned)getuid());
  if (!mgi_cd_make_dirs(t->cache)) return mg_fail(e, MG_MACHINE, t->cache, "cannot make the cache directory: %s", strerror(errno));
  if (stat(t->cache, &st) || st.st_uid != getuid() || (st.st_mode & 022)) /* what lies there is loaded: nobody else may write it */
    return mg_fail(e, MG_MACHINE, t->cache, "the cache directory has to belong to this user and be writable by nobody else");
  return MG_OK;
}

MGI_FN mg_status mgi_build_nvcc(const mgi_tools *t, mgi_build *b, mg_error *e) {
  char include[410];
  snprintf(include, sizeof include, "-I%s", t->headers);
  const char *argv[] = {t->nvcc, "-shared", "-Xcompiler", "-fPIC", "-O3", "-std=c++17", "-prec-div=false", "-prec-sqrt=false", t->gencode, t->runner ? "-DMG_RUNNER" : "-DMG_NO_RUNNER", include, "-o", b->partial, b->source, NULL};
  b->by_rtc = 0;
  if (!mgi_child_start(&b->child, argv, t->timeout_s)) return mg_fail(e, MG_MACHINE, t->nvcc, "cannot start it: %s", strerror(errno));
  b->running = 1;
  return MG_OK;
}
MGI_FN mg_status mgi_build_rtc(const mgi_tools *t, const char *text, mgi_build *b, mg_error *e) {
  memset(&b->child, 0, sizeof b->child);
  b->by_rtc = 1;
  b->child.pid = mgi_forked(&b->child.fd);
  if (b->child.pid < 0) return mg_fail(e, MG_MACHINE, "NVRTC", "cannot start it: %s", strerror(errno));
  if (!b->child.pid) {
    char include[410], toolkit[320], lib[320], cubin[MG_SO_PATH + 80];
    const char *cxx = getenv("CXX");
    mgi_child_speaks(b->child.fd);
    mgi_child_signals();
    alarm((unsigned)t->timeout_s);
    if (strpbrk(b->cubin, "\"\\") || !mgi_rtc_compile(&t->rtc, text, t->arch, t->headers, b->cubin)) _exit(1);
    snprintf(include, sizeof include, "-I%s", t->headers);
    snprintf(toolkit, sizeof toolkit, "-I%.300s/include", t->rtc.root);
    snprintf(lib, sizeof lib, "-L%.300s/lib64", t->rtc.root);
    snprintf(cubin, sizeof cubin, "-DMG_CUBIN=\"%s\"", b->cubin);
    const char *argv[] = {cxx && cxx[0] ? cxx : "g++", "-shared", "-fPIC", "-O1", "-std=c++17", "-DMG_HOST_ONLY", "-DMG_RUNNER", cubin, include, toolkit,
                          "-o", b->partial, "-x", "c++", b->source, lib, "-lcudart_static", "-lrt", "-lpthread", "-ldl", NULL};
    execvp(argv[0], (char *const *)argv);
    _exit(127);
  }
  b->running = 1;
  return MG_OK;
}
/* Starts a compilation, or finds its result. */
MGI_FN mg_status mgi_build_begin(const mgi_tools *t, const char *text, mgi_build *b, mg_error *e) {
  uint64_t h[2];
  struct stat st;
  memset(b, 0, sizeof *b);
  for (int k = 0; k < 2; k++) h[k] = mgi_cd_hash(t->h[k], text, strlen(text) + 1);
  if (snprintf(b->so, sizeof b->so, "%s/%016llx%016llx.so", t->cache, (unsigned long long)h[0], (unsigned long long)h[1]) >= (int)sizeof b->so)
    return mg_fail(e, MG_BAD_INPUT, t->cache, "the path is too long");
  if (!stat(b->so, &st)) {
    if (mgi_cache_whole(b->so)) {
      utime(b->so, NULL); /* used now */
      return MG_OK;
    }
    unlink(b->so);
  }
  /* Names of its own: the same text may be under way in another process, and in this one. */
  snprintf(b->source, sizeof b->source, "%s/%016llx-%ld-%p.cu", t->cache, (unsigned long long)h[0], (long)getpid(), (void *)b);
  snprintf(b->cubin, sizeof b->cubin, "%s/%016llx-%ld-%p.cubin", t->cache, (unsigned long long)h[0], (long)getpid(), (void *)b);
  snprintf(b->partial, sizeof b->partial, "%s/%016llx-%ld-%p.part.so", t->cache, (unsigned long long)h[0], (long)getpid(), (void *)b);
  if (!mgi_cd_write(b->source, text, strlen(text))) return mg_fail(e, MG_MACHINE, b->source, "cannot write it: %s", strerror(errno));
  mg_status s = t->rtc.compile ? mgi_build_rtc(t, text, b, e) : mgi_build_nvcc(t, b, e);
  if (s != MG_OK) unlink(b->source);
  return s;
}
/* Waits for it.  What NVRTC refuses, nvcc decides on. */
MGI_FN mg_status mgi_build_end(mgi_tools *t, const mg_compile_config *cfg, mgi_build *b, mg_error *e) {
  if (!b->running) return MG_OK;
  mg_status s = MG_OK;
  int code = mgi_child_wait(&b->child);
  b->running = 0;
  if (b->by_rtc && code) {
    if (!t->nvcc_works) mgi_tools_nvcc(t, cfg, e);
    if (t->nvcc_works > 0) {
      s = mgi_build_nvcc(t, b, e);
      if (s == MG_OK) code = mgi_child_wait(&b->child), b->running = 0;
    }
  }
  const char *who = b->by_rtc ? "NVRTC" : "nvcc";
  if (s != MG_OK) {}
  else if (code >= 256) s = mg_fail(e, MG_MACHINE, who, "it was ended by signal %d%s", code - 256, code == 256 + SIGALRM ? ": out of time" : "");
  else if (code) s = mg_fail(e, MG_BAD_INPUT, "emitted file", "%s refuses it: %.200s", who, mgi_child_says(&b->child));
  else if (!mgi_cache_seal(b->partial) || rename(b->partial, b->so)) s = mg_fail(e, MG_MACHINE, b->so, "cannot write it: %s", strerror(errno));
  unlink(b->source);
  unlink(b->cubin);
  unlink(b->partial);
  return s;
}

mg_status mg_cuda_compile_all(const char *const *cu_text, int n, const mg_compile_config *cfg, char (*so_path)[MG_SO_PATH], mg_status *status, mg_error *why, mg_error *e) {
  mg_compile_config none;
  memset(&none, 0, sizeof none);
  if (!cfg) cfg = &none;
  mgi_tools *t = (mgi_tools *)malloc(sizeof *t);
  mgi_build *b = (mgi_build *)calloc((size_t)(n > 0 ? n : 1), sizeof *b);
  mg_status s = t && b ? mgi_tools_open(cfg, t, e) : mg_fail(e, MG_NO_MEMORY, "compile", "no memory for %d compilations", n);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  int jobs = cfg->jobs > 0 ? cfg->jobs : processors > 0 && processors < 1024 ? (int)processors : 2, ended = 0;
  for (int k = 0; s == MG_OK && k < n + jobs; k++) { /* a window of `jobs` of them */
    if (k >= jobs && k - jobs < n && cu_text[k - jobs] && status[k - jobs] == MG_OK) status[k - jobs] = mgi_build_end(t, cfg, &b[k - jobs], &why[k - jobs]), ended = k - jobs;
    if (k < n && cu_text[k]) {
      status[k] = mgi_build_begin(t, cu_text[k], &b[k], &why[k]);
      snprintf(so_path[k], MG_SO_PATH, "%s", b[k].so);
    }
  }
  if (s == MG_OK && n > 0) mgi_cache_trim(t->cache, t->cache_bytes, b[ended].so);
  free(t);
  free(b);
  return s;
}
mg_status mg_cuda_compile(const char *cu_text, const mg_compile_config *cfg, char *so_path, size_t n, mg_error *e) {
  char so[1][MG_SO_PATH] = {""};
  mg_status status = MG_OK;
  mg_error why;
  memset(&why, 0, sizeof why);
  mg_status s = mg_cuda_compile_all(&cu_text, 1, cfg, so, &status, &why, e);
  if (s == MG_OK && status != MG_OK) {
    if (e) *e = why;
    s = status;
  }
  if (s == MG_OK && snprintf(so_path, n, "%s", so[0]) >= (int)n) s = mg_fail(e, MG_BAD_INPUT, so[0], "the path is too long");
  return s;
}

/* ---- link 3 */
/* Asks the driver for the first GPU, without the toolkit. */
MGI_FN mg_status mgi_run_device(int *major, int *minor, mg_error *e) {
  int (*init)(unsigned), (*count)(int *), (*get)(int *, int), (*attribute)(int *, int, int), (*text)(int, const char **), n = 0, device = 0;
  const char *words = "no message";
  void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!lib) return mg_fail(e, MG_MACHINE, "GPU", "no CUDA device: no NVIDIA driver is installed (%.120s)", dlerror());
  *(void **)&init = dlsym(lib, "cuInit");
  *(void **)&count = dlsym(lib, "cuDeviceGetCount");
  *(void **)&get = dlsym(lib, "cuDeviceGet");
  *(void **)&attribute = dlsym(lib, "cuDeviceGetAttribute");
  *(void **)&text = dlsym(lib, "cuGetErrorString");
  if (!init || !count || !get || !attribute || !text) return mg_fail(e, MG_MACHINE, "GPU", "no CUDA device: libcuda.so.1 is not a CUDA driver");
  int rc = init(0);
  if (!rc) rc = count(&n);
  if (!rc && !n) return mg_fail(e, MG_MACHINE, "GPU", "no CUDA device: the driver finds none");
  if (!rc) rc = get(&device, 0);
  if (!rc) rc = attribute(major, 75, device);
  if (!rc) rc = attribute(minor, 76, device);
  if (!rc) return MG_OK;
  text(rc, &words);
  return mg_fail(e, MG_MACHINE, "GPU", "no CUDA device: %.180s", words);
}

/* The GPU's architecture as kernels are compiled for it; given: what the caller asks for, or NULL. */
MGI_FN mg_status mgi_run_arch(const char *given, char *arch, size_t n, mg_error *e) {
  int major = 0, minor = 0;
  mg_status s = mgi_run_device(&major, &minor, e);
  if (s != MG_OK) return s;
  if (major < 8) return mg_fail(e, MG_UNSUPPORTED, "GPU", "its compute capability is %d.%d; emitted kernels need 8.0", major, minor);
  char own[MG_ARCH_TEXT];
  mg_arch_of_gpu(major, minor, own);
  if (given && !mg_arch_runs_on(given, major, minor)) {
    const int only = mg_arch_number(given, NULL);
    return mg_fail(e, MG_UNSUPPORTED, "GPU", "its compute capability is %d.%d; code for %.20s runs on %d.%d only: use %s",
                   major, minor, given, only / 10, only % 10, own);
  }
  snprintf(arch, n, "%s", given ? given : own);
  return MG_OK;
}
MGI_FN void mgi_run_compiler(const mg_run_config *cfg, const char *arch, mg_compile_config *c) {
  memset(c, 0, sizeof *c);
  c->arch = arch;
  c->include_dir = cfg->include_dir;
  c->cache_dir = cfg->cache_dir;
  c->nvcc = cfg->nvcc;
  c->timeout_s = cfg->timeout_s;
  c->runner = 1;
}
MGI_FN void mgi_run_begin(const mg_graph *g, const mg_run_config *cfg, mg_run_report *r) {
  memset(r, 0, sizeof *r);
  r->seed = cfg->seed ? cfg->seed : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
  r->tolerance = cfg->tolerance > 0 ? cfg->tolerance : mgi_cd_tolerance(g);
}
static_assert((int)MGI_RUN_IN == (int)MG_MAX_IN && (int)MGI_RUN_OUT == (int)MG_MAX_OUT, "the runner has room for every tensor of a program");
/* The compiled kernel of g in so_path, to be run on the tensors in x. */
MGI_FN mg_status mgi_run_open(const mg_graph *g, const char *so_path, const mgi_tensors *x, mgi_runner_job *job, mgi_runner_fn *run, void **so, mg_error *e) {
  mgi_workspace_fn workspace = NULL;
  char name[256];
  memset(job, 0, sizeof *job);
  *so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
  if (!*so) return mg_fail(e, MG_MACHINE, so_path, "cannot load it: %.180s", dlerror());
  *(void **)run = dlsym(*so, "mgi_runner_run");
  snprintf(name, sizeof name, "%s_launch", g->name);
  *(void **)&job->launch = dlsym(*so, name);
  snprintf(name, sizeof name, "%s_launch_pdl", g->name);
  *(void **)&job->launch_pdl = dlsym(*so, name);
  snprintf(name, sizeof name, "%s_workspace_bytes", g->name);
  *(void **)&workspace = dlsym(*so, name);
  if (!*run || !job->launch || !workspace) return mg_fail(e, MG_BAD_INPUT, "emitted file", "expected the entry points %.80s_launch and %.80s_workspace_bytes", g->name, g->name);
  snprintf(name, sizeof name, "%s_info", g->name);
  const mg_emitted_info *is = (const mg_emitted_info *)dlsym(*so, name);
  if (is && (is->device | is->displaced)) return mg_fail(e, MG_UNSUPPORTED, g->name, "it reads sizes in device memory: a model has them there");
  job->size = (int)sizeof *job;
  job->n_in = (int)g->n_in;
  job->n_out = (int)g->n_out;
  for (uint32_t k = 0; k < g->n_in; k++) job->in[k] = x->in[k], job->in_bytes[k] = x->in_bytes[k];
  for (uint32_t k = 0; k < g->n_out; k++) {
    job->out[k] = x->out[k];
    job->out_bytes[k] = x->out_bytes[k];
    job->again[k] = malloc(x->out_bytes[k] + 16);
    job->pdl[k] = malloc(x->out_bytes[k] + 16);
    if (!job->again[k] || !job->pdl[k]) return mg_fail(e, MG_NO_MEMORY, "mg_cuda_run", "no memory for the outputs");
  }
  job->workspace_bytes = workspace();
  return MG_OK;
}
MGI_FN void mgi_run_close(mgi_runner_job *job, void *so) {
  for (int k = 0; k < MG_MAX_OUT; k++) free(job->again[k]), free(job->pdl[k]);
  if (so) dlclose(so);
}
/* Runs it; others that time kernels wait meanwhile; without the file of the lock, nobody does. */
MGI_FN mg_status mgi_run_turn(const char *so_path, mgi_runner_fn run, mgi_runner_job *job, mg_error *e) {
  char name[600];
  snprintf(name, sizeof name, "%.*s/gpu.lock", (int)(strrchr(so_path, '/') ? strrchr(so_path, '/') - so_path : 0), so_path);
  const int turn = open(name, O_CREAT | O_RDWR, 0600);
  if (turn >= 0) while (flock(turn, LOCK_EX) && errno == EINTR) {}
  const mg_status s = run(job) ? mg_fail(e, MG_MACHINE, "GPU", "%.220s", job->error) : MG_OK;
  if (turn >= 0) close(turn);
  return s;
}
/* Runs the compiled kernel r->so_path of g on the inputs in x, and compares with x->expected; r was begun. */
MGI_FN mg_status mgi_run_compiled(const mg_graph *g, const mg_run_config *cfg, mgi_tensors *x, mg_run_report *r, mg_error *e) {
  mgi_runner_job job;
  mgi_runner_fn run = NULL;
  void *so = NULL;
  mg_status s = mgi_run_open(g, r->so_path, x, &job, &run, &so, e);
  for (uint32_t k = 0; k < g->n_in; k++) r->bytes += x->in_bytes[k];
  for (uint32_t k = 0; k < g->n_out; k++) r->bytes += x->out_bytes[k];
  job.sym = cfg->sym;
  job.reps = cfg->reps > 0 ? cfg->reps : 15;
  job.cold = cfg->cold;
  job.no_time = cfg->no_time;
  job.n_calls = cfg->calls && mg_kernels(g) <= MG_RUN_CALLS ? mg_kernels(g) : 0;
  if (s == MG_OK) s = mgi_run_turn(r->so_path, run, &job, e);
  if (s == MG_OK) {
    uint64_t undefined = 0;
    int differs = 0;
    for (uint32_t k = 0; k < g->n_out; k++) {
      int64_t worst;
      double error = mgi_tensors_error(g, x, (int)k, NULL, NULL, &r->unwritten, &undefined, &worst, NULL);
      if (!(error <= r->relative_error)) r->relative_error = error, r->worst_output = (int)k;
      differs |= memcmp(job.out[k], job.again[k], job.out_bytes[k]) != 0;
      if (job.launch_pdl && memcmp(job.out[k], job.pdl[k], job.out_bytes[k])) differs |= 2;
    }
    r->us_hot = job.us_hot;
    r->us_cold = job.us_cold;
    r->us_hot_min = job.us_hot_min;
    r->us_cold_min = job.us_cold_min;
    r->us_pdl_hot = job.us_pdl_hot;
    r->us_pdl_cold = job.us_pdl_cold;
    r->n_calls = job.n_calls;
    memcpy(r->call_us_hot, job.call_us_hot, sizeof r->call_us_hot);
    memcpy(r->call_us_cold, job.call_us_cold, sizeof r->call_us_cold);
    r->launches = job.launches;
    r->cold_sets = job.cold_sets;
    r->driver = job.driver;
    r->runtime = job.runtime;
    r->sms = job.sms;
    r->l2_bytes = job.l2_bytes;
    memcpy(r->gpu, job.gpu, sizeof r->gpu);
    const char *o = mg_tensor_of(g, g->out[r->worst_output])->name;
    if (r->unwritten) s = mg_fail(e, MG_NOT_FOUND, g->name, "%llu output elements were not written", (unsigned long long)r->unwritten);
    else if (!(r->relative_error <= r->tolerance)) s = mg_fail(e, MG_NOT_FOUND, g->name, "relative error %.3g of output %s, the tolerance is %.3g (seed %llu)", r->relative_error, o, r->tolerance, (unsigned long long)r->seed);
    else if (differs) s = mg_fail(e, MG_NOT_FOUND, g->name, differs & 1 ? "two runs on the same inputs give different outputs" : "with programmatic dependent launch it gives other outputs");
  }
  mgi_run_close(&job, so);
  return s;
}
/* Whether a row of member g, whose tensors are in x, has the same bits in a smaller member, at r->rows_at, that is given the first
   rows of all inputs: r->rows. */
MGI_FN mg_status mgi_run_rows(const mg_graph *g, const mg_graph *small, const mgi_tensors *x, mg_run_report *r, mg_error *e) {
  mgi_tensors y;
  mgi_runner_job job;
  mgi_runner_fn run = NULL;
  void *so = NULL;
  int64_t at[MG_MAX_RANK], its[MG_MAX_RANK]; /* strides of a tensor, and of the larger member's */
  mg_status s = mgi_tensors_new(small, sizeof(double), &y, e);
  memset(&job, 0, sizeof job);
  for (uint32_t k = 0; k < g->n_in && s == MG_OK; k++) {
    const mg_tensor_info *to = mg_tensor_of(small, small->in[k]);
    mg_strides(to, at);
    mg_strides(mg_tensor_of(g, g->in[k]), its);
    for (int64_t i = 0; i < y.in_n[k] && !to->fill; i++)
      mgi_cd_put(y.in[k], to->dtype, mgi_cd_place(&to->shape, at, i), mgi_cd_get(x->in[k], to->dtype, mgi_cd_place(&to->shape, its, i)));
  }
  if (s == MG_OK) s = mgi_run_open(small, r->so_path, &y, &job, &run, &so, e);
  job.sym = r->rows_at;
  job.reps = 1;
  job.no_time = 1;
  if (s == MG_OK) s = mgi_run_turn(r->so_path, run, &job, e);
  if (s == MG_OK) r->rows = 1;
  for (uint32_t k = 0; k < g->n_out && s == MG_OK; k++) {
    const mg_tensor_info *of = mg_tensor_of(small, small->out[k]);
    mg_strides(of, at);
    mg_strides(mg_tensor_of(g, g->out[k]), its);
    for (int64_t i = 0; i < y.out_n[k]; i++) {
      const int64_t mine = mgi_cd_place(&of->shape, at, i), larger = mgi_cd_place(&of->shape, its, i);
      if (mgi_cd_get(y.out[k], of->dtype, mine) != mgi_cd_get(x->out[k], of->dtype, larger)) r->rows = -1;
    }
  }
  mgi_run_close(&job, so);
  mgi_tensors_free(&y);
  return s;
}
/* A member of the family smaller than the one at `sym` in what is parallel, drawn by the seed, under that one's name; NULL: there is
   none. */
MGI_FN mg_status mgi_run_smaller(const mg_graph *family, const int64_t *sym, const char *name, mg_run_report *r, mg_graph **small, mg_error *e) {
  uint64_t state = r->seed * 0xD1342543DE82EF95u;
  int smaller = 0;
  uint8_t contracted[MG_MAX_SYMBOLS];
  *small = NULL;
  mg_status s = mg_contracted(family, contracted, e);
  for (uint32_t k = 0; k < family->n_symbols && s == MG_OK; k++) {
    const int64_t below = sym[k] - family->symbol[k].least;
    r->rows_at[k] = sym[k];
    if (below < 1 || contracted[k]) continue;
    r->rows_at[k] -= 1 + (int64_t)(mgi_random(&state) % (uint64_t)below);
    smaller = 1;
  }
  if (!smaller) return s;
  s = mg_at(family, r->rows_at, small, e);
  return s == MG_OK ? mg_rename(*small, name, e) : s;
}
/* Inputs by the report's seed, and what g makes of them over float64. */
MGI_FN mg_status mgi_run_expected(const mg_graph *g, uint64_t seed, mgi_tensors *x, mg_error *e) {
  const void *given[MG_MAX_IN];
  mg_domain d = mg_domain_real();
  mg_status s = mgi_tensors_new(g, sizeof(double), x, e);
  if (s != MG_OK) return s;
  mgi_tensors_real(g, x, seed);
  for (uint32_t k = 0; k < g->n_in; k++) given[k] = x->given[k];
  return mg_eval(g, &d, given, x->expected, e);
}

/* Of a file of several ranges the one that sym is for, NULL: the last; and whose launch it is.  Else *own stays NULL. */
MGI_FN mg_status mgi_run_range(const char *cu_text, const int64_t *sym, mg_graph **own, char entry[120], mg_error *e) {
  mg_graph *range[MG_MAX_RANGES];
  int n = 0, at = 0;
  mg_status s = mg_cuda_source_graphs(cu_text, strlen(cu_text), range, &n, e);
  if (s != MG_OK) return s;
  if (n > 1 && !mgi_cu_ranges_name((const mg_graph *const *)range, n, entry, e)) s = MG_BAD_INPUT;
  if (s == MG_OK && sym) s = mg_range_at((const mg_graph *const *)range, n, sym, &at, e);
  else at = n - 1;
  if (s == MG_OK && n > 1) *own = range[at], range[at] = NULL;
  while (n > 0) mg_graph_free(range[--n]);
  return s;
}
mg_status mg_cuda_run(const mg_graph *ugraph, const char *cu_text, const mg_run_config *cfg, mg_run_report *r, mg_error *e) {
  mg_run_config none;
  mg_run_report ignored;
  mg_compile_config compile;
  mgi_tensors x;
  mg_graph *own = NULL, *kept = NULL, *small = NULL;
  int64_t value[MG_MAX_SYMBOLS];
  char arch[24];
  memset(&none, 0, sizeof none);
  memset(&x, 0, sizeof x);
  if (!cfg) cfg = &none;
  if (!r) r = &ignored;
  memset(r, 0, sizeof *r);
  mg_status s = mgi_run_arch(cfg->arch, arch, sizeof arch, e);
  if (s != MG_OK) return s;
  mgi_run_compiler(cfg, arch, &compile);
  char entry[120] = "";
  if (!ugraph) s = mgi_run_range(cu_text, cfg->sym, &own, entry, e);
  if (s == MG_OK && own) ugraph = own;
  if (s == MG_OK) s = ugraph == own && own ? MG_OK : mgi_cd_meant(cu_text, &ugraph, &own, e);
  mg_run_config sized = *cfg;
  const mg_graph *family = ugraph;
  kept = own, own = NULL;
  if (s == MG_OK) s = mgi_cd_member(&ugraph, &own, cfg->sym, INT64_MAX, value, &sized.sym, e);
  cfg = &sized;
  if (s == MG_OK && entry[0]) s = mg_rename(own, entry, e);
  if (s != MG_OK) {
    mg_graph_free(own);
    mg_graph_free(kept);
    return s;
  }
  mgi_run_begin(ugraph, cfg, r);
  s = mg_cuda_compile(cu_text, &compile, r->so_path, sizeof r->so_path, e);
  if (s == MG_OK) s = mgi_run_expected(ugraph, r->seed, &x, e);
  if (s == MG_OK) s = mgi_run_compiled(ugraph, cfg, &x, r, e);
  if (s == MG_OK && cfg->sym) s = mgi_run_smaller(family, cfg->sym, ugraph->name, r, &small, e);
  if (s == MG_OK && small && mgi_rows_alike(ugraph, small)) s = mgi_run_rows(ugraph, small, &x, r, e);
  mgi_tensors_free(&x);
  mg_graph_free(small);
  mg_graph_free(own);
  mg_graph_free(kept);
  return s;
}

/* ---- calibrate */
MGI_FN int mgi_calibrate_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
/* Sorts the runs.  *rate: their median, to four digits. */
MGI_FN mg_spread mgi_calibrate_spread(double *run, double *rate) {
  char text[32];
  mg_spread s;
  qsort(run, MGI_CALIBRATE_RUNS, sizeof *run, mgi_calibrate_order);
  s.least = run[0], s.median = run[MGI_CALIBRATE_RUNS / 2], s.most = run[MGI_CALIBRATE_RUNS - 1];
  snprintf(text, sizeof text, "%.4g", s.median);
  *rate = strtod(text, NULL);
  return s;
}
/* "NVIDIA H100 80GB HBM3": H100_80GB_HBM3. */
MGI_FN void mgi_calibrate_name(const char *gpu, char name[41]) {
  if (!strncmp(gpu, "NVIDIA ", 7)) gpu += 7;
  snprintf(name, 41, "%.40s", gpu);
  for (char *c = name; *c; c++)
    if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'))) *c = '_';
}
/* "2026-11-21", of UTC: years begin in March here, so that the day of a leap year is their last. */
MGI_FN void mgi_calibrate_date(int64_t seconds, char date[32]) {
  const int64_t days = seconds / 86400 + 719468, era = days / 146097, day = days % 146097;
  const int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365, of = day - (365 * year + year / 4 - year / 100);
  const int month = (int)((5 * of + 2) / 153), m = month < 10 ? month + 3 : month - 9;
  snprintf(date, 32, "%d-%02d-%02d", (int)(year + era * 400) + (m <= 2), m, (int)(of - (153 * month + 2) / 5) + 1);
}
MGI_FN mg_status mgi_calibrate_row(mgi_calibrate_job *job, const char *own, mg_calibration *out, mg_error *e) {
  mg_machine *const m = &out->file.m;
  char arch[MG_ARCH_TEXT], date[32], gpu[128];
  mg_error why;
  mg_machine_for(mg_arch_near(own, arch), m);
  const uint32_t can = m->can;
  *m = job->m;
  m->can = can;
  out->runs = MGI_CALIBRATE_RUNS;
#define MGI_F(kind, type, name, least, most, text) out->name = mgi_calibrate_spread(job->name, &m->name);
  MG_MACHINE_RATES(MGI_F)
#undef MGI_F
  mgi_calibrate_name(job->run.gpu, out->file.text[0]);
  snprintf(out->file.text[1], sizeof out->file.text[1], "%s", arch);
  mgi_calibrate_date((int64_t)time(NULL), date);
  snprintf(gpu, sizeof gpu, "%s", job->run.gpu);
  for (char *c = gpu; *c; c++)
    if (*c < 32 || *c > 126) *c = '_';
  snprintf(out->file.text[2], sizeof out->file.text[2], "measured: mirage calibrate, %s, %s", date, gpu);
  m->name = out->file.text[0], m->arch = out->file.text[1], m->source = out->file.text[2];
  return mg_machine_check(m, &why) == MG_OK ? MG_OK : mg_fail(e, MG_MACHINE, "calibrate", "of %.60s: %.180s", gpu, why.msg);
}
mg_status mg_cuda_calibrate(const mg_run_config *cfg, mg_calibration *out, mg_error *e) {
  static const char text[] = "#define MG_CALIBRATE\n#include \"mirage_cuda.cuh\"\n";
  mg_run_config none;
  mg_compile_config compile;
  mgi_calibrate_job *job = NULL;
  mgi_runner_fn run = NULL;
  char arch[24], so_path[MG_SO_PATH];
  memset(&none, 0, sizeof none);
  memset(out, 0, sizeof *out);
  if (!cfg) cfg = &none;
  mg_status s = mgi_run_arch(NULL, arch, sizeof arch, e);
  if (s != MG_OK) return s;
  mgi_run_compiler(cfg, arch, &compile);
  if (!compile.timeout_s) compile.timeout_s = 45;
  s = mg_cuda_compile(text, &compile, so_path, sizeof so_path, e);
  if (s != MG_OK) return s;
  void *so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
  if (!so) return mg_fail(e, MG_MACHINE, so_path, "cannot load it: %.180s", dlerror());
  *(void **)&run = dlsym(so, "mgi_calibrate_run");
  job = (mgi_calibrate_job *)calloc(1, sizeof *job);
  if (!run) s = mg_fail(e, MG_MACHINE, so_path, "expected the entry point mgi_calibrate_run, found none");
  else if (!job) s = mg_fail(e, MG_NO_MEMORY, "calibrate", "no memory for the measurements");
  else {
    job->run.size = (int)sizeof *job;
    s = mgi_run_turn(so_path, run, &job->run, e);
    if (s == MG_OK) s = mgi_calibrate_row(job, arch, out, e);
  }
  free(job);
  dlclose(so);
  return s;
}

#ifdef MIRAGE_VERIFY_H
/* ---- numerics: the families of mirage_verify.h on a GPU
   At full size: some rows and columns of every output are judged, and the inputs that these need are drawn; what else there is of an
   input repeats them. */
enum { MGI_GPU_ROWS = 64, MGI_GPU_COLS = 128 };
#define MGI_GPU_WORK 4e8
typedef struct mgi_gpu_runner {
  const mg_graph *program, *g;
  const char *so_path;
  mgi_runner_job job;
  mgi_runner_fn run;
  mgi_tensors x;
  mg_box want[MG_MAX_OUT];
  mg_part part;              /* of the program */
} mgi_gpu_runner;

/* Input k of the kernel from its part `in`, dense row-major. */
MGI_FN mg_status mgi_gpu_fill(mgi_gpu_runner *R, int k, const float *in, mg_error *e) {
  const mg_tensor_info *t = mg_tensor_of(R->g, R->g->in[k]);
  const mg_box *b = &R->part.box[R->program->in[k].id];
  const int rank = t->shape.rank, bytes = mg_dtype_bytes(t->dtype);
  const int64_t n = mg_box_elements(b, rank), cols = rank ? t->shape.dim[rank - 1] : 1, across = rank ? b->hi[rank - 1] - b->lo[rank - 1] : 1;
  int64_t stride[MG_MAX_RANK];
  uint32_t *bits = (uint32_t *)malloc((size_t)(n > 0 ? n : 1) * sizeof *bits);
  if (!bits) return mg_fail(e, MG_NO_MEMORY, "mg_cuda_run", "no memory for a part of '%.60s'", t->name);
  for (int64_t i = 0; i < n; i++) mgi_cd_rounded(t->dtype, in[i], &bits[i]);
  mg_strides(t, stride);
  for (int64_t row = 0; row < R->x.in_n[k] / cols; row++) {
    int64_t left = row, place = 0, from = 0, step = across;
    for (int d = rank - 2; d >= 0; d--) {
      const int64_t at = left % t->shape.dim[d], extent = b->hi[d] - b->lo[d];
      from += ((at - b->lo[d]) % extent + extent) % extent * step;
      place += at * stride[d];
      step *= extent, left /= t->shape.dim[d];
    }
    for (int64_t c = 0, j = rank ? (across - b->lo[rank - 1] % across) % across : 0; c < cols; c++, j = j + 1 == across ? 0 : j + 1)
      memcpy((char *)R->x.in[k] + (place + c * (rank ? stride[rank - 1] : 0)) * bytes, &bits[from + j], (size_t)bytes);
  }
  free(bits);
  return MG_OK;
}
MGI_FN mg_status mgi_gpu_run(void *user, const float *const *in, float *const *out, int wide, mg_error *e) {
  mgi_gpu_runner *R = (mgi_gpu_runner *)user;
  mg_status s = MG_OK;
  (void)wide; /* (i) alone is asked for */
  for (uint32_t k = 0; k < R->g->n_in && s == MG_OK; k++) s = mgi_gpu_fill(R, (int)k, in[k], e);
  if (s == MG_OK) s = mgi_run_turn(R->so_path, R->run, &R->job, e);
  for (uint32_t k = 0; k < R->g->n_out && s == MG_OK; k++) {
    const mg_tensor_info *t = mg_tensor_of(R->g, R->g->out[k]);
    if (memcmp(R->job.out[k], R->job.again[k], R->job.out_bytes[k]) || (R->job.launch_pdl && memcmp(R->job.out[k], R->job.pdl[k], R->job.out_bytes[k])))
      return mg_fail(e, MG_NOT_FOUND, R->g->name, "two runs on the same inputs give different outputs");
    const mg_box *b = &R->part.box[R->program->out[k].id]; /* whole blocks, where the program has kernels */
    for (int64_t i = 0, n = mg_box_elements(b, t->shape.rank); i < n; i++) out[k][i] = (float)mg_from_bits(t->dtype, mgi_cd_get(R->x.out[k], t->dtype, mgi_box_place(&t->shape, b, i)));
  }
  return s;
}
/* What is judged of each output: as many rows and columns as are worth the work, at places that the seed says. */
MGI_FN mg_status mgi_gpu_want(mgi_gpu_runner *R, uint64_t seed, mg_error *e) {
  int64_t rows = MGI_GPU_ROWS, cols = MGI_GPU_COLS;
  for (;; rows > 1 && rows >= cols / 8 ? (rows /= 2) : (cols /= 2)) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (uint32_t k = 0; k < R->program->n_out; k++) {
      const mg_shape *shape = &mg_tensor_of(R->program, R->program->out[k])->shape;
      int64_t left = rows;
      for (int d = shape->rank - 1; d >= 0; d--) {
        const int64_t most = d == shape->rank - 1 ? cols : left, n = shape->dim[d] < most ? shape->dim[d] : most;
        R->want[k].lo[d] = (int64_t)(mgi_random(&state) % (uint64_t)(shape->dim[d] - n + 1));
        R->want[k].hi[d] = R->want[k].lo[d] + n;
        if (d < shape->rank - 1) left = left / n > 1 ? left / n : 1;
      }
    }
    mg_part_free(&R->part);
    const mg_status s = mg_part_of(R->program, R->want, &R->part, e);
    if (s != MG_OK || R->part.work <= MGI_GPU_WORK || (rows <= 4 && cols <= 16)) return s;
  }
}
mg_status mg_cuda_run_numerics(const mg_graph *program, const mg_graph *ugraph, const char *cu_text, const mg_run_config *cfg, mg_numerics_report *r, mg_error *e) {
  mg_run_config none;
  mg_compile_config compile;
  mg_numerics_config c;
  mgi_gpu_runner R;
  mg_graph *own = NULL;
  void *so = NULL;
  char arch[24], path[512];
  memset(&none, 0, sizeof none), memset(&c, 0, sizeof c), memset(&R, 0, sizeof R), memset(r, 0, sizeof *r);
  if (!cfg) cfg = &none;
  mg_status s = mgi_run_arch(cfg->arch, arch, sizeof arch, e);
  if (s != MG_OK) return s;
  mgi_run_compiler(cfg, arch, &compile);
  s = mgi_cd_meant(cu_text, &ugraph, &own, e);
  if (s != MG_OK) return s;
  mg_graph *sized = NULL;
  mg_rest rest;
  char *text = NULL;
  int64_t value[MG_MAX_SYMBOLS];
  const int64_t *sym = NULL, *same = NULL;
  s = mgi_safe_rest(&program, &ugraph, &cu_text, arch, &rest, &text, e);
  if (s == MG_OK && program) s = mg_verify_signature(program, ugraph, e);
  if (s == MG_OK && program) s = mgi_cd_member(&program, &sized, cfg->sym, INT64_MAX, value, &same, e);
  if (s == MG_OK) s = mgi_cd_member(&ugraph, &own, cfg->sym, INT64_MAX, value, &sym, e);
  R.program = program ? program : ugraph, R.g = ugraph, R.so_path = path;
  c.seed = cfg->seed ? cfg->seed : 1, c.only = 1, c.want = R.want, c.time_limit_s = cfg->numerics_s;
  if (s == MG_OK) s = mg_cuda_compile(cu_text, &compile, path, sizeof path, e);
  if (s == MG_OK) s = mgi_tensors_new(ugraph, 1, &R.x, e);
  if (s == MG_OK) s = mgi_run_open(ugraph, path, &R.x, &R.job, &R.run, &so, e);
  R.job.no_time = 1, R.job.sym = sym;
  if (s == MG_OK) s = mgi_gpu_want(&R, c.seed, e);
  if (s == MG_OK) s = mg_numerics(R.program, mgi_gpu_run, &R, &c, r, e);
  mgi_run_close(&R.job, so);
  mg_part_free(&R.part);
  mgi_tensors_free(&R.x);
  mg_graph_free(sized);
  mg_string_free(text);
  mg_rest_free(&rest);
  mg_graph_free(own);
  return s;
}
#endif

/* ---- several candidates: the parent evaluates and compiles; a child that alone touches the GPU sends a record for each.
   Where a kernel ends or hangs the child, or leaves it a broken context, the next child goes on behind it.            */
typedef struct mgi_measured { int k; mg_status s; mg_error e; mg_run_report r; } mgi_measured;
enum { MGI_MEASURE_S = 60 }; /* a candidate's share of wall time, with the wait for its turn */

MGI_FN int mgi_whole_io(int fd, void *p, size_t n, int out) {
  for (char *at = (char *)p; n > 0;) {
    ssize_t got = out ? write(fd, at, n) : read(fd, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    at += got;
    n -= (size_t)got;
  }
  return 1;
}
/* The first record, k = -1, says whether there is a GPU, and its architecture in r.gpu; then those of the candidates from
   `from` on that are ready. */
MGI_FN int mgi_measure_child(const mg_graph *const *g, int from, int n, const mg_run_config *cfg, mgi_tensors *x, const mg_run_report *r, const mg_status *status, int *fd) {
  const int pid = mgi_forked(fd);
  if (pid) return pid;
  mgi_measured m;
  mgi_child_signals();
  memset(&m, 0, sizeof m);
  m.k = -1;
  alarm(MGI_MEASURE_S);
  m.s = mgi_run_arch(cfg->arch, m.r.gpu, sizeof m.r.gpu, &m.e);
  if (!mgi_whole_io(*fd, &m, sizeof m, 1) || m.s != MG_OK) _exit(0);
  for (int k = from; k < n; k++) {
    if (status[k] != MG_OK) continue;
    memset(&m, 0, sizeof m);
    m.k = k;
    m.r = r[k];
    alarm(MGI_MEASURE_S);
    m.s = mgi_run_compiled(g[k], cfg, &x[k], &m.r, &m.e);
    if (!mgi_whole_io(*fd, &m, sizeof m, 1) || m.s == MG_MACHINE) _exit(0); /* the context may be broken */
  }
  _exit(0);
}
MGI_FN void mgi_measure_end(int pid, int fd) {
  close(fd);
  while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR) {}
}

/* 1: inputs and outputs of the two lie alike in memory. */
MGI_FN int mgi_run_same_io(const mg_graph *a, const mg_graph *b) {
  if (a->n_in != b->n_in || a->n_out != b->n_out) return 0;
  for (uint32_t k = 0; k < a->n_in + a->n_out; k++) {
    const mg_tensor_info *x = mg_tensor_of(a, k < a->n_in ? a->in[k] : a->out[k - a->n_in]), *y = mg_tensor_of(b, k < a->n_in ? b->in[k] : b->out[k - a->n_in]);
    if (x->dtype != y->dtype || x->shape.rank != y->shape.rank) return 0;
    for (int d = 0; d < x->shape.rank; d++)
      if (x->shape.dim[d] != y->shape.dim[d] || (k < a->n_in && x->order[d] != y->order[d])) return 0;
  }
  return 1;
}

/* Is there a GPU?  Its architecture, asked for in a child. */
MGI_FN mg_status mgi_measure_arch(const mg_run_config *c, char arch[24], mg_error *e) {
  mgi_measured m;
  int fd, pid = mgi_measure_child(NULL, 0, 0, c, NULL, NULL, NULL, &fd);
  if (pid < 0) return mg_fail(e, MG_MACHINE, "mg_cuda_measure", "cannot start a process: %s", strerror(errno));
  int told = mgi_whole_io(fd, &m, sizeof m, 0);
  mgi_measure_end(pid, fd);
  if (!told) return mg_fail(e, MG_MACHINE, "GPU", "the process that asked for it ended without an answer");
  if (m.s != MG_OK) {
    if (e) *e = m.e;
    return m.s == MG_UNSUPPORTED ? MG_MACHINE : m.s;
  }
  snprintf(arch, 24, "%.23s", m.r.gpu);
  return MG_OK;
}
/* What is compiled for candidate g: *text, of *u, which is g, or *flat without thread graphs. */
MGI_FN mg_status mgi_measure_emit(const mg_graph *g, const char *arch, mg_graph **flat, const mg_graph **u, char **text, mg_error *why) {
  mg_emit_config how;
  char emitted[MG_ARCH_TEXT];
  memset(&how, 0, sizeof how);
  how.arch = mg_arch_near(arch, emitted);
  mg_status s = mg_has_threads(g) ? mg_inline_threads(g, flat, why) : MG_OK;
  *u = *flat ? *flat : g;
  return s == MG_OK ? mg_cuda_emit(*u, &how, text, why) : s;
}

/* 1 if what is expected of the program takes more than cfg allows. */
MGI_FN int mgi_measure_dear(const mg_run_config *cfg, const mg_graph *program) {
  if (!program || cfg->most_work <= 0) return 0;
  double work = 0;
  for (uint32_t k = 1; k < program->n_ops; k++) {
    const mg_op_node *o = &program->ops[k];
    const mg_shape *from = &mg_tensor_of(program, o->in[0])->shape, *to = &mg_tensor_of(program, o->out[0])->shape;
    work += o->code == MG_OP_MATMUL ? (double)mg_shape_elements(to) * (double)from->dim[from->rank - 1] : (double)mg_shape_elements(from);
  }
  for (uint32_t k = 0; k < program->n_in; k++) work += 30.0 * (double)mg_shape_elements(&mg_tensor_of(program, program->in[k])->shape);
  return work > cfg->most_work;
}
mg_status mg_cuda_measure(const mg_graph *program, const mg_graph *const *g, int n, const mg_run_config *cfg, mg_run_report *r, mg_status *status, mg_error *why, mg_error *e) {
  mg_run_config c;
  mg_compile_config compile;
  mgi_measured m;
  int fd, pid;
  char arch[24];
  memset(&c, 0, sizeof c);
  if (cfg) c = *cfg;
  if (n <= 0) return MG_OK;
  if (mgi_measure_dear(&c, program)) {
    for (int k = 0; k < n; k++) status[k] = mg_fail(&why[k], MG_LIMIT, g[k]->name, "its run in float64 takes more than %.2g operations", c.most_work);
    return MG_OK;
  }
  const mg_status there = mgi_measure_arch(&c, arch, e);
  if (there != MG_OK) return there;
  mgi_run_compiler(&c, arch, &compile);
  mgi_tensors *x = (mgi_tensors *)calloc((size_t)n, sizeof *x);
  char **text = (char **)calloc((size_t)n, sizeof *text), (*so)[MG_SO_PATH] = (char(*)[MG_SO_PATH])calloc((size_t)n, sizeof *so);
  mg_graph **flat = (mg_graph **)calloc((size_t)n, sizeof *flat);
  const mg_graph **u = (const mg_graph **)calloc((size_t)n, sizeof *u);
  mg_status s = x && text && so && flat && u ? MG_OK : mg_fail(e, MG_NO_MEMORY, "mg_cuda_measure", "no memory for %d candidates", n);
  if (!c.seed) c.seed = (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
  for (int k = 0; s == MG_OK && k < n; k++) {
    memset(&why[k], 0, sizeof why[k]);
    status[k] = !program || mgi_run_same_io(program, g[k]) ? MG_OK : mg_fail(&why[k], MG_BAD_INPUT, g[k]->name, "expected the inputs and outputs of %.60s, found others", program->name);
    if (status[k] == MG_OK) status[k] = mgi_measure_emit(g[k], arch, &flat[k], &u[k], &text[k], &why[k]);
    if (status[k] == MG_OK) mgi_run_begin(u[k], &c, &r[k]);
  }
  if (s == MG_OK) s = mg_cuda_compile_all((const char *const *)text, n, &compile, so, status, why, e);
  int reference = -1; /* whose inputs and expected values all share */
  for (int k = 0; s == MG_OK && k < n; k++) {
    if (status[k] != MG_OK) continue;
    snprintf(r[k].so_path, sizeof r[k].so_path, "%s", so[k]);
    if (program && reference >= 0) x[k] = x[reference];
    else {
      status[k] = mgi_run_expected(program ? program : u[k], r[k].seed, &x[k], &why[k]);
      if (status[k] == MG_OK) reference = k;
      else mgi_tensors_free(&x[k]);
    }
  }
  for (int from = 0; s == MG_OK && from < n;) {
    while (from < n && status[from] != MG_OK) from++;
    if (from == n) break;
    int last = from - 1;
    pid = mgi_measure_child(u, from, n, &c, x, r, status, &fd);
    if (pid < 0) s = mg_fail(e, MG_MACHINE, "mg_cuda_measure", "cannot start a process: %s", strerror(errno));
    else {
      while (mgi_whole_io(fd, &m, sizeof m, 0)) {
        if (m.k < 0) continue;
        last = m.k;
        status[last] = m.s, why[last] = m.e, r[last] = m.r;
      }
      mgi_measure_end(pid, fd);
      int next = last + 1;
      while (next < n && status[next] != MG_OK) next++;
      if (next < n && !(last >= from && status[last] == MG_MACHINE)) { /* it did not come back from this one */
        status[next] = mg_fail(&why[next], MG_MACHINE, u[next]->name, "its run was ended: a fault, or more than %d s", MGI_MEASURE_S);
        next++;
      }
      from = next;
    }
  }
  for (int k = 0; k < n; k++) {
    if (x && !(program && reference >= 0 && k != reference)) mgi_tensors_free(&x[k]);
    if (text) mg_string_free(text[k]);
    if (flat) mg_graph_free(flat[k]);
  }
  free(x), free(text), free(so), free(flat), free(u);
  return s;
}

mg_status mg_cuda_measure_us(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  mg_run_config c;
  memset(&c, 0, sizeof c);
  if (user) c = *(const mg_run_config *)user;
  c.cold = 1, c.no_time = 0;
  for (int k = 0; k < n; k++) us[k] = 0;
  mg_run_report *r = (mg_run_report *)calloc((size_t)(n > 0 ? n : 1), sizeof *r);
  mg_status *status = (mg_status *)calloc((size_t)(n > 0 ? n : 1), sizeof *status);
  mg_error *why = (mg_error *)calloc((size_t)(n > 0 ? n : 1), sizeof *why);
  mg_status s = r && status && why ? mg_cuda_measure(program, g, n, &c, r, status, why, e) : mg_fail(e, MG_NO_MEMORY, "mg_cuda_measure_us", "no memory for %d candidates", n);
  for (int k = 0; s == MG_OK && k < n; k++)
    if (status[k] == MG_OK) us[k] = r[k].us_cold;
  free(r), free(status), free(why);
  return s;
}
enum { MGI_MEASURE_SIDE = 4 }; /* jobs side by side: each holds its inputs in double, and waits for its turn */
typedef struct mgi_measure_sent { mg_status s; mg_error e; double us[128]; } mgi_measure_sent;
/* All kernels of all jobs into the cache; what cannot be compiled is the job's to say. */
MGI_FN mg_status mgi_measure_compile(const mg_run_config *cfg, const mg_measure_job *job, int n, mg_error *e) {
  mg_compile_config compile;
  char arch[24];
  int all = 0, at = 0;
  mg_status s = mgi_measure_arch(cfg, arch, e);
  if (s != MG_OK) return s;
  mgi_run_compiler(cfg, arch, &compile);
  for (int k = 0; k < n; k++) all += job[k].n;
  char **text = (char **)calloc((size_t)all + 1, sizeof *text), (*so)[MG_SO_PATH] = (char(*)[MG_SO_PATH])calloc((size_t)all + 1, sizeof *so);
  mg_status *status = (mg_status *)calloc((size_t)all + 1, sizeof *status);
  mg_error *why = (mg_error *)calloc((size_t)all + 1, sizeof *why);
  if (!text || !so || !status || !why) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_measure_all", "no memory for %d candidates", all);
  for (int k = 0; k < n && s == MG_OK; k++)
    for (int j = 0; j < job[k].n; j++, at++) {
      mg_graph *flat = NULL;
      const mg_graph *u;
      if (mgi_measure_dear(cfg, job[k].program)) continue;
      status[at] = mgi_measure_emit(job[k].g[j], arch, &flat, &u, &text[at], &why[at]);
      mg_graph_free(flat);
    }
  if (s == MG_OK) s = mg_cuda_compile_all((const char *const *)text, all, &compile, so, status, why, e);
  for (int k = 0; k < all && text; k++) mg_string_free(text[k]);
  free(text), free(so), free(status), free(why);
  return s;
}
/* Job k in a process of its own, which sends its times. */
MGI_FN int mgi_measure_start(void *user, const mg_measure_job *job, int *fd) {
  const int pid = job->n > 128 ? -1 : mgi_forked(fd);
  if (pid) return pid;
  mgi_measure_sent out;
  mgi_child_signals();
  memset(&out, 0, sizeof out);
  out.s = mg_cuda_measure_us(user, job->program, job->g, job->n, out.us, &out.e);
  _exit(!mgi_whole_io(*fd, &out, sizeof out, 1));
}
mg_status mg_cuda_measure_all(void *user, const mg_measure_job *job, int n, mg_error *e) {
  mg_run_config c;
  int pid[MGI_MEASURE_SIDE], fd[MGI_MEASURE_SIDE];
  memset(&c, 0, sizeof c);
  if (user) c = *(const mg_run_config *)user;
  mg_status s = mgi_measure_compile(&c, job, n, e);
  for (int k = 0; k < n + MGI_MEASURE_SIDE && s == MG_OK; k++) { /* a window of them */
    const int at = k % MGI_MEASURE_SIDE, before = k - MGI_MEASURE_SIDE;
    mgi_measure_sent got;
    if (before >= 0 && before < n) {
      const int told = pid[at] > 0 && mgi_whole_io(fd[at], &got, sizeof got, 0);
      if (pid[at] > 0) mgi_measure_end(pid[at], fd[at]);
      for (int j = 0; j < job[before].n; j++) job[before].us[j] = told && got.s == MG_OK ? got.us[j] : 0;
    }
    if (k < n) pid[at] = mgi_measure_start(user, &job[k], &fd[at]);
  }
  return s;
}

#ifdef __cplusplus
}
#endif
#endif /* driver */

#if (defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_CUDA_IMPLEMENTATION)) && \
    !defined(MGI_CUDA_IMPLEMENTED) && !defined(MIRAGE_DEVICE_ONLY)
#define MGI_CUDA_IMPLEMENTED

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------------------- >>device
   1. The GPU: the driver's functions by name, in the first GPU's primary context, which is that of the emitted files too.
   2. The stand-in: every call happens at once, in the order of the calls; memory is the host's, each piece known, so that a
      copy beyond one is a fault, as are allocations and copies to and from the host while it records.
   3. A recording is a list of calls with their arguments as they were then (stand-in), or a captured graph; one that is made anew
      updates the executable graph where its nodes are the same but for arguments, else it takes its place. */

typedef struct mgi_copy_2d { /* as the driver has it */
  size_t from_x, from_y;
  int from_kind;
  const void *from_host, *from, *from_array;
  size_t from_pitch, to_x, to_y;
  int to_kind;
  void *to_host, *to, *to_array;
  size_t to_pitch, width, rows;
} mgi_copy_2d;
typedef struct mgi_graph_update { int result; void *node, *from; } mgi_graph_update;
/* F(field, name in the library, parameters) */
#define MGI_DRIVER(F) \
  F(init, "cuInit", (unsigned)) \
  F(device, "cuDeviceGet", (int *, int)) \
  F(named, "cuDeviceGetName", (char *, int, int)) \
  F(retain, "cuDevicePrimaryCtxRetain", (void **, int)) \
  F(release, "cuDevicePrimaryCtxRelease_v2", (int)) \
  F(current, "cuCtxSetCurrent", (void *)) \
  F(words, "cuGetErrorString", (int, const char **)) \
  F(alloc, "cuMemAlloc_v2", (void **, size_t)) \
  F(drop, "cuMemFree_v2", (void *)) \
  F(set, "cuMemsetD8Async", (void *, unsigned char, size_t, void *)) \
  F(up, "cuMemcpyHtoDAsync_v2", (void *, const void *, size_t, void *)) \
  F(down, "cuMemcpyDtoHAsync_v2", (void *, const void *, size_t, void *)) \
  F(across, "cuMemcpyDtoDAsync_v2", (void *, const void *, size_t, void *)) \
  F(rows, "cuMemcpy2DAsync_v2", (const mgi_copy_2d *, void *)) \
  F(stream_new, "cuStreamCreate", (void **, unsigned)) \
  F(stream_drop, "cuStreamDestroy_v2", (void *)) \
  F(wait, "cuStreamSynchronize", (void *)) \
  F(begin, "cuStreamBeginCapture_v2", (void *, int)) \
  F(end, "cuStreamEndCapture", (void *, void **)) \
  F(instantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long)) \
  F(update, "cuGraphExecUpdate_v2", (void *, void *, mgi_graph_update *)) \
  F(replay, "cuGraphLaunch", (void *, void *)) \
  F(graph_drop, "cuGraphDestroy", (void *)) \
  F(exec_drop, "cuGraphExecDestroy", (void *)) \
  F(event_new, "cuEventCreate", (void **, unsigned)) \
  F(event_drop, "cuEventDestroy_v2", (void *)) \
  F(event, "cuEventRecord", (void *, void *)) \
  F(event_wait, "cuEventSynchronize", (void *)) \
  F(elapsed, "cuEventElapsedTime", (float *, void *, void *))
typedef struct mgi_device_file {
  void *so;
  const mg_emitted_info *info;
  size_t workspace;
  void (*launch)(void), (*early)(void); /* of the types below */
  int (*blocks)(const int64_t *sym, int64_t *count, int room); /* NULL: there is none; the stand-in's are its files' */
  mg_emulated *of;           /* the stand-in: file `at` of these; the first of them frees them */
  int at;
  char *text, name[100];
} mgi_device_file;
typedef struct mgi_device_op { /* of the stand-in's recording */
  int file; /* -1: a copy */
  mg_device_call call;
  const void *in[MG_MAX_IN + MG_MAX_OUT];
  void *out[MG_MAX_OUT];
  size_t in_bytes[MG_MAX_IN + MG_MAX_OUT], out_bytes[MG_MAX_OUT];
  int64_t sym[MG_MAX_SYMBOLS];
  void *to;
  const void *from;
  size_t to_pitch, from_pitch, width, rows;
} mgi_device_op;
struct mg_device_graph {
  void *exec;
  mgi_device_op *op;
  uint32_t n;
};
typedef struct mgi_device_block { unsigned char *base, *at; size_t bytes; } mgi_device_block;
struct mg_device {
  mg_device_config cfg;
  mg_device_counts n;
  char name[128], arch[MG_ARCH_TEXT];
  int recording, files;
  uint64_t fails;            /* the call that does; 0: none */
  mgi_device_file *file;
  mgi_device_block *block;
  uint32_t n_blocks, cap_blocks;
  /* the stand-in */
  mgi_device_op *op;
  uint32_t n_ops, cap_ops;
  /* the GPU */
  int gpu;
  void *context, *stream, *mark[MG_DEVICE_MARKS];
#define MGI_F(field, name, parameters) int (*field) parameters;
  MGI_DRIVER(MGI_F)
#undef MGI_F
};

/* A call of the driver; 0: it succeeded. */
MGI_FN mg_status mgi_device_said(const mg_device *d, int rc, const char *what, mg_error *e) {
  const char *words = NULL;
  if (!rc) return MG_OK;
  if (d->words) d->words(rc, &words);
  return mg_fail(e, rc == 2 ? MG_NO_MEMORY : MG_MACHINE, what, "%.180s (%d)", words ? words : "the driver refuses it", rc);
}
/* The stand-in's part of every call: it is the one that fails, or goes on. */
MGI_FN mg_status mgi_device_begins(mg_device *d, const char *what, mg_error *e) {
  d->n.calls++;
  if (!d->fails || --d->fails || !d->cfg.emulated) return MG_OK;
  return mg_fail(e, MG_MACHINE, what, "this call of the stand-in is the one that fails");
}
MGI_FN mg_status mgi_device_driver(mg_device *d, mg_error *e) {
  const mg_status s = mgi_run_arch(d->cfg.arch, d->arch, sizeof d->arch, e);
  if (s != MG_OK) return s;
  void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define MGI_F(field, name, parameters) \
  *(void **)&d->field = dlsym(lib, name); \
  if (!d->field) return mg_fail(e, MG_MACHINE, "GPU", "the driver is too old: it has no %s", name);
  MGI_DRIVER(MGI_F)
#undef MGI_F
  int rc = d->init(0);
  if (!rc) rc = d->device(&d->gpu, 0);
  if (!rc) rc = d->named(d->name, (int)sizeof d->name, d->gpu);
  if (!rc) rc = d->retain(&d->context, d->gpu);
  if (!rc) rc = d->current(d->context);
  if (!rc) rc = d->stream_new(&d->stream, 1 /* beside the default stream */);
  return mgi_device_said(d, rc, "GPU", e);
}
mg_status mg_device_open(const mg_device_config *cfg, mg_device **out, mg_error *e) {
  mg_device *d = *out = (mg_device *)calloc(1, sizeof *d);
  if (!d) return mg_fail(e, MG_NO_MEMORY, "device", "no memory");
  if (cfg) d->cfg = *cfg;
  snprintf(d->name, sizeof d->name, "the CPU, by emulation");
  const mg_status s = d->cfg.emulated ? MG_OK : mgi_device_driver(d, e);
  if (s != MG_OK) mg_device_close(d), *out = NULL;
  return s;
}
void mg_device_close(mg_device *d) {
  if (!d) return;
  if (d->stream) d->wait(d->stream);
  for (uint32_t k = 0; k < d->n_blocks; k++) d->cfg.emulated ? free(d->block[k].base) : (void)d->drop(d->block[k].at);
  for (int k = 0; k < MG_DEVICE_MARKS; k++) if (d->mark[k]) d->event_drop(d->mark[k]);
  if (d->stream) d->stream_drop(d->stream);
  /* Loaded files stay: what they registered with the context goes with it. */
  if (d->context) d->release(d->gpu);
  for (int k = 0; k < d->files; k++) {
    if (!d->file[k].at) mg_emulated_free(d->file[k].of);
    free(d->file[k].text);
  }
  free(d->file), free(d->block), free(d->op), free(d);
}
const char *mg_device_name(const mg_device *d) { return d->name; }
const char *mg_device_arch(const mg_device *d) { return d->cfg.emulated ? d->cfg.arch : d->arch; }
void mg_device_count(const mg_device *d, mg_device_counts *c) { *c = d->n; }
void mg_device_fail(mg_device *d, uint64_t call) { d->fails = call; }
const mg_emitted_info *mg_device_info(const mg_device *d, int k) { return d->file[k].info; }
size_t mg_device_workspace(const mg_device *d, int k) { return d->file[k].workspace; }
int mg_device_early(const mg_device *d, int k) { return d->file[k].early != NULL; }
int mg_device_has_blocks(const mg_device *d, int k) {
  const mgi_device_file *f = &d->file[k];
  return f->of ? mg_emulated_has_blocks(f->of, f->at) : f->blocks != NULL;
}
int mg_device_blocks(const mg_device *d, int k, const int64_t *sym, int64_t *count, int room) {
  const mgi_device_file *f = &d->file[k];
  return f->of ? mg_emulated_blocks(f->of, f->at, sym, count, room) : f->blocks ? f->blocks(sym, count, room) : 0;
}

MGI_FN mg_status mgi_device_dlopen(mgi_device_file *f, const char *path, mg_error *e) {
  char name[160];
  size_t (*workspace)(void);
  f->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!f->so) return mg_fail(e, MG_MACHINE, path, "cannot load it: %.180s", dlerror());
  snprintf(name, sizeof name, "%s_info", f->name), f->info = (const mg_emitted_info *)dlsym(f->so, name);
  snprintf(name, sizeof name, "%s_launch", f->name), *(void **)&f->launch = dlsym(f->so, name);
  snprintf(name, sizeof name, "%s_launch_pdl", f->name), *(void **)&f->early = dlsym(f->so, name);
  snprintf(name, sizeof name, "%s_blocks", f->name), *(void **)&f->blocks = dlsym(f->so, name);
  snprintf(name, sizeof name, "%s_workspace_bytes", f->name), *(void **)&workspace = dlsym(f->so, name);
  if (workspace) f->workspace = workspace();
  return f->launch ? MG_OK : mg_fail(e, MG_BAD_INPUT, f->name, "expected the entry point %.90s_launch in its file, found none", f->name);
}
/* The files from `first` on, which are new. */
MGI_FN mg_status mgi_device_compile(mg_device *d, const char *const *text, int first, int n, mg_error *e) {
  mg_compile_config c;
  char (*path)[MG_SO_PATH] = (char (*)[MG_SO_PATH])calloc((size_t)n + 1, MG_SO_PATH);
  mg_status *status = (mg_status *)calloc((size_t)n + 1, sizeof *status);
  mg_error *why = (mg_error *)calloc((size_t)n + 1, sizeof *why);
  memset(&c, 0, sizeof c);
  c.arch = d->arch, c.include_dir = d->cfg.include_dir, c.cache_dir = d->cfg.cache_dir, c.nvcc = d->cfg.nvcc;
  c.timeout_s = d->cfg.timeout_s, c.jobs = d->cfg.jobs, c.runner = 1;
  mg_status s = path && status && why ? mg_cuda_compile_all(text, n, &c, path, status, why, e) : mg_fail(e, MG_NO_MEMORY, "device", "no memory for %d files", n);
  for (int k = 0; k < n && s == MG_OK; k++) {
    if (status[k] != MG_OK) s = mg_fail(e, status[k], d->file[first + k].name, "%.230s", why[k].msg);
    else s = mgi_device_dlopen(&d->file[first + k], path[k], e);
  }
  free(path), free(status), free(why);
  return s;
}
MGI_FN mg_status mgi_device_emulate(mg_device *d, const char *const *text, const char *const *entry, int first, int n, mg_error *e) {
  mg_check_config c;
  mg_emulated *all = NULL;
  memset(&c, 0, sizeof c);
  c.include_dir = d->cfg.include_dir, c.work_dir = d->cfg.work_dir, c.cxx = d->cfg.cxx, c.timeout_s = d->cfg.timeout_s, c.jobs = d->cfg.jobs;
  mg_status s = mg_cuda_emulate(text, entry, n, &c, &all, e);
  for (int k = 0; k < n && s == MG_OK; k++) {
    mgi_device_file *f = &d->file[first + k];
    mg_error none;
    memset(&none, 0, sizeof none);
    f->of = all, f->at = k;
    f->info = mg_emulated_info(all, k, &f->workspace, &none);
    if (none.status == MG_OK) f->early = mg_emulated_early(all, k) ? (void (*)(void))1 : NULL;
    else s = mg_fail(e, none.status, entry[k], "%.230s", none.msg);
  }
  if (s != MG_OK) mg_emulated_free(all);
  return s;
}
mg_status mg_device_load(mg_device *d, const char *const *cu_text, const char *const *entry, int n, int *file, mg_error *e) {
  const char **text = (const char **)calloc(2 * (size_t)n + 2, sizeof *text), **name = text ? text + n + 1 : NULL;
  mgi_device_file *more = (mgi_device_file *)realloc(d->file, ((size_t)d->files + (size_t)n + 1) * sizeof *more);
  const int first = d->files;
  int fresh = 0;
  if (more) d->file = more;
  mg_status s = more && text ? MG_OK : mg_fail(e, MG_NO_MEMORY, "device", "no memory for %d files", n);
  for (int k = 0; k < n && s == MG_OK; k++) {
    int at = 0;
    while (at < first + fresh && (strcmp(d->file[at].text, cu_text[k]) || strncmp(d->file[at].name, entry[k], sizeof d->file[at].name - 1))) at++;
    file[k] = at;
    if (at < first + fresh) continue;
    mgi_device_file *f = &d->file[at];
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", entry[k]);
    f->text = (char *)malloc(strlen(cu_text[k]) + 1);
    if (!f->text) { s = mg_fail(e, MG_NO_MEMORY, "device", "no memory for a file"); break; }
    strcpy(f->text, cu_text[k]);
    text[fresh] = f->text, name[fresh++] = f->name;
  }
  if (s == MG_OK && fresh) s = d->cfg.emulated ? mgi_device_emulate(d, text, name, first, fresh, e) : mgi_device_compile(d, text, first, fresh, e);
  if (s == MG_OK) d->files += fresh;
  for (int k = first; s != MG_OK && k < first + fresh; k++) free(d->file[k].text);
  free(text);
  return s;
}

mg_status mg_device_new(mg_device *d, const char *what, size_t bytes, void **p, mg_error *e) {
  mg_status s = mgi_device_begins(d, what, e);
  *p = NULL;
  if (s == MG_OK && d->recording) s = mg_fail(e, MG_BAD_INPUT, what, "nothing is allocated while a graph is recorded");
  if (s == MG_OK && d->n_blocks == d->cap_blocks) {
    mgi_device_block *more = (mgi_device_block *)realloc(d->block, (2 * (size_t)d->cap_blocks + 16) * sizeof *more);
    if (!more) s = mg_fail(e, MG_NO_MEMORY, what, "no memory");
    else d->block = more, d->cap_blocks = 2 * d->cap_blocks + 16;
  }
  if (s != MG_OK) return s;
  mgi_device_block b = {NULL, NULL, bytes};
  if (d->cfg.emulated) {
    b.base = (unsigned char *)calloc(bytes + 256, 1);
    if (!b.base) return mg_fail(e, MG_NO_MEMORY, what, "no memory for %llu bytes", (unsigned long long)bytes);
    b.at = b.base + (256 - (uintptr_t)b.base % 256) % 256;
  } else {
    const int rc = d->alloc((void **)&b.at, bytes ? bytes : 1);
    if (rc == 2) return mg_fail(e, MG_NO_MEMORY, what, "the GPU has no memory for %llu bytes more, beside %llu", (unsigned long long)bytes, (unsigned long long)d->n.bytes);
    if (!rc) d->block[d->n_blocks++] = b;
    s = mgi_device_said(d, rc ? rc : d->set(b.at, 0, bytes ? bytes : 1, d->stream), what, e);
    if (s != MG_OK) return s;
  }
  if (d->cfg.emulated) d->block[d->n_blocks++] = b;
  d->n.allocations++, d->n.bytes += bytes;
  *p = b.at;
  return MG_OK;
}
void mg_device_free(mg_device *d, void *p) {
  for (uint32_t k = 0; k < d->n_blocks; k++) {
    if ((void *)d->block[k].at != p) continue;
    if (d->cfg.emulated) free(d->block[k].base);
    else d->wait(d->stream), d->drop(d->block[k].at);
    d->n.bytes -= d->block[k].bytes;
    d->block[k] = d->block[--d->n_blocks];
    return;
  }
}
/* The stand-in: 1 if all of it lies in one piece of its memory. */
MGI_FN int mgi_device_holds(const mg_device *d, const void *p, size_t bytes) {
  for (uint32_t k = 0; k < d->n_blocks; k++) {
    const uintptr_t at = (uintptr_t)d->block[k].at;
    if ((uintptr_t)p >= at && (uintptr_t)p + bytes <= at + d->block[k].bytes) return 1;
  }
  return !bytes;
}
MGI_FN mgi_device_op *mgi_device_op_new(mg_device *d) {
  if (d->n_ops == d->cap_ops) {
    mgi_device_op *more = (mgi_device_op *)realloc(d->op, (2 * (size_t)d->cap_ops + 64) * sizeof *more);
    if (!more) return NULL;
    d->op = more, d->cap_ops = 2 * d->cap_ops + 64;
  }
  memset(&d->op[d->n_ops], 0, sizeof *d->op);
  return &d->op[d->n_ops++];
}
MGI_FN void mgi_device_move(const mgi_device_op *o) {
  for (size_t r = 0; r < o->rows; r++) memmove((char *)o->to + r * o->to_pitch, (const char *)o->from + r * o->from_pitch, o->width);
}
mg_status mg_device_copy(mg_device *d, mg_device_way way, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, mg_error *e) {
  mg_status s = mgi_device_begins(d, "a copy", e);
  mgi_device_op o;
  if (s != MG_OK || !rows || !width) return s;
  if (d->recording && way != MG_ON_DEVICE) return mg_fail(e, MG_BAD_INPUT, "a copy", "nothing is copied to or from the host while a graph is recorded");
  d->n.copies++;
  memset(&o, 0, sizeof o);
  o.file = -1, o.to = to, o.from = from, o.to_pitch = to_pitch, o.from_pitch = from_pitch, o.width = width, o.rows = rows;
  if (d->cfg.emulated) {
    const size_t to_bytes = (rows - 1) * to_pitch + width, from_bytes = (rows - 1) * from_pitch + width;
    if ((way != MG_FROM_DEVICE && !mgi_device_holds(d, to, to_bytes)) || (way != MG_TO_DEVICE && !mgi_device_holds(d, from, from_bytes)))
      return mg_fail(e, MG_BAD_INPUT, "a copy", "of %llu bytes: beyond the device's memory", (unsigned long long)(width * rows));
    if (!d->recording) return mgi_device_move(&o), MG_OK;
    mgi_device_op *keep = mgi_device_op_new(d);
    if (!keep) return mg_fail(e, MG_NO_MEMORY, "a copy", "no memory");
    *keep = o;
    return MG_OK;
  }
  if (rows == 1 || (to_pitch == width && from_pitch == width))
    return mgi_device_said(d, (way == MG_TO_DEVICE ? d->up : way == MG_FROM_DEVICE ? (int (*)(void *, const void *, size_t, void *))d->down : d->across)(to, from, width * rows, d->stream), "a copy", e);
  mgi_copy_2d c;
  memset(&c, 0, sizeof c);
  c.from_kind = way == MG_TO_DEVICE ? 1 : 2, c.to_kind = way == MG_FROM_DEVICE ? 1 : 2;
  if (way == MG_TO_DEVICE) c.from_host = from;
  else c.from = from;
  if (way == MG_FROM_DEVICE) c.to_host = to;
  else c.to = to;
  c.from_pitch = from_pitch, c.to_pitch = to_pitch, c.width = width, c.rows = rows;
  return mgi_device_said(d, d->rows(&c, d->stream), "a copy", e);
}
mg_status mg_device_launch(mg_device *d, int k, const mg_device_call *c, mg_error *e) {
  typedef int (*plain)(const void *const *, void *const *, void *, void *);
  typedef int (*sized)(const void *const *, void *const *, void *, const int64_t *, void *);
  const mgi_device_file *f = &d->file[k];
  mg_status s = mgi_device_begins(d, f->name, e);
  if (s != MG_OK) return s;
  d->n.launches++;
  if (!d->cfg.emulated) {
    void (*const launch)(void) = c->early ? f->early : f->launch;
    const int rc = c->sym ? ((sized)launch)(c->in, c->out, c->workspace, c->sym, d->stream) : ((plain)launch)(c->in, c->out, c->workspace, d->stream);
    return rc >= 10000 ? mg_fail(e, MG_MACHINE, f->name, "cuBLAS refuses it (%d)", rc - 10000) : mgi_device_said(d, rc, f->name, e);
  }
  for (int j = 0; j < c->n_in + c->n_out; j++) {
    const void *p = j < c->n_in ? c->in[j] : c->out[j - c->n_in];
    if (p && !mgi_device_holds(d, p, j < c->n_in ? c->in_bytes[j] : c->out_bytes[j - c->n_in])) return mg_fail(e, MG_BAD_INPUT, f->name, "operand %d is beyond the device's memory", j);
  }
  if (!mgi_device_holds(d, c->workspace, c->workspace_bytes)) return mg_fail(e, MG_BAD_INPUT, f->name, "its workspace is beyond the device's memory");
  if (!d->recording) return mg_emulated_call(f->of, f->at, c, e);
  mgi_device_op *o = mgi_device_op_new(d);
  if (!o) return mg_fail(e, MG_NO_MEMORY, f->name, "no memory");
  o->file = k, o->call = *c;
  for (int j = 0; j < c->n_in; j++) o->in[j] = c->in[j], o->in_bytes[j] = c->in_bytes[j];
  for (int j = 0; j < c->n_out; j++) o->out[j] = c->out[j], o->out_bytes[j] = c->out_bytes[j];
  for (int j = 0; c->sym && j < c->n_sym; j++) o->sym[j] = c->sym[j];
  return MG_OK;
}
mg_status mg_device_wait(mg_device *d, mg_error *e) {
  const mg_status s = mgi_device_begins(d, "the stream", e);
  return s != MG_OK || d->cfg.emulated ? s : mgi_device_said(d, d->wait(d->stream), "the stream", e);
}
mg_status mg_device_record(mg_device *d, mg_error *e) {
  mg_status s = mgi_device_begins(d, "a graph", e);
  d->n_ops = 0;
  if (s == MG_OK && !d->cfg.emulated) s = mgi_device_said(d, d->begin(d->stream, 2 /* other threads may do as they like */), "a graph", e);
  if (s == MG_OK) d->recording = 1;
  return s;
}
mg_status mg_device_recorded(mg_device *d, int failed, mg_device_graph **out, mg_error *e) {
  void *graph = NULL;
  mgi_graph_update how;
  if (!d->recording) return MG_OK;
  d->recording = 0;
  mg_status s = failed ? MG_OK : mgi_device_begins(d, "a graph", e);
  const int said = d->cfg.emulated ? 0 : d->end(d->stream, &graph);
  if (failed || s != MG_OK || said) {
    if (graph) d->graph_drop(graph);
    return failed ? MG_OK : s != MG_OK ? s : mgi_device_said(d, said, "a graph", e);
  }
  const int there = *out != NULL;
  mg_device_graph *g = there ? *out : (mg_device_graph *)calloc(1, sizeof *g);
  if (!g) s = mg_fail(e, MG_NO_MEMORY, "a graph", "no memory");
  else *out = g;
  memset(&how, 0, sizeof how);
  if (g && d->cfg.emulated) {
    free(g->op);
    g->op = d->op, g->n = d->n_ops, d->op = NULL, d->n_ops = d->cap_ops = 0;
    there ? d->n.changed++ : d->n.recorded++;
  } else if (g && g->exec && !d->update(g->exec, graph, &how)) d->n.changed++;
  else if (g) {
    if (g->exec) d->wait(d->stream), d->exec_drop(g->exec), g->exec = NULL;
    s = mgi_device_said(d, d->instantiate(&g->exec, graph, 0), "a graph", e);
    d->n.recorded += s == MG_OK;
  }
  if (graph) d->graph_drop(graph);
  return s;
}
void mg_device_graph_free(mg_device *d, mg_device_graph *g) {
  if (!g) return;
  if (g->exec) d->wait(d->stream), d->exec_drop(g->exec);
  free(g->op), free(g);
}
mg_status mg_device_replay(mg_device *d, mg_device_graph *g, mg_error *e) {
  mg_status s = mgi_device_begins(d, "a graph", e);
  if (s != MG_OK) return s;
  d->n.replayed++;
  if (!d->cfg.emulated) return mgi_device_said(d, d->replay(g->exec, d->stream), "a graph", e);
  for (uint32_t k = 0; k < g->n && s == MG_OK; k++) {
    mgi_device_op *o = &g->op[k];
    if (o->file < 0) { mgi_device_move(o); continue; }
    o->call.in = o->in, o->call.out = o->out, o->call.in_bytes = o->in_bytes, o->call.out_bytes = o->out_bytes;
    if (o->call.sym) o->call.sym = o->sym;
    s = mg_emulated_call(d->file[o->file].of, d->file[o->file].at, &o->call, e);
  }
  return s;
}
mg_status mg_device_time(mg_device *d, mg_device_graph *g, int n, double *us, mg_error *e) {
  void *at[MG_DEVICE_TIMES + 1];
  int made = 0, rc = 0;
  mg_status s = n <= MG_DEVICE_TIMES ? MG_OK : mg_fail(e, MG_LIMIT, "device", "expected at most %d replays, found %d", (int)MG_DEVICE_TIMES, n);
  memset(us, 0, (size_t)(n < 0 ? 0 : n) * sizeof *us);
  for (; !d->cfg.emulated && made <= n && s == MG_OK && !rc; made += !rc) rc = d->event_new(&at[made], 0);
  if (made && !rc) rc = d->event(at[0], d->stream);
  for (int k = 0; k < n && s == MG_OK && !rc; k++) {
    s = mg_device_replay(d, g, e);
    if (made && s == MG_OK) rc = d->event(at[k + 1], d->stream);
  }
  if (made && s == MG_OK && !rc) rc = d->event_wait(at[n]);
  for (int k = 0; k < n && made && s == MG_OK && !rc; k++) {
    float ms = 0;
    rc = d->elapsed(&ms, at[k], at[k + 1]);
    us[k] = 1000.0 * (double)ms;
  }
  for (int k = 0; k < made; k++) d->event_drop(at[k]);
  return s != MG_OK ? s : mgi_device_said(d, rc, "an event", e);
}

mg_status mg_device_mark(mg_device *d, int k, mg_error *e) {
  if (k < 0 || k >= MG_DEVICE_MARKS) return mg_fail(e, MG_LIMIT, "device", "expected a mark below %d, found %d", (int)MG_DEVICE_MARKS, k);
  if (d->cfg.emulated) return MG_OK;
  int rc = d->mark[k] ? 0 : d->event_new(&d->mark[k], 0);
  if (!rc) rc = d->event(d->mark[k], d->stream);
  return mgi_device_said(d, rc, "an event", e);
}
mg_status mg_device_between(mg_device *d, int n, double *us, mg_error *e) {
  int rc = d->cfg.emulated ? 0 : d->wait(d->stream);
  for (int k = 0; k < n && !rc; k++) {
    float ms = 0;
    if (!d->cfg.emulated) rc = d->elapsed(&ms, d->mark[k], d->mark[k + 1]);
    us[k] = 1000.0 * (double)ms;
  }
  return mgi_device_said(d, rc, "an event", e);
}

/* ------------------------------------------------------------------------------------------------ >>layouts
   How the tile of a load lies in shared memory: one of the ways of MG_IN_WORDS (>>tiles draws them), by the integer program

       minimise   sum over tiles k, ways w   cost[k][w] x[k][w]                            x[k][w] in {0, 1}
       subject to sum over w  x[k][w] = 1                                                  for every tile k
                  x[k][w] = 0                                                              where mg_flat_banned has w
                  sum over k alive at s, ways w  bytes[k][w] x[k][w] <= room[s]            for every step s of the kernel

   cost[k][w] is mg_tile_cost, once an iteration; room[s] is the limit less what else is alive.

   A block that fits has no rows of the last kind, and the program falls apart: each tile has the way that mg_flat_way says.
   Else depth first, first the tile for which the choice matters most, with what the rest costs and takes at least as the bound: exact. */
enum { MGI_CU_TILES = 24, MGI_CU_ROWS = 64 };
typedef struct mgi_cu_layout {
  int n, rows;
  uint8_t banned[MGI_CU_TILES]; /* ways, as bits */
  int64_t cost[MGI_CU_TILES][MG_IN_COUNT], bytes[MGI_CU_TILES][MG_IN_COUNT];
  uint64_t alive[MGI_CU_TILES]; /* rows in which tile k is, as bits */
  int64_t room[MGI_CU_ROWS];
} mgi_cu_layout;
typedef struct mgi_cu_layout_walk {
  const mgi_cu_layout *L;
  int order[MGI_CU_TILES];
  int64_t rest[MGI_CU_TILES + 1], least[MGI_CU_TILES], best; /* rest: what the tiles from a depth on cost at least; least: bytes of tile k */
  uint8_t way[MGI_CU_TILES], chosen[MGI_CU_TILES];
} mgi_cu_layout_walk;

MGI_FN void mgi_cu_layout_run(mgi_cu_layout_walk *W, int depth, int64_t cost, const int64_t *room) {
  const mgi_cu_layout *L = W->L;
  if (cost + W->rest[depth] >= W->best) return;
  for (int s = 0; s < L->rows; s++) {
    int64_t least = 0;
    for (int k = depth; k < L->n; k++) least += L->alive[W->order[k]] >> s & 1 ? W->least[W->order[k]] : 0;
    if (least > room[s]) return;
  }
  if (depth == L->n) {
    W->best = cost;
    memcpy(W->chosen, W->way, sizeof W->chosen);
    return;
  }
  const int k = W->order[depth];
  uint32_t tried = L->banned[k];
  for (;;) { /* the cheapest way first */
    int64_t left[MGI_CU_ROWS];
    int w = -1;
    for (int i = 0; i < MG_IN_COUNT; i++)
      if (!(tried >> i & 1) && (w < 0 || L->cost[k][i] < L->cost[k][w])) w = i;
    if (w < 0) return;
    tried |= 1u << w;
    for (int s = 0; s < L->rows; s++) left[s] = room[s] - (L->alive[k] >> s & 1 ? L->bytes[k][w] : 0);
    W->way[k] = (uint8_t)w;
    mgi_cu_layout_run(W, depth + 1, cost + L->cost[k][w], left);
  }
}
/* The least cost, and every tile's way; -1 if nothing fits. */
MGI_FN int64_t mgi_cu_layout_solve(const mgi_cu_layout *L, uint8_t *way) {
  mgi_cu_layout_walk W;
  int64_t least[MGI_CU_TILES], matters[MGI_CU_TILES];
  memset(&W, 0, sizeof W);
  W.L = L;
  W.best = INT64_MAX;
  for (int k = 0; k < L->n; k++) {
    int64_t most = -1;
    int at = k;
    least[k] = W.least[k] = INT64_MAX;
    for (int w = 0; w < MG_IN_COUNT; w++) {
      if (L->banned[k] >> w & 1) continue;
      if (L->cost[k][w] > most) most = L->cost[k][w];
      if (L->cost[k][w] < least[k]) least[k] = L->cost[k][w];
      if (L->bytes[k][w] < W.least[k]) W.least[k] = L->bytes[k][w];
    }
    if (most < 0) return -1;
    matters[k] = most - least[k];
    for (; at > 0 && matters[W.order[at - 1]] < matters[k]; at--) W.order[at] = W.order[at - 1];
    W.order[at] = k;
  }
  for (int d = L->n; d-- > 0;) W.rest[d] = W.rest[d + 1] + least[W.order[d]];
  mgi_cu_layout_run(&W, 0, 0, L->room);
  if (W.best == INT64_MAX) return -1;
  memcpy(way, W.chosen, (size_t)L->n);
  return W.best;
}

/* --------------------------------------------------------------------------------------------------- >>text
   A growing string, and the spelling of table rows.  A string that memory ran out for reads as MGI_CU_LOST, and so does
   any that took it up: whoever looks at the last one sees it. */
#define MGI_CU_LOST "\001\002\003"
typedef struct mgi_cu_str { char *s; size_t n, cap; int oom; } mgi_cu_str;

MGI_FN void mgi_cu_str_vput(mgi_cu_str *t, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0 || t->oom) return;
  if (t->n + (size_t)n + 1 > t->cap) {
    size_t cap = (t->n + (size_t)n + 1) * 2;
    char *s = (char *)realloc(t->s, cap);
    if (!s) {
      t->oom = 1;
      return;
    }
    t->s = s;
    t->cap = cap;
  }
  vsnprintf(t->s + t->n, (size_t)n + 1, fmt, ap);
  t->oom = strstr(t->s + t->n, MGI_CU_LOST) != NULL;
  t->n += (size_t)n;
}
MGI_FN void mgi_cu_str_put(mgi_cu_str *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  mgi_cu_str_vput(t, fmt, ap);
  va_end(ap);
}
/* An extent, a count or a stride: a number that is known where the file is written, or one that the launch, or a block,
   will know.  Both have a text, to be written; what is decided is decided by `known` and `value`, never by the text. */
typedef struct mgi_cu_size { int known; int64_t value; char text[1400]; } mgi_cu_size;
MGI_FN mgi_cu_size mgi_cu_number(int64_t value) {
  mgi_cu_size size = {1, value, ""};
  snprintf(size.text, sizeof size.text, "%lld", (long long)value);
  return size;
}
MGI_FN int mgi_cu_is_one(const mgi_cu_size *size) { return size->known && size->value == 1; }
/* A factor, unless it is 1. */
MGI_FN void mgi_cu_times(mgi_cu_str *t, const mgi_cu_size *by) {
  if (!mgi_cu_is_one(by)) mgi_cu_str_put(t, " * %s", by->text);
}
MGI_FN const char *mgi_cu_str_text(const mgi_cu_str *t) { return t->oom ? MGI_CU_LOST : t->n ? t->s : ""; }

/* Table ids, as the emitted code spells them, and the source text of the user's rows. */
typedef struct mgi_cu_row { const char *id, *row; } mgi_cu_row;
static const mgi_cu_row mgi_cu_rows[] = {
  {"NONE", NULL},
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) {#id, NULL},
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) {#id, NULL},
  MG_BUILTIN_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#define MGI_E(id, name, n, lv, attr, abs, field, real, ...) {#id, "E(" #id ", " #name ", " #n ", " #lv ", " #attr ", " #abs ", " #field ", " #real ")"},
#define MGI_T(id, name, n, lv, attr, shape, abs, index, ...) {#id, "T(" #id ", " #name ", " #n ", " #lv ", " #attr ", " #shape ", " #abs ", " #index ")"},
  MG_USER_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
  {"END", NULL}
};
static const char *const mgi_cu_type_rows[] = { /* of the types behind the built-in ones */
#define MGI_T(id, name, bytes, digits, least, most, cuda)                                                             \
  "T(" #id ", " #name ", " #bytes ", " #digits ", " #least ", " #most ", " #cuda ")",
  MG_USER_TYPES(MGI_T)
#undef MGI_T
  ""
};
static const struct { mg_dtype type; const char *row; } mgi_cu_shape_rows[] = {
#define MGI_S(type, name, m, n, k, ptx) {MG_##type, "S(" #type ", " #name ", " #m ", " #n ", " #k ", " #ptx ")"},
  MG_TENSOR_SHAPES(MGI_S)
#undef MGI_S
};
static_assert(sizeof mgi_cu_rows / sizeof *mgi_cu_rows == MG_OP_TABLE_END + 1, "one spelling a row");


/* --------------------------------------------------------------------------------------------------- >>plan
   One pass over a block graph's operators writes the kernel, and notes of each statement which pieces of shared memory
   it touches (mirage_plan.h, >>memory).  What follows from these notes, where the pieces lie and which barriers that asks
   for, is put into the text when it is finished: addresses as constants by name, barriers as lines. */
typedef enum mgi_cu_home {
  MGI_CU_AT_NONE, MGI_CU_AT_INLINE, MGI_CU_AT_TILE, MGI_CU_AT_GLOBAL,
  MGI_CU_AT_MADE,            /* nowhere: its elements are computed from their indices */
  MGI_CU_AT_FRAGMENT, MGI_CU_AT_PARTIAL
} mgi_cu_home;

/* A block dimension's valid extent is that of dimension d of the tensor that LOAD `op` reads, cut by its axes up to
   `last`; op 0: the nominal one. */
typedef struct mgi_cu_dim_ref { uint32_t op; int d; uint32_t last; } mgi_cu_dim_ref;

/* What the emitter knows of a block tensor. */
typedef struct mgi_cu_val_info {
  mgi_cu_home home;
  int rows, cols;            /* nominal extents of the dimension that it has its rows in (mg_rows_in), and of the last */
  mgi_cu_dim_ref of[MG_MAX_RANK]; /* whose extents its dimensions have */
  mgi_cu_dim_ref rr, cr;     /* those of rows and columns */
  int obj;                   /* TILE: piece of shared memory, or -1 - ring's piece; PARTIAL */
  char var[200];             /* variable that holds the tile, global, accumulator or partial */
  mg_dtype type;             /* TILE: what it holds */
  int trans;                 /* TILE */
  int copy, copy_obj;        /* materialised as `copy_type` under the name m_<name> */
  mg_dtype copy_type;
  int inverse;               /* the copy holds 1 / t */
  int in_place;              /* MATMUL, SUM, MAX: the accumulator (op index) that it feeds directly */
  uint32_t settles;          /* elementwise: the product whose fragments it takes over */
  uint32_t chain;            /* MATMUL, SUM: the operand that is in fragments so */
  int shifted;               /* it is kept as v exp(-m), with the shift m of K->shift */
  int weighted;              /* LOAD: of parts with shifts of their own, which K->sender made */
  uint32_t split;            /* MATMUL behind a ring of warps: the product of it whose parts, in fragments, are its left operand */
  uint32_t into, sum;        /* then: the product of that ring to whose parts it is added, and the tensor that is the sum; or 0 */
  int kept;                  /* such products, and the accumulators that they feed: they stay in fragments */
  int own[2];                /* rows, columns: of that extent's chunk each warp has a part of its own, of so many; 0: not cut */
  int part[2], pitch;        /* LOAD: rows, columns that each warp brings into the block's tile, 0: all; bytes between its rows */
} mgi_cu_val_info;

typedef struct mgi_cu_ring { int obj, n, open, ahead; int64_t stage; uint32_t load[64]; int64_t at[64], half[64]; } mgi_cu_ring; /* open: its first stages are under way; half: bytes of a tile with what follows it, of a split one of each */

typedef struct mgi_cu_emit {
  const mg_graph *g;
  mg_machine machine;        /* that the file is for */
  mg_classes cls;
  mg_error *e;
  mg_status st;
  mgi_cu_str kernels, launches; /* device functions; statements of the launch function */
  mgi_cu_str spaces;         /* constants: where in the workspace things lie */
  char space_end[280];       /* text of its size so far */
  mgi_cu_str infos;          /* rows of NAME_info's kernels */
  mgi_cu_str plans;          /* what was decided: lines of kernel's number, key, value */
  uint32_t early;            /* inputs that a dependent launch reads ahead, as bits */
  int blas;                  /* 1: cuBLAS is called, and has its workspace */
  int maps;                  /* 1: a kernel takes maps of tensors */
  int n_launches, n_graphs;
  mg_sends sends;            /* which tensors between kernels are under a running maximum */
  mg_cuda_kernel *facts;     /* by kernel, what was decided; NULL: nobody asks */
  uint8_t *symbol;           /* by dimension of a tensor: 0, or 1 + the symbol that comes with the launch (mg_symbols_of) */
  uint8_t *class_symbol;     /* the same by class of extents */
  mg_emit_config read;       /* of it device and displaced: what kernels read in device memory */
  uint32_t host_symbols, host_outputs; /* what a launch hands over of them itself, as bits */
  mgi_cu_str blocks;         /* the counts of blocks of all kernels */
} mgi_cu_emit;

/* A step of the schedule: an operator; a tensor that is materialised; or neither, where a loop begins. */
typedef struct mgi_cu_entry { uint32_t op, tensor, scope; mg_dtype type; } mgi_cu_entry;
enum { MGI_CU_WANTS = 32 };
enum { MGI_CU_WARP = 1, MGI_CU_GROUP = 4 }; /* whose the parts of a ring are: warps in it */

typedef struct mgi_cu_kernel {
  mgi_cu_emit *em;
  const mg_graph *b;         /* the block graph */
  const uint32_t *above;     /* tensor of b->up -> tensor of em->g; NULL: the same */
  char name[160];
  int number;                /* of the graph-defined kernel; -1: made here for a library operator */
  char count[MG_MAX_AXES + 1][400]; /* text of every axis's extent */
  char seen[2000];                  /* the line that says how many steps of a loop see a key; "": there is none */
  uint32_t seen_axis;               /* the axis of the grid that cuts its queries, x or y; 0: neither does */
  mgi_cu_val_info *v;           /* by tensor */
  mgi_cu_str decl, body;
  char pad[64];              /* indentation of the body */
  mg_memory mem;             /* shared memory: its pieces, and what touches them */
  char place[MG_MEMORY_PIECES][96]; /* names of the constants that say where they lie */
  int threads, wm, wn, wk, stages;
  uint32_t loop;             /* the innermost loop being written, or 0 */
  int registers;             /* accumulator registers a thread */
  int dealt;                 /* registers a thread once the warpgroup beside has given up its own; 0: it does not */
  int next_value;            /* names of nested moves */
  uint32_t merged;           /* grid axes of more than one block over which accumulators merge, as bits */
  int ahead;                 /* 1: loads go out ahead */
  int cluster, merge_open;   /* 1: by a cluster, else by the workspace; 1: the first part is still to come */
  int owners, behind;        /* 1: every block of a cluster owns units of a result of own_rows x own_cols; 1: behind the merge */
  int own_rows, own_cols;
  int64_t merge_bytes;       /* of the parts of one block in the workspace */
  char group_size[400], group_rank[400], group[800]; /* texts: blocks a group, this one's place in it, the group */
  uint8_t *late;             /* by operator: it stands behind the merge */
  int by_group;              /* 1: warpgroups multiply, where they can (mgi_cu_group_why) */
  uint8_t parts[MG_MAX_AXES + 1]; /* by loop: every MGI_CU_WARP or MGI_CU_GROUP brings its part of the block's ring */
  uint8_t copies[MG_MAX_AXES + 1]; /* by loop: tensor copies fill its ring */
  int tensor_copies;         /* 1: the plan's copy=tma */
  int apart;                 /* 1: copy=warp */
  size_t parted;             /* where in the body those that copy have left it */
  int copying;               /* 1: they copy while what is written now runs */
  uint32_t trails, leads;    /* the plan's chain=late: the product that is made late, and the first of its loop; or 0 */
  int share;                 /* blocks of a cluster that copy for one another (the plan's share); 1: none do */
  uint32_t share_axis;       /* neighbours along this axis */
  int ring_obj[MG_MAX_AXES + 1]; /* by loop: its ring's piece */
  uint32_t strip;            /* a load whose elements, and those of its like, are in registers (mg_flat_strip); or 0 */
  uint8_t beside[MG_FLAT_OPS]; /* then: which values are kept beside them (mg_flat_kept) */
  mgi_cu_entry *order;       /* what is written, in which order: n_ops + MG_MAX_AXES + MGI_CU_WANTS entries at most */
  int n_order, merge_at;     /* merge_at: from this entry on all stands behind the merge */
  uint32_t writing;          /* the operator that is being written */
  int meanwhile;             /* of the schedule the entry that is written while the product before it runs, or 0 */
  mgi_cu_entry want[MGI_CU_WANTS]; /* what was materialised when it was needed, and for which operator */
  int n_want;
  uint32_t *sooner;          /* by operator: of a STORE of what an exponential takes over, that one, which it stands before; or 0 */
  uint8_t *undo;             /* by operator: 1: a STORE of v exp(-m) of rows, of which v is stored; 2: of log(v) - m, of which log(v) */
  int undo_obj;              /* then: where m is, by row; -1: not yet anywhere */
  uint8_t *tiled;            /* by elementwise operator: as written it makes a tile of its own */
  uint8_t *way, *free;       /* by tensor: how a load's tile lies (>>layouts); how it would if the plan had nothing to say and all fitted */
  uint8_t *rule;             /* by tensor: the row of MGI_CU_RULES that it lives by */
  mg_flat flat;              /* b as mirage_plan.h sees it, places being operators - 1; n 0: it is too large */
  mg_chains chains;          /* what of it stays in fragments on these warps */
  mg_rings rings;            /* its loops whose rings are of warps or of warpgroups */
  uint32_t lent;             /* a settled exponential that other expressions of its shape read too, or 0 */
  int how;                   /* the schedule: MG_SCHEDULE_.. */
  int roomy;                 /* 1: shared memory that no block of the grid would use may be spent */
  int dependent, waited;     /* 1: it has mg_grid_wait; 1: that has been written */
  int follows, lets_next;    /* 1: the operator before it is a kernel too, whose end it need not wait for to begin; 1: after its wait the next may begin */
  uint32_t shift;            /* the exponential whose rows have a running maximum, or 0 */
  uint32_t mask;             /* the causal mask that the values under way take from mg_causal_block::with, or 0 */
  uint32_t bare[8];          /* SCALEs that are left out of an expression, as they come after it; 0 ends them */
  int shift_declared, agreed; /* agreed: the warps that share a row have the same one */
  mgi_cu_str takes;          /* the bytes that a block of a cluster gets of all parts */
  int shift_part, shift_obj; /* 1: the blocks' shifts are handed over; shift_obj: where, in a cluster */
  uint32_t sender;           /* the kernel, an operator, that it reads shifted tensors of; or 0 */
  int sends, weights_obj;    /* 1: its shift has been stored; where the weights of the sender's parts are, -1: not computed */
} mgi_cu_kernel;

MGI_FN void mgi_cu_emit_fail(mgi_cu_emit *em, mg_status s, const char *where, const char *fmt, ...) {
  char msg[256];
  va_list ap;
  if (em->st != MG_OK) return;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  em->st = mg_fail(em->e, s, where, "%s", msg);
}
/* What the plan says of value `name` (NULL: of the kernel) cannot be, and why. */
MGI_FN void mgi_cu_refuse(mgi_cu_kernel *K, mg_plan_key key, const char *name, int value, const char *fmt, ...) {
  char word[MG_PLAN_TEXT], text[MG_PLAN_TEXT], why[200];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(why, sizeof why, fmt, ap);
  va_end(ap);
  mg_plan_text(key, name, value, word, text);
  mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "the plan's %s=%s: %s", word, text, why);
}
/* For `name` threads meet in a template, at a barrier of the whole block: while a warp copies, it would wait for them and they for it. */
MGI_FN void mgi_cu_meet_all(mgi_cu_kernel *K, const char *name) {
  if (K->copying) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, MG_COPY_WARP, "the whole block meets for '%.60s' while a warp copies", name);
}
MGI_FN const char *mgi_cu_op_name(const mg_graph *b, const mg_op_node *o) {
  (void)b;
  return o->code == MG_OP_LOAD ? "load" : o->code == MG_OP_STORE ? "store" : o->code == MG_OP_ACCUM ? "accum" : o->code == MG_OP_GRAPH ? "graph" : mg_op_row(o->code)->name;
}
MGI_FN void mgi_cu_line(mgi_cu_kernel *K, const char *fmt, ...) {
  va_list ap;
  mgi_cu_str_put(&K->body, "%s", fmt[0] ? K->pad : "");
  va_start(ap, fmt);
  mgi_cu_str_vput(&K->body, fmt, ap);
  va_end(ap);
  mgi_cu_str_put(&K->body, "\n");
}
MGI_FN void mgi_cu_indent(mgi_cu_kernel *K, int by) {
  size_t n = strlen(K->pad);
  if (by > 0 && n + 2 < sizeof K->pad) strcat(K->pad, "  ");
  if (by < 0 && n >= 2) K->pad[n - 2] = 0;
}
MGI_FN const char *mgi_cu_tname(const mg_graph *b, uint32_t t) { return b->tensors[t].name ? b->tensors[t].name : "t"; }

/* ---- pieces of shared memory */
/* A new piece, of the variable with that name. */
MGI_FN int mgi_cu_piece_new(mgi_cu_kernel *K, int64_t bytes, const char *fmt, ...) {
  va_list ap;
  const int piece = mg_memory_piece_new(&K->mem, bytes);
  if (piece < 0) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "more than %d pieces of shared memory", (int)MG_MEMORY_PIECES);
    return 0;
  }
  const size_t n = (size_t)snprintf(K->place[piece], sizeof *K->place, "AT_");
  va_start(ap, fmt);
  vsnprintf(K->place[piece] + n, sizeof *K->place - n, fmt, ap);
  va_end(ap);
  return piece;
}
/* Notes what stands here in the text. */
MGI_FN void mgi_cu_note(mgi_cu_kernel *K, mg_memory_step_kind kind, int piece, int n) {
  mg_memory_step *s = mg_memory_note(&K->mem, kind, piece, n, K->loop);
  if (!s) {
    mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
    return;
  }
  s->at = K->body.n;
  s->indent = (int)strlen(K->pad);
}
MGI_FN void mgi_cu_touch(mgi_cu_kernel *K, int piece, int write) { mgi_cu_note(K,
                                                                               write ? MG_STEP_WRITE : MG_STEP_READ, piece, 0); }
MGI_FN void mgi_cu_begin(mgi_cu_kernel *K) { mgi_cu_note(K, MG_STEP_BEGIN, -1, 0); }
MGI_FN void mgi_cu_barrier(mgi_cu_kernel *K) { mgi_cu_note(K, MG_STEP_BARRIER, -1, 0); }
/* The blocks that an SM may have at once by its threads and, with K->roomy, by what the grid has for it; at least 1. */
MGI_FN int64_t mgi_cu_most(const mgi_cu_kernel *K) {
  int64_t blocks = 1, most = K->em->machine.threads_per_sm / (K->threads + (K->apart ? MG_APART : 0));
  if (!K->roomy) return most;
  for (uint32_t a = 1; a <= 3 && blocks < 1 << 30; a++) blocks *= K->b->axes[a].extent;
  blocks = mg_ceil_div(blocks, K->em->machine.sms);
  return blocks < most ? blocks : most;
}
MGI_FN void mgi_cu_lay_out(mgi_cu_kernel *K) {
  const int align = K->by_group || K->tensor_copies ? 1024 : 128;
  for (uint32_t a = 1; a < K->b->n_axes; a++) K->mem.by_group[a] = K->parts[a] == MGI_CU_GROUP;
  if (!mg_memory_lay_out(&K->mem, K->b, align, &K->em->machine, mgi_cu_most(K)))
    mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory, or more than 2^62 bytes of shared memory");
}
/* The constants that say where the pieces lie. */
MGI_FN void mgi_cu_places_write(const mgi_cu_kernel *K, mgi_cu_str *s) {
  if (K->mem.n) mgi_cu_str_put(s,
                               "  enum { // where in shared memory, in bytes; what is needed at different times may lie at one place\n");
  for (int k = 0; k < K->mem.n; k++) {
    const mg_memory_life *o = &K->mem.piece[k];
    mgi_cu_str_put(s, "    %s = %lld%s // %lld bytes\n", K->place[k], (long long)o->offset,
                   k + 1 < K->mem.n ? "," : "", (long long)o->bytes);
  }
  if (K->mem.n) mgi_cu_str_put(s, "  };\n");
}
/* 1 if what step k waits for is waited for right behind it, and more: no text and no barrier stands between. */
MGI_FN int mgi_cu_waits_again(const mg_memory *M, int k) {
  const mg_memory_step *m = &M->step[k];
  if (m->waits < 0 || m->barrier || m->over) return 0;
  for (int j = k + 1; j < M->n_steps && M->step[j].at == m->at; j++) {
    const mg_memory_step *next = &M->step[j];
    if (next->waits >= 0) return next->waits <= m->waits;
    if (next->barrier || next->over) return 0;
  }
  return 0;
}
/* A barrier at `at` of the body: of the block, or of those that stay where a warp copies. */
MGI_FN void mgi_cu_barrier_write(const mgi_cu_kernel *K, mgi_cu_str *s, size_t at) {
  if (K->apart && at >= K->parted) mgi_cu_str_put(s, "mg_sync_first<%d>();\n", K->threads);
  else mgi_cu_str_put(s, "mg_sync();\n");
}
/* The body, with the barriers and waits that were found. */
MGI_FN void mgi_cu_body_write(const mgi_cu_kernel *K, mgi_cu_str *s) {
  const char *body = mgi_cu_str_text(&K->body);
  size_t at = 0;
  for (int k = 0; k < K->mem.n_steps && !K->body.oom; k++) {
    const mg_memory_step *m = &K->mem.step[k];
    if ((m->waits < 0 && !m->barrier && !m->over) || mgi_cu_waits_again(&K->mem, k)) continue;
    mgi_cu_str_put(s, "%.*s", (int)(m->at - at), body + at);
    at = m->at;
    if (m->waits >= 0) mgi_cu_str_put(s, "%*smg_cp_async_wait<%d>();\n", m->indent, "", m->waits);
    if (m->over || (m->waits >= 0 && K->by_group)) mgi_cu_str_put(s, "%*smg_group_publish();\n", m->indent, "");
    if (m->barrier) mgi_cu_str_put(s, "%*s", m->indent, "");
    if (m->barrier == MG_BARRIER_GROUP) mgi_cu_str_put(s, "mg_sync_group();\n");
    else if (m->barrier) mgi_cu_barrier_write(K, s, m->at);
  }
  mgi_cu_str_put(s, "%s", K->body.oom ? body : body + at);
}

/* ---- extents and offsets */
MGI_FN uint32_t mgi_cu_above(const mgi_cu_kernel *K, mg_tensor t) { return K->above ? K->above[t.id] : t.id; }
/* The extent of dimension d of kernel-level tensor t: a constant of the file where it is one of a class. */
MGI_FN mgi_cu_size mgi_cu_dim(const mgi_cu_emit *em, uint32_t t, int d) {
  const int c = em->cls.of[t * MG_MAX_RANK + (uint32_t)d];
  mgi_cu_size size = mgi_cu_number(em->g->tensors[t].shape.dim[d]);
  if (c < 0) return size;
  size.known = 0;
  snprintf(size.text, sizeof size.text, "%s_D%d", em->g->name, c);
  return size;
}
MGI_FN const char *mgi_cu_dim_text(const mgi_cu_emit *em, uint32_t t, int d, char *out, size_t n) {
  const mgi_cu_size size = mgi_cu_dim(em, t, d);
  snprintf(out, n, "%.190s", size.text);
  return out;
}
/* 1 if the extent of dimension d of kernel-level tensor t comes with the launch: nothing is known of it but its bounds. */
MGI_FN int mgi_cu_is_symbol(const mgi_cu_emit *em, uint32_t t, int d) { return em->symbol[t * MG_MAX_RANK + (uint32_t)d] != 0; }
/* What kernel-level tensor t has its elements in. */
MGI_FN uint32_t mgi_cu_lies(const mgi_cu_emit *em, uint32_t t) { return mg_sliced_from(em->g, mgi_cu_handle(t)).id; }
/* The memory stride of dimension d of kernel-level tensor t: the product of the extents inside of it. */
MGI_FN mgi_cu_size mgi_cu_stride(const mgi_cu_emit *em, uint32_t t, int d) {
  t = mgi_cu_lies(em, t);
  const mg_tensor_info *o = &em->g->tensors[t];
  mgi_cu_size stride = mgi_cu_number(1);
  size_t at = 0;
  int inside = 0;
  for (int k = 0; k < o->shape.rank; k++) {
    const int dd = o->op ? k : o->order[k];
    if (inside && o->shape.dim[dd] != 1) {
      const mgi_cu_size dim = mgi_cu_dim(em, t, dd);
      stride.known &= dim.known;
      stride.value *= dim.value;
      at += (size_t)snprintf(stride.text + at, sizeof stride.text - at, "%s%.150s", at ? " * " : "(int64_t)", dim.text);
    }
    if (dd == d) inside = 1;
  }
  return stride;
}
MGI_FN const char *mgi_cu_stride_text(const mgi_cu_emit *em, uint32_t t, int d, char *out, size_t n) {
  const mgi_cu_size stride = mgi_cu_stride(em, t, d);
  snprintf(out, n, "%s", stride.text);
  return out;
}
MGI_FN int mgi_cu_stride_is_one(const mgi_cu_emit *em, uint32_t t, int d) {
  const mgi_cu_size stride = mgi_cu_stride(em, t, d);
  return mgi_cu_is_one(&stride);
}
/* What an offset along dimension d of tensor t adds to a pointer. */
MGI_FN void mgi_cu_moves_by(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t, int d, const char *offset) {
  const mgi_cu_size stride = mgi_cu_stride(em, t, d);
  if (mgi_cu_is_one(&stride)) mgi_cu_str_put(s, " + (%s)", offset);
  else mgi_cu_str_put(s, " + (%s) * (%s)", offset, stride.text);
}
/* What is added to a pointer to what kernel-level tensor t has its elements in: nothing, but for slices. */
MGI_FN void mgi_cu_slice_at(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t) {
  const uint32_t lies = mgi_cu_lies(em, t);
  char from[32];
  while (t != lies) {
    const mg_op_node *o = &em->g->ops[em->g->tensors[t].op];
    snprintf(from, sizeof from, "%lld", (long long)o->attr.from);
    if (o->attr.from) mgi_cu_moves_by(em, s, lies, o->attr.dim, from);
    t = o->in[0].id;
  }
}
/* Text of a kernel's pointer to the first element of tensor t. */
MGI_FN void mgi_cu_first_text(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t) {
  mgi_cu_str_put(s, "p_%s", em->g->tensors[mgi_cu_lies(em, t)].name);
  mgi_cu_slice_at(em, s, t);
}
/* Text of an axis's index: `i_k` of a loop, `b_x` of the grid. */
MGI_FN const char *mgi_cu_axis_text(const mgi_cu_kernel *K, uint32_t a, char *out, size_t n) {
  snprintf(out, n, "%s_%s", a <= 3 ? "b" : "i", K->b->axes[a].name);
  return out;
}
/* Part `at` of a valid extent that is cut into parts of so many. */
MGI_FN void mgi_cu_cut(mgi_cu_size *valid, const char *at, int64_t part) {
  char all[700];
  snprintf(all, sizeof all, "%.690s", valid->text);
  valid->known = 0;
  snprintf(valid->text, sizeof valid->text, "mg_cut(%s, %s, %lld)", all, at, (long long)part);
}
/* 1 if parts of dimension d of kernel-level tensor `t`, as axes up to `last` cut it, may be shorter than others, or be none. */
MGI_FN int mgi_cu_uneven(const mgi_cu_kernel *K, const mg_map *m, uint32_t t, int d, uint32_t last) {
  const int symbol = mgi_cu_is_symbol(K->em, t, d);
  if (K->number < 0 && d < K->em->g->tensors[t].shape.rank - 2) return 0; /* mgi_cu_axis_cuts: a block has one of its elements */
  return mg_uneven(K->b, m, K->em->g->tensors[t].shape.dim[d], d, last, symbol);
}
/* Whether dimension d of a product's operand, or result, is a leading one of more than one element. */
MGI_FN int mgi_cu_leads(const mg_shape *x, int d) { return d < x->rank - 2 && x->dim[d] != 1; }
/* 1 if axis a cuts dimension d of kernel-level tensor `t`.  The third one of a library product counts through all leading dimensions
   of its result at once, the last one the fastest: it cuts each that an operand has. */
MGI_FN int mgi_cu_axis_cuts(const mgi_cu_kernel *K, const mg_map *m, uint32_t a, uint32_t t, int d) {
  if (K->number >= 0 || a != 3 || m->to[a] < 0) return m->to[a] == d;
  return mgi_cu_leads(&K->em->g->tensors[t].shape, d);
}
/* Behind the name of that axis: its part that is dimension d's. */
MGI_FN void mgi_cu_leading_text(const mgi_cu_kernel *K, uint32_t t, int d, char *ax, size_t n) {
  const mg_graph *g = K->em->g;
  const uint32_t made = mgi_cu_above(K, K->b->up->ops[K->b->up_op].out[0]);
  const mg_shape *shape = &g->tensors[made].shape;
  const int at = d + shape->rank - g->tensors[t].shape.rank;
  char dim[200];
  size_t used = strlen(ax);
  int outer = 0;
  for (int e = at + 1; e < shape->rank; e++)
    if (mgi_cu_leads(shape, e)) used += (size_t)snprintf(ax + used, used < n ? n - used : 0, " / %s", mgi_cu_dim_text(K->em, made, e, dim, sizeof dim));
  for (int e = 0; e < at; e++) outer |= mgi_cu_leads(shape, e);
  if (outer) snprintf(ax + used, used < n ? n - used : 0, " %% %s", mgi_cu_dim_text(K->em, made, at, dim, sizeof dim));
}
/* Dimension d of kernel-level tensor `t` under a map: the chunk, the text of its offset ("" for 0), its valid extent, and
   by how much offsets are aligned (both may be NULL).  Axes after `last` are left out. */
MGI_FN int64_t mgi_cu_chunk(const mgi_cu_kernel *K, const mg_map *m, uint32_t t, int d, uint32_t last, char *offset,
                            size_t n,
                            mgi_cu_size *valid, int64_t *align) {
  int64_t chunk = K->em->g->tensors[t].shape.dim[d], aligned = 0;
  mgi_cu_size left = mgi_cu_dim(K->em, t, d);
  size_t at = 0;
  offset[0] = 0;
  for (uint32_t a = 1; a < K->b->n_axes && a <= last; a++) {
    char ax[700];
    if (!mgi_cu_axis_cuts(K, m, a, t, d)) continue;
    chunk = mg_ceil_div(chunk, K->b->axes[a].extent);
    mgi_cu_axis_text(K, a, ax, sizeof ax);
    if (K->number < 0 && a == 3) mgi_cu_leading_text(K, t, d, ax, sizeof ax);
    at += (size_t)snprintf(offset + at, at < n ? n - at : 0, "%s%s", at ? " + " : "", ax);
    if (chunk != 1) at += (size_t)snprintf(offset + (at < n ? at : n), at < n ? n - at : 0, " * (int64_t)%lld", (long long)chunk);
    mgi_cu_cut(&left, ax, chunk);
    aligned = mg_gcd(aligned, chunk);
  }
  if (valid) *valid = K->number >= 0 && !mgi_cu_uneven(K, m, t, d, last) ? mgi_cu_number(chunk) : left;
  if (align) *align = aligned;
  return chunk;
}

/* ------------------------------------------------------------------------------------------------- >>values
   Elementwise and moving operators have no place of their own: where a value is used, its expression is written out in
   a lambda (r, c, i): element (r, c), fragment element i.  Its leaves are tiles, vectors (tiles of one row or
   column), tensors in global memory, accumulator fragments and partial sums. */
MGI_FN const mg_op_node *mgi_cu_producer(const mgi_cu_kernel *K, uint32_t t) { return &K->b->ops[K->b->tensors[t].op]; }
/* Where tensor t stands among the kernel's facts. */
MGI_FN int mgi_cu_place(const mgi_cu_kernel *K, uint32_t t) { return (int)K->b->tensors[t].op - 1; }
/* The tensor at a place that counts from 1; 0: none. */
MGI_FN uint32_t mgi_cu_at_place(const mgi_cu_kernel *K, int place) { return place ? K->b->ops[place].out[0].id : 0; }

/* The extent of the whole dimension that a reference names, 0 for none: one element a block of a long dimension is at its edge
   at times, one of a dimension of one element never. */
MGI_FN int64_t mgi_cu_ref_extent(const mgi_cu_kernel *K, const mgi_cu_dim_ref *ref) {
  return ref->op ? K->em->g->tensors[mgi_cu_above(K, K->b->ops[ref->op].in[0])].shape.dim[ref->d] : 0;
}
/* The number of whose a loop's parts are. */
MGI_FN const char *mgi_cu_unit(const mgi_cu_kernel *K, uint32_t loop) { return K->parts[loop] == MGI_CU_GROUP ? "mg_warpgroup()" : "mg_warp()"; }
/* Its part, of so many (0: all), of a valid extent: a number stays one, as whole parts divide the chunk. */
MGI_FN void mgi_cu_own(int own, const char *unit, mgi_cu_size *valid) {
  if (own && valid->known) *valid = mgi_cu_number(own);
  else if (own) mgi_cu_cut(valid, unit, own);
}
/* 1 if o is a LOAD of what is computed where it is read: it brings nothing, and has no tile. */
MGI_FN int mgi_cu_made(const mgi_cu_kernel *K, const mg_op_node *o) {
  return o->code == MG_OP_LOAD && K->em->g->tensors[mgi_cu_above(K, o->in[0])].fill != MG_FILL_NONE;
}
MGI_FN int mgi_cu_brings(const mgi_cu_kernel *K, const mg_op_node *o) {
  return o->code == MG_OP_LOAD && !mgi_cu_made(K, o);
}
/* Text: the last key that query 0 of the causal mask t may see. */
MGI_FN int mgi_cu_past_text(const mgi_cu_emit *em, uint32_t t, char *out, size_t n) {
  char queries[200], keys[200];
  mgi_cu_dim_text(em, t, 0, queries, sizeof queries);
  mgi_cu_dim_text(em, t, 1, keys, sizeof keys);
  return snprintf(out, n, "(int64_t)%s - %s", keys, queries);
}
/* Text of such a load's values, whose elements are at(r, c): where the block, the iteration and the warp are says which
   they are. */
MGI_FN void mgi_cu_made_text(const mgi_cu_kernel *K, const mg_op_node *o, char *out, size_t n) {
  const uint32_t t = mgi_cu_above(K, o->in[0]);
  const mgi_cu_val_info *v = &K->v[o->out[0].id];
  char past[420], offset[2][800], unit[2][60] = {"", ""};
  mgi_cu_past_text(K->em, t, past, sizeof past);
  for (int d = 0; d < 2; d++) {
    mgi_cu_chunk(K, &o->map, t, d, MG_MAX_AXES, offset[d], sizeof offset[d], NULL, NULL);
    if (v->own[d]) snprintf(unit[d], sizeof unit[d], " %c %s * %d", d ? '-' : '+', mgi_cu_unit(K, o->scope), v->own[d]);
  }
  const char *row = offset[0], *column = offset[1];
  snprintf(out, n, "mg_causal_block(%s%s%s%s%s%s%s%s)", past, *row ? " + " : "", row, unit[0], *column ? " - (" : "",
           column, *column ? ")" : "", unit[1]);
}
/* Which block it is along axis a of the grid, of whose blocks the GPU runs `wave` at once, under that name. */
MGI_FN void mgi_cu_block_write(const mgi_cu_kernel *K, mgi_cu_str *s, uint32_t a, int wave, const char *name) {
  const uint32_t most = K->seen_axis, others = most == 1 ? 2 : 1;
  mgi_cu_str_put(s, "  const int %s = ", name);
  if (!most || a > 2) mgi_cu_str_put(s, "mg_bid(%u);\n", (unsigned)a - 1);
  else mgi_cu_str_put(s, "mg_bid_%s(%u, %s, %s, %d);%s\n", a == most ? "most" : "other", (unsigned)a - 1, K->count[most], K->count[others], wave,
                      a == most ? " // those with the most steps first" : "");
}
/* Where a causal mask ends a loop (mg_flat_seen): the text of its steps. */
MGI_FN void mgi_cu_seen_analyse(mgi_cu_kernel *K) {
  const int mask = K->number >= 0 ? mg_flat_seen(&K->flat) : 0;
  if (!mask) return;
  const mg_op_node *o = &K->b->ops[mask];
  const uint32_t t = mgi_cu_above(K, o->in[0]), loop = o->scope;
  char past[420], row[800], count[400];
  mgi_cu_past_text(K->em, t, past, sizeof past);
  const int64_t rows = mgi_cu_chunk(K, &o->map, t, 0, MG_MAX_AXES, row, sizeof row, NULL, NULL);
  const int64_t keys = mgi_cu_chunk(K, &o->map, t, 1, MG_MAX_AXES, count, sizeof count, NULL, NULL);
  snprintf(count, sizeof count, "%s", K->count[loop]);
  snprintf(K->seen, sizeof K->seen, "  // keys that no query of the block sees add nothing\n  const int seen_%s = mg_causal_steps(%s, %lld, %s%s%s + %lld);\n",
           K->b->axes[loop].name, count, (long long)keys, past, *row ? " + " : "", row, (long long)rows - 1);
  snprintf(K->count[loop], sizeof K->count[loop], "seen_%.100s", K->b->axes[loop].name);
  for (uint32_t a = 1; a <= 2; a++)
    if (mgi_cu_axis_cuts(K, &o->map, a, t, 0)) K->seen_axis = a;
}
/* The valid rows (which 0) or columns (1) of tensor t. */
MGI_FN mgi_cu_size mgi_cu_valid(const mgi_cu_kernel *K, uint32_t t, int which) {
  const mgi_cu_val_info *v = &K->v[t];
  const mgi_cu_dim_ref *ref = which ? &v->cr : &v->rr;
  mgi_cu_size valid;
  char offset[800];
  if (!ref->op) return mgi_cu_number(which ? v->cols : v->rows);
  const mg_op_node *o = &K->b->ops[ref->op];
  mgi_cu_chunk(K, &o->map, mgi_cu_above(K, o->in[0]), ref->d, ref->last, offset, sizeof offset, &valid, NULL);
  mgi_cu_own(v->own[which], "mg_warp()", &valid);
  return valid;
}
MGI_FN const char *mgi_cu_valid_text(const mgi_cu_kernel *K, uint32_t t, int which, char *out, size_t n) {
  const mgi_cu_size valid = mgi_cu_valid(K, t, which);
  snprintf(out, n, "%.790s", valid.text);
  return out;
}
/* 1 if some element within the nominal extent may be beyond the edge. */
MGI_FN int mgi_cu_is_ragged(const mgi_cu_kernel *K, uint32_t t, int which) { return !mgi_cu_valid(K, t, which).known; }

MGI_FN void mgi_cu_materialise(mgi_cu_kernel *K, uint32_t t, mg_dtype type);
MGI_FN int mgi_cu_is_op(const mg_op_node *o, mg_opcode a, mg_opcode b) { return o->code == a || o->code == b; }
/* An accumulator that lifts nothing: all axes that it names have one block. */
MGI_FN int mgi_cu_lifts(const mgi_cu_kernel *K, const mg_op_node *o) { return K->b->tensors[o->in[0].id].scope != o->scope; }
/* The dimension that t has its rows in. */
MGI_FN int mgi_cu_rows_in(const mgi_cu_kernel *K, uint32_t t) {
  const mg_shape *x = &K->b->tensors[t].shape;
  return mg_rows_in(x->rank, x->dim);
}
/* 1 if an element of o's result is computed of those of its operands that stand in the same row and column. */
MGI_FN int mgi_cu_pointwise(const mgi_cu_kernel *K, const mg_op_node *o) {
  return mg_op_row(o->code)->elementwise || K->flat.op[o - K->b->ops - 1].stays;
}
/* -1: over a dimension of extent 1, which changes nothing; 0: rows are joined, 1: columns are. */
MGI_FN int mgi_cu_reduced(const mgi_cu_kernel *K, const mg_op_node *o) {
  const mg_shape *x = &K->b->tensors[o->in[0].id].shape;
  return o->attr.dim == x->rank - 1 ? 1 : o->attr.dim == mg_rows_in(x->rank, x->dim) ? 0 : -1;
}

MGI_FN int mgi_cu_merges(const mgi_cu_kernel *K, const mg_op_node *o) {
  return K->merged && o->code == MG_OP_ACCUM && K->flat.op[o - K->b->ops - 1].across;
}
/* 1 if every warp has a ring of its own for the loop, 0 outside of loops. */
MGI_FN int mgi_cu_own_ring(const mgi_cu_kernel *K, uint32_t loop) { return K->rings.own >> loop & 1; }
/* What is looked for in a tensor's expression: of kernel K, by the homes v; x: a tensor or a loop. */
typedef struct mgi_cu_wanted { mgi_cu_kernel *K; const mgi_cu_val_info *v; uint32_t x; } mgi_cu_wanted;
MGI_FN int mgi_cu_finds(const mgi_cu_kernel *K, uint32_t t, mg_flat_look *look, uint32_t x) {
  mgi_cu_wanted w = {(mgi_cu_kernel *)K, K->v, x};
  return mg_flat_finds(&K->flat, mgi_cu_place(K, t), look, &w);
}
/* 1 if value i, of home v, is computed element by element where it is read. */
MGI_FN int mgi_cu_by_elements(const mg_flat *k, int i, const mgi_cu_val_info *v) {
  return v->home == MGI_CU_AT_INLINE && (k->op[i].stays || mg_op_row((mg_opcode)k->op[i].code)->elementwise);
}
MGI_FN const mgi_cu_val_info *mgi_cu_home_of(const mgi_cu_wanted *w, int i) {
  return &w->v[mgi_cu_at_place(w->K, i + 1)];
}
/* Whether there is a leaf that only an accumulator holds. */
MGI_FN int mgi_cu_look_acc(const mg_flat *k, int i, void *what) {
  const mgi_cu_val_info *v = mgi_cu_home_of((const mgi_cu_wanted *)what, i);
  (void)k;
  if (v->copy) return 0;
  if (v->home == MGI_CU_AT_FRAGMENT || v->home == MGI_CU_AT_PARTIAL) return 1;
  return v->home == MGI_CU_AT_INLINE ? -1 : 0;
}
MGI_FN int mgi_cu_has_acc(const mgi_cu_kernel *K, uint32_t t) { return mgi_cu_finds(K, t, mgi_cu_look_acc, 0); }

/* Where leaves are read: at a site of rows x cols.  been: of each inlined value, without and with fragments, 1 and the
   fragment leaf that was found in it. */
typedef struct mgi_cu_leaves { int rows, cols, touch; uint32_t been[MG_FLAT_OPS][2]; } mgi_cu_leaves;
/* Makes the leaves of t's expression readable there: with touch 0 materialises fragments that the site cannot use, with
   touch 1 puts the barriers.  A fragment leaf; 0 if there is none. */
MGI_FN uint32_t mgi_cu_prepare_from(mgi_cu_kernel *K, mgi_cu_leaves *L, uint32_t t, int fragments) {
  mgi_cu_val_info *v = &K->v[t];
  if (v->weighted && L->touch && !v->copy && K->weights_obj >= 0) mgi_cu_touch(K, K->weights_obj, 0);
  if (v->home == MGI_CU_AT_FRAGMENT && fragments && v->rows == L->rows && v->cols == L->cols) return t;
  if (v->home == MGI_CU_AT_FRAGMENT && !v->copy) mgi_cu_materialise(K, t, MG_F32);
  if (v->copy && v->copy_obj < 0) return K->strip; /* in registers beside its elements, or its rows' */
  if (v->copy || v->home == MGI_CU_AT_TILE || v->home == MGI_CU_AT_PARTIAL) {
    const int obj = v->copy ? v->copy_obj : v->obj;
    if (L->touch && obj >= 0) mgi_cu_touch(K, obj, 0);
    return 0;
  }
  if (v->home != MGI_CU_AT_INLINE) return 0;
  uint32_t *been = &L->been[mgi_cu_place(K, t)][fragments], acc = 0;
  if (*been) return *been - 1;
  const mg_op_node *o = mgi_cu_producer(K, t);
  const int still = fragments && (mgi_cu_pointwise(K, o) || o->code == MG_OP_ACCUM);
  for (int k = 0; k < o->n_in; k++) {
    const uint32_t leaf = mgi_cu_prepare_from(K, L, o->in[k].id, still);
    if (leaf) acc = leaf;
  }
  *been = acc + 1;
  return acc;
}
MGI_FN uint32_t mgi_cu_prepare_leaves(mgi_cu_kernel *K, uint32_t t, int fragments, int touch) {
  mgi_cu_leaves L;
  memset(&L, 0, sizeof L);
  L.rows = K->v[t].rows, L.cols = K->v[t].cols, L.touch = touch;
  return mgi_cu_prepare_from(K, &L, t, fragments);
}
/* Waits for what cp.async brings into leaves of t's expression, so that one barrier serves them and all others. */
MGI_FN int mgi_cu_look_arrive(const mg_flat *k, int i, void *what) {
  const mgi_cu_wanted *w = (const mgi_cu_wanted *)what;
  const mgi_cu_val_info *v = mgi_cu_home_of(w, i);
  (void)k;
  if (v->home == MGI_CU_AT_TILE && !v->copy && v->obj >= 0) mgi_cu_note(w->K, MG_STEP_ARRIVE_FOR, v->obj, 0);
  return v->home == MGI_CU_AT_INLINE && !v->copy ? -1 : 0;
}
MGI_FN void mgi_cu_arrive_for(mgi_cu_kernel *K, uint32_t t) { mgi_cu_finds(K, t, mgi_cu_look_arrive, 0); }
MGI_FN uint32_t mgi_cu_prepare(mgi_cu_kernel *K, uint32_t t, int fragments) {
  mgi_cu_prepare_leaves(K, t, fragments, 0);
  mgi_cu_arrive_for(K, t);
  mgi_cu_begin(K);
  return mgi_cu_prepare_leaves(K, t, fragments, 1);
}

/* Where an expression is written: names of the coordinates; `width` 2 computes columns c and c + 1 (c even), as v.. and
   w.., with leaves that are read in pairs; with `down` rows r and r + 1.  runs: where what is read of device memory is read before,
   as runs of `run` neighbours from column `first` on, of which i says which; tag: in their names. */
typedef struct mgi_cu_context {
  uint8_t *done;
  const char *r, *c;
  int fragments, rows, cols, depth, width, down, run;
  mgi_cu_str *runs;
  const char *first, *tag;
  int turned; /* of runs: r and c are exchanged */
} mgi_cu_context;

MGI_FN void mgi_cu_shape_text(const mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t) {
  const mg_shape *f = &K->b->tensors[t].shape;
  const int rows = mgi_cu_rows_in(K, t);
  char valid[800];
  mgi_cu_str_put(s, "{%d, {", f->rank);
  for (int d = 0; d < MG_MAX_RANK; d++) {
    if (d < f->rank && (d == f->rank - 1 || d == rows)) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_valid_text(K, t, d == f->rank - 1, valid, sizeof valid));
    else mgi_cu_str_put(s, "%s%lld", d ? ", " : "", (long long)(d < f->rank ? f->dim[d] : 0));
  }
  mgi_cu_str_put(s, "}}");
}
MGI_FN void mgi_cu_attr_text(mgi_cu_str *s, const mg_attr *A) {
  mgi_cu_str_put(s, "{%d, %lld, {%lld, %lld}, {%d, {", A->dim, (long long)A->n, (long long)A->c.num, (long long)(A->c.den ? A->c.den : 1), A->shape.rank);
  for (int d = 0; d < MG_MAX_RANK; d++) mgi_cu_str_put(s, "%s%lld", d ? ", " : "", (long long)(d < A->shape.rank ? A->shape.dim[d] : 0));
  mgi_cu_str_put(s, "}}, {");
  for (int d = 0; d < MG_MAX_RANK; d++) mgi_cu_str_put(s, "%s%d", d ? ", " : "", A->perm[d]);
  mgi_cu_str_put(s, "}, {0, 1}, %lld}", (long long)A->from);
}

/* The type that a load has in memory. */
MGI_FN mg_dtype mgi_cu_load_type(const mgi_cu_kernel *K, uint32_t op) { return K->em->g->tensors[mgi_cu_above(K, K->b->ops[op].in[0])].dtype; }
/* 1 if load t stands in a tile whose rows in memory are stored as columns. */
MGI_FN int mgi_cu_across(const mgi_cu_kernel *K, uint32_t t) {
  const int place = mgi_cu_place(K, t);
  return K->v[t].home == MGI_CU_AT_TILE && !K->flat.op[place].inloop && mg_flat_across(&K->flat, place);
}
/* 1 if value t is read, where it is needed, as a run of neighbours: of device memory, or of its tile beside such loads. */
MGI_FN int mgi_cu_in_runs(const mgi_cu_kernel *K, uint32_t t) {
  const mgi_cu_val_info *v = &K->v[t];
  if (v->home == MGI_CU_AT_GLOBAL) return !v->weighted && v->cols > 1;
  return v->home == MGI_CU_AT_TILE && mg_flat_beside(&K->flat, mgi_cu_place(K, t));
}
MGI_FN void mgi_cu_value(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t);

/* Of a concat of parts alike, side by side, their columns; 0: t is no such. */
MGI_FN int mgi_cu_abreast(const mgi_cu_kernel *K, uint32_t t) {
  const mg_op_node *o = mgi_cu_producer(K, t);
  if (o->code != MG_OP_CONCAT || o->attr.dim != K->b->tensors[t].shape.rank - 1 || mgi_cu_is_ragged(K, t, 1)) return 0;
  const int cols = K->v[o->in[0].id].cols;
  for (int k = 0; k < o->n_in; k++)
    if (K->v[o->in[k].id].cols != cols || K->v[o->in[k].id].rows != K->v[t].rows || mgi_cu_is_ragged(K, o->in[k].id, 1)) return 0;
  return cols * o->n_in == K->v[t].cols ? cols : 0;
}
/* Such a concat of parts that have whole runs: all are read at the one place, and the one that it is of is taken, so that no
   thread waits for a part after the other. */
MGI_FN void mgi_cu_abreast_value(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t, const char *in) {
  const mg_op_node *o = mgi_cu_producer(K, t);
  const char *name = mgi_cu_tname(K->b, t);
  const int cols = K->v[o->in[0].id].cols, depth = x->depth + 1;
  char tag[100], first[120], c[140];
  uint8_t *done = (uint8_t *)calloc(K->b->n_tensors, 1);
  if (!done) {
    mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
    return;
  }
  snprintf(tag, sizeof tag, "%.80s%u_", x->tag, t);
  snprintf(first, sizeof first, "c%s", tag);
  snprintf(c, sizeof c, "(%s + i)", first);
  mgi_cu_context y = {done, x->r, c, 0, 0, 0, depth, 1, 0, x->run, x->runs, first, tag, x->turned};
  mgi_cu_str_put(x->runs, "%s  const int k%s = %s / %d, %s = %s %% %d; // of %s\n", K->pad, tag, x->first, cols, first, x->first, cols, name);
  mgi_cu_str_put(s, "%sconst mg_num v%d_%s = [&]() -> mg_num { // %s\n", in, x->depth, name, mg_op_row(o->code)->name);
  for (int k = 0; k < o->n_in; k++) mgi_cu_value(K, s, &y, o->in[k].id);
  mgi_cu_str_put(s, "%s  return ", in);
  for (int k = 0; k + 1 < o->n_in; k++) mgi_cu_str_put(s, "k%s == %d ? v%d_%s : ", tag, k, depth, mgi_cu_tname(K->b, o->in[k].id));
  mgi_cu_str_put(s, "v%d_%s;\n%s}();\n", depth, mgi_cu_tname(K->b, o->in[o->n_in - 1].id), in);
  free(done);
}

/* Element (r, c) of what move `to` moves; with `x`, what is exchanged is read in x's runs. */
MGI_FN void mgi_cu_moved_from(mgi_cu_kernel *K, mgi_cu_str *s, int depth, uint32_t to, uint32_t t, const char *r, const char *c,
                              const mgi_cu_context *x) {
  uint8_t *done = (uint8_t *)calloc(K->b->n_tensors, 1);
  char tag[100];
  mgi_cu_context y = {done, r, c, 0, 0, 0, depth, 1, 0, 0, NULL, NULL, NULL, 0};
  if (x && x->runs) {
    snprintf(tag, sizeof tag, "%.80s%u_", x->tag, to);
    y.run = x->run, y.runs = x->runs, y.first = x->first, y.tag = tag, y.turned = !x->turned;
  }
  if (done) mgi_cu_value(K, s, &y, t);
  else mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
  free(done);
}
/* A moving row: rows and columns exchanged; or the table's index text says which element of which operand element (r, c) is. */
MGI_FN void mgi_cu_moved(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t, const char *in, char v, const char *r, const char *c) {
  const mg_graph *b = K->b;
  const mg_op_node *o = mgi_cu_producer(K, t);
  int d1 = x->depth + 1, rank = b->tensors[t].shape.rank;
  if (x->depth >= 8) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mg_op_row(o->code)->name, "more than 8 moves nested in an expression");
    return;
  }
  mgi_cu_str_put(s, "%sconst mg_num %c%d_%s = [&]() -> mg_num { // %s\n", in, v, x->depth, mgi_cu_tname(b, t), mg_op_row(o->code)->name);
  if (K->flat.op[mgi_cu_place(K, t)].turns) {
    mgi_cu_moved_from(K, s, d1, t, o->in[0].id, c, r, x);
    mgi_cu_str_put(s, "%s  return v%d_%s;\n%s}();\n", in, d1, mgi_cu_tname(b, o->in[0].id), in);
    return;
  }
  mgi_cu_str_put(s, "%s  const int64_t to%d[MG_MAX_RANK] = {", in, d1);
  for (int d = 0; d < rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", d == rank - 1 ? c : d == mgi_cu_rows_in(K, t) ? r : "0");
  mgi_cu_str_put(s, "};\n%s  int64_t at%d[MG_MAX_RANK];\n%s  const mg_attr A%d = ", in, d1, in, d1);
  mgi_cu_attr_text(s, &o->attr);
  mgi_cu_str_put(s, ";\n%s  const mg_shape S%d[] = {", in, d1);
  for (int k = 0; k < o->n_in; k++) {
    mgi_cu_str_put(s, k ? ", " : "");
    mgi_cu_shape_text(K, s, o->in[k].id);
  }
  mgi_cu_str_put(s, "};\n%s  const int from%d = mg_dev_index_%s(&A%d, S%d, to%d, at%d);\n", in, d1, mgi_cu_rows[o->code].id, d1, d1, d1, d1);
  for (int k = 0; k < o->n_in; k++) {
    int fr = b->tensors[o->in[k].id].shape.rank;
    char rr[40], cc[40];
    snprintf(rr, sizeof rr, "r%d", d1);
    snprintf(cc, sizeof cc, "c%d", d1);
    mgi_cu_str_put(s, "%s  if (from%d == %d) {\n%s    [[maybe_unused]] const int r%d = ", in, d1, k, in, d1);
    if (fr > 1) mgi_cu_str_put(s, "(int)at%d[%d]", d1, mgi_cu_rows_in(K, o->in[k].id));
    else mgi_cu_str_put(s, "0");
    mgi_cu_str_put(s, ", c%d = (int)at%d[%d];\n", d1, d1, fr - 1);
    mgi_cu_moved_from(K, s, d1, t, o->in[k].id, rr, cc, NULL);
    mgi_cu_str_put(s, "%s    return v%d_%s;\n%s  }\n", in, d1, mgi_cu_tname(b, o->in[k].id), in);
  }
  mgi_cu_str_put(s, "%s  return mg_zero();\n%s}();\n", in, in);
}

/* Writes the statements that compute t's element, unless they are there already; the value is v<depth>_<name>. */
MGI_FN void mgi_cu_value(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t) {
  const mg_graph *b = K->b;
  const mgi_cu_val_info *v = &K->v[t];
  const mg_op_node *o = mgi_cu_producer(K, t);
  const mg_op_info *row = mg_op_row(o->code);
  char in[100], leaf[2200] = "", next[120];
  size_t indent = strlen(K->pad) + 2 + 2 * (size_t)(x->depth + (x->runs != NULL));
  if (x->done[t] || K->em->st != MG_OK) return;
  x->done[t] = 1;
  if (indent > sizeof in - 1) indent = sizeof in - 1;
  memset(in, ' ', indent);
  in[indent] = 0;
  const char *r = v->rows == 1 ? "0" : x->r, *c = v->cols == 1 ? "0" : x->c, *name = mgi_cu_tname(b, t);
  int depth = x->depth, one = (x->down ? v->rows : v->cols) == 1; /* one: both have the same value */
  if (v->home == MGI_CU_AT_FRAGMENT && x->fragments && v->rows == x->rows && v->cols == x->cols) {
    mgi_cu_str_put(s, "%sconst mg_num v%d_%s = %s.at(i);\n", in, depth, name, v->var);
    return;
  }
  if (o->code == MG_OP_LOAD && !v->var[0]) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "the schedule reads '%.60s' before it is loaded", name);
  if (v->copy && v->copy_obj < 0) { /* of a strip's row, in registers */
    mgi_cu_str_put(s, "%sconst mg_num v%d_%s = m_%s.at(i);\n", in, depth, name, name);
    return;
  }
  if (v->copy) snprintf(leaf, sizeof leaf, "m_%s", name);
  else if (t == K->mask) snprintf(leaf, sizeof leaf, "mask");
  else if (mgi_cu_made(K, o)) mgi_cu_made_text(K, o, leaf, sizeof leaf);
  else if (v->home != MGI_CU_AT_INLINE) snprintf(leaf, sizeof leaf, "%s", v->var);
  for (int k = 0; k < 8 && K->bare[k]; k++)
    if (K->bare[k] == t) {
      mgi_cu_value(K, s, x, o->in[0].id);
      mgi_cu_str_put(s, "%sconst mg_num v%d_%s = v%d_%s;\n", in, depth, name, depth, mgi_cu_tname(b, o->in[0].id));
      return;
    }
  if (x->runs && mgi_cu_across(K, t) && x->turned != v->trans) {
    const char *tag = x->tag[0] ? x->tag : "_";
    mgi_cu_str_put(x->runs, "%s  const auto u%s%s = %s.template lines<%d>(%s, %s, n);\n", K->pad, tag, name, leaf, x->run, x->first, x->turned ? c : r);
    mgi_cu_str_put(s, "%sconst mg_num v%d_%s = u%s%s.at(i);\n", in, depth, name, tag, name);
    return;
  }
  if (x->runs && !x->turned && mgi_cu_in_runs(K, t)) {
    const char *tag = x->tag[0] ? x->tag : "_";
    mgi_cu_str_put(x->runs, "%s  const auto u%s%s = %s.template run<%d>(%s, %s, n);\n", K->pad, tag, name, leaf, x->run, r, x->first);
    mgi_cu_str_put(s, "%sconst mg_num v%d_%s = u%s%s.at(i);\n", in, depth, name, tag, name);
    return;
  }
  if (leaf[0]) {
    if (x->width == 2 && !one && (v->copy || (v->home == MGI_CU_AT_TILE && !(v->weighted && x->down)))) {
      mgi_cu_str_put(s, x->down ? "%smg_num v%d_%s, w%d_%s;\n%smg_transposed(%s).pair(%s, %s, v%d_%s, w%d_%s);\n" : "%smg_num v%d_%s, w%d_%s;\n%s%s.pair(%s, %s, v%d_%s, w%d_%s);\n", in, depth, name,
                     depth, name, in, leaf, x->down ? c : r, x->down ? r : c, depth, name, depth, name);
      return;
    }
    mgi_cu_str_put(s, "%sconst %s v%d_%s = %s.at(%s, %s);\n", in, t == K->mask ? "auto" : "mg_num", depth, name, leaf, r, c);
    if (x->width == 2 && !one) mgi_cu_str_put(s, "%sconst mg_num w%d_%s = %s.at(%s%s, %s%s);\n", in, depth, name, leaf, r, x->down ? " + 1" : "", c, x->down ? "" : " + 1");
  } else if (!mgi_cu_pointwise(K, o) && row->moves) {
    const int part = x->runs && !x->turned ? mgi_cu_abreast(K, t) : 0; /* runs go along columns */
    if (part && part % x->run == 0) {
      mgi_cu_abreast_value(K, s, x, t, in);
      return;
    }
    mgi_cu_moved(K, s, x, t, in, 'v', r, c);
    const char *first = x->down ? r : c;
    snprintf(next, sizeof next, "(%s + 1 < %d ? %s + 1 : %s)", first, x->down ? v->rows : v->cols, first, first);
    if (x->width == 2 && !one) mgi_cu_moved(K, s, x, t, in, 'w', x->down ? next : r, x->down ? c : next);
  } else {
    /* An elementwise row; or an accumulator over axes of one block, a statistic over an extent of 1, or a move of such: no change. */
    for (int k = 0; k < o->n_in; k++) mgi_cu_value(K, s, x, o->in[k].id);
    for (int w = 0; w < (one ? 1 : x->width); w++) {
      char arg[3][200];
      for (int k = 0; k < 3; k++) {
        if (k < o->n_in) snprintf(arg[k], sizeof arg[k], "%c%d_%.160s", w ? 'w' : 'v', depth, mgi_cu_tname(b, o->in[k].id));
        else snprintf(arg[k], sizeof arg[k], "mg_zero()");
      }
      if (row->attr == MG_ATTR_RAT) snprintf(arg[2], sizeof arg[2], "mg_const(%lld, %lld)", (long long)o->attr.c.num, (long long)o->attr.c.den);
      const int times = o->code == MG_OP_DIV && K->v[o->in[1].id].inverse;
      if (row->elementwise) mgi_cu_str_put(s, "%sconst mg_num %c%d_%s = mg_dev_%s(%s, %s, %s);\n", in, w ? 'w' : 'v', depth, name, times ? "MUL" : mgi_cu_rows[o->code].id, arg[0], arg[1], arg[2]);
      else mgi_cu_str_put(s, "%sconst mg_num %c%d_%s = %s;\n", in, w ? 'w' : 'v', depth, name, arg[0]);
    }
  }
  if (x->width == 2 && one) mgi_cu_str_put(s, "%s[[maybe_unused]] const mg_num w%d_%s = v%d_%s;\n", in, depth, name, depth, name);
}
/* The lambda that gives t's elements, without the last line's end: (r, c, i) gives one; of width 2,
   (r, c, first, second) gives those of columns c and c + 1; of width -2, (c, r, first, second) those of rows r and r + 1; of width 0, (r, c, i) gives
   one's inverse.  With `of`, its only leaf, of width 1 or 0: (the leaf's value). */
MGI_FN void mgi_cu_lambda_of(mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, int fragments, int width, uint32_t of) {
  uint8_t *done = (uint8_t *)calloc(K->b->n_tensors, 1);
  const char *name = mgi_cu_tname(K->b, t);
  mgi_cu_context x = {done, "r", "c", fragments, K->v[t].rows, K->v[t].cols, 0, width < 0 ? -width : width ? width : 1, width < 0, 0, NULL, NULL, NULL, 0};
  if (!done) {
    mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
    return;
  }
  if (of) {
    done[of] = 1;
    mgi_cu_str_put(s, "[](mg_num v0_%s) {\n", mgi_cu_tname(K->b, of));
  } else if (width == 2) mgi_cu_str_put(s, "[&](int r, int c, mg_num &first, mg_num &second) {\n");
  else if (width == -2) mgi_cu_str_put(s, "[&](int c, int r, mg_num &first, mg_num &second) {\n");
  else mgi_cu_str_put(s, "[&](int r, int c, int i) {\n");
  const mg_op_node *o = mgi_cu_producer(K, t);
  const int root = !width && o->code == MG_OP_SQRT && K->v[t].home == MGI_CU_AT_INLINE && !K->v[t].copy;
  if (root) name = mgi_cu_tname(K->b, o->in[0].id);
  mgi_cu_value(K, s, &x, root ? o->in[0].id : t);
  if (width == 2 || width == -2) mgi_cu_str_put(s, "%s  first = v0_%s;\n%s  second = w0_%s;\n%s}", K->pad, name, K->pad, name, K->pad);
  else mgi_cu_str_put(s, width ? "%s  return v0_%s;\n%s}" : root ? "%s  return mg_inverse_root(v0_%s);\n%s}" : "%s  return mg_inverse(v0_%s);\n%s}", K->pad, name, K->pad);
  free(done);
}

MGI_FN void mgi_cu_lambda(mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, int fragments, int width) { mgi_cu_lambda_of(K, s, t, fragments, width, 0); }

/* 1 if x is as wide as t, or as the parts of a concat that is. */
MGI_FN int mgi_cu_in_part(const mgi_cu_kernel *K, uint32_t x, uint32_t t) {
  if (K->v[x].cols == K->v[t].cols) return 1;
  for (uint32_t c = 1; c < K->b->n_tensors && K->v[x].cols < K->v[t].cols; c++)
    if (K->v[c].cols > K->v[x].cols && mgi_cu_abreast(K, c) == K->v[x].cols && mgi_cu_in_part(K, c, t)) return 1;
  return 0;
}
/* How many neighbours of a row of t are read at once, of device memory or across tiles: 16 bytes of the narrowest type; 0: none is, or
   what lies in shared memory is read beside as it lies. */
MGI_FN int mgi_cu_run_of(const mgi_cu_kernel *K, uint32_t t) {
  int run = 0;
  if (!mg_flat_read_in_stores(&K->flat)) return 0;
  for (uint32_t x = 1; x < K->b->n_tensors; x++) {
    if (!mgi_cu_across(K, x) && (!mgi_cu_in_runs(K, x) || !mgi_cu_in_part(K, x, t))) continue;
    const int of = 16 / mg_dtype_bytes(mgi_cu_load_type(K, K->b->tensors[x].op));
    if (of > run) run = of;
  }
  while (run > K->v[t].cols) run /= 2;
  return run > 1 ? run : 0;
}
/* The lambda of mg_each_run that gives t's elements; 0: nothing of it is read in runs. */
MGI_FN int mgi_cu_lambda_of_runs(mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, int run) {
  mgi_cu_str runs = {NULL, 0, 0, 0}, one = {NULL, 0, 0, 0};
  uint8_t *done = (uint8_t *)calloc(K->b->n_tensors, 1);
  mgi_cu_context x = {done, "r", "c", 0, K->v[t].rows, K->v[t].cols, 0, 1, 0, run, &runs, "c", "", 0};
  if (!done) mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
  else mgi_cu_value(K, &one, &x, t);
  if (runs.n) {
    mgi_cu_str_put(s, "[&](int r, int c, int n) {\n%s%s  return [=](int r, int c, int i) {\n%s", mgi_cu_str_text(&runs), K->pad, mgi_cu_str_text(&one));
    mgi_cu_str_put(s, "%s    return v0_%s;\n%s  };\n%s}", K->pad, mgi_cu_tname(K->b, t), K->pad, K->pad);
  }
  free(done), free(runs.s), free(one.s);
  return s->n > 0;
}

/* Evaluates t at every valid element, into `sink`. */
MGI_FN void mgi_cu_site(mgi_cu_kernel *K, uint32_t t, uint32_t acc, const char *sink) {
  mgi_cu_str f = {NULL, 0, 0, 0};
  char rv[800], cv[800];
  const mgi_cu_val_info *v = &K->v[t];
  mgi_cu_valid_text(K, t, 0, rv, sizeof rv);
  mgi_cu_valid_text(K, t, 1, cv, sizeof cv);
  const int by_units = !acc && !(K->owners && K->behind), run = by_units ? mgi_cu_run_of(K, t) : 0;
  if (run && mgi_cu_lambda_of_runs(K, &f, t, run)) {
    mgi_cu_line(K, "mg_each_run<%d, %d, %d, %d>(%s, %s, %s, %s);", v->rows, v->cols, K->threads, run, rv, cv, mgi_cu_str_text(&f), sink);
    free(f.s);
    return;
  }
  mgi_cu_lambda(K, &f, t, acc != 0, 1);
  if (K->owners && K->behind) mgi_cu_line(K, "mg_each_owned<owners, %d>(%s, %s, %s, %s);", K->threads, rv, cv, mgi_cu_str_text(&f), sink);
  else if (acc) mgi_cu_line(K, "mg_each_fragment<A_%s>(%s, %s, %s, %s);", K->v[acc].var + 4, rv, cv, mgi_cu_str_text(&f), sink);
  else mgi_cu_line(K, "mg_each_unit<%d, %d, %d>(%s, %s, %s, %s);", v->rows, v->cols, K->threads, rv, cv, mgi_cu_str_text(&f), sink);
  free(f.s);
}

MGI_FN mg_kernel_plan mgi_cu_plan(const mgi_cu_kernel *K);
/* The piece of shared memory that t's tile, of such a pitch, stands in: that of the load that t is all that is made of, if both lie
   alike; else one of its own. */
MGI_FN int mgi_cu_tile_piece(mgi_cu_kernel *K, uint32_t t, mg_dtype type, int pitch) {
  const mgi_cu_val_info *v = &K->v[t];
  const int bytes = mg_dtype_bytes(type);
  const mg_kernel_plan p = mgi_cu_plan(K);
  const int over = v->home == MGI_CU_AT_INLINE ? mg_flat_over(&K->flat, &p, mgi_cu_place(K, t)) : -1;
  const uint32_t load = mgi_cu_at_place(K, over + 1);
  const mgi_cu_val_info *l = &K->v[load];
  const int tile = over >= 0 && l->home == MGI_CU_AT_TILE && l->type == type;
  const int alike = tile && K->way[load] == MG_IN_PADDED && l->pitch == pitch * bytes;
  return alike ? l->obj : mgi_cu_piece_new(K, mg_copy_bytes(v->rows, v->cols, bytes), "m_%s", mgi_cu_tname(K->b, t));
}
/* Gives t a tile of its own, of `type`, zero outside of its valid elements. */
MGI_FN void mgi_cu_materialise(mgi_cu_kernel *K, uint32_t t, mg_dtype type) {
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  int rows = (int)mg_round_up(v->rows, 16), cols = (int)mg_round_up(v->cols, 16), bytes = mg_dtype_bytes(type), pitch = mg_pitch(cols, bytes);
  char sink[200], rv[800], cv[800];
  if (K->em->st != MG_OK) return;
  if (K->writing && K->b->tensors[t].scope == K->loop && K->n_want < MGI_CU_WANTS) {
    const mgi_cu_entry want = {K->writing, t, K->loop, type};
    K->want[K->n_want++] = want;
  }
  const int home_fragment = v->home == MGI_CU_AT_FRAGMENT;
  uint32_t acc = home_fragment ? t : mgi_cu_prepare(K, t, 1);
  if (home_fragment) mgi_cu_begin(K);
  const int obj = mgi_cu_tile_piece(K, t, type, pitch);
  mgi_cu_str_put(&K->decl, "  const mg_tile<%s, %d, %d, %d, false> m_%s(mg_shared() + %s);\n", mg_type_row(type)->device,
                 rows, cols, pitch, name,
                 K->place[obj]);
  mgi_cu_touch(K, obj, 1);
  mgi_cu_line(K, "// %s, into a tile", name);
  if (rows != v->rows || cols != v->cols || mgi_cu_is_ragged(K, t, 0) || mgi_cu_is_ragged(K, t, 1))
    mgi_cu_line(K, "mg_zero_outside<mg_tile<%s, %d, %d, %d, false>, %d>(m_%s, %s, %s);", mg_type_row(type)->device, rows, cols, pitch, K->threads, name, mgi_cu_valid_text(K, t, 0, rv, sizeof rv),
             mgi_cu_valid_text(K, t, 1, cv, sizeof cv));
  snprintf(sink, sizeof sink, "mg_into(m_%s, 0, 0)", name);
  mgi_cu_site(K, t, acc, sink);
  v->copy = 1;
  v->copy_obj = obj;
  v->copy_type = type;
}

/* -------------------------------------------------------------------------------------------------- >>steps */

/* The operator as a line of the µGraph. */
MGI_FN void mgi_cu_quote(mgi_cu_kernel *K, const mg_op_node *o) {
  const mg_graph *b = K->b;
  mgi_cu_str s = {NULL, 0, 0, 0};
  const char *name = mgi_cu_op_name(b, o);
  int named = 0;
  if (o->n_out) mgi_cu_str_put(&s, "%s = ", mgi_cu_tname(b, o->out[0].id));
  if (o->code == MG_OP_LOAD) mgi_cu_str_put(&s, "load %s", K->em->g->tensors[mgi_cu_above(K, o->in[0])].name);
  else if (o->code == MG_OP_STORE) mgi_cu_str_put(&s, "store %s", mgi_cu_tname(b, o->in[0].id));
  else {
    mgi_cu_str_put(&s, "%s(", name);
    for (int k = 0; k < o->n_in; k++) mgi_cu_str_put(&s, "%s%s", k ? ", " : "", mgi_cu_tname(b, o->in[k].id));
    if (o->code < MG_OP_TABLE_END && mg_op_row(o->code)->attr == MG_ATTR_DIM) mgi_cu_str_put(&s, ", dim=%d", o->attr.dim);
    mgi_cu_str_put(&s, ")");
  }
  if (o->code >= MG_OP_TABLE_END) {
    for (uint32_t a = 1; a < b->n_axes; a++) {
      int to = o->map.to[a];
      if (to == MG_MAP_NONE && b->axes[a].extent == 1) continue;
      if (to == MG_MAP_NONE && (a > 3 || o->code == MG_OP_ACCUM)) continue;
      mgi_cu_str_put(&s, "%s%s->", named ? ", " : " {", b->axes[a].name);
      named = 1;
      if (to >= 0) mgi_cu_str_put(&s, "%d", to);
      else mgi_cu_str_put(&s, "%s", to == MG_MAP_SUM ? "+" : to == MG_MAP_MAX ? "max" : "*");
    }
    if (named) mgi_cu_str_put(&s, "}");
  }
  mgi_cu_line(K, "// %s", mgi_cu_str_text(&s));
  free(s.s);
}

/* ---- loads */

/* The plan that the facts are asked about. */
MGI_FN mg_kernel_plan mgi_cu_plan(const mgi_cu_kernel *K) {
  mg_kernel_plan p;
  memset(&p, 0, sizeof p);
  p.warps_m = K->wm;
  p.warps_n = K->wn;
  p.warps_k = K->wk;
  p.group = K->by_group;
  p.copies = K->tensor_copies;
  p.late = K->trails != 0;
  p.stages = K->stages;
  return p;
}

/* 1 if the tile of a load is contiguous along its rows' dimension, as the tensor is. */
MGI_FN int mgi_cu_load_trans(const mgi_cu_kernel *K, uint32_t op) { return K->flat.op[op - 1].down; }
MGI_FN mg_tile_form mgi_cu_tile_of(const mgi_cu_kernel *K, uint32_t op) {
  const mg_kernel_plan p = mgi_cu_plan(K);
  return mg_flat_tile(&K->flat, &p, &K->rings, (int)op - 1);
}
/* Adds the tile of a load to a program, filled `trips` times; `copies` of it are alive together. */
MGI_FN void mgi_cu_layout_add(mgi_cu_layout *L, const mg_tile_form *T, uint8_t banned, int64_t trips, int64_t copies) {
  for (int w = 0; w < MG_IN_COUNT; w++) {
    const int64_t cost = mg_tile_cost(T, w) * (trips < 1 << 24 ? trips : 1 << 24), most = (int64_t)1 << 56;
    L->cost[L->n][w] = cost < most ? cost : most;
    L->bytes[L->n][w] = mg_round_up(mg_tile_bytes(T, w), 128) * copies;
  }
  L->alive[L->n] = 0;
  L->banned[L->n++] = banned;
}
/* Every load's way where all fits: without the plan (K->free), and as it is. */
MGI_FN void mgi_cu_layouts_analyse(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  const mg_kernel_plan p = mgi_cu_plan(K);
  for (uint32_t op = 1; op < b->n_ops && K->em->st == MG_OK; op++) {
    if (!mgi_cu_brings(K, &b->ops[op])) continue;
    const uint32_t t = b->ops[op].out[0].id;
    const int way = mg_flat_way(&K->flat, &p, &K->chains, &K->rings, (int)op - 1);
    if (way < 0) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "the tile of '%.60s' may lie in no way", mgi_cu_tname(b, t));
    K->way[t] = K->free[t] = (uint8_t)way;
  }
  for (uint32_t op = 1; op < b->n_ops && K->em->st == MG_OK; op++) {
    if (b->ops[op].code != MG_OP_LOAD) continue;
    const uint32_t t = b->ops[op].out[0].id;
    const char *name = mgi_cu_tname(b, t);
    const int way = mg_plan_says(b, MG_PLAN_IN, name);
    if (way < 0) continue;
    const char *why = mg_flat_ban_why(&K->flat, &p, &K->chains, &K->rings, (int)op - 1, way);
    if (mgi_cu_made(K, &b->ops[op])) mgi_cu_refuse(K, MG_PLAN_IN, name, way, "it is computed where it is read");
    else if (why) mgi_cu_refuse(K, MG_PLAN_IN, name, way, "%s", why);
    K->way[t] = (uint8_t)way;
  }
}
MGI_FN void mgi_cu_copies_open(mgi_cu_kernel *K, uint32_t loop, mgi_cu_ring *ring);
/* Notes and declares the tile of a load; its bytes. */
MGI_FN int64_t mgi_cu_load_tile_shape(mgi_cu_kernel *K, uint32_t op) {
  const uint32_t t = K->b->ops[op].out[0].id;
  const mg_tile_form T = mgi_cu_tile_of(K, op);
  const int way = K->way[t], bytes = mg_tile_pitch(&T, way);
  mgi_cu_val_info *v = &K->v[t];
  v->type = mgi_cu_load_type(K, op);
  v->trans = mgi_cu_load_trans(K, op);
  v->pitch = bytes;
  mgi_cu_str_put(&K->decl, "  typedef mg_tile<%s, %d, %d, %d, %s%s> T_%s;\n", mg_type_row(v->type)->device, T.rows, T.cols,
                 way == MG_IN_PANELS ? 0 : bytes / T.esize, v->trans ? "true" : "false",
                 way == MG_IN_SWIZZLED ? ", true" : way == MG_IN_TURNED ? ", false, true" : "", mgi_cu_tname(K->b, t));
  return mg_tile_bytes(&T, way);
}
/* ---- residency
   Where a value lives follows from what makes it, but for the values that a row of this table takes.  The rows are looked at in
   the order of the stages that they belong to; mgi_cu_rule_<id> says whether tensor t may live so.  The plan's key NAME.at=<word> keeps tensor NAME from all rows but that one. */
MGI_FN int mgi_cu_rule_PLAIN(const mgi_cu_kernel *K, uint32_t t) { (void)K; return t != 0; }
MGI_FN int mgi_cu_rule_STRIP(const mgi_cu_kernel *K, uint32_t t) {
  return K->strip && mgi_cu_producer(K, t)->code == MG_OP_LOAD && K->v[t].rows == K->v[K->strip].rows && K->v[t].cols == K->v[K->strip].cols;
}
MGI_FN int mgi_cu_rule_SETTLE(const mgi_cu_kernel *K, uint32_t t);
/* Measured: without a loop to hide it, what goes through a tile waits for a barrier more (rope: 1.90 us, 1.56 without). */
MGI_FN int mgi_cu_rule_DIRECT(const mgi_cu_kernel *K, uint32_t t) { return K->flat.op[mgi_cu_place(K, t)].direct; }
MGI_FN int mgi_cu_rule_ONCE(const mgi_cu_kernel *K, uint32_t t) {
  const mg_kernel_plan p = mgi_cu_plan(K);
  return K->v[t].home == MGI_CU_AT_INLINE && !K->v[t].copy && mg_flat_once(&K->flat, &p, mgi_cu_place(K, t));
}
MGI_FN int mgi_cu_rule_VECTOR(const mgi_cu_kernel *K, uint32_t t);
MGI_FN int mgi_cu_rule_KEPT(const mgi_cu_kernel *K, uint32_t t) {
  const mgi_cu_val_info *v = &K->v[t];
  return v->home == MGI_CU_AT_INLINE && !v->copy && K->beside[mgi_cu_place(K, t)];
}
static int (*const mgi_cu_rules[])(const mgi_cu_kernel *K, uint32_t t) = {
#define MGI_W(P, id, word, what) P##id,
  MG_AT_WORDS(MGI_W, mgi_cu_rule_)
#undef MGI_W
};
/* What the rule says of t, 0 where the plan has t live otherwise. */
MGI_FN int mgi_cu_may_live(const mgi_cu_kernel *K, uint32_t t, int rule) {
  return mg_flat_lets(&K->flat.op[mgi_cu_place(K, t)], rule) ? mgi_cu_rules[rule](K, t) : 0;
}
MGI_FN int mgi_cu_lives(mgi_cu_kernel *K, uint32_t t, int rule) {
  const int may = mgi_cu_may_live(K, t, rule);
  if (may) K->rule[t] = (uint8_t)rule;
  return may;
}
/* Every NAME.at of the plan is obeyed. */
MGI_FN void mgi_cu_rules_obeyed(mgi_cu_kernel *K) {
  for (uint32_t t = 1; t < K->b->n_tensors; t++) {
    const char *name = mgi_cu_tname(K->b, t);
    const int said = mg_plan_says(K->b, MG_PLAN_AT, name);
    if (said < 0 || said == K->rule[t]) continue;
    mgi_cu_refuse(K, MG_PLAN_AT, name, said, "it can only be %s", mg_plan_word(MG_PLAN_AT, K->rule[t]));
  }
}

/* Before whatever reads what earlier kernels made, or writes what they read. */
MGI_FN void mgi_cu_wait(mgi_cu_kernel *K) {
  if (K->dependent && !K->waited) mgi_cu_line(K, "mg_grid_wait();");
  if (K->dependent && !K->waited && K->lets_next) mgi_cu_line(K, "mg_grid_next();");
  K->waited = 1;
}
/* ---- NAME.store=split */
/* Text: how many elements tensor t has. */
MGI_FN const char *mgi_cu_elements_text(const mgi_cu_emit *em, uint32_t t, char *out, size_t n) {
  char dim[200];
  size_t at = (size_t)snprintf(out, n, "(int64_t)");
  for (int d = 0; d < em->g->tensors[t].shape.rank; d++) at += (size_t)snprintf(out + at, at < n ? n - at : 0, "%s%s", d ? " * " : "", mgi_cu_dim_text(em, t, d, dim, sizeof dim));
  return out;
}
/* 1 if operator `op` is a LOAD of a split tensor. */
MGI_FN int mgi_cu_split_load(const mgi_cu_kernel *K, uint32_t op) { return K->b->ops[op].code == MG_OP_LOAD && mg_split(K->em->g, mgi_cu_handle(mgi_cu_above(K, K->b->ops[op].in[0]))); }
/* Which axis of its maker's grid cuts dimension d of tensor t, and into how large chunks; 0: none, -1: several. */
MGI_FN int mgi_cu_power_axis(const mg_graph *g, uint32_t t, int d, int64_t *chunk) {
  const mg_op_node *made = &g->ops[g->tensors[t].op];
  int index = 0, axis = 0;
  for (uint32_t k = 1; k < made->sub->n_ops; k++)
    if (made->sub->ops[k].code == MG_OP_STORE && made->out[index++].id == t)
      for (int a = 1; a <= 3; a++)
        if (made->sub->ops[k].map.to[a] == d && made->sub->axes[a].extent > 1) axis = axis ? -1 : a, *chunk = mg_ceil_div(g->tensors[t].shape.dim[d], made->sub->axes[a].extent);
  return axis;
}
/* Text: how many blocks kernel `op` has along axis a of its grid. */
MGI_FN const char *mgi_cu_count_text(const mgi_cu_emit *em, uint32_t op, int a, char *out, size_t n) {
  snprintf(out, n, "%.150s_K%d_%.100s", em->g->name, mg_ops_before(em->g, op, MG_OP_GRAPH), em->g->ops[op].sub->axes[a].name);
  return out;
}
/* By axis of its maker's grid, the dimension that it cuts, or -1. */
MGI_FN void mgi_cu_power_dims(const mg_graph *g, uint32_t t, int dim[4]) {
  int64_t chunk;
  dim[0] = dim[1] = dim[2] = dim[3] = -1;
  for (int d = 0; d < g->tensors[t].shape.rank; d++) {
    const int a = mgi_cu_power_axis(g, t, d, &chunk);
    if (a > 0) dim[a] = d;
  }
}
/* Why t, which is to be split, cannot be stored so, or loaded so by kernel K; "" if it can. */
MGI_FN const char *mgi_cu_split_why(const mgi_cu_kernel *K, uint32_t t, int loaded) {
  const mg_graph *g = K->em->g, *b = K->b;
  const int rank = g->tensors[t].shape.rank;
  int64_t chunk = 8;
  for (int d = 0; d < rank; d++) {
    const int a = mgi_cu_power_axis(g, t, d, &chunk);
    if (a < 0) return "several axes cut one of its dimensions";
    if (a && d == rank - 1 && chunk % 8) return "its blocks have no whole eights of columns";
  }
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    int uses = 0, product = 0;
    if (!loaded && o->code == MG_OP_STORE && o->scope) return "it is stored in a loop";
    if (!loaded || o->code != MG_OP_LOAD || mgi_cu_above(K, o->in[0]) != t) continue;
    const mgi_cu_val_info *v = &K->v[o->out[0].id];
    for (uint32_t j = 1; j < b->n_ops; j++)
      for (int i = 0; i < b->ops[j].n_in && b->ops[j].code != MG_OP_LOAD; i++) {
        if (b->ops[j].in[i].id != o->out[0].id) continue;
        const mgi_cu_val_info *to = &K->v[b->ops[j].out[0].id];
        uses++, product = b->ops[j].code == MG_OP_MATMUL && b->ops[j].scope == o->scope && !to->chain && !to->kept && !to->split && !to->into && !mg_wide_product(b, j);
      }
    if (uses != 1 || !product) return "it is not the operand of one product alone, loaded where that is";
    if (!o->scope) return "it is not loaded in a loop";
    if (v->cols % 8) return "its tile has no whole eights of columns";
    if (rank == MG_MAX_RANK) return "it has too many dimensions"; /* a map of both halves has one more */
    if (K->parts[o->scope]) return "its ring is of warps that are chained, or of warpgroups";
  }
  return "";
}
/* Text of a kernel's pointer to the powers of tensor t. */
MGI_FN void mgi_cu_power_place(const mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, const char *qualifier) {
  mgi_cu_str_put(s, "(%suint32_t *)((%sunsigned char *)p_%s + %s_POWERS_%s)", qualifier, qualifier, K->em->g->tensors[t].name, K->em->g->name, K->em->g->tensors[t].name);
}
/* The powers of all that LOAD `op` reads in the block, if its tensor is split. */
MGI_FN void mgi_cu_powers_open(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  mgi_cu_str s = {NULL, 0, 0, 0};
  char offset[800], count[300];
  int dim[4];
  if (!mgi_cu_split_load(K, op)) return;
  const uint32_t t = mgi_cu_above(K, o->in[0]);
  mgi_cu_wait(K);
  mgi_cu_power_dims(K->em->g, t, dim);
  mgi_cu_power_place(K, &s, t, "const ");
  for (int a = 1; a <= 3; a++) {
    int64_t chunk = 1;
    if (dim[a] < 0) {
      mgi_cu_str_put(&s, ", {0, 1, 1, 1}");
      continue;
    }
    mgi_cu_power_axis(K->em->g, t, dim[a], &chunk);
    mgi_cu_count_text(K->em, K->em->g->tensors[t].op, a, count, sizeof count);
    const int64_t mine = mgi_cu_chunk(K, &o->map, t, dim[a], 3, offset, sizeof offset, NULL, NULL);
    if (offset[0]) mgi_cu_str_put(&s, ", {%s, %lld, %lld, %s}", offset, (long long)mine, (long long)chunk, count);
    else mgi_cu_str_put(&s, ", {0, %s * (int64_t)%lld, %lld, %s}", count, (long long)chunk, (long long)chunk, count);
  }
  mgi_cu_line(K, "const mg_powers powers_%s(%s);", mgi_cu_tname(K->b, o->out[0].id), mgi_cu_str_text(&s));
  free(s.s);
}
/* What a LOAD has brought of a split tensor, at one power. */
MGI_FN void mgi_cu_powers_level(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  if (!mgi_cu_split_load(K, op)) return;
  const uint32_t t = mgi_cu_above(K, o->in[0]);
  const mgi_cu_val_info *v = &K->v[o->out[0].id];
  const char *name = mgi_cu_tname(K->b, o->out[0].id);
  const int own = mgi_cu_own_ring(K, o->scope), rank = K->em->g->tensors[t].shape.rank, rows = mgi_cu_rows_in(K, o->out[0].id);
  mgi_cu_str at = {NULL, 0, 0, 0}, stride = {NULL, 0, 0, 0};
  char offset[800], count[300];
  int dim[4];
  mgi_cu_power_dims(K->em->g, t, dim);
  for (int a = 1; a <= 3; a++) {
    int64_t chunk = 1;
    if (dim[a] < 0) continue;
    mgi_cu_power_axis(K->em->g, t, dim[a], &chunk);
    mgi_cu_count_text(K->em, K->em->g->tensors[t].op, a, count, sizeof count);
    mgi_cu_chunk(K, &o->map, t, dim[a], MG_MAX_AXES, offset, sizeof offset, NULL, NULL);
    const int part = dim[a] == rows ? v->own[0] : dim[a] == rank - 1 ? v->own[1] : 0;
    mgi_cu_str_put(&at, "%smg_chunk_of(%s%s", at.n ? " + " : "", offset[0] ? offset : "0", dim[a] == rows ? " + r" : dim[a] == rank - 1 ? " + c" : "");
    if (part) mgi_cu_str_put(&at, " + mg_warp() * %d", part);
    mgi_cu_str_put(&at, ", %lld, %s)%s%s", (long long)chunk, count, stride.n ? " * " : "", mgi_cu_str_text(&stride));
    mgi_cu_str_put(&stride, "%s%s", stride.n ? " * " : "", count);
  }
  mgi_cu_line(K, "if (powers_%s.mixed) {", name);
  mgi_cu_line(K, "  const auto of_%s = [&](int r, int c) { return %s; };", name, at.n ? mgi_cu_str_text(&at) : "0");
  for (int low = 0; low < 2; low++) mgi_cu_line(K, "  mg_one_power<%d>(%s_%s, powers_%s, %s, of_%s);", own ? 32 : K->threads, low ? "low" : "t", name, name, own ? "mg_lane()" : "mg_tid()", name);
  if (K->by_group || K->copies[o->scope]) mgi_cu_line(K, "  mg_group_publish();"); /* before warpgroups read it, or a tensor copy is written over it */
  if (own) mgi_cu_line(K, "  mg_sync_warp();");
  else {
    mgi_cu_str_put(&K->body, "%s  ", K->pad);
    mgi_cu_barrier_write(K, &K->body, K->body.n);
  }
  mgi_cu_line(K, "}");
  free(at.s);
  free(stride.s);
}

/* 1 if no two blocks, and no two iterations, read the same element of what is loaded, one matrix: weights.  What has one for every head
   or sample is made by the step before, and is not read ahead (an H200 is slower then, too: a decode step of 16 heads
   under PDL, cold L2, 14.7 us for 11.2). */
MGI_FN int mgi_cu_streams(const mg_graph *b, const mg_op_node *o, const mg_shape *of) {
  for (int d = 0; d < of->rank - 2; d++)
    if (of->dim[d] != 1) return 0;
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > 1 && o->map.to[a] < 0) return 0;
  for (uint32_t a = o->scope; a; a = b->axes[a].parent)
    if (b->axes[a].extent > 1 && o->map.to[a] < 0) return 0;
  return 1;
}
/* The kernel behind this one, in a stream of calls, may begin after this one's wait: it streams weights, worth its blocks'
   beginning while this one runs, or this one has no loop, product or merge: what works row by row, and ends soon.  Others
   begin when this one's blocks end: blocks that only wait take the room of those that work. */
MGI_FN int mgi_cu_next_may(const mg_graph *g, uint32_t op) {
  uint32_t behind = op;
  do behind = behind + 1 < g->n_ops ? behind + 1 : 1;
  while (behind != op && mg_renames(g, behind));
  const mg_op_node *me = &g->ops[op], *next = &g->ops[behind];
  int streams = 0, rows = 1;
  for (uint32_t k = 1; k < me->sub->n_ops; k++) rows &= !me->sub->ops[k].scope && me->sub->ops[k].code != MG_OP_ACCUM && me->sub->ops[k].code != MG_OP_MATMUL && me->sub->ops[k].code != MG_OP_CONCAT_MATMUL;
  for (uint32_t k = 1; next->sub && k < next->sub->n_ops; k++) {
    const mg_op_node *o = &next->sub->ops[k];
    const mg_tensor_info *of = &g->tensors[o->in[0].id];
    streams |= o->code == MG_OP_LOAD && o->scope && !of->op && !of->fill && mgi_cu_streams(next->sub, o, &of->shape);
  }
  return streams || rows;
}
/* The input of the program that a LOAD in a loop streams, and that a dependent launch so reads ahead; -1 if it does not. */
MGI_FN int mgi_cu_ahead(const mgi_cu_kernel *K, const mg_op_node *o) {
  uint32_t t = mgi_cu_above(K, o->in[0]);
  for (uint32_t k = 0; k < K->em->g->n_in && k < 32; k++)
    if (K->em->g->in[k].id == t) return K->dependent && !K->waited && o->scope && mgi_cu_streams(K->b, o, &K->em->g->tensors[t].shape) ? (int)k : -1;
  return -1;
}
/* 1 if nothing reads what operator k loads: then it does not. */
MGI_FN int mgi_cu_unread(const mgi_cu_kernel *K, uint32_t k) {
  const mg_graph *b = K->b;
  for (uint32_t j = k + 1; j < b->n_ops; j++)
    for (int i = 0; i < b->ops[j].n_in && b->ops[j].code != MG_OP_LOAD; i++)
      if (b->ops[j].in[i].id == b->ops[k].out[0].id) return 0;
  return 1;
}
/* The statement that fills the tile `to`; low: with what a split tensor has behind its first half. */
MGI_FN void mgi_cu_load_call(mgi_cu_kernel *K, uint32_t op, const char *to, const char *when, int low) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t above = mgi_cu_above(K, o->in[0]), lies = mgi_cu_lies(K->em, above), t = o->out[0].id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  const mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  const char *unit = mgi_cu_unit(K, o->scope);
  int rank = up->shape.rank, rd = mgi_cu_rows_in(K, t), cd = rank - 1, e = 16 / mg_dtype_bytes(up->dtype);
  int in_d = v->trans ? rd : cd, out_d = v->trans ? cd : rd;
  mgi_cu_str base = {NULL, 0, 0, 0}, vec = {NULL, 0, 0, 0};
  char offset[800], stride[1400], dim[200];
  mgi_cu_size extent[2] = {mgi_cu_number(1), mgi_cu_number(1)}, valid;
  int vector = mgi_cu_stride_is_one(K->em, above, in_d);
  mgi_cu_first_text(K->em, &base, above);
  if (low) mgi_cu_str_put(&base, " + %s", mgi_cu_elements_text(K->em, above, stride, sizeof stride));
  for (int d = 0; d < rank; d++) {
    int64_t align;
    mgi_cu_chunk(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, &valid, &align);
    if (offset[0]) {
      mgi_cu_moves_by(K->em, &base, above, d, offset);
      if (d == in_d && align % e) vector = 0;
    }
    int own = d == rd ? v->own[0] + v->part[0] : d == cd ? v->own[1] + v->part[1] : 0; /* the one or the other */
    mgi_cu_own(own, unit, &valid);
    if (own) {
      const mgi_cu_size by = mgi_cu_stride(K->em, above, d);
      mgi_cu_str_put(&base, " + %s * (int64_t)%d", unit, own);
      if (!mgi_cu_is_one(&by)) mgi_cu_str_put(&base, " * (%s)", by.text);
    }
    if (d == rd) extent[0] = valid;
    if (d == cd) extent[1] = valid;
  }
  /* Rows are aligned if what lies inside of every other dimension is a multiple of 16 bytes: the contiguous extent. */
  if (vector) {
    int others = low;
    for (int d = 0; d < rank; d++) others |= d != in_d && K->em->g->tensors[lies].shape.dim[d] != 1;
    if (others && mgi_cu_is_symbol(K->em, lies, in_d)) mgi_cu_str_put(&vec, "false");
    else if (others) mgi_cu_str_put(&vec, "%s %% %d == 0", mgi_cu_dim_text(K->em, lies, in_d, dim, sizeof dim), e);
    else mgi_cu_str_put(&vec, "true");
  } else mgi_cu_str_put(&vec, "false");
  char so[1400] = "0", si[1400];
  if (out_d >= 0) mgi_cu_stride_text(K->em, above, out_d, so, sizeof so);
  mgi_cu_stride_text(K->em, above, in_d, si, sizeof si);
  mgi_cu_quote(K, o);
  char size[2][100]; /* of the tile, rows and columns of its memory */
  for (int w = 0; w < 2; w++) {
    const int part = v->part[w ^ v->trans];
    if (part) snprintf(size[w], sizeof size[w], "%d", part);
    else snprintf(size[w], sizeof size[w], "T_%.80s::%s", name, w ^ v->trans ? "COLS" : "ROWS");
  }
  mgi_cu_line(K, "%smg_load_tile<T_%s, %s, %s, (%s), %d%s>(%s, %s, %s, %s, %s, %s);", when, name, size[0], size[1], mgi_cu_str_text(&vec), mgi_cu_own_ring(K, o->scope) ? 32 : K->parts[o->scope] ? 32 * K->parts[o->scope] : K->threads,
              K->parts[o->scope] == MGI_CU_GROUP ? ", true" : "", to, mgi_cu_str_text(&base), so, si, extent[v->trans ? 1 : 0].text, extent[v->trans ? 0 : 1].text);
  free(base.s);
  free(vec.s);
}
/* The greatest run of at most `most` elements that every multiple of `align` is a multiple of. */
MGI_FN int mgi_cu_run_at(int most, int64_t align) {
  while (align % most) most /= 2;
  return most;
}
/* How many neighbours, of rows of the kernel-level tensor `above` that begin at multiples of `most`, are aligned to their size. */
MGI_FN const char *mgi_cu_aligned_text(const mgi_cu_emit *em, uint32_t above, int most, char *out, size_t n) {
  const int last = em->g->tensors[above].shape.rank - 1;
  char dim[200];
  const char *wide = last < 1 ? "0" : mgi_cu_is_symbol(em, above, last) ? "1" : mgi_cu_dim_text(em, above, last, dim, sizeof dim);
  snprintf(out, n, "mg_run(%d, %s)", most, wide);
  return out;
}
MGI_FN void mgi_cu_weigh(mgi_cu_kernel *K, uint32_t op);
MGI_FN void mgi_cu_reweigh(mgi_cu_kernel *K, uint32_t op);
MGI_FN void mgi_cu_load_step(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t above = mgi_cu_above(K, o->in[0]), t = o->out[0].id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  char to[200];
  mgi_cu_wait(K);
  if (mgi_cu_lives(K, t, MG_AT_STRIP)) {
    int rank = up->shape.rank;
    char offset[800], stride[1400];
    mgi_cu_str base = {NULL, 0, 0, 0};
    mgi_cu_first_text(K->em, &base, above);
    for (int d = 0; d < rank; d++) {
      mgi_cu_chunk(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, NULL, NULL);
      if (offset[0]) mgi_cu_moves_by(K->em, &base, above, d, offset);
    }
    v->home = MGI_CU_AT_FRAGMENT;
    snprintf(v->var, sizeof v->var, "acc_%.70s", name);
    mgi_cu_str_put(&K->decl, "  typedef mg_strip<%s, %d, %d, %d> A_%s;\n  A_%s acc_%s;\n", mg_type_row(up->dtype)->device, v->rows, v->cols, K->threads, name, name, name);
    mgi_cu_quote(K, o);
    mgi_cu_line(K, "acc_%s.load(%s, %s);", name, mgi_cu_str_text(&base), rank > 1 ? mgi_cu_stride_text(K->em, above, mgi_cu_rows_in(K, t), stride, sizeof stride) : "0");
    free(base.s);
    return;
  }
  if (mgi_cu_lives(K, t, MG_AT_DIRECT)) { /* one reader, elementwise: straight from global memory */
    int rank = up->shape.rank, most = mgi_cu_stride_is_one(K->em, above, rank - 1) ? 8 : 1;
    char offset[800], stride[1400], run[240];
    mgi_cu_str base = {NULL, 0, 0, 0};
    mgi_cu_first_text(K->em, &base, above);
    for (int d = 0; d < rank; d++) {
      int64_t align;
      mgi_cu_chunk(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, NULL, &align);
      if (!offset[0]) continue;
      mgi_cu_moves_by(K->em, &base, above, d, offset);
      if (d == rank - 1) most = mgi_cu_run_at(most, align);
    }
    mgi_cu_quote(K, o);
    mgi_cu_aligned_text(K->em, mgi_cu_lies(K->em, above), most, run, sizeof run);
    mgi_cu_line(K, "const mg_global<%s, %s> g_%s(%s, %s,", mg_type_row(up->dtype)->device, run, name, mgi_cu_str_text(&base), rank > 1 ? mgi_cu_stride_text(K->em, above, mgi_cu_rows_in(K, t), stride, sizeof stride) : "0");
    mgi_cu_line(K, "    %s);", mgi_cu_stride_text(K->em, above, rank - 1, stride, sizeof stride));
    free(base.s);
    v->home = MGI_CU_AT_GLOBAL;
    snprintf(v->var, sizeof v->var, "g_%.70s", name);
    mgi_cu_weigh(K, op);
    mgi_cu_reweigh(K, op);
    return;
  }
  int64_t bytes = mgi_cu_load_tile_shape(K, op);
  mgi_cu_begin(K);
  v->obj = mgi_cu_piece_new(K, bytes, "t_%s", name);
  v->home = MGI_CU_AT_TILE;
  snprintf(v->var, sizeof v->var, "t_%.70s", name);
  mgi_cu_str_put(&K->decl, "  const T_%s t_%s(mg_shared() + %s);\n", name, name, K->place[v->obj]);
  mgi_cu_touch(K, v->obj, 1);
  snprintf(to, sizeof to, "t_%.150s", name);
  mgi_cu_load_call(K, op, to, "", 0);
  mgi_cu_line(K, "mg_cp_async_commit();");
  mgi_cu_note(K, MG_STEP_ASK, v->obj, 0);
  mgi_cu_weigh(K, op);
  mgi_cu_reweigh(K, op);
}
/* Loads outside of loops go out ahead, in their order: those up to the first loop where the block begins, those that stand
   behind a loop once its ring has been filled (`loop`; 0: the block's begin). */
MGI_FN void mgi_cu_load_ahead(mgi_cu_kernel *K, uint32_t loop) {
  uint32_t k = 1, last = 0;
  const int before = K->mem.n_steps;
  for (uint32_t j = 1; j < K->b->n_ops && loop; j++) {
    uint32_t a = K->b->ops[j].scope;
    while (a && a != loop) a = K->b->axes[a].parent;
    if (a) last = j;
  }
  for (k = last + 1; k < K->b->n_ops && K->ahead && K->em->st == MG_OK; k++) {
    const mg_op_node *o = &K->b->ops[k];
    if (o->scope) break;
    if (o->code == MG_OP_LOAD && !K->late[k] && !mgi_cu_unread(K, k) && !K->v[o->out[0].id].var[0]) mgi_cu_load_step(K, k);
  }
  if (loop) mgi_cu_note(K, MG_STEP_OLDER, -1, before);
}

/* ---- matmul */
/* The type of a product's accumulator. */
MGI_FN const char *mgi_cu_acc_type(const mgi_cu_kernel *K, int rows, int cols, int chain, char *out, size_t n) {
  snprintf(out, n, "mg_acc<%d, %d, %d, %d, %d%s%s>", rows, cols, K->wm, chain ? 1 : K->wn, chain ? K->wn : K->wk, chain ? ", true" : K->by_group ? ", false" : "", K->by_group ? ", true" : "");
  return out;
}
/* The LOAD whose tile, as it is or transposed, matmul operand t is; 0 if t has to be computed. */
MGI_FN uint32_t mgi_cu_plain_load(const mgi_cu_kernel *K, uint32_t t, int *swapped) {
  return (uint32_t)mg_flat_tile_read(&K->flat, mgi_cu_place(K, t), swapped) + 1;
}
/* In a ring of warps: the LOADs that left operand t is, times a row, element by element, if *row is not 0.  0 if t is not that. */
MGI_FN uint32_t mgi_cu_scaled_load(const mgi_cu_kernel *K, uint32_t t, int *swapped, uint32_t *row) {
  const mg_op_node *o = mgi_cu_producer(K, t);
  int by;
  const uint32_t load = mgi_cu_plain_load(K, t, swapped);
  *row = 0;
  if (load || K->v[t].copy || mg_flat_scaled(&K->flat, &K->rings, mgi_cu_place(K, t), &by) < 0) return load;
  *row = (uint32_t)by + 1;
  return mgi_cu_plain_load(K, o->in[o->in[0].id == K->b->ops[*row].out[0].id].id, swapped);
}
/* In a ring of warps: 1 if the product t, of at most 8 rows, is computed as that of its operands exchanged (mg_acc_turned). */
MGI_FN int mgi_cu_turned(const mgi_cu_kernel *K, uint32_t t) {
  const mg_op_node *o = mgi_cu_producer(K, t);
  if (K->v[t].kept || !mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL) || !mgi_cu_own_ring(K, o->scope) || !K->v[t].in_place || K->v[t].chain || K->v[t].rows > 8 || K->v[t].cols < 16) return 0;
  for (int k = 0; k < o->n_in; k++) {
    int swapped;
    uint32_t row = 0;
    if (!(k < o->n_in / 2 ? mgi_cu_scaled_load(K, o->in[k].id, &swapped, &row) : mgi_cu_plain_load(K, o->in[k].id, &swapped))) return 0;
  }
  return 1;
}
/* Why operator k is no product that warpgroups make; "" if they do. */
MGI_FN const char *mgi_cu_group_why(const mgi_cu_kernel *K, uint32_t k) {
  const mg_kernel_plan p = mgi_cu_plan(K);
  return mg_flat_group_why(&K->flat, &p, &K->chains, (int)k - 1);
}
/* 1 if that product is under way while the next step of its loop begins. */
MGI_FN int mgi_cu_flies(const mgi_cu_kernel *K, uint32_t k) {
  const mg_kernel_plan p = mgi_cu_plan(K);
  return mg_flat_flies(&K->flat, &p, &K->chains, (int)k - 1);
}
/* The plan asks for what the machine lacks. */
MGI_FN void mgi_cu_lacks(mgi_cu_kernel *K, mg_plan_key key, int value, mg_capability what) {
  const mg_machine *m = &K->em->machine;
  char have[MG_MACHINE_LIST];
  mg_machine_list(what, have);
  mgi_cu_refuse(K, key, NULL, value, "%s (%s) has no %s; these have: %s", m->arch, m->name, mg_capability_name(what), have);
}
/* The plan's mma=warpgroup: obeyed, or refused with the reason. */
MGI_FN void mgi_cu_group_analyse(mgi_cu_kernel *K) {
  const int mma = mg_plan_says(K->b, MG_PLAN_MMA, NULL);
  const char *why = "there is no product";
  const int apart = mg_plan_says(K->b, MG_PLAN_COPY, NULL) == MG_COPY_WARP, room = mg_group_room(&K->em->machine, K->threads, apart), some = K->em->st == MG_OK;
  int taken = 0;
  if (!some || mma != MG_MMA_WARPGROUP) return;
  if (!mg_machine_can(&K->em->machine, MG_CAN_WARPGROUP)) mgi_cu_lacks(K, MG_PLAN_MMA, mma, MG_CAN_WARPGROUP);
  else if (K->wk != 1 || K->wm % 4) mgi_cu_refuse(K, MG_PLAN_MMA, NULL, mma, "want warps_k=1 and warps_m a multiple of 4, not %d and %d", K->wk, K->wm);
  for (uint32_t k = 1; k < K->b->n_ops && K->em->st == MG_OK; k++) {
    const mg_op_node *o = &K->b->ops[k];
    if (!mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) continue;
    const mgi_cu_val_info *v = &K->v[o->out[0].id];
    if (v->rows != 16 * K->wm) mgi_cu_refuse(K, MG_PLAN_MMA, NULL, mma, "'%.60s' has %d rows a block, %d warps want %d", mgi_cu_tname(K->b, o->out[0].id), v->rows, K->wm, 16 * K->wm);
    const char *no = mgi_cu_group_why(K, k);
    if (*no) why = no;
    else taken++;
  }
  if (K->em->st == MG_OK && !taken) mgi_cu_refuse(K, MG_PLAN_MMA, NULL, mma, "no product is one for them: %s", why);
  const int stages = mg_plan_says(K->b, MG_PLAN_STAGES, NULL);
  mg_kernel_plan p = mgi_cu_plan(K);
  p.group = 1;
  p.copies = mg_plan_says(K->b, MG_PLAN_COPY, NULL) >= MG_COPY_TMA;
  p.late = mg_plan_says(K->b, MG_PLAN_CHAIN, NULL) == MG_CHAIN_LATE;
  p.stages = stages < 0 ? MG_STAGES : stages;
  const int registers = mg_flat_group_registers(&K->flat, &p, &K->chains);
  if (K->em->st == MG_OK && registers > room)
    mgi_cu_refuse(K, MG_PLAN_MMA, NULL, mma, "products take %d registers a thread, %d threads leave %d: use smaller tiles", registers, K->threads, room);
  if (apart) K->dealt = mg_group_takes(&K->em->machine, K->threads, registers);
  if (K->em->st != MG_OK) return;
  K->by_group = 1;
}
/* Text of a matmul operand.  `contracted`: its valid extent along the contraction. */
MGI_FN void mgi_cu_operand(mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, int left, mg_dtype type, const char *contracted) {
  int swapped;
  mgi_cu_val_info *v = &K->v[t];
  uint32_t load = mgi_cu_plain_load(K, t, &swapped);
  const char *side = left ? "left" : "right";
  const int by_tensor_cores = mg_tensor_shape(type) != NULL;
  if (by_tensor_cores && load && K->v[K->b->ops[load].out[0].id].home == MGI_CU_AT_TILE && K->v[K->b->ops[load].out[0].id].type == type) {
    const mgi_cu_val_info *l = &K->v[K->b->ops[load].out[0].id];
    if (l->obj >= 0) mgi_cu_touch(K, l->obj, 0);
    mgi_cu_str_put(s, swapped ? "mg_%s(mg_transposed(%s))" : "mg_%s(%s)", side, l->var);
    return;
  }
  if (left && mgi_cu_own_ring(K, K->b->tensors[t].scope) && by_tensor_cores) {
    uint32_t row;
    load = mgi_cu_scaled_load(K, t, &swapped, &row);
    if (load && row) {
      mgi_cu_str_put(s, swapped ? "mg_left_times(mg_left(mg_transposed(%s)), %s)" : "mg_left_times(mg_left(%s), %s)", K->v[K->b->ops[load].out[0].id].var, K->v[K->b->ops[row].out[0].id].var);
      return;
    }
  }
  if (v->copy && v->copy_type == type && by_tensor_cores) {
    mgi_cu_touch(K, v->copy_obj, 0);
    mgi_cu_str_put(s, "mg_%s(m_%s)", side, mgi_cu_tname(K->b, t));
    return;
  }
  mgi_cu_prepare_leaves(K, t, 0, 1);
  if (!by_tensor_cores) mgi_cu_lambda(K, s, t, 0, 1);
  else {
    int full = !mgi_cu_is_ragged(K, t, left) && (left ? v->cols : v->rows) % 16 == 0; /* no step of 16 passes the end */
    mgi_cu_str_put(s, "mg_%s_of<%s, %d, %s>(%s, ", side, mg_type_row(type)->device, left ? v->rows : v->cols, full ? "true" : "false", contracted);
    mgi_cu_lambda(K, s, t, 0, left ? 2 : 1);
    mgi_cu_str_put(s, ")");
  }
}
/* ---- products that stay in fragments: settled elementwise values, chained products, running maxima
   An elementwise function p of a product that only row sums and left operands read takes over the product's fragments:

       s = matmul(q, k)      acc_s                     warps_m x warps_n
       p = exp(scale(s))     acc_s, in place           and, with a running maximum, exp(. - m) by row
       l = sum(p, dim=1)     red_l: parts of lanes     times exp(m before - m now) wherever m was raised
       d = matmul(p, v)      acc_d: left fragments     warps_m x 1 x warps_n: each warp its own columns of p

   A product that a matmul takes as it is settles in itself.

   The maximum is put in where its factor cancels in all that is stored: div(d, l).  Each warp runs one of its own; the
   warps of a row agree before their parts are joined, the blocks of a group weight theirs (mg_merge_weighted).

   Between kernels: a tensor that only kernels read may be stored under the maximum, if its factor cancels in all that each of
   these stores (mgi_cu_degrees).  d and l are linear in exp(. - m), and so is what is made of them by the same rules.
   The blocks along one grid axis, the parts, have maxima of their own; their d and l lie side by side along the columns:

       kernel 0, grid z      store d {z->1}  store l {z->1}      and m, by row and part, to a buffer in the workspace
       kernel 1              weights: exp(m - max of the row's m), by row and part; what it loads of d and l is times these
         for i               accum(load d {i->1})  accum(load l {i->1}), and the quotient, are as if all parts had had one maximum

   No axis may number parts: then all of a row has one maximum, no buffer is needed, and nothing is weighted. */
MGI_FN void mgi_cu_agree(mgi_cu_kernel *K) {
  const mgi_cu_val_info *p = &K->v[K->shift];
  const char *name = mgi_cu_tname(K->b, K->shift);
  if (K->agreed) return;
  K->agreed = 1;
  if (K->wn == 1) return;
  mgi_cu_meet_all(K, name);
  mgi_cu_begin(K);
  const int obj = mgi_cu_piece_new(K, (int64_t)K->wn * p->rows * 4, "x_%s", name);
  mgi_cu_str_put(&K->decl, "  const mg_tile<mg_f32, %d, %d, %d, false> x_%s(mg_shared() + %s);\n", K->wn, p->rows,
                 p->rows, name,
                 K->place[obj]);
  mgi_cu_touch(K, obj, 1);
  mgi_cu_line(K, "shift_%s.agree(x_%s);", name, name);
  mgi_cu_note(K, MG_STEP_SYNCED, obj, 0);
  for (uint32_t t = 1; t < K->b->n_tensors; t++)
    if (K->v[t].chain == K->shift && K->v[t].in_place) mgi_cu_line(K, "%s_%s.scale_rows(shift_%s.factor);", mgi_cu_producer(K, t)->code == MG_OP_SUM ? "red" : "acc", mgi_cu_tname(K->b, t), name);
}
MGI_FN void mgi_cu_shift_declare(mgi_cu_kernel *K) {
  const mgi_cu_val_info *p = &K->v[K->shift];
  if (K->shift_declared) return;
  K->shift_declared = 1;
  K->agreed = 0;
  char type[100];
  mgi_cu_str_put(&K->decl, "  mg_row_shift<%s> shift_%s;\n", mgi_cu_acc_type(K, p->rows, p->cols, 0, type, sizeof type), mgi_cu_tname(K->b, K->shift));
  mgi_cu_line(K, "shift_%s.init();", mgi_cu_tname(K->b, K->shift));
}
/* The product of the positive constants that an exponential's argument t has as factors: by it the maximum is multiplied, and
   each element on its way to a power of 2.  They are left out of t's expression then (K->bare). */
MGI_FN mg_rational mgi_cu_bare(mgi_cu_kernel *K, uint32_t t) {
  mg_rational by = {1, 1};
  int n = 0;
  for (const int rows = K->v[t].rows, cols = K->v[t].cols; n < 7;) {
    const mg_op_node *o = mgi_cu_producer(K, t);
    if (mg_flat_only_reader(&K->flat, mgi_cu_place(K, t)) < 0 || K->v[t].home != MGI_CU_AT_INLINE || K->v[t].copy || K->v[t].rows != rows || K->v[t].cols != cols) break;
    if (o->code == MG_OP_SCALE) {
      mg_rational both;
      if (o->attr.c.num <= 0 || !mg_rat_mul(by, o->attr.c, &both)) break;
      by = both;
      K->bare[n++] = t;
    } else if (!mgi_cu_is_op(o, MG_OP_MUL, MG_OP_DIV)) break;
    t = o->in[0].id;
  }
  K->bare[n] = 0;
  return by;
}
/* Whether tensor x stands there, or is it. */
MGI_FN int mgi_cu_look_tensor(const mg_flat *k, int i, void *what) {
  const mgi_cu_wanted *w = (const mgi_cu_wanted *)what;
  if (mgi_cu_at_place(w->K, i + 1) == w->x) return 1;
  return mgi_cu_by_elements(k, i, mgi_cu_home_of(w, i)) ? -1 : 0;
}
/* What follows computes values of t.  Where a causal mask of a loop's chunk stands in them, it is written once and compiled
   twice: most chunks have nothing hidden. */
MGI_FN void mgi_cu_mask_open(mgi_cu_kernel *K, uint32_t t) {
  for (uint32_t k = 1; k < K->b->n_ops && !K->mask; k++) {
    const mg_op_node *o = &K->b->ops[k];
    if (!o->scope || o->code != MG_OP_LOAD || !mgi_cu_made(K, o)) continue;
    if (mgi_cu_finds(K, t, mgi_cu_look_tensor, o->out[0].id)) K->mask = o->out[0].id;
  }
  if (!K->mask) return;
  char made[2200];
  mgi_cu_made_text(K, mgi_cu_producer(K, K->mask), made, sizeof made);
  mgi_cu_line(K, "%s.with<%d>([&](const auto &mask) {", made, K->v[K->mask].cols);
  mgi_cu_indent(K, 1);
}
MGI_FN void mgi_cu_mask_close(mgi_cu_kernel *K) {
  if (!K->mask) return;
  mgi_cu_indent(K, -1);
  mgi_cu_line(K, "});");
  K->mask = 0;
}
/* Replaces the product's fragments by t's elements. */
MGI_FN void mgi_cu_settle_step(mgi_cu_kernel *K, uint32_t t) {
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t), *acc = K->v[v->settles].var;
  const mg_op_node *o = mgi_cu_producer(K, t);
  char cv[800];
  mgi_cu_str f = {NULL, 0, 0, 0};
  mgi_cu_prepare(K, t, 1);
  mgi_cu_valid_text(K, t, 1, cv, sizeof cv);
  mgi_cu_line(K, "// %s, in place of %s", name, mgi_cu_tname(K->b, v->settles));
  if (K->shift == t) {
    int in_loop = 0;
    for (uint32_t k = 1; k < K->b->n_tensors; k++) in_loop |= K->v[k].chain == t && K->v[k].in_place;
    if (!in_loop) { /* else where the loop begins */
      K->shift_declared = 0;
      mgi_cu_shift_declare(K);
    }
    const mg_rational by = mgi_cu_bare(K, o->in[0].id);
    mgi_cu_mask_open(K, o->in[0].id);
    mgi_cu_lambda(K, &f, o->in[0].id, 1, 1);
    if (K->bare[0]) mgi_cu_line(K, "shift_%s.raise(%s, %s, %s, mg_const(%lld, %lld));", name, acc, cv, mgi_cu_str_text(&f), (long long)by.num, (long long)by.den);
    else mgi_cu_line(K, "shift_%s.raise(%s, %s, %s);", name, acc, cv, mgi_cu_str_text(&f));
    mgi_cu_mask_close(K);
    K->bare[0] = 0;
    for (uint32_t k = 1; k < K->b->n_tensors; k++)
      if (K->v[k].chain == t && K->v[k].in_place && K->b->tensors[k].op != K->trails)
        mgi_cu_line(K, "%s_%s.scale_rows(shift_%s.factor);", mgi_cu_producer(K, k)->code == MG_OP_SUM ? "red" : "acc", mgi_cu_tname(K->b, k), name);
    if (!in_loop) {
      K->agreed = 0;
      mgi_cu_agree(K);
      if (K->wn > 1) mgi_cu_line(K, "%s.scale_rows(shift_%s.factor);", acc, name);
    }
  } else {
    mgi_cu_lambda(K, &f, t, 1, 1);
    mgi_cu_line(K, "mg_replace(%s, %s, %s);", acc, cv, mgi_cu_str_text(&f));
  }
  free(f.s);
  v->home = MGI_CU_AT_FRAGMENT;
  memcpy(v->var, K->v[v->settles].var, sizeof v->var);
}
MGI_FN int mgi_cu_rule_SETTLE(const mgi_cu_kernel *K, uint32_t t) { return K->chains.over[mgi_cu_place(K, t)]; }
/* ---- shifts between kernels */

/* How maxima come to the kernel, stay in it and leave it. */
MGI_FN void mgi_cu_degrees(mgi_cu_kernel *K) {
  const mg_graph *b = K->b, *g = K->em->g;
  const mg_sends *sends = &K->em->sends;
  mg_passes x;
  mg_sends_in(g, b, &K->em->machine, K->number < 0 ? NULL : sends, &K->flat, &K->chains, &x);
  if (!x.takes) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "it cannot take what '%.60s' holds under a maximum", g->tensors[sends->of[x.sender].as].name);
  K->sender = x.sender;
  K->flat.receives = x.sender != 0;
  K->shift = mgi_cu_at_place(K, x.maxima.of);
  memset(K->undo, 0, b->n_ops);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    K->undo[k] = x.maxima.undo[k - 1];
    if (b->ops[k].code != MG_OP_LOAD || !x.weighted || !sends->by[b->ops[k].in[0].id]) continue;
    K->v[b->ops[k].out[0].id].weighted = 1;
    K->flat.op[k - 1].weighted = 1;
  }
  for (uint32_t t = 1; t < b->n_tensors; t++) K->v[t].shifted = x.maxima.degree[mgi_cu_place(K, t)] == 1;
  if (!K->lent || K->shift == K->lent) return;
  mg_flat_unlend(&K->chains); /* it is no one's then */
  K->v[K->lent].settles = 0;
  K->rule[K->lent] = MG_AT_PLAIN;
  for (uint32_t t = 1; t < b->n_tensors; t++)
    if (K->v[t].chain == K->lent) K->v[t].chain = 0;
}
/* Reads what settles and which products are chained, and finds whether a running maximum cancels.  After the warps are known. */
MGI_FN void mgi_cu_chain_analyse(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  const mg_kernel_plan p = mgi_cu_plan(K);
  mg_flat_chains(&K->flat, &p, &K->chains);
  K->lent = mgi_cu_at_place(K, K->chains.lent);
  for (uint32_t t = 1; t < b->n_tensors; t++) {
    const int place = mgi_cu_place(K, t);
    K->v[t].settles = mgi_cu_at_place(K, K->chains.over[place]);
    K->v[t].chain = mgi_cu_at_place(K, K->chains.from[place]);
    if (K->v[t].settles) K->rule[t] = MG_AT_SETTLE;
  }
  mgi_cu_degrees(K);
  memset(K->sooner, 0, b->n_ops * sizeof *K->sooner);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    if (b->ops[k].code != MG_OP_STORE) continue;
    const uint32_t x = b->ops[k].in[0].id;
    for (uint32_t t = 1; t < b->n_tensors; t++) {
      if (!K->v[t].settles || x == t || !mgi_cu_finds(K, t, mgi_cu_look_tensor, x)) continue;
      const int product = mg_flat_product_of(&K->flat, &K->chains, mgi_cu_place(K, x), mgi_cu_place(K, t));
      if (product + 1 == K->chains.over[mgi_cu_place(K, t)]) K->sooner[k] = b->tensors[t].op;
    }
  }
}

/* Text of how many parts a row has. */
MGI_FN const char *mgi_cu_parts_text(const mgi_cu_emit *em, uint32_t sender, char *out, size_t n) {
  return mgi_cu_count_text(em, sender, em->sends.of[sender].part, out, n);
}
/* Text behind the buffer's name: where the shifts of the block's rows begin that its LOAD or STORE `o` of tensor `above` has. */
MGI_FN void mgi_cu_shift_place(const mgi_cu_kernel *K, mgi_cu_str *s, const mg_op_node *o, uint32_t above, uint32_t sender) {
  const mgi_cu_emit *em = K->em;
  const uint32_t as = em->sends.of[sender].as;
  const int rank = em->g->tensors[as].shape.rank;
  char offset[800], parts[400], dim[200];
  mgi_cu_parts_text(em, sender, parts, sizeof parts);
  for (int d = 0; d < rank - 1; d++) {
    mgi_cu_chunk(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, NULL, NULL);
    if (!offset[0]) continue;
    mgi_cu_str_put(s, " + (%s) * ((int64_t)%s", offset, parts);
    for (int e = d + 1; e < rank - 1; e++)
      if (em->g->tensors[as].shape.dim[e] != 1) mgi_cu_str_put(s, " * %s", mgi_cu_dim_text(em, as, e, dim, sizeof dim));
    mgi_cu_str_put(s, ")");
  }
}
/* With the first store of a value under the maximum: the maximum, by row, for the kernels that read it. */
MGI_FN void mgi_cu_send(mgi_cu_kernel *K, const mg_op_node *o, uint32_t above) {
  const mg_graph *b = K->b;
  const mgi_cu_emit *em = K->em;
  const uint32_t me = em->sends.by ? em->sends.by[above] : 0;
  mgi_cu_str to = {NULL, 0, 0, 0}, cond = {NULL, 0, 0, 0};
  char rows[800], parts[400];
  if (!me || !K->v[o->in[0].id].shifted) return;
  mgi_cu_agree(K);
  if (K->sends || !em->sends.of[me].read) return;
  K->sends = 1;
  mgi_cu_wait(K);
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > 1 && a != em->sends.of[me].part && (o->map.to[a] < 0 || o->map.to[a] == em->g->tensors[above].shape.rank - 1)) mgi_cu_str_put(&cond, "%sb_%s == 0", cond.n ? " && " : "", b->axes[a].name);
  mgi_cu_shift_place(K, &to, o, above, me);
  mgi_cu_line(K, "// the rows' maxima, for the kernels that read what is stored under them");
  mgi_cu_line(K, "%s%s%sshift_%s.put(mg_to_global<mg_f32, 1>(made_shifts%s + b_%s, %s, 1), %s);", cond.n ? "if (" : "", mgi_cu_str_text(&cond), cond.n ? ") " : "", mgi_cu_tname(b, K->shift), mgi_cu_str_text(&to),
              b->axes[em->sends.of[me].part].name, mgi_cu_parts_text(em, me, parts, sizeof parts), mgi_cu_valid_text(K, o->in[0].id, 0, rows, sizeof rows));
  free(to.s);
  free(cond.s);
}
/* The weights of the sender's parts, for the rows of LOAD `op`, before what it loads is read. */
MGI_FN void mgi_cu_weigh(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  const mgi_cu_val_info *v = &K->v[o->out[0].id];
  const mgi_cu_emit *em = K->em;
  mgi_cu_str from = {NULL, 0, 0, 0};
  char rows[800], parts[400];
  if (!v->weighted || K->weights_obj >= 0) return;
  mgi_cu_wait(K);
  mgi_cu_begin(K);
  K->weights_obj = mgi_cu_piece_new(K, v->rows * em->g->ops[K->sender].sub->axes[em->sends.of[K->sender].part].extent * 4,
                                    "w_shifts");
  mgi_cu_parts_text(em, K->sender, parts, sizeof parts);
  mgi_cu_str_put(&K->decl, "  typedef mg_tile<mg_f32, %d, %s, %s, false> W_shifts;\n", v->rows, parts, parts);
  mgi_cu_str_put(&K->decl, "  const W_shifts w_shifts(mg_shared() + %s);\n", K->place[K->weights_obj]);
  mgi_cu_touch(K, K->weights_obj, 1);
  mgi_cu_shift_place(K, &from, o, mgi_cu_above(K, o->in[0]), K->sender);
  mgi_cu_line(K, "// what is to be undone of each part's maximum");
  mgi_cu_line(K, "mg_shift_weights<%d>(w_shifts, read_shifts%s, %s);", K->threads, mgi_cu_str_text(&from), mgi_cu_valid_text(K, o->out[0].id, 0, rows, sizeof rows));
  free(from.s);
}
/* What a load has brought under several maxima is read times the weights from here on. */
MGI_FN void mgi_cu_reweigh(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  mgi_cu_val_info *v = &K->v[o->out[0].id];
  char offset[800], parts[400], var[sizeof v->var];
  int64_t inner;
  int split;
  if (!v->weighted) return;
  const uint32_t above = mgi_cu_above(K, o->in[0]);
  const int one = mg_sends_one_part(K->em->g, K->b, o, &K->em->sends, &inner, &split);
  mgi_cu_chunk(K, &o->map, above, K->em->g->tensors[above].shape.rank - 1, MG_MAX_AXES, offset, sizeof offset, NULL, NULL);
  snprintf(var, sizeof var, "%s", v->var);
  snprintf(v->var, sizeof v->var, "h_%.70s", mgi_cu_tname(K->b, o->out[0].id));
  mgi_cu_parts_text(K->em, K->sender, parts, sizeof parts);
  if (one) mgi_cu_line(K, "const mg_reweighted<decltype(%s), W_shifts, 0> %s(%s, w_shifts, (%s) / %lld%s%s);", var, v->var, var, offset, (long long)inner, split ? " % " : "", split ? parts : "");
  else mgi_cu_line(K, "const mg_reweighted<decltype(%s), W_shifts, %lld> %s(%s, w_shifts, %s);", var, (long long)inner, v->var, var, offset[0] ? offset : "0");
}

/* 1 if running powers of two of its rows keep the operand of tensor t, a wide product, in f16 (mg_steady). */
MGI_FN int mgi_cu_steady(const mgi_cu_kernel *K, uint32_t t) {
  return mg_flat_steady(&K->flat, &K->chains, &K->rings, mgi_cu_place(K, t)) && !K->v[mgi_cu_producer(K, t)->in[0].id].copy;
}
MGI_FN void mgi_cu_acc_declare(mgi_cu_kernel *K, uint32_t t) {
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  snprintf(v->var, sizeof v->var, "acc_%.70s", name);
  char type[100];
  if (!v->chain && mgi_cu_turned(K, t)) snprintf(type, sizeof type, "mg_acc_turned<%d, %d, %d>", v->rows, v->cols, K->wk);
  else mgi_cu_acc_type(K, v->rows, v->cols, v->chain != 0, type, sizeof type);
  mgi_cu_str_put(&K->decl, "  typedef %s A_%s;\n  A_%s acc_%s;\n", type, name, name, name);
  if (mgi_cu_steady(K, t)) mgi_cu_str_put(&K->decl, "  mg_steady<%s> steady_%s;\n", mgi_cu_turned(K, t) ? "true" : "false", name);
  K->registers += ((int)mg_round_up(v->rows, 16 * K->wm) / (16 * K->wm)) * ((int)mg_round_up(v->cols, 8 * (v->chain ? 1 : K->wn)) / (8 * (v->chain ? 1 : K->wn))) * 4;
  if (K->registers > 224) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "matmul", "accumulators take %d registers a thread, more than 224: use more warps or smaller tiles", K->registers);
}
/* The result's place once acc is complete: `t` is the matmul's output, or the accumulator's that it feeds. */
MGI_FN void mgi_cu_acc_done(mgi_cu_kernel *K, uint32_t matmul, uint32_t t) {
  const char *name = mgi_cu_tname(K->b, matmul);
  mgi_cu_val_info *m = &K->v[matmul], *v = &K->v[t];
  int wk = m->chain ? K->wn : K->wk;
  if (m->shifted) mgi_cu_agree(K);
  if (mgi_cu_steady(K, matmul)) mgi_cu_line(K, "steady_%s.settle(%s%s);", name, m->var, mgi_cu_turned(K, matmul) ? ".turned()" : "");
  for (int j = 0; j < mgi_cu_producer(K, matmul)->n_in; j++) {
    const uint32_t t = mgi_cu_producer(K, matmul)->in[j].id;
    if (mgi_cu_split_load(K, K->b->tensors[t].op)) mgi_cu_line(K, "powers_%s.undo(%s%s);", mgi_cu_tname(K->b, t), m->var, mgi_cu_turned(K, matmul) ? ".turned()" : "");
  }
  if (wk == 1) {
    if (v != m) memcpy(v->var, m->var, sizeof v->var);
    v->home = MGI_CU_AT_FRAGMENT;
    return;
  }
  mgi_cu_begin(K);
  const int obj = mgi_cu_piece_new(K, mg_parts_bytes(m->rows, m->cols, wk), "s_%s", name);
  mgi_cu_str_put(&K->decl, "  const mg_partial<A_%s, %d> s_%s(mg_shared() + %s);\n", name, wk, name, K->place[obj]);
  mgi_cu_touch(K, obj, 1);
  mgi_cu_line(K, "s_%s.spill(%s);", name, m->var);
  v->home = MGI_CU_AT_PARTIAL;
  v->obj = obj;
  snprintf(v->var, sizeof v->var, "s_%.70s", name);
}
MGI_FN void mgi_cu_trails_step(mgi_cu_kernel *K);
MGI_FN void mgi_cu_matmul_step(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  if (op == K->trails) {
    mgi_cu_trails_step(K);
    return;
  }
  uint32_t t = o->out[0].id;
  mgi_cu_val_info *v = &K->v[t];
  int pairs = o->code == MG_OP_MATMUL ? 1 : 2;
  const int group = K->by_group && !*mgi_cu_group_why(K, op), wide = mg_wide_product(K->b, op);
  const char *const over = wide ? "_wide" : "";
  char name[100];
  snprintf(name, sizeof name, "acc_%.70s", mgi_cu_tname(K->b, v->into ? v->into : t));
  if (v->split) {
    const uint32_t b = o->in[1].id;
    const mg_dtype type = K->b->tensors[b].dtype;
    char end[800];
    mgi_cu_str r = {NULL, 0, 0, 0};
    if (!v->into) mgi_cu_acc_declare(K, t);
    mgi_cu_quote(K, o);
    if (!v->into) mgi_cu_line(K, "%s.zero();", name);
    if (mgi_cu_has_acc(K, b)) mgi_cu_materialise(K, b, wide ? MG_F32 : type);
    mgi_cu_valid_text(K, b, 0, end, sizeof end);
    mgi_cu_arrive_for(K, b);
    mgi_cu_begin(K);
    mgi_cu_operand(K, &r, b, 0, type, end);
    mgi_cu_line(K, "mg_contract%s_chain<%s>(%s, %s, %s);", over, mg_type_row(type)->device, name, K->v[v->split].var, mgi_cu_str_text(&r));
    free(r.s);
    if (v->into) mgi_cu_quote(K, mgi_cu_producer(K, v->sum));
    mgi_cu_acc_done(K, v->into ? v->into : t, v->into ? v->sum : t);
    return;
  }
  if (!v->in_place) {
    mgi_cu_acc_declare(K, t);
    mgi_cu_quote(K, o);
    if (!group || v->chain) mgi_cu_line(K, "acc_%s.zero();", mgi_cu_tname(K->b, t));
  }
  const int halves[2] = {o->code == MG_OP_MATMUL && mgi_cu_split_load(K, K->b->tensors[o->in[0].id].op), o->code == MG_OP_MATMUL && mgi_cu_split_load(K, K->b->tensors[o->in[1].id].op)};
  const int splits = halves[0] + halves[1] + (halves[0] && halves[1]); /* products beside that of the first halves: of both operands' halves, every pair */
  for (int k = 0; k < pairs + splits; k++) {
    const int low = k >= pairs, of_low[2] = {low && halves[0] && k != pairs + 1, low && halves[1] && !(halves[0] && k == pairs)}; /* what a split operand has behind its first half */
    uint32_t a = o->in[low ? 0 : k].id, b = o->in[low ? 1 : k + pairs].id;
    const int tensors = mg_flat_by_tensors(&K->flat, mgi_cu_place(K, a), mgi_cu_place(K, b));
    const mg_dtype type = tensors ? K->b->tensors[a].dtype : MG_F32;
    int depth = K->v[a].cols;
    char end[800];
    mgi_cu_str l = {NULL, 0, 0, 0}, r = {NULL, 0, 0, 0};
    if (v->chain) {
      if (mgi_cu_has_acc(K, b)) mgi_cu_materialise(K, b, wide ? MG_F32 : type);
      mgi_cu_valid_text(K, a, 1, end, sizeof end);
      mgi_cu_arrive_for(K, b);
      mgi_cu_begin(K);
      mgi_cu_operand(K, &r, b, 0, type, end);
      if (v->in_place) mgi_cu_quote(K, o);
      mgi_cu_line(K, "mg_%s%s_chain<%s>(%s, %s, %s);", group ? "group" : "contract", over, mg_type_row(type)->device, name, K->v[a].var, mgi_cu_str_text(&r));
      free(r.s);
      continue;
    }
    if (mgi_cu_has_acc(K, a)) mgi_cu_materialise(K, a, wide ? MG_F32 : type);
    if (mgi_cu_has_acc(K, b)) mgi_cu_materialise(K, b, wide ? MG_F32 : type);
    mgi_cu_valid_text(K, a, 1, end, sizeof end);
    mgi_cu_arrive_for(K, a);
    mgi_cu_arrive_for(K, b);
    mgi_cu_begin(K);
    for (int j = 0; j < 2; j++) {
      const uint32_t from = K->b->tensors[j ? b : a].op;
      if (!low && !v->in_place) mgi_cu_powers_open(K, from);
      if (!low) mgi_cu_powers_level(K, from);
      if (splits && mgi_cu_split_load(K, from)) snprintf(K->v[j ? b : a].var, sizeof v->var, "%s_%.70s", of_low[j] ? "low" : "t", mgi_cu_tname(K->b, j ? b : a));
    }
    if (v->in_place && !k) mgi_cu_quote(K, o);
    if (mgi_cu_turned(K, t)) {
      int across, swapped;
      uint32_t row, load = mgi_cu_plain_load(K, b, &across);
      mgi_cu_str_put(&l, across ? "mg_left(%s)" : "mg_left(mg_transposed(%s))", K->v[K->b->ops[load].out[0].id].var);
      load = mgi_cu_scaled_load(K, a, &swapped, &row);
      mgi_cu_str_put(&r, swapped ? "mg_right(%s)" : "mg_right(mg_transposed(%s))", K->v[K->b->ops[load].out[0].id].var);
      if (row && mgi_cu_steady(K, t)) mgi_cu_line(K, "mg_contract_steady_own<%s, %d>(%s.turned(), steady_%s, %s, mg_right_times(%s, %s));", mg_type_row(type)->device, depth, name, mgi_cu_tname(K->b, t), mgi_cu_str_text(&l), mgi_cu_str_text(&r), K->v[K->b->ops[row].out[0].id].var);
      else if (row) mgi_cu_line(K, "mg_contract%s_own<%s, %d>(%s.turned(), %s, mg_right_times(%s, %s));", over, mg_type_row(type)->device, depth, name, mgi_cu_str_text(&l), mgi_cu_str_text(&r), K->v[K->b->ops[row].out[0].id].var);
      else mgi_cu_line(K, "mg_contract%s_own<%s, %d>(%s.turned(), %s, %s);", over, mg_type_row(type)->device, depth, name, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
      free(l.s);
      free(r.s);
      continue;
    }
    mgi_cu_operand(K, &l, a, 1, type, end);
    mgi_cu_operand(K, &r, b, 0, type, end);
    if (!tensors) mgi_cu_line(K, "mg_contract_fma(%s, %s, %s, %s);", name, end, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    else if (group && splits && mgi_cu_split_load(K, K->b->tensors[b].op) && !mgi_cu_split_load(K, K->b->tensors[a].op)) {
      if (!low) mgi_cu_line(K, "mg_group_contract_both<%s, %d, %s>(%s, %s, %s, mg_right(low_%s));", mg_type_row(type)->device, depth, v->in_place ? "false" : "true", name, mgi_cu_str_text(&l), mgi_cu_str_text(&r), mgi_cu_tname(K->b, b));
    } else if (group && mgi_cu_flies(K, op)) mgi_cu_line(K, "mg_group_add<%s, %d>(%s, %s, %s);", mg_type_row(type)->device, depth, name, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    else if (group) mgi_cu_line(K, "mg_group_%s<%s, %d, %s>(%s, %s, %s);", K->meanwhile ? "begin" : "contract", mg_type_row(type)->device, depth, v->in_place || low ? "false" : "true", name, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    else if (mgi_cu_steady(K, t)) mgi_cu_line(K, "mg_contract_steady_own<%s, %d>(%s, steady_%s, %s, %s);", mg_type_row(type)->device, depth, name, mgi_cu_tname(K->b, t), mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    else mgi_cu_line(K, "mg_contract%s%s<%s, %d>(%s, %s, %s);", over, mgi_cu_own_ring(K, o->scope) ? "_own" : "", mg_type_row(type)->device, depth, name, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    free(l.s);
    free(r.s);
  }
  if (!v->in_place) mgi_cu_acc_done(K, t, t);
}

/* Whether there is a leaf that is no joined row of a strip. */
MGI_FN int mgi_cu_look_no_part(const mg_flat *k, int i, void *what) {
  const mgi_cu_val_info *v = mgi_cu_home_of((const mgi_cu_wanted *)what, i);
  if (v->home == MGI_CU_AT_PARTIAL || v->copy) return 0;
  return mgi_cu_by_elements(k, i, v) ? -1 : 1;
}
/* By place, what is not computed where it is read. */
MGI_FN void mgi_cu_placed(const mgi_cu_kernel *K, uint8_t placed[MG_FLAT_OPS]) {
  for (int i = 0; i < K->flat.n; i++) {
    const mgi_cu_val_info *v = &K->v[mgi_cu_at_place(K, i + 1)];
    placed[i] = v->copy || v->home != MGI_CU_AT_INLINE;
  }
}
/* A vector whose elements many elements of something larger take, and that is dear to compute; 2 where all divide by it. */
MGI_FN int mgi_cu_rule_VECTOR(const mgi_cu_kernel *K, uint32_t t) {
  const mgi_cu_val_info *v = &K->v[t];
  uint8_t placed[MG_FLAT_OPS];
  if (v->home != MGI_CU_AT_INLINE || v->copy || K->behind || mgi_cu_own_ring(K, K->b->tensors[t].scope)) return 0;
  if (K->strip && (v->rows != K->v[K->strip].rows || v->cols != 1)) return 0;
  if (!K->strip && (v->rows == 1) == (v->cols == 1)) return 0;
  if (K->strip ? mgi_cu_finds(K, t, mgi_cu_look_no_part, 0) : mgi_cu_has_acc(K, t)) return 0;
  mgi_cu_placed(K, placed);
  return mg_flat_vector(&K->flat, K->threads, mgi_cu_place(K, K->strip) + 1, mgi_cu_place(K, t), placed);
}
/* The vector of that kind that is all that x, a sum or maximum, is read for, so that it is stored in x's place; or 0. */
MGI_FN uint32_t mgi_cu_vector_from(mgi_cu_kernel *K, uint32_t x, int *divides) {
  uint8_t placed[MG_FLAT_OPS];
  mgi_cu_placed(K, placed);
  for (uint32_t t = 1; t < K->b->n_tensors; t++) {
    if (t == x || K->b->tensors[t].scope != K->loop || K->v[t].rows != K->v[x].rows || K->v[t].cols != K->v[x].cols) continue;
    if (!mg_flat_only_of(&K->flat, mgi_cu_place(K, t), mgi_cu_place(K, x), placed)) continue;
    if (!mg_flat_ends_in(&K->flat, mgi_cu_place(K, x), mgi_cu_place(K, t), 0)) continue;
    const int found = mgi_cu_lives(K, t, MG_AT_VECTOR);
    *divides = found == 2;
    if (found) return t;
  }
  return 0;
}
MGI_FN void mgi_cu_vector_is(mgi_cu_kernel *K, uint32_t t, int obj, int divides) {
  mgi_cu_val_info *v = &K->v[t];
  v->copy = 1;
  v->copy_obj = obj;
  v->copy_type = MG_F32;
  v->inverse = divides;
}
/* It gets a tile in fp32, or a strip's registers; where all divide by it, of its inverse. */
MGI_FN void mgi_cu_vector_step(mgi_cu_kernel *K, uint32_t t) {
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  char sink[200], rv[800], cv[800];
  mgi_cu_str f = {NULL, 0, 0, 0};
  const int found = mgi_cu_lives(K, t, MG_AT_VECTOR), divides = found == 2;
  if (!found) return;
  mgi_cu_prepare(K, t, 0);
  if (K->strip) {
    mgi_cu_line(K, divides ? "// 1 / %s, once a row" : "// %s, once a row", name);
    mgi_cu_lambda(K, &f, t, 0, divides ? 0 : 1);
    mgi_cu_line(K, "const mg_strip_row<A_%s> m_%s(%s);", mgi_cu_tname(K->b, K->strip), name, mgi_cu_str_text(&f));
    free(f.s);
    mgi_cu_vector_is(K, t, -1, divides);
    return;
  }
  const int obj = mgi_cu_piece_new(K, (int64_t)v->rows * v->cols * 4, "m_%s", name);
  mgi_cu_str_put(&K->decl, "  const mg_tile<mg_f32, %d, %d, %d, false> m_%s(mg_shared() + %s);\n", v->rows, v->cols,
                 v->cols, name,
                 K->place[obj]);
  mgi_cu_touch(K, obj, 1);
  mgi_cu_line(K, divides ? "// 1 / %s, into a tile" : "// %s, into a tile", name);
  mgi_cu_valid_text(K, t, 0, rv, sizeof rv);
  mgi_cu_valid_text(K, t, 1, cv, sizeof cv);
  mgi_cu_lambda(K, &f, t, 0, divides ? 0 : 1);
  snprintf(sink, sizeof sink, "mg_into(m_%.60s, 0, 0)", name);
  mgi_cu_line(K, "mg_each_unit<%d, %d, %d>(%s, %s, %s, %s);", v->rows, v->cols, K->threads, rv, cv, mgi_cu_str_text(&f), sink);
  free(f.s);
  mgi_cu_vector_is(K, t, obj, divides);
}

/* What several steps take of a strip is kept in registers, element by element. */
MGI_FN void mgi_cu_kept_step(mgi_cu_kernel *K, uint32_t t) {
  const char *name = mgi_cu_tname(K->b, t);
  mgi_cu_str f = {NULL, 0, 0, 0};
  mgi_cu_prepare(K, t, 1);
  mgi_cu_line(K, "// %s, kept", name);
  mgi_cu_lambda(K, &f, t, 1, 1);
  mgi_cu_line(K, "const mg_strip_kept<A_%s> m_%s(%s);", mgi_cu_tname(K->b, K->strip), name, mgi_cu_str_text(&f));
  free(f.s);
  mgi_cu_vector_is(K, t, -1, 0);
}

/* ---- reductions */
/* Whether anything is read but tiles that are contiguous along their rows' dimension. */
MGI_FN int mgi_cu_look_across(const mg_flat *k, int i, void *what) {
  const mgi_cu_wanted *w = (const mgi_cu_wanted *)what;
  const mgi_cu_val_info *v = mgi_cu_home_of(w, i);
  if (v->rows == 1 || v->cols == 1 || v->copy) return 1;
  if (k->op[i].code == MG_OP_LOAD) return !mgi_cu_load_trans(w->K, (uint32_t)i + 1);
  return mgi_cu_by_elements(k, i, v) ? -1 : 1;
}
/* How a sum or maximum runs over its operand's elements: 1 by rows, 0 by columns, -1 by columns whose elements are
   neighbours in memory. */
MGI_FN int mgi_cu_reduce_way(const mgi_cu_kernel *K, const mg_op_node *o) {
  return mgi_cu_reduced(K, o) ? 1 : mgi_cu_finds(K, o->in[0].id, mgi_cu_look_across, 0) ? 0 : -1;
}
/* The load whose squares SUM `op` adds up on tensor cores; 0: it does not.  The facts say so, but for what the operand is
   here: a strip's, a tile of its own, or parts under several maxima.  *swapped: it is that tile transposed. */
MGI_FN uint32_t mgi_cu_squares(const mgi_cu_kernel *K, uint32_t op, int *swapped) {
  const mg_kernel_plan p = mgi_cu_plan(K);
  const uint32_t in = K->b->ops[op].in[0].id;
  if (K->b->ops[op].code != MG_OP_SUM || K->strip || K->v[in].copy) return 0;
  if (mg_flat_squares(&K->flat, &p, &K->rings, (int)op - 1) < 0) return 0;
  return mgi_cu_plain_load(K, mgi_cu_producer(K, in)->in[0].id, swapped);
}
MGI_FN void mgi_cu_reduce_declare(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  const mgi_cu_val_info *in = &K->v[o->in[0].id];
  const char *name = mgi_cu_tname(K->b, o->out[0].id);
  if (K->v[o->out[0].id].chain) {
    char type[100];
    mgi_cu_str_put(&K->decl, "  mg_fragment_sum<%s> red_%s;\n", mgi_cu_acc_type(K, in->rows, in->cols, 0, type, sizeof type), name);
    return;
  }
  const char *what = o->code == MG_OP_MAX ? "mg_by_max" : "mg_by_sum";
  const int way = mgi_cu_reduce_way(K, o);
  int swapped;
  const uint32_t squared = mgi_cu_squares(K, op, &swapped);
  if (K->strip) mgi_cu_str_put(&K->decl, "  typedef mg_strip_reduce<%s, A_%s> R_%s;\n  R_%s red_%s;\n", what, mgi_cu_tname(K->b, K->strip), name, name, name);
  else if (squared) mgi_cu_str_put(&K->decl, "  typedef mg_own_row_squares<%s, %d, %d> R_%s;\n  R_%s red_%s;\n", mg_type_row(K->b->tensors[K->b->ops[squared].out[0].id].dtype)->device, in->rows, K->wk, name, name, name);
  else if (mgi_cu_own_ring(K, o->scope)) mgi_cu_str_put(&K->decl, "  typedef mg_own_row_reduce<%s, %d, %d> R_%s;\n  R_%s red_%s;\n", what, in->rows, K->wk, name, name, name);
  else if (way) mgi_cu_str_put(&K->decl, "  typedef mg_row_reduce<%s, %d, %d> R_%s;\n  R_%s red_%s;\n", what, way > 0 ? in->rows : in->cols, K->threads, name, name, name);
  else mgi_cu_str_put(&K->decl, "  typedef mg_col_reduce<%s, %d, %d> R_%s;\n  R_%s red_%s;\n", what, in->cols, K->threads, name, name, name);
}
MGI_FN void mgi_cu_reduce_done(mgi_cu_kernel *K, uint32_t op, uint32_t t) {
  const mg_op_node *o = &K->b->ops[op];
  const mgi_cu_val_info *in = &K->v[o->in[0].id];
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, o->out[0].id);
  int row = mgi_cu_reduced(K, o), n = row ? in->rows : in->cols, way = mgi_cu_reduce_way(K, o);
  int64_t scratch = 0; /* as mg_row_reduce and mg_col_reduce count it */
  int swapped = 0;
  const uint32_t load = mgi_cu_own_ring(K, o->scope) ? 0 : mgi_cu_squares(K, op, &swapped); /* joined in one go */
  mgi_cu_str f = {NULL, 0, 0, 0};
  if (mgi_cu_own_ring(K, o->scope) && mgi_cu_merges(K, mgi_cu_producer(K, t))) { /* read once, where the block's part is handed over */
    mgi_cu_begin(K);
    v->obj = mgi_cu_piece_new(K, (int64_t)n * K->wk * 4, "t_%s", name);
    mgi_cu_str_put(&K->decl, "  const R_%s::PARTS t_%s(mg_shared() + %s);\n", name, name, K->place[v->obj]);
    mgi_cu_touch(K, v->obj, 1);
    mgi_cu_line(K, "red_%s.put(t_%s);", name, name);
    v->home = MGI_CU_AT_PARTIAL;
    snprintf(v->var, sizeof v->var, "t_%.70s", name);
    return;
  }
  if (K->strip) {
    mgi_cu_begin(K);
    v->obj = mgi_cu_piece_new(K, (int64_t)n * mg_ceil_div(K->threads, 32) * 4, "t_%s", name); /* at most */
    mgi_cu_str_put(&K->decl, "  const R_%s::OUT t_%s(mg_shared() + %s);\n", name, name, K->place[v->obj]);
    mgi_cu_touch(K, v->obj, 1);
    mgi_cu_line(K, "red_%s.finish(t_%s);", name, name);
    v->home = MGI_CU_AT_PARTIAL;
    snprintf(v->var, sizeof v->var, "t_%.70s", name);
    return;
  }
  if (K->v[o->out[0].id].chain) {
    if (K->v[o->out[0].id].shifted) mgi_cu_agree(K);
    scratch = K->wn > 1 ? (int64_t)n * K->wn : 0;
  } else if (mgi_cu_own_ring(K, o->scope)) scratch = (int64_t)n * K->wk + 3;
  else if (!load) scratch = mg_reduce_scratch(n, K->threads, way != 0);
  if (scratch) mgi_cu_meet_all(K, name);
  int divides = 0;
  const int plain = K->v[o->out[0].id].chain || mgi_cu_own_ring(K, o->scope) || (t != o->out[0].id && mgi_cu_merges(K, mgi_cu_producer(K, t)));
  const uint32_t of = plain ? 0 : mgi_cu_vector_from(K, t, &divides);
  mgi_cu_begin(K);
  char to[200];
  if (of) snprintf(to, sizeof to, "m_%.150s", mgi_cu_tname(K->b, of));
  else snprintf(to, sizeof to, "t_%.150s", name);
  const int obj = mgi_cu_piece_new(K, (n + scratch) * 4, "%s", to);
  mgi_cu_str_put(&K->decl, "  const mg_tile<mg_f32, %d, %d, %d, false> %s(mg_shared() + %s);\n", row ? n : 1,
                 row ? 1 : n, row ? 1 : n, to,
                 K->place[obj]);
  mgi_cu_touch(K, obj, 1);
  if (load) { /* read while the sums are written, with no barrier between */
    const int read = K->v[K->b->ops[load].out[0].id].obj;
    if (read >= 0) mgi_cu_touch(K, read, 0);
  }
  if (of) {
    mgi_cu_line(K, divides ? "// 1 / %s in its place" : "// %s in its place", mgi_cu_tname(K->b, of));
    mgi_cu_str_put(&f, ", ");
    mgi_cu_lambda_of(K, &f, of, 0, divides ? 0 : 1, t);
    mgi_cu_vector_is(K, of, obj, divides);
  }
  if (load) {
    const mgi_cu_val_info *l = &K->v[K->b->ops[load].out[0].id];
    mgi_cu_line(K, row ^ swapped ? "mg_row_squares<%d, %d, %d%s>(%s, %s%s%s%s);" : "mg_row_squares<%d, %d, %d%s>(mg_transposed(%s), %s%s%s%s);", n, row ? in->cols : in->rows, K->threads / 32,
                K->parts[o->scope] == MGI_CU_GROUP ? ", true" : "", l->var, row ? "" : "mg_transposed(", to, row ? "" : ")", mgi_cu_str_text(&f));
  } else mgi_cu_line(K, way < 0 ? "red_%s.finish(mg_transposed(%s)%s);" : "red_%s.finish(%s%s);", name, to, mgi_cu_str_text(&f));
  free(f.s);
  v->home = MGI_CU_AT_TILE;
  v->obj = obj;
  v->type = MG_F32;
  snprintf(v->var, sizeof v->var, "t_%.70s", name);
}
MGI_FN void mgi_cu_reduce_step(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t t = o->out[0].id, in = o->in[0].id;
  char rv[800], cv[800];
  int swapped;
  mgi_cu_str f = {NULL, 0, 0, 0};
  if (!K->v[t].chain) mgi_cu_prepare(K, in, K->strip != 0);
  mgi_cu_quote(K, o);
  const uint32_t squared = mgi_cu_squares(K, op, &swapped);
  if (squared && mgi_cu_own_ring(K, o->scope)) mgi_cu_line(K, "red_%s.add<%d>(mg_left(%s));", mgi_cu_tname(K->b, t), K->v[in].cols, K->v[K->b->ops[squared].out[0].id].var);
  else if (squared) mgi_cu_reduce_done(K, op, t);
  if (squared) return;
  if (!K->v[t].in_place) {
    mgi_cu_reduce_declare(K, op);
    mgi_cu_line(K, "red_%s.init();", mgi_cu_tname(K->b, t));
  }
  if (K->v[t].chain) {
    mgi_cu_line(K, "red_%s.add(%s);", mgi_cu_tname(K->b, t), K->v[in].var);
    if (!K->v[t].in_place) mgi_cu_reduce_done(K, op, t);
    return;
  }
  const int way = mgi_cu_reduce_way(K, o);
  char own[40] = "add";
  mgi_cu_lambda(K, &f, in, K->strip != 0, K->strip ? 1 : way > 0 ? 2 : way < 0 ? -2 : 1);
  if (K->strip) {
    mgi_cu_line(K, "red_%s.add(%s);", mgi_cu_tname(K->b, t), mgi_cu_str_text(&f));
    free(f.s);
    mgi_cu_reduce_done(K, op, t);
    return;
  }
  if (mgi_cu_own_ring(K, o->scope)) snprintf(own, sizeof own, "add<%d>", K->v[in].cols);
  mgi_cu_valid_text(K, in, 0, rv, sizeof rv);
  mgi_cu_valid_text(K, in, 1, cv, sizeof cv);
  mgi_cu_line(K, "red_%s.%s(%s, %s, %s);", mgi_cu_tname(K->b, t), own, way < 0 ? cv : rv, way < 0 ? rv : cv, mgi_cu_str_text(&f));
  free(f.s);
  if (!K->v[t].in_place) mgi_cu_reduce_done(K, op, t);
}

/* ---- stores */
/* The maxima by row, for what is to have them back. */
MGI_FN void mgi_cu_undo(mgi_cu_kernel *K) {
  const mgi_cu_val_info *p = &K->v[K->shift];
  const char *name = mgi_cu_tname(K->b, K->shift);
  mgi_cu_agree(K);
  if (K->undo_obj >= 0) return;
  mgi_cu_begin(K);
  K->undo_obj = mgi_cu_piece_new(K, (int64_t)p->rows * 4, "u_%s", name);
  mgi_cu_str_put(&K->decl, "  const mg_tile<mg_f32, %d, 1, 1, false> u_%s(mg_shared() + %s);\n", p->rows, name,
                 K->place[K->undo_obj]);
  mgi_cu_touch(K, K->undo_obj, 1);
  mgi_cu_line(K, "// the rows' maxima, which are taken off no more where they are stored");
  mgi_cu_line(K, "shift_%s.put(mg_into(u_%s, 0, 0));", name, name);
}
/* Stores t, of kernel-level tensor `above`, as two numbers by a power of two of the block's, and the power. */
MGI_FN void mgi_cu_power_store(mgi_cu_kernel *K, uint32_t t, uint32_t acc, uint32_t above, const mgi_cu_str *sink) {
  const char *name = K->em->g->tensors[above].name;
  mgi_cu_str place = {NULL, 0, 0, 0}, stride = {NULL, 0, 0, 0}, to = {NULL, 0, 0, 0};
  char count[300], elements[1400];
  int dim[4];
  mgi_cu_power_dims(K->em->g, above, dim);
  mgi_cu_power_place(K, &place, above, "");
  for (int a = 1; a <= 3; a++) {
    if (dim[a] < 0) continue;
    mgi_cu_str_put(&place, " + b_%s%s%s", K->b->axes[a].name, stride.n ? " * " : "", mgi_cu_str_text(&stride));
    mgi_cu_str_put(&stride, "%s%s", stride.n ? " * " : "", mgi_cu_count_text(K->em, K->em->g->tensors[above].op, a, count, sizeof count));
  }
  mgi_cu_line(K, "uint32_t size_%s = 0; // the block's largest element says by which power of two it is stored", name);
  mgi_cu_str_put(&to, "mg_to_size{&size_%s}", name);
  mgi_cu_site(K, t, acc, mgi_cu_str_text(&to));
  mgi_cu_line(K, "const int power_%s = mg_block_power(size_%s);", name, name);
  mgi_cu_line(K, "if (mg_tid() == 0) mg_stg(%s, (uint32_t)power_%s);", mgi_cu_str_text(&place), name);
  to.n = 0;
  mgi_cu_str_put(&to, "mg_to_split(%s, %s, power_%s)", sink->s, mgi_cu_elements_text(K->em, above, elements, sizeof elements), name);
  mgi_cu_site(K, t, acc, mgi_cu_str_text(&to));
  free(place.s);
  free(stride.s);
  free(to.s);
}
MGI_FN void mgi_cu_store_step(mgi_cu_kernel *K, uint32_t op, int index) {
  const mg_op_node *o = &K->b->ops[op];
  const mg_graph *b = K->b;
  uint32_t t = o->in[0].id;
  mg_tensor made = b->up->ops[b->up_op].out[index];
  uint32_t above = mgi_cu_above(K, made);
  const mg_tensor_info *up = &K->em->g->tensors[above];
  int rank = up->shape.rank, most = 8, ifs = 0;
  mgi_cu_str base = {NULL, 0, 0, 0}, sink = {NULL, 0, 0, 0}, cond = {NULL, 0, 0, 0};
  char offset[800], stride[1400], run[240];
  mgi_cu_send(K, o, above);
  if (K->undo[op]) mgi_cu_undo(K);
  uint32_t acc = mgi_cu_prepare(K, t, 1);
  if (K->undo[op]) mgi_cu_touch(K, K->undo_obj, 0);
  mgi_cu_wait(K);
  mgi_cu_str_put(&base, "p_%s", up->name);
  for (int d = 0; d < rank; d++) {
    int64_t align;
    mgi_cu_chunk(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, NULL, &align);
    if (!offset[0]) continue;
    mgi_cu_moves_by(K->em, &base, above, d, offset);
    if (d == rank - 1) most = mgi_cu_run_at(most, align);
  }
  mgi_cu_quote(K, o);
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > 1 && o->map.to[a] < 0 && !(K->late[op] && (K->merged >> a & 1))) mgi_cu_str_put(&cond, "%sb_%s == 0", ifs++ ? " && " : "", b->axes[a].name);
  if (ifs) {
    mgi_cu_line(K, "if (%s) { // other blocks along it hold the same values", mgi_cu_str_text(&cond));
    mgi_cu_indent(K, 1);
  }
  if (K->undo[op]) mgi_cu_str_put(&sink, "mg_undone<%s>(", K->undo[op] == MG_UNDO_LOG ? "true" : "false");
  mgi_cu_str_put(&sink, "mg_to_global<%s, %s>(%s, ", mg_type_row(up->dtype)->device, mgi_cu_aligned_text(K->em, above, most, run, sizeof run), mgi_cu_str_text(&base));
  mgi_cu_str_put(&sink, "%s, ", rank > 1 ? mgi_cu_stride_text(K->em, above, mgi_cu_rows_in(K, t), stride, sizeof stride) : "0");
  mgi_cu_str_put(&sink, "%s)", mgi_cu_stride_text(K->em, above, rank - 1, stride, sizeof stride));
  if (K->undo[op]) mgi_cu_str_put(&sink, ", u_%s)", mgi_cu_tname(b, K->shift));
  if (mg_split(K->em->g, mgi_cu_handle(above))) mgi_cu_power_store(K, t, acc, above, &sink);
  else mgi_cu_site(K, t, acc, mgi_cu_str_text(&sink));
  if (ifs) {
    mgi_cu_indent(K, -1);
    mgi_cu_line(K, "}");
  }
  free(base.s);
  free(sink.s);
  free(cond.s);
}

/* ---- merges */
/* A place for this block's part of `rows` x `cols` under `name`: the sink that takes it, and g_<name>, which reads all
   blocks' parts.  `all`: every block reads all of it.  Returns the piece of shared memory, -1 in the workspace. */
MGI_FN int mgi_cu_merge_place(mgi_cu_kernel *K, const char *name, int rows, int cols, const mgi_cu_size *rv,
                              const mgi_cu_size *cv, int all, const char *by, char *sink, size_t n) {
  int pitch = cols == 1 ? 1 : mg_pitch(cols, 4), obj = -1;
  int64_t bytes = mg_given_bytes(rows, cols, 1, 0), z = 1;
  mgi_cu_str_put(&K->decl, "  typedef mg_tile<mg_f32, %d, %d, %d, false> P_%s;\n", rows, cols, pitch, name);
  if (K->cluster) {
    const int owned = K->owners && !all && rows == K->own_rows && cols == K->own_cols;
    for (uint32_t a = 1; a <= 3; a++)
      if (K->merged >> a & 1) z *= K->b->axes[a].extent;
    obj = mgi_cu_piece_new(K, mg_given_bytes(rows, cols, z, owned), "g_%s", name);
    mgi_cu_note(K, MG_STEP_ALWAYS, obj, 0); /* other blocks write it at any time */
    if (owned) {
      snprintf(sink, n, "mg_to_owners<owners>(mg_shared() + %s, all)", K->place[obj]);
      mgi_cu_str_put(&K->takes, "%s%s * owners::bytes(%s, %s)", K->takes.n ? " + " : "", K->group_size, rv->text,
                     cv->text);
      mgi_cu_str_put(&K->decl, "  const mg_merge_owned<%s, owners> g_%s(mg_shared() + %s);\n", by, name, K->place[obj]);
      return obj;
    }
    snprintf(sink, n, "mg_to_all<P_%.60s, %s>(mg_shared() + %s + mg_cluster_rank() * %lld, all)", name,
             K->owners ? K->group_size : "1",
             K->place[obj], (long long)bytes);
    mgi_cu_str_put(&K->takes, "%s%s * 4", K->takes.n ? " + " : "", K->group_size);
    mgi_cu_times(&K->takes, rv);
    mgi_cu_times(&K->takes, cv);
    mgi_cu_str_put(&K->decl, "  const mg_merge_shared<%s, P_%s, %s, %lld> g_%s(mg_shared() + %s);\n", by, name,
                   K->group_size,
                   (long long)bytes, name, K->place[obj]);
  } else {
    snprintf(sink, n, "mg_to_global<mg_f32, %d>((mg_f32 *)(parts + (int64_t)(%.390s) * MERGE + %lld), %d, 1)", pitch > 1 ? 4 : 1, K->group_rank, (long long)K->merge_bytes, pitch);
    mgi_cu_line(K, "const mg_merge_global<%s, P_%s, %s, MERGE> g_%s(parts + %lld);", by, name, K->group_size, name, (long long)K->merge_bytes);
    K->merge_bytes += bytes;
  }
  return obj;
}
/* This block's part of the accumulator `op` over grid axes, to where the whole is read; `in` is what holds the part. */
MGI_FN void mgi_cu_merge_step(mgi_cu_kernel *K, uint32_t op, uint32_t in) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t t = o->out[0].id;
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t), *by = "mg_by_sum";
  char sink[900];
  for (uint32_t a = 1; a < K->b->n_axes; a++)
    if (o->map.to[a] == MG_MAP_MAX) by = "mg_by_max";
  mgi_cu_wait(K);
  if (K->cluster && K->merge_open) mgi_cu_line(K, "mg_cluster_wait(); // all blocks of the group have begun");
  K->merge_open = 0;
  if (v->shifted && !K->shift_part) {
    char shift[80];
    snprintf(shift, sizeof shift, "shift_%.70s", mgi_cu_tname(K->b, K->shift));
    K->shift_part = 1;
    const mgi_cu_size rows = mgi_cu_number(K->v[K->shift].rows), one = mgi_cu_number(1);
    K->shift_obj = mgi_cu_merge_place(K, shift, K->v[K->shift].rows, 1, &rows, &one, 1, "mg_by_max", sink, sizeof sink);
    mgi_cu_line(K, "%s.put(%s);", shift, sink);
  }
  uint32_t acc = mgi_cu_prepare(K, in, 1);
  const mgi_cu_size rv = mgi_cu_valid(K, in, 0), cv = mgi_cu_valid(K, in, 1);
  v->obj = mgi_cu_merge_place(K, name, v->rows, v->cols, &rv, &cv, 0, by, sink, sizeof sink);
  mgi_cu_line(K, "// this block's part of %s", name);
  mgi_cu_site(K, in, acc, sink);
  v->home = MGI_CU_AT_PARTIAL;
  snprintf(v->var, sizeof v->var, "%s_%.70s", v->shifted ? "h" : "g", name);
}
/* All parts have been handed over: one block of the group goes on. */
MGI_FN void mgi_cu_merge_done(mgi_cu_kernel *K) {
  mgi_cu_wait(K);
  mgi_cu_note(K, MG_STEP_ARRIVE, -1, 0);
  mgi_cu_line(K, "");
  if (K->cluster) {
    if (K->merge_open) mgi_cu_line(K, "mg_cluster_wait();");
    if (!K->owners) mgi_cu_line(K, "if (mg_cluster_rank() != 0) return; // the group's first block goes on");
    mgi_cu_line(K, "mg_cluster_takes(all, %s);", K->takes.n ? mgi_cu_str_text(&K->takes) : "0");
  } else {
    mgi_cu_line(K, "if (!mg_last_of(ticket, %s)) return; // the last block of the group goes on", K->group_size);
    mgi_cu_note(K, MG_STEP_SYNCED, -1, 0);
  }
  if (!K->shift_part) return;
  const char *name = mgi_cu_tname(K->b, K->shift);
  int rows = K->v[K->shift].rows;
  int64_t z = 1;
  for (uint32_t a = 1; a <= 3; a++)
    if (K->merged >> a & 1) z *= K->b->axes[a].extent;
  mgi_cu_begin(K);
  const int obj = mgi_cu_piece_new(K, rows * z * 4, "w_%s", name);
  mgi_cu_str_put(&K->decl, "  typedef mg_tile<mg_f32, %d, %s, %s, false> W_%s;\n", rows, K->group_size, K->group_size, name);
  mgi_cu_touch(K, obj, 1);
  mgi_cu_line(K, "const W_%s w_%s(mg_shared() + %s);", name, name, K->place[obj]);
  mgi_cu_line(K, "mg_merge_weights<%d, %d>(g_shift_%s, w_%s);", rows, K->threads, name, name);
  mgi_cu_barrier(K);
  mgi_cu_note(K, MG_STEP_CLEAR, -1, 0);
  mgi_cu_note(K, MG_STEP_ONWARD, obj, 0); /* it is read wherever such a value is */
  for (uint32_t t = 1; t < K->b->n_tensors; t++)
    if (K->v[t].shifted && K->v[t].home == MGI_CU_AT_PARTIAL && K->v[t].var[0] == 'h' && K->v[t].var[1] == '_')
      mgi_cu_line(K, "const mg_merge_weighted<decltype(g_%s), W_%s> %s(g_%s, w_%s);", mgi_cu_tname(K->b, t), name, K->v[t].var, mgi_cu_tname(K->b, t), name);
}
/* The block's number among those that differ along the grid axes of `axes`, as bits: x fastest, as in a cluster. */
MGI_FN void mgi_cu_rank_text(const mgi_cu_kernel *K, uint32_t axes, char *out, size_t n) {
  const mg_graph *b = K->b;
  size_t at = 0;
  snprintf(out, n, "0");
  for (uint32_t a = 1; a <= 3; a++) {
    if (b->axes[a].extent == 1 || !(axes >> a & 1)) continue;
    at += (size_t)snprintf(out + at, at < n ? n - at : 0, "%sb_%s", at ? " + " : "", b->axes[a].name);
    for (uint32_t c = 1; c < a; c++)
      if (b->axes[c].extent > 1 && (axes >> c & 1)) at += (size_t)snprintf(out + at, at < n ? n - at : 0, " * %s", K->count[c]);
  }
}
/* Which axes merge, how, and what stands behind the merge. */
MGI_FN void mgi_cu_merge_analyse(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  uint8_t late[MG_FLAT_OPS];
  const int64_t z = K->flat.group;
  int64_t rows, cols;
  size_t at = 0;
  K->merged = K->flat.merged;
  for (uint32_t k = 1; k < b->n_ops; k++)
    for (uint32_t a = 1; a <= 3 && K->flat.op[k - 1].across; a++)
      if (b->ops[k].map.to[a] >= 0 && (K->merged >> a & 1))
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum",
                         "'%.60s' concatenates over grid axis %s: only sums and maxima over the grid are emitted",
                         mgi_cu_tname(b, b->ops[k].out[0].id), b->axes[a].name);
  if (!K->merged) return;
  for (uint32_t a = 1; a <= 3; a++) {
    if (!(K->merged >> a & 1)) continue;
    at += (size_t)snprintf(K->group_size + at, at < sizeof K->group_size ? sizeof K->group_size - at : 0, "%s%s", at ? " * " : "", K->count[a]);
  }
  mgi_cu_rank_text(K, K->merged, K->group_rank, sizeof K->group_rank);
  mgi_cu_rank_text(K, ~K->merged, K->group, sizeof K->group);
  const int how = mg_plan_says(b, MG_PLAN_MERGE, NULL);
  K->cluster = mg_machine_clusters(&K->em->machine, z);
  if (how == MG_MERGE_WORKSPACE) K->cluster = 0;
  else if (how == MG_MERGE_CLUSTER && !mg_machine_can(&K->em->machine, MG_CAN_CLUSTER)) mgi_cu_lacks(K, MG_PLAN_MERGE, how, MG_CAN_CLUSTER);
  else if (how == MG_MERGE_CLUSTER && !K->cluster)
    mgi_cu_refuse(K, MG_PLAN_MERGE, NULL, how, "a cluster has at most %d blocks, these are %lld: want workspace",
                     (int)MG_CLUSTER_BLOCKS, (long long)z);
  mg_flat_late(&K->flat, late);
  memcpy(K->late + 1, late, b->n_ops - 1);
  for (uint32_t k = 1; k < b->n_ops; k++)
    if (K->late[k] && mgi_cu_merges(K, &b->ops[k]))
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum",
                       "'%.60s' accumulates over the grid what stands in a loop with, or comes from, values that were merged over it",
                       mgi_cu_tname(b, b->ops[k].out[0].id));
  K->owners = K->cluster && mg_flat_shares(&K->flat, &rows, &cols);
  if (K->owners) K->own_rows = (int)rows, K->own_cols = (int)cols;
  for (int k = 0; k < K->em->g->ops[K->b->up_op].n_out && K->number >= 0; k++) K->owners &= !mg_split(K->em->g, K->em->g->ops[K->b->up_op].out[k]); /* one power a block */
}

/* ---- loops */
MGI_FN int mgi_cu_is_concat(const mgi_cu_kernel *K, const mg_op_node *o) {
  for (uint32_t a = 4; a < K->b->n_axes; a++)
    if (o->map.to[a] >= 0) return 1;
  return 0;
}
MGI_FN int mgi_cu_is_max(const mgi_cu_kernel *K, const mg_op_node *o) {
  for (uint32_t a = 4; a < K->b->n_axes; a++)
    if (o->map.to[a] == MG_MAP_MAX) return 1;
  return 0;
}
/* Over one loop at least it joins what it has to what comes. */
MGI_FN int mgi_cu_is_joined(const mgi_cu_kernel *K, const mg_op_node *o) {
  for (uint32_t a = 4; a < K->b->n_axes; a++)
    if (o->map.to[a] == MG_MAP_SUM || o->map.to[a] == MG_MAP_MAX) return 1;
  return 0;
}

/* The outermost of the loops that it lifts out of. */
MGI_FN uint32_t mgi_cu_lifted(const mgi_cu_kernel *K, const mg_op_node *o) {
  uint32_t a = K->b->tensors[o->in[0].id].scope;
  while (K->b->axes[a].parent != o->scope) a = K->b->axes[a].parent;
  return a;
}

/* The grid axes by which blocks begin elsewhere: those that count no symbol.  A row's sums would else have another order, and
   other bits, at another size, or elsewhere among the rows. */
MGI_FN uint32_t mgi_cu_turning(const mgi_cu_kernel *K) {
  uint32_t axes = 0;
  for (uint32_t a = 1; a <= 3; a++)
    if (!K->b->axes[a].symbol) axes |= 1u << a;
  return axes;
}
/* A ring of warps that holds the whole of a loop: every block begins elsewhere in it, so that they do not all ask for the
   same lines of what they share at once (measured on an H200: LoRA of depth 256 3.15 us to 2.85, under PDL 2.56 to 2.26;
   a loop of two steps, or one that goes on loading, is slower so). */
MGI_FN int mgi_cu_begins_elsewhere(const mgi_cu_kernel *K, uint32_t loop) {
  const mg_axis_info *a = K->b->axes;
  const uint32_t turning = mgi_cu_turning(K);
  int64_t blocks = 1;
  for (uint32_t k = 1; k <= 3; k++)
    if (turning >> k & 1) blocks *= a[k].extent;
  return mgi_cu_own_ring(K, loop) && a[loop].extent > 2 && a[loop].extent <= K->stages && blocks > 1 && blocks < 1 << 30;
}
/* ---- rings that tensor copies fill
   A loop whose plan says copy=tma: one thread asks for whole tiles, and barriers of phases (mg_ring) stand where else all threads
   wait for their copies and meet.  If nothing but the ring is written in it, no barrier of the block stands in it. */

/* How the tile of load `op` is copied: the elements and lines of a box; 0 lines: it cannot be, *why has the reason. */
typedef struct mgi_cu_box { int wide, lines; } mgi_cu_box;
MGI_FN mgi_cu_box mgi_cu_box_of(const mgi_cu_kernel *K, uint32_t op, const char **why) {
  const mg_op_node *o = &K->b->ops[op];
  const uint32_t above = mgi_cu_above(K, o->in[0]), t = o->out[0].id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  const mg_tile_form T = mgi_cu_tile_of(K, op);
  const int rank = up->shape.rank, trans = mgi_cu_load_trans(K, op), across = trans ? T.rows : T.cols;
  const int rows = mgi_cu_rows_in(K, t), near = trans ? rows : rank - 1, far = trans ? rank - 1 : rows;
  mgi_cu_box x = {across < 64 || T.lines == 1 ? across : 64, 0};
  int64_t stride[MG_MAX_RANK];
  mg_strides(&K->em->g->tensors[mgi_cu_lies(K->em, above)], stride);
  *why = NULL;
  if (mg_dtype_bytes(mgi_cu_load_type(K, op)) != 2) *why = "it is not of a 16-bit type";
  else if (rank < 2) *why = "it has one dimension";
  else if (!mgi_cu_stride_is_one(K->em, above, near) || up->shape.dim[near] % 8 || mgi_cu_is_symbol(K->em, above, near)) *why = "its rows are no multiples of 16 bytes";
  else if (stride[far] % 8) *why = "it is one column, whose elements are neighbours";
  else if (T.lines == 1 && across > 256) *why = "it is a row of more than 256 elements";
  else if (T.lines > 1 && T.pieces % 8 && T.pieces != 2 && T.pieces != 4) *why = "its tile has rows of other than 32, 64 or a multiple of 128 bytes";
  else if (T.lines > 1 && T.pieces > 8 && T.lines % 8) *why = "its lines are no multiple of 8";
  else if (K->v[t].weighted) *why = "it is weighted by another kernel's maxima";
  for (int d = 0; d < rank && !*why; d++) { /* what a box has beyond the chunk has to lie beyond the tensor */
    int64_t chunk = up->shape.dim[d];
    int cuts = 0;
    if (chunk > INT32_MAX) *why = "an extent is above 2^31";
    for (uint32_t a = 1; a < K->b->n_axes && !*why; a++) {
      const int64_t n = K->b->axes[a].extent;
      if (o->map.to[a] != d || n == 1) continue;
      if (cuts++ && chunk % n) *why = "a chunk within a chunk is ragged";
      chunk = mg_ceil_div(chunk, n);
    }
    if (!*why && cuts && (d == rows || d == rank - 1) && (d == rows ? T.rows : T.cols) != chunk) *why = "its chunks are padded";
  }
  if (*why) return x;
  int boxes = (int)mg_ceil_div(T.lines, 256);
  while (boxes < T.lines && (T.lines % boxes || T.lines / boxes % 8)) boxes++;
  if (boxes < T.lines || T.lines == 1) x.lines = T.lines / boxes;
  else if (T.lines <= 256) x.lines = T.lines;
  else *why = "its lines cannot be cut into boxes";
  return x;
}
/* 1 if load `op` brings all blocks of a cluster the same, and its boxes, which may be made smaller, can be dealt out to them. */
MGI_FN int mgi_cu_shared_box(const mgi_cu_kernel *K, uint32_t op, uint32_t axis, int blocks, mgi_cu_box *x) {
  const mg_tile_form T = mgi_cu_tile_of(K, op);
  const int across = mgi_cu_load_trans(K, op) ? T.rows : T.cols, panels = across / x->wide;
  int lines = x->lines;
  if (!lines || T.lines == 1 || K->b->ops[op].map.to[axis] != MG_MAP_NONE) return 0;
  while (panels * (T.lines / lines) % blocks && lines % 16 == 0) lines /= 2;
  if (panels * (T.lines / lines) % blocks) return 0;
  x->lines = lines;
  return 1;
}
/* How load `op` is copied under the plan; *share: each block of the cluster has a part of it copied to all. */
MGI_FN mgi_cu_box mgi_cu_box_as(const mgi_cu_kernel *K, uint32_t op, int *share) {
  const char *why;
  mgi_cu_box x = mgi_cu_box_of(K, op, &why);
  *share = K->share > 1 && mgi_cu_shared_box(K, op, K->share_axis, K->share, &x);
  return x;
}
/* The dimensions of kernel-level tensor t as its map has them: the contiguous one, lines, then the others of more than one element. */
MGI_FN int mgi_cu_map_dims(const mgi_cu_kernel *K, uint32_t op, int dim[MG_MAX_RANK]) {
  const mg_tensor_info *up = &K->em->g->tensors[mgi_cu_above(K, K->b->ops[op].in[0])];
  const int rank = up->shape.rank, trans = mgi_cu_load_trans(K, op), rows = mgi_cu_rows_in(K, K->b->ops[op].out[0].id);
  int n = 2;
  dim[0] = trans ? rows : rank - 1;
  dim[1] = trans ? rank - 1 : rows;
  for (int d = rank - 2; d >= 0; d--)
    if (d != rows && up->shape.dim[d] != 1) dim[n++] = d;
  return n;
}
/* The plan's copy: obeyed, or refused with the reason. */
MGI_FN void mgi_cu_copies_analyse(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  const int copy = mg_plan_says(b, MG_PLAN_COPY, NULL);
  const char *why;
  int loads = 0, loops = 0;
  if (K->em->st != MG_OK || copy < MG_COPY_TMA) return;
  if (!mg_machine_can(&K->em->machine, MG_CAN_TENSOR_COPY)) mgi_cu_lacks(K, MG_PLAN_COPY, copy, MG_CAN_TENSOR_COPY);
  K->tensor_copies = 1;
  K->apart = copy == MG_COPY_WARP;
  for (uint32_t k = 1; k < b->n_ops && K->em->st == MG_OK; k++) {
    const mg_op_node *o = &b->ops[k];
    if (!mgi_cu_brings(K, o) || !o->scope) continue;
    const char *name = mgi_cu_tname(b, o->out[0].id);
    loads++;
    loops += !K->copies[o->scope];
    K->copies[o->scope] = 1;
    if (K->number < 0) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "a library operator");
    else if (b->axes[o->scope].parent) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "'%.60s' is loaded in a loop within a loop", name);
    else if (mgi_cu_own_ring(K, o->scope) || K->parts[o->scope]) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "it does not go with rings of warps or warpgroups");
    else if (!mgi_cu_box_of(K, k, &why).lines) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "'%.60s': %s", name, why);
  }
  if (K->em->st == MG_OK && K->apart && loops > 1) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "%d loops have loads", loops);
  if (K->em->st == MG_OK && K->apart && K->merged) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "its blocks merge");
  if (K->em->st == MG_OK && !loads) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, copy, "there is no load in a loop");
}
/* The plan's chain=late: obeyed, or refused with the reason.  Warpgroups have been decided, and who copies. */
MGI_FN void mgi_cu_trails_analyse(mgi_cu_kernel *K) {
  const int chain = mg_plan_says(K->b, MG_PLAN_CHAIN, NULL);
  mg_kernel_plan p = mgi_cu_plan(K);
  if (K->em->st != MG_OK || chain != MG_CHAIN_LATE) return;
  p.stages = MG_STAGES_MOST; /* where they are too few is seen when they are decided */
  for (uint32_t k = 1; k < K->b->n_ops; k++) {
    const int first = mg_flat_trails(&K->flat, &p, &K->chains, (int)k - 1);
    if (first) K->trails = k, K->leads = (uint32_t)first;
  }
  if (!K->trails)
    mgi_cu_refuse(K, MG_PLAN_CHAIN, NULL, chain,
                  "want warpgroups, warps_n=1, tensor copies in three stages, a loop of two products, one of the other's fragments");
}
/* The plan's share: blocks that are neighbours along the axis along which most bytes are the same copy for one another; or it is
   refused with the reason. */
MGI_FN void mgi_cu_share_analyse(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  const int n = mg_plan_says(b, MG_PLAN_SHARE, NULL);
  int64_t most = 0;
  const char *why;
  K->share = 1;
  if (K->em->st != MG_OK || n < 2) return;
  if (!mg_machine_can(&K->em->machine, MG_CAN_CLUSTER)) mgi_cu_lacks(K, MG_PLAN_SHARE, n, MG_CAN_CLUSTER);
  else if (!K->tensor_copies) mgi_cu_refuse(K, MG_PLAN_SHARE, NULL, n, "want copy=tma or copy=warp");
  else if (K->merged) mgi_cu_refuse(K, MG_PLAN_SHARE, NULL, n, "its blocks merge");
  for (uint32_t a = 1; a <= 3 && K->em->st == MG_OK; a++) {
    int64_t bytes = 0;
    if (b->axes[a].extent % n || b->axes[a].extent == 1 || b->axes[a].symbol) continue;
    for (uint32_t k = 1; k < b->n_ops; k++) {
      if (!mgi_cu_brings(K, &b->ops[k]) || !b->ops[k].scope) continue;
      mgi_cu_box x = mgi_cu_box_of(K, k, &why);
      const mg_tile_form T = mgi_cu_tile_of(K, k);
      if (mgi_cu_shared_box(K, k, a, n, &x)) bytes += (int64_t)T.lines * T.pieces;
    }
    if (bytes > most) most = bytes, K->share_axis = a;
  }
  if (K->em->st == MG_OK && !most) mgi_cu_refuse(K, MG_PLAN_SHARE, NULL, n, "no axis of so many blocks, or a multiple, reads the same tiles");
  if (K->em->st == MG_OK) K->share = n;
}
/* The plan's NAME.store=split: obeyed, or refused with the reason. */
MGI_FN void mgi_cu_halves_analyse(mgi_cu_kernel *K) {
  const mg_graph *g = K->em->g, *b = K->b;
  for (uint32_t k = 1, index = 0; k < b->n_ops && K->em->st == MG_OK && K->number >= 0; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->code != MG_OP_LOAD && o->code != MG_OP_STORE) continue;
    const uint32_t t = o->code == MG_OP_LOAD ? mgi_cu_above(K, o->in[0]) : g->ops[b->up_op].out[index++].id;
    const int stores = o->code == MG_OP_STORE, split = mg_split(g, mgi_cu_handle(t));
    const char *why = split ? mgi_cu_split_why(K, t, !stores) : "";
    const int asked = stores && mg_plan_says(b, MG_PLAN_STORE, mgi_cu_tname(b, o->in[0].id)) == MG_STORE_SPLIT;
    if (asked && !split) why = g->tensors[t].dtype == MG_F16 ? "it is an output" : "it is no f16";
    if (!*why && stores && split && (K->strip || K->undo[k])) why = "it is stored as a row, or under its maximum";
    for (uint32_t j = 1; j < g->n_ops && !*why && stores && split; j++)
      for (int i = 0; i < g->ops[j].n_in; i++)
        if (g->ops[j].in[i].id == t && g->ops[j].code != MG_OP_GRAPH) why = "a library operator reads it";
    if (*why) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "'%.60s' cannot be stored as split: %s", g->tensors[t].name, why);
  }
}
/* The barriers of the ring, its loads, and all of its stages on their way. */
MGI_FN void mgi_cu_copies_open(mgi_cu_kernel *K, uint32_t loop, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  const char *L = b->axes[loop].name;
  int64_t bytes = 0;
  if (K->stages < 2) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, MG_COPY_TMA, "want at least 2 stages");
  if (K->stages < 3 && K->trails) mgi_cu_refuse(K, MG_PLAN_CHAIN, NULL, MG_CHAIN_LATE, "want at least 3 stages");
  for (int k = 0; k < ring->n; k++) {
    const mg_tile_form T = mgi_cu_tile_of(K, ring->load[k]);
    bytes += (int64_t)T.lines * T.pieces * (mgi_cu_split_load(K, ring->load[k]) ? 32 : 16);
  }
  if (bytes >= 1 << 20) mgi_cu_refuse(K, MG_PLAN_COPY, NULL, MG_COPY_TMA, "a stage of %lld bytes, phases count below 2^20", (long long)bytes);
  const int phases = mgi_cu_piece_new(K, (int64_t)16 * K->stages, "phases_%s", L);
  mgi_cu_touch(K, phases, 1);
  mgi_cu_note(K, MG_STEP_UNTOUCHED, phases, 0); /* the barrier below is the one that they need */
  mgi_cu_note(K, MG_STEP_ALWAYS, phases, 0); /* nothing else ever stands there */
  char blocks[32] = "";
  if (K->share > 1) snprintf(blocks, sizeof blocks, ", %d", K->share);
  mgi_cu_str_put(&K->decl, "  const mg_ring<%d, %lld, %d%s> phases_%s(mg_shared() + %s);\n", K->stages,
                 (long long)bytes, K->threads / 32 * K->share, blocks, L,
                 K->place[phases]);
  mgi_cu_wait(K);
  mgi_cu_line(K, "phases_%s.init();", L);
  mgi_cu_note(K, MG_STEP_COPIES, -1, K->mem.n);
  mgi_cu_barrier(K);
  mgi_cu_begin(K);
  if (K->share > 1) {
    mgi_cu_line(K, "mg_cluster_arrive();");
    mgi_cu_line(K, "mg_cluster_wait(); // all blocks of the cluster have theirs");
  }
  K->ring_obj[loop] = ring->obj = mgi_cu_piece_new(K, ring->stage * K->stages, "ring_%s", L);
  mgi_cu_touch(K, ring->obj, 1);
  mgi_cu_note(K, MG_STEP_UNTOUCHED, ring->obj, 0);
  mgi_cu_line(K, "unsigned char *const ring_%s = mg_shared() + %s; // %d stages of %lld bytes", L,
              K->place[ring->obj], K->stages,
              (long long)ring->stage);
  mgi_cu_line(K, "const auto load_%s = [&](int i_%s, int at) {", L, L);
  mgi_cu_indent(K, 1);
  mgi_cu_line(K, "phases_%s.expect(at);", L);
  for (int k = 0; k < ring->n; k++) {
    const mg_op_node *o = &b->ops[ring->load[k]];
    const uint32_t above = mgi_cu_above(K, o->in[0]), t = o->out[0].id;
    int share, dim[MG_MAX_RANK];
    const mgi_cu_box x = mgi_cu_box_as(K, ring->load[k], &share);
    const int rank = mgi_cu_map_dims(K, ring->load[k], dim);
    char call[160];
    if (share) snprintf(call, sizeof call, "mg_copy_tile_part<T_%.100s, %d, %d>", mgi_cu_tname(b, t), x.lines, K->share);
    else snprintf(call, sizeof call, "mg_copy_tile<T_%.100s, %d>", mgi_cu_tname(b, t), x.lines);
    mgi_cu_str at = {NULL, 0, 0, 0};
    for (int d = 0; d < rank; d++) {
      char offset[800];
      mgi_cu_chunk(K, &o->map, above, dim[d], MG_MAX_AXES, offset, sizeof offset, NULL, NULL);
      mgi_cu_str_put(&at, "%s(int)(%s)", d ? ", " : "", offset[0] ? offset : "0");
    }
    mgi_cu_quote(K, o);
    if (mgi_cu_split_load(K, ring->load[k])) {
      mgi_cu_line(K, "const int low_at_%s[] = {%s, 1};", mgi_cu_tname(b, t), mgi_cu_str_text(&at));
      mgi_cu_line(K, "%s(T_%s(ring_%s + at * %lld + %lld), map_%s, phases_%s.p + at, low_at_%s);", call, mgi_cu_tname(b, t), L, (long long)ring->stage,
                  (long long)(ring->at[k] + ring->half[k]), mgi_cu_tname(b, t), L, mgi_cu_tname(b, t));
      mgi_cu_str_put(&at, ", 0");
    }
    mgi_cu_line(K, "const int at_%s[] = {%s};", mgi_cu_tname(b, t), mgi_cu_str_text(&at));
    mgi_cu_line(K, "%s(T_%s(ring_%s + at * %lld + %lld), map_%s, phases_%s.p + at, at_%s);", call, mgi_cu_tname(b, t), L, (long long)ring->stage, (long long)ring->at[k],
                mgi_cu_tname(b, t), L, mgi_cu_tname(b, t));
    free(at.s);
  }
  mgi_cu_indent(K, -1);
  mgi_cu_line(K, "};");
  if (K->apart) {
    mgi_cu_line(K, "if (mg_tid() >= %d) { // one of these threads copies, and they do nothing else", K->threads);
    if (K->dealt) mgi_cu_line(K, "  mg_gives_registers<%d>();", (int)MG_COPIER);
    mgi_cu_line(K, "  mg_leaves();");
    mgi_cu_line(K, "  if (mg_tid() > %d) return;", K->threads);
    mgi_cu_line(K, "  for (int i_%s = 0, at = 0, turn = 1; i_%s < %s; i_%s++) {", L, L, K->count[loop], L);
    mgi_cu_line(K, "    phases_%s.drained(at, turn);", L);
    mgi_cu_line(K, "    load_%s(i_%s, at);", L, L);
    mgi_cu_line(K, "    at = at + 1 == %d ? 0 : at + 1;", K->stages);
    mgi_cu_line(K, "    if (at == 0) turn = 1 - turn;");
    mgi_cu_line(K, "  }");
    mgi_cu_line(K, "  return;");
    mgi_cu_line(K, "}");
    if (K->dealt) mgi_cu_line(K, "mg_takes_registers<%d>();", K->dealt);
    K->parted = K->body.n;
    K->copying = 1;
  } else {
    mgi_cu_line(K, "if (mg_tid() == 0)");
    mgi_cu_line(K, "  for (int s = 0; s < %d && s < %s; s++) load_%s(s, s);", K->stages, K->count[loop], L);
  }
  if (!K->loop && !K->apart) mgi_cu_load_ahead(K, loop);
}
/* How many products of the loop are under way while its next step begins. */
MGI_FN int mgi_cu_flying(const mgi_cu_kernel *K, uint32_t loop) {
  int n = 0;
  for (uint32_t k = 1; k < K->b->n_ops; k++) n += K->b->ops[k].scope == loop && mgi_cu_flies(K, k);
  return n;
}
/* 1 if an iteration has to know the stage of the one before. */
MGI_FN int mgi_cu_remembers(const mgi_cu_kernel *K, uint32_t loop) {
  return !K->apart || K->trails || mgi_cu_flying(K, loop) > 0;
}
/* Waits for the loop's products, but for those of its last `steps` steps. */
MGI_FN void mgi_cu_fly_wait(mgi_cu_kernel *K, uint32_t loop, int steps) {
  const int but = steps * mgi_cu_flying(K, loop);
  for (uint32_t k = 1; k < K->b->n_ops; k++)
    if (K->b->ops[k].scope == loop && mgi_cu_flies(K, k))
      mgi_cu_line(K, "mg_group_wait<%d>(acc_%s.c);", but, mgi_cu_tname(K->b, K->b->ops[k].out[0].id));
}
/* The stage that the iteration before has read is filled again. */
MGI_FN void mgi_cu_copies_refill(mgi_cu_kernel *K, const char *L, const char *pad) {
  mgi_cu_line(K, "%s  phases_%s.drained(was, now == 0 ? 1 - turn : turn);", pad, L);
  mgi_cu_line(K, "%s  if (mg_lane() == 0) load_%s(i_%s + %d, was);", pad, L, L, K->stages - 1);
  mgi_cu_line(K, "%s  mg_sync_warp();", pad);
  mgi_cu_line(K, "%s}", pad);
}
/* Where an iteration begins: this one's stage has come.  The one before's has been read by then, or, with products under way, once
   this one's have been issued. */
MGI_FN void mgi_cu_copies_next(mgi_cu_kernel *K, uint32_t loop) {
  const char *L = K->b->axes[loop].name;
  if (!mgi_cu_flying(K, loop) && !K->apart && !K->trails) {
    mgi_cu_line(K, "if (i_%s > 0 && i_%s + %d < %s && mg_warp() == 0) {", L, L, K->stages - 1, K->count[loop]);
    mgi_cu_copies_refill(K, L, "");
  }
  if (!K->trails) mgi_cu_line(K, "phases_%s.filled(now, turn);", L);
  mgi_cu_note(K, MG_STEP_BARRIER_IN, -1, 0);
}
/* What the step before has read is free. */
MGI_FN void mgi_cu_copies_passed(mgi_cu_kernel *K, uint32_t loop) {
  const char *L = K->b->axes[loop].name;
  mgi_cu_line(K, "if (i_%s > 0 && i_%s + %d < %s)%s", L, L, K->stages - 1, K->count[loop], K->apart ? "" : " {");
  mgi_cu_line(K, "  phases_%s.read(was);", L);
  if (K->apart) return;
  mgi_cu_line(K, "  if (mg_warp() == 0) {");
  mgi_cu_copies_refill(K, L, "  ");
  mgi_cu_line(K, "}");
}
MGI_FN void mgi_cu_copies_last(mgi_cu_kernel *K, uint32_t loop) {
  const char *L = K->b->axes[loop].name;
  if (mgi_cu_flying(K, loop)) {
    mgi_cu_fly_wait(K, loop, 1);
    mgi_cu_copies_passed(K, loop);
  } else if (!K->trails) mgi_cu_line(K, "if (i_%s + %d < %s) phases_%s.read(now);", L, K->stages, K->count[loop], L);
  if (mgi_cu_remembers(K, loop)) mgi_cu_line(K, "was = now;");
  mgi_cu_line(K, "now = now + 1 == %d ? 0 : now + 1;", K->stages);
  mgi_cu_line(K, "if (now == 0) turn = 1 - turn;");
}
/* Pointer to kernel-level tensor t, or to what it is a slice of, as the launch function has it. */
MGI_FN const char *mgi_cu_pointer_text(const mgi_cu_emit *em, uint32_t t, char *out, size_t n) {
  const mg_graph *g = em->g;
  const char *type = mg_type_row(g->tensors[t].dtype)->device;
  t = mg_lies_as(g, mgi_cu_handle(t)).id;
  for (uint32_t k = 0; k < g->n_in; k++)
    if (g->in[k].id == t) {
      snprintf(out, n, "(const %s *)in[%u]", type, (unsigned)k);
      return out;
    }
  for (uint32_t k = 0; k < g->n_out; k++)
    if (g->out[k].id == t) {
      snprintf(out, n, "(%s *)out[%u]", type, (unsigned)k);
      return out;
    }
  snprintf(out, n, "(%s *)(space + %s_AT_%s)", type, g->name, g->tensors[t].name);
  return out;
}

/* 1 if the name stands in the text, by itself. */
MGI_FN int mgi_cu_mentions(const char *text, const char *name) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  const size_t n = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at += n)
    if (!strspn(at + n, letters) && (at == text || !strchr(letters, at[-1]))) return 1;
  return 0;
}
/* Sizes that symbol or computed size k is made of, as bits by symbol. */
MGI_FN uint32_t mgi_cu_made_of(const mg_graph *g, uint32_t k) {
  uint32_t of = 0;
  if (k < g->n_symbols) return 1u << k;
  for (uint32_t j = 0; j < g->n_symbols; j++) of |= (uint32_t)mgi_cu_mentions(g->symbol[k].name, g->symbol[j].name) << j;
  return of;
}
/* The output that kernel-level tensor t has its elements in, or -1. */
MGI_FN int mgi_cu_output_of(const mg_graph *g, uint32_t t) {
  t = mg_lies_as(g, mgi_cu_handle(mg_sliced_from(g, mgi_cu_handle(t)).id)).id;
  for (uint32_t k = 0; k < g->n_out; k++)
    if (g->out[k].id == t) return (int)k;
  return -1;
}
/* The launch itself hands over where kernel-level tensor t stands, and its sizes. */
MGI_FN void mgi_cu_host_takes(mgi_cu_emit *em, uint32_t t) {
  const uint32_t lies = mgi_cu_lies(em, t);
  const int out = mgi_cu_output_of(em->g, t);
  for (uint32_t k = 0; k < 2 * MG_MAX_RANK; k++) {
    const uint8_t symbol = em->symbol[(k < MG_MAX_RANK ? t : lies) * MG_MAX_RANK + k % MG_MAX_RANK];
    if (symbol) em->host_symbols |= mgi_cu_made_of(em->g, symbol - 1u);
  }
  if (out >= 0) em->host_outputs |= 1u << out;
}

/* The maps of a kernel's loads: parameters, their making before the launch, and arguments. */
MGI_FN void mgi_cu_copies_launch(mgi_cu_kernel *K, mgi_cu_str *params, mgi_cu_str *before, mgi_cu_str *args) {
  const mg_graph *b = K->b;
  char text[1400];
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (!mgi_cu_brings(K, o) || !K->copies[o->scope]) continue;
    const uint32_t above = mgi_cu_above(K, o->in[0]);
    const char *name = mgi_cu_tname(b, o->out[0].id);
    int share, dim[MG_MAX_RANK];
    const mgi_cu_box x = mgi_cu_box_as(K, k, &share);
    const int rank = mgi_cu_map_dims(K, k, dim);
    mgi_cu_host_takes(K->em, above);
    mgi_cu_str_put(params, "MG_MAP map_%s, ", name);
    mgi_cu_str_put(args, ", map_%d_%s.map", K->number, name);
    mgi_cu_str_put(before, "  static thread_local mg_mapped map_%d_%s;\n  const int64_t dim_%d_%s[] = {", K->number, name, K->number, name);
    const int split = mgi_cu_split_load(K, k);
    for (int d = 0; d < rank; d++) mgi_cu_str_put(before, "%s%s", d ? ", " : "", mgi_cu_dim_text(K->em, above, dim[d], text, sizeof text));
    mgi_cu_str_put(before, "%s}, stride_%d_%s[] = {", split ? ", 2" : "", K->number, name);
    for (int d = 0; d < rank; d++) mgi_cu_str_put(before, "%s%s", d ? ", " : "", mgi_cu_stride_text(K->em, above, dim[d], text, sizeof text));
    if (split) mgi_cu_str_put(before, ", %s", mgi_cu_elements_text(K->em, above, text, sizeof text));
    mgi_cu_str_put(before, "};\n  rc = mg_map_tensor(&map_%d_%s, %s", K->number, name, mgi_cu_pointer_text(K->em, above, text, sizeof text));
    mgi_cu_slice_at(K->em, before, above);
    mgi_cu_str_put(before, ", %d, %d, ", mg_dtype_bytes(K->em->g->tensors[above].dtype), rank + split);
    mgi_cu_str_put(before, "dim_%d_%s, stride_%d_%s, %d, %d);\n  if (rc) return rc;\n", K->number, name, K->number, name, x.wide, x.lines);
  }
}
/* The loads of a loop, and its first stages on their way. */
MGI_FN void mgi_cu_ring_open(mgi_cu_kernel *K, uint32_t loop, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  const char *L = b->axes[loop].name;
  ring->n = ring->ahead = 0;
  ring->stage = 0;
  ring->obj = -1;
  ring->open = 1;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->scope != loop || !mgi_cu_brings(K, o)) continue;
    if (ring->n == 64) {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "load", "more than 64 loads in a loop");
      return;
    }
    ring->load[ring->n] = k;
    const int64_t unit = K->by_group || K->tensor_copies ? 1024 : 128, size = mg_round_up(mgi_cu_load_tile_shape(K, k), unit);
    ring->half[ring->n] = size;
    ring->at[ring->n++] = ring->stage;
    ring->stage += mgi_cu_split_load(K, k) ? 2 * size : size;
  }
  if (!ring->n) return;
  mgi_cu_begin(K);
  const int own = mgi_cu_own_ring(K, loop);
  if (K->copies[loop]) {
    mgi_cu_copies_open(K, loop, ring);
    return;
  }
  K->ring_obj[loop] = ring->obj = mgi_cu_piece_new(K, ring->stage * K->stages * (own ? K->wk : 1), "ring_%s", L);
  mgi_cu_touch(K, ring->obj, 1);
  mgi_cu_note(K, MG_STEP_UNTOUCHED, ring->obj, 0);
  if (own)
    mgi_cu_line(K,
                "unsigned char *const ring_%s = mg_shared() + %s + mg_warp() * %lld; // the warp's own: %d stages of %lld bytes", L,
                K->place[ring->obj], (long long)(K->stages * ring->stage), K->stages, (long long)ring->stage);
  else
    mgi_cu_line(K, "unsigned char *const ring_%s = mg_shared() + %s; // %d stages of %lld bytes", L,
                K->place[ring->obj], K->stages,
                (long long)ring->stage);
  uint32_t ahead = 0; /* what streams in is asked for before the kernels before have ended */
  for (int k = 0; k < ring->n && K->stages > 1; k++)
    if (mgi_cu_ahead(K, &b->ops[ring->load[k]]) >= 0) ahead |= 1u << mgi_cu_ahead(K, &b->ops[ring->load[k]]);
  K->em->early |= ahead;
  ring->ahead = ahead != 0;
  if (!ahead) mgi_cu_wait(K);
  const int turned = mgi_cu_begins_elsewhere(K, loop);
  if (turned) {
    char block[1200];
    mgi_cu_rank_text(K, mgi_cu_turning(K), block, sizeof block);
    mgi_cu_line(K, "const auto turn_%s = [&](int step) { return (step + %s) %% %s; }; // each block begins elsewhere", L, block, K->count[loop]);
  }
  mgi_cu_line(K, "const auto load_%s = [&](int %s_%s, int at%s) {", L, turned ? "step" : "i", L, ahead ? ", bool streams, bool others" : "");
  mgi_cu_indent(K, 1);
  if (turned) mgi_cu_line(K, "const int i_%s = turn_%s(step_%s);", L, L, L);
  for (int k = 0; k < ring->n; k++) {
    uint32_t t = b->ops[ring->load[k]].out[0].id;
    char to[200];
    const mgi_cu_val_info *v = &K->v[t];
    const int outer = v->part[!v->trans ? 0 : 1], inner = v->part[v->trans ? 0 : 1]; /* of the tile's memory */
    const int panels = K->way[t] == MG_IN_PANELS;
    const int64_t step = outer ? (int64_t)outer * (panels ? 128 : v->pitch) : panels ? (int64_t)inner / 64 * 128 * mgi_cu_tile_of(K, ring->load[k]).lines : (int64_t)inner * mg_dtype_bytes(v->type);
    int n = snprintf(to, sizeof to, "T_%.60s(ring_%.60s + at * %lld + %lld", mgi_cu_tname(b, t), L, (long long)ring->stage, (long long)ring->at[k]);
    if (outer || inner) n += snprintf(to + n, sizeof to - (size_t)n, " + %s * %lld", mgi_cu_unit(K, loop), (long long)step);
    snprintf(to + n, sizeof to - (size_t)n, ")");
    mgi_cu_load_call(K, ring->load[k], to, !ahead ? "" : mgi_cu_ahead(K, &b->ops[ring->load[k]]) >= 0 ? "if (streams) " : "if (others) ", 0);
    if (!mgi_cu_split_load(K, ring->load[k])) continue;
    snprintf(to, sizeof to, "T_%.60s(ring_%.60s + at * %lld + %lld)", mgi_cu_tname(b, t), L, (long long)ring->stage, (long long)(ring->at[k] + ring->half[k]));
    mgi_cu_load_call(K, ring->load[k], to, ahead ? "if (others) " : "", 1);
  }
  mgi_cu_indent(K, -1);
  mgi_cu_line(K, "};");
  if (K->stages > 1) {
    const int first = own ? K->stages : K->stages - 1;
    if (ahead) mgi_cu_line(K, "for (int s = 0; early && s < %d && s < %s; s++) load_%s(s, s, true, false);", first, K->count[loop], L);
    mgi_cu_wait(K);
    mgi_cu_line(K, "for (int s = 0; s < %d; s++) {", first);
    mgi_cu_line(K, ahead ? "  if (s < %s) load_%s(s, s, !early, true);" : "  if (s < %s) load_%s(s, s);", K->count[loop], L);
    mgi_cu_line(K, "  mg_cp_async_commit();");
    mgi_cu_line(K, "}");
    mgi_cu_note(K, MG_STEP_ASK_RING, -1, first);
    if (!K->loop) mgi_cu_load_ahead(K, loop);
  }
}
/* Before anything is computed: the loads ahead, and the first stages of a loop that comes first. */
MGI_FN void mgi_cu_start_loads(mgi_cu_kernel *K, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  uint32_t k = 1;
  for (uint32_t a = 4; a < b->n_axes && K->apart; a++) /* first: those that only copy are to do nothing else */
    if (K->copies[a]) mgi_cu_ring_open(K, a, &ring[a]);
  mgi_cu_load_ahead(K, 0);
  for (uint32_t a = 4; a < b->n_axes && K->apart; a++) /* then what stands behind that loop */
    if (K->copies[a]) mgi_cu_load_ahead(K, a);
  if (K->apart) return;
  while (k < b->n_ops && !b->ops[k].scope) k++;
  if (!K->ahead || k == b->n_ops || K->late[k] || b->axes[b->ops[k].scope].parent) return;
  for (uint32_t j = 1; j < b->n_ops; j++)
    if (b->ops[j].scope == b->ops[k].scope && mgi_cu_brings(K, &b->ops[j])) {
      mgi_cu_line(K, "");
      mgi_cu_ring_open(K, b->ops[k].scope, &ring[b->ops[k].scope]);
      return;
    }
}
/* Where an iteration begins: its stage has come, and one that is free is filled again.  inner: as in mgi_cu_loop_begin. */
MGI_FN void mgi_cu_ring_next(mgi_cu_kernel *K, uint32_t loop, const mgi_cu_ring *ring, const char *inner) {
  const char *L = K->b->axes[loop].name;
  const int warp = mgi_cu_own_ring(K, loop) || K->parts[loop] == MGI_CU_WARP;
  if (ring->n && K->stages > 1) mgi_cu_line(K, "mg_cp_async_wait<%d>();", mgi_cu_own_ring(K, loop) ? K->stages - 1 : K->stages - 2);
  if (ring->n && K->stages > 1 && K->by_group) mgi_cu_line(K, "mg_group_publish();");
  if (warp) mgi_cu_line(K, "mg_sync_warp();");
  else mgi_cu_barrier(K);
  if (ring->n && K->stages > 1 && !mgi_cu_own_ring(K, loop)) {
    mgi_cu_line(K, "if (i_%s + %d < %s) load_%s(i_%s + %d, next%s%s);", L, K->stages - 1, K->count[loop], L, L, K->stages - 1, inner, ring->ahead ? ", true, true" : "");
    mgi_cu_line(K, "mg_cp_async_commit();");
  } else if (ring->n && K->stages == 1) {
    mgi_cu_line(K, "load_%s(i_%s, 0);", L, L);
    mgi_cu_line(K, "mg_cp_async_commit();");
    mgi_cu_line(K, "mg_cp_async_wait<0>();");
    if (K->by_group) mgi_cu_line(K, "mg_group_publish();");
    if (warp) mgi_cu_line(K, "mg_sync_warp();");
    else mgi_cu_barrier(K);
  }
}
/* The tile of load k of the ring, in the stage at hand. */
MGI_FN void mgi_cu_ring_tile(mgi_cu_kernel *K, uint32_t loop, const mgi_cu_ring *ring, int k, const char *inner) {
  const uint32_t load = ring->load[k], t = K->b->ops[load].out[0].id;
  const char *name = mgi_cu_tname(K->b, t), *L = K->b->axes[loop].name;
  mgi_cu_val_info *v = &K->v[t];
  v->home = MGI_CU_AT_TILE;
  v->obj = -1;
  snprintf(v->var, sizeof v->var, "t_%.70s", name);
  const long long stage = ring->stage, at = ring->at[k], half = ring->half[k];
  if (K->stages > 1) mgi_cu_line(K, "const T_%s t_%s(ring_%s + now%s * %lld + %lld);", name, name, L, inner, stage, at);
  else mgi_cu_line(K, "const T_%s t_%s(ring_%s + %lld);", name, name, L, at);
  if (mgi_cu_split_load(K, load)) mgi_cu_line(K, "const T_%s low_%s((unsigned char *)t_%s.p + %lld);", name, name, name, half);
  mgi_cu_reweigh(K, load);
}

/* ---- products that are late
   With chain=late a step's product of fragments, `trails`, is issued behind the first product of the next step, `leads`, and is under
   way while that step's exponentials are computed:

       first of step 0
       for i     exponentials of step i; wait for `trails` of step i - 1, whose stage is free then; multiply its sum by what
                 the maximum has risen; narrow the exponentials
                 but for the last step: first of step i + 1, `trails` of step i; wait for the former
       `trails` of the last step                                                                                     */

/* Of the operand that such products alone read, which load's tile it is: 0: it is no load's, or others read it. */
MGI_FN int mgi_cu_only_trailing(const mgi_cu_kernel *K, uint32_t load) {
  int i = (int)load - 1;
  do i = mg_flat_only_reader(&K->flat, i);
  while (i >= 0 && mg_op_moves(K->flat.op[i].code));
  return K->trails && (i + 1 == (int)K->trails || i + 1 == (int)K->leads);
}
/* The load that is such a product's right operand. */
MGI_FN uint32_t mgi_cu_trailing_load(const mgi_cu_kernel *K, uint32_t op) {
  int turned;
  return mgi_cu_plain_load(K, K->b->ops[op].in[1].id, &turned);
}
/* What begins the first product of a step, and that of step 0. */
MGI_FN void mgi_cu_leads_open(mgi_cu_kernel *K, uint32_t loop, const mgi_cu_ring *ring) {
  const char *L = K->b->axes[loop].name;
  mgi_cu_line(K, "const auto begin_%s = [&](int now, int turn) { // the first product of a step", L);
  mgi_cu_indent(K, 1);
  mgi_cu_line(K, "phases_%s.filled(now, turn);", L);
  for (int k = 0; k < ring->n; k++)
    if (ring->load[k] == mgi_cu_trailing_load(K, K->leads)) mgi_cu_ring_tile(K, loop, ring, k, "");
  K->meanwhile = -1;
  mgi_cu_matmul_step(K, K->leads);
  K->meanwhile = 0;
  mgi_cu_indent(K, -1);
  mgi_cu_line(K, "};");
  mgi_cu_line(K, "begin_%s(0, 0);", L);
  mgi_cu_line(K, "mg_group_wait(acc_%s.c);", mgi_cu_tname(K->b, K->b->ops[K->leads].out[0].id));
  mgi_cu_line(K, "int was = 0;");
}
/* `trails` of the step whose stage is `was`. */
MGI_FN void mgi_cu_trails_begin(mgi_cu_kernel *K, uint32_t loop, const mgi_cu_ring *ring) {
  const mg_op_node *o = &K->b->ops[K->trails];
  const uint32_t a = o->in[0].id, b = o->in[1].id, load = mgi_cu_trailing_load(K, K->trails);
  const uint32_t t = K->b->ops[load].out[0].id;
  mgi_cu_val_info *v = &K->v[t];
  mgi_cu_str r = {NULL, 0, 0, 0};
  int k = 0;
  while (ring->load[k] != load) k++;
  v->home = MGI_CU_AT_TILE;
  v->obj = -1;
  snprintf(v->var, sizeof v->var, "T_%.60s(ring_%.60s + was * %lld + %lld)", mgi_cu_tname(K->b, t), K->b->axes[loop].name,
           (long long)ring->stage, (long long)ring->at[k]);
  mgi_cu_operand(K, &r, b, 0, K->b->tensors[a].dtype, "");
  mgi_cu_line(K, "mg_group_chain_begin(acc_%s, n_%s, %s);", mgi_cu_tname(K->b, o->out[0].id), mgi_cu_tname(K->b, a),
              mgi_cu_str_text(&r));
  free(r.s);
}
/* Where a step ends, the next one's first product is begun, and this one's `trails`. */
MGI_FN void mgi_cu_leads_next(mgi_cu_kernel *K, uint32_t loop, const mgi_cu_ring *ring) {
  const char *L = K->b->axes[loop].name;
  mgi_cu_line(K, "if (i_%s + 1 == %s) break;", L, K->count[loop]);
  mgi_cu_line(K, "begin_%s(now, turn);", L);
  mgi_cu_trails_begin(K, loop, ring);
  mgi_cu_line(K, "mg_group_wait<1>(acc_%s.c);", mgi_cu_tname(K->b, K->b->ops[K->leads].out[0].id));
}
/* Where `trails` stands among a step's: that of the step before is done, and this one's operand is ready. */
MGI_FN void mgi_cu_trails_step(mgi_cu_kernel *K) {
  const mg_op_node *o = &K->b->ops[K->trails];
  const uint32_t t = o->out[0].id, a = o->in[0].id;
  const char *name = mgi_cu_tname(K->b, t), *from = mgi_cu_tname(K->b, a);
  const char *lead = mgi_cu_tname(K->b, K->b->ops[K->leads].out[0].id);
  mgi_cu_str_put(&K->decl, "  mg_narrowed<%s, A_%s> n_%s;\n", mg_type_row(K->b->tensors[a].dtype)->device, lead, from);
  mgi_cu_begin(K);
  mgi_cu_quote(K, o);
  mgi_cu_line(K, "mg_group_wait(acc_%s.c);", name);
  mgi_cu_copies_passed(K, o->scope);
  if (K->v[t].chain == K->shift) mgi_cu_line(K, "acc_%s.scale_rows(shift_%s.factor);", name, from);
  mgi_cu_line(K, "n_%s.take(%s);", from, K->v[a].var);
}
MGI_FN void mgi_cu_loop_begin(mgi_cu_kernel *K, uint32_t loop, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  const char *L = b->axes[loop].name;
  mgi_cu_line(K, "");
  mgi_cu_line(K, "// for %s=%lld", L, (long long)b->axes[loop].extent);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->code != MG_OP_ACCUM || !mgi_cu_lifts(K, o) || mgi_cu_lifted(K, o) != loop) continue;
    uint32_t in = o->in[0].id, t = o->out[0].id;
    const mg_op_node *p = mgi_cu_producer(K, in);
    mgi_cu_val_info *v = &K->v[t];
    if (K->shift && K->v[in].in_place && K->v[in].chain == K->shift) mgi_cu_shift_declare(K);
    if (K->v[in].in_place && (p->code == MG_OP_MATMUL || p->code == MG_OP_CONCAT_MATMUL)) {
      mgi_cu_acc_declare(K, in);
      mgi_cu_line(K, "acc_%s.zero();", mgi_cu_tname(b, in));
      if (mgi_cu_steady(K, in)) mgi_cu_line(K, "steady_%s.init();", mgi_cu_tname(b, in));
    } else if (K->v[in].in_place) {
      mgi_cu_reduce_declare(K, b->tensors[in].op);
      mgi_cu_line(K, "red_%s.init();", mgi_cu_tname(b, in));
    } else {
      int pitch = mg_pitch(v->cols, 4);
      mgi_cu_begin(K);
      v->obj = mgi_cu_piece_new(K, mg_joined_bytes(v->rows, v->cols), "t_%s", mgi_cu_tname(b, t));
      v->home = MGI_CU_AT_TILE;
      v->type = MG_F32;
      snprintf(v->var, sizeof v->var, "t_%.70s", mgi_cu_tname(b, t));
      mgi_cu_str_put(&K->decl,
                     "  typedef mg_tile<mg_f32, %d, %d, %d, false> T_%s;\n  const T_%s t_%s(mg_shared() + %s);\n", v->rows, v->cols, pitch, mgi_cu_tname(b, t), mgi_cu_tname(b, t), mgi_cu_tname(b, t),
                  K->place[v->obj]);
      mgi_cu_touch(K, v->obj, 1);
      if (mgi_cu_is_joined(K, o)) mgi_cu_line(K, "mg_fill<T_%s, %d>(t_%s, %s);", mgi_cu_tname(b, t), K->threads, mgi_cu_tname(b, t), mgi_cu_is_max(K, o) ? "mg_neg_inf()" : "mg_zero()");
    }
  }
  const int open = ring->open, older = K->mem.n;
  char inner[80] = ""; /* a ring within a ring has names of its own */
  if (b->axes[loop].parent) snprintf(inner, sizeof inner, "_%.70s", L);
  if (!open) mgi_cu_ring_open(K, loop, ring);
  ring->open = 0;
  for (uint32_t k = 1; k < b->n_ops; k++) { /* behind what is asked for ahead: powers are of kernels before */
    const mg_op_node *o = &b->ops[k];
    if (o->code != MG_OP_ACCUM || !mgi_cu_lifts(K, o) || mgi_cu_lifted(K, o) != loop || !K->v[o->in[0].id].in_place) continue;
    const mg_op_node *p = mgi_cu_producer(K, o->in[0].id);
    for (int j = 0; j < p->n_in && p->code == MG_OP_MATMUL; j++) mgi_cu_powers_open(K, b->tensors[p->in[j].id].op);
  }
  for (uint32_t k = 1; k < b->n_ops && !K->loop; k++) { /* before the outermost loop of those that read them */
    uint32_t a = b->ops[k].scope;
    while (a && a != loop) a = b->axes[a].parent;
    if (a && b->ops[k].code == MG_OP_LOAD) mgi_cu_weigh(K, k);
  }
  if (K->copies[loop]) {
    mgi_cu_note(K, MG_STEP_ARRIVE, -1, 0);
    mgi_cu_begin(K); /* what was written before is behind that barrier */
    if (K->trails) mgi_cu_barrier(K);
    else mgi_cu_note(K, MG_STEP_BARRIER_TO, -1, (int)loop); /* none stands in the loop */
  } else if (ring->n) {
    const int own = mgi_cu_own_ring(K, loop);
    mgi_cu_note(K, MG_STEP_RING_NEXT, -1, open ? -1 : older); /* earlier groups arrive before the ring's first */
    if (K->parts[loop]) { /* what was asked for or written before is there for all */
      mgi_cu_line(K, "mg_cp_async_wait<%d>();", K->stages - 1);
      mgi_cu_barrier(K);
    }
    if (K->stages > 1) {
      if (own) {
        mgi_cu_line(K, "for (int from_%s = 0; from_%s < %s; from_%s += %d) {", L, L, K->count[loop], L, K->stages);
        mgi_cu_indent(K, 1);
        mgi_cu_line(K, "MG_UNROLL");
        mgi_cu_line(K, "for (int now = 0; now < %d; now++) {", K->stages);
        const char *step = mgi_cu_begins_elsewhere(K, loop) ? "step" : "i";
        mgi_cu_line(K, "  const int %s_%s = from_%s + now;", step, L, L);
        mgi_cu_line(K, "  if (%s %% %d != 0 && %s_%s >= %s) break;", K->count[loop], K->stages, step, L, K->count[loop]);
        if (mgi_cu_begins_elsewhere(K, loop))
          mgi_cu_line(K, "  [[maybe_unused]] const int i_%s = turn_%s(step_%s);", L, L, L);
      } else {
        if (K->number < 0) mgi_cu_line(K, "MG_UNROLL_BY(1)"); /* unrolled whole, its 64 x 64 tiles do not fit in 255 registers */
        mgi_cu_line(K, "for (int i_%s = 0, now%s = 0, next%s = %d; i_%s < %s; i_%s++) {", L, inner, inner, K->stages - 1, L, K->count[loop], L);
      }
    } else mgi_cu_line(K, "for (int i_%s = 0; i_%s < %s; i_%s++) {", L, L, K->count[loop], L);
  } else {
    mgi_cu_note(K, MG_STEP_ARRIVE, -1, 0);
    if (!K->loop) mgi_cu_load_ahead(K, loop);
    mgi_cu_line(K, "for (int i_%s = 0; i_%s < %s; i_%s++) {", L, L, K->count[loop], L);
  }
  if (!K->copies[loop]) mgi_cu_indent(K, 1);
  K->loop = loop;
  mgi_cu_note(K, MG_STEP_LOOP, -1, K->mem.n);
  mgi_cu_begin(K);
  if (K->copies[loop]) {
    if (K->trails) mgi_cu_leads_open(K, loop, ring);
    if (K->trails) mgi_cu_line(K, "for (int i_%s = 0, now = 0, turn = 0;; i_%s++) {", L, L);
    else mgi_cu_line(K, "for (int i_%s = 0, now = 0, %sturn = 0; i_%s < %s; i_%s++) {", L, mgi_cu_remembers(K, loop) ? "was = 0, " : "", L, K->count[loop], L);
    mgi_cu_indent(K, 1);
    mgi_cu_copies_next(K, loop);
  }
  else mgi_cu_ring_next(K, loop, ring, inner);
  for (int k = 0; k < ring->n; k++)
    if (!mgi_cu_only_trailing(K, ring->load[k])) mgi_cu_ring_tile(K, loop, ring, k, inner);
}
MGI_FN void mgi_cu_loop_end(mgi_cu_kernel *K, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  uint32_t loop = K->loop;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->code != MG_OP_ACCUM || !mgi_cu_lifts(K, o) || b->tensors[o->in[0].id].scope != loop || K->v[o->in[0].id].in_place) continue;
    uint32_t in = o->in[0].id, t = o->out[0].id, acc = mgi_cu_prepare(K, in, 1);
    char sink[500];
    if (mgi_cu_is_concat(K, o)) {
      int rank = b->tensors[t].shape.rank, n[2] = {0, 0};
      char at[2][160] = {"0", "0"};
      int64_t chunk[2];
      chunk[0] = K->v[t].rows, chunk[1] = K->v[t].cols;
      for (uint32_t a = 4; a < b->n_axes; a++) { /* outermost first, as the dimension was cut */
        const int d = o->map.to[a] == rank - 1 ? 1 : o->map.to[a] == mgi_cu_rows_in(K, t) ? 0 : -1;
        if (o->map.to[a] == MG_MAP_NONE || o->map.to[a] == MG_MAP_SUM || o->map.to[a] == MG_MAP_MAX) continue;
        if (d < 0) {
          mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum", "'%.60s' is concatenated along a leading dimension", mgi_cu_tname(b, t));
          break;
        }
        chunk[d] = mg_ceil_div(chunk[d], b->axes[a].extent);
        n[d] += snprintf(at[d] + n[d], sizeof at[d] - (size_t)n[d], "%si_%.60s", n[d] ? " + " : "", b->axes[a].name);
        if (chunk[d] != 1) n[d] += snprintf(at[d] + n[d], sizeof at[d] - (size_t)n[d], " * %lld", (long long)chunk[d]);
        if (n[d] > (int)sizeof at[d] - 90) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum", "'%.60s': names of loops are too long", mgi_cu_tname(b, t));
        if (K->em->st != MG_OK) break;
      }
      for (uint32_t p = 1; p < b->n_tensors && mgi_cu_is_joined(K, o); p++) /* the factors would have to follow the part that is joined */
        if (mgi_cu_producer(K, p)->code == MG_OP_EXP && b->tensors[p].scope)
          mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum", "'%.60s' is joined over one loop and concatenated over another: exponentials in it would have no running maximum", mgi_cu_tname(b, t));
      if (mgi_cu_is_joined(K, o)) snprintf(sink, sizeof sink, "mg_join<%s>(t_%.60s, %s, %s)", mgi_cu_is_max(K, o) ? "mg_by_max" : "mg_by_sum", mgi_cu_tname(b, t), at[0], at[1]);
      else snprintf(sink, sizeof sink, "mg_into(t_%.60s, %s, %s)", mgi_cu_tname(b, t), at[0], at[1]);
    } else snprintf(sink, sizeof sink, "mg_join<%s>(t_%.60s)", mgi_cu_is_max(K, o) ? "mg_by_max" : "mg_by_sum", mgi_cu_tname(b, t));
    mgi_cu_quote(K, o);
    mgi_cu_note(K, MG_STEP_JOIN, K->v[t].obj, 0);
    mgi_cu_site(K, in, acc, sink);
    mgi_cu_note(K, MG_STEP_JOINED, K->v[t].obj, 0);
  }
  if (K->copies[loop]) {
    mgi_cu_copies_last(K, loop);
    if (K->trails) mgi_cu_leads_next(K, loop, ring);
  } else if (ring->n && K->stages > 1 && mgi_cu_own_ring(K, loop)) { /* the stage is free as soon as the warp has read it */
    mgi_cu_line(K, "mg_sync_warp();");
    const char *L = b->axes[loop].name, *step = mgi_cu_begins_elsewhere(K, loop) ? "step" : "i";
    mgi_cu_line(K, "if (%s_%s + %d < %s) load_%s(%s_%s + %d, now%s);", step, L, K->stages, K->count[loop], L, step, L, K->stages, ring->ahead ? ", true, true" : "");
    mgi_cu_line(K, "mg_cp_async_commit();");
    mgi_cu_indent(K, -1);
    mgi_cu_line(K, "}");
  } else if (ring->n && K->stages > 1) {
    char inner[80] = "";
    if (b->axes[loop].parent) snprintf(inner, sizeof inner, "_%.70s", b->axes[loop].name);
    mgi_cu_line(K, "now%s = now%s + 1 == %d ? 0 : now%s + 1;", inner, inner, K->stages, inner);
    mgi_cu_line(K, "next%s = next%s + 1 == %d ? 0 : next%s + 1;", inner, inner, K->stages, inner);
  }
  mgi_cu_indent(K, -1);
  mgi_cu_line(K, "}");
  if (K->copies[loop] && K->trails) {
    mgi_cu_trails_begin(K, loop, ring);
    mgi_cu_line(K, "mg_group_wait(acc_%s.c);", mgi_cu_tname(b, b->ops[K->trails].out[0].id));
  }
  if (K->copies[loop]) mgi_cu_fly_wait(K, loop, 0), K->copying = 0;
  mgi_cu_note(K, MG_STEP_LOOP_END, ring->n ? ring->obj : -1, mgi_cu_own_ring(K, loop) || K->parts[loop] || K->copies[loop]);
  K->loop = b->axes[loop].parent;
}
/* Closes and opens loops until `scope` is the innermost one. */
MGI_FN void mgi_cu_enter(mgi_cu_kernel *K, uint32_t scope, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  uint32_t path[MG_MAX_AXES + 1];
  int n = 0;
  while (K->loop && K->em->st == MG_OK) {
    uint32_t a = scope;
    while (a && a != K->loop) a = b->axes[a].parent;
    if (a) break;
    mgi_cu_loop_end(K, &ring[K->loop]);
  }
  if (K->em->st != MG_OK) return; /* loops may not have been closed */
  for (uint32_t a = scope; a != K->loop; a = b->axes[a].parent) path[n++] = a;
  while (n && K->em->st == MG_OK) {
    n--;
    mgi_cu_loop_begin(K, path[n], &ring[path[n]]);
    for (uint32_t k = 1; k < b->n_ops && mgi_cu_own_ring(K, path[n]); k++) /* first: what they read, a computed operand reads again */
      if (b->ops[k].scope == path[n] && mgi_cu_is_op(&b->ops[k], MG_OP_SUM, MG_OP_MAX)) mgi_cu_reduce_step(K, k);
  }
}


/* ---- rings of warps
   Where warps split the contraction alone (warps_m = warps_n = 1), a plan with ring=warp cuts the chunk of a loop among
   them: each brings by cp.async the part that it multiplies, into a ring of its own, and no barrier stands in the loop.

       block    wait; mg_sync;      load for all; contract steps warp, warp + warps_k ..       one tile
       warp     wait; mg_sync_warp; contract all of own part; mg_sync_warp; load the next      warps_k tiles

   There a left operand that is a load times a row is multiplied in its fragments, two elements at a time (mg_left_times);
   a product of at most 8 rows is that of its operands exchanged (mg_acc_turned); a sum of squares of a load is the diagonal
   of a product (mg_own_row_squares); and a product behind the loop may take the warps' parts (mg_rings).

   Which loops have such rings, and which have a ring of parts, is said by mg_flat_rings. */

/* The sum of product t, whose parts are added to those of product `into`, and of what that one is joined in; these stay parts. */
MGI_FN uint32_t mgi_cu_keep_sum(mgi_cu_kernel *K, uint32_t t, uint32_t into) {
  const mg_graph *b = K->b;
  const uint32_t joined = b->ops[K->v[into].in_place].out[0].id;
  K->v[into].kept = K->v[joined].kept = 1;
  for (uint32_t k = 1; k < b->n_ops; k++)
    if (b->ops[k].code == MG_OP_ADD && (b->ops[k].in[0].id == t || b->ops[k].in[1].id == t)) return b->ops[k].out[0].id;
  return 0;
}
MGI_FN void mgi_cu_own_analyse(mgi_cu_kernel *K) {
  const int ring = mg_plan_says(K->b, MG_PLAN_RING, NULL), group = ring == MG_RING_GROUP;
  if ((!group && ring != MG_RING_WARP) || K->em->st != MG_OK) return;
  if (group && !K->by_group) mgi_cu_refuse(K, MG_PLAN_RING, NULL, ring, "want mma=warpgroup");
  else if (group && (K->wm != 4 || K->wn < 2)) mgi_cu_refuse(K, MG_PLAN_RING, NULL, ring, "want warps_m=4 and warps_n from 2 on, not %d and %d", K->wm, K->wn);
  if (K->em->st != MG_OK || K->sender || (!group && (K->wm != 1 || (K->wn != 1 && K->wk != 1)))) return;
  mg_kernel_plan p = mgi_cu_plan(K);
  p.group = group;
  mg_flat_rings(&K->flat, &p, &K->chains, &K->rings);
  for (uint32_t a = 4; a < K->b->n_axes; a++) {
    if (K->rings.parts >> a & 1) K->parts[a] = group ? MGI_CU_GROUP : MGI_CU_WARP;
  }
  if (group && !K->rings.parts) mgi_cu_refuse(K, MG_PLAN_RING, NULL, ring, "there is no loop of chained products whose loads are all read by one warpgroup each");
  for (uint32_t t = 1; t < K->b->n_tensors; t++) {
    const int place = mgi_cu_place(K, t), how = K->rings.cut[place], of = how == MG_CUT_COLS;
    mgi_cu_val_info *v = &K->v[t];
    int *extent = of ? &v->cols : &v->rows;
    if (how && mgi_cu_own_ring(K, K->b->tensors[t].scope)) *extent = v->own[of] = *extent / K->wk;
    else if (how) v->part[of] = *extent / K->wn;
    v->split = mgi_cu_at_place(K, K->rings.taken[place]);
    v->into = mgi_cu_at_place(K, K->rings.into[place]);
    if (v->split) K->v[v->split].kept = K->v[mgi_cu_producer(K, t)->in[0].id].kept = 1;
    if (v->into) v->sum = mgi_cu_keep_sum(K, t, v->into);
  }
}

/* Only rows and columns of what is loaded or stored are masked at an edge: 0 if another dimension has parts beyond it. */
MGI_FN int mgi_cu_batches_whole(mgi_cu_kernel *K, const mg_op_node *o) {
  const int load = o->code == MG_OP_LOAD;
  const uint32_t above = load ? mgi_cu_above(K, o->in[0]) : mgi_cu_above(K, o->out[0]), t = (load ? o->out[0] : o->in[0]).id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  const int rows = mgi_cu_rows_in(K, t);
  for (int d = 0; d < up->shape.rank - 1; d++) {
    if (d == rows || !mgi_cu_uneven(K, &o->map, above, d, MG_MAX_AXES)) continue;
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(K->b, o), "dimension %d of '%.60s', neither rows nor columns of the block, is cut unevenly", d, up->name);
    return 0;
  }
  return 1;
}
/* 1 if there may be fewer of the dimension that a reference names than its chunk. */
MGI_FN int mgi_cu_ref_uneven(const mgi_cu_kernel *K, const mgi_cu_dim_ref *ref) {
  const mg_op_node *o = &K->b->ops[ref->op];
  return ref->op && mgi_cu_uneven(K, &o->map, mgi_cu_above(K, o->in[0]), ref->d, ref->last);
}
/* 1 if the same axes cut what both name. */
MGI_FN int mgi_cu_ref_alike(const mgi_cu_kernel *K, const mgi_cu_dim_ref *x, const mgi_cu_dim_ref *y) {
  for (uint32_t a = 1; a < K->b->n_axes; a++) {
    const int cuts = a <= x->last && K->b->ops[x->op].map.to[a] == x->d;
    if (cuts != (a <= y->last && K->b->ops[y->op].map.to[a] == y->d)) return 0;
  }
  return 1;
}
/* Of dimensions that operand z and its result t share, counted from the last, t has the one that may be short, else the longest
   that was cut.  Single rows of two dimensions of their own may both be missing: that has no mask. */
MGI_FN void mgi_cu_longest(mgi_cu_kernel *K, uint32_t z, uint32_t t) {
  const mg_shape *from = &K->b->tensors[z].shape, *to = &K->b->tensors[t].shape;
  for (int d = to->rank - 1, e = from->rank - 1; d >= 0 && e >= 0; d--, e--) {
    const mgi_cu_dim_ref *of = &K->v[z].of[e];
    mgi_cu_dim_ref *now = &K->v[t].of[d];
    if (from->dim[e] != to->dim[d]) continue;
    const int is = mgi_cu_ref_uneven(K, of), was = mgi_cu_ref_uneven(K, now);
    if (is && was && to->dim[d] == 1 && !mgi_cu_ref_alike(K, of, now))
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "'%.60s' has single elements of two dimensions that are both cut unevenly", mgi_cu_tname(K->b, t));
    if (is != was ? is : mgi_cu_ref_extent(K, of) > mgi_cu_ref_extent(K, now)) *now = *of;
  }
}
/* A loaded dimension of one element that axis a cuts: there are as many as a has iterations. */
MGI_FN mgi_cu_dim_ref mgi_cu_iterations(const mgi_cu_kernel *K, uint32_t a) {
  mgi_cu_dim_ref of = {0, 0, MG_MAX_AXES};
  for (uint32_t k = 1; k < K->b->n_ops && !of.op; k++) {
    const mg_op_node *o = &K->b->ops[k];
    if (o->code != MG_OP_LOAD || o->map.to[a] < 0) continue;
    if (K->b->tensors[o->out[0].id].shape.dim[o->map.to[a]] == 1) of.op = k, of.d = o->map.to[a];
  }
  return of;
}
/* What dimension `to` of x's accumulator is put together of along loop a: of what x has there, or, of one element each, which may
   have lost its dimension in a reshape or a transposition, of iterations. */
MGI_FN void mgi_cu_put_together(const mgi_cu_kernel *K, uint32_t x, int to, uint32_t a, mgi_cu_dim_ref *of) {
  const int known = of->op && K->b->ops[of->op].map.to[a] == of->d;
  if (!known && K->b->tensors[x].shape.dim[to] == 1) *of = mgi_cu_iterations(K, a);
  if (of->last > a - 1) of->last = a - 1;
}
/* Extents of all tensors, whose extents they have, and what is inlined.  0 if the emitter has no form for one. */
MGI_FN int mgi_cu_extents(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > (a == 1 ? 0x7FFFFFFF : 65535))
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "%lld blocks along %s: a grid has at most %d there", (long long)b->axes[a].extent, b->axes[a].name, a == 1 ? 0x7FFFFFFF : 65535);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    const mg_op_info *row = mg_op_row(o->code);
    if (o->code == MG_OP_GRAPH) {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "thread graphs are not emitted");
      return 0;
    }
    if ((o->code == MG_OP_LOAD || o->code == MG_OP_STORE) && !mgi_cu_batches_whole(K, o)) return 0;
    if (o->code == MG_OP_STORE) continue;
    uint32_t t = o->out[0].id;
    const mg_tensor_info *i = &b->tensors[t];
    mgi_cu_val_info *v = &K->v[t];
    int rank = i->shape.rank, reduced = -1;
    const mgi_cu_val_info *x = o->code == MG_OP_LOAD ? NULL : &K->v[o->in[0].id];
    const int rows = mg_rows_in(rank, i->shape.dim);
    for (int d = 0; d < rank - 1; d++) {
      if (d != rows && i->shape.dim[d] != 1) {
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "'%.60s' has %lld elements a block along dimension %d of %d: only the last and one other may have more than 1", mgi_cu_tname(b, t),
                      (long long)i->shape.dim[d], d, rank);
        return 0;
      }
    }
    if (mg_shape_elements(&i->shape) < 0 || mg_shape_elements(&i->shape) > 1 << 28) {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "'%.60s' has more than 2^28 elements a block", mgi_cu_tname(b, t));
      return 0;
    }
    v->cols = rank > 0 ? (int)i->shape.dim[rank - 1] : 1;
    v->rows = rank > 1 ? (int)i->shape.dim[rows] : 1;
    v->home = MGI_CU_AT_NONE;
    if (o->code == MG_OP_LOAD) {
      for (int d = 0; d < rank; d++) v->of[d].op = k, v->of[d].d = d, v->of[d].last = MG_MAX_AXES;
      if (mgi_cu_made(K, o)) v->home = MGI_CU_AT_MADE, snprintf(v->var, sizeof v->var, "mg_causal_block");
    } else if (row->elementwise) {
      v->home = MGI_CU_AT_INLINE;
      for (int j = 0; j < o->n_in; j++) mgi_cu_longest(K, o->in[j].id, t);
    } else if (mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) {
      const uint32_t right = o->in[o->code == MG_OP_MATMUL ? 1 : 2].id;
      if (b->tensors[o->in[0].id].shape.rank < 2 || b->tensors[o->in[1].id].shape.rank < 2) {
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "matmul", "operands of rank 1");
        return 0;
      }
      for (int j = 0; j < o->n_in; j++) {
        const mg_shape *of = &b->tensors[o->in[j].id].shape;
        if (mg_rows_in(of->rank, of->dim) == of->rank - 2) continue;
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "its operand '%.60s' has several matrices a block", mgi_cu_tname(b, o->in[j].id));
        return 0;
      }
      mgi_cu_longest(K, o->in[0].id, t);
      mgi_cu_longest(K, right, t);
      v->of[rank - 2] = x->of[b->tensors[o->in[0].id].shape.rank - 2];
      v->of[rank - 1] = K->v[right].of[b->tensors[right].shape.rank - 1];
    } else if (mgi_cu_is_op(o, MG_OP_SUM, MG_OP_MAX)) {
      reduced = mgi_cu_reduced(K, o);
      memcpy(v->of, x->of, sizeof v->of);
      memset(&v->of[o->attr.dim], 0, sizeof *v->of);
      if (reduced < 0) v->home = MGI_CU_AT_INLINE;
    } else if (o->code == MG_OP_ACCUM) {
      memcpy(v->of, x->of, sizeof v->of);
      if (!mgi_cu_lifts(K, o)) v->home = MGI_CU_AT_INLINE;
      for (uint32_t a = 4; a < b->n_axes; a++) {
        const int to = o->map.to[a];
        if (to != MG_MAP_NONE && to >= 0) mgi_cu_put_together(K, o->in[0].id, to, a, &v->of[to]);
      }
    } else if (row->moves) {
      const mg_shape *of = &b->tensors[o->in[0].id].shape;
      v->home = MGI_CU_AT_INLINE;
      for (int d = 0; d < rank; d++) {
        const int same = mg_op_along(o->code) && d != o->attr.dim ? d : o->code == MG_OP_TRANSPOSE ? o->attr.perm[d] : -1;
        if (same >= 0) v->of[d] = x->of[same];
      }
      if (o->code == MG_OP_RESHAPE && mg_moves_how(o, of, &i->shape) == MG_MOVES_NOTHING) {
        if (rank > 1 && v->rows > 1) v->of[rows] = x->rr;
        if (rank > 0) v->of[rank - 1] = x->cr;
      }
    } else {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "the operator neither moves elements nor is one that the emitter computes");
      return 0;
    }
    if (rank > 1) v->rr = v->of[rows];
    if (rank > 0) v->cr = v->of[rank - 1];
  }
  return 1;
}
/* Who the warps are.  0 if that cannot be. */
MGI_FN int mgi_cu_warps(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  mg_kernel_plan p = mgi_cu_plan(K);
  if (b->threads < 32 || b->threads > 1024 || b->threads % 32) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "threads=%d: want a multiple of 32 between 32 and 1024", b->threads);
    return 0;
  }
  K->threads = b->threads;
  const int fit = mg_plan_warps(b, &K->flat, &p);
  K->wm = p.warps_m;
  K->wn = p.warps_n;
  K->wk = p.warps_k;
  if (!fit)
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "the plan's warps %d x %d x %d are not the %d warps of threads=%d",
                     K->wm, K->wn, K->wk, b->threads / 32, b->threads);
  return fit;
}
/* What does not depend on the layout. */
MGI_FN void mgi_cu_analyse(mgi_cu_kernel *K) {
  if (K->em->st == MG_OK) K->em->st = mg_plan_check(K->b, K->name, K->em->e);
  if (K->em->st != MG_OK || !mgi_cu_extents(K)) return;
  if (!mg_flat_of(K->b, &K->flat)) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "it has more than %d operators", MG_FLAT_OPS);
    return;
  }
  mgi_cu_merge_analyse(K);
  for (uint32_t t = 1; t < K->b->n_tensors; t++) K->v[t].in_place = mg_flat_in_place(&K->flat, mgi_cu_place(K, t));
  if (!mgi_cu_warps(K)) return;
  mgi_cu_chain_analyse(K);
  mgi_cu_group_analyse(K);
  mgi_cu_own_analyse(K);
  mgi_cu_copies_analyse(K);
  mgi_cu_trails_analyse(K);
  mgi_cu_share_analyse(K);
  mgi_cu_seen_analyse(K);
  const int strip = mg_flat_strip(&K->flat, K->threads);
  K->strip = mgi_cu_at_place(K, strip);
  mg_flat_kept(&K->flat, K->threads, strip, K->beside);
  mgi_cu_halves_analyse(K);
}

/* ------------------------------------------------------------------------------------------------- >>schedule
   The steps of a scope, as a graph without cycles: i after j, and, where i reads in shared memory what j writes there, a
   barrier between them.  A loop begins with a barrier of its own, so it is one for what stands before it too.

   The fewest barriers: between two of them everything runs that can; with nothing left to run, a loop comes next if one
   can, else a barrier.  Running a step that needs nothing never hurts, as it only adds to what is done; a loop first costs
   nothing, as it has to come, and whatever it would have separated later a barrier separates for the same price.  Which of
   several loops comes first, or whether a load is waited for first, is tried out.  Loads under way arrive in their order: a
   node that reads one waits for it and for those before it, with a barrier after; of the ready ones the node that waits for
   the latest goes first.

   Loads are no steps where they go out ahead; else each comes no earlier than what is written before it.  Three schedules
   are compared: `written`, in the order of the text; `depth`, with the fewest barriers; and `room`, the same where pieces
   share addresses only if more blocks of the grid fit an SM by it.  The plan names one; else the first with the fewest
   barriers counts that takes no more shared memory than `written`. */
enum { MGI_CU_NODES = 64 };
typedef struct mgi_cu_dag {
  int n, loops;
  uint64_t after[MGI_CU_NODES], apart[MGI_CU_NODES]; /* sets of nodes; apart: with a barrier between */
  uint64_t load, loop;
  int need[MGI_CU_NODES];    /* loads that are under way have numbers: the last one that the node reads; 0: none */
  int brings[MGI_CU_NODES];  /* LOOP: what has arrived when it begins */
} mgi_cu_dag;

MGI_FN int mgi_cu_dag_run(const mgi_cu_dag *d, uint64_t done, uint64_t fresh, int arrived, int n, int barriers, int best, int *order, int *out) {
  const uint64_t all = d->n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << d->n) - 1;
  while (barriers < best) {
    for (int pass = 0; pass < 2; pass++) /* loads first */
      for (int k = 0; k < d->n; k++) {
        const uint64_t bit = (uint64_t)1 << k;
        if ((done & bit) || (d->loop & bit) || (!pass && !(d->load & bit)) || (d->after[k] & ~done) || (d->apart[k] & fresh) || d->need[k] > arrived) continue;
        done |= bit, fresh |= bit;
        order[n++] = k;
        pass = 0, k = -1;
      }
    if (done == all) {
      memcpy(out, order, (size_t)n * sizeof *order);
      return barriers;
    }
    int next = -1, ready = 0, many = 0;
    for (int k = 0; k < d->n; k++) { /* who waits for the latest load goes first: the others' have arrived then */
      if ((done >> k & 1) || (d->after[k] & ~done)) continue;
      if (d->loop >> k & 1) ready++;
      else if (d->need[k] > arrived && (next < 0 || d->need[k] > d->need[next])) next = k;
    }
    many = d->loops <= 5 && ready + (next >= 0) > 1;
    for (int k = 0; k < d->n && ready; k++) {
      if (!(d->loop >> k & 1) || (done >> k & 1) || (d->after[k] & ~done)) continue;
      const int here = d->brings[k] > arrived ? d->brings[k] : arrived;
      order[n] = k;
      best = mgi_cu_dag_run(d, done | (uint64_t)1 << k, (uint64_t)1 << k, here, n + 1, barriers, best, order, out);
      if (!many) return best;
    }
    if (ready && next < 0) return best;
    barriers++;
    fresh = 0;
    if (next < 0) continue;
    arrived = d->need[next];
    order[n++] = next;
    done |= (uint64_t)1 << next;
    fresh = (uint64_t)1 << next;
  }
  return best;
}
/* The order of the nodes with the fewest barriers, and their number. */
MGI_FN int mgi_cu_dag_order(const mgi_cu_dag *d, int *out) {
  int order[MGI_CU_NODES];
  return mgi_cu_dag_run(d, 0, 0, 0, 0, 0, 1 << 20, order, out);
}


/* The loop that stands before operator k, the outermost there, or 0. */
MGI_FN uint32_t mgi_cu_loop_before(const mg_graph *b, uint32_t k) {
  uint32_t loop = 0;
  for (uint32_t j = k - 1; j > 0 && !loop; j--) loop = b->ops[j].scope;
  while (loop && b->axes[loop].parent) loop = b->axes[loop].parent;
  return loop;
}
/* Whether load k, which stands in no loop, goes out ahead: before the first loop, or with the first stages of the loop before it. */
MGI_FN int mgi_cu_goes_ahead(const mgi_cu_kernel *K, uint32_t k) {
  const mg_graph *b = K->b;
  int ring = 0;
  if (!K->ahead || K->late[k] || !mgi_cu_brings(K, &b->ops[k]) || b->ops[k].scope || mgi_cu_unread(K, k)) return 0;
  const uint32_t loop = mgi_cu_loop_before(b, k);
  for (uint32_t j = 1; j < b->n_ops && loop; j++) ring |= b->ops[j].scope == loop && mgi_cu_brings(K, &b->ops[j]);
  return !ring || K->stages > 1;
}
/* Whether writing operator k writes anything; values that are inlined, and loads of a ring, do not. */
MGI_FN int mgi_cu_is_step(const mgi_cu_kernel *K, const mgi_cu_val_info *fresh, uint32_t k) {
  const mg_op_node *o = &K->b->ops[k];
  if (o->code == MG_OP_LOAD) return !o->scope && !mgi_cu_made(K, o) && !mgi_cu_goes_ahead(K, k) && !mgi_cu_unread(K, k);
  if (mgi_cu_is_op(o, MG_OP_SUM, MG_OP_MAX)) return fresh[o->out[0].id].home != MGI_CU_AT_INLINE && !mgi_cu_own_ring(K, o->scope);
  if (o->code == MG_OP_ACCUM) return (mgi_cu_lifts(K, o) && fresh[o->in[0].id].in_place) || mgi_cu_merges(K, o);
  return o->code == MG_OP_STORE || mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL) || fresh[o->out[0].id].settles != 0 || K->tiled[k];
}
/* What operator k leaves behind is read in shared memory. */
MGI_FN int mgi_cu_leaves_shared(const mgi_cu_kernel *K, const mgi_cu_val_info *fresh, uint32_t k) {
  const mg_op_node *o = &K->b->ops[k];
  const mgi_cu_val_info *v = &fresh[o->out[0].id];
  if (o->code == MG_OP_LOAD) return !mgi_cu_made(K, o) && !mgi_cu_may_live(K, o->out[0].id, MG_AT_DIRECT);
  if (o->code == MG_OP_ACCUM && fresh[o->in[0].id].in_place) return mgi_cu_leaves_shared(K, fresh, K->b->tensors[o->in[0].id].op);
  if (mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) return (v->chain ? K->wn : K->wk) > 1;
  if (K->strip && K->tiled[k]) return 0; /* a strip's registers */
  return !v->settles;
}

/* The nodes of one scope, on one side of the merge. */
typedef struct mgi_cu_scope {
  mgi_cu_dag dag;
  mgi_cu_entry node[MGI_CU_NODES];
  const mgi_cu_val_info *fresh;
  uint32_t scope;
  int late;
} mgi_cu_scope;

/* The loop right inside of `scope` that `inner` is in, or 0. */
MGI_FN uint32_t mgi_cu_child(const mg_graph *b, uint32_t inner, uint32_t scope) {
  uint32_t a = inner;
  while (a && b->axes[a].parent != scope) a = b->axes[a].parent;
  return a;
}
/* Node i reads value `place`: it comes after what makes that. */
typedef struct mgi_cu_reader { const mgi_cu_kernel *K; mgi_cu_scope *S; int i; } mgi_cu_reader;
MGI_FN int mgi_cu_look_read(const mg_flat *k, int place, void *what) {
  const mgi_cu_kernel *K = ((const mgi_cu_reader *)what)->K;
  mgi_cu_scope *S = ((const mgi_cu_reader *)what)->S;
  const int i = ((const mgi_cu_reader *)what)->i;
  const uint32_t p = (uint32_t)place + 1, t = mgi_cu_at_place(K, place + 1);
  const mg_op_node *o = &K->b->ops[p];
  (void)k;
  for (int j = 0; j < S->dag.n; j++)
    if (j != i && S->node[j].tensor == t) {
      S->dag.after[i] |= (uint64_t)1 << j, S->dag.apart[i] |= (uint64_t)1 << j;
      return 0;
    }
  for (int j = 0; j < S->dag.n; j++) {
    const mgi_cu_entry *n = &S->node[j];
    const int loop = !n->op && !n->tensor;
    if (j == i || n->tensor || (loop ? o->scope == S->scope || mgi_cu_child(K->b, o->scope, S->scope) != n->scope : n->op != p)) continue;
    S->dag.after[i] |= (uint64_t)1 << j;
    if (!loop && mgi_cu_leaves_shared(K, S->fresh, p)) S->dag.apart[i] |= (uint64_t)1 << j;
  }
  const uint32_t with = !S->scope && mgi_cu_goes_ahead(K, p) ? mgi_cu_loop_before(K->b, p) : 0;
  for (int j = 0; j < S->dag.n && with; j++) /* the loop that the load goes out with */
    if (j != i && !S->node[j].op && !S->node[j].tensor && S->node[j].scope == with) S->dag.after[i] |= (uint64_t)1 << j;
  if (!S->scope && mgi_cu_goes_ahead(K, p) && mgi_cu_leaves_shared(K, S->fresh, p)) {
    int number = 1;
    for (uint32_t k = 1; k < p; k++) number += mgi_cu_goes_ahead(K, k);
    if (number > S->dag.need[i]) S->dag.need[i] = number;
  }
  if (mgi_cu_is_step(K, S->fresh, p) || o->code == MG_OP_LOAD) return 0;
  if (o->code == MG_OP_ACCUM && mgi_cu_lifts(K, o)) { /* a loop joins it, in a tile */
    const uint32_t child = mgi_cu_child(K->b, K->b->tensors[o->in[0].id].scope, S->scope);
    for (int j = 0; j < S->dag.n; j++)
      if (j != i && child && !S->node[j].op && !S->node[j].tensor && S->node[j].scope == child) S->dag.after[i] |= (uint64_t)1 << j, S->dag.apart[i] |= (uint64_t)1 << j;
    return 0;
  }
  return -1;
}
/* Node i reads tensor t: it comes after what makes t's leaves. */
MGI_FN void mgi_cu_node_reads(const mgi_cu_kernel *K, mgi_cu_scope *S, int i, uint32_t t) {
  mgi_cu_reader r = {K, S, i};
  mg_flat_finds(&K->flat, mgi_cu_place(K, t), mgi_cu_look_read, &r);
}
/* Appends the steps of `scope` to K->order, scheduled; 0 if there are too many. */
MGI_FN int mgi_cu_schedule_scope(mgi_cu_kernel *K, const mgi_cu_val_info *fresh, uint32_t scope, int late) {
  const mg_graph *b = K->b;
  mgi_cu_scope *S = (mgi_cu_scope *)calloc(1, sizeof *S);
  int order[MGI_CU_NODES], ok = S != NULL;
  if (!S) return 0;
  S->fresh = fresh;
  S->scope = scope;
  S->late = late;
  for (uint32_t k = 1; k < b->n_ops && ok; k++) {
    mgi_cu_entry n = {k, 0, scope, MG_F32};
    if (K->late[k] != late) continue;
    if (b->ops[k].scope != scope) {
      n.op = 0;
      n.scope = mgi_cu_child(b, b->ops[k].scope, scope);
      for (int j = 0; j < S->dag.n; j++)
        if (!S->node[j].op && !S->node[j].tensor && S->node[j].scope == n.scope) n.scope = 0;
      if (!n.scope) continue;
    } else if (!mgi_cu_is_step(K, fresh, k)) continue;
    for (int w = 0; w < K->n_want && n.op; w++) { /* what this operator needs in a tile comes first */
      int there = 0;
      for (int j = 0; j < S->dag.n; j++) there |= S->node[j].tensor == K->want[w].tensor;
      if (K->want[w].op != k || K->want[w].scope != scope || there) continue;
      ok &= S->dag.n < MGI_CU_NODES - 1;
      if (!ok) break;
      S->node[S->dag.n] = K->want[w];
      S->node[S->dag.n++].op = 0;
    }
    ok &= S->dag.n < MGI_CU_NODES;
    if (!ok) break;
    if (!n.op && !mgi_cu_own_ring(K, n.scope)) S->dag.loop |= (uint64_t)1 << S->dag.n, S->dag.loops++;
    if (n.op && b->ops[k].code == MG_OP_LOAD) S->dag.load |= (uint64_t)1 << S->dag.n;
    S->node[S->dag.n++] = n;
  }
  for (int i = 0; i < S->dag.n && ok; i++) {
    const mgi_cu_entry *n = &S->node[i];
    if (n->op) {
      for (int j = 0; j < b->ops[n->op].n_in && b->ops[n->op].code != MG_OP_LOAD; j++) mgi_cu_node_reads(K, S, i, b->ops[n->op].in[j].id);
      if (b->ops[n->op].code == MG_OP_LOAD) /* not before what is written before it, other loads apart */
        S->dag.after[i] |= (((uint64_t)1 << i) - 1) & ~S->dag.load;
    } else if (n->tensor) mgi_cu_node_reads(K, S, i, n->tensor);
    else {
      for (uint32_t k = 1; k < b->n_ops; k++)
        for (int j = 0; j < b->ops[k].n_in && b->ops[k].code != MG_OP_LOAD; j++)
          if (b->ops[k].scope && K->late[k] == late && mgi_cu_child(b, b->ops[k].scope, scope) == n->scope) {
            const uint32_t t = b->ops[k].in[j].id;
            if (b->tensors[t].scope == scope || !mgi_cu_child(b, b->tensors[t].scope, n->scope)) mgi_cu_node_reads(K, S, i, t);
          }
      S->dag.after[i] &= ~((uint64_t)1 << i);
      if (!mgi_cu_own_ring(K, n->scope)) { /* it begins with a barrier, when all that was asked for before it is there */
        S->dag.apart[i] = 0;
        S->dag.need[i] = 0;
        for (uint32_t k = 1; k < b->n_ops && (!b->ops[k].scope || mgi_cu_child(b, b->ops[k].scope, scope) != n->scope) && !scope; k++)
          S->dag.brings[i] += mgi_cu_goes_ahead(K, k);
      }
    }
  }
  for (int i = 0; i < S->dag.n && ok; i++)
    for (int j = 0; j < S->dag.n; j++)
      if (S->node[i].op && K->sooner[S->node[i].op] && K->sooner[S->node[i].op] == S->node[j].op) S->dag.after[j] |= (uint64_t)1 << i;
  if (ok && mgi_cu_dag_order(&S->dag, order) == 1 << 20) ok = 0;
  for (int i = 0; i < S->dag.n && ok; i++) {
    const mgi_cu_entry *n = &S->node[order[i]];
    K->order[K->n_order++] = *n;
    if (!n->op && !n->tensor) ok = mgi_cu_schedule_scope(K, fresh, n->scope, late);
  }
  free(S);
  return ok;
}
/* Whether there is a leaf that is no load of loop x. */
MGI_FN int mgi_cu_look_no_load(const mg_flat *k, int i, void *what) {
  const mgi_cu_wanted *w = (const mgi_cu_wanted *)what;
  const int code = k->op[i].code;
  if (code == MG_OP_LOAD) return w->K->b->ops[i + 1].scope != w->x;
  return mgi_cu_home_of(w, i)->home != MGI_CU_AT_INLINE || code >= MG_OP_TABLE_END ? 1 : -1;
}
/* 1 if operator k is a sum or maximum, of each iteration's own, of values that are computed from loads of its loop
   alone. */
MGI_FN int mgi_cu_of_loads(mgi_cu_kernel *K, const mgi_cu_val_info *fresh, uint32_t k) {
  const mg_op_node *o = &K->b->ops[k];
  mgi_cu_wanted w = {K, fresh, o->scope};
  if (!mgi_cu_is_op(o, MG_OP_SUM, MG_OP_MAX) || fresh[o->out[0].id].in_place || fresh[o->out[0].id].chain) return 0;
  return !mg_flat_finds(&K->flat, mgi_cu_place(K, o->in[0].id), mgi_cu_look_no_load, &w);
}
/* Fills in K->order.  0 if it is not to be had so. */
MGI_FN int mgi_cu_schedule(mgi_cu_kernel *K, const mgi_cu_val_info *fresh, int how) {
  const mg_graph *b = K->b;
  K->n_order = 0;
  for (int late = 0; late < 2; late++) {
    if (late) K->merge_at = K->n_order;
    if (how != MG_SCHEDULE_WRITTEN) {
      if (!mgi_cu_schedule_scope(K, fresh, 0, late)) return 0;
      continue;
    }
    uint32_t in = 0;
    int first = K->n_order;
    for (uint32_t k = 1; k < b->n_ops; k++) {
      const mgi_cu_entry step = {k, 0, b->ops[k].scope, MG_F32}, enter = {0, 0, b->ops[k].scope, MG_F32};
      if (K->late[k] != late) continue;
      if (b->ops[k].scope != in) first = K->n_order;
      for (uint32_t j = k + 1; j < b->n_ops; j++) {
        const mgi_cu_entry store = {j, 0, b->ops[j].scope, MG_F32};
        if (K->sooner[j] == k) K->order[K->n_order++] = store;
      }
      if (K->sooner[k] && K->sooner[k] < k) continue; /* it is there */
      if (mgi_cu_is_step(K, fresh, k) || (b->ops[k].n_out && mgi_cu_pointwise(K, &b->ops[k]))) K->order[K->n_order++] = step;
      else if (b->ops[k].scope && b->ops[k].scope != in) K->order[K->n_order++] = enter, first = K->n_order;
      in = b->ops[k].scope;
      if (in && !K->by_group && mgi_cu_is_step(K, fresh, k) && mgi_cu_of_loads(K, fresh, k)) { /* before products, which need not wait for its barrier; measured: behind those of warpgroups */
        for (int j = K->n_order - 1; j > first; j--) K->order[j] = K->order[j - 1];
        K->order[first++] = step;
      }
    }
  }
  return 1;
}

/* What an accumulator that an operator feeds in place has when its loop is done, to where it is read. */
MGI_FN void mgi_cu_accum_done(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  const uint32_t in = o->in[0].id, t = o->out[0].id;
  if (K->v[t].var[0]) return; /* before, with another */
  mgi_cu_quote(K, o);
  if (mgi_cu_is_op(mgi_cu_producer(K, in), MG_OP_SUM, MG_OP_MAX)) mgi_cu_reduce_done(K, K->b->tensors[in].op, t);
  else mgi_cu_acc_done(K, in, t);
}
/* In a ring of warpgroups: the entry of the schedule behind product i that is a sum of squares, if nothing is written between; it
   takes nothing of the product, so that warps multiply for it while the warpgroup's product runs.  Else 0. */
MGI_FN int mgi_cu_squares_next(const mgi_cu_kernel *K, int i) {
  const mgi_cu_entry *n = &K->order[i];
  int swapped;
  if (!n->op || K->parts[n->scope] != MGI_CU_GROUP || K->b->ops[n->op].code != MG_OP_MATMUL || K->v[K->b->ops[n->op].out[0].id].chain) return 0;
  for (int j = i + 1; j < K->n_order && K->order[j].op && K->order[j].scope == n->scope; j++) {
    const mg_op_node *o = &K->b->ops[K->order[j].op];
    if (o->code == MG_OP_SUM) return mgi_cu_squares(K, K->order[j].op, &swapped) ? j : 0;
    if ((o->code != MG_OP_SQR && o->code != MG_OP_MUL) || K->v[o->out[0].id].home != MGI_CU_AT_INLINE || K->v[o->out[0].id].settles || K->tiled[K->order[j].op]) return 0;
  }
  return 0;
}
/* Writes declarations and body for the schedule so far, without what follows from the layout. */
MGI_FN void mgi_cu_pass(mgi_cu_kernel *K, const mgi_cu_val_info *fresh) {
  const mg_graph *b = K->b;
  mgi_cu_ring ring[MG_MAX_AXES + 1];
  memcpy(K->v, fresh, b->n_tensors * sizeof *fresh);
  mg_memory_clear(&K->mem);
  K->registers = 0;
  for (uint32_t t = 1; t < b->n_tensors; t++)
    if (K->rule[t] != MG_AT_SETTLE) K->rule[t] = MG_AT_PLAIN;
  K->decl.n = K->body.n = 0;
  K->loop = 0;
  memset(ring, 0, sizeof ring);
  snprintf(K->pad, sizeof K->pad, "  ");
  K->merge_open = 1;
  K->merge_bytes = 0;
  K->shift_declared = K->agreed = K->shift_part = K->sends = 0;
  K->weights_obj = K->undo_obj = -1;
  K->waited = 0;
  K->takes.n = 0;
  if (K->merged && K->cluster) {
    const int obj = mgi_cu_piece_new(K, 8, "all");
    mgi_cu_note(K, MG_STEP_ALWAYS, obj, 0);
    mgi_cu_str_put(&K->decl, "  mg_phase *const all = (mg_phase *)(mg_shared() + %s);\n", K->place[obj]);
    mgi_cu_line(K, "mg_cluster_opens(all);");
  }
  if (K->owners) mgi_cu_str_put(&K->decl, "  typedef mg_owners<%d, %d, %s> owners;\n", K->own_rows, K->own_cols, K->group_size);
  mgi_cu_start_loads(K, ring);
  K->behind = 0;
  for (int i = 0; i <= K->n_order && K->em->st == MG_OK; i++) {
    const mgi_cu_entry end = {0, 0, 0, MG_F32}, *n = i < K->n_order ? &K->order[i] : &end;
    const uint32_t k = n->op;
    const mg_op_node *o = &b->ops[k];
    if (K->merged && i == K->merge_at) {
      if (K->loop) mgi_cu_enter(K, 0, ring);
      mgi_cu_merge_done(K);
      K->behind = 1;
    }
    if (n->scope != K->loop || (!k && !n->tensor)) mgi_cu_enter(K, n->scope, ring);
    K->writing = k;
    if (n->tensor && !K->v[n->tensor].copy) mgi_cu_materialise(K, n->tensor, n->type);
    if (!k || K->em->st != MG_OK) continue;
    switch (o->code) {
      case MG_OP_LOAD: if (!K->v[o->out[0].id].var[0] && !mgi_cu_unread(K, k)) mgi_cu_load_step(K, k); break; /* not yet under way */
      case MG_OP_MATMUL: case MG_OP_CONCAT_MATMUL:
        if (k == K->leads) break; /* where the step before ends */
        K->meanwhile = mgi_cu_squares_next(K, i);
        mgi_cu_matmul_step(K, k);
        if (!K->meanwhile) break;
        mgi_cu_reduce_step(K, K->order[i = K->meanwhile].op);
        mgi_cu_line(K, "mg_group_wait(acc_%s.c);", mgi_cu_tname(b, o->out[0].id));
        K->meanwhile = 0;
        break;
      case MG_OP_SUM: case MG_OP_MAX: mgi_cu_reduce_step(K, k); break;
      case MG_OP_STORE: mgi_cu_store_step(K, k, mg_ops_before(b, k, MG_OP_STORE)); break;
      case MG_OP_ACCUM: {
        uint32_t in = o->in[0].id;
        const int merges = mgi_cu_merges(K, o);
        if (K->v[o->out[0].id].kept) break;
        if (mgi_cu_lifts(K, o) && K->v[in].in_place) {
          mgi_cu_accum_done(K, k);
          for (uint32_t j = 1; j < b->n_ops && merges && mgi_cu_own_ring(K, b->tensors[in].scope); j++) /* all warps' parts, then one barrier for all */
            if (b->ops[j].code == MG_OP_ACCUM && mgi_cu_merges(K, &b->ops[j]) && mgi_cu_lifts(K, &b->ops[j]) && b->tensors[b->ops[j].in[0].id].scope == b->tensors[in].scope && K->v[b->ops[j].in[0].id].in_place)
              mgi_cu_accum_done(K, j);
        } else if (merges) mgi_cu_quote(K, o);
        if (merges) mgi_cu_merge_step(K, k, mgi_cu_lifts(K, o) ? o->out[0].id : in);
        break;
      }
      default: {
        const uint32_t t = o->out[0].id;
        const int was = K->v[t].copy;
        if (K->v[t].settles) mgi_cu_settle_step(K, t);
        else if (mgi_cu_lives(K, t, MG_AT_ONCE)) mgi_cu_materialise(K, t, b->tensors[t].dtype);
        else if (mgi_cu_lives(K, t, MG_AT_KEPT)) mgi_cu_kept_step(K, t);
        else if (mgi_cu_pointwise(K, o)) mgi_cu_vector_step(K, t);
        if (!was && K->v[t].copy) K->tiled[k] = 1;
        break;
      }
    }
  }
  K->writing = 0;
}
/* One schedule, written out, and its layout.  0 if it is not to be had. */
MGI_FN int mgi_cu_try(mgi_cu_kernel *K, const mgi_cu_val_info *fresh, int how) {
  const int wants = K->n_want;
  K->how = how;
  K->roomy = how == MG_SCHEDULE_ROOM;
  if (K->em->st != MG_OK || !mgi_cu_schedule(K, fresh, how)) return 0;
  mgi_cu_pass(K, fresh);
  if (how) K->n_want = wants; /* those of the first schedule count */
  if (K->em->st == MG_OK) mgi_cu_lay_out(K);
  return K->em->st == MG_OK;
}
/* Schedule and layout for K->stages: as the plan has it, else as written, or another that is better by the rule above. */
MGI_FN void mgi_cu_decide(mgi_cu_kernel *K, const mgi_cu_val_info *fresh) {
  const int given = mg_plan_says(K->b, MG_PLAN_SCHEDULE, NULL);
  const int64_t limit = K->em->machine.shared_per_block;
  int best = MG_SCHEDULE_WRITTEN, at = MG_SCHEDULE_WRITTEN;
  K->n_want = 0;
  memset(K->tiled, 0, K->b->n_ops);
  if (!mgi_cu_try(K, fresh, MG_SCHEDULE_WRITTEN)) return;
  const int64_t room = K->mem.bytes;
  int64_t meets = K->mem.barriers;
  for (int how = MG_SCHEDULE_WRITTEN + 1; how < MG_SCHEDULE_COUNT; how++) {
    if (given >= 0 && given != how) continue;
    const int had = mgi_cu_try(K, fresh, how);
    at = how;
    if (K->em->st != MG_OK) return;
    if (!had && given == how) mgi_cu_refuse(K, MG_PLAN_SCHEDULE, NULL, given, "more than %d steps in one scope", (int)MGI_CU_NODES);
    if (!had || (given < 0 && (K->mem.bytes > room || room > limit || K->mem.barriers >= meets))) continue;
    best = how;
    meets = K->mem.barriers;
  }
  if (at != best) mgi_cu_try(K, fresh, best);
}

/* How many tiles of a load there are at once: all stages of its ring, of every warp that has its own. */
MGI_FN int mgi_cu_tiles_alive(const mgi_cu_kernel *K, const mg_op_node *load) {
  if (!load->scope) return 1;
  return K->stages * (mgi_cu_own_ring(K, load->scope) ? K->wk : 1);
}
/* A kernel that does not fit: some of its tiles lie another way, which takes less; the least that it costs.  0 if nothing helps. */
MGI_FN int mgi_cu_pack(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  const mg_kernel_plan p = mgi_cu_plan(K);
  mgi_cu_layout L;
  uint32_t tile[MGI_CU_TILES];
  uint8_t way[MGI_CU_TILES];
  int obj[MGI_CU_TILES], changed = 0;
  L.n = L.rows = 0;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->code != MG_OP_LOAD || K->v[o->out[0].id].home != MGI_CU_AT_TILE) continue;
    const uint32_t t = o->out[0].id;
    const mg_tile_form T = mgi_cu_tile_of(K, k);
    const int64_t now = mg_tile_bytes(&T, K->way[t]);
    uint8_t banned = mg_flat_banned(&K->flat, &p, &K->chains, &K->rings, (int)k - 1, MG_UNLESS_PLANNED);
    int64_t trips = 1;
    int others = 0;
    for (int w = 0; w < MG_IN_COUNT; w++) {
      if (w == K->way[t]) banned &= (uint8_t)~(1u << w);
      else if (mg_tile_bytes(&T, w) >= now) banned |= (uint8_t)(1u << w);
      others += !(banned >> w & 1);
    }
    if (others == 1) continue;
    if (L.n == MGI_CU_TILES) return 0;
    for (uint32_t a = o->scope; a && trips < 1 << 24; a = b->axes[a].parent) trips *= b->axes[a].extent;
    tile[L.n] = t;
    obj[L.n] = K->v[t].obj >= 0 ? K->v[t].obj : K->ring_obj[o->scope];
    mgi_cu_layout_add(&L, &T, banned, trips, mgi_cu_tiles_alive(K, o));
  }
  for (int k = 0; k < K->mem.n; k++) { /* a row where something begins: there the most is alive */
    int64_t room = K->em->machine.shared_per_block;
    int again = 0;
    for (int j = 0; j < k; j++) again |= K->mem.piece[j].begin == K->mem.piece[k].begin;
    for (int j = 0; j < K->mem.n; j++) room -= K->mem.piece[j].begin <= K->mem.piece[k].begin && K->mem.piece[k].begin <= K->mem.piece[j].end ? K->mem.piece[j].bytes : 0;
    if (again || room >= 0) continue;
    if (L.rows == MGI_CU_ROWS) return 0;
    for (int j = 0; j < L.n; j++)
      if (K->mem.piece[obj[j]].begin <= K->mem.piece[k].begin && K->mem.piece[k].begin <= K->mem.piece[obj[j]].end) L.alive[j] |= (uint64_t)1 << L.rows, room += L.bytes[j][K->way[tile[j]]];
    L.room[L.rows++] = room;
  }
  if (!L.rows || mgi_cu_layout_solve(&L, way) < 0) return 0; /* no rows: it is the addresses that do not fit */
  for (int k = 0; k < L.n; k++) changed |= K->way[tile[k]] != way[k], K->way[tile[k]] = way[k];
  return changed;
}
/* Whose the rings of its loops are: a group's, else a warp's, where one loop has such a ring. */
MGI_FN int mgi_cu_ring_of(const mgi_cu_kernel *K) {
  int ring = MG_RING_BLOCK;
  for (uint32_t a = 4; a < K->b->n_axes; a++) {
    if (K->parts[a] == MGI_CU_GROUP) return MG_RING_GROUP;
    if (mgi_cu_own_ring(K, a) || K->parts[a]) ring = MG_RING_WARP;
  }
  return ring;
}
MGI_FN void mgi_cu_say(mgi_cu_kernel *K, mg_plan_key key, const char *name, int value) {
  char word[MG_PLAN_TEXT], text[MG_PLAN_TEXT];
  if (mg_plan_text(key, name, value, word, text)) mgi_cu_str_put(&K->em->plans, "%d %s %s\n", K->number, word, text);
}
/* What was decided of a key of the kernel's, in the plan's words; -1: nothing that has to be said.  No default: a compiler
   names the key of MG_PLAN_KEYS that is not here. */
MGI_FN int mgi_cu_decided(const mgi_cu_kernel *K, mg_plan_key key) {
  const int split = 32 * K->wm * K->wn * K->wk == K->threads; /* without a product nobody splits the warps */
  const int ring = mgi_cu_ring_of(K);
  switch (key) {
    case MG_PLAN_STAGES: return K->stages;
    case MG_PLAN_WARPS_M: return split ? K->wm : -1;
    case MG_PLAN_WARPS_N: return split ? K->wn : -1;
    case MG_PLAN_WARPS_K: return split ? K->wk : -1;
    case MG_PLAN_RING: return ring != MG_RING_BLOCK ? ring : -1;
    case MG_PLAN_MMA: return K->by_group ? MG_MMA_WARPGROUP : -1;
    case MG_PLAN_COPY: return K->apart ? MG_COPY_WARP : K->tensor_copies ? MG_COPY_TMA : -1;
    case MG_PLAN_SHARE: return K->share > 1 ? K->share : -1;
    case MG_PLAN_CHAIN: return K->trails ? MG_CHAIN_LATE : -1;
    case MG_PLAN_MERGE: return K->merged && !K->cluster ? MG_MERGE_WORKSPACE : -1;
    case MG_PLAN_AHEAD: return K->ahead ? -1 : 0;
    case MG_PLAN_SCHEDULE: return K->how;
    case MG_PLAN_AT:
    case MG_PLAN_IN:
    case MG_PLAN_WIDE:
    case MG_PLAN_STORE: /* of values: below, or as they were */
    case MG_PLAN_KEY_COUNT: break;
  }
  return -1;
}
/* Notes all that was decided, in the plan's words: emitted again with them, the kernel is the same. */
MGI_FN void mgi_cu_plan_say(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  for (int key = 0; key < MG_PLAN_KEY_COUNT; key++) {
    const int decided = mgi_cu_decided(K, (mg_plan_key)key);
    if (decided >= 0) mgi_cu_say(K, (mg_plan_key)key, NULL, decided);
  }
  for (uint32_t t = 1; t < b->n_tensors; t++)
    if (K->rule[t]) mgi_cu_say(K, MG_PLAN_AT, mgi_cu_tname(b, t), K->rule[t]);
  for (uint32_t t = 1; t < b->n_tensors; t++)
    if (K->way[t] != K->free[t]) mgi_cu_say(K, MG_PLAN_IN, mgi_cu_tname(b, t), K->way[t]);
}
/* The program's text with these plans, as far as a plan has room: what is left out is decided again the same way. */
MGI_FN mg_status mgi_cu_planned_text(mgi_cu_emit *em, char **text) {
  mg_graph *own = NULL;
  const char *at = mgi_cu_str_text(&em->plans);
  char key[72], value[72];
  int number, n, k = 0;
  mg_status s = em->plans.oom ? mg_fail(em->e, MG_NO_MEMORY, "mg_cuda_emit", "no memory for the plan") : mg_resize(em->g, NULL, NULL, &own, em->e);
  if (s != MG_OK) return s;
  for (uint32_t op = 1; op < own->n_ops; op++) {
    if (own->ops[op].code != MG_OP_GRAPH) continue;
    for (; sscanf(at, "%d %71s %71s%n", &number, key, value, &n) == 3 && number == k; at += n)
      if (own->ops[op].sub->n_plan < MG_MAX_PLAN || mg_plan_get(own->ops[op].sub, key)) mg_plan_set(own->ops[op].sub, key, value);
    k++;
  }
  s = mg_check(own, em->e); /* memory may have ended in a plan */
  if (s == MG_OK) s = mg_print(own, text, em->e);
  mg_graph_free(own);
  return s;
}
/* A kernel of block graph b that nothing is decided of yet; NULL without memory. */
MGI_FN mgi_cu_kernel *mgi_cu_kernel_new(mgi_cu_emit *em, const mg_graph *b, const uint32_t *above, int number, const char *name, const char (*counts)[400]) {
  mgi_cu_kernel *K = (mgi_cu_kernel *)calloc(1, sizeof *K);
  if (!K) return NULL;
  K->em = em;
  K->v = (mgi_cu_val_info *)calloc(b->n_tensors, sizeof *K->v);
  K->late = (uint8_t *)calloc(b->n_ops, 1);
  K->order = (mgi_cu_entry *)calloc(b->n_ops + MG_MAX_AXES + MGI_CU_WANTS, sizeof *K->order);
  K->sooner = (uint32_t *)calloc(b->n_ops, sizeof *K->sooner);
  K->undo = (uint8_t *)calloc(b->n_ops, 1);
  K->tiled = (uint8_t *)calloc(b->n_ops, 1);
  K->rule = (uint8_t *)calloc(b->n_tensors, 1);
  K->way = (uint8_t *)calloc(b->n_tensors, 2);
  K->free = K->way ? K->way + b->n_tensors : NULL;
  K->b = b;
  K->above = above;
  K->number = number;
  K->weights_obj = -1;
  K->dependent = mg_machine_can(&em->machine, MG_CAN_DEPENDENT_LAUNCH);
  uint32_t before = b->up_op;
  do before -= before > 0;
  while (number > 0 && before && mg_renames(em->g, before)); /* names stand between */
  K->follows = number > 0 && em->g->ops[before].code == MG_OP_GRAPH;
  K->lets_next = number >= 0 && mgi_cu_next_may(em->g, b->up_op);
  snprintf(K->name, sizeof K->name, "%.150s", name);
  for (uint32_t a = 1; a < b->n_axes; a++) {
    if (counts) snprintf(K->count[a], sizeof K->count[a], "%s", counts[a]);
    else if (a <= 3 && b->axes[a].extent == 1) snprintf(K->count[a], sizeof K->count[a], "1");
    else snprintf(K->count[a], sizeof K->count[a], "%.150s_K%d_%.100s", em->g->name, number, b->axes[a].name);
  }
  return K;
}
MGI_FN void mgi_cu_kernel_free(mgi_cu_kernel *K) {
  if (!K) return;
  free(K->decl.s);
  free(K->body.s);
  free(K->takes.s);
  mg_memory_free(&K->mem);
  free(K->v);
  free(K->late);
  free(K->order);
  free(K->sooner);
  free(K->undo);
  free(K->tiled);
  free(K->rule);
  free(K->way);
  free(K);
}
/* Decides what the plan leaves open, again with less until a block's shared memory is enough.  `fresh`: K->v as analysed. */
MGI_FN void mgi_cu_kernel_decide(mgi_cu_kernel *K, const mgi_cu_val_info *fresh) {
  mgi_cu_emit *em = K->em;
  const int stages = mg_plan_says(K->b, MG_PLAN_STAGES, NULL), ahead = mg_plan_says(K->b, MG_PLAN_AHEAD, NULL);
  const int given = stages > 0, want = given ? stages : MG_STAGES;
  if (em->st != MG_OK) return;
  K->ahead = ahead != 0;
  mgi_cu_layouts_analyse(K);
  for (K->stages = want; em->st == MG_OK;) {
    mgi_cu_decide(K, fresh);
    if (em->st != MG_OK || K->mem.bytes <= em->machine.shared_per_block) break;
    const int least = given || K->stages == 1;
    if (K->ahead && ahead < 0) K->ahead = 0; /* loads that are needed at different times may share addresses */
    else if (least && K->cluster && mg_plan_says(K->b, MG_PLAN_MERGE, NULL) < 0) K->cluster = K->owners = 0, K->ahead = ahead != 0, K->stages = want; /* the parts of a whole group may be too much for one block */
    else if (!least) K->ahead = ahead != 0, K->stages--;
    else if (!mgi_cu_pack(K))
      mgi_cu_emit_fail(em, MG_UNSUPPORTED, K->name, "a block takes %lld bytes of shared memory at %d stage%s, %s gives it %lld", (long long)K->mem.bytes, K->stages, K->stages == 1 ? "" : "s", em->machine.arch,
                    (long long)em->machine.shared_per_block);
  }
  if (em->st == MG_OK) mgi_cu_rules_obeyed(K);
  if (em->st == MG_OK && K->number >= 0) mgi_cu_plan_say(K);
}
/* The threads of a block, with those that only copy. */
MGI_FN int mgi_cu_launched_threads(const mgi_cu_kernel *K) { return K->threads + (K->apart ? MG_APART : 0); }
/* The loads of a kernel that has nothing but these in registers, and nothing but their tiles in shared memory; else 0. */
MGI_FN int mgi_cu_light_loads(const mgi_cu_kernel *K) {
  int tiles = 0;
  for (uint32_t t = 1; t < K->b->n_tensors; t++) tiles += mgi_cu_producer(K, t)->code == MG_OP_LOAD && K->v[t].home == MGI_CU_AT_TILE;
  return K->mem.n > tiles || K->registers ? 0 : mg_flat_read_in_stores(&K->flat);
}
/* What a block of K takes, all being decided. */
MGI_FN mg_kernel_takes mgi_cu_takes(const mgi_cu_kernel *K) {
  mg_kernel_takes takes = {mgi_cu_launched_threads(K), K->stages, K->mem.bytes, K->mem.barriers, K->registers, K->merged && !K->cluster, mgi_cu_light_loads(K), 0, 0};
  mg_blocks_at_once(&K->em->machine, K->flat.blocks, &takes);
  return takes;
}
/* Where kernel-level tensor t of that parameter is a displaced output: the statement that moves the pointer. */
MGI_FN void mgi_cu_displace(const mgi_cu_emit *em, mgi_cu_str *at, uint32_t t) {
  const int out = mgi_cu_output_of(em->g, t);
  if (out >= 0 && em->read.displaced >> out & 1) mgi_cu_str_put(at, "  p_%s += mg_ldg(words + %u);\n", em->g->tensors[t].name, (unsigned)em->g->n_symbols + (unsigned)out);
}
/* The tensors of K, as parameters, and what its launch gives for them: maps first.  moved: statements that pointers need. */
MGI_FN void mgi_cu_pass_tensors(mgi_cu_kernel *K, mgi_cu_str *s, mgi_cu_str *l, const char *maps, const char *map_args, mgi_cu_str *moved) {
  const mg_graph *b = K->b;
  char text[400];
  int params = 0, stores = 0;
  mgi_cu_str_put(s, "%s", maps);
  mgi_cu_str_put(l, "%s", map_args);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    uint32_t t = 0;
    if (mgi_cu_brings(K, o)) {
      t = mgi_cu_lies(K->em, mgi_cu_above(K, o->in[0]));
      for (uint32_t j = 1; j < k; j++)
        if (b->ops[j].code == MG_OP_LOAD && mgi_cu_lies(K->em, mgi_cu_above(K, b->ops[j].in[0])) == t) t = 0;
    }
    if (o->code == MG_OP_STORE) t = mgi_cu_above(K, b->up->ops[b->up_op].out[stores++]);
    if (!t) continue;
    mgi_cu_str_put(s, "%s%s%s *p_%s", params++ ? ", " : "", o->code == MG_OP_LOAD ? "const " : "", mg_type_row(K->em->g->tensors[t].dtype)->device, K->em->g->tensors[t].name);
    mgi_cu_str_put(l, ", %s", mgi_cu_pointer_text(K->em, t, text, sizeof text));
    mgi_cu_displace(K->em, moved, t);
  }
}
/* The room in the workspace for the parts of a merge and their tickets, and what the launch gives of it. */
MGI_FN void mgi_cu_pass_parts(mgi_cu_kernel *K, mgi_cu_str *s, mgi_cu_str *l) {
  mgi_cu_emit *em = K->em;
  const mg_graph *b = K->b;
  const char *n = em->g->name;
  const int number = K->number;
  mgi_cu_str_put(s, ", unsigned char *p_parts, uint32_t *p_tickets");
  mgi_cu_str_put(l, ", space + %s_PARTS_K%d, (uint32_t *)(space + %s_TICKETS_K%d)", n, number, n, number);
  mgi_cu_str_put(&em->spaces, "static constexpr size_t %s_TICKETS_K%d = %s;\n", n, number, em->space_end[0] ? em->space_end : "0");
  mgi_cu_str_put(&em->spaces, "static constexpr size_t %s_PARTS_K%d = %s_TICKETS_K%d + mg_round256((int64_t)4", n, number, n, number);
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > 1 && !(K->merged >> a & 1)) mgi_cu_str_put(&em->spaces, " * %s", K->count[a]);
  mgi_cu_str_put(&em->spaces, ");\nstatic constexpr size_t %s_MERGED_K%d = %s_PARTS_K%d + mg_round256((int64_t)%lld", n, number, n, number, (long long)K->merge_bytes);
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > 1) mgi_cu_str_put(&em->spaces, " * %s", K->count[a]);
  mgi_cu_str_put(&em->spaces, ");\n");
  snprintf(em->space_end, sizeof em->space_end, "%.120s_MERGED_K%d", n, number);
}
/* The buffer of shifts in the workspace that K reads, and the one that it fills. */
MGI_FN void mgi_cu_pass_shifts(mgi_cu_kernel *K, mgi_cu_str *s, mgi_cu_str *l) {
  mgi_cu_emit *em = K->em;
  for (int sends = 0; sends < 2; sends++) {
    const uint32_t from = sends ? K->sends ? K->b->up_op : 0 : K->weights_obj >= 0 ? K->sender : 0;
    char parts[400], dim[200];
    if (!from) continue;
    const int of = mg_ops_before(em->g, from, MG_OP_GRAPH);
    mgi_cu_str_put(s, sends ? ", mg_f32 *made_shifts" : ", const mg_f32 *read_shifts");
    mgi_cu_str_put(l, ", (mg_f32 *)(space + %s_SHIFTS_K%d)", em->g->name, of);
    if (!sends) continue;
    mgi_cu_str_put(&em->spaces, "static constexpr size_t %s_SHIFTS_K%d = %s;\nstatic constexpr size_t %s_SHIFTED_K%d = %s_SHIFTS_K%d + mg_round256((int64_t)4 * %s", em->g->name, of, em->space_end[0] ? em->space_end : "0", em->g->name, of, em->g->name, of,
                   mgi_cu_parts_text(em, from, parts, sizeof parts));
    for (int d = 0; d < em->g->tensors[em->sends.of[from].as].shape.rank - 1; d++)
      if (em->g->tensors[em->sends.of[from].as].shape.dim[d] != 1) mgi_cu_str_put(&em->spaces, " * %s", mgi_cu_dim_text(em, em->sends.of[from].as, d, dim, sizeof dim));
    mgi_cu_str_put(&em->spaces, ");\n");
    snprintf(em->space_end, sizeof em->space_end, "%.120s_SHIFTED_K%d", em->g->name, of);
  }
}
/* What emitted code calls symbol k: sym_n; a size computed of some by its number, as no symbol's name is one. */
MGI_FN const char *mgi_cu_symbol(const mg_graph *g, uint32_t k, char name[72]) {
  if (k < g->n_symbols) snprintf(name, 72, "sym_%s", g->symbol[k].name);
  else snprintf(name, 72, "sym_%u", (unsigned)k);
  return name;
}
/* Computed size k, of the symbols' values: 8*sym_n. */
MGI_FN void mgi_cu_computed(const mg_graph *g, uint32_t k, mgi_cu_str *out) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  for (const char *c = g->symbol[k].name; *c;) {
    const size_t n = strspn(c, letters);
    if (*c == '*') mgi_cu_str_put(out, " * ");
    else mgi_cu_str_put(out, "%s%.*s", n && (*c < '0' || *c > '9') ? "sym_" : "", (int)(n ? n : 1), c);
    c += n ? n : 1;
  }
}
/* 1 if anything is read in device memory beside the tensors. */
MGI_FN int mgi_cu_has_words(const mgi_cu_emit *em) { return (em->read.device | em->read.displaced) != 0; }
/* The sizes of a launch, as parameters of a kernel, and as what its launch gives; those of device memory as a pointer. */
MGI_FN void mgi_cu_pass_symbols(const mgi_cu_emit *em, mgi_cu_str *s, mgi_cu_str *l) {
  char name[72];
  for (uint32_t k = 0; k < mg_n_sizes(em->g); k++) {
    if (mgi_cu_made_of(em->g, k) & em->read.device) continue;
    mgi_cu_str_put(s, ", int64_t %s", mgi_cu_symbol(em->g, k, name));
    mgi_cu_str_put(l, ", %s", name);
  }
  if (!mgi_cu_has_words(em)) return;
  mgi_cu_str_put(s, ", const int64_t *words");
  mgi_cu_str_put(l, ", (const int64_t *)in[%u]", (unsigned)em->g->n_in);
}
/* Where a kernel begins: sizes that it reads in device memory, and what is computed of them. */
MGI_FN void mgi_cu_read_symbols(const mgi_cu_emit *em, mgi_cu_str *s) {
  char name[72];
  for (uint32_t k = 0; k < mg_n_sizes(em->g); k++) {
    if (!(mgi_cu_made_of(em->g, k) & em->read.device)) continue;
    mgi_cu_str_put(s, "  [[maybe_unused]] const int64_t %s = ", mgi_cu_symbol(em->g, k, name));
    if (k < em->g->n_symbols) mgi_cu_str_put(s, "mg_ldg(words + %u)", (unsigned)k);
    else mgi_cu_computed(em->g, k, s);
    mgi_cu_str_put(s, ";\n");
  }
}
/* A launch is written: NAME_info has it. */
MGI_FN void mgi_cu_launched(mgi_cu_emit *em, const char *name, const char *gx, const char *gy, const char *gz,
                            int threads, int64_t shared) {
  mgi_cu_str_put(&em->infos, "  {\"%s\", {%s, %s, %s}, %d, %lld},\n", name, gx, gy, gz, threads, (long long)shared);
  mgi_cu_str_put(&em->blocks, "%s%s, %s, %s", em->n_launches ? ", " : "", gx, gy, gz);
  em->n_launches++;
}
/* The kernel's text, its launch and its room in the workspace go into the file's.  all_axes: grid axes of extent 1 too. */
MGI_FN void mgi_cu_kernel_write(mgi_cu_kernel *K, int all_axes) {
  mgi_cu_emit *em = K->em;
  const mg_graph *b = K->b;
  mgi_cu_str *s = &em->kernels, *l = &em->launches, maps = {NULL, 0, 0, 0}, map_args = {NULL, 0, 0, 0}, moved = {NULL, 0, 0, 0};
  const int threads = mgi_cu_launched_threads(K);
  char size[3][400]; /* of a cluster */
  for (uint32_t a = 1; a <= 3; a++) snprintf(size[a - 1], sizeof size[0], "%s", (K->merged >> a & 1) && K->cluster ? K->count[a] : "1");
  if (K->share > 1) snprintf(size[K->share_axis - 1], sizeof size[0], "%d", K->share);
  if (K->tensor_copies) mgi_cu_copies_launch(K, &maps, l, &map_args);
  em->maps |= K->tensor_copies;
  const char *after = K->follows ? "1" : "early";
  mgi_cu_str_put(s, "/* Grid (%s, %s, %s), %d threads: warps %d x %d x %d (rows, columns, contraction); %lld bytes of shared memory. */\n", K->count[1], K->count[2], K->count[3], threads, K->wm, K->wn,
              K->wk, (long long)K->mem.bytes);
  const int blocks = mgi_cu_takes(K).blocks;
  if (K->dealt && blocks > 1)
    mgi_cu_emit_fail(em, MG_UNSUPPORTED, K->name, "registers are dealt out for one block a multiprocessor, not %d", blocks);
  if (blocks > 1) mgi_cu_str_put(s, "MG_KERNEL(%d, %d) void %s(", threads, blocks, K->name);
  else mgi_cu_str_put(s, "MG_KERNEL(%d) void %s(", threads, K->name);
  if (K->dependent)
    mgi_cu_str_put(l, "  rc = MG_LAUNCH_AFTER(%s, %s, %s, %s, %s, %s, %s, %s, %d, %lld, stream", after, K->name, K->count[1], K->count[2], K->count[3], size[0], size[1], size[2], threads, (long long)K->mem.bytes);
  else if ((K->merged && K->cluster) || K->share > 1)
    mgi_cu_str_put(l, "  rc = MG_LAUNCH_CLUSTER(%s, %s, %s, %s, %s, %s, %s, %d, %lld, stream", K->name, K->count[1], K->count[2], K->count[3], size[0], size[1], size[2], threads, (long long)K->mem.bytes);
  else mgi_cu_str_put(l, "  rc = MG_LAUNCH(%s, %s, %s, %s, %d, %lld, stream", K->name, K->count[1], K->count[2], K->count[3], threads, (long long)K->mem.bytes);
  mgi_cu_pass_tensors(K, s, l, mgi_cu_str_text(&maps), mgi_cu_str_text(&map_args), &moved);
  free(maps.s);
  free(map_args.s);
  const int alone = K->merged && !K->cluster; /* its blocks join in the workspace */
  if (alone) mgi_cu_pass_parts(K, s, l);
  mgi_cu_pass_shifts(K, s, l);
  mgi_cu_pass_symbols(em, s, l);
  if (K->dependent) {
    mgi_cu_str_put(s, ", int early");
    mgi_cu_str_put(l, ", %s", after);
  }
  mgi_cu_str_put(s, ") {\n%s", K->dependent ? "  // early 1: streamed inputs are asked for before the kernel before has ended\n" : "");
  mgi_cu_read_symbols(em, s);
  mgi_cu_str_put(s, "%s", mgi_cu_str_text(&moved));
  free(moved.s);
  for (uint32_t a = 1; a <= 3; a++) {
    char at[80];
    snprintf(at, sizeof at, "b_%.70s", b->axes[a].name);
    if (b->axes[a].extent == 1 && !all_axes) continue;
    if (mgi_cu_mentions(mgi_cu_str_text(&K->decl), at) || mgi_cu_mentions(mgi_cu_str_text(&K->body), at) ||
        (alone && mgi_cu_mentions(K->group, at)) || mgi_cu_mentions(K->seen, at))
      mgi_cu_block_write(K, s, a, blocks * em->machine.sms, at);
  }
  mgi_cu_str_put(s, "%s", K->seen);
  if (alone)
    mgi_cu_str_put(s, "  enum { MERGE = %lld }; // bytes of a block's parts\n  unsigned char *const parts = p_parts + (int64_t)(%s) * (%s) * MERGE;\n  uint32_t *const ticket = p_tickets + (%s);\n", (long long)K->merge_bytes,
                K->group, K->group_size, K->group);
  mgi_cu_places_write(K, s);
  mgi_cu_str_put(s, "%s", mgi_cu_str_text(&K->decl));
  mgi_cu_body_write(K, s);
  mgi_cu_str_put(s, "}\n\n");
  mgi_cu_str_put(l, ");\n  if (rc) return rc;\n");
  mgi_cu_launched(em, K->name, K->count[1], K->count[2], K->count[3], threads, K->mem.bytes);
  if (K->decl.oom || K->body.oom || s->oom || l->oom) mgi_cu_emit_fail(em, MG_NO_MEMORY, K->name, "no memory");
}
/* ---- what was decided, for those who ask */
MGI_FN const char *mgi_cu_lives_word(const mgi_cu_kernel *K, uint32_t t) {
  const mgi_cu_val_info *v = &K->v[t];
  const mg_op_node *o = mgi_cu_producer(K, t);
  if (K->rule[t] == MG_AT_STRIP) return "registers, its rows whole";
  if (K->rule[t] == MG_AT_SETTLE) return "fragments, for the next product";
  if (K->rule[t] == MG_AT_VECTOR) return K->strip ? "registers, once a row" : "shared memory, a vector";
  if (K->rule[t] == MG_AT_KEPT) return "registers, kept";
  if (v->settles) return "fragments of the product";
  switch (v->home) {
    case MGI_CU_AT_TILE: return o->code == MG_OP_LOAD && o->scope ? "shared memory, a ring" : "shared memory";
    case MGI_CU_AT_GLOBAL: return "device memory";
    case MGI_CU_AT_MADE: return "computed where it is read";
    case MGI_CU_AT_FRAGMENT: return "fragments";
    case MGI_CU_AT_PARTIAL: return "shared memory, parts of warps";
    case MGI_CU_AT_INLINE: return v->copy ? "shared memory, a copy" : "inline";
    default: return "accumulator";
  }
}
MGI_FN int64_t mgi_cu_shared_of(const mgi_cu_kernel *K, uint32_t t) {
  const mgi_cu_val_info *v = &K->v[t];
  const mg_op_node *o = mgi_cu_producer(K, t);
  const int obj = v->copy ? v->copy_obj : v->obj;
  if (!v->copy && v->home != MGI_CU_AT_TILE && v->home != MGI_CU_AT_PARTIAL) return 0;
  if (v->copy || o->code != MG_OP_LOAD || !o->scope) return obj >= 0 ? K->mem.piece[obj].bytes : 0; /* none: nobody read it */
  const mg_tile_form T = mgi_cu_tile_of(K, K->b->tensors[t].op);
  return mg_tile_bytes(&T, K->way[t]) * mgi_cu_tiles_alive(K, o);
}
MGI_FN void mgi_cu_facts_note(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  mg_cuda_kernel *f = &K->em->facts[K->number];
  f->takes = mgi_cu_takes(K);
  f->warps_m = K->wm;
  f->warps_n = K->wn;
  f->warps_k = K->wk;
  f->ring = mg_plan_word(MG_PLAN_RING, mgi_cu_ring_of(K));
  f->mma = K->by_group ? "warpgroup" : "warp";
  f->copy = mg_plan_word(MG_PLAN_COPY, K->apart ? MG_COPY_WARP : K->tensor_copies ? MG_COPY_TMA : MG_COPY_ASYNC);
  f->chain = mg_plan_word(MG_PLAN_CHAIN, K->trails ? MG_CHAIN_LATE : MG_CHAIN_NOW);
  f->dealt = K->dealt;
  f->merge = !K->merged ? "none" : K->cluster ? "cluster" : "workspace";
  f->schedule = mg_plan_word(MG_PLAN_SCHEDULE, K->how);
  f->value = (mg_cuda_value *)calloc(b->n_tensors, sizeof *f->value);
  if (!f->value) {
    mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory for the facts");
    return;
  }
  for (uint32_t t = 1; t < b->n_tensors; t++) {
    mg_cuda_value *v = &f->value[f->n_values++];
    snprintf(v->name, sizeof v->name, "%.60s", mgi_cu_tname(b, t));
    v->op = mgi_cu_op_name(b, mgi_cu_producer(K, t));
    v->lives = mgi_cu_lives_word(K, t);
    v->rows = K->v[t].rows;
    v->cols = K->v[t].cols;
    v->in_loop = mgi_cu_producer(K, t)->scope != 0;
    v->bytes = mgi_cu_shared_of(K, t);
  }
}
void mg_cuda_facts_free(mg_cuda_kernel *kernel, int n) {
  for (int k = 0; kernel && k < n; k++) free(kernel[k].value);
  free(kernel);
}
/* Emits block graph b as a kernel: op `owner` of em->g, or, with `above`, of a graph made for a library operator. */
MGI_FN void mgi_cu_kernel_of(mgi_cu_emit *em, const mg_graph *b, const uint32_t *above, int number, const char *name, const char (*counts)[400]) {
  mgi_cu_kernel *K = mgi_cu_kernel_new(em, b, above, number, name, counts);
  mgi_cu_val_info *fresh = (mgi_cu_val_info *)calloc(b->n_tensors, sizeof *fresh);
  if (!K || !fresh || !K->v || !K->late || !K->order || !K->sooner || !K->undo || !K->tiled || !K->rule || !K->way) mgi_cu_emit_fail(em, MG_NO_MEMORY, name, "no memory");
  else {
    mgi_cu_analyse(K);
    memcpy(fresh, K->v, b->n_tensors * sizeof *fresh);
    mgi_cu_kernel_decide(K, fresh);
    if (em->st == MG_OK && em->facts && number >= 0) mgi_cu_facts_note(K);
    if (em->st == MG_OK) mgi_cu_kernel_write(K, counts != NULL);
  }
  mgi_cu_kernel_free(K);
  free(fresh);
}

/* ---- operators at kernel level */

/* Whether the leading dimensions of operand t of a product of such a shape lie in memory as one: all or none of them, one behind the other. */
MGI_FN int mgi_cu_one_batch(const mgi_cu_emit *em, uint32_t t, const mg_shape *out) {
  const mg_shape *x = &em->g->tensors[t].shape;
  char dim[200], want[1700];
  int last = -1, found = 0, wanted = 0;
  for (int d = 0; d < out->rank; d++) wanted += mgi_cu_leads(out, d);
  for (int d = x->rank - 1; d >= 0; d--) {
    if (!mgi_cu_leads(x, d)) continue;
    if (last >= 0) {
      const mgi_cu_size outer = mgi_cu_stride(em, t, d), inner = mgi_cu_stride(em, t, last);
      if (mgi_cu_is_one(&inner)) return 0;
      snprintf(want, sizeof want, "(int64_t)%s * %s", mgi_cu_dim_text(em, t, last, dim, sizeof dim), inner.text + strcspn(inner.text, ")") + 1);
      if (strcmp(outer.text, want)) return 0;
    }
    last = d, found++;
  }
  return !found || found == wanted;
}
/* The number of products in a matmul's result of that tensor: of the elements of its leading dimensions. */
MGI_FN const char *mgi_cu_batches_text(const mgi_cu_emit *em, uint32_t t, char *out, size_t n) {
  const mg_shape *x = &em->g->tensors[t].shape;
  char dim[200];
  size_t used = 0;
  for (int d = 0; d < x->rank; d++)
    if (mgi_cu_leads(x, d)) used += (size_t)snprintf(out + used, used < n ? n - used : 0, "%s%s", used ? " * " : "", mgi_cu_dim_text(em, t, d, dim, sizeof dim));
  return used ? out : "1";
}
/* The call of cuBLAS before a matmul's own kernel, which becomes its else: 0 if cuBLAS has no such product.  `batch`: the
   output's last leading dimension that has more than one element, or -1. */
MGI_FN int mgi_cu_library_blas(mgi_cu_emit *em, const mg_op_node *o, int batch) {
  const mg_graph *g = em->g;
  mgi_cu_str *l = &em->launches;
  const mg_tensor_info *out = &g->tensors[o->out[0].id], *a = &g->tensors[o->in[0].id];
  char text[1400], dim[3][200];
  if (!mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_MATMUL) || mg_type_row(out->dtype)->cuda < 0) return 0;
  for (int side = 0; side < 2; side++) {
    const mg_tensor_info *x = &g->tensors[o->in[side].id];
    int r = x->shape.rank;
    if (x->fill || x->dtype != out->dtype) return 0;
    for (int d = 0; d < r; d++)
      if (x->shape.dim[d] > INT32_MAX) return 0;
    if (!mgi_cu_stride_is_one(em, o->in[side].id, r - 1) && !mgi_cu_stride_is_one(em, o->in[side].id, r - 2)) return 0;
    if (!mgi_cu_one_batch(em, o->in[side].id, &out->shape)) return 0;
  }
  for (int side = 0; side < 2; side++) mgi_cu_host_takes(em, o->in[side].id);
  mgi_cu_host_takes(em, o->out[0].id);
  int rank = out->shape.rank;
  mgi_cu_str_put(l, "  /* %s = matmul(%s, %s): by cuBLAS where it is found. */\n  if (mg_cublas(%s, %s, %s, %s, ", out->name, a->name, g->tensors[o->in[1].id].name, mg_type_row(out->dtype)->id,
                 mgi_cu_dim_text(em, o->out[0].id, rank - 2, dim[0], sizeof dim[0]), mgi_cu_dim_text(em, o->out[0].id, rank - 1, dim[1], sizeof dim[1]),
                 mgi_cu_dim_text(em, o->in[0].id, a->shape.rank - 1, dim[2], sizeof dim[2]));
  mgi_cu_str_put(l, "%s", mgi_cu_batches_text(em, o->out[0].id, text, sizeof text));
  for (int side = 0; side < 2; side++) {
    uint32_t t = o->in[side].id;
    const mg_tensor_info *x = &g->tensors[t];
    int r = x->shape.rank, xb = batch < 0 ? -1 : batch - (rank - r), col = mgi_cu_stride_is_one(em, t, r - 1);
    mgi_cu_str_put(l, ", {%s, ", mgi_cu_pointer_text(em, t, text, sizeof text));
    mgi_cu_str_put(l, "%s, ", col ? mgi_cu_stride_text(em, t, r - 2, text, sizeof text) : "1");
    mgi_cu_str_put(l, "%s, ", col ? "1" : mgi_cu_stride_text(em, t, r - 1, text, sizeof text));
    mgi_cu_str_put(l, "%s}", xb >= 0 && x->shape.dim[xb] != 1 ? mgi_cu_stride_text(em, t, xb, text, sizeof text) : "0");
  }
  mgi_cu_str_put(l, ", %s, ", mgi_cu_pointer_text(em, o->out[0].id, text, sizeof text));
  mgi_cu_str_put(l, "space + %s_CUBLAS, stream, &rc)) {\n    if (rc) return rc;\n  } else {\n", g->name);
  if (!em->blas) {
    mgi_cu_str_put(&em->spaces, "static constexpr size_t %s_CUBLAS = %s;\nstatic constexpr size_t %s_CUBLAS_END = %s_CUBLAS + mg_round256(MG_CUBLAS_BYTES);\n", g->name,
                   em->space_end[0] ? em->space_end : "0", g->name, g->name);
    snprintf(em->space_end, sizeof em->space_end, "%.120s_CUBLAS_END", g->name);
  }
  em->blas = 1;
  return 1;
}
/* A matmul becomes a block graph over the same templates: 64 x 64 tiles, or 16 rows where there are few. */
MGI_FN void mgi_cu_library_matmul(mgi_cu_emit *em, const mg_op_node *o, const char *name) {
  const mg_graph *g = em->g;
  const mg_shape *out = &g->tensors[o->out[0].id].shape;
  int pairs = o->n_in / 2, rank = out->rank, batch = -1, leads[4];
  int64_t M = out->dim[rank - 2], N = out->dim[rank - 1], batches = 1;
  uint32_t above[MG_MAX_IN + 8];
  char counts[MG_MAX_AXES + 1][400], dim[200];
  mg_graph *p, *k;
  mg_tensor in[4], made[MG_MAX_OUT], sum = {0};
  memset(counts, 0, sizeof counts);
  for (int d = 0; d < rank - 2; d++)
    if (out->dim[d] != 1) batch = d, batches *= out->dim[d];
  p = mg_program_new("library", NULL);
  if (!p) {
    mgi_cu_emit_fail(em, MG_NO_MEMORY, "matmul", "no memory");
    return;
  }
  memset(above, 0, sizeof above);
  for (int j = 0; j < o->n_in; j++) { /* of its leading dimensions one, `batch`, stands for all: mgi_cu_axis_cuts */
    const mg_tensor_info *x = &g->tensors[o->in[j].id];
    const int xb = batch - (rank - x->shape.rank);
    char nm[16];
    int32_t order[MG_MAX_RANK];
    int64_t dims[MG_MAX_RANK];
    leads[j] = 0;
    for (int d = 0; d < x->shape.rank; d++) {
      order[d] = x->op ? d : x->order[d];
      dims[d] = d < x->shape.rank - 2 ? 1 : x->shape.dim[d];
      leads[j] |= mgi_cu_leads(&x->shape, d);
    }
    if (leads[j]) dims[xb] = batches;
    snprintf(nm, sizeof nm, "i%d", j);
    in[j] = mg_input_ordered(p, nm, x->dtype, x->shape.rank, dims, order);
    if (in[j].id) p->tensors[in[j].id].fill = x->fill;
    if (in[j].id && in[j].id < MG_MAX_IN + 8) above[in[j].id] = o->in[j].id;
  }
  int tm = M <= 16 ? 16 : 64, tn = 64, tk = 64, threads = 128;
  int64_t grid[3];
  grid[0] = mg_ceil_div(N, tn);
  grid[1] = mg_ceil_div(M, tm);
  grid[2] = batches;
  /* A chunk is ceil(extent / count). */
  int64_t cn = mg_ceil_div(N, grid[0]), cm = mg_ceil_div(M, grid[1]);
  snprintf(counts[1], sizeof counts[1], "mg_chunks(%s, %lld)", mgi_cu_dim_text(em, o->out[0].id, rank - 1, dim, sizeof dim), (long long)cn);
  snprintf(counts[2], sizeof counts[2], "mg_chunks(%s, %lld)", mgi_cu_dim_text(em, o->out[0].id, rank - 2, dim, sizeof dim), (long long)cm);
  char all[700];
  snprintf(counts[3], sizeof counts[3], "%.399s", mgi_cu_batches_text(em, o->out[0].id, all, sizeof all));
  k = mg_graph_begin(p, grid, threads);
  for (int j = 0; j < pairs && k; j++) {
    mg_tensor part[2];
    const mg_tensor_info *a = &g->tensors[o->in[j].id];
    int64_t depth = a->shape.dim[a->shape.rank - 1], n = mg_ceil_div(depth, tk), ck = mg_ceil_div(depth, n);
    mg_axis loop = mg_loop_begin(k, j ? "k1" : "k", n);
    if (loop.id) snprintf(counts[loop.id], sizeof counts[loop.id], "mg_chunks(%s, %lld)", mgi_cu_dim_text(em, o->in[j].id, a->shape.rank - 1, dim, sizeof dim), (long long)ck);
    for (int side = 0; side < 2; side++) {
      const mg_tensor_info *x = &g->tensors[o->in[j + side * pairs].id];
      int r = x->shape.rank, xb = batch - (rank - r);
      mg_map m = mg_map_set(mg_map_none(), loop, side ? r - 2 : r - 1);
      m = mg_map_set(m, mg_grid_axis(k, side ? 0 : 1), side ? r - 1 : r - 2);
      if (leads[j + side * pairs]) m = mg_map_set(m, mg_grid_axis(k, 2), xb);
      part[side] = mg_load(k, in[j + side * pairs], m);
    }
    mg_tensor c = mg_matmul(k, part[0], part[1]);
    mg_loop_end(k);
    c = mg_accum(k, c, mg_map_set(mg_map_none(), loop, MG_MAP_SUM));
    sum = j ? mg_add(k, sum, c) : c;
  }
  if (k) {
    mg_map m = mg_map_set(mg_map_set(mg_map_none(), mg_grid_axis(k, 0), rank - 1), mg_grid_axis(k, 1), rank - 2);
    if (batch >= 0) m = mg_map_set(m, mg_grid_axis(k, 2), batch);
    mg_store(k, sum, m);
    if (mg_graph_end(k, made) == 1) {
      mg_output(p, made[0]);
      if (made[0].id < MG_MAX_IN + 8) above[made[0].id] = o->out[0].id;
    }
  }
  mg_error err;
  if (mg_check(p, &err) != MG_OK) mgi_cu_emit_fail(em, MG_UNSUPPORTED, "matmul", "%s", err.msg);
  else {
    int blas = mgi_cu_library_blas(em, o, batch);
    mgi_cu_kernel_of(em, k, above, -1, name, (const char (*)[400])counts);
    if (blas) mgi_cu_str_put(&em->launches, "  }\n");
  }
  mg_graph_free(p);
}

/* Text of the memory place of an element of kernel-level tensor t whose coordinates have the names `idx`<d + shift>. */
MGI_FN void mgi_cu_place_text(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t, const char *idx, const char *end, int shift) {
  const mg_tensor_info *i = &em->g->tensors[t];
  mgi_cu_str_put(s, "p_%s", i->name);
  for (int d = 0; d < i->shape.rank; d++) {
    if (i->shape.dim[d] == 1) continue;
    const mgi_cu_size stride = mgi_cu_stride(em, t, d);
    mgi_cu_str_put(s, " + %s%d%s", idx, d + shift, end);
    if (!mgi_cu_is_one(&stride)) mgi_cu_str_put(s, " * (%s)", stride.text);
  }
}
/* Text of the value there, or, of what is computed where it is read, of the indices. */
MGI_FN void mgi_cu_read_text(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t, const char *idx, const char *end,
                             int shift) {
  const mg_tensor_info *i = &em->g->tensors[t];
  char past[420];
  if (i->fill) {
    mgi_cu_past_text(em, t, past, sizeof past);
    mgi_cu_str_put(s, "mg_causal_block(%s).at(", past);
    for (int d = 0; d < 2; d++)
      if (i->shape.dim[d] == 1) mgi_cu_str_put(s, "%s0", d ? ", " : "");
      else mgi_cu_str_put(s, "%s%s%d%s", d ? ", " : "", idx, d + shift, end);
    mgi_cu_str_put(s, ")");
    return;
  }
  mgi_cu_str_put(s, "mg_widen(mg_ldg(");
  mgi_cu_place_text(em, s, t, idx, end, shift);
  mgi_cu_str_put(s, "))");
}
/* The end of an index's declaration: along dimension d of tensor t, of what `rest` counts from there on. */
MGI_FN void mgi_cu_index_text(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t, int d, const char *rest) {
  char dim[200];
  if (em->g->tensors[t].shape.dim[d] == 1) {
    mgi_cu_str_put(s, "0;\n");
    return;
  }
  mgi_cu_dim_text(em, t, d, dim, sizeof dim);
  mgi_cu_str_put(s, "%s %% %s;\n    %s /= %s;\n", rest, dim, rest, dim);
}
/* The rows of operator o over whole tensors: elements of its result, at the least sizes that a launch has. */
MGI_FN int64_t mgi_cu_rows_least(const mgi_cu_emit *em, const mg_op_node *o) {
  const uint32_t t = o->out[0].id;
  const mg_shape *s = &em->g->tensors[t].shape;
  int64_t rows = 1;
  for (int d = 0; d < s->rank; d++) {
    const int symbol = em->symbol[t * MG_MAX_RANK + (uint32_t)d];
    rows *= symbol ? em->g->symbol[symbol - 1].least : s->dim[d];
  }
  return rows;
}
/* The room in the workspace for the keys of rows' parts and their tickets, and what the launch gives of it. */
MGI_FN void mgi_cu_pass_keys(mgi_cu_emit *em, const mg_op_node *o, int64_t blocks, mgi_cu_str *s, mgi_cu_str *l) {
  const char *n = em->g->name;
  const unsigned op = (unsigned)(o - em->g->ops);
  mgi_cu_str_put(s, ", mg_key *keys, uint32_t *tickets");
  mgi_cu_str_put(l, ", (mg_key *)(space + %s_KEYS_OP%u), (uint32_t *)(space + %s_TICKETS_OP%u)", n, op, n, op);
  mgi_cu_str *at = &em->spaces;
  mgi_cu_str_put(at, "static constexpr size_t %s_TICKETS_OP%u = %s;\n", n, op, em->space_end[0] ? em->space_end : "0");
  mgi_cu_str_put(at, "static constexpr size_t %s_KEYS_OP%u = %s_TICKETS_OP%u + mg_round256((int64_t)4 * %lld);\n", n, op,
                 n, op, (long long)blocks);
  mgi_cu_str_put(at, "static constexpr size_t %s_JOINED_OP%u = %s_KEYS_OP%u + mg_round256((int64_t)8 * %lld);\n", n, op,
                 n, op, (long long)blocks);
  snprintf(em->space_end, sizeof em->space_end, "%.120s_JOINED_OP%u", n, op);
}
/* Elementwise and moving rows, sums and maxima over whole tensors of any rank: an element, or a warp, a result; of an argmax a block,
   or several that share it (mg_library_shares). */
MGI_FN void mgi_cu_library_op(mgi_cu_emit *em, const mg_op_node *o, const char *name) {
  const mg_graph *g = em->g;
  const mg_op_info *row = mg_op_row(o->code);
  uint32_t t = o->out[0].id;
  const mg_tensor_info *out = &g->tensors[t];
  const int where = o->code == MG_OP_ARGMAX, softmax = mg_softmax_dim(g, out->op);
  const int per = mg_library_items(o->code, softmax), by_rows = per < 256;
  const int rank = out->shape.rank, along = softmax >= 0 ? softmax : by_rows ? o->attr.dim : -1;
  const mg_shares shares = mg_library_shares(g, o, &em->machine);
  const int shared = MG_SHARED_BY(mgi_cu_rows_least(em, o), shares.blocks, shares.most) > 1;
  mgi_cu_str *s = &em->kernels, *l = &em->launches, count = {NULL, 0, 0, 0}, blocks = {NULL, 0, 0, 0};
  mgi_cu_str parts = {NULL, 0, 0, 0}, moved = {NULL, 0, 0, 0};
  char dim[200], text[400];
  if (!by_rows && !row->elementwise && !row->moves && o->code != MG_OP_GATHER) {
    mgi_cu_emit_fail(em, MG_UNSUPPORTED, row->name, "the operator has no kernel-level form");
    return;
  }
  mgi_cu_str_put(&count, "(int64_t)1");
  for (int d = 0; d < rank; d++)
    if (d != along && out->shape.dim[d] != 1) mgi_cu_str_put(&count, " * %s", mgi_cu_dim_text(em, t, d, dim, sizeof dim));
  mgi_cu_str_put(s, "/* %s = %s(", out->name, row->name);
  for (int k = 0; k < o->n_in; k++) mgi_cu_str_put(s, "%s%s", k ? ", " : "", g->tensors[o->in[k].id].name);
  mgi_cu_str_put(s, "), over whole tensors. */\nMG_KERNEL(256) void %s(", name);
  mgi_cu_str_put(&blocks, "mg_library_blocks(%s, %d)", mgi_cu_str_text(&count), per);
  if (shared)
    mgi_cu_str_put(&parts, "mg_library_parts(%s, %lld, %lld)", mgi_cu_str_text(&count), (long long)shares.blocks,
                   (long long)shares.most);
  else mgi_cu_str_put(&parts, "1");
  mgi_cu_str_put(l, "  rc = MG_LAUNCH(%s, %s, %s, 1, 256, %s, stream", name, mgi_cu_str_text(&blocks), mgi_cu_str_text(&parts), where ? "MG_ARGMAX_SHARED" : "0");
  for (int k = 0; k < o->n_in; k++) {
    int again = 0;
    for (int j = 0; j < k; j++) again |= o->in[j].id == o->in[k].id;
    if (again || g->tensors[o->in[k].id].fill) continue;
    mgi_cu_str_put(s, "const %s *p_%s, ", mg_type_row(g->tensors[o->in[k].id].dtype)->device, g->tensors[o->in[k].id].name);
    mgi_cu_str_put(l, ", %s", mgi_cu_pointer_text(em, o->in[k].id, text, sizeof text));
    mgi_cu_displace(em, &moved, o->in[k].id);
  }
  mgi_cu_str_put(s, "%s *p_%s", mg_type_row(out->dtype)->device, out->name);
  mgi_cu_str_put(l, ", %s", mgi_cu_pointer_text(em, t, text, sizeof text));
  mgi_cu_displace(em, &moved, t);
  if (shared) mgi_cu_pass_keys(em, o, shares.blocks, s, l);
  mgi_cu_pass_symbols(em, s, l);
  mgi_cu_str_put(s, ") {\n");
  mgi_cu_read_symbols(em, s);
  mgi_cu_str_put(s, "%s  const int64_t n = %s;\n", mgi_cu_str_text(&moved), mgi_cu_str_text(&count));
  free(moved.s);
  if (shared)
    mgi_cu_str_put(s, "  const int64_t parts = mg_library_parts(n, %lld, %lld);\n", (long long)shares.blocks,
                   (long long)shares.most);
  mgi_cu_str_put(l, ");\n  if (rc) return rc;\n");
  if (by_rows) {
    const char *each = o->code == MG_OP_MAX ? "reduction<mg_by_max>" : "reduction<mg_by_sum>";
    if (where) each = shared ? "argmax_parts" : "argmax";
    if (softmax >= 0) each = "shifted_exp";
    for (int part = 0; part < 1 + (softmax >= 0); part++) {
      if (!part) mgi_cu_str_put(s, "  mg_each_%s(n, %s, mg_library_blocks(n, %d), %s[&](int64_t e, int64_t k) {\n", each, mgi_cu_dim_text(em, o->in[0].id, along, dim, sizeof dim), per, shared ? "parts, keys, " : "");
      else mgi_cu_str_put(s, "  }, [&](int64_t e, int64_t k, mg_num v) {\n");
      for (int d = rank - 1; d >= 0; d--) {
        mgi_cu_str_put(s, "    [[maybe_unused]] const int64_t x%d = ", d);
        if (d == along) mgi_cu_str_put(s, "k;\n");
        else mgi_cu_index_text(em, s, t, d, "e");
      }
      mgi_cu_str_put(s, part ? "    mg_stg(" : "    return ");
      if (part) mgi_cu_place_text(em, s, t, "x", "", 0);
      else mgi_cu_read_text(em, s, o->in[0].id, "x", "", 0), mgi_cu_str_put(s, ";\n");
    }
    if (softmax >= 0) mgi_cu_str_put(s, ", mg_narrow<%s>(v));\n  });\n}\n\n", mg_type_row(out->dtype)->device);
    else if (where)
      mgi_cu_str_put(s, "  }, %s[&](int64_t e, mg_i32 at) { mg_stg(p_%s + e, at); });\n}\n\n",
                     shared ? "[&](int64_t e) { return mg_last_of(tickets + e, (int)parts); }, " : "", out->name);
    else mgi_cu_str_put(s, "  }, [&](int64_t e, mg_num v) { mg_stg(p_%s + e, mg_narrow<%s>(v)); });\n}\n\n", out->name, mg_type_row(out->dtype)->device);
  } else {
    mgi_cu_str_put(s, "  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {\n    [[maybe_unused]] int64_t rest = e;\n");
    for (int d = rank - 1; d >= 0; d--) {
      mgi_cu_str_put(s, "    [[maybe_unused]] const int64_t x%d = ", d);
      mgi_cu_index_text(em, s, t, d, "rest");
    }
    if (row->elementwise) {
      char arg[3][80];
      for (int k = 0; k < 3; k++) snprintf(arg[k], sizeof arg[k], "mg_zero()");
      for (int k = 0; k < o->n_in && k < 3; k++) {
        mgi_cu_str_put(s, "    const mg_num v%d = ", k);
        mgi_cu_read_text(em, s, o->in[k].id, "x", "", rank - g->tensors[o->in[k].id].shape.rank);
        mgi_cu_str_put(s, ";\n");
        snprintf(arg[k], sizeof arg[k], "v%d", k);
      }
      if (row->attr == MG_ATTR_RAT) snprintf(arg[2], sizeof arg[2], "mg_const(%lld, %lld)", (long long)o->attr.c.num, (long long)o->attr.c.den);
      mgi_cu_str_put(s, "    const mg_num v = mg_dev_%s(%s, %s, %s);\n", mgi_cu_rows[o->code].id, arg[0], arg[1], arg[2]);
    } else if (o->code == MG_OP_GATHER) {
      const int first = g->tensors[o->in[1].id].shape.rank;
      mgi_cu_str_put(s, "    const int64_t row = mg_index(");
      mgi_cu_place_text(em, s, o->in[1].id, "x", "", 0);
      mgi_cu_str_put(s, ", %s);\n    [[maybe_unused]] const int64_t at[MG_MAX_RANK] = {row", mgi_cu_dim_text(em, o->in[0].id, 0, dim, sizeof dim));
      for (int d = first; d < rank; d++) mgi_cu_str_put(s, ", x%d", d);
      mgi_cu_str_put(s, "};\n    const mg_num v = ");
      mgi_cu_read_text(em, s, o->in[0].id, "at[", "]", 0);
      mgi_cu_str_put(s, ";\n");
    } else {
      mgi_cu_str_put(s, "    const int64_t to[MG_MAX_RANK] = {");
      for (int d = 0; d < rank; d++) mgi_cu_str_put(s, "%sx%d", d ? ", " : "", d);
      mgi_cu_str_put(s, "};\n    int64_t at[MG_MAX_RANK];\n    const mg_attr A = ");
      mgi_cu_attr_text(s, &o->attr);
      mgi_cu_str_put(s, ";\n    const mg_shape S[] = {");
      for (int k = 0; k < o->n_in; k++) {
        const mg_shape *f = &g->tensors[o->in[k].id].shape;
        mgi_cu_str_put(s, "%s{%d, {", k ? ", " : "", f->rank);
        for (int d = 0; d < f->rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_dim_text(em, o->in[k].id, d, dim, sizeof dim));
        mgi_cu_str_put(s, "}}");
      }
      mgi_cu_str_put(s, "};\n    const int from = mg_dev_index_%s(&A, S, to, at);\n    mg_num v = mg_zero();\n", mgi_cu_rows[o->code].id);
      for (int k = 0; k < o->n_in; k++) {
        mgi_cu_str_put(s, "    if (from == %d) v = ", k);
        mgi_cu_read_text(em, s, o->in[k].id, "at[", "]", 0);
        mgi_cu_str_put(s, ";\n");
      }
    }
    mgi_cu_str_put(s, "    mg_stg(p_%s + e, mg_narrow<%s>(v));\n  });\n}\n\n", out->name, mg_type_row(out->dtype)->device);
  }
  free(count.s);
  mgi_cu_launched(em, name, mgi_cu_str_text(&blocks), mgi_cu_str_text(&parts), "1", 256, where ? MG_ARGMAX_SHARED : 0);
  free(blocks.s);
  free(parts.s);
}

/* --------------------------------------------------------------------------------------------------- >>file */
MGI_FN void mgi_cu_emit_quote(mgi_cu_str *s, const char *text) {
  while (text && *text) {
    const char *end = strchr(text, '\n');
    size_t n = end ? (size_t)(end - text) : strlen(text);
    mgi_cu_str_put(s, " * ");
    for (size_t k = 0; k < n; k++) /* nothing in it may end the comment */
      mgi_cu_str_put(s, "%c%s", text[k], text[k] == '*' && k + 1 < n && text[k + 1] == '/' ? " " : "");
    mgi_cu_str_put(s, "\n");
    text += n + (end != NULL);
  }
}
MGI_FN void mgi_cu_emit_io(const mgi_cu_emit *em, mgi_cu_str *s, const char *what, const mg_tensor *list, uint32_t n) {
  char text[1400];
  mgi_cu_str_put(s, "static const mg_io_info %s_%s[] = {\n", em->g->name, what);
  for (uint32_t k = 0; k < n; k++) {
    const mg_tensor_info *i = &em->g->tensors[list[k].id];
      mgi_cu_str_put(s, "  {\"%s\", %s, %d, {", i->name, mg_type_row(i->dtype)->id, i->shape.rank);
    for (int d = 0; d < i->shape.rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_dim_text(em, list[k].id, d, text, sizeof text));
    mgi_cu_str_put(s, "}, {");
    for (int d = 0; d < i->shape.rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_stride_text(em, list[k].id, d, text, sizeof text));
    mgi_cu_str_put(s, "}, {");
    for (int d = 0; d < i->shape.rank; d++) mgi_cu_str_put(s, "%s%d", d ? ", " : "", i->op ? d : i->order[d]);
    mgi_cu_str_put(s, em->g->n_symbols ? "}, {" : "}, {0");
    for (int d = 0; d < i->shape.rank && em->g->n_symbols; d++)
      mgi_cu_str_put(s, "%s%d", d ? ", " : "", i->op ? em->symbol[list[k].id * MG_MAX_RANK + (uint32_t)d] : em->g->in_symbol[k][d]);
    mgi_cu_str_put(s, "}},\n");
  }
  mgi_cu_str_put(s, "};\n");
}

/* NAME_run's parameters, each tensor on a line of its own behind `margin`.  types: by type. */
MGI_FN void mgi_cu_file_parameters(const mgi_cu_emit *em, mgi_cu_str *s, const char *margin, const char *const types[MG_DTYPE_COUNT]) {
  const mg_graph *g = em->g;
  mgi_cu_str_put(s, "int %s_run(\n", g->name);
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *t = &g->tensors[g->in[k].id];
    if (!t->fill) mgi_cu_str_put(s, "%sconst %s *in_%s,\n", margin, types[t->dtype], t->name);
  }
  for (uint32_t k = 0; k < g->n_out; k++) {
    const mg_tensor_info *t = &g->tensors[g->out[k].id];
    mgi_cu_str_put(s, "%s%s *out_%s,\n", margin, types[t->dtype], t->name);
  }
  if (mgi_cu_has_words(em)) mgi_cu_str_put(s, "%sconst int64_t *words,\n", margin);
  mgi_cu_str_put(s, "%svoid *workspace, %scudaStream_t stream)", margin, g->n_symbols ? "const int64_t *sym, " : "");
}
/* The file's head: how it is compiled, the µGraph, the certificate. */
MGI_FN void mgi_cu_file_head(mgi_cu_emit *em, mgi_cu_str *out, const char *certificate) {
  const char *n = em->g->name;
  char *source = NULL;
  em->st = mgi_cu_planned_text(em, &source);
  const int dependent = mg_machine_can(&em->machine, MG_CAN_DEPENDENT_LAUNCH);
  static const char *const types[] = {
    "half", "__nv_bfloat16", "float", "int32_t"
#define MGI_T(id, name, bytes, digits, least, most, cuda) , "mg_" #name
    MG_USER_TYPES(MGI_T)
#undef MGI_T
  };
  mgi_cu_str_put(out, "/* nvcc -O3 -std=c++17 -prec-div=false -prec-sqrt=false -gencode arch=compute_%s,code=%s -Xcompiler -fPIC -shared \\\n",
                 em->machine.arch + 3, em->machine.arch);
  mgi_cu_str_put(out, "     -I<mirage> -o %s.so \\\n     %s.cu\n *\n", n, n);
  mgi_cu_str_put(out, " * <mirage> is the directory of mirage_cuda.cuh, which says more of what this file exports:\n *   ");
  mgi_cu_file_parameters(em, out, " *     ", types);
  mgi_cu_str_put(out, ";\n *   %s_launch(in, out, workspace, %sstream), the same of arrays of pointers;\n", n, em->g->n_symbols ? "sym, " : "");
  for (uint32_t k = 0; k < em->g->n_symbols; k++)
    mgi_cu_str_put(out, " *   sym[%u] is %s, %lld to %lld: else the launch returns cudaErrorInvalidValue;\n", (unsigned)k, em->g->symbol[k].name, (long long)em->g->symbol[k].least, (long long)em->g->symbol[k].last);
  if (mgi_cu_has_words(em)) {
    mgi_cu_str_put(out, " *   in[%u], words, is in device memory, where kernels read", (unsigned)em->g->n_in);
    for (uint32_t k = 0, any = 0; k < em->g->n_symbols; k++)
      if (em->read.device >> k & 1) mgi_cu_str_put(out, "%s %s, words[%u]", any++ ? "," : "", em->g->symbol[k].name, (unsigned)k);
    for (uint32_t k = 0, any = em->read.device != 0; k < em->g->n_out; k++)
      if (em->read.displaced >> k & 1) mgi_cu_str_put(out, "%s where %s stands, words[%u]", any++ ? "," : "", em->g->tensors[em->g->out[k].id].name, (unsigned)(em->g->n_symbols + k));
    mgi_cu_str_put(out, ";\n");
  }
  if (dependent) mgi_cu_str_put(out, " *   %s_launch_pdl(..), which may begin before what is before it in the stream has ended;\n", n);
  mgi_cu_str_put(out, " *   %s_workspace_bytes(), of memory that is zeroed once; %s_info.\n", n, n);
  mgi_cu_str_put(out, " * A launch returns 0 or the CUDA error: cudaErrorMisalignedAddress for a pointer to no multiple of 16 bytes.\n"
                      " *\n * mugraph {{{\n");
  mgi_cu_emit_quote(out, source);
  mgi_cu_str_put(out, " * }}} mugraph\n *\n * certificate:\n");
  mgi_cu_emit_quote(out, certificate && certificate[0] ? certificate : "not certified");
  mgi_cu_str_put(out, " */\n");
  mg_string_free(source);
}
/* The text, in its place, without its sums with 0: what stands first in shared memory, or in a stage, has no offset. */
MGI_FN const char *mgi_cu_file_plain(char *text) {
  char *to = text;
  for (const char *from = text; from && *from; from++) {
    const char next = strncmp(from, " + 0", 4) ? 0 : from[4];
    if (next == ')' || next == ',' || next == ';' || (next == ' ' && from[5] == '+')) from += 3;
    else *to++ = *from;
  }
  if (to) *to = 0;
  return text ? text : "";
}
/* What stands before the include, which is the last of it: the user's rows that the µGraphs have, and what of the header they need. */
MGI_FN void mgi_cu_file_include(const mg_graph *const *range, int n, int blas, int maps, mgi_cu_str *out) {
  uint8_t used[MG_OP_TABLE_END], has[MG_DTYPE_COUNT];
  int any = 0, types = 0, multiplied = 0;
  memset(used, 0, sizeof used), memset(has, 0, sizeof has);
  for (int r = 0; r < n; r++) {
    const mg_graph *g = range[r];
    for (uint32_t t = 1; t < g->n_tensors; t++) has[g->tensors[t].dtype] = 1; /* its kernels have no others */
    for (uint32_t k = 1; k < g->n_ops; k++) {
      if (g->ops[k].code < MG_OP_TABLE_END) used[g->ops[k].code] = 1;
      for (uint32_t j = 1; g->ops[k].sub && j < g->ops[k].sub->n_ops; j++)
        if (g->ops[k].sub->ops[j].code < MG_OP_TABLE_END) used[g->ops[k].sub->ops[j].code] = 1;
    }
  }
  for (int k = 1; k < MG_OP_TABLE_END; k++)
    if (used[k] && mgi_cu_rows[k].row) mgi_cu_str_put(out, "%s  %s", any++ ? " \\\n" : "#define MG_USER_OPS(E, T) \\\n", mgi_cu_rows[k].row);
  if (any) mgi_cu_str_put(out, "\n");
  int last = MG_DTYPE_COUNT - 1; /* the rows before it keep the types' numbers */
  while (last && !has[last]) last--;
  for (int t = MG_I32 + 1; t <= last; t++)
    mgi_cu_str_put(out, "%s  %s", types++ ? " \\\n" : "#define MG_USER_TYPES(T) \\\n", mgi_cu_type_rows[t - MG_I32 - 1]);
  if (types) mgi_cu_str_put(out, "\n");
  for (size_t k = 0; k < sizeof mgi_cu_shape_rows / sizeof *mgi_cu_shape_rows; k++) {
    const mg_dtype t = mgi_cu_shape_rows[k].type;
    if (t <= MG_I32 || !has[t]) continue;
    mgi_cu_str_put(out, multiplied++ ? " \\\n  %s" : "#define MG_USER_TENSOR_SHAPES(S) %s", mgi_cu_shape_rows[k].row);
  }
  mgi_cu_str_put(out, "%s%s%s", multiplied ? "\n" : "", blas ? "#define MG_CUBLAS\n" : "", maps ? "#define MG_TENSOR_MAPS\n" : "");
  mgi_cu_str_put(out, "#define MIRAGE_DEVICE_ONLY\n#include \"mirage_cuda.cuh\"\n");
}
/* The sizes, each a macro. */
MGI_FN void mgi_cu_file_sizes(const mgi_cu_emit *em, mgi_cu_str *out) {
  const mg_graph *g = em->g;
  const char *n = g->name;
  int number = 0;
  mgi_cu_str_put(out, "\n/* Extents, and the counts of grid and loop axes.  Chunks are fixed: extent = (count - 1) * chunk + the last one. */\n");
  for (uint32_t c = 0; c < em->cls.n; c++)
    mgi_cu_str_put(out, "#ifndef %s_D%u\n#define %s_D%u %lld\n#endif\n", n, (unsigned)c, n, (unsigned)c, (long long)mgi_cu_last(g, em->class_symbol[c], em->cls.extent[c]));
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    if (!b) continue;
    for (uint32_t a = 1; a < b->n_axes; a++)
      if (a > 3 || b->axes[a].extent > 1)
        mgi_cu_str_put(out, "#ifndef %s_K%d_%s\n#define %s_K%d_%s %lld\n#endif\n", n, number, b->axes[a].name, n, number, b->axes[a].name, (long long)mgi_cu_last(g, b->axes[a].symbol, b->axes[a].extent));
    number++;
  }
}
/* Where things stand in the workspace; its end into last.  Behind what kernels asked for come intermediates, one after the
   other, each aligned to 256 bytes. */
MGI_FN void mgi_cu_file_spaces(const mgi_cu_emit *em, mgi_cu_str *out, char last[300]) {
  const mg_graph *g = em->g;
  const char *n = g->name;
  char dim[1400];
  mgi_cu_str_put(out, "\n");
  snprintf(last, 300, "%.280s", em->space_end[0] ? em->space_end : "0");
  mgi_cu_str_put(out, "%s", mgi_cu_str_text(&em->spaces));
  for (uint32_t t = 1; t < g->n_tensors; t++) {
    if (!g->tensors[t].op || mg_lies_as(g, mgi_cu_handle(t)).id != t || mg_is_output(g, mgi_cu_handle(t))) continue;
    mgi_cu_str_put(out, "static constexpr size_t %s_AT_%s = %s;\n", n, g->tensors[t].name, last);
    const int split = mg_split(g, mgi_cu_handle(t));
    if (split) mgi_cu_str_put(out, "static constexpr size_t %s_POWERS_%s = ", n, g->tensors[t].name);
    else mgi_cu_str_put(out, "static constexpr size_t %s_END_%s = %s_AT_%s + ", n, g->tensors[t].name, n, g->tensors[t].name);
    mgi_cu_str_put(out, "mg_round256((int64_t)%d", mg_dtype_bytes(g->tensors[t].dtype) * (split ? 2 : 1));
    for (int d = 0; d < g->tensors[t].shape.rank; d++) {
      const mgi_cu_size dim = mgi_cu_dim(em, t, d);
      mgi_cu_times(out, &dim);
    }
    mgi_cu_str_put(out, ");\n");
    if (split) {
      int cut[4];
      mgi_cu_power_dims(g, t, cut);
      mgi_cu_str_put(out, "static constexpr size_t %s_END_%s = %s_AT_%s + %s_POWERS_%s + mg_round256((int64_t)4", n, g->tensors[t].name, n, g->tensors[t].name, n, g->tensors[t].name);
      for (int a = 1; a <= 3; a++)
        if (cut[a] >= 0) mgi_cu_str_put(out, " * %s", mgi_cu_count_text(em, em->g->tensors[t].op, a, dim, sizeof dim));
      mgi_cu_str_put(out, ");\n");
    }
    snprintf(last, 300, "%.120s_END_%.100s", n, g->tensors[t].name);
  }
}
/* Sizes computed of the symbols', as the host has them. */
MGI_FN void mgi_cu_file_computed(const mg_graph *g, const char *before, mgi_cu_str *out) {
  for (uint32_t k = g->n_symbols; k < mg_n_sizes(g); k++) {
    char name[72];
    mgi_cu_str_put(out, "  %sconst int64_t %s = ", before, mgi_cu_symbol(g, k, name));
    mgi_cu_computed(g, k, out);
    mgi_cu_str_put(out, ";\n");
  }
}
/* NAME_blocks, where sizes are read in device memory. */
MGI_FN void mgi_cu_file_blocks(mgi_cu_emit *em, mgi_cu_str *out) {
  const mg_graph *g = em->g;
  if (!em->read.device) return;
  mgi_cu_str_put(out, "/* The blocks of each kernel along x, y and z: a captured launch is right for all values of which they are the same. */\n");
  mgi_cu_str_put(out, "extern \"C\" int %s_blocks(const int64_t *sym, int64_t *count, int room) {\n", g->name);
  for (uint32_t k = 0; k < g->n_symbols; k++)
    mgi_cu_str_put(out, "  [[maybe_unused]] const int64_t sym_%s = sym[%u];\n", g->symbol[k].name, (unsigned)k);
  mgi_cu_file_computed(g, "[[maybe_unused]] ", out);
  mgi_cu_str_put(out, "  const int64_t all[] = {%s};\n  for (int k = 0; k < %d && k < room; k++) count[k] = all[k];\n  return %d;\n}\n\n", mgi_cu_str_text(&em->blocks), 3 * em->n_launches,
                 3 * em->n_launches);
}
/* The host's part: the launches, of a workspace that ends at last, and what the file says of itself. */
MGI_FN void mgi_cu_file_host(mgi_cu_emit *em, mgi_cu_str *out, const char *last) {
  const mg_graph *g = em->g;
  const char *args = g->n_symbols ? "const void *const *in, void *const *out, void *workspace, const int64_t *sym, cudaStream_t stream"
                                  : "const void *const *in, void *const *out, void *workspace, cudaStream_t stream";
  const char *sizes = g->n_symbols ? "sym, " : "";
  const char *n = g->name;
  const int dependent = mg_machine_can(&em->machine, MG_CAN_DEPENDENT_LAUNCH);
  mgi_cu_str_put(out, "extern \"C\" size_t %s_workspace_bytes(void) { return %s; }\n\n", n, last);
  static const char *const types[] = {
    "mg_half", "mg_bfloat", "float", "int32_t"
#define MGI_T(id, name, bytes, digits, least, most, cuda) , "mg_" #name
    MG_USER_TYPES(MGI_T)
#undef MGI_T
  };
  const char *space = strcmp(last, "0") ? "  unsigned char *const space = (unsigned char *)workspace;\n" : "";
  const char *early_name = strstr(mgi_cu_str_text(&em->launches), "MG_LAUNCH_AFTER(early, ") ? " early" : "";
  if (dependent) mgi_cu_str_put(out, "static int %s_launch_all(int%s, %s) {\n", n, early_name, args);
  else mgi_cu_str_put(out, "extern \"C\" int %s_launch(%s) {\n", n, args);
  int passed = 0; /* inputs; what is filled by definition has a place that is not read */
  for (uint32_t k = 0; k < g->n_in; k++) passed += !g->tensors[g->in[k].id].fill;
  const char *const pointers = passed == (int)g->n_in ? "in" : passed ? "passed" : "0";
  if (passed && passed < (int)g->n_in) {
    mgi_cu_str_put(out, "  const void *const passed[] = {");
    for (uint32_t k = 0, n = 0; k < g->n_in; k++)
      if (!g->tensors[g->in[k].id].fill) mgi_cu_str_put(out, "%sin[%u]", n++ ? ", " : "", k);
    mgi_cu_str_put(out, "};\n");
  }
  mgi_cu_str_put(out, "  if (mg_misaligned(%s, %d, out, %u, workspace)) return (int)cudaErrorMisalignedAddress;\n",
                 pointers, passed, (unsigned)g->n_out);
  for (uint32_t k = 0; k < g->n_symbols; k++)
    mgi_cu_str_put(out, "  const int64_t sym_%s = sym[%u];\n  if (sym_%s < %lld || sym_%s > %lld) return (int)cudaErrorInvalidValue;\n", g->symbol[k].name, (unsigned)k, g->symbol[k].name,
                   (long long)g->symbol[k].least, g->symbol[k].name, (long long)g->symbol[k].last);
  mgi_cu_file_computed(g, "", out);
  mgi_cu_str_put(out, "%s  int rc = 0;\n%s  return rc;\n}\n\n", space, mgi_cu_str_text(&em->launches));
  for (int early = 0; early < 2 && dependent; early++)
    mgi_cu_str_put(out, "extern \"C\" int %s_launch%s(%s) {\n  return %s_launch_all(%d, in, out, workspace, %sstream);\n}\n\n", n, early ? "_pdl" : "", args, n, early, sizes);
  mgi_cu_file_blocks(em, out);
  mgi_cu_str_put(out, "extern \"C\" ");
  mgi_cu_file_parameters(em, out, "  ", types);
  mgi_cu_str_put(out, " {\n  const void *const in[] = {");
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *t = &g->tensors[g->in[k].id];
    mgi_cu_str_put(out, "%s%s%s", k ? ", " : "", t->fill ? "0" : "in_", t->fill ? "" : t->name);
  }
  if (mgi_cu_has_words(em)) mgi_cu_str_put(out, "%swords", g->n_in ? ", " : "");
  mgi_cu_str_put(out, "};\n  void *const out[] = {");
  for (uint32_t k = 0; k < g->n_out; k++) mgi_cu_str_put(out, "%sout_%s", k ? ", " : "", g->tensors[g->out[k].id].name);
  mgi_cu_str_put(out, "};\n  return %s_launch(in, out, workspace, %sstream);\n}\n\n", n, sizes);
}
/* The end of NAME_info. */
MGI_FN void mgi_cu_file_read(const mg_emit_config *read, mgi_cu_str *out) {
  mgi_cu_str_put(out, ", 0x%x, 0x%x};\n", (unsigned)read->device, (unsigned)read->displaced);
}
/* What the file says of itself: extents and grids as constants, where there are symbols at the greatest that a launch takes. */
MGI_FN void mgi_cu_file_info(const mgi_cu_emit *em, mgi_cu_str *out) {
  const mg_graph *g = em->g;
  const char *n = g->name;
  mgi_cu_emit_io(em, out, "in", g->in, g->n_in);
  mgi_cu_emit_io(em, out, "out", g->out, g->n_out);
  mgi_cu_str_put(out, "static const mg_kernel_info %s_kernels[] = {\n%s};\n", n, mgi_cu_str_text(&em->infos));
  if (g->n_symbols) mgi_cu_str_put(out, "static const mg_size_info %s_symbols[] = {", n);
  for (uint32_t k = 0; k < mg_n_sizes(g); k++)
    mgi_cu_str_put(out, "%s{\"%s\", %lld, %lld}", k ? ", " : "", g->symbol[k].name, (long long)g->symbol[k].least, (long long)g->symbol[k].last);
  mgi_cu_str_put(out, "%sextern \"C\" const mg_emitted_info %s_info;\n", g->n_symbols ? "};\n" : "", n);
  if (g->n_symbols) mgi_cu_str_put(out, "enum { %s_early = 0x%x };\n", n, (unsigned)em->early);
  mgi_cu_str_put(out, "extern \"C\" const mg_emitted_info %s_info = {\"%s\", %u, %u, %d, %s_in, %s_out, 0x%x, %s_kernels", n, n,
                 (unsigned)g->n_in, (unsigned)g->n_out, em->n_launches, n, n, (unsigned)em->early, n);
  if (g->n_symbols) mgi_cu_str_put(out, ", %u, %s_symbols, %u", (unsigned)g->n_symbols, n, (unsigned)g->n_computed);
  else mgi_cu_str_put(out, ", 0, 0, 0");
  mgi_cu_file_read(&em->read, out);
}
/* From here on what was the most of a symbol is what comes with the launch. */
MGI_FN void mgi_cu_file_symbols(const mgi_cu_emit *em, mgi_cu_str *out) {
  const mg_graph *g = em->g;
  const char *n = g->name;
  char name[72];
  int number = 0;
  if (!g->n_symbols) return;
  mgi_cu_str_put(out, "\n/* Up to here symbols are at their most; from here on they are those of the launch. */\n");
  for (uint32_t c = 0; c < em->cls.n; c++)
    if (em->class_symbol[c])
      mgi_cu_str_put(out, "#undef %s_D%u\n#define %s_D%u %s\n", n, (unsigned)c, n, (unsigned)c, mgi_cu_symbol(g, em->class_symbol[c] - 1u, name));
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    if (!b) continue;
    for (uint32_t a = 1; a < b->n_axes; a++) {
      if (!b->axes[a].symbol) continue;
      const mg_symbol *s = &g->symbol[b->axes[a].symbol - 1];
      mgi_cu_str_put(out, "#undef %s_K%d_%s\n#define %s_K%d_%s mg_chunks(%s, %lld)\n", n, number, b->axes[a].name, n, number, b->axes[a].name,
                     mgi_cu_symbol(g, b->axes[a].symbol - 1u, name),
                     (long long)mg_ceil_div(s->most, b->axes[a].extent));
    }
    number++;
  }
}
/* Blocks that are merged are as many as the file says, in types and in groups of blocks: the error, where a symbol counts them. */
MGI_FN void mgi_cu_symbols_merged(mgi_cu_emit *em, const mg_graph *b) {
  for (uint32_t k = 1; b && k < b->n_ops; k++)
    for (uint32_t a = 1; a <= 3 && b->ops[k].code == MG_OP_ACCUM; a++)
      if (b->ops[k].map.to[a] != MG_MAP_NONE && b->axes[a].symbol)
        mgi_cu_emit_fail(em, MG_UNSUPPORTED, "sym", "blocks of axis %s are merged, and as many as %s has chunks: a loop can count these", b->axes[a].name,
                         em->g->symbol[b->axes[a].symbol - 1].name);
}
/* Which classes of extents are symbols.  0, and an error: one is both. */
MGI_FN int mgi_cu_symbols(mgi_cu_emit *em) {
  const mg_graph *g = em->g;
  em->st = mg_symbols_of(g, &em->symbol, em->e);
  em->class_symbol = (uint8_t *)calloc(em->cls.n + 1, 1);
  if (em->st == MG_OK && !em->class_symbol) em->st = mg_fail(em->e, MG_NO_MEMORY, "mg_cuda_emit", "no memory");
  for (int pass = 0; pass < 2 && em->st == MG_OK && g->n_symbols; pass++)
    for (uint32_t k = MG_MAX_RANK; k < g->n_tensors * MG_MAX_RANK && em->st == MG_OK; k++) {
      const int32_t c = em->cls.of[k];
      if (c < 0 || (!pass && !em->symbol[k])) continue;
      if (!pass) em->class_symbol[c] = em->symbol[k];
      else if (em->class_symbol[c] != em->symbol[k])
        mgi_cu_emit_fail(em, MG_UNSUPPORTED, "sym", "dimension %u of '%.60s' has the extent of a symbol, and is none", (unsigned)(k % MG_MAX_RANK), g->tensors[k / MG_MAX_RANK].name);
    }
  for (uint32_t k = 1; k < g->n_ops && em->st == MG_OK && g->n_symbols; k++) mgi_cu_symbols_merged(em, g->ops[k].sub);
  return em->st == MG_OK;
}
/* ---- lines
   What is written above has lines as long as what stands in them; here they get at most MGI_CU_COLUMNS bytes.  Code breaks
   behind a comma, a semicolon or an operator, where the fewest brackets are open, never within a string; a comment breaks
   between words, and one behind code moves before it; a line of the preprocessor goes on behind a backslash; the quoted
   µGraph breaks within brackets only. */
enum { MGI_CU_COLUMNS = 120 };

/* How many of the code's n bytes are its first line, of at least `least` and at most `room` bytes; 0: it cannot be cut there.
   Brackets: those opened less those closed.  A '<' between a name and no space is one, "->" has none. */
MGI_FN size_t mgi_cu_line_cut(const char *s, size_t n, size_t least, size_t room) {
  size_t best = 0;
  char open[64], quote = 0;
  int deep = 0, base = 0, dearest = 1 << 30;
  for (size_t i = 0; i < n && i <= room; i++) {
    const char c = s[i], before = i ? s[i - 1] : ' ', next = i + 1 < n ? s[i + 1] : ' ';
    if (quote) {
      if (c == '\\' && i + 1 < n) i++;
      else if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = c;
      continue;
    }
    if (c == '/' && next == '*') { /* as one word */
      const char *end = strstr(s + i + 2, "*/");
      if (!end) break;
      i = (size_t)(end - s) + 1;
      continue;
    }
    const int named = before == '_' || (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9');
    const int opens = c == '(' || c == '[' || c == '{' || (c == '<' && next != ' ' && next != '<' && next != '=' && named);
    if (opens && deep < 64) open[deep++] = c;
    if (c == ')' || c == ']' || c == '}') {
      while (deep && open[deep - 1] == '<') deep--;
      if (deep) deep--;
      else base--;
    }
    if (c == '>' && before != '-' && deep && open[deep - 1] == '<') deep--;
    if (i + 1 >= n || i + 1 < least || i + 1 > room) continue;
    int cost = -1;
    if (next == ' ' && i + 2 < n) {
      const int apart = before == ' ';
      cost = c == ',' || c == ';' || c == '{'                                             ? 0
             : (before == c && (c == '&' || c == '|')) || (apart && (c == '?' || c == ':')) ? 1
             : apart && (c == '+' || c == '-')                                              ? 2
             : c == '='                                                                     ? 3
             : apart && strchr("*/%<>|&^", c)                                               ? 4
                                                                                            : 1000;
    } else if (opens && c == '(' && next != ')') cost = 1;
    if (cost < 0) continue;
    cost += 8 * (base + deep);
    for (int k = 0; k < deep; k++) cost += open[k] == '<' ? 8 : 0; /* a template's arguments stay together */
    if (cost > dearest) continue;
    dearest = cost;
    best = i + 1;
  }
  return best;
}
/* The same of a comment: between words; of the quoted µGraph, within a bracket that the line closes, and before its comment. */
MGI_FN size_t mgi_cu_line_words(const char *s, size_t n, size_t room, int quoted) {
  size_t best = 0, last = n;
  int deep = 0;
  if (quoted) /* brackets behind this one stay open beyond the line */
    while (last > 0 && s[last - 1] != ')' && s[last - 1] != ']' && s[last - 1] != '}') last--;
  for (size_t i = 0; i + 1 < last && i <= room; i++) {
    deep += (s[i] == '(' || s[i] == '[' || s[i] == '{') - (s[i] == ')' || s[i] == ']' || s[i] == '}');
    if (quoted && s[i] == '#') break;
    if (i > 0 && s[i] == ' ' && s[i - 1] != ' ' && (!quoted || deep > 0)) best = i;
  }
  return best;
}
/* Where the code's comment of "//" begins; n: it has none. */
MGI_FN size_t mgi_cu_line_remark(const char *s, size_t n) {
  char quote = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (quote && s[i] == '\\') i++;
    else if (quote) quote = s[i] == quote ? 0 : quote;
    else if (s[i] == '"' || s[i] == '\'') quote = s[i];
    else if (s[i] == '/' && s[i + 1] == '/') return i;
  return n;
}
/* One line, without its indent and its end, as lines of which the further ones begin with the indent and the margin. */
MGI_FN void mgi_cu_line_wrapped(mgi_cu_str *out, size_t indent, const char *s, size_t n, int words, const char *margin, int hash, int quoted) {
  int first = 1;
  while (indent + n + (first ? 0 : strlen(margin)) > MGI_CU_COLUMNS) {
    const size_t left = indent + (first ? 0 : strlen(margin)), room = left + 8 < MGI_CU_COLUMNS ? MGI_CU_COLUMNS - left - (hash ? 2 : 0) : 8;
    size_t cut = words ? mgi_cu_line_words(s, n, room, quoted) : mgi_cu_line_cut(s, n, room * 2 / 5, room);
    if (!cut && !words) cut = mgi_cu_line_cut(s, n, 1, room);
    if (!cut) break;
    mgi_cu_str_put(out, "%*s%s%.*s%s\n", (int)indent, "", first ? "" : margin, (int)cut, s, hash ? " \\" : "");
    for (s += cut, n -= cut; n && *s == ' '; s++) n--;
    first = 0;
  }
  mgi_cu_str_put(out, "%*s%s%.*s", (int)indent, "", first ? "" : margin, (int)n, s);
}
/* The text with such lines. */
MGI_FN void mgi_cu_lines(mgi_cu_str *out, const char *text) {
  int comment = 0, quoted = 0, macro = 0;
  for (const char *end; text && *text; text = end + (*end == '\n')) {
    end = strchr(text, '\n');
    if (!end) end = text + strlen(text);
    size_t n = (size_t)(end - text), indent = 0, remark;
    while (indent < n && text[indent] == ' ') indent++;
    const char *s = text + indent;
    n -= indent;
    const int begins = !comment && n > 1 && s[0] == '/' && s[1] == '*', within = comment;
    if (begins || comment) {
      const char *close = NULL;
      for (size_t k = begins ? 2 : 0; k + 1 < n && !close; k++)
        if (s[k] == '*' && s[k + 1] == '/') close = s + k;
      comment = !close;
      if (n > 2 && !strncmp(s, "* mugraph {{{", 13)) quoted = 1;
      if (n > 2 && !strncmp(s, "* }}} mugraph", 13)) quoted = 0;
    }
    const int words = begins || within || (n > 1 && s[0] == '/' && s[1] == '/');
    const int hash = !words && ((n && *s == '#') || macro);
    macro = hash && n && s[n - 1] == '\\';
    /* what stands before each line that follows: the indent, then this */
    const char *margin = within ? "*     " : begins ? "   " : words ? "// " : "    ";
    if (!words && !hash && indent + n > MGI_CU_COLUMNS && (remark = mgi_cu_line_remark(s, n)) > 0 && remark < n) {
      mgi_cu_line_wrapped(out, indent, s + remark, n - remark, 1, "// ", 0, 0);
      mgi_cu_str_put(out, "\n");
      for (n = remark; n && s[n - 1] == ' '; n--) continue;
    }
    mgi_cu_line_wrapped(out, indent, s, n, words, margin, hash, within && quoted);
    if (*end) mgi_cu_str_put(out, "\n");
  }
}

/* The whole file, if *text is asked for; else whether there is one.  read: what kernels are asked to read in device memory; what of
   it a launch hands over itself goes from there, and then nothing is written. */
MGI_FN mg_status mgi_cu_emit_run(const mg_graph *g, const char *arch, const char *certificate, mg_emit_config *read, char **text, mg_cuda_kernel *facts, mg_error *e) {
  mgi_cu_emit em_, *em = &em_;
  mgi_cu_str out = {NULL, 0, 0, 0}, lines = {NULL, 0, 0, 0};
  char name[300], last[300];
  memset(em, 0, sizeof *em);
  em->g = g;
  em->e = e;
  em->facts = facts;
  if (read) em->read = *read;
  if (!mg_machine_for(arch, &em->machine)) {
    char known[MG_MACHINE_LIST];
    mg_machine_list(0, known);
    return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emit", "'%.40s' is no GPU or architecture of the table: %s", arch, known);
  }
  if (!g || g->level != MG_KERNEL) return mg_fail(e, MG_BAD_INPUT, "mg_cuda_emit", "want a program");
  if (strlen(g->name) > 100) return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emit", "the program's name has more than 100 characters");
  for (uint32_t t = 1; t < g->n_tensors; t++)
    if (!g->tensors[t].name || strlen(g->tensors[t].name) > 60) return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emit", "a tensor's name has more than 60 characters, or mg_check was not called");
  em->st = mg_classes_of(g, &em->cls, e);
  if (em->st != MG_OK) return em->st;
  mgi_cu_symbols(em);

  for (uint32_t k = 1; k < g->n_ops && em->st == MG_OK; k++)
    for (uint32_t t = 1; g->ops[k].code == MG_OP_GRAPH && t < g->ops[k].sub->n_tensors; t++)
      if (!g->ops[k].sub->tensors[t].name || strlen(g->ops[k].sub->tensors[t].name) > 60) mgi_cu_emit_fail(em, MG_UNSUPPORTED, "mg_cuda_emit", "a tensor's name has more than 60 characters, or mg_check was not called");
  if (em->st == MG_OK && !mg_sends_of(em->g, &em->machine, 0, &em->sends)) mgi_cu_emit_fail(em, MG_NO_MEMORY, "mg_cuda_emit", "no memory");

  for (uint32_t k = 1; k < g->n_ops && em->st == MG_OK; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->code == MG_OP_GRAPH) {
      snprintf(name, sizeof name, "%s_kernel%d", g->name, em->n_graphs);
      mgi_cu_kernel_of(em, o->sub, NULL, em->n_graphs, name, NULL);
      em->n_graphs++;
    } else if (!mg_renames(g, k)) {
      snprintf(name, sizeof name, "%s_op%u_%s", g->name, (unsigned)k, mg_op_row(o->code)->name);
      if (mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) mgi_cu_library_matmul(em, o, name);
      else mgi_cu_library_op(em, o, name);
    }
  }

  const uint32_t handed = (em->host_symbols & em->read.device) | (em->host_outputs & em->read.displaced);
  if (handed) read->device &= ~em->host_symbols, read->displaced &= ~em->host_outputs;
  if (em->st == MG_OK && text && !handed) {
    mgi_cu_file_head(em, &out, certificate);
    mgi_cu_file_include(&g, 1, em->blas, em->maps, &out);
    mgi_cu_file_sizes(em, &out);
    mgi_cu_file_spaces(em, &out, last);
    if (g->n_symbols) {
      mgi_cu_str_put(&out, "\n#ifndef __CUDACC_RTC__\n");
      mgi_cu_file_info(em, &out);
      mgi_cu_str_put(&out, "#endif\n");
      mgi_cu_file_symbols(em, &out);
    }
    mgi_cu_str_put(&out, "\n#ifndef MG_HOST_ONLY /* the kernels */\n%s#endif\n\n#ifndef __CUDACC_RTC__ /* their launch */\n", mgi_cu_file_plain(em->kernels.s));
    mgi_cu_file_host(em, &out, last);
    if (!g->n_symbols) mgi_cu_file_info(em, &out);
    mgi_cu_str_put(&out, "#endif\n");
    mgi_cu_lines(&lines, mgi_cu_str_text(&out));
    if (out.oom || lines.oom || em->infos.oom) em->st = mg_fail(e, MG_NO_MEMORY, "mg_cuda_emit", "no memory for the text");
  }
  if (em->st == MG_OK && text && !handed) {
    *text = lines.s;
    lines.s = NULL;
  }
  free(out.s);
  free(lines.s);
  free(em->kernels.s);
  free(em->launches.s);
  free(em->spaces.s);
  free(em->infos.s);
  free(em->blocks.s);
  free(em->plans.s);
  mg_sends_free(&em->sends);
  free(em->symbol);
  free(em->class_symbol);
  mg_classes_free(&em->cls);
  return em->st;
}

/* *out: a copy of g in which what mg_wide names, and what kernels load of it, is f32; what they compute has the type that its operands
   had.  NULL where nothing is named. */
MGI_FN mg_status mgi_cu_widened(const mg_graph *g, mg_graph **out, mg_error *e) {
  int any = 0;
  *out = NULL;
  for (uint32_t t = 1; g->level == MG_KERNEL && t < g->n_tensors; t++) any |= g->tensors[t].name && mg_wide(g, mgi_cu_handle(t));
  if (!any) return MG_OK;
  mg_status s = mg_resize(g, NULL, NULL, out, e);
  if (s == MG_OK) s = mg_check(*out, e);
  if (s != MG_OK) return s;
  uint8_t *wide = (uint8_t *)calloc((*out)->n_tensors, 1);
  if (!wide) return mg_fail(e, MG_NO_MEMORY, "mg_cuda_emit", "no memory");
  for (uint32_t t = 1; t < (*out)->n_tensors; t++) wide[t] = (uint8_t)mg_wide(*out, mgi_cu_handle(t));
  for (uint32_t t = 1; t < (*out)->n_tensors; t++)
    if (wide[t]) mgi_cu_widen(*out, t);
  free(wide);
  return MG_OK;
}
/* Thread graphs are inlined: what they fuse is fused by residency, in registers, and the text says what is emitted. */
MGI_FN mg_status mgi_cu_emit_flat(const mg_graph *ugraph, const char *arch, const char *certificate, mg_emit_config *read, char **text, mg_cuda_kernel *facts, mg_error *e) {
  mg_graph *flat = NULL, *wide = NULL;
  char *both = NULL;
  mg_status s = mg_has_threads(ugraph) ? mg_inline_threads(ugraph, &flat, e) : MG_OK;
  if (s == MG_OK && flat && certificate && certificate[0] && text) { /* its hash is that of the µGraph with threads: the quoted one's too */
    const size_t n = strlen(certificate);
    both = (char *)malloc(n + 80);
    if (!both) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_emit", "no memory for the certificate");
    else snprintf(both, n + 80, "%s%s# hash, thread graphs inlined: %016llx\n", certificate, certificate[n - 1] == '\n' ? "" : "\n", (unsigned long long)mg_hash(flat));
  }
  if (s == MG_OK) s = mgi_cu_widened(flat ? flat : ugraph, &wide, e);
  for (int again = 1; again && s == MG_OK;) { /* with less to read in device memory, until there is a text */
    s = mgi_cu_emit_run(wide ? wide : flat ? flat : ugraph, arch, both ? both : certificate, read, text, facts, e);
    again = text && !*text;
  }
  free(both);
  mg_graph_free(wide);
  mg_graph_free(flat);
  return s;
}
mg_status mg_cuda_emittable(const mg_graph *ugraph, const char *arch, mg_error *why) { return mgi_cu_emit_flat(ugraph, arch, NULL, NULL, NULL, NULL, why); }
mg_status mg_cuda_facts(const mg_graph *ugraph, const char *arch, mg_cuda_kernel **kernel, int *n, mg_error *why) {
  *n = ugraph ? mg_ops_before(ugraph, ugraph->n_ops, MG_OP_GRAPH) : 0;
  *kernel = (mg_cuda_kernel *)calloc((size_t)*n + 1, sizeof **kernel);
  if (!*kernel) return mg_fail(why, MG_NO_MEMORY, "mg_cuda_facts", "no memory");
  const mg_status s = mgi_cu_emit_flat(ugraph, arch, NULL, NULL, NULL, *kernel, why);
  if (s == MG_OK) return s;
  mg_cuda_facts_free(*kernel, *n);
  *kernel = NULL;
  *n = 0;
  return s;
}
/* *read becomes what kernels do read in device memory. */
MGI_FN mg_status mgi_cu_emit_reading(const mg_graph *ugraph, mg_emit_config *read, char **text, mg_error *e) {
  *text = NULL;
  if (ugraph) { /* there are at most MG_MAX_SYMBOLS and MG_MAX_OUT */
    read->device &= (1u << ugraph->n_symbols) - 1;
    read->displaced &= (1u << ugraph->n_out) - 1;
  }
  return mgi_cu_emit_flat(ugraph, read->arch, read->certificate, read, text, NULL, e);
}
mg_status mg_cuda_emit(const mg_graph *ugraph, const mg_emit_config *cfg, char **text, mg_error *e) {
  mg_emit_config read;
  memset(&read, 0, sizeof read);
  if (cfg) read = *cfg;
  return mgi_cu_emit_reading(ugraph, &read, text, e);
}

/* ---- ranges: what is emitted of each, behind one include, and a launch that takes the one that a size is for
   Each has a part of the workspace of its own: what one keeps there from launch to launch is not another's to write. */
/* Where in an emitted text its include ends; NULL: it has none. */
MGI_FN const char *mgi_cu_behind_include(const char *text) {
  static const char line[] = "#include \"mirage_cuda.cuh\"\n";
  const char *at = strstr(text, line);
  return at ? at + sizeof line - 1 : NULL;
}
/* "  if (..) ", where not every size that comes so far is for range k; else nothing, and 0. */
MGI_FN int mgi_cu_ranges_if(mgi_cu_str *out, const mg_graph *const *range, int n, int k) {
  int bounded = 0;
  for (uint32_t v = 0; v < range[k]->n_symbols; v++) {
    const int64_t end = mg_range_end(range, n, k, v);
    if (end) mgi_cu_str_put(out, "%ssym[%u] < %lld", bounded++ ? " && " : "  if (", (unsigned)v, (long long)end);
  }
  if (bounded) mgi_cu_str_put(out, ") ");
  return bounded;
}
/* NAME_blocks: which range it is, and the counts of that. */
MGI_FN void mgi_cu_ranges_blocks(mgi_cu_str *out, const mg_graph *const *range, int n, const char *name) {
  mgi_cu_str_put(out, "extern \"C\" int %s_blocks(const int64_t *sym, int64_t *count, int room) {\n  const int left = room > 0 ? room - 1 : 0;\n", name);
  for (int k = 0; k < n; k++) {
    const int bounded = mgi_cu_ranges_if(out, range, n, k);
    mgi_cu_str_put(out, "%s{\n    if (room > 0) count[0] = %d;\n    return 1 + %s_blocks(sym, count + 1, left);\n  }\n", bounded ? "" : "  ", k + 1, range[k]->name);
  }
  mgi_cu_str_put(out, "}\n\n");
}
MGI_FN void mgi_cu_ranges_host(mgi_cu_str *out, const mg_graph *const *range, int n, const char *name, const mg_emit_config *read, int dependent) {
  static const char args[] = "const void *const *in, void *const *out, void *workspace, const int64_t *sym, cudaStream_t stream";
  const mg_graph *last = range[n - 1];
  mgi_cu_str_put(out, "\n#ifndef __CUDACC_RTC__ /* which of them a size is for */\n");
  mgi_cu_str_put(out, "extern \"C\" size_t %s_workspace_bytes(void) {\n  return ", name);
  for (int k = 0; k < n; k++) mgi_cu_str_put(out, "%smg_round256((int64_t)%s_workspace_bytes())", k ? " + " : "", range[k]->name);
  mgi_cu_str_put(out, ";\n}\n\n");
  for (int early = 0; early < 1 + dependent; early++) {
    mgi_cu_str_put(out, "extern \"C\" int %s_launch%s(%s) {\n  unsigned char *space = (unsigned char *)workspace; // each has a part of its own\n", name, early ? "_pdl" : "", args);
    for (uint32_t v = 0; v < last->n_symbols; v++) { /* one that goes further is for these alone */
      const int64_t last_of = mg_range_symbol(range, n, v).last;
      int beyond = 0;
      for (int k = 0; k < n; k++) beyond |= !mg_range_end(range, n, k, v) && range[k]->symbol[v].last > last_of;
      if (beyond) mgi_cu_str_put(out, "  if (sym[%u] > %lld) return (int)cudaErrorInvalidValue;\n", (unsigned)v, (long long)last_of);
    }
    for (int k = 0; k < n; k++) {
      if (!mgi_cu_ranges_if(out, range, n, k)) mgi_cu_str_put(out, "  ");
      mgi_cu_str_put(out, "return %s_launch%s(in, out, space, sym, stream);\n", range[k]->name, early ? "_pdl" : "");
      if (k + 1 < n) mgi_cu_str_put(out, "  space += mg_round256((int64_t)%s_workspace_bytes());\n", range[k]->name);
    }
    mgi_cu_str_put(out, "}\n\n");
  }
  if (read->device) mgi_cu_ranges_blocks(out, range, n, name);
  mgi_cu_str_put(out, "static const mg_size_info %s_symbols[] = {", name);
  for (uint32_t v = 0; v < mg_n_sizes(last); v++) {
    const mg_symbol is = mg_range_symbol(range, n, v);
    mgi_cu_str_put(out, "%s{\"%s\", %lld, %lld}", v ? ", " : "", is.name, (long long)is.least, (long long)is.last);
  }
  mgi_cu_str_put(out, "};\nextern \"C\" const mg_emitted_info %s_info;\n", name);
  mgi_cu_str_put(out, "extern \"C\" const mg_emitted_info %s_info = {\"%s\", %u, %u, 0, %s_in, %s_out, ", name, name, (unsigned)last->n_in, (unsigned)last->n_out, last->name, last->name);
  for (int k = 0; k < n; k++) mgi_cu_str_put(out, "%s%s_early", k ? " | " : "", range[k]->name);
  mgi_cu_str_put(out, ", 0, %u, %s_symbols, %u", (unsigned)last->n_symbols, name, (unsigned)last->n_computed);
  mgi_cu_file_read(read, out);
  mgi_cu_str_put(out, "#endif\n");
}
/* 1 if both have one signature, but for the bounds of their symbols, and of sizes computed of them. */
MGI_FN int mgi_cu_ranges_alike(const mg_graph *a, const mg_graph *b) {
  int same = a->n_in == b->n_in && a->n_out == b->n_out && a->n_symbols == b->n_symbols && a->n_computed == b->n_computed;
  for (uint32_t v = 0; same && v < mg_n_sizes(a); v++) same = !strcmp(a->symbol[v].name, b->symbol[v].name);
  for (uint32_t k = 0; same && k < a->n_in + a->n_out; k++) {
    const int out = k >= a->n_in;
    const mg_tensor_info *x = mg_tensor_of(a, out ? a->out[k - a->n_in] : a->in[k]), *y = mg_tensor_of(b, out ? b->out[k - b->n_in] : b->in[k]);
    same = x->dtype == y->dtype && x->fill == y->fill && x->shape.rank == y->shape.rank && !strcmp(x->name, y->name) && (out || !memcmp(a->in_symbol[k], b->in_symbol[k], sizeof a->in_symbol[k]));
    for (int d = 0; same && d < x->shape.rank; d++) {
      int sized = 0;
      for (uint32_t j = 0; j < mg_n_sizes(a); j++)
        sized |= (out || a->in_symbol[k][d] == j + 1) && x->shape.dim[d] == a->symbol[j].most && y->shape.dim[d] == b->symbol[j].most;
      same = (x->shape.dim[d] == y->shape.dim[d] || sized) && (out || x->order[d] == y->order[d]);
    }
  }
  return same;
}
/* 1 if range k begins where those before it end, and what ends there goes so far. */
MGI_FN int mgi_cu_ranges_follow(const mg_graph *const *range, int k, mg_error *e) {
  const mg_graph *g = range[k], *before = range[k - 1];
  uint32_t v = 0;
  while (v + 1 < g->n_symbols && g->symbol[v].least == before->symbol[v].least) v++;
  const mg_symbol *is = &g->symbol[v];
  int64_t last = before->symbol[v].last;
  for (int j = k - 1; v == 0 && j >= 0 && range[j]->symbol[0].least == before->symbol[0].least; j--) last = range[j]->symbol[v].last < last ? range[j]->symbol[v].last : last;
  if (is->least <= before->symbol[v].least || is->least > last + 1)
    return mg_fail(e, MG_BAD_INPUT, g->name, "it begins at %s = %lld, the range before it is %lld..%lld", is->name, (long long)is->least, (long long)before->symbol[v].least, (long long)last), 0;
  for (v++; v < g->n_symbols; v++)
    if (g->symbol[v].least != range[0]->symbol[v].least)
      return mg_fail(e, MG_BAD_INPUT, g->name, "the first range from %s = %lld on begins at %s = %lld: expected %lld", is->name, (long long)is->least, g->symbol[v].name, (long long)g->symbol[v].least, (long long)range[0]->symbol[v].least), 0;
  return 1;
}
/* NAME of NAME_1; 0: the ranges are none of the same symbols, one behind the other. */
MGI_FN int mgi_cu_ranges_name(const mg_graph *const *range, int n, char name[120], mg_error *e) {
  const size_t l = strlen(range[0]->name);
  if (l < 3 || l > 100 || strcmp(range[0]->name + l - 2, "_1")) return mg_fail(e, MG_BAD_INPUT, "ranges", "expected programs NAME_1, NAME_2 .., found '%.60s'", range[0]->name), 0;
  snprintf(name, 120, "%.*s", (int)l - 2, range[0]->name);
  for (int k = 0; k < n; k++) {
    char want[140];
    snprintf(want, sizeof want, "%s_%d", name, k + 1);
    if (strcmp(range[k]->name, want)) return mg_fail(e, MG_BAD_INPUT, "ranges", "expected the program %.60s, found %.60s", want, range[k]->name), 0;
    if (range[k]->n_symbols < 1 || range[k]->n_symbols > 2) return mg_fail(e, MG_BAD_INPUT, range[k]->name, "expected one symbol or two, found %u", range[k]->n_symbols), 0;
    if (!mgi_cu_ranges_alike(range[0], range[k])) return mg_fail(e, MG_BAD_INPUT, range[k]->name, "it has other inputs, outputs or symbols than %.60s: types, shapes, orders and names have to be the same", range[0]->name), 0;
    if (k && !mgi_cu_ranges_follow(range, k, e)) return 0;
  }
  return 1;
}
mg_status mg_cuda_emit_ranges(const mg_graph *const *range, int n, const mg_emit_config *cfg, const char *const *certificate, char **text, mg_error *e) {
  mg_emit_config c;
  mgi_cu_str parts = {NULL, 0, 0, 0}, out = {NULL, 0, 0, 0}, lines = {NULL, 0, 0, 0};
  char name[120];
  int blas = 0, maps = 0;
  mg_machine machine;
  mg_status s = MG_OK;
  *text = NULL;
  memset(&c, 0, sizeof c);
  if (cfg) c = *cfg;
  if (n < 1 || n > MG_MAX_RANGES) return mg_fail(e, MG_BAD_INPUT, "ranges", "expected 1 to %d ranges, found %d", (int)MG_MAX_RANGES, n);
  if (n == 1) {
    if (certificate) c.certificate = certificate[0];
    return mg_cuda_emit(range[0], &c, text, e);
  }
  if (!mgi_cu_ranges_name(range, n, name, e)) return MG_BAD_INPUT;
  for (int k = 0; k < n && s == MG_OK; k++) {
    char *one = NULL;
    mg_emit_config read = c;
    read.certificate = certificate ? certificate[k] : NULL;
    s = mgi_cu_emit_reading(range[k], &read, &one, e);
    const char *behind = s == MG_OK ? mgi_cu_behind_include(one) : NULL;
    if (behind) {
      const char *end = strstr(one, "\n */\n"); /* of its first comment */
      blas |= strstr(one, "#define MG_CUBLAS\n") != NULL, maps |= strstr(one, "#define MG_TENSOR_MAPS\n") != NULL;
      mgi_cu_str_put(&parts, "\n%.*s%s", end ? (int)(end + 5 - one) : 0, one, behind);
    }
    mg_string_free(one);
    if (s == MG_OK && (read.device != c.device || read.displaced != c.displaced)) { /* all ranges read the same: from the first on again */
      c.device &= read.device, c.displaced &= read.displaced;
      parts.n = 0, blas = maps = 0, k = -1;
    }
  }
  mg_machine_for(c.arch, &machine);
  if (s == MG_OK) {
    mgi_cu_str_put(&out, "/* nvcc -O3 -std=c++17 -prec-div=false -prec-sqrt=false -gencode arch=compute_%s,code=%s -Xcompiler -fPIC -shared \\\n     -I<mirage> -o %s.so \\\n     %s.cu\n *\n", machine.arch + 3, machine.arch, name, name);
    mgi_cu_str_put(&out, " * Ranges of %s%s%s: each is a file of its own, as far as it goes; the last function here,\n * %s_launch(in, out, workspace, sym, stream), takes the one that sym is for:\n", range[0]->symbol[0].name,
                   range[0]->n_symbols > 1 ? " and " : "", range[0]->n_symbols > 1 ? range[0]->symbol[1].name : "", name);
    for (int k = 0; k < n; k++) {
      mgi_cu_str_put(&out, " *   %s  ", range[k]->name);
      for (uint32_t v = 0; v < range[k]->n_symbols; v++)
        mgi_cu_str_put(&out, "%s %s from %lld%s", v ? "," : "", range[k]->symbol[v].name, (long long)range[k]->symbol[v].least, mg_range_end(range, n, k, v) ? "" : " on");
      mgi_cu_str_put(&out, "\n");
    }
    mgi_cu_str_put(&out, " */\n");
    mgi_cu_file_include(range, n, blas, maps, &out);
    mgi_cu_str_put(&out, "%s", mgi_cu_str_text(&parts));
    mgi_cu_ranges_host(&out, range, n, name, &c, mg_machine_can(&machine, MG_CAN_DEPENDENT_LAUNCH));
    mgi_cu_lines(&lines, mgi_cu_str_text(&out));
    if (out.oom || parts.oom || lines.oom) s = mg_fail(e, MG_NO_MEMORY, "mg_cuda_emit", "no memory for the text");
    else *text = lines.s, lines.s = NULL;
  }
  free(parts.s);
  free(out.s);
  free(lines.s);
  return s;
}

#ifdef __cplusplus
}
#endif
#endif /* implementation */
#endif /* MIRAGE_CUDA_CUH */
