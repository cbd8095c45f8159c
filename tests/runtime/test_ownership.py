"""The claims core, one rule at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest

from hotseat.runtime.control_plane import (
    Keys,
    ShardRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.coordinator import (
    ABSENT,
    WRITES_MAX,
    CasConflict,
    CasOk,
    CasUnknown,
    Write,
)
from hotseat.runtime.frame import ShardEntry
from hotseat.runtime.ownership import Ownership
from hotseat.runtime.ownership_output import CasRequest, Output
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("test")
UNKNOWN = CasUnknown("test")


@dataclass
class Bench:
    """One node's core beside a store; `shards` records name "n1" first in `want`."""

    shards: int = 1
    store: MemoryStore = field(default_factory=MemoryStore)

    def __post_init__(self) -> None:
        self.core = self.boot("b1")

    def boot(self, boot: str, node: str = "n1") -> Ownership:
        return Ownership(KEYS, node, boot, [("n1", "n2")] * self.shards)

    def write(self, shard: int = 0, **changes: object) -> None:
        """Somebody else's write: the record with `changes`, under a foreign nonce."""
        record = self.record(shard)
        if record is None:
            record = ShardRecord(
                owner=None, epoch=0, isr=(), want=("n1", "n2"), claim="made"
            )
            expected = ABSENT
        else:
            expected = self.store.list(KEYS.shard(shard)).entries[0].revision
        record = msgspec.structs.replace(record, **({"claim": "foreign"} | changes))
        write = Write(KEYS.shard(shard), expected, encode_record(record))
        assert isinstance(self.store.apply([write]), CasOk)

    def record(self, shard: int = 0) -> ShardRecord | None:
        for entry in self.store.list(KEYS.prefix).entries:
            if entry.key == KEYS.shard(shard):
                return decode_record(ShardRecord, entry.key, entry.value)
        return None

    def read(self, now_ms: int = 0) -> Output:
        listing = self.store.list(KEYS.prefix)
        return self.core.listing(listing, self.core.revision, now_ms)

    def settle(self, output: Output, now_ms: int = 0) -> list[Output]:
        """Send every request, healthily, until there are none."""
        outputs = [output]
        for output in outputs:
            for request in output.requests:
                outcome = self.store.apply(request.writes)
                outputs.append(self.core.answered(request.id, outcome, now_ms))
            if output.list_again:
                outputs.append(self.read(now_ms))
        return outputs


def only(output: Output) -> CasRequest:
    (request,) = output.requests
    return request


def adopted(outputs: list[Output]) -> list[tuple[int, int]]:
    return [pair for output in outputs for pair in output.adopted]


def test_a_fresh_cluster_is_claimed_in_batches() -> None:
    """The first node makes all records, then claims its own, 64 at a time."""
    bench = Bench(shards=150)
    first = bench.read()
    assert [len(request.writes) for request in first.requests] == [64, 64, 22]
    assert all(len(r.writes) <= WRITES_MAX for r in first.requests)
    assert first.adopted == ()
    outputs = bench.settle(first)
    assert sorted(adopted(outputs)) == [(shard, 1) for shard in range(150)]
    assert bench.core.serving() == dict.fromkeys(range(150), 1)
    record = bench.record(149)
    assert record is not None
    assert (record.owner, record.epoch, record.isr) == ("n1", 1, (("n1", "b1"),))


def test_only_the_first_in_want_claims() -> None:
    """A record that was never owned is left to the node that stands first."""
    bench = Bench()
    bench.write(want=("n2", "n1"))
    assert bench.read().requests == ()
    bench.write(want=("n1", "n2"))
    assert len(only(bench.read()).writes) == 1


def test_nothing_is_written_before_a_listing() -> None:
    """A core that has read nothing asks for nothing, however time passes."""
    assert Bench().core.tick(10_000) == Output()


def test_another_nodes_shard_is_left_alone() -> None:
    """Nobody claims from another node, and the table says who owns it."""
    bench = Bench()
    bench.write(owner="n2", epoch=4)
    output = bench.read()
    assert output.requests == ()
    assert output.table == (ShardEntry(0, "n2", 4),)


def test_a_restart_claims_again_with_the_next_epoch() -> None:
    """A record of this node from an earlier boot is not resumed but claimed anew."""
    bench = Bench()
    bench.settle(bench.read())
    assert bench.core.serving() == {0: 1}
    bench.core = bench.boot("b2")
    output = bench.read()
    assert output.adopted == ()
    assert bench.core.serving() == {}
    assert adopted(bench.settle(output)) == [(0, 2)]


