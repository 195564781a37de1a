/* Long programs are verified piece by piece (mirage_verify.h, PIECES): Theorem D and what it must refuse.
     verdicts     what pieces show, and what they do not; what a piece has of a kernel of several results
     mutants      what pieces accept is EQUAL as a whole, at the extents as written
     certificates of pieces, and forged ones
     other_names  twins by their values
     families     of a symbol, and their certificates
     folds        reshapes and transposes as addresses (mg_fold_moves) are the program still
   gcc -std=c11 -O2 -Wall -Wextra tests/test_pieces.c -o build/test_pieces -lcmocka -lm -lpthread
   build/test_pieces [SEED]; SOAK_PIECES=N tries N mutants of each pair */
#define MIRAGE_IMPLEMENTATION
#include "mirage_verify.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "parse.h"
#include "sanitized.h"
#include "splitmix.h"

static uint64_t seed = 1, state;
static uint32_t below(size_t n) { return (uint32_t)(next(&state) % n); }

/* pieces: so many show it; 0: they do not, whatever the whole is. */
typedef struct pair { const char *name, *a, *b; int pieces; mg_verdict verdict; } pair;

#define HEADS "input X : f16[4, 8]\ninput G : f16[8]\ninput W : f16[8, 8]\ninput K : f16[2, 4, 6]\ninput V : f16[2, 6, 4]\n"
#define NORM                                                                                                      \
  "kernel grid=(x=2, y=2) {\nfor i=2 {\nx = load X {x->*, y->0, i->1}\nm = matmul(mul(x, load G {i->0}), "         \
  "load W {x->1, i->0})\ns = sum(sqr(x), dim=1)\n}\nstore div(accum(m) {i->+}, sqrt(add_scalar(scale("            \
  "accum(s) {i->+}, 1/8), 1/100))) {x->1, y->0}\n}\n"
#define SOFTMAX                                                                                                   \
  "kernel grid=(x=2) {\nq = load Q {x->0}\nfor i=3 {\ne = exp(scale(matmul(q, load K {x->0, i->2}), 1/2))\n"       \
  "o = matmul(e, load V {x->0, i->1})\ns = sum(e, dim=2)\n}\nstore div(accum(o) {i->+}, accum(s) {i->+}) {x->0}\n}\n"
