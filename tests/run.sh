#!/usr/bin/env bash
# Runs the test programs given, with their own seeds: a run repeats the last (soak.sh draws new ones).  What asks no
# clock runs first, two at once where there are two cores; then all else, one by one, with the machine to itself.
# What is planted for link 2 is drawn by PLANT_SEED, the commit's first digits: each commit has other plants, and its own
# again.
# Last line: `N passed, N failed`.  A program that ends with a failure which its own output does not count is one failed test.
set -uo pipefail
cd "$(dirname "$0")/.."
rm -rf build/cxx
mkdir -p build/log build/cxx
CXX=${CXX:-g++}
if [[ "$CXX" != *" "* ]]; then # what link 2 compiles twice is compiled once
  export CXX_REAL=$CXX CXX_KEPT=$PWD/build/cxx CXX=$PWD/tests/cxx.sh
fi
commit=$(git rev-parse HEAD 2>/dev/null || echo 1)
PLANT_SEED=${PLANT_SEED:-$((16#${commit:0:8}))}
at_once=$(($(nproc 2>/dev/null || echo 1) > 1 ? 2 : 1))
# These neither search under a time limit that is near, nor time anything, nor run on a GPU: a busy machine changes nothing
# they say.  Nor what any test says without a sanitizer, as it has the time that it needs with one, several times as long.
clockless='adversary check classes columns compose computed core cuts device domains edges emit host import maxima memory model'
clockless=" $clockless model_loaded models norms numerics optimizer orders pairs parts picks pieces plan plant plant_device"
clockless="$clockless programs reach resume run sizes symbols theorem tiling tuner use user_ops verify weights compile.sh docs.sh examples.sh"
clockless="$clockless peers.sh "
needs_no_clock() {
  local name=${1##*/}
  [[ $1 = build/test_* || $name = fuzz_* || $clockless = *" ${name#test_} "* ]]
}
one() { # TEST: runs it, says how it went, and leaves in its .sum how many tests passed and failed
  local t=$1 log p f rc start run report cpu TIMEFORMAT=%0U
  log=build/log/$(echo "$t" | tr / _).log
  start=$(date +%s)
  case $t in
    */test_plant | */test_host | */test_plant_device) run=("$t" "$PLANT_SEED") ;;
    *) run=("$t") ;;
  esac
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1}
  cpu=$({ time timeout "${TEST_TIMEOUT:-3600}" "${run[@]}" >"$log" 2>&1 </dev/null; } 2>&1)
  rc=$?
  p=$(sed -n -e 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' "$log" | paste -sd+ | sed 's/^$/0/')
  f=$(sed -n -e 's/^ *\([0-9]*\) FAILED TEST(S).*/\1/p' "$log" | paste -sd+ | sed 's/^$/0/')
  p=$((p + $(grep -c '^ok - ' "$log"))) f=$((f + $(grep -c '^not ok - ' "$log")))
  report=$(
    echo "== $t"
    if [ $rc != 0 ] && [ $f = 0 ]; then echo "   ends with status $rc"; fi
    [ $rc = 0 ] || echo "   to repeat: ${run[*]}"
    if [ $rc != 0 ] || [ $f != 0 ]; then grep -v -e '^\[ RUN' -e '^\[       OK' -e '^ok - ' "$log" | tail -n 60; fi
    if [ $rc = 0 ] && [ $((p + f)) = 0 ]; then echo "   has no test"; fi
    grep '^skipped' "$log" | sed 's/^/   /'
  )
  if [ $((p + f)) = 0 ] || { [ $rc != 0 ] && [ $f = 0 ]; }; then f=1; fi
  printf '%s\n' "$report" "   $p passed, $f failed, $(($(date +%s) - start)) s, $cpu s of processor time"
  echo "$p $f" >"${log%.log}.sum"
}

rm -f build/log/*.sum
for t in "$@"; do
  needs_no_clock "$t" || continue
  while [ "$(jobs -rp | wc -l)" -ge $at_once ]; do wait -n; done
  one "$t" &
done
wait
for t in "$@"; do needs_no_clock "$t" || one "$t"; done

passed=0 failed=0 bad=()
for t in "$@"; do
  read -r p f 2>/dev/null <"build/log/$(echo "$t" | tr / _).sum" || { p=0 f=1; echo "== $t: did not end"; }
  passed=$((passed + p)) failed=$((failed + f))
  [ "$f" = 0 ] || bad+=("$t")
done
[ ${#bad[@]} = 0 ] || echo "failed: ${bad[*]} (logs in build/log)"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
