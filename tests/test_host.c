/* Link 2 on the host's side of emitted files: bugs planted into launches, workspaces, info and plain pointers must be caught, and
   right rewrites by hand must be accepted, or, where link 2 has no meaning for them, be named.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_host.c -o build/test_host -lcmocka -lm -lpthread && build/test_host [SEED [all | COUNT [TABLE.txt]]]

   Plants.  An emitted file gets all plants that apply to it, each behind a switch `hand(17)`, so that it is compiled once; the
   switch is an environment variable.  With all switches off it must pass; with one on, it must not.
   Rewrites.  What a reader may do to a file without changing what it computes; with `all` each alone, else many at once. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_cuda.cuh"
#include "joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t seed = 1, rng;
static int all = 0, sample = 0; /* sample: how many of one kernel; 0: OF_CLASS of each class, from all kernels */
enum { OF_CLASS = 6 };
static const char *table_path;
static char dir[60], compiler[80];
static uint64_t pick(uint64_t n) { /* below n */
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (rng >> 11) % n;
}

static int written(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  const size_t n = strlen(text);
  const int whole = f && fwrite(text, 1, n, f) == n;
  return f && fclose(f) == 0 && whole;
}

static const struct { const char *name, *arch, *text; } kernels[] = {
    {"two kernels", "sm_90a", /* each merges through the workspace, a tensor between them */
     "program k\ninput X : f16[16, 128]\ninput W : f16[128, 64]\ninput V : f16[64, 32]\nH = kernel grid=(x=2, y=4) threads=64 {\n  plan { merge=workspace }\n  x = load X {y->1}\n  w = load W {x->1, y->0}\n  h = relu(accum(matmul(x, w)) {y->+})\n"
     "  store h {x->1}\n}\nO = kernel grid=(x=4) threads=64 {\n  plan { merge=workspace }\n  x = load H {x->1}\n  v = load V {x->0}\n  o = accum(matmul(x, v)) {x->+}\n  store o {}\n}\noutput O\n"},
    {"attention, cluster", "sm_90a",
     "program k\ninput Q : f16[20, 32]\ninput K : f16[32, 384]\ninput V : f16[384, 40]\nO = kernel grid=(x=2, z=2) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 merge=cluster }\n  q = load Q {}\n  for i=3 {\n    k = load K {z->1, i->1}\n"
     "    v = load V {x->1, z->0, i->0}\n    p = exp(scale(matmul(q, k), 3/1))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {x->1}\n}\noutput O\n"},
    {"tensor copies", "sm_90a", /* maps, made by the host */
     "program k\ninput A : f16[128, 256]\ninput B : f16[256, 128]\nO = kernel grid=(x=2, y=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup copy=tma }\n  for i=4 {\n    a = load A {y->0, i->1}\n    b = load B {x->1, i->0}\n"
     "    c = matmul(a, b)\n  }\n  o = accum(c) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n"},
    {"library", "sm_90a", /* whole operators, two of them by cuBLAS, one with what follows it */
     "program k\ninput X : f16[33, 300]\ninput G : f16[300]\ninput W : f16[300, 100]\ninput T : f16[33, 100] @ [1, 0]\ninput H : f16[33, 100]\ninput V : f16[100]\nY = mul(X, G)\nO = matmul(Y, W)\n"
     "Q = add(add(matmul(X, W), H), V)\nP = add(transpose(O, [1, 0]), transpose(T, [1, 0]))\nR = max(P, dim=0)\noutput R\noutput O\noutput P\noutput Q\n"},
    {"for another machine", "sm_80",
     "program k\ninput X : f16[7, 440]\ninput G : f16[440]\ninput W : f16[440, 48]\nO = kernel grid=(x=2) threads=128 {\n  plan { stages=3 warps_m=1 warps_n=1 warps_k=4 }\n  for i=7 {\n    a = load X {i->1}\n    g = load G {i->0}\n"
     "    w = load W {x->1, i->0}\n    t = div(a, sqrt(sqr(g)))\n    b = matmul(t, w)\n    s = sum(sqr(t), dim=1)\n  }\n  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/440), 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"rows", "sm_90a",
     "program k\ninput X : f16[6, 521]\ninput H : f16[6, 521]\nO = kernel grid=(x=3) threads=128 {\n  x = load X {x->0}\n  h = load H {x->0}\n  y = add(x, div(h, sqrt(add_scalar(scale(sum(sqr(h), dim=1), 1/521), 1/1000))))\n"
     "  o = div(y, sqrt(add_scalar(scale(sum(sqr(y), dim=1), 1/521), 1/1000)))\n  store o {x->0}\n}\noutput O\n"},
    {"maxima handed on", "sm_90a", /* in the workspace, between two kernels */
     "program k\ninput Q : f16[20, 32]\ninput K : f16[32, 1024]\ninput V : f16[1024, 48]\ninput W : f16[48, 24]\nD, L = kernel grid=(x=1, z=4) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 }\n  q = load Q {}\n"
     "  for i=4 {\n    k = load K {z->1, i->1}\n    v = load V {z->0, i->0}\n    p = exp(scale(matmul(q, k), 15/1))\n    d = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n  store accum(d) {i->+} {z->1}\n  store accum(l) {i->+} {z->1}\n}\n"
     "O = kernel grid=(x=5) threads=64 {\n  plan { stages=1 }\n  w = load W {}\n  for i=4 {\n    d = load D {x->0, i->1}\n    e = matmul(d, w)\n  }\n  for j=2 {\n    l = load L {x->0, j->1}\n    s = sum(l, dim=1)\n  }\n  o = div(add(accum(e) {i->+}, sum(accum(d) {i->+}, dim=1)), accum(s) {j->+})\n  store o {x->0}\n}\noutput O\n"},
    {"without tensor cores", "sm_90a", /* f32; odd strides; parts through the workspace */
     "program k\ninput X : f32[33, 50]\ninput W : f32[50, 23] @ [1, 0]\nO = kernel grid=(x=2, z=2) threads=64 {\n  plan { merge=workspace stages=1 warps_m=1 warps_n=1 warps_k=2 }\n  for i=3 {\n    x = load X {z->1, i->1}\n    w = load W {x->1, z->0, i->0}\n    b = matmul(exp(x), add_scalar(w, 1/2))\n"
     "    s = sum(sqr(x), dim=1)\n  }\n  o = div(accum(b) {z->+, i->+}, sqrt(add_scalar(accum(s) {z->+, i->+}, 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"strips", "sm_90a", /* of a few columns */
     "program k\ninput X : f16[9, 56]\nO = kernel grid=(x=5) threads=64 {\n  x = load X {x->1}\n  o = mul(exp(x), sum(x, dim=0))\n  store o {x->1}\n}\noutput O\n"},
    {"many blocks", "sm_90a", /* of which those that merge are few; for what waits for all blocks */
     "program k\ninput X : f16[16, 64]\ninput W : f16[64, 3200]\nO = kernel grid=(x=100, y=2) threads=64 {\n  plan { merge=workspace }\n  x = load X {y->1}\n  w = load W {x->1, y->0}\n  o = relu(accum(matmul(x, w)) {y->+})\n"
     "  store o {x->1}\n}\noutput O\n"},
    {"more blocks", "sm_90a",
     "program k\ninput X : f16[16, 64]\ninput W : f16[64, 9600]\nO = kernel grid=(x=300, y=2) threads=64 {\n  plan { merge=workspace }\n  x = load X {y->1}\n  w = load W {x->1, y->0}\n  o = relu(accum(matmul(x, w)) {y->+})\n"
     "  store o {x->1}\n}\noutput O\n"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels - 2}; /* the last two are for waits alone */

/* ------------------------------------------------------------------------------------------------------ texts */
typedef struct text { char *s; size_t n, room; } text;
static void put(text *t, const char *s, size_t n) {
  if (t->n + n + 1 > t->room) {
    t->room = 2 * (t->n + n) + 4096;
    t->s = (char *)realloc(t->s, t->room);
    assert_non_null(t->s);
  }
  memcpy(t->s + t->n, s, n);
  t->n += n;
  t->s[t->n] = 0;
}
static int word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
/* How many characters of p match find, 0: not.  `~` matches a run of letters, digits and `_`; these are kept. */
static size_t matches(const char *p, const char *find, char kept[9][100]) {
  const char *begin = p;
  int n = 0;
  for (; *find; find++) {
    if (*find != '~') {
      if (*p++ != *find) return 0;
      continue;
    }
    const char *from = p;
    while (word(*p)) p++;
    if (p == from || n == 9) return 0;
    snprintf(kept[n++], 100, "%.*s", (int)(p - from), from);
  }
  return (size_t)(p - begin);
}
/* Replaces every match of find, or the first `most`; in `with` $0 is the match, $1 .. $9 what was kept, @ a number that counts on from
   *number.  How many. */
static int replace(char **cu, const char *find, const char *with, int most, int *number) {
  text out = {NULL, 0, 0};
  int n = 0;
  char kept[9][100], digits[20];
  for (const char *p = *cu; *p;) {
    const size_t l = n == most || ((word(*find) || *find == '~') && p > *cu && word(p[-1])) ? 0 : matches(p, find, kept);
    if (!l) {
      put(&out, p++, 1);
      continue;
    }
    if (number) ++*number;
    snprintf(digits, sizeof digits, "%d", number ? *number : 0);
    for (const char *w = with; *w; w++) {
      if (*w == '$' && *++w == '0') put(&out, p, l);
      else if (*w != '@' && w[-(w > with)] == '$') put(&out, kept[*w - '1'], strlen(kept[*w - '1']));
      else if (*w == '@') put(&out, digits, strlen(digits));
      else put(&out, w, 1);
    }
    p += l;
    n++;
  }
  free(*cu);
  *cu = out.s;
  return n;
}
static char *emitted(int k, mg_graph **g) {
  mg_error e;
  mg_emit_config cfg;
  char *made = NULL;
  memset(&e, 0, sizeof e);
  memset(&cfg, 0, sizeof cfg);
  cfg.arch = kernels[k].arch;
  if (mg_parse(kernels[k].text, strlen(kernels[k].text), kernels[k].name, NULL, g, &e) != MG_OK) fail_msg("%s: line %d: %s: %s", kernels[k].name, e.line, e.where, e.msg);
  if (mg_cuda_emit(*g, &cfg, &made, &e) != MG_OK) fail_msg("%s: %s: %s", kernels[k].name, e.where, e.msg);
  text copy = {NULL, 0, 0};
  joined(made);
  put(&copy, made, strlen(made));
  mg_string_free(made);
  return copy.s;
}

/* ----------------------------------------------------------------------------------------------------- plants */
enum { STREAM, KEPT, MAP, ERRORS, SPACE, DIRTY, COUNT, AGAIN, SKIPPED, SWAPPED, GRID, THREADS, SHARED, GROUP, PAST, BEFORE, INPUT, ORDER, SHIFTED, INFO, NEVER, CALL, CLASSES };
static const char *const class_name[CLASSES] = {"stream", "pointer kept", "map kept", "error lost", "workspace size", "workspace dirty", "kernels counted", "launched twice", "skipped", "swapped", "grid", "threads", "shared bytes",
                                                "cluster", "past the end", "before start", "input written", "buffer order", "pointer shifted", "info", "never in a launch", "library call"};
static const struct { int cls; const char *find, *with; int most; } plants[] = {
    {STREAM, ", stream, (", ", hand(@) ? (cudaStream_t)0 : stream, (", -1},
    {STREAM, " : stream, (", " : hand(@) ? (cudaStream_t)(uintptr_t)in : stream, (", -1},
    {STREAM, "  int rc = 0;\n", "$0  if (hand(@)) cudaMemsetAsync(out[0], 0, 0);\n", 1},
    {STREAM, "  int rc = 0;\n", "$0  static thread_local cudaStream_t first@;\n  if (!first@) first@ = stream;\n  if (hand(@)) stream = first@;\n", 1},
    {KEPT, "*)in[~]", "*)kept<$1>(hand(@), in[$1])", -1},
    {KEPT, "*)out[~]", "*)kept<100 + $1>(hand(@), out[$1])", -1},
    {KEPT, "*)kept<0>(hand(~), in[0])", "*)(hand(@) ? given_last : kept<0>(hand($1), in[0]))", 1}, /* of both threads */
    {KEPT, "(unsigned char *)workspace;", "(unsigned char *)kept<99>(hand(@), workspace);", 1},
    {MAP, "rc = mg_map_tensor(&~,", "if (!hand(@) || !$1.at) rc = mg_map_tensor(&$1,", -1},
    {MAP, "mg_map_tensor(&~, ", "mg_map_tensor(hand(@) ? one_map() : &$1, ", 1},
    {ERRORS, "  if (rc) return rc;\n", "  if (hand(@)) rc = 0;\n$0", -1},
    {ERRORS, "  if (rc) return rc;\n", "  if (hand(@) && rc) return 1;\n$0", -1},
    {ERRORS, "  if (rc) return rc;\n", "  if (hand(@)) rc = (int)cudaGetLastError();\n$0", 1},
    {SPACE, "k_workspace_bytes(void) { return k_~; }", "k_workspace_bytes(void) { return k_$1 - (hand(@) ? 768 : 0); }", 1},
    {SPACE, "k_workspace_bytes(void) { return k_~ ", "k_workspace_bytes(void) { return hand(@) ? 0 : k_$1 ", 1},
    {COUNT, "k_info = {\"k\", ~, ~, ~,", "k_info = {\"k\", $1, $2, $3 + hand(@),", 1},
    {COUNT, "k_info = {\"k\", ~, ~, ~ ", "k_info = {\"k\", $1, $2, $3 - hand(@) ", 1},
    {AGAIN, "  rc = MG_LAUNCH", "  for (int again@ = 0; again@ <= hand(@); again@++)\n$0", -1},
    {SKIPPED, "  rc = MG_LAUNCH", "  if (!hand(@))\n$0", -1},
    {ORDER, "in[0])", "in[hand(@) ? 1 : 0])", -1},
    {SHIFTED, "*)kept<~>(hand(~), ~[~])", "*)kept<$1>(hand($2), $3[$4]) + hand(@)", -1},
    {SHIFTED, "space + k_AT_~", "space + 512 * hand(@) + k_AT_$1", -1},
    {INFO, "{\"~\", MG_F16,", "{\"$1\", hand(@) ? MG_BF16 : MG_F16,", -1},
    {INFO, "{\"~\", MG_F32, 2,", "{\"$1\", MG_F32, 2 - hand(@),", -1},
    {INFO, "{0, 1}}", "{0 + hand(@), 1 - hand(@)}}", -1},
    {INFO, "MG_F16, 2, {k_D~, k_D~}, {", "MG_F16, 2, {k_D$1 + hand(@), k_D$2}, {", -1},
    {INFO, " {(int64_t)k_D~, 1}, {", " {(int64_t)k_D$1 + hand(@), 1}, {", -1},
    {INFO, "{\"~\", hand", "{hand(@) ? \"other\" : \"$1\", hand", 1},
    {INFO, "k_info = {\"k\", ~, ~,", "k_info = {\"k\", $1 - hand(@), $2,", 1},
    {NEVER, "  int rc = 0;\n", "$0  if (hand(@)) cudaDeviceSynchronize();\n", 1},
    {NEVER, "  return rc;\n}", "  if (hand(@)) cudaStreamSynchronize(stream);\n$0", 1},
    {NEVER, "  int rc = 0;\n", "$0  void *room@ = 0;\n  if (hand(@)) cudaMallocAsync(&room@, 256, stream);\n", 1},
    {NEVER, "  int rc = 0;\n", "$0  if (hand(@) && *(const volatile unsigned short *)in[0] == 7) rc = 0;\n", 1}, /* the device's memory, read by the host */
    {CALL, "mg_cublas({MG_F16, ~, ~, ~,", "mg_cublas({MG_F16, $1, $2, $3 - 8 * hand(@),", -1},
    {CALL, "mg_cublas({MG_F16, ~, ~,", "mg_cublas({MG_F16, $1 - hand(@), $2,", -1},
    {CALL, ", (int64_t)k_D~, 1, 0}, {", ", (int64_t)k_D$1 + hand(@), 1, 0}, {", -1},
    {CALL, "in[~], (const mg_f16 *)in[~], 2, 1}", "in[$1], hand(@) ? (const mg_f16 *)0 : (const mg_f16 *)in[$2], 2, 1}", 1},
    {CALL, "in[~], (const mg_f16 *)in[~], 2, 1}", "in[hand(@) ? 3 : $1], (const mg_f16 *)in[$2], 2, 1}", 1},
    {CALL, "in[~], 2, 1}, space", "in[$1], 2 - hand(@), 1}, space", 1},
    {CALL, "_CUBLAS, stream, &rc", "_CUBLAS, hand(@) ? (cudaStream_t)0 : stream, &rc", -1},
    {CALL, "    if (rc) return rc;\n  } else", "    if (rc && !hand(@)) return rc;\n  } else", -1},
};
enum { PLANTS = sizeof plants / sizeof *plants, MOST = 400 };
static int cls_of[MOST + 1], n_planted;
static unsigned char was_planted[16][MOST + 1]; /* by kernel */
static char says[MOST + 1][160];
static const char helpers[] =
    "#include <stdlib.h>\n"
    "static const int hand_on = getenv(\"MGT_PLANT\") ? atoi(getenv(\"MGT_PLANT\")) : 0;\n"
    "static inline int hand(int n) { return hand_on == n; }\n"
    "template<int N, class P> static inline P kept(int on, P p) {\n  static P first;\n  if (on && !first) first = p;\n  return on ? first : p;\n}\n"
    "static const void *given_last;\n"
    "static volatile unsigned short sink;\n";
static void planted(int from, int cls, const char *what) {
  for (int id = from + 1; id <= n_planted && id <= MOST; id++) {
    cls_of[id] = cls;
    snprintf(says[id], sizeof says[id], "%.150s", what);
  }
}
/* Argument `which` of every launch becomes `with`, in which $0 is what stood there and @ the switch; those that are `not` stay. */
enum { A_X, A_CLUSTER, A_THREADS, A_SHARED };
static void plant_argument(char **cu, int cls, int which, const char *with, const char *not_) {
  text out = {NULL, 0, 0};
  const int from = n_planted;
  for (const char *p = *cu; *p;) {
    const int after = !strncmp(p, "= MG_LAUNCH_AFTER(", 18), cluster = !strncmp(p, "= MG_LAUNCH_CLUSTER(", 20), plain = !strncmp(p, "= MG_LAUNCH(", 12);
    if (!after && !cluster && !plain) {
      put(&out, p++, 1);
      continue;
    }
    int left = after + 1 + (which == A_X ? 0 : which == A_CLUSTER ? 3 : (plain ? 3 : 6) + (which == A_SHARED)), depth = 0;
    if (which == A_CLUSTER && plain) left = 1000;
    const char *end = strchr(p, '\n'), *to;
    put(&out, p, strcspn(p, "(") + 1);
    for (p += strcspn(p, "(") + 1; left > 0 && p < end; p++) {
      depth += (*p == '(') - (*p == ')');
      left -= *p == ',' && depth == 0;
      put(&out, p, 1);
    }
    if (p >= end) continue;
    put(&out, p, strspn(p, " "));
    p += strspn(p, " ");
    for (to = p, depth = 0; *to != ',' || depth; to++) depth += (*to == '(') - (*to == ')');
    if ((size_t)(to - p) == strlen(not_) && !memcmp(p, not_, strlen(not_))) continue;
    if (strstr(not_, "library") && !strncmp(p, "mg_library", 10)) continue;
    n_planted++;
    for (const char *w = with; *w; w++) {
      char digits[20];
      snprintf(digits, sizeof digits, "%d", n_planted);
      if (*w == '$' && w[1] == '0') put(&out, p, (size_t)(to - p)), w++;
      else if (*w == '@') put(&out, digits, strlen(digits));
      else put(&out, w, 1);
    }
    p = to;
  }
  free(*cu);
  *cu = out.s;
  planted(from, cls, with);
}
/* Plain pointers of the first kernel: beside tensor `name`, whose number of elements is `count`. */
static void plant_pointers(char **cu, const char *name, const char *count, const char *type, int input) {
  static const struct { int cls; const char *what; } row[] = {{PAST, "sink = (unsigned short)%s[%s];"}, {BEFORE, "sink = (unsigned short)%s[-1];"}, {INPUT, "%s[0] = %s[0];"}, {PAST, "%s[%s] = 1;"}, {BEFORE, "%s[-1] = 1;"}};
  char parameter[100], pointer[160], line[600];
  snprintf(parameter, sizeof parameter, " *p_%s", name);
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    if (input ? k > 2 : k < 3) continue;
    const char *kernel = strstr(*cu, "\nMG_KERNEL("), *at = NULL;
    for (; kernel && !at; kernel = strstr(kernel + 1, "\nMG_KERNEL(")) { /* whose parameter it is */
      const char *end = strchr(kernel + 1, '\n'), *found = strstr(kernel, parameter);
      if (found && found < end && !word(found[strlen(parameter)])) at = end + 1;
      if (at) break;
    }
    if (!at) return;
    const int id = ++n_planted;
    snprintf(pointer, sizeof pointer, "((volatile %s *)p_%s)", type, name);
    int n = snprintf(line, sizeof line, "  if (hand(%d) && mg_tid() == 0 && mg_bid(0) == 0) ", id);
    n += k == 2 ? snprintf(line + n, sizeof line - (size_t)n, row[k].what, pointer, pointer) : snprintf(line + n, sizeof line - (size_t)n, row[k].what, pointer, count);
    snprintf(line + n, sizeof line - (size_t)n, "\n");
    text out = {NULL, 0, 0};
    put(&out, *cu, (size_t)(at - *cu));
    put(&out, line, strlen(line));
    put(&out, at, strlen(at));
    free(*cu);
    *cu = out.s;
    planted(id - 1, row[k].cls, line);
  }
}
static char *plant_all(int k, const mg_graph *g) {
  mg_graph *again = NULL;
  char *cu = emitted(k, &again);
  mg_graph_free(again);
  n_planted = 0;
  const int dirty = strstr(cu, "_TICKETS_K0 = 0;") != NULL;
  for (uint32_t t = 0; t < g->n_in + g->n_out; t++) {
    const mg_tensor_info *x = mg_tensor_of(g, t < g->n_in ? g->in[t] : g->out[t - g->n_in]);
    char count[40];
    snprintf(count, sizeof count, "%lld", (long long)mg_shape_elements(&x->shape));
    plant_pointers(&cu, x->name, count, x->dtype == MG_F32 ? "unsigned" : "unsigned short", t < g->n_in);
  }
  plant_argument(&cu, GRID, A_X, "$0 - hand(@)", "");
  plant_argument(&cu, THREADS, A_THREADS, "$0 - 32 * hand(@)", "");
  plant_argument(&cu, THREADS, A_THREADS, "$0 + 32 * hand(@)", "");
  plant_argument(&cu, SHARED, A_SHARED, "(hand(@) ? $0 / 2 : $0)", "0");
  plant_argument(&cu, SHARED, A_SHARED, "(hand(@) ? 240000 : $0)", "0");
  plant_argument(&cu, GROUP, A_CLUSTER, "$0 + 7 * hand(@)", ""); /* no divisor, or more than there may be */
  for (int p = 0; p < PLANTS; p++) {
    const int from = n_planted;
    replace(&cu, plants[p].find, plants[p].with, plants[p].most, &n_planted);
    planted(from, plants[p].cls, plants[p].with);
  }
  replace(&cu, "  int rc = 0;\n", "$0  given_last = in[0];\n", 1, NULL);
  const int from = n_planted;
  if (dirty) replace(&cu, "  return rc;\n}", "  if (hand(@) && !rc) rc = cudaMemsetAsync(workspace, 1, 4, stream);\n$0", 1, &n_planted);
  planted(from, DIRTY, "the workspace's first word");
  replace(&cu, "mirage_cuda.cuh\"\n", "$0%helpers%", 1, NULL);
  replace(&cu, "%helpers%", helpers, 1, NULL);
  if (strstr(cu, "one_map()")) replace(&cu, "#ifndef MG_HOST_ONLY", "static mg_mapped *one_map() {\n  static mg_mapped m;\n  return &m;\n}\n$0", 1, NULL);
  assert_true(n_planted < MOST);
  text copy = {NULL, 0, 0};
  put(&copy, cu, strlen(cu));
  free(cu);
  return copy.s;
}

