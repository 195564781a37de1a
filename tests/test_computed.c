/* Extents computed of symbols, as 8*n: the text, the members of a family, verdicts about all of them, ranges, emitted files.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_computed.c -o build/test_computed -lcmocka -lm -lpthread -ldl && build/test_computed */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"

#define PROGRAM(syms, extent) "program f\n" syms "input X : f16[" extent ", 64]\ninput W : f16[64, 32]\nO = relu(matmul(X, W))\noutput O\n"
#define KERNEL(syms, extent, count)                                                                                  \
  "program f\n" syms "input X : f16[" extent ", 64]\ninput W : f16[64, 32]\nO = kernel grid=(x=" count ", y=2) threads=64 {\n" \
  "  t1 = load X {x->0, y->*}\n  t2 = load W {x->*, y->1}\n  t3 = relu(matmul(t1, t2))\n  store t3 {x->0, y->1}\n}\noutput O\n"
#define N40 "sym n in 1..40\n"
#define N39 "sym n in 1..39\n"
#define NM "sym n in 1..8\nsym m in 1..8\n"
/* Program, kernels, and how the extent is called. */
static const struct { const char *a, *b, *name; } families[] = {
    {PROGRAM(N40, "8*n"), KERNEL(N40, "8*n", "ceil(8*n/64)"), "8*n"},
    {PROGRAM(N39, "1 + n"), KERNEL(N39, "n + 1", "ceil((n + 1)/8)"), "n + 1"},
    {PROGRAM(NM, "n*m"), KERNEL(NM, "m*n", "ceil(m*n/8)"), "n*m"},
    {PROGRAM(N40, "n*4 + 4*n"), KERNEL(N40, "2*n*4", "n*8"), "8*n"},
};
enum { FAMILIES = sizeof families / sizeof *families };
/* Two classes: n, and what is computed of it. */
static const char both[] =
    "program both\nsym n in 1..16\ninput X : f16[8*n, 64]\ninput Y : f16[n, 64]\ninput Z : f16[64, 32]\n"
    "O = relu(matmul(X, Z))\nP = exp(matmul(Y, Z))\noutput O\noutput P\n";

static void prints_what_it_reads(void **state) {
  (void)state;
  for (int k = 0; k < 2 * FAMILIES + 1; k++) {
    char *once, *twice;
    mg_error e;
    mg_graph *g = parse(k == 2 * FAMILIES ? both : k % 2 ? families[k / 2].b : families[k / 2].a);
    assert_int_equal(mg_print(g, &once, &e), MG_OK);
    mg_graph *h = parse(once);
    assert_int_equal(mg_print(h, &twice, &e), MG_OK);
    assert_string_equal(once, twice);
    assert_true(mg_graph_equal(g, h));
    assert_int_equal((int)g->n_computed, 1);
    if (k < 2 * FAMILIES) assert_string_equal(g->symbol[g->n_symbols].name, families[k / 2].name);
    mg_string_free(once), mg_string_free(twice), mg_graph_free(g), mg_graph_free(h);
  }
  /* What a size is is part of a graph, what its symbols are called is not; a plain symbol is no computed size. */
  mg_graph *square = parse(PROGRAM("sym n in 1..2\n", "n*n")), *line = parse(PROGRAM("sym n in 1..2\n", "3*n - 2"));
  mg_graph *other = parse(PROGRAM("sym size in 1..2\n", "size*size")), *plain = parse(PROGRAM(N40, "2*n - n"));
  assert_true(square->symbol[1].least == line->symbol[1].least && square->symbol[1].most == line->symbol[1].most);
  assert_false(mg_graph_equal(square, line));
  assert_true(mg_graph_equal(square, other));
  assert_int_equal((int)plain->n_computed, 0);
  mg_graph_free(square), mg_graph_free(line), mg_graph_free(other), mg_graph_free(plain);
}

