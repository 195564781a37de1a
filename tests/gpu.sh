#!/usr/bin/env bash
# Link 3 on a GPU: emitted kernels against float64 on fresh random inputs and poisoned outputs, at regular and ragged sizes,
# in f16, bf16 and f32, attention at logits of ±60 too; then compute-sanitizer, where it is, on small instances of every
# kind of kernel.  What needs no GPU (search, link 2, compilation) runs on all cores first.  Last line: `N passed, N failed`.
# GPU_ONLY=REGEX: of the kernels and families those of such names; what compares searches and cuBLAS needs mlp_r0 and gqa_bs1.
set -uo pipefail
cd "$(dirname "$0")/.."
python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL("libcuda.so.1").cuInit(0))' 2>/dev/null || { echo "gpu.sh: needs a GPU and its driver" >&2; exit 4; }
export dir=build/gpu
passed=0 failed=0
cores=$(nproc 2>/dev/null || echo 2)
rm -rf "$dir" && mkdir -p "$dir"

emit_program() { # NAME M K N DTYPE: four programs at one size
  local m=$2 k=$3 n=$4 t=$5
  printf 'program rms_%s\ninput X : %s[%d, %d]\ninput G : %s[%d]\ninput W : %s[%d, %d]\nO = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n' "$1" "$t" "$m" "$k" "$t" "$k" "$t" "$k" "$n" >"$dir/rms_$1.mg"
  printf 'program mlp_%s\ninput X : %s[%d, %d]\ninput A : %s[%d, %d]\ninput B : %s[%d, %d]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n' "$1" "$t" "$m" "$k" "$t" "$k" "$n" "$t" "$k" "$n" >"$dir/mlp_$1.mg"
  printf 'program xyz_%s\ninput X : %s[%d, %d]\ninput Y : %s[%d, %d]\ninput Z : %s[%d, %d]\nO = add(matmul(X, Z), matmul(Y, Z))\noutput O\n' "$1" "$t" "$m" "$k" "$t" "$m" "$k" "$t" "$k" "$n" >"$dir/xyz_$1.mg"
  printf 'program low_%s\ninput X : %s[%d, %d]\ninput A : %s[%d, 24]\ninput B : %s[24, %d]\nO = matmul(X, matmul(A, B))\noutput O\n' "$1" "$t" "$m" "$k" "$t" "$k" "$t" "$n" >"$dir/low_$1.mg"
}
emit_program r0 16 1024 512 f16
emit_program r1 1 40 24 f16
emit_program r2 33 300 100 f16
emit_program r3 7 4097 333 bf16
emit_program r4 70 512 200 bf16
emit_program r5 5 96 50 f32
cp examples/programs/{rmsnorm_linear_m2_k4096_n4096,rmsnorm_linear_m16_k4096_n6144,gated_mlp_m8,lora_m16_k4096,lora_m16_k256,ntrans_m8,gqa_bs1,gqa_decode_bs1,attention_s1,gemm_chain_g4,gemm_chain_g10,gemm_chain_g11}.mg "$dir"
# Rows of f32 in registers, and loads that a store alone reads, twice.
printf 'program small_rows\ninput X : f32[6, 512]\ninput G : f32[512]\nO = kernel grid=(x=6) threads=64 {\n  x = load X {x->0}\n  g = load G {x->*}\n  o = mul(g, div(x, sqrt(add_scalar(scale(sum(sqr(x), dim=1), 1/512), 1/1000000))))\n  store o {x->0}\n}\noutput O\n' >"$dir/small_rows.best.mg"
printf 'program small_kept\ninput X : f16[6, 512]\nO = kernel grid=(x=6) threads=64 {\n  x = load X {x->0}\n  p = exp(sub(x, max(x, dim=1)))\n  o = div(p, sum(p, dim=1))\n  store o {x->0}\n}\noutput O\n' >"$dir/small_kept.best.mg"
# Rows that become columns, by one tile without bank conflicts; ragged ones of f32.
printf 'program small_across\ninput X : f16[128, 192]\ninput Y : f16[192, 128]\ninput Z : f32[100, 72]\nO = kernel grid=(x=2, y=3) threads=256 {\n  x = load X {x->0, y->1}\n  y = load Y {x->1, y->0}\n  store add(transpose(x, [1, 0]), y) {x->1, y->0}\n}\nP = kernel grid=(x=2, y=2) threads=64 {\n  z = load Z {x->0, y->1}\n  store relu(transpose(z, [1, 0])) {x->1, y->0}\n}\noutput O, P\n' >"$dir/small_across.best.mg"
sed 's/\[256, /[9, /' tests/bench/programs/rope.mg >"$dir/small_rope.mg"
cp tests/bench/programs/attention_causal.mg "$dir"
# Scores with a deviation of 16: ±60 occurs in every head.
sed 's/gqa_bs1/gqa_large/; s/256, 64]/64, 64]/; s/, 1\/8)/, 2)/' examples/programs/gqa_bs1.mg >"$dir/gqa_large.mg"
sed 's/gqa_decode_bs1/decode_large/; s/, 1\/11)/, 16)/' examples/programs/gqa_decode_bs1.mg >"$dir/decode_large.mg"
# Small kernels that merge over grid axes: cluster and workspace, a matmul and an attention.
for merge in cluster workspace; do
  printf 'program split_%s\ninput A : f16[16, 512]\ninput B : f16[512, 64]\nC = kernel grid=(x=2, y=4) threads=64 {\n  for i=4 {\n    a = load A {y->1, i->1}\n    b = load B {x->1, y->0, i->0}\n    t = matmul(a, b)\n  }\n  s = accum(t) {y->+, i->+}\n  store s {x->1, y->*}\n  plan { stages=3 warps_m=1 warps_n=1 warps_k=2 merge=%s }\n}\noutput C\n' "$merge" "$merge" >"$dir/split_$merge.best.mg"
  printf 'program small_%s\ninput Q : f16[2, 16, 64]\ninput K : f16[2, 64, 256] @ [0, 2, 1]\ninput V : f16[2, 256, 64]\nO = kernel grid=(x=2, z=4) threads=128 {\n  q = load Q {x->0, z->*}\n  k = load K {x->0, z->2}\n  t1 = matmul(q, k)\n  t2 = scale(t1, 1/8)\n  t3 = exp(t2)\n  v = load V {x->0, z->1}\n  t4 = matmul(t3, v)\n  t5 = accum(t4) {z->+}\n  t6 = sum(t3, dim=2)\n  t7 = accum(t6) {z->+}\n  t8 = div(t5, t7)\n  store t8 {x->0, z->*}\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 merge=%s }\n}\noutput O\n' "$merge" "$merge" >"$dir/small_$merge.best.mg"
