program p
input X : f16[4, 12]
O = div(X, sum(X, dim=1))
output O
