# max(X, -64): differs only below -64
program floor_far_below
input X : f32[4, 4]
O = add_scalar(relu(add_scalar(X, 64)), -64)
output O
