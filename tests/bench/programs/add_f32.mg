# Elements of four bytes.
program add_f32
input X : f32[512, 4096]
input Y : f32[512, 4096]
O = add(X, Y)
output O
