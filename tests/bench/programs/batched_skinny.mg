# A product for every head, few rows each.
program batched_skinny
input X : f16[32, 8, 512]
input W : f16[32, 512, 1024]
O = matmul(X, W)
output O
