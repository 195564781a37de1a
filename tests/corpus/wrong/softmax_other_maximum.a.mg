# the columns' maximum does not cancel in the rows' sum
program softmax_other_maximum
input X : f32[4, 4]
O = softmax(X, dim=1)
output O
