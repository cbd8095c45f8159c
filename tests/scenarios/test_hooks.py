"""Scenarios of turns and hooks: what one event sets off, and how often turns change.

Entering a phase queues an internal event, which stands for the phase's entry hook.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Game,
    Refusal,
    Session,
    active_round_robin,
    compile_game,
    create_session,
    define_game,
    enqueue,
    hostable,
    state,
    transition,
    validate,
    views,
)
from hotseat.engine.limits import INTERNAL_EVENTS_MAX
from hotseat.nodes.games import GameError, load_game
from hotseat.runtime.command import Act, Applied, Denied, SeatHeld, TakeSeat
from hotseat.runtime.match import create_match, decide

PLAYERS = {"players": ["0", "1"]}


def phases(*transitions: Any) -> Game:
    """Phases in which whose turn it is may act; "enter" is their entry event."""
    names = dict.fromkeys(name for t in transitions for name in (t.source, t.target))
    return define_game(
        name="phases",
        max_players=2,
        events=["go", "end_turn", "enter"],
        initial="start",
        setup=lambda ctx: {"entered": [], "left": 2},
        states={name: state(active_players=active_round_robin) for name in names},
        transitions=transitions,
        views=views(public=lambda ctx: ctx.G),
    )


def entering(*, turn: str | None = None, then: bool = False) -> Any:
    """A hook that notes its phase; with `then`, it sets off the next one's."""

    def resolve(ctx: Any) -> Any:
        noted = {**ctx.G, "entered": [*ctx.G["entered"], ctx.position.name]}
        result = {"G": noted, "enqueue": [enqueue("enter")] if then else []}
        return result if turn is None else {**result, "turn": turn}

    return resolve


def begin(ctx: Any) -> Any:
    return {"enqueue": [enqueue("enter")]}


def acted(session: Session, seat: str, event: str) -> Batch:
    answer = session.apply(seat, event, now=session.snapshot.meta.now + 1)
    assert isinstance(answer, Batch), answer
    return answer


def test_b17_hooks_that_enter_each_other_are_stopped_at_a_bound() -> None:
    """B17: the error names the cycle, and the match stays at its last good revision."""
    session = create_session(
        phases(
            transition("go", "start", "P1", begin),
            transition("enter", "P1", "P2", entering(then=True)),
            transition("enter", "P2", "P1", entering(then=True)),
            transition("end_turn", "start", "start", turn="increment"),
        ),
        PLAYERS,
    )
    acted(session, "0", "end_turn")
    before = (session.snapshot, session.revision, session.digest, len(session.log))
    refusal = session.apply("1", "go", now=9)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "queue_overflow"
    assert str(INTERNAL_EVENTS_MAX) in refusal.message
    assert refusal.details is not None
    assert refusal.details["limit"] == INTERNAL_EVENTS_MAX
    assert refusal.details["cycle"] == ["enter", "enter"]
    assert sorted(refusal.details["states"]) == ["P1", "P2"]
    for hop in ("enter (in P1)", "enter (in P2)"):
        assert hop in refusal.message
    after = (session.snapshot, session.revision, session.digest, len(session.log))
    assert before == after
    acted(session, "1", "end_turn")


def test_b18_an_entry_hook_may_end_the_turn_at_once() -> None:
    """B18: the turn passes in the same batch, once, and the next player may act."""
    session = create_session(
        phases(
            transition("go", "start", "P1", begin),
            transition("enter", "P1", "P2", entering(turn="increment")),
            transition("end_turn", "P2", "start", turn="increment"),
        ),
        PLAYERS,
    )
    batch = acted(session, "0", "go")
    assert [step.transition.turn for step in batch.steps] == ["preserve", "increment"]
    assert batch.snapshot.position.name == "P2"
    assert batch.snapshot.position.turn == 2
    assert batch.snapshot.derived.active_players == ["1"]
    assert batch.snapshot.G["entered"] == ["P1"]
    refused = session.apply("0", "end_turn", now=5)
    assert isinstance(refused, Refusal)
    assert refused.code == "inactive_player"
    acted(session, "1", "end_turn")


