/* Tests of programs too long for one kernel: they are covered by kernels of their parts, and never cost more than these.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_long.c -o build/test_long -lcmocka -lm -lpthread -ldl && build/test_long */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include <stdio.h>
#include <time.h>
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"
#include "unshifted.h"

typedef struct hook { /* not: no kernel with it; after: so many are asked for, stop is set; shifted: by `unshifted` */
  mg_opcode not; int64_t asked, after; volatile int stop; int shifted;
} hook;
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  hook *h = (hook *)user;
  if (++h->asked == h->after) h->stop = 1;
  for (uint32_t i = 1; i < g->n_ops; i++)
    for (uint32_t k = 1; h->not && g->ops[i].sub && k < g->ops[i].sub->n_ops; k++)
      if (g->ops[i].sub->ops[k].code == h->not) return mg_fail(why, MG_UNSUPPORTED, "test", "no kernel for that");
  return mg_cuda_emittable(g, "sm_90a", why);
}
static int wary(void *user, const mg_graph *g) { /* an exponential in a kernel without a product that makes its rows */
  char arch[] = "sm_90a";
  if (((const hook *)user)->shifted) return unshifted(arch, g);
  for (uint32_t i = 1; i < g->n_ops; i++) {
    int exps = 0, products = 0;
    for (uint32_t k = 1; g->ops[i].sub && k < g->ops[i].sub->n_ops; k++) exps += g->ops[i].sub->ops[k].code == MG_OP_EXP, products += g->ops[i].sub->ops[k].code == MG_OP_MATMUL;
    if (exps && products < 2) return 1;
  }
  return 0;
}

#define ATTENTION                                                                                                                       \
  "input X : f16[16, 256]\ninput G : f16[256]\ninput Wq : f16[256, 256]\ninput K : f16[4, 64, 128] @ [0, 2, 1]\ninput V : f16[4, 128, 64]\n" \
  "N = rms_norm(X, G, eps=1e-6)\nQ = transpose(reshape(matmul(N, Wq), [16, 4, 64]), [1, 0, 2])\n"                                       \
  "P = softmax(scale(matmul(Q, K), 1/8), dim=2)\nA = transpose(matmul(P, V), [1, 0, 2])\n"
#define LAYER                                                                                                                           \
  ATTENTION "input Wo : f16[256, 256]\ninput H : f16[256]\ninput W1 : f16[256, 1024]\ninput W3 : f16[256, 1024]\ninput W2 : f16[1024, 256]\n" \
  "Y = add(X, matmul(reshape(A, [16, 256]), Wo))\nM = rms_norm(Y, H, eps=1e-6)\n"                                                       \
  "Z = add(Y, matmul(mul(silu(matmul(M, W1)), matmul(M, W3)), W2))\noutput Z\n"

static int fused(const mg_graph *g) {
  int n = 0;
  for (uint32_t i = 1; i < g->n_ops; i++) n += g->ops[i].code == MG_OP_GRAPH;
  return n;
}
/* Searches until what it finds has at most `kernels` kernels and takes less than `enough` us: a busy machine, or one under a sanitizer, gets no
   further in 40 s than a quiet one in 5. */
static mg_graph *search(const char *text, hook *h, int kernels, double enough, double *us) {
  mg_graph *p = parse(text), *best = NULL;
  for (double limit = 5; !best; limit *= 2) {
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.time_limit_s = limit, c.emittable = emittable, c.wary = wary, c.user = h;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
    const mg_graph *g = r.graph[0];
    printf("%s: %g s, %u operators, %u kernels, %d of them fused, %.2f us; as written %.2f; %llu segments\n", p->name, limit, p->n_ops - 1, (unsigned)mg_kernels(g), fused(g), r.predicted_us[0],
           mg_predict_us(p, NULL), (unsigned long long)r.stats.segments);
    assert_true(r.report[0].verdict == MG_EQUAL || r.report[0].agreed);
    assert_true(r.predicted_us[0] <= mg_predict_us(p, NULL));
    if ((mg_kernels(g) <= kernels && r.predicted_us[0] < enough) || limit > 80) *us = r.predicted_us[0], best = r.graph[0], r.graph[0] = NULL;
    mg_search_result_free(&r);
  }
  mg_graph_free(p);
  return best;
}

