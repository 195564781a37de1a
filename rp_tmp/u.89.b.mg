#@ sm_90a
program rmsnorm_linear_m16_k4096_n4096
input X : f16[16, 4096]
input G : f16[4096]
input W : f16[4096, 4096]
O = kernel grid=(x=64, z=2) threads=256 {
  for i=4 {
    x = load X {x->*, z->1, i->1}
    g = load G {x->*, z->0, i->0}
    t1 = mul(x, g)
    w = load W {x->1, z->0, i->0}
    t2 = matmul(t1, w)
    t3 = sqr(x)
    t4 = sum(t3, dim=1)
    t5 = scale(t4, 1/4096)
  }
  t6 = accum(t2) {z->+, i->+}
  t7 = accum(t5) {z->+, i->+}
  t8 = add_scalar(t7, 1/1000000)
  t9 = sqrt(t8)
  t10 = div(t6, t9)
  store t10 {x->1, z->*}
  plan { stages=2 warps_m=1 warps_n=1 warps_k=8 ring=warp t2.mma=wide }
}
output O
