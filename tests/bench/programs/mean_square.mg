# What a norm begins with.
program mean_square
input X : f16[1024, 4096]
O = mean(sqr(X), dim=1)
output O
