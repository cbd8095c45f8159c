"""What a client has seen of a match: the newest view, and the last few where asked.

Pure. Rule: the revision never goes back, whatever order links deliver in. A view
that nobody took is replaced by the next one, so a slow reader costs one view; a slot
that keeps some costs so many.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import Raw

from ...runtime.codec import unpack
from ...runtime.frame import ViewUpdate

__all__ = ["KeptUpdate", "UndoAsked", "View", "ViewSlot", "view_of"]

KEPT_BYTES_MAX = 16 * 1024
"""Of one slot's kept updates, the newest aside: there is a slot for each player."""

_NIL = Raw(b"\xc0")  # msgpack's null
_NO_STEPS = b"\x90"  # and an empty array


@dataclass(frozen=True, slots=True)
class UndoAsked:
    """Somebody waits for leave to take moves back."""

    revision: int
    """At which they asked; it names the request."""
    seat: str
    to: int
    """The revision to return to."""
    agreed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What a seat (or a spectator: seat "") may see at one committed revision.

    `legal` has (event, payload) pairs, or None where they were not asked for or
    the game does not list them.
    """

    match: str
    seat: str
    revision: int
    turn: int
    state: str
    active_players: tuple[str, ...]
    deadline_ms: int | None
    ended: bool
    view: Any
    result: Any
    legal: tuple[tuple[str, Any], ...] | None
    packed_steps: bytes | Raw = field(default=_NO_STEPS, repr=False, compare=False)
    undo: UndoAsked | None = None
    shown: Any = field(default=None, repr=False, compare=False)
    """What a page draws beside the view, where that was asked for."""
    history: int = 0
    """It rises when the match went on from an old copy, after a loss: then, and only
    then, the revision may be lower than before."""

    @property
    def my_turn(self) -> bool:
        """True when this seat may act."""
        return not self.ended and self.seat in self.active_players

    @property
    def steps(self) -> tuple[Any, ...]:
        """The redacted steps since the update before; read anew at each call.

        That update need not be the view before this one: a reader may miss some.
        """
        return tuple(unpack(self.packed_steps) or ())


class KeptUpdate:
    """An update that is kept for those who want every one. Read it, nothing else.

    `memo` is room for what a reader makes of it, so that others need not make it again.
    """

    def __init__(self, update: ViewUpdate) -> None:
        self._update = update
        self.bytes = sum(
            memoryview(part).nbytes for part in (update.view, update.steps)
        )
        self.memo: dict[Any, Any] = {}

    @cached_property
    def view(self) -> View:
        return view_of(self._update)

    @property
    def history(self) -> int:
        return self._update.history


@dataclass(slots=True)
class ViewSlot:
    """One watched seat: the last view accepted.

    `edition` rises with each view that is news; a reader keeps the one it had. The
    last `keep` of them are kept whole, as far as they are not too large together.
    """

    edition: int = 0
    dropped: int = 0
    keep: int = 0
    _kept: deque[KeptUpdate] = field(default_factory=deque, repr=False)
    _update: ViewUpdate | None = None
    _decoded: View | None = field(default=None, repr=False)

    def accept(self, update: ViewUpdate) -> bool:
        """Keep `update` if it is newer than what was seen, and say so.

        Of a revision that was seen, only what was not asked for before can be news.
        """
        seen = self._update
        news, known = _place(update), _place(seen)
        if seen is not None and news <= known:
            if news < known:
                self.dropped += 1
                return False
            legal = seen.legal == _NIL and update.legal != _NIL
            if not legal and (seen.shown != _NIL or update.shown == _NIL):
                return False
        self._update, self._decoded = update, None
        self.edition += 1
        if self.keep:
            self._kept.append(KeptUpdate(update))
            while len(self._kept) > self.keep or self._too_large():
                self._kept.popleft()
        return True

    def _too_large(self) -> bool:
        sizes = sum(kept.bytes for kept in self._kept)
        return len(self._kept) > 1 and sizes > KEPT_BYTES_MAX

    @property
    def oldest(self) -> int:
        """A reader at this edition can have every update that is kept."""
        return self.edition - len(self._kept)

    def after(self, edition: int) -> list[KeptUpdate]:
        """The updates that a reader at `edition` has not had; if some of them are gone,
        the newest alone."""
        if not self._kept or edition >= self.edition:
            return []
        first = edition - self.oldest
        return list(self._kept)[first:] if first >= 0 else [self._kept[-1]]

    @property
    def revision(self) -> int:
        """Of the last view; -1 before the first."""
        return _place(self._update)[1]

    @property
    def history(self) -> int:
        """Of the last view; 0 before the first."""
        return _place(self._update)[0]

    @property
    def ended(self) -> bool:
        return self._update is not None and self._update.ended

    @property
    def view(self) -> View | None:
        """The last view accepted. Decoded when first asked for."""
        if self._decoded is None and self._update is not None:
            self._decoded = view_of(self._update)
        return self._decoded


def _place(update: ViewUpdate | None) -> tuple[int, int]:
    """Views are shown in the order of this."""
    return (0, -1) if update is None else (update.history, update.revision)


def view_of(update: ViewUpdate) -> View:
    """Read what a node sent.

    Raises:
        FrameMalformed: A part of it is not JSON in msgpack.
    """
    legal = unpack(update.legal)
    return View(
        match=update.match,
        seat=update.seat,
        revision=update.revision,
        turn=update.turn,
        state=update.state,
        active_players=update.active_players,
        deadline_ms=update.deadline_ms,
        ended=update.ended,
        view=unpack(update.view),
        result=unpack(update.result),
        legal=None if legal is None else tuple((e, p) for e, p in legal),
        packed_steps=update.steps,
        undo=None if update.undo is None else UndoAsked(*update.undo),
        shown=unpack(update.shown),
        history=update.history,
    )
