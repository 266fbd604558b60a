#!/usr/bin/env bash
# usage: tests/install/run.sh BUILD_DIR
# Installs BUILD_DIR, then configures, builds and runs the outside project and
# every C++ example against the installed package.
set -euo pipefail

build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
cmake=${CMAKE_COMMAND:-cmake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Moved after the install: the package must not remember where it was put.
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
if grep -rnF -e "$root" -e "$build" -e "$work/first" "$work"/prefix/lib*/; then
  echo "the installed package names a path of the machine that built it" >&2
  exit 1
fi

mkdir "$work/project"
cp "$root"/tests/install/{CMakeLists.txt,main.cc} "$work/project/"
for example in "$root"/examples/cpp/*.cc; do
  [[ -e $example ]] && cp "$example" "$work/project/"
done

"$cmake" -S "$work/project" -B "$work/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
"$cmake" --build "$work/build"
cd "$work/build"
ctest --output-on-failure --no-tests=error
