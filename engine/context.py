"""What author code sees: read-only values made for one call.

G and the match are frozen; `rng` alone changes, and belongs to the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from .draft import draft
from .frozen import FDict
from .jsonvalue import Json
from .profile_change import ProfileChanges
from .rng import Rng
from .snapshot import Derived, Position
from .turn import Turn, turn_of

# A bare `ResolverContext` is one of any payload; `ResolverContext[Place]` is typed.
# Type checkers bring this module along; nothing is installed or imported for it.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    P = TypeVar("P", default=Json)
else:
    from typing import TypeVar

    P = TypeVar("P")

__all__ = [
    "EventInput",
    "ImagineContext",
    "ResolverContext",
    "SetupContext",
    "StateContext",
]


class SetupContext(msgspec.Struct, frozen=True):
    """For `setup`. Profiles, read by the game's `parse`, are in `match`."""

    match: FDict
    now: int | float
    seed: str

    @property
    def players(self) -> Sequence[str]:
        """The seats that play, in the order of their turns."""
        players: Sequence[str] = self.match["players"]
        return players

    @property
    def profiles(self) -> Mapping[str, Json]:
        """The profiles of the players, by seat; empty when there are none."""
        profiles: Mapping[str, Json] = self.match.get("profiles") or {}
        return profiles


class StateContext(msgspec.Struct, frozen=True):
    """For derivations, where `derived` is still empty, and for views."""

    G: Json
    position: Position
    derived: Derived
    match: FDict
    now: int | float
    memo: Any = None
    """What a layer above the core has made of this state, for whoever asks next."""

    @property
    def players(self) -> Sequence[str]:
        """The seats that play, in the order of their turns."""
        players: Sequence[str] = self.match["players"]
        return players

    @property
    def turn(self) -> Turn:
        """The turn read as a round robin over the players."""
        return turn_of(self.match["players"], self.position.turn)


class ImagineContext(msgspec.Struct, frozen=True):
    """For `imagine`: what a seat sees, and chance to fill in what it does not.

    `rng` is not the match's: it begins anew each time the game is asked.
    """

    view: Json
    seat: str
    position: Position
    match: Mapping[str, Json]
    now: int | float
    rng: Rng

    @property
    def players(self) -> Sequence[str]:
        """The seats that play, in the order of their turns."""
        players: Sequence[str] = self.match["players"]
        return players

    @property
    def turn(self) -> Turn:
        """The turn read as a round robin over the players."""
        return turn_of(self.players, self.position.turn)


class EventInput(msgspec.Struct, Generic[P], frozen=True):
    """The event a resolver answers.

    `payload` is of the declared type when the event declares one, else JSON.
    """

    kind: str
    payload: P


class ResolverContext(msgspec.Struct, Generic[P], frozen=True):
    """For resolvers; `ResolverContext[Place]` has an `event.payload` of that type.

    `player_id` is who acted, in the internal events after the action too; None in a
    timeout and what follows it.
    """

    G: Json
    position: Position
    derived: Derived
    match: FDict
    now: int | float
    event: EventInput[P]
    player_id: str | None
    action_id: str
    rng: Rng
    drafted: Json = None
    """What `draft()` gave, once it was asked."""

    def draft(self) -> Json:
        """G as if it could be changed: change it, and return it as the new G.

        The same draft whenever it is asked within one call. See `draft.py`.

        Raises:
            DraftError: G is neither a dict nor a list.
        """
        if self.drafted is None:
            msgspec.structs.force_setattr(self, "drafted", draft(self.G))
        return self.drafted

    @property
    def players(self) -> Sequence[str]:
        """The seats that play, in the order of their turns."""
        players: Sequence[str] = self.match["players"]
        return players

    @property
    def profiles(self) -> Mapping[str, Json]:
        """The profiles of the players, by seat; empty when there are none."""
        profiles: Mapping[str, Json] = self.match.get("profiles") or {}
        return profiles

    @property
    def profile(self) -> ProfileChanges:
        """Makes the deltas of a result's `profile`."""
        return ProfileChanges(self.profiles)

    @property
    def turn(self) -> Turn:
        """The turn read as a round robin over the players."""
        return turn_of(self.match["players"], self.position.turn)
