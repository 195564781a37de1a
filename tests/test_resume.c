/* Tests of checkpoints and of the cache of mirage_search.h.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_resume.c -o build/test_resume -lcmocka -lm -lpthread
   Random tests print their seed; SEED=n repeats one.  Under the thread sanitizer: a part. */
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "same.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *text[] = {
  "program norm\ninput X : f16[16, 1024]\ninput W : f16[1024, 512]\nO = matmul(rms_norm(X, eps=1/100), W)\noutput O\n",
  "program mlp\ninput X : f16[8, 256]\ninput A : f16[256, 512]\ninput B : f16[256, 512]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n",
};
static const char *many = "program many\ninput X : f16[8, 64]\ninput Y : f16[8, 64]\nO = softmax(mul(rms_norm(X), Y), dim=1)\noutput O\n";
static char path[64];
#ifdef __SANITIZE_THREAD__
enum { SHORT = 1 };
#else
enum { SHORT = 0 };
#endif

static mg_graph *program(int k) {
  mg_graph *g = NULL;
  mg_error e;
  if (mg_parse(text[k], strlen(text[k]), "test", NULL, &g, &e) != MG_OK) fail_msg("%s", e.msg);
  return g;
}

/* Stops the search once it has shown `after` structures. */
static uint64_t after, seen;
static volatile int stop;
static void count_structures(void *user, const mg_graph *g) {
  (void)user, (void)g;
  if (++seen >= after) __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static mg_search_config config(int threads) {
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 2, c.top_k = 4, c.threads = threads;
  return c;
}

static void resumed_equals_uninterrupted(void **state) {
  (void)state;
  mg_error e;
  for (int k = SHORT; k < 2; k++) {
    mg_graph *p = program(k);
    mg_search_config c = config(2);
    mg_search_result whole, part, again;
    assert_int_equal(mg_search(p, &c, &whole, &e), MG_OK);
    assert_int_equal(whole.stats.resumed, 0);
    int partly = 0;
    static const uint64_t stops[] = { 1, 40, 400, 4000 };
    for (int i = 0; i < 4; i++) {
      unlink(path);
      c = config(1 + i % 2);
      c.checkpoint = path, c.stop = &stop, c.structure = count_structures;
      stop = 0, seen = 0, after = stops[i];
      mg_status st = mg_search(p, &c, &part, &e);
      assert_true(st == MG_OK || st == MG_NOT_FOUND);
      if (stop) assert_int_equal(part.stats.complete, 0);
      mg_search_result_free(&part);
      c = config(2 - i % 2);
      c.checkpoint = path;
      assert_int_equal(mg_search(p, &c, &again, &e), MG_OK);
      same(&whole, &again);
      partly |= again.stats.resumed > 0 && again.stats.resumed < again.stats.frames;
      mg_search_result_free(&again);
      assert_int_equal(mg_search(p, &c, &again, &e), MG_OK); /* all of it */
      same(&whole, &again);
      assert_int_equal(again.stats.resumed, again.stats.frames);
      mg_search_result_free(&again);
    }
    assert_true(partly);
    mg_search_result_free(&whole);
    mg_graph_free(p);
  }
  unlink(path);
}

static uint8_t *slurp(size_t *n) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  uint8_t *b = (uint8_t *)malloc((size_t)64 << 20);
  *n = fread(b, 1, (size_t)64 << 20, f);
  fclose(f);
  return b;
}
static void put(const uint8_t *b, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(b, 1, n, f), n);
  fclose(f);
}
static void refused(mg_graph *p, const mg_search_config *c, const char *what) {
  mg_search_result r;
  mg_error e;
  size_t n, m;
  uint8_t *before = slurp(&n), *then;
  assert_int_equal(mg_search(p, c, &r, &e), MG_BAD_INPUT);
  if (!strstr(e.msg, what)) fail_msg("expected '%s' in: %s", what, e.msg);
  assert_string_equal(e.where, path);
  then = slurp(&m);
  assert_int_equal(n, m);
  assert_memory_equal(before, then, n);
  free(before), free(then);
  mg_search_result_free(&r);
}

