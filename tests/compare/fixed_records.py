"""Calls on serialized Examples and SequenceExamples, the same on any module."""

from __future__ import annotations


def feature(tf, values):
    """One of the three kinds of lists; None is a list of floats without any."""
    first = values[0] if values else 0.0 if values is None else 0
    if isinstance(first, float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values or []))
    if isinstance(first, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def features(tf, named):
    return tf.train.Features(feature={k: feature(tf, v) for k, v in named.items()})


def example(tf, **named):
    return tf.train.Example(features=features(tf, named)).SerializeToString()


def sequence(tf, context, lists):
    steps = {
        name: tf.train.FeatureList(feature=[feature(tf, v) for v in own])
        for name, own in lists.items()
    }
    return tf.train.SequenceExample(
        context=features(tf, context),
        feature_lists=tf.train.FeatureLists(feature_list=steps),
    ).SerializeToString()


LONG = {
    "v": [[0.5], [1.0, 2.0, 3.0], None],
    "lengths": [[1], [1, 2], [0]],
    "splits": [[0, 1], [0, 1, 3], [0]],
    "ids": [[0], [0, 1, 1], []],
    "starts": [[0], [0, 1], []],
    "limits": [[1], [1, 3], []],
    "outer": [[1], [0, 2], [1]],
    "p": [[0, 1], [2, 3], [4, 5]],
    "w": [[b"a"], [b"b", b"c"], [b"d"]],
    "z": [[b"q"]],
}
SHORT = {
    "v": [[7.0, 8.0]],
    "lengths": [[2]],
    "splits": [[0, 2]],
    "ids": [[0, 0]],
    "starts": [[0]],
    "limits": [[2]],
    "outer": [[1]],
    "p": [[7, 8]],
    "w": [[b"e"]],
    "z": [],
}


def records(tf):
    return [
        sequence(tf, {"c": [1, 2], "l": [5], "t": [b"x"]}, LONG),
        sequence(tf, {"l": [6], "t": [b"y", b"z"]}, SHORT),
    ]


def ragged(tf, *partitions):
    kinds = tf.io.RaggedFeature
    made = [getattr(kinds, kind)(value) for kind, value in partitions]
    return kinds(tf.float32, value_key="v", partitions=made)


PARTITIONS = [
    [],
    [("RowLengths", "lengths")],
    [("RowSplits", "splits")],
    [("ValueRowIds", "ids")],
    [("RowStarts", "starts")],
    [("RowLimits", "limits")],
    [("UniformRowLength", 1)],
    [("RowLengths", "outer"), ("RowLengths", "lengths")],
    [("RowLengths", "lengths"), ("UniformRowLength", 1)],
    [("UniformRowLength", 1), ("RowLengths", "lengths")],
]
SEQUENCES = [
    lambda tf: {"p": tf.io.FixedLenSequenceFeature([2], tf.int64)},
    lambda tf: {"z": tf.io.FixedLenSequenceFeature([], tf.string, True)},
    lambda tf: {"x": tf.io.FixedLenSequenceFeature([], tf.float32, True)},
    lambda tf: {"x": tf.io.FixedLenSequenceFeature([], tf.float32)},
    lambda tf: {"p": tf.io.FixedLenSequenceFeature([3], tf.int64)},
    lambda tf: {"p": tf.io.FixedLenSequenceFeature([2], tf.float32)},
    lambda tf: {"p": tf.io.FixedLenSequenceFeature([2], tf.int64, default_value=1)},
    lambda tf: {"p": tf.io.FixedLenFeature([2], tf.int64)},
    lambda tf: {"w": tf.io.VarLenFeature(tf.string)},
    lambda tf: {"x": tf.io.VarLenFeature(tf.float32)},
    lambda tf: {"x": tf.io.RaggedFeature(tf.float32)},
    lambda tf: {
        "v": tf.io.VarLenFeature(tf.float32),
        "p": tf.io.FixedLenSequenceFeature([2], tf.int64),
    },
    *(
        lambda tf, own=own: {
            "r": ragged(tf, *own),
            "p": tf.io.FixedLenSequenceFeature([2], tf.int64),
        }
        for own in PARTITIONS
    ),
]
CONTEXTS = [
    lambda tf: {"c": tf.io.VarLenFeature(tf.int64)},
    lambda tf: {"l": tf.io.FixedLenFeature([], tf.int64)},
    lambda tf: {"c": tf.io.FixedLenFeature([2], tf.int64, [8, 9])},
    lambda tf: {"c": tf.io.FixedLenFeature([2], tf.int64)},
    lambda tf: {
        "c": tf.io.RaggedFeature(tf.int64),
        "t": tf.io.VarLenFeature(tf.string),
    },
    lambda tf: {
        "c": tf.io.RaggedFeature(
            tf.int64, "c", partitions=[tf.io.RaggedFeature.UniformRowLength(2)]
        )
    },
    lambda tf: {"c": tf.io.FixedLenSequenceFeature([], tf.int64, True)},
]


def single(own, context=False):
    def call(tf):
        given = (own(tf), None) if context else (None, own(tf))
        return tf.io.parse_single_sequence_example(records(tf)[0], *given)

    return call


def batch(own, context=False, empty=False):
    def call(tf):
        given = (own(tf), SEQUENCES[0](tf)) if context else (None, own(tf))
        strings = tf.constant([], tf.string) if empty else records(tf)
        return tf.io.parse_sequence_example(strings, *given)

    return call


def scalar(own):
    return lambda tf: tf.io.parse_sequence_example(records(tf)[0], None, own(tf))


# Rows of numbers, of numbers and of values; "none" has no values at all.
ONE = {"i": [3, 1, 1], "j": [0, 2, 1], "v": [0.5, 1.0, 2.0]}
TWO = {"i": [0], "j": [2], "v": [9.0]}
NONE = {"k": [1]}


def sparse(keys, size, in_order=False, one=False):
    def call(tf):
        given = (
            example(tf, **ONE) if one else [example(tf, **e) for e in (ONE, TWO, NONE)]
        )
        wanted = {
            "x": tf.io.SparseFeature(keys, "v", tf.float32, size, in_order),
            "i": tf.io.VarLenFeature(tf.int64),
        }
        parse = tf.io.parse_single_example if one else tf.io.parse_example
        return parse(given, wanted)

    return call


JSON = [
    '{"features":{"feature":{"x":{"int64List":{"value":[1,"-2"]}},'
    '"f":{"float_list":{"value":[1.5,"NaN",3]}},'
    '"b":{"bytesList":{"value":["YWI=","_-8"]}}}}}',
    "{}",
    '{"features":null}',
    '{"features":{"feature":{"x":{}}}}',
    '{"features":{"feature":{"x":{"int64List":{}}}}}',
    '{"features":{"feature":{"x":{"int64List":{"value":[2.0]}}}}}',
    '{"features":{"feature":{"f":{"floatList":{"value":["-Infinity","1e3"]}}}}}',
    '{"bad":1}',
    "no json",
    "[]",
    '{"features":{"feature":{"x":{"int64List":{"value":[1.5]}}}}}',
    '{"features":{"feature":{"x":{"int64List":{"value":["a"]}}}}}',
    '{"features":{"feature":{"b":{"bytesList":{"value":["!!"]}}}}}',
]


def from_json(text):
    def call(tf):
        wanted = {
            "x": tf.io.VarLenFeature(tf.int64),
            "f": tf.io.VarLenFeature(tf.float32),
            "b": tf.io.VarLenFeature(tf.string),
        }
        return tf.io.parse_single_example(tf.io.decode_json_example(text), wanted)

    return call


def required(text):
    return lambda tf: tf.io.decode_csv(text, [tf.constant([], tf.string), "d"])


CASES = [
    *map(single, SEQUENCES),
    *map(batch, SEQUENCES),
    *map(scalar, SEQUENCES),
    *(batch(SEQUENCES[i], empty=True) for i in (0, 1, 8, 10, 13, 18)),
    *(single(own, context=True) for own in CONTEXTS),
    *(batch(own, context=True) for own in CONTEXTS),
    lambda tf: tf.io.parse_single_sequence_example(records(tf), CONTEXTS[1](tf)),
    lambda tf: tf.io.parse_single_sequence_example(records(tf)[0]),
    sparse("i", 5),
    sparse("i", 5, one=True),
    sparse("i", 5, in_order=True),
    sparse(["i", "j"], [5, 4]),
    sparse(["i", "j"], [5, 4], one=True),
    sparse(["i", "k"], [5, 4]),
    *map(from_json, JSON),
    lambda tf: tf.io.decode_json_example([[JSON[1], JSON[3]]]),
    *map(required, ["a,b", ",b", "a,", '"",b', ","]),
]
