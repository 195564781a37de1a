/* Reads µGraphs that the public Mirage saved (JSON) and builds them as mg_graphs.  A part of examples/mirage.c, which
   includes it after mirage.h; it needs cJSON (Debian: libcjson-dev) and is built with -DMIRAGE_CJSON -lcjson.  Without that,
   import_open answers MG_UNSUPPORTED.  On its own:  gcc -std=c11 -O2 -I. -c examples/import.c -o build/import.o

     import_file *f;  int n;  mg_graph *g;  mg_error e;
     if (import_open(text, len, "rmsnorm.json", &f, &n, &e) == MG_OK)
       for (int k = 0; k < n; k++)
         if (import_graph(f, k, "rmsnorm", NULL, &g, &e) == MG_OK) { .. mg_graph_free(g); }
     import_close(f);

   THE FORMAT  A file is a list of µGraphs (or one), a µGraph a list of kernel operators, each with op_type, input_tensors
   and output_tensors.  A tensor is {guid, num_dims, dim[4], data_type, layout}; guids tie producers to consumers, and a
   producer stands before its consumers.
     kn_input_op       input_strides, in elements
     kn_output_op      the next output of the program; output_strides
     kn_customized_op  bgraph: grid_dim, block_dim, forloop_range, reduction_dimx, operators: a block graph.  The k-th
                       tb_output_op makes output_tensors[k].
     tb_input_op       dtensor (of the kernel graph), input_map and forloop_dim: the dimension that each grid axis and the loop
                       cut, -1 for none.  An axis of one block cuts nothing, whatever the map says.
     tb_accum_*        lifts out of the loop.  n: the last extent, r: forloop_range, sums over the loop
                         nored        sum x                   red_ld_sum   sum of x over the last dimension as well
                         redtox_ld_sum  the last dimension to reduction_dimx, as reduction_D_to_dimx below
                         red_ld_mean  red_ld_sum / (n r)      red_ld_rms   sqrt(red_ld_sum of x^2 / (n r))
                         max          the maximum
     tb_output_op      output_map, as input_map
     *_reduction_D_op  sums dimension D to the extent s of its output: out[j] = sum over k of in[j + k s].  _to_dimx: s is
                       reduction_dimx.
     tb_rms_norm_op    x / sqrt(mean of x^2 over the last dimension)
     *_concat_D_op, and matmul, add, sub, mul, div, exp, square, sqrt, silu, gelu, relu, log, between kn_ or tb_ and _op
   An operator that reads what an accumulator made stands after the loop, the others in it.  Every extent that the file
   states is compared with what ours comes to: a reading that the writer did not share shows there.

   WHAT OUR FORM DOES NOT HOLD, or the file leaves open, is MG_UNSUPPORTED: clamp and mul_scalar (the file does not hold
   their constants), kn_rms_norm (nor its dimensions), splits, rescaled accumulators, thread graphs (tb_customized_op),
   communication, several GPUs, outputs that are not row-major, data types whose number changed its meaning between
   versions (16-bit float is 921 or 941, 32-bit 950).  Anything else that is not as above is MG_BAD_INPUT.  */
#ifndef MIRAGE_IMPORT_C
#define MIRAGE_IMPORT_C

#include "mirage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct import_file import_file;

/* Reads text (len bytes); *n is the number of µGraphs.  `where` names it in errors.  MG_BAD_INPUT: no JSON, or no list of
   lists of operators; MG_LIMIT: more than IMPORT_VALUES values.  *out is NULL unless MG_OK. */
mg_status import_open(const char *text, size_t len, const char *where, import_file **out, int *n, mg_error *e);
/* The k-th µGraph, checked, as a program of that name; inputs are in0, in1 .., outputs out0, out1 .. */
mg_status import_graph(const import_file *f, int k, const char *name, const mg_config *cfg, mg_graph **out, mg_error *e);
void import_close(import_file *f); /* NULL is fine */

enum { IMPORT_VALUES = 4000000, IMPORT_OPS = 256 }; /* values of a file; operators of a graph */

#ifndef MIRAGE_CJSON

mg_status import_open(const char *text, size_t len, const char *where, import_file **out, int *n, mg_error *e) {
  (void)text, (void)len;
  *out = NULL, *n = 0;
  return mg_fail(e, MG_UNSUPPORTED, where, "built without cJSON: install libcjson-dev (Debian), then build again");
}
mg_status import_graph(const import_file *f, int k, const char *name, const mg_config *cfg, mg_graph **out, mg_error *e) {
  (void)f, (void)k, (void)cfg;
  *out = NULL;
  return mg_fail(e, MG_UNSUPPORTED, name, "built without cJSON");
}
void import_close(import_file *f) { (void)f; }

#else
#include <cjson/cJSON.h>

struct import_file {
  cJSON *root;
  const cJSON **graph; /* [n] */
  int n;
  char where[64];
};

