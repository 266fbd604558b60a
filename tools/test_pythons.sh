#!/usr/bin/env bash
# usage: tools/test_pythons.sh [--build] [VERSION...]    (3.10 3.12 3.13)
# Builds the Python package with every other CPython that is found, on the PATH
# or among those of pyenv, and runs the tests that a version can change: values,
# functions, tracing, penstock.tf, examples. Versions that are not there are passed over.
# With --build it runs no tests.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=${JOBS:-$(nproc)}
build_only=
if [[ ${1:-} == --build ]]; then
  build_only=1
  shift
fi
versions=("$@")
((${#versions[@]})) || versions=(3.10 3.12 3.13)
tests=(python/tests/test_{values,dataset,functions,processes,trace,trace_differential,templates,unused_work,random_keys,docs}.py python/tests/tf)
not_needed='mypy|numba|perfetto|scikit-build-core'  # by these tests

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

# Who builds ahead and who tests take turns.
mkdir -p build/pythons
exec 9>build/pythons/lock
flock 9

rm -rf build/pythons/results
mkdir -p build/pythons/results
: >build/pythons/results/versions.txt
built=()
for version in "${versions[@]}"; do
  python=$(find_python "$version")
  [[ -n $python ]] || continue
  echo "$version" >>build/pythons/results/versions.txt
  build=build/pythons/$version
  cmake=build/python-$version  # as deep as build/release, or ccache finds nothing
  venv=$build/venv
  mkdir -p "$build"
  grep -vE "^($not_needed)" tools/requirements-python.txt >"$build/requirements.txt"
  if ! cmp -s "$build/requirements.txt" "$venv/.created"; then
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install -q --no-compile --disable-pip-version-check \
      -r "$build/requirements.txt"
    cp "$build/requirements.txt" "$venv/.created"
  fi
  # The library is the one of the release build, by ccache; the module need not
  # be fast.
  cmake -S . -B "$cmake" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_COMPILER=g++ \
    -DPENSTOCK_PYTHON=ON -DPENSTOCK_TESTS=OFF -DPENSTOCK_MODULE_OPTIONS=-O0 \
    "-DPython_EXECUTABLE=$PWD/$venv/bin/python" >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; continue; }
  cmake --build "$cmake" -j "$jobs" --target _penstock || continue
  built+=("$version")
done
[[ -z $build_only ]] || exit 0

# run_tests VERSION
run_tests() {
  PYTHONPATH=$PWD/python "build/pythons/$1/venv/bin/python" -m pytest -q \
    -p no:cacheprovider --junitxml="build/pythons/results/pytest-$1.xml" \
    "${tests[@]}" >"build/pythons/$1/pytest.log" 2>&1 || true
}

# Hardly one of these measures time: as many versions at once as there are cores.
running=0
for version in "${built[@]}"; do
  ((running < jobs)) || { wait -n; running=$((running - 1)); }
  run_tests "$version" &
  running=$((running + 1))
done
wait
for version in "${built[@]}"; do
  printf '\n== python %s\n' "$version"
  cat "build/pythons/$version/pytest.log"
done
