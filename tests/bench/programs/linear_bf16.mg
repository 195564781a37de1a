# A layer of bf16 with a residual.
program linear_bf16
input X : bf16[16, 5120]
input W : bf16[5120, 5120]
input R : bf16[16, 5120]
O = add(matmul(X, W), R)
output O
