/* The emitter on all of examples/programs: the µGraphs that the search makes of them, the plans that come back, the device
   templates that they need, what nvcc and link 2 say of a sample.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_programs.c -o build/test_programs -lcmocka -lm -lpthread -ldl && build/test_programs [SEED]
   tests/programs.ugraphs has µGraphs of every program.  SOAK_PROGRAMS=n searches n programs (the seed says which), emits the
   first 64 µGraphs of each, and has nvcc and link 2 look at some; without it one program, for a few seconds. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <math.h>
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
#include "ugraphs.h"

static uint64_t seed = 1;
static int soak; /* programs that are searched anew; 0: the short form */

static char *read_all(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be read: run from the repository's root", path);
  size_t n = 0, cap = 1 << 16, got;
  char *s = (char *)malloc(cap);
  assert_non_null(s);
  while ((got = fread(s + n, 1, cap - 1 - n, f)) > 0) {
    n += got;
    if (n + 1 == cap) s = (char *)realloc(s, cap *= 2), assert_non_null(s);
  }
  s[n] = 0;
  fclose(f);
  return s;
}
static char *emit(const mg_graph *g, const char *arch) {
  mg_error e;
  mg_emit_config c = {arch, NULL, 0, 0};
  char *cu = NULL;
  if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) fail_msg("%s for %s: %s: %s", g->name, arch, e.where, e.msg);
  return cu;
}

/* ---- the programs, and µGraphs of them */
enum { PROGRAMS = 64, KNOWN = 256 };
static struct { char name[64]; mg_graph *g; } program[PROGRAMS];
static struct { char arch[16]; int of; mg_graph *g; } known[KNOWN];
static int n_programs, n_known;
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static int load(void **state) {
  char *name[PROGRAMS], path[400], *all;
  ugraphs u = {0};
  DIR *d = opendir("examples/programs");
  (void)state;
  if (!d) fail_msg("examples/programs is not there: run from the repository's root");
  for (struct dirent *f; (f = readdir(d)) != NULL;) {
    const size_t n = strlen(f->d_name);
    if (n < 4 || n > 60 || strcmp(f->d_name + n - 3, ".mg")) continue;
    assert_true(n_programs < PROGRAMS);
    name[n_programs] = strdup(f->d_name);
    name[n_programs++][n - 3] = 0;
  }
  closedir(d);
  qsort(name, (size_t)n_programs, sizeof *name, by_name);
  for (int k = 0; k < n_programs; k++) {
    snprintf(path, sizeof path, "examples/programs/%.60s.mg", name[k]);
    snprintf(program[k].name, sizeof program[k].name, "%.60s", name[k]);
    all = read_all(path);
    program[k].g = parse_part(all, strlen(all), path, NULL);
    free(all);
    free(name[k]);
  }
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL;) {
    assert_true(n_known < KNOWN);
    memcpy(known[n_known].arch, u.arch, sizeof u.arch);
    known[n_known].g = g;
    known[n_known].of = -1;
    for (int k = 0; k < n_programs; k++)
      if (!strcmp(program[k].g->name, known[n_known].g->name)) known[n_known].of = k;
    n_known++;
  }
  return 0;
}
static int unload(void **state) {
  (void)state;
  for (int k = 0; k < n_programs; k++) mg_graph_free(program[k].g);
  for (int k = 0; k < n_known; k++) mg_graph_free(known[k].g);
  return 0;
}