/* A layer of a decoder: the norm goes into the product behind it, both products of the MLP are one kernel, residuals are added where
   products end. */
static void a_layer(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* a_layer_of_4096 goes the same way, and further */
  hook h = { MG_OP_NONE, 0, 0, 0, 0 };
  double us = 0;
  mg_graph *g = search("program layer\n" LAYER, &h, 15, 18, &us);
  assert_true(g->n_ops - 1 <= 15 && fused(g) >= 4 && us < 18); /* as written 63 by the model */
  mg_graph_free(g);
}

/* Between the halves of a program stands what one kernel hands to the next: the whole never costs more than its halves alone.  Their kernels
   are equal up to names, and are searched once. */
static void two_mlps(void **state) {
  static const char one[] = "program one\ninput X : f16[16, 256]\ninput A : f16[256, 512]\ninput B : f16[256, 512]\ninput C : f16[512, 256]\n"
                            "Y = matmul(mul(silu(matmul(X, A)), matmul(X, B)), C)\n";
  static const char two[] = "input D : f16[256, 512]\ninput E : f16[256, 512]\ninput F : f16[512, 256]\n"
                            "Z = matmul(mul(silu(matmul(Y, D)), matmul(Y, E)), F)\noutput Z\n";
  (void)state;
  char text[1024];
  hook h = { MG_OP_NONE, 0, 0, 0, 0 };
  double alone = 0, both = 0;
  snprintf(text, sizeof text, "%soutput Y\n", one);
  mg_graph *a = search(text, &h, 2, 1e9, &alone);
  snprintf(text, sizeof text, "%s%s", one, two);
  mg_graph *b = search(text, &h, 2 * (int)(a->n_ops - 1), 1e9, &both);
  assert_true(both <= 2 * alone * (1 + 1e-9));
  assert_int_equal(fused(b), b->n_ops - 1);
  mg_graph_free(a), mg_graph_free(b);
}

/* A reshape at the end of what is fused is an address. */
static void a_reshape_at_the_edge(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* as a_half_with_turned_queries */
  hook h = { MG_OP_NONE, 0, 0, 0, 0 };
  double open = 0, closed = 0;
  mg_graph *a = search("program open\n" ATTENTION "output A\n", &h, 6, 1e9, &open);
  mg_graph *b = search("program half\n" ATTENTION "R = reshape(A, [16, 256])\noutput R\n", &h, 7, 1e9, &closed);
  assert_true(closed <= 1.02 * open); /* an address, and no kernel */
  assert_true(fused(a) >= 2 && fused(b) >= 2);
  for (uint32_t i = 1; i < b->n_ops; i++) assert_true(mg_renames(b, i) || (b->ops[i].code != MG_OP_RESHAPE && b->ops[i].code != MG_OP_TRANSPOSE));
  mg_graph_free(a), mg_graph_free(b);
}

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A layer's first half with its queries turned, with the last reshape and without: attention, with more operators than a kernel
   is searched for, is a kernel by tilings. */
static void a_half_with_turned_queries(void **state) {
  static const char *const ends[] = {"O = transpose(A, [1, 0, 2])\noutput O\n",
                                     "O = reshape(transpose(A, [1, 0, 2]), [16, 4096])\noutput O\n"};
  (void)state;
  for (int k = SANITIZED; k < 2; k++) {
    hook h = { MG_OP_NONE, 0, 0, 0, 0 };
    char text[1200];
    double us = 0;
    snprintf(text, sizeof text, "program half\ninput X : f16[16, 4096]\ninput G : f16[4096]\ninput Wq : f16[4096, 4096]\n"
             "input K : f16[32, 128, 1024] @ [0, 2, 1]\n"
             "input V : f16[32, 1024, 128]\ninput c : f16[16, 128]\ninput s : f16[16, 128]\n"
             "N = rms_norm(X, G, eps=1e-6)\n"
             "Q = transpose(reshape(matmul(N, Wq), [16, 32, 128]), [1, 0, 2])\n"
             "A = matmul(softmax(scale(matmul(rope(Q, c, s), K), 1/11), dim=2), V)\n%s", ends[k]);
    mg_graph *g = search(text, &h, 3, 1e9, &us);
    int turns = 0;
    assert_true(mg_kernels(g) <= 3 && fused(g) == mg_kernels(g)); /* a reshape is a name, and no kernel */
    for (uint32_t i = 1; i < g->n_ops; i++) {
      int products = 0, joins = 0;
      if (!g->ops[i].sub) continue;
      for (uint32_t q = 1; q < g->ops[i].sub->n_ops; q++)
        products += g->ops[i].sub->ops[q].code == MG_OP_MATMUL, joins += g->ops[i].sub->ops[q].code == MG_OP_CONCAT;
      turns += products == 2 && joins == 1;
    }
    assert_int_equal(turns, 1); /* in the kernel of both products */
    mg_graph_free(g);
  }
}

