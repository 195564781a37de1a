# both negative: 0 against a positive product
program product_of_relus
input X : f32[3, 5]
input Y : f32[3, 5]
O = relu(mul(X, Y))
output O
