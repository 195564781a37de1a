program p
input X : f16[5, 24]
input W : f16[24, 18]
O = matmul(div(X, sqrt(sum(sqr(X), dim=1))), W)
output O
