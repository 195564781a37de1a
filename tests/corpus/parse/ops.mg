program p
input A : f16[2, 3]
input B : f16[2, 2]
input C : f16[3, 4]
input D : f16[2, 4]
P = repeat(A, dim=1, n=2)
Q = reshape(transpose(P, [1, 0]), [3, -1])
R = concat_matmul(A, B, C, D)
S = concat(R, max(R, dim=1), dim=-1)
T = gelu(log(exp(relu(neg(sqrt(sqr(S)))))))
output Q, T
