"""Turns what an inspector knows of a match into what its page is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from ...engine.errors import EngineError, ReplayError, ViewError
from ...engine.graph import Graph
from ...engine.inspector.inspector import InspectedFrame, Inspector
from ...engine.replay.frame import Frame
from ...engine.replay.timeline import Timeline
from ...engine.step import Candidate, Evaluation, TransitionRecord
from ...engine.value_diff import ValueChange
from .inspected_bodies import (
    BranchBody,
    ChangeBody,
    ControlBody,
    EvaluationBody,
    FrameBody,
    GraphBody,
    GraphEdgeBody,
    GraphStateBody,
    HandoffBody,
    OperatorBody,
    ProblemBody,
    QueuedBody,
    SeenBody,
    TakenBody,
    TimelineRow,
)

__all__ = [
    "CHANGES_MAX",
    "FRAMES_BYTES",
    "FRAMES_MAX",
    "FRAME_BYTES_MAX",
    "ROWS_MAX",
    "frames_of",
    "graph_of",
    "head_of",
    "rows_of",
]

ROWS_MAX: Final = 500
"""Of a page of revisions."""

FRAMES_MAX: Final = 64
"""Of one answer."""

FRAMES_BYTES: Final = 512 * 1024
"""An answer ends behind the frame that exceeds it."""

FRAME_BYTES_MAX: Final = 8 * 1024 * 1024

CHANGES_MAX: Final = 500
"""Of a frame's diff; of more, their number is told."""


def head_of(timeline: Timeline) -> int:
    """The newest revision that can be shown."""
    try:
        return timeline.head
    except ReplayError as error:
        return timeline.last_of_record(error.index - 1)


def rows_of(
    timeline: Timeline, first: int, limit: int
) -> tuple[list[TimelineRow], ProblemBody | None]:
    """The revisions from one on, and why they end before there are `limit` of them."""
    rows: list[TimelineRow] = []
    try:
        for frame in timeline.frames(first, first + limit - 1):
            rows.append(_row(frame))
    except EngineError as error:
        return rows, ProblemBody(error.code, str(error))
    return rows, None


def graph_of(graph: Graph) -> GraphBody:
    """A game's graph."""
    return GraphBody(
        graph.initial,
        [GraphStateBody(n.id, n.kind, n.parent, list(n.path)) for n in graph.nodes],
        [
            GraphEdgeBody(e.event, e.source, e.target, e.resolver, e.turn)
            for e in graph.edges
        ],
    )


def frames_of(
    timeline: Timeline, first: int, count: int, as_seat: str | None
) -> list[bytes | ProblemBody]:
    """The frames from one on, each as JSON; the last may say why it is none.

    `as_seat`: whose view is in them, too; "" is a spectator, None nobody.
    """
    inspector = Inspector(timeline)
    made: list[bytes | ProblemBody] = []
    size = 0
    for revision in range(first, first + count):
        if size > FRAMES_BYTES:
            break
        try:
            frame = timeline.frame(revision)
            text = msgspec.json.encode(_frame(inspector, frame, as_seat))
        except LookupError:
            break
        except EngineError as error:
            made.append(ProblemBody(error.code, str(error)))
            break
        if len(text) > FRAME_BYTES_MAX:
            why = f"revision {revision} is {len(text):,} bytes: too much for a page"
            made.append(ProblemBody("too_large", why))
            break
        made.append(text)
        size += len(text)
    return made


def _row(frame: Frame) -> TimelineRow:
    step, position = frame.step, frame.snapshot.position
    return TimelineRow(
        revision=frame.revision,
        turn=position.turn,
        kind="initial" if step is None else step.kind,
        event=None if step is None else step.event.event,
        seat=None if step is None else step.event.player_id,
        state=position.name,
    )


def _frame(inspector: Inspector, frame: Frame, as_seat: str | None) -> FrameBody:
    shown = inspector.frame(frame.revision)
    snapshot = frame.snapshot
    diff, more = _changes(shown.diffs)
    return FrameBody(
        revision=shown.revision,
        turn=shown.turn,
        kind=shown.step_kind,
        event=shown.event,
        seat=shown.player_id,
        payload=shown.payload,
        at=snapshot.meta.now if frame.step is None else frame.step.event.at,
        actionID=shown.action_id,
        path=list(shown.position.path),
        active=list(snapshot.derived.active_players),
        pending=list(shown.highlight.pending_targets),
        taken=None if shown.transition is None else _taken(shown.transition),
        evaluations=[_evaluation(e, shown.transition) for e in shown.evaluations],
        diff=diff,
        diffMore=more,
        G=shown.G,
        selectors=snapshot.derived.selectors,
        result=shown.result,
        control=_control(shown),
        controlProblem=shown.control_problem,
        handoff=HandoffBody(
            shown.handoff.kind, shown.handoff.label, shown.handoff.summary
        ),
        operator=_operator(frame),
        seen=None if as_seat is None else _seen(inspector, frame, as_seat or None),
    )


def _taken(taken: TransitionRecord) -> TakenBody:
    return TakenBody(
        event=taken.event,
        source=taken.matched_from,
        left=taken.source,
        target=taken.target,
        resolver=taken.resolver,
        turn=taken.turn,
        queued=[QueuedBody(each.kind, each.payload) for each in taken.enqueued],
        draws=0 if taken.rng is None else taken.rng.draws,
        profile=taken.profile,
    )


def _evaluation(asked: Evaluation, taken: TransitionRecord | None) -> EvaluationBody:
    return EvaluationBody(
        source=asked.source,
        outcome=asked.outcome,
        branches=[_branch(each, taken) for each in asked.candidates],
    )


def _branch(asked: Candidate, taken: TransitionRecord | None) -> BranchBody:
    place = (asked.source, asked.target, asked.resolver)
    return BranchBody(
        source=asked.source,
        target=asked.target,
        resolver=asked.resolver,
        matched=asked.matched,
        taken=asked.matched
        and taken is not None
        and place == (taken.matched_from, taken.target, taken.resolver),
        rejectedBy=asked.rejected_by,
        reason=asked.reason,
        details=asked.details,
    )


def _control(shown: InspectedFrame) -> ControlBody | None:
    if shown.control is None:
        return None
    meta = shown.control.meta
    return ControlBody(meta.label, meta.deadline, shown.control.control)


def _operator(frame: Frame) -> OperatorBody | None:
    said = frame.operator
    return None if said is None else OperatorBody(said["op"], said["who"], said["why"])


def _seen(inspector: Inspector, frame: Frame, seat: str | None) -> SeenBody:
    try:
        seen = inspector.seen(frame.revision, seat)
    except ViewError as error:
        return SeenBody(None, None, [], 0, f"{error}: {error.fault.message}")
    diff, more = _changes(seen.diffs)
    return SeenBody(seen.view, seen.step, diff, more, None)


def _changes(changes: Iterable[ValueChange]) -> tuple[list[ChangeBody], int]:
    found = [ChangeBody(each.path, each.before, each.after) for each in changes]
    return found[:CHANGES_MAX], max(0, len(found) - CHANGES_MAX)
