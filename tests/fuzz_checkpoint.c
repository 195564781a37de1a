/* Fuzzes the reading of checkpoints: any bytes may come in, with a right checksum and key too.  What is read is refused in one
   line, or the search goes on from it, and every result equals the program.  An input is the number of a small program and
   edits of that program's own checkpoint, so that the corpus outlives a change of the format.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_checkpoint.c -o build/fuzz_checkpoint -lm -lpthread -ldl
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_checkpoint.c -o build/fuzz_checkpoint -lm -lpthread -ldl && build/fuzz_checkpoint 1000 1 */
#define FUZZ_CORPUS "tests/corpus/checkpoint"
#define FUZZ_N 300
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"

#include <unistd.h>

static const char *const text[] = {
    "program a\ninput X : f16[16, 32]\nO = sum(sqr(X), dim=1)\noutput O\n",
    "program b\ninput X : f16[16, 32]\ninput W : f16[32, 16]\nO = matmul(X, W)\noutput O\n",
    "program c\ninput X : f32[4, 8]\nO = transpose(exp(X), [1, 0])\noutput O\n",
    "program d\ninput X : f16[16, 32]\ninput Y : f16[16, 32]\nO = mul(X, Y)\nS = sum(O, dim=1)\noutput O\noutput S\n"};
enum { PROGRAMS = sizeof text / sizeof *text, CAP = 1 << 20 };

static char path[64];
static struct { mg_graph *p; uint8_t *bytes; size_t n; } good[PROGRAMS];

static mg_search_config config(void) {
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_block_ops = 3, c.top_k = 3, c.threads = 1, c.checkpoint = path;
  return c;
}
static void put(const void *b, size_t n) {
  FILE *f = fopen(path, "wb");
  FUZZ_HOLDS(f && fwrite(b, 1, n, f) == n && !fclose(f));
}
static size_t get(uint8_t *b, size_t cap) {
  FILE *f = fopen(path, "rb");
  FUZZ_HOLDS(f != NULL);
  size_t n = fread(b, 1, cap, f);
  fclose(f);
  return n;
}
static void clean(void) { unlink(path); }

static void start(void) {
  snprintf(path, sizeof path, "build/fuzz.%ld.checkpoint", (long)getpid());
  for (int k = 0; k < PROGRAMS; k++) {
    mg_search_config c = config();
    mg_search_result r;
    mg_error e;
    clean();
    if (mg_parse(text[k], strlen(text[k]), "text", NULL, &good[k].p, &e) || mg_search(good[k].p, &c, &r, &e)) { fprintf(stderr, "%s: %s\n", e.where, e.msg); abort(); }
    mg_search_result_free(&r);
    good[k].bytes = (uint8_t *)malloc(CAP);
    FUZZ_HOLDS(good[k].bytes != NULL);
    good[k].n = get(good[k].bytes, CAP);
    FUZZ_HOLDS(good[k].n > sizeof(mgi_se_kept_head) + sizeof(mgi_se_kept) && good[k].n < CAP / 2);
  }
  atexit(clean);
}

/* Seven bytes an edit: what, where (of a record's head, of an operator's fields, or of all), with which value. */
static size_t edit(uint8_t *b, size_t n, const uint8_t *s) {
  static const double odd[] = {0.0, -1.0, 1e300, -1e300, 1e-300, 4294967296.0};
  size_t at = ((size_t)s[1] | (size_t)s[2] << 8 | (size_t)s[3] << 16) % n, from = sizeof(mgi_se_kept_head);
  int64_t v = (int8_t)s[4] + (int8_t)s[5] * 256 + (int8_t)s[6] * ((int64_t)1 << 24);
  double d = odd[s[5] % 6] / odd[s[6] % 6]; /* infinities and what is no number too */
  if (s[0] & 64 && n > from) at = from + at % ((s[0] & 128 ? sizeof(mgi_se_kept) : 2 * sizeof(mgi_se_sop) + 100) < n - from ? (s[0] & 128 ? sizeof(mgi_se_kept) : 2 * sizeof(mgi_se_sop) + 100) : n - from);
  switch (s[0] & 7) {
    case 0: b[at] = s[4]; break;
    case 1: b[at] = (uint8_t)(b[at] ^ 1 << s[4] % 8); break;
    case 2: if (at + 2 <= n) memcpy(b + (at & ~(size_t)1), &v, 2); break;
    case 3: at &= ~(size_t)3; if (at + 4 <= n) memcpy(b + at, &v, 4); break;
    case 4: at &= ~(size_t)7; if (at + 8 <= n) memcpy(b + at, &v, 8); break;
    case 5: at &= ~(size_t)7; if (at + 8 <= n) memcpy(b + at, &d, 8); break;
    case 6: { /* a piece again, elsewhere */
      size_t len = (size_t)s[4] * 8 + s[5], to = (size_t)s[6] * 64 % n;
      if (at + len <= n && to + len <= n) memmove(b + to, b + at, len);
      break;
    }
    default: /* cut off, or what follows once more at the end */
      if (s[4] & 1) return at;
      if (n + (n - at) <= CAP) memmove(b + n, b + at, n - at), n += n - at;
      break;
  }
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t b[CAP];
  mg_search_result r;
  mg_error e;
  size_t n;
  if (!*path) start();
  if (!size) return 0;
  int k = *data % PROGRAMS;
  if (*data & 128) memcpy(b, data + 1, n = size - 1 < CAP ? size - 1 : CAP);
  else {
    memcpy(b, good[k].bytes, n = good[k].n);
    for (size_t at = 1; at + 7 <= size && at < 400 && n; at += 7) n = edit(b, n, data + at);
  }
  if (!(*data & 64) && n >= sizeof(mgi_se_kept_head)) { /* so that a damage reaches what stands behind the checksum */
    mgi_se_kept_head h;
    memcpy(&h, good[k].bytes, sizeof h);
    h.bytes = n - sizeof h;
    h.check = mgi_se_bytes_hash(mgi_se_mix(h.key, h.bytes), b + sizeof h, n - sizeof h);
    memcpy(b, &h, sizeof h);
  }
  put(b, n);
  mg_search_config c = config();
  mg_status s = mg_search(good[k].p, &c, &r, &e);
  FUZZ_HOLDS(s == MG_OK || s == MG_NOT_FOUND || s == MG_BAD_INPUT);
  FUZZ_HOLDS(s != MG_BAD_INPUT || (e.status == s && *e.msg && !strcmp(e.where, path)));
  for (int i = 0; s == MG_OK && i < r.n; i++) {
    mg_verify_report v;
    FUZZ_HOLDS(mg_check(r.graph[i], &e) == MG_OK);
    FUZZ_HOLDS(mg_verify(good[k].p, r.graph[i], NULL, &v, &e) == MG_OK && (v.verdict == MG_EQUAL || v.verdict == MG_EQUAL_SAMPLED));
  }
  mg_search_result_free(&r);
  return 0;
}
