#!/usr/bin/env bash
# usage: tools/test.sh ci|soak
# Runs the stages below and ends with the line "N passed, N failed".
#
#   release  every C++ test, optimised
#   python   the Python package and its wheel, with pytest
#   pythons  the package with every other CPython that is found
#   tsan     ThreadSanitizer: runtime and contract tests (soak: everything)
#   asan     ASan + UBSan: runtime, memory, parsers, fuzz seeds (soak: everything)
#
# Tests read the number of simulated schedules, of random graphs and of pipelines
# of large elements from PENSTOCK_SIM_SEEDS, PENSTOCK_RANDOM_GRAPH_SEEDS and
# PENSTOCK_BUDGET_SEEDS. A sanitizer slows them 5 to 60 times, so its stages take
# fewer. STAGES="release tsan" chooses.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-ci} in
  ci)
    seeds=2000 sanitized_seeds=100 timeout=900
    default_stages="release python pythons tsan asan"
    tsan_labels="runtime contract"
    asan_labels="runtime core fuzz" ;;
  soak)
    seeds=100000 sanitized_seeds=10000 timeout=36000
    default_stages="release python pythons tsan asan"
    export PENSTOCK_ALL_CASES=1
    tsan_labels="unit core runtime contract pipeline fuzz"
    asan_labels=$tsan_labels ;;
  *) echo "usage: tools/test.sh ci|soak" >&2; exit 2 ;;
esac
stages=${STAGES:-$default_stages}
jobs=${JOBS:-$(nproc)}

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tools/tsan.supp}

# stage PRESET SEEDS [LABEL...]: build and run the tests with these labels, or
# all. A failure stays in the results, so that one run reports on every stage.
stage() {
  local preset=$1 seeds=$2 labels=("${@:3}") run=() filter=()
  printf '\n== %s\n' "$preset"
  tools/build.sh "$preset" "${labels[@]/#/tests_}" || return 0
  mkdir -p "build/$preset/results"
  if ((${#labels[@]})); then
    filter=(-L "^($(IFS='|'; echo "${labels[*]}"))\$")
  fi
  # The TSan runtime of g++ 12 cannot place its shadow under strong ASLR.
  if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then
    run=(setarch -R)
  fi
  PENSTOCK_SIM_SEEDS=${PENSTOCK_SIM_SEEDS:-$seeds} \
  PENSTOCK_RANDOM_GRAPH_SEEDS=${PENSTOCK_RANDOM_GRAPH_SEEDS:-$seeds} \
  PENSTOCK_BUDGET_SEEDS=${PENSTOCK_BUDGET_SEEDS:-$((seeds / 5))} \
    "${run[@]}" ctest --test-dir "build/$preset" "${filter[@]}" -j "$jobs" \
    --timeout "$timeout" --output-on-failure --no-tests=error \
    --output-junit results/ctest.xml || true
}

# The Python package, on the module of the release build; and the wheel that is
# made of the same objects, in an empty environment.
python_stage() {
  printf '\n== python\n'
  tools/build.sh release _penstock || return 0
  tools/setup.sh wheel
  mkdir -p build/python
  tools/wheel.sh >build/python/wheel.log 2>&1 || cat build/python/wheel.log
  PENSTOCK_EXPECT_WHEEL=1 \
  .venv/bin/python -m pytest -q --junitxml=build/python/results/pytest.xml || true
}

# The Python tests use one core, mostly: what is left of the others builds for the
# stages that follow meanwhile.
build_ahead() {
  for preset in $stages; do
    case $preset in
      pythons) tools/test_pythons.sh --build ;;
      tsan) tools/build.sh tsan $(printf 'tests_%s ' $tsan_labels) ;;
      asan) tools/build.sh asan $(printf 'tests_%s ' $asan_labels) ;;
    esac
  done
}

# Old results must not be counted if this run does not get that far.
rm -rf build/{release,python,pythons,tsan,asan}/results build/test-summary.txt
mkdir -p build
ahead=
for preset in $stages; do
  if [[ $preset == python* && -z $ahead ]]; then
    (renice -n 19 $BASHPID >/dev/null; build_ahead) >build/ahead.log 2>&1 &
    ahead=$!
  elif [[ $preset == *san && -n $ahead ]]; then
    wait "$ahead" || true  # what failed is built again and shown
    ahead=
  fi
  case $preset in
    release) stage release "$seeds" ;;
    python) python_stage ;;
    pythons) tools/test_pythons.sh ;;
    tsan) stage tsan "$sanitized_seeds" $tsan_labels ;;
    asan) stage asan "$sanitized_seeds" $asan_labels ;;
    *) echo "tools/test.sh: unknown stage '$preset'" >&2; exit 2 ;;
  esac
done

echo
python3 tools/count_tests.py $stages | tee build/test-summary.txt
