# Attention whose result is gated.
program attention_gated
input Q : f16[8, 64, 64]
input K : f16[8, 64, 2048] @ [0, 2, 1]
input V : f16[8, 2048, 64]
input G : f16[8, 64, 64]
P = softmax(scale(matmul(Q, K), 1/8), dim=2)
O = mul(matmul(P, V), silu(G))
output O
