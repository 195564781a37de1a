/* Fuzzes the reading of checkpoints and of cached results: any bytes may come in, with a right checksum and key too.  What is
   read is refused in one line, or used, and every result equals the program.  An input is the number of a small program and
   edits of that program's own file, so that the corpus outlives a change of the format.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_checkpoint.c -o build/fuzz_checkpoint -lm -lpthread -ldl
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_checkpoint.c -o build/fuzz_checkpoint -lm -lpthread -ldl && build/fuzz_checkpoint 1000 1 */
#define FUZZ_CORPUS "tests/corpus/checkpoint"
#define FUZZ_N 300
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage_search.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const text[] = {
    "program a\ninput X : f16[16, 32]\nO = sum(sqr(X), dim=1)\noutput O\n",
    "program b\ninput X : f16[16, 32]\ninput W : f16[32, 16]\nO = matmul(X, W)\noutput O\n",
    "program c\ninput X : f32[4, 8]\nO = transpose(exp(X), [1, 0])\noutput O\n",
    "program d\ninput X : f16[16, 32]\ninput Y : f16[16, 32]\nO = mul(X, Y)\nS = sum(O, dim=1)\noutput O\noutput S\n"};
enum { PROGRAMS = sizeof text / sizeof *text, CAP = 1 << 20, HEAD = sizeof(mgi_se_kept_head) };

/* By what is read, CHECKPOINT or CACHE: the file, and what a search leaves there. */
enum { CHECKPOINT, CACHE };
static char directory[64];
static struct good { mg_graph *p; char path[2][400]; uint8_t *bytes[2]; size_t n[2]; } good[PROGRAMS];

static mg_search_config config(int k, int what) {
  mg_search_config c = mg_search_config_default();
  c.max_kernel_ops = 1, c.max_block_ops = 3, c.top_k = 3, c.threads = 1;
  if (what == CHECKPOINT) c.checkpoint = good[k].path[what];
  else c.cache = directory;
  return c;
}
static void put(const char *path, const void *b, size_t n) {
  FILE *f = fopen(path, "wb");
  FUZZ_HOLDS(f && fwrite(b, 1, n, f) == n && !fclose(f));
}
static uint8_t *get(const char *path, size_t *n) {
  uint8_t *b = (uint8_t *)malloc(CAP);
  FILE *f = fopen(path, "rb");
  FUZZ_HOLDS(f && b);
  *n = fread(b, 1, CAP, f);
  FUZZ_HOLDS(*n > HEAD && *n < CAP / 2);
  fclose(f);
  return b;
}
/* The name of the one file in the directory that no program has yet. */
static void new_file(int k) {
  DIR *d = opendir(directory);
  struct dirent *f;
  FUZZ_HOLDS(d != NULL);
  while ((f = readdir(d))) {
    int known = f->d_name[0] == '.';
    snprintf(good[k].path[CACHE], sizeof good[k].path[CACHE], "%s/%.255s", directory, f->d_name);
    for (int j = 0; j < k; j++) known |= !strcmp(good[j].path[CACHE], good[k].path[CACHE]);
    if (!known) break;
  }
  FUZZ_HOLDS(f != NULL);
  closedir(d);
}
static void clean(void) {
  for (int k = 0; k < PROGRAMS; k++) unlink(good[k].path[CHECKPOINT]), unlink(good[k].path[CACHE]);
  rmdir(directory);
}

static void start(void) {
  snprintf(directory, sizeof directory, "build/fuzz.%ld", (long)getpid());
  FUZZ_HOLDS(mkdir(directory, 0777) == 0);
  for (int k = 0; k < PROGRAMS; k++) {
    mg_error e;
    FUZZ_HOLDS(mg_parse(text[k], strlen(text[k]), "text", NULL, &good[k].p, &e) == MG_OK);
    for (int what = CACHE; what >= CHECKPOINT; what--) {
      if (what == CHECKPOINT) snprintf(good[k].path[what], sizeof good[k].path[what], "%s/%d.checkpoint", directory, k);
      mg_search_config c = config(k, what);
      mg_search_result r;
      if (mg_search(good[k].p, &c, &r, &e) != MG_OK) { fprintf(stderr, "%s: %s\n", e.where, e.msg); abort(); }
      mg_search_result_free(&r);
      if (what == CACHE) new_file(k);
      good[k].bytes[what] = get(good[k].path[what], &good[k].n[what]);
      unlink(good[k].path[what]); /* what is left is not yet known */
    }
  }
  atexit(clean);
}

