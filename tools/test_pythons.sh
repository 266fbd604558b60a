#!/usr/bin/env bash
# usage: tools/test_pythons.sh [VERSION...]    (3.10 3.12 3.13)
# Builds the Python package with every other CPython that is found, on the PATH
# or among those of pyenv, and runs the tests that a version can change: values,
# functions, tracing, penstock.tf, examples. Versions that are not there are passed over.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=${JOBS:-$(nproc)}
versions=("$@")
((${#versions[@]})) || versions=(3.10 3.12 3.13)
tests=(python/tests/test_{values,dataset,functions,processes,trace,trace_differential,templates,unused_work,random_keys,docs}.py python/tests/tf)

# find_python VERSION: an interpreter that runs.
find_python() {
  local candidate
  for candidate in "python$1" "/usr/bin/python$1" \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    if "$candidate" -c "import sys; assert '%d.%d' % sys.version_info[:2] == '$1'" \
      2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

rm -rf build/pythons/results
mkdir -p build/pythons/results
: >build/pythons/results/versions.txt
for version in "${versions[@]}"; do
  python=$(find_python "$version")
  [[ -n $python ]] || continue
  echo "$version" >>build/pythons/results/versions.txt
  printf '\n== python %s\n' "$version"
  build=build/pythons/$version
  cmake=build/python-$version  # as deep as build/release, or ccache finds nothing
  venv=$build/venv
  if ! cmp -s tools/requirements-python.txt "$venv/.created"; then
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check \
      -r tools/requirements-python.txt
    cp tools/requirements-python.txt "$venv/.created"
  fi
  # The library is the one of the release build, by ccache; the module need not
  # be fast.
  mkdir -p "$build"
  cmake -S . -B "$cmake" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_COMPILER=g++ \
    -DPENSTOCK_PYTHON=ON -DPENSTOCK_TESTS=OFF -DPENSTOCK_MODULE_OPTIONS=-O0 \
    "-DPython_EXECUTABLE=$PWD/$venv/bin/python" >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; continue; }
  cmake --build "$cmake" -j "$jobs" --target _penstock || continue
  PYTHONPATH=$PWD/python "$venv/bin/python" -m pytest -q -p no:cacheprovider \
    --junitxml="build/pythons/results/pytest-$version.xml" "${tests[@]}" || true
done
