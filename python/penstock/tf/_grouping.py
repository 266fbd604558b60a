"""Transformations that collect elements by what a function says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock._spec import TensorSpec
from penstock.tf import _seeds
from penstock.tf._deriving import Deriving, whole
from penstock.tf._dtypes import int32
from penstock.tf._functions import call
from penstock.tf._making import cast
from penstock.tf._padding import padded_shapes_of, padding_of

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


class Grouping(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collects elements of equal key to windows, and reduces each.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(5).group_by_window(
        ...     lambda x: x % 2, lambda key, window: window.batch(5), 5)
        >>> [b.numpy().tolist() for b in ds]
        [[0, 2, 4], [1, 3]]
        """
        if window_size is not None and window_size_func is not None:
            raise ValueError(
                "Only one of the `window_size` and `window_size_func` arguments can "
                "be set."
            )
        if window_size is None and window_size_func is None:
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument "
                "must be specified."
            )
        sizes = None
        if window_size_func is not None:
            size_of = call("group_by_window", window_size_func, "number")

            def sizes(key: Any) -> int:
                return int(size_of(key))

        return self._then(
            self._penstock_value.group_by_window(
                call("group_by_window", key_func, "number"),
                call("group_by_window", reduce_func, "dataset"),
                None if window_size is None else whole(window_size, "window_size"),
                sizes,
                name=name,
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        >>> import penstock.tf as tf
        >>> rows = tf.data.Dataset.from_generator(
        ...     lambda: [[1], [1, 2, 3], [4]], tf.int32, [None])
        >>> ds = rows.bucket_by_sequence_length(
        ...     lambda row: tf.shape(row)[0], [2], [2, 2])
        >>> [b.numpy().tolist() for b in ds]
        [[[1], [4]], [[1, 2, 3]]]
        """
        op = "bucket_by_sequence_length"
        spec = self._penstock_value.element_spec
        return self._then(
            self._penstock_value.bucket_by_sequence_length(
                call(op, element_length_func, "number"),
                [whole(b, "bucket_boundaries") for b in bucket_boundaries],
                [whole(b, "bucket_batch_sizes") for b in bucket_batch_sizes],
                padded_shapes_of(padded_shapes, spec),
                padding_of(padding_values, spec),
                pad_to_bucket_boundary,
                no_padding,
                drop_remainder,
                name=name,
            )
        )

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """(class, element), dropped so that classes have the target shares.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(50).rejection_resample(
        ...     lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.5, 0.5], seed=1)
        >>> all(int(c) == int(x) % 2 for c, x in ds)
        True
        """
        engine = self._penstock_value.rejection_resample(
            call("rejection_resample", class_func, "number"),
            [float(p) for p in target_dist],
            None if initial_dist is None else [float(p) for p in initial_dist],
            _seeds.of(seed),
            name=name,
        )
        # Classes have the dtype that the function gives them, as far as that is
        # known; the engine's are int64.
        typed = call("rejection_resample", class_func, "element")
        spec = self._penstock_value.map(typed).element_spec
        if isinstance(spec, TensorSpec) and spec.dtype.name == "int32":
            engine = engine.map(call("rejection_resample", _narrow, "element"))
        return self._then(engine)


def _narrow(number: Any, element: Any) -> Any:
    return cast(number, int32), element
