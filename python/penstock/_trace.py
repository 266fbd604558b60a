"""The native rung: Python functions as programs of the engine.

    inspected = Inspected(fn)          # bytecode only, nothing runs
    program = inspected.trace(spec)    # for elements of this spec

Either may raise `TraceRefused`, which says why and on which line. The function
itself is never called: a copy that can reach nothing but constants and native
operations is, with symbols for its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from penstock import _penstock
from penstock._errors import InvalidArgumentError
from penstock._kinds import defaults_of
from penstock._look import in_class, look
from penstock._ragged import Ragged
from penstock._spec import UNKNOWN_SPEC, DatasetSpec, TensorSpec
from penstock._trace_errors import TraceRefused, WrongSignature, line_in, line_of
from penstock._trace_inspect import inspect_function
from penstock._trace_methods import array
from penstock._trace_numpy import as_constant, cast, ufunc
from penstock._trace_ragged import TracedRagged
from penstock._trace_value import (
    ConstantBytes,
    Traced,
    TracedBytes,
    Tracer,
    constant_strings,
    current_or_none,
)

_loops_installed = False


def install_numpy_loops() -> None:
    """Lets programs compute exp, sin and so on with NumPy's own loops."""
    global _loops_installed
    if _loops_installed:
        return
    _loops_installed = True
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh "
        "cosh tanh arcsinh arccosh arctanh cbrt power arctan2 hypot fmax fmin logaddexp"
    ).split():
        _penstock.set_numpy_loop(name, getattr(np, name))


class Inspected:
    """A function that inspection found to be traceable."""

    def __init__(self, fn: Any) -> None:
        install_numpy_loops()
        outer = current_or_none()
        code = None if outer is None else look(fn, "__code__")
        if outer is not None and type(code) is CodeType and code in outer.codes:
            # Defined by a function that is being traced: it was inspected then.
            self._safe = look(fn, "__penstock_function__", fn)
            check_cells(self._safe)
            self._codes = outer.codes
        else:
            self._safe, self._codes = inspect_function(fn)
        # Where a front end's operators differ from NumPy's.
        self._dialect = look(fn, "__penstock_dialect__")

    def trace(self, spec: Any, kind: str = "element") -> Any:
        """The program for elements of `spec`."""
        splits: list[list[int]] = []
        program, nest, _ = self._run(
            spec, kind, lambda result: _result(result, kind, splits)
        )
        program.finish(nest, splits)
        return program

    def template(self, spec: Any, signature: Any) -> Any:
        """The template of a function that returns a dataset, and its prototype."""
        from penstock._template import template

        program, result, holes = self._run(spec, "dataset", lambda result: result)
        return template(program, result, holes, signature)

    def _run(self, spec: Any, kind: str, finish: Any) -> tuple[Any, Any, list[Any]]:
        try:
            program = _penstock.Program(spec)
        except Exception as error:
            raise TraceRefused(str(error)) from None
        tracer = Tracer(program, self._codes, self._dialect)
        with tracer:
            argument = _arguments(
                program, program.input_nest(), spec if kind == "dataset" else None
            )
            args = tuple(argument) if program.spreads else (argument,)
            try:
                with np.errstate(all="ignore"):
                    result = finish(self._call(args, kind))
            except TraceRefused as refused:
                raise (tracer.refused or refused) from None
            except RecursionError:
                raise TraceRefused("recursion is too deep") from None
            except Exception as error:
                raise TraceRefused(
                    f"tracing it raised {type(error).__name__}: {error}",
                    line_in(error, self._codes),
                ) from None
            if tracer.refused is not None:
                raise tracer.refused
        return program, result, tracer.holes

    def _call(self, args: tuple[Any, ...], kind: str) -> Any:
        if self._dialect is None:
            return self._safe(*args)
        result = self._safe(*(self._dialect.argument(a) for a in args))
        return self._dialect.result(result, kind)

    def checked(self, spec: Any, kind: str, signature: Any) -> Any:
        """The same; what the user declared about the result must hold."""
        program = self.trace(spec, kind)
        if signature is not None and not program.fits(signature):
            raise self.wrong(program.output_spec, signature)
        return program

    def wrong(self, given: Any, declared: Any) -> WrongSignature:
        code = getattr(self._safe, "__code__", None)
        return WrongSignature(
            f"it gives {given}, declared is {declared}",
            "" if code is None else line_of(code, None),
        )