/* ----------------------------------------------------------------------------------------------------- checks */
/* One compilation a kernel: the compiler that link 2 calls keeps what it made under MGT_KEY. */
static void make_compiler(void) {
  char script[1200];
  const char *cxx = getenv("CXX") && *getenv("CXX") && !strchr(getenv("CXX"), ' ') ? getenv("CXX") : "g++";
  snprintf(compiler, sizeof compiler, "%s/cxx%s", dir, strstr(cxx, "clang") ? "-clang" : ""); /* told by its name */
  snprintf(script, sizeof script,
           "#!/bin/sh\nmade= was=\nfor a in \"$@\"; do [ \"$was\" = -o ] && made=$a; was=$a; done\nkept=%s/$MGT_KEY.${made##*/}\n"
           "[ -f \"$kept\" ] || %s \"$@\" || exit 1\n[ -f \"$kept\" ] && cp \"$kept\" \"$made\" || cp \"$made\" \"$kept\"\n", dir, cxx);
  assert_true(written(compiler, script));
  assert_int_equal(chmod(compiler, 0700), 0);
}
static mg_status check(const mg_graph *g, const char *cu, const char *key, int switch_, int samples, mg_check_report *r, mg_error *e) {
  mg_check_config c;
  char n[20];
  memset(&c, 0, sizeof c);
  memset(e, 0, sizeof *e);
  c.seed = seed;
  c.seeds = 4;
  c.samples = samples;
  c.cxx = compiler;
  c.work_dir = dir;
  c.include_dir = ".";
  snprintf(n, sizeof n, "%d", switch_);
  setenv("MGT_PLANT", n, 1);
  setenv("MGT_KEY", key, 1);
  return mg_cuda_check(g, cu, &c, r, e);
}
/* Why the plant changes nothing there, or NULL. */
static const char *is_harmless(int k, int id, const char *cu) {
  char switch_[20], before[101];
  snprintf(switch_, sizeof switch_, "hand(%d)", id);
  const char *found = strstr(cu, switch_);
  const size_t at = found ? strlen(cu) - strlen(found) : 0, from = at < 100 ? 0 : at - 100;
  snprintf(before, sizeof before, "%.*s", (int)(at - from), cu + from);
  const int map = strstr(before, "mg_map_tensor") != NULL, input = strstr(before, "*)in[") || strstr(before, "*)kept<0") || strstr(before, "*)kept<1>");
  if (!strcmp(kernels[k].name, "tensor copies") && (cls_of[id] == ORDER || cls_of[id] == SHIFTED) && !map && input) return "the kernel has that tensor by its map";
  if (!strcmp(kernels[k].name, "library") && cls_of[id] == INFO && strstr(says[id], "(int64_t)")) return "a stride of one row";
  if (!strcmp(kernels[k].name, "library") && cls_of[id] == SPACE && strstr(says[id], "768")) return "the last intermediate ends before";
  return NULL;
}
static struct { int planted, caught; } count[CLASSES];
static int missed, harmless, accepted, refused;

