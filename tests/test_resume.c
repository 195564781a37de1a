/* Tests of checkpoints and of the cache of mirage_search.h.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_resume.c -o build/test_resume -lcmocka -lm -lpthread
   Random tests print their seed; SEED=n repeats one.  SOAK_KILLS=n: so many searches are killed.  Under sanitizers: a part. */
#define _GNU_SOURCE
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "same.h"
#include "sanitized.h"
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *text[] = {
  "program norm\ninput X : f16[16, 1024]\ninput W : f16[1024, 512]\nO = matmul(rms_norm(X, eps=1/100), W)\noutput O\n",
  "program mlp\ninput X : f16[8, 256]\ninput A : f16[256, 512]\ninput B : f16[256, 512]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n",
};
static const char *many = "program many\ninput X : f16[8, 64]\ninput Y : f16[8, 64]\nO = softmax(mul(rms_norm(X), Y), dim=1)\noutput O\n";
static char path[64];
#ifdef __SANITIZE_THREAD__
enum { SHORT = 1 }; /* what several threads do, of one program: it is slow there */
#else
enum { SHORT = 0 };
#endif
enum { CUTS = 40 / SPARSER };

static mg_graph *program(int k) { return parse(text[k]); }

static mg_status refuses(void *user, const mg_graph *g, mg_error *why) {
  return *(int *)user && !mg_is_program(g) ? mg_fail(why, MG_UNSUPPORTED, "test", "not today") : MG_OK;
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
/* 1: refused with `what` (NULL: anything) in the message, the file as it was.  0, where `whole` is given: it gives the same. */
static int refused(mg_graph *p, const mg_search_config *c, const char *what, const mg_search_result *whole) {
  mg_search_result r;
  mg_error e;
  size_t n, m;
  uint8_t *before = slurp(&n), *then;
  mg_status st = mg_search(p, c, &r, &e);
  if (st == MG_OK && whole) {
    same(whole, &r);
    mg_search_result_free(&r), free(before);
    return 0;
  }
  assert_int_equal(st, MG_BAD_INPUT);
  if (what && !strstr(e.msg, what)) fail_msg("expected '%s' in: %s", what, e.msg);
  if (!strstr(e.msg, "; it is left as it is")) fail_msg("what becomes of the file? %s", e.msg);
  assert_string_equal(e.where, path);
  then = slurp(&m);
  assert_int_equal(n, m);
  assert_memory_equal(before, then, n);
  free(before), free(then);
  mg_search_result_free(&r);
  return 1;
}

static uint64_t seed(const char *who) {
  const char *env = getenv("SEED");
  uint64_t s = env ? strtoull(env, NULL, 10) : 1;
  printf("%s: SEED=%llu\n", who, (unsigned long long)s);
  return s;
}
static size_t draw(uint64_t *s, size_t n) {
  *s = *s * 6364136223846793005ull + 1442695040888963407ull;
  return (size_t)(*s >> 16) % n;
}

/* The offsets of the records and of the end; how many records. */
static int records(const uint8_t *b, size_t n, size_t *at, int max) {
  int k = 0;
  mgi_se_kept_mark m;
  for (at[0] = sizeof(mgi_se_kept_head); at[k] < n && k + 1 < max; k++) memcpy(&m, b + at[k], sizeof m), at[k + 1] = at[k] + sizeof m + m.bytes;
  assert_int_equal(at[k], n);
  return k;
}

/* Any end that a kill can leave is gone on from; a byte that is another is said, or what it stood in is found again. */
static void torn_goes_on_and_damaged_is_refused(void **state) {
  (void)state;
  uint64_t s = seed(__func__);
  mg_error e;
  mg_graph *p = program(0);
  mg_search_config c = config(2);
  mg_search_result whole, r;
  unlink(path);
  c.max_kernel_ops = 1, c.checkpoint = path;
  assert_int_equal(mg_search(p, &c, &whole, &e), MG_OK);
  size_t n, at[4096];
  uint8_t *good = slurp(&n), *bad = (uint8_t *)malloc(n + 4096);
  int count = records(good, n, at, 4096), torn = 0, said = 0;
  assert_int_equal(count, whole.stats.frames);
  for (int k = 0; k < CUTS; k++) {
    size_t len = k < 2 ? draw(&s, sizeof(mgi_se_kept_head)) : k < 4 ? at[draw(&s, (size_t)count)] : draw(&s, n);
    put(good, len);
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    same(&whole, &r);
    int held = 0;
    while (held < count && at[held + 1] <= len) held++;
    assert_int_equal(r.stats.resumed, held);
    torn += held > 0 && held < count;
    mg_search_result_free(&r);
    free(slurp(&len));
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK); /* nothing is left out of what was appended */
    assert_int_equal(r.stats.resumed, count);
    mg_search_result_free(&r);
  }
  assert_true(torn > 1);
  for (int k = 0; k < 200; k += SPARSER) {
    memcpy(bad, good, n);
    size_t i = k < 80 ? (size_t)k : draw(&s, n);
    bad[i] = (uint8_t)(bad[i] ^ 1 << draw(&s, 8));
    put(bad, n);
    said += refused(p, &c, i < 8 ? "something else" : "damaged at byte", i >= at[count - 1] ? &whole : NULL);
  }
  assert_true(said > 100 / SPARSER);
  memcpy(bad, good, n), memset(bad + n, 0, 4096); /* room that was never written */
  put(bad, n + 4096);
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  same(&whole, &r);
  assert_int_equal(r.stats.resumed, count);
  mg_search_result_free(&r);
  free(bad), bad = slurp(&n);
  assert_memory_equal(bad, good, n);
  bad = (uint8_t *)realloc(bad, n + 64), memset(bad + n, 7, 64); /* what no search has written */
  put(bad, n + 64);
  refused(p, &c, "damaged at byte", NULL);
  put((const uint8_t *)"program", 7);
  refused(p, &c, "something else", NULL);
  put((const uint8_t *)"mirageK7 and so on", 18);
  refused(p, &c, "the beginning of another's", NULL);
  free(good), free(bad);
  unlink(path);
  mg_search_result_free(&whole);
  mg_graph_free(p);
}

