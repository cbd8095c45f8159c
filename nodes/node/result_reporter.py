"""Tells results to their sinks, beside the play: what the outbox says, when it says.

All sinks are told of a result, each at least once; then the match's log is asked to say
so. A sink that fails delays that result, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import random
from typing import Protocol

import anyio

from ...runtime.clock import Clock, SystemClock
from ...runtime.hosting.outbox import Delivery, OutboxStatistics, ResultOutbox
from ...runtime.hosting.replicated_committer import TakesChanges
from ...runtime.hosting.result_options import ResultOptions
from ...runtime.journal import MatchLine
from ...runtime.match_change import Change
from ...runtime.match_state import MatchState
from ...runtime.replication.message import Entry
from ..lobby.room_game import ROOM_GAME
from ..telemetry import get_logger
from .result_sink import (
    FileSink,
    ResultNotDelivered,
    ResultSink,
    WebhookSink,
    result_of,
)

__all__ = ["ResultReporter", "TakenAndTold", "sinks_of"]

log = get_logger()


class Matches(Protocol):
    """Committed matches; see `ReplicaStates`."""

    def get(self, match: str) -> MatchState | MatchLine | None: ...

    def lines(self, shard: int, *, ended: bool = False) -> Iterator[MatchLine]: ...


class ResultReporter:
    """`run` is its task. Tell it what is served, and what is committed there."""

    def __init__(
        self,
        options: ResultOptions,
        sinks: Sequence[ResultSink],
        matches: Matches,
        note: Callable[[str, int], bool],
        clock: Clock | None = None,
    ) -> None:
        """`note(match, index)` lets the match's log say that the result is delivered;
        whether it could be asked to (`Supervisor.note_delivered`)."""
        self.telling = bool(sinks)
        """Whether there is anybody to be told: without, nothing is looked for."""
        self._sinks = sinks
        self._matches = matches
        self._note = note
        self._clock = clock or SystemClock()
        self._woken = anyio.Event()
        self._outbox = ResultOutbox(
            options,
            lambda shard: matches.lines(shard, ended=True),
            now_ms=self._now_ms,
            random=random,
            wake=self._wake,
        )

    def adopt(self, shard: int) -> None:
        """The shard is served here: tell what it owes."""
        if self.telling:
            self._outbox.adopt(shard)

    def release(self, shard: int) -> None:
        """The shard is served here no longer."""
        self._outbox.release(shard)

    def arrived(self, line: MatchLine) -> None:
        """A match has come to its home: tell what that owes, if it is served here."""
        if self.telling:
            self._outbox.arrived(line)

    def took(self, shard: int, state: MatchState) -> None:
        """A change was committed here, which led to this state."""
        self._outbox.took(shard, state)

    async def run(self) -> None:
        """Tell results until cancelled."""
        async with AsyncExitStack() as stack:
            for sink in self._sinks:
                await stack.enter_async_context(sink)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            while True:
                self._woken = anyio.Event()
                for delivery in self._outbox.take():
                    tasks.start_soon(self._deliver, delivery)
                next_ms = self._outbox.next_ms()
                pause_s = math.inf
                if next_ms is not None:
                    pause_s = max(0, next_ms - self._now_ms()) / 1_000
                with anyio.move_on_after(pause_s):
                    await self._woken.wait()

    def statistics(self) -> OutboxStatistics:
        """What waits, and what has been."""
        return self._outbox.statistics()

    async def _deliver(self, delivery: Delivery) -> None:
        """Tell one result; nothing that fails gets any further."""
        match = delivery.match
        sink = ""
        try:
            state = self._matches.get(match)
            if not isinstance(state, MatchState) or not state.ended or state.reported:
                self._outbox.void(match)
                return
            # What became of a room is nobody's result.
            room = state.machine.game.name == ROOM_GAME
            if not delivery.told and not room:
                result = result_of(state)
                for each in self._sinks:
                    sink = each.name
                    await each.deliver(result)
            self._outbox.delivered(match)
            self._note(match, state.index)
        except ResultNotDelivered as error:
            self._failed(match, sink, str(error))
        except Exception:
            log.exception("request_failed", request="deliver")
            self._failed(match, sink, "our own code failed")
        finally:
            self._wake()

    def _failed(self, match: str, sink: str, error: str) -> None:
        if self._outbox.failed(match) == 1:
            log.warning("result_delayed", match=match, sink=sink, error=error)

    def _wake(self) -> None:
        self._woken.set()

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * 1_000)


class TakenAndTold:
    """Where committed changes go: to the states, then to whoever tells results."""

    def __init__(self, states: TakesChanges, reporter: ResultReporter) -> None:
        self._states = states
        self._reporter = reporter

    def took(self, shard: int, entry: Entry, change: Change) -> None:
        """A change that this node decided on is committed."""
        self._states.took(shard, entry, change)
        self._reporter.took(shard, change.state)


def sinks_of(options: ResultOptions) -> list[ResultSink]:
    """The sinks that are configured."""
    sinks: list[ResultSink] = []
    if options.file is not None:
        sinks.append(FileSink(Path(options.file)))
    if options.webhook is not None:
        sinks.append(WebhookSink(options.webhook, timeout_s=options.timeout_s))
    return sinks
