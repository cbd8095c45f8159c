"""The decorator form: the same game as the value form, and mistakes that are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pytest
from msgspec import Struct

from hotseat.engine import (
    DefinitionError,
    GameBuilder,
    create_session,
    define_game,
    event,
    state,
    timeout,
    transition,
    views,
)

from ..typing.authoring import decorator_form, value_form
from .samples import MATCH, accepted


def contents(value: object) -> object:
    """A part of a game as plain values, compared by what it holds."""
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: contents(getattr(value, f.name)) for f in fields(value)}  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return {name: contents(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [contents(part) for part in value]
    return value


def small() -> GameBuilder:
    """A game that works, to be added to."""
    g = GameBuilder("small", max_players=2)
    g.event("go")
    g.state("play", active_players=["0", "1"])
    g.transition("go", "play", "play")

    @g.setup
    def setup(ctx: Any) -> dict[str, int]:
        return {"n": 0}

    return g


def test_both_forms_make_the_same_game() -> None:
    """Part for part, whichever way it was written."""

    def setup(ctx: Any) -> Any:
        return {"n": 0}

    def active(ctx: Any) -> list[str]:
        return ["0"]

    def go(ctx: Any) -> Any:
        return {"G": {"n": 1}}

    def late(ctx: Any) -> Any:
        return {"result": {}}

    def n(ctx: Any) -> int:
        return int(ctx.G["n"])

    def public(ctx: Any) -> Any:
        return ctx.G

    def player(ctx: Any, seat: str) -> Any:
        return ctx.G

    def legal(ctx: Any, seat: str) -> Any:
        return [("go", None)]

    def redact(step: Any, seat: str | None) -> Any:
        return None

    value = define_game(
        name="both",
        version="3",
        player_ids=["white", "black"],
        min_players=1,
        events={"go": event(int, public=True), "rest": event()},
        states={
            "table": state(),
            "play": state(active_players=active, parent="table", deadline=n),
            "over": state(active_players=[]),
        },
        initial="play",
        setup=setup,
        transitions=[
            transition("go", "play", "play", go, turn="increment", label="step"),
            transition("rest", "play", "over"),
            timeout("play", "over", late),
        ],
        selectors={"n": n},
        views=views(public=public, player=player),
        legal_actions=legal,
        redact=redact,
        open_information=True,
    )
    g = GameBuilder(
        "both",
        version="3",
        player_ids=["white", "black"],
        min_players=1,
        open_information=True,
    )
    g.event("go", int, public=True)
    g.event("rest")
    g.state("table")
    assert g.state("play", initial=True, parent="table", deadline=n)(active) is active
    g.state("over", active_players=[])
    assert g.setup(setup) is setup
    assert g.transition("go", "play", "play", turn="increment", label="step")(go) is go
    g.transition("rest", "play", "over")
    assert g.timeout("play", "over")(late) is late
    assert g.selector(n) is n
    assert g.view.public(public) is public
    assert g.view.player(player) is player
    assert g.legal_actions(legal) is legal
    assert g.redact(redact) is redact
    assert contents(g.build()) == contents(value)


def test_the_typed_example_runs_in_both_forms() -> None:
    """What the type checker accepts is a game that plays."""
    for game in (value_form, decorator_form):
        session = create_session(game, MATCH)
        accepted(session.apply("0", "take", {"count": 3}, now=1))
        assert session.player_view("1") == {"left": 18, "myPlayerID": "1"}
        assert session.legal_actions("1")[0] == ("take", {"count": 1})
        assert session.snapshot.derived.selectors == {"left": 18}


def test_a_second_build_gives_the_same_game() -> None:
    """Until something is added; then a new one, and the old one stays as it was."""
    g = small()
    game = g.build()
    assert g.build() is game
    g.event("stop")
    later = g.build()
    assert list(game.events) == ["go"]
    assert list(later.events) == ["go", "stop"]
    g.view.public(lambda ctx: {})
    assert g.build().views is not None
    assert later.views is None


def test_builders_know_nothing_of_each_other() -> None:
    """Nothing is global."""
    one, other = small(), small()
    one.event("only here")
    assert list(other.build().events) == ["go"]


def test_a_match_begins_in_the_first_state_unless_another_is_initial() -> None:
    """The order of declaration is the order of reading."""
    g = GameBuilder("order", max_players=1)
    g.setup(lambda ctx: {})
    g.state("first", active_players=[])
    g.state("second", active_players=[])
    assert g.build().initial == "first"
    g.state("third", active_players=[], initial=True)
    assert g.build().initial == "third"


def test_an_event_may_decorate_the_class_of_its_payload() -> None:
    """The payload then is of that class."""
    g = small()

    @g.event("place", public=True)
    class Place(Struct, frozen=True):
        cell: int

    @g.transition("place", "play", "play")
    def place(ctx: Any) -> Any:
        return {"G": {"n": ctx.event.payload.cell}}

    session = create_session(g.build(), MATCH)
    accepted(session.apply("0", "place", {"cell": 4}, now=1))
    assert session.snapshot.G == {"n": 4}
    assert g.build().events["place"].payload is Place


def test_one_resolver_may_stand_under_several_edges() -> None:
    """Decorators stack, since each gives back the function."""
    g = small()
    g.event("skip")

    @g.transition("go", "play", "play")
    @g.transition("skip", "play", "play")
    def anything(ctx: Any) -> Any:
        return {}

    resolvers = [edge.resolve for edge in g.build().transitions]
    assert resolvers == [None, anything, anything]


Mistake = Callable[[GameBuilder], object]


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda g: g.setup({"n": 0}), "@g.setup must be a function of (ctx)"),
        (lambda g: g.setup(lambda ctx: {}), "@g.setup stands above setup already"),
        (lambda g: g.state(lambda ctx: []), 'write @g.state("play") above'),
        (lambda g: g.state("play"), 'the state "play" is declared already'),
        (lambda g: g.state("over", active_players=[])(lambda ctx: []), "once for each"),
        (lambda g: g.state("over")(lambda: []), '@g.state("over") says who may act'),
        (lambda g: g.event(int), 'write @g.event("take") above int'),
        (lambda g: g.event("go"), 'the event "go" is declared already'),
        (lambda g: g.event("a", int)(int), "has a payload type already"),
        (lambda g: g.transition("go", "play", "play")(lambda: 1), "the resolver under"),
        (lambda g: g.selector(lambda ctx: 1), "a selector needs a name"),
        (lambda g: g.view(lambda ctx: {}), "write @g.view.public above"),
        (lambda g: g.view.public(lambda ctx, seat: {}), "@g.view.public is called"),
        (lambda g: g.view.player(lambda ctx: {}), "@g.view.player is called with"),
        (lambda g: g.legal_actions(lambda ctx: []), "lambda ctx, seat: ..."),
        (lambda g: g.redact(lambda step: 1), "lambda step, seat: ..."),
        (
            lambda g: [g.state("a", initial=True), g.state("b", initial=True)],
            '"a" is the initial state already',
        ),
        (lambda g: GameBuilder("empty", max_players=1).build(), "@g.setup is missing"),
    ],
)
def test_a_mistake_names_the_decorator_and_what_to_write(
    mistake: Mistake, said: str
) -> None:
    """The exception comes from the author's own line."""
    with pytest.raises(DefinitionError) as caught:
        mistake(small())
    assert said in str(caught.value)


def test_a_builder_without_states_says_so() -> None:
    """Setup alone is no game."""
    g = GameBuilder("empty", max_players=1)
    g.setup(lambda ctx: {})
    with pytest.raises(DefinitionError, match=r"@g\.state is missing"):
        g.build()
