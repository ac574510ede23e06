#!/bin/bash
# Unpacks AMD's ROCm runtime (ROCr, HIP, OpenCL and what they need) below build/, for machines that have none:
#   tools/rocm_runtime.sh [PACKAGE...]
# The packages are Debian's, of a release whose ROCm knows gfx1100, from the mirror that apt uses here. They are unpacked,
# never installed; tools/rocm_exec.sh and tools/hipcc.sh use them. Exit code 77: not to be had here.
# ROCM_SUITE names the release: trixie (Debian 13: ROCr 6.1, HIP 5.7; in build/rocm), forky (ROCr and HIP 6.4, with the
# thunk linked in; in build/rocm-forky), experimental (ROCr and HIP 7.2, with what Debian's unstable has of the rest; in
# build/rocm-experimental), or another one, in build/rocm-NAME. ROCM names another folder. Packages that are named, such
# as test programs of libraries, are added to what the folder has.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${ROCM_SUITE:-trixie}
common="rocminfo clinfo rocm-opencl-icd libamdhip64-dev opencl-c-headers ocl-icd-opencl-dev libstdc++6"
releases=$suite
case $suite in
  trixie)
    packages="$common libamdhip64-5 libhiprtc-builtins5 rocm-device-libs-17 libclang-common-17-dev librocrand1-tests" folder=build/rocm
    ;;
  forky) packages="$common libamdhip64-6 libhiprtc6 libhiprtc-builtins6 rocm-device-libs-21" folder=build/rocm-forky ;;
  experimental)
    packages="$common libamdhip64-7 libhiprtc7 libhiprtc-builtins7 rocm-device-libs-22" folder=build/rocm-experimental
    releases="sid experimental"
    ;;
  *) packages="$common rocm-device-libs-21" folder=build/rocm-$suite ;;
esac
dir=$(realpath -m "${ROCM:-$folder}")
[ ! -e "$dir/.complete" ] || packages=
# What the folder has already is written down in it, so that a second call fetches nothing.
for package in "$@"; do grep -qsxF "$package" "$dir/.complete" || packages="$packages $package"; done
[ -n "$packages" ] || exit 0

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
for release in $releases; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main"
done > "$apt/sources.list"
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
echo "fetching the ROCm runtime of Debian $suite into $dir" >&2
apt-get -qq update >&2 || fail "apt-get update of $mirror $suite failed"
# shellcheck disable=SC2086
apt-get -qq -y -t "$suite" install --download-only $packages >&2 || fail "the packages of $suite could not be fetched"
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$dir.new"; done
rm -rf "$apt"
if [ -e "$dir/.complete" ]; then
  # Each file is renamed to its place: programs that run keep the libraries that they have (one that is written over kills
  # them by SIGBUS), and those that start find either the old one or the new one, and all of it.
  cd "$dir.new"
  find . -type d -print0 | while IFS= read -r -d '' folder; do
    mkdir -p "$dir/$folder"
    find "$folder" -maxdepth 1 ! -type d -exec mv -f -t "$dir/$folder" {} +
  done
  cd - > /dev/null
  rm -rf "$dir.new"
else
  # The loader looks for libraries below the tree alone: /lib is /usr/lib there, as in the release itself.
  for link in lib lib64; do [ -e "$dir.new/$link" ] || ln -s "usr/$link" "$dir.new/$link"; done
  rm -rf "$dir"
  mv "$dir.new" "$dir"
fi
# OpenCL's compiler reads the macros of OpenCL C from a header at a fixed place of the system: tools/rocm_exec.sh shows it the tree's there.
headers=usr/lib/llvm-17/lib/clang/17/include
[ ! -e "$dir/$headers/opencl-c-base.h" ] || cat > "$dir/opencl_headers.yaml" <<X
{"version": 0, "overlay-relative": true, "roots": [{"type": "directory-remap", "name": "/$headers", "external-contents": "$headers"}]}
X
# shellcheck disable=SC2086
printf '%s\n' $packages >> "$dir/.complete"
