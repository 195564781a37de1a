/* nvcc -O3 -std=c++17 -prec-div=false -prec-sqrt=false -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o rmsnorm_linear_m16_k4096_n4096.so rmsnorm_linear_m16_k4096_n4096.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports rmsnorm_linear_m16_k4096_n4096_launch, rmsnorm_linear_m16_k4096_n4096_workspace_bytes, rmsnorm_linear_m16_k4096_n4096_info.
 *
 * mugraph {{{
 * program rmsnorm_linear_m16_k4096_n4096
 * input X : f16[16, 4096]
 * input G : f16[4096]
 * input W : f16[4096, 4096]
 * O = kernel grid=(x=64, z=2) threads=256 {
 *   for i=4 {
 *     x = load X {x->*, z->1, i->1}
 *     g = load G {x->*, z->0, i->0}
 *     t1 = mul(x, g)
 *     w = load W {x->1, z->0, i->0}
 *     t2 = matmul(t1, w)
 *     t3 = sqr(x)
 *     t4 = sum(t3, dim=1)
 *   }
 *   t5 = accum(t2) {z->+, i->+}
 *   t6 = accum(t4) {z->+, i->+}
 *   t7 = scale(t6, 1/4096)
 *   t8 = add_scalar(t7, 1/1000000)
 *   t9 = sqrt(t8)
 *   t10 = div(t5, t9)
 *   store t10 {x->1, z->*}
 *   plan { stages=2 warps_m=1 warps_n=1 warps_k=8 ring=warp schedule=written }
 * }
 * output O
 * }}} mugraph
 *
 * certificate:
 * not certified
 */
#include "mirage_cuda.cuh"

/* Extents, and the counts of grid and loop axes.  Chunks are fixed: extent = (count - 1) * chunk + the last one. */
#ifndef rmsnorm_linear_m16_k4096_n4096_D0
#define rmsnorm_linear_m16_k4096_n4096_D0 16
#endif
#ifndef rmsnorm_linear_m16_k4096_n4096_D1
#define rmsnorm_linear_m16_k4096_n4096_D1 4096
#endif
#ifndef rmsnorm_linear_m16_k4096_n4096_D2
#define rmsnorm_linear_m16_k4096_n4096_D2 4096
#endif
#ifndef rmsnorm_linear_m16_k4096_n4096_K0_x
#define rmsnorm_linear_m16_k4096_n4096_K0_x 64
#endif
#ifndef rmsnorm_linear_m16_k4096_n4096_K0_z
#define rmsnorm_linear_m16_k4096_n4096_K0_z 2
#endif
#ifndef rmsnorm_linear_m16_k4096_n4096_K0_i
#define rmsnorm_linear_m16_k4096_n4096_K0_i 4
#endif