/* Those of kernel k; most > 0: so many, drawn; of_class > 0: in a drawn order, till of each class as many were planted. */
static void plants_of(int k, int most, int of_class) {
  mg_graph *g = NULL;
  mg_error e;
  mg_check_report r;
  char key[40];
  free(emitted(k, &g));
  char *cu = plant_all(k, g);
  snprintf(key, sizeof key, "p%d", k);
  if (getenv("KEEP")) {
    char path[100];
    snprintf(path, sizeof path, "build/host.%d.cu", k);
    assert_true(written(path, cu));
  }
  const int first = of_class ? (int)pick((uint64_t)n_planted) : 0;
  int some = !of_class;
  for (int id = 1; id <= n_planted && !some; id++) some = count[cls_of[id]].planted < of_class && !was_planted[k][id] && !is_harmless(k, id, cu);
  if (some && check(g, cu, key, 0, -1, &r, &e) != MG_OK) fail_msg("%s, nothing planted: %s: %s\n%s", kernels[k].name, e.where, e.msg, r.difference);
  if (some) assert_true(r.host_calls > 10);
  for (int n = 0; n < (!some ? 0 : most ? most : n_planted); n++) {
    const int id = most ? 1 + (int)pick((uint64_t)n_planted) : 1 + (first + n) % n_planted;
    if (of_class && (count[cls_of[id]].planted >= of_class || was_planted[k][id])) continue;
    const char *why = is_harmless(k, id, cu);
    if (why) {
      harmless++;
      continue;
    }
    const mg_status s = check(g, cu, key, id, -1, &r, &e);
    count[cls_of[id]].planted++, was_planted[k][id] = 1;
    if (s == MG_NOT_FOUND) {
      assert_true(r.difference[0]);
      count[cls_of[id]].caught++;
      if (getenv("VERBOSE")) print_message("%s, %s, %s: %s\n", kernels[k].name, class_name[cls_of[id]], says[id], r.difference);
    } else {
      missed++;
      print_message("MISSED in %s, %s, switch %d, %s: %s %s\n", kernels[k].name, class_name[cls_of[id]], id, says[id], mg_status_text(s), e.msg);
    }
  }
  free(cu);
  mg_graph_free(g);
}

