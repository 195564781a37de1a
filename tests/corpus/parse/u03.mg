# two loops in sequence: softmax by columns
program p
input X : f16[4, 12]
O = kernel grid=(x=2) {
  for i=3 {
    s = sum(exp(load X {x->0, i->1}), dim=1)
  }
  z = accum(s) {i->+}
  for j=4 {
    e = div(exp(load X {x->0, j->1}), z)
  }
  store accum(e) {j->1} {x->0}
}
output O
