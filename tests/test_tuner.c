/* Tests of the schedule tuner of mirage_search.h: what it leaves unpriced changes nothing.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_tuner.c -o build/test_tuner -lcmocka -lm -lpthread
   build/test_tuner [seed]; SOAK_TUNER=n tunes n times the sample. */
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"
#include "splitmix.h"

static uint64_t seed, rounds = 1;
static uint64_t draw(uint64_t n) { return next(&seed) % n; }

/* Of each kind, %d: rows, depth, columns, drawn by program_of. */
static const char *const kinds[] = {
  "input X : f16[%d, %d]\ninput G : f16[%d]\ninput W : f16[%d, %d]\nO = matmul(rms_norm(X, G), W)\noutput O\n",
  "input X : f16[%d, %d]\ninput W : f16[%d, %d]\ninput V : f16[%d, %d]\nO = mul(silu(matmul(X, W)), matmul(X, V))\noutput O\n",
  "input Q : f16[2, %d, 64]\ninput K : f16[2, 64, %d]\ninput V : f16[2, %d, 64]\nO = matmul(softmax(matmul(Q, K), dim=2), V)\noutput O\n",
  "input X : f16[%d, %d]\ninput W : f16[%d, 64]\ninput V : f16[64, %d]\nO = matmul(matmul(X, W), V)\noutput O\n",
  "input X : f16[%d, %d]\nO = div(exp(X), sum(exp(X), dim=1))\nP = sum(mul(X, X), dim=1)\noutput O\noutput P\n",
  "input X : f16[%d, %d]\ninput W : f16[%d, %d]\ninput A : f16[%d, 16]\ninput B : f16[16, %d]\nO = add(matmul(X, W), matmul(matmul(X, A), B))\noutput O\n",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static mg_graph *program_of(int kind) {
  static const int rows[] = { 1, 2, 16, 24, 64, 128 }, deep[] = { 64, 100, 256, 1024, 4096 }, wide[] = { 40, 96, 512, 1536, 4100 };
  const int m = rows[draw(6)], k = deep[draw(5)], n = wide[draw(5)];
  char text[1000], body[800];
  switch (kind) {
  case 0: snprintf(body, sizeof body, kinds[0], m, k, k, k, n); break;
  case 1: snprintf(body, sizeof body, kinds[1], m, k, k, n, k, n); break;
  case 2: snprintf(body, sizeof body, kinds[2], m, k, k); break;
  case 3: snprintf(body, sizeof body, kinds[3], m, k, k, n); break;
  case 4: snprintf(body, sizeof body, kinds[4], m, k); break;
  default: snprintf(body, sizeof body, kinds[5], m, k, k, n, k, n); break;
  }
  snprintf(text, sizeof text, "program kind%d\n%s", kind, body);
  return parse(text);
}

/* A search of p as one kernel, its frames done, its structures in the pool. */
static void begin_shown(mgi_se_search *S, mgi_se_found *f, const mg_graph *p, const mg_machine *gpu, int kernels, void (*structure)(void *, const mg_graph *), void *user) {
  mg_error e;
  mgi_se_cuts *C = (mgi_se_cuts *)malloc(sizeof *C);
  int frames = 0;
  assert_non_null(C);
  memset(S, 0, sizeof *S), memset(f, 0, sizeof *f), memset(&e, 0, sizeof e);
  S->p = p, S->cfg = mg_search_config_default(), S->root = S, S->end = 1e300;
  S->cfg.machine = gpu, S->cfg.threads = 2, S->cfg.max_kernel_ops = kernels, S->cfg.max_block_ops = 9, S->cfg.max_loops = 1 + (int)draw(2), S->cfg.top_k = 8, S->cfg.seed = 1;
  S->cfg.max_states = 32768, S->cfg.max_structures = 3000, S->cfg.max_steps = 100000, S->cfg.structure = structure, S->cfg.user = user;
  pthread_mutex_init(&S->lock, NULL), pthread_mutex_init(&S->hook, NULL);
  assert_true(mgi_se_cuts_of(C, p));
  f->ops = C->all;
  mg_graph *g = mgi_se_segment(C, f, &e);
  mgi_se_cuts_free(C);
  free(C);
  assert_non_null(g);
  S->effort = MGI_SE_EFFORTS - 1; /* all frames, all of the space */
  assert_int_equal(mgi_se_segment_begin(S, g, f, 1, &frames, &e), MG_OK);
  for (int k = 0; k < S->n_frames; k++) mgi_se_run_frame(S, k);
}
static void begin(mgi_se_search *S, mgi_se_found *f, const mg_graph *p, const mg_machine *gpu, int kernels) { begin_shown(S, f, p, gpu, kernels, NULL, NULL); }
static void end(mgi_se_search *S, mgi_se_found *f) {
  mgi_se_segment_free(S);
  mgi_se_found_free(f);
  pthread_mutex_destroy(&S->lock), pthread_mutex_destroy(&S->hook);
}

/* Every tile of a structure, by the model, in the order of the axes' counts. */
typedef struct tiles { int n, cap; struct tile { double us; int64_t count[MGI_SE_AXES]; } *at; uint64_t priced, closed, open, traffic; } tiles;

static mgi_se_frame frame_with(int n_grid, const int *gcls, int group, const int *loop) {
  mgi_se_frame f;
  memset(&f, 0, sizeof f);
  f.n_grid = n_grid, f.group = group;
  memcpy(f.gcls, gcls, sizeof f.gcls), memcpy(f.loop, loop, sizeof f.loop);
  return f;
}

/* What a frame's traffic takes is no more than any of its structures does, at all counts. */
static void no_less_than_its_traffic(const mgi_se_seg *s, const mgi_se_structure *t, const mg_machine *gpu, tiles *all) {
  const mgi_se_frame f = frame_with(t->n_grid, t->gcls, t->group, t->loop);
  double best = 1e300;
  mgi_se_traffic T;
  mgi_se_traffic_of(s, &f, gpu, &T);
  for (int i = 0; i < all->n; i++) {
    const double least = mgi_se_traffic_us(&T, gpu, all->at[i].count), us = all->at[i].us;
    if (least > us * (1 + 1e-9)) fail_msg("loads and stores take %.17g us, the model says %.17g", least, us);
    all->traffic += us < 1e9 && least > 0.5 * us;
    best = fmin(best, us);
  }
  assert_true(best < 1e300);
  assert_false(mgi_se_frame_slow(s, &f, gpu, best * (1 + 1e-8)));
}

static void all_tiles(const mgi_se_seg *s, const mgi_se_structure *t, const mg_machine *gpu, int64_t *count, int a, mgi_se_form *form, tiles *out) {
  if (a == MGI_SE_AXES) {
    int64_t one[MGI_SE_AXES];
    mgi_se_form_size(form, count);
    const double us = mg_flat_us(&form->k, gpu, NULL), floor = mgi_se_floor(form, gpu, 0);
    if (floor > us) fail_msg("the floor is %.17g us, the model %.17g", floor, us);
    out->priced++, out->closed += floor < 1e9 && floor > 0.5 * us;
    memcpy(one, count, sizeof one), one[4] = one[5] = 1;
    if (t->loop[0] >= 0) {
      mgi_se_form_size(form, one);
      const double least = mgi_se_floor(form, gpu, 1);
      if (least > us) fail_msg("with open loops the floor is %.17g us, the model %.17g with %lld and %lld", least, us, (long long)count[4], (long long)count[5]);
      out->open += least > 0.5 * us;
    }
    if (out->n == out->cap) out->cap = out->cap ? 2 * out->cap : 1024, out->at = (struct tile *)realloc(out->at, (size_t)out->cap * sizeof *out->at);
    assert_non_null(out->at);
    out->at[out->n].us = us, memcpy(out->at[out->n++].count, count, sizeof one);
    return;
  }
  const int c = mgi_se_structure_class(t, a);
  int64_t list[MGI_SE_COUNTS], e;
  count[a] = 1;
  if (c < 0) { all_tiles(s, t, gpu, count, a + 1, form, out); return; }
  e = s->real[c];
  for (int x = 1; x < 4 && x < a; x++) if (mgi_se_structure_class(t, x) == c) e = (e + count[x] - 1) / count[x];
  const int n = mgi_se_counts(t, a, e, 0, list);
  for (int i = 0; i < n; i++) {
    count[a] = list[i];
    if (list[i] > 1 || (a < 4 && a != t->group)) all_tiles(s, t, gpu, count, a + 1, form, out);
  }
}
static void all_tiles_of(const mgi_se_seg *s, const mgi_se_structure *t, const mg_machine *gpu, tiles *out) {
  int64_t count[MGI_SE_AXES] = { 1, 1, 1, 1, 1, 1 };
  mgi_se_form *form = (mgi_se_form *)malloc(sizeof *form);
  assert_non_null(form);
  memset(form, 0x5a, sizeof *form); /* nothing in it is left from one before */
  mgi_se_form_of(s, t, form);
  out->n = 0;
  all_tiles(s, t, gpu, count, 1, form, out);
  free(form);
  for (int i = 0; i < MGI_SE_TILES && i < out->n; i++) /* the best few to the front, the earlier of two that cost the same */
    for (int j = out->n - 1; j > i; j--)
      if (out->at[j].us < out->at[j - 1].us) { struct tile x = out->at[j]; out->at[j] = out->at[j - 1], out->at[j - 1] = x; }
}

static void same_tiles(const mgi_se_structure *t, const tiles *all, int keep, double limit) {
  int n = 0;
  while (n < keep && n < all->n && all->at[n].us <= limit) n++;
  if (t->n_tiles != n) fail_msg("expected %d tiles up to %.17g us, got %d of %d", n, limit, t->n_tiles, all->n);
  for (int i = 0; i < n; i++) {
    assert_true(t->tile_us[i] == all->at[i].us);
    assert_memory_equal(t->count[i] + 1, all->at[i].count + 1, sizeof(int64_t) * (MGI_SE_AXES - 1));
  }
  assert_true(n ? t->us == all->at[0].us + t->foreign : t->us == 2e9);
}

/* The best tiles are those of an exhaustive list, with any limit, and no bound is above what it bounds. */
static void tuner_finds_the_best_tiles(void **state) {
  (void)state;
  uint64_t tuned = 0;
  mgi_se_search *S = (mgi_se_search *)malloc(sizeof *S);
  tiles all;
  memset(&all, 0, sizeof all);
  assert_non_null(S);
  for (uint64_t round = 0; round < (SANITIZED ? KINDS : 2 * KINDS) * rounds; round++) {
    mg_graph *p = program_of((int)(round % KINDS));
    const mg_machine *gpu = mg_machine_at(round % 2 ? (int)draw((uint64_t)mg_machine_count()) : 0);
    mgi_se_found f;
    begin(S, &f, p, gpu, 1);
    for (int k = 0; k < 6 && S->n_pool; k++) {
      mgi_se_structure t = S->pool[draw((uint64_t)S->n_pool)];
      all_tiles_of(S->seg, &t, gpu, &all);
      if (all.n > 20000) continue; /* some seconds */
      mgi_se_tune(S->seg, &t, gpu, 0, MGI_SE_TILES, 1e300);
      same_tiles(&t, &all, MGI_SE_TILES, 1e300);
      if (!t.n_tiles) continue;
      no_less_than_its_traffic(S->seg, &t, gpu, &all);
      const double best = t.tile_us[0], some = all.at[draw((uint64_t)all.n)].us;
      mgi_se_tune(S->seg, &t, gpu, 0, 1, best), same_tiles(&t, &all, 1, best);
      mgi_se_tune(S->seg, &t, gpu, 0, 1, best * (1 - 1e-12)), assert_int_equal(t.n_tiles, 0);
      mgi_se_tune(S->seg, &t, gpu, 0, 1, some), same_tiles(&t, &all, 1, some);
      mgi_se_tune(S->seg, &t, gpu, 0, MGI_SE_TILES, some), same_tiles(&t, &all, MGI_SE_TILES, some);
      tuned++;
    }
    end(S, &f);
    mg_graph_free(p);
  }
  free(all.at), free(S);
  printf("%llu structures, %llu tiles; the floor is above half the price for %llu, with open loops for %llu, traffic alone for %llu\n", (unsigned long long)tuned,
         (unsigned long long)all.priced, (unsigned long long)all.closed, (unsigned long long)all.open, (unsigned long long)all.traffic);
  assert_true(tuned * SPARSER >= 20 && all.closed * 8 > all.priced && all.open > 0 && all.traffic > 0); /* bounds of nothing would pass, too */
}

/* Structures without a tile are those that mgi_se_without_tile keeps from being made. */
static void counts_no_kernel(void *user, const mg_graph *g) { (void)g, ++*(int *)user; }
static void a_loop_over_what_a_grid_takes_whole_has_no_tile(void **state) {
  (void)state;
  static const char *const texts[] = {
    "program moved\ninput Q : f16[8, 16, 16]\ninput K : f16[8, 64, 16]\nO = matmul(Q, transpose(K, [0, 2, 1]))\noutput O\n",
    "program plain\ninput Q : f16[8, 16, 16]\ninput K : f16[8, 16, 64]\nO = matmul(exp(Q), K)\noutput O\n",
  };
  int with = 0, without = 0, shown = 0;
  mgi_se_search *S = (mgi_se_search *)malloc(sizeof *S);
  assert_non_null(S);
  for (int k = 0; k < 2; k++) {
    mg_graph *p = parse(texts[k]);
    mgi_se_found found;
    begin_shown(S, &found, p, mg_machine_at(0), 1, counts_no_kernel, &shown);
    for (int i = 0; i < S->n_frames; i++) {
      const mgi_se_frame *like = &S->frame[i]; /* it has run: its values are gone */
      mgi_se_frame f = frame_with(like->n_grid, like->gcls, like->group, like->loop);
      mgi_se_walk *w = (mgi_se_walk *)calloc(1, sizeof *w);
      assert_non_null(w);
      f.s = S->seg, f.cfg = &S->cfg, f.end = 1e300;
      mgi_se_closure(&f);
      assert_int_equal(f.filled, 0); /* with the hook all are there */
      assert_true(mgi_se_walk_all(S, w, &f));
      const int filled = mgi_se_filled_axes(S->seg, &f);
      for (int b = 0; b < w->n_best; b++) {
        mgi_se_structure *t = &w->best[b];
        int leads = 0;
        for (int a = 1; a <= t->n_grid; a++) leads |= (filled >> a & 1) && mgi_se_leading(t, a);
        mgi_se_tune(S->seg, t, S->cfg.machine, 1, 1, 1e300);
        if (!t->n_tiles) mgi_se_tune(S->seg, t, S->cfg.machine, 0, 1, 1e300);
        assert_int_equal(t->n_tiles > 0, !leads);
        with += !leads, without += leads;
      }
      mgi_se_walk_free(w);
      mgi_se_frame_free(&f);
    }
    end(S, &found);
    mg_graph_free(p);
  }
  free(S);
  printf("%d structures with a tile, %d without\n", with, without);
  assert_true(with > 0 && without > 0 && shown > 0);
}

/* Of a tensor with one row for each of its leading dimension's places a block may have all: it is a matrix, and no dearer. */
static void rows_of_leading_places_are_a_matrix(void **state) {
  (void)state;
  const mg_machine *gpu = mg_machine_at(0);
  mg_graph *p = parse("program rows\ninput Q : f16[2, 1, 64]\ninput K : f16[2, 64, 96]\nO = matmul(exp(Q), K)\noutput O\n");
  mgi_se_search *S = (mgi_se_search *)malloc(sizeof *S);
  mgi_se_found f;
  tiles all;
  memset(&all, 0, sizeof all);
  assert_non_null(S);
  begin(S, &f, p, gpu, 1);
  for (int k = 0; k < S->n_pool; k++) all_tiles_of(S->seg, &S->pool[k], gpu, &all);
  printf("%llu tiles\n", (unsigned long long)all.priced);
  assert_true(all.priced > 100);
  end(S, &f);
  mg_graph_free(p);
  free(all.at), free(S);
}

static int by_time(const void *a, const void *b) {
  const mgi_se_structure *const *x = (const mgi_se_structure *const *)a, *const *y = (const mgi_se_structure *const *)b;
  return mgi_se_structure_before(*x, *y) ? -1 : mgi_se_structure_before(*y, *x);
}

/* What a segment keeps is what it keeps where all of its structures are tuned in full. */
static void segments_keep_the_best(void **state) {
  (void)state;
  mgi_se_search *S = (mgi_se_search *)malloc(sizeof *S);
  int kept = 0, split = 0, left = 0;
  assert_non_null(S);
  for (uint64_t round = 0; round < KINDS * rounds; round += SPARSER) {
    mg_graph *p = program_of((int)(round % KINDS));
    mgi_se_found f;
    mg_error e;
    int n = 0, n_split = 0, want = round % 2 ? 1 : 8;
    uint64_t seen[MGI_SE_POOL], halves[MGI_SE_SPLITS];
    begin(S, &f, p, mg_machine_at((int)draw((uint64_t)mg_machine_count())), 5);
    const int n_pool = S->n_pool;
    mgi_se_structure *all = (mgi_se_structure *)malloc(((size_t)n_pool + 1) * sizeof *all), *order[MGI_SE_POOL];
    assert_non_null(all);
    for (int k = 0; k < n_pool; k++) order[k] = &all[k], all[k] = S->pool[k], mgi_se_tune(S->seg, &all[k], S->cfg.machine, 0, MGI_SE_TILES, 1e300);
    qsort(order, (size_t)n_pool, sizeof *order, by_time);
    assert_int_equal(mgi_se_segment_end(S, want, &e), MG_OK);
    if (f.n > want && mgi_se_judges(S)) want = f.n; /* so many of them are behind others, whatever their times */
    for (int k = 0; k < n_pool; k++) left += !S->tuned[k];
    for (int k = 0; k < n_pool && n_split < MGI_SE_SPLITS; k++) {
      int known = !order[k]->group || order[k]->us >= 1e9;
      for (int j = 0; j < n_split; j++) known |= halves[j] == order[k]->work;
      if (known) continue;
      assert_true(n_split < f.n_split && f.split[n_split].hash == order[k]->hash && f.split[n_split].n_tiles == order[k]->n_tiles);
      assert_memory_equal(f.split[n_split].count, order[k]->count, sizeof(int64_t) * MGI_SE_AXES * (size_t)order[k]->n_tiles);
      halves[n_split++] = order[k]->work;
    }
    assert_int_equal(n_split, f.n_split);
    for (int k = 0; k < n_pool && n < want && order[k]->us < 1e9; k++) {
      mg_verify_report r;
      int known = 0;
      for (int j = 0; j < n; j++) known |= seen[j] == order[k]->work;
      mg_graph *g = known ? NULL : mgi_se_kernel_graph(S->seg, S->seg->p, order[k], S->seg->real, order[k]->count[0], NULL, S->cfg.machine, &e);
      if (g && mgi_se_fast_check(S, S->seg, order[k], 0, &r)) {
        assert_true(n < f.n && f.st[n].hash == order[k]->hash && f.st[n].us == order[k]->us && f.st[n].n_tiles == order[k]->n_tiles);
        seen[n++] = order[k]->work;
      }
      mg_graph_free(g);
    }
    assert_int_equal(n, f.n);
    if (n) assert_true(f.us == f.st[0].tile_us[f.tile[0]]);
    kept += n, split += n_split;
    free(all);
    end(S, &f);
    mg_graph_free(p);
  }
  free(S);
  printf("%d kept, %d to be split; %d structures were not tuned to their end\n", kept, split, left);
  assert_true(kept * SPARSER > 10 && left > 0);
}

/* Searched as one kernel, `body` is no slower than the kernel written by hand: the first that is no library's. */
static void no_slower_than(const char *body, const char *kernel) {
  char text[1000];
  snprintf(text, sizeof text, "program p\n%s", body);
  mg_graph *p = parse(text);
  snprintf(text, sizeof text, "program p\n%.*s%s", (int)(strstr(body, "O = ") - body), body, kernel);
  mg_graph *hand = parse(text);
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.max_kernel_ops = 1, c.max_block_ops = 5;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  mg_plan_kernel(mg_op_of(hand, 1)->sub, NULL);
  int at = 0;
  while (at + 1 < r.n && !mg_op_of(r.graph[at], 1)->sub) at++;
  printf("%.3f us, by hand %.3f\n", r.predicted_us[at], mg_predict_us(hand, NULL));
  assert_true(mg_op_of(r.graph[at], 1)->sub && r.predicted_us[at] <= mg_predict_us(hand, NULL) * (1 + 1e-9));
  mg_search_result_free(&r);
  mg_graph_free(hand), mg_graph_free(p);
}

/* Of an extent with few divisors that is no multiple of 8, counts of 2, 3, 4, 6, 8 .. are tried too: 514 in eight parts. */
static void few_divisors_are_no_hindrance(void **state) {
  (void)state;
  no_slower_than("input X : f16[7, 514]\ninput W : f16[514, 254]\ninput V : f16[514, 254]\nO = mul(silu(matmul(X, W)), matmul(X, V))\noutput O\n",
                 "O = kernel grid=(x=8, y=8) threads=128 {\n  x = load X {x->*, y->1}\n  w = load W {x->1, y->0}\n  v = load V {x->1, y->0}\n"
                 "  s = accum(matmul(x, w)) {y->+}\n  t = accum(matmul(x, v)) {y->+}\n  o = mul(silu(s), t)\n  store o {x->1, y->*}\n}\noutput O\n");
}

/* Grids of thousands of blocks, of three axes that cut the output, and of two with one that cuts the sum. */
static void large_grids(void **state) {
  (void)state;
  no_slower_than("input X : f16[4194304]\nO = silu(X)\noutput O\n", "O = kernel grid=(x=2048) threads=128 {\n  x = load X {x->0}\n  o = silu(x)\n  store o {x->0}\n}\noutput O\n");
  no_slower_than("input X : f16[6, 7, 512, 64]\nO = silu(X)\noutput O\n",
                 "O = kernel grid=(x=32, y=7, z=6) threads=128 {\n  x = load X {x->2, y->1, z->0}\n  o = silu(x)\n  store o {x->2, y->1, z->0}\n}\noutput O\n");
  no_slower_than("input X : f16[6, 7, 16, 4096]\ninput W : f16[6, 7, 4096, 64]\nO = matmul(X, W)\noutput O\n",
                 "O = kernel grid=(x=6, y=7, z=8) threads=128 {\n  for i=4 {\n    x = load X {x->0, y->1, z->3, i->3}\n    w = load W {x->0, y->1, z->2, i->2}\n    t = matmul(x, w)\n  }\n"
                 "  o = accum(t) {z->+, i->+}\n  store o {x->0, y->1, z->*}\n}\noutput O\n");
}

/* Counts by which an axis may cut an extent: every divisor, and where these are few every count whose chunks are of so many times 8;
   none of tiny chunks of a long extent; none with an empty chunk, none twice. */
static void counts_are_every_divisor(void **state) {
  (void)state;
  static const int64_t extents[] = { 2, 3, 8, 12, 24, 37, 48, 60, 64, 100, 120, 192, 512, 520, 1000, 1024, 2520, 4096, 5120, 11008, 70000 };
  mgi_se_structure t;
  memset(&t, 0, sizeof t);
  for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)
    for (int axis = 1; axis <= 4; axis += 3) {
      const int64_t e = extents[k];
      int64_t list[MGI_SE_COUNTS];
      int divisors = 0;
      const int n = mgi_se_counts(&t, axis, e, 0, list);
      for (int64_t c = 1; c <= e; c++) divisors += e % c == 0;
      for (int64_t c = axis < 4 ? 1 : 2; c <= e; c++) {
        const int64_t chunk = (e + c - 1) / c;
        const int tiny = c > 1 && chunk < 8 && e > 64 && (axis == 4 || chunk > 1 || e > 65535), empty = (e + chunk - 1) / chunk != c;
        const int must = !tiny && !empty && (e % c == 0 || (divisors < 8 && chunk % 8 == 0));
        int there = 0;
        for (int i = 0; i < n; i++) there += list[i] == c;
        if (must > there || there > 1 || (there && (tiny || empty))) fail_msg("extent %d, axis %d: count %d is there %d times", (int)e, axis, (int)c, there);
      }
    }
}

