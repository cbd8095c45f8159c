"""The runner: carries out what the replication core asks, in order, at once.

Between the core (`replication/node.py`), the matches of this node (`Host`) and the
outside (`ReplicaIo`). The node's shell and the simulator use the same runner, so what
the simulator has tried is what runs.

Rules:
1. Every input ends in `settle`: collect and obey until the core asks nothing more. What
   the host says meanwhile (a proposal, a confirmation) is heard in the same settling.
2. The fields of an `Output` are obeyed in their order, all of each before the next.
3. The journal operations of one `Output` and the states that its installs brought are
   one group: the states of an install come before the `Wiped` that completes it.

It is synchronous and knows no clock: time comes with each input, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from .coordinator import CasOutcome, Change, Listing
from .errors import PinRefused, RecoveryRefused
from .fleet import Fleet
from .frame import ShardEntry
from .journal import StoreOp
from .rebalance import BalancePlan
from .replication.manifest import Manifest
from .replication.message import ManifestLine, Message, Piece, Raw
from .replication.node import NodeReplicas
from .replication.output import (
    Alarm,
    Attach,
    Carry,
    CasRequest,
    Come,
    Committed,
    Confirmed,
    Demoted,
    Detach,
    Feed,
    Install,
    JournalOp,
    Output,
    Serving,
    Split,
    StateWanted,
    Wiped,
)
from .replication.pin_board import Guest, Placed
from .replication.recovery import RecoveryOrder

__all__ = [
    "FeedPage",
    "Host",
    "Judged",
    "Leaving",
    "News",
    "ReplicaIo",
    "ReplicaRunner",
    "Returning",
    "Visiting",
    "compose_group",
]

ROUNDS_MAX = 10_000
"""Of one settling: far beyond what a host can ask for; then it and the core ping-pong.
"""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of a shard's states for a learner; `cursor` None: it was the last.

    `withheld`: some of it cannot be read here. The learner is given nothing more, for
    it must not join the in-sync set without it. `lines`: the matches that it completes.
    """

    pieces: tuple[Piece, ...]
    cursor: str | None
    withheld: bool = False
    lines: tuple[ManifestLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What is here of a page that was installed: not so these matches, of its lines;
    and what those lines come to that were so, in all of the install."""

    differing: tuple[str, ...] = ()
    held: bytes = Manifest().digest()


@dataclass(frozen=True, slots=True)
class Leaving:
    """The match's copy here is at its last record in `shard`, which says that it leaves
    for the pinned shard `target`, as its `n`th pin. `target` 0: no longer."""

    shard: int
    match: str
    target: int
    n: int


@dataclass(frozen=True, slots=True)
class Returning:
    """How the match of a pinned shard is here. None: it is not here any more."""

    shard: int
    placed: Placed | None


@dataclass(frozen=True, slots=True)
class Visiting:
    """A match came by the log of its home `shard`. None: it is no guest any more."""

    shard: int
    match: str
    guest: Guest | None


News = Leaving | Returning | Visiting
"""What becomes of matches that are pinned, or folded back."""


class ReplicaIo(Protocol):
    """The outside. Nothing here may call the runner back before it returns."""

    def persist(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        """Begin to make a group durable, behind all that came before it.

        When it is: `persisted(ticket)`; when it cannot be: `persist_failed(ticket)`,
        and for every later one too. Nobody waits for ticket 0.
        """

    def send(self, node: str, message: Message) -> None:
        """Put it on the link; it may be lost."""

    def cas(self, request: CasRequest) -> None:
        """Begin it; then `answered(request.id, …)`, whatever comes."""

    def alarm(self, alarm: Alarm) -> None:
        """Tell an operator."""

    def table_changed(self, rows: tuple[ShardEntry, ...]) -> None:
        """Rows of the shard table that changed."""

    def list_again(self) -> None:
        """List the coordinator's keys now, not at the next turn."""

    def wake_at(self, at_ms: int | None) -> None:
        """Call `tick` at that time at the latest; it replaces any earlier wish."""


class Host(Protocol):
    """The matches of this node. It may call `propose`, `confirm` and `feed` meanwhile;
    it raises nothing."""

    def demoted(self, demoted: Demoted) -> None:
        """Serve no longer; answer what waits; drop what is not committed."""

    def install(self, install: Install) -> tuple[StoreOp, ...]:
        """Take states from the owner; what is to be persisted of them."""

    def judge(self, install: Install) -> Judged:
        """Compare what came of it with its lines; asked right behind `install`."""

    def split(self, split: Split) -> tuple[StoreOp, ...]:
        """A match changes its shard; what is to be persisted of it."""

    def fixed(self, match: str) -> str:
        """Why the match cannot be pinned, or folded back, as far as the host knows:
        "no_such_match", "ended", or the code of a match that is set apart; else ""."""

    def pin_asked(self, asked: Detach | Attach) -> None:
        """Have a match say in its log that it leaves its shard, or stays."""

    def carry(self, carry: Carry) -> Sequence[Raw]:
        """All of a match, in pieces for the log of its home; none: it cannot be."""

    def come(self, come: Come) -> None:
        """What came by the log is the match, from now on."""

    def gone(self, shard: int) -> None:
        """A pinned shard is no more: forget what is here of it."""

    def take_leaving(self) -> Sequence[News]:
        """News of the matches that leave their shards, since the last call."""

    def committed(self, committed: Committed) -> None:
        """Apply, or release what waits; entries that are known are skipped."""

    def serving(self, serving: Serving) -> None:
        """Serve the shard from now on."""

    def confirmed(self, confirmed: Confirmed) -> None:
        """Release the refusals that wait for it."""

    def feed(self, feed: Feed) -> FeedPage:
        """The page of states behind the cursor, for a learner."""

    def state(self, wanted: StateWanted) -> tuple[Piece, ...]:
        """A match's committed state, for a follower whose own differs."""

    def copied(self, shard: int, piece: Piece) -> tuple[StoreOp, ...]:
        """The owner's copy, or a part of it, that `ask_state` asked for; what is to be
        persisted of it."""


class ReplicaRunner:
    """Set `host` before the first input. Every input settles before it returns."""

    host: Host

    def __init__(
        self,
        core: NodeReplicas,
        io: ReplicaIo,
        wall_ms: Callable[[], int] | None = None,
    ) -> None:
        """`wall_ms` is the wall clock; None: the same as the time of the inputs."""
        self.core = core
        self._io = io
        self._wall_ms = wall_ms
        self._held = 0  # > 0: inside `batch`, or settling
        self._arrived: dict[int, list[StoreOp]] = {}  # states, to be persisted next
        self._now_ms = 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Inputs within are collected together, once, at the end."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        self.settle(self._now_ms)

    def settle(self, now_ms: int) -> None:
        """Collect and obey until there is nothing left to do."""
        self._now_ms = max(self._now_ms, now_ms)
        if self._held:
            return
        self._held += 1
        try:
            for _ in range(ROUNDS_MAX):
                self._take_leaving()
                clock_ms = None if self._wall_ms is None else self._wall_ms()
                output = self.core.collect(self._now_ms, clock_ms)
                obeyed = self._obey(output)
                self._take_leaving()
                if not obeyed or not self.core.stirred:
                    break
            else:
                raise AssertionError(f"core and host do not settle: {output}")
        finally:
            self._held -= 1
        self._io.wake_at(output.timer_ms)

    # Inputs; see `NodeReplicas`.

    def listing(self, listing: Listing, asked_at: int, now_ms: int) -> None:
        """Everything under the cluster's prefix, as read."""
        self.core.listing(listing, asked_at, now_ms)
        self.settle(now_ms)

    def changed(self, changes: Sequence[Change], now_ms: int) -> None:
        """One transaction, as a watch told of it."""
        self.core.changed(changes, now_ms)
        self.settle(now_ms)

    def answered(self, request: int, outcome: CasOutcome, now_ms: int) -> None:
        """What became of a `CasRequest`."""
        self.core.answered(request, outcome, now_ms)
        self.settle(now_ms)

    def registered(self, fleet: Fleet, now_ms: int) -> None:
        """The nodes that are registered now, and what is known of them."""
        self.core.registered(fleet, now_ms)
        self.settle(now_ms)

    def unfit(self, unfit: Mapping[int, frozenset[str]], now_ms: int) -> None:
        """By shard: the nodes that lack a game version which its matches need."""
        self.core.unfit(unfit, now_ms)
        self.settle(now_ms)

    def received(self, node: str, message: Message, now_ms: int) -> None:
        """A message came from a node."""
        self.core.received(node, message, now_ms)
        self.settle(now_ms)

    def link_up(self, node: str, now_ms: int) -> None:
        """A link to a node stands, anew."""
        self.core.link_up(node, now_ms)
        self.settle(now_ms)

    def link_down(self, node: str, now_ms: int) -> None:
        """A link to a node broke."""
        self.core.link_down(node, now_ms)
        self.settle(now_ms)

    def refused(self, node: str, now_ms: int) -> None:
        """A link broke, and an attempt to connect again was refused."""
        self.core.refused(node, now_ms)
        self.settle(now_ms)

    def persisted(self, ticket: int, now_ms: int) -> None:
        """A group is durable; those before it have been answered."""
        self.core.persisted(ticket, now_ms)
        self.settle(now_ms)

    def persist_failed(self, ticket: int, now_ms: int) -> None:
        """A group is not durable, and was given up."""
        self.core.persist_failed(ticket, now_ms)
        self.settle(now_ms)

    def disk_ok(self, now_ms: int) -> None:
        """The journal works again."""
        self.core.disk_ok(now_ms)
        self.settle(now_ms)

    def tick(self, now_ms: int) -> None:
        """Time has passed."""
        self.core.tick(now_ms)
        self.settle(now_ms)

    def leave(self, now_ms: int) -> None:
        """Ask to be let out of the in-sync sets that others own."""
        self.core.leave(now_ms)
        self.settle(now_ms)

    def rebalance(self, now_ms: int) -> BalancePlan:
        """Spread shards evenly, a round, now; what that will come to."""
        plan = self.core.placing.rebalance()
        self.settle(now_ms)
        return plan

    def stand_down(self, now_ms: int) -> None:
        """Serve nothing more, for good."""
        self.core.stand_down(now_ms)
        self.settle(now_ms)

    # What the host says.

    def propose(
        self, shard: int, items: Sequence[tuple[str, int, Raw]], now_ms: int
    ) -> int:
        """Append records (match, index, packed) to a shard that is served here.

        Returns the sequence number of the first.

        Raises:
            NotServing: It is not.
            ProposalsFull: Too much waits for a commit already.
        """
        first = self.core.propose(shard, items, now_ms)
        self.settle(now_ms)
        return first

    def confirm(self, shard: int, now_ms: int) -> int:
        """Ask whether this node still owns the shard; the token that `Confirmed` says.

        Only in a `batch`, or while the host is told something: else `Confirmed` could
        come before the token.

        Raises:
            NotServing: It does not serve it.
        """
        assert self._held, "confirm within `batch`"
        self._now_ms = max(self._now_ms, now_ms)
        return self.core.confirm(shard, now_ms)

    def ask_state(self, shard: int, match: str, now_ms: int) -> None:
        """Ask the shard's owner for its copy of a match's state."""
        if (replica := self.core.shard(shard, now_ms)) is not None:
            replica.ask_state(match)
        self.settle(now_ms)

    def recover(self, shard: int, order: RecoveryOrder, now_ms: int) -> int:
        """Go on from what this node has of a shard, as an operator says; the epoch
        that is claimed.

        Raises:
            RecoveryRefused: It may not be, or need not.
        """
        replica = self.core.shard(shard, now_ms)
        if replica is None:
            raise RecoveryRefused("no_such_shard", f"there is no shard {shard}")
        epoch = replica.recover(order, now_ms)
        self.settle(now_ms)
        return epoch

    def trust_identity(self, now_ms: int) -> None:
        """An operator says that this node's data are the ones that served last."""
        self.core.trust_identity(now_ms)
        self.settle(now_ms)

    def pin(self, match: str, now_ms: int) -> None:
        """Begin to give a match of a shard that is served here a shard of its own.

        `PinTable.pin_of` tells when it has come off; if it does not, it stays at home.

        Raises:
            PinRefused: It cannot be, now or here.
        """
        self._check_free(match, now_ms)
        self.core.pin(match, now_ms)
        self.settle(now_ms)

    def fold(self, match: str, now_ms: int) -> None:
        """Begin to fold a match back whose own shard is served here.

        `PinTable.pin_of` tells when it has come off; if it does not, it stays pinned.

        Raises:
            PinRefused: It cannot be, now or here.
        """
        self._check_free(match, now_ms, but="ended")
        self.core.fold(match, now_ms)
        self.settle(now_ms)

    def _check_free(self, match: str, now_ms: int, but: str = "") -> None:
        shard = self.core.pins.shard_of(match)
        replica = self.core.shard(shard, now_ms)
        if replica is None or not replica.serving:
            raise PinRefused("not_owner", f"ask the owner of shard {shard}")
        if (code := self.host.fixed(match)) not in ("", but):
            raise PinRefused(code, f"match {match} stays where it is: {code}")

    # Obedience.

    def _take_leaving(self) -> None:
        board = self.core.pin_board
        for news in self.host.take_leaving():
            if isinstance(news, Leaving):
                board.left(news.shard, news.match, news.target, news.n)
                self.core.stir(news.target)
            elif isinstance(news, Returning):
                board.place(news.shard, news.placed)
            else:
                board.came(news.shard, news.match, news.guest)
            self.core.stir(news.shard)

    def _obey(self, output: Output) -> bool:
        """Carry it out; False if there was nothing."""
        for alarm in output.alarms:
            self._io.alarm(alarm)
        for demoted in output.demoted:
            self.host.demoted(demoted)
        installed, self._arrived = self._arrived, {}
        for install in output.installs:
            self._install(install, installed)
        for split in output.splits:
            installed.setdefault(split.shard, []).extend(self.host.split(split))
        for shard in output.gone:
            installed.pop(shard, None)
            self.host.gone(shard)
        if output.journal or installed or output.ticket:
            group = compose_group(output.journal, installed)
            self._io.persist(output.ticket, group)
        for send in output.sends:
            self._io.send(send.node, send.message)
        for request in output.cas:
            self._io.cas(request)
        self._tell_host(output)
        if output.table:
            self._io.table_changed(output.table)
        if output.list_again:
            self._io.list_again()
        return output != Output(timer_ms=output.timer_ms)

    def _install(self, install: Install, installed: dict[int, list[StoreOp]]) -> None:
        """A page of states; the core decides what it was worth.

        If that completes the install, these states and that are one group: they wait
        for what the core says, in this very settling.
        """
        shard = install.shard
        states = self.host.install(install)
        judged = self.host.judge(install)
        if install.page == 0:  # what came of an earlier install is wiped
            installed[shard] = []
            self._arrived.pop(shard, None)
        first = install.page == 0
        (installed if first else self._arrived).setdefault(shard, []).extend(states)
        if (replica := self.core.shard(shard, self._now_ms)) is not None:
            replica.judged(install, judged.differing, judged.held)

    def _tell_host(self, output: Output) -> None:
        for committed in output.committed:
            self.host.committed(committed)
        for serving in output.serving:
            self.host.serving(serving)
        for confirmed in output.confirmed:
            self.host.confirmed(confirmed)
        for feed in output.feeds:
            page = self.host.feed(feed)
            replica = self.core.shard(feed.shard, self._now_ms)
            if replica is not None and not page.withheld:
                replica.feed(
                    feed.node,
                    feed.install,
                    page.pieces,
                    page.cursor,
                    self._now_ms,
                    page.lines,
                )
        for wanted in output.states_wanted:
            pieces = self.host.state(wanted)
            replica = self.core.shard(wanted.shard, self._now_ms)
            if replica is not None:
                replica.state_copy(wanted.node, pieces)
        for asked in output.pin_asks:
            if isinstance(asked, Carry):
                self.core.folding.carried(asked.shard, self.host.carry(asked))
                self.core.stir(asked.shard)
            elif isinstance(asked, Come):
                self.host.come(asked)
            else:
                self.host.pin_asked(asked)
        copied: list[StoreOp] = []
        for shard, piece in output.state_copies:
            copied += self.host.copied(shard, piece)
        if copied:
            self._io.persist(0, tuple(copied))


def compose_group(
    journal: Sequence[JournalOp], installed: dict[int, list[StoreOp]]
) -> tuple[StoreOp, ...]:
    """One group of the core's operations and of the states that installs brought.

    A shard's states come just before the `Wiped` that completes its install, else
    behind everything else.
    """
    group: list[StoreOp] = []
    left = dict(installed)
    for op in journal:
        if isinstance(op, Wiped) and op.complete:
            group += left.pop(op.shard, [])
        group.append(op)
    for ops in left.values():
        group += ops
    return tuple(group)
