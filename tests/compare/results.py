"""Results of calls in what JSON can hold, and how near two of them are."""

from __future__ import annotations

import numpy as np


def shown(value):
    """A result in what JSON can hold."""
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if isinstance(value, dict):
        return {str(k): shown(v) for k, v in sorted(value.items())}
    if hasattr(value, "to_list"):
        return {"ragged": texts(value.to_list())}
    if hasattr(value, "dense_shape"):
        return [shown(v) for v in (value.indices, value.values, value.dense_shape)]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if not hasattr(value, "dtype"):
        return texts(value)
    return {"dtype": value.dtype.name, "value": texts(value.tolist())}


def texts(value):
    """Nested lists with text for bytes."""
    if isinstance(value, list):
        return [texts(v) for v in value]
    return value.decode("latin-1") if isinstance(value, bytes) else value


def near(a, b):
    """Equal, floats to a few units of the last place of float32."""
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b
