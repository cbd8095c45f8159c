"""Worker processes that decide for bots: a bounded number, each asked one at a time.

Rules:
- Author code never runs in this process. A worker that does not answer in time is
  killed, and another one is started when there is something to ask.
- More seats than workers share them: each waits its turn, and thinks the less, the more
  wait.
- Workers that cannot be started are tried again after a pause; until then all asking
  fails at once, and the caller does without.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import anyio
import msgspec
from anyio.abc import Process

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from ..telemetry import get_logger
from .decision import HEADER_BYTES, Answer, Ask, Ready, frame, size

__all__ = ["Pool", "PoolStatistics", "UndecidedError", "open_pool"]

START_S = 30.0
"""A worker that is not ready by then never is: it imports games and bots."""

THINK_S_MIN = 0.02

PAUSE_S_MIN, PAUSE_S_MAX = 0.5, 10.0
"""Before workers are started again after one could not be."""

WORKER = (sys.executable, "-P", "-m", f"{__package__}.worker")

T = TypeVar("T")

log = get_logger()


class UndecidedError(Exception):
    """No answer came. `code`: too_large, too_slow, died, no_worker, or the bot's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """`workers` and `waiting` are now; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"workers", "waiting"})

    workers: int
    waiting: int
    """Decisions that wait for a worker."""
    started: int
    """Workers that were started."""
    killed: int
    """Workers that were killed since they took too long."""
    decided: int
    failed: int
    """Decisions that came to nothing."""
    busy_s: float
    """Seconds that workers spent on decisions."""


class Pool:
    """Decides by workers. Made by `open_pool`."""

    def __init__(self, argv: Sequence[str], workers: int, limit_s: float) -> None:
        self._argv = argv
        self._workers = workers
        self._limit_s = limit_s
        self._turns = anyio.Semaphore(workers)
        self._idle: list[_Worker] = []
        self._alive: set[_Worker] = set()
        self._resume_at = 0.0
        self._pause_s = PAUSE_S_MIN
        self._asked = self._started = self._killed = self._decided = self._failed = 0
        self._busy_s = 0.0

    async def prepare(self) -> list[str]:
        """Start one worker, and learn which bots there are.

        Raises:
            OperatorError: A game or a bot cannot be had; or a worker cannot be started.
        """
        try:
            worker = await self._start()
        except UndecidedError as error:
            raise OperatorError(error.code, error.message) from error
        self._idle.append(worker)
        return worker.bots

    async def decide(self, ask: Ask) -> Answer:
        """What a bot answers. `think_s` and `limit_s` of `ask` may be cut short.

        Raises:
            UndecidedError: Nothing, or nothing in time.
        """
        self._asked += 1
        try:
            async with self._turns:
                answer = await self._decide(ask)
        except OperatorError as error:  # what was there at the start is gone
            self._failed += 1
            raise UndecidedError(error.code, error.message) from error
        except UndecidedError:
            self._failed += 1
            raise
        finally:
            self._asked -= 1
        if answer.code:
            self._failed += 1
            raise UndecidedError(answer.code, answer.message)
        self._decided += 1
        return answer

    def statistics(self) -> PoolStatistics:
        return PoolStatistics(
            len(self._alive),
            max(0, self._asked - self._workers),
            self._started,
            self._killed,
            self._decided,
            self._failed,
            self._busy_s,
        )

    async def close(self) -> None:
        """Let all workers go."""
        for worker in tuple(self._alive):
            await self._end(worker)

    async def _decide(self, ask: Ask) -> Answer:
        share = min(1.0, self._workers / self._asked)
        think_s = max(THINK_S_MIN, ask.think_s * share)
        limit_s = min(ask.limit_s, self._limit_s)
        ask = msgspec.structs.replace(ask, think_s=think_s, limit_s=limit_s)
        try:
            packed = frame(ask)
        except ValueError as error:
            raise UndecidedError("too_large", str(error)) from error
        worker = self._idle.pop() if self._idle else await self._start()
        began = anyio.current_time()
        answer: Answer | None = None
        try:
            with anyio.move_on_after(limit_s) as limit:
                answer = await worker.ask(packed)
        finally:
            self._busy_s += anyio.current_time() - began
            if answer is None:
                await self._end(worker)
        if answer is not None:
            self._idle.append(worker)
            return answer
        if limit.cancelled_caught:
            self._killed += 1
            raise UndecidedError("too_slow", f"no answer within {limit_s:.1f} s")
        raise UndecidedError("died", f"the worker ended: {worker.ending}")

    async def _start(self) -> _Worker:
        """
        Raises:
            UndecidedError: It cannot be started.
            OperatorError: What it was told to load cannot be had.
        """
        now = anyio.current_time()
        if now < self._resume_at:
            raise UndecidedError("no_worker", "no worker could be started just now")
        worker = _Worker()
        self._alive.add(worker)
        self._started += 1
        try:
            with anyio.move_on_after(START_S):
                if await worker.start(self._argv):
                    self._pause_s = PAUSE_S_MIN
                    return worker
        except BaseException:
            await self._end(worker)
            raise
        await self._end(worker)
        self._resume_at = anyio.current_time() + self._pause_s
        self._pause_s = min(2 * self._pause_s, PAUSE_S_MAX)
        log.warning("bot_worker_failed", ending=worker.ending)
        raise UndecidedError("no_worker", f"a worker did not start: {worker.ending}")

    async def _end(self, worker: _Worker) -> None:
        with anyio.CancelScope(shield=True):
            await worker.end()
        self._alive.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)