static void damaged_and_foreign_are_refused(void **state) {
  (void)state;
  const char *env = getenv("SEED");
  uint64_t s = env ? strtoull(env, NULL, 10) : (uint64_t)time(NULL);
  printf("%s: SEED=%llu\n", __func__, (unsigned long long)s);
  mg_error e;
  mg_graph *p = program(0), *q = program(1);
  mg_search_config c = config(2), d;
  mg_search_result r;
  unlink(path);
  c.max_kernel_ops = 1, c.checkpoint = path;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  mg_search_result_free(&r);
  size_t n;
  uint8_t *good = slurp(&n), *bad = (uint8_t *)malloc(n + 1);
  assert_true(n > 100);
  for (int k = 0; k < (SHORT ? 16 : 120); k++) {
    memcpy(bad, good, n);
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    size_t at = k < 32 ? (size_t)k : (size_t)(s >> 16) % n;
    bad[at] = (uint8_t)(bad[at] ^ 1 << (s >> 60) % 8);
    put(bad, n);
    refused(p, &c, k < 8 ? "something else" : "damaged");
    if (k % 8) continue;
    put(good, (size_t)(s >> 16) % n); /* cut short */
    refused(p, &c, "; it is left as it is");
  }
  memcpy(bad, good, n), bad[n] = 0;
  put(bad, n + 1);
  refused(p, &c, "damaged");
  put(good, n);
  refused(q, &c, "another search");
  d = c, d.max_block_ops = 5, refused(p, &d, "another search");
  d = c, d.prune = 0, refused(p, &d, "another search");
  d = c, d.max_loops = 2, refused(p, &d, "another search");
  d = c, d.seed = 7, refused(p, &d, "another search");
  d = c, d.gpu = mg_gpu_find("A100"), refused(p, &d, "another search");
  d = c, d.threads = 1, d.time_limit_s = 100; /* these change nothing */
  assert_int_equal(mg_search(p, &d, &r, &e), MG_OK);
  assert_int_equal(r.stats.resumed, r.stats.frames);
  mg_search_result_free(&r);
  d.checkpoint = "no such directory/checkpoint";
  assert_int_equal(mg_search(p, &d, &r, &e), MG_MACHINE);
  free(good), free(bad);
  unlink(path);
  mg_graph_free(p), mg_graph_free(q);
}

/* A checkpoint whose key and checksum are right, with one field of a structure that cannot be: refused, not followed.  What
   could be is searched on with, and then verified like anything else. */
static void forged_are_refused(void **state) {
  (void)state;
  mg_error e;
  mg_graph *p = program(1);
  mg_search_config c = config(2);
  mg_search_result r;
  unlink(path);
  c.max_kernel_ops = 1, c.checkpoint = path;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  mg_search_result_free(&r);
  size_t n, at = sizeof(mgi_se_kept_head);
  uint8_t *good = slurp(&n), *bad = (uint8_t *)malloc(n);
  mgi_se_kept k;
  for (;; at += sizeof k) { /* the first frame that found something */
    memcpy(&k, good + at, sizeof k);
    if (k.n) break;
  }
  at += sizeof k;
  mgi_se_structure t, f;
  memcpy(&t, good + at, sizeof t);
  int load = 0, other = t.n - 1;
  while (t.op[load].code != MG_OP_LOAD) load++;
  while (!t.op[other].n_in) other--;
  for (int i = 0;; i++) {
    f = t;
    int skip = 0;
    switch (i) {
      case 0: f.n = 0; break;
      case 1: f.n = MGI_SE_SOPS + 1; break;
      case 2: f.n_out = MG_MAX_OUT; break;
      case 3: f.n_grid = 3 - f.n_grid; break;
      case 4: f.gcls[1] = 1 << 20; break;
      case 5: f.group = -1; break;
      case 6: f.loop[0] = 1000; break;
      case 7: f.op[other].code = -1; break;
      case 8: f.op[other].code = 30000; break;
      case 9: f.op[other].n_in = 100; break;
      case 10: f.op[other].in[0] = (int16_t)other; break;
      case 11: f.op[other].in[0] = -1; break;
      case 12: f.op[other].in[3] = 30000; break;
      case 13: f.op[other].scope = 5; break;
      case 14: f.op[other].scope = -2; break;
      case 15: f.op[other].rank = MG_MAX_RANK + 1; break;
      case 16: f.op[load].cls[0] = 120; break;
      case 17: f.op[load].mask[0] = 0xFF; break;
      case 18: f.op[load].arg = 100; break;
      case 19: f.op[load].arg = -1; break;
      case 20: f.out[0] = (int16_t)f.n; break;
      case 21: f.us = -1; break;
      case 22: memset(&f.us, 0xFF, sizeof f.us); break; /* no number */
      case 23: f.n_tiles = MGI_SE_TILES + 1; break;
      case 24: f.n_tiles = 1, f.tile_us[0] = 1, memset(f.count, 0, sizeof f.count); break;
      case 25: f.n_tiles = 1, f.tile_us[0] = 1, f.count[0][1] = (int64_t)1 << 40; break;
      case 26: f.hash++; break;
      case 27: f.work++; break;
      case 28: f.op[load].code = MG_OP_STORE; break;
      case 29: f.op[load].n_in = 1; break;
      case 30:
        skip = 1;
        for (int j = 0; j < f.n; j++) if (f.op[j].code == MG_OP_ACCUM) f.op[j].map[0] = 9, skip = 0;
        break;
      default: skip = -1; break;
    }
    if (skip < 0) break;
    if (skip) continue;
    memcpy(bad, good, n), memcpy(bad + at, &f, sizeof f);
    mgi_se_kept_head h;
    memcpy(&h, bad, sizeof h);
    h.check = mgi_se_bytes_hash(mgi_se_mix(h.key, h.bytes), bad + sizeof h, n - sizeof h);
    memcpy(bad, &h, sizeof h);
    put(bad, n);
    refused(p, &c, "none of this search");
  }
  free(good), free(bad);
  unlink(path);
  mg_graph_free(p);
}

