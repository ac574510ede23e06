#!/bin/sh
# Installs the Debian packages of packages.txt that this machine lacks. Asks for root only if something is missing.
set -eu
cd "$(dirname "$0")/.."
missing=""
for package in $(sed 's/#.*//' packages.txt); do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: need root to install$missing; run as root or install sudo" >&2; exit 2; }
  as_root="sudo"
fi
$as_root apt-get -o DPkg::Lock::Timeout=300 -qq update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq install -y --no-install-recommends $missing
