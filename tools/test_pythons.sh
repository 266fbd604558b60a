#!/usr/bin/env bash
# usage: tools/test_pythons.sh [VERSION...]    (3.10 3.12 3.13)
# Builds and tests the Python package with every other CPython that is found: on
# the PATH, or among those of pyenv. Versions that are not there are passed over.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=${JOBS:-$(nproc)}

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

for version in "${@:-3.10 3.12 3.13}"; do
  for v in $version; do
    python=$(find_python "$v")
    [[ -n $python ]] || continue
    printf '\n== python %s\n' "$v"
    build=build/python/$v
    venv=$build/venv
    if ! cmp -s tools/requirements-python.txt "$venv/.created"; then
      "$python" -m venv --clear "$venv"
      "$venv/bin/python" -m pip install -q --disable-pip-version-check \
        -r tools/requirements-python.txt
      cp tools/requirements-python.txt "$venv/.created"
    fi
    cmake -S . -B "$build/cmake" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DPENSTOCK_PYTHON=ON -DPENSTOCK_TESTS=OFF \
      "-DPython_EXECUTABLE=$PWD/$venv/bin/python" >"$build/configure.log" 2>&1 ||
      { cat "$build/configure.log"; exit 1; }
    cmake --build "$build/cmake" -j "$jobs" --target _penstock
    PYTHONPATH=$PWD/python "$venv/bin/python" -m pytest -q -p no:cacheprovider \
      --junitxml="build/python/results/pytest-$v.xml" || true
  done
done
