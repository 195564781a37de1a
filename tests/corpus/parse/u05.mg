# one accumulator over two nested loops
program p
input X : f16[4, 6, 8]
O = kernel grid=(x=2) {
  for i=3 {
    for j=2 {
      s = sum(sum(load X {x->0, i->1, j->2}, dim=1), dim=2)
    }
  }
  store accum(s) {i->+, j->+} {x->0}
}
output O
