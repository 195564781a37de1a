# Prefill: every query sees the keys up to its own.
program attention_causal
input Q : f16[8, 512, 128]
input K : f16[8, 128, 512] @ [0, 2, 1]
input V : f16[8, 512, 128]
P = softmax(causal(scale(matmul(Q, K), 1/11)), dim=2)
O = matmul(P, V)
output O
