"""When and how a replica becomes the owner.

Rules:
1. Only a replica whose very identity is in the in-sync set may claim: it holds all
   that was acknowledged. A shard that nobody ever owned is claimed by who is wanted.
2. Silence, refused connections and resignations are hints. A wrong one costs an epoch,
   never data, for every acknowledgement of the old owner needs the claimant's.
3. First the promise of the new epoch is durable, and the old one is acknowledged no
   more; then the record is written, from the revision that was read. A promise that a
   crash could forget would let the old owner acknowledge behind the claim's back.
4. The epoch is the record's plus one. An own nonce read back makes the owner. A
   candidate goes on until the record's epoch moves or a new owner is heard: a claim of
   unknown outcome may land at any time.
5. An epoch that was handed over is taken without a claim, if the promise is lower, and
   made durable first: so it is served by one process at most. Else it is claimed anew,
   with the next epoch. So is one's own record after a restart or a demotion.
6. An operator may order a replica from outside the in-sync set to claim, and overrule
   a record that is not believed (`recovery.py`). That begins another history.
7. A replica without the base of its (pinned) shard claims nothing: it has less than
   was acknowledged, though the record has it in the in-sync set.
"""

from __future__ import annotations

from .context import Context
from .follower import Follower
from .recovery_order import RecoveryOrder
from .register import Isr

__all__ = ["Takeover"]

COLD_WAIT_MS = 2000
"""After a start, how long a silent owner is waited for: all nodes may have started
at once, and the owner holds the newest."""

LOOK_AGAIN_MS = 1000
"""Between two requests for a newer record than the one that cannot be right."""