def _arguments(program: Any, nest: Any, spec: Any = None) -> Any:
    """Symbols in place of the leaves' numbers; with `spec`, also of datasets."""
    if isinstance(nest, dict):
        return {
            k: _arguments(program, v, None if spec is None else spec[k])
            for k, v in nest.items()
        }
    if isinstance(nest, tuple):
        specs = [None] * len(nest) if spec is None else spec
        items = [_arguments(program, v, s) for v, s in zip(nest, specs)]
        return type(nest)(*items) if hasattr(nest, "_fields") else tuple(items)
    if isinstance(nest, Ragged):
        return TracedRagged(
            _arguments(program, nest.values[()]),
            tuple(_arguments(program, s[()]) for s in nest.nested_row_splits),
        )
    if not isinstance(nest, (int, np.integer)):
        raise TraceRefused("elements of this structure have no native form")
    number = int(nest)
    if isinstance(spec, DatasetSpec):
        from penstock._template import window

        return window(number, spec.element_spec)
    dtype, shape = program.describe(number)
    if dtype is None:
        raise TraceRefused("the dtype is not known, or it is a dataset")
    if dtype == np.dtype(object):
        return TracedBytes(number, shape)
    if dtype.kind not in "biuf":
        raise TraceRefused(f"{dtype} has no native form")
    if shape is None:
        raise TraceRefused("the rank is not known when the function is traced")
    return Traced(number, dtype, shape)


def _result(value: Any, kind: str, splits: list[list[int]]) -> Any:
    """The numbers of the result's leaves, in its structure.

    `splits` gets the row splits of each leaf, none for a dense one.
    """
    if kind == "predicate":
        return _truth(value)._id
    if kind == "number":
        if not isinstance(value, Traced):
            value = as_constant(np.asarray(value))
        if value.ndim or value.dtype.kind not in "iu" or value.dtype == np.uint64:
            raise TraceRefused("the function must give a whole number")
        return cast(value, np.int64)._id
    if kind != "element":
        raise TraceRefused(f"functions of this kind ({kind}) have no native form")
    return _leaves(value, splits)


def _truth(value: Any) -> Traced:
    if not isinstance(value, Traced):
        if not isinstance(value, (bool, int, float, np.generic)):
            raise TraceRefused("the predicate gives no number")
        value = as_constant(np.asarray(bool(value)))
    if value._dims != ():
        raise TraceRefused("the predicate must give a scalar")
    truth: Traced = value
    if truth.dtype == np.bool_:
        return truth
    return ufunc("not_equal", truth, as_constant(np.zeros((), truth.dtype)))


def check_cells(fn: Any) -> None:
    """Refuses a function that captured values of the element around it."""
    for name, value in _captured(fn):
        if value is _UNSET:
            raise TraceRefused(f"reads {name} before it is set")
        if _depends(value, set()):
            raise TraceRefused(f"captures {name}, which depends on the element")


_UNSET = object()


def _captured(fn: Any) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:
            yield name, _UNSET
    yield from defaults_of(fn)


def _depends(value: Any, seen: set[int]) -> bool:
    if isinstance(value, Traced):
        return not value.is_constant
    if isinstance(value, ConstantBytes):
        return False
    if isinstance(value, (list, tuple, set, frozenset)):
        parts: Iterable[Any] = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, FunctionType):
        parts = [part for _, part in _captured(value)]
    elif isinstance(value, partial):
        parts = (value.func, *value.args, *value.keywords.values())
    else:
        return isinstance(value, (TracedBytes, TracedRagged)) or bool(
            in_class(type(value), "__penstock_template__")
        )
    if id(value) in seen:
        return False
    seen.add(id(value))
    return any(_depends(part, seen) for part in parts)


