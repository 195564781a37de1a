# the bounds cross: the last one wins
program clamps_swapped
input X : f32[4, 4]
a = add_scalar(relu(add_scalar(X, -2)), 2)
O = neg(add_scalar(relu(add_scalar(neg(a), 1)), -1))
output O
