#!/usr/bin/env bash
# Runs the test programs given, one after the other, with their own seeds: a run repeats the last (soak.sh draws new ones).
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
passed=0 failed=0 bad=()
commit=$(git rev-parse HEAD 2>/dev/null || echo 1)
PLANT_SEED=${PLANT_SEED:-$((16#${commit:0:8}))}
for t in "$@"; do
  log=build/log/$(echo "$t" | tr / _).log
  start=$(date +%s)
  echo "== $t"
  case $t in
    */test_plant | */test_host | */test_plant_device) run=("$t" "$PLANT_SEED") ;;
    *) run=("$t") ;;
  esac
  ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} timeout "${TEST_TIMEOUT:-3600}" "${run[@]}" >"$log" 2>&1 </dev/null
  rc=$?
  p=$(sed -n -e 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' "$log" | paste -sd+ | sed 's/^$/0/')
  f=$(sed -n -e 's/^ *\([0-9]*\) FAILED TEST(S).*/\1/p' "$log" | paste -sd+ | sed 's/^$/0/')
  p=$((p + $(grep -c '^ok - ' "$log"))) f=$((f + $(grep -c '^not ok - ' "$log")))
  if [ $rc != 0 ] && [ $f = 0 ]; then f=1; echo "   ends with status $rc"; fi
  [ $rc = 0 ] || echo "   to repeat: ${run[*]}"
  if [ $f != 0 ]; then bad+=("$t"); grep -v -e '^\[ RUN' -e '^\[       OK' -e '^ok - ' "$log" | tail -n 60; fi
  if [ $rc = 0 ] && [ $((p + f)) = 0 ]; then echo "   has no test"; f=1; bad+=("$t"); fi
  grep '^skipped' "$log" | sed 's/^/   /'
  passed=$((passed + p)) failed=$((failed + f))
  echo "   $p passed, $f failed, $(($(date +%s) - start)) s"
done
[ ${#bad[@]} = 0 ] || echo "failed: ${bad[*]} (logs in build/log)"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
