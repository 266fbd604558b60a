"""Strings as TensorFlow treats them: RE2's patterns over UTF-8, numbers as text.

What is expected is what TensorFlow 2.21 gave.
"""

from __future__ import annotations

import penstock.tf as tf
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
