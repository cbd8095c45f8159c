"""Mutants: the product with one rule broken, each by another body of one method.

A checker must catch every one of them: a mutant that survives means that the faults
are too tame. `mutants.json` keeps the seed that first caught each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotseat.runtime.coordinator import ABSENT
from hotseat.runtime.dedupe import KeyVerdict, KeyWindow
from hotseat.runtime.hosting.replicated_committer import ReplicatedCommitter
from hotseat.runtime.replication.data import ReplicaData
from hotseat.runtime.replication.folding import Folding
from hotseat.runtime.replication.follower import Follower
from hotseat.runtime.replication.fresh_reads import FreshReads
from hotseat.runtime.replication.identity import Identity
from hotseat.runtime.replication.membership import Membership
from hotseat.runtime.replication.message import Echo
from hotseat.runtime.replication.node import NodeReplicas
from hotseat.runtime.replication.output import Demoted
from hotseat.runtime.replication.owner import Owner
from hotseat.runtime.replication.record_writer import RecordWriter
from hotseat.runtime.replication.register import RecordRegister
from hotseat.runtime.replication.shard import ShardReplica
from hotseat.runtime.replication.takeover import Takeover
from hotseat.runtime.testing.memory_store import MemoryStore

__all__ = ["KEPT", "MUTANTS", "Mutant", "kept_seeds", "mutated"]

KEPT = Path(__file__).with_name("mutants.json")
"""By mutant: the first seed that caught it."""


@dataclass(frozen=True)
class Patch:
    """`body` makes the broken method of the sound one."""

    owner: type
    method: str
    body: Callable[[Any], Any]


@dataclass(frozen=True)
class Mutant:
    """`rule` says what is broken. Rare ones have a scenario of their own."""

    name: str
    rule: str
    patches: tuple[Patch, ...]
    scenario: str = ""


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """The rule is broken inside."""
    with ExitStack() as stack:
        for patch in mutant.patches:
            sound = patch.owner.__dict__[patch.method]
            broken = patch.body(sound)
            stack.callback(setattr, patch.owner, patch.method, sound)
            setattr(patch.owner, patch.method, broken)
        yield


def kept_seeds() -> dict[str, int]:
    """The first seed that caught each mutant."""
    held: dict[str, int] = json.loads(KEPT.read_text())
    return held


MUTANTS: dict[str, Mutant] = {}


def _mutant(name: str, rule: str, *patches: Patch, scenario: str = "") -> None:
    MUTANTS[name] = Mutant(name, rule, patches, scenario)


def _always(value: object) -> Callable[[Any], Any]:
    return lambda sound: lambda *args: value


def _unchecked(owner: type) -> Patch:
    """The product's own check would notice; let the checkers outside."""
    return Patch(owner, "check", _always(None))


# What a follower takes and says.

_mutant(
    "no_epoch_fence",
    "an owner of an older epoch is obeyed",
    Patch(Follower, "_is_fenced", _always(False)),
    scenario="deposed",
)
_mutant(
    "no_previous_check",
    "entries are taken though the one before them is not the owner's",
    Patch(Follower, "_joins_on", _always(True)),
)


def _whole_log(sound: Any) -> Any:
    def acknowledge(self: Any, seq: int) -> None:
        data = self._context.data
        sound(self, min(data.last_seq, data.durable_seq))

    return acknowledge


_mutant(
    "ack_len_log",
    "the length of the log is acknowledged, not what was shown to be equal",
    Patch(Follower, "_acknowledge", _whole_log),
    scenario="long_tail",
)


def _cut_at_commit(sound: Any) -> Any:
    def adopt(self: Any, node: str, epoch: int) -> None:
        data = self._context.data
        if epoch != self.epoch and data.last_seq > data.commit:
            self._truncate(data.commit + 1)
        sound(self, node, epoch)

    return adopt


_mutant(
    "truncate_to_commit",
    "a follower of a new owner forgets all that it does not know to be committed",
    Patch(Follower, "_adopt", _cut_at_commit),
)


def _echo(sound: Any) -> Any:
    def probe(self: Any, node: str, message: Any) -> bool:
        me = self._context.me
        echo = Echo(self._context.shard, message.epoch, me.ident, me.boot, message.read)
        self._context.effects.send(node, echo)
        return True

    return probe


