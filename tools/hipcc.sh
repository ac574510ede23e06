#!/bin/bash
# Compiles a HIP program, host and device in one file, with this machine's clang-19 and the headers, device libraries and
# runtime that tools/rocm_runtime.sh has unpacked:  tools/hipcc.sh IN.hip OUT [FLAGS]
# ROCM names the tree (build/rocm). With an installed ROCm use its hipcc.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
tree=$(realpath "${ROCM:-$here/build/rocm}")
[ -e "$tree/.complete" ] || { echo "error: no ROCm runtime in $tree (run 'make rocm')" >&2; exit 2; }
[ $# -ge 2 ] || { echo "usage: tools/hipcc.sh in.hip out [flags]" >&2; exit 2; }
in=$1 out=$2
shift 2
bitcode=$(echo "$tree"/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode)
libraries=$tree/usr/lib/x86_64-linux-gnu
# HIP 5.7 knows code objects up to version 5. Libraries that HIP's own need are found when the program starts.
clang++-19 -x hip --offload-arch=gfx1100 --rocm-path="$tree/usr" --rocm-device-lib-path="$bitcode" -mcode-object-version=5 \
  -O2 -Wno-unused-result -Wno-unused-command-line-argument -isystem "$tree/usr/include" "$in" -c -o "$out.o" "$@"
clang++-19 "$out.o" -o "$out" -L"$libraries" -lamdhip64 -lhiprtc-builtins -Wl,--allow-shlib-undefined \
  -Wl,--unresolved-symbols=ignore-in-shared-libs
rm -f "$out.o"
