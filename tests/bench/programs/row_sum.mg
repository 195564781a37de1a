# Sums of rows alone.
program row_sum
input X : f16[4096, 1024]
O = sum(X, dim=1)
output O
