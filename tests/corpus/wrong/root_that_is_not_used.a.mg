# the root of S cancels, but S may be negative
program root_that_is_not_used
input X : f32[3, 5]
input S : f32[3, 1]
O = scale(X, 1)
output O
