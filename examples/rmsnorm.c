/* RMSNorm and a linear layer, from a C program to a CUDA kernel: build, superoptimize, prove, emit, check, run.
   gcc  -std=c11 -O2 -I. examples/rmsnorm.c -o build/rmsnorm -lm -lpthread -ldl     (nvcc is called when there is a GPU)
   nvcc -O2 -I. examples/rmsnorm.c -o build/rmsnorm -lpthread -ldl
   build/rmsnorm [M K N]                                                             (default 16 4096 4096) */
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <stdio.h>
#include <stdlib.h>

static int failed(const mg_error *e) {
  fprintf(stderr, "rmsnorm: %s: %s\n", e->where, e->msg);
  return mg_exit_code(e->status);
}

/* A structure that the emitter cannot write is refused before it is ranked. */
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) { return mg_cuda_emittable(g, (const char *)user, why); }

int main(int argc, char **argv) {
  int64_t m = argc > 3 ? atoll(argv[1]) : 16, k = argc > 3 ? atoll(argv[2]) : 4096, n = argc > 3 ? atoll(argv[3]) : 4096;
  mg_error e;

  /* 1. The program: O = rms_norm(X, G) W. */
  mg_graph *program = mg_program_new("rmsnorm", NULL);
  int64_t xs[2] = {0, 0}, gs[1] = {0}, ws[2] = {0, 0};
  xs[0] = m, xs[1] = k, gs[0] = k, ws[0] = k, ws[1] = n;
  mg_tensor x = mg_input(program, "X", MG_F16, 2, xs);
  mg_tensor g = mg_input(program, "G", MG_F16, 1, gs);
  mg_tensor w = mg_input(program, "W", MG_F16, 2, ws);
  mg_output(program, mg_named(program, mg_matmul(program, mg_rms_norm(program, x, g, mg_rat(1, 1000000), -1), w), "O"));
  if (mg_check(program, &e) != MG_OK) return failed(&e); /* the first error of all the calls above */

  /* 2. Search, and link 1: the best µGraph equals the program, with a bound on the chance that this is wrong. */
  mg_search_config cfg = mg_search_config_default();
  mg_search_stats stats;
  mg_verify_report equal;
  mg_graph *best = NULL;
  char arch[] = "sm_90a", *text = NULL, *cu = NULL;
  cfg.emittable = emittable, cfg.user = arch;
  mg_run_config timing;
  memset(&timing, 0, sizeof timing);
  timing.arch = arch;
  cfg.measure = mg_cuda_measure_us, cfg.measure_user = &timing; /* with a GPU the fastest of the best, else the model's choice */
  if (mg_superoptimize(program, &cfg, NULL, &best, &equal, &stats, &e) != MG_OK) return failed(&e);
  if (mg_print(best, &text, &e) != MG_OK) return failed(&e);
  printf("%s# %.2f s, %llu states, %d kernel(s), %.1f us predicted on an %s\n", text, stats.seconds, (unsigned long long)stats.states,
         stats.best_kernels, stats.predicted_us, "H200");
  if (stats.measured_us > 0) printf("# %.2f us measured, cold\n", stats.measured_us);
  else printf("# the order is predicted: %s\n", stats.unmeasured);
  printf("# link 1: %s, delta <= 2^%.1f (%s)\n", mg_verdict_name(equal.verdict), ceil(equal.log2_delta * 10) / 10, equal.reason);

  /* 3. Emit, and link 2: the emitted kernel, run on the CPU thread by thread over finite fields, equals the µGraph. */
  mg_emit_config emit;
  emit.arch = arch, emit.certificate = NULL;
  if (mg_cuda_emit(best, &emit, &cu, &e) != MG_OK) return failed(&e);
  mg_check_report check;
  mg_status s = mg_cuda_check(best, cu, NULL, &check, &e);
  if (s != MG_OK) return failed(&e);
  printf("# link 2: the emitted kernel agrees over %d fields under %d fiber orders (%llu elements)\n", check.fields, check.seeds, (unsigned long long)check.compared);

  /* 4. Link 3, and the time, on a GPU. */
  mg_run_config run;
  mg_run_report ran;
  memset(&run, 0, sizeof run);
  run.cold = 1;
  s = mg_cuda_run(best, cu, &run, &ran, &e);
  if (s == MG_OK) printf("# link 3: relative error %.1e against float64 on %s; %.2f us hot, %.2f us cold\n", ran.relative_error, ran.gpu, ran.us_hot, ran.us_cold);
  else if (s == MG_MACHINE) printf("# link 3 not run: %s: %s\n", e.where, e.msg);
  else return failed(&e);

  mg_string_free(text);
  mg_string_free(cu);
  mg_graph_free(best);
  mg_graph_free(program);
  return 0;
}
