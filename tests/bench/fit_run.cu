/* Times the candidates of one program next to each other: fit_run NAME TURNS SECONDS A.so B.so ..
   Each is an emitted file, compiled, whose functions begin with NAME_.  Figures are microseconds of one call in a
   replayed CUDA graph, as mirage_cuda.cuh's runner has them: hot, one set of buffers; cold, so many sets that they
   exceed four times the L2 cache.  In every turn each candidate is replayed once without a clock and once with it, so
   that what drifts is all candidates' alike; the median of the turns counts.  Past SECONDS, three turns are enough.
   A line of JSON for each; {"at": K} goes before what may not return. */
#include <cuda_runtime.h>
#include "mirage_cuda.cuh"
#include <cuda_fp16.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

struct set { void *in[16], *out[8]; };
struct candidate {
  int (*launch)(const void *const *, void *const *, void *, void *);
  size_t workspace;
  const mg_emitted_info *info;
  cudaGraphExec_t graph[2];
  int launches[2];
  std::vector<double> us[2];
  char error[200];
};

static std::vector<candidate> each;
static std::vector<set> sets;
static char *workspace;
static size_t stride;
static cudaStream_t stream;

/* What has broken the context ends the process: the caller begins again without candidate k. */
static bool failed(size_t k, cudaError_t rc, const char *what) {
  if (rc == cudaSuccess) return false;
  if (!each[k].error[0]) snprintf(each[k].error, sizeof each[k].error, "%s: %s", what, cudaGetErrorName(rc));
  cudaGetLastError();
  if (cudaDeviceSynchronize() == cudaSuccess) return true;
  printf("{\"at\": %zu, \"error\": \"%s\"}\n", k, each[k].error);
  exit(5);
}
static void must(cudaError_t rc, const char *what) {
  if (rc == cudaSuccess) return;
  fprintf(stderr, "fit_run: %s: %s\n", what, cudaGetErrorString(rc));
  exit(4);
}

static size_t elements_of(const mg_io_info *t) {
  size_t n = 1;
  for (int d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
  return n;
}
static size_t bytes_of(const mg_io_info *t) { return elements_of(t) * (t->dtype == MG_F32 ? 4 : 2); }

static void open_so(candidate &c, const char *name, const char *path) {
  char symbol[256];
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!so) { snprintf(c.error, sizeof c.error, "dlopen"); return; }
  snprintf(symbol, sizeof symbol, "%s_launch", name);
  *(void **)&c.launch = dlsym(so, symbol);
  snprintf(symbol, sizeof symbol, "%s_workspace_bytes", name);
  void *bytes = dlsym(so, symbol);
  snprintf(symbol, sizeof symbol, "%s_info", name);
  c.info = (const mg_emitted_info *)dlsym(so, symbol);
  if (!c.launch || !bytes || !c.info) snprintf(c.error, sizeof c.error, "no %.180s", symbol);
  else c.workspace = ((size_t(*)(void))bytes)();
}

