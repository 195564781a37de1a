/* Tests of examples/models: each is planned as it stands; with its numbers made small it gives what a decoder (or
   BERT) in plain C gives, which is written from the published architectures alone; and what is almost the same does not.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_models.c -o build/test_models -lcmocka -lm -lpthread -ldl && build/test_models */
#define MIRAGE_IMPLEMENTATION
#include "mirage_model.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MOST_LAYERS = 8, MOST_GROUPS = 4, ROWS = 2, PLACES = 12, HEAD = 16, WIDTH = 128, WIDE = 256, WORDS = 50 };

/* A number of a text, and what stands for it in a small one; is: what it is to be, where it is rounded. */
typedef struct number { const char *from, *to; double is; } number;
typedef struct mutant { const char *from, *to; } mutant;
typedef struct net {
  const char *file;
  int layers, groups, per, head, inner, separate, adapters; /* separate: queries, keys and values have a matrix each */
  char norm; /* of queries and keys: 'r' rms, 'l' layer, 'u' nGPT's, 0 none; 'b': BERT */
  double eps, scale, base, parameters; /* parameters: of the model as it stands, as published; 0: not known */
  number small[16];
  mutant wrong[10];
} net;

#define LLAMA                                                                                                          \
  {"32", "8", 0}, {"8", "2", 0}, {"48", "12", 0}, {"40", "10", 0}, {"128", "16", 0}, {"4096", "128", 0},              \
  {"6144", "192", 0}, {"0.088388348", "1/4", 0.08838834764831845}
#define DECODER                                                                                                        \
  {"K at p-1", "K at 0"}, {"K[l], V[l])", "K[0], V[l])"}, {"Wgate[l], Wup[l]", "Wup[l], Wgate[l]"},                    \
      {"G[l], H[l]", "H[l], G[l]"}, {                                                                                  \
    "0.088388348", "0.09"                                                                                              \
  }
#define PREFILL {"causal(", "to_bf16("}, {"K at p-m", "K at 0"}, {"at p-m base", "at p base"}, {"m-1", "0"}
#define GROUPED {", [0, 3, 1, 2, 4])", ", [0, 3, 2, 1, 4])"}
#define LLAMA3_8B_NET 8, 2, 4, 16, 96, 0, 0, 0, 1e-5, 0.25, 500000, 8030261248.0
#define LLAMA3_8B_LORA_NET                                                                                             \
  8, 2, 4, 16, 96, 0, 3, 0, 1e-5, 0.25, 500000, 8030261248.0 + 32 * 16 * (4096 + 4096 + 4096 + 1024)
#define LLAMA3_8B_LORA_SMALL \
  LLAMA, {"14336", "96", 0}, {"128256", "50", 0}, {"8192", "32", 0}, {"16", "3", 0}, {"1024", "32", 0}
#define QWEN3_8B_NET 3, 2, 4, 16, 96, 0, 0, 'r', 1e-6, 0.25, 1000000, 8190735360.0
#define CHAMELEON_7B_NET 4, 4, 1, 16, 96, 0, 0, 'l', 1e-5, 0.25, 10000, 0
#define NGPT_1B_NET 3, 4, 1, 16, 96, 0, 0, 'u', 0, 4, 10000, 0
#define NGPT_1B_SMALL \
  {"36", "3", 0}, {"20", "4", 0}, {"60", "12", 0}, {"40", "8", 0}, {"64", "16", 0}, {"1280", "64", 0}, \
  {"3840", "192", 0}, {"5120", "96", 0}, {"10240", "192", 0}, {"32000", "50", 0}, {"8", "4", 8}, \
  {"35.7770876", "8", 35.777087639996634}, {"1.788854382", "0.4", 1.7888543819998317}
