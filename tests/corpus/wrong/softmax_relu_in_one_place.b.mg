# cancels only where the row's maximum is not negative
program softmax_relu_in_one_place
input X : f32[3, 8]
m = max(X, dim=1)
O = div(exp(sub(X, m)), sum(exp(sub(X, relu(m))), dim=1))
output O
