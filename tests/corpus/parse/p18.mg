program p
input X : f16[3, 24]
O = sum(sqr(X), dim=1)
output O