/* ---- the state of one import */

typedef struct import_tensor {
  double guid; /* a whole number below 2^53 */
  mg_tensor t; /* 0 while it waits for the end of the loop */
  int after;   /* block level: an accumulator is among its sources */
} import_tensor;

typedef struct importer {
  mg_graph *g;                               /* the program */
  import_tensor kn[IMPORT_OPS * MG_MAX_OUT]; /* made so far */
  int n_kn;
  import_tensor tb[IMPORT_OPS];
  int n_tb;
  mg_graph *b;                               /* the open block graph, or NULL */
  int64_t grid[3], loop, dimx;
  mg_axis axis;                              /* the loop, if there is one */
  const char *where;                         /* the file */
  int index, op, sub;                        /* which µGraph, operator and block operator; sub -1: none */
  const char *type;                          /* its op_type */
  mg_error *e;
  mg_status status;
} importer;

/* Says where; keeps the first.  Always 0, so that callers can `return import_fail(..)`. */
static int import_fail(importer *I, mg_status s, const char *what, const char *text) {
  char at[96], type[40];
  size_t k = 0;
  if (I->status != MG_OK) return 0;
  for (; I->type && I->type[k] && k + 1 < sizeof type; k++) type[k] = I->type[k] > ' ' && I->type[k] < 127 ? I->type[k] : '?';
  type[k] = 0;
  int n = snprintf(at, sizeof at, "%.48s: µGraph %d", I->where, I->index);
  if (I->op >= 0) n += snprintf(at + n, sizeof at - (size_t)n, ", operator %d", I->op);
  if (I->sub >= 0) snprintf(at + n, sizeof at - (size_t)n, ".%d", I->sub);
  I->status = mg_fail(I->e, s, at, "%s%s%s%s%s", type, k ? ": " : "", what, text ? ": " : "", text ? text : "");
  return 0;
}
static int import_bad(importer *I, const char *what) { return import_fail(I, MG_BAD_INPUT, what, NULL); }
static int import_not(importer *I, const char *what) { return import_fail(I, MG_UNSUPPORTED, what, NULL); }

/* 1 if nothing failed so far, the builder included. */
static int import_ok(importer *I) {
  mg_error e;
  if (I->status != MG_OK) return 0;
  if (I->g->root->err.status == MG_OK) return 1;
  e = I->g->root->err;
  char text[200];
  snprintf(text, sizeof text, "%.50s: %.140s", e.where, e.msg);
  return import_fail(I, e.status, "cannot be built", text);
}

/* ---- fields */

static const cJSON *import_get(importer *I, const cJSON *o, const char *key) {
  const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
  if (!v) import_fail(I, MG_BAD_INPUT, "expected a field", key);
  return v;
}
static const cJSON *import_list(importer *I, const cJSON *o, const char *key) {
  const cJSON *v = import_get(I, o, key);
  if (v && !cJSON_IsArray(v)) { import_fail(I, MG_BAD_INPUT, "expected a list", key); return NULL; }
  return v;
}
static const cJSON *import_object(importer *I, const cJSON *o, const char *key) {
  const cJSON *v = import_get(I, o, key);
  if (v && !cJSON_IsObject(v)) { import_fail(I, MG_BAD_INPUT, "expected an object", key); return NULL; }
  return v;
}
/* A whole number, least <= v <= most. */
static int import_whole(importer *I, const cJSON *v, const char *what, double least, double most, int64_t *out) {
  if (!v) return 0;
  if (!cJSON_IsNumber(v) || !(v->valuedouble >= least && v->valuedouble <= most) || v->valuedouble != (double)(int64_t)v->valuedouble) {
    char text[120];
    if (cJSON_IsNumber(v)) snprintf(text, sizeof text, "%.40s: expected a whole number from %.0f to %.0f, found %.17g", what, least, most, v->valuedouble);
    else snprintf(text, sizeof text, "%.40s: expected a whole number", what);
    return import_bad(I, text);
  }
  *out = (int64_t)v->valuedouble;
  return 1;
}
static int import_int(importer *I, const cJSON *o, const char *key, double least, double most, int64_t *out) {
  return import_whole(I, import_get(I, o, key), key, least, most, out);
}
static int import_xyz(importer *I, const cJSON *o, const char *key, double least, double most, int64_t out[3]) {
  static const char *const name[] = {"x", "y", "z"};
  const cJSON *v = import_object(I, o, key);
  for (int k = 0; v && k < 3; k++)
    if (!import_int(I, v, name[k], least, most, &out[k])) return 0;
  return v != NULL;
}

/* {guid, num_dims, dim, data_type}; every field of a kernel or block tensor that has a meaning here. */
typedef struct import_dims { double guid; int rank; int64_t dim[4]; mg_dtype dtype; int column_major, after; } import_dims; /* after -1: not said */

