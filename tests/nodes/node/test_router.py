"""Where a request goes."""

from __future__ import annotations

import msgspec
import pytest

from hotseat.nodes.node.router import Answer, Forward, Keep, Router, Wait
from hotseat.runtime.frame import (
    CreateMatch,
    FetchTable,
    Moved,
    Refused,
    ShardEntry,
    Sync,
)
from hotseat.runtime.match_id import match_id, shard_of
from hotseat.runtime.shard_table import ShardTable

SHARDS = 4
MATCH = match_id("local", "key")
SHARD = shard_of(MATCH, SHARDS)
ABOUT_MATCH = Sync(7, MATCH, 1)


def router(owner: str = "", epoch: int = 3) -> Router:
    """The router of n1, told that `owner` owns the match's shard."""
    made = Router("n1", SHARDS)
    table = ShardTable(SHARDS)
    if owner:
        table.apply([ShardEntry(SHARD, owner, epoch)], revision=9)
    made.table_changed(table)
    return made


def test_what_this_node_owns_is_kept() -> None:
    """An own claim that has landed decides, even before the table shows it."""
    at = router(owner="n2")
    at.owned[SHARD] = 4
    assert at.route(ABOUT_MATCH, "local", forwarded=False) == Keep(SHARD)
    assert at.route(ABOUT_MATCH, "local", forwarded=True) == Keep(SHARD)


def test_a_message_for_another_node_is_forwarded_once() -> None:
    """First to the owner; at a second wrong node it is answered `moved`."""
    at = router(owner="n2")
    assert at.route(ABOUT_MATCH, "local", forwarded=False) == Forward(SHARD, 3, "n2")
    assert at.route(ABOUT_MATCH, "local", forwarded=True) == Answer(
        Moved(7, SHARD, 3, "n2")
    )


@pytest.mark.parametrize("forwarded", [True, False])
def test_a_shard_without_owner_waits_for_one(forwarded: bool) -> None:
    """But a node that knows no table yet cannot say that there will be one."""
    verdict = router().route(ABOUT_MATCH, "local", forwarded=forwarded)
    assert verdict == Wait(SHARD)
    starting = Router("n1", SHARDS).route(ABOUT_MATCH, "local", forwarded=forwarded)
    assert isinstance(starting, Answer)
    assert isinstance(starting.frame, Refused)
    assert starting.frame.code == "no_owner"


def test_a_node_does_not_serve_on_the_word_of_an_old_record() -> None:
    """After a restart the record still names this node; its claim must land first."""
    verdict = router(owner="n1").route(ABOUT_MATCH, "local", forwarded=False)
    assert verdict == Wait(SHARD)


def test_a_creation_goes_where_its_match_will_live() -> None:
    """The id, and so the shard, follows from who creates and with which key."""
    create = CreateMatch(1, "key", "nim", "", msgspec.Raw(b"\x80"))
    at = Router("n1", SHARDS)
    assert at.shard(create, "local") == SHARD
    assert at.shard(create, "local") == at.shard(ABOUT_MATCH, "somebody else")


def test_the_table_is_about_no_match() -> None:
    """A programmer's mistake is raised."""
    with pytest.raises(TypeError, match="no match"):
        Router("n1", SHARDS).shard(FetchTable(1), "local")