/* What coarse tiles say of a kernel without loops does not put it behind all that a second loop adds: its best grid is none of theirs. */
static void a_second_loop_takes_nothing_away(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[11008, 11008]\ninput Y : f16[1, 30]\nM = max(X, dim=1)\nO = matmul(M, Y)\noutput M\noutput O\n");
  mg_search_result one, two;
  mg_search_config c = mg_search_config_default();
  mg_error e;
  assert_int_equal(mg_search(p, &c, &one, &e), MG_OK);
  c.max_loops = 2;
  assert_int_equal(mg_search(p, &c, &two, &e), MG_OK);
  assert_true(one.stats.complete && two.stats.complete);
  if (two.predicted_us[0] > one.predicted_us[0] * (1 + 1e-9)) fail_msg("%.4f us with two loops, %.4f with one", two.predicted_us[0], one.predicted_us[0]);
  mg_search_result_free(&one), mg_search_result_free(&two);
  mg_graph_free(p);
}

/* A structure in two kernels: the second one's grid is its own, and no other count of it is faster. */
static void the_second_kernel_has_a_grid_of_its_own(void **state) {
  (void)state;
  mg_graph *p = parse("program p\ninput X : f16[4096, 4096]\ninput W : f16[4096, 64]\ninput V : f16[64, 16]\nO = matmul(silu(matmul(X, W)), V)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.max_kernel_ops = 2, c.max_block_ops = 4, c.top_k = 1;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  const mg_graph *g = r.graph[0];
  assert_true(g->n_ops == 3 && g->ops[1].sub && g->ops[2].sub && g->ops[2].sub->n_axes == 5); /* it loops over the first one's parts */
  int slower = 0, rows = 1; /* the axis of the second one's grid that cuts the rows */
  for (int a = 2; a < 4; a++) if (g->ops[2].sub->axes[a].extent > g->ops[2].sub->axes[rows].extent) rows = a;
  for (int64_t n = 1; n <= 4096; n *= 2) {
    mg_graph *other = NULL;
    int64_t counts[2 * (MG_MAX_AXES + 1)] = { 0 };
    for (int k = 0; k < 2; k++) for (uint32_t a = 1; a < g->ops[k + 1].sub->n_axes; a++) counts[k * (MG_MAX_AXES + 1) + (int)a] = g->ops[k + 1].sub->axes[a].extent;
    slower += n != counts[MG_MAX_AXES + 1 + rows];
    counts[MG_MAX_AXES + 1 + rows] = n;
    if (mg_resize(g, NULL, counts, &other, &e) != MG_OK) fail_msg("%s", e.msg);
    mg_plan_kernel(other->ops[2].sub, NULL);
    if (mg_predict_us(other, NULL) < r.predicted_us[0] * (1 - 1e-9)) fail_msg("%d blocks: %.6f us, found %.6f", (int)n, mg_predict_us(other, NULL), r.predicted_us[0]);
    mg_graph_free(other);
  }
  assert_int_equal(slower, 12);
  mg_search_result_free(&r), mg_graph_free(p);
}

/* How many tiles of the structures of f, of which each is priced as the kernel that is built from it. */
static int priced_as_built(const mgi_se_search *S, const mgi_se_found *f, const mg_graph *p) {
  int n = 0;
  for (int k = 0; k < f->n; k++)
    for (int i = 0; i < f->st[k].n_tiles && f->st[k].tile_us[i] < 1e9; i++, n++) {
      mg_error e;
      mg_graph *g = mgi_se_kernel_graph(S->seg, p, &f->st[k], S->seg->real, f->st[k].count[i], NULL, S->cfg.machine, &e);
      assert_non_null(g);
      const double us = mg_predict_us(g, S->cfg.machine);
      char *text = NULL;
      if (us > f->st[k].tile_us[i] * (1 + 1e-9) || us < f->st[k].tile_us[i] * (1 - 1e-9))
        fail_msg("%s, tile %d: priced %.6f us, built %.6f\n%s", p->name, i, f->st[k].tile_us[i], us,
                 mg_print(g, &text, &e) == MG_OK ? text : "");
      mg_graph_free(g);
    }
  return n;
}

/* A structure holds independent operators in another order than the graph that is built from it: two products of the same work, say.
   The price is the graph's. */
static void what_is_priced_is_what_is_built(void **state) {
  (void)state;
  static const char *const of[] = {
    "program t\ninput X : f16[8, 512]\ninput W : f16[512, 512]\ninput V : f16[512, 512]\nO = mul(silu(matmul(X, W)), matmul(X, V))\noutput O\n",
    "program t\ninput X : f16[16, 256]\ninput W : f16[256, 32]\ninput V : f16[32, 256]\ninput A : f16[256, 128]\ninput B : f16[128, 256]\n"
    "O = add(matmul(matmul(X, W), V), matmul(matmul(X, A), B))\noutput O\n",
    "program t\ninput X : f16[16, 256]\ninput W : f16[256, 32]\ninput V : f16[32, 256]\ninput A : f16[256, 128]\ninput B : f16[128, 256]\n"
    "O = matmul(matmul(X, W), V)\nP = matmul(matmul(X, A), B)\noutput O, P\n",
    "program t\ninput X : f16[1024, 64]\ninput v : f16[64, 1]\nA = silu(X)\nB = matmul(X, v)\nC = sqr(B)\noutput B, C, A\n",
  };
  static const int want[] = { 96, 96, 96, 120 }; /* where the orders were seen to differ */
  mgi_se_search *S = (mgi_se_search *)malloc(sizeof *S);
  int n = 0;
  assert_non_null(S);
  for (size_t round = 0; round < sizeof of / sizeof *of + KINDS * (rounds - 1); round++) {
    mg_graph *p = round < sizeof of / sizeof *of ? parse(of[round]) : program_of((int)(round % KINDS));
    mgi_se_found f;
    mg_error e;
    begin(S, &f, p, mg_machine_at(round % 2 ? (int)draw((uint64_t)mg_machine_count()) : 0), 1);
    assert_int_equal(mgi_se_segment_end(S, round < sizeof of / sizeof *of ? want[round] : MGI_SE_POOL, &e), MG_OK);
    n += priced_as_built(S, &f, p);
    end(S, &f);
    mg_graph_free(p);
  }
  free(S);
  printf("%d tiles\n", n);
  assert_true(n > 1000);
}

/* So are programs with moves, which turn rows and columns at some sizes and are other names of them at others, and the library's. */
static void moves_are_priced_as_built(void **state) {
  (void)state;
  static const char *const of[] = {
    "program turned\ninput X : f16[512, 256]\nO = transpose(X, [1, 0])\noutput O\n",
    "program turned_sum\ninput X : f16[256, 128]\ninput Y : f16[128, 256]\nO = add(transpose(X, [1, 0]), Y)\noutput O\n",
    "program turned_left\ninput X : f16[256, 16]\ninput W : f16[256, 128]\nO = matmul(transpose(X, [1, 0]), W)\noutput O\n",
    "program turned_right\ninput X : f16[16, 256]\ninput W : f16[128, 256]\nO = matmul(X, transpose(exp(W), [1, 0]))\noutput O\n",
    "program heads\ninput X : f16[64, 8, 16]\nO = transpose(sqr(X), [1, 0, 2])\noutput O\n",
    "program keys\ninput Q : f16[4, 64, 32]\ninput K : f16[4, 128, 32]\nO = matmul(Q, transpose(K, [0, 2, 1]))\noutput O\n",
  };
  mgi_se_search *S = (mgi_se_search *)malloc(sizeof *S);
  tiles all;
  int n = 0;
  assert_non_null(S);
  memset(&all, 0, sizeof all);
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *p = parse(of[k]);
    mgi_se_found f;
    mg_error e;
    begin(S, &f, p, mg_machine_at(0), 1);
    for (int j = 0; j < 2 && j < S->n_pool; j++) { /* no bound is above what it bounds */
      mgi_se_structure t = S->pool[j];
      all_tiles_of(S->seg, &t, S->cfg.machine, &all);
    }
    assert_int_equal(mgi_se_segment_end(S, MGI_SE_POOL, &e), MG_OK);
    n += priced_as_built(S, &f, p);
    end(S, &f);
    mg_graph_free(p);
  }
  free(S), free(all.at);
  printf("%d tiles with moves\n", n);
  assert_true(n > 50);
}

