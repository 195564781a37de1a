/* nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xcompiler -fPIC -shared -I<mirage> -o p.so p.cu
 *
 * <mirage> is the directory of mirage_cuda.cuh.  Exports p_launch, p_workspace_bytes, p_info.
 *
 * mugraph {{{
 * program p
 * input X : f16[5, 24]
 * input G : f16[24]
 * input W : f16[24, 18]
 * O = kernel grid=(x=4) threads=64 {
 *   for i=3 {
 *     a = load X {x->*, i->1}
 *     g = load G {x->*, i->0}
 *     w = load W {x->1, i->0}
 *     t1 = mul(a, g)
 *     b = matmul(t1, w)
 *     t2 = sqr(a)
 *     s = sum(t2, dim=1)
 *   }
 *   t3 = accum(b) {i->+}
 *   t4 = accum(s) {i->+}
 *   t5 = scale(t4, 1/24)
 *   t6 = add_scalar(t5, 1/1000)
 *   t7 = sqrt(t6)
 *   o = div(t3, t7)
 *   store o {x->1}
 *   plan { stages=3 residency.o=fragment warps_k=2 }
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
#define p_D0 5
#endif
#ifndef p_D1
#define p_D1 24
#endif
#ifndef p_D2
#define p_D2 18
#endif
#ifndef p_K0_x
#define p_K0_x 4
#endif
#ifndef p_K0_i
#define p_K0_i 3
#endif


/* Grid (p_K0_x, 1, 1), 64 threads: warps 1 x 1 x 2 (rows, columns, contraction); 1536 bytes of shared memory. */
MG_KERNEL(64) void p_kernel0(const mg_f16 *p_X, const mg_f16 *p_G, const mg_f16 *p_W, mg_f16 *p_O) {
  const int b_x = mg_bid(0);
  (void)b_x;
  typedef mg_tile<mg_f16, 5, 8, 8, false> T_a;
  typedef mg_tile<mg_f16, 1, 8, 8, false> T_g;
  typedef mg_tile<mg_f16, 16, 8, 8, false> T_w;
  typedef mg_acc<5, 5, 1, 1, 2> A_b;
  A_b acc_b;
  typedef mg_row_reduce<mg_by_sum, 5, 64> R_s;
  R_s red_s;
  const mg_partial<A_b, 2> s_b(mg_shared() + 0);
  const mg_tile<mg_f32, 5, 1, 1, false> t_s(mg_shared() + 640);

  // for i=3
  acc_b.zero();
  red_s.init();
  unsigned char *const ring_i = mg_shared() + 0; // 3 stages of 512 bytes
  const auto load_i = [&](int i_i, int at) {
    (void)i_i;
    // a = load X {x->*, i->1}
    mg_load_tile<T_a, T_a::ROWS, T_a::COLS, (p_D1 % 8 == 0), 64>(T_a(ring_i + at * 512 + 0), p_X + (i_i * (int64_t)8), (int64_t)p_D1, 1, 5, 8);
    // g = load G {x->*, i->0}
    mg_load_tile<T_g, T_g::ROWS, T_g::COLS, (true), 64>(T_g(ring_i + at * 512 + 128), p_G + (i_i * (int64_t)8), 0, 1, 1, 8);
    // w = load W {x->1, i->0}
    mg_load_tile<T_w, T_w::ROWS, T_w::COLS, (false), 64>(T_w(ring_i + at * 512 + 256), p_W + (i_i * (int64_t)8) * ((int64_t)p_D2) + (b_x * (int64_t)5), (int64_t)p_D2, 1, 8, mg_cut(p_D2, b_x, 5));
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
    const T_a t_a(ring_i + now * 512 + 0);
    const T_g t_g(ring_i + now * 512 + 128);
    const T_w t_w(ring_i + now * 512 + 256);
    // b = matmul(t1, w)
    mg_contract<mg_f16, 8>(acc_b, mg_left_of<mg_f16, 5, false>(8, [&](int r, int c, mg_num &first, mg_num &second) {
      (void)r; (void)c;
      mg_num v0_a, w0_a;
      t_a.pair(r, c, v0_a, w0_a);
      mg_num v0_g, w0_g;
      t_g.pair(0, c, v0_g, w0_g);
      const mg_num v0_t1 = mg_dev_MUL(v0_a, v0_g, mg_zero());
      const mg_num w0_t1 = mg_dev_MUL(w0_a, w0_g, mg_zero());
      first = v0_t1;
      second = w0_t1;
    }), mg_right(t_w));
    // s = sum(t2, dim=1)
    red_s.add(5, 8, [&](int r, int c, mg_num &first, mg_num &second) {
      (void)r; (void)c;
      mg_num v0_a, w0_a;
      t_a.pair(r, c, v0_a, w0_a);
      const mg_num v0_t2 = mg_dev_SQR(v0_a, mg_zero(), mg_zero());
      const mg_num w0_t2 = mg_dev_SQR(w0_a, mg_zero(), mg_zero());
      first = v0_t2;
      second = w0_t2;
    });
    now = now + 1 == 3 ? 0 : now + 1;
    next = next + 1 == 3 ? 0 : next + 1;
  }
  // t3 = accum(b) {i->+}
  mg_sync();
  s_b.spill(acc_b);
  // t4 = accum(s) {i->+}
  red_s.finish(t_s);
  mg_sync();
  // store o {x->1}
  mg_each_unit<5, 5, 64>(5, mg_cut(p_D2, b_x, 5), [&](int r, int c, int i) {
    (void)r; (void)c; (void)i;
    const mg_num v0_t3 = s_b.at(r, c);
    const mg_num v0_t4 = t_s.at(r, 0);
    const mg_num v0_t5 = mg_dev_SCALE(v0_t4, mg_zero(), mg_const(1, 24));
    const mg_num v0_t6 = mg_dev_ADD_SCALAR(v0_t5, mg_zero(), mg_const(1, 1000));
    const mg_num v0_t7 = mg_dev_SQRT(v0_t6, mg_zero(), mg_zero());
    const mg_num v0_o = mg_dev_DIV(v0_t3, v0_t7, mg_zero());
    return v0_o;
  }, mg_to_global<mg_f16, mg_run(1, p_D2)>(p_O + (b_x * (int64_t)5), (int64_t)p_D2, 1));
}

extern "C" size_t p_workspace_bytes(void) { return 0; }

extern "C" int p_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {
  (void)workspace;
  int rc = 0;
  rc = MG_LAUNCH(p_kernel0, p_K0_x, 1, 1, 64, 1536, stream, (const mg_f16 *)in[0], (const mg_f16 *)in[1], (const mg_f16 *)in[2], (mg_f16 *)out[0]);
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
extern "C" const mg_emitted_info p_info = {"p", 3, 1, 1, p_in, p_out};
