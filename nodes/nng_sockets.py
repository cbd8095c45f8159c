"""nng's sockets: how they are opened, and how they are closed.

Closing one waits for threads of nng's: for the one that reaps connections, and for
those that are in callbacks, which wait for Python's lock, or for a lock of ours. Who
closes must therefore hold up nothing that these may wait for. So:
- A socket is closed by `close_socket`, in a thread that does nothing else. The event
  loop never waits for nng; whoever wants to know that it is closed waits for `Closing`,
  with a limit.
- An open socket is never garbage. A collection runs in whatever thread happens to
  allocate, in a callback of nng's too, where pynng's finalizer would wait for the very
  thread that it is in. Open sockets are therefore kept here, and have no finalizer.
- When the interpreter ends, what is closing is waited for, for a while: nng is not shut
  down underneath. If it does not end, nng is left as it is.
"""

from __future__ import annotations

import atexit
import heapq
import threading
import time
from itertools import count
from typing import Any

import pynng
import structlog

__all__ = ["SOCKET_STUCK", "Closing", "close_socket", "open_socket"]

# Name of a log event.
SOCKET_STUCK = "socket_stuck"

# Seconds. nng closes a socket in a few milliseconds; in this time on any machine.
STUCK_S = 10.0

# Seconds that the interpreter's end waits for what is closing.
_AT_END_S = 2.0

log = structlog.get_logger()


def _unfinalized(kind: Any) -> Any:
    """The same kind of socket, without pynng's finalizer."""
    return type(kind.__name__, (kind,), {"__del__": lambda socket: None})


_KINDS = {kind: _unfinalized(kind) for kind in (pynng.Push0, pynng.Pull0, pynng.Rep0)}


def open_socket(kind: Any, **options: Any) -> Any:
    """A socket of one of pynng's kinds. It lives until `close_socket`."""
    socket = _KINDS[kind](**options)
    _closer.keep(socket)
    return socket


def close_socket(socket: Any, after_s: float = 0.0) -> Closing:
    """Close it, `after_s` from now, in another thread. It must not be used again."""
    return _closer.close(socket, after_s)


class Closing:
    """A socket that is being closed."""

    def __init__(self) -> None:
        self._done = threading.Event()

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is closed, in this thread. False: not in that time."""
        return self._done.wait(timeout_s)

    def done(self) -> None:
        self._done.set()


class _Closer:
    """Closes one socket after the other, in the order in which they are due.

    If one does not close, a new thread goes on with the others.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # All below is guarded by it.
        self._open: set[Any] = set()  # by identity: pynng's sockets compare so
        self._due: list[tuple[float, int, Any, Closing]] = []  # a heap
        self._numbers = count()
        self._thread: threading.Thread | None = None
        self._since_s: float | None = None  # when it began to close what it closes
        self._hurry = False

    def keep(self, socket: Any) -> None:
        with self._changed:
            self._open.add(socket)

    def close(self, socket: Any, after_s: float) -> Closing:
        closing = Closing()
        now_s = time.monotonic()
        with self._changed:
            item = (now_s + after_s, next(self._numbers), socket, closing)
            heapq.heappush(self._due, item)
            stuck = self._since_s is not None and now_s - self._since_s > STUCK_S
            if self._thread is None or stuck:
                self._since_s = None
                self._thread = threading.Thread(
                    target=self._run, name="hotseat:close", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()
        if stuck:
            log.error(SOCKET_STUCK, detail="nng does not close a socket")
        return closing

    def finish(self, timeout_s: float) -> bool:
        """Close all that is due now or later. False: that took too long."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            return self._changed.wait_for(self._is_idle, timeout_s)

    def _is_idle(self) -> bool:
        return not self._due and self._since_s is None

    def _run(self) -> None:
        while (item := self._next()) is not None:
            _, _, socket, closing = item
            socket.close()
            closing.done()
            with self._changed:
                self._open.discard(socket)
                if self._thread is threading.current_thread():
                    self._since_s = None
                    self._changed.notify_all()

    def _next(self) -> tuple[float, int, Any, Closing] | None:
        """What to close next, when it is due. None: another thread has taken over."""
        with self._changed:
            while self._thread is threading.current_thread():
                now_s = time.monotonic()
                if self._due and (self._hurry or self._due[0][0] <= now_s):
                    self._since_s = now_s
                    return heapq.heappop(self._due)
                self._changed.wait(self._due[0][0] - now_s if self._due else None)
        return None


_closer = _Closer()


def _finish() -> None:
    """Before nng is shut down: what is called at the end is called in reverse order."""
    if not _closer.finish(_AT_END_S):
        atexit.unregister(pynng.nng._pynng_atexit)  # it would wait for ever


atexit.register(_finish)
