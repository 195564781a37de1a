/* nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o p.so p.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports p_launch, p_workspace_bytes, p_info.
 *
 * mugraph {{{
 * program p
 * input X : f16[5, 24]
 * input G : f16[24]
 * input W : f16[24, 18]
 * t1 = sqr(X)
 * t2 = sum(t1, dim=1)
 * t3 = scale(t2, 1/24)
 * t4 = add_scalar(t3, 1/1000)
 * t5 = sqrt(t4)
 * t6 = div(X, t5)
 * Y = mul(t6, G)
 * O = matmul(Y, W)
 * output O
 * }}} mugraph
 *
 * certificate:
 * not certified
 */
#include "mirage_cuda.cuh"

/* Extents, and the counts of grid and loop axes.  Chunks are fixed: extent = (count - 1) * chunk + the last one. */
#ifndef p_D0
#define p_D0 5
#endif
#ifndef p_D1
#define p_D1 24
#endif
#ifndef p_D2
#define p_D2 18
#endif

static constexpr size_t p_AT_t1 = 0;
static constexpr size_t p_END_t1 = p_AT_t1 + mg_round256((int64_t)2 * p_D0 * p_D1);
static constexpr size_t p_AT_t2 = p_END_t1;
static constexpr size_t p_END_t2 = p_AT_t2 + mg_round256((int64_t)2 * p_D0 * 1);
static constexpr size_t p_AT_t3 = p_END_t2;
static constexpr size_t p_END_t3 = p_AT_t3 + mg_round256((int64_t)2 * p_D0 * 1);
static constexpr size_t p_AT_t4 = p_END_t3;
static constexpr size_t p_END_t4 = p_AT_t4 + mg_round256((int64_t)2 * p_D0 * 1);
static constexpr size_t p_AT_t5 = p_END_t4;
static constexpr size_t p_END_t5 = p_AT_t5 + mg_round256((int64_t)2 * p_D0 * 1);
static constexpr size_t p_AT_t6 = p_END_t5;
static constexpr size_t p_END_t6 = p_AT_t6 + mg_round256((int64_t)2 * p_D0 * p_D1);
static constexpr size_t p_AT_Y = p_END_t6;
static constexpr size_t p_END_Y = p_AT_Y + mg_round256((int64_t)2 * p_D0 * p_D1);

/* t1 = sqr(X), over whole tensors. */
MG_KERNEL(256) void p_op1_sqr(const mg_f16 *p_X, mg_f16 *p_t1) {
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
    const mg_num v = mg_dev_SQR(v0, mg_zero(), mg_zero());
    mg_stg(p_t1 + e, mg_narrow<mg_f16>(v));
  });
}

/* t2 = sum(t1), over whole tensors. */
MG_KERNEL(256) void p_op2_sum(const mg_f16 *p_t1, mg_f16 *p_t2) {
  const int64_t n = (int64_t)1 * p_D0;
  mg_each_reduction<mg_by_sum>(n, p_D1, mg_library_blocks(n, 8), [&](int64_t e, int64_t k) {
    const int64_t x1 = k;
    (void)x1;
    const int64_t x0 = e % p_D0;
    e /= p_D0;
    (void)x0;
    return mg_widen(mg_ldg(p_t1 + x0 * ((int64_t)p_D1) + x1));
  }, [&](int64_t e, mg_num v) { mg_stg(p_t2 + e, mg_narrow<mg_f16>(v)); });
}

/* t3 = scale(t2), over whole tensors. */
MG_KERNEL(256) void p_op3_scale(const mg_f16 *p_t2, mg_f16 *p_t3) {
  const int64_t n = (int64_t)1 * p_D0;
  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {
    int64_t rest = e;
    (void)rest;
    const int64_t x1 = 0;
    (void)x1;
    const int64_t x0 = rest % p_D0;
    rest /= p_D0;
    (void)x0;
    const mg_num v0 = mg_widen(mg_ldg(p_t2 + x0));
    const mg_num v = mg_dev_SCALE(v0, mg_zero(), mg_const(1, 24));
    mg_stg(p_t3 + e, mg_narrow<mg_f16>(v));
  });
}

