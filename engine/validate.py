"""Looks at a whole game before a match starts, and reports everything that is wrong.

Two parts: the structure (states, transitions, what can be reached), which needs the
definition alone, and the probe (`probe.py`), which sets up a match and derives every
leaf once. The probe needs a match, and a structure that stands.

The order of diagnostics is fixed: creating a session names the first error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from .definition import Game, Transition
from .diagnostic import Diagnostic, Report
from .errors import DefinitionError
from .frozen import FDict
from .jsonvalue import Json
from .match_input import normalize_match_input
from .probe import probe_states
from .profiles import hydrate_profiles
from .suggestion import did_you_mean, listed
from .topology import Node, build_topology

__all__ = [
    "Diagnostic",
    "Report",
    "Structure",
    "examine_start",
    "examine_structure",
    "hostable",
    "validate",
]

Topology = Mapping[str, Node]
Family = tuple[str, str | None]


class Structure(msgspec.Struct, frozen=True):
    """What the definition alone tells, the same for all matches of a game."""

    report: Report
    topology: Topology | None
    """None when the states form no tree."""
    initial: Node | None


def validate(
    game: Game,
    match: object | None = None,
    *,
    now: int | float = 0,
    seed: str = "default",
) -> Report:
    """Report on a game. With a match, its states are derived once, at its start.

    A frozen match is taken as it is; any other one is normalized first.

    Raises:
        InvalidMatchError: The match itself is wrong.
    """
    structure = examine_structure(game)
    if match is None or structure.topology is None or structure.initial is None:
        return structure.report
    prepared = _prepared(game, match)
    return examine_start(game, structure, prepared, now=now, seed=seed)[0]


def examine_structure(game: Game) -> Structure:
    """Report on everything that needs no match."""
    found = list(_initial_missing(game))
    topology: Topology | None = None
    try:
        topology = build_topology(game)
    except DefinitionError as error:
        found.append(
            Diagnostic(
                "invalid_hierarchy",
                "error",
                str(error),
                "Fix the parent chain so every referenced parent exists and the "
                "hierarchy remains acyclic.",
                context={"initial": game.initial},
            )
        )
    initial = topology.get(game.initial) if topology is not None else None
    if initial is not None and not initial.is_leaf:
        found.append(_initial_non_leaf(game))
    for edge in game.transitions:
        found.extend(_edge_faults(game, edge, topology))
    found.extend(_repeated_timeouts(game))
    found.extend(_family_faults(game))
    if topology is not None and initial is not None:
        found.extend(_unreachable(game, topology, initial))
    return Structure(Report(tuple(found)), topology, initial)


def examine_start(
    game: Game, structure: Structure, match: FDict, *, now: int | float, seed: str
) -> tuple[Report, Json]:
    """Report on a game at the start of a match; also give the G that it starts with.

    G is None where nothing was set up: the states form no tree, or `setup` failed.
    """
    topology = structure.topology
    if topology is None or structure.initial is None:
        return structure.report, None
    found, G = probe_states(game, topology, match, now=now, seed=seed)
    if not found:
        return structure.report, G
    return Report((*structure.report.diagnostics, *found)), G


def hostable(game: Game) -> Diagnostic | None:
    """Why a host must not load a game, or None.

    Without a public view every spectator would see the whole of G, and so would each
    seat that has no view of its own.
    """
    views = game.views
    covered = views is not None and views.public is not None and not views.shows_all
    if game.open_information or covered:
        return None
    return Diagnostic(
        "no_views",
        "error",
        f'Game "{game.name}" declares no public view, '
        "so spectators would see all of G.",
        "Declare views.public, or open_information=True if there is nothing to hide.",
    )


def _prepared(game: Game, match: object) -> FDict:
    if isinstance(match, FDict):
        prepared: FDict = match
        return prepared
    return hydrate_profiles(game, normalize_match_input(game, match))


def _initial_missing(game: Game) -> Iterator[Diagnostic]:
    if not game.states:
        yield Diagnostic(
            "no_states",
            "error",
            "Game must declare at least one state.",
            "Declare at least one leaf state before validating the game.",
        )
    if game.initial not in game.states:
        yield Diagnostic(
            "initial_missing",
            "error",
            f'Initial state "{game.initial}" is not declared.',
            _state_hint(game, game.initial),
            state=game.initial,
            context={"initial": game.initial},
        )


def _initial_non_leaf(game: Game) -> Diagnostic:
    return Diagnostic(
        "initial_non_leaf",
        "error",
        f'Initial state "{game.initial}" must be a leaf state.',
        "Point the machine at a leaf state; compound states can structure ancestry "
        "but cannot be entered directly.",
        state=game.initial,
        context={"initial": game.initial},
    )


def _edge_faults(
    game: Game, edge: Transition, topology: Topology | None
) -> Iterator[Diagnostic]:
    if edge.kind == "timeout":
        yield from _timeout_shape_faults(game, edge)
    event = {} if edge.event is None else {"event": edge.event}
    if edge.source not in game.states:
        yield Diagnostic(
            "missing_state",
            "error",
            f'Transition source "{edge.source}" is not declared.',
            _state_hint(game, edge.source),
            source=edge.source,
            state=edge.source,
            context={"direction": "from", **event},
        )
    if edge.target not in game.states:
        yield Diagnostic(
            "missing_state",
            "error",
            f'Transition target "{edge.target}" is not declared.',
            _state_hint(game, edge.target),
            target=edge.target,
            state=edge.target,
            context={"direction": "to", **event},
        )
    elif topology is not None and not topology[edge.target].is_leaf:
        yield Diagnostic(
            "compound_transition_target",
            "error",
            f'Transition target "{edge.target}" must be a leaf state.',
            "Target a concrete leaf state; compound parents exist for fallback "
            "matching and grouping only.",
            event=edge.event,
            source=edge.source,
            target=edge.target,
            context={"targetPath": list(topology[edge.target].path)},
        )
    if edge.kind == "event" and edge.event not in game.events:
        yield Diagnostic(
            "missing_transition_event",
            "error",
            f'Transition event "{edge.event}" is not declared.',
            did_you_mean(edge.event, game.events)
            or f'Declare it among the events: "{edge.event}": event(...).',
            event=edge.event,
            source=edge.source,
            context={"target": edge.target},
        )


def _state_hint(game: Game, name: str) -> str:
    close = did_you_mean(name, game.states)
    return close or f"The states are {listed(game.states)}."


def _timeout_shape_faults(game: Game, edge: Transition) -> Iterator[Diagnostic]:
    faults = []
    undeclared = "Timeout transitions must reference a state declared on the machine."
    if edge.event is not None:
        faults.append(
            (
                f'Transition from "{edge.source}" to "{edge.target}" has both "event" '
                "and \"kind: 'timeout'\". Use one or the other.",
                "A timeout transition is dispatched by the timeout firing path, not "
                "by a named event. Drop one of the two fields.",
            )
        )
    if edge.source not in game.states:
        text = f'"from" references unknown state "{edge.source}"'
        text = f'Timeout transition {text} (target "{edge.target}").'
        faults.append((text, undeclared))
    if edge.target not in game.states:
        text = f'"to" references unknown state "{edge.target}"'
        text = f'Timeout transition {text} (source "{edge.source}").'
        faults.append((text, undeclared))
    for message, hint in faults:
        yield Diagnostic(
            "invalid_transition_shape",
            "error",
            message,
            hint,
            source=edge.source,
            target=edge.target,
        )


def _repeated_timeouts(game: Game) -> Iterator[Diagnostic]:
    timeouts = Counter(e.source for e in game.transitions if e.kind == "timeout")
    for source, count in timeouts.items():
        if count > 1:
            yield Diagnostic(
                "invalid_transition_shape",
                "error",
                f'Multiple timeout transitions declared from state "{source}". '
                "Only one is allowed per state.",
                "A state can declare at most one timeout transition; resolve the "
                "choice inside its resolver instead.",
                source=source,
            )


def _family_faults(game: Game) -> Iterator[Diagnostic]:
    """Edges of one state on one event, of which only one can ever answer."""
    families: dict[Family, list[Transition]] = {}
    for edge in game.transitions:
        if edge.kind == "event":
            families.setdefault((edge.source, edge.event), []).append(edge)
    for (source, event), family in families.items():
        name = f"{source}::{event}"
        unconditional = [edge.target for edge in family if edge.resolve is None]
        if len(unconditional) > 1:
            yield Diagnostic(
                "structurally_ambiguous_family",
                "error",
                f'Transition family "{name}" contains multiple unconditional edges '
                "and is structurally ambiguous.",
                "Keep at most one unconditional transition in a family or add "
                "resolver logic so only one edge can match.",
                event=event,
                source=source,
                context={"family": name, "unconditionalTargets": unconditional},
            )
        yield from _duplicates(name, family)


def _duplicates(name: str, family: list[Transition]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for edge in family:
        parts = (edge.source, edge.event, edge.target, edge.turn or "preserve")
        signature = "|".join([*map(str, parts), edge.resolver_name or ""])
        if signature in seen:
            yield Diagnostic(
                "duplicate_transition_signature",
                "error",
                f'Transition family "{name}" contains a duplicate edge signature '
                f'targeting "{edge.target}".',
                "Remove the duplicate edge or make the branch meaningfully distinct "
                "by target, turn effect, or resolver label.",
                event=edge.event,
                source=edge.source,
                target=edge.target,
                context={"family": name, "signature": signature},
            )
        seen.add(signature)


def _unreachable(game: Game, topology: Topology, initial: Node) -> Iterator[Diagnostic]:
    """Over declared edges; the parents of what is reached count as reached."""
    reached = set(initial.path)
    pending = list(initial.path)
    while pending:
        current = pending.pop()
        for edge in game.transitions:
            if edge.source != current or edge.target not in topology:
                continue
            new = [n for n in topology[edge.target].path if n not in reached]
            reached.update(new)
            pending.extend(new)
    for name in game.states:
        if name not in reached:
            yield Diagnostic(
                "unreachable_state",
                "error",
                f'State "{name}" is unreachable from "{game.initial}".',
                "Either add a path that can reach this state or remove the dead "
                "declaration.",
                state=name,
                context={"initial": game.initial},
            )
