#!/bin/sh
# Writes docs/isa.md, or with --check says whether it is up to date. The second argument is the lockstep program.
set -eu
cd "$(dirname "$0")/.."
check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
lockstep=${1:-build/release/cli/lockstep}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$lockstep" isa --markdown > "$page"
if [ -z "$check" ]; then
  cat "$page" > docs/isa.md
elif ! diff -u docs/isa.md "$page"; then
  echo "docs/isa.md is out of date: make docs" >&2
  exit 1
fi
