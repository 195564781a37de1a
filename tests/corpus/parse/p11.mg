program p
input X : f16[6, 8]
S = sum(X, dim=1)
E = exp(X)
output E, S
