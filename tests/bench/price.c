/* What the model of mirage_plan.h says of µGraphs, for fit.py: price MACHINE, and price --print MACHINE, which prints its row
   Reads µGraphs from stdin, each ended by a byte 0; an empty one ends them.  Then machines, as mg_machine_print has them, ended
   by a byte 0 too, and after each writes a line for every µGraph: its microseconds under its own plans, without the penalty
   that is no time.  MACHINE says for which the plans are read.  A kernel's work is found once, its cost for every machine. */
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel { /* of a µGraph; op: of a library kernel */
  int of;
  uint32_t op;
  mg_graph *g;
  mg_kernel_plan plan;
  mgi_work work;
  double maxima_us;
} kernel;
static char text[1 << 20];
static kernel *all;
static size_t n_all, n_graphs;

static int failed(const mg_error *e) {
  fprintf(stderr, "price: %s: %s\n", e->where, e->msg);
  return 2;
}

/* The next text, up to its byte 0; -1: there is none. */
static long next(void) {
  size_t n = 0;
  for (int c; (c = getchar()) != EOF; n++) {
    if (n == sizeof text) return -1;
    text[n] = (char)c;
    if (!c) return (long)n;
  }
  return -1;
}

static int take(mg_graph *g, const mg_machine *m) {
  mg_sends s;
  mg_flat k;
  double us;
  if (!mg_sends_of(g, m, 1, &s)) return 0;
  for (uint32_t i = 1; i < g->n_ops; i++) {
    kernel *grown = (kernel *)realloc(all, (n_all + 1) * sizeof *all), *x = grown + n_all;
    if (!grown) return 0;
    all = grown;
    n_all++;
    memset(x, 0, sizeof *x);
    x->of = (int)n_graphs, x->op = i, x->g = g;
    if (g->ops[i].code != MG_OP_GRAPH) continue;
    x->op = 0;
    if (!mgi_flat_in(g, i, m, &s, &k, &x->maxima_us)) return 0;
    if (!mgi_plan_given(g->ops[i].sub, &k, m, &x->plan)) x->plan = mg_flat_plan(&k, m, &us, NULL);
    x->plan.feasible = x->plan.feasible ? x->plan.feasible : 1;
    mgi_work_of(&x->work, &k, &x->plan);
  }
  mg_sends_free(&s);
  n_graphs++;
  return 1;
}

int main(int argc, char **argv) {
  mg_error e;
  char row[MG_MACHINE_TEXT];
  const int print = argc == 3 && !strcmp(argv[1], "--print");
  const mg_machine *m = argc == 2 || print ? mg_machine_find(argv[argc - 1]) : NULL;
  long n;
  if (!m) return 3;
  if (print) return fputs(mg_machine_print(m, row), stdout) < 0;
  while ((n = next()) > 0) {
    mg_graph *g = NULL;
    if (mg_parse(text, (size_t)n, "stdin", NULL, &g, &e) != MG_OK) return failed(&e);
    if (!take(g, m)) return 2;
  }
  double *us = (double *)malloc((n_graphs + 1) * sizeof *us);
  while (us && (n = next()) > 0) {
    mg_machine_file file;
    if (mg_machine_parse(text, (size_t)n, "stdin", &file, &e) != MG_OK) return failed(&e);
    memset(us, 0, n_graphs * sizeof *us);
    for (size_t i = 0; i < n_all; i++) {
      const kernel *x = &all[i];
      if (x->op) us[x->of] += mg_library_us(x->g, &x->g->ops[x->op], &file.m);
      else {
        const mg_cost c = mgi_kernel_cost(&file.m, &x->plan, &x->work, NULL);
        us[x->of] += c.total_us / c.penalty + x->maxima_us;
      }
    }
    for (size_t i = 0; i < n_graphs; i++) printf("%.6f\n", us[i]);
    fflush(stdout);
  }
  return 0;
}
