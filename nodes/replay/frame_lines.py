"""Frames as text: a table of them, and one with everything that is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from ...engine.errors import ViewError
from ...engine.inspector.inspector import InspectedFrame, Inspector
from ...engine.jsonvalue import Json
from ...engine.replay.frame import Frame
from ...engine.replay.timeline import Timeline
from ...engine.step import Candidate, Evaluation
from ..play.show import safe

__all__ = ["detail_json", "detail_lines", "row_json", "table_lines"]

VALUE_WIDTH_MAX = 60
"""Characters of a value in a line; --json has all of it."""

_COLUMNS = "{:>8} {:>5}  {:<9} {:<18} {:<8} {:<28} {}"


def table_lines(timeline: Timeline) -> Iterator[str]:
    """One line for each frame, from the creation on."""
    yield _COLUMNS.format(
        "revision", "turn", "kind", "event", "seat", "state", "may act"
    ).rstrip()
    for frame in timeline.frames():
        row = row_json(frame)
        state = row["state"]
        if row["source"] is not None and row["source"] != state:
            state = f"{row['source']} -> {state}"
        acting = ", ".join(row["active_players"])
        if row["result"] is not None:
            acting = f"result {_brief(row['result'])}"
        yield _COLUMNS.format(
            row["revision"],
            row["turn"],
            row["kind"],
            row["event"] or "",
            row["seat"] or "",
            state,
            acting,
        ).rstrip()


def row_json(frame: Frame) -> dict[str, Any]:
    """One frame, in the few fields of the table."""
    snapshot, step = frame.snapshot, frame.step
    return {
        "revision": frame.revision,
        "record": None if frame.record is None else frame.record.index,
        "turn": snapshot.position.turn,
        "at": snapshot.meta.now,
        "kind": "initial" if step is None else step.kind,
        "event": None if step is None else step.event.event,
        "seat": None if step is None else step.event.player_id,
        "source": None if step is None else step.transition.source,
        "state": snapshot.position.name,
        "resolver": None if step is None else step.transition.resolver,
        "active_players": list(snapshot.derived.active_players),
        "result": snapshot.meta.result,
        "operator": frame.operator,
    }


def detail_json(timeline: Timeline, revision: int) -> dict[str, Any]:
    """Everything about one frame, with the view of each seat and of a spectator."""
    frame = timeline.frame(revision)
    shown: dict[str, Any] = msgspec.to_builtins(Inspector(timeline).frame(revision))
    shown["at"] = frame.snapshot.meta.now
    shown["record"] = None if frame.record is None else frame.record.index
    shown["operator"] = frame.operator
    del shown["player_view"], shown["view_problem"]  # all of them are here:
    shown["views"] = _views(timeline, frame)
    return shown


def detail_lines(timeline: Timeline, revision: int) -> Iterator[str]:
    """Everything about one frame, for a person."""
    frame, shown = timeline.frame(revision), Inspector(timeline).frame(revision)
    yield f"revision {revision}, turn {shown.turn}, at {frame.snapshot.meta.now}"
    yield from _event_lines(shown)
    if (operator := frame.operator) is not None:
        yield safe(f"operator: {operator['who']}: {operator['why']}")
    for evaluation in shown.evaluations:
        yield from _evaluation_lines(evaluation)
    if shown.diffs:
        yield "changes in G:"
    for change in shown.diffs:
        yield f"  {change.path}: {_brief(change.before)} -> {_brief(change.after)}"
    yield f"control: {shown.handoff.summary}"
    pending = ", ".join(shown.highlight.pending_targets)
    yield f"state: {shown.position.name}" + (
        f", may lead to {pending}" if pending else ""
    )
    if shown.result is not None:
        yield f"result: {_brief(shown.result)}"
    yield "views:"
    for seat, view in _views(timeline, frame).items():
        name = f"seat {seat}" if seat else "spectator"
        said = view.get("error") or json.dumps(view["view"], ensure_ascii=False)
        yield f"  {name}: {said}"


def _event_lines(shown: InspectedFrame) -> Iterator[str]:
    if shown.transition is None:
        yield "the match was created"
        return
    by = "" if shown.player_id is None else f" by seat {shown.player_id}"
    taken = shown.transition
    yield f"{shown.step_kind}: {shown.event}{by}"
    if shown.payload is not None:
        yield f"payload: {_brief(shown.payload)}"
    name = "" if taken.resolver is None else f" by {taken.resolver}"
    yield f"transition: {taken.source} -> {taken.target}{name}, turn {taken.turn}"
    for queued in taken.enqueued:
        payload = "" if queued.payload is None else f" {_brief(queued.payload)}"
        yield f"queued: {queued.kind}{payload}"
    if taken.rng is not None:
        yield f"rng: {taken.rng.draws} drawn"


def _evaluation_lines(evaluation: Evaluation) -> Iterator[str]:
    outcome = evaluation.outcome.replace("_", " ")
    yield f"asked at {evaluation.source}: {outcome}"
    for candidate in evaluation.candidates:
        mark = "+" if candidate.matched else "-"
        name = candidate.resolver or ""
        line = f"  {mark} {candidate.source} -> {candidate.target}  {name}"
        yield f"{line.rstrip()}{_why_not(candidate)}"


def _why_not(candidate: Candidate) -> str:
    if candidate.matched:
        return ""
    if candidate.rejected_by != "reject":
        return ": does not apply"
    said = candidate.reason or "rejected"
    if candidate.details is not None:
        said += f" {_brief(candidate.details)}"
    return f": {said}"


def _views(timeline: Timeline, frame: Frame) -> dict[str, dict[str, Any]]:
    """By seat, "" for a spectator: what each sees, or why it sees nothing."""
    machine, snapshot = timeline.machine, frame.snapshot
    views: dict[str, dict[str, Any]] = {}
    for seat in [*snapshot.meta.match["players"], ""]:
        try:
            if seat:
                views[seat] = {"view": machine.player_view(snapshot, seat)}
            else:
                views[seat] = {"view": machine.public_view(snapshot)}
        except ViewError as error:
            views[seat] = {"error": f"{error} {error.fault.message}"}
    return views


def _brief(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_WIDTH_MAX else f"{text[:VALUE_WIDTH_MAX]}..."
