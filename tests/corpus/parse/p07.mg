program p
input X : f16[4, 12]
input W : f16[12, 6]
input B : f16[6]
O = relu(add(matmul(X, W), B))
output O
