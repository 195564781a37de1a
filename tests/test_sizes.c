/* Sizes as polynomials of symbols: one form for what is equal, values, bounds, order, text, limits.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_sizes.c -o build/test_sizes -lcmocka -lm && build/test_sizes */
#define MIRAGE_IMPLEMENTATION
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mirage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "splitmix.h"

enum { SYMBOLS = 3 };
static const int64_t bound[SYMBOLS][2] = {{1, 9}, {0, 6}, {-4, 5}};
static const char *const symbol[SYMBOLS] = {"n", "m", "k"};

static mg_sizes *pool_new(void) {
  mg_sizes *s = mg_sizes_new();
  assert_non_null(s);
  for (int k = 0; k < SYMBOLS; k++) assert_true(mg_size_symbol(s, symbol[k], bound[k][0], bound[k][1]) != 0);
  return s;
}
static mg_size parsed(mg_sizes *s, const char *text) {
  mg_error e;
  const mg_size a = mg_size_parse(s, text, strlen(text), "size", &e);
  if (!a) fail_msg("%s: %s", text, e.msg);
  return a;
}
static char *printed(const mg_sizes *s, mg_size a) {
  char *text;
  mg_error e;
  assert_int_equal(mg_size_print(s, a, &text, &e), MG_OK);
  return text;
}

/* A random expression, and what it is at `values` without the pool. */
enum { INT, SYMBOL, ADD, SUB, MUL, FLOOR, CEIL };
typedef struct node { int kind, left, right; int64_t c; } node; /* c: the number, the symbol, the divisor */
typedef struct tree { node node[32]; int n; } tree;
static int grown(tree *t, uint64_t *seed, int depth, int floors) {
  node x = {0, 0, 0, 0};
  x.kind = (int)(next(seed) % (depth ? floors ? 8 : 5 : 2));
  if (x.kind == 7) x.kind = SYMBOL;
  if (x.kind == INT) x.c = (int64_t)(next(seed) % 13) - 5;
  if (x.kind == SYMBOL) x.c = (int64_t)(next(seed) % SYMBOLS);
  if (x.kind >= ADD) x.left = grown(t, seed, depth - 1, floors);
  if (x.kind >= ADD && x.kind < FLOOR) x.right = grown(t, seed, depth - 1, floors);
  if (x.kind >= FLOOR) x.c = 1 + (int64_t)(next(seed) % 8);
  t->node[t->n] = x;
  return t->n++;
}
static int64_t direct(const tree *t, int at, const int64_t *values) {
  const node *x = &t->node[at];
  if (x->kind == INT) return x->c;
  if (x->kind == SYMBOL) return values[x->c];
  const int64_t a = direct(t, x->left, values);
  if (x->kind >= FLOOR) {
    int64_t q = a / x->c;
    if (x->kind == FLOOR && q * x->c > a) q--;
    if (x->kind == CEIL && q * x->c < a) q++;
    return q;
  }
  const int64_t b = direct(t, x->right, values);
  return x->kind == ADD ? a + b : x->kind == SUB ? a - b : a * b;
}
static mg_size built(mg_sizes *s, const tree *t, int at) {
  const node *x = &t->node[at];
  if (x->kind == INT) return mg_size_int(s, x->c);
  if (x->kind == SYMBOL) return mg_size_symbol(s, symbol[x->c], bound[x->c][0], bound[x->c][1]);
  const mg_size a = built(s, t, x->left);
  if (x->kind == FLOOR) return mg_size_floor(s, a, x->c);
  if (x->kind == CEIL) return mg_size_ceil(s, a, x->c);
  const mg_size b = built(s, t, x->right);
  return x->kind == ADD ? mg_size_add(s, a, b) : x->kind == SUB ? mg_size_sub(s, a, b) : mg_size_mul(s, a, b);
}
/* The next point of all that the bounds allow; 0 after the last. */
static int step(int64_t *values) {
  for (int k = 0; k < SYMBOLS; k++) {
    if (++values[k] <= bound[k][1]) return 1;
    values[k] = bound[k][0];
  }
  return 0;
}
static void first(int64_t *values) {
  for (int k = 0; k < SYMBOLS; k++) values[k] = bound[k][0];
}

