"""`tf.nn`: the few functions that input pipelines use.

>>> import penstock.tf as tf
>>> tf.nn.relu([-1.0, 2.0]).numpy()
array([0., 2.], dtype=float32)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.tf import _missing, math
from penstock.tf._apply import eager_only, traceable
from penstock.tf._values import convert_to_tensor, wrap

in_top_k = math.in_top_k
l2_normalize = math.l2_normalize
log_softmax = math.log_softmax
sigmoid = math.sigmoid
softmax = math.softmax
softplus = math.softplus
softsign = math.softsign
tanh = math.tanh
top_k = math.top_k
zero_fraction = math.zero_fraction


@traceable
def relu(features: Any, name: str | None = None) -> Any:
    """The value, or 0 where it is below."""
    return math.maximum(convert_to_tensor(features), 0)


@traceable
def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """(mean, variance) over axes."""
    return math.reduce_mean(x, axes, keepdims), math.reduce_variance(x, axes, keepdims)


@traceable
def relu6(features: Any, name: str | None = None) -> Any:
    """The value between 0 and 6."""
    return math.minimum(relu(features), 6)


@traceable
def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """The value, or `alpha` of it where it is below 0."""
    x = convert_to_tensor(features)
    return math.maximum(x, x * alpha)


def _blocks(value: Any, block_size: int, data_format: str) -> Any:
    if data_format != "NHWC":
        raise ValueError(f"data_format must be NHWC, got {data_format!r}")
    return np.asarray(convert_to_tensor(value)), int(block_size)


@traceable
def space_to_depth(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Blocks of pixels as channels."""
    eager_only("space_to_depth", input)
    x, b = _blocks(input, block_size, data_format)
    n, h, w, c = x.shape
    made = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return wrap(made.reshape(n, h // b, w // b, b * b * c))


@traceable
def depth_to_space(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Channels as blocks of pixels."""
    eager_only("depth_to_space", input)
    x, b = _blocks(input, block_size, data_format)
    n, h, w, c = x.shape
    made = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return wrap(made.reshape(n, h * b, w * b, c // (b * b)))


def __getattr__(name: str) -> Any:
    return _missing.resolve("nn", name)
