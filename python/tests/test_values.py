"""Elements as NumPy values, and what functions may return."""

from __future__ import annotations

import collections
import ctypes
import gc

import numpy as np
import pytest

import penstock as ps

Point = collections.namedtuple("Point", "x y")

NUMBERS = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
    np.uint32, np.uint64, np.float16, np.float32, np.float64,
]  # fmt: skip


def one(value):
    """`value` through a pipeline."""
    (out,) = ps.Dataset.from_tensors(value).to_list()
    return out


def mapped(fn, n=1):
    return ps.Dataset.range(n).map(fn, executor="thread").to_list()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_keep_dtype_and_value(dtype):
    value = dtype(3)
    assert one(value) == value
    assert type(one(value)) is type(value)
    array = np.array([[0, 1], [2, 3]]).astype(dtype)
    assert one(array).dtype == array.dtype
    np.testing.assert_array_equal(one(array), array)
    rows = ps.Dataset.from_tensor_slices(array[0]).to_list()
    assert [type(row) for row in rows] == [dtype, dtype]
    assert mapped(lambda x: array)[0].tolist() == array.tolist()
    assert mapped(lambda x: array[1, 1])[0] == array[1, 1]


def test_bfloat16_is_the_type_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, -2, 3], ml_dtypes.bfloat16)
    ds = ps.Dataset.from_tensor_slices(array)
    assert ds.element_spec == ps.TensorSpec((), ps.bfloat16)
    assert [float(x) for x in ds] == [1.5, -2, 3]
    assert ds.batch(3).to_list()[0].dtype == ml_dtypes.bfloat16


def test_bfloat16_without_ml_dtypes_is_a_view_of_its_bits(run_program):
    run_program("""
        import sys
        sys.modules["ml_dtypes"] = None
        import numpy as np, penstock as ps
        bits = (np.array([1.5, -2], np.float32).view("u4") >> 16).astype("u2")
        array = bits.view([("bfloat16", "<u2")])
        (out,) = ps.Dataset.from_tensors(array).to_list()
        assert ps.Dataset.from_tensors(array).element_spec.dtype == ps.bfloat16
        wide = out["bfloat16"].astype("u4") << 16
        assert wide.view("f4").tolist() == [1.5, -2], out
    """)


def test_python_scalars_take_numpys_types():
    assert one(True) is np.True_
    assert type(one(3)) is np.int64
    assert type(one(2**63)) is np.uint64
    assert type(one(1.5)) is np.float64
    with pytest.raises(ps.InvalidArgumentError, match="64 bits"):
        one(2**70)
    with pytest.raises(ValueError, match="complex128 is not supported"):
        one(1j)


@pytest.mark.parametrize(
    "given, expected",
    [("ä", "ä".encode()), (b"a\0\0", b"a\0\0"), ("", b""), (bytearray(b"x"), b"x")],
)
def test_strings_are_bytes(given, expected):
    assert one(given) == expected
    assert type(one(given)) is bytes
    assert mapped(lambda x: given) == [expected]


def test_arrays_of_strings_are_object_arrays_of_bytes():
    for given in (["a", "bc"], [b"a", b"bc"], np.array(["a", "bc"]),
                  np.array([b"a", b"bc"]), np.array(["a", b"bc"], object)):  # fmt: skip
        out = one(given)
        assert out.dtype == object
        assert out.tolist() == [b"a", b"bc"]
    assert one([[b"a\0"], [b""]]).tolist() == [[b"a\0"], [b""]]
    batch = ps.Dataset.from_list(["x", "yz"]).batch(2).to_list()[0]
    assert batch.tolist() == [b"x", b"yz"]
    with pytest.raises(ps.InvalidArgumentError, match="str or bytes, not int"):
        one(np.array(["a", 1], object))


