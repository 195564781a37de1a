# blocks of a ragged row, the last one's maximum with 0
program maximum_in_parts_dropped
input X : f16[2, 7]
O = kernel grid=(x=2) {
  for i=3 {
    m = max(load X {x->0, i->1}, dim=1)
  }
  store relu(accum(m) {i->max}) {x->0}
}
output O
