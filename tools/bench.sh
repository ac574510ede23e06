#!/bin/sh
# Runs the benchmarks of the release build; arguments go to Google Benchmark.
set -eu
cd "$(dirname "$0")/.."
for bench in build/release/bench/lockstep_bench build/release/bench/bench_*; do
  [ -x "$bench" ] || continue
  echo "== ${bench##*/}"
  "$bench" "$@"
done
