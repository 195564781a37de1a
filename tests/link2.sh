#!/usr/bin/env bash
# What link 2 takes: `mirage check` of stored µGraphs, of what the search finds for the programs of tests/bench/programs, for large
# ones and for families, in seconds of processor time, without the one compilation (two cores for a minute: 120); behind the plus what
# that takes.  The last line names the worst.
#   tests/link2.sh [REGEX]     those whose names match; LINK2_S: the limit; LINK2_JOBS: side by side; LINK2_FOUND: a directory that
#                              keeps what was found, and what is there is not searched for again
# Not in CI: half an hour of two cores.  `make soak SOAK_LINK2=1` runs it first.
set -uo pipefail
cd "$(dirname "$0")/.."
dir=build/link2 only=${1:-.} limit=${LINK2_S:-120} jobs=${LINK2_JOBS:-2}
found=${LINK2_FOUND:-$PWD/build/link2/found}
rm -rf build/link2/*.* && mkdir -p $dir "$found"
m=$PWD/build/mirage
# The compiler, which notes what it takes.
printf '#!/usr/bin/env bash\nTIMEFORMAT="%%U %%S"\n{ time %s "$@" 2>&3; } 3>&2 2>>"$LINK2_BUILDS"\n' "${CXX:-g++}" >$dir/cxx.sh
chmod +x $dir/cxx.sh

awk -v dir=$dir '/^#@ /{n++; file = sprintf("%s/stored_%03d.ug", dir, n); next} n {print >file}' tests/programs.ugraphs
program() { printf "program $1\n$2\noutput O\n" >$dir/$1.mg; }
for f in tests/bench/programs/*.mg; do cp "$f" $dir/bench_$(basename "$f"); done
program linear_4096 'input X : f16[4096, 4096]\ninput W : f16[4096, 4096]\nO = matmul(X, W)'
program softmax_32000 'input X : f16[4096, 32000]\nO = softmax(X, dim=1)'
gated='mul(silu(matmul(X, A)), matmul(X, B))' norm='matmul(rms_norm(X, G, eps=1/1000000), W)'
program mlp_1024 "input X : f16[1024, 4096]\ninput A : f16[4096, 14336]\ninput B : f16[4096, 14336]\nO = $gated"
program mlp_128 "input X : f16[128, 4096]\ninput A : f16[4096, 14336]\ninput B : f16[4096, 14336]\nO = $gated"
program mlp_8192 "input X : f16[8192, 4096]\ninput A : f16[4096, 14336]\ninput B : f16[4096, 14336]\nO = $gated"
program norm_8192 "input X : f16[8192, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 14336]\nO = $norm"
for most in 128 1000000; do
  program family_norm_$most "sym n in 1..$most\ninput X : f16[n, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 4096]\nO = $norm"
  program family_mlp_$most "sym n in 1..$most\ninput X : f16[n, 4096]\ninput A : f16[4096, 14336]\ninput B : f16[4096, 14336]\nO = $gated"
  program family_attention_$most "sym n in 1..$most\ninput Q : f16[16, n, 128]\ninput K : f16[16, 128, 2048] @ [0, 2, 1]\ninput V : f16[16, 2048, 128]\nO = matmul(softmax(scale(matmul(Q, K), 1/11), dim=2), V)"
  program family_keys_$most "sym p in 1..$most\ninput Q : f16[16, 16, 128]\ninput K : f16[16, 128, p] @ [0, 2, 1]\ninput V : f16[16, p, 128]\nO = matmul(softmax(scale(matmul(Q, K), 1/11), dim=2), V)"
  program family_decode_$most "sym n in 1..64\nsym p in 1..$most\ninput Q : f16[8, n, 128]\ninput K : f16[8, 128, p] @ [0, 2, 1]\ninput V : f16[8, p, 128]\nO = matmul(softmax(scale(matmul(Q, K), 1/11), dim=2), V)"
done

one() { # FILE: a line "seconds+compilation name verdict" to FILE.took
  local f=$1 name rc best
  name=$(basename "$f" .mg) best=$f
  [ "${f%.ug}" = "$f" ] && best=$found/$name.mg
  if [ ! -s "$best" ]; then
    "$m" search "$f" --time-limit "${LINK2_SEARCH_S:-20}" --no-measure >"$f.best" 2>"$f.search" || { echo "0 $name not found: $(tail -n 1 "$f.search")" >"$f.took"; return; }
    mv "$f.best" "$best"
  fi
  TIMEFORMAT='%U %S'
  export LINK2_BUILDS=$f.builds
  { time CXX=$cxx "$m" check "$best" >"$f.out" 2>"$f.err"; echo $? >"$f.rc"; } 2>"$f.time"
  rc=$(cat "$f.rc")
  echo "$(awk 'FILENAME ~ /builds$/ {b += $1 + $2; next} {print $1 + $2 - b "+" b}' "$f.builds" "$f.time") $name rc=$rc $(grep -m 1 -o 'link 2: [A-Z]*' "$f.out") $(tail -n 1 "$f.err" | cut -c 1-160)" >"$f.took"
}
cxx=$PWD/$dir/cxx.sh
export m found cxx; export -f one
ls $dir/*.mg $dir/*.ug | grep -E "$only" | xargs -P "$jobs" -I{} bash -c 'one {}'
sort -n $dir/*.took
late=$(awk -v s="$limit" '$1 + 0 > s' $dir/*.took | wc -l) wrong=$(grep -c 'rc=[1234]\|not found' <(cat $dir/*.took))
echo "$(cat $dir/*.took | wc -l) checks, $late past $limit s of processor time, $wrong that end in another way; worst: $(sort -n $dir/*.took | tail -n 1)"
[ "$late" = 0 ] && [ "$wrong" = 0 ]
