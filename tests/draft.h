/* A µGraph that can be edited: what the adversary's mutator and rewriter work on (tests/test_adversary.c).
   draft_read takes a checked graph apart, draft_build puts a draft together through the builder, so every draft meets
   all checks of mirage.h again.  Level 0 is the program; lower graphs follow.  Axis and tensor ids are those of the
   graph that was read; loops are opened and closed as the ops' scopes ask. */
#ifndef MG_TESTS_DRAFT_H
#define MG_TESTS_DRAFT_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mirage.h"

enum { DRAFT_OPS = 96, DRAFT_TENSORS = 160, DRAFT_LEVELS = 10 };

typedef struct draft_op {
  mg_opcode code;
  int scope, n_in, n_out, sub;                 /* GRAPH: sub is a level, n_in 0 (the loads of sub say what it reads) */
  int in[4], out[MG_MAX_OUT];                  /* LOAD: in[0] is a tensor of the level above */
  mg_attr attr;
  mg_map map;
} draft_op;

typedef struct draft_level {
  int up, threads, n, n_axes, n_tensors;       /* ops 0 .. n-1; axes 1 .. n_axes-1; tensors 1 .. n_tensors-1 */
  int kind;                                    /* mg_level */
  int64_t extent[MG_MAX_AXES + 1];
  int parent[MG_MAX_AXES + 1];
  mg_shape shape[DRAFT_TENSORS];               /* as read; a tensor added since has rank 0 */
  draft_op op[DRAFT_OPS];
} draft_level;

typedef struct draft {
  int n_in, n_out, n_levels;
  int in[MG_MAX_IN], out[MG_MAX_OUT];
  mg_dtype dtype[MG_MAX_IN];
  int32_t order[MG_MAX_IN][MG_MAX_RANK];
  draft_level level[DRAFT_LEVELS];
} draft;

static int draft_read_level(draft *D, const mg_graph *g, int up) {
  if (D->n_levels == DRAFT_LEVELS || g->n_ops > DRAFT_OPS || g->n_tensors > DRAFT_TENSORS) return -1;
  int l = D->n_levels++;
  draft_level *L = &D->level[l];
  L->up = up, L->threads = g->threads ? g->threads : 1, L->n = (int)g->n_ops - 1, L->n_axes = (int)g->n_axes, L->n_tensors = (int)g->n_tensors, L->kind = g->level;
  for (uint32_t a = 1; a < g->n_axes; a++) L->extent[a] = g->axes[a].extent, L->parent[a] = (int)g->axes[a].parent;
  for (uint32_t t = 1; t < g->n_tensors; t++) L->shape[t] = g->tensors[t].shape;
  for (uint32_t k = 1; k < g->n_ops; k++) {
    const mg_op_node *o = &g->ops[k];
    draft_op *p = &L->op[k - 1];
    memset(p, 0, sizeof *p);
    p->code = o->code, p->scope = (int)o->scope, p->n_in = o->sub ? 0 : o->n_in, p->n_out = o->n_out, p->attr = o->attr, p->map = o->map;
    for (int j = 0; j < p->n_in; j++) p->in[j] = (int)o->in[j].id;
    for (int j = 0; j < p->n_out; j++) p->out[j] = (int)o->out[j].id;
    if (o->sub && (p->sub = draft_read_level(D, o->sub, l)) < 0) return -1;
  }
  return l;
}

/* 1 unless the graph is too large for a draft. */
static int draft_read(draft *D, const mg_graph *g) {
  D->n_levels = 0, D->n_in = (int)g->n_in, D->n_out = (int)g->n_out;
  if (draft_read_level(D, g, -1) < 0) return 0;
  for (uint32_t k = 0; k < g->n_in; k++) {
    const mg_tensor_info *t = &g->tensors[g->in[k].id];
    D->in[k] = (int)g->in[k].id, D->dtype[k] = t->dtype;
    memcpy(D->order[k], t->order, sizeof t->order);
  }
  for (uint32_t k = 0; k < g->n_out; k++) D->out[k] = (int)g->out[k].id;
  return 1;
}

