"""Derives every leaf once, from a match's start, to see what a game would do.

Every leaf is probed with the G of `setup` at turn 1. Only the initial state is really
entered there; so a derivation that raises in another leaf is a warning (a label may be
valid only late in a match), while one that gives what no snapshot can hold is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .context import SetupContext, StateContext
from .definition import Game, Views
from .diagnostic import Diagnostic, Severity
from .errors import InvalidJsonValueError
from .frozen import FDict, freeze
from .jsonvalue import Json
from .snapshot import EMPTY_DERIVED, Position
from .suggestion import listed
from .topology import Node

__all__ = ["probe_states"]

_MISSING = object()
_REPLAY_SAFE = "null, booleans, numbers, strings, arrays, and plain objects"


def probe_states(
    game: Game,
    topology: Mapping[str, Node],
    match: FDict,
    *,
    now: int | float,
    seed: str,
) -> tuple[list[Diagnostic], Json]:
    """What is wrong with the setup and with each leaf, in the order of declaration.

    Also the frozen G that was set up; None if there is none.
    """
    try:
        made = game.setup(SetupContext(match, now, seed))
    except Exception as error:
        return [_setup_failed(error)], None
    try:
        G = freeze(made)
    except InvalidJsonValueError:
        return [_setup_not_json()], None
    found: list[Diagnostic] = []
    sources = {edge.source for edge in game.transitions}
    for name, node in topology.items():
        if node.is_leaf:
            position = Position(name, node.path, 1)
            ctx = StateContext(G, position, EMPTY_DERIVED, match, now)
            moves_on = not sources.isdisjoint(node.path)
            found.extend(_leaf_faults(game, node, ctx, moves_on=moves_on))
    return found, G


def _setup_failed(error: Exception) -> Diagnostic:
    return Diagnostic(
        "state_derivation_failed",
        "error",
        f"Machine setup failed during validation: {error}",
        "setup must work for every match that the game allows, from its context alone.",
    )


def _setup_not_json() -> Diagnostic:
    return Diagnostic(
        "invalid_setup_state",
        "error",
        "Machine setup returned non-serializable authoritative state.",
        f"Authoritative game state must be replay-safe: {_REPLAY_SAFE}.",
    )


def _leaf_faults(
    game: Game, node: Node, ctx: StateContext, *, moves_on: bool
) -> Iterator[Diagnostic]:
    name = node.name
    if game.states[name].active_players is None:
        yield Diagnostic(
            "active_players_missing",
            "error",
            f'Leaf state "{name}" must declare active_players.',
            "Say who may act there: active_players=active_round_robin, say; or "
            "active_players=[] where nobody may.",
            state=name,
        )
        return
    active: Sequence[str] = ()
    found: list[Diagnostic] = []
    try:
        active = _derive(game, name, ctx, found)
    except Exception as error:
        severity: Severity = "error" if name == game.initial else "warning"
        found.append(
            Diagnostic(
                "state_derivation_failed",
                severity,
                f'State "{name}" failed during validation: {error}',
                "A derivation must work for every G that reaches its state, from its "
                "context alone.",
                state=name,
            )
        )
    yield from found
    if name == game.initial and not active and moves_on:
        yield _idle_initial(node)
    if active and not moves_on:
        yield _busy_terminal(node, active)


def _derive(
    game: Game, name: str, ctx: StateContext, found: list[Diagnostic]
) -> Sequence[str]:
    """Derive a leaf; faults go to `found` as they come. Raises what the game raises."""

    def fault(code: str, what: str, hint: str) -> None:
        message = f'State "{name}" derives {what}.'
        found.append(Diagnostic(code, "error", message, hint, state=name))

    part = game.states[name]
    active = _value(part.active_players, ctx) or ()
    if not isinstance(active, (list, tuple)):
        raise TypeError(f"active_players must be a list of seats, not {active!r}")
    players = ctx.match["players"]
    if len(active) != 1 or active[0] not in players:
        found.extend(_player_faults(name, active, players))
    control = part.control
    if control is not None and not _is_json(_value(control, ctx)):
        fault(
            "invalid_state_control",
            "non-serializable control",
            f"Return only replay-safe values from control derivations: {_REPLAY_SAFE}.",
        )
    deadline = part.deadline
    if deadline is not None and not _is_instant(_value(deadline, ctx)):
        fault(
            "invalid_deadline",
            "a non-finite deadline",
            "Deadlines must resolve to a finite number or null.",
        )
    label = _value(part.label, ctx)
    if label is not None and not isinstance(label, str):
        fault(
            "invalid_label",
            "a non-string label",
            "State labels must resolve to a string or null so tooling can render "
            "them consistently.",
        )
    if not _is_metadata(_value(part.metadata, ctx)):
        fault(
            "invalid_metadata",
            "non-serializable control metadata",
            "Metadata entries must use string keys and replay-safe values.",
        )
    for select in game.selectors.values():
        if not _is_json(select(ctx)):
            fault(
                "invalid_selector",
                "a non-serializable selector value",
                "Selectors must stay replay-pure and replay-safe so snapshots, "
                "protocol payloads, and devtools can serialize them consistently.",
            )
    if game.views is not None:
        _look(game.views, name, ctx, fault, found)
    return active


def _look(
    views: Views,
    name: str,
    ctx: StateContext,
    fault: Callable[[str, str, str], None],
    found: list[Diagnostic],
) -> None:
    safe = "views must derive replay-safe values from the snapshot alone."
    if views.public is not None and not _is_json(views.public(ctx)):
        fault("invalid_public_view", "a non-serializable public view", f"Public {safe}")
    if views.player is None:
        return
    seat = ctx.match["players"][0]
    view = views.player(ctx, seat)
    if not _is_json(view):
        fault("invalid_player_view", "a non-serializable player view", f"Player {safe}")
    echoes_seat = isinstance(view, dict) and view.get("myPlayerID") == seat
    if isinstance(view, (dict, list, tuple)) and not echoes_seat:
        found.append(_no_identity(name))


def _no_identity(name: str) -> Diagnostic:
    return Diagnostic(
        "suspicious_player_view_identity",
        "warning",
        f'State "{name}" player view does not echo the viewer\'s seat as myPlayerID '
        "— a common cause of a frozen hosted UI.",
        "If your UI checks `view.myPlayerID === view.currentTurn` to decide whose "
        "turn it is, set `myPlayerID` to the viewer's seat in views.player (leave it "
        "null in views.public). If your UI uses match.canAct / activePlayers "
        "instead, this warning is safe to ignore.",
        state=name,
    )


def _player_faults(
    name: str, active: Sequence[Any], players: Sequence[str]
) -> Iterator[Diagnostic]:
    seen: list[Any] = []
    for player in active:
        if player not in players:
            hint = f"The players of this match are {listed(players)}."
            if not isinstance(player, str):
                hint = f"Seats are strings, and {player!r} is not. {hint}"
            yield Diagnostic(
                "active_players_unknown",
                "error",
                f'State "{name}" derives unknown active player "{player}".',
                hint,
                state=name,
                context={"knownPlayers": list(players)},
            )
        if player in seen:
            yield Diagnostic(
                "active_players_duplicate",
                "error",
                f'State "{name}" derives duplicate active player "{player}".',
                "Name each player once.",
                state=name,
                context={"duplicate": player},
            )
        seen.append(player)


def _idle_initial(node: Node) -> Diagnostic:
    return Diagnostic(
        "suspicious_initial_activity",
        "warning",
        f'Initial state "{node.name}" derives no active players even though it can '
        "transition.",
        "If this state should still progress, expose the acting players. If it is "
        "terminal, remove the outgoing edge or change the initial state.",
        state=node.name,
        context={"path": list(node.path), "reachableTransitions": True},
    )


def _busy_terminal(node: Node, active: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        "suspicious_terminal_leaf",
        "warning",
        f'State "{node.name}" has no outgoing transitions in its ancestry but still '
        "exposes active players.",
        "If this leaf is truly terminal, derive no active players. Otherwise add an "
        "outgoing transition on the leaf or one of its parents.",
        state=node.name,
        context={"path": list(node.path), "activePlayers": list(active)},
    )


def _value(part: Any, ctx: StateContext) -> Json:
    return part(ctx) if callable(part) else part


def _is_json(value: object) -> bool:
    if value is None:
        return True
    try:
        freeze(value)
    except InvalidJsonValueError:
        return False
    return True


def _is_instant(value: object) -> bool:
    if value is None:
        return True
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)  # type: ignore[arg-type]


def _is_metadata(value: Json) -> bool:
    if value is None:
        return True
    if not isinstance(value, (list, tuple)):
        raise TypeError("metadata must be a list of {key, value}")
    return not value or all(
        isinstance(entry, dict)
        and isinstance(entry.get("key"), str)
        and _is_json(entry.get("value", _MISSING))
        for entry in value
    )
