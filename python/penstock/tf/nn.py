"""`tf.nn`: the few functions that input pipelines use.

>>> import penstock.tf as tf
>>> tf.nn.relu([-1.0, 2.0]).numpy()
array([0., 2.], dtype=float32)
"""

from __future__ import annotations

from typing import Any

from penstock.tf import _missing, math
from penstock.tf._apply import traceable
from penstock.tf._values import convert_to_tensor

l2_normalize = math.l2_normalize
sigmoid = math.sigmoid
softplus = math.softplus
tanh = math.tanh


@traceable
def relu(features: Any, name: str | None = None) -> Any:
    """The value, or 0 where it is below."""
    return math.maximum(convert_to_tensor(features), 0)


@traceable
def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """exp(x) divided by its sum along an axis, the last by default."""
    at = -1 if axis is None else axis
    x = convert_to_tensor(logits)
    powers = math.exp(x - math.reduce_max(x, at, True))
    return powers / math.reduce_sum(powers, at, True)


@traceable
def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """(mean, variance) over axes."""
    return math.reduce_mean(x, axes, keepdims), math.reduce_variance(x, axes, keepdims)


def __getattr__(name: str) -> Any:
    return _missing.resolve("nn", name)