done

# Small kernels of the other kinds: products of warpgroups, of warps with rings of their own, with turned operands (few rows), sums of squares.
# Two kernels, the second of which joins parts that each have a maximum of their own; logits of up to ±60.
printf 'program small_pair\ninput Q : f16[2, 16, 64]\ninput K : f16[2, 64, 1024] @ [0, 2, 1]\ninput V : f16[2, 1024, 64]\nP, S = kernel grid=(x=2, z=4) threads=128 {\n  q = load Q {x->0, z->*}\n  for i=4 {\n    k = load K {x->0, z->2, i->2}\n    t1 = matmul(q, k)\n    t2 = scale(t1, 2)\n    t3 = exp(t2)\n    v = load V {x->0, z->1, i->1}\n    t4 = matmul(t3, v)\n    t5 = sum(t3, dim=2)\n  }\n  t6 = accum(t4) {i->+}\n  store t6 {x->0, z->2}\n  t7 = accum(t5) {i->+}\n  store t7 {x->0, z->2}\n  plan { stages=4 warps_m=1 warps_n=4 warps_k=1 ring=warp }\n}\nO = kernel grid=(x=2) threads=128 {\n  for i=4 {\n    p = load P {x->0, i->2}\n    s = load S {x->0, i->2}\n  }\n  t3 = accum(p) {i->+}\n  t4 = accum(s) {i->+}\n  t5 = div(t3, t4)\n  store t5 {x->0}\n  plan { stages=4 warps_m=1 warps_n=4 warps_k=1 }\n}\noutput O\n' >"$dir/small_pair.best.mg"
attention() { # NAME ROWS THREADS PLAN
  printf 'program %s\ninput Q : f16[2, %d, 64]\ninput K : f16[2, 64, 1024] @ [0, 2, 1]\ninput V : f16[2, 1024, 64]\nO = kernel grid=(x=2, z=2) threads=%d {\n  q = load Q {x->0, z->*}\n  t1 = %s\n  for i=4 {\n    k = load K {x->0, z->2, i->2}\n    t2 = matmul(t1, k)\n    t3 = %s\n    t4 = exp(t3)\n    v = load V {x->0, z->1, i->1}\n    t5 = matmul(t4, v)\n    t6 = sum(t4, dim=2)\n  }\n  t7 = accum(t5) {z->+, i->+}\n  t8 = accum(t6) {z->+, i->+}\n  t9 = div(t7, t8)\n  store t9 {x->0, z->*}\n  plan { warps_k=1 %s }\n}\noutput O\n' "$1" "$2" "$3" "$5" "$6" "$4" >"$dir/$1.best.mg"
}
attention small_group 64 256 'stages=2 warps_m=4 warps_n=2 mma=warpgroup' 'scale(q, 1/8)' 'scale(t2, 1)'
attention small_own 64 256 'stages=2 warps_m=4 warps_n=2 mma=warpgroup ring=group' 'scale(q, 1/8)' 'scale(t2, 1)'
attention small_tma 64 256 'stages=2 warps_m=4 warps_n=2 mma=warpgroup copy=tma' 'scale(q, 1/8)' 'scale(t2, 1)'
attention small_rings 16 128 'stages=3 warps_m=1 warps_n=4 ring=warp' 'scale(q, 1/8)' 'scale(t2, 1)'
# A warp that copies, beside the block's; an operand of what stands behind the loop is waited for before it.
printf 'program small_behind\ninput X : f16[64, 1024]\ninput W : f16[1024, 64]\ninput D : f16[64, 128]\nO = kernel grid=(x=2) threads=128 {\n  for i=8 {\n    x = load X {x->*, i->1}\n    w = load W {x->*, i->0}\n    p = matmul(x, w)\n  }\n  d = load D {x->1}\n  o = matmul(accum(p) {i->+}, d)\n  store o {x->1}\n  plan { stages=3 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup copy=warp }\n}\noutput O\n' >"$dir/small_behind.best.mg"
# What is read of device memory where it is stored, in runs of 16 bytes: a ragged last one, columns, a row, a turned input.
printf 'program small_runs\ninput X : f16[48, 88]\ninput Y : bf16[48, 88] @ [1, 0]\ninput G : f16[88]\ninput C : f32[48, 1]\nO = kernel grid=(x=2, y=5) threads=64 {\n  x = load X {x->1, y->0}\n  y = load Y {x->1, y->0}\n  g = load G {x->0}\n  c = load C {y->0}\n  o = gelu(add(mul(x, g), mul(y, c)))\n  store o {x->1, y->0}\n}\noutput O\n' >"$dir/small_runs.best.mg"
causal() { # NAME PLAN: queries are the last of the keys; a mask that is computed, in rings of every kind
  printf 'program %s\ninput Q : f16[2, 128, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\ninput C : f16[128, 512] = causal\nO = kernel grid=(x=2, y=2) threads=256 {\n  q = load Q {x->0, y->1}\n  t1 = scale(q, 1/8)\n  for i=4 {\n    k = load K {x->0, i->2}\n    c = load C {y->0, i->1}\n    t2 = exp(add(matmul(t1, k), c))\n    v = load V {x->0, i->1}\n    t3 = matmul(t2, v)\n    t4 = sum(t2, dim=2)\n  }\n  t5 = div(accum(t3) {i->+}, accum(t4) {i->+})\n  store t5 {x->0, y->1}\n  plan { warps_k=1 %s }\n}\noutput O\n' "$1" "$2" >"$dir/$1.best.mg"
}
causal causal_group 'stages=2 warps_m=4 warps_n=2 mma=warpgroup ring=group'
causal causal_tma 'stages=2 warps_m=4 warps_n=2 mma=warpgroup copy=tma'
causal causal_rings 'stages=3 warps_m=2 warps_n=4 ring=warp'
# An exponential of f32 under a mask of f32 that only a cast reads: the maximum is under the cast.
cast() { # NAME ROWS THREADS PLAN
  printf 'program %s\ninput Q : f16[2, %d, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\ninput M : f32[%d, 512]\nO = kernel grid=(x=2, y=2) threads=%d {\n  q = load Q {x->0, y->1}\n  for i=4 {\n    k = load K {x->0, i->2}\n    m = load M {y->0, i->1}\n    p = to_f16(exp(add(scale(matmul(q, k), 1/8), m)))\n    v = load V {x->0, i->1}\n    d = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->0, y->1}\n  plan { warps_k=1 %s }\n}\noutput O\n' "$1" "$2" "$2" "$3" "$4" >"$dir/$1.best.mg"
}
cast small_cast 64 128 'stages=2 warps_m=2 warps_n=2'
cast small_cast_group 128 256 'stages=2 warps_m=4 warps_n=2 mma=warpgroup'
# Products of fragments made beside the next step's first, ragged; a warp beside that copies, and has given up its registers; two steps.
late() { # NAME KEYS STEPS PLAN
  printf 'program %s\ninput Q : f16[3, 255, 128]\ninput K : f16[3, 128, %d] @ [0, 2, 1]\ninput V : f16[3, %d, 128]\ninput C : f16[255, %d] = causal\nO = kernel grid=(x=2, y=3) threads=256 {\n  q = load Q {x->1, y->0}\n  t1 = scale(q, 1/11)\n  for i=%d {\n    k = load K {y->0, i->2}\n    c = load C {x->0, i->1}\n    t2 = exp(add(matmul(t1, k), c))\n    v = load V {y->0, i->1}\n    t3 = matmul(t2, v)\n    t4 = sum(t2, dim=2)\n  }\n  t5 = div(accum(t3) {i->+}, accum(t4) {i->+})\n  store t5 {x->1, y->0}\n  plan { stages=3 warps_m=8 warps_n=1 warps_k=1 mma=warpgroup chain=late %s }\n}\noutput O\n' "$1" "$2" "$2" "$2" "$3" "$4" >"$dir/$1.best.mg"
}
late late_tma 639 5 copy=tma
late late_warp 1023 8 copy=warp
late late_once 256 2 copy=warp
# Rows by index, and where maxima stand; those of what is computed too, and of a row that blocks share.
printf 'program picks\ninput W : f16[32000, 1024] @ [1, 0]\ninput I : i32[16]\ninput X : f16[16, 5000]\ninput V : f16[1024, 2048]\ninput Z : bf16[1, 128256]\nY = gather(W, I)\nL = matmul(Y, V)\nS = argmax(X, dim=1)\nT = argmax(L, dim=1)\nU = gather(W, T)\nM = argmax(Z, dim=1)\noutput Y, S, T, U, M\n' >"$dir/picks.best.mg"
norm='sqrt(add_scalar(scale(sum(sqr(%s), dim=%d), 1/64), 1/1000000))'
attention small_norms 64 256 'stages=2 warps_m=4 warps_n=2 mma=warpgroup' "div(q, $(printf "$norm" q 2))" "div(t2, $(printf "$norm" k 1))"
printf 'program small_turned\ninput X : f16[4, 1024]\ninput W : f16[1024, 128]\nO = kernel grid=(x=2, y=2) threads=128 {\n  for i=4 {\n    x = load X {x->*, y->1, i->1}\n    w = load W {x->1, y->0, i->0}\n    t1 = matmul(x, w)\n    t2 = sum(sqr(x), dim=1)\n  }\n  t3 = accum(t1) {y->+, i->+}\n  t4 = accum(t2) {y->+, i->+}\n  t5 = div(t3, sqrt(add_scalar(scale(t4, 1/1024), 1/1000000)))\n  store t5 {x->1, y->*}\n  plan { stages=3 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n}\noutput O\n' >"$dir/small_turned.best.mg"
# Keys that each step turns once, into a tile that rows of warps share: by copies of each kind, causal, by warpgroups.
keys() { # NAME ROWS THREADS PLAN
  printf 'program %s\ninput Q : f16[2, %d, 64]\ninput K : f16[2, 512, 64]\ninput V : f16[2, 512, 64]\ninput C : f16[512, 64]\ninput S : f16[512, 64]\ninput M : f16[%d, 512] = causal\nO = kernel grid=(x=2, y=2) threads=%d {\n  q = load Q {x->0, y->1}\n  for i=8 {\n    k = load K {x->0, i->1}\n    c = load C {i->0}\n    s = load S {i->0}\n    m = load M {y->0, i->1}\n    t = add(mul(k, c), mul(concat(neg(slice(k, dim=2, from=32, n=32)), slice(k, dim=2, from=0, n=32), dim=2), s))\n    p = exp(add(scale(matmul(q, transpose(t, [0, 2, 1])), 1/8), m))\n    v = load V {x->0, i->1}\n    d = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->0, y->1}\n  plan { warps_k=1 %s }\n}\noutput O\n' "$1" "$2" "$2" "$3" "$4" >"$dir/$1.best.mg"
}
keys small_keys 64 128 'stages=2 warps_m=2 warps_n=2'
keys small_keys_tma 128 256 'stages=2 warps_m=4 warps_n=2 copy=tma'
keys small_keys_wide 126 256 'stages=3 warps_m=4 warps_n=2'