/* Queries and keys turned before attention, more operators than a kernel is searched for: one kernel, soon, for which a step turns its keys
   once, though several rows of warps take them. */
static void turned_keys_are_no_kernel(void **state) {
  (void)state;
  mg_graph *p = parse("program turned\ninput Q : f16[8, 64, 64]\ninput K : f16[8, 512, 64]\ninput V : f16[8, 512, 64]\ninput c : f16[64, 64]\ninput s : f16[64, 64]\n"
                      "input ck : f16[512, 64]\ninput sk : f16[512, 64]\nq = rope(Q, c, s)\nk = rope(K, ck, sk)\n"
                      "O = matmul(softmax(scale(matmul(q, transpose(k, [0, 2, 1])), 1/8), dim=2), V)\noutput O\n");
  int kernels = 0;
  for (double limit = 10; limit < 50 && kernels != 1; limit *= 2) { /* longer where the machine is busy */
    hook h = { MG_OP_NONE, 0, 0, 0, 0 };
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.time_limit_s = limit, c.emittable = emittable, c.user = &h;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    printf("turned keys: %g s, %d kernels, %.2f us\n", limit, mg_kernels(r.graph[0]), r.predicted_us[0]);
    assert_int_equal(r.report[0].verdict, MG_EQUAL);
    kernels = mg_kernels(r.graph[0]);
    assert_true(kernels != 1 || r.predicted_us[0] < 6.2); /* in two kernels they take 6.22 and more */
    mg_search_result_free(&r);
  }
  assert_int_equal(kernels, 1);
  mg_graph_free(p);
}

/* A layer of 4096: what is found is certified in less time, piece by piece; heads are split and merged by addresses. */
static void a_layer_of_4096(void **state) {
  (void)state;
  static const char text[] =
      "program layer\ninput X : f16[16, 4096]\ninput G : f16[4096]\ninput Wq : f16[4096, 4096]\n"
      "input K : f16[32, 128, 1024] @ [0, 2, 1]\ninput V : f16[32, 1024, 128]\ninput Wo : f16[4096, 4096]\ninput H : f16[4096]\n"
      "input W1 : f16[4096, 14336]\ninput W3 : f16[4096, 14336]\ninput W2 : f16[14336, 4096]\nN = rms_norm(X, G, eps=1e-6)\n"
      "Q = transpose(reshape(matmul(N, Wq), [16, 32, 128]), [1, 0, 2])\nP = softmax(scale(matmul(Q, K), 1/11), dim=2)\n"
      "O = reshape(transpose(matmul(P, V), [1, 0, 2]), [16, 4096])\nY = add(X, matmul(O, Wo))\nM = rms_norm(Y, H, eps=1e-6)\n"
      "Z = add(Y, matmul(mul(silu(matmul(M, W1)), matmul(M, W3)), W2))\noutput Z\n";
  hook h = { MG_OP_NONE, 0, 0, 0, 0 };
  mg_graph *p = parse(text);
  int kernels = 0;
  for (double limit = 10; limit < 100 && !kernels; limit *= 2) { /* longer where the machine is busy */
    mg_search_config c = mg_search_config_default();
    mg_verify_config v = mg_verify_config_default();
    mg_search_result r;
    mg_error e;
    char why[256];
    int undecided = 0;
    c.time_limit_s = v.time_limit_s = limit, c.emittable = emittable, c.user = &h;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (mg_search_certify(p, &c, &v, 1, &r, &undecided, why, &e) != MG_OK) fail_msg("%s", e.msg);
    const mg_graph *g = r.graph[0];
    printf("layer of 4096: %g s, %u kernels, %d fused, %.2f us; as written %.2f; %s by %d pieces\n", limit, g->n_ops - 1, fused(g),
           r.predicted_us[0], mg_predict_us(p, NULL), mg_verdict_name(r.report[0].verdict), r.report[0].pieces);
    assert_true(r.report[0].verdict == MG_EQUAL && !undecided);
    const int all = g->n_ops - 1 <= 8 && fused(g) == (int)g->n_ops - 1;
    if (r.report[0].pieces > 1 && all && r.predicted_us[0] < 0.65 * mg_predict_us(p, NULL)) kernels = fused(g);
    if (kernels) { /* and numerics that cannot end in their time are not begun */
      mg_emit_config as;
      mg_check_config k;
      mg_numerics_report n;
      char *cu = NULL;
      memset(&as, 0, sizeof as), memset(&k, 0, sizeof k);
      as.arch = "sm_90a", k.timeout_s = 60;
      assert_int_equal(mg_cuda_emit(g, &as, &cu, &e), MG_OK);
      const double from = now();
      assert_int_equal(mg_cuda_numerics(p, g, cu, &k, &n, &e), MG_UNSUPPORTED);
      if (!strstr(e.msg, "families take more than 60 s") || now() > from + 5) fail_msg("%s after %.1f s", e.msg, now() - from);
      mg_string_free(cu);
    }
    mg_search_result_free(&r);
  }
  assert_true(kernels > 0);
  mg_graph_free(p);
}

