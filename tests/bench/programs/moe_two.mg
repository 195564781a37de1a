# Two experts, weighted a token.
program moe_two
input X : f16[16, 2048]
input A : f16[2048, 2048]
input B : f16[2048, 2048]
input u : f16[16, 1]
input v : f16[16, 1]
O = add(mul(silu(matmul(X, A)), u), mul(silu(matmul(X, B)), v))
output O
