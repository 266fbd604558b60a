"""Values, dtypes and functions of penstock.tf."""

from __future__ import annotations

import pickle
import sys
import timeit

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest

import penstock as ps

Dataset = tf.data.Dataset


def test_numbers_are_numpy_scalars_with_numpy():
    x = next(iter(Dataset.range(5, 6)))
    assert isinstance(x, np.int64)
    assert type(x.numpy()) is np.int64
    assert x + 1 == 6
    assert [10, 20, 30, 40, 50, 60][x] == 60
    assert str(x) == "tf.Tensor(5, shape=(), dtype=int64)"
    assert repr(x) == "<tf.Tensor: shape=(), dtype=int64, numpy=5>"
    assert f"{x:03d}" == "005"
    assert pickle.loads(pickle.dumps(x)) == 5


def test_numbers_are_as_fast_as_numpys():
    def loop(x):
        total = 0
        for i in range(20_000):
            total += i * x
        return total

    ours, theirs = tf.constant(7, tf.int64), np.int64(7)
    fast = min(timeit.repeat(lambda: loop(theirs), number=1, repeat=7))
    mine = min(timeit.repeat(lambda: loop(ours), number=1, repeat=7))
    # An array of rank 0 takes 30 times as long.
    assert mine < 6 * fast


def test_arrays_are_ndarrays_with_numpy():
    batch = next(iter(Dataset.range(4).batch(4)))
    assert isinstance(batch, np.ndarray)
    assert type(batch.numpy()) is np.ndarray
    assert batch.shape.as_list() == [4]
    assert batch[1].numpy() == 1
    assert [x.numpy() for x in batch] == [0, 1, 2, 3]
    assert (batch + 1).numpy().tolist() == [1, 2, 3, 4]
    assert batch.dtype == tf.int64
    assert repr(batch).startswith("<tf.Tensor: shape=(4,), dtype=int64, numpy=array")


def test_strings_are_bytes_with_numpy(tmp_path):
    file = tmp_path / "x"
    file.write_text("hello")
    name = next(iter(Dataset.from_tensor_slices([str(file)])))
    assert isinstance(name, bytes)
    assert type(name.numpy()) is bytes
    with open(name) as stream:
        assert stream.read() == "hello"
    assert tf.constant("a") + "b" == "ab"
    assert tf.constant("a") != "b"


def test_comparing_a_string_gives_a_tensor():
    word, words = tf.constant("dog"), tf.constant(["dog", "cat"])
    names = np.array(["cat", "dog"])
    assert (word == "dog").numpy() is np.True_
    assert tf.cast(word != "dog", tf.int32).numpy() == 0
    for equal in (word == names, names == word):
        assert equal.numpy().tolist() == [False, True]
        assert tf.argmax(equal).numpy() == 1
    assert (word != words).numpy().tolist() == [False, True]
    assert (words == names).numpy().tolist() == [False, False]
    assert (words == ["dog", "x"]).numpy().tolist() == [True, False]
    assert {b"dog": 1}[word] == 1


def test_strings_are_joined_by_plus():
    word, words = tf.constant("a"), tf.constant(["b", "c"])
    assert (words + "!").numpy().tolist() == [b"b!", b"c!"]
    assert ("?" + words).numpy().tolist() == [b"?b", b"?c"]
    assert (word + words).numpy().tolist() == [b"ab", b"ac"]
    assert (words + word).numpy().tolist() == [b"ba", b"ca"]


def test_strings_are_repeated_and_padded():
    assert tf.repeat("a", 2).numpy().tolist() == [b"a", b"a"]
    padded = tf.pad(["a"], [[0, 1]], constant_values="p")
    assert padded.numpy().tolist() == [b"a", b"p"]


def test_an_assignment_with_an_operator_makes_a_new_tensor():
    first = tf.constant([1, 2])
    second = first
    second -= 1
    assert first.numpy().tolist() == [1, 2]
    assert second.numpy().tolist() == [0, 1]
    pixels = tf.constant([51], tf.uint8)
    pixels /= 255
    assert pixels.numpy().tolist() == [np.float32(0.2)]

    def shifted(mask):
        print(end="")
        mask -= 1
        return mask

    masks = Dataset.from_tensors(np.array([[1, 2]], np.uint8)).cache()
    for _ in range(2):
        assert next(iter(masks.map(shifted))).numpy().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (2**40, "int64"),
        (1.5, "float32"),
        (True, "bool"),
        ([1, 2], "int32"),
        ([1, 2.5], "float32"),
        ([1, 2**40], "int64"),
        ([], "float32"),
        ([True, False], "bool"),
        ([np.float64(1)], "float64"),
        (np.arange(3), "int64"),
        (np.float64(2), "float64"),
    ],
)
def test_dtypes_of_python_values(value, dtype):
    assert tf.constant(value).dtype == dtype
    ds = Dataset.from_tensors(value)
    assert ds.element_spec.dtype == dtype
    assert next(iter(ds.map(lambda x: x))).dtype == dtype


