# eps differs in its seventh digit
program norm_eps
input X : f32[2, 4]
O = rms_norm(X, eps=1234567/1000000000)
output O
