/* Tests of weights in files: what is read is what was written, in place and type; what is wrong is one clear error.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_weights.c -o build/test_weights -lcmocka -lm -lpthread -ldl && build/test_weights */
#define MIRAGE_IMPLEMENTATION
#include "mirage_model.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A file: its header, and so many bytes of data, byte k being k. */
static size_t file_of(unsigned char *to, const char *header, size_t data) {
  const size_t n = strlen(header);
  for (int k = 0; k < 8; k++) to[k] = (unsigned char)(n >> 8 * k);
  memcpy(to + 8, header, n);
  for (size_t k = 0; k < data; k++) to[8 + n + k] = (unsigned char)k;
  return 8 + n + data;
}
static void put_file(const char *dir, const char *name, const void *bytes, size_t n) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) fail_msg("%s cannot be written", path);
}
static char *temporary(void) {
  static char dir[64];
  static int n;
  snprintf(dir, sizeof dir, "/tmp/mg_weights_%d_%d", (int)getpid(), n++);
  if (mkdir(dir, 0700)) fail_msg("%s cannot be made", dir);
  return dir;
}
static void removed(const char *dir, const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  assert_int_equal(*name ? unlink(path) : rmdir(dir), 0);
}
static mg_model_list *list_of(const char *text, mg_model **m) {
  mg_model_list *l = NULL;
  mg_error e;
  if (mg_model_parse(text, strlen(text), "m", NULL, m, &e) != MG_OK || mg_model_list_of(*m, &l, &e) != MG_OK)
    fail_msg("%s: %s\n%s", e.where, e.msg, text);
  return l;
}
static mg_weights *weights_of(const void *bytes, size_t n) {
  mg_weights *w = NULL;
  mg_error e;
  if (mg_weights_of(bytes, n, "f", &w, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  return w;
}

/* Headers: where, what was expected, what was found. */
static void test_headers(void **state) {
#define T(name, type, shape, from, to)                                                                                 \
  "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"
  static const struct { const char *header; size_t data; const char *msg;
  } bad[] = {
      {"", 0, "byte 0: expected '{', found the end"},
      {"[]", 0, "byte 0: expected '{', found '['"},
      {"{", 0, "byte 1: expected '\"', found the end"},
      {"{\"a\"", 0, "byte 4: expected ':', found the end"},
      {"{\"a", 0, "expected '\"', found the end"},
      {"{\"a\\", 0, "expected '\"', found the end"},
      {"{\"a\\u0041\":{}}", 0, "in a name, found another escape"},
      {"{\"a\\n\":{}}", 0, "in a name, found another escape"},
      {"{\"a\n\":{}}", 0, "byte 3: expected a character of a string, found byte 0x0a"},
      {"{\"a\":3}", 0, "byte 5: expected '{', found '3'"},
      {"{\"a\":{}}", 0, "'a': expected dtype, shape and data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, "'a': expected dtype, shape and data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0,
       "expected dtype, shape and data_offsets once, found 'dtype'"},
      {"{\"a\":{\"size\":3}}", 0, "expected dtype, shape and data_offsets once, found 'size'"},
      {"{" T("a", "F31", "[1]", "0", "4") "}", 4, "'a': unknown type 'F31'"},
      {"{" T("a", "F32", "[-1]", "0", "4") "}", 4, "expected a whole number, found '-'"},
      {"{" T("a", "F32", "[1.5]", "0", "4") "}", 4, "expected ',', found '.'"},
      {"{" T("a", "F32", "[99999999999999999999]", "0", "4") "}", 4, "expected a number below 2^58"},
      {"{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, "'a': more than 8 dimensions"},
      {"{" T("a", "F32", "[4294967296,4294967296]", "0", "0") "}", 0, "'a' has more than 2^56 elements"},
      {"{" T("a", "F32", "[1]", "4", "0") "}", 4, "expected a place within the file's 4 bytes of data, found 4 to 0"},
      {"{" T("a", "F32", "[2]", "0", "8") "}", 4, "expected a place within the file's 4 bytes of data, found 0 to 8"},
      {"{" T("a", "F32", "[2]", "0", "4") "}", 4, "'a': expected 8 bytes, found 0 to 4"},
      {"{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "2", "6") "}", 8,
       "'b' begins at byte 2 of the data: expected 4"},
      {"{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "0", "4") "}", 4,
       "begins at byte 0 of the data: expected 4"},
      {"{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "8", "12") "}", 12,
       "'b' begins at byte 8 of the data: expected 4"},
      {"{" T("a", "F32", "[1]", "0", "4") "}", 8, "its tensors have 4 bytes: expected the 8 behind the header"},
      {"{" T("a", "F32", "[1]", "0", "4") "," T("a", "F32", "[1]", "4", "8") "}", 8, "two tensors are named 'a'"},
      {"{" T("a", "F32", "[1]", "0", "4") "} x", 4, "expected the end of the header, found 'x'"},
      {"{" T("a", "F32", "[1]", "0", "4") ",}", 4, "expected '\"', found '}'"},
      {"{\"__metadata__\":{\"a\":{\"b\":[1,tru e]}}}", 0, "expected ',', found 'e'"},
      {"{\"__metadata__\":}", 0, "expected a value, found '}'"},
  };
  static unsigned char file[1 << 16];
  static char deep[9000];
  mg_weights *w;
  mg_error e;
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    const size_t n = file_of(file, bad[k].header, bad[k].data);
    const mg_status s = mg_weights_of(file, n, "f", &w, &e);
    if (s == MG_OK || !strstr(e.msg, bad[k].msg))
      fail_msg("%s\nexpected %s\nfound    %s", bad[k].header, bad[k].msg, s == MG_OK ? "no error" : e.msg);
    assert_null(w);
    assert_string_equal(e.where, "f");
  }
  for (size_t n = 0; n < 8; n++) assert_int_equal(mg_weights_of(file, n, "f", &w, &e), MG_BAD_INPUT);
  memset(file, 0xff, 8);
  assert_int_equal(mg_weights_of(file, 64, "f", &w, &e), MG_BAD_INPUT);
  assert_non_null(
      strstr(e.msg, "expected a header within the file and 100 MiB, found one of 18446744073709551615 bytes"));
  snprintf(deep, sizeof deep, "{\"__metadata__\":%.*s", 8000, "");
  memset(deep + strlen(deep), '[', 8000);
  assert_int_equal(mg_weights_of(file, file_of(file, deep, 0), "f", &w, &e), MG_LIMIT);
  assert_non_null(strstr(e.msg, "values nest at most 64 deep"));
  const char *whole = "{\"__metadata__\":{\"format\":\"pt\"}," T("a.b", "BF16", "[2,3]", "4", "16") "," T(
      "empty", "F32", "[0,7]", "4", "4") "," T("c\\\"", "F16", "[]", "2", "4") "," T("A", "I8", "[2]", "0", "2") "}   ";
  const size_t n = file_of(file, whole, 16);
  w = weights_of(file, n);
  assert_int_equal(mg_weights_count(w), 4);
  assert_string_equal(mg_weights_at(w, 0)->name, "A");
  assert_int_equal(mg_weights_find(w, "a.b")->dim[1], 3);
  assert_int_equal(mg_weights_find(w, "a.b")->data[0], 4);
  assert_int_equal(mg_weights_find(w, "c\"")->rank, 0);
  assert_null(mg_weights_find(w, "b"));
  mg_weights_close(w);
  for (size_t cut = 0; cut < n; cut++)
    assert_int_not_equal(mg_weights_of(file, cut, "f", &w, &e), MG_OK); /* cut off anywhere */
}