def test_small_integers_divide_as_float32():
    pixels = np.array([0, 255], np.uint8)
    native = Dataset.from_tensors(pixels).map(lambda x: x / 255)
    assert "native" in native.explain()

    def python(x):
        print(end="")
        return x / 255

    for ds in (native, Dataset.from_tensors(pixels).map(python)):
        (got,) = list(ds)
        assert got.dtype == np.float32
        assert got.numpy().tolist() == [0.0, 1.0]


def test_functions_give_the_same_traced_and_not():
    functions = [
        lambda x: tf.reduce_mean(tf.stack([x, x + 1])),
        lambda x: tf.one_hot(x, 4),
        lambda x: tf.cast(x, tf.float32) / 3,
        lambda x: tf.pad(tf.stack([x, x]), [[1, 2]]),
        lambda x: tf.tile(tf.stack([x, x * 2]), [2]),
        lambda x: tf.reverse(tf.stack([x, x * 2]), [0]),
        lambda x: tf.where(x > 1, x, -x),
        lambda x: tf.clip_by_value(x, 1, 2),
        lambda x: tf.concat([[x], [7]], 0),
        lambda x: tf.fill([2], x),
        lambda x: tf.nn.softmax(tf.cast(tf.stack([x, x + 1]), tf.float32)),
        lambda x: tf.math.truncatediv(-x, 2),
        lambda x: (tf.shape(tf.stack([x, x])), tf.rank(x), tf.size(x)),
        lambda x: tf.sequence_mask(x, 3),
        lambda x: tf.split(tf.stack([x, x + 1, x + 2]), [1, 2])[1],
        lambda x: tf.roll(tf.stack([x, x + 1, x + 2]), 1, 0),
    ]
    for fn in functions:
        native = Dataset.range(4).map(fn)
        assert "native" in native.explain(), native.explain()

        def python(x, fn=fn):
            print(end="")
            return fn(x)

        plain = Dataset.range(4).map(python)
        assert "thread" in plain.explain()
        for a, b in zip(native, plain):
            for p, q in zip(tf.nest.flatten(a), tf.nest.flatten(b)):
                assert p.dtype == q.dtype
                assert np.shape(p) == np.shape(q)
                assert np.array_equal(p, q)


def test_random_values_are_keyed_to_elements_and_seeds():
    def draw(x):
        return tf.random.uniform((2,))

    ds = Dataset.range(20).map(draw)
    assert len({tuple(v.tolist()) for v in ds.as_numpy_iterator()}) == 20

    def epochs():
        tf.random.set_seed(11)
        ds = Dataset.range(20).map(draw).shuffle(5)
        return [v.tolist() for v in ds.as_numpy_iterator()]

    try:
        assert epochs() == epochs()
    finally:
        tf.random.set_seed(None)
    a = tf.random.stateless_normal((4,), seed=(1, 2))
    assert np.array_equal(a, tf.random.stateless_normal((4,), seed=(1, 2)))
    assert not np.array_equal(a, tf.random.stateless_normal((4,), seed=(1, 3)))


def test_errors_of_py_function_are_of_both_kinds():
    def bad(x):
        raise KeyError("gone")

    def worse(x):
        raise ValueError("wrong")

    for fn, own, theirs in (
        (bad, KeyError, tf.errors.UnknownError),
        (worse, ValueError, tf.errors.InvalidArgumentError),
    ):
        ds = Dataset.range(1).map(lambda x, fn=fn: tf.py_function(fn, [x], tf.float32))
        for kind in (own, theirs):
            with pytest.raises(kind):
                next(iter(ds))


