# two kernels and a library operator between
program p
input X : f16[6, 8]
input W : f16[8, 8]
Y = kernel grid=(x=3) {
  store sqr(load X {x->0}) {x->0}
}
M = matmul(Y, W)
O = kernel grid=(x=2, y=2) {
  store exp(load M {x->0, y->1}) {x->0, y->1}
}
output O
