"""A game of phases and moves, made into a game of the core.

What comes out is an ordinary `Game`: validated, hosted, replayed and shown as any
other. Each phase is a state; each move is an event, with a transition for every outcome
that it may have in every phase that allows it (`fan_out.py`). G has one key that is not
the author's, `__gamekit`; everything of the author's but core transitions sees G
without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace as replace_fields

from ..author_function import check_function
from ..context import ImagineContext, SetupContext, StateContext
from ..definition import define_game as define_core_game
from ..definition_check import require_text
from ..errors import DefinitionError
from ..game import (
    Derivation,
    Event,
    Game,
    Imagine,
    LegalActions,
    Migrate,
    Profile,
    State,
    Transition,
    Views,
)
from ..jsonvalue import Json
from ..turn import active_round_robin
from .context import CURRENT_PLAYER, PhaseContext, Rules
from .fan_out import OUTCOME_EVENT, move_edges, timeout_edges
from .outcome import FINISHED, INTERNAL, NOTHING_YET, author_state
from .parts import (
    Compute,
    Core,
    KitViews,
    Legal,
    Move,
    Phase,
    PhaseDerivation,
    Run,
    Setup,
    move,
)
from .turn_policy import TurnPolicy, round_robin

if TYPE_CHECKING:
    from ..config_schema import ConfigField
    from ..game import Redaction
    from ..undo import UndoRule

__all__ = ["define_game"]

ONLY_PHASE: Final = "play"
"""The phase of a game that names none."""


def define_game(
    *,
    name: str,
    version: str = "1",
    max_players: int | None = None,
    player_ids: Sequence[str] | None = None,
    min_players: int | None = None,
    setup: Setup,
    moves: Mapping[str, Move | Run] | Sequence[Run],
    phases: Mapping[str, Phase] | None = None,
    initial_phase: str | None = None,
    computed: Mapping[str, Compute] | None = None,
    views: KitViews | None = None,
    turn: TurnPolicy | None = None,
    legal_actions: Legal | None = None,
    redact: Redaction | None = None,
    profile: Profile | None = None,
    config: Mapping[str, ConfigField | Mapping[str, Json]] | None = None,
    core: Core | None = None,
    open_information: bool = False,
    credit_outages: bool = False,
    undo: UndoRule | None = None,
    resign: str | None = None,
    migrate: Migrate | None = None,
    imagine: Imagine | None = None,
) -> Game:
    """Make a game of moves and phases.

    `moves` maps names to functions or to `move(...)`, or is a list of functions, which
    give their names. Phases are `initial_phase`, those in `phases`, and those that
    moves name; a game that names none has one, "play". A match begins in the first, or
    in `initial_phase`. What both layers have means here what it means in the core.

    Raises:
        DefinitionError: a part is of the wrong kind.
    """
    declared = _moves(moves)
    described = _phases(phases)
    names = _phase_names(initial_phase, described, declared)
    rules = Rules(_computed(computed), round_robin() if turn is None else turn)
    under = Core() if core is None else core
    edges = list(_edges(declared, described, names, rules))
    return define_core_game(
        name=name,
        version=version,
        max_players=max_players,
        player_ids=player_ids,
        min_players=min_players,
        events={**_events(declared, described), **under.events},
        states={
            FINISHED: State(active_players=(), label="Finished"),
            **{key: _state(key, described.get(key, Phase()), rules) for key in names},
            **{key: _core_state(each) for key, each in under.states.items()},
        },
        initial=under.initial or initial_phase or names[0],
        setup=_setup(setup),
        transitions=[*edges, *under.transitions],
        selectors=_selectors(under, rules),
        views=_views(views, under.views, rules),
        profile=profile,
        config=config,
        legal_actions=_legal_actions(legal_actions, rules),
        redact=redact,
        open_information=open_information,
        credit_outages=credit_outages,
        undo=undo,
        resign=resign,
        migrate=None if migrate is None else _migrate(migrate),
        imagine=_imagine(imagine, views, under.views),
    )


def _moves(moves: Mapping[str, Move | Run] | Sequence[Run]) -> dict[str, Move]:
    example = 'moves={"place": place}, or moves=[place]'
    if isinstance(moves, Mapping):
        named = dict(moves)
    elif isinstance(moves, Iterable) and not isinstance(moves, (str, bytes)):
        listed = list(moves)
        named = {getattr(each, "__name__", "<lambda>"): each for each in listed}
        if len(named) < len(listed) or "<lambda>" in named:
            raise DefinitionError(
                f"each move in a list needs a name of its own; write {example}"
            )
    else:
        raise DefinitionError(
            f"moves must be a mapping or a list, not {type(moves).__name__}; write "
            f"{example}"
        )
    for key in named:
        _check_name(key, "move")
    return {
        key: each if isinstance(each, Move) else move(each)
        for key, each in named.items()
    }


def _events(moves: Mapping[str, Move], phases: Mapping[str, Phase]) -> dict[str, Event]:
    events = {key: Event(each.args, each.public) for key, each in moves.items()}
    if any(each.on_timeout is not None for each in phases.values()):
        events[OUTCOME_EVENT] = Event()
    return events


def _phases(phases: Mapping[str, Phase] | None) -> dict[str, Phase]:
    for key, each in (phases or {}).items():
        _check_name(key, "phase")
        if not isinstance(each, Phase):
            raise DefinitionError(
                f"phases[{key!r}] must be made by phase(...), not "
                f"{type(each).__name__}; write phase(label=...)"
            )
    return dict(phases or {})


def _phase_names(
    initial: str | None, phases: Mapping[str, Phase], moves: Mapping[str, Move]
) -> tuple[str, ...]:
    if initial is not None:
        _check_name(initial, "phase")
    named = [] if initial is None else [initial]
    by_moves = [key for each in moves.values() for key in each.phases or ()]
    return tuple(dict.fromkeys([*named, *phases, *by_moves])) or (ONLY_PHASE,)


def _edges(
    moves: Mapping[str, Move],
    phases: Mapping[str, Phase],
    names: tuple[str, ...],
    rules: Rules,
) -> Iterator[Transition]:
    for key, each in moves.items():
        allowed = names if each.phases is None else each.phases
        yield from move_edges(key, each, allowed, names, rules)
    for key in names:
        on_timeout = phases.get(key, Phase()).on_timeout
        if on_timeout is not None:
            yield from timeout_edges(key, on_timeout, names, rules)


def _check_name(name: object, what: str) -> None:
    require_text(name, f"the name of a {what}")
    if isinstance(name, str) and name.startswith((INTERNAL, "__timeout")):
        raise DefinitionError(f'the {what} "{name}" needs another name: this is ours')


def _computed(computed: Mapping[str, Compute] | None) -> dict[str, Compute]:
    for key, compute in (computed or {}).items():
        require_text(key, "each name in computed")
        check_function(compute, f"computed[{key!r}]", "ctx")
    return dict(computed or {})


def _setup(setup: Setup) -> Callable[[SetupContext], Json]:
    check_function(setup, "setup", "ctx")

    def first_state(ctx: SetupContext) -> Json:
        made = setup(ctx)
        if not isinstance(made, Mapping):
            raise TypeError(
                "setup must return an object, whose keys moves can patch, not "
                f"{type(made).__name__}"
            )
        return {**made, INTERNAL: NOTHING_YET}

    return first_state


def _migrate(migrate: Migrate) -> Migrate:
    check_function(migrate, "migrate", "G", "from_version")

    def migrated(G: Json, from_version: str) -> Json:
        made = migrate(author_state(G), from_version)
        if not isinstance(made, Mapping):
            raise TypeError(f"migrate must return an object, not {type(made).__name__}")
        return {**made, INTERNAL: G[INTERNAL]}

    return migrated


def _imagine(
    imagine: Imagine | None, views: KitViews | None, core: Views | None
) -> Imagine | None:
    """A match that goes on has no result; a game without views shows the rest."""
    if imagine is None:
        if views is not None or core is not None:
            return None
        imagine = _seen
    check_function(imagine, "imagine", "ctx")

    def imagined(ctx: ImagineContext) -> Json:
        made = imagine(ctx)
        if not isinstance(made, Mapping):
            raise TypeError(f"imagine must return an object, not {type(made).__name__}")
        return {**made, INTERNAL: NOTHING_YET}

    return imagined


def _seen(ctx: ImagineContext) -> Json:
    return ctx.view


def _state(name: str, phase: Phase, rules: Rules) -> State:
    active = phase.active_players
    return State(
        active_players=(
            active_round_robin if active is None else _bound(active, rules)
        ),
        label=name if phase.label is None else _bound(phase.label, rules),
        deadline=_bound(phase.deadline, rules),
        strict_revision=phase.strict_revision,
    )


def _bound(part: Json | PhaseDerivation, rules: Rules) -> Any:
    """A derivation of the core that asks one of a phase; a constant as it is."""
    if not callable(part):
        return part
    return lambda ctx: part(PhaseContext(ctx, rules))


def _core_state(state: State) -> State:
    return replace(
        state,
        active_players=_stripped(state.active_players),
        label=_stripped(state.label),
        control=_stripped(state.control),
        metadata=_stripped(state.metadata),
        deadline=_stripped(state.deadline),
    )


def _stripped(part: Json | Derivation) -> Any:
    """A derivation of the core that sees the author's G; a constant as it is."""
    if not callable(part):
        return part
    return lambda ctx: part(_strip(ctx))


