/* The emitter: µGraphs to CUDA text, checked on the CPU (link 2) and, where nvcc is, compiled for sm_80 and sm_90a.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_emit.c -o build/test_emit -lcmocka -lm -lpthread && build/test_emit [SEED [CASES]]
   SOAK_EMIT=1: every case is checked and compiled, not a sample.  Under the address sanitizer: a quarter of the sample. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define MG_USER_OPS(E, T)                                                                                     \
  E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))                                    \
  T(FLIP, "flip", 1, MG_KB_, DIM, FLIP, OPAQUE, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_cuda.cuh"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"

mg_status mgi_shape_FLIP(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  if (A->dim < 0 || A->dim >= in->rank) return mg_fail(e, MG_BAD_INPUT, "flip", "no dimension %d", (int)A->dim);
  *out = *in;
  return MG_OK;
}

static uint64_t seed = 1, rng;
static int cases = 24, soak; /* soak: the long form */
static int pick(int n) { /* below n */
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (int)((rng >> 11) % (uint64_t)n);
}

static char *emit(const mg_graph *g, const char *arch) {
  mg_error e;
  mg_emit_config cfg;
  char *text = NULL;
  memset(&e, 0, sizeof e);
  memset(&cfg, 0, sizeof cfg);
  cfg.arch = arch;
  if (mg_cuda_emit(g, &cfg, &text, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(mg_cuda_emittable(g, arch, &e), MG_OK);
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
    if (strcspn(line, "\n") > 120) fail_msg("a line of more than 120 bytes: %.*s", (int)strcspn(line, "\n"), line);
  return text;
}
/* Whether the emitted text has it, wherever its lines break: spaces and ends of lines do not count. */
static int has(const char *text, const char *what) {
  for (; *text; text++) {
    const char *t = text, *w = what;
    for (;;) {
      t += strspn(t, " \n");
      w += strspn(w, " \n");
      if (!*w) return 1;
      if (*t++ != *w++) break;
    }
  }
  return 0;
}
/* A test has many cases: all are emitted, but the short form checks, or compiles, one in `of` of them, by the seed. */
static int in_sample(int of) {
  static uint64_t n;
  of *= SPARSER;
  return soak || of == 1 || (n++ + seed) % (uint64_t)of == 0;
}
static void emitted(const char *text) {
  mg_graph *g = parse(text);
  mg_string_free(emit(g, NULL));
  mg_graph_free(g);
}
/* Emits and checks; the µGraph's text must pass. */
static void checked(const char *text) {
  mg_error e;
  mg_check_report r;
  mg_check_config cfg;
  mg_graph *g = parse(text);
  char *cu = emit(g, NULL);
  memset(&e, 0, sizeof e);
  memset(&cfg, 0, sizeof cfg);
  cfg.seed = seed;
  mg_status s = mg_cuda_check(g, cu, &cfg, &r, &e);
  if (s != MG_OK) fail_msg("seed %llu: %s: %s\n%s", (unsigned long long)seed, e.where, e.msg, text);
  assert_int_equal(r.fields, 2);
  assert_int_equal(r.float_checked, 1);
  assert_true(r.compared > 0);
  assert_true(r.float_error < r.tolerance);
  mg_string_free(cu);
  mg_graph_free(g);
}
static void always(const char *text) { (in_sample(1) ? checked : emitted)(text); }
static void passes(const char *text) { (in_sample(4) ? checked : emitted)(text); } /* emitted always, checked if it is in the sample */
/* Link 2 refuses cu, of g, with `by`, which is no longer, wherever `line` stands. */
static void noticed(const mg_graph *g, const char *cu, const char *line, const char *by) {
  mg_error e;
  mg_check_report r;
  char *bad = strdup(cu);
  int n = 0;
  assert_non_null(bad);
  for (char *at = bad; (at = strstr(at, line)) != NULL; n++) memcpy(at, by, strlen(by));
  assert_true(n > 0);
  if (in_sample(1)) {
    const mg_status s = mg_cuda_check(g, bad, NULL, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("'%s' in place of '%s' is not noticed: %d", by, line, (int)s);
  }
  free(bad);
}
static void refused(const char *text, const char *arch, const char *why) {
  mg_error e;
  mg_emit_config cfg;
  mg_graph *g = parse(text);
  char *cu = NULL;
  memset(&e, 0, sizeof e);
  memset(&cfg, 0, sizeof cfg);
  cfg.arch = arch;
  assert_int_equal(mg_cuda_emittable(g, arch, &e), MG_UNSUPPORTED);
  if (!strstr(e.msg, why)) fail_msg("expected a reason with '%s', got '%s'", why, e.msg);
  memset(&e, 0, sizeof e);
  assert_int_equal(mg_cuda_emit(g, &cfg, &cu, &e), MG_UNSUPPORTED);
  assert_null(cu);
  assert_non_null(strstr(e.msg, why));
  mg_graph_free(g);
}

static int has_nvcc(void) {
  char line[400];
  int found = 0;
  if (SANITIZED) return 0; /* what it says of a text is said without */
  FILE *p = popen("nvcc --version 2>/dev/null", "r");
  while (p && fgets(line, sizeof line, p)) found |= strstr(line, "release") != NULL;
  if (p) pclose(p);
  return found;
}
/* nvcc takes the emitted kernel without a warning, a spill, or warpgroups that wait for one another's products. */
static void compiles(const mg_graph *g, const char *arch) {
  char path[128], file[160], command[700], line[400];
  int spills = 0, entries = 0, warnings = 0, registers = 0, threads = 0;
  char *cu = emit(g, arch);
  snprintf(path, sizeof path, "build/emit.%ld", (long)getpid());
  snprintf(file, sizeof file, "%s.cu", path);
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  fputs(cu, f);
  fclose(f);
  snprintf(command, sizeof command, "nvcc -O3 -std=c++17 -gencode arch=compute_%s,code=%s -Xcompiler -fPIC,-Wall,-Wextra -Xptxas -v -shared -I. -o %s.so %s 2>&1", arch + 3, arch, path, file);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  while (fgets(line, sizeof line, p)) {
    warnings += strstr(line, "warning") != NULL || strstr(line, "Performance Loss") != NULL;
    entries += strstr(line, "Compiling entry") != NULL;
    spills += strstr(line, "spill") && !strstr(line, " 0 bytes spill stores, 0 bytes spill loads");
    if (strstr(line, " Used ")) registers = atoi(strstr(line, " Used ") + 6);
    if (strstr(line, "error") || strstr(line, "warning") || strstr(line, "Performance Loss")) print_message("%s", line);
  }
  assert_int_equal(pclose(p), 0);
  assert_int_equal(warnings, 0);
  assert_int_equal(spills, 0);
  assert_int_equal(entries, (int)g->n_ops - 1);
  if (strstr(cu, "mg_takes_registers<")) { /* all that the launch can deal out: who waits for more than is given up waits for ever */
    assert_int_equal(sscanf(strstr(cu, "MG_KERNEL("), "MG_KERNEL(%d)", &threads), 1);
    assert_int_equal(registers, 65536 / threads / 8 * 8);
  }
  remove(file);
  snprintf(file, sizeof file, "%s.so", path);
  remove(file);
  mg_string_free(cu);
}

/* ---- µGraphs of the four programs, at any size */
static int64_t count_of(int64_t extent, int64_t chunk) { /* no chunk is empty */
  int64_t n = (extent + chunk - 1) / chunk;
  while (n > 1 && (n - 1) * ((extent + n - 1) / n) >= extent) n--;
  return n;
}
typedef struct size { int M, K, N, R, tm, tk, tn, threads; const char *type, *plan, *order_x, *order_w; int split; /* blocks that share the contraction; 0: 1 */ } size;
enum { RMSNORM, GATED, DISTRIBUTED, LOW_RANK, LORA, TWO_LOOPS, ATTENTION, KINDS };

static char *ugraph(int kind, const size *s, char *out, size_t n) {
  int split = s->split > 1 ? (int)count_of(s->K, (s->K + s->split - 1) / s->split) : 1, part = (s->K + split - 1) / split;
  long long gx = count_of(s->N, s->tn), gy = count_of(s->M, s->tm), li = count_of(part, s->tk < part ? s->tk : part);
  char inputs[600], body[1200], whole[1600], grid[24] = "";
  switch (kind) {
    case RMSNORM:
      snprintf(inputs, sizeof inputs, "input X : %s[%d, %d] %s\ninput G : %s[%d]\ninput W : %s[%d, %d] %s\n", s->type, s->M, s->K, s->order_x, s->type, s->K, s->type, s->K, s->N, s->order_w);
      snprintf(body, sizeof body,
               "  for i=%lld {\n    a = load X {y->0, i->1}\n    g = load G {i->0}\n    w = load W {x->1, i->0}\n    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n"
               "  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/%d), 1/1000000)))\n", li, s->K);
      break;
    case GATED:
      snprintf(inputs, sizeof inputs, "input X : %s[%d, %d] %s\ninput A : %s[%d, %d] %s\ninput B : %s[%d, %d]\n", s->type, s->M, s->K, s->order_x, s->type, s->K, s->N, s->order_w, s->type, s->K, s->N);
      snprintf(body, sizeof body,
               "  for i=%lld {\n    x = load X {y->0, i->1}\n    a = load A {x->1, i->0}\n    b = load B {x->1, i->0}\n    p = matmul(x, a)\n    q = matmul(x, b)\n  }\n"
               "  o = mul(silu(accum(p) {i->+}), accum(q) {i->+})\n", li);
      break;
    case DISTRIBUTED:
      snprintf(inputs, sizeof inputs, "input X : %s[%d, %d]\ninput Y : %s[%d, %d] %s\ninput Z : %s[%d, %d] %s\ninput C : %s[%d]\n", s->type, s->M, s->K, s->type, s->M, s->K, s->order_x, s->type, s->K, s->N,
               s->order_w, s->type, s->N);
      snprintf(body, sizeof body,
               "  for i=%lld {\n    x = load X {y->0, i->1}\n    y = load Y {y->0, i->1}\n    z = load Z {x->1, i->0}\n    p = matmul(add(x, y), z)\n  }\n  c = load C {x->0}\n  o = add(accum(p) {i->+}, c)\n", li);
      break;
    case LOW_RANK: case LORA:
      snprintf(inputs, sizeof inputs, "input X : %s[%d, %d] %s\ninput A : %s[%d, %d]\ninput B : %s[%d, %d] %s\n%s%s", s->type, s->M, s->K, s->order_x, s->type, s->K, s->R, s->type, s->R, s->N, s->order_w,
               kind == LORA ? "input W : " : "", kind == LORA ? "" : "");
      if (kind == LORA) snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s[%d, %d]\n", s->type, s->K, s->N);
      snprintf(body, sizeof body, "  for i=%lld {\n    x = load X {y->0, i->1}\n    a = load A {i->0}\n%s    p = matmul(x, a)\n%s  }\n  b = load B {x->1}\n  o = %smatmul(accum(p) {i->+}, b)%s\n", li,
               kind == LORA ? "    w = load W {x->1, i->0}\n" : "", kind == LORA ? "    q = matmul(x, w)\n" : "", kind == LORA ? "add(accum(q) {i->+}, " : "", kind == LORA ? ")" : "");
      break;
    case TWO_LOOPS:
      snprintf(inputs, sizeof inputs, "input X : %s[%d, %d] %s\ninput W : %s[%d, %d] %s\n", s->type, s->M, s->K, s->order_x, s->type, s->K, s->N, s->order_w);
      snprintf(body, sizeof body,
               "  for j=%lld {\n    x = load X {y->0, j->1}\n    s = sum(sqr(x), dim=1)\n  }\n  n = sqrt(add_scalar(accum(s) {j->+}, 1/1000))\n"
               "  for i=%lld {\n    a = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n    p = matmul(div(a, n), w)\n    m = max(a, dim=1)\n  }\n  o = sub(accum(p) {i->+}, accum(m) {i->max})\n", li, li);
      break;
    default: /* rows of queries, a loop over K keys, N columns of values */
      snprintf(inputs, sizeof inputs, "input Q : %s[%d, %d]\ninput K : %s[%d, %d] %s\ninput V : %s[%d, %d]\n", s->type, s->M, s->R, s->type, s->R, s->K, s->order_w, s->type, s->K, s->N);
      snprintf(body, sizeof body,
               "  q = load Q {y->0}\n  for i=%lld {\n    k = load K {i->1}\n    v = load V {x->1, i->0}\n    p = exp(scale(matmul(q, k), 1/8))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n"
               "  o = div(accum(d) {i->+}, accum(s) {i->+})\n", li);
  }
  size_t to = 0; /* what loop i takes its share of, the blocks along z share before */
  for (const char *at = body; *at; at++) {
    if (split > 1 && !strncmp(at, "i->", 3)) to += (size_t)sprintf(whole + to, "z->%.*s, ", (int)strcspn(at + 3, ",}"), at + 3);
    whole[to++] = *at;
  }
  whole[to] = 0;
  if (split > 1) snprintf(grid, sizeof grid, ", z=%d", split);
  snprintf(out, n, "program t\n%sO = kernel grid=(x=%lld, y=%lld%s) threads=%d {\n%s%s  store o {x->1, y->0}\n}\noutput O\n", inputs, gx, gy, grid, s->threads, s->plan, whole);
  return out;
}

/* ---- tests */
static const char rmsnorm[] = /* both accumulations in one loop */
  "program rmsnorm\ninput X : f16[16, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 4096]\n"
  "O = kernel grid=(x=64) threads=256 {\n  for i=32 {\n    a = load X {x->*, i->1}\n    g = load G {x->*, i->0}\n    w = load W {x->1, i->0}\n    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n"
  "  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/4096), 1/1000000)))\n  store o {x->1}\n}\noutput O\n";

static void test_file(void **state) {
  (void)state;
  mg_graph *g = parse(rmsnorm), *again = NULL;
  mg_error e;
  char *a = emit(g, "sm_90a"), *b = emit(g, "sm_90a");
  assert_string_equal(a, b); /* deterministic */
  assert_int_equal(strncmp(a, "/* nvcc ", 8), 0);
  assert_non_null(strstr(a, "-gencode arch=compute_90a,code=sm_90a"));
  assert_non_null(strstr(a, "extern \"C\" int rmsnorm_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream)"));
  assert_non_null(strstr(a, "extern \"C\" size_t rmsnorm_workspace_bytes(void)"));
  assert_non_null(strstr(a, "extern \"C\" const mg_emitted_info rmsnorm_info"));
  assert_non_null(strstr(a, "#ifndef rmsnorm_K0_x\n#define rmsnorm_K0_x 64\n#endif\n"));
  assert_non_null(strstr(a, "#ifndef rmsnorm_K0_i\n#define rmsnorm_K0_i 32\n#endif\n"));
  assert_non_null(strstr(a, "not certified"));
  assert_non_null(strstr(a, "mg_const(1, 4096)"));
  assert_null(strstr(a, "MG_USER_OPS"));
  static const char *const noise[] = {"(void)", " + 0)", " + 0;", " * (int64_t)1)", " * 1)"};
  for (size_t k = 0; k < sizeof noise / sizeof *noise; k++) {
    const char *at = strstr(a, noise[k]);
    if (at && strncmp(at - 15, "workspace_bytes(void)", 21)) fail_msg("'%s' in\n%s", noise[k], a);
  }
  for (const char *at = a; (at = strstr(at, "mg_shared()")) != NULL; at++) /* addresses have names */
    if (strncmp(at, "mg_shared() + AT_", 17)) fail_msg("'%.40s' in\n%s", at, a);
  assert_non_null(strstr(a, "    AT_ring_i = 0"));
  assert_non_null(strstr(a, "#define MIRAGE_DEVICE_ONLY\n#include \"mirage_cuda.cuh\"\n"));
  assert_int_equal(mg_cuda_source_graph(a, strlen(a), &again, &e), MG_OK);
  assert_true(mg_hash(g) == mg_hash(again));
  mg_graph_free(again);
  mg_string_free(a);
  mg_string_free(b);
  mg_emit_config cfg = {"sm_80", "EQUAL, or is it */ int x; /*\nsecond line"};
  assert_int_equal(mg_cuda_emit(g, &cfg, &a, &e), MG_OK);
  assert_non_null(strstr(a, " * second line\n"));
  assert_null(strstr(a, "is it */"));
  assert_non_null(strstr(a, "code=sm_80"));
  mg_string_free(a);
  mg_graph_free(g);
}

/* A ring of tensor copies that lies where cp.async wrote: the proxies are told of each other, and link 2 misses it if they are not. */
static void test_proxies(void **state) {
  (void)state;
  static const char text[] =
      "program r\ninput A : f16[64, 256]\ninput B : f16[256, 64]\ninput X : f16[64, 64]\ninput U : f16[64, 64]\n"
      "input Y : f16[64, 512]\ninput V : f16[512, 64]\nO = kernel grid=(x=1, y=2) threads=64 {\n"
      "  plan { copy=tma stages=2 warps_m=2 warps_n=1 warps_k=1 }\n  for i=4 {\n    x = load X {y->0, i->1}\n"
      "    u = load U {x->1, i->0}\n    p = matmul(x, u)\n  }\n  a = load A {y->0}\n  b = load B {x->1}\n"
      "  q = mul(accum(p) {i->+}, matmul(a, b))\n  for j=4 {\n    y = load Y {y->0, j->1}\n    v = load V {x->1, j->0}\n"
      "    r = matmul(y, v)\n  }\n  o = add(accum(r) {j->+}, q)\n  store o {x->1, y->0}\n}\noutput O\n";
  mg_graph *g = parse(text);
  char *cu = emit(g, NULL), *fence = strstr(cu, "mg_group_publish();");
  mg_check_config c;
  mg_check_report r;
  mg_error e;
  assert_non_null(fence);
  assert_null(strstr(fence + 1, "mg_group_publish();"));
  always(text);
  memset(&c, 0, sizeof c), memset(&e, 0, sizeof e);
  c.seeds = 2;
  memset(fence, ' ', 19);
  assert_int_equal(mg_cuda_check(g, cu, &c, &r, &e), MG_NOT_FOUND);
  if (!strstr(r.difference, "a tensor copy goes over") || !strstr(r.difference, "has not published")) fail_msg("%s", r.difference);
  mg_string_free(cu);
  mg_graph_free(g);
}
/* A product as written has any leading dimensions: apart in memory, absent, of one element, a symbol's.  cuBLAS takes those that lie as one. */
static void test_leading_dimensions(void **state) {
  (void)state;
  static const struct { const char *text; int blas; } forms[] = {
      {"program t\ninput A : f16[2, 3, 20, 24]\ninput B : f16[2, 3, 24, 70]\nY = matmul(A, B)\noutput Y\n", 1},
      {"program t\ninput A : f16[2, 3, 20, 24] @ [0, 1, 3, 2]\ninput B : f16[24, 70]\nY = matmul(A, B)\noutput Y\n", 1},
      {"program t\ninput A : f16[2, 3, 20, 24] @ [1, 0, 2, 3]\ninput B : f16[2, 3, 24, 70]\nY = matmul(A, B)\noutput Y\n", 0},
      {"program t\ninput A : f16[2, 3, 20, 24] @ [0, 2, 1, 3]\ninput B : f16[2, 3, 24, 70]\nY = matmul(A, B)\noutput Y\n", 0},
      {"program t\ninput A : f16[2, 3, 20, 24]\ninput B : f16[3, 24, 70]\ninput C : f16[2, 1, 70, 7]\nY = matmul(matmul(A, B), C)\noutput Y\n", 0},
      {"program t\ninput A : f16[2, 6, 20, 24]\ninput B : f16[2, 3, 24, 70]\nY = matmul(slice(A, dim=1, from=2, n=3), B)\noutput Y\n", 1},
      {"program t\ninput A : bf16[2, 1, 3, 7, 5]\ninput B : bf16[2, 4, 3, 5, 9]\nY = matmul(A, B)\noutput Y\n", 0},
      {"program t\ninput A : f16[2, 3, 20, 24]\ninput B : f16[2, 1, 24, 70]\ninput C : f16[3, 20, 16]\ninput D : f16[2, 3, 16, 70]\nY = concat_matmul(A, C, B, D)\noutput Y\n", 0},
      {"program t\nsym n in 1..3\ninput A : f16[2, 8*n, 1, 17, 32] @ [1, 0, 2, 3, 4]\ninput B : f16[8*n, 3, 32, 33]\nY = matmul(A, B)\noutput Y\n", 0},
      {"program t\ninput A : f32[2, 20, 24]\ninput B : f16[24, 70]\nY = matmul(A, B)\noutput Y\n", 0}, /* nor does it multiply unlike types */
      {"program t\ninput A : bf16[2, 20, 24]\ninput B : f32[2, 24, 70]\nY = matmul(A, B)\noutput Y\n", 0}};
  for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL);
    if ((strstr(cu, "if (mg_cublas(") != NULL) != forms[k].blas) fail_msg("form %d: %s", (int)k, cu);
    mg_string_free(cu);
    mg_graph_free(g);
    (k % 4 ? passes : always)(forms[k].text);
  }
}
/* What follows a product that cuBLAS takes along is one call with it, and its kernels stand in the call's else; else it is a kernel behind it. */
static void test_library_takes(void **state) {
  (void)state;
  static const struct { const char *text, *end; } forms[] = {
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput R : f16[20, 72]\nY = add(R, matmul(A, B))\noutput Y\n", "out[0], (const mg_f16 *)in[2], 0, 1, 0}"},
      {"program t\ninput A : bf16[2, 20, 24]\ninput B : bf16[24, 72] @ [1, 0]\ninput V : bf16[72]\nY = add(matmul(A, B), V)\noutput Y\n",
       "out[0], 0, (const mg_bf16 *)in[2], 1, 0}"},
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput R : f16[20, 72]\ninput V : f16[1, 72]\nY = add(add(matmul(A, B), R), V)\noutput Y\n",
       "out[0], (const mg_f16 *)in[2], (const mg_f16 *)in[3], 2, 0}"},
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\nY = relu(matmul(A, B))\noutput Y\n", "AT_t1), 0, 0, 0, 0}"}, /* of a NaN a NaN */
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 24]\ninput V : f16[24]\nS = add(A, V)\nY = add(matmul(A, B), S)\noutput Y\n", "AT_t1), 0, 0, 0, 0}"}, /* f32 between, as sums may overflow */
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 24]\nC = matmul(A, B)\nS = exp(A)\nY = add(C, S)\noutput Y\n", "AT_C), 0, 0, 0, 0}"}, /* made behind the product */
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput R : f16[20, 72] @ [1, 0]\nY = add(R, matmul(A, B))\noutput Y\n", "AT_t1), 0, 0, 0, 0}"}, /* by columns */
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput V : f16[20, 1]\nY = add(matmul(A, B), V)\noutput Y\n", "AT_t1), 0, 0, 0, 0}"}, /* a column */
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\nC = matmul(A, B)\nY = add(C, C)\noutput Y\n", "AT_C), 0, 0, 0, 0}"},
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput R : f16[20, 72]\nC = matmul(A, B)\nY = add(C, R)\noutput C\noutput Y\n", "out[0], 0, 0, 0, 0}"},
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput V : f16[72]\nY = add(relu(matmul(A, B)), V)\noutput Y\n", "AT_t1), 0, 0, 0, 0}"},
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput Z : f16[8]\ninput R : f16[20, 72]\nC = matmul(A, B)\nE = exp(Z)\nY = add(C, R)\noutput Y\noutput E\n", "AT_C), 0, 0, 0, 0}"}, /* another between: launches keep their order */
      {"program t\ninput A : f16[20, 24] @ [1, 0]\ninput B : f16[3, 24, 72] @ [1, 0, 2]\ninput R : f16[3, 20, 72]\nY = add(matmul(A, B), R)\noutput Y\n", "out[0], (const mg_f16 *)in[2], 0, 1, 0}"},
      {"program t\ninput A : f16[20, 24]\ninput B : f16[24, 72]\ninput R : f16[2, 20, 72]\nY = add(R, matmul(A, B))\noutput Y\n", "AT_t1), 0, 0, 0, 0}"}, /* to more than its shape */
      {"program t\nsym n in 1..40\ninput A : f16[n, 24]\ninput B : f16[24, 72]\ninput R : f16[n, 72]\nY = add(R, matmul(A, B))\noutput Y\n", "out[0], (const mg_f16 *)in[2], 0, 1, 1}"},
      {"program t\nsym n in 1..40\ninput A : f16[n, 24]\ninput B : f16[24, 72]\ninput R : f16[1, 72]\nY = add(R, matmul(A, B))\noutput Y\n", "out[0], 0, (const mg_f16 *)in[2], 1, 1}"},
      /* strides, what is contracted, columns and batches that come with the launch */
      {"program t\nsym n in 1..40\ninput A : f16[n, 24] @ [1, 0]\ninput B : f16[24, 72]\nY = matmul(A, B)\noutput Y\n", "out[0], 0, 0, 0, 2}"},
      {"program t\nsym n in 1..40\ninput A : f16[20, n]\ninput B : f16[n, 72]\nY = matmul(A, B)\noutput Y\n", "out[0], 0, 0, 0, 2}"},
      {"program t\nsym n in 1..40\ninput A : f16[20, 24]\ninput B : f16[24, n]\nY = matmul(A, B)\noutput Y\n", "out[0], 0, 0, 0, 2}"},
      {"program t\nsym n in 1..40\ninput A : f16[3, n, 24]\ninput B : f16[24, 72]\nY = matmul(A, B)\noutput Y\n", "out[0], 0, 0, 0, 2}"},
      {"program t\nsym n in 1..40\ninput A : f16[n, 8, 24]\ninput B : f16[n, 24, 72]\nY = matmul(A, B)\noutput Y\n", "out[0], 0, 0, 0, 2}"},
      {"program t\nsym n in 1..40\ninput A : f16[1, n, 24]\ninput B : f16[24, 72]\nY = matmul(A, B)\noutput Y\n", "out[0], 0, 0, 0, 2}"}};
  for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL), *call = strstr(cu, "if (mg_cublas("), *flat = call ? strndup(call, strcspn(call, ";")) : NULL, *to = flat;
    assert_non_null(flat);
    for (const char *from = flat; *from; from++) /* one line */
      if (*from != '\n' && !(*from == ' ' && to > flat && to[-1] == ' ')) *to++ = *from;
    *to = 0;
    if (!strstr(flat, forms[k].end)) fail_msg("form %d: %s", (int)k, flat);
    free(flat);
    mg_string_free(cu);
    mg_graph_free(g);
    always(forms[k].text);
  }
}
/* NAME_run launches what NAME_launch launches, which are the kernels of NAME_info; pointers that are not aligned are refused. */
static void test_typed_launch(void **state) {
  (void)state;
  static const char *const forms[] = {
      "program p\ninput int : f16[16, 64]\ninput stream : bf16[16, 64]\ninput out : f32[16, 64]\n_A = sqr(int)\n_B = sqr(stream)\nworkspace = add(_A, mul(_B, out))\nin = sqr(int)\noutput workspace, in\n",
      "program p\ninput A : f16[16, 64]\ninput B : f16[64, 64]\n"
      "C = kernel grid=(x=2, y=2) threads=128 {\n  plan { stages=3 warps_m=1 warps_n=2 warps_k=2 }\n  for i=4 {\n    a = load A {y->0, i->1}\n    b = load B {x->1, i->0}\n    c = matmul(a, b)\n  }\n  s = accum(c) {i->+}\n  store s {x->1, y->0}\n}\n"
      "M = matmul(A, B)\nD = kernel grid=(x=2) threads=64 {\n  c = load M {x->0}\n  d = exp(c)\n  store d {x->0}\n}\noutput C, D\n"};
  static const char *const typed[][2] = {
      {"const half *in_int,\n *     const __nv_bfloat16 *in_stream,\n *     const float *in_out,\n *     float *out_workspace,\n *     half *out_in,\n *     void *workspace, cudaStream_t stream);\n",
       "in[0], (const mg_bfloat *)in[1], (const float *)in[2], (float *)out[0], (mg_half *)out[1]"},
      {"const half *in_A,\n *     const half *in_B,\n *     half *out_C,\n *     half *out_D,\n *     void *workspace, cudaStream_t stream);\n",
       "in[0], (const mg_half *)in[1], (mg_half *)out[0], (mg_half *)out[1]"}};
  char path[64], command[600];
  snprintf(path, sizeof path, "build/typed.%ld", (long)getpid());
  snprintf(command, sizeof command, "g++ -std=c++17 -O0 -w -DMG_EMULATE -I. -x c++ %s.cu -o %s -ldl && %s; code=$?; rm -f %s %s.cu; exit $code", path, path, path, path, path);
  for (int k = 0; k < 2; k++) {
    mg_graph *g = parse(forms[k]);
    char *cu = emit(g, NULL), file[140];
    if (!strstr(cu, typed[k][0])) fail_msg("no '%s' in\n%s", typed[k][0], cu);
    snprintf(file, sizeof file, "%s.cu", path);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fprintf(f, "%s\nstatic char notes[2][4000];\nstatic unsigned char room[6][65536] __attribute__((aligned(256)));\n"
               "int main() {\n  static mgi_emulator job;\n  const void *in[3] = {room[0], room[1], room[2]};\n  void *out[2] = {room[3], room[4]};\n"
               "  void *const stream = room;\n  job.size = sizeof job, job.stream = stream, job.dry = 1, job.notes_size = sizeof notes[0];\n"
               "  for (int k = 0; k < 6; k++) job.range[k] = {\"01234x\" + k, room[k], sizeof room[k], k > 2}, job.n_ranges++;\n", cu);
    fprintf(f, "  for (int way = 0; way < 2; way++) {\n    job.notes = notes[way];\n    if (mgi_emulate_setup(&job)) return 1;\n"
               "    if (way ? p_run((const mg_half *)%s, room[5], stream) : p_launch(in, out, room[5], stream)) return 2;\n  }\n"
               "  if (!job.launches || strcmp(notes[0], notes[1])) return 3;\n", typed[k][1]);
    fprintf(f, "  const char *at = notes[0];\n  for (int k = 0; k < p_info.n_kernels; k++, at = strchr(at, '\\n') + 1) {\n    char name[100];\n    long long x, y, z, threads, bytes;\n"
               "    const mg_kernel_info i = p_info.kernels[k];\n"
               "    if (sscanf(at, \"%%99[^:]: %%lld x %%lld x %%lld blocks in clusters of %%*d x %%*d x %%*d, %%lld threads, %%lld bytes\", name, &x, &y, &z, &threads, &bytes) != 6) return 5;\n"
               "    if (strcmp(name, i.name) || x != i.grid[0] || y != i.grid[1] || z != i.grid[2] || threads != i.threads || bytes != i.shared_bytes) return 6;\n  }\n  if (*at) return 7;\n");
    fprintf(f, "  for (int k = 0; k < 6; k++) {\n    const void *const i[3] = {room[0] + 8 * (k == 0), room[1] + 2 * (k == 1), room[2] + (k == 2 && p_info.n_in > 2)};\n"
               "    void *const o[2] = {room[3] + 4 * (k == 3), room[4] + 8 * (k == 4)};\n"
               "    const int bad = k != 2 || p_info.n_in > 2, calls = job.calls;\n"
               "    if (p_launch(i, o, room[5] + 8 * (k == 5), stream) != (bad ? 716 : 0) || (job.calls == calls) != bad) return 4;\n  }\n  return 0;\n}\n");
    fclose(f);
    const int code = system(command);
    if (code) fail_msg("status %d\n%s", code >> 8, cu);
    mg_string_free(cu);
    mg_graph_free(g);
  }
}