def test_an_unknown_claim_is_forced_from_the_same_revision() -> None:
    """Unknown is not served; an old reading proves nothing; the same CAS goes again."""
    bench = Bench()
    bench.write()
    first = only(bench.read())
    output = bench.core.answered(first.id, UNKNOWN, 0)
    assert (output.adopted, output.requests) == ((), ())
    assert output.timer_ms is not None
    output = bench.read(1)  # it shows the old revision
    assert (output.adopted, output.requests) == ((), ())
    second = only(bench.core.tick(output.timer_ms or 0))
    assert second.writes[0].expected == first.writes[0].expected
    assert second.writes[0].value != first.writes[0].value
    assert isinstance(bench.store.apply(second.writes), CasOk)
    assert isinstance(bench.store.apply(first.writes), CasConflict)  # late


def test_an_unknown_claim_that_landed_is_recognised_by_its_nonce() -> None:
    """When the first, late attempt wins, its nonce read back is as good as an ok."""
    bench = Bench()
    bench.write()
    first = only(bench.read())
    bench.core.answered(first.id, UNKNOWN, 0)
    second = only(bench.core.tick(10_000))
    assert isinstance(bench.store.apply(first.writes), CasOk)
    output = bench.core.answered(second.id, bench.store.apply(second.writes), 10_000)
    assert output.list_again
    assert output.requests == ()
    assert bench.read(10_000).adopted == ((0, 1),)


def test_a_claim_read_back_before_its_answer_is_adopted_once() -> None:
    """The watch may be quicker than the answer; the answer then changes nothing."""
    bench = Bench()
    bench.write()
    request = only(bench.read())
    outcome = bench.store.apply(request.writes)
    assert bench.read().adopted == ((0, 1),)
    output = bench.core.answered(request.id, outcome, 0)
    assert output == Output()
    assert bench.core.serving() == {0: 1}


def test_an_answer_older_than_what_was_read_is_not_believed() -> None:
    """An ok that comes after news of a higher epoch adopts nothing."""
    bench = Bench()
    bench.write()
    request = only(bench.read())
    outcome = bench.store.apply(request.writes)
    bench.write(owner="n2", epoch=2)
    bench.read()
    assert bench.core.answered(request.id, outcome, 0).adopted == ()


def test_a_conflict_adopts_the_record_and_decides_again() -> None:
    """After a conflict nothing is sent until the newer record is read."""
    bench = Bench(shards=2)
    bench.write(0)
    bench.write(1)
    request = only(bench.read())
    bench.write(0, want=("n1",))
    outcome = bench.store.apply(request.writes)
    output = bench.core.answered(request.id, outcome, 0)
    assert output.list_again
    assert [w.key for w in only(output).writes] == [KEYS.shard(1)]  # had not moved
    assert bench.core.tick(100_000).requests == ()
    listed = bench.read()
    assert [w.key for w in only(listed).writes] == [KEYS.shard(0)]
    bench.settle(output)
    bench.settle(listed)
    assert bench.core.serving() == {0: 1, 1: 1}


def test_a_higher_epoch_releases_at_once() -> None:
    """A record that shows another owner ends the shard here, in that step."""
    bench = Bench()
    bench.settle(bench.read())
    bench.write(owner="n2", epoch=2)
    output = bench.read()
    assert output.released == ((0, 1),)
    assert output.table == (ShardEntry(0, "n2", 2),)
    assert bench.core.serving() == {}


def test_the_same_node_in_a_higher_epoch_releases_and_claims_above() -> None:
    """Being named owner by somebody else's write is no ownership: it is claimed."""
    bench = Bench()
    bench.settle(bench.read())
    bench.write(epoch=2)
    output = bench.read()
    assert output.released == ((0, 1),)
    assert output.adopted == ()
    assert adopted(bench.settle(output)) == [(0, 3)]


def test_an_edit_of_want_keeps_the_shard() -> None:
    """Owner and epoch unchanged: the record is adopted, service goes on."""
    bench = Bench()
    bench.settle(bench.read())
    bench.write(want=("n2", "n1"))
    assert bench.read() == Output()
    assert bench.core.serving() == {0: 1}


