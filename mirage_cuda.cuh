/* mirage_cuda.cuh - v0.1.0 - CUDA for µGraphs: emitter, device templates, emulation, compile and run

   WHAT
     Turns a µGraph (mirage.h) into one readable .cu file over the device templates of this header, checks that file on
     the CPU thread by thread (link 2 of the chain of trust), compiles it with nvcc, runs and times it (link 3).

   DO THIS
     Host: in one C or C++ file #define MIRAGE_IMPLEMENTATION, then #include "mirage.h", "mirage_verify.h" (for the
     check) and "mirage_cuda.cuh".  Emitted files #include "mirage_cuda.cuh" by themselves: put its directory on the
     include path.

   EXAMPLE
     #define MIRAGE_IMPLEMENTATION
     #include "mirage.h"
     #include "mirage_cuda.cuh"
     #include <stdio.h>
     int main(void) {
       mg_graph *g;
       mg_error err;
       char *text;
       if (mg_parse_file("best.mg", NULL, &g, &err) != MG_OK || mg_cuda_emit(g, NULL, &text, &err) != MG_OK) {
         fprintf(stderr, "%s: %s\n", err.where, err.msg);
         return mg_exit_code(err.status);
       }
       fputs(text, stdout);
       mg_string_free(text);
       mg_graph_free(g);
       return 0;
     }

   CONTENTS (search for the tag)
     >>host        declarations: what an emitted file exports, the emitter
     >>wrappers    CUDA's side of the wrappers that all device code is written over
     >>tiles       shared-memory tiles and their loads
     >>matmul      tensor-core products into register fragments
     >>reduce      row and column statistics
     >>sites       loops over the elements of a result, and where the elements go
     >>library     whole-tensor kernels of the operators at kernel level
     >>launch      launching
     >>text        emitter: text and names
     >>plan        emitter: which tensor lives where, shared memory, barriers
     >>values      emitter: elementwise expressions, inlined where they are used
     >>steps       emitter: one operator after the other
     >>file        emitter: the whole file

   CONFIGURATION (define before including)
     MG_EMULATE          host meaning of the wrappers; with MG_EMULATE_FIELD over field elements, else over floats
     MG_RUNNER           adds the part that mg_cuda_run calls

   CONCEPTS
     residency  where a block tensor lives: a load in a shared-memory tile (in a loop: in a ring of `stages` tiles filled
                by cp.async); a matmul's accumulator in register fragments, or, if warps split the contraction, in fp32
                partials in shared memory once the loop is done; a sum or maximum as an fp32 vector; an elementwise
                value nowhere: its expression is inlined where it is used.  A matmul's result that another matmul
                or a reduction consumes is materialised in a tile.
     site       a place where an inlined expression is evaluated, element by element, on valid elements only
     plan       keys obeyed: stages (1..8), warps_m, warps_n, warps_k (their product times 32 is `threads`)
     masks      every tile is padded with zeros; a site never evaluates, and a store never writes, a padded element

   ERRORS
     mg_status and mg_error as in mirage.h.  What cannot be emitted is MG_UNSUPPORTED with operator and reason.

   MEMORY
     mg_cuda_emit's text is freed with mg_string_free.  An emitted launch allocates nothing, uses the caller's stream
     only, and may be captured in a CUDA graph.  Pointers of inputs, outputs and workspace are 256-byte aligned.

   THREADS
     No mutable globals; distinct graphs are independent.

   DOES NOT
     Emit nested loops, accumulators over grid axes, or thread graphs yet; block tensors are effectively 2-D: all but
     the last two dimensions have a chunk of extent 1.
*/
#ifndef MIRAGE_CUDA_CUH
#define MIRAGE_CUDA_CUH

#include "mirage.h"
#if MG_VERSION != 100
#error "mirage_cuda.cuh 0.1.0 needs mirage.h 0.1.0"
#endif

/* --------------------------------------------------------------------------------------------------- >>host */

#ifdef __cplusplus
extern "C" {
#endif

/* What an emitted file NAME.cu exports, beside
     int NAME_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream);  0 or the CUDA error
     size_t NAME_workspace_bytes(void);
     extern const mg_emitted_info NAME_info;
   Inputs and outputs stand in the program's order, inputs dense in their memory `order`, outputs row-major.  The
   workspace is zeroed once by the caller; concurrent launches need one each. */
typedef struct mg_io_info {
  const char *name;
  mg_dtype dtype;
  int rank;
  int64_t dim[MG_MAX_RANK], stride[MG_MAX_RANK]; /* strides in elements */
  int32_t order[MG_MAX_RANK];
} mg_io_info;
typedef struct mg_emitted_info {
  const char *name;
  int n_in, n_out, n_kernels;
  const mg_io_info *in, *out;
} mg_emitted_info;

typedef struct mg_emit_config {
  const char *arch;          /* NULL: "sm_90a"; or "sm_80", "sm_86", "sm_89", "sm_90" */
  const char *certificate;   /* lines that the head comment quotes, or NULL: it says "not certified" */
} mg_emit_config;

/* MG_OK if mg_cuda_emit would emit the µGraph for `arch`; else MG_UNSUPPORTED and why.  A program without kernels is
   emitted too: every operator becomes a kernel of its own. */
mg_status mg_cuda_emittable(const mg_graph *ugraph, const char *arch, mg_error *why);
/* The .cu text.  The same graph and configuration always give the same text. */
mg_status mg_cuda_emit(const mg_graph *ugraph, const mg_emit_config *cfg, char **text, mg_error *e);

#ifdef __cplusplus
}
#endif

#if defined(__CUDACC__) || defined(MG_EMULATE)
/* ----------------------------------------------------------------------------------------------- >>wrappers
   All device code below and in emitted files is written over these names; nothing else touches the hardware.  Their
   second meaning, on the CPU, is the emulator's (MG_EMULATE).

     mg_num                          a computed scalar: float here
     mg_f16, mg_bf16, mg_f32         storage; mg_widen and mg_narrow<T> convert
     mg_dev_ROW(a, b, c)             an elementwise row of the operator table
     mg_dev_index_ROW(A, S, i, j)    a moving row: operand and place that output element i comes from               */
#ifdef MG_EMULATE
#define MG_UNROLL
#define MG_UNROLL_BY(n)
#define MG_BOTH constexpr
#include "mirage_cuda_emulate.inc"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define MG_DEV __device__ __forceinline__
#define MG_KERNEL(threads) static __global__ __launch_bounds__(threads)
#define MG_BOTH __host__ __device__ constexpr
#define MG_UNROLL _Pragma("unroll")
#define MGI_PRAGMA(x) _Pragma(#x)
#define MG_UNROLL_BY(n) MGI_PRAGMA(unroll n)

struct mg_f16 { uint16_t bits; };
struct mg_bf16 { uint16_t bits; };
struct mg_f32 { uint32_t bits; };
typedef float mg_num;

MG_DEV mg_num mg_widen(mg_f16 v) { return __half2float(__ushort_as_half(v.bits)); }
MG_DEV mg_num mg_widen(mg_bf16 v) { return __uint_as_float((uint32_t)v.bits << 16); }
MG_DEV mg_num mg_widen(mg_f32 v) { return __uint_as_float(v.bits); }
template<class T> struct mgi_narrow;
template<> struct mgi_narrow<mg_f16> { static MG_DEV mg_f16 of(mg_num v) { mg_f16 r = {__half_as_ushort(__float2half_rn(v))}; return r; } };
template<> struct mgi_narrow<mg_bf16> { static MG_DEV mg_bf16 of(mg_num v) { mg_bf16 r = {__bfloat16_as_ushort(__float2bfloat16_rn(v))}; return r; } };
template<> struct mgi_narrow<mg_f32> { static MG_DEV mg_f32 of(mg_num v) { mg_f32 r = {__float_as_uint(v)}; return r; } };
template<class T> MG_DEV T mg_narrow(mg_num v) { return mgi_narrow<T>::of(v); }
MG_DEV constexpr mg_num mg_const(int64_t num, int64_t den) { return (float)((double)num / (double)den); }
MG_DEV constexpr mg_num mg_zero() { return 0.0f; }
MG_DEV mg_num mg_neg_inf() { return __uint_as_float(0xFF800000u); }
MG_DEV mg_num mg_dev_max(mg_num a, mg_num b) { return a != a ? a : b != b ? b : a > b ? a : b; } /* a NaN stays */
MG_DEV mg_num mg_dev_min(mg_num a, mg_num b) { return a != a ? a : b != b ? b : a < b ? a : b; }

/* The table's real column over floats.  The evaluator's macros of the same names are put back below. */
#pragma push_macro("MG_C")
#pragma push_macro("MG_EXP")
#pragma push_macro("MG_SQRT")
#pragma push_macro("MG_LOG")
#pragma push_macro("MG_ERF")
#pragma push_macro("MG_TANH")
#pragma push_macro("MG_MAX")
#pragma push_macro("MG_MIN")
#pragma push_macro("MG_ABS")
#pragma push_macro("MG_SIN")
#pragma push_macro("MG_COS")
#pragma push_macro("MG_POW")
#undef MG_C
#undef MG_EXP
#undef MG_SQRT
#undef MG_LOG
#undef MG_ERF
#undef MG_TANH
#undef MG_MAX
#undef MG_MIN
#undef MG_ABS
#undef MG_SIN
#undef MG_COS
#undef MG_POW
#define MG_C(num, den) mg_const(num, den)
#define MG_EXP(x) __expf(x)
#define MG_SQRT(x) sqrtf(x)
#define MG_LOG(x) logf(x)
#define MG_ERF(x) erff(x)
#define MG_TANH(x) tanhf(x)
#define MG_MAX(x, y) mg_dev_max(x, y)
#define MG_MIN(x, y) mg_dev_min(x, y)
#define MG_ABS(x) fabsf(x)
#define MG_SIN(x) sinf(x)
#define MG_COS(x) cosf(x)
#define MG_POW(x, y) powf(x, y)
#define MGI_E(id, name, n, lv, attr, abs, field, real) \
  MG_DEV mg_num mg_dev_##id(mg_num a, mg_num b, mg_num c) { (void)a; (void)b; (void)c; return real; }
#define MGI_T(id, name, n, lv, attr, shape, abs, index)
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#pragma pop_macro("MG_C")
#pragma pop_macro("MG_EXP")
#pragma pop_macro("MG_SQRT")
#pragma pop_macro("MG_LOG")
#pragma pop_macro("MG_ERF")
#pragma pop_macro("MG_TANH")
#pragma pop_macro("MG_MAX")
#pragma pop_macro("MG_MIN")
#pragma pop_macro("MG_ABS")
#pragma pop_macro("MG_SIN")
#pragma pop_macro("MG_COS")
#pragma pop_macro("MG_POW")

/* The table's index column. */
MG_DEV void mg_dev_reshape(const int64_t *i, const mg_shape *to, int64_t *j, const mg_shape *from) {
  int64_t at = 0;
  for (int d = 0; d < to->rank; d++) at = at * to->dim[d] + i[d];
  for (int d = from->rank; d-- > 0; at /= from->dim[d]) j[d] = at % from->dim[d];
}
#pragma push_macro("mg_reshape_index")
#pragma push_macro("NOINDEX")
#undef mg_reshape_index
#undef NOINDEX
#define mg_reshape_index mg_dev_reshape
#define NOINDEX (void)0
#define MGI_E(id, name, n, lv, attr, abs, field, real)
#define MGI_T(id, name, n, lv, attr, shape, abs, index)                                             \
  MG_DEV int mg_dev_index_##id(const mg_attr *A, const mg_shape *S, const int64_t *i, int64_t *j) { \
    int src = 0;                                                                                    \
    (void)A; (void)S;                                                                               \
    for (int d_ = 0; d_ < MG_MAX_RANK; d_++) j[d_] = i[d_];                                         \
    index;                                                                                          \
    return src;                                                                                     \
  }
MG_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#pragma pop_macro("mg_reshape_index")
#pragma pop_macro("NOINDEX")

template<class T> MG_DEV uint32_t mg_pack2(T lo, T hi) { return (uint32_t)lo.bits | (uint32_t)hi.bits << 16; }
template<class T> MG_DEV void mg_unpack2(uint32_t r, T &lo, T &hi) {
  lo.bits = (uint16_t)(r & 0xFFFF);
  hi.bits = (uint16_t)(r >> 16);
}
MG_DEV int mg_tid() { return (int)threadIdx.x; }
MG_DEV int mg_lane() { return (int)threadIdx.x & 31; }
MG_DEV int mg_warp() { return (int)threadIdx.x >> 5; }
MG_DEV int mg_bid(int axis) { return (int)(axis == 0 ? blockIdx.x : axis == 1 ? blockIdx.y : blockIdx.z); }
extern __shared__ __align__(128) unsigned char mgi_shared[];
MG_DEV unsigned char *mg_shared() { return mgi_shared; }
MG_DEV void mg_sync() { __syncthreads(); }
MG_DEV void mg_sync_warp() { __syncwarp(); }
MG_DEV mg_num mg_shfl_xor(mg_num v, int mask) { return __shfl_xor_sync(0xFFFFFFFFu, v, mask); }
template<class V> MG_DEV V mg_ldg(const V *p) { return *p; }
template<class V> MG_DEV void mg_stg(V *p, V v) { *p = v; }

MG_DEV uint32_t mgi_shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
MG_DEV void mg_cp_async16(void *smem, const void *gmem, int valid_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(mgi_shared_address(smem)), "l"(gmem), "r"(valid_bytes) : "memory");
}
MG_DEV void mg_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template<int N> MG_DEV void mg_cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
MG_DEV void mg_ldsm_x4(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mgi_shared_address(row)) : "memory");
}
MG_DEV void mg_ldsm_x4_trans(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mgi_shared_address(row)) : "memory");
}
MG_DEV void mg_ldsm_x2(uint32_t (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(mgi_shared_address(row)) : "memory");
}
MG_DEV void mg_ldsm_x2_trans(uint32_t (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(mgi_shared_address(row)) : "memory");
}
/* c += A B, A 16 x 16 by rows, B 16 x 8 by columns, fp32 accumulation.  With g = lane / 4 and t = 2 (lane % 4):
     a[0] (g, t..) a[1] (g+8, t..) a[2] (g, t+8..) a[3] (g+8, t+8..)   b[0] (t.., g) b[1] (t+8.., g)
     c[0] (g, t) c[1] (g, t+1) c[2] (g+8, t) c[3] (g+8, t+1)                                                       */
