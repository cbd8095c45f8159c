"""What the two kinds of draft, of a dict and of a list, have in common.

A part of a draft is a real dict or list that holds its content itself, so that C code,
encoders among them, reads it as it is. It begins as a shallow copy of a frozen
container. Frozen children are copied in their turn, when someone asks for them.

Rules:
- A frozen container stands in a part only where it stood in the origin. One that an
  author puts elsewhere becomes a part at once.
- A part remembers where it was touched, so that freezing it costs these places and one
  copy in C, not a look at every child.
- A part has one of four classes, which say what it may do: *flat* holds no frozen
  containers and reads natively; *tall* opens children as they are read; *freezing* is
  on its way and must not be met again; *finished* raises whatever is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, TypeAlias

from .errors import DraftError
from .frozen import HEIGHTS, Unfrozen, freeze_within, placed
from .jsonvalue import Json, JsonProblem
from .limits import SAFE_INT_MAX

__all__ = [
    "OPENERS",
    "Drafted",
    "Family",
    "adopted",
    "height_of",
    "refuse_finished",
    "settled",
]

FINISHED = (
    "this draft is finished: its value is part of the match now; "
    "ask for ctx.draft() in the resolver that changes G"
)


class Drafted(Unfrozen):
    """A part of a draft. `_family` is all parts opened from one root, the root first.

    `_looked` holds the places that were touched; the value is True where a child was
    taken out. It is None when any place may have changed.
    """

    __slots__ = ()

    _origin: Any
    _looked: dict[Any, bool] | None
    _family: Family
    _value: Any

    def _close(self) -> None:
        """End the use of this part, and of its value, for good."""
        raise NotImplementedError


Family: TypeAlias = list[Drafted]

OPENERS: Final[dict[type, Callable[[Any, Family], Any]]] = {}
"""By frozen class: what makes a part of a draft of it. Filled by the two kinds."""


def adopted(values: Iterable[Any], family: Family) -> list[Any]:
    """Values that an author puts into a draft, with frozen containers opened."""
    kept = list(values)
    if not OPENERS.keys().isdisjoint(map(type, kept)):
        for at, value in enumerate(kept):
            if type(value) in OPENERS:
                kept[at] = OPENERS[type(value)](value, family)
    return kept


def height_of(origin: int, old: int, new: int, children: Iterable[Any]) -> int:
    """The height of a container some of whose children were replaced.

    `origin` is its height before, `old` and `new` the greatest heights among what was
    replaced and what replaced it. Only when the tallest child may be gone do the
    children have to be asked.
    """
    inside = origin - 1
    if new < inside:
        if old < inside:
            new = inside
        else:
            heights = (HEIGHTS.get(kind, 0) for kind in set(map(type, children)))
            new = max(heights, default=0)
    return new + 1


def settled(child: Any, room: int, place: str | int) -> Json:
    """Freeze one child; the commonest kinds are told without a further call.

    Raises:
        JsonProblem: something in it is not JSON.
    """
    kind = type(child)
    if kind is int:
        if -SAFE_INT_MAX <= child <= SAFE_INT_MAX:
            return child
    elif kind is str and child.isascii():
        return child
    try:
        return freeze_within(child, room - 1)
    except JsonProblem as problem:
        raise placed(problem, place) from None


def refuse_finished(self: object, *args: object, **kwargs: object) -> NoReturn:
    """Stands for every method of a finished part."""
    raise DraftError(FINISHED)
