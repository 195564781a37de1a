# 0 / 0 everywhere
program never_defined
input X : f32[3, 5]
O = scale(X, 1)
output O
