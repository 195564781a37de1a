# a dimension cut by grid and loop
program p
input X : f16[3, 24]
O = kernel grid=(x=2, y=3) {
  for i=2 {
    for j=2 {
      s = sum(sqr(load X {x->1, y->1, i->1, j->1}), dim=1)
    }
  }
  store accum(accum(s) {i->+, j->+}) {x->+, y->+} {}
}
output O
