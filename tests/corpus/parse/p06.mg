program p
input X : f16[4, 6]
input Y : f16[4, 9]
A = max(X, dim=1)
O = add(exp(Y), A)
output O
