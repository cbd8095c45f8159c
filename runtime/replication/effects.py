"""What the shards of a node ask for in one step, gathered until it is collected.

One `Effects` per node. Shards append to its lists; `NodeReplicas` turns it into one
`Output`. Journal operations form groups with rising numbers: a shard that waits for
an operation remembers `ticket`, the number of the group that is being gathered.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..control_plane import ShardRecord
from ..coordinator import Write
from ..frame import ShardEntry
from .message import Message, Piece
from .output import (
    Alarm,
    Attach,
    Carry,
    CasRequest,
    Come,
    Committed,
    Confirmed,
    Demoted,
    Detach,
    Feed,
    IdentityKept,
    Install,
    JournalOp,
    Output,
    Send,
    Serving,
    Split,
    StateWanted,
)

__all__ = ["Effects", "RecordWrite"]


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """Write a shard's record if its revision is `expected` (0: absent).

    Answer with `ShardReplica.answered(nonce, …)`, whatever comes. The nonce is the
    record's `claim`. `companions` land with it or not at all.
    """

    shard: int
    expected: int
    record: ShardRecord
    companions: tuple[Write, ...] = ()
    deletes: bool = False
    """The record is deleted; `record` is the one that stood there, with the nonce."""

    @property
    def nonce(self) -> str:
        return self.record.claim


class Effects:
    """The lists have the names and the meaning of the fields of `Output`."""

    __slots__ = (
        "_group_begins",
        "alarms",
        "caught_up",
        "committed",
        "confirmed",
        "demoted",
        "feeds",
        "gone",
        "installs",
        "journal",
        "list_again",
        "pin_asks",
        "sends",
        "serving",
        "splits",
        "state_copies",
        "states_wanted",
        "table",
        "ticket",
        "writes",
    )

    def __init__(self) -> None:
        self.ticket = 1
        """The number of the group of journal operations that is being gathered."""
        self._group_begins = 0
        self.writes: list[RecordWrite] = []
        self._clear()

    def send(self, node: str, message: Message) -> None:
        self.sends.append(Send(node, message))

    def close_group(self) -> int:
        """End the group of journal operations; 0 if none was asked for since."""
        if len(self.journal) == self._group_begins:
            return 0
        self._group_begins = len(self.journal)
        self.ticket += 1
        return self.ticket - 1

    def shards_since(self, first: int) -> list[int]:
        """Those with journal operations from place `first` on."""
        ops = self.journal[first:]
        return list(
            dict.fromkeys(op.shard for op in ops if not isinstance(op, IdentityKept))
        )

    def take_writes(self) -> list[RecordWrite]:
        """The record writes asked for since the last call."""
        writes, self.writes = self.writes, []
        return writes

    def take_output(
        self, ticket: int, cas: tuple[CasRequest, ...], timer_ms: int | None
    ) -> Output:
        """All that was gathered, but the writes: the node makes `cas` of them."""
        output = Output(
            alarms=tuple(self.alarms),
            demoted=tuple(self.demoted),
            installs=tuple(self.installs),
            splits=tuple(self.splits),
            gone=tuple(self.gone),
            ticket=ticket,
            journal=tuple(self.journal),
            sends=tuple(self.sends),
            cas=cas,
            committed=tuple(self.committed),
            serving=tuple(self.serving),
            confirmed=tuple(self.confirmed),
            feeds=tuple(self.feeds),
            states_wanted=tuple(self.states_wanted),
            state_copies=tuple(self.state_copies),
            pin_asks=tuple(self.pin_asks),
            table=tuple(self.table),
            list_again=self.list_again,
            timer_ms=timer_ms,
        )
        self._clear()
        return output

    def _clear(self) -> None:
        self._group_begins = 0
        self.alarms: list[Alarm] = []
        self.demoted: list[Demoted] = []
        self.installs: list[Install] = []
        self.splits: list[Split] = []
        self.gone: list[int] = []
        self.journal: list[JournalOp] = []
        self.sends: list[Send] = []
        self.committed: list[Committed] = []
        self.serving: list[Serving] = []
        self.confirmed: list[Confirmed] = []
        self.feeds: list[Feed] = []
        self.states_wanted: list[StateWanted] = []
        self.state_copies: list[tuple[int, Piece]] = []
        self.pin_asks: list[Detach | Attach | Carry | Come] = []
        self.table: list[ShardEntry] = []
        self.list_again = False
        self.caught_up = 0
        """Entries that learners gave their host in this step. Not for the output."""
