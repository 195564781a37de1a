program unread_load_in_ring
input Q : f16[128, 256]
input K : f16[256, 64]
input V : f16[128, 256]
O = kernel grid=(x=2) threads=128 {
  for i=4 {
    q = load Q {x->0, i->1}
    k = load K {x->*, i->0}
    v = load V {x->0, i->1}
    s = matmul(q, k)
  }
  o = accum(s) {i->+}
  store o {x->0}
  plan { warps_m=1 warps_n=1 warps_k=4 ring=warp }
}
output O
