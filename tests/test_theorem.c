/* Theorem 1 of the Mirage paper (section 4.3), tested: on small bounds the search gives exactly the verified µGraphs that
   a brute-force enumerator finds, restricted to those whose tensors all have expressions that are subexpressions of the
   program's.  brute.h says what the bounds and the canonical form are.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_theorem.c -o build/test_theorem -lcmocka -lm -lpthread
   test_theorem [SEED] runs all programs, and random ones from SEED; without a seed a sample.
   ONLY=name runs one program; SEEN=1 prints what the search hands out, ALL=1 every difference. */
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"
#include "brute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint64_t seed = 1;
static int everything;

typedef struct set { char **s; int n, cap; } set;
static void set_add(set *a, char *s) {
  a->s = (char **)br_grow(a->s, &a->cap, a->n + 1, sizeof *a->s);
  a->s[a->n++] = s;
}
static void set_sort(set *a) { if (a->n) qsort(a->s, (size_t)a->n, sizeof *a->s, br_text_cmp); }
static void set_free(set *a) {
  for (int k = 0; k < a->n; k++) free(a->s[k]);
  free(a->s);
  memset(a, 0, sizeof *a);
}

static mg_graph *parse(const char *text) {
  mg_graph *g = NULL;
  mg_error e;
  if (mg_parse(text, strlen(text), "test", NULL, &g, &e) != MG_OK) fail_msg("%d:%d %s in\n%s", e.line, e.column, e.msg, text);
  return g;
}

/* ---------------------------------------------------------------- the two sides */

typedef struct bounds { int n_ops, grid, loop, slow; } bounds; /* slow: not in the sample */
typedef struct side { const mg_graph *p; set all; bounds w; int bad, odd[BR_ODDS]; long seen; const br *B; } side;

/* What the search leaves out by its own statement (head of mirage_search.h): counted, printed, not compared. */
enum { LEFT_OUT = BR_ODD_ADD_CHUNKS | BR_ODD_JOIN | BR_ODD_TWICE | BR_ODD_MIXED | BR_ODD_CLASSES | BR_ODD_AXIS | BR_ODD_MOVED };

static int is_equal(const mg_graph *p, const mg_graph *g) {
  mg_verify_config v = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  v.threads = 1, v.tier = MG_TIER_FAST;
  return mg_verify(p, g, &v, &r, &e) == MG_OK && (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED);
}

static void brute_found(void *user, const br *B, const br_out *out, int odd) {
  side *S = (side *)user;
  mg_error e;
  int ops = 0, edges = 0;
  mg_graph *g = br_build(B, out, &e);
  S->seen++;
  if (!g) { fprintf(stderr, "brute: %s: %s\n", e.where, e.msg); S->bad++; return; }
  char *s = br_canonical(g, &ops, &edges);
  if (!is_equal(S->p, g)) { fprintf(stderr, "brute: not equal: %s\n", s); S->bad++; }
  for (int k = 0; k < BR_ODDS; k++) S->odd[k] += odd >> k & 1;
  if (s && !(odd & LEFT_OUT)) set_add(&S->all, s);
  else free(s);
  mg_graph_free(g);
}

/* Constants that the enumerator does not have. */
static int foreign(const br *B, const mg_graph *g) {
  const mg_graph *b = mg_op_of(g, 1)->sub;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    const mg_rational *list = o->code == MG_OP_SCALE ? B->scale : B->shift;
    int n = o->code == MG_OP_SCALE ? B->n_const : B->n_shift, own = 0;
    if (o->code != MG_OP_SCALE && o->code != MG_OP_ADD_SCALAR) continue;
    for (int j = 0; j < n; j++) own |= list[j].num == o->attr.c.num && list[j].den == o->attr.c.den;
    if (!own) return 1;
  }
  return 0;
}

static void search_found(void *user, const mg_graph *g) {
  side *S = (side *)user;
  int ops = 0, edges = 0;
  char *s = br_canonical(g, &ops, &edges);
  S->seen++;
  int axes = 0;
  if (getenv("SEEN")) printf("    seen (%d operators%s): %s\n", ops, edges ? ", edges" : "", s ? s : "-");
  for (int a = 1; s && a <= 3; a++) axes += mg_op_of(g, 1)->sub->axes[a].extent > 1;
  if (!s || ops > S->w.n_ops || axes > S->w.grid || edges || foreign(S->B, g) || !is_equal(S->p, g)) { free(s); return; }
  set_add(&S->all, s);
}

