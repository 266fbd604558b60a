"""`tf.linalg`: what pipelines use of matrices. Most of it runs as Python.

>>> import penstock.tf as tf
>>> tf.linalg.band_part([[1, 2], [3, 4]], 0, -1).numpy().tolist()
[[1, 2], [0, 4]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._errors import InvalidArgumentError
from penstock.tf import _missing
from penstock.tf._apply import eager_only, traceable
from penstock.tf._making import eye as eye
from penstock.tf._scatter import einsum as einsum
from penstock.tf._scatter import norm as norm
from penstock.tf._scatter import tensordot as tensordot
from penstock.tf._values import convert_to_tensor, wrap
from penstock.tf.math import l2_normalize as l2_normalize
from penstock.tf.math import matmul as matmul


def _array(op: str, value: Any) -> Any:
    eager_only(op, value)
    return np.asarray(convert_to_tensor(value))


@traceable
def band_part(input: Any, num_lower: Any, num_upper: Any, name: Any = None) -> Any:
    """The middle of matrices, zeros elsewhere; a negative number keeps a side."""
    x = _array("band_part", input)
    lower, upper = int(num_lower), int(num_upper)
    away = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    kept = ((lower < 0) | (-away <= lower)) & ((upper < 0) | (away <= upper))
    return wrap(np.where(kept, x, np.zeros((), x.dtype)))


def _one_diagonal(op: str, k: Any) -> int:
    if np.ndim(k):
        raise InvalidArgumentError(f"{op}: k must be one diagonal, got {k!r}")
    return int(k)


@traceable
def diag(
    diagonal: Any,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Matrices that have these values on one diagonal."""
    x = _array("diag", diagonal)
    off = _one_diagonal("diag", k)
    rows, columns = x.shape[-1] + max(-off, 0), x.shape[-1] + max(off, 0)
    if num_rows < 0 and num_cols < 0:
        rows = columns = max(rows, columns)
    rows = int(num_rows) if num_rows > 0 else rows
    columns = int(num_cols) if num_cols > 0 else columns
    out = np.full((*x.shape[:-1], rows, columns), padding_value, x.dtype)
    places = np.arange(x.shape[-1])
    out[..., places + max(-off, 0), places + max(off, 0)] = x
    return wrap(out)


@traceable
def diag_part(
    input: Any,
    name: str | None = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """One diagonal of matrices."""
    x = _array("diag_part", input)
    off = _one_diagonal("diag_part", k)
    return wrap(np.diagonal(x, off, -2, -1).copy())


@traceable
def trace(x: Any, name: str | None = None) -> Any:
    """The sum of the diagonal."""
    values = _array("trace", x)
    made = np.trace(values, axis1=-2, axis2=-1)
    return wrap(np.asarray(made).astype(values.dtype)[()])


@traceable
def matrix_transpose(
    a: Any, name: str | None = "matrix_transpose", conjugate: bool = False
) -> Any:
    """Matrices with rows and columns exchanged."""
    return wrap(np.ascontiguousarray(np.swapaxes(_array("transpose", a), -1, -2)))


@traceable
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Matrices times vectors."""
    x, y = _array("matvec", a), _array("matvec", b)
    if transpose_a or adjoint_a:
        x = np.swapaxes(x, -1, -2)
    return wrap((x @ y[..., None])[..., 0])


@traceable
def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: Any = None
) -> Any:
    """(the values divided by their norm, the norm)."""
    size = norm(tensor, ord, axis, keepdims=True)
    return convert_to_tensor(tensor) / size, size


def _square(op: str, value: Any) -> Any:
    x = _array(op, value)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"{op}: Input matrix must be square, got {x.shape}")
    return x


@traceable
def det(input: Any, name: str | None = None) -> Any:
    """The determinant."""
    x = _square("det", input)
    return wrap(np.asarray(np.linalg.det(x)).astype(x.dtype)[()])


@traceable
def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """The inverse matrix."""
    x = _square("inv", input)
    try:
        made = np.linalg.inv(x).astype(x.dtype)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError("inv: Input is not invertible.") from None
    return wrap(np.swapaxes(made, -1, -2) if adjoint else made)


@traceable
def cholesky(input: Any, name: str | None = None) -> Any:
    """The lower factor of a positive matrix."""
    x = _square("cholesky", input)
    try:
        return wrap(np.linalg.cholesky(x).astype(x.dtype))
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(
            "cholesky: the matrix is not positive definite"
        ) from None


@traceable
def cross(a: Any, b: Any, name: str | None = None) -> Any:
    """The cross product of vectors of three values."""
    return wrap(np.cross(_array("cross", a), _array("cross", b)))


def __getattr__(name: str) -> Any:
    return _missing.resolve("linalg", name)