template<class T> struct mgi_mma;
template<> struct mgi_mma<mg_f16> {
  static MG_DEV void go(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template<> struct mgi_mma<mg_bf16> {
  static MG_DEV void go(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template<class T> MG_DEV void mg_mma_16816(mg_num (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) { mgi_mma<T>::go(c, a, b); }
#endif /* MG_EMULATE */

typedef uint32_t __attribute__((may_alias)) mg_word;
struct alignas(8) mg_words2 { uint32_t w[2]; };

/* Extent of the i-th chunk of `chunk` elements, of what has `extent` of them; 0 beyond the end. */
MG_DEV int mg_cut(int64_t extent, int64_t i, int64_t chunk) {
  const int64_t left = extent - i * chunk;
  return (int)(left < 0 ? 0 : left > chunk ? chunk : left);
}

/* -------------------------------------------------------------------------------------------------- >>tiles
   A tile holds ROWS x COLS elements of T (extents after padding) in shared memory: element (r, c) at r * PITCH + c, or,
   transposed, at c * PITCH + r.  PITCH * sizeof(T) is an odd multiple of 16 bytes wherever ldmatrix may read it: eight
   consecutive rows then start in eight different groups of banks. */
template<class TYPE, int ROWS_, int COLS_, int PITCH_, bool TRANS_> struct mg_tile {
  typedef TYPE T;
  enum { ROWS = ROWS_, COLS = COLS_, PITCH = PITCH_ };
  static constexpr bool TRANS = TRANS_;
  T *p;
  MG_DEV explicit mg_tile(unsigned char *at) : p((T *)at) {}
  MG_DEV T *place(int r, int c) const { return p + (TRANS ? c * PITCH + r : r * PITCH + c); }
  MG_DEV mg_num at(int r, int c) const { return mg_widen(*place(r, c)); }
  /* Elements (r, c) and (r, c + 1), c even: one read of shared memory where they are 16-bit neighbours. */
  MG_DEV void pair(int r, int c, mg_num &first, mg_num &second) const {
    if constexpr (!TRANS && sizeof(T) == 2 && PITCH % 2 == 0) {
      T lo, hi;
      mg_unpack2<T>(*(const mg_word *)place(r, c), lo, hi);
      first = mg_widen(lo);
      second = mg_widen(hi);
    } else {
      first = at(r, c);
      second = at(r, c + 1);
    }
  }
  MG_DEV void put(int r, int c, mg_num v) const { *place(r, c) = mg_narrow<T>(v); }
};

/* The same memory, rows and columns exchanged. */
template<class TILE> MG_DEV mg_tile<typename TILE::T, TILE::COLS, TILE::ROWS, TILE::PITCH, !TILE::TRANS> mg_transposed(const TILE &t) {
  return mg_tile<typename TILE::T, TILE::COLS, TILE::ROWS, TILE::PITCH, !TILE::TRANS>((unsigned char *)t.p);
}

/* A tensor read from global memory in place, element by element. */
template<class T> struct mg_global {
  const T *p;
  int64_t row, col; /* strides */
  MG_DEV mg_global(const T *at, int64_t r, int64_t c) : p(at), row(r), col(c) {}
  MG_DEV mg_num at(int r, int c) const { return mg_widen(mg_ldg(p + r * row + c * col)); }
};

/* Fills OUTER x INNER elements of a tile (its memory order) from global memory: outer x inner of them are valid, the
   rest becomes zero.  VEC: by cp.async in 16-byte pieces, which needs inner_stride 1 and 16-byte aligned rows; the
   caller commits and waits.  Else element by element, visible after the next barrier. */
template<class TILE, int OUTER, int INNER, bool VEC, int THREADS>
MG_DEV void mg_load_tile(const TILE &to, const typename TILE::T *from, int64_t outer_stride, int64_t inner_stride, int outer, int inner) {
  typedef typename TILE::T T;
  constexpr int E = 16 / (int)sizeof(T);
  if constexpr (VEC) {
    static_assert(INNER % E == 0, "a row of a tile is a whole number of 16-byte pieces");
    constexpr int ROW = INNER / E, UNITS = OUTER * ROW;
    MG_UNROLL_BY(8)
    for (int u0 = 0; u0 < UNITS; u0 += THREADS) {
      const int u = u0 + mg_tid();
      if (UNITS % THREADS == 0 || u < UNITS) {
        const int o = u / ROW, i = u % ROW * E;
        const int left = o < outer ? inner - i : 0, n = left < 0 ? 0 : left > E ? E : left;
        mg_cp_async16(to.p + o * TILE::PITCH + i, n ? from + o * outer_stride + i : from, n * (int)sizeof(T));
      }
    }
  } else {
    for (int u = mg_tid(); u < OUTER * INNER; u += THREADS) {
      const int o = u / INNER, i = u % INNER;
      T v = mg_narrow<T>(mg_zero());
      if (o < outer && i < inner) v = mg_ldg(from + o * outer_stride + i * inner_stride);
      to.p[o * TILE::PITCH + i] = v;
    }
  }
}

/* Zeroes what lies outside of the valid rows x cols elements of a tile. */
template<class TILE, int THREADS> MG_DEV void mg_zero_outside(const TILE &t, int rows, int cols) {
  if (rows == TILE::ROWS && cols == TILE::COLS) return;
  for (int u = mg_tid(); u < TILE::ROWS * TILE::COLS; u += THREADS) {
    const int r = u / TILE::COLS, c = u % TILE::COLS;
    if (r >= rows || c >= cols) t.put(r, c, mg_zero());
  }
}
template<class TILE, int THREADS> MG_DEV void mg_fill(const TILE &t, mg_num v) {
  for (int u = mg_tid(); u < TILE::ROWS * TILE::COLS; u += THREADS) t.put(u / TILE::COLS, u % TILE::COLS, v);
}

/* ------------------------------------------------------------------------------------------------- >>matmul
   An M x N product on WM x WN x WK warps: WM x WN of them tile it, WK split the contraction, in steps of 16.  A warp owns
   MT x NT tiles of 16 x 8.  Element i of a lane's fragments (i = 4 * tile + k) lies at (row(i), col(i)); places beyond M
   or N compute with clamped operands and are never stored. */
template<int M_, int N_, int WM, int WN, int WK_> struct mg_acc {
  enum { M = M_, N = N_, WK = WK_, MT = (M + 16 * WM - 1) / (16 * WM), NT = (N + 8 * WN - 1) / (8 * WN), COUNT = MT * NT * 4 };
  mg_num c[MT * NT][4];
  static MG_DEV int warp_k() { return WK == 1 ? 0 : mg_warp() / (WM * WN); }
  static MG_DEV int row0() { return WM == 1 ? 0 : mg_warp() % (WM * WN) / WN * (MT * 16); }
  static MG_DEV int col0() { return WN == 1 ? 0 : mg_warp() % WN * (NT * 8); }
  static MG_DEV int row(int i) { return row0() + i / 4 / NT * 16 + mg_lane() / 4 + (i & 2) * 4; }
  static MG_DEV int col(int i) { return col0() + i / 4 % NT * 8 + mg_lane() % 4 * 2 + (i & 1); }
  MG_DEV mg_num at(int i) const { return c[i >> 2][i & 3]; }
  MG_DEV void zero() {
    MG_UNROLL
    for (int t = 0; t < MT * NT; t++) {
      MG_UNROLL
      for (int k = 0; k < 4; k++) c[t][k] = mg_zero();
    }
  }
};

/* A left operand in a tile. */
template<class TILE> struct mg_left_tile {
  TILE t;
  MG_DEV void fragment(uint32_t (&a)[4], int row, int k) const {
    const int l = mg_lane();
    if (TILE::TRANS) {
      int m = row + ((l >> 3) & 1) * 8;
      if (TILE::ROWS % 16 && m > TILE::ROWS - 8) m = TILE::ROWS - 8;
      mg_ldsm_x4_trans(a, t.place(m, k + (l & 7) + (l >> 4) * 8));
    } else {
      int m = row + (l & 15);
      if (m > TILE::ROWS - 1) m = TILE::ROWS - 1;
      mg_ldsm_x4(a, t.place(m, k + (l >> 4) * 8));
    }
  }
};
/* A left operand that is computed: f on rows < ROWS, two columns at a time, zero from column `end` of the contraction on. */
template<class T, int ROWS, class F> struct mg_left_value {
  F f;
  int end;
  MG_DEV void fragment(uint32_t (&a)[4], int row, int k) const {
    MG_UNROLL
    for (int x = 0; x < 4; x++) {
      int r = row + mg_lane() / 4 + (x & 1) * 8;
      if (r > ROWS - 1) r = ROWS - 1;
      const int kk = k + mg_lane() % 4 * 2 + (x >> 1) * 8;
      mg_num first = mg_zero(), second = mg_zero();
      if (kk < end) f(r, kk, first, second);
      a[x] = mg_pack2<T>(mg_narrow<T>(first), mg_narrow<T>(kk + 1 < end ? second : mg_zero()));
    }
  }
};
/* Right operands: one fragment, or those of two neighbouring tiles of 8 columns. */
template<class TILE> struct mg_right_tile {
  TILE t;
  MG_DEV const typename TILE::T *place(int k, int n, int l) const {
    if (TILE::TRANS) {
      int c = n + (l & 7);
      if (c > TILE::COLS - 1) c = TILE::COLS - 1;
      return t.place(k + ((l >> 3) & 1) * 8, c);
    }
    if (n > TILE::COLS - 8) n = TILE::COLS - 8;
    return t.place(k + (l & 15), n);
  }
  MG_DEV void one(uint32_t (&b)[2], int k, int n) const {
    if (TILE::TRANS) mg_ldsm_x2(b, place(k, n, mg_lane()));
    else mg_ldsm_x2_trans(b, place(k, n, mg_lane()));
  }
  MG_DEV void two(uint32_t (&b)[2][2], int k, int n) const {
    uint32_t r[4];
    if (TILE::TRANS) mg_ldsm_x4(r, place(k, n + (mg_lane() >> 4) * 8, mg_lane()));
    else mg_ldsm_x4_trans(r, place(k, n + (mg_lane() >> 4) * 8, mg_lane()));
    b[0][0] = r[0];
    b[0][1] = r[1];
    b[1][0] = r[2];
    b[1][1] = r[3];
  }
};
template<class T, int COLS, class F> struct mg_right_value {
  F f;
  int end;
  MG_DEV T at(int k, int c) const { return mg_narrow<T>(k < end ? f(k, c, 0) : mg_zero()); }
  MG_DEV void one(uint32_t (&b)[2], int k, int n) const {
    int c = n + mg_lane() / 4;
    if (c > COLS - 1) c = COLS - 1;
    const int kk = k + mg_lane() % 4 * 2;
    b[0] = mg_pack2<T>(at(kk, c), at(kk + 1, c));
    b[1] = mg_pack2<T>(at(kk + 8, c), at(kk + 9, c));
  }
  MG_DEV void two(uint32_t (&b)[2][2], int k, int n) const {
    one(b[0], k, n);
    one(b[1], k, n + 8);
  }
};
template<class TILE> MG_DEV mg_left_tile<TILE> mg_left(const TILE &t) { return mg_left_tile<TILE>{t}; }
template<class TILE> MG_DEV mg_right_tile<TILE> mg_right(const TILE &t) { return mg_right_tile<TILE>{t}; }
template<class T, int ROWS, class F> MG_DEV mg_left_value<T, ROWS, F> mg_left_of(int end, const F &f) { return mg_left_value<T, ROWS, F>{f, end}; }
template<class T, int COLS, class F> MG_DEV mg_right_value<T, COLS, F> mg_right_of(int end, const F &f) { return mg_right_value<T, COLS, F>{f, end}; }

/* acc += left right over K (rounded up to 16; both operands are zero there). */
template<class T, int K, class ACC, class L, class R> MG_DEV void mg_contract(ACC &acc, const L &left, const R &right) {
  constexpr int STEPS = (K + 15) / 16, MINE = (STEPS + ACC::WK - 1) / ACC::WK;
  const int row0 = ACC::row0(), col0 = ACC::col0(), warp_k = ACC::warp_k();
  MG_UNROLL
  for (int s = 0; s < MINE; s++) {
    const int step = s * ACC::WK + warp_k;
    if (STEPS % ACC::WK == 0 || step < STEPS) {
      const int k = step * 16;
      uint32_t a[ACC::MT][4];
      MG_UNROLL
      for (int m = 0; m < ACC::MT; m++) left.fragment(a[m], row0 + m * 16, k);
      MG_UNROLL
      for (int n = 0; n + 1 < ACC::NT; n += 2) {
        uint32_t b[2][2];
        right.two(b, k, col0 + n * 8);
        MG_UNROLL
        for (int m = 0; m < ACC::MT; m++) {
          mg_mma_16816<T>(acc.c[m * ACC::NT + n], a[m], b[0]);
          mg_mma_16816<T>(acc.c[m * ACC::NT + n + 1], a[m], b[1]);
        }
      }
      if (ACC::NT % 2) {
        uint32_t b[2];
        right.one(b, k, col0 + (ACC::NT - 1) * 8);
        MG_UNROLL
        for (int m = 0; m < ACC::MT; m++) mg_mma_16816<T>(acc.c[m * ACC::NT + ACC::NT - 1], a[m], b);
      }
    }
  }
}
/* The same without tensor cores, for operands that are no 16-bit type. */
template<class ACC, class L, class R> MG_DEV void mg_contract_fma(ACC &acc, int end, const L &left, const R &right) {
  for (int k = ACC::warp_k(); k < end; k += ACC::WK) {
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) {
      const int r = ACC::row(i), c = ACC::col(i);
      acc.c[i >> 2][i & 3] = acc.c[i >> 2][i & 3] + left(r < ACC::M ? r : ACC::M - 1, k, 0) * right(k, c < ACC::N ? c : ACC::N - 1, 0);
    }
  }
}

/* The partial sums of WK warps, in shared memory: PITCH = columns + 8 words, so that neither the pairs that fragments
   write nor the rows that sites read meet in a bank. */
template<class ACC, int WK> struct mg_partial {
  enum { M = ACC::M, PITCH = (ACC::N + 7) / 8 * 8 + 8, WORDS = WK * M * PITCH };
  mg_f32 *p;
  MG_DEV explicit mg_partial(unsigned char *at) : p((mg_f32 *)at) {}
  MG_DEV void spill(const ACC &acc) const {
    MG_UNROLL
    for (int i = 0; i < ACC::COUNT; i++) {
      const int r = ACC::row(i), c = ACC::col(i);
      if (r < M && c < PITCH - 8) p[(ACC::warp_k() * M + r) * PITCH + c] = mg_narrow<mg_f32>(acc.at(i));
    }
  }
  MG_DEV mg_num at(int r, int c) const {
    mg_num v = mg_widen(p[r * PITCH + c]);
    MG_UNROLL
    for (int k = 1; k < WK; k++) v = v + mg_widen(p[(k * M + r) * PITCH + c]);
    return v;
  }
};

/* ------------------------------------------------------------------------------------------------- >>reduce
   Statistics are kept in registers while a loop runs, each thread its part, and joined by finish(): shuffles first, then
   one pass through shared memory. */
struct mg_by_sum { static MG_DEV mg_num identity() { return mg_zero(); } static MG_DEV mg_num join(mg_num a, mg_num b) { return a + b; } };
struct mg_by_max { static MG_DEV mg_num identity() { return mg_neg_inf(); } static MG_DEV mg_num join(mg_num a, mg_num b) { return mg_dev_max(a, b); } };

MG_BOTH int mg_row_group(int rows, int threads) { /* threads that share a row: a power of two */
  int g = 8;
  while (g * 2 * rows <= threads) g *= 2;
  return g;
}
/* One value a row.  OUT is a tile of ROWS x 1; SCRATCH words of shared memory follow it. */
template<class OP, int ROWS, int THREADS> struct mg_row_reduce {
  enum { G = mg_row_group(ROWS, THREADS), STEP = THREADS / G, PASSES = (ROWS + STEP - 1) / STEP, LANES = G < 32 ? G : 32, PER_ROW = G / LANES,
         SCRATCH = PER_ROW > 1 ? ROWS * PER_ROW : 0 };
  mg_num part[PASSES];
  MG_DEV void init() {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) part[p] = OP::identity();
  }
  template<class F> MG_DEV void add(int rows, int cols, const F &f) {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int r = p * STEP + mg_tid() / G;
      if (mg_tid() / G < STEP && r < rows) {
        MG_UNROLL_BY(4)
        for (int c = mg_tid() % G * 2; c < cols; c += 2 * G) {
          mg_num first, second;
          f(r, c, first, second);
          part[p] = OP::join(part[p], first);
          if (c + 1 < cols) part[p] = OP::join(part[p], second);
        }
      }
    }
  }
  template<class OUT> MG_DEV void finish(const OUT &out) {
    const mg_tile<mg_f32, ROWS, PER_ROW, PER_ROW, false> scratch((unsigned char *)(out.p + ROWS));
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int r = p * STEP + mg_tid() / G;
      mg_num v = part[p];
      MG_UNROLL
      for (int m = LANES / 2; m > 0; m /= 2) v = OP::join(v, mg_shfl_xor(v, m));
      if (mg_tid() / G < STEP && r < ROWS && mg_tid() % LANES == 0) {
        if (PER_ROW == 1) out.put(r, 0, v);
        else scratch.put(r, mg_tid() % G / LANES, v);
      }
    }
    if (PER_ROW > 1) {
      mg_sync();
      for (int r = mg_tid(); r < ROWS; r += THREADS) {
        mg_num v = OP::identity();
        for (int k = 0; k < PER_ROW; k++) v = OP::join(v, scratch.at(r, k));
        out.put(r, 0, v);
      }
    }
  }
};
/* One value a column.  OUT is a tile of 1 x COLS; SCRATCH words of shared memory follow it. */
template<class OP, int COLS, int THREADS> struct mg_col_reduce {
  enum { WIDE = COLS >= THREADS, PARTS = WIDE ? 1 : THREADS / COLS, STEP = WIDE ? THREADS : COLS, PASSES = (COLS + STEP - 1) / STEP,
         SCRATCH = PARTS > 1 ? PARTS * COLS : 0 };
  mg_num part[PASSES];
  MG_DEV void init() {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) part[p] = OP::identity();
  }
  template<class F> MG_DEV void add(int rows, int cols, const F &f) {
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int c = p * STEP + mg_tid() % STEP;
      if (mg_tid() / STEP < PARTS && c < cols)
        for (int r = mg_tid() / STEP; r < rows; r += PARTS) part[p] = OP::join(part[p], f(r, c, 0));
    }
  }
  template<class OUT> MG_DEV void finish(const OUT &out) {
    const mg_tile<mg_f32, PARTS, COLS, COLS, false> scratch((unsigned char *)(out.p + COLS));
    MG_UNROLL
    for (int p = 0; p < PASSES; p++) {
      const int c = p * STEP + mg_tid() % STEP;
      if (mg_tid() / STEP < PARTS && c < COLS) {
        if (PARTS == 1) out.put(0, c, part[p]);
        else scratch.put(mg_tid() / STEP, c, part[p]);
      }
    }
    if (PARTS > 1) {
      mg_sync();
      for (int c = mg_tid(); c < COLS; c += THREADS) {
        mg_num v = OP::identity();
        for (int k = 0; k < PARTS; k++) v = OP::join(v, scratch.at(k, c));
        out.put(0, c, v);
      }
    }
  }
};

/* -------------------------------------------------------------------------------------------------- >>sites
   Loops over the valid elements of a result.  f(r, c, i) gives its element (r, c); i is the fragment element, where the
   loop runs over fragments.  The sink takes W neighbours of a row at a time, n of them valid. */
template<class ACC, class F, class S> MG_DEV void mg_each_fragment(int rows, int cols, const F &f, const S &sink) {
  MG_UNROLL
  for (int i = 0; i < ACC::COUNT; i += 2) {
    const int r = ACC::row(i), c = ACC::col(i);
    if (r < rows && c < cols) {
      const int n = cols - c < 2 ? 1 : 2;
      mg_num v[2] = {f(r, c, i), mg_zero()};
      if (n > 1) v[1] = f(r, c + 1, i + 1);
      sink.template put<2>(r, c, v, n);
    }
  }
}
template<int ROWS, int COLS, int THREADS, class F, class S> MG_DEV void mg_each_unit(int rows, int cols, const F &f, const S &sink) {
  constexpr int W = COLS < 4 ? 1 : 4, ROW = (COLS + W - 1) / W;
  for (int u = mg_tid(); u < ROWS * ROW; u += THREADS) {
    const int r = u / ROW, c = u % ROW * W;
    if (r < rows && c < cols) {
      const int n = cols - c < W ? cols - c : W;
      mg_num v[W];
      MG_UNROLL
      for (int j = 0; j < W; j++) v[j] = j < n ? f(r, c + j, 0) : mg_zero();
      sink.template put<W>(r, c, v, n);
    }
  }
}

/* How many elements, at most `most`, a run may have that starts at multiples of them in rows of `stride`. */
MG_BOTH int mg_run(int most, int64_t stride) { return most >= 4 && stride % 4 == 0 ? 4 : most >= 2 && stride % 2 == 0 ? 2 : 1; }

