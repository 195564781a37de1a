# a square matrix and its transpose
program transposed_square
input X : f16[4, 4]
O = relu(sub(X, max(X, dim=1)))
P = max(X, dim=1)
output P, O
