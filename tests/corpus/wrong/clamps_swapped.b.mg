# the bounds cross: the last one wins
program clamps_swapped
input X : f32[4, 4]
a = neg(add_scalar(relu(add_scalar(neg(X), 1)), -1))
O = add_scalar(relu(add_scalar(a, -2)), 2)
output O