static void test_four_programs(void **state) {
  (void)state;
  static const size sizes[] = {
    {16, 4096, 4096, 16, 16, 128, 64, 256, "f16", "", "", "", 0},
    {1, 4096, 100, 16, 1, 256, 64, 256, "f16", "", "", "", 0},
    {2, 40, 24, 8, 2, 16, 24, 64, "f16", "", "", "", 0},
    {33, 40, 100, 20, 16, 32, 64, 128, "bf16", "", "", "", 0},
    {7, 4096, 24, 16, 7, 128, 24, 128, "f16", "  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 }\n", "", "", 0},
    {33, 256, 128, 16, 33, 64, 64, 128, "f16", "  plan { stages=2 warps_m=2 warps_n=2 warps_k=1 }\n", "@ [1, 0]", "@ [1, 0]", 0},
    {20, 40, 50, 8, 10, 10, 25, 96, "f32", "", "", "@ [1, 0]", 0},
  };
  char text[2400];
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (int kind = RMSNORM; kind <= LOW_RANK; kind++) passes(ugraph(kind, &sizes[k], text, sizeof text));
}

static void test_random_sizes(void **state) {
  (void)state;
  static const int Ms[] = {1, 2, 7, 16, 33, 40, 64}, Ks[] = {40, 64, 96, 100, 128, 256}, Ns[] = {8, 20, 24, 64, 100, 128}, Rs[] = {8, 16, 20}, tiles[] = {8, 16, 24, 32, 64}, warps[] = {1, 2, 3, 4, 8};
  static const char *const types[] = {"f16", "f16", "bf16", "f32"};
  char text[2400], plan[100];
  for (int k = 0; k < cases; k++) {
    size s;
    int w = warps[pick(5)];
    s.M = Ms[pick(7)], s.K = Ks[pick(6)], s.N = Ns[pick(6)], s.R = Rs[pick(3)];
    s.tm = pick(2) ? s.M : 16, s.tk = 16 * (1 + pick(4)), s.tn = tiles[pick(5)];
    if (s.tm > s.M) s.tm = s.M;
    if (s.tk > s.K) s.tk = s.K;
    if (s.tn > s.N) s.tn = s.N;
    s.threads = 32 * w, s.type = types[pick(4)], s.plan = "", s.order_x = pick(3) ? "" : "@ [1, 0]", s.order_w = pick(2) ? "" : "@ [1, 0]";
    if (pick(2)) {
      int a = 1 + pick(w), b;
      while (w % a) a--;
      for (b = 1 + pick(w / a); w / a % b;) b--;
      snprintf(plan, sizeof plan, "  plan { warps_m=%d warps_n=%d warps_k=%d stages=%d }\n", a, b, w / a / b, 1 + pick(4));
      s.plan = plan;
    }
    s.split = pick(2) ? 1 + pick(5) : 1;
    passes(ugraph(pick(KINDS), &s, text, sizeof text));
  }
}

/* Loops in loops, and one after the other inside of one: accumulators that lift out of one or several of them. */
static void test_nested(void **state) {
  (void)state;
  /* joined over one loop, side by side over the other, either one inside */
  for (int k = 0; k < 4; k++) {
    static const char *const orders[][2] = {{"i=3", "j=4"}, {"j=4", "i=3"}};
    char text[1200];
    snprintf(text, sizeof text, "program t\ninput A : f16[20, 90]\ninput B : f16[90, %d]\nO = kernel grid=(x=2) threads=64 {\n  for %s {\n    for %s {\n      a = load A {x->0, i->1}\n      b = load B {i->0, j->1}\n      c = %s\n    }\n  }\n"
             "  o = accum(c) {i->%s, j->1}\n  store o {x->0}\n}\noutput O\n", k < 2 ? 64 : 58, orders[k % 2][0], orders[k % 2][1], k < 2 ? "matmul(a, b)" : "relu(matmul(a, b))", k < 2 ? "+" : "max");
    passes(text);
  }
  static const char *const types[] = {"f16", "bf16", "f32"};
  char text[2400];
  for (int k = 0; k < 4; k++) {
    const char *type = types[k ? pick(3) : 0];
    int M = k ? 1 + pick(40) : 64, D = k ? 8 * (1 + pick(12)) : 64, N = k ? 20 + pick(200) : 256, E = k ? 8 + pick(60) : 64;
    long long h = count_of(D, k ? 16 + pick(D) : 32), i = count_of(N, k ? 16 + pick(N) : 64), y = count_of(M, 20);
    char plan[60] = "";
    if (pick(2)) snprintf(plan, sizeof plan, "  plan { stages=%d }\n", 1 + pick(4));
    snprintf(text, sizeof text, "program t\ninput Q : %s[%d, %d]\ninput K : %s[%d, %d] @ [1, 0]\ninput V : %s[%d, %d]\nO = kernel grid=(x=2, y=%lld) threads=%d {\n  for i=%lld {\n    for h=%lld {\n"
             "      q = load Q {y->0, h->1}\n      k = load K {h->0, i->1}\n      s = matmul(q, k)\n    }\n    p = exp(scale(accum(s) {h->+}, 1/8))\n    v = load V {i->0, x->1}\n    l = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n"
             "  o = div(accum(d) {i->+}, accum(l) {i->+})\n%s  store o {x->1, y->0}\n}\noutput O\n", type, M, D, type, D, N, type, N, E, y, 32 << pick(3), i, h, plan);
    passes(text);
  }
  /* two loops in one, lifted out of both at once; a maximum, a concatenation, a statistic of the outer loop used in the inner one */
  passes("program t\ninput X : f16[20, 90]\ninput W : f16[90, 24]\nO, M, C = kernel grid=(x=2) threads=64 {\n  for i=3 {\n    g = load X {i->1}\n    n = sum(g, dim=1)\n    for j=2 {\n      a = load X {i->1, j->1}\n"
         "      w = load W {i->0, j->0, x->1}\n      b = matmul(mul(a, n), w)\n      m = max(a, dim=1)\n    }\n    for k=5 {\n      c = load X {i->1, k->1}\n      e = exp(c)\n    }\n    f = accum(e) {k->1}\n  }\n"
         "  o = accum(b) {i->+, j->+}\n  store o {x->1}\n  t = accum(m) {j->max, i->max}\n  store t {}\n  u = accum(f) {i->1}\n  store u {}\n}\noutput O\noutput M\noutput C\n");
  passes("program t\ninput X : f16[24, 64]\nO = kernel grid=(x=1) threads=64 {\n  for i=3 {\n    for j=4 {\n      x = load X {i->0, j->1}\n      y = sqr(x)\n    }\n  }\n  o = accum(y) {i->0, j->1}\n  store o {}\n}\noutput O\n");
}

