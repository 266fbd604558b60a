"""Copying batches to a device ahead of the training step."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

from penstock._errors import CancelledError, InvalidArgumentError
from penstock._functions import check_callable
from penstock._options import INFINITE

if TYPE_CHECKING:
    from penstock._dataset import Dataset
    from penstock._options import Options
    from penstock._report import Report


class TimedPut:
    """A `put` that knows how long it took."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self.put = put
        self.seconds = 0.0
        self.idle = 0.0  # between two of them
        self.last = 0.0

    def __call__(self, batch: Any) -> Any:
        began = time.perf_counter()
        if self.last:
            self.idle += began - self.last
        try:
            return self.put(batch)
        finally:
            self.last = time.perf_counter()
            self.seconds += self.last - began


class DeviceDataset:
    """What `Dataset.prefetch_to_device` gives: the end of a pipeline.

    Its elements are what ``put`` returns, in order; it iterates like a dataset.
    """

    def __init__(
        self, dataset: Dataset, put: Callable[[Any], Any], n: int, name: str = ""
    ) -> None:
        check_callable("prefetch_to_device", "put", put)
        if n < 1:
            raise InvalidArgumentError(f"prefetch_to_device: n must be >= 1, got {n}")
        self._dataset = dataset
        self._put = put
        self._n = n
        self._name = name

    @property
    def _stage(self) -> str:
        number = self._dataset._native.stage.rpartition("#")[2].partition(":")[0]
        name = f":{self._name}" if self._name else ""
        return f"prefetch_to_device#{int(number) + 1}{name}"

    def explain(self) -> str:
        """As `Dataset.explain`, with the copy behind the graph's last stage.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4).prefetch_to_device(lambda x: x, name="gpu")
        >>> print(ds.explain().splitlines()[1])
        prefetch_to_device#1:gpu  prefetch_to_device(n=2)
        """
        graph, plan, rest = self._dataset.explain().partition("plan:\n")
        return f"{graph}{self._stage}  prefetch_to_device(n={self._n})\n{plan}{rest}"

    def __iter__(self) -> DeviceIterator:
        return DeviceIterator(self, None)

    def iterator(self, state: Any = None) -> DeviceIterator:
        return DeviceIterator(self, state)

    def to_list(self) -> list[Any]:
        """All that ``put`` returns."""
        if self.cardinality() == INFINITE:
            raise InvalidArgumentError("to_list: the dataset is endless; take(n) first")
        with DeviceIterator(self, None) as it:
            return list(it)

    def with_options(self, options: Options, name: str | None = None) -> DeviceDataset:
        """As `Dataset.with_options`, for the pipeline in front.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4).prefetch_to_device(lambda x: x)
        >>> [int(x) for x in ds.with_options(ps.Options(cpu_budget=1))]
        [0, 1, 2, 3]
        """
        front = self._dataset.with_options(options, name)
        return DeviceDataset(front, self._put, self._n, self._name)

    @property
    def element_spec(self) -> Any:
        """Of what ``put`` is given."""
        return self._dataset.element_spec

    @property
    def fingerprint(self) -> str:
        """That of the pipeline in front, by which states are told apart."""
        return self._dataset.fingerprint

    def __len__(self) -> int:
        return len(self._dataset)

    def cardinality(self) -> int:
        return self._dataset.cardinality()

    def __repr__(self) -> str:
        return f"<{_label(self._name)}(n={self._n}) of {self._dataset!r}>"


def _label(name: str) -> str:
    return f"prefetch_to_device:{name}" if name else "prefetch_to_device"


def _with_batch(state: dict[str, Any], batch: int | None) -> dict[str, Any]:
    """The pipeline's state, and the number of the next batch for our notes."""
    return state if batch is None else {**state, _BATCH: batch}


def _batch_of(state: Any) -> int | None:
    """None for a state of the pipeline without us, which does not count them."""
    if state is None:
        return 0
    number = state.get(_BATCH) if isinstance(state, dict) else None
    return number if isinstance(number, int) else None