/* To global memory; runs of ALIGN elements from a column that is a multiple of ALIGN are aligned to their size. */
template<class T, int ALIGN> struct mg_to_global {
  T *p;
  int64_t row, col; /* strides */
  MG_DEV mg_to_global(T *at, int64_t r, int64_t c) : p(at), row(r), col(c) {}
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    T *at = p + r * row + c * col;
    if constexpr (W > 1 && ALIGN >= W && sizeof(T) == 2) {
      if (n == W) {
        if constexpr (W == 4) {
          const mg_words2 both = {{mg_pack2<T>(mg_narrow<T>(v[0]), mg_narrow<T>(v[1])), mg_pack2<T>(mg_narrow<T>(v[2]), mg_narrow<T>(v[3]))}};
          mg_stg((mg_words2 *)at, both);
        } else mg_stg((uint32_t *)at, mg_pack2<T>(mg_narrow<T>(v[0]), mg_narrow<T>(v[1])));
        return;
      }
    }
    MG_UNROLL
    for (int j = 0; j < W; j++)
      if (j < n) mg_stg(at + j * col, mg_narrow<T>(v[j]));
  }
};
/* To a tile, at an offset: in place of what is there, added to it, or the larger of the two. */
template<class TILE> struct mg_to_tile {
  TILE t;
  int r0, c0;
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    MG_UNROLL
    for (int j = 0; j < W; j++)
      if (j < n) t.put(r0 + r, c0 + c + j, v[j]);
  }
};
template<class OP, class TILE> struct mg_join_tile {
  TILE t;
  template<int W> MG_DEV void put(int r, int c, const mg_num (&v)[W], int n) const {
    MG_UNROLL
    for (int j = 0; j < W; j++)
      if (j < n) t.put(r, c + j, OP::join(t.at(r, c + j), v[j]));
  }
};
template<class TILE> MG_DEV mg_to_tile<TILE> mg_into(const TILE &t, int r0, int c0) { return mg_to_tile<TILE>{t, r0, c0}; }
template<class OP, class TILE> MG_DEV mg_join_tile<OP, TILE> mg_join(const TILE &t) { return mg_join_tile<OP, TILE>{t}; }

/* ------------------------------------------------------------------------------------------------ >>library */
/* f(e) for every e < n, over all blocks of 256 threads. */
template<class F> MG_DEV void mg_each_element(int64_t n, int64_t blocks, const F &f) {
  for (int64_t e = (int64_t)mg_bid(0) * 256 + mg_tid(); e < n; e += blocks * 256) f(e);
}
/* One warp an element: out(e, OP over k < extent of f(e, k)). */
template<class OP, class F, class O> MG_DEV void mg_each_reduction(int64_t n, int64_t extent, int64_t blocks, const F &f, const O &out) {
  for (int64_t e = (int64_t)mg_bid(0) * 8 + mg_warp(); e < n; e += blocks * 8) {
    mg_num v = OP::identity();
    for (int64_t k = mg_lane(); k < extent; k += 32) v = OP::join(v, f(e, k));
    MG_UNROLL
    for (int m = 16; m > 0; m /= 2) v = OP::join(v, mg_shfl_xor(v, m));
    if (mg_lane() == 0) out(e, v);
  }
}
MG_BOTH int64_t mg_library_blocks(int64_t n, int64_t per_block) {
  return (n + per_block - 1) / per_block > 2112 ? 2112 : (n + per_block - 1) / per_block;
}
MG_BOTH int64_t mg_chunks(int64_t extent, int64_t chunk) { return (extent + chunk - 1) / chunk; }
MG_BOTH size_t mg_round256(int64_t bytes) { return ((size_t)bytes + 255) / 256 * 256; }

/* ------------------------------------------------------------------------------------------------- >>launch */
#ifndef MG_EMULATE
template<class K, class... ARGS>
static inline int mgi_launch(K *kernel, int64_t gx, int64_t gy, int64_t gz, int threads, size_t shared, cudaStream_t stream, ARGS... args) {
  if (shared > 48 * 1024) {
    const cudaError_t rc = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (rc != cudaSuccess) return (int)rc;
  }
  kernel<<<dim3((unsigned)gx, (unsigned)gy, (unsigned)gz), (unsigned)threads, shared, stream>>>(args...);
  return (int)cudaGetLastError();
}
#define MG_LAUNCH(kernel, gx, gy, gz, threads, shared, stream, ...) mgi_launch(kernel, gx, gy, gz, threads, shared, stream, __VA_ARGS__)
#endif
#endif /* __CUDACC__ or MG_EMULATE */

/* Links 2 and 3: check, compile, run. */
#ifndef MG_EMULATE
#include "mirage_cuda_driver.inc"
#endif
#if defined(MG_RUNNER) && defined(__CUDACC__)
#include "mirage_cuda_emulate.inc"
#endif

#if (defined(MIRAGE_IMPLEMENTATION) || defined(MIRAGE_CUDA_IMPLEMENTATION)) && !defined(MGI_CUDA_IMPLEMENTED)
#define MGI_CUDA_IMPLEMENTED

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------- >>text
   A growing string, and the spelling of table rows. */
typedef struct mgi_cu_str { char *s; size_t n, cap; int oom; } mgi_cu_str;

MGI_FN void mgi_cu_str_vput(mgi_cu_str *t, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0 || t->oom) return;
  if (t->n + (size_t)n + 1 > t->cap) {
    size_t cap = (t->n + (size_t)n + 1) * 2;
    char *s = (char *)realloc(t->s, cap);
    if (!s) {
      t->oom = 1;
      return;
    }
    t->s = s;
    t->cap = cap;
  }
  vsnprintf(t->s + t->n, (size_t)n + 1, fmt, ap);
  t->n += (size_t)n;
}
MGI_FN void mgi_cu_str_put(mgi_cu_str *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  mgi_cu_str_vput(t, fmt, ap);
  va_end(ap);
}
MGI_FN const char *mgi_cu_str_text(const mgi_cu_str *t) { return t->n ? t->s : ""; }

/* Table ids, as the emitted code spells them, and the source text of the user's rows. */
typedef struct mgi_cu_row { const char *id, *row; } mgi_cu_row;
static const mgi_cu_row mgi_cu_rows[] = {
  {"NONE", NULL},
#define MGI_E(id, name, n, lv, attr, abs, field, real) {#id, NULL},
#define MGI_T(id, name, n, lv, attr, shape, abs, index) {#id, NULL},
  MG_BUILTIN_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
#define MGI_E(id, name, n, lv, attr, abs, field, real) {#id, "E(" #id ", " #name ", " #n ", " #lv ", " #attr ", " #abs ", " #field ", " #real ")"},
#define MGI_T(id, name, n, lv, attr, shape, abs, index) {#id, "T(" #id ", " #name ", " #n ", " #lv ", " #attr ", " #shape ", " #abs ", " #index ")"},
  MG_USER_OPS(MGI_E, MGI_T)
#undef MGI_E
#undef MGI_T
  {"END", NULL}
};
static_assert(sizeof mgi_cu_rows / sizeof *mgi_cu_rows == MG_OP_TABLE_END + 1, "one spelling a row");

static const char *const mgi_cu_type[] = {"mg_f16", "mg_bf16", "mg_f32"};
static_assert(MG_DTYPE_COUNT == 3, "one device type a dtype");

/* --------------------------------------------------------------------------------------------------- >>plan
   One pass over a block graph's operators writes the kernel.  It is run twice: the first run finds out when each piece
   of shared memory is first and last touched, then they are laid out (pieces alive at different times share
   addresses), and the second run writes the text with the offsets and the barriers that the layout needs.

   Barriers: of every piece it is known whether it was written or read since the last mg_sync().  Reading what was
   written, or writing what (or what shares addresses with something that) was read or written, puts a barrier before. */
enum { MGI_CU_OBJECTS = 128 };
typedef struct mgi_cu_obj {
  int64_t bytes, offset;
  int begin, end;            /* steps between which it is alive */
  int read, written;         /* since the last barrier */
  int pending;               /* cp.async under way */
  int reads, writes;         /* what the step that is being written does: a barrier within stands before it */
} mgi_cu_obj;

typedef enum mgi_cu_home { MGI_CU_AT_NONE, MGI_CU_AT_INLINE, MGI_CU_AT_TILE, MGI_CU_AT_GLOBAL, MGI_CU_AT_FRAGMENT, MGI_CU_AT_PARTIAL } mgi_cu_home;

/* A block dimension's valid extent is that of dimension d of the tensor that LOAD `op` reads, cut by its axes up to
   `last`; op 0: the nominal one. */
typedef struct mgi_cu_dim_ref { uint32_t op; int d; uint32_t last; } mgi_cu_dim_ref;

/* What the emitter knows of a block tensor. */
typedef struct mgi_cu_val_info {
  mgi_cu_home home;
  int rows, cols;            /* nominal extents of the last two dimensions */
  mgi_cu_dim_ref rr, cr;        /* whose extents they have */
  int obj;                   /* TILE: piece of shared memory, or -1 - ring's piece; PARTIAL */
  char var[80];              /* variable that holds the tile, global, accumulator or partial */
  mg_dtype type;             /* TILE: what it holds */
  int trans;                 /* TILE */
  int copy, copy_obj;        /* materialised as `copy_type` under the name m_<name> */
  mg_dtype copy_type;
  int contracted_rows, contracted_cols; /* LOAD: some matmul contracts that dimension of the tile as it is */
  int sites, site_store;     /* LOAD outside of loops: how many sites read it; the last is a store */
  int in_place;              /* MATMUL, SUM, MAX: the accumulator (op index) that it feeds directly */
} mgi_cu_val_info;

typedef struct mgi_cu_emit {
  const mg_graph *g;
  const char *arch;
  int64_t shared_limit;
  mg_classes cls;
  mg_error *e;
  mg_status st;
  mgi_cu_str kernels, launches; /* device functions; statements of the launch function */
  int n_launches, n_graphs;
} mgi_cu_emit;

typedef struct mgi_cu_kernel {
  mgi_cu_emit *em;
  const mg_graph *b;         /* the block graph */
  const uint32_t *above;     /* tensor of b->up -> tensor of em->g; NULL: the same */
  char name[160];
  int number;                /* of the graph-defined kernel; -1: made here for a library operator */
  char count[MG_MAX_AXES + 1][400]; /* text of every axis's extent */
  mgi_cu_val_info *v;           /* by tensor */
  mgi_cu_str decl, body;
  char pad[64];              /* indentation of the body */
  mgi_cu_obj obj[MGI_CU_OBJECTS];
  int n_obj, pass, step;
  int64_t shared;            /* bytes */
  int threads, wm, wn, wk, stages, stages_given;
  uint32_t loop;             /* the loop being written, or 0 */
  int loop_begin, loops_done;
  int registers;             /* accumulator registers a thread */
  int next_value;            /* names of nested moves */
} mgi_cu_kernel;

MGI_FN void mgi_cu_emit_fail(mgi_cu_emit *em, mg_status s, const char *where, const char *fmt, ...) {
  char msg[256];
  va_list ap;
  if (em->st != MG_OK) return;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  em->st = mg_fail(em->e, s, where, "%s", msg);
}
MGI_FN const char *mgi_cu_op_name(const mg_graph *b, const mg_op_node *o) {
  (void)b;
  return o->code == MG_OP_LOAD ? "load" : o->code == MG_OP_STORE ? "store" : o->code == MG_OP_ACCUM ? "accum" : o->code == MG_OP_GRAPH ? "graph" : mg_op_row(o->code)->name;
}
MGI_FN void mgi_cu_line(mgi_cu_kernel *K, const char *fmt, ...) {
  va_list ap;
  mgi_cu_str_put(&K->body, "%s", fmt[0] ? K->pad : "");
  va_start(ap, fmt);
  mgi_cu_str_vput(&K->body, fmt, ap);
  va_end(ap);
  mgi_cu_str_put(&K->body, "\n");
}
MGI_FN void mgi_cu_indent(mgi_cu_kernel *K, int by) {
  size_t n = strlen(K->pad);
  if (by > 0 && n + 2 < sizeof K->pad) strcat(K->pad, "  ");
  if (by < 0 && n >= 2) K->pad[n - 2] = 0;
}
MGI_FN const char *mgi_cu_tname(const mg_graph *b, uint32_t t) { return b->tensors[t].name ? b->tensors[t].name : "t"; }

/* ---- pieces of shared memory */
MGI_FN int mgi_cu_obj_new(mgi_cu_kernel *K, int64_t bytes) {
  if (K->n_obj == MGI_CU_OBJECTS) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "more than %d pieces of shared memory", (int)MGI_CU_OBJECTS);
    return 0;
  }
  mgi_cu_obj *o = &K->obj[K->n_obj];
  if (K->pass == 0) {
    memset(o, 0, sizeof *o);
    o->begin = 1 << 30;
  }
  o->bytes = (bytes + 127) / 128 * 128;
  o->read = o->written = o->pending = o->reads = o->writes = 0;
  return K->n_obj++;
}
MGI_FN void mgi_cu_barrier(mgi_cu_kernel *K) {
  mgi_cu_line(K, "mg_sync();");
  for (int k = 0; k < K->n_obj; k++) K->obj[k].read = K->obj[k].reads, K->obj[k].written = K->obj[k].writes;
}
/* A new step: barriers from here on stand after what came before. */
MGI_FN void mgi_cu_begin(mgi_cu_kernel *K) {
  for (int k = 0; k < K->n_obj; k++) K->obj[k].reads = K->obj[k].writes = 0;
}
/* Everything that cp.async still brings is there for the thread that asked for it. */
MGI_FN void mgi_cu_arrive(mgi_cu_kernel *K) {
  int any = 0;
  for (int k = 0; k < K->n_obj; k++) {
    any |= K->obj[k].pending;
    if (K->obj[k].pending) K->obj[k].pending = 0, K->obj[k].written = 1;
  }
  if (any) mgi_cu_line(K, "mg_cp_async_wait<0>();");
}
MGI_FN void mgi_cu_obj_touch(mgi_cu_kernel *K, int obj, int write) {
  mgi_cu_obj *o = &K->obj[obj];
  int hazard = write ? (o->read && !o->reads) || (o->written && !o->writes) : o->written && !o->writes;
  if (o->pending) {
    mgi_cu_arrive(K);
    hazard = 1;
  }
  for (int k = 0; k < K->n_obj && K->pass && write; k++) {
    const mgi_cu_obj *p = &K->obj[k];
    if (k != obj && ((p->read && !p->reads) || (p->written && !p->writes)) && p->offset < o->offset + o->bytes && o->offset < p->offset + p->bytes) hazard = 1;
  }
  if (hazard) mgi_cu_barrier(K);
  K->step++;
  int at = K->step;
  if (K->loop) at = K->loop_begin;
  if (at < o->begin) o->begin = at;
  if (K->step > o->end) o->end = K->step;
  if (write) o->written = o->writes = 1;
  else o->read = o->reads = 1;
}
/* A piece that is alive at a step of a loop is alive all through the loop. */
MGI_FN void mgi_cu_loop_lifetimes(mgi_cu_kernel *K, int begin) {
  for (int k = 0; k < K->n_obj; k++)
    if (K->obj[k].end >= begin && K->obj[k].begin <= K->step) {
      K->obj[k].end = K->step;
      if (K->obj[k].begin > begin) K->obj[k].begin = begin;
    }
}
/* First fit, in order of creation. */
MGI_FN void mgi_cu_lay_out(mgi_cu_kernel *K) {
  K->shared = 0;
  for (int k = 0; k < K->n_obj; k++) {
    mgi_cu_obj *o = &K->obj[k];
    int64_t at = 0;
    for (int moved = 1; moved;) {
      moved = 0;
      for (int j = 0; j < k; j++) {
        const mgi_cu_obj *p = &K->obj[j];
        if (p->begin <= o->end && o->begin <= p->end && p->offset < at + o->bytes && at < p->offset + p->bytes) at = p->offset + p->bytes, moved = 1;
      }
    }
    o->offset = at;
    if (at + o->bytes > K->shared) K->shared = at + o->bytes;
  }
}

/* ---- extents and offsets */
MGI_FN uint32_t mgi_cu_above(const mgi_cu_kernel *K, mg_tensor t) { return K->above ? K->above[t.id] : t.id; }
/* Text of the extent of dimension d of kernel-level tensor t. */
MGI_FN const char *mgi_cu_dim_text(const mgi_cu_emit *em, uint32_t t, int d, char *out, size_t n) {
  int c = em->cls.of[t * MG_MAX_RANK + (uint32_t)d];
  if (c < 0) snprintf(out, n, "%lld", (long long)em->g->tensors[t].shape.dim[d]);
  else snprintf(out, n, "%s_D%d", em->g->name, c);
  return out;
}
/* Text of the memory stride of dimension d of kernel-level tensor t: the product of the extents inside of it. */
MGI_FN const char *mgi_cu_stride_text(const mgi_cu_emit *em, uint32_t t, int d, char *out, size_t n) {
  const mg_tensor_info *o = &em->g->tensors[t];
  char dim[200];
  size_t at = 0;
  int seen = 0;
  out[0] = 0;
  for (int k = 0; k < o->shape.rank; k++) {
    int dd = o->op ? k : o->order[k];
    if (seen && o->shape.dim[dd] != 1) at += (size_t)snprintf(out + at, at < n ? n - at : 0, "%s%s", at ? " * " : "(int64_t)", mgi_cu_dim_text(em, t, dd, dim, sizeof dim));
    if (dd == d) seen = 1;
  }
  if (!at) snprintf(out, n, "1");
  return out;
}
MGI_FN int mgi_cu_stride_is_one(const mgi_cu_emit *em, uint32_t t, int d) {
  char s[1400];
  return !strcmp(mgi_cu_stride_text(em, t, d, s, sizeof s), "1");
}
MGI_FN int64_t mgi_cu_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* Text of an axis's index: `i_k` of a loop, `b_x` of the grid. */
MGI_FN const char *mgi_cu_axis_text(const mgi_cu_kernel *K, uint32_t a, char *out, size_t n) {
  snprintf(out, n, "%s_%s", a <= 3 ? "b" : "i", K->b->axes[a].name);
  return out;
}
/* Dimension d of kernel-level tensor `t` under a map: the chunk, the text of its offset ("" for 0) and of its valid
   extent, and by how much offsets are aligned.  Axes after `last` are left out. */
