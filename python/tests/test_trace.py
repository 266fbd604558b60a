"""Which functions run natively, and what refuses the others."""

from __future__ import annotations

import collections
import functools
import math
import pickle
import time

import numpy as np
import pytest
from penstock._trace import Inspected, TraceRefused

import penstock as ps

INT = ps.TensorSpec((), ps.int64)
VECTOR = ps.TensorSpec((3,), ps.float32)
SQUARE = ps.TensorSpec((2, 2), ps.float32)
TABLE = np.array([10.0, 20.0, 30.0], np.float32)
FACTOR = np.array(2.5)
ENDLESS: list = []
ENDLESS.append(ENDLESS)
SCALE = 3
LIST = [1, 2, 3]
COUNTER = 0
calls = []


def trace(fn, spec=INT):
    return Inspected(fn).trace(spec)


def refusal(fn, spec=INT) -> str:
    with pytest.raises(TraceRefused) as caught:
        trace(fn, spec)
    return caught.value.describe()


# --- what is traced ---------------------------------------------------------


@pytest.mark.parametrize("executor", ["native", "thread"])
def test_axes_may_be_a_list_and_lists_have_slices(executor):
    x = np.arange(6.0).reshape(1, 3, 1, 2)

    def fn(x):
        total = ps.reduce_sum(x, axis=[1, 3]), ps.reduce_max(x, [0, -1], keepdims=True)
        a, b = ps.unstack([x, x + 1])
        return (*total, ps.squeeze(x, axis=[0, 2]), b - a, *ps.unstack([1, 2]))

    ((total, largest, squeezed, one, *two),) = (
        ps.Dataset.from_tensors(x).map(fn, executor=executor).to_list()
    )
    assert total == 15.0 and largest.shape == (1, 3, 1, 1)
    assert squeezed.shape == (3, 2) and (one == 1).all() and two == [1, 2]
    assert ps.reduce_sum(x, axis=[1, 3]) == 15.0
    assert ps.squeeze(x, axis=[0, 2]).shape == (3, 2)
    assert [len(p) for p in ps.split([1, 2, 3], [1, 2])] == [1, 2]


def test_arithmetic_runs_natively_and_says_so():
    ds = ps.Dataset.range(5).map(lambda x: x * 2 + 1, executor="native")
    assert [int(x) for x in ds] == [1, 3, 5, 7, 9]
    assert "native" in ds.explain()
    assert ds.element_spec == INT


def test_auto_runs_natively_what_can_be():
    ds = ps.Dataset.range(3).map(lambda x: np.sqrt(x))
    assert "native" in ds.explain()
    assert ds.element_spec == ps.TensorSpec((), ps.float64)


def test_captured_values_are_constants_taken_when_the_graph_is_built():
    values = [1, 2, 3]
    table = np.array([5, 6])
    ds = ps.Dataset.range(2).map(lambda x: x + values[1] + table[0], executor="native")
    values[1] = 1000
    table[0] = 1000
    assert [int(x) for x in ds] == [7, 8]


def test_helpers_defaults_partials_and_comprehensions_are_followed():
    def helper(x, factor=SCALE):
        return x * factor

    def fn(x, offset):
        total = sum([helper(x) + i for i in range(3)])
        for weight in LIST:
            total = total + weight
        return {"total": total + offset, "pair": (x, -x)}

    ds = ps.Dataset.range(3).map(functools.partial(fn, offset=1), executor="native")
    plain = [fn(np.int64(i), offset=1) for i in range(3)]
    assert ds.to_list() == plain


def test_tuples_are_spread_and_dicts_are_one_argument():
    ds = ps.Dataset.from_tensor_slices((np.arange(3), np.arange(3) * 2.0))
    assert [float(x) for x in ds.map(lambda a, b: a + b, executor="native")] == [
        0,
        3,
        6,
    ]
    ds = ps.Dataset.from_tensor_slices({"a": np.arange(3)})
    ds = ds.map(lambda d: {**d, "b": d["a"] + 1}, executor="native")
    assert [int(d["b"]) for d in ds] == [1, 2, 3]


