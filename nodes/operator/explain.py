"""What became of an action: the log says what it did, the nodes what they remember.

The log is asked of the match's owner, what passed of every node. A node that is gone
took its memory along: what was on it alone is named as not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engine.record import Record, RecordKind
from ...engine.replay.late_records import LateRecords
from ...engine.replay.timeline import Timeline
from ..operator_error import OperatorError
from ..replay.frame_lines import detail_json
from ..replay.saved_match import saved_log
from .ask_cluster import ask_all, find_cluster
from .doors import Doors, find_doors
from .match_feed import MatchFeed
from .rows import read_row
from .trace_rows import ExplainedRow, MomentRow, NodeTraceRow, RecordRow
from .until_owned import until_owned

__all__ = ["ActionKey", "explain", "read_target"]

KEYED = (RecordKind.ACTION, RecordKind.TAKEBACK)

_SECRET = frozenset({"seed", "token", "token_hash"})

FRAMES_MAX = 32
"""Revisions of one record that are told: internal events may lead to many."""


@dataclass(frozen=True, slots=True)
class ActionKey:
    """Which action of a match."""

    seat: str
    session: int
    action: int

    def __str__(self) -> str:
        return f"{self.seat}:{self.session}:{self.action}"


def read_target(text: str) -> ActionKey | int:
    """seat:session:action, or the number of a record.

    Raises:
        ValueError: It is neither.
    """
    if text.isdecimal():
        return int(text)
    seat, *numbers = text.rsplit(":", 2)
    if len(numbers) != 2:
        raise ValueError(f"not seat:session:action: {text!r}")
    session, action = map(int, numbers)
    return ActionKey(seat, session, action)


async def explain(
    place: Path | str,
    match: str,
    target: ActionKey | int,
    open_log: Callable[[Any], Timeline],
) -> ExplainedRow:
    """All that is known of an action, or of the record with that number.

    `open_log` opens a saved match; it may raise OperatorError: then the log is told
    without what the game says of it.

    Raises:
        OperatorError: cluster_unreachable, unknown_match, no_such_record, …
    """
    home = await find_cluster(place)
    log = _Log(MatchFeed(place, match), match)
    await log.read()
    doors = await find_doors(home)  # not before: reading may have outlasted a node
    record = log.find(target)
    if record is None and isinstance(target, int):
        raise log.problem or OperatorError(
            "no_such_record", f"match {match} has no record {target}"
        )
    key = target if isinstance(target, ActionKey) else _key_of(record)
    nodes, silent = await _ask(doors, match, key, record)
    if not nodes and record is None:
        raise log.problem or OperatorError(
            "cluster_unreachable", "no node of the cluster answers"
        )
    frames, notes = log.frames(record, open_log)
    return _put_together(match, key, record, nodes, silent, frames, notes, log.problem)


class _Log:
    """The match's records, if its owner gives them."""

    def __init__(self, feed: MatchFeed, match: str) -> None:
        self.problem: OperatorError | None = None
        self._feed = feed
        self._match = match
        self._records = LateRecords()
        self._revisions: list[int] = []

    async def read(self) -> None:
        try:
            self._revisions, unread = await until_owned(self._feed.fetch_unread)
        except OperatorError as error:
            self.problem = error
        else:
            self._records = LateRecords(unread)

    def find(self, target: ActionKey | int) -> Record | None:
        """From the newest on: what is asked about is seldom old."""
        if isinstance(target, int):
            return self._records[target] if target < len(self._records) else None
        for place in reversed(range(len(self._records))):
            record = self._records[place]
            if _key_of(record) == target:
                return record
        return None

    def frames(
        self, record: Record | None, open_log: Callable[[Any], Timeline]
    ) -> tuple[tuple[Any, ...], list[str]]:
        """What the game did, derived again; and why that cannot be said."""
        if record is None:
            return (), []
        feed = self._feed
        try:
            saved = saved_log(
                self._match,
                self._records,
                feed.take_marks(),
                self._revisions,
                feed.upgrades,
            )
            timeline = open_log(saved)
            first = timeline.first_of_record(record.index)
            last = timeline.last_of_record(record.index)
            last = min(last, first + FRAMES_MAX - 1)
            return tuple(
                _shown(detail_json(timeline, revision))
                for revision in range(first, last + 1)
            ), []
        except OperatorError as error:
            note = f"what the game did is not shown: {error.message}"
            return (), [note if not error.hint else f"{note} ({error.hint})"]


def _shown(detail: dict[str, Any]) -> dict[str, Any]:
    """Of a frame: what happened, and why. Not the whole state."""
    names = (
        "revision",
        "turn",
        "at",
        "step_kind",
        "event",
        "player_id",
        "payload",
        "transition",
        "evaluations",
        "diffs",
        "result",
        "operator",
    )
    return {name: detail[name] for name in names if name in detail}


def _key_of(record: Record | None) -> ActionKey | None:
    if record is None or record.kind not in KEYED:
        return None
    given = record.input
    return ActionKey(given["seat"], given["session"], given["action"])