MGI_FN int64_t mgi_cu_chunk_text(const mgi_cu_kernel *K, const mg_map *m, uint32_t t, int d, uint32_t last, char *offset, size_t n, char *valid, size_t nv, int64_t *align) {
  int64_t chunk = K->em->g->tensors[t].shape.dim[d], even = chunk, al = 0;
  char dim[200], ax[100], tmp[800];
  size_t at = 0;
  int ragged = 0;
  mgi_cu_dim_text(K->em, t, d, dim, sizeof dim);
  snprintf(valid, nv, "%s", dim);
  offset[0] = 0;
  for (uint32_t a = 1; a < K->b->n_axes && a <= last; a++) {
    if (m->to[a] != d) continue;
    even = chunk;
    chunk = mgi_cu_ceil_div(chunk, K->b->axes[a].extent);
    ragged |= chunk * K->b->axes[a].extent != even;
    mgi_cu_axis_text(K, a, ax, sizeof ax);
    at += (size_t)snprintf(offset + at, at < n ? n - at : 0, "%s%s * (int64_t)%lld", at ? " + " : "", ax, (long long)chunk);
    snprintf(tmp, sizeof tmp, "mg_cut(%.350s, %s, %lld)", valid, ax, (long long)chunk);
    memcpy(valid, tmp, strlen(tmp) < nv ? strlen(tmp) + 1 : nv);
    valid[nv - 1] = 0;
    for (int64_t x = chunk, y = al; ; ) { /* al = gcd(al, chunk) */
      if (!y) { al = x; break; }
      int64_t r = x % y;
      x = y;
      y = r;
    }
  }
  if (at && !ragged && K->number >= 0) snprintf(valid, nv, "%lld", (long long)chunk);
  if (!at && K->number >= 0) snprintf(valid, nv, "%lld", (long long)chunk);
  if (align) *align = al;
  return chunk;
}

/* ------------------------------------------------------------------------------------------------- >>values
   Elementwise and moving operators have no place of their own: where a value is used, its expression is written out in
   a lambda (r, c, i): element (r, c), fragment element i.  Its leaves are tiles, vectors (tiles of one row or
   column), tensors in global memory, accumulator fragments and partial sums. */
MGI_FN const mg_op_node *mgi_cu_producer(const mgi_cu_kernel *K, uint32_t t) { return &K->b->ops[K->b->tensors[t].op]; }

/* Text of the valid rows (which 0) or columns (1) of tensor t. */
MGI_FN const char *mgi_cu_valid_text(const mgi_cu_kernel *K, uint32_t t, int which, char *out, size_t n) {
  const mgi_cu_val_info *v = &K->v[t];
  const mgi_cu_dim_ref *ref = which ? &v->cr : &v->rr;
  char offset[800];
  if (!ref->op) {
    snprintf(out, n, "%d", which ? v->cols : v->rows);
    return out;
  }
  const mg_op_node *o = &K->b->ops[ref->op];
  mgi_cu_chunk_text(K, &o->map, mgi_cu_above(K, o->in[0]), ref->d, ref->last, offset, sizeof offset, out, n, NULL);
  return out;
}
/* 1 if some element within the nominal extent may be beyond the edge. */
MGI_FN int mgi_cu_is_ragged(const mgi_cu_kernel *K, uint32_t t, int which) {
  char s[800];
  const char *p = mgi_cu_valid_text(K, t, which, s, sizeof s);
  return !(p[0] >= '0' && p[0] <= '9');
}

MGI_FN void mgi_cu_materialise(mgi_cu_kernel *K, uint32_t t, mg_dtype type);

/* 1 if t's expression has a leaf that only an accumulator holds. */
MGI_FN int mgi_cu_has_acc(const mgi_cu_kernel *K, uint32_t t) {
  const mgi_cu_val_info *v = &K->v[t];
  if (v->copy) return 0;
  if (v->home == MGI_CU_AT_FRAGMENT || v->home == MGI_CU_AT_PARTIAL) return 1;
  if (v->home != MGI_CU_AT_INLINE) return 0;
  const mg_op_node *o = mgi_cu_producer(K, t);
  for (int k = 0; k < o->n_in; k++)
    if (mgi_cu_has_acc(K, o->in[k].id)) return 1;
  return 0;
}

/* Makes the leaves of t's expression readable at a site of rows x cols: first (touch 0) materialises fragments that
   the site cannot use, then (touch 1) puts the barriers.  *acc becomes a fragment leaf, 0 if there is none. */
MGI_FN void mgi_cu_prepare_leaves(mgi_cu_kernel *K, uint32_t t, int fragments, int rows, int cols, int touch, uint32_t *acc) {
  mgi_cu_val_info *v = &K->v[t];
  if (v->home == MGI_CU_AT_FRAGMENT && fragments && v->rows == rows && v->cols == cols) {
    *acc = t;
    return;
  }
  if (v->home == MGI_CU_AT_FRAGMENT && !v->copy) mgi_cu_materialise(K, t, MG_F32);
  if (v->copy) {
    if (touch) mgi_cu_obj_touch(K, v->copy_obj, 0);
    return;
  }
  switch (v->home) {
    case MGI_CU_AT_TILE: if (touch && v->obj >= 0) mgi_cu_obj_touch(K, v->obj, 0); return;
    case MGI_CU_AT_PARTIAL: if (touch) mgi_cu_obj_touch(K, v->obj, 0); return;
    case MGI_CU_AT_INLINE: break;
    default: return;
  }
  const mg_op_node *o = mgi_cu_producer(K, t);
  for (int k = 0; k < o->n_in; k++) mgi_cu_prepare_leaves(K, o->in[k].id, fragments && (mg_op_row(o->code)->elementwise || o->code == MG_OP_ACCUM), rows, cols, touch, acc);
}
MGI_FN uint32_t mgi_cu_prepare(mgi_cu_kernel *K, uint32_t t, int fragments) {
  uint32_t acc = 0;
  mgi_cu_prepare_leaves(K, t, fragments, K->v[t].rows, K->v[t].cols, 0, &acc);
  acc = 0;
  mgi_cu_begin(K);
  mgi_cu_prepare_leaves(K, t, fragments, K->v[t].rows, K->v[t].cols, 1, &acc);
  return acc;
}

/* Where an expression is written: names of the coordinates; `width` 2 computes columns c and c + 1 (c even), as v.. and
   w.., with leaves that are read in pairs. */
typedef struct mgi_cu_context { uint8_t *done; const char *r, *c; int fragments, rows, cols, depth, width; } mgi_cu_context;

MGI_FN void mgi_cu_shape_text(const mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t) {
  const mg_shape *f = &K->b->tensors[t].shape;
  char valid[800];
  mgi_cu_str_put(s, "{%d, {", f->rank);
  for (int d = 0; d < MG_MAX_RANK; d++) {
    if (d < f->rank && d >= f->rank - 2) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_valid_text(K, t, d == f->rank - 1, valid, sizeof valid));
    else mgi_cu_str_put(s, "%s%lld", d ? ", " : "", (long long)(d < f->rank ? f->dim[d] : 0));
  }
  mgi_cu_str_put(s, "}, {0}}");
}
MGI_FN void mgi_cu_attr_text(mgi_cu_str *s, const mg_attr *A) {
  mgi_cu_str_put(s, "{%d, %lld, {%lld, %lld}, {%d, {", A->dim, (long long)A->n, (long long)A->c.num, (long long)(A->c.den ? A->c.den : 1), A->shape.rank);
  for (int d = 0; d < MG_MAX_RANK; d++) mgi_cu_str_put(s, "%s%lld", d ? ", " : "", (long long)(d < A->shape.rank ? A->shape.dim[d] : 0));
  mgi_cu_str_put(s, "}, {0}}, {");
  for (int d = 0; d < MG_MAX_RANK; d++) mgi_cu_str_put(s, "%s%d", d ? ", " : "", A->perm[d]);
  mgi_cu_str_put(s, "}}");
}

MGI_FN void mgi_cu_value(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t);

/* A moving row: the table's index text says which element of which operand element (r, c) is. */
MGI_FN void mgi_cu_moved(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t, const char *in, char v, const char *r, const char *c) {
  const mg_graph *b = K->b;
  const mg_op_node *o = mgi_cu_producer(K, t);
  int d1 = x->depth + 1, rank = b->tensors[t].shape.rank;
  if (x->depth >= 8) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mg_op_row(o->code)->name, "more than 8 moves nested in an expression");
    return;
  }
  mgi_cu_str_put(s, "%sconst mg_num %c%d_%s = [&]() -> mg_num { // %s\n", in, v, x->depth, mgi_cu_tname(b, t), mg_op_row(o->code)->name);
  mgi_cu_str_put(s, "%s  const int64_t to%d[MG_MAX_RANK] = {", in, d1);
  for (int d = 0; d < rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", d == rank - 1 ? c : d == rank - 2 ? r : "0");
  mgi_cu_str_put(s, "};\n%s  int64_t at%d[MG_MAX_RANK];\n%s  const mg_attr A%d = ", in, d1, in, d1);
  mgi_cu_attr_text(s, &o->attr);
  mgi_cu_str_put(s, ";\n%s  const mg_shape S%d[] = {", in, d1);
  for (int k = 0; k < o->n_in; k++) {
    mgi_cu_str_put(s, k ? ", " : "");
    mgi_cu_shape_text(K, s, o->in[k].id);
  }
  mgi_cu_str_put(s, "};\n%s  const int from%d = mg_dev_index_%s(&A%d, S%d, to%d, at%d);\n", in, d1, mgi_cu_rows[o->code].id, d1, d1, d1, d1);
  for (int k = 0; k < o->n_in; k++) {
    int fr = b->tensors[o->in[k].id].shape.rank;
    char rr[40], cc[40];
    uint8_t *done = (uint8_t *)calloc(b->n_tensors, 1);
    if (!done) {
      mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
      return;
    }
    snprintf(rr, sizeof rr, "r%d", d1);
    snprintf(cc, sizeof cc, "c%d", d1);
    mgi_cu_context y = {done, rr, cc, 0, 0, 0, d1, 1};
    mgi_cu_str_put(s, "%s  if (from%d == %d) {\n%s    const int r%d = ", in, d1, k, in, d1);
    if (fr > 1) mgi_cu_str_put(s, "(int)at%d[%d]", d1, fr - 2);
    else mgi_cu_str_put(s, "0");
    mgi_cu_str_put(s, ", c%d = (int)at%d[%d];\n%s    (void)r%d; (void)c%d;\n", d1, d1, fr - 1, in, d1, d1);
    mgi_cu_value(K, s, &y, o->in[k].id);
    mgi_cu_str_put(s, "%s    return v%d_%s;\n%s  }\n", in, d1, mgi_cu_tname(b, o->in[k].id), in);
    free(done);
  }
  mgi_cu_str_put(s, "%s  return mg_zero();\n%s}();\n", in, in);
}

/* Writes the statements that compute t's element, unless they are there already; the value is v<depth>_<name>. */
MGI_FN void mgi_cu_value(mgi_cu_kernel *K, mgi_cu_str *s, const mgi_cu_context *x, uint32_t t) {
  const mg_graph *b = K->b;
  const mgi_cu_val_info *v = &K->v[t];
  const mg_op_node *o = mgi_cu_producer(K, t);
  const mg_op_info *row = mg_op_row(o->code);
  char in[100], leaf[200] = "", next[120];
  size_t indent = strlen(K->pad) + 2 + 2 * (size_t)x->depth;
  if (x->done[t] || K->em->st != MG_OK) return;
  x->done[t] = 1;
  if (indent > sizeof in - 1) indent = sizeof in - 1;
  memset(in, ' ', indent);
  in[indent] = 0;
  const char *r = v->rows == 1 ? "0" : x->r, *c = v->cols == 1 ? "0" : x->c, *name = mgi_cu_tname(b, t);
  int depth = x->depth, one = v->cols == 1; /* one: both columns have the same value */
  if (v->home == MGI_CU_AT_FRAGMENT && x->fragments && v->rows == x->rows && v->cols == x->cols) {
    mgi_cu_str_put(s, "%sconst mg_num v%d_%s = %s.at(i);\n", in, depth, name, v->var);
    return;
  }
  if (v->copy) snprintf(leaf, sizeof leaf, "m_%s", name);
  else if (v->home != MGI_CU_AT_INLINE) snprintf(leaf, sizeof leaf, "%s", v->var);
  if (leaf[0]) {
    if (x->width == 2 && !one && (v->copy || v->home == MGI_CU_AT_TILE)) {
      mgi_cu_str_put(s, "%smg_num v%d_%s, w%d_%s;\n%s%s.pair(%s, %s, v%d_%s, w%d_%s);\n", in, depth, name, depth, name, in, leaf, r, c, depth, name, depth, name);
      return;
    }
    mgi_cu_str_put(s, "%sconst mg_num v%d_%s = %s.at(%s, %s);\n", in, depth, name, leaf, r, c);
    if (x->width == 2 && !one) mgi_cu_str_put(s, "%sconst mg_num w%d_%s = %s.at(%s, %s + 1);\n", in, depth, name, leaf, r, c);
  } else if (!row->elementwise && row->moves) {
    mgi_cu_moved(K, s, x, t, in, 'v', r, c);
    snprintf(next, sizeof next, "(%s + 1 < %d ? %s + 1 : %s)", c, v->cols, c, c);
    if (x->width == 2 && !one) mgi_cu_moved(K, s, x, t, in, 'w', r, next);
  } else {
    /* An elementwise row; or an accumulator over axes of one block, or a statistic over an extent of 1: no change. */
    for (int k = 0; k < o->n_in; k++) mgi_cu_value(K, s, x, o->in[k].id);
    for (int w = 0; w < (one ? 1 : x->width); w++) {
      char arg[3][200];
      for (int k = 0; k < 3; k++) {
        if (k < o->n_in) snprintf(arg[k], sizeof arg[k], "%c%d_%.160s", w ? 'w' : 'v', depth, mgi_cu_tname(b, o->in[k].id));
        else snprintf(arg[k], sizeof arg[k], "mg_zero()");
      }
      if (row->attr == MG_ATTR_RAT) snprintf(arg[2], sizeof arg[2], "mg_const(%lld, %lld)", (long long)o->attr.c.num, (long long)o->attr.c.den);
      if (row->elementwise) mgi_cu_str_put(s, "%sconst mg_num %c%d_%s = mg_dev_%s(%s, %s, %s);\n", in, w ? 'w' : 'v', depth, name, mgi_cu_rows[o->code].id, arg[0], arg[1], arg[2]);
      else mgi_cu_str_put(s, "%sconst mg_num %c%d_%s = %s;\n", in, w ? 'w' : 'v', depth, name, arg[0]);
    }
  }
  if (x->width == 2 && one) mgi_cu_str_put(s, "%sconst mg_num w%d_%s = v%d_%s;\n%s(void)w%d_%s;\n", in, depth, name, depth, name, in, depth, name);
}
/* The lambda that gives t's elements, without the last line's end: (r, c, i) gives one; of width 2,
   (r, c, first, second) gives those of columns c and c + 1. */
MGI_FN void mgi_cu_lambda(mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, int fragments, int width) {
  uint8_t *done = (uint8_t *)calloc(K->b->n_tensors, 1);
  const char *name = mgi_cu_tname(K->b, t);
  mgi_cu_context x = {done, "r", "c", fragments, K->v[t].rows, K->v[t].cols, 0, width};
  if (!done) {
    mgi_cu_emit_fail(K->em, MG_NO_MEMORY, K->name, "no memory");
    return;
  }
  mgi_cu_str_put(s, width == 2 ? "[&](int r, int c, mg_num &first, mg_num &second) {\n%s  (void)r; (void)c;\n" : "[&](int r, int c, int i) {\n%s  (void)r; (void)c; (void)i;\n", K->pad);
  mgi_cu_value(K, s, &x, t);
  if (width == 2) mgi_cu_str_put(s, "%s  first = v0_%s;\n%s  second = w0_%s;\n%s}", K->pad, name, K->pad, name, K->pad);
  else mgi_cu_str_put(s, "%s  return v0_%s;\n%s}", K->pad, name, K->pad);
  free(done);
}

/* Evaluates t at every valid element, into `sink`. */
MGI_FN void mgi_cu_site(mgi_cu_kernel *K, uint32_t t, uint32_t acc, const char *sink) {
  mgi_cu_str f = {NULL, 0, 0, 0};
  char rv[800], cv[800];
  const mgi_cu_val_info *v = &K->v[t];
  mgi_cu_valid_text(K, t, 0, rv, sizeof rv);
  mgi_cu_valid_text(K, t, 1, cv, sizeof cv);
  mgi_cu_lambda(K, &f, t, acc != 0, 1);
  if (acc) mgi_cu_line(K, "mg_each_fragment<A_%s>(%s, %s, %s, %s);", K->v[acc].var + 4, rv, cv, mgi_cu_str_text(&f), sink);
  else mgi_cu_line(K, "mg_each_unit<%d, %d, %d>(%s, %s, %s, %s);", v->rows, v->cols, K->threads, rv, cv, mgi_cu_str_text(&f), sink);
  free(f.s);
}

MGI_FN int mgi_cu_pad_to(int n, int m) { return (n + m - 1) / m * m; }
/* Elements between rows of a tile: an odd multiple of 16 bytes. */
MGI_FN int mgi_cu_pitch(int inner, int bytes) {
  int e = 16 / bytes, p = (inner + e - 1) / e;
  return (p % 2 ? p : p + 1) * e;
}

/* Gives t a tile of its own, of `type`, zero outside of its valid elements. */
MGI_FN void mgi_cu_materialise(mgi_cu_kernel *K, uint32_t t, mg_dtype type) {
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  int rows = mgi_cu_pad_to(v->rows, 16), cols = mgi_cu_pad_to(v->cols, 16), bytes = mg_dtype_bytes(type), pitch = mgi_cu_pitch(cols, bytes);
  char sink[200], rv[800], cv[800];
  if (K->em->st != MG_OK) return;
  int home_fragment = v->home == MGI_CU_AT_FRAGMENT, from = K->step + 1;
  uint32_t acc = home_fragment ? t : mgi_cu_prepare(K, t, 1);
  if (home_fragment) mgi_cu_begin(K);
  int obj = mgi_cu_obj_new(K, (int64_t)rows * pitch * bytes);
  mgi_cu_str_put(&K->decl, "  const mg_tile<%s, %d, %d, %d, false> m_%s(mg_shared() + %lld);\n", mgi_cu_type[type], rows, cols, pitch, name, (long long)K->obj[obj].offset);
  mgi_cu_obj_touch(K, obj, 1);
  if (K->obj[obj].begin > from) K->obj[obj].begin = from; /* it is written while its leaves are read */
  mgi_cu_line(K, "// %s, into a tile", name);
  if (rows != v->rows || cols != v->cols || mgi_cu_is_ragged(K, t, 0) || mgi_cu_is_ragged(K, t, 1))
    mgi_cu_line(K, "mg_zero_outside<mg_tile<%s, %d, %d, %d, false>, %d>(m_%s, %s, %s);", mgi_cu_type[type], rows, cols, pitch, K->threads, name, mgi_cu_valid_text(K, t, 0, rv, sizeof rv),
             mgi_cu_valid_text(K, t, 1, cv, sizeof cv));
  snprintf(sink, sizeof sink, "mg_into(m_%s, 0, 0)", name);
  mgi_cu_site(K, t, acc, sink);
  v->copy = 1;
  v->copy_obj = obj;
  v->copy_type = type;
}