/* Two chains in one kernel, in either order: the warps are the same. */
static void the_order_of_chains_is_none(void **state) {
  (void)state;
  static const char first[] = "    x = load X {x->*, y->*, z->*, i->1}\n    w = load W {x->*, y->*, z->*, i->0}\n    t = matmul(x, w)\n"
                              "    v = load W {x->*, y->*, z->1, i->0}\n    s = sqr(v)\n",
    chain[] = "  q = accum(t) {i->+}\n  x2 = load X {x->*, y->*, z->*}\n"
              "  q2 = matmul(q, x2)\n  q3 = accum(s) {i->0}\n  q4 = matmul(q2, q3)\n",
    other[] = "  u = load W {x->*, y->0, z->*}\n  a = load A {x->*, y->*, z->*}\n"
              "  r = matmul(sqr(u), a)\n  b = load B {x->1, y->*, z->*}\n  r2 = matmul(r, b)\n";
  double us[2];
  for (int k = 0; k < 2; k++) {
    char text[2000];
    snprintf(text, sizeof text, "program t\ninput X : f16[48, 100]\ninput W : f16[100, 48]\ninput A : f16[48, 48]\ninput B : f16[48, 48]\n"
             "Q, R = kernel grid=(x=3, y=10, z=3) threads=128 {\n"
             "%s  for i=5 {\n%s  }\n%s%s  store r2 {x->1, y->0, z->*}\n  store q4 {x->*, y->*, z->1}\n}\noutput Q, R\n",
             k ? other : "", first, chain, k ? "" : other);
    mg_graph *g = parse(text);
    us[k] = mg_predict_us(g, NULL);
    mg_graph_free(g);
  }
  assert_true(us[0] < 1e3);
  assert_float_equal(us[0], us[1], 1e-9);
}

