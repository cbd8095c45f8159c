"""What operators can have done: a `Verb` for each thing, run with an `OperatorCommand`.

For those who write verbs. Who records, bounds and answers commands is `commands`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .rows import ProgressRow

__all__ = ["CommandElsewhere", "CommandFailed", "OperatorCommand", "Verb"]


class CommandFailed(Exception):
    """The command's no: a stable code, and what to do."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


class CommandElsewhere(Exception):
    """That node owns what the command is about ("": none does now). Who asks is to ask
    there, and does. Nothing was done here, or the command's `did` says what."""

    def __init__(self, node: str) -> None:
        self.node = node
        super().__init__(f"ask {node or 'again'}")


@dataclass(slots=True)
class OperatorCommand:
    """One asking. `attached`: bytes that were too long for `args`.

    `did` is a sentence on what is done, or may be, and stays done; until it is set
    nothing is, here or at a node that ran the command before.
    """

    id: str
    who: str
    why: str
    verb: str
    target: str
    args: Mapping[str, Any]
    attached: bytes = b""
    progress: ProgressRow | None = None
    did: str = ""

    def tell(self, done: int, total: int, text: str = "") -> None:
        """How far it is, for who asks meanwhile."""
        self.progress = ProgressRow(done=done, total=total, text=text)


@dataclass(frozen=True, slots=True)
class Verb:
    """What can be asked for by this name.

    `run` returns the outcome, a JSON object; it raises `CommandFailed`, or
    `CommandElsewhere` before it has done anything, or with the command's `did` set:
    then the next node goes on with it. It may be cancelled. `secret` names fields of
    the outcome that are told to who asks, and written nowhere.
    """

    name: str
    run: Callable[[OperatorCommand], Awaitable[Mapping[str, Any]]]
    secret: frozenset[str] = frozenset()
