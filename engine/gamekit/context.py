"""What the functions of a gamekit game see: read-only values made for one call.

`G` is the author's own, without what gamekit keeps in it. `C` is the computed values.
Both are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, overload

import msgspec
from msgspec.structs import force_setattr

from ..context import StateContext
from ..draft import draft
from ..frozen import FDict, freeze
from ..jsonvalue import Json
from ..profile_change import ProfileChanges
from ..rng import Rng
from ..turn import Turn
from .outcome import FINISHED, Outcome, author_state
from .turn_policy import TurnPolicy

# A bare `MoveContext` is one of any arguments; `MoveContext[Place]` is typed.
# Type checkers bring this module along; nothing is installed or imported for it.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ..context import ResolverContext

    A = TypeVar("A", default=Json)
else:
    from typing import TypeVar

    A = TypeVar("A")

B = TypeVar("B")

__all__ = [
    "ComputedContext",
    "MoveContext",
    "PhaseContext",
    "Rules",
    "TimeoutContext",
]

CURRENT_PLAYER = "currentPlayer"
"""The selector that gamekit adds; it wins over a computed value of this name."""


class ComputedContext(msgspec.Struct, frozen=True, gc=False):
    """For computed values, which follow from this alone."""

    G: FDict
    phase: str
    turn: Turn


class Reading(msgspec.Struct, gc=False):
    """What was read of one state so far: it serves everyone who is asked about it."""

    G: FDict
    """Without what is not the author's."""
    values: dict[str, Json]
    """The computed values that somebody wanted."""
    seen: ComputedContext | None = None
    C: FDict | None = None


class Rules(msgspec.Struct, frozen=True, gc=False):
    """What contexts need to know of the game."""

    computed: Mapping[str, Callable[[ComputedContext], Json]]
    turn: TurnPolicy

    def read(self, core: StateContext | ResolverContext) -> Reading:
        """Begin to read a state, or go on where the last function left off."""
        if type(core) is not StateContext:
            return Reading(author_state(core.G), {})
        if core.memo is None:
            force_setattr(core, "memo", Reading(author_state(core.G), {}))
        reading: Reading = core.memo
        return reading

    def value(
        self, name: str, core: StateContext | ResolverContext, reading: Reading
    ) -> Json:
        """A computed value; a snapshot that has derived it has it as a selector."""
        if name in reading.values:
            return reading.values[name]
        if name in core.derived.selectors and name != CURRENT_PLAYER:
            return core.derived.selectors[name]
        if reading.seen is None:
            position = core.position
            turn = self.turn.read(core.match["players"], position.turn)
            reading.seen = ComputedContext(reading.G, position.name, turn)
        value = reading.values[name] = self.computed[name](reading.seen)
        return value


class PhaseContext(msgspec.Struct, frozen=True, gc=False):
    """For views, legal actions, and what a phase says of itself."""

    core: StateContext | ResolverContext
    """The context of the core that this one stands for."""
    rules: Rules
    _reading: Reading | None = None

    @property
    def G(self) -> FDict:
        """The state of the match, as `setup` and the patches of moves made it."""
        return self._read().G

    @property
    def C(self) -> FDict:
        """The computed values, by name."""
        reading = self._read()
        if reading.C is None:
            value, core = self.rules.value, self.core
            values = {name: value(name, core, reading) for name in self.rules.computed}
            reading.C = freeze(values, label="the computed values")
        return reading.C

    def _read(self) -> Reading:
        if self._reading is None:
            force_setattr(self, "_reading", self.rules.read(self.core))
        return self._reading  # type: ignore[return-value]

    @property
    def phase(self) -> str:
        """The phase; after the end `__gamekit_finished`."""
        return self.core.position.name

    @property
    def over(self) -> bool:
        """Whether the match is finished: a view may show then what was hidden."""
        return self.core.position.name == FINISHED

    @property
    def turn(self) -> Turn:
        """Whose turn it is, and which."""
        core = self.core
        return self.rules.turn.read(core.match["players"], core.position.turn)

    @property
    def match(self) -> FDict:
        """Who plays, and with what configuration."""
        return self.core.match

    @property
    def now(self) -> int | float:
        """The time in milliseconds."""
        return self.core.now

    @property
    def players(self) -> Sequence[str]:
        """The seats that play, in the order of their turns."""
        players: Sequence[str] = self.core.match["players"]
        return players

    @property
    def profiles(self) -> Mapping[str, Json]:
        """The profiles of the players, by seat; empty when there are none."""
        profiles: Mapping[str, Json] = self.core.match.get("profiles") or {}
        return profiles


class _Acting(PhaseContext, frozen=True, gc=False):
    """What a move and a timeout have in common: they may change the match."""

    if TYPE_CHECKING:
        core: ResolverContext

    @property
    def rng(self) -> Rng:
        """The match's randomness."""
        return self.core.rng

    @property
    def profile(self) -> ProfileChanges:
        """Makes the deltas of an outcome's `profile`."""
        return ProfileChanges(self.profiles)

    def draft(self) -> Json:
        """G as if it could be changed: change it, and return it as the patch.

        The same draft whenever it is asked within one call.
        """
        if self.core.drafted is None:
            force_setattr(self.core, "drafted", draft(self.G))
        return self.core.drafted


class MoveContext(_Acting, Generic[A], frozen=True, gc=False):
    """For moves; `MoveContext[Place]` has `args` of that type, `[None]` has none."""

    args: A = None  # type: ignore[assignment]
    player_id: str | None = None
    """Who acts; None in a move that a timeout enqueued."""

    @property
    def player(self) -> str:
        """The seat that acts.

        Raises:
            LookupError: nobody does: a timeout enqueued this move.
        """
        if self.player_id is None:
            raise LookupError(
                "nobody acts in a move that a timeout enqueued; its ctx.player_id is "
                "None"
            )
        return self.player_id


class TimeoutContext(_Acting, frozen=True, gc=False):
    """For `on_timeout`. The player is the one whose turn it is."""

    @property
    def player(self) -> str:
        """The seat whose turn it is."""
        return self.turn.current_player

    @overload
    def run(self, move: Callable[[MoveContext[None]], Outcome]) -> Outcome: ...
    @overload
    def run(self, move: Callable[[MoveContext[B]], Outcome], args: B) -> Outcome: ...
    def run(self, move: Callable[..., Outcome], args: object = None) -> Outcome:
        """What a move answers, made by `player`; in whichever phase it is allowed."""
        ctx = MoveContext(self.core, self.rules, args=args, player_id=self.player)
        return move(ctx)
