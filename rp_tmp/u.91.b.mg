#@ sm_90a
program rmsnorm_linear_m16_k4096_n6144
input X : f16[16, 4096]
input G : f16[4096]
input W : f16[4096, 6144]
O = kernel grid=(x=96) threads=128 {
  for k=16 {
    t1 = load X {x->*, k->1}
    t2 = load G {x->*, k->0}
    t3 = mul(t1, t2)
    t4 = load W {x->1, k->0}
    t5 = matmul(t3, t4)
    t6 = sqr(t1)
    t7 = sum(t6, dim=1)
  }
  t8 = accum(t7) {k->+}
  t9 = scale(t8, 1/4096)
  t10 = add_scalar(t9, 1/1000000)
  t11 = sqrt(t10)
  t12 = accum(t5) {k->+}
  t13 = div(t12, t11)
  store t13 {x->1}
  plan { stages=3 warps_m=1 warps_n=1 warps_k=4 ring=warp t5.mma=wide }
}
output O