/* At all points: value, bounds, order; the text reads back to the same size, in another pool to the same text. */
static void is_what_it_says(void **state) {
  uint64_t seed = 20;
  int decided = 0, undecided = 0, pairs = 0, floors = 0;
  mg_sizes *s = pool_new(), *other = pool_new();
  mg_error e;
  (void)state;
  for (int round = 0; round < 3000; round++) {
    tree t[2];
    mg_size a[2];
    int root[2];
    int64_t values[SYMBOLS], v[2], b[2][2];
    for (int k = 0; k < 2; k++) {
      t[k].n = 0;
      root[k] = grown(&t[k], &seed, 3, 1);
      a[k] = built(s, &t[k], root[k]);
      if (!a[k]) fail_msg("round %d: %s", round, (mg_sizes_error(s, &e), e.msg));
      mg_size_bounds(s, a[k], b[k]);
      char *text = printed(s, a[k]);
      assert_true(parsed(s, text) == a[k]);
      char *again = printed(other, parsed(other, text));
      assert_string_equal(text, again);
      floors += strstr(text, "floor") || strstr(text, "ceil");
      mg_string_free(text), mg_string_free(again);
    }
    const mg_order order = mg_size_order(s, a[0], a[1]);
    int less = 0, more = 0;
    first(values);
    do {
      for (int k = 0; k < 2; k++) {
        assert_int_equal(mg_size_at(s, a[k], values, &v[k], &e), MG_OK);
        assert_true(v[k] == direct(&t[k], root[k], values));
        assert_true(b[k][0] <= v[k] && v[k] <= b[k][1]);
      }
      less |= v[0] < v[1], more |= v[0] > v[1];
    } while (step(values));
    if (order == MG_ORDER_EQUAL || a[0] == a[1]) assert_false(less || more);
    if (order == MG_ORDER_AT_MOST) assert_false(more);
    if (order == MG_ORDER_AT_LEAST) assert_false(less);
    pairs += !(less && more), decided += order != MG_ORDER_UNDECIDED;
    undecided += order == MG_ORDER_UNDECIDED && !(less && more);
  }
  assert_true(floors > 1000);
  assert_true(decided > 1000 && undecided * 5 < pairs); /* sound, and of use */
  mg_sizes_free(s), mg_sizes_free(other);
}

/* Polynomials of degree at most 4 that agree on 7 values or more of each symbol are one: then, and only then, they have
   one index. */
static void equal_is_identical(void **state) {
  uint64_t seed = 4;
  enum { MANY = 400 };
  static mg_size a[MANY];
  static int64_t value[MANY][10 * 7 * 10];
  mg_sizes *s = pool_new();
  mg_error e;
  int same = 0;
  (void)state;
  for (int k = 0; k < MANY; k++) {
    tree t = {.n = 0};
    int64_t values[SYMBOLS];
    int at = 0;
    const int root = grown(&t, &seed, 2, 0);
    a[k] = built(s, &t, root);
    assert_true(a[k] != 0);
    first(values);
    do assert_int_equal(mg_size_at(s, a[k], values, &value[k][at++], &e), MG_OK);
    while (step(values));
  }
  for (int i = 0; i < MANY; i++)
    for (int j = 0; j < i; j++) {
      const int equal = !memcmp(value[i], value[j], sizeof value[i]);
      assert_int_equal(equal, a[i] == a[j]);
      same += equal;
    }
  assert_true(same > 100);
  mg_sizes_free(s);
}

static void has_one_form(void **state) {
  static const char *const same[][2] = {
      {"n*(m + 1)", "n*m + n"},
      {"(n + m)*(n - m)", "n*n - m*m"},
      {"floor((8*n + 3)/4)", "2*n"},
      {"floor((8*n + 4)/4)", "2*n + 1"},
      {"ceil(8*n/64)", "ceil(n/8)"},
      {"floor((n + 7)/8)", "ceil(n/8)"},
      {"floor((12*n + 6*m + 5)/18)", "floor((2*n + m)/3)"},
      {"floor(floor(n/2)/3)", "floor(n/6)"},
      {"ceil(ceil(n/2)/3)", "ceil(n/6)"},
      {"floor((floor(n*m/4) + m)/3)", "floor((n*m + 4*m)/12)"},
      {"ceil(n/64)", "1"}, /* as n is in 1..9 */
      {"ceil(n/64)*2", "2"},
      {"floor((n + 2)/4)*floor((3*n + 2)/4)", "floor((3*n + 2)/4)*floor((n + 2)/4)"},
      {"n - n", "0"},
      {"-(n - m)", "m - n"},
      {"0*k", "-0"},
      {"floor((n*5 - 3 + 8*m)/4)", "n - 1 + 2*m + floor((n + 1)/4)"},
  };
  static const char *const text[][2] = {
      {"3+m*n", "n*m + 3"},
      {"ceil(n/4)*2", "2*ceil(n/4)"},
      {"m*n*n-m", "n*n*m - m"},
      {"0-1*k", "-k"},
      {"ceil((m+n)/4)", "ceil((n + m)/4)"},
      {"(n-7)*(-1)", "-n + 7"},
      {"floor(k/3)*n + n", "n*floor(k/3) + n"},
  };
  mg_sizes *s = pool_new();
  (void)state;
  for (size_t k = 0; k < sizeof same / sizeof *same; k++)
    if (parsed(s, same[k][0]) != parsed(s, same[k][1])) fail_msg("%s is not %s", same[k][0], same[k][1]);
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    char *is = printed(s, parsed(s, text[k][0]));
    assert_string_equal(is, text[k][1]);
    mg_string_free(is);
  }
  mg_sizes_free(s);
}