static void says_what_is_no_extent(void **state) {
  static const struct { const char *text, *says; } bad[] = {
      {PROGRAM(N40, "n - 1"), "expected n - 1 in 1..2^40, it is in 0..39"},
      {PROGRAM("sym n in 1..65536\n", "n*n*n*n"), "expected n*n*n*n in 1..2^40, it is in 1..9223372036854775807 and more"},
      {PROGRAM(N40, "41 - n"), "'-n + 41' does not"},
      {PROGRAM(N40, "n*n - n"), "'n*n - n' does not"},
      {PROGRAM(N40, "ceil(n/2)"), "'ceil(n/2)' does not"},
      {PROGRAM("sym n in 1..2000000\n", "n*n"), "in 1..2^40"},
      {PROGRAM(N40, "8*m"), "expected an extent or a symbol, found 'm'"},
      {PROGRAM(N40, "8*n*n*n*n*n*n*n*n*n"), "more than 8 factors"},
      {PROGRAM(N40, "8*"), "expected an extent or a symbol"},
      {PROGRAM(N40, "(n + 1"), "expected ')'"},
      {PROGRAM(N40, "0*n"), "an extent is between 1 and 2^40, got 0"},
      {"program f\nsym n in 1..4\nsym m in 1..4\ninput X : f16[8*n, 8]\nO = exp(X)\noutput O\n", "no input has m"},
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 8]\nsym m in 1..4\ninput Y : f16[m]\nO = exp(X)\noutput O\n", "symbols come before"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 2*n, 3*n, 4*n, 5*n]\ninput Y : f16[6*n, 7*n, 8*n, 9*n]\nO = exp(X)\noutput O\n",
       "at most 8 symbols and sizes"},
      /* another extent, where both are as long */
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 8]\ninput Y : f16[32, 8]\nO = add(X, Y)\noutput O\n", "it has to be 8*n too"},
      {"program f\nsym n in 1..2\ninput X : f16[8*n, 8]\ninput Y : f16[n + 14, 8]\nO = add(X, Y)\noutput O\n", "it has to be"},
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 8]\ninput Y : f16[n, 8]\nO = add(X, Y)\noutput O\n", "do not broadcast"},
      /* split, merged */
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 64]\nO = reshape(X, [n, 8, 64])\noutput O\n", "a reshape joins it with others"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8, 64]\nO = reshape(X, [8*n, 64])\noutput O\n", "in the reshape's shape, as [8*n, 64]"},
      {"program f\nsym n in 1..4\ninput X : f16[n, 8, 64]\ninput Y : f16[8*n, 64]\nO = add(reshape(X, [8*n, 64]), Y)\noutput O\n", "parallel in it"},
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 4, 16]\nO = reshape(X, [32, 64])\noutput O\n", "expected 8*n there"},
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 32]\nO = reshape(X, [32, 8*n])\noutput O\n", "runs with 8*n"},
      /* what is contracted */
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 64]\nO = sum(X, dim=0)\noutput O\n", "a computed size, and the program is not parallel"},
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 64]\nO = mean(X, dim=0)\noutput O\n", "computed size"},
      {"program f\nsym n in 1..4\ninput X : f16[8*n, 8]\ninput V : f16[n, 8]\nO = exp(X)\nP = sum(V, dim=0)\noutput O\noutput P\n", "n is contracted"},
      {"program f\nsym n in 1..4\ninput X : f16[2*n, 2*n]\nO = matmul(X, X)\noutput O\n", "not parallel"},
      /* counts: of n where 8*n is meant, of a number, of another chunk, of no extent */
      {KERNEL(N40, "8*n", "ceil(n/8)"), "expected the count of its chunks, x=ceil(8*n/64)"},
      {KERNEL(N40, "8*n", "n"), "expected the count of its chunks, x=ceil(8*n/8)"},
      {KERNEL(N40, "8*n", "5"), "expected the count of its chunks, x=ceil(8*n/64)"},
      {KERNEL(N40, "8*n", "ceil(8*n/60)"), "6 chunks of it have 54 elements, not 60"},
      {KERNEL(N40, "8*n", "ceil(4*n/32)"), "no input has 4*n"},
      {KERNEL(N39, "n + 1", "ceil(n/8)"), "expected the count of its chunks, x=ceil((n + 1)/8)"},
      {KERNEL(N40, "n + 1", "ceil((n + 1)/8)"), "6 chunks of it have 7 elements, not 8"},
      {KERNEL(N39, "n + 1", "ceil(n + 1/8)"), "expected '/'"},
      {KERNEL(N39, "n + 1", "ceil(8/8)"), "expected a symbol, as in ceil(n/64)"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuses_text(bad[k].text, bad[k].says);
}

