"""Cursors, against a model that holds all frames in a list."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hotseat.engine.replay import (
    Branches,
    Cursor,
    CursorError,
    Frame,
    open_timeline,
    read_envelope,
    read_log_file,
    save_session,
    write_envelope,
    write_log_file,
)

from ..samples import everything
from .matches import SCRIPTS, long_match, played

LONG = long_match(300)


class CursorModel(RuleBasedStateMachine):
    """The same calls on a cursor and on a list of frames."""

    @initialize(
        script=SCRIPTS | st.just(None), form=st.sampled_from(["log", "text", "file"])
    )
    def start(self, script: list[Any] | None, form: str) -> None:
        session = LONG if script is None else played(script)
        source: Any = session.log
        if form == "text":
            source = read_envelope(write_envelope(save_session(session)))
        elif form == "file":
            data = write_log_file(session.log, session.machine)
            source = read_log_file(data).recording()
        self.frames = list(open_timeline(everything(), session.log).frames())
        self.cursor = Cursor(Branches(open_timeline(everything(), source)))
        self.heads = {"main": len(self.frames) - 1}
        self.branch, self.place = "main", 0

    def ids(self, frame: Frame) -> str | None:
        return None if frame.step is None else frame.step.event.action_id

    def moved(self, place: int) -> None:
        self.place = min(place, self.heads[self.branch])

    @rule()
    def undo(self) -> None:
        self.cursor.undo()
        self.moved(max(0, self.place - 1))

    @rule()
    def redo(self) -> None:
        self.cursor.redo()
        self.moved(self.place + 1)

    @rule(revision=st.integers(-2, 400))
    def seek_revision(self, revision: int) -> None:
        self.cursor.seek_revision(revision)
        if 0 <= revision < len(self.frames):
            self.moved(revision)

    @rule(number=st.integers(0, 310))
    def seek_action(self, number: int) -> None:
        self.cursor.seek_action(f"m_{number}")
        of = [i for i, f in enumerate(self.frames) if self.ids(f) == f"m_{number}"]
        self.moved(of[0] if of else 0)

    @rule(turn=st.integers(-1, 80))
    def seek_turn(self, turn: int) -> None:
        self.cursor.seek_turn(turn)
        turns = [frame.snapshot.position.turn for frame in self.frames]
        if turn in turns:
            self.moved(turns.index(turn))

    @rule(name=st.sampled_from("ab"), number=st.integers(0, 310))
    def add_branch(self, name: str, number: int) -> None:
        action = f"m_{number}" if number else None
        of = [i for i, f in enumerate(self.frames) if self.ids(f) == action]
        if name in self.heads or not of:
            with pytest.raises(CursorError):
                self.cursor.branches.add(name, action)
            return
        made = self.cursor.branches.add(name, action)
        assert made.created_at_revision == of[0]
        self.heads[name] = of[-1]

    @rule(name=st.sampled_from(["main", "a", "b"]))
    def set_branch(self, name: str) -> None:
        if name not in self.heads:
            with pytest.raises(CursorError):
                self.cursor.set_branch(name)
            return
        self.cursor.set_branch(name)
        self.branch = name
        self.moved(self.place)

    @invariant()
    def at_the_same_place(self) -> None:
        state = self.cursor.state
        assert (state.branch.branch_id, state.revision) == (self.branch, self.place)
        assert self.cursor.frame.snapshot == self.frames[self.place].snapshot
        assert self.cursor.frame.step == self.frames[self.place].step


CursorModel.TestCase.settings = settings(max_examples=60, stateful_step_count=20)
TestCursorModel = CursorModel.TestCase


@pytest.mark.parametrize("speed", [0, -1, float("nan"), float("inf")])
def test_a_speed_is_positive_and_finite(speed: float) -> None:
    """Another one is refused, and the old one stays."""
    cursor = Cursor(open_timeline(everything(), LONG.log))
    cursor.set_speed(2)
    with pytest.raises(CursorError) as caught:
        cursor.set_speed(speed)
    assert caught.value.code == "invalid_speed"
    assert cursor.state.speed == 2


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_revision_that_is_none_leaves_the_cursor(revision: float) -> None:
    """Fractions, infinities and what is no number lead nowhere."""
    cursor = Cursor(open_timeline(everything(), LONG.log))
    cursor.seek_revision(7)
    after = cursor.seek_revision(revision)
    if not 0 <= revision <= LONG.revision or revision != int(revision):
        assert after.revision == 7


def test_playing_is_a_flag_for_the_clock_of_others() -> None:
    """Moves do not touch it."""
    cursor = Cursor(open_timeline(everything(), LONG.log))
    assert cursor.play().playing
    assert cursor.redo().playing
    assert not cursor.pause().playing