static void orders(void **state) {
  static const struct { const char *a, *b; mg_order is; } row[] = {
      {"n*n", "n", MG_ORDER_AT_LEAST},
      {"n", "9", MG_ORDER_AT_MOST},
      {"n*m", "n*m + k + 4", MG_ORDER_AT_MOST},
      {"n*m + n", "n*(m + 1)", MG_ORDER_EQUAL},
      {"4*ceil(n/4)", "n", MG_ORDER_AT_LEAST},
      {"4*floor(n/4)", "n", MG_ORDER_AT_MOST},
      {"4*ceil(n/4)", "n + 3", MG_ORDER_AT_MOST},
      {"256*ceil(n*m*100/256) + n", "100*n*m + 1", MG_ORDER_AT_LEAST},
      {"floor(n/2)", "floor((n + 1)/2)", MG_ORDER_AT_MOST},
      {"floor(n/2) + floor((n + 1)/2)", "n", MG_ORDER_UNDECIDED}, /* they are equal: that is beyond it */
      {"3*floor(n/3) + 5*floor(m/5)", "n + m - 6", MG_ORDER_AT_LEAST},
      {"3*floor(n/3) + 5*floor(m/5)", "n + m - 5", MG_ORDER_UNDECIDED}, /* less at n=2, m=4, more at n=3, m=0 */
      {"n", "m", MG_ORDER_UNDECIDED},
      {"k*k", "0", MG_ORDER_AT_LEAST},
      {"n*k", "n*n*n", MG_ORDER_UNDECIDED},
      {"16*n*n", "16*n*n*n*n", MG_ORDER_AT_MOST},
  };
  mg_sizes *s = pool_new();
  int64_t b[2];
  (void)state;
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    const mg_size x = parsed(s, row[k].a), y = parsed(s, row[k].b);
    mg_order back = row[k].is;
    if (back == MG_ORDER_AT_MOST) back = MG_ORDER_AT_LEAST;
    else if (back == MG_ORDER_AT_LEAST) back = MG_ORDER_AT_MOST;
    if (mg_size_order(s, x, y) != row[k].is) fail_msg("%s and %s: %d", row[k].a, row[k].b, (int)mg_size_order(s, x, y));
    assert_int_equal(mg_size_order(s, y, x), back);
  }
  mg_size_bounds(s, parsed(s, "n*n - n"), b);
  assert_true(b[0] == 0 && b[1] == 72);
  mg_size_bounds(s, 0, b);
  assert_true(b[0] == INT64_MIN && b[1] == INT64_MAX);
  assert_int_equal(mg_size_order(s, 0, 0), MG_ORDER_UNDECIDED);
  mg_sizes_free(s);
}

