#!/usr/bin/env bash
# usage: tools/wheel.sh
# Builds a wheel with the interpreter of .venv and puts it into dist/, with every
# library that a plain Linux may lack inside it.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf build/wheel dist
CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} .venv/bin/python -m build --wheel \
  --no-isolation --skip-dependency-check --outdir build/wheel .
PATH="$PWD/.venv/bin:$PATH" .venv/bin/auditwheel repair --wheel-dir dist \
  build/wheel/*.whl
ls dist
