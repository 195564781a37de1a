# Scores of 1024 classes, their maximum kept.
program classifier
input X : f16[64, 2048]
input W : f16[2048, 1024]
S = matmul(X, W)
E = exp(sub(S, max(S, dim=1)))
O = div(E, sum(E, dim=1))
output O