static void threads_and_seeds_agree(void **state) {
  (void)state;
  mg_error e;
  mg_graph *p = program(0);
  mg_search_config c = config(1);
  mg_search_result one, r;
  assert_int_equal(mg_search(p, &c, &one, &e), MG_OK);
  static const int threads[] = { 2, 5 };
  for (int k = 0; k < 2; k++) {
    c = config(threads[k]);
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    same(&one, &r);
    mg_search_result_free(&r);
  }
  c = config(2), c.seed = 99;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  assert_int_equal(one.n, r.n);
  for (int k = 0; k < r.n; k++) assert_true(mg_hash(one.graph[k]) == mg_hash(r.graph[k]));
  mg_search_result_free(&r);
  mg_search_result_free(&one);
  mg_graph_free(p);
  /* segments by the dozen, searched at once; uninterrupted, then resumed where many were under way */
  assert_int_equal(mg_parse(many, strlen(many), "test", NULL, &p, &e), MG_OK);
  c = config(1), c.max_block_ops = 4, c.max_kernel_ops = 5;
  assert_int_equal(mg_search(p, &c, &one, &e), MG_OK);
  assert_true(one.stats.segments > 8);
  for (int k = 0; k < 3; k++) {
    static const int workers[] = { 2, 3, 16 };
    c.threads = workers[k];
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    same(&one, &r);
    assert_string_equal(one.stats.egraph_stop, r.stats.egraph_stop);
    mg_search_result_free(&r);
    c.checkpoint = path, c.time_limit_s = one.stats.seconds * (k + 1) / 8;
    mg_status st = mg_search(p, &c, &r, &e);
    assert_true(st == MG_OK || st == MG_NOT_FOUND);
    mg_search_result_free(&r);
    c.time_limit_s = 0, c.threads = workers[2 - k];
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    same(&one, &r);
    mg_search_result_free(&r);
    c.checkpoint = NULL;
    unlink(path);
  }
  mg_search_result_free(&one);
  mg_graph_free(p);
}

/* The cache: a directory of files. */

static char dir[64], entry[320];

/* How many files it holds; the last one's path goes to `entry`. */
static int entries(void) {
  DIR *d = opendir(dir);
  assert_non_null(d);
  int n = 0;
  for (struct dirent *f; (f = readdir(d));)
    if (f->d_name[0] != '.') n++, snprintf(entry, sizeof entry, "%s/%s", dir, f->d_name);
  closedir(d);
  return n;
}
static void empty(void) {
  while (entries()) assert_int_equal(unlink(entry), 0);
}

