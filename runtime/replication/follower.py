"""A replica that follows an owner: what it appends, and what it answers.

Followers and learners are one here: who waits for their answers is the owner's matter.

Rules:
1. An owner below the promised epoch is told so (`Fenced`), and nothing else happens.
   A higher epoch is adopted: promised, durably before anything is acknowledged in it.
2. Frames are for one identity. Another one answers `Join`: what its predecessor
   acknowledged it may not have.
3. A frame's entries are taken only if they join on: the entry before them is here, of
   the same epoch. That makes two logs equal up to there.
4. An entry of another epoch at the same place gives way, with all behind it. That is
   decided by epochs alone: length and commit marks say nothing about what survives.
   What is committed never gives way: then the shard stops here, with an alarm. Only
   what is of a history that an operator gave up does, outside the in-sync set: it is
   wiped, and the owner's states take its place.
5. What is acknowledged is what the owner's frames have shown to be equal, and is
   durable. The log may be longer: that tail may be of an older epoch.
6. Committed entries go to the host at once; what is beyond the commit does not, so no
   state is ever rolled back. A learner that catches up gives them little by little, and
   acknowledges no more: it is in sync when its states are.
7. An echo says: at this moment I have promised your epoch, and no claim of mine is on
   its way. Silence says nothing.
8. After a start nothing is acknowledged until the record was read, or a promise was
   found on the disk: a replica that forgot a promise must not break it.
9. In the in-sync set of a pinned shard it is mute until it has the base. It is evicted
   if that takes long; then it is a learner, and is sent the base.
"""

from __future__ import annotations

from .context import Context
from .install import InstallTaker
from .message import (
    Acked,
    Append,
    Echo,
    Fenced,
    InstallPage,
    Join,
    Nacked,
    Probe,
    StateAsked,
)

__all__ = ["Follower"]

FAR_BEHIND = 256
"""In each step a learner gives its host one entry more for every so many it lacks."""


