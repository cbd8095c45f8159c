"""A match's log is read once, while its shard goes from one owner to the next."""

from __future__ import annotations

from itertools import pairwise

import anyio
import pytest

from hotseat.nodes.operator.match_feed import FeedBroken
from hotseat.nodes.operator.until_owned import TAKEOVER_S, until_owned
from hotseat.nodes.operator_error import OperatorError


class Shard:
    """What a feed is told, in turn; in the end for ever."""

    def __init__(self, *said: str | OperatorError) -> None:
        self.said = [*said]
        self.asked_s: list[float] = []

    async def fetch(self) -> str:
        self.asked_s.append(anyio.current_time())
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, OperatorError):
            raise said
        return said


async def test_a_hand_over_is_waited_for(autojump_clock: object) -> None:
    """Each pause is longer than the one before, and none is long."""
    no = [FeedBroken(code, "No.") for code in ("no_owner", "retry", "door_timeout")]
    shard = Shard(*no, *no, "the log")
    assert await until_owned(shard.fetch) == "the log"
    pauses = [after - before for before, after in pairwise(shard.asked_s)]
    assert pauses == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.5, 0.5])


async def test_not_for_ever(autojump_clock: object) -> None:
    """A shard that stays without an owner is told, after so long and no longer."""
    shard = Shard(FeedBroken("no_owner", "No."))
    with pytest.raises(FeedBroken, match="no_owner"):
        await until_owned(shard.fetch)
    assert shard.asked_s[-1] - shard.asked_s[0] == pytest.approx(TAKEOVER_S)


@pytest.mark.parametrize(
    "error",
    [
        FeedBroken("cluster_unreachable", "Nobody."),
        OperatorError("unknown_match", "Never heard of it."),
    ],
)
async def test_what_is_no_hand_over_is_told_at_once(
    error: OperatorError, autojump_clock: object
) -> None:
    """A cluster that is down, and what will not change."""
    shard = Shard(error)
    with pytest.raises(OperatorError, match=error.code):
        await until_owned(shard.fetch)
    assert len(shard.asked_s) == 1