/* -------------------------------------------------------------------------------------------------- >>steps */

/* The operator as a line of the µGraph. */
MGI_FN void mgi_cu_quote(mgi_cu_kernel *K, const mg_op_node *o) {
  const mg_graph *b = K->b;
  mgi_cu_str s = {NULL, 0, 0, 0};
  const char *name = mgi_cu_op_name(b, o);
  int named = 0;
  if (o->n_out) mgi_cu_str_put(&s, "%s = ", mgi_cu_tname(b, o->out[0].id));
  if (o->code == MG_OP_LOAD) mgi_cu_str_put(&s, "load %s", K->em->g->tensors[mgi_cu_above(K, o->in[0])].name);
  else if (o->code == MG_OP_STORE) mgi_cu_str_put(&s, "store %s", mgi_cu_tname(b, o->in[0].id));
  else {
    mgi_cu_str_put(&s, "%s(", name);
    for (int k = 0; k < o->n_in; k++) mgi_cu_str_put(&s, "%s%s", k ? ", " : "", mgi_cu_tname(b, o->in[k].id));
    if (o->code < MG_OP_TABLE_END && mg_op_row(o->code)->attr == MG_ATTR_DIM) mgi_cu_str_put(&s, ", dim=%d", o->attr.dim);
    mgi_cu_str_put(&s, ")");
  }
  if (o->code >= MG_OP_TABLE_END) {
    for (uint32_t a = 1; a < b->n_axes; a++) {
      int to = o->map.to[a];
      if (to == MG_MAP_NONE && b->axes[a].extent == 1) continue;
      if (to == MG_MAP_NONE && (a > 3 || o->code == MG_OP_ACCUM)) continue;
      mgi_cu_str_put(&s, "%s%s->", named ? ", " : " {", b->axes[a].name);
      named = 1;
      if (to >= 0) mgi_cu_str_put(&s, "%d", to);
      else mgi_cu_str_put(&s, "%s", to == MG_MAP_SUM ? "+" : to == MG_MAP_MAX ? "max" : "*");
    }
    if (named) mgi_cu_str_put(&s, "}");
  }
  mgi_cu_line(K, "// %s", mgi_cu_str_text(&s));
  free(s.s);
}

/* ---- loads */

/* Shape of the tile of a load: which dimension is contiguous, padding, bytes. */
MGI_FN int64_t mgi_cu_load_tile_shape(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t above = mgi_cu_above(K, o->in[0]), t = o->out[0].id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  mgi_cu_val_info *v = &K->v[t];
  int rank = up->shape.rank, rd = rank - 2, cd = rank - 1, e = 16 / mg_dtype_bytes(up->dtype);
  v->type = up->dtype;
  v->trans = 0;
  if (rank >= 2) {
    int pr = 0, pc = 0;
    for (int k = 0; k < rank; k++) {
      int d = up->op ? k : up->order[k];
      if (d == rd) pr = k;
      if (d == cd) pc = k;
    }
    v->trans = pr > pc || (up->shape.dim[cd] == 1 && up->shape.dim[rd] > 1);
  }
  int rows = mgi_cu_pad_to(v->rows, v->contracted_rows ? 16 : v->trans ? e : 1), cols = mgi_cu_pad_to(v->cols, v->contracted_cols ? 16 : v->trans ? 1 : e);
  int inner = v->trans ? rows : cols, outer = v->trans ? cols : rows, bytes = mg_dtype_bytes(up->dtype), pitch = mgi_cu_pitch(inner, bytes);
  char type[200];
  snprintf(type, sizeof type, "mg_tile<%s, %d, %d, %d, %s>", mgi_cu_type[up->dtype], rows, cols, pitch, v->trans ? "true" : "false");
  if (K->pass >= 0) mgi_cu_str_put(&K->decl, "  typedef %s T_%s;\n", type, mgi_cu_tname(K->b, t));
  return (int64_t)outer * pitch * bytes;
}
/* The statement that fills the tile `to`. */
MGI_FN void mgi_cu_load_call(mgi_cu_kernel *K, uint32_t op, const char *to) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t above = mgi_cu_above(K, o->in[0]), t = o->out[0].id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  const mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  int rank = up->shape.rank, rd = rank - 2, cd = rank - 1, e = 16 / mg_dtype_bytes(up->dtype);
  int in_d = v->trans ? rd : cd, out_d = v->trans ? cd : rd;
  mgi_cu_str base = {NULL, 0, 0, 0}, vec = {NULL, 0, 0, 0};
  char offset[800], valid[800], stride[1400], extent[2][800] = {"1", "1"}, dim[200];
  int vector = mgi_cu_stride_is_one(K->em, above, in_d);
  mgi_cu_str_put(&base, "p_%s", up->name);
  for (int d = 0; d < rank; d++) {
    int64_t align;
    mgi_cu_chunk_text(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, valid, sizeof valid, &align);
    if (offset[0]) {
      mgi_cu_stride_text(K->em, above, d, stride, sizeof stride);
      mgi_cu_str_put(&base, strcmp(stride, "1") ? " + (%s) * (%s)" : " + (%s)", offset, stride);
      if (d == in_d && align % e) vector = 0;
    }
    if (d == rd) snprintf(extent[0], sizeof extent[0], "%s", valid);
    if (d == cd) snprintf(extent[1], sizeof extent[1], "%s", valid);
  }
  /* Rows are aligned if what lies inside of every other dimension is a multiple of 16 bytes: the contiguous extent. */
  if (vector) {
    int others = 0;
    for (int d = 0; d < rank; d++) others |= d != in_d && up->shape.dim[d] != 1;
    if (others) mgi_cu_str_put(&vec, "%s %% %d == 0", mgi_cu_dim_text(K->em, above, in_d, dim, sizeof dim), e);
    else mgi_cu_str_put(&vec, "true");
  } else mgi_cu_str_put(&vec, "false");
  char so[1400] = "0", si[1400];
  if (out_d >= 0) mgi_cu_stride_text(K->em, above, out_d, so, sizeof so);
  mgi_cu_stride_text(K->em, above, in_d, si, sizeof si);
  mgi_cu_quote(K, o);
  mgi_cu_line(K, "mg_load_tile<T_%s, T_%s::%s, T_%s::%s, (%s), %d>(%s, %s, %s, %s, %s, %s);", name, name, v->trans ? "COLS" : "ROWS", name, v->trans ? "ROWS" : "COLS", mgi_cu_str_text(&vec),
           K->threads, to, mgi_cu_str_text(&base), so, si, extent[v->trans ? 1 : 0], extent[v->trans ? 0 : 1]);
  free(base.s);
  free(vec.s);
}
MGI_FN void mgi_cu_load_step(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t above = mgi_cu_above(K, o->in[0]), t = o->out[0].id;
  const mg_tensor_info *up = &K->em->g->tensors[above];
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  char to[200];
  if (v->sites == 1 && v->site_store) { /* one reader, elementwise: straight from global memory */
    int rank = up->shape.rank;
    char offset[800], valid[800], stride[1400];
    mgi_cu_str base = {NULL, 0, 0, 0};
    for (int d = 0; d < rank; d++) {
      mgi_cu_chunk_text(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, valid, sizeof valid, NULL);
      if (!offset[0]) continue;
      mgi_cu_stride_text(K->em, above, d, stride, sizeof stride);
      mgi_cu_str_put(&base, strcmp(stride, "1") ? " + (%s) * (%s)" : " + (%s)", offset, stride);
    }
    mgi_cu_quote(K, o);
    mgi_cu_line(K, "const mg_global<%s> g_%s(p_%s%s, %s,", mgi_cu_type[up->dtype], name, up->name, mgi_cu_str_text(&base), rank > 1 ? mgi_cu_stride_text(K->em, above, rank - 2, stride, sizeof stride) : "0");
    mgi_cu_line(K, "    %s);", mgi_cu_stride_text(K->em, above, rank - 1, stride, sizeof stride));
    free(base.s);
    v->home = MGI_CU_AT_GLOBAL;
    snprintf(v->var, sizeof v->var, "g_%.70s", name);
    return;
  }
  int64_t bytes = mgi_cu_load_tile_shape(K, op);
  mgi_cu_begin(K);
  v->obj = mgi_cu_obj_new(K, bytes);
  v->home = MGI_CU_AT_TILE;
  snprintf(v->var, sizeof v->var, "t_%.70s", name);
  mgi_cu_str_put(&K->decl, "  const T_%s t_%s(mg_shared() + %lld);\n", name, name, (long long)K->obj[v->obj].offset);
  mgi_cu_obj_touch(K, v->obj, 1);
  snprintf(to, sizeof to, "t_%.150s", name);
  mgi_cu_load_call(K, op, to);
  mgi_cu_line(K, "mg_cp_async_commit();");
  K->obj[v->obj].pending = 1;
}

/* ---- matmul */
MGI_FN int mgi_cu_swaps_last(const mg_op_node *o, int rank) {
  if (o->code != MG_OP_TRANSPOSE || rank < 2) return 0;
  for (int d = 0; d < rank - 2; d++)
    if (o->attr.perm[d] != d) return 0;
  return o->attr.perm[rank - 1] == rank - 2 && o->attr.perm[rank - 2] == rank - 1;
}
/* The LOAD whose tile, as it is or transposed, matmul operand t is; 0 if t has to be computed. */
MGI_FN uint32_t mgi_cu_plain_load(const mgi_cu_kernel *K, uint32_t t, int *swapped) {
  *swapped = 0;
  for (;;) {
    uint32_t op = K->b->tensors[t].op;
    const mg_op_node *o = &K->b->ops[op];
    if (o->code == MG_OP_LOAD) return op;
    if (!mgi_cu_swaps_last(o, K->b->tensors[t].shape.rank)) return 0;
    *swapped ^= 1;
    t = o->in[0].id;
  }
}
/* Text of a matmul operand.  `contracted`: its valid extent along the contraction. */
MGI_FN void mgi_cu_operand(mgi_cu_kernel *K, mgi_cu_str *s, uint32_t t, int left, mg_dtype type, const char *contracted) {
  int swapped;
  mgi_cu_val_info *v = &K->v[t];
  uint32_t load = mgi_cu_plain_load(K, t, &swapped);
  const char *side = left ? "left" : "right";
  if (type != MG_F32 && load && K->v[K->b->ops[load].out[0].id].home == MGI_CU_AT_TILE && K->v[K->b->ops[load].out[0].id].type == type) {
    const mgi_cu_val_info *l = &K->v[K->b->ops[load].out[0].id];
    if (l->obj >= 0) mgi_cu_obj_touch(K, l->obj, 0);
    mgi_cu_str_put(s, swapped ? "mg_%s(mg_transposed(%s))" : "mg_%s(%s)", side, l->var);
    return;
  }
  if (v->copy && v->copy_type == type && type != MG_F32) {
    mgi_cu_obj_touch(K, v->copy_obj, 0);
    mgi_cu_str_put(s, "mg_%s(m_%s)", side, mgi_cu_tname(K->b, t));
    return;
  }
  uint32_t none = 0;
  mgi_cu_prepare_leaves(K, t, 0, v->rows, v->cols, 1, &none);
  if (type == MG_F32) mgi_cu_lambda(K, s, t, 0, 1);
  else {
    mgi_cu_str_put(s, "mg_%s_of<%s, %d>(%s, ", side, mgi_cu_type[type], left ? v->rows : v->cols, contracted);
    mgi_cu_lambda(K, s, t, 0, left ? 2 : 1);
    mgi_cu_str_put(s, ")");
  }
}
MGI_FN void mgi_cu_acc_declare(mgi_cu_kernel *K, uint32_t t) {
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, t);
  snprintf(v->var, sizeof v->var, "acc_%.70s", name);
  mgi_cu_str_put(&K->decl, "  typedef mg_acc<%d, %d, %d, %d, %d> A_%s;\n  A_%s acc_%s;\n", v->rows, v->cols, K->wm, K->wn, K->wk, name, name, name);
  K->registers += (mgi_cu_pad_to(v->rows, 16 * K->wm) / (16 * K->wm)) * (mgi_cu_pad_to(v->cols, 8 * K->wn) / (8 * K->wn)) * 4;
  if (K->registers > 224) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "matmul", "accumulators take %d registers a thread, more than 224: use more warps or smaller tiles", K->registers);
}
/* The result's place once acc is complete: `t` is the matmul's output, or the accumulator's that it feeds. */
MGI_FN void mgi_cu_acc_done(mgi_cu_kernel *K, uint32_t matmul, uint32_t t) {
  const char *name = mgi_cu_tname(K->b, matmul);
  mgi_cu_val_info *m = &K->v[matmul], *v = &K->v[t];
  if (K->wk == 1) {
    if (v != m) memcpy(v->var, m->var, sizeof v->var);
    v->home = MGI_CU_AT_FRAGMENT;
    return;
  }
  int pitch = mgi_cu_pad_to(m->cols, 8) + 8;
  mgi_cu_begin(K);
  int obj = mgi_cu_obj_new(K, (int64_t)K->wk * m->rows * pitch * 4);
  mgi_cu_str_put(&K->decl, "  const mg_partial<A_%s, %d> s_%s(mg_shared() + %lld);\n", name, K->wk, name, (long long)K->obj[obj].offset);
  mgi_cu_obj_touch(K, obj, 1);
  mgi_cu_line(K, "s_%s.spill(%s);", name, m->var);
  v->home = MGI_CU_AT_PARTIAL;
  v->obj = obj;
  snprintf(v->var, sizeof v->var, "s_%.70s", name);
}
MGI_FN void mgi_cu_matmul_step(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t t = o->out[0].id;
  mgi_cu_val_info *v = &K->v[t];
  int pairs = o->code == MG_OP_MATMUL ? 1 : 2;
  char name[100];
  snprintf(name, sizeof name, "acc_%.70s", mgi_cu_tname(K->b, t));
  if (!v->in_place) {
    mgi_cu_acc_declare(K, t);
    mgi_cu_quote(K, o);
    mgi_cu_line(K, "acc_%s.zero();", mgi_cu_tname(K->b, t));
  }
  for (int k = 0; k < pairs; k++) {
    uint32_t a = o->in[k].id, b = o->in[k + pairs].id;
    mg_dtype ta = K->b->tensors[a].dtype, type = ta == K->b->tensors[b].dtype ? ta : MG_F32;
    int depth = K->v[a].cols;
    char end[800];
    mgi_cu_str l = {NULL, 0, 0, 0}, r = {NULL, 0, 0, 0};
    if (mgi_cu_has_acc(K, a)) mgi_cu_materialise(K, a, type);
    if (mgi_cu_has_acc(K, b)) mgi_cu_materialise(K, b, type);
    mgi_cu_valid_text(K, a, 1, end, sizeof end);
    mgi_cu_begin(K);
    mgi_cu_operand(K, &l, a, 1, type, end);
    mgi_cu_operand(K, &r, b, 0, type, end);
    if (v->in_place && !k) mgi_cu_quote(K, o);
    if (type == MG_F32) mgi_cu_line(K, "mg_contract_fma(%s, %s, %s, %s);", name, end, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    else mgi_cu_line(K, "mg_contract<%s, %d>(%s, %s, %s);", mgi_cu_type[type], depth, name, mgi_cu_str_text(&l), mgi_cu_str_text(&r));
    free(l.s);
    free(r.s);
  }
  if (!v->in_place) mgi_cu_acc_done(K, t, t);
}

/* ---- reductions */
/* -1: over a dimension of extent 1, which changes nothing; 0: rows are joined, 1: columns are. */
MGI_FN int mgi_cu_reduced(const mgi_cu_kernel *K, const mg_op_node *o) {
  int rank = K->b->tensors[o->in[0].id].shape.rank;
  return o->attr.dim == rank - 1 ? 1 : o->attr.dim == rank - 2 ? 0 : -1;
}
MGI_FN void mgi_cu_reduce_declare(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  const mgi_cu_val_info *in = &K->v[o->in[0].id];
  const char *name = mgi_cu_tname(K->b, o->out[0].id), *what = o->code == MG_OP_MAX ? "mg_by_max" : "mg_by_sum";
  if (mgi_cu_reduced(K, o)) mgi_cu_str_put(&K->decl, "  typedef mg_row_reduce<%s, %d, %d> R_%s;\n  R_%s red_%s;\n", what, in->rows, K->threads, name, name, name);
  else mgi_cu_str_put(&K->decl, "  typedef mg_col_reduce<%s, %d, %d> R_%s;\n  R_%s red_%s;\n", what, in->cols, K->threads, name, name, name);
}
MGI_FN void mgi_cu_reduce_done(mgi_cu_kernel *K, uint32_t op, uint32_t t) {
  const mg_op_node *o = &K->b->ops[op];
  const mgi_cu_val_info *in = &K->v[o->in[0].id];
  mgi_cu_val_info *v = &K->v[t];
  const char *name = mgi_cu_tname(K->b, o->out[0].id);
  int row = mgi_cu_reduced(K, o), n = row ? in->rows : in->cols;
  int64_t scratch = 0; /* as mg_row_reduce and mg_col_reduce count it */
  if (row) {
    int g = 8;
    while (g * 2 * n <= K->threads) g *= 2;
    if (g > 32) scratch = (int64_t)n * (g / 32);
  } else if (n < K->threads && K->threads / n > 1) scratch = (int64_t)(K->threads / n) * n;
  mgi_cu_begin(K);
  int obj = mgi_cu_obj_new(K, (n + scratch) * 4);
  mgi_cu_str_put(&K->decl, "  const mg_tile<mg_f32, %d, %d, %d, false> t_%s(mg_shared() + %lld);\n", row ? n : 1, row ? 1 : n, row ? 1 : n, name, (long long)K->obj[obj].offset);
  mgi_cu_obj_touch(K, obj, 1);
  mgi_cu_line(K, "red_%s.finish(t_%s);", name, name);
  v->home = MGI_CU_AT_TILE;
  v->obj = obj;
  v->type = MG_F32;
  snprintf(v->var, sizeof v->var, "t_%.70s", name);
}
MGI_FN void mgi_cu_reduce_step(mgi_cu_kernel *K, uint32_t op) {
  const mg_op_node *o = &K->b->ops[op];
  uint32_t t = o->out[0].id, in = o->in[0].id;
  char rv[800], cv[800];
  mgi_cu_str f = {NULL, 0, 0, 0};
  mgi_cu_prepare(K, in, 0);
  mgi_cu_quote(K, o);
  if (!K->v[t].in_place) {
    mgi_cu_reduce_declare(K, op);
    mgi_cu_line(K, "red_%s.init();", mgi_cu_tname(K->b, t));
  }
  mgi_cu_lambda(K, &f, in, 0, mgi_cu_reduced(K, o) ? 2 : 1);
  mgi_cu_line(K, "red_%s.add(%s, %s, %s);", mgi_cu_tname(K->b, t), mgi_cu_valid_text(K, in, 0, rv, sizeof rv), mgi_cu_valid_text(K, in, 1, cv, sizeof cv), mgi_cu_str_text(&f));
  free(f.s);
  if (!K->v[t].in_place) mgi_cu_reduce_done(K, op, t);
}

/* ---- stores */
MGI_FN void mgi_cu_store_step(mgi_cu_kernel *K, uint32_t op, int index) {
  const mg_op_node *o = &K->b->ops[op];
  const mg_graph *b = K->b;
  uint32_t t = o->in[0].id;
  mg_tensor made = b->up->ops[b->up_op].out[index];
  uint32_t above = mgi_cu_above(K, made);
  const mg_tensor_info *up = &K->em->g->tensors[above];
  int rank = up->shape.rank, most = 4, ifs = 0;
  mgi_cu_str base = {NULL, 0, 0, 0}, sink = {NULL, 0, 0, 0}, cond = {NULL, 0, 0, 0};
  char offset[800], valid[800], stride[1400], dim[200];
  uint32_t acc = mgi_cu_prepare(K, t, 1);
  mgi_cu_str_put(&base, "p_%s", up->name);
  for (int d = 0; d < rank; d++) {
    int64_t align;
    mgi_cu_chunk_text(K, &o->map, above, d, MG_MAX_AXES, offset, sizeof offset, valid, sizeof valid, &align);
    if (!offset[0]) continue;
    mgi_cu_stride_text(K->em, above, d, stride, sizeof stride);
    mgi_cu_str_put(&base, strcmp(stride, "1") ? " + (%s) * (%s)" : " + (%s)", offset, stride);
    if (d == rank - 1) most = align % 4 == 0 ? 4 : align % 2 == 0 ? 2 : 1;
  }
  mgi_cu_quote(K, o);
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > 1 && o->map.to[a] < 0) mgi_cu_str_put(&cond, "%sb_%s == 0", ifs++ ? " && " : "", b->axes[a].name);
  if (ifs) {
    mgi_cu_line(K, "if (%s) { // other blocks along it hold the same values", mgi_cu_str_text(&cond));
    mgi_cu_indent(K, 1);
  }
  mgi_cu_str_put(&sink, "mg_to_global<%s, mg_run(%d, %s)>(%s, ", mgi_cu_type[up->dtype], most, rank > 1 ? mgi_cu_dim_text(K->em, above, rank - 1, dim, sizeof dim) : "0", mgi_cu_str_text(&base));
  mgi_cu_str_put(&sink, "%s, ", rank > 1 ? mgi_cu_stride_text(K->em, above, rank - 2, stride, sizeof stride) : "0");
  mgi_cu_str_put(&sink, "%s)", mgi_cu_stride_text(K->em, above, rank - 1, stride, sizeof stride));
  mgi_cu_site(K, t, acc, mgi_cu_str_text(&sink));
  if (ifs) {
    mgi_cu_indent(K, -1);
    mgi_cu_line(K, "}");
  }
  free(base.s);
  free(sink.s);
  free(cond.s);
}

