/* Tests of examples/import.c: the µGraphs that the public Mirage saved, read and then verified and compared with what the search finds; every operator of the format;
   damaged files.  tests/mugraphs holds three files of mirage-project/mirage, benchmark/saved_mugraphs (Apache-2.0), gzipped.
   gcc -std=c11 -O2 -I. -DMIRAGE_CJSON tests/test_import.c -o build/test_import -lcmocka -lcjson -lm -lpthread -ldl && build/test_import [SEED]
   At full size a few are verified, drawn by the seed; with SOAK_IMPORTS=1 all 212. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* popen */
#endif
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "../examples/import.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#ifdef MIRAGE_CJSON

static uint64_t seed = 1;
static uint64_t next(uint64_t *s) { return mgi_ff_mix(*s += MGI_FF_GOLD); }
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

/* ---- the saved files */

static const struct saved { const char *name, *program; int n; mg_verdict verdict; } saved[] = {
    {"rmsnorm_bs1", "mirage_rmsnorm_bs1", 18, MG_EQUAL}, {"lora", "mirage_lora", 4, MG_EQUAL}, {"qknorm_gqa_bs1", "mirage_qknorm_gqa_bs1", 190, MG_NOT_EQUAL}};
enum { SAVED = sizeof saved / sizeof *saved };