/* Rows that fill a block's shared memory: a block a row, however many there are. */
static void rows_that_fill_a_block(void **state) {
  (void)state;
  hook h = { MG_OP_NONE, 0, 0, 0, 0 };
  double us = 0;
  mg_graph *g = search("program rows\ninput X : f16[4096, 32000]\ninput G : f16[32000]\nO = rms_norm(X, G, eps=1e-6)\noutput O\n", &h, 1, 160, &us);
  assert_true(g->n_ops == 2 && fused(g) == 1 && us < 160);
  mg_graph_free(g);
}

/* Link 2 of what was found. */
static void same_when_emulated(const mg_graph *g) {
  mg_emit_config as;
  mg_check_config k;
  mg_check_report r;
  mg_error e;
  char *cu = NULL;
  memset(&as, 0, sizeof as), memset(&k, 0, sizeof k);
  as.arch = "sm_90a", k.timeout_s = 300;
  if (mg_cuda_emit(g, &as, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (mg_cuda_check(g, cu, &k, &r, &e) != MG_OK) fail_msg("%s %s", e.msg, r.difference);
  mg_string_free(cu);
}
/* Link 1 of it, and its certificate. */
static void certified(const mg_graph *p, const mg_graph *g) {
  mg_verify_report equal, again;
  mg_error e;
  char *text = NULL;
  if (mg_verify(p, g, NULL, &equal, &e) != MG_OK || equal.verdict != MG_EQUAL) fail_msg("%s: %s", e.msg, equal.reason);
  if (mg_certificate(p, g, &equal, &text, &e) != MG_OK) fail_msg("%s", e.msg);
  if (mg_certificate_check(text, strlen(text), &again, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_int_equal(again.verdict, MG_EQUAL);
  mg_string_free(text);
}

/* Of a softmax in f32 whose quotients are cast, as under a mask of f32, one kernel has a running maximum under the cast: the weights that the
   product takes are of 16 bits, and none overflows. */
static void a_cast_behind_a_softmax(void **state) {
  (void)state;
  static const char *const masked[] = { "to_f16(softmax(add(scale(matmul(Q, K), 1/8), M), dim=2))",
                                        "to_f16(softmax(add(to_f32(scale(matmul(Q, K), 1/8)), M), dim=2))" };
  for (int k = 0; k < 2; k++) {
    char text[600];
    hook h = { MG_OP_NONE, 0, 0, 0, 0 };
    double us = 0;
    snprintf(text, sizeof text, "program cast\ninput Q : f16[4, 16, 64]\ninput K : f16[4, 64, 512] @ [0, 2, 1]\ninput V : f16[4, 512, 64]\n"
                                "input M : f32[16, 512]\nO = matmul(%s, V)\noutput O\n", masked[k]);
    mg_graph *p = parse(text), *g = search(text, &h, 1, 6, &us);
    printf("a cast behind a softmax: %.2f us\n", us);
    assert_true(mg_kernels(g) == 1 && fused(g) == 1 && us < 6);
    const mg_graph *b = g->ops[1].sub;
    int power = 0, cast = 0;
    for (uint32_t i = 1; i < b->n_ops; i++)
      if (b->ops[i].code == MG_OP_EXP) power = (int)b->ops[i].out[0].id;
      else if (b->ops[i].code == MG_OP_TO_F16 && (int)b->ops[i].in[0].id == power) cast++;
    assert_true(power && cast == 1); /* of f32, and cast alone reads it */
    certified(p, g);
    same_when_emulated(g);
    mg_graph_free(g), mg_graph_free(p);
  }
}

/* A symbol's layer: where time is short, sizes all over were searched, and every range is fused. */
static void a_layer_of_a_symbol(void **state) {
  (void)state;
  static const char text[] =
      "program layers\nsym n in 1..64\ninput X : f16[n, 256]\ninput G : f16[256]\ninput Wq : f16[256, 256]\ninput K : f16[4, 64, 128] @ [0, 2, 1]\n"
      "input V : f16[4, 128, 64]\ninput Wo : f16[256, 256]\ninput H : f16[256]\ninput W1 : f16[256, 1024]\ninput W3 : f16[256, 1024]\n"
      "input W2 : f16[1024, 256]\nN = rms_norm(X, G, eps=1e-6)\nQ = transpose(reshape(matmul(N, Wq), [n, 4, 64]), [1, 0, 2])\n"
      "P = softmax(scale(matmul(Q, K), 1/8), dim=2)\nA = transpose(matmul(P, V), [1, 0, 2])\nY = add(X, matmul(reshape(A, [n, 256]), Wo))\n"
      "M = rms_norm(Y, H, eps=1e-6)\nZ = add(Y, matmul(mul(silu(matmul(M, W1)), matmul(M, W3)), W2))\noutput Z\n";
  double us = 0;
  mg_graph *p = parse(text);
  for (double limit = 10; limit < 100 && !(us > 0 && us < 18); limit *= 2) { /* longer where the machine is busy */
    hook h = { MG_OP_NONE, 0, 0, 0, 1 };
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    c.time_limit_s = limit, c.emittable = emittable, c.wary = wary, c.user = &h;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    us = 0;
    for (int k = 0; k < r.n; k++) us = fmax(us, r.range[k].predicted_us[1]);
    printf("layer of n rows: %g s, %d ranges, at most %.2f us, %d sizes searched\n", limit, r.n, us, r.searches);
    mg_family_result_free(&r);
  }
  assert_true(us > 0 && us < 18); /* with what the sizes of least rows alone give: 31 and more */
  mg_graph_free(p);
}

/* Of a softmax of rows of -inf but for their last element, which is 1 there, as the program has it: whole parts of them are. */
static void parts_may_be_hidden(const mg_graph *g) {
  const mg_shape *s = &mg_tensor_of(g, g->in[0])->shape;
  const int64_t n = mg_shape_elements(s), row = s->dim[s->rank - 1];
  double *x = (double *)malloc((size_t)n * sizeof *x), *y = (double *)malloc((size_t)n * sizeof *y);
  const void *in[] = {x};
  void *out[] = {y};
  mg_error e;
  assert_true(x && y);
  for (int64_t i = 0; i < n; i++) x[i] = (i + 1) % row ? -INFINITY : 2;
  const mg_domain real = mg_domain_real();
  if (mg_eval(g, &real, in, out, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int64_t i = 0; i < n; i++) assert_true(y[i] == ((i + 1) % row ? 0 : 1));
  free(x), free(y);
}

/* Rows that no block holds, or too few of them: kernels whose blocks have parts.  A softmax's sum is under the maximum of
   its row, which a kernel before it makes; a product before it has its own, and parts of two may be called alike. */
static void rows_in_parts(void **state) {
  (void)state;
  static const struct { const char *text; int kernels, custom; double us; int emulated; } row[] = {
    {"program vocabulary\ninput X : f16[2, 128256]\nO = softmax(X, dim=1)\noutput O\n", 3, 3, 9, 1},
    {"program odd\ninput X : f16[3, 50257]\n_M = max(X, dim=1)\n_C = sub(X, _M)\n"
     "O = sub(_C, log(sum(exp(_C), dim=1)))\noutput O\n", 3, 3, 9, 1},
    {"program mean\ninput X : bf16[3, 70001]\ninput Y : bf16[3, 70001]\ninput B : bf16[70001]\n"
     "E = exp(sub(add(X, B), max(add(X, B), dim=1)))\nO = div(sum(mul(E, Y), dim=1), sum(E, dim=1))\noutput O\n", 3, 3, 9, 1},
    {"program norm\ninput X : f32[2, 2, 99999]\ninput G : f32[99999]\n_C = sub(X, mean(X, dim=2))\n"
     "O = mul(div(_C, sqrt(add_scalar(mean(sqr(_C), dim=2), 1/100000))), G)\noutput O\n", 3, 3, 9, 1},
    /* more rows than a grid has along y: as it is written it takes 34329 us by the model */
    {"program many\ninput X : f16[70000, 131072]\nO = softmax(X, dim=1)\noutput O\n", 3, 3, 20000, 0},
    /* its scores are of f16 in memory: an exponential makes more of that than link 2 allows */
    {"program head\ninput X : f16[2, 64]\ninput W : f16[64, 50257]\nO = softmax(matmul(X, W), dim=1)\noutput O\n", 4, 3, 14, 0},
    /* the softmax's kernels hand on what may not be called t1 */
    {"program named\ninput X : f16[8, 131072]\ninput B : f16[2048, 4096]\ninput C : f16[4096, 4096]\n"
     "input D : f16[4096, 4096]\nP = softmax(X, dim=1)\nt1 = relu(matmul(B, C))\nO = matmul(t1, D)\noutput P, O\n",
     6, 3, 300, 0},
  };
  for (int k = 0; k < (int)(sizeof row / sizeof *row); k += SPARSER) {
    hook h = { MG_OP_NONE, 0, 0, 0, 0 };
    mg_graph *p = parse(row[k].text);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.time_limit_s = 8 * SPARSER, c.emittable = emittable, c.user = &h; /* the norm's ends by it */
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
    const mg_graph *g = r.graph[0];
    printf("%s: %d kernels, %d of them fused, %.2f us\n", p->name, mg_kernels(g), fused(g), r.predicted_us[0]);
    assert_true(mg_kernels(g) <= row[k].kernels && fused(g) >= row[k].custom && r.predicted_us[0] < row[k].us);
    certified(p, g);
    if (row[k].emulated) same_when_emulated(g);
    if (k == 0) parts_may_be_hidden(g);
    mg_search_result_free(&r);
    mg_graph_free(p);
  }
}

/* A layer of an encoder has biases in all its products, both norms written out, and a mask: 18 inputs. */
static void an_encoder_with_biases(void **state) {
  (void)state;
  static const char text[] =
      "program encoder\ninput X : f16[16, 64]\ninput Wq : f16[64, 64]\ninput bq : f16[64]\n"
      "input Wk : f16[64, 64]\ninput bk : f16[64]\n"
      "input Wv : f16[64, 64]\ninput bv : f16[64]\ninput Wo : f16[64, 64]\ninput bo : f16[64]\n"
      "input g1 : f16[64]\ninput h1 : f16[64]\n"
      "input W1 : f16[64, 256]\ninput b1 : f16[256]\ninput W2 : f16[256, 64]\ninput b2 : f16[64]\n"
      "input g2 : f16[64]\ninput h2 : f16[64]\n"
      "input M : f16[16, 16]\nQ = transpose(reshape(add(matmul(X, Wq), bq), [16, 4, 16]), [1, 0, 2])\n"
      "K = transpose(reshape(add(matmul(X, Wk), bk), [16, 4, 16]), [1, 2, 0])\n"
      "V = transpose(reshape(add(matmul(X, Wv), bv), [16, 4, 16]), [1, 0, 2])\n"
      "P = softmax(add(scale(matmul(Q, K), 1/4), M), dim=2)\n"
      "A = reshape(transpose(matmul(P, V), [1, 0, 2]), [16, 64])\nY = add(X, add(matmul(A, Wo), bo))\nD = sub(Y, mean(Y, dim=1))\n"
      "N = add(mul(div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/100000))), g1), h1)\n"
      "Z = add(N, add(matmul(gelu(add(matmul(N, W1), b1)), W2), b2))\nE = sub(Z, mean(Z, dim=1))\n"
      "O = add(mul(div(E, sqrt(add_scalar(mean(sqr(E), dim=1), 1/100000))), g2), h2)\noutput O\n";
  hook h = { MG_OP_NONE, 0, 0, 0, 1 };
  mg_graph *p = parse(text);
  double us = 0;
  mg_graph *g = search(text, &h, 8, 1e9, &us);
  assert_true(p->n_in == 18 && p->n_ops > 40 && mg_kernels(g) <= 8 && fused(g) >= 3);
  mg_verify_report equal;
  mg_error e;
  if (mg_verify(p, g, NULL, &equal, &e) != MG_OK || equal.verdict != MG_EQUAL) fail_msg("%s: %s", e.msg, equal.reason);
  same_when_emulated(g);
  mg_graph_free(p), mg_graph_free(g);
}

/* As many inputs as there may be, in products added up: fewer kernels than products, equal, with a class of 32 inputs. */
static void as_many_inputs_as_may_be(void **state) {
  (void)state;
  char text[8192] = "program wide\n";
  size_t n = strlen(text);
  for (int k = 0; k < MG_MAX_IN; k += 2)
    n += (size_t)snprintf(text + n, sizeof text - n, "input X%d : f16[16, 32]\ninput W%d : f16[32, 32]\n", k, k);
  for (int k = 0; k < MG_MAX_IN; k += 2) {
    if (k) n += (size_t)snprintf(text + n, sizeof text - n, "S%d = add(S%d, matmul(X%d, W%d))\n", k, k - 2, k, k);
    else n += (size_t)snprintf(text + n, sizeof text - n, "S0 = relu(matmul(X0, W0))\n");
  }
  snprintf(text + n, sizeof text - n, "output S%d\n", MG_MAX_IN - 2);
  hook h = { MG_OP_NONE, 0, 0, 0, 0 };
  mg_graph *p = parse(text);
  double us = 0;
  mg_graph *g = search(text, &h, MG_MAX_IN / 4, 1e9, &us);
  assert_true(p->n_in == MG_MAX_IN && mg_kernels(g) <= MG_MAX_IN / 4);
  certified(p, g);
  mg_graph_free(p), mg_graph_free(g);
}

/* Heads sliced out of a product of all three, split and turned: one kernel, as its reshapes come to the edges. */
static void heads_sliced_and_turned(void **state) {
  (void)state;
  for (int n = 1; n <= 64; n *= 64) {
    hook h = { MG_OP_NONE, 0, 0, 0, 0 };
    char text[512];
    double us = 0;
    snprintf(text, sizeof text, "program heads\ninput A : bf16[%d, 768]\ninput C : bf16[1, 64]\ninput S : bf16[1, 64]\n"
             "B = reshape(A, [%d, 12, 64])\nQ = rope(reshape(slice(B, dim=1, from=0, n=8), [%d, 2, 4, 64]), C, S)\noutput Q\n", n, n, n);
    mg_graph *g = search(text, &h, 3, 3, &us);
    for (uint32_t k = 1; k < g->n_ops; k++) assert_true(mg_renames(g, k) || g->ops[k].code == MG_OP_GRAPH);
    assert_true(fused(g) == 1 && us < 3);
    mg_graph_free(g);
  }
}

/* Keys and values of grouped heads, repeated for the heads of a group as models are written: one kernel, which reads
   each by its address. */
static void heads_of_groups_repeated(void **state) {
  (void)state;
  static const char text[] =
    "program rows\ninput Q : f16[4, 8, 32]\ninput K : f16[2, 64, 32]\ninput V : f16[2, 64, 32]\n"
    "Kr = reshape(repeat(reshape(K, [2, 1, 64, 32]), dim=1, n=2), [4, 64, 32])\n"
    "Vr = reshape(repeat(reshape(V, [2, 1, 64, 32]), dim=1, n=2), [4, 64, 32])\n"
    "P = softmax(scale(matmul(Q, transpose(Kr, [0, 2, 1])), 1/6), dim=2)\nO = matmul(P, Vr)\noutput O\n";
  hook h = { MG_OP_NONE, 0, 0, 0, 1 };
  mg_graph *p = parse(text);
  double us = 0;
  mg_graph *g = search(text, &h, 1, 3, &us);
  assert_true(mg_kernels(g) == 1 && fused(g) == 1 && us < 3);
  certified(p, g);
  same_when_emulated(g);
  mg_graph_free(p), mg_graph_free(g);
}

/* What no kernel takes runs as it stands; all else is what it is without it. */
static void one_that_is_not_fused(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* a_flag_keeps_the_parts has library kernels, too */
  hook h = { MG_OP_SILU, 0, 0, 0, 0 };
  double us = 0;
  mg_graph *g = search("program layer\n" LAYER, &h, 17, 20, &us);
  int library = 0;
  for (uint32_t i = 1; i < g->n_ops; i++) library += g->ops[i].code == MG_OP_SILU;
  assert_int_equal(library, 1);
  assert_true(g->n_ops - 1 <= 17 && fused(g) >= 4 && us < 20);
  mg_graph_free(g);
}

/* What was found when the flag is set is kept. */
static void a_flag_keeps_the_parts(void **state) {
  (void)state;
  mg_graph *p = parse("program layer\n" LAYER);
  double us = 0;
  for (int64_t after = 1; after <= 400; after = after < 50 ? after * 50 : after * 2) {
    hook h = { MG_OP_NONE, 0, after, 0, 0 };
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    c.emittable = emittable, c.user = &h, c.stop = &h.stop, c.threads = 1;
    if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    us = r.predicted_us[0];
    printf("stopped after %lld kernels of %lld: %d kernels, %.2f us, %llu segments\n", (long long)after, (long long)h.asked, r.stats.best_kernels, us, (unsigned long long)r.stats.segments);
    assert_true(h.stop && r.stats.late && !r.stats.complete);
    assert_true(us <= mg_predict_us(p, NULL) * (1 + 1e-9));
    assert_true(r.report[0].verdict == MG_EQUAL || r.report[0].agreed);
    mg_search_result_free(&r);
    if (us < 0.8 * mg_predict_us(p, NULL)) break;
  }
  assert_true(us < 0.8 * mg_predict_us(p, NULL));
  mg_graph_free(p);
}

/* A search whose time is over before it began puts together what it has once; what it says of itself has a price from the first. */
static void told(void *user, const mg_search_stats *s) {
  assert_true(s->own_us > 0 && s->structure_us < 1e9);
  ++*(int *)user;
}
static void no_time_is_none(void **state) {
  (void)state;
  mg_graph *p = parse("program layer\n" LAYER);
  volatile int stop = 1;
  int calls = 0;
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.stop = &stop, c.progress = told, c.user = &calls;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_int_equal(r.stats.candidates, 2); /* of the parts, and the program as it is */
  assert_true(calls > 0 && r.stats.late && r.stats.own_us == mg_predict_us(p, NULL));
  mg_search_result_free(&r);
  mg_graph_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(a_layer), cmocka_unit_test(a_layer_of_4096), cmocka_unit_test(a_cast_behind_a_softmax),
                                      cmocka_unit_test(a_layer_of_a_symbol),
                                      cmocka_unit_test(an_encoder_with_biases), cmocka_unit_test(as_many_inputs_as_may_be),
                                      cmocka_unit_test(turned_keys_are_no_kernel), cmocka_unit_test(a_half_with_turned_queries), cmocka_unit_test(two_mlps), cmocka_unit_test(rows_that_fill_a_block),
                                      cmocka_unit_test(rows_in_parts), cmocka_unit_test(heads_sliced_and_turned), cmocka_unit_test(heads_of_groups_repeated), cmocka_unit_test(a_reshape_at_the_edge), cmocka_unit_test(one_that_is_not_fused), cmocka_unit_test(a_flag_keeps_the_parts), cmocka_unit_test(no_time_is_none) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
