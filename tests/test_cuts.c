/* Tests of which segments a program is cut into, and of what is left out before it costs anything, with the emitter in hand.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_cuts.c -o build/test_cuts -lcmocka -lm -lpthread -ldl && build/test_cuts */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"

static mg_status emittable(void *user, const mg_graph *g, mg_error *why) { (void)user; return mg_cuda_emittable(g, "sm_90a", why); }

/* ---- structures */
typedef struct shown { uint64_t *hash; int n, cap, all; int with_emitter; } shown;
/* 1 if a block has rows in a dimension before the last but one: the search leaves these to the folds of moves. */
static int leads(const mg_graph *g) {
  int found = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    for (uint32_t t = 1; b && t < b->n_tensors; t++) found |= b->tensors[t].shape.rank > 1 && mg_rows_in(b->tensors[t].shape.rank, b->tensors[t].shape.dim) != b->tensors[t].shape.rank - 2;
  }
  return found;
}
static void sees(void *user, const mg_graph *g) {
  shown *s = (shown *)user;
  mg_error e;
  s->all++;
  if (mg_cuda_emittable(g, "sm_90a", &e) != MG_OK) {
    if (s->with_emitter && strstr(e.msg, "only the last and one other may have more than 1")) fail_msg("a structure with an emitter in hand: %s", e.msg);
    return;
  }
  if (leads(g)) {
    assert_false(s->with_emitter);
    return;
  }
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 256, s->hash = (uint64_t *)realloc(s->hash, (size_t)s->cap * sizeof *s->hash);
    assert_non_null(s->hash);
  }
  s->hash[s->n++] = mg_hash(g);
}
static int hash_cmp(const void *a, const void *b) { return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b; }

/* What the emitter refuses whatever its sizes, a block of several matrices, is left out where there is an emitter; nothing else that it takes is.
   Leading extents are 2, 3 and, once moved, both, so that the structures, which are shown at the smallest counts, have one element of those that are cut. */
static void no_blocks_of_several_matrices(void **state) {
  static const char *const programs[] = {
    "program product\ninput X : f16[2, 32, 64]\ninput W : f16[2, 64, 32]\nO = silu(matmul(X, W))\noutput O\n",
    "program shared\ninput X : f16[3, 32, 64]\ninput W : f16[64, 32]\nO = matmul(rms_norm(X, dim=2), W)\noutput O\n",
    "program summed\ninput X : f16[3, 16, 32]\ninput Y : f16[16, 32]\nO = add(sum(X, dim=0), Y)\noutput O\n",
    "program two\ninput X : f16[2, 16, 64]\ninput Y : f16[3, 32, 64]\nO = sum(sqr(X), dim=2)\nP = sum(Y, dim=2)\noutput O\noutput P\n",
    "program moved\ninput X : f16[2, 3, 64]\nO = exp(transpose(X, [1, 0, 2]))\noutput O\n",
  };
  (void)state;
  int all = 0, taken = 0, left = 0;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k += SPARSER) {
    mg_graph *p = parse(programs[k]);
    shown s[2];
    memset(s, 0, sizeof s);
    for (int with = 0; with < 2; with++) {
      mg_search_config c = mg_search_config_default();
      mg_search_result r;
      mg_error e;
      s[with].with_emitter = with;
      c.bound = 0, c.max_block_ops = 5, c.max_kernel_ops = 1, c.threads = 1, c.structure = sees, c.user = &s[with];
      if (with) c.emittable = emittable;
      if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
      assert_true(r.stats.complete);
      qsort(s[with].hash, (size_t)s[with].n, sizeof *s[with].hash, hash_cmp);
      mg_search_result_free(&r);
    }
    printf("%s: %d structures, %d of them emitted; with an emitter %d and %d\n", p->name, s[0].all, s[0].n, s[1].all, s[1].n);
    assert_int_equal(s[0].n, s[1].n);
    assert_memory_equal(s[0].hash, s[1].hash, (size_t)s[0].n * sizeof *s[0].hash);
    all += s[0].all, taken += s[0].n, left += s[1].all;
    free(s[0].hash), free(s[1].hash);
    mg_graph_free(p);
  }
  assert_true(taken > 50 / SPARSER && left < all / 2);
}

