# What stands behind a product that is made elsewhere.
program bias_relu
input X : f16[1024, 4096]
input b : f16[4096]
O = relu(add(X, b))
output O
