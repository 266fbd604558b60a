#!/usr/bin/env bash
# usage: tools/build.sh PRESET [TARGET...]
# Configures build/PRESET and builds the targets (all by default).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
jobs=${JOBS:-$(nproc)}

# The Python module belongs to what is installed, tested and measured.
python=()
if [[ $preset == release && -e .venv/.python ]]; then
  python=(-DPENSTOCK_PYTHON=ON "-DPython_EXECUTABLE=$PWD/.venv/bin/python")
fi

mkdir -p build
cmake --preset "$preset" "${python[@]}" >"build/configure-$preset.log" 2>&1 || {
  cat "build/configure-$preset.log" >&2
  exit 1
}
cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"}
