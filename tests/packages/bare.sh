#!/bin/bash
# The .deb, and then the tarball, on a Debian 12 that has nothing else: made by debootstrap from where apt gets its packages.
# What `lockstep doctor` misses is installed as it says, until it misses nothing.  bare.sh BUILD_FOLDER
# Needs root, debootstrap and the network; without the first two it is skipped (77).
set -euo pipefail
build=$(realpath "$1")
skip() { echo "bare: skipped: $*" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "who is not root makes no such system"
command -v debootstrap > /dev/null || skip "no debootstrap (apt-get install debootstrap)"
mirror=$(apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Codename: bookworm' | awk '$2 == "main" { print $1; exit }')
[ -n "$mirror" ] || skip "apt knows no packages of bookworm"
work=$(mktemp -d)
tree=$work/tree
trap 'umount "$tree/proc" 2> /dev/null || true; rm -rf --one-file-system "$work"' EXIT
fail() { echo "bare: $*" >&2; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -30 "$work/log"; fail "$*"; }; }

quietly cpack --config "$build/CPackConfig.cmake" -B "$work/packages"
quietly debootstrap --variant=minbase bookworm "$tree" "$mirror"
apt-config dump Acquire | grep -i proxy > "$tree/etc/apt/apt.conf.d/00proxy" || true
cp /etc/resolv.conf "$tree/etc/" 2> /dev/null || true
mount -t proc proc "$tree/proc"
cp "$work"/packages/*.deb "$tree/root/lockstep.deb"
cp "$work"/packages/*.tar.gz "$tree/root/lockstep.tar.gz"
inside() { chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive bash -c "cd /root && $1"; }
install() { quietly inside "apt-get install -y --no-install-recommends $*"; }
quietly inside "apt-get update"

cat > "$tree/root/ids.s" <<'ASM'
s_load_b64 s[4:5], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
v_lshlrev_b32 v1, 2, v0
global_store_b32 v1, v0, s[4:5]
s_endpgm
ASM
cat > "$tree/root/twice.cl" <<'CL'
__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2; printf("item %d\n", (int)get_global_id(0)); }
CL
cat > "$tree/root/root.hip" <<'HIP'
#include <hip/hip_runtime.h>
#include <cmath>
#include <vector>
__global__ void root(float* x) { x[threadIdx.x] = std::sqrt(x[threadIdx.x]); }
int main() { std::vector<float> x(4); float* d; (void)hipMalloc(&d, 16); root<<<1, 4>>>(d); }
HIP
# A code object, for a machine that has no compiler yet.
PYTHONPATH=$build/python /usr/bin/python3 -c "import sys, lockstep; open(sys.argv[2], 'wb').write(lockstep.open(sys.argv[1]).elf)" \
  "$tree/root/twice.cl" "$tree/root/twice.co"

runs() {  # LOCKSTEP: what needs no compiler
  inside "$1 --version" > /dev/null || fail "$1 does not start"
  inside "$1 run ids.s --grid 32 out=buf:u32[32] -p out -q" | grep -q "^0 1 2 3 4" || fail "$1: assembly"
  inside "$1 run twice.co --grid 2 'x=buf:f32[2]=iota' -p x -q" > "$work/out" || fail "$1: a code object"
  printf 'item 0\nitem 1\nx: f32[2]\n0 2\n' | cmp - "$work/out" || { cat "$work/out"; fail "$1: what a code object prints"; }
}
compiles() {
  inside "$1 run twice.cl --grid 2 'x=buf:f32[2]=iota' -p x -q" | grep -q "^0 2$" || fail "$1: OpenCL C"
  inside "$1 run root.hip --grid 4 'x=buf:f32[4]=0,1,4,9' -p x -q" | grep -q "^0 1 2 3$" || fail "$1: HIP"
}

install ./lockstep.deb
runs lockstep
if inside "lockstep run twice.cl --grid 2 'x=buf:f32[2]'" > "$work/out" 2>&1; then fail "OpenCL C without a compiler"; fi
for round in 1 2 3; do
  if inside "lockstep doctor" > "$work/doctor" 2>&1; then break; fi
  packages=$(grep '^MISSING' "$work/doctor" | grep -oP 'apt-get install \K[a-z0-9. -]+' | head -1)
  [ -n "$packages" ] || { cat "$work/doctor"; fail "doctor does not say what to install"; }
  echo "bare: doctor says: apt-get install $packages"
  [ "$round" != 3 ] || fail "doctor is not content"
  install "$packages"
done
cat "$work/doctor"
compiles lockstep
install python3 python3-numpy
inside "python3 -c 'import lockstep, numpy as np; x = np.ones(2, np.float32); lockstep.open(\"twice.cl\")[\"twice\"][2](x); print(x)'" |
  grep -q "2. 2." || fail "Python"
echo "bare: the .deb is good"

quietly inside "apt-get purge -y lockstep && mkdir /opt/lockstep && tar xzf lockstep.tar.gz -C /opt/lockstep --strip-components=2"
runs /opt/lockstep/bin/lockstep
compiles /opt/lockstep/bin/lockstep
echo "bare: done"
