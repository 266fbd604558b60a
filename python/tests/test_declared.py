"""Values without a dtype of their own: they become what was declared, or what
they meet."""

import time

import numpy as np
import pytest

import penstock as ps

R = ps.Dataset
EXECUTORS = ("thread", "process")


def spec(shape=(), dtype=ps.float32):
    return ps.TensorSpec(shape, dtype)


def made(value):
    """A function that gives `value` and is not traced."""

    def fn(x):
        time.time()
        return value

    return fn


CASES = [
    (1.5, spec(), np.float32(1.5)),
    (2, spec(), np.float32(2)),
    (3, spec((), ps.int32), np.int32(3)),
    (200, spec((), ps.uint8), np.uint8(200)),
    (0.5, spec((), ps.float16), np.float16(0.5)),
    ([1.0, 2.0], spec((2,)), np.array([1, 2], np.float32)),
    ([1, 2], spec((None,)), np.array([1, 2], np.float32)),
    ([[1], [2]], spec((2, 1), ps.int16), np.array([[1], [2]], np.int16)),
    ([], spec((None,), ps.int32), np.array([], np.int32)),
    ([], spec((None,), ps.string), np.array([], object)),
]


@pytest.mark.parametrize("value, signature, expected", CASES)
def test_python_values_of_a_generator_become_what_is_declared(
    value, signature, expected
):
    (got,) = R.from_generator(lambda: iter([value]), signature).to_list()
    assert np.asarray(got).dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_python_results_become_what_is_declared(executor):
    values = tuple(value for value, _, _ in CASES)
    signature = tuple(declared for _, declared, _ in CASES)
    ds = R.range(1).map(made(values), executor=executor, output_signature=signature)
    (got,) = ds.to_list()
    for one, (_, _, expected) in zip(got, CASES):
        assert np.asarray(one).dtype == expected.dtype
        np.testing.assert_array_equal(one, expected)


def test_python_items_of_an_indexable_become_what_is_declared():
    ds = R.from_indexable([{"x": 1, "y": [1.0]}], {"x": spec(), "y": spec((1,))})
    assert ds[0]["x"].dtype == np.float32 and ds[0]["y"].dtype == np.float32


@pytest.mark.parametrize(
    "value, signature",
    [
        (1.5, spec((), ps.int32)),  # would be cut
        (300, spec((), ps.uint8)),
        (1, spec((), ps.bool)),
        ([1.5], spec((1,), ps.int64)),
        ([300], spec((1,), ps.uint8)),
        (np.float64(1.5), spec()),  # has a dtype
        (np.array([1.0]), spec((1,))),
        ("1", spec()),
    ],
)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_does_not_fit_is_refused_as_before(value, signature, executor):
    ds = R.range(1).map(made(value), executor=executor, output_signature=signature)
    with pytest.raises(ps.InvalidArgumentError, match="map#1: element 0"):
        ds.to_list()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_order_of_keys_is_that_of_the_signature(executor):
    signature = {"a": spec(), "b": (spec((), ps.int64), {"c": spec(), "d": spec()})}
    ds = R.range(1).map(
        made({"b": (1, {"d": 4.0, "c": 3.0}), "a": 2.0}),
        executor=executor,
        output_signature=signature,
    )
    (got,) = ds.to_list()
    assert list(got) == ["a", "b"] and list(got["b"][1]) == ["c", "d"]
    assert (got["a"], got["b"][0], got["b"][1]["c"]) == (2, 1, 3)


def test_dicts_whose_keys_come_in_another_order_are_equal():
    items = [{"b": 1, "a": 2.5}, {"a": 3.5, "b": 4}]
    for ds in (
        R.from_list(items),
        R.from_generator(lambda: iter(items)),
        R.from_indexable(items),
        R.range(2).map(lambda i: items[int(i)]),
    ):
        for batches in (ds.batch(2), ds.padded_batch(2), ds.ragged_batch(2)):
            (batch,) = batches.to_list()
            assert batch["a"].tolist() == [2.5, 3.5]
            assert batch["b"].tolist() == [1, 4]


def test_empty_lists_of_a_list_have_the_dtype_of_the_others():
    ds = R.from_list([[], [1], [2, 3]])
    assert ds.element_spec.dtype == ps.int64
    assert [x.tolist() for x in ds] == [[], [1], [2, 3]]
    assert all(x.dtype == np.int64 for x in ds)
    words = R.from_list([{"w": []}, {"w": ["a"]}])
    assert [x["w"].tolist() for x in words] == [[], [b"a"]]
    assert R.from_list([[], []]).element_spec.dtype == ps.float64


def test_from_list_does_not_copy_large_bytes():
    data = [bytes(64 << 20) for _ in range(3)]

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = resident()
    ds = R.from_list(data)
    assert resident() - before < 32 << 20
    del data
    assert [len(x) for x in ds] == [64 << 20] * 3


