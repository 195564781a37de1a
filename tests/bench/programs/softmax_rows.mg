# Softmax of wide rows, its maximum kept.
program softmax_rows
input X : f16[64, 8192]
E = exp(sub(X, max(X, dim=1)))
O = div(E, sum(E, dim=1))
output O
