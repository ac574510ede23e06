#!/bin/sh
# Builds with the address and undefined-behaviour sanitizers, runs each fuzz target for a short while and the tests that
# read what others wrote (files, code, arguments). The fuzz runs begin alike, so that a change and not chance decides
# whether they find something; LOCKSTEP_FUZZ_SEED=0 takes another way each time. LOCKSTEP_SWEEPS=ON runs all tests.
set -eu
cd "$(dirname "$0")/.."
. tools/steps.sh
jobs=${JOBS:-$(nproc)}
export LOCKSTEP_FUZZ_SECONDS="${LOCKSTEP_FUZZ_SECONDS:-4}"
build=build/asan-ubsan

step "build with sanitizers"
# What is never sanitized comes from the other build, if there is one.
release=build/release
if [ -f $release/build.ninja ]; then
  cmake --build $release -j "$jobs" --target lockstep-toolchain-worker lockstep-guards lockstep_bodies
  take=$PWD/$release
fi
cmake --preset asan-ubsan -DLOCKSTEP_SWEEPS="${LOCKSTEP_SWEEPS:-OFF}" -DLOCKSTEP_TAKE_FROM="${take:-}" > /dev/null
cmake --build $build -j "$jobs"
step "fuzz: each target for $LOCKSTEP_FUZZ_SECONDS s"
ls $build/fuzz/*_fuzz | xargs -P "$jobs" -n 1 tools/fuzz_shortly.sh
step "tests with sanitizers"
exec ctest --test-dir $build --output-on-failure -j "$jobs"
