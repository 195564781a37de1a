# loads after the loop: bias and residual
program p
input X : f16[6, 10]
input W : f16[10, 8]
input B : f16[8]
input R : f16[6, 8]
O = kernel grid=(x=2, y=3) {
  for k=5 {
    m = matmul(load X {y->0, k->1}, load W {x->1, k->0})
  }
  acc = accum(m) {k->+}
  b = load B {x->0}
  r = load R {x->1, y->0}
  store add(silu(add(acc, b)), r) {x->1, y->0}
}
output O
