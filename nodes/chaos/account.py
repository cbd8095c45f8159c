"""What the players of a match were told, held against the log that the cluster kept.

The players keep this account themselves; nothing in it comes from a node's own
opinion of how it is doing. When all is over, `judge` is given the match's log, and
counts what is not as it was told.

Pure. It knows no time and no network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...engine.digest import digest_of
from ...engine.errors import EngineError
from ...engine.frozen import freeze
from ...engine.machine import Machine
from ...engine.record import Record, RecordKind
from ...runtime.match import replay_states
from ...runtime.match_state import MatchState
from ..client.view import View

__all__ = ["Copy", "MatchAccount", "Verdict"]

FAULTS_MAX = 50
"""Sentences kept; the counts are of all."""

Key = tuple[str, int, int]
"""An action's: seat, session, number."""


@dataclass(slots=True)
class Verdict:
    """What became of all that was acknowledged.

    lost: Acknowledged, and in no log.
    doubled: In a log more often than once; each time beyond the first counts.
    reordered: At another place, or with another content, than was acknowledged.
    views_back: Views older than one that the same player had seen before.
    diverged: Copies of a match that differ from its owner's.
    strange: Anything else that should not be, such as a view that the log does not
        lead to, an action in the log that was refused, or a match that could not be
        played on.
    """

    matches: int = 0
    actions_acked: int = 0
    outcomes_unknown: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    views_back: int = 0
    diverged: int = 0
    strange: int = 0
    copies_compared: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether all is as the players were told."""
        return not (
            self.lost
            or self.doubled
            or self.reordered
            or self.views_back
            or self.diverged
            or self.strange
        )

    def fault(self, sentence: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(sentence)


@dataclass(frozen=True, slots=True)
class Copy:
    """One replica's copy of a match: how many records, and the last one's digest."""

    records: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class _Acked:
    event: str
    payload: Any
    revision: int
    index: int


class MatchAccount:
    """The account of all players of one match."""

    def __init__(self, match: str) -> None:
        self.match = match
        self._acked: dict[Key, _Acked] = {}  # in the order of their acknowledgement
        self._unknown: dict[Key, tuple[str, Any]] = {}
        self._sessions: set[tuple[str, int]] = set()
        # Packed, by seat and revision: digests are for later, when nobody plays.
        self._seen: dict[tuple[str, int], bytes] = {}
        self._newest: dict[str, int] = {}  # revision that a seat has seen
        self._faults: Counter[str] = Counter()
        self._sentences: list[str] = []
        self.unknown_ever = 0

    @property
    def actions_acked(self) -> int:
        return len(self._acked)

    def seated(self, seat: str, session: int) -> None:
        """A player sits down: from now on its actions are in this account."""
        self._sessions.add((seat, session))

    def accepted(
        self, key: Key, event: str, payload: Any, *, revision: int, index: int
    ) -> None:
        """An action was acknowledged."""
        self._unknown.pop(key, None)
        self._acked[key] = _Acked(event, payload, revision, index)

    def unknown(self, key: Key, event: str, payload: Any) -> None:
        """An action had no answer: it may be in the log, or not."""
        self.unknown_ever += 1
        self._unknown[key] = (event, payload)

    def saw(self, view: View) -> None:
        """A view came to the player of its seat."""
        newest = self._newest.get(view.seat, -1)
        if view.revision < newest:
            self._fault(
                "views_back",
                f"seat {view.seat!r} saw revision {view.revision} after {newest}",
            )
            return
        self._newest[view.seat] = view.revision
        place, packed = (view.seat, view.revision), msgspec.msgpack.encode(view.view)
        seen = self._seen.setdefault(place, packed)
        if seen != packed and _digest_of_packed(seen) != _digest(view.view):
            self._fault("strange", f"two different views of revision {view.revision}")

    def judge(
        self, records: Sequence[Record] | None, machine: Machine, verdict: Verdict
    ) -> None:
        """Hold the account against the match's log, and add what is wrong.

        `records` is None if the cluster has the match no longer: then all that was
        acknowledged is lost.
        """
        verdict.matches += 1
        verdict.actions_acked += len(self._acked)
        verdict.outcomes_unknown += self.unknown_ever
        if records is None:
            if self._acked:
                self._fault(
                    "lost",
                    f"the match is gone, with {len(self._acked)} acknowledged actions",
                    len(self._acked),
                )
        else:
            self._judge_actions(records)
            self._judge_views(records, machine)
        for kind, count in self._faults.items():
            setattr(verdict, kind, getattr(verdict, kind) + count)
        for sentence in self._sentences:
            verdict.fault(f"match {self.match}: {sentence}")

    def compare(self, copies: Mapping[str, Copy], owner: str, verdict: Verdict) -> None:
        """Hold every other replica's copy against the owner's.

        All are at rest: a copy that is behind is one that differs.
        """
        right = copies[owner]
        for node, copy in copies.items():
            if node == owner:
                continue
            verdict.copies_compared += 1
            if copy != right:
                verdict.diverged += 1
                verdict.fault(
                    f"match {self.match}: the copy of {node} has {copy.records} "
                    f"records ending in {copy.digest.hex()}, {owner}'s "
                    f"{right.records} ending in {right.digest.hex()}"
                )

    def _judge_actions(self, records: Sequence[Record]) -> None:
        logged: dict[Key, list[Record]] = {}
        for record in records:
            if record.kind is RecordKind.ACTION and "operator" not in record.input:
                logged.setdefault(_key(record), []).append(record)
        for key, again in logged.items():
            if len(again) > 1:
                places = [record.index for record in again]
                sentence = f"{_named(key)} stands in the log at {places}"
                self._fault("doubled", sentence, len(again) - 1)
        before = -1
        for key, acked in self._acked.items():
            found = logged.pop(key, None)
            if found is None:
                self._fault("lost", f"{_named(key)}, record {acked.index}, is gone")
                continue
            for sentence in _differences(acked, found[0], before):
                self._fault("reordered", f"{_named(key)} {sentence}")
            before = acked.index
        for key in logged:
            if key in self._unknown or key[:2] not in self._sessions:
                continue
            self._fault("strange", f"{_named(key)} is in the log, but was never told")

    def _judge_views(self, records: Sequence[Record], machine: Machine) -> None:
        unseen = dict(self._seen)
        try:
            for state in replay_states(machine, records):
                for seat in self._newest:
                    seen = unseen.pop((seat, state.revision), None)
                    if seen is None:
                        continue
                    if _digest_of_packed(seen) != _digest(_shown(state, seat)):
                        sentence = f"is not what seat {seat!r} was shown"
                        self._fault("strange", f"revision {state.revision} {sentence}")
        except EngineError as error:
            self._fault("strange", f"the log does not replay: {error}")
            return
        if unseen:
            places = sorted(unseen, key=lambda place: place[1])[:3]
            sentence = f"views were shown of what was never committed: {places}"
            self._fault("strange", sentence, len(unseen))

    def _fault(self, kind: str, sentence: str, count: int = 1) -> None:
        self._faults[kind] += count
        if len(self._sentences) < FAULTS_MAX:
            self._sentences.append(f"{kind}: {sentence}")


def _differences(acked: _Acked, record: Record, before: int) -> Iterator[str]:
    if record.index != acked.index:
        yield f"is record {record.index}, and was acknowledged as {acked.index}"
    if record.revision_after != acked.revision:
        yield (
            f"led to revision {record.revision_after}, and was acknowledged at "
            f"{acked.revision}"
        )
    if acked.index <= before:
        yield f"was acknowledged as record {acked.index}, after record {before}"
    given = record.input
    if given["event"] != acked.event or _digest(given["payload"]) != _digest(
        acked.payload
    ):
        yield "stands in the log with other content"


def _key(record: Record) -> Key:
    given = record.input
    return given["seat"], given["session"], given["action"]


def _named(key: Key) -> str:
    return f"action {key[2]} of seat {key[0]!r}, session {key[1]},"


def _shown(state: MatchState, seat: str) -> Any:
    if seat:
        return state.machine.player_view(state.snapshot, seat)
    return state.machine.public_view(state.snapshot)


def _digest_of_packed(packed: bytes) -> bytes:
    return _digest(msgspec.msgpack.decode(packed))


def _digest(value: Any) -> bytes:
    return digest_of(freeze(value, label="view"))
