# the sign is lost
program root_of_a_square
input X : f32[3, 5]
O = scale(X, 1)
output O