/* All frames: up to `grid` grid axes and a loop, over the extents of the program's inputs. */
static void brute_side(br *B, side *S, const bounds *w, int restrict_to) {
  int64_t ext[16];
  int n_ext = 0;
  for (uint32_t k = 0; k < B->p->n_in; k++)
    for (int d = 0; d < mg_tensor_of(B->p, B->p->in[k])->shape.rank; d++) {
      int64_t e = mg_tensor_of(B->p, B->p->in[k])->shape.dim[d];
      int seen = e < 4;
      for (int j = 0; j < n_ext; j++) seen |= ext[j] == e;
      if (!seen) ext[n_ext++] = e;
    }
  int pick[5] = { 0 }; /* 0: none, else 1 + index */
  for (pick[1] = 0; pick[1] <= (w->grid > 0 ? n_ext : 0); pick[1]++)
    for (pick[2] = 0; pick[2] <= (w->grid > 1 ? pick[1] : 0); pick[2]++)
      for (pick[4] = 0; pick[4] <= (w->loop ? n_ext : 0); pick[4]++) {
        memset(&B->f, 0, sizeof B->f);
        B->blocks = 1;
        for (int a = 1; a <= 4; a++) {
          B->f.cnt[a] = 1;
          if (!pick[a]) continue;
          B->f.ext[a] = ext[pick[a] - 1];
          for (B->f.cnt[a] = 2; B->f.ext[a] % B->f.cnt[a]; B->f.cnt[a]++) {}
          if (a < 4) B->f.n_grid = a, B->blocks *= B->f.cnt[a];
        }
        B->b.n_ops = w->n_ops, B->b.restrict_to = restrict_to, B->b.group = 1, B->b.concat = 1;
        br_out out[MG_MAX_OUT];
        br_enumerate(B);
        br_solutions(B, 0, out, S, brute_found);
        br_clear(B);
      }
  set_sort(&S->all);
  int n = 0; /* two axes of one extent give each µGraph under both names */
  for (int k = 0; k < S->all.n; k++)
    if (n && !strcmp(S->all.s[n - 1], S->all.s[k])) free(S->all.s[k]);
    else S->all.s[n++] = S->all.s[k];
  S->all.n = n;
}

static void search_side(side *S, const bounds *w, mg_search_stats *stats) {
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.threads = 1, c.bound = 0, c.max_kernel_ops = 1, c.max_block_ops = w->n_ops, c.structure = search_found, c.user = S, c.top_k = 1;
  c.max_structures = 1000000, c.max_steps = 100000000, c.max_states = 100000;
  mg_status st = mg_search(S->p, &c, &r, &e);
  if (st != MG_OK) fail_msg("mg_search: %s", e.msg);
  *stats = r.stats;
  mg_search_result_free(&r);
  set_sort(&S->all);
}

/* What is in one and not in the other; returns how many, prints the first few. */
static int lacks(const set *a, const set *b, const char *what) {
  int n = 0;
  for (int i = 0, j = 0; i < a->n; i++) {
    while (j < b->n && strcmp(b->s[j], a->s[i]) < 0) j++;
    if (j < b->n && !strcmp(b->s[j], a->s[i])) continue;
    if (n++ < (getenv("ALL") ? 1000000 : 8)) fprintf(stderr, "    %s: %s\n", what, a->s[i]);
  }
  return n;
}
static int repeats(const set *a, const char *what) {
  int n = 0;
  for (int i = 1; i < a->n; i++)
    if (!strcmp(a->s[i - 1], a->s[i]) && n++ < 4) fprintf(stderr, "    %s comes twice: %s\n", what, a->s[i]);
  return n;
}

static int compare(const char *name, const char *text, const bounds *w) {
  br B;
  side brute, search;
  mg_search_stats st;
  char whole[2048];
  snprintf(whole, sizeof whole, "program p\n%s", text);
  mg_graph *p = parse(whole);
  memset(&brute, 0, sizeof brute), memset(&search, 0, sizeof search);
  double t0 = mgi_se_seconds();
  br_program(&B, p);
  br_clear(&B);
  brute.p = search.p = p, brute.w = search.w = *w, brute.B = search.B = &B;
  brute_side(&B, &brute, w, 1);
  double t1 = mgi_se_seconds();
  search_side(&search, w, &st);
  int twice = repeats(&search.all, "search");
  int missing = lacks(&brute.all, &search.all, "search lacks"), extra = lacks(&search.all, &brute.all, "brute lacks");
  printf("%-20s brute %5d (%.2f s)  search %5d of %5ld (%.2f s)%s  missing %d extra %d twice %d bad %d; left out: added chunks %d, joined %d, twice %d, mixed %d, classes %d, axis %d, moved %d\n", name, brute.all.n, t1 - t0, search.all.n, search.seen, mgi_se_seconds() - t1,
         st.complete ? "" : " not complete", missing, extra, twice, brute.bad, brute.odd[0], brute.odd[1], brute.odd[3], brute.odd[4], brute.odd[5], brute.odd[6], brute.odd[7]);
  fflush(stdout);
  int wrong = missing + extra + twice + brute.bad + (brute.all.n == 0);
  set_free(&brute.all), set_free(&search.all);
  br_free(&B);
  mg_graph_free(p);
  return wrong;
}

