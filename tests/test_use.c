/* Tests of the search as it is used: programs that it was not written for, small and odd, from the search to a verdict on
   everything that it returns; limits and GPUs.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_use.c -o build/test_use -lcmocka -lm -lpthread -ldl && build/test_use [SEED]
   The seed, which is printed, draws the programs (SOAK_SEARCHES=n: how many of each kind; 42: all; 100: link 2 sees all). */
#define _DEFAULT_SOURCE 1 /* mkdtemp */
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"
#include "unshifted.h"
#include <dirent.h>

static uint64_t seed = 1;

/* name, inputs and statements, the fewest kernels that the best may have more than: 1 where one kernel must do */
static const struct { const char *name, *text; int kernels; } odd[] = {
  { "two outputs", "input X : f16[7, 48]\ninput W : f16[48, 40]\nA = matmul(X, W)\nB = silu(A)\noutput A, B\n", 1 },
  { "outputs of two shapes", "input X : f16[12, 64]\nS = sum(sqr(X), dim=1)\nY = div(X, sqrt(S))\noutput Y, S\n", 1 },
  { "three outputs", "input X : f16[16, 64]\ninput A : f16[64, 32]\ninput B : f16[64, 32]\ninput C : f16[64, 96]\nQ = matmul(X, A)\nK = matmul(X, B)\nV = matmul(X, C)\noutput Q, K, V\n", 3 },
  { "an output of an output", "input X : f16[8, 8]\nY = scale(X, 1/3)\nZ = add_scalar(Y, 5)\noutput Z, Y\n", 1 },
  { "primes", "input X : f16[13, 37]\ninput W : f16[37, 29]\nY = gelu(matmul(X, W))\noutput Y\n", 1 },
  { "one element", "input X : f16[1, 1]\ninput W : f16[1, 1]\nY = matmul(X, W)\noutput Y\n", 1 },
  { "one row", "input X : f16[1, 100]\ninput W : f16[100, 3]\nY = matmul(rms_norm(X, eps=1/100), W)\noutput Y\n", 1 },
  { "softmax", "input X : f16[6, 50]\nY = softmax(X, dim=1)\noutput Y\n", 1 },
  { "stable softmax", "input X : f16[6, 48]\nM = max(X, dim=1)\nE = exp(sub(X, M))\nY = div(E, sum(E, dim=1))\noutput Y\n", 1 },
  { "attention, odd", "input Q : f16[3, 5, 16]\ninput K : f16[3, 16, 44]\ninput V : f16[3, 44, 24]\nP = softmax(scale(matmul(Q, K), 1/4), dim=2)\nO = matmul(P, V)\noutput O\n", 1 },
  { "attention with a bias", "input Q : f16[2, 16, 32]\ninput K : f16[2, 32, 64]\ninput B : f16[16, 64]\ninput V : f16[2, 64, 32]\nP = softmax(add(scale(matmul(Q, K), 1/6), B), dim=2)\nO = matmul(P, V)\noutput O\n", 1 },
  { "a residual", "input X : f16[16, 64]\ninput W : f16[64, 128]\ninput U : f16[128, 64]\nH = relu(matmul(X, W))\nY = add(X, matmul(H, U))\noutput Y\n", 1 },
  { "low rank", "input X : f16[8, 96]\ninput W : f16[96, 64]\ninput A : f16[96, 8]\ninput B : f16[8, 64]\nY = add(matmul(X, W), scale(matmul(matmul(X, A), B), 3/2))\noutput Y\n", 1 },
  { "a square", "input X : f16[24, 24]\nY = matmul(X, X)\noutput Y\n", 1 },
  { "its own transpose", "input X : f16[20, 36]\nY = matmul(X, transpose(X, [1, 0]))\noutput Y\n", 2 },
  { "elementwise", "input X : f16[9, 17]\ninput Y : f16[9, 17]\nZ = add(mul(X, Y), exp(neg(sub(X, Y))))\noutput Z\n", 1 },
  { "broadcast both ways", "input X : f16[4, 1, 16]\ninput Y : f16[1, 6, 16]\nZ = mul(X, Y)\noutput Z\n", 1 },
  { "all summed", "input X : f16[20, 30]\nY = sum(sum(X, dim=0), dim=1)\noutput Y\n", 1 },
  { "columns summed", "input X : f16[40, 24]\nY = div(X, sum(X, dim=0))\noutput Y\n", 1 },
  { "f32", "input X : f32[16, 32]\ninput W : f32[32, 48]\nY = silu(matmul(X, W))\noutput Y\n", 1 },
  { "bf16", "input X : bf16[16, 128]\ninput W : bf16[128, 64]\nY = matmul(rms_norm(X, eps=1/1000), W)\noutput Y\n", 1 },
  { "other memory orders", "input X : f16[16, 64] @ [1, 0]\ninput W : f16[64, 48] @ [1, 0]\nY = relu(matmul(X, W))\noutput Y\n", 1 },
  { "a concatenation", "input X : f16[8, 32]\ninput Y : f16[8, 48]\ninput W : f16[80, 24]\nZ = matmul(concat(X, Y, dim=1), W)\noutput Z\n", 1 },
  { "heads by reshape", "input X : f16[8, 64]\ninput W : f16[4, 16, 24]\nZ = matmul(transpose(reshape(X, [8, 4, 16]), [1, 0, 2]), W)\noutput Z\n", 3 },
  { "an input for nothing", "input X : f16[8, 16]\ninput U : f16[5, 5]\nY = sqr(X)\noutput Y\n", 1 },
  { "a quotient before a product", "input X : f16[6, 40]\ninput D : f16[40]\ninput W : f16[40, 56]\nY = matmul(div(X, D), W)\noutput Y\n", 1 },
  { "log of a sum", "input X : f16[6, 64]\nY = log(sum(exp(X), dim=1))\noutput Y\n", 1 },
  { "four dimensions", "input X : f16[2, 3, 8, 16]\ninput W : f16[16, 24]\nY = matmul(X, W)\noutput Y\n", 1 },
  { "a long row", "input X : f16[1, 4096]\ninput W : f16[4096, 33]\nY = matmul(X, W)\noutput Y\n", 1 },
};
enum { ODD = sizeof odd / sizeof *odd };