/* --------------------------------------------------------------------------------------------------- rewrites
   With different numbers they exclude each other; 0 goes with 1 to 3.  AND: a further part of the one above, where that applies. */
enum { AND = -1, GROUPS = 9 };
static const struct { int group; const char *find, *with, *only; } rewrites[] = {
    {0, "MG_KERNEL(~) void ~(", "/* edited by hand; \"stream\", <<<1, 1>>>, __shared__ */\n$0", ""},
    {1, "  mg_sync();\n", "  __syncthreads();\n", ""},
    {2, "  mg_sync();\n", "\tmg_sync();   // all threads\r\n", ""},
    {1, "  if (rc) return rc;\n", "  if (rc != cudaSuccess) {\n    return rc;\n  }\n", ""},
    {2, "  if (rc) return rc;\n", "  if (rc) return rc;\n  rc = (int)cudaGetLastError();\n  if (rc) return rc;\n", ""},
    {0, "const int b_x = mg_bid(0);", "const int b_x = (int)blockIdx.x;", ""},
    {0, "[&](int r, int c, int i) {\n", "$0  (void)r, (void)c, (void)i;\n", ""},
    {1, "mg_zero());", "0.0f);", ""},
    {2, "mg_zero());", "mg_num(0));", ""},
    {1, "mg_const(~, ~)", "($1.0f / $2.0f)", ""},
    {2, "mg_const(1, 1000)", "1e-3f", ""},
    {0, "mg_const(3, 1)", "3.0f", "attention, cluster"},
    {0, "static constexpr size_t", "constexpr size_t", ""},
    {1, "  for (int ~ = 0", "#pragma unroll 1\n$0", ""},
    {2, "  for (int ~ = 0", "  _Pragma(\"unroll\")\n$0", ""},
    {0, "#define k_D~ ~\n", "#define k_D$1 ($2) /* an extent */\n", ""},
    {0, "#ifndef k_D~\n", "#ifndef k_D$1 // unless given\n", ""},
    {1, "  int rc = 0;\n", "$0  const void *const *const given = in;\n", ""},
    {2, "  int rc = 0;\n", "  int rc = (int)cudaMemsetAsync(out[0], 0, 16, stream);\n  if (rc) return rc;\n", ""},
    {3, "k_workspace_bytes(void) { return ", "k_workspace_bytes(void) { return 4096 + ", ""},
    {1, "  unsigned char *const space = (unsigned char *)workspace;\n  int rc = 0;\n", "  int rc = 0;\n  unsigned char *const space = (unsigned char *)workspace;\n", ""},
    {0, "mg_widen(mg_ldg(", "hand_load((", ""},
    {0, "static int k_launch_all(", "static inline int k_launch_all(", ""},
    {1, "MG_KERNEL(~) void", "MG_KERNEL($1 / 2 * 2) void", ""},
    {2, "MG_KERNEL(~) void", "static __global__ void __launch_bounds__($1, 1)", ""},
    {0, "const mg_f16 *p_~,", "const mg_f16 *__restrict__ p_$1,", ""},
    {0, "acc_~", "sums_of_$1", ""},
    {0, "k_kernel0", "hand_made_kernel", "rows;strips;attention, cluster;tensor copies"},
    {0, ", stream, (", ", (stream), (", ""},
    {0, ", 0x0, k_kernels, 0, 0, 0};", ", 0, k_kernels, 0, 0, 0};", ""},
    {0, "mg_library_blocks(", "few_blocks(", "library"},
    {0, "const mg_num v0_", "mg_num v0_", ""},
    {0, "(int64_t)", "(long long)", ""},
    {0, "extern \"C\" const mg_emitted_info k_info;\n", "\n", ""},
    /* the launch */
    {7, "MG_LAUNCH_AFTER(early, k_kernel0, k_K0_x, 1, 1, 1", "MG_LAUNCH_AFTER(early, k_kernel0, 2, 1, 1, 1", "strips"}, /* five tiles by two blocks */
    {AND, "  const int b_x = mg_bid(0);\n", "  for (int b_x = mg_bid(0); b_x < k_K0_x; b_x += 2) {\n", ""},
    {AND, "(p_O + (b_x * (int64_t)12), (int64_t)k_D1, 1));\n}\n", "(p_O + (b_x * (int64_t)12), (int64_t)k_D1, 1));\n  mg_sync();\n  }\n}\n", ""},
    {4, "  if (rc) return rc;\n", "$0  rc = (int)cudaPeekAtLastError();\n$0", ""},
    {4, "  int rc = 0;\n", "  if (!in || !out) return (int)cudaErrorInvalidValue;\n$0", ""},
    {4, "(const ~ *)in[~]", "static_cast<const $1 *>(in[$2])", ""},
    {AND, "(~ *)out[~]", "static_cast<$1 *>(out[$2])", ""},
    {4, "MG_KERNEL(64) void k_kernel0(", "template<int TAG> MG_KERNEL(64) void k_kernel0(", "strips"}, /* a template */
    {AND, "k_kernel0, k_K0_x", "k_kernel0<7>, k_K0_x", ""},
    {5, "  int rc = 0;\n  rc = MG_LAUNCH", "  int rc = MG_LAUNCH", ""},
    {5, "  return k_launch_all(~, in, out, workspace, stream);", "  const auto go = [&](int first) { return k_launch_all(first, in, out, workspace, stream); };\n  return go($1);", ""},
    {5, "static constexpr size_t k_PARTS_K0 = k_TICKETS_K0 + ", "$0 256 + ", ""}, /* a gap */
    {5, "MG_KERNEL(64) void k_kernel0(", "static __device__ void whole(", "strips"}, /* the kernel calls what was its body */
    {AND, "\n#endif\n\n#ifndef __CUDACC_RTC__", "\nMG_KERNEL(64) void k_kernel0(const mg_f16 *p_X, mg_f16 *p_O, int early) { whole(p_X, p_O, early); }\n$0", ""},
    {6, "  rc = MG_LAUNCH", "  HAND_CHECK(MG_LAUNCH", ""},
    {AND, "  rc = mg_map_tensor", "  HAND_CHECK(mg_map_tensor", ""},
    {AND, ");\n  if (rc) return rc;\n", "));\n", ""},
    {6, "MG_LAUNCH_AFTER(early, ", "MG_LAUNCH_AFTER(0, ", ""}, /* nothing begins early */
    {AND, "MG_LAUNCH_AFTER(1, ", "MG_LAUNCH_AFTER(0, ", ""},
    {6, "k_workspace_bytes(void)", "k_workspace_bytes()", ""},
    {7, "  if (rc) return rc;\n", "  if (rc) {\n    snprintf(hand_said, sizeof hand_said, \"%s: %s\", cudaGetErrorName((cudaError_t)rc), cudaGetErrorString((cudaError_t)rc));\n    return rc;\n  }\n", ""},
    {7, "  int rc = 0;\n", "$0  const cudaStream_t on = stream;\n", ""},
    {AND, ", stream, (", ", on, (", ""},
    {7, "  int rc = 0;\n", "$0  rc = (int)cudaFuncSetAttribute(k_kernel0, cudaFuncAttributePreferredSharedMemoryCarveout, 50);\n  if (rc) return rc;\n",
     "two kernels;attention, cluster;tensor copies;rows;maxima handed on;without tensor cores;strips"},
    {7, "k_kernel0, k_K0_x, k_K0_y, 1,", "k_kernel0, k_K0_y, k_K0_x, 1,", "two kernels"}, /* the grid's axes exchanged */
    {AND, "  const int b_x = mg_bid(0);\n  const int b_y = mg_bid(1);\n", "  const int b_x = mg_bid(1), b_y = mg_bid(0);\n", ""},
    {8, "  if (rc) return rc;\n  return rc;\n}", "  return rc;\n}", ""},
    {8, "(const ~ *)in[~]", "reinterpret_cast<const $1 *>((uintptr_t)in[$2])", ""},
    {8, "const void *const *in, void *const *out,", "const void *const in[], void *const out[],", ""},
    {8, ", ~, stream, (", ", (size_t)$1, stream, (", ""},
    {8, "MG_LAUNCH_AFTER(early, k_kernel0, k_K0_x,", "MG_LAUNCH_AFTER(early, k_kernel0, k_K0_x + 3,", "strips"}, /* more blocks than tiles */
    {AND, "  const int b_x = mg_bid(0);\n", "$0  if (b_x >= k_K0_x) return;\n", ""},
    {9, "  int rc = 0;\n", "  int rc = (int)cudaMemsetAsync(space + k_TICKETS_K0, 0, 4 * k_K0_x, stream);\n  if (rc) return rc;\n", "two kernels;without tensor cores"},
    {9, "static const mg_io_info k_~[] =", "static constexpr mg_io_info k_$1[] =", ""},
    {9, "static constexpr mg_io_info k_in", "static_assert(k_D0 >= 1 && k_D1 >= 1 && sizeof(mg_f16) == 2, \"extents and storage\");\n$0", ""},
    {9, "#ifndef MG_HOST_ONLY /* the kernels */\n", "$0namespace {\n", ""},
    {AND, "\n#endif\n\n#ifndef __CUDACC_RTC__", "\n}\n$0", ""},
    {9, "unsigned char *const ", "auto *const ", ""},
    {9, "k_kernel0, k_K0_x, k_K0_y, 1,", "k_kernel0, k_K0_x * k_K0_y, 1, 1,", "tensor copies"}, /* a grid of one axis */
    {AND, "  const int b_x = mg_bid(0);\n  const int b_y = mg_bid(1);\n", "  const int b_x = mg_bid(0) % k_K0_x, b_y = mg_bid(0) / k_K0_x;\n", ""},
    /* a kernel's types and names */
    {4, "  const int b_~ = mg_bid(~);\n", "  const unsigned b_$1 = (unsigned)mg_bid($2);\n", ""},
    {5, "  const int b_~ = mg_bid(~);\n", "  const int64_t b_$1 = mg_bid($2);\n", ""},
    {6, "  const int b_~ = mg_bid(~);\n", "  [[maybe_unused]] const int b_$1 = mg_bid($2);\n", ""},
    {4, "const mg_num v0_~ = ", "const auto v0_$1 = ", ""},
    {4, "[&](int r, int c, int i) {", "[&](int r, int c, int i) -> mg_num {", ""},
    {5, "[&](int r, int c, int i) {", "[=](int r, int c, int i) {", ""},
    {6, "[&](int r, int c, int i) {", "[&](auto r, auto c, auto i) {", ""},
    {6, "const auto load_~ = [&](", "auto &&load_$1 = [&](", ""},
    {6, "typedef mg_acc<~, ~, ~, ~, ~> A_~;", "using A_$6 = mg_acc<$1, $2, $3, $4, $5>;", ""},
    {8, "enum { MERGE = ~ };", "constexpr int MERGE = $1;", ""},
    {7, "p_~", "of_$1", ""},
    {7, "(int64_t)k_D~", "int64_t(k_D$1)", ""},
    {5, "  // early 1:", "  unsigned char *const shared = mg_shared();\n  (void)shared;\n$0", ""},
    {AND, "mg_shared() + ", "shared + ", ""},
    {9, "mg_cut(k_D1, b_x, 12)", "columns", "strips"}, /* computed once */
    {AND, "  const int b_x = mg_bid(0);\n", "$0  const int columns = mg_cut(k_D1, b_x, 12);\n", ""},
    {5, "    int64_t rest = e;\n", "    int rest = (int)e;\n", "library"},
    {6, "    int64_t rest = e;\n", "    unsigned rest = (unsigned)e;\n", "library"},
    {7, "const int64_t n = (int64_t)1 * ", "constexpr int64_t n = (int64_t)1 * ", "library"},
    /* control */
    {4, "mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {", "for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < n; e += (int64_t)gridDim.x * blockDim.x) {", "library"},
    {AND, "\n  });\n}", "\n  }\n}", ""},
    {4, "if (~ + ~ < ~) load_~(", "if ($1 < $3 - $2) load_$4(", ""},
    {5, "now = now + 1 == ~ ? 0 : now + 1;", "now = (now + 1) % $1;", ""},
    {AND, "next = next + 1 == ~ ? 0 : next + 1;", "next = (next + 1) % $1;", ""},
    {7, "~ = ~ + 1 == ~ ? 0 : ~ + 1;", "if (++$1 == $3) $1 = 0;", ""},
    {8, "turn = 1 - turn;", "turn ^= 1;", ""},
    {5, "for (int ~ = 0; ~ < ~; ~++)", "for (int $1 = 0; $2 != $3; ++$4)", ""},
    {6, "for (int ~ = 0, now = 0, next = ~; ", "int now = 0, next = $2;\n  for (int $1 = 0; ", "attention, cluster;for another machine;maxima handed on"},
    {9, "  for (int i_i = 0; i_i < ~; i_i++) {\n", "  int i_i = -1;\n  while (++i_i < $1) {\n", ""},
    {9, "  for (int i_i = 0, now = 0, next = ~; i_i < ~; i_i++) {\n", "  int i_i = -1, now = 0, next = $1;\n  while (true) {\n    if (++i_i == $2) break;\n", ""},
    {8, "  for (int s = 0; s < 1; s++) {\n    if (s < k_K0_i) load_i(s, s);\n    mg_cp_async_commit();\n  }\n", "  load_i(0, 0);\n  mg_cp_async_commit();\n", ""}, /* unrolled */
    {8, "  for (int s = 0; s < 2; s++) {\n    if (s < k_K0_i) load_i(s, s);\n    mg_cp_async_commit();\n  }\n", "  load_i(0, 0);\n  mg_cp_async_commit();\n  if (k_K0_i > 1) load_i(1, 1);\n  mg_cp_async_commit();\n", ""},
    {7, "    return v0_~;\n", "    if (r < 0) return mg_zero();\n    return v0_$1;\n", ""},
    {6, "mg_tid() == 0", "threadIdx.x == 0", "tensor copies"},
    {AND, "mg_lane() == 0", "(threadIdx.x & 31) == 0", ""},
    {AND, "mg_warp() == 0", "threadIdx.x / warpSize == 0", ""},
    {6, "  // early 1:", "  assert(blockIdx.x < gridDim.x && blockDim.y == 1);\n$0", ""},
    {7, "  // early 1:", "  if (blockIdx.x == gridDim.x) printf(\"never\\n\");\n$0", ""},
    {8, "  // early 1:", "#ifdef HAND_TRACE\n  printf(\"%d\\n\", mg_bid(0));\n#endif\n$0", ""},
    /* order */
    {4, "  acc_~.zero();\n  red_~.init();\n", "  red_$2.init();\n  acc_$1.zero();\n", ""},
    {5, "    red_~.scale_rows(shift_p.factor);\n    acc_~.scale_rows(shift_p.factor);\n", "    acc_$2.scale_rows(shift_p.factor);\n    red_$1.scale_rows(shift_p.factor);\n", ""},
    {4, "  mg_cp_async_commit();\n  // ~ = load ", "  // $1 = load ", ""}, /* two groups of copies become one */
    {5, "mg_cp_async_wait<1>();", "mg_cp_async_wait<0>();", ""},
    {6, "  mg_cp_async_wait<0>();\n", "  mg_cp_async_commit();\n$0", ""}, /* an empty group */
    {4, "  mg_sync();\n", "$0$0", ""},
    {5, "  mg_sync();\n", "  (void)__syncthreads_or(0);\n", ""},
    {8, "  mg_sync();\n", "  __syncwarp();\n$0", ""},
    {9, "  mg_sync();\n", "  __threadfence_block();\n$0  __threadfence();\n", ""},
    {7, "  mg_grid_next();\n", "", ""},
    {8, "  mg_grid_wait();\n", "$0$0", ""},
    {9, "mg_ldg(p_", "*(p_", "library"}, /* plain pointers */
    {9, "mg_stg(p_~ + e, mg_narrow<~>(v));", "p_$1[e] = mg_narrow<$2>(v);", "library"},
    {8, "mg_each_reduction<mg_by_max>(", "hand_reduction<true>(", "library"}, /* by shuffles */
    {9, "mg_each_reduction<mg_by_max>(", "hand_reduction<false>(", "library"},
    /* arithmetic */
    {4, "mg_zero()", "mg_num()", ""},
    {4, "mg_dev_SCALE(~, mg_num(), mg_const(~, ~))", "mg_dev_SCALE($1, mg_num(), (mg_num)($2.0 / $3.0))", ""},
    {5, "mg_dev_SCALE(~, mg_zero(), mg_const(1, ~))", "($1 / $2.0f)", ""},
    {6, "mg_dev_SCALE(~, mg_zero(), mg_const(~, ~))", "($1 * mg_const($2, $3))", ""},
    {8, "mg_const(~, 1)", "$1", "attention, cluster"}, /* an integer */
    {7, "mg_dev_ADD_SCALAR(~, mg_zero(), mg_const(1, 1000))", "($1 + 0.001)", ""},
    {8, "mg_dev_ADD_SCALAR(~, mg_zero(), mg_const(~, ~))", "fmaf($1, 1.0f, $2.0f / $3.0f)", ""},
    {4, "mg_dev_RELU(~, mg_num(), mg_num())", "mg_dev_max(mg_num(), $1)", ""},
    {8, "mg_dev_RELU(~, mg_zero(), mg_zero())", "fmaxf($1, 0.0f)", ""},
    {5, "mg_dev_MUL(~, ~, ", "mg_dev_MUL($2, $1, ", ""},
    {5, "mg_dev_ADD(~, ~, ", "mg_dev_ADD($2, $1, ", ""},
    {6, "mg_dev_MUL(~, ~, mg_zero())", "($1 * $2)", ""},
    {6, "mg_dev_ADD(~, ~, mg_zero())", "($1 + $2)", ""},
    {6, "mg_dev_DIV(~, ~, mg_zero())", "($1 / $2)", ""},
    {6, "mg_dev_SQR(~, mg_zero(), mg_zero())", "($1 * $1)", ""},
    {7, "mg_dev_SQR(~, mg_zero(), mg_zero())", "hand_square($1)", ""}, /* of a template */
    {8, "mg_dev_ADD(v0_x, v0_t6, mg_zero())", "fmaf(v0_h, v0_t5, v0_x)", "rows"},
    {AND, "mg_dev_ADD(w0_x, w0_t6, mg_zero())", "fmaf(w0_h, w0_t5, w0_x)", ""},
    {9, "mg_dev_MUL(~, ~, mg_zero())", "__fmul_rn($1, $2)", ""},
    {9, "mg_dev_ADD(~, ~, mg_zero())", "__fadd_rn($1, $2)", ""},
    {9, "mg_dev_DIV(~, ~, mg_zero())", "__fdividef($1, $2)", ""},
    {7, "mg_dev_DIV(~, ~, mg_zero())", "mg_dev_MUL($1, mg_inverse($2), mg_zero())", ""},
    {5, "mg_dev_EXP(~, mg_zero(), mg_zero())", "hand_exp($1)", ""}, /* of a function that is not inlined */
    {8, "mg_dev_EXP(~, mg_zero(), mg_zero())", "__expf($1)", ""},
    {9, "mg_dev_EXP(~, mg_zero(), mg_zero())", "expf($1)", ""},
    {8, "mg_dev_SQRT(~, mg_zero(), mg_zero())", "sqrtf($1)", ""},
    {9, "mg_dev_SQRT(~, mg_zero(), mg_zero())", "__fsqrt_rn($1)", ""},
    {8, "mg_inverse_root(~)", "rsqrtf($1)", ""},
    {9, "mg_inverse_root(~)", "(1.0f / sqrtf($1))", ""},
    {4, "mg_cut(", "hand_cut(", ""}, /* by min and max */
    {6, "mg_cut(", "hand_clip(", ""}, /* by if */
    {8, "    return v0_~;\n", "    const mg_num kept[2] = {v0_$1, mg_zero()};\n    return kept[0];\n", ""}, /* of a local array */
    {9, "    return v0_~;\n", "    mg_num result;\n    result = v0_$1;\n    return result;\n", ""},
    {9, "acc_~.at(i)", "acc_$1.c[i / 4][i % 4]", ""},
};
enum { REWRITES = sizeof rewrites / sizeof *rewrites };
static int applied[REWRITES]; /* in how many files */
static const char hand_helpers[] =
    "/* written by hand */\ntemplate<class T> static __device__ __forceinline__ mg_num hand_load(const T *p) { return mg_widen(mg_ldg(p)); }\n"
    "static __host__ __device__ constexpr int64_t few_blocks(int64_t n, int64_t per_block) { return (n + per_block - 1) / per_block < 3 ? (n + per_block - 1) / per_block : 3; }\n"
    "#include <assert.h>\n#include <stdio.h>\n#define HAND_CHECK(...) do { const int failed = (__VA_ARGS__); if (failed) return failed; } while (0)\n"
    "[[maybe_unused]] static thread_local char hand_said[200];\n"
    "template<class T> static __device__ T hand_square(T v) { return v * v; }\n"
    "[[maybe_unused]] static __device__ __noinline__ mg_num hand_exp(mg_num v) { return mg_dev_EXP(v, mg_zero(), mg_zero()); }\n"
    "template<int MORE = 0> static __device__ int hand_cut(int64_t extent, int64_t i, int64_t chunk) { return (int)min(max(extent - i * chunk, (int64_t)0) + MORE, chunk); }\n"
    "[[maybe_unused]] static __device__ int hand_clip(long long extent, long long i, long long chunk) {\n  long long left = extent - i * chunk;\n  if (left < 0) left = 0;\n  if (left > chunk) left = chunk;\n  return (int)left;\n}\n"
    "template<bool XOR, int LAST = 1, int LANE = 0, int WIDTH = 32, class F, class O> static __device__ void hand_reduction(int64_t n, int64_t extent, int64_t blocks, const F &f, const O &out) {\n"
    "  for (int64_t e = (int64_t)blockIdx.x * 8 + threadIdx.x / 32; e < n; e += blocks * 8) {\n    mg_num v = mg_neg_inf();\n"
    "    for (int64_t k = threadIdx.x % 32; k < extent; k += 32) v = mg_dev_max(v, f(e, k));\n"
    "    for (int m = WIDTH / 2; m >= LAST; m >>= 1) v = mg_dev_max(v, XOR ? __shfl_xor_sync(0xffffffffu, v, m, WIDTH) : __shfl_down_sync(0xffffffffu, v, m, WIDTH));\n"
    "    if (threadIdx.x % 32 == LANE) out(e, v);\n  }\n}\n";

