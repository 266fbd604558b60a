#!/usr/bin/env bash
# usage: tools/lint.sh
# Checks everything, or with LINT_BASE=<revision> the files changed since then.
# Reports all findings before it fails.
set -euo pipefail
cd "$(dirname "$0")/.."

files() {
  if [[ -n ${LINT_BASE:-} ]]; then
    git diff --name-only --diff-filter=d "$LINT_BASE" -- "$@"
    git ls-files -o --exclude-standard -- "$@"
  else
    git ls-files -co --exclude-standard -- "$@"
  fi | sort -u | while read -r file; do
    if [[ -e $file ]]; then echo "$file"; fi
  done
}

status=0
check() {
  echo "== $1"
  shift
  "$@" || status=1
}

format() { files '*.cc' '*.h' | xargs -r clang-format-16 --dry-run -Werror; }

# What clang-tidy reads: with LINT_BASE the changed sources one by one, else all of
# them, several at a time, for headers are most of each. Headers are checked through
# the sources that include them. Tests move from values and copy them on purpose.
units() {
  python3 - "$@" <<'END'
import json, pathlib, re, sys
kind, build = sys.argv[1], pathlib.Path(sys.argv[2])
commands = json.loads((build / "compile_commands.json").read_text())
root = f"{pathlib.Path.cwd()}/"
apart = re.compile(r"_tests\.dir|penstock_testing|^(tests|benchmarks|fuzz|examples)/")
for file in sorted({command["file"] for command in commands}):
    ours = file.startswith(root) and "nanobind" not in file
    test = bool(apart.search(file.removeprefix(root)))
    if ours and test == (kind == "tests"):
        print(file)
END
}
tidy() {
  local build=build/tidy unity=ON
  if [[ -n ${LINT_BASE:-} ]]; then build=build/clang unity=OFF; fi
  cmake --preset clang -B "$build" -DPENSTOCK_UNITY=$unity \
    -DPENSTOCK_PYTHON=ON "-DPython_EXECUTABLE=$PWD/.venv/bin/python" >/dev/null
  local run=(xargs -r -P "${JOBS:-$(nproc)}" -n 1 clang-tidy-16 -p "$build" --quiet
    --warnings-as-errors='*')
  local tests='-performance-*,-bugprone-use-after-move,-bugprone-string-constructor'
  tests+=',-bugprone-misplaced-widening-cast,-bugprone-integer-division'
  tests+=',-bugprone-unused-return-value'
  local failed=0
  {
    if [[ -n ${LINT_BASE:-} ]]; then
      files '*.cc' ':!tests' ':!*_test.cc' ':!*_examples.cc' | "${run[@]}" || failed=1
      files 'tests/*.cc' '*_test.cc' '*_examples.cc' ':!tests/install' |
        "${run[@]}" --checks="$tests" || failed=1
    else
      local quiet=-bugprone-suspicious-include
      units library "$build" | "${run[@]}" --checks=$quiet || failed=1
      units tests "$build" | "${run[@]}" --checks="$tests,$quiet" || failed=1
    fi
  } 2> >(grep -v 'warnings generated\|^Suppressed\|^Use -header' >&2)
  return $failed
}

check "clang-format" format
check "include direction" python3 tools/check_includes.py
if [[ -n $(files '*.py') ]]; then
  check "ruff" .venv/bin/ruff check
  check "ruff format" .venv/bin/ruff format --check
fi
check "clang-tidy" tidy
exit $status
