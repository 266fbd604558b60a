"""`tf.train`: Examples for TFRecord files. Nothing here trains.

>>> import penstock.tf as tf
>>> example = tf.train.Example(features=tf.train.Features(feature={
...     "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"cat"]))}))
>>> parsed = tf.train.Example.FromString(example.SerializeToString())
>>> parsed.features.feature["name"].bytes_list.value
[b'cat']
"""

from __future__ import annotations

import copy
import operator
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import io as engine
from penstock._errors import DataLossError
from penstock.tf import _missing


class _Message:
    """What all messages have."""

    def CopyFrom(self, other: Any) -> None:
        """Takes what `other` holds."""
        if type(other) is not type(self):
            raise TypeError(
                f"CopyFrom: must be a {type(self).__name__}, got {type(other).__name__}"
            )
        vars(self).update(copy.deepcopy(vars(other)))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def _text(self) -> list[str]:
        """The lines of the message in protobuf's text format."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._text())


def _checked(owner: str, field: str, value: Any, kind: type) -> Any:
    """`value`, which must be a message of a kind; None passes."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(
            f"{owner}: {field} must be a tf.train.{kind.__name__}, got {value!r} of "
            f"{type(value).__name__}"
        )
    return value


def _block(name: str, lines: list[str]) -> list[str]:
    return [f"{name} {{", *(f"  {line}" for line in lines), "}"]


def _entries(name: str, messages: dict[str, Any]) -> list[str]:
    """A map's entries, by name."""
    lines: list[str] = []
    for key, message in sorted(messages.items()):
        quoted = _quoted(key.encode())
        lines += _block(name, [f"key: {quoted}", *_block("value", message._text())])
    return lines


def _quoted(value: bytes) -> str:
    """Bytes as a string of C: what is no printable ASCII in octal."""
    known = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    text = (known.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value)
    return f'"{"".join(text)}"'


def _shortest(value: float) -> str:
    """A float32 in six digits, or nine where those do not tell it from others."""
    text = f"{value:.6g}"
    return text if np.float32(text) == np.float32(value) else f"{value:.9g}"


class _List(_Message):
    """The values of a feature."""

    def __init__(self, value: Any = ()) -> None:
        self.value = [self._item(v) for v in value]

    def _item(self, value: Any) -> Any:
        raise NotImplementedError

    def _items(self) -> list[Any]:
        """The values, also those that were appended."""
        return [self._item(v) for v in self.value]

    def _text(self) -> list[str]:
        return [f"value: {self._shown(v)}" for v in self._items()]

    def _shown(self, value: Any) -> str:
        return str(value)


class BytesList(_List):
    """Strings."""

    def _item(self, value: Any) -> bytes:
        if not isinstance(value, (str, bytes, bytearray, memoryview)):
            raise TypeError(
                f"BytesList: the values must be bytes, got {value!r} of "
                f"{type(value).__name__}"
            )
        return value.encode() if isinstance(value, str) else bytes(value)

    def _shown(self, value: Any) -> str:
        return _quoted(value)


class FloatList(_List):
    """Floats."""

    def _item(self, value: Any) -> float:
        if value is None or isinstance(value, (str, bytes)):
            raise TypeError(f"FloatList: the values must be numbers, got {value!r}")
        return float(np.float32(value))

    def _shown(self, value: Any) -> str:
        return _shortest(value)


class Int64List(_List):
    """Whole numbers."""

    def _item(self, value: Any) -> int:
        try:
            truth = getattr(value, "dtype", None) == np.bool_ and not np.ndim(value)
            item = int(value) if truth else operator.index(value)
        except TypeError:
            raise TypeError(
                f"Int64List: the values must be whole numbers, got {value!r} of "
                f"{type(value).__name__}"
            ) from None
        if not -(2**63) <= item < 2**63:
            raise ValueError(f"Int64List: value out of range: {item}")
        return item


