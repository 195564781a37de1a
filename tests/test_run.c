/* Link 3 and its drivers: compilers and their cache, runs and measurements, on stand-ins for nvcc, driver and runtime where
   there is no GPU.  Run from the top directory.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_run.c -o build/test_run -lcmocka -lm -lpthread -ldl && build/test_run */
#define _DEFAULT_SOURCE /* setenv, truncate */
#define MG_USER_OPS(E, T) E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "copy.h"
#include "sums.h"

static const char *include_dir(void) { return getenv("MIRAGE_INCLUDE") ? getenv("MIRAGE_INCLUDE") : "."; }


/* nvcc's result is kept under a key of everything that it depends on; what it refuses is said in its words. */
static void compiles_once(void **state) {
  (void)state;
  mg_compile_config c;
  mg_error e;
  char dir[400], a[600], b[600];
  struct stat st, again;
  memset(&c, 0, sizeof c);
  memset(&e, 0, sizeof e);
  c.include_dir = include_dir();
  c.runner = 1;
  assert_int_equal(mgi_cd_temp_dir(NULL, dir, sizeof dir, NULL), MG_OK);
  c.cache_dir = dir;
  static const char text[] = "#include \"mirage_cuda.cuh\"\nextern \"C\" int one(void) { return 1; }\n";
  mg_status s = mg_cuda_compile(text, &c, a, sizeof a, &e);
  if (s == MG_MACHINE) {
    print_message("%s\n", e.msg);
    rmdir(dir);
    skip();
  }
  if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  void *so = dlopen(a, RTLD_NOW);
  if (!so) fail_msg("%s", dlerror());
  assert_non_null(dlsym(so, "one"));
  assert_non_null(dlsym(so, "mgi_runner_run"));
  dlclose(so);
  const struct utimbuf old = {1000, 1000};
  assert_int_equal(utime(a, &old), 0);
  assert_int_equal(stat(a, &st), 0);
  assert_int_equal(mg_cuda_compile(text, &c, b, sizeof b, &e), MG_OK);
  assert_string_equal(a, b);
  assert_int_equal(stat(a, &again), 0);
  assert_true(st.st_ino == again.st_ino && again.st_mtime > st.st_mtime); /* the same file, used now */
  c.arch = "sm_80";
  assert_int_equal(mg_cuda_compile(text, &c, b, sizeof b, &e), MG_OK);
  assert_string_not_equal(a, b);
  unlink(b);
  assert_int_equal(mg_cuda_compile("#error \"this is no kernel\"\n", &c, b, sizeof b, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "this is no kernel"));
  unlink(a);
  assert_int_equal(rmdir(dir), 0); /* nothing else was left */
}
/* Without a GPU there is one clear line. */
static void run_without_gpu(void **state) {
  (void)state;
  mg_error e;
  mg_run_report r;
  int major, minor;
  if (mgi_run_device(&major, &minor, &e) == MG_OK) skip();
  mg_graph *g = parse(copy_graph);
  assert_int_equal(mg_cuda_run(g, copy_kernel, NULL, &r, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "no CUDA device"));
  mg_calibration row;
  memset(&e, 0, sizeof e);
  assert_int_equal(mg_cuda_calibrate(NULL, &row, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "no CUDA device"));
  mg_graph_free(g);
}

/* --------------------------------------------------------------------------------------------- link 3 without a GPU
   A driver library, an nvcc and a CUDA runtime that stand in: memory is the host's, launches are emulated. */
static const char fake_driver[] =
    "#include <string.h>\nstatic int at_init;\n"
    "extern \"C\" {\n"
    "void fake_init_result(int rc) { at_init = rc; }\n"
    "int cuInit(unsigned) { return at_init; }\n"
    "int cuDeviceGetCount(int *n) { *n = 1; return 0; }\n"
    "int cuDeviceGet(int *d, int) { *d = 0; return 0; }\n"
    "int cuDeviceGetAttribute(int *v, int what, int) { *v = what == 75 ? 9 : 0; return 0; }\n"
    "int cuModuleLoadData(void **m, const void *) { *m = &at_init; return 0; }\n"
    "int cuModuleGetFunction(void **f, void *, const char *name) { *f = strcmp(name, \"copy_kernel0\") ? 0 : &at_init; return *f ? 0 : 500; }\n"
    "int cuFuncSetAttribute(void *, int, int) { return 0; }\n"
    "unsigned fake_launch[8]; const void *fake_args[2];\n"
    "int cuLaunchKernelEx(const unsigned *how, void *, void **args, void **) { memcpy(fake_launch, how, sizeof fake_launch); for (int k = 0; k < 2; k++) fake_args[k] = *(void **)args[k]; return 0; }\n"
    "int cuGetErrorString(int, const char **s) { *s = \"the fake driver is too old\"; return 0; }\n"
    "}\n";
