"""What an author writes, and the mistakes that are found at once."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import (
    DefinitionError,
    Transition,
    create_session,
    define_game,
    event,
    state,
    transition,
)

from .samples import MATCH, accepted


def parts(**changed: Any) -> dict[str, Any]:
    """The arguments of a game that works, some changed."""
    return {
        "name": "test",
        "player_ids": ["0", "1"],
        "events": ["go"],
        "states": {"play": state(active_players=["0", "1"])},
        "initial": "play",
        "setup": lambda ctx: {},
        "transitions": [transition("go", "play", "play")],
        **changed,
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"player_ids": None},
        {"max_players": 2},
        {"player_ids": None, "max_players": 0},
        {"player_ids": None, "max_players": 1.5},
        {"player_ids": None, "max_players": True},
        {"player_ids": []},
        {"player_ids": ["0", "0"]},
        {"player_ids": "01"},
        {"player_ids": [1]},
        {"min_players": 3},
        {"min_players": 0},
        {"name": ""},
        {"events": "go"},
        {"events": {"go": None}},
        {"states": {"play": {"active_players": []}}},
        {"setup": {}},
        {"transitions": [{"event": "go"}]},
        {"transitions": [Transition("go", "play", "play", "resolve")]},  # type: ignore[arg-type]
        {"selectors": {"x": 1}},
        {"views": lambda ctx: {}},
        {"profile": {"wins": 0}},
        {"legal_actions": []},
        {"redact": {}},
    ],
)
def test_a_part_that_no_game_could_have_is_refused(changed: dict[str, Any]) -> None:
    """The mistake is named where it is written."""
    with pytest.raises(DefinitionError) as caught:
        define_game(**parts(**changed))
    assert caught.value.code == "invalid_definition"


def test_a_constant_that_is_not_json_is_refused() -> None:
    """A state's constants are values, checked at once."""
    with pytest.raises(DefinitionError, match="metadata"):
        state(metadata=[{1, 2}])


@pytest.mark.parametrize("payload", ["int", 3])
def test_a_payload_type_that_cannot_be_validated_is_refused(payload: Any) -> None:
    """Not at the first action, but where it is declared."""
    with pytest.raises(DefinitionError, match="payload type"):
        event(payload)


def test_seats_are_numbered_when_only_their_number_is_given() -> None:
    """`max_players=3` gives "0", "1" and "2", all of them needed."""
    game = define_game(**parts(player_ids=None, max_players=3))
    assert game.player_ids == ("0", "1", "2")
    assert game.max_players == game.min_players == 3


def test_a_game_does_not_follow_its_authors_objects() -> None:
    """What the author changes later, the game does not see; nor does it change it."""
    given = parts()
    metadata = [{"key": "k", "value": 1}]
    given["states"] = {"play": state(active_players=["0", "1"], metadata=metadata)}
    game = define_game(**given)
    metadata[0]["value"] = 2
    given["states"].clear()
    given["transitions"].clear()
    given["events"].append("other")
    session = create_session(game, MATCH)
    assert session.snapshot.derived.control_meta.metadata == [{"key": "k", "value": 1}]
    accepted(session.apply("0", "go", now=1))
    assert list(game.events) == ["go"]


@pytest.mark.parametrize("name", ["toString", "__init__", "constructor", "__class__"])
def test_any_name_is_only_a_name(name: str) -> None:
    """Names that mean something to a language mean nothing to the engine."""
    game = define_game(
        **parts(
            events={name: event()},
            states={name: state(active_players=["0", "1"])},
            initial=name,
            transitions=[transition(name, name, name)],
        )
    )
    session = create_session(game, MATCH)
    batch = accepted(session.apply("0", name, now=1))
    assert batch.steps[0].event.event == name
    other = session.apply("0", "__dict__", now=2)
    assert getattr(other, "code", None) == "unknown_event"
