"""What a match remembers of its operators' commands.

Enough to do each once, and to undo the last edit or upgrade.

Pure values: they are part of a match's state, so their bounds are constants.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ..engine.jsonvalue import Json

__all__ = [
    "NO_INTERVENTIONS",
    "OP_LENGTH_MAX",
    "REMEMBERED_OPS_MAX",
    "WHO_LENGTH_MAX",
    "WHY_LENGTH_MAX",
    "Interventions",
    "RememberedOp",
    "Reversal",
]

# Commands whose answers are remembered. An operator repeats one within minutes, and a
# match has few.
REMEMBERED_OPS_MAX: Final = 32

# Characters of a command's id, of an operator's name, and of what they say about it.
OP_LENGTH_MAX: Final = 64
WHO_LENGTH_MAX: Final = 128
WHY_LENGTH_MAX: Final = 1_000


class RememberedOp(msgspec.Struct, frozen=True):
    """A command that was done: its id, a digest of it, and its answer."""

    op: str
    content: bytes
    revision: int
    index: int


class Reversal(msgspec.Struct, frozen=True):
    """How to undo an edit or an upgrade, until the match is played on."""

    revision: int
    """That it led to. Only there it can be undone."""
    version: str
    """Of the game, before it."""
    G: Json
    """Before it."""


class Interventions(msgspec.Struct, frozen=True):
    """See the module."""

    ops: tuple[RememberedOp, ...] = ()
    """The last ones, oldest first."""
    floor: str = ""
    """The greatest id that was forgotten: ids rise with time, so that a smaller one may
    have been done, and is never done again."""
    edited: Reversal | None = None
    upgraded: Reversal | None = None
    left: tuple[str, ...] = ()
    """Versions of the game whose G was made another since: there is no way back to
    them without a migration."""

    def judge(
        self, op: str, content: bytes
    ) -> RememberedOp | Literal["key_reused", "expired_key"] | None:
        """What is known of a command; None: nothing, it is to be judged."""
        for known in self.ops:
            if known.op == op:
                return known if known.content == content else "key_reused"
        return "expired_key" if op <= self.floor else None

    def remember(self, done: RememberedOp) -> Interventions:
        """The same with one more command done."""
        ops, floor = (*self.ops, done), self.floor
        if len(ops) > REMEMBERED_OPS_MAX:
            floor, ops = max(floor, ops[0].op), ops[1:]
        return msgspec.structs.replace(self, ops=ops, floor=floor)

    def played_on(self) -> Interventions:
        """The same when nothing can be undone any more."""
        if self.edited is None and self.upgraded is None:
            return self
        return msgspec.structs.replace(self, edited=None, upgraded=None)


NO_INTERVENTIONS: Final = Interventions()