@pytest.mark.parametrize("hook", [False, True])
def test_b19_the_last_move_of_a_phase_changes_the_seat_once(hook: bool) -> None:
    """B19: the move that ends both the turn and the phase moves the turn by one."""

    def stay(ctx: Any) -> Any:
        left = ctx.G["left"] - 1
        return {"G": {**ctx.G, "left": left}} if left else None

    def leave(ctx: Any) -> Any:
        left = ctx.G["left"] - 1
        if left:
            return None
        return {"G": {**ctx.G, "left": 2}, "enqueue": [enqueue("enter")] * hook}

    session = create_session(
        phases(
            transition("go", "start", "start", stay, turn="increment"),
            transition("go", "start", "P1", leave, turn="increment"),
            transition("enter", "P1", "P1", entering()),
            transition("go", "P1", "P2", turn="increment"),
        ),
        PLAYERS,
    )
    seats = ["0", "1", "0"]
    for turn, seat in enumerate(seats, start=1):
        assert session.snapshot.position.turn == turn
        assert session.snapshot.derived.active_players == [seat]
        acted(session, seat, "go")
    assert session.snapshot.position.name == "P2"
    assert session.snapshot.G["entered"] == ["P1"] * hook


def test_b04_a_double_click_does_not_skip_the_others_turn() -> None:
    """B04: of two `end_turn` that expect one revision, the second is stale."""
    machine = compile_game(
        phases(
            transition("end_turn", "start", "P1", turn="increment"),
            transition("end_turn", "P1", "P2", turn="increment"),
            transition("end_turn", "P2", "P1", turn="increment"),
        )
    )
    table = create_match(
        machine,
        match="m",
        epoch=1,
        creation="created",
        match_input=PLAYERS,
        seed="seed",
        now_ms=0,
    ).state
    for seat in ("0", "1"):
        sat = decide(table, TakeSeat(seat, drawn=seat * 32), 1)
        assert isinstance(sat.answer, SeatHeld)
        table = sat.state
    seen = table.snapshot.revision
    first = decide(table, Act("0", 1, 1, "end_turn", None, seen), 2)
    assert isinstance(first.answer, Applied)
    table = first.state
    second = decide(table, Act("0", 1, 2, "end_turn", None, seen), 3)
    assert isinstance(second.answer, Denied)
    assert second.answer.refusal.code == "stale_revision"
    assert second.state is table
    assert table.snapshot.derived.active_players == ["1"]
    # who is to move now is held to what they have seen, too
    third = decide(table, Act("1", 1, 1, "end_turn", None, seen), 4)
    assert isinstance(third.answer, Denied)
    assert third.answer.refusal.code == "stale_revision"
    fresh = table.snapshot.revision
    assert isinstance(
        decide(table, Act("1", 1, 2, "end_turn", None, fresh), 5).answer, Applied
    )


HIDDEN = """
from hotseat.engine import *

def rules(**parts):
    return define_game(
        name="hidden", max_players=2, events=["go"], initial="play",
        setup=lambda ctx: {"secret": 7},
        states={"play": state(active_players=["0"])},
        transitions=[transition("go", "play", "play")], **parts,
    )

undeclared = rules()
empty = rules(views=views())
declared = rules(views=views(public=lambda ctx: {}))
opened = rules(open_information=True)
"""


def test_b44_a_game_without_views_is_refused_at_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B44: no host takes it, unless it says that there is nothing to hide."""
    (tmp_path / "b44_games.py").write_text(HIDDEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("undeclared", "empty"):
        with pytest.raises(GameError) as caught:
            load_game(f"b44_games:{name}")
        assert caught.value.code == "not_hostable"
        assert "open_information=True" in str(caught.value)
    opened, declared = load_game("b44_games:opened"), load_game("b44_games:declared")
    assert hostable(opened) is None
    assert validate(opened, PLAYERS).ok
    # declared views are all that a seat gets, never the whole of G
    session = create_session(declared, PLAYERS)
    assert session.player_view("0") == session.public_view() == {}
    shown = create_session(opened, PLAYERS)
    assert shown.player_view("1") == {"secret": 7}
