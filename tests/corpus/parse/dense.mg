program p
input X:bf16[4,4]@[1,0]#c
O=softmax(rms_norm(X,eps=1e-6),dim=0)output O