#!/usr/bin/env bash
# tests/test_peers.py, which needs python3 alone; what needs PyTorch and Triton is tests/bench/best.py --check.
set -uo pipefail
cd "$(dirname "$0")/.."
if ! command -v python3 >/dev/null; then
  echo "skipped: no python3"
  echo "ok - nothing to test without python3"
  exit 0
fi
exec python3 tests/test_peers.py