static char *unpack(const char *name, size_t *n) {
  char command[200];
  size_t cap = 4 << 20;
  char *text = (char *)malloc(cap + 1);
  snprintf(command, sizeof command, "gzip -dc tests/mugraphs/%s.json.gz", name);
  FILE *f = popen(command, "r");
  assert_non_null(f);
  assert_non_null(text);
  *n = fread(text, 1, cap, f);
  assert_int_equal(pclose(f), 0);
  text[*n] = 0;
  return text;
}
static import_file *open_saved(int k) {
  size_t len;
  int n;
  import_file *f;
  mg_error e;
  char *text = unpack(saved[k].name, &len);
  if (import_open(text, len, saved[k].name, &f, &n, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(n, saved[k].n);
  free(text);
  return f;
}
static mg_graph *program(int k) {
  char path[200];
  mg_graph *g;
  mg_error e;
  snprintf(path, sizeof path, "examples/programs/%s.mg", saved[k].program);
  if (mg_parse_file(path, NULL, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return g;
}
static mg_graph *imported(const import_file *f, int k) {
  mg_graph *g;
  mg_error e;
  if (import_graph(f, k, "saved", NULL, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return g;
}

static void all_are_read(void **state) {
  (void)state;
  for (int k = 0; k < SAVED; k++) {
    import_file *f = open_saved(k);
    mg_graph *p = program(k);
    for (int j = 0; j < saved[k].n; j++) {
      mg_graph *g = imported(f, j), *h;
      mg_error e;
      char *text;
      assert_int_equal(mg_print(g, &text, &e), MG_OK);
      if (mg_parse(text, strlen(text), "again", NULL, &h, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
      assert_true(mg_hash(g) == mg_hash(h));
      assert_false(mg_is_program(g));
      assert_int_equal(g->n_in, p->n_in);
      assert_int_equal(g->n_out, 1);
      for (uint32_t i = 0; i < p->n_in; i++) assert_memory_equal(&g->tensors[g->in[i].id].shape, &p->tensors[p->in[i].id].shape, sizeof(mg_shape));
      mg_string_free(text), mg_graph_free(g), mg_graph_free(h);
    }
    import_close(f), mg_graph_free(p);
  }
}

/* Read by hand from the JSON. */
static void as_read_by_hand(void **state) {
  (void)state;
  static const struct { int file, k; const char *text; } hand[] = {
      {0, 0, "program saved\ninput in0 : f16[2, 4096]\ninput in1 : f16[4096, 6144]\nout0 = kernel grid=(x=256) threads=128 {\n  for i=32 {\n"
             "    x = load in0 {x->*, i->1}\n    w = load in1 {x->1, i->0}\n    q = sum(sqr(x), dim=1)\n    m = matmul(x, w)\n  }\n"
             "  r = sqrt(scale(accum(q) {i->+}, 1/4096))\n  o = div(accum(m) {i->+}, r)\n  store o {x->1}\n}\noutput out0\n"},
      {1, 3, "program saved\ninput in0 : f16[16, 256]\ninput in1 : f16[256, 4096]\ninput in2 : f16[256, 16]\ninput in3 : f16[16, 4096]\n"
             "out0 = kernel grid=(x=512) threads=128 {\n  a = load in0 {x->*}\n  b = load in1 {x->1}\n  c = load in2 {x->*}\n  d = load in3 {x->1}\n"
             "  e = matmul(a, b)\n  f = matmul(a, c)\n  g = matmul(f, d)\n  h = add(g, e)\n  store h {x->1}\n}\noutput out0\n"},
      {2, 1, "program saved\ninput in0 : f16[2, 256, 64]\ninput in1 : f16[2, 64, 4096]\ninput in2 : f16[2, 4096, 64]\nA, V = kernel grid=(x=2, y=64) threads=128 {\n"
             "  q = load in0 {x->0, y->1}\n  k = load in1 {x->0, y->1}\n  v = load in2 {x->0, y->1}\n  nq = rms_norm(q)\n  nv = rms_norm(v)\n  r = sum(nq, dim=2)\n"
             "  a = mul(k, r)\n  store a {x->0, y->2}\n  store nv {x->0, y->2}\n}\nS, P = kernel grid=(x=2, y=64) threads=128 {\n"
             "  a = load A {x->0, y->2}\n  v = load V {x->0, y->2}\n  e = exp(a)\n  s = sum(e, dim=2)\n  p = div(e, s)\n  store v {x->0, y->1}\n  store p {x->0, y->1}\n}\n"
             "out0 = matmul(P, S)\noutput out0\n"}};
  for (size_t k = 0; k < sizeof hand / sizeof *hand; k++) {
    import_file *f = open_saved(hand[k].file);
    mg_graph *g = imported(f, hand[k].k), *h;
    mg_error e;
    if (mg_parse(hand[k].text, strlen(hand[k].text), "by hand", NULL, &h, &e) != MG_OK) fail_msg("%s:%d: %s", e.where, e.line, e.msg);
    if (mg_hash(g) != mg_hash(h)) {
      char *text;
      mg_print(g, &text, &e);
      fail_msg("%s, %d: imported\n%s\nby hand\n%s", saved[hand[k].file].name, hand[k].k, text, hand[k].text);
    }
    mg_graph_free(g), mg_graph_free(h), import_close(f);
  }
}

/* ---- verdicts */

/* The float64 evaluator gives what the counterexample says, and that is no rounding. */
static void counterexample_holds(const mg_graph *p, const mg_graph *g, const mg_verify_report *r) {
  mg_domain d = mg_domain_real();
  mg_error e;
  void *in[MG_MAX_IN];
  double want[2] = {r->cx_a, r->cx_b};
  assert_true(r->confirmed && r->cx_output == 0);
  for (uint32_t k = 0; k < p->n_in; k++) {
    in[k] = malloc((size_t)mg_shape_elements(&p->tensors[p->in[k].id].shape) * sizeof(double));
    mg_verify_input_real(p, r->cx_seed, (int)k, (double *)in[k]);
  }
  double *out = (double *)malloc((size_t)mg_shape_elements(&p->tensors[p->out[0].id].shape) * sizeof *out);
  for (int j = 0; j < 2; j++) {
    void *o = out;
    assert_int_equal(mg_eval(j ? g : p, &d, (const void *const *)in, &o, &e), MG_OK);
    double v = out[r->cx_element];
    if (!(fabs(v - want[j]) <= 1e-9 * fabs(want[j]))) fail_msg("the counterexample says %.17g, the evaluator %.17g", want[j], v);
  }
  assert_true(fabs(want[0] - want[1]) > 1e-6 * fabs(want[0]));
  free(out);
  for (uint32_t k = 0; k < p->n_in; k++) free(in[k]);
}

static void verdict_is(const mg_graph *p, const mg_graph *g, mg_verdict want, int k, const char *what) {
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  c.seed = seed;
  if (mg_verify(p, g, &c, &r, &e) != MG_OK) fail_msg("%s %d: %s: %s", what, k, e.where, e.msg);
  if (r.verdict != want) fail_msg("%s %d: %s where %s is right: %s", what, k, mg_verdict_name(r.verdict), mg_verdict_name(want), r.reason);
  if (want == MG_EQUAL && !(r.log2_delta <= -64)) fail_msg("%s %d: delta 2^%.2f", what, k, r.log2_delta);
  if (want == MG_NOT_EQUAL) counterexample_holds(p, g, &r);
}

/* At full size: with SOAK_IMPORTS all, else all LoRA and, where no sanitizer slows it down, one of each other file. */
static void verdicts(void **state) {
  (void)state;
  int all = getenv("SOAK_IMPORTS") && strcmp(getenv("SOAK_IMPORTS"), "0"), done = 0;
  uint64_t s = seed;
  for (int k = 0; k < SAVED; k++) {
    int one = (int)(next(&s) % (uint64_t)saved[k].n);
    if (!all && SANITIZED && k != 1) continue;
    import_file *f = open_saved(k);
    mg_graph *p = program(k);
    for (int j = 0; j < saved[k].n; j++) {
      if (!all && k != 1 && j != one) continue;
      mg_graph *g = imported(f, j);
      verdict_is(p, g, saved[k].verdict, j, saved[k].name);
      mg_graph_free(g);
      done++;
    }
    import_close(f), mg_graph_free(p);
  }
  print_message("%d verified at full size\n", done);
  assert_true(all ? done == 212 : done >= 4);
}

/* QKNorm with grid y and what it cuts an eighth of their size; 262144 is 64 blocks of 4096. */
static mg_graph *smaller(const mg_graph *g) {
  static const int64_t table[][2] = {{2, 2}, {64, 8}, {256, 32}, {4096, 64}, {262144, 512}, {1, 1}};
  mg_classes c;
  mg_graph *h = NULL;
  mg_error e;
  int64_t counts[8 * (MG_MAX_AXES + 1)];
  uint32_t kernels = 0;
  if (mg_classes_of(g, &c, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  for (uint32_t k = 0; k < c.n; k++) {
    int found = 0; /* what is not in the table follows from the counts */
    for (size_t j = 0; j < sizeof table / sizeof *table; j++)
      if (!found && c.extent[k] == table[j][0]) c.extent[k] = table[j][1], found = 1;
  }
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) counts[k] = 1;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_graph *b = g->ops[k].sub;
    if (!b) continue;
    assert_true(kernels < 8);
    for (uint32_t a = 1; a < b->n_axes; a++) counts[kernels * (MG_MAX_AXES + 1) + a] = b->axes[a].extent >= 8 ? b->axes[a].extent / 8 : b->axes[a].extent;
    kernels++;
  }
  if (mg_resize(g, c.extent, counts, &h, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_classes_free(&c);
  return h;
}
static void qknorm_at_small_sizes(void **state) {
  (void)state;
  import_file *f = open_saved(2);
  mg_graph *p = program(2), *small = smaller(p);
  for (int j = 0; j < saved[2].n; j++) {
    mg_graph *g = imported(f, j), *h = smaller(g);
    verdict_is(small, h, MG_NOT_EQUAL, j, "QKNorm, made smaller");
    mg_graph_free(g), mg_graph_free(h);
  }
  mg_graph_free(p), mg_graph_free(small), import_close(f);
}

/* ---- every operator of the format

   A file in short: K7[2,8] is the kernel tensor of guid 7, B7[2,8] a block tensor in the loop, A7[2,8] one after it. */

static void grow(mgi_text *t, const char *s, int row_major_input) {
  for (; *s; s++) {
    int64_t dim[4] = {0}, guid;
    int n = 0;
    char kind = *s;
    if ((kind != 'K' && kind != 'B' && kind != 'A') || s[1] < '0' || s[1] > '9') { mgi_putn(t, s, 1); continue; }
    guid = strtoll(s + 1, (char **)&s, 10);
    do dim[n++] = strtoll(s + 1, (char **)&s, 10);
    while (*s == ',');
    if (row_major_input) { /* the strides of "in" */
      int64_t stride[4] = {1, 1, 1, 1};
      for (int d = n - 1; d-- > 0;) stride[d] = stride[d + 1] * dim[d + 1];
      mgi_puts(t, "\"input_map\": {\"x\": -1, \"y\": -1, \"z\": -1}, \"input_strides\": [");
      for (int d = 0; d < n; d++) mgi_putf(t, "%s%lld", d ? ", " : "", (long long)stride[d]);
      mgi_puts(t, "], \"output_tensors\": [");
    }
    mgi_putf(t, "{\"guid\": %lld, \"num_dims\": %d, \"dim\": [%lld, %lld, %lld, %lld], \"data_type\": 921, \"layout\": \"%cmemRowMajor\"", (long long)guid, n, (long long)dim[0], (long long)dim[1],
             (long long)dim[2], (long long)dim[3], kind == 'K' ? 'D' : 'S');
    if (kind != 'K') mgi_putf(t, ", \"after_accum\": %s", kind == 'A' ? "true" : "false");
    mgi_puts(t, "}");
  }
}
static void op(mgi_text *t, const char *type, const char *in, const char *out) {
  mgi_putf(t, "{\"op_type\": \"%s\", \"input_tensors\": [", type);
  grow(t, in, 0);
  mgi_puts(t, "], \"output_tensors\": [");
  grow(t, out, 0);
  mgi_puts(t, "]},\n");
}
static void kn_in(mgi_text *t, const char *k) {
  mgi_puts(t, "{\"op_type\": \"kn_input_op\", \"input_tensors\": [], ");
  grow(t, k, 1);
  mgi_puts(t, "]},\n");
}
static void kn_out(mgi_text *t, const char *k, const char *strides) {
  mgi_puts(t, "{\"op_type\": \"kn_output_op\", \"input_tensors\": [");
  grow(t, k, 0);
  mgi_putf(t, "], \"output_tensors\": [], \"output_strides\": [%s]}", strides);
}
static void tb_in(mgi_text *t, const char *k, const char *map, int loop, const char *b) {
  mgi_puts(t, "{\"op_type\": \"tb_input_op\", \"input_tensors\": [], \"dtensor\": ");
  grow(t, k, 0);
  mgi_putf(t, ", \"input_map\": {%s}, \"forloop_dim\": %d, \"output_tensors\": [", map, loop);
  grow(t, b, 0);
  mgi_puts(t, "]},\n");
}
static void tb_out(mgi_text *t, const char *b, const char *map, const char *k) {
  mgi_puts(t, "{\"op_type\": \"tb_output_op\", \"output_tensors\": [], \"input_tensors\": [");
  grow(t, b, 0);
  mgi_putf(t, "], \"output_map\": {%s}, \"dtensor\": ", map);
  grow(t, k, 0);
  mgi_puts(t, "}");
}
static void kernel(mgi_text *t, const char *grid, int loop) {
  mgi_putf(t, "{\"op_type\": \"kn_customized_op\", \"bgraph\": {\"grid_dim\": {%s}, \"block_dim\": {\"x\": 128, \"y\": 1, \"z\": 1}, \"forloop_range\": %d, \"reduction_dimx\": 8, \"operators\": [\n", grid, loop);
}
static void kernel_end(mgi_text *t, const char *in, const char *out) {
  mgi_puts(t, "]}, \"input_tensors\": [");
  grow(t, in, 0);
  mgi_puts(t, "], \"output_tensors\": [");
  grow(t, out, 0);
  mgi_puts(t, "]},\n");
}

static mg_status import_text(const char *text, mg_graph **g, mg_error *e) {
  import_file *f;
  int n;
  *g = NULL;
  mg_status s = import_open(text, strlen(text), "here", &f, &n, e);
  if (s == MG_OK) s = import_graph(f, 0, "here", NULL, g, e);
  import_close(f);
  return s;
}
/* The JSON text is EQUAL to the statements, given its inputs. */
static void means(mgi_text *t, const char *statements) {
  mg_graph *g, *p;
  mg_error e;
  mg_verify_report r;
  char text[1024];
  size_t n = 0;
  if (import_text(t->p, &g, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, t->p);
  n += (size_t)snprintf(text + n, sizeof text - n, "program p\n");
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_shape *s = &g->tensors[g->in[k].id].shape;
    n += (size_t)snprintf(text + n, sizeof text - n, "input in%u : f16[", k);
    for (int d = 0; d < s->rank; d++) n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", d ? ", " : "", (long long)s->dim[d]);
    n += (size_t)snprintf(text + n, sizeof text - n, "]\n");
  }
  snprintf(text + n, sizeof text - n, "%s", statements);
  if (mg_parse(text, strlen(text), "program", NULL, &p, &e) != MG_OK) fail_msg("%s:%d: %s\n%s", e.where, e.line, e.msg, text);
  if (mg_verify(p, g, NULL, &r, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
  if (r.verdict != MG_EQUAL && !(r.verdict == MG_EQUAL_SAMPLED && (strstr(statements, "max(") || strstr(statements, "relu(")))) {
    char *m;
    mg_print(g, &m, &e);
    fail_msg("%s: %s\n%s\n%s", mg_verdict_name(r.verdict), r.reason, text, m);
  }
  mg_graph_free(g), mg_graph_free(p);
  free(t->p);
  memset(t, 0, sizeof *t);
}

#define ONE "\"x\": 1, \"y\": 1, \"z\": 1"
#define ALL "\"x\": -1, \"y\": -1, \"z\": -1"

static void accumulators(void **state) {
  (void)state;
  static const struct { const char *type, *block, *kernel, *strides, *means; } row[] = {
      {"tb_accum_nored_op", "A12[2,16]", "K3[4,16]", "16, 1", "O = reshape(sum(reshape(in0, [4, 4, 16]), dim=1), [4, 16])\noutput O\n"},
      {"tb_accum_red_ld_sum_op", "A12[2,1]", "K3[4,1]", "1, 1", "O = sum(in0, dim=1)\noutput O\n"},
      {"tb_accum_red_ld_mean_op", "A12[2,1]", "K3[4,1]", "1, 1", "O = mean(in0, dim=1)\noutput O\n"},
      {"tb_accum_red_ld_rms_op", "A12[2,1]", "K3[4,1]", "1, 1", "O = sqrt(mean(sqr(in0), dim=1))\noutput O\n"},
      {"tb_accum_redtox_ld_sum_op", "A12[2,8]", "K3[4,8]", "8, 1", "O = reshape(sum(reshape(in0, [4, 8, 8]), dim=1), [4, 8])\noutput O\n"},
      {"tb_accum_max_op", "A12[2,16]", "K3[4,16]", "16, 1", "O = reshape(max(reshape(in0, [4, 4, 16]), dim=1), [4, 16])\noutput O\n"}};
  mgi_text t = {0};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    mgi_puts(&t, "[[");
    kn_in(&t, "K1[4,64]");
    kernel(&t, "\"x\": 2, \"y\": 1, \"z\": 1", 4);
    tb_in(&t, "K1[4,64]", "\"x\": 0, \"y\": 1, \"z\": -1", 1, "B11[2,16]"); /* y is one block: what it maps to does not matter */
    op(&t, row[k].type, "B11[2,16]", row[k].block);
    tb_out(&t, row[k].block, "\"x\": 0, \"y\": -1, \"z\": -1", row[k].kernel);
    kernel_end(&t, "K1[4,64]", row[k].kernel);
    kn_out(&t, row[k].kernel, row[k].strides);
    mgi_puts(&t, "]]");
    means(&t, row[k].means);
  }
  /* An input that the loop does not cut comes once an iteration. */
  mgi_puts(&t, "[");
  kn_in(&t, "K1[4,64]");
  kernel(&t, ONE, 4);
  tb_in(&t, "K1[4,64]", ALL, -1, "B11[4,64]");
  op(&t, "tb_accum_nored_op", "B11[4,64]", "A12[4,64]");
  tb_out(&t, "A12[4,64]", ALL, "K3[4,64]");
  kernel_end(&t, "K1[4,64]", "K3[4,64]");
  kn_out(&t, "K3[4,64]", "64, 1");
  mgi_puts(&t, "]"); /* one µGraph without the outer list */
  means(&t, "O = scale(in0, 4)\noutput O\n");
  /* Operators on both sides of the loop's end, in an order in which they could not be built; two outputs of a kernel, the
     outputs of the program in the other order. */
  mgi_puts(&t, "[[");
  kn_in(&t, "K1[4,64]");
  kn_in(&t, "K2[64,6]");
  kernel(&t, "\"x\": 2, \"y\": 3, \"z\": 1", 4);
  tb_in(&t, "K1[4,64]", "\"x\": 0, \"y\": -1, \"z\": -1", 1, "B11[2,16]");
  op(&t, "tb_accum_red_ld_sum_op", "B11[2,16]", "A12[2,1]");
  op(&t, "tb_exp_op", "A12[2,1]", "A13[2,1]");
  tb_in(&t, "K2[64,6]", "\"x\": -1, \"y\": 1, \"z\": -1", 0, "B14[16,2]");
  op(&t, "tb_square_op", "B11[2,16]", "B15[2,16]");
  op(&t, "tb_matmul_op", "B15[2,16], B14[16,2]", "B16[2,2]");
  op(&t, "tb_accum_nored_op", "B16[2,2]", "A17[2,2]");
  op(&t, "tb_mul_op", "A17[2,2], A13[2,1]", "A18[2,2]");
  tb_out(&t, "A18[2,2]", "\"x\": 0, \"y\": 1, \"z\": -1", "K3[4,6]");
  mgi_puts(&t, ",");
  tb_out(&t, "A12[2,1]", "\"x\": 0, \"y\": -1, \"z\": -1", "K4[4,1]");
  kernel_end(&t, "K1[4,64], K2[64,6]", "K3[4,6], K4[4,1]");
  kn_out(&t, "K4[4,1]", "1, 1");
  mgi_puts(&t, ",");
  kn_out(&t, "K3[4,6]", "6, 1");
  mgi_puts(&t, "]]");
  means(&t, "P = sum(in0, dim=1)\nO = mul(matmul(sqr(in0), in1), exp(P))\noutput P\noutput O\n");
}

/* In kernel graphs and, with a grid of two along the first dimension, in block graphs. */
static void operators(void **state) {
  (void)state;
  static const struct { int level; const char *op, *a, *b, *out, *strides, *means; } row[] = {
      /* level: 1 kernel, 2 block; extents of the kernel's tensors */
      {3, "exp", "[4,64]", NULL, "[4,64]", "64, 1", "exp(in0)"},
      {3, "square", "[4,64]", NULL, "[4,64]", "64, 1", "sqr(in0)"},
      {3, "sqrt", "[4,64]", NULL, "[4,64]", "64, 1", "sqrt(in0)"},
      {3, "silu", "[4,64]", NULL, "[4,64]", "64, 1", "silu(in0)"},
      {3, "gelu", "[4,64]", NULL, "[4,64]", "64, 1", "gelu(in0)"},
      {3, "relu", "[4,64]", NULL, "[4,64]", "64, 1", "relu(in0)"},
      {3, "log", "[4,64]", NULL, "[4,64]", "64, 1", "log(in0)"},
      {3, "add", "[4,64]", "[4,1]", "[4,64]", "64, 1", "add(in0, in1)"},
      {3, "sub", "[4,64]", "[4,64]", "[4,64]", "64, 1", "sub(in0, in1)"},
      {3, "mul", "[4,1,64]", "[4,6,1]", "[4,6,64]", "384, 64, 1", "mul(in0, in1)"},
      {3, "div", "[4,64]", "[4,64]", "[4,64]", "64, 1", "div(in0, in1)"},
      {3, "matmul", "[4,3,64]", "[4,64,5]", "[4,3,5]", "15, 5, 1", "matmul(in0, in1)"},
      {3, "reduction_1", "[4,64]", NULL, "[4,1]", "1, 1", "sum(in0, dim=1)"},
      {3, "reduction_2", "[4,6,5]", NULL, "[4,6,1]", "6, 1, 1", "sum(in0, dim=2)"},
      {1, "reduction_0", "[4,64]", NULL, "[1,64]", "64, 1", "sum(in0, dim=0)"},
      {1, "reduction_0", "[4,64]", NULL, "[2,64]", "64, 1", "reshape(sum(reshape(in0, [2, 2, 64]), dim=0), [2, 64])"},
      {3, "reduction_1", "[4,64,3]", NULL, "[4,16,3]", "48, 3, 1", "reshape(sum(reshape(in0, [4, 4, 16, 3]), dim=1), [4, 16, 3])"},
      {2, "reduction_1_to_dimx", "[4,64]", NULL, "[4,8]", "8, 1", "reshape(sum(reshape(in0, [4, 8, 8]), dim=1), [4, 8])"},
      {2, "rms_norm", "[4,64]", NULL, "[4,64]", "64, 1", "rms_norm(in0)"},
      {3, "concat_1", "[4,64]", "[4,3]", "[4,67]", "67, 1", "concat(in0, in1, dim=1)"}};
  mgi_text t = {0};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++)
    for (int level = 1; level <= 2; level++) {
      char type[40], s[4][40], all[100], means_text[200];
      const char *shape[3] = {row[k].a, row[k].b, row[k].out};
      if (!(row[k].level & level)) continue;
      mgi_puts(&t, "[[");
      for (int j = 0; j < 3; j++) {
        if (!shape[j]) continue;
        snprintf(s[j], sizeof s[j], "K%d%s", j + 1, shape[j]);
        if (j < 2) kn_in(&t, s[j]);
      }
      snprintf(all, sizeof all, "%s%s%s", s[0], row[k].b ? ", " : "", row[k].b ? s[1] : "");
      snprintf(type, sizeof type, "%s_%s_op", level == 1 ? "kn" : "tb", row[k].op);
      if (level == 1) op(&t, type, all, s[2]);
      else {
        char b[3][40], operands[100];
        for (int j = 0; j < 3; j++) /* dimension 0, of 4, is cut in two */
          if (shape[j]) snprintf(b[j], sizeof b[j], "B%d[2%s", j + 11, shape[j] + 2);
        kernel(&t, "\"x\": 2, \"y\": 1, \"z\": 1", 1);
        for (int j = 0; j < 2; j++)
          if (shape[j]) tb_in(&t, s[j], "\"x\": 0, \"y\": -1, \"z\": -1", -1, b[j]);
        snprintf(operands, sizeof operands, "%s%s%s", b[0], row[k].b ? ", " : "", row[k].b ? b[1] : "");
        op(&t, type, operands, b[2]);
        tb_out(&t, b[2], "\"x\": 0, \"y\": -1, \"z\": -1", s[2]);
        kernel_end(&t, all, s[2]);
      }
      kn_out(&t, s[2], row[k].strides);
      mgi_puts(&t, "]]");
      snprintf(means_text, sizeof means_text, "O = %s\noutput O\n", row[k].means);
      means(&t, means_text);
    }
}

/* ---- what is not read */

/* A small right file: out = exp(sum over both loops ..); the rows below change one thing in it. */
static char *right(void) {
  mgi_text t = {0};
  mgi_puts(&t, "[[");
  kn_in(&t, "K1[4,64]");
  kernel(&t, "\"x\": 2, \"y\": 1, \"z\": 1", 4);
  tb_in(&t, "K1[4,64]", "\"x\": 0, \"y\": -1, \"z\": -1", 1, "B11[2,16]");
  op(&t, "tb_accum_red_ld_sum_op", "B11[2,16]", "A12[2,1]");
  tb_out(&t, "A12[2,1]", "\"x\": 0, \"y\": -1, \"z\": -1", "K3[4,1]");
  kernel_end(&t, "K1[4,64]", "K3[4,1]");
  op(&t, "kn_exp_op", "K3[4,1]", "K4[4,1]");
  kn_out(&t, "K4[4,1]", "1, 1");
  mgi_puts(&t, "]]");
  return t.p;
}

static void refusals(void **state) {
  (void)state;
  static const struct { const char *from, *to; mg_status status; const char *says; } row[] = {
      {"kn_exp_op", "kn_clamp_op", MG_UNSUPPORTED, "constants"},
      {"kn_exp_op", "kn_mul_scalar_op", MG_UNSUPPORTED, "constants"},
      {"kn_exp_op", "kn_rms_norm_op", MG_UNSUPPORTED, "which dimensions"},
      {"kn_exp_op", "kn_allreduce_op", MG_UNSUPPORTED, "no operator that is known"},
      {"kn_exp_op", "kn_\\u0000xp_op", MG_BAD_INPUT, ""},
      {"kn_exp_op", "tb_exp_op", MG_BAD_INPUT, "kernel graph"},
      {"kn_exp_op", "kn_op", MG_BAD_INPUT, "kernel graph"},
      {"kn_exp_op", "kn_matmul_op", MG_BAD_INPUT, "two operands"},
      {"kn_exp_op", "kn_reduction_7_op", MG_BAD_INPUT, "dimension"},
      {"kn_exp_op", "kn_reduction_1_op", MG_OK, NULL},
      {"\"kn_exp_op\"", "7", MG_BAD_INPUT, "op_type"},
      {"tb_accum_red_ld_sum_op", "tb_accum_nored_rescale_op", MG_UNSUPPORTED, "accumulator"},
      {"tb_accum_red_ld_sum_op", "tb_accum_nored_op", MG_BAD_INPUT, "shape is [2, 1], it comes to [2, 16]"},
      {"tb_accum_red_ld_sum_op", "tb_customized_op", MG_UNSUPPORTED, "no operator that is known"},
      {"tb_accum_red_ld_sum_op", "tb_reduction_1_op", MG_BAD_INPUT, "after_accum"},
      {"\"forloop_dim\": 1", "\"forloop_dim\": 0", MG_BAD_INPUT, "do not divide"},
      {"\"forloop_dim\": 1", "\"forloop_dim\": 2", MG_BAD_INPUT, "forloop_dim"},
      {"\"forloop_dim\": 1", "\"forloop_dim\": -1", MG_BAD_INPUT, "it comes to [2, 64]"},
      {"\"forloop_dim\": 1, ", "", MG_BAD_INPUT, "expected a field: forloop_dim"},
      {"\"forloop_range\": 4", "\"forloop_range\": 0", MG_BAD_INPUT, "forloop_range"},
      {"\"forloop_range\": 4", "\"forloop_range\": 3", MG_BAD_INPUT, "do not divide"},
      {"\"forloop_range\": 4", "\"forloop_range\": 4.5", MG_BAD_INPUT, "whole number"},
      {"\"forloop_range\": 4", "\"forloop_range\": 1e999", MG_BAD_INPUT, "whole number"},
      {"\"forloop_range\": 4", "\"forloop_range\": \"4\"", MG_BAD_INPUT, "whole number"},
      {"\"grid_dim\": {\"x\": 2", "\"grid_dim\": {\"x\": 4", MG_BAD_INPUT, "it comes to [1, 16]"},
      {"\"grid_dim\": {\"x\": 2, \"y\": 1", "\"grid_dim\": {\"x\": 2, \"y\": 2", MG_OK, NULL},
      {"\"grid_dim\": {\"x\": 2", "\"grid_dim\": {\"x\": 4294967296", MG_BAD_INPUT, "from 1 to"},
      {"\"grid_dim\": {\"x\": 2", "\"grid_dim\": {\"X\": 2", MG_BAD_INPUT, "expected a field: x"},
      {"\"block_dim\": {\"x\": 128", "\"block_dim\": {\"x\": 1024", MG_OK, NULL},
      {"\"block_dim\": {\"x\": 128, \"y\": 1", "\"block_dim\": {\"x\": 128, \"y\": 128", MG_BAD_INPUT, "1024 threads"},
      {"\"input_map\": {\"x\": 0, \"y\": -1", "\"input_map\": {\"x\": 3, \"y\": -1", MG_BAD_INPUT, "input_map"},
      {"\"output_map\": {\"x\": 0", "\"output_map\": {\"x\": -1", MG_BAD_INPUT, "hold different values"},
      {"\"input_strides\": [64, 1]", "\"input_strides\": [1, 4]", MG_OK, NULL},
      {"\"input_strides\": [64, 1]", "\"input_strides\": [128, 1]", MG_UNSUPPORTED, "dense"},
      {"\"input_strides\": [64, 1]", "\"input_strides\": [64]", MG_BAD_INPUT, "fewer strides"},
      {"\"input_strides\": [64, 1]", "\"input_strides\": [64, 1, 1]", MG_BAD_INPUT, "more strides"},
      {"\"output_strides\": [1, 1]", "\"output_strides\": [2, 1]", MG_UNSUPPORTED, "dense"},
      {"\"output_strides\": [1, 1]", "\"output_strides\": 1", MG_BAD_INPUT, "list"},
      {"{\"x\": -1, \"y\": -1, \"z\": -1}, \"input_strides\"", "{\"x\": 0, \"y\": -1, \"z\": -1}, \"input_strides\"", MG_UNSUPPORTED, "several GPUs"},
      {"\"data_type\": 921", "\"data_type\": 920", MG_UNSUPPORTED, "data_type 920"},
      {"\"data_type\": 921", "\"data_type\": 941", MG_OK, NULL},
      {"\"guid\": 12", "\"guid\": 13", MG_BAD_INPUT, "guid 12"},
      {"\"guid\": 12", "\"guid\": 11", MG_BAD_INPUT, "another tensor"},
      {"\"guid\": 12", "\"guid\": -12", MG_BAD_INPUT, "guid"},
      {"\"guid\": 4", "\"guid\": 3", MG_BAD_INPUT, "another tensor"},
      {"\"num_dims\": 2", "\"num_dims\": 5", MG_BAD_INPUT, "num_dims"},
      {"\"num_dims\": 2", "\"num_dims\": 3", MG_BAD_INPUT, "dim"},
      {"\"dim\": [4, 64, 0, 0]", "\"dim\": [4]", MG_BAD_INPUT, "fewer extents"},
      {"\"dim\": [4, 64, 0, 0]", "\"dim\": [2147483647, 2147483647, 0, 0]", MG_BAD_INPUT, "2^40"},
      {"\"dim\": [4, 64, 0, 0]", "\"dim\": [8, 64, 0, 0]", MG_BAD_INPUT, "shape is"},
      {"\"operators\": [", "\"operators\": [7, ", MG_BAD_INPUT, "expected an operator"},
      {"\"bgraph\": {", "\"bgraph\": 1, \"other\": {", MG_BAD_INPUT, "expected an object: bgraph"},
      {"\"dtensor\": {\"guid\": 3, \"num_dims\": 2, \"dim\": [4, 1", "\"dtensor\": {\"guid\": 3, \"num_dims\": 2, \"dim\": [4, 2", MG_BAD_INPUT, "shape is [4, 2], it comes to [4, 1]"},
      {"\"dtensor\": {\"guid\": 1", "\"dtensor\": {\"guid\": 3", MG_BAD_INPUT, "guid 3"},
      {"\"after_accum\": true", "\"after_accum\": false", MG_BAD_INPUT, "after_accum"},
      {"[[", "[[[[[", MG_BAD_INPUT, ""},
      {"[[", "", MG_BAD_INPUT, "expected"},
      {"[[", "[[{},", MG_BAD_INPUT, "expected a field: op_type"},
      {"[[", "[[1,", MG_BAD_INPUT, "expected an operator"},
      {"[[", "[7, [", MG_BAD_INPUT, "expected a list of operators"},
      {"]]", "]] x", MG_BAD_INPUT, "end of the file"},
      {"\"kn_output_op\"", "\"kn_log_op\"", MG_BAD_INPUT, "one output"}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    char *text = right(), *at = strstr(text, row[k].from);
    mg_graph *g;
    mg_error e;
    mgi_text t = {0};
    assert_non_null(at);
    mgi_putn(&t, text, (size_t)(at - text)), mgi_puts(&t, row[k].to), mgi_puts(&t, at + strlen(row[k].from));
    mg_status s = import_text(t.p, &g, &e);
    if (s != row[k].status) fail_msg("%s -> %s: %s, expected %s (%s: %s)", row[k].from, row[k].to, mg_status_text(s), mg_status_text(row[k].status), s ? e.where : "", s ? e.msg : "");
    if (s != MG_OK) {
      assert_null(g);
      if (!strstr(e.msg, row[k].says) || strchr(e.msg, '\n')) fail_msg("%s -> %s: %s: %s, expected to read '%s'", row[k].from, row[k].to, e.where, e.msg, row[k].says);
    }
    mg_graph_free(g);
    free(text), free(t.p);
  }
}

/* A µGraph without operators is none, and no failure of the builder. */
static void empty(void **state) {
  (void)state;
  mg_graph *g;
  mg_error e;
  assert_int_equal(import_text("[[]]", &g, &e), MG_BAD_INPUT);
  assert_null(g);
  assert_non_null(strstr(e.msg, "no input"));
}

/* Where memory lies: strides become an order, or nothing where they say what is so anyway. */
static void strides(void **state) {
  (void)state;
  static const struct { const char *from, *to; int order[2]; } row[] = {{"[64, 1]", "[64, 1]", {0, 1}}, {"[64, 1]", "[1, 4]", {1, 0}}};
  for (size_t k = 0; k < 2; k++) {
    char *text = right(), *at = strstr(text, row[k].from);
    mg_graph *g;
    mg_error e;
    mgi_text t = {0};
    mgi_putn(&t, text, (size_t)(at - text)), mgi_puts(&t, row[k].to), mgi_puts(&t, at + strlen(row[k].from));
    if (import_text(t.p, &g, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    for (int d = 0; d < 2; d++) assert_int_equal(g->tensors[g->in[0].id].order[d], row[k].order[d]);
    mg_graph_free(g);
    free(text), free(t.p);
  }
  import_dims t = {0, 4, {2, 1, 3, 1}, MG_F16, 0, -1};
  int32_t order[4];
  assert_true(import_order(&t, (const int64_t[]){3, 99, 1, 99}, order)); /* an extent of 1 has any stride */
  for (int d = 0; d < 4; d++) assert_int_equal(order[d], d);
  assert_true(import_order(&t, (const int64_t[]){1, 0, 2, 0}, order));
  assert_true(order[3] == 0 && order[2] == 2);
  assert_false(import_order(&t, (const int64_t[]){1, 0, 1, 0}, order));
  assert_false(import_order(&t, (const int64_t[]){0, 0, 1, 0}, order));
}

/* Cut off anywhere, the file is refused; so is one too deep, and one that holds too much. */
static void truncated_deep_and_large(void **state) {
  (void)state;
  char *text = right();
  size_t n = strlen(text);
  import_file *f;
  int k;
  mg_error e;
  for (size_t cut = 0; cut < n; cut++) {
    char *part = (char *)malloc(cut ? cut : 1); /* of its own size: a read past it is seen */
    memcpy(part, text, cut);
    assert_int_equal(import_open(part, cut, "cut", &f, &k, &e), MG_BAD_INPUT);
    assert_null(f);
    free(part);
  }
  free(text);
  size_t deep = 3000000;
  text = (char *)malloc(2 * deep);
  memset(text, '[', deep);
  assert_int_equal(import_open(text, deep, "deep", &f, &k, &e), MG_BAD_INPUT);
  for (size_t i = 0; i < deep; i++) text[2 * i] = '1', text[2 * i + 1] = ',';
  text[0] = '[';
  assert_int_equal(import_open(text, 2 * deep, "large", &f, &k, &e), MG_BAD_INPUT); /* no µGraph in it */
  free(text);
  deep = (size_t)IMPORT_VALUES + 1;
  text = (char *)malloc(deep);
  memset(text, ',', deep);
  assert_int_equal(import_open(text, deep, "large", &f, &k, &e), MG_LIMIT);
  free(text);
  mgi_text t = {0}; /* more operators than are read */
  mgi_puts(&t, "[[");
  for (int i = 0; i <= IMPORT_OPS; i++) {
    char s[40];
    snprintf(s, sizeof s, "K%d[2,2]", i + 1);
    kn_in(&t, s);
  }
  mgi_puts(&t, "1]]");
  mg_graph *g;
  assert_int_equal(import_text(t.p, &g, &e), MG_LIMIT);
  free(t.p);
}

static void no_memory(void **state) {
  (void)state;
  char *text = right();
  import_file *f;
  int n, good = 0;
  mg_error e;
  assert_int_equal(import_open(text, strlen(text), "here", &f, &n, &e), MG_OK);
  for (size_t limit = 1; limit < 400 && !good; limit++) {
    mg_config c = mg_config_default();
    mg_graph *g;
    c.allocation_limit = limit, c.separate = 1;
    mg_status s = import_graph(f, 0, "here", &c, &g, &e);
    assert_true(s == MG_OK || (s == MG_NO_MEMORY && !g && *e.msg));
    good = s == MG_OK;
    mg_graph_free(g);
  }
  assert_true(good);
  import_close(f), free(text);
}

/* The search finds what the model says is at least as fast as every right µGraph that was saved. */
static void search_is_as_good(void **state) {
  (void)state;
  int gpus = getenv("SOAK_IMPORTS") && strcmp(getenv("SOAK_IMPORTS"), "0") ? mg_machine_count() : 2, best_saved = 0;
  for (int k = 0; k < SAVED; k++) {
    if (saved[k].verdict != MG_EQUAL) continue;
    mg_graph *p = program(k);
    import_file *f = open_saved(k);
    for (int gpu = 0; gpu < gpus; gpu++) {
      mg_search_config c = mg_search_config_default();
      mg_search_result r;
      mg_error e;
      c.machine = mg_machine_find(gpus > 2 ? mg_machine_at(gpu)->name : gpu ? "A100" : "H200"), c.top_k = 1;
      assert_non_null(c.machine);
      if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
      assert_true(r.stats.complete);
      double found = mg_predict_us(r.graph[0], c.machine), least = 1e300;
      for (int i = 0; i < saved[k].n; i++) {
        mg_graph *g = imported(f, i);
        double us = mg_predict_us(g, c.machine);
        assert_true(us > 0);
        if (us < least) least = us;
        if (found > us * (1 + 1e-9)) fail_msg("%s, µGraph %d, on %s: %.4f us, the search's best takes %.4f", saved[k].name, i, c.machine->name, us, found);
        mg_graph_free(g);
      }
      print_message("%s on %s: %.2f us, the best saved one %.2f\n", saved[k].name, c.machine->name, found, least);
      best_saved += least < 1e9; /* one that fits at all */
      mg_search_result_free(&r);
    }
    import_close(f);
    mg_graph_free(p);
  }
  assert_true(best_saved >= 2);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  print_message("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_read), cmocka_unit_test(as_read_by_hand), cmocka_unit_test(accumulators), cmocka_unit_test(operators),
                                     cmocka_unit_test(refusals), cmocka_unit_test(empty), cmocka_unit_test(strides), cmocka_unit_test(truncated_deep_and_large), cmocka_unit_test(no_memory),
                                     cmocka_unit_test(qknorm_at_small_sizes), cmocka_unit_test(verdicts), cmocka_unit_test(search_is_as_good)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void names_the_package(void **state) {
  (void)state;
  import_file *f;
  int n;
  mg_error e;
  assert_int_equal(import_open("[]", 2, "here", &f, &n, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "libcjson-dev"));
  import_close(f);
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(names_the_package)};
  print_message("skipped: the import of µGraphs: no libcjson-dev\n");
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