static int import_shape(importer *I, const cJSON *o, import_dims *t) {
  int64_t v;
  if (!cJSON_IsObject(o)) return import_bad(I, "expected a tensor");
  if (!import_int(I, o, "guid", 0, 9007199254740991.0, &v)) return 0;
  t->guid = (double)v;
  if (!import_int(I, o, "num_dims", 1, 4, &v)) return 0;
  t->rank = (int)v;
  const cJSON *list = import_list(I, o, "dim"), *d;
  int n = 0;
  cJSON_ArrayForEach(d, list)
    if (n < t->rank && !import_whole(I, d, "dim", 1, 2147483647, &t->dim[n++])) return 0;
  if (!list) return 0;
  if (n < t->rank) return import_bad(I, "dim: fewer extents than num_dims");
  if (!import_int(I, o, "data_type", 0, 65535, &v)) return 0;
  if (v == 921 || v == 941) t->dtype = MG_F16;
  else if (v == 950) t->dtype = MG_F32;
  else {
    char text[100];
    snprintf(text, sizeof text, "data_type %d: known are 921 and 941 (16-bit float) and 950 (32-bit)", (int)v);
    return import_not(I, text);
  }
  const cJSON *layout = cJSON_GetObjectItemCaseSensitive(o, "layout"), *after = cJSON_GetObjectItemCaseSensitive(o, "after_accum");
  t->after = cJSON_IsBool(after) ? cJSON_IsTrue(after) : -1;
  t->column_major = cJSON_IsString(layout) && strstr(layout->valuestring, "ColumnMajor") != NULL;
  return 1;
}

/* The tensors of a list; at most `most`. */
static int import_shapes(importer *I, const cJSON *op, const char *key, import_dims *t, int most, int *n) {
  const cJSON *list = import_list(I, op, key), *o;
  *n = 0;
  cJSON_ArrayForEach(o, list) {
    if (*n == most) return import_fail(I, MG_BAD_INPUT, "too many tensors", key);
    if (!import_shape(I, o, &t[(*n)++])) return 0;
  }
  return list != NULL;
}

/* ---- tensors by guid */

static import_tensor *import_find(import_tensor *t, int n, double guid) {
  for (int k = 0; k < n; k++)
    if (t[k].guid == guid) return &t[k];
  return NULL;
}
static int import_same(importer *I, const mg_graph *g, mg_tensor t, const import_dims *d) {
  const mg_shape *s = &mg_tensor_of(g, t)->shape;
  int same = s->rank == d->rank;
  for (int k = 0; same && k < d->rank; k++) same = s->dim[k] == d->dim[k];
  if (same) return 1;
  char text[160];
  int n = snprintf(text, sizeof text, "the file says that its shape is [");
  for (int k = 0; k < d->rank; k++) n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", k ? ", " : "", (long long)d->dim[k]);
  n += snprintf(text + n, sizeof text - (size_t)n, "], it comes to [");
  for (int k = 0; k < s->rank; k++) n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", k ? ", " : "", (long long)s->dim[k]);
  snprintf(text + n, sizeof text - (size_t)n, "]");
  return import_bad(I, text);
}
/* A new tensor, its guid new too; t {0} is filled in later.  NULL after an error. */
static import_tensor *import_new(importer *I, mg_tensor t, const import_dims *d, int after) {
  import_tensor *all = I->b ? I->tb : I->kn;
  int *n = I->b ? &I->n_tb : &I->n_kn;
  if (!import_ok(I)) return NULL;
  if (import_find(all, *n, d->guid)) { import_bad(I, "its output's guid names another tensor"); return NULL; }
  if (*n == (I->b ? IMPORT_OPS : IMPORT_OPS * MG_MAX_OUT)) { import_bad(I, "too many tensors"); return NULL; }
  if (d->after >= 0 && I->b && d->after != after) { import_bad(I, "after_accum says otherwise than its operands"); return NULL; }
  if (t.id && !import_same(I, I->b ? I->b : I->g, t, d)) return NULL;
  all[*n].guid = d->guid, all[*n].t = t, all[*n].after = after;
  return &all[(*n)++];
}
/* The tensor that an earlier operator made. */
static import_tensor *import_use(importer *I, const import_dims *d, int block) {
  import_tensor *t = block ? import_find(I->tb, I->n_tb, d->guid) : import_find(I->kn, I->n_kn, d->guid);
  char text[80];
  snprintf(text, sizeof text, "no operator before it makes the tensor of guid %.0f", d->guid);
  if (!t) { import_bad(I, text); return NULL; }
  return import_same(I, block ? I->b : I->g, t->t, d) ? t : NULL;
}

/* ---- operators that both levels have */

