#!/bin/sh
# Runs the benchmarks of the release build; arguments go to the comparison with PoCL (--help lists them), and
# its figures to build/bench.json.
set -eu
cd "$(dirname "$0")/.."
build/release/bench/lockstep_bench --json build/bench.json "$@"
for bench in build/release/bench/bench_*; do
  [ -x "$bench" ] || continue
  echo "== ${bench##*/}"
  "$bench"
done
