# The few commands a person needs; the work is in tools/ and CMakePresets.json.

.DEFAULT_GOAL := help
.PHONY: help run test prove prove-gpu quick bench packages wheel static site dist format clean

# The one place of the version is CMakeLists.txt.
VERSION := $(shell awk '/VERSION/ && /strack/ { print $$3; exit }' CMakeLists.txt)
JOBS := $(shell nproc 2>/dev/null || echo 2)

help:
	@echo "make run      build, reproduce the paper in small (minutes), and make the report"
	@echo "make test     prove everything: formats, specification, all builds, sanitizers, fuzzing"
	@echo "make prove    the long proofs, hours of them; tools/prove --list names the parts"
	@echo "make prove-gpu  of these the GPU engine against the CPU's, where there is a GPU"
	@echo "make quick    release build and its short tests, while working"
	@echo "make bench    release build and its benchmarks"
	@echo "make packages .deb files of the program, the library and the Python module, and what they are made of, in build/packages"
	@echo "make static   the program as one file that needs no library, in build/static"
	@echo "make wheel    the Python module as a wheel for this machine's python3, in build/wheel"
	@echo "make site     all documents as a site, with tutorials and a reference made of the program, in build/site"
	@echo "make dist     the sources of the newest commit as build/strack-VERSION.tar.gz, the same bytes every time"
	@echo "make format   lay out the C++ sources with clang-format"
	@echo "make clean    remove build/"
	@echo
	@echo "tools/test STAGE... runs a part of 'make test'; tools/test --list names the stages."

run:
	@tools/setup build
	@STRACK_SETTINGS=-DSTRACK_PYTHON=ON tools/build release strack
	@build/release/src/cli/strack paper run --scale quick
	@build/release/src/cli/strack paper report --scale quick

test:
	@tools/setup
	@tools/test

prove:
	@tools/setup prove
	@tools/prove all

prove-gpu:
	@tools/setup
	@tools/prove gpu

quick:
	@tools/setup build
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset quick -j $(JOBS)

bench:
	@tools/setup
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target core_bench sim_speed tcp_peer strack
	build/release/bench/core_bench
	bench/instructions
	build/release/bench/sim_speed
	bench/udp_bench.py --program build/release/src/cli/strack --quick

packages:
	@tools/setup
	@STRACK_SETTINGS=-DSTRACK_PYTHON=ON tools/build release strack libstrack libstrack_static strack_python strack_pages strack-fi strack_mpi
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md) packaging/debs build/release build/packages
	@if command -v lintian >/dev/null; then lintian --fail-on error,warning build/packages/*.deb; fi
	@packaging/sbom.py build/release $(VERSION) build/packages/strack-$(VERSION).cdx.json
	@ls -l build/packages

static:
	@tools/setup build
	@tools/build static strack
	@packaging/static build/static build/static/strack
	@ls -l build/static/strack

wheel:
	@tools/setup
	@STRACK_SETTINGS=-DSTRACK_PYTHON=ON tools/build release strack_python libstrack
	@packaging/wheel.py build/release $(VERSION) build/wheel

site:
	@tools/setup prove
	@tools/build release strack
	@docs/site/make.py build/release/src/cli/strack build/site

dist:
	@mkdir -p build
	@git archive --format=tar --prefix=strack-$(VERSION)/ HEAD | gzip -9n >build/strack-$(VERSION).tar.gz
	@sha256sum build/strack-$(VERSION).tar.gz

format:
	@tools/setup
	@tools/format

clean:
	rm -rf build