/* ---- emission */
/* Emitted, parsed back and emitted again: the same text, and the plan in it has all that was decided. */
static void comes_back(const mg_graph *g, const char *arch) {
  mg_error e;
  mg_graph *again = NULL;
  char *a = emit(g, arch), *b;
  if (mg_cuda_source_graph(a, strlen(a), &again, &e) != MG_OK) fail_msg("%s: %s", g->name, e.msg);
  assert_true(mg_hash(again) == mg_hash(g));
  for (uint32_t k = 1; k < again->n_ops; k++) {
    static const char *const keys[] = {"stages", "warps_m", "warps_n", "warps_k", "schedule"};
    if (again->ops[k].code != MG_OP_GRAPH) continue;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_non_null(mg_plan_get(again->ops[k].sub, keys[i]));
  }
  b = emit(again, arch);
  assert_string_equal(a, b);
  mg_graph_free(again);
  mg_string_free(a);
  mg_string_free(b);
}
static void test_all_are_emitted(void **state) {
  int seen[PROGRAMS][2] = {{0}};
  mg_error e;
  (void)state;
  assert_true(n_programs >= 42);
  for (int k = 0; k < n_known; k++) {
    if (known[k].of < 0) fail_msg("tests/programs.ugraphs: %s is no program of examples/programs", known[k].g->name);
    if (mg_verify_signature(program[known[k].of].g, known[k].g, &e) != MG_OK) fail_msg("%s: %s", known[k].g->name, e.msg);
    comes_back(known[k].g, known[k].arch);
    seen[known[k].of][!strcmp(known[k].arch, "sm_90a")] = 1;
  }
  for (int k = 0; k < n_programs; k++) {
    if (!seen[k][0] || !seen[k][1]) fail_msg("tests/programs.ugraphs has nothing of %s for sm_80, or for sm_90a", program[k].name);
    for (int a = 0; a < 2; a++) mg_string_free(emit(program[k].g, a ? "sm_90a" : "sm_80")); /* every operator a kernel */
  }
  print_message("%d programs, %d µGraphs\n", n_programs, n_known);
}

/* ---- templates
   A template is what stands behind `template<` in the device part of mirage_cuda.cuh, and what stands there without: its functions
   and structures; private ones (mgi_) count for what they use, not by themselves.  A program needs one if its emitted text names
   it, or a template or macro that names it does. */
enum { NODES = 256 };
static struct { char name[64]; const char *body; size_t n; int is_template; uint64_t programs, others; } node[NODES];
static int n_nodes;
static int word(char c) { return isalnum((unsigned char)c) || c == '_'; }
static int node_named(const char *s, size_t n, int from) {
  for (int k = from; k < n_nodes; k++)
    if (strlen(node[k].name) == n && !strncmp(node[k].name, s, n)) return k;
  return -1;
}
static int line_ends_in(const char *s, char c) {
  const char *end = strchr(s, '\n');
  return end && end > s && end[-1] == c;
}
static void find_templates(const char *text) {
  const char *at = strstr(text, ">>tiles\n"), *end;
  while (at && strncmp(at - 4, "--- ", 4) && strncmp(at - 2, "- ", 2)) at = strstr(at + 1, ">>tiles\n"); /* the banner, not the contents */
  assert_non_null(at);
  end = strstr(at, "- >>glue");
  assert_non_null(end);
  int headed = 0;
  for (const char *line = at; line && line < end; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    const char *p = line, *name = NULL;
    const int is_template = !strncmp(p, "template<", 9), is_plain = !headed && (!strncmp(p, "MG_DEV ", 7) || !strncmp(p, "struct mg", 9));
    headed = is_template && line_ends_in(p, '>'); /* what it heads stands in the next line */
    for (int depth = 0; is_template; p++) {
      depth += (*p == '<') - (*p == '>');
      if (*p == '>' && !depth) break;
    }
    if (is_template || is_plain) {
      const char *stop = strpbrk(p, "({="), *q = strstr(p, "struct "), *u = strstr(p, "using ");
      if (q && stop && q < stop) name = q + 7;
      else if (u && stop && u < stop) name = u + 6;
      else for (q = stop; q && q > p && word(q[-1]); q--) name = q - 1;
    } else if (!strncmp(p, "#define MG", 10)) name = p + 8;
    if (!name) continue;
    size_t n = 0;
    while (word(name[n])) n++;
    if (n < 3 || n > 60 || (strncmp(name, "mg", 2) && strncmp(name, "MG", 2))) fail_msg("no name in: %.80s", line);
    assert_true(n_nodes < NODES);
    snprintf(node[n_nodes].name, sizeof node[n_nodes].name, "%.*s", (int)n, name);
    node[n_nodes].body = line;
    node[n_nodes].is_template = (is_template || is_plain) && !strncmp(name, "mg_", 3);
    if (n_nodes) node[n_nodes - 1].n = (size_t)(line - node[n_nodes - 1].body);
    n_nodes++;
  }
  node[n_nodes - 1].n = (size_t)(end - node[n_nodes - 1].body);
}
/* Marks all nodes that the text names, and what those name. */
static void mark(const char *s, size_t n, uint8_t *seen) {
  for (size_t k = 0; k < n;) {
    size_t w = 0;
    if (!word(s[k])) { k++; continue; }
    while (k + w < n && word(s[k + w])) w++;
    for (int i = -1; (i = node_named(s + k, w, i + 1)) >= 0;)
      if (!seen[i]) seen[i] = 1, mark(node[i].body, node[i].n, seen);
    k += w;
  }
}
/* Two programs each for what no program of examples/programs has: fp32 products, statistics of columns, statistics, beside a
   skinny product, that are no sum of squares, tensor copies, which no plan has by itself, attentions that store their rows' sums too,
   or whose loops a mask ends, and elementwise operators, reductions, softmaxes, gathers and argmaxes that are kernels of their own. */
