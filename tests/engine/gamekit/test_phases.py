"""Phases: who acts, their labels, when time is up; computed values and views."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Game,
    Refusal,
    Session,
    ViewError,
    compile_graph,
    config_field,
    create_session,
    hostable,
    state,
    timeout,
    transition,
    validate,
)
from hotseat.engine import views as core_views
from hotseat.engine.gamekit import (
    MoveContext,
    Outcome,
    PhaseContext,
    TimeoutContext,
    core,
    define_game,
    end_turn,
    enqueue,
    finish,
    goto,
    invalid,
    move,
    phase,
    round_robin,
    stay,
    view,
    views,
)

MATCH = {"players": ["0", "1"]}


def tap(ctx: MoveContext[Any]) -> Outcome:
    return end_turn({"n": ctx.G["n"] + (ctx.args or 1)})


def jump(ctx: MoveContext[str]) -> Outcome:
    return goto(ctx.args)


def small(**more: Any) -> Game:
    parts: dict[str, Any] = {"setup": lambda ctx: {"n": 0}, "moves": [tap, jump]}
    return define_game(name="small", max_players=2, **{**parts, **more})


def timed(on_timeout: Any, **more: Any) -> Session:
    """A match whose first phase has 100 ms from each action."""
    clock = phase(deadline=lambda ctx: ctx.now + 100, on_timeout=on_timeout)
    game = small(phases={"play": clock, "rest": phase()}, turn=round_robin(), **more)
    return create_session(game, MATCH)


def test_phases_come_in_order() -> None:
    """The initial one, then those declared, then those that moves name."""
    moves = {"a": move(tap, phases=["z", "late"]), "b": jump}
    game = small(moves=moves, phases={"x": phase(), "z": phase()}, initial_phase="z")
    names = [node.id for node in compile_graph(game).nodes]
    assert names == ["__gamekit_finished", "z", "x", "late"]
    assert game.initial == "z"
    assert small().initial == "play"


def test_a_move_is_allowed_in_its_phases_alone() -> None:
    """Elsewhere it is refused without a reason, as by any game."""
    game = small(
        moves={"tap": move(tap, phases=["b"]), "jump": jump},
        phases={"a": phase(), "b": phase()},
    )
    session = create_session(game, MATCH)
    answer = session.apply("0", "tap", now=1)
    assert isinstance(answer, Refusal)
    assert answer.code == "invalid_event"
    session.apply("0", "jump", "b", now=2)
    assert isinstance(session.apply("0", "tap", now=3), Batch)


def test_a_phase_says_who_acts_and_what_it_is_called() -> None:
    """From the state and the computed values; else whose turn it is, and its name."""

    def waiting(ctx: PhaseContext) -> list[str]:
        return [seat for seat in ctx.players if seat not in ctx.C["ready"]]

    game = small(
        computed={"ready": lambda ctx: ["1"] if ctx.G["n"] else []},
        phases={
            "play": phase(active_players=waiting, label=lambda ctx: f"n={ctx.G['n']}"),
            "rest": phase(strict_revision=True),
        },
    )
    session = create_session(game, MATCH)
    derived = session.snapshot.derived
    assert (derived.active_players, derived.control_meta.label) == (["0", "1"], "n=0")
    session.apply("1", "tap", now=1)
    derived = session.snapshot.derived
    assert (derived.active_players, derived.control_meta.label) == (["0"], "n=1")
    session.apply("0", "jump", "rest", now=2)
    derived = session.snapshot.derived
    assert (derived.active_players, derived.control_meta.label) == (["1"], "rest")
    assert derived.selectors == {"ready": ["1"], "currentPlayer": "1"}
    assert game.states["rest"].strict_revision


def test_computed_values_are_computed_once_for_a_state() -> None:
    """Whoever asks: label, players, selectors; and moves and views take those."""
    asked: list[int] = []

    def double(ctx: Any) -> int:
        asked.append(ctx.G["n"])
        return int(ctx.G["n"] * 2)

    def look(ctx: MoveContext) -> Outcome:
        return stay({"n": ctx.C["double"] + 1})

    game = small(
        moves=[look],
        computed={"double": double},
        phases={"play": phase(label=lambda ctx: str(ctx.C["double"]))},
        views=views(public=lambda ctx: view.merge({"z": 0}, ctx, "double")),
    )
    session = create_session(game, MATCH)
    asked.clear()
    assert isinstance(session.apply("0", "look", now=1), Batch)
    assert session.public_view() == {"z": 0, "double": 2}
    assert asked == [1]
    assert session.snapshot.derived.control_meta.label == "2"


def test_the_built_in_selector_wins() -> None:
    """A computed value of its name is there for moves and views all the same."""
    game = small(
        computed={"currentPlayer": lambda ctx: "mine"},
        core=core(selectors={"n": lambda ctx: ctx.G}),
        views=views(public=lambda ctx: view.computed(ctx, "currentPlayer")),
    )
    session = create_session(game, MATCH)
    assert session.public_view() == {"currentPlayer": "mine"}
    assert session.snapshot.derived.selectors == {"currentPlayer": "0", "n": {"n": 0}}


def test_a_view_knows_that_the_match_is_over() -> None:
    """What was hidden until then may be shown."""

    def win(ctx: MoveContext) -> Outcome:
        return finish({"winner": ctx.player}) if ctx.G["n"] else stay({"n": 1})

    game = small(moves=[win], views=views(public=lambda ctx: {"over": ctx.over}))
    session = create_session(game, MATCH)
    for over in (False, True):
        session.apply("0", "win", now=1)
        assert session.public_view() == {"over": over}


def test_a_view_that_asks_for_too_much_fails_for_its_seat() -> None:
    """A computed value that does not exist is named."""
    late = views(public=lambda ctx: view.computed(ctx, "gone") if ctx.G["n"] else {})
    session = create_session(small(views=late), MATCH)
    session.apply("0", "tap", now=1)
    with pytest.raises(ViewError) as caught:
        session.public_view()
    assert "gone" in caught.value.fault.message


@pytest.mark.parametrize(
    ("outcome", "place", "turn", "n"),
    [
        (stay({"n": 5}), "play", 1, 5),
        (end_turn({"n": 5}), "play", 2, 5),
        (goto("rest", {"n": 5}), "rest", 1, 5),
        (goto("rest", end_turn=True), "rest", 2, 0),
        (goto("play", end_turn=True), "play", 2, 0),
        (finish({"winner": "1"}, {"n": 5}), "__gamekit_finished", 2, 5),
    ],
)
def test_a_timeout_has_any_outcome(
    outcome: Outcome, place: str, turn: int, n: int
) -> None:
    """A step for the timeout and a step for what came of it, in one batch."""
    session = timed(lambda ctx: outcome)
    assert session.fire_timeout(99) is None
    batch = session.fire_timeout(100)
    assert isinstance(batch, Batch)
    assert [step.kind for step in batch.steps] == ["timeout", "internal"]
    position = session.snapshot.position
    assert (position.name, position.turn) == (place, turn)
    assert session.snapshot.G["n"] == n
    assert (session.result is not None) == (outcome.kind == "finish")


def test_a_timeout_without_an_outcome_changes_nothing() -> None:
    """But it has happened, and the deadline is set anew."""
    session = timed(lambda ctx: None)
    batch = session.fire_timeout(130)
    assert isinstance(batch, Batch)
    assert len(batch.steps) == 1
    assert session.next_deadline == 230
    assert session.snapshot.G["n"] == 0


def test_a_timeout_makes_a_move_for_whose_turn_it_is() -> None:
    """The body runs as if that player had made it; its arguments are typed."""

    def act(ctx: MoveContext[int]) -> Outcome:
        return end_turn({"n": [ctx.player, ctx.args, ctx.rng.int_(1)]})

    def late(ctx: TimeoutContext) -> Outcome:
        assert ctx.player == ctx.turn.current_player == "0"
        return ctx.run(act, 7)

    session = timed(late, moves=[act, tap, jump])
    batch = session.fire_timeout(100)
    assert isinstance(batch, Batch)
    assert session.snapshot.G["n"] == ["0", 7, 0]
    rng = [step.transition.rng for step in batch.steps]
    assert rng[0] is not None
    assert (rng[0].draws, rng[1]) == (1, None)


def test_a_move_that_a_timeout_enqueues_has_no_player() -> None:
    """It can see that; asking for the player all the same is a mistake."""

    def quiet(ctx: MoveContext) -> Outcome:
        return stay({"n": [ctx.player_id]})

    def loud(ctx: MoveContext) -> Outcome:
        return stay({"n": ctx.player})

    moves = [quiet, loud, jump]
    session = timed(lambda ctx: stay(enqueue=[enqueue("quiet")]), moves=moves)
    session.fire_timeout(100)
    assert session.snapshot.G["n"] == [None]
    session = timed(lambda ctx: stay(enqueue=[enqueue("loud")]), moves=moves)
    answer = session.fire_timeout(100)
    assert isinstance(answer, Refusal)
    assert answer.fault is not None
    assert "player_id" in answer.fault.message


def test_a_timeout_that_is_refused_has_not_fired() -> None:
    """Its reason is for the operator; the match stands as it stood."""
    session = timed(lambda ctx: invalid("cannot"))
    before = session.snapshot
    answer = session.fire_timeout(100)
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.reason) == ("invalid_event", "cannot")
    assert session.snapshot is before


def test_a_timeout_may_draft() -> None:
    """The draft is the patch; it cannot take keys away."""

    def late(ctx: TimeoutContext) -> Outcome:
        G = ctx.draft()
        G["n"] = [ctx.player]
        return end_turn(G)

    def worse(ctx: TimeoutContext) -> Outcome:
        G = ctx.draft()
        del G["n"]
        return end_turn(G)

    def lost(ctx: TimeoutContext) -> Outcome:
        ctx.draft()["n"] = 1
        return stay()

    session = timed(late)
    assert isinstance(session.fire_timeout(100), Batch)
    assert session.snapshot.G == {"n": ["0"], "__gamekit": {"result": None}}
    for wrong in (worse, lost):
        answer = timed(wrong).fire_timeout(100)
        assert isinstance(answer, Refusal)
        assert answer.code == "resolver_error"


def test_hosts_want_views() -> None:
    """The G that a local match shows to all is no view."""
    assert hostable(small()) is not None
    own = views(player=lambda ctx, seat: {"myPlayerID": seat})
    assert hostable(small(views=own)) is not None
    assert hostable(small(open_information=True)) is None
    assert hostable(small(views=views(public=lambda ctx: {}))) is None
    assert hostable(small(core=core(views=core_views(public=lambda ctx: {})))) is None


def test_only_a_player_view_leaves_the_public_one_whole() -> None:
    """As in the core, but without what is not the author's."""
    mine = views(player=lambda ctx, seat: {"me": seat, "myPlayerID": seat})
    session = create_session(small(views=mine), MATCH)
    assert session.player_view("1") == {"me": "1", "myPlayerID": "1"}
    assert session.public_view() == {"n": 0}


