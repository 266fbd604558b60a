"""Specs of functions that run as Python, known before anything runs."""

from __future__ import annotations

import numpy as np
import penstock.tf as tf
import pytest

calls: list[int] = []


def test_py_function_has_the_dtypes_of_tout_and_an_unknown_shape():
    ds = tf.data.Dataset.range(3)
    one = ds.map(lambda x: tf.py_function(lambda v: v.numpy() / 2, [x], tf.float32))
    assert one.element_spec == tf.TensorSpec(None, tf.float32)
    assert [float(x) for x in one] == [0.0, 0.5, 1.0]
    two = ds.map(
        lambda x: tf.py_function(lambda v: (v, b"s"), [x], [tf.int64, tf.string])
    )
    assert two.element_spec == (
        tf.TensorSpec(None, tf.int64),
        tf.TensorSpec(None, tf.string),
    )
    named = ds.map(lambda x: {"a": tf.numpy_function(np.exp2, [x], tf.float64), "b": x})
    assert named.element_spec == {
        "a": tf.TensorSpec(None, tf.float64),
        "b": tf.TensorSpec((), tf.int64),
    }
    assert [float(e["a"]) for e in named] == [1.0, 2.0, 4.0]


def test_nothing_of_the_function_runs_when_the_graph_is_built():
    def seen(v):
        while True:
            calls.append(int(v))
            break
        return v

    def load(x):
        def inner(v):
            import math

            print(math.pi, end="")
            return seen(v)

        return tf.py_function(inner, [x], tf.int64)

    ds = tf.data.Dataset.range(3).map(load)
    assert ds.element_spec == tf.TensorSpec(None, tf.int64)
    assert calls == []
    assert [int(x) for x in ds] == [0, 1, 2] == calls


def test_declared_shapes_are_part_of_the_spec():
    def load(x):
        y = tf.py_function(lambda v: np.full((2, 3), v, np.float32), [x], tf.float32)
        y.set_shape((None, 3))
        return y, x

    ds = tf.data.Dataset.range(4).map(load)
    assert ds.element_spec[0] == tf.TensorSpec((None, 3), tf.float32)
    batch = ds.batch(2)
    assert batch.element_spec[0] == tf.TensorSpec((None, None, 3), tf.float32)
    assert next(iter(batch))[0].shape == (2, 2, 3)
    grid = tf.data.Dataset.range(2).map(
        lambda x: tf.reshape(tf.numpy_function(np.square, [[x, x]], tf.int64), (2, 1))
    )
    assert grid.element_spec == tf.TensorSpec((2, 1), tf.int64)
    number = tf.data.Dataset.range(2).map(
        lambda x: tf.ensure_shape(tf.py_function(lambda v: v * 2, [x], tf.int64), [])
    )
    assert number.element_spec == tf.TensorSpec((), tf.int64)
    assert [int(x) for x in number] == [0, 2]


def test_a_value_that_does_not_have_its_declared_shape_is_an_error():
    ds = tf.data.Dataset.range(2).map(
        lambda x: tf.ensure_shape(tf.py_function(lambda v: v, [x], tf.int64), [3])
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        next(iter(ds))


def test_maps_behind_keep_dtypes():
    ds = tf.data.Dataset.range(3).map(
        lambda x: tf.py_function(lambda v: v + 1, [x], tf.int64)
    )
    for fn, dtype, wanted in (
        (lambda y: y * 2, tf.int64, [2, 4, 6]),
        (lambda y: 1 - y, tf.int64, [0, -1, -2]),
        (lambda y: y / 2, tf.float64, [0.5, 1.0, 1.5]),
        (lambda y: tf.cast(y, tf.float32), tf.float32, [1.0, 2.0, 3.0]),
    ):
        behind = ds.map(fn)
        assert behind.element_spec == tf.TensorSpec(None, dtype)
        assert [x.numpy() for x in behind] == wanted
        assert next(iter(behind)).dtype == dtype
    assert ds.batch(2).element_spec == tf.TensorSpec(None, tf.int64)


def test_functions_of_strings():
    ds = tf.data.Dataset.from_tensor_slices(["Ab", "c"])
    lower = ds.map(lambda s: tf.strings.lower(tf.strings.regex_replace(s, "b", "d")))
    assert lower.element_spec == tf.TensorSpec((), tf.string)
    assert [s.numpy() for s in lower] == [b"ad", b"c"]
    bucket = ds.batch(2).map(lambda s: tf.strings.to_hash_bucket_fast(s, 7))
    assert bucket.element_spec == tf.TensorSpec((None,), tf.int64)


TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["the", "cat"], tf.constant([1, 2], tf.int64)),
    -1,
)
NUMBERS = tf.data.Dataset.range(1, 5)
WORDS = tf.data.Dataset.from_tensor_slices(["the cat", "dog", ""])