static const pair pairs[] = {
    {"half a layer",
     HEADS "N = matmul(rms_norm(X, G, eps=1/100), W)\nQ = transpose(reshape(N, [4, 2, 4]), [1, 0, 2])\n"
     "A = matmul(softmax(scale(matmul(Q, K), 1/2), dim=2), V)\nO = reshape(transpose(A, [1, 0, 2]), [4, 8])\noutput O\n",
     HEADS "N = " NORM "Q = transpose(reshape(N, [4, 2, 4]), [1, 0, 2])\nA = " SOFTMAX
     "T = transpose(A, [1, 0, 2])\nO = reshape(T, [4, 8])\noutput O\n", 4, MG_EQUAL},
    {"two alike, and two outputs",
     "input X : f16[4, 6]\ninput A : f16[6, 6]\ninput B : f16[6, 6]\nY = silu(matmul(X, A))\nZ = silu(matmul(Y, B))\noutput Z, Y\n",
     "input X : f16[4, 6]\ninput A : f16[6, 6]\ninput B : f16[6, 6]\n"
     "Y = kernel grid=(x=2) {\nfor k=3 {\nm = matmul(load X {k->1}, load A {x->1, k->0})\n}\nstore silu(accum(m) {k->+}) {x->1}\n}\n"
     "Z = kernel grid=(x=2) {\nfor k=3 {\nm = matmul(load Y {k->1}, load B {x->1, k->0})\n}\nstore silu(accum(m) {k->+}) {x->1}\n}\n"
     "output Z, Y\n", 2, MG_EQUAL},
    {"a residual, and a kernel of two results",
     "input X : f16[4, 6]\ninput A : f16[6, 6]\nY = add(X, exp(X))\nS = sum(sqr(Y), dim=1)\n"
     "O = add(Y, div(matmul(Y, A), add_scalar(S, 1)))\noutput O\n",
     "input X : f16[4, 6]\ninput A : f16[6, 6]\n"
     "Y, S = kernel grid=(x=2) {\nx = load X {x->0}\ny = add(exp(x), x)\nstore y {x->0}\nstore sum(sqr(y), dim=1) {x->0}\n}\n"
     "O = kernel grid=(x=3) {\ny = load Y {x->*}\n"
     "store add(load Y {x->1}, div(matmul(y, load A {x->1}), add_scalar(load S {x->*}, 1))) {x->1}\n}\noutput O\n", 3, MG_EQUAL},
    {"a kernel of two results, one of a twin that the other does not read",
     "input X : f16[4, 6]\nT = exp(X)\nO = relu(add(T, X))\nY = sqr(T)\noutput O, Y\n",
     "input X : f16[4, 6]\nT = kernel grid=(x=2) {\nstore exp(load X {x->0}) {x->0}\n}\n"
     "O, Y = kernel grid=(x=2) {\nx = load X {x->0}\nt = load T {x->0}\nstore relu(add(exp(x), x)) {x->0}\nstore sqr(t) {x->0}\n}\noutput O, Y\n",
     3, MG_EQUAL},
    {"a kernel of two results, one of them wrong",
     "input X : f16[4, 6]\nT = exp(X)\nO = relu(add(T, X))\nY = sqr(T)\noutput O, Y\n",
     "input X : f16[4, 6]\nT = kernel grid=(x=2) {\nstore exp(load X {x->0}) {x->0}\n}\n"
     "O, Y = kernel grid=(x=2) {\nx = load X {x->0}\nt = load T {x->0}\nstore relu(add(exp(x), x)) {x->0}\nstore sqr(x) {x->0}\n}\noutput O, Y\n",
     0, MG_NOT_EQUAL},
    /* names of other values: the pieces differ, and the whole does not */
    {"a name for another value", "input X : f16[4, 6]\nT = exp(X)\nU = scale(T, 2)\nO = relu(U)\noutput O\n",
     "input X : f16[4, 6]\nT = scale(exp(X), 2)\nU = exp(X)\nO = relu(scale(U, 2))\noutput O\n", 0, MG_EQUAL},
    {"names that change places", "input X : f16[4, 6]\nT = exp(X)\nU = scale(T, 2)\nO = relu(U)\noutput O\n",
     "input X : f16[4, 6]\nU = exp(X)\nT = scale(U, 2)\nO = relu(T)\noutput O\n", 0, MG_EQUAL},
    {"twins that hang on each other", "input X : f16[4, 6]\nT = scale(X, 2)\nU = scale(T, 1/2)\nO = exp(U)\noutput O\n",
     "input X : f16[4, 6]\nU = scale(X, 1)\nT = scale(U, 2)\nO = exp(scale(T, 1/2))\noutput O\n", 0, MG_EQUAL},
    {"a chain of wrong ones that come right", "input X : f16[4, 6]\nT = exp(X)\nU = exp(T)\nO = sub(U, T)\noutput O\n",
     "input X : f16[4, 6]\nT = add_scalar(exp(X), 1)\nU = exp(add_scalar(T, -1))\nO = sub(U, add_scalar(T, -1))\noutput O\n", 0, MG_EQUAL},
    {"one wrong piece", "input X : f16[4, 6]\nT = exp(X)\nU = scale(T, 2)\nO = relu(U)\noutput O\n",
     "input X : f16[4, 6]\nT = exp(X)\nU = scale(T, 3)\nO = relu(U)\noutput O\n", 0, MG_NOT_EQUAL},
    {"the other twin is read", "input X : f16[4, 6]\nT = exp(X)\nU = exp(T)\nO = mul(T, U)\noutput O\n",
     "input X : f16[4, 6]\nT = exp(X)\nU = exp(T)\nO = mul(T, T)\noutput O\n", 0, MG_NOT_EQUAL},
    {"outputs change places", "input X : f16[4, 6]\nT = exp(X)\nU = exp(T)\noutput T, U\n",
     "input X : f16[4, 6]\nT = exp(X)\nU = exp(T)\noutput U, T\n", 0, MG_NOT_EQUAL},
    /* each piece is equal wherever the twins are defined, and the whole is not: one row's divisor is the other's */
    {"pieces of what is not defined everywhere",
     "input X : f16[2, 4]\ninput Y : f16[2, 4]\nT = div(X, Y)\nO = slice(T, dim=0, from=0, n=1)\noutput O\n",
     "input X : f16[2, 4]\ninput Y : f16[2, 4]\nT = div(X, Y)\nS = slice(T, dim=0, from=1, n=1)\n"
     "O = sub(add(slice(T, dim=0, from=0, n=1), S), S)\noutput O\n", 0, MG_NOT_EQUAL},
    {"a square root of a twin", "input X : f16[2, 4]\nT = sqr(X)\nO = sqrt(T)\noutput O\n",
     "input X : f16[2, 4]\nT = mul(X, X)\nO = sqrt(mul(sqrt(T), sqrt(T)))\noutput O\n", 2, MG_EQUAL},
};
static mg_graph *side(const char *text) {
  char whole[4096];
  snprintf(whole, sizeof whole, "program p\n%s", text);
  return parse(whole);
}
/* By pieces, whatever the work. */
static int by_pieces(const mg_graph *a, const mg_graph *b, mg_verify_report *r) {
  mg_verify_config c = mg_verify_config_default();
  uint64_t root[4];
  int shown = 0;
  mg_error e;
  c.threads = 1, c.log2_delta = -64;
  mgi_seed_root(a, b, c.seed, c.salt, root);
  if (mgi_verify_pieces(a, b, &c, root, 0, 1, &shown, r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return shown;
}
static mg_verdict as_written(const mg_graph *a, const mg_graph *b) {
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  c.threads = 1, c.full_size = 1;
  if (mg_verify(a, b, &c, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  assert_int_equal(r.pieces, 0);
  return r.verdict;
}

static void every_verdict(void **s) {
  (void)s;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    const pair *p = &pairs[k];
    mg_graph *a = side(p->a), *b = side(p->b);
    mg_verify_report r;
    const int shown = by_pieces(a, b, &r);
    if (shown != (p->pieces > 0) || r.pieces != p->pieces) fail_msg("%s: %d pieces show it: %s", p->name, r.pieces, r.reason);
    if (shown) assert_true(r.verdict == MG_EQUAL && (r.log2_delta <= -64 || r.proof == MG_PROOF_NORMAL));
    const mg_verdict whole = as_written(a, b);
    if (whole != p->verdict) fail_msg("%s: as a whole %s", p->name, mg_verdict_name(whole));
    mg_graph_free(a), mg_graph_free(b);
  }
}

/* A piece has of a kernel what its tensor is made of: its loops, loads and inputs, and no other store; and it is that tensor. */
static void one_result_of_several(void **s) {
  (void)s;
  static const char inputs[] = "input X : f16[4, 8]\ninput A : f16[8, 6]\ninput B : f16[8, 6]\ninput G : f16[4, 6]\n";
  static const char *const own[] = {"P = matmul(X, A)\nO = silu(P)\n", "O = mul(G, exp(scale(G, 1/2)))\n", "O = relu(matmul(X, B))\n"};
  static const struct { int loads, inner; } want[] = {{2, 1}, {1, 0}, {2, 1}}; /* inner: operators inside the loop, loads aside */
  char text[1024];
  snprintf(text, sizeof text,
           "%sP, Q, R = kernel grid=(x=2) threads=32 {\nfor i=2 {\nx = load X {i->1}\na = matmul(x, load A {x->1, i->0})\nb = matmul(x, load B {x->1, i->0})\n"
           "}\ny = accum(a) {i->+}\nz = accum(b) {i->+}\nstore silu(y) {x->1}\ng = load G {x->1}\n"
           "e = thread grid=(x=4, y=3) {\nt = load g {x->0, y->1}\nstore mul(t, exp(scale(t, 1/2))) {x->0, y->1}\n}\nstore e {x->1}\nstore relu(z) {x->1}\n}\noutput P, Q, R\n", inputs);
  mg_graph *g = side(text);
  for (int k = 0; k < 3; k++) {
    mg_graph *one = NULL;
    mg_verify_config c = mg_verify_config_default();
    mg_verify_report r;
    mg_error e;
    snprintf(text, sizeof text, "%s%soutput O\n", inputs, own[k]);
    mg_graph *p = side(text);
    if (mg_piece_of(g, (int)g->n_in, g->in, g->out[k], &one, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_int_equal(one->n_ops, 2);
    const mg_graph *sub = one->ops[1].sub;
    int stores = 0, loads = 0, inner = 0;
    for (uint32_t q = 1; q < sub->n_ops; q++) {
      stores += sub->ops[q].code == MG_OP_STORE, loads += sub->ops[q].code == MG_OP_LOAD;
      inner += sub->ops[q].scope && sub->ops[q].code != MG_OP_LOAD;
    }
    if (stores != 1 || loads != want[k].loads || one->ops[1].n_in != want[k].loads || inner != want[k].inner || (sub->n_axes > 4) != (inner > 0))
      fail_msg("result %d: %d stores, %d loads, %d inputs, %d operators in a loop", k, stores, loads, one->ops[1].n_in, inner);
    c.full_size = 1;
    if (mg_verify(p, one, &c, &r, &e) != MG_OK) fail_msg("%s", e.msg);
    if (r.verdict != MG_EQUAL) fail_msg("result %d: %s: %s", k, mg_verdict_name(r.verdict), r.reason);
    mg_graph_free(one), mg_graph_free(p);
  }
  mg_graph_free(g);
}

/* ---- mutants */

/* One word of `text`, or one number, becomes another of it. */
static void mutated(const char *text, char *to, size_t size) {
  const char *at[1024], *x, *y;
  size_t n = 0;
  for (const char *c = text; *c && n < 1024; c++)
    if (isalnum((unsigned char)*c) && (c == text || !isalnum((unsigned char)c[-1]))) at[n++] = c;
  do x = at[below(n)], y = at[below(n)];
  while (!isdigit((unsigned char)*x) != !isdigit((unsigned char)*y));
  size_t lx = 0, ly = 0;
  while (isalnum((unsigned char)x[lx])) lx++;
  while (isalnum((unsigned char)y[ly])) ly++;
  snprintf(to, size, "%.*s%.*s%s", (int)(x - text), text, (int)ly, y, x + lx);
}
static void mutants(void **s) {
  (void)s;
  state = seed;
  const char *many = getenv("SOAK_PIECES");
  const long each = (many ? atol(many) : 1000) / SPARSER;
  long compared = 0, accepted = 0, wrong = 0;
  for (size_t k = 0; k < 3; k++) {
    mg_graph *a = side(pairs[k].a);
    for (long n = 0; n < each; n++) {
      char first[4096], second[4096], whole[4200];
      mg_graph *b = NULL;
      mg_verify_report r;
      mg_error e;
      snprintf(second, sizeof second, "%s", pairs[k].b);
      for (uint32_t edits = 1 + below(2); edits; edits--) snprintf(first, sizeof first, "%s", second), mutated(first, second, sizeof second);
      const int length = snprintf(whole, sizeof whole, "program p\n%s", second);
      if (mg_parse(whole, (size_t)length, "mutant", NULL, &b, &e) != MG_OK) continue;
      if (mg_verify_signature(a, b, &e) == MG_OK) {
        const int shown = by_pieces(a, b, &r);
        const mg_verdict is = as_written(a, b);
        compared++, accepted += shown, wrong += is == MG_NOT_EQUAL;
        if (shown && is != MG_EQUAL) fail_msg("seed %llu: accepted by pieces, %s:\n%s", (unsigned long long)seed, mg_verdict_name(is), second);
      }
      mg_graph_free(b);
    }
    mg_graph_free(a);
  }
  print_message("%ld mutants, %ld of them not equal; pieces show %ld\n", compared, wrong, accepted);
  assert_true(compared > each / 10 && accepted > 0 && wrong > compared / 20);
}

/* ---- certificates */

#define MLP(X, A, B, C, Y) Y " = matmul(mul(silu(matmul(" X ", " A ")), matmul(" X ", " B ")), " C ")\n"
#define GATED(T, X, A, B)                                                                                            \
  T " = kernel grid=(x=128) {\nfor i=8 {\nx = load " X " {i->1}\np = matmul(x, load " A " {x->1, i->0})\n"            \
  "q = matmul(x, load " B " {x->1, i->0})\n}\nstore mul(silu(accum(p) {i->+}), accum(q) {i->+}) {x->1}\n}\n"
#define WEIGHTS                                                                                                      \
  "input X : f16[16, 2048]\ninput A : f16[2048, 4096]\ninput B : f16[2048, 4096]\ninput C : f16[4096, 2048]\n"        \
  "input D : f16[2048, 4096]\ninput E : f16[2048, 4096]\ninput F : f16[4096, 2048]\n"
/* 1 if the certificate with `from` as `to`, and its last line right again, is taken. */
static int taken(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  char *t = (char *)malloc(strlen(text) + strlen(to) + 1);
  mg_error e;
  if (!at || !t) fail_msg("'%s' is not in the certificate", from);
  sprintf(t, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  char *sum = strstr(t, "\nsum ") + 1;
  sprintf(sum, "sum %016llx\n", (unsigned long long)mgi_cert_sum(t, (size_t)(sum - t)));
  const mg_status st = mg_certificate_check(t, strlen(t), NULL, &e);
  free(t);
  return st == MG_OK;
}
static void certificates(void **s) {
  (void)s;
  mg_graph *a = side(WEIGHTS MLP("X", "A", "B", "C", "Y") MLP("Y", "D", "E", "F", "O") "output O\n");
  mg_graph *b = side(WEIGHTS GATED("t4", "X", "A", "B") "Y = matmul(t4, C)\n" GATED("t8", "Y", "D", "E") "O = matmul(t8, F)\noutput O\n");
  mg_verify_report r, again;
  mg_error e;
  char *text = NULL;
  if (mg_verify(a, b, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (r.verdict != MG_EQUAL || r.pieces != 4) fail_msg("%s by %d pieces: %s", mg_verdict_name(r.verdict), r.pieces, r.reason);
  assert_string_equal(r.every, "M >= 1, N >= 1");
  assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
  if (mg_certificate_check(text, strlen(text), &again, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
  assert_true(again.pieces == 4 && again.fresh_tests > 0);
  assert_true(taken(text, "seed 0", "seed 0"));
  assert_false(taken(text, "piece 1, t4 of X, A, B\n", ""));
  assert_false(taken(text, "piece 4, O of F, t8\nthe same as piece 2\n", ""));
  assert_false(taken(text, "the same as piece 2", "the same as piece 1"));
  assert_false(taken(text, "4 pieces", "3 pieces"));
  assert_false(taken(text, "M >= 1, N >= 1", "M >= 1"));
  mg_string_free(text);
  mg_graph_free(a), mg_graph_free(b);
}

/* Where no names are alike, values at reduced sizes say which tensors are twins. */
static void other_names(void **s) {
  (void)s;
  static const char *const last[] = {"O = matmul(hidden, C)\noutput O\n", "O = matmul(scale(hidden, 2), C)\noutput O\n"};
  mg_graph *a = side(WEIGHTS MLP("X", "A", "B", "C", "O") "output O\n");
  for (int k = 0; k < 2; k++) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s", WEIGHTS GATED("hidden", "X", "A", "B"), last[k]);
    mg_graph *b = side(text);
    mg_verify_report r;
    mg_error e;
    if (mg_verify(a, b, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    if (r.verdict != (k ? MG_NOT_EQUAL : MG_EQUAL) || r.pieces != (k ? 0 : 2)) fail_msg("%s by %d pieces: %s", mg_verdict_name(r.verdict), r.pieces, r.reason);
    mg_graph_free(b);
  }
  mg_graph_free(a);
}

/* Families of a symbol are taken apart as their members are: a piece has no symbol, and what is shown of it is for all extents. */
#define ROWS "sym n in 1..384\ninput X : f16[n, 512]\ninput A : f16[512, 1024]\ninput B : f16[512, 1024]\ninput C : f16[1024, 512]\n"
static void families(void **s) {
  (void)s;
  static const char *const first[] = {"T", "hidden"};
  static const char *const last[] = {"O = matmul(%s, C)\noutput O\n", "O = matmul(scale(%s, 2), C)\noutput O\n"};
  mg_graph *a = side(ROWS "T = mul(silu(matmul(X, A)), matmul(X, B))\nO = matmul(T, C)\noutput O\n");
  for (int k = 0; k < 4; k++) {
    char text[2048], end[256], *certificate = NULL;
    const int wrong = k / 2;
    snprintf(end, sizeof end, last[wrong], first[k % 2]);
    snprintf(text, sizeof text, ROWS "%s = kernel grid=(x=32, y=ceil(n/128)) {\nfor i=8 {\nx = load X {y->0, i->1}\n"
             "p = matmul(x, load A {x->1, i->0})\nq = matmul(x, load B {x->1, i->0})\n}\n"
             "store mul(silu(accum(p) {i->+}), accum(q) {i->+}) {x->1, y->0}\n}\n%s", first[k % 2], end);
    mg_graph *b = side(text);
    mg_verify_report r, again;
    mg_error e;
    if (mg_verify(a, b, NULL, &r, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    if (r.verdict != (wrong ? MG_NOT_EQUAL : MG_EQUAL) || r.pieces != (wrong ? 0 : 2)) fail_msg("%d: %s by %d pieces: %s", k, mg_verdict_name(r.verdict), r.pieces, r.reason);
    if (!wrong) {
      assert_non_null(strstr(r.every, "n >= 1"));
      assert_int_equal(mg_certificate(a, b, &r, &certificate, &e), MG_OK);
      if (mg_certificate_check(certificate, strlen(certificate), &again, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, certificate);
      assert_int_equal(again.pieces, 2);
      mg_string_free(certificate);
    }
    mg_graph_free(b);
  }
  mg_graph_free(a);
}

/* ---- moves as addresses */

typedef struct text { char s[2048]; size_t n; } text;
static void put(text *t, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, format, ap);
  va_end(ap);
  assert_true(t->n < sizeof t->s);
}
static void put_list(text *t, int n, const int64_t *x) {
  for (int d = 0; d < n; d++) put(t, "%s%lld", d ? ", " : "[", (long long)x[d]);
  put(t, "]");
}
/* A reshape or a transpose of a tensor of shape z at random, and its shape. */
static void put_move(text *t, const char *to, const char *from, mg_shape *z) {
  int64_t list[MG_MAX_RANK];
  mg_shape now = *z;
  if (z->rank > 1 && below(2)) {
    for (int d = 0; d < z->rank; d++) {
      const int with = (int)below((size_t)d + 1);
      list[d] = list[with], list[with] = d;
    }
    for (int d = 0; d < z->rank; d++) now.dim[d] = z->dim[list[d]];
    put(t, "%s = transpose(%s, ", to, from), put_list(t, z->rank, list), put(t, ")\n");
  } else {
    int64_t left = mg_shape_elements(z);
    now.rank = 1 + (int)below(3);
    for (int d = 0; d < now.rank - 1; d++) {
      do now.dim[d] = 1 + below((size_t)(left < 9 ? left : 9));
      while (left % now.dim[d]);
      left /= now.dim[d];
    }
    now.dim[now.rank - 1] = left;
    put(t, "%s = reshape(%s, ", to, from), put_list(t, now.rank, now.dim), put(t, ")\n");
  }
  *z = now;
}
/* A kernel that computes op of `from`, cut at random by two grid axes, and a loop if `loop`. */
static void put_kernel(text *t, const char *to, const char *op, const char *from, const mg_shape *z, int loop) {
  int64_t count[3] = {1, 1, 1}, left[MG_MAX_RANK];
  int dim[3];
  memcpy(left, z->dim, sizeof left);
  for (int a = 0; a < 2 + loop; a++) {
    dim[a] = (int)below((size_t)z->rank);
    do count[a] = 1 + below((size_t)left[dim[a]]);
    while (left[dim[a]] % count[a]);
    left[dim[a]] /= count[a];
  }
  put(t, "%s = kernel grid=(x=%lld, y=%lld) {\n", to, (long long)count[0], (long long)count[1]);
  if (loop) put(t, "for i=%lld {\n", (long long)count[2]);
  put(t, "e = %s(load %s {x->%d, y->%d", op, from, dim[0], dim[1]);
  put(t, loop ? ", i->%d})\n}\n" : "})\n", dim[2]);
  put(t, loop ? "r = accum(e) {i->%d}\nstore r" : "store e", dim[2]), put(t, " {x->%d, y->%d}\n}\n", dim[0], dim[1]);
}
static int grid_axes(const mg_graph *block) {
  int n = 0;
  for (int a = 1; a <= 3; a++) n += block->axes[a].extent > 1;
  return n;
}
static void folds(void **s) {
  (void)s;
  int folded[2] = {0, 0}, dropped = 0, split = 0;
  state = seed;
  enum { N = 750 / SPARSER };
  for (int n = 0; n < N; n++) {
    static const int64_t extents[] = {1, 2, 3, 4, 6, 8};
    const int moves = 1 + (int)below(3);
    text a = {"", 0}, b = {"", 0};
    mg_shape z;
    z.rank = 1 + (int)below(3);
    for (int d = 0; d < z.rank; d++) z.dim[d] = extents[below(6)];
    put(&a, "program p\ninput X : f16"), put_list(&a, z.rank, z.dim), put(&a, "\n");
    memcpy(&b, &a, sizeof b);
    put(&a, "M0 = exp(X)\n"), put_kernel(&b, "M0", "exp", "X", &z, 0);
    for (int k = 0; k < moves; k++) {
      const size_t from = a.n;
      char names[2][16];
      snprintf(names[0], 16, "M%d", k), snprintf(names[1], 16, "M%d", k + 1);
      put_move(&a, names[1], names[0], &z), put(&b, "%s", a.s + from);
    }
    char last[16];
    snprintf(last, sizeof last, "M%d", moves);
    put(&a, "O = sqr(%s)\noutput O\n", last), put_kernel(&b, "O", "sqr", last, &z, (int)below(2)), put(&b, "output O\n");
    mg_graph *p = parse(a.s), *g = parse(b.s);
    const mg_op_node *move[4];
    for (int k = 0; k < moves; k++) move[k] = &g->ops[2 + k];
    for (int store = 0; store < 2; store++) { /* the last kernel reads M0, or the first one writes the last */
      const uint32_t kernel = store ? 1 : g->n_ops - 1;
      const mg_graph *block = g->ops[kernel].sub;
      uint32_t op = 1;
      while (block->ops[op].code != (store ? MG_OP_STORE : MG_OP_LOAD)) op++;
      mg_graph *f = NULL;
      mg_error e;
      const mg_tensor to = store ? g->ops[g->n_ops - 2].out[0] : g->ops[1].out[0];
      const mg_status st = mg_fold_moves(g, kernel, op, to, moves, move, &f, &e);
      if (st != MG_OK && st != MG_UNSUPPORTED) fail_msg("seed %llu: %s: %s\n%s", (unsigned long long)seed, e.where, e.msg, b.s);
      if (st != MG_OK) continue;
      if (f->n_ops != 3 || as_written(p, f) != MG_EQUAL) {
        char *was = NULL;
        mg_print(f, &was, &e);
        fail_msg("seed %llu: not the program:\n%s\n%s", (unsigned long long)seed, b.s, was);
      }
      folded[store]++, dropped += (int)(g->n_ops - f->n_ops);
      split += grid_axes(f->ops[store ? 1 : 2].sub) > grid_axes(block);
      mg_graph_free(f);
    }
    mg_graph_free(p), mg_graph_free(g);
  }
  print_message("%d loads and %d stores take the place of %d moves, %d by an axis that became two\n", folded[0], folded[1], dropped, split);
  assert_true(folded[0] > N / 5 && folded[1] > N / 5 && split > N / 50);
}
/* What is stored no more must have no other reader, and what no axis can say is refused. */
static void folds_refused(void **s) {
  (void)s;
  static const char *const texts[] = {
      "program p\ninput X : f16[4, 6]\nA = kernel grid=(x=2) {\nstore exp(load X {x->0}) {x->0}\n}\nM = transpose(A, [1, 0])\n"
      "O = sqr(M)\nP = sqr(A)\noutput O, P\n",
      "program p\ninput X : f16[4, 6]\nA = kernel grid=(x=2) {\nstore exp(load X {x->0}) {x->0}\n}\nM = transpose(A, [1, 0])\n"
      "O = sqr(M)\noutput O, A\n",
      "program p\ninput X : f16[4, 6]\nA = kernel grid=(x=3) {\nstore exp(load X {x->1}) {x->1}\n}\nM = reshape(A, [24])\n"
      "O = sqr(M)\noutput O\n",
      "program p\ninput X : f16[5, 6]\nA = kernel grid=(x=2) {\nstore exp(load X {x->0}) {x->0}\n}\nM = reshape(A, [30])\n"
      "O = sqr(M)\noutput O\n",
  };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    mg_graph *g = parse(texts[k]), *f = NULL;
    const mg_op_node *move = &g->ops[2];
    uint32_t op = 1;
    mg_error e;
    while (g->ops[1].sub->ops[op].code != MG_OP_STORE) op++;
    assert_int_equal(mg_fold_moves(g, 1, op, g->ops[2].out[0], 1, &move, &f, &e), MG_UNSUPPORTED);
    assert_null(f);
    mg_graph_free(g);
  }
}

/* An axis becomes two only where both cut what it cut, not where chunks are uneven; what an accumulator joins of blocks keeps its order. */
static void folds_keep_blocks(void **s) {
  (void)s;
  static const struct { const char *kernel, *program; int folds; } of[] = {
      {"a = load X {x->0}\nw = load W {x->0}\nstore mul(a, sum(sum(w, dim=0), dim=1)) {x->0}", NULL, 0},
      {"a = load Y {x->0}\nw = load W {x->0}\nstore mul(a, sum(sum(w, dim=0), dim=1)) {x->0}",
       "reshape(mul(reshape(Y, [4, 2, 8]), sum(sum(reshape(W, [4, 4, 8]), dim=1), dim=2)), [8, 8])", 1},
      {"w = load W {x->0, y->1}\nr = accum(exp(w)) {x->0, y->0}\nstore r {x->*, y->*}",
       "reshape(transpose(reshape(exp(W), [4, 4, 2, 4]), [0, 2, 1, 3]), [32, 4])", 1},
  };
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    static const char head[] = "program p\ninput X : f16[10, 8]\ninput Y : f16[8, 8]\ninput V : f16[2, 8, 8]\nW = reshape(V, [16, 8])\n";
    text a = {"", 0}, b = {"", 0};
    put(&a, "%sO = kernel grid=(x=4%s) {\n%s\n}\noutput O\n", head, strstr(of[k].kernel, "y->") ? ", y=2" : "", of[k].kernel);
    mg_graph *g = parse(a.s), *f = NULL;
    const mg_op_node *move = &g->ops[1];
    uint32_t op = 1;
    mg_error e;
    while (g->ops[2].sub->ops[op].code != MG_OP_LOAD || g->ops[2].sub->ops[op].in[0].id != move->out[0].id) op++;
    assert_int_equal(mg_fold_moves(g, 2, op, move->in[0], 1, &move, &f, &e), of[k].folds ? MG_OK : MG_UNSUPPORTED);
    if (f) {
      put(&b, "%sO = %s\noutput O\n", head, of[k].program);
      mg_graph *p = parse(b.s);
      assert_int_equal(grid_axes(f->ops[1].sub), grid_axes(g->ops[2].sub) + 1);
      assert_int_equal(as_written(p, f), MG_EQUAL);
      mg_graph_free(p);
    }
    mg_graph_free(f), mg_graph_free(g);
  }
}

/* Maxima inside each other are too much for one proof, and none for two: by pieces, though one test of the whole is little work. */
static void too_much_for_one(void **state_) {
  static const char program[] = "program h\ninput X : f16[8, 32]\ninput W : f16[32, 32]\ninput V : f16[32, 32]\nA = matmul(X, W)\n"
                                "B = mul(A, scale(clamp(add_scalar(A, 3), 0, 6), 1/6))\nC = clamp(matmul(B, V), 0, 6)\n"
                                "D = sub(relu(C), scale(relu(neg(C)), 1/100))\noutput D\n";
  static const char kernels[] = "program k\ninput X : f16[8, 32]\ninput W : f16[32, 32]\ninput V : f16[32, 32]\n"
                                "B = kernel grid=(x=2, y=2) {\nfor i=2 {\nm = matmul(load X {x->*, y->0, i->1}, load W {x->1, y->*, i->0})\n}\n"
                                "t = accum(m) {i->+}\nstore mul(scale(t, 1/6), clamp(add_scalar(t, 3), 0, 6)) {x->1, y->0}\n}\n"
                                "D = kernel grid=(x=2, y=2) {\nfor i=2 {\nm = matmul(load B {x->*, y->0, i->1}, load V {x->1, y->*, i->0})\n}\n"
                                "c = clamp(accum(m) {i->+}, 0, 6)\nstore sub(c, scale(relu(neg(c)), 1/100)) {x->1, y->0}\n}\noutput D\n";
  char wrong[sizeof kernels];
  mg_graph *a = parse(program), *b = parse(kernels);
  mg_verify_report r;
  mg_error e;
  char *text = NULL;
  (void)state_;
  assert_int_equal(mg_verify(a, b, NULL, &r, &e), MG_OK);
  assert_int_equal(r.verdict, MG_EQUAL);
  assert_int_equal(r.pieces, 2);
  assert_int_equal(mg_certificate(a, b, &r, &text, &e), MG_OK);
  assert_int_equal(mg_certificate_check(text, strlen(text), &r, &e), MG_OK);
  mg_string_free(text);
  strcpy(wrong, kernels);
  memcpy(strstr(wrong, "3), 0, 6"), "3), 0, 5", 8); /* the first piece alone */
  mg_graph *other = parse(wrong);
  assert_int_equal(mg_verify(a, other, NULL, &r, &e), MG_OK);
  assert_true(r.verdict != MG_EQUAL && r.verdict != MG_EQUAL_SAMPLED);
  mg_graph_free(a), mg_graph_free(b), mg_graph_free(other);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_verdict), cmocka_unit_test(one_result_of_several), cmocka_unit_test(mutants), cmocka_unit_test(certificates),
                                     cmocka_unit_test(other_names), cmocka_unit_test(families),
                                     cmocka_unit_test(folds), cmocka_unit_test(folds_refused), cmocka_unit_test(folds_keep_blocks), cmocka_unit_test(too_much_for_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