/* Makes every length and checksum right, so that a damage reaches what stands behind them. */
static void seal(const struct good *g, int what, uint8_t *b, size_t n) {
  if (what == CACHE) {
    mgi_se_cache_head h;
    if (n < sizeof h) return;
    memcpy(&h, g->bytes[what], sizeof h);
    h = mgi_se_cache_head_of(h.key, b + sizeof h, n - sizeof h);
    memcpy(b, &h, sizeof h);
    return;
  }
  mgi_se_kept_head h;
  if (n < sizeof h) return;
  memcpy(&h, g->bytes[what], sizeof h), memcpy(b, &h, sizeof h);
  mgi_se_kept_mark m;
  for (size_t at = sizeof h; n - at >= sizeof m; at += sizeof m + m.bytes) {
    memcpy(&m, b + at, sizeof m);
    if (m.bytes > n - at - sizeof m) m.bytes = (uint32_t)(n - at - sizeof m);
    m.mark = mgi_se_kept_marked(h.check, m.bytes), m.check = mgi_se_bytes_hash(h.check, b + at + sizeof m, m.bytes);
    memcpy(b + at, &m, sizeof m);
  }
}

/* Seven bytes an edit: what, where (of the first record, or a little more than it, or of all), with which value. */
static size_t edit(uint8_t *b, size_t n, const uint8_t *s) {
  static const double odd[] = {0.0, -1.0, 1e300, -1e300, 1e-300, 4294967296.0};
  size_t at = ((size_t)s[1] | (size_t)s[2] << 8 | (size_t)s[3] << 16) % n, from = HEAD, few = s[0] & 128 ? 60 : 400;
  int64_t v = (int8_t)s[4] + (int8_t)s[5] * 256 + (int8_t)s[6] * ((int64_t)1 << 24);
  double d = odd[s[5] % 6] / odd[s[6] % 6]; /* infinities and what is no number too */
  if (s[0] & 64 && n > from) at = from + at % (few < n - from ? few : n - from);
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
  if (!*directory) start();
  if (!size) return 0;
  int k = *data % PROGRAMS, what = *data & 32 ? CACHE : CHECKPOINT;
  const struct good *g = &good[k];
  if (*data & 128) memcpy(b, data + 1, n = size - 1 < CAP ? size - 1 : CAP);
  else {
    memcpy(b, g->bytes[what], n = g->n[what]);
    for (size_t at = 1; at + 7 <= size && at < 400 && n; at += 7) n = edit(b, n, data + at);
  }
  if (!(*data & 64)) seal(g, what, b, n);
  put(g->path[what], b, n);
  mg_search_config c = config(k, what);
  mg_status s = mg_search(g->p, &c, &r, &e);
  FUZZ_HOLDS(s == MG_OK || (what == CHECKPOINT && (s == MG_NOT_FOUND || s == MG_BAD_INPUT)));
  FUZZ_HOLDS(s != MG_BAD_INPUT || (e.status == s && *e.msg && !strcmp(e.where, g->path[what])));
  if (what == CACHE) FUZZ_HOLDS(memchr(r.stats.cache_note, 0, sizeof r.stats.cache_note) && memchr(r.stats.unmeasured, 0, sizeof r.stats.unmeasured) && (r.stats.cached || *r.stats.cache_note));
  for (int i = 0; s == MG_OK && i < r.n; i++) {
    mg_verify_report v;
    FUZZ_HOLDS(mg_check(r.graph[i], &e) == MG_OK);
    FUZZ_HOLDS(mg_verify(g->p, r.graph[i], NULL, &v, &e) == MG_OK && (v.verdict == MG_EQUAL || v.verdict == MG_EQUAL_SAMPLED));
  }
  mg_search_result_free(&r);
  return 0;
}
