#!/usr/bin/env bash
# Random tests with new seeds for SOAK_S seconds; stops at the first failure and says how to repeat it.
# Last line: `N passed, N failed`.  `make soak` builds the programs and hands them over.
# test_adversary takes its long form: SOAK_MUTANTS mutants, SOAK_REWRITES rewrites, over SOAK_JOBS processes;
# test_search every size, test_use SOAK_SEARCHES programs of each kind; test_import all imports at full size (SOAK_IMPORTS=0: a few); test_tiling SOAK_ROUNDS rounds; test_tuner and test_orders SOAK_TUNER and SOAK_ORDERS times their samples; test_pairs SOAK_PAIRS times its sample;
# test_rare SOAK_RARE times its sample;
# test_emit checks every case (SOAK_EMIT=0: a sample); test_programs searches SOAK_PROGRAMS of the 42 programs anew.
# test_reach emits, checks and compiles what SOAK_REACH random programs lead to; test_resume kills SOAK_KILLS searches;
# test_edges draws SOAK_EDGES programs; test_memory fails SOAK_MEMORY times as many allocations.
# test_examples.sh has link 2 look at every program (SOAK_EXAMPLES=0: a sample).
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/log
export SOAK_MUTANTS=${SOAK_MUTANTS:-100000} SOAK_REWRITES=${SOAK_REWRITES:-10000} SOAK_SEARCHES=${SOAK_SEARCHES:-42} SOAK_JOBS=${SOAK_JOBS:-2} SOAK_IMPORTS=${SOAK_IMPORTS:-1} SOAK_STRUCTURES=${SOAK_STRUCTURES:-1} SOAK_ROUNDS=${SOAK_ROUNDS:-10} SOAK_PAIRS=${SOAK_PAIRS:-40} SOAK_PIECES=${SOAK_PIECES:-40000} SOAK_RARE=${SOAK_RARE:-10} SOAK_EMIT=${SOAK_EMIT:-1} SOAK_PROGRAMS=${SOAK_PROGRAMS:-4} SOAK_REACH=${SOAK_REACH:-20} SOAK_KILLS=${SOAK_KILLS:-60} SOAK_TUNER=${SOAK_TUNER:-20} SOAK_ORDERS=${SOAK_ORDERS:-10} SOAK_EDGES=${SOAK_EDGES:-10} SOAK_MEMORY=${SOAK_MEMORY:-10} SOAK_EXAMPLES=${SOAK_EXAMPLES:-1}
end=$(($(date +%s) + ${SOAK_S:-3600})) seed=${SEED:-$(date +%s)} passed=0
while :; do
  for t in "$@"; do
    case $t in
      */test_core) run=("$t" --seed "$seed") ;;
      */test_search | */test_resume) run=(env SEED="$seed" "$t") ;;
      */test_user_ops) continue ;; # it takes no seed: `make test` runs it
      */test_plant | */test_host | */test_plant_device) run=("$t" "$seed" all) ;; # every planted bug
      */fuzz_*) run=("$t" "${FUZZ_N:-20000}" "$seed") ;;
      *) run=("$t" "$seed") ;;
    esac
    [ "$(date +%s)" -lt $end ] || { echo "$passed passed, 0 failed"; exit 0; }
    if ! timeout 3600 "${run[@]}" >build/log/soak.log 2>&1 </dev/null; then
      tail -n 40 build/log/soak.log
      echo "failed; to repeat: ${run[*]}"
      echo "$passed passed, 1 failed"
      exit 1
    fi
    passed=$((passed + 1))
    case $t in */test_adversary | */test_plant | */test_host | */test_plant_device) grep -v ' no bug here' build/log/soak.log ;; esac # the table is the result
    echo "ok - ${run[*]}"
  done
  seed=$((seed + 1))
done
