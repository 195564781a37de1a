/* Tests of >>numerics of mirage_verify.h, and of link 2's runs of its families.  Kernels are judged without an emulator where a graph can
   stand for them: what its kernel-level operators hand on is stored in the tensor's type, all between is f32.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_numerics.c -o build/test_numerics -lcmocka -lm -lpthread -ldl
   build/test_numerics, from the repository's root. */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_cuda.cuh"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"
#include "splitmix.h"

static uint64_t seed = 1;

/* ---- rounding */

static float from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

static void rounding_is_that_of_the_formats(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) { /* what a type holds stays; halfway between two it goes to the even one */
    const float a = (float)mg_from_bits(MG_F16, h), b = (float)mg_from_bits(MG_F16, h + 1);
    if (a != a) continue;
    assert_true(mg_round_to(MG_F16, a) == a);
    assert_int_equal(mg_to_bits(MG_F16, a), h);
    assert_true(signbit(mg_round_to(MG_F16, a)) == signbit(a));
    if ((h & 0x7FFF) >= 0x7BFF) continue;
    const float half = (a + b) / 2;
    assert_true(mg_round_to(MG_F16, half) == (h & 1 ? b : a));
    assert_true(mg_round_to(MG_F16, nextafterf(half, b)) == b);
    assert_true(mg_round_to(MG_F16, nextafterf(half, a)) == a);
  }
  assert_true(isinf(mg_round_to(MG_F16, 65520.0f)));
  assert_true(mg_round_to(MG_F16, nextafterf(65520.0f, 0)) == 65504.0f);
  assert_true(isnan(mg_round_to(MG_F16, NAN)));
  for (uint32_t h = 0; h < 1 << 16; h++) /* bits and back, but for what is no number */
    for (int k = 0; k < 2; k++) {
      const mg_dtype type = k ? MG_BF16 : MG_F16;
      const double x = mg_from_bits(type, h);
      if (!isnan(x)) assert_int_equal(mg_to_bits(type, (float)x), h);
    }
  assert_int_equal(mg_to_bits(MG_F16, NAN), 0x7FFF), assert_int_equal(mg_to_bits(MG_F32, -2.0f), 0xC0000000u);
  assert_int_equal(mg_to_bits(MG_F16, 1e6f), 0x7C00), assert_int_equal(mg_to_bits(MG_BF16, 1.00390625f), 0x3F80);
  for (int k = 0; k < 2000000 / SPARSER; k++) {
    const float x = from_bits((uint32_t)next(&seed));
    for (int t = 0; t < MG_I32; t++) { /* floats */
      const float got = mg_round_to((mg_dtype)t, x);
      uint32_t u;
      memcpy(&u, &x, sizeof u);
      if (x != x) { assert_true(isnan(got)); continue; }
      assert_true((float)mg_from_bits((mg_dtype)t, mg_to_bits((mg_dtype)t, x)) == got);
      if (t == MG_BF16) assert_int_equal(mg_to_bits(MG_BF16, x), (u + 0x7FFF + (u >> 16 & 1)) >> 16);
#ifdef __FLT16_MAX__
      if (t == MG_F16) assert_true(got == (float)(_Float16)x);
#endif
    }
  }
  assert_true(mg_unit_at(MG_F16, 1) == ldexp(1, -10));
  assert_true(mg_unit_at(MG_F16, 1.999) == ldexp(1, -10));
  assert_true(mg_unit_at(MG_F16, 2) == ldexp(1, -9));
  assert_true(mg_unit_at(MG_F16, 1e-7) == ldexp(1, -24));
  assert_true(mg_unit_at(MG_F16, 0) == ldexp(1, -24));
  assert_true(mg_unit_at(MG_BF16, 1) == ldexp(1, -7));
  assert_true(mg_unit_at(MG_F32, 1) == ldexp(1, -23));
}

/* ---- what the text's operators yield */

static int inner_tensors(const mg_graph *g) {
  int n = 0;
  for (uint32_t t = 1; t < g->n_tensors; t++) n += g->tensors[t].inner;
  return n;
}

