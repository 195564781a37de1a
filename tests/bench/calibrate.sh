#!/usr/bin/env bash
# Measures the GPU that is here three times by `mirage calibrate`, and shows what the three found side by side.
# Usage: tests/bench/calibrate.sh [DIR]; DIR (build/calibrate) gets 1.machine, 2.machine, 3.machine and table.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:-build/calibrate}
mkdir -p "$dir"
make --no-print-directory build/mirage
for k in 1 2 3; do
  from=$(date +%s.%N)
  build/mirage calibrate -o "$dir/$k.machine"
  echo "run $k: $(echo "$(date +%s.%N) $from" | awk '{printf "%.1f", $1 - $2}') s"
done
# The rows; then of each rate its spread in a run, and of the three medians, in percent of the first.
awk '
  /^#/ {if (NF == 5) spread[$2] = spread[$2] sprintf(" %11.2f%%", 100 * ($5 - $4) / $3); next}
  {key = $1; sub(/^[^ ]+ /, ""); sub(/ # .*/, "")}
  key == "can" || key == "source" {if (FNR == NR) text[key] = $0; else if (text[key] != $0) text[key] = text[key] " | " $0; next}
  {if (!(key in row)) order[++n] = key; row[key] = row[key] sprintf(" %12s", $0)
   if (!(key in least) || $0 < least[key]) least[key] = $0 + 0
   if (!(key in most) || $0 > most[key]) most[key] = $0 + 0}
  END {
    for (k = 1; k <= n; k++) printf "%-17s%s\n", order[k], row[order[k]]
    for (key in text) printf "%-17s %s\n", key, text[key]
    print "\nspread of a run (most - least over median), and of the three medians:"
    for (k = 1; k <= n; k++) if (order[k] in spread) printf "%-17s%s %11.2f%%\n", order[k], spread[order[k]], 100 * (most[order[k]] / least[order[k]] - 1)
  }' "$dir"/[123].machine | tee "$dir/table.txt"
