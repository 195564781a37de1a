# Attention with heads of 128.
program attention_d128
input Q : f16[8, 512, 128]
input K : f16[8, 128, 2048] @ [0, 2, 1]
input V : f16[8, 2048, 128]
P = softmax(scale(matmul(Q, K), 1/11), dim=2)
O = matmul(P, V)
output O
