# split-K: a sum over the blocks of z
program p
input X : f16[4, 12]
input W : f16[12, 6]
input B : f16[6]
O = kernel grid=(x=3, z=2) {
  for i=3 {
    m = matmul(load X {z->1, i->1}, load W {x->1, z->0, i->0})
  }
  t = accum(accum(m) {i->+}) {z->+}
  store relu(add(t, load B {x->0})) {x->1}
}
output O