/* Everything that a result depends on is in the key; the message says which of it is another. */
static void foreign_is_refused(void **state) {
  (void)state;
  mg_error e;
  mg_graph *p = program(0), *q = program(1);
  mg_search_config c = config(2), d;
  mg_search_result r;
  unlink(path);
  c.max_kernel_ops = 1, c.max_block_ops = 6, c.checkpoint = path;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  mg_search_result_free(&r);
  refused(q, &c, "found one of another program", NULL);
  int no = 0;
#define OTHER(change) d = c, change, refused(p, &d, "found one of other options", NULL)
  OTHER(d.max_kernel_ops = 2), OTHER(d.max_loops = 2), OTHER(d.max_block_ops = 5), OTHER(d.top_k = 3), OTHER(d.bound = 0), OTHER(d.prune = 0), OTHER(d.seed = 7);
  OTHER(d.max_states = 100), OTHER(d.max_structures = 100), OTHER(d.max_steps = 1000), OTHER((d.emittable = refuses, d.user = &no));
  OTHER(d.egraph.nodes = 100), OTHER(d.egraph.seconds = 1), OTHER(d.egraph.no_copies = 1);
#undef OTHER
  d = c, d.machine = mg_machine_find("A100"), refused(p, &d, "found one of another GPU", NULL);
  for (int k = 0; k < mg_machine_count(); k++) {
    d = c, d.machine = mg_machine_at(k);
    if (d.machine != mg_machine_find("H200")) refused(p, &d, "found one of another GPU", NULL);
  }
  for (int k = 0;; k++) { /* a row with one figure of it changed */
    mg_machine row = *mg_machine_find("H200");
    int last = 0;
    switch (k) {
      case 0: row.name = "H201"; break;
      case 1: row.arch = "sm_90"; break;
      case 2: row.sms--; break;
      case 3: row.shared_per_block -= 1024; break;
      case 4: row.shared_per_sm -= 1024; break;
      case 5: row.registers_per_sm /= 2; break;
      case 6: row.l2_bytes /= 2; break;
      case 7: row.dram_gbps *= 1.01; break;
      case 8: row.l2_gbps *= 1.01; break;
      case 9: row.tensor_tflops *= 1.01; break;
      case 10: row.fp32_tflops *= 1.01; break;
      case 11: row.shared_bytes_us *= 1.01; break;
      case 12: row.launch_us *= 1.01; break;
      case 13: row.barrier_us *= 1.01; break;
      case 14: row.can ^= MG_CAN_WARPGROUP; break;
      case 15: row.threads_per_sm -= 512; break;
      case 16: row.blocks_per_sm--; break;
      case 17: row.source = "measured: again"; break;
      default: last = 1; break;
    }
    if (last) break;
    d = c, d.machine = &row, refused(p, &d, "found one of another GPU", NULL);
  }
  size_t n; /* made by another version, or when the model gave other times */
  uint8_t *b = slurp(&n);
  mgi_se_kept_head h;
  memcpy(&h, b, sizeof h);
  h.key.part[3]++, h.check = mgi_se_key_hash(&h.key);
  memcpy(b, &h, sizeof h);
  put(b, n);
  refused(p, &c, "found one of another version, or another model", NULL);
  h.key.part[3]--, h.check = mgi_se_key_hash(&h.key);
  memcpy(b, &h, sizeof h);
  put(b, n);
  free(b);
  d = c, d.threads = 1, d.time_limit_s = 100; /* these change nothing */
  assert_int_equal(mg_search(p, &d, &r, &e), MG_OK);
  assert_int_equal(r.stats.resumed, r.stats.frames);
  mg_search_result_free(&r);
  d.checkpoint = "no such directory/checkpoint";
  assert_int_equal(mg_search(p, &d, &r, &e), MG_MACHINE);
  unlink(path);
  mg_graph_free(p), mg_graph_free(q);
}