static const net nets[] = {
    {"tiny", 2, 2, 2, 16, 96, 1, 0, 0, 1e-5, 0.25, 10000, 0,
     {{"2", "2", 0}},
     {{"eps=1e-5", "eps=1e-4"}, {"1/4", "1/5"}, {"Wk[l], Wv[l]", "Wv[l], Wk[l]"}, {"K at p-1", "K at 0"},
      {"V at p-1", "V at floor(p/2)"}, {"K[l], V[l])", "K[0], V[l])"}, {"Wa[l], Wb[l]", "Wb[l], Wa[l]"},
      {"C, S, K[l]", "S, C, K[l]"}, {"G[l], H[l]", "H[l], G[l]"}, {"p-1 base", "p base"}}},
    {"llama3_8b", LLAMA3_8B_NET,
     {LLAMA, {"14336", "96", 0}, {"128256", "50", 0}, {"8192", "32", 0}},
     {DECODER, {"eps=1e-5", "eps=1e-4"}, {"base 500000", "base 10000"}, {"from=32", "from=40"}}},
    {"llama3_8b_prefill", LLAMA3_8B_NET,
     {LLAMA, {"1024", "32", 0}, {"14336", "96", 0}, {"128256", "50", 0}, {"8192", "32", 0}},
     {PREFILL, GROUPED, {"eps=1e-5", "eps=1e-4"}}},
    {"llama3_8b_lora", LLAMA3_8B_LORA_NET,
     {LLAMA3_8B_LORA_SMALL},
     {DECODER, {"Bq), 2)", "Bq), 1)"}, {"Bv), 2)", "Bv), 1)"}, {"matmul(N, Aq)", "matmul(X, Aq)"}}},
    {"llama3_8b_lora_prefill", LLAMA3_8B_LORA_NET,
     {LLAMA3_8B_LORA_SMALL},
     {PREFILL, GROUPED}},
    {"qwen3_8b", QWEN3_8B_NET,
     {LLAMA, {"36", "3", 0}, {"12288", "96", 0}, {"151936", "50", 0}, {"40960", "32", 0}},
     {DECODER, {"Gq[l], Gk[l]", "Gk[l], Gq[l]"},
      {"return rms_norm(A, G, eps=1e-6)", "return rms_norm(A, G, eps=1e-4)"}, {"Gq, eps=1e-6", "Gq, eps=1e-2"}}},
    {"qwen3_8b_prefill", QWEN3_8B_NET,
     {LLAMA, {"1024", "32", 0}, {"36", "3", 0}, {"12288", "96", 0}, {"151936", "50", 0}, {"40960", "32", 0}},
     {PREFILL, GROUPED, {"Gq[l], Gk[l]", "Gk[l], Gq[l]"}}},
    {"chameleon_7b", CHAMELEON_7B_NET,
     {{"32", "4", 0}, {"64", "8", 0}, {"96", "12", 0}, {"128", "16", 0}, {"4096", "64", 0}, {"12288", "192", 0},
     {"11008", "96", 0}, {"65536", "50", 0}, {"0.088388348", "1/4", 0.08838834764831845}},
     {DECODER, {"Gq[l], Bq[l], Gk[l]", "Gk[l], Bq[l], Gq[l]"}, {"Bq[l], Gk[l], Bk[l]", "Bk[l], Gk[l], Bq[l]"},
      {"sub(A, mean(A, dim=2)), rsqrt", "A, rsqrt"}}},
    {"chameleon_7b_prefill", CHAMELEON_7B_NET,
     {{"1024", "32", 0}, {"32", "4", 0}, {"64", "8", 0}, {"96", "12", 0}, {"128", "16", 0}, {"4096", "64", 0},
     {"12288", "192", 0}, {"11008", "96", 0}, {"65536", "50", 0}, {"0.088388348", "1/4", 0.08838834764831845}},
     {PREFILL, {"Gq[l], Bq[l], Gk[l]", "Gk[l], Bq[l], Gq[l]"}}},
    {"ngpt_1b", NGPT_1B_NET,
     {NGPT_1B_SMALL},
     {{"K at p-1", "K at 0"}, {"K[l], V[l])", "K[0], V[l])"}, {"Aa[l], Am[l]", "Am[l], Aa[l]"}, {"sub(B, A)", "B"},
      {"A = unit(A)", "A = neg(A)"}, {"35.7770876", "35"}, {"dim=3))), reshape", "dim=2))), reshape"},
      {"silu(slice(B, dim=1, from=5120", "silu(slice(B, dim=1, from=0"}}},
    {"ngpt_1b_prefill", NGPT_1B_NET,
     {NGPT_1B_SMALL},
     {PREFILL, {"abs(alpha)", "alpha"}}},
    {"bert_large", 3, 4, 1, 16, 96, 0, 0, 'b', 1e-12, 0.25, 0, 335141888.0,
     {{"24", "3", 0}, {"1024", "64", 0}, {"16", "4", 0}, {"64", "16", 0}, {"48", "12", 0}, {"32", "8", 0},
     {"4096", "96", 0}, {"3072", "192", 0}, {"30522", "50", 0}, {"512", "16", 0}, {"8", "4", 8}},
     {{"gelu", "silu"}, {"add(gather(E, T), slice(Place, dim=0, from=0, n=m))", "gather(E, T)"},
      {"Y = norm(Y, G, B)", "Y = exp(Y)"}, {"1/8", "1/7"}, {"add(Y, add", "add(X, add"},
      {"dim=1), 1e-6", "dim=1), 10000"}, {"Segment, dim=0, from=0", "Segment, dim=0, from=1"}}},
};
enum { NETS = sizeof nets / sizeof *nets };

