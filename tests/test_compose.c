/* Tests of mirage_search.h, >>rewrite: kernels that hand on tensors which the program does not have.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_compose.c -o build/test_compose -lcmocka -lm -lpthread
   build/test_compose [seed]; SOAK_COMPOSE=n: n times as many random programs. */
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

/* For `emittable`: µGraphs of library kernels only. */
static mg_status library_only(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_is_program(g) ? MG_OK : mg_fail(why, MG_UNSUPPORTED, "test", "a custom kernel");
}

/* The space is what is tested, whatever of it is as safe as written in 16 bits. */
static mg_search_result search_with(const mg_graph *p, mg_search_config c) {
  mg_search_result r;
  mg_error e;
  c.unsafe = 1;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
  assert_true(r.n > 0 && (r.report[0].tests > 0 || r.report[0].proof != MG_PROOF_NONE));
  return r;
}
/* The best of library kernels alone. */
static mg_search_result search_libraries(const mg_graph *p, int kernels) {
  mg_search_config c = mg_search_config_default();
  c.emittable = library_only, c.max_kernel_ops = kernels, c.max_block_ops = 1, c.top_k = 1;
  return search_with(p, c);
}
static mg_search_result search_all(const mg_graph *p) {
  mg_search_config c = mg_search_config_default();
  return search_with(p, c);
}
static void same_function(const mg_graph *p, const mg_graph *g) { /* at small sizes, on a seed of its own */
  mgi_se_search S;
  mg_verify_report r;
  memset(&S, 0, sizeof S);
  S.p = p, S.cfg.seed = 99, S.cfg.threads = 2, S.end = 1e300;
  assert_true(mgi_se_check_small(&S, p, g, &r) && r.verdict == MG_EQUAL);
}
static int64_t largest_between(const mg_graph *g) { /* elements of the largest tensor that is handed on */
  int64_t most = 0;
  for (uint32_t k = 1; k < g->n_ops; k++)
    for (int j = 0; j < g->ops[k].n_out; j++) {
      int out = 0;
      for (uint32_t i = 0; i < g->n_out; i++) out |= g->out[i].id == g->ops[k].out[j].id;
      const int64_t n = mg_shape_elements(&mg_tensor_of(g, g->ops[k].out[j])->shape);
      if (!out && n > most) most = n;
    }
  return most;
}
static int count_of(const mg_graph *g, int code) { /* in all levels */
  int n = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) n += (int)g->ops[k].code == code ? 1 : g->ops[k].sub ? count_of(g->ops[k].sub, code) : 0;
  return n;
}

/* ---------------------------------------------------------------------------------------------- matmul chains */

/* What a library takes for [m, k] [k, n]. */
static double product_us(int64_t m, int64_t k, int64_t n) {
  const int64_t a[2] = { m, k }, b[2] = { k, n };
  mg_graph *g = mg_program_new("product", NULL);
  mg_error e;
  mg_output(g, mg_matmul(g, mg_input(g, "A", MG_F16, 2, a), mg_input(g, "B", MG_F16, 2, b)));
  assert_int_equal(mg_check(g, &e), MG_OK);
  const double us = mg_predict_us(g, mg_machine_find("H200"));
  mg_graph_free(g);
  return us;
}
/* The textbook: best[i][j] over the last product of matrices i .. j; matrix k is [d[k], d[k + 1]]. */
static double chain_us(const int64_t *d, int n) {
  double best[8][8];
  for (int i = 0; i < n; i++) best[i][i] = 0;
  for (int len = 2; len <= n; len++)
    for (int i = 0; i + len <= n; i++) {
      best[i][i + len - 1] = 1e300;
      for (int s = i; s < i + len - 1; s++) {
        const double us = best[i][s] + best[s + 1][i + len - 1] + product_us(d[i], d[s + 1], d[i + len]);
        if (us < best[i][i + len - 1]) best[i][i + len - 1] = us;
      }
    }
  return best[0][n - 1];
}
/* From the left, or with `right` from the right; their names are those that values without one would get. */
static mg_graph *chain(const int64_t *d, int n, int right) {
  mg_graph *g = mg_program_new("chain", NULL);
  mg_tensor m[8] = { { 0 } };
  mg_error e;
  char name[16];
  for (int k = 0; k < n; k++) snprintf(name, sizeof name, "M%d", k), m[k] = mg_input(g, name, MG_F16, 2, d + k);
  mg_tensor x = m[right ? n - 1 : 0];
  for (int k = 1; k < n; k++) snprintf(name, sizeof name, "h%d", 3 + 2 * k), x = mg_named(g, right ? mg_matmul(g, m[n - 1 - k], x) : mg_matmul(g, x, m[k]), name);
  mg_output(g, x);
  if (mg_check(g, &e) != MG_OK) fail_msg("%s", e.msg);
  return g;
}

