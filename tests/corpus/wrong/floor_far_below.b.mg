# max(X, -64): differs only below -64
program floor_far_below
input X : f32[4, 4]
O = scale(X, 1)
output O
