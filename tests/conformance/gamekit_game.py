"""Builds a gamekit game from its description in the vector files' little language.

What gamekit has in common with the core is read by `scenario_game.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hotseat.engine.definition import Game
from hotseat.engine.gamekit import (
    Core,
    KitViews,
    Move,
    Outcome,
    Phase,
    core,
    define_game,
    move,
    phase,
    views,
)

from . import scenario_game as core_game
from .encode import match_json, plain, turn_json
from .language import (
    UNDEFINED,
    Scope,
    evaluate,
    evaluate_values,
    has_operator,
    javascript_keys,
)
from .language import truthy as holds

__all__ = ["build_gamekit_game", "first_phase", "phase_scope"]

OUTCOMES = ("stay", "endTurn", "goto", "finish", "invalid")


def build_gamekit_game(spec: Mapping[str, Any], *, name: str = "scenario") -> Game:
    """The game of a case.

    Raises:
        EngineError: The engine refuses the definition.
    """
    pool = spec.get("playerIDs")
    moves = _by_name(spec.get("moves"), _move)
    return define_game(
        name=name,
        player_ids=pool,
        max_players=None if pool is not None else spec.get("maxPlayers"),
        min_players=spec.get("minPlayers"),
        setup=_setup(spec.get("setup")),
        moves=moves,
        phases=_by_name(spec.get("phases"), lambda each: _phase(each, moves)),
        initial_phase=spec.get("initialPhase"),
        computed=_by_name(spec.get("computed"), _computed),
        views=_views(spec.get("views")),
        profile=core_game.read_profile(spec.get("profile")),
        config=core_game.read_config(spec.get("config")),
        core=_core(spec.get("core")),
    )


def first_phase(spec: Mapping[str, Any]) -> str:
    """The phase in which a match begins."""
    named = [(spec.get("core") or {}).get("initial"), spec.get("initialPhase")]
    named += javascript_keys(spec.get("phases") or {})
    for each in (spec.get("moves") or {}).values():
        named += each.get("phases", ())
    return next(filter(None, named), "play")


def phase_scope(ctx: Any) -> Scope:
    """What an expression sees of a phase's context."""
    return {
        "G": ctx.G,
        "C": ctx.C,
        "match": match_json(ctx.match),
        "now": ctx.now,
        "phase": ctx.phase,
        "turn": turn_json(ctx.turn),
        "position": {"turn": ctx.turn.turn},  # for $current_player
    }


def _by_name(specs: Mapping[str, Any] | None, read: Callable[[Any], Any]) -> Any:
    found = specs or {}
    return {key: read(found[key]) for key in javascript_keys(found)}


def _setup(expression: Any) -> Callable[[Any], Any]:
    def setup(ctx: Any) -> Any:
        scope = {
            "match": match_json(ctx.match),
            "now": ctx.now,
            "seed": ctx.seed,
            "profiles": plain(ctx.profiles),
        }
        made = evaluate(expression, scope)
        return made if isinstance(made, Mapping) else {}  # as JavaScript spreads it

    return setup


def _move(spec: Mapping[str, Any]) -> Move:
    def run(ctx: Any) -> Any:
        scope = {
            **_acting_scope(ctx, ctx.player_id),
            "args": plain(ctx.args),
        }
        return _run(spec["run"], scope)

    return move(run, phases=spec.get("phases"))


def _phase(spec: Mapping[str, Any], moves: Mapping[str, Move]) -> Phase:
    given = {
        ours: _derivation(spec[theirs])
        for theirs, ours in (("activePlayers", "active_players"), ("label", "label"))
        if theirs in spec
    }
    if "deadline" in spec:
        given["deadline"] = _derivation(spec["deadline"])
        if given["deadline"] is None:
            given["deadline"] = lambda ctx: None  # null is declared, absent is not
    if "onTimeout" in spec:
        given["on_timeout"] = _on_timeout(spec["onTimeout"], moves)
    return phase(**given)


def _on_timeout(body: Any, moves: Mapping[str, Move]) -> Callable[[Any], Any]:
    def on_timeout(ctx: Any) -> Any:
        def call(name: str, args: Any = None) -> Any:
            return ctx.run(moves[name].run, args)

        return _run(body, {**_acting_scope(ctx, ctx.player), "call": call})

    return on_timeout


def _acting_scope(ctx: Any, player: str | None) -> Scope:
    return {
        **phase_scope(ctx),
        "player": {"id": player},
        "profiles": plain(ctx.profiles),
        "rng": ctx.rng,
    }


def _run(body: Any, scope: Scope) -> Any:
    """What a body answers; None when it falls off its end."""
    for statement in body:
        if "let" in statement:
            name, expression = statement["let"]
            scope[name] = evaluate(expression, scope)
        elif "when" in statement:
            branch = "then" if holds(evaluate(statement["when"], scope)) else "else"
            answer = _run(statement.get(branch) or [], scope)
            if answer is not None:
                return answer
        else:
            return _leave(statement, scope)
    return None


def _leave(statement: Mapping[str, Any], scope: Scope) -> Any:
    if "null_outcome" in statement:
        return None
    if "call_move" in statement:
        name, *args = statement["call_move"]
        return scope["call"](name, *[evaluate(each, scope) for each in args])
    for kind in OUTCOMES:
        if kind in statement:
            return Outcome(kind, evaluate_values(statement[kind] or {}, scope))
    raise ValueError(f"the language has no outcome {sorted(statement)}")


def _derivation(expression: Any) -> Any:
    if not has_operator(expression):
        return expression

    def derive(ctx: Any) -> Any:
        value = evaluate(expression, phase_scope(ctx))
        return None if value is UNDEFINED else value

    return derive


def _computed(expression: Any) -> Callable[[Any], Any]:
    def compute(ctx: Any) -> Any:
        scope = {
            "G": ctx.G,
            "phase": ctx.phase,
            "turn": turn_json(ctx.turn),
            "match": {"players": list(ctx.turn.players)},  # for $current_player
            "position": {"turn": ctx.turn.turn},
        }
        return evaluate(expression, scope)

    return compute


def _views(spec: Mapping[str, Any] | None) -> KitViews | None:
    if spec is None:
        return None
    public, player = spec.get("public"), spec.get("player")
    return views(
        public=None
        if "public" not in spec
        else lambda ctx: evaluate(public, phase_scope(ctx)),
        player=None
        if "player" not in spec
        else lambda ctx, seat: evaluate(
            player, {**phase_scope(ctx), "player": {"id": seat}}
        ),
    )


def _core(spec: Mapping[str, Any] | None) -> Core | None:
    if spec is None:
        return None
    return core(
        transitions=[core_game.read_transition(e) for e in spec.get("transitions", ())],
        selectors=_by_name(spec.get("selectors"), core_game.read_selector),
        states=_by_name(spec.get("states"), core_game.read_state),
        views=core_game.read_views(spec.get("views")),
        initial=spec.get("initial"),
    )
