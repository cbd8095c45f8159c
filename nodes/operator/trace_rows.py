"""What nodes remember of an action, and what is put together of it: rows with a stable
schema, as in `rows.py`. Times are milliseconds since 1970, by the clock of the node
that tells them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .rows import Row

__all__ = [
    "AnswerRow",
    "ArrivalRow",
    "DecisionRow",
    "ExplainedRow",
    "ForwardRow",
    "HeldRow",
    "MomentRow",
    "NodeTraceRow",
    "RecordRow",
]


class ArrivalRow(Row, frozen=True, kw_only=True):
    """The action came to the node that serves its match."""

    at_ms: float
    event: str
    client: str
    """The process that asked."""
    principal: str
    via: str
    """The node that it came through; "": it came straight."""


class ForwardRow(Row, frozen=True, kw_only=True):
    """The action came to another node, which sent it on."""

    at_ms: float
    event: str
    client: str
    principal: str
    to: str


class DecisionRow(Row, frozen=True, kw_only=True):
    """The match judged it."""

    at_ms: float
    record: int | None
    """Its number in the log; null: it was refused."""
    revision: int
    """The match's: after it, or when it was refused."""
    again: bool
    """It had been done before, and its first answer was given again."""
    code: str = ""
    """Of the refusal, as are message, reason, details and fault."""
    message: str = ""
    reason: str | None = None
    details: Any = None
    fault: Any = None
    """What failed in the game's code."""
    evaluations: Any = ()
    """Which transitions were asked before it was refused, and what they said."""


class AnswerRow(Row, frozen=True, kw_only=True):
    """An answer left for whoever asked."""

    at_ms: float
    client: str
    code: str
    """"": it was done."""


class HeldRow(Row, frozen=True, kw_only=True):
    """The record is committed, and in the node's copy of the match."""

    at_ms: float
    epoch: int
    seq: int
    """Its place in the shard's log."""
    proposed_ms: float | None = None
    """At its owner: when it was put into the log, and sent."""
    durable_ms: float | None = None
    """At its owner: when it was on that node's disk."""
    acked_ms: dict[str, float] = msgspec.field(default_factory=dict)
    """At its owner: when each other copy had said that it has it."""
    committed_ms: float | None = None
    """At its owner."""


class NodeTraceRow(Row, frozen=True, kw_only=True):
    """What one node remembers."""

    node: str
    shard: int
    role: str
    """Of the node in the match's shard."""
    serving: bool
    epoch: int
    since_ms: int
    """It remembers nothing from before: its process began then."""
    kept: int
    """Of each stage it remembers so many, of all matches."""
    record: int | None
    """The number in the log, if it knows that."""
    arrived: tuple[ArrivalRow, ...] = ()
    forwarded: tuple[ForwardRow, ...] = ()
    decided: tuple[DecisionRow, ...] = ()
    answered: tuple[AnswerRow, ...] = ()
    held: HeldRow | None = None


class RecordRow(Row, frozen=True, kw_only=True):
    """The record in the log."""

    record: int
    kind: str
    time_ms: float
    """When it was made, by the clock of the match."""
    revision: int
    """The match's, after it."""
    digest: str
    action: str
    """Its key, if it is an action's: seat:session:action."""
    input: Any


class MomentRow(Row, frozen=True, kw_only=True):
    """Something that happened, in the order of the clocks of those who tell."""

    at_ms: float
    node: str
    what: str


class ExplainedRow(Row, frozen=True, kw_only=True):
    """What became of an action."""

    match: str
    action: str
    """Its key: seat:session:action; "": what was asked for is no action."""
    outcome: str
    """accepted, refused, or unknown."""
    code: str = ""
    """Of the refusal."""
    times_asked: int = 0
    """As far as is remembered."""
    record: RecordRow | None = None
    frames: tuple[Any, ...] = ()
    """Each revision that it led to: which transition was taken, who was asked before,
    and what changed."""
    moments: tuple[MomentRow, ...] = ()
    nodes: dict[str, NodeTraceRow] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What is not known, and why."""
    silent: dict[str, str] = msgspec.field(default_factory=dict)
    """Nodes that do not answer: the code of why."""
