/* One function of every header, called; 6 if each does what it says.  -DPART=name makes it call_name(). */
#include "mirage_model.h" /* the last first: every header brings what it needs */
#include "mirage_cuda.cuh"
#include "mirage_search.h"
#include "mirage_plan.h"
#include "mirage_verify.h"
#include "mirage.h"
#include <stdio.h>
#include <string.h>

#define CALL_(part) call_##part
#define CALL(part) CALL_(part)

#ifdef __cplusplus
extern "C"
#endif
int CALL(PART)(void);

int CALL(PART)(void) {
  static const char text[] = "program p\ninput X : f16[16, 64]\ninput W : f16[64, 32]\nO = matmul(X, W)\noutput O\n";
  static const char model[] = "model m sym n in 1..64 input X : f16[n, 64] Y = exp(X) output Y";
  mg_graph *g = NULL;
  mg_model *m = NULL;
  mg_model_list *l = NULL;
  mg_error e;
  mg_verify_report r;
  mg_search_result found;
  mg_search_config cfg = mg_search_config_default();
  char *cu = NULL;
  int good = 0;
  if (mg_parse(text, strlen(text), "text", NULL, &g, &e) == MG_OK) good++;
  if (good && mg_machine_count() > 0 && mg_machine_find(mg_machine_at(0)->name) == mg_machine_at(0)) good++;
  if (good && mg_verify(g, g, NULL, &r, &e) == MG_OK && r.verdict == MG_EQUAL) good++;
  if (good && mg_search(g, &cfg, &found, &e) == MG_OK && found.n > 0) {
    good++;
    if (mg_cuda_emit(found.graph[0], NULL, &cu, &e) == MG_OK && strstr(cu, "p_launch")) good++;
    mg_search_result_free(&found);
  }
  if (mg_model_parse(model, strlen(model), "model", NULL, &m, &e) == MG_OK && mg_model_list_of(m, &l, &e) == MG_OK) good++;
  if (good != 6) fprintf(stderr, "%s: %s\n", e.where, e.msg);
  mg_string_free(cu);
  mg_graph_free(g);
  mg_model_list_free(l), mg_model_free(m);
  return good;
}