def test_structures_come_back_as_given():
    value = {"b": (1, None), "a": {"z": "s"}, "p": Point(1, [2, 3])}
    out = one(value)
    assert list(out) == ["b", "a", "p"]
    assert out["b"] == (1, None)
    assert out["a"] == {"z": b"s"}
    assert type(out["p"]) is Point and out["p"].y.tolist() == [2, 3]
    assert mapped(lambda x: Point(x, x))[0] == Point(0, 0)
    assert one(()) == ()
    with pytest.raises(ps.InvalidArgumentError, match="keys of a dict must be str"):
        one({1: 2})


def test_values_with_array_and_dlpack_are_accepted():
    class WithArray:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    class WithDlpack:
        def __dlpack__(self, **kwargs):
            return np.arange(3.0).__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return (1, 0)

    class Index:
        def __index__(self):
            return 7

    assert one(WithArray()).tolist() == [0, 1, 2]
    assert one(WithDlpack()).tolist() == [0, 1, 2]
    assert one(Index()) == 7
    assert mapped(lambda x: [WithArray(), WithArray()])[0].shape == (2, 3)


class Bfloat16:
    """Numbers that NumPy cannot read, as a tensor of another library has them."""

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p),
            ("device", ctypes.c_int32 * 2),
            ("ndim", ctypes.c_int32),
            ("dtype", ctypes.c_uint8 * 4),  # code, bits, lanes
            ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("byte_offset", ctypes.c_uint64),
            ("manager", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p),
        ]

    def __init__(self, bits, shape, strides):
        self.bits = np.array(bits, np.uint16)
        self.kept = (ctypes.c_int64 * 2)(*shape), (ctypes.c_int64 * 2)(*strides)
        self.tensor = self.Tensor(
            self.bits.ctypes.data, (1, 0), 2, (4, 16, 1, 0), *self.kept, 0, None, None
        )

    def __array__(self, dtype=None, copy=None):
        raise TypeError("no NumPy dtype")

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


@pytest.mark.parametrize("executor", ["thread", "process"])
def test_bfloat16_comes_by_dlpack(executor):
    # 1, 2, 3, 4, 5, 6 by rows, transposed.
    bits = [0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0]
    (out,) = (
        ps.Dataset.range(1)
        .map(lambda x: Bfloat16(bits, (3, 2), (1, 3)), executor=executor)
        .to_list()
    )
    assert out.dtype.name == "bfloat16"
    assert out.astype(float).tolist() == [[1, 4], [2, 5], [3, 6]]


def test_lists_of_tuples_and_arrays_of_text_are_arrays():
    assert one([("a", "b"), ("c", "d")]).tolist() == [[b"a", b"b"], [b"c", b"d"]]
    assert one([np.array(["a"]), np.array(["é"])]).tolist() == [[b"a"], [b"\xc3\xa9"]]
    tokens = np.array([b"a\0", b"bb"], object)
    assert one([tokens, tokens]).tolist() == [[b"a\0", b"bb"]] * 2
    with pytest.raises(ps.InvalidArgumentError, match="only str or bytes, not int"):
        one([np.array([1, None], object)])


def test_what_cannot_be_an_element_is_named():
    with pytest.raises(ps.InvalidArgumentError, match="type object cannot"):
        one(object())
    with pytest.raises(ps.InvalidArgumentError, match="datetime64"):
        one(np.zeros(2, "M8[s]"))
    with pytest.raises(ps.InvalidArgumentError, match="a list is no array"):
        one([[1], [2, 3]])
    with pytest.raises(ps.InvalidArgumentError) as info:
        mapped(lambda x: object(), 3)
    assert info.value.stage == "map#1" and info.value.element == "0"
    assert "map#1: element 0:" in str(info.value)


def test_odd_arrays_are_read_right():
    base = np.arange(24).reshape(2, 3, 4)
    for array in (base[:, ::2], base.T, base.astype(">i4"), np.asfortranarray(base),
                  np.broadcast_to(np.int64(3), (2, 2)), base[..., ::-1],
                  np.zeros((0, 3)), np.float32(1) * np.ones(())):  # fmt: skip
        out = one(array)
        np.testing.assert_array_equal(out, array)
        np.testing.assert_array_equal(mapped(lambda x, a=array: a)[0], array)


