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

typedef struct task { const char *name, *text; int ops, kernels, emits; } task; /* emits: asks the emitter; a checkpoint and a cache too */

/* What came of a run, to compare. */
typedef struct outcome { mg_status st; int complete; uint64_t hash; char why[256]; } outcome;

static const task searches[] = {
  { "composed", "program composed\ninput A : f16[2048, 2048]\ninput B : f16[2048, 2048]\ninput v : f16[2048, 8]\nO = matmul(matmul(A, B), v)\noutput O\n", 1, 2, 0 },
  { "cut", "program cut\ninput X : f16[32, 512]\ninput V : f16[512, 1024]\ninput W : f16[1024, 512]\nP = silu(matmul(X, V))\nO = matmul(P, W)\noutput O\n", 2, 3, 0 },
  { "attention", "program attention\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, 128]\ninput V : f16[2, 128, 32]\nO = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n", 4, 2, 0 },
  { "emitted", "program emitted\ninput X : f16[16, 512]\ninput W : f16[512, 256]\nO = matmul(rms_norm(X), W)\noutput O\n", 4, 2, 1 },
};

static char path[64]; /* of the checkpoint */
static mg_status emits(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}

static outcome search(const task *t, const mg_graph *p, int threads, int check) {
  outcome o;
  mg_search_result r;
  mg_error e;
  mg_search_config c = mg_search_config_default();
  c.max_block_ops = t->ops, c.max_kernel_ops = t->kernels, c.threads = threads, c.top_k = 3;
  if (t->emits) c.emittable = emits, remove(path), c.checkpoint = path;
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
    S.p = p, S.cfg.seed = 99, S.cfg.threads = 1, S.end = 1e300;
    if ((r.report[k].tests <= 0 && r.report[k].proof == MG_PROOF_NONE) || (check && !mgi_se_check_small(&S, p, r.graph[k], &rep))) fail_msg("%s: result %d is not equal", t->name, k);
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

/* ------------------------------------------------------------------------------- the verifier, the emitter, the parser */

static const char *const pairs[][2] = {
  { "program norm\ninput X : f16[8, 64]\ninput W : f16[64, 32]\nO = matmul(rms_norm(X), W)\noutput O\n",
    "program norm\ninput X : f16[8, 64]\ninput W : f16[64, 32]\nO = kernel grid=(x=2) threads=128 {\n  for i=2 {\n    x = load X {x->*, i->1}\n    w = load W {x->1, i->0}\n"
    "    b = matmul(x, w)\n    s = sum(sqr(x), dim=1)\n  }\n  o = div(accum(b) {i->+}, sqrt(scale(accum(s) {i->+}, 1/64)))\n  store o {x->1}\n}\noutput O\n" },
  { "program attention\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, 64]\ninput V : f16[2, 64, 32]\nO = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n",
    "program attention\ninput Q : f16[2, 16, 32]\ninput K : f16[2, 32, 64]\ninput V : f16[2, 64, 32]\nO = kernel grid=(x=2) threads=128 {\n  q = load Q {x->0}\n  for i=4 {\n    k = load K {x->0, i->2}\n"
    "    v = load V {x->0, i->1}\n    e = exp(matmul(q, k))\n    s = sum(e, dim=2)\n    p = matmul(e, v)\n  }\n  o = div(accum(p) {i->+}, accum(s) {i->+})\n  store o {x->0}\n}\noutput O\n" },
};

/* What `which` does: 0, 1: the verifier's tiers; 2: the emitter; 3: parsing, printing, resizing.  text: what comes of it. */
static mg_status one_of(int which, const mg_graph *p, const mg_graph *g, const char *source, int threads, char *text, size_t size) {
  mg_error e;
  mg_status st;
  memset(&e, 0, sizeof e), *text = 0;
  if (which < 2) {
    mg_verify_config c = mg_verify_config_default();
    mg_verify_report r;
    c.tier = which ? MG_TIER_FULL : MG_TIER_FAST, c.threads = threads, c.seed = 5;
    st = mg_verify(p, g, &c, &r, &e);
    if (st == MG_OK) snprintf(text, size, "%s", r.verdict == MG_UNDECIDED ? "undecided" : mg_verdict_name(r.verdict));
    fail_at = 0;
  } else if (which == 2) {
    char *out = NULL;
    st = mg_cuda_emit(g, NULL, &out, &e);
    fail_at = 0;
    if (st == MG_OK) snprintf(text, size, "%s", out);
    else assert_null(out);
    mg_string_free(out);
  } else {
    mg_graph *q = NULL, *small = NULL;
    char *out = NULL;
    st = mg_parse(source, strlen(source), "t", NULL, &q, &e);
    if (st == MG_OK) st = mg_resize(q, NULL, NULL, &small, &e);
    if (st == MG_OK) st = mg_print(small, &out, &e);
    fail_at = 0;
    if (st == MG_OK) snprintf(text, size, "%s", out);
    mg_string_free(out), mg_graph_free(q), mg_graph_free(small);
  }
  if (st != MG_OK && (e.status != st || !*e.msg)) fail_msg("status %d, but the error says %d '%s'", st, e.status, e.msg);
  return st;
}
static void others_survive(void **state) {
  (void)state;
  static const char *const name[] = { "fast tier", "full tier", "emitter", "parser" };
  enum { ROOM = 1 << 18 };
  char *want = (char *)malloc(ROOM), *text = (char *)malloc(ROOM);
  assert_true(want && text);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    mg_graph *p = parse(pairs[i][0]), *g = parse(pairs[i][1]);
    for (int which = 0; which < 4; which++) {
      const int64_t before = live;
      int refused = 0, same = 0, open = 0;
      calls = fail_at = 0;
      assert_int_equal(one_of(which, p, g, pairs[i][1], 1, want, ROOM), MG_OK);
      if (which < 2) assert_string_equal(want, "EQUAL");
      const int64_t all = calls;
      for (uint64_t n = 0; n < (all < 400 ? (uint64_t)all : 150 * rounds); n++) {
        const int64_t at = all < 400 ? 1 + (int64_t)n : 1 + (int64_t)(next(&seed) % (uint64_t)all);
        const int threads = 1 + (int)(next(&seed) & 1);
        once = (int)(next(&seed) & 1), calls = 0, fail_at = at;
        const mg_status st = one_of(which, p, g, pairs[i][1], threads, text, ROOM);
        const int is_same = st == MG_OK && !strcmp(text, want), is_open = which < 2 && st == MG_OK && !strcmp(text, "undecided");
        if (live != before) fail_msg("%s, call %lld (once %d, threads %d): %lld blocks leak", name[which], (long long)at, once, threads, (long long)(live - before));
        if (st != MG_NO_MEMORY && !is_same && !is_open) fail_msg("%s, call %lld (once %d, threads %d): %s, another result", name[which], (long long)at, once, threads, mg_status_text(st));
        refused += st == MG_NO_MEMORY, same += is_same, open += is_open;
      }
      print_message("%s, %s: %lld calls; %d no memory, %d the same, %d undecided\n", p->name, name[which], (long long)all, refused, same, open);
      assert_true(refused > 0);
    }
    mg_graph_free(p), mg_graph_free(g);
  }
  free(want), free(text);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  rounds = getenv("SOAK_MEMORY") ? strtoull(getenv("SOAK_MEMORY"), NULL, 0) : 1;
  print_message("seed %llu\n", (unsigned long long)seed);
  snprintf(path, sizeof path, "build/memory.%ld.checkpoint", (long)getpid());
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(searches_survive),
    cmocka_unit_test(others_survive),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove(path);
  return failed;
}