/* Products that stay in fragments between two matmuls; exponentials of large logits under a running maximum. */
static void test_chains(void **state) {
  (void)state;
  char text[2400];
  static const char *const plans[] = {"", "  plan { warps_m=1 warps_n=4 warps_k=1 }\n", "  plan { warps_m=4 warps_n=1 warps_k=1 stages=2 }\n", "  plan { warps_m=2 warps_n=2 warps_k=1 stages=1 }\n"};
  for (int k = 0; k < 4; k++) { /* logits have a deviation of about 60: exp overflows without a maximum, in the merged parts too */
    int M = k ? 1 + pick(70) : 64, N = k ? 100 + pick(300) : 512, D = k ? 16 * (1 + pick(4)) : 64, E = k ? 8 + pick(60) : 64, z = k > 1 ? 2 + pick(3) : 1, chunk = 64 * (1 + pick(2));
    long long i = count_of((N + z - 1) / z, chunk);
    N = (int)(z * i * chunk - (k ? pick(16) : 0)); /* chunks of which the last 16 columns are not whole */
    snprintf(text, sizeof text, "program t\ninput Q : f16[2, %d, %d]\ninput K : f16[2, %d, %d]\ninput V : f16[%d, %d]\nO = kernel grid=(x=2, z=%d) threads=128 {\n%s%s  q = load Q {x->0}\n  for i=%lld {\n"
             "    k = load K {x->0, z->1, i->1}\n    v = load V {z->0, i->0}\n    p = exp(scale(matmul(q, transpose(k, [0, 2, 1])), %d/1))\n    l = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n"
             "  o = div(accum(d) {i->+, z->+}, accum(l) {i->+, z->+})\n  store o {x->0}\n}\noutput O\n", M, D, N, D, N, E, z, plans[k], k == 3 ? "  plan { merge=workspace }\n" : "", i, 60 / (D < 32 ? 4 : 8));
    passes(text);
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL);
    assert_non_null(strstr(cu, "mg_contract_chain<"));
    assert_non_null(strstr(cu, "mg_row_shift<"));
    mg_string_free(cu);
    mg_graph_free(g);
  }
  /* no loop, an epilogue between that is no exponential, a product taken as it is, with another reader */
  passes("program t\ninput A : f16[40, 48]\ninput B : f16[48, 64]\ninput D : f16[64, 24]\nO, P = kernel grid=(x=2) threads=128 {\n  plan { warps_m=2 warps_n=2 warps_k=1 }\n  a = load A {x->0}\n  b = load B {}\n  d = load D {}\n"
         "  c = matmul(a, b)\n  o = matmul(c, d)\n  store o {x->0}\n  store c {x->0}\n}\noutput O\noutput P\n");
  passes("program t\ninput A : f16[33, 48]\ninput B : f16[48, 250]\ninput C : f16[33, 1]\ninput D : f16[250, 24]\nO, L = kernel grid=(x=1) threads=64 {\n  plan { warps_m=1 warps_n=2 warps_k=1 }\n  a = load A {}\n  g = load C {}\n  for i=4 {\n"
         "    b = load B {i->1}\n    d = load D {i->0}\n    s = silu(mul(matmul(a, b), g))\n    e = matmul(s, d)\n    l = sum(s, dim=1)\n  }\n  o = accum(e) {i->+}\n  store o {}\n  t = accum(l) {i->+}\n  store t {}\n}\noutput O\noutput L\n");
  passes("program t\ninput Q : bf16[20, 32]\ninput K : bf16[32, 64]\ninput V : bf16[64, 40]\nO = kernel grid=(x=1) threads=128 {\n  plan { warps_m=2 warps_n=2 warps_k=1 }\n  q = load Q {}\n  k = load K {}\n  v = load V {}\n"
         "  p = exp(scale(matmul(q, k), 5/1))\n  o = div(matmul(p, v), sum(p, dim=1))\n  store o {}\n}\noutput O\n");
  /* the warps' columns go beyond the product's: 4 x 16 for 46 */
  passes("program t\ninput Q : f16[20, 32]\ninput K : f16[32, 184]\ninput V : f16[184, 40]\nO = kernel grid=(x=2, z=2) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 merge=cluster }\n  q = load Q {}\n  for i=2 {\n"
         "    k = load K {z->1, i->1}\n    v = load V {x->1, z->0, i->0}\n    p = exp(scale(matmul(q, k), 1/8))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n"
         "  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {x->1}\n}\noutput O\n");
  /* the probabilities are stored too: their maximum is the product's */
  for (int k = 0; k < 3; k++) {
    snprintf(text, sizeof text, "program t\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, %d]\ninput V : f16[2, %d, 32]\nP, O = kernel grid=(x=%d, y=2, z=2) threads=128 {\n  plan { stages=2 %s }\n  q = load Q {x->1, y->0}\n  k = load K {y->0}\n"
             "  p = exp(scale(matmul(q, k), 60/6))\n  s = sum(p, dim=2)\n  v = load V {y->0, z->2}\n  store div(p, s) {x->1, y->0}\n  store div(matmul(p, v), s) {x->1, y->0, z->2}\n}\noutput P\noutput O\n",
             k ? 58 : 64, k ? 58 : 64, k < 2 ? 16 : 1, k == 2 ? "warps_m=1 warps_n=2 warps_k=2" : k ? "warps_m=1 warps_n=2 warps_k=1" : "warps_m=1 warps_n=4 warps_k=1");
    if (k == 1) memcpy(strstr(text, "threads=128"), "threads=64 ", 11);
    if (k < 2) passes(text);
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL);
    assert_int_equal(strstr(cu, "mg_row_shift<") != NULL, k < 2); /* warps that split a contraction have no fragments of the whole */
    mg_string_free(cu);
    mg_graph_free(g);
  }
  /* few rows, and a mask by row and column: what no row of the product has is read of no tile, where a copy is under way */
  passes("program t\ninput Q : f16[2, 8, 64]\ninput K : f16[2, 64, 256]\ninput V : f16[2, 256, 32]\ninput M : f16[8, 256]\nO = kernel grid=(x=2, y=2, z=2) threads=256 {\n  plan { stages=2 warps_m=1 warps_n=8 warps_k=1 }\n  q = load Q {y->1, z->0}\n"
         "  k = load K {z->0}\n  m = load M {y->0}\n  p = exp(add(scale(matmul(q, k), 8), scale(relu(m), -60000)))\n  v = load V {x->2, z->0}\n  o = div(matmul(p, v), sum(p, dim=2))\n  store o {x->2, y->1, z->0}\n}\noutput O\n");
  passes("program t\ninput A : f16[8, 64]\ninput B : f16[64, 256]\ninput M : f16[8, 256]\ninput D : f16[256, 32]\nO = kernel grid=(x=2, y=2) threads=256 {\n  plan { stages=2 warps_m=1 warps_n=8 warps_k=1 }\n  a = load A {y->0}\n  b = load B {}\n  m = load M {y->0}\n"
         "  h = relu(add(matmul(a, b), m))\n  d = load D {x->1}\n  o = matmul(h, d)\n  store o {x->1, y->0}\n}\noutput O\n");
  /* the logits are stored too, before their exponentials take their place: with a bias; by the schedule that is named; behind the loop of the contraction */
  for (int k = 0; k < 6; k++) {
    static const char *const how[] = {"", "schedule=written ", "schedule=depth ", "schedule=room ", "", ""};
    snprintf(text, sizeof text, "program t\ninput Q : f16[2, 16, 64]\ninput K : f16[2, 64, %d]\ninput B : f16[%d]\ninput V : f16[2, %d, 32]\nO, S = kernel grid=(x=2, y=2, z=2) threads=128 {\n  plan { %sstages=2 %s }\n%s"
             "  q = load Q {y->1, z->0%s}\n%s  k = load K {z->0%s}\n  %s = matmul(q, k)\n%s  b = load B {}\n  s = add(scale(%s, 60/8), b)\n  p = exp(s)\n  v = load V {x->2, z->0}\n%s  o = div(matmul(p, v), sum(p, dim=2))\n  store o {x->2, y->1, z->0}\n%s}\noutput O\noutput S\n",
             k == 5 ? 58 : 128, k == 5 ? 58 : 128, k == 5 ? 58 : 128, how[k], k & 1 ? "warps_m=1 warps_n=4 warps_k=1" : "warps_m=2 warps_n=2 warps_k=1", k == 4 ? "  for i=4 {\n" : "", k == 4 ? ", i->2" : "", "", k == 4 ? ", i->1" : "", k == 4 ? "c" : "c", k == 4 ? "  }\n" : "",
             k == 4 ? "accum(c) {i->+}" : "c", k == 3 ? "  store s {y->1, z->0}\n" : "", k == 3 ? "" : "  store s {y->1, z->0}\n");
    if (k == 3) memcpy(strstr(text, "O, S ="), "S, O =", 6);
    passes(text);
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL);
    assert_non_null(strstr(cu, "mg_row_shift<"));
    mg_string_free(cu);
    mg_graph_free(g);
  }
  /* the rows' sums stored too, which are numbers of 16 bits for small logits only, and their logarithms, for large ones too: they
     have their maximum back; outside of loops, in one, in a loop of warpgroups */
  for (int k = 0; k < 6; k++) {
    static const char *const plans[] = {"warps_m=1 warps_n=4 warps_k=1", "warps_m=2 warps_n=2 warps_k=1", "mma=warpgroup warps_m=4 warps_n=1 warps_k=1"};
    const int large = k & 1, group = k >= 4, loop = k >= 2;
    snprintf(text, sizeof text, "program t\ninput Q : f16[2, %d, 64]\ninput K : f16[2, 64, 256]\ninput V : f16[2, 256, 64]\nO, A%s = kernel grid=(x=%d, y=%d, z=2) threads=128 {\n  plan { stages=2 %s }\n  q = load Q {y->1, z->0}\n%s"
             "  k = load K {z->0%s}\n  p = exp(scale(matmul(q, k), %s))\n  v = load V {x->2, z->0%s}\n  d = matmul(p, v)\n  l = sum(p, dim=2)\n%s%s  store div(%s, %s) {x->2, y->1, z->0}\n  store log(%s) {y->1, z->0}\n%s}\noutput O\noutput A\n%s",
             group ? 64 : 40, large ? "" : ", L", group ? 1 : 2, group ? 1 : 3, plans[k / 2], loop ? "  for i=4 {\n" : "", loop ? ", i->2" : "", large ? "60/8" : "1/16", loop ? ", i->1" : "", loop ? "  }\n" : "", loop ? "  e = accum(d) {i->+}\n  s = accum(l) {i->+}\n" : "",
             loop ? "e" : "d", loop ? "s" : "l", loop ? "s" : "l", large ? "" : loop ? "  store s {y->1, z->0}\n" : "  store l {y->1, z->0}\n", large ? "" : "output L\n");
    passes(text);
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL);
    assert_non_null(strstr(cu, "mg_row_shift<"));
    assert_non_null(strstr(cu, "mg_undone<true>("));
    assert_int_equal(strstr(cu, "mg_undone<false>(") != NULL, !large);
    mg_string_free(cu);
    mg_graph_free(g);
  }
  /* more rows than threads */
  passes("program t\ninput Q : f16[70, 48]\ninput K : f16[48, 128]\ninput V : f16[128, 16]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=1 warps_m=1 warps_n=2 warps_k=1 }\n  q = load Q {}\n  k = load K {}\n  p = exp(scale(matmul(q, k), 8))\n  v = load V {x->1}\n"
         "  o = div(matmul(p, v), sum(p, dim=1))\n  store o {x->1}\n}\noutput O\n");
  /* where the maximum does not cancel, there is none */
  static const char apart[] = "program t\ninput Q : f16[16, 32]\ninput K : f16[32, 128]\ninput V : f16[128, 40]\nO, L = kernel grid=(x=1) threads=128 {\n  q = load Q {}\n  for i=2 {\n    k = load K {i->1}\n    v = load V {i->0}\n"
    "    p = exp(scale(matmul(q, k), 1/16))\n    d = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n  o = accum(d) {i->+}\n  t = accum(l) {i->+}\n  store o {}\n  store t {}\n}\noutput O\noutput L\n";
  passes(apart);
  mg_graph *g = parse(apart);
  char *cu = emit(g, NULL);
  assert_non_null(strstr(cu, "mg_contract_chain<"));
  assert_null(strstr(cu, "mg_row_shift<"));
  mg_string_free(cu);
  mg_graph_free(g);
}

/* Between kernels: what is stored under a maximum, and the maxima beside it, in two kernels of `keys` of an attention each.  The first
   kernel's parts are of axis z, and axis x cuts rows or, with `columns`, those of V; the second kernel is `second`. */
static char *split(char *out, size_t n, const char *type, int M, int N, int E, int z, const char *scale, const char *more, const char *mask, int columns, const char *stores, const char *second) {
  snprintf(out, n, "program t\ninput Q : %s[2, %d, 64]\ninput K : %s[2, %d, 64]\ninput V : %s[2, %d, %d]\n%sD, L = kernel grid=(x=2, y=2, z=%d) threads=128 {\n  q = load Q {%sy->0}\n  for i=2 {\n    k = load K {y->0, z->1, i->1}\n"
           "    v = load V {%sy->0, z->1, i->1}\n    s = scale(matmul(q, transpose(k, [0, 2, 1])), %s)\n    p = exp(%s)\n    d = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n%s}\n%s", type, M, type, N, type, N, E, more, z, columns ? "" : "x->1, ", columns ? "x->2, " : "", scale, mask, stores, second);
  return out;
}
static void test_shifts(void **state) {
  (void)state;
  static const char both[] = "  store accum(d) {i->+} {x->1, y->0, z->2}\n  store accum(l) {i->+} {x->1, y->0, z->2}\n";
  static const char whole[] = "  store accum(d) {i->+} {x->1, y->0}\n  store accum(l) {i->+} {x->1, y->0}\n"; /* as if there were no parts: z is 1 */
  static const char mask[] = "add(s, log(relu(load B {x->1, y->0, z->2})))"; /* -inf for all keys of some rows and parts, for some rows in all parts */
  static const struct { int shifted, parts, M, N, E, z; const char *scale, *more, *mask, *stores, *second, *has; } forms[] = {
    {1, 1, 40, 384, 48, 3, "60/8", "", "s", both, "O = kernel grid=(x=5, y=2) threads=64 {\n  for i=3 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->1, y->0}\n}\noutput O\n", "w_shifts, (i_i * (int64_t)48) / 48)"},
    {1, 1, 39, 380, 40, 3, "120/8", "", "s", both, "O = kernel grid=(x=4, y=2) threads=96 {\n  for i=3 {\n    d = load D {x->1, y->0, i->2}\n  }\n  l = load L {x->1, y->0}\n  o = div(accum(d) {i->+}, sum(l, dim=2))\n  store o {x->1, y->0}\n}\noutput O\n", "W_shifts, 1> h_l"},
    {1, 1, 33, 510, 48, 5, "60/8", "input W : %s[48, 24]\n", "s", both, "O = kernel grid=(x=3, y=2) threads=64 {\n  w = load W {}\n  for i=5 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n    e = matmul(d, w)\n  }\n  o = div(accum(e) {i->+}, accum(l) {i->+})\n  store o {x->1, y->0}\n}\noutput O\n", "h_d.pair("},
    {1, 1, 20, 256, 32, 2, "60/8", "", "s", both, "O = kernel grid=(x=5, y=2, z=2) threads=32 {\n  d = load D {x->1, y->0, z->2}\n  l = load L {x->1, y->0, z->2}\n  o = div(accum(d) {z->+}, accum(l) {z->+})\n  store o {x->1, y->0}\n}\noutput O\n", "(b_z * (int64_t)32) / 32)"},
    {1, 1, 20, 384, 48, 3, "60/8", "", "s", both, "O = kernel grid=(x=5, y=2, z=2) threads=64 {\n  d = load D {x->1, y->0, z->2}\n  l = load L {x->1, y->0}\n  o = div(accum(neg(scale(d, 1/3))) {z->+}, sum(l, dim=2))\n  store o {x->1, y->0}\n}\noutput O\n", "W_shifts, 48> h_d"}, /* 72 columns at a time */
    {1, 1, 16, 1280, 32, 10, "60/8", "", "s", "  store accum(d) {i->+} {x->2, y->0, z->2}\n  store accum(l) {i->+} {y->0, z->2}\n", "O = kernel grid=(x=2, y=2) threads=64 {\n  for i=10 {\n    d = load D {x->2, y->0, i->2}\n    l = load L {y->0, i->2}\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->2, y->0}\n}\noutput O\n", "if (b_x == 0) shift_p.put("},
    {1, 1, 24, 512, 32, 4, "60/8", "input B : %s[2, 24, 4]\n", mask, both, "O = kernel grid=(x=3, y=2) threads=64 {\n  for i=4 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->1, y->0}\n}\noutput O\n", "mg_shift_weights<64>"},
    {1, 0, 40, 256, 48, 1, "60/8", "", "s", whole, "O = kernel grid=(x=5, y=2) threads=64 {\n  d = load D {x->1, y->0}\n  l = load L {x->1, y->0}\n  o = div(d, l)\n  store o {x->1, y->0}\n}\noutput O\n", "shift_p.raise("},
    /* each part has a quotient of its own: a weight far under the largest would leave 0/0 of it */
    {1, 0, 40, 256, 48, 1, "1000/8", "", "s", "  store accum(d) {i->+} {x->1, y->2}\n  store accum(l) {i->+} {x->1, y->2}\n", "O = kernel grid=(x=5, y=2) threads=64 {\n  d = load D {x->1, y->2}\n  l = load L {x->1, y->2}\n  o = div(d, l)\n  store o {x->1, y->2}\n}\noutput O\n", "shift_p.raise("},
    {1, 0, 40, 384, 48, 3, "1000/8", "", "s", both, "O = kernel grid=(x=5, y=2) threads=64 {\n  for i=3 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n    o = div(d, l)\n  }\n  store accum(o) {i->+} {x->1, y->0}\n}\noutput O\n", "shift_p.raise("},
    {0, 0, 20, 512, 32, 4, "1/8", "", "s", both, "O = kernel grid=(x=5, y=2, z=2) threads=64 {\n  for i=2 {\n    d = load D {x->1, y->0, z->2, i->2}\n    l = load L {x->1, y->0, z->2, i->2}\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->1, y->0, z->2}\n}\noutput O\n", ""},
    /* where it cannot be, there is none */
    {0, 0, 20, 256, 32, 2, "1/8", "", "s", both, "O = kernel grid=(x=5, y=2) threads=64 {\n  for i=2 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->1, y->0}\n}\noutput O\noutput L\n", ""},
    {0, 0, 20, 256, 32, 1, "1/8", "", "s", whole, "O = div(D, L)\noutput O\n", ""},
    {0, 0, 20, 256, 32, 2, "1/8", "", "s", both, "O = kernel grid=(x=1, y=2) threads=64 {\n  for i=2 {\n    d = load D {y->0, i->2}\n    l = load L {y->0, i->2}\n  }\n  o = div(sum(accum(d) {i->+}, dim=1), sum(accum(l) {i->+}, dim=1))\n  store o {y->0}\n}\noutput O\n", ""},
    {0, 0, 20, 256, 32, 1, "1/8", "", "s", whole, "O = kernel grid=(x=1, y=2) threads=64 {\n  for i=2 {\n    d = load D {y->0, i->1}\n    l = load L {y->0, i->1}\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {y->0}\n}\noutput O\n", ""},
    {0, 0, 20, 256, 32, 2, "1/8", "", "s", both, "O = kernel grid=(x=5, y=2) threads=64 {\n  for i=2 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n  }\n  o = div(accum(d) {i->+}, add_scalar(accum(l) {i->+}, 1/7))\n  store o {x->1, y->0}\n}\noutput O\n", ""},
    {0, 0, 20, 256, 32, 2, "1/8", "", "s", both, "O, M = kernel grid=(x=5, y=2) threads=64 {\n  for i=2 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n  }\n  o = accum(d) {i->+}\n  store o {x->1, y->0}\n  m = accum(l) {i->+}\n  store m {x->1, y->0}\n}\noutput O\noutput M\n", ""},
    {0, 0, 20, 256, 32, 1, "1/8", "", "s", whole, "O = kernel grid=(x=1, y=2) threads=64 {\n  d = load D {y->0}\n  l = load L {y->0}\n  o = matmul(transpose(d, [0, 2, 1]), div(d, l))\n  store o {y->0}\n}\noutput O\n", ""},
  };
  const int nvcc = has_nvcc();
  char text[2400], more[80];
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    const char *type = pick(3) ? "f16" : "bf16";
    snprintf(more, sizeof more, forms[k].more, type);
    split(text, sizeof text, type, forms[k].M, forms[k].N, forms[k].E, forms[k].z, forms[k].scale, more, forms[k].mask, strstr(forms[k].stores, "x->2") != NULL, forms[k].stores, forms[k].second);
    mg_graph *g = parse(text), *again;
    mg_error e;
    char *cu = emit(g, pick(2) ? "sm_80" : NULL), *same;
    if (!strstr(cu, forms[k].has) || (strstr(cu, "shift_p.raise(") != NULL) != forms[k].shifted || (strstr(cu, "made_shifts + ") != NULL) != forms[k].parts || (strstr(cu, "mg_shift_weights<") != NULL) != forms[k].parts)
      fail_msg("form %d: expected %s maximum, %s parts, '%s'\n%s", (int)k, forms[k].shifted ? "a" : "no", forms[k].parts ? "of" : "no", forms[k].has, cu);
    mg_string_free(cu);
    mg_sends sends; /* what is priced under some plan is what is emitted under this one */
    int sent = 0;
    assert_int_equal(mg_sends_of(g, mg_machine_at(0), 1, &sends), 1);
    for (uint32_t t = 1; t < g->n_tensors && sends.by; t++) sent += sends.by[t] == 1;
    assert_int_equal(sent, forms[k].shifted ? 2 : 0);
    assert_int_equal(sends.of && sends.of[1].read && sends.of[2].weights, forms[k].parts);
    mg_sends_free(&sends);
    cu = emit(g, NULL);
    assert_int_equal(mg_cuda_source_graph(cu, strlen(cu), &again, &e), MG_OK);
    same = emit(again, NULL);
    assert_string_equal(cu, same);
    if (nvcc && in_sample(6)) compiles(g, pick(2) ? "sm_80" : "sm_90a");
    mg_string_free(cu), mg_string_free(same);
    mg_graph_free(g), mg_graph_free(again);
    passes(text);
  }
  /* of many parts of many rows the weights would take the tiles' room: there are none, and a maximum only if each part has its own quotient */
  for (int own = 0; own < 2; own++) {
    char second[400];
    snprintf(second, sizeof second, "O = kernel grid=(x=2, y=2) threads=128 {\n  for i=128 {\n    d = load D {x->1, y->0, i->2}\n    l = load L {x->1, y->0, i->2}\n%s  }\n  o = %s\n  store o {x->1, y->0}\n}\noutput O\n", own ? "    e = div(d, l)\n" : "", own ? "accum(e) {i->+}" : "div(accum(d) {i->+}, accum(l) {i->+})");
    mg_graph *many = parse(split(text, sizeof text, "f16", 256, 8192, 16, 128, "1/8", "", "s", 0, both, second));
    char *cu = emit(many, "sm_80");
    assert_null(strstr(cu, "mg_shift_weights<"));
    assert_int_equal(strstr(cu, "shift_p.raise(") != NULL, own);
    mg_string_free(cu);
    mg_graph_free(many);
  }
  /* the weights forgotten, one part's for all, of another row, of the numerator alone; a part that leaves its maximum where another's is */
  static const char *const wrong[][2] = {{"h_d.at(r, c)", "t_d.at(r, c)"}, {"h_l.at(r, 0)", "t_l.at(r, 0)"}, {"(i_i * (int64_t)48) / 48)", "0)"}, {"read_shifts + (b_y)", "read_shifts + (0)"},
                                         {"mg_shift_weights<64>(w_shifts", "mg_fill<W_shifts, 64>(w_shifts, mg_const(1, 1)); if (0) mg_shift_weights<64>(w_shifts"}, {" + b_z, t_K0_z, 1)", ", t_K0_z, 1)"}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    mg_check_config cfg;
    mg_check_report r;
    mg_error e;
    if (!in_sample(3)) continue;
    memset(&cfg, 0, sizeof cfg);
    cfg.seed = seed;
    mg_graph *g = parse(split(text, sizeof text, "f16", forms[0].M, forms[0].N, forms[0].E, forms[0].z, forms[0].scale, "", "s", 0, both, forms[0].second));
    char *cu = emit(g, NULL), *at = strstr(cu, wrong[k][0]), *bad = (char *)malloc(strlen(cu) + 200);
    assert_non_null(at);
    assert_non_null(bad);
    sprintf(bad, "%.*s%s%s", (int)(at - cu), cu, wrong[k][1], at + strlen(wrong[k][0]));
    const mg_status s = mg_cuda_check(g, bad, &cfg, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("'%s' for '%s' is not found: %d %s", wrong[k][1], wrong[k][0], (int)s, s == MG_OK ? "" : e.msg);
    free(bad);
    mg_string_free(cu);
    mg_graph_free(g);
  }
}

/* Every `barrier` of the kernel's text from `from` to `end` (NULL: its end) is needed; how many there are. */
static int all_needed(const mg_graph *g, char *cu, char *from, const char *end, const char *barrier) {
  int n = 0;
  for (char *at = from; (at = strstr(at, barrier)) != NULL && (!end || at < end); at++, n++) {
    mg_error e;
    mg_check_report r;
    memset(at, ' ', strlen(barrier));
    if (mg_cuda_check(g, cu, NULL, &r, &e) != MG_NOT_FOUND) fail_msg("a barrier is not missed: %s\n%s", e.msg, cu);
    memcpy(at, barrier, strlen(barrier));
  }
  return n;
}

/* Products of warpgroups: both layouts of the right operand, several panels, few columns, ragged edges, left operands of all kinds;
   `group` and `warp`: how many of the products are written so. */