/* Numbers at the ends of what 64 bits hold: bounds stay sound, what passes is said, and none of a size is none. */
static void overflows_are_said(void **state) {
  static const int64_t most = (int64_t)1 << 62, half = (int64_t)1 << 31;
  const int64_t edge[] = {1, -1, 2, -3, half, -half, most / 2, most - 1, most, -most};
  enum { EDGES = sizeof edge / sizeof *edge };
  mg_sizes *s = mg_sizes_new();
  mg_error e;
  int64_t b[2], v, values[2];
  (void)state;
  const mg_size x = mg_size_symbol(s, "x", -most, most), y = mg_size_symbol(s, "y", 0, (int64_t)1 << 40);
  assert_true(mg_size_int(s, (most) + 1) == 0);
  assert_int_equal(mg_sizes_error(s, &e), MG_LIMIT);
  assert_int_equal(mg_sizes_error(s, &e), MG_OK);
  assert_true(mg_size_int(s, INT64_MIN) == 0 && mg_sizes_error(s, NULL) == MG_LIMIT);
  const mg_size greatest = mg_size_int(s, most);
  assert_true(mg_size_add(s, greatest, mg_size_int(s, 1)) == 0 && mg_sizes_error(s, NULL) == MG_LIMIT);
  const mg_size product = mg_size_mul(s, greatest, x);
  assert_true(mg_size_mul(s, product, mg_size_int(s, 2)) == 0 && mg_sizes_error(s, NULL) == MG_LIMIT);
  assert_true(mg_size_floor(s, mg_size_add(s, mg_size_int(s, 0), 0), 3) == 0); /* none of none */
  assert_int_equal(mg_sizes_error(s, NULL), MG_OK);
  assert_true(mg_size_floor(s, x, 0) == 0 && mg_sizes_error(s, NULL) == MG_BAD_INPUT);
  assert_true(mg_size_ceil(s, x, -4) == 0 && mg_sizes_error(s, NULL) == MG_BAD_INPUT);
  assert_true(mg_size_symbol(s, "x", 0, 1) == 0 && mg_sizes_error(s, NULL) == MG_BAD_INPUT);
  assert_true(mg_size_symbol(s, "z", 2, 1) == 0 && mg_sizes_error(s, NULL) == MG_BAD_INPUT);
  assert_true(mg_size_symbol(s, "ceil", 2, 3) == 0 && mg_sizes_error(s, NULL) == MG_BAD_INPUT);
  assert_true(mg_size_symbol(s, NULL, 2, 3) == 0 && mg_sizes_error(s, NULL) == MG_BAD_INPUT);
  values[0] = 5, values[1] = -1;
  assert_int_equal(mg_size_at(s, y, values, &v, &e), MG_BAD_INPUT);
  assert_int_equal(mg_size_at(s, 0, values, &v, &e), MG_BAD_INPUT);
  assert_int_equal(mg_size_at(s, 12345, values, &v, &e), MG_BAD_INPUT);
  /* Products of two edges and a symbol: where a value is there, it is right, and within the bounds. */
  int there = 0, beyond = 0;
  for (int i = 0; i < EDGES; i++)
    for (int j = 0; j < EDGES; j++)
      for (int k = 0; k < EDGES; k++) {
        const mg_size scaled = mg_size_mul(s, mg_size_int(s, edge[i]), mg_size_mul(s, x, y));
        const mg_size a = mg_size_add(s, scaled, mg_size_int(s, edge[j]));
        values[0] = edge[k], values[1] = edge[i] < 0 ? 3 : (int64_t)1 << 40;
        assert_true(a != 0);
        mg_size_bounds(s, a, b);
        if (mg_size_at(s, a, values, &v, &e) != MG_OK) { beyond++; continue; }
        assert_true(v == edge[i] * edge[k] * values[1] + edge[j]);
        assert_true(b[0] <= v && v <= b[1]);
        there++;
      }
  assert_true(there > 100 && beyond > 100);
  mg_size_bounds(s, mg_size_mul(s, mg_size_mul(s, y, y), mg_size_int(s, -1)), b);
  assert_true(b[0] == INT64_MIN && b[1] == 0);
  const mg_size cube = mg_size_mul(s, y, mg_size_mul(s, y, y));
  assert_int_equal(mg_size_order(s, cube, y), MG_ORDER_UNDECIDED); /* AT_LEAST holds: from 0 on, beyond it */
  mg_sizes_free(s);
}

