# The gate of a multilayer perceptron whose products are made elsewhere.
program silu_mul
input G : f16[128, 14336]
input U : f16[128, 14336]
O = mul(silu(G), U)
output O
