# differs only where X and Y are positive and Z is negative, in one element of the row, say
program third_relu_dropped
input X : f32[3, 5]
input Y : f32[3, 5]
input Z : f32[3, 5]
O = sum(mul(mul(relu(X), relu(Y)), relu(Z)), dim=1)
output O
