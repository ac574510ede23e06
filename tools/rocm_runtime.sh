#!/bin/bash
# Unpacks AMD's ROCm runtime (ROCr, HIP, OpenCL and what they need) below build/, for machines that have none:
#   tools/rocm_runtime.sh [DIR]     DIR is build/rocm by default
# The packages are Debian's, of a release whose ROCm knows gfx1100 (SUITE), from the mirror that apt uses here. They are
# unpacked, never installed; `lockstep exec --root DIR` and tools/hipcc.sh use them. Exit code 77: not to be had here.
set -euo pipefail
cd "$(dirname "$0")/.."
SUITE=${SUITE:-trixie}
PACKAGES=${PACKAGES:-"rocminfo clinfo rocm-opencl-icd libamdhip64-5 libamdhip64-dev libhiprtc-builtins5 rocm-device-libs-17
  librocrand1-tests opencl-c-headers ocl-icd-opencl-dev libstdc++6"}
dir=$(realpath -m "${1:-build/rocm}")
[ -e "$dir/.complete" ] && exit 0

fail() { echo "no ROCm runtime: $*" >&2; rm -rf "$dir.new"; exit 77; }
command -v apt-get >/dev/null || fail "it is taken from Debian's packages, and this machine has no apt-get (use an installed ROCm)"
command -v dpkg-deb >/dev/null || fail "dpkg-deb is missing"
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null ||
         awk '$1 == "deb"{print $2; exit}' /etc/apt/sources.list 2>/dev/null) || true
[ -n "$mirror" ] || fail "apt's sources name no Debian mirror"

rm -rf "$dir.new"
apt=$dir.new/.apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
: > "$apt/state/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $SUITE main" > "$apt/sources.list"
cat > "$apt/apt.conf" <<X
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/nonexistent";
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::Cache "$apt/cache";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "$(id -un)";
X
export APT_CONFIG=$apt/apt.conf
echo "fetching the ROCm runtime of Debian $SUITE into $dir" >&2
apt-get -qq update >&2 || fail "apt-get update of $mirror $SUITE failed"
# shellcheck disable=SC2086
apt-get -qq -y install --download-only $PACKAGES >&2 || fail "the packages of $SUITE could not be fetched"
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$dir.new"; done
rm -rf "$apt"
# The loader looks for libraries below the tree alone: /lib is /usr/lib there, as in the release itself.
for link in lib lib64; do [ -e "$dir.new/$link" ] || ln -s "usr/$link" "$dir.new/$link"; done
touch "$dir.new/.complete"
rm -rf "$dir"
mv "$dir.new" "$dir"
