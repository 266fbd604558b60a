"""Arithmetic on numbers gives numbers with `.numpy()`, at NumPy's speed."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import resource
import time

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

KINDS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
BITS = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def is_number(x, dtype):
    return (
        type(x).__module__ == "penstock.tf._values"
        and x.shape.rank == 0
        and x.dtype == dtype
        and type(x.numpy()) is np.dtype(dtype).type
        and tf.is_tensor(x)
        and isinstance(x, tf.Tensor)
    )


@pytest.mark.parametrize("kind", KINDS.split())
def test_operators_keep_the_kind(kind):
    x, y = tf.constant(7, kind), tf.constant(2, kind)
    plain_x, plain_y = (np.dtype(kind).type(v) for v in (7, 2))
    for name, op in BINARY.items():
        for got in (op(x, y), op(x, 2), op(x, plain_y), op(plain_x, y), op(7, y)):
            assert is_number(got, kind), (name, type(got))
            assert got.numpy() == op(plain_x, plain_y), name
    if "int" in kind:
        for name, op in BITS.items():
            assert is_number(op(x, y), kind), name
            assert op(x, y).numpy() == op(plain_x, plain_y), name
        assert is_number(~x, kind)
        assert (~x).numpy() == ~plain_x
    assert is_number(abs(x), kind)
    if not kind.startswith("u"):
        assert is_number(-y, kind)
    assert is_number(+x, kind)


@pytest.mark.parametrize("kind", KINDS.split())
def test_comparisons_give_truth_values(kind):
    x = tf.constant(7, kind)
    for got, expected in (
        (x < 8, True), (x <= 7, True), (x > 8, False),
        (x >= 8, False), (x == 7, True), (x != 7, False), (3 < x, True),
    ):  # fmt: skip
        assert isinstance(got, tf.Tensor)
        assert got.dtype == tf.bool
        assert got.shape == ()
        assert got.numpy() == np.bool_(expected)
        assert bool(got) is expected
    assert (x == "seven").numpy() == np.False_
    assert {x: 1}[7] == 1


def test_division_as_tensorflow_divides():
    assert is_number(tf.constant(7) / 2, "float64")
    assert is_number(tf.constant(7, tf.int64) / tf.constant(2, tf.int64), "float64")
    assert is_number(tf.constant(7, tf.uint8) / 2, "float32")
    assert is_number(2 / tf.constant(7, tf.int16), "float32")
    assert is_number(tf.constant(7.0) / 2, "float32")


def test_numbers_meet_arrays_and_other_kinds():
    x = tf.constant(3)
    for got in (
        x * tf.constant([1, 2]), tf.constant([1, 2]) * x,
        x * np.array([1, 2], np.int32), np.array([1, 2], np.int32) * x,
    ):  # fmt: skip
        assert isinstance(got, tf.Tensor)
        assert got.numpy().tolist() == [3, 6]
        assert got.dtype == tf.int32
    # What is no tensor takes the tensor's dtype.
    assert is_number(x + np.int64(4), "int32")
    assert is_number(np.int64(4) + x, "int32")
    assert is_number(x + tf.constant(4, tf.int64), "int64")
    assert is_number(np.float64(2) * tf.constant(1.5), "float32")
    with pytest.raises(TypeError):
        x + object()

    class Left:
        def __radd__(self, other):
            return "mine"

    assert x + Left() == "mine"


# (dtype of the tensor, the other operand, dtype of sums and products)
OPERANDS = [
    ("float32", [0.5, 1.5], "float32"),
    ("float32", (1, 2), "float32"),
    ("float32", np.array([0.5, 1.5]), "float32"),
    ("float32", np.array([1, 2]), "float32"),
    ("float16", [0.5, 1.5], "float16"),
    ("float64", [0.5, 1.5], "float64"),
    ("float64", np.array([1, 2], np.float32), "float64"),
    ("int32", [1, 2], "int32"),
    ("int32", np.array([1, 2]), "int32"),
    ("int64", np.array([1, 2], np.int32), "int64"),
    ("uint8", [1, 2], "uint8"),
    ("uint8", np.array([1, 2]), "uint8"),
]


@pytest.mark.parametrize(("kind", "other", "made"), OPERANDS)
def test_what_is_no_tensor_takes_the_dtype_of_one(kind, other, made):
    for tensor in (tf.constant([1, 2], kind), tf.constant(2, kind)):
        for got in (tensor + other, other - tensor, tensor * other, tensor % other):
            assert isinstance(got, tf.Tensor)
            assert got.dtype == tf.as_dtype(made)
        expected = np.asarray(tensor, made) * np.asarray(other).astype(made)
        assert (tensor * other).numpy().tolist() == expected.tolist()
        assert (other * tensor).numpy().tolist() == expected.tolist()
        quotient = "float32" if kind == "uint8" else "float64"
        quotient = made if "float" in made else quotient
        assert (tensor / other).dtype == tf.as_dtype(quotient)
        assert (tensor < other).dtype == tf.bool


@pytest.mark.parametrize(("kind", "other", "made"), OPERANDS)
def test_traced_functions_give_operands_the_same_dtypes(kind, other, made):
    ds = tf.data.Dataset.from_tensors(np.array([1, 2], kind))
    for fn in (lambda x: x * other, lambda x: tf.multiply(x, other)):
        made_ds = ds.map(fn)
        assert made_ds.element_spec.dtype == tf.as_dtype(made)
        got = next(iter(made_ds))
        assert got.numpy().tolist() == fn(tf.constant([1, 2], kind)).numpy().tolist()
        assert got.dtype == tf.as_dtype(made)


def test_pixels_keep_float32_through_a_normalisation_by_lists():
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    images = np.full((2, 4, 4, 3), 51, np.uint8)

    def normalised(image):
        return (tf.cast(image, tf.float32) / 255.0 - mean) / std

    ds = tf.data.Dataset.from_tensor_slices(images).map(normalised)
    assert ds.element_spec == tf.TensorSpec((4, 4, 3), tf.float32)
    assert normalised(images[0]).dtype == tf.float32
    pixel = next(iter(ds)).numpy()[0, 0]
    np.testing.assert_allclose(pixel, [-1.244541, -1.142857, -0.915556], rtol=1e-5)


def test_floats_stay_floats_beside_integers():
    assert (tf.constant([1, 2]) + np.array([0.5, 0.5])).numpy().tolist() == [1.5, 2.5]
    assert (tf.constant(1) + np.float64(0.5)).numpy() == 1.5


def test_tensors_of_shapes_that_do_not_fit_are_not_equal():
    assert (tf.constant([1, 2]) == [1, 2, 3]).numpy() == np.False_
    assert (tf.constant([1, 2]) != [1, 2, 3]).numpy() == np.True_


def test_they_are_what_python_takes():
    x = tf.constant(3) + 1
    assert [0, 1, 2, 3, 4][x] == 4
    assert list(range(x)) == [0, 1, 2, 3]
    assert int(x) == 4
    assert float(x) == 4.0
    assert f"{x:03d}" == "004"
    assert hash(x) == hash(4)
    assert str(x) == "tf.Tensor(4, shape=(), dtype=int32)"
    for copied in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert is_number(copied, "int32")
        assert copied == 4
    np.testing.assert_allclose(x, 4)
    np.testing.assert_array_equal(tf.constant([1, 2]), [1, 2])


def test_the_dtype_is_tensorflows():
    for x in (tf.constant(1.5), tf.constant([1.5]), tf.constant(1.5) * 2):
        assert x.dtype is tf.float32
        assert x.dtype.is_floating
        assert x.dtype.as_numpy_dtype is np.float32
        assert x.numpy().astype(x.dtype).dtype == np.float32
    assert tf.constant("a").dtype is tf.string
    assert tf.constant([3], tf.uint8).dtype.max == 255
    assert tf.cast(2, tf.constant(1.0).dtype).dtype == tf.float32


def test_a_loop_leaks_nothing():
    x = tf.constant(3, tf.int64)
    total = tf.constant(0, tf.int64)

    def loop(n):
        result = total
        for _ in range(n):
            result = (result + x * 2) % 1000
            assert result >= 0
        return result

    loop(1000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loop(300_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000  # kB


def test_a_loop_is_about_as_fast_as_numpys():
    def loop(x, total):
        started = time.perf_counter()
        for i in range(60_000):
            total += i * x
        return time.perf_counter() - started

    ours = theirs = float("inf")
    for _ in range(7):
        theirs = min(theirs, loop(np.int64(3), 0))
        ours = min(ours, loop(tf.constant(3, tf.int64), 0))
    assert ours < 6 * theirs, (ours, theirs)  # a 0-d array takes 30 times as long


def test_division_by_zero_keeps_the_dtype():
    made = tf.math.divide_no_nan(tf.constant([1.0, 3.0]), [0.0, 2.0])
    assert made.numpy().tolist() == [0.0, 1.5]
    assert made.dtype == tf.float32
    assert tf.math.divide_no_nan(1.0, 0.0).dtype == tf.float32


def test_python_numbers_meet_as_float32():
    assert tf.where(True, 1.5, 2).dtype == tf.float32
    assert tf.where([True], [1], [2.5]).dtype == tf.float32
    assert tf.maximum(1, 2.5).dtype == tf.float32
    assert tf.add(1, 2).dtype == tf.int32
    ds = tf.data.Dataset.range(2).map(lambda x: tf.where(x > 0, 1.5, 2))
    assert ds.element_spec.dtype == tf.float32
    assert [float(x) for x in ds] == [2, 1.5]


def test_bits_of_another_size_are_a_dimension():
    halves = tf.bitcast(tf.constant([1, 256], tf.int16), tf.uint8)
    assert halves.numpy().tolist() == [[1, 0], [0, 1]]
    assert tf.bitcast(halves, tf.int16).numpy().tolist() == [1, 256]
    assert tf.bitcast(tf.constant(1.0), tf.int32).numpy() == 0x3F800000
    with pytest.raises(tf.errors.InvalidArgumentError, match="last dimension"):
        tf.bitcast(halves, tf.int32)


def test_counts_of_each_row():
    rows = [[0, 1, 1], [3, 1, 9]]
    expected = [[1, 2, 0, 0], [0, 1, 0, 1]]
    made = tf.math.bincount(rows, maxlength=4, axis=-1)
    assert made.numpy().tolist() == expected
    seen = tf.math.bincount(rows, maxlength=4, axis=-1, binary_output=True)
    assert seen.numpy().tolist() == [[1, 1, 0, 0], [0, 1, 0, 1]]
    assert tf.math.bincount(rows, minlength=3, maxlength=4).numpy().tolist() == [
        1,
        3,
        0,
        1,
    ]
    weighted = tf.math.bincount([1, 1, 2], weights=[0.5, 0.5, 1.0])
    assert weighted.dtype == tf.float32
    assert weighted.numpy().tolist() == [0, 1, 1]
    ragged = tf.ragged.constant([[1, 1], [], [0]])
    assert tf.math.bincount(ragged, axis=-1).numpy().tolist() == [
        [0, 2],
        [0, 0],
        [1, 0],
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
        tf.math.bincount([-1])


def test_places_in_each_sorted_row():
    places = tf.searchsorted([[1.0, 2.0], [3.0, 4.0]], [[1.5], [9.0]])
    assert places.numpy().tolist() == [[1], [2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="leading"):
        tf.searchsorted([[1.0], [2.0]], [[1.0]])


def test_strings_are_padded_with_strings():
    padded = tf.pad(["a"], [[1, 1]], constant_values="z").numpy()
    assert padded.tolist() == [b"z", b"a", b"z"]
    assert {type(s) for s in tf.pad(["a"], [[0, 2]]).numpy()} == {bytes}
    assert tf.strings.as_string("x").numpy() == b"x"


def test_what_is_no_tensor_is_refused():
    for wrong in (None, {"a": 1}):
        with pytest.raises(ValueError, match="unsupported type"):
            tf.constant(wrong)


def test_nests_that_differ_are_refused():
    with pytest.raises(ValueError, match="same nested structure"):
        tf.nest.map_structure(lambda a, b: a, [1], [1, 2])
    assert tf.nest.flatten({"b": None, "a": [1]}) == [1, None]
    assert tf.nest.map_structure(lambda x: x is None, [None, 2]) == [True, False]


def test_fingerprints_are_those_of_tensorflow():
    words = tf.fingerprint(["a", "bc"]).numpy()
    assert words[0].tolist() == [227, 117, 223, 182, 101, 66, 69, 179]
    numbers = tf.fingerprint([[1, 2], [3, 4]]).numpy()
    assert numbers.shape == (2, 8)
    assert numbers.dtype == np.uint8
    several = tf.fingerprint([["a", "b"]]).numpy()
    parts = tf.fingerprint(["a", "b"]).numpy()
    assert (several == tf.fingerprint([parts.tobytes()]).numpy()).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        tf.fingerprint("a")


def test_matrices_are_taken_apart():
    x = tf.constant([[2.0, 1.0], [0.0, 3.0]])
    s, u, v = tf.linalg.svd(x)
    again = tf.matmul(u * s, v, transpose_b=True)
    np.testing.assert_allclose(again, x, atol=1e-6)
    np.testing.assert_allclose(tf.linalg.svd(x, compute_uv=False), s)
    values, vectors = tf.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(values, [1, 3], atol=1e-6)
    np.testing.assert_allclose(abs(vectors.numpy()), np.full((2, 2), 0.5**0.5), 1e-5)
    q, r = tf.linalg.qr(x)
    np.testing.assert_allclose(tf.matmul(q, r), x, atol=1e-6)
    solved = tf.linalg.solve(x, [[4.0], [6.0]])
    assert solved.dtype == tf.float32
    np.testing.assert_allclose(solved, [[1], [2]], atol=1e-6)
    np.testing.assert_allclose(tf.linalg.pinv([[2.0], [0.0]]), [[0.5, 0]], atol=1e-6)
    assert int(tf.linalg.matrix_rank([[1.0, 1.0], [1.0, 1.0]])) == 1
    assert tf.linalg.tensor_diag([1, 2]).numpy().tolist() == [[1, 0], [0, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="invertible"):
        tf.linalg.solve([[0.0]], [[1.0]])


def test_gradients_are_clipped_together():
    clipped, norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0]), None], 2.0)
    np.testing.assert_allclose(clipped[0], [1.2, 1.6], 1e-6)
    assert clipped[1] is None
    assert float(norm) == 5
    same, _ = tf.clip_by_global_norm([tf.constant([3.0])], 20.0)
    assert float(same[0][0]) == 3


def test_spectra_give_their_signal_back():
    signal = tf.range(64, dtype=tf.float32)
    spectra = tf.signal.stft(signal, 16, 8)
    window = tf.signal.inverse_stft_window_fn(8)
    back = tf.signal.inverse_stft(spectra, 16, 8, window_fn=window)
    np.testing.assert_allclose(back[8:-8], signal[8:-8], atol=1e-3)
    frames = tf.ones([2, 3, 4])
    added = tf.signal.overlap_and_add(frames, 2)
    assert added.numpy().tolist() == [[1, 1, 2, 2, 2, 2, 1, 1]] * 2
    shifted = tf.signal.fftshift([1, 2, 3])
    assert shifted.numpy().tolist() == [3, 1, 2]
    assert tf.signal.ifftshift(shifted).numpy().tolist() == [1, 2, 3]


def test_layers_without_weights():
    table = tf.constant([[3.0, 4.0], [1.0, 0.0]])
    rows = tf.nn.embedding_lookup(table, [[0]], max_norm=1.0)
    np.testing.assert_allclose(rows, [[[0.6, 0.8]]], 1e-6)
    assert tf.nn.bias_add(tf.zeros([1, 2]), [1.0, 2.0]).numpy().tolist() == [[1, 2]]
    channels = tf.nn.bias_add(tf.zeros([1, 2, 1]), [1.0, 2.0], data_format="NCW")
    assert channels.numpy().tolist() == [[[1], [2]]]
    np.testing.assert_allclose(tf.nn.elu([-1.0, 2.0]), [np.expm1(-1), 2], 1e-6)
    np.testing.assert_allclose(tf.nn.silu([1.0]), [0.7310586], 1e-6)
    ds = tf.data.Dataset.from_tensors([1.0]).map(tf.nn.silu)
    assert ds.explain().rstrip().endswith("native")