/* Rows of GPUs that are none of the table: one multiprocessor, which larger clusters do not fill; half the registers, and a quarter,
   for 128 and 64 a thread in accumulators, and 24 beside them. */
static void a_row_limits_what_it_says(void **state) {
  (void)state;
  static const struct { const char *text; int threads, held; } of[] = {
    { "program t\ninput X : f16[128, 64]\ninput W : f16[64, 256]\n"
      "O = kernel grid=(x=1) threads=256 {\n  a = matmul(load X {x->*}, load W {x->1})\n  store a {x->1}\n}\noutput O\n", 256, 128 },
    { "program t\ninput X : f16[128, 64]\ninput W : f16[64, 512]\n"
      "O = kernel grid=(x=4) threads=256 {\n  a = matmul(load X {x->*}, load W {x->1})\n  store a {x->1}\n}\noutput O\n", 256, 64 },
  };
  mg_machine row = *mg_machine_find("RTX3080");
  for (int k = 0; k < 2; k++) {
    mg_graph *g = parse(of[k].text);
    row.registers_per_sm = (of[k].held + 24) * of[k].threads;
    assert_true(mg_predict_us(g, &row) < 1e3);
    row.registers_per_sm--;
    assert_true(mg_predict_us(g, &row) >= 1e9);
    mg_graph_free(g);
  }
  mg_graph *g = parse("program t\ninput X : f16[16, 1024]\ninput W : f16[1024, 64]\nO = kernel grid=(x=2, y=4) threads=128 {\n"
                      "  a = accum(matmul(load X {x->*, y->1}, load W {x->1, y->0})) {y->+}\n  store a {x->1, y->*}\n}\noutput O\n");
  row = *mg_machine_find("H200");
  const double all = mg_predict_us(g, &row);
  row.sms = 1;
  assert_true(mg_predict_us(g, &row) > all && mg_predict_us(g, &row) < 1e3);
  mg_graph_free(g);
}