/* Every stored type as every type of a weight: the value, rounded to nearest where it has to be, or an error. */
static void test_types(void **state) {
  static const struct {
    const char *stored, *as;
    unsigned char bytes[4];
    int n;
    double want;
    const char *msg;
  } cases[] = {
      {"BF16", "bf16", {0x80, 0x3f}, 2, 1.0, NULL},
      {"BF16", "f32", {0x20, 0xc0}, 2, -2.5, NULL},
      {"F16", "f16", {0x01, 0x00}, 2, 0x1p-24, NULL},
      {"F16", "f32", {0x00, 0xc1}, 2, -2.5, NULL},
      {"F32", "f32", {0x01, 0x00, 0x80, 0x3f}, 4, 1 + 0x1p-23, NULL},
      {"F32", "bf16", {0x00, 0x80, 0x80, 0x3f}, 4, 1, NULL},          /* 1 + 2^-8: a tie, to even */
      {"F32", "bf16", {0x01, 0x80, 0x80, 0x3f}, 4, 1 + 0x1p-7, NULL}, /* above it */
      {"F32", "f16", {0x00, 0x30, 0x80, 0x3f}, 4, 1 + 0x1p-9, NULL},  /* 1 + 3 2^-11: to even */
      {"I32", "i32", {0xfe, 0xff, 0xff, 0xff}, 4, -2, NULL},
      {"F16", "bf16", {0, 0}, 2, 0, "weight 'W', 'W': expected bf16 or F32, found F16"},
      {"BF16", "f16", {0, 0}, 2, 0, "weight 'W', 'W': expected f16 or F32, found BF16"},
      {"I32", "f32", {0, 0, 0, 0}, 4, 0, "expected f32 or F32, found I32"},
      {"F32", "i32", {0, 0, 0, 0}, 4, 0, "expected i32, found F32"},
      {"U32", "i32", {0, 0, 0, 0}, 4, 0, "expected i32, found U32"},
      {"I16", "bf16", {0, 0}, 2, 0, "expected bf16 or F32, found I16"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    unsigned char file[512];
    char text[200];
    double x = 7;
    int rounded;
    mg_model *m;
    mg_error e;
    snprintf(text, sizeof text, "{\"W\":{\"dtype\":\"%s\",\"shape\":[1],\"data_offsets\":[0,%d]}}", cases[k].stored,
             cases[k].n);
    const size_t n = file_of(file, text, (size_t)cases[k].n);
    memcpy(file + n - cases[k].n, cases[k].bytes, (size_t)cases[k].n);
    snprintf(text, sizeof text, "model m input X : %s[1] weight W : %s[1] Y = %s(X, W) output Y",
             strcmp(cases[k].as, "i32") ? cases[k].as : "f32", cases[k].as,
             strcmp(cases[k].as, "i32") ? "add" : "gather");
    mg_model_list *l = list_of(text, &m);
    mg_weights *w = weights_of(file, n);
    const mg_status s = mg_weights_fit(w, l, NULL, &rounded, &e);
    if ((s == MG_OK) != !cases[k].msg || (s != MG_OK && !strstr(e.msg, cases[k].msg)))
      fail_msg("%s as %s: %s", cases[k].stored, cases[k].as, s == MG_OK ? "taken" : e.msg);
    if (s == MG_OK) {
      mg_weights_read(w, l, mg_value_find(l, "W", -1), &x);
      if (x != cases[k].want)
        fail_msg("%s as %s: expected %.17g, found %.17g", cases[k].stored, cases[k].as, cases[k].want, x);
      assert_int_equal(rounded, !strcmp(cases[k].stored, "F32") && strcmp(cases[k].as, "f32"));
    } else {
      char where[32];
      snprintf(where, sizeof where, "m:1:%d", (int)(strstr(text, "weight W") - text) + 8);
      assert_string_equal(e.where, where);
    }
    mg_weights_close(w), mg_model_list_free(l), mg_model_free(m);
  }
}

/* Parts one behind another, transposed; by the layer; in its own name.  And what does not fit. */
#define MAPPED(as, from)                                                                                               \
  "model m sym n in 1..9 input X : f32[2, 2] weight W[2] : f32" as " " from                                            \
  " Y = sum(reshape(W[1], [24]), dim=0) output Y"
static void test_places(void **state) {
  static unsigned char file[1 << 12];
  static const char *const header =
      "{" T("h.0.q", "F32", "[4,2]", "0", "32") "," T("h.0.k", "F32", "[2,2]", "32", "48") "," T(
          "h.1.q", "F32", "[4,2]", "48", "80") "," T("h.1.k", "F32", "[2,2]", "80",
                                                     "96") "," T("g.0", "F32", "[3,2,4]", "96",
                                                                 "192") "," T("g.1", "F32", "[3,2,4]", "192",
                                                                              "288") "}";
  static const struct { const char *text, *where, *msg;
  } bad[] = {
      {MAPPED("[2, 3, 4]", "from \"g.{l}.w\""), "m:1:50", "weight 'W': no tensor of the files is named 'g.0.w'"},
      {MAPPED("[2, 3, 4]", ""), "m:1:50", "weight 'W': no tensor of the files is named 'W.0'"},
      {MAPPED("[2, 3, 4]", "from \"g.{l}\""), "m:1:50", "weight 'W', 'g.0' dimension 1: expected 3, found 2"},
      {MAPPED("[24]", "from \"g.{l}\""), "m:1:50", "weight 'W', 'g.0': expected 1 dimensions, found 3"},
      {MAPPED("[3, 4, 2]", "from \"g.{l}\""), "m:1:50", "weight 'W', 'g.0' dimension 1: expected 4, found 2"},
      {MAPPED("[12, 2]", "from \"h.{l}.q\", \"h.{l}.k\""), "m:1:50",
       "weight 'W', 'h.0.k' dimension 0: expected 8, found 2"},
      {MAPPED("[4, 6]", "from \"h.{l}.k\", \"h.{l}.q\", \"h.{l}.q\" transposed"), "m:1:50",
       "weight 'W', 'h.0.k' dimension 1: expected 4, found 2"},
      {MAPPED("[6, 4]", "from \"h.{l}.q\""), "m:1:50", "weight 'W', 'h.0.q' dimension 1: expected 4, found 2"},
  };
  (void)state;
  size_t n = file_of(file, header, 288);
  for (int k = 0; k < 72; k++) {
    const float x = (float)k;
    memcpy(file + n - 288 + 4 * k, &x, 4);
  }
  mg_weights *w = weights_of(file, n);
  mg_error e;
  mg_model *m;
  double to[24];
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    mg_model_list *l = list_of(bad[k].text, &m);
    const int64_t sym[1] = {1};
    if (mg_weights_fit(w, l, sym, NULL, &e) != MG_BAD_INPUT || strcmp(e.msg, bad[k].msg) ||
        strcmp(e.where, bad[k].where))
      fail_msg("%s\nexpected %s: %s\nfound    %s: %s", bad[k].text, bad[k].where, bad[k].msg, e.where, e.msg);
    mg_model_list_free(l), mg_model_free(m);
  }
  mg_model_list *l = list_of(
      "model m input X : f32[2, 6] weight W[2] : f32[2, 6] from \"h.{l}.q\", \"h.{l}.k\" transposed weight V[2] : f32[6, 2] from \"h.{l}.q\", \"h.{l}.k\"\n"
      "weight g[2] : f32[3, 2, 4] weight G : f32[6, 4, 2] from \"g.0\", \"g.1\" transposed weight Q : f32[4, 2] from \"h.1.q\" Y = add(X, W[1]) output Y",
      &m);
  int rounded = 7;
  assert_int_equal(mg_weights_fit(w, l, NULL, &rounded, &e), MG_OK);
  assert_int_equal(rounded, 0);
  for (int layer = 0; layer < 2; layer++) {
    mg_weights_read(w, l, mg_value_find(l, "W", layer), to);
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 6; j++)
        assert_true(to[i * 6 + j] == layer * 12 + j * 2 + i); /* q's rows, then k's, stand side by side */
    mg_weights_read(w, l, mg_value_find(l, "V", layer), to);
    for (int k = 0; k < 12; k++) assert_true(to[k] == layer * 12 + k);
    mg_weights_read(w, l, mg_value_find(l, "g", layer), to);
    for (int k = 0; k < 24; k++) assert_true(to[k] == 24 + layer * 24 + k);
  }
  double all[48];
  mg_weights_read(w, l, mg_value_find(l, "G", -1), all);
  for (int a = 0; a < 6; a++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 2; j++) assert_true(all[(a * 4 + i) * 2 + j] == 24 + a * 8 + j * 4 + i);
  mg_weights_read(w, l, mg_value_find(l, "Q", -1), to);
  assert_true(to[0] == 12 && to[7] == 19);
  mg_weights_close(w), mg_model_list_free(l), mg_model_free(m);
}

