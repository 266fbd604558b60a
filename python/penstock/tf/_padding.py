"""Shapes and values of padded batches, as the engine takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _spec as engine_spec
from penstock.tf._dtypes import as_dtype
from penstock.tf._values import convert_to_tensor, unwrap


def padded_shapes_of(shapes: Any, spec: Any = None) -> Any:
    """Padded shapes with lists and tensors as tuples; a number is one of rank 1."""
    if isinstance(spec, dict) and isinstance(shapes, dict):
        return {k: padded_shapes_of(v, spec.get(k)) for k, v in shapes.items()}
    if isinstance(spec, tuple) and type(shapes) in (tuple, list):
        if len(spec) == len(shapes):
            return tuple(padded_shapes_of(*pair) for pair in zip(shapes, spec))
    if isinstance(spec, engine_spec.TensorSpec) and np.ndim(shapes) == 0:
        if hasattr(shapes, "__index__"):
            return (int(shapes),)
    if isinstance(shapes, dict):
        return {k: padded_shapes_of(v) for k, v in shapes.items()}
    if isinstance(shapes, np.ndarray):
        return tuple(int(d) for d in shapes)
    if isinstance(shapes, (tuple, list)):
        from penstock.tf._shapes import TensorShape

        if isinstance(shapes, TensorShape):
            return tuple(shapes) if shapes._known else None
        return tuple(padded_shapes_of(v) for v in shapes)
    return int(shapes) if hasattr(shapes, "__index__") else shapes


def padding_of(values: Any, spec: Any) -> Any:
    """Padding values in the dtypes of the elements."""
    if values is None:
        return None
    if isinstance(spec, dict):
        if not isinstance(values, dict):
            return {k: padding_of(values, s) for k, s in spec.items()}
        return {k: padding_of(values[k], s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        if not isinstance(values, (tuple, list)):
            values = [values] * len(spec)
        return tuple(padding_of(v, s) for v, s in zip(values, spec))
    if isinstance(spec, engine_spec.TensorSpec):
        if values is None:
            return b"" if spec.dtype.name == "string" else spec.dtype.dtype.type(0)
        if spec.dtype.name in ("string", "unknown"):
            return values
        if isinstance(values, (str, bytes)):
            raise TypeError(
                f"padded_batch: padding_values must be numbers of {spec.dtype.name}, "
                f"got {values!r}"
            )
        value = convert_to_tensor(values)
        if value.dtype != spec.dtype.dtype:
            raise TypeError(
                f"padded_batch: padding_values must be {spec.dtype.name} as the "
                f"elements are, got {values!r} of {as_dtype(value.dtype).name}; give "
                f"tf.constant({values!r}, tf.{spec.dtype.name})"
            )
        return np.asarray(value)[()]
    return unwrap(values)


def check_padding(spec: Any, shapes: Any) -> None:
    for leaf in _leaf_specs(spec):
        if leaf is None:
            raise TypeError("padded_batch is not supported for elements with None")
        tensor = isinstance(leaf, engine_spec.TensorSpec)
        if tensor and leaf.shape is None and shapes is None:
            raise ValueError(
                "You must provide `padded_shapes` argument because component "
                f"{leaf} has unknown rank."
            )


def _leaf_specs(spec: Any) -> list[Any]:
    if isinstance(spec, dict):
        return [leaf for s in spec.values() for leaf in _leaf_specs(s)]
    if isinstance(spec, tuple):
        return [leaf for s in spec for leaf in _leaf_specs(s)]
    return [spec]