prepare() { # NAME: search, unless its µGraph is there; link 2; compilation, into the cache
  local name=$1
  if [ ! -f "$dir/$name.best.mg" ]; then
    build/mirage search "$dir/$name.mg" --no-measure --time-limit 20 >"$dir/$name.best.mg" 2>"$dir/$name.err" || return 1
  fi
  build/mirage check "$dir/$name.best.mg" >"$dir/$name.check" 2>>"$dir/$name.err" || return 1
  build/mirage run "$dir/$name.best.mg" --no-check --reps 1 >"$dir/$name.first" 2>&1
  touch "$dir/$name.ready"
}
export -f prepare
names=$(cd "$dir" && for f in *.mg; do echo "${f%%.*}"; done | sort -u | grep -E "${GPU_ONLY:-}")
printf '%s\n' $names | xargs -P "$cores" -I{} bash -c 'prepare {}'

tell() { # STATUS WHAT WHY
  if [ "$1" = 0 ]; then
    passed=$((passed + 1))
    echo "ok - $2"
  else
    failed=$((failed + 1))
    echo "not ok - $2: $3"
  fi
}
for name in $names; do
  if [ -f "$dir/$name.ready" ] && build/mirage run "$dir/$name.best.mg" --no-check --reps 5 --cold >"$dir/$name.out" 2>>"$dir/$name.err"; then
    tell 0 "$name: link 2 SAME, link 3 $(sed -n 's/^link 3: //p' "$dir/$name.out" | cut -d, -f1-2)"
  else
    tell 1 "$name" "$(tail -n 1 "$dir/$name.err")"
  fi
