/* Programs and options at the edges of what mg_search takes: each ends with a result or one clear line; `complete` is 1 only
   where nothing was left out; the result is that of any number of threads, of any seed, and of a search that was interrupted.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_edges.c -o build/test_edges -lcmocka -lm -lpthread && build/test_edges [SEED]
   The seed, which is printed, draws programs.  SOAK_EDGES=n: so many, instead of two. */
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"
#include "same.h"
#include "drawn.h"
#include <limits.h>
#include <unistd.h>

static uint64_t seed = 1;
static const char *const linear = "program linear\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 512]\nO = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n";

static mg_search_result found(const mg_graph *p, const mg_search_config *c) {
  mg_search_result r;
  mg_error e;
  if (mg_search(p, c, &r, &e) != MG_OK) fail_msg("%s: %s: %s", p->name, e.where, e.msg);
  for (int k = 0; k < r.n; k++) assert_true((r.report[k].verdict == MG_EQUAL || r.report[k].verdict == MG_EQUAL_SAMPLED) && r.predicted_us[k] > 0);
  for (int k = 0; k < r.n; k++) for (int j = 0; j < k; j++) assert_true(mg_hash(r.graph[j]) != mg_hash(r.graph[k]));
  return r;
}
/* What a search of `text` says of itself. */
static mg_search_stats stats_of(const char *text, const mg_search_config *c) {
  mg_graph *p = parse(text);
  mg_search_result r = found(p, c);
  mg_search_stats s = r.stats;
  mg_search_result_free(&r), mg_graph_free(p);
  return s;
}

/* ---- complete */

static volatile int halt;
static void halts(void *user, const mg_graph *g) { (void)user, (void)g, halt = 1; }

/* Every limit that ends something early is told; those of the stated space are not. */
static void limits_are_told(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1;
  assert_int_equal(stats_of(linear, &c).complete, 1);
#define TOLD(change) do { mg_search_config d = c; change; assert_int_equal(stats_of(linear, &d).complete, 0); } while (0)
  TOLD(d.max_states = 40); TOLD(d.max_structures = 1); TOLD(d.max_steps = 1); TOLD(d.egraph.nodes = 40); TOLD(d.egraph.no_copies = 1; d.egraph.nodes = 30); TOLD(d.time_limit_s = 1e-9);
  TOLD(d.stop = &halt; d.structure = halts);
  halt = 0;
#undef TOLD
#define STATED(change) do { mg_search_config d = c; change; assert_int_equal(stats_of(linear, &d).complete, 1); } while (0)
  STATED(d.max_block_ops = 3); STATED(d.max_kernel_ops = 2); STATED(d.top_k = 1); STATED(d.bound = 0); STATED(d.threads = 3);
#undef STATED
}

/* Bounds that bind at some elements and not at others, where values are told apart: the program comes back as the one kernel that
   it is.  (Where the bound won everywhere, exp(clamp_min(X, 0)) stood for the whole, and its checks failed.) */
static void clamps_are_told_apart(void **state) {
  static const char *const of[] = {"exp(clamp(X, 0, 6))", "mul(X, clamp(add_scalar(X, 3), 0, 6))", "silu(clamp_max(relu(X), 6))", "exp(clamp(sum(X, dim=1), -1, 1))"};
  mg_search_config c = mg_search_config_default();
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++)
    for (c.seed = 1; c.seed <= 6; c.seed += SPARSER) {
      char text[200];
      snprintf(text, sizeof text, "program p\ninput X : f16[512, 1024]\nO = %s\noutput O\n", of[k]);
      mg_graph *p = parse(text);
      mg_search_result r = found(p, &c);
      assert_true(r.stats.complete && r.n > 0);
      assert_int_equal((int)r.graph[0]->n_ops, 2); /* one, from 1 on */
      mg_search_result_free(&r), mg_graph_free(p);
    }
}

/* The flag and the time limit end frames, which are not walked to their end for it. */
static void frames_heed_the_search(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default(), d;
  c.max_kernel_ops = 1, c.bound = 0, c.threads = 1;
  const mg_search_stats whole = stats_of(linear, &c);
  d = c, d.stop = &halt, d.structure = halts;
  const mg_search_stats stopped = stats_of(linear, &d);
  halt = 0;
  d = c, d.time_limit_s = 1e-9;
  const mg_search_stats late = stats_of(linear, &d);
  assert_true(whole.complete && stopped.late && stopped.structures > 0 && 2 * stopped.structures < whole.structures);
  assert_true(late.late && 10 * late.states < whole.states);
}

/* The closure of a product of 20 factors, written down, would have hundreds of millions of terms: of a search's time limit, of the caller's
   flag and of the e-graph's own limit it takes notice, and leaves time for what follows. */
