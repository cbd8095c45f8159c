"""The `action` operation of a node's door: what this node remembers of one action.

It is for operators: a refusal's details and fault are told, which no player sees. It
reads what passed (`runtime/traces.py`); the match does not notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from ...runtime.match_id import is_match_id
from ...runtime.pin_table import PinTable
from ...runtime.replication.shard_statistics import ShardStatistics
from ...runtime.traces import ActionTrace, Committed, Decided, Key, Traces
from .door import DoorError
from .rows import row_json
from .trace_rows import (
    AnswerRow,
    ArrivalRow,
    DecisionRow,
    ForwardRow,
    HeldRow,
    NodeTraceRow,
)

__all__ = ["TraceReport", "read_key"]

TOLD_MAX = 16
"""Of each stage, of one action: who asks again and again is told the newest."""

DETAILS_BYTES_MAX = 16 * 1024
"""Of what a refusal says, in an answer."""


class Replicas(Protocol):
    """What is asked of the node's replicas."""

    def shard_statistics(self, shard: int) -> ShardStatistics: ...


def read_key(match: str, asked: Any) -> Key:
    """The key of an action: [seat, session, action].

    Raises:
        DoorError: malformed_request.
    """
    if isinstance(asked, list) and len(asked) == 3:
        seat, session, action = asked
        numbers = type(session) is int and type(action) is int
        if isinstance(seat, str) and numbers:
            return match, seat, session, action
    raise DoorError("malformed_request", "`action` is no [seat, session, action].")


class TraceReport:
    """Answers for one node."""

    def __init__(
        self, node: str, traces: Traces, pins: PinTable, since_ms: int
    ) -> None:
        """`since_ms`: when the traces began."""
        self._node = node
        self._traces = traces
        self._pins = pins
        self._since_ms = since_ms

    def give(
        self, replicas: Replicas | None, now_ms: int, asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What is remembered of the action `action` of the match `match`, and of its
        record `record`, if that is known; one of them is enough.

        Answers `trace`, a `NodeTraceRow`.

        Raises:
            DoorError: malformed_request, not_ready.
        """
        match, record = asked.get("match"), asked.get("record")
        if not isinstance(match, str) or not is_match_id(match):
            raise DoorError("malformed_request", "`match` is no id of a match.")
        if record is not None and (type(record) is not int or record < 0):
            raise DoorError("malformed_request", "`record` is no number of a record.")
        if replicas is None:
            raise DoorError("not_ready", "This node is still starting.")
        key = None
        if asked.get("action") is not None:
            key = read_key(match, asked["action"])
        elif record is None:
            raise DoorError("malformed_request", "There is no `action`, nor `record`.")
        row = self._row(replicas, now_ms, match, key, record)
        return {"trace": row_json(row)}

    def _row(
        self,
        replicas: Replicas,
        now_ms: int,
        match: str,
        key: Key | None,
        record: int | None,
    ) -> NodeTraceRow:
        traces, shard = self._traces, self._pins.shard_of(match)
        known = replicas.shard_statistics(shard)
        if key is None and record is not None:
            key = traces.key_of(match, record)
        seen = None if key is None else traces.of_action(key)
        decided = () if seen is None else seen.decided
        numbers = [one.record for one in decided if one.record >= 0]
        if record is None and numbers:
            record = numbers[-1]
        held = None if record is None else traces.of_record(match, record)
        began_ms = now_ms - traces.now_s * 1000
        return NodeTraceRow(
            node=self._node,
            shard=shard,
            role=known.role,
            serving=known.serving,
            epoch=known.epoch,
            since_ms=self._since_ms,
            kept=traces.kept,
            record=record,
            held=None if held is None else _held(held, began_ms),
            **({} if seen is None else _stages(seen, began_ms)),
        )


def _stages(seen: ActionTrace, began_ms: float) -> dict[str, Any]:
    """The stages of an action, as fields of a row."""

    def wall(at_s: float) -> float:
        return round(began_ms + at_s * 1000, 3)

    return {
        "arrived": tuple(
            ArrivalRow(
                at_ms=wall(one.at_s),
                event=one.event,
                client=one.route.client or one.route.peer,
                principal=one.route.principal,
                via=one.route.peer if one.route.client else "",
            )
            for one in seen.arrived[-TOLD_MAX:]
        ),
        "forwarded": tuple(
            ForwardRow(
                at_ms=wall(one.at_s),
                event=one.event,
                client=one.route.peer,
                principal=one.route.principal,
                to=one.owner,
            )
            for one in seen.forwarded[-TOLD_MAX:]
        ),
        "decided": tuple(
            _decision(one, wall(one.at_s)) for one in seen.decided[-TOLD_MAX:]
        ),
        "answered": tuple(
            AnswerRow(
                at_ms=wall(one.at_s),
                client=one.route.client or one.route.peer,
                code=one.code,
            )
            for one in seen.answered[-TOLD_MAX:]
        ),
    }


def _decision(one: Decided, at_ms: float) -> DecisionRow:
    refusal = one.refusal
    row = DecisionRow(
        at_ms=at_ms,
        record=one.record if one.record >= 0 else None,
        revision=one.revision,
        again=one.again,
    )
    if refusal is None:
        return row
    said = {
        "details": refusal.details,
        "fault": refusal.fault,
        "evaluations": refusal.evaluations,
    }
    plain = msgspec.to_builtins(said)
    if len(msgspec.msgpack.encode(plain)) > DETAILS_BYTES_MAX:
        plain = {"details": "(too large to be told)", "fault": None, "evaluations": ()}
    return msgspec.structs.replace(
        row,
        code=refusal.code,
        message=refusal.message,
        reason=refusal.reason,
        **plain,
    )


def _held(one: Committed, began_ms: float) -> HeldRow:
    """The core's clock counts whole milliseconds, rounded up: what it says is no later
    than what came of it."""
    at_ms = round(began_ms + one.at_s * 1000, 3)
    row = HeldRow(at_ms=at_ms, epoch=one.epoch, seq=one.seq)
    trail = one.trail
    if trail is None:
        return row

    def wall(ms: int) -> float:
        return min(round(began_ms + ms, 3), at_ms)

    proposed_ms = trail.proposed_ms
    return msgspec.structs.replace(
        row,
        proposed_ms=None if proposed_ms is None else wall(proposed_ms),
        durable_ms=wall(trail.durable_ms),
        acked_ms={node: wall(ms) for node, ms in trail.acked_ms},
        committed_ms=wall(trail.committed_ms),
    )