def _strip(ctx: StateContext) -> StateContext:
    return replace_fields(ctx, G=author_state(ctx.G))


def _selectors(core: Core, rules: Rules) -> dict[str, Derivation]:
    turn = rules.turn

    def computing(name: str) -> Derivation:
        return lambda ctx: rules.value(name, ctx, rules.read(ctx))

    def to_move(ctx: StateContext) -> Json:
        return turn.current_player(ctx.match["players"], ctx.position.turn)

    return {
        **{key: _stripped(select) for key, select in core.selectors.items()},
        **{key: computing(key) for key in rules.computed},
        CURRENT_PLAYER: to_move,
    }


def _views(views: KitViews | None, core: Views | None, rules: Rules) -> Views:
    """Views of the core go first. Who has none is shown the author's G."""
    if views is not None and not isinstance(views, KitViews):
        raise DefinitionError(
            "views must be made by views(...) of gamekit, not "
            f"{type(views).__name__}; views of the core go into core(views=...)"
        )
    kit = KitViews() if views is None else views
    below = Views() if core is None else core
    public = _stripped(below.public) or _bound(kit.public, rules)
    shown, drawn = below.player, kit.player
    player: Any = None
    if shown is not None:
        player = lambda ctx, seat: shown(_strip(ctx), seat)
    elif drawn is not None:
        player = lambda ctx, seat: drawn(PhaseContext(ctx, rules), seat)
    if public is None:
        return Views(lambda ctx: author_state(ctx.G), player, shows_all=True)
    return Views(public, player)


def _legal_actions(legal: Legal | None, rules: Rules) -> LegalActions | None:
    if legal is None:
        return None
    check_function(legal, "legal_actions", "ctx", "seat", may_yield=True)
    return lambda ctx, seat: legal(PhaseContext(ctx, rules), seat)
