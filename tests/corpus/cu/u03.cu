/* nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o p.so p.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports p_launch, p_workspace_bytes, p_info.
 *
 * mugraph {{{
 * program p
 * input X : f16[4, 12]
 * O = kernel grid=(x=2) threads=128 {
 *   for i=3 {
 *     t1 = load X {x->0, i->1}
 *     t2 = exp(t1)
 *     s = sum(t2, dim=1)
 *   }
 *   z = accum(s) {i->+}
 *   for j=4 {
 *     t3 = load X {x->0, j->1}
 *     t4 = exp(t3)
 *     e = div(t4, z)
 *   }
 *   t5 = accum(e) {j->1}
 *   store t5 {x->0}
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
#ifndef p_K0_x
#define p_K0_x 2
#endif
#ifndef p_K0_i
#define p_K0_i 3
#endif
#ifndef p_K0_j
#define p_K0_j 4
#endif


/* Grid (p_K0_x, 1, 1), 128 threads: warps 1 x 1 x 1 (rows, columns, contraction); 640 bytes of shared memory. */
MG_KERNEL(128) void p_kernel0(const mg_f16 *p_X, mg_f16 *p_O) {
  const int b_x = mg_bid(0);
  (void)b_x;
  typedef mg_tile<mg_f16, 2, 8, 8, false> T_t1;
  typedef mg_row_reduce<mg_by_sum, 2, 128> R_s;
  R_s red_s;
  const mg_tile<mg_f32, 2, 1, 1, false> t_s(mg_shared() + 0);
  typedef mg_tile<mg_f16, 2, 8, 8, false> T_t3;
  typedef mg_tile<mg_f32, 2, 12, 12, false> T_t5;
  const T_t5 t_t5(mg_shared() + 128);

  // for i=3
  red_s.init();
  unsigned char *const ring_i = mg_shared() + 0; // 3 stages of 128 bytes
  const auto load_i = [&](int i_i, int at) {
    (void)i_i;
    // t1 = load X {x->0, i->1}
    mg_load_tile<T_t1, T_t1::ROWS, T_t1::COLS, (false), 128>(T_t1(ring_i + at * 128 + 0), p_X + (b_x * (int64_t)2) * ((int64_t)p_D1) + (i_i * (int64_t)4), (int64_t)p_D1, 1, 2, 4);
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
    const T_t1 t_t1(ring_i + now * 128 + 0);
    // s = sum(t2, dim=1)
    red_s.add(2, 4, [&](int r, int c, mg_num &first, mg_num &second) {
      (void)r; (void)c;
      mg_num v0_t1, w0_t1;
      t_t1.pair(r, c, v0_t1, w0_t1);
      const mg_num v0_t2 = mg_dev_EXP(v0_t1, mg_zero(), mg_zero());
      const mg_num w0_t2 = mg_dev_EXP(w0_t1, mg_zero(), mg_zero());
      first = v0_t2;
      second = w0_t2;
    });
    now = now + 1 == 3 ? 0 : now + 1;
    next = next + 1 == 3 ? 0 : next + 1;
  }
  // z = accum(s) {i->+}
  mg_sync();
  red_s.finish(t_s);

  // for j=4
  unsigned char *const ring_j = mg_shared() + 256; // 3 stages of 128 bytes
  const auto load_j = [&](int i_j, int at) {
    (void)i_j;
    // t3 = load X {x->0, j->1}
    mg_load_tile<T_t3, T_t3::ROWS, T_t3::COLS, (false), 128>(T_t3(ring_j + at * 128 + 0), p_X + (b_x * (int64_t)2) * ((int64_t)p_D1) + (i_j * (int64_t)3), (int64_t)p_D1, 1, 2, 3);
  };
  for (int s = 0; s < 2; s++) {
    if (s < p_K0_j) load_j(s, s);
    mg_cp_async_commit();
  }
  for (int i_j = 0, now = 0, next = 2; i_j < p_K0_j; i_j++) {
    mg_cp_async_wait<1>();
    mg_sync();
    if (i_j + 2 < p_K0_j) load_j(i_j + 2, next);
    mg_cp_async_commit();
    const T_t3 t_t3(ring_j + now * 128 + 0);
    // t5 = accum(e) {j->1}
    mg_each_unit<2, 3, 128>(2, 3, [&](int r, int c, int i) {
      (void)r; (void)c; (void)i;
      const mg_num v0_t3 = t_t3.at(r, c);
      const mg_num v0_t4 = mg_dev_EXP(v0_t3, mg_zero(), mg_zero());
      const mg_num v0_z = t_s.at(r, 0);
      const mg_num v0_e = mg_dev_DIV(v0_t4, v0_z, mg_zero());
      return v0_e;
    }, mg_into(t_t5, 0, i_j * 3));
    now = now + 1 == 3 ? 0 : now + 1;
    next = next + 1 == 3 ? 0 : next + 1;
  }
  mg_sync();
  // store t5 {x->0}
  mg_each_unit<2, 12, 128>(2, 12, [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t5 = t_t5.at(r, c);
    return v0_t5;
  }, mg_to_global<mg_f16, mg_run(4, p_D1)>(p_O + (b_x * (int64_t)2) * ((int64_t)p_D1), (int64_t)p_D1, 1));
}

extern "C" size_t p_workspace_bytes(void) { return 0; }

extern "C" int p_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  (void)workspace;
  int rc = 0;
  rc = MG_LAUNCH(p_kernel0, p_K0_x, 1, 1, 128, 640, stream, (const mg_f16 *)in[0], (mg_f16 *)out[0]);
  if (rc) return rc;
  return rc;
}

static const mg_io_info p_in[] = {
  {"X", MG_F16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
};
static const mg_io_info p_out[] = {
  {"O", MG_F16, 2, {p_D0, p_D1}, {(int64_t)p_D1, 1}, {0, 1}},
};
extern "C" const mg_emitted_info p_info;
extern "C" const mg_emitted_info p_info = {"p", 1, 1, 1, p_in, p_out};