static void test_warpgroups(void **state) {
  (void)state;
  static const struct { int group, warp; const char *text; } forms[] = {
    {2, 0, "program a\ninput Q : f16[64, 64]\ninput K : f16[64, 1024] @ [1, 0]\ninput V : f16[1024, 64]\nO = kernel grid=(x=1, z=2) threads=256 {\n  plan { mma=warpgroup stages=2 warps_m=4 warps_n=2 warps_k=1 }\n  q = load Q {}\n  for i=4 {\n"
           "    k = load K {z->1, i->1}\n    v = load V {z->0, i->0}\n    p = exp(scale(matmul(q, k), 15/1))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {}\n}\noutput O\n"},
    {2, 0, "program b\ninput Q : bf16[2, 255, 32]\ninput K : bf16[2, 32, 510]\ninput V : bf16[2, 510, 64]\nO = kernel grid=(x=2, y=2, z=2) threads=256 {\n  plan { mma=warpgroup stages=3 warps_m=8 warps_n=1 warps_k=1 merge=workspace }\n  q = load Q {x->0, y->1}\n"
           "  for i=4 {\n    k = load K {x->0, z->2, i->2}\n    v = load V {x->0, z->1, i->1}\n    p = exp(scale(matmul(q, k), 5/1))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {x->0, y->1}\n}\noutput O\n"},
    {2, 0, "program c\ninput A : f16[64, 128]\ninput B : f16[128, 512]\ninput D : f16[512, 128]\nE = kernel grid=(x=1) threads=256 {\n  plan { mma=warpgroup stages=2 warps_m=4 warps_n=2 warps_k=1 }\n  a = load A {}\n  for i=4 {\n    b = load B {i->1}\n"
           "    d = load D {i->0}\n    e = matmul(relu(matmul(a, b)), d)\n  }\n  o = accum(e) {i->+}\n  store o {}\n}\noutput E\n"},
    {1, 0, "program d\ninput X : f16[256, 255] @ [1, 0]\ninput W : f16[255, 384]\nO = kernel grid=(x=2, y=2) threads=256 {\n  plan { mma=warpgroup stages=2 warps_m=8 warps_n=1 warps_k=1 }\n  for i=4 {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n"
           "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n"},
    {1, 0, "program e\ninput X : f16[128, 192]\ninput G : f16[192]\ninput W : f16[96, 192]\nO = kernel grid=(x=2, y=2) threads=384 {\n  plan { mma=warpgroup stages=1 warps_m=4 warps_n=3 warps_k=1 }\n  for i=3 {\n    x = load X {y->0, i->1}\n    g = load G {i->0}\n"
           "    w = load W {x->0, i->1}\n    p = matmul(mul(x, g), transpose(w, [1, 0]))\n    s = sum(sqr(x), dim=1)\n  }\n  o = div(accum(p) {i->+}, sqrt(accum(s) {i->+}))\n  store o {x->1, y->0}\n}\noutput O\n"},
    {1, 1, "program f\ninput X : bf16[64, 64]\ninput W : bf16[64, 32] @ [1, 0]\ninput V : bf16[64, 48]\nO, P = kernel grid=(x=1) threads=128 {\n  plan { mma=warpgroup warps_m=4 warps_n=1 warps_k=1 }\n  x = load X {}\n  w = load W {}\n  v = load V {}\n"
           "  o = add(matmul(x, w), sum(w, dim=0))\n  p = matmul(x, v)\n  store o {}\n  store p {}\n}\noutput O\noutput P\n"},
    {1, 0, "program g\ninput X : f16[64, 127]\ninput W : f16[127, 383]\nO = kernel grid=(x=2) threads=384 {\n  plan { mma=warpgroup warps_m=4 warps_n=3 warps_k=1 stages=2 }\n  for i=2 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n"
           "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n"},
  };
  const int nvcc = has_nvcc();
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    int group = 0, warp = 0;
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL);
    for (const char *at = cu; (at = strstr(at, " mg_group_c")) != NULL; at++) group += !strncmp(at, " mg_group_contract<", 19) || !strncmp(at, " mg_group_chain<", 16);
    for (const char *at = cu; (at = strstr(at, " mg_contract")) != NULL; at++) warp++;
    if (group != forms[k].group || warp != forms[k].warp) fail_msg("%d products by warpgroups and %d by warps, expected %d and %d\n%s", group, warp, forms[k].group, forms[k].warp, cu);
    mg_string_free(cu);
    if (nvcc && in_sample(4)) compiles(g, "sm_90a");
    mg_graph_free(g);
    passes(forms[k].text);
    refused(forms[k].text, "sm_80", "sm_90a");
    refused(forms[k].text, "sm_90", "sm_90a");
  }
  static const char form[] = "program t\ninput X : %s[%d, 64]\ninput W : %s[64, %d]\nO = kernel grid=(x=1) threads=%d {\n  plan { mma=%s warps_m=%d warps_n=1 warps_k=1%s }\n  for i=1 {\n    x = load X {i->1}\n    w = load W {i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {}\n}\noutput O\n";
  static const struct { const char *type; int m, n, threads; const char *mma; int warps; const char *more, *why; } no[] = {
    {"f16", 64, 64, 128, "tcgen", 4, "", "mma=tcgen"}, {"f16", 32, 64, 64, "warpgroup", 2, "", "warps_m"}, {"f16", 48, 64, 128, "warpgroup", 4, "", "48 rows"}, {"f16", 64, 48, 128, "warpgroup", 4, "", "panels"},
    {"f32", 64, 64, 128, "warpgroup", 4, "", "16-bit"}, {"f16", 64, 512, 128, "warpgroup", 4, "", "registers"}, {"f16", 64, 64, 128, "warpgroup", 4, " w.in=dense", "swizzled"},
  };
  for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
    char text[700];
    snprintf(text, sizeof text, form, no[k].type, no[k].m, no[k].type, no[k].n, no[k].threads, no[k].mma, no[k].warps, no[k].more);
    refused(text, NULL, no[k].why);
  }
}

/* Rings of warpgroups: keys along and across a line of the tile, several panels, ragged edges, squares of the keys, before and behind
   the product; `squares`: how many sums of them.  No barrier of the block stands in the loop, and each of a warpgroup is needed. */
static void test_group_rings(void **state) {
  (void)state;
  static const struct { int stages, warps_n, keys, loops, k_across, squares, depth; const char *type, *why; } cases_[] = {
    {2, 2, 512, 4, 0, 0, 64, "f16", NULL},
    {3, 2, 510, 4, 1, 0, 64, "bf16", NULL}, /* keys side by side in memory; ragged */
    {2, 2, 512, 4, 0, 1, 64, "f16", NULL},
    {1, 3, 768, 4, 1, 1, 128, "f16", NULL}, /* one stage; two panels of values */
    {2, 2, 128, 2, 0, 1, 64, "bf16", NULL}, /* 32 keys a warpgroup: half of its warps have squares */
    {2, 2, 128, 2, 1, 0, 64, "f16", "read by one warpgroup each"}, /* no whole panels */
    {2, 1, 512, 8, 0, 0, 64, "f16", "warps_n from 2 on"},
  };
  const int nvcc = has_nvcc();
  char text[1600];
  for (size_t k = 0; k < sizeof cases_ / sizeof *cases_; k++) {
    const char *type = cases_[k].type;
    snprintf(text, sizeof text, "program t\ninput Q : %s[2, 64, 64]\ninput K : %s[2, 64, %d]%s\ninput V : %s[2, %d, %d]\nO = kernel grid=(x=2) threads=%d {\n  q = load Q {x->0}\n  for i=%d {\n    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n    s = matmul(q, k)\n"
             "%s    p = exp(scale(%s, 3/1))\n    d = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->0}\n  plan { mma=warpgroup ring=group stages=%d warps_m=4 warps_n=%d warps_k=1 }\n}\noutput O\n",
             type, type, cases_[k].keys, cases_[k].k_across ? "" : " @ [0, 2, 1]", type, cases_[k].keys, cases_[k].depth, 128 * cases_[k].warps_n, cases_[k].loops,
             cases_[k].squares ? "    n = sqrt(add_scalar(sum(sqr(k), dim=1), 1/1000))\n" : "", cases_[k].squares ? "div(s, n)" : "s", cases_[k].stages, cases_[k].warps_n);
    if (cases_[k].why) {
      refused(text, NULL, cases_[k].why);
      continue;
    }
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL), *from = strstr(cu, "  for (int i_i = 0"), *end = from ? strstr(from, "\n  }\n") : NULL;
    int squares = 0;
    assert_non_null(end);
    assert_non_null(strstr(cu, " ring=group "));
    for (const char *at = from; (at = strstr(at, "mg_row_squares<")) != NULL && at < end; at++) squares++;
    const char *sync = strstr(from, "    mg_sync();"), *group = strstr(from, "    mg_sync_group();");
    if (squares != cases_[k].squares || !group || group > end || (sync && sync < end)) fail_msg("case %d: not the loop that was expected\n%s", (int)k, cu);
    if (k < 3 && k != 1) assert_int_equal(all_needed(g, cu, from, end, "mg_sync_group();"), 1 + squares);
    mg_string_free(cu);
    if (nvcc && in_sample(2)) compiles(g, "sm_90a");
    mg_graph_free(g);
    passes(text);
  }
  refused("program t\ninput Q : f16[64, 64]\ninput K : f16[64, 512] @ [1, 0]\ninput V : f16[512, 64]\nO, U = kernel grid=(x=1) threads=256 {\n  q = load Q {}\n  for i=4 {\n    k = load K {i->1}\n    v = load V {i->0}\n    p = exp(matmul(q, k))\n    d = matmul(p, v)\n"
          "    l = sum(p, dim=1)\n    m = max(k, dim=1)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {}\n  u = accum(m) {i->max}\n  store u {}\n  plan { mma=warpgroup ring=group stages=2 warps_m=4 warps_n=2 warps_k=1 }\n}\noutput O\noutput U\n",
          NULL, "read by one warpgroup each"); /* all read all of K */
  refused("program t\ninput X : f16[64, 128]\ninput W : f16[128, 128]\nO = kernel grid=(x=1) threads=256 {\n  for i=2 {\n    x = load X {i->1}\n    w = load W {i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {}\n  plan { mma=warpgroup ring=group warps_m=4 warps_n=2 warps_k=1 }\n}\noutput O\n",
          NULL, "read by one warpgroup each");
  refused("program t\ninput X : f16[64, 128]\ninput W : f16[128, 128]\nO = kernel grid=(x=1) threads=256 {\n  for i=2 {\n    x = load X {i->1}\n    w = load W {i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {}\n  plan { ring=group warps_m=4 warps_n=2 warps_k=1 }\n}\noutput O\n",
          NULL, "mma=warpgroup");
}

/* Tensor copies: tiles of one and several panels and of 32 and 64 bytes a row, single rows, both memory orders, edges that only the
   tensor's end gives, loops with and without a barrier of the block, two rings, three and a merge. */
static void test_tensor_copies(void **state) {
  (void)state;
  static const struct { int barriers; const char *text; } forms[] = { /* barriers of the block in the loops */
    {0, "program a\ninput Q : f16[2, 128, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\nO = kernel grid=(x=2, y=2) threads=256 {\n  plan { copy=tma mma=warpgroup stages=2 warps_m=4 warps_n=2 warps_k=1 }\n"
           "  q = load Q {x->1, y->0}\n  for i=8 {\n    k = load K {y->0, i->2}\n    p = exp(scale(matmul(q, k), 3/1))\n    v = load V {y->0, i->1}\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  t = div(accum(o) {i->+}, accum(l) {i->+})\n"
           "  store t {x->1, y->0}\n}\noutput O\n"},
    {0, "program b\ninput X : f16[63, 384]\ninput W : f16[384, 568]\nO = kernel grid=(x=9, y=2) threads=64 {\n  plan { copy=tma stages=3 warps_m=1 warps_n=2 warps_k=1 }\n  for i=6 {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n"
           "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n"},
    {0, "program c\ninput X : bf16[72, 1024]\ninput G : bf16[1, 1024]\ninput W : bf16[96, 1024] @ [0, 1]\nO = kernel grid=(x=3, y=3, z=2) threads=128 {\n  plan { copy=tma stages=2 warps_m=2 warps_n=2 warps_k=1 }\n  for i=4 {\n"
           "    x = load X {y->0, z->1, i->1}\n    g = load G {z->1, i->1}\n    w = load W {x->0, z->1, i->1}\n    p = matmul(mul(x, g), transpose(w, [1, 0]))\n    s = sum(sqr(x), dim=1)\n  }\n"
           "  o = div(accum(p) {z->+, i->+}, sqrt(add_scalar(accum(s) {z->+, i->+}, 1/1000)))\n  store o {x->1, y->0}\n}\noutput O\n"},
    {0, "program d\ninput A : f16[1, 256, 128]\ninput B : f16[1, 128, 256] @ [0, 2, 1]\ninput D : f16[1, 64, 256] @ [0, 2, 1]\nE = kernel grid=(x=4, y=2) threads=128 {\n  plan { copy=tma stages=2 warps_m=4 warps_n=1 warps_k=1 merge=workspace }\n"
           "  a = load A {x->1}\n  for i=4 {\n    b = load B {y->2, i->2}\n    d = load D {y->2, i->2}\n    e = matmul(relu(matmul(a, b)), transpose(d, [0, 2, 1]))\n  }\n  o = accum(e) {y->+, i->+}\n  store o {x->1}\n}\noutput E\n"},
    {0, "program e\ninput X : f16[64, 256]\ninput Y : f16[64, 96]\ninput U : f16[256, 32]\ninput W : f16[96, 32] @ [1, 0]\nO = kernel grid=(x=2, y=2) threads=64 {\n  plan { copy=tma stages=2 warps_m=2 warps_n=1 warps_k=1 }\n"
           "  for i=4 {\n    x = load X {y->0, i->1}\n    u = load U {x->1, i->0}\n    p = matmul(x, u)\n  }\n  for j=3 {\n    y = load Y {y->0, j->1}\n    w = load W {x->1, j->0}\n    r = matmul(y, w)\n  }\n"
           "  o = add(accum(p) {i->+}, accum(r) {j->+})\n  store o {x->1, y->0}\n}\noutput O\n"},
    {1, "program f\ninput Q : bf16[2, 128, 64]\ninput K : bf16[2, 64, 512] @ [0, 2, 1]\ninput V : bf16[2, 512, 64]\nO = kernel grid=(x=2, y=2) threads=128 {\n  plan { copy=tma mma=warpgroup stages=3 warps_m=4 warps_n=1 warps_k=1 }\n"
           "  q = load Q {x->1, y->0}\n  for i=8 {\n    k = load K {y->0, i->2}\n    s = div(matmul(q, k), sqrt(add_scalar(sum(sqr(k), dim=1), 1/1000)))\n    p = exp(scale(s, 3/1))\n    v = load V {y->0, i->1}\n    o = matmul(p, v)\n"
           "    l = sum(p, dim=2)\n  }\n  t = div(accum(o) {i->+}, accum(l) {i->+})\n  store t {x->1, y->0}\n}\noutput O\n"},
    {0, "program g\ninput X : f16[16, 512]\ninput W : f16[512, 32]\nO = kernel grid=(x=1, z=2) threads=32 {\n  plan { copy=tma stages=8 warps_m=1 warps_n=1 warps_k=1 }\n" /* 49 barriers of phases */
           "  for i=16 {\n    x = load X {z->1, i->1}\n    w = load W {z->0, i->0}\n    p = matmul(x, w)\n  }\n  for j=8 {\n    y = load X {z->1, j->1}\n    v = load W {z->0, j->0}\n    q = matmul(y, v)\n  }\n"
           "  for k=4 {\n    t = load X {z->1, k->1}\n    u = load W {z->0, k->0}\n    r = matmul(t, u)\n  }\n  o = mul(mul(accum(p) {z->+, i->+}, accum(q) {z->+, j->+}), accum(r) {z->+, k->+})\n  store o {}\n}\noutput O\n"},
  };
  const int nvcc = has_nvcc();
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    int copies = 0, barriers = 0, loads = 0;
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL), *body = strstr(cu, "#include \"mirage_cuda.cuh\""), *text;
    for (const char *at = body; (at = strstr(at, "mg_copy_tile<")) != NULL; at++) copies++;
    for (const char *at = body; (at = strstr(at, ".filled(now, turn);\n")) != NULL; at++) barriers += !strncmp(at + strcspn(at, "\n") + 1, "    mg_sync();", 14);
    for (const char *at = forms[k].text; (at = strstr(at, "    ")) != NULL; at++) loads += !strncmp(at + 5, " = load", 7);
    if (copies != loads || barriers != forms[k].barriers) fail_msg("%s: %d tensor copies of %d loads, %d loops with barriers\n%s", g->name, copies, loads, barriers, cu);
    mg_string_free(cu);
    if (nvcc && in_sample(3)) compiles(g, "sm_90a");
    mg_graph_free(g);
    passes(forms[k].text);
    refused(forms[k].text, "sm_80", "sm_90a");
    refused(forms[k].text, "sm_90", "sm_90a");
    assert_non_null(text = strdup(forms[k].text)); /* the same without: no word of it */
    memcpy(strstr(text, "copy=tma"), "ahead=1 ", 8);
    g = parse(text);
    cu = emit(g, NULL);
    assert_null(strstr(cu, "mg_ring"));
    assert_null(strstr(cu, "MG_TENSOR_MAPS"));
    mg_string_free(cu);
    mg_graph_free(g);
    free(text);
  }
  static const char form[] = "program t\ninput X : %s[64, %d]\ninput W : %s[%d, %d]\nO = kernel grid=(x=2, y=2) threads=64 {\n  plan { %s warps_m=2 warps_n=1 warps_k=1 }\n  for i=%d {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n"
                             "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n";
  static const struct { const char *type; int k, n, i; const char *plan, *why; } no[] = {
    {"f32", 256, 64, 4, "copy=tma stages=2", "16-bit"}, {"f16", 256, 60, 4, "copy=tma stages=2", "multiples of 16 bytes"},
    {"f16", 256, 96, 4, "copy=tma stages=2", "rows of other than"}, {"f16", 256, 64, 4, "copy=tma stages=1", "at least 2 stages"}, {"f16", 96, 64, 4, "copy=tma stages=2", "padded"}, {"f16", 256, 64, 4, "copy=tma stages=2 x.in=padded", "x.in=padded"},
  };
  for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
    char text[700];
    snprintf(text, sizeof text, form, no[k].type, no[k].k, no[k].type, no[k].k, no[k].n, no[k].plan, no[k].i);
    refused(text, NULL, no[k].why);
  }
  refused("program t\ninput X : f16[64, 250]\ninput W : f16[250, 64]\nO = kernel grid=(x=1, z=3) threads=64 {\n  plan { copy=tma stages=2 }\n  for i=2 {\n    x = load X {z->1, i->1}\n    w = load W {z->0, i->0}\n    p = matmul(x, w)\n  }\n"
          "  o = accum(p) {z->+, i->+}\n  store o {}\n}\noutput O\n", NULL, "multiples of 16 bytes");
  refused("program t\ninput Q : f16[1, 64, 64]\ninput K : f16[1, 64, 512] @ [0, 2, 1]\ninput V : f16[1, 512, 64]\nO = kernel grid=(x=1) threads=256 {\n  plan { copy=tma ring=group mma=warpgroup stages=2 warps_m=4 warps_n=2 warps_k=1 }\n  q = load Q {}\n  for i=4 {\n    k = load K {i->2}\n    v = load V {i->1}\n"
          "    p = exp(matmul(q, k))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {}\n}\noutput O\n", NULL, "does not go with rings of warps or warpgroups");
  refused("program t\ninput X : f16[15, 448]\ninput W : f16[448, 1]\nO = kernel grid=(x=1) threads=64 {\n  plan { copy=tma stages=2 }\n  for i=7 {\n    x = load X {i->1}\n    w = load W {i->0}\n    p = matmul(x, w)\n  }\n"
          "  o = accum(p) {i->+}\n  store o {}\n}\noutput O\n", NULL, "one column");
  refused("program t\ninput X : f16[64, 64]\ninput W : f16[64, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { copy=tma }\n  x = load X {}\n  w = load W {x->1}\n  o = matmul(x, w)\n  store o {x->1}\n}\noutput O\n", NULL, "no load in a loop");
}

/* Slices that kernels alone read are addresses: in rows, columns and batches, ragged, of a slice, of what lies column by column, of f32, beside
   a symbol; brought by cp.async, by tensor copies, element by element, into registers.  What is an output, is read by a library operator or
   begins within 16 bytes is a kernel: `kernels` of them. */
static void test_slices(void **state) {
  (void)state;
  static const struct { int kernels; const char *text; } forms[] = {
    {0, "program a\ninput X : f16[80, 600]\ninput W : f16[580, 128]\n"
        "U = slice(X, dim=1, from=16, n=568)\nY = slice(U, dim=0, from=9, n=63)\nV = slice(W, dim=0, from=8, n=568)\n"
        "O = kernel grid=(x=2, y=2) threads=64 {\n  plan { copy=tma stages=3 warps_m=1 warps_n=2 warps_k=1 }\n  for i=9 {\n"
        "    x = load Y {y->0, i->1}\n    w = load V {x->1, i->0}\n    p = matmul(x, w)\n    s = sum(sqr(x), dim=1)\n  }\n"
        "  o = div(accum(p) {i->+}, sqrt(add_scalar(accum(s) {i->+}, 1/1000)))\n  store o {x->1, y->0}\n}\noutput O\n"},
    {0, "program b\ninput X : f16[3, 40, 96]\nT = relu(X)\nU = slice(T, dim=2, from=8, n=72)\nY = slice(U, dim=2, from=16, n=46)\n"
        "B = slice(T, dim=0, from=1, n=2)\nR = slice(B, dim=1, from=3, n=30)\nD = slice(R, dim=2, from=24, n=40)\n"
        "O = kernel grid=(x=3, y=2) threads=64 {\n  for i=3 {\n    y = load Y {x->0, i->2}\n    s = sum(sqr(y), dim=2)\n  }\n"
        "  o = accum(s) {i->+}\n  store o {x->0}\n}\nP = kernel grid=(x=2, y=4) threads=64 {\n  d = load D {x->0, y->1}\n"
        "  e = exp(d)\n  store e {x->0, y->1}\n}\noutput O, P\n"},
    {0, "program c\ninput X : f32[24, 1024]\ninput G : f32[1024]\ninput Z : f32[8, 520] @ [1, 0]\n"
        "Y = slice(X, dim=1, from=512, n=512)\nH = slice(G, dim=0, from=4, n=512)\nK = slice(Z, dim=0, from=4, n=3)\n"
        "O = kernel grid=(x=8) threads=64 {\n  x = load Y {x->0}\n  h = load H {}\n"
        "  o = div(mul(x, h), sqrt(add_scalar(sum(sqr(x), dim=1), 1/1000)))\n  store o {x->0}\n}\n"
        "Q = kernel grid=(x=10) threads=32 {\n  k = load K {x->1}\n  t = transpose(k, [1, 0])\n  q = exp(t)\n  store q {x->0}\n}\n"
        "output O, Q\n"},
    {0, "program d\nsym n in 1..40 of 48\ninput X : f16[n, 192]\ninput U : f16[3, n, 64]\ninput W : f16[64, 64]\n"
        "Y = slice(X, dim=1, from=64, n=64)\nZ = slice(X, dim=1, from=128, n=56)\nV = slice(U, dim=0, from=2, n=1)\n"
        "O, P, Q = kernel grid=(x=ceil(n/16)) threads=64 {\n  y = load Y {x->0}\n  w = load W {}\n  z = load Z {x->0}\n"
        "  v = load V {x->1}\n  o = matmul(y, w)\n  s = sum(sqr(z), dim=1)\n  q = matmul(v, w)\n"
        "  store o {x->0}\n  store s {x->0}\n  store q {x->1}\n}\noutput O, P, Q\n"},
    {4, "program e\ninput X : f16[16, 128]\nA = slice(X, dim=1, from=4, n=32)\nB = slice(X, dim=1, from=8, n=32)\n"
        "C = slice(X, dim=1, from=64, n=32)\nD = slice(C, dim=0, from=2, n=8)\nE = relu(D)\nF = slice(X, dim=0, from=2, n=8)\n"
        "O, P, Q, R = kernel grid=(x=2) threads=32 {\n  a = load A {x->1}\n  b = load B {x->1}\n  c = load C {x->1}\n"
        "  f = load F {x->1}\n  e = exp(a)\n  g = exp(b)\n  h = exp(c)\n  i = exp(f)\n"
        "  store e {x->1}\n  store g {x->1}\n  store h {x->1}\n  store i {x->1}\n}\noutput O, P, Q, R, B, E\n"},
  };
  static const struct { int form; const char *line, *by; } wrong[] = { /* another place; its own extent as a stride; its parent's as a mask */
    {0, "in[0] + (9)", "in[0] + (8)"}, {0, "stride_0_x[] = {1, (int64_t)a_D1", "stride_0_x[] = {1, (int64_t)a_D4"}, {1, "p_T + (24)", "p_T + (25)"},
    {1, "mg_cut(b_D4", "mg_cut(b_D2"}, {2, "p_G + (4)", "p_G + (5)"}, {3, "p_U + (2)", "p_U + (1)"},
  };
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    int kernels = 0;
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL);
    for (const char *at = cu; (at = strstr(at, "_slice(")) != NULL; at++) kernels += !strncmp(at, "_slice(const ", 13);
    if (kernels != forms[k].kernels) fail_msg("%s: %d kernels are slices\n%s", g->name, kernels, cu);
    passes(forms[k].text);
    for (size_t m = 0; m < sizeof wrong / sizeof *wrong; m++) {
      if (wrong[m].form == (int)k && in_sample(3)) noticed(g, cu, wrong[m].line, wrong[m].by);
    }
    mg_string_free(cu);
    mg_graph_free(g);
  }
}
/* What a transpose writes as rows comes in runs across a tile that is read without conflicts (test_across of test_optimizer): one tile,
   of the stored type, whatever stands before and behind; ragged; by addresses; beside what is read as it lies; of a symbol. */
