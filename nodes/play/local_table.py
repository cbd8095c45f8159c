"""A match in this process: an engine session with the clock of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from ...engine.definition import Game
from ...engine.errors import ViewError
from ...engine.redact import redact_step
from ...engine.refusal import Fault
from ...engine.refusal import Refusal as Refused
from ...engine.session import create_session
from ...engine.step import Batch, Step
from ..client.outcome import Refusal
from ..client.view import View
from ..operator_error import OperatorError
from .match_keeper import MatchKeeper
from .table import SPECTATOR

__all__ = ["LocalTable"]


class LocalTable:
    """A match that begins now. Deadlines are met when somebody looks or waits."""

    def __init__(
        self,
        game: Game,
        seats: Sequence[str],
        seed: str,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        keeper: MatchKeeper | None = None,
    ) -> None:
        self.seats = seats
        self._clock = clock
        self._seed = seed
        self._keeper = keeper
        match: dict[str, Any] = {"players": list(seats)}
        if keeper is not None:
            match["profiles"] = keeper.stored
        self._session = create_session(game, match, seed=seed, now=clock())
        self._steps: list[Step] = []
        self._unanswered = -1  # the revision whose deadline nobody answers

    async def look(self, seat: str) -> View:
        await self._meet_deadline()
        session, snapshot = self._session, self._session.snapshot
        try:
            seen = (
                session.public_view()
                if seat == SPECTATOR
                else session.player_view(seat)
            )
            legal = None
            if session.game.legal_actions is not None and seat != SPECTATOR:
                legal = tuple(session.legal_actions(seat))
        except ViewError as error:
            raise _failed(
                "view_error", f"the {error.fault.label}", error.fault
            ) from None
        deadline = session.next_deadline
        return View(
            match="",
            seat=seat,
            revision=session.revision,
            turn=snapshot.position.turn,
            state=snapshot.position.name,
            active_players=tuple(snapshot.derived.active_players),
            deadline_ms=None if deadline is None else int(deadline),
            ended=session.result is not None,
            view=seen,
            result=session.result,
            legal=legal,
        )

    async def act(self, seat: str, event: str, payload: Any) -> Refusal | None:
        await self._meet_deadline()
        answer = self._session.apply(seat, event, payload, now=self._clock())
        if isinstance(answer, Batch):
            await self._took(answer)
            return None
        if answer.fault is not None:
            said = f"{answer.message} {_cause(answer.fault)}"
            return Refusal(answer.code, said, answer.reason, answer.details)
        return Refusal(answer.code, answer.message, answer.reason, answer.details)

    async def moved(self, revision: int) -> None:
        while self._session.revision <= revision:
            deadline = self._deadline()
            if deadline is None:
                await anyio.sleep_forever()
            else:
                await anyio.sleep(max(0.0, (deadline - self._clock()) / 1000))
            await self._meet_deadline()

    def history(self, seat: str) -> Sequence[tuple[int, Any]]:
        game = self._session.game
        try:
            return [
                (step.snapshot.revision, redact_step(game, step, seat or None))
                for step in self._steps
            ]
        except ViewError as error:
            raise _failed("view_error", "redact", error.fault) from None

    def farewell(self) -> str:
        kept = [] if self._keeper is None else self._keeper.told()
        return "\n".join([*kept, f"The same dice and bots again: --seed {self._seed}"])

    def _deadline(self) -> int | float | None:
        session = self._session
        if session.result is not None or session.revision == self._unanswered:
            return None
        return session.next_deadline

    async def _took(self, batch: Batch) -> None:
        """Remember a batch, and keep what players have of it.

        Not to be interrupted between the two: a batch is kept once.
        """
        self._steps += batch.steps
        if self._keeper is not None:
            with anyio.CancelScope(shield=True):
                await self._keeper.keep(batch)

    async def _meet_deadline(self) -> None:
        while (deadline := self._deadline()) is not None and deadline <= self._clock():
            answer = self._session.fire_timeout(self._clock())
            if isinstance(answer, Refused):
                if answer.fault is not None:
                    raise _failed(answer.code, "the timeout", answer.fault)
                raise OperatorError(
                    answer.code, f"the timeout failed: {answer.message}"
                )
            if answer is None:
                self._unanswered = self._session.revision
            else:
                await self._took(answer)


def _failed(code: str, what: str, fault: Fault) -> OperatorError:
    """The author plays here: tell where their code failed."""
    return OperatorError(code, f"{what} failed: {_cause(fault)}")


def _cause(fault: Fault) -> str:
    lines = [line.strip() for line in fault.traceback.splitlines()]
    places = [line for line in lines if line.startswith("File ")]
    where = f" ({places[-1].removeprefix('File ')})" if places else ""
    return f"{fault.exception_type}: {fault.message}{where}"
