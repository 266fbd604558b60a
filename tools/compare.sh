#!/usr/bin/env bash
# Runs random pipelines on penstock.tf and on the real TensorFlow and compares
# their elements (tests/compare). TensorFlow has a venv of its own,
# build/compare-venv; the package is the one that `make build` built.
#   COUNT=1000   how many pipelines
#   SEED=0       the first one's seed
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/compare-venv
python=.venv/bin/python
if [[ ! -x $venv/bin/python ]]; then
  "$python" -m venv "$venv"
fi
if ! "$venv/bin/python" -c 'import tensorflow, numpy, cloudpickle' 2>/dev/null; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    tensorflow numpy cloudpickle
fi
PYTHONPATH=python "$venv/bin/python" -W ignore tests/compare/compare.py \
  --count "${COUNT:-1000}" --seed "${SEED:-0}" 2>build/compare.log
