# a thread graph
program p
input X : f16[8, 8]
input Y : f16[8, 8]
O = kernel grid=(x=2) threads=32 {
  a = load X {x->0}
  b = load Y {x->0}
  c = thread grid=(x=2, y=4) {
    u = load a {x->0, y->1}
    v = load b {x->0, y->1}
    store silu(add(sqr(u), v)) {x->0, y->1}
  }
  store c {x->0}
}
output O
