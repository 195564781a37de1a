#!/usr/bin/env bash
# The main job, from a program to a running kernel; says what was not run.  `make demo` builds the tool before.
set -euo pipefail
cd "$(dirname "$0")/.."
name=rmsnorm_linear_m16_k4096_n4096 dir=build/demo nvcc=${NVCC:-nvcc} skipped=()
mkdir -p "$dir"
step() { printf '\n== %s\n' "$*"; }

step "search and link 1: mirage search examples/programs/$name.mg"
build/mirage search "examples/programs/$name.mg" --top 2 -o "$dir/$name" --stats "$dir/stats.json" | tee "$dir/$name.mg"

step "the certificate, checked again from its text alone: mirage verify 00.cert"
build/mirage verify "$dir/$name/00.cert"

step "emit: mirage emit"
build/mirage emit "$dir/$name.mg" -o "$dir/$name.cu"
echo "$dir/$name.cu: $(wc -l <"$dir/$name.cu") lines"

step "link 2, on the CPU over finite fields and floats: mirage check"
build/mirage check "$dir/$name.cu"

step "a whole model: mirage model search, verify, check examples/models/tiny.mgm"
build/mirage model search examples/models/tiny.mgm --time-limit 20 -o "$dir/tiny"
build/mirage model verify examples/models/tiny.mgm -o "$dir/tiny" | tail -n 3
build/mirage model check examples/models/tiny.mgm -o "$dir/tiny" --sym n=2 --sym p=3 --steps 2

step "compile for sm_80 and sm_90a"
if command -v "$nvcc" >/dev/null 2>&1; then
  build/mirage search "examples/programs/$name.mg" --arch sm_80 --no-measure --top 1 >"$dir/$name.sm_80.mg" # less shared memory: its own plan
  build/mirage emit "$dir/$name.sm_80.mg" --arch sm_80 -o "$dir/$name.sm_80.cu"
  for arch in 80 90a; do
    src=$dir/$name.cu
    [ $arch = 80 ] && src=$dir/$name.sm_80.cu
    "$nvcc" -O3 -std=c++17 -gencode "arch=compute_$arch,code=sm_$arch" -Xcompiler -fPIC,-Wall,-Wextra -Xptxas -v -shared -I. -o "$dir/$name.sm_$arch.so" "$src" 2>&1 |
      grep -E 'warning|error|spill|registers' || true
    test -s "$dir/$name.sm_$arch.so"
    echo "sm_$arch: $dir/$name.sm_$arch.so"
  done
else
  skipped+=("compiling: no nvcc")
fi

step "link 3 and the time, on a GPU: mirage run"
rc=0
build/mirage run "$dir/$name.mg" --cold 2>"$dir/run.err" || rc=$?
if [ $rc = 4 ]; then
  skipped+=("running and timing: $(sed 's/^mirage: //' "$dir/run.err")")
elif [ $rc != 0 ]; then
  cat "$dir/run.err" >&2
  exit $rc
fi
printf '\n'
for s in "${skipped[@]:-}"; do [ -z "$s" ] || echo "not run: $s"; done
echo "demo: done"