def test_legal_actions_are_of_moves() -> None:
    """From the context of a phase."""
    game = small(legal_actions=lambda ctx, seat: [("tap", ctx.G["n"] + 1)])
    session = create_session(game, MATCH)
    assert session.legal_actions("0") == [("tap", 1)]
    assert session.legal_actions("1") == []


def test_config_is_in_the_match() -> None:
    """For setup, moves, phases and views."""
    game = small(
        config={"rows": config_field("number", 3)},
        setup=lambda ctx: {"n": ctx.match["config"]["rows"]},
        phases={"play": phase(label=lambda ctx: str(ctx.match["config"]["rows"]))},
    )
    session = create_session(game, {**MATCH, "config": {"rows": 6}})
    assert session.snapshot.G["n"] == 6
    assert session.snapshot.derived.control_meta.label == "6"


def test_the_core_is_open_below() -> None:
    """Transitions, states, selectors and views of the core take part."""
    late = timeout("play", "paused", lambda ctx: {"G": {**ctx.G, "n": 9}})
    under = core(
        transitions=[
            transition("tap", "play", "paused", lambda ctx: ctx.event.payload == 99),
            transition("back", "paused", "play"),
            late,
        ],
        events={"back": small().events["tap"]},
        states={
            "paused": state(
                active_players=lambda ctx: ctx.match["players"],
                label=lambda ctx: f"keys: {', '.join(ctx.G)}",
            )
        },
        selectors={"keys": lambda ctx: list(ctx.G)},
        views=core_views(public=lambda ctx: {"whole": ctx.G}),
    )
    game = small(core=under, phases={"play": phase(deadline=50)})
    assert validate(game, MATCH).ok
    session = create_session(game, MATCH)
    assert session.public_view() == {"whole": {"n": 0}}
    both = session.apply("0", "tap", 99, now=1)
    assert isinstance(both, Refusal)
    assert both.code == "ambiguous_transition"
    assert isinstance(session.fire_timeout(60), Batch)
    assert session.snapshot.derived.control_meta.label == "keys: n"
    assert session.snapshot.derived.selectors["keys"] == ["n"]
    assert isinstance(session.apply("1", "back", now=61), Batch)
    assert session.snapshot.position.name == "play"


def test_the_body_runs_once_beside_transitions_of_the_core() -> None:
    """One family may hold alternatives of a move and others."""
    bodies: list[str] = []

    def go(ctx: MoveContext) -> Outcome:
        bodies.append(ctx.phase)
        return end_turn({"n": ctx.rng.d6()})

    def never(ctx: Any) -> None:
        ctx.rng.d6()

    under = core(transitions=[transition("go", "play", "play", never)])
    session = create_session(small(moves=[go], core=under), MATCH)
    batch = session.apply("0", "go", now=1)
    assert isinstance(batch, Batch)
    assert bodies == ["play"]
    (step,) = batch.steps
    assert [c.matched for c in step.transition.evaluations[0].candidates] == [
        False,
        True,
        False,
        False,
    ]
    assert step.transition.rng is not None
    assert step.transition.rng.draws == 1
