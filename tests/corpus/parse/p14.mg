program p
input X : f16[8, 8]
input Y : f16[8, 8]
O = silu(add(sqr(X), Y))
output O
