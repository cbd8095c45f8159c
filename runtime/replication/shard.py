"""One shard at one node: the replica's state machine, without I/O.

Inputs only note; `settle` does what follows from them, once per step. What is asked of
the outside goes into the node's `Effects`. The parts, each with its rules:

    register.py    the shard's record, and own writes to it
    data.py        log, commit, promise, and what of them is durable
    follower.py    what an owner sends is taken and answered (install.py: states)
    takeover.py    when and how to become the owner
    owner.py       append, send (feeder.py), commit; membership.py, move.py,
                   fresh_reads.py

This file only changes roles and passes inputs to the part that they concern. A demoted
owner keeps its log (its tail may be all that is left of an acknowledged record) and
never goes on in its epoch, even if the record still names it: it claims the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..control_plane import ShardRecord
from ..coordinator import ABSENT, CasOutcome
from ..errors import NotServing, PinRefused, RecoveryRefused
from .context import Context
from .data import ReplicaData
from .effects import Effects
from .follower import Follower
from .invariants import check_replica
from .me import Me
from .message import (
    Acked,
    Append,
    Echo,
    Fenced,
    HandedOver,
    InstallAcked,
    InstallPage,
    Join,
    ManifestLine,
    Nacked,
    Piece,
    Probe,
    Resigned,
    ShardMessage,
    StateAsked,
    StateCopy,
)
from .options import ReplicationOptions
from .output import Demoted, Install, StateWanted
from .owner import Owner
from .pinned_base import PinnedBase
from .recovered import RecoveredShard
from .recovery import Recovery, RecoveryOrder
from .register import Isr, RecordRegister
from .role import TRANSITIONS, Role
from .takeover import Takeover

__all__ = ["ShardReplica"]


class ShardReplica:
    """Call `settle` once after the inputs of a step, then collect `effects`."""

    __slots__ = (
        "_asked",
        "_base",
        "_ident",
        "_now_ms",
        "_checked_promise",
        "_owned_epoch",
        "_recovery",
        "context",
        "data",
        "follower",
        "ownership",
        "register",
        "role",
        "takeover",
    )

    def __init__(
        self,
        shard: int,
        me: Me,
        effects: Effects,
        options: ReplicationOptions,
        recovered: RecoveredShard | None = None,
        layout: tuple[str, ...] = (),
    ) -> None:
        """`layout` is who shall hold the shard, if its record must be made."""
        self.data = ReplicaData(shard, effects, options, recovered)
        self.register = RecordRegister(shard, me, effects, options)
        # A claim is promised in the epoch behind the record's.
        seen = max(self.data.log.last_epoch, self.data.promised - 1)
        self.register.epoch_seen = seen
        self.context = Context(
            shard, me, effects, options, self.data, self.register, layout
        )
        self.follower = Follower(self.context)
        self.takeover = Takeover(self.context, self.follower)
        self._recovery = Recovery(self.context, self.takeover, self.follower.taker)
        self.ownership: Owner | None = None
        """Invariant: it is there exactly while the role is OWNER."""
        self.role = Role.IDLE
        self._base = PinnedBase(self.context)
        self._asked = 0
        self._ident = me.ident
        self._now_ms = 0
        self._owned_epoch = 0  # the last epoch that was owned here
        self._checked_promise = self.data.promised

    @property
    def epoch(self) -> int:
        """The epoch that this replica owns, or whose owner it follows; 0: none."""
        return self.follower.epoch if self.ownership is None else self.ownership.epoch

    @property
    def owner(self) -> str | None:
        """By the record."""
        record = self.register.record
        return None if record is None else record.owner

    @property
    def isr(self) -> Isr:
        """By the record."""
        record = self.register.record
        return () if record is None else record.isr

    @property
    def in_sync(self) -> frozenset[str]:
        """The other nodes that its owner here waits for, as they are now: a node that
        has another identity since is not among them."""
        others = () if self.ownership is None else self.ownership.membership.members
        return frozenset(peer.node for peer in others if not peer.void)

    @property
    def commit(self) -> int:
        return self.data.commit

    @property
    def last_seq(self) -> int:
        return self.data.last_seq

    @property
    def serving(self) -> bool:
        return self.ownership is not None and self.ownership.serving

    @property
    def stopped(self) -> str | None:
        """The code of the alarm that stopped it."""
        return self.context.stopped or self.register.stopped

    # What the coordinator says.

    def observe(self, revision: int, record: ShardRecord | None, now_ms: int) -> None:
        """The record as of `revision`, as listed, watched, or as an own write left it.

        (0, None): a listing has shown that there is none. Older readings change
        nothing.
        """
        self.register.observe(revision, record)
        if self.register.changed:
            self._follow_record(now_ms)

    def vanish(self) -> bool:
        """If there is no such shard any more: forget what was here of it."""
        if not self._base.gone():
            return False
        self._demote()
        self._base.end(installing=self.follower.taker.open)
        return True

    def answered(
        self, nonce: str, outcome: CasOutcome, moved: bool, now_ms: int
    ) -> None:
        """What became of the write `nonce`. `moved`: it is a conflict, and of this
        shard's key. Of `CasOk`, no separate `observe` is needed."""
        self.register.answered(nonce, outcome, moved, now_ms)
        if self.register.changed:
            self._follow_record(now_ms)
        elif self.ownership is not None:
            self.ownership.record_changed(now_ms)

    def refuse(self, revision: int, record: ShardRecord | None) -> None:
        """What stands there, and is not believed: `stop` follows."""
        self.register.refuse(revision, record)

    def stop(self, code: str, message: str) -> None:
        """The record cannot be believed (unreadable, went back): serve no more until
        a sound one is read."""
        self.register.stop(code, message)
        self.register.changed = False
        if self.recovering and self._recovery.goes_on(self._now_ms):
            return
        self._demote()
        self._stand_aside()

    # What other replicas say.

    def received(self, node: str, message: ShardMessage, now_ms: int) -> None:
        """A message from that node, over the link that is up now."""
        if not self.context.me.serving_allowed or self.context.stopped is not None:
            return
        if isinstance(message, Append | InstallPage | Probe):
            self._owner_says(node, message, now_ms)
        elif isinstance(message, Acked | Nacked | Echo | Join | InstallAcked):
            if self.ownership is not None:
                self._replica_says(self.ownership, node, message, now_ms)
        elif isinstance(message, Fenced):
            if self.ownership is not None and message.epoch > self.ownership.epoch:
                self._on_fenced()
        elif isinstance(message, Resigned):
            if message.ident == self.context.me.ident:
                self.takeover.resigned(message.epoch, now_ms)
        elif isinstance(message, HandedOver):
            if message.epoch > self.register.epoch_seen:
                self.context.effects.list_again = True
        elif isinstance(message, StateAsked):
            if self.ownership is not None and message.epoch == self.ownership.epoch:
                wanted = StateWanted(self.context.shard, node, message.match)
                self.context.effects.states_wanted.append(wanted)
        else:
            assert isinstance(message, StateCopy), message
            if message.epoch == self.follower.epoch and node == self.follower.owner:
                copy = (self.context.shard, message.piece)
                self.context.effects.state_copies.append(copy)

    def alive(self, node: str, epoch: int, clock_ms: int, now_ms: int) -> None:
        """An `Alive` of `node` lists this shard in `epoch`. (That a node lives at all
        goes into `Me.heard`.)"""
        if not self.context.me.serving_allowed:
            return
        if self.follower.fence(node, epoch):
            return
        self.takeover.heard(epoch, now_ms)
        self.follower.clock_ms = max(self.follower.clock_ms, clock_ms)
        if self.ownership is None and self.follower.epoch != epoch:
            # Nothing came of it in this epoch: it may not know that this process
            # started anew, and an idle owner would not find out.
            self.follower.introduce(node, epoch)

    def refused(self, node: str, now_ms: int) -> None:
        """The link to `node` broke, and a connection to it was refused."""
        if self.ownership is not None:
            self.ownership.refused(node, now_ms)
        elif node == self.owner:
            self.takeover.prompted(now_ms)

    # What the disk says.

    def persisted(self, ticket: int, now_ms: int) -> None:
        """The groups up to `ticket` are durable."""
        self.data.persisted(ticket)

    def persist_failed(self, ticket: int, now_ms: int) -> None:
        """The group `ticket` and all later ones are lost, until `disk_ok`.

        An owner appends nothing more in its epoch: what of the lost records others
        hold may yet be committed, so their numbers are taken.
        """
        failed = self.data.persist_failed(ticket)
        if failed:
            self._base.persist_failed()
        if not failed or self.ownership is None:
            return
        unsent_from = self.ownership.unsent_from()
        self.ownership.resign()
        self._demote(unsent_from)
        if unsent_from <= self.data.last_seq:
            # Nobody has these, not even this disk; they are told to be not committed.
            self.data.truncate(unsent_from)

    def disk_ok(self, now_ms: int) -> None:
        """The disk takes writes again; what it lacks is asked for once more."""
        if self.data.failed:
            self.follower.disk_ok()

    # What the host says.

    def propose(
        self, items: Sequence[tuple[str, int, msgspec.Raw]], now_ms: int
    ) -> int:
        """Append records: (match, index, packed record) each.

        Returns the sequence number of the first; the others follow it. (During a
        planned change of owner they wait for theirs, but will have these.)

        Raises:
            NotServing: Ask the owner.
            ProposalsFull: Wait for commits.
            TooFewCopies: Wait for a follower to join.
        """
        if self.ownership is None:
            raise NotServing(f"shard {self.context.shard} is not owned by this node")
        return self.ownership.propose(items)

    def pin(self, match: str, now_ms: int) -> None:
        """Begin to give the match a shard of its own.

        Raises:
            PinRefused: It cannot be, now or here.
        """
        if self.ownership is None:
            raise PinRefused("not_owner", f"ask the owner of {self.context.shard}")
        self.ownership.pin(match, now_ms)

    def recover(self, order: RecoveryOrder, now_ms: int) -> int:
        """Go on from what is here, as an operator says; the epoch that is claimed.

        `recovering` says whether that is still under way.

        Raises:
            RecoveryRefused: It may not be, or need not.
        """
        if self.ownership is not None:
            node = self.context.me.node
            raise RecoveryRefused("not_needed", f"{node} owns the shard")
        epoch = self._recovery.begin(order, now_ms)
        self._become(Role.CANDIDATE)
        return epoch

    @property
    def recovering(self) -> bool:
        """An operator's order is being carried out."""
        return self.takeover.order is not None

    def confirm(self, now_ms: int) -> int:
        """Ask whether this epoch still stands; `Confirmed` answers.

        Raises:
            NotServing: Ask the owner.
        """
        if self.ownership is None:
            raise NotServing(f"shard {self.context.shard} is not owned by this node")
        return self.ownership.confirm()

    def feed(
        self,
        node: str,
        install: int,
        pieces: tuple[Piece, ...],
        cursor: str | None,
        now_ms: int,
        lines: tuple[ManifestLine, ...] = (),
    ) -> None:
        """The page that `Feed` asked for, which completes the matches of `lines`.
        `cursor` None: it was the last."""
        if self.ownership is not None:
            self.ownership.feed(node, install, pieces, lines, cursor, now_ms)

    def judged(self, page: Install, differing: tuple[str, ...], held: bytes) -> None:
        """What became of an `Install`; see there."""
        self.follower.taker.judged(page, differing, held)

    def state_copy(self, node: str, pieces: tuple[Piece, ...]) -> None:
        """The pieces that `StateWanted` asked for."""
        if self.ownership is not None:
            self.ownership.state_copy(node, pieces)

    def ask_state(self, match: str) -> None:
        """Ask the owner for its state of this match."""
        if self.ownership is None:
            self.follower.ask_state(match)

    def resign(self, now_ms: int) -> None:
        """Own it no more; its followers are asked to claim it. (Set
        `me.serving_allowed` to False first, if this node shall not claim again.)"""
        if self.ownership is not None:
            self.ownership.resign()
            self._demote()
            self._stand_aside()

    # Time, and what follows from the inputs.

    def tick(self, now_ms: int) -> None:
        """Time has passed. All that follows from it is done by `settle`."""

    def settle(self, now_ms: int) -> None:
        """Do what follows from the inputs since the last call; cheap if there were
        none. Needed after every input above, `tick` and `persisted` too, before the
        effects are taken."""
        self._now_ms = now_ms
        if self._ident != self.context.me.ident:
            self._follow_identity(now_ms)
        if self.stopped is None or self.recovering:
            self._base.settle()
            if self.ownership is None:
                self._seek_ownership(now_ms)
            if self.ownership is not None:
                self.ownership.settle(now_ms)
            else:
                self.follower.settle(now_ms)
        self.check()

    def due_ms(self) -> int | None:
        """When `tick` (then `settle`) is needed next; asked after `settle`."""
        now_ms = self._now_ms
        if self.stopped is not None and not self.recovering:
            return None
        if self.ownership is not None:
            return self.ownership.due_ms(now_ms)
        if self.takeover.goal is not None or self._must_create():
            # Else it waits for the disk, or for the record.
            retry_at = self.register.retry_at
            return retry_at if retry_at > now_ms else None
        if self.follower.withholds:
            return now_ms + self.follower.pause_ms
        due = self.takeover.due_ms()
        if due is not None and due <= now_ms:
            return now_ms + self.context.options.heartbeat_ms
        return due

    def check(self) -> None:
        """The invariants. `settle` calls it.

        Raises:
            AssertionError: This core is wrong.
        """
        assert self.data.promised >= self._checked_promise, self.data.promised
        self._checked_promise = self.data.promised
        check_replica(self)

    # Roles.

    def _follow_record(self, now_ms: int) -> None:
        """A newer record was read."""
        record = self.register.record
        if record is not None and self.context.is_lost(record):
            self.register.stop(
                "shard_lost",
                f"only {record.isr} held what was acknowledged; this node has lost it"
                " (it is another replica now): an operator must decide",
            )
        self.register.changed = False
        if self.recovering and self._recovery.goes_on(now_ms):
            return
        if self.register.stopped is not None or record is None:
            self._demote()
            self._stand_aside()
            return
        self.takeover.record_read(now_ms)
        node = self.context.me.node
        owner = self.ownership
        if owner is not None:
            if (record.owner, record.epoch) == (node, owner.epoch):
                owner.record_changed(now_ms)
                return
            owner.move.tell()
            self._demote()
        concerned = self.context.role_by_record() is not Role.IDLE or self.data.last_seq
        behind = record.epoch > self.data.promised
        if record.owner != node and behind and concerned:
            # Its owner is the only one that may be acknowledged: any older one is
            # deposed.
            self.data.promise(record.epoch)
        if self.role is Role.CANDIDATE:
            if self.takeover.has_won():
                self._own(record.epoch, now_ms)
                return
            if not self.takeover.goes_on():
                self.takeover.end()
                self._become(self.context.role_by_record())
            return
        self._become(self.context.role_by_record())

    def _follow_identity(self, now_ms: int) -> None:
        """This replica is another one now, or knows at last which one it is."""
        self._ident = self.context.me.ident
        self._demote()
        self._stand_aside()
        if self.register.record is not None:
            self._follow_record(now_ms)

    def _own(self, epoch: int, now_ms: int) -> None:
        """Begin to own an epoch: once in its life, and never again."""
        assert epoch > self._owned_epoch, (epoch, self._owned_epoch)
        self.takeover.end()
        self._owned_epoch = epoch
        self._become(Role.OWNER)
        self.ownership = Owner(
            self.context, epoch, self.follower.clock_ms, self._asked, now_ms
        )

    def _demote(self, unsent_from: int | None = None) -> None:
        """Own it no more. The log stays as it is."""
        owner = self.ownership
        if owner is None:
            return
        self._asked = owner.reads.asked
        self.ownership = None
        if unsent_from is None:
            unsent_from = self.data.last_seq + 1
        demoted = Demoted(self.context.shard, owner.epoch, unsent_from)
        self.context.effects.demoted.append(demoted)
        self._become(self.context.role_by_record())

    def _on_fenced(self) -> None:
        """A replica has promised a higher epoch: this one may be over."""
        self._demote()
        self.context.effects.list_again = True

    def _stand_aside(self) -> None:
        """Take no part in ownership for now."""
        self.takeover.end()
        self._become(self.context.role_by_record())

    def _become(self, role: Role) -> None:
        if role is not self.role:
            assert (self.role, role) in TRANSITIONS, (self.role, role)
            self.role = role

    def _seek_ownership(self, now_ms: int) -> None:
        if self._must_create():
            if self.register.may_write(now_ms):
                self.register.write(None, 0, (), self.context.layout, None)
            return
        if self.takeover.goal is None:
            self.takeover.begin(now_ms)
            if self.takeover.goal is None:
                return
            self._become(Role.CANDIDATE)
        if self.takeover.settle(now_ms):
            assert self.takeover.goal is not None
            self._own(self.takeover.goal, now_ms)

    def _must_create(self) -> bool:
        """Nobody has made the record yet: anybody may."""
        register = self.register
        return (
            register.known
            and register.record is None
            and register.revision == ABSENT
            and bool(self.context.layout)
            and self.context.me.serving_allowed
        )

    # Messages.

    def _owner_says(
        self, node: str, message: Append | InstallPage | Probe, now_ms: int
    ) -> None:
        if isinstance(message, Probe):
            if self.follower.probe(node, message):
                self.takeover.heard(message.epoch, now_ms)
            return
        if self.ownership is not None:
            if self.follower.fence(node, message.epoch):
                return
            if message.epoch == self.ownership.epoch:
                return  # nobody else owns that; a frame that strayed
            self._demote()
        if isinstance(message, Append):
            valid = self.follower.append(node, message)
        else:
            valid = self.follower.install(node, message)
        if not valid:
            return
        self.takeover.heard(message.epoch, now_ms)
        if self.takeover.goal is not None:
            # Another one owns the epoch that was to be claimed, or a later one.
            self.takeover.end()
            self._become(self.context.role_by_record())

    def _replica_says(
        self,
        owner: Owner,
        node: str,
        message: Acked | Nacked | Echo | Join | InstallAcked,
        now_ms: int,
    ) -> None:
        if isinstance(message, Acked):
            owner.acked(node, message, now_ms)
        elif isinstance(message, Nacked):
            owner.nacked(node, message, now_ms)
        elif isinstance(message, Echo):
            owner.echoed(node, message)
        elif isinstance(message, Join):
            owner.joined(node, message, now_ms)
        else:
            owner.installed(node, message, now_ms)
