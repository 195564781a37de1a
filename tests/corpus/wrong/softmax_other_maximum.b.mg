# the columns' maximum does not cancel in the rows' sum
program softmax_other_maximum
input X : f32[4, 4]
e = exp(sub(X, max(X, dim=0)))
O = div(e, sum(e, dim=1))
output O
