#@ sm_90a
program rmsnorm_linear_m2_k4096_n4096
input X : f16[2, 4096]
input G : f16[4096]
input W : f16[4096, 4096]
O = kernel grid=(x=128) threads=128 {
  for i=16 {
    x = load X {x->*, i->1}
    g = load G {x->*, i->0}
    t1 = mul(x, g)
    w = load W {x->1, i->0}
    t2 = matmul(t1, w)
    t3 = sqr(x)
    t4 = sum(t3, dim=1)
  }
  t5 = accum(t2) {i->+}
  t6 = accum(t4) {i->+}
  t7 = scale(t6, 1/4096)
  t8 = add_scalar(t7, 1/1000000)
  t9 = sqrt(t8)
  t10 = div(t5, t9)
  store t10 {x->1}
  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=warp t2.mma=wide }
}
output O
