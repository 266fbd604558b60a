"""Transformations that make one element of several, and several of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _arguments as check
from penstock._deriving import Deriving
from penstock._errors import ArgumentTypeError

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Batching(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def batch(
        self, n: int, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """`n` consecutive elements stacked to one.

        >>> import penstock as ps
        >>> ps.Dataset.range(5).batch(2, drop_remainder=True).to_list()
        [array([0, 1]), array([2, 3])]
        """
        native = self._native.batch(
            check.integer("batch", "batch_size", n),
            check.boolean("batch", "drop_remainder", drop_remainder),
            check.stage_name("batch", name),
        )
        return self._derive(
            native, "batch", n, drop_remainder=drop_remainder, name=name
        )

    def padded_batch(
        self,
        n: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`n` elements padded to one shape and stacked.

        >>> import penstock as ps
        >>> ds = ps.Dataset.from_list([[1], [2, 3]])
        >>> ds.padded_batch(2, padding_values=-1).to_list()
        [array([[ 1, -1],
               [ 2,  3]])]
        """
        op = "padded_batch"
        spec = self._native.element_spec
        native = self._native.padded_batch(
            check.integer(op, "batch_size", n),
            check.leaf_shapes(op, padded_shapes, spec),
            check.leaf_values(op, padding_values, spec),
            check.boolean(op, "drop_remainder", drop_remainder),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            n,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            drop_remainder=drop_remainder,
            name=name,
        )

    def ragged_batch(
        self, n: int, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """`n` elements as one, without padding: open shapes become ragged.

        >>> import penstock as ps
        >>> ps.Dataset.from_list([[1], [2, 3]]).ragged_batch(2).to_list()[0].to_list()
        [[1], [2, 3]]
        """
        native = self._native.ragged_batch(
            check.integer("ragged_batch", "batch_size", n),
            check.boolean("ragged_batch", "drop_remainder", drop_remainder),
            check.stage_name("ragged_batch", name),
        )
        return self._derive(
            native, "ragged_batch", n, drop_remainder=drop_remainder, name=name
        )

    def pack(
        self,
        length: Any,
        num_open: int = 1,
        split_long: bool = False,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Several sequences in each row of `length`, for training on text.

        Elements of rank-1 tensors become rows of values, segment ids (from 1; 0
        is padding) and positions. A tensor gives the tuple of the three, a key k
        of a dict the keys k, k_segment_ids and k_positions.

        >>> import penstock as ps
        >>> rows = ps.Dataset.from_list([[5, 6], [7], [8, 9]]).pack(4)
        >>> values, segments, positions = rows.to_list()[0]
        >>> values.tolist(), segments.tolist(), positions.tolist()
        ([5, 6, 7, 0], [1, 1, 2, 0], [0, 1, 0, 0])
        """
        lengths = (
            check.integers("pack", "length", length)
            if isinstance(length, (list, tuple))
            else [check.integer("pack", "length", length)]
        )
        values, nested = check.leaf_values(
            "pack", padding_values, self._native.element_spec
        )
        if nested is not None:
            raise ArgumentTypeError(
                "pack: padding_values must be one value where the element spec is "
                f"unknown, got {padding_values!r}"
            )
        native = self._native.pack(
            lengths,
            check.integer("pack", "num_open", num_open),
            check.boolean("pack", "split_long", split_long),
            values,
            check.boolean("pack", "drop_remainder", drop_remainder),
            check.stage_name("pack", name),
        )
        return self._derive(
            native,
            "pack",
            length,
            num_open=num_open,
            split_long=split_long,
            padding_values=padding_values,
            drop_remainder=drop_remainder,
            name=name,
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Every row of an element's first dimension as an element.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(4).batch(3).unbatch()]
        [0, 1, 2, 3]
        """
        native = self._native.unbatch(check.stage_name("unbatch", name))
        return self._derive(native, "unbatch", name=name)

    def rebatch(
        self, n: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of another size; a sequence of sizes is taken in turn.

        >>> import penstock as ps
        >>> [b.tolist() for b in ps.Dataset.range(5).batch(4).rebatch(2)]
        [[0, 1], [2, 3], [4]]
        """
        sizes = (
            check.integers("rebatch", "batch_size", n)
            if isinstance(n, (list, tuple))
            else [check.integer("rebatch", "batch_size", n)]
        )
        native = self._native.rebatch(
            sizes,
            check.boolean("rebatch", "drop_remainder", drop_remainder),
            check.stage_name("rebatch", name),
        )
        return self._derive(
            native, "rebatch", n, drop_remainder=drop_remainder, name=name
        )