done

# The families of the numerics, against the program as written; chains, which hand on what passes f16.
families() { # NAME: a kernel and its program
  build/mirage run "$dir/$1.best.mg" --no-check --no-time --numerics --program "$dir/$1.mg" --seed 1 --time-limit 60 >"$dir/$1.families" 2>&1
  echo $? >"$dir/$1.families.rc"
}
export -f families
judged=$(for name in $names; do [ -f "$dir/$name.mg" ] && [ -f "$dir/$name.ready" ] && echo "$name"; done)
printf '%s\n' $judged | xargs -P "$cores" -I{} bash -c 'families {}'
for name in $judged; do
  tell "$(cat "$dir/$name.families.rc")" "$name: $(sed -n 's/^numerics on the GPU: //p' "$dir/$name.families")" "$(tail -n 1 "$dir/$name.families")"
done

# Sizes as symbols: one file for all n, at these, and a size out of its bounds, which has to be refused.
sizes() { # NAME
  local name=$1 n
  build/mirage search "$dir/sym/$name.mg" --no-measure >"$dir/sym/$name.best.mg" 2>"$dir/sym/$name.err" || return 1
  build/mirage check "$dir/sym/$name.best.mg" >"$dir/sym/$name.check" 2>>"$dir/sym/$name.err" || return 1
  build/mirage emit "$dir/sym/$name.best.mg" -o "$dir/sym/$name.cu" 2>>"$dir/sym/$name.err" || return 1
  for n in 1 2 7 16 33 64 100 128; do
    build/mirage run "$dir/sym/$name.cu" --sym n=$n --no-check --no-time >"$dir/sym/$name.$n.out" 2>>"$dir/sym/$name.err" || echo "n=$n" >>"$dir/sym/$name.bad"
    case $name in sym_keys | sym_sums) continue ;; esac # contracted: of fewer the sum is another
    [ $n -le 2 ] || grep -q '^rows: a row has the same bits at' "$dir/sym/$name.$n.out" || { echo "n=$n:"; grep '^rows: ' "$dir/sym/$name.$n.out" || echo "nothing on rows;"; } >>"$dir/sym/$name.bad"
  done
}
export -f sizes
mkdir -p "$dir/sym"
symbol='sym n in 1..128\ninput'
printf "program sym_rms\n$symbol X : f16[n, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 512]\nO = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n" >"$dir/sym/sym_rms.mg"
printf "program sym_mlp\n$symbol X : f16[n, 1024]\ninput A : f16[1024, 512]\ninput B : f16[1024, 512]\nO = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n" >"$dir/sym/sym_mlp.mg"
printf "program sym_attention\n$symbol Q : f16[4, n, 64]\ninput K : f16[4, 64, 1024] @ [0, 2, 1]\ninput V : f16[4, 1024, 64]\nO = matmul(softmax(scale(matmul(Q, K), 1/8), dim=2), V)\noutput O\n" >"$dir/sym/sym_attention.mg"
printf "program sym_columns\n$symbol X : f16[48, 256]\ninput W : f16[256, n]\nO = relu(matmul(X, W))\noutput O\n" >"$dir/sym/sym_columns.mg"
printf "program sym_keys\n$symbol Q : f16[4, 16, 64]\ninput K : f16[4, n, 64]\ninput V : f16[4, n, 64]\nO = matmul(softmax(scale(matmul(Q, transpose(K, [0, 2, 1])), 1/8), dim=2), V)\noutput O\n" >"$dir/sym/sym_keys.mg"
printf "program sym_sums\n$symbol X : f16[16, n]\ninput W : f16[n, 512]\nO = relu(matmul(X, W))\noutput O\n" >"$dir/sym/sym_sums.mg"
symbols=$(printf '%s\n' sym_rms sym_mlp sym_attention sym_columns sym_keys sym_sums | grep -E "${GPU_ONLY:-}")
printf '%s\n' $symbols | xargs -P "$cores" -I{} bash -c 'sizes {} || echo stopped >>"$dir/sym/{}.bad"'
for name in $symbols; do
  [ ! -e "$dir/sym/$name.bad" ]
  tell $? "$name at n = 1, 2, 7, 16, 33, 64, 100, 128: link 2 SAME$(sed -n 's/^  sizes/ at/p' "$dir/sym/$name.check"), link 3 SAME" "$(cat "$dir/sym/$name.bad" 2>/dev/null | tr "\n" " ")$(tail -n 1 "$dir/sym/$name.err")"
