"""What an author writes: a game as one frozen value.

Rules:
- Nothing is registered anywhere and nothing of the author's is changed. Containers
  given here are copied, constants are frozen, so a later change of the author's own
  objects does not reach the game.
- Only mistakes that no game could contain are raised here. Everything that depends on
  the whole (reachability, hierarchy, what derivations give) is for `validate`.
- A part that may depend on the state is either a constant or a function of the state
  context; `callable` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from .errors import DefinitionError, InvalidJsonValueError
from .frozen import freeze
from .jsonvalue import Json

if TYPE_CHECKING:
    from .config_schema import ConfigField
    from .context import ResolverContext, SetupContext, StateContext
    from .profile_commit import ProfileCommitContext
    from .step import Step

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

Derivation: TypeAlias = "Callable[[StateContext], Json]"
Resolver: TypeAlias = "Callable[[ResolverContext], object]"
LegalActions: TypeAlias = "Callable[[StateContext, str], Iterable[tuple[str, Json]]]"
Redaction: TypeAlias = "Callable[[Step, str | None], Json]"
PlayerView: TypeAlias = "Callable[[StateContext, str], Json]"
ProfileCommitter: TypeAlias = "Callable[[ProfileCommitContext], object]"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Game:
    """The rules of a game. Made by `define_game`; compared by identity."""

    name: str
    version: str
    player_ids: tuple[str, ...]
    min_players: int
    events: Mapping[str, Event]
    states: Mapping[str, State]
    initial: str
    setup: Callable[[SetupContext], Json]
    transitions: tuple[Transition, ...]
    selectors: Mapping[str, Derivation]
    views: Views | None
    profile: Profile | None
    config: Mapping[str, ConfigField | Mapping[str, Json]] | None
    legal_actions: LegalActions | None
    redact: Redaction | None
    open_information: bool
    credit_outages: bool

    @property
    def max_players(self) -> int:
        """Seats in the pool."""
        return len(self.player_ids)

    def __repr__(self) -> str:
        return f"<Game {self.name!r} version {self.version!r}>"


@dataclass(frozen=True, slots=True)
class Event:
    """A declared input: the payload's type, and who may see a payload."""

    payload: Any = None
    public: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A node of the game graph. Each part is a constant or a function."""

    active_players: Json | Derivation = None
    label: Json | Derivation = None
    control: Json | Derivation = None
    metadata: Json | Derivation = ()
    deadline: Json | Derivation = None
    parent: str | None = None
    strict_revision: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """An edge. `kind` is "event", or "timeout" for one that a deadline takes."""

    event: str | None
    source: str
    target: str
    resolve: Resolver | None = None
    label: str | None = None
    turn: str | None = None
    kind: Literal["event", "timeout"] = "event"

    @property
    def resolver_name(self) -> str | None:
        """How records name the resolver: its label, else its function's name."""
        if self.label is not None:
            return self.label
        if self.resolve is None:
            return None
        name = getattr(self.resolve, "__name__", "")
        if not isinstance(name, str) or name in ("", "<lambda>"):
            return "resolver:inline"
        return f"resolver:{name}"


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """What a spectator and a seat may see. Without `player`, seats see `public`."""

    public: Derivation | None = None
    player: PlayerView | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What a player keeps between matches.

    `parse` reads a stored one; `commit` says what a result changes in them.
    """

    default: Json
    schema_version: str | int | None = None
    parse: Callable[[Json], Json] | None = None
    commit: ProfileCommitter | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A resolver's "no, because". Changes nothing."""

    reason: str | None = None
    details: Json = None


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
) -> Game:
    """Make a game.

    Seats come from exactly one of `max_players` (then they are "0", "1", ...) and
    `player_ids`. `min_players` defaults to all of them.

    Raises:
        DefinitionError: a part is of the wrong kind, or the seats are not clear.
    """
    _require_text(name, "name")
    _require_text(version, "version")
    pool = _pool(max_players, player_ids)
    if not callable(setup):
        raise DefinitionError("setup must be a function of the setup context")
    _require_kind(views, Views, "views", "views(...)")
    _require_kind(profile, Profile, "profile", "profile(...)")
    for part, what in ((legal_actions, "legal_actions"), (redact, "redact")):
        if part is not None and not callable(part):
            raise DefinitionError(f"{what} must be a function")
    return Game(
        name=name,
        version=version,
        player_ids=pool,
        min_players=_min_players(min_players, pool),
        events=_events(events),
        states=_mapping_of(states, State, "states", "state(...)"),
        initial=initial,
        setup=setup,
        transitions=_transitions(transitions),
        selectors=_selectors(selectors),
        views=views,
        profile=profile,
        config=None if config is None else MappingProxyType(dict(config)),
        legal_actions=legal_actions,
        redact=redact,
        open_information=open_information,
        credit_outages=credit_outages,
    )