static void sugar_marks_what_is_inner(void **state) {
  (void)state;
  static const struct { const char *text; int inner; } at[] = {
    {"program a\ninput X : f16[4, 8]\nO = softmax(X, dim=1)\noutput O\n", 2},                       /* exp, sum */
    {"program a\ninput X : f16[4, 8]\nO = mean(X, dim=1)\noutput O\n", 1},                          /* sum */
    {"program a\ninput X : f16[4, 8]\nO = rms_norm(X, eps=1/100)\noutput O\n", 5},                  /* sqr, sum, scale, add_scalar, sqrt */
    {"program a\ninput X : f16[4, 8]\ninput G : f16[8]\nO = rms_norm(X, G)\noutput O\n", 5},        /* the same with div, without add_scalar */
    {"program a\ninput X : f16[4, 8]\nO = softmax(scale(softmax(X, dim=1), 1/8), dim=0)\noutput O\n", 4}, /* a nested call is an operator */
    {"program a\ninput X : f16[4, 8]\nE = exp(X)\nO = div(E, sum(E, dim=1))\noutput O\n", 0},
    {"program a\ninput _X : f16[4, 8]\n_E = exp(_X)\n_O = div(_E, sum(_E, dim=1))\noutput _O\n", 1}, /* neither an input nor an output is */
  };
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    mg_graph *g = parse(at[k].text), *h = NULL, *again;
    mg_error e;
    char *text = NULL, *twice = NULL;
    mg_classes c;
    assert_int_equal(inner_tensors(g), at[k].inner);
    for (uint32_t o = 0; o < g->n_out; o++) assert_int_equal(mg_tensor_of(g, g->out[o])->inner, 0);
    assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
    assert_int_equal(mg_resize(g, c.extent, NULL, &h, &e), MG_OK);
    assert_int_equal(inner_tensors(h), at[k].inner); /* a copy of other sizes keeps them */
    assert_int_equal(mg_print(g, &text, &e), MG_OK);
    again = parse(text);
    assert_int_equal(inner_tensors(again), at[k].inner); /* by their names */
    assert_int_equal(mg_print(again, &twice, &e), MG_OK);
    assert_string_equal(text, twice);
    mg_string_free(text), mg_string_free(twice);
    mg_classes_free(&c);
    mg_graph_free(g), mg_graph_free(h), mg_graph_free(again);
  }
}

static void yardstick(const char *text, const float *const *in, float *out, int wide) {
  mg_graph *g = parse(text);
  mg_error e;
  float *to[1];
  to[0] = out;
  if (mg_yardstick(g, NULL, in, to, wide, 0, &e) != MG_OK) fail_msg("%s", e.msg);
  mg_graph_free(g);
}
#define HALF(x) mg_round_to(MG_F16, (float)(x))

static void a_norm_is_one_operator(void **state) {
  (void)state;
  static const float x[4] = {60000, 0, -30000, 0}, g[4] = {6, 1, 0.001f, 1};
  const float *in[2] = {x, g};
  float out[4];
  const double root = sqrt((60000.0 * 60000 + 30000.0 * 30000) / 4);
  yardstick("program a\ninput X : f16[1, 4]\ninput G : f16[4]\nO = rms_norm(X, G)\noutput O\n", in, out, 0);
  assert_true(out[0] == HALF((float)(60000 / root) * 6.0f)); /* its square is no half, and need not be */
  assert_true(out[1] == 0);
  assert_true(fabs(out[2] - -30000 / root * 0.001) < 1e-6);
  yardstick("program a\ninput X : f16[1, 4]\ninput G : f16[4]\nS = sum(sqr(X), dim=1)\nO = mul(div(X, sqrt(scale(S, 1/4))), G)\noutput O\n", in, out, 0);
  assert_true(out[0] == 0); /* written out it is: 60000 / inf */
}

static void a_softmax_subtracts_its_maximum(void **state) {
  (void)state;
  static const float x[3] = {1000, 999, -INFINITY};
  const float *in[1] = {x};
  float out[3];
  yardstick("program a\ninput X : f16[1, 3]\nO = softmax(X, dim=1)\noutput O\n", in, out, 0);
  assert_true(out[0] == HALF(1 / (1 + exp(-1))) && out[1] == HALF(exp(-1) / (1 + exp(-1))) && out[2] == 0);
  yardstick("program a\ninput X : f16[1, 3]\nE = exp(X)\nO = div(E, sum(E, dim=1))\noutput O\n", in, out, 0);
  assert_true(isnan(out[0]));
}

static void an_attention_rounds_what_it_names(void **state) {
  (void)state;
  static const float q[2] = {1.5f, -0.25f}, k[4] = {1, 0.3330078125f, -2, 0.5f}, v[2] = {0.1000366f, 3};
  const float *in[3] = {q, k, v};
  float out[1], s[2], p[2];
  s[0] = HALF(HALF(1.5f * 1 + -0.25f * -2) * 0.125f), s[1] = HALF(HALF(1.5f * 0.3330078125f + -0.25f * 0.5f) * 0.125f);
  const float e[2] = {expf(0), expf(s[1] - s[0])};
  p[0] = HALF(e[0] / (e[0] + e[1])), p[1] = HALF(e[1] / (e[0] + e[1]));
  static const char text[] = "program a\ninput Q : f16[1, 1, 2]\ninput K : f16[1, 2, 2]\ninput V : f16[1, 2, 1]\n"
                             "P = softmax(scale(matmul(Q, K), 1/8), dim=2)\nO = matmul(P, V)\noutput O\n";
  yardstick(text, in, out, 0);
  assert_true(out[0] == HALF(p[0] * v[0] + p[1] * v[1]));
  yardstick(text, in, out, 1);
  assert_true(out[0] != HALF(out[0])); /* all in f32 it is no half */
}

/* ---- kernels, as graphs */

static mg_status run_graph(void *user, const float *const *in, float *const *out, int wide, mg_error *e) { return mg_yardstick((const mg_graph *)user, NULL, in, out, wide, 0, e); }

