"""What an inspector shows of a frame: all there is, or what one seat may see.

It is data; terminals and browsers draw it. Everything of a frame is made when the
frame is asked for, from it and its predecessor, so a long match opens at once.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ..control import ControlSummary, control_summary
from ..definition import Game
from ..errors import ViewError
from ..graph import Graph, compile_graph
from ..jsonvalue import Json
from ..limits import INTERNAL_EVENTS_MAX
from ..machine import Machine
from ..redact import redact_step
from ..replay.frame import Frame
from ..snapshot import Position
from ..step import Evaluation, StepKind, TransitionRecord
from ..validate import Report, validate
from ..value_diff import ValueChange, diff_values
from .handoff import Handoff, describe_handoff
from .highlight import Highlight, highlight
from .source import FrameSource

__all__ = ["QUEUE", "InspectedFrame", "Inspector", "QueueRules", "SeenFrame"]


class QueueRules(msgspec.Struct, frozen=True):
    """How internal events wait: for those who read a batch."""

    ordering: Literal["fifo"] = "fifo"
    priorities: Literal["none"] = "none"
    events_max: int = INTERNAL_EVENTS_MAX
    """In one batch."""


QUEUE: Final = QueueRules()


class InspectedFrame(msgspec.Struct, frozen=True):
    """One revision, as an operator or the game's author sees it."""

    revision: int
    turn: int
    step_kind: StepKind | Literal["initial"]
    event: str | None
    action_id: str | None
    """Of a player's action or a timeout; internal steps have none of their own."""
    player_id: str | None
    payload: Json
    G: Json
    position: Position
    result: Json
    player_view: Json
    """Of the seat that the inspector looks as; None without one."""
    view_problem: str | None
    """Why there is no view: the game's view failed."""
    transition: TransitionRecord | None
    evaluations: tuple[Evaluation, ...]
    diffs: tuple[ValueChange, ...]
    """What the step changed in G."""
    control: ControlSummary | None
    """None when the game's words for a state that may come cannot be had now."""
    control_problem: str | None
    """Why not: the author's function was asked before its time, and failed."""
    handoff: Handoff
    highlight: Highlight


class SeenFrame(msgspec.Struct, frozen=True):
    """One revision, as a seat or a spectator may see it; nothing else is in it."""

    revision: int
    view: Json
    step: Any
    """The step, redacted; None for frame 0."""
    diffs: tuple[ValueChange, ...]
    """What changed in the view."""


class Inspector:
    """Looks at the frames of a match, as an operator beside the seat `seat`."""

    def __init__(self, source: FrameSource, seat: str | None = None) -> None:
        self.source = source
        self.seat = seat

    @property
    def game(self) -> Game:
        """The rules."""
        return self.source.machine.game

    @property
    def head(self) -> int:
        """The newest revision."""
        return self.source.head

    def graph(self) -> Graph:
        """The game's states and transitions."""
        return compile_graph(self.game)

    def report(self) -> Report:
        """What validation says of the game."""
        return validate(self.game)

    def frame(self, revision: int) -> InspectedFrame:
        """Everything about a revision.

        Raises:
            LookupError: There is no such revision, or it is no longer kept.
            ReplayError: The match cannot be played back so far.
        """
        frame = self.source.frame(revision)
        before = self._before(frame)
        snapshot, step = frame.snapshot, frame.step
        view, problem = self._view(frame)
        control, control_problem = _control(self._machine(frame).game, frame)
        shown: dict[str, Any] = {
            "step_kind": "initial",
            "event": None,
            "action_id": None,
            "player_id": None,
            "payload": None,
            "transition": None,
            "evaluations": (),
        }
        if step is not None:
            shown = {
                "step_kind": step.kind,
                "event": step.event.event,
                "action_id": None if step.kind == "internal" else step.event.action_id,
                "player_id": step.event.player_id,
                "payload": step.event.payload,
                "transition": step.transition,
                "evaluations": step.transition.evaluations,
            }
        was_active = None
        if before is not None:
            was_active = before.snapshot.derived.active_players
        return InspectedFrame(
            revision=revision,
            turn=snapshot.position.turn,
            G=snapshot.G,
            position=snapshot.position,
            result=snapshot.meta.result,
            player_view=view,
            view_problem=problem,
            diffs=()
            if before is None
            else tuple(diff_values(before.snapshot.G, snapshot.G)),
            control=control,
            control_problem=control_problem,
            handoff=describe_handoff(was_active, snapshot.derived.active_players),
            highlight=highlight(frame),
            **shown,
        )

    def seen(self, revision: int, seat: str | None) -> SeenFrame:
        """What a seat may see of a revision; `None` is a spectator.

        Raises:
            LookupError: There is no such revision, or it is no longer kept.
            ReplayError: The match cannot be played back so far.
            ViewError: The game's view or `redact` failed.
        """
        frame = self.source.frame(revision)
        before = self._before(frame)
        view = self._seen(frame, seat)
        return SeenFrame(
            revision,
            view,
            None
            if frame.step is None
            else redact_step(self._machine(frame).game, frame.step, seat),
            ()
            if before is None
            else tuple(diff_values(self._seen(before, seat), view)),
        )

    def _machine(self, frame: Frame) -> Machine:
        return frame.machine or self.source.machine

    def _before(self, frame: Frame) -> Frame | None:
        if frame.step is None:
            return None
        try:
            return self.source.frame(frame.revision - 1)
        except LookupError:
            return None  # a live match that no longer keeps it

    def _view(self, frame: Frame) -> tuple[Json, str | None]:
        if self.seat is None:
            return None, None
        try:
            return self._seen(frame, self.seat), None
        except ViewError as error:
            return None, f"{error}: {error.fault.message}"

    def _seen(self, frame: Frame, seat: str | None) -> Json:
        machine = self._machine(frame)
        if seat is None:
            return machine.public_view(frame.snapshot)
        return machine.player_view(frame.snapshot, seat)


def _control(game: Game, frame: Frame) -> tuple[ControlSummary | None, str | None]:
    """The summary, or why there is none. That an author's words for another state fail
    now says nothing about the match."""
    try:
        return control_summary(game, frame.snapshot), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
