/* nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o p.so p.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports p_launch, p_workspace_bytes, p_info.
 *
 * mugraph {{{
 * program p
 * input X : f16[4, 6]
 * input Y : f16[4, 9]
 * A = max(X, dim=1)
 * t1 = exp(Y)
 * O = add(t1, A)
 * output O
 * }}} mugraph
 *
 * certificate:
 * not certified
 */
#include "mirage_cuda.cuh"

/* Extents, and the counts of grid and loop axes.  Chunks are fixed: extent = (count - 1) * chunk + the last one. */
#ifndef p_D0
#define p_D0 4
#endif
#ifndef p_D1
#define p_D1 6
#endif
#ifndef p_D2
#define p_D2 9
#endif

static constexpr size_t p_AT_A = 0;
static constexpr size_t p_END_A = p_AT_A + mg_round256((int64_t)2 * p_D0 * 1);
static constexpr size_t p_AT_t1 = p_END_A;
static constexpr size_t p_END_t1 = p_AT_t1 + mg_round256((int64_t)2 * p_D0 * p_D2);

/* A = max(X), over whole tensors. */
MG_KERNEL(256) void p_op1_max(const mg_f16 *p_X, mg_f16 *p_A) {
  const int64_t n = (int64_t)1 * p_D0;
  mg_each_reduction<mg_by_max>(n, p_D1, mg_library_blocks(n, 8), [&](int64_t e, int64_t k) {
    const int64_t x1 = k;
    (void)x1;
    const int64_t x0 = e % p_D0;
    e /= p_D0;
    (void)x0;
    return mg_widen(mg_ldg(p_X + x0 * ((int64_t)p_D1) + x1));
  }, [&](int64_t e, mg_num v) { mg_stg(p_A + e, mg_narrow<mg_f16>(v)); });
}

/* t1 = exp(Y), over whole tensors. */
MG_KERNEL(256) void p_op2_exp(const mg_f16 *p_Y, mg_f16 *p_t1) {
  const int64_t n = (int64_t)1 * p_D0 * p_D2;
  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {
    int64_t rest = e;
    (void)rest;
    const int64_t x1 = rest % p_D2;
    rest /= p_D2;
    (void)x1;
    const int64_t x0 = rest % p_D0;
    rest /= p_D0;
    (void)x0;
    const mg_num v0 = mg_widen(mg_ldg(p_Y + x0 * ((int64_t)p_D2) + x1));
    const mg_num v = mg_dev_EXP(v0, mg_zero(), mg_zero());
    mg_stg(p_t1 + e, mg_narrow<mg_f16>(v));
  });
}

/* O = add(t1, A), over whole tensors. */
MG_KERNEL(256) void p_op3_add(const mg_f16 *p_t1, const mg_f16 *p_A, mg_f16 *p_O) {
  const int64_t n = (int64_t)1 * p_D0 * p_D2;
  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {
    int64_t rest = e;
    (void)rest;
    const int64_t x1 = rest % p_D2;
    rest /= p_D2;
    (void)x1;
    const int64_t x0 = rest % p_D0;
    rest /= p_D0;
    (void)x0;
    const mg_num v0 = mg_widen(mg_ldg(p_t1 + x0 * ((int64_t)p_D2) + x1));
    const mg_num v1 = mg_widen(mg_ldg(p_A + x0));
    const mg_num v = mg_dev_ADD(v0, v1, mg_zero());
    mg_stg(p_O + e, mg_narrow<mg_f16>(v));
  });
}

extern "C" size_t p_workspace_bytes(void) { return p_END_t1; }

extern "C" int p_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  unsigned char *const space = (unsigned char *)workspace;
  int rc = 0;
  rc = MG_LAUNCH(p_op1_max, mg_library_blocks((int64_t)1 * p_D0, 8), 1, 1, 256, 0, stream, (const mg_f16 *)in[0], (mg_f16 *)(space + p_AT_A));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op2_exp, mg_library_blocks((int64_t)1 * p_D0 * p_D2, 256), 1, 1, 256, 0, stream, (const mg_f16 *)in[1], (mg_f16 *)(space + p_AT_t1));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op3_add, mg_library_blocks((int64_t)1 * p_D0 * p_D2, 256), 1, 1, 256, 0, stream, (mg_f16 *)(space + p_AT_t1), (mg_f16 *)(space + p_AT_A), (mg_f16 *)out[0]);
  if (rc) return rc;
  return rc;
}

static const mg_io_info p_in[] = {
  {"X", MG_F16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
  {"Y", MG_F16, 2, {p_D0, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
};
static const mg_io_info p_out[] = {
  {"O", MG_F16, 2, {p_D0, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
};
extern "C" const mg_emitted_info p_info;
extern "C" const mg_emitted_info p_info = {"p", 2, 1, 3, p_in, p_out};
