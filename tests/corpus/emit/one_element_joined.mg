program one_element_joined
input Q : f16[4, 32, 32]
input K : f16[4, 32, 64]
input V : f16[4, 64, 32]
O = kernel grid=(x=4) threads=128 {
q = load Q {x->0}
k = load K {x->0}
v = load V {x->0}
s = matmul(q, k)
u = sum(s, dim=0)
a = add(s, u)
p = exp(a)
l = sum(p, dim=2)
w = matmul(p, v)
o = div(w, l)
store o {x->0}
plan { warps_m=2 warps_n=2 warps_k=1 }
}
output O
