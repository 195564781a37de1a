program p
input X : f16[4, 6, 8]
O = sum(sum(X, dim=1), dim=2)
output O
