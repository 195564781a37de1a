# relu of each iteration's part of a product
program sum_of_parts_of_relu
input X : f16[4, 6]
input W : f16[6, 4]
O = kernel grid=(x=2) {
  for i=3 {
    m = relu(matmul(load X {i->1}, load W {x->1, i->0}))
  }
  store accum(m) {i->+} {x->1}
}
output O