def event(payload: Any = None, *, public: bool = False) -> Event:
    """Declare an event.

    `payload` is a msgspec Struct or any type that msgspec validates; resolvers then
    see the converted value. `public` lets every seat see the payloads.

    Raises:
        DefinitionError: msgspec cannot validate the type.
    """
    if payload is not None:
        try:
            msgspec.convert(None, payload)
        except msgspec.ValidationError:
            pass  # None is not such a payload; that it could be asked is all we want.
        except Exception as error:
            raise DefinitionError(
                f"msgspec cannot validate the payload type {payload!r}: {error}"
            ) from error
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
        DefinitionError: a constant is not JSON.
    """
    return State(
        active_players=_constant(active_players, "active_players"),
        label=_constant(label, "label"),
        control=_constant(control, "control"),
        metadata=_constant(metadata, "metadata"),
        deadline=_constant(deadline, "deadline"),
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
    """Declare an edge that `event` may take. `turn`: "increment" or "preserve"."""
    return Transition(event, source, target, resolve, label, turn)


def timeout(
    source: str,
    target: str,
    resolve: Resolver | None = None,
    *,
    label: str | None = None,
    turn: str | None = None,
) -> Transition:
    """Declare the edge that is taken when the deadline of `source` has passed."""
    return Transition(None, source, target, resolve, label, turn, "timeout")


def views(
    *, public: Derivation | None = None, player: PlayerView | None = None
) -> Views:
    """Declare what a spectator (`public`) and what a seat (`player`) may see."""
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
    constant = _constant(default, "profile default")
    return Profile(constant, schema_version, parse, commit)


def reject(reason: str | None = None, details: Json = None) -> Rejected:
    """Answer "no, because" in a resolver. Without a reason it is a plain no-match."""
    return Rejected(reason, details)


def enqueue(kind: str, payload: Json = None) -> dict[str, Json]:
    """One entry of a result's `enqueue`: an internal event to run after this one."""
    return {"kind": kind, "payload": payload}


def _pool(max_players: int | None, player_ids: Sequence[str] | None) -> tuple[str, ...]:
    if (max_players is None) == (player_ids is None):
        raise DefinitionError(
            "declare exactly one of max_players (a number) and player_ids (names)"
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
        _require_text(player_id, "each of player_ids")
    if not pool or len(set(pool)) != len(pool):
        raise DefinitionError("player_ids must be non-empty and without repeats")
    return pool


def _min_players(min_players: int | None, pool: tuple[str, ...]) -> int:
    if min_players is None:
        return len(pool)
    if type(min_players) is not int or not 1 <= min_players <= len(pool):
        raise DefinitionError(
            f"min_players must be between 1 and {len(pool)}, not {min_players!r}"
        )
    return min_players


def _events(events: Mapping[str, Event] | Sequence[str]) -> Mapping[str, Event]:
    if isinstance(events, str):
        raise DefinitionError(f'events must be a list or a mapping: ["{events}"]')
    if isinstance(events, Mapping):
        return _mapping_of(events, Event, "events", "event(...)")
    for name in events:
        _require_text(name, "each of events")
    return MappingProxyType({name: Event() for name in events})


def _mapping_of(
    parts: Mapping[str, Any], kind: type, what: str, maker: str
) -> Mapping[str, Any]:
    if not isinstance(parts, Mapping):
        raise DefinitionError(f"{what} must be a mapping of names to {maker}")
    for name, part in parts.items():
        _require_text(name, f"each name in {what}")
        if not isinstance(part, kind):
            raise DefinitionError(
                f"{what}[{name!r}] must be made by {maker}, not {type(part).__name__}"
            )
    return MappingProxyType(dict(parts))


def _transitions(transitions: Sequence[Transition]) -> tuple[Transition, ...]:
    edges = tuple(transitions)
    for index, edge in enumerate(edges):
        if not isinstance(edge, Transition):
            raise DefinitionError(
                f"transitions[{index}] must be made by transition(...) or timeout(...)"
            )
        if edge.resolve is not None and not callable(edge.resolve):
            raise DefinitionError(f"transitions[{index}].resolve must be a function")
    return edges


def _selectors(selectors: Mapping[str, Derivation] | None) -> Mapping[str, Derivation]:
    for name, selector in (selectors or {}).items():
        _require_text(name, "each name in selectors")
        if not callable(selector):
            raise DefinitionError(f"selectors[{name!r}] must be a function")
    return MappingProxyType(dict(selectors or {}))


def _constant(value: Any, what: str) -> Any:
    """A function as it is, anything else frozen."""
    if callable(value):
        return value
    try:
        return freeze(value, label=what)
    except InvalidJsonValueError as error:
        raise DefinitionError(str(error)) from error


def _require_kind(part: object, kind: type, what: str, maker: str) -> None:
    if part is not None and not isinstance(part, kind):
        raise DefinitionError(
            f"{what} must be made by {maker}, not {type(part).__name__}"
        )


def _require_text(value: object, what: str) -> None:
    if not isinstance(value, str) or not value:
        raise DefinitionError(f"{what} must be a non-empty string, not {value!r}")
