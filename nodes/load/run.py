"""One load test against a cluster: play every planned match, then verify each.

Matches begin when the plan says, whatever the others do. Verification comes after
the playing, so that replaying logs here does not slow the clock it is measured by;
only a backlog that nodes might forget is verified while others play.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from ...engine.machine import compile_game
from ..client.match import RemoteMatch
from ..client.outcome import ClientError, Refusal
from ..client.shell import Client
from ..client.view import View
from .oracle import Account, judge
from .plan import MatchPlan
from .player import GONE_CODES, MatchGone, play
from .policy import Policy, RandomLegal
from .report import Tally, Trouble

__all__ = ["LoadRun", "PolicyMaker"]

PolicyMaker = Callable[[MatchPlan, str], Policy]
"""Makes the policy of one seat of one match."""

LOG_GONE_CODES = GONE_CODES | {"game_over"}
"""Why a match that ended cannot be verified: lost, or dropped by the retention rule."""

BACKLOG_MAX = 500
"""Ended matches that wait for their verification: nodes keep them for a while."""

VERIFIERS = 8
"""Logs fetched at a time: enough to hide a round trip behind a replay."""


@dataclass(slots=True)
class _Played:
    """A match that has ended, and what its players were told."""

    plan: MatchPlan
    match: RemoteMatch
    accounts: list[Account] = field(default_factory=list)


class LoadRun:
    """Plays a plan with the players spread over `clients`."""

    def __init__(
        self,
        plans: Sequence[MatchPlan],
        clients: Sequence[Client],
        *,
        seed: str,
        timeout_s: float,
        policy: PolicyMaker | None = None,
    ) -> None:
        self._plans = plans
        self._clients = clients
        self._timeout_s = timeout_s
        self._policy = policy or _random_legal
        self._played: deque[_Played] = deque()
        self.tally = Tally(seed, len(plans))

    async def play(self) -> None:
        """Begin every match at its time; returns when the last one has ended."""
        began_s = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            for plan in self._plans:
                due_s = began_s + plan.start_s
                await anyio.sleep(max(0.0, due_s - anyio.current_time()))
                tasks.start_soon(self._play, plan)
        self.tally.duration_s = anyio.current_time() - began_s

    async def verify(self) -> None:
        """Replay the log of every match that ended, and judge every account."""
        async with anyio.create_task_group() as tasks:
            for _ in range(VERIFIERS):
                tasks.start_soon(self._verify_all, 0)

    async def _play(self, plan: MatchPlan) -> None:
        self.tally.started += 1
        client = self._client(plan.number)
        try:
            match = await client.create(
                plan.game.name,
                players=plan.players,
                version=plan.game.version,
                key=plan.key,
            )
        except ClientError as error:
            self._unfinished(plan, "", f"create: {error.code}: {error}")
            return
        if isinstance(match, Refusal):
            self.tally.refusals[match.code] += 1
            self._unfinished(plan, "", f"create: {match.code}: {match.message}")
            return
        played = _Played(plan, match)
        reasons: list[str] = []
        with anyio.move_on_after(self._timeout_s) as timeout:
            async with anyio.create_task_group() as players:
                for place, seat in enumerate(plan.players):
                    players.start_soon(self._sit, played, place, seat, reasons)
        if timeout.cancelled_caught:
            reasons.append(f"not ended after {self._timeout_s:g} s")
        if reasons:
            self._unfinished(plan, match.id, *reasons)
            return
        self.tally.ended += 1
        self.tally.games[plan.game.name] += 1
        self._played.append(played)
        await self._verify_all(BACKLOG_MAX)

    async def _sit(
        self, played: _Played, place: int, name: str, reasons: list[str]
    ) -> None:
        """Take one seat and play it. The others go on without it: they time out."""
        plan, created = played.plan, played.match
        client = self._client(plan.number + place)
        match = client.join(created.id, created.epoch, created.seats)
        try:
            seat = await match.take(name)
            if isinstance(seat, Refusal):
                self.tally.refusals[seat.code] += 1
                reasons.append(f"take {name!r}: {seat.code}: {seat.message}")
                return
            account = Account(name, seat.session)
            played.accounts.append(account)
            try:
                await play(seat, self._policy(plan, name), account, self.tally)
            finally:
                seat.close()
        except (MatchGone, ClientError) as error:
            reasons.append(f"seat {name!r}: {error}")

    async def _verify_all(self, but: int) -> None:
        """Verify the oldest matches until no more than `but` wait."""
        while len(self._played) > but:
            played = self._played.popleft()
            try:
                reasons = await self._verify(played)
            except MatchGone as error:
                self.tally.unverified += 1
                reasons = [f"its log is gone: {error}"]
            else:
                self.tally.wrong += bool(reasons)
                self.tally.verified += not reasons
                if not reasons:
                    self.tally.sample = played.match.id
            if reasons:
                name = played.plan.game.name
                self.tally.trouble(Trouble(played.match.id, name, tuple(reasons)))

    async def _verify(self, played: _Played) -> list[str]:
        """What is wrong with a match that ended; nothing: an empty list.

        Raises:
            MatchGone: The cluster has it no longer: nothing can be said.
        """
        try:
            spectator = played.match.watch()
            last = await spectator.resync()
            spectator.close()
            records = await played.match.log()
        except ClientError as error:
            return [f"the log cannot be had: {error.code}: {error}"]
        for answer in (last, records):
            if isinstance(answer, Refusal):
                if answer.code in LOG_GONE_CODES:
                    raise MatchGone(answer.code, answer.message)
                return [f"the log cannot be had: {answer.code}: {answer.message}"]
        assert isinstance(last, View)
        assert isinstance(records, list)
        public = Account("")
        public.saw(last)
        machine = compile_game(played.plan.game)
        return judge(machine, played.match.id, records, [*played.accounts, public])

    def _client(self, number: int) -> Client:
        return self._clients[number % len(self._clients)]

    def _unfinished(self, plan: MatchPlan, match: str, *reasons: str) -> None:
        self.tally.unfinished += 1
        self.tally.trouble(Trouble(match or plan.key, plan.game.name, reasons))


def _random_legal(plan: MatchPlan, seat: str) -> Policy:
    return RandomLegal(plan.choices(seat))
