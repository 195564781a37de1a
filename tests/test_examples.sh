#!/usr/bin/env bash
# Every program of examples/programs as its user takes it, for sm_80 and for sm_90a: `mirage search`, complete and certified;
# `mirage emit`; the file's own nvcc command, without a warning and, by ptxas's report, without a spill and with as many blocks
# at once as the launch bound promises; `mirage check`.  So are µGraphs of tests/programs.ugraphs: every eighth by SEED, or all.
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
stored() { # the stored µGraphs, of programs named by their numbers too, as $dir/KIND.NUMBER.ARCH
  awk -v dir=$dir -v step=$([ "${SOAK_EXAMPLES:-0}" = 0 ] && echo 8 || echo 1) -v seed="$seed" -v only="${ONLY:-.}" '
    /^#@ / { arch = $2; n++; f = ""; next }
    /^program / {
      taken = (n + seed) % step == 0 && $2 ~ only
      f = taken ? dir "/stored." arch "." n ".mg" : ""
      $0 = $0 "_" n
    }
    f { print >f }' tests/programs.ugraphs
  for f in $dir/stored.*.mg; do
    [ -e "$f" ] || continue
    f=${f%.mg}
    arch=${f#*/stored.}
    build/mirage emit "$f.mg" --arch "${arch%.*}" -o "$f.cu" 2>"$f.log" || result "$(basename "$f"): emitted" 1 "$f.log"
  done
}
compiled() { # ARCH, or stored.ARCH
  local to=$dir/all.$1 flags all kernels rc=1
  all=$(ls $dir/"$1".*.cu 2>/dev/null) || return 0
  { printf '#define %s\n' MG_CUBLAS MG_TENSOR_MAPS && cat $all; } >"$to.cu" # before the header's first inclusion, as some files have it
  flags=$(sed -n '1s,^/\* nvcc \(.*\) -shared .*,\1,p' "$(head -n 1 <<<"$all")")
  kernels=$(grep -c '^MG_KERNEL(' "$to.cu")
  "$NVCC" $flags -Xcompiler -Wall,-Wextra -Werror all-warnings -Xptxas -v -I. -c -o "$to.o" "$to.cu" >"$to.log" 2>&1 &&
    awk -v arch="${1#stored.}" -v kernels="$kernels" '
      FNR == NR { # the file: of MG_KERNEL(THREADS) void NAME( or MG_KERNEL(THREADS, BLOCKS) void NAME( the threads at once
        if (!/^MG_KERNEL/) next
        split($0, word, /[(),]+ */)
        name = $0
        sub(/^[^)]*\) void /, "", name)
        sub(/\(.*/, "", name)
        threads[name] = word[2] * (word[3] ~ /^[0-9]/ ? word[3] : 1)
        next
      }
      $0 ~ "Compiling entry .* for ." arch { # _Z, the length of the name, the name
        entry = $0
        n++
        match(entry, /_ZL?[0-9]+/)
        digits = substr(entry, RSTART, RLENGTH)
        sub(/_ZL?/, "", digits)
        name = substr(entry, RSTART + RLENGTH, digits)
      }
      / Used [0-9]+ registers/ {
        match($0, /Used [0-9]+/)
        used = substr($0, RSTART + 5, RLENGTH - 5)
        bounds++
        if (!(name in threads) || used * threads[name] > 65536) { print entry; print; bad = 1 }
      }
      /bytes spill/ { said++ }
      /warning/ || /bytes spill/ && !/ 0 bytes spill stores, 0 bytes spill loads/ { print entry; print; bad = 1 }
      END { if (!n || n != kernels || n != said || n != bounds) { print n + 0 " entries, " said + 0 " reports"; bad = 1 } exit bad }
    ' "$to.cu" "$to.log" >"$to.bad" && rc=0
  [ -s "$to.bad" ] && mv "$to.bad" "$to.log"
  result "nvcc for $1: $(wc -w <<<"$all") programs, $kernels kernels, no warning, no spill, registers within the launch bounds" $rc "$to.log"
}
checked() { # ARCH.PROGRAM
  timeout 800 build/mirage check "$dir/$1.cu" --seed "$seed" >"$dir/$1.check" 2>&1 && grep -q '^link 2: SAME' "$dir/$1.check"
  result "${1#*.} for ${1%%.*}: link 2" $? "$dir/$1.check"
}
export -f result searched compiled stored checked
export NVCC
each() { xargs -P 2 -n 1 bash -c '"$0" "$1"' "$1"; } # FUNCTION: of every line, two at a time

things=()
for arch in $archs; do for f in $(cd examples/programs && ls -- *.mg | grep -E -- "${ONLY:-.}"); do things+=("$arch.${f%.mg}"); done; done
{
  printf '%s\n' "${things[@]}" | each searched
  if [ -n "$NVCC" ]; then
    stored
    printf '%s\n' $archs $(printf 'stored.%s ' $archs) | each compiled
  else echo "skipped: nvcc is not installed"; fi
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