static void test_turned(void **state) {
  (void)state;
  static const struct { const char *tile, *run, *text; } forms[] = {
    {"mg_tile<mg_f16, 32, 64, 64, false, false, true> T_x", "= t_x.template lines<8>(c, r, n)", "program a\ninput X : f16[64, 128]\nO = kernel grid=(x=2, y=2) threads=64 {\n"
     "  x = load X {x->0, y->1}\n  t = transpose(x, [1, 0])\n  store t {x->1, y->0}\n}\noutput O\n"},
    {"mg_tile<mg_bf16, 50, 64, 64, false, false, true> T_x", "= t_x.template lines<8>(c, r, n)", "program b\ninput X : bf16[100, 170]\ninput Y : bf16[170, 100]\nO = kernel grid=(x=2, y=3) threads=64 {\n"
     "  y = load Y {x->1, y->0}\n  x = load X {x->0, y->1}\n  t = transpose(exp(x), [1, 0])\n  o = add(y, t)\n  store o {x->1, y->0}\n}\noutput O\n"},
    {"mg_tile<mg_bf16, 50, 64, 64, false, false, true> T_x", "= t_y.template run<8>(r, c, n)", "program c\ninput X : bf16[100, 170]\ninput Y : bf16[170, 100]\nO = kernel grid=(x=2, y=3) threads=64 {\n"
     "  y = load Y {x->1, y->0}\n  x = load X {x->0, y->1}\n  t = transpose(exp(x), [1, 0])\n  o = add(y, t)\n  store o {x->1, y->0}\n  plan { y.at=plain }\n}\noutput O\n"},
    {"mg_tile<mg_f32, 45, 48, 48, false, false, true> T_y", "= t_y.template lines<4>(c, r, n)", "program d\ninput X : f32[90, 90]\nO = kernel grid=(x=2, y=2) threads=64 {\n  x = load X {x->0, y->1}\n"
     "  y = load X {x->1, y->0}\n  t = transpose(y, [1, 0])\n  u = transpose(x, [1, 0])\n  v = transpose(exp(u), [1, 0])\n  o = add(add(t, x), v)\n  store o {x->0, y->1}\n}\noutput O\n"},
    {"mg_tile<mg_f32, 25, 28, 28, false> T_x", "= t_x.template lines<4>(c, r, n)", "program e\ninput X : f32[50, 28]\nO = kernel grid=(x=2) threads=32 {\n" /* 7 pieces a row: four of such rows are no whole lines */
     "  x = load X {x->0}\n  t = transpose(x, [1, 0])\n  store t {x->1}\n}\noutput O\n"},
    {"mg_tile<mg_f16, 56, 57, 56, true, false, true> T_x", "= t_x.template lines<8>(c, r, n)", "program f\ninput X : f16[100, 170] @ [1, 0]\ninput Y : f16[100, 170]\nO = kernel grid=(x=2, y=3) threads=64 {\n"
     "  y = load Y {x->0, y->1}\n  x = load X {x->0, y->1}\n  o = add(y, x)\n  store o {x->0, y->1}\n}\noutput O\n"},
    {"mg_tile<mg_f16, 48, 40, 40, false, false, true> T_x", "= t_x.template lines<8>(c, r, n)", "program g\ninput X : f16[3, 96, 80]\nO = kernel grid=(x=3, y=2, z=2) threads=64 {\n"
     "  x = load X {x->0, y->1, z->2}\n  t = transpose(x, [0, 2, 1])\n  store t {x->0, y->2, z->1}\n}\noutput O\n"},
    {"mg_tile<mg_f16, 32, 24, 24, false, false, true> T_x", "= t_x.template lines<8>(c, r, n)", "program h\nsym n in 1..96\ninput X : f16[n, 24]\ninput Y : f16[24, n]\nO = kernel grid=(x=ceil(n/32)) threads=64 {\n"
     "  x = load X {x->0}\n  y = load Y {x->1}\n  t = transpose(x, [1, 0])\n  o = add(t, y)\n  store o {x->1}\n}\noutput O\n"},
    {"mg_tile<mg_f16, 16, 40, 40, false, false, true> T_x", "t_x.at(c, r)", "program i\ninput X : f16[64, 80]\nO = kernel grid=(x=2, y=2) threads=64 {\n  for i=2 {\n    x = load X {x->0, y->1, i->0}\n"
     "    t = transpose(x, [1, 0])\n  }\n  o = accum(t) {i->1}\n  store o {x->1, y->0}\n}\noutput O\n"},
    {"mg_tile<mg_f16, 32, 40, 40, false> T_x", "t_x.at(c, r)", "program j\ninput X : f16[64, 80]\nO = kernel grid=(x=2, y=2) threads=64 {\n  x = load X {x->0, y->1}\n" /* sums read it too */
     "  t = transpose(sub(x, sum(x, dim=1)), [1, 0])\n  store t {x->1, y->0}\n}\noutput O\n"},
    {"T_a", "_a.at(", "program k\ninput A : f16[64, 32]\ninput B : f16[64, 32]\nO = kernel grid=(x=2) threads=128 {\n" /* parts side by side become rows */
     "  a = load A {x->0}\n  b = load B {x->0}\n  t = transpose(concat(a, b, dim=1), [1, 0])\n  store t {x->1}\n}\noutput O\n"},
    {"_a", "_a.at(", "program l\ninput A : f16[8, 32]\ninput B : f16[8, 32]\ninput G : f16[64, 8]\nO = kernel grid=(x=2) threads=128 {\n"
     "  a = load A {x->0}\n  b = load B {x->0}\n  g = load G {x->1}\n  t = add(transpose(concat(a, b, dim=1), [1, 0]), g)\n  store t {x->1}\n}\noutput O\n"},
  };
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL);
    if (!strstr(cu, forms[k].tile) || !strstr(cu, forms[k].run)) fail_msg("no %s, or none read by %s\n%s", forms[k].tile, forms[k].run, cu);
    always(forms[k].text);
    if (strstr(cu, "lines<8>(c, r, n)") && in_sample(2)) noticed(g, cu, "lines<8>(c, r, n)", "lines<8>(c, c, n)");
    if (k == 1) noticed(g, cu, "g_y.template run<8>(r,", "g_y.template run<8>(c,");
    if (k == 2) noticed(g, cu, "t_y.template run<8>(r,", "t_y.template run<8>(c,");
    mg_string_free(cu);
    mg_graph_free(g);
  }
}

/* What a kernel reads where it stores: runs of neighbours, by 16 bytes of the narrowest type; ragged ones, rows whose runs are not
   aligned, turned inputs, columns, rows, a symbol.  `run`: how many at once; 0: none. */
static void test_runs(void **state) {
  (void)state;
  static const struct { int run; const char *text; } forms[] = {
    {8, "program a\ninput X : f16[11, 72]\ninput H : f16[11, 72]\nO = kernel grid=(x=2, y=3) threads=64 {\n"
        "  x = load X {x->1, y->0}\n  h = load H {x->1, y->0}\n  o = mul(x, exp(h))\n  store o {x->1, y->0}\n}\noutput O\n"},
    {8, "program b\ninput X : bf16[5, 50]\ninput G : bf16[50]\ninput C : bf16[5, 1]\nO = kernel grid=(x=3) threads=32 {\n"
        "  x = load X {x->1}\n  g = load G {x->0}\n  c = load C {}\n  o = add(mul(x, g), c)\n  store o {x->1}\n}\noutput O\n"},
    {4, "program c\ninput X : f32[6, 20]\ninput H : f32[6, 20] @ [1, 0]\nO = kernel grid=(y=2) threads=32 {\n"
        "  x = load X {y->0}\n  h = load H {y->0}\n  o = sub(x, h)\n  store o {y->0}\n}\noutput O\n"},
    {8, "program d\ninput X : f16[4, 32]\ninput H : f32[4, 32]\nO = kernel grid=(x=2) threads=32 {\n"
        "  x = load X {x->1}\n  h = load H {x->1}\n  o = add(x, h)\n  store o {x->1}\n}\noutput O\n"},
    {4, "program e\ninput X : f16[9, 12]\nO = kernel grid=(x=2) threads=32 {\n"
        "  x = load X {x->1}\n  o = mul(x, sigmoid(x))\n  store o {x->1}\n}\noutput O\n"},
    {0, "program f\ninput X : f16[33, 1]\nO = kernel grid=(x=2) threads=32 {\n"
        "  x = load X {x->0}\n  o = sqr(x)\n  store o {x->0}\n}\noutput O\n"},
    {8, "program g\ninput X : f16[1000]\ninput H : f16[1000]\nO = kernel grid=(x=4) threads=32 {\n"
        "  x = load X {x->0}\n  h = load H {x->0}\n  o = div(x, add_scalar(sqr(h), 1))\n  store o {x->0}\n}\noutput O\n"},
    {8, "program h\nsym n in 1..64\ninput X : f16[3, n]\ninput Y : f16[n, 40]\nO = kernel grid=(x=ceil(n/16)) threads=32 {\n"
        "  x = load X {x->1}\n  o = relu(x)\n  store o {x->1}\n}\nP = kernel grid=(x=ceil(n/16)) threads=32 {\n"
        "  y = load Y {x->0}\n  p = relu(y)\n  store p {x->0}\n}\noutput O, P\n"},
    /* parts side by side: read at one place, whichever it is of */
    {8, "program i\ninput X : f16[9, 64]\ninput A : f16[9, 32]\ninput B : f16[9, 32]\ninput C : f16[64]\ninput S : f16[64]\nO = kernel grid=(x=2) threads=32 {\n"
        "  x = load X {x->0}\n  a = load A {x->0}\n  b = load B {x->0}\n  c = load C {}\n  s = load S {}\n  h = concat(neg(b), a, dim=1)\n"
        "  o = add(mul(x, c), mul(h, s))\n  store o {x->0}\n}\noutput O\n"},
    {8, "program j\ninput A : bf16[6, 8]\ninput B : bf16[6, 8]\nO = kernel grid=(x=2) threads=32 {\n  a = load A {x->0}\n  b = load B {x->0}\n"
        "  h = concat(a, exp(b), dim=1)\n  k = concat(b, a, dim=1)\n  o = concat(h, k, dim=1)\n  store o {x->0}\n}\noutput O\n"},
    {4, "program k\ninput A : f32[5, 12]\ninput B : f32[5, 12]\nO = kernel grid=(x=3) threads=32 {\n  a = load A {x->0}\n  b = load B {x->0}\n"
        "  o = sub(concat(a, sqr(b), dim=1), concat(b, a, dim=1))\n  store o {x->0}\n}\noutput O\n"},
    {0, "program l\ninput A : f16[5, 12]\ninput B : f16[5, 12]\nO = kernel grid=(x=3) threads=32 {\n  a = load A {x->0}\n  b = load B {x->0}\n"
        "  o = concat(a, sqr(b), dim=1)\n  store o {x->0}\n}\noutput O\n"},
  };
  static const struct { int form; const char *line, *by; } wrong[] = { /* another row; another place; the other part */
    {8, " == 0 ? v1_", " != 0 ? v1_"}, {8, " = c / 32,", " = c / 64,"}, {8, " = c % 32;", " = c % 16;"},
    {1, "g_c.at(r, 0)", "g_c.at(0, 0)"}, {0, "u_x.at(i)", "u_x.at(0)"}, {0, "g_h.template run<8>(r,", "g_h.template run<8>(0,"},
    {3, "u_h.at(i)", "u_h.at(7)"},
  };
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    char run[20];
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL);
    snprintf(run, sizeof run, "run<%d>(", forms[k].run);
    if (forms[k].run ? !strstr(cu, run) : strstr(cu, "template run<") != NULL) fail_msg("no runs of %d\n%s", forms[k].run, cu);
    always(forms[k].text);
    for (size_t m = 0; m < sizeof wrong / sizeof *wrong; m++)
      if (wrong[m].form == (int)k && in_sample(2)) noticed(g, cu, wrong[m].line, wrong[m].by);
    mg_string_free(cu);
    mg_graph_free(g);
  }
}

/* Products of warpgroups that are under way while the loop's next step begins: both memory orders of both operands, several panels and
   256 columns at once, ragged edges, two of them and a sum of squares beside, a merge; copied by the block's first warp or by threads
   beside it; blocks that copy for one another.  `fly`: how many products are. */
static void test_products_under_way(void **state) {
  (void)state;
  static const struct { int fly; const char *text; } forms[] = {
    {1, "program a\ninput X : f16[128, 512]\ninput W : f16[512, 512]\nO = kernel grid=(x=2) threads=256 {\n  plan { copy=tma mma=warpgroup stages=3 warps_m=8 warps_n=1 warps_k=1 }\n  for i=8 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n"
        "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n"},
    {1, "program b\ninput X : bf16[256, 448] @ [1, 0]\ninput W : bf16[448, 255] @ [1, 0]\nO = kernel grid=(x=2, y=4) threads=128 {\n  plan { copy=warp mma=warpgroup stages=4 warps_m=4 warps_n=1 warps_k=1 }\n  for i=7 {\n    x = load X {y->0, i->1}\n"
        "    w = load W {x->1, i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n"},
    {2, "program c\ninput X : f16[128, 640]\ninput U : f16[640, 256]\ninput V : f16[640, 256]\ninput B : f16[256]\nO = kernel grid=(x=2, y=2) threads=256 {\n  plan { copy=warp share=2 mma=warpgroup stages=3 warps_m=4 warps_n=2 warps_k=1 }\n"
        "  b = load B {x->0}\n  for i=10 {\n    x = load X {y->0, i->1}\n    u = load U {x->1, i->0}\n    v = load V {x->1, i->0}\n    p = matmul(x, u)\n    q = matmul(x, v)\n    s = sum(sqr(x), dim=1)\n  }\n"
        "  r = sqrt(add_scalar(accum(s) {i->+}, 1/1000))\n  o = mul(silu(div(accum(p) {i->+}, r)), add(div(accum(q) {i->+}, r), b))\n  store o {x->1, y->0}\n}\noutput O\n"},
    {1, "program d\ninput X : f16[64, 768]\ninput W : f16[768, 128]\nO = kernel grid=(x=1, z=2) threads=128 {\n  plan { copy=tma mma=warpgroup stages=3 warps_m=4 warps_n=1 warps_k=1 }\n  for i=6 {\n    x = load X {z->1, i->1}\n    w = load W {z->0, i->0}\n"
        "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+, z->+}\n  store o {}\n}\noutput O\n"},
    {1, "program e\ninput X : f16[255, 320]\ninput W : f16[320, 256]\nO = kernel grid=(x=2, y=4) threads=128 {\n  plan { copy=tma share=4 mma=warpgroup stages=4 warps_m=4 warps_n=1 warps_k=1 }\n  for i=5 {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n"
        "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n"},
    {0, "program f\ninput X : f16[64, 512]\ninput W : f16[512, 64]\nO = kernel grid=(x=1) threads=128 {\n  plan { copy=warp mma=warpgroup stages=2 warps_m=4 warps_n=1 warps_k=1 }\n  for i=8 {\n    x = load X {i->1}\n    w = load W {i->0}\n" /* two stages: it would wait for the next */
        "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {}\n}\noutput O\n"},
    {1, "program g\ninput X : f16[64, 256]\ninput W : f16[256, 64]\ninput B : f16[64]\nO = kernel grid=(x=1) threads=128 {\n"
        "  plan { copy=warp mma=warpgroup stages=3 warps_m=4 warps_n=1 warps_k=1 }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {i->0}\n"
        "    p = matmul(x, w)\n  }\n  b = load B {}\n  o = add(accum(p) {i->+}, b)\n  store o {}\n}\noutput O\n"}, /* loaded behind the loop */
    {1, "program h\ninput X : f16[64, 512]\ninput W : f16[512, 64]\ninput D : f16[64, 64]\nO = kernel grid=(x=1) threads=128 {\n" /* an operand of what is behind it: its barrier is before the loop */
        "  plan { copy=warp mma=warpgroup stages=3 warps_m=4 warps_n=1 warps_k=1 }\n  for i=8 {\n    x = load X {i->1}\n    w = load W {i->0}\n"
        "    p = matmul(x, w)\n  }\n  d = load D {}\n  o = matmul(accum(p) {i->+}, d)\n  store o {}\n}\noutput O\n"},
  };
  static const struct { int form; const char *line, *by; } wrong[] = { /* as long as it was */
    {0, "mg_group_wait<1>(acc_p.c);", ""}, {0, "mg_group_wait<1>(", "mg_group_wait<2>("}, {0, "mg_group_wait<0>(acc_p.c);", ""}, {0, "phases_i.read(was);", "phases_i.read(now);"}, {0, "phases_i.drained(was, now == 0 ? 1 - turn : turn);", ""},
    {1, "phases_i.drained(at, turn);", ""}, {1, "phases_i.read(was);", ""}, {1, "turn = 1; i_i", "turn = 0; i_i"}, {1, "if (mg_tid() > 128) return;", ""},
    {2, "mg_leaves();", ""}, {2, "mg_cluster_wait();", ""}, {2, "mg_ring<3, 40960, 16, 2>", "mg_ring<3, 40960, 8, 2>"}, {4, "phases_i.read(was);", ""},
    {7, "mg_sync_first<128>();", "mg_sync();"}, /* it waits for the warp that copies, and that for it */
  };
  const int nvcc = has_nvcc();
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    int fly = 0;
    mg_graph *g = parse(forms[k].text);
    char *cu = emit(g, NULL);
    for (const char *at = cu; (at = strstr(at, " mg_group_add<")) != NULL; at++) fly++;
    if (fly != forms[k].fly) fail_msg("%d products are under way, expected %d\n%s", fly, forms[k].fly, cu);
    if (nvcc && in_sample(3)) compiles(g, "sm_90a");
    passes(forms[k].text);
    for (size_t m = 0; m < sizeof wrong / sizeof *wrong; m++) {
      mg_error e;
      mg_check_report r;
      if (wrong[m].form != (int)k || !in_sample(4)) continue;
      char *at = strstr(cu, wrong[m].line);
      if (!at) fail_msg("there is no %s\n%s", wrong[m].line, cu);
      memset(at, ' ', strlen(wrong[m].line));
      memcpy(at, wrong[m].by, strlen(wrong[m].by));
      const mg_status s = mg_cuda_check(g, cu, NULL, &r, &e);
      if (s != MG_NOT_FOUND) fail_msg("'%s' in place of '%s' is not noticed: %d %s", wrong[m].by, wrong[m].line, (int)s, e.msg);
      memcpy(at, wrong[m].line, strlen(wrong[m].line));
    }
    mg_string_free(cu);
    mg_graph_free(g);
  }
  static const char form[] = "program t\ninput X : f16[128, %s]\ninput W : f16[%s, 128]\nO = kernel grid=(x=%d, y=2, z=%d) threads=128 {\n  plan { stages=3 mma=warpgroup warps_m=4 warps_n=1 warps_k=1 %s }\n  for i=%s {\n    x = load X {y->0, i->1%s}\n    w = load W {x->1, i->0%s}\n"
                             "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+%s}\n  store o {x->1, y->0}\n}\noutput O\n";
  static const struct { int x, z; const char *plan, *why; } no[] = {
    {2, 1, "share=2", "want copy=tma"}, {1, 1, "copy=tma share=4", "no axis"}, {2, 2, "copy=tma share=2", "its blocks merge"}, {2, 2, "copy=warp", "its blocks merge"}, {2, 1, "copy=tma share=9", "want 1 to 8"},
  };
  for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
    char text[900];
    snprintf(text, sizeof text, form, "256", "256", no[k].x, no[k].z, no[k].plan, no[k].z > 1 ? "2" : "4", no[k].z > 1 ? ", z->1" : "", no[k].z > 1 ? ", z->0" : "", no[k].z > 1 ? ", z->+" : "");
    refused(text, NULL, no[k].why);
  }
  refused("program m\ninput X : f16[64, 512]\ninput W : f16[512, 128]\nO = kernel grid=(x=1) threads=256 {\n  plan { copy=warp mma=warpgroup stages=3 warps_m=4 warps_n=2 warps_k=1 }\n"
          "  for i=4 {\n    x = load X {i->1}\n    w = load W {i->0}\n    p = mul(matmul(x, w), max(w, dim=0))\n  }\n  o = accum(p) {i->+}\n  store o {}\n}\noutput O\n", NULL, "the whole block meets for");
}

