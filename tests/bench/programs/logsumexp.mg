# Log-sum-exp of wide rows.
program logsumexp
input X : f16[128, 4096]
M = max(X, dim=1)
O = add(log(sum(exp(sub(X, M)), dim=1)), M)
output O