/* Segments whose outputs have nothing in common have many such structures: they left no room for those that are emitted. */
static void unrelated_outputs_are_complete(void **state) {
  (void)state;
  mg_graph *p = parse("program unrelated\ninput Q : f16[2, 256, 64]\ninput K : f16[2, 64, 4096]\ninput V : f16[2, 4096, 64]\n"
                      "E = exp(matmul(Q, K))\nD = div(E, sum(E, dim=2))\nO = matmul(D, rms_norm(V, dim=2))\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.max_kernel_ops = 3, c.emittable = emittable;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  printf("%s: %.2f us, %d kernels, %llu structures, %llu refused\n", p->name, r.predicted_us[0], r.stats.best_kernels, (unsigned long long)r.stats.structures, (unsigned long long)r.stats.refused);
  assert_true(r.stats.complete);
  assert_true(r.predicted_us[0] < 0.5 * mg_predict_us(p, mg_machine_at(0)));
  mg_search_result_free(&r);
  mg_graph_free(p);
}

/* ---- cuts */
static int kernels_of(const mg_graph *g, mg_opcode code, int *where) {
  int n = 0;
  for (uint32_t i = 1; i < g->n_ops; i++) {
    int has = g->ops[i].code == code;
    for (uint32_t k = 1; g->ops[i].code == MG_OP_GRAPH && k < g->ops[i].sub->n_ops; k++) has |= g->ops[i].sub->ops[k].code == code;
    if (has) n++, *where = (int)i;
  }
  return n;
}

/* ---- heads */
/* A product's columns as heads, stored head by head: one kernel, whether its blocks are heads or parts of them. */
static void products_are_stored_by_heads(void **state) {
  static const int rows[] = {16, 64, 100};
  (void)state;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k += SPARSER) {
    char text[300];
    snprintf(text, sizeof text, "program p\ninput X : f16[%d, 512]\ninput W : f16[512, 512]\nO = transpose(reshape(matmul(X, W), [%d, 8, 64]), [1, 0, 2])\n"
             "output O\n", rows[k], rows[k]);
    mg_graph *p = parse(text);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.emittable = emittable;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    printf("%d rows by heads: %.2f us, %d operators, %.1f s\n", rows[k], r.predicted_us[0], (int)r.graph[0]->n_ops - 1, r.stats.seconds);
    assert_int_equal(r.report[0].verdict, MG_EQUAL);
    assert_int_equal((int)r.graph[0]->n_ops - 1, 1);
    mg_search_result_free(&r), mg_graph_free(p);
  }
}
/* Splits and merges of heads are addresses: of one kernel where it is an attention alone, of the kernels before and behind it where these are
   products; with rows that the chunks do not divide, with a batch, with samples inside of rows, with K as it comes, and turned. */