static void chains_are_associated_as_the_textbook_does(void **state) {
  (void)state;
  static const int64_t size[][6] = { /* the first is the number of matrices */
    { 3, 4096, 4096, 4096, 16 }, { 3, 16, 4096, 4096, 4096 }, { 3, 1024, 64, 2048, 128 }, { 3, 4096, 128, 4096, 256 },
    { 4, 512, 4096, 1024, 4096, 16 }, { 4, 16, 1024, 512, 4096, 2048 }, { 4, 2048, 32, 4096, 64, 1024 }, { 4, 4096, 1024, 16, 2048, 512 },
  };
  int better = 0;
  for (size_t k = 0; k < sizeof size / sizeof *size; k += SPARSER)
    for (int right = 0; right < 2; right++) {
      const int n = (int)size[k][0];
      mg_graph *p = chain(size[k] + 1, n, right);
      const double own = mg_predict_us(p, mg_machine_find("H200")), best = chain_us(size[k] + 1, n);
      mg_search_result r = search_libraries(p, 5);
      if (fabs(r.predicted_us[0] - best) > 1e-9 * best) fail_msg("chain %zu from the %s: %.6f us found, %.6f by the textbook, %.6f as written", k, right ? "right" : "left", r.predicted_us[0], best, own);
      same_function(p, r.graph[0]);
      better += best < own * (1 - 1e-9);
      mg_search_result_free(&r);
      mg_graph_free(p);
    }
  print_message("%d of %zu were written in a slower order\n", better, 2 * sizeof size / sizeof *size / SPARSER);
  assert_true(better >= 8 / SPARSER);
}

static void the_names_of_a_program_are_its_own(void **state) { /* what it may call its values, one after the other */
  (void)state;
  for (int k = 0; k < 24; k += SPARSER) {
    char text[300];
    snprintf(text, sizeof text, "program names\ninput h_%d : f16[1024, 1024]\ninput h______%d : f16[1024, 1024]\ninput h0_%d : f16[1024, 1]\n"
             "T = matmul(h_%d, h______%d)\nO = matmul(T, h0_%d)\noutput O\n", k, k, k, k, k, k);
    mg_graph *p = parse(text);
    mg_search_result r = search_libraries(p, 5);
    const double best = product_us(1024, 1024, 1) * 2;
    if (fabs(r.predicted_us[0] - best) > 1e-9 * best) fail_msg("names with %d: %.6f us found, %.6f by the textbook", k, r.predicted_us[0], best);
    same_function(p, r.graph[0]);
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

static void a_chain_becomes_custom_kernels_of_the_right_association(void **state) {
  (void)state;
  const int64_t d[5] = { 512, 4096, 1024, 4096, 16 }, s[4] = { 4096, 4096, 4096, 16 };
  mg_graph *p = chain(s, 3, 0), *q = chain(d, 4, 0);
  mg_search_result r = search_all(p), t = search_all(q);
  assert_true(r.stats.complete && t.stats.complete);
  assert_true(r.predicted_us[0] <= chain_us(s, 3) && t.predicted_us[0] <= chain_us(d, 4));
  assert_int_equal(r.stats.best_kernels, 2);
  assert_int_equal(t.stats.best_kernels, 3);
  assert_true(largest_between(r.graph[0]) == 4096 * 16 && largest_between(t.graph[0]) == 4096 * 16);
  same_function(p, r.graph[0]), same_function(q, t.graph[0]);
  int others = 0;
  for (int k = 0, n; k < t.n; k++) { /* the statistics of another rank */
    char *text;
    mg_error e;
    assert_int_equal(mg_print(t.graph[k], &text, &e), MG_OK);
    n = 0;
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) n += *at && *at != ' ' && *at != '}' && strncmp(at, "program ", 8) && strncmp(at, "input ", 6) && strncmp(at, "output ", 7);
    mg_search_stats_best(&t.stats, &t, k);
    assert_int_equal(t.stats.best_kernels, n);
    others |= n != 3;
    assert_true(t.stats.predicted_us == t.predicted_us[k]);
    mg_string_free(text);
  }
  assert_true(others);
  mg_search_result_free(&r), mg_search_result_free(&t);
  mg_graph_free(p), mg_graph_free(q);
}

/* Both associations of A B v, of sizes at which the better one is better by little: bounds that are no bounds lose it.  Each is found
   from either, by custom kernels. */
static void either_association_is_found_from_either(void **state) {
  (void)state;
  static const struct { int block_ops; int64_t d[4]; } sizes[] = {
    { 1, { 16384, 1024, 24, 8 } }, { 1, { 16384, 1024, 64, 32 } }, { 1, { 4096, 4096, 128, 16 } }, { 2, { 16384, 4096, 24, 8 } }, { 2, { 16384, 4096, 64, 16 } },
    { 2, { 1024, 8192, 64, 8 } }, { 2, { 16, 4096, 2048, 4096 } },
  };
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k += SPARSER) {
    mg_search_config c = mg_search_config_default();
    c.max_kernel_ops = 2, c.max_block_ops = sizes[k].block_ops, c.top_k = 1;
    double us[2];
    for (int right = 0; right < 2; right++) {
      mg_graph *p = chain(sizes[k].d, 3, right);
      mg_search_result r = search_with(p, c);
      assert_true(r.stats.complete);
      us[right] = r.predicted_us[0];
      mg_search_result_free(&r);
      mg_graph_free(p);
    }
    if (fabs(us[0] - us[1]) > 1e-9 * us[0]) fail_msg("sizes %zu: %.9f us from the left, %.9f from the right", k, us[0], us[1]);
  }
}