static void *halts_soon(void *user) {
  for (double t = mgi_se_seconds(); mgi_se_seconds() < t + 0.2;) {}
  __atomic_store_n((volatile int *)user, 1, __ATOMIC_RELAXED);
  return NULL;
}
static void closures_heed_the_search(void **state) {
  (void)state;
  char text[2048] = "program product\n";
  size_t n = strlen(text);
  for (int k = 0; k < 14; k++) n += (size_t)snprintf(text + n, sizeof text - n, "input X%d : f16[64, 512]\n", k);
  n += (size_t)snprintf(text + n, sizeof text - n, "P0 = exp(X0)\n");
  for (int k = 1; k < 20; k++) n += (size_t)snprintf(text + n, sizeof text - n, "P%d = mul(P%d, X%d)\n", k, k - 1, k % 14);
  snprintf(text + n, sizeof text - n, "output P19\n");
  for (int t = 0; t < 3; t++) {
    volatile int stop = 0;
    pthread_t thread;
    mg_search_config c = mg_search_config_default();
    c.egraph.nodes = 20000000, c.threads = 1;
    if (t != 1) c.time_limit_s = 0.6;
    if (t == 2) c.egraph.seconds = 0.05;
    if (t == 1) c.stop = &stop, assert_int_equal(pthread_create(&thread, NULL, halts_soon, (void *)&stop), 0);
    const mg_search_stats s = stats_of(text, &c);
    if (t == 1) pthread_join(thread, NULL);
    assert_true(!s.complete && s.late && s.seconds < 8);
    assert_string_equal(s.egraph_stop, t == 2 ? "TIME" : "STOPPED");
  }
}

/* A reshape's dimensions stay as they are, and the program is not compared with itself for the hour that three products of functions would
   take at full size: it is equal by identity. */
static void checks_heed_the_search(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[2048, 2048]\ninput W : f16[2048, 2048]\nA = silu(matmul(X, W))\nB = silu(matmul(A, W))\n"
                      "C = silu(matmul(B, W))\nO = reshape(C, [4194304])\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.time_limit_s = 0.5, c.max_kernel_ops = 1;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg); /* what is left is the program itself */
  assert_true(r.stats.seconds < 20);
  assert_int_equal(r.n, 1);
  assert_true(mg_graph_equal(r.graph[0], p));
  assert_true(r.report[0].verdict == MG_EQUAL && r.report[0].proof == MG_PROOF_IDENTITY);
  mg_search_result_free(&r), mg_graph_free(p);
}

/* A check that its own limit ends says so apart from the search's: what hangs on how busy the machine is goes into no cache. */
static void a_checks_own_limit_is_apart(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[2048, 2048]\ninput W : f16[2048, 2048]\nA = silu(matmul(X, W))\nO = reshape(A, [4194304])\noutput O\n");
  mg_graph *q = parse("program q\ninput X : f16[2048, 2048]\ninput W : f16[2048, 2048]\nA = silu(scale(matmul(X, W), 1))\nO = reshape(A, [4194304])\noutput O\n");
  for (int over = 0; over < 2; over++) {
    mgi_se_search S;
    mg_verify_report r;
    mg_verify_config v = mg_verify_config_default();
    memset(&S, 0, sizeof S);
    S.end = over ? 0 : mgi_se_seconds() + 1000;
    v.tier = MG_TIER_FAST, v.time_limit_s = 0.01;
    assert_false(mgi_se_equal(&S, p, q, &v, &r));
    assert_true(r.unfinished && S.cut);
    assert_int_equal(S.late, over);
    assert_int_equal(S.timed, !over);
  }
  mg_graph_free(p), mg_graph_free(q);
}

/* A check that is under way when the search is stopped ends then: it has one second more, as those have that begin later. */
static void halts_at_once(void *user, const mg_verify_progress *p) { (void)p, *(volatile int *)user = 1; }
static void checks_heed_an_interrupt(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[2048, 2048]\ninput W : f16[2048, 2048]\nA = silu(matmul(X, W))\nO = reshape(A, [4194304])\noutput O\n");
  mg_graph *q = parse("program q\ninput X : f16[2048, 2048]\ninput W : f16[2048, 2048]\nA = silu(scale(matmul(X, W), 1))\nO = reshape(A, [4194304])\noutput O\n");
  mg_graph *small = parse("program p\ninput X : f16[4, 4]\nO = reshape(X, [16])\noutput O\n");
  mg_graph *other = parse("program q\ninput X : f16[4, 4]\nO = scale(reshape(X, [16]), 1)\noutput O\n");
  volatile int stop = 0;
  mgi_se_search S;
  mg_verify_report r;
  memset(&S, 0, sizeof S);
  S.end = mgi_se_seconds() + 1e6, S.cfg.stop = &stop;
  mg_verify_config v = mgi_se_check_config(&S);
  assert_ptr_equal(v.stop, &stop);
  v.time_limit_s = 0, v.progress = halts_at_once, v.user = (void *)(uintptr_t)&stop; /* without `stop` it would take what it takes */
  assert_false(mgi_se_equal(&S, p, q, &v, &r));
  assert_true(r.unfinished && S.cut && S.late && !S.timed);
  stop = 0;
  assert_true(mgi_se_equal(&S, small, other, &v, &r) && stop); /* what was found by then is kept */
  v = mgi_se_check_config(&S);
  assert_true(!v.stop && v.time_limit_s == 1);
  mg_graph_free(p), mg_graph_free(q), mg_graph_free(small), mg_graph_free(other);
}

