# the sign is lost
program root_of_a_square
input X : f32[3, 5]
O = sqrt(sqr(X))
output O