/* ------------------------------------------------------------------------------------------------ other forms */

static void a_common_factor_is_taken_out(void **state) {
  (void)state;
  mg_graph *p = parse("program factor\ninput X : f16[2048, 4096]\ninput A : f16[4096, 4096]\ninput B : f16[4096, 4096]\n"
                      "P = matmul(X, A)\nQ = matmul(X, B)\nO = add(P, Q)\noutput O\n");
  mg_search_result r = search_libraries(p, 3), all = search_all(p);
  assert_int_equal(r.graph[0]->n_ops, 3);
  assert_int_equal(count_of(r.graph[0], MG_OP_MATMUL), 1);
  assert_int_equal(r.graph[0]->ops[1].code, MG_OP_ADD);
  assert_true(all.predicted_us[0] <= r.predicted_us[0] && all.stats.complete);
  same_function(p, r.graph[0]);
  mg_search_result_free(&r), mg_search_result_free(&all);
  mg_graph_free(p);
}

static void a_scale_goes_to_the_small_side(void **state) {
  (void)state;
  mg_graph *p = parse("program scaled\ninput A : f16[4096, 2048]\ninput B : f16[2048, 4096]\ninput v : f16[4096, 16]\n"
                      "T = scale(matmul(A, B), 1/3)\nO = matmul(T, v)\noutput O\n");
  mg_search_result r = search_all(p);
  assert_true(r.stats.complete);
  assert_int_equal(r.stats.best_kernels, 2);
  assert_true(largest_between(r.graph[0]) == 2048 * 16);
  assert_int_equal(count_of(r.graph[0], MG_OP_SCALE), 1);
  same_function(p, r.graph[0]);
  mg_search_result_free(&r);
  mg_graph_free(p);
}

