#!/bin/sh
# Everything that a change must pass: format, include direction, the tests, then sanitizers with a short fuzz run.
# The test runner's summary comes last.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

echo "== format"
git ls-files '*.h' '*.hpp' '*.cpp' | xargs clang-format-19 --dry-run -Werror
echo "== include direction"
python3 tools/check_includes.py

echo "== sanitizers and a short fuzz run"
tools/test_sanitized.sh

echo "== tests"
exec ctest --test-dir build/release --output-on-failure -j "$jobs"