static const char *const others[] = {
  "program wide_a\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=1 p.mma=wide }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n"
  "  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n",
  "program wide_b\ninput X : f16[32, 512]\ninput W : f16[512, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=2 warps_m=2 warps_n=1 warps_k=1 p.mma=wide }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n"
  "  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n",
  "program wide_c\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2 p.mma=wide }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n"
  "  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n",
  "program wide_d\ninput X : f16[16, 512]\ninput W : f16[512, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { ring=warp stages=3 warps_m=1 warps_n=1 warps_k=2 p.mma=wide }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n"
  "  }\n  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n",
  "program wide_e\ninput X : f16[16, 64]\ninput A : f16[64, 32]\ninput B : f16[32, 64]\nO = kernel grid=(x=2) threads=32 {\n  plan { warps_m=1 warps_n=1 warps_k=1 q.mma=wide }\n  x = load X {}\n  a = load A {}\n  b = load B {x->1}\n  p = matmul(x, a)\n"
  "  q = matmul(p, b)\n  store q {x->1}\n}\noutput O\n",
  "program wide_f\ninput X : f16[32, 64]\ninput A : f16[64, 32]\ninput B : f16[32, 64]\nO = kernel grid=(x=2) threads=32 {\n  plan { warps_m=1 warps_n=1 warps_k=1 q.mma=wide }\n  x = load X {}\n  a = load A {}\n  b = load B {x->1}\n  p = matmul(x, a)\n"
  "  q = matmul(p, b)\n  store q {x->1}\n}\noutput O\n",
  "program a\ninput X : f32[16, 64]\ninput W : f32[64, 32]\nO = silu(matmul(X, W))\noutput O\n",
  "program b\ninput X : f32[16, 64]\ninput A : f32[64, 16]\ninput B : f32[16, 32]\nO = matmul(matmul(X, A), B)\noutput O\n",
  "program c\ninput X : f16[64, 48]\nO = kernel grid=(x=2) threads=128 {\n  x = load X {x->1}\n  o = div(x, sum(x, dim=0))\n  store o {x->1}\n}\noutput O\n",
  "program d\ninput X : f16[64, 48]\nO = kernel grid=(x=2) threads=128 {\n  for i=4 {\n    x = load X {x->1, i->0}\n    m = max(x, dim=0)\n  }\n  store accum(m) {i->max} {x->1}\n}\noutput O\n",
  "program e\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2 }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n"
  "    s = sum(x, dim=1)\n  }\n  o = sub(accum(p) {i->+}, accum(s) {i->+})\n  store o {x->1}\n}\noutput O\n",
  "program f\ninput X : f16[8, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=2) threads=64 {\n  plan { ring=warp stages=2 warps_m=1 warps_n=1 warps_k=2 }\n  for i=4 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n"
  "    m = max(x, dim=1)\n  }\n  o = div(accum(p) {i->+}, accum(m) {i->max})\n  store o {x->1}\n}\noutput O\n",
  "program g\ninput X : f16[64, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=2, y=2) threads=64 {\n  plan { copy=tma stages=2 warps_m=2 warps_n=1 warps_k=1 }\n  for i=4 {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n"
  "    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n",
  "program h\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\nO = kernel grid=(x=2) threads=128 {\n  plan { copy=tma mma=warpgroup stages=2 warps_m=4 warps_n=1 warps_k=1 }\n  q = load Q {x->0}\n  for i=8 {\n"
  "    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n    p = exp(matmul(q, k))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {x->0}\n}\noutput O\n",
  "program i\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\nO, S = kernel grid=(x=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 }\n  q = load Q {x->0}\n  for i=8 {\n"
  "    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n    p = exp(matmul(q, k))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  t = accum(s) {i->+}\n  o = div(accum(d) {i->+}, t)\n  store o {x->0}\n  store t {x->0}\n}\noutput O\noutput S\n",
  "program j\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\nO, S = kernel grid=(x=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 }\n  q = load Q {x->0}\n  for i=8 {\n"
  "    k = load K {x->0, i->2}\n    v = load V {x->0, i->1}\n    p = exp(matmul(q, k))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  t = accum(s) {i->+}\n  o = div(accum(d) {i->+}, t)\n  store o {x->0}\n  store log(t) {x->0}\n}\noutput O\noutput S\n",
  "program k\ninput X : f16[64, 48]\nO = div(X, sum(X, dim=1))\noutput O\n",
  "program l\ninput X : f32[48, 64]\nO = sub(X, max(X, dim=0))\noutput O\n",
  "program m\ninput X : f16[64, 48]\nO = softmax(X, dim=1)\noutput O\n",
  "program n\ninput X : f32[48, 64]\nO = softmax(X, dim=0)\noutput O\n",
  "program o\ninput X : f16[64, 48]\nO = causal(transpose(X, [1, 0]))\noutput O\n",
  "program p\ninput X : f16[48, 64]\ninput C : f16[48, 64] = causal\nO = mul(X, C)\noutput O\n",
  "program q\ninput W : f16[48, 64]\ninput I : i32[16]\ninput L : f16[1, 16400]\nO = gather(W, I)\nT = argmax(W, dim=1)\nM = argmax(L, dim=1)\noutput O, T, M\n",
  "program r\ninput W : f32[48, 64]\ninput I : i32[2, 5]\ninput L : f32[20000, 3]\nO = gather(W, I)\nT = argmax(W, dim=0)\nM = argmax(L, dim=0)\noutput O, T, M\n",
  "program s\ninput X : f16[128, 640]\ninput W : f16[640, 256]\nO = kernel grid=(x=2, y=2) threads=128 {\n  plan { copy=warp share=2 mma=warpgroup stages=3 warps_m=4 warps_n=1 warps_k=1 }\n  for i=10 {\n    x = load X {y->0, i->1}\n"
  "    w = load W {x->1, i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n",
  "program t\ninput X : f16[256, 320]\ninput W : f16[320, 256]\nO = kernel grid=(x=2, y=4) threads=128 {\n  plan { copy=tma share=4 mma=warpgroup stages=4 warps_m=4 warps_n=1 warps_k=1 }\n  for i=5 {\n    x = load X {y->0, i->1}\n"
  "    w = load W {x->1, i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {x->1, y->0}\n}\noutput O\n",
  "program u\ninput Q : f16[2, 96, 32]\ninput K : f16[2, 32, 160]\ninput V : f16[2, 160, 32]\ninput C : f16[96, 160] = causal\n"
  "O = kernel grid=(x=3, y=2) threads=64 {\n  q = load Q {x->1, y->0}\n  for n=5 {\n    k = load K {y->0, n->2}\n    c = load C {x->0, n->1}\n"
  "    p = exp(add(matmul(q, k), c))\n    v = load V {y->0, n->1}\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n"
  "  r = div(accum(o) {n->+}, accum(l) {n->+})\n  store r {x->1, y->0}\n  plan { stages=2 warps_m=2 warps_n=1 warps_k=1 }\n}\noutput O\n",
  "program v\ninput Q : f16[2, 64, 32]\ninput K : f16[2, 32, 256]\ninput V : f16[2, 256, 32]\ninput C : f16[64, 256] = causal\n"
  "O = kernel grid=(x=2, y=2) threads=64 {\n  q = load Q {x->1, y->0}\n  for n=4 {\n    k = load K {y->0, n->2}\n    c = load C {x->0, n->1}\n"
  "    p = exp(add(matmul(q, k), c))\n    v = load V {y->0, n->1}\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n"
  "  r = div(accum(o) {n->+}, accum(l) {n->+})\n  store r {x->1, y->0}\n  plan { stages=2 warps_m=2 warps_n=1 warps_k=1 }\n}\noutput O\n",
};
static void test_templates(void **state) {
  char *text = read_all("mirage_cuda.cuh");
  int n = 0, served = 0, fewest = PROGRAMS;
  (void)state;
  find_templates(text);
  for (int k = 0; k < n_known + (int)(sizeof others / sizeof *others); k++) {
    const int other = k - n_known;
    uint8_t seen[NODES] = {0};
    mg_graph *g = other < 0 ? known[k].g : parse_part(others[other], strlen(others[other]), "other", NULL);
    char *cu = emit(g, other < 0 ? known[k].arch : "sm_90a"), *from = strstr(cu, "#include \"mirage_cuda.cuh\"");
    assert_non_null(from);
    mark(from, strlen(from), seen);
    for (int i = 0; i < n_nodes; i++)
      if (seen[i]) *(other < 0 ? &node[i].programs : &node[i].others) |= (uint64_t)1 << (other < 0 ? known[k].of : other);
    mg_string_free(cu);
    if (other >= 0) mg_graph_free(g);
  }
  for (int i = 0; i < n_nodes; i++) {
    int programs = 0, beside = 0;
    if (!node[i].is_template || node_named(node[i].name, strlen(node[i].name), 0) != i) continue; /* overloads are one */
    for (int k = 0; k < 64; k++) programs += (int)(node[i].programs >> k & 1), beside += (int)(node[i].others >> k & 1);
    n++;
    served += programs > 0;
    if (programs && programs < fewest) fewest = programs;
    if (programs + beside < 2) fail_msg("template %s serves %d program%s of examples/programs, and %d others", node[i].name, programs, programs == 1 ? "" : "s", beside);
    if (!programs) print_message("  %s: none of examples/programs, %d others\n", node[i].name, beside);
  }
  print_message("%d templates; %d serve examples/programs, each at least %d of them\n", n, served, fewest);
  assert_true(n > 30 && served > 30);
  free(text);
}