static const char *text_of(const char *name) {
  static char text[1 << 14];
  char path[100];
  snprintf(path, sizeof path, "examples/models/%s.mgm", name);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is not there", path);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return text;
}
/* The text with its numbers made small; `wrong` is put in place first.  Each number is there. */
static char *small_of(const net *t, const mutant *wrong) {
  static char whole[1 << 14], small[1 << 14];
  const char *text = text_of(t->file);
  size_t n = 0;
  int used[16] = {0};
  if (wrong) {
    const char *at = strstr(text, wrong->from);
    if (!at) fail_msg("%s: no %s", t->file, wrong->from);
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - text), text, wrong->to, at + strlen(wrong->from));
  } else snprintf(whole, sizeof whole, "%s", text);
  for (const char *p = whole; *p;) {
    size_t k = 0;
    const int word = p > whole && (isalnum((unsigned char)p[-1]) || p[-1] == '_' ||
                                   (p[-1] == '.' && p - 2 >= whole && isdigit((unsigned char)p[-2])));
    while (!word && (isdigit((unsigned char)p[k]) || (k && p[k] == '.' && isdigit((unsigned char)p[k + 1])))) k++;
    const char *to = NULL;
    for (size_t j = 0; j < 16 && t->small[j].from && k; j++)
      if (strlen(t->small[j].from) == k && !strncmp(p, t->small[j].from, k)) to = t->small[j].to, used[j]++;
    if (to) n += (size_t)snprintf(small + n, sizeof small - n, "%s", to), p += k;
    else small[n++] = *p++;
  }
  small[n] = 0;
  for (size_t j = 0; j < 16 && t->small[j].from && !wrong; j++) {
    if (!used[j]) fail_msg("%s: no number %s", t->file, t->small[j].from);
    if (t->small[j].is > 0 && fabs(atof(t->small[j].from) / t->small[j].is - 1) > 1e-8)
      fail_msg("%s: %s is not %.17g", t->file, t->small[j].from, t->small[j].is);
  }
  return small;
}

/* ---- in plain C */

typedef struct memory {
  double k[MOST_LAYERS][ROWS][MOST_GROUPS][PLACES][HEAD], v[MOST_LAYERS][ROWS][MOST_GROUPS][PLACES][HEAD];
} memory;