/* A step reads weights from files as it reads them from memory; states begin at 0. */
static void test_steps(void **state) {
  static const char text[] =
      "model m sym n in 1..4 input X : f32[n, 2] weight W : f32[2, 3] from \"w\" transposed state K : f32[n, 3]\n"
      "Y = add(matmul(X, W), K) update K at 0 = Y output Y";
  unsigned char file[256];
  const size_t n = file_of(file, "{" T("w", "F32", "[3,2]", "0", "24") "}", 24);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const int64_t sym[1] = {1};
  mg_model_config c;
  mg_model *m;
  mg_model_data *d;
  mg_error e;
  (void)state;
  memcpy(file + n - 24, values, 24);
  memset(&c, 0, sizeof c);
  mg_model_list *l = list_of(text, &m);
  mg_weights *w = weights_of(file, n);
  assert_int_equal(mg_model_data_open(l, sym, w, &d, &e), MG_OK);
  assert_int_equal(mg_model_step(d, sym, &c, &e), MG_BAD_INPUT);
  assert_string_equal(e.msg, "input 'X' is not there");
  double *x = d->data[mg_value_find(l, "X", -1)] = (double *)malloc(2 * sizeof *x);
  x[0] = 1, x[1] = 10;
  for (int step = 1; step <= 2; step++) {
    assert_int_equal(mg_model_step(d, sym, &c, &e), MG_OK);
    const double *y = d->data[l->output[0]];
    assert_true(y[0] == 21 * step && y[1] == 43 * step && y[2] == 65 * step);
  }
  mg_model_data_free(d), mg_weights_close(w);
  w = weights_of(file, file_of(file, "{" T("v", "F32", "[3,2]", "0", "24") "}", 24));
  assert_int_equal(mg_model_data_open(l, sym, w, &d, &e), MG_BAD_INPUT);
  assert_null(d);
  mg_weights_close(w), mg_model_list_free(l), mg_model_free(m);

  l = list_of("model m input T : i32[2] weight E : f32[5, 2] Y = gather(E, T) output Y", &m);
  assert_int_equal(mg_model_data_new(l, NULL, 1, &d, &e), MG_OK);
  x = d->data[mg_value_find(l, "T", -1)] = (double *)malloc(2 * sizeof *x);
  x[0] = 4, x[1] = 5;
  assert_int_equal(mg_model_step(d, NULL, &c, &e), MG_BAD_INPUT);
  assert_string_equal(e.msg, "input 'T' element 1: expected 0 to 4, found 5");
  mg_model_data_free(d), mg_model_list_free(l), mg_model_free(m);
  l = list_of("model m weight E : f32[9000, 9000] state K : f32[2] Y = sum(E, dim=0) output Y", &m);
  assert_int_equal(mg_model_data_new(l, NULL, 1, &d, &e), MG_LIMIT);
  assert_string_equal(
      e.msg,
      "weights and states of 81000002 elements take 648000016 bytes in float64: at most 536870912 are evaluated");
  mg_model_list_free(l), mg_model_free(m);
}