static mg_graph *odd_program(const char *text) {
  char all[2048];
  snprintf(all, sizeof all, "program odd\n%s", text);
  return parse(all);
}
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) { return mg_cuda_emittable(g, (const char *)user, why); }
static char arch[] = "sm_90a";

static mg_search_config config(void) {
  mg_search_config c = mg_search_config_default();
  c.top_k = 4, c.user = arch, c.emittable = emittable;
  return c;
}

/* Everything returned prints and parses to itself, and was ranked by what mg_predict_us says of it; the best `full` are equal by the
   full tier. */
static void all_stand(const char *name, const mg_graph *p, const mg_machine *gpu, const mg_search_result *r, int full) {
  mg_error e;
  assert_true(r->n > 0);
  for (int k = 0; k < r->n; k++) {
    mg_verify_config v = mg_verify_config_default();
    mg_verify_report rep;
    char *text = NULL;
    mg_graph *again = NULL;
    v.seed = seed + 1;
    if (k < full && mg_verify(p, r->graph[k], &v, &rep, &e) != MG_OK) fail_msg("%s: %s", name, e.msg);
    if (k < full && rep.verdict != MG_EQUAL && rep.verdict != MG_EQUAL_SAMPLED) fail_msg("%s, result %d: %s: %s", name, k, mg_verdict_name(rep.verdict), rep.reason);
    assert_int_equal(mg_print(r->graph[k], &text, &e), MG_OK);
    assert_int_equal(mg_parse(text, strlen(text), "again", NULL, &again, &e), MG_OK);
    assert_true(mg_hash(again) == mg_hash(r->graph[k]));
    assert_true(!k || r->predicted_us[k] >= r->predicted_us[k - 1]);
    double model = mg_predict_us(again, gpu);
    if (!(model > 0 && fabs(model - r->predicted_us[k]) <= 1e-12 * model)) fail_msg("%s, result %d: the tuner has %.17g us, the model %.17g, for\n%s", name, k, r->predicted_us[k], model, text);
    mg_string_free(text), mg_graph_free(again);
  }
}

