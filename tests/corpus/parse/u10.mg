# concatenation over the blocks of y
program p
input X : f16[4, 12]
O = kernel grid=(x=2, y=3) {
  c = load X {x->0, y->1}
  all = accum(c) {y->1}
  store div(all, sum(all, dim=1)) {x->0}
}
output O
