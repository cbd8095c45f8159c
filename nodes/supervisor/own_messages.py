"""What the node itself and its operators put into matches' mailboxes.

A message of the node's own is put or not, at once; whoever wants it asks again. What an
operator asks is answered when it is sure, as a player's action is.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

from ...runtime.actor import MatchActor
from ...runtime.actor_context import Intervened
from ...runtime.command import (
    Answer,
    Attach,
    Denied,
    Detach,
    Intervention,
    NoteDelivered,
)
from ...runtime.decision import refusal
from ...runtime.errors import MailboxFull
from ...runtime.lifecycle import ActorState

__all__ = ["REVISION_UNKNOWN", "OwnMessages"]

REVISION_UNKNOWN = -1
"""In a `Denied` of a match that is not here."""


class OwnMessages:
    """Stands between a supervisor and its actors."""

    def __init__(
        self,
        find: Callable[[str], MatchActor | None],
        absence: Callable[[str], str],
        problem: Callable[[str], str],
        use: Callable[[MatchActor], None],
    ) -> None:
        """`find` may raise `MailboxFull`; `absence` says why it found nothing, and
        `problem` why nothing can be committed for a match, as codes. `use` lets the
        actor work."""
        self._find = find
        self._absence = absence
        self._problem = problem
        self._use = use

    def put(self, match: str, message: Detach | Attach | NoteDelivered) -> bool:
        """False: not now, or not here; whoever wants it will ask again."""
        try:
            actor = self._find(match)
            if actor is None or actor.status is ActorState.QUARANTINED:
                return False
            actor.mailbox.put_own(message)
        except MailboxFull:
            return False
        self._use(actor)
        return True

    def ask(
        self, match: str, asked: Intervention, tell: Callable[[Answer], None]
    ) -> None:
        """Put an operator's command; `tell` is called once, perhaps before this
        returns, and hears `Applied` or `Denied`."""
        code = ""
        try:
            actor = self._find(match)
            if actor is None:
                code = self._absence(match)
            elif actor.status is ActorState.QUARANTINED:
                code = actor.quarantine_code
            elif actor.status is ActorState.STOPPED:
                code = "retry"
            else:
                code = self._problem(match)
                if not code:
                    actor.mailbox.put_own(Intervened(asked, tell))
        except MailboxFull as error:
            code = error.code
        if code or actor is None:
            tell(Denied(refusal(code), REVISION_UNKNOWN))
        else:
            self._use(actor)

    async def command(self, match: str, asked: Intervention) -> Answer:
        """As `ask`; waits for the answer, however long a commit takes."""
        answers: list[Answer] = []
        told = anyio.Event()

        def tell(answer: Answer) -> None:
            answers.append(answer)
            told.set()

        self.ask(match, asked, tell)
        await told.wait()
        return answers[0]