/* name, less kn_ or tb_ and _op */
static const struct { const char *name; mg_opcode op; int n; } import_plain[] = {
    {"matmul", MG_OP_MATMUL, 2}, {"add", MG_OP_ADD, 2}, {"sub", MG_OP_SUB, 2}, {"mul", MG_OP_MUL, 2}, {"div", MG_OP_DIV, 2}, {"exp", MG_OP_EXP, 1},
    {"square", MG_OP_SQR, 1}, {"sqrt", MG_OP_SQRT, 1}, {"silu", MG_OP_SILU, 1}, {"gelu", MG_OP_GELU, 1}, {"relu", MG_OP_RELU, 1}, {"log", MG_OP_LOG, 1}};

/* Sums dimension d to extent s: out[j] = sum over k of in[j + k s]. */
static mg_tensor import_reduce(importer *I, mg_graph *g, mg_tensor t, int d, int64_t s) {
  mg_tensor none = {0};
  mg_shape a = mg_tensor_of(g, t)->shape;
  int64_t wide[MG_MAX_RANK + 1];
  if (d >= a.rank || s < 1 || a.dim[d] % s) { import_bad(I, "its output's extent does not divide its operand's"); return none; }
  if (s == 1 || s == a.dim[d]) return s == 1 ? mg_sum(g, t, d) : t;
  for (int k = 0; k < a.rank; k++) wide[k < d ? k : k + 1] = a.dim[k];
  wide[d] = a.dim[d] / s, wide[d + 1] = s;
  t = mg_sum(g, mg_reshape(g, t, a.rank + 1, wide), d);
  a.dim[d] = s;
  return mg_reshape(g, t, a.rank, a.dim);
}

/* x / sqrt(sum of its squares / n), taken of the last dimension */
static mg_tensor import_rms_norm(mg_graph *g, mg_tensor x) {
  mg_tensor none = {0};
  return mg_rms_norm(g, x, none, mg_rat(0, 1), -1);
}

/* 1: the name starts with word, then a digit (*d), then the rest */
static int import_digit(const char *name, size_t n, const char *word, const char *rest, int *d) {
  size_t w = strlen(word), r = strlen(rest);
  if (n != w + 1 + r || memcmp(name, word, w) || memcmp(name + w + 1, rest, r) || name[w] < '0' || name[w] > '9') return 0;
  *d = name[w] - '0';
  return 1;
}

/* The operator `name` (n bytes) over in[]; *out is made, but for its guid. */
static int import_apply(importer *I, mg_graph *g, const char *name, size_t n, int n_in, const mg_tensor *in, const import_dims *o, mg_tensor *out) {
  int want = 0, d = 0;
  for (size_t k = 0; k < sizeof import_plain / sizeof *import_plain && !want; k++)
    if (strlen(import_plain[k].name) == n && !memcmp(import_plain[k].name, name, n)) {
      want = import_plain[k].n;
      if (want == n_in) *out = mg_apply(g, import_plain[k].op, NULL, n_in, in);
    }
  if (want) ;
  else if (import_digit(name, n, "reduction_", "", &d)) {
    want = 1;
    if (n_in == 1 && d < o->rank) *out = import_reduce(I, g, in[0], d, o->dim[d]);
    else if (n_in == 1) return import_bad(I, "its operand has no such dimension");
  } else if (I->b && import_digit(name, n, "reduction_", "_to_dimx", &d)) {
    want = 1;
    if (n_in == 1) *out = import_reduce(I, g, in[0], d, I->dimx);
  } else if (import_digit(name, n, "concat_", "", &d)) {
    want = 2;
    if (n_in == 2) *out = mg_concat(g, in[0], in[1], d);
  } else if (I->b && n == 8 && !memcmp(name, "rms_norm", 8)) {
    want = 1;
    if (n_in == 1) *out = import_rms_norm(g, in[0]);
  } else if (!I->b && n == 8 && !memcmp(name, "rms_norm", 8)) return import_not(I, "the file does not say which dimensions it normalises");
  else if ((n == 5 && !memcmp(name, "clamp", 5)) || (n == 10 && !memcmp(name, "mul_scalar", 10))) return import_not(I, "the file does not hold its constants");
  else return import_not(I, "is no operator that is known here");
  if (want != n_in) return import_bad(I, want == 1 ? "expected one operand" : "expected two operands");
  return import_ok(I);
}

/* op_type between kn_ or tb_ and _op */
static const char *import_type(importer *I, const cJSON *op, const char *prefix, size_t *n) {
  const cJSON *v;
  I->type = NULL;
  if (!cJSON_IsObject(op)) { import_bad(I, "expected an operator"); return NULL; }
  v = import_get(I, op, "op_type");
  if (!v) return NULL;
  if (!cJSON_IsString(v)) { import_bad(I, "op_type: expected a string"); return NULL; }
  size_t l = strlen(v->valuestring);
  I->type = v->valuestring;
  if (l < 7 || strncmp(I->type, prefix, 3) || strcmp(I->type + l - 3, "_op")) {
    import_bad(I, *prefix == 'k' ? "expected an operator of a kernel graph, kn_.._op" : "expected an operator of a block graph, tb_.._op");
    return NULL;
  }
  *n = l - 6;
  return I->type + 3;
}
static int import_named(const char *name, size_t n, const char *word) { return strlen(word) == n && !memcmp(name, word, n); }