static void heads_are_addresses(void **state) {
#define ATTEND "P = softmax(scale(matmul(Qh, Kh), 1/4), dim=2)\nO = matmul(P, Vh)\n"
#define MERGED "reshape(transpose(O, [1, 0, 2]), [N, 32])"
#define OF(T, by) T "h = transpose(reshape(" T ", [N, 2, 16]), [" by "])\n"
#define TAKES(T, shape) "input " T " : f16[" shape "]\n"
  static const struct { const char *n, *text; int kernels; } programs[] = {
    {"64", TAKES("Q", "N, 32") TAKES("K", "N, 32") TAKES("V", "N, 32") OF("Q", "1, 0, 2") OF("K", "1, 2, 0") OF("V", "1, 0, 2") ATTEND "Y = " MERGED "\noutput Y\n", 1},
    {"100", TAKES("Q", "N, 32") TAKES("K", "N, 32") TAKES("V", "N, 32") OF("Q", "1, 0, 2") OF("K", "1, 2, 0") OF("V", "1, 0, 2") ATTEND "Y = " MERGED "\noutput Y\n", 1},
    {"64", TAKES("Q", "N, 32") TAKES("Kh", "2, 16, N") TAKES("V", "N, 32") OF("Q", "1, 0, 2") OF("V", "1, 0, 2") ATTEND "Y = " MERGED "\noutput Y\n", 1},
    {"64", TAKES("Q", "2, N, 2, 16") TAKES("K", "2, N, 2, 16") TAKES("V", "2, N, 2, 16")
           "P = softmax(matmul(transpose(Q, [0, 2, 1, 3]), transpose(K, [0, 2, 3, 1])), dim=3)\nY = transpose(matmul(P, transpose(V, [0, 2, 1, 3])), [0, 2, 1, 3])\noutput Y\n", 1},
    {"64", TAKES("Q", "N, 3, 32") TAKES("K", "N, 3, 32") TAKES("V", "N, 3, 32")
           "P = softmax(matmul(transpose(Q, [1, 0, 2]), transpose(K, [1, 2, 0])), dim=2)\nY = reshape(transpose(matmul(P, transpose(V, [1, 0, 2])), [1, 0, 2]), [N, 96])\noutput Y\n", 1},
    {"64", TAKES("X", "N, 32") TAKES("A", "32, 32") TAKES("B", "32, 32") TAKES("C", "32, 32") TAKES("D", "32, 32") "Q = matmul(X, A)\nK = matmul(X, B)\nV = matmul(X, C)\n"
           OF("Q", "1, 0, 2") OF("K", "1, 2, 0") OF("V", "1, 0, 2") ATTEND "Y = matmul(" MERGED ", D)\noutput Y\n", 3},
  };
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k += SPARSER) {
    char text[1500] = "program heads\n";
    size_t n = strlen(text);
    for (const char *at = programs[k].text; *at; at++) n += (size_t)snprintf(text + n, sizeof text - n, *at == 'N' ? "%s" : "%.1s", *at == 'N' ? programs[k].n : at);
    mg_graph *p = parse(text);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    int where;
    c.emittable = emittable, c.max_kernel_ops = programs[k].kernels > 2 ? programs[k].kernels : 2;
    if (programs[k].kernels > 1) c.time_limit_s = 16; /* what is found of the parts stands in half of it */
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    const mg_graph *g = r.graph[0];
    printf("heads %d: %.2f us, %d kernels, %.1f s\n", (int)k, r.predicted_us[0], mg_kernels(g), r.stats.seconds);
    assert_int_equal(r.report[0].verdict, MG_EQUAL);
    assert_true(mg_kernels(g) <= programs[k].kernels);
    for (uint32_t i = 1; i < g->n_ops; i++) assert_true(g->ops[i].code != MG_OP_TRANSPOSE);
    assert_int_equal(kernels_of(g, MG_OP_EXP, &where), 1);
    mg_search_result_free(&r), mg_graph_free(p);
  }
}

/* An exponential of a product, of which a block cannot hold a row: the product in a kernel, library or not, all else in another.
   Where the two may not be cut apart, what is left are library kernels. */
