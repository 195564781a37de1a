# Attention over other keys than the queries', with an additive bias for every head.
program cross_attention_bias
input Q : f16[16, 128, 64]
input K : f16[16, 64, 1024] @ [0, 2, 1]
input V : f16[16, 1024, 64]
input B : f16[16, 128, 1024]
P = softmax(add(scale(matmul(Q, K), 1/8), B), dim=2)
O = matmul(P, V)
output O
