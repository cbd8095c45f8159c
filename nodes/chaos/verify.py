"""Fetches what the cluster kept of every match, and judges the players' accounts.

Asked are the nodes' doors, as an operator would: the owner's for the log, and those of
all replicas for the digests of their copies. The cluster must be at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import anyio

from ...engine.machine import Machine
from ...engine.record import Record
from ...runtime.match_id import shard_of
from ..client.match import RemoteMatch
from ..client.outcome import ClientError, Refusal
from ..operator.ask_door import ask_door
from ..operator.match_feed import FeedBroken, MatchFeed
from ..operator_error import OperatorError
from .account import Copy, MatchAccount, Verdict
from .cluster import ChaosCluster, Health

__all__ = ["Played", "verify"]

FETCHERS = 8
"""Logs fetched at a time."""

ATTEMPTS = 5
PAUSE_S = 0.2

DOOR_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Played:
    """A match that was played, and what its players were told."""

    match: RemoteMatch
    account: MatchAccount


async def verify(
    cluster: ChaosCluster,
    health: Health,
    played: Iterable[Played],
    machine: Machine,
    verdict: Verdict,
    *,
    judged: Callable[[], None] = lambda: None,
) -> None:
    """Judge every match; `judged` is called after each."""
    played = list(played)
    copies = await _copies_at_rest(cluster, health)
    waiting = iter(played)

    async def work() -> None:
        for one in waiting:
            records = await _records(cluster, one.match, verdict)
            one.account.judge(records, machine, verdict)
            shard = shard_of(one.match.id, cluster.home.shards)
            owner = health.owners.get(shard, "")
            members = health.in_sync.get(shard, ())
            _compare(one.account, copies, owner, members, records, verdict)
            judged()

    async with anyio.create_task_group() as tasks:
        for _ in range(FETCHERS):
            tasks.start_soon(work)


async def _records(
    cluster: ChaosCluster, match: RemoteMatch, verdict: Verdict
) -> list[Record] | None:
    """The match's log; None if the cluster has it no longer."""
    said = ""
    for _ in range(ATTEMPTS):
        try:
            return await MatchFeed(cluster.home.path, match.id).fetch()
        except FeedBroken as error:
            said = str(error)
            await anyio.sleep(PAUSE_S)
        except OperatorError as error:
            said = error.code
            break
    try:  # what a node has put away, a client can have all the same
        answer = await match.log()
    except ClientError as error:
        verdict.fault(f"match {match.id}: no log: {said}; {error.code}")
        return None
    if isinstance(answer, Refusal):
        verdict.fault(f"match {match.id}: no log: {said}; {answer.code}")
        return None
    return answer


AllCopies = dict[str, dict[str, Copy]]
"""What each node holds, by match."""


async def _copies_at_rest(cluster: ChaosCluster, health: Health) -> AllCopies:
    """All copies. A follower hears of the last commits a heartbeat late: if some still
    differ, they are asked again, a few times."""
    for _ in range(ATTEMPTS):
        found: AllCopies = {node: {} for node in health.answering}
        async with anyio.create_task_group() as tasks:
            for shard, members in health.in_sync.items():
                for node in members:
                    if node in found:
                        tasks.start_soon(_ask_copies, cluster, node, shard, found)
        if not _differ(cluster, health, found):
            break
        await anyio.sleep(PAUSE_S)
    return found


async def _ask_copies(
    cluster: ChaosCluster, node: str, shard: int, found: AllCopies
) -> None:
    """Of one shard, from one node's door, page by page.

    Raises:
        OperatorError: It does not answer.
    """
    more, after = True, ""
    while more:
        answer = await ask_door(
            cluster.home.door(node),
            "digests",
            shard=shard,
            after=after,
            timeout_s=DOOR_TIMEOUT_S,
        )
        for match, records, digest in answer["copies"]:
            found[node][match] = Copy(records, digest)
        after = answer["next"]
        more = bool(after)


def _differ(cluster: ChaosCluster, health: Health, found: AllCopies) -> bool:
    for match in {match for copies in found.values() for match in copies}:
        members = health.in_sync.get(shard_of(match, cluster.home.shards), ())
        held = {found[node].get(match) for node in members if node in found}
        if len(held) > 1:
            return True
    return False


def _compare(
    account: MatchAccount,
    copies: Mapping[str, Mapping[str, Copy]],
    owner: str,
    members: Iterable[str],
    records: list[Record] | None,
    verdict: Verdict,
) -> None:
    """Hold the copy of every member of the in-sync set against the log given out."""
    if not records or owner not in copies:
        return
    right = Copy(len(records), records[-1].digest)
    held = {
        node: copies[node].get(account.match, Copy(0, b""))
        for node in members
        if node in copies
    }
    account.compare({"": right, **held}, "", verdict)
