/* What mirage_cuda.cuh (>>blas) writes of cublasLt.h in its own words is what stands there:
   nvcc -std=c++17 -arch=sm_80 -I. -c tests/compile_blas.cu -o build/compile_blas.o */
#define MIRAGE_DEVICE_ONLY
#define MG_CUBLAS
#include "mirage_cuda.cuh"
#include <cublasLt.h>

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(MGI_BLAS_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(MGI_BLAS_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(MGI_BLAS_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(MGI_BLAS_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(MGI_BLAS_BATCHES, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(MGI_BLAS_APART, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(MGI_BLAS_SPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(MGI_BLAS_ALIGNED, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(MGI_BLAS_ALIGNED + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(MGI_BLAS_ALIGNED + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(MGI_BLAS_ALIGNED + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(MGI_BLAS_PLAIN, CUBLASLT_EPILOGUE_DEFAULT);
SAME(MGI_BLAS_ADDS_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(MGI_BLAS_IN_FP32, CUBLAS_COMPUTE_32F);
SAME(MGI_BLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(0, CUDA_R_32F);
SAME(0, CUBLAS_OP_N);
SAME(1, CUBLAS_OP_T);
SAME(sizeof(mgi_blas_algorithm), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(sizeof(((mgi_blas_algorithm *)0)->algo), sizeof(cublasLtMatmulAlgo_t));
SAME(offsetof(mgi_blas_algorithm, space), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(mgi_blas_algorithm, status), offsetof(cublasLtMatmulHeuristicResult_t, state));