/* The verdict on `kernel`, which computes what `program` does; only: as in mg_numerics_config. */
static mg_status judge(const char *program, const char *kernel, int only, mg_numerics_report *r) {
  mg_graph *p = parse(program), *k = parse(kernel);
  mg_numerics_config c;
  mg_error e;
  char line[700];
  memset(&c, 0, sizeof c);
  c.only = only, c.seed = 1;
  const mg_status s = mg_numerics(p, run_graph, k, &c, r, &e);
  mg_numerics_line(r, line, sizeof line);
  printf("  %s\n", line);
  if (s == MG_OK) assert_non_null(strstr(line, "as safe as written, by runs ("));
  if (s == MG_NOT_FOUND) assert_non_null(strstr(line, "NOT as safe as written: family "));
  mg_graph_free(p), mg_graph_free(k);
  return s;
}

/* bad[] of the family of that name. */
static int verdict_of(const char *program, const mg_numerics_report *r, const char *name) {
  static mg_family f[MG_FAMILIES_MOST];
  mg_graph *p = parse(program);
  int found = -1;
  for (int k = 0, n = mg_families_of(p, 1, f, MG_FAMILIES_MOST); k < n; k++)
    if (!strcmp(f[k].name, name)) found = r->bind[k] ? r->bad[k] : -2;
  mg_graph_free(p);
  return found;
}

#define NORM "program norm\ninput X : f16[32, 128]\ninput G : f16[128]\ninput W : f16[128, 32]\n"
static const char norm[] = NORM "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n";
#define NORM_END "m = add_scalar(scale(accum(s) {i->+}, 1/128), 1/1000000)\no = div(accum(b) {i->+}, sqrt(m))\nstore o {x->0}\n}\noutput O\n"
#define NORM_HEAD NORM "O = kernel grid=(x=2) threads=128 {\nfor i=2 {\nx = load X {x->0, i->1}\ng = load G {x->*, i->0}\nw = load W {x->*, i->0}\n"

static void norms(void **state) {
  static mg_numerics_report r;
  (void)state;
  assert_int_equal(judge(norm, norm, 0, &r), MG_OK);
  assert_int_equal(r.unsafe, 0);
  assert_true(r.binding >= MG_FAMILIES_LEAST && r.ran == r.families);
  /* all of it in f32 is as safe as anything */
  assert_int_equal(judge(norm, NORM_HEAD "b = matmul(mul(x, g), w)\ns = sum(sqr(x), dim=1)\n}\n" NORM_END, 0, &r), MG_OK);
  /* the gain is multiplied in f16 before anything is normalised: a large X gives inf, a small one loses its bits; f32 hides nothing else */
  static const char gain_first[] = NORM "Z = mul(X, G)\nO = kernel grid=(x=2) threads=128 {\nfor i=2 {\nx = load X {x->0, i->1}\nz = load Z {x->0, i->1}\n"
                                        "w = load W {x->*, i->0}\nb = matmul(z, w)\ns = sum(sqr(x), dim=1)\n}\n" NORM_END;
  assert_int_equal(judge(norm, gain_first, 1, &r), MG_NOT_FOUND);
  assert_true(r.has_fault && r.unsafe > 1);
  assert_int_equal(verdict_of(norm, &r, "X scaled by 2^14"), 1); /* 16384 times a gain of 4 is inf */
  assert_int_equal(verdict_of(norm, &r, "X: outliers in rows"), 1);
  assert_int_equal(verdict_of(norm, &r, "X scaled by 2^-20"), 1);
  assert_int_equal(verdict_of(norm, &r, "plain"), 0);
  assert_int_equal(judge(norm, gain_first, 2, &r), MG_OK);
  /* a sum of squares handed on in f16 is inf where X is 25 */
  assert_int_equal(judge(norm, NORM "S = sum(sqr(X), dim=1)\nO = kernel grid=(x=2) threads=128 {\nx = load X {x->0}\ng = load G {x->*}\nw = load W {x->*}\ns = load S {x->0}\n"
                                    "m = add_scalar(scale(s, 1/128), 1/1000000)\no = div(matmul(mul(x, g), w), sqrt(m))\nstore o {x->0}\n}\noutput O\n", 1, &r), MG_NOT_FOUND);
}

static void variances(void **state) {
  static mg_numerics_report r;
  (void)state;
#define CENTRE "program centre\ninput X : f16[32, 64]\n"
  static const char centre[] = CENTRE "D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/100000)))\noutput O\n";
#define CENTRE_KERNEL(variance) CENTRE "O = kernel grid=(x=2) threads=128 {\nx = load X {x->0}\nm = scale(sum(x, dim=1), 1/64)\nd = sub(x, m)\n" \
                                       "v = " variance "\no = div(d, sqrt(add_scalar(v, 1/100000)))\nstore o {x->0}\n}\noutput O\n"
  assert_int_equal(judge(centre, CENTRE_KERNEL("scale(sum(sqr(d), dim=1), 1/64)"), 0, &r), MG_OK);
  /* E[x^2] - m^2, all in f32: 16 bits hide it, or do not; (ii) refuses it */
  assert_int_equal(judge(centre, CENTRE_KERNEL("sub(scale(sum(sqr(x), dim=1), 1/64), sqr(m))"), 2, &r), MG_NOT_FOUND);
  assert_int_equal(r.fault.wide, 1);
}