/* More operators than a structure has room for: unary ones are not counted, so no stated limit leaves them out.  Cut into
   kernels, it is no slower than what a kernel of each operator is. */
static void no_room_is_told(void **state) {
  (void)state;
  char text[4096];
  size_t n = (size_t)snprintf(text, sizeof text, "program chain\ninput X : f16[4, 8]\nT0 = silu(X)\n");
  for (int k = 1; k < 52; k++) n += (size_t)snprintf(text + n, sizeof text - n, "T%d = %s(T%d)\n", k, k % 2 ? "gelu" : "silu", k - 1);
  n += (size_t)snprintf(text + n, sizeof text - n, "O = max(max(T51, dim=1), dim=0)\noutput O\n"); /* no kernel by rows */
  mg_search_config c = mg_search_config_default();
  c.max_block_ops = 3;
  for (int bound = 0; bound < 2; bound++) {
    c.bound = bound, c.max_kernel_ops = 1;
    assert_int_equal(stats_of(text, &c).complete, 0);
  }
  mg_graph *p = parse(text);
  c.max_kernel_ops = 2, c.top_k = 1, c.max_states = 64;
  mg_search_result r = found(p, &c);
  assert_int_equal(r.stats.best_kernels, 2);
  assert_true(r.predicted_us[0] * 8 < mg_predict_us(p, NULL));
  mg_search_result_free(&r), mg_graph_free(p);
}

/* A size that may not be made small is cut by one axis only where its divisors leave no room for two. */
static void sizes_that_stay_are_told(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_block_ops = 3;
  assert_int_equal(stats_of("program p\ninput X : f16[32, 4]\ninput Y : f16[8, 4, 4]\nO = mul(reshape(X, [8, 4, 4]), Y)\noutput O\n", &c).complete, 1);
  assert_int_equal(stats_of("program p\ninput X : f16[48, 4]\ninput Y : f16[8, 6, 4]\nO = mul(reshape(X, [8, 6, 4]), Y)\noutput O\n", &c).complete, 0);
  assert_int_equal(stats_of("program p\ninput X : f16[24, 4]\ninput Y : f16[8, 3, 4]\nO = mul(reshape(X, [8, 3, 4]), Y)\noutput O\n", &c).complete, 1);
  assert_int_equal(stats_of("program p\ninput X : f16[6, 64]\ninput Y : f16[6, 8, 8]\nO = mul(reshape(X, [6, 8, 8]), Y)\noutput O\n", &c).complete, 1); /* passed through */
}

/* Seven sums, each under an exponential: 3^7 sets of operators may have been run at some time.  Not all are listed. */
static void too_many_cuts_are_told(void **state) {
  (void)state;
  char text[2048] = "program p\n";
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 2, c.max_block_ops = 1;
  for (int outputs = 3; outputs <= 7; outputs += 4) {
    size_t n = (size_t)snprintf(text, sizeof text, "program p\n");
    for (int k = 0; k < outputs; k++) n += (size_t)snprintf(text + n, sizeof text - n, "input X%d : f16[4, 8]\n", k);
    for (int k = 0; k < outputs; k++) n += (size_t)snprintf(text + n, sizeof text - n, "O%d = exp(sum(X%d, dim=1))\noutput O%d\n", k, k, k);
    assert_int_equal(stats_of(text, &c).complete, outputs == 3);
  }
}

/* 26 constants, more than a segment's table has. */
static void too_many_constants_are_told(void **state) {
  (void)state;
  char text[4096];
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_block_ops = 1;
  for (int pairs = 3; pairs <= 13; pairs += 10) {
    size_t n = (size_t)snprintf(text, sizeof text, "program p\ninput X : f16[4, 8]\nT0 = silu(X)\n");
    for (int k = 1; k <= pairs; k++)
      n += (size_t)snprintf(text + n, sizeof text - n, "T%d = silu(add_scalar(add_scalar(T%d, %d), 1/%d))\n", k, k - 1, 2 * k, 2 * k + 1);
    snprintf(text + n, sizeof text - n, "output T%d\n", pairs);
    assert_int_equal(stats_of(text, &c).complete, pairs == 3);
  }
}

/* What a frame may hold is what it is told: not a value more. */
static void values_are_counted(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_states = 1;
  const mg_search_stats s = stats_of(linear, &c);
  assert_true(s.values == s.frames && !s.complete);
}

/* Two outputs that are one value: compositions over other values than the program's are not looked for. */
static void equal_outputs_are_told(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = c.max_block_ops = 2, c.top_k = 1;
  static const char *const text = "program p\ninput X : f16[2048, 2048]\ninput W : f16[2048, 2048]\nA = matmul(X, W)\nB = %s\noutput A, B\n";
  for (int twice = 0; twice < 2; twice++) {
    char program[256];
    snprintf(program, sizeof program, text, twice ? "matmul(X, W)" : "matmul(W, X)");
    assert_int_equal(stats_of(program, &c).complete, !twice);
  }
}

