"""What the coordinator's keys hold: typed records under one prefix per cluster.

    /hotseat/v1/<cluster>/cfg             ClusterRecord, created once
    /hotseat/v1/<cluster>/node/<id>       NodeRecord, under a session: a hint
    /hotseat/v1/<cluster>/replica/<node>  ReplicaRecord
    /hotseat/v1/<cluster>/shard/<number>  ShardRecord: the only truth on ownership
    /hotseat/v1/<cluster>/pin/<match>     PinRecord: a match alone in a shard of its own
    /hotseat/v1/<cluster>/poison/<match>  PoisonRecord: its code ran when nodes died
    /hotseat/v1/<cluster>/drain/<node>    DrainRecord: it shall own nothing
    /hotseat/v1/<cluster>/rebalance       RebalanceRecord: whether shards are spread
    /hotseat/v1-op/<cluster>/<id>         OperationRecord: what an operator asked for;
                                          apart, since every node lists the others

Values are JSON, so that an operator can read them with the store's own tools. Each
carries `schema`; a record of a newer schema is refused, unknown fields are not
(a newer writer of the same schema may add some). Every write carries a fresh nonce.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from .errors import ControlRecordInvalid

__all__ = [
    "SCHEMA",
    "SHARDS_MAX",
    "ClusterRecord",
    "ControlRecord",
    "Death",
    "DrainRecord",
    "Keys",
    "Move",
    "NodeRecord",
    "OperationRecord",
    "PinRecord",
    "PoisonRecord",
    "RebalanceRecord",
    "ReplicaRecord",
    "ShardRecord",
    "Verdict",
    "decode_record",
    "encode_record",
]

SCHEMA = 1
"""Version history: 1: the first."""

SHARDS_MAX = 4096
"""Shards in a cluster: the whole table must fit into one frame of 1 MiB."""


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`cfg`: what is fixed when the cluster is created.

    `nodes` is what the shards are first laid out on.
    """

    cluster: str
    shards: int
    nodes: tuple[str, ...]
    copies: int = 1
    min_isr: int = 1
    durability: Literal["memory", "disk"] = "memory"
    nonce: str = ""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= SHARDS_MAX:
            raise ValueError(f"shards: {self.shards} is not in 1..{SHARDS_MAX}")
        if not self.nodes or len(set(self.nodes)) != len(self.nodes):
            raise ValueError(f"nodes: {self.nodes} must be unique and not empty")
        if not 1 <= self.min_isr <= self.copies:
            raise ValueError(
                f"min_isr: {self.min_isr} is not in 1..copies ({self.copies})"
            )


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`node/<id>`: where a live node is. A hint, never safety.

    `boot` is the process's incarnation, drawn anew at each start. `place` names the
    folder, on one machine, that a process of this node holds alone; "": none.
    `state` follows from the drain key, whatever the record says. `room`: it is not
    short of memory.
    """

    node: str
    boot: str
    inbox: str
    door: str = ""
    place: str = ""
    state: Literal["up", "draining", "restarting"] = "up"
    room: bool = True
    build: str = ""
    games: tuple[tuple[str, str], ...] = ()
    nonce: str = ""
    schema: int = SCHEMA


class ReplicaRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`replica/<node>`: the identity of the data that a node holds."""

    ident: str
    boot: int
    nonce: str
    serving: bool
    schema: int = SCHEMA


class Move(msgspec.Struct, frozen=True):
    """A planned change of owner, and the operation that asked for it."""

    to: str
    op: str


class ShardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`shard/<number>`: who owns it.

    `epoch` is 0 until the first claim and grows by one with each. `isr` holds
    (node, ident) pairs. `claim` is the nonce of the last write. `history` is the epoch
    in which an operator had the shard go on from a copy that may have lacked what was
    acknowledged (0: never): epochs below it are of another history.
    """

    owner: str | None
    epoch: int
    isr: tuple[tuple[str, str], ...]
    want: tuple[str, ...]
    claim: str
    move: Move | None = None
    history: int = 0
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if self.epoch < 0 or (self.owner is None) != (self.epoch == 0):
            raise ValueError(
                f"a shard has an owner from epoch 1 on: owner {self.owner!r},"
                f" epoch {self.epoch}"
            )


class PinRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`pin/<match>`: the match is alone in shard `shard`.

    `n` counts the match's pins: each has a shard number of its own, so that nothing
    that an earlier one left anywhere is taken for this one's.
    """

    match: str
    shard: int
    n: int
    nonce: str = ""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if self.shard < SHARDS_MAX:
            raise ValueError(f"a pinned shard's number is from {SHARDS_MAX} on")


class Death(msgspec.Struct, frozen=True):
    """A node process that ended while a match's code was running, and when."""

    node: str
    boot: str
    at_ms: int


class Verdict(msgspec.Struct, frozen=True):
    """An operator's, on a match: by which command, and when.

    `apart_ms` of one that lets it go on: for how long it was set apart.
    """

    op: str
    who: str
    why: str
    at_ms: int
    apart_ms: int = 0


class PoisonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`poison/<match>`: the newest deaths that it was seen at, oldest first, and what
    an operator has said of it.

    `apart`: it is set apart, whatever the deaths say; `released`: it went on then, and
    the deaths are those since. At most one of the two.
    """

    deaths: tuple[Death, ...]
    apart: Verdict | None = None
    released: Verdict | None = None
    nonce: str = ""
    schema: int = SCHEMA


class OperationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`<id>`: an operator's command. Written before anything is done, and once more
    when it has ended.

    `node` ran it, in its boot `boot`. `args` and `outcome` hold no secrets. `ended_ms`
    is 0 while it runs; `code` and `message` say why it failed.
    """

    id: str
    who: str
    verb: str
    target: str
    node: str
    boot: str
    asked_ms: int
    why: str = ""
    args: dict[str, Any] = {}
    ended_ms: int = 0
    state: Literal["running", "done", "failed"] = "running"
    code: str = ""
    message: str = ""
    outcome: dict[str, Any] = {}
    nonce: str = ""
    schema: int = SCHEMA


class DrainRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`drain/<node>`: the node shall own nothing.

    `boot` "": it drains until an operator says otherwise, and its copies go elsewhere
    too. Else the record is about that process alone, which is to be started anew soon:
    the copies stay. `op` asked for it.
    """

    node: str
    boot: str = ""
    op: str = ""
    nonce: str = ""
    schema: int = SCHEMA


class RebalanceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`rebalance`: whether shards are spread evenly by themselves; no key: they are."""

    on: bool
    op: str = ""
    nonce: str = ""
    schema: int = SCHEMA


ControlRecord = (
    ClusterRecord
    | NodeRecord
    | ReplicaRecord
    | ShardRecord
    | PinRecord
    | PoisonRecord
    | OperationRecord
    | DrainRecord
    | RebalanceRecord
)

_R = TypeVar("_R", bound=ControlRecord)


class Keys:
    """The key names of one cluster."""

    def __init__(self, cluster: str) -> None:
        if not cluster or "/" in cluster:
            raise ValueError(f"a cluster's name is not empty and has no /: {cluster!r}")
        self.prefix = f"/hotseat/v1/{cluster}/"
        self.cfg = f"{self.prefix}cfg"
        self.poisons = f"{self.prefix}poison/"
        self.pins = f"{self.prefix}pin/"
        self.replicas = f"{self.prefix}replica/"
        self.drains = f"{self.prefix}drain/"
        self.rebalance = f"{self.prefix}rebalance"
        self.nodes = f"{self.prefix}node/"
        self.operations = f"/hotseat/v1-op/{cluster}/"

    def node(self, node: str) -> str:
        return f"{self.nodes}{node}"

    def operation(self, id: str) -> str:
        return f"{self.operations}{id}"

    def replica(self, node: str) -> str:
        return f"{self.replicas}{node}"

    def replica_of(self, key: str) -> str | None:
        """The node that a `replica/` key is about, or None for another key."""
        return key[len(self.replicas) :] if key.startswith(self.replicas) else None

    def shard(self, shard: int) -> str:
        return f"{self.prefix}shard/{shard}"

    def pin(self, match: str) -> str:
        return f"{self.pins}{match}"

    def pin_of(self, key: str) -> str | None:
        """The match that a `pin/` key is about, or None for another key."""
        return key[len(self.pins) :] if key.startswith(self.pins) else None

    def poison(self, match: str) -> str:
        return f"{self.poisons}{match}"

    def poison_of(self, key: str) -> str | None:
        """The match that a `poison/` key is about, or None for another key."""
        return key[len(self.poisons) :] if key.startswith(self.poisons) else None

    def drain(self, node: str) -> str:
        return f"{self.drains}{node}"

    def drain_of(self, key: str) -> str | None:
        """The node that a `drain/` key is about, or None for another key."""
        return key[len(self.drains) :] if key.startswith(self.drains) else None

    def node_of(self, key: str) -> str | None:
        """The node that a `node/` key is about, or None for another key."""
        return key[len(self.nodes) :] if key.startswith(self.nodes) else None

    def shard_of(self, key: str) -> int | None:
        """The shard that a `shard/` key is about, or None for another key."""
        start = f"{self.prefix}shard/"
        number = key[len(start) :]
        if not key.startswith(start) or not (number.isascii() and number.isdigit()):
            return None
        return int(number)


def encode_record(record: ControlRecord) -> bytes:
    """The record as JSON."""
    return msgspec.json.encode(record)


class _Schema(msgspec.Struct):
    schema: int


def decode_record(kind: type[_R], key: str, value: bytes) -> _R:
    """Read the record that stands at `key`.

    Raises:
        ControlRecordInvalid: It is of a newer schema, or not such a record.
    """
    try:
        schema = msgspec.json.decode(value, type=_Schema).schema
        if schema > SCHEMA:
            raise ControlRecordInvalid(
                f"{key} was written by a newer version (schema {schema}, known up to"
                f" {SCHEMA}): upgrade this node"
            )
        return msgspec.json.decode(value, type=kind)
    except msgspec.MsgspecError as error:
        raise ControlRecordInvalid(
            f"{key} does not hold a {kind.__name__}: {error}"
        ) from error
    except RecursionError as error:
        raise ControlRecordInvalid(f"{key} is nested too deep") from error
