/* What the search reaches, the emitter writes: random small programs are searched with random options, and every µGraph seen,
   ranked or only a structure, is refused with a reason or emitted; what is emitted passes link 2 and compiles for sm_80 and
   sm_90a without a warning or a spill.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_reach.c -o build/test_reach -lcmocka -lm -lpthread -ldl && build/test_reach [SEED]
   The seed, which is printed, draws the programs.  SOAK_REACH=n: of so many programs, instead of a sample's. */
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

#include <setjmp.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "drawn.h"
#include "sanitized.h"
#include <unistd.h>

static uint64_t seed = 1;
enum { SHOWN = 12 }; /* of a program's structures, so many are emitted, drawn by chance */

/* ---- what is seen */
static mg_graph *shown[SHOWN];
static int n_shown, n_emitted, n_refused, n_checked;
static pthread_mutex_t show = PTHREAD_MUTEX_INITIALIZER;
static void sees(void *user, const mg_graph *g) { /* each has the same chance to be kept */
  mg_error e;
  mg_graph *own = NULL;
  (void)user;
  pthread_mutex_lock(&show);
  int at = n_shown < SHOWN ? n_shown : below(n_shown + 1);
  n_shown++;
  if (at < SHOWN && mg_resize(g, NULL, NULL, &own, &e) == MG_OK) mg_graph_free(shown[at]), shown[at] = own;
  pthread_mutex_unlock(&show);
}

static char reasons[64][256];
static int n_reasons;
static void refusal(const char *msg, const char *text) { /* a first one of its kind is shown */
  char plain[256];
  size_t n = 0;
  for (; *msg && n + 1 < sizeof plain; msg++) if (!(*msg >= '0' && *msg <= '9')) plain[n++] = *msg;
  plain[n] = 0;
  for (int k = 0; k < n_reasons; k++) if (!strcmp(reasons[k], plain)) return;
  if (n_reasons < 64) strcpy(reasons[n_reasons++], plain), print_message("refused: %s\n%s", plain, getenv("SOAK_REACH") ? text : "");
}

/* ---- nvcc: all that is to be compiled for an architecture is one file */
static const char *const archs[] = { "sm_80", "sm_90a" };
static FILE *source[2];
static char path[2][64];
static int n_compiled;
static void compiled_later(const mg_graph *g) {
  mg_error e;
  char *text = NULL, *named;
  if (!source[0]) return;
  assert_int_equal(mg_print(g, &text, &e), MG_OK);
  const char *rest = strchr(strstr(text, "program "), '\n');
  assert_non_null(named = (char *)malloc(strlen(rest) + 64)); /* a name of its own */
  sprintf(named, "program reach%d%s", n_compiled++, rest);
  mg_graph *own = parse(named);
  for (int a = 0; a < 2; a++) {
    mg_emit_config cfg = { archs[a], NULL, 0, 0};
    char *cu = NULL;
    if (mg_cuda_emittable(own, archs[a], &e) != MG_OK) continue;
    assert_int_equal(mg_cuda_emit(own, &cfg, &cu, &e), MG_OK);
    fputs(cu, source[a]);
    mg_string_free(cu);
  }
  mg_string_free(text), free(named), mg_graph_free(own);
}
static void compile(void) {
  char command[400], line[400], entry[400] = "";
  int bad = 0, entries = 0;
  for (int a = 0; a < 2 && source[a]; a++) {
    assert_int_equal(fclose(source[a]), 0);
    snprintf(command, sizeof command, "nvcc -O3 -std=c++17 -prec-div=false -prec-sqrt=false -gencode arch=compute_%s,code=%s -Xcompiler -fPIC,-Wall,-Wextra -Xptxas -v -c -I. -o %s.o %s 2>&1", archs[a] + 3, archs[a], path[a], path[a]);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p)) {
      int spill = strstr(line, "spill") && !strstr(line, " 0 bytes spill stores, 0 bytes spill loads");
      if (strstr(line, "Compiling entry")) entries++, strcpy(entry, line);
      if (spill) print_message("%s", entry);
      if (spill || strstr(line, "error") || strstr(line, "warning")) print_message("%s", line), bad++;
    }
    if (pclose(p) || bad) fail_msg("%s: nvcc does not take it as it is to be taken", path[a]);
    strcpy(command, path[a]), strcat(command, ".o"), remove(command), remove(path[a]);
  }
  if (n_compiled) print_message("%d µGraphs, %d kernels compiled for %s and %s\n", n_compiled, entries, archs[0], archs[1]);
}