/* An extent of 240 divisors has more counts than are listed. */
static void many_divisors_are_told(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_block_ops = 1;
  assert_int_equal(stats_of("program p\ninput X : f16[4, 5040]\nO = exp(X)\noutput O\n", &c).complete, 1);
  assert_int_equal(stats_of("program p\ninput X : f16[4, 720720]\nO = exp(X)\noutput O\n", &c).complete, 0);
}

/* A hook that refuses all that is kept: what stood behind it was not offered.  One that takes some: the best of those. */
static mg_status of_many_operators(void *user, const mg_graph *g, mg_error *why) {
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].code == MG_OP_GRAPH && (int)g->ops[k].sub->n_ops < *(int *)user) return mg_fail(why, MG_UNSUPPORTED, "test", "too few");
  return MG_OK;
}
static void refusals_are_told(void **state) {
  (void)state;
  mg_search_config c = mg_search_config_default();
  int few = 16, many = 40;
  c.max_kernel_ops = 1, c.max_block_ops = 7, c.top_k = 1, c.emittable = of_many_operators;
  c.user = &few;
  mg_search_stats s = stats_of(linear, &c);
  assert_true(s.refused > 0 && s.best_block_ops > 0 && s.complete);
  c.user = &many;
  s = stats_of(linear, &c);
  assert_true(s.refused > 0 && s.best_block_ops == 0 && !s.complete);
}

/* A structure whose best tile is refused is asked for by others of its tiles. */
typedef struct tiles { uint32_t code[64]; int n, again; } tiles;
static mg_status none_of_them(void *user, const mg_graph *g, mg_error *why) {
  tiles *t = (tiles *)user, now;
  memset(&now, 0, sizeof now);
  for (uint32_t k = 1; g->ops[1].sub && k < g->ops[1].sub->n_ops && now.n < 64; k++) { /* of operators and maps, not of sizes */
    const mg_op_node *o = &g->ops[1].sub->ops[k];
    uint32_t h = (uint32_t)o->code;
    for (int a = 1; a < 6; a++) h = h * 31 + (uint32_t)(o->map.to[a] + 9);
    now.code[now.n++] = h;
  }
  t->again += now.n && now.n == t->n && !memcmp(now.code, t->code, sizeof now.code);
  memcpy(t->code, now.code, sizeof now.code), t->n = now.n;
  return mg_is_program(g) ? MG_OK : mg_fail(why, MG_UNSUPPORTED, "test", "a custom kernel");
}
static void refused_tiles_have_others(void **state) {
  (void)state;
  tiles t = { { 0 }, 0, 0 };
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_block_ops = 7, c.threads = 1, c.emittable = none_of_them, c.user = &t;
  const mg_search_stats s = stats_of(linear, &c);
  assert_true(s.refused > 0 && 2 * (uint64_t)t.again > s.refused);
}

/* Kernels that are taken one by one and refused together: the program of two that is best by then is not found. */
static mg_status of_one_kernel(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return g->n_ops > 2 ? mg_fail(why, MG_UNSUPPORTED, "test", "more than one kernel") : MG_OK;
}
static void refused_together_is_told(void **state) {
  (void)state;
  static const char *const text = "program p\ninput X : f16[16, 256]\ninput W : f16[256, 1000]\nO = softmax(matmul(X, W), dim=1)\noutput O\n";
  mg_search_config c = mg_search_config_default();
  mg_search_stats s = stats_of(text, &c);
  assert_true(s.best_kernels == 2 && s.complete);
  c.emittable = of_one_kernel;
  s = stats_of(text, &c);
  assert_true(s.best_kernels == 1 && s.refused > 0 && !s.complete);
  c.max_kernel_ops = 1;
  assert_true(stats_of(text, &c).complete);
}

/* (A|B)(W|W): an operator of more operands than stand before it goes to a checkpoint and comes back. */
static void operands_used_twice_come_back(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput A : f16[16, 48]\ninput B : f16[16, 48]\ninput W : f16[48, 24]\nO = matmul(add(A, B), W)\noutput O\n");
  char path[64];
  snprintf(path, sizeof path, "edges.%ld.checkpoint", (long)getpid());
  mg_search_config c = mg_search_config_default();
  c.bound = 0, c.max_block_ops = 4, c.max_kernel_ops = 1, c.checkpoint = path;
  remove(path);
  mg_search_result one = found(p, &c), again = found(p, &c);
  same(&one, &again);
  assert_int_equal(again.stats.resumed, again.stats.frames);
  remove(path);
  mg_search_result_free(&one), mg_search_result_free(&again), mg_graph_free(p);
}

/* ---- kinds of kernels: what a structure may have, each asked for where nothing else has it */

