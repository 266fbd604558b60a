"""`tf.strings`: functions of strings, value by value.

`length lower upper strip substr join split to_number` are native in a function
that is traced; one that uses others runs as Python.

>>> import penstock.tf as tf
>>> tf.strings.upper(["ab", "c"]).numpy().tolist()
[b'AB', b'C']
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import strings as engine
from penstock._errors import InvalidArgumentError
from penstock._ragged import Ragged
from penstock.tf import _hash, _missing, _re2
from penstock.tf._apply import each_string, eager_only, is_traced, traceable
from penstock.tf._dtypes import float32, numpy_dtype
from penstock.tf._printing import summary
from penstock.tf._ragged import RaggedTensor
from penstock.tf._ragged_values import over_values
from penstock.tf._scripts import scripts_of
from penstock.tf._values import Bytes, convert_to_tensor, wrap


def _traced(value: Any) -> Any:
    """An operand of a native operation."""
    return bytes(value) if isinstance(value, bytes) else value


def _text(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Numbers as text.

    >>> import penstock.tf as tf
    >>> tf.strings.as_string(3).numpy(), tf.strings.as_string(0.5, 2).numpy()
    (b'3', b'0.50')
    """

    def text(value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bool, np.bool_)):
            return b"true" if value else b"false"
        if isinstance(value, (float, np.floating)):
            kind = "e" if scientific else "g" if shortest else "f"
            digits = 6 if precision < 0 else precision
            return (f"%{flags}.{digits}{kind}" % float(value)).encode()
        return (f"%{flags}d" % int(value)).encode()

    if fill not in ("", " ", "+", "-", "0", "#"):
        raise InvalidArgumentError(f'as_string: Fill argument not supported: "{fill}"')
    # As C's printf: "0" pads behind the sign, "-" behind the number, "+" adds a sign.
    flags = fill + (str(int(width)) if width >= 0 else "")
    return each_string(text, object, input)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of a string, or ragged for several."""
    return _split(input, lambda s: [s[i : i + 1] for i in range(len(s))])


def format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Any:
    """`template` with its placeholders replaced by tensors, as `tf.print` has them.

    >>> import penstock.tf as tf
    >>> tf.strings.format("{} of {}", (tf.range(9), tf.constant("a"))).numpy()
    b'[0 1 2 ... 6 7 8] of "a"'
    """
    values = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise ValueError(
            f"format: {len(parts) - 1} placeholders for {len(values)} inputs"
        )
    made = parts[0]
    for value, rest in zip(values, parts[1:]):
        made += summary(convert_to_tensor(value), summarize) + rest
    return Bytes(made.encode())


@traceable
def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings of several tensors as one.

    >>> import penstock.tf as tf
    >>> tf.strings.join(["a", "b"], separator="/").numpy()
    b'a/b'
    """
    if is_traced(inputs):
        return engine.join([_traced(x) for x in inputs], separator)
    between = _text(separator)
    return each_string(lambda *parts: between.join(map(_text, parts)), object, *inputs)


@traceable
def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """The number of bytes, or of characters with ``unit="UTF8_CHAR"``."""
    if is_traced(input):
        return engine.length(input, unit)
    if unit == "UTF8_CHAR":
        return each_string(lambda s: len(s.decode("utf-8", "replace")), np.int32, input)
    return each_string(len, np.int32, input)


def _letters(name: str, input: Any, encoding: str) -> Any:
    """`lower` and `upper`: of ASCII, or of all letters of UTF-8."""
    if is_traced(input) and not encoding:
        return getattr(engine, name)(input)
    if encoding == "utf-8":
        return each_string(
            lambda s: getattr(s.decode(), name)().encode(), object, input
        )
    return each_string(lambda s: getattr(s, name)(), object, input)


@traceable
def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """In small letters."""
    return _letters("lower", input, encoding)


@traceable
def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """In capital letters."""
    return _letters("upper", input, encoding)


