"""Strings as TensorFlow treats them: RE2's patterns over UTF-8, numbers as text.

What is expected is what TensorFlow 2.21 gave.
"""

from __future__ import annotations

import io
import zlib

import numpy as np
import penstock.tf as tf  # noqa: PLR0402 (the line that users write)
import pytest


@pytest.mark.parametrize(
    ("text", "pattern", "rewrite", "expected"),
    [
        ("¿qué?", "[¿?]", r"<\0>", "<¿>qué<?>"),
        ("abc1", "[[:alpha:]]+", "x", "x1"),
        ("ab", "[[:^alpha:]b]", "x", "ax"),
        ("é1ñ", r"\p{L}", "L", "L1L"),
        ("é1ñ²", r"\pN", "N", "éNñN"),
        ("a1", r"[^\PL]", "x", "x1"),
        ("αb", r"\p{Greek}", "x", "xb"),
        ("é1", r"\p{Latin}|\d", "x", "xx"),
        ("¡a!", r"\p{P}", "", "a"),
        ("abc\n", "c$", "x", "abc\n"),
        ("c\nc", "(?m)c$", "x", "x\nx"),
        ("ab", r"b\z", "x", "ax"),
        ("a\vb c", r"\s", "x", "a\vbxc"),
        ("é", r"\w", "x", "é"),
        ("éa", r"\b", "|", "é|a|"),
        ("É", "(?i)é", "x", "x"),
        ("aBAb", "a(?i)b|ab", "x", "xx"),
        ("a{,3}", "a{,3}", "x", "x"),
        ("a.b", r"\Qa.\E", "x", "xb"),
        ("ab", "(?U)a.*", "x", "xb"),
        ("aab", "(?i-U:A+?)", "x", "xxb"),
        ("x", r"\x{78}|\170", "y", "y"),
        ("abxd", "x*", "-", "-a-b-d-"),
        ("a", "|a", "-", "-a-"),
        ("日本", "", "x", "x日x本x"),
        ("ab", "^*", "x", "xaxbx"),
        ("ab", "(a)(c)?", r"<\1\2\\>", "<a\\>b"),
        ("a]-^", r"[]\-^]", "x", "axxx"),
    ],
)
def test_patterns_are_those_of_re2(text, pattern, rewrite, expected):
    got = tf.strings.regex_replace(text, pattern, rewrite)
    assert got.numpy().decode() == expected


def test_bytes_that_are_no_utf8_match_nothing_and_are_kept():
    assert tf.strings.regex_replace(b"\xff", ".", "x").numpy() == b"\xff"
    assert tf.strings.regex_replace(b"a\xffb", "[^a]", "x").numpy() == b"a\xffx"
    assert tf.strings.regex_replace(b"a\xffb", r"\W", "x").numpy() == b"a\xffb"


def test_one_character_of_utf8_is_one_of_a_full_match():
    assert bool(tf.strings.regex_full_match("é", "."))
    assert not bool(tf.strings.regex_full_match("é", ".."))


@pytest.mark.parametrize(
    "pattern",
    "( a) [a [b-a] *a a** a*+ a{2}{3} a{1001} (?=a) (?<n>a) (?x)a a\\ \\Z \\1 "
    "\\p{Foo} [[:foo:]] \\C".split(),
)
def test_what_re2_refuses_is_an_invalid_argument(pattern):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_replace("a", pattern, "x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_full_match("a", pattern)


@pytest.mark.parametrize("rewrite", [r"\1", r"\q", "\\"])
def test_a_rewrite_of_no_group_is_an_invalid_argument(rewrite):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid rewrite"):
        tf.strings.regex_replace("a", "a", rewrite)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0x10", 16), (" -0x1p4 ", -16), ("1e3", 1000), ("+5", 5), ("\t5\n", 5)],
)
def test_numbers_of_text_are_those_of_c(text, expected):
    assert float(tf.strings.to_number(text)) == expected


@pytest.mark.parametrize("text", ["1_0", "", " ", "1f", "0b1"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64])
def test_text_that_is_no_number_is_an_invalid_argument(text, dtype):
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly"):
        tf.strings.to_number(text, dtype)


def test_an_integer_that_does_not_fit_is_an_invalid_argument():
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly"):
        tf.strings.to_number("3000000000", tf.int32)


@pytest.mark.parametrize(
    ("value", "fill", "expected"),
    [
        (-3, "0", b"-0000003"),
        (-3, "-", b"-3      "),
        (-3, " ", b"      -3"),
        (-3, "", b"      -3"),
        (3, "+", b"      +3"),
        (-3.5, "0", b"-3.500000"),
        (True, "0", b"true"),
    ],
)
def test_numbers_are_filled_as_c_fills_them(value, fill, expected):
    assert tf.strings.as_string(value, width=8, fill=fill).numpy() == expected


