"""Stops a local cluster from outside: what `hotseat down` does.

Whom to stop is read from the pid files that are held: the parent's and, should it
have been killed, those of nodes that are still on their way out.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..operator_error import OperatorError
from ..pid_file import holder_of

__all__ = ["stop_local"]

POLL_S = 0.05
GRACE_S = 20.0
"""More than a parent needs to stop its nodes, the unwilling ones included."""

EXIT_S = 2.0
"""Between giving up its pid file and its end, a process has little left to do."""


def stop_local(path: Path, *, grace_s: float = GRACE_S) -> bool:
    """Stop all that runs in a cluster's folder, and wait. False: nothing did.

    Raises:
        OperatorError: not_allowed (the processes are another user's), or
            still_running (they could not even be killed).
    """
    running = dict(_holders(path))
    if not running:
        return False
    _signal(running, signal.SIGTERM)
    if not _wait_until_gone(path, grace_s):
        _signal(dict(_holders(path)), signal.SIGKILL)
        if not _wait_until_gone(path, grace_s):
            left = ", ".join(f"{n} ({pid})" for n, pid in _holders(path))
            raise OperatorError("still_running", f"could not be stopped: {left}")
    _wait_for_exits(running.values())
    return True


def _holders(path: Path) -> Iterator[tuple[str, int]]:
    for file in sorted((path / "run").glob("*.pid")):
        pid = holder_of(file)
        if pid is not None:
            yield file.stem, pid


def _signal(running: dict[str, int], sign: signal.Signals) -> None:
    """The parent stops its nodes itself; without one, they are told directly."""
    told = {"up": running["up"]} if "up" in running else running
    if sign == signal.SIGKILL:
        told = running
    for name, pid in told.items():
        if pid == 0:
            continue  # it has not written its pid yet: the next round sees it
        try:
            os.kill(pid, sign)
        except ProcessLookupError:
            continue
        except PermissionError as error:
            raise OperatorError(
                "not_allowed", f"{name} (process {pid}) belongs to another user"
            ) from error


def _wait_until_gone(path: Path, grace_s: float) -> bool:
    deadline = time.monotonic() + grace_s
    while any(_holders(path)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _wait_for_exits(pids: Iterable[int]) -> None:
    deadline = time.monotonic() + EXIT_S
    while any(map(_exists, pids)) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _exists(pid: int) -> bool:
    """Whether the process still runs: a dead one that nobody has reaped does not."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except ProcessLookupError:
        return False
    except OSError:  # another user's, or a system without /proc
        return pid != 0
    return status.rpartition(")")[2].split()[:1] != ["Z"]
