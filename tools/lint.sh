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

# Headers are checked through the sources that include them. The outside project
# of tests/install is not part of this build.
tidy() {
  cmake --preset clang -DPENSTOCK_PYTHON=ON \
    "-DPython_EXECUTABLE=$PWD/.venv/bin/python" >/dev/null
  files '*.cc' ':!tests/install' |
    xargs -r -P "${JOBS:-$(nproc)}" -n 2 clang-tidy-16 -p build/clang --quiet \
      --warnings-as-errors='*' 2> >(grep -v 'warnings generated\|^Suppressed\|^Use -header' >&2)
}

check "clang-format" format
check "include direction" python3 tools/check_includes.py
if [[ -n $(files '*.py') ]]; then
  check "ruff" .venv/bin/ruff check
  check "ruff format" .venv/bin/ruff format --check
fi
check "clang-tidy" tidy
exit $status
