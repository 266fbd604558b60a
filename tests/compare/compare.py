"""Runs random pipelines on Penstock and on TensorFlow and compares elements.

    python tests/compare/compare.py --count 1000 [--seed 0]

Values, dtypes, shapes and order must be equal, floats within a few units of the
last place; so must be where errors are, and their class as `tf.errors` has it.
Functions and methods must take the same arguments.
Prints every difference with the steps that led to it, and a line with counts.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import penstock.tf
import signatures
import tensorflow
from all_fixed import CASES
from functions import cases
from pipelines import build, describe
from results import near, shown

MAX_ELEMENTS = 200
KEPT = pathlib.Path(__file__).parents[2] / "python" / "tests" / "tf"
GOLDEN = KEPT / "functions.json"
SIGNATURES = KEPT / "signatures.json"


def leaves(value, path=""):
    """(path, plain NumPy) of every leaf."""
    if isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}[{i}]")
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(value[key], f"{path}[{key!r}]")
    elif value is None:
        yield path, None
    else:
        yield path, value.numpy()


def kind_of(module, error):
    """The name of an error's class, the same for both modules."""
    for name in [
        "InvalidArgumentError",
        "OutOfRangeError",
        "NotFoundError",
        "DataLossError",
        "FailedPreconditionError",
        "UnimplementedError",
    ]:
        if isinstance(error, getattr(module.errors, name)):
            return name
    for kind in (TypeError, ValueError):
        if isinstance(error, kind):
            return kind.__name__
    return type(error).__name__


def run(module, steps):
    """What a pipeline gives: cardinality, and elements and errors in order."""
    # Without rewriting the functions' source, which takes seconds.
    plain = tensorflow.autograph.experimental.do_not_convert
    try:
        ds = (plain(build) if module is tensorflow else build)(module, steps)
        count = int(ds.cardinality())
        it = iter(ds)
    except Exception as error:  # noqa: BLE001
        return ("refused", kind_of(module, error), str(error)), []
    out = []
    while len(out) < MAX_ELEMENTS:
        try:
            out.append(("element", list(leaves(next(it)))))
        except StopIteration:
            break
        except Exception as error:  # noqa: BLE001
            out.append(("error", kind_of(module, error), str(error)))
    return ("cardinality", count), out


def same_leaf(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, bytes) or isinstance(b, bytes):
        return isinstance(a, bytes) and isinstance(b, bytes) and a == b
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "f":
        return np.allclose(x, y, rtol=2e-6, atol=1e-6, equal_nan=True)
    return bool(np.array_equal(x, y))


def same_element(a, b):
    if a[0] != b[0]:
        return False
    if a[0] == "error":
        return a[1] == b[1]
    return [p for p, _ in a[1]] == [p for p, _ in b[1]] and all(
        same_leaf(x, y) for (_, x), (_, y) in zip(a[1], b[1])
    )


def key(element):
    return repr([(p, np.asarray(v).tolist()) for p, v in element[1]])


REFUSALS = {"InvalidArgumentError", "ValueError", "TypeError"}


def difference(steps, ordered):
    """What differs, or None; and how many elements there were."""
    (head_a, a), (head_b, b) = (run(m, steps) for m in (tensorflow, penstock.tf))
    if head_a[0] == "refused" and "MakeIterator" in head_a[2]:
        return None, 0  # its own rewrites broke it
    if head_a[0] != head_b[0]:
        late = b[0] if head_a[0] == "refused" and b else None
        if late is not None and late[0] == "error" and late[1] in REFUSALS:
            return None, 1  # refused at its first element
        return f"TensorFlow {head_a}, Penstock {head_b} {b[:2]}", 0
    if head_a[0] == "refused":
        if head_a[1] in REFUSALS and head_b[1] in REFUSALS:
            return None, 0
        return f"TensorFlow refused {head_a}, Penstock {head_b}", 0
    # Penstock may know a number where TensorFlow does not; it must be true.
    more = head_a[1] == tensorflow.data.UNKNOWN_CARDINALITY and head_b[1] == len(b)
    if head_a != head_b and not more:
        return f"cardinality {head_a[1]} and {head_b[1]}", 0
    if not ordered:
        a, b = (sorted(x, key=key) for x in (a, b))
    for i, (x, y) in enumerate(zip(a, b)):
        if not same_element(x, y):
            return f"element {i}: TensorFlow {x}, Penstock {y}", i
    if len(a) != len(b):
        longer = a if len(a) > len(b) else b
        return f"{len(a)} and {len(b)} elements; then {longer[min(len(a), len(b))]}", 0
    return None, len(a)


