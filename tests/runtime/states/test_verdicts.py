"""A verdict sets a match apart at a node; lifted, it goes on as its log has it."""

from __future__ import annotations

import pytest

from ..sample_games import race, sealed_bid
from .stage import SHARD, Log, Node


def log_of(*moves: int) -> Log:
    """A match `a` in which so much was added."""
    log = Log()
    log.create("a")
    for move in moves:
        log.act("a", move)
    return log


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_lifted_verdict_leaves_no_trace(saved: bool, restarted: bool) -> None:
    """Whether or not it was written meanwhile; records that came are in it."""
    log, node = log_of(1, 2), Node()
    node.follow(log)
    if saved:
        node.checkpoint()
    node.states.quarantine("a", "quarantined")
    assert node.line("a").quarantined == "quarantined"
    log.act("a")
    node.follow(log)
    node.checkpoint()
    if restarted:
        node.restart()
    assert node.line("a").quarantined == "quarantined"
    assert node.states.bring_back("a") == ""
    assert node.state("a").digest == log.states["a"].digest
    node.checkpoint()
    node.restart()
    assert node.state("a").digest == log.states["a"].digest
    log.act("a")
    node.follow(log)
    assert node.state("a").digest == log.states["a"].digest


def test_what_cannot_be_got_back_stays_apart() -> None:
    """The verdict is gone, and the inability is told instead."""
    log, node = log_of(1, 2), Node()
    node.follow(log)
    node.states.quarantine("a", "quarantined")
    node.checkpoint()
    node.restart(sealed_bid())
    assert node.states.bring_back("a") == "missing_game"
    assert node.line("a").quarantined == "missing_game"
    node.restart(race())
    assert node.states.bring_back("a") == ""
    assert node.state("a").digest == log.states["a"].digest


def test_one_that_lacks_records_is_tried_again() -> None:
    """It asks for the owner's copy once more."""
    log, node = log_of(1, 2, 3), Node()
    for entry in (*log.entries[:3], log.entries[4]):
        node.states.apply(SHARD, entry)
    assert node.line("a").quarantined == "log_gap"
    assert node.states.take_wanted() == [(SHARD, "a")]
    assert node.states.bring_back("a") == "log_gap"
    assert node.states.take_wanted() == [(SHARD, "a")]


def test_there_is_nothing_to_lift() -> None:
    """Of a match that goes on, or is not here."""
    log, node = log_of(1), Node()
    node.follow(log)
    before = node.state("a")
    assert node.states.bring_back("a") == ""
    assert node.state("a") is before
    assert node.states.bring_back("b") == ""
    line = node.states.line("a")
    assert line is not None
    assert line.quarantined == ""
