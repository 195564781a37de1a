# Cosines of all pairs of rows.
program cosine_similarity
input X : f16[64, 1024]
input Y : f16[1024, 4096]
A = div(X, sqrt(sum(sqr(X), dim=1)))
B = div(Y, sqrt(sum(sqr(Y), dim=0)))
O = matmul(A, B)
output O
