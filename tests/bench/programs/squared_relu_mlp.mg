# MLP of Primer: the square of relu between the products.
program squared_relu_mlp
input X : f16[16, 2048]
input A : f16[2048, 8192]
input B : f16[8192, 2048]
O = matmul(sqr(relu(matmul(X, A))), B)
output O
