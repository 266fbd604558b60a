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
from penstock.tf._selection import gather
from penstock.tf._values import convert_to_tensor, wrap
from penstock.tf._windows import sizes, windows

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


# --- windows over pictures ------------------------------------------------------------


def _pictures(op: str, value: Any, data_format: Any) -> Any:
    eager_only(op, value)
    if data_format not in (None, "NHWC"):
        raise ValueError(f"{op}: data_format must be NHWC, got {data_format!r}")
    x = np.asarray(convert_to_tensor(value))
    if x.ndim != 4:
        raise ValueError(f"{op}: needs [batch, height, width, channels], got {x.shape}")
    return x


@traceable
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Pictures under filters of [height, width, channels, new channels]."""
    x = _pictures("conv2d", input, data_format)
    weights = np.asarray(convert_to_tensor(filters))
    far = 1 if dilations is None else dilations
    views = windows(x, weights.shape[:2], strides, padding, far, 0)
    made = np.einsum("bhwcij,ijco->bhwo", views, weights, optimize=True)
    return wrap(np.ascontiguousarray(made.astype(x.dtype)))


@traceable
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: Any = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Each channel of pictures under filters of its own, as a blur does it.

    >>> import numpy as np, penstock.tf as tf
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    >>> box = np.full((3, 3, 1, 1), 1 / 9, np.float32)
    >>> blurred = tf.nn.depthwise_conv2d(x, box, [1, 1, 1, 1], "VALID")
    >>> round(float(blurred[0, 0, 0, 0]), 4)
    4.0
    """
    x = _pictures("depthwise_conv2d", input, data_format)
    weights = np.asarray(convert_to_tensor(filter))
    far = 1 if dilations is None else dilations
    views = windows(x, weights.shape[:2], strides, padding, far, 0)
    made = np.einsum("bhwcij,ijcm->bhwcm", views, weights, optimize=True)
    return wrap(np.ascontiguousarray(made.reshape(*made.shape[:3], -1).astype(x.dtype)))


@traceable
def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """The largest value in each window."""
    x = _pictures("max_pool2d", input, data_format)
    low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    views = windows(x, sizes(ksize, "ksize"), strides, padding, 1, low)
    return wrap(np.ascontiguousarray(views.max((-2, -1))))


@traceable
def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """The mean of each window, of what is in the picture."""
    x = _pictures("avg_pool2d", input, data_format)
    size = sizes(ksize, "ksize")
    total = windows(x, size, strides, padding, 1, 0).sum((-2, -1))
    there = np.ones((1, *x.shape[1:3], 1), x.dtype)
    count = windows(there, size, strides, padding, 1, 0).sum((-2, -1))
    return wrap(np.ascontiguousarray((total / count).astype(x.dtype)))


@traceable
def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Any:
    """`value` with a number for each channel added."""
    x, b = convert_to_tensor(value), convert_to_tensor(bias)
    if (data_format or "N..C").startswith("NC"):
        b = np.reshape(b, (-1, *[1] * (x.ndim - 2)))
    return x + b


def embedding_lookup(
    params: Any, ids: Any, max_norm: Any = None, name: str | None = None
) -> Any:
    """Rows of a table.

    >>> import penstock.tf as tf
    >>> tf.nn.embedding_lookup(tf.constant([[1.0], [2.0]]), [1]).numpy()
    array([[2.]], dtype=float32)
    """
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise ValueError(
                f"embedding_lookup: params must be one tensor, got {len(params)} parts"
            )
        (params,) = params
    rows = gather(params, ids)
    if max_norm is None:
        return rows
    sizes_ = np.sqrt(np.sum(np.asarray(rows) ** 2, axis=-1, keepdims=True))
    return wrap(np.asarray(rows) * np.minimum(1, max_norm / np.maximum(sizes_, 1e-30)))


@traceable
def elu(features: Any, name: str | None = None) -> Any:
    """`features`, and exp(x) - 1 of what is negative."""
    x = convert_to_tensor(features)
    return math.maximum(x, 0) + math.exp(math.minimum(x, 0)) - 1


@traceable
def silu(features: Any, beta: Any = 1.0) -> Any:
    """``x * sigmoid(beta * x)``."""
    x = convert_to_tensor(features)
    return x * math.sigmoid(x * beta)


swish = silu


def __getattr__(name: str) -> Any:
    return _missing.resolve("nn", name)
