/* Tests of a model on a device: its list of launches on the stand-in for one (mirage_cuda.cuh, >>device), by emulated
   kernels.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_model_loaded.c -o build/test_model_loaded -lcmocka -lm -lpthread -ldl */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#include "mirage_model.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <unistd.h>

/* Two layers with a cache: an update that is made in its row, and one that is a copy, as its value is read again; a
   kernel of the user's, which changes its operand, and has scratch; a product by the library. */
static const char text[] =
    "model small\nsym n in 1..4\nsym p in 1..8 device\ninput T : i32[n, 1]\ninput C : f16[1, 32] = cos at p-1 base "
    "100\n"
    "weight E : f16[20, 32]\nweight G : f16[32]\nweight W[2], V[2] : f16[32, 32]\nstate K[2], L[2] : f16[n, 2, p, 16]\n"
    "X = reshape(gather(E, T), [n, 32])\n"
    "for l=2 {\n  A = mul(matmul(rms_norm(X, G, eps=1e-5), W[l]), C)\n"
    "  update K[l] at p-1 = reshape(A, [n, 2, 1, 16])\n  B = silu(reshape(A, [n, 2, 1, 16]))\n"
    "  update L[l] at p-1 = B\n  S = reshape(sum(mul(K[l], L[l]), dim=2), [n, 32])\n"
    "  H = extern user \"twice\" in \"twice.cu\" (S, B; n, 32) : in S scratch 64*n\n"
    "  Q = extern library \"cublas.matmul\" (H, V[l]) : f16[n, 32]\n  X = add(X, Q)\n}\n"
    "output X\n";
/* It goes by its scratch: result = operand + operand, by way of it, and of B nothing. */
static const char twice[] =
    "#include \"mirage_cuda.cuh\"\n"
    "MG_KERNEL(32) void twice_kernel(mg_f16 *x, mg_f16 *space, int64_t n) {\n"
    "  for (int64_t k = mg_bid(0) * (int64_t)32 + mg_tid(); k < n; k += 32 * 2) {\n"
    "    space[k] = mg_narrow<mg_f16>(mg_widen(x[k]) + mg_widen(x[k]));\n    x[k] = space[k];\n  }\n}\n"
    "extern \"C\" int twice_launch(const void *const *in, void *const *out, void *space, const int64_t *sym, "
    "cudaStream_t stream) {\n"
    "  (void)in;\n  return MG_LAUNCH(twice_kernel, 2, 1, 1, 32, 0, stream, (mg_f16 *)out[0], (mg_f16 *)space, sym[0] * "
    "sym[1]);\n}\n";
static char dir[] = "/tmp/mirage_loaded_XXXXXX", where[80], cu[80];
static mg_model *m;
static mg_model_list *l, *q;
static mg_model_found found;
static mg_device *dev;
enum { STEPS = 4 };
static const int64_t room[2] = {3, 5 + STEPS - 1};

