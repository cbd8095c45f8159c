"""What is remembered of the newest actions, stage by stage."""

from __future__ import annotations

from itertools import count

import msgspec

from hotseat.engine.refusal import Refusal
from hotseat.runtime.command import Act, Applied, Denied, TakeBack
from hotseat.runtime.frame import Accepted, Dispatch, Refused, Sync
from hotseat.runtime.frame import TakeBack as TakeBackFrame
from hotseat.runtime.replication.message import Entry
from hotseat.runtime.replication.output import Trail
from hotseat.runtime.route import Route
from hotseat.runtime.traces import Traces

from .hosting import ALICE, BOB, dispatch
from .sample_games import race
from .test_actor import Stage

NIL = msgspec.Raw(b"\xc0")
ROUTE = Route("n2", "client-1")
KEY = ("m", "0", 1, 7)


def traces(kept: int = 64) -> Traces:
    """Each time that is read is one more than the last."""
    seconds = count(1)
    return Traces(kept, lambda: float(next(seconds)))


def test_an_action_is_followed_from_its_arrival_to_its_answer() -> None:
    """Through each stage, by its key and by who asked."""
    kept = traces()
    kept.note_arrived(
        [
            (ROUTE, Dispatch(3, "m", 1, "0", 1, 7, "add", NIL)),
            (ROUTE, Sync(4, "m", 1)),
            (ROUTE, Dispatch(5, "m", 1, "0", 1, 8, "add", NIL)),
        ]
    )
    act = Act("0", 1, 7, "add")
    kept.note_decided("m", act, ROUTE, 3, Applied(12, 14), changed=True)
    trail = Trail(3, 4, (("n2", 5),), 6)
    kept.note_committed(2, [Entry(9, 40, "m", 14, NIL)], trail)
    kept.note_answered(ROUTE, Accepted(3, "m", 12, 14))
    kept.note_answered(Route("other"), Accepted(3, "m", 12, 14))
    found = kept.of_action(KEY)
    ((arrived,), (decided,)) = found.arrived, found.decided
    assert (arrived.at_s, arrived.event, arrived.route) == (1.0, "add", ROUTE)
    assert (decided.at_s, decided.record, decided.revision) == (2.0, 14, 12)
    assert not decided.again
    assert decided.refusal is None
    assert [(a.at_s, a.code) for a in found.answered] == [(4.0, "")]
    record = kept.of_record("m", 14)
    assert record is not None
    assert (record.at_s, record.shard, record.epoch, record.seq) == (3.0, 2, 9, 40)
    assert record.trail == trail
    assert kept.of_record("m", 15) is None


def test_a_refusal_and_a_repeat_are_told_apart() -> None:
    """And so is what was sent on to another node, or asked to be taken back."""
    kept = traces()
    refusal = Refusal("guard_rejected", "no", reason="not now")
    back = TakeBack("0", 1, 7, "ask", 3)
    kept.note_decided("m", back, ROUTE, 3, Denied(refusal, 5), changed=False)
    kept.note_decided("m", back, ROUTE, 4, Applied(6, 6), changed=False)
    kept.note_answered(ROUTE, Refused(3, "guard_rejected", "no"))
    kept.note_forwarded(ROUTE, TakeBackFrame(3, "m", 1, "0", 1, 7, "ask"), "n3")
    kept.note_forwarded(ROUTE, Sync(4, "m", 1), "n3")
    found = kept.of_action(KEY)
    first, second = found.decided
    assert (first.record, first.revision, first.refusal) == (-1, 5, refusal)
    assert not first.again
    assert second.again
    (sent_on,) = found.forwarded
    assert (sent_on.owner, sent_on.event) == ("n3", "ask")
    assert found.answered == ()  # it did not arrive here


def test_only_the_newest_are_kept_and_no_name_is_long() -> None:
    """However many come, and whatever a client writes."""
    kept = traces(kept=3)
    for action in range(10):
        frame = Dispatch(action, "m", 1, "s" * 900, 1, action, "e" * 900, NIL)
        kept.note_arrived([(ROUTE, frame)])
        kept.note_committed(0, [Entry(1, action, "m", action, NIL)], None)
    seat = "s" * 64
    known = [a for a in range(10) if kept.of_action(("m", seat, 1, a)).arrived]
    assert known == [7, 8, 9]
    (arrived,) = kept.of_action(("m", seat, 1, 9)).arrived
    assert arrived.event == "e" * 64
    assert [i for i in range(10) if kept.of_record("m", i)] == [7, 8, 9]


def test_the_match_notes_what_it_decided() -> None:
    """Done, done again, and refused, with the reason."""
    kept = traces()
    stage = Stage(race(), traces=kept)
    seat = stage.actor.ledger.state.snapshot.derived.active_players[0]
    who = {"0": ALICE, "1": BOB}[seat]
    for request, action in ((7, 1), (8, 1), (9, 2)):
        frame = dispatch(request, "m", seat, action, "add", 1)
        stage.tell((who, frame))
    done, again = kept.of_action(("m", seat, 1, 1)).decided
    assert (done.again, again.again) == (False, True)
    assert done.record == again.record > 0
    (refused,) = kept.of_action(("m", seat, 1, 2)).decided
    assert refused.refusal is not None
    assert refused.refusal.code == "inactive_player"
