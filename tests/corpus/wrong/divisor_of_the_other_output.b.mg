# Y = 0: the second output of a is defined, that of b is not
program divisor_of_the_other_output
input X : f32[3, 5]
input Y : f32[3, 5]
O = div(X, Y)
P = mul(exp(X), div(Y, Y))
output O, P