/* Accumulators over grid axes: blocks that share a contraction, in a cluster and through the workspace. */
static void test_merges(void **state) {
  (void)state;
  static const size sizes[] = {
    {16, 1024, 128, 16, 16, 64, 64, 128, "f16", "  plan { merge=cluster }\n", "", "", 2},
    {16, 1024, 128, 16, 16, 64, 64, 128, "f16", "  plan { merge=workspace }\n", "", "", 2},
    {7, 300, 40, 20, 7, 32, 24, 64, "bf16", "", "@ [1, 0]", "", 3},
    {33, 200, 24, 8, 20, 16, 24, 96, "f32", "  plan { merge=workspace stages=1 }\n", "", "@ [1, 0]", 5},
    {20, 640, 20, 16, 20, 32, 20, 64, "f16", "", "", "", 18},
  };
  char text[2400];
  for (int kind = RMSNORM; kind < KINDS; kind++) passes(ugraph(kind, &sizes[(kind + seed) % 5], text, sizeof text));
  /* no loop; two axes; a maximum; a loop behind the merge; stores that do not wait for it, of parts and of replicas */
  passes("program a\ninput X : f16[24, 64]\ninput W : f16[64, 48]\nO, P, R = kernel grid=(x=2, y=3, z=2) threads=64 {\n  x = load X {x->1, z->1}\n  w = load W {x->0, z->0, y->1}\n  c = load X {}\n"
         "  m = accum(max(x, dim=1)) {x->max, z->max}\n  p = accum(matmul(x, w)) {x->+, z->+}\n  for i=2 {\n    v = load W {i->0}\n    y = load X {i->1}\n    q = matmul(mul(y, m), v)\n  }\n"
         "  o = mul(p, sum(accum(q) {i->+}, dim=1))\n  r = sum(c, dim=0)\n  s = exp(x)\n  store o {y->1}\n  store s {x->1, z->1}\n  store r {}\n}\noutput O\noutput P\noutput R\n");
  /* two kernels that merge, and a tensor between them in the workspace */
  passes("program b\ninput X : f16[16, 128]\ninput W : f16[128, 64]\ninput V : f16[64, 32]\nH = kernel grid=(x=2, y=4) threads=64 {\n  plan { merge=workspace }\n  x = load X {y->1}\n  w = load W {x->1, y->0}\n"
         "  h = relu(accum(matmul(x, w)) {y->+})\n  store h {x->1}\n}\nO = kernel grid=(x=4) threads=64 {\n  plan { merge=workspace }\n  x = load H {x->1}\n  v = load V {x->0}\n  o = accum(matmul(x, v)) {x->+}\n"
         "  store o {}\n}\noutput O\n");
}

/* Rows of one element a step, cut unevenly: some steps and blocks have none. */
static void test_single_rows(void **state) {
  (void)state;
  passes("program rows\ninput X : f16[13, 37]\ninput W : f16[37, 29]\nY = kernel grid=(x=4, y=7) threads=32 {\n  w = load W {x->1}\n  for i=2 {\n    x = load X {y->0, i->0}\n    t = gelu(matmul(x, w))\n  }\n"
         "  o = accum(t) {i->0}\n  store o {x->1, y->0}\n}\noutput Y\n");
  passes("program columns\ninput X : f16[3, 13]\ninput C : f16[13]\nY = kernel grid=(x=7) threads=32 {\n  for i=2 {\n    x = load X {x->1, i->1}\n    c = load C {x->0, i->0}\n    t = mul(exp(x), c)\n  }\n"
         "  o = accum(t) {i->1}\n  store o {x->1}\n}\noutput Y\n");
}

/* What a loop puts together of single rows has as many as the loop has iterations, though the row comes of a dimension that stood
   elsewhere: batches of a product, before and behind a transposition.  Batches that are cut unevenly have no mask: refused. */
static void test_rows_of_iterations(void **state) {
  static const char *const batches[][2] = {{"transpose(b, [1, 0, 2])", "1"}, {"scale(b, 2)", "0"}};
  (void)state;
  for (int k = 0; k < 2; k++) {
    char text[900];
    snprintf(text, sizeof text,
             "program batches\ninput P : f16[4, 16, 16]\ninput V : f16[16, 64]\ninput W : f16[64, 64]\n"
             "O = kernel grid=(x=8, y=16) threads=128 {\n  for i=4 {\n    p = load P {x->*, y->1, i->0}\n"
             "    v = load V {x->*, y->*, i->1}\n    b = matmul(p, reshape(v, [1, 16, 16]))\n    t = %s\n  }\n"
             "  a = accum(t) {i->%s}\n  w = load W {x->1, y->*}\n  o = matmul(reshape(a, [1, 64]), w)\n"
             "  store o {x->1, y->0}\n}\noutput O\n", batches[k][0], batches[k][1]);
    always(text);
  }
  /* Of single elements of two dimensions, those that may be missing count. */
  always("program one\ninput X : f16[7, 16]\ninput B : f16[8, 16]\nO = kernel grid=(x=1, y=8) threads=32 {\n  b = load B {y->0, x->*}\n"
         "  for i=2 {\n    for j=4 {\n      x = load X {i->0, j->0, y->*, x->*}\n      s = sum(exp(mul(x, b)), dim=0)\n    }\n  }\n"
         "  o = accum(s) {i->+, j->+}\n  store o {y->0}\n}\noutput O\n");
  refused("program edge\ninput P : f16[7, 5, 16]\ninput V : f16[1, 16, 64]\nO = kernel grid=(x=8, y=5, z=2) threads=128 {\n"
          "  v = load V {x->2, y->*, z->*}\n  for i=4 {\n    p = load P {x->*, y->1, z->0, i->0}\n    t = matmul(p, v)\n  }\n"
          "  s = accum(t) {i->0}\n  store s {x->2, y->1, z->0}\n}\noutput O\n",
          "sm_90a", "dimension 0 of 'P', neither rows nor columns of the block, is cut unevenly");
}

/* Every warp has a ring of its own: in loops where that can be, and the other loops of the same kernel keep the block's. */
static void test_warp_rings(void **state) {
  (void)state;
  static const char with[] = "  plan { ring=warp stages=%d warps_m=1 warps_n=1 warps_k=%d }\n";
  static const struct { size s; int stages, warps, own[LORA + 2]; } cases_[] = { /* own: loops that it holds for, by kind */
    {{16, 1024, 128, 16, 16, 128, 64, 256, "f16", "", "", "", 0}, 3, 8, {1, 1, 1, 1, 1, 1}},
    {{2, 512, 48, 8, 2, 64, 24, 64, "bf16", "", "", "", 2}, 2, 2, {1, 1, 1, 1, 1, 1}},
    {{7, 300, 40, 20, 7, 64, 24, 128, "f16", "", "", "", 0}, 4, 4, {0, 0, 0, 0, 0, 0}}, /* 300 in chunks of 60 */
    {{33, 600, 64, 16, 33, 128, 32, 128, "f16", "", "@ [1, 0]", "@ [1, 0]", 0}, 1, 4, {0, 0, 0, 0, 0, 0}},
    {{33, 504, 64, 16, 33, 128, 32, 128, "f16", "", "@ [1, 0]", "@ [1, 0]", 0}, 1, 4, {0, 0, 0, 0, 0, 0}}, /* chunks of 126 */
    {{20, 640, 50, 16, 20, 64, 25, 64, "f16", "", "@ [1, 0]", "@ [1, 0]", 0}, 5, 2, {1, 1, 1, 1, 1, 1}},
    {{16, 256, 48, 16, 16, 64, 24, 64, "f32", "", "", "", 0}, 2, 2, {0, 0, 0, 0, 0, 1}}, /* no tensor cores; a sum needs none */
  };
  char text[2400], plan[160];
  for (size_t k = 0; k < sizeof cases_ / sizeof *cases_; k++)
    for (int kind = RMSNORM; kind <= TWO_LOOPS; kind++) {
      size s = cases_[k].s;
      snprintf(plan, sizeof plan, with, cases_[k].stages, cases_[k].warps);
      s.plan = plan;
      if (kind == TWO_LOOPS && s.split > 1) continue;
      ugraph(kind, &s, text, sizeof text);
      mg_graph *g = parse(text);
      char *cu = emit(g, NULL);
      int own = 0;
      for (const char *at = cu; (at = strstr(at, "the warp's own:")) != NULL; at++) own++;
      if (own != cases_[k].own[kind]) fail_msg("%d loops with rings of warps, expected %d\n%s%s", own, cases_[k].own[kind], text, cu);
      /* what such rings have: rows that fill half of a tile, operands times a row, squares, products of parts */
      const int half = own && s.tm <= 8 && strcmp(s.type, "f32");
      assert_int_equal(strstr(cu, "mg_acc_turned<") != NULL, half && (kind == RMSNORM || kind == GATED || (kind == LORA && s.R % 16)));
      assert_int_equal(strstr(cu, half ? "mg_right_times(" : "mg_left_times(") != NULL, own && kind == RMSNORM);
      assert_int_equal(strstr(cu, "mg_own_row_squares<") != NULL, own && strcmp(s.type, "f32") && (kind == RMSNORM || kind == TWO_LOOPS));
      assert_int_equal(strstr(cu, "mg_contract_chain<") != NULL, own && s.R % 16 == 0 && (kind == LOW_RANK || kind == LORA));
      if (own && s.R % 16 == 0 && kind == LORA) assert_null(strstr(cu, "s_p.spill"));
      if (kind == GATED) assert_int_equal(strstr(cu, "e, true> T_b;") != NULL, strcmp(s.type, "f32") != 0); /* swizzled, in rings of the block too */
      mg_string_free(cu);
      mg_graph_free(g);
      if (kind % 3 == (int)((k + seed) % 3)) passes(text);
    }
  /* a ragged last chunk of the contraction, cut among the warps */
  passes("program t\ninput X : f16[16, 180]\ninput W : f16[180, 48]\nO = kernel grid=(x=2) threads=64 {\n  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2 }\n  for i=3 {\n    x = load X {i->1}\n"
         "    w = load W {x->1, i->0}\n    p = matmul(x, w)\n    m = max(x, dim=1)\n  }\n  o = sub(accum(p) {i->+}, accum(m) {i->max})\n  store o {x->1}\n}\noutput O\n");
  passes("program t\ninput X : f16[16, 160]\ninput W : f16[160, 48]\nO = kernel grid=(x=2) threads=64 {\n  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2 }\n  for i=3 {\n    x = load X {i->1}\n"
         "    w = load W {x->1, i->0}\n    p = matmul(exp(x), w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n");
}

/* Rows in registers: a row a block in one pass, and in several; rows and vectors; several rows a pass; what is no such kernel. */
static void test_strips(void **state) {
  (void)state;
  static const struct { int strips, rows, cols, blocks, threads; const char *type, *vector; int more; } cases_[] = {
    {1, 3, 512, 3, 64, "f16", "f16[512]", 0},
    {1, 4, 512, 2, 32, "bf16", "bf16[512]", 0}, /* two passes a row */
    {1, 8, 128, 1, 64, "f16", "f16[8, 1]", 0},
    {0, 3, 500, 3, 64, "f16", "f16[500]", 0},        /* rows of no whole pieces */
    {0, 3, 768, 3, 64, "f16", "f16[768]", 0},        /* no whole passes */
    {0, 3, 512, 2, 64, "f16", "f16[512]", 0},        /* a ragged last block */
    {1, 3, 512, 3, 64, "f32", "f32[512]", 0},        /* two passes a row */
    {1, 8, 64, 1, 32, "f32", "f32[8, 1]", 0},        /* half a warp a row */
    {0, 3, 516, 3, 64, "f32", "f32[516]", 0},        /* no whole passes */
    {0, 3, 512, 3, 64, "f16", "f32[512]", 0},        /* elements of two sizes */
    {0, 4, 512, 2, 64, "f16", "f16[512]", 1},
  };
  char text[1200];
  for (size_t k = 0; k < sizeof cases_ / sizeof *cases_; k++) {
    int cols = cases_[k].cols, more = cases_[k].more;
    snprintf(text, sizeof text, "program t\ninput X : %s[%d, %d]\ninput H : %s[%d, %d]\ninput G : %s\nO, S = kernel grid=(x=%d) threads=%d {\n  x = load X {x->0}\n  h = load H {x->0}\n  g = load G {%s}\n"
             "  s = sum(sqr(h), dim=1)\n  y = add(x, mul(g, div(h, sqrt(add_scalar(scale(s, 1/100), 1/1000)))))\n  m = max(y, dim=1)\n  %s = sub(y, m)\n%s  store o {x->0}\n  store m {x->0}\n}\noutput O\noutput S\n",
             cases_[k].type, cases_[k].rows, cols, cases_[k].type, cases_[k].rows, cols, cases_[k].vector, cases_[k].blocks, cases_[k].threads, strchr(cases_[k].vector, ',') ? "x->0" : "", more ? "n" : "o",
             more ? "  k = sum(n, dim=0)\n  o = add(n, k)\n" : "");
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL);
    if ((strstr(cu, "mg_strip<") != NULL) != cases_[k].strips) fail_msg("case %d: rows are%s in registers\n%s%s", (int)k, cases_[k].strips ? " not" : "", text, cu);
    if (cases_[k].strips && k < 2) all_needed(g, cu, cu, NULL, "mg_sync();");
    mg_string_free(cu);
    mg_graph_free(g);
    passes(text);
  }
  static const char *const kept[] = { /* softmaxes: rows of a ragged block, of a symbol; kept from the strip; then what reads a row's sum and no row */
    "program t\ninput X : f16[7, 256]\nO = kernel grid=(x=2) threads=64 {\n%s}\noutput O\n",
    "program t\nsym n in 1..12\ninput X : f16[n, 256]\nO = kernel grid=(x=ceil(n/4)) threads=64 {\n%s}\noutput O\n",
    "program t\ninput X : f16[8, 256]\nO = kernel grid=(x=2) threads=64 {\n  plan { x.at=plain }\n%s}\noutput O\n",
  };
  for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
    snprintf(text, sizeof text, kept[k], "  x = load X {x->0}\n  e = exp(sub(x, max(x, dim=1)))\n  o = div(e, sum(e, dim=1))\n  store o {x->0}\n");
    always(text);
  }
  static const struct { int cols; const char *made, *r; } rows[] = {{256, "", "s"}, {256, "  r = sqrt(s)\n", "r"}, {128, "", "s"}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    snprintf(text, sizeof text, "program t\ninput X : f16[8, 256]\ninput G : f16[%d]\nO, P = kernel grid=(x=2) threads=64 {\n  x = load X {x->0}\n  g = load G {x->*}\n"
             "  s = sum(sqr(x), dim=1)\n%s  o = mul(g, %s)\n  p = mul(x, %s)\n  store o {x->0}\n  store p {x->0}\n}\noutput O\noutput P\n", rows[k].cols, rows[k].made, rows[k].r, rows[k].r);
    always(text);
  }
}

/* Of chained products every warp brings what it multiplies, where whole steps of 16 are its own: no barrier in the loop. */
static void test_chain_rings(void **state) {
  (void)state;
  static const struct { int rings, keys, loops, warps, stages; const char *type, *k, *v, *more; } cases_[] = {
    {1, 384, 3, 4, 3, "f16", "@ [1, 0]", "", ""},
    {1, 568, 9, 2, 2, "bf16", "", "@ [1, 0]", ""},       /* a last iteration of fewer keys */
    {1, 256, 2, 4, 1, "f16", "@ [1, 0]", "", ""},
    {0, 384, 4, 4, 2, "f16", "@ [1, 0]", "", ""},        /* 24 keys a warp */
    {0, 384, 3, 4, 2, "f16", "@ [1, 0]", "", "    w = add(p, k)\n    u = sum(w, dim=1)\n"}, /* all read all of K */
  };
  char text[1200];
  for (size_t k = 0; k < sizeof cases_ / sizeof *cases_; k++) {
    const char *type = cases_[k].type;
    const int more = *cases_[k].more != 0;
    snprintf(text, sizeof text, "program t\ninput Q : %s[32, 32]\ninput K : %s[32, %d] %s\ninput V : %s[%d, 24] %s\n%s = kernel grid=(x=1) threads=%d {\n  q = load Q {}\n  for i=%d {\n    k = load K {i->1}\n    v = load V {i->0}\n    s = matmul(q, k)\n    p = exp(scale(s, 1/16))\n"
             "    d = matmul(p, v)\n    l = sum(p, dim=1)\n%s  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {}\n%s  plan { stages=%d warps_m=1 warps_n=%d warps_k=1 ring=warp }\n}\noutput O\n%s",
             type, type, cases_[k].keys, cases_[k].k, type, cases_[k].keys, cases_[k].v, more ? "O, U" : "O", 32 * cases_[k].warps, cases_[k].loops, cases_[k].more, more ? "  r = accum(u) {i->+}\n  store r {}\n" : "", cases_[k].stages,
             cases_[k].warps, more ? "output U\n" : "");
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL), *from = strstr(cu, "  for (int i_i = 0"), *end = from ? strstr(from, "\n  }\n") : NULL;
    assert_non_null(end);
    const char *sync = strstr(from, "    mg_sync();"), *warp = strstr(from, "    mg_sync_warp();");
    if ((warp && warp < end && (!sync || sync > end)) != cases_[k].rings) fail_msg("case %d: warps have%s rings of their own\n%s%s", (int)k, cases_[k].rings ? " no" : "", text, cu);
    if (k == 0) all_needed(g, cu, from, end, "mg_sync_warp();");
    mg_string_free(cu);
    mg_graph_free(g);
    passes(text);
  }
}

/* Squares of a tile's rows or columns are summed on tensor cores, and what is made of the sum alone stands in its place: one
   barrier between them and who reads it. */
static void test_squares(void **state) {
  (void)state;
  static const struct { int squares, d, keys, loops, warps_m, warps_n; const char *type, *order, *square; } cases_[] = {
    {2, 64, 256, 2, 2, 2, "f16", "@ [1, 0]", "sqr(k)"},
    {2, 48, 256, 2, 1, 4, "bf16", "", "mul(k, k)"},           /* the memory runs along the keys */
    {1, 40, 188, 3, 1, 2, "f16", "@ [1, 0]", "sqr(k)"},       /* no whole steps of 16, but for zeros in what a product takes; a ragged last iteration */
    {1, 64, 256, 2, 2, 2, "f16", "@ [1, 0]", "mul(k, exp(k))"},
    {0, 64, 256, 2, 2, 2, "f32", "@ [1, 0]", "sqr(k)"},
  };
  char text[1200];
  for (size_t k = 0; k < sizeof cases_ / sizeof *cases_; k++) {
    const char *type = cases_[k].type;
    int squares = 0;
    snprintf(text, sizeof text, "program t\ninput Q : %s[40, %d]\ninput K : %s[%d, %d] %s\ninput V : %s[%d, 32]\nO = kernel grid=(x=1) threads=%d {\n  q = load Q {}\n  r = div(q, sqrt(add_scalar(scale(sum(sqr(q), dim=1), 1/%d), 1/1000)))\n  for i=%d {\n    k = load K {i->1}\n"
             "    n = sqrt(add_scalar(scale(sum(%s, dim=0), 1/%d), 1/1000))\n    p = exp(div(matmul(r, k), n))\n    v = load V {i->0}\n    d = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {}\n"
             "  plan { stages=2 warps_m=%d warps_n=%d warps_k=1 }\n}\noutput O\n",
             type, cases_[k].d, type, cases_[k].d, cases_[k].keys, cases_[k].order, type, cases_[k].keys, 32 * cases_[k].warps_m * cases_[k].warps_n, cases_[k].d, cases_[k].loops, cases_[k].square, cases_[k].d, cases_[k].warps_m, cases_[k].warps_n);
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL);
    for (const char *at = cu; (at = strstr(at, "  mg_row_squares<")) != NULL; at++) squares++;
    if (squares != cases_[k].squares) fail_msg("case %d: %d sums of squares on tensor cores, expected %d\n%s%s", (int)k, squares, cases_[k].squares, text, cu);
    if (k < 2) { /* the loop has the barrier it begins with, and that one; neither can go */
      char *loop = strstr(strstr(cu, "MG_KERNEL("), "// for i="), *end = loop ? strstr(loop, "// o = ") : NULL;
      if (!end && loop) end = strstr(loop, "accum(");
      assert_non_null(end);
      assert_int_equal(all_needed(g, cu, loop, end, "    mg_sync();"), 2);
    }
    mg_string_free(cu);
    mg_graph_free(g);
    passes(text);
  }
  /* Where more blocks fit by it: no sum is written over the tile whose squares other warps still add up. */
  always("program t\ninput X : f16[64, 128]\ninput Y : f16[64, 128]\nO = kernel grid=(x=64) threads=128 {\n"
         "  x = load X {x->*}\n  y = load Y {x->0}\n  w = transpose(y, [1, 0])\n"
         "  o = sub(sub(matmul(x, w), sum(sqr(x), dim=1)), sum(sqr(w), dim=0))\n  store o {x->1}\n"
         "  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 }\n}\noutput O\n");
}

