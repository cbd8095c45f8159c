"""Fetches the log of a match from a cluster."""

from __future__ import annotations

from pathlib import Path

import anyio

from ...engine.record import Record
from ...runtime.match_id import is_match_id
from ..client import ClusterUnreachable, Refusal, connect
from ..exit_codes import ExitCode
from ..operator.ask_cluster import cluster_unreachable, find_cluster
from ..operator.match_feed import MatchFeed
from ..operator.match_search import show_match
from ..operator.until_owned import until_owned
from ..operator_error import OperatorError
from ..telemetry import structured_logging

__all__ = ["fetch_committed", "fetch_records"]


def fetch_records(place: Path | str, match: str, epoch: int | None) -> list[Record]:
    """All records of a match that has ended. `epoch` is the one that it was created in,
    which the nodes know, too.

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

    While nobody owns it, as during a takeover, it is asked for again.

    Raises:
        OperatorError: cluster_unreachable, no_owner, invalid_match_id, or what else the
            match's node says.
    """
    _check_id(match)
    return anyio.run(until_owned, MatchFeed(place, match).fetch)


def _check_id(match: str) -> None:
    if not is_match_id(match):
        raise OperatorError(
            "invalid_match_id",
            f"{match!r} is not the id of a match",
            exit_code=ExitCode.USAGE,
        )


async def _fetch(place: Path | str, match: str, epoch: int | None) -> list[Record]:
    if epoch is None:
        epoch = (await show_match(await find_cluster(place), match)).created_epoch
    async with connect(place) as client:
        answer = await client.join(match, epoch).log()
    if not isinstance(answer, Refusal):
        return answer
    hint = ""
    if answer.code == "match_running":
        hint = (
            "a log holds everybody's secrets: it is given out when the match is over; "
            "--running asks as the cluster's operator"
        )
    raise OperatorError(answer.code, f"match {match}: {answer.message}", hint=hint)
