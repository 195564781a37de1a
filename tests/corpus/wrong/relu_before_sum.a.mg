# relu of a sum, against a sum of relus
program relu_before_sum
input X : f32[3, 5]
O = relu(sum(X, dim=1))
output O
