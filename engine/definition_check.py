"""Checks the parts of a definition, each where it is written.

Every message says what was given and what to write instead. What depends on more than
one part is not known here: that is for `validate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .author_function import check_function
from .errors import DefinitionError, InvalidJsonValueError
from .frozen import freeze
from .game import Derivation, Event, State, Transition
from .jsonvalue import Json

if TYPE_CHECKING:
    from .config_schema import ConfigField

__all__ = [
    "seat_pool",
    "fewest_players",
    "event_table",
    "state_table",
    "transition_list",
    "selector_table",
    "config_table",
    "check_edge",
    "derivation",
    "constant",
    "require_kind",
    "require_text",
]

TURN_EFFECTS = ("increment", "preserve")


def seat_pool(
    max_players: int | None, player_ids: Sequence[str] | None
) -> tuple[str, ...]:
    if (max_players is None) == (player_ids is None):
        raise DefinitionError(
            "declare exactly one of max_players (a number) and player_ids (names): "
            'max_players=2, or player_ids=["white", "black"]'
        )
    if player_ids is None:
        if type(max_players) is not int or max_players < 1:
            raise DefinitionError(
                f"max_players must be a positive integer, not {max_players!r}"
            )
        return tuple(map(str, range(max_players)))
    if isinstance(player_ids, str):
        raise DefinitionError(f'player_ids must be a list: ["{player_ids}"]')
    pool = tuple(player_ids)
    for player_id in pool:
        require_text(player_id, "each of player_ids")
    if not pool or len(set(pool)) != len(pool):
        raise DefinitionError("player_ids must be non-empty and without repeats")
    return pool


def fewest_players(min_players: int | None, pool: tuple[str, ...]) -> int:
    if min_players is None:
        return len(pool)
    if type(min_players) is not int or not 1 <= min_players <= len(pool):
        raise DefinitionError(
            f"min_players must be between 1 and {len(pool)}, not {min_players!r}"
        )
    return min_players


def event_table(events: Mapping[str, Event] | Sequence[str]) -> Mapping[str, Event]:
    if isinstance(events, str):
        raise DefinitionError(f'events must be a list or a mapping: ["{events}"]')
    if isinstance(events, Mapping):
        example = '{"take": event(int)}'
        return _mapping_of(events, Event, "events", "event", example)
    names = _list_of(events, "events", '["take", "pass"]')
    for name in names:
        if isinstance(name, Event):
            raise DefinitionError(
                "events must be a mapping where one declares a payload: "
                '{"take": event(int), "pass": event()}'
            )
        require_text(name, "each of events")
    return MappingProxyType({name: Event() for name in names})


def state_table(states: Mapping[str, State]) -> Mapping[str, State]:
    example = '{"play": state(active_players=active_round_robin)}'
    return _mapping_of(states, State, "states", "state", example)


def _mapping_of(
    parts: Mapping[str, Any], kind: type, what: str, maker: str, example: str
) -> Mapping[str, Any]:
    if not isinstance(parts, Mapping):
        raise DefinitionError(
            f"{what} must be a mapping of names to {maker}(...), such as {example}, "
            f"not {type(parts).__name__}"
        )
    for name, part in parts.items():
        require_text(name, f"each name in {what}")
        if not isinstance(part, kind):
            given = part.__name__ if isinstance(part, type) else "..."
            raise DefinitionError(
                f"{what}[{name!r}] must be made by {maker}(...), not "
                f"{type(part).__name__}; write {maker}({given})"
            )
    return MappingProxyType(dict(parts))


def transition_list(transitions: Sequence[Transition]) -> tuple[Transition, ...]:
    example = '[transition("take", "play", "play", take)]'
    edges = _list_of(transitions, "transitions", example)
    for index, edge in enumerate(edges):
        if not isinstance(edge, Transition):
            raise DefinitionError(
                f"transitions[{index}] must be made by transition(...) or "
                f"timeout(...), not {type(edge).__name__}; write {example}"
            )
        if edge.resolve is not None:
            check_function(edge.resolve, f"transitions[{index}].resolve", "ctx")
    return edges


def _list_of(parts: Any, what: str, example: str) -> tuple[Any, ...]:
    """The parts; `Iterable`, so that a set or a generator will do as well."""
    if isinstance(parts, Iterable) and not isinstance(parts, (str, bytes, Mapping)):
        return tuple(parts)
    raise DefinitionError(
        f"{what} must be a list, such as {example}, not {type(parts).__name__}"
    )


def selector_table(
    selectors: Mapping[str, Derivation] | None,
) -> Mapping[str, Derivation]:
    if selectors is not None and not isinstance(selectors, Mapping):
        raise DefinitionError(
            "selectors must be a mapping of names to functions, such as "
            '{"left": lambda ctx: ctx.G["left"]}, '
            f"not {type(selectors).__name__}"
        )
    for name, selector in (selectors or {}).items():
        require_text(name, "each name in selectors")
        check_function(selector, f"selectors[{name!r}]", "ctx")
    return MappingProxyType(dict(selectors or {}))


def config_table(config: Any) -> Mapping[str, ConfigField | Mapping[str, Json]] | None:
    if config is None:
        return None
    if not isinstance(config, Mapping):
        raise DefinitionError(
            'config must be a mapping of names to config_field(...), such as {"rows": '
            f'config_field("number", 6)}}, not {type(config).__name__}'
        )
    return MappingProxyType(dict(config))


def check_edge(source: Any, target: Any, resolve: Any, turn: Any) -> None:
    for place, what in ((source, "source"), (target, "target")):
        if isinstance(place, (list, tuple)):
            raise DefinitionError(
                f"a transition has one {what}, not {place!r}; write one transition for "
                "each, or give these states a parent and name that as the source"
            )
        require_text(place, f"the {what} of a transition")
    if resolve is not None:
        check_function(resolve, "the resolver of a transition", "ctx")
    if turn is not None and turn not in TURN_EFFECTS:
        raise DefinitionError(
            f'the turn of a transition is "increment" or "preserve", not {turn!r}'
        )


def derivation(value: Any, what: str) -> Any:
    """A derivation that takes the context, or a frozen constant."""
    if callable(value):
        check_function(value, what, "ctx")
    return constant(value, what)


def constant(value: Any, what: str) -> Any:
    """A function as it is, anything else frozen."""
    if callable(value):
        return value
    try:
        return freeze(value, label=what)
    except InvalidJsonValueError as error:
        raise DefinitionError(str(error)) from error


def require_kind(part: object, kind: type, what: str, example: str) -> None:
    if part is not None and not isinstance(part, kind):
        raise DefinitionError(
            f"{what} must be made by {what}(...), not {type(part).__name__}; "
            f"write {what}={example}"
        )


def require_text(value: object, what: str) -> None:
    if isinstance(value, str) and value:
        return
    number = isinstance(value, int) and not isinstance(value, bool)
    instead = f'; write "{value}"' if number else ""
    raise DefinitionError(f"{what} must be a non-empty string, not {value!r}{instead}")