/* At every value of the symbols the members have the extent that is meant, and the first rows of the greatest. */
static void members_follow(void **state) {
  (void)state;
  for (int k = 0; k < FAMILIES; k++) {
    mg_graph *p = parse(families[k].a), *f = parse(families[k].b), *whole, *m;
    mg_error e;
    int64_t top[MG_MAX_SYMBOLS] = {0}, at[MG_MAX_SYMBOLS] = {0}, all[MG_MAX_SYMBOLS];
    for (uint32_t j = 0; j < p->n_symbols; j++) top[j] = p->symbol[j].most;
    assert_int_equal(mg_at(p, top, &whole, &e), MG_OK);
    double *want = first_values(whole);
    for (at[0] = 1; at[0] <= top[0]; at[0]++)
      for (at[1] = 1; at[1] == 1 || at[1] <= top[1]; at[1]++) {
        const int64_t meant = k == 1 ? at[0] + 1 : k == 2 ? at[0] * at[1] : 8 * at[0];
        assert_int_equal(mg_symbol_values(f, at, all, &e), MG_OK);
        assert_true(all[f->n_symbols] == meant);
        if (mg_at(f, at, &m, &e) != MG_OK) fail_msg("%s", e.msg);
        assert_true(!m->n_symbols && !m->n_computed && m->tensors[m->in[0].id].shape.dim[0] == meant);
        double *got = first_values(m);
        for (int64_t i = 0; i < meant * 32; i++) assert_true(fabs(got[i] - want[i]) < 1e-9);
        free(got), mg_graph_free(m);
      }
    at[0] = 0;
    assert_int_equal(mg_at(f, at, &m, &e), MG_BAD_INPUT);
    at[0] = top[0] + 1;
    assert_int_equal(mg_at(f, at, &m, &e), MG_BAD_INPUT);
    free(want), mg_graph_free(whole), mg_graph_free(p), mg_graph_free(f);
  }
}
static void families_of_other_bounds(void **state) {
  mg_graph *p = parse(families[0].a), *f = parse(families[0].b), *out, *member, *again;
  mg_error e;
  const int64_t one = 1, sixteen = 16, nine = 9;
  (void)state;
  assert_int_equal(mg_within(f, &one, &sixteen, &out, &e), MG_OK);
  assert_true(out->symbol[0].most == 16 && out->symbol[1].most == 128 && out->ops[1].sub->axes[1].extent == 2 && out->ops[1].sub->axes[1].symbol == 2);
  mg_graph_free(out);
  assert_int_equal(mg_within(f, &one, &nine, &out, &e), MG_BAD_INPUT); /* 72 rows in 2 chunks are 36 each */
  assert_int_equal(mg_at(f, &sixteen, &member, &e), MG_OK);
  assert_int_equal(mg_family_of(member, p, &again, &e), MG_OK); /* and back: 128 rows are 8*16 */
  assert_true(again->symbol[0].most == 16 && again->symbol[1].most == 128 && again->ops[1].sub->axes[1].symbol == 2);
  mg_graph_free(again), mg_graph_free(member);
  member = parse("program f\ninput X : f16[100, 64]\ninput W : f16[64, 32]\nO = relu(matmul(X, W))\noutput O\n");
  assert_true(mg_family_of(member, p, &again, &e) != MG_OK); /* no n has 100 rows */
  assert_null(again);
  mg_graph_free(member), mg_graph_free(p), mg_graph_free(f);
  /* Of n*m one symbol is not fixed without the other. */
  f = parse(families[2].b);
  const uint8_t first[2] = {1, 0};
  const int64_t v[2] = {3, 3};
  assert_int_equal(mg_fix(f, first, v, &out, &e), MG_UNSUPPORTED);
  assert_null(out);
  mg_graph_free(f);
}