class Takeover:
    """The timers and the steps of a claim."""

    __slots__ = (
        "_context",
        "_follower",
        "_look_at",
        "_prompted_at",
        "_resigned_epoch",
        "_since",
        "_timed_epoch",
        "goal",
        "handed",
        "heard_at",
        "order",
    )

    def __init__(self, context: Context, follower: Follower) -> None:
        self._context = context
        self._follower = follower
        self.goal: int | None = None
        """The epoch that is being claimed or taken; None: no candidate."""
        self.handed = False
        """It is in the record already."""
        self.heard_at = 0
        """When the owner of the record's epoch was heard last."""
        self.order: RecoveryOrder | None = None
        """An operator's, that is being carried out."""
        self._timed_epoch = -1  # the record's epoch that `heard_at` is about
        self._since = 0  # when that epoch was seen first
        self._prompted_at: int | None = None
        self._resigned_epoch = 0
        self._look_at = 0

    # Hints.

    def record_read(self, now_ms: int) -> None:
        """A newer record is known."""
        record = self._context.register.record
        assert record is not None
        if record.epoch != self._timed_epoch:
            cold = self._timed_epoch == -1 and record.epoch > 0
            wait = max(0, COLD_WAIT_MS - self._context.options.steal_ms) if cold else 0
            self._timed_epoch = record.epoch
            self._since = now_ms
            self.heard_at = now_ms + wait
            self._prompted_at = None

    def heard(self, epoch: int, now_ms: int) -> None:
        """The owner of `epoch` lives."""
        self._context.me.handovers.heard(self._context.shard, epoch, now_ms)
        if epoch >= self._timed_epoch and epoch != self._resigned_epoch:
            self.heard_at = max(self.heard_at, now_ms)
            self._prompted_at = None

    def prompted(self, now_ms: int) -> None:
        """The owner is known to be gone."""
        if self._prompted_at is None:
            self._prompted_at = now_ms

    def resigned(self, epoch: int, now_ms: int) -> None:
        """The owner of `epoch` cannot go on."""
        if epoch >= self._timed_epoch:
            self._resigned_epoch = epoch
            self.prompted(now_ms)

    # Beginning, going on, ending.

    def due_ms(self) -> int | None:
        """When a claim is due, as things stand; None: never."""
        context = self._context
        record = context.register.record
        if record is None or self._hindered():
            return None
        node = context.me.node
        if record.owner is None:
            if node not in record.want:
                return None
            place = record.want.index(node)
            return self._since + place * context.options.first_claim_ms
        if not self._may_claim():
            return None
        if record.owner == node:
            return self._since
        stagger = self._place(record.isr, record.owner) * context.options.stagger_ms
        gone = record.owner not in context.me.registered
        options = context.options
        due = self.heard_at + (options.steal_gone_ms if gone else options.steal_ms)
        if self._prompted_at is not None:
            due = min(due, self._prompted_at)
        unfit = node in context.me.unfit.get(context.shard, ())
        if unfit or node in context.me.leaving:
            due += options.steal_ms  # another one could play all, or is there to stay
        return due + stagger

    def begin(self, now_ms: int) -> None:
        """Become a candidate, if it is time."""
        due = self.due_ms()
        if due is None or due > now_ms:
            return
        record = self._context.register.record
        assert record is not None
        promised = self._context.data.promised
        self.handed = self._is_handed_over()
        goal = record.epoch if self.handed else record.epoch + 1
        if promised > goal:
            # That epoch exists, or existed: this record cannot be the newest.
            if now_ms >= self._look_at:
                self._look_at = now_ms + LOOK_AGAIN_MS
                self._context.effects.list_again = True
            return
        self.goal = goal
        self._follower.claiming = True
        if promised < goal:
            self._context.data.promise(goal)

    def obey(self, order: RecoveryOrder, epoch: int) -> None:
        """Become a candidate for that epoch, as an operator says: rule 6."""
        self.order = order
        self.goal = epoch
        self.handed = False
        self._follower.claiming = True
        self._context.data.promise(epoch)

    def end(self) -> None:
        """A candidate no more."""
        self.order = None
        self.goal = None
        self.handed = False
        self._follower.claiming = False

    def settle(self, now_ms: int) -> bool:
        """Go on with it; returns whether an epoch that was handed over is taken."""
        context = self._context
        register = context.register
        record = register.record
        assert self.goal is not None
        if self._hindered() or not self._promise_is_durable():
            return False
        if self.order is not None:
            if register.may_overrule(now_ms):
                self._overrule(self.order, self.goal)
            return False
        assert record is not None
        if self.handed:
            return True
        if register.may_write(now_ms):
            isr = self._isr_to_claim(record.isr, record.owner)
            register.write(
                owner=context.me.node,
                epoch=self.goal,
                isr=isr,
                want=record.want,
                move=None,
            )
        return False

    def has_won(self) -> bool:
        """The own nonce is in the record, with the epoch that was claimed."""
        register = self._context.register
        record = register.record
        return (
            record is not None
            and register.landed
            and (record.owner, record.epoch) == (self._context.me.node, self.goal)
        )

    def goes_on(self) -> bool:
        """The record was only edited: claim from this revision, or take what was
        handed over."""
        record = self._context.register.record
        assert record is not None
        assert self.goal is not None
        if self.handed:
            return (record.owner, record.epoch) == (self._context.me.node, self.goal)
        allowed = record.owner is None or self._may_claim()
        return allowed and record.epoch == self.goal - 1

    # The rules, each in one place.

    def _may_claim(self) -> bool:
        """Rule 1."""
        return self._context.in_isr()

    def _promise_is_durable(self) -> bool:
        """Rule 3."""
        assert self.goal is not None
        return self._context.data.promised_durable >= self.goal

    def _is_handed_over(self) -> bool:
        """Rule 5. A claim of an earlier process of this node has left its promise."""
        record = self._context.register.record
        return (
            record is not None
            and record.owner == self._context.me.node
            and self._context.data.promised < record.epoch
        )

    def _isr_to_claim(self, isr: Isr, owner: str | None) -> Isr:
        """The in-sync set without the old owner, unless that is this replica."""
        mine = self._context.mine
        if owner is None:
            return (mine,)
        return tuple(pair for pair in isr if pair[0] != owner or pair == mine)

    # Below.

    def _overrule(self, order: RecoveryOrder, epoch: int) -> None:
        """Write the record anew, with nobody in sync but this replica."""
        context = self._context
        register, node = context.register, context.me.node
        record = register.refused or register.record
        assert record is not None
        want = record.want
        if node not in want:
            others = [name for name in want if name not in order.dead]
            want = (node, *others)[: max(1, len(want))]
        register.write(
            owner=node,
            epoch=epoch,
            isr=(context.mine,),
            want=want,
            move=None,
            history=epoch,
        )

    def _hindered(self) -> bool:
        context = self._context
        believed = context.register.stopped is None or self.order is not None
        return (
            not context.me.serving_allowed
            or context.data.failed
            or context.stopped is not None
            or not believed
            or not context.me.ident
            or not context.based
        )

    def _place(self, isr: Isr, owner: str) -> int:
        place = 0
        for pair in isr:
            if pair == self._context.mine:
                break
            place += pair[0] != owner
        return place
