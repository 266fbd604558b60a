"""Random functions, traced and called by Python: equal dtype, shape and bits.

PENSTOCK_TRACE_SEEDS says how many functions (a few hundred by default),
PENSTOCK_TRACE_FIRST where to begin, so that a failure can be repeated alone.
"""

from __future__ import annotations

import os
import random
import warnings

import numpy as np
import pytest
from penstock._trace import Inspected, TraceRefused

import penstock as ps

SEEDS = int(os.environ.get("PENSTOCK_TRACE_SEEDS", "400"))
FIRST = int(os.environ.get("PENSTOCK_TRACE_FIRST", "0"))
ROWS = 6
DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
).split()

BINARY = "+ - * / // % ** & | ^ << >> == != < <= > >=".split()
UNARY_FUNCTIONS = (
    "negative absolute sign invert square reciprocal sqrt floor ceil trunc rint exp "
    "exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arccosh arctanh cbrt logical_not isnan isinf isfinite signbit positive"
).split()
BINARY_FUNCTIONS = (
    "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax "
    "fmin "
    "bitwise_and bitwise_or bitwise_xor left_shift right_shift copysign power arctan2 "
    "hypot logaddexp equal less logical_and logical_or logical_xor"
).split()
METHODS = (
    "sum() sum(axis={a}) sum(axis={a},keepdims=True) mean() mean(axis={a}) max() "
    "max(axis={a}) min() min(axis={a},keepdims=True) any() any(axis={a}) all() prod() "
    "prod(axis={a}) argmax() argmax(axis={a}) argmin() ravel() T copy() round() "
    "reshape(-1) reshape(-1,1) squeeze() flatten()"
).split()
SHAPES = ((), (), (3,), (4,), (2, 3), (3, 1), (1, 4), (2, 3, 4))


def random_column(rng: random.Random, values: np.random.Generator):
    dtype = np.dtype(rng.choice(DTYPES))
    shape = (ROWS, *rng.choice(SHAPES))
    if dtype.kind == "b":
        return values.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = values.integers(max(info.min, -5), 6, shape).astype(dtype)
        wide = values.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return np.where(values.random(shape) < 0.7, small, wide)
    column = values.normal(size=shape) * 10.0 ** values.integers(-2, 3, shape)
    special = values.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], shape)
    return np.where(values.random(shape) < 0.1, special, column).astype(dtype)


def random_constant(rng: random.Random) -> str:
    return rng.choice(
        [
            str(rng.randint(-4, 7)),
            str(rng.choice([0, 1, 2, 3, 100, 200])),
            repr(rng.choice([0.5, 2.0, -1.5, 0.1, 1e-3, 3.0])),
            f"np.{rng.choice(DTYPES[1:])}({rng.randint(0, 5)})",
            rng.choice(["True", "False"]),
            "np.array([1.5, -2.0, 0.25], np.float32)",
            "np.array([[1], [2]])",
        ]
    )


def random_statement(rng: random.Random, names: list[str]) -> str:
    def value() -> str:
        return rng.choice(names[-6:])

    def either() -> str:
        return value() if rng.random() < 0.7 else random_constant(rng)

    kind = rng.random()
    if kind < 0.40:
        a, b = (value(), either()) if rng.random() < 0.7 else (either(), value())
        return f"{a} {rng.choice(BINARY)} {b}"
    if kind < 0.52:
        return f"np.{rng.choice(UNARY_FUNCTIONS)}({value()})"
    if kind < 0.62:
        return f"np.{rng.choice(BINARY_FUNCTIONS)}({value()}, {either()})"
    if kind < 0.74:
        method = rng.choice(METHODS).format(a=rng.randint(-2, 2))
        return f"{value()}.{method}"
    if kind < 0.80:
        return f"{value()}.astype(np.{rng.choice(DTYPES)})"
    if kind < 0.88:
        index = rng.choice(
            [
                "0",
                "-1",
                "1:",
                "::-1",
                "..., 0",
                "None",
                ":, 0",
                "1, 1:",
                "..., None",
                ":-1",
                "[0, 1]",
                "::2",
                "0:1",
                f"{value()}",
                f"..., {value()}",
            ]
        )
        return f"{value()}[{index}]"
    return rng.choice(
        [
            f"np.where({value()}, {either()}, {either()})",
            f"np.where({value()} > {either()}, {value()}, {either()})",
            f"np.clip({value()}, {rng.randint(-3, 1)}, {rng.randint(2, 9)})",
            f"np.stack([{value()}, {value()}])",
            f"np.concatenate([{value()}, {value()}])",
            f"np.stack([{value()}, {value()}], axis=-1).sum(axis=0)",
            f"np.transpose({value()})",
            f"np.expand_dims({value()}, 0)",
            f"np.flip({value()})",
            f"-{value()}",
            f"abs({value()})",
            f"~{value()}",
            f"np.take({value()}, [0, 1, 1])",
            f"np.array([{value()}, {value()}])",
            f"sum([{value()} for _ in range(3)])",
            f"np.broadcast_to({value()}, (2, 3))",
            f"{value()} @ {value()}",
            f"ps.one_hot({value()}, 4)",
            f"ps.cast({value()}, ps.float32)",
            f"{value()} if {value()}.ndim == 1 else {value()}",
            f"helper({value()}, {either()})",
        ]
    )


