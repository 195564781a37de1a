program p
input X : bf16[4, 12]
input A : bf16[12, 10]
input B : bf16[12, 10]
O = mul(silu(matmul(X, A)), matmul(X, B))
output O