/* The kernel that is written for it; for the default architecture, which is that of the search. */
static void link_2(const char *name, const mg_graph *g) {
  char *cu = NULL;
  mg_error e;
  mg_check_config cc;
  mg_check_report rep;
  memset(&cc, 0, sizeof cc), memset(&rep, 0, sizeof rep);
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", name, e.msg);
  mg_status st = mg_cuda_check(g, cu, &cc, &rep, &e);
  if (st == MG_MACHINE) print_message("link 2 not run: %s\n", e.msg);
  else if (st != MG_OK) fail_msg("%s: %s %s", name, e.msg, rep.difference);
  free(cu);
}

/* The probabilities stored beside the output: where a quotient's exponentials are not those of its sum, and a product takes the
   latter, there is no running maximum, and large logits overflow.  Such a form is not the best. */
static void probabilities_stored_too(void **state) {
  (void)state;
  mg_graph *p = odd_program("input Q : f16[2, 16, 32]\ninput K : f16[2, 32, 64]\ninput V : f16[2, 64, 32]\nP = softmax(matmul(Q, K), dim=2)\nO = matmul(P, V)\noutput P, O\n");
  mg_search_config c = config();
  mg_search_result r;
  mg_error e;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  assert_int_equal(r.stats.best_kernels, 1);
  link_2("probabilities stored too", r.graph[0]);
  mg_search_result_free(&r);
  mg_graph_free(p);
}

/* Logits of a deviation of about 60: what has neither a running maximum in its kernel nor one of its own overflows, and `wary` names
   it.  It is behind all others without a measurement too; where there would be no others, forms with a maximum are made.  What the
   cache gives back is in that order again.  Link 2 runs over floats: the best is right. */
