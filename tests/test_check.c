/* Links 2 and 3: the emulator of the device wrappers, the reduction of sizes, the drivers.  Run from the top directory.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_check.c -o build/test_check -lcmocka -lm -lpthread && build/test_check [SEED] */
#define MG_USER_OPS(E, T)                                                                                     \
  E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))                                    \
  T(FLIP, "flip", 1, MG_KB_, DIM, FLIP, OPAQUE, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "copy.h"

mg_status mgi_shape_FLIP(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  if (A->dim < 0 || A->dim >= in->rank) return mg_fail(e, MG_BAD_INPUT, "flip", "no dimension %d", (int)A->dim);
  *out = *in;
  return MG_OK;
}

static uint64_t seed = 1;


/* ---------------------------------------------------------------------------------------------- kernels by hand */


/* Sums of squares of rows: a tree in shared memory behind barriers, then shuffles in one warp. */
static const char rows_graph[] =
    "program rows\n"
    "input X : f16[8, 256] @ [1, 0]\n"
    "S = kernel grid=(x=2) threads=128 {\n"
    "  a = load X {x->0}\n"
    "  s = sum(sqr(a), dim=1)\n"
    "  store s {x->0}\n"
    "}\n"
    "output S\n";
static const char rows_kernel[] =
    "#include \"mirage_cuda.cuh\"\n"
    "MG_KERNEL(128) void rows_k0(const mg_f16 *X, mg_f16 *S) {\n"
    "  mg_num *part = (mg_num *)mg_shared();\n"
    "  for (int r = 0; r < 4; r++) {\n"
    "    mg_num s = mg_zero();\n"
    "    for (int k = mg_tid(); k < 256; k += 128) {\n"
    "      mg_num a = mg_widen(mg_ldg(X + k * 8 + mg_bid(0) * 4 + r));\n"
    "      s += mg_dev_SQR(a, mg_zero(), mg_zero());\n"
    "    }\n"
    "    part[mg_tid()] = s;\n"
    "    if (BUG != 1) mg_sync();\n"
    "    if (mg_tid() < 32) {\n"
    "      s = part[mg_tid()] + part[mg_tid() + 32] + part[mg_tid() + 64] + part[mg_tid() + 96];\n"
    "      for (int m = 16; m > (BUG == 2 ? 1 : 0); m /= 2) s = s + mg_shfl_xor(s, m);\n"
    "      if (mg_lane() == 0) mg_stg(S + mg_bid(0) * 4 + r, mg_narrow<mg_f16>(s));\n"
    "    }\n"
    "    if (BUG == 4 && mg_tid() < 64) mg_sync();\n"
    "    if (BUG == 5 && mg_lane() < 16) mg_sync_warp();\n"
    "    if (BUG == 6) { if (mg_lane() < 16) mg_sync_warp(); else s = mg_shfl_xor(s, 1); }\n"
    "    if (BUG != 3) mg_sync();\n"
    "  }\n"
    "  if (BUG == 7 && mg_tid() == 5) return;\n"
    "  mg_sync();\n"
    "}\n"
    "extern \"C\" size_t rows_workspace_bytes(void) { return 0; }\n"
    "extern \"C\" int rows_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {\n"
    "  (void)workspace;\n"
    "  return MG_LAUNCH(rows_k0, 2, 1, 1, 128, 512, stream, (const mg_f16 *)in[0], (mg_f16 *)out[0]);\n"
    "}\n";

/* A matrix product: cp.async ring of three stages, ldmatrix, mma, masks at all three edges, an epilogue. */
static const char mm_graph[] =
    "program mm\n"
    "input X : f16[13, 136]\n"
    "input W : f16[136, 136]\n"
    "O = kernel grid=(x=9) threads=64 {\n"
    "  for i=9 {\n"
    "    a = load X {x->*, i->1}\n"
    "    w = load W {x->1, i->0}\n"
    "    b = matmul(a, w)\n"
    "  }\n"
    "  o = silu(accum(b) {i->+})\n"
    "  store o {x->1}\n"
    "}\n"
    "output O\n";
static const char mm_kernel[] =
    "#include \"mirage_cuda.cuh\"\n"
    "enum { M = 13, PITCH = 24 };\n"
    "MG_DEV int mm_valid(int64_t left) { return left <= 0 ? 0 : left >= 8 ? 16 : (int)left * 2; }\n"
    "MG_KERNEL(64) void mm_k0(const mg_f16 *X, const mg_f16 *W, mg_f16 *O, int64_t K, int64_t N, int loops) {\n"
    "  mg_f16 *sh = (mg_f16 *)mg_shared();\n"
    "  auto stage = [&](int i) { return sh + i % 3 * 32 * PITCH; };\n"
    "  auto issue = [&](int i) {\n"
    "    if (i < loops) {\n"
    "      int r = mg_lane() / 2, c = mg_lane() % 2 * 8;\n"
    "      if (mg_warp() == 0) {\n"
    "        int64_t k = i * 16 + c;\n"
    "        mg_cp_async16(stage(i) + r * PITCH + c, X + r * K + k, r < M ? mm_valid(BUG == 6 ? 8 : K - k) : 0);\n"
    "      } else {\n"
    "        int64_t k = i * 16 + r, n = mg_bid(0) * 16 + c;\n"
    "        mg_cp_async16(stage(i) + (16 + r) * PITCH + c, W + k * N + n, k < K ? mm_valid(BUG == 5 ? 8 : N - n) : 0);\n"
    "      }\n"
    "    }\n"
    "    mg_cp_async_commit();\n"
    "  };\n"
    "  mg_num c[4] = {mg_zero(), mg_zero(), mg_zero(), mg_zero()};\n"
    "  issue(0);\n"
    "  issue(1);\n"
    "  for (int i = 0; i < loops - (BUG == 4); i++) {\n"
    "    if (BUG != 2) mg_cp_async_wait<1>();\n"
    "    if (BUG == 2) mg_cp_async_wait<2>();\n"
    "    if (BUG != 1) mg_sync();\n"
    "    if (BUG == 1 && i == 0) mg_sync();\n"
    "    issue(i + 2);\n"
    "    if (BUG == 9) issue(i + 3);\n"
    "    uint32_t a[4], b[2];\n"
    "    int l = mg_lane();\n"
    "    mg_ldsm_x4(a, stage(i) + (l % 16) * PITCH + l / 16 * 8);\n"
    "    mg_ldsm_x2_trans(b, stage(i) + (16 + (l % 16) * (BUG == 3 ? 0 : 1)) * PITCH + mg_warp() * 8);\n"
    "    mg_mma_16816<mg_f16>(c, a, b);\n"
    "  }\n"
    "  int g = mg_lane() / 4, t = 2 * (mg_lane() % 4);\n"
    "  for (int k = 0; k < 4; k++) {\n"
    "    int row = g + k / 2 * 8;\n"
    "    int64_t col = mg_bid(0) * 16 + mg_warp() * 8 + t + k % 2;\n"
    "    if (BUG == 8) row = g + k % 2 * 8;\n"
    "    if (row < M && (col < N || BUG == 7)) mg_stg(O + row * N + col, mg_narrow<mg_f16>(BUG == 10 ? c[k] : mg_dev_SILU(c[k], mg_zero(), mg_zero())));\n"
    "  }\n"
    "}\n"
    "extern \"C\" size_t mm_workspace_bytes(void) { return 0; }\n"
    "extern \"C\" int mm_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {\n"
    "  (void)workspace;\n"
    "  return MG_LAUNCH(mm_k0, MM_X, 1, 1, 64, 3 * 32 * PITCH * 2, stream, (const mg_f16 *)in[0], (const mg_f16 *)in[1], (mg_f16 *)out[0], MM_K, MM_N, MM_I);\n"
    "}\n";

/* The named constants of mm for its µGraph: extents by class, counts. */
/* What the emitter makes of g. */
static char *emitted(const mg_graph *g) {
  mg_error e;
  char *text = NULL;
  if (mg_cuda_emit(g, NULL, &text, &e) != MG_OK) fail_msg("%s: %s: %s", g->name, e.where, e.msg);
  return text;
}
static char *mm_text(const mg_graph *g, int bug) {
  char head[1200];
  mg_classes c;
  assert_int_equal(mg_classes_of(g, &c, NULL), MG_OK);
  int k = c.of[g->in[1].id * MG_MAX_RANK], n = c.of[g->in[1].id * MG_MAX_RANK + 1];
  snprintf(head, sizeof head,
           "#define BUG %d\n#ifndef mm_D%d\n#define mm_D%d %d\n#endif\n#ifndef mm_D%d\n#define mm_D%d %d\n#endif\n#ifndef mm_K0_x\n#define mm_K0_x %d\n#endif\n"
           "#ifndef mm_K0_i\n#define mm_K0_i %d\n#endif\n#define MM_K mm_D%d\n#define MM_N mm_D%d\n#define MM_X mm_K0_x\n#define MM_I mm_K0_i\n",
           bug, k, k, (int)c.extent[k], n, n, (int)c.extent[n], (int)g->ops[1].sub->axes[1].extent, (int)g->ops[1].sub->axes[4].extent, k, n);
  mg_classes_free(&c);
  return join(head, mm_kernel);
}

static mg_check_config config(void) {
  mg_check_config c;
  memset(&c, 0, sizeof c);
  c.seed = seed;
  c.include_dir = getenv("MIRAGE_INCLUDE") ? getenv("MIRAGE_INCLUDE") : ".";
  return c;
}
static mg_status check(const char *graph, const char *kernel, int bug, mg_check_report *r, mg_error *e) {
  char head[64];
  mg_check_config c = config();
  mg_graph *g = parse(graph);
  snprintf(head, sizeof head, "#define BUG %d\n", bug);
  char *text = kernel == mm_kernel ? mm_text(g, bug) : join(head, kernel);
  c.full_size = kernel != mm_kernel;
  if (bug == 6 && kernel == copy_kernel) c.timeout_s = 10; /* it never ends: as short as the compiler lets it be */
  mg_status s = mg_cuda_check(g, text, &c, r, e);
  for (; s == MG_MACHINE && c.timeout_s && c.timeout_s < 600; s = mg_cuda_check(g, text, &c, r, e)) c.timeout_s *= 2;
  free(text);
  mg_graph_free(g);
  return s;
}

static void passes(const char *graph, const char *kernel) {
  mg_check_report r;
  mg_error e;
  memset(&e, 0, sizeof e);
  mg_status s = check(graph, kernel, 0, &r, &e);
  if (s != MG_OK) fail_msg("%s: %s: %s", mg_status_text(s), e.where, e.msg);
  assert_int_equal(r.fields, 2);
  assert_int_equal(r.seeds, 8);
  assert_int_equal(r.float_checked, 1);
  assert_true(r.compared > 0);
  assert_true(r.float_error > 0 && r.float_error < 1e-3);
  assert_true(r.p[0] != r.p[1]);
  assert_string_equal(r.difference, "");
  print_message("compared %llu, undefined %llu, float error %.2g\n", (unsigned long long)r.compared, (unsigned long long)r.undefined, r.float_error);
}
/* Bug b is found, and its message holds says[b]. */
static void caught(const char *graph, const char *kernel, const char *const *says, int n) {
  for (int b = 1; b < n; b++) {
    mg_check_report r;
    mg_error e;
    memset(&e, 0, sizeof e);
    mg_status s = check(graph, kernel, b, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("bug %d: %s: %s: %s", b, mg_status_text(s), e.where, e.msg);
    print_message("bug %d: %s\n", b, r.difference);
    if (!strstr(r.difference, says[b])) fail_msg("bug %d: expected \"%s\" in: %s", b, says[b], r.difference);
  }
}

/* One element at a time: dtypes, exponentials, maxima, division by zero, index texts. */
static void elements(void **state) {
  (void)state;
  static const struct { const char *dtype, *graph, *expression; int exp_opaque; mg_status status; } row[] = {
      {"f16", "exp(a)", "mg_dev_EXP(a, z, z)", 0, MG_OK},
      {"f16", "exp(exp(scale(a, 1/8)))", "mg_dev_EXP(mg_dev_EXP(mg_dev_SCALE(a, z, mg_const(1, 8)), z, z), z, z)", 1, MG_OK}, /* no second x_q */
      {"f16", "mul(exp(a), exp(a))", "mg_dev_EXP(a + a, z, z)", 0, MG_OK},                                                  /* needs the two fields */
      {"f16", "mul(exp(a), exp(a))", "mg_dev_EXP(a * a, z, z)", 0, MG_NOT_FOUND},
      {"bf16", "silu(sub(a, b))", "mg_dev_SILU(mg_dev_SUB(a, b, z), z, z)", 0, MG_OK},
      {"bf16", "silu(sub(a, b))", "mg_dev_SILU(b - a, z, z)", 0, MG_NOT_FOUND},
      {"f32", "gelu(add_scalar(b, 2/3))", "mg_dev_GELU(mg_dev_ADD_SCALAR(b, z, mg_const(2, 3)), z, z)", 0, MG_OK},
      {"f32", "relu(a)", "mg_dev_max(a, mg_zero())", 0, MG_OK},
      {"f32", "div(b, mul(a, a))", "b / a / a", 0, MG_OK},
      {"f16", "flip(a, dim=1)", "(mg_dev_index_FLIP(&A, &S, i, j), mg_widen(mg_ldg((const E *)in0 + (mg_bid(0) * 3 + j[0]) * 32 + j[1])))", 0, MG_OK},
      {"f16", "flip(a, dim=1)", "a", 0, MG_NOT_FOUND},
  };
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char graph[600], kernel[2500];
    mg_check_config c = config();
    mg_check_report r;
    mg_error e;
    c.full_size = 1;
    memset(&e, 0, sizeof e);
    snprintf(graph, sizeof graph,
             "program ew\ninput X : %s[6, 32]\ninput Y : %s[6, 32]\nO = kernel grid=(x=2) threads=96 {\n  a = load X {x->0}\n  b = load Y {x->0}\n  o = %s\n  store o {x->0}\n}\noutput O\n",
             row[k].dtype, row[k].dtype, row[k].graph);
    snprintf(kernel, sizeof kernel,
             "#define MG_USER_OPS(E, T) T(FLIP, \"flip\", 1, MG_KB_, DIM, FLIP, OPAQUE, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])\n"
             "#include \"mirage_cuda.cuh\"\ntypedef mg_%s E;\n"
             "MG_KERNEL(96) void ew_k0(const void *in0, const void *in1, void *out) {\n"
             "  int64_t i[MG_MAX_RANK] = {mg_tid() / 32, mg_tid() %% 32}, j[MG_MAX_RANK], at = (mg_bid(0) * 3 + i[0]) * 32 + i[1];\n"
             "  mg_num a = mg_widen(mg_ldg((const E *)in0 + at)), b = mg_widen(mg_ldg((const E *)in1 + at)), z = mg_zero();\n"
             "  mg_attr A = {};\n  mg_shape S = {};\n  A.dim = 1;\n  S.rank = 2;\n  S.dim[0] = 3;\n  S.dim[1] = 32;\n  (void)z, (void)b, (void)j, (void)A, (void)S;\n"
             "  mg_stg((E *)out + at, mg_narrow<E>(%s));\n}\n"
             "extern \"C\" size_t ew_workspace_bytes(void) { return 0; }\n"
             "extern \"C\" int ew_launch(const void *const *in, void *const *out, void *, cudaStream_t s) { return MG_LAUNCH(ew_k0, 2, 1, 1, 96, 0, s, in[0], in[1], out[0]); }\n",
             row[k].dtype, row[k].expression);
    mg_graph *g = parse(graph);
    mg_status s = mg_cuda_check(g, kernel, &c, &r, &e);
    mg_graph_free(g);
    if (s != row[k].status) fail_msg("%s %s: %s: %s: %s", row[k].dtype, row[k].graph, mg_status_text(s), e.where, e.msg);
    assert_int_equal(r.exp_opaque, row[k].exp_opaque);
    if (s == MG_OK) print_message("%s: compared %d, undefined %d, float error %.2g\n", row[k].graph, (int)r.compared, (int)r.undefined, r.float_error);
  }
}
static void copy_passes(void **state) { (void)state; passes(copy_graph, copy_kernel); }
static void rows_pass(void **state) { (void)state; passes(rows_graph, rows_kernel); }
static void mm_passes(void **state) { (void)state; passes(mm_graph, mm_kernel); }
/* The same text on a size that shrinks: 16 blocks to 2, 32 iterations to 8. */
static void mm_reduced(void **state) {
  (void)state;
  char *graph = join("", mm_graph);
  memcpy(strstr(graph, "[13, 136]"), "[13, 512]", 9);
  memcpy(strstr(graph, "[136, 136]"), "[512, 256]", 10);
  memcpy(strstr(graph, "(x=9) threads"), "(x=16)threads", 13);
  memcpy(strstr(graph, "  for i=9 {"), " for i=32 {", 11);
  passes(graph, mm_kernel);
  free(graph);
}
static void copy_bugs(void **state) {
  (void)state;
  static const char *const says[] = {"", "differs", "differs", "was not written", "writes to X", "by a null pointer", " s of processor time", "writes past its 200 bytes", "was not written",
                                     "reads 2 bytes at offset 1920 of X", "2048 threads", "300000 bytes of shared memory"};
  caught(copy_graph, copy_kernel, says, 12);
}
/* A kernel that gets no processor, as on a busy machine, does not differ: its time is the processor's. */
static void waiting_is_no_difference(void **state) {
  (void)state;
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  mg_graph *g = parse(copy_graph);
  char *text = join("#define BUG 0\n#include <unistd.h>\nstatic const unsigned slept = sleep(11);\n", copy_kernel);
  c.full_size = 1;
  mg_status s = MG_MACHINE;
  for (c.timeout_s = 10; s == MG_MACHINE && c.timeout_s < 600; c.timeout_s *= 2) s = mg_cuda_check(g, text, &c, &r, &e); /* its compiler may need longer */
  if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  free(text);
  mg_graph_free(g);
}
static void rows_bugs(void **state) {
  (void)state;
  static const char *const says[] = {"", "race: it ", "differs", "race: it writes byte", "is at the mg_sync of line", "deadlock", "other lanes", "have exited"};
  caught(rows_graph, rows_kernel, says, 8);
}
static void mm_bugs(void **state) {
  (void)state;
  static const char *const says[] = {"", "race: it writes", "is copying to by cp.async", "output O", "that it has not waited for", "", "", "nothing orders the two", "output O", "race: it ", "output O"};
  caught(mm_graph, mm_kernel, says, 11);
}

/* ---------------------------------------------------------------------------------------------------- races
   Kernels whose outputs are right in every order, by luck or because equal values meet; each differs by one line from
   one that is in order.  says: what the race is called, or behind a `!` another fault; NULL: none. */
static const char race_graph[] =
    "program race\ninput X : f16[2, 64]\nO = kernel grid=(x=2) threads=64 {\n  a = load X {x->0}\n  o = add(a, a)\n  store o {x->0}\n}\noutput O\n";
#define PUSH "#2 mg_phase *p = (mg_phase *)(mg_shared() + 512); mg_f32 *d = (mg_f32 *)(mg_shared() + 768) + t, v[1] = {mg_narrow<mg_f32>(z)}; "
static const struct { const char *name, *body, *says; } race_row[] = {
    {"own place", "w[t] = a; mg_sync(); o = w[t]; mg_sync(); w[t] = z;", NULL},
    {"same value twice", "w[t % 32] = z; mg_sync(); o = a;", "race: it writes byte"},
    {"same value, one warp", "if (t < 32) w[0] = z; mg_sync(); o = a;", "race: it writes byte 0"},
    {"read by the warp after a barrier of the warp", "w[t] = z; mg_sync_warp(); o = a + w[t ^ 1];", NULL},
    {"read by the warp", "w[t] = z; o = a; mg_shfl_xor(z, 1); if (t == 63) o = a + w[62];", "reads byte 248"},
    {"read by the other warp after a barrier of the warp", "w[t] = z; mg_sync_warp(); o = a; if (t >= 32) o = a + w[0];", "reads byte 0"},
    {"read by the warpgroup after its barrier", "@w[t] = z; mg_sync_group(); o = a + w[t ^ 64];", NULL},
    {"read by the other warpgroup after a warpgroup's barrier", "@w[t] = z; mg_sync_group(); o = a + w[t ^ 128];", "race: it "},
    {"read by the warpgroup after a barrier of the warp", "@w[t] = z; mg_sync_warp(); o = a + w[t ^ 64];", "race: it "},
    {"read by a warpgroup, then written", "@if (t % 128 == 0) w[t / 128] = z; mg_sync_group(); o = a + w[t / 128]; mg_sync_group(); if (t % 128 == 77) w[t / 128] = a;", NULL},
    {"read by a warpgroup, written too early", "@if (t % 128 == 0) w[t / 128] = z; mg_sync_group(); o = a + w[t / 128]; mg_sync_warp(); if (t % 128 == 127) w[t / 128] = z;", "race: it "},
    {"read by all, written after a warpgroup's barrier", "@if (t == 0) w[0] = z; mg_sync(); o = a + w[0]; mg_sync_group(); if (t == 5) w[0] = a;", "race: it "},
    {"three warps at their warpgroup's barrier", "@if (t % 128 < 96) mg_sync_group(); o = a;", "!192 at a warpgroup's"},
    {"a warpgroup's barrier without a warpgroup", "mg_sync_group(); o = a;", "!no whole number of warpgroups"},
    {"read by all, then written", "if (t == 0) w[0] = z; mg_sync(); o = a + w[0]; mg_sync(); if (t == 5) w[0] = a;", NULL},
    {"read by all, written too early", "if (t == 0) w[0] = z; mg_sync(); o = a + w[0]; if (t == 63) w[0] = z;", "other threads read"},
    {"read by another, written too early by its warp", "if (t == 0) w[0] = z; mg_sync(); o = a; if (t == 1) o = a + w[0]; if (t == 2) w[0] = z;", "which thread 1 read"},
    {"bytes side by side", "((volatile unsigned char *)w)[t] = 0; mg_sync(); o = a;", NULL},
    {"half of a word", "if (t == 0) w[0] = z; if (t == 63) ((volatile unsigned char *)w)[3] = 0; mg_sync(); o = a;", "byte 3 of"},
    {"a barrier under or", "if (t == 0) w[0] = z; o = mg_sync_or(t == 3) ? a + w[0] : z;", NULL},
    {"copied, waited for, barrier", "if (t < 8) mg_cp_async16(h + 8 * t, X + 64 * mg_bid(0) + 8 * t, 16); mg_cp_async_commit(); mg_cp_async_wait<0>(); mg_sync(); o = mg_widen(h[t]);", NULL},
    {"copied, waited for, no barrier", "if (t < 8) mg_cp_async16(h + 8 * t, X + 64 * mg_bid(0) + 8 * t, 16); mg_cp_async_commit(); mg_cp_async_wait<0>(); o = a; if (t == 63) { mg_num b = mg_widen(h[0]); if (BUG) o = a + b - b; } mg_sync();", "race: it "},
    {"copied, own bytes before the wait", "mg_cp_async16(h + 8 * t, X, 16); mg_cp_async_commit(); o = a; if (t == 3) h[24] = mg_narrow<mg_f16>(z); mg_cp_async_wait<0>();", "which it is copying to by cp.async"},
    {"copied twice to one place", "mg_cp_async16(h + 8 * (t / 2), X, 16); mg_cp_async_commit(); o = a; mg_cp_async_wait<0>();", "race: it writes byte 0"},
    {"copied over what is read", "h[t] = mg_narrow<mg_f16>(a); mg_sync(); o = mg_widen(h[t]); if (t == 40) mg_cp_async16(h, X, 16); mg_cp_async_commit(); mg_cp_async_wait<0>();", "race: it writes byte 0"},
    {"copied and never waited for", "mg_cp_async16(h + 8 * t, X, 16); mg_cp_async_commit(); o = a;", "!1 cp.async that it has not waited for"},
    {"waited for but one", "mg_cp_async16(h + 8 * t, X, 16); mg_cp_async_commit(); o = a; mg_cp_async_wait<1>();", "!1 cp.async that it has not waited for"},
    {"a place in global memory, twice", "o = a; if (t == 7) mg_stg(O + 64 * mg_bid(0) + 8, mg_narrow<mg_f16>(z));", "which thread 7 of block"},
    {"a place of another block", "o = a; if (t == 7) mg_stg(O + 8, mg_narrow<mg_f16>(z)); if (t == 8 && !mg_bid(0)) return;", "of block (0, 0, 0) wrote"},
    {"a word of the workspace read before another writes it", "o = a; if (t == 7 && mg_bid(0) == 1) mg_ldg(W + 1); if (t == 7 && mg_bid(0) == 0) mg_stg(W + 1, 5u);", "of block ("},
    {"a ticket", "o = a; mg_stg(W + 1 + 64 * mg_bid(0) + t, 5u); mg_sync(); bool l = mg_sync_or(t == 0 && mg_ticket(W) == 1); if (l) { if (t == 0) mg_stg(W, 0u); o = o + (mg_ldg_fresh(W + 1 + 64 * (1 - mg_bid(0)) + t) == 5 ? z : a); }", NULL},
    {"a ticket, no barrier before", "o = a; mg_stg(W + 1 + 64 * mg_bid(0) + t, 5u); bool l = mg_sync_or(t == 0 && mg_ticket(W) == 1); if (l) { if (t == 0) mg_stg(W, 0u); o = o + (mg_ldg_fresh(W + 1 + 64 * (1 - mg_bid(0)) + t) == 5 ? z : a); }", "nothing orders the two"},
    {"a ticket, no barrier after", "o = a; mg_stg(W + 1 + 64 * mg_bid(0) + t, 5u); mg_sync(); if (t == 0 && mg_ticket(W) == 1) mg_stg(W, 0u); o = o + (mg_ldg_fresh(W + 1 + 64 * (1 - mg_bid(0)) + t) == 7 ? a : z);", "nothing orders the two"},
    {"a ticket, a cached read", "o = a; mg_stg(W + 1 + 64 * mg_bid(0) + t, 5u); mg_sync(); bool l = mg_sync_or(t == 0 && mg_ticket(W) == 1); if (l) { if (t == 0) mg_stg(W, 0u); o = o + (mg_ldg(W + 1 + 64 * (1 - mg_bid(0)) + t) == 5 ? z : a); }", "mg_ldg_fresh"},
    {"a cluster's barrier", "#2 w[t] = z; mg_cluster_arrive(); mg_cluster_wait(); ((mg_num *)mg_cluster_shared(mg_shared(), 1 - mg_cluster_rank()))[t] = z; mg_cluster_arrive(); mg_cluster_wait(); o = a + w[t];", NULL},
    {"a cluster, the second barrier left out", "#2 w[t] = z; mg_cluster_arrive(); mg_cluster_wait(); ((mg_num *)mg_cluster_shared(mg_shared(), 1 - mg_cluster_rank()))[t] = z; o = a + w[t]; mg_cluster_arrive(); mg_cluster_wait();", "race: it "},
    {"a cluster, a relaxed arrival that was to order what is written", "#2 w[t] = z; mg_cluster_begun(); mg_cluster_wait(); ((mg_num *)mg_cluster_shared(mg_shared(), 1 - mg_cluster_rank()))[t] = z; mg_cluster_arrive(); mg_cluster_wait(); o = a;", "race: it writes"},
    {"pushed, and waited for", PUSH "mg_cluster_opens(p); mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); mg_cluster_takes(p, 256); o = a + mg_widen(*d);", NULL},
    {"pushed, read before it has come", PUSH "mg_cluster_opens(p); mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); o = a; if (t == 63) o = a + mg_widen(*d); mg_cluster_takes(p, 256);", "race: it "},
    {"pushed, fewer bytes expected", PUSH "mg_cluster_opens(p); mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); mg_cluster_takes(p, 252); o = a + mg_widen(*d);", "!lands when it has exited"},
    {"pushed, more bytes expected", PUSH "mg_cluster_opens(p); mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); mg_cluster_takes(p, 260); o = a + mg_widen(*d);", "!for a phase that does not end"},
    {"pushed to one place twice", PUSH "mg_cluster_opens(p); mg_cluster_wait(); mg_push<1>(d - t % 2, 1 - mg_cluster_rank(), p, v); mg_cluster_takes(p, 256); o = a;", "race: it writes byte 768"},
    {"pushed, and nobody waits", PUSH "mg_cluster_opens(p); mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); o = a;", "!of a block that has exited"},
    {"pushed before the others have a barrier", PUSH "mg_cluster_opens(p); if (t == 0) o = a; mg_push<1>(d, 1 - mg_cluster_rank(), p, v); mg_cluster_wait(); mg_cluster_takes(p, 256); o = a;", "!no barrier of the cluster has passed"},
    {"a barrier of phases made behind the cluster's", PUSH "mg_cluster_begun(); if (t == 0) mg_phase_init(p, 1), mg_phase_publish(); mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); mg_cluster_takes(p, 256); o = a;", "!no barrier of the cluster lies between"},
    {"pushed over what a block has written", PUSH "mg_cluster_opens(p); *d = v[0]; mg_cluster_wait(); mg_push<1>(d, 1 - mg_cluster_rank(), p, v); mg_cluster_takes(p, 256); o = a;", "race: it writes byte 768"},
    {"a cluster, the first barrier too late", "#2 mg_cluster_arrive(); w[t] = z; mg_cluster_wait(); ((mg_num *)mg_cluster_shared(mg_shared(), 1 - mg_cluster_rank()))[t] = z; mg_cluster_arrive(); mg_cluster_wait(); o = a;", "race: it "},
};
static void races(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof race_row / sizeof *race_row; k++) {
    char kernel[3000];
    mg_check_config c = config();
    mg_check_report r;
    mg_error e;
    const char *body = race_row[k].body;
    int cluster = 1, threads = 64;
    if (*body == '#') cluster = body[1] - '0', body += 2;
    if (*body == '@') threads = 256, body++;
    c.full_size = 1;
    c.seeds = 2;
    snprintf(kernel, sizeof kernel,
             "#include \"mirage_cuda.cuh\"\n#define BUG 1\n"
             "MG_KERNEL(%d) void race_k0(const mg_f16 *X, mg_f16 *O, uint32_t *W) {\n"
             "  const int t = mg_tid();\n  mg_num *w = (mg_num *)mg_shared(), z = mg_zero(), a = mg_widen(mg_ldg(X + 64 * mg_bid(0) + t %% 64)), o = z;\n  mg_f16 *h = (mg_f16 *)mg_shared();\n  (void)w, (void)h, (void)W;\n"
             "  %s\n"
             "  if (t < 64) mg_stg(O + 64 * mg_bid(0) + t, mg_narrow<mg_f16>(a + a + o - o));\n}\n"
             "extern \"C\" size_t race_workspace_bytes(void) { return 1024; }\n"
             "extern \"C\" int race_launch(const void *const *in, void *const *out, void *w, cudaStream_t s) { return MG_LAUNCH_CLUSTER(race_k0, 2, 1, 1, %d, 1, 1, %d, 1024, s, (const mg_f16 *)in[0], (mg_f16 *)out[0], (uint32_t *)w); }\n",
             threads, body, cluster, threads);
    mg_graph *g = parse(race_graph);
    memset(&e, 0, sizeof e);
    mg_status s = mg_cuda_check(g, kernel, &c, &r, &e);
    mg_graph_free(g);
    print_message("%s: %s\n", race_row[k].name, s == MG_NOT_FOUND ? r.difference : mg_status_text(s));
    if (!race_row[k].says) {
      if (s != MG_OK) fail_msg("%s: %s: %s", race_row[k].name, e.where, e.msg);
      continue;
    }
    const int other = *race_row[k].says == '!';
    if (s != MG_NOT_FOUND || !strstr(r.difference, race_row[k].says + other)) fail_msg("%s: %s: %s: expected \"%s\"", race_row[k].name, mg_status_text(s), r.difference, race_row[k].says);
    assert_int_equal(r.race, !other);
  }
}