/* ---- the search anew */
typedef struct refusals { const char *arch; int n; char why[8][160]; } refusals;
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  refusals *r = (refusals *)user;
  const mg_status s = mg_cuda_emittable(g, r->arch, why);
  if (s != MG_OK) snprintf(r->why[r->n++ % 8], sizeof r->why[0], "%.30s: %.120s", why->where, why->msg);
  return s;
}
/* nvcc for `arch`, without a warning or a spill; 0 if there is none, or if the other run asks it. */
static int compiles(const char *cu, const char *arch) {
  char path[100], command[600], line[400];
  int warnings = 0, spills = 0, entries = 0, kernels = 0;
  if (SANITIZED || system("nvcc --version >/dev/null 2>&1")) return 0;
  for (const char *at = cu; (at = strstr(at, "\nMG_KERNEL(")) != NULL; at++) kernels++;
  snprintf(path, sizeof path, "build/programs.%ld.cu", (long)getpid());
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(cu, f);
  fclose(f);
  snprintf(command, sizeof command, "nvcc -O3 -std=c++17 -gencode arch=compute_%s,code=%s -Xcompiler -Wall,-Wextra -Xptxas -v -I. -cubin -o /dev/null %s 2>&1", arch + 3, arch, path);
  f = popen(command, "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    warnings += strstr(line, "warning") != NULL;
    entries += strstr(line, "Compiling entry") != NULL;
    spills += strstr(line, "spill") && !strstr(line, " 0 bytes spill stores, 0 bytes spill loads");
    if (strstr(line, "error") || strstr(line, "warning")) print_message("%s", line);
  }
  const int rc = pclose(f);
  remove(path);
  if (rc || warnings || spills || entries != kernels) fail_msg("nvcc for %s: status %d, %d warnings, %d spills, %d of %d kernels\n%s", arch, rc, warnings, spills, entries, kernels, cu);
  return 1;
}
static void link2(const mg_graph *g, const char *cu) {
  mg_check_config c;
  mg_check_report r;
  mg_error e;
  memset(&c, 0, sizeof c);
  c.seed = seed;
  c.seeds = soak ? 0 : 4;
  c.samples = soak ? 0 : -1;
  const mg_status s = mg_cuda_check(g, cu, &c, &r, &e);
  if (s != MG_OK) fail_msg("link 2 of %s, seed %llu: %s\n%s", g->name, (unsigned long long)seed, e.msg, cu);
  assert_true(r.compared > 0 && r.float_checked);
}
static void test_sweep(void **state) {
  static const char *const archs[] = {"sm_90a", "sm_80"};
  const int n = soak ? soak : 1;
  int all = 0, refused = 0, compiled = 0;
  mg_error e;
  (void)state;
  for (int i = 0; i < n && i < n_programs; i++) {
    const int p = (int)((seed * 7 + (uint64_t)i) % (uint64_t)n_programs);
    for (int a = 0; a < 2; a++) {
      mg_search_config c = mg_search_config_default();
      mg_search_result r;
      refusals why;
      if (!soak && a != (int)(seed % 2)) continue;
      memset(&why, 0, sizeof why);
      why.arch = archs[a];
      c.machine = mg_machine_find(archs[a]);
      c.top_k = 64;
      c.user = &why;
      c.emittable = emittable;
      c.time_limit_s = soak ? 300 : 4;
      if (mg_search(program[p].g, &c, &r, &e) != MG_OK) fail_msg("%s for %s: %s", program[p].name, archs[a], e.msg);
      for (int k = 0; k < r.n; k++) comes_back(r.graph[k], archs[a]);
      print_message("%s for %s: %d µGraphs emitted, %d refused\n", program[p].name, archs[a], r.n, why.n);
      for (int k = 0; k < why.n && k < 8 && soak; k++) print_message("  refused: %s\n", why.why[k]);
      for (int k = 0; k < (soak ? 2 : 0); k++) { /* the first, and one of the others */
        const int at = k && r.n > 1 ? 1 + (int)(seed % (uint64_t)(r.n - 1)) : 0;
        char *cu = emit(r.graph[at], archs[a]);
        compiled += compiles(cu, archs[a]);
        link2(r.graph[at], cu);
        mg_string_free(cu);
      }
      all += r.n, refused += why.n;
      mg_search_result_free(&r);
    }
  }
  print_message("%d µGraphs emitted, %d refused before; %d compiled\n", all, refused, compiled);
}
static void test_compiled_and_checked(void **state) {
  int compiled = 0, n = soak ? n_known : 3;
  (void)state;
  for (int i = 0; i < n; i++) {
    const int k = (int)((seed * 31 + (uint64_t)i * 29) % (uint64_t)n_known);
    char *cu = emit(known[k].g, known[k].arch);
    compiled += compiles(cu, known[k].arch);
    link2(known[k].g, cu);
    mg_string_free(cu);
  }
  print_message("%d of %d compiled, all checked\n", compiled, n);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  soak = getenv("SOAK_PROGRAMS") ? atoi(getenv("SOAK_PROGRAMS")) : 0;
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_are_emitted), cmocka_unit_test(test_templates), cmocka_unit_test(test_sweep), cmocka_unit_test(test_compiled_and_checked),
  };
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests_name("programs", tests, load, unload);
}
