/* An emitted kernel called from C, without the search: its info, workspace and launch functions, on a stream of one's own.
   build/mirage search examples/programs/rmsnorm_linear_m16_k4096_n4096.mg > build/best.mg
   build/mirage emit build/best.mg -o build/best.cu
   nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -I. examples/launch.c build/best.cu -o build/launch
   Another kernel: -DNAME=its_name.  gcc compiles this file too, with cuda_runtime_api.h on its include path. */
#include <cuda_runtime_api.h>
#include "mirage_cuda.cuh" /* without an implementation: the types of the interface */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME rmsnorm_linear_m16_k4096_n4096
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#ifdef __cplusplus
extern "C" {
#endif
int JOIN(NAME, _launch)(const void *const *in, void *const *out, void *workspace, cudaStream_t stream);
size_t JOIN(NAME, _workspace_bytes)(void);
extern const mg_emitted_info JOIN(NAME, _info);
#ifdef __cplusplus
}
#endif

static void must(int code, const char *what) {
  if (!code) return;
  fprintf(stderr, "launch: %s: %s\n", what, cudaGetErrorString((cudaError_t)code));
  exit(4);
}

static size_t bytes_of(const mg_io_info *t, size_t *elements) {
  size_t n = 1;
  for (int d = 0; d < t->rank; d++) n *= (size_t)t->dim[d];
  if (elements) *elements = n;
  return n * (size_t)(t->dtype == MG_F32 ? 4 : 2);
}

int main(void) {
  const mg_emitted_info *info = &JOIN(NAME, _info);
  const void *in[MG_MAX_IN];
  void *out[MG_MAX_OUT], *workspace = NULL;
  cudaStream_t stream;
  printf("%s: %d kernel(s), workspace %zu bytes\n", info->name, info->n_kernels, JOIN(NAME, _workspace_bytes)());
  for (int k = 0; k < info->n_kernels; k++) {
    const mg_kernel_info *i = &info->kernels[k];
    printf("  kernel %s: %lld x %lld x %lld blocks, each of %d threads and %lld bytes of shared memory\n", i->name,
           (long long)i->grid[0], (long long)i->grid[1], (long long)i->grid[2], i->threads, (long long)i->shared_bytes);
  }
  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  for (int k = 0; k < info->n_in; k++) {
    const mg_io_info *t = &info->in[k];
    size_t n, bytes = bytes_of(t, &n);
    unsigned char *host = (unsigned char *)malloc(bytes);
    void *device;
    if (!host) return 4;
    printf("  input  %s, rank %d, first stride %lld\n", t->name, t->rank, (long long)t->stride[0]);
    for (size_t j = 0; j < n; j++) { /* values in [1/16, 1/8), in any of the three types */
      uint16_t r = (uint16_t)(rand() & 0x3FF), h = (uint16_t)(t->dtype == MG_F16 ? 0x2C00 | r : 0x3D80 | (r & 0x7F));
      uint32_t f = 0x3D800000u | (uint32_t)r << 13;
      if (t->dtype == MG_F32) memcpy(host + 4 * j, &f, 4);
      else memcpy(host + 2 * j, &h, 2);
    }
    must(cudaMalloc(&device, bytes), "cudaMalloc");
    must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    in[k] = device;
    free(host);
  }
  for (int k = 0; k < info->n_out; k++) {
    must(cudaMalloc(&out[k], bytes_of(&info->out[k], NULL)), "cudaMalloc");
    must(cudaMemset(out[k], 0xFF, bytes_of(&info->out[k], NULL)), "cudaMemset"); /* NaN: shows what was not written */
  }
  if (JOIN(NAME, _workspace_bytes)()) {
    must(cudaMalloc(&workspace, JOIN(NAME, _workspace_bytes)()), "cudaMalloc");
    must(cudaMemset(workspace, 0, JOIN(NAME, _workspace_bytes)()), "cudaMemset"); /* once; each launch leaves it ready */
  }
  must(JOIN(NAME, _launch)(in, out, workspace, stream), "launch");
  must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (int k = 0; k < info->n_out; k++) {
    size_t n, bytes = bytes_of(&info->out[k], &n), size = bytes / n, left = 0;
    unsigned char *host = (unsigned char *)malloc(bytes);
    if (!host) return 4;
    must(cudaMemcpy(host, out[k], bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (size_t j = 0; j < n; j++) {
      size_t b = 0;
      while (b < size && host[j * size + b] == 0xFF) b++;
      left += b == size;
    }
    printf("  output %s: %zu elements, %zu not written\n", info->out[k].name, n, left);
    free(host);
    if (left) return 1;
  }
  return 0;
}