def test_base64_is_value_by_value():
    words = tf.constant([["hi", ""], ["you", "naïve"]])
    coded = tf.io.encode_base64(words)
    assert coded.numpy().tolist() == [[b"aGk", b""], [b"eW91", b"bmHDr3Zl"]]
    assert tf.io.decode_base64(coded).numpy().tolist() == words.numpy().tolist()
    assert tf.io.encode_base64("hi", pad=True).numpy() == b"aGk="
    assert tf.io.decode_base64("aGk=").numpy() == b"hi"
    for wrong in ("a", "aG+/", "a b", "aGk=="):
        with pytest.raises(tf.errors.InvalidArgumentError, match="web-safe base64"):
            tf.io.decode_base64(wrong)
    ds = tf.data.Dataset.from_tensors(words[0]).map(tf.io.encode_base64)
    assert [x.numpy().tolist() for x in ds] == [[b"aGk", b""]]


def test_streams_are_inflated_value_by_value():
    streams = [zlib.compress(b"a"), zlib.compress(b"bb")]
    assert tf.io.decode_compressed(streams, "ZLIB").numpy().tolist() == [b"a", b"bb"]
    assert tf.io.decode_compressed(["a"]).numpy().tolist() == [b"a"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression_type"):
        tf.io.decode_compressed(b"a", "LZ4")


NUMBERS = [1.5, 2.25, 1e10, 1e-10, float("nan"), float("inf"), 1 / 3, 123456789, 0.1]


@pytest.mark.parametrize(
    ("value", "summarize", "expected"),
    [
        ("abc", 3, '"abc"'),
        (['a"q', "b\n", "é", "\x01"], -1, r'["a\"q" "b\n" "é" "\001"]'),
        ([True, False], 3, "[1 0]"),
        (1.0, 3, "1"),
        (NUMBERS, 1, "[1.5 ... 0.1]"),
        (
            NUMBERS,
            -1,
            "[1.5 2.25 1e+10 1e-10 nan inf 0.333333343 123456792 0.1]",
        ),
        (np.array([1 / 3, 1e22]), 3, "[0.33333333333333331 1e+22]"),
        (np.array([1.1, 2.2], np.float16), 3, "[1.09960938 2.19921875]"),
        ([[1, 2], [3, 4]], 3, "[[1 2]\n [3 4]]"),
        (np.zeros((2, 2, 1), np.uint8), 3, "[[[0]\n  [0]]\n\n [[0]\n  [0]]]"),
        (list(range(9)), 2, "[0 1 ... 7 8]"),
        (np.ones((5, 8), np.int8), 1, "[[1 ... 1]\n ...\n [1 ... 1]]"),
        (np.zeros(0), 3, "[]"),
    ],
)
def test_tensors_are_formatted_as_tensorflow_formats_them(value, summarize, expected):
    tensor = tf.constant(value)
    made = tf.strings.format("<{}>", tensor, summarize=summarize)
    assert made.numpy().decode() == f"<{expected}>"
    out = io.StringIO()
    tf.print("x:", tensor, summarize=summarize, output_stream=out)
    assert out.getvalue() == f"x: {expected}\n"


def test_prints_look_into_structures():
    out = io.StringIO()
    one = tf.constant(1)
    rows, sparse = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[0, 1]])
    tf.print(3, None, {"a": one, "b": [tf.constant("s")]}, (one,), output_stream=out)
    tf.print(rows, sparse, sep="|", output_stream=out)
    tf.print(tf.constant("alone"), output_stream=out)
    assert out.getvalue().splitlines() == [
        "3 None {'a': 1, 'b': [\"s\"]} (1,)",
        "[[1], [2, 3]]|'SparseTensor(indices=[[0 1]], values=[1], shape=[1 2])'",
        "alone",
    ]
    with pytest.raises(ValueError, match="flush"):
        tf.print("x", flush=True)


def test_a_number_as_text_is_a_string():
    assert (tf.strings.as_string(1) + "x").numpy() == b"1x"
    assert (tf.strings.as_string(1) + tf.constant("x")).numpy() == b"1x"
    ds = tf.data.Dataset.from_tensor_slices(["a", "b"])
    made = ds.map(lambda t: tf.strings.as_string(1) + t)
    assert list(made.as_numpy_iterator()) == [b"1a", b"1b"]


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda t: tf.stack([t, t]), [2]),
        (lambda t: tf.expand_dims(t, 0), [1]),
        (lambda t: tf.concat([[t], ["z"]], 0), [2]),
        (lambda t: tf.where(tf.equal(t, "a"), "x", t), []),
        (lambda t: tf.strings.split([t]).to_tensor("-"), [1, None]),
        (lambda t: tf.pad(tf.reshape(t, [1]), [[0, 2]]), [3]),
    ],
)
def test_specs_of_strings_that_are_laid_out(function, shape):
    ds = tf.data.Dataset.from_tensor_slices(["a", "b c"]).map(function)
    assert ds.element_spec == tf.TensorSpec(shape, tf.string)
    assert all(ds.element_spec.is_compatible_with(x) for x in ds)
