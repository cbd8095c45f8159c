"""Scripted matches: a test that reads as the match does.

    (
        script(nim, seed="s")
        .expect(state="play", active=["0"])
        .play("0", "take", 3)
        .refused("1", "take", 9, reason="take_one_two_or_three")
        .sees("1", {"left": 18})
    )

What does not go as the script says is a `ScriptFault`, which shows the match so far
and its seed. Time stands still but for `wait` and `timeout`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..definition import Game
from ..errors import EngineError
from ..jsonvalue import Json
from ..refusal import Refusal
from ..session import Session, create_session
from .invariant import Invariant, broken_invariant
from .transcript import action_text, json_text, place_text, transcript_of

__all__ = ["ScriptFault", "ScriptedMatch", "script"]

NOT_ASKED: Final[Any] = object()
"""Stands for an expectation that is not there; None is one: of no result, say."""


class ScriptFault(AssertionError):
    """The match did not go as the script says."""


def script(
    game: Game,
    *,
    players: Sequence[str] | None = None,
    seed: str = "default",
    config: Json = None,
    now: int = 0,
    invariants: Sequence[Invariant] = (),
) -> ScriptedMatch:
    """Start a match to be scripted. All seats of the pool play unless some are named.

    `invariants` are checked at the start and after every step.

    Raises:
        InvalidGameError, InvalidMatchError: The match cannot start.
        ScriptFault: An invariant does not hold at the start.
    """
    match: dict[str, Json] = {"players": list(players or game.player_ids)}
    if config is not None:
        match["config"] = config
    session = create_session(game, match, seed=seed, now=now)
    return ScriptedMatch(session, now, invariants)


class ScriptedMatch:
    """A match under a script. Every method returns the match, so that calls chain.

    Raises, from every method:
        ScriptFault: The match did not go so; the message shows how it went.
    """

    def __init__(
        self, session: Session, now: int, invariants: Sequence[Invariant] = ()
    ) -> None:
        self.session = session
        self.now: int | float = now
        self._invariants = tuple(invariants)
        self._lines = [("start", place_text(session.snapshot))]
        self._check_invariants()

    def __repr__(self) -> str:
        return f"<ScriptedMatch of {self.session.game.name}, {self._lines[-1][1]}>"

    def play(self, seat: str, event: str, payload: Json = None) -> ScriptedMatch:
        """An action that must be accepted."""
        done = action_text(seat, event, payload)
        answer = self.session.apply(seat, event, payload, now=self.now)
        if isinstance(answer, Refusal):
            self._fail(f"{done} should be accepted, but was {_refusal_text(answer)}")
        self._note(done)
        return self

    def refused(
        self,
        seat: str,
        event: str,
        payload: Json = None,
        *,
        code: str = NOT_ASKED,
        reason: str | None = NOT_ASKED,
        details: Json = NOT_ASKED,
    ) -> ScriptedMatch:
        """An action that must be refused: with this code, this reason, if given.

        A refusal because the game's own code failed only counts if its code is given.
        """
        done = action_text(seat, event, payload)
        answer = self.session.apply(seat, event, payload, now=self.now)
        if not isinstance(answer, Refusal):
            self._note(done)
            self._fail(f"{done} should be refused, but was accepted")
        asked = {"code": code, "reason": reason, "details": details}
        for part, wanted in asked.items():
            if wanted is not NOT_ASKED and getattr(answer, part) != wanted:
                self._fail(
                    f"{done} should be refused with {part} {json_text(wanted)}, but "
                    f"was {_refusal_text(answer)}"
                )
        if answer.fault is not None and code is NOT_ASKED:
            self._fail(f"{done} made the game fail: {_refusal_text(answer)}")
        self._lines.append((done, f"refused: {answer.reason or answer.code}"))
        return self

    def wait(self, duration_ms: int | float) -> ScriptedMatch:
        """Let time pass. Deadlines within it are met at their instants, in order."""
        until = self.now + duration_ms
        while (deadline := self._due(until)) is not None:
            self.now = max(self.now, deadline)
            answer = self.session.fire_timeout(self.now)
            if isinstance(answer, Refusal):
                self._fail(f"the timeout at {self.now} was {_refusal_text(answer)}")
            if answer is None:
                break  # nothing answers: a host does not ask again
            self._note(f"timeout at {self.now}")
        self.now = until
        return self

    def timeout(self) -> ScriptedMatch:
        """Let time pass up to the deadline, which must be there and do something."""
        deadline = self._due(float("inf"))
        if deadline is None:
            self._fail("a timeout should come, but there is no deadline")
        before = self.session.revision
        self.wait(max(0, deadline - self.now))
        if self.session.revision == before:
            self._fail(f"nothing answers the timeout at {deadline}")
        return self

    def expect(
        self,
        *,
        state: str = NOT_ASKED,
        active: Sequence[str] = NOT_ASKED,
        turn: int = NOT_ASKED,
        result: Json = NOT_ASKED,
        G: Json = NOT_ASKED,
        label: str | None = NOT_ASKED,
    ) -> ScriptedMatch:
        """How the match must stand. Of a mapping, only the keys given are compared.

        `result=None` says that the match goes on.
        """
        snapshot = self.session.snapshot
        derived = snapshot.derived
        self._compare("state", state, snapshot.position.name)
        self._compare("active", active, derived.active_players)
        self._compare("turn", turn, snapshot.position.turn)
        self._compare("result", result, snapshot.meta.result)
        self._compare("G", G, snapshot.G)
        self._compare("label", label, derived.control_meta.label)
        return self

    def sees(self, seat: str | None, view: Json) -> ScriptedMatch:
        """What a seat, or with None a spectator, must see. Keys that are not given
        are not compared; for the whole view there is `view(seat)`.
        """
        who = "a spectator's view" if seat is None else f"seat {seat}'s view"
        self._compare(who, view, self.view(seat))
        return self

    def view(self, seat: str | None = None) -> Json:
        """What a seat, or a spectator, sees now."""
        try:
            if seat is None:
                return self.session.public_view()
            return self.session.player_view(seat)
        except EngineError as error:
            fault = getattr(error, "fault", None)
            cause = f" ({fault.exception_type}: {fault.message})" if fault else ""
            self._fail(f"the view of seat {seat} fails: {error}{cause}")

    def check(self, condition: Callable[[Session], object]) -> ScriptedMatch:
        """Anything else that must hold, of the session. False or an exception fails."""
        name = getattr(condition, "__name__", "condition")
        try:
            holds = condition(self.session) is not False
        except AssertionError as error:
            self._fail(f"{name} does not hold: {error}")
        if not holds:
            self._fail(f"{name} does not hold")
        return self

    def _due(self, until: int | float) -> int | float | None:
        deadline = self.session.next_deadline
        if self.session.result is not None or deadline is None or deadline > until:
            return None
        return deadline

    def _compare(self, what: str, wanted: Json, actual: Json) -> None:
        if wanted is NOT_ASKED:
            return
        if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
            missing = [key for key in wanted if key not in actual]
            if missing:
                self._fail(
                    f"{what} should have {json_text(missing[0])}, but has only "
                    f"{', '.join(map(json_text, actual)) or 'nothing'}"
                )
            for key, value in wanted.items():
                self._compare_value(f"{what}[{json_text(key)}]", value, actual[key])
            return
        self._compare_value(what, wanted, actual)

    def _compare_value(self, what: str, wanted: Json, actual: Json) -> None:
        same = list(wanted) == actual if isinstance(wanted, tuple) else wanted == actual
        if not same:
            self._fail(
                f"{what} should be {json_text(wanted)}, but is {json_text(actual)}"
            )

    def _note(self, done: str) -> None:
        self._lines.append((done, place_text(self.session.snapshot)))
        self._check_invariants()

    def _check_invariants(self) -> None:
        problem = broken_invariant(self.session, self._invariants)
        if problem is not None:
            self._fail(problem)

    def _fail(self, problem: str) -> NoReturn:
        # The frames in between are of no interest to who reads the failure.
        raise ScriptFault(f"{problem}\n{transcript_of(self.session, self._lines)}")


def _refusal_text(refusal: Refusal) -> str:
    text = f"refused with {refusal.code}"
    if refusal.reason is not None:
        text += f", {refusal.reason}"
    if refusal.details is not None:
        text += f" {json_text(refusal.details)}"
    text += f": {refusal.message}"
    if refusal.fault is not None:
        text += f"\n{refusal.fault.traceback.rstrip()}"
    return text
