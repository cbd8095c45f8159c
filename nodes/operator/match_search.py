"""Finds matches in a cluster: asks the doors of all nodes, page by page."""

from __future__ import annotations

from typing import Any

from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .ask_cluster import ask_all, cluster_unreachable
from .ask_door import DoorRefused, ask_door
from .doors import Doors, find_doors
from .rows import (
    ActorRow,
    MatchRow,
    PlayRow,
    ReplicaRow,
    read_row,
    read_row_or_none,
)
from .survey_rows import CopyRow, FoundMatches, MatchShown

__all__ = ["find_matches", "show_match"]

PAGES_MAX = 10_000
"""Of one node: a bound for what would else ask for ever."""

SORTED_MAX = 100_000
"""Matches of one node that are looked through for the largest of them."""


_LARGEST = {"idle": "idle_s", "records": "records"}


async def find_matches(
    home: ClusterDir,
    limit: int,
    *,
    sort: str = "shard",
    after: tuple[int, str] | None = None,
    **asked: Any,
) -> FoundMatches:
    """The matches that are `asked` for (see `match_page`), at most `limit`.

    In the order of their shards and ids, behind `after` (a shard and an id); with
    `sort` idle or records, those with the most come first. A match that moves while we
    ask is told once.

    Raises:
        OperatorError: cluster_unreachable; or a node says no.
    """
    wanted = limit + 1 if sort == "shard" else SORTED_MAX
    doors = await find_doors(home)
    behind = {} if after is None else {"after": list(after)}
    first = await ask_all(doors, "matches", limit=wanted, **behind, **asked)
    if first and all(isinstance(one, OperatorError) for one in first.values()):
        raise _none_answers(first)
    found: dict[str, MatchRow] = {}
    silent: dict[str, str] = {}
    for node, answer in first.items():
        if isinstance(answer, OperatorError):
            silent[node] = answer.code
            continue
        rows = [*answer["matches"]]
        try:
            for _ in range(PAGES_MAX):
                if answer["next"] is None or len(rows) >= wanted:
                    break
                answer = await ask_door(
                    doors.of(node),
                    "matches",
                    after=answer["next"],
                    limit=wanted - len(rows),
                    **asked,
                )
                rows += answer["matches"]
        except OperatorError as error:
            silent[node] = error.code
        for each in rows:
            row = read_row(MatchRow, {**each, "node": node})
            known = found.get(row.match)
            if known is None or known.records < row.records:
                found[row.match] = row
    ordered = sorted(found.values(), key=lambda row: (row.shard, row.match))
    if sort != "shard":
        ordered.sort(key=lambda row: float(getattr(row, _LARGEST[sort])), reverse=True)
    return FoundMatches(
        matches=tuple(ordered[:limit]), more=len(ordered) > limit, silent=silent
    )


async def show_match(
    home: ClusterDir, match: str, *, state: bool = False
) -> MatchShown:
    """All that the nodes know of one match; with `state`, its G as well.

    Raises:
        OperatorError: unknown_match, cluster_unreachable, or a node says no.
    """
    doors = await find_doors(home)
    answers = await ask_all(doors, "match", match=match)
    given = {n: a for n, a in answers.items() if not isinstance(a, OperatorError)}
    silent = {n: a.code for n, a in answers.items() if isinstance(a, OperatorError)}
    if not given:
        raise _none_answers(answers)
    # One shard, unless the match is just being moved, or folded back.
    replicas = {
        shard: await _replicas(doors, shard)
        for shard in sorted({answer["shard"] for answer in given.values()})
    }
    copies = tuple(
        _copy(node, answer, replicas[answer["shard"]].get(node))
        for node, answer in given.items()
    )
    holders = [copy for copy in copies if copy.records]
    if not holders:
        raise _unknown(match, silent)
    best = max(holders, key=lambda copy: (copy.serving, copy.epoch, copy.records))
    answer = given[best.node]
    shown = MatchShown(
        match=read_row(MatchRow, {**answer["row"], "node": best.node}),
        epoch=best.epoch,
        created_epoch=answer["created_epoch"],
        play=read_row_or_none(PlayRow, answer["play"]),
        actor=read_row_or_none(ActorRow, answer["actor"]),
        copies=copies,
        agree=_agree(holders),
        silent=silent,
    )
    return await _with_state(doors, shown) if state else shown


async def _with_state(doors: Doors, shown: MatchShown) -> MatchShown:
    from msgspec.structs import replace

    from ...runtime.codec import unpack

    match, node = shown.match.match, shown.match.node
    answer = await ask_door(doors.of(node), "match", match=match, state=True)
    if "g" not in answer:
        raise OperatorError(
            "state_unavailable",
            f"the state of match {match} cannot be loaded at {node}",
            hint=f"hotseat log follow --match {match} may say why",
        )
    row = read_row(MatchRow, {**answer["row"], "node": node})
    play = read_row_or_none(PlayRow, answer["play"])
    return replace(shown, match=row, play=play, g=unpack(answer["g"]))


async def _replicas(doors: Doors, shard: int) -> dict[str, ReplicaRow]:
    answers = await ask_all(doors, "shards", shard=shard)
    return {
        node: read_row(ReplicaRow, row)
        for node, answer in answers.items()
        if not isinstance(answer, OperatorError)
        for row in answer["shards"]
    }


def _copy(node: str, answer: dict[str, Any], replica: ReplicaRow | None) -> CopyRow:
    given = answer["row"]
    row = read_row_or_none(MatchRow, given)
    return CopyRow(
        node=node,
        role="" if replica is None else replica.role,
        serving=replica is not None and replica.serving,
        epoch=0 if replica is None else replica.epoch,
        records=0 if row is None else row.records,
        digest="" if row is None else row.digest,
        state="" if row is None else row.state,
        tier="" if row is None else row.tier,
        code="" if row is None else row.code,
    )


def _agree(holders: list[CopyRow]) -> bool:
    """Copies of one length have one digest. Of two lengths, one is still on its way."""
    ends: dict[int, set[str]] = {}
    for copy in holders:
        if copy.role in ("owner", "follower"):
            ends.setdefault(copy.records, set()).add(copy.digest)
    return all(len(digests) == 1 for digests in ends.values())


def _unknown(match: str, silent: dict[str, str]) -> OperatorError:
    hint = ""
    if silent:
        hint = f"{', '.join(silent)} did not answer and may have it"
    return OperatorError(
        "unknown_match", f"no node that answers knows a match {match}", hint=hint
    )


def _none_answers(answers: dict[str, Any]) -> OperatorError:
    """Why there is no answer at all: a node that says no says why."""
    for error in answers.values():
        if isinstance(error, DoorRefused):
            return _explained(error)
    return cluster_unreachable("no node of the cluster answers")


def _explained(error: DoorRefused) -> OperatorError:
    if error.code != "unknown_op":
        return error
    return OperatorError(
        "node_too_old",
        "the nodes are of an older build, which cannot be asked that",
        hint="restart them: hotseat down, hotseat up",
        exit_code=ExitCode.FAILED,
    )
