"""Record writes share transactions, and nobody is told what did not happen."""

from __future__ import annotations

from hotseat.runtime.control_plane import Keys, ShardRecord
from hotseat.runtime.coordinator import (
    WRITES_MAX,
    CasConflict,
    CasOk,
    CasUnknown,
    Write,
    check_writes,
)
from hotseat.runtime.replication.effects import RecordWrite
from hotseat.runtime.replication.output import CasRequest
from hotseat.runtime.replication.record_writer import (
    IN_FLIGHT_MAX,
    Origin,
    RecordWriter,
)

KEYS = Keys("test")


def writes(*shards: int, revision: int = 7) -> list[RecordWrite]:
    """A claim of each shard, from a revision."""
    return [
        RecordWrite(
            shard,
            revision,
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
    """The key that moved is told; the others are sent again without it."""
    writer = RecordWriter(KEYS)
    writer.add(writes(1, 2, 3))
    (request,) = writer.take_requests()
    (answer,) = writer.answered(request.id, CasConflict((KEYS.shard(2),)))
    assert answer.moved
    assert answer.asked == writes(2)[0]
    (again,) = writer.take_requests()
    assert [write.key for write in again.writes] == [KEYS.shard(1), KEYS.shard(3)]
    (answer,) = writer.answered(again.id, CasConflict((KEYS.shard(3),)))
    assert answer.moved
    (last,) = writer.take_requests()
    (answer,) = writer.answered(last.id, CasOk(10))
    assert answer.asked == writes(1)[0]
    assert writer.in_flight == 0


def test_a_conflict_that_names_no_key_is_told_apart() -> None:
    """Each is sent alone: then it is known whom it is about."""
    writer = RecordWriter(KEYS)
    writer.add(writes(1, 2))
    (request,) = writer.take_requests()
    assert writer.answered(request.id, CasConflict(())) == []
    assert [len(r.writes) for r in writer.take_requests()] == [1, 1]


def test_what_comes_while_requests_are_on_their_way_shares_the_next() -> None:
    """A hundred joins, one after the other, are a handful of requests."""
    writer = RecordWriter(KEYS)
    sent: list[CasRequest] = []
    for shard in range(100):
        writer.add(writes(shard))
        sent += writer.take_requests()
    assert [len(request.writes) for request in sent] == [1] * IN_FLIGHT_MAX
    writer.answered(sent[0].id, CasOk(9))
    writer.answered(sent[1].id, CasOk(9))
    assert [len(r.writes) for r in writer.take_requests()] == [WRITES_MAX, 32]


def test_a_key_stands_in_a_transaction_once() -> None:
    """A write that waited is overtaken by one from a newer revision: no store takes
    both at once, and each has its answer."""
    writer = RecordWriter(KEYS)
    sent: list[CasRequest] = []
    for shard in range(IN_FLIGHT_MAX):
        writer.add(writes(shard))
        sent += writer.take_requests()
    writer.add(writes(8, 9))
    writer.add(writes(9, 10, revision=8))
    writer.answered(sent[0].id, CasOk(9))
    writer.answered(sent[1].id, CasOk(9))
    old, new = writer.take_requests()
    for request in (old, new):
        check_writes(request.writes)
    assert [(w.key, w.expected) for w in old.writes] == [
        (KEYS.shard(8), 7),
        (KEYS.shard(9), 7),
        (KEYS.shard(10), 8),
    ]
    assert [(w.key, w.expected) for w in new.writes] == [(KEYS.shard(9), 8)]


def test_a_write_that_is_sent_again_makes_room_for_a_newer_one() -> None:
    """After a conflict over another key, too."""
    writer = RecordWriter(KEYS)
    writer.add(writes(1, 2))
    (request,) = writer.take_requests()
    writer.add(writes(2, revision=8))
    writer.answered(request.id, CasConflict((KEYS.shard(1),)))
    again = writer.take_requests()
    assert [[w.expected for w in request.writes] for request in again] == [[7], [8]]


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
