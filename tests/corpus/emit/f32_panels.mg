# refused: the plan's mma=warpgroup: no product is one for them
program refused_f32_panels
input X : f16[128, 64]
input A : f16[64, 64]
input B : f16[128, 64]
T = kernel grid=(x=2) threads=128 {
x = load X {x->0}
a = load A {x->*}
s = matmul(x, a)
store s {x->0}
plan { warps_m=4 warps_n=1 warps_k=1 s.store=f32 }
}
O = kernel grid=(x=2) threads=128 {
t = load T {x->*}
b = load B {x->0}
tt = transpose(t, [1, 0])
u = matmul(b, tt)
p = exp(u)
o = matmul(p, t)
store o {x->0}
plan { warps_m=4 warps_n=1 warps_k=1 mma=warpgroup }
}
output O
