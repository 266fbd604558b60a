"""Random pipelines, built the same way on any module that is called `tf`.

`describe(seed)` chooses a source and steps; `build(tf, steps)` builds them. A
step is (name, numbers), so that what differs can be printed and tried again.
The kind of the elements says which steps fit:

    i  a scalar int64     f  a scalar float32     g  a scalar float64
    s  a scalar string    v  int64 of any length  w  strings of any length
    b  int64 [n]          c  float32 [n]          m  float32 [n, m]
    t  (int64, float32)   d  {"a": int64, "b": float32}
"""

from __future__ import annotations

import random

STEPS = {}


def step(kinds, result=None, weight=1):
    """Registers a step for elements of `kinds`; they become `result`."""

    def register(fn):
        for kind in kinds:
            entry = (fn.__name__, result or kind)
            STEPS.setdefault(kind, []).extend([entry] * weight)
        FUNCTIONS[fn.__name__] = fn
        return fn

    return register


FUNCTIONS = {}
SOURCES = {}
ALL = "ifgsvwbcmtd"


def source(kind):
    def register(fn):
        SOURCES[fn.__name__] = (kind, fn)
        return fn

    return register


# --- sources ------------------------------------------------------------------


@source("i")
def numbers(tf, p):
    return tf.data.Dataset.range(p[0] % 5, p[1] % 30, 1 + p[2] % 3)


@source("i")
def backwards(tf, p):
    return tf.data.Dataset.range(p[0] % 20, -(p[1] % 10), -1 - p[2] % 2)


@source("i")
def slices(tf, p):
    values = [(p[0] + i * p[1]) % 17 - 8 for i in range(p[2] % 20)]
    return tf.data.Dataset.from_tensor_slices(tf.constant(values, tf.int64))


@source("f")
def floats(tf, p):
    values = [(p[0] + i * p[1]) % 23 / 4 - 2 for i in range(1 + p[2] % 20)]
    return tf.data.Dataset.from_tensor_slices(values)


@source("s")
def words(tf, p):
    texts = ["a b c", "", "Penstock", "x,y", "  z ", "12", "-7", "\u00e9"]
    chosen = [texts[(p[0] + i * p[1]) % len(texts)] for i in range(1 + p[2] % 12)]
    return tf.data.Dataset.from_tensor_slices(chosen)


@source("t")
def pairs(tf, p):
    n = 1 + p[2] % 15
    first = tf.constant([(p[0] + i) % 9 for i in range(n)], tf.int64)
    second = [i / 2 for i in range(n)]
    return tf.data.Dataset.from_tensor_slices((first, second))


@source("d")
def named(tf, p):
    n = 1 + p[2] % 15
    values = {
        "a": tf.constant([(p[0] * i) % 9 for i in range(n)], tf.int64),
        "b": [i / 4 for i in range(n)],
    }
    return tf.data.Dataset.from_tensor_slices(values)


@source("i")
def one(tf, p):
    return tf.data.Dataset.from_tensors(tf.constant(p[0] % 9, tf.int64)).repeat(
        p[1] % 5
    )


@source("v")
def generated(tf, p):
    def rows():
        for i in range(p[0] % 12):
            yield [(i * j) % 7 for j in range((i * p[1]) % 5)]

    return tf.data.Dataset.from_generator(
        rows, output_signature=tf.TensorSpec([None], tf.int64)
    )


@source("i")
def counted(tf, p):
    return tf.data.Dataset.counter(p[0] % 9, 1 + p[1] % 4).take(p[2] % 15)


# --- functions of numbers -------------------------------------------------------


def _calls(tf, p):
    return [None, tf.data.AUTOTUNE, 1, 2][p[3] % 4]


