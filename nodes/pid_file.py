"""One process at a time: a pid file that is locked for as long as its owner lives.

The lock is the truth, the pid only says whom to signal: the system drops the lock
with the process, however it ends, so a file left behind is simply taken over.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

__all__ = ["PidFile", "PidFileHeld", "holder_of"]

RETRY_S = 0.02
"""Between attempts: who asks `holder_of` holds the lock for microseconds."""

ATTEMPTS_MIN = 3


class PidFileHeld(Exception):
    """Another living process holds the file."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        super().__init__(f"process {pid}")


class PidFile:
    """Holds a pid file while entered.

    Raises:
        PidFileHeld: From `__enter__`: another process has held it for `wait_s`.
    """

    def __init__(self, path: Path, *, wait_s: float = 0.0) -> None:
        self.path = path
        self._wait_s = wait_s
        self._file = -1

    def __enter__(self) -> PidFile:
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._lock()
        except BaseException:
            os.close(self._file)
            raise
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)

    def _lock(self) -> None:
        deadline = time.monotonic() + self._wait_s
        attempts = 0
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                attempts += 1
                if attempts >= ATTEMPTS_MIN and time.monotonic() >= deadline:
                    raise PidFileHeld(_pid(self._file)) from None
                time.sleep(RETRY_S)


def holder_of(path: Path) -> int | None:
    """The pid of the living process that holds the file; None: nobody does.

    0: somebody does, who has not written his pid yet.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid(file)
    finally:
        os.close(file)
    return None


def _pid(file: int) -> int:
    text = os.pread(file, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else 0
