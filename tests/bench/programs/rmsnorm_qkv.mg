# One norm before three projections.
program rmsnorm_qkv
input X : f16[8, 4096]
input G : f16[4096]
input A : f16[4096, 4096]
input B : f16[4096, 1024]
input C : f16[4096, 1024]
N = rms_norm(X, G, eps=1/100000)
Q = matmul(N, A)
K = matmul(N, B)
V = matmul(N, C)
output Q, K, V
