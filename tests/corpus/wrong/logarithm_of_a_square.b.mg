# X negative: only log(X^2) is defined
program logarithm_of_a_square
input X : f32[3, 5]
O = scale(log(X), 2)
output O
