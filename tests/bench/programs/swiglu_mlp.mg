# The whole gated MLP of a decoder, with its way down.
program swiglu_mlp
input X : f16[8, 4096]
input A : f16[4096, 11008]
input B : f16[4096, 11008]
input C : f16[11008, 4096]
H = mul(silu(matmul(X, A)), matmul(X, B))
O = matmul(H, C)
output O
