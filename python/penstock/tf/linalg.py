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


@traceable
def svd(
    tensor: Any,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Singular values, and the matrices u and v around them.

    >>> import penstock.tf as tf
    >>> tf.linalg.svd([[2.0, 0.0], [0.0, 3.0]])[0].numpy()
    array([3., 2.], dtype=float32)
    """
    x = _array("svd", tensor)
    if not compute_uv:
        return wrap(np.linalg.svd(x, compute_uv=False))
    u, s, v = np.linalg.svd(x, full_matrices)
    return wrap(s), wrap(u), wrap(np.ascontiguousarray(np.swapaxes(v, -1, -2)))


@traceable
def eigh(tensor: Any, name: str | None = None) -> Any:
    """Eigenvalues of a symmetric matrix, rising, and their vectors as columns."""
    values, vectors = np.linalg.eigh(_square("eigh", tensor))
    return wrap(values), wrap(vectors)


@traceable
def eigvalsh(tensor: Any, name: str | None = None) -> Any:
    """Eigenvalues of a symmetric matrix, rising."""
    return wrap(np.linalg.eigvalsh(_square("eigvalsh", tensor)))


@traceable
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """An orthogonal and an upper matrix of which `input` is the product."""
    x = _array("qr", input)
    return tuple(
        wrap(m) for m in np.linalg.qr(x, "complete" if full_matrices else "reduced")
    )


@traceable
def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """x of ``matrix @ x = rhs``."""
    x = _square("solve", matrix)
    try:
        turned = np.swapaxes(x, -1, -2) if adjoint else x
        return wrap(np.linalg.solve(turned, _array("solve", rhs)))
    except np.linalg.LinAlgError:
        raise InvalidArgumentError("solve: Input matrix is not invertible.") from None


@traceable
def pinv(
    a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """The pseudo-inverse."""
    x = _array("pinv", a)
    least = 10.0 * max(x.shape[-2:]) * np.finfo(x.dtype).eps if rcond is None else rcond
    return wrap(np.linalg.pinv(x, least).astype(x.dtype))


@traceable
def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """How many singular values are not zero."""
    ranks = np.linalg.matrix_rank(_array("matrix_rank", a), tol)
    return wrap(np.asarray(ranks).astype(np.int32)[()])


@traceable
def adjoint(matrix: Any, name: str | None = None) -> Any:
    """The conjugate, transposed."""
    turned = np.swapaxes(_array("adjoint", matrix), -1, -2)
    return wrap(np.ascontiguousarray(np.conj(turned)))


@traceable
def tensor_diag(diagonal: Any, name: str | None = None) -> Any:
    """A tensor of twice the dimensions, with these values on its diagonal."""
    x = _array("tensor_diag", diagonal)
    return wrap(np.diag(x.reshape(-1)).reshape(x.shape * 2))


@traceable
def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The Euclidean norm of several tensors together; None counts nothing."""
    parts = [_array("global_norm", t) for t in t_list if t is not None]
    return wrap(np.sqrt(sum(np.sum(p * p) for p in parts)))


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Tensors, made smaller so that their norm together is at most `clip_norm`."""
    total = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    factor = np.float32(clip_norm) / max(np.float32(total), np.float32(clip_norm))
    scaled = [
        None if t is None else convert_to_tensor(t) * wrap(np.float32(factor))
        for t in t_list
    ]
    return scaled, total


def __getattr__(name: str) -> Any:
    return _missing.resolve("linalg", name)
