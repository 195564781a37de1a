program nested_behind_merge
input X : f16[128, 128]
input A : f16[128, 64]
input B : f16[64, 32]
input G : f16[64, 64]
S, O = kernel grid=(x=2, y=2) threads=128 {
for i=4 {
x = load X {x->0, y->1, i->1}
r = sum(x, dim=1)
}
R = accum(r) {y->+, i->+}
for j=2 {
g = load G {x->*, y->*, j->0}
gs = sum(g, dim=1)
gt = sum(gs, dim=0)
h0 = mul(R, gt)
for l=2 {
x2 = load X {x->0, y->*, j->1, l->1}
a = load A {x->*, y->*, j->0, l->0}
s = matmul(x2, a)
}
}
b = load B {x->*, y->*}
S = accum(s) {j->+, l->+}
H = accum(h0) {j->+}
h = add(S, H)
p = exp(h)
L = sum(p, dim=1)
u = matmul(p, b)
o = div(u, L)
store S {x->0, y->*}
store o {x->0, y->*}
plan { warps_m=2 warps_n=2 warps_k=1 }
}
output S, O