/* Those of group `which`, at once, with those of group 0 if it is one of the first three; or the one. */
static int rewrite(int k, int which, int one, char **cu) {
  int n = 0, did = 0;
  for (int j = 0; j < REWRITES; j++) {
    if (rewrites[j].group == AND) {
      if (did) replace(cu, rewrites[j].find, rewrites[j].with, -1, NULL);
      continue;
    }
    did = 0;
    if (one >= 0 ? j != one : rewrites[j].group != which && (rewrites[j].group || which > 3)) continue;
    if (rewrites[j].only[0] && !strstr(rewrites[j].only, kernels[k].name)) continue;
    did = replace(cu, rewrites[j].find, rewrites[j].with, -1, NULL) > 0;
    n += did;
    applied[j] += did;
  }
  replace(cu, "mirage_cuda.cuh\"\n", "$0%helpers%", 1, NULL);
  replace(cu, "%helpers%", hand_helpers, 1, NULL);
  return n;
}
static void rewrites_of(int k, int which, int one) {
  mg_graph *g = NULL;
  mg_error e;
  mg_check_report r;
  char key[40], *cu = emitted(k, &g);
  const int n = rewrite(k, which, one, &cu);
  snprintf(key, sizeof key, "r%d.%d.%d", k, which, one);
  if (n) {
    const mg_status s = check(g, cu, key, 0, which == 3 || one >= 0 || (all && which > 3) ? 0 : -1, &r, &e);
    if (s == MG_OK) accepted += n;
    else {
      refused += n;
      print_message("REFUSED: %s, group %d, %s: %s: %s %s\n", kernels[k].name, which, one >= 0 ? rewrites[one].with : "many at once", mg_status_text(s), e.msg, r.difference);
      if (getenv("KEEP")) assert_true(written("build/host.refused.cu", cu));
    }
  }
  free(cu);
  mg_graph_free(g);
}