/* Refuses kernels that multiply matrices and have anything of a norm. */
static mg_status no_norm_beside_a_product(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  for (uint32_t k = 1; k < g->n_ops; k++)
    if (g->ops[k].sub && count_of(g->ops[k].sub, MG_OP_MATMUL) && count_of(g->ops[k].sub, MG_OP_DIV) + count_of(g->ops[k].sub, MG_OP_SUM)) return mg_fail(why, MG_UNSUPPORTED, "test", "a norm beside a product");
  return MG_OK;
}
static void a_norm_is_divided_by_behind_the_product(void **state) {
  (void)state;
  mg_graph *p = parse("program norm\ninput X : f16[4096, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 32]\nY = rms_norm(X, G)\nO = matmul(Y, W)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  c.emittable = no_norm_beside_a_product, c.max_kernel_ops = 2, c.top_k = 1;
  mg_search_result r = search_with(p, c);
  assert_int_equal(r.stats.best_kernels, 2);
  assert_true(largest_between(r.graph[0]) == 4096 * 32); /* X (g W), not the normalised X */
  same_function(p, r.graph[0]);
  mg_search_result_free(&r);
  mg_graph_free(p);
}

static void a_raw_exponential_is_not_handed_on(void **state) {
  (void)state; /* exp(A) (B v) would be best, and exp(A) has to be handed on for it, as the library multiplies alone */
  mg_graph *p = parse("program raw\ninput A : f16[4096, 64]\ninput B : f16[64, 4096]\ninput v : f16[4096, 16]\nE = exp(A)\nT = matmul(E, B)\nO = matmul(T, v)\noutput O\n");
  mg_search_result r = search_libraries(p, 5);
  for (uint32_t k = 1; k < r.graph[0]->n_ops; k++) /* only the program as it is may */
    if (r.graph[0]->ops[k].code == MG_OP_EXP) assert_true(largest_between(r.graph[0]) == 4096 * 4096);
  mg_search_result_free(&r);
  mg_graph_free(p);
}

static void nothing_depends_on_threads_seed_or_checkpoint(void **state) {
  (void)state;
  const int64_t d[5] = { 512, 4096, 1024, 4096, 16 };
  mg_graph *p[2] = { chain(d, 4, 0), parse("program norm\ninput X : f16[512, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 2048]\nY = rms_norm(X, G)\nO = matmul(Y, W)\noutput O\n") };
  if (SANITIZED) mg_graph_free(p[0]);
  for (int i = SANITIZED; i < 2; i++) {
    char path[64];
    snprintf(path, sizeof path, "build/compose.%ld.checkpoint", (long)getpid());
    remove(path);
    mg_search_config c = mg_search_config_default();
    c.threads = 1;
    mg_search_result a = search_with(p[i], c);
    for (int k = 0; k < 4; k++) {
      mg_search_config x = c;
      x.threads = k == 0 ? 2 : 3, x.seed = k == 1 ? 7 : 1, x.checkpoint = k > 1 ? path : NULL;
      mg_search_result b = search_with(p[i], x);
      assert_int_equal(a.n, b.n);
      for (int j = 0; j < a.n; j++) assert_true(mg_hash(a.graph[j]) == mg_hash(b.graph[j]) && a.predicted_us[j] == b.predicted_us[j]);
      assert_true(a.stats.segments == b.stats.segments && a.stats.complete == b.stats.complete);
      if (k == 3) assert_true(b.stats.resumed == b.stats.frames && b.stats.resumed > 0);
      mg_search_result_free(&b);
    }
    remove(path);
    mg_search_result_free(&a);
    mg_graph_free(p[i]);
  }
}

/* For `emittable`: a mis-wiring is planted in what the search is about to verify: of two tensors of one shape that kernels hand on, those
   that come after both take one for the other. */
static void take(mg_graph *g, const mg_graph *outer, mg_tensor from, mg_tensor to, uint32_t first, int *n) {
  for (uint32_t k = first; k < g->n_ops; k++) {
    mg_op_node *o = &g->ops[k];
    if (outer && o->code != MG_OP_LOAD) continue;
    if (o->sub) take(o->sub, g, from, to, 1, n);
    for (int j = 0; j < o->n_in; j++) {
      const uint32_t id = o->in[j].id;
      if (id != from.id && id != to.id) continue;
      o->in[j] = id == from.id ? to : from;
      *n += outer || !o->sub;
    }
  }
}
static mg_status swapped(void *user, const mg_graph *g, mg_error *why) {
  int *n = (int *)user;
  (void)why;
  mg_tensor before[16];
  int many = 0;
  for (uint32_t k = 1; k + 1 < g->n_ops && !mg_is_program(g); k++)
    for (int j = 0; j < g->ops[k].n_out && many < 16; j++) {
      const mg_tensor x = before[many++] = g->ops[k].out[j];
      for (int i = 0; i < many - 1; i++)
        if (!memcmp(&mg_tensor_of(g, before[i])->shape, &mg_tensor_of(g, x)->shape, sizeof(mg_shape))) { take((mg_graph *)(uintptr_t)g, NULL, before[i], x, k + 1, n); return MG_OK; }
    }
  return MG_OK;
}
static void a_composition_is_verified_as_it_is_wired(void **state) {
  (void)state;
  static const char *const text[] = {
    /* handed on: B v and D w, which the program does not have */
    "program two\ninput A : f16[2048, 4096]\ninput B : f16[4096, 4096]\ninput C : f16[2048, 4096]\ninput D : f16[4096, 4096]\ninput v : f16[4096, 16]\n"
    "input w : f16[4096, 16]\nO = sub(matmul(matmul(A, B), v), matmul(matmul(C, D), w))\noutput O\n",
    /* P and Q, which it has */
    "program cuts\ninput A : f16[64, 4096]\ninput B : f16[64, 4096]\ninput V : f16[4096, 4096]\ninput W : f16[4096, 4096]\ninput U : f16[4096, 4096]\n"
    "input Z : f16[4096, 4096]\nP = silu(matmul(A, V))\nQ = silu(matmul(B, W))\nO = sub(matmul(P, U), matmul(Q, Z))\noutput O\n",
  };
  for (int k = 0; k < 2; k++) {
    mg_graph *p = parse(text[k]);
    int planted = 0;
    mg_search_config c = mg_search_config_default();
    c.max_kernel_ops = 3, c.max_block_ops = 2, c.top_k = 2;
    mg_search_result r = search_with(p, c);
    for (int i = 0; i < r.n; i++) same_function(p, r.graph[i]);
    c.emittable = swapped, c.user = &planted;
    mg_search_result s = search_with(p, c);
    assert_true(planted > 0 && s.stats.rejected > r.stats.rejected);
    assert_true(!s.stats.complete && s.predicted_us[0] > r.predicted_us[0]);
    for (int i = 0; i < s.n; i++) same_function(p, s.graph[i]);
    mg_search_result_free(&r), mg_search_result_free(&s);
    mg_graph_free(p);
  }
}

/* --------------------------------------------------------------------------------------------- brute force

   All graphs of at most so many kernel-level operators (matmul, sum, add and mul of equal shapes), each on any earlier tensors
   that fit, evaluated modulo 2^61 - 1 at small extents; those whose last tensor is the program's are right.  Nothing is pruned
   but by price.  None may be cheaper, each operator by the library, than what the search of library kernels finds.   */

enum { DIMS = 4, MOST = 12 };
static const uint64_t P61 = ((uint64_t)1 << 61) - 1;
static const int64_t small[DIMS + 1] = { 2, 3, 4, 5, 1 };
typedef struct bf_tensor { int d[2]; uint64_t x[25]; } bf_tensor; /* rows, columns: indices of dimensions, DIMS for extent 1 */
typedef struct bf_op { int code, a, b; } bf_op;
typedef struct bf {
  int64_t real[DIMS + 1];
  bf_tensor t[MOST];
  int n, n_in;
  bf_tensor goal;
  double best;
  uint64_t tried, right;
} bf;

static uint64_t mul61(uint64_t a, uint64_t b) { return (uint64_t)((__extension__ (unsigned __int128)a * b) % P61); }
/* c = op(a, b); 0: they do not fit. */
static int bf_apply(const bf_tensor *a, const bf_tensor *b, int code, bf_tensor *c) {
  memset(c, 0, sizeof *c);
  if (code == MG_OP_MATMUL) {
    if (a->d[1] != b->d[0] || a->d[1] == DIMS) return 0;
    c->d[0] = a->d[0], c->d[1] = b->d[1];
    const int64_t m = small[c->d[0]], n = small[c->d[1]], k = small[a->d[1]];
    for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) for (int64_t q = 0; q < k; q++) c->x[i * n + j] = (c->x[i * n + j] + mul61(a->x[i * k + q], b->x[q * n + j])) % P61;
    return 1;
  }
  if (code == MG_OP_SUM) { /* b: which dimension */
    const int dim = b != NULL;
    if (a->d[dim] == DIMS) return 0;
    c->d[0] = dim ? a->d[0] : DIMS, c->d[1] = dim ? DIMS : a->d[1];
    for (int64_t i = 0; i < small[a->d[0]]; i++) for (int64_t j = 0; j < small[a->d[1]]; j++) { uint64_t *y = &c->x[dim ? i : j]; *y = (*y + a->x[i * small[a->d[1]] + j]) % P61; }
    return 1;
  }
  if (memcmp(a->d, b->d, sizeof a->d)) return 0;
  memcpy(c->d, a->d, sizeof c->d);
  for (int64_t i = 0; i < small[c->d[0]] * small[c->d[1]]; i++) c->x[i] = code == MG_OP_ADD ? (a->x[i] + b->x[i]) % P61 : mul61(a->x[i], b->x[i]);
  return 1;
}
static mg_tensor build_op(mg_graph *g, mg_tensor a, mg_tensor b, int code, int dim) {
  return code == MG_OP_SUM ? mg_sum(g, a, dim) : mg_binary(g, (mg_opcode)code, a, b);
}
static double bf_price(const bf *B, const bf_tensor *a, const bf_tensor *b, int code, int dim) {
  const int64_t da[2] = { B->real[a->d[0]], B->real[a->d[1]] }, db[2] = { B->real[b->d[0]], B->real[b->d[1]] };
  mg_graph *g = mg_program_new("price", NULL);
  mg_error e;
  const mg_tensor x = mg_input(g, "A", MG_F16, 2, da), y = a == b ? x : mg_input(g, "B", MG_F16, 2, db);
  mg_output(g, build_op(g, x, y, code, dim));
  assert_int_equal(mg_check(g, &e), MG_OK);
  const double us = mg_predict_us(g, mg_machine_find("H200"));
  mg_graph_free(g);
  return us;
}
static void bf_walk(bf *B, int left, double us) {
  static const int codes[] = { MG_OP_MATMUL, MG_OP_ADD, MG_OP_MUL, MG_OP_SUM };
  if (us + 2 >= B->best) return; /* no operator takes less than a launch */
  for (int c = 0; c < 4; c++)
    for (int a = 0; a < B->n; a++)
      for (int b = 0; b < B->n; b++) {
        bf_tensor *t = &B->t[B->n];
        const int code = codes[c];
        int dim = 0, known = 0;
        if (code == MG_OP_SUM ? b > 1 : code != MG_OP_MATMUL && b <= a) continue;
        if (code == MG_OP_SUM) dim = b;
        if (!bf_apply(&B->t[a], code == MG_OP_SUM && !dim ? NULL : &B->t[b], code, t)) continue;
        B->tried++;
        for (int k = 0; k < B->n; k++) known |= !memcmp(&B->t[k], t, sizeof *t);
        if (known) continue;
        const int done = !memcmp(t, &B->goal, sizeof *t);
        if (!done && left == 1) continue;
        const double all = us + bf_price(B, &B->t[a], code == MG_OP_SUM ? &B->t[a] : &B->t[b], code, dim);
        if (done) { B->right++; if (all < B->best) B->best = all; continue; }
        B->n++;
        bf_walk(B, left - 1, all);
        B->n--;
      }
}