def test_named_tuples_come_back():
    Pair = collections.namedtuple("Pair", "low high")
    program = trace(lambda x: Pair(x - 1, x + 1))
    assert program.run(np.int64(5)) == Pair(4, 6)


def test_filters_and_truth():
    ds = ps.Dataset.range(6).filter(lambda x: x % 2, executor="native")
    assert [int(x) for x in ds] == [1, 3, 5]
    assert [int(x) for x in ps.Dataset.range(5).filter(lambda x: x > 2)] == [3, 4]


def test_static_branches_and_shapes_are_decided_when_traced():
    def fn(x):
        if x.ndim == 1 and x.shape[0] == 3 and x.dtype == np.float32:
            return x.sum()
        return x * 0

    assert trace(fn, VECTOR).run(np.ones(3, np.float32)) == 3


def unknown_size(fn, arrays):
    """What `fn` gives natively, for rows whose size is not in the spec."""
    spec = ps.TensorSpec((None,) * arrays[0].ndim, arrays[0].dtype)
    ds = ps.Dataset.from_generator(lambda: iter(arrays), spec)
    return ds.map(fn, executor="native")


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x[-1],
        lambda x: x[0],
        lambda x: x[1] + x[-2],
        lambda x: x[-1, 0],
        lambda x: x[1:, -1],
        lambda x: x[..., 1],
        lambda x: x[1, None, ::-1],
        lambda x: x[::2, None, 0],
        lambda x: x[0][1],
        lambda x: x[:, 1].max() + x[-2].reshape(-1).sum(),
    ],
)
def test_integers_index_dimensions_of_unknown_size(fn):
    shapes = [(2, 3), (4, 2), (2, 3), (3, 3)]
    arrays = [np.arange(r * c, dtype=np.float32).reshape(r, c) for r, c in shapes]
    for got, array in zip(unknown_size(fn, arrays), arrays, strict=True):
        expected = fn(array)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("index", [2, -3, 2**70])
def test_an_integer_beyond_a_dimension_of_unknown_size_is_an_index_error(index):
    it = iter(unknown_size(lambda x: x[index], [np.zeros(1000), np.zeros(2)][::-1]))
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 2"):
        next(it)


def test_the_last_of_an_empty_array_is_an_index_error():
    it = iter(unknown_size(lambda x: x[-1], [np.ones(2), np.zeros(0)]))
    assert next(it) == 1
    with pytest.raises(IndexError, match="element 1: index -1 is out of bounds"):
        next(it)


def test_lookup_with_a_traced_index_names_the_element_that_is_out_of_bounds():
    ds = ps.Dataset.range(5).map(lambda i: TABLE[i], executor="native")
    it = iter(ds)
    assert [float(next(it)) for _ in range(3)] == [10, 20, 30]
    with pytest.raises(ps.OutOfRangeError, match="index 3 is out of bounds"):
        next(it)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: 3 in x.shape,
        lambda x: x.shape.count(3),
        lambda x: x * 2 if (*x.shape, 1)[1] == 3 else x,
        lambda x: x * 2 if (x.shape + (1,))[1] == 3 else x,  # noqa: RUF005
        lambda x: x * 2 if ((1,) + x.shape)[2] == 3 else x,  # noqa: RUF005
        lambda x: x * 2 if (x.shape * 2)[1] == 3 else x,
        lambda x: len(f"{x.shape}"),
    ],
)
def test_dimensions_that_are_not_known_decide_nothing(fn):
    assert "not known" in refusal(fn, ps.TensorSpec((None, None), ps.float32))


