# a thread graph with a loop, in a loop
program p
input X : f16[8, 16]
O = kernel grid=(x=2) threads=32 {
  for i=2 {
    a = load X {x->0, i->1}
    c = thread grid=(x=4) {
      for k=4 {
        e = sum(exp(load a {x->0, k->1}), dim=1)
      }
      store accum(e) {k->+} {x->0}
    }
  }
  store accum(c) {i->+} {x->0}
}
output O