/* A rotary embedding's table follows the text, whatever the seed of other inputs. */
static void test_tables(void **state) {
  static const struct { const char *decl, *where, *msg;
  } bad[] = {
      {"input C : i32[1, 4] = cos at 0 base 10", "m:1:24", "a table is cos or sin"},
      {"input C : f32[4] = cos at 0 base 10", "m:1:21", "a table is cos or sin"},
      {"input C : f32[1, 4] = tan at 0 base 10", "m:1:32", "expected cos or sin, found 'tan'"},
      {"input C : f32[1, 4] = cos at 0 base 0", "m:1:", "a base of 1 or more"},
      {"weight C : f32[1, 4] = cos at 0 base 3", "m:1:", "expected an input, found 'C'"},
      {"input C : f32[1, 4] = cos at q base 3", "m:1:", "'q' is no size here"},
      {"input C : f32[1, 4] from \"a\"", "m:1:", "expected a weight, found 'C'"},
      {"weight C[2] : f32[1, 4] from \"a\"", "m:1:", "expected one {l}, the layer, in the name 'a'"},
      {"weight C[2] : f32[1, 4] from \"a.{l}.{l}\"", "m:1:", "expected one {l}, the layer, in the name 'a.{l}.{l}'"},
      {"weight C : f32[1, 4] from \"a.{l}\"", "m:1:", "'a.{l}': there are no layers of 'C'"},
      {"weight C : f32[4] from \"a\" transposed", "m:1:", "'C' has one dimension: it is not transposed"},
      {"weight C, D : f32[4] from \"a\"", "m:1:", "one weight comes 'from' tensors, found 2 names"},
      {"weight C : f32[4] from \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"",
       "m:1:", "at most 8 tensors"},
      {"weight C : f32[4] from D", "m:1:", "expected a name in quotes, found 'D'"},
      {"weight from : f32[4]", "m:1:", "expected a name, found 'from'"},
  };
  mg_model *m;
  mg_model_list *l = NULL;
  mg_model_data *d;
  mg_model_config c;
  mg_error e;
  char *a, *b;
  (void)state;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char text[400];
    snprintf(text, sizeof text, "model m %s Y = exp(C) output Y", bad[k].decl);
    mg_status s = mg_model_parse(text, strlen(text), "m", NULL, &m, &e);
    if (s == MG_OK) s = mg_model_list_of(m, &l, &e);
    if (s == MG_OK || !strstr(e.msg, bad[k].msg) || strncmp(e.where, bad[k].where, strlen(bad[k].where) - 4))
      fail_msg("%s\nexpected %s\nfound    %s: %s", text, bad[k].msg, e.where, s == MG_OK ? "no error" : e.msg);
    mg_model_free(m);
  }
  l = list_of(
      "model m sym p in 1..50 input C, S : f32[3, 6] = cos at 2*p-1 base 500 input T : f32[3, 6] = sin at p base 500 weight W[2] : f32[1, 2] from \"a.{l}\", \"b{l}\" transposed\n"
      "Y = add(C, S) Z = add(S, T) output Y, Z",
      &m);
  assert_int_equal(mg_model_print(m, &a, &e), MG_OK);
  assert_non_null(strstr(a, "input C : f32[3, 6] = cos at 2*p-1 base 500\n"));
  assert_non_null(strstr(a, "weight W[2] : f32[1, 2] from \"a.{l}\", \"b{l}\" transposed\n"));
  mg_model *again;
  assert_int_equal(mg_model_parse(a, strlen(a), "a", NULL, &again, &e), MG_OK);
  assert_int_equal(mg_model_print(again, &b, &e), MG_OK);
  assert_string_equal(a, b);
  mg_string_free(a), mg_string_free(b), mg_model_free(again);
  const int64_t sym[1] = {20};
  assert_int_equal(mg_model_data_new(l, sym, 1, &d, &e), MG_OK);
  memset(&c, 0, sizeof c);
  for (c.inputs = 0; c.inputs < 2; c.inputs++) {
    assert_int_equal(mg_model_step(d, sym, &c, &e), MG_OK);
    const double *y = d->data[l->output[0]], *z = d->data[l->output[1]];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 6; j++) {
        const double turn = pow(500, -(j % 3) / 3.0), want = cos((39 + i) * turn);
        assert_true(fabs(y[i * 6 + j] - 2 * want) < 1e-12);
        assert_true(fabs(z[i * 6 + j] - want - sin((20 + i) * turn)) < 1e-12);
      }
  }
  mg_model_data_free(d), mg_model_list_free(l), mg_model_free(m);
}

