"""Fetches the log of a match from a cluster."""

from __future__ import annotations

from pathlib import Path

import anyio

from ...engine.record import Record
from ...runtime.match_id import is_match_id, shard_of
from ..client import Client, ClusterUnreachable, Refusal, connect
from ..exit_codes import ExitCode
from ..operator.ask_cluster import ask_cluster, cluster_unreachable, find_cluster
from ..operator.match_feed import MatchFeed
from ..operator_error import OperatorError
from ..telemetry import structured_logging

__all__ = ["fetch_committed", "fetch_records"]

EPOCHS_TRIED_MAX = 16
"""A match is named by the epoch of its shard when it was created: the current one, or
one before it. Each try is a round trip."""

_ELSEWHEN = ("unknown_match", "match_lost")


def fetch_records(place: Path | str, match: str, epoch: int | None) -> list[Record]:
    """All records of a match that has ended. Without an epoch, it is searched for.

    Raises:
        OperatorError: cluster_unreachable, invalid_match_id, match_running, or what
            else the cluster says.
    """
    _check_id(match)
    try:
        with structured_logging(level="warning"):
            return anyio.run(_fetch, place, match, epoch)
    except ClusterUnreachable as error:
        raise cluster_unreachable(str(error)) from error


def fetch_committed(place: Path | str, match: str) -> list[Record]:
    """The records so far of a match that may still be played, asked as an operator.

    Raises:
        OperatorError: cluster_unreachable, no_owner, invalid_match_id, or what else the
            match's node says.
    """
    _check_id(match)
    return anyio.run(MatchFeed(place, match).fetch)


def _check_id(match: str) -> None:
    if not is_match_id(match):
        raise OperatorError(
            "invalid_match_id",
            f"{match!r} is not the id of a match",
            exit_code=ExitCode.USAGE,
        )


async def _fetch(place: Path | str, match: str, epoch: int | None) -> list[Record]:
    if epoch is not None:
        epochs = range(epoch, epoch - 1, -1)
    else:
        newest = await _current_epoch(place, match)
        epochs = range(newest, max(0, newest - EPOCHS_TRIED_MAX), -1)
    async with connect(place) as client:
        return await _found(client, match, epochs)


async def _found(client: Client, match: str, epochs: range) -> list[Record]:
    refusal: Refusal | None = None
    for epoch in epochs:
        answer = await client.join(match, epoch).log()
        if not isinstance(answer, Refusal):
            return answer
        refusal = answer
        if refusal.code not in _ELSEWHEN:
            break
    if refusal is None:
        raise cluster_unreachable(f"nobody owns the shard of match {match} now")
    hint = ""
    if refusal.code == "match_running":
        hint = (
            "a log holds everybody's secrets: it is given out when the match is over; "
            "--running asks as the cluster's operator"
        )
    raise OperatorError(refusal.code, f"match {match}: {refusal.message}", hint=hint)


async def _current_epoch(place: Path | str, match: str) -> int:
    """The epoch of the match's shard, by what its owner says; 0 if there is none."""
    home = await find_cluster(place)
    shard = str(shard_of(match, home.shards))
    answers = (await ask_cluster(home, "status")).values()
    found = [int(a["epochs"].get(shard, 0)) for a in answers if isinstance(a, dict)]
    return max(found, default=0)