@asynccontextmanager
async def open_pool(
    games: Sequence[str],
    bots: Sequence[str],
    *,
    workers: int,
    limit_s: float,
    memory_mib: int = 0,
) -> AsyncIterator[Pool]:
    """Workers that load these games and bots beside the installed ones.

    None is started before it is needed; see `Pool.prepare`.
    """
    told = [("--game", game) for game in games] + [("--bot", bot) for bot in bots]
    told.append(("--memory-mib", str(memory_mib)))
    argv = (*WORKER, *(part for pair in told for part in pair))
    pool = Pool(argv, workers, limit_s)
    try:
        yield pool
    finally:
        await pool.close()


class _Worker:
    """One process."""

    def __init__(self) -> None:
        self.bots: list[str] = []
        self.ending = "it was never ready"
        self._process: Process | None = None

    async def start(self, argv: Sequence[str]) -> bool:
        """Start it and wait until it is ready; False: it never is.

        Raises:
            OperatorError: What it was told to load cannot be had.
        """
        self._process = await anyio.open_process(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            start_new_session=True,  # Ctrl-C is for the parent, which lets it go
        )
        said = await self._receive(Ready)
        if said is None:
            return False
        if said.problem:
            raise OperatorError(
                said.code, said.problem, hint=said.hint, exit_code=ExitCode.USAGE
            )
        self.bots = said.bots
        return True

    async def ask(self, packed: bytes) -> Answer | None:
        """None: it has ended, or talks nonsense."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send(packed)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._note_end()
            return None
        return await self._receive(Answer)

    async def end(self) -> None:
        """Kill it, if it is still there. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.aclose()

    async def _receive(self, kind: type[T]) -> T | None:
        try:
            header = await self._read(HEADER_BYTES)
            return msgspec.msgpack.decode(await self._read(size(header)), type=kind)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            await self._note_end()
        except (msgspec.MsgspecError, ValueError) as error:
            self.ending = f"it talks nonsense: {error}"
        return None

    async def _read(self, count: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        parts = bytearray()
        while len(parts) < count:
            parts += await self._process.stdout.receive(count - len(parts))
        return bytes(parts)

    async def _note_end(self) -> None:
        assert self._process is not None
        with anyio.move_on_after(1.0):
            status = await self._process.wait()
            self.ending = f"status {status}"
