# MLP of GPT-2: bias and GELU between the products.
program gelu_mlp
input X : f16[16, 1024]
input A : f16[1024, 4096]
input a : f16[4096]
input B : f16[4096, 1024]
input b : f16[1024]
O = add(matmul(gelu(add(matmul(X, A), a)), B), b)
output O
