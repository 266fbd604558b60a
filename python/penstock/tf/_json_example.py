"""Examples in JSON, as protocol buffers write them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf._apply import eager_only
from penstock.tf._values import convert_to_tensor, wrap
from penstock.tf.train import (
    BytesList,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
)


def _bytes(value: Any) -> bytes:
    text = value.replace("-", "+").replace("_", "/")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("a truth value is no number")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]+", value):
        raise ValueError(f"{value!r} is no whole number")
    if isinstance(value, (bool, float)):
        raise TypeError(f"{value!r} is no whole number")
    made = int(value)
    if not -(2**63) <= made < 2**63:
        raise ValueError(f"{value!r} does not fit 64 bits")
    return made


_LISTS: dict[str, tuple[str, Any, Any]] = {
    "bytesList": ("bytes_list", BytesList, _bytes),
    "floatList": ("float_list", FloatList, _float),
    "int64List": ("int64_list", Int64List, _whole),
}
_LISTS.update({own: (own, kind, item) for own, kind, item in [*_LISTS.values()]})


def _object(value: Any, *names: str) -> dict[str, Any]:
    """A JSON object that has no other names."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"an object is expected, got {value!r}")
    for name in value:
        if names and name not in names:
            raise ValueError(f"there is no field {name!r}")
    return value


def _feature(value: Any) -> Feature:
    given = {k: v for k, v in _object(value, *_LISTS).items() if v is not None}
    if len(given) > 1:
        raise ValueError(f"a feature is one list, got {sorted(given)}")
    for name, body in given.items():
        field, kind, item = _LISTS[name]
        values = _object(body, "value").get("value") or []
        if not isinstance(values, list):
            raise TypeError(f"a list is expected, got {values!r}")
        return Feature(**{field: kind([item(v) for v in values])})
    return Feature()


def _serialized(text: bytes) -> bytes:
    try:
        top = _object(json.loads(text.decode()), "features")
        found = _object(_object(top.get("features"), "feature").get("feature"))
        named = {name: _feature(feature) for name, feature in found.items()}
    except (ValueError, TypeError, AttributeError, binascii.Error) as error:
        raise InvalidArgumentError(
            f"decode_json_example: Error while parsing JSON: {error}"
        ) from None
    return Example(Features(named)).SerializeToString()


def decode_json_example(json_examples: Any, name: str | None = None) -> Any:
    """Examples in JSON as serialized Examples, for `tf.io.parse_example`.

    >>> import penstock.tf as tf
    >>> record = tf.io.decode_json_example(
    ...     '{"features": {"feature": {"x": {"int64List": {"value": [1, "2"]}}}}}')
    >>> tf.io.parse_single_example(record, {
    ...     "x": tf.io.FixedLenFeature([2], tf.int64)})["x"].numpy()
    array([1, 2])
    """
    eager_only("decode_json_example", json_examples)
    texts = convert_to_tensor(json_examples)
    if isinstance(texts, bytes):
        return wrap(_serialized(bytes(texts)))
    given = np.asarray(texts)
    out = np.empty(given.size, object)
    out[:] = [_serialized(text) for text in given.reshape(-1).tolist()]
    return wrap(out.reshape(given.shape))
