# cancels only where the row's maximum is not negative
program softmax_relu_in_one_place
input X : f32[3, 8]
O = softmax(X, dim=1)
output O
