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
input A : f16[6, 8]
input B : f16[8, 10]
input D : f16[10, 4]
O = matmul(relu(matmul(A, B)), D)
output O
