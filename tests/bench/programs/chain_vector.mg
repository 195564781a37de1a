# Two matrices and few columns: the order of the products decides.
program chain_vector
input A : f16[4096, 4096]
input B : f16[4096, 4096]
input v : f16[4096, 16]
O = matmul(matmul(A, B), v)
output O
