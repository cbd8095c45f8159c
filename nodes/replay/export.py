"""Fetches the log of a finished match from a cluster."""

from __future__ import annotations

from pathlib import Path

import anyio

from ...engine.record import Record
from ...runtime.match_id import is_match_id, shard_of
from ..ask_door import ask_door
from ..client import Client, ClusterUnreachable, Refusal, connect
from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from ..telemetry import structured_logging

__all__ = ["fetch_records"]

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
    if not is_match_id(match):
        raise OperatorError(
            "invalid_match_id",
            f"{match!r} is not the id of a match",
            exit_code=ExitCode.USAGE,
        )
    try:
        with structured_logging(level="warning"):
            return anyio.run(_fetch, place, match, epoch)
    except ClusterUnreachable as error:
        raise _unreachable(str(error)) from error


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
        raise _unreachable(f"nobody owns the shard of match {match} now")
    hint = ""
    if refusal.code == "match_running":
        hint = "a log holds everybody's secrets: it is given out when the match is over"
    raise OperatorError(refusal.code, f"match {match}: {refusal.message}", hint=hint)


async def _current_epoch(place: Path | str, match: str) -> int:
    """The epoch of the match's shard, by what its owner says; 0 if there is none."""
    if isinstance(place, str):
        identity = await ask_door(place, "identify")
        place = Path(identity["secret_file"]).parent
    home = ClusterDir.load(place)
    shard = str(shard_of(match, home.shards))
    found: list[int] = []

    async def ask(node: str) -> None:
        try:
            said = await ask_door(home.door(node), "status")
        except OperatorError:
            return  # that node is not there now; the owner may be another
        found.append(int(said["epochs"].get(shard, 0)))

    async with anyio.create_task_group() as tasks:
        for node in home.node_names():
            tasks.start_soon(ask, node)
    return max(found, default=0)


def _unreachable(message: str) -> OperatorError:
    return OperatorError(
        "cluster_unreachable",
        message,
        hint="hotseat up --detach starts a cluster; --dir or --cluster names one",
        exit_code=ExitCode.UNREACHABLE,
    )
