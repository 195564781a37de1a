# batched attention, one loop over the keys
program p
input Q : f16[2, 4, 6]
input K : f16[2, 8, 6] @ [0, 2, 1]
input V : f16[2, 8, 6]
O = kernel grid=(x=2, y=2) {
  q = load Q {x->0, y->1}
  for i=4 {
    k = load K {x->0, i->1}
    v = load V {x->0, i->1}
    e = exp(scale(matmul(q, transpose(k, [0, 2, 1])), 1/8))
    n = matmul(e, v)
    d = sum(e, dim=2)
  }
  store div(accum(n) {i->+}, accum(d) {i->+}) {x->0, y->1}
}
output O
