# The commands of a day; the build itself is CMake's (see CMakePresets.json).
JOBS ?= $(shell nproc)
BUILD := build/release

.PHONY: demo wheel test test-all afternoon bare rules rocm bench docs arithmetic host-code fuzz format configure build packages clean

packages:
	@tools/install_packages.sh

configure: packages
	@cmake --preset release > build.log 2>&1 || { cat build.log; rm -f build.log; exit 1; }; rm -f build.log

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

# Real gfx1100 code, compiled from OpenCL C, draws a picture on the emulated machine.
demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target lockstep_cli
	@$(BUILD)/cli/lockstep run examples/mandelbrot/mandelbrot.cl --kernel mandelbrot --grid 1280,960 --block 16,16 \
	  out=buf:u8[960x1280x4] width=1280 height=960 left=-2.2 top=-1.2 step_x=0.0025 step_y=0.0025 limit=1000 \
	  --out out=mandelbrot.png
	@echo "drawn: mandelbrot.png"

# A wheel of the Python package: python3 -m pip install build/release/wheel/*.whl
wheel: build
	@cmake --build $(BUILD) --target wheel

test: configure
	@tools/test.sh

# All of it: every case of every sweep, with the sanitizers, too, and longer fuzz runs. An hour and more of two cores.
test-all: configure
	@LOCKSTEP_SWEEPS=ON LOCKSTEP_FUZZ_SECONDS=120 tools/test.sh

# The .deb and what a new user does with it, from the installed package to a plot.
afternoon: build
	@cmake --build $(BUILD) --target afternoon

# The .deb and the tarball on a bare Debian 12 (root, debootstrap and the network; about three minutes).
bare: build
	@tests/packages/bare.sh $(BUILD) || [ $$? = 77 ]

# Drops the rules of tests/rules/ one by one, in a copy of the tree: each must make a test fail. RULES="--only F3." asks
# for some of them.
rules: build
	@tools/check_rules.py --build $(BUILD) --jobs $(JOBS) $(RULES)

# AMD's ROCm runtime, unpacked below build/ for machines that have none: the test `rocm` and tools/rocm_exec.sh use it.
# ROCM_SUITE=forky takes a newer one, ROCM_PACKAGES="librocfft0-tests" adds more of its packages (docs/rocm.md).
rocm: packages
	@ROCM_SUITE=$(ROCM_SUITE) tools/rocm_runtime.sh $(ROCM_PACKAGES)
	@echo "ready: tools/rocm_exec.sh -- rocminfo"

# Random kernels, compiled for gfx1100 and for the host, must give the same bits; the first that do not are made small.
# FUZZ="--seed 7 --count 100000" asks for others.
FUZZ ?= --seed 1 --count 10000 --variants pair --engine mixed
fuzz: configure
	@cmake --build $(BUILD) -j $(JOBS) --target lockstep-kernel-fuzz
	@$(BUILD)/fuzz/kernels/lockstep-kernel-fuzz --jobs $(JOBS) $(FUZZ)

bench: build
	@cmake --build $(BUILD) -j $(JOBS) --target benchmarks
	@tools/bench.sh

# The generated pages docs/isa.md and docs/machine.md.
docs: configure
	@cmake --build $(BUILD) -j $(JOBS) --target lockstep_cli
	@tools/make_isa_page.sh $(BUILD)/cli/lockstep
	@tools/check_rules.py --page

# The generated page docs/arithmetic.md: all arguments of the transcendental instructions, about ten minutes of a core.
arithmetic: configure
	@cmake --build $(BUILD) -j $(JOBS) --target lockstep-numeric-errors
	@$(BUILD)/tests/numeric/lockstep-numeric-errors $(JOBS) > arithmetic.md.new
	@mv arithmetic.md.new docs/arithmetic.md

# What each instruction of gfx11 costs in the translator's host code, tests/engine/translator/host_code/: under a minute.
host-code: configure
	@cmake --build $(BUILD) -j $(JOBS) --target host_code

format:
	@git ls-files '*.h' '*.hpp' '*.cpp' | xargs clang-format-19 -i

clean:
	rm -rf build
