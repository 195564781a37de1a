program p
input X : f16[8, 16]
O = sum(exp(X), dim=1)
output O