class Follower:
    """What the owner of `epoch` has shown this replica."""

    __slots__ = (
        "_acked",
        "_acked_ms",
        "_context",
        "_frame_waits",
        "_owner_commit",
        "_serial",
        "claiming",
        "clock_ms",
        "epoch",
        "matched",
        "owner",
        "pause_ms",
        "taker",
        "withholds",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self.epoch = 0
        """Of the owner whose frames were taken last."""
        self.owner = ""
        """Its node."""
        self.matched = 0
        """Up to here the log is as that owner has it."""
        self.clock_ms = 0
        """The newest wall clock of an owner that was heard of."""
        self.claiming = False
        """A claim of this replica is being prepared or on its way."""
        self.withholds = False
        """As a learner, it has not yet given the host all that is committed."""
        self.pause_ms = 0
        """Until it gives more."""
        self.taker = InstallTaker(context)
        self._serial = 0
        self._frame_waits = False
        self._acked = -1
        self._acked_ms = 0
        self._owner_commit = 0

    # What an owner sends.

    def append(self, node: str, message: Append) -> bool:
        """Returns whether it is the owner's, and meant for this replica."""
        if not self._admits(node, message.epoch, message.ident):
            return False
        self.clock_ms = max(self.clock_ms, message.clock_ms)
        data = self._context.data
        if data.failed:
            return True  # it could not be acknowledged: let the owner go on without
        if self.taker.open:
            if message.prev_seq != 0:
                self._nack(node, message, 0)
                return True
            self.taker.begin_empty()
            self._forget_frames()
        prev = message.prev_seq
        if not self._joins_on(prev, message.prev_epoch):
            if prev <= data.commit:
                self._conflict(node, message, prev, message.prev_epoch)
            else:
                self._nack(node, message, data.commit)
            return True
        if message.entries and not self._graft(node, message):
            return True
        self.matched = max(self.matched, prev + len(message.entries))
        self._serial = max(self._serial, message.serial)
        self._owner_commit = max(self._owner_commit, message.commit)
        self._frame_waits = True
        if self._acked < 0:
            self._acked = prev
        return True

    def install(self, node: str, message: InstallPage) -> bool:
        """Returns whether it is the owner's, and meant for this replica."""
        if not self._admits(node, message.epoch, message.ident):
            return False
        for_this_start = message.boot == self._context.me.boot
        if for_this_start and not self._context.data.failed:
            wiped = self.taker.take(node, message)
            if wiped:
                self._forget_frames()
        return True

    def probe(self, node: str, message: Probe) -> bool:
        """Returns whether it was answered: it is the owner's, of the epoch that this
        replica follows."""
        me = self._context.me
        if not self._may_echo(message):
            self.fence(node, message.epoch)
            return False
        echo = Echo(self._context.shard, message.epoch, me.ident, me.boot, message.read)
        self._context.effects.send(node, echo)
        return True

    def fence(self, node: str, epoch: int) -> bool:
        """Tell an owner of an older epoch; returns whether it is one."""
        if not self._is_fenced(epoch):
            return False
        self._fence(node, epoch)
        return True

    def introduce(self, node: str, epoch: int) -> None:
        """Tell the owner who this replica is, and where it stands."""
        if self._may_take_part():
            context = self._context
            commit = 0 if self.taker.open else context.data.commit
            me = context.me
            join = Join(context.shard, epoch, me.ident, me.boot, commit)
            context.effects.send(node, join)

    # What follows.

    def settle(self, now_ms: int) -> None:
        """Acknowledge what is durable, and hand on what is committed."""
        self._context.data.flush()
        self.taker.settle()
        self._hand_on()
        if self._frame_waits and self._may_acknowledge():
            seq = self._answer_seq()
            if self._is_worth_saying(seq, now_ms):
                self._acked, self._acked_ms = seq, now_ms
                self._frame_waits = seq < self.matched
                self._acknowledge(seq)

    def disk_ok(self) -> None:
        """The disk takes writes again."""
        unfinished = self.taker.open
        if not self._context.data.restore() or unfinished:
            self._forget_frames()
            self.taker.give_up()

    def ask_state(self, match: str) -> None:
        if self.owner:
            asked = StateAsked(self._context.shard, self.epoch, match)
            self._context.effects.send(self.owner, asked)

    # The rules, each in one place.

    def _is_fenced(self, epoch: int) -> bool:
        return epoch < self._context.data.promised

    def _may_take_part(self) -> bool:
        """Rules 8 and 9."""
        context = self._context
        if context.in_isr() and not context.based:
            return False
        return context.register.known or context.data.promised_found

    def _joins_on(self, prev_seq: int, prev_epoch: int) -> bool:
        """Rule 3. What is before the base was committed, so it is equal."""
        log = self._context.data.log
        return prev_seq < log.base_seq or log.epoch_at(prev_seq) == prev_epoch

    def _answer_seq(self) -> int:
        """Rule 5: what is shown to be equal, never the length of the log; rule 6."""
        data = self._context.data
        return data.commit if self.withholds else min(self.matched, data.durable_seq)

    def _is_worth_saying(self, seq: int, now_ms: int) -> bool:
        """While it catches up: often enough that nothing is sent again."""
        if self.withholds:
            return now_ms - self._acked_ms >= self._context.options.retransmit_ms // 4
        return seq == self.matched or seq > self._acked

    def _may_acknowledge(self) -> bool:
        """A promise that a crash could forget is none; and while a claim is on its
        way, the epoch below it is not acknowledged."""
        return (
            not self._is_fenced(self.epoch)
            and self._context.data.promised_durable >= self.epoch
            and not self.claiming
        )

    def _may_echo(self, message: Probe) -> bool:
        """Rule 7; and only where the owner's frames were taken (it is loaded)."""
        return (
            message.epoch == self._context.data.promised == self.epoch
            and message.ident == self._context.me.ident
            and not self.claiming
            and self._may_take_part()
        )

    # Below.

    def _admits(self, node: str, epoch: int, ident: str) -> bool:
        if self._is_fenced(epoch):
            self._fence(node, epoch)
            return False
        context = self._context
        if not self._may_take_part():
            return False
        if ident != context.me.ident:
            self.introduce(node, epoch)
            return False
        self._adopt(node, epoch)
        return True

    def _adopt(self, node: str, epoch: int) -> None:
        """Rule 1. The log stays as it is: its tail may be all that is left of an
        acknowledged record."""
        data = self._context.data
        if epoch > data.promised:
            data.promise(epoch)
        if epoch != self.epoch:
            self.epoch = epoch
            self._forget_frames()
        self.owner = node

    def _forget_frames(self) -> None:
        self.matched = 0
        self._serial = 0
        self._frame_waits = False
        self._acked = -1
        self._owner_commit = 0

    def _graft(self, node: str, message: Append) -> bool:
        """Take entries that join on; False if what is committed stands against it."""
        prev_seq, entries = message.prev_seq, message.entries
        data = self._context.data
        log = data.log
        last = log.last_seq
        if prev_seq == last:
            data.extend(entries)
            return True
        if prev_seq + len(entries) <= last:
            # All are here if the last one is: equal there is equal before.
            end = entries[-1]
            if end.seq <= log.base_seq or log.epoch_at(end.seq) == end.epoch:
                return True
        for at, entry in enumerate(entries):
            if entry.seq <= log.base_seq:
                continue
            epoch = log.epoch_at(entry.seq)
            if epoch == entry.epoch:
                continue
            if epoch is not None:
                if entry.seq <= data.commit:
                    self._conflict(node, message, entry.seq, entry.epoch)
                    return False
                self._truncate(entry.seq)
            data.extend(entries[at:])
            break
        return True

    def _truncate(self, seq: int) -> None:
        """Rule 4."""
        self.matched = min(self.matched, seq - 1)
        self._context.data.truncate(seq)

    def _conflict(self, node: str, message: Append, seq: int, epoch: int) -> None:
        """Rule 4."""
        data, record = self._context.data, self._context.register.record
        if record is None or record.epoch < message.epoch:
            # Is it of a history that was given up? The record tells.
            self._context.effects.list_again = True
            return
        here = data.log.epoch_at(seq)
        if not self._context.in_isr() and here is not None and here < record.history:
            self._context.alarm(
                "history_replaced",
                f"what this node had of the shard (up to {data.commit}, last in epoch"
                f" {data.log.last_epoch}) is of before its recovery in epoch"
                f" {record.history}: it is replaced by what {node} has",
            )
            self._forget_frames()
            self.taker.give_up()
            self._nack(node, message, 0)
            return
        self._context.halt(
            "log_conflict",
            f"the owner of epoch {self.epoch} has an entry of epoch {epoch} at {seq};"
            f" here it is of epoch {data.log.epoch_at(seq)} and committed (up to"
            f" {data.commit}): the shard is stopped on this node",
        )

    def _fence(self, node: str, epoch: int) -> None:
        fenced = Fenced(self._context.shard, self._context.data.promised)
        self._context.effects.send(node, fenced)

    def _hand_on(self) -> None:
        """Rule 6: give the host what is committed, or what it may have in this turn."""
        data = self._context.data
        seq = min(self._owner_commit, self.matched, data.durable_seq)
        behind = seq - data.commit
        now = behind if self._context.in_isr() else self._portion(behind)
        if now > 0:
            data.commit_to(data.commit + now)
        self.withholds = now < behind

    def _portion(self, behind: int) -> int:
        """What is left of the step's, but one at least: the owner sends all again to
        who stands still. Far behind, more: it comes nearer however much is played.

        Who came after many others waits longer: so they do not all come at once again.
        """
        options, effects = self._context.options, self._context.effects
        least = 1 + behind // FAR_BEHIND
        room = options.catch_up_entries - effects.caught_up
        portion = min(behind, max(least, room))
        effects.caught_up += max(0, portion)
        turns = 1 + effects.caught_up // options.catch_up_entries
        longest = options.retransmit_ms // 4
        self.pause_ms = min(turns * options.catch_up_pause_ms, longest)
        return portion

    def _acknowledge(self, seq: int) -> None:
        context = self._context
        me = context.me
        acked = Acked(context.shard, self.epoch, me.ident, me.boot, self._serial, seq)
        context.effects.send(self.owner, acked)

    def _nack(self, node: str, message: Append, commit: int) -> None:
        context = self._context
        me = context.me
        nacked = Nacked(
            context.shard, message.epoch, me.ident, me.boot, message.serial, commit
        )
        context.effects.send(node, nacked)