done
if [ -f "$dir/sym/sym_rms.cu" ]; then
  build/mirage run "$dir/sym/sym_rms.cu" --sym n=129 --no-check --no-time >"$dir/sym/beyond.out" 2>&1
  [ $? = 3 ]
  tell $? "n = 129 of 1..128 is refused" "$(tail -n 1 "$dir/sym/beyond.out")"
fi

# A search that times its candidates: ranked by the cold times, the first the least; cuBLAS's products beside our own.
if build/mirage search "$dir/mlp_r0.mg" --top 4 -o "$dir/timed" >"$dir/timed.best" 2>"$dir/timed.err"; then
  grep -h '^# measured: .* us cold on ' "$dir"/timed/0*.mg | sed 's/.*, \([0-9.]*\) us cold on .*/\1/' >"$dir/timed.us"
  [ "$(wc -l <"$dir/timed.us")" -ge 2 ] && sort -g -c "$dir/timed.us" 2>/dev/null
  tell $? "search ranks by the time that it measures ($(tr '\n' ' ' <"$dir/timed.us")us)" "$(grep '^# measured' "$dir/timed.best")"
else
  tell 1 "search ranks by the time that it measures" "$(tail -n 1 "$dir/timed.err")"
fi
build/mirage explain "$dir/gqa_bs1.best.mg" >"$dir/explain.out" 2>"$dir/explain.err"
times=$(sed -n 's/^measured on .*: \([0-9.]*\) us, \([0-9.]*\) us with a warm L2 cache$/\1 \2/p' "$dir/explain.out")
[ -n "$times" ] && awk -v t="$times" 'BEGIN { split(t, us, " "); exit !(us[1] > 0.5 && us[2] > 0.5) }'
tell $? "explain says what gqa_bs1 takes here: $times us, cold and hot" "$(cat "$dir/explain.err")"
for blas in 0 1; do
  MIRAGE_CUBLAS=$blas build/mirage run examples/programs/gemm_chain_g4.mg --no-check --cold >"$dir/blas.out" 2>"$dir/blas.err"
  tell $? "gemm_chain_g4 as it stands, MIRAGE_CUBLAS=$blas: $(sed -n 's/^link 3: //p' "$dir/blas.out" | cut -d, -f1-2), $(sed -n 's/^cold: \([0-9.]* us\).*/\1/p' "$dir/blas.out") cold" "$(tail -n 1 "$dir/blas.err")"
