#@ sm_90a
program rmsnorm_linear_m16_k1024_n4096
input X : f16[16, 1024]
input G : f16[1024]
input W : f16[1024, 4096]
O = kernel grid=(x=128) threads=128 {
  for i=4 {
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
  t7 = scale(t6, 1/1024)
  t8 = add_scalar(t7, 1/1000000)
  t9 = sqrt(t8)
  t10 = div(t5, t9)
  store t10 {x->1}
  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=warp t2.mma=wide }
}
output O
