"""How states travel to a learner that is too far behind for the log: both ends.

The owner notes its commit (the cut), then sends the committed states of all matches,
page by page; a state may be newer than the cut. From the cut on, the log follows.

A page 0 wipes what the learner holds, so it must be believed once only: it is meant
for one identity and one start of the learner's process, installs of an epoch are
numbered, and a replica that the record has in the in-sync set takes none.
"""

from __future__ import annotations

from .context import Context
from .message import InstallAcked, InstallPage, Piece
from .output import Feed, Install

__all__ = ["InstallFeed", "InstallTaker"]


class InstallFeed:
    """The owner's end: one page on its way at a time."""

    __slots__ = (
        "_context",
        "_number",
        "_page",
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
        """Of the page after the one on its way; None: that one is the last."""
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
        cursor: str | None,
        now_ms: int,
    ) -> None:
        """The host's next page, for the learner of `page`: (epoch, ident, boot)."""
        if self._page is not None:
            return  # an answer to a question that was asked once only
        epoch, ident, boot = page
        self.cursor = cursor
        self._page = InstallPage(
            self._context.shard,
            epoch,
            ident,
            self.id,
            self._number,
            self.base_seq,
            self.base_epoch,
            pieces,
            cursor is None,
            boot,
        )
        self.begun_at = now_ms
        self._send(now_ms)

    def acked(self, page: int) -> bool:
        """Returns whether that was the last page."""
        if self._page is None or page != self._number:
            return False
        if self.cursor is None:
            return True
        self._page = None
        self._number += 1
        self._ask(self.cursor)
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
        feed = Feed(self._context.shard, self.node, self.id, cursor)
        self._context.effects.feeds.append(feed)

    def _send(self, now_ms: int) -> None:
        assert self._page is not None
        self._sent_at = now_ms
        self._context.effects.send(self.node, self._page)


class InstallTaker:
    """The learner's end."""

    __slots__ = ("_answers", "_context", "_next", "_seen", "open")

    def __init__(self, context: Context) -> None:
        self._context = context
        self.open = False
        """What was here is wiped, and its replacement not whole: no log joins on."""
        self._seen = (0, 0)  # (epoch, install) that was begun last
        self._next = 0
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
            self._next = 0
            self.open = True
            self._answers.clear()
            context.data.wipe(0, 0, complete=False)
            wiped = True
        if install != self._seen or message.page > self._next:
            return wiped  # of an older install, or ahead of a page that was lost
        if message.page == self._next:
            if not self.open:
                return wiped
            self._apply(message)
        self._answer(node, message)
        return wiped

    def begin_empty(self) -> None:
        """The owner sends the log from its very first entry: no states are needed."""
        context = self._context
        self.open = False
        context.effects.installs.append(Install(context.shard, (), 0, True))
        context.data.wipe(0, 0, complete=False)  # the states of some pages, too
        context.data.wipe(0, 0, complete=True)

    def give_up(self) -> None:
        """Pages were lost before they were durable: the owner must begin again."""
        self.open = True
        self._next = 0
        self._answers.clear()
        self._context.data.wipe(0, 0, complete=False)

    def settle(self) -> None:
        """Answer what has become durable."""
        data = self._context.data
        while self._answers and self._answers[0][0] <= data.persisted_ticket:
            _, node, answer = self._answers.pop(0)
            self._context.effects.send(node, answer)

    def _apply(self, message: InstallPage) -> None:
        context = self._context
        page = Install(context.shard, message.pieces, message.page, message.last)
        context.effects.installs.append(page)
        self._next += 1
        if message.last:
            self.open = False
            context.data.wipe(message.base_seq, message.base_epoch, complete=True)

    def _answer(self, node: str, message: InstallPage) -> None:
        """The last page only when all of the install is durable."""
        context = self._context
        me = context.me
        answer = InstallAcked(
            context.shard,
            message.epoch,
            me.ident,
            me.boot,
            message.install,
            message.page,
        )
        if message.last:
            waits = (context.data.wiped_ticket, node, answer)
            if waits not in self._answers:
                self._answers.append(waits)
        else:
            context.effects.send(node, answer)
