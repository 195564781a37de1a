# X / |X| against X / X
program sign_by_a_quotient
input X : f32[3, 5]
O = div(X, X)
output O