def compute(module, call):
    try:
        return ("element", list(leaves(call(module))))
    except Exception as error:  # noqa: BLE001
        return ("error", kind_of(module, error), str(error))


def rounded(x, y):
    """Whether single pixels of a picture are one apart."""
    x, y = np.asarray(x), np.asarray(y)
    if not x.dtype == y.dtype == np.uint8 or x.shape != y.shape:
        return False
    apart = np.abs(x.astype(int) - y.astype(int))
    return apart.max(initial=0) <= 1 and np.count_nonzero(apart) <= 0.01 * apart.size


def close(a, b):
    """Functions of pictures may differ by a rounding of the last digit."""
    if a[0] != b[0] or a[0] == "error":
        return a[0] == b[0]
    return len(a[1]) == len(b[1]) and all(
        same_leaf(x, y)
        or rounded(x, y)
        or (
            np.asarray(x).dtype == np.asarray(y).dtype
            and np.shape(x) == np.shape(y)
            and np.asarray(x).dtype.kind in "fu"
            and np.allclose(
                np.asarray(x, np.float64), np.asarray(y, np.float64), 1e-4, 1e-4
            )
        )
        for (_, x), (_, y) in zip(a[1], b[1])
    )


def compare_functions(first, count):
    """How many calls were compared, and how many differ."""
    total = different = 0
    for seed in range(first, first + count):
        for name, call in cases(seed):
            total += 1
            a, b = (compute(m, call) for m in (tensorflow, penstock.tf))
            if not close(a, b):
                different += 1
                print(f"{name}, seed {seed}: TensorFlow {a}, Penstock {b}", flush=True)
    return total, different


def fixed_result(module, call):
    try:
        return shown(call(module))
    except Exception:  # noqa: BLE001
        return "error"


def compare_fixed(write):
    """How many fixed calls there are, and how many differ."""
    different = 0
    results = []
    for number, call in enumerate(CASES):
        a, b = (fixed_result(m, call) for m in (tensorflow, penstock.tf))
        results.append(a)
        if not near(a, b):
            different += 1
            print(f"fixed call {number}: TensorFlow {a}, Penstock {b}", flush=True)
    if write:
        with open(GOLDEN, "w") as file:
            for i, result in enumerate(results):
                text = json.dumps(result, separators=(",", ":"))
                file.write(f"{'[' if i == 0 else ','}{text}\n")
            file.write("]\n")
    return len(CASES), different


def compare_signatures(write):
    """How many functions and methods there are, and of how many calls differ."""
    found = sorted(signatures.names(tensorflow, penstock.tf))
    theirs = signatures.signatures(tensorflow, found)
    ours = signatures.signatures(penstock.tf, theirs)
    different = 0
    for name, wanted in theirs.items():
        if not signatures.same(wanted, ours[name]):
            different += 1
            print(f"{name}: TensorFlow {wanted}, Penstock {ours[name]}", flush=True)
    if write:
        lines = [f"{json.dumps(name)}: {json.dumps(p)}" for name, p in theirs.items()]
        SIGNATURES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return len(theirs), different


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="keep fixed results")
    options = parser.parse_args()
    tensorflow.get_logger().setLevel("ERROR")
    tensorflow.autograph.set_verbosity(0)
    started = time.monotonic()
    different = elements = 0
    for seed in range(options.seed, options.seed + options.count):
        steps, ordered = describe(seed)
        what, count = difference(steps, ordered)
        elements += count
        if what is not None:
            different += 1
            print(f"seed {seed}: {what}")
            print(f"  {' '.join(f'{n}{p}' for n, p in steps)}", flush=True)
    calls, bad_calls = compare_functions(options.seed, max(1, options.count // 50))
    fixed, bad_fixed = compare_fixed(options.write)
    calls, bad_calls = calls + fixed, bad_calls + bad_fixed
    known, bad_known = compare_signatures(options.write)
    seconds = time.monotonic() - started
    print(
        f"compare: {options.count} pipelines, {elements} elements, "
        f"{different} different; {calls} calls of functions, {bad_calls} different; "
        f"{known} signatures, {bad_known} different; "
        f"TensorFlow {tensorflow.__version__}, "
        f"{seconds:.0f} s"
    )
    return 1 if different or bad_calls or bad_known else 0


if __name__ == "__main__":
    sys.exit(main())
