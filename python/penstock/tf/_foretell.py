"""The spec of what a function gives that runs as Python, without running it.

TensorFlow knows the dtypes of a `py_function`. Here a copy of the function is
traced in which everything without a native form is a `Foreign`, which may be
handed to `py_function` and to nothing else. What that gives is an `Opaque`
(`tf/_opaque_value.py`). Anything else that is tried with either ends the trace, and the
spec stays unknown. Branches on data are followed both ways (`tf/_paths.py`). The
programs that are written meanwhile are thrown away.
"""

from __future__ import annotations

import builtins
import functools
import types
from contextlib import nullcontext
from typing import Any

import numpy as np

from penstock import _penstock
from penstock._spec import UNKNOWN_SPEC, DatasetSpec, RaggedSpec, TensorSpec
from penstock._trace import _arguments, install_numpy_loops, leaves_of
from penstock._trace_errors import TraceRefused, refuse
from penstock._trace_inspect import WHILE_LOOP, Namespace, Sandbox
from penstock._trace_value import Tracer, current
from penstock.tf import _structure
from penstock.tf._opaque import OpaqueRagged, form_of
from penstock.tf._opaque_datasets import OpaqueDataset
from penstock.tf._opaque_value import Foreign, Opaque, known, taken
from penstock.tf._paths import Paths, bounded, merged
from penstock.tf._shapes import spec_from_tf, spec_to_tf
from penstock.tf._values import unwrap


class _Lenient(Sandbox):
    """What cannot be traced is there, but of no use."""

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect)
        self._foreign: set[types.CodeType] = set()
        self.has_while = False

    def resolve(self, value: Any, name: str) -> Any:
        form = form_of(value)
        if form is not None:
            return form
        try:
            return super().resolve(value, name)
        except TraceRefused:
            return Foreign(name)

    def _check_global(self, fn: Any, instructions: Any, at: int, names: Any) -> None:
        try:
            super()._check_global(fn, instructions, at, names)
        except TraceRefused:
            name = instructions[at].argval
            value = fn.__globals__.get(name, vars(builtins).get(name))
            if isinstance(value, types.ModuleType):
                names[name] = Namespace(value, self)
            else:
                form = form_of(value)
                names[name] = Foreign(name) if form is None else form

    def _check_instruction(self, code: Any, fn: Any, *rest: Any) -> None:
        try:
            super()._check_instruction(code, fn, *rest)
        except TraceRefused as refused:
            if refused.reason != WHILE_LOOP:
                raise
            self.has_while = True

    def member(self, module: Any, attribute: str, dotted: str) -> Any:
        try:
            return super().member(module, attribute, dotted)
        except TraceRefused:
            return Foreign(dotted)

    def _check_code(self, code: Any, fn: Any, names: Any, outer: Any) -> None:
        try:
            super()._check_code(code, fn, names, outer)
        except TraceRefused:
            if code is fn.__code__:
                raise
            self._foreign.add(code)

    def _copy(self, fn: types.FunctionType) -> Any:
        safe = super()._copy(fn)
        if self._foreign:
            safe.__code__ = self._without_foreign(fn.__code__)
            self.codes.add(safe.__code__)
        return safe

    def _without_foreign(self, code: types.CodeType) -> types.CodeType:
        """`code` in which functions that cannot be traced do nothing but fail."""
        consts = []
        for value in code.co_consts:
            if isinstance(value, types.CodeType):
                value = (
                    _fails.__code__.replace(co_freevars=value.co_freevars)
                    if value in self._foreign
                    else self._without_foreign(value)
                )
            consts.append(value)
        return code.replace(co_consts=tuple(consts))