static inline void draft_copy(draft *to, const draft *from) { memcpy(to, from, offsetof(draft, level) + (size_t)from->n_levels * sizeof(draft_level)); }

/* 1 if loop `in` is `scope` or inside it; 0 is the graph's own body. */
static int draft_inside(const draft_level *L, int in, int scope) {
  while (in && in != scope) in = L->parent[in];
  return in == scope;
}

static int draft_build_level(mg_graph *to, const draft *D, int l, mg_tensor *map, const mg_tensor *up) {
  const draft_level *L = &D->level[l];
  int scope = 0, axis[MG_MAX_AXES + 1] = {0, 1, 2, 3}, opened[MG_MAX_AXES + 1] = {0};
  for (int k = 0; k <= L->n; k++) {
    int want = k < L->n ? L->op[k].scope : 0;
    while (!draft_inside(L, want, scope)) scope = L->parent[scope], mg_loop_end(to);
    while (scope != want) {
      char name[16];
      int s = want;
      while (L->parent[s] != scope) s = L->parent[s];
      if (opened[s]) return 0; /* a body in two pieces */
      snprintf(name, sizeof name, "l%d", s);
      axis[s] = (int)mg_loop_begin(to, name, L->extent[s]).id, opened[s] = 1;
      if (!axis[s]) return 0;
      scope = s;
    }
    if (k == L->n) break;
    const draft_op *o = &L->op[k];
    mg_tensor in[4], out[MG_MAX_OUT];
    mg_map m = mg_map_none();
    memset(out, 0, sizeof out);
    for (int a = 1; a < L->n_axes; a++)
      if (o->map.to[a] != MG_MAP_NONE) {
        if (!axis[a]) return 0;
        m.to[axis[a]] = o->map.to[a];
      }
    for (int j = 0; j < o->n_in; j++) in[j] = o->code == MG_OP_LOAD ? up[o->in[j]] : map[o->in[j]];
    switch (o->code) {
      case MG_OP_LOAD: out[0] = mg_load(to, in[0], m); break;
      case MG_OP_ACCUM: out[0] = mg_accum(to, in[0], m); break;
      case MG_OP_STORE: mg_store(to, in[0], m); break;
      case MG_OP_GRAPH: {
        mg_tensor lower[DRAFT_TENSORS];
        memset(lower, 0, sizeof lower);
        mg_graph *sub = mg_graph_begin(to, D->level[o->sub].extent + 1, D->level[o->sub].threads);
        if (!sub || !draft_build_level(sub, D, o->sub, lower, map) || mg_graph_end(sub, out) != o->n_out) return 0;
        break;
      }
      default: out[0] = mg_apply(to, o->code, &o->attr, o->n_in, in);
    }
    for (int j = 0; j < o->n_out; j++) {
      if (!out[j].id) return 0;
      map[o->out[j]] = out[j];
    }
  }
  return 1;
}

/* A checked graph, or NULL: the draft is no valid graph.  *e says why, where the builder knows. */
static mg_graph *draft_build(const draft *D, const char *name, mg_error *e) {
  mg_tensor map[DRAFT_TENSORS];
  memset(map, 0, sizeof map);
  mg_fail(e, MG_BAD_INPUT, "draft", "not a tree of loops");
  mg_graph *g = mg_program_new(name, NULL);
  if (!g) return NULL;
  for (int k = 0; k < D->n_in; k++) {
    char in[16];
    snprintf(in, sizeof in, "i%d", k);
    map[D->in[k]] = mg_input_ordered(g, in, D->dtype[k], D->level[0].shape[D->in[k]].rank, D->level[0].shape[D->in[k]].dim, D->order[k]);
  }
  int good = draft_build_level(g, D, 0, map, NULL);
  for (int k = 0; k < D->n_out && good; k++) mg_output(g, map[D->out[k]]);
  if (mg_check(g, e) == MG_OK && good) return g;
  mg_graph_free(g);
  return NULL;
}