HELPER = """
def helper(a, b):
    t = a * b
    t += 1
    return t - b
"""


def make_function(seed: int):
    """A function that runs in Python on each of its elements, and they."""
    rng = random.Random(seed)
    values = np.random.default_rng(seed)
    columns = [random_column(rng, values) for _ in range(rng.randint(1, 3))]
    arguments = [f"x{i}" for i in range(len(columns))]
    scope = {"np": np, "ps": ps}
    exec(HELPER, scope)
    body: list[str] = []
    names = list(arguments)
    rows = [dict(zip(arguments, row)) for row in zip(*columns)]
    for _ in range(rng.randint(1, 10)):
        statement = random_statement(rng, names)
        results = []
        try:
            for row in rows:
                results.append(eval(statement, scope, dict(row)))
        except Exception:
            continue  # Python itself would raise
        if not all(isinstance(r, (np.generic, np.ndarray)) for r in results):
            continue
        if any(r.dtype.kind not in "biuf" or r.size > 2000 for r in results):
            continue
        name = f"v{len(body)}"
        for row, result in zip(rows, results):
            row[name] = result
        body.append(f"    {name} = {statement}")
        names.append(name)
    kept = rng.sample(names, min(len(names), rng.randint(1, 3)))
    if names[-1] not in kept:
        kept.append(names[-1])
    result = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
    source = f"def fn({', '.join(arguments)}):\n" + "\n".join(
        [*body, f"    return {result}"]
    )
    exec(source, scope)
    return scope["fn"], columns, source


def same_bits(a, b) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        unsigned = f"u{a.dtype.itemsize}"
        equal = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(
            unsigned
        )
        return bool((equal | (np.isnan(a) & np.isnan(b))).all())
    return bool((a == b).all())


@pytest.mark.parametrize("chunk", range(8))
def test_traced_functions_give_what_python_gives(chunk):
    refusals: dict[str, int] = {}
    traced = 0
    total = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(FIRST + chunk, FIRST + SEEDS, 8):
            fn, columns, source = make_function(seed)
            total += 1
            elements = list(zip(*columns))
            spec = tuple(ps.TensorSpec(c.shape[1:], c.dtype) for c in columns)
            if len(spec) == 1:
                spec = spec[0]
            try:
                program = Inspected(fn).trace(spec)
            except TraceRefused as refused:
                key = refused.reason
                refusals[key] = refusals.get(key, 0) + 1
                continue
            traced += 1
            data = columns[0] if len(columns) == 1 else tuple(columns)
            ds = ps.Dataset.from_tensor_slices(data).map(fn, executor="native")
            whole = ds.to_list()
            for row, element in enumerate(elements):
                expected = fn(*element)
                alone = program.run(element if len(element) > 1 else element[0])
                for got, how in ((alone, "alone"), (whole[row], "in a block")):
                    pairs = (
                        zip(got, expected)
                        if isinstance(expected, tuple)
                        else [(got, expected)]
                    )
                    for g, e in pairs:
                        assert same_bits(g, e), (
                            f"seed {seed}, row {row}, {how}:\n{source}\n"
                            f"args {element!r}\nnative {g!r} {np.asarray(g).dtype}\n"
                            f"python {e!r} {np.asarray(e).dtype}\n{program}"
                        )
    # Most of them must be native, else this compares nothing.
    assert traced > total * 0.5, sorted(refusals.items(), key=lambda i: -i[1])[:12]