def same_as_called(fn, *columns):
    data = columns if len(columns) > 1 else columns[0]
    got = ps.Dataset.from_tensor_slices(data).map(fn, executor="native").to_list()
    for result, row in zip(got, zip(*columns), strict=True):
        expected = fn(*row)
        pairs = (
            zip(result, expected)
            if isinstance(expected, tuple)
            else [(result, expected)]
        )
        for g, e in pairs:
            assert np.asarray(g).dtype == np.asarray(e).dtype
            np.testing.assert_array_equal(g, e)


def test_values_of_a_list_are_cast_one_by_one_to_a_dtype_that_is_given():
    whole, parts = np.array([2**53 + 1, 2**60 + 2**36 + 1]), np.array([0.5, 1.5])
    same_as_called(lambda i, x: np.array([i, x], np.float32), whole, parts)
    rows = whole[:, None] + np.arange(3)
    same_as_called(lambda i: np.array([i, i * 0.5], np.int64), rows)
    spec = (ps.TensorSpec((), ps.int64), ps.TensorSpec((), ps.float64))
    assert refusal(lambda i, x: np.array([i, x], int), spec)
    assert refusal(lambda i, x: np.array([i, 300], "b"), spec)


def test_arrays_without_dimensions_are_written_in_place():
    def chosen(x):
        y = np.where(x > 1, x, 5)
        z = y
        z += 1
        return y, z

    def converted(x):
        y = np.asarray(x, np.float32)
        z = y
        z *= 2
        return y, z

    def copied(x):
        y = np.copy(x)
        z = y
        z -= 1
        return y, z

    def scalar(x):
        y = np.float64(np.asarray(x, np.float32))
        z = y
        z -= 1
        return y, z

    for fn in (chosen, converted, copied, scalar):
        same_as_called(fn, np.arange(4))


def test_np_copy_keeps_the_layout_of_what_it_copies():
    assert "contiguous" in refusal(lambda x: np.copy(x.T).sum(), SQUARE)
    same_as_called(lambda x: x.T.copy().sum(), np.random.rand(3, 40, 50))


def test_numpy_integers_are_numbers_of_parts():
    rows = np.arange(12).reshape(3, 4)
    same_as_called(lambda x: tuple(np.split(x, np.int64(2))), rows)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.sum(True),
        lambda x: x.sum([0, 1]),
        lambda x: x.reshape(True, 4),
        lambda x: np.moveaxis(x, 0, 5),
        lambda x: np.moveaxis(x, -3, 0),
        lambda x: np.concatenate([x, x], True),
    ],
)
def test_arguments_that_numpy_refuses_are_refused(fn):
    with pytest.raises((TypeError, ValueError, IndexError)):
        fn(np.ones((2, 2), np.float32))
    assert refusal(fn, SQUARE)


def test_types_and_containers_are_the_same_objects_wherever_they_come_from():
    kind, table = np.float32, [1, 2]
    again = table

    def same(x):
        return x + (1 if kind is np.float32 else 2) + (3 if table is again else 4)

    def looked_up(x):
        names = {np.float32: 1, np.int64: 2}
        return x + names.get(x.dtype.type, 10) + names.get(x.dtype, 20)

    for fn in (same, looked_up):
        same_as_called(fn, np.arange(3.0, dtype=np.float32))
    assert "by identity" in refusal(lambda x: x.dtype.type is np.float32, VECTOR)


def test_signed_zeros_of_clip_and_weak_numbers_of_concatenate_are_numpys():
    bounds = np.array([0.0, 1.0])
    assert "which zero" in refusal(lambda x: x.clip(0, bounds), VECTOR)
    assert "weak" in refusal(lambda x: np.concatenate([x, 2], axis=None), VECTOR)


@pytest.mark.parametrize(
    "kind", [np.integer, np.floating, np.number, np.generic, np.inexact]
)
def test_functions_that_ask_for_classes_of_several_types_run_as_python(kind):
    ds = ps.Dataset.range(3).map(lambda x: x + 1 if isinstance(x, kind) else -x)
    assert ds.to_list() == [x + 1 if isinstance(x, kind) else -x for x in np.arange(3)]


