"""One place where matches are played, one after another, and accounted for.

A match's players act at planned times, whatever the cluster does; each acts only on
what it was shown, and repeats an action of unknown outcome under its own key.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import Protocol

import anyio

from ..client.match import RemoteMatch, Seat
from ..client.outcome import (
    Accepted,
    ClientError,
    ClusterUnreachable,
    NoAnswer,
    OutcomeUnknown,
    Refusal,
    WatchEnded,
)
from ..client.shell import Client
from ..client.view import View
from .account import MatchAccount
from .plan import ChaosPlan

__all__ = ["Scorer", "Table"]

GONE_CODES = frozenset({"match_lost", "unknown_match", "not_seated", "quarantined"})
"""Refusals after which a match cannot be played on."""

PAUSE_S = 0.2
"""Before a create, or a seat, is asked for again."""

LOOK_AGAIN_S = 2.0
"""A player that has acted and is not shown the result looks again by itself."""

ASK_AGAIN_MAX = 10
REFUSALS_MAX = 20


class Scorer(Protocol):
    """Who is told what happens at the tables."""

    def began(self, table: Table, account: MatchAccount) -> None: ...

    def acknowledged(self, table: Table, at_s: float, latency_s: float) -> None: ...

    def refused(self, refusal: Refusal) -> None: ...

    def ended_at(self, table: Table, gone: str = "") -> None: ...


class Table:
    """Plays until it is told to `close`."""

    def __init__(
        self, number: int, plan: ChaosPlan, client: Client, scorer: Scorer
    ) -> None:
        self.number = number
        self.match: RemoteMatch | None = None
        self._plan = plan
        self._client = client
        self._scorer = scorer
        self._pace = plan.pace(number)
        self._choices = random.Random(f"{plan.seed}/table/{number}")
        self._account = MatchAccount("")
        self._seats: dict[str, Seat] = {}
        self._views: dict[str, View] = {}
        self._reached = 0  # the revision that was acknowledged last
        self._stirred = anyio.Event()
        self._closing = anyio.Event()

    def hurry(self) -> None:
        """A fault has struck: whoever is to move asks now."""
        self._pace.hurry(anyio.current_time())
        self._stir()

    def close(self) -> None:
        """Begin nothing more; what is under way is answered first."""
        self._closing.set()
        self._stir()

    async def play(self) -> None:
        """Play one match after another."""
        self._pace.begin(anyio.current_time())
        while not self._closing.is_set():
            if not await self._sit_down():
                await anyio.sleep(PAUSE_S)
                continue
            await self._play_match()

    async def _sit_down(self) -> bool:
        """A new match with all its seats taken; False: the cluster said no."""
        players = self._plan.game.player_ids[: self._plan.game.min_players]
        game = self._plan.game
        self._seats, self._views, self._reached = {}, {}, 0
        with suppress(ClientError):
            match = await self._client.create(
                game.name, players=players, version=game.version
            )
            if isinstance(match, Refusal):
                self._scorer.refused(match)
                return False
            account = MatchAccount(match.id)
            for player in players:
                seat = await match.take(player)
                if isinstance(seat, Refusal):
                    self._scorer.refused(seat)
                    return False
                account.seated(player, seat.session)
                self._seats[player] = seat
            self.match, self._account = match, account
            self._scorer.began(self, account)
            return True
        return False

    async def _play_match(self) -> None:
        gone = ""
        async with anyio.create_task_group() as watching:
            for seat in self._seats.values():
                watching.start_soon(self._watch, seat)
            try:
                await self._act()
            except _Gone as error:
                gone = error.code
            watching.cancel_scope.cancel()
        for seat in self._seats.values():
            seat.close()
        self._scorer.ended_at(self, gone)
        self.match = None

    async def _watch(self, seat: Seat) -> None:
        while True:
            with suppress(WatchEnded):
                async for view in seat.views(legal=True):
                    self._saw(view)
                return
            await anyio.sleep(PAUSE_S)

    def _saw(self, view: View) -> None:
        self._account.saw(view)
        self._views[view.seat] = view
        self._stir()

    def _stir(self) -> None:
        self._stirred.set()

    async def _act(self) -> None:
        """Act at the planned times until the match has ended, or is gone."""
        refusals = 0
        while True:
            await self._until_due()
            view = await self._to_move()
            if view is None:
                return
            assert view.legal, f"a player is to move and may not: {view}"
            outcome = await self._dispatch(view)
            if isinstance(outcome, Accepted):
                self._pace.taken(anyio.current_time())
                refusals = 0
                continue
            if isinstance(outcome, Refusal):
                refusals += 1
                self._scorer.refused(outcome)
                if outcome.code in GONE_CODES or refusals >= REFUSALS_MAX:
                    raise _Gone(outcome.code)
            await self._look_again(self._seats[view.seat])

    async def _until_due(self) -> None:
        while not self._closing.is_set():
            wait_s = self._pace.next_s - anyio.current_time()
            if wait_s <= 0:
                return
            await self._until_stirred(wait_s)

    async def _to_move(self) -> View | None:
        """The view of a player who is to move now; None: there will be none."""
        while not self._closing.is_set():
            for view in self._views.values():
                if view.ended and view.revision >= self._reached:
                    return None
                if view.my_turn and view.revision >= self._reached:
                    return view
            if not await self._until_stirred(LOOK_AGAIN_S):
                for seat in self._seats.values():
                    await self._look_again(seat)
        return None

    async def _until_stirred(self, timeout_s: float) -> bool:
        self._stirred = anyio.Event()
        with anyio.move_on_after(timeout_s):
            await self._stirred.wait()
            return True
        return False

    async def _look_again(self, seat: Seat) -> None:
        try:
            view = await seat.resync(legal=True)
        except (NoAnswer, ClusterUnreachable):
            return
        if isinstance(view, View):
            self._saw(view)
        elif view.code in GONE_CODES:
            raise _Gone(view.code)

    async def _dispatch(self, view: View) -> Accepted | Refusal | None:
        """None: its outcome stayed unknown."""
        assert view.legal is not None
        seat = self._seats[view.seat]
        event, payload = self._choices.choice(view.legal)
        began_s = time.monotonic()
        again: int | None = None
        for _ in range(ASK_AGAIN_MAX):
            try:
                if again is None:
                    outcome = await seat.dispatch(
                        event, payload, base_revision=view.revision
                    )
                else:
                    outcome = await seat.ask_again(again)
            except OutcomeUnknown as error:
                again = int(error.key)
                key = (seat.seat, seat.session, again)
                self._account.unknown(key, event, payload)
                continue
            except ClusterUnreachable:
                continue  # nothing was sent
            if isinstance(outcome, Accepted):
                self._accepted(seat, outcome, event, payload, began_s)
            return outcome
        return None

    def _accepted(
        self, seat: Seat, outcome: Accepted, event: str, payload: object, began_s: float
    ) -> None:
        now_s = time.monotonic()
        self._reached = max(self._reached, outcome.revision)
        self._account.accepted(
            (seat.seat, seat.session, outcome.action),
            event,
            payload,
            revision=outcome.revision,
            index=outcome.index,
        )
        self._scorer.acknowledged(self, now_s, now_s - began_s)


class _Gone(Exception):
    """The match cannot be played on."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
