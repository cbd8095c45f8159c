"""Values of hotseat in the JSON shape of the reference implementation, and back.

hotseat keeps no log inside a snapshot; the reference does. Whoever encodes a snapshot
says which log entries it had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hotseat.engine.control import ControlSummary
from hotseat.engine.frozen import freeze
from hotseat.engine.graph import Graph
from hotseat.engine.refusal import Refusal
from hotseat.engine.rng import RngState
from hotseat.engine.snapshot import (
    EMPTY_DERIVED,
    ControlMeta,
    Derived,
    Meta,
    Position,
    Snapshot,
)
from hotseat.engine.step import (
    Candidate,
    Evaluation,
    EventRecord,
    Step,
    TransitionRecord,
)
from hotseat.engine.turn import Turn

__all__ = [
    "control_meta_json",
    "derived_json",
    "evaluation_json",
    "event_json",
    "graph_json",
    "match_json",
    "plain",
    "position_json",
    "read_snapshot",
    "refusal_json",
    "rng_json",
    "snapshot_json",
    "step_json",
    "summary_json",
    "transition_json",
    "turn_json",
]

Json = Any


def plain(value: Any) -> Json:
    """Ordinary containers all the way down; frozen ones compare the same."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def match_json(match: Mapping[str, Any]) -> Json:
    return plain(match)


def position_json(position: Position) -> Json:
    return {
        "name": position.name,
        "path": list(position.path),
        "turn": position.turn,
    }


def derived_json(derived: Derived) -> Json:
    return {
        "activePlayers": list(derived.active_players),
        "control": plain(derived.control),
        "controlMeta": control_meta_json(derived.control_meta),
        "selectors": plain(derived.selectors),
    }


def control_meta_json(meta: ControlMeta) -> Json:
    return {
        "deadline": meta.deadline,
        "label": meta.label,
        "metadata": plain(meta.metadata),
        "pendingTargets": list(meta.pending_targets),
    }


def turn_json(turn: Turn) -> Json:
    return {
        "currentPlayer": turn.current_player,
        "index": turn.index,
        "players": list(turn.players),
        "turn": turn.turn,
    }


def rng_json(state: RngState) -> Json:
    return {"draws": state.draws, "seed": state.seed, "state": state.state}


def snapshot_json(snapshot: Snapshot, log: Sequence[Json]) -> Json:
    meta = snapshot.meta
    return {
        "G": plain(snapshot.G),
        "position": position_json(snapshot.position),
        "derived": derived_json(snapshot.derived),
        "meta": {
            "log": list(log),
            "match": match_json(meta.match),
            "now": meta.now,
            "result": plain(meta.result),
            "rng": rng_json(meta.rng),
            "seed": meta.seed,
        },
    }


def read_snapshot(given: Mapping[str, Json]) -> Snapshot:
    """A snapshot in the reference's shape; what derives is left for the restore.

    The reference numbers actions by the length of the log, hotseat by the revision
    when it has no log, so the one is taken for the other here.
    """
    position, meta = given["position"], given["meta"]
    rng = meta["rng"]
    return Snapshot(
        freeze(given["G"]),
        Position(position["name"], tuple(position["path"]), position["turn"]),
        EMPTY_DERIVED,
        Meta(
            freeze(meta["match"]),
            meta["now"],
            freeze(meta["result"]),
            RngState(rng["draws"], rng["seed"], rng["state"]),
            meta["seed"],
        ),
        len(meta["log"]),
    )


def event_json(record: EventRecord) -> Json:
    return {
        "actionID": record.action_id,
        "at": record.at,
        "event": record.event,
        "payload": plain(record.payload),
        "playerID": record.player_id,
        "turn": record.turn,
        "type": "event" if record.type == "event" else "internal",
    }


def step_json(step: Step) -> Json:
    """A step without its snapshot. The reference calls a timeout's step internal."""
    return {
        "kind": "internal" if step.kind == "timeout" else step.kind,
        "event": event_json(step.event),
        "transition": transition_json(step.transition),
    }


def transition_json(record: TransitionRecord) -> Json:
    encoded: dict[str, Json] = {
        "enqueued": [
            {"kind": queued.kind, "payload": plain(queued.payload)}
            for queued in record.enqueued
        ],
        "event": record.event,
        "evaluations": [evaluation_json(e) for e in record.evaluations],
        "from": record.source,
        "fromPath": list(record.source_path),
        "matchedFrom": record.matched_from,
        "matchedFromPath": list(record.matched_from_path),
        "resolver": record.resolver,
        "rng": None if record.rng is None else msgspec.to_builtins(record.rng),
        "to": record.target,
        "toPath": list(record.target_path),
        "turn": record.turn,
    }
    if record.profile is not None:
        encoded["profile"] = plain(record.profile)
    return encoded


def evaluation_json(evaluation: Evaluation) -> Json:
    return {
        "event": evaluation.event,
        "from": evaluation.source,
        "matchedTo": evaluation.target,
        "outcome": evaluation.outcome,
        "path": list(evaluation.path),
        "transitions": [_candidate_json(c) for c in evaluation.candidates],
    }


def _candidate_json(candidate: Candidate) -> Json:
    encoded: dict[str, Json] = {
        "from": candidate.source,
        "to": candidate.target,
        "matched": candidate.matched,
        "rejectedBy": candidate.rejected_by,
        "resolver": candidate.resolver,
    }
    if candidate.reason is not None:
        encoded["reason"] = candidate.reason
    if candidate.details is not None:
        encoded["details"] = plain(candidate.details)
    return encoded


def graph_json(graph: Graph) -> Json:
    return {
        "initial": graph.initial,
        "nodes": [
            {"id": n.id, "kind": n.kind, "parent": n.parent, "path": list(n.path)}
            for n in graph.nodes
        ],
        "edges": [
            {
                "event": edge.event,
                "from": edge.source,
                "to": edge.target,
                "resolver": edge.resolver,
                "turn": edge.turn,
            }
            for edge in graph.edges
        ],
    }


def summary_json(summary: ControlSummary) -> Json:
    return {
        "activePlayers": list(summary.active_players),
        "control": plain(summary.control),
        "current": {
            "meta": control_meta_json(summary.meta),
            "node": summary.position.name,
            "path": list(summary.position.path),
        },
        "pendingTargetDetails": [
            {
                "deadline": target.deadline,
                "label": target.label,
                "metadata": plain(target.metadata),
                "node": target.name,
                "path": list(target.path),
            }
            for target in summary.pending_targets
        ],
    }


def refusal_json(refusal: Refusal) -> Json:
    encoded: dict[str, Json] = {"ok": False, "error": refusal.code}
    if refusal.reason is not None:
        encoded["reason"] = refusal.reason
    if refusal.details is not None:
        encoded["details"] = plain(refusal.details)
    return encoded
