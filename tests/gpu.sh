#!/usr/bin/env bash
# Link 3 on a GPU: emitted kernels against float64 on fresh random inputs and poisoned outputs, at regular and ragged sizes,
# in f16, bf16 and f32; then compute-sanitizer, where it is.  Last line: `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
dir=build/gpu passed=0 failed=0
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
cp examples/programs/{rmsnorm_linear_m2_k4096_n4096,rmsnorm_linear_m16_k4096_n6144,gated_mlp_m8,lora_m16_k4096,lora_m16_k256,ntrans_m8,gqa_bs1,gqa_decode_bs1,attention_s1,gemm_chain_g4}.mg "$dir"

for p in "$dir"/*.mg; do
  name=$(basename "$p" .mg)
  if build/mirage search "$p" --time-limit 20 >"$dir/$name.best" 2>"$dir/$name.err" && cp "$dir/$name.best" "$dir/$name.best.mg" &&
    build/mirage run "$dir/$name.best.mg" --reps 5 >"$dir/$name.out" 2>>"$dir/$name.err"; then
    passed=$((passed + 1))
    echo "ok - $name: $(sed -n 's/^link 3: //p' "$dir/$name.out" | cut -d, -f1-2)"
  else
    failed=$((failed + 1))
    echo "not ok - $name: $(tail -n 1 "$dir/$name.err")"
  fi
done

if command -v compute-sanitizer >/dev/null 2>&1; then
  for name in rms_r0 rms_r2 mlp_r2 low_r4 attention_s1; do
    for tool in memcheck racecheck synccheck; do
      if compute-sanitizer --tool $tool --error-exitcode 9 build/mirage run "$dir/$name.best.mg" --reps 1 >"$dir/$name.$tool" 2>&1; then
        passed=$((passed + 1))
        echo "ok - $tool $name"
      else
        failed=$((failed + 1))
        echo "not ok - $tool $name: $(grep -m 1 -E '=========.*(Error|Race|hazard|Invalid)' "$dir/$name.$tool" || tail -n 1 "$dir/$name.$tool")"
      fi
    done
  done
else
  echo "skipped: compute-sanitizer is not installed"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
