"""A hosted match with its log, its players and an operator, without a node."""

from __future__ import annotations

from typing import Any

from hotseat.engine.game import Game
from hotseat.engine.machine import compile_game
from hotseat.engine.record import Record
from hotseat.engine.versions import FindMachine, no_machines
from hotseat.runtime.command import Act, Answer, Edit, TakeBack, TakeSeat, Upgrade
from hotseat.runtime.match import create_match, decide, replay_match
from hotseat.runtime.match_change import Change
from hotseat.runtime.match_state import MatchState

from .sample_games import PLAYERS
from .test_match_machine import TOKENS
from .vault import FIRST

__all__ = ["ANN", "Table"]

ANN = ("ann@desk", "a bug of version 1")


class Table:
    """A hosted match with both seats taken, its log, and an operator."""

    def __init__(self, game: Game = FIRST, known: FindMachine = no_machines) -> None:
        self.machine = compile_game(game)
        self.find = known
        change = create_match(
            self.machine,
            match="m",
            epoch=1,
            creation="c",
            match_input=PLAYERS,
            seed="s",
            now_ms=0,
        )
        self.state: MatchState = change.state
        self.records: list[Record] = [change.record]
        self.change: Change | None = None
        self.last = {"0": 0, "1": 0}
        self.ops = 0
        for seat, token in TOKENS.items():
            self.do(TakeSeat(seat, token))

    def do(self, command: Any, now_ms: int = 0) -> Answer:
        decision = decide(self.state, command, now_ms, self.find)
        self.change = decision.change
        if decision.change is not None:
            self.records.append(decision.change.record)
        self.state = decision.state
        return decision.answer

    def add(self, seat: str, payload: Any = 1, *, now_ms: int = 0) -> Answer:
        self.last[seat] += 1
        return self.do(Act(seat, 1, self.last[seat], "add", payload), now_ms)

    def take_back(self, seat: str, *, now_ms: int = 0) -> Answer:
        self.last[seat] += 1
        return self.do(TakeBack(seat, 1, self.last[seat], "ask"), now_ms)

    def op(self) -> tuple[str, str, str]:
        self.ops += 1
        return f"{self.ops:019x}", *ANN

    def edit(self, *patch: dict[str, Any], **more: Any) -> Answer:
        return self.do(Edit(*self.op(), patch=list(patch), **more))

    def upgrade(self, to: str) -> Answer:
        return self.do(Upgrade(*self.op(), to=to))

    @property
    def G(self) -> Any:
        return self.state.snapshot.G

    def replayed(self) -> MatchState:
        return replay_match(self.machine, self.records, self.find)

    def check(self) -> None:
        """The log alone leads to the state."""
        assert self.replayed() == self.state
