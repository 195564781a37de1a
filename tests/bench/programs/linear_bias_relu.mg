# A layer at a batch of 128.
program linear_bias_relu
input X : f16[128, 4096]
input W : f16[4096, 4096]
input b : f16[4096]
O = relu(add(matmul(X, W), b))
output O
