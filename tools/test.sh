#!/bin/sh
# Everything that a change must pass. What fails most comes first: format, include direction, the tests; then the build
# with sanitizers, a short fuzz run, and the tests that read what others wrote. The test runner's summary comes last.
# LOCKSTEP_SWEEPS=ON runs every case of every test, with the sanitizers, too.
set -eu
cd "$(dirname "$0")/.."
. tools/steps.sh
jobs=${JOBS:-$(nproc)}

step "format"
git ls-files '*.h' '*.hpp' '*.cpp' | xargs -P "$jobs" -n 40 clang-format-19 --dry-run -Werror
step "include direction"
python3 tools/check_includes.py
step "build"
cmake --build build/release -j "$jobs"
step "tests"
ctest --test-dir build/release --output-on-failure -j "$jobs"
step ""
exec tools/test_sanitized.sh
