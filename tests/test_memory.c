/* What happens when memory runs out: the k-th call of malloc, calloc or realloc fails, alone or with all that follow, in the
   search, the verifier, the emitter and the parser.  Never a crash or a leak; and MG_NO_MEMORY, or the result that is
   there without a failure, or stats.complete 0.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_memory.c -o build/test_memory -lcmocka -lm -lpthread -ldl
   build/test_memory [seed]; SOAK_MEMORY=n: n times as many calls that fail. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counted by all threads. */
static int64_t calls, fail_at, live;
static int once; /* only the fail_at-th, not all that follow */
static int fails(void) {
  const int64_t n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED), at = __atomic_load_n(&fail_at, __ATOMIC_RELAXED);
  return at && (once ? n == at : n >= at);
}
static void *got(void *p) {
  if (p) __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return p;
}
static void *heap_malloc(size_t n) { return fails() ? NULL : got(malloc(n)); }
static void *heap_calloc(size_t n, size_t m) { return fails() ? NULL : got(calloc(n, m)); }
static void *heap_realloc(void *old, size_t n) { return fails() ? NULL : old ? realloc(old, n) : got(malloc(n)); }
static void heap_free(void *p) {
  if (p) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  free(p);
}
#define malloc heap_malloc
#define calloc heap_calloc
#define realloc heap_realloc
#define free heap_free
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#undef malloc
#undef calloc
#undef realloc
#undef free
#include "parse.h"
#include "splitmix.h"

static uint64_t seed = 1, rounds = 1;

typedef struct task {
  const char *name, *text, *other; /* a program; of the verifier and the emitter, a µGraph too */
  int ops, kernels, loops;
} task;

/* What came of a run, to compare. */
typedef struct outcome { mg_status st; int complete; uint64_t hash; char why[256]; } outcome;

static const task searches[] = {
  { "composed", "program composed\ninput A : f16[2048, 2048]\ninput B : f16[2048, 2048]\ninput v : f16[2048, 8]\nO = matmul(matmul(A, B), v)\noutput O\n", NULL, 1, 2, 1 },
  { "cut", "program cut\ninput X : f16[32, 512]\ninput V : f16[512, 1024]\ninput W : f16[1024, 512]\nP = silu(matmul(X, V))\nO = matmul(P, W)\noutput O\n", NULL, 2, 3, 1 },
  { "attention", "program attention\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, 128]\ninput V : f16[2, 128, 32]\nO = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n", NULL, 4, 2, 1 },
};

static outcome search(const task *t, const mg_graph *p, int threads, int check) {
  outcome o;
  mg_search_result r;
  mg_error e;
  mg_search_config c = mg_search_config_default();
  c.max_block_ops = t->ops, c.max_kernel_ops = t->kernels, c.max_loops = t->loops, c.threads = threads, c.top_k = 3;
  memset(&o, 0, sizeof o), memset(&e, 0, sizeof e);
  o.st = mg_search(p, &c, &r, &e);
  fail_at = 0;
  o.complete = r.stats.complete;
  memcpy(o.why, e.msg, sizeof o.why - 1);
  if (o.st != MG_OK) assert_true(e.status == o.st && *e.msg);
  else assert_true(r.n > 0);
  for (int k = 0; k < r.n; k++) {
    o.hash = mgi_se_mix(o.hash, mg_hash(r.graph[k]));
    mgi_se_search S;
    mg_verify_report rep;
    memset(&S, 0, sizeof S);
    S.p = p, S.cfg.seed = 99, S.cfg.threads = 1;
    if (r.report[k].tests <= 0 || (check && !mgi_se_check_small(&S, r.graph[k], &rep))) fail_msg("%s: result %d is not equal", t->name, k);
  }
  mg_search_result_free(&r);
  return o;
}

static void searches_survive(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
    const task *t = &searches[i];
    mg_graph *p = parse(t->text);
    calls = fail_at = 0;
    const int64_t before = live;
    const outcome whole = search(t, p, 1, 1);
    const int64_t all = calls;
    int refused = 0, same = 0, part = 0;
    assert_int_equal(whole.st, MG_OK);
    assert_int_equal(live, before);
    print_message("%s: %lld calls, complete %d\n", t->name, (long long)all, whole.complete);
    int64_t k = 1;
    for (uint64_t n = 0; n < 40 * rounds; n++) {
      const int64_t at = k <= all ? k : 1 + (int64_t)(next(&seed) % (uint64_t)all);
      if (k <= all) k *= 2;
      const int threads = 1 + (int)(next(&seed) & 1);
      once = (int)(next(&seed) % 3 > 0), calls = 0, fail_at = at;
      const outcome o = search(t, p, threads, 0);
      const int is_same = o.st == MG_OK && o.hash == whole.hash && o.complete == whole.complete;
      if (live != before) fail_msg("%s, call %lld (once %d, threads %d): %lld blocks leak", t->name, (long long)at, once, threads, (long long)(live - before));
      if (!is_same && o.st != MG_NO_MEMORY && o.complete) fail_msg("%s, call %lld (once %d, threads %d): %s, complete, but another result", t->name, (long long)at, once, threads, o.st == MG_OK ? "OK" : o.why);
      refused += o.st == MG_NO_MEMORY, same += is_same, part += !is_same && o.st != MG_NO_MEMORY;
    }
    print_message("%s: %d no memory, %d the same, %d not complete\n", t->name, refused, same, part);
    assert_true(refused > 0);
    mg_graph_free(p);
  }
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  rounds = getenv("SOAK_MEMORY") ? strtoull(getenv("SOAK_MEMORY"), NULL, 0) : 1;
  print_message("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(searches_survive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
