"""The `digests` operation of a node's door: how far its own copies of matches are.

Owner and followers answer alike, each from its own copy of a shard: of every match the
number of its records, and the digest of the last. Copies at rest are equal; the digests
are chained, so equal ends mean equal histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ...runtime.journal import MatchLine
from .door import DoorError

__all__ = ["LINES_MAX", "Copies", "give_digests"]

LINES_MAX = 4096
"""Of a page: a quarter of a megabyte."""


class Copies(Protocol):
    """What is asked of a node's committed matches."""

    def lines(self, shard: int, *, ended: bool = False) -> Iterable[MatchLine]: ...


def give_digests(
    copies: Copies, shards: int, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """The copies of the shard `shard`, in the order of their ids, behind `after`.

    Answers `copies`, a list of [match, records, digest], and `next`: the `after` of
    the next page, or "" if there is none. A match of which only its id is kept has no
    records.

    Raises:
        DoorError: malformed_request.
    """
    shard, after = asked.get("shard"), asked.get("after", "")
    if type(shard) is not int or not 0 <= shard < shards:
        raise DoorError("malformed_request", f"`shard` is not in [0, {shards}).")
    if not isinstance(after, str):
        raise DoorError("malformed_request", "`after` is no id of a match.")
    lines = [line for line in copies.lines(shard, ended=True) if line.match > after]
    lines.sort(key=lambda line: line.match)
    page = lines[:LINES_MAX]
    return {
        "copies": [
            [line.match, 0 if line.buried else line.index + 1, line.digest]
            for line in page
        ],
        "next": page[-1].match if len(lines) > len(page) else "",
    }
