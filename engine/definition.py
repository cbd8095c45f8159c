"""What an author writes: a game as one frozen value.

Rules:
- Nothing is registered anywhere and nothing of the author's is changed. Containers
  given here are copied, constants are frozen, so a later change of the author's own
  objects does not reach the game.
- Only mistakes that no game could contain are raised here, and their message says what
  to write instead. Everything that depends on the whole (reachability, hierarchy, what
  derivations give) is for `validate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .author_function import check_function
from .definition_check import (
    check_edge,
    config_table,
    constant,
    derivation,
    event_table,
    fewest_players,
    require_kind,
    require_text,
    seat_pool,
    selector_table,
    state_table,
    transition_list,
)
from .errors import DefinitionError
from .game import (
    Derivation,
    Event,
    Game,
    Imagine,
    LegalActions,
    Migrate,
    PlayerView,
    Profile,
    ProfileCommitter,
    Redaction,
    Rejected,
    Resolver,
    State,
    Transition,
    Views,
)
from .jsonvalue import Json
from .payload_type import check_payload_type, empty_payload
from .undo import UndoRule, check_reveals

if TYPE_CHECKING:
    from .config_schema import ConfigField
    from .context import SetupContext

__all__ = [
    "Event",
    "Game",
    "Profile",
    "Rejected",
    "State",
    "Transition",
    "Views",
    "define_game",
    "enqueue",
    "event",
    "profile",
    "reject",
    "state",
    "timeout",
    "transition",
    "views",
]


def define_game(
    *,
    name: str,
    version: str = "1",
    max_players: int | None = None,
    player_ids: Sequence[str] | None = None,
    min_players: int | None = None,
    events: Mapping[str, Event] | Sequence[str],
    states: Mapping[str, State],
    initial: str,
    setup: Callable[[SetupContext], Json],
    transitions: Sequence[Transition],
    selectors: Mapping[str, Derivation] | None = None,
    views: Views | None = None,
    profile: Profile | None = None,
    config: Mapping[str, ConfigField | Mapping[str, Json]] | None = None,
    legal_actions: LegalActions | None = None,
    redact: Redaction | None = None,
    open_information: bool = False,
    credit_outages: bool = False,
    undo: UndoRule | None = None,
    resign: str | None = None,
    migrate: Migrate | None = None,
    imagine: Imagine | None = None,
) -> Game:
    """Make a game.

    Seats come from exactly one of `max_players` (then they are "0", "1", ...) and
    `player_ids`. `min_players` defaults to all of them. `resign` is the event (else the
    one of that name) that gives up a seat. `migrate(G, from_version)` makes G of
    another version, `imagine(ctx)` one that could stand behind the view of a seat.

    Raises:
        DefinitionError: a part is of the wrong kind, or the seats are not clear.
    """
    require_text(name, "name")
    require_text(version, "version")
    pool = seat_pool(max_players, player_ids)
    require_text(initial, "initial")
    check_function(setup, "setup", "ctx")
    require_kind(views, Views, "views", "views(public=lambda ctx: ...)")
    require_kind(profile, Profile, "profile", "profile(default)")
    require_kind(undo, UndoRule, "undo", "undo(back=1)")
    _check_functions(legal_actions, redact, migrate, imagine)
    known_events = event_table(events)
    _check_resign(resign, known_events)
    check_reveals(undo, known_events)
    return Game(
        name=name,
        version=version,
        player_ids=pool,
        min_players=fewest_players(min_players, pool),
        events=known_events,
        states=state_table(states),
        initial=initial,
        setup=setup,
        transitions=transition_list(transitions),
        selectors=selector_table(selectors),
        views=views,
        profile=profile,
        config=config_table(config),
        legal_actions=legal_actions,
        redact=redact,
        open_information=open_information,
        credit_outages=credit_outages,
        undo=undo,
        resign=resign,
        migrate=migrate,
        imagine=imagine,
    )


def event(payload: Any = None, *, public: bool = False) -> Event:
    """Declare an event.

    `payload` is a msgspec Struct or any type that msgspec validates; resolvers then
    see the converted value. `public` lets every seat see the payloads.

    Raises:
        DefinitionError: msgspec cannot validate the type.
    """
    if payload is not None:
        check_payload_type(payload)
    return Event(payload, public)


def state(
    *,
    active_players: Sequence[str] | Derivation | None = None,
    label: str | Derivation | None = None,
    control: Json | Derivation = None,
    metadata: Sequence[Json] | Derivation = (),
    deadline: int | Derivation | None = None,
    parent: str | None = None,
    strict_revision: bool = False,
) -> State:
    """Declare a state. Only the leaf's own derivations count, never a parent's.

    A leaf must declare `active_players`, if only `[]`; a parent need not.
    `deadline` is an instant in milliseconds, on the clock of `ctx.now`.

    Raises:
        DefinitionError: a constant is not JSON, or a function takes something else
            than the state context.
    """
    if isinstance(active_players, str):
        raise DefinitionError(
            f'active_players must be a list of seats: ["{active_players}"]'
        )
    if parent is not None:
        require_text(parent, "parent")
    return State(
        active_players=derivation(active_players, "active_players"),
        label=derivation(label, "label"),
        control=derivation(control, "control"),
        metadata=derivation(metadata, "metadata"),
        deadline=derivation(deadline, "deadline"),
        parent=parent,
        strict_revision=strict_revision,
    )


def transition(
    event: str,
    source: str,
    target: str,
    resolve: Resolver | None = None,
    *,
    label: str | None = None,
    turn: str | None = None,
) -> Transition:
    """Declare an edge that `event` may take. `turn`: "increment" or "preserve".

    Raises:
        DefinitionError: a part is of the wrong kind.
    """
    require_text(event, "the event of a transition")
    check_edge(source, target, resolve, turn)
    return Transition(event, source, target, resolve, label, turn)


def timeout(
    source: str,
    target: str,
    resolve: Resolver | None = None,
    *,
    label: str | None = None,
    turn: str | None = None,
) -> Transition:
    """Declare the edge that is taken when the deadline of `source` has passed.

    Raises:
        DefinitionError: a part is of the wrong kind.
    """
    check_edge(source, target, resolve, turn)
    return Transition(None, source, target, resolve, label, turn, "timeout")


def views(
    *, public: Derivation | None = None, player: PlayerView | None = None
) -> Views:
    """Declare what a spectator (`public`) and what a seat (`player`) may see.

    Raises:
        DefinitionError: one is not a function of what it is called with.
    """
    if public is not None:
        check_function(public, "views.public", "ctx")
    if player is not None:
        check_function(player, "views.player", "ctx", "seat")
    return Views(public, player)


def profile(
    default: Json,
    *,
    schema_version: str | int | None = None,
    parse: Callable[[Json], Json] | None = None,
    commit: ProfileCommitter | None = None,
) -> Profile:
    """Declare what players keep between matches.

    `default` is a new player's profile, `parse` reads a stored one, and `commit`
    answers a match's result with deltas: `ctx.profile.inc(winner, "wins", 1)`.

    Raises:
        DefinitionError: the default is not JSON.
    """
    if parse is not None:
        check_function(parse, "the parse of a profile", "data")
    if commit is not None:
        check_function(commit, "the commit of a profile", "ctx")
    frozen = constant(default, "profile default")
    return Profile(frozen, schema_version, parse, commit)


def reject(reason: str | None = None, details: Json = None) -> Rejected:
    """Answer "no, because" in a resolver. Without a reason it is a plain no-match."""
    return Rejected(reason, details)


def enqueue(kind: str, payload: Json = None) -> dict[str, Json]:
    """One entry of a result's `enqueue`: an internal event to run after this one."""
    return {"kind": kind, "payload": payload}


def _check_functions(
    legal_actions: LegalActions | None,
    redact: Redaction | None,
    migrate: Migrate | None,
    imagine: Imagine | None,
) -> None:
    if legal_actions is not None:
        check_function(legal_actions, "legal_actions", "ctx", "seat", may_yield=True)
    if redact is not None:
        check_function(redact, "redact", "step", "seat")
    if migrate is not None:
        check_function(migrate, "migrate", "G", "from_version")
    if imagine is not None:
        check_function(imagine, "imagine", "ctx")


def _check_resign(name: str | None, events: Mapping[str, Event]) -> None:
    if name is None:
        return
    require_text(name, "resign")
    declared = events.get(name)
    if declared is None:
        raise DefinitionError(f'resign names "{name}", which is no event of the game')
    if empty_payload(declared.payload) is None:
        raise DefinitionError(
            f'resign names "{name}", whose payload says something: an operator who '
            "gives up a seat has nothing to say"
        )
