#!/bin/bash
# Runs a program with the runtime that tools/rocm_runtime.sh has unpacked, by that tree's own loader, under `lockstep exec`:
#   tools/rocm_exec.sh [EXEC OPTIONS] -- PROGRAM [ARGUMENTS]
# PROGRAM may be one of the tree, such as rocminfo. ROCM names the tree (build/rocm), LOCKSTEP the program `lockstep`.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
tree=$(realpath "${ROCM:-$here/build/rocm}")
lockstep=${LOCKSTEP:-$here/build/release/cli/lockstep}
[ -e "$tree/.complete" ] || { echo "error: no ROCm runtime in $tree (run 'make rocm')" >&2; exit 2; }
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
[ $# -ge 2 ] || { echo "usage: tools/rocm_exec.sh [exec options] -- program [arguments]" >&2; exit 2; }
program=$2
shift 2
libraries=$tree/usr/lib/x86_64-linux-gnu
[[ $program == */* ]] || [ ! -x "$tree/usr/bin/$program" ] || program=$tree/usr/bin/$program
[[ $program == */* ]] || program=$(command -v "$program")
# rocFFT compiles in a program beside its library, which this machine's own loader would start, without the tree's libraries.
export ROCFFT_RTC_PROCESS=${ROCFFT_RTC_PROCESS:-0}
export OCL_ICD_VENDORS=$tree/etc/OpenCL/vendors
# To OpenCL's compiler the header that it looks for below /usr is that of the tree (tools/rocm_runtime.sh). It takes no quotes.
if [ -e "$tree/opencl_headers.yaml" ] && [[ $tree != *[\ ,]* ]]; then
  options_of_tree="-Wf,-ivfsoverlay$tree/opencl_headers.yaml -Wf,-Wno-unused-command-line-argument"
  export AMD_OCL_BUILD_OPTIONS_APPEND="${AMD_OCL_BUILD_OPTIONS_APPEND:+$AMD_OCL_BUILD_OPTIONS_APPEND }$options_of_tree"
fi
exec "$lockstep" exec "${options[@]}" -- "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:$libraries/rocm" "$program" "$@"
