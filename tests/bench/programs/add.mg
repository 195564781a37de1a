# A sum alone: three tensors go by.
program add
input X : f16[2048, 2048]
input Y : f16[2048, 2048]
O = add(X, Y)
output O