/* Warps of products of few rows in a loop.  With rings of their own: 64 values of the contraction and more each, where there are those;
   else as many as can share the work: in one ring they have 32 each, or columns. */
static void warps_of_few_rows(void **state) {
  (void)state;
  static const struct { const char *type; int deep, wide, products, n, k, own; const char *after; } of[] = {
    { "f16", 256, 32, 1, 1, 4, 1, "" },  { "f16", 128, 32, 1, 1, 2, 1, "" },  { "f16", 1024, 32, 1, 1, 8, 1, "" }, { "f16", 32, 32, 1, 1, 2, 1, "" },
    { "f16", 320, 32, 1, 1, 4, 1, "" },  { "f16", 384, 32, 1, 1, 4, 1, "" },  { "f16", 192, 32, 1, 1, 2, 1, "" },
    { "f32", 256, 32, 1, 1, 8, 0, "" },  { "f32", 128, 32, 1, 1, 4, 0, "" },  { "f16", 344, 96, 1, 2, 2, 0, "" }, { "f16", 128, 256, 1, 2, 4, 0, "" }, /* no rings of their own */
    { "f16", 32, 128, 3, 2, 2, 0, "" }, /* nor room for accumulators in two warps */
    { "f16", 128, 64, 1, 4, 1, 0, "v = load V {x->1}\n  u = matmul(s, v)\n  " }, /* the second takes the first's fragments, from four warps */
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const int after = *of[i].after != 0, deep = of[i].deep, wide = of[i].wide;
    const char *const ty = of[i].type, *const sums[] = { "", "s = accum(p) {i->+}", "", "s = mul(accum(p) {i->+}, add(accum(q) {i->+}, accum(r) {i->+}))" };
    char text[1600], want[80], got[80];
    snprintf(text, sizeof text, "program t\ninput X : %s[16, %d]\ninput W : %s[%d, %d]\ninput A : %s[%d, %d]\ninput B : %s[%d, %d]\n"
             "input V : %s[%d, 64]\nO = kernel grid=(x=4) threads=128 {\n  for i=4 {\n    x = load X {i->1}\n    w = load W {%si->0}\n"
             "    p = matmul(x, w)\n%s  }\n  %s\n  %sstore %s {x->1}\n}\noutput O\n",
             ty, 4 * deep, ty, 4 * deep, (after ? 1 : 4) * wide, ty, 4 * deep, 4 * wide, ty, 4 * deep, 4 * wide, ty, wide, after ? "" : "x->1, ",
             of[i].products > 1 ? "    a = load A {x->1, i->0}\n    q = matmul(x, a)\n    b = load B {x->1, i->0}\n    r = matmul(x, b)\n" : "",
             sums[of[i].products], of[i].after, after ? "u" : "s");
    mg_graph *g = parse(text);
    mg_graph *b = NULL;
    for (uint32_t j = 0; j < g->n_ops; j++) if (g->ops[j].sub) b = g->ops[j].sub;
    assert_non_null(b);
    if (mg_predict_us(g, NULL) >= 1e3) fail_msg("row %d does not fit\n%s", (int)i, text);
    mg_plan_kernel(b, NULL);
    const char *const ring = mg_plan_get(b, "ring");
    snprintf(want, sizeof want, "%d x %d%s", of[i].n, of[i].k, of[i].own ? " own" : "");
    snprintf(got, sizeof got, "%s x %s%s", mg_plan_get(b, "warps_n"), mg_plan_get(b, "warps_k"), ring ? " own" : "");
    if (strcmp(got, want)) fail_msg("row %d: warps %s, not %s\n%s", (int)i, got, want, text);
    mg_graph_free(g);
  }
}

int main(int argc, char **argv) {
  const char *more = getenv("SOAK_TUNER");
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  rounds = more ? strtoull(more, NULL, 10) : 1;
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = { cmocka_unit_test(counts_are_every_divisor), cmocka_unit_test(the_second_kernel_has_a_grid_of_its_own), cmocka_unit_test(tuner_finds_the_best_tiles), cmocka_unit_test(segments_keep_the_best), cmocka_unit_test(few_divisors_are_no_hindrance),
    cmocka_unit_test(large_grids), cmocka_unit_test(a_second_loop_takes_nothing_away), cmocka_unit_test(what_is_priced_is_what_is_built), cmocka_unit_test(moves_are_priced_as_built), cmocka_unit_test(the_order_of_chains_is_none), cmocka_unit_test(warps_of_few_rows), cmocka_unit_test(a_row_limits_what_it_says), cmocka_unit_test(rows_of_leading_places_are_a_matrix),
    cmocka_unit_test(a_loop_over_what_a_grid_takes_whole_has_no_tile) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
