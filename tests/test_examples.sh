#!/usr/bin/env bash
# Every program of examples/programs as its user takes it, for sm_80 and for sm_90a: `mirage search`, complete and certified;
# `mirage emit`; the file's own nvcc command, without a warning and, by ptxas's report, without a spill; `mirage check`.
# nvcc gets all kernels of an architecture as one file, which takes it an eighth of the time.
# Usage: tests/test_examples.sh [SEED]; prints `ok - ..` or `not ok - ..` a step.  Link 2 is of a sample that SEED draws;
# SOAK_EXAMPLES=1: of all, and the searches go to 12 block operators.  ONLY=REGEX: these programs.
# WRITE=1: what is found takes the place of each first one in tests/programs.ugraphs.
set -uo pipefail
cd "$(dirname "$0")/.."
seed=${1:-1}
NVCC=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)}
export dir=build/examples seed options="--threads 1 --no-measure --time-limit none"
[ "${SOAK_EXAMPLES:-0}" = 0 ] || options="$options --max-block-ops 12"
archs="sm_80 sm_90a"
rm -rf $dir
mkdir -p $dir
echo "seed $seed"

result() { # NAME STATUS LOG
  if [ "$2" = 0 ]; then echo "ok - $1"; else printf 'not ok - %s\n%s\n' "$1" "$(head -c 3000 "$3")"; fi
}
searched() { # ARCH.PROGRAM: leaves the µGraph and the emitted file
  local to=$dir/$1 arch=${1%%.*} rc=1
  timeout 800 build/mirage search "examples/programs/${1#*.}.mg" --arch "$arch" $options --stats "$to.json" >"$to.mg" 2>"$to.log" &&
    grep -q '"complete": true' "$to.json" && grep -q '^# verdict: EQUAL$' "$to.mg" &&
    build/mirage emit "$to.mg" --arch "$arch" -o "$to.cu" 2>>"$to.log" && rc=0
  result "${1#*.} for $arch: searched, certified, emitted" $rc "$to.log"
}
compiled() { # ARCH
  local to=$dir/all.$1 flags all kernels rc=1
  all=$(ls $dir/"$1".*.cu)
  { printf '#define %s\n' MG_CUBLAS MG_TENSOR_MAPS && cat $all; } >"$to.cu" # before the header's first inclusion, as some files have it
  flags=$(sed -n '1s,^/\* nvcc \(.*\) -shared .*,\1,p' "$(head -n 1 <<<"$all")")
  kernels=$(grep -c '^MG_KERNEL(' "$to.cu")
  "$NVCC" $flags -Xcompiler -Wall,-Wextra -Werror all-warnings -Xptxas -v -I. -c -o "$to.o" "$to.cu" >"$to.log" 2>&1 &&
    awk -v arch="$1" -v kernels="$kernels" '$0 ~ "Compiling entry .* for ." arch { entry = $0; n++ }
      /bytes spill/ { said++ }
      /warning/ || /bytes spill/ && !/ 0 bytes spill stores, 0 bytes spill loads/ { print entry; print; bad = 1 }
      END { if (!n || n != kernels || n != said) { print n + 0 " entries, " said + 0 " reports"; bad = 1 } exit bad }
    ' "$to.log" >"$to.bad" && rc=0
  [ -s "$to.bad" ] && mv "$to.bad" "$to.log"
  result "nvcc for $1: $(wc -w <<<"$all") programs, $kernels kernels, no warning, no spill" $rc "$to.log"
}
checked() { # ARCH.PROGRAM
  timeout 800 build/mirage check "$dir/$1.cu" --seed "$seed" >"$dir/$1.check" 2>&1 && grep -q '^link 2: SAME' "$dir/$1.check"
  result "${1#*.} for ${1%%.*}: link 2" $? "$dir/$1.check"
}
export -f result searched compiled checked
export NVCC
each() { xargs -P 2 -n 1 bash -c '"$0" "$1"' "$1"; } # FUNCTION: of every line, two at a time

things=()
for arch in $archs; do for f in $(cd examples/programs && ls -- *.mg | grep -E -- "${ONLY:-.}"); do things+=("$arch.${f%.mg}"); done; done
{
  printf '%s\n' "${things[@]}" | each searched
  if [ -n "$NVCC" ]; then printf '%s\n' $archs | each compiled; else echo "skipped: nvcc is not installed"; fi
  n=${#things[@]}
  for ((k = 0; k < n; k++)); do
    thing=${things[(seed * 31 + k * 29) % n]}
    [ -s "$dir/$thing.cu" ] && { [ "${SOAK_EXAMPLES:-0}" != 0 ] || [ $k -lt 12 ]; } && echo "$thing"
  done | each checked
} | tee $dir/log
if [ "${WRITE:-0}" != 0 ]; then
  awk -v dir=$dir '/^#@ / { arch = $2 }
    /^program / {
      f = dir "/" arch "." $2 ".mg"
      instead = !first[f]++ && (getline line <f) > 0
      if (instead) do if (line !~ /^#/) print line; while ((getline line <f) > 0)
    }
    !instead || /^#@ / { print }' tests/programs.ugraphs >$dir/ugraphs && mv $dir/ugraphs tests/programs.ugraphs
fi
! grep -q '^not ok' $dir/log