def test_py_function_gives_the_promised_dtypes():
    def parts(x):
        assert x.numpy() == 3
        return x.numpy() * 2, "text", [1.5, 2.5]

    ds = Dataset.range(3, 4).map(
        lambda x: tf.py_function(parts, [x], [tf.int32, tf.string, tf.float32])
    )
    number, text, floats = next(iter(ds))
    assert (number.numpy(), number.dtype) == (6, np.int32)
    assert text.numpy() == b"text"
    assert floats.dtype == np.float32


def test_options_refuse_names_that_do_not_exist():
    options = tf.data.Options()
    with pytest.raises(AttributeError):
        options.determinstic = True
    with pytest.raises(AttributeError):
        options.autotune.cpus = 3


def test_datasets_pickle():
    ds = pickle.loads(pickle.dumps(Dataset.range(4).map(lambda x: x * 2).batch(2)))
    assert [b.numpy().tolist() for b in ds] == [[0, 2], [4, 6]]


def test_functions_run_in_processes_with_the_same_values():
    def work(x):
        total = 0
        for i in range(20_000):
            total += i % 7
        return x * 2, [1, 2], "a"

    ds = Dataset.range(40).map(work, num_parallel_calls=tf.data.AUTOTUNE)
    for i, (x, pair, text) in enumerate(ds):
        assert int(x) == 2 * i
        assert pair.dtype == np.int32
        assert text.numpy() == b"a"


def test_a_name_that_is_not_ours_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    for module, name in ((tf, "keras"), (tf.math, "igamma"), (tf.data, "service")):
        with pytest.raises(AttributeError, match="Install tensorflow"):
            getattr(module, name)


def test_a_name_that_is_not_ours_comes_from_tensorflow(monkeypatch):
    import types

    fake = types.ModuleType("tensorflow")
    fake.math = types.SimpleNamespace(igamma="theirs")
    monkeypatch.setitem(sys.modules, "tensorflow", fake)
    assert tf.math.igamma == "theirs"
    with pytest.raises(AttributeError, match=r"tf\.math\.nothing is neither"):
        _ = tf.math.nothing


def test_signatures_and_shapes():
    spec = tf.TensorSpec([None, 3], tf.float32)
    assert spec.shape.rank == 2
    assert spec.is_compatible_with(np.zeros((5, 3), np.float32))
    assert tf.TensorShape(None).rank is None
    assert tf.TensorShape([2, None]).merge_with([None, 3]).as_list() == [2, 3]
    assert tf.as_dtype("uint8").max == 255


def test_dtypes_have_tensorflows_numbers():
    for dtype in (tf.float32, tf.string, tf.bool, tf.float16, tf.complex128, tf.uint64):
        assert tf.as_dtype(dtype.as_datatype_enum) == dtype
    assert [tf.int64.as_datatype_enum, tf.bfloat16.as_datatype_enum] == [9, 14]
    with pytest.raises(TypeError):
        tf.as_dtype(99)


def test_specs_have_a_common_supertype():
    a = tf.TensorSpec([None, 3], tf.int32, name="a")
    wide = tf.TensorSpec([None, None], tf.int32)
    assert a.most_specific_compatible_type(tf.TensorSpec([2, 4], tf.int32)) == wide
    assert a.most_specific_common_supertype([wide, a]) == wide
    vector = tf.TensorSpec([3], tf.int32)
    unknown = tf.TensorSpec(None, tf.int32)
    assert a.most_specific_compatible_type(vector) == unknown
    rows = tf.RaggedTensorSpec([2, None], tf.int32)
    ragged = tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert rows.most_specific_compatible_type(ragged) == ragged
    for other in (tf.TensorSpec([None, 3], tf.int64), rows):
        assert a.most_specific_common_supertype([other]) is None
        with pytest.raises(ValueError, match="No TypeSpec is compatible"):
            a.most_specific_compatible_type(other)


def test_parsed_lists_are_sparse_tensors():
    def record(ids):
        values = tf.train.Feature(int64_list=tf.train.Int64List(value=ids))
        features = tf.train.Features(feature={"ids": values})
        return tf.train.Example(features=features).SerializeToString()

    records = [record([1, 2]), record([]), record([3])]
    features = {"ids": tf.io.VarLenFeature(tf.int64)}

    def dense(r):
        return tf.sparse.to_dense(tf.io.parse_single_example(r, features)["ids"])

    ds = Dataset.from_tensor_slices(records).map(dense)
    assert "native" in ds.explain()
    assert [x.numpy().tolist() for x in ds] == [[1, 2], [], [3]]
    batch = tf.io.parse_example(records, features)["ids"]
    assert tf.sparse.to_dense(batch).numpy().tolist() == [[1, 2], [0, 0], [3, 0]]
    assert batch.indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0]]