static mg_status opened(const char *path, mg_weights **w, mg_error *e) { return mg_weights_open(1, &path, w, e); }
/* One file, a directory of one, an index of two; and what is wrong with them. */
static void test_files(void **state) {
  static const struct { const char *index, *msg; } bad[] = {
      {"{", "expected '\"', found the end"},
      {"{}", "expected a weight_map"},
      {"{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"one.safetensors\"}}", "'b' is not in one.safetensors"},
      {"{\"weight_map\":{\"a\":\"two.safetensors\",\"b\":\"one.safetensors\"}}", "'a' is not in two.safetensors"},
      {"{\"weight_map\":{\"a\":\"none.safetensors\"}}", "cannot be opened: No such file"},
      {"{\"weight_map\":{\"a\":\"../one.safetensors\"}}", "expected a file's name, found '../one.safetensors'"},
      {"{\"weight_map\":{\"a\":\"\"}}", "expected a file's name, found ''"},
      {"{\"weight_map\":{\"a\":\"..\"}}", "expected a file that is not empty"},
      {"{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"same.safetensors\"}}", "two tensors are named 'a'"},
      {"{\"weight_map\":{}} 1", "expected the end of the index, found '1'"},
      {"{\"weight_map\":{},\"weight_map\":{}}", "expected one weight_map"},
      {"{\"weight_map\":[]}", "expected '{', found '['"},
  };
  static const char index[] = "model.safetensors.index.json";
  static const char good[] =
      "{\"metadata\":{\"total_size\":12},\"weight_map\":{\"b\":\"two.safetensors\",\"a\":\"one.safetensors\"}}";
  unsigned char one[256], two[256];
  char dir[100], path[200];
  mg_weights *w;
  mg_error e;
  (void)state;
  snprintf(dir, sizeof dir, "%s", temporary());
  const size_t n = file_of(one, "{" T("a", "F32", "[1]", "0", "4") "}", 4),
               n_two = file_of(two, "{" T("b", "F32", "[2]", "0", "8") "}", 8);
  assert_int_equal(opened(dir, &w, &e), MG_BAD_INPUT);
  assert_string_equal(e.msg, "expected model.safetensors.index.json or model.safetensors in it");
  put_file(dir, "one.safetensors", one, n), put_file(dir, "two.safetensors", two, n_two),
      put_file(dir, "same.safetensors", one, n);
  snprintf(path, sizeof path, "%s/one.safetensors", dir);
  assert_int_equal(opened(path, &w, &e), MG_OK);
  assert_int_equal(mg_weights_count(w), 1);
  mg_weights_close(w);
  put_file(dir, "model.safetensors", two, n_two);
  assert_int_equal(opened(dir, &w, &e), MG_OK);
  assert_non_null(mg_weights_find(w, "b"));
  mg_weights_close(w);
  put_file(dir, index, good, strlen(good));
  snprintf(path, sizeof path, "%s/%s", dir, index);
  for (int k = 0; k < 2; k++) { /* the directory; the index itself */
    assert_int_equal(opened(k ? path : dir, &w, &e), MG_OK);
    assert_int_equal(mg_weights_count(w), 2);
    assert_int_equal(mg_weights_find(w, "b")->bytes, 8);
    assert_int_equal(mg_weights_find(w, "a")->data[3], 3);
    mg_weights_close(w);
  }
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    put_file(dir, index, bad[k].index, strlen(bad[k].index));
    if (opened(dir, &w, &e) != MG_BAD_INPUT || !strstr(e.msg, bad[k].msg))
      fail_msg("%s\nexpected %s\nfound    %s", bad[k].index, bad[k].msg, w ? "no error" : e.msg);
    assert_null(w);
  }
  char also[200];
  put_file(dir, index, good, strlen(good));
  snprintf(also, sizeof also, "%s/three.safetensors", dir);
  put_file(dir, "three.safetensors", two, file_of(two, "{" T("c", "F32", "[1]", "0", "4") "}", 4));
  const char *const both[3] = {also, path, also}; /* a file beside an index, in both orders; the same twice */
  for (int k = 0; k < 2; k++) {
    assert_int_equal(mg_weights_open(2, both + k, &w, &e), MG_OK);
    assert_int_equal(mg_weights_count(w), 3);
    assert_int_equal(mg_weights_find(w, "b")->bytes, 8);
    mg_weights_close(w);
  }
  assert_int_equal(mg_weights_open(3, both, &w, &e), MG_BAD_INPUT);
  assert_string_equal(e.msg, "two tensors are named 'c'");
  put_file(dir, "one.safetensors", one, n - 1);
  snprintf(path, sizeof path, "%s/one.safetensors", dir);
  assert_int_equal(opened(path, &w, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, path);
  put_file(dir, "one.safetensors", one, 0);
  assert_int_equal(opened(path, &w, &e), MG_BAD_INPUT);
  assert_string_equal(e.msg, "expected a file that is not empty");
  removed(dir, "one.safetensors"), removed(dir, "two.safetensors"), removed(dir, "three.safetensors"),
      removed(dir, "same.safetensors"), removed(dir, "model.safetensors"), removed(dir, index), removed(dir, "");
  assert_int_equal(opened(path, &w, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "cannot be opened: No such file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_headers), cmocka_unit_test(test_types),
                                     cmocka_unit_test(test_places),  cmocka_unit_test(test_steps),
                                     cmocka_unit_test(test_tables),  cmocka_unit_test(test_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