# Specs as TensorFlow has them; elements are held against them.
@pytest.mark.parametrize(
    ("ds", "fn", "spec"),
    [
        (NUMBERS, lambda x: tf.fill([x], x), ((None,), tf.int64)),
        (NUMBERS, lambda x: tf.fill([x, 2], 1.5), ((None, 2), tf.float32)),
        (NUMBERS, lambda x: tf.fill([x], "a"), ((None,), tf.string)),
        (NUMBERS, lambda x: tf.range(x), ((None,), tf.int64)),
        (NUMBERS, lambda x: tf.range(1, x), ((None,), tf.int64)),
        (NUMBERS, lambda x: tf.range(x, dtype=tf.float32), ((None,), tf.float32)),
        (NUMBERS, lambda x: tf.shape(tf.fill([x], x)), ((1,), tf.int32)),
        (NUMBERS, lambda x: tf.cond(x > 2, lambda: x * 2, lambda: -x), ((), tf.int64)),
        (
            NUMBERS,
            lambda x: tf.cond(x > 2, lambda: tf.range(x), lambda: tf.fill([1], x)),
            ((None,), tf.int64),
        ),
        (NUMBERS, lambda x: tf.strings.as_string(x), ((), tf.string)),
        (
            NUMBERS,
            lambda x: tf.boolean_mask([[1, 2], [3, 4]], [x > 1, x > 2]),
            ((None, 2), tf.int32),
        ),
        (NUMBERS, lambda x: tf.where([x > 1, x > 2]), ((None, 1), tf.int64)),
        (
            NUMBERS,
            lambda x: tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.int64),
            (None, tf.int64),
        ),
        (
            NUMBERS,
            lambda x: tf.debugging.check_numerics(tf.cast(x, tf.float32), "no"),
            ((), tf.float32),
        ),
        (WORDS, lambda s: TABLE.lookup(tf.strings.split(s)), ((None,), tf.int64)),
        (WORDS, TABLE.lookup, ((), tf.int64)),
        (
            WORDS,
            lambda s: tf.strings.split(tf.strings.regex_replace(s, "c", "k")),
            ((None,), tf.string),
        ),
        (NUMBERS, lambda x: "word", ((), tf.string)),
        (WORDS, tf.strings.bytes_split, ((None,), tf.string)),
        (WORDS, lambda s: tf.strings.unicode_decode(s, "UTF-8"), ((None,), tf.int32)),
        (WORDS, lambda s: tf.strings.unicode_split(s, "UTF-8"), ((None,), tf.string)),
    ],
)
def test_functions_that_run_as_python(ds, fn, spec):
    made = ds.map(fn)
    assert made.element_spec == tf.TensorSpec(*spec)
    assert len(list(made)) == int(ds.cardinality())
    assert made.batch(1).element_spec.dtype == spec[1]


def test_what_cannot_be_told_stays_unknown():
    seen = []
    for fn in (
        lambda x: 1.5 if x > 1 else "word",
        lambda x: tf.py_function(lambda v: v, [x], tf.int64)[0],
        lambda x: seen.append(1) or x,
    ):
        spec = tf.data.Dataset.range(3).map(fn).element_spec
        assert spec == tf.TensorSpec(None, "unknown")
    assert seen == []