def test_numbers_beside_text_make_no_list():
    for value in ([1, "a"], ["a", 1]):
        with pytest.raises(ps.InvalidArgumentError):
            R.from_list([value])


@pytest.mark.parametrize(
    "dtype, value",
    [
        (np.float32, -1),
        (np.float32, 0.1),
        (np.float64, 7),
        (np.int32, -1),
        (np.uint8, 255),
        (np.float16, 1.0),
    ],
)
def test_padding_is_a_number_of_the_dtype_it_meets(dtype, value):
    rows = [np.zeros(1, dtype), np.zeros(2, dtype)]
    expected = np.array([[0, value], [0, 0]], dtype)
    for ds in (R.from_list(rows), R.from_generator(lambda: iter(rows))):
        (batch,) = ds.padded_batch(2, padding_values=value).to_list()
        assert batch.dtype == dtype
        np.testing.assert_array_equal(batch, expected)
        ((packed, _, _),) = R.from_list(rows).pack(4, padding_values=value).to_list()
        np.testing.assert_array_equal(packed, np.array([0, 0, 0, value], dtype))


@pytest.mark.parametrize("dtype, value", [(np.int32, 1.5), (np.uint8, -1), (bool, 1)])
def test_padding_that_would_be_another_value_is_refused(dtype, value):
    rows = [np.zeros(1, dtype), np.zeros(2, dtype)]
    with pytest.raises(ps.InvalidArgumentError, match="padding_values"):
        R.from_list(rows).padded_batch(2, padding_values=value)
    unknown = R.from_generator(lambda: iter(rows))
    with pytest.raises(ps.InvalidArgumentError, match="padding_values"):
        unknown.padded_batch(2, padding_values=value).to_list()


def nested(known):
    items = [
        {"b": [1], "a": ([2.0, 3.0], [[4]])},
        {"a": ([2.0], [[4, 5]]), "b": [1, 1]},
    ]
    return R.from_list(items) if known else R.from_generator(lambda: iter(items))


@pytest.mark.parametrize("known", [True, False])
def test_one_padding_value_stands_for_a_whole_component(known):
    ds = nested(known)
    (all_alike,) = ds.padded_batch(2, padding_values=-1).to_list()
    assert all_alike["b"].tolist() == [[1, -1], [1, 1]]
    assert all_alike["a"][0].tolist() == [[2, 3], [2, -1]]
    (by_key,) = ds.padded_batch(2, padding_values={"a": -1, "b": -2}).to_list()
    assert by_key["b"].tolist() == [[1, -2], [1, 1]]
    assert by_key["a"][0].tolist() == [[2, 3], [2, -1]]
    assert by_key["a"][1].tolist() == [[[4, -1]], [[4, 5]]]
    (leaves,) = ds.padded_batch(2, padding_values={"a": (7, 8), "b": 9}).to_list()
    assert leaves["b"].tolist() == [[1, 9], [1, 1]]
    assert leaves["a"][0].tolist() == [[2, 3], [2, 7]]
    assert leaves["a"][1].tolist() == [[[4, 8]], [[4, 5]]]


@pytest.mark.parametrize("known", [True, False])
def test_padded_shapes_go_by_key(known):
    shapes = {"a": ([4], [1, None]), "b": [3]}
    (batch,) = nested(known).padded_batch(2, padded_shapes=shapes).to_list()
    assert batch["a"][0].shape == (2, 4)
    assert batch["a"][1].shape == (2, 1, 2)
    assert batch["b"].shape == (2, 3)
    buckets = nested(known).bucket_by_sequence_length(
        lambda d: len(d["b"]), [9], [2, 2], shapes, {"a": -1, "b": -2}
    )
    (batch,) = buckets.to_list()
    assert batch["b"].tolist() == [[1, -2, -2], [1, 1, -2]]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "values", [{"a": 1}, {"a": 1, "c": 2}, (1, 2), {"a": (1, 2, 3), "b": 1}]
)
def test_padding_that_nests_otherwise_is_refused(known, values):
    with pytest.raises((ps.Error, TypeError), match="padding_values must"):
        nested(known).padded_batch(2, padding_values=values).to_list()


def test_a_replacement_is_a_number_of_the_dtype_it_meets():
    def inverse(x):
        return np.float32(1 // int(x))

    ds = R.range(3).map(
        inverse, output_signature=spec(), on_error=ps.Replace(-1), executor="thread"
    )
    assert [x.dtype for x in ds] == [np.float32] * 3
    assert [float(x) for x in ds] == [-1, 1, 0]


def test_the_state_of_a_scan_and_a_reduction_keeps_its_dtype():
    ds = R.range(3).scan(np.float32(0), lambda s, x: (float(s) + 0.5, s))
    assert [x.dtype for x in ds] == [np.float32] * 3
    last = R.range(4).reduce(np.int32(0), lambda s, x: int(s) + 1)
    assert last == 4 and last.dtype == np.int32
