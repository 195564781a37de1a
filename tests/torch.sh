#!/bin/sh
# The PyTorch backend's tests, without a GPU: PyTorch from the package index into build/torch-venv, made once (1.7 GB, a
# minute), the package of examples/torch by pip, then pytest on tests/torch. Its last line is "N passed, N failed".
#   tests/torch.sh [-k NAME ..]          what pytest takes
#   TORCH_LIMIT=S, TORCH_SAMPLES=N       seconds for a search (0.5), samples of an operator (20)
#   TORCH_VENV=DIR                       where the environment stands
# Where PyTorch cannot be had it says so and is skipped: a pass, unless TORCH_MUST=1.
cd "$(dirname "$0")/.." || exit 4
venv=${TORCH_VENV:-build/torch-venv}
python=$venv/bin/python
# What it imports, without what only a GPU needs; the last three are libraries that the CUDA toolkit does not bring.
packages="torch==2.11.0 sympy==1.14.0 mpmath==1.3.0 networkx jinja2 markupsafe fsspec filelock typing_extensions numpy
  setuptools==81.0.0 wheel packaging pytest pluggy iniconfig pygments expecttest
  nvidia-cufile nvidia-cusparselt-cu13==0.8.0 nvidia-nvshmem-cu13==3.4.5"

skip() {
  echo "SKIP tests/torch: $1"
  if [ -n "$TORCH_MUST" ]; then echo "0 passed, 1 failed"; exit 1; fi
  echo "0 passed, 0 failed"
  exit 0
}
mkdir -p build
log=build/torch-venv.log
if [ "$(cat "$venv/made" 2>/dev/null)" != "$packages" ]; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "no python3 of 3.10 or later"
  rm -f "$venv/made"
  python3 -m venv "$venv" >"$log" 2>&1 || skip "python3 -m venv failed: $(tail -1 "$log")"
  # shellcheck disable=SC2086
  "$python" -m pip install --no-deps --quiet $packages >"$log" 2>&1 || skip "PyTorch cannot be had: $(tail -1 "$log")"
  "$python" -c 'import torch._dynamo' >"$log" 2>&1 || skip "PyTorch does not load: $(tail -1 "$log")"
  printf '%s\n' "$packages" >"$venv/made"
fi
new=$(find mirage*.h mirage_cuda.cuh examples/mirage.c examples/import.c examples/torch -type f \
  ! -path '*/__pycache__/*' -newer "$venv/installed" 2>&1)
if [ -n "$new" ]; then
  "$python" -m pip install --no-deps --no-build-isolation --quiet --force-reinstall ./examples/torch >"$log" 2>&1 || {
    cat "$log"
    echo "pip install ./examples/torch failed"
    echo "0 passed, 1 failed"
    exit 1
  }
  touch "$venv/installed"
fi
TORCH_CACHE=$(mktemp -d) || exit 4
export TORCH_CACHE
MIRAGE_TORCH_CACHE=$TORCH_CACHE
export MIRAGE_TORCH_CACHE
"$python" -m pytest -q -p no:logging -p no:cacheprovider --tb=short tests/torch "$@" >build/torch.log 2>&1
code=$?
rm -rf "$TORCH_CACHE"
grep -vE '^[.sFEx]* *\[ *[0-9]+%\]$|^$' build/torch.log
passed=$(sed -nE '$s/^(.* )?([0-9]+) passed.*/\2/p' build/torch.log)
failed=$(sed -nE '$s/^(.* )?([0-9]+) failed.*/\2/p' build/torch.log)
errors=$(sed -nE '$s/^(.* )?([0-9]+) error.*/\2/p' build/torch.log)
failed=$((${failed:-0} + ${errors:-0}))
if [ $code -ne 0 ] && [ $failed -eq 0 ]; then failed=1; fi
echo "${passed:-0} passed, $failed failed"
[ $failed -eq 0 ]