static const double *weight(const mg_model_data *d, const char *name, int layer) {
  const uint32_t v = mg_value_find(d->l, name, layer);
  if (!v) fail_msg("no weight %s", name);
  return d->data[v];
}
/* y += by x W, columns from..from + out of a matrix of `columns`. */
static void dense(const double *x, const double *w, int in, int columns, int from, int out, double by, double *y) {
  for (int j = 0; j < out; j++)
    for (int i = 0; i < in; i++) y[j] += by * x[i] * w[i * columns + from + j];
}
static void rms(double *x, const double *g, int n, double eps) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * x[i];
  for (int i = 0; i < n; i++) x[i] *= g[i] / sqrt(s / n + eps);
}
static void layer_norm(double *x, const double *g, const double *b, int n, double eps) {
  double mean = 0, s = 0;
  for (int i = 0; i < n; i++) mean += x[i] / n;
  for (int i = 0; i < n; i++) s += (x[i] - mean) * (x[i] - mean) / n;
  for (int i = 0; i < n; i++) x[i] = (x[i] - mean) / sqrt(s + eps) * g[i] + b[i];
}
static void unit(double *x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * x[i];
  for (int i = 0; i < n; i++) x[i] /= sqrt(s);
}
static void rotate(double *x, int n, int place, double base) {
  for (int i = 0; i < n / 2; i++) {
    const double a = place * pow(base, -2.0 * i / n), c = cos(a), s = sin(a), lo = x[i], hi = x[i + n / 2];
    x[i] = lo * c - hi * s, x[i + n / 2] = hi * c + lo * s;
  }
}
static void towards(double *x, double *y, const double *alpha, int n) {
  unit(x, n), unit(y, n);
  for (int i = 0; i < n; i++) x[i] += fabs(alpha[i]) * 0.05 * sqrt(n) * (y[i] - x[i]);
  unit(x, n);
}
/* o = softmax(scale q k) v over `places` keys, each `step` doubles behind the one before. */
static void attend(const double *q, const double *k, const double *v, int step, int places, int head, double scale,
                   double *o) {
  double score[PLACES], sum = 0;
  for (int j = 0; j < places; j++) {
    score[j] = 0;
    for (int i = 0; i < head; i++) score[j] += scale * q[i] * k[j * step + i];
    sum += score[j] = exp(score[j]);
  }
  for (int i = 0; i < head; i++) {
    o[i] = 0;
    for (int j = 0; j < places; j++) o[i] += score[j] / sum * v[j * step + i];
  }
}
/* One token of a row at a place; its logits. */
static void decode(const net *t, const mg_model_data *d, memory *M, int token, int row, int place, double *logits) {
  const int head = t->head, groups = t->groups, heads = groups * t->per, width = heads * head, kv = groups * head,
            all = width + 2 * kv;
  double x[WIDTH], a[WIDTH], q[WIDTH], k[WIDTH], v[WIDTH], o[WIDTH], u[WIDE], w[WIDE];
  for (int i = 0; i < width; i++) x[i] = weight(d, "E", -1)[token * width + i];
  for (int l = 0; l < t->layers; l++) {
    memcpy(a, x, sizeof a), memset(q, 0, sizeof q), memset(k, 0, sizeof k), memset(v, 0, sizeof v);
    if (t->norm != 'u') rms(a, weight(d, "G", l), width, t->eps);
    dense(a, weight(d, t->separate ? "Wq" : "Wqkv", l), width, t->separate ? width : all, 0, width, 1, q);
    dense(a, weight(d, t->separate ? "Wk" : "Wqkv", l), width, t->separate ? kv : all, t->separate ? 0 : width, kv, 1,
          k);
    dense(a, weight(d, t->separate ? "Wv" : "Wqkv", l), width, t->separate ? kv : all, t->separate ? 0 : width + kv, kv,
          1, v);
    if (t->adapters) {
      double low[8] = {0}, also[8] = {0};
      dense(a, weight(d, "Aq", l), width, t->adapters, 0, t->adapters, 1, low),
          dense(low, weight(d, "Bq", l), t->adapters, width, 0, width, 2, q);
      dense(a, weight(d, "Av", l), width, t->adapters, 0, t->adapters, 1, also),
          dense(also, weight(d, "Bv", l), t->adapters, kv, 0, kv, 2, v);
    }
    for (int h = 0; h < heads + groups; h++) {
      const int key = h >= heads, at = key ? h - heads : h;
      double *y = key ? k + at * head : q + at * head;
      if (t->norm == 'r') rms(y, weight(d, key ? "Gk" : "Gq", l), head, t->eps);
      if (t->norm == 'l')
        layer_norm(y, weight(d, key ? "Gk" : "Gq", l) + at * head, weight(d, key ? "Bk" : "Bq", l) + at * head, head,
                   t->eps);
      rotate(y, head, place, t->base);
      if (t->norm == 'u') unit(y, head);
      for (int i = 0; i < head && t->norm == 'u'; i++) y[i] *= weight(d, "Sqk", l)[at * head + i] * sqrt(width);
    }
    for (int g = 0; g < groups; g++)
      memcpy(M->k[l][row][g][place], k + g * head, (size_t)head * sizeof *k),
          memcpy(M->v[l][row][g][place], v + g * head, (size_t)head * sizeof *v);
    for (int h = 0; h < heads; h++)
      attend(q + h * head, M->k[l][row][h / t->per][0], M->v[l][row][h / t->per][0], HEAD, place + 1, head, t->scale,
             o + h * head);
    memset(a, 0, sizeof a);
    dense(o, weight(d, "Wo", l), width, width, 0, width, 1, a);
    if (t->norm == 'u') towards(x, a, weight(d, "Aa", l), width);
    else for (int i = 0; i < width; i++) x[i] += a[i];
    memcpy(a, x, sizeof a), memset(u, 0, sizeof u), memset(w, 0, sizeof w);
    if (t->norm == 'u') {
      const double *uv = weight(d, "Wuv", l), *s = weight(d, "Suv", l);
      dense(a, uv, width, 2 * t->inner, 0, t->inner, sqrt(width), w),
          dense(a, uv, width, 2 * t->inner, t->inner, t->inner, sqrt(width), u);
      for (int i = 0; i < t->inner; i++) w[i] *= s[i], u[i] *= s[t->inner + i];
    } else {
      rms(a, weight(d, "H", l), width, t->eps);
      dense(a, weight(d, t->separate ? "Wa" : "Wgate", l), width, t->inner, 0, t->inner, 1, u),
          dense(a, weight(d, t->separate ? "Wb" : "Wup", l), width, t->inner, 0, t->inner, 1, w);
    }
    for (int i = 0; i < t->inner; i++) u[i] = u[i] / (1 + exp(-u[i])) * w[i];
    memset(a, 0, sizeof a);
    dense(u, weight(d, t->separate ? "Wc" : "Wdown", l), t->inner, width, 0, width, 1, a);
    if (t->norm == 'u') towards(x, a, weight(d, "Am", l), width);
    else for (int i = 0; i < width; i++) x[i] += a[i];
  }
  if (t->norm != 'u') rms(x, weight(d, "F", -1), width, t->eps);
  for (int j = 0; j < WORDS; j++) {
    logits[j] = 0;
    for (int i = 0; i < width; i++) logits[j] += x[i] * weight(d, t->separate ? "E" : "U", -1)[j * width + i];
    if (t->norm == 'u') logits[j] *= weight(d, "Sz", -1)[j] * sqrt(width);
  }
}
/* BERT over m tokens: their last layer, and the pooled first. */
static void encode(const net *t, const mg_model_data *d, const double *token, int m, double x[][WIDTH],
                   double *pooled) {
  const int head = t->head, heads = t->groups, width = heads * head, inner = t->inner;
  static double qkv[PLACES][3 * WIDTH], o[PLACES][WIDTH];
  for (int j = 0; j < m; j++) {
    for (int i = 0; i < width; i++)
      x[j][i] = weight(d, "E", -1)[(int)token[j] * width + i] + weight(d, "Place", -1)[j * width + i] +
                weight(d, "Segment", -1)[i];
    layer_norm(x[j], weight(d, "Ge", -1), weight(d, "Be", -1), width, t->eps);
  }
  for (int l = 0; l < t->layers; l++) {
    for (int j = 0; j < m; j++) {
      memcpy(qkv[j], weight(d, "Bqkv", l), 3 * (size_t)width * sizeof *qkv[j]);
      dense(x[j], weight(d, "Wqkv", l), width, 3 * width, 0, 3 * width, 1, qkv[j]);
    }
    for (int j = 0; j < m; j++)
      for (int h = 0; h < heads; h++)
        attend(qkv[j] + h * head, qkv[0] + width + h * head, qkv[0] + 2 * width + h * head, 3 * WIDTH, m, head,
               t->scale, o[j] + h * head);
    for (int j = 0; j < m; j++) {
      double u[WIDE];
      for (int i = 0; i < width; i++) x[j][i] += weight(d, "Bo", l)[i];
      dense(o[j], weight(d, "Wo", l), width, width, 0, width, 1, x[j]);
      layer_norm(x[j], weight(d, "G", l), weight(d, "B", l), width, t->eps);
      memcpy(u, weight(d, "Bin", l), (size_t)inner * sizeof *u);
      dense(x[j], weight(d, "Win", l), width, inner, 0, inner, 1, u);
      for (int i = 0; i < inner; i++) u[i] = 0.5 * u[i] * (1 + erf(u[i] / sqrt(2)));
      for (int i = 0; i < width; i++) x[j][i] += weight(d, "Bout", l)[i];
      dense(u, weight(d, "Wout", l), inner, width, 0, width, 1, x[j]);
      layer_norm(x[j], weight(d, "H", l), weight(d, "D", l), width, t->eps);
    }
  }
  memcpy(pooled, weight(d, "Bp", -1), (size_t)width * sizeof *pooled);
  dense(x[0], weight(d, "Wp", -1), width, width, 0, width, 1, pooled);
  for (int i = 0; i < width; i++) pooled[i] = tanh(pooled[i]);
}

