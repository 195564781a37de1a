program picks
sym n in 1..16
input W : bf16[300, 64] @ [1, 0]
input I : i32[n]
input V : bf16[64, 96]
X = gather(W, I)
L = matmul(X, V)
T = argmax(L, dim=-1)
O = gather(W, T)
output O, T
