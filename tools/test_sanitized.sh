#!/bin/sh
# Builds with the address and undefined-behaviour sanitizers, runs the tests that read what others wrote (files, code,
# arguments), and each fuzz target for a short while. The fuzz runs begin alike, so that a change and not chance decides
# whether they find something; LOCKSTEP_FUZZ_SEED=0 takes another way each time.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
seconds=${LOCKSTEP_FUZZ_SECONDS:-20}
build=build/asan-ubsan

cmake --preset asan-ubsan > /dev/null
cmake --build $build -j "$jobs"
ctest --test-dir $build --output-on-failure -j "$jobs"
for target in $build/fuzz/*_fuzz; do
  [ -x "$target" ] || continue
  corpus=$build/fuzz/$(basename "$target").corpus
  mkdir -p "$corpus"
  echo "== fuzz: $(basename "$target"), $seconds s"
  "$target" -seed="${LOCKSTEP_FUZZ_SEED:-1}" -max_total_time="$seconds" -print_final_stats=0 -verbosity=0 "$corpus"
done
