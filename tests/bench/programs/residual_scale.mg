# A residual, and a scale of each column.
program residual_scale
input X : f16[512, 4096]
input R : f16[512, 4096]
input g : f16[4096]
O = add(R, mul(X, g))
output O