/* ---- block graphs */

/* What a grid axis of more than one block does, by input_map or output_map. */
static int import_map(importer *I, const cJSON *op, const char *key, int rank, mg_map *map) {
  int64_t to[3];
  unsigned cut = 0;
  *map = mg_map_none();
  if (!import_xyz(I, op, key, -1, 3, to)) return 0;
  for (int k = 0; k < 3; k++) {
    if (I->grid[k] == 1) continue;
    if (to[k] >= rank) return import_fail(I, MG_BAD_INPUT, "names a dimension that the tensor does not have", key);
    if (to[k] >= 0 && (cut >> to[k] & 1)) return import_fail(I, MG_UNSUPPORTED, "two grid axes cut one dimension, in an order that the file leaves open", key);
    if (to[k] >= 0) cut |= 1u << to[k];
    *map = mg_map_set(*map, mg_grid_axis(I->b, k), to[k] < 0 ? MG_MAP_ALL : (int)to[k]);
  }
  return 1;
}

static int import_load(importer *I, const cJSON *op, const import_dims *out, int n_out) {
  import_dims above;
  import_tensor *src;
  mg_map map;
  int64_t d;
  const cJSON *t = import_object(I, op, "dtensor");
  if (n_out != 1) return import_bad(I, "expected one output");
  if (!t || !import_shape(I, t, &above) || !(src = import_use(I, &above, 0)) || !import_map(I, op, "input_map", above.rank, &map)) return 0;
  if (!import_int(I, op, "forloop_dim", -1, above.rank - 1, &d)) return 0;
  if (I->loop > 1) map = mg_map_set(map, I->axis, d < 0 ? MG_MAP_ALL : (int)d);
  int64_t part[4];
  for (int k = 0; k < above.rank; k++) {
    part[k] = I->loop > 1 && k == d ? I->loop : 1;
    for (int a = 0; a < 3; a++)
      if (map.to[mg_grid_axis(I->b, a).id] == k) part[k] *= I->grid[a];
    if (above.dim[k] % part[k]) return import_bad(I, "grid and loop do not divide the tensor");
  }
  return import_new(I, mg_load(I->b, src->t, map), out, 0) != NULL;
}

/* tb_accum_<name>: what of it stands in the loop .. */
static int import_accum_inside(importer *I, const char *name, size_t n, const import_tensor *in, const import_dims *out) {
  mg_tensor t = in->t;
  int last = mg_tensor_of(I->b, t)->shape.rank - 1;
  if (in->after) return import_bad(I, "its operand was accumulated before");
  if (import_named(name, n, "red_ld_rms")) t = mg_sum(I->b, mg_sqr(I->b, t), last);
  else if (import_named(name, n, "red_ld_mean") || import_named(name, n, "red_ld_sum")) t = mg_sum(I->b, t, last);
  else if (import_named(name, n, "redtox_ld_sum")) t = import_reduce(I, I->b, t, last, I->dimx);
  else if (!import_named(name, n, "max") && !import_named(name, n, "nored")) return import_not(I, "is no accumulator that is known here");
  return import_ok(I) && import_new(I, t, out, 1) != NULL;
}
/* .. and after it.  in is its operand's shape. */
static int import_accum_outside(importer *I, const char *name, size_t n, const import_dims *in, import_tensor *x, const import_dims *out) {
  mg_tensor t = x->t;
  int rms = import_named(name, n, "red_ld_rms"), mean = import_named(name, n, "red_ld_mean");
  if (I->loop > 1) t = mg_accum(I->b, t, mg_map_set(mg_map_none(), I->axis, import_named(name, n, "max") ? MG_MAP_MAX : MG_MAP_SUM));
  if (rms || mean) {
    mg_rational c = mg_rat(1, in->dim[in->rank - 1] * I->loop);
    if (!c.den) return import_not(I, "its mean is taken of too many elements");
    t = mg_with_rat(I->b, MG_OP_SCALE, t, c);
  }
  if (rms) t = mg_sqrt(I->b, t);
  x->t = t;
  return import_ok(I) && import_same(I, I->b, t, out);
}