/* ---- both */

static void further(double a, double b, double *off, double *largest) {
  if (!(fabs(a - b) <= *off)) *off = a == a && b == b ? fabs(a - b) : HUGE_VAL;
  if (fabs(a) > *largest) *largest = fabs(a);
}
/* States are those of the memory: how far off. */
static void compare_states(const net *t, const mg_model_data *d, const memory *M, double *off, double *largest) {
  for (int l = 0; l < t->layers; l++)
    for (int r = 0; r < ROWS; r++)
      for (int g = 0; g < t->groups; g++)
        for (int p = 0; p < PLACES; p++)
          for (int i = 0; i < t->head; i++) {
            const size_t at = (size_t)(((r * t->groups + g) * PLACES + p) * t->head + i);
            further(M->k[l][r][g][p][i], weight(d, "K", l)[at], off, largest),
                further(M->v[l][r][g][p][i], weight(d, "V", l)[at], off, largest);
          }
}
static void remember(const net *t, const mg_model_data *d, memory *M) {
  for (int l = 0; l < t->layers; l++)
    for (int r = 0; r < ROWS; r++)
      for (int g = 0; g < t->groups; g++)
        for (int p = 0; p < PLACES; p++)
          for (int i = 0; i < t->head; i++) {
            const size_t at = (size_t)(((r * t->groups + g) * PLACES + p) * t->head + i);
            M->k[l][r][g][p][i] = weight(d, "K", l)[at], M->v[l][r][g][p][i] = weight(d, "V", l)[at];
          }
}
/* How far a text is off, of at most *largest: three steps of one token, or two of three, from five in the cache on;
   what fails as a model is far off. */