enum { THREE_AXES = 1, GROUP_BESIDE_TWO = 2, MAX_OF_LOOP = 4, MAX_OF_GRID = 8, LOOPS_OVER_ONE = 16, TWO_FUNCTIONS = 32 };
static int kinds_of(const mg_graph *g) {
  const mg_graph *b = g->ops[1].sub;
  int kinds = 0, cut = 0, group = 0, one[2] = { 0, 0 }, functions = 0;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    functions |= o->code == MG_OP_SILU ? 1 : o->code == MG_OP_GELU ? 2 : 0;
    for (uint32_t a = 1; a < b->n_axes; a++) {
      if (a <= 3 && o->code == MG_OP_STORE && o->map.to[a] >= 0) cut |= 1 << a;
      if (a <= 3 && o->code == MG_OP_ACCUM && o->map.to[a] == MG_MAP_SUM) group |= 1 << a;
      if (o->code == MG_OP_ACCUM && o->map.to[a] == MG_MAP_MAX) kinds |= a <= 3 ? MAX_OF_GRID : MAX_OF_LOOP;
      if (a > 3 && a < 6 && o->code == MG_OP_LOAD && o->map.to[a] == 1) one[a - 4] = 1;
    }
  }
  if (cut == 14) kinds |= THREE_AXES;
  if (group && (cut | group) == 14) kinds |= GROUP_BESIDE_TWO;
  return kinds | (one[0] && one[1] ? LOOPS_OVER_ONE : 0) | (functions == 3 ? TWO_FUNCTIONS : 0);
}
static void notes_kinds(void *user, const mg_graph *g) { *(int *)user |= kinds_of(g); }
static void every_kind_is_among_the_structures(void **state) {
  (void)state;
  static const struct { const char *text; int loops, ops, kinds; } of[] = {
    { "program p\ninput X : f16[3, 8, 16]\ninput W : f16[3, 16, 8]\nO = matmul(X, W)\noutput O\n", 1, 2, THREE_AXES | GROUP_BESIDE_TWO },
    { "program p\ninput X : f16[8, 64]\nO = max(X, dim=1)\noutput O\n", 1, 2, MAX_OF_LOOP | MAX_OF_GRID },
    { "program p\ninput X : f16[8, 64]\nO = div(X, sum(X, dim=1))\noutput O\n", 2, 4, LOOPS_OVER_ONE },
    { "program p\ninput X : f16[4, 6, 8]\nO = exp(transpose(X, [1, 2, 0]))\noutput O\n", 1, 1, THREE_AXES },
    { "program p\ninput X : f16[8, 64]\nO = silu(gelu(X))\noutput O\n", 1, 1, TWO_FUNCTIONS },
  };
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    int kinds = 0;
    mg_search_config c = mg_search_config_default();
    c.max_kernel_ops = 1, c.max_loops = of[k].loops, c.max_block_ops = of[k].ops, c.structure = notes_kinds, c.user = &kinds;
    assert_int_equal(stats_of(of[k].text, &c).complete, 1);
    if (of[k].kinds & ~kinds) fail_msg("%s\nkinds %d, of %d", of[k].text, kinds, of[k].kinds);
  }
}

/* ---- the best */

/* The first results are those of a search that leaves nothing out by the model's bounds: no promise, but so it is here. */
static void first_results_are_those_without_bounds(void **state) {
  (void)state;
  static const struct { const char *text; int ops; } of[] = {
    { "program a\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 512]\nO = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n", 8 },
    { "program b\ninput X : f16[8, 256]\ninput A : f16[256, 512]\ninput B : f16[256, 512]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n", 8 },
    { "program c\ninput X : f16[8, 64]\ninput Y : f16[8, 64]\nO = softmax(mul(rms_norm(X), Y), dim=1)\noutput O\n", 7 },
    { "program e\ninput Q : f16[2, 16, 64]\ninput K : f16[2, 64, 256]\ninput V : f16[2, 256, 64]\nO = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n", 6 },
  };
  for (size_t k = 0; k < sizeof of / sizeof *of; k += SPARSER) {
    mg_graph *p = parse(of[k].text);
    mg_search_config c = mg_search_config_default();
    c.max_kernel_ops = 1, c.max_block_ops = of[k].ops, c.top_k = 5;
    mg_search_result with = found(p, &c);
    c.bound = 0;
    mg_search_result without = found(p, &c);
    assert_true(with.n == 5 && without.n == 5 && with.stats.complete && without.stats.complete);
    for (int i = 0; i < 5; i++)
      if (fabs(with.predicted_us[i] - without.predicted_us[i]) > 1e-9 * without.predicted_us[i])
        fail_msg("%s\nresult %d: %.9f us with bounds, %.9f without", of[k].text, i, with.predicted_us[i], without.predicted_us[i]);
    mg_search_result_free(&with), mg_search_result_free(&without), mg_graph_free(p);
  }
}

