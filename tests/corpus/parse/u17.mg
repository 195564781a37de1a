# gated MLP: two accumulators and the epilogue
program p
input X : bf16[4, 12]
input A : bf16[12, 10]
input B : bf16[12, 10]
O = kernel grid=(x=5) {
  for i=3 {
    x = load X {i->1}
    a = matmul(x, load A {x->1, i->0})
    b = matmul(x, load B {x->1, i->0})
  }
  store mul(silu(accum(a) {i->+}), accum(b) {i->+}) {x->1}
}
output O