static mg_status twice_of(void *user, const mg_foreign_call *c, mg_error *e) {
  (void)user, (void)e;
  if (!strcmp(c->step->symbol, "twice")) {
    for (int64_t k = 0; k < mg_shape_elements(&c->in_shape[0]); k++) c->out[0][k] = 2 * c->in[0][k];
    return MG_OK;
  }
  const int64_t rows = c->out_shape[0].dim[0], columns = c->out_shape[0].dim[1], over = c->in_shape[0].dim[1];
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double sum = 0;
      for (int64_t k = 0; k < over; k++) sum += c->in[0][i * over + k] * c->in[1][k * columns + j];
      c->out[0][i * columns + j] = sum;
    }
  return MG_OK;
}
static mg_model_found found_of(const mg_model_list *of) {
  mg_model_search_config c = mg_model_search_config_default();
  mg_model_found f;
  mg_error e;
  c.no_search = 1;
  if (mg_model_search(of, &c, &f, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return f;
}
static int setup(void **state) {
  mg_error e;
  mg_device_config c;
  (void)state;
  memset(&c, 0, sizeof c);
  c.emulated = 1, c.include_dir = ".";
  if (!mkdtemp(dir)) return 1;
  snprintf(where, sizeof where, "%s/m.mgm", dir), snprintf(cu, sizeof cu, "%s/twice.cu", dir);
  FILE *f = fopen(cu, "w");
  if (!f || fputs(twice, f) < 0 || fclose(f)) return 1;
  if (mg_model_parse(text, sizeof text - 1, where, NULL, &m, &e) || mg_model_list_of(m, &l, &e) ||
      mg_model_partition(l, NULL, &q, &e) || mg_device_open(&c, &dev, &e))
    return fprintf(stderr, "%s: %s\n", e.where, e.msg), 1;
  found = found_of(q);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  mg_device_close(dev), mg_model_found_free(&found);
  mg_model_list_free(q), mg_model_list_free(l), mg_model_free(m);
  remove(cu);
  return rmdir(dir);
}

/* A model on the device, and beside it the same in float64. */
typedef struct pair { mg_model_loaded *g; mg_model_data *d; mg_model_config c; double off; } pair;
static pair load(const mg_model_load_config *cfg) {
  pair x;
  mg_error e;
  mg_model_load_config c;
  memset(&x, 0, sizeof x), memset(&c, 0, sizeof c);
  if (cfg) c = *cfg;
  x.c.foreign = twice_of;
  if (mg_model_data_new(l, room, 7, &x.d, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  c.data = x.d;
  if (mg_model_load(&found, dev, room, &c, &x.g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return x;
}
static void unload(pair *x) { mg_model_unload(x->g), mg_model_data_free(x->d); }
static double off_of(const double *a, const double *b, int64_t n) {
  double off = 0, all = 0;
  for (int64_t k = 0; k < n; k++) off += (a[k] - b[k]) * (a[k] - b[k]), all += a[k] * a[k];
  off = sqrt(off / (all > 0 ? all : 1));
  return off < 1e300 ? off : 1e300;
}
/* Step t of both, then how far all outputs and states are apart; 1e300 where the device says an error. */
static mg_status step(pair *x, int t, mg_error *e) {
  const int64_t sym[2] = {room[0], room[1] - STEPS + 1 + t};
  x->c.inputs = 11 + (uint64_t)t;
  if (mg_model_step(x->d, sym, &x->c, e) != MG_OK) fail_msg("%s: %s", e->where, e->msg);
  mg_status s = mg_model_put(x->g, mg_value_find(q, "T", -1), sym, x->d->data[mg_value_find(l, "T", -1)], e);
  if (s == MG_OK) s = mg_model_launch(x->g, sym, e);
  for (uint32_t v = 1; v < q->n_values && s == MG_OK; v++) {
    const mg_value *is = &q->value[v];
    const int output = v == q->output[0], state = is->kind == MG_VALUE_STATE;
    mg_shape shape;
    if (!output && !state) continue;
    const int64_t *at = state ? room : sym;
    assert_int_equal(mg_value_shape(q, is, at, &shape, e), MG_OK);
    const int64_t n = mg_shape_elements(&shape);
    double *got = (double *)malloc((size_t)n * sizeof *got);
    s = mg_model_get(x->g, v, at, got, e);
    const double off =
        s == MG_OK ? off_of(x->d->data[output ? l->output[0] : mg_value_find(l, is->name, is->layer)], got, n) : 0;
    if (off > x->off) x->off = off;
    free(got);
  }
  if (s != MG_OK) x->off = 1e300;
  return s;
}
enum { NEAR = 1 }; /* off by less than this many hundredths: the same in f16 */
static void steps(pair *x, int n) {
  mg_error e;
  for (int t = 0; t < n; t++)
    if (step(x, t, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
}

static void test_steps(void **state) {
  (void)state;
  for (int no_graph = 0; no_graph < 2; no_graph++) {
    mg_model_load_config c;
    mg_device_counts a, b;
    mg_model_loaded_info is;
    memset(&c, 0, sizeof c);
    c.no_graph = no_graph;
    pair x = load(&c);
    mg_model_loaded_say(x.g, &is);
    assert_int_equal(is.placed, 2), assert_int_equal(is.copies, 2), assert_int_equal(is.foreign, 2);
    mg_device_count(dev, &a);
    steps(&x, STEPS);
    mg_device_count(dev, &b);
    print_message("%u files, %u launches, %u early, arena %llu, off %.3g\n", is.files, is.launches, is.early,
                  (unsigned long long)is.arena, x.off);
    assert_true(x.off > 0 && x.off < 0.01 * NEAR);
    assert_int_equal(b.allocations, a.allocations);
    assert_int_equal(b.launches - a.launches, (uint64_t)is.launches * (no_graph ? STEPS : 2)); /* of the graph once */
    assert_int_equal(b.recorded - a.recorded, no_graph ? 0 : 1);
    assert_int_equal(b.changed - a.changed, 0); /* kernels, updates, copies: all read p in device memory */
    assert_int_equal(b.replayed - a.replayed, no_graph ? 0 : STEPS - 1);
    mg_error e;
    if (!no_graph) { /* the same sizes again: the graph as it is */
      const int64_t sym[2] = {room[0], room[1]};
      assert_int_equal(mg_model_launch(x.g, sym, &e), MG_OK);
      mg_device_count(dev, &a);
      assert_true(a.changed == b.changed && a.recorded == b.recorded && a.replayed == b.replayed + 1 &&
                  a.launches == b.launches);
    }
    unload(&x);
    mg_device_count(dev, &a);
    assert_int_equal(a.bytes, 0);
  }
}

/* Each call of the device that fails ends the load or the step with its error; the same model loads and runs again. */
static void test_failing(void **state) {
  (void)state;
  mg_error e;
  int loads = 0, runs = 0;
  for (uint64_t at = 1;; at++) {
    mg_model_loaded *g = NULL;
    mg_model_data *d = NULL;
    mg_model_load_config c;
    memset(&c, 0, sizeof c);
    const int64_t sym[2] = {room[0], room[1] - 1}, next[2] = {room[0], room[1]};
    assert_int_equal(mg_model_data_new(l, room, 7, &d, &e), MG_OK);
    c.data = d;
    mg_device_fail(dev, at);
    mg_status s = mg_model_load(&found, dev, room, &c, &g, &e);
    if (s != MG_OK) loads++, assert_null(g);
    if (s == MG_OK && (s = mg_model_launch(g, sym, &e)) == MG_OK) s = mg_model_launch(g, next, &e);
    mg_device_fail(dev, 0);
    if (s != MG_OK) assert_true(s == MG_MACHINE && strstr(e.msg, "is the one that fails")), runs++;
    if (s != MG_OK && g) assert_int_equal(mg_model_launch(g, next, &e), MG_OK);
    mg_model_unload(g), mg_model_data_free(d);
    if (s == MG_OK) break;
    if (at > 60 && at % 7) continue;
  }
  print_message("%d calls of a load, %d of two steps\n", loads, runs - loads);
  assert_true(loads > 10 && runs > loads + 20);
}

/* What is wrong is said before anything runs. */
static void test_refused(void **state) {
  static const struct { int64_t room[2], sym[2]; const char *says; } bad[] = {
      {{0, 5}, {1, 5}, "n is in 1..4, found 0"},
      {{1, 9}, {1, 5}, "p is in 1..8, found 9"},
      {{2, 5}, {2, 6}, "there is room for 5, found p = 6"},
      {{2, 5}, {1, 5}, "it was loaded for n = 2, found 1"},
      {{2, 5}, {2, 0}, "p is in 1..8, found 0"},
  };
  (void)state;
  mg_error e;
  mg_device_counts a, b;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    mg_model_loaded *g = NULL;
    mg_status s = mg_model_load(&found, dev, bad[k].room, NULL, &g, &e);
    mg_device_count(dev, &a);
    if (s == MG_OK) s = mg_model_launch(g, bad[k].sym, &e);
    mg_device_count(dev, &b);
    if (s != MG_BAD_INPUT || !strstr(e.msg, bad[k].says))
      fail_msg("expected '%s', found '%s'", bad[k].says, s == MG_OK ? "no error" : e.msg);
    assert_true(a.launches == b.launches && a.copies == b.copies);
    mg_model_unload(g);
  }
  pair x = load(NULL);
  const double far[3] = {1, 20, 2};
  assert_int_equal(mg_model_put(x.g, mg_value_find(q, "T", -1), room, far, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "element 1: expected 0 to 19, found 20"));
  const int64_t past[2] = {5, 5}, more[2] = {room[0], room[1] - 1};
  double got[5 * 32];
  assert_int_equal(mg_model_get(x.g, q->output[0], past, got, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "n is in 1..4, found 5"));
  mg_model_load_config other;
  mg_model_loaded *none = NULL;
  memset(&other, 0, sizeof other);
  other.data = x.d;
  assert_int_equal(mg_model_load(&found, dev, more, &other, &none, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "the data has room for p = 8, found 7"));
  assert_null(none);
  unload(&x);
  static const struct { const char *text, *says; mg_status s;
  } models[] = {
      {"model a input X : f16[4, 4] Y = extern user \"f\" in \"none.cu\" (X) : f16[4, 4] output Y",
       "f: cannot read its file 'none.cu'", MG_BAD_INPUT},
      {"model a input X : f16[4, 4] Y = extern user \"f\" (X) : f16[4, 4] output Y", "f: no file says what it is",
       MG_BAD_INPUT},
      {"model a input X : f16[4, 4] Y = extern library \"lib.g\" (X) : f16[4, 4] output Y", "no library has 'lib.g'",
       MG_UNSUPPORTED},
      {"model a input X : f16[4, 4] Y = extern library \"cublas.matmul\" (X) : f16[4, 4] output Y",
       "takes two operands", MG_BAD_INPUT},
      {"model a sym n in 1..4 sym p in 1..4 device input X : f16[n, 4] state K : f16[n, p, 4] "
       "Y = exp(reshape(K, [n*p, 4])) Z = add(X, X) output Y, Z",
       "has no kernels for all sizes", MG_UNSUPPORTED},
      {"model a sym p in 1..4 device input X : f16[4, 4] state K : f16[p, p] update K at p-1 = reshape(sum(X, dim=0), "
       "[1, 4]) Y = exp(X) output Y",
       "grows along several dimensions", MG_UNSUPPORTED},
      {"model a sym p in 1..4 device sym m in 1..4 input X : f16[8, 1, 64] state K : f16[8, p, 64] state T : f16[8, m, "
       "64] update K at p-1 = X update T at 0 = K Y = exp(X) output Y",
       "'K' grows along dimension 1: it goes into a state only by what is made of it", MG_UNSUPPORTED},
      {"model a sym p in 1..4 device input X : f16[8, p, 32] state K : f16[8, p, 64] update K at 0 = X Y = exp(X) "
       "output Y",
       "'K' is updated along another dimension than it grows", MG_UNSUPPORTED},
      {"model a input W : f16[4, 4] state K : f16[4, 4] Y = exp(W) H = extern library \"cublas.matmul\" (K, W) : in K "
       "output Y",
       "cublas.matmul takes two operands, and makes one result", MG_BAD_INPUT},
      {"model a input X : f16[4, 4] weight W : f16[4, 4] H = extern library \"cublas.matmul\" (X, W) : f16[4, 4] "
       "G = extern library \"cublas.matmul\" (H, W) : in H output G",
       "cublas.matmul takes two operands, and makes one result", MG_BAD_INPUT},
  };
  for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
    mg_model *b_m = NULL;
    mg_model_list *b_l = NULL, *b_q = NULL;
    mg_model_loaded *g = NULL;
    const int64_t four[2] = {4, 4};
    mg_device_count(dev, &a);
    if (mg_model_parse(models[k].text, strlen(models[k].text), "m", NULL, &b_m, &e) ||
        mg_model_list_of(b_m, &b_l, &e) || mg_model_partition(b_l, NULL, &b_q, &e)) {
      if (k != 5) fail_msg("%s: %s", e.where, e.msg);
      mg_model_list_free(b_l), mg_model_free(b_m);
      continue;
    }
    mg_model_found f = found_of(b_q);
    const mg_status s = mg_model_load(&f, dev, four, NULL, &g, &e);
    mg_device_count(dev, &b);
    if (s != models[k].s || !strstr(e.msg, models[k].says))
      fail_msg("%zu: expected '%s', found '%s'", k, models[k].says, s == MG_OK ? "no error" : e.msg);
    assert_true(!g && a.allocations == b.allocations);
    mg_model_found_free(&f);
    mg_model_list_free(b_q), mg_model_list_free(b_l), mg_model_free(b_m);
  }
}

/* What may be wrong in a list of launches changes what comes out, or faults. */
static void test_mutants(void **state) {
  (void)state;
  int caught = 0, n = 0;
  for (int kind = 0; kind < 8; kind++) {
    for (uint32_t k = 0; k < 64; k++) {
      mg_error e;
      pair x = load(NULL);
      mg_model_loaded *g = x.g;
      int applies = 0;
      mg_launch *a = k < g->plan->n_launches ? &g->plan->launch[k] : NULL;
      if (kind == 0 && a &&
          k + 1 < g->plan->n_launches) { /* out of order, where the second reads what the first makes */
        for (int j = 0; j < a[1].n_in; j++)
          applies |= a->kind != MG_LAUNCH_UPDATE && a[1].kind != MG_LAUNCH_UPDATE && a[1].in[j] == a->out[0];
        if (applies) {
          const mg_launch b = *a;
          const mgi_loaded_launch c = g->launch[k];
          a[0] = a[1], a[1] = b, g->launch[k] = g->launch[k + 1], g->launch[k + 1] = c;
        }
      }
      if (kind == 1 && k < g->n_files && g->file[k].bytes)
        applies = 1, g->file[k].workspace = g->arena; /* a wrong workspace */
      if (kind == 2 && k < g->n_files && g->file[k].bytes)
        applies = 1, g->file[k].bytes = 0, g->file[k].workspace = NULL;
      if (kind == 3 && !k) applies = 1; /* a stale symbol: below */
      if (kind == 4 && a && a->kind == MG_LAUNCH_UPDATE && !g->launch[k].placed)
        applies = 1, g->launch[k].placed = 1, g->launch[k].file = g->launch[k].words = -1; /* a copy left out */
      if (kind == 5 && a && a->kind == MG_LAUNCH_UPDATE && g->launch[k].placed)
        applies = 1, g->into[a->in[0]] = 0; /* made elsewhere */
      if (kind == 6 && !k) { /* two layers' states swapped, from the second step on */
        const uint32_t u = mg_value_find(q, "K", 0), v = mg_value_find(q, "K", 1);
        unsigned char *was = g->at[u];
        applies = 1, g->at[u] = g->at[v], g->at[v] = was;
      }
      if (kind == 7 && a && a->kind == MG_LAUNCH_FOREIGN && a->n_sizes)
        applies = 1, a->size[0] = mg_size_int(q->sizes, 1);
      for (int t = 0; t < STEPS && applies && x.off < 1e300; t++) {
        if (kind == 3 && t == 2) {
          g->n_words = 0;
        }
        step(&x, t, &e);
      }
      if (applies) n++, caught += x.off > 0.01 * NEAR;
      if (applies && x.off <= 0.01 * NEAR) print_message("mutant %d of %u: off by %.3g alone\n", kind, k, x.off);
      const uint32_t launches = g->plan->n_launches;
      unload(&x);
      if (k >= launches) break;
    }
  }
  print_message("%d of %d mutants caught\n", caught, n);
  assert_int_equal(caught, n);
  assert_true(n > 12);
}

/* The check of the tool, on a model without foreign kernels: tiny.mgm's is the tool's test. */
static void test_check(void **state) {
  static const char plain[] =
      "model plain sym n in 1..2 sym p in 1..6 device input X : bf16[n, 32] weight W : bf16[32, 32] state K : bf16[n, "
      "p, 32]\n"
      "A = matmul(X, W) update K at p-1 = reshape(A, [n, 1, 32]) Y = add(reshape(sum(K, dim=1), [n, 32]), X) "
      "N = argmax(Y, dim=1) output Y, N";
  (void)state;
  mg_model *b_m = NULL;
  mg_model_list *b_l = NULL, *b_q = NULL;
  mg_model_emulation r;
  mg_error e;
  const int64_t sym[2] = {2, 2};
  if (mg_model_parse(plain, sizeof plain - 1, "m", NULL, &b_m, &e) || mg_model_list_of(b_m, &b_l, &e) ||
      mg_model_partition(b_l, NULL, &b_q, &e))
    fail_msg("%s: %s", e.where, e.msg);
  mg_model_found f = found_of(b_q);
  if (mg_model_loaded_check(&f, dev, sym, 4, 3, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  print_message("off by %.3g, operator by operator by %.3g\n", r.emulated.off, r.eager.off);
  assert_true(r.emulated.steps == 4 && r.eager.off > 1e-4 && r.emulated.off > 1e-5 &&
              r.emulated.off < 1.5 * r.eager.off);
  int turned = 0; /* where the least element is */
  for (uint32_t k = 0; k < b_q->n_pieces; k++) {
    mg_graph *own = f.piece[k].graph[0];
    char *s = NULL, *at, text[600];
    assert_int_equal(mg_print(own, &s, &e), MG_OK);
    if ((at = strstr(s, "argmax(")) != NULL) {
      const char *end = strchr(at, ',');
      snprintf(text, sizeof text, "%.*sargmax(neg(%.*s)%s", (int)(at - s), s, (int)(end - at) - 7, at + 7, end);
      assert_int_equal(mg_parse(text, strlen(text), "m", NULL, &f.piece[k].graph[0], &e), MG_OK);
      assert_int_equal(mg_model_loaded_check(&f, dev, sym, 4, 3, NULL, &r, &e), MG_NOT_FOUND);
      assert_non_null(strstr(e.msg, "indices do not say where the largest element is"));
      assert_true(r.emulated.misplaced > 0 && r.eager.misplaced == 0);
      mg_graph_free(own), turned++;
    }
    mg_string_free(s);
  }
  assert_int_equal(turned, 1);
  mg_model_found_free(&f);
  mg_model_list_free(b_q), mg_model_list_free(b_l), mg_model_free(b_m);
}

/* Steps, in a graph, of which each has the place of a long row's maximum: blocks share it, and what they leave each other in the
   workspace is not what the step before left. */
static void test_shared(void **state) {
  static const char logits[] = "model logits sym n in 1..40 device input X : bf16[n, 16] weight W : bf16[16, 16400] "
                               "L = matmul(X, W) N = argmax(L, dim=1) output L, N";
  (void)state;
  mg_model *b_m = NULL;
  mg_model_list *b_l = NULL, *b_q = NULL;
  mg_model_emulation r;
  mg_error e;
  const int64_t sym[1] = {28}; /* more each step: of 264 blocks 9 share a row, then 8 */
  int shared = 0;
  if (mg_model_parse(logits, sizeof logits - 1, "m", NULL, &b_m, &e) || mg_model_list_of(b_m, &b_l, &e) ||
      mg_model_partition(b_l, NULL, &b_q, &e))
    fail_msg("%s: %s", e.where, e.msg);
  mg_model_found f = found_of(b_q);
  for (uint32_t k = 0; k < b_q->n_pieces; k++) {
    const mg_graph *g = f.piece[k].graph[0];
    for (uint32_t o = 1; o < g->n_ops; o++) shared += mg_library_shares(g, &g->ops[o], mg_machine_at(0)).most > 1;
  }
  assert_int_equal(shared, 1);
  if (mg_model_loaded_check(&f, dev, sym, 4, 3, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_true(r.emulated.steps == 4 && r.emulated.misplaced == 0);
  mg_model_found_free(&f);
  mg_model_list_free(b_q), mg_model_list_free(b_l), mg_model_free(b_m);
}

/* Weights of files as they are stored, some of them transposed, of parts: what is read of them as doubles. */
static void test_weights(void **state) {
  static const char of[] = "model w input X : bf16[2, 3] weight A : bf16[3, 4] weight W : bf16[4, 70] from \"q\", \"k\" transposed\n"
                           "weight V[2] : f32[70, 2] from \"v.{l}\" Y = matmul(cast(matmul(matmul(X, A), W), f32), V[1]) output Y";
  static const char head[] = "{\"A\":{\"dtype\":\"BF16\",\"shape\":[3,4],\"data_offsets\":[0,24]},"
                             "\"k\":{\"dtype\":\"BF16\",\"shape\":[5,4],\"data_offsets\":[24,64]},"
                             "\"q\":{\"dtype\":\"BF16\",\"shape\":[65,4],\"data_offsets\":[64,584]},"
                             "\"v.0\":{\"dtype\":\"F32\",\"shape\":[70,2],\"data_offsets\":[584,1144]},"
                             "\"v.1\":{\"dtype\":\"F32\",\"shape\":[70,2],\"data_offsets\":[1144,1704]}}";
  enum { HEAD = sizeof head - 1, DATA = 1704 };
  (void)state;
  unsigned char *file = (unsigned char *)calloc(8 + HEAD + DATA, 1);
  assert_non_null(file);
  file[0] = HEAD & 255, file[1] = HEAD >> 8;
  memcpy(file + 8, head, HEAD);
  for (int k = 0; k < 292; k++) { /* a number of its own for each element */
    const uint32_t bits = mg_to_bits(MG_BF16, (float)(k % 97 - 48) / 32);
    file[8 + HEAD + 2 * k] = (unsigned char)bits, file[8 + HEAD + 2 * k + 1] = (unsigned char)(bits >> 8);
  }
  for (int k = 0; k < 280; k++) {
    const uint32_t bits = mg_to_bits(MG_F32, (float)(k % 89 - 44) / 64);
    memcpy(file + 8 + HEAD + 584 + 4 * k, &bits, 4);
  }
  mg_model *b_m = NULL;
  mg_model_list *b_l = NULL, *b_q = NULL;
  mg_model_loaded *g = NULL;
  mg_weights *w = NULL;
  mg_model_load_config c;
  mg_error e;
  memset(&c, 0, sizeof c);
  if (mg_model_parse(of, sizeof of - 1, "m", NULL, &b_m, &e) || mg_model_list_of(b_m, &b_l, &e) ||
      mg_model_partition(b_l, NULL, &b_q, &e) || mg_weights_of(file, 8 + HEAD + DATA, "w", &w, &e))
    fail_msg("%s: %s", e.where, e.msg);
  mg_model_found f = found_of(b_q);
  mg_model_data *data = NULL;
  if (mg_model_data_open(b_l, NULL, w, &data, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  for (int of_data = 0; of_data < 2; of_data++) { /* of files, or of data that was opened from them */
    c.weights = of_data ? NULL : w, c.data = of_data ? data : NULL;
    if (mg_model_load(&f, dev, NULL, &c, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    for (uint32_t v = 1; v < b_q->n_values; v++) {
      double want[300], got[300];
      if (b_q->value[v].kind != MG_VALUE_WEIGHT) continue;
      mg_weights_read(w, b_q, v, want);
      if (mg_model_get(g, v, NULL, got, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      const int n = !strcmp(b_q->value[v].name, "A") ? 12 : !strcmp(b_q->value[v].name, "W") ? 280 : 140;
      for (int k = 0; k < n; k++)
        if (want[k] != got[k]) fail_msg("%s[%d]: expected %g, found %g", b_q->value[v].name, k, want[k], got[k]);
    }
    mg_model_unload(g);
  }
  mg_model_data_free(data), mg_model_found_free(&f), mg_weights_close(w), free(file);
  mg_model_list_free(b_q), mg_model_list_free(b_l), mg_model_free(b_m);
}

/* A model of its own. */
typedef struct whole { mg_model *m; mg_model_list *l, *q; mg_model_found f; } whole;
static whole whole_of(const char *of, const int64_t *sized) {
  whole x;
  mg_error e;
  mg_model_search_config c = mg_model_search_config_default();
  memset(&x, 0, sizeof x);
  c.no_search = 1, c.sym = sized;
  if (mg_model_parse(of, strlen(of), "m", NULL, &x.m, &e) || mg_model_list_of(x.m, &x.l, &e) ||
      mg_model_partition(x.l, NULL, &x.q, &e) || mg_model_search(x.q, &c, &x.f, &e))
    fail_msg("%s: %s", e.where, e.msg);
  return x;
}
static void whole_free(whole *x) {
  mg_model_found_free(&x->f), mg_model_list_free(x->q), mg_model_list_free(x->l), mg_model_free(x->m);
}

/* Kernels that were found at sizes are launched at no others. */
static void test_sized(void **state) {
  static const char of[] = "model s sym n in 1..2 sym p in 1..16 device input X : f16[n, 32] state K : f16[n, p, 32] "
                           "update K at p-1 = reshape(X, [n, 1, 32]) Y = reshape(sum(K, dim=1), [n, 32]) output Y";
  static const char says[] = "it was searched for p = 7, found 8";
  const int64_t at[2] = {1, 7}, next[2] = {1, 8}, most[2] = {1, 16};
  mg_model_loaded *g = NULL;
  mg_model_emulation r;
  mg_device_counts a, b;
  double us[64];
  mg_error e;
  (void)state;
  whole x = whole_of(of, at);
  if (mg_model_load(&x.f, dev, most, NULL, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_true(x.q->n_launches <= 64);
  if (mg_model_launch(g, at, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_device_count(dev, &a);
  assert_int_equal(mg_model_launch(g, next, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, says));
  assert_int_equal(mg_model_timeline(g, next, us, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, says));
  mg_device_count(dev, &b);
  assert_int_equal(a.launches, b.launches);
  mg_model_unload(g);
  for (int steps = 1; steps < 3; steps++) { /* of two steps the second is at other sizes */
    assert_int_equal(mg_model_emulate(&x.f, steps == 1 ? next : at, steps, 5, NULL, &r, &e), MG_BAD_INPUT);
    assert_non_null(strstr(e.msg, says));
  }
  whole_free(&x);
}

/* A row that begins at no multiple of 16 bytes: kernels take no such pointer, so that nothing is made there. */
static void test_rows(void **state) {
  static const char *const of[] = {
      "model u sym p in 1..8 device input X : f32[1] state S : f32[p] A = add(X, X) update S at p-1 = A "
      "Y = mul(S, S) output Y",
      "model u sym p in 1..8 device input X : f16[1, 6] state S : f16[p, 6] A = add(X, X) update S at p-1 = A "
      "Y = mul(S, S) output Y",
      "model u sym p in 1..8 device input X : f16[1, 8] state S : f16[p, 8] A = add(X, X) update S at p-1 = A "
      "Y = mul(S, S) output Y"};
  const int64_t one[1] = {1}, four[1] = {4};
  (void)state;
  for (uint32_t k = 0; k < 3; k++) {
    mg_model_loaded *g = NULL;
    mg_model_loaded_info is;
    mg_model_emulation r;
    mg_error e;
    whole x = whole_of(of[k], NULL);
    if (mg_model_load(&x.f, dev, four, NULL, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    mg_model_loaded_say(g, &is);
    assert_int_equal(is.placed, k == 2), assert_int_equal(is.copies, k != 2);
    mg_model_unload(g);
    if (mg_model_loaded_check(&x.f, dev, one, 4, 3, NULL, &r, &e) != MG_OK) fail_msg("%u: %s: %s", k, e.where, e.msg);
    assert_int_equal(r.emulated.steps, 4);
    whole_free(&x);
  }
}

/* What picks rows of a state picks those that are there at the step's sizes, at random as in float64. */
static void test_bounds(void **state) {
  static const char of[] = "model b sym p in 1..8 device input T : i32[4, 1] input X : f16[1, 16] state E : f16[p, 16] "
                           "update E at p-1 = X Y = reshape(gather(E, T), [4, 16]) output Y";
  const int64_t most[1] = {8}, at[1] = {3};
  const double good[4] = {0, 2, 1, 2}, bad[4] = {0, 2, 3, 1};
  mg_model_loaded *g = NULL;
  mg_model_data *d = NULL;
  mg_error e;
  (void)state;
  whole x = whole_of(of, at);
  if (mg_model_load(&x.f, dev, most, NULL, &g, &e) != MG_OK || mg_model_data_new(x.l, most, 7, &d, &e) != MG_OK)
    fail_msg("%s: %s", e.where, e.msg);
  const uint32_t v = mg_value_find(x.q, "T", -1);
  assert_int_equal(mg_model_put(g, v, at, good, &e), MG_OK);
  assert_int_equal(mg_model_put(g, v, at, bad, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "element 2: expected 0 to 2, found 3"));
  assert_int_equal(mg_model_put(g, v, most, bad, &e), MG_OK);
  for (uint64_t seed = 1; seed < 9; seed++) {
    mg_model_config c;
    double got[4];
    memset(&c, 0, sizeof c);
    c.inputs = seed;
    assert_int_equal(mg_model_step(d, at, &c, &e), MG_OK);
    assert_int_equal(mg_model_put_random(g, at, seed, &e), MG_OK);
    assert_int_equal(mg_model_get(g, v, at, got, &e), MG_OK);
    for (int k = 0; k < 4; k++) assert_true(got[k] == d->data[mg_value_find(x.l, "T", -1)][k]);
  }
  mg_model_unload(g), mg_model_data_free(d), whole_free(&x);
}

/* Two ranges of a piece, of one kernel and of two: steps cross the border between them, there and back.  Ranges that
   leave out a size are not taken. */
static const char ranges[] =
    "program a\nsym n in 1..%d\ninput X : f16[n, 32]\ninput W : f16[32, 32]\n"
    "Y = kernel grid=(x=2) threads=32 {\n  a = load X {x->*}\n  b = load W {x->1}\n  c = matmul(a, b)\n"
    "  d = silu(c)\n  store d {x->1}\n}\noutput Y\n"
    "program b\nsym n in 3..4\ninput X : f16[n, 32]\ninput W : f16[32, 32]\nP = matmul(X, W)\nY = silu(P)\noutput Y\n";
static void test_ranges(void **state) {
  static const char of[] = "model r sym n in 1..4 input X : f16[n, 32] weight W : f16[32, 32] Y = silu(matmul(X, W)) "
                           "output Y";
  static const int64_t size[] = {2, 3, 4, 1, 1, 3, 5};
  const int64_t most[1] = {4};
  mg_model_search_config c = mg_model_search_config_default();
  mg_model_load_config how;
  mg_error e;
  char path[1024], *s;
  int equal;
  (void)state;
  whole x = whole_of(of, NULL);
  assert_int_equal(x.q->n_pieces, 1);
  mgi_found_path(dir, x.f.piece[0].program, "", path, sizeof path);
  c.no_search = 1, c.keep = dir;
  for (int last = 1; last < 3; last++) {
    FILE *file = fopen(path, "w");
    assert_true(file && fprintf(file, ranges, last) > 0 && !fclose(file));
    mg_model_found_free(&x.f);
    if (mg_model_search(x.q, &c, &x.f, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(x.f.piece[0].kept, last == 2);
    assert_int_equal(strstr(x.f.piece[0].why, "leaves out sizes") != NULL, last == 1);
  }
  remove(path);
  assert_int_equal(mg_model_chain_print(&x.f, &equal, &s, &e), MG_OK);
  assert_true(equal && strstr(s, "range n in 1..2\n") && strstr(s, "range n in 3..4\n"));
  mg_string_free(s);
  for (int no_graph = 0; no_graph < 2; no_graph++) {
    mg_model_loaded *g = NULL;
    mg_model_data *d = NULL;
    mg_device_counts a, b;
    memset(&how, 0, sizeof how);
    if (mg_model_data_new(x.l, most, 7, &d, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    how.data = d, how.no_graph = no_graph;
    if (mg_model_load(&x.f, dev, most, &how, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    mg_device_count(dev, &a);
    for (size_t t = 0; t < sizeof size / sizeof *size; t++) {
      mg_model_config step;
      double got[4 * 32];
      memset(&step, 0, sizeof step);
      step.inputs = 3 + t;
      if (size[t] > most[0]) {
        assert_int_equal(mg_model_launch(g, &size[t], &e), MG_BAD_INPUT);
        assert_non_null(strstr(e.msg, "n is in 1..4, found 5"));
        continue;
      }
      assert_int_equal(mg_model_step(d, &size[t], &step, &e), MG_OK);
      assert_int_equal(mg_model_put(g, mg_value_find(x.q, "X", -1), &size[t], d->data[mg_value_find(x.l, "X", -1)], &e),
                       MG_OK);
      if (mg_model_launch(g, &size[t], &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      assert_int_equal(mg_model_get(g, x.q->output[0], &size[t], got, &e), MG_OK);
      assert_true(off_of(d->data[x.l->output[0]], got, size[t] * 32) < 0.01);
    }
    mg_device_count(dev, &b);
    assert_int_equal(b.recorded - a.recorded, !no_graph); /* the second step's, and changed for 4, 1, 3 rows */
    assert_int_equal(b.changed - a.changed, no_graph ? 0 : 3);
    mg_model_unload(g), mg_model_data_free(d);
  }
  whole_free(&x);
}

/* What weights alone decide is made as they are loaded, and by no step: products, in two layers; what only an update
   reads, into no state's row. */
static const char once_text[] =
    "model once\nsym n in 1..4\nsym p in 1..8 device\ninput T : i32[n, 1]\nweight E : f16[20, 32]\n"
    "weight G, R : f16[1, 32]\nweight W[2], V[2] : f16[32, 32]\nstate K[2] : f16[p, 32]\n"
    "X = reshape(gather(E, T), [n, 32])\n"
    "for l=2 {\n  A = matmul(X, mul(W[l], scale(G, 3)))\n  update K[l] at p-1 = scale(R, 3)\n"
    "  B = matmul(X, concat(W[l], V[l], dim=1))\n"
    "  A = add(A, mul(slice(B, dim=1, from=0, n=32), slice(B, dim=1, from=32, n=32)))\n"
    "  X = scale(add(A, sum(K[l], dim=0)), 1/4)\n}\n"
    "Y = add(X, G)\noutput Y\n";
typedef struct others { mg_model *m; mg_model_list *l, *q; mg_model_found found; } others;
static others swapped(others to) { /* the model at hand is another */
  const others was = {m, l, q, found};
  m = to.m, l = to.l, q = to.q, found = to.found;
  return was;
}
static void test_once(void **state) {
  others x;
  mg_error e;
  mg_device_counts a, b;
  mg_model_loaded_info is;
  uint32_t scaled = 0, made = 0;
  int caught = 0, n = 0;
  (void)state;
  memset(&x, 0, sizeof x);
  if (mg_model_parse(once_text, sizeof once_text - 1, where, NULL, &x.m, &e) || mg_model_list_of(x.m, &x.l, &e) ||
      mg_model_partition(x.l, NULL, &x.q, &e))
    fail_msg("%s: %s", e.where, e.msg);
  x.found = found_of(x.q);
  const others was = swapped(x);
  for (uint32_t k = 0; k < q->n_once; k++) scaled += !strcmp(q->piece[q->launch[k].piece].node[0].op->name, "scale");
  assert_true(q->n_once == 7 && q->n_once < q->n_launches && scaled == 3); /* one of G for both layers */
  const uint32_t w = mg_value_find(q, "W", 1), r = mg_value_find(q, "R", -1), g_of = mg_value_find(q, "G", -1);
  mg_device_count(dev, &a);
  pair y = load(NULL);
  mg_device_count(dev, &b);
  mg_model_loaded_say(y.g, &is);
  assert_int_equal(b.launches - a.launches, q->n_once);
  assert_int_equal(is.once, q->n_once);
  assert_int_equal(is.weights, 2 * (20 * 32 + 32)); /* E and G: steps read them */
  assert_true(!y.g->at[w] && !y.g->at[r] && y.g->at[g_of] && is.placed == 0 && is.copies == 2);
  steps(&y, STEPS);
  mg_device_count(dev, &a);
  print_message("%u launches once, %u a step, %u early, off %.3g\n", is.once, is.launches, is.early, y.off);
  assert_true(y.off > 0 && y.off < 0.01 * NEAR);
  assert_int_equal(a.launches - b.launches, (uint64_t)is.launches * 2);
  mg_model_loaded_say(y.g, &is); /* what is made once, by layer; E and G; both states */
  assert_int_equal(is.read, 2 * (2 * (32 * 32 + 32 * 64 + 32) + 20 * 32 + 32 + 2 * 8 * 32));
  double *x_of = (double *)calloc(32 * 32, sizeof *x_of);
  const int64_t sym[2] = {room[0], room[1]};
  assert_int_equal(mg_model_put(y.g, w, sym, x_of, &e), MG_BAD_INPUT); /* it would be stale */
  assert_non_null(strstr(e.msg, "'W' went into what was made once"));
  assert_int_equal(mg_model_put(y.g, g_of, sym, x_of, &e), MG_BAD_INPUT);
  free(x_of), unload(&y);
  mg_device_count(dev, &a);
  for (uint64_t at = 1; at; at++, n++) { /* each call of a load that fails ends it, and leaves nothing */
    mg_model_load_config c;
    mg_model_data *d = NULL;
    memset(&c, 0, sizeof c), memset(&y, 0, sizeof y);
    assert_int_equal(mg_model_data_new(l, room, 7, &d, &e), MG_OK);
    c.data = d;
    mg_device_fail(dev, at);
    const mg_status s = mg_model_load(&found, dev, room, &c, &y.g, &e);
    mg_device_fail(dev, 0);
    mg_model_unload(y.g), mg_model_data_free(d);
    mg_device_count(dev, &b);
    assert_true(a.bytes == b.bytes && (s == MG_OK || s == MG_MACHINE)); /* mutants before may have left some */
    if (s == MG_OK) break;
  }
  print_message("%d calls of a load fail\n", n);
  assert_true(n > 20);
  n = 0;
  /* 0: weights that are others since they were loaded; 1: one of the launches left out; 2: one layer's in the other's
     place; 3: what a step makes in its memory; 4: in a state's row; else the same loaded again, which is right. */
  for (int kind = 0; kind < 6; kind++)
    for (uint32_t k = 0; k < (kind == 0 || kind == 5 ? 1 : q->n_once); k++) {
      y = load(NULL);
      mg_model_loaded *g = y.g;
      const uint32_t v = q->launch[k].out[0];
      const int kept = g->plan->last[v] == q->n_launches;
      int applies = kind == 0 || kind == 5;
      if (kind == 0)
        for (int64_t j = 0; j < 32 * 32; j++) y.d->data[mg_value_find(l, "W", 1)][j] *= 0.5;
      if (kind == 1 && kept) { /* its memory as it is before */
        const size_t bytes = (size_t)mgi_value_bytes(q, &q->value[v]);
        unsigned char *none = (unsigned char *)calloc(1, bytes);
        assert_int_equal(mg_device_copy(dev, MG_TO_DEVICE, g->at[v], bytes, none, bytes, bytes, 1, &e), MG_OK);
        applies = 1, free(none);
      }
      for (uint32_t j = k + 1; kind == 2 && j < q->n_once && kept && !applies; j++) {
        const uint32_t u = q->launch[j].out[0];
        if (q->launch[j].piece != q->launch[k].piece || g->plan->last[u] != q->n_launches || q->launch[j].n_in < 2) continue;
        unsigned char *at = g->at[u];
        applies = 1, g->at[u] = g->at[v], g->at[v] = at;
      }
      for (uint32_t j = q->n_once; kind == 3 && j < q->n_launches && kept && !applies; j++) {
        const uint32_t u = q->launch[j].out[0];
        if (q->value[u].kind != MG_VALUE_MADE) continue;
        applies = 1, g->at[u] = g->at[v];
      }
      for (uint32_t j = q->n_once; kind == 4 && j < q->n_launches && !applies; j++) {
        if (q->launch[j].kind != MG_LAUNCH_UPDATE || q->launch[j].in[0] != v) continue;
        applies = 1, g->launch[j].placed = 1, g->into[v] = j + 1;
      }
      for (int t = 0; t < STEPS && applies && y.off < 1e300; t++) step(&y, t, &e);
      if (applies && kind < 5) n++, caught += y.off > 0.01 * NEAR;
      if (applies && kind < 5 && y.off <= 0.01 * NEAR) print_message("mutant %d of %u: off by %.3g alone\n", kind, k, y.off);
      if (kind == 5) assert_true(y.off < 0.01 * NEAR);
      made += (uint32_t)applies;
      unload(&y);
    }
  print_message("%d of %d mutants caught\n", caught, n);
  assert_int_equal(caught, n);
  assert_true(n >= 12 && made == (uint32_t)n + 1);
  swapped(was);
  mg_model_found_free(&x.found), mg_model_list_free(x.q), mg_model_list_free(x.l), mg_model_free(x.m);
}

/* A gain that is folded into the matrix behind it: link 1 of the fold is on record, and refuses another one; on the
   device it is as near to float64 as a step operator by operator, and another matrix is not. */
static void test_folded(void **state) {
  static const char of[] = "model f sym n in 1..2 input X : bf16[n, 32] weight G : bf16[32] weight W : bf16[32, 32] "
                           "Y = matmul(rms_norm(X, G, eps=1e-5), W) output Y";
  others x;
  mg_partition_config cut;
  mg_model_search_config c = mg_model_search_config_default();
  mg_model_found again;
  mg_model_emulation r;
  mg_error e;
  const int64_t sym[1] = {2};
  int changed = 0, equal = 0;
  char *s = NULL;
  (void)state;
  memset(&cut, 0, sizeof cut), memset(&x, 0, sizeof x);
  cut.fold = 1, c.no_search = 1;
  if (mg_model_parse(of, sizeof of - 1, "m", NULL, &x.m, &e) || mg_model_list_of(x.m, &x.l, &e) ||
      mg_model_partition(x.l, &cut, &x.q, &e))
    fail_msg("%s: %s", e.where, e.msg);
  x.found = found_of(x.q);
  assert_true(x.q->n_folds == 1 && x.found.fold[0].verdict == MG_EQUAL);
  assert_int_equal(mg_model_chain_print(&x.found, &equal, &s, &e), MG_OK);
  assert_true(equal && strstr(s, "fold 0, a gain into the matrix behind it: EQUAL, ") && strstr(s, "whole: EQUAL"));
  mg_string_free(s);
  if (mg_model_loaded_check(&x.found, dev, sym, 2, 3, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  print_message("off by %.3g, operator by operator by %.3g\n", r.emulated.off, r.eager.off);
  assert_true(r.eager.off > 1e-4 && r.emulated.off < 1.5 * r.eager.off);
  mg_piece_node *mul = (mg_piece_node *)(uintptr_t)&x.q->fold[0].folded.node[2];
  const mg_expr *was = mul->op;
  mg_expr other = *was;
  other.name = "add", mul->op = &other;
  assert_int_equal(mg_model_search(x.q, &c, &again, &e), MG_NOT_FOUND);
  assert_non_null(strstr(e.msg, "fold 0 is NOT_EQUAL"));
  mul->op = was;
  for (uint32_t k = 0; k < x.q->n_pieces; k++) {
    mg_graph *own = x.found.piece[k].graph[0];
    char *at, text_of[600];
    assert_int_equal(mg_print(own, &s, &e), MG_OK);
    if ((at = strstr(s, "mul(")) != NULL && !strstr(s, "matmul(")) {
      snprintf(text_of, sizeof text_of, "%.*sadd%s", (int)(at - s), s, at + 3);
      assert_int_equal(mg_parse(text_of, strlen(text_of), "m", NULL, &x.found.piece[k].graph[0], &e), MG_OK);
      assert_int_equal(mg_model_loaded_check(&x.found, dev, sym, 2, 3, NULL, &r, &e), MG_NOT_FOUND);
      mg_graph_free(own), changed++;
    }
    mg_string_free(s);
  }
  assert_int_equal(changed, 1);
  mg_model_found_free(&x.found), mg_model_list_free(x.q), mg_model_list_free(x.l), mg_model_free(x.m);
}

/* A file that cannot be opened cannot be at the second time either. */
static void test_opened(void **state) {
  const char *const of = "#include \"mirage_cuda.cuh\"\n", *const name = "none";
  mg_emulated *files = NULL;
  mg_check_config cfg;
  mg_device_call c;
  mg_error e;
  size_t bytes;
  (void)state;
  memset(&cfg, 0, sizeof cfg), memset(&c, 0, sizeof c);
  cfg.include_dir = ".";
  if (mg_cuda_emulate(&of, &name, 1, &cfg, &files, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_null(mg_emulated_info(files, 0, &bytes, &e));
  assert_int_equal(mg_emulated_call(files, 0, &c, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "expected the entry points none_launch"));
  mg_emulated_free(files);
}

/* Files of one process have nothing of each other: a product of the second is its own, where the first's launch is over
   and other words stand where its emulator was. */
enum { JUNK = 4096 };
static mg_status launch_over(mg_emulated *files, const mg_device_call *c, mgi_emu_wide *other, mg_error *e) {
  mgi_emu_wide *volatile junk[JUNK];
  for (int k = 0; k < JUNK; k++) junk[k] = other;
  const mg_status s = mg_emulated_call(files, 1, c, e);
  assert_ptr_equal(junk[0], other);
  return s;
}
static void test_apart(void **state) {
  static const char product[] = /* nothing of it is compiled in place */
      "#pragma GCC optimize(\"O0\")\n#include \"mirage_cuda.cuh\"\nMG_KERNEL(32) void k(float *y) {\n"
      "  mg_num c[4] = {0, 0, 0, 0};\n  const uint32_t two = 0x40004000, one = 0x3C003C00;\n"
      "  const uint32_t a[4] = {two, two, two, two}, b[2] = {one, one};\n  mg_mma_16816<mg_f16>(c, a, b);\n"
      "  for (int k = 0; k < 4; k++) y[4 * mg_tid() + k] = c[k];\n}\nextern \"C\" int n_launch(const void *const *in, "
      "void *const *out, void *space, cudaStream_t stream) {\n  (void)in, (void)space;\n"
      "  return MG_LAUNCH(k, 1, 1, 1, 32, 0, stream, (float *)out[0]);\n}\n";
  static const char *const both[] = {product, product}, *const name[] = {"n", "n"};
  static float y[2][128];
  size_t bytes[1] = {sizeof y[0]};
  void *out[2] = {y[0], y[1]};
  mg_emulated *files = NULL;
  mg_check_config cfg;
  mg_device_call c;
  mgi_emu_wide other;
  mg_error e;
  (void)state;
  memset(&cfg, 0, sizeof cfg), memset(&c, 0, sizeof c), memset(&other, 0, sizeof other);
  cfg.include_dir = ".", other.pass = 1, c.n_out = 1, c.out = out, c.out_bytes = bytes;
  mg_status s = mg_cuda_emulate(both, name, 2, &cfg, &files, &e);
  if (s == MG_OK) s = mg_emulated_call(files, 0, &c, &e);
  c.out = out + 1;
  if (s == MG_OK) s = launch_over(files, &c, &other, &e);
  if (s != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(other.read, 0);
  for (int k = 0; k < 128; k++) assert_true(y[0][k] == 2 * 16 && y[1][k] == y[0][k]);
  mg_emulated_free(files);
}

/* A decoder's steps, as many as p takes values: one capture a vector of grid counts, and no change in between.  The first step is by
   launches.  What takes p from its launch alone, a product by the library, has the graph changed for each, and says so. */
static const char follows_text[] = "model f\nsym n in 1..2\nsym p in 1..200 device\ninput X : f16[n, 32]\nstate K : f16[n, 2, p, 16]\n"
                                   "update K at p-1 = reshape(silu(X), [n, 2, 1, 16])\nE = exp(K)\nY = reshape(sum(E, dim=2), [n, 32])\noutput Y\n";
static const char handed_text[] = "model h\nsym p in 1..200 device\ninput X : f16[8, 16]\nstate K : f16[p, 16]\nupdate K at p-1 = slice(X, dim=0, from=0, n=1)\n"
                                  "S = extern library \"cublas.matmul\" (K, transpose(X, [1, 0])) : f16[p, 8]\nY = sum(S, dim=0)\noutput Y\n";
static void follow(const char *of, const int64_t *most, int64_t *sym, int at, int n, int no_device, double *off, mg_model_loaded_info *is, mg_device_counts *counts) {
  mg_model_load_config how;
  mg_model_loaded *g = NULL;
  mg_model_data *d = NULL;
  mg_device_counts a, b;
  mg_error e;
  whole x = whole_of(of, NULL);
  memset(&how, 0, sizeof how), *off = 0;
  if (mg_model_data_new(x.l, most, 7, &d, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  how.data = d, how.no_device = no_device;
  if (mg_model_load(&x.f, dev, most, &how, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_device_count(dev, &a);
  for (int t = 0; t < n; t++, sym[at]++) {
    mg_model_config c;
    double got[64];
    memset(&c, 0, sizeof c);
    c.inputs = 3 + (uint64_t)t, c.foreign = twice_of;
    if (mg_model_step(d, sym, &c, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(mg_model_put(g, mg_value_find(x.q, "X", -1), sym, d->data[mg_value_find(x.l, "X", -1)], &e), MG_OK);
    if (mg_model_launch(g, sym, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(mg_model_get(g, x.q->output[0], sym, got, &e), MG_OK);
    mg_shape shape;
    assert_int_equal(mg_value_shape(x.q, &x.q->value[x.q->output[0]], sym, &shape, &e), MG_OK);
    const double one = off_of(d->data[x.l->output[0]], got, mg_shape_elements(&shape));
    if (one > *off) *off = one;
  }
  mg_device_count(dev, &b);
  counts->recorded = b.recorded - a.recorded, counts->changed = b.changed - a.changed, counts->replayed = b.replayed - a.replayed;
  mg_model_loaded_say(g, is);
  mg_model_unload(g), mg_model_data_free(d), whole_free(&x);
}
static void test_follows(void **state) {
  enum { MANY = 64 };
  const int64_t most[2] = {1, 163};
  mg_device_counts c;
  mg_model_loaded_info is;
  double off;
  (void)state;
  int64_t first[2] = {1, 100};
  follow(follows_text, most, first, 1, MANY, 0, &off, &is, &c);
  uint64_t vectors = 1;
  for (int64_t p = 102; p <= 163; p++) vectors += (32 * p + 255) / 256 != (32 * (p - 1) + 255) / 256; /* blocks of exp; the sum's do not hang on p */
  print_message("%llu captures of %llu vectors, off by %.3g\n", (unsigned long long)c.recorded, (unsigned long long)vectors, off);
  assert_true(off > 0 && off < 0.01 * NEAR);
  assert_true(c.recorded == vectors && c.changed == 0 && c.replayed == MANY - 1);
  assert_true(is.captured == vectors && is.changed == 0 && is.graphs == vectors && is.followed == 2 && !is.handed[0]);
  int64_t again[2] = {1, 100}; /* all symbols with the launch, as without the feature */
  follow(follows_text, most, again, 1, MANY, 1, &off, &is, &c);
  assert_true(off < 0.01 * NEAR && c.recorded == 1 && c.changed == MANY - 2 && is.followed == 0);
  int64_t handed[1] = {100};
  follow(handed_text, most + 1, handed, 0, 8, 0, &off, &is, &c);
  assert_true(off < 0.01 * NEAR && c.recorded == 1 && c.changed == 6 && is.followed == 0);
  assert_non_null(strstr(is.handed, "p comes with the launch of h_f"));
}
/* A foreign kernel whose file says that it reads a size in device memory, and one that does not. */
static const char by_text[] = "#include \"mirage_cuda.cuh\"\n"
                              "MG_KERNEL(32) void by_kernel(const mg_f16 *x, mg_f16 *y, int64_t n, %s) {\n"
                              "  for (int64_t k = mg_tid(); k < n; k += 32) mg_stg(y + k, mg_narrow<mg_f16>(mg_widen(mg_ldg(x + k)) * (mg_num)(%s)));\n}\n"
                              "extern \"C\" const mg_emitted_info by_info;\nextern \"C\" const mg_emitted_info by_info = {\"by\", 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, %d, 0};\n"
                              "%s"
                              "extern \"C\" int by_launch(const void *const *in, void *const *out, void *, const int64_t *sym, cudaStream_t stream) {\n"
                              "  return MG_LAUNCH(by_kernel, 1, 1, 1, 32, 0, stream, (const mg_f16 *)in[0], (mg_f16 *)out[0], sym[0], %s);\n}\n";
static void test_foreign_follows(void **state) {
  static const char of[] = "model y sym n in 1..4 sym p in 1..8 device input X : f16[n, 32] state K : f16[n, p, 32] Y = extern user \"by\" in \"by.cu\" (X; 32*n, p) : f16[n, 32] "
                           "output Y";
  const int64_t most[2] = {2, 8};
  char path[100];
  (void)state;
  snprintf(path, sizeof path, "%s/by.cu", dir);
  static const char blocks[] = "extern \"C\" int by_blocks(const int64_t *, int64_t *count, int room) { if (room > 0) count[0] = 1; return 1; }\n";
  static const char wrong[] = "extern \"C\" int by_blocks(const int64_t *, int64_t *, int) { return -1; }\n";
  for (int with = 0; with < 4; with++) { /* it reads no size in memory; it does; and does not say its grid; says nonsense */
    const int reads = with > 0, follows = with == 1;
    mg_model_loaded *g = NULL;
    mg_model_loaded_info is;
    mg_error e;
    FILE *f = fopen(path, "w");
    assert_true(f && fprintf(f, by_text, reads ? "const int64_t *words" : "int64_t p", reads ? "mg_ldg(words + 1)" : "p", 2 * reads, with == 1 ? blocks : with == 3 ? wrong : "", reads ? "(const int64_t *)in[1]" : "sym[1]") > 0 && !fclose(f));
    whole x;
    mg_model_search_config c = mg_model_search_config_default();
    memset(&x, 0, sizeof x);
    c.no_search = 1;
    if (mg_model_parse(of, strlen(of), where, NULL, &x.m, &e) || mg_model_list_of(x.m, &x.l, &e) || mg_model_partition(x.l, NULL, &x.q, &e) || mg_model_search(x.q, &c, &x.f, &e))
      fail_msg("%s: %s", e.where, e.msg);
    if (mg_model_load(&x.f, dev, most, NULL, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    for (int64_t p = 1; p <= 8; p++) {
      const int64_t sym[2] = {2, p};
      double in[64], got[64];
      for (int k = 0; k < 64; k++) in[k] = k;
      assert_int_equal(mg_model_put(g, mg_value_find(x.q, "X", -1), sym, in, &e), MG_OK);
      const mg_status launched = mg_model_launch(g, sym, &e);
      if (with == 3 && p == 2) {
        assert_int_equal(launched, MG_BAD_INPUT);
        assert_non_null(strstr(e.msg, "counts of by_blocks, found -1"));
        break;
      }
      if (launched != MG_OK) fail_msg("%s: %s", e.where, e.msg);
      assert_int_equal(mg_model_get(g, x.q->output[0], sym, got, &e), MG_OK);
      for (int k = 0; k < 64; k++) assert_true(got[k] == (double)k * (double)p);
    }
    mg_model_loaded_say(g, &is);
    if (with < 3) assert_true(is.captured == 1 && is.changed == (follows ? 0 : 6) && is.followed == (follows ? 2 : 0));
    const int64_t last[2] = {2, 8}, before[2] = {2, 3};
    double us[8], one;
    if (with == 1) { /* a graph is not timed with the sizes of another step in device memory */
      assert_int_equal(mg_model_time(g, 1, &one, &e), MG_OK);
      assert_int_equal(mg_model_timeline(g, last, us, &e), MG_OK);
      assert_int_equal(mg_model_time(g, 1, &one, &e), MG_OK);
      assert_int_equal(mg_model_timeline(g, before, us, &e), MG_OK);
      assert_int_equal(mg_model_time(g, 1, &one, &e), MG_BAD_INPUT);
    }
    mg_model_unload(g), whole_free(&x);
  }
  remove(path);
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_failing),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_mutants),
                                     cmocka_unit_test(test_weights), cmocka_unit_test(test_check), cmocka_unit_test(test_shared),
                                     cmocka_unit_test(test_sized), cmocka_unit_test(test_rows),
                                     cmocka_unit_test(test_bounds), cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_opened), cmocka_unit_test(test_apart),
                                     cmocka_unit_test(test_once), cmocka_unit_test(test_folded),
                                     cmocka_unit_test(test_follows), cmocka_unit_test(test_foreign_follows)};
  return cmocka_run_group_tests_name("a model on a device", tests, setup, teardown);
}
