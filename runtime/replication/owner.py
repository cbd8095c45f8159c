"""The owner of a shard in one epoch: it appends, sends, and commits.

Rules:
1. A record is committed when every member of M (see `membership.py`) has it, and this
   node's own disk too. Only then is anybody told.
2. A sequence number is used once in an epoch. After a failed persist nothing more is
   appended in it: what became of the lost group elsewhere is not known.
3. Nothing is served before all that was in the log at the promotion is committed (the
   read floor): a former owner may have acknowledged it.
4. Fenced, or deposed by the record, it never goes on in its epoch (see `shard.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from ..errors import NotServing, PinRefused, ProposalsFull, TooFewCopies
from .context import Context
from .feeder import Feeder
from .fresh_reads import FreshReads
from .membership import Membership
from .message import (
    Acked,
    Echo,
    Entry,
    InstallAcked,
    Join,
    ManifestLine,
    Nacked,
    Piece,
    Resigned,
    StateCopy,
)
from .move import PlannedMove
from .output import Serving, Trail
from .peer import Peer
from .pinning import Pinning

__all__ = ["Owner"]

_PROPOSALS_MAX = 64
"""Of which it is known when they were made, while they wait."""


class Owner:
    """What is known only while this replica owns `epoch`."""

    __slots__ = (
        "_context",
        "_held",
        "_durable",
        "_last_heard_ms",
        "_proposed",
        "epoch",
        "feeder",
        "membership",
        "move",
        "pinning",
        "read_floor",
        "reads",
        "serving",
    )

    def __init__(
        self,
        context: Context,
        epoch: int,
        last_heard_ms: int,
        asked: int,
        now_ms: int,
    ) -> None:
        """`asked`: the number of the last fresh read of an earlier epoch."""
        self._context = context
        self.epoch = epoch
        self.read_floor = context.data.last_seq
        self.serving = False
        self.feeder = Feeder(context, epoch, now_ms)
        self.membership = Membership(context, now_ms)
        self.reads = FreshReads(context, epoch, asked)
        self.move = PlannedMove(context, epoch)
        self.pinning = Pinning(context)
        # When the log, and what this disk has of it, got so far: see `_trail`.
        self._proposed: deque[tuple[int, int]] = deque(maxlen=_PROPOSALS_MAX)
        self._durable = (0, 0)
        self._last_heard_ms = last_heard_ms
        self._held: list[tuple[str, int, msgspec.Raw]] = []

    # What the host asks.

    def propose(self, items: Sequence[tuple[str, int, msgspec.Raw]]) -> int:
        """See `ShardReplica.propose`."""
        data = self._context.data
        if self.membership.degraded or not self.membership.enough_copies():
            raise TooFewCopies(
                f"shard {self._context.shard}: fewer than {self._context.me.min_isr}"
                " copies are in sync; try again with the same key"
            )
        if not self.serving:
            raise NotServing(f"shard {self._context.shard} is not served here yet")
        seq = data.last_seq + len(self._held) + 1
        limit = self._context.options.uncommitted_entries
        if seq - 1 - data.commit + len(items) > limit:
            raise ProposalsFull(
                f"{seq - 1 - data.commit} records of shard {self._context.shard} wait"
                f" for a commit; the limit is {limit}"
            )
        if self.move.holds:
            self._held.extend(items)
        else:
            self._append(items)
        return seq

    def pin(self, match: str, now_ms: int) -> None:
        """See `ShardReplica.pin`."""
        shard, record = self._context.shard, self._context.register.record
        if not self.serving or record is None:
            raise PinRefused("not_owner", f"shard {shard} is not served here yet")
        if record.move is not None:
            raise PinRefused("moving", f"shard {shard} is being moved")
        if self.pinning.is_at(match):
            raise PinRefused("busy", f"match {match} is being pinned")
        self.pinning.pin(match, now_ms)

    def confirm(self) -> int:
        """See `ShardReplica.confirm`."""
        if not self.serving:
            raise NotServing(f"shard {self._context.shard} is not served here yet")
        return self.reads.ask()

    def feed(
        self,
        node: str,
        install: int,
        pieces: tuple[Piece, ...],
        lines: tuple[ManifestLine, ...],
        cursor: str | None,
        now_ms: int,
    ) -> None:
        peer = self.membership.of_node(node)
        if peer is not None:
            self.feeder.give(peer, install, pieces, lines, cursor, now_ms)

    def state_copy(self, node: str, pieces: tuple[Piece, ...]) -> None:
        for piece in pieces:
            copy = StateCopy(self._context.shard, self.epoch, piece)
            self._context.effects.send(node, copy)

    # What the others answer.

    def acked(self, node: str, message: Acked, now_ms: int) -> None:
        peer = self._sender(node, message)
        if peer is None or peer.install is not None:
            return
        if message.serial >= peer.valid_from:
            seq = min(message.seq, self._context.data.last_seq)
            peer.acked(message.serial, seq, now_ms)

    def nacked(self, node: str, message: Nacked, now_ms: int) -> None:
        peer = self._sender(node, message)
        if peer is not None and peer.install is None:
            self.feeder.nacked(peer, message, now_ms)

    def joined(self, node: str, message: Join, now_ms: int) -> None:
        """A replica tells who it is: another one than a frame was for, or one that
        started anew."""
        peer = self.membership.of_node(node)
        if peer is None or message.epoch != self.epoch:
            return
        if peer.boot is not None and message.boot < peer.boot:
            return  # an earlier process of that node
        if message.ident == peer.ident:
            if self._sender(node, message) is not None:
                peer.valid_from = self.feeder.serial + 1  # so it is sent something
                peer.awaiting = False
            return
        peer = self.membership.joined_anew(
            peer, message.ident, message.boot, self.feeder.serial
        )
        self.feeder.place(peer, message.commit, now_ms)

    def echoed(self, node: str, message: Echo) -> None:
        peer = self._sender(node, message)
        if peer is not None:
            self.reads.echoed(peer, message)

    def installed(self, node: str, message: InstallAcked, now_ms: int) -> None:
        peer = self._sender(node, message)
        if peer is not None:
            self.feeder.installed(peer, message, now_ms)

    def refused(self, node: str, now_ms: int) -> None:
        peer = self.membership.of_node(node)
        if peer is not None:
            peer.refused_at = now_ms

    # The record.

    def record_changed(self, now_ms: int) -> None:
        """The record was read anew, and still names this epoch."""
        self.membership.refresh(self.feeder.serial, now_ms)
        self.reads.record_landed(self._context.register.question)

    # What follows.

    def settle(self, now_ms: int) -> None:
        context = self._context
        if self.membership.hints_changed():
            self.membership.refresh(self.feeder.serial, now_ms)
        context.data.flush()
        self._commit(now_ms)
        self._serve()
        if self.serving:
            may_write = context.register.may_write(now_ms) and not self.move.holds
            self.pinning.settle(now_ms, may_write=may_write)
        self._write_record(now_ms)
        if self._held and not self.move.holds:
            self._release()
        question = self.reads.asked
        for peer in self.membership.members:
            self.feeder.feed(peer, question, now_ms)
        for peer in self.membership.learners:
            self.feeder.feed(peer, question, now_ms)
        self._keep_log()
        self.reads.settle(self.membership.members, now_ms)

    def due_ms(self, now_ms: int) -> int | None:
        """When time alone changes something."""
        due = [
            self.membership.due_ms(now_ms),
            self.move.due_ms(now_ms),
            self.pinning.due_ms(now_ms),
        ]
        for peer in (*self.membership.members, *self.membership.learners):
            due.append(self.feeder.due_ms(peer))
        if self.reads.waits():
            due.append(now_ms + self._context.options.retransmit_ms)
        register = self._context.register
        if register.retry_at > now_ms:
            due.append(register.retry_at)
        return min([at for at in due if at is not None], default=None)

    def resign(self) -> None:
        """Ask the in-sync followers to claim."""
        for peer in self.membership.members:
            resigned = Resigned(self._context.shard, self.epoch, peer.ident)
            self._context.effects.send(peer.node, resigned)

    def unsent_from(self) -> int:
        """Records from here on nobody else has seen, and this disk has not either."""
        data = self._context.data
        return max(self.feeder.sent_seq, data.durable_seq, data.commit) + 1

    def check(self) -> None:
        """Raises AssertionError when an invariant is broken."""
        data = self._context.data
        for peer in self.membership.members:
            assert data.commit <= peer.match, (data.commit, peer.node, peer.match)
        assert self.feeder.sent_seq <= data.last_seq, (self.feeder.sent_seq, data)
        assert not self.serving or data.commit >= self.read_floor, data.commit

    # The rules, each in one place.

    def _own_match(self) -> int:
        """What this node itself has, by its own disk: it always counts."""
        return self._context.data.durable_seq

    def _floor_reached(self) -> bool:
        """Rule 3."""
        return self._context.data.commit >= self.read_floor

    def _join_floor(self) -> int:
        """What a learner must have to join (rule 3 of `membership.py`)."""
        return max(self._context.data.commit, self.read_floor)

    def _commit(self, now_ms: int) -> None:
        """Rule 1."""
        data = self._context.data
        last, seq = data.last_seq, self._own_match()
        if last == data.commit:
            return
        if not self._proposed or self._proposed[-1][0] < last:
            self._proposed.append((last, now_ms))
        if seq > self._durable[0]:
            self._durable = (seq, now_ms)
        for peer in self.membership.members:
            if peer.match < seq:
                seq = peer.match
        if seq > data.commit and self.membership.enough_copies():
            data.commit_to(seq, self._trail(seq, now_ms))

    # Below.

    def _trail(self, seq: int, now_ms: int) -> Trail:
        """How the entries up to `seq` came to be committed, as far as is known: who has
        got further since says when that was."""
        proposed_ms = None
        while self._proposed and self._proposed[0][0] < seq:
            self._proposed.popleft()
        if self._proposed:
            proposed_ms = self._proposed[0][1]
        members = self.membership.members
        acked = tuple([(peer.node, peer.progress_at) for peer in members])
        return Trail(proposed_ms, self._durable[1], acked, now_ms)

    def _append(self, items: Sequence[tuple[str, int, msgspec.Raw]]) -> None:
        data = self._context.data
        epoch = self.epoch
        seq = data.last_seq
        data.extend(
            [
                Entry(epoch, seq + at, match, index, record)
                for at, (match, index, record) in enumerate(items, 1)
            ]
        )

    def _release(self) -> None:
        """What was held for a move that did not come off is appended now."""
        held, self._held = self._held, []
        self._append(held)
        self._context.data.flush()

    def _serve(self) -> None:
        if not self.serving and self._floor_reached():
            self.serving = True
            serving = Serving(self._context.shard, self.epoch, self._last_heard_ms)
            self._context.effects.serving.append(serving)

    def _write_record(self, now_ms: int) -> None:
        """One change of the record at a time."""
        register = self._context.register
        record = register.record
        assert record is not None
        if self.serving:
            self.move.settle(self.membership, now_ms)
        isr = self.membership.wanted_isr(self._join_floor(), now_ms)
        if not register.may_write(now_ms) or self.move.holds:
            return
        move = record.move
        if move is not None and move.to == self._context.me.node:
            move = None  # it has arrived
        if isr == record.isr and move == record.move and not register.unresolved():
            return
        register.write(
            owner=record.owner,
            epoch=record.epoch,
            isr=isr,
            want=record.want,
            move=move,
            question=self.reads.asked,
        )
        self.membership.refresh(self.feeder.serial, now_ms)

    def _keep_log(self) -> None:
        cuts = [
            peer.install.base_seq
            for peer in self.membership.learners
            if peer.install is not None
        ]
        self._context.data.keep_from = min(cuts, default=None)

    def _sender(
        self, node: str, message: Acked | Nacked | Echo | InstallAcked | Join
    ) -> Peer | None:
        """The replica that answered, if it is the one that was asked."""
        if message.epoch != self.epoch:
            return None
        peer = self.membership.peer(node, message.ident)
        if peer is None:
            return None
        if peer.boot is None:
            peer.boot = message.boot
        elif message.boot < peer.boot:
            return None  # its process has started anew since
        elif message.boot > peer.boot:
            if peer.learner:
                peer.begin_anew(self.feeder.serial, message.boot)
                return None
            peer.boot = message.boot
        return peer