def test_functions_that_read_arrays_without_dimensions_run_as_python():
    ds = ps.Dataset.range(3).map(lambda x: float(x) * float(FACTOR))
    assert ds.to_list() == [0.0, 2.5, 5.0]


def test_functions_that_read_what_holds_itself_run_as_python():
    assert ps.Dataset.range(2).map(lambda x: x + len(ENDLESS)).to_list() == [1, 2]


def test_inplace_writes_only_to_what_the_function_made():
    def own(x):
        y = x / 2
        y -= 1
        z = y
        z *= 3
        return y

    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(trace(own, VECTOR).run(x), own(x.copy()))

    def argument(x):
        x += 1
        return x

    assert "did not make" in refusal(argument, VECTOR)

    def viewed(x):
        y = x + 1
        part = y[:2]
        y += 1
        return part

    assert "views" in refusal(viewed, VECTOR)

    def reshaped(x):
        y = x.T + 1
        row = y.reshape(-1)
        y += 1
        return row

    assert "views" in refusal(reshaped, ps.TensorSpec((4, 1), ps.float32))

    def same_array(x):
        y = np.array(x)
        z = np.asarray(y)
        z += 1
        return y

    assert trace(same_array).run(np.int64(3)) == same_array(np.int64(3)) == 4


def test_wrap_around_division_and_nan_are_numpys():
    data = np.array([2**31 - 1, -(2**31), 0], np.int32)

    def fn(x):
        return (
            x + np.int32(1),
            x // np.int32(0),
            x % np.int32(0),
            x // np.int32(-1),
        )

    ds = ps.Dataset.from_tensor_slices(data).map(fn, executor="native")
    with np.errstate(all="ignore"):
        assert ds.to_list() == [fn(x) for x in data]


def test_ps_operations_are_traced_and_eager():
    def fn(x):
        y = ps.cast(ps.stack([x, x + 1, x + 2]), ps.float32)
        y = ps.concat([y, ps.gather(y, [0, 2])], 0)
        a, b = ps.split(ps.reshape(y, (5, 1)), [2, 3])
        return ps.reduce_sum(a), ps.reduce_mean(b, axis=0), ps.one_hot(x, 4)

    ds = ps.Dataset.range(3).map(fn, executor="native")
    for got, x in zip(ds, range(3)):
        for g, e in zip(got, fn(np.int64(x))):
            assert g.dtype == e.dtype and np.array_equal(g, e)


def test_random_values_are_the_same_traced_and_called():
    def fn(x):
        noise = ps.random.uniform((2,), -1.0, 1.0) + ps.random.normal()
        return (
            noise,
            ps.random.uniform((), 0, 10, ps.int64),
            ps.random.shuffle(np.arange(4)),
        )

    def run(executor):
        ds = ps.Dataset.range(20).map(fn, executor=executor)
        return ds.with_options(ps.Options(seed=3)).to_list()

    native, thread = run("native"), run("thread")
    assert len({float(n[0][0]) for n in native}) == 20
    for n, t in zip(native, thread):
        for a, b in zip(n, t):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_programs_pickle():
    program = trace(lambda x: np.exp(x) + TABLE)
    again = pickle.loads(pickle.dumps(program))
    assert str(again) == str(program) and again.fingerprint == program.fingerprint


def test_behind_an_unknown_spec_it_is_traced_when_data_comes():
    seen = []

    def opaque(x):
        seen.append(x)
        return np.arange(3) + x

    ds = ps.Dataset.range(4).map(opaque, executor="thread")
    out = ds.map(lambda v: v * 2, executor="native")
    assert [list(map(int, v)) for v in out] == [
        [2 * i, 2 * i + 2, 2 * i + 4] for i in range(4)
    ]
    # A function that needs the dimensions gets them from the data too.
    assert [
        int(n) for n in ds.map(lambda v: v.sum() + v.shape[0], executor="native")
    ] == [3 * i + 6 for i in range(4)]


