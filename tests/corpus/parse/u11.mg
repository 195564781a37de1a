# two outputs of one kernel
program p
input X : f16[6, 8]
S, E = kernel grid=(x=3) {
  a = load X {x->0}
  store sum(a, dim=1) {x->0}
  store exp(a) {x->0}
}
output E
output S