def _counted(stop):
    yield from range(stop)


def test_the_spec_of_datasets_of_generators_is_known():
    number = tf.TensorSpec((), tf.int32)

    def generated(n):
        return tf.data.Dataset.from_generator(
            _counted, args=(n,), output_signature=number
        )

    ds = tf.data.Dataset.range(3)
    for made in (ds.interleave(generated, cycle_length=2), ds.flat_map(generated)):
        assert made.element_spec == number
        assert [int(x) for x in made] == [0, 0, 1]
    by_types = ds.flat_map(
        lambda n: tf.data.Dataset.from_generator(
            _counted, tf.int32, (), args=(n,)
        ).batch(2)
    )
    assert by_types.element_spec == tf.TensorSpec((None,), tf.int32)
    assert [x.numpy().tolist() for x in by_types] == [[0], [0, 1]]
    mapped = ds.flat_map(lambda n: generated(n).map(lambda x: (x, x)).take(1))
    assert mapped.element_spec == (number, number)


def _longer(state, _):
    return tf.concat([state, [1]], 0)


def test_a_window_that_is_reduced_in_a_map_has_a_dtype():
    windows = tf.data.Dataset.range(6).window(3)
    sums = windows.map(lambda w: w.reduce(np.int64(0), lambda a, b: a + b))
    assert sums.element_spec == tf.TensorSpec((), tf.int64)
    assert [int(x) for x in sums] == [3, 12]
    grown = windows.map(lambda w: w.reduce(tf.constant([0]), _longer))
    assert grown.element_spec == tf.TensorSpec(None, tf.int32)
    batches = windows.map(lambda w: w.batch(3).get_single_element())
    assert batches.element_spec == tf.TensorSpec((None,), tf.int64)
    assert [x.numpy().tolist() for x in batches] == [[0, 1, 2], [3, 4, 5]]


def test_sizes_of_unknown_dimensions_are_scalars():
    ds = tf.data.Dataset.range(3).map(lambda x: tf.range(x))
    sizes = ds.map(lambda x: {"n": tf.size(x), "rows": tf.shape(x)[0]})
    scalar = tf.TensorSpec((), tf.int32)
    assert sizes.element_spec == {"n": scalar, "rows": scalar}
    assert [int(e["n"]) for e in sizes] == [0, 1, 2]


def test_printing_leaves_the_spec_known(capfd):
    def shown(x):
        tf.print(x)
        return x + 1

    ds = tf.data.Dataset.range(2).map(shown)
    assert ds.element_spec == tf.TensorSpec((), tf.int64)
    assert capfd.readouterr().err == ""  # nothing ran for that
    assert [int(x) for x in ds] == [1, 2]
    assert capfd.readouterr().err.split() == ["0", "1"]


SHAPED = {
    "sort": (lambda x: tf.sort(x, direction="DESCENDING"), (4,), tf.float32),
    "cumsum": (lambda x: tf.cumsum(x), (4,), tf.float32),
    "einsum": (lambda x: tf.einsum("i,i->", x, x), (), tf.float32),
    "norm": (lambda x: tf.norm(x), (), tf.float32),
    "top_k": (lambda x: tf.math.top_k(x, 2).indices, (2,), tf.int32),
    "diag": (lambda x: tf.linalg.diag(x), (4, 4), tf.float32),
    "scatter": (lambda x: tf.scatter_nd([[1]], x[:1], [3]), (3,), tf.float32),
    "searchsorted": (lambda x: tf.searchsorted([1.0, 3.0], x), (4,), tf.int32),
    "map_fn": (lambda x: tf.map_fn(lambda v: v * 2, x), (4,), tf.float32),
    "while_loop": (
        lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a), (0, x))[1],
        (4,),
        tf.float32,
    ),
    "case": (
        lambda x: tf.case([(x[0] > 0, lambda: 1)], default=lambda: 2), (), tf.int32,
    ),
    "switch_case": (
        lambda x: tf.switch_case(tf.cast(x[0], tf.int32), [lambda: x, lambda: -x]),
        (4,),
        tf.float32,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPED)
