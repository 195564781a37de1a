program p
input X : f16[6, 8]
input W : f16[8, 8]
O = exp(matmul(sqr(X), W))
output O
