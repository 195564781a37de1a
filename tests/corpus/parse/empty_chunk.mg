program p
input X : f16[9]
O = kernel grid=(x=4) {
  store exp(load X {x->0}) {x->0}
}
output O
