program p
input A : f16[6, 8]
input B : f16[8, 10]
input D : f16[10, 4]
O = matmul(relu(matmul(A, B)), D)
output O
