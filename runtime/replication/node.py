"""All shards of one node: what comes is given to the right ones, what they ask for is
gathered into one `Output`.

Inputs only note. `collect` does what follows from all of them: so many proposals of one
wake-up become one frame per follower and one group in the journal, and the claims of a
dead node's shards become one compare-and-swap per 64.

It keeps what is the node's and not a shard's: its identity, the readings of the
coordinator, the beat to its peers, the timers, and proposals about who shall hold what.
It knows no clock, no coordinator and no disk: `runtime/replica_runner.py` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..control_plane import ClusterRecord, Keys
from ..coordinator import CasOk, CasOutcome, CasUnknown, Change, Listing
from ..errors import NotServing
from ..fleet import Fleet
from ..pin_table import PinTable
from .effects import Effects, RecordWrite
from .folding import Folding
from .heartbeat import Heartbeat
from .identity import Identity, Stage
from .journal_mirror import JournalMirror
from .me import Me
from .message import Alive, Message, Raw
from .node_statistics import NodeCounters
from .node_view import NodeView
from .options import ReplicationOptions
from .output import Output
from .pin_board import PinBoard
from .pinning import commit_intent
from .placer import Placer
from .placing import Placing
from .readings import Reading, Readings
from .record_writer import Answer, Origin, RecordWriter
from .recovered import Recovered
from .role import Role
from .shard import ShardReplica
from .shards import Shards
from .timers import Timers

__all__ = ["NodeReplicas"]


class NodeReplicas(NodeView):
    """One process's replicas.

    `boot` is drawn anew by each process and has no dot. `layout` has the wanted nodes
    per shard, for records that nobody has made yet.
    """

    def __init__(
        self,
        keys: Keys,
        node: str,
        boot: str,
        cluster: ClusterRecord,
        options: ReplicationOptions,
        recovered: Recovered,
        layout: Sequence[tuple[str, ...]],
        pins: PinTable | None = None,
    ) -> None:
        """`pins` is kept up to date, for whoever else looks for matches."""
        if not boot or "." in boot:
            raise ValueError(f"a boot is not empty and has no dot: {boot!r}")
        self._keys = keys
        self._durable = cluster.durability == "disk"
        self._effects = Effects()
        self._me = Me(
            node,
            boot,
            ident="" if self._durable else recovered.ident or boot,
            min_isr=cluster.min_isr,
            durability=cluster.durability,
            keys=keys,
            pins=PinBoard(PinTable(len(layout)) if pins is None else pins),
        )
        self._me.pins.cap = options.pins_max
        self._identity = Identity(
            keys.replica(node),
            boot,
            durable=self._durable,
            recovered=recovered,
            options=options,
        )
        self._readings = Readings(keys, len(layout), self._me.pins)
        self._me.idents = self._readings.idents
        self._shards = Shards(
            self._me, self._effects, options, recovered.shards, layout
        )
        for shard in self._shards:
            self._readings.expect(shard)
        self._writer = RecordWriter(keys)
        self._heartbeat = Heartbeat(node, options.heartbeat_ms)
        self.folding = Folding(
            self._me, self._effects, options, self._shards, self._readings
        )
        """What folds pinned matches back; `pin_board` is told what the host knows."""
        self._counters = NodeCounters()
        self.placing = Placing(
            self._me,
            Placer(node, boot, cluster.copies, options),
            self._readings,
            self._shards,
            self._writer,
            self._counters,
        )
        self._timers = Timers()
        self._touched: dict[int, None] = {}  # shards to be settled
        self._owning: dict[int, int] = {}  # epoch by shard, as peers are told
        self._regroup = True  # who is told what may have changed
        self._waiting: dict[int, list[int]] = {}  # ticket -> shards
        self._mirror = JournalMirror()  # in use unless durable
        self._identity_ticket = 0
        self._disk_works = True
        self._standing_down = False
        self._now_ms = 0

    # What the coordinator says.

    def listing(self, listing: Listing, asked_at: int, now_ms: int) -> None:
        """Everything under the cluster's prefix, as read.

        `asked_at` is what `revision` was when the listing was asked for.
        """
        self._note(now_ms)
        if listing.revision < asked_at:
            self._coordinator_went_back(asked_at, listing.revision)
            return
        key = self._keys.replica(self._me.node)
        mine = [entry for entry in listing.entries if entry.key == key]
        for entry in mine:
            self._identity.observe(entry.revision, entry.value)
        if not mine:
            self._identity.observe(listing.revision, None)
        self._me.ident = self._identity.ident  # shards judge by it what they read
        self.folding.listed(self._now_ms)
        for reading in self._readings.listing(listing):
            self._take(reading)
        self._touched |= dict.fromkeys(self._me.pins.guests)

    def changed(self, changes: Sequence[Change], now_ms: int) -> None:
        """One transaction, as a watch told of it."""
        self._note(now_ms)
        self._take_changes(changes)
        for change in changes:
            if (
                change.key == self._keys.replica(self._me.node)
                and self._readings.listed
            ):
                self._identity.observe(change.revision, change.value)

    def answered(self, request: int, outcome: CasOutcome, now_ms: int) -> None:
        """What became of a `CasRequest`."""
        self._note(now_ms)
        if isinstance(outcome, CasOk):
            self._readings.revision = max(self.revision, outcome.revision)
        for answer in self._writer.answered(request, outcome):
            if answer.origin is Origin.IDENTITY:
                self._identity.answered(answer.write, outcome, self._now_ms)
                self._effects.list_again |= self._identity.reading_wanted
            elif answer.asked is not None:
                self._on_answer(answer, answer.asked)

    def registered(self, fleet: Fleet, now_ms: int) -> None:
        """The nodes that are registered now, and what is known of them: a hint."""
        self._note(now_ms)
        if fleet.registered != self._me.registered:
            self._me.registered = fleet.registered
            self._touch_all()
        self.placing.registered(fleet, self._now_ms)

    # What other nodes say.

    def received(self, node: str, message: Message, now_ms: int) -> None:
        """A message came from a node, over the link that is up now."""
        self._note(now_ms)
        self._me.heard[node] = self._now_ms
        self._counters.received(message)
        if isinstance(message, Alive):
            self._on_alive(node, message)
        elif message.shard in self._shards:
            for reading in self._readings.told(message):
                self._take(reading)
            self._touch(message.shard).received(node, message, self._now_ms)

    def link_up(self, node: str, now_ms: int) -> None:
        """A link to a node stands, anew."""
        self._note(now_ms)
        self._heartbeat.greet(node)

    def link_down(self, node: str, now_ms: int) -> None:
        """A link to a node broke: by itself this means nothing."""
        self._note(now_ms)

    def refused(self, node: str, now_ms: int) -> None:
        """A link broke, and an attempt to connect again was refused."""
        self._note(now_ms)
        for shard, record in self._readings.known():
            mine = record.owner == self._me.node
            follows = any(member == node for member, _ in record.isr)
            if record.owner == node or (mine and follows):
                self._touch(shard).refused(node, self._now_ms)

    def unfit(self, unfit: Mapping[int, frozenset[str]], now_ms: int) -> None:
        """By shard: the nodes that lack a game version which its matches need.

        They do not join its in-sync set, and own it only if nobody else can.
        """
        self._note(now_ms)
        known, self._me.unfit = self._me.unfit, dict(unfit)
        for shard in sorted(known.keys() | unfit.keys()):
            if known.get(shard) != unfit.get(shard) and shard in self._shards:
                self._touch(shard)

    # What the disk says.

    def persisted(self, ticket: int, now_ms: int) -> None:
        """A group is durable; those before it have been answered."""
        self._note(now_ms)
        if self._durable:
            self._on_persisted(ticket)

    def persist_failed(self, ticket: int, now_ms: int) -> None:
        """A group is not durable, and was given up; so is every later one, until
        `disk_ok`."""
        self._note(now_ms)
        if not self._durable:
            self._mirror.failed()
            return
        self._disk_works = False
        if ticket == self._identity_ticket != 0:
            self._identity_ticket = 0
            self._identity.persist_failed()
        for shard in self._waiting.pop(ticket, ()):
            if shard in self._shards:
                self._touch(shard).persist_failed(ticket, self._now_ms)

    def disk_ok(self, now_ms: int) -> None:
        """The journal works again."""
        self._note(now_ms)
        if not self._durable:
            self._effects.journal += self._mirror.repaired(self._shards.items())
            return
        self._disk_works = True
        for shard in self._shards:
            self._touch(shard).disk_ok(self._now_ms)

    # What the host says.

    def propose(
        self, shard: int, items: Sequence[tuple[str, int, Raw]], now_ms: int
    ) -> int:
        """Append records (match, index, packed) to a shard that is served here.

        Returns the sequence number of the first.

        Raises:
            NotServing: It is not.
            ProposalsFull: Too much waits for a commit already.
            TooFewCopies: Nothing is accepted before another replica joins.
        """
        self._note(now_ms)
        return self._touch(shard).propose(items, self._now_ms)

    def confirm(self, shard: int, now_ms: int) -> int:
        """Ask whether this node still owns the shard; the token that `Confirmed` says.

        Raises:
            NotServing: It does not serve it.
        """
        self._note(now_ms)
        return self._touch(shard).confirm(self._now_ms)

    def pin(self, match: str, now_ms: int) -> None:
        """Begin to give a match that is served here a shard of its own.

        Raises:
            PinRefused: It cannot be, now or here.
        """
        self._note(now_ms)
        self._me.pins.check_free(match)
        self._touch(self.pins.home(match)).pin(match, self._now_ms)

    def fold(self, match: str, now_ms: int) -> None:
        """Begin to fold a pinned match back that is served here.

        Raises:
            PinRefused: It cannot be, now or here.
        """
        self._note(now_ms)
        self.folding.fold(match, self._now_ms)

    def stir(self, *shards: int) -> None:
        """Something is new of these, if they are here."""
        self._touched |= dict.fromkeys(s for s in shards if s in self._shards)

    def shard(self, shard: int, now_ms: int) -> ShardReplica | None:
        """One shard's replica, to be told something: see there. None: it is gone."""
        self._note(now_ms)
        return self._touch(shard) if shard in self._shards else None

    def leave(self, now_ms: int) -> None:
        """Ask to be let out of others' in-sync sets: nobody shall wait for it."""
        self._note(now_ms)
        self._me.leaving.add(self._me.node)
        self._heartbeat.leave()

    def trust_identity(self, now_ms: int) -> None:
        """An operator vouches for this node's data: see `Identity.trust`."""
        self._now_ms = max(self._now_ms, now_ms)
        self._identity.trust()

    def stand_down(self, now_ms: int) -> None:
        """Own, claim and follow nothing more, for good.

        What was owned is resigned: in-sync followers claim it at once.
        """
        self._note(now_ms)
        self._stand_down()

    def tick(self, now_ms: int) -> None:
        """Time has passed."""
        self._note(now_ms)

    # What follows.

    def collect(self, now_ms: int, clock_ms: int | None = None) -> Output:
        """All that follows from the inputs since the last call, and from the time.

        `clock_ms` is the wall clock, where that is not `now_ms`.
        """
        self._note(now_ms)
        self._me.clock_ms = self._now_ms if clock_ms is None else clock_ms
        self._step_identity()
        self.stir(*self._timers.pop(self._now_ms))
        self.stir(*self.folding.settle(self._now_ms))
        ticket = self._settle()
        self.stir(*self.folding.stirred())
        self._effects.alarms += self._readings.alarms
        self._readings.alarms.clear()
        if not self._standing_down:
            self.placing.place(self._owning, self._now_ms)
        self._writer.add(self._effects.take_writes())
        self._beat()
        cas = self._writer.take_requests()
        output = self._effects.take_output(ticket, cas, self._next_ms())
        self._counters.collected(output)
        return output

    # Readings.

    def _take_changes(self, changes: Sequence[Change]) -> None:
        for reading in self._readings.changed(changes):
            self._take(reading)
        for match in [self._keys.pin_of(change.key) for change in changes]:
            if match is not None:
                self._touch(self.pins.home(match))

    def _take(self, reading: Reading) -> None:
        if reading.shard not in self._shards:
            if reading.record is None and reading.fault is None:
                return
            self._shards.add(reading.shard)
        replica = self._touch(reading.shard)
        self._regroup = True
        self.placing.record_changed(self._now_ms)
        if reading.fault is not None:
            replica.refuse(reading.revision, reading.record)
            replica.stop(*reading.fault)
        else:
            replica.observe(reading.revision, reading.record, self._now_ms)

    def _coordinator_went_back(self, asked_at: int, revision: int) -> None:
        why = f"the coordinator went back from revision {asked_at} to {revision}:"
        for shard in self._shards:
            message = f"{why} was it restored from a backup?"
            self._touch(shard).stop("coordinator_went_back", message)

    def _on_answer(self, answer: Answer, asked: RecordWrite) -> None:
        shard, outcome = asked.shard, answer.outcome
        self._counters.conflicts += answer.moved
        self._counters.unknowns += isinstance(outcome, CasUnknown)
        if answer.origin is Origin.PLACER:
            self.placing.answered()
            if isinstance(outcome, CasOk) and self._readings.landed(
                shard, outcome.revision, asked.record
            ):
                self._take(Reading(shard, outcome.revision, asked.record))
            return
        if shard not in self._shards:
            return  # it is gone: a reading has told of that
        if isinstance(outcome, CasOk) and not asked.deletes:
            self._counters.wrote(
                self._readings.records.get(shard), asked.record, self._me.node
            )
        self._touch(shard).answered(asked.nonce, outcome, answer.moved, self._now_ms)
        if isinstance(outcome, CasOk):
            record = None if asked.deletes else asked.record
            self._regroup |= self._readings.landed(shard, outcome.revision, record)
            self.placing.record_changed(self._now_ms)
            self._take_changes(
                [
                    Change(write.key, write.value, outcome.revision)
                    for write in asked.companions
                ]
            )
        elif answer.moved:
            known = self._readings.revisions[shard] != answer.write.expected
            self._effects.list_again |= not known

    def _on_alive(self, node: str, message: Alive) -> None:
        if message.leaving != (node in self._me.leaving):
            self._me.leaving ^= {node}
            self._touched |= dict.fromkeys(self._owning)
        for shard, epoch in message.owned:
            replica = self._shards.get(shard)
            if replica is None:
                continue
            replica.alive(node, epoch, message.clock_ms, self._now_ms)
            usual = replica.role in (Role.FOLLOWER, Role.LEARNER)
            if not usual or replica.epoch != epoch or replica.owner != node:
                self._touch(shard)

    # Steps of `collect`.

    def _note(self, now_ms: int) -> None:
        self._now_ms = max(self._now_ms, now_ms)

    def _touch(self, shard: int) -> ShardReplica:
        if shard not in self._shards:
            raise NotServing(f"shard {shard} is no more")
        self._touched[shard] = None
        return self._shards[shard]

    def _touch_all(self) -> None:
        self._touched = dict.fromkeys(self._shards)

    def _step_identity(self) -> None:
        identity = self._identity
        if identity.at_rest and self._me.serving_allowed:
            return
        self._effects.alarms += identity.take_alarms()
        if identity.stage is Stage.TAKEN:
            self._stand_down()
        self._me.ident, self._me.boot = identity.ident, identity.boot
        allowed = identity.open and not self._standing_down
        if allowed != self._me.serving_allowed:
            self._me.serving_allowed = allowed
            self._touch_all()
        op = identity.take_op() if self._disk_works else None
        if op is not None:
            self._identity_ticket = self._effects.ticket
            self._effects.journal.append(op)
        write = identity.next_write(self._now_ms)
        if write is not None:
            self._writer.add_alone(write, Origin.IDENTITY)

    def _stand_down(self) -> None:
        if self._standing_down:
            return
        self._standing_down = True
        self._me.serving_allowed = False
        self._heartbeat.leave()
        for shard in self._shards:
            self._touch(shard).resign(self._now_ms)

    def _settle(self) -> int:
        """Settle what was touched; the ticket of what is to be persisted, or 0.

        Without durability it counts as persisted at once.
        """
        first = 0  # where the group begins
        newest = 0
        while True:
            touched, self._touched = self._touched, {}
            for shard in touched:
                self._settle_one(shard)
            ticket = self._effects.close_group()
            if ticket == 0:
                break
            newest = ticket
            self._waiting[ticket] = self._effects.shards_since(first)
            if self._durable:
                return ticket
            first = len(self._effects.journal)
            self._on_persisted(ticket)
        if not self._durable and self._mirror.withhold(self._effects):
            return 0
        return newest

    def _settle_one(self, shard: int) -> None:
        replica = self._shards[shard]
        if replica.vanish():
            self._forget(shard)
            return
        if replica.context.lacks_base():
            self._commit_intent(shard)
        replica.settle(self._now_ms)
        due_ms = replica.due_ms()
        if due_ms is not None:  # it has just done what was due by now
            self._timers.want(shard, max(due_ms, self._now_ms + 1))
        owning = replica.epoch if replica.role is Role.OWNER else None
        if owning != self._owning.get(shard):
            self._regroup = True
            if owning is None:
                del self._owning[shard]
            else:
                self._owning[shard] = owning

    def _commit_intent(self, shard: int) -> None:
        match = self.pins.match_of(shard)
        if match is not None:
            home = self._shards[self.pins.home(match)]
            if home.ownership is None and commit_intent(match, home.data):
                self._touch(home.context.shard)

    def _forget(self, shard: int) -> None:
        """A pinned shard is no more."""
        del self._shards[shard]
        self._owning.pop(shard, None)
        self._readings.forget(shard)
        self.folding.forget(shard)
        self._regroup = True

    def _on_persisted(self, ticket: int) -> None:
        if ticket == self._identity_ticket != 0:
            self._identity_ticket = 0
            self._identity.persisted()
        for shard in self._waiting.pop(ticket, ()):
            if shard in self._shards:
                self._touch(shard).persisted(ticket, self._now_ms)

    def _beat(self) -> None:
        if self._identity.stage is Stage.TAKEN:
            return  # another process speaks for this node
        if self._regroup:
            self._regroup = False
            self._heartbeat.regroup(
                (shard, record, self._owning.get(shard))
                for shard, record in self._readings.known()
            )
        for node, alive in self._heartbeat.beat(self._now_ms, self._me.clock_ms):
            self._effects.send(node, alive)

    def _next_ms(self) -> int | None:
        down = self._standing_down
        times = (
            self._timers.next_ms(),
            self._heartbeat.due_ms(),
            self._identity.due_ms(),
            self.folding.due_ms(self._now_ms),
            None if down else self.placing.due_ms(self._owning),
        )
        return min((time for time in times if time is not None), default=None)