class Feature(_Message):
    """One of the three kinds of lists: the one that was given or is filled."""

    def __init__(
        self,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        given = [x for x in (bytes_list, float_list, int64_list) if x is not None]
        for x in given:
            if not isinstance(x, _List):
                raise TypeError(
                    f"Feature: a list must be a BytesList, FloatList or Int64List, got "
                    f"{x!r}"
                )
        self._named = given[0] if given else None
        self.bytes_list = bytes_list or BytesList()
        self.float_list = float_list or FloatList()
        self.int64_list = int64_list or Int64List()

    @property
    def _given(self) -> _List | None:
        lists = (self.bytes_list, self.float_list, self.int64_list)
        filled = [x for x in lists if x.value]
        if not filled or any(x is self._named for x in filled):
            return self._named
        return filled[-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Feature) and self._given == other._given

    __hash__ = None

    def HasField(self, field_name: str) -> bool:
        """Whether that list is the one that is set."""
        return self.WhichOneof("kind") == field_name

    def WhichOneof(self, group: str) -> str | None:
        """The name of the list that is set."""
        names = {
            BytesList: "bytes_list",
            FloatList: "float_list",
            Int64List: "int64_list",
        }
        return None if self._given is None else names[type(self._given)]

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The feature as bytes."""
        return _encoded(self)

    @staticmethod
    def FromString(data: Any) -> Feature:
        """The feature of these bytes."""
        return _feature(bytes(data))

    def ParseFromString(self, data: Any) -> int:
        """Takes the feature of these bytes; gives their length."""
        self.CopyFrom(Feature.FromString(data))
        return len(data)

    def _array(self) -> Any:
        given = self._given
        items = [] if given is None else given._items()
        if isinstance(given, BytesList):
            out = np.empty(len(items), object)
            out[:] = items
            return out
        return np.array(items, np.int64 if isinstance(given, Int64List) else np.float32)

    def _text(self) -> list[str]:
        name, given = self.WhichOneof("kind"), self._given
        return [] if name is None or given is None else _block(name, given._text())


class _Map(dict[str, Any]):
    """Messages by name; one that is asked for is there from then on."""

    def get_or_create(self, key: str) -> Any:
        """The same as ``map[key]``."""
        return self[key]


class _FeatureMap(_Map):
    def __missing__(self, key: str) -> Feature:
        made = self[key] = Feature()
        return made


class _FeatureListMap(_Map):
    def __missing__(self, key: str) -> FeatureList:
        made = self[key] = FeatureList()
        return made


class Features(_Message):
    """Features by name.

    >>> import penstock.tf as tf
    >>> example = tf.train.Example()
    >>> example.features.feature["size"].int64_list.value.extend([3, 4])
    >>> example.features.feature["size"].WhichOneof("kind")
    'int64_list'
    """

    def __init__(self, feature: dict[str, Feature] | None = None) -> None:
        self.feature = _FeatureMap(feature or {})
        for name, value in self.feature.items():
            _checked("Features", f"feature[{name!r}]", value, Feature)

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The features as bytes."""
        example = Example(self).SerializeToString()
        return next((body for _, body in _fields(example, 1)), b"")

    @staticmethod
    def FromString(data: Any) -> Features:
        """The features of these bytes."""
        return Example.FromString(_field(1, bytes(data))).features

    def ParseFromString(self, data: Any) -> int:
        """Takes the features of these bytes; gives their length."""
        self.CopyFrom(Features.FromString(data))
        return len(data)

    def _text(self) -> list[str]:
        return _entries("feature", self.feature)


class Example(_Message):
    """A record of named features."""

    def __init__(self, features: Features | None = None) -> None:
        _checked("Example", "features", features, Features)
        self.features = features or Features()

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The record as bytes, for a `TFRecordWriter`."""
        features = sorted(self.features.feature.items())
        if any(f._given is None for _, f in features):
            # The engine has no features without a list.
            entries = (
                _field(1, n.encode()) + _field(2, _encoded(f)) for n, f in features
            )
            return _field(1, b"".join(_field(1, entry) for entry in entries))
        made: bytes = engine.serialize_example({n: f._array() for n, f in features})
        return made

    def ByteSize(self) -> int:
        """How many bytes the record takes."""
        return len(self.SerializeToString())

    def ParseFromString(self, serialized: bytes) -> int:
        """Takes the features of a serialized record."""
        self.features = Example.FromString(serialized).features
        return len(serialized)

    @staticmethod
    def FromString(serialized: bytes) -> Example:
        """The record of its bytes."""
        found: dict[str, Feature] = {}
        for _, features in _fields(bytes(serialized), 1):
            for _, entry in _fields(features, 1):
                parts = dict(_fields(entry, 1, 2))
                found[bytes(parts.get(1, b"")).decode()] = _feature(parts.get(2, b""))
        return Example(Features(found))

    def _text(self) -> list[str]:
        lines = self.features._text()
        return _block("features", lines) if lines else []


class _Repeated(list[Feature]):
    """Features in order."""

    def add(self) -> Feature:
        """A new feature at the end."""
        self.append(Feature())
        return self[-1]


class FeatureList(_Message):
    """The features of a sequence's steps."""

    def __init__(self, feature: Any = ()) -> None:
        self.feature: _Repeated = _Repeated(feature)

    def _text(self) -> list[str]:
        return [line for f in self.feature for line in _block("feature", f._text())]


class FeatureLists(_Message):
    """Sequences by name."""

    def __init__(self, feature_list: dict[str, FeatureList] | None = None) -> None:
        self.feature_list = _FeatureListMap(feature_list or {})
        for name, value in self.feature_list.items():
            _checked("FeatureLists", f"feature_list[{name!r}]", value, FeatureList)

    def _text(self) -> list[str]:
        return _entries("feature_list", self.feature_list)


class SequenceExample(_Message):
    """A record of features and of sequences of features.

    >>> import penstock.tf as tf
    >>> steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i]))
    ...          for i in range(2)]
    >>> record = tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(
    ...     feature_list={"s": tf.train.FeatureList(feature=steps)}))
    >>> _, parsed = tf.io.parse_single_sequence_example(
    ...     record.SerializeToString(), None,
    ...     {"s": tf.io.FixedLenSequenceFeature([2], tf.int64)})
    >>> parsed["s"].numpy().tolist()
    [[0, 0], [1, 1]]
    """

    def __init__(
        self,
        context: Features | None = None,
        feature_lists: FeatureLists | None = None,
    ) -> None:
        _checked("SequenceExample", "context", context, Features)
        _checked("SequenceExample", "feature_lists", feature_lists, FeatureLists)
        self.context = context or Features()
        self.feature_lists = feature_lists or FeatureLists()

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The record as bytes, for a `TFRecordWriter`."""
        # The features of an Example are encoded as those of a context are.
        example = Example(self.context).SerializeToString()
        context = next((body for _, body in _fields(example, 1)), b"")
        lists = b""
        for name, steps in sorted(self.feature_lists.feature_list.items()):
            body = b"".join(_field(1, _encoded(f)) for f in steps.feature)
            lists += _field(1, _field(1, name.encode()) + _field(2, body))
        return _field(1, context) + _field(2, lists)

    @staticmethod
    def FromString(serialized: bytes) -> SequenceExample:
        """The record of its bytes."""
        made = SequenceExample(Example.FromString(serialized).features)
        for _, lists in _fields(bytes(serialized), 2):
            for _, entry in _fields(lists, 1):
                parts = dict(_fields(entry, 1, 2))
                steps = [_feature(body) for _, body in _fields(parts.get(2, b""), 1)]
                name = bytes(parts.get(1, b"")).decode()
                made.feature_lists.feature_list[name] = FeatureList(steps)
        return made

    def ParseFromString(self, serialized: bytes) -> int:
        """Takes the features of a serialized record."""
        made = SequenceExample.FromString(serialized)
        self.context, self.feature_lists = made.context, made.feature_lists
        return len(serialized)

    def _text(self) -> list[str]:
        parts = (
            ("context", self.context._text()),
            ("feature_lists", self.feature_lists._text()),
        )
        return [line for name, part in parts if part for line in _block(name, part)]


def _number(value: int) -> bytes:
    """A whole number as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, body: bytes) -> bytes:
    """A length-delimited field."""
    return _number(number << 3 | 2) + _number(len(body)) + body


