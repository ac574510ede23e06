#!/bin/sh
# fuzz_shortly.sh TARGET: runs a fuzz target for LOCKSTEP_FUZZ_SECONDS; says what it did in one piece, since others run
# beside it.
set -eu
target=$1
corpus=$target.corpus
log=$target.log
mkdir -p "$corpus"
status=0
"$target" -seed="${LOCKSTEP_FUZZ_SEED:-1}" -max_total_time="$LOCKSTEP_FUZZ_SECONDS" -print_final_stats=0 -verbosity=0 \
  -artifact_prefix="$target." "$corpus" > "$log" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
  printf '== fuzz: %s failed\n' "$(basename "$target")"
  cat "$log"
  exit 1
fi
printf '== fuzz: %s found nothing\n' "$(basename "$target")"
