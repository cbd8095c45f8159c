"""How an owner's log reaches the others: batches, windows, resends, installs.

Frames are numbered over all replicas (`serial`): an answer tells what it answers, so
what was sent before a replica began anew proves nothing about it. Sending is pipelined
within a window; what is not answered is sent again from behind `match`.
"""

from __future__ import annotations

from .context import Context
from .install import InstallFeed
from .message import Append, Entry, InstallAcked, ManifestLine, Nacked, Piece
from .parcel import is_parcel
from .peer import Peer

__all__ = ["Feeder"]


class Feeder:
    """Sends what an owner of `epoch` has."""

    __slots__ = (
        "_batch",
        "_batch_first",
        "_context",
        "_epoch",
        "_installs",
        "_since",
        "sent_seq",
        "serial",
    )

    def __init__(self, context: Context, epoch: int, now_ms: int) -> None:
        self._context = context
        self._since = now_ms
        self._epoch = epoch
        self._installs = 0
        self._batch: tuple[Entry, ...] = ()
        self._batch_first = 0
        self.serial = 0
        """Of the last frame."""
        self.sent_seq = context.data.last_seq
        """No entry beyond it was sent to anybody (in this epoch)."""

    def feed(self, peer: Peer, question: int, now_ms: int) -> None:
        """Send what there is for this replica."""
        if peer.void or peer.broken:
            return
        if self._is_away(peer, now_ms):
            # Nothing is sent into the void again and again; when its node is heard,
            # it goes on where it stopped.
            peer.sent_at = now_ms
            return
        if peer.install is not None:
            if peer.install.stalled(now_ms):
                peer.begin_anew(self.serial, peer.boot)
            else:
                peer.install.settle(now_ms)
            return
        data = self._context.data
        if peer.next is None:
            if not self._worth_asking(peer):
                return
            if not peer.awaiting or self._overdue(peer, now_ms):
                # Where does it stand? Its answer tells.
                self._send(peer, data.last_seq, (), question, now_ms)
            return
        overdue = self._overdue(peer, now_ms)
        if overdue:
            peer.resume()
        if peer.next <= data.log.base_seq:
            # The log went on without this learner: it needs states now.
            assert peer.learner, (peer.node, peer.next, data.log.base_seq)
            self._begin_install(peer, now_ms)
            return
        if overdue:
            peer.resent = self.serial + 1
            if not self._send_window(peer, question, now_ms):
                self._send(peer, peer.has, (), question, now_ms)
            return
        if self._send_window(peer, question, now_ms):
            return
        if peer.awaiting:
            return
        pause = self._context.options.heartbeat_ms
        lags = peer.commit_sent < data.commit and now_ms - peer.sent_at >= pause
        if lags or not peer.heard:
            self._send(peer, peer.next - 1, (), question, now_ms)

    def due_ms(self, peer: Peer) -> int | None:
        """When `feed` has to look at it again."""
        if peer.install is not None:
            due = peer.install.due_ms()
            pause = self._context.options.retransmit_ms
            return None if due is None else max(due, peer.sent_at + pause)
        if peer.void or peer.broken:
            return None
        if peer.next is None and not self._worth_asking(peer):
            return None
        options = self._context.options
        data = self._context.data
        if peer.awaiting:
            return max(peer.sent_at, peer.progress_at) + options.retransmit_ms
        if peer.next is None or not peer.heard or peer.next <= data.last_seq:
            # Its node is not heard now: an idle owner must look again by itself.
            return peer.sent_at + options.retransmit_ms
        if peer.commit_sent < data.commit:
            return peer.sent_at + options.heartbeat_ms
        return None

    def nacked(self, peer: Peer, message: Nacked, now_ms: int) -> None:
        """A frame did not join on there."""
        if message.serial < peer.nacks_from:
            return
        if not peer.learner:
            if message.serial == peer.resent:
                # It has acknowledged `match`, and a frame right behind it, sent after
                # that acknowledgement arrived, does not join on.
                peer.broken = True
                self._context.alarm(
                    "acknowledged_lost",
                    f"{peer.node} acknowledged up to {peer.match} and now stands at"
                    f" {message.commit}",
                )
            peer.resume()
            peer.resent = self.serial + 1
        else:
            self.place(peer, max(message.commit, peer.match), now_ms)
        peer.nacks_from = self.serial + 1
        # A learner that can be given neither entries nor states is asked in time again.
        peer.awaiting = peer.next is None and peer.install is None

    def place(self, peer: Peer, commit: int, now_ms: int) -> None:
        """A learner stands at `commit`: go on from there, by log or by states."""
        data = self._context.data
        if commit > data.last_seq:
            self._context.alarm(
                "learner_ahead",
                f"{peer.node} has {commit} committed, this owner has only"
                f" {data.last_seq}: it is given the states anew",
            )
        if not peer.position(commit, data.log):
            self._begin_install(peer, now_ms)

    def give(
        self,
        peer: Peer,
        install: int,
        pieces: tuple[Piece, ...],
        lines: tuple[ManifestLine, ...],
        cursor: str | None,
        now_ms: int,
    ) -> None:
        """A page of states from the host."""
        feed = peer.install
        if feed is not None and feed.id == install and peer.boot is not None:
            page = (self._epoch, peer.ident, peer.boot)
            feed.give(page, pieces, lines, cursor, now_ms)

    def installed(self, peer: Peer, message: InstallAcked, now_ms: int) -> None:
        feed = peer.install
        if feed is None or feed.id != message.install:
            return
        if feed.acked(message.page, message.differing):
            peer.install = None
            peer.valid_from = peer.nacks_from = self.serial + 1
            if not peer.position(feed.base_seq, self._context.data.log):
                self._begin_install(peer, now_ms)
                return
            peer.match = feed.base_seq

    # Below.

    def _is_away(self, peer: Peer, now_ms: int) -> bool:
        heard = max(self._context.me.heard.get(peer.node, 0), self._since)
        return now_ms - heard > self._context.options.evict_ms

    def _worth_asking(self, peer: Peer) -> bool:
        return not peer.learner or peer.node in self._context.me.registered

    def _overdue(self, peer: Peer, now_ms: int) -> bool:
        if not peer.awaiting:
            return False
        since = max(peer.sent_at, peer.progress_at)
        return now_ms - since >= self._context.options.retransmit_ms

    def _send_window(self, peer: Peer, question: int, now_ms: int) -> bool:
        """Send entries as far as the window allows; returns whether any were sent."""
        options = self._context.options
        data = self._context.data
        last = data.last_seq
        sent = False
        while True:
            first = peer.next
            assert first is not None
            room = options.window_entries - (first - 1 - peer.has)
            if first > last:
                peer.behind_since = None
                return sent
            if room <= 0:
                # It stays behind until nothing waits: a little room now and then,
                # from a disk that is too slow, is not enough.
                if peer.behind_since is None:
                    peer.behind_since = now_ms
                return sent
            entries = self._entries(first, min(room, options.append_entries_max))
            self._send(peer, first - 1, entries, question, now_ms)
            peer.next = first + len(entries)
            sent = True

    def _entries(self, first: int, count_max: int) -> tuple[Entry, ...]:
        """Mostly all replicas are sent the same: one tuple serves them."""
        log = self._context.data.log
        batch = self._batch
        same = self._batch_first == first and 0 < len(batch) <= count_max
        if same and batch[-1].seq == log.last_seq:
            return batch
        batch = log.batch(first, count_max, self._context.options.append_bytes_max)
        self._batch, self._batch_first = batch, first
        return batch

    def _send(
        self,
        peer: Peer,
        prev_seq: int,
        entries: tuple[Entry, ...],
        question: int,
        now_ms: int,
    ) -> None:
        context = self._context
        data = context.data
        prev_epoch = data.log.epoch_at(prev_seq)
        assert prev_epoch is not None, (prev_seq, data.log.base_seq, data.last_seq)
        self.serial += 1
        peer.sent(self.serial, now_ms)
        if question > peer.consent:
            peer.mark(self.serial, question, now_ms)
        peer.commit_sent = data.commit
        self.sent_seq = max(self.sent_seq, prev_seq + len(entries))
        append = Append(
            context.shard,
            self._epoch,
            peer.ident,
            self.serial,
            prev_seq,
            prev_epoch,
            entries,
            data.commit,
            context.me.clock_ms,
        )
        context.effects.send(peer.node, append)

    def _may_cut(self) -> bool:
        """A match that came by the log, and is not at home yet (`folding.py`), is in no
        state that a learner could be sent; unless it is certain that it never will be
        at home."""
        shard = self._context.shard
        if self._context.me.pins.waits_for_guests(shard):
            return False
        return not any(
            is_parcel(entry.record)
            for committed in self._context.effects.committed
            if committed.shard == shard
            for entry in committed.entries
        )

    def _begin_install(self, peer: Peer, now_ms: int) -> None:
        if not self._may_cut():
            return  # it is looked at again in time
        self._installs += 1
        boot = peer.boot
        peer.begin_anew(self.serial, boot)
        peer.install = InstallFeed(self._context, peer.node, self._installs, now_ms)
