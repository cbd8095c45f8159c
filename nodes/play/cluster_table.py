"""A match in a cluster, every seat of it held by this client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from ..block_failure import BlockFailure
from ..client import Client, connect
from ..client.match import Seat, Spectator
from ..client.outcome import Accepted, OutcomeUnknown, Refusal, WatchEnded
from ..client.view import View
from ..operator_error import OperatorError
from .table import SPECTATOR

__all__ = ["ClusterTable", "open_cluster_table"]

FRESH_WITHIN_S = 10.0
"""A view of an acknowledged action that has not come by then will not come."""

ASKED_AGAIN_MAX = 3


@asynccontextmanager
async def open_cluster_table(
    cluster: Path | str, game: str, seats: Sequence[str]
) -> AsyncIterator[ClusterTable]:
    """Create a match in the cluster, and take every seat.

    Raises:
        ClusterUnreachable: No node answers.
        OperatorError: The cluster refuses the match or a seat; the code says why.
    """
    with BlockFailure() as failure:
        async with connect(cluster) as client, anyio.create_task_group() as tasks:
            with failure.kept():
                table = await _sit_down(client, game, seats)
                for place in table.places.values():
                    tasks.start_soon(table.watch, place)
                yield table
            tasks.cancel_scope.cancel()


async def _sit_down(client: Client, game: str, seats: Sequence[str]) -> ClusterTable:
    match = await client.create(game, players=seats)
    if isinstance(match, Refusal):
        raise _refused(match, f"is {game!r} hosted there? hotseat up --game hosts it")
    places: dict[str, Spectator] = {SPECTATOR: match.watch()}
    for seat in seats:
        taken = await match.take(seat)
        if isinstance(taken, Refusal):
            raise _refused(taken, "")
        places[seat] = taken
    return ClusterTable(match.id, seats, places)


class ClusterTable:
    """Keeps the newest view and all the steps that each place was shown."""

    def __init__(
        self, match: str, seats: Sequence[str], places: dict[str, Spectator]
    ) -> None:
        self.seats = seats
        self.places = places
        self._match = match
        self._views: dict[str, View] = {}
        self._steps: dict[str, dict[int, Any]] = {name: {} for name in places}
        self._revision = 0  # the newest that was acknowledged to us
        self._history = 0
        self._news = anyio.Event()
        self._failure: OperatorError | None = None

    async def watch(self, place: Spectator) -> None:
        """Receive views until the match has ended."""
        try:
            async for view in place.views(legal=place.seat != SPECTATOR):
                # They are the last ones up to this revision, without a gap.
                if view.history > self._history:  # after a loss
                    self._history, self._revision = view.history, 0
                    self._steps = {name: {} for name in self._steps}
                steps = view.steps
                first = view.revision - len(steps) + 1
                self._steps[place.seat].update(enumerate(steps, start=first))
                self._views[place.seat] = view
                self._tell()
        except WatchEnded as error:
            self._failure = _refused(error.refusal, "")
            self._tell()

    async def look(self, seat: str) -> View:
        with anyio.move_on_after(FRESH_WITHIN_S):
            while (view := self._views.get(seat)) is None or (
                view.revision < self._revision
            ):
                await self._wait()
            return view
        raise OperatorError(
            "no_view", f"the cluster shows nothing of match {self._match} in time"
        )

    async def act(self, seat: str, event: str, payload: Any) -> Refusal | None:
        place = self.places[seat]
        assert isinstance(place, Seat), f"{place!r} acts"
        seen = self._views.get(seat)
        base = None if seen is None else seen.revision
        try:
            outcome = await place.dispatch(event, payload, base_revision=base)
        except OutcomeUnknown as error:
            outcome = await self._ask_again(place, int(error.key))
        if isinstance(outcome, Accepted):
            self._revision = max(self._revision, outcome.revision)
            return None
        return outcome

    async def moved(self, revision: int) -> None:
        while all(view.revision <= revision for view in self._views.values()):
            await self._wait()

    def history(self, seat: str) -> Sequence[tuple[int, Any]]:
        return sorted(self._steps[seat].items(), key=lambda step: step[0])

    def farewell(self) -> str:
        match = self._match
        return f"It was match {match}. hotseat replay export {match} saves it."

    async def _ask_again(self, seat: Seat, key: int) -> Accepted | Refusal:
        for _ in range(ASKED_AGAIN_MAX - 1):
            try:
                return await seat.ask_again(key)
            except OutcomeUnknown:
                continue
        return await seat.ask_again(key)

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        await self._news.wait()
        if self._failure is not None:
            raise self._failure

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def _refused(refusal: Refusal, hint: str) -> OperatorError:
    return OperatorError(refusal.code, refusal.message, hint=hint)
