/* mirage_plan.h - v0.1.0 - what a kernel may count on: the machines, as rows of data, in one C header

   WHAT
     Holds the table of machines (GPUs) that programs are searched and emitted for, and answers every question that the
     search (mirage_search.h) and the emitter (mirage_cuda.cuh) ask of one: what it is called, what it can do, how large
     it is, how fast it is.  No other header compares the name of an architecture, or knows the size of a machine.
     Needs mirage.h and libc.

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
     >>machines                                                    declarations
     >>machine-table  >>architectures  >>machine-questions         implementation

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

   ERRORS
     Functions return NULL or 0 where there is no such machine.  Nothing else can fail.

   MEMORY
     Nothing is allocated.  Rows are constant and live as long as the program.

   THREADS
     No mutable globals: every function may be called from any thread.

   DOES NOT
     Ask the GPU that is here, or measure it.  A row of a machine that nobody has measured is a guess: it ranks
     candidates, it promises no times.
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

typedef struct mg_machine {
  const char *name, *arch;     /* "H200"; "sm_90a", what nvcc is told */
  uint32_t can;                /* the sum of its MG_CAN_.. */
  int sms;                     /* multiprocessors (SMs) */
  int threads_per_sm;          /* that a multiprocessor holds at once */
  int64_t shared_per_block;    /* bytes of shared memory that a block may ask for */
  int64_t shared_per_sm;       /* bytes of shared memory; the system takes 1024 of them for each block */
  int64_t registers_per_sm;    /* registers of 4 bytes */
  int64_t l2_bytes;
  double dram_gbps, l2_gbps;   /* GB/s of the whole chip: device memory; the L2 cache */
  double tensor_tflops;        /* TFLOP/s: products by mma.sync, f16 with f32 accumulation */
  double fp32_tflops;          /* TFLOP/s: plain f32 */
  double shared_bytes_us;      /* bytes a microsecond of one multiprocessor's shared memory */
  double launch_us;            /* microseconds of an empty kernel in a CUDA graph */
  double barrier_us;           /* microseconds of a barrier of a block, with the bubble that it makes in a pipeline */
  const char *source;          /* where the rates come from: begins with "measured" or "scaled" */
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

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_PLAN_H */