/* The model's figures are in the key by what it says of sample kernels: every figure that it has of a GPU moves that. */
static void model_is_in_the_key(void **state) {
  (void)state;
  uint64_t seen[16];
  int n = 0;
  for (int k = 0; k < 12; k++) {
    mg_machine row = *mg_machine_find("H200");
    double *const rate[] = { NULL, &row.dram_gbps, &row.l2_gbps, &row.tensor_tflops, &row.fp32_tflops, &row.shared_bytes_us, &row.launch_us, &row.barrier_us };
    if (k && k < 8) *rate[k] *= 1 + 1e-6;
    if (k == 8) row.sms--;
    if (k == 9) row.shared_per_block -= 16 << 10;
    if (k == 10) row.shared_per_sm -= 16 << 10;
    if (k == 11) row.can = mg_machine_find("sm_80")->can;
    uint64_t h = mgi_se_model_hash(&row);
    assert_true(h == mgi_se_model_hash(&row));
    for (int j = 0; j < n; j++) if (seen[j] == h) fail_msg("change %d is not seen", k);
    seen[n++] = h;
  }
}

/* Numbers of every length there and back; what is cut off, or longer than 64 bits, or too large for its field, is bad. */
static void numbers_come_back(void **state) {
  (void)state;
  uint64_t s = seed(__func__);
  for (int k = 0; k < 100000 / SPARSER; k++) {
    mgi_se_buffer c;
    memset(&c, 0, sizeof c);
    int64_t v = (int64_t)(s >> draw(&s, 64)) * (draw(&s, 2) ? 1 : -1);
    if (k < 4) v = k < 2 ? INT64_MAX - k : INT64_MIN + k - 2;
    mgi_se_number(&c, v);
    assert_true(!c.bad && c.n >= 1 && c.n <= 10 && (c.n == 1) == (v >= -64 && v < 64));
    c.at = 0, c.reads = 1;
    assert_true(mgi_se_number(&c, 0) == v && !c.bad && c.at == c.n);
    c.at = 0;
    int8_t small = 0;
    MGI_SE_FIELD(&c, small);
    assert_int_equal(c.bad, v < -128 || v > 127);
    assert_true(c.bad || small == v);
    c.at = 0, c.n--, c.bad = 0;
    mgi_se_number(&c, 0);
    assert_true(c.bad);
    free(c.b);
  }
  uint8_t endless[16];
  memset(endless, 0x80, sizeof endless);
  mgi_se_buffer c = { endless, sizeof endless, 0, 0, 1 };
  mgi_se_number(&c, 0);
  assert_true(c.bad);
}