def test_spectra_of_sounds_in_a_pipeline():
    def spectrum(wave):
        made = tf.signal.stft(wave, frame_length=16, frame_step=8)
        mel = tf.signal.linear_to_mel_weight_matrix(4, 9, 8000, 20.0, 4000.0)
        return tf.math.log(tf.matmul(tf.abs(made), mel) + 1e-6)

    tones = [np.sin(np.arange(64) * f).astype(np.float32) for f in (0.3, 1.2, 2.5)]
    ds = tf.data.Dataset.from_tensor_slices(np.stack(tones))
    (batch,) = ds.map(spectrum, num_parallel_calls=tf.data.AUTOTUNE).batch(3)
    assert batch.shape == (3, 7, 4)
    assert batch.dtype == tf.float32
    assert tf.argmax(batch[:, 0], axis=1).numpy().tolist() == [0, 2, 3]


def test_complex_values_know_what_they_are():
    value = tf.complex([1.0, 2.0], [0.5, -0.5])
    assert value.dtype == tf.complex64 == np.complex64
    assert tf.complex64 == "complex64"
    assert value.dtype.is_complex
    assert value.dtype.real_dtype == tf.float32
    assert tf.complex64 != tf.complex128
    assert tf.float32 != tf.complex64
    assert not tf.float32.is_complex
    ds = tf.data.Dataset.range(1).map(lambda x: tf.complex(1.0, 2.0))
    with pytest.raises(Exception, match="complex"):
        list(ds)


def test_parts_around_boxes_follow_the_seed():
    boxes = tf.constant([[[0.1, 0.2, 0.9, 0.8]]])
    sample = tf.image.stateless_sample_distorted_bounding_box

    def part(i):
        return sample(tf.shape(tf.zeros((40, 30, 3))), boxes, seed=[1, i])

    ds = tf.data.Dataset.range(4).map(part)
    assert "native" in ds.explain()
    got = [x[:2] for x in ds]
    assert all(x.dtype == tf.int32 for pair in got for x in pair)
    again = [x[:2] for x in ds]
    plain = [[x.numpy().tolist() for x in pair] for pair in got]
    assert plain == [[x.numpy().tolist() for x in pair] for pair in again]
    assert len({str(p) for p in plain}) == 4
    for (y, x, _), (height, width, depth) in plain:
        assert 0 <= y <= 40 - height
        assert 0 <= x <= 30 - width
        assert depth == -1


def test_a_tensor_array_collects_in_a_function():
    def powers(x):
        rows = tf.TensorArray(tf.int64, size=0, dynamic_size=True)
        for i in range(3):
            rows = rows.write(i, x**i)
        return rows.stack()

    ds = tf.data.Dataset.range(4).map(powers)
    assert [x.numpy().tolist() for x in ds][3] == [1, 3, 9]


def test_ragged_tensors_are_sliced():
    rows = tf.ragged.constant([[1, 2, 3], [], [4]])
    assert rows[:2].to_list() == [[1, 2, 3], []]
    assert rows[::-1].to_list() == [[4], [], [1, 2, 3]]
    assert rows[:, :1].to_list() == [[1], [], [4]]
    assert rows[:, -2:].to_list() == [[2, 3], [], [4]]
    assert rows[0, 1].numpy() == 2
    assert rows[5:].to_list() == []
    deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]])
    assert deep[1:].to_list() == [[], [[4]]]
    assert deep[:, :1].to_list() == [[[1]], [], [[4]]]
    assert deep[0, 1].numpy().tolist() == [2, 3]
    with pytest.raises(ValueError, match="rows differ"):
        rows[:, 0]


def test_ragged_tensors_have_arithmetic():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert (rows + 1).to_list() == [[2, 3], [], [4]]
    assert (10 - rows).to_list() == [[9, 8], [], [7]]
    assert (rows * rows).to_list() == [[1, 4], [], [9]]
    assert (-rows).to_list() == [[-1, -2], [], [-3]]
    assert (rows > 1).to_list() == [[False, True], [], [True]]
    assert (rows + 1).dtype == tf.int32
    with pytest.raises(ValueError, match="different lengths"):
        rows + rows[::-1]