/* ----------------------------------------------------------------------------------------------- emitted kernels */

static const char norm_graph[] =
    "program norm\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 256]\n"
    "O = kernel grid=(x=8) threads=128 {\n"
    "  for i=16 {\n    a = load X {x->*, i->1}\n    g = load G {x->*, i->0}\n    w = load W {x->1, i->0}\n    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n"
    "  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/1024), 1/1000000)))\n  store o {x->1}\n}\noutput O\n";
static const char *const emitted_graphs[] = {
    /* Two warps read what a load behind the cluster's barrier overwrites: one of them has arrived when the other reads. */
    "program shared\ninput X : f16[16, 256]\ninput A : f16[256, 24]\ninput B : f16[24, 64]\n"
    "O = kernel grid=(x=2, y=2) threads=64 {\n  x = load X {x->*, y->1}\n  a = load A {x->*, y->0}\n  t1 = matmul(x, a)\n  t2 = accum(t1) {y->+}\n"
    "  b = load B {x->1, y->*}\n  t3 = matmul(t2, b)\n  store t3 {x->1, y->*}\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=1 }\n}\noutput O\n",
    norm_graph,
    "program mlp\ninput X : f16[8, 512]\ninput A : f16[512, 256]\ninput B : f16[512, 256]\n"
    "O = kernel grid=(x=8) threads=256 {\n"
    "  for i=8 {\n    x = load X {x->*, i->1}\n    a = load A {x->1, i->0}\n    b = load B {x->1, i->0}\n    p = matmul(x, a)\n    q = matmul(x, b)\n  }\n"
    "  o = mul(silu(accum(p) {i->+}), accum(q) {i->+})\n  store o {x->1}\n}\noutput O\n",
    "program chain\ninput X : f16[16, 256]\ninput A : f16[256, 16]\ninput B : f16[16, 512]\n"
    "O = kernel grid=(x=8) threads=128 {\n  for i=4 {\n    x = load X {i->1}\n    a = load A {i->0}\n    p = matmul(x, a)\n  }\n"
    "  b = load B {x->1}\n  o = matmul(accum(p) {i->+}, b)\n  store o {x->1}\n}\noutput O\n",
    "program ragged\ninput X : bf16[7, 200]\ninput Y : bf16[7, 200]\ninput W : bf16[200, 100] @ [1, 0]\n"
    "O = kernel grid=(x=3) threads=64 {\n  for i=7 {\n    x = load X {i->1}\n    y = load Y {i->1}\n    w = load W {x->1, i->0}\n    b = matmul(add(x, y), w)\n  }\n"
    "  o = bend(accum(b) {i->+})\n  store o {x->1}\n}\noutput O\n",
    "program two\ninput X : f16[64, 200]\ninput G : f16[200]\n"
    "O, S = kernel grid=(x=16) threads=128 {\n  a = load X {x->0}\n  g = load G {x->*}\n  s = sum(exp(a), dim=1)\n  o = mul(div(exp(a), s), g)\n  store o {x->0}\n  store s {x->0}\n}\n"
    "output O\noutput S\n",
    /* Reshapes of what lies row by row are names: of inputs, between kernels, of an output, but not of two of one result. */
    "program names\ninput X : f16[8, 6, 32]\ninput W : f16[192, 64]\ninput V : f16[64, 6]\na = reshape(X, [8, 192])\n"
    "p = kernel grid=(x=2) threads=64 {\n  store matmul(load a {}, load W {x->1}) {x->1}\n}\n"
    "q = reshape(p, [4, 2, 64])\nr = reshape(q, [64, 8])\ns = kernel grid=(x=4) threads=64 {\n  t = load r {x->0}\n  store mul(t, t) {x->0}\n}\n"
    "u = exp(q)\nO = reshape(s, [4, 128])\nP = reshape(s, [512])\nR = reshape(V, [6, 64])\nT = reshape(transpose(V, [1, 0]), [2, 192])\noutput O, P, u, R, T\n",
    "program library\ninput X : f16[5, 72]\ninput W : f16[72, 40]\nY = matmul(X, W)\nS = sum(relu(Y), dim=1)\nO = div(Y, add_scalar(S, 3/2))\nP = flip(O, dim=1)\noutput P\n",
};
/* What is wrong at full size only is found in the blocks that run there too: the first, the last, others; groups whole. */
static void sampled_blocks(void **state) {
  (void)state;
  static const char whole[] =
      "program norm\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 256]\nO = kernel grid=(x=8) threads=128 {\n  plan { stages=2 }\n  for i=16 {\n    a = load X {i->1}\n    g = load G {i->0}\n    w = load W {x->1, i->0}\n"
      "    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/1024), 1/1000000)))\n  store o {x->1}\n}\noutput O\n";
  static const char named[] = /* what it makes has another name: a reshape, which is no kernel */
      "program norm\ninput X : f16[16, 1024]\ninput W : f16[1024, 256]\nP = kernel grid=(x=8) threads=128 {\n  plan { stages=2 }\n  for i=16 {\n    a = load X {i->1}\n    w = load W {x->1, i->0}\n"
      "    b = matmul(a, w)\n  }\n  store accum(b) {i->+} {x->1}\n}\nO = reshape(P, [4, 4, 256])\noutput O\n";
  static const char merged[] =
      "program norm\ninput X : f16[16, 2048]\ninput W : f16[2048, 256]\nO, S = kernel grid=(x=8, z=2) threads=128 {\n  plan { merge=workspace stages=2 }\n  for i=16 {\n    a = load X {z->1, i->1}\n    w = load W {x->1, z->0, i->0}\n"
      "    b = matmul(a, w)\n    s = sum(a, dim=1)\n  }\n  o = accum(b) {z->+, i->+}\n  t = accum(s) {z->+, i->+}\n  store o {x->1}\n  store t {}\n}\noutput O\noutput S\n";
  static const char shifted[] = /* parts whose rows have shifts of their own; at reduced sizes there are two of them */
      "program att\ninput Q : f16[16, 32]\ninput K : f16[32, 1024]\ninput V : f16[1024, 32]\nO = kernel grid=(x=1, z=8) threads=128 {\n  plan { stages=1 warps_m=1 warps_n=4 warps_k=1 merge=cluster }\n  q = load Q {}\n"
      "  for i=2 {\n    k = load K {z->1, i->1}\n    v = load V {z->0, i->0}\n    p = exp(matmul(q, k))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {}\n}\noutput O\n";
  static const struct { const char *graph, *find, *wrong, *says; } row[] = {
      {named, "(i_i * (int64_t)64)", "((i_i < 15 ? i_i : 14) * (int64_t)64)", "at full size"},
      {whole, "(i_i * (int64_t)64)", "((i_i < 15 ? i_i : 14) * (int64_t)64)", "at full size"},                 /* a late iteration */
      {merged, "(b_x * (int64_t)32)", "((b_x == 7 ? 3 : b_x) * (int64_t)32)", "at full size"},                     /* the last block */
      {whole, "(i_i * (int64_t)64)", "((i_i == 15 ? 1000000 : i_i) * (int64_t)64)", "at full size the launch fails"}, /* out of bounds */
      {whole, "norm_kernel0, norm_K0_x", "norm_kernel0, (norm_K0_x > 4 ? norm_K0_x + 3 : norm_K0_x)", "at full size the launch fails"}, /* more blocks than there are tiles */
      {whole, "norm_kernel0, norm_K0_x", "norm_kernel0, (early && norm_K0_x > 4 ? 4 : norm_K0_x)", "its \xC2\xB5Graph's is 8 x 1 x 1"}, /* by the other entry */
      {whole, "norm_kernel0, norm_K0_x, 1, 1", "norm_kernel0, norm_K0_x, norm_K0_x > 4 ? 2 : 1, 1", "at full size the launch fails"},
      {shifted, "mg_to_all<P_shift_p, att_K0_z>", "mg_to_all<P_shift_p, 2>", "deadlock"}, /* the other blocks never get the shifts */
      {shifted, "mg_merge_shared<mg_by_max, P_shift_p, att_K0_z, 128>", "mg_merge_shared<mg_by_max, P_shift_p, att_K0_z, 256>", "is undefined"}, /* read where nobody wrote */
      {shifted, "shift_p.agree(x_p);", "if (mg_bid(2) != 5) shift_p.agree(x_p);", "over floats"}, /* a shift is 0 in the fields */
      {merged, "if (!mg_last_of(ticket, norm_K0_z)) return;", "if (!mg_last_of(ticket, norm_K0_z)) return; if (norm_K0_x > 4 && mg_tid() == 0) mg_stg(ticket, (uint32_t)1);", "at full size"}, /* the next launch */
  };
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    mg_check_config c = config();
    mg_check_report r;
    mg_error e;
    mg_graph *g = parse(row[k].graph);
    char *text = NULL;
    memset(&e, 0, sizeof e);
    if (mg_cuda_emit(g, NULL, &text, &e) != MG_OK) fail_msg("%s", e.msg);
    const size_t from = strlen(row[k].find), to = strlen(row[k].wrong);
    char *bad = (char *)malloc(strlen(text) + 20 * to);
    assert_non_null(bad);
    size_t n = 0, found = 0;
    for (const char *at = text; *at;) {
      if (!strncmp(at, row[k].find, from)) memcpy(bad + n, row[k].wrong, to), n += to, at += from, found++;
      else bad[n++] = *at++;
    }
    bad[n] = 0;
    assert_true(found > 0 && found < 20);
    if (k < 3) {
      mg_status s = mg_cuda_check(g, text, &c, &r, &e);
      if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      assert_true(r.reduced && r.sampled == (k == 2 ? 12 : 6) && r.sampled_floats == (k == 2 ? 6 : 3) && r.sampled_compared >= 6 * 16 * 32);
      assert_string_equal(r.unsampled, "");
    }
    if (mg_cuda_check(g, bad, &c, &r, &e) != MG_NOT_FOUND || !strstr(r.difference, row[k].says)) fail_msg("%d: %s: expected \"%s\"", (int)k, r.difference, row[k].says);
    if (k < 2) assert_non_null(strstr(r.difference, "stored by block ("));
    c.samples = -1; /* reduced sizes alone do not show it */
    if (k < 2) {
      assert_int_equal(mg_cuda_check(g, bad, &c, &r, &e), MG_OK);
      assert_int_equal(r.sampled, 0);
    }
    free(bad);
    mg_string_free(text);
    mg_graph_free(g);
  }
}