/* Refused with a reason: 0; else it passes link 2. */
static int stands(const mg_graph *g, const char *arch, int check) {
  mg_error e;
  mg_emit_config cfg;
  char *cu = NULL, *again = NULL, *text = NULL;
  mg_graph *back = NULL;
  memset(&e, 0, sizeof e), memset(&cfg, 0, sizeof cfg);
  cfg.arch = arch;
  assert_int_equal(mg_print(g, &text, &e), MG_OK);
  mg_status may = mg_cuda_emittable(g, arch, &e);
  if (may != MG_OK) {
    if (may != MG_UNSUPPORTED || !*e.msg || strchr(e.msg, '\n')) fail_msg("%s: status %d, '%s'\n%s", arch, may, e.msg, text);
    refusal(e.msg, text);
    n_refused++;
    mg_string_free(text);
    return 0;
  }
  if (mg_cuda_emit(g, &cfg, &cu, &e) != MG_OK) fail_msg("emittable for %s, but not emitted: %s\n%s", arch, e.msg, text);
  n_emitted++;
  if (mg_cuda_source_graph(cu, strlen(cu), &back, &e) != MG_OK) fail_msg("the emitted file's µGraph: %s\n%s", e.msg, text);
  if (mg_cuda_emit(back, &cfg, &again, &e) != MG_OK) fail_msg("not emitted again: %s\n%s", e.msg, text);
  assert_string_equal(cu, again);
  if (check) {
    mg_check_config cc;
    mg_check_report r;
    memset(&cc, 0, sizeof cc), memset(&r, 0, sizeof r);
    cc.seed = seed;
    mg_status s = mg_cuda_check(g, cu, &cc, &r, &e);
    if (s == MG_MACHINE) print_message("link 2 not run: %s\n", e.msg);
    else if (s != MG_OK) fail_msg("link 2 for %s: %s %s\n%s", arch, e.msg, r.difference, text);
    n_checked++;
  }
  mg_string_free(cu), mg_string_free(again), mg_string_free(text), mg_graph_free(back);
  return 1;
}
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) { return mg_cuda_emittable(g, (const char *)user, why); }

static void reached(void **state) {
  (void)state;
  const char *env = getenv("SOAK_REACH"), *only = getenv("REACH_FROM");
  int programs = env ? atoi(env) : 2, found = 0;
  for (int a = 0; a < 2 && !SANITIZED && system("nvcc --version >/dev/null 2>&1") == 0; a++) {
    snprintf(path[a], sizeof path[a], "build/reach.%ld.%s.cu", (long)getpid(), archs[a]);
    assert_non_null(source[a] = fopen(path[a], "w"));
    fputs("#define MG_CUBLAS\n", source[a]); /* before the header's first inclusion, as some of the files have it */
  }
  for (int k = 0; k < programs; k++) {
    static draft p;
    char text[4096], arch[16];
    mg_error e;
    mg_search_result r;
    mg_search_config c = mg_search_config_default();
    drawn_from(seed, k);
    draw(&p, text, sizeof text);
    c.machine = mg_machine_at(below(mg_machine_count()));
    c.max_loops = 1 + below(2), c.max_kernel_ops = 1 + below(3), c.max_block_ops = 3 + below(6), c.top_k = 4 + below(8), c.bound = below(3) > 0;
    c.max_states = 200, c.max_structures = 1000, c.max_steps = 20000, c.egraph.nodes = 2000, c.seed = seed;
    snprintf(arch, sizeof arch, "%s", c.machine->arch);
    c.user = arch, c.emittable = emittable, c.structure = sees, c.time_limit_s = 60;
    n_shown = 0;
    if (only && k < atoi(only)) continue;
    mg_graph *g = parse(text);
    memset(&e, 0, sizeof e);
    mg_status st = mg_search(g, &c, &r, &e);
    if (env) print_message("%d: %s, loops %d, kernels %d, ops %d: %d results, %d structures, %.1f s\n%s", k, arch, c.max_loops, c.max_kernel_ops, c.max_block_ops, st == MG_OK ? r.n : 0, n_shown, r.stats.seconds, text);
    if (st != MG_OK) fail_msg("program %d of seed %llu: %s\n%s", k, (unsigned long long)seed, e.msg, text);
    found += r.n;
    int one = below(r.n);
    for (int j = 0; j < r.n; j++)
      if (!stands(r.graph[j], arch, j == one)) fail_msg("program %d of seed %llu: result %d of %d is not emitted\n%s", k, (unsigned long long)seed, j, r.n, text);
    compiled_later(r.graph[one]);
    for (int j = 0, check = 1; j < SHOWN && shown[j]; j++) {
      if (stands(shown[j], archs[below(2)], check) && check) check = 0, compiled_later(shown[j]);
      mg_graph_free(shown[j]), shown[j] = NULL;
    }
    mg_search_result_free(&r), mg_graph_free(g);
  }
  compile();
  print_message("%d programs: %d results; %d emitted, %d of them through link 2; %d refused\n", programs, found, n_emitted, n_checked, n_refused);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  setvbuf(stdout, NULL, _IOLBF, 0);
  const struct CMUnitTest tests[] = { cmocka_unit_test(reached) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
