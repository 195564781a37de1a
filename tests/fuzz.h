/* What the fuzzers share.  Each defines LLVMFuzzerTestOneInput and FUZZ_CORPUS.  With -DMG_LIBFUZZER, libFuzzer's main
   runs it; else the main below, which needs no fuzzer: it replays the corpus, then runs N mutations of its files, drawn
   from a seed that is printed.   fuzz_x [N [SEED]]   An input that fails is written to build/fuzz_x.failed; so is one
   that takes more than FUZZ_SECONDS. */
#ifndef MG_TESTS_FUZZ_H
#define MG_TESTS_FUZZ_H
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mirage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold: said, then as bad as a crash. */
#define FUZZ_HOLDS(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); abort(); } } while (0)

/* An upper bound on the element operations of one evaluation. */
static MGI_UNUSED double fuzz_work(const mg_graph *g, double times) {
  double sum = 0, grid = 1;
  for (uint32_t a = 1; a < g->n_axes && a <= 3; a++) grid *= (double)g->axes[a].extent;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    double here = times * grid, n = 1;
    for (uint32_t s = o->scope; s; s = g->axes[s].parent) here *= (double)g->axes[s].extent;
    for (int j = 0; j < o->n_in; j++)
      if (o->code != MG_OP_LOAD) n += (double)mg_shape_elements(&g->tensors[o->in[j].id].shape);
    for (int j = 0; j < o->n_out; j++) n += (double)mg_shape_elements(&g->tensors[o->out[j].id].shape);
    if (o->code == MG_OP_MATMUL || o->code == MG_OP_CONCAT_MATMUL) {
      const mg_shape *a = &g->tensors[o->in[0].id].shape;
      n *= (double)a->dim[a->rank - 1];
    }
    sum += here * n;
    if (o->sub) sum += fuzz_work(o->sub, here);
  }
  return sum;
}

#ifndef MG_LIBFUZZER
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#ifndef FUZZ_N
#define FUZZ_N 3000
#endif
#ifndef FUZZ_SECONDS
#define FUZZ_SECONDS 30
#endif
enum { FUZZ_FILES = 512, FUZZ_BYTES = 1 << 16 };

static struct { uint8_t *p; size_t n; char name[256]; } fuzz_file[FUZZ_FILES];
static int fuzz_files;
static uint8_t fuzz_input[FUZZ_BYTES];
static size_t fuzz_size;
static uint64_t fuzz_state;
static char fuzz_failed[300];

