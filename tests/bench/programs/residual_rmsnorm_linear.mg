# A decoder's residual sum, which is handed on, its norm, and the projection of that.
program residual_rmsnorm_linear
input X : f16[16, 4096]
input R : f16[16, 4096]
input G : f16[4096]
input W : f16[4096, 4096]
S = add(X, R)
O = matmul(rms_norm(S, G, eps=1/100000), W)
output S, O
