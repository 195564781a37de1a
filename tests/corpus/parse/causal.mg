program causal
input Q : f16[2, 16, 32]
input K : f16[2, 32, 48]
input C : f32[16, 48] = causal
S = causal(scale(matmul(Q, K), 1/8))
T = add(S, C)
O = kernel grid=(x=2) {
  for i=3 {
    c = load C {x->0, i->1}
    s = load S {x->1, i->2}
    m = max(add(s, c), dim=2)
  }
  store accum(m) {i->max} {x->1}
}
output T, O
