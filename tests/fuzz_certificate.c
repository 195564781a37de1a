/* Fuzzes the rechecking of certificates: any bytes may come in; what is accepted says EQUAL or EQUAL_SAMPLED, and its
   two programs are so by tests with another seed.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_certificate.c -o build/fuzz_certificate -lm -lpthread
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_certificate.c -o build/fuzz_certificate -lm -lpthread && build/fuzz_certificate 1000 1 */
#define FUZZ_CORPUS "tests/corpus/certificate"
#define FUZZ_N 1500
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"

/* Appends to out, which holds *n of `cap` bytes. */
static int put(char *out, size_t *n, size_t cap, const char *s, size_t len) {
  if (len > cap - *n) return 0;
  memcpy(out + *n, s, len);
  *n += len;
  return 1;
}
static const char *find(const char *s, const char *end, const char *what) {
  size_t n = strlen(what);
  for (; (size_t)(end - s) >= n; s++)
    if (!memcmp(s, what, n)) return s;
  return NULL;
}

/* The same text with the sizes of its two programs and the sum of the last line put right, so that a mutation reaches
   what stands behind these.  Returns its length, 0 if it has not the parts. *work: what rechecking it costs. */
static size_t repair(const char *s, size_t size, char *out, size_t cap, double *work) {
  const char *end = s + size, *first = find(s, end, "\nfirst "), *second = first ? find(first, end, "\nsecond ") : NULL, *sum = NULL, *p;
  size_t n = 0;
  char line[64];
  for (p = second; p && (p = find(p, end, "\nsum ")); p++) sum = p;
  if (!sum) return 0;
  if (!put(out, &n, cap, s, (size_t)(first + 1 - s))) return 0;
  *work = 0;
  for (int k = 0; k < 2; k++) {
    const char *from = (const char *)memchr((k ? second : first) + 1, '\n', (size_t)(end - (k ? second : first) - 1)), *to = k ? sum : second;
    mg_graph *g = NULL;
    if (!from || from >= to) return 0;
    from++, to++;
    int m = snprintf(line, sizeof line, "%s %zu\n", k ? "second" : "first", (size_t)(to - from));
    if (!put(out, &n, cap, line, (size_t)m) || !put(out, &n, cap, from, (size_t)(to - from))) return 0;
    if (mg_parse(from, (size_t)(to - from), "program", NULL, &g, NULL) == MG_OK) {
      *work += fuzz_work(g, 1);
      for (uint32_t j = 0; j < g->n_in; j++) *work += (double)mg_shape_elements(&g->tensors[g->in[j].id].shape);
    }
    mg_graph_free(g);
  }
  int m = snprintf(line, sizeof line, "sum %016llx\n", (unsigned long long)mgi_cert_sum(out, n));
  return put(out, &n, cap, line, (size_t)m) ? n : 0;
}

/* Both programs of a certificate that holds, by tests with another seed. */
static void again(const char *text, size_t size) {
  const char *end = text + size, *at = find(text, end, "\nfirst ");
  mg_graph *g[2] = {NULL, NULL};
  mg_verify_config c = mg_verify_config_default();
  mg_verify_report r;
  mg_error e;
  FUZZ_HOLDS(at != NULL);
  for (int k = 0; k < 2; k++) {
    size_t n = (size_t)strtoull(at + 7, NULL, 10);
    at = (const char *)memchr(at + 1, '\n', (size_t)(end - at - 1)) + 1;
    FUZZ_HOLDS(mg_parse(at, n, "program", NULL, &g[k], &e) == MG_OK);
    at += n;
  }
  c.seed = 0x9e3779b97f4a7c15u;
  FUZZ_HOLDS(mg_verify(g[0], g[1], &c, &r, &e) == MG_OK && (r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED));
  mg_graph_free(g[0]), mg_graph_free(g[1]);
}

static void check(const char *text, size_t size) {
  mg_verify_report r;
  mg_error e;
  memset(&e, 0, sizeof e);
  mg_status s = mg_certificate_check(text, size, &r, &e);
  if (s != MG_OK) FUZZ_HOLDS(e.status == s && *e.msg);
  else {
    FUZZ_HOLDS(r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED);
    again(text, size);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char fixed[1 << 17];
  double work = 0;
  size_t n = repair((const char *)data, size, fixed, sizeof fixed, &work);
  if (work > 5e4) return 0; /* rechecking runs the tests: a large program takes its time, by design */
  check((const char *)data, size);
  if (n) check(fixed, n);
  return 0;
}
