/* nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o p.so p.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports p_launch, p_workspace_bytes, p_info.
 *
 * mugraph {{{
 * program p
 * input X : f16[6, 8]
 * S = sum(X, dim=1)
 * E = exp(X)
 * output E
 * output S
 * }}} mugraph
 *
 * certificate:
 * not certified
 */
#include "mirage_cuda.cuh"

/* Extents, and the counts of grid and loop axes.  Chunks are fixed: extent = (count - 1) * chunk + the last one. */
#ifndef p_D0
#define p_D0 6
#endif
#ifndef p_D1
#define p_D1 8
#endif


/* S = sum(X), over whole tensors. */
MG_KERNEL(256) void p_op1_sum(const mg_f16 *p_X, mg_f16 *p_S) {
  const int64_t n = (int64_t)1 * p_D0;
  mg_each_reduction<mg_by_sum>(n, p_D1, mg_library_blocks(n, 8), [&](int64_t e, int64_t k) {
    const int64_t x1 = k;
    (void)x1;
    const int64_t x0 = e % p_D0;
    e /= p_D0;
    (void)x0;
    return mg_widen(mg_ldg(p_X + x0 * ((int64_t)p_D1) + x1));
  }, [&](int64_t e, mg_num v) { mg_stg(p_S + e, mg_narrow<mg_f16>(v)); });
}

/* E = exp(X), over whole tensors. */
MG_KERNEL(256) void p_op2_exp(const mg_f16 *p_X, mg_f16 *p_E) {
  const int64_t n = (int64_t)1 * p_D0 * p_D1;
  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {
    int64_t rest = e;
    (void)rest;
    const int64_t x1 = rest % p_D1;
    rest /= p_D1;
    (void)x1;
    const int64_t x0 = rest % p_D0;
    rest /= p_D0;
    (void)x0;
    const mg_num v0 = mg_widen(mg_ldg(p_X + x0 * ((int64_t)p_D1) + x1));
    const mg_num v = mg_dev_EXP(v0, mg_zero(), mg_zero());
    mg_stg(p_E + e, mg_narrow<mg_f16>(v));
  });
}

extern "C" size_t p_workspace_bytes(void) { return 0; }

extern "C" int p_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  (void)workspace;
  int rc = 0;
  rc = MG_LAUNCH(p_op1_sum, mg_library_blocks((int64_t)1 * p_D0, 8), 1, 1, 256, 0, stream, (const mg_f16 *)in[0], (mg_f16 *)out[1]);
  if (rc) return rc;
  rc = MG_LAUNCH(p_op2_exp, mg_library_blocks((int64_t)1 * p_D0 * p_D1, 256), 1, 1, 256, 0, stream, (const mg_f16 *)in[0], (mg_f16 *)out[0]);
  if (rc) return rc;
  return rc;
}

static const mg_io_info p_in[] = {
  {"X", MG_F16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
};
static const mg_io_info p_out[] = {
  {"E", MG_F16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
  {"S", MG_F16, 2, {p_D0, 1}, {1, 1}, {0, 1}},
};
extern "C" const mg_emitted_info p_info;
extern "C" const mg_emitted_info p_info = {"p", 1, 2, 2, p_in, p_out};
