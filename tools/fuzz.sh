#!/usr/bin/env bash
# usage: tools/fuzz.sh
# Builds fuzz/*_fuzz.cc with libFuzzer and runs each FUZZ_SECONDS (60), JOBS at a
# time. What a run finds joins build/fuzz/corpus; fuzz/corpus/<name> is the seed.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh fuzz tests_fuzz

fuzz_one() {
  local name=$1 log=build/fuzz/$1.log
  local found=build/fuzz/corpus/$name crashes=build/fuzz/crashes/$name
  mkdir -p "$found" "$crashes" "fuzz/corpus/$name"
  if ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-16) \
     "build/fuzz/fuzz/${name}_fuzz" -max_total_time="${FUZZ_SECONDS:-60}" \
     -timeout=20 -print_final_stats=1 -artifact_prefix="$crashes/" \
     "$found" "fuzz/corpus/$name" >"$log" 2>&1; then
    echo "ok      $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
  else
    tail -n 60 "$log"
    echo "FAILED  $name: $log, input in $crashes"
    return 1
  fi
}
export -f fuzz_one

for source in fuzz/*_fuzz.cc; do
  [[ -e $source ]] && basename "$source" _fuzz.cc
done | xargs -r -P "${JOBS:-$(nproc)}" -I{} bash -c 'fuzz_one {}'
