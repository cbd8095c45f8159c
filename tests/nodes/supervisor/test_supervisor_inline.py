"""The supervisor without tasks: driven step by step, as a simulation does."""

from __future__ import annotations

import itertools

from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.frame import (
    Accepted,
    Created,
    Refused,
    Request,
    Response,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.games import StaticGames
from hotseat.runtime.route import Route

from ...runtime.hosting import ALICE, BOB, TOKEN_A, TOKEN_B, HeldClock, KeptOutlet
from ...runtime.hosting import dispatch as act
from ...runtime.node_stage import create_frame
from ...runtime.sample_games import TURN_MS, clock, race


class Inline:
    """A supervisor whose every step is a call."""

    def __init__(self) -> None:
        self.outlet, self.clock = KeptOutlet(), HeldClock()
        numbers = itertools.count()
        self.supervisor = Supervisor(
            StaticGames([race(), clock()]),
            self.outlet,
            None,
            self.clock,
            lambda size: next(numbers).to_bytes(size, "big"),
            shards=1,
        )
        self.supervisor.adopt(0, 1)

    def tell(self, *requests: tuple[Route, Request]) -> list[Response]:
        self.supervisor.handle_batch(requests)
        return [frame for _, frame in self.outlet.take()]

    def seated(self, game: str) -> str:
        [created] = self.tell((ALICE, create_frame(game)))
        assert isinstance(created, Created)
        self.tell((ALICE, TakeSeat(1, created.match, 1, "0", TOKEN_A)))
        self.tell((BOB, TakeSeat(1, created.match, 1, "1", TOKEN_B)))
        return created.match


def test_a_batch_is_worked_before_it_returns() -> None:
    """Answers and views are out when `handle_batch` returns; no loop is running."""
    node = Inline()
    match = node.seated("race")
    frames = node.tell((ALICE, act(5, match, "0", 1, "keep")), (BOB, Sync(6, match, 1)))
    kinds = {type(frame) for frame in frames}
    assert kinds == {Accepted, ViewUpdate}
    assert isinstance(frames[0], Accepted)


def test_deadlines_fire_by_tick() -> None:
    """`next_due_ms` names the deadline; `tick` fires it, and once only."""
    node = Inline()
    match = node.seated("clock")
    assert node.supervisor.next_due_ms() == TURN_MS
    node.tell((BOB, Sync(7, match, 1)))
    node.clock.ms = TURN_MS - 1
    node.supervisor.tick(node.clock.ms)
    assert node.outlet.take() == []
    node.clock.ms = TURN_MS
    node.supervisor.tick(node.clock.ms)
    assert isinstance(node.outlet.only(ViewUpdate), ViewUpdate)
    node.supervisor.tick(node.clock.ms)
    assert node.outlet.take() == []


def test_a_closed_supervisor_starts_nothing() -> None:
    """After `close` a creation is answered `stopping`."""
    node = Inline()
    node.supervisor.close()
    [answer] = node.tell((ALICE, create_frame("race")))
    assert isinstance(answer, Refused)
    assert answer.code == "stopping"
