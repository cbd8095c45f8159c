"""An operator has a shard served from a copy that may lack what was acknowledged.

A shard is *lost* when nobody of its in-sync set is left: only they held all that was
acknowledged, so nobody claims it, and it never begins anew by itself. An operator may
decide that another node's copy shall do. That copy is old: what is missing in it is
gone. So it is asked for shard by shard, each dead member by its name, and none of them
may live: it would not only be wrong, it would be needless.

The same way leads out when the coordinator was restored from an old backup: its records
are below epochs that were reached, and no node believes them (`restored`).

The epoch is above any that a replica is known to have promised, by a margin: those who
are away may have promised more. The record says in which epoch the shard's *history*
began anew; by that, views may go back for once, and copies from before are replaced
though they are longer (`follower.py`).
"""

from __future__ import annotations

from ..errors import RecoveryRefused
from .context import Context
from .install import InstallTaker
from .recovery_order import RecoveryOrder
from .takeover import Takeover

__all__ = ["EPOCH_MARGIN", "Recovery", "RecoveryOrder"]

EPOCH_MARGIN = 16
"""Promises that replicas which nobody can ask may have made above the known ones: each
is a claim that did not land."""

RECOVERABLE = frozenset({"shard_lost", "epoch_went_back", "coordinator_went_back"})
"""Codes of a stopped register that an order overrules."""


class Recovery:
    """Begins one, and says whether it goes on; the rest is a claim like any other."""

    __slots__ = ("_context", "_taker", "_takeover")

    def __init__(
        self, context: Context, takeover: Takeover, taker: InstallTaker
    ) -> None:
        self._context = context
        self._takeover = takeover
        self._taker = taker

    def begin(self, order: RecoveryOrder, now_ms: int) -> int:
        """The epoch that is claimed from now on.

        Raises:
            RecoveryRefused: It may not be, or need not.
        """
        data = self._context.data
        _check_order(self._context, self._taker, order, now_ms)
        if self._taker.open or not (data.last_seq or data.log.base_seq):
            self._taker.begin_empty()
        epoch = _epoch(self._context, order)
        self._takeover.end()
        self._takeover.obey(order, epoch)
        return epoch

    def goes_on(self, now_ms: int) -> bool:
        """Whether the record that was read says nothing against the order. (Somebody
        may have edited whom the shard is wanted at.)"""
        order, goal = self._takeover.order, self._takeover.goal
        register = self._context.register
        record = register.refused or register.record
        assert order is not None
        assert goal is not None
        if self._takeover.has_won() or record is None or record.epoch >= goal:
            return False
        try:
            _check_order(self._context, self._taker, order, now_ms)
        except RecoveryRefused:
            return False
        return True


def _epoch(context: Context, order: RecoveryOrder) -> int:
    """The epoch to claim: no replica that can be asked has promised it."""
    record, register = context.register.record, context.register
    known = (
        0 if record is None else record.epoch,
        0 if register.refused is None else register.refused.epoch,
        register.epoch_seen,
        context.data.promised,
        order.above,
    )
    return max(known) + EPOCH_MARGIN


def _check_order(
    context: Context, taker: InstallTaker, order: RecoveryOrder, now_ms: int
) -> None:
    """Whether the order may be carried out here, as far as this node can know.

    Raises:
        RecoveryRefused: It may not; its code says why.
    """
    me, register = context.me, context.register
    if not me.serving_allowed or not register.known or not me.ident:
        raise RecoveryRefused("not_ready", f"{me.node} is still starting, or stopping")
    if context.data.failed:
        raise RecoveryRefused("disk_refused", f"the disk of {me.node} takes no writes")
    if context.stopped is not None:
        raise RecoveryRefused(
            "shard_stopped",
            f"{me.node} has stopped the shard itself ({context.stopped}): restart it,"
            " or take another node's copy",
        )
    if register.stopped is not None and register.stopped not in RECOVERABLE:
        raise RecoveryRefused(
            "record_unreadable",
            f"the shard's record cannot be believed ({register.stopped}): mend it"
            " first",
        )
    if order.restored:
        _check_restored(context)
    else:
        _check_members(context, order, now_ms)
    _check_copy(context, taker, order)


def _check_copy(context: Context, taker: InstallTaker, order: RecoveryOrder) -> None:
    held = context.data.last_seq or context.data.log.base_seq
    if taker.open or not context.based:
        held = 0
    if not held and not order.empty:
        raise RecoveryRefused(
            "no_copy",
            f"{context.me.node} has no copy of the shard; if no node has one, it can"
            " begin with nothing (--empty)",
        )


def _check_restored(context: Context) -> None:
    """`restored` is for records that are older than what this node knows."""
    register, record = context.register, context.register.record
    epoch = 0 if record is None else record.epoch
    if register.stopped is None and context.data.promised <= epoch:
        raise RecoveryRefused(
            "not_needed",
            f"the record's epoch {epoch} is the highest that {context.me.node} knows:"
            " nothing went back",
        )


def _check_members(context: Context, order: RecoveryOrder, now_ms: int) -> None:
    record, me = context.register.record, context.me
    if context.register.stopped in RECOVERABLE - {"shard_lost"}:
        raise RecoveryRefused(
            "epoch_went_back",
            "the record is older than what was seen: was the coordinator restored from"
            " a backup? Then the epoch is to be raised (--raise-epoch)",
        )
    if record is None or record.owner is None:
        raise RecoveryRefused(
            "not_needed", "nobody ever owned the shard: it is claimed by itself"
        )
    if context.mine in record.isr:
        raise RecoveryRefused(
            "not_needed",
            f"{me.node} is in the shard's in-sync set: it lacks nothing, and takes the"
            " shard over by itself when its owner is gone",
        )
    if not order.unclean:
        raise RecoveryRefused(
            "needs_unclean",
            f"{me.node} is not in sync: what was acknowledged since it was is lost for"
            " good (--unclean)",
        )
    members = tuple(dict.fromkeys(node for node, _ in record.isr))
    if missing := [node for node in members if node not in order.dead]:
        raise RecoveryRefused(
            "member_not_named",
            f"{', '.join(missing)} held all that was acknowledged: start them, or say"
            " that they are gone for good (--node-is-dead, each by its name)",
        )
    for node, ident in record.isr:
        heard_ms = me.heard.get(node)
        heard = heard_ms is not None and now_ms - heard_ms < context.options.evict_ms
        here = heard or node in me.registered
        if here and me.idents.get(node, ident) == ident:
            raise RecoveryRefused(
                "member_lives",
                f"{node} holds all that was acknowledged, and lives: it takes the shard"
                " over, or its registration is about to end",
            )