/* One operator, in the pass that builds the loop (0) or in that which builds what follows it (1). */
static int import_block_op(importer *I, const cJSON *op, int pass, import_dims *stored, int *n_stored) {
  import_dims in[MG_MAX_IN], out[1];
  import_tensor *x = NULL, *from[MG_MAX_IN];
  mg_tensor t[MG_MAX_IN], made = {0};
  int n_in, n_out, after = 0;
  size_t n;
  const char *name = import_type(I, op, "tb_", &n);
  if (!name || !import_shapes(I, op, "input_tensors", in, MG_MAX_IN, &n_in) || !import_shapes(I, op, "output_tensors", out, 1, &n_out)) return 0;
  if (import_named(name, n, "input")) return pass || import_load(I, op, out, n_out);
  if (import_named(name, n, "output")) {
    const cJSON *d;
    mg_map map;
    if (!pass) return 1;
    if (n_in != 1) return import_bad(I, "expected one operand");
    if (n_out) return import_not(I, "accumulates in its output, as the first version did");
    if (*n_stored == MG_MAX_OUT) return import_bad(I, "too many outputs");
    if (!(x = import_use(I, &in[0], 1)) || !import_map(I, op, "output_map", in[0].rank, &map) || !(d = import_object(I, op, "dtensor"))) return 0;
    if (!x->after && I->loop > 1) return import_not(I, "stores a tensor that no accumulator lifts out of the loop");
    if (!import_shape(I, d, &stored[*n_stored])) return 0;
    ++*n_stored;
    mg_store(I->b, x->t, map);
    return import_ok(I);
  }
  if (n_out != 1) return import_bad(I, "expected one output");
  int accum = n > 6 && !memcmp(name, "accum_", 6);
  if (pass) {
    x = import_find(I->tb, I->n_tb, out[0].guid);
    if (!x || !x->after) return 1; /* it stands in the loop */
    if (accum) return import_accum_outside(I, name + 6, n - 6, &in[0], x, &out[0]);
  }
  if (accum && n_in != 1) return import_not(I, "takes more than one operand");
  for (int k = 0; k < n_in; k++) {
    char text[80];
    snprintf(text, sizeof text, "no operator before it makes the tensor of guid %.0f", in[k].guid);
    if (!(from[k] = import_find(I->tb, I->n_tb, in[k].guid))) return import_bad(I, text);
    after |= from[k]->after;
  }
  if (accum) return import_use(I, &in[0], 1) && import_accum_inside(I, name + 6, n - 6, from[0], &out[0]);
  if (!pass && after) return import_new(I, made, &out[0], 1) != NULL;
  for (int k = 0; k < n_in; k++) {
    if (!import_use(I, &in[k], 1)) return 0;
    t[k] = from[k]->t;
  }
  if (!import_apply(I, I->b, name, n, n_in, t, &out[0], &made)) return 0;
  if (!pass) return import_new(I, made, &out[0], 0) != NULL;
  x->t = made;
  return import_same(I, I->b, made, &out[0]);
}

static int import_kernel(importer *I, const cJSON *op, const import_dims *out, int n_out) {
  const cJSON *b = import_object(I, op, "bgraph"), *ops, *o;
  const char *type = I->type;
  int64_t block[3];
  import_dims stored[MG_MAX_OUT];
  mg_tensor t[MG_MAX_OUT];
  int n_stored = 0;
  if (!b || !import_xyz(I, b, "grid_dim", 1, 2147483647, I->grid) || !import_xyz(I, b, "block_dim", 1, 1024, block)) return 0;
  if (!import_int(I, b, "forloop_range", 1, 2147483647, &I->loop) || !import_int(I, b, "reduction_dimx", 1, 2147483647, &I->dimx)) return 0;
  if (block[0] * block[1] * block[2] > 1024) return import_bad(I, "block_dim: more than 1024 threads");
  if (!(ops = import_list(I, b, "operators"))) return 0;
  if (cJSON_GetArraySize(ops) > IMPORT_OPS) return import_fail(I, MG_LIMIT, "more operators than are read of one graph", "bgraph");
  I->b = mg_graph_begin(I->g, I->grid, (int)(block[0] * block[1] * block[2]));
  I->n_tb = 0;
  for (int pass = 0; import_ok(I) && pass < 2; pass++) {
    if (!pass && I->loop > 1) I->axis = mg_loop_begin(I->b, "i", I->loop);
    I->sub = 0;
    cJSON_ArrayForEach(o, ops) {
      if (!import_block_op(I, o, pass, stored, &n_stored)) return 0;
      I->sub++;
    }
    I->sub = -1, I->type = type;
    if (!pass && I->loop > 1) mg_loop_end(I->b);
  }
  if (!import_ok(I)) return 0;
  int n = mg_graph_end(I->b, t);
  I->b = NULL;
  if (!import_ok(I)) return 0;
  if (n != n_out) return import_bad(I, "output_tensors: not as many as the block graph stores");
  for (int k = 0; k < n; k++)
    if (!import_same(I, I->g, t[k], &stored[k]) || !import_new(I, t[k], &out[k], 0)) return 0;
  return 1;
}

