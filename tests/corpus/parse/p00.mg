program p
input X : f16[5, 24]
input G : f16[24]
input W : f16[24, 18]
Y = rms_norm(X, G, eps=1/1000)
O = matmul(Y, W)
output O