def _leaves(value: Any, splits: list[list[int]]) -> Any:
    if isinstance(value, TracedRagged):
        splits.append([s._id for s in value.nested_row_splits])
        return value.values._id
    text = constant_strings(value)
    if text is not None:
        value = text
    if isinstance(value, ConstantBytes) and value.shape:
        raise TraceRefused("a result of several strings that are constants")
    if isinstance(value, (Traced, TracedBytes)):
        splits.append([])
        return value._id
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TraceRefused("a result with keys that are not strings")
        return {k: _leaves(v, splits) for k, v in value.items()}
    if isinstance(value, tuple):
        items = [_leaves(v, splits) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise TraceRefused("a result that does not fit int64")
        splits.append([])
        return as_constant(np.asarray(value))._id
    if isinstance(value, list) and value:
        splits.append([])
        return array(value)._id
    raise TraceRefused(f"a result of type {type(value).__name__}")


def leaves_of(value: Any, splits: list[list[int]]) -> Any:
    """The numbers of a value's leaves, in its structure."""
    return _leaves(value, splits)


def decode_program(data: bytes) -> Any:
    """A program from its pickle."""
    install_numpy_loops()
    return _penstock.Program.decode(data)


def product_program(program: Any) -> Any:
    """Finishes a program of two inputs as their product."""
    from penstock._trace_methods import product

    tracer = Tracer(program, set())
    with tracer:
        try:
            a, b = _arguments(program, program.input_nest())
            result = product(a, b)._id
        except TraceRefused as refused:
            raise InvalidArgumentError(f"matmul: {refused.reason}") from None
    program.finish(result)
    return program


def compile_scan(
    fn: Any, state: Any, element: tuple[Any, ...], signature: Any
) -> tuple[Any, Any]:
    """The program of ``fn(state, *element)`` and the spec of its output.

    The state's dimensions are opened until the next state fits as well.
    """
    if not _known(state) or not _known(element):
        raise TraceRefused("the elements' spec is not known when the graph is built")
    inspected = Inspected(fn)
    for _ in range(8):
        program = inspected.trace((state, *element))
        if program.random:
            raise TraceRefused("it draws random values")
        made = program.output_spec
        if type(made) is not tuple or len(made) != 2:
            raise TraceRefused("it does not give (next state, output)")
        wider = _widened(state, made[0])
        if wider == state:
            if signature is not None and not program.fits((made[0], signature)):
                raise inspected.wrong(made[1], signature)
            return program, made[1]
        state = wider
    raise TraceRefused("the state's shape does not settle")


def _widened(a: Any, b: Any) -> Any:
    """A spec for values of both."""
    if type(a) is not type(b):
        raise TraceRefused(f"the state changes from {a} to {b}")
    if isinstance(a, dict):
        if a.keys() != b.keys():
            raise TraceRefused(f"the state changes from {a} to {b}")
        return {k: _widened(a[k], b[k]) for k in a}
    if isinstance(a, tuple):
        if len(a) != len(b):
            raise TraceRefused(f"the state changes from {a} to {b}")
        items = [_widened(x, y) for x, y in zip(a, b)]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if not isinstance(a, TensorSpec) or a.dtype != b.dtype:
        raise TraceRefused(f"the state changes from {a} to {b}")
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        raise TraceRefused("the rank of the state changes")
    dims = [x if x == y else None for x, y in zip(a.shape, b.shape)]
    return TensorSpec(tuple(dims), a.dtype)


def compile_native(fn: Any, kind: str, spec: Any, signature: Any) -> Any:
    """The program of `fn` for elements of `spec`, or TraceRefused.

    Behind an unknown spec it is the inspected function, to be traced when the
    first data is there.
    """
    inspected = Inspected(fn)
    if not _known(spec):
        return inspected
    if kind == "dataset":
        return inspected.template(spec, signature)
    return inspected.checked(spec, kind, signature)


def _known(spec: Any) -> bool:
    """Whether structure, dtypes and ranks are known."""
    if isinstance(spec, dict):
        return all(_known(s) for s in spec.values())
    if isinstance(spec, tuple):
        return all(_known(s) for s in spec)
    if isinstance(spec, TensorSpec):
        return spec.shape is not None and spec.dtype.name != "unknown"
    return spec is not None and spec is not UNKNOWN_SPEC
