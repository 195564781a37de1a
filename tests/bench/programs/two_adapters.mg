# A layer with two low-rank adapters.
program two_adapters
input X : f16[16, 2048]
input W : f16[2048, 4096]
input A : f16[2048, 16]
input B : f16[16, 4096]
input C : f16[2048, 16]
input D : f16[16, 4096]
O = add(add(matmul(X, W), matmul(matmul(X, A), B)), matmul(matmul(X, C), D))
output O
