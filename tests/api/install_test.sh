#!/bin/sh
# install_test.sh BUILD PREFIX CONSUMER CXX CMAKE SANITIZERS: what is installed is enough to build and run a program.
set -eu
build=$1 prefix=$2 consumer=$3 cxx=$4 cmake=$5 sanitizers=$6
rm -rf "$prefix"
mkdir -p "$prefix"
flags=""
[ -z "$sanitizers" ] || flags="-fsanitize=$sanitizers"

"$cmake" --install "$build" --prefix "$prefix/usr" > "$prefix/install.log"

echo "== CMake package"
"$cmake" -S "$consumer" -B "$prefix/cmake" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix/usr" \
  -DCMAKE_CXX_FLAGS="$flags" > "$prefix/cmake.log"
"$cmake" --build "$prefix/cmake" >> "$prefix/cmake.log"
"$prefix/cmake/consumer"

echo "== pkg-config"
pc=$(find "$prefix/usr" -name lockstep.pc)
export PKG_CONFIG_PATH="${pc%/*}"
"$cxx" -std=c++20 $flags "$consumer/consumer.cpp" $(pkg-config --cflags --libs lockstep) -o "$prefix/by_pkg_config"
library_folder=$(pkg-config --variable=libdir lockstep)
LD_LIBRARY_PATH=$library_folder "$prefix/by_pkg_config"

echo "== C"
"$cxx" -x c -std=c99 -Wall -Wextra -Werror -pedantic $flags "$consumer/consumer.c" \
  $(pkg-config --cflags --libs lockstep) -o "$prefix/from_c"
LD_LIBRARY_PATH=$library_folder "$prefix/from_c"

echo "== plug-in"
"$cxx" -x c -std=c11 -Wall -Wextra -Werror -pedantic -shared -fPIC $(pkg-config --cflags lockstep) \
  "$consumer/../../../examples/plugin/access_histogram.c" -o "$prefix/histogram.so"
printf 's_endpgm\n' > "$prefix/end.s"
[ -n "$sanitizers" ] ||
  "$prefix/usr/bin/lockstep" run -q "$prefix/end.s" --grid 1 --plugin "$prefix/histogram.so" > "$prefix/plugin.log" 2>&1

echo "== program"
"$prefix/usr/bin/lockstep" devices > /dev/null

echo "== worker"
# An installed library finds its worker from where it lies: assembly compiles.
printf 's_nop 0\n' > "$prefix/nop.s"
"$prefix/usr/bin/lockstep" disasm "$prefix/nop.s" > /dev/null
# And the pass for clang: nothing warns that it is missing.
echo '__kernel void f(__global ulong* x) { *x = ~popcount(*x) | 5; }' > "$prefix/f.cl"
"$prefix/usr/bin/lockstep" disasm "$prefix/f.cl" 2> "$prefix/warnings.txt" > /dev/null
[ ! -s "$prefix/warnings.txt" ]
worker=$(find "$prefix/usr" -name lockstep-toolchain-worker)
mv "$worker" "$worker.away"
if "$prefix/usr/bin/lockstep" disasm "$prefix/nop.s" > /dev/null 2> "$prefix/without_worker.txt"; then
  echo "assembled without a worker"
  exit 1
fi
grep -q "lockstep-toolchain-worker is missing" "$prefix/without_worker.txt"
mv "$worker.away" "$worker"
