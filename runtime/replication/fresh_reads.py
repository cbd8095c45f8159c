"""Fresh reads: has this epoch stood at some moment after the question?

An answer that depends on the state is true only if no other owner has acknowledged
anything newer. A new owner needs the promise of a member of the in-sync set before it
can claim; so a question is answered when every member, as the set is at the answer,
has said *after* the question that this epoch is the highest it has promised, and that
no claim of its own is on its way. Silence says nothing.

Members say so by an `Echo` to a `Probe`, or by acknowledging a frame that was *sent*
after the question (one merely received after it may have left before a takeover). A
write of the record that was sent after the question, and landed in this epoch, says it
for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .context import Context
from .message import Echo, Probe
from .output import Confirmed
from .peer import Peer

__all__ = ["FreshReads"]


class FreshReads:
    """Questions have rising numbers; an answer holds for all up to it."""

    __slots__ = ("_context", "_epoch", "asked", "confirmed")

    def __init__(self, context: Context, epoch: int, asked: int) -> None:
        self._context = context
        self._epoch = epoch
        self.asked = asked
        """The number of the last question; they go on over the epochs."""
        self.confirmed = asked

    def ask(self) -> int:
        self.asked += 1
        return self.asked

    def echoed(self, peer: Peer, echo: Echo) -> None:
        if echo.boot == peer.boot or peer.boot is None:
            peer.consent = max(peer.consent, min(echo.read, self.asked))

    def record_landed(self, question: int) -> None:
        """An own write that was sent after `question` landed, in this epoch."""
        self._confirm(min(question, self.asked))

    def settle(self, members: Sequence[Peer], now_ms: int) -> None:
        """Answer what is confirmed; probe who has not said so yet."""
        if self.confirmed == self.asked:
            return
        self._confirm(self._consented(members))
        if self.confirmed == self.asked:
            return
        context = self._context
        for peer in members:
            if peer.consent >= self.asked or not peer.ident:
                continue
            asked_since = max(peer.probed, peer.marked)
            pause = context.options.retransmit_ms
            if asked_since < self.asked or now_ms - peer.probed_at >= pause:
                peer.probed = self.asked
                peer.probed_at = now_ms
                probe = Probe(context.shard, self._epoch, peer.ident, self.asked)
                context.effects.send(peer.node, probe)

    def waits(self) -> bool:
        return self.confirmed < self.asked

    def _consented(self, members: Sequence[Peer]) -> int:
        """What every member, as the set is now, has consented to."""
        consented = self.asked
        for peer in members:
            consented = min(consented, self._consent_of(peer))
        return consented

    def _consent_of(self, peer: Peer) -> int:
        return peer.consent

    def _confirm(self, question: int) -> None:
        if question > self.confirmed:
            self.confirmed = question
            confirmed = Confirmed(self._context.shard, question)
            self._context.effects.confirmed.append(confirmed)
