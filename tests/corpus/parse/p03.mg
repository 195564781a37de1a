program p
input X : f16[4, 12]
O = softmax(X, dim=1)
output O