/* What a frame found passes the check at uneven sizes, and does not with the operands of its difference exchanged. */
static void structures_are_checked(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\nO = sub(X, silu(Y))\noutput O\n"), *own = NULL;
  mgi_se_search *S = (mgi_se_search *)calloc(1, sizeof *S);
  mgi_se_found f;
  mg_verify_report report;
  mg_error e;
  int frames = 0, checked = 0;
  assert_non_null(S);
  memset(&f, 0, sizeof f);
  S->root = S, S->p = p, S->cfg = mg_search_config_default(), S->end = 1e300;
  S->cfg.machine = mg_machine_find("H200"), S->cfg.threads = S->cfg.max_kernel_ops = S->cfg.max_loops = 1, S->cfg.max_block_ops = 3, S->cfg.seed = 1;
  S->cfg.max_states = 4096, S->cfg.max_structures = 1000, S->cfg.max_steps = 100000;
  pthread_mutex_init(&S->lock, NULL);
  assert_int_equal(mg_resize(p, NULL, NULL, &own, &e), MG_OK);
  S->effort = MGI_SE_EFFORTS - 1;
  assert_int_equal(mgi_se_segment_begin(S, own, &f, 1, &frames, &e), MG_OK);
  for (int k = 0; k < S->n_frames; k++) mgi_se_run_frame(S, k);
  for (int k = 0; k < S->n_pool; k++) {
    mgi_se_structure t = S->pool[k];
    assert_true(mgi_se_fast_check(S, S->seg, &t, 0, &report));
    for (int i = 0; i < t.n; i++) {
      const int16_t a = t.op[i].in[0];
      if (t.op[i].code != MG_OP_SUB) continue;
      t.op[i].in[0] = t.op[i].in[1], t.op[i].in[1] = a, checked++;
      assert_false(mgi_se_fast_check(S, S->seg, &t, 0, &report));
    }
  }
  assert_true(checked > 0);
  mgi_se_segment_free(S), mgi_se_found_free(&f);
  pthread_mutex_destroy(&S->lock);
  free(S), mg_graph_free(p);
}

/* Times that are equal leave the model's order; and for `measure` the best result is damaged, after all checks: the certificate's tier
   refuses it, and the next one is taken. */
static mg_status all_alike(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  (void)program, (void)e;
  for (int k = 0; k < n; k++) us[k] = 7;
  for (uint32_t k = 1; user && g[0]->ops[1].sub && k < g[0]->ops[1].sub->n_ops; k++) {
    mg_op_node *o = (mg_op_node *)(uintptr_t)&g[0]->ops[1].sub->ops[k];
    const mg_tensor a = o->in[0];
    if (o->code == MG_OP_SUB) o->in[0] = o->in[1], o->in[1] = a, ++*(int *)user;
  }
  return MG_OK;
}
static void what_the_full_tier_refutes_is_not_taken(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[16, 64]\ninput Y : f16[16, 64]\nO = sub(X, silu(Y))\noutput O\n"), *best = NULL;
  mg_search_config c = mg_search_config_default();
  mg_verify_report report;
  mg_search_stats stats;
  mg_error e;
  int damaged = 0;
  c.max_kernel_ops = 1;
  mg_search_result plain = found(p, &c), timed;
  c.measure = all_alike;
  timed = found(p, &c);
  assert_true(plain.n > 2 && plain.n <= timed.n);
  for (int k = 0; k < plain.n; k++) assert_true(mg_hash(plain.graph[k]) == mg_hash(timed.graph[k]) && timed.measured_us[k] == 7);
  c.measure_user = &damaged;
  assert_int_equal(mg_superoptimize(p, &c, NULL, &best, &report, &stats, &e), MG_OK);
  assert_int_equal(damaged, 1);
  assert_true(report.verdict == MG_EQUAL && mg_hash(best) == mg_hash(plain.graph[1]) && stats.rejected == plain.stats.rejected + 1);
  mg_search_result_free(&plain), mg_search_result_free(&timed), mg_graph_free(best), mg_graph_free(p);
}

/* ---- options */

static void extreme_options(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = exp(silu(matmul(X, W)))\noutput O\n");
  mg_search_config c = mg_search_config_default(), d;
  mg_search_result plain = found(p, &c), r;
  d = c, d.threads = INT_MAX, r = found(p, &d), same(&plain, &r), mg_search_result_free(&r);
  d = c, d.max_kernel_ops = INT_MAX, r = found(p, &d), same(&plain, &r), mg_search_result_free(&r);
  d = c, d.max_states = d.max_structures = d.max_steps = INT64_MAX, r = found(p, &d), same(&plain, &r), mg_search_result_free(&r);
  d = c, d.threads = d.max_kernel_ops = d.max_block_ops = d.max_loops = d.top_k = INT_MIN, d.max_states = d.max_structures = d.max_steps = INT64_MIN, d.time_limit_s = -1;
  r = found(p, &d), same(&plain, &r), mg_search_result_free(&r);
  d = c, d.max_block_ops = d.max_loops = INT_MAX, d.bound = 0, r = found(p, &d);
  assert_true(r.stats.complete && r.predicted_us[0] <= plain.predicted_us[0]);
  mg_search_result_free(&r);
  d = c, d.top_k = 3000, r = found(p, &d);
  assert_true(r.n > plain.n);
  for (int k = 0; k < plain.n; k++) assert_true(mg_hash(r.graph[k]) == mg_hash(plain.graph[k]));
  mg_search_result_free(&r), mg_search_result_free(&plain), mg_graph_free(p);
}

/* ---- programs */

