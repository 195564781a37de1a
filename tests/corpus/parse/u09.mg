# maximum over the blocks of y
program p
input X : f16[4, 12]
O = kernel grid=(x=2, y=3) {
  m = max(load X {x->0, y->1}, dim=1)
  store accum(m) {y->max} {x->0}
}
output O
