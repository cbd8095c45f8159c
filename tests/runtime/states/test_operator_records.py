"""Operators' records at the nodes that hold a match: all come to the same state."""

from __future__ import annotations

import msgspec
import pytest

from hotseat.runtime.command import Edit, ResignSeat, Terminate, Upgrade
from hotseat.runtime.errors import FormatTooNew
from hotseat.runtime.match_codec import STATE_FORMAT, pack_state
from hotseat.runtime.record_codec import pack_record
from hotseat.runtime.sealed import unseal

from ..vault import FIRST, SECOND
from .stage import SHARD, Log, Node, digests, same

EDIT = [{"op": "replace", "path": "/total", "value": 40}]


def edited() -> Log:
    """Played, edited, undone, edited again, played."""
    log = Log(FIRST, SHARD, SECOND)
    log.create("a")
    log.act("a")
    log.decide("a", Edit("1", "ann", "", EDIT))
    log.decide("a", Edit("2", "ann", "", undo=True))
    log.decide("a", Edit("3", "ann", "", EDIT))
    log.act("a")
    return log


def upgraded() -> Log:
    """As `edited`; then it goes on under the second version."""
    log = edited()
    log.decide("a", Upgrade("4", "ann", "", "2"))
    log.act("a")
    return log


@pytest.mark.parametrize("end", [Terminate, ResignSeat])
def test_a_follower_and_a_learner_come_to_the_owners_state(end: type) -> None:
    """By the records, and by the state as it is sent; after a restart too."""
    log = upgraded()
    log.decide("a", end("5", "ann", "", *("0" for _ in range(end is ResignSeat))))
    owner, follower, learner = (Node(FIRST, SECOND) for _ in range(3))
    owner.own(log)
    follower.follow(log)
    owner.feed(learner)
    for node in (owner, follower, learner):
        assert same(node.state("a"), log.states["a"])
        assert node.state("a").machine.game is SECOND
        assert node.digests("a") == digests(log, "a")
        node.checkpoint()
        node.restart()
        assert same(node.state("a"), log.states["a"])
        assert node.codes() == []


def test_what_was_done_is_remembered_through_every_trip() -> None:
    """The ids of commands and the way back are part of the state."""
    log = upgraded()
    node = Node(FIRST, SECOND)
    node.follow(log)
    node.checkpoint()
    node.pass_time(3_600)
    assert node.states.statistics().hot == 0
    known = node.state("a").interventions
    assert known == log.states["a"].interventions
    assert [done.op for done in known.ops] == ["1", "2", "3", "4"]
    assert known.left == ("1",)


def test_a_node_without_the_new_version_sets_the_match_apart_until_it_has_it() -> None:
    """Nothing is lost; its line says which version it goes on under, once it can."""
    log = upgraded()
    node = Node(FIRST)
    node.follow(log)
    line = node.line("a")
    assert line.quarantined == "missing_game"
    assert node.codes() == ["missing_game"]
    assert ("vault", "2") in node.states.games()[SHARD]
    wakes = node.states.statistics().wake_failures
    node.pass_time(600)
    assert node.states.statistics().wake_failures == wakes
    node.checkpoint()
    node.restart(FIRST, SECOND)
    assert same(node.state("a"), log.states["a"])
    line = next(node.states.lines(SHARD))
    assert (line.game, line.version, line.quarantined) == ("vault", "2", "")


def test_the_games_of_a_shard_are_those_its_matches_go_on_under() -> None:
    """Who is to hold the shard needs the new version, and the old one no longer."""
    log = upgraded()
    node = Node(FIRST, SECOND)
    node.follow(log)
    assert node.states.games() == {SHARD: {("vault", "2")}}
    node.checkpoint()
    node.pass_time(3_600)
    assert node.states.games() == {SHARD: {("vault", "2")}}


def test_states_are_written_as_before_until_an_operator_did_something() -> None:
    """An older version reads them; the others it refuses by their format."""
    log = Log(FIRST)
    log.create("a")
    plain = pack_state(log.states["a"])
    assert unseal(plain, 1, "a state")[0] == 1
    touched = pack_state(edited().states["a"])
    assert unseal(touched, STATE_FORMAT, "a state")[0] == STATE_FORMAT == 2
    with pytest.raises(FormatTooNew):
        unseal(touched, 1, "a state")


def test_a_forged_effect_is_no_state_of_the_match() -> None:
    """A follower whose edit leads elsewhere than the log says sets the match apart."""
    log = edited()
    entry = log.entries[4]
    node = Node(FIRST)
    for each in log.entries[:4]:
        node.states.apply(SHARD, each)
    other = Log(FIRST)
    other.create("a")
    other.act("a")
    other.decide("a", Edit("1", "ann", "", [{**EDIT[0], "value": 41}]))
    assert other.entries[4].index == entry.index
    forged = msgspec.structs.replace(other.changes[4].record, digest=bytes(16))
    packed = msgspec.Raw(pack_record(forged))
    node.states.apply(SHARD, msgspec.structs.replace(entry, record=packed))
    assert node.line("a").quarantined == "divergent"
