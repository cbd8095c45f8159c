"""How states travel to a learner that is too far behind for the log: both ends.

The owner notes its commit (the cut), then sends the committed states of all matches,
page by page; a state may be newer than the cut. From the cut on, the log follows.

A page 0 wipes what the learner holds, so it must be believed once only: it is meant
for one identity and one start of the learner's process, installs of an epoch are
numbered, and a replica that the record has in the in-sync set takes none.

Nothing is believed to have arrived because it was sent: a page says how far each of
its matches is, and the learner's host says which of them it does not hold so. Those are
sent again, in pages of their own. The last page says what all lines come to; an install
that comes to anything else is not answered, and is begun anew.
"""

from __future__ import annotations

from .context import Context
from .manifest import Manifest
from .message import InstallAcked, InstallPage, ManifestLine, Piece
from .output import Feed, Install

__all__ = ["InstallFeed", "InstallTaker"]

MENDED_PAGES_MAX = 16
"""Of one install: pages that did not arrive as they were sent. Then it is given up, and
begun anew after a pause: what differs may be the owner's fault, or the memory's."""

_NAMED_MAX = 5
"""Matches that an alarm names."""


class InstallFeed:
    """The owner's end: one page on its way at a time."""

    __slots__ = (
        "_context",
        "_manifest",
        "_number",
        "_only",
        "_page",
        "_resume",
        "_sent_at",
        "base_epoch",
        "base_seq",
        "begun_at",
        "cursor",
        "id",
        "node",
    )

    def __init__(self, context: Context, node: str, install: int, now_ms: int) -> None:
        data = context.data
        base_epoch = data.log.epoch_at(data.commit)
        assert base_epoch is not None, (data.commit, data.log.base_seq)
        self._context = context
        self.node = node
        self.id = install
        self.base_seq = data.commit
        self.base_epoch = base_epoch
        self.cursor: str | None = ""
        """Behind what was sent of all matches; None: all of them were."""
        self._only: dict[str, None] = {}  # to be sent again, before anything else
        self._resume = ""  # behind what was sent of those
        self._manifest = Manifest()
        self._number = 0
        self._page: InstallPage | None = None
        self._sent_at = now_ms
        self.begun_at = now_ms
        """When the page on its way was given."""
        self._ask("")

    def give(
        self,
        page: tuple[int, str, int],
        pieces: tuple[Piece, ...],
        lines: tuple[ManifestLine, ...],
        cursor: str | None,
        now_ms: int,
    ) -> None:
        """The host's next page, for the learner of `page`: (epoch, ident, boot)."""
        if self._page is not None:
            return  # an answer to a question that was asked once only
        epoch, ident, boot = page
        if self._only:
            for line in lines:
                self._only.pop(line.match, None)
            self._resume = cursor or ""
            if cursor is None:
                self._only.clear()  # those that are left have gone meanwhile
        else:
            self.cursor = cursor
        self._manifest.add(lines)
        last = self.cursor is None and not self._only
        self._page = InstallPage(
            self._context.shard,
            epoch,
            ident,
            self.id,
            self._number,
            self.base_seq,
            self.base_epoch,
            pieces,
            last,
            boot,
            lines,
            self._manifest.digest() if last else b"",
        )
        self.begun_at = now_ms
        self._send(now_ms)

    def acked(self, page: int, differing: tuple[str, ...]) -> bool:
        """Returns whether that was the last page."""
        sent = self._page
        if sent is None or page != self._number:
            return False
        again = [line for line in sent.lines if line.match in differing]
        self._manifest.remove(again)
        if again:
            self._only |= {line.match: None for line in again}
            self._resume = ""
        if sent.last and not self._only:
            return True
        self._page = None
        self._number += 1
        self._ask(self._resume if self._only else self.cursor or "")
        return False

    def settle(self, now_ms: int) -> None:
        pause = self._context.options.retransmit_ms
        if self._page is not None and now_ms - self._sent_at >= pause:
            self._send(now_ms)

    def due_ms(self) -> int | None:
        if self._page is None:
            return None
        return self._sent_at + self._context.options.retransmit_ms

    def stalled(self, now_ms: int) -> bool:
        """Its page was given long ago, and nobody answered."""
        patience = 4 * self._context.options.evict_ms
        return self._page is not None and now_ms - self.begun_at > patience

    def _ask(self, cursor: str) -> None:
        only = tuple(sorted(self._only))
        feed = Feed(self._context.shard, self.node, self.id, cursor, only)
        self._context.effects.feeds.append(feed)

    def _send(self, now_ms: int) -> None:
        assert self._page is not None
        self._sent_at = now_ms
        self._context.effects.send(self.node, self._page)


