# the relu of a product of two maxima
program first_factor_gone
input X : f32[3, 5]
input Y : f32[3, 5]
O = mul(relu(max(X, dim=1)), relu(max(Y, dim=1)))
output O
