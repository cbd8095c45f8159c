"""A simulated player: an ordinary client with a policy and an account.

It acts only on what it was shown, counts every answer, and notes in its account what
it was told. It gives up when a match is gone; it never hides a fault.
"""

from __future__ import annotations

from typing import Any

import anyio

from ..client.match import Seat
from ..client.outcome import (
    Accepted,
    ClusterUnreachable,
    NoAnswer,
    OutcomeUnknown,
    Refusal,
    WatchEnded,
)
from ..client.view import View
from .oracle import Account
from .policy import Policy
from .report import Tally

__all__ = ["GONE_CODES", "MatchGone", "play"]

REFUSED_IN_A_ROW_MAX = 20
"""After so many refusals without an acceptance the player cannot go on."""

ASKED_AGAIN_MAX = 3
"""Times that an action of unknown outcome is asked about again."""

GONE_CODES = frozenset({"match_lost", "unknown_match", "seat_taken", "not_seated"})
"""Refusals after which the match, or the seat, is lost to this player for good."""


class MatchGone(Exception):
    """The match cannot be played on. `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


async def play(seat: Seat, policy: Policy, account: Account, tally: Tally) -> None:
    """Play one seat until the match has ended.

    Raises:
        MatchGone: It cannot be played on.
    """
    player = _Player(seat, policy, account, tally)
    try:
        async for view in seat.views(legal=True):
            account.saw(view)
            await player.act(view)
    except WatchEnded as error:
        raise MatchGone(error.code, error.refusal.message) from error
    except (NoAnswer, ClusterUnreachable) as error:
        raise MatchGone(error.code, str(error)) from error


class _Player:
    def __init__(
        self, seat: Seat, policy: Policy, account: Account, tally: Tally
    ) -> None:
        self._seat = seat
        self._policy = policy
        self._account = account
        self._tally = tally
        self._revision = 0  # of the last acknowledgement: no action on older views

    async def act(self, view: View) -> None:
        """Act at this view if it is this seat's turn; on a refusal, look again."""
        for _ in range(REFUSED_IN_A_ROW_MAX):
            if not view.my_turn or view.revision < self._revision:
                return
            choice = self._policy.choose(view)
            if choice is None:
                return
            outcome = await self._dispatch(*choice, view.revision)
            if isinstance(outcome, Accepted):
                self._revision = outcome.revision
                return
            if isinstance(outcome, Refusal):
                self._tally.refusals[outcome.code] += 1
                if outcome.code in GONE_CODES:
                    raise MatchGone(outcome.code, outcome.message)
            view = await self._look_again()
        raise MatchGone(
            "stuck", f"{REFUSED_IN_A_ROW_MAX} refusals in a row, {outcome} the last"
        )

    async def _dispatch(
        self, event: str, payload: Any, base_revision: int
    ) -> Accepted | Refusal | None:
        """None: its outcome stayed unknown."""
        began_s = anyio.current_time()
        again: int | None = None
        for _ in range(1 + ASKED_AGAIN_MAX):
            try:
                outcome = (
                    await self._seat.dispatch(
                        event, payload, base_revision=base_revision
                    )
                    if again is None
                    else await self._seat.ask_again(again)
                )
            except OutcomeUnknown as error:
                again = int(error.key)
                self._account.unknown(again, event, payload)
                self._tally.outcomes_unknown += 1
                continue
            if isinstance(outcome, Accepted):
                self._tally.acted(anyio.current_time() - began_s)
                self._account.accepted(
                    outcome.action,
                    event,
                    payload,
                    revision=outcome.revision,
                    index=outcome.index,
                )
            return outcome
        return None

    async def _look_again(self) -> View:
        view = await self._seat.resync(legal=True)
        if isinstance(view, Refusal):
            raise MatchGone(view.code, view.message)
        self._account.saw(view, fresh=True)
        return view
