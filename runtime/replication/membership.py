"""Who must acknowledge, who learns, and how the in-sync set changes.

Rules:
1. M, whom a commit waits for, is the record's in-sync set together with that of every
   write that may have landed: the *maximal* set. A member that is being evicted counts
   until it is known to be out; one that joins counts from the moment it is asked for.
2. A follower that is silent, makes no progress, or stays behind its window, for
   `evict_ms`, is evicted. So is one whose node has another identity now, or whose node
   refuses connections; and one that lacks what it has acknowledged. Never below
   `min_isr`: then the shard is degraded.
3. A learner joins when it has all up to max(commit, read floor): with the commit alone,
   records below the floor, acknowledged by a former owner, could be missing there.
   Nor does it join without every game version that the shard uses.
4. Who is not wanted leaves once all who are wanted are in; who is about to go leaves
   at once, and joins nowhere. Never below `min_isr`.
5. Those who are lost and those who join may change places in one write, so that a set
   of `min_isr` can be mended without going below it.
"""

from __future__ import annotations

from .context import Context
from .peer import Peer
from .register import Isr

__all__ = ["Membership"]


class Membership:
    """The other replicas of a shard, as its owner sees them."""

    __slots__ = (
        "_by_pair",
        "_context",
        "_current",
        "_registered",
        "_since",
        "degraded",
        "learners",
        "members",
    )

    def __init__(self, context: Context, now_ms: int) -> None:
        self._context = context
        self._since = now_ms
        self._by_pair: dict[tuple[str, str], Peer] = {}
        self._current: dict[str, Peer] = {}
        self._registered = context.me.registered
        self.members: tuple[Peer, ...] = ()
        """M, without the owner itself."""
        self.learners: tuple[Peer, ...] = ()
        self.degraded = False
        """A member is lost, and cannot be evicted: nothing can be committed."""
        for pair in self._needed():
            if pair != context.mine:
                # Every member of the set has what is committed: it acknowledged it.
                peer = self._create(pair[0], pair[1], now_ms)
                peer.learner = False
                peer.match = context.data.commit
                peer.resume()
        self.refresh(0, now_ms)

    def peer(self, node: str, ident: str) -> Peer | None:
        """The replica of that node and identity, if it is one of these."""
        peer = self._current.get(node)
        return peer if peer is not None and peer.ident == ident else None

    def of_node(self, node: str) -> Peer | None:
        return self._current.get(node)

    def hints_changed(self) -> bool:
        """Other nodes are registered than when `refresh` looked last."""
        return self._registered is not self._context.me.registered

    def refresh(self, serial: int, now_ms: int) -> None:
        """Members and learners anew: the record, a write, or the hints changed.

        `serial` is that of the last frame that was sent to anybody.
        """
        context = self._context
        self._registered = context.me.registered
        members = []
        for pair in self._needed():
            if pair != context.mine:
                peer = self._by_pair.get(pair)
                if peer is None:
                    peer = self._create(pair[0], pair[1], now_ms)
                peer.learner = False
                members.append(peer)
        for peer in self.members:
            if peer not in members and not peer.void:
                peer.begin_anew(serial, None)
        self.members = tuple(members)
        self.learners = tuple(self._learners(members, now_ms))
        kept = (*self.members, *self.learners)
        self._current = {peer.node: peer for peer in kept if not peer.void}
        self._by_pair = {(peer.node, peer.ident): peer for peer in kept}

    def joined_anew(self, peer: Peer, ident: str, boot: int, serial: int) -> Peer:
        """The node of `peer` has another identity now; returns the peer for it."""
        if not peer.learner:
            peer.void = True
            fresh = Peer(peer.node, ident, peer.sent_at)
            self._current[peer.node] = fresh
            self.learners = (*self.learners, fresh)
        else:
            self._by_pair.pop((peer.node, peer.ident), None)
            fresh = peer
            fresh.ident = ident
        fresh.begin_anew(serial, boot)
        self._by_pair[(fresh.node, ident)] = fresh
        return fresh

    def enough_copies(self) -> bool:
        """Whether a commit would be kept by `min_isr` replicas that may take over.

        A takeover may leave fewer; then commits wait for one to join.
        """
        record = self._context.register.record
        return record is not None and len(record.isr) >= self._context.me.min_isr

    def wanted_isr(self, floor: int, now_ms: int) -> Isr:
        """The in-sync set as it should be; `floor`: what who joins must have."""
        record = self._context.register.record
        assert record is not None
        present: Isr = record.isr
        min_isr = self._context.me.min_isr
        joining = self._joining(floor)
        kept = tuple(pair for pair in present if not self._is_lost(pair, now_ms))
        self.degraded = False
        if len(kept) < len(present):
            if len(kept + joining) < min(min_isr, len(present)):
                self.degraded = True
                kept = present
            else:
                return kept + joining
        if joining:
            return kept + joining
        surplus = self._surplus(kept)
        if surplus is not None and len(kept) > min_isr:
            return tuple(pair for pair in kept if pair != surplus)
        return kept

    def due_ms(self, now_ms: int) -> int | None:
        """When a member may be found lost, if it stays silent."""
        if not self.members:
            return None
        heard = self._context.me.heard
        evict = self._context.options.evict_ms
        due = None
        for peer in self.members:
            at = max(heard.get(peer.node, 0), self._since)
            if peer.awaiting:
                at = min(at, peer.progress_at)
            if peer.behind_since is not None:
                at = min(at, peer.behind_since)
            due = at if due is None else min(due, at)
        assert due is not None
        if due + evict >= now_ms:
            return due + evict + 1
        # It cannot be evicted now: look again after a while.
        return now_ms + self._context.options.heartbeat_ms

    def silent(self, peer: Peer, now_ms: int) -> bool:
        """Nothing was heard of its node for long."""
        heard = max(self._context.me.heard.get(peer.node, 0), self._since)
        return now_ms - heard > self._context.options.evict_ms

    def lost(self, peer: Peer, now_ms: int) -> bool:
        """Rule 2."""
        gone = peer.void or peer.broken
        if gone or self._refused(peer) or self.silent(peer, now_ms):
            return True
        evict_ms = self._context.options.evict_ms
        if peer.behind_since is not None and now_ms - peer.behind_since > evict_ms:
            return True
        return peer.awaiting and now_ms - peer.progress_at > evict_ms

    def _refused(self, peer: Peer) -> bool:
        """Nothing was heard of its node since it refused a connection."""
        heard = self._context.me.heard.get(peer.node, 0)
        return peer.refused_at is not None and heard <= peer.refused_at

    # The rules, each in one place.

    def _needed(self) -> Isr:
        """Rule 1: the maximal set."""
        register = self._context.register
        record = register.record
        assert record is not None
        pending = register.outstanding_isr()
        return record.isr + tuple(pair for pair in pending if pair not in record.isr)

    def _may_join(self, peer: Peer, floor: int) -> bool:
        """Rule 3; under the identity and the start that it was fed under."""
        return (
            bool(peer.ident)
            and peer.boot is not None
            and peer.next is not None
            and peer.install is None
            and peer.heard
            and peer.match >= floor
            and peer.node not in self._context.me.unfit.get(self._context.shard, ())
            and peer.node not in self._context.me.leaving
        )

    # Below.

    def _joining(self, floor: int) -> Isr:
        for peer in self.learners:
            if self._may_join(peer, floor):
                return ((peer.node, peer.ident),)
        return ()

    def _is_lost(self, pair: tuple[str, str], now_ms: int) -> bool:
        if pair == self._context.mine:
            return False
        peer = self._by_pair.get(pair)
        return peer is not None and self.lost(peer, now_ms)

    def _surplus(self, isr: Isr) -> tuple[str, str] | None:
        """Rule 4."""
        record = self._context.register.record
        assert record is not None
        for pair in isr:
            if pair[0] in self._context.me.leaving and pair != self._context.mine:
                return pair
        nodes = [node for node, _ in isr]
        if any(node not in nodes for node in record.want):
            return None
        for pair in isr:
            moving = record.move is not None and record.move.to == pair[0]
            if pair[0] not in record.want and pair != self._context.mine and not moving:
                return pair
        return None

    def _learners(self, members: list[Peer], now_ms: int) -> list[Peer]:
        """Who is wanted, has a node, and is not a member under a living identity."""
        record = self._context.register.record
        assert record is not None
        wanted = record.want
        if record.move is not None and record.move.to not in wanted:
            wanted = (*wanted, record.move.to)
        living = [peer.node for peer in members if not peer.void]
        learners = []
        for node in wanted:
            if node == self._context.me.node or node in living:
                continue
            peer = self._current.get(node)
            if peer is None or peer.void:
                if node not in self._context.me.registered:
                    continue
                peer = self._create(node, "", now_ms)
            learners.append(peer)
        return learners

    def _create(self, node: str, ident: str, now_ms: int) -> Peer:
        peer = Peer(node, ident, now_ms)
        self._current[node] = peer
        self._by_pair[(node, ident)] = peer
        return peer
