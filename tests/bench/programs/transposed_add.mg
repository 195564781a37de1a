# A sum with what lies by columns.
program transposed_add
input X : f16[2048, 1024]
input Y : f16[1024, 2048]
O = add(transpose(X, [1, 0]), Y)
output O
