# x W y for every row.
program bilinear
input X : f16[32, 4096]
input W : f16[4096, 4096]
input Y : f16[32, 4096]
O = sum(mul(matmul(X, W), Y), dim=1)
output O