static const char fake_nvcc[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")\n"
    "[ \"$1\" = --version ] && { echo stand-in; exit 0; }\n"
    "for a; do last=$a; case $prev in -o) so=$a;; esac; case $a in -I*) inc=$a;; esac; prev=$a; done\n"
    "exec g++ -std=c++17 -O1 -w -shared -fPIC -DMG_EMULATE -DMG_RUNNER -D__CUDACC__ -I\"$here\" \"$inc\" -o \"$so\" -x c++ \"$last\"\n";
static const char fake_runtime[] =
    "#pragma once\n"
    "#include <stdlib.h>\n#include <string.h>\n"
    "typedef void *cudaStream_t, *cudaGraph_t, *cudaGraphExec_t, *cudaEvent_t;\n"
    "enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorMisalignedAddress = 716 };\n"
    "enum { cudaMemcpyDeviceToDevice, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaStreamNonBlocking, cudaStreamCaptureModeThreadLocal };\n"
    "struct cudaDeviceProp { char name[256]; int multiProcessorCount, major, minor, l2CacheSize, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, regsPerMultiprocessor; size_t sharedMemPerBlockOptin, sharedMemPerMultiprocessor; };\n"
    "#define FAKE static inline cudaError_t\n"
    "FAKE cudaSetDevice(int) { static mgi_emulator m; m.size = sizeof m; mgi_emulate_setup(&m); return cudaSuccess; }\n"
    "FAKE cudaGetDeviceProperties(cudaDeviceProp *p, int) { strcpy(p->name, \"stand-in\"); p->multiProcessorCount = 7; p->major = 9; p->minor = 0; p->l2CacheSize = 10000; p->maxThreadsPerMultiProcessor = 2048; p->maxBlocksPerMultiProcessor = 32; p->regsPerMultiprocessor = 65536; p->sharedMemPerBlockOptin = 232448; p->sharedMemPerMultiprocessor = 233472; return cudaSuccess; }\n"
    "FAKE cudaDriverGetVersion(int *v) { *v = 13000; return cudaSuccess; }\nFAKE cudaRuntimeGetVersion(int *v) { *v = 12080; return cudaSuccess; }\n"
    "FAKE cudaStreamCreateWithFlags(cudaStream_t *s, int) { *s = 0; return cudaSuccess; }\nFAKE cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }\n"
    "FAKE cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }\n"
    "FAKE cudaMemGetInfo(size_t *f, size_t *a) { *f = *a = 1 << 20; return cudaSuccess; }\n"
    "FAKE cudaMalloc(void **p, size_t n) { if (getenv(\"FAKE_FAULT\") && n == strtoul(getenv(\"FAKE_FAULT\"), 0, 10)) abort(); *p = malloc(n); return *p ? cudaSuccess : cudaErrorMemoryAllocation; }\nFAKE cudaFree(void *p) { free(p); return cudaSuccess; }\n"
    "FAKE cudaMemcpyAsync(void *d, const void *s, size_t n, int, cudaStream_t) { memcpy(d, s, n); if (getenv(\"FAKE_WRONG\") && n > strtoul(getenv(\"FAKE_WRONG\"), 0, 10)) ((char *)d)[n - 4] ^= 1; return cudaSuccess; }\n"
    "FAKE cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t) { memset(d, v, n); return cudaSuccess; }\n"
    "static inline uint64_t &fake_blocks() { static uint64_t n; return n; }\n" /* the emulator's, where the capture began */
    "FAKE cudaStreamBeginCapture(cudaStream_t, int) { fake_blocks() = mgi_emu_job()->blocks; return cudaSuccess; }\nFAKE cudaStreamEndCapture(cudaStream_t, cudaGraph_t *g) { *g = 0; return cudaSuccess; }\n"
    "FAKE cudaGraphInstantiateWithFlags(cudaGraphExec_t *e, cudaGraph_t, int) { *e = 0; return cudaSuccess; }\nFAKE cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }\n"
    "FAKE cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }\nFAKE cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }\n"
    "FAKE cudaEventCreate(cudaEvent_t *e) { *e = 0; return cudaSuccess; }\nFAKE cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }\n"
    "FAKE cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }\nFAKE cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }\n"
    "FAKE cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { static float t; if (getenv(\"FAKE_BLOCKS\")) { *ms = (float)(mgi_emu_job()->blocks - fake_blocks()) / 1000; return cudaSuccess; } *ms = (getenv(\"FAKE_MS\") ? atof(getenv(\"FAKE_MS\")) : 0.5f) + (t += 0.25f); return cudaSuccess; }\n"
    "static inline const char *cudaGetErrorString(cudaError_t) { return \"stand-in error\"; }\nstatic inline const char *cudaGetErrorName(cudaError_t) { return \"cudaErrorStandIn\"; }\n";

static mg_status run_bug(const mg_graph *g, int bug, const mg_run_config *c, mg_run_report *r, mg_error *e) {
  char head[64];
  snprintf(head, sizeof head, "#define BUG %d\n", bug);
  char *text = join(head, copy_kernel);
  memset(e, 0, sizeof *e);
  mg_status s = mg_cuda_run(g, text, c, r, e);
  free(text);
  return s;
}
/* ---- a place where the stand-ins are built */
typedef struct stand_in { char dir[400], path[4][500], cache[500]; void *driver; void (*init_result)(int); } stand_in;
static void stand_in_begin(stand_in *w) {
  char dir[400];
  assert_int_equal(mgi_cd_temp_dir(NULL, dir, sizeof dir, NULL), MG_OK);
  snprintf(w->dir, sizeof w->dir, "%s", dir);
  static const char *const name[] = {"driver.cc", "nvcc", "cuda_runtime.h", "libcuda.so.1"}, *const text[] = {fake_driver, fake_nvcc, fake_runtime};
  for (int k = 0; k < 4; k++) {
    snprintf(w->path[k], sizeof w->path[k], "%s/%s", dir, name[k]);
    if (k < 3) assert_true(mgi_cd_write(w->path[k], text[k], strlen(text[k])));
  }
  assert_int_equal(chmod(w->path[1], 0700), 0);
  const char *argv[] = {"g++", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", w->path[0], "-o", w->path[3], NULL};
  mgi_child child;
  assert_true(mgi_child_start(&child, argv, 60));
  assert_int_equal(mgi_child_wait(&child), 0);
  w->driver = dlopen(w->path[3], RTLD_NOW); /* from here on found by its name */
  assert_non_null(w->driver);
  *(void **)&w->init_result = dlsym(w->driver, "fake_init_result");
  snprintf(w->cache, sizeof w->cache, "%s/cache", dir);
}
static void stand_in_end(stand_in *w) {
  char line[600];
  dlclose(w->driver);
  snprintf(line, sizeof line, "rm -rf '%s'", w->dir);
  assert_int_equal(system(line), 0);
}
static int gpu_here; /* asked in a child, before any stand-in */
static int ask_gpu(void) {
  mgi_measured m;
  mg_run_config c;
  int fd, pid;
  memset(&c, 0, sizeof c);
  pid = mgi_measure_child(NULL, 0, 0, &c, NULL, NULL, NULL, &fd);
  if (pid < 0) return 0;
  int told = mgi_whole_io(fd, &m, sizeof m, 0);
  mgi_measure_end(pid, fd);
  return told && m.s == MG_OK;
}

/* The families of the numerics: a chain in another order hands on what passes f16, and what rounds where the program's does not; as two
   numbers by a power of two it is as safe as written.  More rows and columns than are judged. */
static void numerics_on(const stand_in *w) {
  static const char program[] = "program chain\ninput A : f16[160, 64]\ninput B : f16[64, 128]\ninput D : f16[128, 192]\nE = matmul(matmul(A, B), D)\noutput E\n";
  static const char form[] =
      "program chain\ninput A : f16[160, 64]\ninput B : f16[64, 128]\ninput D : f16[128, 192]\nH = kernel grid=(x=6, y=4) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp %s}\n"
      "  for i=4 {\n    b = load B {y->0, i->1}\n    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
      "E = kernel grid=(x=3, y=10) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp }\n"
      "  for i=2 {\n    a = load A {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n  }\n  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\noutput E\n";
  mg_run_config c;
  mg_numerics_report r;
  mg_error e;
  mg_graph *p = parse(program);
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir(), c.cache_dir = w->cache, c.nvcc = w->path[1], c.seed = 5;
  for (int split = 0; split < 2; split++) {
    char text[1200], *cu;
    snprintf(text, sizeof text, form, split ? "h.store=split " : "");
    mg_graph *g = parse(text);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    memset(&e, 0, sizeof e);
    const mg_status s = mg_cuda_run_numerics(p, g, cu, &c, &r, &e);
    if (s != (split ? MG_OK : MG_NOT_FOUND)) fail_msg("split %d: %s: %s, %d unsafe", split, e.where, e.msg, r.unsafe);
    assert_true(r.ran == r.families && r.binding >= 30 && r.has_fault == !split && !r.without_wide);
    for (int k = 0; k < r.families; k++) assert_true(!(r.bad[k] & 2) && (!split || !r.bad[k]));
    if (!split) { /* one fault, seen where it is: (row, column) of what is judged */
      assert_true(r.fault.output == 0 && r.fault.row < MGI_GPU_ROWS && r.fault.element < MGI_GPU_ROWS * MGI_GPU_COLS && !r.fault.wide);
      const mg_status own = mg_cuda_run_numerics(NULL, g, cu, &c, &r, &e);
      char line[600];
      mg_numerics_line(&r, line, sizeof line);
      if (own != MG_OK) fail_msg("by its own kernels: %s", line); /* as they are written it is safe */
    }
    mg_string_free(cu);
    mg_graph_free(g);
  }
  mg_graph_free(p);
}
/* Every call of a launch is timed alone: here a call takes a microsecond for each of its blocks. */
static void calls_on(const stand_in *w) {
  static const char text[] =
      "program two\ninput A : f16[32, 64]\ninput B : f16[64, 128]\n"
      "H = kernel grid=(x=4, y=2) threads=32 {\n  a = load A {y->0}\n  b = load B {x->1}\n  t = matmul(a, b)\n  store t {y->0, x->1}\n}\n"
      "%sO = kernel grid=(x=2) threads=32 {\n  h = load %s {x->0}\n  e = scale(h, 1/2)\n  store e {x->0}\n}\noutput O\n";
  mg_run_config c;
  mg_run_report r;
  mg_error e;
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir(), c.cache_dir = w->cache, c.nvcc = w->path[1], c.seed = 5, c.calls = 1;
  setenv("FAKE_BLOCKS", "1", 1);
  for (int library = 0; library < 2; library++) {
    char two[1200], *cu;
    snprintf(two, sizeof two, text, library ? "S = sqr(H)\n" : "", library ? "S" : "H");
    mg_graph *g = parse(two);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    for (int cold = 0; cold < 2; cold++) {
      const double blocks[3] = {8, library ? 16 : 2, 2}; /* an operator: 256 elements a block */
      double sum = 0;
      c.cold = cold;
      if (mg_cuda_run(g, cu, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      assert_int_equal(r.n_calls, library + 2);
      for (int k = 0; k < r.n_calls; sum += blocks[k++]) {
        assert_float_equal(r.call_us_hot[k], blocks[k], 1e-3);
        assert_float_equal(r.call_us_cold[k], cold ? blocks[k] : 0, 1e-3);
      }
      assert_float_equal(r.us_hot, sum, 1e-3);
    }
    mg_string_free(cu);
    mg_graph_free(g);
  }
  unsetenv("FAKE_BLOCKS");
}
/* A row's bits are those that it has in a smaller member; of the least there is none. */
static void rows_on(const stand_in *w) {
  mg_run_config c;
  mg_run_report r;
  mg_error e;
  int64_t sym[1] = {9};
  mg_graph *g = parse(SUMS_GRAPH);
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir(), c.cache_dir = w->cache, c.nvcc = w->path[1], c.no_time = 1, c.seed = 3, c.sym = sym;
  for (int hangs = 0; hangs < 2; hangs++) {
    if (mg_cuda_run(g, hangs ? SUMS("7 * n") : SUMS("0 * n"), &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(r.rows, hangs ? -1 : 1);
    assert_true(r.rows_at[0] >= 1 && r.rows_at[0] < 9);
  }
  sym[0] = 1;
  assert_int_equal(mg_cuda_run(g, SUMS("0 * n"), &c, &r, &e), MG_OK);
  assert_int_equal(r.rows, 0);
  sym[0] = 10;
  assert_int_equal(mg_cuda_run(g, SUMS("0 * n"), &c, &r, &e), MG_BAD_INPUT);
  mg_graph_free(g);
  /* What is contracted is another sum in a smaller member: nothing is compared. */
  g = parse("program sums\nsym n in 1..9\ninput X : f32[n, 64]\nS = sum(X, dim=0)\noutput S\n");
  sym[0] = 9;
  char *column = replaced(SUMS("0 * n"), "k < 64; k++) s = s + mg_widen(mg_ldg(X + mg_bid(0) * 64 + (k + 0 * n) % 64));", "k < n; k++) s = s + mg_widen(mg_ldg(X + k * 64 + mg_bid(0)));");
  char *columns = replaced(column, "MG_LAUNCH(sums_k0, sym[0],", "MG_LAUNCH(sums_k0, 64,");
  if (mg_cuda_run(g, columns, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(r.rows, 0);
  free(column), free(columns), mg_graph_free(g);
  /* Of fewer queries each sees more of the keys: nothing either. */
  g = parse("program f\nsym n in 1..9\ninput X : f32[n, 12]\ninput C : f32[n, 12] = causal\nO = kernel grid=(x=n) threads=32 {\n"
            "  x = load X {x->0}\n  c = load C {x->0}\n  o = add(x, c)\n  store o {x->0}\n}\noutput O\n");
  if (mg_cuda_emit(g, NULL, &column, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (mg_cuda_run(g, column, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(r.rows, 0);
  mg_string_free(column), mg_graph_free(g);
}
/* The kernels of mg_cuda_calibrate find what they should, and a word that is another is seen.  A GPU that takes these times is none. */
static void calibrates_on(const stand_in *w) {
  mg_error e;
  mg_run_config c;
  mg_calibration r;
  memset(&c, 0, sizeof c);
  memset(&e, 0, sizeof e);
  c.include_dir = include_dir(), c.cache_dir = w->cache, c.nvcc = w->path[1];
  setenv("FAKE_MS", "30", 1); /* two steps last long enough */
  assert_int_equal(mg_cuda_calibrate(&c, &r, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "of stand-in: expected dram_gbps from 1 to 1e+06, found 0.0"));
  assert_true(r.file.m.sms == 7 && r.file.m.shared_per_sm == 233472 && r.file.m.blocks_per_sm == 32 && r.runs == 15);
#define MGI_F(kind, type, name, low, high, text) assert_true(r.name.least > 0 && r.name.least <= r.name.median && r.name.median <= r.name.most);
  MG_MACHINE_RATES(MGI_F)
#undef MGI_F
  setenv("FAKE_WRONG", "1000", 1);
  assert_int_equal(mg_cuda_calibrate(&c, &r, &e), MG_MACHINE);
  assert_string_equal(e.msg, "fp32_tflops: thread 255 of block 27 did not find what it should");
  unsetenv("FAKE_WRONG");
  unsetenv("FAKE_MS");
}
static void run_on_stand_in(void **state) {
  (void)state;
  stand_in w;
  mg_error e;
  mg_run_config c;
  mg_run_report r, again;
  if (gpu_here) skip();
  stand_in_begin(&w);
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir();
  c.cache_dir = w.cache;
  c.nvcc = w.path[1];
  c.cold = 1;
  mg_graph *g = parse(copy_graph);
  mg_status s = run_bug(g, 0, &c, &r, &e);
  if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_string_equal(r.gpu, "stand-in");
  assert_true(r.relative_error > 0 && r.relative_error < 1e-3);
  assert_int_equal(r.cold_sets, 4 * 10000 / 3840 + 1);
  assert_int_equal(r.launches, 33); /* 11 sets, three times */
  assert_int_equal(r.bytes, 3840);
  assert_true(r.us_hot > 0 && r.us_hot_min <= r.us_hot && r.us_cold > r.us_hot);
  c.seed = 7;
  c.no_time = 1;
  assert_int_equal(run_bug(g, 0, &c, &again, &e), MG_OK);
  assert_true(again.seed == 7 && again.relative_error != r.relative_error); /* fresh inputs by default */
  assert_int_equal(run_bug(g, 1, &c, &r, &e), MG_NOT_FOUND);
  assert_non_null(strstr(e.msg, "relative error"));
  assert_int_equal(run_bug(g, 3, &c, &r, &e), MG_NOT_FOUND);
  assert_non_null(strstr(e.msg, "3 output elements were not written"));
  assert_int_equal(run_bug(g, 11, &c, &r, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "launch: stand-in error"));
  w.init_result(100);
  assert_int_equal(run_bug(g, 0, &c, &r, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "no CUDA device: the fake driver is too old"));
  w.init_result(0);
  mg_graph_free(g);
  numerics_on(&w);
  calls_on(&w);
  rows_on(&w);
  calibrates_on(&w);
  stand_in_end(&w);
}

/* The row that is made of times: those of an H200. */
static void calibrated_row(void **state) {
  (void)state;
  mg_error e;
  mg_calibration r;
  mgi_calibrate_job job;
  char date[32];
  memset(&job, 0, sizeof job);
  job.m = *mg_machine_find("H200");
  snprintf(job.run.gpu, sizeof job.run.gpu, "NVIDIA H200 (\xC2\xB5)");
  for (int k = 0; k < MGI_CALIBRATE_RUNS; k++) {
#define MGI_F(kind, type, name, low, high, text) job.name[k] = job.m.name * (1 + 0.0001234 * ((k * 7) % MGI_CALIBRATE_RUNS - 7));
    MG_MACHINE_RATES(MGI_F)
#undef MGI_F
  }
  assert_int_equal(mgi_calibrate_row(&job, "sm_90a", &r, &e), MG_OK);
  assert_string_equal(r.file.m.name, "H200_____");
  assert_string_equal(r.file.m.arch, "sm_90a");
  assert_true(r.file.m.dram_gbps == job.m.dram_gbps && r.file.m.barrier_us == job.m.barrier_us && r.file.m.block_draw == job.m.block_draw && r.file.m.can == mg_machine_find("H200")->can);
  assert_true(r.dram_gbps.least < job.m.dram_gbps && r.dram_gbps.most > job.m.dram_gbps);
  assert_int_equal(strncmp(r.file.m.source, "measured: mirage calibrate, 2", 29), 0);
  assert_non_null(strstr(r.file.m.source, ", NVIDIA H200 (__)"));
  char text[MG_MACHINE_TEXT];
  mg_machine_file f;
  mg_machine_print(&r.file.m, text);
  assert_int_equal(mg_machine_parse(text, strlen(text), "row", &f, &e), MG_OK);
  assert_int_equal(mgi_calibrate_row(&job, "sm_103", &r, &e), MG_OK); /* no row has it: as the newest older one */
  assert_string_equal(r.file.m.arch, "sm_100");
  assert_false(mg_machine_can(&r.file.m, MG_CAN_WARPGROUP));
  static const struct { int64_t day; const char *date; } days[] = {{0, "1970-01-01"}, {11016, "2000-02-29"}, {11017, "2000-03-01"}, {20454, "2026-01-01"}, {20778, "2026-11-21"}, {47540, "2100-02-28"}, {47541, "2100-03-01"}};
  for (size_t k = 0; k < sizeof days / sizeof *days; k++) {
    mgi_calibrate_date(days[k].day * 86400 + 86399, date);
    assert_string_equal(date, days[k].date);
  }
}

/* Candidates of one program, one after the other: a right one, one of another function, one that faults, one that cannot
   be emitted, and a right one behind them. */
#define SPLIT(last, op, plan)                                                                                                                  \
  "program split\ninput A : f16[16, 64]\ninput B : f16[64, 32]\nC = kernel grid=(x=2, y=2) threads=32 {\n  for i=2 {\n    a = load A {y->1, i->1}\n" \
  "    b = load B {x->1, y->0, i->0}\n    t = matmul(a, b)\n  }\n  s = accum(t) {y->+, i->+}\n  o = " op "\n  store o {x->1, y->" last "}\n" plan "}\noutput C\n"
static void measures(void **state) {
  (void)state;
  static const char *const text[] = {SPLIT("*", "relu(s)", "  plan { stages=2 merge=cluster }\n"), SPLIT("*", "exp(s)", "  plan { stages=2 merge=cluster }\n"),
                                     SPLIT("*", "relu(s)", "  plan { stages=2 merge=workspace }\n"), SPLIT("*", "relu(s)", "  plan { stages=99 }\n"),
                                     "program split\ninput A : f16[16, 64]\ninput B : f16[64, 32]\nt = matmul(A, B)\nC = relu(t)\noutput C\n"};
  stand_in w;
  mg_error e, why[5];
  mg_run_config c;
  mg_run_report r[5];
  mg_status status[5];
  mg_graph *g[5];
  double us[5];
  char *cu;
  if (gpu_here) skip();
  memset(&c, 0, sizeof c);
  for (int k = 0; k < 5; k++) g[k] = parse(text[k]);
  assert_int_equal(mg_cuda_measure(g[4], (const mg_graph *const *)g, 5, &c, r, status, why, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "no CUDA device"));
  stand_in_begin(&w);
  c.include_dir = include_dir();
  c.cache_dir = w.cache;
  c.nvcc = w.path[1];
  c.cold = 1;
  for (int fault = 0; fault < 2; fault++) {
    if (fault) { /* the workspace that only the third has, as the runner asks for it */
      char bytes[40];
      mgi_workspace_fn workspace;
      assert_int_equal(mg_cuda_emit(g[2], NULL, &cu, &e), MG_OK);
      void *so = dlopen(r[2].so_path, RTLD_NOW);
      assert_non_null(so);
      *(void **)&workspace = dlsym(so, "split_workspace_bytes");
      snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)workspace());
      assert_int_not_equal(workspace(), 0);
      dlclose(so);
      mg_string_free(cu);
      setenv("FAKE_FAULT", bytes, 1);
    }
    memset(why, 0, sizeof why);
    mg_status s = mg_cuda_measure(g[4], (const mg_graph *const *)g, 5, &c, r, status, why, &e);
    if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(status[0], MG_OK);
    assert_true(r[0].us_hot > 0 && r[0].us_cold > 0 && r[0].relative_error < 1e-3 && !strcmp(r[0].gpu, "stand-in"));
    assert_int_equal(status[1], MG_NOT_FOUND);
    assert_non_null(strstr(why[1].msg, "relative error"));
    assert_int_equal(status[2], fault ? MG_MACHINE : MG_OK);
    if (fault) assert_non_null(strstr(why[2].msg, "its run was ended"));
    assert_true(status[3] != MG_OK && why[3].msg[0]);
    if (status[4] != MG_OK) fail_msg("the program itself: %s", why[4].msg);
    assert_true(r[4].us_cold > 0 && r[4].seed == r[0].seed);
  }
  unsetenv("FAKE_FAULT");
  assert_int_equal(mg_cuda_measure_us(&c, g[4], (const mg_graph *const *)g, 5, us, &e), MG_OK);
  assert_true(us[0] > 0 && us[1] == 0 && us[2] > 0 && us[3] == 0 && us[4] > 0);
  for (int k = 0; k < 5; k++) mg_graph_free(g[k]);
  stand_in_end(&w);
}

/* Several texts, two compilers at a time; the refused one is told, and stops nobody.  A damaged entry is made again, and
   those used longest ago go when the cache is too large. */
static void compiles_many(void **state) {
  (void)state;
  stand_in w;
  mg_error e, why[6];
  mg_compile_config c;
  mg_status status[6];
  char so[6][MG_SO_PATH], text[6][80], again[MG_SO_PATH];
  const char *texts[6];
  struct stat st;
  stand_in_begin(&w);
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir();
  c.cache_dir = w.cache;
  c.nvcc = w.path[1];
  c.jobs = 2;
  for (int k = 0; k < 6; k++) {
    snprintf(text[k], sizeof text[k], k == 2 ? "#error \"no kernel\"\n" : "extern \"C\" int number(void) { return %d; }\n", k);
    texts[k] = k == 4 ? NULL : text[k];
    status[k] = MG_LIMIT;
  }
  assert_int_equal(mg_cuda_compile_all(texts, 6, &c, so, status, why, &e), MG_OK);
  for (int k = 0; k < 6; k++) {
    if (k == 2) {
      assert_int_equal(status[k], MG_BAD_INPUT);
      assert_non_null(strstr(why[k].msg, "no kernel"));
      continue;
    }
    if (k == 4) {
      assert_int_equal(status[k], MG_LIMIT);
      continue;
    }
    if (status[k] != MG_OK) fail_msg("%s: %s", why[k].where, why[k].msg);
    int (*number)(void);
    void *lib = dlopen(so[k], RTLD_NOW);
    assert_non_null(lib);
    *(void **)&number = dlsym(lib, "number");
    assert_int_equal(number(), k);
    dlclose(lib);
  }
  for (int k = 0; k < 6; k++) texts[k] = "extern \"C\" int number(void) { return 7; }\n", status[k] = MG_OK; /* the same, side by side */
  c.jobs = 6;
  char same[6][MG_SO_PATH];
  assert_int_equal(mg_cuda_compile_all(texts, 6, &c, same, status, why, &e), MG_OK);
  for (int k = 0; k < 6; k++)
    if (status[k] != MG_OK || stat(same[k], &st)) fail_msg("%d: %s: %s", k, why[k].where, why[k].msg);
  c.jobs = 2;
  for (int damage = 0; damage < 3; damage++) {
    assert_int_equal(stat(so[0], &st), 0);
    if (damage == 0) assert_int_equal(truncate(so[0], st.st_size / 2), 0);
    else {
      FILE *f = fopen(so[0], damage == 1 ? "rb+" : "wb");
      assert_non_null(f);
      if (damage == 1) fseek(f, 200, SEEK_SET), fputc('!', f), fputc('?', f);
      fclose(f);
    }
    assert_int_equal(mgi_cache_whole(so[0]), 0);
    assert_int_equal(mg_cuda_compile(text[0], &c, again, sizeof again, &e), MG_OK);
    assert_string_equal(again, so[0]);
    assert_int_equal(mgi_cache_whole(so[0]), 1);
  }
  struct utimbuf old = {1000, 1000};
  assert_int_equal(utime(so[1], &old), 0);
  old.modtime = 2000;
  assert_int_equal(utime(so[3], &old), 0);
  assert_int_equal(mg_cuda_compile(text[1], &c, again, sizeof again, &e), MG_OK); /* used now */
  c.cache_bytes = (int64_t)st.st_size * 9 / 2; /* there are five: one goes */
  assert_int_equal(mg_cuda_compile(text[0], &c, again, sizeof again, &e), MG_OK);
  assert_true(!access(so[0], R_OK) && !access(so[1], R_OK) && access(so[3], R_OK) && !access(so[5], R_OK) && !access(same[0], R_OK));
  stand_in_end(&w);
}

/* By NVRTC: the machine code travels in the object, and the driver is asked to launch its kernel with what the file says. */
static void nvrtc_launches(void **state) {
  (void)state;
  stand_in w;
  mgi_rtc rtc;
  mg_error e;
  mg_compile_config c;
  mg_graph *g = parse("program copy\ninput X : f16[24, 40]\nO = kernel grid=(x=3) threads=64 {\n  a = load X {x->0}\n  o = exp(a)\n  store o {x->0}\n}\noutput O\n");
  char so[MG_SO_PATH], cache[400], *cu;
  if (gpu_here || !mgi_rtc_open(&rtc)) {
    mg_graph_free(g);
    skip();
  }
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir();
  assert_int_equal(mgi_cd_temp_dir(NULL, cache, sizeof cache, NULL), MG_OK);
  c.cache_dir = cache;
  c.runner = 1;
  assert_int_equal(mg_cuda_emit(g, NULL, &cu, &e), MG_OK);
  if (mg_cuda_compile(cu, &c, so, sizeof so, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  int status = 0, pid = (int)fork(); /* the driver that the object loads stays */
  assert_true(pid >= 0);
  if (!pid) {
    mgi_child_signals();
    stand_in_begin(&w);
    mgi_launch_fn launch = NULL;
    void *lib = dlopen(so, RTLD_NOW);
    if (!lib) _exit(1);
    *(void **)&launch = dlsym(lib, "copy_launch");
    if (!launch || !dlsym(lib, "mgi_runner_run")) _exit(2);
    const void *in[1] = {&w};
    void *out[1] = {&rtc};
    if (launch(in, out, NULL, NULL)) _exit(3);
    const unsigned *how = (const unsigned *)dlsym(w.driver, "fake_launch");
    const void **args = (const void **)dlsym(w.driver, "fake_args");
    if (how[0] != 3 || how[1] != 1 || how[2] != 1 || how[3] != 64 || how[4] != 1 || how[5] != 1) _exit(4);
    if (args[0] != &w || args[1] != &rtc) _exit(5);
    stand_in_end(&w);
    _exit(0);
  }
  assert_true(waitpid(pid, &status, 0) == pid);
  assert_int_equal(status, 0);
  assert_int_equal(unlink(so), 0);
  assert_int_equal(rmdir(cache), 0);
  mg_string_free(cu);
  mg_graph_free(g);
}

/* Matmuls at kernel level, and what follows them, through a cuBLASLt that stands in: what is handed over makes the results of the
   program.  It proposes four algorithms, of which the third is the fastest by the driver that stands in, and the second fails. */
static const char fake_blas[] =
    "#include <stdint.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "struct desc { int sums, scale, turned[2], act; const float *bias; };\n"
    "struct layout { int type, batches; uint64_t rows, cols; int64_t pitch, apart; };\n"
    "struct choice { uint64_t algo[8]; size_t space; int status; float waves; int reserved[4]; };\n"
    "extern \"C\" {\nint fake_calls, fake_last, fake_live;\n"
    "int cublasLtCreate(void **h) { *h = &fake_calls; return 0; }\n"
    "static int make(void **to, void *from, size_t n) { *to = malloc(n); memcpy(*to, from, n); fake_live++; return 0; }\n"
    "static int put(void *to, const void *p, size_t n, size_t has) { if (n == has) memcpy(to, p, n); return n == has ? 0 : 7; }\n"
    "static int end(void *p) { free(p); fake_live--; return 0; }\n"
    "int cublasLtMatmulDescCreate(void **d, int sums, int scale) { desc x = {sums, scale, {0, 0}, 1, 0}; return make(d, &x, sizeof x); }\n"
    "int cublasLtMatmulDescDestroy(void *d) { return end(d); }\n"
    "int cublasLtMatmulDescSetAttribute(void *to, int what, const void *p, size_t n) {\n  desc *d = (desc *)to;\n"
    "  if (what == 3 || what == 4) return put(&d->turned[what - 3], p, n, 4);\n"
    "  if (what == 7) return put(&d->act, p, n, 4);\n  return what == 8 ? put(&d->bias, p, n, sizeof(void *)) : 7;\n}\n"
    "int cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t pitch) {\n"
    "  layout x = {type, 1, rows, cols, pitch, 0};\n  return pitch < (int64_t)rows ? 7 : make(l, &x, sizeof x);\n}\n"
    "int cublasLtMatrixLayoutDestroy(void *l) { return end(l); }\n"
    "int cublasLtMatrixLayoutSetAttribute(void *to, int what, const void *p, size_t n) {\n  layout *l = (layout *)to;\n"
    "  return what == 5 ? put(&l->batches, p, n, 4) : what == 6 ? put(&l->apart, p, n, 8) : 7;\n}\n"
    "int cublasLtMatmulPreferenceCreate(void **p) { int x[16] = {0}; return make(p, x, sizeof x); }\n"
    "int cublasLtMatmulPreferenceDestroy(void *p) { return end(p); }\n"
    "int cublasLtMatmulPreferenceSetAttribute(void *to, int what, const void *p, size_t n) {\n"
    "  if (what == 1) return n == 8 && *(const uint64_t *)p == 32 << 20 ? 0 : 7;\n"
    "  return what >= 5 && what <= 8 && n == 4 ? put((int *)to + what, p, n, 4) : 7;\n}\n"
    "int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *pref, int most, choice *list, int *n) {\n"
    "  for (int i = 5; i < 9; i++) if (((int *)pref)[i] < 4) return 7;\n"
    "  for (*n = 0; *n < 4 && *n < most; ++*n) memset(&list[*n], 0, sizeof *list), list[*n].algo[3] = (uint64_t)*n;\n  return 0;\n}\n"
    "int cublasLtMatmul(void *, void *with, const float *one, const float *A, void *a_, const float *B, void *b_, const float *beta, const float *C, void *c_, float *D, void *d_, const uint64_t *algo,\n"
    "                   void *space, size_t room, void *) {\n"
    "  const desc *d = (const desc *)with;\n  const layout *a = (const layout *)a_, *b = (const layout *)b_, *c = (const layout *)c_, *o = (const layout *)d_;\n"
    "  const long m = (long)o->rows, n = (long)o->cols, k = (long)(d->turned[0] ? a->rows : a->cols);\n  fake_calls++;\n  fake_last = (int)algo[3];\n"
    "  if (algo[3] == 1) return 13;\n  if (algo[3] == 2 && n == 7) return 15;\n"
    "  if (d->sums != 68 || d->scale || a->type || b->type || o->type || *one != 1 || !space || room != 32 << 20 || (C == D && *beta != 0)) return 7;\n"
    "  if ((long)(d->turned[0] ? a->cols : a->rows) != m || (long)(d->turned[1] ? b->rows : b->cols) != n || (long)(d->turned[1] ? b->cols : b->rows) != k) return 7;\n"
    "  for (int z = 0; z < o->batches; z++) for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) {\n"
    "    double v = *beta != 0 ? *beta * (double)C[z * c->apart + i + j * c->pitch] : 0;\n"
    "    for (long x = 0; x < k; x++) v += (double)A[z * a->apart + (d->turned[0] ? x + i * a->pitch : i + x * a->pitch)] * B[z * b->apart + (d->turned[1] ? j + x * b->pitch : x + j * b->pitch)];\n"
    "    if (d->act & 4) v += d->bias[i];\n"
    "    D[z * o->apart + i + j * o->pitch] = (float)v;\n  }\n  return 0;\n}\n}\n";
static const char fake_events[] =
    "#include <dlfcn.h>\nextern \"C\" {\nint fake_capturing;\nint cuCtxGetDevice(int *d) { *d = 3; return 0; }\n"
    "int cuStreamIsCapturing(void *, int *yes) { *yes = fake_capturing; return 0; }\nint cuEventCreate(void **e, unsigned) { *e = &fake_capturing; return 0; }\n"
    "int cuEventDestroy_v2(void *) { return 0; }\nint cuEventRecord(void *, void *) { return 0; }\nint cuEventSynchronize(void *) { return 0; }\n"
    "int cuEventElapsedTime(float *ms, void *, void *) {\n  void *lib = dlopen(\"libcublasLt.so.13\", RTLD_NOW | RTLD_NOLOAD);\n"
    "  const int last = *(int *)dlsym(lib, \"fake_last\");\n  *ms = last == 2 ? 1.0f : 1.1f + 0.1f * last;\n  return 0;\n}\n}\n";
/* One launch, with a size if `n` is not 0; whether what it makes is what the program says. */
static int blas_matches_at(const mg_graph *g, const char *so, int64_t n) {
  mgi_tensors x;
  mg_error e;
  mgi_launch_fn launch = NULL;
  int (*sized)(const void *const *in, void *const *out, void *workspace, const int64_t *sym, void *stream) = NULL;
  mgi_workspace_fn workspace = NULL;
  uint64_t unwritten = 0, undefined = 0;
  int64_t worst;
  void *lib = dlopen(so, RTLD_NOW);
  if (!lib || mgi_run_expected(g, 5, &x, &e) != MG_OK) return 0;
  *(void **)&launch = dlsym(lib, "blas_launch");
  *(void **)&workspace = dlsym(lib, "blas_workspace_bytes");
  if (!launch || !workspace || workspace() < 32 << 20) return 0;
  void *space = calloc(1, workspace());
  if (!space) return 0;
  *(void **)&sized = *(void **)&launch;
  if (n ? sized((const void *const *)x.in, x.out, space, &n, NULL) : launch((const void *const *)x.in, x.out, space, NULL)) return 0;
  free(space);
  return mgi_tensors_error(g, &x, 0, NULL, NULL, &unwritten, &undefined, &worst, NULL) < 1e-6;
}
static int blas_matches(const mg_graph *g, const char *so) { return blas_matches_at(g, so, 0); }
static void stand_in_built(const stand_in *w, const char *name, const char *text, char lib[500]) {
  char source[500], soname[200];
  mgi_child child;
  snprintf(source, sizeof source, "%s/%s.cc", w->dir, name);
  snprintf(soname, sizeof soname, "-Wl,-soname,%s", name);
  snprintf(lib, 500, "%s/%s", w->dir, name);
  assert_true(mgi_cd_write(source, text, strlen(text)));
  const char *argv[] = {"g++", "-shared", "-fPIC", soname, source, "-o", lib, "-ldl", NULL};
  assert_true(mgi_child_start(&child, argv, 60));
  assert_int_equal(mgi_child_wait(&child), 0);
}
enum { ROWS = 4 };
static const int64_t rows[ROWS] = {5, 16, 7, 17};
/* In a child: every launch by the stand-in; 0, or where it fails.  The n-th file is of the programs from there on, at rows. */
static int blas_launches(mg_graph *const *g, char (*so)[MG_SO_PATH], const int *products, int n, const char *lib, const char *driver) {
  void *blas = dlopen(lib, RTLD_NOW), *events = driver ? dlopen(driver, RTLD_NOW) : NULL;
  if (!blas || (driver && !events)) return 1;
  int *calls = (int *)dlsym(blas, "fake_calls"), *last = (int *)dlsym(blas, "fake_last"), *live = (int *)dlsym(blas, "fake_live");
  int *capturing = events ? (int *)dlsym(events, "fake_capturing") : NULL;
  if (!calls || !last || !live || (events && !capturing)) return 2;
  for (int k = 0; k < n; k++) {
    if (events) { /* what is captured is not timed; that comes later */
      *capturing = 1, *calls = 0;
      if (!blas_matches(g[k], so[k]) || *calls != products[k] || *last != 0) return 10 + k;
      *capturing = 0;
    }
    *calls = 0;
    if (!blas_matches(g[k], so[k]) || (*calls > products[k]) != (events != NULL) || *last != (events ? 2 : 0)) return 30 + k;
    *calls = 0;
    if (!blas_matches(g[k], so[k]) || *calls != products[k] || *last != (events ? 2 : 0)) return 50 + k;
  }
  /* Rows that come with the launch: timed once for 1 to 16, and again beyond; of 7, the fastest has nothing. */
  for (int k = 0; k < ROWS; k++) {
    const int times = events && (k == 0 || k == 3), fastest = events && rows[k] != 7 ? 2 : 0;
    *calls = 0;
    if (!blas_matches_at(g[n + k], so[n], rows[k]) || (*calls > 1 + (events && rows[k] == 7)) != times || *last != fastest) return 70 + k;
  }
  return *live ? 3 : 0; /* descriptors that nothing freed */
}
#define LINEAR(n) "input A : f32[" n ", 7]\ninput B : f32[7, 4]\nC = matmul(A, B)\noutput C\n"
static void library_products(void **state) {
  (void)state;
  static const char *const text[] = {
      "program blas\ninput A : f32[5, 7]\ninput B : f32[7, 4]\nC = matmul(A, B)\noutput C\n",
      "program blas\ninput A : f32[5, 7] @ [1, 0]\ninput B : f32[7, 4] @ [1, 0]\nC = matmul(A, B)\noutput C\n",
      "program blas\ninput A : f32[3, 5, 7]\ninput B : f32[3, 7, 4] @ [0, 2, 1]\ninput D : f32[4, 6]\nC = matmul(A, B)\nO = matmul(C, D)\noutput O\n",
      "program blas\ninput A : f32[1, 7]\ninput B : f32[7, 1] @ [1, 0]\nC = matmul(A, B)\noutput C\n",
      "program blas\ninput A : f32[5, 7]\ninput B : f32[7, 4]\ninput R : f32[5, 4]\nO = add(R, matmul(A, B))\noutput O\n",
      "program blas\ninput A : f32[3, 5, 7]\ninput B : f32[7, 4] @ [1, 0]\ninput R : f32[3, 5, 4]\ninput V : f32[4]\n"
      "O = add(add(matmul(A, B), V), R)\noutput O\n",
      "program blas\ninput A : f32[5, 7]\ninput B : f32[7, 4]\ninput V : f32[1, 4]\ninput E : f32[4, 7] @ [1, 0]\n"
      "C = add(matmul(A, B), V)\nO = add(matmul(C, E), A)\noutput O\n"};
  enum { N = sizeof text / sizeof *text };
  static const int products[N] = {1, 1, 2, 1, 1, 1, 2};
  mgi_rtc rtc;
  mg_error e;
  mg_compile_config c;
  stand_in w;
  static char so[N + 1][MG_SO_PATH];
  char lib[500], driver[500], *cu;
  mg_graph *g[N + ROWS], *family = parse("program blas\nsym n in 1..40\n" LINEAR("n"));
  if (!mgi_rtc_open(&rtc)) skip();
  stand_in_begin(&w);
  dlclose(w.driver); /* NVRTC asks a driver that is loaded for more than the stand-in has */
  memset(&c, 0, sizeof c);
  c.include_dir = include_dir();
  c.cache_dir = w.cache;
  c.runner = 1;
  for (int k = 0; k <= N; k++) {
    if (k < N) g[k] = parse(text[k]);
    if (mg_cuda_emit(k < N ? g[k] : family, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    if (mg_cuda_compile(cu, &c, so[k], sizeof so[k], &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    mg_string_free(cu);
  }
  for (int k = 0; k < ROWS; k++) {
    char at[200];
    snprintf(at, sizeof at, "program blas\n" LINEAR("%d"), (int)rows[k]);
    g[N + k] = parse(at);
  }
  stand_in_built(&w, "libcublasLt.so.13", fake_blas, lib);
  stand_in_built(&w, "libcuda.so.1", fake_events, driver);
  for (int timed = 0; timed < 2; timed++) {
    int status = 0, pid = (int)fork();
    assert_true(pid >= 0);
    if (!pid) {
      mgi_child_signals();
      _exit(blas_launches(g, so, products, N, lib, timed ? driver : NULL));
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status >> 8, 0);
    assert_int_equal(status, 0);
  }
  for (int k = 0; k < N + ROWS; k++) mg_graph_free(g[k]);
  mg_graph_free(family);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", w.dir);
  assert_int_equal(system(command), 0);
}

/* A search ranks by the hook's times, those that failed last; where the hook cannot, the predicted order stands, and why is told. */
static int hook_fails, hook_saw, hook_program;
static mg_status hook(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  assert_ptr_equal(user, &hook_saw);
  hook_saw = n;
  hook_program = 0;
  for (int k = 0; k < n; k++) {
    us[k] = k == 1 ? 0 : 100.0 - k;
    hook_program += mg_is_program(g[k]) && g[k]->n_ops == program->n_ops;
  }
  return hook_fails ? mg_fail(e, MG_MACHINE, "hook", "no GPU today") : MG_OK;
}
static int wary(void *user, const mg_graph *g) {
  assert_ptr_equal(user, &hook_program);
  return mg_is_program(g);
}
static void search_ranks(void **state) {
  (void)state;
  mg_graph *p = parse("program two\ninput X : f16[16, 256]\ninput A : f16[256, 64]\ninput B : f16[256, 64]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result plain, r;
  mg_error e;
  c.top_k = 4;
  assert_int_equal(mg_search(p, &c, &plain, &e), MG_OK);
  assert_true(plain.n == 4 && plain.stats.measured_us == 0 && !plain.stats.unmeasured[0]);
  c.measure = hook, c.measure_user = &hook_saw;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  assert_int_equal(hook_saw, 5);
  assert_int_equal(hook_program, 1);
  assert_int_equal(r.n, 4);
  assert_true(mg_is_program(r.graph[0]) && r.measured_us[0] == 96 && r.stats.measured_us == 96 && !r.stats.unmeasured[0]); /* the last of the five */
  static const int was[] = {4, 3, 2, 0}; /* the second failed, and is behind the four */
  for (int k = 1; k < 4; k++) assert_true(r.measured_us[k] == 100 - was[k] && r.predicted_us[k] == plain.predicted_us[was[k]]);
  mg_search_result_free(&r);
  c.wary = wary, c.user = &hook_program; /* the fastest is not to be preferred: behind the three that are slower */
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  static const int then[] = {3, 2, 0, 4};
  for (int k = 0; k < 4; k++) assert_true(r.measured_us[k] == 100 - then[k] && (k == 3) == mg_is_program(r.graph[k]));
  assert_true(r.stats.measured_us == 97);
  mg_search_result_free(&r);
  hook_fails = 1;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  assert_int_equal(r.n, 4);
  for (int k = 0; k < 4; k++) assert_true(mg_hash(r.graph[k]) == mg_hash(plain.graph[k]) && r.measured_us[k] == 0);
  assert_string_equal(r.stats.unmeasured, "no GPU today");
  hook_fails = 0;
  mg_search_result_free(&r);
  mg_search_result_free(&plain);
  mg_graph_free(p);
}

int main(int argc, char **argv) {
  (void)argc, (void)argv; /* nothing here is random */
  gpu_here = ask_gpu();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(search_ranks), cmocka_unit_test(compiles_many), cmocka_unit_test(compiles_once), cmocka_unit_test(nvrtc_launches), cmocka_unit_test(library_products),
      cmocka_unit_test(run_without_gpu), cmocka_unit_test(measures), cmocka_unit_test(calibrated_row), cmocka_unit_test(run_on_stand_in)}; /* the last: mg_cuda_run keeps the driver open */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