async def _ask(
    doors: Doors, match: str, key: ActionKey | None, record: Record | None
) -> tuple[dict[str, NodeTraceRow], dict[str, str]]:
    """What each node remembers; and who does not answer."""
    fields: dict[str, Any] = {"match": match}
    if key is not None:
        fields["action"] = [key.seat, key.session, key.action]
    if record is not None:
        fields["record"] = record.index
    nodes: dict[str, NodeTraceRow] = {}
    silent: dict[str, str] = {}
    for node, answer in (await ask_all(doors, "action", **fields)).items():
        if isinstance(answer, OperatorError):
            silent[node] = answer.code
        else:
            nodes[node] = read_row(NodeTraceRow, answer["trace"])
    return nodes, silent


def _put_together(
    match: str,
    key: ActionKey | None,
    record: Record | None,
    nodes: Mapping[str, NodeTraceRow],
    silent: dict[str, str],
    frames: tuple[Any, ...],
    notes: list[str],
    problem: OperatorError | None,
) -> ExplainedRow:
    refusals = [
        decision
        for trace in nodes.values()
        for decision in trace.decided
        if decision.record is None
    ]
    early = [a.code for trace in nodes.values() for a in trace.answered if a.code]
    outcome, code = "unknown", ""
    if record is not None:
        outcome = "accepted"
    elif refusals:
        outcome, code = "refused", refusals[-1].code
    elif early:
        outcome, code = "refused", early[-1]
    elif any(d.record is not None for t in nodes.values() for d in t.decided):
        notes.append("It was accepted, and is not in the log: it was not committed.")
    if problem is not None:
        notes.append(f"The log could not be read: {problem.message}.")
    notes += _unknowns(key, record, nodes, silent)
    return ExplainedRow(
        match=match,
        action="" if key is None else str(key),
        outcome=outcome,
        code=code,
        times_asked=sum(len(trace.arrived) for trace in nodes.values()),
        record=None if record is None else _record_row(record),
        frames=frames,
        moments=tuple(sorted(_moments(nodes), key=lambda moment: moment.at_ms)),
        nodes=dict(nodes),
        notes=tuple(notes),
        silent=silent,
    )


def _record_row(record: Record) -> RecordRow:
    key = _key_of(record)
    return RecordRow(
        record=record.index,
        kind=record.kind.value,
        time_ms=record.time_ms,
        revision=record.revision_after,
        digest=record.digest.hex(),
        action="" if key is None else str(key),
        input=_without_secrets(record),
    )


def _without_secrets(record: Record) -> Any:
    """Payloads are told: who asks is an operator. The seed and tokens are not."""
    return {k: v for k, v in dict(record.input).items() if k not in _SECRET}


def _unknowns(
    key: ActionKey | None,
    record: Record | None,
    nodes: Mapping[str, NodeTraceRow],
    silent: Mapping[str, str],
) -> Iterator[str]:
    """What is not known, and why."""
    if key is not None and not any(trace.decided for trace in nodes.values()):
        if record is None:
            yield (
                "No node remembers it: it never came to a match, or another one than"
                " these judged it, or so many came since that it is forgotten."
            )
        else:
            yield (
                "No node that answers remembers how it came and when it was judged:"
                " the one that owned the match then is gone or was started anew, or"
                " it is too long ago."
            )
    if record is not None:
        for node, trace in nodes.items():
            if trace.held is None and record.time_ms < trace.since_ms:
                yield f"{node} was started after that, and remembers nothing of it."
    if silent:
        yield f"These nodes do not answer: {', '.join(sorted(silent))}."


def _moments(nodes: Mapping[str, NodeTraceRow]) -> Iterator[MomentRow]:
    """Everything that has a time."""
    for node, trace in nodes.items():
        for at_ms, what in _of_node(trace):
            yield MomentRow(at_ms=at_ms, node=node, what=what)


def _of_node(trace: NodeTraceRow) -> Iterator[tuple[float, str]]:
    for sent in trace.forwarded:
        yield sent.at_ms, f"came from {sent.client}, sent on to {sent.to}"
    for came in trace.arrived:
        way = f"from {came.client}" + (f" through {came.via}" if came.via else "")
        yield came.at_ms, f"came {way}"
    for judged in trace.decided:
        if judged.again:
            said = f"judged: done before, as record {judged.record}"
        elif judged.record is not None:
            said = f"judged: accepted as record {judged.record}"
        else:
            said = f"judged: refused, {judged.code}"
        yield judged.at_ms, said
    held = trace.held
    if held is not None:
        place = f"entry {held.seq} of epoch {held.epoch}"
        if held.proposed_ms is not None:
            yield held.proposed_ms, f"proposed as {place}"
        if held.durable_ms is not None:
            yield held.durable_ms, "on this node's disk, or in its memory"
        for other, at_ms in held.acked_ms.items():
            yield at_ms, f"{other} has it"
        if held.committed_ms is not None:
            yield held.committed_ms, "committed"
        else:
            yield held.at_ms, f"committed and applied here, {place}"
    for told in trace.answered:
        yield told.at_ms, f"answered to {told.client}: {told.code or 'done'}"