def test_functions_of_known_shapes_have_a_spec(case):
    fn, shape, dtype = SHAPED[case]
    rows = np.arange(8, dtype=np.float32).reshape(2, 4) % 3
    ds = tf.data.Dataset.from_tensor_slices(rows).map(fn)
    assert ds.element_spec == tf.TensorSpec(shape, dtype)
    for made, row in zip(ds, rows):
        expected = tf.convert_to_tensor(fn(tf.constant(row)))
        np.testing.assert_array_equal(made.numpy(), expected.numpy())
        assert made.shape == shape


def test_what_is_computed_from_a_declared_shape_has_one():
    def read(x):
        return np.ones((6, 9, 3), np.float32)

    def loaded(x):
        image = tf.py_function(read, [x], tf.float32)
        image.set_shape((None, None, 3))
        image = tf.image.resize(image, [4, 5]) / 2
        return image, tf.reduce_mean(image, axis=[0, 1])

    ds = tf.data.Dataset.range(2).map(loaded)
    assert ds.element_spec == (
        tf.TensorSpec((4, 5, 3), tf.float32),
        tf.TensorSpec((3,), tf.float32),
    )
    assert [m.numpy().tolist() for _, m in ds] == [[0.5, 0.5, 0.5]] * 2


def test_a_shape_that_depends_on_a_value_is_not_known():
    ds = tf.data.Dataset.range(4).map(lambda x: tf.range(x))
    padded = ds.map(lambda x: tf.pad(x, [[0, 2 * tf.shape(x)[0]]]))
    assert padded.element_spec == tf.TensorSpec((None,), tf.int64)
    assert [len(x) for x in padded] == [0, 3, 6, 9]


IMAGES = tf.data.Dataset.from_generator(
    lambda: [np.arange(48, dtype=np.float32).reshape(8, 6, 1)],
    output_signature=tf.TensorSpec([None, None, 1], tf.float32),
)


def halves(image):
    middle = tf.shape(image)[1] // 2
    return image[:, middle:, :], image[:, :middle, :]


def jittered(image):
    both = tf.stack(halves(image))
    cropped = tf.image.random_crop(both, size=[2, 2, 2, 1])
    if tf.random.uniform(()) > 0.5:
        cropped = tf.image.flip_left_right(cropped)
    return cropped[0]


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda i: halves(i)[0], [None, None, 1]),
        (jittered, [2, 2, 1]),
        (lambda i: tf.image.extract_patches(
            i[None], [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"
        ), [1, None, None, 4]),
        (lambda i: tf.nn.max_pool2d(i[None], 2, 2, "VALID"), [1, None, None, 1]),
        (lambda i: (i - tf.reduce_mean(i)) / tf.math.reduce_std(i), [None, None, 1]),
        (lambda i: tf.math.top_k(i[:, 0, 0], 3).values, [3]),
        (lambda i: tf.signal.frame(i[:, 0, 0], 4, 2), [None, 4]),
        (lambda i: tf.zeros([9] - tf.shape(i)[:2]), [None, None]),
        (lambda i: tf.ones_like(i) * tf.random.gamma([tf.shape(i)[0], 1, 1], 2.0),
         [None, None, 1]),
        (lambda i: tf.pad(i, [[0, 9 - tf.shape(i)[0]], [0, 0], [0, 0]]),
         [None, None, 1]),
        (lambda i: tf.scan(lambda a, x: a + x, i[:, 0, 0]), [None]),
    ],
)  # fmt: skip
def test_specs_of_images_of_unknown_size(function, shape):
    ds = IMAGES.map(function)
    assert ds.element_spec.shape.as_list() == shape
    assert ds.element_spec.dtype == tf.float32
    (made,) = ds
    assert ds.element_spec.is_compatible_with(made)


