# The front door. Each target first makes sure that its packages are there
# (tools/setup.sh), so it works on a fresh Debian 12 and costs nothing later.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
export JOBS FUZZ_SECONDS

.PHONY: help build wheel demo test bench bench-peers soak compare doctor-suite fuzz lint format clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

build:  ## build the library, Python module, tests, examples and benchmarks (build/release)
	@tools/setup.sh build
	@tools/build.sh release

wheel:  ## build a self-contained wheel into dist/
	@tools/setup.sh build wheel
	@tools/wheel.sh

demo:  ## a slow input pipeline, what the doctor says about it, and its fixes, measured
	@tools/setup.sh build
	@tools/build.sh release _penstock
	@.venv/bin/python tools/demo.py $(DEMO_ARGS)

test:  ## run all tests, then again under the sanitizers
	@tools/setup.sh build browser
	@tools/test.sh ci

soak:  ## the same with 100,000 simulated schedules and everything sanitized
	@tools/setup.sh build browser
	@tools/test.sh soak

bench:  ## measure, print the table and write build/bench.json
	@tools/setup.sh build
	@tools/build.sh release penstock_bench
	@build/release/penstock_bench --json=build/bench.json $(BENCH_ARGS)

compare:  ## run COUNT (1000) random pipelines on penstock.tf and TensorFlow and compare
	@tools/setup.sh build
	@tools/build.sh release _penstock
	@tools/compare.sh

doctor-suite:  ## all planted and healthy pipelines of the doctor: right first, false alarms, prediction error
	@tools/setup.sh build
	@tools/build.sh release _penstock
	@cd python/tests && PYTHONPATH=$(CURDIR)/python $(CURDIR)/.venv/bin/python -m doctor.suite $(SUITE_ARGS)

bench-peers:  ## Penstock beside tf.data, DataLoader, Grain, SPDL, DALI, mlx-data and Ray (docs/benchmarks/)
	@tools/setup.sh build
	@tools/build.sh release _penstock
	@.venv/bin/python benchmarks/peers/run.py $(BENCH_ARGS)

fuzz:  ## fuzz every target for FUZZ_SECONDS (60) each
	@tools/setup.sh build fuzz
	@tools/fuzz.sh

lint:  ## check format, clang-tidy, include direction, Python (LINT_BASE=main: only what changed since)
	@tools/setup.sh build lint
	@tools/lint.sh

format:  ## rewrite the C++ sources with clang-format
	@tools/setup.sh lint
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs -r clang-format-16 -i

clean:  ## remove build/
	rm -rf build