static void large_logits_come_first(void **state) {
  (void)state;
  static const struct { const char *name, *text; int own; } large[] = { /* own: 1: there is no running maximum to be had */
    { "keys that are no whole tiles", "input Q : f16[2, 9, 64]\ninput K : f16[2, 64, 44]\ninput V : f16[2, 44, 32]\nP = softmax(scale(matmul(Q, K), 8), dim=2)\nO = matmul(P, V)\noutput O\n", 0 },
    { "f32", "input Q : f32[8, 32]\ninput K : f32[32, 64]\ninput V : f32[64, 32]\nP = softmax(scale(matmul(Q, K), 11), dim=1)\nO = matmul(P, V)\noutput O\n", 1 },
    { "a softmax of an input", "input X : f16[8, 256]\nO = softmax(scale(X, 60), dim=1)\noutput O\n", 1 },
    { "the logits stored too", "input Q : f16[2, 8, 32]\ninput K : f16[2, 32, 64]\ninput V : f16[2, 64, 32]\nS = scale(matmul(Q, K), 11)\nP = softmax(S, dim=2)\nO = matmul(P, V)\noutput O, S\n", 0 },
  };
  enum { LARGE = sizeof large / sizeof *large };
  const int many = getenv("SOAK_SEARCHES") != NULL;
  char dir[] = "build/use.XXXXXX", command[64];
  assert_non_null(mkdtemp(dir));
  for (int k = 2 * SANITIZED; k < LARGE; k += SPARSER) {
    mg_graph *p = odd_program(large[k].text);
    for (int form = 0; form < 3; form++) { /* eight results; one; from the cache */
      mg_search_config c = config();
      mg_search_result r;
      mg_error e;
      c.user = arch, c.wary = unshifted, c.top_k = form == 1 ? 1 : 8, c.cache = form == 1 ? NULL : dir;
      if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", large[k].name, e.msg);
      assert_int_equal(r.stats.cached, form == 2);
      for (int j = 0, open = 0; j < r.n; j++) {
        const int is = unshifted(arch, r.graph[j]);
        assert_true(is >= open && (j || !is));
        if (j && is == open) assert_true(r.predicted_us[j] >= r.predicted_us[j - 1]);
        open = is;
      }
      char *text = NULL;
      assert_int_equal(mg_print(r.graph[0], &text, &e), MG_OK);
      if (large[k].own) assert_non_null(strstr(text, " = max("));
      mg_string_free(text);
      if (!form && (many || k % 2 == (int)(seed % 2))) link_2(large[k].name, r.graph[0]);
      mg_search_result_free(&r);
    }
    mg_graph_free(p);
  }
  snprintf(command, sizeof command, "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

static void odd_programs(void **state) {
  (void)state;
  const char *env = getenv("SOAK_SEARCHES");
  int n = env ? atoi(env) : 12 / SPARSER, start = (int)(seed % ODD);
  mg_error e;
  for (int i = 0; i < ODD && i < n; i++) {
    int k = (start + i * 5) % ODD; /* 5 and ODD have no common factor: each once */
    mg_graph *p = odd_program(odd[k].text);
    mg_search_config c = config();
    mg_search_result r;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", odd[k].name, e.msg);
    all_stand(odd[k].name, p, c.machine, &r, r.n);
    if (r.stats.best_kernels > odd[k].kernels) fail_msg("%s: %d kernels", odd[k].name, r.stats.best_kernels);
    assert_true(r.stats.complete || strcmp(r.stats.egraph_stop, "SATURATED")); /* nothing else ended one of them */
    if (!i || n >= 100) link_2(odd[k].name, r.graph[0]);
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

/* A larger space never has a worse best, nor a smaller one more operators, kernels or loops than it may. */
static void limits_are_monotone(void **state) {
  (void)state;
  static const char *text[] = {
    "input X : f16[16, 1024]\ninput W : f16[1024, 512]\nO = matmul(rms_norm(X, eps=1/100), W)\noutput O\n",
    "input X : f16[16, 256]\ninput A : f16[256, 512]\ninput B : f16[256, 512]\nO = mul(silu(matmul(X, A)), matmul(X, B))\nS = sum(X, dim=1)\noutput O, S\n",
  };
  mg_error e;
  for (int t = 0; t < (SANITIZED ? 1 : 2); t++) {
    mg_graph *p = odd_program(text[t]);
    mg_search_result r;
    double last = 1e300, first = 0;
    for (int ops = 1; ops <= 11; ops += ops < 5 ? 2 : 1) {
      mg_search_config c = config();
      c.max_block_ops = ops, c.max_kernel_ops = 1, c.top_k = 1;
      mg_status st = mg_search(p, &c, &r, &e);
      if (st == MG_NOT_FOUND) continue;
      assert_int_equal(st, MG_OK);
      assert_true(r.stats.complete);
      assert_true(r.stats.best_block_ops <= ops);
      if (r.predicted_us[0] > last * (1 + 1e-9)) fail_msg("program %d: %d operators %.4f us, fewer %.4f", t, ops, r.predicted_us[0], last);
      last = r.predicted_us[0];
      if (first <= 0) first = last;
      mg_search_result_free(&r);
    }
    assert_true(last < first); /* more operators were of use */
    last = 1e300;
    for (int kernels = 1; kernels <= 4; kernels++) {
      mg_search_config c = config();
      c.max_kernel_ops = kernels, c.top_k = 1;
      assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
      assert_true(r.stats.complete && r.predicted_us[0] <= last * (1 + 1e-9));
      assert_true(r.stats.best_kernels <= kernels || mg_is_program(r.graph[0])); /* the program itself always is a candidate */
      last = r.predicted_us[0];
      mg_search_result_free(&r);
    }
    mg_search_config c = config();
    c.max_loops = 2, c.max_kernel_ops = 1, c.top_k = 1;
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    assert_true(r.predicted_us[0] <= last * (1 + 1e-9) || !r.stats.complete);
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

/* Each GPU of the table gets µGraphs that fit it; each time is its own. */
static void every_gpu(void **state) {
  (void)state;
  mg_graph *p = odd_program("input X : f16[64, 2048]\ninput W : f16[2048, 1024]\nO = matmul(rms_norm(X, eps=1/100), W)\noutput O\n");
  mg_error e;
  double us[16] = { 0 };
  for (int k = 0; k < mg_machine_count(); k += SPARSER) {
    mg_search_config c = config();
    char own[32];
    mg_search_result r;
    c.machine = mg_machine_at(k);
    snprintf(own, sizeof own, "%s", c.machine->arch);
    c.user = own, c.top_k = 8, c.max_kernel_ops = 1;
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    assert_true(r.stats.complete);
    all_stand(c.machine->name, p, c.machine, &r, 2);
    us[k] = r.predicted_us[0];
    mg_search_result_free(&r);
  }
  for (int k = 0; k < mg_machine_count(); k += SPARSER) /* the model knows them apart: none with less of everything is faster */
    for (int j = 0; j < mg_machine_count(); j += SPARSER) {
      const mg_machine *a = mg_machine_at(j), *b = mg_machine_at(k);
      if (a->sms <= b->sms && a->dram_gbps < b->dram_gbps && a->tensor_tflops < b->tensor_tflops && a->l2_gbps < b->l2_gbps) assert_true(us[j] > us[k]);
    }
  mg_graph_free(p);
}

/* The benchmark programs, with the options that stand in the README: the search says that it left nothing out, and what it
   found is ranked as the model ranks it.  SOAK_SEARCHES=42: all, those of minutes too. */
static int by_name(const void *a, const void *b) { return strcmp((const char *)a, (const char *)b); }
static void benchmark_programs_are_searched_completely(void **state) {
  (void)state;
  static char name[256][64];
  const char *env = getenv("SOAK_SEARCHES");
  int want = env ? atoi(env) : 6 / SPARSER, n = 0, all = want >= 42;
  DIR *d = opendir("examples/programs");
  if (!d) fail_msg("no examples/programs: tests run at the top of the tree");
  for (struct dirent *f; (f = readdir(d)) && n < 256;) {
    size_t len = strlen(f->d_name);
    if (len < 4 || len > 60 || strcmp(f->d_name + len - 3, ".mg")) continue;
    if (!all && (strstr(f->d_name, "qknorm") || !strncmp(f->d_name, "ntrans", 6))) continue; /* half a minute each */
    snprintf(name[n++], sizeof *name, "%.60s", f->d_name);
  }
  closedir(d);
  assert_true(n >= 37);
  qsort(name, (size_t)n, sizeof *name, by_name);
  for (int i = 0; i < n && i < want; i++) {
    char path[128], text[4096];
    const char *own = name[all ? i : (int)((seed + (uint64_t)i * (uint64_t)n / (uint64_t)want) % (uint64_t)n)]; /* spread over the families */
    snprintf(path, sizeof path, "examples/programs/%s", own);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    mg_graph *p = NULL;
    mg_error e;
    mg_search_result r;
    mg_search_config c = config();
    c.top_k = 8;
    if (mg_parse(text, strlen(text), path, NULL, &p, &e) != MG_OK || mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", path, e.msg);
    print_message("%s: %.2f s, %d kernels\n", own, r.stats.seconds, r.stats.best_kernels);
    if (!r.stats.complete || strcmp(r.stats.egraph_stop, "SATURATED")) fail_msg("%s: not complete; the e-graph: %s", own, r.stats.egraph_stop);
    for (int k = 0; k < r.n; k++) {
      double model = mg_predict_us(r.graph[k], NULL);
      if (!(fabs(model - r.predicted_us[k]) <= 1e-12 * model)) fail_msg("%s, result %d: the tuner has %.17g us, the model %.17g", own, k, r.predicted_us[k], model);
      assert_true(r.report[k].verdict == MG_EQUAL);
    }
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(odd_programs), cmocka_unit_test(probabilities_stored_too), cmocka_unit_test(large_logits_come_first), cmocka_unit_test(benchmark_programs_are_searched_completely), cmocka_unit_test(limits_are_monotone), cmocka_unit_test(every_gpu) };
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  print_message("seed %llu\n", (unsigned long long)seed);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
