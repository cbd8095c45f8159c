"""One match of which this node holds what is committed, at whatever tier.

`state` is in memory (hot), or the line alone is (passivated). `tail` are the packed
records that are not known to be durable in the match's history yet.

A match can be *set apart*: it has a `code` that it answers with. If its state cannot
be carried on here (`stuck`), its records are still kept, as they are, so that nothing
is lost and another attempt can be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from ...engine.record import RecordKind
from ...engine.snapshot import Snapshot
from ..errors import CodecError
from ..journal import MatchLine
from ..match_state import MatchState
from ..record_codec import unpack_record

__all__ = [
    "INABILITIES",
    "HotMatch",
    "blank_line",
    "line_of",
    "line_of_creation",
    "placed_by",
]

INABILITIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "state_corrupt": "its stored state cannot be read, nor got from its history",
        "unknown_record": "its log holds a record that this version cannot read",
        "missing_game": "this node does not have its game in that version",
        "divergent": "this node's copy of it differs from its log",
        "log_gap": "this node lacks records of its log",
        "recovery_failed": "its game fails again and again when it is loaded",
    }
)
"""Why a state cannot be carried on at this node: nothing is known against the match,
and another replica may have it whole. Other codes are verdicts on the match."""


class HotMatch:
    """See the module.

    Invariant: `tail` are the last records up to number `index`.
    Invariant: unless it is stuck, `index` is that of the state, in memory or saved.
    """

    __slots__ = (
        "asked_ms",
        "asks",
        "body",
        "code",
        "dirty",
        "emitted",
        "failures",
        "in_flight",
        "index",
        "line",
        "looked",
        "marks",
        "match",
        "needs",
        "pinned",
        "pins",
        "retry_ms",
        "shard",
        "state",
        "stuck",
        "tail",
        "told",
        "used_ms",
    )

    def __init__(self, line: MatchLine, state: MatchState | None = None) -> None:
        self.match = line.match
        self.shard = line.shard
        self.line = line
        """As it was saved last, or when it was set apart."""
        self.state = state
        """The last good one, if it is in memory."""
        self.body: bytes | None = None
        """A packed state that came from elsewhere and is not durable yet."""
        self.code = line.quarantined
        self.stuck = self.code in INABILITIES
        self.index = line.index
        self.looked = False
        """Whether the store was asked for records behind the stored state."""
        self.tail: list[bytes] = []
        self.marks: list[tuple[int, Snapshot]] = []
        """What it was after some records, not given out to be written yet."""
        self.emitted = line.index
        """History up to here was given out to be written."""
        self.dirty = False
        """Something has changed since it was given out to be written."""
        self.in_flight = 0
        """How many times it was given out without an answer."""
        self.used_ms = 0
        self.told = ""
        """The code of which the operator was told."""
        self.needs: tuple[str, str] | None = None
        """(name, version) of the game that is missing to carry it on; None: that of its
        line."""
        self.failures = 0
        retries = self.stuck and self.code != "log_gap"  # it would lead to before it
        self.retry_ms: int | None = 0 if retries else None
        """When to try again to get unstuck; None: not by itself."""
        self.pinned = line.pinned
        """By the last record, whether or not it can be played here: its own shard, if
        it is there or leaves for it."""
        self.pins = line.pins
        self.asks = 0
        self.asked_ms = 0

    @property
    def first(self) -> int:
        """The number of the first record of the tail."""
        return self.index - len(self.tail) + 1

    @property
    def saved(self) -> bool:
        """Whether the store has all that is here."""
        return not (self.dirty or self.in_flight or self.tail)

    @property
    def plays(self) -> tuple[str, str]:
        """(name, version) of the game that it goes on in; empty: none, or unknown."""
        state, line = self.state, self.line
        if self.needs is not None:
            return self.needs
        if state is not None:
            game = state.machine.game
            return ("", "") if state.ended else (game.name, game.version)
        return ("", "") if line.ended else (line.game, line.version)

    def current_line(self) -> MatchLine:
        """What is known of it now."""
        if self.state is not None:
            line = line_of(self.state, self.shard, self.code)
            if self.stuck:
                line = msgspec.structs.replace(line, pinned=self.pinned, pins=self.pins)
            return line
        known = (self.line.quarantined, self.line.pinned, self.line.shard)
        if known != (self.code, self.pinned, self.shard):
            return msgspec.structs.replace(
                self.line,
                quarantined=self.code,
                pinned=self.pinned,
                pins=self.pins,
                shard=self.shard,
            )
        return self.line


def placed_by(packed: bytes) -> tuple[int, int] | None:
    """What a packed record says of the match's place: its own shard (0: home), and how
    often it was to leave home. None: nothing."""
    try:
        record = unpack_record(packed)
    except CodecError:
        return None
    if record.kind is RecordKind.DETACH:
        return record.input["shard"], record.input["n"]
    return (0, 0) if record.kind is RecordKind.ATTACH else None


def line_of(state: MatchState, shard: int, code: str = "") -> MatchLine:
    """The line of a match in that state."""
    game = state.machine.game
    return MatchLine(
        state.match,
        shard,
        state.epoch,
        state.creation,
        game.name,
        game.version,
        tuple(state.seats),
        state.index,
        state.digest,
        state.time_ms,
        state.armed_ms,
        state.ended,
        code,
        reported=state.reported,
        pinned=state.pinned,
        pins=state.pins,
    )


def blank_line(match: str, shard: int, code: str) -> MatchLine:
    """The line of a match of which not even the creation could be read."""
    return MatchLine(match, shard, 0, "", "", "", (), -1, b"", 0, None, False, code)


def line_of_creation(match: str, shard: int, packed: bytes) -> MatchLine:
    """What a creation record says of a match that cannot be played here."""
    line = blank_line(match, shard, "")
    try:
        record = unpack_record(packed)
        if record.kind is not RecordKind.CREATE:
            return line
        given = record.input
        return msgspec.convert(
            {
                **msgspec.structs.asdict(line),
                "epoch": given["epoch"],
                "creation": given["creation"],
                "game": given["game"],
                "version": given["version"],
                "seats": given["match"]["players"],
                "time_ms": record.time_ms,
            },
            MatchLine,
        )
    except (CodecError, msgspec.ValidationError, KeyError, TypeError):
        return line
