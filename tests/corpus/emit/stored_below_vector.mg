program stored_below_vector
input X : f16[128, 512]
M, O = kernel grid=(x=2) threads=128 {
x = load X {x->0}
m = sum(x, dim=1)
r = exp(scale(m, 1/512))
o = div(x, r)
store m {x->0}
store o {x->0}
}
output M, O
