"""Transformations that call a function on every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _arguments as check
from penstock._by_value import by_value
from penstock._deriving import Deriving
from penstock._functions import Lowered, check_arity, check_callable, lower, lower_scan
from penstock._identity import function_identity
from penstock._options import AUTOTUNE, ErrorPolicy, error_policy
from penstock._spec import check_scalar_signature, check_signature
from penstock._windows import spec_of

if TYPE_CHECKING:
    from penstock._dataset import Dataset


class Mapping(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def map(
        self,
        fn: Callable[..., Any],
        num_parallel_calls: int = AUTOTUNE,
        deterministic: bool | None = None,
        executor: str = "auto",
        output_signature: Any = None,
        on_error: ErrorPolicy = None,
        name: str | None = None,
    ) -> Dataset:
        """`fn` of every element, in parallel, in order.

        Tuple elements are spread over the arguments; a dict is one argument.
        `fn` is called once per element and never when the graph is built.

        >>> import penstock as ps
        >>> ds = ps.Dataset.zip(ps.Dataset.range(3), ps.Dataset.range(3))
        >>> [int(x) for x in ds.map(lambda a, b: a + b)]
        [0, 2, 4]
        """
        return self._call_per_element(
            "map",
            "element",
            fn,
            num_parallel_calls,
            deterministic,
            executor,
            output_signature,
            on_error,
            name,
        )

    def filter(
        self,
        fn: Callable[..., Any],
        num_parallel_calls: int = AUTOTUNE,
        deterministic: bool | None = None,
        executor: str = "auto",
        output_signature: Any = None,
        on_error: ErrorPolicy = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements for which `fn` is true.

        `output_signature` is that of `fn`, a scalar: elements stay what they are.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(6).filter(lambda x: x % 3 == 0)]
        [0, 3]
        """
        check_scalar_signature("filter", output_signature)
        return self._call_per_element(
            "filter",
            "predicate",
            fn,
            num_parallel_calls,
            deterministic,
            executor,
            None,
            on_error,
            name,
        )

    def _call_per_element(
        self,
        op: str,
        kind: str,
        fn: Any,
        num_parallel_calls: Any,
        deterministic: Any,
        executor: str,
        output_signature: Any,
        on_error: ErrorPolicy,
        name: str | None,
    ) -> Dataset:
        lowered = lower(
            fn,
            kind,
            op,
            executor,
            self._native.element_spec,
            output_signature,
        )
        if num_parallel_calls is None:
            num_parallel_calls = AUTOTUNE
        calls = check.integer(op, "num_parallel_calls", num_parallel_calls)
        native = getattr(self._native, op)(
            lowered.handle,
            lowered.parallel_calls(calls),
            check.optional_boolean(op, "deterministic", deterministic),
            error_policy(op, on_error),
            check.stage_name(op, name),
        )
        kwargs: dict[str, Any] = {
            "num_parallel_calls": num_parallel_calls,
            "deterministic": deterministic,
            "executor": executor,
            "on_error": on_error,
            "name": name,
        }
        if kind == "element":
            kwargs["output_signature"] = output_signature
        return self._derive(native, op, lowered.fn, functions=(lowered,), **kwargs)

    def flat_map(
        self,
        fn: Callable[..., Any],
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """`fn` makes a dataset of each element; their elements in order.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4).flat_map(lambda n: ps.Dataset.range(n))
        >>> [int(x) for x in ds]
        [0, 0, 1, 0, 1, 2]
        """
        lowered = lower(
            fn,
            "dataset",
            "flat_map",
            "auto",
            spec_of(self),
            output_signature,
        )
        native = self._native.flat_map(
            lowered.handle, check.stage_name("flat_map", name)
        )
        return self._derive(
            native,
            "flat_map",
            lowered.fn,
            functions=(lowered,),
            output_signature=output_signature,
            name=name,
        )

    def interleave(
        self,
        fn: Callable[..., Any],
        cycle_length: int = AUTOTUNE,
        block_length: int = 1,
        num_parallel_calls: int = AUTOTUNE,
        deterministic: bool | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Like `flat_map`, with `cycle_length` datasets taking turns.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(2).interleave(
        ...     lambda n: ps.Dataset.from_tensors(n).repeat(2), cycle_length=2)
        >>> [int(x) for x in ds]
        [0, 1, 0, 1]
        """
        op = "interleave"
        lowered = lower(fn, "dataset", op, "auto", spec_of(self), output_signature)
        if num_parallel_calls is None:
            num_parallel_calls = AUTOTUNE
        if cycle_length is None:
            cycle_length = AUTOTUNE
        native = self._native.interleave(
            lowered.handle,
            check.integer(op, "cycle_length", cycle_length),
            check.integer(op, "block_length", block_length),
            check.integer(op, "num_parallel_calls", num_parallel_calls),
            check.optional_boolean(op, "deterministic", deterministic),
            check.stage_name(op, name),
        )
        return self._derive(
            native,
            op,
            lowered.fn,
            functions=(lowered,),
            cycle_length=cycle_length,
            block_length=block_length,
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
            output_signature=output_signature,
            name=name,
        )

    def take_while(self, fn: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `fn` is false.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter().take_while(lambda x: x < 3)]
        [0, 1, 2]
        """
        lowered = lower(
            fn, "predicate", "take_while", "auto", self._native.element_spec
        )
        native = self._native.take_while(
            lowered.handle, check.stage_name("take_while", name)
        )
        return self._derive(
            native, "take_while", lowered.fn, functions=(lowered,), name=name
        )

    def scan(
        self,
        init: Any,
        fn: Callable[..., Any],
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """``state, output = fn(state, element)``, one call after the other.

        The state is saved with `Iterator.state_dict`, as a value.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5).scan(0, lambda s, x: (s + x, s + x))
        >>> [int(x) for x in ds]
        [0, 1, 3, 6, 10]
        """
        check_callable("scan", "fn", fn)
        signature = check_signature("scan", output_signature)
        check_arity("scan", fn, self._native.element_spec, states=1)
        fn = by_value(fn)
        lowered, spec = lower_scan(fn, init, self._native.element_spec, signature)
        traced = isinstance(lowered, Lowered)
        native = self._native.scan(
            init,
            lowered.handle if traced else fn,
            function_identity(fn),
            spec if traced and signature is None else signature,
            check.stage_name("scan", name),
        )
        return self._derive(
            native,
            "scan",
            init,
            fn,
            functions=(lowered,) if traced else (),
            output_signature=output_signature,
            name=name,
        )