static void limits_hold(void **state) {
  mg_sizes *s = mg_sizes_new();
  mg_error e;
  char name[16];
  mg_size sum = mg_size_int(s, 1), power = mg_size_int(s, 1);
  (void)state;
  for (int k = 0; k < MG_MAX_SIZE_SYMBOLS; k++) {
    snprintf(name, sizeof name, "s%d", k);
    const mg_size x = mg_size_symbol(s, name, 1, 1000);
    sum = mg_size_add(s, sum, x);
    if (k < MG_MAX_SIZE_DEGREE) power = mg_size_mul(s, power, x);
  }
  assert_true(sum && power && mg_sizes_error(s, &e) == MG_OK);
  assert_true(mg_size_symbol(s, "one_more", 1, 2) == 0 && mg_sizes_error(s, &e) == MG_LIMIT);
  assert_true(mg_size_mul(s, sum, sum) == 0 && mg_sizes_error(s, &e) == MG_LIMIT); /* 17 * 18 / 2 terms */
  assert_non_null(strstr(e.msg, "terms"));
  assert_true(mg_size_mul(s, power, sum) == 0 && mg_sizes_error(s, &e) == MG_LIMIT);
  assert_non_null(strstr(e.msg, "factors"));
  /* Floors of products of floors: each holds two of the last, so that a tree of them doubles. */
  mg_size a = mg_size_symbol(s, "s0", 1, 1000), x = a;
  int deep = 0;
  while ((a = mg_size_floor(s, mg_size_add(s, mg_size_mul(s, a, a), x), 7)) != 0) deep++;
  assert_int_equal(mg_sizes_error(s, &e), MG_LIMIT);
  assert_true(deep > 3 && deep < 16);
  /* A pool ends, and says so. */
  int64_t k = 0;
  while (mg_size_int(s, ++k)) {}
  assert_int_equal(mg_sizes_error(s, &e), MG_LIMIT);
  assert_true(k > 100000 && mg_size_int(s, 1) != 0); /* what is there stays there */
  mg_sizes_free(s);
  mg_sizes_free(NULL);
}

static void garbage_is_refused(void **state) {
  static const struct { const char *text, *says; int column; } bad[] = {
      {"", "expected a size: a number, a symbol", 1},
      {"n +", "expected a size", 4},
      {"q", "found 'q'", 1},
      {"n m", "expected +, -, *", 3},
      {"n/2", "expected +, -, *", 2},
      {"ceil(n + m/4)", "expected '/', found '+'", 8},
      {"ceil(n/0)", "divided by 1 to 2^62, got 0", 1},
      {"ceil(n)", "expected '/'", 7},
      {"1.5*n", "expected a size", 1},
      {"9223372036854775807", "too large", 1},
      {"4611686018427387905", "passes 2^62", 1},
      {"(n", "expected ')'", 3},
      {"n*n*n*n*n*n*n*n*n", "8 factors", 1},
      {"4611686018427387904*n + 4611686018427387904*n", "passes 2^62", 1},
      {"n\x01", "byte 0x01", 2},
      {"-", "expected a size", 2},
      {"n - -> 3", "expected a size", 5},
  };
  static const char piece[][8] = {"n", "m", "*", "+",  "-", "(", ")", "ceil(", "floor(", "/",
                                  "3", "64", " ", ",", "#", "\n", "12e3", "\xff", "k)", "q"};
  mg_sizes *s = pool_new();
  mg_error e;
  uint64_t seed = 8;
  int good = 0;
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    memset(&e, 0, sizeof e);
    assert_true(mg_size_parse(s, bad[k].text, strlen(bad[k].text), "size", &e) == 0);
    if (!strstr(e.msg, bad[k].says) || e.column != bad[k].column) fail_msg("'%s': %s", bad[k].text, e.msg);
    assert_int_equal(mg_sizes_error(s, NULL), MG_OK);
  }
  for (int round = 0; round < 20000; round++) {
    char text[128] = "";
    for (uint64_t n = 1 + next(&seed) % 9; n; n--) strcat(text, piece[next(&seed) % (sizeof piece / sizeof *piece)]);
    const mg_size a = mg_size_parse(s, text, strlen(text), "size", &e);
    assert_int_equal(mg_sizes_error(s, NULL), MG_OK);
    if (!a) continue;
    char *is = printed(s, a);
    assert_true(parsed(s, is) == a);
    mg_string_free(is);
    good++;
  }
  assert_true(good > 500);
  /* Depth and length are bounded. */
  enum { LONG = 1 << 20 };
  char *text = (char *)malloc(LONG + 2);
  static const char *const deep[] = {"(", "-", "floor(", "n+"};
  for (size_t kind = 0; kind < sizeof deep / sizeof *deep; kind++) {
    for (size_t k = 0; k <= LONG; k++) text[k] = deep[kind][k % strlen(deep[kind])];
    assert_true(mg_size_parse(s, text, LONG, "size", &e) == 0);
    assert_true(mg_size_parse(s, text, LONG + 1, "size", &e) == 0 && e.status == MG_LIMIT);
  }
  free(text);
  mg_sizes_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_what_it_says),    cmocka_unit_test(equal_is_identical), cmocka_unit_test(has_one_form),
      cmocka_unit_test(orders),             cmocka_unit_test(overflows_are_said), cmocka_unit_test(limits_hold),
      cmocka_unit_test(garbage_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