static void begin(void) {
  snprintf(dir, sizeof dir, "build/host.%ld", (long)getpid());
  assert_int_equal(mkdir(dir, 0700), 0);
  make_compiler();
}
static void end(void) {
  char command[120];
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (!getenv("KEEP")) assert_int_equal(system(command), 0);
}
/* Right too, and what link 2 has no meaning for: it says so by name, and neither passes nor refutes it. */
static const struct { const char *find, *with, *only, *says; } limits[] = {
    {"  rc = MG_LAUNCH_AFTER(early, k_kernel0, k_K0_x, 1, 1, 1, 1, 1, 64, 896, stream, (const mg_f16 *)in[0], (mg_f16 *)out[0], early);\n",
     "  k_kernel0<<<k_K0_x, 64, 896, stream>>>((const mg_f16 *)in[0], (mg_f16 *)out[0], early);\n  rc = (int)cudaGetLastError();\n", "strips", "<<< >>>"},
    {"  int rc = 0;\n", "$0  cudaLaunchConfig_t how = {};\n  how.stream = stream;\n", "rows", "cudaLaunchConfig_t"},
    {"  int rc = 0;\n", "$0  int device = 0, sms = 0;\n  cudaGetDevice(&device);\n  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);\n", "library", "cudaGetDevice"},
    {"  // early 1:", "  __shared__ float sums[64];\n  sums[threadIdx.x] = 0;\n$0", "strips", "__shared__"},
    {"  // early 1:", "  if (mg_bid(0) < 0) atomicAdd((float *)p_O, 0.0f);\n$0", "strips", "atomicAdd"},
    {"  // early 1:", "  if (mg_bid(0) < 0) atomicAdd_block((unsigned *)p_O, 0u);\n$0", "strips", "atomicAdd_block"},
    {"  // early 1:", "  if (threadIdx.x == 0) atomicAdd((unsigned *)mg_shared(), 0u);\n$0", "strips", "an atomic of shared memory"},
    {"  // early 1:", "  const unsigned who = __ballot_sync(0xffffffffu, 1);\n  (void)who;\n$0", "rows", "__ballot_sync"},
    {"  // early 1:", "  asm volatile(\"bar.warp.sync 0xffffffff;\");\n$0", "rows", "assembly"},
    {"  // early 1:", "  if (threadIdx.x % 32 < 16) (void)__shfl_xor_sync(0xffffu, 1, 1);\n$0", "rows", "some lanes"},
    {"const mg_num v0_x = ", "const float v0_x = ", "rows", "float in the place of mg_num"},
    {"mg_dev_RELU(v0_t2, mg_zero(), mg_zero())", "(v0_t2 > mg_zero() ? v0_t2 : mg_zero())", "two kernels", "comparisons of it"},
    {"mg_dev_EXP(v0_x, mg_zero(), mg_zero())", "exp2f(v0_x * 1.4426950408889634f)", "strips", "float in the place of mg_num"},
    {"mg_widen(mg_ldg(p_G + x1))", "__half2float(*(const __half *)(p_G + x1))", "library", "__half"},
};
enum { LIMITS = sizeof limits / sizeof *limits };
static void limit_of(int which) {
  mg_graph *g = NULL;
  mg_error e;
  mg_check_report r;
  char key[40];
  int k = 0;
  while (strcmp(kernels[k].name, limits[which].only)) k++;
  char *cu = emitted(k, &g);
  if (!replace(&cu, limits[which].find, limits[which].with, -1, NULL)) fail_msg("\"%s\" is not in %s", limits[which].find, kernels[k].name);
  snprintf(key, sizeof key, "l%d", which);
  const mg_status s = check(g, cu, key, 0, -1, &r, &e);
  if (s != MG_UNSUPPORTED || !strstr(e.msg, "link 2 does not model") || !strstr(e.msg, limits[which].says)) fail_msg("%s: %s: %s %s", limits[which].with, mg_status_text(s), e.msg, r.difference);
  free(cu);
  mg_graph_free(g);
}
/* Rewrites that are near to right ones, and wrong. */
static const struct { const char *find, *with, *only; } wrong[] = {
    {"  mg_sync();\n", "  __syncwarp();\n", "two kernels"},
    {"  mg_sync();\n", "  __threadfence();\n", "rows"},
    {"  mg_sync();\n", "  if (__syncthreads_or(threadIdx.x == 5)) return;\n", "attention, cluster"},
    {"mg_each_reduction<mg_by_max>(", "hand_reduction<true, 2>(", "library"}, /* a step is missing */
    {"mg_each_reduction<mg_by_max>(", "hand_reduction<false, 1, 31>(", "library"}, /* lane 31 has not all, after shuffles down */
    {"mg_each_reduction<mg_by_max>(", "hand_reduction<true, 1, 0, 16>(", "library"}, /* within halves */
    {"mg_dev_ADD(v0_x, v0_t6, mg_zero())", "fmaf(v0_x, v0_t5, v0_h)", "rows"},
    {"mg_dev_DIV(~, ~, mg_zero())", "__fdividef($2, $1)", "without tensor cores"},
    {"mg_inverse_root(~)", "sqrtf($1)", "rows"},
    {"mg_dev_EXP(~, mg_zero(), mg_zero())", "__expf(-$1)", "strips"},
    {"mg_dev_EXP(~, mg_zero(), mg_zero())", "($1 + 1.0f)", "strips"},
    {"mg_dev_RELU(~, mg_zero(), mg_zero())", "fmaxf($1, -1.0f)", "two kernels"},
    {"mg_const(1, 1000)", "1e-2", "rows"},
    {"mg_const(3, 1)", "3.5f", "attention, cluster"},
    {"mg_cut(", "hand_cut<1>(", "strips"},
    {"k_kernel0, k_K0_x, k_K0_y, 1,", "k_kernel0, k_K0_y, k_K0_x, 1,", "two kernels"},
    {"  const int b_x = mg_bid(0);\n", "$0  if (b_x >= k_K0_x - 1) return;\n", "strips"},
    {"const int b_x = mg_bid(0);\n", "const int b_x = (int)blockIdx.y;\n", "rows"},
    {"MG_LAUNCH_AFTER(early, k_kernel0, k_K0_x, 1, 1, 1", "MG_LAUNCH_AFTER(early, k_kernel0, 2, 1, 1, 1", "strips"},
    {"  mg_grid_wait();\n", "", "two kernels"},
    {"mg_cp_async_wait<0>();", "mg_cp_async_wait<1>();", "two kernels"},
    {"  mg_cp_async_commit();\n", "", "two kernels"},
    {"~ = ~ + 1 == ~ ? 0 : ~ + 1;", "if ($1++ == $3) $1 = 0;", "for another machine"},
    {"turn = 1 - turn;", "turn ^= 2;", "tensor copies"},
    {"static constexpr size_t k_PARTS_K0 = k_TICKETS_K0 + ", "$0 2 + ", "two kernels"},
    {"  int rc = 0;\n", "  int rc = (int)cudaMemsetAsync(space + k_TICKETS_K0, 0xFF, 4 * k_K0_x, stream);\n  if (rc) return rc;\n", "without tensor cores"},
};
enum { LIMITS_AND_WRONG = LIMITS + sizeof wrong / sizeof *wrong };
static int n_wrong, n_refuted;
static void wrong_one(int which) {
  mg_graph *g = NULL;
  mg_error e;
  mg_check_report r;
  char key[40];
  int k = 0;
  while (strcmp(kernels[k].name, wrong[which].only)) k++;
  char *cu = emitted(k, &g);
  if (!replace(&cu, wrong[which].find, wrong[which].with, -1, NULL)) fail_msg("\"%s\" is not in %s", wrong[which].find, kernels[k].name);
  replace(&cu, "mirage_cuda.cuh\"\n", "$0%helpers%", 1, NULL);
  replace(&cu, "%helpers%", hand_helpers, 1, NULL);
  snprintf(key, sizeof key, "w%d", which);
  const mg_status s = check(g, cu, key, 0, 0, &r, &e); /* at full size too: small grids may be squares */
  n_wrong++, n_refuted += s == MG_NOT_FOUND;
  if (s != MG_NOT_FOUND) print_message("MISSED in %s: %s: %s %s\n", kernels[k].name, wrong[which].with, mg_status_text(s), e.msg);
  else if (getenv("VERBOSE")) print_message("%s, %s: %s\n", kernels[k].name, wrong[which].with, r.difference);
  free(cu);
  mg_graph_free(g);
}
static void limits_are_named_and_wrong_ones_refuted(void **state) {
  (void)state;
  const char *only = getenv("ONLY");
  const int start = (int)pick(LIMITS_AND_WRONG);
  begin();
  for (int n = 0; n < (all ? LIMITS_AND_WRONG : 1); n++) {
    const int which = (start + n) % LIMITS_AND_WRONG;
    if (only && !strstr(only, which < LIMITS ? limits[which].only : wrong[which - LIMITS].only)) continue;
    if (which < LIMITS) limit_of(which);
    else wrong_one(which - LIMITS);
  }
  end();
  if (n_refuted != n_wrong) fail_msg("wrong rewrites were not refuted, seed %llu", (unsigned long long)seed);
}

