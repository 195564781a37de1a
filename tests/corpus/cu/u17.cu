/* nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o p.so p.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports p_launch, p_workspace_bytes, p_info.
 *
 * mugraph {{{
 * program p
 * input X : bf16[4, 12]
 * input A : bf16[12, 10]
 * input B : bf16[12, 10]
 * O = kernel grid=(x=5) threads=128 {
 *   for i=3 {
 *     x = load X {x->*, i->1}
 *     t1 = load A {x->1, i->0}
 *     a = matmul(x, t1)
 *     t2 = load B {x->1, i->0}
 *     b = matmul(x, t2)
 *   }
 *   t3 = accum(a) {i->+}
 *   t4 = silu(t3)
 *   t5 = accum(b) {i->+}
 *   t6 = mul(t4, t5)
 *   store t6 {x->1}
 * }
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
#define p_D1 12
#endif
#ifndef p_D2
#define p_D2 10
#endif
#ifndef p_K0_x
#define p_K0_x 5
#endif
#ifndef p_K0_i
#define p_K0_i 3
#endif


/* Grid (p_K0_x, 1, 1), 128 threads: warps 1 x 1 x 4 (rows, columns, contraction); 2304 bytes of shared memory. */
MG_KERNEL(128) void p_kernel0(const mg_bf16 *p_X, const mg_bf16 *p_A, const mg_bf16 *p_B, mg_bf16 *p_O) {
  const int b_x = mg_bid(0);
  (void)b_x;
  typedef mg_tile<mg_bf16, 4, 16, 24, false> T_x;
  typedef mg_tile<mg_bf16, 16, 8, 8, false> T_t1;
  typedef mg_tile<mg_bf16, 16, 8, 8, false> T_t2;
  typedef mg_acc<4, 2, 1, 1, 4> A_a;
  A_a acc_a;
  typedef mg_acc<4, 2, 1, 1, 4> A_b;
  A_b acc_b;
  const mg_partial<A_a, 4> s_a(mg_shared() + 0);
  const mg_partial<A_b, 4> s_b(mg_shared() + 1024);

  // for i=3
  acc_a.zero();
  acc_b.zero();
  unsigned char *const ring_i = mg_shared() + 0; // 3 stages of 768 bytes
  const auto load_i = [&](int i_i, int at) {
    (void)i_i;
    // x = load X {x->*, i->1}
    mg_load_tile<T_x, T_x::ROWS, T_x::COLS, (false), 128>(T_x(ring_i + at * 768 + 0), p_X + (i_i * (int64_t)4), (int64_t)p_D1, 1, 4, 4);
    // t1 = load A {x->1, i->0}
    mg_load_tile<T_t1, T_t1::ROWS, T_t1::COLS, (false), 128>(T_t1(ring_i + at * 768 + 256), p_A + (i_i * (int64_t)4) * ((int64_t)p_D2) + (b_x * (int64_t)2), (int64_t)p_D2, 1, 4, 2);
    // t2 = load B {x->1, i->0}
    mg_load_tile<T_t2, T_t2::ROWS, T_t2::COLS, (false), 128>(T_t2(ring_i + at * 768 + 512), p_B + (i_i * (int64_t)4) * ((int64_t)p_D2) + (b_x * (int64_t)2), (int64_t)p_D2, 1, 4, 2);
  };
  for (int s = 0; s < 2; s++) {
    if (s < p_K0_i) load_i(s, s);
    mg_cp_async_commit();
  }
  for (int i_i = 0, now = 0, next = 2; i_i < p_K0_i; i_i++) {
    mg_cp_async_wait<1>();
    mg_sync();
    if (i_i + 2 < p_K0_i) load_i(i_i + 2, next);
    mg_cp_async_commit();
    const T_x t_x(ring_i + now * 768 + 0);
    const T_t1 t_t1(ring_i + now * 768 + 256);
    const T_t2 t_t2(ring_i + now * 768 + 512);
    // a = matmul(x, t1)
    mg_contract<mg_bf16, 4>(acc_a, mg_left(t_x), mg_right(t_t1));
    // b = matmul(x, t2)
    mg_contract<mg_bf16, 4>(acc_b, mg_left(t_x), mg_right(t_t2));
    now = now + 1 == 3 ? 0 : now + 1;
    next = next + 1 == 3 ? 0 : next + 1;
  }
  // t3 = accum(a) {i->+}
  mg_sync();
  s_a.spill(acc_a);
  // t5 = accum(b) {i->+}
  s_b.spill(acc_b);
  mg_sync();
  // store t6 {x->1}
  mg_each_unit<4, 2, 128>(4, 2, [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t3 = s_a.at(r, c);
    const mg_num v0_t4 = mg_dev_SILU(v0_t3, mg_zero(), mg_zero());
    const mg_num v0_t5 = s_b.at(r, c);
    const mg_num v0_t6 = mg_dev_MUL(v0_t4, v0_t5, mg_zero());
    return v0_t6;
  }, mg_to_global<mg_bf16, mg_run(2, p_D2)>(p_O + (b_x * (int64_t)2), (int64_t)p_D2, 1));
}

extern "C" size_t p_workspace_bytes(void) { return 0; }

extern "C" int p_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  (void)workspace;
  int rc = 0;
  rc = MG_LAUNCH(p_kernel0, p_K0_x, 1, 1, 128, 2304, stream, (const mg_bf16 *)in[0], (const mg_bf16 *)in[1], (const mg_bf16 *)in[2], (mg_bf16 *)out[0]);
  if (rc) return rc;
  return rc;
}

static const mg_io_info p_in[] = {
  {"X", MG_BF16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
  {"A", MG_BF16, 2, {p_D1, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
  {"B", MG_BF16, 2, {p_D1, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
};
static const mg_io_info p_out[] = {
  {"O", MG_BF16, 2, {p_D0, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
};
extern "C" const mg_emitted_info p_info;
extern "C" const mg_emitted_info p_info = {"p", 3, 1, 1, p_in, p_out};
