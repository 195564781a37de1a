# max of -X is minus the minimum
program scaled_by_minus_one
input X : f32[3, 5]
O = max(scale(X, -1), dim=1)
output O