/* Values of either sign, 1/16 to 1/8, in any of the three types. */
static void fill(const mg_io_info *t, void *to) {
  std::vector<unsigned char> host(bytes_of(t));
  uint32_t x = 1;
  for (size_t j = 0; j < elements_of(t); j++) {
    x = x * 1664525u + 1013904223u;
    const uint32_t sign = x >> 31, r = x >> 8 & 0x3FF;
    const uint16_t h = (uint16_t)(sign << 15 | (t->dtype == MG_F16 ? 0x2C00 | r : 0x3D80 | (r & 0x7F)));
    const uint32_t f = sign << 31 | 0x3D800000u | r << 13;
    if (t->dtype == MG_F32) memcpy(&host[4 * j], &f, 4);
    else memcpy(&host[2 * j], &h, 2);
  }
  must(cudaMemcpy(to, host.data(), host.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

static std::vector<double> values_of(const mg_io_info *t, const void *from) {
  std::vector<unsigned char> host(bytes_of(t));
  std::vector<double> values(elements_of(t));
  must(cudaMemcpy(host.data(), from, host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (size_t j = 0; j < values.size(); j++) {
    __half h;
    float f;
    uint32_t b;
    if (t->dtype == MG_F32) memcpy(&f, &host[4 * j], 4);
    else if (t->dtype == MG_F16) memcpy(&h, &host[2 * j], 2), f = __half2float(h);
    else b = (uint32_t)host[2 * j] << 16 | (uint32_t)host[2 * j + 1] << 24, memcpy(&f, &b, 4);
    values[j] = f;
  }
  return values;
}

/* What is wrong with the values of output o: not finite, or not those of the first candidate that had some; NULL: nothing. */
static const char *fault(int o, const std::vector<double> &v) {
  static std::vector<double> first[8];
  double off = 0, all = 0;
  for (double x : v)
    if (!std::isfinite(x)) return "not finite";
  if (first[o].empty()) first[o] = v;
  for (size_t j = 0; j < v.size(); j++) off += (v[j] - first[o][j]) * (v[j] - first[o][j]), all += first[o][j] * first[o][j];
  return off <= 0.03 * 0.03 * all ? NULL : "other values than the first";
}

static void new_sets(const mg_emitted_info *info, size_t most_workspace) {
  cudaDeviceProp p;
  size_t bytes = 0, free_bytes, total;
  must(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
  must(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  for (int k = 0; k < info->n_in; k++) bytes += bytes_of(&info->in[k]);
  for (int k = 0; k < info->n_out; k++) bytes += bytes_of(&info->out[k]);
  stride = (most_workspace + 255) / 256 * 256;
  size_t want = std::min(4 * (size_t)p.l2CacheSize / bytes + 1, free_bytes / 2 / (bytes + stride));
  want = std::max<size_t>(2, std::min<size_t>(want, 512));
  for (size_t s = 0; s < want; s++) {
    set x = {};
    for (int k = 0; k < info->n_in; k++) {
      must(cudaMalloc(&x.in[k], bytes_of(&info->in[k]) + 16), "cudaMalloc");
      if (!s) fill(&info->in[k], x.in[k]);
      else must(cudaMemcpy(x.in[k], sets[0].in[k], bytes_of(&info->in[k]), cudaMemcpyDeviceToDevice), "cudaMemcpy");
    }
    for (int k = 0; k < info->n_out; k++) must(cudaMalloc(&x.out[k], bytes_of(&info->out[k]) + 16), "cudaMalloc");
    sets.push_back(x);
  }
  must(cudaMalloc((void **)&workspace, want * stride + 16), "cudaMalloc");
  must(cudaMemset(workspace, 0, want * stride + 16), "cudaMemset of all workspaces");
  printf("{\"gpu\": \"%s\", \"sets\": %zu, \"bytes\": %zu}\n", p.name, want, bytes);
}

static cudaError_t call(candidate &c, size_t s) {
  return (cudaError_t)c.launch((const void *const *)sets[s].in, sets[s].out, workspace + s * stride, stream);
}

/* A launch alone, from workspace that is zero, and whether what it wrote is what the first wrote. */
static void try_once(size_t k) {
  candidate &c = each[k];
  for (int o = 0; o < c.info->n_out; o++) /* NaN */
    must(cudaMemset(sets[0].out[o], 0xFF, bytes_of(&c.info->out[o])), "cudaMemset of an output");
  must(cudaMemset(workspace, 0, stride), "cudaMemset of a workspace");
  if (failed(k, call(c, 0), "launch") || failed(k, cudaStreamSynchronize(stream), "run")) return;
  for (int o = 0; o < c.info->n_out && !c.error[0]; o++)
    if (const char *why = fault(o, values_of(&c.info->out[o], sets[0].out[o]))) snprintf(c.error, sizeof c.error, "%s", why);
}

static void capture(size_t k, int cold) {
  candidate &c = each[k];
  const size_t n = cold ? sets.size() : 1, launches = n > 32 ? n : (32 + n - 1) / n * n;
  cudaGraph_t graph;
  cudaError_t rc = cudaSuccess;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (size_t j = 0; j < launches && rc == cudaSuccess; j++) rc = call(c, j % n);
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (failed(k, rc, "launch") || failed(k, ended, "capture")) return;
  if (failed(k, cudaGraphInstantiateWithFlags(&c.graph[cold], graph, 0), "graph")) return;
  c.launches[cold] = (int)launches;
  cudaGraphDestroy(graph);
}

static void turn(size_t k, int cold, cudaEvent_t from, cudaEvent_t to) {
  candidate &c = each[k];
  float ms = 0;
  if (c.error[0]) return;
  if (c.workspace) /* another may have left something */
    must(cudaMemset2DAsync(workspace, stride, 0, c.workspace, cold ? sets.size() : 1, stream), "cudaMemset2D");
  cudaGraphLaunch(c.graph[cold], stream);
  cudaEventRecord(from, stream);
  cudaGraphLaunch(c.graph[cold], stream);
  cudaEventRecord(to, stream);
  if (failed(k, cudaEventSynchronize(to), "replay")) return;
  if (!failed(k, cudaEventElapsedTime(&ms, from, to), "time")) c.us[cold].push_back(1e3 * ms / c.launches[cold]);
}

static double median(std::vector<double> &v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v.size() % 2 ? v[v.size() / 2] : 0.5 * (v[v.size() / 2 - 1] + v[v.size() / 2]);
}

int main(int argc, char **argv) {
  if (argc < 5) return 3;
  const int turns = atoi(argv[2]);
  const double seconds = atof(argv[3]);
  const mg_emitted_info *info = nullptr;
  size_t most = 0;
  cudaEvent_t from, to;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  must(cudaSetDevice(0), "cudaSetDevice");
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  each.resize((size_t)argc - 4);
  for (size_t k = 0; k < each.size(); k++) {
    open_so(each[k], argv[1], argv[4 + k]);
    if (each[k].error[0]) continue;
    info = each[k].info;
    most = std::max(most, each[k].workspace);
  }
  if (!info) return 4;
  new_sets(info, most);
  must(cudaEventCreate(&from), "cudaEventCreate");
  must(cudaEventCreate(&to), "cudaEventCreate");
  for (size_t k = 0; k < each.size(); k++) {
    printf("{\"at\": %zu}\n", k);
    if (!each[k].error[0]) try_once(k);
    for (int cold = 0; cold < 2; cold++) if (!each[k].error[0]) capture(k, cold);
    for (int cold = 0; cold < 2; cold++) if (!each[k].error[0]) turn(k, cold, from, to), each[k].us[cold].clear();
  }
  const auto began = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  for (int t = 0; t < turns && (t < 3 || passed() < seconds); t++)
    for (size_t j = 0; j < each.size(); j++) {
      const size_t k = t % 2 ? each.size() - 1 - j : j;
      for (int cold = 0; cold < 2; cold++) turn(k, cold, from, to);
    }
  for (size_t k = 0; k < each.size(); k++) {
    candidate &c = each[k];
    const double hot = median(c.us[0]), cold = median(c.us[1]); /* which order them */
    if (c.error[0]) printf("{\"candidate\": %zu, \"error\": \"%s\"}\n", k, c.error);
    else printf("{\"candidate\": %zu, \"us_hot\": %.4f, \"us_cold\": %.4f, \"us_hot_min\": %.4f, \"us_cold_min\": %.4f}\n",
                k, hot, cold, c.us[0][0], c.us[1][0]);
  }
  return 0;
}