/* ---- loops */
MGI_FN int mgi_cu_is_concat(const mgi_cu_kernel *K, const mg_op_node *o) {
  for (uint32_t a = 4; a < K->b->n_axes; a++)
    if (o->map.to[a] >= 0) return 1;
  return 0;
}
MGI_FN int mgi_cu_is_max(const mgi_cu_kernel *K, const mg_op_node *o) {
  for (uint32_t a = 4; a < K->b->n_axes; a++)
    if (o->map.to[a] == MG_MAP_MAX) return 1;
  return 0;
}
/* An accumulator that lifts nothing: all axes that it names have one block. */
MGI_FN int mgi_cu_lifts(const mgi_cu_kernel *K, const mg_op_node *o) { return K->b->tensors[o->in[0].id].scope != o->scope; }

typedef struct mgi_cu_ring { int obj, n; int64_t stage; uint32_t load[64]; int64_t at[64]; } mgi_cu_ring;

MGI_FN void mgi_cu_loop_begin(mgi_cu_kernel *K, uint32_t loop, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  const char *L = b->axes[loop].name;
  ring->n = 0;
  ring->stage = 0;
  ring->obj = -1;
  mgi_cu_line(K, "");
  mgi_cu_line(K, "// for %s=%lld", L, (long long)b->axes[loop].extent);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->scope == loop && o->code == MG_OP_LOAD) {
      if (ring->n == 64) {
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "load", "more than 64 loads in a loop");
        return;
      }
      ring->load[ring->n] = k;
      ring->at[ring->n++] = ring->stage;
      ring->stage += (mgi_cu_load_tile_shape(K, k) + 127) / 128 * 128;
    }
    if (o->code != MG_OP_ACCUM || !mgi_cu_lifts(K, o) || b->tensors[o->in[0].id].scope != loop) continue;
    uint32_t in = o->in[0].id, t = o->out[0].id;
    const mg_op_node *p = mgi_cu_producer(K, in);
    mgi_cu_val_info *v = &K->v[t];
    if (K->v[in].in_place && (p->code == MG_OP_MATMUL || p->code == MG_OP_CONCAT_MATMUL)) {
      mgi_cu_acc_declare(K, in);
      mgi_cu_line(K, "acc_%s.zero();", mgi_cu_tname(b, in));
    } else if (K->v[in].in_place) {
      mgi_cu_reduce_declare(K, b->tensors[in].op);
      mgi_cu_line(K, "red_%s.init();", mgi_cu_tname(b, in));
    } else {
      int pitch = mgi_cu_pitch(v->cols, 4);
      mgi_cu_begin(K);
      v->obj = mgi_cu_obj_new(K, (int64_t)v->rows * pitch * 4);
      v->home = MGI_CU_AT_TILE;
      v->type = MG_F32;
      snprintf(v->var, sizeof v->var, "t_%.70s", mgi_cu_tname(b, t));
      mgi_cu_str_put(&K->decl, "  typedef mg_tile<mg_f32, %d, %d, %d, false> T_%s;\n  const T_%s t_%s(mg_shared() + %lld);\n", v->rows, v->cols, pitch, mgi_cu_tname(b, t), mgi_cu_tname(b, t), mgi_cu_tname(b, t),
                  (long long)K->obj[v->obj].offset);
      mgi_cu_obj_touch(K, v->obj, 1);
      if (!mgi_cu_is_concat(K, o)) mgi_cu_line(K, "mg_fill<T_%s, %d>(t_%s, %s);", mgi_cu_tname(b, t), K->threads, mgi_cu_tname(b, t), mgi_cu_is_max(K, o) ? "mg_neg_inf()" : "mg_zero()");
    }
  }
  if (ring->n) {
    mgi_cu_begin(K);
    ring->obj = mgi_cu_obj_new(K, ring->stage * K->stages);
    mgi_cu_obj_touch(K, ring->obj, 1);
    K->obj[ring->obj].written = 0;
    mgi_cu_line(K, "unsigned char *const ring_%s = mg_shared() + %lld; // %d stages of %lld bytes", L, (long long)K->obj[ring->obj].offset, K->stages, (long long)ring->stage);
    mgi_cu_line(K, "const auto load_%s = [&](int i_%s, int at) {", L, L);
    mgi_cu_indent(K, 1);
    mgi_cu_line(K, "(void)i_%s;", L);
    for (int k = 0; k < ring->n; k++) {
      uint32_t t = b->ops[ring->load[k]].out[0].id;
      char to[200];
      snprintf(to, sizeof to, "T_%.60s(ring_%.60s + at * %lld + %lld)", mgi_cu_tname(b, t), L, (long long)ring->stage, (long long)ring->at[k]);
      mgi_cu_load_call(K, ring->load[k], to);
    }
    mgi_cu_indent(K, -1);
    mgi_cu_line(K, "};");
    for (int k = 0; k < K->n_obj; k++) /* earlier groups arrive before the ring's first */
      if (K->obj[k].pending) K->obj[k].pending = 0, K->obj[k].written = 1;
    if (K->stages > 1) {
      mgi_cu_line(K, "for (int s = 0; s < %d; s++) {", K->stages - 1);
      mgi_cu_line(K, "  if (s < %s) load_%s(s, s);", K->count[loop], L);
      mgi_cu_line(K, "  mg_cp_async_commit();");
      mgi_cu_line(K, "}");
      mgi_cu_line(K, "for (int i_%s = 0, now = 0, next = %d; i_%s < %s; i_%s++) {", L, K->stages - 1, L, K->count[loop], L);
    } else mgi_cu_line(K, "for (int i_%s = 0; i_%s < %s; i_%s++) {", L, L, K->count[loop], L);
  } else {
    mgi_cu_arrive(K);
    mgi_cu_line(K, "for (int i_%s = 0; i_%s < %s; i_%s++) {", L, L, K->count[loop], L);
  }
  mgi_cu_indent(K, 1);
  K->loop = loop;
  K->loop_begin = ++K->step;
  mgi_cu_begin(K);
  if (ring->n && K->stages > 1) mgi_cu_line(K, "mg_cp_async_wait<%d>();", K->stages - 2);
  mgi_cu_barrier(K);
  if (ring->n && K->stages > 1) {
    mgi_cu_line(K, "if (i_%s + %d < %s) load_%s(i_%s + %d, next);", L, K->stages - 1, K->count[loop], L, L, K->stages - 1);
    mgi_cu_line(K, "mg_cp_async_commit();");
  } else if (ring->n) {
    mgi_cu_line(K, "load_%s(i_%s, 0);", L, L);
    mgi_cu_line(K, "mg_cp_async_commit();");
    mgi_cu_line(K, "mg_cp_async_wait<0>();");
    mgi_cu_barrier(K);
  }
  for (int k = 0; k < ring->n; k++) {
    uint32_t t = b->ops[ring->load[k]].out[0].id;
    mgi_cu_val_info *v = &K->v[t];
    v->home = MGI_CU_AT_TILE;
    v->obj = -1;
    snprintf(v->var, sizeof v->var, "t_%.70s", mgi_cu_tname(b, t));
    if (K->stages > 1) mgi_cu_line(K, "const T_%s t_%s(ring_%s + now * %lld + %lld);", mgi_cu_tname(b, t), mgi_cu_tname(b, t), L, (long long)ring->stage, (long long)ring->at[k]);
    else mgi_cu_line(K, "const T_%s t_%s(ring_%s + %lld);", mgi_cu_tname(b, t), mgi_cu_tname(b, t), L, (long long)ring->at[k]);
  }
}
MGI_FN void mgi_cu_loop_end(mgi_cu_kernel *K, mgi_cu_ring *ring) {
  const mg_graph *b = K->b;
  uint32_t loop = K->loop;
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (o->code != MG_OP_ACCUM || !mgi_cu_lifts(K, o) || b->tensors[o->in[0].id].scope != loop || K->v[o->in[0].id].in_place) continue;
    uint32_t in = o->in[0].id, t = o->out[0].id, acc = mgi_cu_prepare(K, in, 1);
    char sink[400];
    if (mgi_cu_is_concat(K, o)) {
      int rank = b->tensors[t].shape.rank, d = o->map.to[loop];
      if (d < rank - 2) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum", "a concatenation along a leading dimension");
      if (d == rank - 1) snprintf(sink, sizeof sink, "mg_into(t_%.60s, 0, i_%.60s * %d)", mgi_cu_tname(b, t), b->axes[loop].name, K->v[in].cols);
      else snprintf(sink, sizeof sink, "mg_into(t_%.60s, i_%.60s * %d, 0)", mgi_cu_tname(b, t), b->axes[loop].name, K->v[in].rows);
    } else snprintf(sink, sizeof sink, "mg_join<%s>(t_%.60s)", mgi_cu_is_max(K, o) ? "mg_by_max" : "mg_by_sum", mgi_cu_tname(b, t));
    mgi_cu_quote(K, o);
    K->obj[K->v[t].obj].end = ++K->step; /* every thread joins to its own elements: no barrier among iterations */
    mgi_cu_site(K, in, acc, sink);
    K->obj[K->v[t].obj].written = 1;
  }
  if (ring->n && K->stages > 1) {
    mgi_cu_line(K, "now = now + 1 == %d ? 0 : now + 1;", K->stages);
    mgi_cu_line(K, "next = next + 1 == %d ? 0 : next + 1;", K->stages);
  }
  mgi_cu_indent(K, -1);
  mgi_cu_line(K, "}");
  K->step++;
  if (ring->n) {
    K->obj[ring->obj].end = K->step;
    K->obj[ring->obj].read = K->obj[ring->obj].written = 1;
  }
  mgi_cu_loop_lifetimes(K, K->loop_begin);
  K->loop = 0;
}

MGI_FN int mgi_cu_is_op(const mg_op_node *o, mg_opcode a, mg_opcode b) { return o->code == a || o->code == b; }

/* Counts the loads outside of loops that t's expression reads. */
MGI_FN void mgi_cu_count_sites(mgi_cu_kernel *K, uint32_t t, int weight, int store) {
  const mg_op_node *o = mgi_cu_producer(K, t);
  if (o->code == MG_OP_LOAD) {
    K->v[t].sites += weight;
    K->v[t].site_store |= store;
    return;
  }
  if (K->v[t].home == MGI_CU_AT_INLINE)
    for (int k = 0; k < o->n_in; k++) mgi_cu_count_sites(K, o->in[k].id, weight, store);
}

