program unread_load
input Q : f16[128, 32]
input K : f16[32, 64]
input V : f16[64, 32]
input K2 : f16[64, 32]
input W : f16[32, 32]
O = kernel grid=(x=2) threads=128 {
q = load Q {x->0}
k = load K {x->*}
v = load V {x->*}
k2 = load K2 {x->*}
w = load W {x->*}
s = matmul(q, k)
p = scale(s, 1/8)
t = matmul(p, k2)
r = relu(t)
o = matmul(r, w)
store o {x->0}
plan { warps_m=2 warps_n=2 warps_k=1 }
}
output O
