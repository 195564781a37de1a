# Z = 0: only b turned round is defined
program quotient_turned
input X : f32[3, 5]
input Y : f32[3, 5]
input Z : f32[3, 5]
O = div(X, div(Y, Z))
output O
