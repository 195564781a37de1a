program f
sym n in 1..8
sym m in 1..8
input X : f16[n*m + 8*n, 64]
input Y : f16[m*(n + 8*1), 64]
input W : f16[64, 32]
O = kernel grid=(x=ceil((n*m + 8*n)/8), y=2) threads=64 {
  t1 = load X {x->0, y->*}
  t2 = load W {x->*, y->1}
  t3 = relu(matmul(t1, t2))
  store t3 {x->0, y->1}
}
P = exp(reshape(Y, [n*m + 8*m, 8, 8]))
output O
output P
