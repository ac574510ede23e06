#!/bin/sh
# Everything that a change must pass: format, include direction, both builds, the tests that read what others wrote with
# sanitizers, a short fuzz run, and all tests. The test runner's summary comes last.
# LOCKSTEP_SWEEPS=ON runs every case of every test, with the sanitizers, too.
set -eu
cd "$(dirname "$0")/.."
. tools/steps.sh
jobs=${JOBS:-$(nproc)}
# Of a test that fails its failures are printed, not what passed before them.
export GTEST_BRIEF=1

step "format"
git ls-files '*.h' '*.hpp' '*.cpp' | xargs -P "$jobs" -n 40 clang-format-19 --dry-run -Werror
step "include direction"
python3 tools/check_includes.py
step "build"
cmake --build build/release -j "$jobs"
if [ "${LOCKSTEP_SWEEPS:-OFF}" = ON ]; then
  cmake --build build/release -j "$jobs" --target every_example_kernel benchmarks
fi
step ""
tools/test_sanitized.sh
step "tests"
exec ctest --test-dir build/release --output-on-failure -j "$jobs"