static const struct { const char *text, *error; } odd[] = { /* error: a part of the line that refuses it; NULL: it is searched */
  { "input X : f16[16, 1]\ninput W : f16[1, 64]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f16[16, 2]\ninput W : f16[2, 64]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f16[1, 1]\nO = rms_norm(X, eps=1/1000)\noutput O\n", NULL },
  { "input X : f16[7, 4093]\ninput W : f16[4093, 65]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f16[1, 65537]\nO = rms_norm(X, eps=1/1000)\noutput O\n", NULL },
  { "input X : f16[16, 14336]\ninput W : f16[14336, 4096]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f16[16, 11008]\ninput W : f16[11008, 4096]\nO = matmul(rms_norm(X), W)\noutput O\n", NULL },
  { "input X : f16[16, 1048576]\ninput W : f16[1048576, 64]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f16[1, 1099511627776]\nO = exp(X)\noutput O\n", NULL },
  { "input X : f16[1099511627776, 1]\ninput W : f16[1, 1]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f16[1, 1099511627689]\nO = exp(X)\noutput O\n", NULL },
  { "input X : f16[2, 1099511627776]\nO = exp(X)\noutput O\n", "at most 2^40 elements" },
  { "input X : f16[16, 16]\noutput X\n", "is an input" },
  { "input X : f16[16, 16]\nO = exp(X)\noutput O, O\n", "output 0 already" },
  { "input X : f16[]\nO = exp(X)\noutput O\n", "expected an extent" },
  { "input X : f16[16, 16]\ninput Y : f16[4, 4]\nO = exp(X)\noutput O\n", NULL },
  { "input X : f16[16, 100]\nA = exp(X)\nO = sqr(X)\noutput O\n", NULL },
  { "input X : f16[100]\ninput Y : f16[100]\nO = sum(mul(X, Y), dim=0)\noutput O\n", NULL },
  { "input X : f16[1]\nO = exp(X)\noutput O\n", NULL },
  { "input X : f16[2, 3, 16, 64]\ninput W : f16[2, 3, 64, 32]\nO = softmax(matmul(X, W), dim=3)\noutput O\n", NULL },
  { "input X : f16[5, 7, 11, 13]\nO = sum(sum(sum(sum(X, dim=0), dim=1), dim=2), dim=3)\noutput O\n", NULL },
  { "input X : bf16[16, 100]\ninput W : bf16[100, 64]\nO = matmul(X, W)\noutput O\n", NULL },
  { "input X : f32[16, 100]\ninput W : f32[100, 64]\nO = silu(matmul(X, W))\noutput O\n", NULL },
  { "input X : f16[16, 100]\ninput W : f32[100, 64]\nO = silu(matmul(X, W))\noutput O\n", NULL },
  { "input X : bf16[16, 100]\ninput W : f16[100, 64]\nO = matmul(X, W)\noutput O\n", "do not mix" },
  { "input X : f16[16, 100]\nA = exp(X)\nB = sqr(X)\nC = sum(X, dim=1)\nD = add(A, B)\noutput A, B, C, D\n", NULL },
  { "input X : f16[6, 10]\ninput Y : f16[6, 14]\ninput W : f16[24, 32]\nO = matmul(concat(X, Y, dim=1), W)\noutput O\n", NULL },
  { "input X : f16[64, 64]\nO = matmul(matmul(X, X), X)\noutput O\n", NULL },
  { "input X : f16[16, 1000]\nO = softmax(softmax(X, dim=1), dim=1)\noutput O\n", NULL },
  { "input X : f16[9, 10]\nO = transpose(transpose(transpose(X, [1, 0]), [1, 0]), [1, 0])\noutput O\n", NULL },
};
static void odd_programs(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
    char text[1024];
    mg_graph *p = NULL;
    mg_error e;
    snprintf(text, sizeof text, "program odd%zu\n%s", k, odd[k].text);
    mg_status st = mg_parse(text, strlen(text), "odd", NULL, &p, &e);
    if (odd[k].error) {
      assert_int_equal(st, MG_BAD_INPUT);
      if (!strstr(e.msg, odd[k].error) || strchr(e.msg, '\n')) fail_msg("%s\n%s", text, e.msg);
      continue;
    }
    if (st != MG_OK) fail_msg("%s\n%s", text, e.msg);
    mg_search_config c = mg_search_config_default();
    c.max_block_ops = 5, c.max_kernel_ops = 2, c.top_k = 3;
    mg_search_result r = found(p, &c);
    assert_true(r.n >= 1);
    assert_int_equal(r.stats.complete, !strstr(text, "10995116")); /* past 2^24 a few counts of an axis are tried */
    assert_true(r.predicted_us[0] <= mg_predict_us(p, NULL) * (1 + 1e-9));
    mg_search_result_free(&r), mg_graph_free(p);
  }
}