def _encoded(feature: Feature) -> bytes:
    given = feature._given
    if given is None:
        return b""
    items = given._items()
    if isinstance(given, BytesList):
        return _field(1, b"".join(_field(1, v) for v in items))
    if isinstance(given, FloatList):
        packed = struct.pack(f"<{len(items)}f", *items)
        return _field(2, _field(1, packed) if packed else b"")
    whole = b"".join(_number(v % 2**64) for v in items)
    return _field(3, _field(1, whole) if whole else b"")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise DataLossError("Example: the record is cut")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def _fields(data: bytes, *numbers: int) -> Iterator[tuple[int, Any]]:
    """The length-delimited fields with these numbers."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise DataLossError("Example: the record is cut")
            if tag >> 3 in numbers:
                yield tag >> 3, data[at : at + size]
            at += size
        elif kind == 0:
            value, at = _varint(data, at)
            if tag >> 3 in numbers:
                yield tag >> 3, value
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            if tag >> 3 in numbers:
                yield tag >> 3, data[at : at + size]
            at += size
        else:
            raise DataLossError(f"Example: a field of wire type {kind}")


def _feature(data: bytes) -> Feature:
    for number, body in _fields(data, 1, 2, 3):
        values = [value for _, value in _fields(body, 1)]
        if number == 1:
            return Feature(bytes_list=BytesList(values))
        if number == 2:
            packed = b"".join(values)
            floats = struct.unpack(f"<{len(packed) // 4}f", packed)
            return Feature(float_list=FloatList(floats))
        whole: list[int] = []
        for value in values:
            if isinstance(value, int):
                whole.append(value)
                continue
            at = 0
            while at < len(value):
                item, at = _varint(value, at)
                whole.append(item)
        signed = [v - 2**64 if v >= 2**63 else v for v in whole]
        return Feature(int64_list=Int64List(signed))
    return Feature()


def __getattr__(name: str) -> Any:
    return _missing.resolve("train", name)