#ifndef MG_HOST_ONLY /* the kernels */
/* Grid (rmsnorm_linear_m16_k4096_n4096_K0_x, 1, rmsnorm_linear_m16_k4096_n4096_K0_z), 256 threads: warps 1 x 1 x 8 (rows, columns, contraction); 229760 bytes of shared memory. */
MG_KERNEL(256) void rmsnorm_linear_m16_k4096_n4096_kernel0(const mg_f16 *p_X, const mg_f16 *p_G, const mg_f16 *p_W, mg_f16 *p_O, int early) {
  (void)early; // 1: streamed inputs are asked for before the kernel before has ended
  const int b_x = mg_bid(0);
  (void)b_x;
  const int b_z = mg_bid(2);
  (void)b_z;
  typedef mg_owners<16, 64, rmsnorm_linear_m16_k4096_n4096_K0_z> owners;
  typedef mg_tile<mg_f16, 16, 64, 72, false> T_x;
  typedef mg_tile<mg_f16, 1, 64, 72, false> T_g;
  typedef mg_tile<mg_f16, 64, 64, 72, false> T_w;
  typedef mg_acc<16, 64, 1, 1, 8> A_t2;
  A_t2 acc_t2;
  typedef mg_own_row_reduce<mg_by_sum, 16, 8> R_t4;
  R_t4 red_t4;
  const mg_partial<A_t2, 8> s_t2(mg_shared() + 188416);
  typedef mg_tile<mg_f32, 16, 64, 68, false> P_t5;
  const mg_merge_owned<mg_by_sum, owners> g_t5(mg_shared() + 225280);
  const mg_tile<mg_f32, 16, 1, 1, false> t_t4(mg_shared() + 0);
  typedef mg_tile<mg_f32, 16, 1, 1, false> P_t6;
  const mg_merge_shared<mg_by_sum, P_t6, rmsnorm_linear_m16_k4096_n4096_K0_z, 128> g_t6(mg_shared() + 229504);
  mg_grid_next();
  mg_cluster_begun();

  unsigned char *const ring_i = mg_shared() + 0 + mg_warp() * 23552; // the warp's own: 2 stages of 11776 bytes
  const int first_i = (b_x + b_z * rmsnorm_linear_m16_k4096_n4096_K0_x) % rmsnorm_linear_m16_k4096_n4096_K0_i;
  const auto turn_i = [&](int step) { return step + first_i < rmsnorm_linear_m16_k4096_n4096_K0_i ? step + first_i : step + first_i - rmsnorm_linear_m16_k4096_n4096_K0_i; };
  const auto load_i = [&](int step, int at, bool streams, bool others) {
    const int i_i = turn_i(step);
    (void)i_i;
    // x = load X {x->*, z->1, i->1}
    if (others) mg_load_tile<T_x, T_x::ROWS, T_x::COLS, (rmsnorm_linear_m16_k4096_n4096_D1 % 8 == 0), 32>(T_x(ring_i + at * 11776 + 0), p_X + (b_z * (int64_t)2048 + i_i * (int64_t)512) + mg_warp() * (int64_t)64, (int64_t)rmsnorm_linear_m16_k4096_n4096_D1, 1, 16, 64);
    // g = load G {x->*, z->0, i->0}
    if (others) mg_load_tile<T_g, T_g::ROWS, T_g::COLS, (true), 32>(T_g(ring_i + at * 11776 + 2304), p_G + (b_z * (int64_t)2048 + i_i * (int64_t)512) + mg_warp() * (int64_t)64, 0, 1, 1, 64);
    // w = load W {x->1, z->0, i->0}
    if (streams) mg_load_tile<T_w, T_w::ROWS, T_w::COLS, (rmsnorm_linear_m16_k4096_n4096_D2 % 8 == 0), 32>(T_w(ring_i + at * 11776 + 2560), p_W + (b_z * (int64_t)2048 + i_i * (int64_t)512) * ((int64_t)rmsnorm_linear_m16_k4096_n4096_D2) + mg_warp() * (int64_t)64 * ((int64_t)rmsnorm_linear_m16_k4096_n4096_D2) + (b_x * (int64_t)64), (int64_t)rmsnorm_linear_m16_k4096_n4096_D2, 1, 64, 64);
  };
  for (int s = 0; early && s < 1 && s < rmsnorm_linear_m16_k4096_n4096_K0_i; s++) load_i(s, s, true, false);
  mg_grid_wait();
  for (int s = 0; s < 1; s++) {
    if (s < rmsnorm_linear_m16_k4096_n4096_K0_i) load_i(s, s, !early, true);
    mg_cp_async_commit();
  }

  // for i=4
  acc_t2.zero();
  red_t4.init();
  for (int step0 = 0; step0 < rmsnorm_linear_m16_k4096_n4096_K0_i; step0 += 2) {
    MG_UNROLL
    for (int now = 0; now < 2; now++) {
      const int step = step0 + now, next = (now + 1) % 2, i_i = turn_i(step);
      (void)i_i;
      if (rmsnorm_linear_m16_k4096_n4096_K0_i % 2 != 0 && step >= rmsnorm_linear_m16_k4096_n4096_K0_i) break;
      mg_cp_async_wait<0>();
      mg_sync_warp();
      if (step + 1 < rmsnorm_linear_m16_k4096_n4096_K0_i) load_i(step + 1, next, true, true);
      mg_cp_async_commit();
      const T_x t_x(ring_i + now * 11776 + 0);
      const T_g t_g(ring_i + now * 11776 + 2304);
      const T_w t_w(ring_i + now * 11776 + 2560);
      // t4 = sum(t3, dim=1)
      red_t4.add<64>(16, 64, [&](int r, int c, mg_num &first, mg_num &second) {
        (void)r; (void)c;
        mg_num v0_x, w0_x;
        t_x.pair(r, c, v0_x, w0_x);
        const mg_num v0_t3 = mg_dev_SQR(v0_x, mg_zero(), mg_zero());
        const mg_num w0_t3 = mg_dev_SQR(w0_x, mg_zero(), mg_zero());
        first = v0_t3;
        second = w0_t3;
      });
      // t2 = matmul(t1, w)
      mg_contract_own<mg_f16, 64>(acc_t2, mg_left_of<mg_f16, 16, true>(64, [&](int r, int c, mg_num &first, mg_num &second) {
        (void)r; (void)c;
        mg_num v0_x, w0_x;
        t_x.pair(r, c, v0_x, w0_x);
        mg_num v0_g, w0_g;
        t_g.pair(0, c, v0_g, w0_g);
        const mg_num v0_t1 = mg_dev_MUL(v0_x, v0_g, mg_zero());
        const mg_num w0_t1 = mg_dev_MUL(w0_x, w0_g, mg_zero());
        first = v0_t1;
        second = w0_t1;
      }), mg_right(t_w));
    }
  }
  // t5 = accum(t2) {z->+, i->+}
  s_t2.spill(acc_t2);
  mg_cluster_wait(); // all blocks of the group have begun
  mg_sync();
  // this block's part of t5
  mg_each_unit<16, 64, 256>(16, 64, [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t5 = s_t2.at(r, c);
    return v0_t5;
  }, mg_to_owners<owners>(mg_shared() + 225280));
  // t6 = accum(t4) {z->+, i->+}
  red_t4.finish(t_t4);
  mg_sync();
  // this block's part of t6
  mg_each_unit<16, 1, 256>(16, 1, [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t6 = t_t4.at(r, 0);
    return v0_t6;
  }, mg_to_all<P_t6, rmsnorm_linear_m16_k4096_n4096_K0_z>(mg_shared() + 229504 + mg_cluster_rank() * 128));

  mg_cluster_arrive();
  mg_cluster_wait();
  // store t10 {x->1, z->*}
  mg_each_owned<owners, 256>(16, 64, [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t5 = g_t5.at(r, c);
    const mg_num v0_t6 = g_t6.at(r, 0);
    const mg_num v0_t7 = mg_dev_SCALE(v0_t6, mg_zero(), mg_const(1, 4096));
    const mg_num v0_t8 = mg_dev_ADD_SCALAR(v0_t7, mg_zero(), mg_const(1, 1000000));
    const mg_num v0_t9 = mg_dev_SQRT(v0_t8, mg_zero(), mg_zero());
    const mg_num v0_t10 = mg_dev_DIV(v0_t5, v0_t9, mg_zero());
    return v0_t10;
  }, mg_to_global<mg_f16, mg_run(8, rmsnorm_linear_m16_k4096_n4096_D2)>(p_O + (b_x * (int64_t)64), (int64_t)rmsnorm_linear_m16_k4096_n4096_D2, 1));
}

