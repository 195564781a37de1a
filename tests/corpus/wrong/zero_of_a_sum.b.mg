# not defined where the sum of X is that of Y and 1
program zero_of_a_sum
input X : f32[3, 5]
input Y : f32[3, 5]
d = add_scalar(sub(sum(X, dim=1), sum(Y, dim=1)), -1)
O = mul(scale(X, 3), div(d, d))
output O
