# not 0 only where X > Y > Z
program in_order
input X : f32[1, 1]
input Y : f32[1, 1]
input Z : f32[1, 1]
O = sub(X, X)
output O
