/* Whether a graph treats the rows of its classes of an index alike (mirage.h, >>classes): T(phi*x) = phi*T(x) for a map phi of
   indices drawn for each class, over doubles.  A random number is `state`, which is moved on. */
#ifndef MG_TESTS_NATURAL_H
#define MG_TESTS_NATURAL_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Index i of extent `now` is index from[i] of extent `was`. */
typedef struct row_pick { int64_t was, now; int64_t from[64]; } row_pick;

static inline uint64_t pick_next(uint64_t *state) { return mgi_mix(*state += 0x9E3779B97F4A7C15u, 1); }
static inline row_pick pick_drawn(uint64_t *state, int64_t was, int64_t now) {
  row_pick p;
  p.was = was, p.now = now;
  for (int64_t i = 0; i < now; i++) p.from[i] = (int64_t)(pick_next(state) % (uint64_t)was);
  return p;
}
/* The dense array x of shape s, picked along the dimensions d where by[d] is not NULL; *to is its shape. */
static inline double *picked(const double *x, const mg_shape *s, const row_pick *const *by, mg_shape *to) {
  int64_t i[MG_MAX_RANK] = {0};
  *to = *s;
  for (int d = 0; d < s->rank; d++) if (by[d]) to->dim[d] = by[d]->now;
  const int64_t n = mg_shape_elements(to);
  double *r = (double *)malloc((size_t)n * sizeof *r);
  for (int64_t k = 0; k < n; k++) {
    int64_t at = 0;
    for (int d = 0; d < s->rank; d++) at = at * s->dim[d] + (by[d] ? by[d]->from[i[d]] : i[d]);
    r[k] = x[at];
    for (int d = s->rank - 1; d >= 0 && ++i[d] == to->dim[d]; d--) i[d] = 0;
  }
  return r;
}
static inline double *pick_values(uint64_t *state, int64_t n) {
  double *r = (double *)malloc((size_t)n * sizeof *r);
  for (int64_t k = 0; k < n; k++) r[k] = 0.5 + (double)(pick_next(state) >> 11) * 0x1p-53;
  return r;
}
/* Sums are taken in the same order, so nothing but the last bits may differ. */
static inline int pick_alike(const double *a, const double *b, int64_t n) {
  for (int64_t k = 0; k < n; k++)
    if (!(a[k] == b[k] || (isnan(a[k]) && isnan(b[k])) || fabs(a[k] - b[k]) <= 1e-12 * fabs(a[k]))) return 0;
  return 1;
}
/* One output; NULL if the graph is not evaluated.  Of values from 0.5 to 1.5 indices are the share above 0.5 of their bound. */
static inline double *natural_evaluated(const mg_graph *g, double *const *in, int output, mg_error *e) {
  double *out[MG_MAX_OUT];
  mg_domain d = mg_domain_real();
  void *given[MG_MAX_IN] = {NULL};
  for (uint32_t k = 0; k < g->n_out; k++) out[k] = (double *)malloc((size_t)mg_shape_elements(&g->tensors[g->out[k].id].shape) * sizeof(double));
  for (uint32_t k = 0; k < g->n_in; k++) {
    const int64_t n = mg_shape_elements(&g->tensors[g->in[k].id].shape), bound = mg_index_bound(g, g->in[k]);
    if (g->tensors[g->in[k].id].dtype != MG_I32) continue;
    given[k] = malloc((size_t)n * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) ((int32_t *)given[k])[i] = (int32_t)((in[k][i] - 0.5) * (double)bound);
  }
  const void *all[MG_MAX_IN];
  for (uint32_t k = 0; k < g->n_in; k++) all[k] = given[k] ? given[k] : in[k];
  if (mg_eval(g, &d, all, (void *const *)out, e) != MG_OK) free(out[output]), out[output] = NULL;
  for (uint32_t k = 0; k < g->n_in; k++) free(given[k]);
  if (out[output] && g->tensors[g->out[output].id].dtype == MG_I32)
    for (int64_t i = mg_shape_elements(&g->tensors[g->out[output].id].shape); i-- > 0;) out[output][i] = ((int32_t *)out[output])[i];
  for (uint32_t k = 0; k < g->n_out; k++) if ((int)k != output) free(out[k]);
  return out[output];
}

/* Graph `which` of P at drawn extents, its axes cutting them at random, against itself at extent `few` of every class, uncut.
   1: alike; 0: the builder refuses these extents and counts, or `few`; -1: it is not, and *text is what at. */
static inline int natural_graph(const mg_parallel *P, int which, int64_t few, uint64_t *state, char **text) {
  int64_t least[MG_MAX_CLASSES], one[MG_MAX_CLASSES], extent[MG_MAX_CLASSES], chunks[MG_MAX_CLASSES];
  row_pick by[MG_MAX_CLASSES];
  mg_graph *g = NULL, *h = NULL;
  mg_error e;
  for (int c = 0; c < P->n; c++) {
    least[c] = few, one[c] = 1, chunks[c] = 1 + (int64_t)(pick_next(state) % 3), extent[c] = 1 + (int64_t)(pick_next(state) % 9);
    by[c] = pick_drawn(state, few, extent[c]);
  }
  if (mg_parallel_resize(P, which, least, one, &g, &e) != MG_OK || mg_parallel_resize(P, which, extent, chunks, &h, &e) != MG_OK) {
    mg_graph_free(g);
    return 0;
  }
  double *in[MG_MAX_IN], *to[MG_MAX_IN];
  const row_pick *along[MG_MAX_RANK];
  mg_shape shape;
  int good = 1;
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_shape *z = &g->tensors[g->in[k].id].shape;
    for (int d = 0; d < z->rank; d++) along[d] = P->in[k][d] < 0 ? NULL : &by[P->in[k][d]];
    in[k] = pick_values(state, mg_shape_elements(z)), to[k] = picked(in[k], z, along, &shape);
    good &= !memcmp(shape.dim, h->tensors[h->in[k].id].shape.dim, sizeof *shape.dim * (size_t)z->rank);
  }
  for (uint32_t k = 0; k < g->n_out && good; k++) {
    const mg_shape *z = &g->tensors[g->out[k].id].shape;
    double *a = natural_evaluated(g, in, (int)k, &e), *b = natural_evaluated(h, to, (int)k, &e), *c = NULL;
    for (int d = 0; d < z->rank; d++) along[d] = P->out[k][d] < 0 ? NULL : &by[P->out[k][d]];
    if (a) c = picked(a, z, along, &shape);
    good = a && b && !memcmp(shape.dim, h->tensors[h->out[k].id].shape.dim, sizeof *shape.dim * (size_t)z->rank) && pick_alike(c, b, mg_shape_elements(&shape));
    free(a), free(b), free(c);
  }
  if (!good) mg_print(h, text, &e);
  for (uint32_t k = 0; k < g->n_in; k++) free(in[k]), free(to[k]);
  mg_graph_free(g), mg_graph_free(h);
  return good ? 1 : -1;
}

#endif