def test_specs_of_text():
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [1]), default_value=0
    )
    lines = tf.data.Dataset.from_tensor_slices(["a b", "c"]).batch(2)

    def cleaned(text):
        return tf.strings.join(
            ["[", tf.strings.regex_replace(text, "x", ""), "]"], separator=" "
        )

    assert lines.map(cleaned).element_spec == tf.TensorSpec([None], tf.string)

    def shifted(text):
        tokens = table.lookup(tf.strings.split(cleaned(text)))
        return tokens[:, :-1].to_tensor(), tokens[:, 1:], tokens.row_lengths()

    ds = lines.map(shifted)
    assert ds.element_spec == (
        tf.TensorSpec([None, None], tf.int32),
        tf.RaggedTensorSpec([None, None], tf.int32),
        tf.TensorSpec([None], tf.int64),
    )
    ((padded, rest, lengths),) = ds
    assert padded.numpy().tolist() == [[0, 1, 0], [0, 0, 0]]
    assert rest.to_list() == [[1, 0, 0], [0, 0]]
    assert lengths.numpy().tolist() == [4, 3]


@pytest.mark.parametrize(
    ("function", "spec"),
    [
        (lambda x: tf.reduce_sum(x, axis=1), tf.TensorSpec([None], tf.int32)),
        (lambda x: x * 2 + 1, tf.RaggedTensorSpec([None, None], tf.int32)),
        (lambda x: tf.concat([x, x], axis=1), tf.RaggedTensorSpec([None] * 2, "int32")),
        (lambda x: x.row_lengths(), tf.TensorSpec([None], tf.int64)),
        (
            lambda x: x[:, :1].to_tensor(shape=[None, 1]),
            tf.TensorSpec([None, 1], "int32"),
        ),
        (
            lambda x: tf.ragged.map_flat_values(lambda v: tf.cast(v, tf.float32), x),
            tf.RaggedTensorSpec([None, None], tf.float32),
        ),
    ],
)
def test_specs_of_ragged_rows(function, spec):
    rows = tf.ragged.constant([[1, 2], [3], []])
    ds = tf.data.Dataset.from_tensor_slices(rows).batch(2).map(function)
    assert ds.element_spec == spec
    assert len(list(ds)) == 2


def test_functions_that_ask_for_a_kind_of_tensor_are_traced(examples):
    features = {
        "v": tf.io.VarLenFeature(tf.float32),
        "name": tf.io.FixedLenFeature([], tf.string, ""),
    }

    def decoded(record):
        parsed = tf.io.parse_single_example(record, features)
        for key, value in parsed.items():
            if isinstance(value, tf.SparseTensor):
                fill = "" if value.dtype == tf.string else -1.0
                parsed[key] = tf.sparse.to_dense(value, default_value=fill)
            elif value.dtype == tf.string:
                parsed[key] = tf.strings.length(value)
        if isinstance(parsed, (list, tuple)) or not isinstance(parsed["v"], tf.Tensor):
            return {}
        return parsed

    ds = tf.data.TFRecordDataset(examples).map(decoded)
    assert ds.explain().rstrip().endswith("native")
    assert ds.element_spec == {
        "name": tf.TensorSpec((), tf.int32),
        "v": tf.TensorSpec([None], tf.float32),
    }
    assert next(iter(ds.skip(2)))["v"].numpy().tolist() == [0.5, 0.5]
    plain = np.array([1])
    asked = tf.data.Dataset.range(1).map(lambda x: isinstance(plain, tf.Tensor))
    assert [bool(x) for x in asked] == [False]


def test_a_size_of_rows_that_only_the_data_has_is_not_foretold():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []]))
    ds = rows.batch(2).map(lambda x: (x.nrows(), x.shape[0]))
    assert [(int(n), int(size)) for n, size in ds] == [(2, 2), (1, 1)]