static void linear_attention(void **state) {
  static mg_numerics_report r;
  (void)state;
#define LINEAR "program linear\ninput Q : f16[64, 32]\ninput K : f16[32, 256]\ninput V : f16[256, 32]\n"
  static const char linear[] = LINEAR "O = matmul(matmul(Q, K), V)\noutput O\n";
  assert_int_equal(judge(linear, linear, 0, &r), MG_OK);
  assert_int_equal(judge(linear, LINEAR "O = matmul(Q, matmul(K, V))\noutput O\n", 1, &r), MG_NOT_FOUND); /* K V in f16 */
}

static void attentions(void **state) {
  static mg_numerics_report r;
  static mg_family f[MG_FAMILIES_MOST];
  (void)state;
#define MASKED "program masked\ninput Q : f16[32, 64]\ninput K : f16[64, 128]\ninput V : f16[128, 32]\ninput M : f16[32, 128]\n"
  static const char masked[] = MASKED "P = softmax(add(scale(matmul(Q, K), 1/8), M), dim=1)\nO = matmul(P, V)\noutput O\n";
  assert_int_equal(judge(masked, masked, 0, &r), MG_OK);
  mg_graph *g = parse(masked);
  int masks = 0, logits = 0;
  assert_int_equal(mg_families_of(g, 1, f, MG_FAMILIES_MOST), r.families);
  for (int k = 0; k < r.families; k++) {
    const int mask = f[k].kind >= MG_FAMILY_FIRST;
    masks += mask, logits += f[k].kind == MG_FAMILY_LOGITS;
    if (mask) assert_int_equal(f[k].input, 3);
    if (mask || f[k].kind == MG_FAMILY_LOGITS) assert_int_equal(r.bind[k], 1);
  }
  assert_int_equal(masks, 6);
  assert_true(logits >= 1);
  mg_graph_free(g);
  /* without a maximum, f32 or not */
#define UNSHIFTED MASKED "O = kernel grid=(x=2) threads=128 {\nq = load Q {x->0}\nk = load K {x->*}\nm = load M {x->0}\nv = load V {x->*}\n" \
                         "e = exp(add(scale(matmul(q, k), 1/8), m))\no = div(matmul(e, v), sum(e, dim=1))\nstore o {x->0}\n}\noutput O\n"
  assert_int_equal(judge(masked, UNSHIFTED, 2, &r), MG_NOT_FOUND);
  /* unnormalised parts handed on in f16 */
  assert_int_equal(judge(masked, MASKED "E = exp(add(scale(matmul(Q, K), 1/8), M))\nT = matmul(E, V)\nO = div(T, sum(E, dim=1))\noutput O\n", 1, &r), MG_NOT_FOUND);
}

/* A family of which the yardstick itself overflows binds nobody, and a program of which too few bind has no verdict. */
static void what_does_not_bind(void **state) {
  static mg_numerics_report r;
  mg_error e;
  char line[700];
  (void)state;
  mg_graph *g = parse("program never\ninput X : f16[64, 8]\nO = exp(exp(exp(add_scalar(sqr(X), 20))))\noutput O\n");
  assert_int_equal(mg_numerics(g, run_graph, g, NULL, &r, &e), MG_UNSUPPORTED);
  assert_int_equal(r.binding, 0);
  assert_true(r.ran == r.families && r.families > 0);
  mg_numerics_line(&r, line, sizeof line);
  assert_non_null(strstr(line, "undecided: 0 families bind"));
  mg_graph_free(g);
}

/* Values are those of the types, parts are parts, and draws differ. */
static void families_are_functions(void **state) {
  static mg_family f[MG_FAMILIES_MOST];
  (void)state;
  mg_graph *g = parse("program a\ninput X : f16[8, 16]\ninput W : f16[16, 8]\nO = matmul(X, W)\noutput O\n");
  const int n = mg_families_of(g, 3, f, MG_FAMILIES_MOST);
  float all[128], again[128], part[12], other[128];
  mg_box b;
  memset(&b, 0, sizeof b);
  b.lo[0] = 2, b.hi[0] = 5, b.lo[1] = 7, b.hi[1] = 11;
  assert_true(n > 20);
  for (int k = 0; k < n; k++) {
    mg_family_input(g, &f[k], 3, 0, 0, NULL, all);
    mg_family_input(g, &f[k], 3, 0, 0, NULL, again);
    mg_family_input(g, &f[k], 3, 1, 0, NULL, other);
    mg_family_input(g, &f[k], 3, 0, 0, &b, part);
    assert_memory_equal(all, again, sizeof all);
    assert_true(memcmp(all, other, sizeof all) != 0);
    for (int i = 0; i < 128; i++) assert_true(isfinite(all[i]) && HALF(all[i]) == all[i]);
    for (int i = 0; i < 12; i++) assert_true(part[i] == all[(2 + i / 4) * 16 + 7 + i % 4]);
    for (int j = 0; j < k; j++) assert_string_not_equal(f[j].name, f[k].name);
  }
  mg_graph_free(g);
}

