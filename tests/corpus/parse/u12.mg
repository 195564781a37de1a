# a store of a replica: one of the blocks writes
program p
input X : f16[6, 8]
E, S = kernel grid=(x=2, y=3) {
  a = load X {x->*, y->0}
  b = load X {x->1, y->0}
  store exp(b) {x->1, y->0}
  store sum(a, dim=1) {x->*, y->0}
}
output E, S
