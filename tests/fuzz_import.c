/* Fuzzes the import of µGraphs: any bytes may come in.  What is read is checked, prints, and parses to the same graph; what is
   not is refused in one line.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -DMIRAGE_CJSON -fsanitize=fuzzer,address,undefined tests/fuzz_import.c -o build/fuzz_import -lcjson -lm
   gcc -std=c11 -O1 -g -I. -DMIRAGE_CJSON -fsanitize=address,undefined tests/fuzz_import.c -o build/fuzz_import -lcjson -lm && build/fuzz_import 20000 1 */
#define FUZZ_CORPUS "tests/corpus/import"
#define FUZZ_N 20000
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "../examples/import.c"

static int one_line(const char *s) {
  int n = 0;
  for (; *s; s++, n++)
    if ((unsigned char)*s < 32) return 0;
  return n > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  import_file *f;
  int n;
  mg_error e;
  mg_status s = import_open((const char *)data, size, "fuzz", &f, &n, &e);
#ifndef MIRAGE_CJSON
  FUZZ_HOLDS(s == MG_UNSUPPORTED && !f && one_line(e.msg));
  return 0;
#endif
  if (s != MG_OK) {
    FUZZ_HOLDS(!f && e.status == s && one_line(e.msg) && (s == MG_BAD_INPUT || s == MG_LIMIT));
    return 0;
  }
  for (int k = 0; k < n && k < 4; k++) {
    mg_config c = mg_config_default();
    mg_graph *g = NULL, *h = NULL;
    char *a = NULL, *b = NULL;
    c.memory_limit = (size_t)32 << 20;
    c.separate = size & 1; /* both modes are tried */
    s = import_graph(f, k, "fuzz", &c, &g, &e);
    if (s != MG_OK) {
      FUZZ_HOLDS(!g && e.status == s && one_line(e.msg) && one_line(e.where) && (s == MG_BAD_INPUT || s == MG_LIMIT || s == MG_UNSUPPORTED));
      continue;
    }
    FUZZ_HOLDS(mg_check(g, &e) == MG_OK && mg_print(g, &a, &e) == MG_OK);
    if (mg_parse(a, strlen(a), "again", NULL, &h, &e) != MG_OK) { fprintf(stderr, "%s:%d: %s\n%s", e.where, e.line, e.msg, a); abort(); }
    FUZZ_HOLDS(mg_print(h, &b, &e) == MG_OK && !strcmp(a, b) && mg_hash(g) == mg_hash(h));
    mg_string_free(a), mg_string_free(b);
    mg_graph_free(g), mg_graph_free(h);
  }
  import_close(f);
  return 0;
}
