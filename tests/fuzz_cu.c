/* Fuzzes the reading of emitted files: any bytes may come in.  A µGraph that is found is emitted, or refused in words,
   and the emitted file holds the same µGraph.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_cu.c -o build/fuzz_cu -lm -lpthread -ldl
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_cu.c -o build/fuzz_cu -lm -lpthread -ldl && build/fuzz_cu 3000 1 */
#define FUZZ_CORPUS "tests/corpus/cu"
#define FUZZ_N 3000
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_cuda.cuh"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mg_graph *g = NULL, *h = NULL;
  mg_reduced small;
  mg_error e;
  char *cu = NULL, *again = NULL;
  mg_status s = mg_cuda_source_graph((const char *)data, size, &g, &e);
  if (s != MG_OK) {
    FUZZ_HOLDS(!g && e.status == s && *e.msg);
    return 0;
  }
  s = mg_cuda_emittable(g, "sm_80", &e);
  FUZZ_HOLDS(s == MG_OK || ((s == MG_UNSUPPORTED || s == MG_LIMIT) && *e.msg));
  mg_status t = mg_cuda_emit(g, NULL, &cu, &e);
  FUZZ_HOLDS(t == MG_OK || (!cu && *e.msg));
  if (t == MG_OK) {
    FUZZ_HOLDS(mg_cuda_source_graph(cu, strlen(cu), &h, &e) == MG_OK);
    FUZZ_HOLDS(mg_hash(h) == mg_hash(g));
    FUZZ_HOLDS(mg_cuda_emit(h, NULL, &again, &e) == MG_OK && !strcmp(cu, again)); /* the same text */
    mg_string_free(again), mg_graph_free(h);
    mg_string_free(cu);
  }
  if (mg_cuda_reduce(g, &small, &e) == MG_OK) mg_reduced_free(&small);
  mg_graph_free(g);
  return 0;
}
