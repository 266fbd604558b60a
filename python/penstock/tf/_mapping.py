"""Transformations that call a function on every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock._errors import InvalidArgumentError
from penstock._functions import check_callable, cpu_count
from penstock._options import AUTOTUNE
from penstock._spec import UNKNOWN_SPEC, TensorSpec
from penstock.tf._deriving import Deriving, whole
from penstock.tf._functions import Call, ScanCall, call
from penstock.tf._shapes import spec_to_tf
from penstock.tf._values import unwrap

if TYPE_CHECKING:
    from penstock.tf._dataset import Dataset


def _check_predicate(predicate: Any, elements: Any) -> None:
    """Fails where a trace shows that a predicate gives no truth value."""
    from penstock.tf._foretell import foretell

    if elements is UNKNOWN_SPEC:
        return
    spec = foretell(call("filter", predicate, "element"), elements)
    if isinstance(spec, TensorSpec) and (
        spec.dtype.name != "bool" or spec.shape not in (None, ())
    ):
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, "
            f"but its return type is {spec_to_tf(spec)}."
        )


class Mapping(Deriving):
    """Mixed into `Dataset`."""

    __slots__ = ()

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`map_func` of every element.

        Without `num_parallel_calls` one call at a time, in order; a function
        that runs natively has no effects that could tell, and runs in parallel.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(3).map(lambda x: x + 1)]
        [1, 2, 3]
        """
        fn = call("map", map_func, "element")
        engine = self._penstock_value
        calls = 1
        if num_parallel_calls is not None:
            calls = whole(num_parallel_calls, "num_parallel_calls")
            if calls == 0 or calls < AUTOTUNE:
                raise InvalidArgumentError(
                    f"map: num_parallel_calls must be greater than zero, got {calls}"
                )
        made = engine.map(fn, calls, deterministic=deterministic, name=name)
        spec = None
        if made.element_spec is UNKNOWN_SPEC:
            from penstock.tf._foretell import foretell

            spec = foretell(fn, engine.element_spec)
            if spec is not None:
                made = engine.map(
                    fn,
                    calls,
                    deterministic=deterministic,
                    output_signature=spec,
                    name=name,
                )
        native = _last_function(made).executor == "native"
        if num_parallel_calls is None and native:
            made = engine.map(fn, output_signature=spec, name=name)
        return self._as_long(self._then(made))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` is true.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(5).filter(lambda x: x % 2 == 0)]
        [0, 2, 4]
        """
        fn = call("filter", predicate, "predicate")
        serial = self._penstock_value.filter(fn, 1, name=name)
        if _last_function(serial).executor == "native":
            return self._same(self._penstock_value.filter(fn, name=name))
        _check_predicate(predicate, self._penstock_value.element_spec)
        return self._same(serial)

    def flat_map(
        self, map_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """`map_func` makes a dataset of each element; their elements in order.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(3).flat_map(lambda n: tf.data.Dataset.range(n))
        >>> [int(x) for x in ds]
        [0, 0, 1]
        """
        fn = _datasets("flat_map", map_func)
        engine = self._penstock_value
        return self._then(
            _with_spec(fn, engine, lambda spec: engine.flat_map(fn, spec, name=name))
        )

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Like `flat_map`, with `cycle_length` datasets taking turns.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(2).interleave(
        ...     lambda n: tf.data.Dataset.from_tensors(n).repeat(2), cycle_length=2)
        >>> [int(x) for x in ds]
        [0, 1, 0, 1]
        """
        fn = _datasets("interleave", map_func)
        calls = (
            None
            if num_parallel_calls is None
            else whole(num_parallel_calls, "num_parallel_calls")
        )
        cycle = (
            AUTOTUNE if cycle_length is None else whole(cycle_length, "cycle_length")
        )
        if cycle == AUTOTUNE:
            cycle = default_cycle(calls)
        block = 1 if block_length is None else whole(block_length, "block_length")
        calls = 1 if calls is None else calls
        engine = self._penstock_value
        return self._then(
            _with_spec(
                fn,
                engine,
                lambda spec: engine.interleave(
                    fn, cycle, block, calls, deterministic, spec, name=name
                ),
            )
        )

    def take_while(
        self, predicate: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """The elements before the first for which `predicate` is false.

        >>> import penstock.tf as tf
        >>> [int(x) for x in tf.data.Dataset.range(9).take_while(lambda x: x < 2)]
        [0, 1]
        """
        fn = call("take_while", predicate, "predicate")
        _check_predicate(predicate, self._penstock_value.element_spec)
        return self._same(self._penstock_value.take_while(fn, name=name))

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """``state, output = scan_func(state, element)``, one after the other.

        >>> import penstock.tf as tf
        >>> ds = tf.data.Dataset.range(4).scan(
        ...     tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
        >>> [int(x) for x in ds]
        [0, 1, 3, 6]
        """
        check_callable("scan", "scan_func", scan_func)
        spec = self._penstock_value.element_spec
        fn = ScanCall(scan_func, type(spec) is tuple)
        return self._then(
            self._penstock_value.scan(unwrap(initial_state), fn, name=name)
        )


def _with_spec(fn: Any, engine: Any, make: Callable[[Any], Any]) -> Any:
    """``make(None)``; where that knows no spec, with the one that is foretold."""
    made = make(None)
    if made.element_spec is not UNKNOWN_SPEC or not isinstance(fn, Call):
        return made
    from penstock.tf._foretell import foretell

    spec = foretell(fn, engine.element_spec)
    return made if spec is None else make(spec)


def _last_function(engine: Any) -> Any:
    """The function that the last call of a chain added."""
    return list(engine._functions.values())[-1]


def _datasets(op: str, fn: Any) -> Any:
    """A function that gives datasets; a reader's class opens files natively."""
    read = getattr(fn, "_penstock_reader", None)
    return call(op, fn, "dataset") if read is None else read


def default_cycle(calls: int | None) -> int:
    """TensorFlow's rule, which looks at the machine."""
    cores = cpu_count()
    if calls is None:
        return cores
    return max(1, cores // 2) if calls == AUTOTUNE else max(1, min(calls, cores))