static void a_product_ends_a_kernel(void **state) {
  (void)state;
  mg_graph *p = parse("program head\ninput X : f16[16, 1024]\ninput W : f16[1024, 2048]\nE = exp(matmul(X, W))\nO = div(E, sum(E, dim=1))\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  int product = 0, power = 0;
  c.emittable = emittable;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  printf("%s: %.2f us, library kernels %.2f\n", p->name, r.predicted_us[0], mg_predict_us(p, mg_machine_at(0)));
  assert_true(r.stats.complete);
  assert_true(r.predicted_us[0] < 0.6 * mg_predict_us(p, mg_machine_at(0)));
  assert_int_equal(r.stats.best_kernels, 2);
  assert_int_equal(kernels_of(r.graph[0], MG_OP_MATMUL, &product), 1);
  assert_int_equal(kernels_of(r.graph[0], MG_OP_EXP, &power), 1);
  assert_true(product < power);
  mg_search_result_free(&r);
  mg_graph_free(p);
}

/* No kernel of one's own with such operators. */
static mg_status without(void *user, const mg_graph *g, mg_error *why) {
  for (uint32_t i = 1; i < g->n_ops; i++)
    for (uint32_t k = 1; g->ops[i].code == MG_OP_GRAPH && k < g->ops[i].sub->n_ops; k++)
      if (g->ops[i].sub->ops[k].code == ((mg_opcode *)user)[0] || g->ops[i].sub->ops[k].code == ((mg_opcode *)user)[1]) return mg_fail(why, MG_UNSUPPORTED, "test", "no kernel for that");
  return MG_OK;
}

/* Library kernels in the midst of others, for operators of which no segment of one is cut: a unary operator that stays with what it
   is on, and what hands on exponentials. */
static void library_kernels_for_a_segment(void **state) {
  static const struct { mg_opcode not[2]; int library; const char *text; } cases[] = {
    { { MG_OP_SUB, MG_OP_ADD }, 2, "program glued\ninput X : f16[16, 1024]\ninput Y : f16[16, 1024]\ninput W : f16[1024, 1024]\nC = silu(sub(X, Y))\nO = matmul(rms_norm(C, dim=1), W)\noutput O\n" },
    { { MG_OP_EXP, MG_OP_EXP }, 3, "program raw\ninput X : f16[16, 1024]\ninput W : f16[1024, 512]\nE = exp(X)\nO = matmul(rms_norm(div(E, sum(E, dim=1)), dim=1), W)\noutput O\n" },
    { { MG_OP_EXP, MG_OP_EXP }, 4, "program both\ninput X : f16[16, 1024]\ninput W : f16[1024, 512]\nE = exp(X)\nO = matmul(rms_norm(relu(div(E, sum(E, dim=1))), dim=1), W)\noutput O\n" },
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k += SPARSER) {
    mg_graph *p = parse(cases[k].text);
    mg_opcode not[2] = { cases[k].not[0], cases[k].not[1] };
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    int own = 0, library = 0;
    double least = 0;
    c.emittable = without, c.user = not;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (uint32_t i = 1; i < r.graph[0]->n_ops; i++) {
      const mg_op_node *o = &r.graph[0]->ops[i];
      own += o->code == MG_OP_GRAPH, library += o->code != MG_OP_GRAPH;
      if (o->code != MG_OP_GRAPH) least += mg_library_us(r.graph[0], o, mg_machine_at(0));
    }
    printf("%s: %.2f us, library kernels %.2f; %d library kernels and %d others\n", p->name, r.predicted_us[0], mg_predict_us(p, mg_machine_at(0)), library, own);
    assert_int_equal(own, 1);
    assert_int_equal(library, cases[k].library);
    assert_int_equal(r.stats.best_kernels, own + library);
    assert_true(fabs(r.predicted_us[0] - mg_predict_us(r.graph[0], mg_machine_at(0))) < 1e-9 * r.predicted_us[0]);
    assert_true(r.predicted_us[0] > least && r.predicted_us[0] < 0.8 * mg_predict_us(p, mg_machine_at(0)));
    assert_true(r.report[0].verdict == MG_EQUAL);
    mg_search_result_free(&r);
    c.max_kernel_ops = library; /* one fewer: only the program itself has more kernels than that */
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int j = 0; j < r.n; j++) assert_true(mg_is_program(r.graph[j]) || (int)r.graph[j]->n_ops - 1 <= library);
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

/* A product by the library with our kernel before it is among the results where the model has our product ahead: who times knows better. */
static void products_of_the_library_are_candidates(void **state) {
  mg_graph *p = parse("program n64\ninput X : f16[64, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 4096]\n"
                      "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  int found = 0;
  (void)state;
  c.emittable = emittable;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int k = 0; k < r.n; k++) {
    const mg_graph *g = r.graph[k];
    found += g->n_ops == 3 && g->ops[1].code == MG_OP_GRAPH && g->ops[2].code == MG_OP_MATMUL && r.report[k].verdict == MG_EQUAL;
  }
  assert_int_equal(found, 1);
  assert_true(r.graph[0]->ops[r.graph[0]->n_ops - 1].code == MG_OP_GRAPH);
  mg_search_result_free(&r);
  mg_graph_free(p);
}

/* So is a product with what the library's call makes of it besides, priced without a kernel for that; and there alone: an add
   whose product one of our kernels makes is a kernel of its own. */
static void products_and_what_follows_are_candidates(void **state) {
  mg_graph *p = parse("program n256\ninput X : f16[256, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 4096]\ninput R : f16[256, 4096]\n"
                      "O = add(matmul(rms_norm(X, G, eps=1/1000000), W), R)\noutput O\n");
  const mg_machine *m = mg_machine_at(0);
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  int found = 0;
  (void)state;
  c.emittable = emittable;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int k = 0; k < r.n; k++) {
    const mg_graph *g = r.graph[k];
    if (g->n_ops != 4 || g->ops[1].code != MG_OP_GRAPH || g->ops[2].code != MG_OP_MATMUL || g->ops[3].code != MG_OP_ADD) continue;
    found++;
    assert_int_equal(r.report[k].verdict, MG_EQUAL);
    assert_int_equal(mg_library_taker(g, 3), 2);
    assert_int_equal(mg_library_takes(g, 2).taken, 1);
    assert_true(mg_library_us(g, &g->ops[3], m) < mg_library_alone_us(g, &g->ops[3], m) - m->library_us);
  }
  assert_true(found >= 1);
  mg_search_result_free(&r);
  mg_graph_free(p);
  mg_graph *own = parse("program own\ninput X : f16[256, 512]\ninput W : f16[512, 512]\ninput R : f16[256, 512]\n"
                        "C = kernel grid=(x=4, y=8) threads=128 {\n  for i=8 {\n    x = load X {x->0, i->1}\n    w = load W {y->1, i->0}\n    c = matmul(x, w)\n"
                        "  }\n  o = accum(c) {i->+}\n  store o {x->0, y->1}\n}\nO = add(C, R)\noutput O\n");
  assert_int_equal(mg_library_taker(own, 2), 0);
  assert_true(mg_library_us(own, &own->ops[2], m) == mg_library_alone_us(own, &own->ops[2], m));
  mg_graph_free(own);
}

/* Outputs that share no dimension come from one kernel, in which an axis cuts a dimension of each: what is loaded for all is loaded once. */
static void unrelated_outputs_share_an_axis(void **state) {
  static const struct { const char *text, *out[3]; int kernels, axis; double most; } cases[] = { /* most: of the outputs' own kernels together */
    { "program kv\ninput X : f16[8, 2048]\ninput B : f16[2048, 1024]\ninput C : f16[2048, 1024]\nK = matmul(X, B)\nV = matmul(X, C)\n", { "K", "V" }, 1, 1, 0.85 },
    { "program qkv\ninput X : f16[8, 2048]\ninput A : f16[2048, 4096]\ninput B : f16[2048, 1024]\ninput C : f16[2048, 1024]\n"
      "Q = matmul(X, A)\nK = matmul(X, B)\nV = matmul(X, C)\n", { "Q", "K", "V" }, 1, 1, 0.85 },
    { "program rows\ninput X : f16[1024, 512]\ninput Y : f16[1024, 512]\nA = sum(X, dim=1)\nB = silu(Y)\n", { "A", "B" }, 1, 0, 0.85 },
    { "program uneven\ninput X : f16[8, 2048]\ninput B : f16[2048, 1536]\ninput C : f16[2048, 1024]\nK = matmul(X, B)\nV = matmul(X, C)\n", { "K", "V" }, 1, 1, 0.85 },
    { "program router\ninput X : f16[8, 2048]\ninput B : f16[2048, 2048]\ninput C : f16[2048, 8]\nK = matmul(X, B)\nV = matmul(X, C)\n", { "K", "V" }, 1, -1, 0.85 },
    { "program prime\ninput X : f16[8, 2048]\ninput B : f16[2048, 1024]\ninput C : f16[2048, 1009]\nK = matmul(X, B)\nV = matmul(X, C)\n", { "K", "V" }, 2, -1, 1.0001 },
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k += SPARSER) {
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_graph *p = NULL;
    mg_error e;
    double apart = 0;
    int outs = 0;
    c.emittable = emittable;
    while (outs < 3 && cases[k].out[outs]) outs++;
    for (int j = 0; j <= outs; j++) { /* each output alone, then all */
      char text[512];
      const char *const *out = cases[k].out;
      if (j < outs) snprintf(text, sizeof text, "%soutput %s\n", cases[k].text, out[j]);
      else snprintf(text, sizeof text, "%soutput %s, %s%s%s\n", cases[k].text, out[0], out[1], outs > 2 ? ", " : "", outs > 2 ? out[2] : "");
      p = parse(text);
      if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
      if (j == outs) break;
      apart += r.predicted_us[0];
      mg_search_result_free(&r), mg_graph_free(p);
    }
    const mg_graph *g = r.graph[0];
    printf("%s: %.2f us, apart %.2f; %u kernels\n", p->name, r.predicted_us[0], apart, g->n_ops - 1);
    assert_int_equal(g->n_ops - 1, cases[k].kernels);
    assert_int_equal(r.report[0].verdict, MG_EQUAL);
    assert_true(r.stats.complete && r.predicted_us[0] < cases[k].most * apart);
    for (uint32_t i = 1, shared = 0; i < g->n_ops && cases[k].axis >= 0; i++) { /* one axis of the grid cuts every output there */
      const mg_graph *b = g->ops[i].sub;
      int axes = ~0;
      for (uint32_t j = 1; b && j < b->n_ops; j++)
        if (b->ops[j].code == MG_OP_STORE) {
          int here = 0;
          for (int a = 1; a < 4; a++) here |= (b->ops[j].map.to[a] == cases[k].axis) << a;
          axes &= here, shared++;
        }
      assert_true(axes && shared == (uint32_t)outs);
    }
    mg_search_result_free(&r), mg_graph_free(p);
  }
}

static int64_t blocks_of(const mg_graph *b) { return b->axes[1].extent * b->axes[2].extent * b->axes[3].extent; }

/* Dimensions that a concat or a reshape passes through are cut by the grid: these stood in one block.  So small, the library's
   kernel of one operator takes as long, and may come before. */
static void what_a_move_passes_is_cut(void **state) {
  static const char *const programs[] = {
    "program rope\ninput X : f16[256, 64]\ninput Y : f16[256, 64]\ninput c : f16[256, 64]\ninput s : f16[256, 64]\n"
    "O = concat(sub(mul(X, c), mul(Y, s)), add(mul(Y, c), mul(X, s)), dim=1)\noutput O\n",
    "program heads\ninput X : f16[64, 512]\nO = exp(reshape(X, [64, 8, 64]))\noutput O\n",
    "program twice\ninput X : f16[64, 512]\nO = exp(repeat(X, dim=1, n=2))\noutput O\n",
  };
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k += SPARSER) {
    mg_graph *p = parse(programs[k]);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.emittable = emittable, c.top_k = 4;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    int first = 0;
    while (first < r.n && (!r.graph[first]->ops[1].sub || r.graph[first]->n_ops > 2)) first++;
    assert_true(first < r.n);
    const mg_graph *b = r.graph[first]->ops[1].sub;
    printf("%s: %lld blocks, %.2f us, the first %.2f us\n", p->name, (long long)blocks_of(b), r.predicted_us[first], r.predicted_us[0]);
    assert_true(r.predicted_us[first] < 1.05 * r.predicted_us[0]);
    assert_true(blocks_of(b) >= 32 && r.stats.complete && r.report[first].verdict == MG_EQUAL);
    mg_search_result_free(&r), mg_graph_free(p);
  }
}

