# X and Y both negative: only the root of the product is defined
program roots_apart
input X : f32[3, 5]
input Y : f32[3, 5]
O = mul(sqrt(X), sqrt(Y))
output O
