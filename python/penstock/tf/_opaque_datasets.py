"""Datasets in a trace for the spec alone: their elements' spec and nothing else."""

from __future__ import annotations

from typing import Any

from penstock._spec import UNKNOWN_SPEC
from penstock._spec import TensorSpec as EngineSpec
from penstock._trace_errors import refuse
from penstock.tf import _structure
from penstock.tf._opaque_value import Foreign, Opaque, known
from penstock.tf._paths import merged
from penstock.tf._shapes import spec_from_tf


class OpaqueDataset(Foreign):
    """A dataset of which only the spec of its elements is known."""

    def __init__(self, spec: Any) -> None:
        super().__init__("a dataset that no trace has")
        if spec is None or spec is UNKNOWN_SPEC:
            refuse("a dataset of unknown elements")
        self.spec = spec

    def _alike(self, *_: Any, **__: Any) -> OpaqueDataset:
        return OpaqueDataset(self.spec)

    take = skip = repeat = shuffle = prefetch = cache = shard = _alike
    filter = ignore_errors = with_options = take_while = unique = _alike

    def batch(
        self, batch_size: Any, drop_remainder: Any = False, *_: Any, **__: Any
    ) -> OpaqueDataset:
        exact = drop_remainder is True and type(batch_size) is int
        return OpaqueDataset(_stacked(self.spec, batch_size if exact else None))

    def unbatch(self, name: Any = None) -> OpaqueDataset:
        return OpaqueDataset(_row(self.spec))

    def concatenate(self, dataset: Any, name: Any = None) -> OpaqueDataset:
        if not isinstance(dataset, OpaqueDataset):
            refuse("a dataset that no trace has")
        return OpaqueDataset(merged(self.spec, dataset.spec))

    def enumerate(self, start: Any = 0, name: Any = None) -> OpaqueDataset:
        return OpaqueDataset((EngineSpec((), "int64"), self.spec))

    def _made(self, function: Any) -> Any:
        given = _value_of(self.spec)
        args = given if type(given) is tuple else (given,)
        return function(*(_structure.decode(a) for a in args))

    def map(self, map_func: Any, *_: Any, **__: Any) -> OpaqueDataset:
        from penstock.tf._foretell import spec_of_result

        return OpaqueDataset(spec_of_result(self._made(map_func)))

    def flat_map(self, map_func: Any, *_: Any, **__: Any) -> OpaqueDataset:
        made = self._made(map_func)
        if not isinstance(made, OpaqueDataset):
            refuse("no dataset of each element")
        return made

    interleave = flat_map

    def get_single_element(self, name: Any = None) -> Any:
        return _value_of(self.spec)

    def reduce(self, initial_state: Any, reduce_func: Any, name: Any = None) -> Any:
        if isinstance(initial_state, (tuple, list, dict)):
            refuse("a state of several values")
        kind, shape = known(initial_state)
        try:
            then, after = known(reduce_func(Opaque(kind, shape), self.as_element()))
        except TypeError:
            refuse("a state that no trace has")
        if then != kind:
            refuse("a state that changes its dtype")
        same = None if shape is None or after is None else tuple(shape) == tuple(after)
        return Opaque(kind, shape if same else None)

    def as_element(self) -> Any:
        return _structure.decode(_value_of(self.spec))


class OpaqueSources(Foreign):
    """`tf.data.Dataset`: what a generator gives is known if it is declared."""

    def __init__(self) -> None:
        super().__init__("Dataset")

    def from_generator(
        self,
        generator: Any,
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: Any = None,
    ) -> OpaqueDataset:
        from penstock.tf._sources import _signature

        if output_types is not None:
            output_signature = _signature(output_types, output_shapes)
        if output_signature is None:
            refuse("a generator without a signature")
        return OpaqueDataset(spec_from_tf(output_signature))

    def from_tensors(self, tensors: Any, name: Any = None) -> OpaqueDataset:
        from penstock.tf._foretell import spec_of_result

        return OpaqueDataset(spec_of_result(tensors))

    def from_tensor_slices(self, tensors: Any, name: Any = None) -> OpaqueDataset:
        return OpaqueDataset(_row(self.from_tensors(tensors).spec))

    def range(
        self, *args: Any, output_type: Any = "int64", name: Any = None
    ) -> OpaqueDataset:
        return OpaqueDataset(EngineSpec((), getattr(output_type, "name", output_type)))

    def zip(self, *args: Any, datasets: Any = None, name: Any = None) -> OpaqueDataset:
        parts = datasets if datasets is not None else args
        if len(args) == 1 and not isinstance(args[0], OpaqueDataset):
            parts = args[0]
        return OpaqueDataset(_zipped(parts))


def _zipped(parts: Any) -> Any:
    if isinstance(parts, OpaqueDataset):
        return parts.spec
    if isinstance(parts, dict):
        return {k: _zipped(v) for k, v in parts.items()}
    if isinstance(parts, tuple):
        return _structure.encode_tuple(parts, [_zipped(v) for v in parts])
    refuse("a dataset that no trace has")


def _value_of(spec: Any) -> Any:
    """An element of a spec."""
    if isinstance(spec, dict):
        return {k: _value_of(s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        return _structure.encode_tuple(spec, [_value_of(s) for s in spec])
    if not isinstance(spec, EngineSpec) or spec.dtype.name == "unknown":
        refuse("an element that no trace has")
    return Opaque(spec.dtype, spec.shape)


def _changed(spec: Any, change: Any) -> Any:
    """A spec whose tensors have another shape."""
    if isinstance(spec, dict):
        return {k: _changed(s, change) for k, s in spec.items()}
    if isinstance(spec, tuple):
        return _structure.encode_tuple(spec, [_changed(s, change) for s in spec])
    if not isinstance(spec, EngineSpec):
        refuse("a tensor that no trace has")
    shape = None if spec.shape is None else change(spec.shape)
    return EngineSpec(shape, spec.dtype)


def _stacked(spec: Any, size: int | None) -> Any:
    return _changed(spec, lambda shape: (size, *shape))


def _row(spec: Any) -> Any:
    def rest(shape: Any) -> Any:
        if not shape:
            refuse("rows of a scalar")
        return shape[1:]

    return _changed(spec, rest)
