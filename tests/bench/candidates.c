/* The µGraphs that draw.py draws from.
   candidates PROGRAM.mg DIR SECONDS   what a search finds in so many seconds, to DIR/00.mg, 01.mg .. by rank.  Each has
                                       passed the fast tier; none is certified
   candidates FILE.mg PROGRAM.mg       the µGraph, kernels whose plan says no warps with the model's plan, to stdout; fails
                                       if it has not the program's inputs and outputs */
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const mg_error *e) {
  fprintf(stderr, "candidates: %s: %s\n", e->where, e->msg);
  return mg_exit_code(e->status);
}
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  return mg_cuda_emittable(g, (const char *)user, why);
}

static int put(const mg_graph *g, const char *path) {
  mg_error e;
  char *text = NULL;
  if (mg_print(g, &text, &e) != MG_OK) return failed(&e);
  FILE *f = path ? fopen(path, "w") : stdout;
  int bad = !f || fputs(text, f) < 0;
  if (f && path) bad |= fclose(f) != 0;
  mg_string_free(text);
  return bad ? 4 : 0;
}

int main(int argc, char **argv) {
  mg_error e;
  mg_graph *g = NULL;
  mg_search_result found;
  char path[1024];
  if (argc != 3 && argc != 4) return 3;
  if (mg_parse_file(argv[1], NULL, &g, &e) != MG_OK) return failed(&e);
  int code = 0;
  if (argc == 3) {
    mg_graph *program = NULL;
    if (mg_parse_file(argv[2], NULL, &program, &e) != MG_OK) code = failed(&e);
    else if (mg_verify_signature(program, g, &e) != MG_OK) code = failed(&e);
    mg_graph_free(program);
    for (uint32_t i = 1; i < g->n_ops; i++) {
      mg_graph *b = g->ops[i].sub;
      if (g->ops[i].code == MG_OP_GRAPH && mg_plan_says(b, MG_PLAN_WARPS_M, NULL) < 0) mg_plan_kernel(b, NULL);
    }
    if (!code) code = put(g, NULL);
    mg_graph_free(g);
    return code;
  }
  mg_search_config c = mg_search_config_default();
  c.machine = mg_machine_at(0), c.threads = 1, c.top_k = 96, c.time_limit_s = atof(argv[3]);
  c.user = (void *)(uintptr_t)c.machine->arch, c.emittable = emittable;
  if (mg_search(g, &c, &found, &e) != MG_OK) code = failed(&e);
  else {
    for (int k = 0; k < found.n && !code; k++) {
      snprintf(path, sizeof path, "%s/%02d.mg", argv[2], k);
      code = put(found.graph[k], path);
    }
    mg_search_result_free(&found);
  }
  mg_graph_free(g);
  return code;
}
