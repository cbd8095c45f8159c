"""The format of inspector.json: diffs, handoffs, a timeline, and the controls.

All of it is compared exactly, but for what hotseat says of its own queue: it has a
bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from hotseat.engine.inspector.handoff import Handoff, describe_handoff
from hotseat.engine.inspector.highlight import highlight
from hotseat.engine.inspector.inspector import QUEUE, InspectedFrame, Inspector
from hotseat.engine.inspector.playback_state import (
    Command,
    InspectorState,
    reduce_state,
)
from hotseat.engine.limits import INTERNAL_EVENTS_MAX
from hotseat.engine.replay.envelope import parse_envelope
from hotseat.engine.replay.frame import Frame
from hotseat.engine.replay.timeline import materialize
from hotseat.engine.value_diff import ValueChange, diff_values

from .encode import evaluation_json, graph_json, plain, summary_json, transition_json
from .outcome import Outcome, difference, judge
from .scenario_game import build_game

__all__ = ["check", "is_inspector_document"]

Json = Any
Case = Mapping[str, Json]


def is_inspector_document(document: Mapping[str, Json]) -> bool:
    """Whether a file is of this format."""
    return "handoffs" in document or "timeline" in document


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each case; the chain of commands is one."""
    for index, case in enumerate(document.get("diffs", [])):
        yield judge(f"diffs[{index}]", partial(_diffed, case))
    for index, case in enumerate(document.get("handoffs", [])):
        yield judge(f"handoffs[{index}]", partial(_handed_off, case))
    timeline = document.get("timeline")
    if timeline is not None:
        yield judge("timeline", lambda: _first(_inspected(timeline)))
        for case in document.get("cursor_walk", []):
            name = f"cursor_walk {case['revision']}"
            yield judge(name, partial(_walked, case, timeline))
    if "reducer" in document:
        yield judge("reducer", lambda: _first(_reduced(document["reducer"])))


def _first(problems: Iterator[str]) -> Iterator[str]:
    return islice(filter(None, problems), 1)


def _diffed(case: Case) -> Iterator[str]:
    actual = _changes_json(diff_values(case["before"], case["after"]))
    yield difference(case["expect"], actual, "diff")


def _changes_json(changes: Sequence[ValueChange]) -> Json:
    return [
        {"after": plain(c.after), "before": plain(c.before), "path": c.path}
        for c in changes
    ]


def _handed_off(case: Case) -> Iterator[str]:
    """A frame of the reference may lack its control summary; ours always have one."""
    if case["after"] is None:
        yield difference(case["controlHandoff"], None, "handoff")
        return
    before = None if case["before"] in ("<first>", None) else case["before"]
    handoff = _handoff_json(describe_handoff(before, case["after"]))
    yield difference(case["controlHandoff"], handoff, "handoff")
    highlighted = case["graphHighlight"]["controlHandoff"]
    yield difference(highlighted, handoff, "highlight")


def _handoff_json(handoff: Handoff) -> Json:
    return {
        "beforeActivePlayers": list(handoff.before),
        "afterActivePlayers": list(handoff.after),
        "handoffKind": handoff.kind,
        "handoffLabel": handoff.label,
        "summary": handoff.summary,
    }


def _inspector(case: Case) -> Inspector:
    given = {"version": 1, "gameID": "g"}
    given |= {key: case[key] for key in ("match", "seed", "initialNow", "actions")}
    timeline = materialize(build_game(case["game"]), parse_envelope(given))
    return Inspector(timeline, case["playerID"])


def _inspected(case: Case) -> Iterator[str]:
    inspector, expect = _inspector(case), case["expect"]
    yield difference(len(expect["frames"]) - 1, inspector.head, "head")
    for expected in expect["frames"]:
        revision = expected["revision"]
        actual = _frame_json(
            inspector.frame(revision), inspector.source.frame(revision)
        )
        yield difference(expected, actual, f"frame {revision}")
    yield difference(expect["graph"], graph_json(inspector.graph()), "graph")
    queue = {"ordering": QUEUE.ordering, "priorities": QUEUE.priorities}
    bounded = {**expect["queueSemantics"], "recursionLimit": INTERNAL_EVENTS_MAX}
    actual_queue = {**queue, "recursionLimit": QUEUE.events_max}
    yield difference(bounded, actual_queue, "queue")
    report = inspector.report()
    found = [diagnostic.code for diagnostic in report.diagnostics]
    yield difference(expect["validationReport"]["diagnostics"], found, "report")
    yield difference(expect["validationReport"]["ok"], report.ok, "report")


def _frame_json(inspected: InspectedFrame, frame: Frame) -> Json:
    lit, handoff = highlight(frame), _handoff_json(inspected.handoff)
    edge = None if lit.edge is None else {"from": lit.edge[0], "to": lit.edge[1]}
    transition = inspected.transition
    assert inspected.control is not None
    return {
        "revision": inspected.revision,
        "turn": inspected.turn,
        "stepKind": inspected.step_kind,
        "eventName": inspected.event,
        "actionID": inspected.action_id,
        "playerID": inspected.player_id,
        "payload": plain(inspected.payload),
        "snapshot": plain(inspected.G),
        "playerView": plain(inspected.player_view),
        "transition": None if transition is None else transition_json(transition),
        "evaluations": [evaluation_json(e) for e in inspected.evaluations],
        "diffs": _changes_json(inspected.diffs),
        "controlSummary": summary_json(inspected.control),
        "controlHandoff": handoff,
        "graphHighlight": {
            "currentNode": lit.current,
            "lastTraversedEdge": edge,
            "pendingTargets": list(lit.pending_targets),
            "matchedBranch": lit.branch,
            "controlHandoff": handoff,
        },
    }


def _walked(case: Case, timeline: Case) -> Iterator[str]:
    inspected = _inspector(timeline).frame(case["revision"])
    trace = None if inspected.transition is None else inspected.transition.rng
    assert inspected.control is not None
    actual = {
        "revision": inspected.revision,
        "diff": _changes_json(inspected.diffs),
        "rngTrace": None if trace is None else msgspec.to_builtins(trace),
        "evaluations": [evaluation_json(e) for e in inspected.evaluations],
        "previousRevision": inspected.revision - 1 if inspected.revision else None,
        "control": summary_json(inspected.control),
    }
    yield difference(case, actual)


def _reduced(steps: Sequence[Case]) -> Iterator[str]:
    state = InspectorState()
    for index, step in enumerate(steps):
        if step["action"] is not None:
            command: Any = msgspec.convert(step["action"], Command)
            state = reduce_state(state, command)
        actual = msgspec.to_builtins(state)
        yield difference(step["state"], actual, f"{index} {step['action']}")
