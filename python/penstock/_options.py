"""How a pipeline runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from penstock import _penstock
from penstock._errors import ArgumentTypeError, InvalidArgumentError

#: Let the engine decide.
AUTOTUNE: int = _penstock.AUTOTUNE
#: `Dataset.cardinality` of an endless dataset.
INFINITE: int = _penstock.INFINITE
#: `Dataset.cardinality` where nobody can know without running it.
UNKNOWN: int = _penstock.UNKNOWN


class _Global(int):
    def __repr__(self) -> str:
        return "penstock.GLOBAL"

    def __reduce__(self) -> str:
        return "GLOBAL"


#: ``shuffle(ps.GLOBAL)``: one permutation of all elements, in O(1) memory.
GLOBAL: int = _Global(_penstock.GLOBAL)


@dataclass(frozen=True)
class Skip:
    """Elements that fail are left out, up to a count and a share.

    >>> import penstock as ps
    >>> def inverse(x):
    ...     return 6 // int(x)
    >>> ds = ps.Dataset.range(4).map(inverse, on_error=ps.Skip(limit=1))
    >>> [int(x) for x in ds]
    [6, 3, 2]
    """

    limit: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        error_policy("on_error", self)


@dataclass(frozen=True)
class Replace:
    """A value takes the place of elements that fail.

    >>> import penstock as ps
    >>> def inverse(x):
    ...     return 6 // int(x)
    >>> ds = ps.Dataset.range(4).map(inverse, on_error=ps.Replace(-1))
    >>> [int(x) for x in ds]
    [-1, 6, 3, 2]
    """

    value: Any


ErrorPolicy = Union[str, Skip, Replace, None]


def error_policy(op: str, policy: ErrorPolicy) -> tuple[Any, ...] | None:
    """The policy as the engine takes it."""
    if policy is None:
        return None
    if policy == "raise":
        return ("raise",)
    if policy == "skip":
        return ("skip", None, None)
    if isinstance(policy, Skip):
        from penstock import _arguments as check

        limit = check.optional_integer(op, "Skip.limit", policy.limit)
        rate = check.optional_number(op, "Skip.rate", policy.rate)
        if limit is not None and limit < 0:
            raise InvalidArgumentError(f"{op}: Skip.limit must be >= 0, got {limit}")
        if rate is not None and not 0 <= rate <= 1:
            raise InvalidArgumentError(f"{op}: Skip.rate must be in [0, 1], got {rate}")
        return ("skip", limit, rate)
    if isinstance(policy, Replace):
        return ("replace", policy.value)
    raise ArgumentTypeError(
        f'{op}: on_error must be "raise", "skip", ps.Skip or ps.Replace, got {policy!r}'
    )


class _NotGiven:
    """A default that tells whether the caller gave the value; prints as it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


_IN_ORDER: Any = _NotGiven(True)
_TUNED: Any = _NotGiven(True)
_RAISE: Any = _NotGiven("raise")


@dataclass(frozen=True, init=False)
class Options:
    """What a user may say about how a pipeline runs.

    What is not given is left to the engine, or to another ``with_options``; of
    what is given the outermost wins.

    ``cpu_budget`` is the number of cores, ``memory_budget`` bytes,
    ``worker_timeout`` the seconds after which a call in a worker process
    counts as hung. ``on_error`` and ``deterministic`` given in a branch of
    ``zip``, ``concatenate`` and the like hold in that branch.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(3).with_options(ps.Options(cpu_budget=1, seed=7))
    >>> [int(x) for x in ds]
    [0, 1, 2]
    """

    cpu_budget: int | None = None
    memory_budget: int | None = None
    deterministic: bool = True
    seed: int | None = None
    autotune: bool = True
    on_error: ErrorPolicy = "raise"
    worker_timeout: float | None = None
    _given: frozenset[str] = field(default=frozenset(), init=False, repr=False)

    def __init__(
        self,
        cpu_budget: int | None = None,
        memory_budget: int | None = None,
        deterministic: bool = _IN_ORDER,
        seed: int | None = None,
        autotune: bool = _TUNED,
        on_error: ErrorPolicy = _RAISE,
        worker_timeout: float | None = None,
    ) -> None:
        values = {
            "cpu_budget": cpu_budget,
            "memory_budget": memory_budget,
            "deterministic": deterministic,
            "seed": seed,
            "autotune": autotune,
            "on_error": on_error,
            "worker_timeout": worker_timeout,
        }
        given = set()
        for name, value in values.items():
            if isinstance(value, _NotGiven):
                value = value.value
            elif value is not None:
                given.add(name)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_given", frozenset(given))
        self._native()

    def _native(self) -> dict[str, Any]:
        from penstock import _arguments as check

        op = "Options"
        timeout = check.optional_number(op, "worker_timeout", self.worker_timeout)
        if timeout is not None and not timeout > 0:
            raise InvalidArgumentError(
                f"{op}: worker_timeout must be > 0, got {self.worker_timeout}"
            )
        native = {
            "cpu_budget": check.budget(op, "cpu_budget", self.cpu_budget, 2**31),
            "memory_budget": check.budget(op, "memory_budget", self.memory_budget),
            "deterministic": check.optional_boolean(
                op, "deterministic", self.deterministic
            ),
            "seed": check.seed(op, self.seed),
            "autotune": check.optional_boolean(op, "autotune", self.autotune),
            "on_error": error_policy(op, self.on_error),
        }
        return {
            key: value if key in self._given else None for key, value in native.items()
        }
