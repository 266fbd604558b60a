"""Transformations that collect elements to windows, by place or by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _arguments as check
from penstock._by_value import by_value
from penstock._deriving import Deriving
from penstock._errors import InvalidArgumentError
from penstock._functions import check_callable, dataset_function, lower
from penstock._identity import function_identity
from penstock._spec import UNKNOWN_SPEC, DatasetSpec, TensorSpec

if TYPE_CHECKING:
    from penstock._dataset import Dataset


# Whose elements are those of their input.
_PASSING = frozenset(
    "take skip shuffle repeat prefetch cache filter take_while shard ignore_errors "
    "with_options".split()
)


def spec_of(dataset: Any) -> Any:
    """The spec of a dataset's elements; of windows also what they consist of."""
    spec = dataset._native.element_spec
    at = dataset
    while _has_datasets(spec) and at._recipe is not None:
        if at._recipe.method == "window":
            before = spec_of(at._recipe.parent)
            return spec if before is UNKNOWN_SPEC else _windows_of(before)
        if at._recipe.method not in _PASSING:
            break
        at = at._recipe.parent
    return spec


def _has_datasets(spec: Any) -> bool:
    if isinstance(spec, dict):
        return any(_has_datasets(s) for s in spec.values())
    if isinstance(spec, tuple):
        return any(_has_datasets(s) for s in spec)
    return isinstance(spec, DatasetSpec)


def _windows_of(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {k: _windows_of(s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        items = [_windows_of(s) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    return DatasetSpec(spec)


class Windows(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Windows of `size` elements, each a dataset of its own.

        >>> import penstock as ps
        >>> windows = ps.Dataset.range(5).window(3, shift=2, drop_remainder=True)
        >>> [[int(x) for x in w] for w in windows]
        [[0, 1, 2], [2, 3, 4]]
        """
        native = self._native.window(
            check.integer("window", "size", size),
            check.optional_integer("window", "shift", shift),
            check.integer("window", "stride", stride),
            check.boolean("window", "drop_remainder", drop_remainder),
            check.stage_name("window", name),
        )
        return self._derive(
            native,
            "window",
            size,
            shift=shift,
            stride=stride,
            drop_remainder=drop_remainder,
            name=name,
        )

    def group_by_window(
        self,
        key_fn: Callable[..., Any],
        reduce_fn: Callable[[Any, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[int], int] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collects elements of equal ``key_fn(element)`` to windows.

        The elements of ``reduce_fn(key, window)``, where window is a dataset,
        follow when the window is full; what is left at the end, in key order.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(7).group_by_window(
        ...     lambda x: x % 2, lambda key, window: window.batch(3), 3)
        >>> [batch.tolist() for batch in ds]
        [[0, 2, 4], [1, 3, 5], [6]]
        """
        op = "group_by_window"
        if (window_size is None) == (window_size_func is None):
            raise InvalidArgumentError(
                f"{op}: give either window_size or window_size_func"
            )
        if window_size_func is not None:
            check_callable(op, "window_size_func", window_size_func)
        elif check.integer(op, "window_size", window_size) < 1:
            raise InvalidArgumentError(
                f"{op}: window_size must be >= 1, got {window_size}"
            )
        check_callable(op, "key_fn", key_fn)
        check_callable(op, "reduce_fn", reduce_fn)
        spec = self._native.element_spec
        key = lower(key_fn, "number", op, "auto", spec)
        if window_size_func is None:
            inner = None if spec is UNKNOWN_SPEC else spec_of(self)
            of_window = (TensorSpec((), "int64"), DatasetSpec(inner))
            reduce = lower(reduce_fn, "dataset", op, "auto", of_window)
        else:
            reduce_fn = by_value(reduce_fn)
            window_size_func = by_value(window_size_func)
            # The engine knows no identity of window_size_func.
            reduce = dataset_function(
                reduce_fn, function_identity((reduce_fn, window_size_func))
            )
            reduce.fn = reduce_fn
        native = self._native.group_by_window(
            key.handle,
            reduce.handle,
            0 if window_size is None else check.integer(op, "window_size", window_size),
            window_size_func,
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            key.fn,
            reduce.fn,
            functions=(key, reduce),
            window_size=window_size,
            window_size_func=window_size_func,
            name=name,
        )

    def bucket_by_sequence_length(
        self,
        len_fn: Callable[..., Any],
        boundaries: Any,
        batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        Bucket i takes lengths in ``[boundaries[i - 1], boundaries[i])`` and
        makes batches of ``batch_sizes[i]``.

        >>> import penstock as ps
        >>> rows = ps.Dataset.from_list([[1], [1, 2, 3], [4], [5, 6, 7, 8]])
        >>> ds = rows.bucket_by_sequence_length(len, [2], [2, 2])
        >>> [batch.tolist() for batch in ds]
        [[[1], [4]], [[1, 2, 3, 0], [5, 6, 7, 8]]]
        """
        op = "bucket_by_sequence_length"
        check_callable(op, "len_fn", len_fn)
        spec = self._native.element_spec
        length = lower(len_fn, "number", op, "auto", spec)
        native = self._native.bucket_by_sequence_length(
            length.handle,
            check.integers(op, "boundaries", boundaries),
            check.integers(op, "batch_sizes", batch_sizes),
            check.leaf_shapes(op, padded_shapes, spec),
            check.leaf_values(op, padding_values, spec),
            check.boolean(op, "pad_to_bucket_boundary", pad_to_bucket_boundary),
            check.boolean(op, "no_padding", no_padding),
            check.boolean(op, "drop_remainder", drop_remainder),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            length.fn,
            boundaries,
            batch_sizes,
            functions=(length,),
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_bucket_boundary=pad_to_bucket_boundary,
            no_padding=no_padding,
            drop_remainder=drop_remainder,
            name=name,
        )
