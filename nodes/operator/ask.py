"""Has a command carried out: finds the node for it, asks, and waits for the end.

The id of the command is drawn here, once. So whatever is lost on the way is asked for
again, at whichever node is right by then, and it remains one command: the node that
began it is asked what became of it, and if that one is gone, so says its record.
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from ..cluster_dir import ClusterDir
from ..operator_error import OperatorError
from .ask_cluster import ask_all, cluster_unreachable
from .ask_door import DOOR_TIMEOUT_S, DoorRefused, DoorUnreachable, ask_door
from .attachments import PIECE_BYTES, attached_mark
from .doors import Doors, Elsewhere, find_doors
from .operation_id import draw_operation_id
from .rows import MOVED_ON, OperationRow, ProgressRow, read_row
from .survey_rows import OutcomeRow

__all__ = ["OPERATE_S", "Outcome", "default_who", "operate"]

OPERATE_S = 30.0
"""For a command that takes no time; a failover fits into it."""

WAIT_S = 2.0
"""How long a door is asked to wait for the end of a command."""

PAUSE_S_MIN = 0.05
PAUSE_S_MAX = 1.0

WHO_MAX = 128

_A_WHILE = "the time that there was"

_AGAIN = frozenset({"busy", "no_owner", "retry", "stopping"})
"""Codes of doors that ask for patience: nothing was done."""


Outcome = OutcomeRow
"""A command that is done."""


def default_who() -> str:
    """Who sits here: user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no entry for this user, as in small containers
        user = "unknown"
    return f"{user}@{socket.gethostname()}"[:WHO_MAX]


async def operate(
    home: ClusterDir,
    verb: str,
    target: str,
    args: Mapping[str, Any] | None = None,
    *,
    node: str | None = None,
    match: str | None = None,
    who: str = "",
    why: str = "",
    timeout_s: float | None = OPERATE_S,
    attached: bytes | None = None,
    progress: Callable[[ProgressRow], None] = lambda row: None,
) -> Outcome:
    """Have a command carried out; return when it is done.

    At `node`; else at the owner of `match`; else at any node. `timeout_s` None: as
    long as the node that runs it says that it does. `progress` is told how far it is.

    Raises:
        OperatorError: Why it is not done, with the node's code; node_gone: the node is
            gone that ran it, and it may be done or not; operation_timeout;
            cluster_unreachable; door_unreachable; elsewhere: the right node is not
            reached from here.
    """
    asking = _Asking(home, node, match, progress)
    asking.fields = {
        "id": draw_operation_id(),
        "verb": verb,
        "target": target,
        "args": dict(args or {}),
        "who": (who or default_who())[:WHO_MAX],
        "why": why,
        "wait_s": WAIT_S,
    }
    if attached is not None:
        asking.attached = attached
        asking.fields["args"]["attached"] = attached_mark(attached)
    row: OperationRow | None = None
    with anyio.move_on_after(float("inf") if timeout_s is None else timeout_s):
        row = await asking.end()
    if row is None:
        raise asking.late(timeout_s)
    if row.state == "node_gone":
        raise OperatorError(
            "node_gone",
            f"{row.node} is gone, which ran the command {row.id}",
            hint="it may be done or not: look at what it was about; "
            f"hotseat audit show {row.id} tells what that was",
        )
    if row.state != "done":
        raise OperatorError(row.code, row.message)
    return Outcome(
        id=row.id,
        node=row.node,
        verb=row.verb,
        target=row.target,
        outcome=row.outcome,
    )


