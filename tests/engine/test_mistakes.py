"""Common mistakes of authors: each message says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import (
    DefinitionError,
    InvalidGameError,
    create_session,
    define_game,
    enqueue,
    event,
    profile,
    state,
    timeout,
    transition,
    validate,
    views,
)
from hotseat.engine.validate import hostable

from .samples import MATCH, ask
from .test_definition import parts


class Plain:
    """A class that says nothing about its fields to msgspec."""


async def pause(ctx: Any) -> None:
    """A resolver that would wait."""


def answers(ctx: Any) -> Any:
    """A resolver that yields."""
    yield {}


Mistake = tuple[Callable[[], object], str]

PARTS: list[Mistake] = [
    (lambda: state(active_players="0"), 'list of seats: ["0"]'),
    (lambda: state(active_players=lambda: ["0"]), "write lambda ctx: ..."),  # type: ignore[arg-type,misc]
    (lambda: state(deadline=lambda ctx, seat: 1), "called with (ctx)"),  # type: ignore[arg-type,misc]
    (lambda: state(active_players=[], parent=3), 'parent must be a non-empty'),  # type: ignore[arg-type]
    (lambda: transition("go", "play", "play", lambda: None), "lambda ctx: ..."),  # type: ignore[arg-type,misc]
    (lambda: transition("go", "play", "play", "take"), "name of a function"),  # type: ignore[arg-type]
    (lambda: transition("go", "play", "play", pause), "not async"),
    (lambda: transition("go", "play", "play", answers), "not yield"),
    (lambda: transition("go", ["a", "b"], "play"), "one transition for each"),  # type: ignore[arg-type]
    (lambda: transition(event(), "play", "play"), "the event of a transition"),  # type: ignore[arg-type]
    (lambda: transition("go", "play", "play", turn="next"), '"increment"'),
    (lambda: timeout("play", "over", lambda: None), "lambda ctx: ..."),  # type: ignore[arg-type,misc]
    (lambda: views(public=lambda: {}), "views.public is called with (ctx)"),  # type: ignore[arg-type,misc]
    (lambda: views(player=lambda ctx: {}), "lambda ctx, seat: ..."),  # type: ignore[arg-type,misc]
    (lambda: event("int"), "give a type such as int"),
    (lambda: event(Plain), "class Place(msgspec.Struct)"),
    (lambda: profile({}, parse=lambda: 1), "called with (data)"),  # type: ignore[arg-type,misc]
]  # fmt: skip

GAMES: list[tuple[dict[str, Any], str]] = [
    ({"player_ids": None}, 'max_players=2, or player_ids=["white", "black"]'),
    ({"player_ids": "01"}, 'player_ids must be a list: ["01"]'),
    ({"version": 2}, 'write "2"'),
    ({"initial": None}, "initial must be a non-empty string"),
    ({"events": "go"}, 'a list or a mapping: ["go"]'),
    ({"events": {"go": int}}, "write event(int)"),
    ({"events": [event(int)]}, '"take": event(int)'),
    ({"states": [state(active_players=[])]}, "a mapping of names to state(...)"),
    ({"states": {"play": []}}, "write state(...)"),
    ({"setup": {"left": 21}}, "setup must be a function of (ctx)"),
    ({"setup": lambda: {}}, "write lambda ctx: ..."),
    ({"transitions": transition("go", "play", "play")}, "must be a list"),
    ({"transitions": {"go": "play"}}, "must be a list, such as [transition("),
    ({"transitions": [("go", "play", "play")]}, "must be made by transition(...)"),
    ({"selectors": [lambda ctx: 1]}, "a mapping of names to functions"),
    ({"selectors": {"left": 3}}, "selectors['left'] must be a function of (ctx)"),
    ({"views": lambda ctx: {}}, "write views=views(public=lambda ctx: ...)"),
    ({"profile": {"wins": 0}}, "write profile=profile(default)"),
    ({"config": ["rows"]}, 'config_field("number", 6)'),
    ({"legal_actions": lambda ctx: []}, "lambda ctx, seat: ..."),
    ({"redact": lambda step: step}, "lambda step, seat: ..."),
]


@pytest.mark.parametrize(("mistake", "said"), PARTS)
def test_a_mistake_in_a_part_is_named_where_it_is_written(
    mistake: Callable[[], object], said: str
) -> None:
    """The exception comes from the author's own line, and says what to write."""
    with pytest.raises(DefinitionError) as caught:
        mistake()
    assert said in str(caught.value)


@pytest.mark.parametrize(("changed", "said"), GAMES)
def test_a_mistake_in_a_game_says_what_to_write(
    changed: dict[str, Any], said: str
) -> None:
    """No message only says what is wrong."""
    with pytest.raises(DefinitionError) as caught:
        define_game(**parts(**changed))
    assert said in str(caught.value)


def test_functions_that_take_more_than_they_must_are_fine() -> None:
    """Defaults, star arguments, methods and partials can all be called with a ctx."""

    def label(ctx: Any, *more: Any) -> str:
        return "label"

    def go(ctx: Any, rows: int = 3) -> Any:
        return {"G": {"rows": rows}}

    class Rules:
        def active(self, ctx: Any) -> list[str]:
            return ["0"]

    state(active_players=Rules().active)
    state(label=label)
    transition("go", "play", "play", go)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"initial": "pley"}, 'Did you mean "play"?'),
        ({"transitions": [transition("go", "PLAY", "play")]}, 'Did you mean "play"?'),
        ({"transitions": [transition("go", "play", "plya")]}, 'Did you mean "play"?'),
        ({"transitions": [transition("go", "play", "moon")]}, 'The states are "play".'),
        ({"transitions": [transition("goo", "play", "play")]}, 'Did you mean "go"?'),
        ({"transitions": [transition("take", "play", "play")]}, '"take": event(...)'),
        ({"states": {"play": state()}}, "active_players=[] where nobody may"),
        (
            {"states": {"play": state(active_players=["2"])}},
            'The players of this match are "0", "1".',
        ),
    ],
)
def test_a_misspelt_name_is_told_with_the_one_that_was_meant(
    changed: dict[str, Any], said: str
) -> None:
    """The report's hint says it, and so does the error of a session."""
    game = define_game(**parts(**changed))
    hints = [finding.hint or "" for finding in validate(game, MATCH).errors]
    assert any(said in hint for hint in hints)
    with pytest.raises(InvalidGameError) as caught:
        create_session(game, MATCH)
    assert said in str(caught.value)


def test_a_queued_event_that_is_not_declared_is_told_with_the_one_meant() -> None:
    """A refusal, since it is the resolver's answer; its message names the event."""
    refusal = ask(lambda ctx: {"enqueue": [enqueue("goo")]})
    assert refusal.code == "invalid_transition_result"
    assert 'Did you mean "go"?' in refusal.message


def test_a_game_without_views_is_told_what_to_declare() -> None:
    """Nobody shows the whole of G by forgetting to say what may be seen."""
    problem = hostable(define_game(**parts()))
    assert problem is not None
    assert "open_information=True" in (problem.hint or "")
