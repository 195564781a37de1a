# rmsnorm, one loop, two accumulators
program p
input X : f16[5, 24]
input G : f16[24]
input W : f16[24, 18]
O = kernel grid=(x=4) threads=64 {
  for i=3 {
    a = load X {x->*, i->1}
    g = load G {x->*, i->0}
    w = load W {x->1, i->0}
    b = matmul(mul(a, g), w)
    s = sum(sqr(a), dim=1)
  }
  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/24), 1/1000)))
  store o {x->1}
  plan { stages=3 residency.o=fragment warps_k=2 }
}
output O
