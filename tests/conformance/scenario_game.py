"""Builds a hotseat game from its description in the vector files' little language.

The language says `playerIDs` and `activePlayers`; hotseat says `player_ids` and
`active_players`. This file is the only place where the one becomes the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hotseat.engine.config_schema import ConfigField
from hotseat.engine.definition import (
    Game,
    Profile,
    State,
    Transition,
    Views,
    define_game,
    profile,
    reject,
    state,
    views,
)

from .encode import derived_json, match_json, plain, position_json, turn_json
from .language import (
    UNDEFINED,
    Scope,
    ScriptReject,
    evaluate,
    has_operator,
    javascript_keys,
    run,
)

__all__ = [
    "build_game",
    "read_config",
    "read_profile",
    "read_selector",
    "read_state",
    "read_transition",
    "read_views",
]


def build_game(spec: Mapping[str, Any], *, name: str = "scenario") -> Game:
    """The game of a case.

    Raises:
        EngineError: The engine refuses the definition.
    """
    pool = spec.get("playerIDs")
    states, selectors = spec["states"], spec.get("selectors") or {}
    return define_game(
        name=name,
        player_ids=pool,
        # the reference lets the names win when both are given; hotseat wants one
        max_players=None if pool is not None else spec.get("maxPlayers"),
        min_players=spec.get("minPlayers"),
        events=spec["events"],
        states={key: read_state(states[key]) for key in javascript_keys(states)},
        initial=spec["initial"],
        setup=_setup(spec.get("setup")),
        transitions=[read_transition(edge) for edge in spec["transitions"]],
        selectors={
            key: read_selector(selectors[key]) for key in javascript_keys(selectors)
        },
        views=read_views(spec.get("views")),
        profile=read_profile(spec.get("profile")),
        config=read_config(spec.get("config")),
    )


def read_state(spec: Mapping[str, Any]) -> State:
    declared = {
        ours: _constant_or_derivation(spec[theirs])
        for theirs, ours in (
            ("activePlayers", "active_players"),
            ("control", "control"),
            ("label", "label"),
            ("metadata", "metadata"),
            ("deadline", "deadline"),
        )
        if theirs in spec
    }
    return state(parent=spec.get("parent"), **declared)


def read_transition(spec: Mapping[str, Any]) -> Transition:
    # not through transition() and timeout(): a case may be both at once
    return Transition(
        event=spec.get("event"),
        source=spec["from"],
        target=spec["to"],
        resolve=_resolver(spec),
        label=spec.get("label"),
        turn=spec.get("turn"),
        kind="timeout" if spec.get("kind") == "timeout" else "event",
    )


def _resolver(spec: Mapping[str, Any]) -> Callable[[Any], object] | None:
    body = spec.get("resolve")
    if body is None:
        return None

    def resolve(ctx: Any) -> object:
        answer = run(body, _resolver_scope(ctx))
        if isinstance(answer, ScriptReject):
            given = answer.given
            return reject(given.get("reason"), given.get("details"))
        return answer

    resolve.__name__ = spec.get("resolver_name", "resolve") or "<lambda>"
    return resolve


def _setup(expression: Any) -> Callable[[Any], Any]:
    return lambda ctx: evaluate(
        expression, {"match": match_json(ctx.match), "now": ctx.now, "seed": ctx.seed}
    )


def _constant_or_derivation(expression: Any) -> Any:
    return _derivation(expression) if has_operator(expression) else expression


def _derivation(expression: Any) -> Callable[[Any], Any]:
    def derive(ctx: Any) -> Any:
        value = evaluate(expression, _state_scope(ctx))
        return None if value is UNDEFINED else value

    return derive


def read_selector(expression: Any) -> Callable[[Any], Any]:
    return lambda ctx: evaluate(expression, _state_scope(ctx))


def read_views(spec: Mapping[str, Any] | None) -> Views | None:
    if spec is None:
        return None
    public, player = spec.get("public"), spec.get("player")
    return views(
        public=None
        if "public" not in spec
        else lambda ctx: evaluate(public, _state_scope(ctx)),
        player=None
        if "player" not in spec
        else lambda ctx, viewer: evaluate(
            player, {**_state_scope(ctx), "viewer": viewer}
        ),
    )


def read_profile(spec: Mapping[str, Any] | None) -> Profile | None:
    if spec is None:
        return None
    expression = spec.get("parse")
    return profile(
        spec.get("default"),
        schema_version=spec.get("schemaVersion"),
        parse=None
        if expression is None
        else lambda data: evaluate(expression, {"data": plain(data)}),
    )


def read_config(spec: Any) -> dict[str, ConfigField | Mapping[str, Any]] | None:
    return None if spec is None else dict(spec)


def _state_scope(ctx: Any) -> Scope:
    return {
        "G": ctx.G,
        "position": position_json(ctx.position),
        "derived": derived_json(ctx.derived),
        "match": match_json(ctx.match),
        "now": ctx.now,
    }


def _resolver_scope(ctx: Any) -> Scope:
    return {
        **_state_scope(ctx),
        "event": {"kind": ctx.event.kind, "payload": plain(ctx.event.payload)},
        "playerID": ctx.player_id,
        "actionID": ctx.action_id,
        "rng": ctx.rng,
        "turn": turn_json(ctx.turn),
    }