/* A random program over two-dimensional inputs, in both forms; 0: an operator did not fit. */
static mg_graph *random_program(bf *B, int ops) {
  static const int64_t reals[] = { 64, 192, 1024, 2048, 4096 };
  mg_graph *g = mg_program_new("random", NULL);
  mg_tensor t[MOST];
  mg_error e;
  int uses[MOST] = { 0 }, n;
  memset(B, 0, sizeof *B);
  B->real[DIMS] = 1;
  for (int k = 0; k < DIMS; k++) do { /* all different: classes of equal extent are one in the e-graph */
    B->real[k] = reals[draw(5)];
    n = 0;
    for (int j = 0; j < k; j++) n |= B->real[j] == B->real[k];
  } while (n);
  for (B->n_in = 0; B->n_in < 3; B->n_in++) {
    bf_tensor *x = &B->t[B->n_in];
    char name[3] = { 'X', (char)('0' + B->n_in), 0 };
    x->d[0] = (int)draw(draw(3) ? DIMS : DIMS + 1), x->d[1] = (int)draw(DIMS);
    if (B->n_in && draw(2)) x->d[0] = B->t[draw((uint64_t)B->n_in)].d[1]; /* often a product is possible */
    if (x->d[0] == x->d[1]) x->d[1] = (x->d[1] + 1) % DIMS;
    const int64_t d[2] = { B->real[x->d[0]], B->real[x->d[1]] };
    for (int64_t i = 0; i < small[x->d[0]] * small[x->d[1]]; i++) x->x[i] = next(&seed) % P61;
    t[B->n_in] = mg_input(g, name, MG_F16, 2, d);
  }
  B->n = B->n_in;
  for (int k = 0, tries = 0; k < ops && tries < 200; tries++) {
    static const int codes[] = { MG_OP_MATMUL, MG_OP_MATMUL, MG_OP_MATMUL, MG_OP_ADD, MG_OP_ADD, MG_OP_MUL, MG_OP_SUM };
    const int code = codes[draw(7)], a = (int)draw((uint64_t)B->n), b = (int)draw((uint64_t)B->n), dim = (int)draw(2);
    if ((code == MG_OP_MUL || code == MG_OP_ADD) && a == b) continue;
    if (!bf_apply(&B->t[a], code == MG_OP_SUM && !dim ? NULL : &B->t[b], code, &B->t[B->n])) continue;
    int known = 0;
    for (int j = 0; j < B->n; j++) known |= !memcmp(&B->t[j], &B->t[B->n], sizeof(bf_tensor));
    if (known) continue;
    t[B->n] = build_op(g, t[a], t[b], code, dim);
    uses[a]++, uses[b] += code != MG_OP_SUM;
    B->n++, k++;
  }
  n = B->n;
  mg_output(g, t[n - 1]);
  int dead = n - B->n_in < ops;
  for (int k = 0; k < n - 1; k++) dead |= !uses[k] && k >= B->n_in;
  if (dead || mg_check(g, &e) != MG_OK) { mg_graph_free(g); return NULL; }
  B->goal = B->t[n - 1], B->n = B->n_in;
  memset(B->t + B->n, 0, sizeof B->t - (size_t)B->n * sizeof *B->t);
  B->best = mg_predict_us(g, mg_machine_find("H200")) * (1 + 1e-9);
  return g;
}

