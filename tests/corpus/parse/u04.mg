# nested loops: a chain of matmuls, MCFuser's mn(n(k), h)
program p
input A : f16[6, 8]
input B : f16[8, 10]
input D : f16[10, 4]
O = kernel grid=(x=3, y=2) {
  for n=5 {
    for k=2 {
      c = matmul(load A {x->0, k->1}, load B {n->1, k->0})
    }
    cc = relu(accum(c) {k->+})
    e = matmul(cc, load D {y->1, n->0})
  }
  store accum(e) {n->+} {x->0, y->1}
}
output O