/* What does not depend on the layout: extents, who feeds whom, warps. */
MGI_FN void mgi_cu_analyse(mgi_cu_kernel *K) {
  const mg_graph *b = K->b;
  int M = 0, N = 0, depth = 0;
  for (uint32_t a = 1; a <= 3; a++)
    if (b->axes[a].extent > (a == 1 ? 0x7FFFFFFF : 65535))
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "%lld blocks along %s: a grid has at most %d there", (long long)b->axes[a].extent, b->axes[a].name, a == 1 ? 0x7FFFFFFF : 65535);
  for (uint32_t a = 4; a < b->n_axes; a++)
    if (b->axes[a].parent) mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, b->axes[a].name, "loop %s stands inside of loop %s: nested loops are not emitted", b->axes[a].name, b->axes[b->axes[a].parent].name);
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    const mg_op_info *row = mg_op_row(o->code);
    if (o->code == MG_OP_GRAPH) {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "thread graphs are not emitted");
      return;
    }
    if (o->code == MG_OP_STORE) continue;
    uint32_t t = o->out[0].id;
    const mg_tensor_info *i = &b->tensors[t];
    mgi_cu_val_info *v = &K->v[t];
    int rank = i->shape.rank, reduced = -1;
    const mgi_cu_val_info *x = o->code == MG_OP_LOAD ? NULL : &K->v[o->in[0].id];
    for (int d = 0; d < rank; d++) {
      if (d < rank - 2 && i->shape.dim[d] != 1) {
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "'%.60s' has %lld elements a block along dimension %d of %d: only the last two may have more than 1", mgi_cu_tname(b, t),
                      (long long)i->shape.dim[d], d, rank);
        return;
      }
    }
    if (mg_shape_elements(&i->shape) < 0 || mg_shape_elements(&i->shape) > 1 << 28) {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "'%.60s' has more than 2^28 elements a block", mgi_cu_tname(b, t));
      return;
    }
    v->cols = rank > 0 ? (int)i->shape.dim[rank - 1] : 1;
    v->rows = rank > 1 ? (int)i->shape.dim[rank - 2] : 1;
    v->home = MGI_CU_AT_NONE;
    if (o->code == MG_OP_LOAD) {
      if (rank > 1) v->rr.op = k, v->rr.d = rank - 2, v->rr.last = MG_MAX_AXES;
      if (rank > 0) v->cr.op = k, v->cr.d = rank - 1, v->cr.last = MG_MAX_AXES;
    } else if (row->elementwise) {
      v->home = MGI_CU_AT_INLINE;
      for (int j = 0; j < o->n_in; j++) {
        const mgi_cu_val_info *z = &K->v[o->in[j].id];
        if (v->rows > 1 && z->rows == v->rows && z->rr.op) v->rr = z->rr;
        if (v->cols > 1 && z->cols == v->cols && z->cr.op) v->cr = z->cr;
      }
    } else if (mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) {
      const mgi_cu_val_info *right = &K->v[o->in[o->code == MG_OP_MATMUL ? 1 : 2].id];
      if (b->tensors[o->in[0].id].shape.rank < 2 || b->tensors[o->in[1].id].shape.rank < 2) {
        mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "matmul", "operands of rank 1");
        return;
      }
      v->rr = x->rr;
      v->cr = right->cr;
      if (v->rows > M) M = v->rows;
      if (v->cols > N) N = v->cols;
      if (x->cols > depth) depth = x->cols;
    } else if (mgi_cu_is_op(o, MG_OP_SUM, MG_OP_MAX)) {
      reduced = mgi_cu_reduced(K, o);
      v->rr = x->rr;
      v->cr = x->cr;
      if (reduced == 0) v->rr.op = 0;
      if (reduced == 1) v->cr.op = 0;
      if (reduced < 0) v->home = MGI_CU_AT_INLINE;
    } else if (o->code == MG_OP_ACCUM) {
      v->rr = x->rr;
      v->cr = x->cr;
      if (!mgi_cu_lifts(K, o)) v->home = MGI_CU_AT_INLINE;
      for (uint32_t a = 1; a < b->n_axes; a++) {
        int to = o->map.to[a];
        if (to == MG_MAP_NONE) continue;
        if (a <= 3) {
          mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, "accum", "'%.60s' accumulates over grid axis %s: accumulators over the grid are not emitted", mgi_cu_tname(b, t), b->axes[a].name);
          return;
        }
        if (to >= 0 && to == rank - 2) v->rr.last = a - 1;
        if (to >= 0 && to == rank - 1) v->cr.last = a - 1;
      }
    } else if (row->moves) {
      v->home = MGI_CU_AT_INLINE;
      for (int d = rank < 2 ? 0 : rank - 2; d < rank; d++) {
        mgi_cu_dim_ref none = {0, 0, 0}, from = none;
        int xr = b->tensors[o->in[0].id].shape.rank;
        int same = (o->code == MG_OP_REPEAT || o->code == MG_OP_CONCAT) && d != o->attr.dim ? d : o->code == MG_OP_TRANSPOSE ? o->attr.perm[d] : -1;
        if (same >= 0) from = same == xr - 1 ? x->cr : same == xr - 2 ? x->rr : none;
        if (d == rank - 1) v->cr = from;
        else v->rr = from;
      }
    } else {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, mgi_cu_op_name(b, o), "the operator neither moves elements nor is one that the emitter computes");
      return;
    }
  }
  /* Accumulators that a matmul or a reduction fills directly: it has no other reader. */
  for (uint32_t t = 1; t < b->n_tensors; t++) {
    const mg_op_node *p = mgi_cu_producer(K, t);
    int uses = 0;
    uint32_t by = 0;
    for (uint32_t k = 1; k < b->n_ops; k++)
      for (int j = 0; j < b->ops[k].n_in && b->ops[k].code != MG_OP_LOAD; j++)
        if (b->ops[k].in[j].id == t) uses++, by = k;
    const mg_op_node *o = &b->ops[by];
    if (uses != 1 || o->code != MG_OP_ACCUM || !mgi_cu_lifts(K, o) || K->v[t].home == MGI_CU_AT_INLINE) continue;
    int to = o->map.to[b->tensors[t].scope];
    if ((mgi_cu_is_op(p, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL) || p->code == MG_OP_SUM) && to == MG_MAP_SUM) K->v[t].in_place = (int)by;
    if (p->code == MG_OP_MAX && to == MG_MAP_MAX) K->v[t].in_place = (int)by;
  }
  for (uint32_t k = 1; k < b->n_ops; k++) {
    const mg_op_node *o = &b->ops[k];
    if (mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) {
      int pairs = o->n_in / 2;
      for (int j = 0; j < o->n_in; j++) {
        int swapped;
        uint32_t load = mgi_cu_plain_load(K, o->in[j].id, &swapped);
        mgi_cu_count_sites(K, o->in[j].id, 2, 0);
        if (!load) continue;
        mgi_cu_val_info *l = &K->v[b->ops[load].out[0].id];
        if ((j < pairs) ^ swapped) l->contracted_cols = 1;
        else l->contracted_rows = 1;
      }
    } else if (o->code == MG_OP_STORE) mgi_cu_count_sites(K, o->in[0].id, 1, 1);
    else if (mgi_cu_is_op(o, MG_OP_SUM, MG_OP_MAX) || (o->code == MG_OP_ACCUM && mgi_cu_lifts(K, o))) mgi_cu_count_sites(K, o->in[0].id, 1, 0);
  }
  /* Warps: few rows leave the contraction to split. */
  int warps = b->threads / 32;
  if (b->threads < 32 || b->threads > 1024 || b->threads % 32) {
    mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "threads=%d: want a multiple of 32 between 32 and 1024", b->threads);
    return;
  }
  K->threads = b->threads;
  K->wm = K->wn = K->wk = 1;
  while (K->wm * 2 <= warps && K->wm * 16 < M) K->wm *= 2;
  while (K->wm * K->wn * 2 <= warps && K->wn * 32 < N && (M > 16 || depth < 16 * warps)) K->wn *= 2;
  K->wk = M ? warps / (K->wm * K->wn) : 1;
  if (!M) K->wm = K->wn = 1;
  if (mg_plan_get(b, "warps_m") || mg_plan_get(b, "warps_n") || mg_plan_get(b, "warps_k")) {
    int64_t m = mg_plan_int(b, "warps_m", 1), n = mg_plan_int(b, "warps_n", 1), k = mg_plan_int(b, "warps_k", 1);
    if (m < 1 || n < 1 || k < 1 || m > 32 || n > 32 || k > 32 || m * n * k != warps) {
      mgi_cu_emit_fail(K->em, MG_UNSUPPORTED, K->name, "the plan's warps %lld x %lld x %lld are not the %d warps of threads=%d", (long long)m, (long long)n, (long long)k, warps, b->threads);
      return;
    }
    K->wm = (int)m;
    K->wn = (int)n;
    K->wk = (int)k;
  } else if (M && K->wm * K->wn * K->wk != warps) { /* an odd number of warps: all of them split the contraction */
    K->wm = K->wn = 1;
    K->wk = warps;
  }
}

/* Writes declarations and body for the layout so far. */
MGI_FN void mgi_cu_pass(mgi_cu_kernel *K, int pass, const mgi_cu_val_info *fresh) {
  const mg_graph *b = K->b;
  mgi_cu_ring ring;
  int stores = 0;
  memcpy(K->v, fresh, b->n_tensors * sizeof *fresh);
  K->pass = pass;
  K->n_obj = K->step = K->registers = 0;
  K->decl.n = K->body.n = 0;
  K->loop = 0;
  memset(&ring, 0, sizeof ring);
  snprintf(K->pad, sizeof K->pad, "  ");
  for (uint32_t k = 1; k <= b->n_ops && K->em->st == MG_OK; k++) {
    uint32_t scope = k < b->n_ops ? b->ops[k].scope : 0;
    if (K->loop && scope != K->loop) mgi_cu_loop_end(K, &ring);
    if (k == b->n_ops) break;
    if (scope && scope != K->loop) mgi_cu_loop_begin(K, scope, &ring);
    const mg_op_node *o = &b->ops[k];
    switch (o->code) {
      case MG_OP_LOAD: if (!scope) mgi_cu_load_step(K, k); break;
      case MG_OP_MATMUL: case MG_OP_CONCAT_MATMUL: mgi_cu_matmul_step(K, k); break;
      case MG_OP_SUM: case MG_OP_MAX: if (K->v[o->out[0].id].home != MGI_CU_AT_INLINE) mgi_cu_reduce_step(K, k); break;
      case MG_OP_STORE: mgi_cu_store_step(K, k, stores++); break;
      case MG_OP_ACCUM: {
        uint32_t in = o->in[0].id;
        if (!mgi_cu_lifts(K, o) || !K->v[in].in_place) break;
        mgi_cu_quote(K, o);
        if (mgi_cu_is_op(mgi_cu_producer(K, in), MG_OP_SUM, MG_OP_MAX)) mgi_cu_reduce_done(K, b->tensors[in].op, o->out[0].id);
        else mgi_cu_acc_done(K, in, o->out[0].id);
        break;
      }
      default: break;
    }
  }
}

/* Pointer to kernel-level tensor t, as the launch function has it. */
MGI_FN const char *mgi_cu_pointer_text(const mgi_cu_emit *em, uint32_t t, char *out, size_t n) {
  const mg_graph *g = em->g;
  const char *type = mgi_cu_type[g->tensors[t].dtype];
  for (uint32_t k = 0; k < g->n_in; k++)
    if (g->in[k].id == t) {
      snprintf(out, n, "(const %s *)in[%u]", type, (unsigned)k);
      return out;
    }
  for (uint32_t k = 0; k < g->n_out; k++)
    if (g->out[k].id == t) {
      snprintf(out, n, "(%s *)out[%u]", type, (unsigned)k);
      return out;
    }
  snprintf(out, n, "(%s *)(space + %s_AT_%s)", type, g->name, g->tensors[t].name);
  return out;
}

/* Emits block graph b as a kernel: op `owner` of em->g, or, with `above`, of a graph made for a library operator. */
MGI_FN void mgi_cu_kernel_of(mgi_cu_emit *em, const mg_graph *b, const uint32_t *above, int number, const char *name, const char (*counts)[400]) {
  mgi_cu_kernel *K = (mgi_cu_kernel *)calloc(1, sizeof *K);
  mgi_cu_val_info *v = (mgi_cu_val_info *)calloc(b->n_tensors, sizeof *v), *fresh = (mgi_cu_val_info *)calloc(b->n_tensors, sizeof *v);
  char text[400];
  if (!K || !v || !fresh) mgi_cu_emit_fail(em, MG_NO_MEMORY, name, "no memory");
  else {
    K->em = em;
    K->b = b;
    K->above = above;
    K->number = number;
    K->v = v;
    snprintf(K->name, sizeof K->name, "%.150s", name);
    for (uint32_t a = 1; a < b->n_axes; a++) {
      if (counts) snprintf(K->count[a], sizeof K->count[a], "%s", counts[a]);
      else if (a <= 3 && b->axes[a].extent == 1) snprintf(K->count[a], sizeof K->count[a], "1");
      else snprintf(K->count[a], sizeof K->count[a], "%.150s_K%d_%.100s", em->g->name, number, b->axes[a].name);
    }
    mgi_cu_analyse(K);
    memcpy(fresh, v, b->n_tensors * sizeof *v);
    int given = (int)mg_plan_int(b, "stages", 0);
    if (given < 0 || given > 8) mgi_cu_emit_fail(em, MG_UNSUPPORTED, name, "the plan's stages=%d: want 1 to 8", given);
    for (K->stages = given ? given : 3; K->stages && em->st == MG_OK; K->stages--) {
      mgi_cu_pass(K, 0, fresh);
      mgi_cu_lay_out(K);
      if (K->shared <= em->shared_limit) break;
      if (given || K->stages == 1)
        mgi_cu_emit_fail(em, MG_UNSUPPORTED, name, "a block takes %lld bytes of shared memory at %d stage%s, %s gives it %lld", (long long)K->shared, K->stages, K->stages == 1 ? "" : "s", em->arch,
                      (long long)em->shared_limit);
    }
    if (em->st == MG_OK) mgi_cu_pass(K, 1, fresh);
  }
  if (em->st == MG_OK) {
    mgi_cu_str *s = &em->kernels, *l = &em->launches;
    mgi_cu_str_put(s, "/* Grid (%s, %s, %s), %d threads: warps %d x %d x %d (rows, columns, contraction); %lld bytes of shared memory. */\n", K->count[1], K->count[2], K->count[3], K->threads, K->wm, K->wn,
                K->wk, (long long)K->shared);
    mgi_cu_str_put(s, "MG_KERNEL(%d) void %s(", K->threads, name);
    mgi_cu_str_put(l, "  rc = MG_LAUNCH(%s, %s, %s, %s, %d, %lld, stream", name, K->count[1], K->count[2], K->count[3], K->threads, (long long)K->shared);
    int params = 0, stores = 0;
    for (uint32_t k = 1; k < b->n_ops; k++) {
      const mg_op_node *o = &b->ops[k];
      uint32_t t = 0;
      if (o->code == MG_OP_LOAD) {
        t = mgi_cu_above(K, o->in[0]);
        for (uint32_t j = 1; j < k; j++)
          if (b->ops[j].code == MG_OP_LOAD && mgi_cu_above(K, b->ops[j].in[0]) == t) t = 0;
      }
      if (o->code == MG_OP_STORE) t = mgi_cu_above(K, b->up->ops[b->up_op].out[stores++]);
      if (!t) continue;
      mgi_cu_str_put(s, "%s%s%s *p_%s", params++ ? ", " : "", o->code == MG_OP_LOAD ? "const " : "", mgi_cu_type[em->g->tensors[t].dtype], em->g->tensors[t].name);
      mgi_cu_str_put(l, ", %s", mgi_cu_pointer_text(em, t, text, sizeof text));
    }
    mgi_cu_str_put(s, ") {\n");
    for (uint32_t a = 1; a <= 3; a++)
      if (b->axes[a].extent > 1 || counts) mgi_cu_str_put(s, "  const int b_%s = mg_bid(%u);\n  (void)b_%s;\n", b->axes[a].name, (unsigned)a - 1, b->axes[a].name);
    mgi_cu_str_put(s, "%s%s}\n\n", mgi_cu_str_text(&K->decl), mgi_cu_str_text(&K->body));
    mgi_cu_str_put(l, ");\n  if (rc) return rc;\n");
    em->n_launches++;
    if (K->decl.oom || K->body.oom || s->oom || l->oom) mgi_cu_emit_fail(em, MG_NO_MEMORY, name, "no memory");
  }
  if (K) {
    free(K->decl.s);
    free(K->body.s);
  }
  free(K);
  free(v);
  free(fresh);
}

/* ---- operators at kernel level */

/* A matmul becomes a block graph over the same templates: 64 x 64 tiles, or 16 rows where there are few. */
MGI_FN void mgi_cu_library_matmul(mgi_cu_emit *em, const mg_op_node *o, const char *name) {
  const mg_graph *g = em->g;
  const mg_shape *out = &g->tensors[o->out[0].id].shape;
  int pairs = o->n_in / 2, rank = out->rank, batch = -1;
  int64_t M = out->dim[rank - 2], N = out->dim[rank - 1];
  uint32_t above[MG_MAX_IN + 8];
  char counts[MG_MAX_AXES + 1][400], dim[200];
  mg_graph *p, *k;
  mg_tensor in[4], made[MG_MAX_OUT], sum = {0};
  memset(counts, 0, sizeof counts);
  for (int d = 0; d < rank - 2; d++)
    if (out->dim[d] != 1) {
      if (batch >= 0) {
        mgi_cu_emit_fail(em, MG_UNSUPPORTED, "matmul", "more than one leading dimension at kernel level");
        return;
      }
      batch = d;
    }
  p = mg_program_new("library", NULL);
  if (!p) {
    mgi_cu_emit_fail(em, MG_NO_MEMORY, "matmul", "no memory");
    return;
  }
  memset(above, 0, sizeof above);
  for (int j = 0; j < o->n_in; j++) {
    const mg_tensor_info *x = &g->tensors[o->in[j].id];
    char nm[16];
    int32_t order[MG_MAX_RANK];
    for (int d = 0; d < x->shape.rank; d++) order[d] = x->op ? d : x->order[d];
    snprintf(nm, sizeof nm, "i%d", j);
    in[j] = mg_input_ordered(p, nm, x->dtype, x->shape.rank, x->shape.dim, order);
    if (in[j].id && in[j].id < MG_MAX_IN + 8) above[in[j].id] = o->in[j].id;
  }
  int tm = M <= 16 ? 16 : 64, tn = 64, tk = 64, threads = 128;
  int64_t grid[3];
  grid[0] = mgi_cu_ceil_div(N, tn);
  grid[1] = mgi_cu_ceil_div(M, tm);
  grid[2] = batch >= 0 ? out->dim[batch] : 1;
  /* A chunk is ceil(extent / count). */
  int64_t cn = mgi_cu_ceil_div(N, grid[0]), cm = mgi_cu_ceil_div(M, grid[1]);
  snprintf(counts[1], sizeof counts[1], "mg_chunks(%s, %lld)", mgi_cu_dim_text(em, o->out[0].id, rank - 1, dim, sizeof dim), (long long)cn);
  snprintf(counts[2], sizeof counts[2], "mg_chunks(%s, %lld)", mgi_cu_dim_text(em, o->out[0].id, rank - 2, dim, sizeof dim), (long long)cm);
  if (batch >= 0) snprintf(counts[3], sizeof counts[3], "%s", mgi_cu_dim_text(em, o->out[0].id, batch, dim, sizeof dim));
  else snprintf(counts[3], sizeof counts[3], "1");
  k = mg_graph_begin(p, grid, threads);
  for (int j = 0; j < pairs && k; j++) {
    mg_tensor part[2];
    const mg_tensor_info *a = &g->tensors[o->in[j].id];
    int64_t depth = a->shape.dim[a->shape.rank - 1], n = mgi_cu_ceil_div(depth, tk), ck = mgi_cu_ceil_div(depth, n);
    mg_axis loop = mg_loop_begin(k, j ? "k1" : "k", n);
    if (loop.id) snprintf(counts[loop.id], sizeof counts[loop.id], "mg_chunks(%s, %lld)", mgi_cu_dim_text(em, o->in[j].id, a->shape.rank - 1, dim, sizeof dim), (long long)ck);
    for (int side = 0; side < 2; side++) {
      const mg_tensor_info *x = &g->tensors[o->in[j + side * pairs].id];
      int r = x->shape.rank, xb = batch - (rank - r);
      mg_map m = mg_map_set(mg_map_none(), loop, side ? r - 2 : r - 1);
      m = mg_map_set(m, mg_grid_axis(k, side ? 0 : 1), side ? r - 1 : r - 2);
      if (batch >= 0 && xb >= 0 && x->shape.dim[xb] != 1) m = mg_map_set(m, mg_grid_axis(k, 2), xb);
      part[side] = mg_load(k, in[j + side * pairs], m);
    }
    mg_tensor c = mg_matmul(k, part[0], part[1]);
    mg_loop_end(k);
    c = mg_accum(k, c, mg_map_set(mg_map_none(), loop, MG_MAP_SUM));
    sum = j ? mg_add(k, sum, c) : c;
  }
  if (k) {
    mg_map m = mg_map_set(mg_map_set(mg_map_none(), mg_grid_axis(k, 0), rank - 1), mg_grid_axis(k, 1), rank - 2);
    if (batch >= 0) m = mg_map_set(m, mg_grid_axis(k, 2), batch);
    mg_store(k, sum, m);
    if (mg_graph_end(k, made) == 1) {
      mg_output(p, made[0]);
      if (made[0].id < MG_MAX_IN + 8) above[made[0].id] = o->out[0].id;
    }
  }
  mg_error err;
  if (mg_check(p, &err) != MG_OK) mgi_cu_emit_fail(em, MG_UNSUPPORTED, "matmul", "%s", err.msg);
  else mgi_cu_kernel_of(em, k, above, -1, name, (const char (*)[400])counts);
  mg_graph_free(p);
}