def test_arrays_live_longer_than_their_iterator():
    it = iter(ps.Dataset.range(100_000).batch(50_000))
    first = next(it)
    it.close()
    del it
    gc.collect()
    junk = [np.full(50_000, 7) for _ in range(20)]
    assert first[0] == 0 and first[-1] == 49_999 and len(junk) == 20


def test_sources_are_not_copied_and_read_only():
    data = np.arange(1 << 16)
    (out,) = ps.Dataset.from_tensors(data).to_list()
    assert np.shares_memory(out, data)
    assert not out.flags.writeable


def test_a_fresh_result_is_writable_and_not_copied():
    addresses = []

    def fresh(x):
        array = np.full(1 << 16, x)
        addresses.append(array.__array_interface__["data"][0])
        return array

    (out,) = mapped(fresh)
    assert out.__array_interface__["data"][0] == addresses[0]
    out[0] = 5


def test_a_result_that_somebody_keeps_is_copied():
    kept = np.zeros(1 << 16)
    (out,) = mapped(lambda x: kept)
    kept[:] = 1
    assert out[0] == 0
    nested = {"a": np.zeros(1 << 16)}
    (out,) = mapped(lambda x: nested)
    nested["a"][:] = 1
    assert out["a"][0] == 0


def test_writing_to_a_writable_batch_changes_nothing_else():
    ds = ps.Dataset.range(64).map(lambda x: np.full(4096, x)).batch(4)
    batches = []
    for i, batch in enumerate(ds):
        assert batch[:, 0].tolist() == list(range(4 * i, 4 * i + 4))
        batches.append(batch)
        if batch.flags.writeable:
            batch[:] = -i
    assert any(batch.flags.writeable for batch in batches)
    for i, batch in enumerate(batches):
        if batch.flags.writeable:
            assert (batch == -i).all()


def test_fresh_arrays_are_writable_wherever_they_lie_in_a_block():
    rows = ps.Dataset.from_tensor_slices(np.zeros((10, 4)))
    for ds in (
        rows.map(lambda x: x + 1),
        ps.Dataset.range(10).batch(4),
        ps.Dataset.range(10).map(lambda x: np.full(5, x), executor="thread"),
        ps.Dataset.range(10).map(lambda x: np.full(5000, x), executor="thread"),
        ps.Dataset.from_list([[1], [2, 3]] * 5).padded_batch(2),
    ):
        arrays = ds.to_list()
        assert all(a.flags.writeable for a in arrays)
        for i, a in enumerate(arrays):
            assert not any(np.shares_memory(a, b) for b in arrays[i + 1 :])
    assert not any(a.flags.writeable for a in rows)


def test_fresh_arrays_are_writable_whatever_shares_their_block():
    def row(x):
        return np.zeros(4) + x

    def python_row(x):
        str(x)
        return np.zeros(4) + x

    def three(x):
        return {"a": np.full((8, 8), x), "n": 1, "b": np.ones(3) + x, "s": "x"}

    for rows in (
        ps.Dataset.range(150).map(row),
        ps.Dataset.range(150).map(python_row, executor="thread"),
        ps.Dataset.range(150).map(python_row, executor="process"),
    ):
        for ds in (
            rows.shuffle(20, seed=1),
            rows.shuffle(20, seed=1).batch(7),
            rows.padded_batch(7),
            rows.batch(4).rebatch(7),
            rows.repeat(2).batch(7),
            rows.filter(lambda x: x[0] % 3 > 0).batch(7),
            ps.Dataset.zip(rows, rows).map(lambda a, b: a),
            rows.cache().batch(7),
            rows.window(5, shift=1).flat_map(lambda w: w.batch(5)),
        ):
            expected = [a.copy() for a in ds]
            for array, was in zip(ds.iterator(), expected):
                assert array.flags.writeable, ds
                if ds.cardinality() > 0 and "shuffle" not in repr(ds):
                    np.testing.assert_array_equal(array, was)
                array[:] = -1  # nobody else sees it
    for executor in ("thread", "process"):
        for fn in (three, lambda x: {"a": np.full(40_000, x), "b": np.ones(30_000)}):
            ds = ps.Dataset.range(60).map(fn, executor=executor)
            for i, element in enumerate(ds):
                assert element["a"].flags.writeable
                assert element["b"].flags.writeable
                assert not np.shares_memory(element["a"], element["b"])
                assert (element["a"] == i).all()
                element["a"][:] = -1
                element["b"][:] = -1