class _Asking:
    """One command, until its end is known."""

    def __init__(
        self,
        home: ClusterDir,
        node: str | None,
        match: str | None,
        progress: Callable[[ProgressRow], None],
    ) -> None:
        self.fields: dict[str, Any] = {}
        self.attached: bytes | None = None
        self._home = home
        self._fixed = node
        self._match = match
        self._progress = progress
        self._doors: Doors | None = None
        self._next = node or ""
        self._begun = ""  # the node that runs it
        self._last: OperatorError | None = None
        self._pause_s = PAUSE_S_MIN

    async def end(self) -> OperationRow:
        """
        Raises:
            OperatorError: It is refused, and nothing was done.
        """
        while True:
            try:
                row = await (self._look() if self._begun else self._ask())
            except DoorUnreachable as error:
                self._lost(error)
                if self._fixed is not None and not await self._begun_there():
                    raise
            except DoorRefused as error:
                if error.code == "unknown_operation" and self._begun:
                    self._begun = ""  # it was not for that node, after all
                elif error.code not in _AGAIN:
                    raise
                self._lost(error)
            else:
                if row is not None and row.code == MOVED_ON:
                    self._begun = ""  # the next node goes on with it
                    self._lost(OperatorError("no_owner", row.message))
                elif row is not None and row.state != "running":
                    return row
            await anyio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, PAUSE_S_MAX)

    def late(self, timeout_s: float | None) -> OperatorError:
        """Why there is no end to tell."""
        if self._begun or self._last is None:
            return OperatorError(
                "operation_timeout",
                f"the command {self.fields['id']} has not ended within {timeout_s:g} s",
                hint=f"hotseat audit show {self.fields['id']} tells what becomes of it",
            )
        return self._last

    async def _ask(self) -> OperationRow | None:
        node = self._next or await self._find()
        door = await self._door(node)
        if self.attached is not None:
            await self._attach(door, self.attached)
        timeout_s = WAIT_S + DOOR_TIMEOUT_S
        answer = await ask_door(door, "operate", timeout_s=timeout_s, **self.fields)
        elsewhere = answer.get("elsewhere")
        if elsewhere is None:
            return self._seen(answer)
        if elsewhere == self._next or self._fixed is not None:
            elsewhere = ""  # it knows no better: look anew, after a pause
        elif elsewhere:
            self._pause_s = PAUSE_S_MIN
        self._next = self._fixed or str(elsewhere)
        self._last = OperatorError(
            "no_owner", f"nobody serves {self.fields['target']} for {_A_WHILE}"
        )
        return None

    async def _look(self) -> OperationRow | None:
        """Ask what became of it: the node that runs it, or if it is silent all."""
        id = self.fields["id"]
        try:
            door = await self._door(self._begun)
            return self._seen(await ask_door(door, "operation", id=id, whole=True))
        except (DoorUnreachable, Elsewhere) as error:
            self._last = error
        return await self._looked_up()

    async def _begun_there(self) -> bool:
        """Whether anybody knows that it was begun."""
        return bool(self._begun) or await self._looked_up() is not None

    async def _looked_up(self) -> OperationRow | None:
        self._doors = doors = await find_doors(self._home)
        answers = await ask_all(doors, "operation", id=self.fields["id"])
        rows = [
            self._seen(answer)
            for answer in answers.values()
            if not isinstance(answer, OperatorError)
        ]
        for answer in answers.values():
            if isinstance(answer, DoorRefused) and self._begun and not rows:
                raise answer
        return max(rows, key=lambda row: row.state != "running", default=None)

    def _seen(self, answer: Mapping[str, Any]) -> OperationRow:
        row = read_row(OperationRow, answer["operation"])
        self._begun, self._pause_s = row.node, max(self._pause_s / 2, PAUSE_S_MIN)
        if row.progress is not None:
            self._progress(row.progress)
        return row

    def _lost(self, error: OperatorError) -> None:
        """Find the node anew: another one may be right by now."""
        self._last, self._doors = error, None
        self._next = self._fixed or ""

    async def _attach(self, door: str, data: bytes) -> None:
        for offset in range(0, max(1, len(data)), PIECE_BYTES):
            piece = data[offset : offset + PIECE_BYTES]
            await ask_door(
                door, "attach", id=self.fields["id"], offset=offset, data=piece
            )

    async def _door(self, node: str) -> str:
        """
        Raises:
            DoorUnreachable: It runs nowhere now.
            Elsewhere: It is not reached from here.
        """
        if self._doors is None:
            self._doors = await find_doors(self._home)
        away = self._doors.away.get(node)
        if away is not None and away.registered:
            raise away
        door = self._doors.of(node)
        if not door:
            raise DoorUnreachable(
                f"there is no node {node} that runs",
                hint="hotseat node list shows which there are",
            )
        return door

    async def _find(self) -> str:
        """Who owns the match, or any node that answers.

        Raises:
            OperatorError: cluster_unreachable; or all of them say no.
        """
        op = "identify" if self._match is None else "locate"
        fields = {} if self._match is None else {"match": self._match}
        self._doors = doors = await find_doors(self._home)
        answers = await ask_all(doors, op, **fields)
        given = {n: a for n, a in answers.items() if not isinstance(a, OperatorError)}
        if not given:
            for error in answers.values():
                if isinstance(error, DoorRefused):
                    raise error
            raise cluster_unreachable("no node of the cluster answers")
        if self._match is None:
            return next(iter(given))
        best = max(given.values(), key=lambda answer: int(answer["epoch"]))
        if not best["owner"]:
            raise DoorRefused("no_owner", f"nobody owns shard {best['shard']} now")
        return str(best["owner"])
