# An activation alone.
program gelu
input X : f16[128, 16384]
O = gelu(X)
output O