/* ---- kernel graphs */

/* 1 if the strides are those of a dense tensor whose dimensions lie in memory in `order`, outermost first; then they are in
   `order`, which is 0, 1, 2 .. where it can be. */
static int import_order(const import_dims *t, const int64_t *stride, int32_t *order) {
  int64_t inner = 1;
  int row_major = 1, used[4] = {0}, at = t->rank;
  for (int d = t->rank; d-- > 0;) row_major &= t->dim[d] == 1 || stride[d] == inner, inner *= t->dim[d];
  for (int d = 0; d < t->rank; d++) order[d] = d;
  if (row_major) return 1;
  inner = 1;
  for (int found = 1; found;) {
    found = 0;
    for (int d = t->rank; d-- > 0 && !found;)
      if (!used[d] && t->dim[d] > 1 && stride[d] == inner) used[d] = found = 1, order[--at] = d, inner *= t->dim[d];
  }
  for (int d = t->rank; d-- > 0;)
    if (!used[d]) {
      if (t->dim[d] > 1) return 0;
      order[--at] = d;
    }
  return 1;
}

static int import_strides(importer *I, const cJSON *op, const char *key, const import_dims *t, int32_t *order) {
  int64_t stride[4];
  int n = 0;
  double elements = 1;
  const cJSON *list = import_list(I, op, key), *v;
  if (!list) return 0;
  for (int d = 0; d < t->rank; d++) elements *= (double)t->dim[d];
  if (elements > 1099511627776.0) return import_bad(I, "a tensor has at most 2^40 elements");
  cJSON_ArrayForEach(v, list) {
    if (n == t->rank) return import_fail(I, MG_BAD_INPUT, "more strides than dimensions", key);
    if (!import_whole(I, v, key, 0, 9007199254740991.0, &stride[n++])) return 0;
  }
  if (n < t->rank) return import_fail(I, MG_BAD_INPUT, "fewer strides than dimensions", key);
  if (!import_order(t, stride, order)) return import_fail(I, MG_UNSUPPORTED, "not those of a dense tensor", key);
  return 1;
}

/* input_map and output_map of the kernel graph partition over GPUs. */
static int import_one_gpu(importer *I, const cJSON *op, const char *key) {
  int64_t to[3];
  if (!cJSON_GetObjectItemCaseSensitive(op, key)) return 1;
  if (!import_xyz(I, op, key, -1, 3, to)) return 0;
  return (to[0] < 0 && to[1] < 0 && to[2] < 0) || import_fail(I, MG_UNSUPPORTED, "cuts a tensor over several GPUs", key);
}

static int import_kernel_op(importer *I, const cJSON *op) {
  import_dims in[MG_MAX_IN], out[MG_MAX_OUT];
  import_tensor *x;
  mg_tensor t[MG_MAX_IN], made = {0};
  int32_t order[4];
  int n_in, n_out;
  size_t n;
  char name[16];
  const char *type = import_type(I, op, "kn_", &n);
  if (!type || !import_shapes(I, op, "input_tensors", in, MG_MAX_IN, &n_in) || !import_shapes(I, op, "output_tensors", out, MG_MAX_OUT, &n_out)) return 0;
  if (import_named(type, n, "input")) {
    if (n_out != 1 || n_in) return import_bad(I, "expected no operand and one output");
    if (!import_one_gpu(I, op, "input_map") || !import_strides(I, op, "input_strides", &out[0], order)) return 0;
    snprintf(name, sizeof name, "in%u", I->g->n_in);
    return import_new(I, mg_input_ordered(I->g, name, out[0].dtype, out[0].rank, out[0].dim, order), &out[0], 0) != NULL;
  }
  for (int k = 0; k < n_in; k++) {
    if (!(x = import_use(I, &in[k], 0))) return 0;
    t[k] = x->t;
  }
  if (import_named(type, n, "output")) {
    if (n_in != 1 || n_out) return import_bad(I, "expected one operand and no output");
    if (!import_one_gpu(I, op, "output_map") || !import_strides(I, op, "output_strides", &in[0], order)) return 0;
    for (int d = 0; d < in[0].rank; d++)
      if (order[d] != d) return import_not(I, "output_strides: an output of ours is row-major");
    snprintf(name, sizeof name, "out%u", I->g->n_out);
    mg_output(I->g, t[0]);
    if (import_ok(I)) mg_named(I->g, t[0], name);
    return import_ok(I);
  }
  if (import_named(type, n, "customized")) return import_kernel(I, op, out, n_out);
  if (n_out != 1) return import_bad(I, "expected one output");
  return import_apply(I, I->g, type, n, n_in, t, &out[0], &made) && import_new(I, made, &out[0], 0) != NULL;
}

