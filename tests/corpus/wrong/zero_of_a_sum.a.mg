# not defined where the sum of X is that of Y and 1
program zero_of_a_sum
input X : f32[3, 5]
input Y : f32[3, 5]
O = scale(X, 3)
output O