static void brute_force_finds_nothing_cheaper(void **state) {
  (void)state;
  const uint64_t first = seed;
  const uint64_t n = 50 * rounds / SPARSER;
  uint64_t better = 0, equal = 0, part = 0, tried = 0, right = 0;
  for (uint64_t i = 0; i < n;) {
    bf B;
    char *text = NULL;
    mg_error e;
    const uint64_t at = seed;
    mg_graph *p = random_program(&B, 2 + (int)draw(2));
    if (!p) continue;
    i++;
    const double own = mg_predict_us(p, mg_machine_find("H200"));
    bf_walk(&B, 3, 0);
    if (B.best > own) B.best = own;
    mg_search_result r = search_libraries(p, 3);
    equal += fabs(r.predicted_us[0] - B.best) <= 1e-9 * B.best;
    const int whole = !strcmp(r.stats.egraph_stop, "SATURATED");
    part += !whole;
    if (whole && r.predicted_us[0] > B.best * (1 + 1e-9)) {
      assert_int_equal(mg_print(p, &text, &e), MG_OK);
      fail_msg("seed %llu, at %llu: %.9f us found, %.9f by brute force, %.9f as written\n%s", (unsigned long long)first, (unsigned long long)at, r.predicted_us[0], B.best, own, text);
    }
    same_function(p, r.graph[0]);
    better += B.best < own * (1 - 1e-9), tried += B.tried, right += B.right;
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
  print_message("%llu of %llu programs have a cheaper form, %llu times the best was found, else a better one; %llu operators tried, %llu right graphs\n", (unsigned long long)better, (unsigned long long)n, (unsigned long long)equal, (unsigned long long)tried, (unsigned long long)right);
  assert_true(better >= n / 16 && part <= n / 8);
}

int main(int argc, char **argv) {
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  rounds = getenv("SOAK_COMPOSE") ? strtoull(getenv("SOAK_COMPOSE"), NULL, 0) : 1;
  print_message("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(chains_are_associated_as_the_textbook_does),
    cmocka_unit_test(the_names_of_a_program_are_its_own),
    cmocka_unit_test(either_association_is_found_from_either),
    cmocka_unit_test(a_chain_becomes_custom_kernels_of_the_right_association),
    cmocka_unit_test(a_common_factor_is_taken_out),
    cmocka_unit_test(a_scale_goes_to_the_small_side),
    cmocka_unit_test(a_norm_is_divided_by_behind_the_product),
    cmocka_unit_test(a_raw_exponential_is_not_handed_on),
    cmocka_unit_test(nothing_depends_on_threads_seed_or_checkpoint),
    cmocka_unit_test(a_composition_is_verified_as_it_is_wired),
    cmocka_unit_test(brute_force_finds_nothing_cheaper),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