/* Blocks of one element each: a sum of 32 that cancels is off by more than a hundredth of itself, and right.  One that is wrong
   is found all the same. */
static void sampled_blocks_of_few(void **state) {
  (void)state;
  mg_graph *g = parse("program few\ninput X : f16[5, 32] @ [1, 0]\ninput W : f16[32, 33]\nO = kernel grid=(x=33, y=5) threads=32 {\n  for i=4 {\n    x = load X {x->*, y->0, i->1}\n    e = exp(scale(x, 1/8))\n"
                      "    w = load W {x->1, y->*, i->0}\n    m = matmul(e, w)\n  }\n  o = accum(m) {i->+}\n  store o {x->1, y->0}\n  plan { stages=4 warps_m=1 warps_n=1 warps_k=1 }\n}\noutput O\n");
  mg_error e;
  char *text = NULL;
  memset(&e, 0, sizeof e);
  if (mg_cuda_emit(g, NULL, &text, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int k = 0; k < 2; k++) {
    mg_check_config c = config();
    mg_check_report r;
    c.seed = k ? 3 : 11;
    if (mg_cuda_check(g, text, &c, &r, &e) != MG_OK) fail_msg("seed %d: %s", (int)c.seed, e.msg);
    assert_true(r.reduced && r.sampled == 6 && r.sampled_floats == 16 && r.float_error > 0 && r.float_error < r.tolerance);
  }
  static const char right[] = "(b_x)", wrong[] = "(b_x < 32 ? b_x : 2)"; /* the last block, at full size only */
  char *bad = (char *)malloc(2 * strlen(text) + 1), *to = bad;
  int found = 0;
  assert_non_null(bad);
  for (const char *at = text; (*to = *at); at++, to++)
    if (!strncmp(at, right, sizeof right - 1)) strcpy(to, wrong), to += sizeof wrong - 2, at += sizeof right - 2, found++;
  assert_in_range(found, 1, 4);
  mg_check_config c = config();
  mg_check_report r;
  assert_int_equal(mg_cuda_check(g, bad, &c, &r, &e), MG_NOT_FOUND);
  if (!strstr(r.difference, "at full size")) fail_msg("%s", r.difference);
  free(bad);
  mg_string_free(text);
  mg_graph_free(g);
}

/* Two products, of `rows` rows, whose heads are made by reshapes. */
#define HEADS(symbols, rows, blocks)                                                                                                            \
  "program heads\n" symbols "input X : f16[" rows ", 64]\ninput W : f16[64, 16384]\ninput V : f16[16384, 1024]\n"                               \
  "Y = kernel grid=(x=256) threads=64 {\n  x = load X {}\n  w = load W {x->1}\n  t = matmul(x, w)\n  store t {x->1}\n"                           \
  "  plan { warps_m=2 warps_n=1 warps_k=1 }\n}\nH = reshape(Y, [" rows ", 128, 128])\nZ = reshape(H, [" rows ", 16384])\n"                       \
  "T = kernel grid=(x=64, y=" blocks ") threads=32 {\n  for i=128 {\n    z = load Z {y->0, i->1}\n    v = load V {x->1, i->0}\n"                 \
  "    t = matmul(z, v)\n  }\n  o = accum(t) {i->+}\n  store o {x->1, y->0}\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=1 }\n}\n"            \
  "O = reshape(T, [" rows ", 16, 64])\noutput O\n"
/* Heads by a reshape, which no smaller size keeps: too much work for launches of all blocks.  Its kernels run one by one at full size,
   where races, late blocks and late iterations show all the same, in the first kernel as in the last but one. */
static void too_much_work(void **state) {
  (void)state;
  mg_graph *g = parse(HEADS("", "64", "4"));
  static const struct { const char *find, *wrong, *says; } row[] = {
      {"mg_cp_async_wait<0>();\n  mg_sync();", "mg_cp_async_wait<0>();\n", "race: it "},
      {"p_W + (b_x * (int64_t)64)", "p_W + ((b_x < 255 ? b_x : 2) * (int64_t)64)", "differs"},
      {"p_V + (i_i * (int64_t)128)", "p_V + ((i_i < 127 ? i_i : 2) * (int64_t)128)", "at full size"},
  };
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  char *text = emitted(g);
  if (mg_cuda_check(g, text, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_true(r.apart && !r.reduced && r.fields == 1 && r.float_checked && !r.unformed && r.work > 1e9);
  assert_true(r.sampled >= 8 && r.sampled_floats >= 2 && r.compared == r.sampled_compared && r.compared > 2 * 16 * 16 && r.host_calls > 0);
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char *bad = replaced(text, row[k].find, row[k].wrong);
    if (mg_cuda_check(g, bad, &c, &r, &e) != MG_NOT_FOUND || !strstr(r.difference, row[k].says)) fail_msg("%d: %s: expected \"%s\"", (int)k, r.difference, row[k].says);
    if (k == 0 && !strstr(r.difference, "at line ")) fail_msg("%s", r.difference);
    free(bad);
  }
  c.samples = -1; /* nothing is left to run it at */
  assert_int_equal(mg_cuda_check(g, text, &c, &r, &e), MG_UNSUPPORTED);
  mg_string_free(text);
  mg_graph_free(g);
}
/* The same of a symbol: its kernels run one by one around chunks of it, where its greatest size has no edge. */
static void too_much_work_of_a_symbol(void **state) {
  (void)state;
  mg_graph *g = parse(HEADS("sym n in 1..64\n", "n", "ceil(n/16)"));
  static const struct { const char *find, *wrong; } row[] = {
      {"mg_each_fragment<A_t>(mg_cut(heads_D0, b_y, 16), ", "mg_each_fragment<A_t>(16, "}, /* the last block's rows */
      {"mg_each_fragment<A_t>(heads_D0, ", "mg_each_fragment<A_t>(heads_D0 < 63 ? heads_D0 : 62, "},
      {"= sym[0];", "= sym[0] == 17 ? 16 : sym[0];"},
  };
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  char *text = emitted(g);
  if (mg_cuda_check(g, text, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (!r.apart || r.fields != 1 || !r.float_checked || strcmp(r.sizes, "n: blocks of 1, 15, 16, 17, 35, 63, 64 alone")) fail_msg("%s", r.sizes);
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char *bad = replaced(text, row[k].find, row[k].wrong);
    if (mg_cuda_check(g, bad, &c, &r, &e) == MG_OK) fail_msg("%s: SAME", row[k].wrong); /* of a grid of its own it is undecided */
    free(bad);
  }
  mg_string_free(text);
  mg_graph_free(g);
}
/* What runs follows from counts alone. */
static void bounds_of_work(void **state) {
  (void)state;
  static const struct { const char *graph; int seeds, families, apart, whole; } row[] = {
      {"program w\ninput X : f16[256, 256]\ninput W : f16[256, 512]\nO = matmul(X, W)\noutput O\n", 8, 0, 0, 0},
      {"program w\ninput X : f16[512, 512]\ninput W : f16[512, 768]\nO = matmul(X, W)\noutput O\n", 4, 1, 0, 0},
      {"program w\ninput X : f16[1024, 1024]\ninput W : f16[1024, 1024]\nO = matmul(X, W)\noutput O\n", 4, 1, 1, 0},
      {"program w\ninput X : f16[1024, 1024]\ninput W : f16[1024, 1024]\nO = matmul(X, W)\noutput O\n", 8, 0, 0, 1},
      {"program w\ninput X : f16[4096, 4096]\nO = exp(X)\noutput O\n", 4, 1, 0, 0},
      {"program w\ninput X : f16[8192, 4096]\nO = exp(X)\noutput O\n", 4, 1, 1, 0}, /* its elements */
      {"program w\ninput X : f16[256, 512]\ninput W : f16[512, 256]\nO = kernel grid=(x=2, y=2) threads=128 {\n  for i=4 {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n    t = matmul(x, w)\n  }\n"
       "  o = accum(t) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n", 8, 0, 0, 0},
  };
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    mg_check_config c = config();
    mgi_check_job J;
    memset(&J, 0, sizeof J);
    c.whole = row[k].whole;
    J.cfg = &c, J.small.graph = parse(row[k].graph), J.n_sizes = 1, J.seeds = MGI_CHECK_ORDERS, J.float_seeds = 2;
    mgi_check_bound(&J, 1);
    print_message("%d: %.3g operations: %d orders, %d families%s\n", (int)k, J.work, J.seeds, J.families, J.apart ? ", apart" : "");
    assert_int_equal(J.seeds, row[k].seeds);
    assert_int_equal(J.apart, row[k].apart);
    if (!J.apart) assert_int_equal(J.families, row[k].families);
    mg_graph_free(J.small.graph);
  }
}

/* A file's ranges have one bound together, however many they are: their launches are counted, over both fields and over floats. */
static void ranges_share_a_bound(void **state) {
  static const struct { int64_t batch; int ranges, last, apart; } row[] = {{1, 3, 0, 0}, {1, 10, 0, 0}, {2, 8, 1, 0}, {16, 10, 1, 1}};
  (void)state;
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    mg_graph *range[MG_MAX_RANGES];
    mgi_check_job J[MG_MAX_RANGES];
    mg_check_config c = config();
    double launched[2] = {0, 0};
    int apart = 0;
    mg_error e;
    memset(J, 0, sizeof J);
    for (int at = 0; at < row[k].ranges; at++) {
      char text[400];
      snprintf(text, sizeof text, "program f_%d\nsym n in %d..%d\ninput X : f16[%lld, n, 512]\ninput W : f16[%lld, 512, 128]\nO = matmul(X, W)\noutput O\n", at + 1, at * 64 + 1, at * 64 + 64, (long long)row[k].batch,
               (long long)row[k].batch);
      range[at] = parse(text);
    }
    for (int at = 0; at < row[k].ranges; at++) {
      J[at].cfg = &c, J[at].seed = 1, J[at].ugraph = range[at];
      J[at].range = (const mg_graph *const *)range, J[at].n_ranges = row[k].ranges, J[at].at = at;
      assert_int_equal(mgi_check_sizes(&J[at], &e), MG_OK);
    }
    mgi_check_bound(J, row[k].ranges);
    for (int at = 0; at < row[k].ranges; at++) {
      apart += J[at].apart;
      for (int size = 0; size < J[at].n_sizes && !J[at].apart; size++) {
        mg_field F[2];
        const double work = mgi_check_work(J[at].member[size]);
        mgi_check_task task;
        memset(&task, 0, sizeof task), memset(F, 0, sizeof F);
        mgi_check_task_of(&J[at], 0, size, F, 1, &task);
        launched[0] += work * task.seeds;
        mgi_check_task_of(&J[at], MGI_CHECK_FLOATS, size, F, 1, &task);
        launched[1] += work * (task.seeds + (task.families > 0 ? task.families : task.families ? 0 : MGI_FAMILIES));
      }
    }
    print_message("%d ranges of %lld: %.3g operations over a field, %.3g over floats, %d apart\n", row[k].ranges, (long long)row[k].batch, launched[0], launched[1], apart);
    assert_true(launched[0] <= MGI_CHECK_TOGETHER && launched[1] <= 2 * MGI_CHECK_TOGETHER);
    assert_int_equal(J[0].last, row[k].last);
    assert_int_equal(apart > 0, row[k].apart);
    for (int at = 0; at < row[k].ranges; at++) {
      for (int size = 0; size <= MGI_CHECK_SIZES; size++) mg_graph_free(J[at].member[size]);
      mg_reduced_free(&J[at].small);
      mg_graph_free(range[at]);
    }
  }
}

/* A workspace of more than all memory takes no time: what of it is another range's is not looked through; who writes there is told. */
static void parts_of_a_workspace(void **state) {
  static const char *const before[] = {"space - 16384 + f_2_AT_A", "space - 256 + f_2_AT_A"}; /* whole pages of the first range's part; a few bytes */
  mg_graph *range[2] = {parse("program f_1\nsym n in 1..32\ninput X : f16[n, 64]\nA = exp(X)\nO = softmax(A, dim=1)\noutput O\n"),
                        parse("program f_2\nsym n in 33..100000000\ninput X : f16[n, 64]\nA = exp(X)\nO = softmax(A, dim=1)\noutput O\n")};
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  char *text;
  (void)state;
  if (mg_cuda_emit_ranges((const mg_graph *const *)range, 2, NULL, NULL, &text, &e) != MG_OK) fail_msg("%s", e.msg);
  c.timeout_s = 20, c.samples = -1, c.seeds = 1;
  if (mg_cuda_check(NULL, text, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int k = 0; k < (getenv("SOAK_S") ? 2 : 1); k++) {
    char *wrong = (char *)malloc(strlen(text) + 200), *to = wrong;
    for (const char *at = text; *at;) {
      const size_t here = strncmp(at, "space + f_2_AT_A,", 17) && strncmp(at, "space + f_2_AT_A)", 17) ? 0 : 16;
      if (here) to += sprintf(to, "%s", before[k]), at += here;
      else *to++ = *at++;
    }
    *to = 0;
    if (mg_cuda_check(NULL, wrong, &c, &r, &e) != MG_NOT_FOUND || !strstr(r.difference, "another range's")) fail_msg("%d: %s", k, r.difference);
    print_message("%s\n", r.difference);
    free(wrong);
  }
  mg_string_free(text);
  for (int k = 0; k < 2; k++) mg_graph_free(range[k]);
}

/* More than 2^31 elements: memory of which some pages are touched; an offset in 32 bits shows at full size alone. */
static void more_than_ints(void **state) {
  (void)state;
  static const char right[] = "(b_x * (int64_t)64) * ((int64_t)big_D1)", wrong[] = "(int)(b_x * 64 * (int64_t)big_D1)";
  mg_graph *g = parse("program big\ninput X : f16[4, 64]\ninput W : f16[64, 40000000] @ [1, 0]\nO = kernel grid=(x=625000) threads=64 {\n  x = load X {}\n  w = load W {x->1}\n  o = matmul(x, w)\n  store o {x->1}\n"
                      "  plan { warps_m=1 warps_n=2 warps_k=1 }\n}\noutput O\n");
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  char *text = emitted(g);
  if (mg_cuda_check(g, text, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  const int room = strncmp(r.unsampled, "no memory", 9) != 0;
  assert_true(room ? r.sampled == 6 && r.sampled_floats >= 3 : !r.sampled);
  char *bad = join("", text), *at = strstr(bad, right);
  assert_non_null(at);
  assert_true(sizeof wrong <= sizeof right);
  memset(at, ' ', sizeof right - 1);
  memcpy(at, wrong, sizeof wrong - 1);
  const mg_status s = mg_cuda_check(g, bad, &c, &r, &e);
  if (room ? s != MG_NOT_FOUND || !strstr(r.difference, "at full size") : s != MG_OK) fail_msg("%s", r.difference);
  free(bad);
  mg_string_free(text);
  mg_graph_free(g);
}

/* What surrounds the kernels: the bound of their threads, the entry points, NAME_info. */
static void surroundings(void **state) {
  (void)state;
  static const char graph[] =
      "program norm\ninput X : f16[16, 128]\ninput W : f16[128, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=2 }\n  for i=4 {\n    a = load X {i->1}\n    w = load W {x->1, i->0}\n    b = matmul(a, w)\n  }\n"
      "  o = accum(b) {i->+}\n  store o {x->1}\n}\noutput O\n";
  static const char chained[] =
      "program two\ninput X : f16[16, 128]\ninput A : f16[128, 64]\ninput B : f16[64, 64]\nT = kernel grid=(x=2) threads=64 {\n  plan { stages=2 }\n  for i=4 {\n    x = load X {i->1}\n    a = load A {x->1, i->0}\n    t = matmul(x, a)\n  }\n"
      "  s = accum(t) {i->+}\n  store s {x->1}\n}\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=2 }\n  for i=2 {\n    y = load T {i->1}\n    b = load B {x->1, i->0}\n    t = matmul(y, b)\n  }\n  s = accum(t) {i->+}\n  store s {x->1}\n}\noutput O\n";
  static const struct { const char *graph, *find, *wrong, *says; } row[] = {
      {graph, "MG_KERNEL(64)", "MG_KERNEL(32)", "norm_kernel0: 64 threads a block, its MG_KERNEL allows 32"},
      {graph, "norm_out, 0x2,", "norm_out, 0x0,", "norm_launch_pdl reads W before the kernel before it in the stream has ended: its info does not say so"},
      {graph, "norm_out, 0x2,", "norm_out, 0x1,", "norm_launch_pdl reads W before the kernel before it in the stream has ended: its info does not say so"},
      {graph, "norm_launch_all(0, ", "norm_launch_all(1, ", "norm_launch reads W before the kernel before it in the stream has ended"},
      {graph, "extern \"C\" const mg_emitted_info norm_info;\nextern \"C\" const mg_emitted_info norm_info", "static __attribute__((unused)) const mg_emitted_info norm_info", "the file does not export norm_info"},
      {chained, "two_out, 0x6,", "two_out, 0x2,", "two_launch_pdl reads B before the kernel before it in the stream has ended: its info does not say so"},
      {chained, "rc = MG_LAUNCH_AFTER(early, two_kernel0", "rc = MG_LAUNCH_AFTER((early = 1), two_kernel0", "two_launch reads A before the kernel before it in the stream has ended"},
  };
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    mg_check_config c = config();
    mg_check_report r;
    mg_error e;
    char *text = NULL;
    mg_graph *g = parse(row[k].graph);
    memset(&e, 0, sizeof e);
    if (mg_cuda_emit(g, NULL, &text, &e) != MG_OK) fail_msg("%s", e.msg);
    if ((!k || row[k].graph != row[k - 1].graph) && mg_cuda_check(g, text, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    char *bad = (char *)malloc(strlen(text) + 400), *to = bad;
    int found = 0;
    assert_non_null(bad);
    for (const char *at = text; *at;) {
      if (!strncmp(at, row[k].find, strlen(row[k].find))) to += sprintf(to, "%s", row[k].wrong), at += strlen(row[k].find), found++;
      else *to++ = *at++;
    }
    *to = 0;
    assert_true(found > 0 && found < 3);
    if (mg_cuda_check(g, bad, &c, &r, &e) != MG_NOT_FOUND || !strstr(r.difference, row[k].says)) fail_msg("%d: \"%s\", expected \"%s\"", (int)k, r.difference, row[k].says);
    free(bad);
    mg_string_free(text);
    mg_graph_free(g);
  }
}

static void emitted_kernels(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof emitted_graphs / sizeof *emitted_graphs; k++) {
    mg_check_config c = config();
    mg_check_report r;
    mg_error e;
    mg_graph *g = parse(emitted_graphs[k]);
    char *text = NULL;
    memset(&e, 0, sizeof e);
    if (mg_cuda_emit(g, NULL, &text, &e) != MG_OK) fail_msg("%s: %s: %s", g->name, e.where, e.msg);
    mg_status s = mg_cuda_check(k % 2 ? NULL : g, text, &c, &r, &e); /* every other one by the µGraph in its text */
    if (s != MG_OK) fail_msg("%s: %s: %s", g->name, e.where, e.msg);
    print_message("%s: compared %d, float error %.2g%s\n", g->name, (int)r.compared, r.float_error, r.reduced ? ", reduced" : "");
    if (!strcmp(g->name, "names")) assert_int_equal(mg_kernels(g), (int)g->n_ops - 1 - 4); /* O, P and R are copies */
    mg_string_free(text);
    mg_graph_free(g);
  }
}
/* An output that a half holds as 0 is right as 0; as f32 it is not, and so is one that should be small and is not. */
static void halves_that_round_to_zero(void **state) {
  (void)state;
  static const char *const kernel = "program tiny\ninput X : %s[4, 96]\nS = kernel grid=(x=2) threads=128 {\n  a = load X {x->0}\n  s = exp(scale(sum(sqr(a), dim=1), -1))\n  store s {x->0}\n}\noutput S\n";
  for (int k = 0; k < 3; k++) {
    mg_check_config c = config();
    mg_check_report r;
    mg_error e;
    char graph[400], *text = NULL;
    snprintf(graph, sizeof graph, kernel, k == 1 ? "f32" : "f16");
    mg_graph *g = parse(graph);
    assert_int_equal(mg_cuda_emit(g, NULL, &text, &e), MG_OK);
    if (k) { /* what is computed is e^0 */
      char *at = strstr(text, "MG_KERNEL"), *c0 = at ? strstr(at, "mg_const(-1, 1)") : NULL;
      if (!c0) fail_msg("no constant in the kernel");
      c0[9] = ' ', c0[10] = '0';
    }
    memset(&e, 0, sizeof e);
    mg_status s = mg_cuda_check(g, text, &c, &r, &e);
    if (s != (k ? MG_NOT_FOUND : MG_OK)) fail_msg("%d: %s: %s", k, e.where, e.msg);
    mg_string_free(text);
    mg_graph_free(g);
  }
}
/* What is beyond f16's largest number is right as infinite with its sign, and with no other, nor is what is far below. */
static void halves_that_overflow(void **state) {
  (void)state;
  static const char *const kernel =
      "program far\ninput X : f16[16, 96]\nS = kernel grid=(x=2) threads=128 {\n  a = load X {x->0}\n"
      "  s = scale(sqr(sqr(sqr(sqr(a)))), -3/4)\n  store s {x->0}\n}\noutput S\n";
  static const struct { double want; uint16_t got; int right; } cases[] = {
    { 1e5, 0x7C00, 1 }, { -1e5, 0xFC00, 1 }, { 65500, 0x7C00, 1 }, { 1e5, 0xFC00, 0 }, { -1e5, 0x7C00, 0 }, { 1e5, 0x7E00, 0 },
    { 1e5, 0x7BFF, 0 }, { 6e4, 0x7C00, 0 }, { 0, 0x7C00, 0 },
  };
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  mgi_tensors t;
  char *text = NULL;
  mg_graph *g = parse(kernel);
  memset(&e, 0, sizeof e);
  assert_int_equal(mg_cuda_emit(g, NULL, &text, &e), MG_OK);
  if (mg_cuda_check(g, text, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(mgi_tensors_new(g, sizeof(double), &t, &e), MG_OK);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint64_t unwritten = 0, undefined = 0;
    int64_t worst;
    for (int64_t i = 0; i < t.out_n[0]; i++) ((double *)t.expected[0])[i] = 1, mgi_cd_put(t.out[0], MG_F16, i, 0x3C00);
    ((double *)t.expected[0])[5] = cases[k].want, mgi_cd_put(t.out[0], MG_F16, 5, cases[k].got);
    const double error = mgi_tensors_error(g, &t, 0, NULL, NULL, &unwritten, &undefined, &worst, NULL);
    const int told = error == 0 ? 1 : error < 0.1 || worst != 5 ? -1 : 0;
    if (told != cases[k].right) fail_msg("%zu: error %g at %lld", k, error, (long long)worst);
  }
  mgi_tensors_free(&t);
  mg_string_free(text);
  mg_graph_free(g);
}
/* Each barrier, wait and commit of the emitted text in turn is left out; the kernel without it is refused. */
static void emitted_without_barriers(void **state) {
  (void)state;
  static const char *const lines[] = {"mg_sync();", "mg_cp_async_wait<1>();", "mg_cp_async_commit();", "mg_zero(), mg_const(1, 1024)", "acc_b.zero();"};
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  mg_graph *g = parse(norm_graph);
  char *text = NULL;
  int tried = 0;
  assert_int_equal(mg_cuda_emit(g, NULL, &text, &e), MG_OK);
  char *kernel = strstr(text, "MG_KERNEL");
  assert_non_null(kernel);
  c.seeds = 8;
  for (size_t l = 0; l < sizeof lines / sizeof *lines; l++)
    for (char *at = kernel; (at = strstr(at, lines[l])) != NULL; at++) {
      size_t n = strlen(lines[l]);
      if (l == 3) at[n - 2] = '5'; /* 1/1024 becomes 1/1025 */
      else memset(at, ' ', n);
      memset(&e, 0, sizeof e);
      mg_status s = mg_cuda_check(g, text, &c, &r, &e);
      print_message("without %s at byte %d: %s\n", lines[l], (int)(at - text), s == MG_NOT_FOUND ? r.difference : mg_status_text(s));
      if (s != MG_NOT_FOUND) fail_msg("%s: %s", e.where, e.msg);
      memcpy(at, lines[l], n);
      tried++;
    }
  assert_true(tried >= 6);
  mg_string_free(text);
  mg_graph_free(g);
}

/* ------------------------------------------------------------------------------------- the text of an emitted file */

static void finds_the_source(void **state) {
  (void)state;
  static const char file[] = "/* nvcc ...\n * mugraph {{{\n * program t\n * # a comment\n * input X : f16[4, 6]\n * O = exp(X)\n * output O\n * }}} mugraph\n */\n";
  mg_graph *g = NULL;
  mg_error e;
  assert_int_equal(mg_cuda_source_graph(file, strlen(file), &g, &e), MG_OK);
  assert_string_equal(g->name, "t");
  assert_int_equal(g->n_in, 1);
  mg_graph_free(g);
  for (size_t n = 0; n + 16 < strlen(file); n++) { /* cut anywhere before its end: refused, never a crash */
    g = NULL;
    mg_status s = mg_cuda_source_graph(file, n, &g, &e);
    if (n < strlen(file) - 20) assert_int_equal(s, MG_BAD_INPUT);
    mg_graph_free(g);
  }
}
static void compiler_faults(void **state) {
  (void)state;
  mg_check_config c = config();
  mg_check_report r;
  mg_error e;
  mg_graph *g = parse(copy_graph);
  c.full_size = 1;
  c.cxx = "no-such-compiler-here";
  assert_int_equal(mg_cuda_check(g, copy_kernel, &c, &r, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "install"));
  c.cxx = NULL;
  assert_int_equal(mg_cuda_check(g, "#error \"this is no kernel\"\n", &c, &r, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "this is no kernel"));
  assert_int_equal(mg_cuda_check(g, "int other;\n", &c, &r, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "entry points"));
  c.timeout_s = 2; /* what the compiler starts ends too: it holds the pipe, and would read on until no memory is left */
  const time_t began = time(NULL);
  assert_true(mg_cuda_check(g, "#include \"/dev/zero\"\n", &c, &r, &e) != MG_OK);
  assert_true(time(NULL) - began < 60);
  c.timeout_s = 0;
  c.full_size = 0;
  assert_int_equal(mg_cuda_check(g, copy_kernel, &c, &r, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "named constant"));
  mg_compile_config cc;
  memset(&cc, 0, sizeof cc);
  char so[400];
  cc.nvcc = "no-such-nvcc-here";
  cc.include_dir = c.include_dir;
  assert_int_equal(mg_cuda_compile("", &cc, so, sizeof so, &e), MG_MACHINE);
  assert_non_null(strstr(e.msg, "CUDA toolkit"));
  cc.arch = "sm_90a; rm";
  assert_int_equal(mg_cuda_compile("", &cc, so, sizeof so, &e), MG_BAD_INPUT);
  mg_graph_free(g);
}
/* -------------------------------------------------------------------------------------------------- smaller sizes */

static int64_t count_of(const mg_reduced *r, int kernel, int axis) { return r->counts[kernel * (MG_MAX_AXES + 1) + axis]; }

static void reduces(void **state) {
  (void)state;
  mg_error e;
  mg_reduced r;
  /* A grid and a loop; extents 4096 and 6144 are cut by 64 and 128. */
  mg_graph *g = parse("program a\ninput X : f16[16, 4096]\ninput W : f16[4096, 6144]\n"
                      "O = kernel grid=(x=48) threads=128 {\n  for i=64 {\n    a = load X {x->*, i->1}\n    w = load W {x->1, i->0}\n    b = matmul(a, w)\n  }\n"
                      "  o = accum(b) {i->+}\n  store o {x->1}\n}\noutput O\n");
  assert_int_equal(mg_cuda_reduce(g, &r, &e), MG_OK);
  assert_int_equal(r.changed, 1);
  assert_int_equal(count_of(&r, 0, 1), 2);
  assert_int_equal(count_of(&r, 0, 4), 16); /* at least 6: 4 stages by default, and 2; the same remainder by 12 */
  assert_int_equal(mg_tensor_of(r.graph, r.graph->in[0])->shape.dim[0], 16);
  assert_int_equal(mg_tensor_of(r.graph, r.graph->in[1])->shape.dim[0], 16 * 64);
  assert_int_equal(mg_tensor_of(r.graph, r.graph->in[1])->shape.dim[1], 2 * 128);
  mg_reduced_free(&r);
  mg_graph_free(g);
  /* Raggedness stays: 1000 = 62 * 16 + 8 by 63.  With fewer than 9 blocks, 8 elements less than whole ones would make the chunk 15. */
  g = parse("program b\ninput X : f16[8, 1000]\nO = kernel grid=(x=63) threads=32 {\n  a = load X {x->1}\n  o = exp(a)\n  store o {x->1}\n}\noutput O\n");
  assert_int_equal(mg_cuda_reduce(g, &r, &e), MG_OK);
  assert_int_equal(count_of(&r, 0, 1), 9);
  assert_int_equal(mg_tensor_of(r.graph, r.graph->in[0])->shape.dim[1], 8 * 16 + 8);
  mg_reduced_free(&r);
  mg_graph_free(g);
  /* One axis cuts two classes; another kernel cuts one of them otherwise: 32 blocks of 64 and of 8, and 16 of 128. */
  g = parse("program c\ninput X : f16[4, 2048]\ninput Y : f16[4, 256]\n"
            "P, Q = kernel grid=(x=32) threads=32 {\n  a = load X {x->1}\n  b = load Y {x->1}\n  p = exp(a)\n  q = exp(b)\n  store p {x->1}\n  store q {x->1}\n}\n"
            "R = kernel grid=(x=16) threads=32 {\n  a = load P {x->1}\n  o = exp(a)\n  store o {x->1}\n}\noutput Q\noutput R\n");
  assert_int_equal(mg_cuda_reduce(g, &r, &e), MG_OK);
  assert_int_equal(count_of(&r, 0, 1), 4);
  assert_int_equal(count_of(&r, 1, 1), 2);
  assert_int_equal(mg_tensor_of(r.graph, r.graph->in[0])->shape.dim[1], 256);
  assert_int_equal(mg_tensor_of(r.graph, r.graph->in[1])->shape.dim[1], 32);
  mg_reduced_free(&r);
  mg_graph_free(g);
  /* What a kernel holds whole stays, and nothing else for its sake; a batch shrinks to two, as no tensor is dense along it. */
  g = parse("program e\ninput A : f16[8, 1024, 128]\ninput B : f16[8, 128, 128]\n"
            "P = kernel grid=(x=8, y=8) threads=128 {\n  a = load A {x->1, y->0}\n  b = load B {y->0}\n  p = matmul(a, b)\n  store p {x->1, y->0}\n}\n"
            "O = kernel grid=(x=4, y=8, z=8) threads=128 {\n  a = load P {x->2, y->1, z->0}\n  o = exp(a)\n  store o {x->2, y->1, z->0}\n}\noutput O\n");
  assert_int_equal(mg_cuda_reduce(g, &r, &e), MG_OK);
  static const int64_t small_a[] = {2, 256, 128};
  assert_memory_equal(mg_tensor_of(r.graph, r.graph->in[0])->shape.dim, small_a, sizeof small_a);
  assert_int_equal(count_of(&r, 0, 1), 2);
  assert_int_equal(count_of(&r, 0, 2), 2);
  assert_int_equal(count_of(&r, 1, 1), 4);
  assert_int_equal(count_of(&r, 1, 3), 2);
  mg_reduced_free(&r);
  mg_graph_free(g);
  /* A concatenating accumulator's count is a tile: it stays. */
  g = parse("program d\ninput X : f16[4, 2048]\nO = kernel grid=(x=1) threads=32 {\n  for i=32 {\n    a = load X {i->1}\n    b = exp(a)\n  }\n"
            "  o = accum(b) {i->1}\n  store o {x->*}\n}\noutput O\n");
  assert_int_equal(mg_cuda_reduce(g, &r, &e), MG_OK);
  assert_int_equal(r.changed, 0);
  assert_int_equal(count_of(&r, 0, 4), 32);
  mg_reduced_free(&r);
  mg_graph_free(g);
}
/* Whatever the counts: chunks stay, the reduced program is legal, and shrinks where it can. */
static void reduces_random(void **state) {
  (void)state;
  uint64_t s = seed;
  int changed = 0;
  for (int k = 0; k < 300; k++) {
    char text[800];
    mg_error e;
    mg_reduced r;
    int n = 1 + (int)(mgi_random(&s) % 300), m = 1 + (int)(mgi_random(&s) % 300), x = 1 + (int)(mgi_random(&s) % 12), i = 1 + (int)(mgi_random(&s) % 20), y = 1 + (int)(mgi_random(&s) % 4);
    snprintf(text, sizeof text,
             "program r\ninput X : f16[%d, %d]\nO = kernel grid=(x=%d, y=%d) threads=32 {\n  for i=%d {\n    a = load X {x->0, y->1, i->1}\n    b = sum(a, dim=1)\n  }\n"
             "  o = accum(b) {i->+}\n  store o {x->0, y->1}\n}\noutput O\n", n, m, x, y, i);
    if (y > 1) { /* the sum over y's blocks would need a grid accumulator: partition rows by y as well */
      char *a = strstr(text, "y->1, i->1");
      memcpy(a, "y->0, i->1", 10);
      a = strstr(text, "store o {x->0, y->1}");
      memcpy(a, "store o {x->0, y->0}", 20);
    }
    mg_graph *g = NULL;
    if (mg_parse(text, strlen(text), "random", NULL, &g, &e) != MG_OK) continue;
    mg_status st = mg_cuda_reduce(g, &r, &e);
    if (st != MG_OK) fail_msg("%s\n%s: %s", text, e.where, e.msg);
    assert_int_equal(mg_check(r.graph, &e), MG_OK);
    assert_true(mgi_red_same_shapes(g, r.graph));
    assert_true(count_of(&r, 0, 1) >= (x < 2 ? x : 2));
    assert_true(count_of(&r, 0, 4) >= (i < 6 ? i : 6));
    int64_t chunk = mg_ceil_div(n, x > 1 ? x : y);
    if ((n - mg_tensor_of(r.graph, r.graph->in[0])->shape.dim[0]) % chunk) fail_msg("%s\nreduced to %d rows", text, (int)mg_tensor_of(r.graph, r.graph->in[0])->shape.dim[0]);
    changed += r.changed;
    mg_reduced_free(&r);
    mg_graph_free(g);
  }
  assert_true(changed > 50);
}

/* ------------------------------------------------------------------------------------------- scalars of the emulator */

static const char probe[] =
    "#include \"mirage_cuda.cuh\"\n"
    "#define EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n"
    "#ifdef MG_EMULATE_FIELD\n"
    "EXPORT uint16_t probe(int op, uint16_t a, uint16_t b) {\n"
    "  mg_f16 x = {a}, y = {b};\n"
    "  mg_num u = mg_widen(x), v = mg_widen(y), z = mg_zero();\n"
    "  mg_num r = op == 0 ? u + v : op == 1 ? u - v : op == 2 ? u * v : op == 3 ? u / v : op == 4 ? mg_dev_max(u, v) : op == 5 ? -u :\n"
    "             op == 6 ? mg_dev_EXP(u, z, z) : op == 7 ? mg_dev_SILU(u, z, z) : op == 8 ? mg_dev_SQRT(u, z, z) : op == 9 ? mg_dev_SCALE(u, z, mg_const(3, 7)) : u;\n"
    "  return mg_narrow<mg_f16>(r).bits;\n"
    "}\n"
    "#else\n"
    "EXPORT uint32_t probe(int op, uint32_t a) {\n"
    "  mg_f32 f = {a};\n"
    "  mg_f16 h = {(uint16_t)a};\n"
    "  mg_bf16 b = {(uint16_t)a};\n"
    "  return op == 0 ? mg_narrow<mg_f16>(mg_widen(f)).bits : op == 1 ? mg_narrow<mg_bf16>(mg_widen(f)).bits :\n"
    "         op == 2 ? mg_narrow<mg_f32>(mg_widen(h)).bits : mg_narrow<mg_f32>(mg_widen(b)).bits;\n"
    "}\n"
    "EXPORT void turn(int n, int most, int others, int wave, int *at) { at[0] = mg_turn_most(n, most, others, wave), at[1] = mg_turn_other(n, most, others, wave); }\n"
    "#endif\n";

static void *build_probe(const char *define, char *dir, size_t n) {
  mgi_child child;
  char source[500], so[500], include[500];
  mg_check_config c = config();
  assert_int_equal(mgi_cd_temp_dir(NULL, dir, n, NULL), MG_OK);
  snprintf(source, sizeof source, "%s/kernel.cu", dir);
  snprintf(so, sizeof so, "%s/fields.so", dir);
  snprintf(include, sizeof include, "-I%s", c.include_dir);
  assert_true(mgi_cd_write(source, probe, strlen(probe)));
  const char *argv[] = {"g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-DMG_EMULATE", define, include, "-o", so, "-x", "c++", source, NULL};
  assert_true(mgi_child_start(&child, argv, 60));
  if (mgi_child_wait(&child)) fail_msg("%s", child.out);
  void *lib = dlopen(so, RTLD_NOW);
  if (!lib) fail_msg("%s", dlerror());
  unlink(source);
  unlink(so);
  rmdir(dir);
  return lib;
}
/* The emulator's quick conversions against frexp and nearbyint, at every value, every midpoint and both neighbours. */
static void conversions(void **state) {
  (void)state;
  char dir[400];
  uint32_t (*f)(int, uint32_t), bits;
  void *lib = build_probe("-DPROBE_FLOATS", dir, sizeof dir);
  *(void **)&f = dlsym(lib, "probe");
  for (uint32_t h = 0; h < 65536; h++)
    for (int t = 0; t < 2; t++) {
      mg_dtype type = t ? MG_BF16 : MG_F16;
      double v = mg_from_bits(type, h), w = mg_from_bits(type, h + 1);
      uint32_t got = f(2 + t, h);
      float wide;
      memcpy(&wide, &got, 4);
      if (v != v) {
        assert_true(wide != wide);
        continue;
      }
      assert_true((double)wide == v);
      assert_int_equal(f(t, got), h); /* round trip, the sign of zero included */
      if (!((h + 1) & 0x7FFF) || w != w) continue;
      if (isinf(w)) w = t ? copysign(0x1p128, v) : copysign(65536.0, v);
      float middle = (float)((v + w) / 2);
      for (int d = -1; d <= 1; d++) {
        uint32_t u;
        memcpy(&u, &middle, 4);
        u += (uint32_t)d;
        float x;
        memcpy(&x, &u, 4);
        mgi_cd_rounded(type, x, &bits);
        if (f(t, u) != bits) fail_msg("type %d, float %08x: got %04x, expected %04x", t, u, f(t, u), bits);
      }
    }
  uint64_t s = seed;
  for (int k = 0; k < 1000000; k++) {
    uint32_t u = (uint32_t)mgi_random(&s);
    float x;
    memcpy(&x, &u, 4);
    for (int t = 0; t < 2; t++) {
      mgi_cd_rounded(t ? MG_BF16 : MG_F16, x, &bits);
      if (f(t, u) != bits) fail_msg("type %d, float %08x: got %04x, expected %04x", t, u, f(t, u), bits);
    }
  }
  dlclose(lib);
}
/* Every block of a grid has one turn.  The blocks of a wave are of as few places along the other axis as fill it, and none of
   these has fewer steps than one that comes later. */
static void turns(void **state) {
  (void)state;
  static uint8_t seen[40 * 40];
  char dir[400];
  void (*turn)(int, int, int, int, int *);
  void *lib = build_probe("-DPROBE_FLOATS", dir, sizeof dir);
  *(void **)&turn = dlsym(lib, "turn");
  for (int most = 1; most <= 40; most += most < 9 ? 1 : 7)
    for (int others = 1; others <= 40; others += others < 9 ? 1 : 5)
      for (int wave = 1; wave <= 400; wave = wave * 3 + 1) {
        const int together = wave > most ? wave / most : 1;
        int was[2] = {0, 0};
        memset(seen, 0, sizeof seen);
        for (int n = 0; n < most * others; n++) {
          int at[2];
          turn(n, most, others, wave, at);
          if (at[0] < 0 || at[0] >= most || at[1] < 0 || at[1] >= others || seen[at[0] * others + at[1]]++)
            fail_msg("turn %d of %d x %d, waves of %d: %d, %d", n, most, others, wave, at[0], at[1]);
          const int begins = !n || at[1] / together > was[1] / together;
          if (at[1] / together < was[1] / together || (begins ? at[0] != most - 1 : at[0] > was[0]))
            fail_msg("turn %d of %d x %d, waves of %d: %d, %d after %d, %d", n, most, others, wave, at[0], at[1], was[0], was[1]);
          was[0] = at[0], was[1] = at[1];
        }
      }
  dlclose(lib);
}
/* The field scalar against mirage_verify.h, word by word: all words with one operand, random ones with two. */
static void field_scalar(void **state) {
  (void)state;
  char dir[400];
  uint16_t (*f)(int, uint16_t, uint16_t);
  mg_error e;
  mgi_emulate_setup_fn setup;
  mgi_emulator m;
  mg_field F;
  void *lib = build_probe("-DMG_EMULATE_FIELD", dir, sizeof dir);
  *(void **)&f = dlsym(lib, "probe");
  *(void **)&setup = dlsym(lib, "mgi_emulate_setup");
  mg_graph *g = parse("program g\ninput X : f16[2, 3]\nO = exp(scale(X, 3/7))\noutput O\n");
  const mg_graph *gs[1] = {g};
  for (int opaque = 0; opaque < 2; opaque++) {
    assert_int_equal(mg_field_small(gs, 1, seed, opaque, &F, &e), MG_OK);
    mgi_check_emulator(&m, NULL, &F);
    assert_int_equal(setup(&m), 1);
    assert_string_equal(m.error, "");
    uint32_t words = (uint32_t)(F.p * (F.q + 1) + 2);
    uint64_t s = seed;
    for (uint32_t k = 0; k < 65536 + 400000; k++) {
      uint32_t r = (uint32_t)mgi_random(&s);
      uint16_t a = (uint16_t)(k < 65536 ? k : r & 0xFFFF), b = (uint16_t)(r >> 16);
      if (k % 16 == 1) a = (uint16_t)(words - 1 - (r & 3)), b = (uint16_t)((r >> 8) % words);
      if (k % 16 == 2) b = (uint16_t)(words - 1 - (r & 3));
      if (k % 8 >= 3) a = (uint16_t)(a % words), b = (uint16_t)(b % words);
      mg_fv x = mgi_emu_to(mgi_emu_cb_unpack(&F, a)), y = mgi_emu_to(mgi_emu_cb_unpack(&F, b)), zero = mg_ff_const(&F, mg_rat(0, 1)), want;
      for (int op = 0; op <= 10; op++) {
        if (op > 5 && k % 16 && op < 10) continue;
        switch (op) {
        case 0: want = mg_ff_add(&F, x, y); break;
        case 1: want = mg_ff_sub(&F, x, y); break;
        case 2: want = mg_ff_mul(&F, x, y); break;
        case 3: want = mg_ff_div(&F, x, y); break;
        case 4: want = mg_ff_max(&F, x, y); break;
        case 5: want = mg_ff_sub(&F, zero, x); break;
        case 6: want = mg_ff_apply(&F, MG_OP_EXP, x, zero, zero); break;
        case 7: want = mg_ff_apply(&F, MG_OP_SILU, x, zero, zero); break;
        case 8: want = mg_ff_apply(&F, MG_OP_SQRT, x, zero, zero); break;
        case 9: want = mg_ff_mul(&F, x, mg_ff_const(&F, mg_rat(3, 7))); break;
        default: want = x;
        }
        uint16_t got = f(op, a, b), expected = mg_ff_pack(&F, want);
        if (got != expected) fail_msg("op %d of words %u and %u in (%llu, %llu): got %u, expected %u", op, a, b, (unsigned long long)F.p, (unsigned long long)F.q, got, expected);
      }
    }
  }
  mg_graph_free(g);
  dlclose(lib);
}

/* Each value is read twice by the next: what hangs on an argmax is told in one pass over the operators, not path by path. */
static void shared_operands(void **state) {
  (void)state;
  for (int computed = 0; computed < 2; computed++) {
    mg_graph *g = mg_program_new("deep", NULL);
    const int64_t dim[2] = {4, 4};
    mg_error e;
    const mg_tensor x = mg_input(g, "X", MG_F32, 2, dim);
    mg_tensor t = mg_gather(g, x, mg_argmax(g, computed ? mg_neg(g, x) : x, 0)), other = x;
    for (int k = 0; k < 64; k++) {
      t = mg_add(g, t, t);
      other = mg_add(g, other, other);
    }
    mg_output(g, t);
    mg_output(g, other);
    if (mg_check(g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    alarm(20);
    assert_int_equal(mgi_by_maxima(g, t.id), computed); /* an argmax of an input is exact */
    assert_int_equal(mgi_by_maxima(g, other.id), 0);
    alarm(0);
    mg_graph_free(g);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 10);
  print_message("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions), cmocka_unit_test(turns), cmocka_unit_test(field_scalar), cmocka_unit_test(finds_the_source), cmocka_unit_test(reduces), cmocka_unit_test(reduces_random),
      cmocka_unit_test(elements), cmocka_unit_test(copy_passes), cmocka_unit_test(rows_pass), cmocka_unit_test(mm_passes), cmocka_unit_test(mm_reduced), cmocka_unit_test(copy_bugs), cmocka_unit_test(waiting_is_no_difference), cmocka_unit_test(rows_bugs),
      cmocka_unit_test(mm_bugs), cmocka_unit_test(races), cmocka_unit_test(emitted_kernels), cmocka_unit_test(halves_that_round_to_zero),
      cmocka_unit_test(halves_that_overflow), cmocka_unit_test(sampled_blocks), cmocka_unit_test(sampled_blocks_of_few), cmocka_unit_test(too_much_work), cmocka_unit_test(too_much_work_of_a_symbol), cmocka_unit_test(bounds_of_work),
      cmocka_unit_test(ranges_share_a_bound), cmocka_unit_test(parts_of_a_workspace), cmocka_unit_test(more_than_ints), cmocka_unit_test(surroundings), cmocka_unit_test(emitted_without_barriers), cmocka_unit_test(compiler_faults),
      cmocka_unit_test(shared_operands),
  };
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
