"""What a match starts from: seats, host, configuration, and everything kept."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import (
    DefinitionError,
    FDict,
    Game,
    InvalidMatchError,
    config_field,
    define_game,
    state,
    transition,
)
from hotseat.engine.config_schema import complete_config, read_config_field
from hotseat.engine.match_input import normalize_match_input

SCHEMA: dict[str, Any] = {
    "rounds": config_field("number", 3, min=1, max=9),
    "hard": {"type": "boolean", "default": False, "label": "Hard"},
    "mode": {"type": "enum", "options": ["a", "b"], "default": "a"},
}


def game(**parts: Any) -> Game:
    return define_game(
        name="seats",
        max_players=3,
        min_players=parts.pop("min_players", 1),
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: None,
        transitions=[transition("go", "play", "play")],
        **parts,
    )


def code_of(match: object, **parts: Any) -> str:
    with pytest.raises(InvalidMatchError) as caught:
        normalize_match_input(game(**parts), match)
    return caught.value.code


def test_match_is_completed_and_frozen() -> None:
    """The host is always named, if only as null; what else was given is kept."""
    given = {"players": ["0", "2"], "data": {"a": [1, 2]}, "other": "kept"}
    match = normalize_match_input(game(), given)
    assert match == {**given, "hostPlayerID": None}
    assert isinstance(match, FDict)
    assert normalize_match_input(game(), match) == match


@pytest.mark.parametrize(
    ("match", "code"),
    [
        (None, "invalid_match"),
        ([], "invalid_match"),
        ({}, "invalid_match"),
        ({"players": "012"}, "invalid_match"),
        ({"players": []}, "too_few_players"),
        ({"players": ["0", "0"]}, "duplicate_player"),
        ({"players": ["0", "9"]}, "unknown_player"),
        ({"players": ["0", None]}, "unknown_player"),
        ({"players": ["0", "1"], "data": float("nan")}, "invalid_match"),
        ({"players": ["0", "1"], "data": object()}, "invalid_match"),
        ({"players": ["0", "1"], "hostPlayerID": "2"}, "invalid_host_player"),
        ({"players": ["0"], "hostPlayerID": "0"}, "single_player_host_set"),
        ({"players": ["0", "1"], "config": {}}, "unexpected_config"),
        ({"players": ["0", "1"], "config": None}, "unexpected_config"),
    ],
)
def test_wrong_match_is_refused(match: object, code: str) -> None:
    """Each mistake has its code."""
    assert code_of(match) == code


def test_fewer_players_than_the_game_needs() -> None:
    """`min_players` holds, and the message says how many are missing."""
    with pytest.raises(InvalidMatchError, match="1 of at least 2"):
        normalize_match_input(game(min_players=2), {"players": ["0"]})


def test_host_is_kept() -> None:
    """A seated player may host."""
    match = normalize_match_input(game(), {"players": ["0", "1"], "hostPlayerID": "1"})
    assert match["hostPlayerID"] == "1"


def test_config_is_completed_with_defaults() -> None:
    """What was given stays, the rest comes from the schema."""
    match = normalize_match_input(
        game(config=SCHEMA), {"players": ["0"], "config": {"rounds": 5.0}}
    )
    assert match["config"] == {"rounds": 5, "hard": False, "mode": "a"}
    assert isinstance(match["config"], FDict)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"rounds": 0}, "invalid_config_value"),
        ({"rounds": 10}, "invalid_config_value"),
        ({"rounds": "3"}, "invalid_config_value"),
        ({"rounds": True}, "invalid_config_value"),
        ({"rounds": None}, "invalid_config_value"),
        ({"hard": 0}, "invalid_config_value"),
        ({"mode": "c"}, "invalid_config_value"),
        ({"mode": 1}, "invalid_config_value"),
        ({"zzz": 1}, "unknown_config_key"),
        (None, "invalid_config_value"),
        ([], "invalid_config_value"),
    ],
)
def test_wrong_config_is_refused(config: object, code: str) -> None:
    """A value must have its field's type and lie within its bounds."""
    assert code_of({"players": ["0"], "config": config}, config=SCHEMA) == code


def test_wrong_default_is_found_when_a_match_starts() -> None:
    """A default is judged like a value."""
    schema = {"r": config_field("number", 0, min=1)}
    assert code_of({"players": ["0"]}, config=schema) == "invalid_config_value"


@pytest.mark.parametrize(
    "field",
    [
        {"type": "text", "default": ""},
        {"type": "enum", "default": "a"},
        {"type": "number"},
        {"default": 1},
        7,
    ],
)
def test_field_that_is_none_is_the_authors_mistake(field: Any) -> None:
    """A schema is checked where it is written or first read."""
    with pytest.raises(DefinitionError):
        read_config_field(field)


def test_no_schema_no_config() -> None:
    """A game without a schema has no configuration at all."""
    assert complete_config(None, None, present=False) is None
