#!/bin/bash
# A new user's afternoon: installs the .deb in an empty tree, writes a kernel with a bug, finds it by the message, sweeps
# a parameter from Python and plots the result.  afternoon.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
sources=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache HOME=$work
mkdir "$work/packages" "$work/tree" "$work/home"
fail() { echo "afternoon: $*" >&2; exit 1; }

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" > "$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; fail "cpack"; }
deb=$(ls "$work"/packages/*.deb)
dpkg-deb -f "$deb" Depends | grep -q libllvm19 || fail "the package does not name the libraries that it needs"
dpkg-deb -x "$deb" "$work/tree"
lockstep=$work/tree/usr/bin/lockstep
for file in share/man/man1/lockstep-run.1 share/bash-completion/completions/lockstep share/zsh/vendor-completions/_lockstep \
            share/fish/vendor_completions.d/lockstep.fish lib/liblockstep.so.0 include/lockstep.h; do
  [ -e "$work/tree/usr/$file" ] || [ -e "$work/tree/usr/$file.gz" ] || fail "the package has no $file"
done
cd "$work/home"
"$lockstep" --version
"$lockstep" doctor

cat > blur.cl <<'CL'
__kernel void blur(__global const float* in, __global float* out, int n, float weight) {
  int i = get_global_id(0);
  out[i] = weight * in[i] + (1 - weight) * in[i + 1];
}
CL
run=(run blur.cl --grid 1024 --block 256 'in=buf:f32[1024]=iota' 'out=buf:f32[1024]' n=1024)
if "$lockstep" "${run[@]}" weight=0.5 > first.txt 2>&1; then fail "the bug was not found"; fi
grep -q "blur.cl:3$" first.txt || { cat first.txt; fail "the message does not name the line"; }
grep -q "behind the end of buffer 'in'" first.txt || { cat first.txt; fail "the message does not name the buffer"; }
sed -i 's/in\[i + 1\]/in[min(i + 1, n - 1)]/' blur.cl
"$lockstep" "${run[@]}" weight=0.5 -p out --print-limit 3 | grep -q "0.5 1.5 2.5" || fail "the mended kernel is wrong"

cat > sweep.py <<'PY'
import lockstep
import numpy as np

kernel = lockstep.open("blur.cl")["blur"]
x = np.sin(np.arange(1024, dtype=np.float32) * 2)
weights = np.linspace(0, 1, 11, dtype=np.float32)
energy = []
for weight in weights:
    out = np.zeros_like(x)
    kernel[1024, 256](x, out, 1024, weight)
    energy.append(float(np.square(out).sum()))
    wanted = weight * x + (1 - weight) * np.append(x[1:], x[-1])
    assert np.allclose(out, wanted, atol=1e-6), weight
for weight, e in zip(weights, energy):
    print(f"{weight:.1f} {'#' * int(e / max(energy) * 60)}")
assert min(energy) == energy[5] and energy[0] > 3 * energy[5]
PY
PYTHONPATH=$work/tree/usr/lib/python3/dist-packages /usr/bin/python3 sweep.py > plot.txt || fail "the sweep from Python"
cat plot.txt

# The wheel, in a folder of its own, as pip puts it there.
/usr/bin/python3 "$sources/python/make_wheel.py" "$build" "$work/wheel" cmake 0.0 > /dev/null
mkdir "$work/site"
if /usr/bin/python3 -m pip --version > /dev/null 2>&1; then
  /usr/bin/python3 -m pip install --quiet --no-deps --no-index --target "$work/site" "$work"/wheel/*.whl || fail "pip and the wheel"
else
  unzip -q "$work"/wheel/*.whl -d "$work/site"  # which sets the modes, too
fi
PYTHONPATH=$work/site /usr/bin/python3 sweep.py | cmp - plot.txt || fail "the wheel"
echo "afternoon: done"