static void test_user_rows(void **state) {
  (void)state;
  static const char text[] =
    "program user\ninput X : f16[16, 64]\ninput W : f16[64, 48]\n"
    "O = kernel grid=(x=3) threads=64 {\n  for i=2 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, flip(bend(w), dim=0))\n  }\n  o = flip(bend(accum(p) {i->+}), dim=0)\n  store o {x->1}\n}\n"
    "P = flip(bend(O), dim=1)\noutput P\noutput O\n";
  mg_graph *g = parse(text);
  char *cu = emit(g, NULL);
  assert_non_null(strstr(cu, "#define MG_USER_OPS(E, T)"));
  assert_non_null(strstr(cu, "FF_OPAQUE(BEND, a)"));
  assert_non_null(strstr(cu, "mg_dev_BEND("));
  assert_non_null(strstr(cu, "mg_dev_index_FLIP("));
  mg_string_free(cu);
  mg_graph_free(g);
  passes(text);
}

/* Rows in a dimension before the last but one, as of heads that a grid axis cuts: loads, stores and accumulators of them, what turns them, their
   sums; by threads, by tensor copies and by warpgroups, and where a ring is a warp's. */
static void test_rows_before(void **state) {
  static const char *const plans[] = {"warps_m=4 warps_n=1 warps_k=1 copy=tma", "warps_m=4 warps_n=1 warps_k=1 copy=tma mma=warpgroup", "warps_m=1 warps_n=4 warps_k=1 ring=warp"};
  (void)state;
  always("program lead\ninput Q : f16[20, 2, 16]\ninput K : f16[24, 2, 16]\ninput V : f16[24, 2, 16]\n"
         "O = kernel grid=(x=2, y=3) threads=64 {\n  q = transpose(load Q {x->1, y->0}, [1, 0, 2])\n  for i=3 {\n"
         "    k = transpose(load K {x->1, i->0}, [1, 2, 0])\n    v = transpose(load V {x->1, i->0}, [1, 0, 2])\n"
         "    e = exp(scale(matmul(q, k), 1/4))\n    n = matmul(e, v)\n    d = sum(e, dim=2)\n  }\n"
         "  o = div(accum(n) {i->+}, accum(d) {i->+})\n  store transpose(o, [1, 0, 2]) {x->1, y->0}\n}\n"
         "R, S, T, U = kernel grid=(x=2) threads=64 {\n  for i=3 {\n    a = sqr(load K {x->1, i->0})\n  }\n"
         "  b = accum(a) {i->0}\n  v = load V {x->1}\n  store mul(b, v) {x->1}\n"
         "  store div(v, sum(b, dim=2)) {x->1}\n  store sum(v, dim=0) {x->1}\n  w = reshape(v, [1, 24, 16])\n"
         "  store matmul(w, transpose(w, [0, 2, 1])) {x->0}\n}\noutput O, R, S, T, U\n");
  for (int k = 0; k < 3; k++) {
    char text[900];
    snprintf(text, sizeof text, "program tma\ninput Q : f16[128, 2, 64]\ninput K : f16[256, 2, 64]\ninput V : f16[256, 2, 64]\n"
             "O = kernel grid=(x=2, y=2) threads=128 {\n  q = transpose(load Q {x->1, y->0}, [1, 0, 2])\n"
             "  for i=4 {\n    k = transpose(load K {x->1, i->0}, [1, 2, 0])\n"
             "    v = transpose(load V {x->1, i->0}, [1, 0, 2])\n    e = exp(scale(matmul(q, k), 1/8))\n"
             "    n = matmul(e, v)\n    d = sum(e, dim=2)\n  }\n  o = div(accum(n) {i->+}, accum(d) {i->+})\n"
             "  store transpose(o, [1, 0, 2]) {x->1, y->0}\n  plan { stages=2 %s }\n}\noutput O\n", plans[k]);
    passes(text);
  }
  refused("program p\ninput X : f16[4, 2, 8, 16]\nO = kernel grid=(x=2) threads=32 {\nstore exp(load X {x->0}) {x->0}\n}\noutput O\n", "sm_90a", "only the last and one other");
  refused("program p\ninput X : f16[4, 2, 16]\ninput W : f16[2, 16, 8]\nO = kernel grid=(x=2) threads=32 {\nstore matmul(load X {x->1}, load W {x->0}) {x->1}\n}\noutput O\n", "sm_90a", "several matrices");
}

static void test_other_forms(void **state) {
  (void)state;
  /* whole tensors: every kind of operator at kernel level, memory orders, a batch */
  passes("program lib\ninput X : f16[33, 40]\ninput G : f16[40]\ninput W : f16[40, 100]\ninput T : f16[33, 100] @ [1, 0]\n"
         "Y = rms_norm(X, G, eps=1/1000000)\nO = matmul(Y, W)\nP = add(transpose(O, [1, 0]), transpose(T, [1, 0]))\nR = max(concat(P, P, dim=1), dim=0)\noutput R\noutput O\n");
  passes("program batch\ninput Q : f16[3, 20, 16]\ninput K : f16[3, 16, 24] @ [0, 2, 1]\ninput V : f16[24, 8]\nP = softmax(scale(matmul(Q, K), 1/8), dim=2)\nO = matmul(P, V)\nS = sum(O, dim=0)\noutput S\n");
  passes("program cat\ninput W : f16[20, 40]\ninput X : f16[20, 8]\ninput Y : f16[40, 24]\ninput Z : f16[8, 24]\nO = concat_matmul(W, X, Y, Z)\noutput O\n");
  /* row-wise, no loop */
  passes("program rows\ninput X : f16[8, 1000]\ninput H : f16[8, 1000]\nO = kernel grid=(x=8) threads=256 {\n  x = load X {x->0}\n  h = load H {x->0}\n"
         "  y = add(x, div(h, sqrt(add_scalar(scale(sum(sqr(h), dim=1), 1/1000), 1/1000000))))\n  o = div(y, sqrt(add_scalar(scale(sum(sqr(y), dim=1), 1/1000), 1/1000000)))\n  store o {x->0}\n}\noutput O\n");
  /* heads on the grid, keys in a memory order of their own, a loop over keys */
  passes("program attention\ninput Q : f16[2, 64, 32]\ninput K : f16[2, 32, 256] @ [0, 2, 1]\ninput V : f16[2, 256, 32]\nO = kernel grid=(x=2, y=2) threads=128 {\n  q = load Q {x->0, y->1}\n  for i=4 {\n"
         "    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n    p = exp(scale(matmul(q, k), 1/8))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {x->0, y->1}\n}\noutput O\n");
  /* a concatenating accumulator, a running maximum, moves in operands, two outputs, blocks that hold the same values */
  passes("program moves\ninput X : f16[16, 128]\ninput W : f16[128, 64]\nO, S = kernel grid=(x=2, y=2) threads=64 {\n  a = load X {x->0}\n  for i=4 {\n    w = load W {i->1}\n    c = relu(matmul(a, w))\n    m = max(c, dim=1)\n  }\n"
         "  o = sub(accum(c) {i->1}, accum(m) {i->max})\n  s = sum(o, dim=1)\n  store o {x->0}\n  store s {x->0}\n}\noutput O\noutput S\n");
  passes("program deep\ninput X : f16[16, 32]\ninput W : f16[64, 32]\ninput V : f16[24, 64]\nO = kernel grid=(x=2) threads=128 {\n  a = load X {x->0}\n  w = load W {}\n  v = load V {}\n  c = matmul(a, transpose(w, [1, 0]))\n"
         "  d = matmul(concat(c, repeat(a, dim=1, n=2), dim=1), transpose(reshape(concat(v, v, dim=0), [24, 128]), [1, 0]))\n  e = sum(d, dim=0)\n  o = mul(d, e)\n  store o {x->0}\n}\noutput O\n");
  /* a load behind two loops goes out with the second: what reads it does not come between the two */
  passes("program behind\ninput X : f16[72, 17]\nA, B = kernel grid=(x=1) threads=128 {\n  for i=2 {\n    a = load X {i->0}\n    b = gelu(a)\n  }\n  c = accum(b) {i->0}\n"
         "  for j=2 {\n    p = load X {j->0}\n    q = gelu(p)\n  }\n  r = accum(q) {j->0}\n  d = mul(c, r)\n  e = load X {}\n  f = neg(e)\n  store f {}\n  store d {}\n}\noutput A, B\n");
  /* rows of an odd number of elements in columns of their tile, read two at a time: none beyond the last, where another's place begins */
  static const char *const types[] = {"f32", "f16"};
  for (int k = 0; k < 2; k++) {
    char text[700];
    snprintf(text, sizeof text, "program odd\ninput X : %s[33, 77] @ [1, 0]\nG, S = kernel grid=(x=10, y=5) threads=128 {\n  x = load X {x->1, y->*}\n  t = div(x, sqrt(sum(sqr(x), dim=0)))\n  z = load X {x->*, y->0}\n"
             "  s = sum(z, dim=1)\n  store t {x->1, y->*}\n  store s {x->*, y->0}\n}\noutput G, S\n", types[k]);
    always(text);
  }
}

/* Every barrier that the emitter writes is needed: without it, link 2 sees a race. */
static void test_barriers(void **state) {
  (void)state;
  static const size sizes[] = {
    {16, 512, 128, 16, 16, 128, 64, 128, "f16", "", "", "", 0},
    {33, 256, 128, 32, 33, 64, 64, 64, "f16", "  plan { warps_m=2 warps_n=1 warps_k=1 stages=2 }\n", "", "", 0},
    {16, 256, 48, 32, 16, 32, 24, 64, "f16", "  plan { merge=cluster stages=2 }\n", "", "", 3},
    {16, 256, 48, 16, 16, 32, 24, 64, "f16", "  plan { merge=workspace stages=2 }\n", "", "", 3},
    {16, 512, 48, 16, 16, 64, 24, 64, "f16", "  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2 }\n", "", "", 0},
  };
  static const int kinds[] = {RMSNORM, ATTENTION, LOW_RANK, RMSNORM, RMSNORM};
  static const char *const barriers[] = {"mg_sync_warp();", "mg_sync();", "mg_cluster_opens(all);", "mg_cluster_wait();", "mg_cluster_takes(", "if (!mg_last_of(ticket, t_K0_z)) return;", "if (mg_cluster_rank() != 0) return;"};
  char text[2400];
  for (int k = 0; k < 5; k++) {
    mg_graph *g = parse(ugraph(kinds[k], &sizes[k], text, sizeof text));
    char *cu = emit(g, NULL);
    int n = 0;
    for (int what = 0; what < 7; what++)
      for (char *at = cu; (at = strstr(at, barriers[what])) != NULL; at++) {
        char call[400];
        mg_error e;
        mg_check_report r;
        mg_check_config cfg;
        memset(&cfg, 0, sizeof cfg);
        cfg.seeds = 24;
        n++;
        if (!in_sample(5)) continue;
        const size_t length = strcspn(at, ";") + 1;
        assert_true(length < sizeof call);
        memcpy(call, at, length);
        memset(at, ' ', length);
        if (mg_cuda_check(g, cu, &cfg, &r, &e) != MG_NOT_FOUND) fail_msg("barrier %d of kind %d (%s) is not missed: %s\n%s", n, kinds[k], barriers[what], e.msg, cu);
        memcpy(at, call, length);
      }
    assert_true(n >= (k == 2 ? 5 : 2));
    mg_string_free(cu);
    mg_graph_free(g);
  }
}

/* Where a value lives: by a rule's row, or, where the plan has it so, by none.  The emitted text's plan names the row. */
static void test_residency(void **state) {
  (void)state;
  static const struct { const char *plan, *at, *word, *sign, *text; } rows[] = {
    {"warps_m=1 warps_n=2 warps_k=2", "x", "registers", "mg_strip<", "program t\ninput X : f16[32, 256]\nO = kernel grid=(x=4) threads=128 {\n%s  x = load X {x->0}\n  s = sum(sqr(x), dim=1)\n  o = div(x, sqrt(s))\n  store o {x->0}\n}\noutput O\n"},
    {"warps_m=1 warps_n=4 warps_k=1", "p", "fragment", "mg_contract_chain<", "program t\ninput Q : f16[16, 32]\ninput K : f16[32, 64]\ninput V : f16[64, 32]\nO = kernel grid=(x=2) threads=128 {\n%s  q = load Q {}\n  k = load K {}\n  v = load V {x->1}\n"
      "  c = matmul(q, k)\n  p = exp(scale(c, 1/16))\n  o = div(matmul(p, v), sum(p, dim=1))\n  store o {x->1}\n}\noutput O\n"},
    {"warps_m=1 warps_n=1 warps_k=4", "r", "global", "mg_global<", "program t\ninput A : f16[16, 128]\ninput B : f16[128, 64]\ninput R : f16[16, 64]\nO = kernel grid=(x=2) threads=128 {\n%s  for i=4 {\n    a = load A {i->1}\n    b = load B {i->0, x->1}\n    c = matmul(a, b)\n  }\n  r = load R {x->1}\n  o = add(accum(c) {i->+}, r)\n  store o {x->1}\n}\noutput O\n"},
    {"warps_m=1 warps_n=4 warps_k=1", "h", "tile", "m_h", "program t\ninput A : f16[16, 64]\ninput B : f16[64, 64]\nO = kernel grid=(x=2) threads=128 {\n%s  a = load A {}\n  b = load B {x->1}\n  h = silu(a)\n  o = matmul(h, b)\n  store o {x->1}\n}\noutput O\n"},
    {"warps_m=1 warps_n=1 warps_k=4", "n", "vector", "m_n", "program t\ninput A : f16[64, 128]\ninput B : f16[128, 64]\ninput R : f16[64, 1]\nO = kernel grid=(x=1) threads=128 {\n%s  for i=4 {\n    a = load A {i->1}\n    b = load B {i->0, x->1}\n    c = matmul(a, b)\n  }\n  r = load R {}\n  n = sqrt(sqr(r))\n  o = add(div(accum(c) {i->+}, n), n)\n  store o {x->1}\n}\noutput O\n"},
    {"warps_m=1 warps_n=2 warps_k=2", "p", "kept", "mg_strip_kept<", "program t\ninput X : f16[32, 256]\nO = kernel grid=(x=4) threads=128 {\n%s  x = load X {x->0}\n  p = exp(sub(x, max(x, dim=1)))\n  o = div(p, sum(p, dim=1))\n  store o {x->0}\n}\noutput O\n"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    char *cu[3], plan[160], text[1200], entry[60];
    const char *words[] = {"", rows[k].word, "plain"};
    for (int w = 0; w < 3; w++) {
      if (w) snprintf(entry, sizeof entry, " %s.at=%s", rows[k].at, words[w]);
      snprintf(plan, sizeof plan, "  plan { %s%s }\n", rows[k].plan, w ? entry : "");
      snprintf(text, sizeof text, rows[k].text, plan);
      mg_graph *g = parse(text);
      cu[w] = emit(g, NULL);
      mg_graph_free(g);
    }
    snprintf(entry, sizeof entry, " %s.at=%s", rows[k].at, rows[k].word);
    if (!strstr(cu[0], entry) || !strstr(cu[0], rows[k].sign)) fail_msg("%s lives by no rule, or not by %s:\n%s", rows[k].at, rows[k].word, cu[0]);
    assert_string_equal(strstr(cu[0], "#include"), strstr(cu[1], "#include"));
    assert_null(strstr(cu[2], rows[k].sign));
    passes(text); /* the plain one */
    for (int w = 0; w < 3; w++) mg_string_free(cu[w]);
    snprintf(plan, sizeof plan, "  plan { %s %s.at=%s }\n", rows[k].plan, rows[k].at, k ? "registers" : "tile");
    snprintf(text, sizeof text, rows[k].text, plan);
    refused(text, NULL, "it can only be plain");
    snprintf(plan, sizeof plan, "  plan { %s %s.at=moon }\n", rows[k].plan, rows[k].at);
    snprintf(text, sizeof text, rows[k].text, plan);
    refused(text, NULL, "moon: want plain, registers");
    snprintf(plan, sizeof plan, "  plan { %s nobody.at=plain }\n", rows[k].plan);
    snprintf(text, sizeof text, rows[k].text, plan);
    refused(text, NULL, "no such tensor");
  }
}

/* Without a plan and without a product nobody splits the warps: what is emitted says nothing of them, and is emitted again. */
static void test_unplanned(void **state) {
  (void)state;
  mg_graph *again, *g = parse("program t\ninput X : f16[4, 12]\nO = kernel grid=(x=4) threads=128 {\n  for i=3 {\n    a = load X {x->0, i->1}\n    b = sum(exp(a), dim=1)\n  }\n  c = accum(b) {i->+}\n"
                              "  for j=4 {\n    d = load X {x->0, j->1}\n    e = div(exp(d), c)\n  }\n  o = accum(e) {j->1}\n  store o {x->0}\n}\noutput O\n");
  char *a = emit(g, NULL), *b;
  mg_error e;
  assert_int_equal(mg_cuda_source_graph(a, strlen(a), &again, &e), MG_OK);
  b = emit(again, NULL);
  assert_string_equal(a, b);
  mg_graph_free(g), mg_graph_free(again);
  mg_string_free(a), mg_string_free(b);
}

/* Every word of a plan: a value that it does not take, or that does not fit here; then words that there are not. */
static void test_plan_words(void **state) {
  (void)state;
  static const char form[] = "program t\ninput X : f16[64, 256]\ninput W : f16[256, 64]\ninput C : f16[64, 64]\nO = kernel grid=(x=2, y=2) threads=64 {\n  plan { %s }\n  c = load C {x->1, y->0}\n  for i=4 {\n    x = load X {y->0, i->1}\n"
                             "    w = load W {x->1, i->0}\n    p = matmul(x, w)\n  }\n  o = add(accum(p) {i->+}, c)\n  store o {x->1, y->0}\n}\noutput O\n";
  static const char *const no[][2] = {
    {"stages=0", "stages=0: want 1 to 8"}, {"stages=9", "stages=9: want 1 to 8"}, {"warps_m=3", "are not the 2 warps of threads=64"}, {"ring=thread", "ring=thread: want block, warp or group"},
    {"ring=group warps_m=2", "ring=group: want mma=warpgroup"}, {"mma=thread", "mma=thread: want warp or warpgroup"}, {"ahead=2", "ahead=2: want 0 or 1"}, {"schedule=late", "schedule=late: want written, depth or room"},
    {"copy=bulk", "copy=bulk: want async, tma or warp"}, {"x.in=loose", "x.in=loose: want swizzled, padded, dense, panels or turned"}, {"p.in=dense", "p.in=dense: there is no such load"}, {"p.at=moon", "p.at=moon: want plain, registers"},
    {"q.at=plain", "q.at=plain: there is no such tensor"}, {"x.on=dense", "x.on=dense: there is no such word"}, {"copies=tma", "copies=tma: there is no such word"}, {"copy=tma multicast=2", "multicast=2: there is no such word"},
  };
  char text[700];
  for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
    snprintf(text, sizeof text, form, no[k][0]);
    refused(text, NULL, no[k][1]);
  }
  for (int ahead = 0; ahead < 2; ahead++) { /* whether the loop's first loads are asked for before the loop's turn comes */
    snprintf(text, sizeof text, form, ahead ? "ahead=1" : "ahead=0");
    mg_graph *g = parse(text);
    char *cu = emit(g, NULL), *load = strstr(cu, "  const auto load_i"), *loop = strstr(cu, "  // for i=4");
    assert_true(load && loop);
    assert_int_equal(load < loop, ahead);
    assert_int_equal(strstr(cu, "ahead=0") == NULL, ahead);
    mg_string_free(cu);
    mg_graph_free(g);
    passes(text);
  }
}
/* What a kernel hands on as two of f16 by a power of two of its block: operands of either side, rings of each kind, blocks that do
   not nest, parts that are merged. */
