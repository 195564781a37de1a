/* mirage_plan.h - v0.1.0 - what a kernel is and costs: machines as rows of data, plans, terms of time, in one C header

   WHAT
     Holds the table of machines (GPUs) that programs are searched and emitted for, and answers every question that the
     search (mirage_search.h) and the emitter (mirage_cuda.cuh) ask of one: what it is called, what it can do, how large
     it is, how fast it is.  No other header compares the name of an architecture, or knows the size of a machine.
     And it says of a kernel what it costs on a machine: the kernel is flattened (mg_flat), planned (how many warps, how
     they share its products, how many stages), and priced as a sum of terms with names.  The search prices by it;
     `mirage explain` prints it.  And of a kernel whose steps have been noted it finds where in shared memory things
     lie, and which barriers that takes.  Needs mirage.h, libc and libm.

   DO THIS
     In one C or C++ file: #define MIRAGE_IMPLEMENTATION, then #include "mirage_plan.h".  MIRAGE_PLAN_IMPLEMENTATION
     means this header alone.  mirage_search.h and mirage_cuda.cuh include it.

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage_plan.h"
     #include <stdio.h>
     int main(void) {
       char have[MG_MACHINE_LIST];
       const mg_machine *m = mg_machine_find("sm_89");
       if (!m) return 1;
       printf("%s (%s): %d multiprocessors, %.0f GB/s\n  %s\n", m->name, m->arch, m->sms, m->dram_gbps, m->source);
       if (!mg_machine_can(m, MG_CAN_CLUSTER))
         printf("no %s; these have: %s\n", mg_capability_name(MG_CAN_CLUSTER), mg_machine_list(MG_CAN_CLUSTER, have));
       return 0;
     }

   CONTENTS (search for the tag)
     >>machines  >>kernels  >>keys  >>costs  >>memory                                        declarations
     >>machine-table  >>architectures  >>machine-questions  >>machine-text                   implementation: machines
     >>flat  >>seen  >>key-rows  >>facts  >>plans  >>cost  >>predict                         implementation: kernels
     >>packing  >>lifetimes                                                                  implementation: memory

   CONFIGURATION (define before including, in the file that holds the implementation)
     MG_USER_MACHINES(M)   rows added to the table of machines, in the columns of MG_BUILTIN_MACHINES.  What has a row
                           can be searched for and emitted for

   CONCEPTS
     architecture   what nvcc is told: "sm_" and the compute capability without its point.  A letter behind it
                    ("sm_90a") says that the code uses what this one compute capability has: it runs on no other.
     plain          an architecture without the letter.  "sm_90" is plain "sm_90a": the same machine, less the
                    capabilities whose row says that they need the letter.
     capability     something that a machine can or cannot do, a bit.  It is set only where the code that the emitter
                    writes for it compiles for that architecture and the machine is known to run it.
     size           a number that the machine's description gives: it holds exactly.
     rate           what kernels reach, not the peak of a data sheet.  `source` says where a row's rates come from: its
                    first word is "measured" or "scaled".
     default        the first row of the table; the first row of an architecture speaks for the architecture.
     plan           stages, warps and whose the rings are: the best by the cost, or what a block graph's own plan says.
     facts          what a kernel is under a plan: blocks, steps, shared memory, what fits a multiprocessor, bytes.
     cost           microseconds, as the terms of MG_COST_TERMS; their sum is the time, but for what should not be.

   ERRORS
     Functions return NULL or 0 where there is no such machine, or the kernel is too large for the flat form; a kernel
     that does not fit the machine costs 1e9 microseconds and more; MG_NO_TIME says that memory is out.

   MEMORY
     mg_predict_us, mg_kernel_facts_of, mg_sends_of, mg_machine_read, mg_memory_plan and, of a program with symbols,
     mg_flat_of allocate while they run; an mg_memory keeps its steps until mg_memory_free.  Nothing else allocates.
     The table's rows are constant and live as long as the program.

   THREADS
     No mutable globals: every function may be called from any thread.

   DOES NOT
     Decide what the emitter decides by itself (where values live, the order of steps): mg_cuda_facts of mirage_cuda.cuh
     says that.  Ask the GPU that is here, or measure it.  A row of a machine that nobody has measured is a guess: it
     ranks candidates, it promises no times.
*/
#ifndef MIRAGE_PLAN_H
#define MIRAGE_PLAN_H

#include "mirage.h"

#if MG_VERSION != 100
#error "mirage_plan.h 0.1.0 needs mirage.h 0.1.0: take all headers from one release"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------------- >>machines

   A machine is a row: a name, an architecture, capabilities as bits, sizes, rates.  Who wants to know whether a machine
   can do something asks mg_machine_can, and never for the architecture's name.                                      */

/* C(id, bit, letter, text).  letter 1: code for the plain architecture does without it. */
#define MG_CAPABILITIES(C)                                                                                             \
  C(ASYNC_COPY,        1, 0, "asynchronous copies")    /* cp.async: to shared memory, past registers */                \
  C(CLUSTER,           2, 0, "clusters")               /* blocks that read and write each other's shared memory */     \
  C(TENSOR_COPY,       4, 1, "tensor copies")          /* one thread asks for a whole tile (TMA) */                    \
  C(WARPGROUP,         8, 1, "products of warpgroups") /* four warps multiply as one (wgmma) */                        \
  C(DEPENDENT_LAUNCH, 16, 0, "dependent launches")     /* a kernel may begin before the one before it has ended */     \
  C(FLOAT8,           32, 0, "8-bit floats")           /* the type e4m3; nothing that is emitted asks for it yet */

typedef enum mg_capability {
#define MGI_C(id, bit, letter, text) MG_CAN_##id = bit,
  MG_CAPABILITIES(MGI_C)
#undef MGI_C
  MG_CAN_NOTHING = 0
} mg_capability;

enum {
  MG_CLUSTER_BLOCKS = 16,    /* the most that a cluster of ours has, on every machine that has clusters */
  MG_SHARED_MOST = 227 << 10 /* bytes of shared memory: no block may ask for more on any of our machines */
};
/* Of how many 16-byte pieces of a swizzled row of so many are exchanged (>>tiles of mirage_cuda.cuh). */
#define MGI_TILE_TURN(pieces) ((pieces) % 8 == 0 ? 8 : (pieces) % 4 == 0 ? 4 : (pieces) % 2 == 0 ? 2 : 1)

/* How many of at most `blocks` blocks share each of so many rows, but no more than `most` (mg_library_shares). */
#define MG_SHARED_BY(rows, blocks, most)                                                                               \
  ((blocks) / (rows) < 2 ? 1 : (blocks) / (rows) < (most) ? (blocks) / (rows) : (most))
/* The least elements of a row that a block shares it for: those that its 256 threads have under way at once, 8 each. */
enum { MG_PART_LEAST = 2048 };

#ifndef MIRAGE_DEVICE_ONLY

/* F(kind, type, name, least, most, text): what a row has, in the order of the table's columns.
   Kinds: WORD, of letters, digits and "_.+-"; CAN, capabilities; WHOLE, an integer; RATE, a decimal number; LINE, what
   stands to the end of the line, and begins with "measured" or "scaled".
   A value is from least to most; of a WORD or a LINE this is its length.  `mirage calibrate` measures the rates. */
#define MG_MACHINE_RATES(F)                                                                                            \
  F(RATE,  double,       dram_gbps,        1,    1e6,            "GB/s of the whole chip, from device memory")         \
  F(RATE,  double,       l2_gbps,          1,    1e6,            "GB/s of the whole chip, from the L2 cache")          \
  F(RATE,  double,       tensor_tflops,    0.1,  1e5,            "TFLOP/s by mma.sync, f16 with f32 accumulation")     \
  F(RATE,  double,       fp32_tflops,      0.1,  1e4,            "TFLOP/s of plain f32")                               \
  F(RATE,  double,       shared_bytes_us,  1e3,  1e7,            "bytes/us of one multiprocessor's shared memory")     \
  F(RATE,  double,       launch_us,        0.01, 100,            "us of an empty kernel in a CUDA graph")              \
  F(RATE,  double,       barrier_us,       1e-4, 10,             "us of a block's barrier, with a pipeline's bubble")
/* What the cost (>>cost) makes of the rates: shares and multiples of them, and microseconds.  A coefficient stands here
   because a term of the cost has it.  C(F, name, H200, H100, text): fitted to measured kernels by tests/bench/fit.py,
   which writes the columns (tests/bench/results: fit-h200-2026-11-26, fit-h100-2026-11-26).  All other machines have
   the H200's.  fma_slots is of one kernel on an H100: f32[8, 14336] times bf16[14336, 4096] by 128 blocks of 256
   threads takes 271 us. */
#define MG_MACHINE_COSTS(C, F)                                                                                         \
  C(F, block_draw,             2.921,    3.093, "of a multiprocessor's share of l2_gbps: what one takes in")           \
  C(F, chip_draw,             0.5398,   0.5587, "of l2_gbps: the time of what all take in")                            \
  C(F, dram,                  0.8816,   0.8896, "of dram_gbps: the time of what comes once")                           \
  C(F, again,                 0.8768,   0.7953, "of l2_gbps: what blocks read again beside a stream")                  \
  C(F, again_own,             0.2696,   0.1926, "the same, by warps' own rings")                                       \
  C(F, mma_rate,               1.779,    1.884, "of tensor_tflops, by warps")                                          \
  C(F, wgmma_rate,             1.835,    1.873, "of tensor_tflops, by warpgroups")                                     \
  C(F, fly_rate,               1.835,    1.835, "the same, products under way while the next step begins")             \
  C(F, slot_rate,              1.252,   0.8502, "of half of fp32_tflops: elements' slots")                             \
  C(F, copy_slots,            0.6257,   0.8665, "slots of 16 bytes that are copied")                                   \
  C(F, line_slots,             28.84,    42.93, "slots of a line of memory that a copy comes to")                      \
  C(F, narrow,                 2.111,    2.009, "bytes' time once more, of runs below a line")                         \
  C(F, torn,                   10.53,    8.155, "of l2_gbps: the time more of stores of parts of sectors")             \
  C(F, ldmatrix_rate,          1.295,    1.229, "of shared_bytes_us")                                                  \
  C(F, threads_stream,         6.078,    32.89, "over threads: how much longer a stream's compute takes")              \
  C(F, threads_products,       5.598,     12.8, "the same of other products")                                          \
  C(F, threads_slots,            375,      231, "the same of other slots")                                             \
  C(F, wide_slots,             2.008,    2.236, "slots of an element that a wide product reads")                       \
  C(F, fma_slots,                  4,        4, "slots of a multiply-add without tensor cores")                        \
  C(F, unhidden_loop,         0.3592,   0.1677, "of the smaller of memory and compute, in a loop")                     \
  C(F, unhidden_group,         0.228,   0.1309, "the same of warpgroups")                                              \
  C(F, unhidden_fly,          0.1347,   0.1347, "the same, products under way")                                        \
  C(F, unhidden_raise,          1.22,   0.7045, "of warpgroups with exponentials")                                     \
  C(F, unhidden_parts,        0.7413,   0.4247, "of these, each bringing its part")                                    \
  C(F, unhidden_once,          1.384,    1.196, "without a loop")                                                      \
  C(F, unhidden_chain,        0.9289,   0.8622, "without one, products in chains")                                     \
  C(F, unhidden_between,       1.367,    1.026, "of these, with exponentials between them")                            \
  C(F, unhidden_group_once,    2.147,    1.539, "without one, warpgroups")                                             \
  C(F, unhidden_elements,      1.576,    1.632, "without products")                                                    \
  C(F, wait_us,               0.1877,   0.1903, "us of a step, over the steps it is ahead")                            \
  C(F, wait_stream_us,        0.5047,  0.08422, "the same of a stream")                                                \
  C(F, wait_elements_us,      0.2156,  0.08554, "the same of a stream without products")                               \
  C(F, direct_us,             0.2716,   0.2406, "us of what a thread loads at once behind a loop")                     \
  C(F, wait_fly_us,           0.1631,   0.1631, "the same, products under way: they are one step")                     \
  C(F, chain_us,             0.01824,  0.01983, "us of a step whose products wait for each other")                     \
  C(F, chain_group_us,       0.05823,   0.0486, "the same of warpgroups")                                              \
  C(F, launch,                 1.211,      0.7, "of launch_us")                                                        \
  C(F, drain_us,              0.8503,     0.78, "us of the last stores, and the end")                                  \
  C(F, store,                  8.633,     8.85, "of a block's draw: the time of what it stores")                       \
  C(F, store_rounds,           46.61,    46.61, "the same of blocks before, which products under way leave")         \
  C(F, early,                  1.595,    1.186, "of a block's draw: loads before the loop")                            \
  C(F, fill_own,             0.06063,  0.09604, "of a step's memory, own rings")                                       \
  C(F, own_us,                0.3271,   0.5207, "us of own rings")                                                     \
  C(F, split_us,               1.195,   0.8921, "us of a product of 32 bits in memory")                                \
  C(F, fill_group,             1.205,   0.6889, "of a step's memory, warpgroups")                                      \
  C(F, fill,                  0.3601,   0.7456, "of a step's memory, others")                                          \
  C(F, last_step,            0.05819,  0.05369, "of a step's compute")                                                 \
  C(F, prepare_us,            0.3977,   0.4866, "us of an operand that is made before the loop")                       \
  C(F, step_own,              0.7311,    3.098, "of barrier_us: a step of own rings, beside memory")                   \
  C(F, step_parts,            0.7649,   0.5251, "of parts that warps bring")                                           \
  C(F, step_group,             3.642,    3.329, "of warpgroups")                                                       \
  C(F, step_fly,               2.528,    2.528, "of products under way")                                               \
  C(F, step_apart,            0.9798,   0.9798, "of these, a warp beside copying")                                     \
  C(F, step,                   1.339,    1.517, "of others")                                                           \
  C(F, operator_us,         0.003215,  0.01498, "us of an operator")                                                   \
  C(F, block_start_us,      0.00129,   0.001041, "us until the chip starts a further block")                           \
  C(F, round_us,              0.2201,   0.1886, "us of blocks that others make wait")                                  \
  C(F, barrier,                 1.63,    2.237, "of barrier_us: other barriers")                                       \
  C(F, join,                   1.005,    1.081, "of barrier_us: a sum or maximum")                                     \
  C(F, tile_us,               0.3806,   0.1962, "us of joined rows that are not in registers")                         \
  C(F, warps_own_us,         0.07286,  0.03041, "us of a warp whose part is merged, own rings")                        \
  C(F, warps_group_us,         0.193,   0.2519, "us of such parts, in a group")                                        \
  C(F, warps_us,              0.5533,   0.5649, "us of such parts, others")                                            \
  C(F, cluster_us,            0.4162,   0.2718, "us of a merge in a cluster")                                          \
  C(F, cluster_large_us,       1.555,    1.325, "of one of more than 8 blocks")                                        \
  C(F, cluster_bytes_us,    1.566e+04, 1.556e+04, "bytes/us of it")                                                    \
  C(F, last_us,                2.096,    1.935, "us of a merge by the last block")                                     \
  C(F, last_block_us,        0.02635,   0.0251, "the same, for each block")                                            \
  C(F, last_bytes,             3.992,    3.563, "of its draw: the parts")                                              \
  C(F, late_us,              0.06052,  0.07224, "us of what is loaded behind a merge")                                 \
  C(F, alone,                  0.408,   0.4108, "of the others' parts: one block goes on alone")                       \
  C(F, library_us,            0.8493,   0.5742, "us of another library kernel, beside its launch")                     \
  C(F, library_product_us,     1.882,     1.72, "us of a library product, beside its launch")                          \
  C(F, library,               0.9407,   0.9595, "of the time of a library product")                                    \
  C(F, library_slots,          78.58,    63.39, "slots of a thread of a library's operator: its index")                \
  C(F, library_step_us,      0.01116, 0.009719, "us of each element that a thread of it comes to")
/* A machine's text may leave coefficients out: they are those of its architecture's row then. */
#define MGI_COST_FIELD(F, name, h200, h100, text) F(COST, double, name, 0, 1e6, text)
#define MGI_COST_H200(F, name, h200, h100, text) h200,
#define MGI_COST_H100(F, name, h200, h100, text) h100,
#define MG_COSTS_H200 MG_MACHINE_COSTS(MGI_COST_H200, ) /* a column of MG_USER_MACHINES too: no comma behind it */
#define MG_COSTS_H100 MG_MACHINE_COSTS(MGI_COST_H100, )
#define MG_MACHINE_FIELDS(F)                                                                                           \
  F(WORD,  const char *, name,             1,    40,             "what --machine calls it")                            \
  F(WORD,  const char *, arch,             1,    15,             "what nvcc is told")                                  \
  F(CAN,   uint32_t,     can,              0,    0,              "the sum of its MG_CAN_..")                           \
  F(WHOLE, int,          sms,              1,    1024,           "multiprocessors (SMs)")                              \
  F(WHOLE, int,          threads_per_sm,   1024, 4096,           "threads that a multiprocessor holds at once")        \
  F(WHOLE, int,          blocks_per_sm,    1,    64,             "blocks that a multiprocessor holds at once")         \
  F(WHOLE, int64_t,      shared_per_block, 1024, MG_SHARED_MOST, "bytes of shared memory that a block may ask for")    \
  F(WHOLE, int64_t,      shared_per_sm,    2048, 1 << 20,        "bytes of shared memory; a block takes 1024 more")    \
  F(WHOLE, int64_t,      registers_per_sm, 1024, 1 << 20,        "registers of 4 bytes")                               \
  F(WHOLE, int64_t,      l2_bytes,         1024, 1 << 30,        "bytes of the L2 cache")                              \
  MG_MACHINE_RATES(F)                                                                                                  \
  F(LINE,  const char *, source,           1,    200,            "where the rates come from: measured, or scaled")     \
  MG_MACHINE_COSTS(MGI_COST_FIELD, F)

typedef struct mg_machine {
#define MGI_F(kind, type, name, least, most, text) type name;
  MG_MACHINE_FIELDS(MGI_F)
#undef MGI_F
} mg_machine;

int mg_machine_count(void);
const mg_machine *mg_machine_at(int k); /* NULL if there is no row k; row 0 is the default */

/* By name ("H200"), architecture ("sm_90a": the H200), or plain architecture ("sm_90": the H200 too); the first row
   that fits.  NULL: no row does. */
const mg_machine *mg_machine_find(const char *name_or_arch);

/* The machine that code for `arch` (or a name; NULL: the default) is for: a copy of the row that mg_machine_find gives.
   For the plain form of the row's architecture the copy's `arch` is that text, which has to outlive it, and it has none
   of the capabilities that need the letter.  0: there is no such row. */
int mg_machine_for(const char *arch, mg_machine *out);

int mg_machine_can(const mg_machine *m, uint32_t capabilities); /* 1 if it has all of them */
const char *mg_capability_name(mg_capability c);                /* "clusters"; "nothing" if it is no capability */

/* 1 if so many blocks can be one cluster. */
int mg_machine_clusters(const mg_machine *m, int64_t blocks);
/* How many multiprocessors a launch can use at once whose blocks come in groups of so many.  A group stays within a
   part of the chip, so larger ones leave some idle; at least 1. */
int64_t mg_machine_filled_sms(const mg_machine *m, int64_t group);

/* The machines with all of the capabilities (0: all machines), by architecture: "sm_90a (H200, H100), sm_80 (A100)".
   What does not fit is left out, and "..." says so.  Returns text. */
enum { MG_MACHINE_LIST = 160 };
const char *mg_machine_list(uint32_t capabilities, char text[MG_MACHINE_LIST]);

/* The number of an architecture, "sm_90a": 90; 0 if it is not the name of one.  *letter (may be NULL): 'a', or 0 if it
   is plain. */
int mg_arch_number(const char *arch, char *letter);
/* What code for a GPU of that compute capability is compiled for: the architecture of a row with that number, or the
   plain one.  Returns arch. */
enum { MG_ARCH_TEXT = 16 };
const char *mg_arch_of_gpu(int major, int minor, char arch[MG_ARCH_TEXT]);
/* What code that has to run on `arch` is emitted for: `arch` itself where a row fits; else the newest older one of the
   table, plain; where all are newer, or `arch` is no architecture, the oldest.  Returns text. */
const char *mg_arch_near(const char *arch, char text[MG_ARCH_TEXT]);
/* 0 if code for `arch` needs another compute capability than that: it has a letter, and another number. */
int mg_arch_runs_on(const char *arch, int major, int minor);

/* A row as text: a line `key value` for each of MG_MACHINE_FIELDS, in any order; `can` has the capabilities' ids, as
   "CLUSTER FLOAT8"; `#` starts a comment, but not in `source`.  What mg_machine_print writes of a row that
   mg_machine_check takes gives the same row again.  Numbers are written and read as the program's locale has them. */
enum { MG_MACHINE_TEXT = 1 << 14, MG_MACHINE_FILE = 1 << 16 };
typedef struct mg_machine_file { /* a row that was read, and its texts: a copy of the struct is no copy of the row */
  mg_machine m;
  char text[3][208];
} mg_machine_file;
const char *mg_machine_print(const mg_machine *m, char text[MG_MACHINE_TEXT]); /* returns text */
/* At most MG_MACHINE_FILE bytes.  MG_BAD_INPUT: e->where is WHERE:LINE:COLUMN, e->msg what was expected and found. */
mg_status mg_machine_parse(const char *text, size_t len, const char *where, mg_machine_file *out, mg_error *e);
mg_status mg_machine_read(const char *path, mg_machine_file *out, mg_error *e); /* a file */
/* Whether every value is plausible, the architecture has a row in the table, and that row the capabilities. */
mg_status mg_machine_check(const mg_machine *m, mg_error *e);

/* ------------------------------------------------------------------------------------------------ >>kernels

   A kernel, flattened: what the plan, the facts and the cost of one are made from.  mg_flat_of makes it from a block
   graph; the search's tuner fills it without one.                                                                   */

enum { MG_FLAT_OPS = 256 };
/* it is written as it lies; its columns as rows; it is joined */
enum { MG_TAKEN_ALONG = 1, MG_TAKEN_TURNED = 2, MG_TAKEN_JOINED = 4 };
typedef struct mg_flat_op {
  int16_t code;                 /* an mg_opcode.  A product of joined operands stands as MG_OP_MATMUL */
  int8_t n_in;
  int8_t inloop, loop, outer;   /* 1: it stands in a loop; the axes of the innermost and the outermost one around it */
  int8_t rank, esize;           /* dimensions; bytes of an element */
  int8_t inner;                 /* of a load: the dimension whose neighbours are neighbours in memory */
  int8_t split;                 /* of a load: it lies in memory as the sum of two of f16 */
  int8_t chunk;                 /* of a load: the dimension that its innermost loop cuts, as 1 + d; 0: none */
  int8_t weighted;              /* of a load: of parts under maxima of their own; who knows other kernels says so */
  int8_t made;                  /* of a load: of what is computed where it is read (mg_filling): no bytes, no tile */
  int8_t down;                  /* of a load: its columns run along memory, not its rows */
  int8_t runs;                  /* of a load: neighbours in a row are neighbours in memory */
  int8_t ragged;                /* of a load: some blocks, or steps, have fewer of it than others */
  int8_t turns;                 /* it exchanges its operand's rows and columns, and does nothing else */
  int8_t stays;                 /* a move whose rows and columns are its operand's: it changes nothing but where they
                                   stand */
  int8_t along;                 /* SUM, MAX: the dimension that they join */
  int8_t across, adds;          /* ACCUM: over several blocks of the grid too; and by sums alone */
  int8_t wide;                  /* a product with NAME.mma=wide */
  int8_t joined;                /* a product of joined operands: in[0] in[1] + in[2] in[3], n_in 2 */
  int8_t narrow;                /* the tensor cores multiply its type, of 16 bits; esize counts what lies in memory, of
                                   two numbers or wide ones too */
  int8_t half;                  /* its type is f16 */
  int8_t sums, maxima;          /* ACCUM: it leaves loops, and all of them by sums; by maxima */
  int8_t taken;                 /* MG_TAKEN_..: who takes it, what is computed where it is read being looked through */
  int8_t direct;                /* of a load outside of loops: stores alone read it, once, twice without a loop, and not
                                   across its rows */
  int8_t at;                    /* 1 + the MG_AT_.. that NAME.at says; 0: it says nothing */
  int16_t in[4];                /* operands, as places in `op`; of a load in[0]: which tensor */
  int64_t d[MG_MAX_RANK];       /* extents in one block, in one step */
  int64_t unique;               /* load, store: bytes of the whole tensor; 0 if another load has them */
  double trips;                 /* how often a block comes to it */
} mg_flat_op;

typedef struct mg_flat {
  int n;
  mg_flat_op op[MG_FLAT_OPS];   /* operands precede */
  int64_t blocks, iters;        /* of the grid; steps of all loops of one block, at least 1 */
  int64_t group;                /* blocks that share a result: of these grid axes, as bits, which have more than one
                                   block */
  uint32_t merged;
  uint32_t nests;               /* bit a: loop a stands in another one, or has one in it */
  int64_t queries, keys;        /* of the causal mask that it reads; 0: it reads none */
  int shares;                   /* 1: its blocks copy for one another (share=): all take as many steps */
  int sent;                     /* 1: its exponentials leave it under a maximum, which another kernel takes out */
  int receives;                 /* 1: it reads what another kernel sent so */
} mg_flat;

typedef struct mg_kernel_plan {
  int stages, warps_m, warps_n, warps_k;
  int64_t shared;               /* bytes of shared memory of one block: as the planner foretells, or of what is emitted
                                   (at_once) */
  int feasible;                 /* 0: it does not fit the machine; 2: its blocks' parts do not fit a cluster's shared
                                   memory */
  int own;                      /* 1: every warp has a ring of its own (ring=warp, warps_k) */
  int parts;                    /* 1: every warp, or warpgroup, brings its part of the block's ring (ring=warp,
                                   ring=group) */
  int group;                    /* 1: products of warpgroups (mma=warpgroup) */
  int copies;                   /* an MG_COPY_..; not 0: tensor copies fill the rings */
  int late;                     /* 1: a chained product is made beside the next step's first (chain=late) */
  int at_once;                  /* blocks that a multiprocessor holds at once, as it is emitted (0: that is not known
                                   yet) */
} mg_kernel_plan;

/* Which products, and sums of rows, of a kernel take what they read from fragments.  Places count from 1; 0 is none. */
typedef struct mg_chains {
  int16_t from[MG_FLAT_OPS];    /* of product or sum i: the value whose fragments it takes */
  int16_t over[MG_FLAT_OPS];    /* of such a value: the product, or its accumulator, whose fragments it is computed
                                   in */
  int16_t lent;                 /* such an exponential that others of its shape read too: they may, under a maximum */
} mg_chains;

/* Of a kernel whose chains are known, how far exp(x - m) may stand for an exponential exp(x), m being the running
   maximum of its row: a value of degree n has the factor exp(-n m) then, and what is stored has degree 0, or 1 where it
   may stay so. */
typedef struct mg_maxima {
  int16_t of;                   /* that exponential, as a place from 1; 0: its factor does not cancel, or there are none
                                   or several */
  int8_t degree[MG_FLAT_OPS];
  uint8_t undo[MG_FLAT_OPS];    /* of a STORE: MG_UNDO_.. */
} mg_maxima;
/* one value a row: its factor is put back, or m is added to its logarithm */
enum { MG_UNDO_NONE, MG_UNDO_FACTOR, MG_UNDO_LOG };

/* 0: the block graph has more operators, or tensors, than the flat form. */
int mg_flat_of(const mg_graph *block, mg_flat *k);
/* 1 if `look` finds something in value i or in what it is computed of: of each it says 1 (here it is), 0 (not here, nor
   in its operands) or -1 (look at its operands).  Each value is looked at once, however many paths lead to it. */
typedef int mg_flat_look(const mg_flat *k, int i, void *what);
int mg_flat_finds(const mg_flat *k, int i, mg_flat_look *look, void *what);
void mg_flat_join(mg_flat_op *o);                     /* what was read as MG_OP_CONCAT_MATMUL becomes a product */
void mg_flat_read_once(mg_flat *k);                   /* of several loads of one tensor one keeps its bytes */
int64_t mg_flat_elements(const mg_flat_op *o);
int mg_flat_matrix(const mg_flat_op *o);              /* 1 if the block has one matrix of it, or less */
/* m x c times c x n */
void mg_flat_product(const mg_flat *k, const mg_flat_op *o, int64_t *m, int64_t *n, int64_t *c, int64_t *batch);
int mg_flat_has_product(const mg_flat *k, int i);     /* 1 if value i is made of a product's result */
/* The load of a causal mask, as a place from 1, whose loop ends behind the last key that a query of the block sees:
   what the steps after it would add is 0.  0: there is none (>>seen). */
int mg_flat_seen(const mg_flat *k);
double mg_flat_seen_share(const mg_flat *k); /* of all steps of that loop, those that a block has on average; else 1 */
#define MG_SEEN_LEAST 0.5 /* no share is less: there are as many keys as queries, or more */
void mg_flat_chains(const mg_flat *k, const mg_kernel_plan *p, mg_chains *c); /* reads the plan's warps */
/* The accumulator, a place from 1, into which product, SUM or MAX i is joined where it is made: nothing else reads i,
   and it joins i over its loops as i joins itself.  0: there is none. */
int mg_flat_in_place(const mg_flat *k, int i);
/* The product of value t's shape and loop that value v is, or is computed of element by element; -1: none, or
   several. */
int mg_flat_product_of(const mg_flat *k, const mg_chains *c, int v, int t);
/* 1 if all that is made of value s ends in t, element by element or moved; with `beside`, or in stores in t's loop. */
int mg_flat_ends_in(const mg_flat *k, int s, int t, int beside);
/* whether each store of degree 1 may stay so is not asked */
void mg_flat_maxima(const mg_flat *k, const mg_chains *c, mg_maxima *m);
void mg_flat_unlend(mg_chains *c);                    /* the exponential that was lent has no maximum: it is no one's */
/* Which tensors between the kernels of a graph are under a running maximum.  Both are NULL where none is. */
typedef struct mg_sent {
  uint32_t as;                  /* the first such tensor that the kernel makes; 0: there is none */
  uint8_t part;                 /* the grid axis that numbers the parts of its columns, each under a maximum of its own;
                                   0: one part */
  uint8_t never;                /* 1: a reader could not take it */
  uint8_t read;                 /* 1: a reader weights the parts by their maxima, which are stored too then */
  uint8_t weights;              /* 1: the kernel is such a reader */
} mg_sent;
typedef struct mg_sends {
  uint32_t *by;                 /* by tensor of the graph: the operator whose maximum it is under; 0: none */
  mg_sent *of;                  /* by operator of the graph */
} mg_sends;
/* How maxima come to a kernel, stay in it and leave it. */
typedef struct mg_passes {
  mg_maxima maxima;             /* that cancel in what it stores, or stay there for other kernels */
  uint32_t sender;              /* the operator whose tensors under a maximum it reads; 0: none */
  int takes;                    /* 0: it reads such, and cannot take them */
  int weighted;                 /* 1: it weights the sender's parts */
  uint32_t first;               /* its first store, by operator, that leaves a value under its maximum; 0: none does */
  uint8_t part;                 /* see mg_sent */
} mg_passes;
/* Of all kernels' warps as they are written or by default, or where `any` is set and none are written, under some.  0:
   no memory. */
int mg_sends_of(const mg_graph *g, const mg_machine *m, int any, mg_sends *s);
void mg_sends_free(mg_sends *s);
/* Of kernel b of g; without s, or of a block graph that is none of g's operators, nothing comes or leaves. */
void mg_sends_in(const mg_graph *g, const mg_graph *b, const mg_machine *m, const mg_sends *s, const mg_flat *k,
                 const mg_chains *c, mg_passes *x);
/* Of LOAD o of such a tensor of parts: *inner: how many neighbouring columns a part has; *split: 1 if the parts come
   round again.  1 if all that it loads at a time is of one part. */
int mg_sends_one_part(const mg_graph *g, const mg_graph *b, const mg_op_node *o, const mg_sends *s, int64_t *inner,
                      int *split);
int mg_degree(int code, int a, int b, int *d);        /* *d: of an operator of operands of degrees a and b; 0: it has
                                                         none */
/* 1 if product i takes its left operand from fragments */
int mg_flat_chained(const mg_flat *k, const mg_kernel_plan *p, int i);
/* Why product i is none that warpgroups make, "" if they do; and the registers of a thread that all products take so.
   Of the plan, its warps are read. */
const char *mg_flat_group_why(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i);
int mg_flat_group_registers(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c);
/* How many a thread of `threads` that multiply has for them; apart 1: a warpgroup beside these copies, and gives up all
   but MG_COPIER of its registers if they need them: each has as many as mg_group_takes then (0: what the launch deals
   out will do). */
enum { MG_COPIER = 40 };
int mg_group_room(const mg_machine *m, int threads, int apart);
int mg_group_takes(const mg_machine *m, int threads, int registers);
/* Bit a of own: every warp has a ring of its own for loop a; of parts: every warp, or warpgroup, brings its part of the
   block's ring.  cut: of a value of such a loop, what is cut among them; `taken` and `into` count places from 1. */
enum { MG_CUT_NONE, MG_CUT_ROWS, MG_CUT_COLS };
typedef struct mg_rings {
  uint32_t own, parts;
  int8_t cut[MG_FLAT_OPS];
  int16_t taken[MG_FLAT_OPS];   /* of a product behind an own ring: the ring's product that it takes part by part */
  int16_t into[MG_FLAT_OPS];    /* of such a one: the ring's product to which the parts of its result are added */
} mg_rings;
/* reads the plan's warps and group */
void mg_flat_rings(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, mg_rings *r);
/* The load that left operand i is, times *row, another load, in an own ring: multiplied in fragments; -1: it is no such
   thing. */
int mg_flat_scaled(const mg_flat *k, const mg_rings *r, int i, int *row);
/* 1 if wide product i keeps such an operand in f16 */
int mg_flat_steady(const mg_flat *k, const mg_chains *c, const mg_rings *r, int i);
/* Of a load whose elements go to stores and accumulators alone, and some of whose columns in memory are written as
   rows, as a transpose has it: how many of a row a thread writes at a time; 0: it is no such load, or has fewer rows or
   columns than 16 bytes have. */
int mg_flat_across(const mg_flat *k, int load);
/* 1 if a product contracts the load's columns, or rows, as they lie */
int mg_flat_contracts(const mg_flat *k, int load, int how);
/* The load whose squares SUM i adds up on tensor cores; -1: it does not.  An own ring has each warp do so with its
   part. */
int mg_flat_squares(const mg_flat *k, const mg_kernel_plan *p, const mg_rings *r, int i);
int mg_flat_unshifted(const mg_flat *k);              /* 1 if a product takes an exponential without a running maximum
                                                         under any plan, at any sizes */
/* The tile of a load, as it lies in shared memory: what is read of it is padded to whole pieces of 16 bytes, and what a
   product contracts to whole steps of 16. */
typedef struct mg_tile_form {
  int rows, cols;               /* elements; of an own ring, of one warp's part */
  int lines, pieces;            /* rows of its memory, each of so many pieces */
  int esize;                    /* bytes of an element */
  int across;                   /* see mg_flat_across */
} mg_tile_form;
mg_tile_form mg_flat_tile(const mg_flat *k, const mg_kernel_plan *p, const mg_rings *r, int load);
int mg_tile_pitch(const mg_tile_form *t, int way);     /* bytes between its rows; way: an MG_IN_.. */
int64_t mg_tile_bytes(const mg_tile_form *t, int way);
/* Of a tile that is read across: how many of the words that a warp reads at once share a bank, of those that share one
   most. */
int mg_tile_conflicts(const mg_tile_form *t, int way);
int64_t mg_tile_cost(const mg_tile_form *t, int way);  /* lines of 128 bytes, eighths of them, filled and read in an
                                                          iteration */
/* Ways that the tile of a load may not lie in, as bits, but for what is lifted by less than `until`: nothing lifts a
   firm ban, the plan's NAME.in=<way> those before, and that the block does not fit those before these. */
enum { MG_UNLESS_SHORT, MG_UNLESS_PLANNED, MG_FIRM };
uint8_t mg_flat_banned(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r, int load,
                       int until);
/* NULL: no firm ban */
const char *mg_flat_ban_why(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r, int load,
                            int way);
/* the cheapest; -1: all are banned */
int mg_flat_way(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r, int load);
/* What other pieces of shared memory take, in bytes: a value of rows x cols computed into a tile for products (copy);
   one that a loop joins in f32 (joined); the fragments of so many warps that share a contraction (parts); what blocks
   of a cluster get of all `blocks` parts, where each is the owner of a share of the result, or where one takes all
   (given). */
int mg_pitch(int64_t inner, int esize); /* elements between rows: an odd multiple of 16 bytes */
int64_t mg_copy_bytes(int64_t rows, int64_t cols, int esize);
int64_t mg_joined_bytes(int64_t rows, int64_t cols);
int64_t mg_parts_bytes(int64_t rows, int64_t cols, int parts);
int64_t mg_given_bytes(int64_t rows, int64_t cols, int64_t blocks, int owned);
/* Elements, beside its result's n, that a sum or maximum joins parts in: of `threads` that run by rows or columns that
   are neighbours in memory (1), or by other columns (0). */
int64_t mg_reduce_scratch(int64_t n, int threads, int neighbours);
/* What stands behind a merge over the grid: all that a merged value reaches, with the whole of a loop that has some of
   it, and the loads outside of loops that nothing before it uses. */
void mg_flat_late(const mg_flat *k, uint8_t late[MG_FLAT_OPS]);
/* 1 if all behind the merge is elementwise, of merged values and loads, and stored in one shape, *rows x *cols: each
   block of a cluster can then do a share of it. */
int mg_flat_shares(const mg_flat *k, int64_t *rows, int64_t *cols);
/* By whom each value is taken: sets `taken` and `direct`, the sizes being there. */
void mg_flat_takers(mg_flat *k);
/* 1 if a load outside of loops, neither direct nor read across its rows, is read in runs along them, as others are read
   across. */
int mg_flat_beside(const mg_flat *k, int load);
/* How many loads the kernel has, if each is read where something of it is stored: directly, across its tile or beside
   such; else 0. */
int mg_flat_read_in_stores(const mg_flat *k);
/* 1 if no NAME.at keeps the value from living so: an MG_AT_... */
int mg_flat_lets(const mg_flat_op *o, int at);
/* The first load, a place from 1, of whole rows that so many threads hold in registers, 16 bytes at a time, while they
   join them to one value a row and store rows; only parts of what they join go through shared memory.  Of a kernel
   without loops, products, moves and merges, of tensors of one shape beside vectors: rows of whole 16-byte pieces, as
   many as whole passes of the threads take, that no block has fewer of.  0: it is no such kernel. */
int mg_flat_strip(const mg_flat *k, int threads);
/* 1 if tensor cores multiply value a by value b; else f32 multiply-adds do. */
int mg_flat_by_tensors(const mg_flat *k, int a, int b);
/* 1 if value i, which is computed where it is read, stands in a tile of shared memory that all threads compute, and
   products take it from there, as it is or turned.  That is better than that they compute it wherever they take it: of
   what stands outside of loops where a product's loop, or several warps, would do so again; of what a step of a loop
   computes where several warps would, and it is costly (mg_flat_costly): then it is computed once a step, with a
   barrier between its writers and the product. */
int mg_flat_once(const mg_flat *k, const mg_kernel_plan *p, int i);
/* 1 if what is computed with value i has a dear operator in it, or a move that no tile can be read by. */
int mg_flat_costly(const mg_flat *k, int i);
/* The load in whose tile such a value i, of 16 bits, stands, as nothing else is made of the load, and i element by
   element; -1: it has a tile of its own.  Only beside rings that tensor copies fill, which room lets begin early:
   elements that are written where they were read are read one after another. */
int mg_flat_over(const mg_flat *k, const mg_kernel_plan *p, int i);
/* The load whose tile, as it is or turned, value i is; -1: it has to be computed.  *turned (may be NULL): 1 if it is
   turned. */
int mg_flat_tile_read(const mg_flat *k, int i, int *turned);
/* 1 if product i, of warpgroups, is under way while the loop's next step begins: tensor copies bring both of its
   operands, which are multiplied as they lie, and its accumulator is touched by nothing else in the loop. */
int mg_flat_flies(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i);
/* The product, a place from 1, beside whose next one a product i of its fragments may be made (chain=late): tensor
   copies bring the right operands of both, the loop has no other product, and nothing that it or another product makes
   is a left operand of the first.  0: there is none. */
int mg_flat_trails(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i);
/* 1 if product i is made by warpgroups: the plan has them, and mg_flat_group_why has nothing against it. */
int mg_flat_by_group(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i);
int64_t mg_round_up(int64_t x, int64_t multiple);
/* The dimension that a block's value of these extents has its rows in: the last but one; or, where that has one
   element, the one before it that has more, if there is one such.  The columns are in the last. */
int mg_rows_in(int rank, const int64_t *dim);
/* 1 if parts of dimension d, of that extent, as axes of block graph b up to `last` cut it, may be shorter than others,
   or be none; symbol: the extent comes with the launch. */
int mg_uneven(const mg_graph *b, const mg_map *m, int64_t extent, int d, uint32_t last, int symbol);
int mg_innermost(const mg_tensor_info *t);            /* of its dimensions of several elements the one whose neighbours
                                                         are neighbours in memory */
int mg_runs_down(const mg_tensor_info *t, int rows);  /* 1 if t's columns, not its rows, which are in dimension `rows`,
                                                         are contiguous in memory */
/* What move o makes of rows and columns, if its operand and its result have nothing else: what they were, or
   exchanged. */
enum { MG_MOVES_MORE, MG_MOVES_NOTHING, MG_MOVES_TURNS };
int mg_moves_how(const mg_op_node *o, const mg_shape *from, const mg_shape *to);
int mg_flat_brings(const mg_flat_op *o);              /* 1 if it is a load that brings something from device memory */
int mg_op_moves(int code);                            /* 1 if the operator only moves elements */
int mg_flat_only_reader(const mg_flat *k, int i);     /* the one that reads value i, -1: none, several, or one twice */
int mg_flat_power(const mg_flat *k, int i);           /* the exponential that value i is, itself or cast to 16 bits, which
                                                         alone reads it; -1: it is none */
/* `placed` (NULL: none) says which values have a place of their own, and are not computed where they are read.
   1 if value i is computed, element by element, by a dear operator or of a dear value, or so of value x alone in x's
   loop.  Of a dear vector i that many elements of something larger take, so that it is made once: 1, or 2 as the
   inverse by which all of them multiply.
   Where a kernel's rows stay in registers (strip, as mg_flat_strip says) a dear value as large as these is kept beside
   them where several steps take it, if the registers suffice: kept[i] of value i. */
int mg_flat_dear(const mg_flat *k, int i, const uint8_t *placed);
int mg_flat_only_of(const mg_flat *k, int i, int x, const uint8_t *placed);
int mg_flat_vector(const mg_flat *k, int threads, int strip, int i, const uint8_t *placed);
void mg_flat_kept(const mg_flat *k, int threads, int strip, uint8_t kept[MG_FLAT_OPS]);
/* 1 if t, a 16-bit tensor of kernel-level g, stands in device memory as f32: no output, and handed on by a kernel whose
   plan has NAME.store=f32, NAME being what it stores; or from a library operator to others, none of them products. */
int mg_wide(const mg_graph *g, mg_tensor t);
/* 1 if t, of f16 and no output, is handed on by a kernel whose plan has NAME.store=split: what a block stores stands
   there as the sum of two, times a power of two of the block's own, so that it never passes f16's exponents. */
int mg_split(const mg_graph *g, mg_tensor t);
/* 1 if `op` of kernel-level g is a slice that may be an address, and no kernel: it is no output, and its rows begin at
   multiples of 16 bytes in what it is cut from, which lies as it is. */
int mg_slice_may_be_address(const mg_graph *g, uint32_t op);
/* 1 if it is: loads of kernels alone read it, or slices that they alone read. */
int mg_slice_is_address(const mg_graph *g, uint32_t op);
/* What tensor t of kernel-level g has its elements in, at that one's strides: t itself, but for slices that are
   addresses. */
mg_tensor mg_sliced_from(const mg_graph *g, mg_tensor t);
/* 1 if `op` of kernel-level g is another name of the same bytes, or of some of them, and no kernel: a slice that is an
   address; a reshape of which both tensors lie row by row, as one type, and one that is an output is the only one of
   what a kernel makes. */
int mg_renames(const mg_graph *g, uint32_t op);
/* The kernels of kernel-level g, library operators' too: all operators but what mg_renames. */
int mg_kernels(const mg_graph *g);
/* The input, output or intermediate whose bytes tensor t of kernel-level g has, or some of: t itself, but for what
   mg_renames. */
mg_tensor mg_lies_as(const mg_graph *g, mg_tensor t);
/* 1 if the operands of product `op` of block graph b may pass the exponents of their 16-bit type: its plan has
   NAME.mma=wide. */
int mg_wide_product(const mg_graph *b, uint32_t op);
/* 1 if tensor t of a block graph is a load of what `stands` (mg_wide, mg_split) says of the kernel level's tensors. */
int mg_loads_what(const mg_graph *g, mg_tensor t, int (*stands)(const mg_graph *g, mg_tensor t));

/* ------------------------------------------------------------------------------------------------------ >>keys

   The keys of a kernel's plan, as in `plan { stages=4, ring=warp, p.at=fragment }`.  A key is a row, and this list is
   the only place that knows its name, its numbers and its words: what checks, reads or writes a plan goes by the row.

   To add a key, add a row.  Compilers then warn of mgi_cu_decided (mirage_cuda.cuh) until it says what became of the
   key:  what the key does is the emitter's.  A key that kernels are to have without being told is tried by
   mg_flat_plan.    */

/* W(P, id, word, what): the words of a key; P is for who expands the list. */
#define MG_NUMBERS(W, P)                                                                                               \
  /* none: the key has numbers */
#define MG_MERGE_WORDS(W, P)                                                                                           \
  W(P, WORKSPACE, "workspace", "the last block to arrive merges what the others left in the workspace")                \
  W(P, CLUSTER,   "cluster",   "the blocks of a cluster read each other's shared memory")
#define MG_RING_WORDS(W, P)                                                                                            \
  W(P, BLOCK,     "block",     "all warps share the tiles of a stage, and wait for each other")                        \
  W(P, WARP,      "warp",      "every warp brings what it alone reads, and waits for nobody")                          \
  W(P, GROUP,     "group",     "so does every warpgroup")
#define MG_MMA_WORDS(W, P)                                                                                             \
  W(P, WARP,      "warp",      "warps multiply (mma.sync)")                                                            \
  W(P, WARPGROUP, "warpgroup", "four warps multiply as one (wgmma)")
#define MG_SCHEDULE_WORDS(W, P)                                                                                        \
  W(P, WRITTEN,   "written",   "in the order of the text")                                                             \
  W(P, DEPTH,     "depth",     "with the fewest barriers")                                                             \
  W(P, ROOM,      "room",      "so too; values share addresses only if more blocks fit a multiprocessor by it")
#define MG_COPY_WORDS(W, P)                                                                                            \
  W(P, ASYNC,     "async",     "threads copy (cp.async)")                                                              \
  W(P, TMA,       "tma",       "one thread asks for whole tiles (tensor copies)")                                      \
  W(P, WARP,      "warp",      "so does one of a warp beside those that compute, which does nothing else")
#define MG_CHAIN_WORDS(W, P)                                                                                           \
  W(P, NOW,       "now",       "in its own step")                                                                      \
  W(P, LATE,      "late",      "beside the first product of the next step, and waited for behind its exponentials")
#define MG_AT_WORDS(W, P)                                                                                              \
  W(P, PLAIN,     "plain",     "a load: a tile; a product: fragments; a statistic: a vector; all else inline")         \
  W(P, STRIP,     "registers", "a load of whole rows, in a kernel that joins rows and stores rows")                    \
  W(P, SETTLE,    "fragment",  "a product, or a function of it, that is another product's left operand")               \
  W(P, DIRECT,    "global",    "a load outside of loops that stores alone read: once, twice if there is no loop")      \
  W(P, ONCE,      "tile",      "an operand computed from loads that a loop, or several warps, would compute again")    \
  W(P, VECTOR,    "vector",    "a dear vector that many elements of something larger take: once, in fp32")             \
  W(P, KEPT,      "kept",      "in such a kernel, a dear value that several steps take: once, in registers, in fp32")
#define MG_IN_WORDS(W, P) /* of ways that cost the same, the first is taken */                                         \
  W(P, SWIZZLED,  "swizzled",  "rows close together, the pieces of a line exchanged by the row's number")              \
  W(P, PADDED,    "padded",    "rows an odd number of pieces apart")                                                   \
  W(P, DENSE,     "dense",     "rows close together, as they come")                                                    \
  W(P, PANELS,    "panels",    "swizzled, 64 elements of every row, then the next 64")                                 \
  W(P, TURNED,    "turned",    "rows close together, the pieces of a line exchanged by the number of the column's run")
#define MG_WIDE_WORDS(W, P)                                                                                            \
  W(P, WIDE,      "wide",      "its operands pass the exponents of 16 bits")
#define MG_STORE_WORDS(W, P)                                                                                           \
  W(P, F32,       "f32",       "it stands in device memory in f32")                                                    \
  W(P, SPLIT,     "split",     "it stands there as the sum of two of f16")

/* K(id, of, key, WORDS, least, most, what).  of: KERNEL; or of which values NAME the key NAME.key speaks: TENSOR (any
   of the block), LOAD, PRODUCT, STORED (what a store stores).  least, most: of a number. */
#define MG_PLAN_KEYS(K)                                                                                                \
  K(STAGES,   KERNEL,  "stages",   MG_NUMBERS,        1, 8,  "tiles of a load that are under way or in use at once")   \
  K(WARPS_M,  KERNEL,  "warps_m",  MG_NUMBERS,        1, 32, "warps that share a product's rows")                      \
  K(WARPS_N,  KERNEL,  "warps_n",  MG_NUMBERS,        1, 32, "warps that share its columns")                           \
  K(WARPS_K,  KERNEL,  "warps_k",  MG_NUMBERS,        1, 32, "warps that share its contraction")                       \
  K(RING,     KERNEL,  "ring",     MG_RING_WORDS,     0, 0,  "who fills the stages of a loop")                         \
  K(MMA,      KERNEL,  "mma",      MG_MMA_WORDS,      0, 0,  "who multiplies")                                         \
  K(COPY,     KERNEL,  "copy",     MG_COPY_WORDS,     0, 0,  "who copies tiles")                                       \
  K(SHARE,    KERNEL,  "share",    MG_NUMBERS,        1, 8,  "blocks, a cluster, that copy what all of them read for one another") \
  K(CHAIN,    KERNEL,  "chain",    MG_CHAIN_WORDS,    0, 0,  "when a product of fragments of a loop's step is made")   \
  K(MERGE,    KERNEL,  "merge",    MG_MERGE_WORDS,    0, 0,  "how the parts of several blocks are put together")       \
  K(AHEAD,    KERNEL,  "ahead",    MG_NUMBERS,        0, 1,  "0: loads stand where they are needed; 1: first")         \
  K(SCHEDULE, KERNEL,  "schedule", MG_SCHEDULE_WORDS, 0, 0,  "the order of the steps; else the best of these")         \
  K(AT,       TENSOR,  "at",       MG_AT_WORDS,       0, 0,  "where it lives")                                         \
  K(IN,       LOAD,    "in",       MG_IN_WORDS,       0, 0,  "how its tile lies in shared memory; else the best")      \
  K(WIDE,     PRODUCT, "mma",      MG_WIDE_WORDS,     0, 0,  "how it is multiplied")                                   \
  K(STORE,    STORED,  "store",    MG_STORE_WORDS,    0, 0,  "how it is stored where it is no output")

typedef enum mg_plan_key {
#define MGI_K(id, of, key, WORDS, least, most, what) MG_PLAN_##id,
  MG_PLAN_KEYS(MGI_K)
#undef MGI_K
  MG_PLAN_KEY_COUNT
} mg_plan_key;
/* The places of each key's words: MG_RING_WARP is 1. */
#define MGI_W(P, id, word, what) P##id,
#define MGI_K(id, of, key, WORDS, least, most, what) enum { WORDS(MGI_W, MG_##id##_) MG_##id##_COUNT };
MG_PLAN_KEYS(MGI_K)
#undef MGI_K
#undef MGI_W

/* The warps of block's plan, k being its flat form; of what it does not say 1.  Where it says nothing of warps, those
   of block->threads share the largest product: its rows, then its columns, the contraction where rows are few; and no
   contraction where a product can stay in fragments then.  0: they are not as many as the block has (1 to 32). */
int mg_plan_warps(const mg_graph *block, const mg_flat *k, mg_kernel_plan *p);
/* threads of a block beside those of its graph with copy=warp: a warpgroup, as registers are dealt out */
enum { MG_APART = 128 };
enum { MG_STAGES = 3, MG_STAGES_MOST = 8 }; /* of a ring, where the plan says nothing: fewer where these do not fit */
/* What block's plan says: the number, or the place of the word; -1 if it says nothing that the row has.  `name`: of a
   value, where the key is one of values; else NULL. */
int mg_plan_says(const mg_graph *block, mg_plan_key key, const char *name);
/* Writes it into the plan, as the row prints it.  0: the key with that name is longer than a key may be. */
int mg_plan_say(mg_graph *block, mg_plan_key key, const char *name, int value);
/* The key, for a value NAME.key, and the text of one of its values: MG_PLAN_TEXT bytes each; 0 as mg_plan_say. */
enum { MG_PLAN_TEXT = 64 };
int mg_plan_text(mg_plan_key key, const char *name, int value, char word[MG_PLAN_TEXT], char text[MG_PLAN_TEXT]);
/* A word of the key, by its place; NULL if the key has numbers, or no such word. */
const char *mg_plan_word(mg_plan_key key, int value);
/* All of block's plan is of the list: keys, whose they are, numbers and words.  MG_UNSUPPORTED, where, and what was
   expected and found; `where` names the kernel. */
mg_status mg_plan_check(const mg_graph *block, const char *where, mg_error *e);

/* --------------------------------------------------------------------------------------------------- >>costs

   What a kernel takes on a machine.  Its time is the sum of the terms of MG_COST_TERMS; BODY is the larger of memory
   and compute and what of the smaller does not hide behind it.                                                      */

/* T(id, text): the terms, microseconds. */
#define MG_COST_TERMS(T)                                                                                               \
  T(launch,   "launch: an empty kernel")                                                                               \
  T(fill,     "fill: loads before the loop, and its first stage")                                                      \
  T(body,     "body: memory and compute, as far as they do not overlap")                                               \
  T(steps,    "steps: what each step of the loop waits for")                                                           \
  T(barriers, "barriers beside those of the steps")                                                                    \
  T(rounds,   "rounds: stores of blocks before the last, where products are under way")                               \
  T(merge,    "merge: parts of warps, and of blocks, put together")                                                    \
  T(drain,    "drain: the last stores, the end")

/* T(id, text): what the body is made of, each as if it were alone.  Memory is the largest of the first three, compute
   the sum of the next three; the body is the larger of memory and compute, `unhidden` times the smaller, and the
   last. */
#define MG_BODY_TERMS(T)                                                                                               \
  T(dram,     "device memory")                                                                                         \
  T(l2,       "L2 cache")                                                                                              \
  T(again,    "a stream: device memory, what blocks read again, what it waits for")                                     \
  T(tensor,   "tensor cores")                                                                                          \
  T(elements, "elementwise")                                                                                           \
  T(shared,   "shared memory")                                                                                         \
  T(start,    "starts of blocks, which come one after another over the whole chip")                                      \
  T(chain,    "steps that wait for what is under way, or for each other's products")

typedef struct mg_cost {
#define MGI_T(id, text) double id##_us;
  MG_COST_TERMS(MGI_T)
  MG_BODY_TERMS(MGI_T)
#undef MGI_T
  double unhidden; /* the share of the smaller of memory and compute that the larger does not hide */
  double penalty;  /* 1; 1.25 or 8 with an exponential that may overflow; times 4 with tensors that are no matrices */
  double total_us; /* the terms' sum times that; 1e9 more if it does not fit the machine */
} mg_cost;

/* What a byte from L2 and a microsecond of one multiprocessor's arithmetic add to a kernel's time, about where it
   is. */
typedef struct mg_rates { double mem, comp; int warps_m, warps_n; } mg_rates;

/* What a block of a kernel takes as it is emitted: mg_cuda_facts of mirage_cuda.cuh says it, of the text that it
   writes. */
typedef struct mg_kernel_takes {
  int threads, stages;
  int64_t shared_bytes;
  int64_t barriers;             /* that a block comes to */
  int accumulators;             /* registers of products' results, a thread */
  int workspace;                /* 1: its blocks' parts meet in the workspace */
  int direct;                   /* loads, where nothing but them and what is stored of each of their elements is in the
                                   kernel; 0 */
  int blocks;                   /* that a multiprocessor holds at once: the launch bound says so (mg_blocks_at_once) */
  int registers;                /* a ceiling: that bound leaves a thread no more */
} mg_kernel_takes;
/* Sets blocks, at least 1, and registers: as many blocks at once as shared memory, threads, the grid and registers
   allow, these being MG_REGISTERS_BESIDE more than the accumulators', and what that leaves a thread.  A thread of
   direct loads holds 16 bytes of each, and MG_DIRECT_BESIDE. */
enum { MG_REGISTERS_BESIDE = 120, MG_FLYING_BESIDE = 26, MG_DIRECT_BESIDE = 24, MG_REGISTERS_MOST = 255 };
void mg_blocks_at_once(const mg_machine *m, int64_t grid, mg_kernel_takes *takes);

typedef struct mg_kernel_facts {
  mg_kernel_plan plan;          /* the block's own, where it says stages or warps; else the best by the cost */
  int threads;
  int64_t blocks, group, steps; /* of the grid; that share a result; of the loops of a block */
  double waves, resident;       /* blocks that a multiprocessor works off; those that it holds at once */
  double dram_bytes, l2_bytes, flops; /* of the whole kernel; operations of tensor cores */
  mg_cost cost;
} mg_kernel_facts;

/* Of the kernel that operator `op` of µGraph g is, its thread graphs inlined (mg_inline_threads); m NULL: the default
   machine.  0: g->ops[op] is no kernel, or too large for the flat form. */
int mg_kernel_facts_of(const mg_graph *g, uint32_t op, const mg_machine *m, mg_kernel_facts *f);
/* The same of a kernel that is emitted: stages, shared bytes and the blocks that a multiprocessor holds are those of
   `takes`, and the cost is of them.  NULL: as above, by what the planner foretells. */
int mg_kernel_facts_taking(const mg_graph *g, uint32_t op, const mg_machine *m, const mg_kernel_takes *takes,
                           mg_kernel_facts *f);

/* The plan with the least cost, its microseconds, and (may be NULL) the rates there. */
mg_kernel_plan mg_flat_plan(const mg_flat *k, const mg_machine *m, double *us, mg_rates *rates);
double mg_flat_us(const mg_flat *k, const mg_machine *m, mg_rates *rates);
/* Of operator o of a program as a library kernel: one operator over whole tensors; 0 of what is none (mg_renames).
   Where the call for a product before it takes it (mg_library_takes), what it adds to that. */
double mg_library_us(const mg_graph *g, const mg_op_node *o, const mg_machine *m);
/* The same where nothing takes it. */
double mg_library_alone_us(const mg_graph *g, const mg_op_node *o, const mg_machine *m);
/* What one call of a library makes where operator `op` is a product: out = A B + added + bias, with the adds right
   behind it whose operand nothing else reads (cublasLtMatmul: beta C, the epilogue BIAS).  Not a relu: that of a NaN is
   a NaN here. */
enum { MG_LIBRARY_TAKES = 2 };
typedef struct mg_library_product {
  uint32_t added, bias;          /* tensors, there before the product; 0: none.  added: of its shape; bias: of its
                                    columns */
  int taken;                     /* operators beside the product */
  uint32_t op[MG_LIBRARY_TAKES]; /* these, in their order; the last one's result is of the operands' type */
} mg_library_product;
mg_library_product mg_library_takes(const mg_graph *g, uint32_t op);
/* 1 if a product of µGraph g is an operator of its own, which a library makes where there is one: by an algorithm that
   it picks for the sizes, so a row's bits may depend on these. */
int mg_library_multiplies(const mg_graph *g);
/* 1 if both have the same extents. */
int mg_same_shape(const mg_shape *a, const mg_shape *b);
/* The product that takes operator `op`; 0: none does. */
uint32_t mg_library_taker(const mg_graph *g, uint32_t op);
/* What a block of an operator over whole tensors makes of its results: 256 elements, a row for each of 8 warps, or one
   row. */
int mg_library_items(mg_opcode code, int softmax);
/* Of operator o of g as a library kernel: the most blocks that share a row, and the most of all of them where several
   do; of so many rows as there are, MG_SHARED_BY says how many share one.  most is 1 but for an argmax over long
   rows. */
typedef struct mg_shares { int64_t blocks, most; } mg_shares;
mg_shares mg_library_shares(const mg_graph *g, const mg_op_node *o, const mg_machine *m);
double mg_sm_rate(const mg_machine *m);                          /* bytes a microsecond that a multiprocessor takes
                                                                    in */
/* Blocks that a multiprocessor works off one after another, or at once, where `group` of them share a result. */
double mg_waves(const mg_machine *m, int64_t blocks, int64_t group);
/* Microseconds of one multiprocessor that is full of warps: of operations of tensor cores, by warpgroups or by warps;
   of issue slots of elements; of bytes that products read of shared memory. */
/* of the whole chip: no kernel takes less to bring or store so much */
double mg_dram_us(const mg_machine *m, double bytes);
double mg_products_us(const mg_machine *m, double flops, int group);
double mg_flying_us(const mg_machine *m, double flops); /* of warpgroups, under way while the next step begins */
double mg_slots_us(const mg_machine *m, double slots);
double mg_shared_us(const mg_machine *m, double bytes);
/* What a kernel's cost has at least, under any plan: with or without a loop, warpgroups (1: they may make its products;
   2: and have them under way while the next step begins), products. */
typedef struct mg_least {
  double unhidden;              /* of the smaller of memory and compute */
  double fill;                  /* of a step's time */
  double step_us;               /* of a step */
} mg_least;
mg_least mg_least_of(const mg_machine *m, int loop, int group, int products, int streams);
double mg_load_waste(int64_t inner, int rank, int esize);        /* bytes moved for each byte needed, by the length of a
                                                                    run */

/* The analytic model's time of a µGraph, every kernel under the best plan that it knows, or of a program (each operator
   a library kernel), in microseconds; m NULL: the default machine.  MG_UNFIT_US more for each kernel that does not fit
   the machine; MG_NO_TIME if memory is out. */
#define MG_UNFIT_US 1e9
#define MG_NO_TIME 1e18
double mg_predict_us(const mg_graph *ugraph, const mg_machine *m);
/* µGraphs of one program that are timed side by side; us[k]: of g[k], 0 where it failed. */
typedef struct mg_measure_job { const mg_graph *program; const mg_graph *const *g; int n; double *us; } mg_measure_job;

/* Writes block's plan: stages, warps_m, warps_n, warps_k, ring where warps have their own, and block->threads = 32 *
   their product; of what its plan said before it keeps what is of values, NAME.key.  m NULL: the default machine. */
void mg_plan_kernel(mg_graph *block, const mg_machine *m);

/* -------------------------------------------------------------------------------------------------- >>memory

   The shared memory of a block: pieces, and the steps of the kernel's text that touch them.  Who writes a kernel notes
   the steps once, in the order of the text; how long each piece is alive, where it lies, and what a step has to wait
   for follows from them.

       t = tile           BEGIN  WRITE t                             t is alive from here
       s = sum of t       BEGIN  READ t  WRITE s    a barrier        to here

   Lifetimes: from the first touch to the end of the statement of the last; what was there before a loop and is touched
   in it, to the loop's end; what is written in every iteration, of that iteration alone, as a barrier stands where it
   begins.  Two layouts are compared.  In the tight one pieces share addresses as soon as the steps allow it; in the
   loose one only if a barrier stands between them anyway, so that sharing adds none.  The loose one counts unless more
   blocks fit a multiprocessor by the tight one.

   Barriers: of every piece it is known whether it was written or read since the last one.  Reading what was written, or
   writing what (or what shares addresses with something that) was read or written, waits for
   one.                     */

/* Dynamic storage allocation.  A piece takes `bytes` (0 and up) from step `begin` to step `end`, both included; none if
   end < begin.  mg_memory_plan fills in the offsets, multiples of `align`, so that pieces alive at one step share no
   byte, and returns how many bytes that takes; -1 for a negative size, an align below 1, more than MG_MEMORY_PIECES
   pieces or a sum beyond 2^62.  *exact (may be NULL): 1 if no plan takes less, which up to MG_MEMORY_EXACT pieces
   always holds.  The same pieces always give the same plan.  Thread safety: as a pure function. */
enum { MG_MEMORY_EXACT = 12, MG_MEMORY_PIECES = 128 };
typedef struct mg_memory_piece {
  int64_t bytes;
  int begin, end;
  int64_t offset;            /* out */
} mg_memory_piece;
int64_t mg_memory_plan(mg_memory_piece *piece, int n, int64_t align, int *exact);

/* S(id, what): the steps.  `piece`, `n` and `loop` are those of mg_memory_step. */
#define MG_MEMORY_STEPS(S)                                                                                             \
  S(BEGIN,      "a statement begins: the barriers that it needs stand before it, what it touches lives to its end")    \
  S(READ,       "it reads the piece")                                                                                  \
  S(WRITE,      "it writes the piece")                                                                                 \
  S(BARRIER,    "a barrier stands here in any case")                                                                   \
  S(BARRIER_IN, "so it does if shared memory is written in the loop")                                                  \
  S(BARRIER_TO, "so it does before loop n if no shared memory is written in it, but was before it")                    \
  S(SYNCED,     "the statement has a barrier in it, behind which the piece (-1: none) is all that was touched")        \
  S(CLEAR,      "nothing that was touched has to be waited for: a barrier was just here")                              \
  S(ASK,        "copies into the piece are under way (cp.async), as a group")                                          \
  S(ASK_RING,   "n more groups are under way, the first stages of a ring")                                             \
  S(OLDER,      "what was asked for from step n on is older than the stages of the ring")                              \
  S(ARRIVE,     "all that is under way has arrived")                                                                   \
  S(ARRIVE_FOR, "the piece has, if it is under way")                                                                   \
  S(RING_NEXT,  "with a ring's first stage the first n pieces have come; -1: all that is not OLDER")                   \
  S(UNTOUCHED,  "that it was written is nothing to wait for: that is done by other means")                             \
  S(ALWAYS,     "it is alive in the whole kernel")                                                                     \
  S(ONWARD,     "it is alive from here to the end")                                                                    \
  S(COPIES,     "tensor copies into piece n begin: where it lies, what threads wrote is published first")               \
  S(JOIN,       "every thread adds to its own elements of the piece: no barrier is among iterations")                  \
  S(JOINED,     "it has")                                                                                              \
  S(LOOP,       "an iteration begins, n pieces being there")                                                           \
  S(LOOP_END,   "it has ended; piece: its ring, or -1; n 1: no barrier of the block stood where an iteration began")
typedef enum mg_memory_step_kind {
#define MGI_S(id, what) MG_STEP_##id,
  MG_MEMORY_STEPS(MGI_S)
#undef MGI_S
  MG_STEP_COUNT
} mg_memory_step_kind;

enum { MG_BARRIER_NONE, MG_BARRIER_BLOCK, MG_BARRIER_GROUP }; /* who meets: nobody, the block, a warpgroup */
typedef struct mg_memory_step {
  uint8_t kind;                 /* MG_STEP_.. */
  int16_t piece;
  int n;
  uint32_t loop;                /* the innermost loop around it, an axis; 0: none */
  size_t at;                    /* the caller's: where it stands in the text, */
  int indent;                   /* and how deep */
  int waits;                    /* found: before it all but so many groups of copies arrive; -1: it waits for none */
  int barrier;                  /* found: and behind that stands a barrier, MG_BARRIER_.. */
  int over;                     /* found: of COPIES: something that threads write lies there too, before it */
} mg_memory_step;
typedef struct mg_memory_life {
  int64_t bytes, offset;        /* offset: found */
  int begin, end;               /* found: the touches between which it is alive */
  int first, last;              /* found: and the barriers */
} mg_memory_life;
typedef struct mg_memory {
  mg_memory_life piece[MG_MEMORY_PIECES];
  int n;
  mg_memory_step *step;
  int n_steps, room;
  int no_memory;                /* 1: a step was lost */
  uint8_t by_group[MG_MAX_AXES + 1]; /* by loop: its barriers are those of warpgroups */
  uint8_t written[MG_MAX_AXES + 1];  /* found: shared memory is written in it */
  int64_t bytes;                /* found: of a block */
  int64_t barriers;             /* found: that a block comes to */
} mg_memory;

/* A new piece: its place; -1 if there are MG_MEMORY_PIECES. */
int mg_memory_piece_new(mg_memory *M, int64_t bytes);
/* Notes a step, and returns it, until the next one is noted, for what is the caller's; NULL if memory is out. */
mg_memory_step *mg_memory_note(mg_memory *M, mg_memory_step_kind kind, int piece, int n, uint32_t loop);
void mg_memory_clear(mg_memory *M); /* no pieces and no steps */
void mg_memory_free(mg_memory *M);
/* Finds all that is `found`: for a kernel whose loops are block's axes, offsets that are multiples of align, on a
   machine whose multiprocessor has to hold at most so many blocks.  0: memory is out, or the bytes are beyond 2^62. */
int mg_memory_lay_out(mg_memory *M, const mg_graph *block, int64_t align, const mg_machine *m, int64_t most);
#endif /* MIRAGE_DEVICE_ONLY */

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_PLAN_H */

#if (defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_PLAN_IMPLEMENTATION)) && !defined(MIRAGE_DEVICE_ONLY)
#ifndef MIRAGE_PLAN_IMPLEMENTED
#define MIRAGE_PLAN_IMPLEMENTED

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------ >>machine-table

   To add a machine, add a row: here, or in MG_USER_MACHINES.

   1. Sizes are the machine's own.  The system takes 1024 bytes of shared memory for each block, so a multiprocessor has
      so much more than a block may ask for.
   2. Rates are sustained.  `source` of a scaled row gives the data sheet's peaks: device memory, dense f16 products
      with f32 accumulation (the RTX 3080's: with f16), plain f32, boost clock.  A rate is its peak times the share of
      its own peak that an older row has:
        device memory   0.949   of the H200, 4555 of 4800 GB/s
        plain f32       0.975   of the H200, 65.2 of 66.9 TFLOP/s
        L2              0.561   of the H200, 9387 of 132 SMs * 1.98 GHz * 64 bytes
        shared memory   0.996   of the H200, 252300 of 1980 MHz * 128 bytes
        products        0.629   of the H200, 622.4 of 989 TFLOP/s, for the B200: both sheets count another instruction
                                than mma.sync; 0.80 of the A100, 250 of 312, for the others, whose own it is; the RTX
                                3080's 105 follows none of these
      Launches and barriers are those of the A100 before Hopper, and of the H200 after it.
   3. No row after Hopper has TENSOR_COPY or WARPGROUP: Blackwell has no wgmma, and our tensor copies feed wgmma alone.
      CLUSTER is not set for sm_120: a cluster has at most 8 blocks there, and no kernel of ours has run in one.      */

enum {
  MGI_CAN_80 = MG_CAN_ASYNC_COPY,
  MGI_CAN_89 = MGI_CAN_80 | MG_CAN_FLOAT8,
  MGI_CAN_90 = MGI_CAN_89 | MG_CAN_CLUSTER | MG_CAN_TENSOR_COPY | MG_CAN_WARPGROUP | MG_CAN_DEPENDENT_LAUNCH,
  MGI_CAN_100 = MGI_CAN_89 | MG_CAN_CLUSTER | MG_CAN_DEPENDENT_LAUNCH,
  MGI_CAN_120 = MGI_CAN_89 | MG_CAN_DEPENDENT_LAUNCH
};

#define MGI_SCALED "scaled, unmeasured: "
#define MGI_MEASURED "measured: mirage calibrate, 2026-11-24; costs: tests/bench/fit.py"

/*  name          arch      can          SMs  threads, shared memory   registers  L2       a row's first line
                                              blocks/SM /block /SM     /SM        MiB
    DRAM    L2       tensor  f32   shared    launch    source                                its second
    GB/s    GB/s     TFLOP/s       bytes/us  us   barrier, us                                                         */
#define MG_BUILTIN_MACHINES(M)                                                                                         \
  M("H200",       "sm_90a",  MGI_CAN_90,  132, 2048, 32,    232448, 233472, 65536,      60,                            \
    4555.0, 9387.0,  622.4,  65.2, 252300.0, 0.628, 0.0427, MG_COSTS_H200, MGI_MEASURED)                              \
  M("H100",       "sm_90a",  MGI_CAN_90,  132, 2048, 32,    232448, 233472, 65536,      50,                            \
    3098.0, 7907.0,  633.1,  67.7, 262100.0, 0.954, 0.0419, MG_COSTS_H100, MGI_MEASURED)                              \
  M("A100",       "sm_80",   MGI_CAN_80,  108, 2048, 32,    166912, 167936, 65536,      40,                            \
    1476.0, 5468.0,  250.0,  19.0, 179700.0, 0.856, 0.0513, MG_COSTS_H200, MGI_SCALED "40 GB, 1555 GB/s, 312 and 19.5 TFLOP/s")\
  M("RTX3080",    "sm_86",   MGI_CAN_80,   68, 1536, 16,    101376, 102400, 65536,       5,                            \
    721.0,  4175.0,  105.0,  29.0, 217900.0, 0.856, 0.0513, MG_COSTS_H200, MGI_SCALED "760 GB/s, 119 and 29.8 TFLOP/s")\
  M("RTX3090",    "sm_86",   MGI_CAN_80,   82, 1536, 16,    101376, 102400, 65536,       6,                            \
    888.0,  5005.0,  57.0,   34.7, 216600.0, 0.856, 0.0513, MG_COSTS_H200, MGI_SCALED "936 GB/s, 71 and 35.6 TFLOP/s, 1.70 GHz")\
  M("RTX4090",    "sm_89",   MGI_CAN_89,  128, 1536, 24,    101376, 102400, 65536,      72,                            \
    957.0,  11580.0, 132.0,  80.5, 321100.0, 0.856, 0.0513, MG_COSTS_H200, MGI_SCALED "1008 GB/s, 165 and 82.6 TFLOP/s, 2.52 GHz")\
  M("L40S",       "sm_89",   MGI_CAN_89,  142, 1536, 24,    101376, 102400, 65536,      96,                            \
    820.0,  12850.0, 290.0,  89.2, 321100.0, 0.856, 0.0513, MG_COSTS_H200, MGI_SCALED "864 GB/s, 362 and 91.6 TFLOP/s, 2.52 GHz")\
  M("B200",       "sm_100a", MGI_CAN_100, 148, 2048, 32,    232448, 233472, 65536,     126,                            \
    7592.0, 10470.0, 1416.0, 73.1, 251000.0, 0.628, 0.0427, MG_COSTS_H200, MGI_SCALED "8000 GB/s, 2250 and 75 TFLOP/s, 1.97 GHz")\
  M("RTX5090",    "sm_120",  MGI_CAN_120, 170, 1536, 24,    101376, 102400, 65536,      96,                            \
    1701.0, 14710.0, 168.0,  102.1, 307100.0, 0.628, 0.0427, MG_COSTS_H200, MGI_SCALED "1792 GB/s, 210 and 104.8 TFLOP/s, 2.41 GHz")\
  M("RTXPRO6000", "sm_120",  MGI_CAN_120, 188, 1536, 24,    101376, 102400, 65536,     128,                            \
    1701.0, 17690.0, 403.0,  121.8, 333900.0, 0.628, 0.0427, MG_COSTS_H200, MGI_SCALED "1792 GB/s, 504 and 125 TFLOP/s, 2.62 GHz")

#ifndef MG_USER_MACHINES
#define MG_USER_MACHINES(M)
#endif

static const mg_machine mgi_machines[] = {
#define MGI_M(name, arch, can, sms, threads, blocks, block, sm, registers, l2_mib, dram, l2, tensor, f32, shared,      \
              launch, barrier, costs, source)                                                                                  \
  { name, arch, can, sms, threads, blocks, block, sm, registers, (int64_t)(l2_mib) << 20,                                      \
    dram, l2, tensor, f32, shared, launch, barrier, source, costs },
  MG_BUILTIN_MACHINES(MGI_M) MG_USER_MACHINES(MGI_M)
#undef MGI_M
};

int mg_machine_count(void) { return (int)(sizeof mgi_machines / sizeof *mgi_machines); }
const mg_machine *mg_machine_at(int k) { return k >= 0 && k < mg_machine_count() ? &mgi_machines[k] : NULL; }

/* ------------------------------------------------------------------------------------------ >>architectures

   The only place that reads the name of an architecture.  "sm_100a" is the number 100 and the letter 'a'; the last
   digit is the minor one of the compute capability, 10.0.                                                           */

int mg_arch_number(const char *arch, char *letter) {
  int number = 0;
  char last = 0;
  if (!arch || strncmp(arch, "sm_", 3)) return 0;
  const char *digits = arch + 3;
  const size_t n = strspn(digits, "0123456789");
  if (n < 2 || n > 4 || *digits == '0') return 0;
  for (size_t k = 0; k < n; k++) number = 10 * number + (digits[k] - '0');
  if (digits[n]) {
    last = digits[n];
    if ((last != 'a' && last != 'f') || digits[n + 1]) return 0;
  }
  if (letter) *letter = last;
  return number;
}

const char *mg_arch_of_gpu(int major, int minor, char arch[MG_ARCH_TEXT]) {
  const int number = 10 * major + minor;
  snprintf(arch, MG_ARCH_TEXT, "sm_%d", number);
  for (int k = 0; k < mg_machine_count(); k++) {
    if (mg_arch_number(mgi_machines[k].arch, NULL) != number) continue;
    snprintf(arch, MG_ARCH_TEXT, "%s", mgi_machines[k].arch);
    break;
  }
  return arch;
}

const char *mg_arch_near(const char *arch, char text[MG_ARCH_TEXT]) {
  const int number = mg_arch_number(arch, NULL);
  int older = 0, oldest = 0;
  mg_machine m;
  if (mg_machine_for(arch, &m)) {
    snprintf(text, MG_ARCH_TEXT, "%s", m.arch);
    return text;
  }
  for (int k = 0; k < mg_machine_count(); k++) {
    const int its = mg_arch_number(mgi_machines[k].arch, NULL);
    if (!oldest || its < oldest) oldest = its;
    if (its <= number && its > older) older = its;
  }
  snprintf(text, MG_ARCH_TEXT, "sm_%d", older ? older : oldest);
  return text;
}

int mg_arch_runs_on(const char *arch, int major, int minor) {
  char letter = 0;
  const int number = mg_arch_number(arch, &letter);
  return !letter || number == 10 * major + minor;
}

/* -------------------------------------------------------------------------------------- >>machine-questions */

const mg_machine *mg_machine_find(const char *name_or_arch) {
  if (!name_or_arch) return NULL;
  for (int k = 0; k < mg_machine_count(); k++) {
    const mg_machine *m = &mgi_machines[k];
    if (!strcmp(m->name, name_or_arch) || !strcmp(m->arch, name_or_arch)) return m;
  }
  char letter = 0;
  const int number = mg_arch_number(name_or_arch, &letter);
  if (!number || letter) return NULL;
  for (int k = 0; k < mg_machine_count(); k++)
    if (mg_arch_number(mgi_machines[k].arch, NULL) == number) return &mgi_machines[k];
  return NULL;
}

/* The machine as code for plain `arch` sees it. */
MGI_FN void mgi_machine_plain(mg_machine *m, const char *arch) {
#define MGI_C(id, bit, letter, text) \
  if (letter) m->can &= ~(uint32_t)MG_CAN_##id;
  MG_CAPABILITIES(MGI_C)
#undef MGI_C
  m->arch = arch;
}

int mg_machine_for(const char *arch, mg_machine *out) {
  const mg_machine *row = arch ? mg_machine_find(arch) : mg_machine_at(0);
  if (!row) return 0;
  *out = *row;
  const int by_name = !arch || !strcmp(row->name, arch);
  if (!by_name && strcmp(row->arch, arch)) mgi_machine_plain(out, arch);
  return 1;
}

int mg_machine_can(const mg_machine *m, uint32_t capabilities) { return (m->can & capabilities) == capabilities; }

const char *mg_capability_name(mg_capability c) {
  switch (c) {
#define MGI_C(id, bit, letter, text) \
  case MG_CAN_##id: return text;
    MG_CAPABILITIES(MGI_C)
#undef MGI_C
  default: return "nothing";
  }
}

int mg_machine_clusters(const mg_machine *m, int64_t blocks) {
  return mg_machine_can(m, MG_CAN_CLUSTER) && blocks <= MG_CLUSTER_BLOCKS;
}

/* Measured on an H200: 30 clusters of 4 run at once, 15 of 8, 7 of 16; so 120, 120 and 112 of its 132 multiprocessors
   are used.  Others are taken to have the same shares. */
int64_t mg_machine_filled_sms(const mg_machine *m, int64_t group) {
  int64_t filled = m->sms;
  if (group > 8) filled = filled * 28 / 33 * group / 16; /* one in each part */
  else if (group > 2) filled = filled * 10 / 11;
  return filled > 1 ? filled : 1;
}

const char *mg_machine_list(uint32_t capabilities, char text[MG_MACHINE_LIST]) {
  size_t at = 0;
  text[0] = 0;
  for (int k = 0; k < mg_machine_count(); k++) {
    const mg_machine *m = &mgi_machines[k];
    char entry[MG_MACHINE_LIST];
    size_t n = 0;
    int before = 0; /* rows of this architecture that are listed already */
    for (int j = 0; j < k; j++) before |= !strcmp(mgi_machines[j].arch, m->arch);
    if (before || !mg_machine_can(m, capabilities)) continue;
    n = (size_t)snprintf(entry, sizeof entry, "%s%.16s (", at ? ", " : "", m->arch);
    for (int j = k, first = 1; j < mg_machine_count(); j++) {
      const mg_machine *other = &mgi_machines[j];
      if (strcmp(other->arch, m->arch) || !mg_machine_can(other, capabilities)) continue;
      if (n + strlen(other->name) + 4 > sizeof entry) continue;
      n += (size_t)snprintf(entry + n, sizeof entry - n, "%s%s", first ? "" : ", ", other->name);
      first = 0;
    }
    n += (size_t)snprintf(entry + n, sizeof entry - n, ")");
    if (at + n + 5 >= MG_MACHINE_LIST) {
      snprintf(text + at, MG_MACHINE_LIST - at, " ...");
      break;
    }
    memcpy(text + at, entry, n + 1);
    at += n;
  }
  return text;
}

/* ------------------------------------------------------------------------------------------- >>machine-text

   Lines of a key and a value.  Parser, printer and check go by one table, made of MG_MACHINE_FIELDS.
   Bounds: MG_MACHINE_FILE bytes, 400 a line; nothing is allocated but what mg_machine_read reads into.              */

typedef enum mgi_field_kind {
  MGI_FIELD_WORD, MGI_FIELD_CAN, MGI_FIELD_WHOLE, MGI_FIELD_RATE, MGI_FIELD_COST, MGI_FIELD_LINE
} mgi_field_kind;
typedef struct mgi_field {
  const char *name;
  mgi_field_kind kind;
  size_t at, size;
  double least, most;
  const char *text;
} mgi_field;
static const mgi_field mgi_fields[] = {
#define MGI_F(kind, type, name, least, most, text) \
  { #name, MGI_FIELD_##kind, offsetof(mg_machine, name), sizeof(type), (double)(least), (double)(most), text },
  MG_MACHINE_FIELDS(MGI_F)
#undef MGI_F
};
enum {
#define MGI_F(kind, type, name, least, most, text) MGI_AT_##name,
  MG_MACHINE_FIELDS(MGI_F)
#undef MGI_F
  MGI_FIELDS, /* how many there are */
  MGI_MACHINE_LINE = 400
};

MGI_FN const char *mgi_field_words(const mg_machine *m, const mgi_field *f) {
  return *(const char *const *)((const char *)m + f->at);
}
MGI_FN double mgi_field_number(const mg_machine *m, const mgi_field *f) {
  const char *at = (const char *)m + f->at;
  if (f->kind == MGI_FIELD_RATE || f->kind == MGI_FIELD_COST) return *(const double *)at;
  return f->size == sizeof(int) ? (double)*(const int *)at : (double)*(const int64_t *)at;
}
MGI_FN int mgi_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_.+-", c));
}
/* The number as it is written: the fewest digits that give it again. */
MGI_FN const char *mgi_number_text(double v, char text[32]) {
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, 32, "%.*g", digits, v);
    if (strtod(text, NULL) == v) break;
  }
  return text;
}

const char *mg_machine_print(const mg_machine *m, char text[MG_MACHINE_TEXT]) {
  size_t at = 0;
  for (int k = 0; k < MGI_FIELDS; k++) {
    const mgi_field *f = &mgi_fields[k];
    char number[32], line[MGI_MACHINE_LINE];
    size_t n = (size_t)snprintf(line, sizeof line, "%s", f->name), room = sizeof line - n;
    switch (f->kind) {
    case MGI_FIELD_WORD:
    case MGI_FIELD_LINE: snprintf(line + n, room, " %.*s", (int)f->most, mgi_field_words(m, f)); break;
    case MGI_FIELD_WHOLE: snprintf(line + n, room, " %.0f # %s", mgi_field_number(m, f), f->text); break;
    case MGI_FIELD_RATE:
    case MGI_FIELD_COST:
      snprintf(line + n, room, " %s # %s", mgi_number_text(mgi_field_number(m, f), number), f->text);
      break;
    case MGI_FIELD_CAN:
#define MGI_C(id, bit, letter, words) \
      if (m->can & (bit)) n += (size_t)snprintf(line + n, sizeof line - n, " " #id);
      MG_CAPABILITIES(MGI_C)
#undef MGI_C
      break;
    }
    at += (size_t)snprintf(text + at, MG_MACHINE_TEXT - at, "%s\n", line);
  }
  return text;
}

/* The first field that is not as it should be, NULL if all are; what was expected, and found, in `why`. */
MGI_FN const mgi_field *mgi_machine_fault(const mg_machine *m, char why[200]) {
  mg_machine row;
  for (int k = 0; k < MGI_FIELDS; k++) {
    const mgi_field *f = &mgi_fields[k];
    if (f->kind == MGI_FIELD_WORD || f->kind == MGI_FIELD_LINE) {
      const char *words = mgi_field_words(m, f);
      size_t n = 0;
      while (words && (f->kind == MGI_FIELD_WORD ? mgi_word_char(words[n]) : words[n] >= 32 && words[n] < 127)) n++;
      if (n && !words[n] && (double)n <= f->most && words[0] != ' ' && words[n - 1] != ' ') continue;
      snprintf(why, 200, "expected %s of %.0f to %.0f characters for %s, found '%.60s'",
               f->kind == MGI_FIELD_WORD ? "a word" : "a text in ASCII", f->least, f->most, f->name,
               words ? words : "");
      return f;
    }
    if (f->kind == MGI_FIELD_CAN) continue;
    const double v = mgi_field_number(m, f);
    if (v >= f->least && v <= f->most) continue;
    snprintf(why, 200, "expected %s from %g to %g, found %g", f->name, f->least, f->most, v);
    return f;
  }
  char known[MG_MACHINE_LIST];
  if (!mg_arch_number(m->arch, NULL) || !mg_machine_for(m->arch, &row)) {
    snprintf(why, 200, "expected an arch of the table, %.120s, found '%.20s'", mg_machine_list(0, known), m->arch);
    return &mgi_fields[MGI_AT_arch];
  }
#define MGI_C(id, bit, letter, text)                                                     \
  if (m->can & (bit) & ~row.can) {                                                       \
    snprintf(why, 200, "expected capabilities that %s has, found " #id, row.arch);       \
    return &mgi_fields[MGI_AT_can];                                                      \
  }
  MG_CAPABILITIES(MGI_C)
#undef MGI_C
  if (m->can & ~row.can) {
    snprintf(why, 200, "expected capabilities of the list, found others");
    return &mgi_fields[MGI_AT_can];
  }
  if (m->threads_per_sm % 32) {
    snprintf(why, 200, "expected threads_per_sm as a multiple of 32, found %d", m->threads_per_sm);
    return &mgi_fields[MGI_AT_threads_per_sm];
  }
  if (m->shared_per_sm < m->shared_per_block + 1024) {
    snprintf(why, 200, "expected shared_per_sm of at least %lld, 1024 more than shared_per_block, found %lld",
             (long long)m->shared_per_block + 1024, (long long)m->shared_per_sm);
    return &mgi_fields[MGI_AT_shared_per_sm];
  }
  if (strncmp(m->source, "measured", 8) && strncmp(m->source, "scaled", 6)) {
    snprintf(why, 200, "expected a source that begins with measured or scaled, found '%.60s'", m->source);
    return &mgi_fields[MGI_AT_source];
  }
  return NULL;
}
mg_status mg_machine_check(const mg_machine *m, mg_error *e) {
  char why[200];
  return mgi_machine_fault(m, why) ? mg_fail(e, MG_BAD_INPUT, "machine", "%s", why) : MG_OK;
}

/* Where the parser is, and what it has. */
typedef struct mgi_machine_text {
  const char *where;
  mg_error *e;
  int line, column;               /* of what is read */
  int seen[MGI_FIELDS];           /* the line of a field's key; 0: there was none */
  int value[MGI_FIELDS];          /* the column of its value */
} mgi_machine_text;
MGI_FN mg_status mgi_machine_error(const mgi_machine_text *T, int line, int column, const char *msg) {
  char place[96];
  snprintf(place, sizeof place, "%.60s:%d:%d", T->where, line, column);
  mg_fail(T->e, MG_BAD_INPUT, place, "%s", msg);
  if (T->e) T->e->line = line, T->e->column = column;
  return MG_BAD_INPUT;
}
/* n bytes were found; 0: the line's end. */
MGI_FN mg_status mgi_machine_expected(const mgi_machine_text *T, int column, const char *what, const char *found,
                                      size_t n) {
  char msg[256];
  if (n) snprintf(msg, sizeof msg, "expected %.195s, found '%.*s'", what, (int)(n < 40 ? n : 40), found);
  else snprintf(msg, sizeof msg, "expected %.195s, found the end of the line", what);
  return mgi_machine_error(T, T->line, column, msg);
}
/* 1 if it is digits, and for a rate perhaps a point with digits behind it and an exponent. */
MGI_FN int mgi_is_number(const char *s, int rate) {
  size_t n = strspn(s, "0123456789");
  if (!n) return 0;
  s += n;
  if (rate && *s == '.') {
    n = strspn(++s, "0123456789");
    if (!n) return 0;
    s += n;
  }
  if (rate && (*s == 'e' || *s == 'E')) {
    s += s[1] == '-' || s[1] == '+' ? 2 : 1;
    n = strspn(s, "0123456789");
    if (!n) return 0;
    s += n;
  }
  return !*s;
}
/* The value of field f: n bytes from s on, which a zero ends.  *texts: how many of out->text are taken. */
MGI_FN mg_status mgi_machine_value(mgi_machine_text *T, const mgi_field *f, const char *s, size_t n,
                                   mg_machine_file *out, int *texts) {
  char *to = (char *)&out->m + f->at, what[160];
  if (f->kind == MGI_FIELD_WORD || f->kind == MGI_FIELD_LINE) {
    char *own = out->text[(*texts)++];
    snprintf(what, sizeof what, "at most %.0f characters for %s", f->most, f->name);
    if ((double)n > f->most) return mgi_machine_expected(T, T->column, what, s, n);
    memcpy(own, s, n + 1);
    *(const char **)to = own;
    return MG_OK;
  }
  if (f->kind == MGI_FIELD_CAN) {
    for (size_t k = 0, len; k < n; k += len) {
      len = strspn(s + k, " \t\r");
      if (len) continue;
      len = strcspn(s + k, " \t\r");
      uint32_t bit_of = 0;
      size_t w = (size_t)snprintf(what, sizeof what, "capabilities of");
#define MGI_C(id, bit, letter, words)                                      \
      if (len == strlen(#id) && !memcmp(s + k, #id, len)) bit_of = (bit);  \
      w += (size_t)snprintf(what + w, sizeof what - w, " " #id);
      MG_CAPABILITIES(MGI_C)
#undef MGI_C
      if (bit_of & out->m.can) snprintf(what, sizeof what, "each capability once");
      if (!bit_of || bit_of & out->m.can) return mgi_machine_expected(T, T->column + (int)k, what, s + k, len);
      out->m.can |= bit_of;
    }
    return MG_OK;
  }
  const int rate = f->kind == MGI_FIELD_RATE || f->kind == MGI_FIELD_COST;
  const double v = mgi_is_number(s, rate) ? strtod(s, NULL) : -1;
  snprintf(what, sizeof what, "%s from %g to %g (%s)", rate ? "a number" : "an integer", f->least, f->most, f->text);
  if (!(v >= f->least && v <= f->most)) return mgi_machine_expected(T, T->column, what, s, n);
  if (rate) *(double *)to = v;
  else if (f->size == sizeof(int)) *(int *)to = (int)v;
  else *(int64_t *)to = (int64_t)v;
  return MG_OK;
}
/* One line, n bytes of s; its end is not among them. */
MGI_FN mg_status mgi_machine_line(mgi_machine_text *T, const char *s, size_t n, mg_machine_file *out, int *texts) {
  char line[MGI_MACHINE_LINE + 1], msg[80];
  if (n > MGI_MACHINE_LINE) {
    snprintf(msg, sizeof msg, "expected at most %d bytes in a line, found %zu", MGI_MACHINE_LINE, n);
    return mgi_machine_error(T, T->line, MGI_MACHINE_LINE + 1, msg);
  }
  memcpy(line, s, n);
  line[n] = 0;
  size_t at = strspn(line, " \t\r"), key = at;
  while (at < n && mgi_word_char(line[at])) at++;
  const size_t keys = at - key, value = at + strspn(line + at, " \t\r");
  int k = 0;
  while (k < MGI_FIELDS && (strlen(mgi_fields[k].name) != keys || memcmp(mgi_fields[k].name, line + key, keys))) k++;
  const int whole = k < MGI_FIELDS && mgi_fields[k].kind == MGI_FIELD_LINE; /* no comment ends it */
  size_t end = n;
  for (size_t b = 0, comment = 0; b < n; b++) { /* bytes that no text has */
    if (line[b] == '#' && !whole && !comment) comment = 1, end = b;
    const unsigned char c = (unsigned char)line[b];
    if ((c >= 32 && c < 127) || c == '\t' || c == '\r' || (c > 127 && comment)) continue;
    snprintf(msg, sizeof msg, "expected text in ASCII, found byte 0x%02x", c);
    return mgi_machine_error(T, T->line, (int)b + 1, msg);
  }
  if (key >= end) return MG_OK;
  T->column = (int)key + 1;
  if (k == MGI_FIELDS) {
    char what[200];
    size_t w = (size_t)snprintf(what, sizeof what, "a key of");
    for (int j = 0; j < MGI_FIELDS; j++)
      if (!T->seen[j] && w + strlen(mgi_fields[j].name) + 2 < 195)
        w += (size_t)snprintf(what + w, sizeof what - w, " %s", mgi_fields[j].name);
    return mgi_machine_expected(T, T->column, what, line + key, keys ? keys : 1);
  }
  if (T->seen[k]) {
    snprintf(msg, sizeof msg, "expected %s once, found it again: the first is in line %d",
             mgi_fields[k].name, T->seen[k]);
    return mgi_machine_error(T, T->line, T->column, msg);
  }
  while (end > value && strchr(" \t\r", line[end - 1])) end--;
  T->seen[k] = T->line, T->value[k] = T->column = (int)value + 1;
  line[end > value ? end : value] = 0;
  if (value == at && end > at)
    return mgi_machine_expected(T, (int)at + 1, "a space behind the key", line + at, end - at);
  if (end <= value && mgi_fields[k].kind != MGI_FIELD_CAN)
    return mgi_machine_expected(T, T->column, mgi_fields[k].text, "", 0);
  return mgi_machine_value(T, &mgi_fields[k], line + value, end > value ? end - value : 0, out, texts);
}

mg_status mg_machine_parse(const char *text, size_t len, const char *where, mg_machine_file *out, mg_error *e) {
  mgi_machine_text T;
  char why[200];
  int texts = 0;
  memset(&T, 0, sizeof T);
  memset(out, 0, sizeof *out);
  T.where = where ? where : "text", T.e = e;
  if (len > MG_MACHINE_FILE)
    return mg_fail(e, MG_BAD_INPUT, T.where, "expected a machine in at most %d bytes, found %zu", MG_MACHINE_FILE, len);
  for (size_t at = 0, n; at < len; at += n + 1) {
    const char *end = (const char *)memchr(text + at, '\n', len - at);
    n = end ? (size_t)(end - text) - at : len - at;
    T.line++;
    const mg_status s = mgi_machine_line(&T, text + at, n, out, &texts);
    if (s != MG_OK) return s;
  }
  mg_machine row;
  const int known = T.seen[MGI_AT_arch] && mg_machine_for(out->m.arch, &row);
  for (int k = 0; k < MGI_FIELDS; k++) {
    const size_t at = mgi_fields[k].at;
    if (T.seen[k]) continue;
    if (mgi_fields[k].kind == MGI_FIELD_COST) { /* an arch that is not known is refused below */
      if (known) *(double *)((char *)&out->m + at) = *(const double *)((const char *)&row + at);
      continue;
    }
    snprintf(why, sizeof why, "expected a line of %s (%s), found the end of the text",
             mgi_fields[k].name, mgi_fields[k].text);
    return mgi_machine_error(&T, T.line + 1, 1, why);
  }
  const mgi_field *bad = mgi_machine_fault(&out->m, why);
  if (bad) return mgi_machine_error(&T, T.seen[bad - mgi_fields], T.value[bad - mgi_fields], why);
  return MG_OK;
}

mg_status mg_machine_read(const char *path, mg_machine_file *out, mg_error *e) {
  memset(out, 0, sizeof *out);
  FILE *f = fopen(path, "rb");
  if (!f) return mg_fail(e, MG_BAD_INPUT, path, "cannot be opened: %s", strerror(errno));
  char *text = (char *)malloc(MG_MACHINE_FILE + 1);
  const size_t n = text ? fread(text, 1, MG_MACHINE_FILE + 1, f) : 0;
  const int bad = !text || ferror(f);
  fclose(f);
  mg_status s;
  if (bad) s = mg_fail(e, text ? MG_BAD_INPUT : MG_NO_MEMORY, path, "the file cannot be read");
  else s = mg_machine_parse(text, n, path, out, e);
  free(text);
  return s;
}

/* ---------------------------------------------------------------------------------------------------- >>flat

   1. One entry an operator of the block graph, operands first.  A load has the extents of its tile, and in `unique` the
      bytes of its tensor, once for all loads of it.
   2. A product over a split tensor, or of joined operands, counts twice.                                            */

int64_t mg_round_up(int64_t x, int64_t m) { return mg_ceil_div(x, m) * m; }
int64_t mg_flat_elements(const mg_flat_op *o) {
  int64_t n = 1;
  for (int d = 0; d < o->rank; d++) n *= o->d[d];
  return n;
}
int mg_flat_lets(const mg_flat_op *o, int at) { return !o->at || o->at == 1 + at; }
int mg_flat_brings(const mg_flat_op *o) { return o->code == MG_OP_LOAD && !o->made; }
/* Of the loads of one tensor, all with its bytes in `unique`, one keeps them: one in a loop, then the largest, then the
   one with the shortest runs, so that the order of independent operators does not matter. */
void mg_flat_read_once(mg_flat *k) {
  for (int i = 0; i < k->n; i++)
    for (int j = 0; j < i && k->op[i].code == MG_OP_LOAD; j++) {
      mg_flat_op *a = &k->op[j], *b = &k->op[i];
      if (a->code != MG_OP_LOAD || a->in[0] != b->in[0] || !a->unique) continue;
      int64_t x = mg_flat_elements(a), y = mg_flat_elements(b), s = a->rank ? a->d[a->inner] : 1,
              t = b->rank ? b->d[b->inner] : 1;
      int later = a->inloop != b->inloop ? b->inloop : x != y ? y > x : t < s;
      if (later) a->unique = 0;
      else b->unique = 0;
    }
}
int mg_op_moves(int code) { return code < MG_OP_TABLE_END && mg_op_row((mg_opcode)code)->moves; }
/* A move that is nothing but another name for its operand's rows and columns, or has them turned. */
MGI_FN int mgi_renames(const mg_flat_op *o) { return o->turns || o->stays; }
MGI_FN int mgi_elementwise(const mg_flat_op *o) {
  return o->stays || (o->code < MG_OP_TABLE_END && mg_op_row((mg_opcode)o->code)->elementwise);
}

MGI_FN int mgi_rows_in(const mg_flat_op *o) { return mg_rows_in(o->rank, o->d); }
MGI_FN int64_t mgi_rows_of(const mg_flat_op *o) { return o->rank > 1 ? o->d[mgi_rows_in(o)] : 1; }
MGI_FN int64_t mgi_cols_of(const mg_flat_op *o) { return o->rank > 0 ? o->d[o->rank - 1] : 1; }
int mg_flat_matrix(const mg_flat_op *o) { return mg_flat_elements(o) <= mgi_rows_of(o) * mgi_cols_of(o); }

/* Bytes of a tile in shared memory, its rows padded by 16 bytes or by none. */
MGI_FN int64_t mgi_tile_bytes(const mg_flat_op *o, int pad) {
  int64_t cols = o->rank ? o->d[o->inner] : 1, rows = mg_flat_elements(o) / (cols ? cols : 1);
  return rows * (mg_round_up(cols * o->esize, 16) + pad);
}

int mg_rows_in(int rank, const int64_t *dim) {
  int in = rank - 2, others = 0;
  if (rank < 3 || dim[in] != 1) return in;
  for (int d = 0; d < rank - 2; d++)
    if (dim[d] != 1) in = d, others++;
  return others == 1 ? in : rank - 2;
}
MGI_FN int mgi_swaps_last(const mg_op_node *o, int rank) {
  if (o->code != MG_OP_TRANSPOSE || rank < 2) return 0;
  for (int d = 0; d < rank - 2; d++)
    if (o->attr.perm[d] != d) return 0;
  return o->attr.perm[rank - 1] == rank - 2 && o->attr.perm[rank - 2] == rank - 1;
}
int mg_moves_how(const mg_op_node *o, const mg_shape *from, const mg_shape *to) {
  if (mgi_swaps_last(o, to->rank)) return MG_MOVES_TURNS;
  if (from->rank < 1 || to->rank < 1 || (o->code != MG_OP_RESHAPE && o->code != MG_OP_TRANSPOSE)) return MG_MOVES_MORE;
  const int rows = mg_rows_in(to->rank, to->dim), cols = to->rank - 1, of = mg_rows_in(from->rank, from->dim);
  const int64_t m = rows < 0 ? 1 : to->dim[rows], n = to->dim[cols], had = of < 0 ? 1 : from->dim[of],
                wide = from->dim[from->rank - 1];
  if (mg_shape_elements(to) != m * n || had * wide != m * n) return MG_MOVES_MORE;
  if (o->code == MG_OP_RESHAPE) return m == had ? MG_MOVES_NOTHING : MG_MOVES_MORE;
  const int m_from = o->attr.perm[rows < 0 ? 0 : rows], n_from = o->attr.perm[cols];
  if ((m == 1 || m_from == of) && (n == 1 || n_from == from->rank - 1)) return MG_MOVES_NOTHING;
  if ((m == 1 || m_from == from->rank - 1) && (n == 1 || n_from == of)) return MG_MOVES_TURNS;
  return MG_MOVES_MORE;
}
int mg_uneven(const mg_graph *b, const mg_map *m, int64_t extent, int d, uint32_t last, int symbol) {
  int64_t chunk = extent;
  int uneven = 0;
  for (uint32_t a = 1; a < b->n_axes && a <= last; a++) {
    if (m->to[a] != d) continue;
    const int64_t whole = chunk;
    chunk = mg_ceil_div(chunk, b->axes[a].extent);
    uneven |= chunk * b->axes[a].extent != whole || (symbol && chunk != 1);
  }
  return uneven || (symbol && chunk != 1);
}
int mg_innermost(const mg_tensor_info *t) {
  int last = t->shape.rank - 1; /* in memory, the outermost first; what a kernel makes lies row by row */
  while (last > 0 && t->shape.dim[t->op ? last : t->order[last]] == 1) last--;
  return t->op || last < 0 ? last : t->order[last];
}
int mg_runs_down(const mg_tensor_info *t, int rows) {
  const int rank = t->shape.rank, cols = rank - 1;
  int at_rows = 0, at_cols = 0;
  if (rank < 2) return 0;
  for (int k = 0; k < rank; k++) {
    const int d = t->op ? k : t->order[k]; /* what a kernel makes lies row by row */
    if (d == rows) at_rows = k;
    if (d == cols) at_cols = k;
  }
  return at_rows > at_cols || (t->shape.dim[cols] == 1 && t->shape.dim[rows] > 1);
}
/* An operator whose operands are those of a product of joined ones, (a|b) (c|d), becomes the product a c + b d. */
void mg_flat_join(mg_flat_op *o) {
  const int16_t b = o->in[1];
  o->code = MG_OP_MATMUL;
  o->joined = 1;
  o->n_in = 2;
  o->in[1] = o->in[2];
  o->in[2] = b;
}
/* 1 if accumulator o leaves loops, and joins over every one of them by `how`, an MG_MAP_... */
MGI_FN int mgi_leaves_by(const mg_graph *b, const mg_op_node *o, int how) {
  uint32_t a = mg_tensor_of(b, o->in[0])->scope;
  if (a == o->scope) return 0;
  while (a != o->scope && o->map.to[a] == how) a = b->axes[a].parent;
  return a == o->scope;
}
/* The lower graph of a kernel as the model sees it.  0 if it is too large for it. */
int mg_flat_of(const mg_graph *b, mg_flat *k) {
  int16_t of[1024];
  memset(k, 0, sizeof *k);
  k->blocks = k->group = 1, k->iters = 0;
  k->shares = mg_plan_says(b, MG_PLAN_SHARE, NULL) > 1;
  for (uint32_t a = 1; a < b->n_axes; a++) {
    int64_t trips = 1;
    int leaf = a > 3;
    if (a <= 3) k->blocks *= b->axes[a].extent;
    for (uint32_t c = a + 1; c < b->n_axes; c++) leaf &= b->axes[c].parent != a;
    if (a > 3 && (!leaf || b->axes[a].parent)) k->nests |= (uint32_t)1 << a;
    for (uint32_t s = a; leaf && s > 3; s = b->axes[s].parent) trips *= b->axes[s].extent;
    if (leaf) k->iters += trips;
  }
  if (!k->iters) k->iters = 1;
  for (uint32_t i = 1; i < b->n_ops; i++)
    for (uint32_t a = 1; a <= 3 && b->ops[i].code == MG_OP_ACCUM; a++)
      if (b->ops[i].map.to[a] != MG_MAP_NONE && b->axes[a].extent > 1) k->merged |= 1u << a;
  for (uint32_t a = 1; a <= 3; a++)
    if (k->merged >> a & 1) k->group *= b->axes[a].extent;
  if (b->n_tensors > 1024 || b->n_ops > MG_FLAT_OPS + 1) return 0;
  memset(of, -1, sizeof of);
  const int symbols = b->up && b->up->n_symbols;
  uint8_t *symbol = NULL; /* without memory each extent may be one */
  if (symbols) (void)mg_symbols_of(b->up, &symbol, NULL);
  /* none yet while it is under construction */
  const mg_op_node *owner = b->up && b->up_op ? &b->up->ops[b->up_op] : NULL;
  int stores = 0;
  for (uint32_t i = 1; i < b->n_ops; i++) {
    const mg_op_node *o = &b->ops[i];
    mg_flat_op *m = &k->op[k->n];
    const mg_tensor_info *t = mg_tensor_of(b, o->code == MG_OP_STORE ? o->in[0] : o->out[0]);
    m->code = (int16_t)o->code, m->rank = (int8_t)t->shape.rank, m->trips = 1;
    memcpy(m->d, t->shape.dim, sizeof m->d);
    m->inner = (int8_t)(m->rank ? m->rank - 1 : 0);
    m->esize = (int8_t)mg_dtype_bytes(t->dtype);
    m->narrow = mg_tensor_shape(t->dtype) != NULL;
    m->half = t->dtype == MG_F16;
    m->at = (int8_t)(t->name && *t->name && o->code != MG_OP_STORE ? 1 + mg_plan_says(b, MG_PLAN_AT, t->name) : 0);
    if (mg_op_moves(o->code)) {
      const int how = mg_moves_how(o, &mg_tensor_of(b, o->in[0])->shape, &t->shape);
      m->turns = how == MG_MOVES_TURNS, m->stays = how == MG_MOVES_NOTHING;
    }
    for (uint32_t s = o->scope; s; s = b->axes[s].parent)
      m->trips *= (double)b->axes[s].extent, m->inloop = 1, m->outer = (int8_t)s;
    m->loop = (int8_t)o->scope;
    m->n_in = 0;
    if (o->code == MG_OP_LOAD && b->up) {
      const mg_tensor_info *u = mg_tensor_of(b->up, o->in[0]);
      const mg_tensor_info *lies = mg_tensor_of(b->up, mg_sliced_from(b->up, o->in[0]));
      if (b->up->level == MG_KERNEL) m->split = (int8_t)mg_split(b->up, o->in[0]);
      if (b->up->level == MG_KERNEL && (mg_wide(b->up, o->in[0]) || m->split)) m->esize = 4;
      m->inner = (int8_t)(u->shape.rank ? lies->order[u->shape.rank - 1] : 0);
      m->down = (int8_t)mg_runs_down(lies, mgi_rows_in(m));
      m->runs = (int8_t)(mg_innermost(lies) == u->shape.rank - 1);
      for (int d = 0; d < u->shape.rank; d++) {
        const int open = symbols && (!symbol || symbol[o->in[0].id * MG_MAX_RANK + (uint32_t)d]);
        m->ragged |= (int8_t)mg_uneven(b, &o->map, u->shape.dim[d], d, MG_MAX_AXES, open);
      }
      m->chunk = (int8_t)(o->scope && o->map.to[o->scope] >= 0 ? 1 + o->map.to[o->scope] : 0);
      m->made = (int8_t)(u->fill != MG_FILL_NONE);
      if (m->made) k->queries = u->shape.dim[0], k->keys = u->shape.dim[1];
      m->unique = m->made ? 0 : mg_shape_elements(&u->shape) * m->esize;
      m->in[0] = (int16_t)o->in[0].id;
    } else {
      for (int j = 0; j < o->n_in && j < 4; j++) m->in[m->n_in++] = of[o->in[j].id] < 0 ? 0 : of[o->in[j].id];
      if (o->code == MG_OP_STORE) {
        if (owner && stores < owner->n_out &&
            (mg_wide(b->up, owner->out[stores]) || mg_split(b->up, owner->out[stores])))
          m->esize = 4;
        m->unique = mg_flat_elements(m) * m->esize * (k->blocks / k->group);
        if (owner && stores < owner->n_out)
          m->unique = mg_shape_elements(&mg_tensor_of(b->up, owner->out[stores])->shape) * m->esize;
        stores++;
      }
      m->wide = (int8_t)mg_wide_product(b, i);
      m->adds = o->code == MG_OP_ACCUM;
      for (uint32_t a = 1; a <= 3 && o->code == MG_OP_ACCUM; a++) {
        if (o->map.to[a] == MG_MAP_NONE || b->axes[a].extent < 2) continue;
        m->across = 1;
        m->adds &= o->map.to[a] == MG_MAP_SUM;
      }
      if (o->code == MG_OP_ACCUM)
        m->sums = (int8_t)mgi_leaves_by(b, o, MG_MAP_SUM), m->maxima = (int8_t)mgi_leaves_by(b, o, MG_MAP_MAX);
      if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) m->along = (int8_t)o->attr.dim;
      if (o->code == MG_OP_CONCAT_MATMUL) mg_flat_join(m), m->trips *= 2;
      /* by both halves */
      for (int j = 0; j < o->n_in && o->code == MG_OP_MATMUL; j++)
        m->trips *= mg_loads_what(b, o->in[j], mg_split) ? 2 : 1;
    }
    for (int j = 0; j < o->n_out; j++) of[o->out[j].id] = (int16_t)k->n;
    k->n++;
  }
  free(symbol);
  mg_flat_read_once(k);
  mg_flat_takers(k);
  return 1;
}

/* -------------------------------------------------------------------------------------------------- >>seen
   A block of causal attention goes over keys, chunk by chunk, in a loop, and none of its queries sees the last of them.
   Where all that such a step adds is 0, the loop ends before it.
     Lemma (of loop bounds, by integers alone).  Query r sees key c where c <= r + keys - queries.  A block whose last
     query is r sees nothing of a chunk that begins at c > r + keys - queries, nor of the chunks behind it.  So of
     `count` chunks of n keys it has to take the first min(count, floor((r + keys - queries) / n) + 1) alone.
   What a step adds is 0 by these: a masked score is s - 32768 (MG_MASKED), a score that is seen being there in the
   first chunk for every query (keys >= queries); exp of it, under its row's maximum, is 0 in f32 unless it exceeds all
   that is seen by 2^15 - 104; so are products of 0, its quotients by what knows nothing of the mask, and its sums.  A
   masked score from which something is taken that is made of masked ones itself, or a quotient of two such sums, may be
   anything.  Scores that lie further apart are none that a mask takes (mirage.h: within 32000); the kernel does what a
   mask of -infinity would.  Over field elements nothing is masked, and no step is left out (mg_causal_steps). */

typedef enum mgi_seen_kind {
  MGI_SEEN_CLEAN,   /* the mask is in nothing that it is made of */
  MGI_SEEN_MASKED,  /* a score, less 32768 */
  MGI_SEEN_ZERO,
  MGI_SEEN_TAINTED  /* it may be anything, what takes the mask out again among it */
} mgi_seen_kind;
/* What value i is in a step that is masked as a whole. */
MGI_FN int mgi_seen_kind_of(const mg_flat *k, int i, const uint8_t *kind) {
  const mg_flat_op *o = &k->op[i];
  const int a = o->n_in > 0 ? (int)kind[o->in[0]] : (int)MGI_SEEN_CLEAN;
  const int b = o->n_in > 1 ? (int)kind[o->in[1]] : (int)MGI_SEEN_CLEAN;
  int clean = 1;
  for (int j = 0; j < o->n_in; j++) clean &= kind[o->in[j]] == MGI_SEEN_CLEAN;
  if (clean) return MGI_SEEN_CLEAN;
  if (a == MGI_SEEN_TAINTED || b == MGI_SEEN_TAINTED || o->joined) return MGI_SEEN_TAINTED;
  switch (o->code) {
    case MG_OP_ADD:
      return a == MGI_SEEN_MASKED || b == MGI_SEEN_MASKED ? MGI_SEEN_MASKED : a == b ? a : (int)MGI_SEEN_TAINTED;
    case MG_OP_SUB:
      if (a == MGI_SEEN_MASKED && b != MGI_SEEN_MASKED) return MGI_SEEN_MASKED;
      return a == MGI_SEEN_ZERO && b == MGI_SEEN_ZERO ? MGI_SEEN_ZERO : MGI_SEEN_TAINTED;
    case MG_OP_EXP: return a == MGI_SEEN_MASKED ? MGI_SEEN_ZERO : MGI_SEEN_TAINTED;
    case MG_OP_MUL:
    case MG_OP_MATMUL: return a == MGI_SEEN_MASKED || b == MGI_SEEN_MASKED ? MGI_SEEN_TAINTED : MGI_SEEN_ZERO;
    case MG_OP_DIV: return a == MGI_SEEN_ZERO && b == MGI_SEEN_CLEAN ? MGI_SEEN_ZERO : MGI_SEEN_TAINTED;
    case MG_OP_SCALE: case MG_OP_SUM: return a == MGI_SEEN_ZERO ? MGI_SEEN_ZERO : MGI_SEEN_TAINTED;
    default: return o->stays || o->turns ? a : (int)MGI_SEEN_TAINTED;
  }
}
int mg_flat_seen(const mg_flat *k) {
  uint8_t kind[MG_FLAT_OPS] = {MGI_SEEN_CLEAN};
  int mask = -1, sums = 0;
  if (!k->keys || k->merged || k->shares) return 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_LOAD || !o->made) continue;
    if (mask >= 0) return 0;
    mask = i;
  }
  if (mask < 0) return 0;
  const mg_flat_op *m = &k->op[mask];
  if (!m->inloop || m->loop != m->outer || k->nests >> m->loop & 1 || m->rank != 2 || m->chunk != 2) return 0;
  if ((double)m->d[1] * m->trips < (double)k->keys) return 0; /* the grid cuts the keys too */
  kind[mask] = MGI_SEEN_MASKED;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    const int from = o->n_in > 0 && o->code != MG_OP_LOAD ? o->in[0] : -1;
    if (o->code == MG_OP_ACCUM && k->op[from].inloop && k->op[from].loop == m->loop) {
      if (!o->sums || kind[from] != MGI_SEEN_ZERO) return 0;
      sums++;
    } else if (o->code == MG_OP_STORE && o->inloop) return 0;
    else if (o->code != MG_OP_LOAD && o->inloop && o->loop == m->loop) kind[i] = (uint8_t)mgi_seen_kind_of(k, i, kind);
  }
  return sums ? mask + 1 : 0;
}
double mg_flat_seen_share(const mg_flat *k) {
  const int mask = mg_flat_seen(k);
  if (!mask) return 1;
  const mg_flat_op *m = &k->op[mask - 1];
  /* keys that a block's last query sees */
  const double last = (double)(k->keys - k->queries) + (double)(k->queries + m->d[0]) / 2;
  return fmin(1, (last / (double)m->d[1] + 0.5) / m->trips);
}

/* -------------------------------------------------------------------------------------------------- >>key-rows */

typedef enum mgi_key_of { MGI_OF_KERNEL, MGI_OF_TENSOR, MGI_OF_LOAD, MGI_OF_PRODUCT, MGI_OF_STORED } mgi_key_of;
static const char *const mgi_key_of_text[] = { "word", "tensor", "load", "product", "stored value" };

enum { MGI_PLAN_WORDS = 8 };
typedef struct mgi_plan_row { mgi_key_of of; const char *key, *word[MGI_PLAN_WORDS]; int least, most; } mgi_plan_row;
#define MGI_W(P, id, word, what) word,
#define MGI_K(id, of, key, WORDS, least, most, what) { MGI_OF_##of, key, { WORDS(MGI_W, ) NULL }, least, most },
static const mgi_plan_row mgi_plan_rows[] = { MG_PLAN_KEYS(MGI_K) };
#undef MGI_K
#undef MGI_W

const char *mg_plan_word(mg_plan_key key, int value) {
  for (int w = 0; mgi_plan_rows[key].word[w]; w++)
    if (w == value) return mgi_plan_rows[key].word[w];
  return NULL;
}
int mg_plan_text(mg_plan_key key, const char *name, int value, char word[MG_PLAN_TEXT], char text[MG_PLAN_TEXT]) {
  const mgi_plan_row *r = &mgi_plan_rows[key];
  const int n = snprintf(word, MG_PLAN_TEXT, "%s%s%s", name ? name : "", name ? "." : "", r->key);
  if (r->word[0]) snprintf(text, MG_PLAN_TEXT, "%s", r->word[value]);
  else snprintf(text, MG_PLAN_TEXT, "%d", value);
  return n < MG_PLAN_TEXT;
}
int mg_plan_say(mg_graph *block, mg_plan_key key, const char *name, int value) {
  char word[MG_PLAN_TEXT], text[MG_PLAN_TEXT];
  if (!mg_plan_text(key, name, value, word, text)) return 0;
  mg_plan_set(block, word, text);
  return 1;
}
/* What a value of the row's key stands for; -1: it is none. */
MGI_FN int mgi_plan_value(const mgi_plan_row *r, const char *value) {
  if (!r->word[0]) {
    char *end;
    const long n = strtol(value, &end, 10);
    return *value && !*end && n >= r->least && n <= r->most ? (int)n : -1;
  }
  for (int w = 0; r->word[w]; w++)
    if (!strcmp(r->word[w], value)) return w;
  return -1;
}
int mg_plan_says(const mg_graph *block, mg_plan_key key, const char *name) {
  const mgi_plan_row *r = &mgi_plan_rows[key];
  const size_t n = name ? strlen(name) : 0;
  for (uint32_t k = 0; k < block->n_plan; k++) {
    const char *at = block->plan[k].key;
    if (name && (strncmp(at, name, n) || at[n] != '.')) continue;
    if (!strcmp(name ? at + n + 1 : at, r->key)) return mgi_plan_value(r, block->plan[k].value);
  }
  return -1;
}
/* How tensor t of kernel-level g, of 16 bits and no output, is stored by a kernel's plan: an MG_STORE_..; -1: as it
   is. */
MGI_FN int mgi_stored_how(const mg_graph *g, mg_tensor t) {
  const mg_tensor_info *i = mg_tensor_of(g, t);
  const mg_op_node *o = mg_op_of(g, i->op);
  int at = 0;
  if (g->level != MG_KERNEL || mg_dtype_bytes(i->dtype) > 2 || mg_is_output(g, t) || o->code != MG_OP_GRAPH) return -1;
  while (o->out[at].id != t.id) at++;
  for (uint32_t k = 1; k < o->sub->n_ops; k++) {
    const mg_op_node *store = &o->sub->ops[k];
    if (store->code != MG_OP_STORE || at-- > 0) continue;
    const char *name = mg_tensor_of(o->sub, store->in[0])->name;
    return name && *name ? mg_plan_says(o->sub, MG_PLAN_STORE, name) : -1;
  }
  return -1;
}
/* 1 if library operators alone read t, none of them a product, through reshapes that are names too, of which none is an
   output. */
MGI_FN int mgi_read_wide(const mg_graph *g, mg_tensor t) {
  if (mg_is_output(g, t)) return 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (int j = 0; j < g->ops[k].n_in; j++) {
      const mg_op_node *by = &g->ops[k];
      if (by->in[j].id != t.id) continue;
      if (by->code >= MG_OP_TABLE_END || by->code == MG_OP_MATMUL || by->code == MG_OP_CONCAT_MATMUL) return 0;
      if (mg_slice_is_address(g, k)) return 0;
      if (by->code == MG_OP_RESHAPE && mg_tensor_of(g, by->out[0])->dtype == mg_tensor_of(g, t)->dtype &&
          !mgi_read_wide(g, by->out[0]))
        return 0;
    }
  return 1;
}
int mg_wide(const mg_graph *g, mg_tensor t) {
  const mg_tensor_info *i = mg_tensor_of(g, t);
  const mg_op_node *o = mg_op_of(g, i->op);
  if (g->level != MG_KERNEL || mg_dtype_bytes(i->dtype) > 2 || !i->op || mg_is_output(g, t)) return 0;
  if (o->code == MG_OP_GRAPH) return mgi_stored_how(g, t) == MG_STORE_F32;
  if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL) return 0;
  /* no digits are new */
  if (o->code == MG_OP_RESHAPE && mg_tensor_of(g, o->in[0])->dtype == i->dtype && !mg_wide(g, o->in[0])) return 0;
  return mgi_read_wide(g, t);
}
int mg_split(const mg_graph *g, mg_tensor t) {
  return mg_tensor_of(g, t)->dtype == MG_F16 && mgi_stored_how(g, t) == MG_STORE_SPLIT;
}
/* 1 if loads of kernels alone read t, or slices that they alone read. */
MGI_FN int mgi_only_loaded(const mg_graph *g, mg_tensor t) {
  if (mg_is_output(g, t)) return 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (int j = 0; j < g->ops[k].n_in; j++) {
      const mg_op_node *by = &g->ops[k];
      if (by->in[j].id != t.id || by->code == MG_OP_GRAPH) continue;
      if (by->code != MG_OP_SLICE || !mgi_only_loaded(g, by->out[0])) return 0;
    }
  return 1;
}
int mg_slice_may_be_address(const mg_graph *g, uint32_t op) {
  const mg_op_node *o = mg_op_of(g, op);
  if (g->level != MG_KERNEL || o->code != MG_OP_SLICE || mg_is_output(g, o->out[0])) return 0;
  const mg_tensor from = mg_sliced_from(g, o->in[0]);
  const mg_tensor_info *lies = mg_tensor_of(g, from), *to = mg_tensor_of(g, o->out[0]);
  const int how = mgi_stored_how(g, from), run = 16 / mg_dtype_bytes(to->dtype);
  if (lies->dtype != to->dtype || lies->fill || how == MG_STORE_F32 || how == MG_STORE_SPLIT) return 0;
  const int inner = mg_innermost(lies);
  return lies->shape.dim[inner] % run == 0 && (o->attr.dim != inner || o->attr.from % run == 0);
}
int mg_slice_is_address(const mg_graph *g, uint32_t op) {
  return mg_slice_may_be_address(g, op) && mgi_only_loaded(g, mg_op_of(g, op)->out[0]);
}
mg_tensor mg_sliced_from(const mg_graph *g, mg_tensor t) {
  while (g->tensors[t.id].op && mg_slice_is_address(g, g->tensors[t.id].op)) t = g->ops[g->tensors[t.id].op].in[0];
  return t;
}
/* What t is a reshape of a reshape .. of. */
MGI_FN mg_tensor mgi_reshaped(const mg_graph *g, mg_tensor t) {
  while (g->tensors[t.id].op && g->ops[g->tensors[t.id].op].code == MG_OP_RESHAPE)
    t = g->ops[g->tensors[t.id].op].in[0];
  return t;
}
int mg_renames(const mg_graph *g, uint32_t op) {
  const mg_op_node *o = mg_op_of(g, op);
  if (o->code == MG_OP_SLICE) return mg_slice_is_address(g, op);
  if (g->level != MG_KERNEL || o->code != MG_OP_RESHAPE) return 0;
  const mg_tensor from = o->in[0], to = o->out[0], root = mgi_reshaped(g, from);
  const mg_tensor_info *a = &g->tensors[from.id], *b = &g->tensors[to.id];
  int same = a->dtype == b->dtype && !a->fill && mg_wide(g, from) == mg_wide(g, to) && !mg_split(g, from);
  for (int d = 0; d < a->shape.rank; d++) same &= a->order[d] == d;
  for (int d = 0; d < b->shape.rank; d++) same &= b->order[d] == d;
  if (!same || !mg_is_output(g, to)) return same;
  same = g->tensors[root.id].op && !mg_is_output(g, root);
  for (uint32_t k = 0; k < g->n_out; k++) same &= g->out[k].id == to.id || mgi_reshaped(g, g->out[k]).id != root.id;
  for (mg_tensor t = from; t.id != root.id && same; t = g->ops[g->tensors[t.id].op].in[0])
    same = mg_renames(g, g->tensors[t.id].op);
  return same;
}
int mg_kernels(const mg_graph *g) {
  int n = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) n += !mg_renames(g, k);
  return n;
}
mg_tensor mg_lies_as(const mg_graph *g, mg_tensor t) {
  while (g->tensors[t.id].op && mg_renames(g, g->tensors[t.id].op)) t = g->ops[g->tensors[t.id].op].in[0];
  for (uint32_t k = 0; k < g->n_out && g->tensors[t.id].op; k++) {
    mg_tensor of = g->out[k];
    while (of.id != t.id && g->tensors[of.id].op && mg_renames(g, g->tensors[of.id].op))
      of = g->ops[g->tensors[of.id].op].in[0];
    if (of.id == t.id) return g->out[k];
  }
  return t;
}
int mg_wide_product(const mg_graph *b, uint32_t op) {
  const mg_op_node *o = mg_op_of(b, op);
  const char *name = b->level == MG_BLOCK && o->n_out ? mg_tensor_of(b, o->out[0])->name : NULL;
  return name && *name && mg_plan_says(b, MG_PLAN_WIDE, name) == MG_WIDE_WIDE;
}
/* Of an operator: 1 if such a key may speak of its value. */
MGI_FN int mgi_key_speaks(mgi_key_of of, const mg_op_node *o) {
  switch (of) {
    case MGI_OF_STORED: return o->code == MG_OP_STORE;
    case MGI_OF_LOAD: return o->code == MG_OP_LOAD;
    case MGI_OF_PRODUCT: return o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL;
    default: return o->code != MG_OP_STORE;
  }
}
/* 1 if the block has a value of that name (n letters) of which such a key may speak. */
MGI_FN int mgi_plan_has(const mg_graph *block, mgi_key_of of, const char *name, size_t n) {
  for (uint32_t i = 1; i < block->n_ops; i++) {
    const mg_op_node *o = &block->ops[i];
    const int stored = o->code == MG_OP_STORE; /* it has no value of its own */
    for (int j = 0; mgi_key_speaks(of, o) && j < (stored ? 1 : o->n_out); j++) {
      const char *own = mg_tensor_of(block, stored ? o->in[0] : o->out[j])->name;
      if (own && strlen(own) == n && !strncmp(own, name, n)) return 1;
    }
  }
  return 0;
}
/* "block, warp or group"; "1 to 8"; "0 or 1". */
MGI_FN const char *mgi_plan_wants(const mgi_plan_row *r, char *out, size_t size) {
  size_t at = 0;
  if (!r->word[0]) snprintf(out, size, "%d %s %d", r->least, r->most == r->least + 1 ? "or" : "to", r->most);
  for (int w = 0; r->word[w] && at < size; w++) {
    const char *next = r->word[w + 1] ? ", " : " or ";
    at += (size_t)snprintf(out + at, size - at, "%s%s", w ? next : "", r->word[w]);
  }
  return out;
}
mg_status mg_plan_check(const mg_graph *block, const char *where, mg_error *e) {
  for (uint32_t k = 0; k < block->n_plan; k++) {
    const char *key = block->plan[k].key, *value = block->plan[k].value, *dot = strrchr(key, '.');
    const mgi_plan_row *r = mgi_plan_rows, *end = r + MG_PLAN_KEY_COUNT;
    char wants[128];
    while (r < end && ((dot == NULL) != (r->of == MGI_OF_KERNEL) || strcmp(dot ? dot + 1 : key, r->key))) r++;
    if (r == end) return mg_fail(e, MG_UNSUPPORTED, where, "the plan's %.60s=%.20s: there is no such word", key, value);
    if (dot && !mgi_plan_has(block, r->of, key, (size_t)(dot - key)))
      return mg_fail(e, MG_UNSUPPORTED, where, "the plan's %.60s=%.20s: there is no such %s", key, value,
                     mgi_key_of_text[r->of]);
    if (mgi_plan_value(r, value) < 0)
      return mg_fail(e, MG_UNSUPPORTED, where, "the plan's %.60s=%.20s: want %s", key, value,
                     mgi_plan_wants(r, wants, sizeof wants));
  }
  return MG_OK;
}

/* --------------------------------------------------------------------------------------------------- >>facts

   What a kernel is under a plan: which products take their operands from fragments, which loops have rings of warps or
   of warpgroups, what warpgroups may multiply.  mirage_cuda.cuh decides the same when it writes; tests hold them
   together. */

MGI_FN int mgi_plan_threads(const mg_kernel_plan *p) { return 32 * p->warps_m * p->warps_n * p->warps_k; }
/* With those that only copy. */
MGI_FN int mgi_plan_all_threads(const mg_kernel_plan *p) {
  return mgi_plan_threads(p) + (p->copies == MG_COPY_WARP ? MG_APART : 0);
}

void mg_flat_product(const mg_flat *k, const mg_flat_op *o, int64_t *m, int64_t *n, int64_t *c, int64_t *batch) {
  const mg_flat_op *a = &k->op[o->in[0]];
  *m = o->d[o->rank - 2], *n = o->d[o->rank - 1], *c = a->d[a->rank - 1];
  *batch = mg_flat_elements(o) / (*m * *n > 0 ? *m * *n : 1);
}

/* Whether a matmul's result is in op i's value. */
int mg_flat_has_product(const mg_flat *k, int i) {
  uint8_t made[MG_FLAT_OPS] = { 0 };
  for (int q = 0; q <= i; q++) { /* operands precede */
    made[q] = k->op[q].code == MG_OP_MATMUL;
    for (int j = 0; j < k->op[q].n_in && j < 2; j++) made[q] |= made[k->op[q].in[j]];
  }
  return made[i];
}

/* ---- chains
   A product whose left operand is another product, or an elementwise function of one, takes it from that one's
   fragments, narrowed; sums of the operand's rows do the same, and nothing goes through shared memory:

       S = matmul(q, k);  P = exp(S);  l = sum(P, dim=1);  O = matmul(P, v)      over[P] = S, from[O] = from[l] = P

   The operand has 16 bits, its columns are whole steps of 16 for every warp, no two warps share the contraction.  It is
   made of one product of its shape and its loop, which nothing else reads; and all that reads it takes it so.  Two more
   readers may be: a store, of what an exponential is of; and, of one exponential outside of loops, elementwise
   functions. */

/* 1 if SUM, MAX o joins neither rows nor columns, but a dimension of one element. */
MGI_FN int mgi_joins_one(const mg_flat *k, const mg_flat_op *o) {
  const mg_flat_op *x = &k->op[o->in[0]];
  return (o->code == MG_OP_SUM || o->code == MG_OP_MAX) && o->along != x->rank - 1 && o->along != mgi_rows_in(x);
}
MGI_FN int mgi_same_matrix(const mg_flat_op *a, const mg_flat_op *b) {
  return mgi_rows_of(a) == mgi_rows_of(b) && mgi_cols_of(a) == mgi_cols_of(b);
}
/* How many places of o->in are values that it reads. */
MGI_FN int mgi_reads(const mg_flat_op *o) {
  if (o->code == MG_OP_LOAD) return 0;
  if (o->joined) return 4;
  return o->n_in < 4 ? o->n_in : 4;
}

int mg_flat_only_reader(const mg_flat *k, int i) {
  int by = -1;
  for (int q = i + 1; q < k->n; q++)
    for (int j = 0; j < mgi_reads(&k->op[q]); j++) {
      if (k->op[q].in[j] != i) continue;
      if (by >= 0) return -1;
      by = q;
    }
  return by;
}
int mg_flat_power(const mg_flat *k, int i) {
  const mg_flat_op *o = &k->op[i];
  const int cast = mg_is_cast((mg_opcode)o->code, NULL) && o->narrow, at = cast ? o->in[0] : i;
  return k->op[at].code == MG_OP_EXP && (!cast || mg_flat_only_reader(k, at) == i) ? at : -1;
}
/* The accumulator that product i adds up in, having no other reader; -1: there is none. */
MGI_FN int mgi_added_up(const mg_flat *k, int i) {
  const int by = mg_flat_only_reader(k, i);
  return by >= 0 && k->op[by].sums ? by : -1;
}

/* 1 if value i is a product, with its accumulator if it has one, that takes nothing from fragments itself. */
MGI_FN int mgi_is_product(const mg_flat *k, const mg_chains *c, int i) {
  const mg_flat_op *o = &k->op[i];
  const int q = o->code == MG_OP_ACCUM ? o->in[0] : i;
  if (o->across || k->op[q].code != MG_OP_MATMUL || c->from[q]) return 0;
  return mgi_added_up(k, q) == (q == i ? -1 : i);
}

int mg_flat_product_of(const mg_flat *k, const mg_chains *c, int v, int t) {
  int16_t of[MG_FLAT_OPS];
  for (int i = 0; i <= v; i++) {
    const mg_flat_op *o = &k->op[i];
    int several = 0;
    of[i] = -1;
    if (mgi_is_product(k, c, i)) {
      if (mgi_same_matrix(o, &k->op[t]) && o->loop == k->op[t].loop) of[i] = (int16_t)i;
      continue;
    }
    for (int j = 0; j < mgi_reads(o) && mgi_elementwise(o); j++) {
      const int16_t x = of[o->in[j]];
      several |= x >= 0 && of[i] >= 0 && x != of[i];
      if (x >= 0) of[i] = x;
    }
    if (several) of[i] = -1;
  }
  return of[v];
}

/* 1 if something reads value i, and all that does is late. */
MGI_FN int mgi_read_late(const mg_flat *k, int i, const uint8_t *late) {
  for (int q = i + 1; q < k->n; q++)
    for (int j = 0; j < mgi_reads(&k->op[q]); j++)
      if (k->op[q].in[j] == i && !late[q]) return 0;
  return 1;
}
void mg_flat_late(const mg_flat *k, uint8_t late[MG_FLAT_OPS]) {
  int merges = 0;
  memset(late, 0, MG_FLAT_OPS);
  for (int i = 0; i < k->n; i++) merges |= k->op[i].across;
  for (int again = merges; again;) {
    again = 0;
    for (int i = 0; i < k->n; i++) {
      const mg_flat_op *o = &k->op[i];
      int is = o->code == MG_OP_LOAD && !o->inloop && mgi_read_late(k, i, late);
      for (int j = 0; j < mgi_reads(o); j++) is |= late[o->in[j]] || k->op[o->in[j]].across;
      for (int q = 0; q < k->n && o->inloop; q++) is |= late[q] && k->op[q].outer == o->outer;
      if (!is || late[i]) continue;
      late[i] = 1;
      again = 1;
    }
  }
}

int mg_flat_ends_in(const mg_flat *k, int s, int t, int beside) {
  uint8_t ends[MG_FLAT_OPS], behind[MG_FLAT_OPS];
  memset(ends, 0, sizeof ends);
  mg_flat_late(k, behind);
  ends[t] = 1;
  for (int i = t - 1; i >= s; i--) {
    int any = 0, all = 1;
    for (int q = i + 1; q < k->n; q++) {
      const mg_flat_op *o = &k->op[q];
      const int stays = o->code == MG_OP_ACCUM && o->loop == k->op[o->in[0]].loop;
      for (int j = 0; j < mgi_reads(o); j++) {
        if (o->in[j] != i) continue;
        if (o->code == MG_OP_STORE && beside && o->loop == k->op[t].loop && behind[q] == behind[t]) continue;
        any = 1;
        all &= ends[q] && (mgi_elementwise(o) || mg_op_moves(o->code) || stays || mgi_joins_one(k, o));
      }
    }
    ends[i] = (uint8_t)(any && all);
  }
  return ends[s];
}

/* 1 if o is a product that may take value t, its left operand, from fragments. */
MGI_FN int mgi_multiplies(const mg_flat *k, const mg_flat_op *o, int t) {
  if (o->code != MG_OP_MATMUL || o->joined || o->loop != k->op[t].loop) return 0;
  return o->in[0] == t && o->in[1] != t && k->op[o->in[1]].narrow;
}

/* The product in whose fragments value t is computed, by the rules above; -1: none.  *lends: others read t too. */
MGI_FN int mgi_settles(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int t, int *lends) {
  const mg_flat_op *v = &k->op[t];
  /* a lane's, of 8 columns */
  const int64_t registers = mg_round_up(mgi_rows_of(v), 16 * p->warps_m) / (16 * p->warps_m) * 4;
  int64_t total = registers * mgi_cols_of(v) / (8 * p->warps_n);
  int products = 0, others = 0, beside = 0;
  *lends = 0;
  if (!v->narrow || !mg_flat_lets(v, MG_AT_SETTLE) || mg_round_up(mgi_cols_of(v), 8 * p->warps_n) % (16 * p->warps_n))
    return -1;
  for (int q = t + 1; q < k->n; q++) {
    const mg_flat_op *o = &k->op[q];
    for (int j = 0; j < mgi_reads(o); j++) {
      if (o->in[j] != t) continue;
      if (j == 0 && mgi_multiplies(k, o, t)) {
        products++;
        total += registers * mg_round_up(mgi_cols_of(o), 8) / 8;
      } else if (o->code != MG_OP_SUM || o->loop != v->loop || mgi_cols_of(o) != 1) {
        others++;
        beside += mgi_elementwise(o) && mgi_same_matrix(o, v);
      }
    }
  }
  if (!products || total > 200) return -1;
  const int s = mg_flat_product_of(k, c, t, t);
  if (s < 0 || (s != t && !mg_flat_ends_in(k, s, t, mg_flat_power(k, t) >= 0))) return -1;
  if (s == t || !others) return s;
  *lends = others == beside && !c->lent && !v->inloop && mg_flat_power(k, t) >= 0;
  return *lends ? s : -1;
}

/* Value t is computed in the fragments of s, a product: what may take it from there does. */
MGI_FN void mgi_settle(const mg_flat *k, mg_chains *c, int t, int s) {
  c->over[t] = (int16_t)(s + 1);
  for (int q = t + 1; q < k->n; q++) {
    const mg_flat_op *o = &k->op[q];
    const int sum = o->code == MG_OP_SUM && o->in[0] == t && o->loop == k->op[t].loop && s != t;
    if (sum || mgi_multiplies(k, o, t)) c->from[q] = (int16_t)(t + 1);
  }
}
void mg_flat_chains(const mg_flat *k, const mg_kernel_plan *p, mg_chains *c) {
  uint8_t left[MG_FLAT_OPS] = { 0 };
  memset(c, 0, sizeof *c);
  if (p->warps_k != 1) return;
  for (int i = 0; i < k->n; i++)
    if (k->op[i].code == MG_OP_MATMUL) left[k->op[i].in[0]] = 1;
  for (int t = 0; t < k->n; t++) {
    int lends;
    const int s = left[t] ? mgi_settles(k, p, c, t, &lends) : -1;
    if (s < 0) continue;
    mgi_settle(k, c, t, s);
    if (lends) c->lent = (int16_t)(t + 1);
  }
}

int mg_flat_chained(const mg_flat *k, const mg_kernel_plan *p, int i) {
  mg_chains c;
  if (k->op[i].code != MG_OP_MATMUL || p->warps_k != 1 || !mg_flat_has_product(k, k->op[i].in[0])) return 0;
  mg_flat_chains(k, p, &c);
  return c.from[i] != 0;
}
/* 1 if value i is what its row's maximum was taken off. */
MGI_FN int mgi_below_maximum(const mg_flat *k, int i) {
  const mg_flat_op *o = &k->op[i];
  return o->code == MG_OP_SUB && k->op[o->in[1]].code == MG_OP_MAX && k->op[o->in[1]].in[0] == o->in[0];
}
/* 1 if tensor t of block graph g is a load of what `stands` says of kernel-level tensors: mg_wide, or mg_split, of
   which a product takes both numbers. */
int mg_loads_what(const mg_graph *g, mg_tensor t, int (*stands)(const mg_graph *g, mg_tensor t)) {
  const mg_op_node *o = mg_op_of(g, mg_tensor_of(g, t)->op);
  return g->level == MG_BLOCK && o->code == MG_OP_LOAD && stands(g->up, o->in[0]);
}
/* mg_flat_finds from value i on; seen: what was looked at. */
MGI_FN int mgi_flat_finds_from(const mg_flat *k, int i, mg_flat_look *look, void *what, uint8_t *seen) {
  if (seen[i]) return 0;
  seen[i] = 1;
  const int says = look(k, i, what);
  for (int j = 0; says < 0 && j < mgi_reads(&k->op[i]); j++)
    if (mgi_flat_finds_from(k, k->op[i].in[j], look, what, seen)) return 1;
  return says > 0;
}
int mg_flat_finds(const mg_flat *k, int i, mg_flat_look *look, void *what) {
  uint8_t seen[MG_FLAT_OPS] = { 0 };
  return mgi_flat_finds_from(k, i, look, what, seen);
}
/* Whether an exponential, not yet divided by anything, is in value i. */
MGI_FN int mgi_look_raw_exp(const mg_flat *k, int i, void *what) {
  const mg_flat_op *o = &k->op[i];
  (void)what;
  if (o->code == MG_OP_EXP) return !mgi_below_maximum(k, o->in[0]);
  return o->code == MG_OP_DIV || !mgi_elementwise(o) ? 0 : -1;
}

/* ---- running maxima
   A product takes exp(x) narrowed, in fragments: exp(x - m) instead, m the maximum of the row so far, passes no type.
   The factor exp(-m) cancels in what divides one value of it by another:

       p = exp(x)      d = matmul(p, v)      l = sum(p)      o = div(d, l)            degrees: d, l 1; o 0

   Or p = to_f16(exp(x)), of f32, where p alone reads that (mg_flat_power).
   Every warp has a maximum of its own, as have blocks whose sums are merged; what joins their parts undoes the
   difference. */

int mg_degree(int code, int a, int b, int *d) {
  switch (code) {
  case MG_OP_DIV: *d = a - b; break;
  case MG_OP_MUL: *d = a + b; break;
  case MG_OP_SCALE:
  case MG_OP_NEG: *d = a; break;
  case MG_OP_ADD:
  case MG_OP_SUB:
    if (a != b) return 0;
    *d = a;
    break;
  default: return 0;
  }
  return *d <= 8 && *d >= -8;
}
/* 1 if value i is one a row of value p, outside of loops, in a block that joins no parts of others; `open`: may be, at
   some sizes. */
MGI_FN int mgi_row_value(const mg_flat *k, int i, int p, int open) {
  for (int q = 0; q < k->n; q++)
    if (k->op[q].across) return 0;
  if (k->op[i].inloop) return 0;
  return open || (mgi_cols_of(&k->op[i]) == 1 && mgi_rows_of(&k->op[i]) == mgi_rows_of(&k->op[p]));
}
/* 1 if all that reads value i are stores, which have the logarithm's maximum back. */
MGI_FN int mgi_undo_log(const mg_flat *k, int i, mg_maxima *m) {
  for (int q = i + 1; q < k->n; q++)
    for (int j = 0; j < mgi_reads(&k->op[q]); j++) {
      if (k->op[q].in[j] != i) continue;
      if (k->op[q].code != MG_OP_STORE) return 0;
      m->undo[q] = MG_UNDO_LOG;
    }
  return 1;
}
/* The degree of value i, some operand of which has one; 0: it can have none. */
MGI_FN int mgi_degree_of(const mg_flat *k, int i, mg_maxima *m, int open) {
  const mg_flat_op *o = &k->op[i], *in = &k->op[o->in[0]];
  const int of = m->degree[o->in[0]], by = o->n_in > 1 ? m->degree[o->in[1]] : 0, p = m->of - 1;
  const int row = of == 1 && mgi_row_value(k, o->in[0], p, open);
  int d = of;
  switch (o->code) {
  case MG_OP_STORE:
    m->undo[i] = row ? MG_UNDO_FACTOR : MG_UNDO_NONE;
    return of == 1;
  case MG_OP_LOG: return row && mgi_undo_log(k, i, m);
  case MG_OP_ACCUM:
    m->degree[i] = (int8_t)of;
    return of == 1 && (!o->across || o->adds) && (mg_flat_in_place(k, o->in[0]) == i + 1 || o->loop == in->loop);
  default:
    if (!mg_degree(o->code, of, by, &d)) return 0;
    m->degree[i] = (int8_t)d;
    return 1;
  }
}
/* `open`: at some sizes. */
MGI_FN void mgi_maxima(const mg_flat *k, const mg_chains *c, mg_maxima *m, int open) {
  int settled = 0, looped = 0, straight = 0, ok = 1;
  memset(m, 0, sizeof *m);
  for (int i = 0; i < k->n; i++)
    if (c->over[i] && mg_flat_power(k, i) >= 0) {
      m->of = (int16_t)(i + 1);
      settled++;
    }
  ok = settled == 1;
  for (int i = 0; i < k->n && ok; i++) {
    const mg_flat_op *o = &k->op[i];
    int some = 0;
    for (int j = 0; j < mgi_reads(o); j++) some |= m->degree[o->in[j]];
    if (c->from[i] == m->of) {
      m->degree[i] = 1;
      ok = !some || o->in[0] == m->of - 1;
      *(mg_flat_in_place(k, i) ? &looped : &straight) = 1;
    } else if (i + 1 == m->of) m->degree[i] = c->lent == m->of;
    else if (some) ok = mgi_degree_of(k, i, m, open);
  }
  if (!ok || (looped && straight)) memset(m, 0, sizeof *m);
}
void mg_flat_maxima(const mg_flat *k, const mg_chains *c, mg_maxima *m) { mgi_maxima(k, c, m, 0); }
/* 1 if product i takes from its left an exponential of a product, or what is made of one, that nothing has divided. */
MGI_FN int mgi_takes_raw(const mg_flat *k, int i) {
  const mg_flat_op *o = &k->op[i];
  if (o->code != MG_OP_MATMUL || !mg_flat_has_product(k, o->in[0])) return 0;
  return mg_flat_finds(k, o->in[0], mgi_look_raw_exp, NULL);
}
MGI_FN int mgi_divides(const mg_flat *k) {
  for (int i = 0; i < k->n; i++)
    if (k->op[i].code == MG_OP_DIV) return 1;
  return 0;
}
/* 1 if all that has the maximum's factor where it is stored may: another kernel takes it out, or it is put back. */
MGI_FN int mgi_may_stay(const mg_flat *k, const mg_maxima *m) {
  for (int i = 0; i < k->n && !k->sent; i++)
    if (k->op[i].code == MG_OP_STORE && m->degree[k->op[i].in[0]] && !m->undo[i]) return 0;
  return 1;
}
/* How a product's exponentials may overflow under a plan with these chains: MGI_.. */
enum { MGI_NEVER, MGI_IN_FRAGMENTS, MGI_IN_16_BITS };
MGI_FN int mgi_overflows(const mg_flat *k, const mg_chains *c, const mg_maxima *m) {
  int worst = MGI_NEVER;
  for (int i = 0; i < k->n; i++) {
    if (!mgi_takes_raw(k, i) || (c->from[i] && c->from[i] == m->of)) continue;
    /* with a quotient there are candidates whose maxima cancel */
    if (!c->from[i] || mgi_divides(k)) return MGI_IN_16_BITS;
    worst = MGI_IN_FRAGMENTS;
  }
  return worst;
}
/* The chains of a kernel under a plan in which exponential i, and nothing else, has a running maximum. */
MGI_FN void mgi_chains_of_one(const mg_flat *k, int i, mg_chains *c) {
  memset(c, 0, sizeof *c);
  mgi_settle(k, c, i, -1);
  c->over[i] = c->lent = (int16_t)(i + 1);
}
int mg_flat_unshifted(const mg_flat *k) {
  mg_chains c;
  mg_maxima m;
  int raw = 0;
  for (int i = 0; i < k->n; i++) raw |= mgi_takes_raw(k, i);
  if (!raw || !mgi_divides(k)) return 0;
  for (int i = 0; i < k->n; i++) {
    if (mg_flat_power(k, i) < 0) continue;
    mgi_chains_of_one(k, i, &c);
    mgi_maxima(k, &c, &m, 1);
    if (m.of && mgi_may_stay(k, &m)) return 0;
  }
  return 1;
}
void mg_flat_unlend(mg_chains *c) {
  if (!c->lent) return;
  for (int i = 0; i < MG_FLAT_OPS; i++)
    if (c->from[i] == c->lent) c->from[i] = 0;
  c->over[c->lent - 1] = 0;
  c->lent = 0;
}

/* ---- products of warpgroups
   The left operand comes in registers; the right one from a load's tile, which has to be swizzled: whole panels of 64
   neighbours in memory.  A warpgroup has 64 rows, and a share of the columns; of a chained product, of the
   contraction. */

int mg_flat_tile_read(const mg_flat *k, int i, int *turned) {
  int odd = 0;
  for (; mgi_renames(&k->op[i]); i = k->op[i].in[0]) odd ^= k->op[i].turns;
  if (turned) *turned = odd;
  return mg_flat_brings(&k->op[i]) && !k->op[i].weighted ? i : -1;
}
/* What one warpgroup makes of product i: of so many columns, by so many steps' depth of the contraction. */
MGI_FN void mgi_group_share(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i, int64_t *cols,
                            int64_t *depth) {
  const mg_flat_op *o = &k->op[i];
  *cols = c->from[i] ? mgi_cols_of(o) : mgi_cols_of(o) / p->warps_n;
  *depth = c->from[i] ? mgi_cols_of(&k->op[o->in[0]]) / p->warps_n : mgi_cols_of(&k->op[o->in[0]]);
}
const char *mg_flat_group_why(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i) {
  const mg_flat_op *o = &k->op[i], *left = &k->op[o->in[0]], *right = &k->op[o->in[1]];
  int64_t cols, depth;
  if (o->code != MG_OP_MATMUL || o->joined) return "it is no matmul";
  if (o->wide) return "its operands pass the exponents of 16 bits";
  if (!left->narrow || !right->narrow) return "its operands are not of one 16-bit type";
  const int load = mg_flat_tile_read(k, o->in[1], NULL);
  if (load < 0) return "its right operand is no load, or has weights to be multiplied by";
  const mg_flat_op *l = &k->op[load];
  if (l->esize != 2 && !l->split) return "its right operand lies in memory in 32 bits";
  const int64_t along = l->down ? mgi_rows_of(l) : mgi_cols_of(l), across = l->down ? mgi_cols_of(l) : mgi_rows_of(l);
  if (along % 64 || across % 16) return "its right operand has no whole panels of 64 neighbours in memory, by 16";
  if (mgi_cols_of(left) % (c->from[i] ? 16 * p->warps_n : 16))
    return "its contraction is no whole number of steps of 16";
  mgi_group_share(k, p, c, i, &cols, &depth);
  const int whole = c->from[i] || mgi_cols_of(o) % p->warps_n == 0;
  if (!whole || (cols != 16 && cols != 32 && cols % 64))
    return "a warpgroup has not 16, 32 or a multiple of 64 columns of it";
  return "";
}
int mg_flat_by_group(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i) {
  return p->group && !*mg_flat_group_why(k, p, c, i);
}
/* The load whose tile, which tensor copies bring, operand j of a loop's product is, as it lies; NULL: it is none. */
MGI_FN const mg_flat_op *mgi_copied_tile(const mg_flat *k, const mg_flat_op *product, int j) {
  const int load = mg_flat_tile_read(k, product->in[j], NULL);
  const mg_flat_op *l = load < 0 ? NULL : &k->op[load];
  return l && l->inloop && l->loop == product->loop && !l->split && !l->weighted && mg_flat_brings(l) ? l : NULL;
}
int mg_flat_flies(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i) {
  const mg_flat_op *o = &k->op[i];
  if (!p->copies || p->stages < 3 || o->code != MG_OP_MATMUL || !o->inloop || c->from[i] ||
      !mg_flat_by_group(k, p, c, i) || !mg_flat_in_place(k, i))
    return 0;
  for (int j = 0; j < 2; j++) {
    const mg_flat_op *l = mgi_copied_tile(k, o, j);
    if (!l || l->esize != 2 || (l->down ? mgi_rows_of(l) : mgi_cols_of(l)) % 64) return 0;
  }
  return 1;
}
int mg_flat_trails(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i) {
  const mg_flat_op *o = &k->op[i];
  const int first = o->code == MG_OP_MATMUL && c->from[i] ? c->over[c->from[i] - 1] : 0;
  if (!p->copies || p->stages < 3 || p->warps_n != 1 || !o->inloop || !first || !mg_flat_in_place(k, i)) return 0;
  const mg_flat_op *f = &k->op[first - 1], *left = &k->op[f->in[0]];
  if (f->code != MG_OP_MATMUL || f->loop != o->loop || mg_flat_in_place(k, first - 1)) return 0;
  if (left->inloop || mg_flat_has_product(k, f->in[0])) return 0;
  if (!mg_flat_by_group(k, p, c, i) || !mg_flat_by_group(k, p, c, first - 1)) return 0;
  if (!mgi_copied_tile(k, o, 1) || !mgi_copied_tile(k, f, 1)) return 0;
  for (int q = 0; q < k->n; q++) {
    const mg_flat_op *other = &k->op[q];
    if (!other->inloop) continue;
    if (other->loop != o->loop || (other->code == MG_OP_MATMUL && q != i && q != first - 1)) return 0;
  }
  return first;
}
int mg_flat_group_registers(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c) {
  int64_t sum = 0, most = 0;
  for (int i = 0; i < k->n; i++) {
    int64_t cols, depth;
    if (k->op[i].code != MG_OP_MATMUL) continue;
    mgi_group_share(k, p, c, i, &cols, &depth);
    sum += cols / 2;
    if (p->late && mg_flat_trails(k, p, c, i)) sum += depth / 4; /* they wait for the next step */
    else if (depth / 4 > most && !mg_flat_flies(k, p, c, i)) most = depth / 4;
  }
  return (int)(sum + most);
}
/* Registers of a thread beside those of its products; and where a warpgroup beside copies. */
enum { MGI_GROUP_BESIDE = 24, MGI_APART_BESIDE = 32 };
/* Registers that the launch of one block of so many threads deals out to each, by eights. */
MGI_FN int mgi_launched_registers(const mg_machine *m, int threads) {
  const int64_t each = m->registers_per_sm / threads / 8 * 8;
  return each < MG_REGISTERS_MOST ? (int)each : MG_REGISTERS_MOST;
}
int mg_group_takes(const mg_machine *m, int threads, int registers) {
  const int all = threads + MG_APART, launched = mgi_launched_registers(m, all), dealt = launched / 8 * 8, most = 240;
  const int each = (dealt * all - MG_COPIER * MG_APART) / threads / 8 * 8, takes = each < most ? each : most;
  return registers + MGI_APART_BESIDE <= launched || takes <= launched ? 0 : takes;
}
int mg_group_room(const mg_machine *m, int threads, int apart) {
  if (!apart) return mgi_launched_registers(m, threads) - MGI_GROUP_BESIDE;
  const int launched = mgi_launched_registers(m, threads + MG_APART),
            takes = mg_group_takes(m, threads, MG_REGISTERS_MOST);
  return (takes > launched ? takes : launched) - (takes > launched ? MGI_APART_BESIDE : MGI_GROUP_BESIDE);
}

/* Whether warpgroups can make all products, on these warps, and none of them through shared memory. */
MGI_FN int mgi_warpgroups_fit(const mg_flat *k, const mg_machine *machine, const mg_kernel_plan *p) {
  const int threads = 32 * p->warps_m * p->warps_n;
  int products = 0;
  mg_chains c;
  if (p->warps_m % 4 || p->warps_k != 1 || threads > 512) return 0;
  mg_flat_chains(k, p, &c);
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL) continue;
    products++;
    if (mgi_rows_of(o) != 16 * p->warps_m || *mg_flat_group_why(k, p, &c, i)) return 0;
    if (mg_flat_has_product(k, o->in[0]) && (!c.from[i] || o->trips != k->op[o->in[0]].trips)) return 0;
    const mg_flat_op *r = &k->op[o->in[1]]; /* what the search has no layout for */
    if (!mg_flat_brings(r) || (r->esize != 2 && !r->split) || r->rank < 2 ||
        (r->inner != r->rank - 1 && r->inner != mgi_rows_in(r)))
      return 0;
  }
  return products && mg_flat_group_registers(k, p, &c) <= mg_group_room(machine, threads, 0);
}

/* ---- rings of warps, and of warpgroups
   The tiles that a loop loads go round in the stages of a ring.  As a rule the block's warps fill it together, and wait
   for each other at every step.  Where no warp reads what another one brought they need not:

       own       warps split the contraction alone: each has a ring of its own, for its part of every chunk
       parts     each warp, or warpgroup, reads columns of its own of a first product's right operand, and so rows of
                 its own of the right operand of the one that is chained to it; it brings these into its part of the
                 block's ring

       S = matmul(q, k);  P = exp(S);  O = accum(matmul(P, v))          parts: k by columns, v by rows

   Each loop is looked at by itself; it stands in no other loop, and none in it. */

MGI_FN int mgi_in_loop(const mg_flat_op *o, int loop) { return o->inloop && o->loop == loop; }
/* 1 if SUM, MAX o joins columns. */
MGI_FN int mgi_joins_cols(const mg_flat *k, const mg_flat_op *o) {
  return (o->code == MG_OP_SUM || o->code == MG_OP_MAX) && o->along == k->op[o->in[0]].rank - 1;
}
int mg_flat_in_place(const mg_flat *k, int i) {
  const mg_flat_op *o = &k->op[i];
  const int by = mgi_joins_one(k, o) ? -1 : mg_flat_only_reader(k, i);
  if (by < 0) return 0;
  const int product = o->code == MG_OP_MATMUL || o->code == MG_OP_SUM;
  const int joins = (product && k->op[by].sums) || (o->code == MG_OP_MAX && k->op[by].maxima);
  return joins ? by + 1 : 0;
}
/* 1 if no loop is around it or in it, and what leaves it is joined where it is made. */
MGI_FN int mgi_loop_alone(const mg_flat *k, int loop) {
  if (k->nests >> loop & 1) return 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_ACCUM || mgi_in_loop(o, loop) || !mgi_in_loop(&k->op[o->in[0]], loop)) continue;
    if (!mg_flat_in_place(k, o->in[0])) return 0;
  }
  return 1;
}

/* The dimension of its columns, or rows. */
MGI_FN int mgi_cut_in(const mg_flat_op *o, int how) { return how == MG_CUT_COLS ? o->rank - 1 : mgi_rows_in(o); }
/* What of its operand a move makes its columns, or rows, of. */
MGI_FN int mgi_cut_through(const mg_flat_op *o, int how) {
  if (!o->turns) return how;
  return how == MG_CUT_COLS ? MG_CUT_ROWS : MG_CUT_COLS;
}
/* Cuts value i along `how` among the warps, and what it is made of.  0 if that cannot be: for each of them a whole
   number of steps of 16 is needed, and a load whose chunk of the loop lies along it. */
MGI_FN int mgi_cut_own(const mg_flat *k, int warps, int loop, int i, int how, int8_t *cut) {
  const mg_flat_op *o = &k->op[i];
  const int64_t extent = how == MG_CUT_COLS ? mgi_cols_of(o) : mgi_rows_of(o);
  if (!mgi_in_loop(o, loop)) return 0;
  if (cut[i]) return cut[i] == how;
  if (extent % (16 * warps)) return 0;
  if (o->code == MG_OP_LOAD) {
    if (o->chunk != 1 + mgi_cut_in(o, how)) return 0;
  } else if (o->turns) {
    if (!mgi_cut_own(k, warps, loop, o->in[0], mgi_cut_through(o, how), cut)) return 0;
  } else if (mgi_elementwise(o)) {
    for (int j = 0; j < mgi_reads(o); j++) {
      const mg_flat_op *x = &k->op[o->in[j]];
      const int64_t all = how == MG_CUT_COLS ? mgi_cols_of(x) : mgi_rows_of(x);
      if (all == 1 || !mgi_cut_own(k, warps, loop, o->in[j], how, cut)) return 0;
    }
  } else return 0;
  cut[i] = (int8_t)how;
  return 1;
}
MGI_FN int mgi_own_ring(const mg_flat *k, int warps, int loop, int8_t *cut) {
  int loads = 0;
  if (!mgi_loop_alone(k, loop)) return 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (!mgi_in_loop(o, loop)) continue;
    loads += mg_flat_brings(o);
    if (o->code == MG_OP_ACCUM) return 0;
    if (o->code == MG_OP_MATMUL) { /* pairs of a left and a right operand */
      if (!mg_flat_in_place(k, i)) return 0;
      for (int j = 0; j < mgi_reads(o); j++)
        if (!k->op[o->in[j]].narrow || !mgi_cut_own(k, warps, loop, o->in[j], j % 2 ? MG_CUT_ROWS : MG_CUT_COLS, cut))
          return 0;
    }
    if (o->code != MG_OP_SUM && o->code != MG_OP_MAX) continue;
    if (!mg_flat_in_place(k, i) || !mgi_joins_cols(k, o)) return 0;
    if (!mgi_cut_own(k, warps, loop, o->in[0], MG_CUT_COLS, cut)) return 0;
  }
  for (int i = 0; i < k->n; i++)
    if (k->op[i].code == MG_OP_LOAD && mgi_in_loop(&k->op[i], loop) && !cut[i]) return 0;
  return loads > 0;
}

MGI_FN int mgi_squares(const mg_flat_op *o) {
  return o->code == MG_OP_SQR || (o->code == MG_OP_MUL && o->n_in == 2 && o->in[0] == o->in[1]);
}
/* 1 if all that reads value i multiplies by it from the right, or, with `squares`, sums its squares. */
MGI_FN int mgi_right_only(const mg_flat *k, int i, int squares) {
  for (int q = i + 1; q < k->n; q++)
    for (int j = 0; j < mgi_reads(&k->op[q]); j++) {
      const mg_flat_op *o = &k->op[q];
      if (o->in[j] != i) continue;
      if (o->turns || o->stays) {
        if (!mgi_right_only(k, q, squares)) return 0;
        continue;
      }
      if (!squares || !mgi_squares(o)) {
        if (o->code != MG_OP_MATMUL || o->joined || j != 1) return 0;
        continue;
      }
      for (int x = q + 1; x < k->n; x++)
        for (int y = 0; y < mgi_reads(&k->op[x]); y++)
          if (k->op[x].in[y] == q && k->op[x].code != MG_OP_SUM) return 0;
    }
  return 1;
}
/* 1 if value i is a sum of squares that each warpgroup makes of the part of a load that it brings. */
MGI_FN int mgi_part_squares(const mg_flat *k, const mg_chains *c, int i, const int8_t *cut) {
  const mg_flat_op *o = &k->op[i], *of = &k->op[o->in[0]];
  int turned = 0, x;
  if (o->code != MG_OP_SUM || mg_flat_in_place(k, i) || c->from[i] || mgi_joins_one(k, o) || !mgi_squares(of)) return 0;
  for (x = of->in[0]; mgi_renames(&k->op[x]); x = k->op[x].in[0]) turned ^= k->op[x].turns;
  const mg_flat_op *l = &k->op[x];
  if (!mg_flat_brings(l) || l->loop != o->loop) return 0;
  /* the load's dimension that is not joined */
  const int kept = mgi_joins_cols(k, o) ^ turned ? MG_CUT_ROWS : MG_CUT_COLS;
  return cut[x] == kept && (kept == MG_CUT_COLS ? mgi_cols_of(l) : mgi_rows_of(l)) % 16 == 0;
}
/* What is looked for in a value: up to values that `placed` says have a place of their own by now; of one only, in its
   loop. */
typedef struct mgi_sought { const uint8_t *placed; int only; } mgi_sought;
MGI_FN int mgi_computed_here(const mg_flat *k, int i, const mgi_sought *s) {
  return mgi_elementwise(&k->op[i]) && !(s->placed && s->placed[i]);
}
MGI_FN int mgi_look_other(const mg_flat *k, int i, void *what) {
  const mgi_sought *s = (const mgi_sought *)what;
  if (i == s->only) return 0;
  return k->op[i].loop != k->op[s->only].loop || !mgi_computed_here(k, i, s) ? 1 : -1;
}
MGI_FN int mgi_look_dear(const mg_flat *k, int i, void *what) {
  if (!mgi_computed_here(k, i, (const mgi_sought *)what)) return 0;
  return mg_op_cost(k->op[i].code) != MG_CLASS_PLAIN ? 1 : -1;
}
int mg_flat_dear(const mg_flat *k, int i, const uint8_t *placed) {
  mgi_sought s = { placed, -1 };
  return mg_flat_finds(k, i, mgi_look_dear, &s);
}
int mg_flat_only_of(const mg_flat *k, int i, int x, const uint8_t *placed) {
  mgi_sought s = { placed, x };
  return !mg_flat_finds(k, i, mgi_look_other, &s);
}
int mg_flat_vector(const mg_flat *k, int threads, int strip, int i, const uint8_t *placed) {
  const mg_flat_op *v = &k->op[i];
  int larger = 0, divides = 1;
  if (!mg_flat_dear(k, i, placed)) return 0;
  for (int q = i + 1; q < k->n; q++)
    for (int j = 0; j < mgi_reads(&k->op[q]); j++) {
      const mg_flat_op *o = &k->op[q];
      if (o->in[j] != i) continue;
      const int many = mgi_elementwise(o) && mgi_rows_of(o) * mgi_cols_of(o) >= 8 * (int64_t)threads;
      if (!many || (mgi_rows_of(o) <= mgi_rows_of(v) && mgi_cols_of(o) <= mgi_cols_of(v))) return 0;
      if (strip && !mgi_same_matrix(o, &k->op[strip - 1])) return 0; /* it is found by the strip's elements */
      larger = 1;
      divides &= o->code == MG_OP_DIV && j == 1 && o->in[0] != i;
    }
  return larger ? 1 + divides : 0;
}

/* Cuts the load that product i reads as its right operand.  0 if its parts are not whole, or another product's are
   others. */
MGI_FN int mgi_cut_right(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i, int8_t *cut) {
  const mg_flat_op *o = &k->op[i], *right = &k->op[o->in[1]];
  int how = c->from[i] ? MG_CUT_ROWS : MG_CUT_COLS, x;
  const int64_t extent = how == MG_CUT_COLS ? mgi_cols_of(right) : mgi_rows_of(right);
  if (extent % (16 * p->warps_n)) return 0;
  for (x = o->in[1]; mgi_renames(&k->op[x]); x = k->op[x].in[0]) how = mgi_cut_through(&k->op[x], how);
  if (!mg_flat_brings(&k->op[x]) || !mgi_in_loop(&k->op[x], o->loop) || (cut[x] && cut[x] != how)) return 0;
  cut[x] = (int8_t)how;
  const int neighbours = k->op[x].down ? MG_CUT_ROWS : MG_CUT_COLS;
  return !p->group || how != neighbours || extent / p->warps_n % 64 == 0; /* whole panels */
}
/* 1 if product i goes with such a ring: the first of a chain, of nothing of the loop on its left, or one that is
   chained. */
MGI_FN int mgi_parts_product(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i) {
  const mg_flat_op *o = &k->op[i];
  int first = c->over[i] != 0;
  if (p->group && *mg_flat_group_why(k, p, c, i)) return 0;
  if (!k->op[o->in[0]].narrow || !k->op[o->in[1]].narrow) return 0;
  if (c->from[i]) return mg_flat_in_place(k, i);
  for (int t = 0; t < k->n; t++) first |= c->over[t] == i + 1;
  return first && !mgi_in_loop(&k->op[o->in[0]], o->loop);
}
/* 1 if value i may stand in such a loop: a row sum of the chain, what is computed where it is read, or, of warpgroups,
   which have barriers of their own, a sum of squares of a load and vectors made of that. */
MGI_FN int mgi_parts_value(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int i, const int8_t *cut) {
  const mg_flat_op *o = &k->op[i];
  if (o->code == MG_OP_SUM) {
    const int of_chain = c->from[i] && mg_flat_in_place(k, i);
    return of_chain || (p->group && mgi_part_squares(k, c, i, cut));
  }
  if (!mgi_elementwise(o)) return o->turns;
  if ((mgi_rows_of(o) != 1 && mgi_cols_of(o) != 1) || !mg_flat_dear(k, i, NULL)) return 1;
  for (int x = 0; x < i && p->group; x++) { /* it may become a vector in shared memory */
    if (k->op[x].loop != o->loop || !mgi_part_squares(k, c, x, cut)) continue;
    if (mg_flat_only_of(k, i, x, NULL)) return 1;
  }
  return 0;
}
MGI_FN int mgi_parts_ring(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, int loop, int8_t *cut) {
  int loads = 0;
  if (!mgi_loop_alone(k, loop)) return 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (!mgi_in_loop(o, loop)) continue;
    loads += mg_flat_brings(o);
    if (mg_flat_brings(o) && !mgi_right_only(k, i, p->group)) return 0;
    if (o->code == MG_OP_MATMUL && (o->joined || !mgi_parts_product(k, p, c, i) || !mgi_cut_right(k, p, c, i, cut)))
      return 0;
  }
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (mgi_in_loop(o, loop) && o->code != MG_OP_LOAD && o->code != MG_OP_MATMUL && !mgi_parts_value(k, p, c, i, cut))
      return 0;
  }
  return loads > 0;
}

/* ---- parts taken on
   (sum over warps of p) b = sum over warps of (p b): a product behind an own ring, of one of its products, is taken of
   every warp's part, in its fragments; and a sum of it and of another product of the ring is one of parts:

       p = accum(matmul(x, a));  q = accum(matmul(x, w));  s = add(q, matmul(p, b))        acc_q += acc_p b: no
       barrier */

/* The product of an own ring that accumulator a joins over its loop alone, one operator reading it; -1: it is none. */
MGI_FN int mgi_ring_product(const mg_flat *k, const mg_rings *r, int a) {
  const mg_flat_op *o = &k->op[a];
  if (o->code != MG_OP_ACCUM || o->across || k->op[o->in[0]].code != MG_OP_MATMUL) return -1;
  if (!mg_flat_in_place(k, o->in[0])) return -1;
  if (!(r->own >> k->op[o->in[0]].loop & 1)) return -1;
  return mg_flat_only_reader(k, a) >= 0 ? o->in[0] : -1;
}
MGI_FN void mgi_take_parts(const mg_flat *k, const mg_chains *c, mg_rings *r) {
  uint8_t kept[MG_FLAT_OPS] = { 0 };
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL || o->joined || o->inloop || c->from[i]) continue;
    const int p = mgi_ring_product(k, r, o->in[0]);
    if (p < 0 || kept[p] || !k->op[o->in[0]].narrow || !k->op[o->in[1]].narrow || mgi_cols_of(&k->op[p]) % 16) continue;
    r->taken[i] = (int16_t)(p + 1);
    kept[p] = 1;
    const int add = mg_flat_only_reader(k, i);
    if (add < 0 || k->op[add].code != MG_OP_ADD || k->op[add].inloop) continue;
    const int q = mgi_ring_product(k, r, k->op[add].in[k->op[add].in[0] == i]);
    if (q < 0 || kept[q] || c->from[q] || k->op[q].loop != k->op[p].loop || !mgi_same_matrix(&k->op[q], o)) continue;
    r->into[i] = (int16_t)(q + 1);
    kept[q] = 1;
  }
}

void mg_flat_rings(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, mg_rings *r) {
  uint32_t seen = 0;
  memset(r, 0, sizeof *r);
  if (p->group ? p->warps_m != 4 || p->warps_n < 2 : p->warps_m != 1 || (p->warps_n != 1 && p->warps_k != 1)) return;
  for (int i = 0; i < k->n; i++) {
    int8_t cut[MG_FLAT_OPS] = { 0 };
    const int loop = k->op[i].loop;
    if (!k->op[i].inloop || seen >> loop & 1) continue;
    seen |= (uint32_t)1 << loop;
    const int own = p->warps_n == 1 && mgi_own_ring(k, p->warps_k, loop, cut);
    if (!own && (p->warps_n == 1 || !mgi_parts_ring(k, p, c, loop, cut))) continue;
    *(own ? &r->own : &r->parts) |= (uint32_t)1 << loop;
    for (int j = 0; j < k->n; j++) if (cut[j]) r->cut[j] = cut[j];
  }
  if (p->warps_k > 1) mgi_take_parts(k, c, r);
}
MGI_FN void mgi_rings_of(const mg_flat *k, const mg_kernel_plan *p, mg_rings *r) {
  mg_chains c;
  mg_flat_chains(k, p, &c);
  mg_flat_rings(k, p, &c, r);
}
/* 1 if all warps that split the contraction of all loops have rings of their own. */
MGI_FN int mgi_all_own(const mg_flat *k, const mg_kernel_plan *p, mg_rings *r) {
  if (p->warps_k == 1 || p->warps_n != 1 || p->warps_m != 1) return 0;
  mgi_rings_of(k, p, r);
  for (int i = 0; i < k->n; i++)
    if (k->op[i].inloop && !(r->own >> k->op[i].loop & 1)) return 0;
  return r->own != 0;
}
/* 1 if all that loops load has 16 bits in memory: own rings of others have not been timed. */
MGI_FN int mgi_loads_narrow(const mg_flat *k) {
  for (int i = 0; i < k->n; i++)
    if (mg_flat_brings(&k->op[i]) && k->op[i].inloop && k->op[i].esize != 2) return 0;
  return 1;
}
/* 1 if the block's warps or warpgroups bring parts in all loops; of warpgroups, only loops with exponentials have been
   timed so. */
MGI_FN int mgi_all_parts(const mg_flat *k, const mg_kernel_plan *p, mg_rings *r) {
  int powers = 0;
  if (k->iters < 2 || p->warps_k != 1 || p->warps_n == 1) return 0;
  mgi_rings_of(k, p, r);
  for (int i = 0; i < k->n; i++) {
    if (k->op[i].inloop && !(r->parts >> k->op[i].loop & 1)) return 0;
    powers |= k->op[i].inloop && k->op[i].code == MG_OP_EXP;
  }
  return r->parts != 0 && (powers || !p->group);
}
/* Bytes of one stage of `warps` own rings: the loads have 16 bits. */
MGI_FN int64_t mgi_own_ring_bytes(const mg_flat *k, int warps, const mg_rings *r) {
  int64_t bytes = 0;
  for (int i = 0; i < k->n; i++) {
    if (!mg_flat_brings(&k->op[i]) || !k->op[i].inloop) continue;
    mg_flat_op part = k->op[i];
    part.d[mgi_cut_in(&part, r->cut[i])] /= warps;
    bytes += mg_round_up(mgi_tile_bytes(&part, 0), 128) * warps;
  }
  return bytes;
}

/* ---- left operands of rings of warps
   There a load times a row, both as they lie, is a left operand that is multiplied in its fragments; and a wide product
   of it, of at most 16 rows, keeps it in f16 by running powers of two of its rows, where its parts are added up behind
   the loop. */

/* 1 if MUL i's operand j is a row, of a load, that its operand `of` is as wide as: elements of a tensor that is of i's
   shape. */
MGI_FN int mgi_times_row(const mg_flat *k, int i, int of, int j) {
  const mg_flat_op *o = &k->op[i], *x = &k->op[of], *row = &k->op[j];
  const int load = mg_flat_tile_read(k, of, NULL);
  if (load < 0 || k->op[load].esize != 2 || !mg_flat_brings(row) || row->esize != 2 || row->down) return 0;
  if (!o->narrow || !x->narrow || !row->narrow || mgi_rows_of(row) != 1) return 0;
  return mgi_same_matrix(o, x) && mgi_cols_of(row) == mgi_cols_of(o);
}
int mg_flat_scaled(const mg_flat *k, const mg_rings *r, int i, int *row) {
  const mg_flat_op *o = &k->op[i];
  if (o->code != MG_OP_MUL || !o->inloop || !(r->own >> o->loop & 1)) return -1;
  for (int j = 0; j < 2; j++)
    if (mgi_times_row(k, i, o->in[j], o->in[!j])) {
      *row = o->in[!j];
      return mg_flat_tile_read(k, o->in[j], NULL);
    }
  return -1;
}
int mg_flat_steady(const mg_flat *k, const mg_chains *c, const mg_rings *r, int i) {
  const mg_flat_op *o = &k->op[i];
  int row;
  if (o->code != MG_OP_MATMUL || o->joined || !o->wide || mgi_rows_of(o) > 16) return 0;
  if (!k->op[o->in[0]].half || !k->op[o->in[1]].half || !mg_flat_in_place(k, i) || c->from[i]) return 0;
  for (int q = 0; q < k->n; q++)
    if (r->taken[q] == i + 1 || r->into[q] == i + 1) return 0; /* it stays parts */
  return mg_flat_scaled(k, r, o->in[0], &row) >= 0;
}

/* ---- squares
   A sum of squares of a load's rows, or columns, is the diagonal of a product of it by itself, which tensor cores make:
   in an own ring each warp of its part; else in one go, of whole steps of 16, where that takes fewer instructions, or
   where warpgroups bring parts, as it asks for no barrier of the block. */

int mg_flat_contracts(const mg_flat *k, int load, int how) {
  if (k->op[load].code != MG_OP_LOAD) return 0;
  for (int q = load + 1; q < k->n; q++) {
    const mg_flat_op *o = &k->op[q];
    for (int j = 0; o->code == MG_OP_MATMUL && j < mgi_reads(o); j++) {
      int along = j % 2 ? MG_CUT_ROWS : MG_CUT_COLS, x = o->in[j];
      for (; mgi_renames(&k->op[x]); x = k->op[x].in[0]) along = mgi_cut_through(&k->op[x], along);
      if (x == load && along == how) return 1;
    }
  }
  return 0;
}
int mg_flat_squares(const mg_flat *k, const mg_kernel_plan *p, const mg_rings *r, int i) {
  const mg_flat_op *o = &k->op[i], *of = &k->op[o->in[0]];
  const int warps = mgi_plan_threads(p) / 32;
  if (o->code != MG_OP_SUM || mgi_joins_one(k, o) || !mgi_squares(of)) return -1;
  int turned;
  const int load = mg_flat_tile_read(k, of->in[0], &turned), in_place = mg_flat_in_place(k, i);
  if (load < 0 || !k->op[load].narrow || k->op[load].esize != 2) return -1;
  if (o->inloop && r->own >> o->loop & 1) return load == of->in[0] ? load : -1;
  if (in_place) return -1;
  const int by_row = mgi_joins_cols(k, o), cols = by_row ^ turned;
  const int64_t n = by_row ? mgi_rows_of(of) : mgi_cols_of(of), depth = by_row ? mgi_cols_of(of) : mgi_rows_of(of);
  if (depth % 16 && !mg_flat_contracts(k, load, cols ? MG_CUT_COLS : MG_CUT_ROWS)) return -1;
  if (p->group && o->inloop && r->parts >> o->loop & 1) return load;
  const int64_t steps = mg_ceil_div(mg_ceil_div(n, 16), warps) * mg_ceil_div(depth, 16);
  return 3 * steps <= n * depth / (32 * warps) ? load : -1;
}
/* 1 if value i is read, and by such sums alone. */
MGI_FN int mgi_only_squared(const mg_flat *k, const mg_kernel_plan *p, const mg_rings *r, int i) {
  int any = 0;
  for (int q = i + 1; q < k->n; q++)
    for (int j = 0; j < mgi_reads(&k->op[q]); j++) {
      if (k->op[q].in[j] != i) continue;
      if (mg_flat_squares(k, p, r, q) < 0) return 0;
      any = 1;
    }
  return any;
}

/* ---- tiles of loads
   A tile lies in one of the ways of MG_IN_WORDS (mirage_cuda.cuh, >>tiles, draws them): in the cheapest that no row of
   MGI_BANS bans.  Copies fill eight neighbouring pieces of 16 bytes together: a line of 128 bytes, or two where padded
   rows straddle lines.  Products read the pieces at one place of eight rows together: a line for each that share a
   bank. */

mg_tile_form mg_flat_tile(const mg_flat *k, const mg_kernel_plan *p, const mg_rings *r, int load) {
  const mg_flat_op *o = &k->op[load];
  const int own = o->inloop && r->own >> o->loop & 1;
  int64_t rows = mgi_rows_of(o), cols = mgi_cols_of(o);
  mg_tile_form t;
  if (own && r->cut[load] == MG_CUT_ROWS) rows /= p->warps_k;
  if (own && r->cut[load] == MG_CUT_COLS) cols /= p->warps_k;
  t.esize = o->split ? 2 : o->esize;
  const int piece = 16 / t.esize;
  t.rows = (int)mg_round_up(rows, mg_flat_contracts(k, load, MG_CUT_ROWS) ? 16 : o->down ? piece : 1);
  t.cols = (int)mg_round_up(cols, mg_flat_contracts(k, load, MG_CUT_COLS) ? 16 : o->down ? 1 : piece);
  t.lines = o->down ? t.cols : t.rows;
  t.pieces = (int)mg_ceil_div(o->down ? t.rows : t.cols, piece);
  t.across = mg_flat_across(k, load);
  return t;
}
int mg_tile_pitch(const mg_tile_form *t, int way) { return 16 * (way == MG_IN_PADDED ? t->pieces | 1 : t->pieces); }
int64_t mg_tile_bytes(const mg_tile_form *t, int way) {
  const int64_t bytes = (int64_t)t->lines * mg_tile_pitch(t, way);
  return way == MG_IN_TURNED ? mg_round_up(bytes, 128) : bytes; /* the pieces of whole lines are exchanged */
}
/* Where piece i of a line lies, in pieces: mg_tile::offset of mirage_cuda.cuh. */
MGI_FN int mgi_piece_at(const mg_tile_form *t, int way, int line, int i) {
  const int turn = MGI_TILE_TURN(t->pieces);
  switch (way) {
    case MG_IN_SWIZZLED: return line * t->pieces + (i ^ line / (8 / turn) % turn);
    case MG_IN_PADDED: return line * (t->pieces | 1) + i;
    case MG_IN_PANELS: return i / 8 * (t->lines * 8) + line * 8 + ((i ^ line) & 7);
    case MG_IN_TURNED: return (line * t->pieces + i) ^ line * t->esize / 16 % 8;
    default: return line * t->pieces + i;
  }
}
/* How many of the first pieces of eight lines, of fewer if there are not so many, share a bank. */
MGI_FN int mgi_conflicts(const mg_tile_form *t, int way) {
  int in[8] = { 0 }, most = 0;
  for (int line = 0; line < t->lines && line < 8; line++) {
    const int n = ++in[mgi_piece_at(t, way, line, 0) % 8];
    if (n > most) most = n;
  }
  return most;
}
int mg_tile_conflicts(const mg_tile_form *t, int way) {
  const int runs = (int)mg_ceil_div(t->lines, t->across), piece = 16 / t->esize;
  int in[32] = { 0 }, word[32][32], most = 0;
  for (int lane = 0; lane < 32; lane++) { /* as mg_each_run deals them out */
    const int line = lane % runs * t->across, i = lane / runs;
    if (i >= t->pieces * piece) break;
    const int at = mgi_piece_at(t, way, line, i / piece) * 4 + i % piece * t->esize / 4, bank = at % 32;
    int seen = 0;
    for (int j = 0; j < in[bank]; j++) seen |= word[bank][j] == at;
    if (!seen) word[bank][in[bank]++] = at;
    if (in[bank] > most) most = in[bank];
  }
  return most;
}
int64_t mg_tile_cost(const mg_tile_form *t, int way) {
  const int64_t pieces = (int64_t)t->lines * t->pieces;
  const int fill = way == MG_IN_PADDED && t->lines > 1 && t->pieces % 2 == 0 ? 2 : 1;
  if (!t->across) return pieces * (fill + mgi_conflicts(t, way));
  return pieces * fill + pieces * 16 / t->esize * mg_tile_conflicts(t, way) / 4; /* a line for 32 elements */
}

#define MGI_BANS(R) /* id, ways, what lifts it, why */                                                                 \
  R(GROUP, 1 << MG_IN_SWIZZLED | 1 << MG_IN_PADDED | 1 << MG_IN_DENSE, MG_FIRM,                                        \
    "a product of warpgroups reads it swizzled, in panels")                                                            \
  R(ALONE, 1 << MG_IN_PANELS, MG_FIRM,                                                                                 \
    "panels are for products of warpgroups, and start at multiples of 1024 bytes")                                     \
  R(BOXES, 1 << MG_IN_SWIZZLED | 1 << MG_IN_PADDED | 1 << MG_IN_DENSE, MG_FIRM,                                        \
    "tensor copies bring it by lines of 128 bytes")                                                                    \
  R(LINES, 1 << MG_IN_PADDED | 1 << MG_IN_DENSE, MG_FIRM, "tensor copies bring its rows swizzled")                     \
  R(ROW, 1 << MG_IN_SWIZZLED | 1 << MG_IN_PADDED, MG_FIRM, "tensor copies bring a single row as it comes")             \
  R(PARTS, 1 << MG_IN_SWIZZLED, MG_FIRM, "warps bring parts of its rows that are no whole lines of 128 bytes")         \
  R(RING, 1 << MG_IN_PADDED | 1 << MG_IN_DENSE, MG_UNLESS_PLANNED,                                                     \
    "rings of warps have been timed on a GPU with swizzled tiles only")                                                \
  R(VALUE, 1 << MG_IN_SWIZZLED, MG_UNLESS_PLANNED,                                                                     \
    "no product of 16-bit operands takes it as it is: what expressions read has not been timed so")                    \
  R(BLOCK, 1 << MG_IN_DENSE, MG_UNLESS_SHORT, "in rings of blocks dense rows have not been timed")                     \
  R(ALONG, 1 << MG_IN_TURNED, MG_FIRM, "it is for rows that threads copy and store as columns")
enum {
#define MGI_R(id, ways, until, why) MGI_BAN_##id,
  MGI_BANS(MGI_R)
#undef MGI_R
  MGI_BAN_COUNT
};
static const struct { uint8_t ways, until; const char *why; } mgi_bans[] = {
#define MGI_R(id, ways, until, why) { ways, until, why },
  MGI_BANS(MGI_R)
#undef MGI_R
};
/* The bans that hold for a load, as bits. */
MGI_FN uint32_t mgi_bans_of(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r,
                            int load) {
  const mg_flat_op *o = &k->op[load];
  const mg_tile_form t = mg_flat_tile(k, p, r, load);
  const int own = o->inloop && r->own >> o->loop & 1, copied = o->inloop && p->copies;
  const int along = o->down ? MG_CUT_ROWS : MG_CUT_COLS; /* neighbours in memory */
  const int contracted = mg_flat_contracts(k, load, MG_CUT_ROWS) || mg_flat_contracts(k, load, MG_CUT_COLS);
  uint32_t bans = 0;
  int panels = 0;
  for (int i = load + 1; i < k->n && !panels; i++)
    panels = mg_flat_by_group(k, p, c, i) && mg_flat_tile_read(k, k->op[i].in[1], NULL) == load;
  if (copied) bans |= 1u << (t.lines == 1 ? MGI_BAN_ROW : t.pieces % 8 ? MGI_BAN_LINES : MGI_BAN_BOXES);
  bans |= 1u << (panels ? MGI_BAN_GROUP : MGI_BAN_ALONE);
  if (bans >> MGI_BAN_BOXES & 1) bans &= ~(1u << MGI_BAN_ALONE);
  if (!own && r->cut[load] == along && (o->down ? mgi_rows_of(o) : mgi_cols_of(o)) / p->warps_n % 64)
    bans |= 1u << MGI_BAN_PARTS;
  if (own) bans |= 1u << MGI_BAN_RING;
  if (!own && !copied && (!o->narrow || !contracted)) bans |= 1u << MGI_BAN_VALUE;
  if (!own && !(bans >> MGI_BAN_ROW & 1)) bans |= 1u << MGI_BAN_BLOCK;
  if (!t.across || own || copied || contracted || r->cut[load] || t.pieces * 16 / t.esize % 8)
    bans |= 1u << MGI_BAN_ALONG;
  return bans;
}
uint8_t mg_flat_banned(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r, int load,
                       int until) {
  const uint32_t bans = mgi_bans_of(k, p, c, r, load);
  uint8_t ways = 0;
  for (int b = 0; b < MGI_BAN_COUNT; b++)
    if (bans >> b & 1 && mgi_bans[b].until >= until) ways |= mgi_bans[b].ways;
  return ways;
}
const char *mg_flat_ban_why(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r, int load,
                            int way) {
  const uint32_t bans = mgi_bans_of(k, p, c, r, load);
  for (int b = 0; b < MGI_BAN_COUNT; b++)
    if (bans >> b & 1 && mgi_bans[b].until == MG_FIRM && mgi_bans[b].ways >> way & 1) return mgi_bans[b].why;
  return NULL;
}
int mg_flat_way(const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c, const mg_rings *r, int load) {
  const mg_tile_form t = mg_flat_tile(k, p, r, load);
  const uint8_t banned = mg_flat_banned(k, p, c, r, load, MG_UNLESS_SHORT);
  int best = -1;
  for (int way = 0; way < MG_IN_COUNT; way++)
    if (!(banned >> way & 1) && (best < 0 || mg_tile_cost(&t, way) < mg_tile_cost(&t, best))) best = way;
  return best;
}

/* ---- pieces of shared memory
   What some take in bytes.  All are packed in >>memory, by the steps that the emitter notes. */

int mg_pitch(int64_t inner, int esize) {
  const int piece = 16 / esize;
  return (int)(mg_ceil_div(inner, piece) | 1) * piece;
}
int64_t mg_copy_bytes(int64_t rows, int64_t cols, int esize) {
  return mg_round_up(rows, 16) * mg_pitch(mg_round_up(cols, 16), esize) * esize;
}
int64_t mg_joined_bytes(int64_t rows, int64_t cols) { return rows * mg_pitch(cols, 4) * 4; }
int64_t mg_parts_bytes(int64_t rows, int64_t cols, int parts) { return parts * rows * (mg_round_up(cols, 8) + 8) * 4; }
int64_t mg_given_bytes(int64_t rows, int64_t cols, int64_t blocks, int owned) {
  const int unit = cols < 4 ? 1 : 4; /* elements that are handed over at once */
  if (owned) return (rows * mg_ceil_div(cols, unit) + blocks - 1) * unit * 4;
  return mg_round_up(cols == 1 ? rows * 4 : mg_joined_bytes(rows, cols), 128) * blocks;
}
int64_t mg_reduce_scratch(int64_t n, int threads, int neighbours) {
  int group = 8; /* threads that join one result: more than a warp's leave parts */
  if (!neighbours) return n < threads && threads / n > 1 ? threads / n * n : 0;
  while (group * 2 * n <= threads) group *= 2;
  return group > 32 ? n * (group / 32) : 0;
}

/* 1 if value i has no place of its own: it is computed where it is read. */
MGI_FN int mgi_is_inline(const mg_flat *k, int i) {
  const mg_flat_op *o = &k->op[i];
  if (o->code == MG_OP_ACCUM) return o->loop == k->op[o->in[0]].loop;
  return mgi_elementwise(o) || mg_op_moves(o->code) || mgi_joins_one(k, o);
}
int mg_flat_across(const mg_flat *k, int load) {
  const mg_flat_op *l = &k->op[load];
  const int64_t least = mgi_rows_of(l) < mgi_cols_of(l) ? mgi_rows_of(l) : mgi_cols_of(l);
  if (l->code != MG_OP_LOAD || l->made || l->split || least < 16 / l->esize) return 0;
  const int by = l->taken;
  if (by & MG_TAKEN_JOINED || !(by & (l->down ? MG_TAKEN_ALONG : MG_TAKEN_TURNED))) return 0;
  return l->inloop ? 4 : 16 / l->esize;
}
void mg_flat_takers(mg_flat *k) {
  uint8_t read[MG_FLAT_OPS] = { 0 }, stored[MG_FLAT_OPS] = { 0 }; /* how often, at most 8; by stores */
  int loops = 0;
  for (int i = 0; i < k->n; i++) {
    loops |= k->op[i].inloop;
    k->op[i].taken = 0;
  }
  for (int q = k->n - 1; q >= 0; q--) {
    mg_flat_op *o = &k->op[q];
    const int through = mgi_is_inline(k, q), store = o->code == MG_OP_STORE;
    const int site = store || o->code == MG_OP_SUM || o->code == MG_OP_MAX || (o->code == MG_OP_ACCUM && !through);
    const int reads = (o->code == MG_OP_MATMUL ? 2 : site) + (through ? read[q] : 0),
              stores = store + (through ? stored[q] : 0);
    const int alone = read[q] && read[q] <= (loops ? 1 : 2) && stored[q] == read[q];
    int by = o->taken;
    o->direct = mg_flat_brings(o) && alone && mg_flat_lets(o, MG_AT_DIRECT) && (o->inloop || !mg_flat_across(k, q));
    if (!through) by = store || o->code == MG_OP_ACCUM ? MG_TAKEN_ALONG : MG_TAKEN_JOINED;
    if (o->turns) by = (by & MG_TAKEN_JOINED) | (by & MG_TAKEN_ALONG) << 1 | (by & MG_TAKEN_TURNED) >> 1;
    for (int j = 0; j < mgi_reads(o); j++) {
      const int x = o->in[j];
      k->op[x].taken |= (int8_t)by;
      read[x] = (uint8_t)(read[x] + reads < 8 ? read[x] + reads : 8);
      stored[x] = (uint8_t)(stored[x] + stores < 8 ? stored[x] + stores : 8);
    }
  }
}
int mg_flat_beside(const mg_flat *k, int load) {
  const mg_flat_op *o = &k->op[load];
  int across = 0;
  for (int i = 0; i < k->n; i++) across |= !k->op[i].inloop && mg_flat_across(k, i);
  if (!across || !mg_flat_brings(o) || o->inloop || o->direct || o->down || o->weighted) return 0;
  return mgi_cols_of(o) > 1 && !mg_flat_across(k, load);
}
int mg_flat_read_in_stores(const mg_flat *k) {
  int loads = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_LOAD) continue;
    if (!o->direct && !mg_flat_beside(k, i) && (o->inloop || !mg_flat_across(k, i))) return 0;
    loads++;
  }
  return loads;
}

/* 1 if it is of 16 bits that tensor cores multiply, or a load of two numbers of these; not a load of f32 in its
   place. */
MGI_FN int mgi_in_16_bits(const mg_flat_op *o) {
  return o->narrow && (o->code != MG_OP_LOAD || o->split || o->esize == 2);
}
int mg_flat_by_tensors(const mg_flat *k, int a, int b) {
  return mgi_in_16_bits(&k->op[a]) && mgi_in_16_bits(&k->op[b]);
}
MGI_FN int mgi_look_costly(const mg_flat *k, int i, void *what) {
  const mg_flat_op *o = &k->op[i];
  (void)what;
  if (!mgi_is_inline(k, i)) return 0;
  if (mgi_renames(o) || o->code == MG_OP_ACCUM) return -1;
  return mg_op_moves(o->code) || mg_op_cost(o->code) != MG_CLASS_PLAIN ? 1 : -1;
}
int mg_flat_costly(const mg_flat *k, int i) { return mg_flat_finds(k, i, mgi_look_costly, NULL); }
/* The value that has to be computed where product operand i is read: i, or what i is, as it lies or turned. */
MGI_FN int mgi_operand_of(const mg_flat *k, int i) {
  while (mgi_renames(&k->op[i]) && mgi_is_inline(k, k->op[i].in[0])) i = k->op[i].in[0];
  return i;
}
/* 1 if a product, by tensor cores, would compute value i wherever it takes it, and that more than once. */
MGI_FN int mgi_taken_again(const mg_flat *k, const mg_kernel_plan *p, int i) {
  const int inloop = k->op[i].inloop;
  for (int q = i + 1; q < k->n; q++) {
    const mg_flat_op *o = &k->op[q];
    for (int j = 0; j < mgi_reads(o) && o->code == MG_OP_MATMUL && !o->wide; j++) {
      const int others = j % 2 ? p->warps_m : p->warps_n; /* warps that take it, too */
      if (mgi_operand_of(k, o->in[j]) != i || !mg_flat_by_tensors(k, o->in[j], o->in[j ^ 1])) continue;
      if (others > 1 || (o->inloop && !inloop)) return 1;
    }
  }
  return 0;
}
int mg_flat_once(const mg_flat *k, const mg_kernel_plan *p, int i) {
  const mg_flat_op *t = &k->op[i];
  if (!t->narrow || !mgi_is_inline(k, i) || mg_flat_tile_read(k, i, NULL) >= 0 || !mg_flat_lets(t, MG_AT_ONCE))
    return 0;
  if (!mgi_taken_again(k, p, i)) return 0;
  return !t->inloop || (!mg_flat_has_product(k, i) && mg_flat_costly(k, i));
}
/* Whether value i, read by products alone, is all that is made of load l: element by element, and each where it
   stands. */
MGI_FN int mgi_all_of(const mg_flat *k, int l, int i) {
  uint8_t of[MG_FLAT_OPS] = { 0 };
  int made = 0;
  of[l] = 1;
  for (int q = l + 1; q < k->n; q++) {
    const mg_flat_op *o = &k->op[q];
    int reads = 0, product = 0;
    for (int j = 0; j < mgi_reads(o); j++) {
      reads |= of[o->in[j]];
      product |= o->in[j] == i;
    }
    if (product && o->code != MG_OP_MATMUL) return 0;
    if (!reads) continue;
    if (!mgi_elementwise(o) || !mgi_same_matrix(o, &k->op[l])) return 0;
    of[q] = q != i;
    made |= q == i;
  }
  return made;
}
int mg_flat_over(const mg_flat *k, const mg_kernel_plan *p, int i) {
  const mg_flat_op *t = &k->op[i];
  if (!p->copies || !t->narrow || t->inloop || mgi_rows_of(t) % 16 || mgi_cols_of(t) % 16) return -1;
  for (int l = 0; l < i; l++) {
    const mg_flat_op *o = &k->op[l];
    if (!mg_flat_brings(o) || o->inloop || o->direct || o->down || o->split || o->weighted || o->esize != 2) continue;
    if (mgi_same_matrix(o, t) && mgi_all_of(k, l, i)) return l;
  }
  return -1;
}
/* Rows that are as long as whole passes of the threads, or of which a pass has several; nothing else is thrown into
   registers. */
MGI_FN int mgi_in_passes(int64_t rows, int64_t pieces, int threads) {
  if (pieces >= threads) return pieces % threads == 0;
  return threads % pieces == 0 && (pieces & (pieces - 1)) == 0 && rows % (threads / pieces) == 0;
}
int mg_flat_strip(const mg_flat *k, int threads) {
  int first = 0, joins = 0;
  int64_t bytes = 0;
  if (threads & (threads - 1) || k->receives) return 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i], *f = first ? &k->op[first - 1] : NULL;
    if (o->inloop || o->made) return 0;
    if (o->code == MG_OP_STORE) continue;
    if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) {
      const mg_flat_op *x = &k->op[o->in[0]];
      if (!f || o->along != x->rank - 1 || !mgi_same_matrix(x, f)) return 0;
      joins++;
    } else if (o->code == MG_OP_LOAD) {
      const int64_t rows = mgi_rows_of(o), cols = mgi_cols_of(o);
      if (cols == 1 || (rows == 1 && f && mgi_rows_of(f) != 1)) continue; /* a vector */
      if (!o->runs || o->ragged || cols * o->esize % 16 || !mg_flat_lets(o, MG_AT_STRIP)) return 0;
      if (!mgi_in_passes(rows, cols * o->esize / 16, threads)) return 0;
      if (f && (!mgi_same_matrix(o, f) || f->esize != o->esize)) return 0;
      if (!f) first = i + 1;
      bytes += rows * cols * o->esize;
    } else if (!mgi_elementwise(o)) return 0;
  }
  return joins && bytes <= (int64_t)256 * threads ? first : 0; /* 64 registers a thread */
}
/* Registers of a thread that keeps all loads of these rows, and what mg_flat_kept keeps, about: BESIDE them, and for
   the places of SEVERAL rows. */
MGI_FN int mgi_strip_registers(const mg_flat *k, int strip, int threads) {
  enum { BESIDE = 24, SEVERAL = 24 };
  const mg_flat_op *rows = &k->op[strip - 1];
  uint8_t kept[MG_FLAT_OPS];
  int64_t bytes = 0;
  mg_flat_kept(k, threads, strip, kept);
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code == MG_OP_LOAD && mgi_same_matrix(o, rows)) bytes += mg_flat_elements(o) * o->esize;
    if (kept[i]) bytes += mg_flat_elements(o) * 4;
  }
  const int64_t own = BESIDE + mg_ceil_div(bytes, (int64_t)4 * threads);
  return (int)mg_round_up(mgi_rows_of(rows) > 1 ? own + SEVERAL : own, 8);
}
void mg_flat_kept(const mg_flat *k, int threads, int strip, uint8_t kept[MG_FLAT_OPS]) {
  /* ROOM: bytes of a thread's registers, where a block has at most MANY threads */
  enum { SITES = 64, ROOM = 192, ROOM_OF_MANY = 96, MANY = 512 };
  uint64_t at[MG_FLAT_OPS] = { 0 }; /* the steps that take a value, as bits */
  const int64_t room = (int64_t)threads * (threads <= MANY ? ROOM : ROOM_OF_MANY);
  int64_t bytes = 0;
  int sites = 0;
  memset(kept, 0, MG_FLAT_OPS);
  if (!strip) return;
  const mg_flat_op *rows = &k->op[strip - 1];
  for (int q = 0; q < k->n; q++)
    if (k->op[q].code == MG_OP_LOAD && mgi_same_matrix(&k->op[q], rows))
      bytes += mg_flat_elements(&k->op[q]) * k->op[q].esize;
  for (int q = k->n - 1; q >= 0; q--) {
    const mg_flat_op *o = &k->op[q];
    const uint64_t own = (uint64_t)1 << sites % SITES;
    const int alike = mgi_elementwise(o) && mgi_same_matrix(o, rows), shared = (at[q] & (at[q] - 1)) != 0;
    kept[q] = alike && shared && mg_op_cost(o->code) != MG_CLASS_PLAIN && mg_flat_lets(o, MG_AT_KEPT) &&
              bytes + 4 * mg_flat_elements(o) <= room;
    if (kept[q]) bytes += 4 * mg_flat_elements(o);
    const uint64_t by = alike && !kept[q] ? at[q] : own;
    sites += by == own;
    for (int j = 0; j < mgi_reads(o); j++) at[o->in[j]] |= by;
  }
}
int mg_flat_shares(const mg_flat *k, int64_t *rows, int64_t *cols) {
  uint8_t late[MG_FLAT_OPS];
  mg_flat_late(k, late);
  *rows = *cols = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    const int store = o->code == MG_OP_STORE;
    if (!late[i] && store) return 0; /* the order of the phases is another one there */
    if (!late[i]) continue;
    if (o->inloop || !(store || o->code == MG_OP_LOAD || mgi_elementwise(o))) return 0;
    if (store && *rows && (mgi_rows_of(o) != *rows || mgi_cols_of(o) != *cols)) return 0;
    if (store) *rows = mgi_rows_of(o), *cols = mgi_cols_of(o);
    for (int j = 0; j < mgi_reads(o); j++) {
      const int x = o->in[j];
      if (!k->op[x].across && !late[x] && k->op[x].code != MG_OP_LOAD) return 0;
    }
  }
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (!o->across) continue;
    if ((mgi_rows_of(o) != *rows && mgi_rows_of(o) != 1) || (mgi_cols_of(o) != *cols && mgi_cols_of(o) != 1)) return 0;
  }
  return *rows > 0;
}

/* --------------------------------------------------------------------------------------------------- >>plans

   How many warps, how they share the products, how many stages: by rules, from the block's extents.  The rules were
   made on an H200; each says what it is for.

   1. Warps.  Few rows: warps split the contraction, each with a ring of its own where the loop allows it; else they
      share the columns.  More rows: warps of 16 rows first, then of columns.
   2. A product whose left operand another one made wants that in fragments: no warps split a contraction then.
   3. Stages: four, or as many as the loop has; fewer where the ring, with all else, does not fit the block's shared
      memory, or where one more block would fit the multiprocessor.
   4. Warpgroups (mma=warpgroup): one for 64 rows, or two; what mgi_warpgroups_fit allows.
   5. Their products under way while the next step begins, copied by the block or by a warp beside it, where two of them
      have 128 rows: with as many stages as fit, or three.  That is what was measured; a plan may ask for it elsewhere
      too.
   6. There, too, a product of fragments is late (chain=late), in three stages; a warp beside copies where a loop has
      more steps than it takes to make up for its
      start.                                                                            */

/* What a block's tiles take, and the product that decides how warps are shared out. */
typedef struct mgi_tiles {
  int64_t ring, once;      /* bytes: of one stage of the loop's loads; of what else stands in shared memory */
  int64_t accumulators;    /* elements of all products */
  int64_t m, n, c, work;   /* the deciding product's rows, columns and contraction, padded, and m n c; 0: there is
                              none */
  int parted;              /* warps may split the contraction: no product takes another's fragments */
} mgi_tiles;

/* Bytes of a product's result as the operand of another: in shared memory, narrowed. */
MGI_FN int64_t mgi_made_bytes(const mg_flat_op *a) {
  return mg_round_up(mgi_rows_of(a), 16) * (mg_round_up(mgi_cols_of(a), 8) * 2 + 16);
}

/* 1, and its size in `of`: product o goes before those that were asked about before it.  The one of most work; of two
   of the same work one whose operands no product made, then the wider: the order of independent operators does not
   matter. */
MGI_FN int mgi_product_decides(const mg_flat *k, const mg_flat_op *o, int64_t *of) {
  int64_t m, n, c, b;
  int at = 0;
  mg_flat_product(k, o, &m, &n, &c, &b);
  if (m * n * c < of[0]) return 0;
  const int first = !mg_flat_has_product(k, o->in[0]) && !mg_flat_has_product(k, o->in[1]);
  const int64_t size[5] = { m * n * c, first, mg_round_up(n, 8), mg_round_up(m, 16), c };
  while (at < 4 && size[at] == of[at]) at++;
  if (size[at] <= of[at]) return 0;
  memcpy(of, size, sizeof size);
  return 1;
}

MGI_FN mgi_tiles mgi_tiles_of(const mg_flat *k) {
  mgi_tiles t;
  int64_t size[5] = { 0 };
  memset(&t, 0, sizeof t);
  t.parted = k->iters > 1;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (mg_flat_brings(o)) *(o->inloop ? &t.ring : &t.once) += mgi_tile_bytes(o, 16);
    if (o->code == MG_OP_ACCUM) {
      const mg_flat_op *a = &k->op[o->in[0]];
      const int joined = a->rank == o->rank && mg_flat_elements(o) > mg_flat_elements(a);
      if (joined) t.once += mg_flat_elements(o) * 4;
    }
    if (o->code != MG_OP_MATMUL) continue;
    int64_t m, n, c, b;
    mg_flat_product(k, o, &m, &n, &c, &b);
    t.accumulators += mg_round_up(m, 16) * mg_round_up(n, 8);
    t.parted &= !mg_flat_has_product(k, o->in[0]) || mg_round_up(c, 16) % 32;
    if (mgi_product_decides(k, o, size)) t.work = size[0], t.n = size[2], t.m = size[3], t.c = size[4];
    for (int j = 0; j < 2; j++)
      if (mg_flat_has_product(k, o->in[j])) t.once += mgi_made_bytes(&k->op[o->in[j]]);
  }
  return t;
}

/* Warps of a block without a product. */
MGI_FN int mgi_warps_of_elements(const mg_flat *k, const mg_machine *m) {
  int64_t most = 1, units = 0; /* bytes of the largest load; units: of four elements that are stored */
  int joins = k->iters > 1, warps = 4;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code == MG_OP_LOAD && mg_flat_elements(o) * o->esize > most) most = mg_flat_elements(o) * o->esize;
    if (o->code == MG_OP_STORE) units += mg_ceil_div(mg_flat_elements(o), 4);
    joins |= o->code == MG_OP_SUM || o->code == MG_OP_MAX;
  }
  while (warps < 16 && warps * 32 * 32 <= most) warps *= 2; /* 16 bytes a thread */
  /* Of rows in registers, half the threads each, of long ones where a multiprocessor works off many blocks: they wait
     less at a barrier, and hide each other's.  H200, cold: logarithms of sums of 128 rows of 8 KB 2.61 us (512 threads:
     2.80), softmax of 64 rows of 16 KB 3.12 (3.32), norms of 512 rows of 8 KB 3.52 (4.25), of 1024 5.19 (6.19). */
  const int64_t least = most <= (int64_t)64 * 16 * warps ? 0 : 4 * m->sms; /* 64 bytes a thread, of half of them */
  if (warps > 4 && k->blocks > least && mg_flat_strip(k, warps * 16)) warps /= 2;
  while (!joins && warps > 1 && warps * 16 >= units) warps /= 2; /* a thread has enough to store */
  return warps;
}

/* Of products of at most 16 rows. */
MGI_FN void mgi_warps_of_few_rows(const mg_flat *k, const mgi_tiles *t, mg_kernel_plan *p) {
  const int64_t deep = mg_round_up(t->c, 16), least = k->iters > 1 ? 64 : 32; /* of the contraction, for two warps */
  const int64_t wide = k->iters > 1 ? 128 : 64;
  mg_rings r;
  while (t->n / p->warps_n > wide && p->warps_n < 8 && t->n / 8 % (p->warps_n * 2) == 0) p->warps_n *= 2;
  /* each wants a line of the left operand's rows: 64 values */
  if (t->parted && p->warps_n == 1 && t->accumulators <= 4096 && k->group < 2) {
    while (p->warps_k < 8 && deep % (128 * p->warps_k) == 0) p->warps_k *= 2;
    while (p->warps_k < 4 && deep % (32 * p->warps_k) == 0 && (p->warps_k == 1 || t->c >= 128 * p->warps_k))
      p->warps_k *= 2;
    if (p->warps_k > 1 && !(mgi_loads_narrow(k) && mgi_all_own(k, p, &r))) p->warps_k = 1;
  }
  if (p->warps_k > 1) return;
  while (p->warps_n * p->warps_k < 8 && deep % (least * p->warps_k) == 0) p->warps_k *= 2;
  while (p->warps_n * p->warps_k < 4 && deep % (32 * p->warps_k) == 0) p->warps_k *= 2;
  while (p->warps_n * p->warps_k < 4 && t->n / 8 % (p->warps_n * 2) == 0) p->warps_n *= 2;
}

/* Of products of more. */
MGI_FN void mgi_warps_of_rows(const mgi_tiles *t, mg_kernel_plan *p) {
  while (p->warps_m < 4 && t->m / 16 % (p->warps_m * 2) == 0) p->warps_m *= 2;
  while (p->warps_m * p->warps_n < 8 && t->n / 8 % (p->warps_n * 2) == 0 && t->n / p->warps_n > 32) p->warps_n *= 2;
  while (p->warps_m * p->warps_n < 16 && t->accumulators / (p->warps_m * p->warps_n) > 4096 &&
         t->n / 8 % (p->warps_n * 2) == 0)
    p->warps_n *= 2;
  while (p->warps_m * p->warps_n * p->warps_k < 4 && mg_round_up(t->c, 16) % (32 * p->warps_k) == 0) p->warps_k *= 2;
}

/* Where a product's result is a left operand: all warps share its columns, and none the contraction. */
MGI_FN void mgi_warps_keep_fragments(const mg_flat *k, mg_kernel_plan *p) {
  const mg_kernel_plan was = *p;
  int64_t size[5] = { 0 };
  for (int i = 0; i < k->n && was.warps_k > 1; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL || !mg_flat_has_product(k, o->in[0])) continue;
    const mg_flat_op *a = &k->op[o->in[0]];
    const int64_t cols = mg_round_up(a->d[a->rank - 1], 16);
    int64_t most = was.warps_n * was.warps_k;
    if (cols % 32 || !mgi_product_decides(k, o, size)) continue;
    while (most > 1 && cols % (16 * most)) most /= 2;
    p->warps_n = (int)most, p->warps_k = 1;
  }
}

/* The warps with which a product takes its left operand from fragments: eight, of 16 rows each where there are 64.  0
   if none does. */
MGI_FN int mgi_warps_chain(const mg_flat *k, const mgi_tiles *t, mg_kernel_plan *p) {
  const mg_kernel_plan was = *p;
  int64_t size[5] = { 0 };
  int chained = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL || !mg_flat_has_product(k, o->in[0])) continue;
    mg_kernel_plan c = was;
    if (t->m > 16) {
      c.warps_k = c.warps_m = 1;
      while (c.warps_m < 4 && t->m / 16 % (c.warps_m * 2) == 0) c.warps_m *= 2;
      c.warps_n = 8 / c.warps_m;
      while (c.warps_n > 1 && !mg_flat_chained(k, &c, i) && c.warps_m * c.warps_n > 4) c.warps_n /= 2;
      if (!mg_flat_chained(k, &c, i)) c.warps_n = 16 / c.warps_m;
    }
    if (!mg_flat_chained(k, &c, i) || !mgi_product_decides(k, o, size)) continue;
    *p = c;
    chained = 1;
  }
  return chained;
}

/* Takes off what stays in fragments on the plan's warps.  1 if something does. */
MGI_FN int mgi_tiles_kept(const mg_flat *k, const mg_kernel_plan *p, mgi_tiles *t) {
  int any = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL || !mg_flat_has_product(k, o->in[0]) || !mg_flat_chained(k, p, i)) continue;
    t->once -= mgi_made_bytes(&k->op[o->in[0]]);
    any = 1;
  }
  return any;
}
/* Bytes that are padding where warps multiply, and are not where warpgroups do. */
MGI_FN void mgi_tiles_of_panels(const mg_flat *k, mgi_tiles *t) {
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *x = &k->op[i];
    int operand = 0;
    for (int q = 0; q < k->n; q++) {
      const mg_flat_op *o = &k->op[q];
      if (o->code != MG_OP_MATMUL) continue;
      operand |= o->in[1] == i || (o->in[0] == i && x->inloop && x->code == MG_OP_LOAD);
    }
    if (operand && !x->made) *(x->inloop ? &t->ring : &t->once) -= mg_flat_elements(x) / x->d[x->inner] * 16;
  }
}

/* Bytes of the tiles that are computed once: of costly values; of others, where a late product leaves no room but what
   is counted. */
MGI_FN int64_t mgi_once_bytes(const mg_flat *k, const mg_kernel_plan *p) {
  int64_t bytes = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (!mg_flat_once(k, p, i) || mg_flat_over(k, p, i) >= 0) continue;
    if (p->late || mg_flat_costly(k, i)) bytes += mg_copy_bytes(mgi_rows_of(o), mgi_cols_of(o), 2);
  }
  return bytes;
}

/* Bytes of the fragments that warps put together: t->once has those that the loop does itself; those behind it are
   returned, as the ring is free for them then. */
MGI_FN int64_t mgi_fragment_bytes(const mg_flat *k, const mg_kernel_plan *p, int chained, mgi_tiles *t) {
  int64_t behind = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL) continue;
    int64_t m, n, c, b;
    const int64_t parts = chained && mg_flat_chained(k, p, i) ? p->warps_n : p->warps_k;
    if (parts == 1) continue;
    mg_flat_product(k, o, &m, &n, &c, &b);
    const int64_t bytes = parts * mg_round_up(m, 16) * (mg_round_up(n, 8) + 8) * 4;
    int summed = !o->inloop;
    for (int q = 0; q < k->n; q++) summed |= k->op[q].code == MG_OP_ACCUM && k->op[q].in[0] == i;
    if (!summed && k->iters > 1) t->once += bytes;
    else if (bytes > behind) behind = bytes;
  }
  return behind;
}

/* Bytes of a stage that no other block reads, in pieces of less than a line, which blocks side by side mostly share. */
MGI_FN int64_t mgi_short_runs(const mg_flat *k) {
  int64_t bytes = 0;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (!mg_flat_brings(o) || !o->inloop || !o->rank) continue;
    const int alone = (double)(mg_flat_elements(o) * o->esize * k->blocks) * o->trips <= (double)o->unique;
    if (alone && o->d[o->inner] * o->esize < 128) bytes += mg_flat_elements(o) * o->esize;
  }
  return bytes;
}

/* Bytes that a block of a cluster gets: each owns a share of what they merge, of which it gets all parts. */
MGI_FN int64_t mgi_cluster_bytes(const mg_flat *k, const mg_machine *m) {
  int64_t bytes = 0;
  if (k->group < 2 || !mg_machine_clusters(m, k->group)) return 0;
  for (int i = 0; i < k->n; i++)
    if (k->op[i].code == MG_OP_ACCUM && k->op[i].across) bytes += mg_round_up(mg_flat_elements(&k->op[i]) * 4, 1024);
  return bytes;
}

MGI_FN int mgi_stages_of(const mg_flat *k, const mg_machine *m, const mg_kernel_plan *p, const mgi_tiles *t,
                         int64_t own, int64_t parts, int chained) {
  const int64_t room = m->shared_per_block - 1024, ring = t->ring, once = t->once;
  const int64_t lines = own ? mgi_short_runs(k) : 0;
  int stages = k->iters > 3 ? 4 : k->iters > 2 ? 3 : 2;
  /* sums of few bytes: all at once */
  if (k->iters > 4 && k->iters <= 8 && k->iters * ring <= 32768) stages = (int)k->iters;
  while (p->group && p->parts && stages > 2 && (stages - 2) * ring >= 65536) stages--; /* loads then go out ahead */
  /* whole lines */
  while (own && k->group < 2 && p->warps_k <= 4 && 2 * lines < ring && stages > 2 && (stages - 1) * ring > 98304)
    stages--;
  while (own && 2 * lines > ring && stages > 2 && stages < k->iters && (stages - 1) * ring >= 65536) stages--;
  while (stages > 2 && stages * ring + once > room) stages--;
  while (p->group && stages > 2 && stages * ring + once + parts > room) stages--;
  /* dependent launches fill it */
  if (own && parts && stages == 4 && k->iters >= 8 && k->blocks <= m->sms && 5 * ring + once + parts <= room)
    stages = 5;
  if (chained && k->iters > 2) { /* a stage less, where two blocks then share a multiprocessor that has to take two */
    const int64_t fit = mg_machine_filled_sms(m, k->group), half = m->shared_per_sm / 2 - 1024;
    for (int less = stages - 1; less >= 2 && k->blocks > fit && stages * ring + once + parts > half; less--)
      if (less * ring + once + parts <= half) stages = less;
  }
  return stages;
}

/* The plan's rings, where it may have some, stages (0: as is best) and shared memory, its warps being chosen. */
MGI_FN void mgi_plan_memory(const mg_flat *k, const mg_machine *m, mg_kernel_plan *p, mgi_tiles *t, int chained,
                            int rings, int stages) {
  const int64_t held = t->accumulators / (p->warps_m * p->warps_n); /* at most 128 registers a thread, 24 beside them */
  const int threads = mgi_plan_threads(p);
  mg_rings r;
  t->once += mgi_once_bytes(k, p);
  if (!chained && (held > 4096 || (held && (held + 768) * threads / 32 > m->registers_per_sm))) p->feasible = 0;
  const int64_t behind = mgi_fragment_bytes(k, p, chained, t);
  if (rings && k->iters > 1 && mgi_all_own(k, p, &r)) p->own = 1, t->ring = mgi_own_ring_bytes(k, p->warps_k, &r);
  p->parts = rings && chained && mgi_all_parts(k, p, &r);
  const int64_t own = p->own ? t->ring : 0;
  const int64_t parts = mgi_cluster_bytes(k, m);
  p->stages = stages ? stages : mgi_stages_of(k, m, p, t, own, parts, chained);
  /* without a loop the loads are done with by then */
  if (k->iters < 2) p->shared = t->once > behind ? t->once : behind;
  else p->shared = (p->stages * t->ring > behind ? p->stages * t->ring : behind) + t->once;
  if (parts && p->shared + parts > m->shared_per_block - 1024) p->feasible = p->feasible ? 2 : 0;
  else p->shared += parts;
  if (p->shared > m->shared_per_block - 1024) p->feasible = 0;
}

/* The plan with products of warps (across 0), or with those of warpgroups, which mgi_warpgroups_fit allows: `across` of
   them share the columns. */
MGI_FN mg_kernel_plan mgi_plan_with(const mg_flat *k, const mg_machine *m, int across) {
  mg_kernel_plan p = { 2, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0 };
  mgi_tiles t = mgi_tiles_of(k);
  if (!t.work) p.warps_n = mgi_warps_of_elements(k, m);
  else if (t.m <= 16) mgi_warps_of_few_rows(k, &t, &p);
  else mgi_warps_of_rows(&t, &p);
  mgi_warps_keep_fragments(k, &p);
  int chained = mgi_warps_chain(k, &t, &p);
  if (chained) mgi_tiles_kept(k, &p, &t);
  if (across) {
    p.warps_m = (int)(t.m / 16), p.warps_n = across, p.warps_k = 1, p.group = 1;
    for (int i = 0; i < k->n; i++) chained |= k->op[i].code == MG_OP_MATMUL && mg_flat_has_product(k, k->op[i].in[0]);
    mgi_tiles_of_panels(k, &t);
  }
  mgi_plan_memory(k, m, &p, &t, chained, p.group || p.warps_k == 1 || mgi_loads_narrow(k), 0);
  return p;
}

MGI_FN double mgi_price(const mg_flat *k, const mg_machine *m, const mg_kernel_plan *p, mg_rates *rates);
MGI_FN void mgi_plan_flies(const mg_flat *k, const mg_machine *m, mg_kernel_plan p, mg_kernel_plan *best, double *us,
                           mg_rates *rates);
MGI_FN void mgi_plan_trails(const mg_flat *k, const mg_machine *m, mg_kernel_plan p, mg_kernel_plan *best, double *us,
                            mg_rates *rates);
/* The plan with the least price, and that; the rates are for it. */
mg_kernel_plan mg_flat_plan(const mg_flat *k, const mg_machine *m, double *us, mg_rates *rates) {
  mg_kernel_plan best = mgi_plan_with(k, m, 0);
  int64_t rows = 0;
  *us = mgi_price(k, m, &best, rates);
  for (int i = 0; i < k->n; i++)
    if (k->op[i].code == MG_OP_MATMUL) rows |= k->op[i].d[k->op[i].rank - 2];
  const int groups = (rows == 64 || rows == 128) && mg_machine_can(m, MG_CAN_WARPGROUP);
  for (int across = 1; groups && across <= 4; across *= 2) {
    mg_kernel_plan p = { 0, (int)(rows / 16), across, 1, 0, 0, 0, 0, 1, 0, 0, 0 };
    mg_rates r;
    if (!mgi_warpgroups_fit(k, m, &p)) continue;
    p = mgi_plan_with(k, m, across);
    if (!p.feasible) continue;
    const double t = mgi_price(k, m, &p, &r);
    if (t < *us) {
      *us = t, best = p;
      if (rates) *rates = r;
    }
    if (rows == 128 && across == 1 && k->iters > 2 && k->group < 2) {
      mgi_plan_flies(k, m, p, &best, us, rates);
      mgi_plan_trails(k, m, p, &best, us, rates);
    }
  }
  return best;
}

/* ---------------------------------------------------------------------------------------------------- >>cost

   What a kernel takes, in two steps that share no number: its work under a plan (bytes, operations, barriers of one
   block: mgi_work), then what a machine takes for that work, as the terms of MG_COST_TERMS.

   1. Base: MCFuser's t = (t_mem + t_comp) * alpha.  Device memory and the L2 cache are limits of their own: each tensor
      comes once from device memory, and from L2 once for every block that reads it.
   2. alpha is wave quantisation: a multiprocessor works off `waves` blocks one after the other, and no block runs
      faster than what one multiprocessor can draw from L2.
   3. That rate is reached with about 32 KB in flight, which a ring's stages times the blocks that fit give.
   4. In a loop memory and compute overlap, but for a share of the smaller of the two.
   5. The operands of a product come from shared memory, again for every warp that needs them; one that a product made
      goes there first, behind a barrier.
   6. An operator on a product's operand costs issue slots for each element and each use: three times as many on the
      right side, which has no ldmatrix then.  One that is computed once (mg_flat_once) costs them once, and a
      barrier.  */

/* Bytes a microsecond that one multiprocessor takes in: more than its share while others have nothing to load. */
double mg_sm_rate(const mg_machine *m) { return m->l2_gbps * 1e3 / m->sms * m->block_draw; }
double mg_dram_us(const mg_machine *m, double bytes) { return m->dram * bytes / (m->dram_gbps * 1e3); }
double mg_products_us(const mg_machine *m, double flops, int group) {
  return flops / (m->tensor_tflops * (group ? m->wgmma_rate : m->mma_rate) * 1e6 / m->sms);
}
double mg_flying_us(const mg_machine *m, double flops) {
  return flops / (m->tensor_tflops * m->fly_rate * 1e6 / m->sms);
}
double mg_slots_us(const mg_machine *m, double slots) {
  return slots / (m->fp32_tflops * m->slot_rate * 0.5e6 / m->sms);
}
double mg_shared_us(const mg_machine *m, double bytes) { return bytes / (m->shared_bytes_us * m->ldmatrix_rate); }

/* The bytes that a load costs for each that it needs, by the length of its runs in memory: sectors have 32 bytes,
   copies 16, lines 128. */
double mg_load_waste(int64_t inner, int rank, int esize) {
  const int64_t run = inner * esize;
  double share; /* of what is moved, what is needed */
  if (run % 128 == 0) share = 1;
  else if (run > 128) share = 1 - 12.8 / (double)run;
  else if (run > 64) share = 0.82;
  else if (run == 64) share = 0.97;
  else if (run >= 32) share = 0.75 + (double)run / 512;
  else share = (double)run / 40;
  const int by_element = rank && inner > 1 && inner % 8;
  return 1 / (by_element ? share * 0.3 : share);
}

/* What one block does. */
typedef struct mgi_work {
  double step_bytes;     /* that one step of the loop loads */
  double bytes;          /* that it loads and stores, in all */
  double l2_bytes;       /* these, with what their runs waste */
  double early_bytes;    /* loaded before the loop, with waste: no ring hides them */
  double dram_bytes;     /* of the whole kernel: every tensor once */
  double merged_bytes;   /* that it hands to the blocks that share its result */
  double flops;          /* on tensor cores */
  double slots;          /* issue slots of everything that is element by element */
  double shared_bytes;   /* that products read of shared memory, or write to it; and transposes, each as often as banks
                            make them wait */
  double barriers;       /* beside those of the loop's steps */
  int streams;           /* products of few rows with what the loop brings: memory alone counts */
  int chained;           /* a product takes another's fragments */
  int raises;            /* it has an exponential */
  int prepares;          /* an operand is computed into a tile before the loop */
  int overflow;          /* an exponential without its row's maximum: MGI_.. */
  int tensors;           /* something in the block is not a matrix */
  double stored_bytes;   /* of bytes */
  double narrow_bytes;   /* of bytes: in runs shorter than a line, as warps bring parts of them */
  double torn_bytes;     /* of stored_bytes: in sectors of 32 bytes of which others store the rest */
  double direct_bytes;   /* that stores behind the loop load */
  double lines;          /* of 128 bytes, that copies come to, each as often as a run of bytes begins or goes on in
                            it */
  double fmas;           /* multiply-adds of products that no tensor cores make */
  double wide_reads;     /* elements of wide products' operands, which are widened where they are used */
  double joins;          /* sums and maxima, each as often as a block comes to it */
  int split;             /* a product reads what lies in memory in 32 bits */
  int strip;             /* mg_flat_strip: whole rows stay in registers while they are joined */
  int strip_registers;   /* of a thread then, about */
  int late;              /* something is loaded behind the merge */
  int alone;             /* one block does all that stands behind the merge */
  int flies;             /* a thread's registers for products, if all are under way while the next step begins */
  double blocks, group, iters, ops; /* of the grid; that share a result; steps of a block's loops; operators */
  double seen;           /* mg_flat_seen_share: of all steps, those that a block has on average */
  int masked;            /* it reads a causal mask */
} mgi_work;

/* The work of a block that has such a share of its steps.  What stands outside the loop is little beside it. */
MGI_FN void mgi_work_share(mgi_work *w, double share) {
  double *const by_step[] = { &w->bytes,        &w->l2_bytes, &w->flops, &w->slots,      &w->shared_bytes, &w->barriers,
                              &w->narrow_bytes, &w->lines,    &w->fmas,  &w->wide_reads, &w->joins };
  for (size_t k = 0; k < sizeof by_step / sizeof *by_step; k++) *by_step[k] *= share;
  w->iters = fmax(1, w->iters * share);
}

/* 1 if the elements of load i go straight to a store that has them turned: each is read alone. */
MGI_FN int mgi_work_turned(const mg_flat *k, int i) {
  int turned = 0;
  if (!k->op[i].direct) return 0;
  for (int q = i; q >= 0 && k->op[q].code != MG_OP_STORE; q = mg_flat_only_reader(k, q)) turned |= k->op[q].turns;
  return turned;
}

MGI_FN void mgi_work_move(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, int i, double share,
                          const mg_rings *r) {
  const mg_flat_op *o = &k->op[i];
  int64_t run = o->rank ? o->d[o->inner] : 1;
  const int by_warps = (p->own || p->parts) && o->code == MG_OP_LOAD && o->inloop && r->cut[i] &&
                       mgi_cut_in(o, r->cut[i]) == o->inner;
  if (by_warps) run /= p->own ? p->warps_k : p->warps_n;
  if (by_warps && run * o->esize < 128) w->narrow_bytes += (double)mg_flat_elements(o) * o->esize * o->trips;
  const double bytes = share * (double)mg_flat_elements(o) * o->esize, waste = mg_load_waste(run, o->rank, o->esize);
  const int64_t held = mgi_work_turned(k, i) ? o->esize : run * o->esize; /* bytes that lie together */
  const int by_threads = o->code == MG_OP_STORE || o->direct; /* eight elements each, 16 bytes at once */
  const double each = (double)mg_ceil_div(held, 128) * (by_threads && o->esize > 2 ? o->esize / 2 : 1);
  w->lines += fmax(bytes * o->trips * (each / (double)held - 1.0 / 128), 0);
  if (o->code == MG_OP_STORE) w->torn_bytes += bytes * o->trips * (double)(held % 32) / (double)held;
  if (o->direct && k->iters > 1) w->direct_bytes += bytes;
  if (o->inloop) w->step_bytes += bytes;
  else if (o->code == MG_OP_LOAD && k->iters > 1) w->early_bytes += bytes * waste;
  w->bytes += bytes * o->trips;
  if (o->code == MG_OP_STORE) w->stored_bytes += bytes * o->trips;
  w->l2_bytes += bytes * o->trips * waste;
  w->dram_bytes += (double)o->unique * (w->streams ? waste : 1);
}

/* What threads read of load i across its rows in memory. */
MGI_FN void mgi_work_across(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, int i, const mg_chains *c,
                            const mg_rings *r) {
  const mg_flat_op *o = &k->op[i];
  const mg_tile_form t = mg_flat_tile(k, p, r, i);
  const int way = t.across ? mg_flat_way(k, p, c, r, i) : -1;
  if (way < 0) return;
  w->shared_bytes += 4.0 * (double)(mg_flat_elements(o) * mg_tile_conflicts(&t, way)) * o->trips;
  if (!o->inloop) w->barriers++;
}

/* The left operand, which a product made, of product i.  1 if that is all that it costs: it stays in fragments. */
MGI_FN int mgi_work_chain(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, int i, const mg_chains *chains,
                          double read) {
  const mg_flat_op *o = &k->op[i];
  int64_t m, n, c, b;
  if (!chains->from[i]) return 0;
  mg_flat_product(k, o, &m, &n, &c, &b);
  w->shared_bytes -= read * 4 * o->trips; /* it was counted as one that goes there and back */
  w->chained = 1;
  if (p->warps_n > 1) { /* the warps' parts are added up once */
    w->shared_bytes += 8.0 * (double)(p->warps_n * m * n * b) * (o->inloop ? 1 : o->trips);
    w->barriers += 2;
  }
  return 1;
}

/* Barriers for a tile that is computed and then read, in a step of a loop or outside: one before it is read; and one
   before it is written again, where no barrier of the block begins a step, as tensor copies fill the ring. */
MGI_FN double mgi_tile_barriers(const mg_kernel_plan *p, int inloop) { return inloop && p->copies ? 2 : 1; }
/* Operand a of product o is computed into a tile.  In a loop the elements that it is made of are read in the ring. */
MGI_FN void mgi_work_once(mgi_work *w, const mg_kernel_plan *p, const mg_flat_op *o, const mg_flat_op *a) {
  const double elements = (double)mg_flat_elements(a) * a->trips;
  w->slots += 2 * elements;
  if (o->inloop && !a->inloop) w->prepares = 1;
  if (a->inloop || !o->inloop) w->barriers += mgi_tile_barriers(p, a->inloop) * a->trips;
  if (a->inloop) w->shared_bytes += 2 * elements * a->esize;
}
MGI_FN void mgi_work_product(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, int i, const mg_chains *c,
                             const mg_rings *r) {
  const mg_flat_op *o = &k->op[i];
  int64_t m, n, depth, b;
  mg_flat_product(k, o, &m, &n, &depth, &b);
  const int64_t rows = mg_round_up(m, 16), cols = mg_round_up(n, 8), deep = mg_round_up(depth, 16);
  const double left = (double)(rows * deep * b), right = (double)(deep * cols * b);
  const int steady = o->wide && mg_flat_steady(k, c, r, i), flies = mg_flat_flies(k, p, c, i);
  if (mg_flat_by_tensors(k, o->in[0], o->in[1]))
    w->flops += (o->wide && !steady ? 4.0 : 2.0) * (double)(rows * cols * deep * b) * o->trips;
  else w->fmas += (double)(rows * cols * depth * b) * o->trips;
  if (steady) w->slots += 8 * left * o->trips;
  /* each fragment's halves are widened where it is used */
  else if (o->wide) w->wide_reads += (left * p->warps_n + right * p->warps_m) * o->trips;
  for (int j = 0; j < 2; j++) {
    const int tile = mg_flat_tile_read(k, o->in[j], NULL); /* as it lies, or turned */
    const int at = tile < 0 ? mgi_operand_of(k, o->in[j]) : tile;
    const mg_flat_op *a = &k->op[at];
    const int made = mg_flat_has_product(k, o->in[j]);
    const int once = tile < 0 && !made && mg_flat_once(k, p, at);
    const int plain = a->code == MG_OP_LOAD || once;
    double read = left * p->warps_n;
    if (j) read = mg_flat_by_group(k, p, c, i) ? 0 : right * p->warps_m; /* warpgroups read it as they multiply */
    if (flies) read = 0; /* and the left one too */
    if (once) mgi_work_once(w, p, o, a);
    const int tiled = made && j && a->inloop && a->loop == o->loop; /* a step writes it once, in 16 bits */
    w->shared_bytes += read * (plain ? a->esize : tiled ? 2 : 4) * o->trips;
    w->split |= a->code == MG_OP_LOAD && (a->split || a->esize != 2);
    if (!j && made && mgi_work_chain(w, k, p, i, c, read)) continue;
    if (!j && r->taken[i]) continue;
    if (tiled) {
      w->shared_bytes += 2 * (double)mg_flat_elements(a) * o->trips;
      w->barriers += mgi_tile_barriers(p, o->inloop) * o->trips;
    } else if (made) { /* through shared memory */
      w->shared_bytes += read * 2 * o->trips;
      w->barriers += 2 * o->trips;
    } else if (!plain) w->slots += read * (j ? 6 : 2) * o->trips;
  }
}

MGI_FN void mgi_work_accumulate(mgi_work *w, const mg_flat *k, int i) {
  const mg_flat_op *o = &k->op[i];
  const mg_flat_op *a = &k->op[o->in[0]];
  const double elements = (double)mg_flat_elements(o);
  if (o->across) w->merged_bytes += elements * 4;
  if (mg_flat_elements(o) > mg_flat_elements(a)) { /* joined along a dimension */
    const int64_t rows = mgi_rows_of(o), cols = mgi_cols_of(o);
    const mg_tile_form t = { (int)rows, (int)cols, (int)rows, (int)mg_ceil_div(cols, 4), 4, 4 };
    w->slots += elements * 4;
    if (o->taken & MG_TAKEN_TURNED) w->shared_bytes += 4 * elements * mg_tile_conflicts(&t, MG_IN_PADDED);
  }
  else if (a->code != MG_OP_MATMUL) w->slots += elements * 2 * a->trips;
}

MGI_FN void mgi_work_elements(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, int i, double share,
                              const mg_rings *r) {
  const mg_flat_op *o = &k->op[i];
  const double out = (double)mg_flat_elements(o), in = o->n_in ? (double)mg_flat_elements(&k->op[o->in[0]]) : out;
  if (mg_flat_squares(k, p, r, i) >= 0) { /* by tensor cores: products of 16 x 16, of which the diagonal counts */
    w->shared_bytes += 2 * in * o->trips;
    w->flops += 32 * in * o->trips;
    if (!(o->inloop && r->own >> o->loop & 1)) w->barriers += o->trips;
    return;
  }
  if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) w->joins += o->trips;
  if (o->code != MG_OP_SUM && mgi_only_squared(k, p, r, i)) return; /* in those products */
  const int by_vector = o->code == MG_OP_DIV && mg_flat_vector(k, mgi_plan_threads(p), w->strip, o->in[1], NULL) == 2;
  w->slots += share * (out > in ? out : in) * (by_vector ? 2 : mg_cost_slots(mg_op_cost(o->code))) * o->trips;
}

/* What stays in fragments, and whether it may overflow there. */
MGI_FN void mgi_work_fragments(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, mg_chains *c) {
  mg_maxima m;
  mg_flat_chains(k, p, c);
  mg_flat_maxima(k, c, &m);
  if (!mgi_may_stay(k, &m)) memset(&m, 0, sizeof m);
  if (c->lent != m.of) mg_flat_unlend(c);
  w->overflow = mgi_overflows(k, c, &m);
}

/* What stands behind a merge over blocks. */
MGI_FN void mgi_work_late(mgi_work *w, const mg_flat *k, uint8_t late[MG_FLAT_OPS]) {
  int64_t rows, cols;
  mg_flat_late(k, late);
  for (int i = 0; i < k->n; i++) w->late |= late[i] && mg_flat_brings(&k->op[i]) && !k->op[i].direct;
  w->alone = !mg_flat_shares(k, &rows, &cols);
}

/* Sets flies; the products are there. */
MGI_FN void mgi_work_flies(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p, const mg_chains *c) {
  int all = w->flops > 0;
  if (!p->copies || p->stages < 3) return;
  for (int i = 0; i < k->n; i++)
    if (k->op[i].code == MG_OP_MATMUL) all &= mg_flat_flies(k, p, c, i);
  if (all) w->flies = mg_flat_group_registers(k, p, c);
}

MGI_FN void mgi_work_of(mgi_work *w, const mg_flat *k, const mg_kernel_plan *p) {
  /* a product's operand: counted there; it stands behind the merge */
  uint8_t inlined[MG_FLAT_OPS] = { 0 }, late[MG_FLAT_OPS] = { 0 };
  int made = 0;
  mg_chains c;
  mg_rings r;
  memset(w, 0, sizeof *w);
  memset(&c, 0, sizeof c);
  memset(&r, 0, sizeof r);
  w->blocks = (double)k->blocks, w->group = (double)k->group, w->iters = (double)k->iters, w->ops = k->n;
  w->strip = mg_flat_strip(k, mgi_plan_threads(p));
  if (w->strip) w->strip_registers = mgi_strip_registers(k, w->strip, mgi_plan_threads(p));
  if (k->group > 1) mgi_work_late(w, k, late);
  for (int i = 0; i < k->n && !made; i++)
    made = k->op[i].code == MG_OP_MATMUL && mg_flat_has_product(k, k->op[i].in[0]);
  if (made) mgi_work_fragments(w, k, p, &c);
  if (p->own || p->parts) mg_flat_rings(k, p, &c, &r);
  w->streams = k->iters > 1 && p->warps_m == 1;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL) continue;
    for (int j = 0; j < 2; j++)
      for (int x = o->in[j]; !inlined[x]; x = k->op[x].stays || k->op[x].turns ? k->op[x].in[0] : x) inlined[x] = 1;
    if (o->inloop) w->streams &= !c.from[i] && !mg_flat_has_product(k, o->in[1]) && o->d[o->rank - 2] <= 16;
  }
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    w->raises |= o->code == MG_OP_EXP;
    w->tensors |= !mg_flat_matrix(o);
    if (o->made) continue;
    if (o->code == MG_OP_LOAD) mgi_work_across(w, k, p, i, &c, &r);
    if (o->code == MG_OP_LOAD || o->code == MG_OP_STORE)
      mgi_work_move(w, k, p, i, late[i] && !w->alone ? 1 / w->group : 1, &r);
    else if (o->code == MG_OP_MATMUL) mgi_work_product(w, k, p, i, &c, &r);
    else if (o->code == MG_OP_ACCUM) mgi_work_accumulate(w, k, i);
    else if (!o->stays && !o->turns && (!inlined[i] || !mgi_elementwise(o)))
      mgi_work_elements(w, k, p, i, late[i] && !w->alone ? 1 / w->group : 1, &r);
  }
  mgi_work_flies(w, k, p, &c);
  w->masked = k->keys > 0;
  w->seen = mg_flat_seen_share(k);
}

/* How many blocks one multiprocessor works off, one after the other or together. */
double mg_waves(const mg_machine *m, int64_t blocks, int64_t group) {
  const int64_t sms = mg_machine_clusters(m, group) ? mg_machine_filled_sms(m, group) : m->sms;
  return (double)mg_ceil_div(blocks, sms);
}
/* And how many of these it holds at once; at least 1.  Of products under way the registers are known; the launch bound
   leaves room for all that a kernel may have. */
MGI_FN double mgi_resident(const mg_machine *m, const mg_kernel_plan *p, const mgi_work *w, double waves) {
  const int threads = mgi_plan_all_threads(p);
  double resident = (double)(m->shared_per_sm / (p->shared + 1024));
  if (resident > 1536 / threads) resident = 1536 / threads;
  if (w->flies) {
    const int64_t registers = mg_round_up(w->flies + MG_FLYING_BESIDE, 8);
    resident = fmin(resident, (double)(m->registers_per_sm / (threads * registers)));
  } else if (w->strip && !p->at_once)
    resident = fmin(resident, (double)(m->registers_per_sm / (threads * w->strip_registers)));
  else if (p->at_once) resident = p->at_once;
  if (resident > waves) resident = waves;
  return resident < 1 ? 1 : resident;
}

/* Of the smaller of memory and compute, the share that does not hide behind the larger. */
MGI_FN double mgi_unhidden(const mg_machine *m, const mg_kernel_plan *p, const mgi_work *w, double rounds) {
  if (w->iters > 1 && !p->group) return m->unhidden_loop;
  if (w->flies || p->late) return m->unhidden_fly;
  if (w->iters > 1 && !w->raises) return m->unhidden_group;
  if (w->iters > 1) return p->parts ? m->unhidden_parts : m->unhidden_raise;
  /* Later blocks hide behind earlier ones. */
  if (!w->flops) return m->unhidden_loop + (m->unhidden_elements - m->unhidden_loop) / rounds;
  if (p->group) return m->unhidden_group_once;
  if (!w->chained) return m->unhidden_once; /* all is loaded, then all is multiplied */
  return w->raises ? m->unhidden_between : m->unhidden_chain;
}

mg_least mg_least_of(const mg_machine *m, int loop, int group, int products, int streams) {
  mg_least l;
  memset(&l, 0, sizeof l);
  if (!loop) {
    l.unhidden = products ? fmin(fmin(m->unhidden_chain, m->unhidden_between), m->unhidden_once)
                          : fmin(m->unhidden_elements, m->unhidden_loop);
    if (products && group) l.unhidden = fmin(l.unhidden, m->unhidden_group_once);
    return l;
  }
  l.unhidden = m->unhidden_loop;
  l.fill = fmin(m->fill_own, m->fill);
  l.step_us = streams ? 0 : fmin(m->step_parts, m->step);
  if (group) {
    l.unhidden = fmin(fmin(l.unhidden, m->unhidden_group), fmin(m->unhidden_raise, m->unhidden_parts));
    l.fill = fmin(l.fill, m->fill_group);
    l.step_us = fmin(l.step_us, m->step_group);
  }
  if (group > 1) {
    l.unhidden = fmin(l.unhidden, m->unhidden_fly);
    l.step_us = fmin(l.step_us, fmin(m->step_fly, m->step_apart));
  }
  l.step_us *= m->barrier_us;
  return l;
}

/* Microseconds that the last block of a group takes to put the parts of all together, of so many bytes each. */
MGI_FN double mgi_last_us(const mg_machine *m, double group, double bytes, double draw) {
  return m->last_us + m->last_block_us * group + m->last_bytes * bytes * group / draw;
}
/* Microseconds that the blocks of a group take to put their parts together. */
MGI_FN double mgi_merge_us(const mg_machine *m, const mg_kernel_plan *p, const mgi_work *w, double waves, double rounds,
                           double draw) {
  /* each block a share of all parts, or one block all */
  const double gathered = w->alone ? 1 + m->alone * (w->group - 1) : 1;
  if (w->group < 2) return 0;
  const double late = w->late ? m->late_us : 0;
  if (p->feasible != 2 && mg_machine_clusters(m, (int64_t)w->group)) /* through a cluster's shared memory */
    return rounds * (late + (w->group > 8 ? m->cluster_large_us : m->cluster_us)) +
           waves * w->merged_bytes * gathered / m->cluster_bytes_us;
  /* Through the workspace: the last block to arrive does it. */
  return rounds * (late + mgi_last_us(m, w->group, w->merged_bytes, draw));
}

/* Of barrier_us, what a step of the loop waits for what it needs. */
MGI_FN double mgi_step_waits(const mg_machine *m, const mg_kernel_plan *p, const mgi_work *w) {
  if (p->own && w->streams) return 0; /* beside its memory: see mgi_kernel_cost */
  if (p->own || p->parts) return m->step_parts;
  if (w->flies) return p->copies == MG_COPY_WARP ? m->step_apart : m->step_fly;
  return p->group ? m->step_group : m->step;
}

/* The memory terms of c, of `waves` blocks a multiprocessor. */
MGI_FN double mgi_memory_us(mg_cost *c, const mg_machine *m, const mg_kernel_plan *p, const mgi_work *w, double waves) {
  const double read = w->l2_bytes + m->narrow * w->narrow_bytes, all = w->blocks * read / (m->l2_gbps * 1e3);
  c->dram_us = mg_dram_us(m, w->dram_bytes);
  c->l2_us = fmax(waves * read / mg_sm_rate(m), m->chip_draw * all) +
             m->torn * w->blocks * w->torn_bytes / (m->l2_gbps * 1e3);
  if (w->streams) { /* what blocks read again comes on top of the stream */
    const double again = all - w->dram_bytes / (m->l2_gbps * 1e3);
    c->again_us = c->dram_us + (p->own ? m->again_own : m->again) * fmax(again, 0);
  }
  return fmax(fmax(c->dram_us, c->l2_us), c->again_us);
}

/* The compute terms of c, with as many threads a multiprocessor: too few do not hide their latencies. */
MGI_FN double mgi_compute_us(mg_cost *c, const mg_machine *m, const mg_kernel_plan *p, const mgi_work *w, double waves,
                             double threads) {
  const int stream = p->own && w->group < 2 && w->streams;
  const double share = fmax(1, 128 / threads); /* a warp has but one of four schedulers */
  const double few = waves * (share + (stream ? m->threads_stream : m->threads_products) / threads);
  const double few_slots = waves * (share + (stream ? m->threads_stream : m->threads_slots) / threads);
  const double by_threads = w->bytes - (w->flies ? w->step_bytes * w->iters : 0); /* bytes that no tensor copy brings */
  const double copies = m->copy_slots * by_threads / 16 + m->line_slots * w->lines;
  const double slots = w->slots + m->wide_slots * w->wide_reads + m->fma_slots * w->fmas + copies;
  c->tensor_us = few * (w->flies ? mg_flying_us(m, w->flops) : mg_products_us(m, w->flops, p->group));
  c->shared_us = few * mg_shared_us(m, w->shared_bytes);
  c->elements_us = few_slots * mg_slots_us(m, slots);
  return c->tensor_us + c->elements_us + c->shared_us;
}

/* The larger of both, a little more where they are alike. */
MGI_FN double mgi_smooth_max(double a, double b) { return sqrt(hypot(a * a, b * b)); }

MGI_FN mg_cost mgi_kernel_cost(const mg_machine *m, const mg_kernel_plan *p, const mgi_work *all_steps,
                               mg_rates *rates) {
  mg_cost c;
  mgi_work seen = *all_steps;
  const mgi_work *const w = &seen;
  memset(&c, 0, sizeof c);
  const double waves = mg_waves(m, (int64_t)w->blocks, (int64_t)w->group);
  if (w->seen < 1) mgi_work_share(&seen, fmax(w->seen, 1 / waves)); /* the block with all steps is waited for */
  const double iters = w->iters;
  const double resident = mgi_resident(m, p, w, waves);
  const double rounds = ceil(waves / resident), draw = mg_sm_rate(m);
  const int loop = iters > 1, alone = p->own && w->group < 2;
  const double compute = mgi_compute_us(&c, m, p, w, waves, resident * mgi_plan_threads(p));
  /* A warp's own stage is filled again as soon as it is read. */
  const double ahead = p->own ? p->stages : p->stages > 2 ? p->stages - 1 - (w->flies > 0) : 1;
  double wait = w->flies ? m->wait_fly_us : m->wait_us; /* of a step */
  if (w->streams) wait = w->flops > 0 ? m->wait_stream_us : m->wait_elements_us;
  double waits = loop ? rounds * iters / ahead * wait : 0;
  if (w->streams && p->own) waits += rounds * iters * m->step_own * m->barrier_us;
  double memory = mgi_memory_us(&c, m, p, w, waves);
  /* With too little under way a stream is as slow as what it waits for. */
  if (w->streams) c.again_us = memory = mgi_smooth_max(memory, waits);
  else c.chain_us = waits;
  if (loop && w->chained && !p->late)
    c.chain_us += waves / resident * iters * (p->group ? m->chain_group_us : m->chain_us);
  const double larger = fmax(memory, compute), smaller = fmin(memory, compute);
  if (rates) {
    const int by_memory = c.l2_us > compute;
    rates->mem = (by_memory ? 1 : 0.1) * waves / draw;
    rates->comp = (by_memory ? 0.1 : 1) * waves;
    rates->warps_m = p->warps_m, rates->warps_n = p->warps_n;
    if (w->masked) rates->mem *= MG_SEEN_LEAST, rates->comp *= MG_SEEN_LEAST;
  }

  /* Both. */
  c.unhidden = mgi_unhidden(m, p, w, rounds);
  c.start_us = m->block_start_us * w->blocks;
  c.body_us = fmax(larger + c.unhidden * smaller, c.start_us) + c.chain_us;

  /* Around it. */
  c.launch_us = m->launch * m->launch_us;
  c.drain_us = m->drain_us;
  /* Stores of blocks before overlap with what follows. */
  if (!w->strip) c.drain_us += m->store * w->stored_bytes * resident / draw;
  if (w->flies) c.rounds_us = m->store_rounds * (rounds - 1) * w->stored_bytes * resident / draw;
  c.fill_us = m->early * waves * w->early_bytes / draw;
  /* All blocks ask for what is ahead at once. */
  if (loop && p->own) c.fill_us += m->fill_own * memory * fmin(ahead / iters, 1);
  else if (loop) c.fill_us += (p->group ? m->fill_group : m->fill) * memory / iters;
  if (loop) c.fill_us += m->last_step * compute / iters;
  c.steps_us += rounds * m->direct_us * w->direct_bytes / (16.0 * mgi_plan_threads(p));
  if (w->prepares) c.fill_us += m->prepare_us;
  if (p->own) c.fill_us += m->own_us;
  if (w->split) c.fill_us += m->split_us;
  if (w->joins > 0 && !w->strip && !w->flops) c.fill_us += m->tile_us;
  if (loop) c.steps_us += rounds * iters * mgi_step_waits(m, p, w) * m->barrier_us;
  c.steps_us += m->operator_us * w->ops + m->round_us * (rounds - 1);
  c.barriers_us = rounds * (m->barrier * w->barriers + m->join * w->joins) * m->barrier_us;
  if (p->warps_k > 1) c.merge_us = alone ? m->warps_own_us * p->warps_k : p->own ? m->warps_group_us : m->warps_us;
  c.merge_us += mgi_merge_us(m, p, w, waves, rounds, draw);
#define MGI_T(id, text) c.total_us += c.id##_us;
  MG_COST_TERMS(MGI_T)
#undef MGI_T

  /* What no candidate should be is last of all: an exponential that overflows, what the templates have no form for,
     what does not fit. */
  c.penalty = w->overflow == MGI_IN_16_BITS ? 8 : w->overflow == MGI_IN_FRAGMENTS ? 1.25 : 1;
  if (w->tensors) c.penalty *= 4;
  c.total_us *= c.penalty;
  if (!p->feasible) c.total_us += MG_UNFIT_US;
  return c;
}

/* Takes plan p of warpgroups with tensor copies, if its products can be under way while the next step begins and its
   price is less than `us` then: as many stages as there is room for, or three, which two blocks may have at once. */
MGI_FN void mgi_plan_flies(const mg_flat *k, const mg_machine *m, mg_kernel_plan p, mg_kernel_plan *best, double *us,
                           mg_rates *rates) {
  const int most = k->iters < MG_STAGES_MOST ? (int)k->iters : MG_STAGES_MOST;
  mgi_tiles panels = mgi_tiles_of(k);
  mgi_work w;
  mgi_tiles_of_panels(k, &panels);
  p.own = p.parts = 0, p.copies = MG_COPY_TMA, p.stages = MG_STAGES;
  mgi_work_of(&w, k, &p);
  for (int copy = MG_COPY_TMA; w.flies && copy <= MG_COPY_WARP; copy++) {
    p.copies = copy;
    if (w.flies > mg_group_room(m, mgi_plan_threads(&p), copy == MG_COPY_WARP)) continue;
    int fits = 0;
    for (int stages = most; stages >= MG_STAGES; stages = fits && stages > MG_STAGES ? MG_STAGES : stages - 1) {
      mg_kernel_plan with = p;
      mgi_tiles tiles = panels;
      mg_rates r;
      mgi_plan_memory(k, m, &with, &tiles, 0, 0, stages);
      if (with.feasible != 1) continue;
      fits = 1;
      const double t = mgi_kernel_cost(m, &with, &w, &r).total_us;
      if (t >= *us) continue;
      *us = t, *best = with;
      if (rates) *rates = r;
    }
  }
}

/* 1 if value i of a loop has no place in shared memory but in the tiles of two products: what a late product leaves
   room for. */
MGI_FN int mgi_only_fragments(const mg_flat *k, const mg_chains *c, int i) {
  const mg_flat_op *o = &k->op[i];
  if (o->code == MG_OP_SUM || o->code == MG_OP_MAX) return c->from[i] != 0;
  if (!mg_flat_brings(o)) return 1;
  for (int q = 0; q < k->n; q++)
    if (k->op[q].code == MG_OP_MATMUL && mg_flat_tile_read(k, k->op[q].in[1], NULL) == i) return 1;
  return 0;
}
/* The same of a product of fragments that is made beside the next step's first. */
MGI_FN void mgi_plan_trails(const mg_flat *k, const mg_machine *m, mg_kernel_plan p, mg_kernel_plan *best, double *us,
                            mg_rates *rates) {
  enum { FEW = 8 }; /* steps for which a warp beside is not worth its start */
  mgi_tiles tiles = mgi_tiles_of(k);
  mg_kernel_takes takes;
  int trails = 0, alone = 1;
  mg_chains c;
  mg_rates r;
  memset(&takes, 0, sizeof takes);
  p.own = p.parts = 0, p.late = 1, p.stages = MG_STAGES;
  p.copies = k->iters > FEW ? MG_COPY_WARP : MG_COPY_TMA;
  mg_flat_chains(k, &p, &c);
  for (int i = 0; i < k->n; i++) {
    trails |= mg_flat_trails(k, &p, &c, i) != 0;
    alone &= !k->op[i].inloop || mgi_only_fragments(k, &c, i);
    if (k->op[i].code == MG_OP_MATMUL) takes.accumulators += (int)mgi_cols_of(&k->op[i]) / 2;
  }
  if (!trails || !alone ||
      mg_flat_group_registers(k, &p, &c) > mg_group_room(m, mgi_plan_threads(&p), p.copies == MG_COPY_WARP))
    return;
  mgi_tiles_kept(k, &p, &tiles);
  mgi_tiles_of_panels(k, &tiles);
  mgi_plan_memory(k, m, &p, &tiles, 1, 0, MG_STAGES);
  if (p.feasible != 1) return;
  takes.threads = mgi_plan_all_threads(&p), takes.shared_bytes = p.shared;
  mg_blocks_at_once(m, k->blocks, &takes);
  p.at_once = takes.blocks;
  const double t = mgi_price(k, m, &p, &r);
  if (t >= *us) return;
  *us = t, *best = p;
  if (rates) *rates = r;
}

/* Microseconds of one kernel by its plan; at least 1e9 if it does not fit the machine. */
MGI_FN double mgi_price(const mg_flat *k, const mg_machine *m, const mg_kernel_plan *p, mg_rates *rates) {
  mgi_work w;
  mgi_work_of(&w, k, p);
  return mgi_kernel_cost(m, p, &w, rates).total_us;
}
/* -------------------------------------------------------------------------------------------------- >>predict */

double mg_flat_us(const mg_flat *k, const mg_machine *m, mg_rates *rates) {
  double us;
  mg_flat_plan(k, m, &us, rates);
  return us;
}

int mg_library_items(mg_opcode code, int softmax) {
  if (softmax >= 0 || code == MG_OP_SUM || code == MG_OP_MAX) return 8;
  return code == MG_OP_ARGMAX ? 1 : 256;
}
mg_shares mg_library_shares(const mg_graph *g, const mg_op_node *o, const mg_machine *m) {
  enum { EACH = 2, LONG = 8 * MG_PART_LEAST }; /* blocks of a multiprocessor; shorter rows are not worth a merge */
  const int64_t row = o->code == MG_OP_ARGMAX ? mg_tensor_of(g, o->in[0])->shape.dim[o->attr.dim] : 1;
  const mg_shares shares = {EACH * (int64_t)m->sms, row < LONG ? 1 : mg_ceil_div(row, MG_PART_LEAST)};
  return shares;
}
/* The only operator that reads tensor t, and reads it once; 0: there is none such. */
MGI_FN uint32_t mgi_only_reader(const mg_graph *g, mg_tensor t) {
  uint32_t reader = 0;
  if (mg_is_output(g, t)) return 0;
  for (uint32_t q = 1; q < g->n_ops; q++)
    for (int j = 0; j < g->ops[q].n_in; j++) {
      if (g->ops[q].in[j].id != t.id) continue;
      if (reader) return 0;
      reader = q;
    }
  return reader;
}
int mg_same_shape(const mg_shape *a, const mg_shape *b) {
  return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}
/* Whether x is one row of as many columns as t has. */
MGI_FN int mgi_is_row_of(const mg_shape *x, const mg_shape *t) {
  const int64_t cols = t->dim[t->rank - 1];
  return x->rank && x->dim[x->rank - 1] == cols && mg_shape_elements(x) == cols;
}
/* Whether t stands in memory as it is written, row after row, before operator `op` begins. */
MGI_FN int mgi_stands_before(const mg_graph *g, mg_tensor t, uint32_t op) {
  const mg_tensor_info *i = mg_tensor_of(g, t);
  if (i->fill || mg_split(g, t)) return 0;
  if (i->op) return i->op < op && !mg_renames(g, i->op);
  for (int d = 0; d < i->shape.rank; d++)
    if (i->order[d] != d) return 0;
  return 1;
}
MGI_FN mg_dtype mgi_wide_type(const mg_graph *g, mg_tensor t) {
  return mg_wide(g, t) ? MG_F32 : mg_tensor_of(g, t)->dtype;
}
/* Whether the leading dimensions of an operand, of such strides, lie in memory as those of the result do: all of them,
   one behind the other, or none. */
MGI_FN int mgi_leads_as_one(const mg_shape *x, const int64_t *stride, const mg_shape *made) {
  int64_t next = 0, found = 1, wanted = 1;
  for (int d = 0; d < made->rank - 2; d++) wanted *= made->dim[d];
  for (int d = x->rank - 3; d >= 0; d--) {
    if (x->dim[d] == 1) continue;
    if (next && stride[d] != next) return 0;
    next = stride[d] * x->dim[d];
    found *= x->dim[d];
  }
  return found == 1 || found == wanted;
}
/* Whether a library reads the operands of product `op` as they stand in memory. */
MGI_FN int mgi_library_reads(const mg_graph *g, uint32_t op) {
  const mg_op_node *o = &g->ops[op];
  const mg_shape *made = &mg_tensor_of(g, o->out[0])->shape;
  for (int side = 0; side < 2; side++) {
    const mg_tensor_info *x = mg_tensor_of(g, o->in[side]);
    const int r = x->shape.rank;
    int64_t stride[MG_MAX_RANK];
    mg_strides(x, stride);
    if (x->fill || mgi_wide_type(g, o->in[side]) != mgi_wide_type(g, o->in[0])) return 0;
    if (stride[r - 1] != 1 && stride[r - 2] != 1) return 0;
    if (!mgi_leads_as_one(&x->shape, stride, made)) return 0;
  }
  return 1;
}
int mg_library_multiplies(const mg_graph *g) {
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].code == MG_OP_MATMUL || g->ops[k].code == MG_OP_CONCAT_MATMUL) return 1;
  return 0;
}
mg_library_product mg_library_takes(const mg_graph *g, uint32_t op) {
  mg_library_product p, whole; /* so far; where a result of the operands' type was made last */
  memset(&p, 0, sizeof p);
  whole = p;
  if (g->level != MG_KERNEL || g->ops[op].code != MG_OP_MATMUL || !mgi_library_reads(g, op)) return whole;
  const mg_dtype type = mgi_wide_type(g, g->ops[op].in[0]);
  const mg_shape *made = &mg_tensor_of(g, g->ops[op].out[0])->shape;
  mg_tensor t = g->ops[op].out[0];
  for (uint32_t q = op + 1; q < g->n_ops && p.taken < MG_LIBRARY_TAKES; q++) {
    const mg_op_node *o = &g->ops[q];
    if (mg_renames(g, q)) continue;
    if (o->code != MG_OP_ADD || mgi_only_reader(g, t) != q) break;
    const mg_tensor x = o->in[o->in[0].id == t.id];
    const mg_shape *shape = &mg_tensor_of(g, x)->shape;
    const int same = mg_same_shape(shape, made), row = mgi_is_row_of(shape, made);
    if (!mg_same_shape(&mg_tensor_of(g, o->out[0])->shape, made)) break;
    if (mgi_wide_type(g, x) != type || !mgi_stands_before(g, x, op)) break;
    if (same && row && g->n_symbols) break; /* one row here, of a size that may have more */
    if (same && !p.added) p.added = x.id;
    else if (row && !same && !p.bias) p.bias = x.id;
    else break;
    t = o->out[0];
    p.op[p.taken++] = q;
    if (mgi_wide_type(g, t) == type) whole = p;
  }
  return whole;
}
uint32_t mg_library_taker(const mg_graph *g, uint32_t op) {
  if (g->level != MG_KERNEL || g->ops[op].code != MG_OP_ADD) return 0;
  for (uint32_t q = op - 1, passed = 0; q && passed <= MG_LIBRARY_TAKES; q--) {
    if (g->ops[q].code == MG_OP_MATMUL) {
      const mg_library_product p = mg_library_takes(g, q);
      for (int k = 0; k < p.taken; k++)
        if (p.op[k] == op) return q;
      return 0;
    }
    passed += !mg_renames(g, q);
  }
  return 0;
}
/* The dimension of operator o's input k along which neighbouring threads read, where `along` is that of a sum; -1: it
   has none. */
MGI_FN int mgi_library_reads_along(const mg_graph *g, const mg_op_node *o, int k, int along) {
  const int rank = mg_tensor_of(g, o->in[k])->shape.rank, last = mg_tensor_of(g, o->out[0])->shape.rank - 1;
  if (along >= 0) return along;
  if (o->code == MG_OP_TRANSPOSE) return o->attr.perm[last];
  return rank - 1;
}
/* Bytes that L2 hands to operator o: neighbours that are apart in memory take a sector each. */
MGI_FN double mgi_library_read(const mg_graph *g, const mg_op_node *o, int along, double elements) {
  enum { SECTOR = 32 };
  double bytes = 0;
  for (int k = 0; k < o->n_in; k++) {
    const mg_tensor_info *t = mg_tensor_of(g, o->in[k]);
    const int d = mgi_library_reads_along(g, o, k, along);
    int64_t stride[MG_MAX_RANK];
    mg_strides(t, stride);
    const int apart = d >= 0 && t->shape.dim[d] > 1 && stride[d] > 1;
    bytes += elements * (apart ? SECTOR : mg_dtype_bytes(t->dtype));
  }
  return bytes;
}
/* A library kernel of anything but products: its memory and its compute, of blocks of 256 threads, of which each item
   takes its part (mg_library_items), and what blocks that share rows take to join them (mg_library_shares). */
MGI_FN double mgi_library_elements_us(const mg_graph *g, const mg_op_node *o, const mg_machine *m, double moved) {
  enum { THREADS = 256 };
  const mg_tensor_info *out = mg_tensor_of(g, o->out[0]);
  const int softmax = mg_softmax_dim(g, out->op), per = mg_library_items(o->code, softmax);
  const int along = softmax >= 0 ? softmax : per < THREADS ? o->attr.dim : -1;
  const double results = (double)mg_shape_elements(&out->shape);
  const double extent = along >= 0 ? (double)mg_tensor_of(g, o->in[0])->shape.dim[along] : 1;
  const double items = softmax >= 0 ? results / extent : results, elements = items * extent;
  const mg_shares shares = mg_library_shares(g, o, m);
  const double parts = (double)MG_SHARED_BY((int64_t)items, shares.blocks, shares.most), share = ceil(extent / parts);
  const double blocks = ceil(items / per) * parts, waves = ceil(blocks / m->sms),
               rounds = ceil(waves * THREADS / m->threads_per_sm);
  const double read = mgi_library_read(g, o, along, elements);
  const double memory = fmax(mg_dram_us(m, moved), m->chip_draw * read / (m->l2_gbps * 1e3));
  /* of a block */
  const double slots = THREADS * m->library_slots + elements / blocks * mg_cost_slots(mg_op_cost(o->code));
  const double compute = mg_slots_us(m, waves * slots);
  const double unhidden = m->unhidden_loop + (m->unhidden_elements - m->unhidden_loop) / rounds;
  const double steps = m->library_step_us * rounds * ceil(share * per / THREADS);
  const double joined = parts > 1 ? rounds * mgi_last_us(m, parts, 8, mg_sm_rate(m)) : 0; /* a key is of 8 bytes */
  return fmax(memory, compute) + unhidden * fmin(memory, compute) + steps + joined;
}
/* A library kernel: one operator over whole tensors.  A matmul is the emitter's: tiles of 64 columns and 16 or 64 rows,
   a loop over the contraction in steps of 64, no split. */
double mg_library_us(const mg_graph *g, const mg_op_node *o, const mg_machine *machine) {
  const uint32_t product = mg_library_taker(g, (uint32_t)(o - g->ops));
  if (!product) return mg_library_alone_us(g, o, machine);
  double bytes = 0; /* of what is added; the result is stored in the product's place */
  for (int k = 0; k < o->n_in; k++) {
    const mg_tensor_info *t = mg_tensor_of(g, o->in[k]);
    if (t->op < product) bytes += (double)mg_shape_elements(&t->shape) * mg_dtype_bytes(t->dtype);
  }
  return mg_dram_us(machine, bytes);
}
double mg_library_alone_us(const mg_graph *g, const mg_op_node *o, const mg_machine *machine) {
  double bytes = 0;
  if (mg_renames(g, (uint32_t)(o - g->ops))) return 0;
  for (int k = 0; k < o->n_in; k++) {
    const mg_tensor_info *t = mg_tensor_of(g, o->in[k]);
    const int picked = o->code == MG_OP_GATHER && k == 0; /* of its rows those that are asked for */
    const mg_shape *read = picked ? &mg_tensor_of(g, o->out[0])->shape : &t->shape;
    bytes += (double)mg_shape_elements(read) * mg_dtype_bytes(t->dtype);
  }
  const mg_tensor_info *t = mg_tensor_of(g, o->out[0]), *a = mg_tensor_of(g, o->in[0]);
  const double el = (double)mg_shape_elements(&t->shape), stored = el * mg_dtype_bytes(t->dtype);
  const double launch = machine->launch * machine->launch_us;
  if (o->code != MG_OP_MATMUL && o->code != MG_OP_CONCAT_MATMUL)
    return launch + machine->library_us + mgi_library_elements_us(g, o, machine, bytes + stored);
  const double t_dram = mg_dram_us(machine, bytes + stored);
  int r = t->shape.rank;
  double m = (double)t->shape.dim[r - 2], n = (double)t->shape.dim[r - 1], tile = m <= 16 ? 16 : 64;
  double depth = (double)a->shape.dim[a->shape.rank - 1] * (o->code == MG_OP_MATMUL ? 1 : 2);
  double blocks = ceil(m / tile) * ceil(n / 64) * (el / (m * n)), waves = ceil(blocks / machine->sms);
  double t_l2 = waves * depth * (tile + 64) * mg_dtype_bytes(a->dtype) / mg_sm_rate(machine);
  double t_comp = waves * mg_products_us(machine, 2 * tile * 64 * depth, 0);
  double t_mem = t_l2 > t_dram ? t_l2 : t_dram;
  const double larger = t_mem > t_comp ? t_mem : t_comp, smaller = t_mem > t_comp ? t_comp : t_mem;
  return launch + machine->library_product_us + machine->library * (larger + machine->unhidden_loop * smaller) +
         ceil(depth / 64) * machine->step * machine->barrier_us;
}

/* ---- maxima between kernels
   A kernel may leave what it stores under its rows' running maximum, where every kernel that reads it takes the factor
   out again; where each block has a part of the columns, each part has a maximum of its own:

       kernel 0, of a part:   d = sum exp(s - m) v,  l = sum exp(s - m)             by = 0, of degree 1, part: the axis of parts
       kernel 1:              sum over parts of w d / sum over parts of w l         w = exp(m - max m): weighted

   What a kernel sends follows from the kernel and from those that read it, so all are gone through again until none is
   stuck. */

/* The kernel whose tensors under a maximum b loads; 0: there is none.  *ok: 0 if it has several, or if rows are cut
   differently in two loads, or by a loop; *axes: the grid axes that cut them, as bits. */
MGI_FN uint32_t mgi_sender_of(const mg_graph *g, const mg_graph *b, const mg_sends *s, int *ok, uint32_t *axes) {
  uint32_t sender = 0, first = 0;
  *axes = 0;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    const uint32_t from = o->code == MG_OP_LOAD ? o->in[0].id : 0;
    if (!from || !s->by[from]) continue;
    const int rank = g->tensors[from].shape.rank;
    if (!first) {
      first = k;
      sender = s->by[from];
    }
    *ok &= s->by[from] == sender && mg_rows_in(rank, mg_tensor_of(b, o->out[0])->shape.dim) == rank - 2;
    for (uint32_t a = 1; a < b->n_axes && *ok; a++) {
      const int to = o->map.to[a], cuts = to >= 0 && to < rank - 1, cut = b->ops[first].map.to[a];
      if (b->axes[a].extent == 1) continue;
      if (cuts && a <= 3) *axes |= 1u << a;
      *ok &= cuts ? a <= 3 && cut == to : cut < 0 || cut >= rank - 1;
    }
  }
  return sender;
}
/* The grid axes of more than one block that value `of` depends on, as bits. */
MGI_FN uint32_t mgi_depends(const mg_graph *b, const mg_flat *k, int of) {
  uint8_t on[MG_FLAT_OPS] = { 0 };
  for (int i = 0; i <= of; i++) {
    const mg_op_node *o = &b->ops[i + 1];
    for (int j = 0; j < mgi_reads(&k->op[i]); j++) on[i] |= on[k->op[i].in[j]];
    for (uint32_t a = 1; a <= 3 && o->code == MG_OP_LOAD; a++)
      if (o->map.to[a] >= 0 && b->axes[a].extent > 1) on[i] |= (uint8_t)(1u << a);
  }
  return on[of];
}
/* The tensor of g that store `op` of b makes. */
MGI_FN uint32_t mgi_stored_as(const mg_graph *g, const mg_graph *b, uint32_t op) {
  return g->ops[b->up_op].out[mg_ops_before(b, op, MG_OP_STORE)].id;
}
/* 1 if the store `op`, of a value under the maximum of p, may leave it so: only loads of other kernels read the tensor,
   its last dimension is that of columns, the next that of rows, and one grid axis at most of those that p depends on
   (as bits) numbers parts of the columns.  All such stores are alike in that; `first` is one that was found before, or
   0. */
MGI_FN int mgi_may_send(const mg_graph *g, const mg_graph *b, const mg_flat *k, int p, uint32_t depends, uint32_t op,
                        uint32_t first, uint8_t *part) {
  const mg_op_node *o = &b->ops[op], *alike = &b->ops[first ? first : op];
  const uint32_t t = mgi_stored_as(g, b, op);
  const mg_shape *shape = &g->tensors[t].shape;
  const int rank = shape->rank, value = k->op[op - 1].in[0];
  const mg_shape *tile = &b->tensors[o->in[0].id].shape;
  if (o->scope || rank < 2 || tile->rank != rank || mg_rows_in(rank, tile->dim) != rank - 2) return 0;
  if (mgi_rows_of(&k->op[value]) != mgi_rows_of(&k->op[p])) return 0;
  for (uint32_t q = 0; q < g->n_out; q++)
    if (g->out[q].id == t) return 0;
  if (first) {
    const mg_shape *other = &g->tensors[mgi_stored_as(g, b, first)].shape;
    if (other->rank != rank) return 0;
    for (int d = 0; d < rank - 1; d++)
      if (shape->dim[d] != other->dim[d]) return 0;
  }
  *part = 0;
  for (uint32_t a = 1; a <= 3; a++) {
    const int to = o->map.to[a], cut = alike->map.to[a];
    if (b->axes[a].extent == 1) continue;
    if (depends >> a & 1) {
      if (to < 0 || to != cut || (to == rank - 1 && *part)) return 0;
      if (to == rank - 1) *part = (uint8_t)a;
    } else if ((to >= 0 && to < rank - 1) || (cut >= 0 && cut < rank - 1)) {
      if (to != cut) return 0;
    }
  }
  return 1;
}
int mg_sends_one_part(const mg_graph *g, const mg_graph *b, const mg_op_node *o, const mg_sends *s, int64_t *inner,
                      int *split) {
  const uint32_t above = o->in[0].id, sender = s->by[above];
  const uint8_t part = s->of[sender].part;
  const mg_graph *made = g->ops[sender].sub;
  const mg_op_node *store = NULL;
  const int columns = g->tensors[above].shape.rank - 1;
  int64_t chunk = g->tensors[above].shape.dim[columns], align = 0;
  for (uint32_t k = 1; k < made->n_ops; k++)
    if (made->ops[k].code == MG_OP_STORE && mgi_stored_as(g, made, k) == above) store = &made->ops[k];
  *inner = chunk;
  *split = 0;
  for (uint32_t a = 1; a <= part; a++) {
    if (store->map.to[a] != columns) continue;
    *inner = mg_ceil_div(*inner, made->axes[a].extent);
    *split |= a < part && made->axes[a].extent > 1;
  }
  for (uint32_t a = 1; a < b->n_axes; a++) {
    if (o->map.to[a] != columns) continue;
    chunk = mg_ceil_div(chunk, b->axes[a].extent);
    align = mg_gcd(align, chunk);
  }
  return align && *inner % chunk == 0 && align % chunk == 0;
}
/* What kernel b makes of tensors that x->sender left under its rows' maxima, at degree 1: these have to cancel in all
   that it stores.  open: of a value of other degree, the axes over which its parts are yet to be added, as bits, and
   bit 0 for several in its columns.  What divides must have none: a part far under the largest weighs nothing, and 0/0
   would be left of a quotient of its own.  A kernel whose blocks or iterations have one part each, and join none, takes
   all parts as they are.  axes: of the grid, which cut their rows.  0 if it cannot take them. */
MGI_FN int mgi_takes_sent(const mg_graph *g, const mg_graph *b, const mg_machine *m, const mg_sends *s,
                          const mg_flat *f, uint32_t axes, mg_passes *x) {
  const mg_sent *sent = &s->of[x->sender];
  const int64_t parts = sent->part ? g->ops[x->sender].sub->axes[sent->part].extent : 1;
  int8_t degree[MG_FLAT_OPS] = { 0 };
  uint16_t open[MG_FLAT_OPS] = { 0 };
  uint32_t cut = 0;
  int ok = 1, apart = 0, joins = 0, each = 1;
  int64_t room = 0; /* the weights' tile, bytes */
  static_assert(MG_MAX_AXES <= 16, "an axis is a bit of open");
  for (int i = 0; i < f->n && ok; i++) {
    const mg_op_node *o = &b->ops[i + 1];
    const int rank = o->n_in && o->code != MG_OP_LOAD ? b->tensors[o->in[0].id].shape.rank : 0;
    int in[2] = {0, 0}, some = 0, d = 0;
    uint32_t still = 0, added = 0;
    if (o->code == MG_OP_LOAD) {
      const uint32_t above = o->in[0].id;
      int64_t inner;
      int split;
      if (!s->by[above]) continue;
      degree[i] = 1;
      if (!sent->part) continue;
      open[i] = !mg_sends_one_part(g, b, o, s, &inner, &split);
      for (uint32_t a = 1; a < b->n_axes; a++) {
        if (b->axes[a].extent == 1 || o->map.to[a] != g->tensors[above].shape.rank - 1) continue;
        open[i] |= (uint16_t)(1u << a);
        each &= b->axes[a].extent == parts;
      }
      if (!cut) cut = open[i];
      each &= !(cut & (cut - 1)) && !(cut & 1) && open[i] == cut && !split;
      if (mgi_rows_of(&f->op[i]) * parts * 4 > room) room = mgi_rows_of(&f->op[i]) * parts * 4;
      continue;
    }
    for (int j = 0; j < o->n_in; j++) {
      const uint32_t by = b->tensors[o->in[j].id].op - 1;
      if (j < 2) in[j] = degree[by];
      some |= degree[by];
      still |= open[by];
    }
    if (!some) continue;
    switch ((int)o->code) {
    case MG_OP_STORE: ok = 0; continue;
    case MG_OP_ACCUM:
      d = in[0];
      for (uint32_t a = 1; a < b->n_axes; a++) {
        const int sums = o->map.to[a] == MG_MAP_SUM;
        ok &= o->map.to[a] == MG_MAP_NONE || (sums && !(axes >> a & 1)) || b->axes[a].extent == 1;
        added |= (uint32_t)sums << a;
      }
      break;
    case MG_OP_SUM: /* rows have maxima of their own, columns have not */
      d = in[0];
      ok &= o->attr.dim != mg_rows_in(rank, b->tensors[o->in[0].id].shape.dim);
      added = o->attr.dim == rank - 1;
      break;
    case MG_OP_MATMUL:
      d = in[0];
      ok &= !in[1];
      joins |= still & 1;
      break;
    default:
      ok &= mg_degree((int)o->code, in[0], in[1], &d);
      apart |= o->code == MG_OP_DIV && open[b->tensors[o->in[1].id].op - 1];
      break;
    }
    joins |= (still & added) != 0;
    degree[i] = (int8_t)d;
    open[i] = (uint16_t)(d ? still & ~added : 0);
  }
  ok &= apart ? each && !joins : room <= m->shared_per_block / 4;
  x->weighted = ok && sent->part && !apart;
  return ok;
}
/* Whether the maxima of the kernel's own exponential cancel in what it stores, or may stay where it stands for other
   kernels. */
MGI_FN void mgi_leaves(const mg_graph *g, const mg_graph *b, const mg_sends *s, const mg_flat *k, mg_passes *x) {
  mg_maxima *m = &x->maxima;
  int sends = s && s->by && !s->of[b->up_op].never;
  for (int i = 0; i < k->n; i++) sends &= !k->op[i].across;
  const uint32_t depends = m->of && sends ? mgi_depends(b, k, m->of - 1) : 0;
  for (uint32_t op = 1; op < b->n_ops && m->of; op++) {
    uint8_t part = x->part;
    if (b->ops[op].code != MG_OP_STORE || !m->degree[k->op[op - 1].in[0]]) continue;
    if (!sends || !mgi_may_send(g, b, k, m->of - 1, depends, op, x->first, &part)) {
      if (!m->undo[op - 1]) memset(m, 0, sizeof *m);
      continue;
    }
    m->undo[op - 1] = MG_UNDO_NONE;
    x->part = part;
    if (!x->first) x->first = op;
  }
  if (!m->of) x->first = 0;
}
void mg_sends_in(const mg_graph *g, const mg_graph *b, const mg_machine *m, const mg_sends *s, const mg_flat *k,
                 const mg_chains *c, mg_passes *x) {
  int ok = 1;
  uint32_t axes = 0;
  memset(x, 0, sizeof *x);
  x->takes = 1;
  if (s && s->by) x->sender = mgi_sender_of(g, b, s, &ok, &axes);
  if (!x->sender) {
    mg_flat_maxima(k, c, &x->maxima);
    mgi_leaves(g, b, s, k, x);
    return;
  }
  for (int i = 0; i < k->n; i++) ok &= !c->over[i] || mg_flat_power(k, i) < 0;
  x->takes = ok && mgi_takes_sent(g, b, m, s, k, axes, x);
}
/* The chains of a kernel under some plan, that of its first exponential which has a maximum. */
MGI_FN void mgi_chains_of_any(const mg_flat *k, mg_chains *c) {
  mg_maxima m;
  for (int i = 0; i < k->n; i++) {
    if (mg_flat_power(k, i) < 0) continue;
    mgi_chains_of_one(k, i, c);
    mg_flat_maxima(k, c, &m);
    if (m.of) return;
  }
  memset(c, 0, sizeof *c);
}
MGI_FN int mgi_plan_written(const mg_graph *b) {
  static const mg_plan_key key[] = { MG_PLAN_STAGES, MG_PLAN_WARPS_M, MG_PLAN_WARPS_N, MG_PLAN_WARPS_K };
  int written = 0;
  for (int k = 0; k < 4; k++) written |= mg_plan_says(b, key[k], NULL) >= 0;
  return written;
}
/* What kernel `op` sends, and 1 if it takes what comes to it. */
MGI_FN int mgi_sends_from(const mg_graph *g, uint32_t op, const mg_machine *m, int any, mg_sends *s, mg_flat *k) {
  const mg_graph *b = g->ops[op].sub;
  mg_kernel_plan p;
  mg_chains c;
  mg_passes x;
  if (!mg_flat_of(b, k)) return 0;
  memset(&p, 0, sizeof p);
  if (any && !mgi_plan_written(b)) mgi_chains_of_any(k, &c);
  else {
    mg_plan_warps(b, k, &p);
    mg_flat_chains(k, &p, &c);
  }
  mg_sends_in(g, b, m, s, k, &c, &x);
  s->of[op].weights = (uint8_t)x.weighted;
  if (x.weighted) s->of[x.sender].read = 1;
  for (uint32_t i = x.first; i && i < b->n_ops; i++) {
    if (b->ops[i].code != MG_OP_STORE || x.maxima.undo[i - 1] || x.maxima.degree[k->op[i - 1].in[0]] != 1) continue;
    s->by[mgi_stored_as(g, b, i)] = op;
  }
  if (x.first) s->of[op].as = mgi_stored_as(g, b, x.first);
  s->of[op].part = x.part;
  return x.takes;
}
int mg_sends_of(const mg_graph *g, const mg_machine *m, int any, mg_sends *s) {
  int powers = 0;
  memset(s, 0, sizeof *s);
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub) powers += mg_ops_before(g->ops[k].sub, g->ops[k].sub->n_ops, MG_OP_EXP);
  if (!powers || mg_ops_before(g, g->n_ops, MG_OP_GRAPH) < 2) return 1;
  s->by = (uint32_t *)calloc(g->n_tensors, sizeof *s->by);
  s->of = (mg_sent *)calloc(g->n_ops, sizeof *s->of);
  mg_flat *flat = (mg_flat *)malloc(sizeof *flat);
  const int memory = s->by && s->of && flat;
  for (int again = memory; again;) {
    memset(s->by, 0, g->n_tensors * sizeof *s->by);
    again = 0;
    for (uint32_t k = 1; k < g->n_ops && !again; k++) {
      const mg_op_node *o = &g->ops[k];
      const int stuck = o->code != MG_OP_GRAPH || !mgi_sends_from(g, k, m, any, s, flat);
      for (int j = 0; j < o->n_in && stuck; j++) {
        const uint32_t from = s->by[o->in[j].id];
        if (!from) continue;
        s->of[from].never = 1;
        again = 1;
      }
    }
  }
  free(flat);
  if (!memory) mg_sends_free(s);
  return memory;
}
void mg_sends_free(mg_sends *s) {
  free(s->by);
  free(s->of);
  memset(s, 0, sizeof *s);
}

/* How `warps` share a product, the largest of the block's: see mg_plan_warps. */
MGI_FN void mgi_warps_by_default(const mg_flat *k, int warps, mg_kernel_plan *p) {
  int64_t rows = 0, cols = 0, depth = 0;
  mg_chains c;
  p->warps_m = p->warps_n = p->warps_k = 1;
  for (int i = 0; i < k->n; i++) {
    const mg_flat_op *o = &k->op[i];
    if (o->code != MG_OP_MATMUL) continue;
    if (mgi_rows_of(o) > rows) rows = mgi_rows_of(o);
    if (mgi_cols_of(o) > cols) cols = mgi_cols_of(o);
    if (mgi_cols_of(&k->op[o->in[0]]) > depth) depth = mgi_cols_of(&k->op[o->in[0]]);
  }
  if (!rows) return;
  const int splits = rows <= 16 && depth >= 16 * warps; /* the contraction, rather than columns */
  while (p->warps_m * 2 <= warps && p->warps_m * 16 < rows) p->warps_m *= 2;
  while (p->warps_m * p->warps_n * 2 <= warps && p->warps_n * 32 < cols && !splits) p->warps_n *= 2;
  p->warps_k = warps / (p->warps_m * p->warps_n);
  if (p->warps_m * p->warps_n * p->warps_k != warps) { /* an odd number of warps: all of them split the contraction */
    p->warps_m = p->warps_n = 1;
    p->warps_k = warps;
  }
  mg_kernel_plan chained = *p;
  chained.warps_n *= chained.warps_k;
  chained.warps_k = 1;
  mg_flat_chains(k, &chained, &c);
  for (int i = 0; i < k->n; i++)
    if (c.over[i]) *p = chained;
}
int mg_plan_warps(const mg_graph *block, const mg_flat *k, mg_kernel_plan *p) {
  int warps = block->threads / 32;
  if (warps < 1) warps = 1;
  if (warps > 32) warps = 32;
  const int m = mg_plan_says(block, MG_PLAN_WARPS_M, NULL), n = mg_plan_says(block, MG_PLAN_WARPS_N, NULL);
  const int parts = mg_plan_says(block, MG_PLAN_WARPS_K, NULL);
  if (m < 0 && n < 0 && parts < 0) {
    mgi_warps_by_default(k, warps, p);
    return 1;
  }
  p->warps_m = m < 0 ? 1 : m;
  p->warps_n = n < 0 ? 1 : n;
  p->warps_k = parts < 0 ? 1 : parts;
  return p->warps_m * p->warps_n * p->warps_k == warps;
}

/* The plan that a block's text gives, what it leaves open being as it is emitted: 1.  0: it says nothing of stages and
   warps, or what no plan can say. */
MGI_FN int mgi_plan_given(const mg_graph *b, const mg_flat *k, const mg_machine *m, mg_kernel_plan *p) {
  const int stages = mg_plan_says(b, MG_PLAN_STAGES, NULL), ring = mg_plan_says(b, MG_PLAN_RING, NULL);
  const int copy = mg_plan_says(b, MG_PLAN_COPY, NULL);
  mgi_tiles t = mgi_tiles_of(k);
  memset(p, 0, sizeof *p);
  if (!mgi_plan_written(b) || mg_plan_check(b, "", NULL) != MG_OK) return 0;
  mg_plan_warps(b, k, p);
  if (mgi_plan_threads(p) > 1024) return 0;
  p->group = mg_plan_says(b, MG_PLAN_MMA, NULL) == MG_MMA_WARPGROUP;
  p->copies = copy < 0 ? MG_COPY_ASYNC : copy;
  p->late = mg_plan_says(b, MG_PLAN_CHAIN, NULL) == MG_CHAIN_LATE;
  p->stages = stages < 0 ? MG_STAGES : stages;
  p->feasible = !p->group || (mg_machine_can(m, MG_CAN_WARPGROUP) && mgi_warpgroups_fit(k, m, p));
  const int chained = mgi_tiles_kept(k, p, &t);
  if (p->group) mgi_tiles_of_panels(k, &t);
  const int rings = ring == (p->group ? MG_RING_GROUP : MG_RING_WARP);
  const mg_kernel_plan warps_only = *p;
  for (int n = stages < 0 ? MG_STAGES : stages;; n--) {
    mgi_tiles tiles = t;
    *p = warps_only;
    mgi_plan_memory(k, m, p, &tiles, chained, rings, n);
    if (p->feasible || stages > 0 || n == 1) return 1;
  }
}

/* The flat form of kernel `op` of g, and the microseconds that maxima take which it sends to other kernels: they go to
   memory and come back, and the weights have a barrier.  0: it is too large. */
MGI_FN int mgi_flat_in(const mg_graph *g, uint32_t op, const mg_machine *m, const mg_sends *s, mg_flat *k,
                       double *maxima_us) {
  const mg_graph *b = g->ops[op].sub;
  int64_t least = 0;
  *maxima_us = 0;
  if (!mg_flat_of(b, k)) return 0;
  for (uint32_t t = 1; t < g->n_tensors && s->by; t++) {
    const int64_t n = mg_shape_elements(&g->tensors[t].shape);
    if (s->by[t] == op && (!least || n < least)) least = n;
  }
  k->sent = least > 0;
  for (uint32_t i = 1; i < b->n_ops && s->by; i++) {
    if (b->ops[i].code != MG_OP_LOAD || !s->by[b->ops[i].in[0].id]) continue;
    k->receives = 1;
    k->op[i - 1].weighted = (int8_t)s->of[op].weights;
  }
  if (least && s->of[op].read) *maxima_us = 2 * 4 * (double)least / (m->dram_gbps * 1e3) + m->barrier_us;
  return 1;
}

void mg_blocks_at_once(const mg_machine *m, int64_t grid, mg_kernel_takes *t) {
  const int64_t beside = t->direct ? MG_DIRECT_BESIDE + 4 * t->direct : MG_REGISTERS_BESIDE;
  int64_t registers = mg_round_up(t->accumulators + beside, 8), blocks = mg_ceil_div(grid, m->sms);
  if (registers > MG_REGISTERS_MOST) registers = MG_REGISTERS_MOST + 1;
  const int64_t room[] = {m->shared_per_sm / (t->shared_bytes + 1024), m->threads_per_sm / t->threads,
                          m->registers_per_sm / (registers * t->threads), m->blocks_per_sm};
  for (int i = 0; i < 4; i++)
    if (blocks > room[i]) blocks = room[i];
  if (blocks < 1) blocks = 1;
  const int64_t each = m->registers_per_sm / (blocks * t->threads) / 8 * 8;
  t->blocks = (int)blocks;
  t->registers = each > MG_REGISTERS_MOST ? MG_REGISTERS_MOST : (int)each;
}
int mg_kernel_facts_of(const mg_graph *g, uint32_t op, const mg_machine *m, mg_kernel_facts *f) {
  return mg_kernel_facts_taking(g, op, m, NULL, f);
}
int mg_kernel_facts_taking(const mg_graph *g, uint32_t op, const mg_machine *m, const mg_kernel_takes *takes,
                           mg_kernel_facts *f) {
  mg_flat k;
  mgi_work w;
  mg_sends s;
  double maxima_us, us;
  if (!m) m = mg_machine_at(0);
  memset(f, 0, sizeof *f);
  if (g->ops[op].code != MG_OP_GRAPH || !mg_sends_of(g, m, 1, &s)) return 0;
  const int fits = mgi_flat_in(g, op, m, &s, &k, &maxima_us);
  mg_sends_free(&s);
  if (!fits) return 0;
  if (!mgi_plan_given(g->ops[op].sub, &k, m, &f->plan)) f->plan = mg_flat_plan(&k, m, &us, NULL);
  if (takes) {
    f->plan.stages = takes->stages;
    f->plan.shared = takes->shared_bytes;
    f->plan.at_once = takes->blocks;
    f->plan.feasible = takes->workspace ? 2 : 1;
  }
  mgi_work_of(&w, &k, &f->plan);
  f->cost = mgi_kernel_cost(m, &f->plan, &w, NULL);
  f->cost.merge_us += maxima_us;
  f->cost.total_us += maxima_us;
  f->threads = mgi_plan_threads(&f->plan);
  f->blocks = k.blocks, f->group = k.group, f->steps = k.iters;
  f->waves = mg_waves(m, k.blocks, k.group);
  f->resident = mgi_resident(m, &f->plan, &w, f->waves);
  f->dram_bytes = w.dram_bytes;
  f->l2_bytes = w.l2_bytes * (double)k.blocks;
  f->flops = w.flops * (double)k.blocks;
  return 1;
}

double mg_predict_us(const mg_graph *g, const mg_machine *m) {
  double us = 0, maxima_us;
  mg_graph *flat = NULL;
  mg_sends s;
  mg_flat k;
  if (!m) m = mg_machine_at(0);
  if (mg_has_threads(g) && mg_inline_threads(g, &flat, NULL) == MG_OK) g = flat; /* a thread graph is what it fuses */
  if (!mg_sends_of(g, m, 1, &s)) us = MG_NO_TIME;
  for (uint32_t i = 1; i < g->n_ops && us < MG_NO_TIME; i++) {
    if (g->ops[i].code != MG_OP_GRAPH) us += mg_library_us(g, &g->ops[i], m);
    else if (mgi_flat_in(g, i, m, &s, &k, &maxima_us)) us += mg_flat_us(&k, m, NULL) + maxima_us;
    else us += 1e6;
  }
  mg_sends_free(&s);
  mg_graph_free(flat);
  return us < MG_NO_TIME ? us : MG_NO_TIME;
}

void mg_plan_kernel(mg_graph *block, const mg_machine *m) {
  mg_flat k;
  double us;
  if (!mg_flat_of(block, &k)) return;
  const mg_kernel_plan p = mg_flat_plan(&k, m ? m : mg_machine_at(0), &us, NULL);
  uint32_t named = 0;
  for (uint32_t j = 0; j < block->n_plan; j++)
    if (strchr(block->plan[j].key, '.')) block->plan[named++] = block->plan[j];
  block->n_plan = named;
  mg_plan_say(block, MG_PLAN_STAGES, NULL, p.stages);
  mg_plan_say(block, MG_PLAN_WARPS_M, NULL, p.warps_m);
  mg_plan_say(block, MG_PLAN_WARPS_N, NULL, p.warps_n);
  mg_plan_say(block, MG_PLAN_WARPS_K, NULL, p.warps_k);
  if (p.own || p.parts) mg_plan_say(block, MG_PLAN_RING, NULL, p.group ? MG_RING_GROUP : MG_RING_WARP);
  if (p.group) mg_plan_say(block, MG_PLAN_MMA, NULL, MG_MMA_WARPGROUP);
  block->threads = mgi_plan_threads(&p);
}

/* ------------------------------------------------------------------------------------------------- >>packing

   Dynamic storage allocation: a piece is a rectangle, steps by bytes, whose steps are given and whose offset is sought.
   Pieces that share a step may not share a byte, so one of each such pair lies below the other; in a smallest plan
   every piece can be let down until it rests on the floor or on a piece that it shares a step with.  Such plans are
   listed by branch and bound in the order of their offsets: the next piece rests on the highest of those placed before
   that it shares a step with, and no lower than the one before it.

       bytes |      ####c###           a rests on the floor, b too; c on the higher of the two.
             | ##a##    #b#            Order: a, b, c.
             +----------------- steps

   Bound: at each step the pieces still to come stand on each other, none below the place where it could rest now: the
   makespan of one machine with release dates, exact in order of these.  Of equal pieces the first comes first.
   Beyond MG_MEMORY_EXACT pieces a budget of nodes ends it; what it starts from is the best of four orders by first
   fit. */
typedef struct mgi_mem {
  const mg_memory_piece *piece;
  int id[MG_MEMORY_PIECES], n;       /* pieces that take anything, largest first */
  int64_t size[MG_MEMORY_PIECES], at[MG_MEMORY_PIECES], best_at[MG_MEMORY_PIECES]; /* in units of align */
  uint8_t meets[MG_MEMORY_PIECES][MG_MEMORY_PIECES], placed[MG_MEMORY_PIECES];
  int64_t best, least;               /* least: what is alive at some step at once */
  int64_t low[MG_MEMORY_PIECES + 1][MG_MEMORY_PIECES]; /* by depth: where each could rest */
  int64_t nodes, budget;             /* budget 0: none */
} mgi_mem;

MGI_FN int64_t mgi_mem_bound(const mgi_mem *M, const int64_t *low, const int *order, int n) {
  int64_t bound = 0;
  for (int s = 0; s < M->n; s++) { /* the steps at which a piece begins see every largest set that is alive at once */
    const int begin = M->piece[M->id[s]].begin;
    int64_t h = 0;
    for (int k = 0; k < n; k++) {
      const mg_memory_piece *p = &M->piece[M->id[order[k]]];
      if (p->begin > begin || p->end < begin) continue;
      if (low[order[k]] > h) h = low[order[k]];
      h += M->size[order[k]];
    }
    if (h > bound) bound = h;
  }
  return bound;
}
/* Places one more piece at or above `floor`; `top` is the height so far. */
MGI_FN void mgi_mem_branch(mgi_mem *M, int depth, int64_t floor, int last, int64_t top) {
  int64_t *low = M->low[depth];
  int order[MG_MEMORY_PIECES] = {0}, n = 0;
  if (M->best == M->least || (M->budget && ++M->nodes > M->budget)) return;
  if (depth == M->n) {
    M->best = top;
    memcpy(M->best_at, M->at, sizeof M->at);
    return;
  }
  for (int k = 0; k < M->n; k++) {
    if (M->placed[k]) continue;
    if (low[k] < floor) low[k] = floor;
    int j = n++;
    for (; j && low[order[j - 1]] > low[k]; j--) order[j] = order[j - 1];
    order[j] = k;
  }
  int64_t bound = mgi_mem_bound(M, low, order, n);
  if (bound >= M->best) return;
  for (int j = 0; j < n; j++) {
    const int k = order[j];
    int64_t rest = 0;
    int again = 0;
    for (int q = 0; q < M->n; q++) {
      if (M->placed[q] && M->meets[q][k] && M->at[q] + M->size[q] > rest) rest = M->at[q] + M->size[q];
      again |= q < k && !M->placed[q] && M->size[q] == M->size[k] &&
               M->piece[M->id[q]].begin == M->piece[M->id[k]].begin && M->piece[M->id[q]].end == M->piece[M->id[k]].end;
    }
    /* another order of offsets lists that plan */
    if (again || rest < floor || (rest == floor && k < last) || rest + M->size[k] >= M->best) continue;
    M->at[k] = rest;
    M->placed[k] = 1;
    int64_t *next = M->low[depth + 1], end = rest + M->size[k];
    for (int q = 0; q < M->n; q++) next[q] = M->meets[q][k] && low[q] < end ? end : low[q];
    mgi_mem_branch(M, depth + 1, rest, k, end > top ? end : top);
    M->placed[k] = 0;
  }
}
/* Each piece in `order` at the lowest place that is free for it. */
MGI_FN void mgi_mem_first_fit(mgi_mem *M, const int *order) {
  int64_t peak = 0;
  for (int j = 0; j < M->n; j++) {
    const int k = order[j];
    int64_t at = 0;
    for (int moved = 1; moved;) {
      moved = 0;
      for (int i = 0; i < j; i++) {
        const int q = order[i];
        if (M->meets[q][k] && M->at[q] < at + M->size[k] && at < M->at[q] + M->size[q])
          at = M->at[q] + M->size[q], moved = 1;
      }
    }
    M->at[k] = at;
    if (at + M->size[k] > peak) peak = at + M->size[k];
  }
  if (peak >= M->best) return;
  M->best = peak;
  memcpy(M->best_at, M->at, sizeof M->at);
}

int64_t mg_memory_plan(mg_memory_piece *piece, int n, int64_t align, int *exact) {
  int64_t sum = 0, peak;
  int order[MG_MEMORY_PIECES];
  if (exact) *exact = 0;
  if (n < 0 || n > MG_MEMORY_PIECES || align < 1) return -1;
  for (int k = 0; k < n; k++) {
    if (piece[k].bytes < 0 || piece[k].bytes > ((int64_t)1 << 62) - align - sum) return -1;
    sum += mg_round_up(piece[k].bytes, align);
    piece[k].offset = 0;
  }
  mgi_mem *M = (mgi_mem *)calloc(1, sizeof *M);
  if (!M) return -1;
  M->piece = piece;
  for (int k = 0; k < n; k++) { /* largest first: the number of a piece is its rank */
    if (!piece[k].bytes || piece[k].end < piece[k].begin) continue;
    int j = M->n++;
    for (; j && piece[M->id[j - 1]].bytes < piece[k].bytes; j--) M->id[j] = M->id[j - 1];
    M->id[j] = k;
  }
  for (int k = 0; k < M->n; k++) {
    const mg_memory_piece *p = &piece[M->id[k]];
    M->size[k] = mg_ceil_div(p->bytes, align);
    for (int q = 0; q < M->n; q++)
      M->meets[k][q] = q != k && piece[M->id[q]].begin <= p->end && p->begin <= piece[M->id[q]].end;
  }
  M->best = sum / align + 1;
  for (int how = 0; how < 4; how++) { /* as given; by size; by size times steps; by begin */
    for (int k = 0; k < M->n; k++) {
      int j = k;
      for (; j; j--) {
        const mg_memory_piece *a = &piece[M->id[order[j - 1]]], *b = &piece[M->id[k]];
        const double la = (double)a->bytes * ((double)a->end - a->begin + 1),
                     lb = (double)b->bytes * ((double)b->end - b->begin + 1);
        if (how == 0 ? M->id[order[j - 1]] < M->id[k] : how == 1 ? 1 : how == 2 ? la >= lb : a->begin <= b->begin)
          break;
        order[j] = order[j - 1];
      }
      order[j] = k;
    }
    mgi_mem_first_fit(M, order);
  }
  for (int k = 0; k < M->n; k++) order[k] = k;
  M->least = mgi_mem_bound(M, M->low[0], order, M->n);
  M->budget = M->n > MG_MEMORY_EXACT ? 100000 : 0;
  mgi_mem_branch(M, 0, 0, -1, 0);
  if (exact) *exact = M->best == M->least || !M->budget || M->nodes <= M->budget;
  for (int k = 0; k < M->n; k++) piece[M->id[k]].offset = M->best_at[k] * align;
  peak = M->n ? M->best * align : 0;
  free(M);
  return peak;
}

/* ------------------------------------------------------------------------------------------------ >>lifetimes

   The steps are walked over twice: without addresses, for the lifetimes; and once the pieces have theirs, for the
   barriers that these ask for beside. */

enum { MGI_OLDER = 1 << 30, MGI_FOREVER = 1 << 30 };
typedef struct mgi_memory_state {  /* of a piece */
  int read, written;             /* since the last barrier, by the statements before */
  int reads, writes;             /* by the one that is being written: a barrier within stands before it */
  int open_read, open_written;   /* in a loop whose warpgroups have barriers of their own: before one of those */
  int group, asked;              /* of copies under way: their group, or MGI_OLDER, 0: none are; the step that asked */
} mgi_memory_state;
typedef struct mgi_memory_walk {
  mg_memory *M;
  const mg_graph *block;
  mgi_memory_state of[MG_MEMORY_PIECES];
  int laid;                      /* 1: the pieces have addresses */
  int touches, passed, groups;   /* so far: touches; barriers of the block; groups of copies */
  int body[MG_MAX_AXES + 1], pieces[MG_MAX_AXES + 1]; /* by loop: where its body began, with how many pieces */
  mg_memory_step *now;
} mgi_memory_walk;

int mg_memory_piece_new(mg_memory *M, int64_t bytes) {
  if (M->n == MG_MEMORY_PIECES) return -1;
  memset(&M->piece[M->n], 0, sizeof *M->piece);
  M->piece[M->n].bytes = mg_round_up(bytes, 128);
  return M->n++;
}
mg_memory_step *mg_memory_note(mg_memory *M, mg_memory_step_kind kind, int piece, int n, uint32_t loop) {
  if (M->n_steps == M->room) {
    const int room = M->room ? 2 * M->room : 64;
    mg_memory_step *more = (mg_memory_step *)realloc(M->step, (size_t)room * sizeof *more);
    if (!more) M->no_memory = 1;
    else M->step = more, M->room = room;
  }
  if (M->no_memory) return NULL;
  mg_memory_step *s = &M->step[M->n_steps++];
  memset(s, 0, sizeof *s);
  s->kind = (uint8_t)kind;
  s->piece = (int16_t)piece;
  s->n = n;
  s->loop = loop;
  return s;
}
void mg_memory_clear(mg_memory *M) {
  M->n = M->n_steps = M->no_memory = 0;
  M->bytes = M->barriers = 0;
}
void mg_memory_free(mg_memory *M) {
  free(M->step);
  memset(M, 0, sizeof *M);
}

MGI_FN void mgi_memory_barrier(mgi_memory_walk *W) {
  const int group = W->M->by_group[W->now->loop];
  int64_t trips = 1;
  for (uint32_t a = W->now->loop; a && trips < 1 << 20; a = W->block->axes[a].parent) trips *= W->block->axes[a].extent;
  W->now->barrier = group ? MG_BARRIER_GROUP : MG_BARRIER_BLOCK;
  W->M->barriers += trips;
  if (!group) W->passed++;
  for (int k = 0; k < W->M->n; k++) {
    mgi_memory_state *p = &W->of[k];
    if (group) { /* the others have not met */
      p->open_read |= p->read;
      p->open_written |= p->written;
    }
    p->read = p->written = 0;
  }
}
/* What cp.async brings, up to that group, is there for the thread that asked for it. */
MGI_FN void mgi_memory_arrive(mgi_memory_walk *W, int group) {
  const int newer = group == MGI_OLDER ? 0 : W->groups - group;
  for (int k = 0; k < W->M->n; k++) {
    mgi_memory_state *p = &W->of[k];
    if (!p->group || (newer && p->group > group)) continue;
    p->group = 0;
    p->written = 1;
    W->now->waits = newer;
  }
}
/* 1 if piece k has to be waited for before the piece that shares its addresses is written. */
MGI_FN int mgi_memory_meets(const mgi_memory_walk *W, int k, int piece) {
  const mg_memory_life *a = &W->M->piece[k], *b = &W->M->piece[piece];
  const mgi_memory_state *p = &W->of[k];
  if (k == piece || !(p->read || p->written)) return 0;
  return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}
MGI_FN void mgi_memory_touch(mgi_memory_walk *W, int piece, int write) {
  mg_memory_life *o = &W->M->piece[piece];
  mgi_memory_state *p = &W->of[piece];
  int hazard = p->written || (write && p->read);
  if (p->group) {
    mgi_memory_arrive(W, p->group);
    hazard = 1;
  }
  for (int k = 0; k < W->M->n && W->laid && write; k++) hazard |= mgi_memory_meets(W, k, piece);
  if (hazard) mgi_memory_barrier(W);
  W->touches++;
  if (W->touches < o->begin) {
    o->begin = W->touches;
    o->first = W->passed;
  }
  if (W->touches >= o->end) {
    o->end = W->touches;
    o->last = W->passed;
  }
  *(write ? &p->writes : &p->reads) = 1;
  for (uint32_t a = W->now->loop; write && a; a = W->block->axes[a].parent) W->M->written[a] = 1;
}
MGI_FN void mgi_memory_ends(mgi_memory_walk *W, mg_memory_life *o) {
  o->end = W->touches;
  o->last = W->passed;
}
/* What was there before a loop's body and is touched in it is alive to here.  Without a barrier where an iteration
   begins (`open`) all that is touched in it is. */
MGI_FN void mgi_memory_loop_end(mgi_memory_walk *W, uint32_t loop, int ring, int open) {
  const int body = W->body[loop];
  W->touches++;
  if (ring >= 0) {
    mgi_memory_ends(W, &W->M->piece[ring]);
    W->of[ring].read = W->of[ring].written = 1;
  }
  for (int k = 0; k < W->M->n; k++) {
    mg_memory_life *o = &W->M->piece[k];
    mgi_memory_state *p = &W->of[k];
    p->read |= p->open_read; /* what a warpgroup's barriers separated is still to be, for the others */
    p->written |= p->open_written;
    p->open_read = p->open_written = 0;
    if (o->end < body || (k >= W->pieces[loop] && !open)) continue;
    if (o->end <= W->touches) mgi_memory_ends(W, o);
    if (o->begin > body) o->begin = body;
  }
}
MGI_FN void mgi_memory_older(mgi_memory_walk *W, int from) {
  for (int k = 0; k < W->M->n; k++)
    if (W->of[k].group && W->of[k].asked >= from) W->of[k].group = MGI_OLDER;
}
MGI_FN void mgi_memory_ring_next(mgi_memory_walk *W, int older) {
  for (int k = 0; k < (older < 0 ? W->M->n : older); k++) {
    mgi_memory_state *p = &W->of[k];
    if (!p->group || (older < 0 && p->group == MGI_OLDER)) continue;
    p->group = 0;
    p->written = 1;
  }
}
/* The statement before ends here.  It may read one piece while it writes another, in whatever order they were noted: no
   two of them lie at one address. */
MGI_FN void mgi_memory_begin(mgi_memory_walk *W) {
  for (int k = 0; k < W->M->n; k++) {
    mgi_memory_state *p = &W->of[k];
    if ((p->reads || p->writes) && W->M->piece[k].end < W->touches) mgi_memory_ends(W, &W->M->piece[k]);
    p->read |= p->reads;
    p->written |= p->writes;
    p->reads = p->writes = 0;
  }
}
MGI_FN int mgi_memory_any_written(const mgi_memory_walk *W) {
  for (int k = 0; k < W->M->n; k++)
    if (W->of[k].written || W->of[k].writes) return 1;
  return 0;
}
MGI_FN void mgi_memory_step(mgi_memory_walk *W, mg_memory_step *s) {
  mg_memory_life *o = s->piece >= 0 ? &W->M->piece[s->piece] : NULL;
  mgi_memory_state *p = s->piece >= 0 ? &W->of[s->piece] : NULL;
  W->now = s;
  s->waits = -1;
  s->barrier = MG_BARRIER_NONE;
  switch (s->kind) {
  case MG_STEP_BEGIN: mgi_memory_begin(W); break;
  case MG_STEP_READ: mgi_memory_touch(W, s->piece, 0); break;
  case MG_STEP_WRITE: mgi_memory_touch(W, s->piece, 1); break;
  case MG_STEP_BARRIER: mgi_memory_barrier(W); break;
  case MG_STEP_BARRIER_IN:
    if (!W->laid || W->M->written[s->loop]) mgi_memory_barrier(W);
    break;
  case MG_STEP_BARRIER_TO:
    if (W->laid && !W->M->written[s->n] && mgi_memory_any_written(W)) mgi_memory_barrier(W);
    break;
  case MG_STEP_SYNCED:
  case MG_STEP_CLEAR:
    mgi_memory_begin(W);
    W->passed += s->kind == MG_STEP_SYNCED;
    if (o && o->last < W->passed) o->last = W->passed; /* it is read behind that barrier */
    for (int k = 0; k < W->M->n; k++) {
      mgi_memory_state *q = &W->of[k];
      q->read = q->written = k == s->piece;
    }
    break;
  case MG_STEP_ASK:
    p->group = ++W->groups;
    p->asked = (int)(s - W->M->step);
    break;
  case MG_STEP_ASK_RING: W->groups += s->n; break;
  case MG_STEP_OLDER: mgi_memory_older(W, s->n); break;
  case MG_STEP_ARRIVE: mgi_memory_arrive(W, MGI_OLDER); break;
  case MG_STEP_ARRIVE_FOR:
    if (p->group) mgi_memory_arrive(W, p->group);
    break;
  case MG_STEP_RING_NEXT: mgi_memory_ring_next(W, s->n); break;
  case MG_STEP_UNTOUCHED: p->written = p->writes = 0; break;
  case MG_STEP_ALWAYS:
  case MG_STEP_ONWARD:
    if (s->kind == MG_STEP_ALWAYS) o->begin = o->first = 0;
    o->end = o->last = MGI_FOREVER;
    break;
  case MG_STEP_JOIN:
    W->touches++;
    mgi_memory_ends(W, o);
    break;
  case MG_STEP_JOINED: p->written = 1; break;
  case MG_STEP_COPIES: break;
  case MG_STEP_LOOP:
    mgi_memory_begin(W); /* what it touched does not live through the loop */
    W->body[s->loop] = ++W->touches;
    W->pieces[s->loop] = s->n;
    break;
  default: mgi_memory_loop_end(W, s->loop, s->piece, s->n); break;
  }
}
MGI_FN void mgi_memory_walk_over(mg_memory *M, const mg_graph *block, int laid) {
  mgi_memory_walk W;
  memset(&W, 0, sizeof W);
  W.M = M;
  W.block = block;
  W.laid = laid;
  M->barriers = 0;
  for (int k = 0; k < M->n_steps; k++) mgi_memory_step(&W, &M->step[k]);
  mgi_memory_begin(&W);
}

/* Whether some piece that threads write, or have cp.async write, before the ring of step s lies in part where that
   does. */
MGI_FN int mgi_memory_over(const mg_memory *M, const mg_memory_step *s) {
  const mg_memory_life *ring = &M->piece[s->n];
  for (int k = 0; k < M->n && s->n < M->n; k++) {
    const mg_memory_life *o = &M->piece[k];
    int brought = k == s->n || (!s->loop && o->begin >= ring->begin);
    for (int j = 0; j < M->n_steps && !brought; j++) brought = M->step[j].kind == MG_STEP_COPIES && M->step[j].n == k;
    if (!brought && o->offset < ring->offset + ring->bytes && ring->offset < o->offset + o->bytes) return 1;
  }
  return 0;
}
int mg_memory_lay_out(mg_memory *M, const mg_graph *block, int64_t align, const mg_machine *m, int64_t most) {
  const int64_t sm = m->shared_per_sm; /* each block takes 1024 bytes more than it asks for */
  mg_memory_piece tight[MG_MEMORY_PIECES], loose[MG_MEMORY_PIECES];
  mg_memory_life found[MG_MEMORY_PIECES];
  if (M->no_memory) return 0;
  memset(M->written, 0, sizeof M->written);
  for (int k = 0; k < M->n; k++) {
    mg_memory_life *o = &M->piece[k];
    o->begin = MGI_FOREVER;
    o->end = o->first = o->last = 0;
  }
  mgi_memory_walk_over(M, block, 0);
  for (int k = 0; k < M->n; k++) {
    const mg_memory_life *o = &M->piece[k];
    const mg_memory_piece touches = { o->bytes, o->begin, o->end, 0 };
    const mg_memory_piece barriers = { o->bytes, o->first, o->begin > o->end ? o->first - 1 : o->last, 0 };
    tight[k] = touches;
    loose[k] = barriers;
  }
  const int64_t least = mg_memory_plan(tight, M->n, align, NULL), room = mg_memory_plan(loose, M->n, align, NULL);
  if (least < 0 || room < 0) return 0;
  int64_t by_tight = sm / (least + 1024), by_loose = sm / (room + 1024);
  if (by_tight > most) by_tight = most;
  if (by_loose > most) by_loose = most;
  const mg_memory_piece *plan = by_loose < by_tight || by_loose < 1 ? tight : loose;
  M->bytes = plan == tight ? least : room;
  for (int k = 0; k < M->n; k++) M->piece[k].offset = plan[k].offset;
  memcpy(found, M->piece, sizeof found);
  mgi_memory_walk_over(M, block, 1);
  memcpy(M->piece, found, sizeof found); /* lifetimes are those without the barriers that addresses ask for */
  for (int k = 0; k < M->n_steps; k++)
    if (M->step[k].kind == MG_STEP_COPIES) M->step[k].over = mgi_memory_over(M, &M->step[k]);
  return 1;
}

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_PLAN_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_PLAN_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
