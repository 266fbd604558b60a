"""Which way a Python function runs: the ladder of executors.

`lower` is the one place where a stage's function becomes something the engine
calls. It tries the rungs in order and remembers why it passed one over, for
`explain()`:

    native   traced to an expression
    thread   called on the engine's threads, under the GIL
    process  called in worker processes
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock import _penstock
from penstock._by_value import as_pickled, by_value
from penstock._errors import ArgumentTypeError, InvalidArgumentError
from penstock._identity import function_identity
from penstock._look import look
from penstock._options import AUTOTUNE
from penstock._spec import TensorSpec, check_signature

# A larger function stays in threads: each worker would hold a copy.
MAX_PICKLE = 64 << 20
EXECUTORS = ("auto", "native", "thread", "process")
_ASYNC = 0x80 | 0x200  # inspect's CO_COROUTINE and CO_ASYNC_GENERATOR


@dataclass
class Lowered:
    """A function as the engine calls it, and why it runs that way."""

    handle: Any  # _penstock.Function or _penstock.DatasetFunction
    reason: str
    name: str
    stage: str = field(default="", compare=False)
    fn: Any = field(default=None, compare=False)  # what it reads is by value
    asked: int = field(default=AUTOTUNE, compare=False)  # calls at once

    def parallel_calls(self, asked: int) -> int:
        """The cap for the engine: it must not start more than the workers take."""
        self.asked = asked
        if self.executor != "process":
            return asked
        if asked == AUTOTUNE:
            # One more, so that a worker finds its next block waiting.
            asked = self.handle.workers + 1
        elif asked >= 1:
            self.handle.workers = asked
        return asked

    @property
    def executor(self) -> str:
        """ "native", "thread" or "process": where it runs now."""
        return self.handle.executor  # type: ignore[no-any-return]

    def describe(self) -> str:
        reason = getattr(self.handle, "reason", "") or self.reason
        why = f" ({reason})" if reason else ""
        return f"{self.stage}: {self.name}: {self.executor}{why}"


def lower(
    fn: Any,
    kind: str,
    op: str,
    executor: str = "auto",
    input_spec: Any = None,
    output_signature: Any = None,
) -> Lowered:
    """Decides how `fn` runs.

    `kind` is what the stage makes of results: "element", "predicate", "number"
    or "dataset".
    """
    check_callable(op, "fn", fn)
    if executor not in EXECUTORS:
        raise InvalidArgumentError(
            f"{op}: executor must be one of {', '.join(EXECUTORS)}, got {executor!r}"
        )
    check_signature(op, output_signature)
    check_arity(op, fn, input_spec)
    fn = by_value(fn)
    refusals: list[str] = []
    for rung in _rungs(executor):
        lowered = rung(fn, kind, op, executor, input_spec, output_signature)
        if isinstance(lowered, Lowered):
            lowered.reason = lowered.reason or "; ".join(refusals)
            lowered.fn = as_pickled(fn)
            return lowered
        if lowered:
            refusals.append(lowered)
    reason = "; ".join(refusals)
    if executor == "native":
        raise InvalidArgumentError(f"{op}: cannot run natively: {reason}")
    lowered = _thread(fn, kind, output_signature, reason)
    lowered.fn = as_pickled(fn)
    return lowered


# A rung gives a Lowered, or the reason why it is not for this function.
Rung = Callable[[Any, str, str, str, Any, Any], "Lowered | str"]


def _rungs(executor: str) -> list[Rung]:
    if executor == "process":
        return [_process]
    if executor == "native":
        return [_compiled, _native]
    return [_compiled, _native, _auto] if executor == "auto" else []


def _compiled(
    fn: Any, kind: str, op: str, executor: str, input_spec: Any, signature: Any
) -> Lowered | str:
    """A function that Numba compiled, called by pointer."""
    from penstock import _compiled as compiled

    if not compiled.is_compiled(fn):
        return ""
    plain = compiled.python_form(fn)
    identity = function_identity(getattr(fn, "py_func", getattr(fn, "_pyfunc", fn)))
    if kind == "dataset":
        return "it is compiled"
    try:
        address, owner, spec = compiled.compile_pointer(fn, input_spec, kind)
        if (
            kind == "element"
            and signature is not None
            and not _accepts(signature, spec)
        ):
            raise compiled.NotCompiled(f"it gives {spec}, declared is {signature}")
    except compiled.NotCompiled as why:
        return f"not called by pointer: {why}"
    fallback = _penstock.python_function(plain, kind, signature, identity)
    handle = _penstock.compiled_function(
        address, owner, input_spec, spec, fallback, f"compiled:{identity}"
    )
    return Lowered(handle, "compiled by Numba, called by pointer", function_name(fn))


def _accepts(signature: Any, spec: Any) -> bool:
    """Whether a result of `spec` may be what was declared."""
    if isinstance(signature, tuple) and isinstance(spec, tuple):
        return len(signature) == len(spec) and all(map(_accepts, signature, spec))
    if not isinstance(signature, TensorSpec) or not isinstance(spec, TensorSpec):
        return False
    if signature.dtype != spec.dtype:
        return False
    shape, given = signature.shape, spec.shape
    return (
        shape is None
        or given is None
        or (
            len(shape) == len(given)
            and all(a is None or b is None or a == b for a, b in zip(shape, given))
        )
    )


def _native(
    fn: Any, kind: str, op: str, executor: str, input_spec: Any, signature: Any
) -> Lowered | str:
    """Traced to a program, now or when the first data shows its spec."""
    from penstock import _trace
    from penstock._trace_errors import TraceRefused, WrongSignature

    try:
        traced = _trace.compile_native(fn, kind, input_spec, signature)
    except WrongSignature as wrong:
        raise InvalidArgumentError(f"{op}: {wrong.describe()}") from None
    except TraceRefused as refused:
        return refused.describe()
    name = function_name(fn)
    if not isinstance(traced, _trace.Inspected):
        if kind != "dataset":
            return Lowered(traced.function(), traced.fusion, name)
        handle, prototype = traced
        inner = [f.describe() for f in prototype._functions.values()]
        return Lowered(handle, "; ".join(["a template", *inner]), name)
    reasons: list[str] = []

    def specialize(spec: Any) -> Any:
        try:
            if kind == "dataset":
                return traced.template(spec, signature)[0]
            return traced.checked(spec, kind, signature)
        except TraceRefused as refused:
            reasons.append(refused.describe())
            return None

    def raise_refusal(*_: Any) -> Any:
        raise InvalidArgumentError(f"{op}: cannot run natively: {reasons[-1]}")

    identity = function_identity(fn)
    if kind == "dataset":
        called = raise_refusal if executor == "native" else fn
        plain = _penstock.python_dataset_function(called, signature, identity)
        handle = _penstock.late_template(specialize, plain, signature, identity)
        return Lowered(handle, "a template, when the first data is there", name)
    if executor == "native":
        fallback = _penstock.python_function(raise_refusal, kind, signature, identity)
    else:
        other = _auto(fn, kind, op, executor, input_spec, signature)
        if not isinstance(other, Lowered):
            other = _thread(fn, kind, signature, other)
        fallback = other.handle
    handle = _penstock.late_function(
        specialize,
        fallback,
        signature if kind == "element" else None,
        kind,
        identity,
    )
    return Lowered(handle, "traced when the first data is there", name)


def lower_scan(fn: Any, init: Any, spec: Any, signature: Any) -> tuple[Any, Any]:
    """A scan's function as a native one and its output's spec, or (reason, None).

    A front end whose functions take a tuple element as one argument says so by
    `packed`.
    """
    from penstock import _trace
    from penstock._trace_errors import TraceRefused, WrongSignature

    spread = type(spec) is tuple and look(fn, "packed") is not True
    element = tuple(spec) if spread else (spec,)
    try:
        state = _penstock.spec_of(init)
    except Exception as error:  # noqa: BLE001 (the stage says it better)
        return str(error), None
    try:
        program, output = _trace.compile_scan(fn, state, element, signature)
    except WrongSignature as wrong:
        raise InvalidArgumentError(f"scan: {wrong.describe()}") from None
    except TraceRefused as refused:
        return refused.describe(), None
    return Lowered(program.scan(), "", function_name(fn), fn=fn), output


def _auto(
    fn: Any, kind: str, op: str, executor: str, input_spec: Any, signature: Any
) -> Lowered | str:
    """In threads, and in worker processes once the GIL is seen to limit."""
    if kind == "dataset":
        return ""
    from penstock._purity import keeps_to_itself

    why_not = keeps_to_itself(look(fn, "__penstock_function__", fn))
    if why_not:
        return f"stays in threads: {why_not}"

    def prepare() -> bytes:
        from penstock import _workers

        pickled = _workers.pickle_function(op, fn, signature)
        if len(pickled) > MAX_PICKLE:
            raise InvalidArgumentError(
                f"{op}: fn pickles to {len(pickled)} bytes, more than {MAX_PICKLE}"
            )
        _workers.configure()
        return pickled

    handle = _penstock.auto_function(
        fn, prepare, kind, signature, function_identity(fn), cpu_count()
    )
    return Lowered(handle, "", function_name(fn))


def _process(
    fn: Any, kind: str, op: str, executor: str, input_spec: Any, signature: Any
) -> Lowered | str:
    """In worker processes."""
    from penstock import _workers

    if kind == "dataset":
        raise InvalidArgumentError(f"{op}: executor must not be 'process'")
    pickled = _workers.pickle_function(op, fn, signature)
    _workers.configure()
    handle = _penstock.process_function(
        pickled, kind, signature, function_identity(fn), cpu_count()
    )
    return Lowered(handle, "", function_name(fn))


def _thread(fn: Any, kind: str, signature: Any, reason: str) -> Lowered:
    identity = function_identity(fn)
    if kind == "dataset":
        return dataset_function(fn, identity, signature, reason)
    handle = _penstock.python_function(fn, kind, signature, identity)
    return Lowered(handle, reason, function_name(fn))


def dataset_function(
    fn: Any, identity: str, signature: Any = None, reason: str = ""
) -> Lowered:
    """A function that makes datasets, called in threads."""
    handle = _penstock.python_dataset_function(fn, signature, identity)
    return Lowered(handle, reason, function_name(fn))


def nested_functions(stage: str, handle: Any) -> dict[str, dict[str, Any]]:
    """Python functions inside the datasets that `stage` opened, by their stage."""
    if not isinstance(handle, _penstock.DatasetFunction):
        return {}
    return {f"{stage}.{inner}": one for inner, one in handle.nested().items()}


def cpu_count() -> int:
    """Cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


