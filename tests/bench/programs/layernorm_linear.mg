# LayerNorm with gain and bias, then a projection.
program layernorm_linear
input X : f16[16, 4096]
input G : f16[4096]
input B : f16[4096]
input W : f16[4096, 4096]
M = mean(X, dim=1)
D = sub(X, M)
V = mean(sqr(D), dim=1)
N = add(mul(div(D, sqrt(add_scalar(V, 1/100000))), G), B)
O = matmul(N, W)
output O
