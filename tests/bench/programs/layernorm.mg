# LayerNorm with gain and bias.
program layernorm
input X : f16[64, 4096]
input G : f16[4096]
input B : f16[4096]
M = mean(X, dim=1)
D = sub(X, M)
V = mean(sqr(D), dim=1)
O = add(mul(div(D, sqrt(add_scalar(V, 1/100000))), G), B)
output O
