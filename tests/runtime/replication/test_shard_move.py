"""A planned change of owner: nothing is lost, and hardly anybody waits."""

from __future__ import annotations

from hotseat.runtime.control_plane import Move, encode_record
from hotseat.runtime.replication.message import HandedOver
from hotseat.runtime.replication.role import Role

from .stage import Bench


def served(nodes: str = "abc", **options: object) -> Bench:
    bench = Bench(nodes, **options)  # type: ignore[arg-type]
    bench.begin()
    bench.propose("a", "x")
    bench.run()
    bench["a"].outputs.clear()
    return bench


def test_the_shard_is_handed_over_with_all_that_was_acknowledged() -> None:
    """The next epoch, the same in-sync set, and the new owner is told."""
    bench = served()
    assert bench.record is not None
    isr = bench.record.isr
    bench.edit(move=Move("c", "op"))
    bench.run()
    bench.pass_ms(100)
    assert bench.owner() == "c"
    assert (bench.record.epoch, bench.record.isr, bench.record.move) == (2, isr, None)
    told = [s for output in bench["a"].outputs for s in output.sends]
    (handed,) = [s for s in told if isinstance(s.message, HandedOver)]
    assert handed.node == "c"
    assert isinstance(handed.message, HandedOver)
    assert handed.message.record == encode_record(bench.record)  # it need not be read
    assert handed.message.revision == bench.revision
    bench.propose("c", "y")
    bench.pass_ms(200)
    for node in "abc":
        assert bench[node].core.commit == 2


def test_who_is_to_own_it_joins_first() -> None:
    """A node that holds no copy yet is fed, joins, and takes over."""
    bench = served("abc", want="ab")
    bench.edit(move=Move("c", "op"))
    bench.run()
    bench.pass_ms(1000)
    assert bench.owner() == "c"
    assert bench["c"].committed == ["x"]


def test_new_records_wait_and_are_handed_back() -> None:
    """They are numbered, sent to nobody, and told that they were not committed."""
    bench = served()
    bench.edit(move=Move("c", "op"))
    assert bench["a"].writes
    assert bench.propose("a", "y") == 2
    assert bench["a"].core.last_seq == 1
    bench.run()
    demoted = [d for output in bench["a"].outputs for d in output.demoted]
    assert [(d.epoch, d.unsent_from) for d in demoted] == [(1, 2)]


def test_the_write_waits_until_all_is_committed() -> None:
    """Who takes over has everything."""
    bench = served()
    bench.cut = {("b", "a")}
    bench.propose("a", "y")
    bench.edit(move=Move("c", "op"))
    bench.run()
    assert not bench["a"].writes
    bench.cut = set()
    bench.pass_ms(2000)
    assert bench.owner() == "c"
    assert bench["c"].committed == ["x", "y"]


def test_holding_is_short() -> None:
    """What was held is appended when the hold limit is reached, in its epoch."""
    bench = served("ab")
    bench.cut = {("b", "a")}
    bench.propose("a", "y")
    bench.edit(move=Move("b", "op"))
    assert bench.propose("a", "z") == 3
    assert bench["a"].core.last_seq == 2
    bench.cut = set()
    bench.filter = lambda sender, to, message: sender != "b"
    bench.pass_ms(bench.options.hold_ms + 50)
    assert bench["a"].core.last_seq == 3
    assert bench["a"].log()[2] == (1, "z")


def test_an_unknown_outcome_at_the_hold_limit_resumes_safely() -> None:
    """Had it landed, the new owner has all that it acknowledged, and then refuses."""
    bench = served("ab")
    bench.reach_record.clear()
    bench.reach_record.add("a")
    bench.edit(move=Move("b", "op"))
    bench.propose("a", "y")
    bench.reach_record.clear()
    bench.write("a", known=False)
    assert bench.record is not None
    assert bench.record.owner == "b"
    bench.pass_ms(bench.options.hold_ms + 50)
    assert bench["a"].core.role is Role.OWNER
    assert bench["a"].core.last_seq == 2
    bench.reach_record.update("ab")
    bench.read("b")
    assert bench["b"].core.role is Role.OWNER
    assert bench["a"].committed == ["y"]
    assert bench["b"].log() == [(1, "x"), (1, "y")]
    bench.propose("a", "z")
    bench.pass_ms(1500)
    assert bench.owner() == "b"
    assert "z" not in bench["a"].committed
    assert bench["b"].committed[:2] == ["x", "y"]


def test_the_shard_stays_while_its_new_owner_is_away() -> None:
    """Nobody waits for a node that does not answer."""
    bench = served("abc")
    bench.kill("c")
    bench.edit(move=Move("c", "op"))
    bench.pass_ms(1500)
    assert bench.owner() == "a"
    bench.propose("a", "y")
    bench.run()
    assert bench["a"].committed == ["y"]


def test_a_move_to_its_owner_is_over_at_once() -> None:
    """The record is cleared."""
    bench = served("ab")
    bench.edit(move=Move("a", "op"))
    bench.run()
    assert bench.record is not None
    assert bench.record.move is None
    assert bench["a"].core.epoch == 1


def test_nobody_is_given_a_shard_who_is_not_heard_of_in_it() -> None:
    """Players would wait until it has learnt of the epoch before."""
    bench = served("abc")
    bench.pass_ms(300)
    bench.filter = lambda sender, to, message: sender != "c"
    bench.kill("a")
    while bench.owner() != "b":
        bench.pass_ms(50)
    bench.edit(move=Move("c", "op"))
    first = bench.propose("b", "y")
    assert bench["b"].core.last_seq == first  # nothing is held for the move
    bench.filter = None
    bench.pass_ms(1500)
    assert bench.owner() == "c"
    assert bench["c"].committed[-1] == "y"