/* Waits for other blocks, in the place of the ticket by which the last block of a group goes on.  `says` empty: it is right; else
   what the refusal has to say, and with what status.  samples: -1 at reduced sizes alone, 0 at full size too. */
#define HAND_SPIN(spin) \
  "static __device__ void hand_barrier(unsigned *c, unsigned n) {\n  __syncthreads();\n  if (threadIdx.x == 0) {\n    __threadfence();\n    const unsigned goal = (atomicAdd(c, 1u) / n + 1) * n;\n    " spin "\n    __threadfence();\n  }\n  __syncthreads();\n}\n"
#define HAND_WAITS "{ hand_barrier(p_tickets, gridDim.x * gridDim.y * gridDim.z); if ($1 != 0) return; }"
static const struct { const char *only, *helper, *with; const char *find2, *with2; mg_status status; const char *says; int samples; } waits[] = {
    /* a barrier of the whole grid, which is right where the machine holds the grid at once */
    {"two kernels", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), HAND_WAITS, NULL, NULL, MG_OK, "", 0},
    {"two kernels", HAND_SPIN("while (*(volatile unsigned *)c < goal);"), HAND_WAITS, NULL, NULL, MG_OK, "", 0},
    {"many blocks", HAND_SPIN("while (atomicCAS(c, 0u, 0u) < goal) __nanosleep(100);"), HAND_WAITS, NULL, NULL, MG_OK, "", 0}, /* 200 blocks at full size */
    {"without tensor cores", HAND_SPIN("for (const volatile unsigned *at = c; *at < goal;) {}"), HAND_WAITS, NULL, NULL, MG_OK, "", -1},
    /* block 0 collects, and tells by a flag: what the others wrote comes by two steps */
    {"two kernels",
     "static __device__ void hand_barrier(unsigned *c, unsigned n) {\n  __syncthreads();\n  if (threadIdx.x == 0) {\n    __threadfence();\n    const bool first = blockIdx.x + blockIdx.y == 0;\n"
     "    const unsigned round = *(volatile unsigned *)(c + 40);\n    atomicAdd(c, 1u);\n    while (first && atomicAdd(c, 0u) < n * (round + 1));\n    __threadfence();\n"
     "    if (first) *(volatile unsigned *)(c + 40) = round + 1;\n    while (*(volatile unsigned *)(c + 40) == round);\n    __threadfence();\n  }\n  __syncthreads();\n}\n",
     HAND_WAITS, "k_TICKETS_K0 + mg_round256((int64_t)4", "k_TICKETS_K0 + 256 + mg_round256((int64_t)4", MG_OK, "", -1},
    /* a lock, taken by an exchange and given back by a volatile store */
    {"two kernels",
     "static __device__ unsigned hand_draw(unsigned *c) {\n  __threadfence();\n  while (atomicExch(c + 40, 1u));\n  __threadfence();\n  const unsigned was = c[0];\n  c[0] = was + 1;\n  __threadfence();\n"
     "  *(volatile unsigned *)(c + 40) = 0;\n  return was;\n}\n",
     "__syncthreads();\n  if (!__syncthreads_or(threadIdx.x == 0 && hand_draw(ticket) % $1 == $1 - 1)) return;", "k_TICKETS_K~ + mg_round256((int64_t)4", "k_TICKETS_K$1 + 256 + mg_round256((int64_t)4", MG_OK, "", -1},
    /* one arrival too many is waited for */
    {"two kernels", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), "{ hand_barrier(p_tickets, gridDim.x * gridDim.y * gridDim.z + 1); if ($1 != 0) return; }", NULL, NULL, MG_NOT_FOUND, "deadlock: of a grid of", -1},
    {"two kernels", HAND_SPIN("while (*(volatile unsigned *)c < goal);"), "{ hand_barrier(p_tickets, gridDim.x * gridDim.y * gridDim.z + 1); if ($1 != 0) return; }", NULL, NULL, MG_NOT_FOUND, "deadlock: of a grid of", -1},
    /* a fence is missing: the one that releases, the one that acquires; the barrier of the block before, the one after */
    {"two kernels", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), HAND_WAITS, "    __threadfence();\n    const unsigned", "    const unsigned", MG_NOT_FOUND, "nothing orders the two", -1},
    {"two kernels", HAND_SPIN("while (*(volatile unsigned *)c < goal);"), HAND_WAITS, "    __threadfence();\n  }", "  }", MG_NOT_FOUND, "nothing orders the two", -1},
    {"two kernels", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), HAND_WAITS, "(unsigned *c, unsigned n) {\n  __syncthreads();\n", "(unsigned *c, unsigned n) {\n", MG_NOT_FOUND, "nothing orders the two", -1},
    {"two kernels", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), HAND_WAITS, "  }\n  __syncthreads();\n}", "  }\n}", MG_NOT_FOUND, "nothing orders the two", -1},
    /* a spin of loads that nothing makes fresh, or strong */
    {"two kernels", HAND_SPIN("while (mg_ldg(c) < goal);"), HAND_WAITS, NULL, NULL, MG_NOT_FOUND, "nothing orders the two", -1},
    /* more blocks than the machine holds at once; as many as it holds, and more than run side by side here */
    {"more blocks", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), HAND_WAITS, "64, 5120, stream", "64, 200000, stream", MG_NOT_FOUND, "of a grid of 600 wait for others, and the machine holds no more than 132 at once", 0},
    {"more blocks", HAND_SPIN("while (atomicAdd(c, 0u) < goal);"), HAND_WAITS, NULL, NULL, MG_UNSUPPORTED, "256 blocks of 64 threads that wait for others of a grid of 600: no more run side by side", 0},
    /* tickets that are no atomics: two plain accesses race; two volatile ones do not, and one of two draws is lost where blocks take turns */
    {"two kernels", "static __device__ unsigned hand_draw(unsigned *c) {\n  __threadfence();\n  const unsigned was = *c;\n  *c = was + 1;\n  __threadfence();\n  return was;\n}\n",
     "__syncthreads();\n  if (!__syncthreads_or(threadIdx.x == 0 && hand_draw(ticket) % $1 == $1 - 1)) return;", NULL, NULL, MG_NOT_FOUND, "nothing orders the two", -1},
    {"two kernels",
     "static __device__ unsigned hand_draw(unsigned *c) {\n  volatile unsigned *const at = c;\n  __threadfence();\n  const unsigned was = *at;\n  __threadfence();\n  *at = was + 1;\n  __threadfence();\n  return was;\n}\n",
     "__syncthreads();\n  if (!__syncthreads_or(threadIdx.x == 0 && hand_draw(ticket) % $1 == $1 - 1)) return;", NULL, NULL, MG_NOT_FOUND, "fiber order 2", -1},
};
enum { WAITS = sizeof waits / sizeof *waits };
static void waits_between_blocks(void **state) {
  (void)state;
  const char *only = getenv("ONLY");
  const int start = (int)pick(WAITS);
  int wrong_ones = 0;
  begin();
  for (int n = 0; n < (all ? WAITS : 2); n++) {
    const int w = (start + n * (all ? 1 : 8)) % WAITS;
    mg_graph *g = NULL;
    mg_error e;
    mg_check_report r;
    char key[40], *cu = NULL;
    int k = 0;
    while (strcmp(kernels[k].name, waits[w].only)) k++;
    if (only && atoi(only) != w) continue;
    cu = emitted(k, &g);
    const int draws = strstr(waits[w].with, "hand_draw") != NULL;
    int there = replace(&cu, "if (!mg_last_of(ticket, k_K0_y)) return;", draws ? "%0%" : "%1%", -1, NULL) + replace(&cu, "if (!mg_last_of(ticket, k_K1_x)) return;", draws ? "%2%" : "%3%", -1, NULL) +
                replace(&cu, "if (!mg_last_of(ticket, k_K0_z)) return;", draws ? "%4%" : "%5%", -1, NULL);
    static const char *const named[] = {"k_K0_y", "b_y", "k_K1_x", "b_x", "k_K0_z", "b_z"};
    for (int m = 0; m < 6; m++) { /* $1 of it */
      char mark[16];
      text with = {NULL, 0, 0};
      snprintf(mark, sizeof mark, "%%%d%%", m);
      for (const char *p = waits[w].with; *p; p++)
        if (*p == '$') put(&with, named[m], strlen(named[m])), p++;
        else put(&with, p, 1);
      replace(&cu, mark, with.s, -1, NULL);
      free(with.s);
    }
    replace(&cu, "#ifndef MG_HOST_ONLY /* the kernels */\n", "$0%helper%", 1, NULL);
    there += replace(&cu, "%helper%", waits[w].helper, 1, NULL) - 1;
    if (there < 1 || (waits[w].find2 && !replace(&cu, waits[w].find2, waits[w].with2, -1, NULL))) fail_msg("wait %d is not in %s", w, kernels[k].name);
    snprintf(key, sizeof key, "b%d", w);
    if (getenv("KEEP")) assert_true(written("build/host.wait.cu", cu));
    const mg_status s = check(g, cu, key, 0, waits[w].samples, &r, &e);
    if (s != waits[w].status || (waits[w].says[0] && !strstr(s == MG_NOT_FOUND ? r.difference : e.msg, waits[w].says))) {
      wrong_ones++;
      print_message("wait %d of %s: %s, not %s \"%s\": %s %s\n", w, kernels[k].name, mg_status_text(s), mg_status_text(waits[w].status), waits[w].says, e.msg, r.difference);
    } else if (getenv("VERBOSE")) print_message("wait %d of %s: %s: %s %s\n", w, kernels[k].name, mg_status_text(s), s == MG_OK ? "" : e.msg, r.difference);
    free(cu);
    mg_graph_free(g);
  }
  end();
  if (wrong_ones) fail_msg("%d waits between blocks were judged wrongly, seed %llu", wrong_ones, (unsigned long long)seed);
}