def test_printing_to_a_file(tmp_path):
    for x in (1, 2):
        tf.print("v", x, output_stream=f"file://{tmp_path}/log")
    assert (tmp_path / "log").read_text() == "v 1\nv 2\n"


def test_the_largest_values_have_names():
    assert tf.math.top_k([1, 9, 4], k=2).indices.numpy().tolist() == [1, 2]


def test_specs_name_the_class_of_their_values():
    assert tf.TensorSpec([], tf.int32).value_type is tf.Tensor
    assert tf.RaggedTensorSpec([None, None]).value_type is tf.RaggedTensor
    assert tf.SparseTensorSpec([2]).value_type is tf.SparseTensor


def test_ragged_tensors_are_reduced():
    rows = tf.ragged.constant([[1, 2, 3], [], [4]])
    assert tf.reduce_sum(rows).numpy() == 10
    assert tf.reduce_sum(rows, axis=1).numpy().tolist() == [6, 0, 4]
    assert tf.reduce_sum(rows, axis=-1).dtype == tf.int32
    assert tf.reduce_max(rows, 1).numpy().tolist() == [3, tf.int32.min, 4]
    kept = tf.reduce_prod(rows, 1, keepdims=True)
    assert kept.numpy().tolist() == [[6], [1], [4]]
    mean = tf.reduce_mean(rows, 1).numpy()
    assert mean[[0, 2]].tolist() == [2.0, 4.0]
    assert np.isnan(mean[1])
    deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]])
    assert tf.reduce_sum(deep, axis=2).to_list() == [[1, 5], [], [4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis .* -2 to 1, got 2"):
        tf.reduce_sum(rows, axis=2)


def test_ragged_tensors_are_reduced_across_their_rows():
    rows = tf.ragged.constant([[3, 1, 4], [1, 5], [], [9]])
    assert tf.reduce_sum(rows, axis=0).numpy().tolist() == [13, 6, 4]
    assert tf.reduce_max(rows, -2).numpy().tolist() == [9, 5, 4]
    assert tf.reduce_min(rows, 0, keepdims=True).to_list() == [[1, 1, 4]]
    assert tf.reduce_mean(rows, 0).numpy().tolist() == [13 / 3, 3.0, 4.0]
    assert tf.reduce_sum(rows, axis=[0, 1]).numpy() == 23
    none = tf.ragged.constant([[], []], dtype=tf.int32)
    assert tf.reduce_sum(none, axis=0).numpy().tolist() == []
    deep = tf.ragged.constant([[[1], [2, 3]], [], [[4, 5]]])
    assert tf.reduce_sum(deep, axis=0).to_list() == [[5, 5], [2, 3]]
    assert tf.reduce_sum(deep, axis=1).to_list() == [[3, 3], [], [4, 5]]
    assert tf.reduce_all(deep > 1, axis=(0, 2)).numpy().tolist() == [False, True]
    flat = tf.constant([[1, 2], [3, 4], [5, 6]])
    pairs = tf.RaggedTensor.from_row_lengths(flat, [2, 1])
    assert tf.reduce_sum(pairs, axis=0).numpy().tolist() == [[6, 8], [3, 4]]
    assert tf.reduce_sum(pairs, axis=1).numpy().tolist() == [[4, 6], [5, 6]]


def test_webp_has_frames():
    picture = (np.arange(72) * 3).astype(np.uint8).reshape(4, 6, 3)
    still = ps.image.encode_webp(picture, lossless=True)

    def both(file):
        first = tf.io.decode_image(file, channels=3, expand_animations=False)
        return tf.io.decode_webp(file), tf.io.decode_image(file), first

    for webp, image, first in [
        both(still),
        next(iter(Dataset.from_tensors(still).map(both))),
    ]:
        assert (webp.numpy() == picture[None]).all()
        assert (image.numpy() == picture[None]).all()
        assert (first.numpy() == picture).all()
    spec = Dataset.from_tensors(still).map(tf.io.decode_webp).element_spec
    assert spec.shape.as_list() == [None, None, None, None]
    # Of an animation, two frames of one pixel.
    pixel = ps.image.encode_webp(np.full((1, 1, 3), 200, np.uint8), lossless=True)[12:]

    def chunk(name, body):
        return name + len(body).to_bytes(4, "little") + body + b"\0" * (len(body) % 2)

    frame = chunk(b"ANMF", bytes(12) + b"\x28\0\0\0" + pixel)
    body = b"WEBP" + chunk(b"VP8X", b"\x02" + bytes(9)) + chunk(b"ANIM", bytes(6))
    animated = chunk(b"RIFF", body + frame + frame)
    assert tf.io.decode_webp(animated).shape == (2, 1, 1, 4)
    assert tf.io.decode_image(animated).numpy()[..., :3].tolist() == [[[[200] * 3]]] * 2


def test_decoders_take_files_of_each_other():
    picture = (np.arange(72) * 3).astype(np.uint8).reshape(4, 6, 3)
    png, jpeg = tf.io.encode_png(picture), tf.io.encode_jpeg(picture)
    frame = b",\0\0\0\0\1\0\1\0\0\2\2D\1\0"
    head = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0"
    gif, two = head + frame + b";", head + frame + frame + b";"
    assert (tf.io.decode_jpeg(png).numpy() == picture).all()
    assert tf.io.decode_png(jpeg, dtype=tf.uint16).dtype == tf.uint16
    assert tf.io.decode_png(gif).shape == (1, 1, 3)
    assert tf.io.decode_gif(png).shape == tf.io.decode_gif(jpeg).shape == (1, 4, 6, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 frames"):
        tf.io.decode_jpeg(two)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_bmp(png)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_and_crop_jpeg(png, [0, 0, 1, 1])
    files = Dataset.from_tensor_slices([png.numpy(), jpeg.numpy()])
    small = files.map(lambda x: tf.io.decode_jpeg(x, channels=3))
    small = small.map(lambda x: tf.image.resize(x, (2, 2)))
    assert small.element_spec == tf.TensorSpec((2, 2, 3), tf.float32)
    assert [x.shape for x in small] == [(2, 2, 3)] * 2


def test_ragged_tensors_are_joined():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert tf.concat([rows, rows], 0).to_list() == [[1, 2], [], [3]] * 2
    assert tf.concat([rows, rows], 1).to_list() == [[1, 2, 1, 2], [], [3, 3]]
    dense = tf.constant([[7], [8], [9]])
    assert tf.concat([rows, dense], axis=-1).to_list() == [[1, 2, 7], [8], [3, 9]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rows along axis 0"):
        tf.concat([rows, rows[:1]], 1)


def test_unicode_script():
    points = [ord(c) for c in "a\u03b1\u0416\u4e2d \U0001f600"]
    assert tf.strings.unicode_script(points).numpy().tolist() == [25, 14, 8, 17, 0, 0]
    assert tf.strings.unicode_script(
        [-1, 0xD800, 0x378, 0x10FFFF, 0x110000]
    ).numpy().tolist() == [-1, 103, 103, 103, -1]
    rows = tf.strings.unicode_script(tf.ragged.constant([[97], [32, 97]]))
    assert rows.to_list() == [[25], [0, 25]]


def test_ragged_tensors_of_lists_have_the_dtypes_of_tensorflow():
    ragged = tf.RaggedTensor
    for values, dtype in (
        ([1, 2], tf.int32),
        ([1.5, 2], tf.float32),
        (["a", "b"], tf.string),
        ([True, False], tf.bool),
        (np.array([1, 2]), tf.int64),
        (np.array(["a", "b"]), tf.string),
    ):
        for made in (
            ragged.from_row_splits(values, [0, 2]),
            ragged.from_row_lengths(values, [1, 1]),
            ragged.from_value_rowids(values, [0, 1]),
            ragged.from_row_starts(values, [0]),
            ragged.from_row_limits(values, [2]),
            ragged.from_uniform_row_length(values, 1),
            ragged.from_nested_row_splits(values, [[0, 1], [0, 2]]),
            ragged.from_tensor([values] if isinstance(values, list) else values[None]),
        ):
            assert made.dtype == dtype
            assert made.flat_values.numpy().tolist() == (
                [b"a", b"b"] if dtype == tf.string else list(values)
            )
    assert ragged.from_row_splits([], [0]).dtype == tf.float32


def test_tensors_in_f_strings_are_their_numpy_values():
    assert f"{tf.constant([1.5])}" == "[1.5]"
    assert f"{tf.constant([[1], [2]])}" == "[[1]\n [2]]"
    assert f"{tf.constant(['a'])}" == "[b'a']"
    assert f"{tf.constant(1.5)} {tf.constant('a')}" == "1.5 b'a'"
    assert str(tf.constant([1])) == "tf.Tensor([1], shape=(1,), dtype=int32)"