def test_what_a_cache_holds_is_read_only():
    ds = ps.Dataset.range(8).map(lambda x: np.full(4096, x)).batch(4).cache()
    for _ in range(2):
        assert [b.flags.writeable for b in ds] == [False, False]


def test_arrays_export_dlpack():
    (batch,) = ps.Dataset.range(4).map(lambda x: [x, x]).batch(4).to_list()
    np.testing.assert_array_equal(np.from_dlpack(batch), batch)


def test_ragged_values_go_both_ways():
    ds = ps.Dataset.from_list([[1, 2], [3]]).ragged_batch(2)
    (out,) = ds.to_list()
    assert out.values.tolist() == [1, 2, 3]
    assert out.row_splits.tolist() == [0, 2, 3]
    given = ps.Ragged([1, 2, 3], [0, 2, 2, 3])
    assert one(given) == given
    nested = ps.Ragged(np.arange(4), ([0, 1, 3], [0, 2, 2, 4]))
    assert one(nested).to_list() == [[[0, 1]], [[], [2, 3]]]
    with pytest.raises(ps.InvalidArgumentError):
        one(ps.Ragged([1, 2], [0, 5]))


def test_specs_say_what_is_known():
    ds = ps.Dataset.from_tensor_slices(
        {"x": np.zeros((4, 3), np.float32), "s": ["a"] * 4}
    )
    assert ds.element_spec == {
        "x": ps.TensorSpec((3,), ps.float32),
        "s": ps.TensorSpec((), ps.string),
    }
    assert ds.map(lambda d: d, executor="thread").element_spec is ps.UNKNOWN_SPEC
    signature = (ps.TensorSpec((None,), "int32"), {"a": ps.TensorSpec()})
    declared = ds.map(lambda d: d, executor="thread", output_signature=signature)
    assert declared.element_spec == signature
    with pytest.raises(ps.InvalidArgumentError, match="int32"):
        declared.to_list()
    with pytest.raises(TypeError, match="TensorSpec"):
        ds.map(lambda d: d, executor="thread", output_signature=[3])


def test_dtypes_are_numpys():
    assert ps.float32 == np.float32 and np.dtype(ps.float32) == np.float32
    assert ps.float32 != ps.float64 and ps.float32 != "nonsense"
    assert {ps.int8: 1}[np.dtype("int8")] == 1
    assert np.zeros(2, ps.uint8).dtype == np.uint8
    with pytest.raises(TypeError, match="not a dtype"):
        ps.as_dtype("nonsense")


def test_batches_of_long_strings_are_what_they_hold():
    # From 4 MiB on they are copied in another way; bytes of one character or none
    # are shared by all of Python.
    rows = [b"", b"a", bytes(3 << 20), b"b" * (2 << 20), b"\x00", b"cd", b"e" * 70_000]
    for repeats in (1, 20):
        (batch,) = ps.Dataset.from_list(rows * repeats).batch(len(rows) * repeats)
        assert batch.tolist() == rows * repeats
    assert (b"a"[0], len(b"")) == (97, 0)