static void verdicts_are_for_all_sizes(void **state) {
  mg_verify_report r, again;
  mg_error e;
  char every[40], *cert;
  (void)state;
  for (int k = 0; k < FAMILIES; k++) {
    mg_graph *p = parse(families[k].a), *f = parse(families[k].b), *shown[2];
    if (mg_verify(p, f, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.verdict != MG_EQUAL) fail_msg("%s", r.reason);
    assert_true(r.guarded > 0); /* at extents with ragged chunks */
    snprintf(every, sizeof every, "for all %s >= 1", families[k].name);
    assert_non_null(strstr(r.reason, every));
    assert_int_equal(mg_certificate(p, f, &r, &cert, &e), MG_OK);
    if (mg_certificate_check(cert, strlen(cert), &again, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_int_equal(mg_certificate_graphs(cert, strlen(cert), &shown[0], &shown[1], &e), MG_OK);
    assert_true(mg_graph_equal(shown[0], p) && mg_graph_equal(shown[1], f)); /* in the symbol */
    mg_graph_free(shown[0]), mg_graph_free(shown[1]);
    char *other = replaced(families[k].b, "relu(", "relu(relu("), *wrong = replaced(other, "t2))", "scale(t2, 2))))");
    mg_graph *g = parse(wrong);
    assert_int_equal(mg_verify(p, g, NULL, &r, &e), MG_OK);
    assert_int_equal(r.verdict, MG_NOT_EQUAL);
    free(other), free(wrong), mg_string_free(cert), mg_graph_free(p), mg_graph_free(f), mg_graph_free(g);
  }
  /* Other sizes of the same bounds, and n where n*n is, are no comparison. */
  mg_graph *square = parse(PROGRAM("sym n in 1..2\n", "n*n")), *line = parse(PROGRAM("sym n in 1..2\n", "3*n - 2"));
  assert_int_equal(mg_verify(square, line, NULL, &r, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "sizes computed of symbols"));
  mg_graph_free(square), mg_graph_free(line);
}
/* An output that is a row of n as often as 8 times, and the rows of n and 8*n in one block: each row is read right at one n. */
static void what_crosses_sizes_is_refused(void **state) {
  static const char *const text[] = {
      "program f\nsym n in 1..8\ninput X : f16[8*n, 64]\ninput Y : f16[n, 64]\nO = kernel grid=(x=ceil(n/2)) threads=32 {\n"
      "  x = load X {x->0}\n  y = load Y {x->0}\n  s = add(x, repeat(y, dim=0, n=8))\n  store s {x->0}\n}\noutput O\n",
      "program f\nsym n in 1..8\ninput X : f16[8*n, 64]\ninput Y : f16[n, 64]\nO = add(X, repeat(Y, dim=0, n=8))\noutput O\n",
      "program f\nsym n in 1..8\ninput X : f16[2*n, 64]\ninput Y : f16[n, 64]\nO = add(X, concat(Y, Y, dim=0))\noutput O\n"};
  mg_error e;
  mg_graph *g = NULL;
  (void)state;
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    if (mg_parse(text[k], strlen(text[k]), "test", NULL, &g, &e) == MG_OK) fail_msg("accepted:\n%s", text[k]);
    assert_true(e.status == MG_UNSUPPORTED || e.status == MG_BAD_INPUT);
  }
}

static mg_status checked(const char *cu, mg_check_report *r, mg_error *e) {
  mg_check_config c;
  memset(&c, 0, sizeof c);
  c.seeds = 2, c.samples = 1;
  return mg_cuda_check(NULL, cu, &c, r, e);
}
static void one_file_runs_at_every_size(void **state) {
  static const struct { int family; const char *from, *to; } plants[] = {
      {1, "sym_1 = sym_n + 1", "sym_1 = sym_n"},              /* a row less */
      {2, "sym_2 = sym_n * sym_m", "sym_2 = sym_n * sym_n"},
      {1, "mg_chunks(sym_1, 8)", "mg_chunks(sym_n, 8)"},       /* blocks are counted of n */
      {0, "sym_1 = 8 * sym_n", "sym_1 = sym_n"},              /* n where 8*n is meant */
      {0, "mg_chunks(sym_1, 64)", "mg_chunks(sym_n, 64)"},
      {0, "mg_chunks(sym_1, 64)", "(sym_1 / 64)"},             /* the ragged rest is left out */
      {1, "mg_chunks(sym_1, 8)", "mg_chunks(sym_1, 16)"},      /* of another chunk */
      {1, "mg_cut(f_D0, b_x, 8)", "8"},                        /* of a mask */
      {0, "{\"8*n\", 8, 320}", "{\"4*n\", 8, 320}"},           /* what the file says of itself */
  };
  static const char *const sizes[FAMILIES] = {"n = 1, 5, 7, 8, 9, 29", "n = 1, 6, 7, 8, 30",
                                              "n = 1, 1, 1, 3, 8, blocks of 8; m = 1, 7, 8, 3, 4", /* 9 is 3*3 */
                                              "n = 1, 2, "};
  const int all = getenv("SOAK_S") != NULL;
  mg_check_report r;
  mg_error e;
  char *cu[FAMILIES];
  (void)state;
  for (int k = 0; k < FAMILIES; k++) {
    mg_graph *g = parse(families[k].b);
    if (mg_cuda_emit(g, NULL, &cu[k], &e) != MG_OK) fail_msg("%s", e.msg);
    mg_graph_free(g);
    if (!all && k != 1 && k != 2) continue;
    if (checked(cu[k], &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (strncmp(r.sizes, sizes[k], strlen(sizes[k]))) fail_msg("%s", r.sizes);
    assert_int_equal(r.rows, 1);
  }
  for (size_t k = 0; k < (all ? sizeof plants / sizeof *plants : 2); k++) {
    char *wrong = replaced(cu[plants[k].family], plants[k].from, plants[k].to);
    const mg_status s = checked(wrong, &r, &e);
    if (s != MG_NOT_FOUND) fail_msg("status %d of %s: %s", (int)s, plants[k].to, s == MG_OK ? "" : e.msg);
    free(wrong);
  }
  for (int k = 0; k < FAMILIES; k++) mg_string_free(cu[k]);
}
/* Kernels of three chunks: each one's last block, of one row, too.  A range of one n is run at that. */
static void sizes_are_of_all_chunks(void **state) {
  static const char three[] =
      "program f\nsym n in 1..100 of 119\ninput X : f16[n + 1, 64]\n"
      "A = kernel grid=(x=ceil((n + 1)/8)) threads=128 {\n  x = load X {x->0}\n  a = sqr(x)\n  store a {x->0}\n}\n"
      "B = kernel grid=(x=ceil((n + 1)/12)) threads=128 {\n  y = load A {x->0}\n  b = relu(y)\n  store b {x->0}\n}\n"
      "C = kernel grid=(x=ceil((n + 1)/20)) threads=128 {\n  z = load B {x->0}\n  c = exp(z)\n  store c {x->0}\n}\n"
      "output C\n";
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  mg_graph *g = parse(three), *one = parse(KERNEL("sym n in 3..3\n", "n + 1", "ceil((n + 1)/2)"));
  if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  if (strncmp(r.sizes, "n = 1, 6, 7, 8, 12, 18, 19, 20, 72", 34)) fail_msg("%s", r.sizes);
  char *wrong = replaced(cu, "mg_chunks(sym_1, 12)", "mg_chunks(sym_1 - 1, 12)");
  const mg_status s = checked(wrong, &r, &e);
  if (s != MG_NOT_FOUND) fail_msg("status %d: %s", (int)s, s == MG_OK ? r.sizes : e.msg);
  mg_string_free(cu);
  if (mg_cuda_emit(one, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_string_equal(r.sizes, "n = 3");
  mg_string_free(cu), free(wrong), mg_graph_free(g), mg_graph_free(one);
}

static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}
/* How many axes of g count chunks of several rows of a size computed of a symbol. */
static int chunks_of_rows(const mg_graph *g) {
  int chunks = 0;
  for (uint32_t o = 1; o < g->n_ops; o++)
    for (uint32_t x = 1; g->ops[o].sub && x < g->ops[o].sub->n_axes; x++) {
      const mg_axis_info *a = &g->ops[o].sub->axes[x];
      chunks += a->symbol > 1 && a->extent < g->symbol[a->symbol - 1].most;
    }
  return chunks;
}
/* Ranges are of n; each is shown for all of its sizes, and is what the program is at each. */
static void ranges_are_whole(void **state) {
  const char *const programs[] = {both, PROGRAM("sym n in 1..200\n", "8*n"), PROGRAM("sym n in 3..200\n", "n + 1"), PROGRAM("sym n in 2..200\n", "n - 1")};
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    mg_graph *p = parse(programs[k]);
    const mg_graph *range[MG_MAX_RANGES];
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    int64_t next = p->symbol[0].least;
    int kernels = 0, chunks = 0;
    char *cu;
    c.emittable = emittable;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int i = 0; i < r.n; i++) {
      const mg_range *a = &r.range[i];
      chunks += chunks_of_rows(a->graph);
      mg_graph *m[2];
      char name[16];
      assert_true(a->least[0] == next && a->graph->symbol[0].least == a->least[0] && a->graph->symbol[0].last == a->most[0]);
      assert_int_equal(a->report.verdict, MG_EQUAL);
      kernels += !mg_is_program(a->graph), next = a->most[0] + 1;
      for (int64_t n = a->least[0]; n <= a->most[0]; n += n < 10 ? 1 : 61) {
        if (mg_at(p, &n, &m[0], &e) != MG_OK || mg_at(a->graph, &n, &m[1], &e) != MG_OK) fail_msg("%s", e.msg);
        double *want = first_values(m[0]), *got = first_values(m[1]);
        const int64_t elements = mg_shape_elements(&mg_tensor_of(m[0], m[0]->out[0])->shape);
        for (int64_t j = 0; j < elements; j++) assert_true(fabs(got[j] - want[j]) < 1e-9);
        free(want), free(got), mg_graph_free(m[0]), mg_graph_free(m[1]);
      }
      snprintf(name, sizeof name, "%s_%d", p->name, i + 1);
      assert_int_equal(mg_rename(a->graph, name, &e), MG_OK);
      range[i] = a->graph;
    }
    assert_true(next == p->symbol[0].most + 1 && kernels > 0);
    if (k >= 2) { /* sizes beside whole chunks of n: link 2 runs those beside whole chunks of n + 1 */
      mg_check_report checks;
      assert_true(chunks > 0);
      if (mg_cuda_emit(range[r.n - 1], NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
      if (checked(cu, &checks, &e) != MG_OK) fail_msg("%s", e.msg);
      assert_int_equal(checks.rows, 1);
      mg_string_free(cu);
    }
    if (r.n > 1 && mg_cuda_emit_ranges(range, r.n, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.n > 1) mg_string_free(cu);
    mg_family_result_free(&r), mg_graph_free(p);
  }
}
/* Whole chunks of a computed size go further than what launches take: of 8*n, of n + 1, of n*m. */
static void a_launch_takes_its_bounds(void **state) {
  static const struct { const char *syms, *extent, *count, *says; } of[] = {
      {"sym n in 2..7 of 8\n", "8*n", "ceil(8*n/64)", "f_symbols[] = {{\"n\", 2, 7}, {\"8*n\", 16, 56}}"},
      {"sym n in 2..37 of 39\n", "n + 1", "ceil((n + 1)/8)", "f_symbols[] = {{\"n\", 2, 37}, {\"n + 1\", 3, 38}}"},
      {"sym n in 1..7 of 8\nsym m in 1..5 of 6\n", "m*n", "ceil(m*n/16)", "f_symbols[] = {{\"n\", 1, 7}, {\"m\", 1, 5}, {\"n*m\", 1, 35}}"}};
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_check_report r;
    mg_error e;
    char text[400], *cu, *once;
    snprintf(text, sizeof text, KERNEL("%s", "%s", "%s"), of[k].syms, of[k].extent, of[k].count);
    mg_graph *g = parse(text), *m, *again;
    int64_t at[MG_MAX_SYMBOLS];
    for (int beyond = 0; beyond < 2; beyond++) {
      for (uint32_t v = 0; v < g->n_symbols; v++) at[v] = g->symbol[v].last + (beyond && v + 1 == g->n_symbols);
      assert_int_equal(mg_at(g, at, &m, &e), beyond ? MG_BAD_INPUT : MG_OK);
      mg_graph_free(m);
    }
    assert_int_equal(mg_print(g, &once, &e), MG_OK);
    again = parse(once);
    assert_true(mg_graph_equal(g, again));
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
    if (!strstr(cu, of[k].says)) fail_msg("%s: %.80s", of[k].says, strstr(cu, "f_symbols"));
    if ((k == 2 || getenv("SOAK_S")) && checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    mg_string_free(once), mg_string_free(cu), mg_graph_free(g), mg_graph_free(again);
  }
}
/* Two ranges in one file: the launch takes n, and what is said of both has the computed size. */
static void ranges_in_one_file(void **state) {
  mg_check_report r;
  mg_error e;
  char *cu, *low = replaced(KERNEL("sym n in 1..8\n", "8*n", "ceil(8*n/16)"), "program f", "program f_1");
  char *high = replaced(KERNEL("sym n in 9..40\n", "8*n", "ceil(8*n/64)"), "program f", "program f_2");
  char *other = replaced(high, "8*n, 64", "9*n, 64"), *count = replaced(other, "8*n/64", "9*n/72");
  mg_graph *range[2] = {parse(low), parse(high)}, *unlike[2] = {range[0], parse(count)};
  (void)state;
  if (mg_cuda_emit_ranges((const mg_graph *const *)range, 2, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  assert_non_null(strstr(cu, "f_symbols[] = {{\"n\", 1, 40}, {\"8*n\", 8, 320}}"));
  if (getenv("SOAK_S") && checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  mg_string_free(cu);
  assert_int_equal(mg_cuda_emit_ranges((const mg_graph *const *)unlike, 2, NULL, NULL, &cu, &e), MG_BAD_INPUT);
  mg_graph_free(range[0]), mg_graph_free(range[1]), mg_graph_free(unlike[1]);
  free(low), free(high), free(other), free(count);
}
/* Of two symbols and sizes computed of one or of both: each pair is in a range, where the µGraph is what the program is. */
static void ranges_of_two_symbols(void **state) {
  static const char *const programs[] = {
      "program g\nsym n in 1..40\nsym m in 1..24\ninput X : f16[8*n, m, 64]\nO = exp(X)\noutput O\n",
      "program g\nsym n in 1..40\nsym m in 1..24\ninput X : f16[n*m, 32]\ninput Y : f16[n, m, 32]\nO = relu(X)\nP = silu(Y)\noutput O, P\n",
      "program g\nsym n in 1..40\nsym m in 2..24\ninput X : f16[n + m, 32]\ninput Y : f16[m, n]\nO = relu(X)\nP = silu(Y)\noutput O, P\n"};
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    mg_graph *p = parse(programs[k]);
    const mg_graph *range[MG_MAX_RANGES];
    mg_search_config c = mg_search_config_default();
    mg_family_result r;
    mg_error e;
    char *cu;
    int kernels = 0;
    c.emittable = emittable, c.time_limit_s = 3;
    if (mg_search_family(p, &c, NULL, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    for (int i = 0; i < r.n; i++) {
      char name[16];
      snprintf(name, sizeof name, "g_%d", i + 1);
      assert_int_equal(mg_rename(r.range[i].graph, name, &e), MG_OK);
      assert_int_equal(r.range[i].report.verdict, MG_EQUAL);
      range[i] = r.range[i].graph, kernels += !mg_is_program(range[i]);
    }
    assert_true(kernels > 0);
    for (int64_t n = 1; n <= 40; n += 13)
      for (int64_t m = 2; m <= 24; m += 11) {
        const int64_t at[MG_MAX_SYMBOLS] = {n, m};
        const mg_graph *is = range[mg_range_of(range, r.n, at)];
        mg_graph *both_of[2];
        if (mg_at(p, at, &both_of[0], &e) != MG_OK || mg_at(is, at, &both_of[1], &e) != MG_OK) fail_msg("%s", e.msg);
        double *want = first_values(both_of[0]), *got = first_values(both_of[1]);
        const int64_t elements = mg_shape_elements(&mg_tensor_of(both_of[0], both_of[0]->out[0])->shape);
        for (int64_t j = 0; j < elements; j++) assert_true(fabs(got[j] - want[j]) < 1e-9);
        free(want), free(got), mg_graph_free(both_of[0]), mg_graph_free(both_of[1]);
      }
    if (r.n > 1 && mg_cuda_emit_ranges(range, r.n, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.n > 1) mg_string_free(cu);
    mg_family_result_free(&r), mg_graph_free(p);
  }
}
/* A file of two such ranges: what the launch computes, and what the file says of it. */
static void a_file_of_two_symbols(void **state) {
  static const char *const plants[][2] = {{"{\"n*m\", 1, 200}", "{\"n*m\", 1, 201}"}, {"sym_2 = sym_n * sym_m", "sym_2 = sym_n * 5"}};
  char *low = replaced("program g\nsym n in 1..8\nsym m in 1..5\ninput X : f16[n*m, 16]\nO = exp(X)\noutput O\n", "program g", "program g_1");
  char *behind = replaced(low, "program g_1", "program g_2"), *high = replaced(behind, "n in 1..8", "n in 9..40");
  mg_graph *range[2] = {parse(low), parse(high)};
  mg_check_report r;
  mg_error e;
  char *cu;
  (void)state;
  if (mg_cuda_emit_ranges((const mg_graph *const *)range, 2, NULL, NULL, &cu, &e) != MG_OK) fail_msg("%s", e.msg);
  if (checked(cu, &r, &e) != MG_OK) fail_msg("%s", e.msg);
  for (int k = 0; k < (getenv("SOAK_S") ? 2 : 1); k++) {
    char *wrong = replaced(cu, plants[k][0], plants[k][1]);
    assert_int_equal(checked(wrong, &r, &e), MG_NOT_FOUND);
    free(wrong);
  }
  mg_string_free(cu), mg_graph_free(range[0]), mg_graph_free(range[1]);
  free(low), free(behind), free(high);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_what_it_reads),         cmocka_unit_test(says_what_is_no_extent),
      cmocka_unit_test(members_follow),               cmocka_unit_test(families_of_other_bounds),
      cmocka_unit_test(verdicts_are_for_all_sizes),   cmocka_unit_test(what_crosses_sizes_is_refused),
      cmocka_unit_test(one_file_runs_at_every_size),  cmocka_unit_test(sizes_are_of_all_chunks),
      cmocka_unit_test(ranges_are_whole),
      cmocka_unit_test(a_launch_takes_its_bounds),    cmocka_unit_test(ranges_in_one_file),           cmocka_unit_test(ranges_of_two_symbols),
      cmocka_unit_test(a_file_of_two_symbols),
  };
  if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
