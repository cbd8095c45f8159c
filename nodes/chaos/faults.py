"""What can happen to the processes of a local cluster: death, and standing still."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..cluster_dir import ClusterDir
from ..pid_file import holder_of

__all__ = ["NodeProcesses"]


class NodeProcesses:
    """The node processes of one folder, by name. Instants are `time.monotonic()`.

    A frozen process ignores even SIGTERM: whoever freezes must `thaw_all` at the end.
    """

    def __init__(self, home: ClusterDir, nodes: Sequence[str]) -> None:
        self._home = home
        self._nodes = tuple(nodes)
        self._frozen: dict[str, int] = {}

    def pids(self) -> dict[str, int]:
        """Those that run now."""
        found = {node: self._pid(node) for node in self._nodes}
        return {node: pid for node, pid in found.items() if pid}

    def kill(self, nodes: Sequence[str]) -> float:
        """SIGKILL, all in one go; returns the instant before the first.

        Raises:
            ProcessLookupError: One of them does not run.
        """
        pids = [self._running(node) for node in nodes]
        at_s = time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for node in nodes:
            self._frozen.pop(node, None)
        return at_s

    def freeze(self, node: str) -> float:
        """SIGSTOP: it neither runs nor ends, and its connections stay.

        Raises:
            ProcessLookupError: It does not run.
        """
        pid = self._running(node)
        at_s = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        self._frozen[node] = pid
        return at_s

    def thaw(self, node: str) -> None:
        """SIGCONT: it goes on where it stood."""
        pid = self._frozen.pop(node, None)
        if pid is not None and self._pid(node) == pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def thaw_all(self) -> None:
        """Idempotent."""
        for node in [*self._frozen]:
            self.thaw(node)

    def state(self, node: str) -> str:
        """`running`, `frozen` or `dead`."""
        pid = self._pid(node)
        if not pid:
            return "dead"
        with suppress(OSError):
            status = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
            if status.rpartition(")")[2].split()[:1] == ["T"]:
                return "frozen"
        return "running"

    def _pid(self, node: str) -> int | None:
        return holder_of(self._home.pid_path(node))

    def _running(self, node: str) -> int:
        pid = self._pid(node)
        if not pid:
            raise ProcessLookupError(f"{node} does not run")
        return pid