_BATCH = "batch"


# (value, error, state behind it); None at the end.
_Item = Union[tuple[Any, BaseException | None, Any], None]


class _Lane:
    """The thread that copies. It does not know the iterator, so that a dropped
    iterator can end it."""

    def __init__(self, device: DeviceDataset, inner: Any, batch: int | None) -> None:
        put = device._put
        self.put = put if isinstance(put, TimedPut) else TimedPut(put)
        self.n = device._n
        self.name = device._name
        self.stage = device._stage
        self.batch = batch  # the number of the next; None: not known
        self.taken = 0
        self.waited = 0.0  # seconds, by who takes
        self.inner = inner
        self.changed = threading.Condition()
        self.ready: deque[_Item] = deque()
        self.closed = False
        self.thread = threading.Thread(
            target=self.run, name="penstock-device", daemon=True
        )
        self.thread.start()

    def run(self) -> None:
        while True:
            with self.changed:
                while len(self.ready) >= self.n and not self.closed:
                    self.changed.wait()
            if self.closed:
                return
            item = self.step()
            with self.changed:
                self.ready.append(item)
                self.changed.notify_all()
            if item is None or isinstance(item[1], CancelledError):
                return

    def step(self) -> _Item:
        try:
            batch = next(self.inner)
        except StopIteration:
            return None
        except BaseException as error:
            return None, error, self.state()
        number = "" if self.batch is None else f", element {self.batch}"
        try:
            return self.put(batch), None, self.state()
        except BaseException as error:
            if hasattr(error, "add_note"):
                error.add_note(f"penstock: in {self.stage}{number}")
            return None, error, self.state()

    def state(self) -> Any:
        """Behind one batch more."""
        if self.batch is not None:
            self.batch += 1
        try:
            return _with_batch(self.inner.state_dict(), self.batch)
        except CancelledError:
            return None

    def next(self) -> _Item:
        began = time.perf_counter()
        with self.changed:
            while not self.ready and not self.closed:
                self.changed.wait()
            if self.closed:
                raise CancelledError("the iterator is closed")
            if self.ready[0] is None:
                return None  # stays: the end is the end
            item = self.ready.popleft()
            self.taken += 1
            self.waited += time.perf_counter() - began
            self.changed.notify_all()
            return item

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.ready.clear()
            self.changed.notify_all()
        if not self.inner.closed:
            self.inner.cancel()
        if threading.current_thread() is not self.thread:
            self.thread.join(1)
        self.inner.close()


class DeviceIterator:
    """Runs ``put`` on a thread of its own, at most ``n`` batches ahead."""

    def __init__(self, device: DeviceDataset, state: Any) -> None:
        self._device = device
        self._start(device._dataset.iterator(state), _batch_of(state))

    def _start(self, inner: Any, batch: int | None) -> None:
        self._state: dict[str, Any] = _with_batch(inner.state_dict(), batch)
        self._lane = _Lane(self._device, inner, batch)

    def __iter__(self) -> DeviceIterator:
        return self

    def __next__(self) -> Any:
        item = self._lane.next()
        if item is None:
            raise StopIteration
        value, error, self._state = item
        if error is not None:
            raise error
        return value

    def state_dict(self) -> dict[str, Any]:
        """Behind the last element that ``next`` gave."""
        return self._state

    def load_state_dict(self, state: Any) -> None:
        """Continues where another iterator of an equal pipeline was."""
        inner = self._device._dataset.iterator(state)  # or it goes on
        self._lane.close()
        self._start(inner, _batch_of(state))

    @property
    def closed(self) -> bool:
        return self._lane.closed

    def stats(self) -> Any:
        return self._lane.inner.stats()

    def doctor(self, seconds: float = 2.0) -> Report:
        """As `Iterator.doctor`; knows of the copies, too."""
        from penstock._doctor import examine

        return examine(self, seconds)

    def close(self) -> None:
        self._lane.close()

    def __enter__(self) -> DeviceIterator:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_lane"):
            self._lane.close()
