/* Programs drawn at random: draw() writes the text of one, from `rng`, which drawn_from seeds. */
#ifndef MG_TESTS_DRAWN_H
#define MG_TESTS_DRAWN_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t rng;
static int below(int n) {
  rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
  return (int)((rng >> 11) % (uint64_t)n);
}

/* ---- programs: a few operators on tensors of odd sizes, in a random type and memory order */
typedef struct value { char name[8]; int rank; int dim[3]; } value;
typedef struct draft { char in[1600], body[1600]; value v[24]; int n, n_in, used[24]; const char *type; } draft;

static void shape_text(const value *v, char *out, size_t n) {
  size_t at = 0;
  for (int d = 0; d < v->rank; d++) at += (size_t)snprintf(out + at, n - at, "%s%d", d ? ", " : "", v->dim[d]);
}
static int an_input(draft *p, const value *like) {
  char dims[64], name[16];
  value own = *like, *v = &p->v[p->n];
  *v = own;
  snprintf(name, sizeof name, "I%d", p->n_in++);
  memcpy(v->name, name, sizeof v->name);
  shape_text(v, dims, sizeof dims);
  size_t at = strlen(p->in);
  at += (size_t)snprintf(p->in + at, sizeof p->in - at, "input %s : %s[%s]", name, p->type, dims);
  if (v->rank == 2 && !below(4)) at += (size_t)snprintf(p->in + at, sizeof p->in - at, " @ [1, 0]");
  if (v->rank == 3 && !below(4)) at += (size_t)snprintf(p->in + at, sizeof p->in - at, below(2) ? " @ [0, 2, 1]" : " @ [1, 0, 2]");
  snprintf(p->in + at, sizeof p->in - at, "\n");
  p->used[p->n] = 0;
  return p->n++;
}
static int an_op(draft *p, const value *like, const char *text, int a, int b) {
  value own = *like, *v = &p->v[p->n];
  *v = own;
  snprintf(v->name, sizeof v->name, "T%d", p->n);
  size_t at = strlen(p->body);
  snprintf(p->body + at, sizeof p->body - at, "%s = %s\n", v->name, text);
  p->used[a] = 1;
  if (b >= 0) p->used[b] = 1;
  p->used[p->n] = 0;
  return p->n++;
}
static int a_size(void) {
  static const int size[] = { 1, 3, 5, 8, 12, 16, 17, 24, 32, 33, 40, 48, 64, 64, 72, 96, 100, 128 };
  return size[below((int)(sizeof size / sizeof *size))];
}
/* A value of an attention, a gated unit, a normed or a low-rank product, of sizes at which loops and splits pay; its name. */
static int a_family(draft *p) {
  static const int rows[] = { 1, 5, 16, 16, 33, 64 }, wide[] = { 48, 64, 200, 256, 512, 1000 };
  int m = rows[below(6)], k = wide[below(5)], n = wide[below(6)], h = wide[below(3)], b = 1 + below(3), kind = below(4), batch = kind == 0 && below(2);
  value x = { "", 2 + batch, { m, k, 0 } }, w = { "", 2 + batch, { k, n, 0 } }, o = { "", 2 + batch, { m, n, 0 } }, v = { "", 2 + batch, { n, h, 0 } };
  char t[200];
  if (batch) x.dim[0] = w.dim[0] = o.dim[0] = v.dim[0] = b, x.dim[1] = m, x.dim[2] = w.dim[1] = k > 200 ? 64 : k, w.dim[2] = o.dim[2] = v.dim[1] = n, v.dim[2] = h;
  int i = an_input(p, &x), j = an_input(p, &w), q = -1;
  const char *X = p->v[i].name, *W = p->v[j].name;
  switch (kind) {
    case 0:
      snprintf(t, sizeof t, "softmax(scale(matmul(%s, %s), 1/%d), dim=%d)", X, W, 4 + below(9), 1 + batch), q = an_op(p, &o, t, i, j);
      i = an_input(p, &v), o.dim[1 + batch] = h;
      snprintf(t, sizeof t, "matmul(%s, %s)", p->v[q].name, p->v[i].name);
      return an_op(p, &o, t, q, i);
    case 1:
      q = an_input(p, &w);
      snprintf(t, sizeof t, "mul(silu(matmul(%s, %s)), matmul(%s, %s))", X, W, X, p->v[q].name), p->used[q] = 1;
      return an_op(p, &o, t, i, j);
    case 2: snprintf(t, sizeof t, "matmul(rms_norm(%s, eps=1/1000), %s)", X, W); return an_op(p, &o, t, i, j);
    default:
      w.dim[1] = v.dim[0] = 4 + below(13), v.dim[1] = n;
      q = an_input(p, &w), p->used[q] = 1;
      snprintf(t, sizeof t, "add(matmul(%s, %s), matmul(matmul(%s, %s), I%d))", X, W, X, p->v[q].name, p->n_in);
      p->used[an_input(p, &v)] = 1;
      return an_op(p, &o, t, i, j);
  }
}
static void draw(draft *p, char *text, size_t n) {
  static const char *const types[] = { "f16", "f16", "bf16", "f32" };
  static const char *const unary[] = { "silu(%s)", "relu(%s)", "sqr(%s)", "scale(%s, 1/3)", "gelu(%s)", "exp(neg(relu(%s)))", "add_scalar(%s, 1/2)", "neg(%s)", "sqrt(add_scalar(sqr(%s), 1/9))" };
  static const char *const binary[] = { "add(%s, %s)", "mul(%s, %s)", "sub(%s, %s)", "div(%s, add_scalar(sqr(%s), 1))", "mul(%s, silu(%s))" };
  char t[96];
  memset(p, 0, sizeof *p);
  p->type = types[below(4)];
  value v;
  memset(&v, 0, sizeof v);
  v.rank = below(4) ? 2 : 3;
  for (int d = 0; d < v.rank; d++) v.dim[d] = v.rank == 3 && !d ? 1 + below(3) : a_size();
  int family = below(3) == 0, x = family ? a_family(p) : an_input(p, &v), steps = family ? below(2) : 1 + below(4);
  for (int k = 0; k < steps; k++) {
    const value *a = &p->v[x];
    v = *a;
    int r = a->rank, d = below(r);
    switch (below(12)) {
      case 0: case 1: case 2: {
        value w = *a;
        w.dim[r - 2] = a->dim[r - 1], w.dim[r - 1] = a_size(), v.dim[r - 1] = w.dim[r - 1];
        if (r == 3 && below(2)) w.rank = 2, w.dim[0] = w.dim[1], w.dim[1] = w.dim[2];
        int y = an_input(p, &w);
        snprintf(t, sizeof t, "matmul(%s, %s)", p->v[x].name, p->v[y].name);
        x = an_op(p, &v, t, x, y);
        break;
      }
      case 3: case 4: snprintf(t, sizeof t, unary[below(9)], a->name), x = an_op(p, &v, t, x, -1); break;
      case 5: case 6: {
        value w = *a;
        int y = -1;
        for (int j = 0; j < p->n && y < 0; j++) if (j != x && p->v[j].rank == r && !memcmp(p->v[j].dim, a->dim, sizeof a->dim) && below(2)) y = j;
        if (y < 0) {
          if (below(2)) w.dim[below(r)] = 1;
          y = an_input(p, &w);
        }
        snprintf(t, sizeof t, binary[below(5)], p->v[x].name, p->v[y].name), x = an_op(p, &v, t, x, y);
        break;
      }
      case 7: snprintf(t, sizeof t, "rms_norm(%s, dim=%d, eps=1/100)", a->name, d), x = an_op(p, &v, t, x, -1); break;
      case 8: snprintf(t, sizeof t, "softmax(%s, dim=%d)", a->name, d), x = an_op(p, &v, t, x, -1); break;
      case 9: v.dim[d] = 1, snprintf(t, sizeof t, "%s(%s, dim=%d)", below(3) ? "sum" : "mean", a->name, d), x = an_op(p, &v, t, x, -1); break;
      case 10:
        v.dim[r - 2] = a->dim[r - 1], v.dim[r - 1] = a->dim[r - 2];
        snprintf(t, sizeof t, r == 2 ? "transpose(%s, [1, 0])" : "transpose(%s, [0, 2, 1])", a->name), x = an_op(p, &v, t, x, -1);
        break;
      default: {
        value w = *a;
        w.dim[d] = a_size(), v.dim[d] += w.dim[d];
        int y = an_input(p, &w);
        snprintf(t, sizeof t, "concat(%s, %s, dim=%d)", p->v[x].name, p->v[y].name, d), x = an_op(p, &v, t, x, y);
        break;
      }
    }
  }
  int m = snprintf(text, n, "program reach\n%s%s", p->in, p->body), outs = 0;
  for (int k = 0; k < p->n; k++) if (p->v[k].name[0] == 'T' && (!p->used[k] || !below(6))) m += snprintf(text + m, n - (size_t)m, "%s%s", outs++ ? ", " : "output ", p->v[k].name);
  snprintf(text + m, n - (size_t)m, "\n");
}
/* The k-th program of a seed starts here. */
static void drawn_from(uint64_t seed, int k) {
  rng = (seed * 1000 + (uint64_t)k) * 0x9E3779B97F4A7C15u + 88172645463325252u;
  for (int j = 0; j < 8; j++) below(2);
}

#endif
