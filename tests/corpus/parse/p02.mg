program p
input X : f16[6, 10]
input W : f16[10, 8]
input B : f16[8]
input R : f16[6, 8]
O = add(silu(add(matmul(X, W), B)), R)
output O
