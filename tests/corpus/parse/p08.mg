program p
input X : f16[4, 12]
input W : f16[12, 6]
O = matmul(X, W)
output O
