# maximum over a loop, concatenation over a loop
program p
input X : f16[4, 6]
input Y : f16[4, 9]
O = kernel grid=(x=2) {
  for i=3 {
    m = max(load X {x->0, i->1}, dim=1)
  }
  top = accum(m) {i->max}
  for j=3 {
    e = exp(load Y {x->0, j->1})
  }
  all = accum(e) {j->1}
  store add(all, top) {x->0}
}
output O
