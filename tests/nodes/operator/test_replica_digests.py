"""The door's `digests`: every copy of a shard, page by page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from hotseat.nodes.operator import replica_digests
from hotseat.nodes.operator.door import DoorError
from hotseat.nodes.operator.replica_digests import give_digests
from hotseat.runtime.journal import MatchLine

SHARDS = 4


def line(match: str, index: int, *, buried: bool = False) -> MatchLine:
    digest = match.encode() + bytes([index])
    return MatchLine(
        match, 1, 1, "c", "g", "1", ("0",), index, digest, 0, None, False, "", buried
    )


class Lines:
    """A shard's copies, in no order."""

    def __init__(self, *lines: MatchLine) -> None:
        self._lines = lines

    def lines(self, shard: int, *, ended: bool = False) -> Iterable[MatchLine]:
        assert ended
        return self._lines if shard == 1 else ()


def test_every_copy_is_told_with_its_length_and_digest() -> None:
    """In the order of their ids; a buried one has no records."""
    lines = Lines(line("b", 2), line("a", 0), line("c", 9, buried=True))
    assert give_digests(lines, SHARDS, {"shard": 1}) == {
        "copies": [["a", 1, b"a\x00"], ["b", 3, b"b\x02"], ["c", 0, b"c\x09"]],
        "next": "",
    }
    assert give_digests(lines, SHARDS, {"shard": 0}) == {"copies": [], "next": ""}


def test_a_long_shard_is_told_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page says where the next begins."""
    monkeypatch.setattr(replica_digests, "LINES_MAX", 2)
    lines, found, after = Lines(*(line(m, 1) for m in "ecabd")), "", ""
    for _ in range(3):
        page = give_digests(lines, SHARDS, {"shard": 1, "after": after})
        found += "".join(copy[0] for copy in page["copies"])
        after = page["next"]
    assert (found, after) == ("abcde", "")


@pytest.mark.parametrize(
    "asked",
    [{}, {"shard": 4}, {"shard": -1}, {"shard": True}, {"shard": 1, "after": 7}],
)
def test_a_malformed_question_is_refused(asked: dict[str, Any]) -> None:
    """With the code that says so."""
    with pytest.raises(DoorError) as caught:
        give_digests(Lines(), SHARDS, asked)
    assert caught.value.code == "malformed_request"
