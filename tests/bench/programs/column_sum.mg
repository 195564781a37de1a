# Sums of columns alone.
program column_sum
input X : f16[1024, 4096]
O = sum(X, dim=0)
output O
