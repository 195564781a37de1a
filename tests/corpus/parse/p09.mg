program p
input X : f16[4, 12]
O = max(X, dim=1)
output O