/* A record whose checksums are right, with one field of a structure that cannot be: refused, not followed.  What could be is
   searched on with, and then verified like anything else. */
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
  size_t n, at[4096];
  uint8_t *good = slurp(&n);
  int count = records(good, n, at, 4096), which = 0;
  mgi_se_kept_head h;
  mgi_se_kept k;
  mgi_se_buffer in;
  memcpy(&h, good, sizeof h);
  do { /* the first frame that found something */
    memset(&in, 0, sizeof in);
    in.b = good, in.at = at[which] + sizeof(mgi_se_kept_mark), in.n = at[which + 1], in.reads = 1;
    mgi_se_kept_code(&in, &k);
  } while (!k.n && ++which < count);
  assert_true(which < count);
  mgi_se_search *S = (mgi_se_search *)calloc(1, sizeof *S); /* the segment's frames, to read it with */
  mgi_se_found found;
  memset(&found, 0, sizeof found);
  S->root = S, S->p = p, S->cfg = c, S->cfg.machine = mg_machine_find("H200"), S->cfg.max_loops = 1, S->cfg.max_states = 4096;
  pthread_mutex_init(&S->lock, NULL);
  mg_graph *own = NULL;
  int frames = 0;
  assert_int_equal(mg_resize(p, NULL, NULL, &own, &e), MG_OK);
  assert_int_equal(mgi_se_segment_begin(S, own, &found, 1, &frames, &e), MG_OK);
  assert_true(frames && k.frame < S->n_frames);
  size_t from = in.at;
  mgi_se_structure t, f;
  mgi_se_structure_code(&in, S->seg, &S->frame[k.frame], &t);
  assert_false(in.bad);
  int load = 0, other = t.n - 1, tried = 0;
  while (t.op[load].code != MG_OP_LOAD) load++;
  while (!t.op[other].n_in) other--;
  for (int i = 0;; i++) {
    f = t;
    int skip = 0;
    switch (i) {
      case 0: f.n = 0; break;
      case 1: f.n = MGI_SE_SOPS + 1; break;
      case 2: f.op[other].code = -1; break;
      case 3: f.op[other].code = 30000; break;
      case 4: f.op[other].n_in = 100; break;
      case 5: f.op[other].in[0] = (int16_t)other; break;
      case 6: f.op[other].in[0] = -1; break;
      case 7: f.op[other].in[0] = 30000; break;
      case 8: f.op[other].scope = 5; break;
      case 9: f.op[other].scope = -2; break;
      case 10: f.op[other].rank = MG_MAX_RANK + 1; break;
      case 11: f.op[other].rank = -1; break;
      case 12: f.op[load].cls[0] = 120; break;
      case 13: f.op[load].mask[0] = 0xFF; break;
      case 14: f.op[load].arg = 100; break;
      case 15: f.op[load].arg = -1; break;
      case 16: f.out[0] = (int16_t)f.n; break;
      case 17: f.us = -1; break;
      case 18: memset(&f.us, 0xFF, sizeof f.us); break; /* no number */
      case 19: f.op[load].code = MG_OP_STORE; break;
      case 20: f.op[load].n_in = 1; break;
      case 21: f.omap[0][1] = MG_MAX_RANK; skip = !f.n_grid; break;
      case 22: f.omap[0][1] = -2; skip = !f.n_grid; break;
      case 23:
        skip = 1;
        for (int j = 0; j < f.n; j++) if (f.op[j].code == MG_OP_ACCUM) f.op[j].map[0] = 9, skip = 0;
        break;
      case 24: case 25: case 26: break; /* a byte too few; one too many; more structures than it says */
      default: skip = -1; break;
    }
    if (skip < 0) break;
    if (skip) continue;
    mgi_se_buffer w;
    memset(&w, 0, sizeof w);
    mgi_se_put(&w, good, from);
    mgi_se_structure_code(&w, S->seg, &S->frame[k.frame], &f);
    mgi_se_put(&w, good + in.at, at[which + 1] - in.at);
    if (i == 24) w.n--;
    if (i == 25) mgi_se_put(&w, "", 1);
    if (i == 26) mgi_se_structure_code(&w, S->seg, &S->frame[k.frame], &f);
    mgi_se_kept_mark m;
    m.bytes = (uint32_t)(w.n - at[which] - sizeof m), m.mark = mgi_se_kept_marked(h.check, m.bytes), m.check = mgi_se_bytes_hash(h.check, w.b + at[which] + sizeof m, m.bytes);
    memcpy(w.b + at[which], &m, sizeof m);
    mgi_se_put(&w, good + at[which + 1], n - at[which + 1]);
    assert_false(w.bad);
    put(w.b, w.n);
    refused(p, &c, "none of this search", NULL);
    tried++;
    free(w.b);
  }
  assert_true(tried >= 24);
  mgi_se_segment_free(S), mgi_se_found_free(&found);
  pthread_mutex_destroy(&S->lock);
  free(S), free(good);
  unlink(path);
  mg_graph_free(p);
}

