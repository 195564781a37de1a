/* Tests of mirage_model.h: text, shapes, plan and its mutants; tests/test_models.c has what models compute.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_model.c -o build/test_model -lcmocka -lm -lpthread -ldl && build/test_model */
#define MIRAGE_IMPLEMENTATION
#include "mirage_model.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>

static const char *const files[] = {"examples/models/tiny.mgm", "tests/corpus/model/relax.mgm",
                                    "tests/corpus/model/foreign.mgm"};
enum { FILES = sizeof files / sizeof *files };

static char *text_of(const char *path) {
  static char text[1 << 16];
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is not there", path);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return text;
}
static mg_model *model_of(const char *text) {
  mg_model *m = NULL;
  mg_error e;
  if (mg_model_parse(text, strlen(text), "m", NULL, &m, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
  return m;
}
static mg_model_list *list_of(const mg_model *m) {
  mg_model_list *l = NULL;
  mg_error e;
  if (mg_model_list_of(m, &l, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return l;
}
static mg_model_plan *plan_of(const mg_model_list *l) {
  mg_model_plan *p = NULL;
  mg_error e;
  if (mg_model_plan_of(l, &p, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return p;
}
static mg_model_data *data_of(const mg_model_list *l, const int64_t *room) {
  mg_model_data *d = NULL;
  mg_error e;
  if (mg_model_data_new(l, room, 7, &d, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return d;
}
static void step(mg_model_data *d, const int64_t *sym, const mg_model_config *c) {
  mg_error e;
  if (mg_model_step(d, sym, c, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
}

/* What is printed parses to what prints the same; a second model has as many launches and pieces. */
static void test_text(void **state) {
  (void)state;
  for (int k = 0; k < FILES; k++) {
    char *a, *b;
    mg_error e;
    mg_model *m = model_of(text_of(files[k]));
    assert_int_equal(mg_model_print(m, &a, &e), MG_OK);
    mg_model *again = model_of(a);
    assert_int_equal(mg_model_print(again, &b, &e), MG_OK);
    assert_string_equal(a, b);
    mg_model_list *l = list_of(m), *r = list_of(again);
    assert_int_equal(l->n_launches, r->n_launches);
    assert_int_equal(l->n_pieces, r->n_pieces);
    assert_int_equal(l->n_values, r->n_values);
    mg_model_list_free(l), mg_model_list_free(r);
    mg_string_free(a), mg_string_free(b), mg_model_free(m), mg_model_free(again);
  }
}

/* The builder makes what the parser makes. */
static void test_builder(void **state) {
  static const char text[] =
      "model b\nsym n in 1..64\ninput X : f32[2, n]\nstate K[2] : f32[2, n]\nfn f(A : f32[2, m], K : state f32[2, m]) : f32[2, m] {\n  update K at 0 = A\n"
      "  return scale(reshape(A, [2, m]), 1/8)\n}\nfor l=2 {\n  X = f(X, K[l])\n}\nY = sum(X, dim=0)\noutput Y\n";
  const char *const x = "X";
  char *s;
  mg_error e;
  mg_model *m = mg_model_new("b", NULL);
  mg_model_symbol_new(m, "n", 1, 64, 0);
  const mg_extent *d[2] = {mg_extent_int(m, 2), mg_extent_name(m, "n")},
                  *fd[2] = {mg_extent_int(m, 2), mg_extent_name(m, "m")};
  (void)state;
  mg_model_declare(m, MG_VALUE_INPUT, "X", 0, MG_F32, 2, d);
  mg_model_declare(m, MG_VALUE_STATE, "K", 2, MG_F32, 2, d);
  mg_function_begin(m, "f");
  mg_function_param(m, 0, "A", MG_F32, 2, fd);
  mg_function_param(m, 1, "K", MG_F32, 2, fd);
  mg_function_result(m, MG_F32, 2, fd);
  mg_step_update(m, mg_expr_value(m, "K", NULL), mg_extent_int(m, 0), mg_expr_value(m, "A", NULL));
  mg_expr *r =
      mg_expr_arg(m, mg_expr_arg(m, mg_expr_op(m, "reshape"), mg_expr_value(m, "A", NULL)), mg_expr_list(m, 2, fd));
  mg_step_arg(m, mg_step_return(m),
              mg_expr_arg(m, mg_expr_arg(m, mg_expr_op(m, "scale"), r), mg_expr_constant(m, "1/8")));
  mg_function_end(m);
  mg_for_begin(m, "l", mg_extent_int(m, 2));
  mg_step *c = mg_step_call(m, 1, &x, "f");
  mg_step_arg(m, c, mg_expr_value(m, "X", NULL));
  mg_step_arg(m, c, mg_expr_value(m, "K", mg_extent_name(m, "l")));
  mg_for_end(m);
  mg_step_let(m, "Y",
              mg_expr_arg(m, mg_expr_arg(m, mg_expr_op(m, "sum"), mg_expr_value(m, "X", NULL)),
                          mg_expr_attribute(m, "dim", mg_extent_int(m, 0), NULL)));
  mg_model_output(m, mg_expr_value(m, "Y", NULL));
  if (mg_model_print(m, &s, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_string_equal(s, text);
  mg_model_list *l = list_of(m);
  assert_int_equal(l->n_launches, 5); /* an update and a scale a layer, a sum */
  assert_int_equal(l->n_pieces, 2);   /* both layers' are one */
  mg_model_list_free(l), mg_string_free(s), mg_model_free(m);

  /* The first error sticks; calls after it nest, and do nothing. */
  const mg_extent *none[2] = {NULL, NULL};
  assert_null(mg_model_new("no name", NULL));
  m = mg_model_new("b", NULL);
  assert_null(mg_expr_list(m, 2, none));
  mg_step_let(m, "Y", mg_expr_arg(m, mg_expr_op(m, "scale"), mg_expr_constant(m, "i1")));
  mg_model_symbol_new(m, "also bad", 1, 64, 0);
  mg_model_output(m, mg_expr_value(m, "Y", NULL));
  assert_int_equal(mg_model_print(m, &s, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "expected a constant such as 1/8, found 'i1'"));
  assert_int_equal(mg_model_list_of(m, &l, &e), MG_BAD_INPUT);
  mg_model_free(m);
}

/* The statements and sizes that the one above has not: sizes of a launch, foreign kernels, match, names in files. */
static void test_every_step(void **state) {
  static const char text[] =
      "model b\nsym n in 1..64\nsym p in 2..9 device\ninput X : f32[n, 6]\ninput C : f32[1, 6] = sin at p-1 base 100\n"
      "weight W : f32[6, 6] from \"q\", \"k\" transposed\nstate K : f32[p, 6]\n"
      "A = cast(matmul(X, W), f32)\n"
      "B, K = extern user \"f\" in \"f.cu\" (A, K; p, ceil((n+3)/4)) : f32[floor((n+7)/8), 6], in K scratch 16*n\n"
      "match B : f32[r, 6]\nD = extern library \"lib.g\" (A) : in A\noutput B, D\n";
  const char *const names[2] = {"B", "K"}, *const d = "D", *const from[2] = {"q", "k"};
  mg_model *m = mg_model_new("b", NULL);
  mg_error e;
  char *s;
  (void)state;
  mg_model_symbol_new(m, "n", 1, 64, 0), mg_model_symbol_new(m, "p", 2, 9, 1);
  const mg_extent *n = mg_extent_name(m, "n"), *p = mg_extent_name(m, "p"), *six = mg_extent_int(m, 6),
                  *one = mg_extent_int(m, 1);
  const mg_extent *x[2] = {n, six}, *c[2] = {one, six}, *w[2] = {six, six}, *k[2] = {p, six},
                  *r[2] = {mg_extent_name(m, "r"), six};
  const mg_extent *b[2] = {mg_extent_of(m, 'f', mg_extent_of(m, '+', n, mg_extent_int(m, 7), 0), NULL, 8), six};
  mg_model_declare(m, MG_VALUE_INPUT, "X", 0, MG_F32, 2, x), mg_model_declare(m, MG_VALUE_INPUT, "C", 0, MG_F32, 2, c);
  mg_model_table(m, "C", 's', mg_extent_of(m, '-', p, one, 0), 100);
  mg_model_declare(m, MG_VALUE_WEIGHT, "W", 0, MG_F32, 2, w), mg_model_from(m, "W", 2, from, 1);
  mg_model_declare(m, MG_VALUE_STATE, "K", 0, MG_F32, 2, k);
  mg_expr *product =
      mg_expr_arg(m, mg_expr_arg(m, mg_expr_op(m, "matmul"), mg_expr_value(m, "X", NULL)), mg_expr_value(m, "W", NULL));
  mg_step_let(m, "A", mg_expr_arg(m, mg_expr_arg(m, mg_expr_op(m, "cast"), product), mg_expr_constant(m, "f32")));
  mg_step *f = mg_step_foreign(m, 2, names, 0, "f", "f.cu");
  mg_step_arg(m, f, mg_expr_value(m, "A", NULL)), mg_step_arg(m, f, mg_expr_value(m, "K", NULL));
  mg_step_size(m, f, p),
      mg_step_size(m, f, mg_extent_of(m, 'c', mg_extent_of(m, '+', n, mg_extent_int(m, 3), 0), NULL, 4));
  mg_step_result(m, f, MG_F32, 2, b), mg_step_in_place(m, f, "K");
  mg_step_scratch(m, f, mg_extent_of(m, '*', mg_extent_int(m, 16), n, 0));
  mg_step_match(m, mg_expr_value(m, "B", NULL), MG_F32, 2, r);
  mg_step *g = mg_step_foreign(m, 1, &d, 1, "lib.g", NULL);
  mg_step_arg(m, g, mg_expr_value(m, "A", NULL)), mg_step_in_place(m, g, "A");
  mg_model_output(m, mg_expr_value(m, "B", NULL)), mg_model_output(m, mg_expr_value(m, "D", NULL));
  if (mg_model_print(m, &s, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  mg_model *read = model_of(s); /* brackets are printed where they have to be */
  mg_model_list *l[2] = {list_of(m), list_of(read)};
  mg_string_free(s);
  mg_model *as = model_of(text);
  char *t;
  assert_int_equal(mg_model_print(as, &t, &e), MG_OK);
  assert_int_equal(mg_model_print(m, &s, &e), MG_OK);
  assert_string_equal(s, t);
  assert_int_equal(l[0]->n_launches, 3);
  assert_int_equal(l[1]->n_values, l[0]->n_values);
  mg_string_free(s), mg_string_free(t), mg_model_list_free(l[0]), mg_model_list_free(l[1]), mg_model_free(m),
      mg_model_free(read), mg_model_free(as);
}

/* Where, what was expected, what was found. */
static void test_errors(void **state) {
#define DECLS                                                                                                          \
  "model m\nsym n in 1..64\nsym p in 1..32 device\ninput X : f32[n, 8]\nweight W[2] : f32[8, 8]\nstate K : f32[n, p, 8]\n" /* 6 lines */
#define FN "fn f(A : f32[a, 8], B : f32[8, b]) : f32[a, b] { return matmul(A, B) }\n"
  static const struct { const char *text, *where, *msg;
  } bad[] = {
      {"", "m:1:1", "expected 'model', found the end of the text"},
      {DECLS "Y = exp(X)", "m:7:11", "expected an output, found the end of the text"},
      {DECLS "sym n in 1..2", "m:7:5", "'n' is a symbol already"},
      {DECLS "sym q in 3..2", "m:7:5", "expected bounds 1 <= least <= most <= 2^40, found 3..2"},
      {DECLS "Y = exp(Z) output Y", "m:7:9", "'Z' is not defined here"},
      {DECLS "Y = exq(X) output Y", "m:7:5", "'exq' is no operator, nor a function defined before"},
      {DECLS "Y = exp(X, X) output Y", "m:7:5", "exp takes 1 operand"},
      {DECLS "Y = sum(X) output Y", "m:7:5", "sum needs dim="},
      {DECLS "Y = matmul(X, W) output Y", "m:7:15", "'W' is 2 tensors: expected W[..]"},
      {DECLS "Y = matmul(X, W[2]) output Y", "m:7:15", "'W' has 0 to 1, found 2"},
      {DECLS "Y = matmul(X, W[n]) output Y", "m:7:17", "expected a number for which of several, found n"},
      {DECLS "Y = reshape(X, [n, 9]) output Y", "m:7:5", "[n, 8] and [n, 9] are not known to have as many elements"},
      {DECLS "Y = add(X, reshape(K, [n*p, 8])) output Y", "m:7:5", "[n, 8] and [n*p, 8] do not broadcast"},
      {DECLS "Y = slice(X, dim=1, from=4, n=5) output Y", "m:7:5", "from=4, n=5 goes beyond"},
      {DECLS "Y = slice(X, dim=0, from=0, n=n-1) output Y", "m:7:5",
       "slice: dimension 0 has 1 elements: from=0, n=0 goes beyond"},
      {DECLS FN "Y = f(X, W) output Y", "m:8:10", "'W' is 2 tensors"},
      {DECLS FN "Y = f(X) output Y", "m:8:1", "f takes 2 operands, found 1"},
      {DECLS FN "Y = f(W[0], X) output Y", "m:8:13", "f: 'B' dimension 0: expected 8, found n"},
      {DECLS FN "Y = f(K, W[0]) output Y", "m:8:7", "f: 'A': expected 2 dimensions, found 3"},
      {DECLS FN "Y, Z = f(X, W[0]) output Y", "m:8:1", "f has 1 result, found 2 names"},
      {DECLS "fn g(A : f32[a, 8]) : f32[a, 9] { return exp(A) }\nY = g(X) output Y", "m:7:42",
       "result 0: expected f32[n, 9], found f32[n, 8]"},
      {DECLS "fn g(A : f32[a, 8]) : f32[a, 8] { B = exp(A) }\nY = g(X) output Y", "m:7:4", "g returns nothing"},
      {DECLS "fn g(A : f32[a, 8]) : f32[a, 8] { return exp(X) }\nY = g(X) output Y", "m:7:46",
       "'X' is not defined here"},
      {DECLS "fn g(A : state f32[a, 8]) : f32[a, 8] { return exp(A) }\nY = g(X) output Y", "m:8:7",
       "g updates 'A': expected a state, found 'X'"},
      {DECLS "match X : f32[n, 9] Y = exp(X) output Y", "m:7:1", "match: 'X' dimension 1: expected 9, found 8"},
      {DECLS "match X : f32[n, 8, 1] Y = exp(X) output Y", "m:7:1", "expected 3 dimensions, found 2"},
      {DECLS "update X at 0 = exp(X) Y = exp(X) output Y", "m:7:1", "'X' is no state that may be updated here"},
      {DECLS "update K at 0 = reshape(X, [n, 1, 8]) output X", "m:7:46", "'X' is what it was: expected a result"},
      {DECLS "update K at 0 = X output X", "m:7:1", "update K: expected 3 dimensions, found 2"},
      {DECLS "for l=2 { X = concat(X, X, dim=0) } output X", "m:7:11",
       "'X' keeps type and shape in a loop: expected f32[n, 8], found f32[2*n, 8]"},
      {DECLS "for l=n { X = exp(X) } output X", "m:7:7", "expected a number for the turns of a loop, found n"},
      {DECLS "for l=2 { X = exp(X) output X", "m:7:22", "'output' does not stand here"},
      {DECLS "return X output X", "m:7:1", "a return stands in a function"},
      {DECLS "Y = extern user \"k (X) : f32[n, 8] output Y", "m:7:17", "expected the closing quote"},
      {DECLS "Y, Z = extern user \"k\" (X) : f32[n, 8] output Y", "m:7:1", "2 names for 1 result"},
      {DECLS "Y, Z = extern user \"k\" (X, K) : f32[n, 8], in W output Y", "m:7:47",
       "expected an operand of k, found 'W'"},
      {DECLS "Y, Z = extern user \"k\" (X, K) : f32[n, 8], in X output Y", "m:7:25",
       "'X' is no state or result that may be changed in place here"},
      {DECLS "Y, Z = extern user \"k\" (K, K) : f32[n, 8], in K output Y", "m:7:47", "'K' is several operands of k"},
      {DECLS "A = K Y, Z = extern user \"k\" (A, K) : f32[n, 8], in K output Y", "m:7:34",
       "'K' is two operands, and changed in place"},
      {DECLS "Y, Z, V = extern user \"k\" (K) : f32[n, 8], in K, in K output Y", "m:7:28", "'K' is two results"},
      {DECLS "A = exp(X) Y = extern user \"k\" (A) : in A Z = exp(A) output Z", "m:7:51",
       "'A' was changed in place, and is not there any more"},
      {DECLS "A = exp(X) Y = extern user \"k\" (A) : in A output A", "m:7:50", "'A' was changed in place"},
      {DECLS "A = exp(X) B = A Y = extern user \"k\" (A) : in A output B", "m:7:56", "'B' was changed in place"},
      {DECLS "A = exp(X) Y = extern user \"k\" (A, A) : in A output Y", "m:7:44", "'A' is several operands of k"},
      {DECLS "A = exp(X) B = A Y = extern user \"k\" (A, B) : in A output Y", "m:7:39",
       "'A' is two operands, and changed"},
      {DECLS "A = exp(X) Y, Z = extern user \"k\" (A) : in A, in A output Y", "m:7:36", "'A' is two results"},
      {DECLS "Y = extern user \"k\" (W[1]) : in W output Y", "m:7:22", "'W' is no state or result that may be changed"},
      {DECLS "Y = extern user \"k\" (X) : f32[n, 8] scratch n-1 output Y", "m:7:45",
       "'scratch' dimension 0: expected 1 to 2^40 elements"},
      {DECLS "W = exp(X) output W", "m:7:1", "'W' is a weight or state, and keeps its name"},
      {DECLS "Y = exp(K) n = exp(X) output Y", "m:7:12", "'n' is a size, and keeps its name"},
      {DECLS "X = X output X", "m:7:14", "expected a result"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    mg_model *m = NULL;
    mg_model_list *l = NULL;
    mg_error e;
    memset(&e, 0, sizeof e);
    mg_status s = mg_model_parse(bad[k].text, strlen(bad[k].text), "m", NULL, &m, &e);
    if (s == MG_OK) s = mg_model_list_of(m, &l, &e);
    if (s == MG_OK) fail_msg("accepted:\n%s", bad[k].text);
    if (strcmp(e.where, bad[k].where) || !strstr(e.msg, bad[k].msg) || e.status != s)
      print_message("%s\nexpected %s: %s\nfound    %s: %s\n", bad[k].text, bad[k].where, bad[k].msg, e.where, e.msg);
    assert_string_equal(e.where, bad[k].where);
    assert_non_null(strstr(e.msg, bad[k].msg));
    assert_int_equal(e.status, s);
    mg_model_list_free(l), mg_model_free(m);
  }
}

/* Texts that are short and say much end soon, with MG_LIMIT. */
static void test_limits(void **state) {
  static char text[200000];
  mg_model *m;
  mg_model_list *l;
  mg_error e;
  (void)state;
  for (int kind = 0; kind < 5; kind++) {
    int n = snprintf(text, sizeof text, "model m input X : f32[2, 2] ");
    if (kind == 0) { /* 2^40 calls without a launch */
      n += snprintf(text + n, sizeof text - (size_t)n, "fn h0(A : f32[2, 2]) : f32[2, 2] { return A } ");
      for (int k = 1; k <= 40; k++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "fn h%d(A : f32[2, 2]) : f32[2, 2] { A = h%d(A) A = h%d(A) return A } ", k, k - 1, k - 1);
      n += snprintf(text + n, sizeof text - (size_t)n, "Y = h40(X)");
    } else if (kind == 1) { /* loops in loops that do nothing */
      for (int k = 0; k < 40; k++) n += snprintf(text + n, sizeof text - (size_t)n, "for l%d=4000 { ", k);
      for (int k = 0; k < 40; k++) n += snprintf(text + n, sizeof text - (size_t)n, "} ");
    } else if (kind == 2) { /* a deep chain of calls */
      n += snprintf(text + n, sizeof text - (size_t)n, "fn g0(A : f32[2, 2]) : f32[2, 2] { return A } ");
      for (int k = 1; k <= 900; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "fn g%d(A : f32[2, 2]) : f32[2, 2] { B = g%d(A) return B } ",
                      k, k - 1);
      n += snprintf(text + n, sizeof text - (size_t)n, "Y = g900(X)");
    } else if (kind == 3) { /* a long size */
      n += snprintf(text + n, sizeof text - (size_t)n, "Y = reshape(X, [1");
      for (int k = 0; k < 90000; k++) text[n++] = k & 1 ? '1' : '+';
      n += snprintf(text + n, sizeof text - (size_t)n, "])");
    } else { /* deep calls of operators */
      n += snprintf(text + n, sizeof text - (size_t)n, "Y = ");
      for (int k = 0; k < 30000; k++) n += snprintf(text + n, sizeof text - (size_t)n, "exp(");
    }
    snprintf(text + n, sizeof text - (size_t)n, " Y = exp(X) output Y");
    mg_status s = mg_model_parse(text, strlen(text), "m", NULL, &m, &e);
    if (s == MG_OK) s = mg_model_list_of(m, &l, &e);
    if (s != MG_LIMIT) fail_msg("%d: %s", kind, s == MG_OK ? "accepted" : e.msg);
    mg_model_free(m);
  }
}

/* Failing allocation 1, 2, 3 ..: an error each time, nothing leaks. */
static void test_memory(void **state) {
  const char *text = text_of(files[0]);
  mg_config c = mg_config_default();
  mg_model *m = NULL;
  mg_error e;
  int failed = 0;
  (void)state;
  c.separate = 1;
  for (c.allocation_limit = 1;; c.allocation_limit += 7) {
    const mg_status s = mg_model_parse(text, strlen(text), "m", &c, &m, &e);
    if (s == MG_OK) break;
    assert_int_equal(s, MG_NO_MEMORY);
    failed++;
  }
  assert_true(failed > 50);
  mg_model_free(m);
}

/* ---- the plan */

/* The figure of Relax: two storages of 2*n*4 bytes. */
static void test_relax(void **state) {
  mg_model *m = model_of(text_of(files[1]));
  mg_model_list *l = list_of(m);
  mg_model_plan *p = plan_of(l);
  mg_error e;
  char *s;
  (void)state;
  assert_int_equal(p->n_storages, 2);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(mg_size_print(l->sizes, p->size[k], &s, &e), MG_OK);
    assert_string_equal(s, "8*n");
    mg_string_free(s);
  }
  for (uint32_t k = 0; k < 4; k++) assert_int_equal(p->storage[p->launch[k].out[0]], 1 + k % 2);
  assert_int_equal(mg_model_plan_print(p, &s, &e), MG_OK);
  assert_non_null(strstr(s, "storage 0: 8*n bytes, at most 512\nstorage 1: 8*n bytes, at most 512\n"));
  mg_string_free(s), mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
}

/* Sizes that no order is known of do not share; a known one does, and grows. */
static void test_sharing(void **state) {
  static const struct { const char *text; uint32_t storages;
  } cases[] = {
      {"sym n in 1..64 sym m in 1..64 input X : f32[n] input Z : f32[m] A = exp(X) B = sum(A, dim=0) C = mul(exp(Z), B) D = sum(C, dim=0) output D",
       3}, /* n; 1; m */
      {"sym n in 1..64 sym m in 64..99 input X : f32[n] input Z : f32[m] A = exp(X) B = sum(A, dim=0) C = mul(exp(Z), B) D = sum(C, dim=0) output D",
       2}, /* n <= m; 1 */
      {"sym n in 1..64 input X : f32[n] A = exp(X) B = repeat(A, dim=0, n=4) C = exp(B) D = sum(C, dim=0) output D",
       2}, /* n grows to 4 n */
      {"sym n in 2..9 input X : f32[n] A = slice(X, dim=0, from=0, n=floor(n/2)) B = exp(A) C = slice(X, dim=0, from=0, n=ceil(n/2)) D = exp(C) E = sum(D, dim=0) F = add(E, B) output F",
       3},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[512];
    snprintf(text, sizeof text, "model m %s", cases[k].text);
    mg_model *m = model_of(text);
    mg_model_list *l = list_of(m);
    mg_model_plan *p = plan_of(l);
    if (p->n_storages != cases[k].storages) {
      char *s;
      mg_model_plan_print(p, &s, NULL);
      fail_msg("expected %u storages, found\n%s", cases[k].storages, s);
    }
    mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
  }
}

static mg_status foreign(void *user, const mg_foreign_call *c,
                         mg_error *e) { /* sums what it reads into all it writes */
  double sum = 0;
  (void)e;
  ++*(int *)user;
  for (int k = 0; k < c->n_in; k++)
    for (int64_t i = 0; i < mg_shape_elements(&c->in_shape[k]); i++) sum += c->in[k][i] / (double)(i + 1);
  for (int k = 0; k < c->n_sizes; k++) sum += (double)c->size[k];
  for (int k = 0; k < c->n_out; k++)
    for (int64_t i = 0; i < mg_shape_elements(&c->out_shape[k]); i++) c->out[k][i] = sum / (double)(i + 2);
  return MG_OK;
}

/* Runs three steps from (n, p) on without a plan and with one, in this order: MG_OK where all bits are the same,
   MG_NOT_FOUND where one is another, else the error of a step. */
static mg_status compare(const mg_model_list *l, const mg_model_plan *p, int64_t n, int64_t t, uint64_t order,
                         mg_error *e) {
  const int64_t room[2] = {n, t + 2};
  int calls = 0;
  mg_model_data *a = data_of(l, room), *b = data_of(l, room);
  mg_status s = MG_OK;
  for (int64_t k = 0; k < 3 && s == MG_OK; k++) {
    const int64_t sym[2] = {n, t + k};
    mg_model_config c;
    memset(&c, 0, sizeof c);
    c.inputs = 5 + (uint64_t)k, c.foreign = foreign, c.user = &calls;
    step(a, sym, &c);
    c.plan = p, c.order = order;
    s = mg_model_step(b, sym, &c, e);
    for (uint32_t v = 1; v < l->n_values && s == MG_OK; v++) {
      mg_shape shape;
      int output = 0;
      for (int j = 0; j < l->m->n_outputs; j++) output |= l->output[j] == v;
      if (l->value[v].kind != MG_VALUE_STATE && !output) continue;
      assert_int_equal(mg_value_shape(l, &l->value[v], output ? sym : room, &shape, e), MG_OK);
      if (memcmp(a->data[v], b->data[v], (size_t)mg_shape_elements(&shape) * sizeof(double)))
        s = mg_fail(e, MG_NOT_FOUND, "compare", "'%s' is another", l->value[v].name);
    }
  }
  mg_model_data_free(a), mg_model_data_free(b);
  return s;
}
/* Every file's plan, at sizes from least to most, in order and in six other orders. */
static void test_plans(void **state) {
  static const int64_t sizes[][2] = {{1, 1}, {1, 7}, {2, 3}, {3, 10}, {4, 14}};
  (void)state;
  for (int f = 0; f < FILES; f++) {
    mg_model *m = model_of(text_of(files[f]));
    mg_model_list *l = list_of(m);
    mg_model_plan *p = plan_of(l);
    mg_error e;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      for (uint64_t order = 0; order <= 6; order++)
        if (compare(l, p, sizes[k][0], sizes[k][1], order, &e) != MG_OK)
          fail_msg("%s at %d, %d, order %d: %s: %s", files[f], (int)sizes[k][0], (int)sizes[k][1], (int)order, e.where,
                   e.msg);
    mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
  }
}

/* 1 if the run refuses the plan: in order, or in one of four others. */
static int run_refuses(const mg_model_list *l, const mg_model_plan *p) {
  mg_error e;
  for (uint64_t order = 0; order <= 4; order++)
    if (compare(l, p, 3, 5, order, &e) != MG_OK) return 1;
  return 0;
}
/* A value put where another lives at its making and after it: how many, all refused. */
static int aliases(const mg_model_list *l, mg_model_plan *p) {
  int n = 0;
  mg_error e;
  for (uint32_t v = 1; v < l->n_values; v++)
    for (uint32_t u = 1; u < l->n_values; u++) {
      if (l->value[v].kind != MG_VALUE_MADE || l->value[u].kind != MG_VALUE_MADE || u == v ||
          p->storage[u] == p->storage[v])
        continue;
      if (p->first[u] > p->first[v] || p->last[u] <= p->first[v] || p->last[u] == p->n_launches) continue;
      const uint32_t was = p->storage[v];
      p->storage[v] = p->storage[u];
      if (mg_model_plan_check(p, &e) == MG_OK || compare(l, p, 2, 3, 0, &e) == MG_OK)
        fail_msg("'%s' (%u) over '%s' (%u) is accepted", l->value[v].name, v, l->value[u].name, u);
      p->storage[v] = was, n++;
    }
  return n;
}
/* Mutants of tiny's plan.  Each is refused by the check on sizes, and each by the run on the arena as well. */
static void test_mutants(void **state) {
  mg_model *m = model_of(text_of(files[0]));
  mg_model_list *l = list_of(m);
  mg_model_plan *p = plan_of(l);
  mg_error e;
  int n[5] = {0, 0, 0, 0, 0};
  (void)state;
  assert_int_equal(run_refuses(l, p), 0);
  for (uint32_t v = 1; v < l->n_values; v++) { /* a lifetime shortened by one */
    if (l->value[v].kind != MG_VALUE_MADE || p->last[v] == p->first[v]) continue;
    p->last[v]--;
    if (mg_model_plan_check(p, &e) == MG_OK || compare(l, p, 2, 3, 0, &e) == MG_OK)
      fail_msg("a shorter life of '%s' (%u) is accepted", l->value[v].name, v);
    p->last[v]++, n[0]++;
  }
  for (uint32_t k = 0; k < p->n_launches; k++) { /* an update moved behind its reader, the next that reads the state */
    uint32_t r = k + 1;
    if (p->launch[k].kind != MG_LAUNCH_UPDATE) continue;
    while (r < p->n_launches && p->launch[r].in[0] != p->launch[k].out[0] && p->launch[r].in[1] != p->launch[k].out[0])
      r++;
    assert_true(r < p->n_launches);
    const mg_launch moved = p->launch[k];
    memmove(&p->launch[k], &p->launch[k + 1], (r - k) * sizeof moved);
    p->launch[r] = moved;
    if (mg_model_plan_check(p, &e) == MG_OK || !run_refuses(l, p))
      fail_msg("an update after its reader, launch %u, is accepted", k);
    memmove(&p->launch[k + 1], &p->launch[k], (r - k) * sizeof moved);
    p->launch[k] = moved, n[1]++;
  }
  n[2] = aliases(l, p);
  const uint32_t k0 = mg_value_find(l, "K", 0), k1 = mg_value_find(l, "K", 1);
  for (int part = 0; part < 2; part++) { /* two layers' states swapped: where they are written; everywhere */
    for (int back = 0; back < 2; back++) {
      for (uint32_t k = 0; k < p->n_launches; k++)
        for (int j = 0; j < MG_MAX_OUT; j++) {
          uint32_t *at[2] = {&p->launch[k].out[j], &p->launch[k].in[j]};
          for (int i = 0; i <= part; i++)
            if (*at[i] == k0 || *at[i] == k1) *at[i] = k0 + k1 - *at[i];
        }
      if (!back && (mg_model_plan_check(p, &e) == MG_OK || !run_refuses(l, p))) fail_msg("swapped states are accepted");
    }
    n[3]++;
  }
  for (uint32_t s = 0; s < p->n_storages; s++) { /* a storage less a byte */
    const mg_size was = p->size[s];
    p->size[s] = mg_size_sub(l->sizes, was, mg_size_int(l->sizes, 1));
    if (mg_model_plan_check(p, &e) == MG_OK) fail_msg("storage %u less a byte is accepted", s);
    p->size[s] = was, n[4]++;
  }
  assert_int_equal(mg_model_plan_check(p, &e), MG_OK);
  print_message("mutants refused: %d shorter lives, %d moved updates, %d aliases, %d swaps, %d small storages\n", n[0],
                n[1], n[2], n[3], n[4]);
  assert_true(n[0] > 20 && n[1] == 4 && n[2] > 20);
  mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
}
/* Of foreign kernels: a scratch where others live, and an operand's storage as scratch. */
static void test_scratch(void **state) {
  mg_model *m = model_of(text_of(files[2]));
  mg_model_list *l = list_of(m);
  mg_model_plan *p = plan_of(l);
  mg_error e;
  int n = 0;
  (void)state;
  assert_true(aliases(l, p) > 10);
  for (uint32_t k = 0; k < p->n_launches; k++) {
    const mg_launch *a = &p->launch[k];
    for (int j = 0; a->scratch && j < a->n_in + a->n_out; j++) {
      const uint32_t v = j < a->n_in ? a->in[j] : a->out[j - a->n_in], was = p->storage[a->scratch];
      if (!p->storage[v]) continue;
      p->storage[a->scratch] = p->storage[v];
      assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
      p->storage[a->scratch] = was, n++;
    }
  }
  assert_int_equal(n, 5); /* U, T, R; P, N */
  assert_int_equal(mg_model_plan_check(p, &e), MG_OK);
  mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
}

/* Foreign kernels and checks at a launch: one clear error before anything runs. */
static void test_launches(void **state) {
  int64_t room[2] = {4, 8}, sym[2] = {4, 8};
  int calls = 0;
  mg_model_config c;
  mg_error e;
  (void)state;
  memset(&c, 0, sizeof c);
  c.inputs = 3;
  mg_model *m = model_of(text_of(files[2]));
  mg_model_list *l = list_of(m);
  mg_model_data *d = data_of(l, room);
  assert_int_equal(mg_model_step(d, sym, &c, &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "decode_attn is not mirage's"));
  c.foreign = foreign, c.user = &calls;
  step(d, sym, &c);
  assert_int_equal(calls, 4);
  sym[1] = 9;
  assert_int_equal(mg_model_step(d, sym, &c, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "'K' dimension 1: there is room for 8, found p = 9"));
  sym[1] = 17;
  assert_int_equal(mg_model_step(d, sym, &c, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "p is in 1..16, found 17"));
  assert_int_equal(calls, 4);
  mg_model_data_free(d), mg_model_list_free(l), mg_model_free(m);

  m = model_of(
      "model m sym n in 1..8 sym p in 1..9 input X : f32[n] state K : f32[p] match X : f32[p] update K at n-1 = sum(X, dim=0) Y = exp(K) output Y");
  l = list_of(m), sym[0] = sym[1] = 4, room[0] = 4, room[1] = 9;
  assert_int_equal(l->n_checks, 1);
  d = data_of(l, room);
  step(d, sym, &c);
  const double before = d->data[mg_value_find(l, "K", -1)][2];
  sym[0] = 3;
  assert_int_equal(mg_model_step(d, sym, &c, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "match: 'X' dimension 0: expected p = 4, found 3"));
  assert_true(d->data[mg_value_find(l, "K", -1)][2] == before);
  mg_model_data_free(d), mg_model_list_free(l), mg_model_free(m);

  m = model_of("model m sym n in 1..8 input X : f32[1] state K : f32[4] update K at n = X Y = exp(K) output Y");
  l = list_of(m), sym[0] = 4, room[0] = 4;
  d = data_of(l, room);
  assert_int_equal(mg_model_step(d, sym, &c, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "dimension 0 has 4 elements, found 1 from 4 on"));
  mg_model_data_free(d), mg_model_list_free(l), mg_model_free(m);
}

/* Doubles what it changes in place, and adds its last operand. */
static mg_status doubled(void *user, const mg_foreign_call *c, mg_error *e) {
  (void)user, (void)e;
  for (int64_t i = 0; i < mg_shape_elements(&c->out_shape[0]); i++)
    c->out[0][i] = 2 * c->out[0][i] + c->in[c->n_in - 1][i];
  return MG_OK;
}
/* What is made in the place of a value that the model made: there, in every order, and in a partition. */
static void test_in_place(void **state) {
  static const char text[] =
      "model m sym n in 1..8 input X : f32[n, 4] fn twice(A : f32[a, b], B : f32[a, b]) : f32[a, b] { C = extern user \"k\" (A, B) : in A return C }\n"
      "weight W : f32[2, 4] Q = neg(X) R = neg(Q) A = add(R, X) B = neg(A) H = add(A, B) G = sqr(A) A = twice(A, B) C = add(A, G) D = extern user \"k\" (C, H) : in C E = add(A, D) E = add(E, H)\n"
      "P = neg(W) R = exp(P) S = extern user \"k\" (P, W) : in P T = add(R, S)\n"
      "P = neg(X) F = extern user \"k\" (P) : in P M = exp(X) R = add(M, F) N = extern user \"k\" (M, X) : in M Z = add(R, N)\n"
      "O = exp(neg(X)) V = reshape(O, [4*n]) O = extern user \"k\" (O, X) : in O Z = add(Z, reshape(add(reshape(O, [4*n]), V), [n, 4])) output E, A, T, Z";
  mg_model *m = model_of(text);
  mg_model_list *l = list_of(m), *part = NULL;
  mg_error e;
  int n = 0, shared = 0;
  (void)state;
  if (mg_model_partition(l, NULL, &part, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(mg_model_partition_check(part, &e), MG_OK);
  for (int which = 0; which < 2; which++) {
    mg_model_list *of = which ? part : l;
    mg_model_plan *p = plan_of(of);
    for (uint32_t k = 0; k < of->n_launches; k++) /* it is an operand's place; no other result is in one */
      for (int j = 0; j < of->launch[k].n_in; j++) {
        const mg_launch *a = &of->launch[k];
        const uint32_t v = a->in[j], out = a->out[0];
        if (of->value[v].kind != MG_VALUE_MADE || p->last[v] != k) continue;
        if (of->value[out].alias) assert_int_equal(of->value[out].alias, a->in[0]);
        if (of->value[out].alias || p->storage[v] == p->storage[out]) continue;
        const uint32_t was = p->storage[out];
        p->storage[out] = p->storage[v];
        assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
        p->storage[out] = was, shared++;
      }
    for (uint32_t v = 1; v < of->n_values; v++) {
      const uint32_t in = of->value[v].alias, was = p->storage[v];
      if (!in) continue;
      assert_int_equal(p->storage[in], was);
      p->storage[v] = ++p->n_storages, p->size[p->n_storages - 1] = of->value[v].bytes; /* a storage of its own */
      p->total = mgi_plan_total(p);
      assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
      assert_non_null(strstr(e.msg, "in whose place it is made"));
      p->storage[v] = was, p->n_storages--, p->total = mgi_plan_total(p), n++;
    }
    for (uint64_t order = 0; order <= 20; order++) {
      const int64_t sym[1] = {3};
      mg_model_data *d = data_of(of, sym);
      mg_model_config c;
      memset(&c, 0, sizeof c);
      c.inputs = 9, c.foreign = doubled, c.plan = order ? p : NULL, c.order = order - (order > 0);
      step(d, sym, &c);
      const double *x = d->data[mg_value_find(of, "X", -1)], *y = d->data[of->output[0]], *a = d->data[of->output[1]],
                   *t = d->data[of->output[2]], *w = d->data[mg_value_find(of, "W", -1)];
      for (int i = 0; i < 12; i++) {
        assert_true(fabs(a[i] - 2 * x[i]) < 1e-14); /* 2 (2 x) - 2 x */
        assert_true(fabs(y[i] - (2 * x[i] + 2 * (2 * x[i] + 4 * x[i] * x[i]))) < 1e-13);
      }
      const double *z = d->data[of->output[3]];
      for (int i = 0; i < 12; i++) assert_true(fabs(z[i] - (3 * exp(x[i]) + 3 * exp(-x[i]) - x[i])) < 1e-13);
      for (int i = 0; i < 8; i++) assert_true(fabs(t[i] - (exp(-w[i]) - w[i])) < 1e-14);
      mg_model_data_free(d);
    }
    assert_true(aliases(of, p) > 0);
    mg_model_plan_free(p);
  }
  assert_int_equal(n, 12);
  assert_true(shared > 3);
  mg_model_list_free(part), mg_model_list_free(l), mg_model_free(m);
}

static mg_status noted(void *user, const mg_foreign_call *c, mg_error *e) { /* writes down in what order kernels run */
  (void)e;
  strcat((char *)user, c->step->symbol);
  for (int64_t i = 0; i < mg_shape_elements(&c->out_shape[0]); i++) c->out[0][i] = 1;
  return MG_OK;
}
/* Seeds give many orders, and each keeps what depends: d behind a, e last; where b and c share a storage, c behind
   the reader of b. */
static void test_orders(void **state) {
  static const char text[] =
      "model m input X : f32[4] A = extern user \"a\" (X) : f32[4] B = extern user \"b\" (X) : f32[5] D = extern user \"d\" (A) : f32[6] R = extern user \"r\" (B) : f32[7]\n"
      "C = extern user \"c\" (X) : f32[5] E = extern user \"e\" (A, D, R, C) : f32[8] output E";
  mg_model *m = model_of(text);
  mg_model_list *l = list_of(m);
  mg_model_plan *p = plan_of(l);
  mg_model_data *d = data_of(l, NULL);
  char seen[64][8];
  int n = 0;
  (void)state;
  assert_int_equal(p->storage[p->launch[1].out[0]], p->storage[p->launch[4].out[0]]);
  for (uint64_t order = 1; order <= 60; order++) {
    char *now = seen[n];
    mg_model_config c;
    memset(&c, 0, sizeof c);
    *now = 0, c.inputs = 1, c.plan = p, c.order = order, c.foreign = noted, c.user = now;
    step(d, NULL, &c);
    assert_true(strlen(now) == 6 && now[5] == 'e' && strchr(now, 'a') < strchr(now, 'd') &&
                strchr(now, 'b') < strchr(now, 'r') && strchr(now, 'r') < strchr(now, 'c'));
    int k = 0;
    while (k < n && strcmp(seen[k], now)) k++;
    n += k == n;
  }
  print_message("%d orders of 10\n", n); /* 5! / (2! 3!) */
  assert_int_equal(n, 10);
  mg_model_data_free(d), mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
}

/* ---- the partition */

/* 1 if a list and another of its model have the same outputs and states, bit by bit, while p grows up to `most`. */
static int runs_alike(const mg_model_list *l, const mg_model_list *q, const mg_model_plan *plan, int64_t n, int64_t p,
                      int64_t most, uint64_t order) {
  const int64_t sym[2] = {n, p};
  int calls = 0;
  mg_model_distance off;
  mg_model_config c, with;
  mg_error e;
  memset(&c, 0, sizeof c);
  c.foreign = foreign, c.user = &calls, with = c, with.plan = plan, with.order = order;
  const mg_status s = mg_model_compare(l, q, sym, (int)(most - p) + 1, 3, &c, &with, &off, &e);
  return s == MG_OK && off.off == 0;
}
static mg_model_list *partition_of(const mg_model_list *l, int max_kernels, int max_ops) {
  mg_partition_config c;
  mg_model_list *q = NULL;
  mg_error e;
  memset(&c, 0, sizeof c);
  c.max_kernels = max_kernels, c.max_ops = max_ops;
  if (mg_model_partition(l, &c, &q, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return q;
}
/* Pieces by one operator, by default, and large ones, all of them composed to the model by terms and by numbers, on an
   arena with poison, in other orders.  Each piece is a family, or one operator. */
static void test_partition(void **state) {
  static const int limits[][2] = {{1, 1}, {1, 24}, {0, 0}, {9, 64}};
  static const int64_t at[][3] = {{1, 1, 4}, {3, 2, 3}, {4, 15, 16}};
  (void)state;
  for (int k = 0; k < FILES; k++) {
    mg_model *m = model_of(text_of(files[k]));
    mg_model_list *l = list_of(m);
    uint32_t before = UINT32_MAX;
    for (size_t j = 0; j < sizeof limits / sizeof *limits; j++) {
      mg_model_list *q = partition_of(l, limits[j][0], limits[j][1]);
      mg_model_plan *plan = plan_of(q);
      for (uint32_t x = 0; x < q->n_pieces; x++) {
        mg_graph *g = NULL;
        mg_error e;
        const mg_status s = mg_piece_family(q, x, &g, &e);
        if (s != MG_OK && q->piece[x].n_nodes > 1) fail_msg("piece %u is no family: %s", x, e.msg);
        mg_graph_free(g);
      }
      assert_true(q->n_launches <= before); /* limits that are wider leave no more launches */
      before = q->n_launches;
      for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        assert_true(runs_alike(l, q, NULL, at[i][0], at[i][1], at[i][2], 0));
        for (uint64_t order = 0; order < 3; order++)
          assert_true(runs_alike(l, q, plan, at[i][0], at[i][1], at[i][2], order));
      }
      if (!k) print_message("tiny: %u launches of %u pieces, %d kernels a piece: %u of %u\n", l->n_launches,
                            l->n_pieces, limits[j][0], q->n_launches, q->n_pieces);
      mg_model_plan_free(plan), mg_model_list_free(q);
    }
    assert_true(before < l->n_launches);
    mg_model_list_free(l), mg_model_free(m);
  }
}
/* What the shortest path finds is the least of all cuts, tried one by one. */
static double least_of(mgi_parting *P, uint32_t a, uint32_t b, mgi_interval *C) {
  double least = a == b ? 0 : 2 * MGI_NO_PRICE;
  for (uint32_t to = a + 1; to <= b; to++) {
    const double us = mgi_cut_of(P, a, to, C) ? mgi_cut_price(P, C, to == a + 1) : MGI_NO_PRICE;
    const double all = us < MGI_NO_PRICE ? us + least_of(P, to, b, C) : MGI_NO_PRICE;
    if (all < least) least = all;
  }
  return least;
}
static void test_least_cuts(void **state) {
  static const char *const texts[] = {
      "model m sym n in 1..64 input X : f16[n, 64] weight W, V : f16[64, 64] A = matmul(rms_norm(X, rms_norm(reshape(sum(W, dim=0), [64]), reshape(sum(V, dim=1), [64]), eps=1e-3), eps=1e-5), W) B = add(X, A)\n"
      "C = matmul(silu(B), V) D = add(C, B) E = exp(D) O = mul(E, matmul(D, W)) output O, E",
      "model m sym n in 1..8 sym k in 1..4 input X : f32[n, k] A = exp(X) B = reshape(A, [n*k]) C = neg(B) D = reshape(C, [n, k])\n"
      "E = add(D, A) F = matmul(transpose(E, [1, 0]), X) G = matmul(X, F) O = sum(G, dim=1) output O"};
  double best[64];
  uint32_t cut[64];
  static mgi_interval C;
  (void)state;
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    mg_model *m = model_of(texts[k]);
    mg_model_list *l = list_of(m);
    for (int kernels = 1; kernels <= 3; kernels++) {
      mg_partition_config c;
      mgi_parting P;
      mg_error e;
      int cuts = 0;
      memset(&c, 0, sizeof c);
      c.max_kernels = kernels, c.max_ops = 64;
      assert_int_equal(mgi_parting_open(&P, l, &c, &e), MG_OK);
      assert_true(P.n_atoms > 7 && P.n_atoms < 16);
      mgi_parting_cuts(&P, 0, P.n_atoms, &C, best, cut);
      const double least = least_of(&P, 0, P.n_atoms, &C);
      assert_true(fabs(best[P.n_atoms] - least) < 1e-9 * least);
      for (uint32_t x = P.n_atoms; x > 0; x = cut[x]) cuts++;
      assert_true(cuts > 1 && cuts < (int)P.n_atoms);
      mgi_parting_close(&P);
    }
    mg_model_list_free(l), mg_model_free(m);
  }
}
/* 1 if the check by terms refuses q. */
static int refuses(const mg_model_list *q) {
  mg_error e;
  const mg_status s = mg_model_partition_check(q, &e);
  if (s != MG_OK) assert_true(s == MG_NOT_FOUND && strstr(e.msg, "the partition is wrong"));
  return s != MG_OK;
}
/* 1 if two operands of a piece's nodes are one term. */
static int one_term(const mg_piece *p, uint16_t a, uint16_t b) {
  if (a == b || a < MG_MAX_IN || b < MG_MAX_IN) return a == b;
  const mg_piece_node *x = &p->node[a - MG_MAX_IN], *y = &p->node[b - MG_MAX_IN];
  int one = x->n_operands == y->n_operands && x->n_sizes == y->n_sizes && mgi_call_equal(x->op, y->op) &&
            (!x->n_sizes || !memcmp(x->size, y->size, x->n_sizes * sizeof *x->size));
  for (uint32_t j = 0; one && j < x->n_operands; j++) one = one_term(p, x->operand[j], y->operand[j]);
  return one;
}
static void test_partition_mutants(void **state) {
  int n[8] = {0};
  (void)state;
  for (int f = 0; f < FILES; f++) {
    mg_model *m = model_of(text_of(files[f]));
    mg_model_list *l = list_of(m), *q = partition_of(l, 0, 0);
    assert_false(refuses(q));
    for (uint32_t k = 0; k < q->n_launches; k++) {
      mg_launch *a = &q->launch[k], was = *a;
      for (int j = 1; j < a->n_in; j++, *a = was) { /* operands of a launch, results of it, exchanged */
        if (a->in[j] == a->in[0]) continue;
        a->in[0] = was.in[j], a->in[j] = was.in[0], n[0]++;
        if (!refuses(q)) fail_msg("operands 0 and %d of launch %u exchanged are accepted", j, k);
      }
      for (int j = 1; j < a->n_out; j++, *a = was) {
        a->out[0] = was.out[j], a->out[j] = was.out[0], n[1]++;
        if (!refuses(q)) fail_msg("results 0 and %d of launch %u exchanged are accepted", j, k);
      }
      for (uint32_t v = 1; v < q->n_values; v++) { /* a state of another layer */
        if (q->value[v].kind != MG_VALUE_STATE || v == was.in[0] || q->value[was.in[0]].kind != MG_VALUE_STATE)
          continue;
        a->in[0] = v, n[2]++;
        if (!refuses(q)) fail_msg("launch %u with another state is accepted", k);
        *a = was;
      }
      if (a->kind != MG_LAUNCH_UPDATE) continue;
      a->at = mg_size_add(q->sizes, was.at, mg_size_int(q->sizes, 1));
      if (!refuses(q)) fail_msg("update %u elsewhere is accepted", k);
      *a = was;
      for (uint32_t r = k + 1; r < q->n_launches; r++) { /* an update behind its reader */
        int reads = 0;
        for (int j = 0; j < q->launch[r].n_in; j++) reads |= q->launch[r].in[j] == was.out[0];
        if (!reads) continue;
        memmove(a, a + 1, (r - k) * sizeof was), q->launch[r] = was, n[3]++;
        if (!refuses(q) || runs_alike(l, q, NULL, 2, 3, 5, 0)) fail_msg("update %u after its reader is accepted", k);
        memmove(a + 1, a, (r - k) * sizeof was), *a = was;
        break;
      }
    }
    for (uint32_t k = 0; k < q->n_pieces; k++) { /* in a piece: operands, sizes, which node is stored */
      mg_piece *p = &q->piece[k];
      for (uint32_t x = 0; x < p->n_nodes; x++) {
        const mg_piece_node *node = &p->node[x];
        for (uint32_t j = 0; j < node->n_operands; j++) {
          uint16_t *is = (uint16_t *)(uintptr_t)&node->operand[j], own = *is;
          for (uint16_t to = 0; to < MG_MAX_IN + x; to++) {
            if (one_term(p, to, own) || (to >= p->n_in && to < MG_MAX_IN)) continue;
            *is = to, n[4]++;
            if (!refuses(q)) fail_msg("piece %u: another operand of node %u is accepted", k, x);
          }
          *is = own;
        }
        for (uint32_t j = 0; j < node->n_sizes; j++) {
          mg_size *is = (mg_size *)(uintptr_t)&node->size[j], own = *is;
          *is = mg_size_add(q->sizes, own, mg_size_int(q->sizes, 1)), n[5]++;
          if (!refuses(q)) fail_msg("piece %u: another size of node %u is accepted", k, x);
          *is = own;
        }
      }
      for (int j = 0; j < p->n_out; j++) {
        const uint16_t own = p->made[j];
        for (uint16_t to = 0; to < p->n_nodes; to++) {
          if (one_term(p, (uint16_t)(MG_MAX_IN + to), (uint16_t)(MG_MAX_IN + own))) continue;
          p->made[j] = to, n[6]++;
          if (!refuses(q)) fail_msg("piece %u: another node as result %d is accepted", k, j);
        }
        p->made[j] = own;
      }
    }
    assert_false(refuses(q));
    mg_model_list_free(q), mg_model_list_free(l), mg_model_free(m);
  }
  print_message(
      "mutants refused: %d operands, %d results, %d states, %d late updates, %d wires, %d sizes, %d stored nodes\n", n[0],
      n[1], n[2], n[3], n[4], n[5], n[6]);
  assert_true(n[0] > 30 && n[1] > 3 && n[2] > 3 && n[3] > 3 && n[4] > 300 && n[5] > 30 && n[6] > 50);
}

/* What weights alone decide comes first, each operator a piece, and is kept: not what a kernel has by addresses, what is
   larger than what it is made of (f32), hangs on a symbol, or is changed in place. */
static void test_once(void **state) {
  static const char text[] =
      "model m sym n in 1..8 input X : f16[n, 4] weight G : f16[4] weight W[2], V[2] : f16[4, 4] weight R : f16[1, 4]\n"
      "for l=2 { X = matmul(X, mul(W[l], transpose(reshape(scale(G, 1/2), [1, 4]), [1, 0]))) "
      "X = add(X, slice(matmul(X, concat(W[l], V[l], dim=1)), dim=1, from=2, n=4)) X = matmul(X, transpose(W[l], [1, 0])) }\n"
      "X = add(X, add(sqr(repeat(R, dim=0, n=n)), sqr(slice(R, dim=1, from=0, n=4)))) Y = cast(exp(cast(R, f32)), f16) X = add(X, Y)\n"
      "U = matmul(cast(X, f32), cast(W[0], f32)) P = neg(R) S = extern user \"k\" (P, R) : in P X = add(X, S) Z = sqr(abs(G)) output X, U, Z";
  static const char want[] = "scale reshape transpose mul concat mul concat slice sqr cast exp cast abs sqr ";
  char found[sizeof want + 64] = "", *s = NULL;
  const int64_t sym[1] = {3};
  mg_model *m = model_of(text);
  mg_model_list *l = list_of(m), *q = partition_of(l, 0, 0);
  mg_model_plan *p = plan_of(q);
  mg_model_distance off;
  mg_model_config c, with;
  mg_error e;
  int n[5] = {0};
  (void)state;
  for (uint32_t k = 0; k < q->n_once; k++) {
    const mg_piece *x = &q->piece[q->launch[k].piece];
    strcat(found, x->node[0].op->name), strcat(found, " ");
    assert_int_equal(x->n_nodes, 1);
  }
  assert_string_equal(found, want);
  assert_int_equal(mg_model_once_print(q, &s, &e), MG_OK);
  assert_non_null(strstr(s, "once, line 2: mul(W[1], transpose) : f16[4, 4], 32 bytes kept\n"));
  assert_non_null(strstr(s, "once, line 2: scale(G) : f16[4], for another\n"));
  /* two layers' 32 and 64, two rows and Z; V and G are read by no step */
  assert_non_null(strstr(s, "once, when weights are loaded: 14 launches, 216 bytes kept, 72 bytes of weights freed\n"));
  mg_string_free(s);
  assert_int_equal(mg_model_once_print(l, &s, &e), MG_OK);
  assert_null(s);
  memset(&c, 0, sizeof c);
  c.foreign = doubled, with = c, with.plan = p;
  for (with.order = 0; with.order < 4; with.order++) {
    if (mg_model_compare(l, q, sym, 2, 3, &c, &with, &off, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_true(off.off == 0);
  }
  for (uint32_t k = q->n_once; k < q->n_launches; k++) { /* a step's launch as one that is made once */
    const mg_launch was = q->launch[k];
    q->launch[k] = p->launch[k] = q->launch[q->n_once], q->launch[q->n_once] = p->launch[q->n_once] = was, q->n_once++;
    assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
    n[0] += strstr(e.msg, "is made once, and is not of weights alone") != NULL;
    q->n_once--, q->launch[q->n_once] = p->launch[q->n_once] = q->launch[k], q->launch[k] = p->launch[k] = was;
  }
  for (uint32_t k = 0; k < q->n_once; k++) {
    const uint32_t v = q->launch[k].out[0], last = p->last[v];
    if (last != q->n_launches) continue;
    for (p->last[v] = k; p->last[v] < last; p->last[v]++, n[1]++) /* kept for the first step alone */
      assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
    for (uint32_t j = k + 1; j < q->n_launches; j++) { /* its memory taken by another */
      const uint32_t u = q->launch[j].out[0], was = p->storage[u];
      if (q->value[u].kind != MG_VALUE_MADE || q->value[u].alias || q->value[u].taken) continue;
      p->storage[u] = p->storage[v], n[2]++;
      assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
      p->storage[u] = was;
    }
    for (uint32_t j = q->n_once; j < q->n_launches; j++) /* changed in place by a step */
      if (q->launch[j].kind == MG_LAUNCH_FOREIGN) {
        mg_value *x = &q->value[q->launch[j].out[0]];
        const uint32_t was = x->alias;
        x->alias = v, n[3]++;
        assert_int_equal(mg_model_plan_check(p, &e), MG_BAD_INPUT);
        assert_non_null(strstr(e.msg, "which is made once"));
        x->alias = was;
      }
    for (uint32_t j = k + 1; j < q->n_once; j++) { /* of another layer */
      mg_launch *a = &q->launch[k], *b = &q->launch[j];
      if (a->piece != b->piece || !memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in)) continue;
      a->out[0] = b->out[0], b->out[0] = v, n[4]++;
      assert_true(refuses(q));
      b->out[0] = a->out[0], a->out[0] = v;
    }
  }
  assert_int_equal(mg_model_plan_check(p, &e), MG_OK);
  print_message("mutants refused: %d launches, %d lives, %d storages, %d in place, %d layers\n", n[0], n[1], n[2], n[3],
                n[4]);
  assert_true(n[0] > 6 && n[1] > 30 && n[2] > 30 && n[3] == 7 && n[4] == 2);
  mg_model_plan_free(p), mg_model_list_free(q), mg_model_list_free(l), mg_model_free(m);
}

/* Equal operators of weights are made once for all that read them, but what is an output, or read by a foreign kernel,
   and what differs in an operand, a constant, a type or in what it is an operator of. */
static void test_once_for_all(void **state) {
  static const struct { const char *body; uint32_t once; } cases[] = {
      {"X = matmul(X, matmul(W, V)) Y = matmul(X, matmul(W, V))", 1},
      {"X = matmul(X, add(matmul(W, V), W)) Y = matmul(X, sqr(matmul(W, V)))", 3},
      {"X = matmul(X, sqr(scale(W, 1/2))) Y = matmul(X, sqr(scale(W, 1/2)))", 2},
      {"X = matmul(X, sqr(scale(W, 1/2))) Y = matmul(X, sqr(scale(W, 1/3)))", 4},
      {"X = matmul(X, matmul(W, V)) Y = matmul(X, matmul(V, W))", 2},
      {"X = add(matmul(X, sqr(W)), matmul(X, sqr(cast(cast(W, f32), f16)))) Y = matmul(X, sqr(cast(cast(W, f32), f16)))", 4},
      {"Z = sqr(W) X = matmul(X, sqr(W)) Y = matmul(X, Z)", 1},
      {"X = matmul(X, sqr(W)) Z = sqr(W) Y = matmul(X, W)", 1},
      {"X = matmul(X, sqr(W)) Z = sqr(W) Y = matmul(X, W) output Z", 2},
      {"P = sqr(W) S = extern user \"k\" (P) : f16[4, 4] X = matmul(X, S) Y = matmul(X, sqr(W))", 1},
      {"X = matmul(X, sqr(W)) P = sqr(W) S = extern user \"k\" (P) : f16[4, 4] Y = matmul(X, S)", 2}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[400];
    const int64_t sym[1] = {3};
    mg_model_config c;
    mg_model_distance off;
    mg_error e;
    snprintf(text, sizeof text, "model m sym n in 1..8 input X : f16[n, 4] weight W, V : f16[4, 4] %s%s Y", cases[k].body,
             strstr(cases[k].body, "output") ? "," : " output");
    mg_model *m = model_of(text);
    mg_model_list *l = list_of(m), *q = partition_of(l, 0, 0);
    mg_model_plan *p = plan_of(q);
    if (q->n_once != cases[k].once) fail_msg("%s: %u made once", cases[k].body, q->n_once);
    memset(&c, 0, sizeof c);
    c.foreign = doubled, c.plan = p;
    mg_model_config plain = c;
    plain.plan = NULL;
    if (mg_model_compare(l, q, sym, 2, 3, &plain, &c, &off, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_true(off.off == 0);
    mg_model_plan_free(p), mg_model_list_free(q), mg_model_list_free(l), mg_model_free(m);
  }
}

static mg_model_list *folded_of(const mg_model_list *l) {
  mg_partition_config c;
  mg_model_list *q = NULL;
  mg_error e;
  memset(&c, 0, sizeof c);
  c.fold = 1;
  if (mg_model_partition(l, &c, &q, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return q;
}
/* A gain goes into the weights behind it where all its readers are products by weights of their own, in bf16: what is
   made once then.  The check takes it for what is written, and nothing that is near it. */
static void test_fold(void **state) {
  static const struct { const char *text; uint32_t folds, once; } cases[] = {
      {"model m sym n in 1..8 input X : bf16[n, 8] weight G : bf16[8] weight W, V : bf16[8, 4] A = rms_norm(neg(X), G, eps=1e-5) Y = add(matmul(A, W), matmul(A, V)) output Y", 1, 3},
      {"model m input X : bf16[2, 8] weight G : bf16[8] weight W : bf16[8, 4] weight V : bf16[8, 2] A = rms_norm(X, G) Y = matmul(A, W) Z = matmul(A, V) output Y, Z", 2, 3},
      {"model m input X : f16[2, 8] weight G : f16[8] weight W : f16[8, 4] Y = matmul(rms_norm(X, G), W) output Y", 0, 0},
      {"model m input X : bf16[2, 8] weight G : bf16[8] weight W : bf16[8, 4] A = rms_norm(X, G) Y = matmul(A, W) output Y, A", 0, 0},
      {"model m input X : bf16[2, 8] weight G : bf16[8] weight W : bf16[8, 4] A = rms_norm(X, G) Y = matmul(A, W) Z = exp(A) output Y, Z", 0, 0},
      {"model m input X : bf16[2, 8] weight G : bf16[8] weight W : bf16[8, 8] A = rms_norm(X, G) Y = matmul(matmul(A, W), W) output Y", 0, 0},
      {"model m input X : bf16[2, 8] weight G : bf16[8] weight W : bf16[8, 8] Y = matmul(rms_norm(X, G), transpose(W, [1, 0])) output Y", 0, 0},
      {"model m input X, G : bf16[8] weight W : bf16[8, 8] Y = matmul(reshape(rms_norm(X, G), [1, 8]), W) output Y", 0, 0},
      {"model m input X : bf16[2, 8] weight W : bf16[8, 8] Y = matmul(rms_norm(X), W) output Y", 0, 0},
      /* one that is written as another's fold is */
      {"model m input X : bf16[2, 8] weight G, H : bf16[8] weight W, V : bf16[8, 4] Y = matmul(rms_norm(X, G), W) "
       "Z = matmul(rms_norm(X), mul(V, reshape(H, [8, 1]))) output Y, Z", 1, 4},
  };
  int n[3] = {0};
  mg_error e;
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const int64_t sym[1] = {3};
    mg_model *m = model_of(cases[k].text);
    mg_model_list *l = list_of(m), *q = folded_of(l);
    mg_model_distance off;
    assert_int_equal(q->n_folds, cases[k].folds);
    assert_int_equal(q->n_once, cases[k].once);
    if (mg_model_partition_check(q, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    if (mg_model_compare(l, q, sym, 1, 3, NULL, NULL, &off, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    assert_true(off.off < 1e-13);
    mg_model_list_free(q), mg_model_list_free(l), mg_model_free(m);
  }
  mg_model *m = model_of(text_of(files[0]));
  mg_model_list *l = list_of(m), *q = folded_of(l);
  assert_int_equal(q->n_folds, 3); /* widths of 64, 32 and 96 */
  assert_int_equal(q->n_once, 14);
  mg_model_plan_free(plan_of(q));
  for (uint32_t k = 0; k < q->n_once; k++) /* the gain or the matrix of another */
    for (uint32_t j = 0; j < q->n_once; j++) {
      mg_launch *a = &q->launch[k], was = *a, *b = &q->launch[j];
      for (int i = 0; i < a->n_in; i++, *a = was) {
        if (a->n_in != b->n_in || a->in[i] == b->in[i]) continue;
        const mg_value *x = &q->value[a->in[i]], *y = &q->value[b->in[i]];
        if (x->rank != y->rank || x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1]) continue;
        a->in[i] = b->in[i], n[0]++;
        assert_true(refuses(q));
      }
    }
  for (uint32_t k = 0; k < q->n_pieces; k++) /* the gain added to the matrix */
    for (uint32_t j = 0; j < q->piece[k].n_nodes; j++) {
      mg_piece_node *x = (mg_piece_node *)(uintptr_t)&q->piece[k].node[j];
      const mg_expr *was = x->op;
      mg_expr other = *was;
      if (strcmp(was->name, "mul") || x->n_operands != 2 || q->piece[k].n_nodes > 1) continue;
      other.name = "add", x->op = &other, n[1]++;
      assert_true(refuses(q));
      x->op = was;
    }
  for (uint32_t k = 0; k < q->n_folds; k++) { /* a pair of programs that is not there, or is another norm's */
    const mg_fold was = q->fold[k];
    mg_piece_node *norm = (mg_piece_node *)(uintptr_t)was.written.node;
    const mg_expr *op = norm->op;
    mg_expr other = *op, eps = *op->arg->next->next, value = *eps.arg, arg[2] = {*op->arg, *op->arg->next};
    value.name = "1/10", eps.arg = &value, arg[1].next = &eps, arg[0].next = &arg[1], other.arg = arg;
    norm->op = &other, n[2]++;
    assert_true(refuses(q));
    norm->op = op;
    q->fold[k] = q->fold[(k + 1) % q->n_folds], n[2]++;
    assert_true(refuses(q));
    q->fold[k] = was;
  }
  assert_false(refuses(q));
  print_message("mutants refused: %d operands, %d operators, %d folds\n", n[0], n[1], n[2]);
  assert_true(n[0] > 20 && n[1] == 3 && n[2] == 6);
  mg_model_list_free(q), mg_model_list_free(l), mg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),    cmocka_unit_test(test_builder), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_limits),  cmocka_unit_test(test_memory),  cmocka_unit_test(test_relax),
      cmocka_unit_test(test_sharing), cmocka_unit_test(test_plans),   cmocka_unit_test(test_mutants),
      cmocka_unit_test(test_scratch), cmocka_unit_test(test_launches), cmocka_unit_test(test_orders),
      cmocka_unit_test(test_in_place), cmocka_unit_test(test_every_step),
      cmocka_unit_test(test_partition), cmocka_unit_test(test_least_cuts), cmocka_unit_test(test_partition_mutants),
      cmocka_unit_test(test_once), cmocka_unit_test(test_once_for_all), cmocka_unit_test(test_fold)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
