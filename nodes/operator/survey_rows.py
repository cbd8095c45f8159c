"""What is put together from all doors of a cluster: rows with a stable schema.

`--json` prints them as they are; docs/operator.md shows every field. A field is never
renamed, nor its meaning changed; new ones may come.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from .rows import ActorRow, MatchRow, OperationRow, PlayRow, ReplicaRow, Row

__all__ = [
    "AlarmRow",
    "ClusterRow",
    "CopyRow",
    "ExportedRow",
    "FailedRow",
    "FoundMatches",
    "FoundOperations",
    "MatchShown",
    "NodeRow",
    "OutcomeRow",
    "OutcomeRows",
    "Rates",
    "ShardRow",
    "ShardShown",
]


class Rates(Row, frozen=True, kw_only=True):
    """What happened per second between two looks."""

    seconds: float
    """Between them."""
    records_per_s: float
    """Committed, here as an owner: what players did."""
    messages_per_s: float
    """Requests of players that came to matches."""
    created_per_s: float
    ended_per_s: float
    refused_per_s: float
    """Requests that were refused since there was too much (busy)."""


class AlarmRow(Row, frozen=True, kw_only=True):
    """Something that an operator must look at."""

    code: str
    at: str
    """A node, `shard N`, or a match."""
    message: str


class NodeRow(Row, frozen=True, kw_only=True):
    """One node."""

    node: str
    door: str
    """Where it listens for commands."""
    reachable: bool
    error: str = ""
    """The code of why it is not."""
    elsewhere: bool = False
    """It runs on another machine, and is not reached from here: what is told of it is
    what the coordinator knows."""
    ready: bool = False
    """It serves, or follows in sync, all that is meant for it."""
    state: str = ""
    """up; draining: it is to own and hold nothing; restarting: it hands over, and is to
    be started anew; "" if it does not say."""
    shards: int = 0
    """That it serves."""
    following: int = 0
    """Of which it holds a copy in sync."""
    matches: int = 0
    """That go on, in the shards that it serves."""
    ended: int = 0
    """Ended ones that are still in memory."""
    quarantined: int = 0
    """Matches that are set apart at this node."""
    uncommitted: int = 0
    """Records that wait for copies, in the shards that it serves."""
    lag: int = 0
    """Records that its copies of others' shards lack, as their owners say."""
    pages: str = ""
    """The address of its metrics, if it serves them."""
    counters: dict[str, int] = field(default_factory=dict)
    """records, messages, created, ended, refused: since its start."""
    rates: Rates | None = None
    """If there were two looks."""


class ShardRow(Row, frozen=True, kw_only=True):
    """One shard: what its owner says, or who knows the newest record."""

    shard: int
    owner: str = ""
    """"" if nobody owns it."""
    serving: bool = False
    """The owner answers players."""
    epoch: int = 0
    isr: tuple[str, ...] = ()
    """The nodes whose copies are in sync, the owner among them."""
    want: tuple[str, ...] = ()
    """The nodes that shall hold it."""
    learning: tuple[str, ...] = ()
    """The nodes that catch up."""
    short: int = 0
    """Copies in sync that are missing."""
    moving_to: str = ""
    """Who is to own it by a planned move."""
    commit: int = 0
    """The last sequence number that is committed."""
    last_seq: int = 0
    """The last one in the owner's log."""
    lag: dict[str, int] = field(default_factory=dict)
    """By node: entries that its copy lacks."""
    degraded: bool = False
    """It takes no actions, for lack of copies in sync."""
    matches: int = 0
    """That go on."""
    ended: int = 0
    """Ended ones that are still in memory."""


class ShardShown(Row, frozen=True, kw_only=True):
    """One shard, and what each node says of it."""

    shard: ShardRow
    replicas: dict[str, ReplicaRow]
    """By node."""
    silent: dict[str, str]
    """Nodes that do not answer: the code of why."""


class ClusterRow(Row, frozen=True, kw_only=True):
    """A whole cluster."""

    cluster: str
    dir: str
    shards: int
    shards_owned: int
    shards_in_sync: int
    """With as many copies in sync as there shall be."""
    copies: int
    """Copies that there shall be of each shard, the owner's among them."""
    min_isr: int
    """Copies in sync without which nothing is accepted."""
    durability: str
    """disk or memory: what an answer waits for at every copy in sync."""
    copies_short: int
    """Missing, in all shards together."""
    matches: int
    """That go on."""
    ended: int
    """Ended ones that are still in memory."""
    quarantined: int
    """Matches that are set apart at any node; 100 of each node are counted."""
    alarms: tuple[AlarmRow, ...]
    rates: Rates | None
    """If there were two looks."""
    nodes: tuple[NodeRow, ...]


class FoundMatches(Row, frozen=True, kw_only=True):
    """Matches that were asked for."""

    matches: tuple[MatchRow, ...]
    more: bool
    """There are more of them than the limit."""
    silent: dict[str, str]
    """Nodes that do not answer, with the code: what they serve is missing here."""


class CopyRow(Row, frozen=True, kw_only=True):
    """A match's copy at one node."""

    node: str
    role: str
    """Of the node in the match's shard: owner, follower, learner, candidate, idle."""
    serving: bool
    epoch: int
    """Of the shard, as this node knows it."""
    records: int
    """0: it has none."""
    digest: str
    """Of the last record, in hex."""
    state: str
    """As in a match's row."""
    tier: str
    code: str
    """Why it is set apart there."""


class MatchShown(Row, frozen=True, kw_only=True):
    """All that is known of one match."""

    match: MatchRow
    """As its owner knows it; without an owner, who has most of it."""
    epoch: int
    """The shard's."""
    created_epoch: int
    """The shard's when the match was created."""
    play: PlayRow | None
    """Where it stands; null while its state is only stored."""
    actor: ActorRow | None
    copies: tuple[CopyRow, ...]
    agree: bool
    """All copies in sync that are equally long have the same digest."""
    silent: dict[str, str]
    """Nodes that do not answer: the code of why."""
    g: object = None
    """Its state, if it was asked for."""


class FoundOperations(Row, frozen=True, kw_only=True):
    """Commands of operators, the newest first."""

    operations: tuple[OperationRow, ...]
    more: bool
    """There are more of them than the limit."""
    unreadable: int
    """Records that the node which was asked cannot read: newer ones wrote them."""


class OutcomeRow(Row, frozen=True, kw_only=True):
    """A command that is done."""

    id: str
    """`hotseat audit show ID` shows its record."""
    node: str
    """Who ran it."""
    verb: str
    target: str
    outcome: dict[str, Any]
    """What the command says came of it."""


class FailedRow(Row, frozen=True, kw_only=True):
    """A command that is not done."""

    target: str
    code: str
    message: str


class ExportedRow(Row, frozen=True, kw_only=True):
    """The log of a match in a file."""

    match: str
    file: str
    records: int
    bytes: int
    digest: str
    """Of the last record, in hex."""
    verified: bool
    """Its game was at hand, and plays it so."""


class OutcomeRows(Row, frozen=True, kw_only=True):
    """The same command for several targets, in the order in which they were given."""

    done: tuple[OutcomeRow, ...]
    failed: tuple[FailedRow, ...]