def _fails(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError


def foretell(fn: Any, spec: Any) -> Any:
    """The spec of `fn` for elements of `spec`, None if nothing is known.

    `fn` is a `Call` that gives elements, or datasets of such.
    """
    if spec is UNKNOWN_SPEC:
        return None
    install_numpy_loops()
    try:
        dialect = type(fn).__penstock_dialect__
        sandbox = _Lenient(dialect)
        safe = _copy_of(fn.fn, sandbox)

        def trace() -> Any:
            return _traced(fn, safe, spec, sandbox, dialect)

        with bounded(sandbox.codes) if sandbox.has_while else nullcontext():
            found = Paths(sandbox.codes).all(trace)
        return functools.reduce(merged, found) if found else None
    except TraceRefused:
        return None
    except Exception:  # noqa: BLE001 (what it raises says the run, if it does)
        return None


def _traced(fn: Any, safe: Any, spec: Any, sandbox: _Lenient, dialect: Any) -> Any:
    """The spec of what one path through a function gives."""
    program = _penstock.Program(_ranked(spec))
    with Tracer(program, sandbox.codes, dialect) as tracer:
        tracer.unknown_part = _part
        argument = _symbols(program, program.input_nest(), spec)
        args = tuple(argument) if program.spreads else (argument,)
        with np.errstate(all="ignore"):
            made = safe(*(_structure.decode(a) for a in args))
        if fn.kind == "dataset":
            if not isinstance(made, OpaqueDataset):
                refuse("no dataset of known elements")
            found = made.spec
        else:
            found = spec_of_result(made)
        if tracer.refused is not None:
            raise tracer.refused
        return found


def _part(value: Any, key: Any) -> Opaque:
    """A part of an array whose size depends on data."""
    dtype, dims = known(value)
    if dims is None:
        refuse("takes a part of a value of unknown rank")
    return Opaque(dtype, taken(list(dims), key))


def _copy_of(fn: Any, sandbox: _Lenient) -> Any:
    """The function that is traced."""
    form = form_of(fn)
    if form is not None:
        return form
    if isinstance(fn, types.FunctionType):
        return sandbox.function(fn, fn.__qualname__)
    if isinstance(fn, types.MethodType):
        owner = form_of(fn.__self__)
        if owner is not None:
            return getattr(owner, fn.__name__)
    safe = sandbox.resolve(fn, type(fn).__name__)
    if isinstance(safe, Foreign):
        raise TraceRefused("no function of Python")
    return safe


def _ranked(spec: Any) -> Any:
    """A spec that a program takes; inputs of unknown rank are not used."""
    if isinstance(spec, dict):
        return {k: _ranked(s) for k, s in spec.items()}
    if isinstance(spec, tuple):
        return _structure.encode_tuple(spec, [_ranked(s) for s in spec])
    if isinstance(spec, TensorSpec) and spec.shape is None:
        return TensorSpec((), spec.dtype)
    return spec


def _symbols(program: Any, nest: Any, spec: Any) -> Any:
    if isinstance(nest, dict):
        return {k: _symbols(program, nest[k], spec[k]) for k in nest}
    if isinstance(nest, tuple):
        items = [_symbols(program, n, s) for n, s in zip(nest, spec)]
        return _structure.encode_tuple(nest, items)
    if isinstance(spec, DatasetSpec):
        return OpaqueDataset(spec.element_spec)
    if isinstance(spec, RaggedSpec):
        return OpaqueRagged(spec_to_tf(spec))
    if isinstance(spec, TensorSpec) and spec.shape is None:
        if spec.dtype.name == "unknown":
            refuse("the dtype is not known")
        return Opaque(spec.dtype)
    return _arguments(program, nest)


def spec_of_result(value: Any) -> Any:
    """The spec of what a function gives. Inside a trace."""
    if value is None:
        refuse("gives nothing")
    return _spec(tuple(value) if type(value) is list else value)


def _spec(value: Any) -> Any:
    if isinstance(value, Opaque):
        return TensorSpec(value.shape.dims, value.dtype)
    if isinstance(value, OpaqueRagged):
        return spec_from_tf(value.spec)
    if isinstance(value, OpaqueDataset):
        return DatasetSpec(value.spec)
    if value is None:
        return None
    if isinstance(value, dict):
        return {k: _spec(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return _structure.encode_tuple(value, [_spec(v) for v in value])
    if isinstance(value, (str, bytes)):
        return TensorSpec((), "string")
    splits: list[list[int]] = []
    nest = leaves_of(unwrap(value), splits)
    if any(splits):
        refuse("a ragged value")
    return current().program.nest_spec(nest)