def test_random_values_have_a_known_spec_whatever_their_shape_depends_on():
    ds = tf.data.Dataset.range(1, 3)
    specs = {
        "truncated": lambda x: tf.random.truncated_normal([3]),
        "classes": lambda x: tf.random.categorical([[0.0, 1.0]], 3),
        "uniform": lambda x: tf.random.uniform([x + 1], 0, 5, tf.int32),
        "normal": lambda x: tf.random.normal(shape=[2, x], dtype=tf.float64),
        "order": lambda x: tf.random.shuffle(tf.range(x)),
    }
    found = {name: ds.map(fn) for name, fn in specs.items()}
    assert {name: d.element_spec for name, d in found.items()} == {
        "truncated": tf.TensorSpec([3], tf.float32),
        "classes": tf.TensorSpec([1, 3], tf.int64),
        "uniform": tf.TensorSpec([None], tf.int32),
        "normal": tf.TensorSpec([2, None], tf.float64),
        "order": tf.TensorSpec([None], tf.int64),
    }
    for d in found.values():
        assert all(d.element_spec.is_compatible_with(e) for e in d)


@pytest.mark.parametrize(
    "check",
    [
        lambda x: tf.debugging.assert_non_negative(x),
        lambda x: tf.assert_less(x, tf.constant(9, tf.int64), message="small"),
        lambda x: tf.Assert(x < 9, [x]),
        lambda x: tf.debugging.assert_scalar(x),
    ],
)
def test_a_check_inside_a_function_does_not_hide_its_spec(check):
    def checked(x):
        with tf.control_dependencies([check(x)]):
            return tf.identity(x)

    ds = tf.data.Dataset.range(2).map(checked)
    assert ds.element_spec == tf.TensorSpec((), tf.int64)
    assert [int(x) for x in ds] == [0, 1]


def test_specs_of_rows_in_structures_text_and_cut_pictures():
    Dataset = tf.data.Dataset
    pair = Dataset.from_tensors([1.0, 2.0]).map(
        lambda x: tf.map_fn(
            lambda t: t[0] * t[1], (x, x), fn_output_signature="float32"
        )
    )
    assert pair.element_spec == tf.TensorSpec([2], tf.float32)
    numbers = Dataset.from_tensors("1,2,a").map(
        lambda line: tf.strings.to_number(tf.strings.split(line, ",")[:2])
    )
    assert numbers.element_spec == tf.TensorSpec([None], tf.float32)
    assert next(iter(numbers)).numpy().tolist() == [1, 2]
    cut = Dataset.from_tensors((np.ones((8, 8, 3), np.float32), 2)).map(
        lambda image, n: tf.image.pad_to_bounding_box(image[:n], 0, 0, 8, 8)
    )
    assert cut.element_spec == tf.TensorSpec([8, 8, 3], tf.float32)
    assert next(iter(cut)).shape == (8, 8, 3)
    sparse = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])
    rows = Dataset.from_tensor_slices((sparse, [1, 2, 3]))
    dense = rows.map(lambda row, label: (tf.sparse.to_dense(row), label))
    assert dense.element_spec[0] == tf.TensorSpec([None], tf.int32)
    assert [r.numpy().tolist() for r, _ in dense][0] == [1, 0, 0, 0]
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    found = Dataset.from_tensors(["a"]).map(lambda x: table.lookup(x))
    assert found.element_spec == tf.TensorSpec([1], tf.int64)


def test_structures_in_functions_run_natively():
    ds = tf.data.Dataset.from_tensors({"a": 1, "b": (2.0, [3.0])}).map(
        lambda e: tf.nest.map_structure(lambda t: t * 2, e)
    )
    assert ds.element_spec["b"][0] == tf.TensorSpec((), tf.float32)
    assert "native" in ds.explain()
    assert next(iter(ds))["b"][1].numpy().tolist() == [6.0]
    leaves = tf.data.Dataset.from_tensors({"a": 1, "b": 2}).map(
        lambda e: tf.stack(tf.nest.flatten(e))
    )
    assert leaves.element_spec == tf.TensorSpec([2], tf.int32)