# --- what refuses -------------------------------------------------------------


def test_refused_functions_are_never_called_when_built():
    def fn(x):
        calls.append(x)
        return x

    calls.clear()
    ds = ps.Dataset.range(3).map(fn)
    assert calls == []
    assert "thread" in ds.explain() and "append" not in str(ds.element_spec)
    list(ds)
    assert len(calls) == 3


def bump(x):
    global COUNTER
    COUNTER += 1
    return x


def outer_writer():
    count = 0

    def fn(x):
        nonlocal count
        count += 1
        return x

    return fn


def test_native_says_what_refused_it_and_where():
    def fn(x):
        time.sleep(0)
        return x

    with pytest.raises(
        ps.InvalidArgumentError, match=r"calls time\.sleep.*test_trace.py:\d+"
    ):
        ps.Dataset.range(3).map(fn, executor="native")
    line = fn.__code__.co_firstlineno + 1
    assert f"test_trace.py:{line}" in refusal(fn)


def test_refusals_without_a_line_of_their_own_name_one():
    class Model:
        def __call__(self, x):
            return x

        def method(self, x):
            return x

    def raises(x):
        return {}[1] + x

    for fn, code in (
        (Model(), Model.__call__.__code__),
        (Model().method, Model.method.__code__),
    ):
        assert f"(test_trace.py:{code.co_firstlineno})" in refusal(fn)
    with pytest.raises(ps.InvalidArgumentError, match=r"declared.*test_trace.py:\d+"):
        ps.Dataset.range(3).map(
            lambda x: x,
            executor="native",
            output_signature=ps.TensorSpec((), ps.float32),
        )
    line = raises.__code__.co_firstlineno + 1
    assert f"KeyError: 1 (test_trace.py:{line})" in refusal(raises)


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (bump, "writes the global COUNTER"),
        (outer_writer(), "writes the outer variable count"),
        (lambda x: print(x), "calls print"),
        (lambda x: open("/dev/null"), "calls open"),
        (lambda x: np.random.rand(), "np.random"),
        (lambda x: np.save("x", x), "np.save"),
        (lambda x: x if x > 0 else -x, "a branch depends on data"),
        (lambda x: LIST[x], "depends on data"),
        (lambda x: {1: 2}[x], "depends on data"),
        (lambda x: LIST.append(x), "writes into a list"),
        (lambda x: int(x), "makes a Python int"),
        (lambda x: math.sqrt(x), "makes a Python float"),
        (lambda x: f"{x}", "makes text"),
        (lambda x: x.tolist(), ".tolist"),
        (lambda x: [i for i in range(20_000)], "20000 steps"),
        (lambda x: (yield x), "generator"),
        (lambda x: max(x, 3), "a branch depends on data"),
        (lambda x: np.array([1, 2] * x), "repeats a list"),
        (lambda x: np.array(x * (1, 2)), "repeats a list"),
        (lambda x: np.flip(x, 0), "axis 0 is out of bounds"),
        (lambda x: np.fmax(x, 0.5), "which zero"),
        (lambda x: COUNTER.__class__, "result of type"),
    ],
)
def test_refuses(fn, why):
    before = (list(LIST), COUNTER)
    assert why in refusal(fn)
    assert before == (LIST, COUNTER)


def test_refuses_while_try_with_and_attribute_writes():
    def loop(x):
        while True:
            x = x + 1
        return x

    def guarded(x):
        try:
            return x + 1
        except BaseException:
            return x

    def attribute(x):
        calls.flag = 1
        return x

    def context(x):
        with LIST:
            return x + 1

    def imports(x):
        import os

        return x + len(os.sep)

    assert "while loop" in refusal(loop)
    assert "try" in refusal(guarded)
    assert "writes the attribute flag" in refusal(attribute)
    assert "with statement" in refusal(context)
    assert "imports os" in refusal(imports)


