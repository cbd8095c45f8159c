"""Asks all doors of a cluster, and puts together what they say.

A node that does not answer is told as such, and fails nothing. What two nodes say of
one shard is judged by its epoch: the higher one is newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import anyio
from msgspec.structs import replace

from ...runtime.control_plane import SHARDS_MAX
from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .alarms import find_alarms
from .ask_cluster import ask_all
from .ask_door import DoorRefused, ask_door
from .doors import Doors, Elsewhere, find_doors
from .rows import ReplicaRow, read_row
from .survey_rows import ClusterRow, NodeRow, Rates, ShardRow, ShardShown

__all__ = [
    "Survey",
    "check_shard",
    "merge_shard",
    "show_shard",
    "survey",
    "with_rates",
]

COUNTERS: Mapping[str, tuple[str, str]] = {
    "records": ("committer", "committed"),
    "messages": ("supervisor", "messages"),
    "created": ("supervisor", "created"),
    "ended": ("supervisor", "ended"),
    "refused": ("supervisor", "busy"),
}
"""Where a node's statistics have what its rates are made of."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A look at a whole cluster."""

    cluster: ClusterRow
    shards: tuple[ShardRow, ...]
    """Those that matches fall into, then those of pinned matches."""
    at_s: float = field(default_factory=monotonic)
    """When, by a clock that only goes on."""

    @property
    def answered(self) -> bool:
        """Whether any node answered."""
        return any(node.reachable for node in self.cluster.nodes)


async def survey(home: ClusterDir) -> Survey:
    """Ask every node for its status and its shards."""
    doors = await find_doors(home)
    statuses, replicas = await _asked(doors)
    copies = home.redundancy.copies or 1
    pinned = {n for rows in replicas.values() for n in rows if n >= SHARDS_MAX}
    shards = tuple(
        merge_shard(
            number,
            {node: rows[number] for node, rows in replicas.items() if number in rows},
            copies,
            _elsewhere(doors),
        )
        for number in (*range(home.shards), *sorted(pinned))
    )
    nodes = tuple(
        _node_row(node, doors.of(node), status, shards)
        for node, status in statuses.items()
    )
    fixed = shards[: home.shards]
    row = ClusterRow(
        cluster=home.cluster,
        dir=str(home.path),
        shards=home.shards,
        shards_owned=sum(1 for shard in fixed if shard.serving),
        shards_in_sync=sum(1 for shard in fixed if not shard.short),
        copies=copies,
        min_isr=home.redundancy.min_isr or 1,
        durability=home.redundancy.durability or "disk",
        copies_short=sum(shard.short for shard in shards),
        matches=sum(node.matches for node in nodes),
        ended=sum(node.ended for node in nodes),
        quarantined=len(_set_apart(statuses)),
        alarms=tuple(find_alarms(statuses, nodes, shards, replicas)),
        rates=None,
        nodes=nodes,
    )
    return Survey(row, shards)


def merge_shard(
    shard: int,
    replicas: Mapping[str, ReplicaRow],
    copies: int,
    elsewhere: frozenset[str] = frozenset(),
) -> ShardRow:
    """One shard, by what the nodes say of it.

    An owner that lives, and cannot be asked from here, is believed to serve.
    """
    if not replicas:
        return ShardRow(shard=shard, short=copies)
    best = max(replicas.items(), key=lambda one: _weight(one[1]))[1]
    owner = replicas.get(best.owner)
    served = owner is not None and owner.serving and owner.epoch == best.epoch
    served = served or best.owner in elsewhere
    told = best if owner is None or not served else owner
    return ShardRow(
        shard=shard,
        owner=best.owner,
        serving=served,
        epoch=best.epoch,
        isr=best.isr,
        want=best.want,
        learning=told.learning,
        short=max(0, copies - len(best.isr)),
        moving_to=best.moving_to,
        commit=told.commit,
        last_seq=told.last_seq,
        lag=told.lag,
        degraded=told.degraded,
        matches=told.matches,
        ended=told.ended,
    )


def with_rates(before: Survey | None, now: Survey) -> Survey:
    """The later look, with what happened per second since the one before.

    A node that was started anew in between counts from its start.
    """
    if before is None or now.at_s <= before.at_s:
        return now
    seconds = now.at_s - before.at_s
    then = {node.node: node.counters for node in before.cluster.nodes}
    nodes = tuple(
        replace(node, rates=_rates(then[node.node], node.counters, seconds))
        if node.reachable and then.get(node.node)
        else node
        for node in now.cluster.nodes
    )
    each = [node.rates for node in nodes if node.rates is not None]
    total = None
    if each:
        names = [name for name in Rates.__struct_fields__ if name != "seconds"]
        sums = {name: sum(getattr(one, name) for one in each) for name in names}
        total = Rates(
            seconds=round(seconds, 3), **{k: round(v, 3) for k, v in sums.items()}
        )
    return Survey(replace(now.cluster, nodes=nodes, rates=total), now.shards, now.at_s)