#endif

#ifndef __CUDACC_RTC__ /* their launch */
extern "C" size_t rmsnorm_linear_m16_k4096_n4096_workspace_bytes(void) { return 0; }

static int rmsnorm_linear_m16_k4096_n4096_launch_all(int early, const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  (void)early;
  (void)workspace;
  int rc = 0;
  rc = MG_LAUNCH_AFTER(early, rmsnorm_linear_m16_k4096_n4096_kernel0, rmsnorm_linear_m16_k4096_n4096_K0_x, 1, rmsnorm_linear_m16_k4096_n4096_K0_z, 1, 1, rmsnorm_linear_m16_k4096_n4096_K0_z, 256, 229760, stream, (const mg_f16 *)in[0], (const mg_f16 *)in[1], (const mg_f16 *)in[2], (mg_f16 *)out[0], early);
  if (rc) return rc;
  return rc;
}

extern "C" int rmsnorm_linear_m16_k4096_n4096_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  return rmsnorm_linear_m16_k4096_n4096_launch_all(0, in, out, workspace, stream);
}

extern "C" int rmsnorm_linear_m16_k4096_n4096_launch_pdl(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  return rmsnorm_linear_m16_k4096_n4096_launch_all(1, in, out, workspace, stream);
}

static const mg_io_info rmsnorm_linear_m16_k4096_n4096_in[] = {
  {"X", MG_F16, 2, {rmsnorm_linear_m16_k4096_n4096_D0, rmsnorm_linear_m16_k4096_n4096_D1}, {(int64_t)rmsnorm_linear_m16_k4096_n4096_D1, 1}, {0, 1}},
  {"G", MG_F16, 1, {rmsnorm_linear_m16_k4096_n4096_D1}, {1}, {0}},
  {"W", MG_F16, 2, {rmsnorm_linear_m16_k4096_n4096_D1, rmsnorm_linear_m16_k4096_n4096_D2}, {(int64_t)rmsnorm_linear_m16_k4096_n4096_D2, 1}, {0, 1}},
};
static const mg_io_info rmsnorm_linear_m16_k4096_n4096_out[] = {
  {"O", MG_F16, 2, {rmsnorm_linear_m16_k4096_n4096_D0, rmsnorm_linear_m16_k4096_n4096_D2}, {(int64_t)rmsnorm_linear_m16_k4096_n4096_D2, 1}, {0, 1}},
};
extern "C" const mg_emitted_info rmsnorm_linear_m16_k4096_n4096_info;
extern "C" const mg_emitted_info rmsnorm_linear_m16_k4096_n4096_info = {"rmsnorm_linear_m16_k4096_n4096", 3, 1, 1, rmsnorm_linear_m16_k4096_n4096_in, rmsnorm_linear_m16_k4096_n4096_out, 0x4};
#endif