def test_refuses_recursion_methods_and_masks():
    def again(x):
        return again(x - 1)

    class Model:
        def __call__(self, x):
            return x

        def method(self, x):
            return x

    assert "calls itself" in refusal(again)
    assert "method" in refusal(Model().method)
    assert "Model" in refusal(Model())
    assert "mask" in refusal(lambda x: x[x > 0], VECTOR)


def test_long_loops_give_up_on_size_and_run_as_python():
    def fn(x):
        for _ in range(9_000):
            x = -x * 2 // 2 + 1
        return x

    assert "10000" in refusal(fn)
    ds = ps.Dataset.range(1).map(fn)
    assert int(next(iter(ds))) == int(fn(np.int64(0)))


def test_python_integers_must_fit():
    spec = ps.TensorSpec((), ps.uint8)
    assert "out of bounds" in refusal(lambda x: x + 300, spec)
    assert "out of bounds" in refusal(lambda x: x < 300, spec)


def test_a_scan_runs_natively_and_knows_its_spec():
    ds = ps.Dataset.range(5).scan(0, lambda s, x: (s + x, (s, x * 2)))
    assert "native" in ds.explain()
    scalar = ps.TensorSpec((), ps.int64)
    assert ds.element_spec == (scalar, scalar)
    slow = ps.Dataset.range(5).scan(0, lambda s, x: (s + int(x), (s, int(x) * 2)))
    assert "native" not in slow.explain()
    assert ds.to_list() == slow.to_list()
    pairs = ps.Dataset.range(4).enumerate()
    ds = pairs.scan(np.float32(1), lambda s, i, x: (s * 2, {"s": s, "sum": i + x}))
    assert "native" in ds.explain()
    assert [(float(e["s"]), int(e["sum"])) for e in ds] == [
        (1.0, 0), (2.0, 2), (4.0, 4), (8.0, 6),
    ]  # fmt: skip


def test_a_scan_whose_state_grows_has_an_open_dimension():
    ds = ps.Dataset.range(4).scan(
        np.zeros(1, np.int64), lambda s, x: (np.concatenate([s, s]), s + x)
    )
    assert "native" in ds.explain()
    assert ds.element_spec == ps.TensorSpec((None,), ps.int64)
    assert [e.tolist() for e in ds] == [[0], [1] * 2, [2] * 4, [3] * 8]


def test_a_scan_is_checked_against_its_signature_when_built():
    ds = ps.Dataset.range(3)
    number = ps.TensorSpec((), ps.int64)
    for wrong in (ps.TensorSpec((), ps.float32), ps.TensorSpec((2,), ps.int64)):
        with pytest.raises(ValueError, match="scan: it gives .*, declared is"):
            ds.scan(0, lambda s, x: (s + x, s), output_signature=wrong)
    with pytest.raises(ValueError, match="scan: it gives"):
        ds.scan(0, lambda s, x: (s, {"a": x}), output_signature={"b": number})
    fits = ds.scan(0, lambda s, x: (s, {"a": x}), output_signature={"a": number})
    assert [int(x["a"]) for x in fits] == [0, 1, 2]
    assert "native" in fits.explain()


def test_a_scan_that_changes_its_state_is_refused_as_by_python():
    ds = ps.Dataset.range(3).scan(0, lambda s, x: (s + 0.5, x))
    assert "native" not in ds.explain()
    with pytest.raises(ps.InvalidArgumentError, match="state"):
        ds.to_list()


def test_a_native_scan_resumes_and_keeps_errors_in_place():
    table = np.array([5, 6, 7])
    ds = ps.Dataset.from_tensor_slices([0, 1, 9, 2]).scan(
        0, lambda s, i: (s + table[i], s)
    )
    assert "native" in ds.explain()
    it = iter(ds)
    assert [next(it), next(it)] == [0, 5]
    with pytest.raises(ps.Error, match="out of bounds"):
        next(it)
    other = ds.iterator(it.state_dict())
    assert [int(x) for x in it] == [int(x) for x in other] == [11]
