# A copy whose rows become columns.
program transposed
input X : f16[1024, 1024]
O = transpose(X, [1, 0])
output O
