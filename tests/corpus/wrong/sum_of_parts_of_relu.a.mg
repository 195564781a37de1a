# relu of each iteration's part of a product
program sum_of_parts_of_relu
input X : f16[4, 6]
input W : f16[6, 4]
O = relu(matmul(X, W))
output O