/* t4 = add_scalar(t3), over whole tensors. */
MG_KERNEL(256) void p_op4_add_scalar(const mg_f16 *p_t3, mg_f16 *p_t4) {
  const int64_t n = (int64_t)1 * p_D0;
  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {
    int64_t rest = e;
    (void)rest;
    const int64_t x1 = 0;
    (void)x1;
    const int64_t x0 = rest % p_D0;
    rest /= p_D0;
    (void)x0;
    const mg_num v0 = mg_widen(mg_ldg(p_t3 + x0));
    const mg_num v = mg_dev_ADD_SCALAR(v0, mg_zero(), mg_const(1, 1000));
    mg_stg(p_t4 + e, mg_narrow<mg_f16>(v));
  });
}

/* t5 = sqrt(t4), over whole tensors. */
MG_KERNEL(256) void p_op5_sqrt(const mg_f16 *p_t4, mg_f16 *p_t5) {
  const int64_t n = (int64_t)1 * p_D0;
  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {
    int64_t rest = e;
    (void)rest;
    const int64_t x1 = 0;
    (void)x1;
    const int64_t x0 = rest % p_D0;
    rest /= p_D0;
    (void)x0;
    const mg_num v0 = mg_widen(mg_ldg(p_t4 + x0));
    const mg_num v = mg_dev_SQRT(v0, mg_zero(), mg_zero());
    mg_stg(p_t5 + e, mg_narrow<mg_f16>(v));
  });
}

/* t6 = div(X, t5), over whole tensors. */
MG_KERNEL(256) void p_op6_div(const mg_f16 *p_X, const mg_f16 *p_t5, mg_f16 *p_t6) {
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
    const mg_num v1 = mg_widen(mg_ldg(p_t5 + x0));
    const mg_num v = mg_dev_DIV(v0, v1, mg_zero());
    mg_stg(p_t6 + e, mg_narrow<mg_f16>(v));
  });
}

/* Y = mul(t6, G), over whole tensors. */
MG_KERNEL(256) void p_op7_mul(const mg_f16 *p_t6, const mg_f16 *p_G, mg_f16 *p_Y) {
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
    const mg_num v0 = mg_widen(mg_ldg(p_t6 + x0 * ((int64_t)p_D1) + x1));
    const mg_num v1 = mg_widen(mg_ldg(p_G + x1));
    const mg_num v = mg_dev_MUL(v0, v1, mg_zero());
    mg_stg(p_Y + e, mg_narrow<mg_f16>(v));
  });
}

/* Grid (mg_chunks(p_D2, 18), mg_chunks(p_D0, 5), 1), 128 threads: warps 1 x 1 x 4 (rows, columns, contraction); 6144 bytes of shared memory. */
MG_KERNEL(128) void p_op8_matmul(const mg_f16 *p_Y, const mg_f16 *p_W, mg_f16 *p_O) {
  const int b_x = mg_bid(0);
  (void)b_x;
  const int b_y = mg_bid(1);
  (void)b_y;
  const int b_z = mg_bid(2);
  (void)b_z;
  typedef mg_tile<mg_f16, 5, 32, 40, false> T_t1;
  typedef mg_tile<mg_f16, 32, 24, 24, false> T_t2;
  typedef mg_acc<5, 18, 1, 1, 4> A_t3;
  A_t3 acc_t3;
  const mg_partial<A_t3, 4> s_t3(mg_shared() + 0);

  // for k=1
  acc_t3.zero();
  unsigned char *const ring_k = mg_shared() + 0; // 3 stages of 2048 bytes
  const auto load_k = [&](int i_k, int at) {
    (void)i_k;
    // t1 = load Y {k->1}
    mg_load_tile<T_t1, T_t1::ROWS, T_t1::COLS, (p_D1 % 8 == 0), 128>(T_t1(ring_k + at * 2048 + 0), p_Y + (i_k * (int64_t)24), (int64_t)p_D1, 1, p_D0, mg_cut(p_D1, i_k, 24));
    // t2 = load W {k->0}
    mg_load_tile<T_t2, T_t2::ROWS, T_t2::COLS, (p_D2 % 8 == 0), 128>(T_t2(ring_k + at * 2048 + 512), p_W + (i_k * (int64_t)24) * ((int64_t)p_D2), (int64_t)p_D2, 1, mg_cut(p_D1, i_k, 24), p_D2);
  };
  for (int s = 0; s < 2; s++) {
    if (s < mg_chunks(p_D1, 24)) load_k(s, s);
    mg_cp_async_commit();
  }
  for (int i_k = 0, now = 0, next = 2; i_k < mg_chunks(p_D1, 24); i_k++) {
    mg_cp_async_wait<1>();
    mg_sync();
    if (i_k + 2 < mg_chunks(p_D1, 24)) load_k(i_k + 2, next);
    mg_cp_async_commit();
    const T_t1 t_t1(ring_k + now * 2048 + 0);
    const T_t2 t_t2(ring_k + now * 2048 + 512);
    // t3 = matmul(t1, t2)
    mg_contract<mg_f16, 24>(acc_t3, mg_left(t_t1), mg_right(t_t2));
    now = now + 1 == 3 ? 0 : now + 1;
    next = next + 1 == 3 ? 0 : next + 1;
  }
  // t4 = accum(t3) {k->+}
  mg_sync();
  s_t3.spill(acc_t3);
  mg_sync();
  // store t4
  mg_each_unit<5, 18, 128>(p_D0, p_D2, [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t4 = s_t3.at(r, c);
    return v0_t4;
  }, mg_to_global<mg_f16, mg_run(4, p_D2)>(p_O, (int64_t)p_D2, 1));
}