def test_an_own_claim_overwritten_before_it_was_known_is_claimed_above() -> None:
    """An epoch whose claim nobody can prove to be ours is not served."""
    bench = Bench()
    bench.write()
    request = only(bench.read())
    assert isinstance(bench.store.apply(request.writes), CasOk)
    bench.write(want=("n1",))  # over our claim: our nonce is gone
    bench.core.answered(request.id, UNKNOWN, 0)
    bench.read(0)
    output = bench.core.tick(100_000)
    assert bench.core.serving() == {}
    assert adopted(bench.settle(output)) == [(0, 2)]


def test_old_news_change_nothing() -> None:
    """A listing that was read before what the watch told is not believed."""
    bench = Bench()
    bench.settle(bench.read())
    old = bench.store.list(KEYS.prefix)
    bench.write(owner="n2", epoch=2)
    bench.read()
    assert bench.core.listing(old, 0, 0) == Output()
    empty = MemoryStore().list(KEYS.prefix)
    assert bench.core.listing(empty, 0, 0) == Output()


@pytest.mark.parametrize("value", [b"junk", b'{"schema":99}', None])
def test_a_bad_record_stops_the_shard_until_it_is_mended(value: bytes | None) -> None:
    """What cannot be read is not served, alarmed once, and never overwritten."""
    bench = Bench()
    bench.settle(bench.read())
    (entry,) = bench.store.list(KEYS.shard(0)).entries
    assert isinstance(
        bench.store.apply([Write(entry.key, entry.revision, value)]), CasOk
    )
    output = bench.read()
    assert output.released == ((0, 1),)
    (alarm,) = output.alarms
    assert alarm.shard == 0
    assert bench.read(5000) == Output()
    assert bench.core.statistics().stopped == 1
    mended = encode_record(
        ShardRecord(owner="n1", epoch=7, isr=(), want=("n1",), claim="operator")
    )
    entries = bench.store.list(KEYS.shard(0)).entries
    expected = entries[0].revision if entries else ABSENT
    bench.store.apply([Write(KEYS.shard(0), expected, mended)])
    assert adopted(bench.settle(bench.read())) == [(0, 8)]


def test_an_epoch_that_goes_back_stops_the_shard() -> None:
    """A record below an epoch that was seen comes from a restored backup: refused."""
    bench = Bench()
    bench.write(owner="n1", epoch=5)
    bench.settle(bench.read())
    assert bench.core.serving() == {0: 6}
    bench.write(owner="n1", epoch=2)
    output = bench.read()
    assert output.released == ((0, 6),)
    assert [alarm.code for alarm in output.alarms] == ["epoch_went_back"]
    assert output.requests == ()


def test_a_store_that_goes_back_stops_everything() -> None:
    """A linearizable read below what was known before it is no longer the store."""
    bench = Bench(shards=2)
    bench.settle(bench.read())
    restored = MemoryStore()
    output = bench.core.listing(restored.list(KEYS.prefix), bench.core.revision, 0)
    assert sorted(output.released) == [(0, 1), (1, 1)]
    assert {alarm.code for alarm in output.alarms} == {"coordinator_went_back"}
    assert output.requests == ()


def test_standing_down_is_for_good() -> None:
    """Once told to stand down, nothing is served or claimed again."""
    bench = Bench()
    bench.settle(bench.read())
    assert bench.core.stand_down().released == ((0, 1),)
    bench.write(epoch=2)
    assert bench.read(100_000).requests == ()
    assert bench.core.serving() == {}


def test_back_off_is_bounded() -> None:
    """Outcomes that stay unknown are asked for ever more rarely, but for ever."""
    bench = Bench()
    bench.write()
    output = bench.read()
    now, pauses = 0, []
    for _ in range(30):
        output = bench.core.answered(only(output).id, UNKNOWN, now)
        assert output.timer_ms is not None
        pauses.append(output.timer_ms - now)
        now = output.timer_ms
        output = bench.core.tick(now)
    assert pauses[:5] == [200, 400, 800, 1600, 3200]
    assert set(pauses[5:]) == {3200}


def test_keys_that_are_not_its_shards_are_ignored() -> None:
    """Shards beyond the layout, pins and other keys mean nothing to this core."""
    bench = Bench()
    for key in (KEYS.shard(1), KEYS.node("n1"), f"{KEYS.prefix}shard/m-x-1"):
        bench.store.apply([Write(key, ABSENT, b"junk")])
    assert bench.read().alarms == ()


@pytest.mark.parametrize("boot", ["", "a.b"])
def test_a_boot_that_could_be_confused_is_refused(boot: str) -> None:
    """Nonces are told apart by the boot before the dot."""
    with pytest.raises(ValueError, match="boot"):
        Bench().boot(boot)
