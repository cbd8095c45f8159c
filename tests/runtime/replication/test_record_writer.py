"""Record writes share transactions, and nobody is told what did not happen."""

from __future__ import annotations

from hotseat.runtime.control_plane import Keys, ShardRecord
from hotseat.runtime.coordinator import (
    WRITES_MAX,
    CasConflict,
    CasOk,
    CasUnknown,
    Write,
)
from hotseat.runtime.replication.effects import RecordWrite
from hotseat.runtime.replication.record_writer import Origin, RecordWriter

KEYS = Keys("test")


def writes(*shards: int) -> list[RecordWrite]:
    """A claim of each shard, from revision 7."""
    return [
        RecordWrite(
            shard,
            7,
            ShardRecord(
                owner="n1", epoch=2, isr=(("n1", "i"),), want=(), claim=f"c.{shard}"
            ),
        )
        for shard in shards
    ]


def test_many_writes_of_a_step_are_few_transactions() -> None:
    """90 takeovers are two requests, each within the store's limit."""
    writer = RecordWriter(KEYS)
    writer.add(writes(*range(90)))
    requests = writer.take_requests()
    assert [len(r.writes) for r in requests] == [WRITES_MAX, 90 - WRITES_MAX]
    assert writer.take_requests() == ()
    answers = writer.answered(requests[0].id, CasOk(9))
    assert [a.asked.shard for a in answers if a.asked] == list(range(WRITES_MAX))
    assert not any(answer.moved for answer in answers)


def test_a_conflict_spares_the_writes_it_is_not_about() -> None:
    """The key that moved is told; the others are sent again, each alone."""
    writer = RecordWriter(KEYS)
    writer.add(writes(1, 2, 3))
    (request,) = writer.take_requests()
    conflict = CasConflict((KEYS.shard(2),))
    (answer,) = writer.answered(request.id, conflict)
    assert answer.moved
    assert answer.asked == writes(2)[0]
    again = writer.take_requests()
    assert [[w.key for w in r.writes] for r in again] == [
        [KEYS.shard(1)],
        [KEYS.shard(3)],
    ]
    (answer,) = writer.answered(again[0].id, CasOk(10))
    assert answer.asked == writes(1)[0]
    (answer,) = writer.answered(again[1].id, CasConflict((KEYS.shard(3),)))
    assert answer.moved
    assert writer.in_flight == 0


def test_an_unknown_outcome_is_unknown_for_every_write() -> None:
    """None of them may be sent again: it may land later."""
    writer = RecordWriter(KEYS)
    writer.add(writes(1, 2))
    (request,) = writer.take_requests()
    outcome = CasUnknown("timed out")
    answers = writer.answered(request.id, outcome)
    assert [(a.asked, a.outcome) for a in answers] == [
        (write, outcome) for write in writes(1, 2)
    ]
    assert writer.take_requests() == ()


def test_origins_do_not_share_a_transaction() -> None:
    """A proposal's conflict never delays a claim; an identity goes alone."""
    writer = RecordWriter(KEYS)
    writer.add(writes(1))
    writer.add(writes(2), Origin.PLACER)
    alone = Write(KEYS.replica("n1"), 0, b"x")
    writer.add_alone(alone, Origin.IDENTITY)
    requests = writer.take_requests()
    assert [len(request.writes) for request in requests] == [1, 1, 1]
    origins = [writer.answered(r.id, CasOk(9))[0].origin for r in requests]
    assert origins == [Origin.IDENTITY, Origin.SHARD, Origin.PLACER]