class InstallTaker:
    """The learner's end."""

    __slots__ = (
        "_answers",
        "_context",
        "_differing",
        "_given_up",
        "_mended",
        "_next",
        "_seen",
        "_unjudged",
        "open",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self.open = False
        """What was here is wiped, and its replacement not whole: no log joins on."""
        self._seen = (0, 0)  # (epoch, install) that was begun last
        self._next = 0
        self._unjudged: tuple[Install, str, InstallPage] | None = None
        self._differing: tuple[str, ...] = ()  # of the page before `_next`
        self._mended = 0  # pages of which something is sent again
        self._given_up = False
        self._answers: list[tuple[int, str, InstallAcked]] = []  # (ticket, node, …)

    def take(self, node: str, message: InstallPage) -> bool:
        """A page of an owner that is not fenced, meant for this replica.

        Returns whether what was here is wiped for it.
        """
        context = self._context
        wiped = False
        install = (message.epoch, message.install)
        if message.page == 0 and install > self._seen and not context.in_isr():
            self._seen = install
            self._forget()
            context.data.wipe(0, 0, complete=False)
            wiped = True
        if install != self._seen or message.page > self._next:
            return wiped  # of an older install, or ahead of a page that was lost
        if message.page < self._next:
            self._answer(node, message)
        elif self.open and self._unjudged is None:
            page = Install(
                context.shard,
                message.pieces,
                message.page,
                message.last,
                message.lines,
            )
            context.effects.installs.append(page)
            self._unjudged = (page, node, message)
        return wiped

    def judged(self, page: Install, differing: tuple[str, ...], held: bytes) -> None:
        """The host has the page: but for these matches it is as its lines say, and all
        that was, in this install, comes to `held`."""
        if self._unjudged is None or self._unjudged[0] is not page:
            return  # its install was given up meanwhile, or it is not an owner's
        _, node, message = self._unjudged
        self._unjudged = None
        self._next += 1
        self._differing = differing
        if differing:
            self._mended += 1
            self._tell_differing(differing)
        elif message.last and message.manifest not in (b"", held):
            self._given_up = True
            self._context.alarm(
                "manifest_differs",
                f"the states that {node} sent do not come to what it says: this"
                " replica does not join, and is sent all of them anew",
            )
        elif message.last:
            self.open = False
            base = message.base_seq, message.base_epoch
            self._context.data.wipe(*base, complete=True)
        self._answer(node, message)

    def begin_empty(self) -> None:
        """The owner sends the log from its very first entry: no states are needed."""
        context = self._context
        self.open = False
        context.effects.installs.append(Install(context.shard, (), 0, True))
        context.data.wipe(0, 0, complete=False)  # the states of some pages, too
        context.data.wipe(0, 0, complete=True)

    def give_up(self) -> None:
        """Pages were lost before they were durable: the owner must begin again."""
        self._forget()
        self._context.data.wipe(0, 0, complete=False)

    def settle(self) -> None:
        """Answer what has become durable."""
        data = self._context.data
        while self._answers and self._answers[0][0] <= data.persisted_ticket:
            _, node, answer = self._answers.pop(0)
            self._context.effects.send(node, answer)

    def _forget(self) -> None:
        self.open = True
        self._next = 0
        self._unjudged = None
        self._differing = ()
        self._mended = 0
        self._given_up = False
        self._answers.clear()

    def _tell_differing(self, differing: tuple[str, ...]) -> None:
        named = ", ".join(differing[:_NAMED_MAX])
        more = len(differing) - _NAMED_MAX
        if self._mended > MENDED_PAGES_MAX:
            self._given_up = True
        then = "all is sent anew" if self._given_up else "they are sent again"
        self._context.alarm(
            "manifest_differs",
            f"matches are not here as the owner sent them: {named}"
            + (f" and {more} more" if more > 0 else "")
            + f"; this replica does not join with them, {then}",
        )

    def _answer(self, node: str, message: InstallPage) -> None:
        """The last page only when all of the install is durable; not at all, if it is
        to be begun anew."""
        context = self._context
        me = context.me
        if self._given_up:
            return
        newest = message.page == self._next - 1
        answer = InstallAcked(
            context.shard,
            message.epoch,
            me.ident,
            me.boot,
            message.install,
            message.page,
            self._differing if newest else (),
        )
        if message.last and not self.open:
            waits = (context.data.wiped_ticket, node, answer)
            if waits not in self._answers:
                self._answers.append(waits)
        else:
            context.effects.send(node, answer)