async def show_shard(home: ClusterDir, shard: int) -> ShardShown:
    """One shard, and what each node says of it.

    Raises:
        OperatorError: no_such_shard.
    """
    check_shard(home, shard)
    doors = await find_doors(home)
    answers = await ask_all(doors, "shards", shard=shard)
    replicas: dict[str, ReplicaRow] = {}
    silent: dict[str, str] = {}
    for node, answer in answers.items():
        if isinstance(answer, OperatorError):
            silent[node] = answer.code
            continue
        for row in answer["shards"]:
            replicas[node] = read_row(ReplicaRow, row)
    if shard >= home.shards and not replicas and len(silent) < len(answers):
        raise _no_such_shard(home, shard)
    copies = home.redundancy.copies or 1
    merged = merge_shard(shard, replicas, copies, _elsewhere(doors))
    return ShardShown(shard=merged, replicas=replicas, silent=silent)


def check_shard(home: ClusterDir, shard: int) -> None:
    """
    Raises:
        OperatorError: no_such_shard: it can be no shard of this cluster, nor of a match
            that was moved alone.
    """
    if home.shards <= shard < SHARDS_MAX:
        raise _no_such_shard(home, shard)


def _no_such_shard(home: ClusterDir, shard: int) -> OperatorError:
    return OperatorError(
        "no_such_shard",
        f"there is no shard {shard}: the cluster has {home.shards}, from 0 on, and one"
        " for each match that was moved alone",
        hint="hotseat shard list shows them; hotseat match show says where one is",
        exit_code=ExitCode.USAGE,
    )


async def _asked(
    doors: Doors,
) -> tuple[dict[str, dict[str, Any] | OperatorError], dict[str, dict[int, ReplicaRow]]]:
    """What each node says of itself, and of its shards: both are asked at once, so that
    one that hangs is waited for once."""
    statuses: dict[str, dict[str, Any] | OperatorError] = {}
    replicas: dict[str, dict[int, ReplicaRow]] = {}

    async def ask() -> None:
        statuses.update(await ask_all(doors, "status"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        replicas.update(await _all_replicas(doors))
    return statuses, replicas


async def _all_replicas(doors: Doors) -> dict[str, dict[int, ReplicaRow]]:
    """By node and shard; without the nodes that do not answer, or know no `shards`."""
    first = await ask_all(doors, "shards")
    found: dict[str, dict[int, ReplicaRow]] = {}
    for node, answer in first.items():
        if isinstance(answer, OperatorError):
            continue
        rows = [*answer["shards"]]
        try:
            while answer["next"] is not None:
                answer = await ask_door(doors.of(node), "shards", after=answer["next"])
                rows += answer["shards"]
            read = [read_row(ReplicaRow, row) for row in rows]
        except OperatorError:
            continue  # it went away in between: its status says so next time
        found[node] = {row.shard: row for row in read}
    return found


def _weight(row: ReplicaRow) -> tuple[int, bool, int]:
    """Whom to believe: the newest record; then who owns it, then who has most."""
    return row.epoch, row.role == "owner", row.last_seq


def _node_row(
    node: str,
    door: str,
    status: dict[str, Any] | OperatorError,
    shards: tuple[ShardRow, ...],
) -> NodeRow:
    if isinstance(status, OperatorError):
        owned = [shard for shard in shards if shard.owner == node and shard.serving]
        return NodeRow(
            node=node,
            door=door,
            reachable=False,
            error=status.code,
            elsewhere=isinstance(status, Elsewhere) and status.registered,
            shards=len(owned),
            following=sum(node in s.isr and s.owner != node for s in shards),
        )
    statistics = status.get("statistics", {})
    counters = {
        name: int(statistics.get(part, {}).get(key, 0))
        for name, (part, key) in COUNTERS.items()
    }
    try:
        return NodeRow(
            node=node,
            door=door,
            reachable=True,
            ready=bool(status["ready"]),
            state=str(status.get("state", "")),
            shards=len(status["shards"]),
            following=int(status["following"]),
            matches=int(status["matches"]),
            ended=int(status["ended"]),
            quarantined=int(statistics.get("states", {}).get("quarantined", 0)),
            uncommitted=int(statistics.get("replicas", {}).get("uncommitted", 0)),
            lag=sum(shard.lag.get(node, 0) for shard in shards),
            pages=str(status.get("pages", "")),
            counters=counters,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DoorRefused(
            "malformed_answer", f"the status of {node} is not understood: {error!r}"
        ) from error


def _elsewhere(doors: Doors) -> frozenset[str]:
    """The nodes that live, and cannot be asked from here."""
    return frozenset(node for node, why in doors.away.items() if why.registered)


def _set_apart(statuses: Mapping[str, dict[str, Any] | OperatorError]) -> set[str]:
    """The matches that a node has set apart, each once."""
    return {
        one["match"]
        for status in statuses.values()
        if not isinstance(status, OperatorError)
        for one in status.get("set_apart", ())
    }


def _rates(before: Mapping[str, int], now: Mapping[str, int], seconds: float) -> Rates:
    def rate(name: str) -> float:
        then, this = before.get(name, 0), now.get(name, 0)
        return round((this - then if this >= then else this) / seconds, 3)

    return Rates(
        seconds=round(seconds, 3),
        records_per_s=rate("records"),
        messages_per_s=rate("messages"),
        created_per_s=rate("created"),
        ended_per_s=rate("ended"),
        refused_per_s=rate("refused"),
    )
