"""Plays one seat for a bot, as any client would.

Rules:
- It acts only on what it was shown, with the revision of that: if the match has moved
  on meanwhile, by an undo, a deadline or an operator, what the bot thought is dropped,
  and it is asked again.
- A bot that fails, or whose action is refused, is asked again; after a few tries a
  random legal action is played. Whatever it does, it costs nobody else more than that.
- Whoever asks to take a move back is given leave.
- A newer session at the seat wins: then it waits until a turn has stood for a while, as
  a spare does from the beginning.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import anyio

from ..client import (
    Accepted,
    ClientError,
    OutcomeUnknown,
    Refusal,
    RemoteMatch,
    Seat,
    View,
    WatchEnded,
)
from ..client.outcome import RETRIED_CODES
from ..telemetry import get_logger
from .decision import Answer, Ask
from .pool import UndecidedError

__all__ = ["BotCounts", "BotPlayer", "Given", "HowItEnded", "PlayerOptions"]

ASKED_AGAIN_MAX = 3
"""Times that an action of unknown outcome is sent again."""

LOOKED_AGAIN_MAX = 50
"""Times that one turn is looked at anew, before the next view is waited for."""

RANDOM_TRIES = 5

DEADLINE_PART = 0.6
"""Of what is left of a turn: a decision takes no longer."""

LIMIT_S_MIN = 0.2

GONE_CODES = frozenset({"not_seated", "expired_key", "resume_seat"})
"""Another session has the seat."""

MOVED_ON_CODES = frozenset({"stale_revision", "inactive_player", "game_over"})
"""The match is not any more as it was when the bot looked."""

log = get_logger()


class HowItEnded(StrEnum):
    """Why a seat is not played any more."""

    ENDED = "ended"  # the match has
    LOST = "lost"  # no node has the match
    TAKEN = "taken"  # somebody holds the seat with a secret of their own


@dataclass(frozen=True, slots=True)
class PlayerOptions:
    """Seconds, and counts."""

    think_s: float = 0.5
    limit_s: float = 5.0
    tries: int = 2
    """How often a bot is asked in one turn before an action is chosen at random."""
    spare_after_s: float = 10.0
    """How long a turn stands before somebody else at the seat is taken for gone."""
    seed: str = ""
    """Of all chance; see `BotPlayer`."""


@dataclass(frozen=True, slots=True)
class Given:
    """A seat that a bot was given."""

    bot: str
    seat: str
    game: str
    version: str
    players: tuple[str, ...]
    config: Any = None


@dataclass(slots=True)
class BotCounts:
    """What all players of a process add to, since its start."""

    moves: int = 0
    random_moves: int = 0
    stale: int = 0
    refused: int = 0
    failed: int = 0
    taken: int = 0
    replaced: int = 0


class _ReplacedError(Exception):
    """A newer session has the seat."""


class BotPlayer:
    """Plays a seat until its match has ended.

    The chance in a decision follows from `options.seed`, the match, the seat and the
    revision.
    """

    def __init__(
        self,
        match: RemoteMatch,
        given: Given,
        secret: str,
        decide: Callable[[Ask], Awaitable[Answer]],
        options: PlayerOptions,
        counts: BotCounts,
        *,
        spare: bool = False,
    ) -> None:
        """`secret` takes the seat; `decide` raises `UndecidedError`."""
        self._match = match
        self._given = given
        self._secret = secret
        self._decide = decide
        self._options = options
        self._counts = counts
        self._waits = spare
        self._acted = (0, -1)  # history and revision of the last answer
        self._leave_given = (0, -1)  # history and revision of the request
        self._log = log.bind(match=match.id, seat=given.seat, bot=given.bot)

    async def play(self) -> HowItEnded:
        """Play.

        Raises:
            ClientError: The cluster gives no answer, or refuses for now: try again.
        """
        while True:
            if self._waits:
                await self._stood_still()
            try:
                return await self._play_once()
            except _ReplacedError:
                self._counts.replaced += 1
                self._waits = True
                self._log.info("bot_replaced")

    async def _play_once(self) -> HowItEnded:
        """
        Raises:
            _ReplacedError: A newer session has the seat.
            ClientError: As `play`.
        """
        given = self._given
        taken = await self._match.take(given.seat, self._secret, fresh=True, alone=True)
        if isinstance(taken, Refusal):
            return self._lost(taken)
        self._counts.taken += 1
        try:
            async for view in taken.views(legal=True):
                if not view.ended:
                    await self._turn(taken, view)
        except WatchEnded as error:
            return self._lost(error.refusal)
        finally:
            taken.close()
        return HowItEnded.ENDED

    def _lost(self, refusal: Refusal) -> HowItEnded:
        """
        Raises:
            _ReplacedError: The seat is another session's.
            WatchEnded: It may be had later.
        """
        if refusal.code in GONE_CODES:
            raise _ReplacedError
        if refusal.code == "game_over":
            return HowItEnded.ENDED
        if refusal.code in ("unknown_match", "match_lost", "unknown_seat"):
            return HowItEnded.LOST
        if refusal.code == "seat_taken":
            self._log.warning("bot_seat_taken")
            return HowItEnded.TAKEN
        raise WatchEnded(refusal)

    async def _stood_still(self) -> None:
        """Wait until the seat's turn has stood for `spare_after_s`, or the end."""
        spectator = self._match.watch()
        waited: View | None = None
        views = spectator.views()
        try:
            while True:
                left_s = self._options.spare_after_s if waited else float("inf")
                with anyio.move_on_after(left_s) as patience:
                    view = await anext(views)
                if patience.cancelled_caught or view.ended:
                    return
                mine = self._given.seat in view.active_players
                waited = view if mine else None
        except WatchEnded:
            return  # taking the seat will tell why
        finally:
            spectator.close()

    async def _turn(self, seat: Seat, view: View) -> None:
        """Act, if this is the bot's turn, whatever it takes."""
        tried: list[Any] = []
        failures = 0
        for _ in range(LOOKED_AGAIN_MAX):
            if (view.history, view.revision) < self._acted:
                return  # older than what was answered
            await self._give_leave(seat, view)
            if not view.my_turn:
                return
            by_bot = failures < self._options.tries
            choice = await self._choose_heeding(seat, view, failures, tried)
            newest = seat.view
            if newest is not None and _moved_on(view, newest):
                self._counts.stale += 1
                view = newest
                continue
            if choice is None:
                failures += 1
                if by_bot:
                    continue
                self._log.warning("bot_stuck", revision=view.revision)
                return  # until something happens
            outcome = await self._dispatch(seat, choice, view.revision)
            if isinstance(outcome, Accepted):
                self._acted = (view.history, outcome.revision)
                self._counts.moves += 1
                self._counts.random_moves += not by_bot
                return
            if outcome is None or outcome.code in MOVED_ON_CODES:
                self._counts.stale += 1
            else:
                failures += 1
                tried.append(choice)
                self._note_refusal(outcome, view)
                if failures > self._options.tries + RANDOM_TRIES:
                    self._log.warning("bot_stuck", revision=view.revision)
                    return
            looked = await seat.resync(legal=True)
            if isinstance(looked, Refusal):
                self._lost(looked)
                return
            view = looked

    def _note_refusal(self, refusal: Refusal, view: View) -> None:
        """
        Raises:
            _ReplacedError: The seat is another session's.
            WatchEnded: It is no fault of the bot's: it may act later.
        """
        if refusal.code in GONE_CODES:
            raise _ReplacedError
        if refusal.code in RETRIED_CODES:
            raise WatchEnded(refusal)
        self._counts.refused += 1
        self._log.warning("bot_refused", code=refusal.code, revision=view.revision)

    async def _give_leave(self, seat: Seat, view: View) -> None:
        undo = view.undo
        if undo is None or seat.seat == undo.seat or seat.seat in undo.agreed:
            return
        asked = (view.history, undo.revision)
        if asked == self._leave_given:
            return
        try:
            await seat.answer_undo(True, request=undo.revision)
        except OutcomeUnknown:
            return  # if it still stands, the next view asks again
        self._leave_given = asked

    async def _choose_heeding(
        self, seat: Seat, view: View, failures: int, tried: list[Any]
    ) -> tuple[str, Any] | None:
        """`_choose`; whoever wants to take a move back meanwhile need not wait."""

        async def heed() -> None:
            try:
                async for newer in seat.views(legal=True):
                    await self._give_leave(seat, newer)
            except ClientError:
                return  # who plays meets the same, and deals with it

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heed)
            choice = await self._choose(view, failures, tried)
            tasks.cancel_scope.cancel()
        return choice

    async def _choose(
        self, view: View, failures: int, tried: list[Any]
    ) -> tuple[str, Any] | None:
        """An action; None: the bot has none, or there is none."""
        place = f"{view.match}/{view.seat}/{view.history}/{view.revision}/{failures}"
        seed = f"{self._options.seed}/{place}"
        legal = view.legal or ()
        if failures >= self._options.tries:
            fresh = [choice for choice in legal if choice not in tried]
            return random.Random(seed).choice(fresh) if fresh else None
        now_ms = int(time.time() * 1000)
        limit_s = self._options.limit_s
        if view.deadline_ms is not None:
            left_s = (view.deadline_ms - now_ms) / 1000 * DEADLINE_PART
            limit_s = max(LIMIT_S_MIN, min(limit_s, left_s))
        given = self._given
        ask = Ask(
            bot=given.bot,
            seed=seed,
            game=given.game,
            version=given.version,
            match=view.match,
            seat=view.seat,
            players=given.players,
            config=given.config,
            view=view.view,
            state=view.state,
            turn=view.turn,
            revision=view.revision,
            active_players=view.active_players,
            legal=list(legal),
            deadline_ms=view.deadline_ms,
            now_ms=now_ms,
            think_s=min(self._options.think_s, limit_s / 2),
            limit_s=limit_s,
        )
        try:
            answer = await self._decide(ask)
        except UndecidedError as error:
            self._counts.failed += 1
            self._log.warning(
                "bot_failed",
                code=error.code,
                error=error.message,
                revision=view.revision,
            )
            return None
        return answer.event, answer.payload

    async def _dispatch(
        self, seat: Seat, choice: tuple[str, Any], base_revision: int
    ) -> Accepted | Refusal | None:
        """None: its outcome stayed unknown."""
        again: int | None = None
        for _ in range(1 + ASKED_AGAIN_MAX):
            try:
                if again is not None:
                    return await seat.ask_again(again)
                return await seat.dispatch(*choice, base_revision=base_revision)
            except OutcomeUnknown as error:
                again = int(error.key)
        return None


def _moved_on(before: View, now: View) -> bool:
    """Whether what was chosen at one view is surely no answer to the other.

    The match's owner knows exactly, by the revision: this only spares asking it. What
    others choose at the same time changes nothing of this.
    """
    if (before.history, before.revision) == (now.history, now.revision):
        return False
    return not now.my_turn or (before.state, before.turn, before.legal) != (
        now.state,
        now.turn,
        now.legal,
    )
