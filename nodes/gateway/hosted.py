"""What a player's page is told, in the words of the hosted-room protocol. Pure.

A view becomes a snapshot; the steps of an action and what followed from it become one
`batch_applied`. Hidden on purpose: `log` is empty, payloads of others are null unless
their event is public, and with them which branch answered; evaluations and draws of
the rng are shown to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ..client import Refusal, View
from .patched import patched

__all__ = [
    "NEAREST",
    "REJECTIONS",
    "Drawn",
    "Message",
    "acknowledgement",
    "drawn",
    "rejection",
    "snapshot_of",
    "told_frame",
]

_PLAYED = ("action", "internal", "timeout")
"""Kinds of steps that the protocol has words for. After any other a snapshot is due."""

REJECTIONS = frozenset(
    {
        "ambiguous_transition",
        "game_over",
        "inactive_player",
        "invalid_event",
        "invalid_transition_result",
        "non_serializable_args",
        "stale_revision",
        "unauthorized",
        "unknown_event",
        "unknown_match",
        "unknown_player",
    }
)
"""The codes that a page of the reference protocol knows."""

NEAREST: Mapping[str, str] = {
    "expired_key": "unauthorized",
    "malformed_request": "non_serializable_args",
    "match_lost": "unknown_match",
    "not_seated": "unauthorized",
    "resume_seat": "unauthorized",
    "too_deep": "non_serializable_args",
    "too_large": "non_serializable_args",
    "unknown_seat": "unknown_player",
}
"""Of our other codes; what is not named here is an `invalid_event`. The code itself is
in the `detail`."""

Message = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A message that brings the page to `revision`."""

    revision: int
    message: Message
    actor: str | None = None
    """Of a batch: the seat whose action it was; None: nobody's, or a snapshot."""
    _patched: dict[int, tuple[Message, bytes]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def json(self) -> bytes:
        """The message as it is sent; made once for all who are told the same."""
        return msgspec.json.encode(self.message)

    def json_after(self, base: Message) -> bytes:
        """The same for a page that holds the snapshot `base`, by patches if that is
        shorter; made once for all who hold the same."""
        known = self._patched.get(id(base))
        if known is None:
            short = msgspec.json.encode(patched(self.message, base))
            said = short if len(short) < len(self.json) else self.json
            # The base is kept too, so that its id stays its own.
            known = self._patched[id(base)] = (base, said)
        return known[1]


def drawn(view: View, since: int, player: str) -> list[Drawn]:
    """What a page that has seen the revision `since` (-1: nothing) is told of a view.

    Batches, if all steps in between are there and can be told; else the view itself.
    Nothing, if it has seen that revision.
    """
    if view.revision <= since:
        return []
    batches = _batches(view, since, player)
    if batches is None:
        return [Drawn(view.revision, snapshot_of(view, player))]
    return batches


def snapshot_of(view: View, player: str) -> Message:
    """The state as a message of its own. `player` "" is a spectator."""
    shown = view.shown or {}
    return _snapshot(
        match=view.match,
        player=player,
        revision=view.revision,
        state=view.state,
        turn=view.turn,
        active=view.active_players,
        deadline=view.deadline_ms,
        result=view.result,
        G=view.view,
        shown=shown,
    )


def acknowledgement(view: View, player: str, client_action: str) -> Message:
    """That an action is committed, for a page that has its steps already, or never
    will."""
    return {
        "type": "batch_applied",
        "matchID": view.match,
        "revision": view.revision,
        "ackClientActionID": client_action,
        "snapshot": snapshot_of(view, player),
        "steps": [],
    }


def rejection(
    match: str, client_action: str, event: str, refusal: Refusal, revision: int
) -> Message:
    """That an action was refused, and has changed nothing."""
    code = refusal.code
    known = code in REJECTIONS
    message: Message = {
        "type": "action_rejected",
        "matchID": match,
        "clientActionID": client_action,
        "error": code if known else NEAREST.get(code, "invalid_event"),
        "event": event,
    }
    if not known:
        message["detail"] = {"code": code, "message": refusal.message}
    if refusal.reason is not None:
        message["reason"] = refusal.reason
    if refusal.details is not None:
        message["details"] = refusal.details
    at = refusal.revision if refusal.revision is not None else revision
    if at >= 0:
        message["revision"] = at
    return message


def told_frame(match: str, player: str, frame: Mapping[str, Any]) -> Message:
    """A moment of a match, from what `shown_step` says of it: the snapshot, and the
    step without one; None where there is none that can be told."""
    told = frame["told"]
    step = None
    if frame["kind"] in _PLAYED and _is_told(told):
        step = _step(match, player, frame)
        del step["snapshot"]
    snapshot = _snapshot(
        match=match,
        player=player,
        revision=frame["revision"],
        state=frame["state"],
        turn=frame["turn"],
        active=frame["active_players"],
        deadline=frame["deadline"],
        result=frame["result"],
        G=frame["view"],
        shown=frame["shown"],
    )
    return {"snapshot": snapshot, "step": step}


def _batches(view: View, since: int, player: str) -> list[Drawn] | None:
    """Each action with all that followed from it; None: that cannot be told."""
    steps = [step for step in view.steps if step["revision"] > since]
    wanted = list(range(since + 1, view.revision + 1))
    if since < 0 or [step["revision"] for step in steps] != wanted:
        return None
    batches: list[list[Mapping[str, Any]]] = []
    for step in steps:
        if step["kind"] not in _PLAYED or not _is_told(step.get("told")):
            return None
        if step["kind"] == "internal" and batches:
            batches[-1].append(step)
        else:
            batches.append([step])
    return [_batch(view.match, player, batch) for batch in batches]


def _batch(match: str, player: str, steps: Sequence[Mapping[str, Any]]) -> Drawn:
    told = [_step(match, player, step) for step in steps]
    first, last = steps[0]["told"]["event"], steps[-1]
    message: Message = {
        "type": "batch_applied",
        "matchID": match,
        "revision": last["revision"],
        "branch": {
            "branchID": "main",
            "createdAtActionID": None,
            "createdAtRevision": 0,
            "headActionID": first["action_id"],
            "parentBranchID": None,
        },
        "snapshot": told[-1]["snapshot"],
        "steps": told,
    }
    actor = first["player_id"] if steps[0]["kind"] == "action" else None
    return Drawn(last["revision"], message, actor)


def _step(match: str, player: str, step: Mapping[str, Any]) -> Message:
    told, shown = step["told"], step["shown"]
    event, taken = told["event"], told["transition"]
    played = step["kind"] == "action"
    source_path = step["source_path"]
    matched_from = taken.get("matched_from", taken["source"])
    return {
        "event": {
            "actionID": event["action_id"],
            "at": event["at"],
            "event": event["event"],
            "payload": event.get("payload"),
            "playerID": event["player_id"] if played else None,
            "turn": event["turn"],
            "type": "event" if played else "internal",
        },
        "kind": "action" if played else "internal",
        "snapshot": _snapshot(
            match=match,
            player=player,
            revision=step["revision"],
            state=step["state"],
            turn=step["turn"],
            active=step["active_players"],
            deadline=step["deadline"],
            result=step["result"],
            G=step["view"],
            shown=shown,
        ),
        "transition": {
            "enqueued": [
                {"kind": entry["kind"], "payload": entry.get("payload")}
                for entry in taken["enqueued"]
            ],
            "event": taken["event"],
            "evaluations": [],
            "from": taken["source"],
            "fromPath": source_path,
            "matchedFrom": matched_from,
            "matchedFromPath": [*_up_to(source_path, matched_from)],
            "resolver": taken.get("resolver"),
            "rng": None,
            "to": taken["target"],
            "toPath": shown["path"],
            "turn": "increment" if taken["turn"] == "increment" else "preserve",
        },
    }


def _up_to(path: Sequence[str], node: str) -> Iterator[str]:
    for name in path:
        yield name
        if name == node:
            return


def _is_told(told: Any) -> bool:
    """Whether a game's own `redact` left what the protocol needs."""
    if not isinstance(told, dict):
        return False
    event, taken = told.get("event"), told.get("transition")
    return (
        isinstance(event, dict)
        and isinstance(taken, dict)
        and {"action_id", "at", "event", "player_id", "turn"} <= event.keys()
        and {"enqueued", "event", "source", "target", "turn"} <= taken.keys()
    )


def _snapshot(
    *,
    match: str,
    player: str,
    revision: int,
    state: str,
    turn: int,
    active: Sequence[str],
    deadline: float | None,
    result: Any,
    G: Any,
    shown: Mapping[str, Any],
) -> Message:
    message: Message = {
        "derived": {
            "activePlayers": list(active),
            "control": shown.get("control"),
            "controlMeta": {
                "deadline": deadline,
                "label": shown.get("label"),
                "metadata": [
                    {"key": entry["key"], "value": entry["value"]}
                    for entry in shown.get("metadata", ())
                    if isinstance(entry, dict) and {"key", "value"} <= entry.keys()
                ],
                "pendingTargets": shown.get("pending_targets", []),
            },
            "selectors": shown.get("selectors", {}),
        },
        "G": G,
        "log": [],
        "matchID": match,
        "position": {
            "node": state,
            "path": shown.get("path", [state]),
            "turn": turn,
        },
        "result": result,
        "revision": revision,
    }
    if player:
        message["playerID"] = player
    return message