static uint64_t fuzz_next(void) { /* splitmix64 */
  uint64_t z = (fuzz_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static size_t fuzz_below(size_t n) { return n ? (size_t)(fuzz_next() % n) : 0; }

/* Keeps the input at hand; only calls that a signal handler may make. */
static void fuzz_save(void) {
  FILE *f = fopen(fuzz_failed, "wb");
  if (f) fwrite(fuzz_input, 1, fuzz_size, f), fclose(f);
  fprintf(stderr, "the input is in %s\n", fuzz_failed);
}
static void fuzz_signal(int sig) {
  if (sig == SIGALRM) fprintf(stderr, "not ok - an input takes more than %d s\n", FUZZ_SECONDS);
  fuzz_save();
  _exit(1);
}
/* The sanitizers' way out, where one is linked in. */
extern void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

/* Puts n bytes of s in place of `cut` bytes at `at`. */
static void fuzz_replace(size_t at, size_t cut, const uint8_t *s, size_t n) {
  static uint8_t rest[FUZZ_BYTES];
  if (at > fuzz_size) at = fuzz_size;
  if (cut > fuzz_size - at) cut = fuzz_size - at;
  if (fuzz_size - cut + n > FUZZ_BYTES) return;
  size_t tail = fuzz_size - at - cut;
  memcpy(rest, fuzz_input + at + cut, tail);
  memcpy(fuzz_input + at, s, n);
  memcpy(fuzz_input + at + n, rest, tail);
  fuzz_size = at + n + tail;
}

/* Moves *at to the start of a token and returns its length. */
static size_t fuzz_token(size_t *at) {
#define FUZZ_WORD(c) (((c) >= '0' && (c) <= '9') || ((c) >= 'a' && (c) <= 'z') || ((c) >= 'A' && (c) <= 'Z') || (c) == '_')
  size_t n = 0;
  while (*at < fuzz_size && fuzz_input[*at] <= ' ') ++*at;
  while (*at > 0 && *at < fuzz_size && FUZZ_WORD(fuzz_input[*at]) && FUZZ_WORD(fuzz_input[*at - 1])) --*at;
  while (n < 64 && *at + n < fuzz_size && FUZZ_WORD(fuzz_input[*at + n])) n++;
  return n ? n : *at < fuzz_size;
}

static void fuzz_mutate(void) {
  static const char *const words[] = {"{", "}", "(", ")", "[", "]", "->", "*", "+", "max", ",", "=", "@", "#", "\n", "0", "1", "-1", "2", "3", "65536", "2147483647", "2147483648",
      "1099511627776", "9223372036854775807", "99999999999999999999", "1e99", "1/0", "0.5", "x", "y", "z", "i", "for", "load", "store", "accum", "kernel", "thread", "plan", "input", "output", "program",
      "grid", "threads", "f16", "bf16", "f32", "matmul(", "sum(", "exp(", "reshape(", "transpose(", "dim=", "n=", "eps=", "{x->0}", "{i->+}", "nan", "inf", "-", "2^-64", "EQUAL", "/*", "*/"};
  uint8_t piece[4096];
  size_t at = fuzz_below(fuzz_size + 1), n, from;
  switch (fuzz_below(12)) {
    case 0: if (fuzz_size) fuzz_input[fuzz_below(fuzz_size)] ^= (uint8_t)(1u << fuzz_below(8)); break;
    case 1: if (fuzz_size) fuzz_input[fuzz_below(fuzz_size)] = (uint8_t)fuzz_next(); break;
    case 2: fuzz_replace(at, 1 + fuzz_below(16), piece, 0); break;
    case 3: { const char *w = words[fuzz_below(sizeof words / sizeof *words)]; fuzz_replace(at, fuzz_below(3), (const uint8_t *)w, strlen(w)); break; }
    case 4: case 10: { /* a number becomes another */
      while (at < fuzz_size && !(fuzz_input[at] >= '0' && fuzz_input[at] <= '9')) at++;
      for (n = 0; at + n < fuzz_size && fuzz_input[at + n] >= '0' && fuzz_input[at + n] <= '9';) n++;
      int k = snprintf((char *)piece, sizeof piece, "%llu", (unsigned long long)(fuzz_below(2) ? fuzz_below(9) : fuzz_next() >> fuzz_below(64)));
      if (n) fuzz_replace(at, n, piece, (size_t)k);
      break;
    }
    case 5: /* a line, or a piece, twice */
      n = 1 + fuzz_below(200), from = fuzz_below(fuzz_size + 1);
      if (from + n > fuzz_size) n = fuzz_size - from;
      memcpy(piece, fuzz_input + from, n);
      fuzz_replace(at, 0, piece, n);
      break;
    case 6: { /* a piece of another file */
      int k = (int)fuzz_below((size_t)fuzz_files);
      n = 1 + fuzz_below(400), from = fuzz_below(fuzz_file[k].n + 1);
      if (from + n > fuzz_file[k].n) n = fuzz_file[k].n - from;
      memcpy(piece, fuzz_file[k].p + from, n);
      fuzz_replace(at, fuzz_below(n + 1), piece, n);
      break;
    }
    case 7: case 8: case 9: { /* a word or sign becomes another of the same text */
      from = fuzz_below(fuzz_size + 1);
      size_t m = fuzz_token(&from), cut = fuzz_token(&at);
      memcpy(piece, fuzz_input + from, m);
      fuzz_replace(at, cut, piece, m);
      break;
    }
    default: fuzz_size = fuzz_below(4) ? fuzz_size : at; break; /* cut off */
  }
}

static void fuzz_one(void) {
  uint8_t *copy = (uint8_t *)malloc(fuzz_size ? fuzz_size : 1); /* of its own size: the sanitizer sees a read past it */
  if (!copy) exit(4);
  memcpy(copy, fuzz_input, fuzz_size);
  alarm(FUZZ_SECONDS);
  LLVMFuzzerTestOneInput(copy, fuzz_size);
  alarm(0);
  free(copy);
}

static int fuzz_by_name(const void *a, const void *b) { return strcmp((const char *)a + offsetof(__typeof__(fuzz_file[0]), name), (const char *)b + offsetof(__typeof__(fuzz_file[0]), name)); }

int main(int argc, char **argv) {
  uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : FUZZ_N, seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  const char *base = strrchr(argv[0], '/');
  DIR *d = opendir(FUZZ_CORPUS);
  struct dirent *f;
  snprintf(fuzz_failed, sizeof fuzz_failed, "build/%.200s.failed", base ? base + 1 : argv[0]);
  if (!d) { fprintf(stderr, "not ok - run from the repository's top directory: no %s here\n", FUZZ_CORPUS); return 1; }
  while ((f = readdir(d)) && fuzz_files < FUZZ_FILES) {
    char path[600];
    if (f->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", FUZZ_CORPUS, f->d_name);
    FILE *in = fopen(path, "rb");
    if (!in) continue;
    fuzz_file[fuzz_files].p = (uint8_t *)malloc(FUZZ_BYTES);
    if (!fuzz_file[fuzz_files].p) return 4;
    fuzz_file[fuzz_files].n = fread(fuzz_file[fuzz_files].p, 1, FUZZ_BYTES, in);
    snprintf(fuzz_file[fuzz_files++].name, sizeof fuzz_file[0].name, "%.255s", f->d_name);
    fclose(in);
  }
  closedir(d);
  if (!fuzz_files) { fprintf(stderr, "not ok - no file in %s\n", FUZZ_CORPUS); return 1; }
  qsort(fuzz_file, (size_t)fuzz_files, sizeof fuzz_file[0], fuzz_by_name); /* the order of a directory is no order */
  signal(SIGALRM, fuzz_signal), signal(SIGABRT, fuzz_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(fuzz_save);
  else signal(SIGSEGV, fuzz_signal), signal(SIGFPE, fuzz_signal), signal(SIGBUS, fuzz_signal);
  for (int k = 0; k < fuzz_files; k++) {
    memcpy(fuzz_input, fuzz_file[k].p, fuzz_size = fuzz_file[k].n);
    fuzz_one();
  }
  printf("ok - %d files of %s\n", fuzz_files, FUZZ_CORPUS);
  printf("seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  for (uint64_t k = 0; k < n; k++) {
    fuzz_state = seed * 0x9e3779b97f4a7c15u + k;
    int from = (int)fuzz_below((size_t)fuzz_files);
    memcpy(fuzz_input, fuzz_file[from].p, fuzz_size = fuzz_file[from].n);
    for (size_t m = 1 + (fuzz_below(3) ? 0 : fuzz_below(6)); m; m--) fuzz_mutate();
    fuzz_one();
  }
  printf("ok - %llu mutations\n", (unsigned long long)n);
  for (int k = 0; k < fuzz_files; k++) free(fuzz_file[k].p);
  return 0;
}
#endif /* MG_LIBFUZZER */
#endif
