"""What is said of a match that is known, and has no actor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from hotseat.engine.record import Record
from hotseat.engine.step import Batch
from hotseat.nodes.supervisor.absent import absence_code, is_behind
from hotseat.runtime.frame import Moved, Sync
from hotseat.runtime.journal import MatchLine
from hotseat.runtime.match_id import match_id, shard_of

from ...runtime.hosting import ALICE
from ...runtime.node_stage import EPOCH, SHARDS, node_stage
from ...runtime.sample_games import race

MATCH = match_id("local", "key")
SHARD = shard_of(MATCH, SHARDS)
LATER = EPOCH + 6

LINE = MatchLine(
    MATCH, SHARD, LATER, "c", "race", "1", ("0", "1"), 9, b"", 0, None, ended=False
)
"""Of a match that comes from a cluster whose shard was in a later epoch."""

BURIED = replace(LINE, ended=True, buried=True)


class Lines:
    """A store of states that has one line, and no state."""

    def __init__(self, line: MatchLine) -> None:
        self._line = line

    def get(self, match: str) -> MatchLine | None:
        return self.line(match)

    def line(self, match: str) -> MatchLine | None:
        return self._line if match == self._line.match else None

    def lines(self, shard: int) -> Iterator[MatchLine]:
        return iter(())

    def records(self, match: str, first: int, bytes_max: int) -> tuple[Record, ...]:
        return ()

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        return ()

    def batches(self, match: str, since: int, records_max: int) -> tuple[Batch, ...]:
        return ()

    def quarantine(self, match: str, code: str) -> None:
        raise AssertionError("nobody sets it apart")

    def bring_back(self, match: str) -> str:
        raise AssertionError("nobody releases it")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (BURIED, "game_over"),
        (replace(LINE, quarantined="internal_error"), "internal_error"),
    ],
)
async def test_an_imported_match_that_cannot_be_had_says_why(
    line: MatchLine, code: str
) -> None:
    """It is of a later epoch than its shard here, and has not moved all the same."""
    async with node_stage(race(), source=Lines(line)) as node:
        assert await node.refused(ALICE, Sync(0, MATCH, LATER)) == code


async def test_another_life_of_the_match_is_elsewhere() -> None:
    """An epoch that is neither the match's nor the shard's: this node is behind."""
    async with node_stage(race(), source=Lines(BURIED)) as node:
        answer = await node.ask(ALICE, Sync(0, MATCH, LATER + 1))
        assert answer == Moved(answer.request, SHARD, EPOCH, "")


def test_a_live_match_that_is_on_its_way_here_is_asked_for_again() -> None:
    """It is known, and not over."""
    assert not is_behind(LINE, LATER, EPOCH)
    assert absence_code(LINE, LATER, EPOCH) == "retry"