@traceable
def strip(input: Any, name: str | None = None) -> Any:
    """Without white space at both ends."""
    if is_traced(input):
        return engine.strip(input)
    return each_string(lambda s: s.strip(), object, input)


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Runs of `ngram_width` strings, joined; of each row for several rows.

    >>> import penstock.tf as tf
    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy().tolist()
    [b'a b', b'b c']
    >>> tf.strings.ngrams(["a"], 2, pad_values=("<", ">")).numpy().tolist()
    [b'< a', b'a >']
    """
    widths = (
        list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    )
    left = right = None
    if pad_values is not None:
        both = (
            pad_values if isinstance(pad_values, (list, tuple)) else (pad_values,) * 2
        )
        left, right = (_text(p) for p in both)
    between = _text(separator)

    def grams(items: list[bytes]) -> list[bytes]:
        made: list[bytes] = []
        for width in map(int, widths):
            row = items
            if left is not None and right is not None:
                room = width - 1
                if padding_width is not None:
                    room = min(room, int(padding_width))
                row = [left] * room + items + [right] * room
            found = [row[i : i + width] for i in range(len(row) - width + 1)]
            if not found and row and preserve_short_sequences:
                found = [row]
            made.extend(between.join(part) for part in found)
        return made

    rows = data if isinstance(data, RaggedTensor) else convert_to_tensor(data)
    if not isinstance(rows, RaggedTensor) and rows.ndim == 1:
        made = grams([bytes(s) for s in np.asarray(rows)])
        return wrap(np.array(made, dtype=object))
    parts = [grams([bytes(s) for s in np.asarray(row)]) for row in rows]
    if not isinstance(rows, RaggedTensor):
        return wrap(np.array(parts, dtype=object))
    flat = np.array([s for row in parts for s in row], dtype=object)
    ends = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return RaggedTensor._of(Ragged(flat, (ends,)))


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """The strings of a tensor as one, along all axes or one.

    >>> import penstock.tf as tf
    >>> words = tf.ragged.constant([["a", "b"], ["c"]])
    >>> tf.strings.reduce_join(words, axis=-1, separator="-").numpy()
    array([b'a-b', b'c'], dtype=object)
    """
    if isinstance(inputs, RaggedTensor):
        return _join_ragged(inputs, axis, keepdims, separator)
    array = np.asarray(convert_to_tensor(inputs))
    between = _text(separator)
    if axis is None:
        return Bytes(between.join(array.reshape(-1)))
    if np.ndim(axis):
        # The first varies fastest: it is joined first, the others keep their places.
        made = array
        for one in axis:
            made = np.asarray(reduce_join(made, int(one), True, separator))
        gone = tuple(int(one) for one in axis)
        return wrap(made if keepdims else np.squeeze(made, gone)[()])
    moved = np.moveaxis(array, int(axis), -1)
    out = np.empty(moved.shape[:-1], object)
    for place in np.ndindex(*out.shape):
        out[place] = between.join(moved[place])
    return wrap((np.expand_dims(out, int(axis)) if keepdims else out)[()])


def _join_ragged(inputs: Any, axis: Any, keepdims: bool, separator: str) -> Any:
    """`reduce_join` of a ragged tensor."""
    if axis is None:
        return reduce_join(inputs.flat_values, None, keepdims, separator)
    rank = inputs.shape.rank
    place = int(axis) + rank if int(axis) < 0 else int(axis)
    if not 0 < place < rank:
        raise InvalidArgumentError(
            f"reduce_join: axis must be an inner one of {rank} of a ragged tensor, "
            f"got {axis}"
        )
    if place > 1:
        joined = reduce_join(inputs.values, place - 1, keepdims, separator)
        return inputs.with_values(joined)
    if inputs.ragged_rank > 1 or rank > 2:
        raise InvalidArgumentError(
            "reduce_join: of a ragged tensor only the innermost axis can be joined, "
            f"got axis {axis} of {rank}"
        )
    rows = np.empty(len(inputs), object)
    rows[:] = [_text(separator).join(row) for row in inputs.to_list()]
    if not keepdims:
        return wrap(rows)
    return RaggedTensor.from_row_lengths(rows, np.ones(len(rows), np.int64))


def _pattern(pattern: Any) -> re.Pattern[str]:
    return _re2.compiled(_text(convert_to_tensor(pattern)))


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    """Whether the whole string matches a pattern of RE2."""
    compiled = _pattern(pattern)
    return each_string(
        lambda s: compiled.fullmatch(_re2.text_of(s)) is not None, np.bool_, input
    )


def regex_replace(
    input: Any,
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,
) -> Any:
    r"""What matches a pattern of RE2, replaced; ``\1`` stands for a group.

    >>> import penstock.tf as tf
    >>> tf.strings.regex_replace("a1b22", "[0-9]+", "#").numpy()
    b'a#b#'
    """
    compiled = _pattern(pattern)
    text = _text(convert_to_tensor(rewrite))
    return each_string(
        lambda s: _re2.replace(compiled, text, s, replace_global), object, input
    )


def _split(input: Any, function: Callable[[bytes], list[bytes]]) -> Any:
    if isinstance(input, RaggedTensor):
        parts = _split(input.flat_values, function)
        return RaggedTensor.from_nested_row_splits(parts, input.nested_row_splits)
    x = convert_to_tensor(input)
    if isinstance(x, bytes):
        return wrap(np.array(function(bytes(x)), dtype=object))
    rows = [function(bytes(s)) for s in np.asarray(x).reshape(-1)]
    return _ragged_of(rows, object, x.shape)


def _ragged_of(rows: list[list[Any]], dtype: Any, shape: Any) -> RaggedTensor:
    """What each string of a tensor of this shape gave."""
    flat = np.array([item for row in rows for item in row], dtype)
    made = RaggedTensor.from_row_lengths(wrap(flat), [len(row) for row in rows])
    for size, count in zip(shape[:0:-1], np.cumprod(shape)[-2::-1]):
        made = RaggedTensor.from_row_lengths(made, np.full(count, size))
    return made


@traceable
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: Any = None) -> Any:
    """The parts of a string between separators; ragged for several strings.

    >>> import penstock.tf as tf
    >>> tf.strings.split("a b").numpy().tolist()
    [b'a', b'b']
    """
    if is_traced(input) and maxsplit == -1:
        return engine.split(input, sep or None)
    between = None if not sep else _text(convert_to_tensor(sep))
    return _split(input, lambda s: s.split(between, maxsplit))


@traceable
def substr(
    input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None
) -> Any:
    """`len` bytes from `pos`, which may count from the end."""

    if is_traced(input, pos, len) and unit == "BYTE":
        return engine.substr(_traced(input), pos, len)

    def part(s: bytes, start: Any, count: Any) -> bytes:
        at, size = int(start), int(count)
        text: Any = s.decode() if unit == "UTF8_CHAR" else s
        total = text.__len__()
        if not -total <= at <= total:
            raise InvalidArgumentError(
                f"substr: pos {at} out of range for string of length {total}"
            )
        begin = at if at >= 0 else total + at
        made = text[begin : begin + size]
        return made.encode() if isinstance(made, str) else bytes(made)

    return each_string(part, object, input, pos, len)


_HEX = re.compile(rb"\s*[+-]?0[xX]")


@traceable
def to_number(input: Any, out_type: Any = float32, name: str | None = None) -> Any:
    """Text as numbers.

    >>> import penstock.tf as tf
    >>> tf.strings.to_number(["1.5", "2"]).numpy()
    array([1.5, 2. ], dtype=float32)
    """
    kind = numpy_dtype(out_type)
    if is_traced(input):
        return engine.to_number(input, kind)

    def number(s: bytes) -> Any:
        try:
            if b"_" in s:  # Python's own numbers may have it
                raise ValueError
            if kind.kind not in "iu":
                return float.fromhex(s.decode()) if _HEX.match(s) else float(s)
            made = int(s)
            if not np.iinfo(kind).min <= made <= np.iinfo(kind).max:
                raise ValueError
            return made
        except (ValueError, OverflowError):
            raise InvalidArgumentError(
                "to_number: StringToNumberOp could not correctly convert string: "
                f"{s.decode(errors='replace')}"
            ) from None

    return each_string(number, kind, input)


def to_hash_bucket(input: Any, num_buckets: Any, name: str | None = None) -> Any:
    """A number below `num_buckets` for each string, TensorFlow's of version 1.

    >>> import penstock.tf as tf
    >>> tf.strings.to_hash_bucket(["cat", "dog"], 10).numpy().tolist()
    [5, 5]
    """
    count = int(num_buckets)
    return each_string(lambda s: _hash.hash64(s) % count, np.int64, input)


def to_hash_bucket_fast(input: Any, num_buckets: Any, name: str | None = None) -> Any:
    """A number below `num_buckets` for each string, TensorFlow's.

    >>> import penstock.tf as tf
    >>> tf.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy()
    array([0, 2, 2])
    """
    count = int(num_buckets)
    return each_string(lambda s: _hash.fingerprint64(s) % count, np.int64, input)


def to_hash_bucket_strong(
    input: Any, num_buckets: Any, key: Any, name: str | None = None
) -> Any:
    """The same by a key of two numbers, so that nobody can aim at a bucket."""
    count = int(num_buckets)
    first, second = (int(k) % 2**64 for k in key)
    return each_string(
        lambda s: _hash.siphash(s, first, second) % count, np.int64, input
    )


def _decoded(data: bytes, encoding: str, errors: str, replacement: int) -> str:
    """Text as TensorFlow decodes it: errors "strict", "replace" or "ignore"."""
    try:
        if errors == "replace" and replacement != 0xFFFD:
            found = data.decode(encoding, "replace")
            return found.replace(chr(0xFFFD), chr(replacement))
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"Invalid formatting on input string: {error}"
        ) from None


def _characters(
    input: Any,
    encoding: str,
    errors: str,
    replacement: int,
    dtype: Any,
    of: Callable[[str], Any],
) -> tuple[Any, Any]:
    """(what `of` gives of each character, the byte at which it begins)."""
    if isinstance(input, RaggedTensor):
        given = input.flat_values, encoding, errors, replacement, dtype, of
        splits = input.nested_row_splits
        chars, at = _characters(*given)
        return (
            RaggedTensor.from_nested_row_splits(chars, splits),
            RaggedTensor.from_nested_row_splits(at, splits),
        )
    x = convert_to_tensor(input)

    def parts(s: bytes) -> tuple[list[Any], list[int]]:
        text = _decoded(s, encoding, errors, replacement)
        ends = np.cumsum([0, *(len(c.encode(_plain_name(encoding))) for c in text)])
        return [of(c) for c in text], ends[:-1].tolist()

    if isinstance(x, bytes):
        found, starts = parts(bytes(x))
        return wrap(np.array(found, dtype)), wrap(np.array(starts, np.int64))
    rows = [parts(bytes(s)) for s in np.asarray(x).reshape(-1)]
    return (
        _ragged_of([row for row, _ in rows], dtype, x.shape),
        _ragged_of([row for _, row in rows], np.int64, x.shape),
    )


def _plain_name(encoding: str) -> str:
    """Without a mark of the byte order in front of every character."""
    return {"UTF-16": "UTF-16-BE", "UTF-32": "UTF-32-BE"}.get(
        encoding.upper(), encoding
    )


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The numbers of the characters."""
    given = (input, input_encoding, errors, replacement_char)
    return _characters(*given, np.int32, ord)[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """(the numbers of the characters, the bytes at which they begin)."""
    given = (input, input_encoding, errors, replacement_char)
    return _characters(*given, np.int32, ord)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """The characters of a string."""
    given = (input, input_encoding, errors, replacement_char)
    name = _plain_name(input_encoding)
    return _characters(*given, object, lambda c: c.encode(name))[0]


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """(the characters of a string, the bytes at which they begin)."""
    given = (input, input_encoding, errors, replacement_char)
    name = _plain_name(input_encoding)
    return _characters(*given, object, lambda c: c.encode(name))


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Text of the numbers of its characters.

    >>> import penstock.tf as tf
    >>> tf.strings.unicode_encode([71, 246], "UTF-8").numpy().decode()
    'Gö'
    """
    target = _plain_name(output_encoding)

    def text(points: Any) -> bytes:
        made = []
        for point in np.asarray(points).tolist():
            good = 0 <= point < 0x110000 and not 0xD800 <= point < 0xE000
            if not good and errors == "strict":
                raise InvalidArgumentError(f"unicode_encode: {point} is no character")
            if good or errors == "replace":
                made.append(chr(point if good else replacement_char))
        return "".join(made).encode(target)

    if not isinstance(input, RaggedTensor):
        input = convert_to_tensor(input)
        if input.ndim == 1:
            return Bytes(text(input))
    return wrap(np.array([text(row) for row in input], dtype=object))


def unicode_script(input: Any, name: str | None = None) -> Any:
    """The number of each code point's script, as ICU has them; -1 for none.

    >>> import penstock.tf as tf
    >>> tf.strings.unicode_script([ord("a"), ord("\u03b1"), -1]).numpy().tolist()
    [25, 14, -1]
    """
    eager_only("unicode_script", input)
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(unicode_script(input.flat_values))
    points = convert_to_tensor(input)
    if points.dtype != np.int32:
        raise InvalidArgumentError(
            f"unicode_script: input must be int32, got {points.dtype}"
        )
    return wrap(scripts_of(np.asarray(points))[()])


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Text in another encoding."""
    target = _plain_name(output_encoding)
    return each_string(
        lambda s: _decoded(s, input_encoding, errors, replacement_char).encode(target),
        object,
        input,
    )


def unsorted_segment_join(
    inputs: Any,
    segment_ids: Any,
    num_segments: Any,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """The strings of each segment as one."""
    texts = np.asarray(convert_to_tensor(inputs)).reshape(-1)
    groups = np.asarray(convert_to_tensor(segment_ids)).reshape(-1)
    between = _text(separator)
    made = [
        between.join(bytes(s) for s in texts[groups == i])
        for i in range(int(num_segments))
    ]
    return wrap(np.array(made, dtype=object))


over_values(
    globals(),
    "as_string join length lower upper strip regex_full_match regex_replace substr "
    "to_number to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong "
    "unicode_transcode",
)


def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Any:
    """The hash of each row of `data`, as eight bytes: to split a dataset by it.

    >>> import penstock.tf as tf
    >>> tf.fingerprint(["a"]).numpy().tolist()
    [[227, 117, 223, 182, 101, 66, 69, 179]]
    """
    if method != "farmhash64":
        raise InvalidArgumentError(
            f"fingerprint: method must be farmhash64, got {method!r}"
        )
    rows = convert_to_tensor(data)
    if not len(rows.shape):
        raise InvalidArgumentError("fingerprint: data must have rows, got a scalar")
    hashes = [_hash.fingerprint64(_row_bytes(row)) for row in np.asarray(rows)]
    made = np.array(hashes, "<u8").view(np.uint8)
    return wrap(made.reshape(len(hashes), 8))


def _row_bytes(row: Any) -> bytes:
    """What of a row is hashed: a string itself, of several their hashes."""
    if isinstance(row, bytes):
        return row
    if row.dtype == object:
        parts = [_hash.fingerprint64(bytes(s)) for s in row.reshape(-1)]
        return np.array(parts, "<u8").tobytes()
    data: bytes = np.ascontiguousarray(row).tobytes()
    return data


def __getattr__(name: str) -> Any:
    return _missing.resolve("strings", name)
