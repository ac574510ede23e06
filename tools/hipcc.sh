#!/bin/bash
# Compiles a HIP program, host and device in one file, or a host program for OpenCL (.cpp), with this machine's clang-19
# and the headers, device libraries and runtime that tools/rocm_runtime.sh has unpacked:  tools/hipcc.sh IN OUT [FLAGS]
# ROCM names the tree (build/rocm). With an installed ROCm use its hipcc.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
tree=$(realpath "${ROCM:-$here/build/rocm}")
[ -e "$tree/.complete" ] || { echo "error: no ROCm runtime in $tree (run 'make rocm')" >&2; exit 2; }
[ $# -ge 2 ] || { echo "usage: tools/hipcc.sh in.hip|in.cpp out [flags]" >&2; exit 2; }
in=$1 out=$2
shift 2
libraries=$tree/usr/lib/x86_64-linux-gnu
# Behind this machine's own headers: packages that were added to the tree may have brought a C library's.
headers=(-idirafter "$tree/usr/include")
link=(-L"$libraries" -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)
if [[ $in == *.cpp ]]; then
  exec clang++-19 -std=c++20 -O2 "${headers[@]}" "$in" -o "$out" "$@" -lOpenCL "${link[@]}"
fi
# Device libraries that a newer compiler has written are not for clang-19: then those of Debian 13's tree.
bitcode=
for folder in {"$tree","$here/build/rocm"}/usr/lib/llvm-1?/lib/clang/*/amdgcn/bitcode; do
  [ -d "$folder" ] && { bitcode=$folder; break; }
done
[ -n "$bitcode" ] || { echo "error: no device libraries that clang-19 can read (run 'make rocm', without ROCM_SUITE)" >&2; exit 2; }
# HIP 5.7 knows code objects up to version 5. Libraries that HIP's own need are found when the program starts.
compile() {
  clang++-19 -x hip --offload-arch=gfx1100 --rocm-path="$tree/usr" --rocm-device-lib-path="$bitcode" -mcode-object-version="$1" \
    -O2 -Wno-unused-result -Wno-unused-command-line-argument "${headers[@]}" "$in" -c -o "$out.o" "${@:2}"
}
compile 5 "$@"
# One hidden argument, of kernels with dynamic LDS, HIP 5.7 takes for the program's own, and ends by SIGSEGV: version 4 has not got it.
if [ -e "$libraries/libamdhip64.so.5" ] && grep -q hidden_dynamic_lds_size "$out.o"; then compile 4 "$@"; fi
# HIP 6 has its runtime compiler in a library of its own.
for library in hiprtc hiprtc-builtins; do
  for file in "$libraries/lib$library".so*; do
    [ -e "$file" ] && { link+=("-l:$(basename "$file")"); break; }
  done
done
clang++-19 "$out.o" -o "$out" -lamdhip64 -Wl,--as-needed "${link[@]}"
rm -f "$out.o"