/* The first operator reads an input, reshaped: no operator made it. */
static void a_reshaped_input_in_another_order(void **state) {
  (void)state;
  mg_graph *p = parse("program keys\ninput K : bf16[1, 8, 1024, 64] @ [2, 0, 1, 3]\ninput Q : bf16[1, 8, 4, 1024, 64]\n"
                      "O = scale(matmul(Q, transpose(reshape(K, [1, 8, 1, 1024, 64]), [0, 1, 2, 4, 3])), 1/4)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  c.time_limit_s = 5;
  mg_search_result r = found(p, &c);
  assert_true(r.n >= 1);
  mg_search_result_free(&r), mg_graph_free(p);
}

/* ---- one result */

static uint64_t until, shows;
static void shows_and_halts(void *user, const mg_graph *g) {
  (void)user, (void)g;
  if (++shows >= until) halt = 1;
}
static void same_but_counts(const mg_search_result *a, const mg_search_result *b) {
  assert_int_equal(a->n, b->n);
  for (int k = 0; k < a->n; k++) assert_true(mg_hash(a->graph[k]) == mg_hash(b->graph[k]) && a->predicted_us[k] == b->predicted_us[k] && a->report[k].verdict == b->report[k].verdict);
  assert_int_equal(a->stats.complete, b->stats.complete);
}
static void same_but_seed(const mg_search_result *a, const mg_search_result *b) { /* another seed may need another number of tests */
  same_but_counts(a, b);
  assert_int_equal(a->stats.structures, b->stats.structures);
  assert_int_equal(a->stats.states, b->stats.states);
}
static void drawn_programs_have_one_result(void **state) {
  (void)state;
  const char *env = getenv("SOAK_EDGES");
  int programs = env ? atoi(env) : SANITIZED ? 1 : 2;
  uint64_t resumed = 0, states = 0;
  char path[64];
  snprintf(path, sizeof path, "edges.%ld.checkpoint", (long)getpid());
  for (int k = 0; k < programs; k++) {
    static draft drawn;
    static const int threads[] = { 2, 3, 7, 16 };
    char text[4096];
    drawn_from(seed, k);
    draw(&drawn, text, sizeof text);
    mg_search_config c = mg_search_config_default(), d;
    c.threads = 1, c.max_loops = 1 + below(2), c.max_kernel_ops = 1 + below(3), c.max_block_ops = 3 + below(3), c.top_k = 4 + below(8), c.bound = below(3) > 0;
    c.max_states = 48, c.max_structures = 200, c.max_steps = 10000, c.egraph.nodes = 1000, c.egraph.seconds = 1000; /* counts, and no clock */
    mg_graph *p = parse(text);
    mg_search_result one = found(p, &c), r;
    states += one.stats.states;
    for (int t = 0; t < 4; t += SPARSER) d = c, d.threads = threads[t], r = found(p, &d), same(&one, &r), mg_search_result_free(&r);
    for (uint64_t s = 2; s < (env ? 6 : 4); s++) d = c, d.threads = 2, d.seed = s * 0x9E3779B97F4A7C15u, r = found(p, &d), same_but_seed(&one, &r), mg_search_result_free(&r);
    d = c, d.threads = 2, d.checkpoint = path, d.structure = shows_and_halts, d.stop = &halt, remove(path);
    until = 1 + one.stats.structures / 2, shows = 0, halt = 0;
    mg_error e;
    mg_status st = mg_search(p, &d, &r, &e);
    assert_true(st == MG_OK || st == MG_NOT_FOUND);
    mg_search_result_free(&r);
    d.structure = NULL, halt = 0, r = found(p, &d), same_but_counts(&one, &r); /* the hook has more counted */
    resumed += r.stats.resumed;
    mg_search_result_free(&r), mg_search_result_free(&one), mg_graph_free(p);
    remove(path);
  }
  print_message("%d programs, %llu states; %llu frames resumed\n", programs, (unsigned long long)states, (unsigned long long)resumed);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  setvbuf(stdout, NULL, _IOLBF, 0);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(limits_are_told), cmocka_unit_test(clamps_are_told_apart), cmocka_unit_test(frames_heed_the_search), cmocka_unit_test(closures_heed_the_search), cmocka_unit_test(checks_heed_the_search), cmocka_unit_test(a_checks_own_limit_is_apart), cmocka_unit_test(checks_heed_an_interrupt),
    cmocka_unit_test(no_room_is_told), cmocka_unit_test(sizes_that_stay_are_told), cmocka_unit_test(too_many_cuts_are_told),
    cmocka_unit_test(too_many_constants_are_told), cmocka_unit_test(equal_outputs_are_told), cmocka_unit_test(values_are_counted), cmocka_unit_test(refused_tiles_have_others),
    cmocka_unit_test(first_results_are_those_without_bounds), cmocka_unit_test(structures_are_checked), cmocka_unit_test(what_the_full_tier_refutes_is_not_taken), cmocka_unit_test(many_divisors_are_told), cmocka_unit_test(refusals_are_told), cmocka_unit_test(refused_together_is_told), cmocka_unit_test(operands_used_twice_come_back),
    cmocka_unit_test(every_kind_is_among_the_structures), cmocka_unit_test(extreme_options), cmocka_unit_test(odd_programs), cmocka_unit_test(a_reshaped_input_in_another_order), cmocka_unit_test(drawn_programs_have_one_result),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