/* Searched to its end as one kernel, which is slow where rows are heads then: its parts are searched by paths, too, little effort first.
   Each to its end at once, 18 of them were, with 1763 structures. */
static void parts_of_what_one_kernel_can_be(void **state) {
  (void)state;
  mg_graph *p = parse("program heads\ninput N : f16[16, 256]\ninput W : f16[256, 256]\ninput C : f16[16, 1, 64]\ninput S : f16[16, 1, 64]\n"
                      "Q = transpose(rope(reshape(matmul(N, W), [16, 4, 64]), C, S), [1, 0, 2])\noutput Q\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.emittable = emittable;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  printf("%s: %.2f us, %d segments, %d structures\n", p->name, r.predicted_us[0], (int)r.stats.segments, (int)r.stats.structures);
  assert_true(r.stats.complete && r.report[0].verdict == MG_EQUAL);
  assert_true(r.predicted_us[0] < 3.5 && r.stats.segments < 9 && r.stats.structures < 500);
  mg_search_result_free(&r), mg_graph_free(p);
}

/* The best does not hang on how many are asked for. */
static void the_first_of_however_many(void **state) {
  (void)state;
  static const int tops[] = { 1, 3, 8, 40 };
  mg_graph *p = parse("program few\ninput X : f16[16, 256]\ninput G : f16[256]\ninput W : f16[256, 128]\n"
                      "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n");
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  uint64_t first = 0;
  c.emittable = emittable;
  for (size_t k = 0; k < sizeof tops / sizeof *tops; k++) {
    c.top_k = tops[k];
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (!k) first = mg_hash(r.graph[0]);
    assert_true(mg_hash(r.graph[0]) == first && r.n <= tops[k]);
    mg_search_result_free(&r);
  }
  mg_graph_free(p);
}

/* Slices that kernels alone read are addresses of their loads, and priced so, before a unary operator too; chains of moves begin at them. */
static void slices_are_addresses(void **state) {
  static const struct { double most; int slices; const char *text; } programs[] = { /* most: us */
    {1.95, 2, "program gated\ninput T : f16[64, 2048]\nA = slice(T, dim=1, from=0, n=1024)\nB = slice(T, dim=1, from=1024, n=1024)\nO = mul(silu(A), B)\noutput O\n"},
    {3, 2, "program heads\ninput T : f16[64, 1024]\nQ = transpose(reshape(slice(T, dim=1, from=0, n=512), [64, 8, 64]), [1, 0, 2])\n"
           "K = transpose(reshape(slice(T, dim=1, from=512, n=512), [64, 8, 64]), [1, 2, 0])\nO = matmul(Q, K)\noutput O\n"},
    {1.95, 3, "program halves\ninput T : f16[8, 1536]\ninput c : f16[64]\ninput s : f16[64]\nH = slice(T, dim=1, from=1024, n=256)\nA = reshape(H, [8, 4, 1, 64])\n"
              "B = slice(A, dim=3, from=0, n=32)\nC = slice(reshape(H, [8, 4, 1, 64]), dim=3, from=32, n=32)\n"
              "O = add(mul(A, c), mul(concat(neg(C), B, dim=3), s))\noutput O\n"}, /* a slice's heads are slices of heads */
  };
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k += SPARSER) {
    mg_graph *p = parse(programs[k].text);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    int slices = 0;
    c.emittable = emittable;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    const mg_graph *g = r.graph[0];
    for (uint32_t i = 1; i < g->n_ops; i++) slices += mg_slice_is_address(g, i);
    printf("%s: %.2f us, %d kernels, %d slices\n", p->name, r.predicted_us[0], mg_kernels(g), slices);
    assert_int_equal(mg_kernels(g), 1);
    assert_int_equal(slices, programs[k].slices);
    assert_true(r.stats.complete && r.report[0].verdict == MG_EQUAL);
    assert_true(r.predicted_us[0] < programs[k].most);
    for (int i = 0; i < r.n; i++) assert_true(fabs(r.predicted_us[i] - mg_predict_us(r.graph[i], NULL)) < 1e-6);
    mg_search_result_free(&r), mg_graph_free(p);
  }
}