mg_status import_graph(const import_file *f, int k, const char *name, const mg_config *cfg, mg_graph **out, mg_error *e) {
  importer *I = (importer *)calloc(1, sizeof *I);
  mg_error own;
  char clean[64];
  size_t n = 0;
  const cJSON *op;
  *out = NULL;
  for (; name[n] && n + 1 < sizeof clean; n++) {
    char c = name[n];
    clean[n] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && n) ? c : '_';
  }
  clean[n] = 0;
  if (I) I->g = mg_program_new(n ? clean : "imported", cfg);
  if (!I || !I->g) { free(I); return mg_fail(e, MG_NO_MEMORY, f->where, "no memory for the µGraph"); }
  I->where = f->where, I->index = k, I->op = 0, I->sub = -1, I->e = e ? e : &own;
  if (cJSON_GetArraySize(f->graph[k]) > IMPORT_OPS) import_fail(I, MG_LIMIT, "more operators than are read of one graph", NULL);
  else
    cJSON_ArrayForEach(op, f->graph[k]) {
      if (!import_kernel_op(I, op)) break;
      I->op++;
    }
  I->op = -1, I->type = NULL;
  mg_error found;
  if (import_ok(I) && mg_check(I->g, &found) != MG_OK) {
    char text[200];
    snprintf(text, sizeof text, "%.50s: %.140s", found.where, found.msg);
    import_fail(I, found.status, "cannot be built", text);
  }
  mg_status s = I->status;
  if (s == MG_OK) *out = I->g;
  else mg_graph_free(I->g);
  free(I);
  return s;
}

/* ---- files */

mg_status import_open(const char *text, size_t len, const char *where, import_file **out, int *n, mg_error *e) {
  size_t values = 1;
  const cJSON *g;
  const char *base = strrchr(where, '/'), *end = NULL;
  *out = NULL, *n = 0;
  if (len >= 2 && !memcmp(text, "\037\213", 2)) return mg_fail(e, MG_BAD_INPUT, where, "expected JSON, found a gzip file: unpack it first, with gunzip -k");
  for (size_t k = 0; k < len; k++) values += text[k] == ',' || text[k] == '[' || text[k] == '{';
  if (values > IMPORT_VALUES) return mg_fail(e, MG_LIMIT, where, "the file has more than %d values", IMPORT_VALUES);
  import_file *f = (import_file *)calloc(1, sizeof *f);
  if (!f) return mg_fail(e, MG_NO_MEMORY, where, "no memory for the file");
  snprintf(f->where, sizeof f->where, "%.60s", base && base[1] ? base + 1 : where);
  char *copy = (char *)calloc(len + 8, 1); /* ends in zeros: some releases of cJSON look past a string that is cut off */
  if (!copy) { free(f); return mg_fail(e, MG_NO_MEMORY, where, "no memory for the text"); }
  if (len) memcpy(copy, text, len);
  f->root = cJSON_ParseWithLengthOpts(copy, len, &end, 0);
  size_t line = 1, at = end ? (size_t)(end - copy) : 0;
  free(copy);
  if (at > len) at = len;
  for (size_t k = 0; k < at; k++) line += text[k] == '\n';
  size_t rest = at;
  while (f->root && rest < len && (text[rest] == ' ' || text[rest] == '\n' || text[rest] == '\r' || text[rest] == '\t')) rest++;
  if (!f->root || rest < len) {
    mg_fail(e, MG_BAD_INPUT, where, f->root ? "line %zu: expected the end of the file after its JSON value" : "line %zu, byte %zu: expected JSON", line, at);
    if (e) e->line = (int)line;
    import_close(f);
    return MG_BAD_INPUT;
  }
  /* One µGraph is a list of operators, more are a list of such lists. */
  int one = cJSON_IsArray(f->root) && cJSON_IsObject(f->root->child);
  if (!cJSON_IsArray(f->root) || !f->root->child) {
    import_close(f);
    return mg_fail(e, MG_BAD_INPUT, where, "expected a list of µGraphs");
  }
  f->n = one ? 1 : cJSON_GetArraySize(f->root);
  f->graph = (const cJSON **)calloc((size_t)f->n, sizeof *f->graph);
  if (!f->graph) { import_close(f); return mg_fail(e, MG_NO_MEMORY, where, "no memory for %d µGraphs", *n); }
  if (one) f->graph[0] = f->root;
  else {
    int k = 0;
    cJSON_ArrayForEach(g, f->root) {
      if (!cJSON_IsArray(g)) { import_close(f); return mg_fail(e, MG_BAD_INPUT, where, "µGraph %d: expected a list of operators", k); }
      f->graph[k++] = g;
    }
  }
  *out = f, *n = f->n;
  return MG_OK;
}

void import_close(import_file *f) {
  if (!f) return;
  cJSON_Delete(f->root);
  free(f->graph);
  free(f);
}

#endif /* MIRAGE_CJSON */
#endif
