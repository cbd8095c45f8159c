"""What a game says about taking back: who may, who must agree, how far, past what.

A game without it takes nothing back. How a takeback goes is `takeback.py`'s matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from .definition_check import require_text
from .errors import DefinitionError
from .limits import UNDO_BACK_MAX

__all__ = ["UndoAgree", "UndoAsk", "UndoRule", "check_reveals", "undo"]

UndoAsk: TypeAlias = Literal["mover", "anyone"]
UndoAgree: TypeAlias = Literal["opponents", "nobody"]

_ASK: Final = get_args(UndoAsk)
_AGREE: Final = get_args(UndoAgree)


@dataclass(frozen=True, slots=True)
class UndoRule:
    """Made by `undo`."""

    ask: UndoAsk
    agree: UndoAgree
    back: int
    past_random: bool
    reveals: tuple[str, ...]


def undo(
    *,
    ask: UndoAsk = "mover",
    agree: UndoAgree = "opponents",
    back: int = 1,
    past_random: bool = False,
    reveals: Iterable[str] = (),
) -> UndoRule:
    """Let a match go back to an earlier revision.

    `ask`: "mover" may ask to go back to before an action of their own, "anyone" who
    sits in the match to before any action or timeout. `agree`: all "opponents" must,
    or "nobody". `back` is how many of the last actions and timeouts can be taken back.

    What players have learnt cannot be taken back: a draw of the rng, or one of the
    events in `reveals` (those by which somebody sees what was hidden), is never undone
    unless the game says `past_random`.

    Raises:
        DefinitionError: a part is of the wrong kind.
    """
    for given, known, what in ((ask, _ASK, "ask"), (agree, _AGREE, "agree")):
        if given not in known:
            choice = " or ".join(f'"{name}"' for name in known)
            raise DefinitionError(f"{what} of an undo is {choice}, not {given!r}")
    if type(back) is not int or not 1 <= back <= UNDO_BACK_MAX:
        raise DefinitionError(
            f"back of an undo is between 1 and {UNDO_BACK_MAX} actions, not {back!r}"
        )
    if type(past_random) is not bool:
        raise DefinitionError(
            f"past_random of an undo is True or False, not {past_random!r}"
        )
    if isinstance(reveals, str):
        raise DefinitionError(f'reveals of an undo is a list: ["{reveals}"]')
    names = tuple(reveals)
    for name in names:
        require_text(name, "each of the reveals of an undo")
    return UndoRule(ask, agree, back, past_random, names)


def check_reveals(rule: UndoRule | None, events: Collection[str]) -> None:
    """Refuse an undo that names an event which the game does not have.

    Raises:
        DefinitionError: it does.
    """
    for name in () if rule is None else rule.reveals:
        if name not in events:
            raise DefinitionError(
                f'reveals of the undo names "{name}", which is no event of the game'
            )