static const struct { const char *name; bounds w; const char *text; } programs[] = {
  { "matmul", { 4, 2, 1, 1 }, "input X : f16[4, 8]\ninput W : f16[8, 9]\nO = matmul(X, W)\noutput O\n" },
  { "square matmul", { 3, 2, 1, 1 }, "input X : f16[4, 4]\ninput W : f16[4, 4]\nO = matmul(X, W)\noutput O\n" },
  { "one input twice", { 3, 1, 1, 0 }, "input X : f16[4, 4]\nO = matmul(X, X)\noutput O\n" },
  { "sum", { 5, 2, 1, 0 }, "input X : f16[4, 9]\nO = sum(X, dim=1)\noutput O\n" },
  { "sum of all", { 4, 1, 1, 0 }, "input X : f16[4, 9]\nO = sum(sum(X, dim=1), dim=0)\noutput O\n" },
  { "silu of matmul", { 4, 2, 1, 0 }, "input X : f16[4, 9]\ninput W : f16[9, 4]\nO = silu(matmul(X, W))\noutput O\n" },
  { "softmax", { 5, 1, 1, 0 }, "input X : f16[4, 9]\nO = softmax(X, dim=1)\noutput O\n" },
  { "gain and linear", { 4, 2, 1, 1 }, "input X : f16[4, 9]\ninput G : f16[9]\ninput W : f16[9, 8]\nO = matmul(mul(X, G), W)\noutput O\n" },
  { "scaled rows", { 5, 1, 1, 0 }, "input X : f16[4, 9]\ninput W : f16[9, 8]\ninput D : f16[4, 1]\nO = matmul(div(X, D), W)\noutput O\n" },
  { "two outputs", { 4, 1, 1, 0 }, "input X : f16[4, 9]\nA = sum(X, dim=1)\nB = exp(X)\noutput A\noutput B\n" },
  { "sum and sum of squares", { 5, 1, 1, 0 }, "input X : f16[4, 9]\nA = sum(X, dim=1)\nB = sum(sqr(X), dim=1)\noutput A\noutput B\n" },
  { "distributed", { 4, 1, 1, 0 }, "input X : f16[4, 9]\ninput Y : f16[4, 9]\ninput Z : f16[9]\nO = add(mul(X, Z), mul(Y, Z))\noutput O\n" },
  { "scale", { 4, 1, 1, 0 }, "input X : f16[4, 9]\ninput W : f16[9, 4]\nO = scale(matmul(X, W), 1/3)\noutput O\n" },
  { "mean of squares", { 5, 1, 1, 1 }, "input X : f16[4, 9]\nO = sqrt(add_scalar(scale(sum(sqr(X), dim=1), 1/9), 1/100))\noutput O\n" },
  { "difference", { 4, 1, 1, 0 }, "input X : f16[4, 9]\ninput Y : f16[4, 9]\nO = sum(sub(X, Y), dim=1)\noutput O\n" },
  { "maximum", { 4, 1, 1, 0 }, "input X : f16[4, 9]\nO = max(X, dim=1)\noutput O\n" },
  { "transposed", { 4, 1, 1, 0 }, "input X : f16[4, 9]\ninput Y : f16[8, 9]\nO = matmul(X, transpose(Y, [1, 0]))\noutput O\n" },
  { "batch", { 3, 1, 1, 0 }, "input X : f16[4, 4, 9]\ninput W : f16[4, 9, 8]\nO = matmul(X, W)\noutput O\n" },
  { "low rank", { 5, 0, 1, 0 }, "input X : f16[4, 9]\ninput A : f16[9, 8]\ninput B : f16[8, 4]\nO = matmul(matmul(X, A), B)\noutput O\n" },
  { "two products", { 5, 0, 1, 0 }, "input X : f16[4, 9]\ninput A : f16[9, 8]\ninput Y : f16[4, 4]\ninput B : f16[4, 8]\nO = add(matmul(X, A), matmul(Y, B))\noutput O\n" },
  { "gated", { 4, 1, 1, 0 }, "input X : f16[4, 9]\ninput A : f16[9, 8]\ninput B : f16[9, 8]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n" },
  { "norm and linear", { 7, 0, 1, 1 }, "input X : f16[4, 9]\ninput W : f16[9, 8]\nO = matmul(rms_norm(X), W)\noutput O\n" },
  { "attention", { 6, 0, 1, 0 }, "input Q : f16[4, 8]\ninput K : f16[8, 9]\ninput V : f16[9, 8]\nO = matmul(softmax(matmul(Q, K), dim=1), V)\noutput O\n" },
  { "two sums", { 5, 1, 1, 0 }, "input X : f16[4, 9]\ninput Y : f16[4, 9]\nO = add(sum(X, dim=1), sum(Y, dim=1))\noutput O\n" },
};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

static void search_equals_brute_force(void **state) {
  (void)state;
  int wrong = 0;
  for (int k = 0; k < N_PROGRAMS; k++)
    if (getenv("ONLY") ? !strcmp(getenv("ONLY"), programs[k].name) : everything || !programs[k].w.slow) wrong += compare(programs[k].name, programs[k].text, &programs[k].w);
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  everything = argc > 1;
  if (argc > 1) seed = strtoull(argv[1], NULL, 10);
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(search_equals_brute_force),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
