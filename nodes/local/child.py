"""One node process of a local cluster: started, watched, started again.

The child is in a session of its own, so that Ctrl-C reaches the parent alone; its
stdin is a pipe that ends with the parent; what it writes goes to its log. It knows
nothing of its siblings.
"""

from __future__ import annotations

import math
import random
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import anyio
from anyio.abc import Process

from ..exit_codes import ExitCode
from .log_file import put_aside

__all__ = ["Child", "ChildFailed", "ChildOptions", "News", "NewsKind"]

TAIL_BYTES = 8 * 1024
TAIL_LINES = 5


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """How patient the parent is. Seconds; all positive."""

    backoff_s_min: float = 0.2
    """Before the first restart; doubled for each death in a row, with jitter."""
    backoff_s_max: float = 10.0
    """The longest pause before a restart. It is never given up."""
    stable_after_s: float = 30.0
    """A process that lived this long starts with the shortest pause again."""
    early_deaths_max: int = 3
    """Deaths before it was ever ready after which the start has failed."""
    stop_grace_s: float = 5.0
    """Between SIGTERM and SIGKILL."""
    probe_every_s: float = 0.1
    """Between two questions whether it is ready."""

    def pause_s(self, deaths: int) -> float:
        """How long to wait before the start after `deaths` in a row (from 1)."""
        exponent = min(deaths - 1, 16)
        longest = min(self.backoff_s_max, self.backoff_s_min * math.ldexp(1, exponent))
        return longest * random.uniform(0.5, 1.0)


class NewsKind(StrEnum):
    """What happened to a child."""

    STARTED = "child_started"
    READY = "child_ready"
    EXITED = "child_exited"  # without being told to
    KILLED = "child_killed"  # it did not stop in time, or was told twice


@dataclass(frozen=True, slots=True)
class News:
    """One happening. `ending` says how the process went; `pause_s` what is next."""

    kind: NewsKind
    node: str
    pid: int
    ending: str = ""
    pause_s: float = 0.0


class ChildFailed(Exception):
    """A child died again and again before it was ever ready."""

    def __init__(self, node: str, ending: str, log: str) -> None:
        self.node, self.ending, self.log = node, ending, log
        super().__init__(f"{node} {ending}")


class Child:
    """Keeps one node process running until `stop`."""

    def __init__(
        self,
        node: str,
        argv: Sequence[str],
        log_path: Path,
        *,
        probe: Callable[[str], Awaitable[bool]],
        tell: Callable[[News], None],
        options: ChildOptions,
    ) -> None:
        self.node = node
        self.log_path = log_path
        self.ready = False
        self.restarts = 0
        self._argv = argv
        self._probe = probe
        self._tell = tell
        self._options = options
        self._stop = anyio.Event()
        self._hurry = anyio.Event()
        self._was_ready = False

    def stop(self) -> None:
        """Ask it to end; asked again, it is killed at once."""
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    async def keep(self) -> None:
        """Run the process, and again whenever it dies, until `stop`.

        Raises:
            ChildFailed: It died too often before it was ever ready, or said that
                its configuration is wrong.
        """
        deaths = 0
        while not self._stop.is_set():
            started = anyio.current_time()
            pid, status = await self._run_once()
            if self._stop.is_set():
                return
            ending = _ending(status)
            if anyio.current_time() - started >= self._options.stable_after_s:
                deaths = 0
            deaths += 1
            hopeless = deaths >= self._options.early_deaths_max
            if not self._was_ready and (hopeless or status == ExitCode.USAGE):
                raise ChildFailed(self.node, ending, self.last_words())
            pause_s = self._options.pause_s(deaths)
            self._tell(News(NewsKind.EXITED, self.node, pid, ending, pause_s))
            with anyio.move_on_after(pause_s):
                await self._stop.wait()
            self.restarts += 1

    def last_words(self) -> str:
        """The end of its log: its error if it printed one, else the last lines."""
        try:
            with self.log_path.open("rb") as file:
                file.seek(max(0, self.log_path.stat().st_size - TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError as error:
            return f"(no log: {error})"
        lines = text.strip().splitlines()
        for index in range(len(lines) - 1, -1, -1):
            if lines[index].startswith("error["):
                return "\n".join(lines[index : index + 2])
        return "\n".join(lines[-TAIL_LINES:])

    async def _run_once(self) -> tuple[int, int]:
        """Start the process and wait for its end: its pid, and its exit status."""
        put_aside(self.log_path)
        with self.log_path.open("ab") as log:
            process = await anyio.open_process(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._tell(News(NewsKind.STARTED, self.node, process.pid))
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._end_when_told, process)
                tasks.start_soon(self._watch_ready, process.pid)
                status = await process.wait()
                tasks.cancel_scope.cancel()
        finally:
            self.ready = False
            if process.returncode is None:
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.aclose()
        return process.pid, status

    async def _end_when_told(self, process: Process) -> None:
        await self._stop.wait()
        process.terminate()
        with anyio.move_on_after(self._options.stop_grace_s) as grace:
            await self._hurry.wait()
        late = "did not stop in time and " if grace.cancelled_caught else ""
        ending = f"{late}was killed"
        self._tell(News(NewsKind.KILLED, self.node, process.pid, ending))
        process.kill()

    async def _watch_ready(self, pid: int) -> None:
        while not await self._probe(self.node):  # noqa: ASYNC110  # another process
            await anyio.sleep(self._options.probe_every_s)
        self.ready = self._was_ready = True
        self._tell(News(NewsKind.READY, self.node, pid))


def _ending(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