static void test_split(void **state) {
  (void)state;
#define SPLIT_MAKER(grid, plan, tail) "H = kernel grid=(" grid ") threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp h.store=split " plan "}\n  for i=2 {\n    b = load B {" tail "\n"
#define SPLIT_IN2 "program t\ninput A : f16[40, 96]\ninput B : f16[96, 128]\ninput D : f16[128, 96]\n"
#define SPLIT_MADE SPLIT_MAKER("x=2, y=6", "", "y->0, i->1}") "    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
#define SPLIT_TAKER(grid, threads, plan, body) "E = kernel grid=(" grid ") threads=" threads " {\n  plan { " plan " }\n" body "output E\n"
#define SPLIT_LOOP(a, h, e) "  for i=3 {\n    a = load A {" a "}\n    l = load H {" h "}\n    t = matmul(a, l)\n  }\n  e = accum(t) {i->+}\n  store e {" e "}\n}\n"
  static const struct { const char *text, *arch, *has; } forms[] = {
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")), NULL, "mg_sync_warp();\n      }"}, /* 48 columns and 32 */
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "128", "stages=3 warps_m=2 warps_n=2 warps_k=1", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")), "sm_80", "mg_one_power<128>(low_l"},
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=1, y=5", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "i->0", "y->0")), NULL, ".undo(acc_t.turned())"},
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "stages=1 warps_m=1 warps_n=2 warps_k=1",
                                        "  for i=3 {\n    a = load A {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n    r = relu(t)\n  }\n  e = accum(r) {i->+}\n  store e {y->0, x->1}\n}\n"), NULL, "\n  mg_powers powers_l("}, /* asked for once, given back an iteration */
      {"program t\ninput A : f16[40, 32]\ninput B : f16[32, 128]\ninput D : f16[128, 32]\n" SPLIT_MAKER("x=1", "", "i->1}") "    d = load D {i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {}\n}\n"
       "E = kernel grid=(y=2) threads=32 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=1 ring=warp }\n  for i=2 {\n    a = load A {y->0, i->1}\n    l = load H {i->0}\n    t = matmul(a, l)\n  }\n  e = accum(t) {i->+}\n  store e {y->0}\n}\noutput E\n",
       NULL, "are_mixed({0, 1, 1, 1}, {0, 1, 1, 1}, {0, 1, 1, 1})"}, /* one block */
      {"program t\ninput C : f16[96, 32]\ninput B : f16[40, 128]\ninput D : f16[128, 96]\n" SPLIT_MAKER("x=2, y=5", "", "y->0, i->1}") "    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
       "E = kernel grid=(x=2, y=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp }\n  for i=3 {\n    l = load H {y->0, i->1}\n    c = load C {x->1, i->0}\n    t = matmul(l, c)\n  }\n  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\noutput E\n",
       NULL, "mg_left(low_l)"}, /* of the left */
      {"program t\ninput A : f16[2, 128, 128]\ninput B : f16[2, 128, 64]\ninput D : f16[2, 64, 128]\n" SPLIT_MAKER("x=4, y=8, z=2", "", "z->0, y->1, i->2}")
       "    d = load D {z->0, x->2, i->1}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {z->0, y->1, x->2}\n}\n"
       "E = kernel grid=(x=2, y=2, z=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup copy=tma }\n  for i=2 {\n    a = load A {z->0, y->1, i->2}\n    l = load H {z->0, x->2, i->1}\n    t = matmul(a, l)\n  }\n"
       "  e = accum(t) {i->+}\n  store e {z->0, y->1, x->2}\n}\noutput E\n", "sm_90a", "mg_group_contract_both<"},
      {"program t\ninput A : f16[2, 128, 128]\ninput B : f16[2, 128, 64]\ninput D : f16[2, 64, 128]\n" SPLIT_MAKER("x=4, y=8, z=2", "", "z->0, y->1, i->2}")
       "    d = load D {z->0, x->2, i->1}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {z->0, y->1, x->2}\n}\n"
       "E = kernel grid=(x=2, y=2, z=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup }\n  for i=2 {\n    a = load A {z->0, y->1, i->2}\n    l = load H {z->0, x->2, i->1}\n    t = matmul(a, l)\n  }\n"
       "  e = accum(t) {i->+}\n  store e {z->0, y->1, x->2}\n}\noutput E\n", "sm_90a", "mg_group_publish();\n      mg_sync();"},
      {SPLIT_IN2 "H = kernel grid=(x=2, y=6, z=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp merge=workspace h.store=split }\n  for i=2 {\n    b = load B {y->0, z->1, i->1}\n    d = load D {x->1, z->0, i->0}\n    t = matmul(b, d)\n  }\n"
       "  h = accum(t) {z->+, i->+}\n  store h {y->0, x->1, z->*}\n}\n" SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")), "sm_80", "mg_last_of("},
      {SPLIT_IN2 "H = kernel grid=(x=2, y=6, z=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp merge=cluster h.store=split }\n  for i=2 {\n    b = load B {y->0, z->1, i->1}\n    d = load D {x->1, z->0, i->0}\n    t = matmul(b, d)\n  }\n"
       "  h = accum(t) {z->+, i->+}\n  store h {y->0, x->1, z->*}\n}\n" SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")), "sm_90a", "mg_cluster_rank() != 0"},
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "128", "stages=2 warps_m=2 warps_n=2 warps_k=1",
                                        "  for i=3 {\n    for j=2 {\n      a = load A {y->0, i->1, j->1}\n      l = load H {x->1, i->0, j->0}\n      t = matmul(a, l)\n    }\n  }\n  e = accum(t) {i->+, j->+}\n  store e {y->0, x->1}\n}\n"), "sm_90a",
       "mg_grid_wait();\n  mg_powers powers_l("}, /* nothing is loaded before the loops */
      {"program t\ninput B : f16[96, 128]\ninput D : f16[128, 96]\n" SPLIT_MADE SPLIT_TAKER("x=3, y=6", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp",
                                        "  for i=3 {\n    a = load H {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n  }\n  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\n"), NULL, "mg_left(low_a), mg_right(low_l)"}, /* both operands */
      {"program t\ninput A : f16[128, 128]\ninput B : f16[128, 64]\ninput D : f16[64, 128]\n" SPLIT_MAKER("x=4, y=8", "", "y->0, i->1}") "    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
       SPLIT_TAKER("x=2, y=2", "128", "stages=3 warps_m=2 warps_n=2 warps_k=1 copy=tma", "  for i=2 {\n    a = load A {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n  }\n  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\n"), "sm_90a", "mg_group_publish();\n      mg_sync();"},
      {"program t\ninput B : f16[128, 64]\ninput D : f16[64, 128]\n" SPLIT_MAKER("x=4, y=8", "", "y->0, i->1}") "    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
       "E = kernel grid=(x=2, y=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup copy=tma }\n  for i=2 {\n    a = load H {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n  }\n"
       "  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\noutput E\n", "sm_90a", "mg_left(low_a), mg_right(low_l)"},
  };
  const int nvcc = has_nvcc();
  for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
    mg_graph *g = parse(forms[k].text), *again;
    mg_error e;
    char *cu = emit(g, forms[k].arch), *same;
    if (!strstr(cu, "mg_to_split(") || !strstr(cu, "mg_one_power<") || !has(cu, forms[k].has)) fail_msg("form %d: expected '%s'\n%s", (int)k, forms[k].has, cu);
    assert_int_equal(mg_cuda_source_graph(cu, strlen(cu), &again, &e), MG_OK);
    same = emit(again, forms[k].arch);
    assert_string_equal(cu, same);
    if (nvcc && in_sample(4)) compiles(g, forms[k].arch ? forms[k].arch : "sm_90a");
    mg_string_free(cu), mg_string_free(same);
    mg_graph_free(g), mg_graph_free(again);
    passes(forms[k].text);
  }
  static const struct { const char *text, *why; } others[] = {
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2",
                                        "  for i=3 {\n    a = load A {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, relu(l))\n  }\n  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\n"), "the operand of one product alone"},
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2",
                                        "  for i=3 {\n    a = load A {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n    s = sum(l, dim=0)\n  }\n  e = mul(accum(t) {i->+}, accum(s) {i->+})\n  store e {y->0, x->1}\n}\n"), "the operand of one product alone"},
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "warps_m=1 warps_n=1 warps_k=2", "  a = load A {y->0}\n  l = load H {x->1}\n  e = matmul(a, l)\n  store e {y->0, x->1}\n}\n"), "not loaded in a loop"},
      {SPLIT_IN2 SPLIT_MAKER("x=8, y=6", "", "y->0, i->1}") "    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
       SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")), "no whole eights"},
      {SPLIT_IN2 SPLIT_MADE "E = matmul(A, H)\noutput E\n", "a library operator"},
      {SPLIT_IN2 SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")) "output H\n", "it is an output"},
      {"program t\ninput A : bf16[40, 96]\ninput B : bf16[96, 128]\ninput D : bf16[128, 96]\n" SPLIT_MADE SPLIT_TAKER("x=3, y=2", "64", "stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp", SPLIT_LOOP("y->0, i->1", "x->1, i->0", "y->0, x->1")), "it is no f16"},
  };
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) refused(others[k].text, "sm_80", others[k].why);
}

static void test_refused(void **state) {
  (void)state;
  char text[2400];
  size s = {16, 4096, 4096, 16, 16, 128, 64, 256, "f16", "", "", "", 0};
  refused(rmsnorm, "sm_70", "sm_80");
  s.tk = 1024;
  s.plan = "  plan { stages=4 }\n";
  refused(ugraph(GATED, &s, text, sizeof text), "sm_80", "166912");
  refused(ugraph(GATED, &s, text, sizeof text), "sm_90a", "232448");
  s.tk = 128;
  s.plan = "  plan { warps_m=3 }\n";
  refused(ugraph(RMSNORM, &s, text, sizeof text), NULL, "warps");
  s.plan = "  plan { stages=99 }\n";
  refused(ugraph(RMSNORM, &s, text, sizeof text), NULL, "stages=99");
  s.plan = "";
  s.M = s.tm = 256;
  s.tn = 256;
  s.tk = 16;
  s.threads = 64;
  refused(ugraph(RMSNORM, &s, text, sizeof text), NULL, "registers");
  refused("program t\ninput X : f16[4, 16, 16]\nO = kernel grid=(x=2) threads=32 {\n  x = load X {x->0}\n  o = exp(x)\n  store o {x->0}\n}\noutput O\n", NULL, "only the last and one other");
  refused("program t\ninput X : f16[16, 64]\nO = kernel grid=(x=4) threads=32 {\n  x = load X {x->1}\n  o = accum(exp(x)) {x->1}\n  store o {}\n}\noutput O\n", NULL, "grid axis x");
  s = (size){16, 512, 128, 16, 16, 64, 64, 128, "f16", "  plan { merge=cluster }\n", "", "", 2};
  refused(ugraph(RMSNORM, &s, text, sizeof text), "sm_80", "merge=cluster");
  s.split = 32;
  s.tk = 16;
  refused(ugraph(RMSNORM, &s, text, sizeof text), NULL, "merge=cluster");
  s.plan = "  plan { merge=never }\n";
  refused(ugraph(RMSNORM, &s, text, sizeof text), NULL, "merge=never");
  refused("program t\ninput X : f16[16, 64]\nO = kernel grid=(x=1) threads=32 {\n  for i=2 {\n    for j=2 {\n      x = load X {i->0, j->1}\n      s = exp(x)\n    }\n  }\n"
          "  o = accum(s) {i->+, j->1}\n  store o {}\n}\noutput O\n", NULL, "no running maximum");
}

/* ---- files written down: tests/corpus/emit/NAME.mg, once emitted wrong; whoever finds one adds it.  Each is emitted and
   checked, or refused with the reason that its first line, "# refused: ..", gives */
static void test_found(void **state) {
  (void)state;
  static const char dir[] = "tests/corpus/emit/", mark[] = "# refused: ";
  static char text[1 << 16];
  char path[400], why[200];
  int checked = 0, not_emitted = 0;
  DIR *d = opendir(dir);
  if (!d) fail_msg("%s is not there: run from the repository's root", dir);
  for (struct dirent *f; (f = readdir(d)) != NULL;) {
    if (f->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s%s", dir, f->d_name);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    const size_t n = fread(text, 1, sizeof text - 1, in);
    text[n] = 0;
    fclose(in);
    if (!strncmp(text, mark, sizeof mark - 1)) {
      snprintf(why, sizeof why, "%.*s", (int)strcspn(text + sizeof mark - 1, "\n"), text + sizeof mark - 1);
      refused(text, "sm_90a", why);
      not_emitted++;
    } else {
      always(text);
      checked++;
    }
  }
  closedir(d);
  assert_true(checked > 0 && not_emitted > 0);
}
/* Names of tensors that the emitted code uses for something else stay apart from it. */
static void test_names(void **state) {
  (void)state;
  passes("program float_\ninput int_ : f16[8, 16]\ninput in : f16[8, 16]\nout = kernel grid=(x=1) threads=32 {\n  r = load int_ {}\n  c = load in {}\n  i = add(r, c)\n  v = sum(i, dim=1)\n  rc = mul(i, v)\n  store rc {}\n}\n"
         "rest = add(out, in)\nspace = relu(rest)\noutput space\n");
}

/* The kernels of mg_cuda_calibrate, by nvcc without a warning. */
static void test_calibration(void **state) {
  (void)state;
  static const char *const archs[] = {"sm_80", "sm_90a"};
  if (!has_nvcc()) skip();
  for (int a = 0; a < 2; a++) {
    char command[600], line[400], all[4000] = "";
    snprintf(command, sizeof command, "printf '#define MG_CALIBRATE\\n#include \"mirage_cuda.cuh\"\\n' | nvcc -O3 -std=c++17 -gencode arch=compute_%s,code=%s -Xcompiler -fPIC,-Wall,-Wextra -DMG_RUNNER -I. -x cu -c -o /dev/null - 2>&1; echo status $?", archs[a] + 3, archs[a]);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p)) strncat(all, line, sizeof all - strlen(all) - 1);
    pclose(p);
    if (strcmp(all, "status 0\n")) fail_msg("%s: %s", archs[a], all);
  }
}

static void test_nvcc(void **state) {
  (void)state;
  static const char *const archs[] = {"sm_80", "sm_90a"};
  static const size full = {16, 4096, 4096, 16, 16, 128, 64, 256, "f16", "", "", "", 0}, ragged = {33, 40, 100, 20, 16, 32, 64, 128, "bf16", "", "", "@ [1, 0]", 0},
                    shared = {16, 4096, 4096, 16, 16, 128, 64, 256, "f16", "", "", "", 2}; /* merged: by clusters on sm_90a */
  char text[2400];
  if (!has_nvcc()) {
    print_message("nothing compiled for a GPU\n");
    skip();
  }
  for (int a = 0; a < 2; a++)
    for (int kind = 0; kind < KINDS + 4; kind++) {
      int of = kind < KINDS ? kind : (kind - KINDS) % 2 ? LORA : RMSNORM;
      if (!in_sample(5)) continue;
      mg_graph *g = parse(ugraph(of, kind < KINDS ? &full : kind < KINDS + 2 ? &ragged : &shared, text, sizeof text));
      compiles(g, archs[a]);
      mg_graph_free(g);
    }
  mg_graph *g = parse("program late\ninput Q : f16[2, 512, 128]\ninput K : f16[2, 128, 1024] @ [0, 2, 1]\ninput V : f16[2, 1024, 128]\ninput C : f16[512, 1024] = causal\n"
                      "O = kernel grid=(x=4, y=2) threads=256 {\n  q = load Q {x->1, y->0}\n  s = scale(q, 1/11)\n  for n=8 {\n    c = load C {x->0, n->1}\n    k = load K {y->0, n->2}\n"
                      "    p = exp(add(matmul(s, k), c))\n    v = load V {y->0, n->1}\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  r = div(accum(o) {n->+}, accum(l) {n->+})\n"
                      "  store r {x->1, y->0}\n  plan { stages=3 warps_m=8 warps_n=1 warps_k=1 mma=warpgroup copy=warp chain=late }\n}\noutput O\n");
  char *cu = emit(g, "sm_90a");
  assert_non_null(strstr(cu, "mg_takes_registers<232>"));
  compiles(g, "sm_90a");
  mg_string_free(cu), mg_graph_free(g);
}

/* The µGraph of the text: "DEEP v" stands for 40 lines, each the double of the one before, from v on, and t40 for the
   last. */
static mg_graph *parse_deep(const char *text) {
  char full[8192], from[16];
  size_t n = 0;
  while (*text) {
    const size_t line = strcspn(text, "\n") + 1;
    if (sscanf(text, " DEEP %15s", from) == 1) {
      for (int k = 1; k <= 40; k++) {
        if (k > 1) snprintf(from, sizeof from, "t%d", k - 1);
        n += (size_t)snprintf(full + n, sizeof full - n, "t%d = add(%s, %s)\n", k, from, from);
      }
    } else n += (size_t)snprintf(full + n, sizeof full - n, "%.*s", (int)line, text);
    text += line;
  }
  return parse(full);
}
/* Each value is read twice by the next: what is asked of expressions goes by values, not by the 2^40 paths to their
   leaves. */
static void test_shared_operands(void **state) {
#define XW "program deep\ninput X : f16[16, 64]\ninput W : f16[64, 32]\nO = kernel grid=(x=1) threads=128 {\n"
#define LOADS "x = load X {x->*, i->1}\nw = load W {x->1, i->0}\n"
#define QKV "program deep\ninput Q : f16[16, 64]\ninput K : f16[64, 128]\ninput V : f16[128, 64]\n" \
            "O = kernel grid=(x=1) threads=128 {\nq = load Q {x->0}\nfor i=2 {\nk = load K {x->*, i->1}\n" \
            "v = load V {x->*, i->0}\ns = matmul(q, k)\n"
#define ENDS "}\noutput O\n"
#define SUMS "a = accum(p) {i->+}\nb = accum(r) {i->+}\no = div(a, b)\nstore o {x->0}\n"
  static const char *const deep[] = {
      XW "for i=4 {\n" LOADS "e = exp(x)\nDEEP e\np = matmul(t40, w)\n}\na = accum(p) {i->+}\nstore a {x->1}\n" ENDS,
      XW "for i=4 {\n" LOADS "DEEP w\np = matmul(x, t40)\n}\na = accum(p) {i->+}\nstore a {x->1}\n" ENDS,
      XW "for i=4 {\n" LOADS "p = matmul(x, w)\nDEEP x\ns = sum(sqr(t40), dim=1)\n}\n"
         "o = div(accum(p) {i->+}, sqrt(accum(s) {i->+}))\nstore o {x->1}\n" ENDS,
      XW "for i=4 {\n" LOADS "p = matmul(x, w)\n}\na = accum(p) {i->+}\nDEEP a\no = exp(t40)\nstore o {x->1}\n" ENDS,
      XW "for i=4 {\n" LOADS "p = matmul(x, w)\ns = sum(sqr(x), dim=1)\n}\nb = sqrt(accum(s) {i->+})\nDEEP b\n"
         "o = div(accum(p) {i->+}, t40)\nstore o {x->1}\n" ENDS,
      XW "y = load X {x->*}\nb = sqrt(sum(sqr(y), dim=1))\nDEEP b\nfor i=4 {\n" LOADS "p = matmul(div(x, t40), w)\n}\n"
         "a = accum(p) {i->+}\nstore a {x->1}\n" ENDS,
      XW "x = load X {x->0}\nDEEP x\ne = exp(sub(t40, max(t40, dim=1)))\n"
         "o = div(e, sum(e, dim=1))\nstore o {x->0}\n" ENDS,
      XW "for i=4 {\nx = load X {x->*, i->1}\nDEEP x\n}\no = accum(t40) {i->1}\nstore o {x->*}\n" ENDS,
      QKV "e = exp(s)\nDEEP e\np = matmul(t40, v)\nr = sum(t40, dim=1)\n}\n" SUMS ENDS,
      QKV "DEEP s\ne = exp(t40)\np = matmul(e, v)\nr = sum(e, dim=1)\n}\n" SUMS
          "plan { stages=2 warps_m=1 warps_n=4 warps_k=1 }\n" ENDS,
      QKV "DEEP s\np = matmul(t40, v)\n}\na = accum(p) {i->+}\nstore a {x->0}\n" ENDS,
      XW "for i=4 {\n" LOADS "n = sum(sqr(x), dim=1)\nDEEP n\np = matmul(div(x, exp(t40)), w)\n}\na = accum(p) {i->+}\n"
         "store a {x->1}\n" ENDS,
      XW "for i=4 {\n" LOADS "DEEP x\nn = sum(t40, dim=1)\np = matmul(div(x, n), w)\n}\na = accum(p) {i->+}\n"
         "store a {x->1}\n" ENDS,
      "program deep\ninput X : f16[64, 32] @ [1, 0]\nO = kernel grid=(x=1) threads=128 {\nx = load X {x->1}\nDEEP x\n"
      "o = div(x, sum(t40, dim=0))\nstore o {x->1}\n" ENDS,
      XW "x = load X {x->0}\ne = exp(x)\nr = sum(e, dim=1)\nDEEP r\no = div(e, exp(t40))\nstore o {x->0}\n" ENDS,
      "program deep\ninput X : f16[64, 512]\ninput W : f16[512, 256]\nO = kernel grid=(x=4) threads=128 {\nfor i=4 {\n"
      LOADS "DEEP x\np = matmul(t40, w)\nr = sum(sqr(t40), dim=1)\n}\no = div(accum(p) {i->+}, sqrt(accum(r) {i->+}))\n"
      "store o {x->1}\nplan { stages=3 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n" ENDS,
  };
  (void)state;
  alarm(60);
  for (size_t k = 0; k < sizeof deep / sizeof *deep; k++) {
    mg_graph *g = parse_deep(deep[k]);
    char *cu = emit(g, "sm_90a");
    assert_true(has(cu, "mg_dev_ADD("));
    mg_flat flat;
    assert_int_equal(mg_flat_of(g->ops[1].sub, &flat), 1);
    mg_flat_unshifted(&flat);
    free(cu);
    mg_graph_free(g);
  }
  alarm(0);
#undef XW
#undef LOADS
#undef QKV
#undef ENDS
#undef SUMS
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  if (argc > 2) cases = atoi(argv[2]);
  soak = getenv("SOAK_EMIT") && atoi(getenv("SOAK_EMIT"));
  rng = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_file), cmocka_unit_test(test_typed_launch), cmocka_unit_test(test_split), cmocka_unit_test(test_refused), cmocka_unit_test(test_plan_words), cmocka_unit_test(test_user_rows), cmocka_unit_test(test_other_forms), cmocka_unit_test(test_rows_before), cmocka_unit_test(test_names), cmocka_unit_test(test_found), cmocka_unit_test(test_barriers),
    cmocka_unit_test(test_four_programs), cmocka_unit_test(test_nested), cmocka_unit_test(test_merges), cmocka_unit_test(test_single_rows), cmocka_unit_test(test_rows_of_iterations), cmocka_unit_test(test_warp_rings), cmocka_unit_test(test_strips), cmocka_unit_test(test_slices), cmocka_unit_test(test_squares), cmocka_unit_test(test_chain_rings), cmocka_unit_test(test_residency), cmocka_unit_test(test_unplanned), cmocka_unit_test(test_chains), cmocka_unit_test(test_shifts), cmocka_unit_test(test_warpgroups), cmocka_unit_test(test_group_rings), cmocka_unit_test(test_tensor_copies), cmocka_unit_test(test_products_under_way), cmocka_unit_test(test_proxies), cmocka_unit_test(test_random_sizes), cmocka_unit_test(test_calibration), cmocka_unit_test(test_nvcc),
    cmocka_unit_test(test_shared_operands), cmocka_unit_test(test_runs), cmocka_unit_test(test_turned), cmocka_unit_test(test_leading_dimensions),
      cmocka_unit_test(test_library_takes),
  };
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