/* In the process that is killed: as soon as its checkpoint has grown, by its own hand.  Until then it is slow, so that a fast
   machine does not end the search first. */
static off_t was;
static void dies_with_a_checkpoint(void *user, const mg_graph *g) {
  struct stat at;
  struct timespec t = { 0, 5000000 };
  (void)user, (void)g;
  if (stat(path, &at) != 0) return;
  if (was && at.st_size > was) kill(getpid(), SIGKILL);
  was = was ? was : at.st_size;
  nanosleep(&t, NULL);
}

/* A search that is killed again and again, each time after it has gone on for a while: the last one gives what one that
   nothing ended gives. */
static void killed_goes_on(void **state) {
  (void)state;
  uint64_t s = seed(__func__);
  mg_error e;
  mg_graph *p = parse(many);
  mg_search_result whole, r;
  const char *env = getenv("SOAK_KILLS");
  int kills = env ? atoi(env) : 6, killed = 0, kept = 0;
  mg_search_config c = mg_search_config_default();
  c.threads = 2, c.max_block_ops = 5, c.top_k = 4;
  assert_int_equal(mg_search(p, &c, &whole, &e), MG_OK);
  c.checkpoint = path;
  fflush(stdout);
  for (int k = 0; k < kills; k++) {
    int own = k % 6 == 0; /* this one surely dies, and has kept something */
    if (own) unlink(path);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
      if (own) c.structure = dies_with_a_checkpoint;
      mg_status st = mg_search(p, &c, &r, &e);
      _exit(st == MG_OK ? 0 : 1);
    }
    double wait = whole.stats.seconds * (double)draw(&s, 1000) / 1000 * (k % 6 == 5 ? 2 : 0.6);
    struct timespec t = { (time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9) };
    int status = 0;
    if (!own) nanosleep(&t, NULL), kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    else killed++;
    if (k % 6 != 5 && k + 1 < kills) continue;
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    same(&whole, &r);
    kept += r.stats.resumed > 0;
    mg_search_result_free(&r);
  }
  printf("%d searches, %d killed\n", kills, killed);
  assert_true(killed > 0 && kept > 0);
  unlink(path);
  mg_search_result_free(&whole);
  mg_graph_free(p);
}

/* A search that goes on from a checkpoint and is ended at once still has what the checkpoint held. */
static void ended_at_once_keeps_what_was_found(void **state) {
  (void)state;
  mg_error e;
  mg_graph *p = program(0);
  mg_search_config c = config(1);
  mg_search_result r;
  unlink(path);
  c.max_kernel_ops = 1, c.checkpoint = path;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  double us = r.predicted_us[0];
  mg_search_result_free(&r);
  c.time_limit_s = 1e-9;
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
  assert_int_equal(r.stats.complete, 0);
  assert_int_equal(r.stats.resumed, r.stats.frames);
  assert_false(mg_is_program(r.graph[0]));
  assert_true(r.predicted_us[0] < 1.5 * us);
  mg_search_result_free(&r);
  unlink(path);
  mg_graph_free(p);
}

