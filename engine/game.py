"""The values that a game is made of. Made by the functions of `definition.py`.

Rules: frozen through and through; nothing here checks, nothing here runs. A part that
may depend on the state is either a constant or a function of the state context;
`callable` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .jsonvalue import Json

if TYPE_CHECKING:
    from .config_schema import ConfigField
    from .context import (
        ImagineContext,
        ResolverContext,
        SetupContext,
        StateContext,
    )
    from .profile_commit import ProfileCommitContext
    from .step import Step
    from .undo import UndoRule

__all__ = [
    "Derivation",
    "Event",
    "Game",
    "Imagine",
    "LegalActions",
    "Migrate",
    "PlayerView",
    "Profile",
    "ProfileCommitter",
    "Redaction",
    "Rejected",
    "Resolver",
    "State",
    "Transition",
    "Views",
]

Derivation: TypeAlias = "Callable[[StateContext], Json]"
Resolver: TypeAlias = "Callable[[ResolverContext], object]"
LegalActions: TypeAlias = "Callable[[StateContext, str], Iterable[tuple[str, Json]]]"
Redaction: TypeAlias = "Callable[[Step, str | None], Json]"
PlayerView: TypeAlias = "Callable[[StateContext, str], Json]"
Imagine: TypeAlias = "Callable[[ImagineContext], Json]"
Migrate: TypeAlias = "Callable[[Json, str], Json]"
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
    undo: UndoRule | None = None
    """None: nothing is taken back."""
    resign: str | None = None
    """The event that gives up a seat; None: the one called `resign`, if there is."""
    migrate: Migrate | None = None
    """Makes its G of another version's; None: G is the same in both."""
    imagine: Imagine | None = None
    """Makes a G that could stand behind a view: for bots that look ahead."""
    compiled: Any = field(default=None, init=False, repr=False)
    """What `compile_game` made of it, once it was asked."""

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
    shows_all: bool = False
    """The public view shows all of G, as if there were none."""


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
