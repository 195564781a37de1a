# RMSNorm of f32 rows.
program rmsnorm_f32
input X : f32[128, 2048]
input G : f32[2048]
O = rms_norm(X, G, eps=1/1000000)
output O