/* ---- the programs of examples: families that bind, at extents of at most 128 */

static mg_graph *smaller(const mg_graph *g) {
  mg_classes c;
  mg_graph *h = NULL;
  mg_error e;
  assert_int_equal(mg_classes_of(g, &c, &e), MG_OK);
  for (uint32_t k = 0; k < c.n; k++)
    if (!c.fixed[k] && c.extent[k] > 64) c.extent[k] = 64;
    else if (!c.fixed[k] && c.extent[k] == 16) c.extent[k] = 4;
  if (mg_resize(g, c.extent, NULL, &h, &e) != MG_OK) fail_msg("%s: %s", g->name, e.msg);
  mg_classes_free(&c);
  return h;
}

static void every_program_has_families_that_bind(void **state) {
  DIR *d = opendir("examples/programs");
  int programs = 0;
  (void)state;
  assert_non_null(d);
  for (struct dirent *at; (at = readdir(d)) != NULL;) {
    static mg_numerics_report r;
    char path[400];
    mg_graph *g, *h;
    mg_error e;
    if (!strstr(at->d_name, ".mg")) continue;
    snprintf(path, sizeof path, "examples/programs/%.200s", at->d_name);
    if (mg_parse_file(path, NULL, &g, &e) != MG_OK) fail_msg("%s: %s", path, e.msg);
    h = smaller(g);
    if (mg_numerics(h, NULL, NULL, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", path, e.msg);
    if (r.binding < MG_FAMILIES_LEAST) fail_msg("%s: %d families bind of %d", path, r.binding, r.families);
    programs++;
    mg_graph_free(g), mg_graph_free(h);
  }
  closedir(d);
  assert_true(programs >= 40);
}

/* ---- the emitted file */

static mg_status emulated(const char *program, const char *kernel, mg_numerics_report *r) {
  mg_graph *p = parse(program), *k = parse(kernel);
  mg_emit_config c;
  mg_check_config check;
  mg_error e;
  char *cu = NULL, line[700];
  memset(&c, 0, sizeof c);
  memset(&check, 0, sizeof check);
  memset(&e, 0, sizeof e);
  c.arch = "sm_80";
  if (mg_cuda_emit(k, &c, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  const mg_status s = mg_cuda_numerics(p, k, cu, &check, r, &e);
  mg_numerics_line(r, line, sizeof line);
  printf("  %s%s%s\n", line, s == MG_OK ? "" : ": ", s == MG_OK ? "" : e.msg);
  mg_string_free(cu);
  mg_graph_free(p), mg_graph_free(k);
  return s;
}

#define LINEAR_IN "input X : f16[16, 256]\ninput G : f16[256]\ninput W : f16[256, 512]\n"
static void the_emitted_norm(void **state) {
  static mg_numerics_report r;
  (void)state;
  static const char program[] = "program small\n" LINEAR_IN "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n";
#define SMALL_KERNEL(left) "program small\n" LINEAR_IN "O = kernel grid=(x=8) threads=128 {\nfor i=4 {\nx = load X {x->*, i->1}\ng = load G {x->*, i->0}\n" \
                           "w = load W {x->1, i->0}\nb = matmul(" left ", w)\ns = sum(sqr(x), dim=1)\n}\n" \
                           "m = add_scalar(scale(accum(s) {i->+}, 1/256), 1/1000000)\no = div(accum(b) {i->+}, sqrt(m))\nstore o {x->1}\n}\noutput O\n"
  assert_int_equal(emulated(program, SMALL_KERNEL("mul(x, g)"), &r), MG_NOT_FOUND);
  assert_int_equal(r.without_wide, 0);
  for (int k = 0; k < r.families; k++) assert_int_equal(r.bad[k] & 2, 0); /* f32 in place of 16 bits, it is safe */
  /* over tf32 the same is safe; (ii) has no operand of 10 bits there either, or each family would fail by it */
  static const char wide[] = "program small\n" LINEAR_IN "O = kernel grid=(x=8) threads=128 {\nplan { b.mma=wide }\nfor i=4 {\n"
                             "x = load X {x->*, i->1}\ng = load G {x->*, i->0}\nw = load W {x->1, i->0}\nb = matmul(mul(x, g), w)\n"
                             "s = sum(sqr(x), dim=1)\n}\nm = add_scalar(scale(accum(s) {i->+}, 1/256), 1/1000000)\n"
                             "o = div(accum(b) {i->+}, sqrt(m))\nstore o {x->1}\n}\noutput O\n";
  assert_int_equal(emulated(program, wide, &r), MG_OK);
  assert_int_equal(r.without_wide, 0);
  assert_true(r.binding >= MG_FAMILIES_LEAST);
  static const char plain[] = "program small\n" "input X : f16[16, 256]\ninput W : f16[256, 512]\n" "O = silu(matmul(X, W))\noutput O\n";
  static const char kernel[] = "program small\n" "input X : f16[16, 256]\ninput W : f16[256, 512]\nO = kernel grid=(x=8) threads=128 {\nfor i=4 {\nx = load X {x->*, i->1}\n"
                               "w = load W {x->1, i->0}\nb = matmul(x, w)\n}\no = silu(accum(b) {i->+})\nstore o {x->1}\n}\noutput O\n";
  assert_int_equal(emulated(plain, kernel, &r), MG_OK);
  assert_int_equal(r.without_wide, 0);
  assert_true(r.binding >= MG_FAMILIES_LEAST);
}

/* What a kernel does not read has the program's sizes, whatever the kernel cuts. */
static void an_input_that_is_not_read(void **state) {
  static mg_numerics_report r;
  (void)state;
#define ONE_KEY "program one\ninput Q : f16[4, 2, 64]\ninput K : f16[4, 1, 64]\ninput V : f16[4, 1, 64]\n"
  static const char program[] = ONE_KEY "O = matmul(softmax(matmul(Q, transpose(K, [0, 2, 1])), dim=2), V)\noutput O\n";
#define ONE_KERNEL(of) ONE_KEY "O = kernel grid=(x=4) threads=32 {\nv = load V {x->0}\no = concat(v, " of ", dim=1)\nstore o {x->0}\n}\noutput O\n"
  assert_int_equal(emulated(program, ONE_KERNEL("v"), &r), MG_OK);
  assert_true(r.binding >= MG_FAMILIES_LEAST);
  assert_int_equal(emulated(program, ONE_KERNEL("add(v, v)"), &r), MG_NOT_FOUND);
}

/* The dimension of each exponential that stands for a softmax's. */
/* Masks of -1e9, which bf16 and f32 have: a maximum so large, times log2 e, is as far off as 64, and 2 to that is past f16.  Keys that are
   hidden come first, last, and all but one. */
static void masks_far_away(void **state) {
  static mg_numerics_report r;
  static mg_family f[MG_FAMILIES_MOST];
  (void)state;
#define FAR(T, M) "program far\ninput Q : " T "[2, 16, 64]\ninput K : " T "[2, 64, 256] @ [0, 2, 1]\ninput V : " T "[2, 256, 64]\ninput M : " M "[16, 256]\n"
#define FAR_POWER "exp(add(scale(matmul(q, k), 1/8), m))"
#define FAR_KERNEL(T, M, power) FAR(T, M) "O = kernel grid=(x=2) threads=128 {\nq = load Q {x->0}\nfor i=2 {\nk = load K {x->0, i->2}\nm = load M {i->1}\n" \
                               "p = " power "\nv = load V {x->0, i->1}\nd = matmul(p, v)\nl = sum(p, dim=2)\n}\n"      \
                               "o = div(accum(d) {i->+}, accum(l) {i->+})\nstore o {x->0}\nplan { stages=2 warps_m=1 warps_n=4 warps_k=1 }\n}\noutput O\n"
#define FAR_PROGRAM(T, M, weights) FAR(T, M) "P = softmax(add(scale(matmul(Q, K), 1/8), M), dim=2)\nO = matmul(" weights ", V)\noutput O\n"
  static const char *const cases[][2] = {{FAR_PROGRAM("f16", "f32", "to_f16(P)"), FAR_KERNEL("f16", "f32", "to_f16(" FAR_POWER ")")},
                                         {FAR_PROGRAM("bf16", "f32", "to_bf16(P)"), FAR_KERNEL("bf16", "f32", "to_bf16(" FAR_POWER ")")},
                                         {FAR_PROGRAM("bf16", "bf16", "P"), FAR_KERNEL("bf16", "bf16", FAR_POWER)}};
  for (int k = 0; k < 3; k++) {
    int far = 0;
    assert_int_equal(emulated(cases[k][0], cases[k][1], &r), MG_OK);
    mg_graph *p = parse(cases[k][0]);
    for (int j = 0, n = mg_families_of(p, 1, f, MG_FAMILIES_MOST); j < n; j++) far += f[j].kind >= MG_FAMILY_FIRST && f[j].a == -1e9 && r.bind[j];
    assert_true(far > 0);
    mg_graph_free(p);
  }
  /* of f16 where the mask is the kernel's own: it may be -10^9 before any type has it; an input of f16 is not */
  static const struct { const char *power; int far; } halves[] = {
      {FAR_POWER, 0}, {"exp(add(scale(matmul(q, k), 1/8), scale(add_scalar(m, -1), 1000000000)))", 1}, {"exp(scale(matmul(q, k), 1/8))", 0}};
  for (size_t k = 0; k < sizeof halves / sizeof *halves; k++) {
    char text[1000], *cu;
    mg_error e;
    snprintf(text, sizeof text, FAR_KERNEL("f16", "f16", "%s"), halves[k].power);
    mg_graph *g = parse(text);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    const char *shift = strstr(cu, "mg_row_shift<");
    assert_true(shift && (strncmp(strstr(shift, "> shift_") - 6, ", true", 6) == 0) == halves[k].far);
    mg_string_free(cu), mg_graph_free(g);
  }
}

/* What 10^9 multiplies is 0 or 1.  Beside -10^9 scores are gone, in whatever order that is then taken off again. */
static void switches(void **state) {
  static mg_numerics_report r;
  static mg_family f[MG_FAMILIES_MOST];
  (void)state;
#define SWITCH "program s\ninput M : f16[16, 320]\ninput X : f16[16, 256]\ninput W : f16[256, 320]\n"
#define SWITCH_KERNEL(sum) SWITCH "O = kernel grid=(x=1) threads=128 {\nm = load M {}\nfor i=4 {\nx = load X {i->1}\nw = load W {i->0}\nt = matmul(x, w)\n}\n" \
                                  "a = accum(t) {i->+}\no = max(" sum ", dim=1)\nstore o {}\nplan { stages=2 warps_m=1 warps_n=4 warps_k=1 }\n}\noutput O\n"
  static const char program[] = SWITCH "O = max(add(matmul(X, W), scale(add_scalar(M, -1), 1000000000)), dim=1)\noutput O\n";
  assert_int_equal(emulated(program, SWITCH_KERNEL("add(a, scale(add_scalar(m, -1), 1000000000))"), &r), MG_OK);
  mg_graph *p = parse(program);
  int dark[2] = {0, 0}, zero = 0;
  for (int j = 0, n = mg_families_of(p, 1, f, MG_FAMILIES_MOST); j < n; j++) {
    if (f[j].kind >= MG_FAMILY_FIRST && r.bind[j]) dark[f[j].a == 1]++;
    zero |= f[j].kind == MG_FAMILY_ZERO && f[j].input == 0 && r.bind[j];
  }
  assert_true(dark[0] == 3 && dark[1] == 3 && zero && r.binding > 20);
  mg_graph_free(p);
  assert_int_equal(emulated(program, SWITCH_KERNEL("add(scale(m, 1000000000), add_scalar(a, -1000000000))"), &r), MG_NOT_FOUND);
}

static void softmaxes(void **state) {
  (void)state;
  static const struct { const char *text; int dim; } at[] = {
    {"O = softmax(X, dim=1)\noutput O\n", 1},
    {"O = softmax(X, dim=0)\noutput O\n", 0},
    {"_E = exp(X)\n_S = sum(_E, dim=1)\nO = div(_E, _S)\nP = div(_E, _S)\noutput O, P\n", 1},
    {"E = exp(X)\n_S = sum(E, dim=1)\nO = div(E, _S)\noutput O\n", -1},                      /* a value that the program yields */
    {"_E = exp(X)\nS = sum(_E, dim=1)\nO = div(_E, S)\noutput O\n", -1},
    {"_E = exp(X)\n_S = sum(_E, dim=1)\nO = add(_E, _S)\noutput O\n", -1},                   /* a maximum would not cancel */
    {"_E = exp(X)\n_S = sum(_E, dim=1)\nO = div(_S, _E)\noutput O\n", -1},
    {"_E = exp(X)\n_S = sum(_E, dim=1)\nO = div(_E, _S)\nP = sqr(_E)\noutput O, P\n", -1},
    {"_E = exp(X)\n_S = sum(_E, dim=1)\nO = div(_E, _S)\nP = log(_S)\noutput O, P\n", -1},
    {"_E = exp(X)\n_S = sum(_E, dim=1)\n_T = sum(_E, dim=0)\nO = div(_E, _S)\nP = div(_E, _T)\noutput O, P\n", -1},
    {"_E = exp(X)\nO = sqr(_E)\noutput O\n", -1},
  };
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    char text[400];
    snprintf(text, sizeof text, "program a\ninput X : f16[4, 8]\n%s", at[k].text);
    mg_graph *g = parse(text);
    int dim = -1;
    for (uint32_t o = 1; o < g->n_ops; o++) dim = mg_softmax_dim(g, o) >= 0 ? mg_softmax_dim(g, o) : dim;
    if (dim != at[k].dim) fail_msg("%s: %d", at[k].text, dim);
    mg_graph_free(g);
  }
}
/* The program as it stands, in whole operators, is as safe as it is written; over fields and floats it is the same. */
static void programs_themselves(void **state) {
  static mg_numerics_report r;
  (void)state;
  static const char *const text[] = {
    "program small\ninput X : f16[6, 70, 3]\nO = softmax(X, dim=1)\noutput O\n",
    "program small\ninput Q : f16[16, 32]\ninput K : f16[32, 64]\ninput V : f16[64, 16]\nO = matmul(softmax(matmul(Q, K), dim=1), V)\noutput O\n",
    "program small\ninput X : f16[16, 128]\ninput G : f16[128]\nO = rms_norm(X, G, eps=1/1000000)\noutput O\n",
    "program small\ninput A : f16[64, 64]\ninput B : f16[64, 64]\ninput D : f16[64, 32]\nO = relu(matmul(matmul(A, B), D))\noutput O\n", /* where the product overflows, not a number is not 0 */
  };
  assert_true(isnan(mg_op_real(MG_OP_RELU, NAN, 0, 0)));
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    assert_int_equal(emulated(text[k], text[k], &r), MG_OK);
    assert_true(r.binding >= MG_FAMILIES_LEAST);
    mg_graph *g = parse(text[k]);
    mg_check_config c;
    mg_check_report link2;
    mg_emit_config emit;
    mg_error e;
    char *cu = NULL;
    memset(&c, 0, sizeof c), memset(&emit, 0, sizeof emit);
    assert_int_equal(mg_cuda_emit(g, &emit, &cu, &e), MG_OK);
    if (mg_cuda_check(NULL, cu, &c, &link2, &e) != MG_OK) fail_msg("%s: %s", text[k], link2.difference);
    mg_string_free(cu), mg_graph_free(g);
  }
  assert_int_equal(emulated(text[0], "program small\ninput X : f16[6, 70, 3]\nE = exp(X)\nO = div(E, sum(E, dim=1))\noutput O\n", &r), MG_NOT_FOUND);
}

static void the_emitted_variance(void **state) {
  static mg_numerics_report r;
  (void)state;
  static const char kernel[] = CENTRE_KERNEL("sub(scale(sum(sqr(x), dim=1), 1/64), sqr(m))"), two_pass[] = CENTRE_KERNEL("scale(sum(sqr(d), dim=1), 1/64)");
  int wide = 0;
  assert_int_equal(emulated(CENTRE "D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/100000)))\noutput O\n", kernel, &r), MG_NOT_FOUND);
  for (int k = 0; k < r.families; k++) wide += r.bad[k] >> 1;
  assert_true(wide > 0);
  assert_int_equal(emulated(CENTRE "D = sub(X, mean(X, dim=1))\nO = div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/100000)))\noutput O\n", two_pass, &r), MG_OK);
}

/* What a cast rounds off, handed on apart: a kernel that does not round has none of it. */
static void casts_that_are_cast(void **state) {
  (void)state;
#define SPLIT "program split\ninput X : f32[32, 256]\ninput W : bf16[256, 128]\n"
#define SPLIT_KERNEL(high) \
  SPLIT "O = kernel grid=(x=2, y=8) threads=128 {\n  x = load X {x->0, y->*}\n  w = load W {x->*, y->1}\n" \
        "  h = to_bf16(x)\n  a = matmul(h, w)\n  b = matmul(to_bf16(sub(x, to_f32(" high "))), w)\n" \
        "  o = to_f32(add(a, b))\n  store o {x->0, y->1}\n}\noutput O\n"
  static const char split[] = SPLIT "H = to_bf16(X)\nL = to_bf16(sub(X, to_f32(H)))\n"
                                    "O = to_f32(add(matmul(H, W), matmul(L, W)))\noutput O\n";
  static const char parts[] = "program parts\ninput X : f32[32, 256]\nH = to_bf16(X)\n"
                              "L = to_f16(scale(sub(X, to_f32(reshape(H, [32, 256]))), 256))\noutput H, L\n";
  static mg_numerics_report r;
  assert_int_equal(emulated(split, SPLIT_KERNEL("h"), &r), MG_OK);
  assert_int_equal(emulated(split, SPLIT_KERNEL("reshape(h, [16, 256])"), &r), MG_OK);
  assert_int_equal(emulated(split, SPLIT_KERNEL("x"), &r), MG_NOT_FOUND); /* 0: equal over the reals */
  mg_graph *g = parse(parts);
  int rounds = 0;
  for (uint32_t k = 1; k < g->n_ops; k++) rounds += mg_cast_rounds(g, k);
  assert_int_equal(rounds, 1); /* that of H; nothing reads L */
  float in[32 * 256], high[32 * 256], low[32 * 256], *out[] = {high, low};
  const float *given[] = {in};
  mg_error e;
  for (int k = 0; k < 32 * 256; k++) in[k] = (float)(int32_t)next(&seed) * 0x1p-24f;
  assert_int_equal(mg_yardstick(g, NULL, given, out, 1, 0, &e), MG_OK);
  for (int k = 0; k < 32 * 256; k++) {
    assert_true(high[k] == mg_round_to(MG_BF16, in[k]));
    assert_true(fabsf(high[k] + low[k] / 256 - in[k]) <= 0x1p-18f * fabsf(in[k]));
  }
  mg_graph_free(g);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(rounding_is_that_of_the_formats),
    cmocka_unit_test(sugar_marks_what_is_inner),
    cmocka_unit_test(a_norm_is_one_operator),
    cmocka_unit_test(a_softmax_subtracts_its_maximum),
    cmocka_unit_test(an_attention_rounds_what_it_names),
    cmocka_unit_test(norms),
    cmocka_unit_test(variances),
    cmocka_unit_test(linear_attention),
    cmocka_unit_test(attentions),
    cmocka_unit_test(what_does_not_bind),
    cmocka_unit_test(families_are_functions),
    cmocka_unit_test(every_program_has_families_that_bind),
    cmocka_unit_test(the_emitted_norm), cmocka_unit_test(an_input_that_is_not_read),
    cmocka_unit_test(the_emitted_variance),
    cmocka_unit_test(softmaxes), cmocka_unit_test(masks_far_away), cmocka_unit_test(switches),
    cmocka_unit_test(casts_that_are_cast),
    cmocka_unit_test(programs_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