extern "C" size_t p_workspace_bytes(void) { return p_END_Y; }

extern "C" int p_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  unsigned char *const space = (unsigned char *)workspace;
  int rc = 0;
  rc = MG_LAUNCH(p_op1_sqr, mg_library_blocks((int64_t)1 * p_D0 * p_D1, 256), 1, 1, 256, 0, stream, (const mg_f16 *)in[0], (mg_f16 *)(space + p_AT_t1));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op2_sum, mg_library_blocks((int64_t)1 * p_D0, 8), 1, 1, 256, 0, stream, (mg_f16 *)(space + p_AT_t1), (mg_f16 *)(space + p_AT_t2));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op3_scale, mg_library_blocks((int64_t)1 * p_D0, 256), 1, 1, 256, 0, stream, (mg_f16 *)(space + p_AT_t2), (mg_f16 *)(space + p_AT_t3));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op4_add_scalar, mg_library_blocks((int64_t)1 * p_D0, 256), 1, 1, 256, 0, stream, (mg_f16 *)(space + p_AT_t3), (mg_f16 *)(space + p_AT_t4));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op5_sqrt, mg_library_blocks((int64_t)1 * p_D0, 256), 1, 1, 256, 0, stream, (mg_f16 *)(space + p_AT_t4), (mg_f16 *)(space + p_AT_t5));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op6_div, mg_library_blocks((int64_t)1 * p_D0 * p_D1, 256), 1, 1, 256, 0, stream, (const mg_f16 *)in[0], (mg_f16 *)(space + p_AT_t5), (mg_f16 *)(space + p_AT_t6));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op7_mul, mg_library_blocks((int64_t)1 * p_D0 * p_D1, 256), 1, 1, 256, 0, stream, (mg_f16 *)(space + p_AT_t6), (const mg_f16 *)in[1], (mg_f16 *)(space + p_AT_Y));
  if (rc) return rc;
  rc = MG_LAUNCH(p_op8_matmul, mg_chunks(p_D2, 18), mg_chunks(p_D0, 5), 1, 128, 6144, stream, (mg_f16 *)(space + p_AT_Y), (const mg_f16 *)in[2], (mg_f16 *)out[0]);
  if (rc) return rc;
  return rc;
}

static const mg_io_info p_in[] = {
  {"X", MG_F16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
  {"G", MG_F16, 1, {p_D1}, {1}, {0}},
  {"W", MG_F16, 2, {p_D1, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
};
static const mg_io_info p_out[] = {
  {"O", MG_F16, 2, {p_D0, p_D2}, {(int64_t)p_D2, 1}, {0, 1}},
};
extern "C" const mg_emitted_info p_info;
extern "C" const mg_emitted_info p_info = {"p", 3, 1, 8, p_in, p_out};