done

# What follows a product, by cuBLASLt's epilogues and by kernels of its own: residual, bias, batches, a turned operand.
printf 'program follows\ninput X : f16[3, 72, 96]\ninput W : f16[96, 200] @ [1, 0]\ninput R : f16[3, 72, 200]\ninput B : f16[200]\ninput V : bf16[33, 64]\ninput U : bf16[64, 40]\ninput S : bf16[33, 40]\nO = add(add(matmul(X, W), B), R)\nP = add(S, matmul(V, U))\noutput O, P\n' >"$dir/follows.mg"
for blas in 0 1; do
  MIRAGE_CUBLAS=$blas build/mirage run "$dir/follows.mg" --no-check >"$dir/follows.out" 2>"$dir/follows.err"
  tell $? "what follows a product, MIRAGE_CUBLAS=$blas: $(sed -n 's/^link 3: //p' "$dir/follows.out" | cut -d, -f1-2)" "$(tail -n 1 "$dir/follows.err")"
done

sanitize() { # TOOL NAME
  timeout 300 compute-sanitizer --tool "$1" --error-exitcode 9 build/mirage run "$dir/$2.best.mg" --no-check --no-time >"$dir/$2.$1" 2>&1
  echo $? >"$dir/$2.$1.rc"
}
export -f sanitize
if command -v compute-sanitizer >/dev/null 2>&1; then
  for n in 1 33 100; do
    [ -f "$dir/sym/sym_rms.cu" ] || continue
    timeout 300 compute-sanitizer --tool memcheck --error-exitcode 9 build/mirage run "$dir/sym/sym_rms.cu" --sym n=$n --no-check --no-time >"$dir/sym/memcheck.$n" 2>&1
    tell $? "memcheck sym_rms at n = $n" "$(grep -m 1 -E '=========.*(Error|Invalid)' "$dir/sym/memcheck.$n" || tail -n 1 "$dir/sym/memcheck.$n")"
  done
  small="rms_r0 rms_r2 mlp_r2 low_r4 xyz_r3 split_cluster split_workspace small_cluster small_workspace attention_s1 small_group small_rings small_norms small_turned small_own small_tma small_behind small_runs small_pair small_rows small_rope small_across small_keys small_keys_tma small_keys_wide small_cast small_cast_group late_tma late_warp"
  small=$(printf '%s\n' $small | grep -E "${GPU_ONLY:-}")
  for name in $small; do for tool in memcheck racecheck synccheck; do echo "$tool $name"; done; done | xargs -P "$(((cores + 1) / 2))" -L 1 bash -c 'sanitize "$0" "$1"'
  for name in $small; do
    for tool in memcheck racecheck synccheck; do
      tell "$(cat "$dir/$name.$tool.rc")" "$tool $name" "$(grep -m 1 -E '=========.*(Error|Race|hazard|Invalid)' "$dir/$name.$tool" || tail -n 1 "$dir/$name.$tool")"
    done
  done
else
  echo "skipped: compute-sanitizer is not installed"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