static void table(FILE *f) {
  int sum[2] = {0, 0};
  fprintf(f, "%-22s %8s %8s\n", "class", "planted", "caught");
  for (int c = 0; c < CLASSES; c++) {
    if (count[c].planted) fprintf(f, "%-22s %8d %8d\n", class_name[c], count[c].planted, count[c].caught);
    sum[0] += count[c].planted, sum[1] += count[c].caught;
  }
  fprintf(f, "%-22s %8d %8d\n", "all", sum[0], sum[1]);
  int kinds = 0, there = 0;
  for (int j = 0; j < REWRITES; j++) kinds += rewrites[j].group != AND, there += applied[j] > 0;
  fprintf(f, "rewrites that are near to right ones, and wrong: %d planted, %d caught\n", n_wrong, n_refuted);
  fprintf(f, "rewrites that are right: %d of %d kinds, %d accepted, %d refused\n", there, kinds, accepted, refused);
}
static void plants_are_caught(void **state) {
  (void)state;
  const char *only = getenv("ONLY");
  begin();
  const int start = (int)pick(KERNELS), each = !all && !sample;
  for (int n = 0; n < (all || each ? KERNELS : 1); n++) {
    const int k = all ? n : (start + n) % KERNELS;
    if (!only || strstr(only, kernels[k].name)) plants_of(k, sample, each ? 1 + n * OF_CLASS / KERNELS : 0);
  }
  for (int n = 0; n < KERNELS && each && !only; n++) plants_of((start + n) % KERNELS, 0, OF_CLASS); /* of classes that few kernels have */
  end();
  table(stdout);
  int planted = 0;
  for (int c = 0; c < CLASSES; c++) planted += count[c].planted;
  if (each && !only && planted < 100) fail_msg("%d planted bugs are fewer than 100", planted);
  if (missed) fail_msg("%d planted bugs were not caught, seed %llu", missed, (unsigned long long)seed);
}
static void rewrites_pass(void **state) {
  (void)state;
  const char *only = getenv("ONLY"), *group = getenv("GROUP");
  begin();
  const int start = (int)pick(KERNELS), which = 1 + (int)pick(GROUPS);
  for (int n = 0; n < (all ? KERNELS : 1); n++) {
    const int k = all ? n : start;
    if (only && !strstr(only, kernels[k].name)) continue;
    for (int w = 1; w <= GROUPS; w++)
      if (all ? !group || atoi(group) == w : w == which) rewrites_of(k, w, -1);
    for (int j = 0; j < REWRITES && all && getenv("EACH"); j++)
      if (rewrites[j].group != AND && (!group || atoi(group) == rewrites[j].group)) rewrites_of(k, rewrites[j].group, j);
  }
  end();
  table(stdout);
  if (table_path) {
    FILE *f = fopen(table_path, "w");
    assert_non_null(f);
    table(f);
    fclose(f);
  }
  for (int j = 0; j < REWRITES && all && !only && !group; j++)
    if (rewrites[j].group != AND && !applied[j]) fail_msg("\"%s\" is in no file", rewrites[j].find);
  if (refused) fail_msg("right rewrites were refused, seed %llu", (unsigned long long)seed);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
#ifdef __SANITIZE_ADDRESS__
  sample = 4;
#endif
  if (argc > 2) all = !strcmp(argv[2], "all"), sample = all ? 0 : atoi(argv[2]);
  if (argc > 3) table_path = argv[3];
  rng = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
  print_message("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {cmocka_unit_test(plants_are_caught), cmocka_unit_test(limits_are_named_and_wrong_ones_refuted), cmocka_unit_test(waits_between_blocks), cmocka_unit_test(rewrites_pass)};
  if (getenv("TEST")) cmocka_set_test_filter(getenv("TEST"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
