program p
input Q : f16[2, 4, 6]
input K : f16[2, 8, 6] @ [0, 2, 1]
input V : f16[2, 8, 6]
P = softmax(scale(matmul(Q, transpose(K, [0, 2, 1])), 1/8), dim=2)
O = matmul(P, V)
output O
