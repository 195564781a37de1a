# Rotary embedding, its halves swapped by a concat.
program rope
input X : f16[256, 64]
input Y : f16[256, 64]
input c : f16[256, 64]
input s : f16[256, 64]
A = sub(mul(X, c), mul(Y, s))
B = add(mul(Y, c), mul(X, s))
O = concat(A, B, dim=1)
output O