_mutant(
    "echo_always",
    "a fresh read is confirmed whatever was promised or is being claimed",
    Patch(Follower, "_may_echo", _always(True)),
    Patch(Follower, "probe", _echo),
    scenario="deposed_read",
)


def _durable_at_once(sound: Any) -> Any:
    def flush(self: Any) -> None:
        sound(self)
        if not self.failed:
            self.durable_seq = max(self.durable_seq, self.journaled_seq)

    return flush


_mutant(
    "no_fsync",
    "what is written counts as durable",
    Patch(ReplicaData, "flush", _durable_at_once),
    scenario="lost_tail",
)

# The coordinator's record.


def _taken_as_done(sound: Any) -> Any:
    def on_unknown(self: Any, write: Any, now_ms: int) -> None:
        self._resolved()
        self._believe(write.record)

    return on_unknown


_mutant(
    "unknown_cas_done",
    "a write of unknown outcome is taken as done",
    Patch(RecordRegister, "_on_unknown", _taken_as_done),
)


def _resolved_by_reading(sound: Any) -> Any:
    def listing(self: Any, listing: Any, asked_at: int, now_ms: int) -> None:
        sound(self, listing, asked_at, now_ms)
        for shard in range(len(self._shards)):
            register = self._touch(shard).register
            if register.in_flight is None and register.unresolved():
                register._resolved()
                register.changed = True
                self._shards[shard]._follow_record(self._now_ms)

    return listing


_mutant(
    "unknown_cas_read",
    "reading the old revision again counts as: it did not land, and never will",
    Patch(NodeReplicas, "listing", _resolved_by_reading),
    scenario="late_join",
)


def _put(sound: Any) -> Any:
    def may_land(self: Any, write: Any) -> bool:
        if "/shard/" in write.key and write.expected != ABSENT:
            return True
        return bool(sound(self, write))

    return may_land


_mutant(
    "put_not_cas",
    "records are written whatever revision they have",
    Patch(MemoryStore, "_may_land", _put),
)


def _pin_alone(sound: Any) -> Any:
    return staticmethod(lambda item: item.companions or (item.write,))


_mutant(
    "pin_without_revision",
    "a pin does not compare the revision of the shard that the match leaves",
    Patch(RecordWriter, "_transaction", _pin_alone),
    scenario="late_pin",
)


def _fold_alone(sound: Any) -> Any:
    def transaction(item: Any) -> Any:
        deletes = item.asked is not None and item.asked.deletes
        return item.companions if deletes else sound(item)

    return staticmethod(transaction)


_mutant(
    "fold_without_revision",
    "the end of a pin does not compare the revision of the pinned shard",
    Patch(RecordWriter, "_transaction", _fold_alone),
    scenario="late_fold",
)
_mutant(
    "fold_undone_early",
    "a match stays where it is pinned while the end of its pin may still land",
    Patch(Folding, "_may_still_land", _always(False)),
    scenario="late_fold",
)

# Claims.


def _and_me(sound: Any) -> Any:
    def isr_to_claim(self: Any, isr: Any, owner: Any) -> Any:
        found = sound(self, isr, owner)
        mine = self._context.mine
        return found if mine in found else (*found, mine)

    return isr_to_claim


_mutant(
    "claim_from_outside",
    "a replica claims that is not in the in-sync set",
    Patch(Takeover, "_may_claim", _always(True)),
    Patch(Takeover, "_isr_to_claim", _and_me),
)
_mutant(
    "promise_not_durable",
    "a claim does not wait for its promise to be durable",
    Patch(Takeover, "_promise_is_durable", _always(True)),
    scenario="lost_promise",
)


def _by_node(sound: Any) -> Any:
    def ident(self: Any) -> str:
        if self._durable:
            return str(sound.fget(self))
        return str(self._key.rpartition("/")[2])

    return property(ident)


_mutant(
    "memory_keeps_place",
    "a process that lost its memory is taken for the replica that it was",
    Patch(Identity, "ident", _by_node),
)
_mutant(
    "no_intent_nonce",
    "a node that died while it booted does not know its data again",
    Patch(Identity, "_shows_intent", _always(False)),
    scenario="boots",
)


