"""Lets `penstock top` look into this process.

A thread answers on a Unix socket in a private folder (mode 0700) and only to
processes of the same user: the kernel says who is asking. It starts with the
first iterator, listens a moment later, so that the first element does not wait
for it, and sleeps until asked. ``PENSTOCK_TOP=0`` turns it off. Nothing can be
changed over the socket: the one answer is the counters.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from penstock import _errors, _watch
from penstock._iterator import Iterator

if TYPE_CHECKING:
    import socket  # takes longer to import than a small pipeline takes to run

_TIMEOUT = 2.0  # seconds for one question and its answer
_DELAY = 0.05  # seconds from the first iterator until it listens
_MAX_ANSWER = 64 << 20

_lock = threading.Lock()
_server: _Server | None = None


def folder() -> str:
    """Where the sockets of this user lie."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return os.path.join(runtime, "penstock")
    return f"/tmp/penstock-{os.geteuid()}"


def checked_folder(create: bool = False) -> str:
    """The same, if it is ours alone; PermissionError if anybody else has it."""
    path = folder()
    if create:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode):
        raise PermissionError(f"{path} is not a folder")
    if info.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to another user")
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise PermissionError(f"{path} is open to other users; chmod 700 it")
    return path


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel knows it."""
    import socket

    size = struct.calcsize("3i")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, uid, _ = struct.unpack("3i", data)
    return int(uid)


def snapshot() -> dict[str, Any]:
    """The counters of every live iterator of this process."""
    iterators = []
    for it in _watch.live():
        try:
            counters = it.counters()
        except _errors.Error:
            continue  # closed meanwhile
        for large in ("text", "decisions"):
            counters.pop(large, None)
        stage = it._dataset._native.stage
        iterators.append({"number": it._number, "output": stage, **counters})
    return {
        "version": 1,
        "pid": os.getpid(),
        "command": [sys.argv[0], *sys.argv[1:]] if sys.argv else [],
        "time": time.monotonic(),
        "iterators": iterators,
    }


class _Server:
    """A thread and the socket on which it listens."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.path = os.path.join(checked_folder(create=True), f"{self._pid}.sock")
        self._closed = threading.Event()
        self._opening = threading.Lock()  # the socket, or the end of it
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(
            target=self._serve, name="penstock-top", daemon=True
        )
        self._thread.start()

    def _open(self) -> socket.socket | None:
        import socket

        with self._opening:
            if self._closed.is_set():
                return None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)  # of an earlier process of this number
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                # Nobody else may enter the folder; the mode only says so again.
                listening.bind(self.path)
                os.chmod(self.path, 0o600)
                listening.listen(8)
            except OSError:  # a look from outside is not worth a failed run
                listening.close()
                return None
            self._socket = listening
            return listening

    def _serve(self) -> None:
        if self._closed.wait(_DELAY):
            return
        listening = self._open()
        while listening is not None:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    self._answer(connection)
                except OSError:
                    pass  # it went away

    def _answer(self, connection: socket.socket) -> None:
        if peer_uid(connection) != os.geteuid():
            return
        connection.settimeout(_TIMEOUT)
        if connection.recv(64) != b"snapshot\n":
            return
        import json

        connection.sendall(json.dumps(snapshot()).encode())

    def close(self) -> None:
        if os.getpid() != self._pid:
            return  # of the parent of a fork
        with self._opening:
            self._closed.set()
            if self._socket is None:
                return
        import socket

        # Wakes the thread, which a close alone does not.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


def _iterator_started(it: Iterator) -> None:
    global _server
    if _server is not None and _server._pid == os.getpid():
        return
    with _lock:
        if _server is not None and _server._pid == os.getpid():
            return
        # A look from outside is not worth a failed run.
        with contextlib.suppress(OSError):
            _server = _Server()


def start() -> None:
    """Serves from the first iterator on, unless ``PENSTOCK_TOP=0``."""
    if os.environ.get("PENSTOCK_TOP", "1") != "0":
        _watch.observe(_iterator_started)
        atexit.register(stop)


def stop() -> None:
    """Closes the socket."""
    global _server
    with _lock:
        if _server is not None:
            _server.close()
            _server = None


def processes() -> list[int]:
    """Processes of this user that can be asked; removes what dead ones left."""
    try:
        path = checked_folder()
    except FileNotFoundError:
        return []
    found = []
    for name in sorted(os.listdir(path)):
        pid, _, ending = name.partition(".")
        if ending != "sock" or not pid.isdigit():
            continue
        if os.path.exists(f"/proc/{pid}"):
            found.append(int(pid))
        else:
            os.unlink(os.path.join(path, name))
    return found


def ask(pid: int) -> dict[str, Any]:
    """The `snapshot` of another process; OSError if it does not answer."""
    import json
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT)
        connection.connect(os.path.join(checked_folder(), f"{pid}.sock"))
        if peer_uid(connection) != os.geteuid():
            raise PermissionError(f"process {pid} is of another user")
        connection.sendall(b"snapshot\n")
        parts = []
        size = 0
        while data := connection.recv(1 << 16):
            parts.append(data)
            size += len(data)
            if size > _MAX_ANSWER:
                raise OSError(f"process {pid} does not stop answering")
    try:
        answer = json.loads(b"".join(parts))
    except ValueError as error:
        raise OSError(f"process {pid} gave no answer") from error
    if not isinstance(answer, dict) or answer.get("version") != 1:
        raise OSError(f"process {pid} runs another version of Penstock")
    return answer