def check_callable(op: str, parameter: str, fn: Any) -> None:
    if not callable(fn):
        raise ArgumentTypeError(
            f"{op}: {parameter} must be callable, got {type(fn).__name__}"
        )
    code = look(fn, "__code__", None)
    if isinstance(code, types.CodeType) and code.co_flags & _ASYNC:
        raise ArgumentTypeError(
            f"{op}: {parameter} must be a plain function, got the async function "
            f"{code.co_name}: a function that waits is called many times at once as "
            "it is, and asyncio.run() inside it runs one that must be async"
        )


def check_arity(op: str, fn: Any, spec: Any, states: int = 0) -> None:
    """Whether a plain function takes as many arguments as elements have.

    `states` arguments come before them. A front end whose functions take a tuple
    element as one argument says so by `packed`.
    """
    plain = look(fn, "__penstock_function__", fn)
    if type(plain) is not types.FunctionType or not _has_structure(spec):
        return
    code = plain.__code__
    most = code.co_argcount
    least = most - len(plain.__defaults__ or ())
    required = code.co_kwonlyargcount - len(plain.__kwdefaults__ or ())
    spread = isinstance(spec, tuple) and not hasattr(spec, "_fields")
    if look(fn, "packed") is True:
        spread = False
    given = states + (len(spec) if spread else 1)
    if required == 0 and least <= given and (given <= most or code.co_flags & 0x04):
        return
    if required:
        names = code.co_varnames[most : most + code.co_kwonlyargcount]
        missing = [n for n in names if n not in (plain.__kwdefaults__ or {})]
        raise ArgumentTypeError(
            f"{op}: {function_name(plain)} needs {', '.join(missing)}, which no "
            "element has; give it a default, or bind it with functools.partial"
        )
    takes = f"{least} to {most}" if least != most else f"{most}"
    raise ArgumentTypeError(
        f"{op}: {function_name(plain)} takes {takes} arguments, and "
        f"{'state and element have' if states else 'an element has'} {given}: {spec}"
    )


def _has_structure(spec: Any) -> bool:
    """Whether it is known what an element consists of."""
    return isinstance(spec, (dict, tuple)) or (
        isinstance(spec, TensorSpec) and spec.dtype.name != "unknown"
    )


def function_name(fn: Any) -> str:
    """ "decode (train.py:12)", as far as there is source."""
    name = look(fn, "__qualname__") or type(fn).__qualname__
    code = look(fn, "__code__")
    if not isinstance(code, types.CodeType):
        return str(name)
    file = code.co_filename.rsplit("/", 1)[-1]
    return f"{name} ({file}:{code.co_firstlineno})"