def _resumed(sound: Any) -> Any:
    def begin(self: Any, now_ms: int) -> None:
        record = self._context.register.record
        mine = record is not None and record.owner == self._context.me.node
        if not mine or self._hindered() or not self._may_claim():
            sound(self, now_ms)
            return
        self.goal, self.handed = record.epoch, True
        self._follower.claiming = True

    return begin


def _owned_again(sound: Any) -> Any:
    def own(self: Any, epoch: int, now_ms: int) -> None:
        self._owned_epoch = 0
        sound(self, epoch, now_ms)

    return own


_mutant(
    "owner_resumes",
    "who was the owner goes on in its epoch, after a demotion or a restart",
    Patch(Takeover, "begin", _resumed),
    Patch(ShardReplica, "_own", _owned_again),
)

# The owner.


def _own_log(sound: Any) -> Any:
    return lambda self: self._context.data.last_seq


_mutant(
    "own_disk_not_counted",
    "the owner commits what its own disk does not have yet",
    Patch(Owner, "_own_match", _own_log),
    scenario="lost_tail",
)
_mutant(
    "no_read_floor",
    "a new owner serves before the old tail is committed",
    Patch(Owner, "_floor_reached", _always(True)),
    _unchecked(Owner),
)


def _at_commit(sound: Any) -> Any:
    return lambda self: self._context.data.commit


_mutant(
    "join_at_commit",
    "a learner joins with what is committed, below the read floor",
    Patch(Owner, "_join_floor", _at_commit),
    scenario="late_tail",
)


def _minimal(sound: Any) -> Any:
    def needed(self: Any) -> Any:
        register = self._context.register
        pending = register.outstanding_isr()
        isr = register.record.isr
        return tuple(pair for pair in isr if pair in pending) if pending else isr

    return needed


_mutant(
    "minimal_isr",
    "an eviction counts before it is known to have landed, a join after it",
    Patch(Membership, "_needed", _minimal),
    _unchecked(Owner),
    scenario="records",
)


def _used_again(sound: Any) -> Any:
    def persist_failed(self: Any, ticket: int, now_ms: int) -> None:
        data, owner = self.data, self.ownership
        if not data.persist_failed(ticket) or owner is None:
            return
        first = max(data.durable_seq, data.commit) + 1
        if first <= data.last_seq:
            data.truncate(first)
        demoted = Demoted(self.context.shard, owner.epoch, first)
        self.context.effects.demoted.append(demoted)
        owner.serving = False
        owner.read_floor = 0
        owner.feeder.sent_seq = min(owner.feeder.sent_seq, data.last_seq)
        for peer in (*owner.membership.members, *owner.membership.learners):
            if peer.next is not None:
                peer.next = min(peer.next, data.last_seq + 1)

    return persist_failed


_mutant(
    "seq_reused",
    "after a failed persist the owner uses the numbers again, in the same epoch",
    Patch(ShardReplica, "persist_failed", _used_again),
    _unchecked(Owner),
    scenario="disks",
)
_mutant(
    "min_isr_unchecked",
    "commits do not ask how many copies there are",
    Patch(Membership, "enough_copies", _always(True)),
)


def _silence(sound: Any) -> Any:
    return lambda self, peer: max(peer.consent, peer.probed)


_mutant(
    "read_by_silence",
    "who has been asked and says nothing has consented",
    Patch(FreshReads, "_consent_of", _silence),
    scenario="reads",
)

# The host.


def _unconfirmed(sound: Any) -> Any:
    def confirm(self: Any, match: str, on_confirmed: Any, on_lost: Any = None) -> None:
        on_confirmed()

    return confirm


_mutant(
    "refusal_unconfirmed",
    "a refusal leaves without asking whether the epoch still stands",
    Patch(ReplicatedCommitter, "confirm", _unconfirmed),
    scenario="reads",
)
_mutant(
    "no_dedupe",
    "a key that comes again is applied again",
    Patch(KeyWindow, "judge", _always(KeyVerdict.FRESH)),
)