static mg_search_result cached(mg_graph *p, const mg_search_config *c, int hit, const char *note) {
  mg_search_result r;
  mg_error e;
  if (mg_search(p, c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (r.stats.cached != hit) fail_msg("expected %s, found %s (%s)", hit ? "a hit" : "none", r.stats.cached ? "a hit" : "none", r.stats.cache_note);
  if (note ? !strstr(r.stats.cache_note, note) : *r.stats.cache_note) fail_msg("expected '%s' in: '%s'", note ? note : "", r.stats.cache_note);
  return r;
}

static void cache_gives_the_same_result(void **state) {
  (void)state;
  assert_int_equal(mkdir(dir, 0777), 0);
  for (int k = SHORT; k < 2; k++) {
    mg_graph *p = program(k), *q = program(!k);
    mg_search_config c = config(2), d;
    mg_search_result plain = cached(p, &c, 0, NULL), r;
    c.cache = dir;
    r = cached(p, &c, 0, NULL), same(&plain, &r), mg_search_result_free(&r);
    assert_int_equal(entries(), 1);
    for (int threads = 1; threads < 4; threads += 2) { /* nor does the time limit matter: what was found needs none */
      c.threads = threads, c.time_limit_s = threads == 3 ? 1e-9 : 0;
      r = cached(p, &c, 1, NULL), same(&plain, &r);
      assert_int_equal(r.stats.threads, threads);
      mg_search_result_free(&r);
    }
    c = config(2), c.cache = dir;
    d = c, d.max_block_ops = 6, r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
    d = c, d.max_kernel_ops = 1, r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
    d = c, d.top_k = 2, r = cached(p, &d, 0, NULL), assert_int_equal(r.n, 2), mg_search_result_free(&r);
    d = c, d.seed = 5, r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
    d = c, d.gpu = mg_gpu_find("A100"), r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
    if (!SHORT) r = cached(q, &c, 0, NULL), mg_search_result_free(&r);
    assert_int_equal(entries(), SHORT ? 6 : 7);
    r = cached(p, &c, 1, NULL), same(&plain, &r), mg_search_result_free(&r);
    empty();
    mg_search_result_free(&plain), mg_graph_free(p), mg_graph_free(q);
  }
}

/* What time or the caller ended is not kept; a directory that is none is said. */
static void cache_keeps_what_is_final(void **state) {
  (void)state;
  mg_graph *p = program(1);
  mg_search_config c = config(2);
  mg_search_result r;
  mg_error e;
  c.cache = dir, c.time_limit_s = 1e-9;
  mg_status st = mg_search(p, &c, &r, &e);
  assert_true(st == MG_OK || st == MG_NOT_FOUND);
  assert_int_equal(r.stats.complete, 0);
  mg_search_result_free(&r);
  c.time_limit_s = 0, c.stop = &stop, c.structure = count_structures, stop = 0, seen = 0, after = 10;
  st = mg_search(p, &c, &r, &e);
  assert_true((st == MG_OK || st == MG_NOT_FOUND) && stop && !r.stats.complete);
  mg_search_result_free(&r);
  assert_int_equal(entries(), 0);
  c = config(2), c.cache = "no such directory";
  r = cached(p, &c, 0, "cannot be written"), mg_search_result_free(&r);
  mg_graph_free(p);
}

static mg_status refuses(void *user, const mg_graph *g, mg_error *why) {
  return *(int *)user && !mg_is_program(g) ? mg_fail(why, MG_UNSUPPORTED, "test", "not today") : MG_OK;
}

/* Every damaged entry is searched anew and replaced; so is one whose µGraphs are others, checksum and all. */
static void cache_believes_nothing(void **state) {
  (void)state;
  const char *env = getenv("SEED");
  uint64_t s = env ? strtoull(env, NULL, 10) : (uint64_t)time(NULL);
  printf("%s: SEED=%llu\n", __func__, (unsigned long long)s);
  if (SHORT) return; /* nothing in it runs in threads */
  mg_graph *p = program(1);
  mg_search_config c = config(2);
  c.max_kernel_ops = 1, c.max_block_ops = 8, c.cache = dir;
  mg_search_result plain = cached(p, &c, 0, NULL), r;
  assert_int_equal(entries(), 1);
  snprintf(path, sizeof path, "%.63s", entry);
  size_t n, m;
  uint8_t *good = slurp(&n), *bad = (uint8_t *)malloc(n + 1), *then;
  for (int k = 0; k < 12; k++) {
    memcpy(bad, good, n);
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    size_t at = k < 5 ? (size_t)k * 7 : (size_t)(s >> 16) % n;
    bad[at] = (uint8_t)(bad[at] ^ 1 << (s >> 60) % 8);
    put(bad, k % 3 == 2 ? (size_t)(s >> 20) % n : n);
    r = cached(p, &c, 0, "searched anew"), same(&plain, &r), mg_search_result_free(&r);
    assert_int_equal(entries(), 1);
    then = slurp(&m);
    assert_int_equal(m, n); /* replaced: all but the times are as they were */
    free(then);
    r = cached(p, &c, 1, NULL), same(&plain, &r), mg_search_result_free(&r);
  }
  /* in the first µGraph's text a product becomes a sum; a count is another; it is cut short */
  static const char *edit[][2] = { { "= mul(", "= add(" }, { "= silu(", "= gelu(" }, { "for i=", "for j=" }, { "store ", "stone " } };
  char *text = NULL;
  mg_error e;
  assert_int_equal(mg_print(plain.graph[0], &text, &e), MG_OK);
  size_t start = 0;
  for (size_t k = sizeof(mgi_se_kept_head); k + strlen(text) <= n && !start; k++) if (!memcmp(good + k, text, strlen(text))) start = k;
  assert_true(start > 0);
  int tried = 0;
  for (int k = 0; k < 4; k++) {
    const char *at = strstr(text, edit[k][0]);
    if (!at) continue;
    memcpy(bad, good, n), memcpy(bad + start + (at - text), edit[k][1], strlen(edit[k][1]));
    mgi_se_kept_head h;
    memcpy(&h, bad, sizeof h);
    h.check = mgi_se_bytes_hash(mgi_se_mix(h.key, h.bytes), bad + sizeof h, n - sizeof h);
    memcpy(bad, &h, sizeof h);
    put(bad, n);
    r = cached(p, &c, 0, "searched anew"), same(&plain, &r), mg_search_result_free(&r);
    tried++;
  }
  assert_true(tried >= 2);
  /* what is not emitted any more is no result */
  int no = 0;
  empty();
  c.emittable = refuses, c.user = &no;
  r = cached(p, &c, 0, NULL), mg_search_result_free(&r);
  no = 1;
  r = cached(p, &c, 0, "not emitted any more");
  for (int k = 0; k < r.n; k++) assert_true(mg_is_program(r.graph[k]));
  mg_search_result_free(&r);
  empty();
  mg_string_free(text), free(good), free(bad);
  mg_search_result_free(&plain), mg_graph_free(p);
}

/* Several searches at once, in one directory, two of each program. */
static void *one_search(void *arg) {
  mg_search_result *r = (mg_search_result *)arg;
  mg_search_config c = config(1);
  mg_error e;
  mg_graph *p = program(r->n);
  c.cache = dir;
  if (mg_search(p, &c, r, &e) != MG_OK) memset(r, 0, sizeof *r);
  mg_graph_free(p);
  return NULL;
}
static void cache_is_shared(void **state) {
  (void)state;
  enum { N = 4 };
  mg_search_result r[N];
  pthread_t t[N];
  empty();
  for (int k = 0; k < N; k++) memset(&r[k], 0, sizeof r[k]), r[k].n = SHORT ? 1 : k / 2;
  for (int k = 0; k < N; k++) assert_int_equal(pthread_create(&t[k], NULL, one_search, &r[k]), 0);
  for (int k = 0; k < N; k++) pthread_join(t[k], NULL);
  for (int k = 0; k < N; k++) assert_true(r[k].n > 0 && !*r[k].stats.cache_note);
  same(&r[0], &r[1]), same(&r[2], &r[3]);
  assert_int_equal(entries(), SHORT ? 1 : 2); /* no temporary file is left */
  for (int k = 0; k < N; k++) mg_search_result_free(&r[k]);
  empty();
  assert_int_equal(rmdir(dir), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(resumed_equals_uninterrupted), cmocka_unit_test(damaged_and_foreign_are_refused), cmocka_unit_test(forged_are_refused),
    cmocka_unit_test(threads_and_seeds_agree), cmocka_unit_test(cache_gives_the_same_result), cmocka_unit_test(cache_keeps_what_is_final),
    cmocka_unit_test(cache_believes_nothing), cmocka_unit_test(cache_is_shared),
  };
  snprintf(path, sizeof path, "resume.%ld.checkpoint", (long)getpid());
  snprintf(dir, sizeof dir, "resume.%ld.cache", (long)getpid());
  return cmocka_run_group_tests(tests, NULL, NULL);
}
