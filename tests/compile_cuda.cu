/* As tests/compile_c.c, through nvcc, where the device templates are compiled too:
   nvcc -std=c++17 -arch=sm_80 -Xcompiler -Wall,-Wextra,-Werror -Werror all-warnings -I. -Itests tests/compile_cuda.cu build/first.o build/second.o -o build/compile_cuda */
#include "compile_c.c"

/* One device function of every kind that an emitted file calls. */
__global__ void compile_kernel(mg_f16 *out, const mg_f16 *in) {
  mg_num x = mg_widen(mg_ldg(in + mg_tid()));
  mg_stg(out + mg_tid(), mg_narrow<mg_f16>(mg_dev_SILU(x, mg_zero(), mg_zero())));
  mg_sync();
}