/* Text of the memory place of an element of kernel-level tensor t whose coordinates have the names `idx`<d + shift>. */
MGI_FN void mgi_cu_place_text(const mgi_cu_emit *em, mgi_cu_str *s, uint32_t t, const char *idx, const char *end, int shift) {
  const mg_tensor_info *i = &em->g->tensors[t];
  char stride[1400];
  mgi_cu_str_put(s, "p_%s", i->name);
  for (int d = 0; d < i->shape.rank; d++) {
    if (i->shape.dim[d] == 1) continue;
    mgi_cu_stride_text(em, t, d, stride, sizeof stride);
    mgi_cu_str_put(s, " + %s%d%s", idx, d + shift, end);
    if (strcmp(stride, "1")) mgi_cu_str_put(s, " * (%s)", stride);
  }
}
/* Elementwise and moving rows, sums and maxima over whole tensors of any rank: an element, or a warp, a result. */
MGI_FN void mgi_cu_library_op(mgi_cu_emit *em, const mg_op_node *o, const char *name) {
  const mg_graph *g = em->g;
  const mg_op_info *row = mg_op_row(o->code);
  uint32_t t = o->out[0].id;
  const mg_tensor_info *out = &g->tensors[t];
  int rank = out->shape.rank, reduce = mgi_cu_is_op(o, MG_OP_SUM, MG_OP_MAX);
  mgi_cu_str *s = &em->kernels, *l = &em->launches, count = {NULL, 0, 0, 0};
  char dim[200], text[400];
  if (!reduce && !row->elementwise && !row->moves) {
    mgi_cu_emit_fail(em, MG_UNSUPPORTED, row->name, "the operator has no kernel-level form");
    return;
  }
  mgi_cu_str_put(&count, "(int64_t)1");
  for (int d = 0; d < rank; d++)
    if (out->shape.dim[d] != 1) mgi_cu_str_put(&count, " * %s", mgi_cu_dim_text(em, t, d, dim, sizeof dim));
  mgi_cu_str_put(s, "/* %s = %s(", out->name, row->name);
  for (int k = 0; k < o->n_in; k++) mgi_cu_str_put(s, "%s%s", k ? ", " : "", g->tensors[o->in[k].id].name);
  mgi_cu_str_put(s, "), over whole tensors. */\nMG_KERNEL(256) void %s(", name);
  mgi_cu_str_put(l, "  rc = MG_LAUNCH(%s, mg_library_blocks(%s, %d), 1, 1, 256, 0, stream", name, mgi_cu_str_text(&count), reduce ? 8 : 256);
  for (int k = 0; k < o->n_in; k++) {
    int again = 0;
    for (int j = 0; j < k; j++) again |= o->in[j].id == o->in[k].id;
    if (again) continue;
    mgi_cu_str_put(s, "const %s *p_%s, ", mgi_cu_type[g->tensors[o->in[k].id].dtype], g->tensors[o->in[k].id].name);
    mgi_cu_str_put(l, ", %s", mgi_cu_pointer_text(em, o->in[k].id, text, sizeof text));
  }
  mgi_cu_str_put(s, "%s *p_%s) {\n  const int64_t n = %s;\n", mgi_cu_type[out->dtype], out->name, mgi_cu_str_text(&count));
  mgi_cu_str_put(l, ", %s);\n  if (rc) return rc;\n", mgi_cu_pointer_text(em, t, text, sizeof text));
  if (reduce) {
    mgi_cu_str_put(s, "  mg_each_reduction<%s>(n, %s, mg_library_blocks(n, 8), [&](int64_t e, int64_t k) {\n", o->code == MG_OP_MAX ? "mg_by_max" : "mg_by_sum",
                mgi_cu_dim_text(em, o->in[0].id, o->attr.dim, dim, sizeof dim));
    for (int d = rank - 1; d >= 0; d--) {
      if (d == o->attr.dim) mgi_cu_str_put(s, "    const int64_t x%d = k;\n", d);
      else if (out->shape.dim[d] != 1) mgi_cu_str_put(s, "    const int64_t x%d = e %% %s;\n    e /= %s;\n", d, mgi_cu_dim_text(em, t, d, dim, sizeof dim), dim);
      else mgi_cu_str_put(s, "    const int64_t x%d = 0;\n", d);
      mgi_cu_str_put(s, "    (void)x%d;\n", d);
    }
    mgi_cu_str_put(s, "    return mg_widen(mg_ldg(");
    mgi_cu_place_text(em, s, o->in[0].id, "x", "", 0);
    mgi_cu_str_put(s, "));\n  }, [&](int64_t e, mg_num v) { mg_stg(p_%s + e, mg_narrow<%s>(v)); });\n}\n\n", out->name, mgi_cu_type[out->dtype]);
  } else {
    mgi_cu_str_put(s, "  mg_each_element(n, mg_library_blocks(n, 256), [&](int64_t e) {\n    int64_t rest = e;\n    (void)rest;\n");
    for (int d = rank - 1; d >= 0; d--) {
      if (out->shape.dim[d] != 1) mgi_cu_str_put(s, "    const int64_t x%d = rest %% %s;\n    rest /= %s;\n", d, mgi_cu_dim_text(em, t, d, dim, sizeof dim), dim);
      else mgi_cu_str_put(s, "    const int64_t x%d = 0;\n", d);
      mgi_cu_str_put(s, "    (void)x%d;\n", d);
    }
    if (row->elementwise) {
      char arg[3][80];
      for (int k = 0; k < 3; k++) snprintf(arg[k], sizeof arg[k], "mg_zero()");
      for (int k = 0; k < o->n_in && k < 3; k++) {
        mgi_cu_str_put(s, "    const mg_num v%d = mg_widen(mg_ldg(", k);
        mgi_cu_place_text(em, s, o->in[k].id, "x", "", rank - g->tensors[o->in[k].id].shape.rank);
        mgi_cu_str_put(s, "));\n");
        snprintf(arg[k], sizeof arg[k], "v%d", k);
      }
      if (row->attr == MG_ATTR_RAT) snprintf(arg[2], sizeof arg[2], "mg_const(%lld, %lld)", (long long)o->attr.c.num, (long long)o->attr.c.den);
      mgi_cu_str_put(s, "    const mg_num v = mg_dev_%s(%s, %s, %s);\n", mgi_cu_rows[o->code].id, arg[0], arg[1], arg[2]);
    } else {
      mgi_cu_str_put(s, "    const int64_t to[MG_MAX_RANK] = {");
      for (int d = 0; d < rank; d++) mgi_cu_str_put(s, "%sx%d", d ? ", " : "", d);
      mgi_cu_str_put(s, "};\n    int64_t at[MG_MAX_RANK];\n    const mg_attr A = ");
      mgi_cu_attr_text(s, &o->attr);
      mgi_cu_str_put(s, ";\n    const mg_shape S[] = {");
      for (int k = 0; k < o->n_in; k++) {
        const mg_shape *f = &g->tensors[o->in[k].id].shape;
        mgi_cu_str_put(s, "%s{%d, {", k ? ", " : "", f->rank);
        for (int d = 0; d < f->rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_dim_text(em, o->in[k].id, d, dim, sizeof dim));
        mgi_cu_str_put(s, "}, {0}}");
      }
      mgi_cu_str_put(s, "};\n    const int from = mg_dev_index_%s(&A, S, to, at);\n    mg_num v = mg_zero();\n", mgi_cu_rows[o->code].id);
      for (int k = 0; k < o->n_in; k++) {
        mgi_cu_str_put(s, "    if (from == %d) v = mg_widen(mg_ldg(", k);
        mgi_cu_place_text(em, s, o->in[k].id, "at[", "]", 0);
        mgi_cu_str_put(s, "));\n");
      }
    }
    mgi_cu_str_put(s, "    mg_stg(p_%s + e, mg_narrow<%s>(v));\n  });\n}\n\n", out->name, mgi_cu_type[out->dtype]);
  }
  free(count.s);
  em->n_launches++;
}

/* --------------------------------------------------------------------------------------------------- >>file */
MGI_FN void mgi_cu_emit_quote(mgi_cu_str *s, const char *text) {
  while (text && *text) {
    const char *end = strchr(text, '\n');
    size_t n = end ? (size_t)(end - text) : strlen(text);
    mgi_cu_str_put(s, " * ");
    for (size_t k = 0; k < n; k++) /* nothing in it may end the comment */
      mgi_cu_str_put(s, "%c%s", text[k], text[k] == '*' && k + 1 < n && text[k + 1] == '/' ? " " : "");
    mgi_cu_str_put(s, "\n");
    text += n + (end != NULL);
  }
}
MGI_FN void mgi_cu_emit_io(const mgi_cu_emit *em, mgi_cu_str *s, const char *what, const mg_tensor *list, uint32_t n) {
  char text[1400];
  mgi_cu_str_put(s, "static const mg_io_info %s_%s[] = {\n", em->g->name, what);
  for (uint32_t k = 0; k < n; k++) {
    const mg_tensor_info *i = &em->g->tensors[list[k].id];
    static const char *const types[] = {"MG_F16", "MG_BF16", "MG_F32"};
    mgi_cu_str_put(s, "  {\"%s\", %s, %d, {", i->name, types[i->dtype], i->shape.rank);
    for (int d = 0; d < i->shape.rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_dim_text(em, list[k].id, d, text, sizeof text));
    mgi_cu_str_put(s, "}, {");
    for (int d = 0; d < i->shape.rank; d++) mgi_cu_str_put(s, "%s%s", d ? ", " : "", mgi_cu_stride_text(em, list[k].id, d, text, sizeof text));
    mgi_cu_str_put(s, "}, {");
    for (int d = 0; d < i->shape.rank; d++) mgi_cu_str_put(s, "%s%d", d ? ", " : "", i->op ? d : i->order[d]);
    mgi_cu_str_put(s, "}},\n");
  }
  mgi_cu_str_put(s, "};\n");
}

MGI_FN mg_status mgi_cu_emit_run(const mg_graph *g, const char *arch, const char *certificate, char **text, mg_error *e) {
  static const struct { const char *arch; int64_t shared; } archs[] = {{"sm_80", 166912}, {"sm_86", 101376}, {"sm_89", 101376}, {"sm_90", 232448}, {"sm_90a", 232448}};
  mgi_cu_emit em_, *em = &em_;
  mgi_cu_str out = {NULL, 0, 0, 0};
  char name[300], dim[1400];
  memset(em, 0, sizeof *em);
  em->g = g;
  em->e = e;
  em->arch = arch ? arch : "sm_90a";
  for (size_t k = 0; k < sizeof archs / sizeof *archs; k++)
    if (!strcmp(archs[k].arch, em->arch)) em->shared_limit = archs[k].shared;
  if (!em->shared_limit) return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emit", "architecture '%.40s': want sm_80, sm_86, sm_89, sm_90 or sm_90a", em->arch);
  if (!g || g->level != MG_KERNEL) return mg_fail(e, MG_BAD_INPUT, "mg_cuda_emit", "want a program");
  if (strlen(g->name) > 100) return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emit", "the program's name has more than 100 characters");
  for (uint32_t t = 1; t < g->n_tensors; t++)
    if (!g->tensors[t].name || strlen(g->tensors[t].name) > 60) return mg_fail(e, MG_UNSUPPORTED, "mg_cuda_emit", "a tensor's name has more than 60 characters, or mg_check was not called");
  em->st = mg_classes_of(g, &em->cls, e);
  if (em->st != MG_OK) return em->st;

  for (uint32_t k = 1; k < g->n_ops && em->st == MG_OK; k++) {
    const mg_op_node *o = &g->ops[k];
    if (o->code == MG_OP_GRAPH) {
      for (uint32_t t = 1; t < o->sub->n_tensors; t++)
        if (!o->sub->tensors[t].name || strlen(o->sub->tensors[t].name) > 60) mgi_cu_emit_fail(em, MG_UNSUPPORTED, "mg_cuda_emit", "a tensor's name has more than 60 characters, or mg_check was not called");
      if (em->st != MG_OK) break;
      snprintf(name, sizeof name, "%s_kernel%d", g->name, em->n_graphs);
      mgi_cu_kernel_of(em, o->sub, NULL, em->n_graphs, name, NULL);
      em->n_graphs++;
    } else {
      snprintf(name, sizeof name, "%s_op%u_%s", g->name, (unsigned)k, mg_op_row(o->code)->name);
      if (mgi_cu_is_op(o, MG_OP_MATMUL, MG_OP_CONCAT_MATMUL)) mgi_cu_library_matmul(em, o, name);
      else mgi_cu_library_op(em, o, name);
    }
  }

  if (em->st == MG_OK && text) {
    char *source = NULL;
    uint8_t used[MG_OP_TABLE_END];
    int any = 0;
    memset(used, 0, sizeof used);
    em->st = mg_print(g, &source, e);
    const char *n = g->name;
    mgi_cu_str_put(&out, "/* nvcc -O3 -std=c++17 -gencode arch=compute_%s,code=%s -Xcompiler -fPIC -shared -I<mirage> -o %s.so %s.cu\n *\n", em->arch + 3, em->arch, n, n);
    mgi_cu_str_put(&out, " * <mirage> is the directory of mirage_cuda.cuh.  Exports %s_launch, %s_workspace_bytes, %s_info.\n *\n * mugraph {{{\n", n, n, n);
    mgi_cu_emit_quote(&out, source);
    mgi_cu_str_put(&out, " * }}} mugraph\n *\n * certificate:\n");
    mgi_cu_emit_quote(&out, certificate && certificate[0] ? certificate : "not certified");
    mgi_cu_str_put(&out, " */\n");
    mg_string_free(source);
    for (uint32_t k = 1; k < g->n_ops; k++) {
      if (g->ops[k].code < MG_OP_TABLE_END) used[g->ops[k].code] = 1;
      for (uint32_t j = 1; g->ops[k].sub && j < g->ops[k].sub->n_ops; j++)
        if (g->ops[k].sub->ops[j].code < MG_OP_TABLE_END) used[g->ops[k].sub->ops[j].code] = 1;
    }
    for (int k = 1; k < MG_OP_TABLE_END; k++)
      if (used[k] && mgi_cu_rows[k].row) {
        mgi_cu_str_put(&out, "%s  %s", any++ ? " \\\n" : "#define MG_USER_OPS(E, T) \\\n", mgi_cu_rows[k].row);
      }
    mgi_cu_str_put(&out, "%s#include \"mirage_cuda.cuh\"\n\n/* Extents, and the counts of grid and loop axes.  Chunks are fixed: extent = (count - 1) * chunk + the last one. */\n", any ? "\n" : "");
    for (uint32_t c = 0; c < em->cls.n; c++) mgi_cu_str_put(&out, "#ifndef %s_D%u\n#define %s_D%u %lld\n#endif\n", n, (unsigned)c, n, (unsigned)c, (long long)em->cls.extent[c]);
    int number = 0;
    for (uint32_t k = 1; k < g->n_ops; k++) {
      const mg_graph *b = g->ops[k].sub;
      if (!b) continue;
      for (uint32_t a = 1; a < b->n_axes; a++)
        if (a > 3 || b->axes[a].extent > 1)
          mgi_cu_str_put(&out, "#ifndef %s_K%d_%s\n#define %s_K%d_%s %lld\n#endif\n", n, number, b->axes[a].name, n, number, b->axes[a].name, (long long)b->axes[a].extent);
      number++;
    }
    /* Intermediates: one after the other, each aligned to 256 bytes. */
    mgi_cu_str_put(&out, "\n");
    char last[300];
    snprintf(last, sizeof last, "0");
    for (uint32_t t = 1; t < g->n_tensors; t++) {
      int outer = !g->tensors[t].op;
      for (uint32_t k = 0; k < g->n_out; k++) outer |= g->out[k].id == t;
      if (outer) continue;
      mgi_cu_str_put(&out, "static constexpr size_t %s_AT_%s = %s;\n", n, g->tensors[t].name, last);
      mgi_cu_str_put(&out, "static constexpr size_t %s_END_%s = %s_AT_%s + mg_round256((int64_t)%d", n, g->tensors[t].name, n, g->tensors[t].name, mg_dtype_bytes(g->tensors[t].dtype));
      for (int d = 0; d < g->tensors[t].shape.rank; d++) mgi_cu_str_put(&out, " * %s", mgi_cu_dim_text(em, t, d, dim, sizeof dim));
      mgi_cu_str_put(&out, ");\n");
      snprintf(last, sizeof last, "%.120s_END_%.100s", n, g->tensors[t].name);
    }
    mgi_cu_str_put(&out, "\n%s", mgi_cu_str_text(&em->kernels));
    mgi_cu_str_put(&out, "extern \"C\" size_t %s_workspace_bytes(void) { return %s; }\n\n", n, last);
    mgi_cu_str_put(&out, "extern \"C\" int %s_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {\n", n);
    mgi_cu_str_put(&out, "%s  int rc = 0;\n%s  return rc;\n}\n\n", strcmp(last, "0") ? "  unsigned char *const space = (unsigned char *)workspace;\n" : "  (void)workspace;\n",
                mgi_cu_str_text(&em->launches));
    mgi_cu_emit_io(em, &out, "in", g->in, g->n_in);
    mgi_cu_emit_io(em, &out, "out", g->out, g->n_out);
    mgi_cu_str_put(&out, "extern \"C\" const mg_emitted_info %s_info;\nextern \"C\" const mg_emitted_info %s_info = {\"%s\", %u, %u, %d, %s_in, %s_out};\n", n, n, n, (unsigned)g->n_in, (unsigned)g->n_out,
                em->n_launches, n, n);
    if (out.oom) em->st = mg_fail(e, MG_NO_MEMORY, "mg_cuda_emit", "no memory for the text");
  }
  if (em->st == MG_OK && text) {
    *text = out.s;
    out.s = NULL;
  }
  free(out.s);
  free(em->kernels.s);
  free(em->launches.s);
  mg_classes_free(&em->cls);
  return em->st;
}

mg_status mg_cuda_emittable(const mg_graph *ugraph, const char *arch, mg_error *why) { return mgi_cu_emit_run(ugraph, arch, NULL, NULL, why); }
mg_status mg_cuda_emit(const mg_graph *ugraph, const mg_emit_config *cfg, char **text, mg_error *e) {
  *text = NULL;
  return mgi_cu_emit_run(ugraph, cfg ? cfg->arch : NULL, cfg ? cfg->certificate : NULL, text, e);
}

#ifdef __cplusplus
}
#endif
#endif /* implementation */
#endif /* MIRAGE_CUDA_CUH */