#if defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_PLAN_IMPLEMENTATION)
#ifndef MIRAGE_PLAN_IMPLEMENTED
#define MIRAGE_PLAN_IMPLEMENTED

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
      with f32 accumulation (the RTX 3080's: with f16), plain f32, boost clock.  From the RTX 3090 on a rate is its peak
      times the share of its own peak that an older row has:
        device memory   0.894   of the H200, 4290 of 4800 GB/s
        plain f32       0.747   of the H200, 50 of 66.9 TFLOP/s
        L2              0.383   of the H200, 6400 of 132 SMs * 1.98 GHz * 64 bytes; the B200's, which that would put
                                below its device memory, is 1.49 times the latter, as the H200's is
        shared memory   0.789   of the H200, 200000 of 1980 MHz * 128 bytes
        products        0.566   of the H200, 560 of 989 TFLOP/s, for the B200: both sheets count another instruction
                                than mma.sync; 0.80 of the A100, 250 of 312, for the others, whose own it is
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

/*  name          arch      can          SMs  threads  shared memory   registers  L2       a row's first line
                                         /SM      /block  /SM     /SM        MiB
    DRAM    L2       tensor  f32   shared    launch    source                                its second
    GB/s    GB/s     TFLOP/s       bytes/us  us   barrier, us                                                         */
#define MG_BUILTIN_MACHINES(M)                                                                                         \
  M("H200",       "sm_90a",  MGI_CAN_90,  132, 2048,    232448, 233472, 65536,      60,                                \
    4290.0, 6400.0,  560.0,  50.0, 200000.0, 1.1, 0.05, "measured: memory and products; else scaled data sheet")       \
  M("H100",       "sm_90a",  MGI_CAN_90,  132, 2048,    232448, 233472, 65536,      50,                                \
    3000.0, 6400.0,  560.0,  50.0, 200000.0, 1.1, 0.05, MGI_SCALED "SXM5, 3350 GB/s; else as the H200")                \
  M("A100",       "sm_80",   MGI_CAN_80,  108, 2048,    166912, 167936, 65536,      40,                                \
    1400.0, 4500.0,  250.0,  15.0, 160000.0, 1.5, 0.06, MGI_SCALED "40 GB, 1555 GB/s, 312 and 19.5 TFLOP/s")           \
  M("RTX3080",    "sm_86",   MGI_CAN_80,   68, 1536,    101376, 102400, 65536,       5,                                \
    680.0,  2200.0,  105.0,  22.0, 190000.0, 1.5, 0.06, MGI_SCALED "760 GB/s, 119 and 29.8 TFLOP/s")                   \
  M("RTX3090",    "sm_86",   MGI_CAN_80,   82, 1536,    101376, 102400, 65536,       6,                                \
    837.0,  3400.0,  57.0,   26.6, 171000.0, 1.5, 0.06, MGI_SCALED "936 GB/s, 71 and 35.6 TFLOP/s, 1.70 GHz")          \
  M("RTX4090",    "sm_89",   MGI_CAN_89,  128, 1536,    101376, 102400, 65536,      72,                                \
    901.0,  7900.0,  132.0,  61.7, 254500.0, 1.5, 0.06, MGI_SCALED "1008 GB/s, 165 and 82.6 TFLOP/s, 2.52 GHz")        \
  M("L40S",       "sm_89",   MGI_CAN_89,  142, 1536,    101376, 102400, 65536,      96,                                \
    772.0,  8770.0,  290.0,  68.4, 254500.0, 1.5, 0.06, MGI_SCALED "864 GB/s, 362 and 91.6 TFLOP/s, 2.52 GHz")         \
  M("B200",       "sm_100a", MGI_CAN_100, 148, 2048,    232448, 233472, 65536,     126,                                \
    7150.0, 10670.0, 1274.0, 56.0, 198500.0, 1.1, 0.05, MGI_SCALED "8000 GB/s, 2250 and 75 TFLOP/s, 1.97 GHz")         \
  M("RTX5090",    "sm_120",  MGI_CAN_120, 170, 1536,    101376, 102400, 65536,      96,                                \
    1602.0, 10030.0, 168.0,  78.3, 243100.0, 1.1, 0.05, MGI_SCALED "1792 GB/s, 210 and 104.8 TFLOP/s, 2.41 GHz")       \
  M("RTXPRO6000", "sm_120",  MGI_CAN_120, 188, 1536,    101376, 102400, 65536,     128,                                \
    1602.0, 12060.0, 403.0,  93.4, 264300.0, 1.1, 0.05, MGI_SCALED "1792 GB/s, 504 and 125 TFLOP/s, 2.62 GHz")

#ifndef MG_USER_MACHINES
#define MG_USER_MACHINES(M)
#endif

static const mg_machine mgi_machines[] = {
#define MGI_M(name, arch, can, sms, threads, block, sm, registers, l2_mib, dram, l2, tensor, f32, shared, launch,      \
              barrier, source)                                                                                         \
  { name, arch, can, sms, threads, block, sm, registers, (int64_t)(l2_mib) << 20,                                      \
    dram, l2, tensor, f32, shared, launch, barrier, source },
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
  if (group > 8) filled = filled * 28 / 33;
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

#ifdef __cplusplus
}
#endif
#endif /* MIRAGE_PLAN_IMPLEMENTED */
#endif /* MIRAGE_IMPLEMENTATION || MIRAGE_PLAN_IMPLEMENTATION */

/* Licence: public domain (Unlicense), or MIT-0 where that is preferred.  History: 0.1.0, first version. */
