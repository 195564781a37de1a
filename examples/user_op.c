/* Two operators from outside, one row each, taken through the whole chain: a bend (tanh), and a reversal along a dimension.
   gcc -std=c11 -O2 -I. examples/user_op.c -o build/user_op -lm -lpthread -ldl
   nvcc -O2 -I. examples/user_op.c -o build/user_op -lpthread -ldl */

/* E: name, operands, levels, attribute, abstract expression, meaning over fields, meaning over the reals (and in CUDA).
   T: name, operands, levels, attribute, shape rule, abstract expression, where output element i comes from.
   A last column may name the cost class; see mirage.h, >>ops. */
#define MG_USER_OPS(E, T)                                                                             \
  E(BEND, "bend", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))                            \
  T(FLIP, "flip", 1, MG_KB_, DIM, FLIP, OPAQUE, j[A->dim] = S->dim[A->dim] - 1 - i[A->dim])

#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <stdio.h>
#include <string.h>

/* flip's shape rule: the shape stays.  (SAME is such a rule already; this shows where one's own goes.) */
mg_status mgi_shape_FLIP(const mg_attr *A, const mg_shape *in, int n_in, mg_shape *out, mg_error *e) {
  (void)n_in;
  if (A->dim < 0 || A->dim >= in[0].rank) return mg_fail(e, MG_BAD_INPUT, "flip", "expected a dimension below %d, found %d", in[0].rank, A->dim);
  *out = in[0];
  return MG_OK;
}

static int failed(const mg_error *e) {
  fprintf(stderr, "user_op: %s: %s\n", e->where, e->msg);
  return mg_exit_code(e->status);
}
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) { (void)user; return mg_cuda_emittable(g, "sm_90a", why); }

int main(void) {
  static const char source[] =
      "program user\n"
      "input X : f16[16, 256]\n"
      "input W : f16[256, 512]\n"
      "input B : f16[16, 512]\n"
      "O = bend(add(matmul(X, W), flip(B, dim=1)))\n"
      "output O\n";
  mg_graph *program = NULL, *best = NULL;
  mg_verify_report equal;
  mg_search_stats stats;
  mg_check_report check;
  mg_error e;
  char *text = NULL, *cu = NULL;
  if (mg_parse(source, strlen(source), "source", NULL, &program, &e) != MG_OK) return failed(&e);
  mg_search_config cfg = mg_search_config_default();
  cfg.emittable = emittable;
  if (mg_superoptimize(program, &cfg, NULL, &best, &equal, &stats, &e) != MG_OK) return failed(&e);
  if (mg_print(best, &text, &e) != MG_OK || mg_cuda_emit(best, NULL, &cu, &e) != MG_OK) return failed(&e);
  printf("%s# link 1: %s, %s\n", text, mg_verdict_name(equal.verdict), equal.reason);
  if (mg_cuda_check(best, cu, NULL, &check, &e) != MG_OK) return failed(&e);
  printf("# link 2: same over %d fields, %d fiber orders; floats: relative error %.1e\n", check.fields, check.seeds, check.float_error);
  mg_string_free(text);
  mg_string_free(cu);
  mg_graph_free(best);
  mg_graph_free(program);
  return 0;
}