/* Pieces that are one another's up to names, and have no small instance: W keeps all its columns, as slices take some.  The second
   was searched as if the first had one. */
static void pieces_without_a_small_instance(void **state) {
  static const char *const text = "program turned\ninput X : bf16[8, 64]\ninput W : bf16[64, 65536]\nT = matmul(X, W)\n"
                                  "H = slice(T, dim=1, from=4096, n=1024)\nA = reshape(H, [8, 8, 1, 128])\n"
                                  "B = slice(A, dim=3, from=0, n=64)\nC = reshape(H, [8, 8, 1, 128])\nD = slice(C, dim=3, from=64, n=64)\n"
                                  "O = concat(neg(D), B, dim=3)\noutput T, O\n";
  (void)state;
  mg_graph *p = parse(text);
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.emittable = emittable, c.threads = 4;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  printf("%s: %.2f us, %d kernels\n", p->name, r.predicted_us[0], mg_kernels(r.graph[0]));
  assert_true(r.report[0].verdict == MG_EQUAL);
  assert_true(mg_kernels(r.graph[0]) < 4);
  mg_search_result_free(&r), mg_graph_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(no_blocks_of_several_matrices), cmocka_unit_test(unrelated_outputs_are_complete), cmocka_unit_test(unrelated_outputs_share_an_axis), cmocka_unit_test(what_a_move_passes_is_cut), cmocka_unit_test(products_are_stored_by_heads), cmocka_unit_test(heads_are_addresses), cmocka_unit_test(a_product_ends_a_kernel), cmocka_unit_test(library_kernels_for_a_segment),
                                      cmocka_unit_test(products_of_the_library_are_candidates),
    cmocka_unit_test(products_and_what_follows_are_candidates),
                                      cmocka_unit_test(parts_of_what_one_kernel_can_be), cmocka_unit_test(the_first_of_however_many), cmocka_unit_test(slices_are_addresses),
                                      cmocka_unit_test(pieces_without_a_small_instance) };
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
