# the root of S cancels, but S may be negative
program root_that_is_not_used
input X : f32[3, 5]
input S : f32[3, 1]
r = sqrt(add_scalar(S, 40))
O = sub(add(X, r), r)
output O