static double off_by(const net *t, const char *text, double *largest) {
  static memory M;
  mg_model *m = NULL;
  mg_model_list *l = NULL;
  mg_model_data *d = NULL;
  mg_model_config c;
  mg_error e;
  double off = 0;
  *largest = 0;
  if (mg_model_parse(text, strlen(text), t->file, NULL, &m, &e) != MG_OK || mg_model_list_of(m, &l, &e) != MG_OK)
    fail_msg("%s: %s\n%s", e.where, e.msg, text);
  const int many = strstr(t->file, "prefill") != NULL, bert = t->norm == 'b', news = many ? 3 : 1;
  int64_t room[3] = {ROWS, many ? news : PLACES, PLACES}, sym[3];
  if (bert) room[1] = 7;
  if (mg_model_data_new(l, room, 11, &d, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
  if (!bert) remember(t, d, &M);
  memset(&c, 0, sizeof c);
  for (int step = 0; step < (bert ? 1 : many ? 2 : 3); step++) {
    const int place = 5 + step * news; /* of the first new token */
    c.inputs = 50 + (uint64_t)step;
    memcpy(sym, room, sizeof sym);
    if (!bert) sym[many ? 2 : 1] = place + news;
    if (mg_model_step(d, sym, &c, &e) != MG_OK) fail_msg("%s: %s", e.where, e.msg);
    const double *out = d->data[l->output[0]], *other = d->data[l->output[1]], *token = weight(d, "T", -1);
    for (int r = 0; r < ROWS; r++) {
      if (bert) {
        static double x[PLACES][WIDTH];
        double pooled[WIDTH];
        const int width = t->groups * t->head;
        encode(t, d, token + r * 7, 7, x, pooled);
        for (int j = 0; j < 7; j++)
          for (int i = 0; i < width; i++) further(x[j][i], out[(r * 7 + j) * width + i], &off, largest);
        for (int i = 0; i < width; i++) further(pooled[i], other[r * width + i], &off, largest);
        continue;
      }
      double logits[WORDS];
      int best = 0;
      for (int j = 0; j < news; j++) decode(t, d, &M, (int)token[r * news + j], r, place + j, logits);
      for (int j = 0; j < WORDS; j++) {
        further(logits[j], out[r * WORDS + j], &off, largest);
        if (logits[j] > logits[best]) best = j;
      }
      if (other[r] != best) off += 1;
    }
    if (!bert) compare_states(t, d, &M, &off, largest);
  }
  mg_model_data_free(d), mg_model_list_free(l), mg_model_free(m);
  return off / *largest;
}
static void test_values(void **state) {
  int wrong = 0;
  (void)state;
  for (int k = 0; k < NETS; k++) {
    double largest;
    const double off = off_by(&nets[k], small_of(&nets[k], NULL), &largest);
    print_message("%s: up to %.3g, worst difference %.3g of it\n", nets[k].file, largest, off);
    assert_true(largest > 1 && off < 1e-12);
    for (int j = 0; j < 10 && nets[k].wrong[j].from; j++, wrong++) {
      const double is = off_by(&nets[k], small_of(&nets[k], &nets[k].wrong[j]), &largest);
      if (!(is > 1e-9))
        fail_msg("%s, %s for %s: off by %g", nets[k].file, nets[k].wrong[j].to, nets[k].wrong[j].from, is);
    }
  }
  print_message("%d wrong texts, all found\n", wrong);
  assert_true(wrong > 60);
}

/* As they stand: parsed, printed, planned; few pieces; as many parameters as published. */
static void test_whole(void **state) {
  (void)state;
  for (int k = 0; k < NETS; k++) {
    const char *text = text_of(nets[k].file);
    mg_model *m = NULL, *again = NULL;
    mg_model_list *l = NULL;
    mg_model_plan *p = NULL;
    mg_error e;
    char *a, *b;
    double parameters = 0;
    if (mg_model_parse(text, strlen(text), nets[k].file, NULL, &m, &e) != MG_OK ||
        mg_model_list_of(m, &l, &e) != MG_OK || mg_model_plan_of(l, &p, &e) != MG_OK)
      fail_msg("%s: %s", e.where, e.msg);
    assert_int_equal(mg_model_print(m, &a, &e), MG_OK);
    assert_int_equal(mg_model_parse(a, strlen(a), "again", NULL, &again, &e), MG_OK);
    assert_int_equal(mg_model_print(again, &b, &e), MG_OK);
    assert_string_equal(a, b);
    for (uint32_t v = 1; v < l->n_values; v++) {
      int64_t n = 1, d;
      if (l->value[v].kind != MG_VALUE_WEIGHT) continue;
      for (int j = 0; j < l->value[v].rank; j++) {
        assert_true(mgi_size_number(l->sizes, l->value[v].dim[j], &d));
        n *= d;
      }
      parameters += (double)n;
      assert_true(l->value[v].decl->n_from > 0);
    }
    if (nets[k].parameters > 0 && parameters != nets[k].parameters)
      fail_msg("%s: %.0f parameters, not %.0f", nets[k].file, parameters, nets[k].parameters);
    assert_true(l->n_pieces <= 20);
    mg_string_free(a), mg_string_free(b), mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m),
        mg_model_free(again);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
