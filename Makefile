# The commands of a day; the build itself is CMake's (see CMakePresets.json).
JOBS ?= $(shell nproc)
BUILD := build/release

.PHONY: demo test bench format configure build packages clean

packages:
	@tools/install_packages.sh

configure: packages
	@cmake --preset release > build.log 2>&1 || { cat build.log; rm -f build.log; exit 1; }; rm -f build.log

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

test: build
	@tools/test.sh

bench: build
	@tools/bench.sh

format:
	@git ls-files '*.h' '*.cpp' '*.inc' | xargs clang-format-19 -i

clean:
	rm -rf build