/* Where no byte fits any more: the result is there, and it says that the checkpoint is not. */
static void full_is_said(void **state) {
  (void)state;
  mg_error e;
  mg_graph *p = program(1);
  mg_search_config c = config(1);
  mg_search_result whole, r;
  struct rlimit was, small;
  c.max_kernel_ops = 1;
  assert_int_equal(mg_search(p, &c, &whole, &e), MG_OK);
  assert_int_equal(whole.stats.checkpoint_lost, 0);
  c.checkpoint = path;
  unlink(path);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
  small = was, small.rlim_cur = 2000;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  mg_status st = mg_search(p, &c, &r, &e);
  setrlimit(RLIMIT_FSIZE, &was);
  assert_int_equal(st, MG_OK);
  same(&whole, &r);
  assert_int_equal(r.stats.checkpoint_lost, 1);
  mg_search_result_free(&r);
  assert_int_equal(mg_search(p, &c, &r, &e), MG_OK); /* there is room again: what was written counts */
  same(&whole, &r);
  assert_int_equal(r.stats.checkpoint_lost, 0);
  mg_search_result_free(&r), mg_search_result_free(&whole);
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
  p = parse(many);
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
    if (!SHORT) {
      d = c, d.max_block_ops = 6, r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
      d = c, d.max_kernel_ops = 1, r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
      d = c, d.top_k = 2, r = cached(p, &d, 0, NULL), assert_int_equal(r.n, 2), mg_search_result_free(&r);
      d = c, d.seed = 5, r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
      d = c, d.machine = mg_machine_find("A100"), r = cached(p, &d, 0, NULL), mg_search_result_free(&r);
      r = cached(q, &c, 0, NULL), mg_search_result_free(&r);
    }
    assert_int_equal(entries(), SHORT ? 1 : 7);
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

/* Every damaged entry is searched anew and replaced; so is one whose µGraphs are others, checksum and all. */
static void cache_believes_nothing(void **state) {
  (void)state;
  uint64_t s = seed(__func__);
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
    size_t at = k < 5 ? (size_t)k * 7 : draw(&s, n);
    bad[at] = (uint8_t)(bad[at] ^ 1 << draw(&s, 8));
    put(bad, k % 3 == 2 ? draw(&s, n) : n);
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
  for (size_t k = sizeof(mgi_se_cache_head); k + strlen(text) <= n && !start; k++) if (!memcmp(good + k, text, strlen(text))) start = k;
  assert_true(start > 0);
  int tried = 0;
  for (int k = 0; k < 4; k++) {
    const char *at = strstr(text, edit[k][0]);
    if (!at) continue;
    memcpy(bad, good, n), memcpy(bad + start + (at - text), edit[k][1], strlen(edit[k][1]));
    mgi_se_cache_head h;
    memcpy(&h, bad, sizeof h);
    h = mgi_se_cache_head_of(h.key, bad + sizeof h, n - sizeof h);
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
  const struct CMUnitTest threads[] = {
    cmocka_unit_test(resumed_equals_uninterrupted), cmocka_unit_test(threads_and_seeds_agree), cmocka_unit_test(cache_gives_the_same_result), cmocka_unit_test(cache_is_shared),
  };
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(resumed_equals_uninterrupted), cmocka_unit_test(torn_goes_on_and_damaged_is_refused), cmocka_unit_test(foreign_is_refused),
    cmocka_unit_test(model_is_in_the_key), cmocka_unit_test(numbers_come_back), cmocka_unit_test(forged_are_refused), cmocka_unit_test(killed_goes_on), cmocka_unit_test(ended_at_once_keeps_what_was_found),
    cmocka_unit_test(full_is_said),
    cmocka_unit_test(threads_and_seeds_agree), cmocka_unit_test(cache_gives_the_same_result), cmocka_unit_test(cache_keeps_what_is_final),
    cmocka_unit_test(cache_believes_nothing), cmocka_unit_test(cache_is_shared),
  };
  snprintf(path, sizeof path, "resume.%ld.checkpoint", (long)getpid());
  snprintf(dir, sizeof dir, "resume.%ld.cache", (long)getpid());
  if (SHORT) return cmocka_run_group_tests(threads, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