@step("i", weight=3)
def integer_map(tf, ds, p):
    fns = [
        lambda x: x * 3 + 1,
        lambda x: x // 2,
        lambda x: x % 5 - 2,
        lambda x: -x,
        lambda x: tf.abs(x) - 1,
        lambda x: tf.maximum(x, 3),
        lambda x: tf.where(x % 2 == 0, x, -x),
        lambda x: tf.cast(tf.cast(x, tf.float32) * 0.75, tf.int64),
        lambda x: tf.clip_by_value(x, 1, 6),
        lambda x: x * x,
        lambda x: tf.square(x) - tf.minimum(x, 4),
        lambda x: tf.cond(x > 3, lambda: x - 3, lambda: x + 3),
        lambda x: tf.math.floormod(x, 4),
        lambda x: tf.sign(x) * 2,
        lambda x: tf.cast(x, tf.int64) ** 2,
        lambda x: tf.bitcast(x, tf.int64),
        lambda x: tf.reduce_sum(tf.stack([x, x + 1])),
        lambda x: tf.identity(x) + tf.constant(2, tf.int64),
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("i", "f", weight=2)
def to_float(tf, ds, p):
    fns = [
        lambda x: tf.cast(x, tf.float32) / 4,
        lambda x: tf.sqrt(tf.cast(tf.abs(x), tf.float32)),
        lambda x: tf.cast(x, tf.float32) * 0.5 - 1.0,
        lambda x: tf.math.log(tf.cast(tf.abs(x), tf.float32) + 1.0),
        lambda x: tf.reduce_mean(tf.cast(tf.stack([x, x * 2]), tf.float32)),
        lambda x: tf.one_hot(x % 3, 3)[1],
        lambda x: tf.pow(tf.cast(x, tf.float32), 2.0),
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("i", "g")
def to_double(tf, ds, p):
    fns = [
        lambda x: x / 3,
        lambda x: tf.cast(x, tf.float64) * 0.1,
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("g")
def double_map(tf, ds, p):
    fns = [
        lambda x: x * 2.0,
        lambda x: tf.floor(x),
        lambda x: tf.sin(x),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("f", weight=3)
def float_map(tf, ds, p):
    fns = [
        lambda x: x * 2.0 + 0.25,
        lambda x: tf.exp(x * 0.1),
        lambda x: tf.floor(x),
        lambda x: tf.round(x),
        lambda x: tf.sqrt(tf.abs(x)),
        lambda x: tf.clip_by_value(x, -1.0, 1.0),
        lambda x: tf.where(x > 0.5, x, 0.0),
        lambda x: tf.math.ceil(x) - x,
        lambda x: tf.tanh(x),
        lambda x: x // 0.5,
        lambda x: x % 0.75,
        lambda x: tf.math.divide_no_nan(1.0, x),
        lambda x: tf.sigmoid(x),
        lambda x: tf.negative(x),
        lambda x: 1.0 - x,
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("f", "i")
def float_to_integer(tf, ds, p):
    fns = [
        lambda x: tf.cast(x * 4, tf.int64),
        lambda x: tf.cast(tf.round(x), tf.int64),
        lambda x: tf.cast(x > 0.5, tf.int64),
    ]
    return ds.map(fns[p[0] % len(fns)])


# --- strings --------------------------------------------------------------------


@step("i", "s")
def to_text(tf, ds, p):
    fns = [
        lambda x: tf.strings.as_string(x),
        lambda x: tf.strings.join(["n", tf.strings.as_string(x)], separator="-"),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("s", weight=3)
def text_map(tf, ds, p):
    fns = [
        lambda x: tf.strings.upper(x),
        lambda x: tf.strings.lower(x),
        lambda x: tf.strings.strip(x),
        lambda x: tf.strings.join([x, "!"]),
        lambda x: tf.strings.regex_replace(x, "[a-z]", "_"),
        lambda x: tf.strings.substr(x, 0, 2),
        lambda x: tf.strings.reduce_join(tf.strings.split(x), separator="+"),
        lambda x: x + "?",
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("s", "i")
def text_to_integer(tf, ds, p):
    fns = [
        lambda x: tf.cast(tf.strings.length(x), tf.int64),
        lambda x: tf.cast(tf.equal(x, "12"), tf.int64),
        lambda x: tf.cast(tf.strings.regex_full_match(x, "[0-9]+"), tf.int64),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("s", "w")
def text_to_words(tf, ds, p):
    return ds.map(lambda x: tf.strings.split(x))


@step("s", "i")
def text_to_number(tf, ds, p):
    """Most words are no numbers: errors of elements."""
    return ds.map(lambda x: tf.strings.to_number(x, tf.int64))


@step("w", "s")
def words_to_text(tf, ds, p):
    return ds.map(lambda x: tf.strings.reduce_join(x, separator="/"))


@step("w", "i")
def count_words(tf, ds, p):
    return ds.map(lambda x: tf.shape(x, out_type=tf.int64)[0])


# --- vectors --------------------------------------------------------------------


@step("i", "v")
def to_vector(tf, ds, p):
    fns = [
        lambda x: tf.fill([tf.abs(x) % 4], x),
        lambda x: tf.range(tf.abs(x) % 5),
        lambda x: tf.repeat([x], tf.abs(x) % 3),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("v", weight=2)
def vector_map(tf, ds, p):
    fns = [
        lambda x: x + 1,
        lambda x: x[::-1],
        lambda x: tf.reverse(x, [0]),
        lambda x: tf.concat([x, x], 0),
        lambda x: tf.cumsum(x),
        lambda x: tf.sort(x),
        lambda x: tf.sort(x, direction="DESCENDING"),
        lambda x: tf.pad(x, [[1, 2]]),
        lambda x: tf.tile(x, [2]),
        lambda x: x[:2],
        lambda x: x[1:],
        lambda x: tf.boolean_mask(x, x % 2 == 0),
        lambda x: tf.unique(x)[0],
        lambda x: tf.roll(x, 1, 0),
        lambda x: tf.gather(x, tf.range(tf.size(x))),
        lambda x: tf.cumsum(x, exclusive=True, reverse=True),
        lambda x: tf.reshape(x, [-1]),
        lambda x: tf.cast(tf.argsort(x), tf.int64),
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("v", "i")
def vector_to_integer(tf, ds, p):
    fns = [
        lambda x: tf.reduce_sum(x),
        lambda x: tf.size(x, out_type=tf.int64),
        lambda x: tf.shape(x, out_type=tf.int64)[0],
        lambda x: tf.reduce_max(tf.concat([x, [0]], 0)),
        lambda x: tf.reduce_prod(x),
        lambda x: tf.math.count_nonzero(x),
        lambda x: tf.reduce_mean(tf.concat([x, [4, 5]], 0)),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("b", weight=2)
def batch_map(tf, ds, p):
    fns = [
        lambda x: x * 2,
        lambda x: tf.reverse(x, [0]),
        lambda x: x - tf.reduce_min(x),
        lambda x: tf.where(x > 2, x, tf.zeros_like(x)),
        lambda x: tf.concat([x, tf.ones_like(x)], 0),
        lambda x: tf.reshape(tf.expand_dims(x, 1), [-1]),
        lambda x: tf.squeeze(tf.expand_dims(x, 0), 0),
        lambda x: tf.stack([x, x])[1],
        lambda x: tf.transpose(tf.stack([x, x + 1]))[:, 0],
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("b", "i")
def batch_to_integer(tf, ds, p):
    fns = [
        lambda x: tf.reduce_sum(x),
        lambda x: tf.argmax(x),
        lambda x: tf.argmin(x, axis=0),
        lambda x: x[0],
        lambda x: x[-1],
        lambda x: tf.reduce_mean(x),
        lambda x: tf.cast(tf.reduce_any(x > 2), tf.int64),
        lambda x: tf.cast(tf.reduce_all(x > 2), tf.int64),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("b", "m")
def batch_to_matrix(tf, ds, p):
    fns = [
        lambda x: tf.one_hot(x, 4),
        lambda x: tf.cast(tf.stack([x, x], axis=1), tf.float32),
        lambda x: tf.cast(tf.sequence_mask(tf.abs(x), 5), tf.float32),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("m", "c")
def matrix_to_vector(tf, ds, p):
    fns = [
        lambda x: tf.reduce_sum(x, axis=1),
        lambda x: tf.reduce_mean(x, 1),
        lambda x: tf.reduce_max(x, axis=[1]),
        lambda x: x[:, 0],
        lambda x: tf.reshape(x, [-1]),
        lambda x: tf.unstack(tf.transpose(x)[:1])[0],
        lambda x: tf.reduce_sum(x * x, 1),
        lambda x: tf.matmul(x, tf.transpose(x))[:, 0],
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("c", weight=2)
def float_batch_map(tf, ds, p):
    fns = [
        lambda x: x * 0.5,
        lambda x: x - tf.reduce_mean(x),
        lambda x: tf.nn.softmax(x),
        lambda x: tf.math.l2_normalize(x),
        lambda x: tf.maximum(x, 0.0),
        lambda x: tf.math.reduce_std(x) + x,
        lambda x: tf.cumsum(x),
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("c", "f")
def float_batch_to_float(tf, ds, p):
    fns = [
        lambda x: tf.reduce_sum(x),
        lambda x: tf.reduce_max(x),
        lambda x: tf.reduce_mean(x),
        lambda x: tf.math.reduce_variance(x),
    ]
    return ds.map(fns[p[0] % len(fns)])


# --- structures -----------------------------------------------------------------


@step("i", "t")
def to_pair(tf, ds, p):
    fns = [
        lambda x: (x, tf.cast(x, tf.float32)),
        lambda x: [x + 1, tf.cast(x, tf.float32) / 2],
        lambda x: (x, 1.5),
    ]
    return ds.map(fns[p[0] % len(fns)], num_parallel_calls=_calls(tf, p))


@step("i", "d")
def to_dict(tf, ds, p):
    return ds.map(lambda x: {"b": tf.cast(x, tf.float32), "a": x})


@step("t")
def pair_map(tf, ds, p):
    fns = [
        lambda a, b: (a + 1, b * 2),
        lambda a, b: (a, b + tf.cast(a, tf.float32)),
        lambda *ab: ab,
    ]
    return ds.map(fns[p[0] % len(fns)])


@step("t", "i")
def pair_to_integer(tf, ds, p):
    return ds.map(lambda a, b: a + tf.cast(b, tf.int64))


@step("d", "t")
def dict_to_pair(tf, ds, p):
    return ds.map(lambda x: (x["a"], x["b"]))


@step("d")
def dict_map(tf, ds, p):
    return ds.map(lambda x: {"a": x["a"] * 2, "b": x["b"] - 0.5})


@step("i", "t")
def zipped(tf, ds, p):
    other = tf.data.Dataset.range(p[0] % 20).map(lambda x: tf.cast(x, tf.float32))
    return tf.data.Dataset.zip((ds, other))


@step("f", "t")
def numbered(tf, ds, p):
    return ds.enumerate(start=p[0] % 7)


# --- choice and order -------------------------------------------------------------


@step("i", weight=2)
def integer_filter(tf, ds, p):
    fns = [
        lambda x: x % 2 == 0,
        lambda x: x > 2,
        lambda x: tf.not_equal(x, 3),
        lambda x: tf.logical_and(x > 0, x < 9),
        lambda x: tf.reduce_any(tf.stack([x < 2, x > 5])),
    ]
    return ds.filter(fns[p[0] % len(fns)])


@step("t")
def pair_filter(tf, ds, p):
    return ds.filter(lambda a, b: tf.cast(a, tf.float32) >= b)


@step("s")
def text_filter(tf, ds, p):
    return ds.filter(lambda x: tf.strings.length(x) > 1)


@step("i")
def integer_take_while(tf, ds, p):
    return ds.take_while(lambda x: x < 4 + p[0] % 8)


@step(ALL)
def take(tf, ds, p):
    return ds.take(p[0] % 14 - 1)


@step(ALL)
def skip(tf, ds, p):
    return ds.skip(p[0] % 5)


@step(ALL)
def repeat(tf, ds, p):
    return ds.repeat(p[0] % 3)


@step(ALL)
def shard(tf, ds, p):
    return ds.shard(2 + p[0] % 2, p[1] % 2)


@step(ALL)
def doubled(tf, ds, p):
    return ds.concatenate(ds.take(p[0] % 4))


@step("is")
def unique(tf, ds, p):
    return ds.unique()


@step("i")
def checked(tf, ds, p):
    """Some elements fail; what follows must arrive all the same."""

    def check(x):
        tf.debugging.assert_less(x, tf.constant(6, tf.int64))
        return x

    return ds.map(check, num_parallel_calls=_calls(tf, p))


@step(ALL)
def without_errors(tf, ds, p):
    return ds.ignore_errors()


# --- grouping -----------------------------------------------------------------------


@step("i", "b", weight=2)
def batch(tf, ds, p):
    return ds.batch(1 + p[0] % 5, drop_remainder=bool(p[1] % 2))


@step("f", "c")
def batch_floats(tf, ds, p):
    return ds.batch(1 + p[0] % 5, drop_remainder=bool(p[1] % 2))


@step("b", "i")
def unbatch(tf, ds, p):
    return ds.unbatch()


@step("b")
def rebatch(tf, ds, p):
    return ds.unbatch().batch(7).rebatch(1 + p[0] % 4, drop_remainder=bool(p[1] % 2))


@step("v", "i")
def padded(tf, ds, p):
    fill = tf.constant(-1 - p[1] % 3, tf.int64) if p[1] % 2 else None
    rows = ds.padded_batch(1 + p[0] % 4, padding_values=fill)
    return rows.map(lambda x: tf.reduce_sum(x * x + 1, axis=1)).unbatch()


@step("v", "b")
def padded_to_size(tf, ds, p):
    """Longer ones are errors."""
    return ds.padded_batch(1 + p[0] % 3, padded_shapes=[3]).unbatch()


@step("v", "i")
def buckets(tf, ds, p):
    made = ds.bucket_by_sequence_length(
        lambda x: tf.size(x), [2, 4], [1 + p[0] % 3, 2, 3]
    )
    return made.map(lambda x: tf.reduce_sum(x * x + 1, axis=1)).unbatch()


@step("v", "i")
def ragged(tf, ds, p):
    return ds.ragged_batch(1 + p[0] % 4).map(lambda r: tf.reduce_sum(r.values))


@step("i", "b")
def windows(tf, ds, p):
    size = 1 + p[0] % 4
    made = ds.window(
        size, shift=1 + p[1] % 3, stride=1 + p[2] % 2, drop_remainder=bool(p[3] % 2)
    )
    return made.flat_map(lambda w: w.batch(size))


@step("i", "b")
def grouped(tf, ds, p):
    size = 1 + p[0] % 4
    return ds.group_by_window(lambda x: x % 3, lambda key, w: w.batch(size), size)


@step("i")
def running_total(tf, ds, p):
    return ds.scan(tf.constant(p[0] % 5, tf.int64), lambda s, x: (s + x, s * 2 + x))


@step("t", "i")
def running_pair(tf, ds, p):
    return ds.scan(tf.constant(0, tf.int64), lambda s, ab: (s + ab[0], s - ab[0]))


@step("i")
def flat(tf, ds, p):
    fns = [
        lambda x: tf.data.Dataset.range(tf.abs(x) % 4),
        lambda x: tf.data.Dataset.from_tensors(x).repeat(2),
        lambda x: tf.data.Dataset.from_tensor_slices([x, x + 1]),
        lambda x: tf.data.Dataset.range(3).map(lambda y: x + y),
    ]
    return ds.flat_map(fns[p[0] % len(fns)])


@step("i")
def interleave(tf, ds, p):
    calls = [None, tf.data.AUTOTUNE, 1][p[3] % 3]
    return ds.interleave(
        lambda x: tf.data.Dataset.range(tf.abs(x) % 4).map(lambda y: x * 10 + y),
        cycle_length=1 + p[0] % 4,
        block_length=1 + p[1] % 3,
        num_parallel_calls=calls,
    )


@step("i")
def chosen(tf, ds, p):
    picks = [(i * (1 + p[0])) % 2 for i in range(p[1] % 12)]
    choice = tf.data.Dataset.from_tensor_slices(tf.constant(picks, tf.int64))
    other = tf.data.Dataset.range(100, 103)
    return tf.data.Dataset.choose_from_datasets(
        [ds, other], choice, stop_on_empty_dataset=bool(p[2] % 2)
    )


# --- running ------------------------------------------------------------------------


@step(ALL)
def cache(tf, ds, p):
    return ds.cache()


@step(ALL)
def prefetch(tf, ds, p):
    return ds.prefetch([tf.data.AUTOTUNE, 0, 1, 3][p[0] % 4])


@step(ALL)
def with_options(tf, ds, p):
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = bool(p[0] % 2)
    options.experimental_optimization.inject_prefetch = bool(p[1] % 2)
    return ds.with_options(options)


@step("ifst")
def shuffle(tf, ds, p):
    return ds.shuffle(1 + p[0] % 9, seed=p[1])


@step("i", "i")
def bad_argument(tf, ds, p):
    """Refused when the graph is built, one way or the other."""
    calls = [
        lambda: ds.batch(0),
        lambda: ds.batch(-2),
        lambda: ds.shard(2, 5),
        lambda: ds.window(0),
        lambda: ds.shuffle(0),
        lambda: ds.prefetch(-7),
        lambda: ds.map(3),
        lambda: ds.map(lambda x: x, num_parallel_calls=0),
        lambda: ds.group_by_window(lambda x: x, lambda k, w: w),
        lambda: ds.padded_batch(2, padded_shapes=[3]),
        lambda: ds.interleave(lambda x: ds, cycle_length=0),
    ]
    return calls[p[0] % len(calls)]()


# Steps that make errors of elements. An error has the place of its element in
# Penstock, so take(3) counts it; TensorFlow's operators differ in what they
# count. Behind them only steps follow that look at elements one by one.
FAILING = {"checked", "text_to_number", "padded_to_size"}
ONE_BY_ONE = ("_map", "_filter", "to_", "_to_", "prefetch", "with")
# Behind a shuffle, whose order is each engine's own, the same.
NO_ORDER = (*ONE_BY_ONE, "shuffle", "flat", "unbatch")


def fits(name, ordered, failing):
    if failing:
        return any(part in name for part in ONE_BY_ONE) and name not in FAILING
    if not ordered:
        return any(part in name for part in NO_ORDER) and name not in FAILING
    return True


def describe(seed):
    """(steps, ordered): what pipeline `seed` is made of."""
    chance = random.Random(seed)

    def numbers():
        return [chance.randrange(1000) for _ in range(4)]

    first = chance.choice(sorted(SOURCES))
    kind = SOURCES[first][0]
    steps = [(first, numbers())]
    ordered, failing = True, False
    for _ in range(chance.randint(1, 7)):
        options = [s for s in STEPS[kind] if fits(s[0], ordered, failing)]
        if not options:
            break
        name, after = chance.choice(options)
        if name == "bad_argument" and chance.random() < 0.7:
            continue
        kind = after
        steps.append((name, numbers()))
        ordered = ordered and name != "shuffle"
        failing = (failing or name in FAILING) and name != "without_errors"
    return steps, ordered


def build(tf, steps):
    (first, p), *rest = steps
    ds = SOURCES[first][1](tf, p)
    for name, p in rest:
        ds = FUNCTIONS[name](tf, ds, p)
    return ds