/* ---- editing.  A lower graph's loads use tensors of the level above. */

static int draft_loads_above(const draft_op *o) { return o->code == MG_OP_LOAD; }

static int draft_def(const draft_level *L, int t) {
  for (int k = 0; k < L->n; k++)
    for (int j = 0; j < L->op[k].n_out; j++)
      if (L->op[k].out[j] == t) return k;
  return -1;
}
static int draft_uses(const draft *D, int l, int t) {
  int n = 0;
  for (int m = 0; m < D->n_levels; m++)
    for (int k = 0; k < D->level[m].n; k++) {
      const draft_op *o = &D->level[m].op[k];
      if (draft_loads_above(o) ? D->level[m].up != l : m != l) continue;
      for (int j = 0; j < o->n_in; j++) n += o->in[j] == t;
    }
  for (int k = 0; k < D->n_out && !l; k++) n += D->out[k] == t;
  return n;
}
/* Uses of t from op `from` of its level on become uses of r. */
static void draft_replace(draft *D, int l, int t, int r, int from) {
  for (int m = 0; m < D->n_levels; m++)
    for (int k = m == l ? from : 0; k < D->level[m].n; k++) {
      draft_op *o = &D->level[m].op[k];
      if (draft_loads_above(o) ? D->level[m].up != l : m != l) continue;
      for (int j = 0; j < o->n_in; j++)
        if (o->in[j] == t) o->in[j] = r;
    }
  for (int k = 0; k < D->n_out && !l; k++)
    if (D->out[k] == t) D->out[k] = r;
}
static int draft_tensor(draft_level *L) { return L->n_tensors < DRAFT_TENSORS ? memset(&L->shape[L->n_tensors], 0, sizeof(mg_shape)), L->n_tensors++ : 0; }

static void draft_remove(draft_level *L, int k) {
  memmove(&L->op[k], &L->op[k + 1], (size_t)(L->n - k - 1) * sizeof(draft_op));
  L->n--;
}
/* Removes what nothing uses; a lower graph nobody reads goes whole. */
static void draft_sweep(draft *D) {
  for (int changed = 1; changed;) {
    changed = 0;
    for (int l = 0; l < D->n_levels; l++)
      for (int k = D->level[l].n - 1; k >= 0; k--) {
        draft_op *o = &D->level[l].op[k];
        int used = o->code == MG_OP_STORE;
        for (int j = 0; j < o->n_out; j++) used |= draft_uses(D, l, o->out[j]) > 0;
        if (used) continue;
        if (o->code == MG_OP_GRAPH) { /* and what stands in it */
          for (int m = 0; m < D->n_levels; m++) {
            int up = m;
            while (up >= 0 && up != o->sub) up = D->level[up].up;
            if (up == o->sub && m != o->sub) D->level[m].n = 0;
          }
          D->level[o->sub].n = 0;
        }
        draft_remove(&D->level[l], k);
        changed = 1;
      }
  }
}
/* Puts an op before op *at, moves *at past it and returns its tensor (0: no room). */
static int draft_emit(draft_level *L, int *at, mg_opcode code, int scope, const mg_attr *A, int n_in, int a, int b) {
  if (L->n == DRAFT_OPS) return 0;
  int t = draft_tensor(L);
  if (!t) return 0;
  memmove(&L->op[*at + 1], &L->op[*at], (size_t)(L->n - *at) * sizeof(draft_op));
  L->n++;
  draft_op *o = &L->op[*at];
  memset(o, 0, sizeof *o);
  o->code = code, o->scope = scope, o->n_in = n_in, o->n_out = 1, o->in[0] = a, o->in[1] = b, o->out[0] = t, o->map = mg_map_none();
  if (A) o->attr = *A;
  ++*at;
  return t;
}

#endif
