"""Fresh reads: an epoch is confirmed by its members, and by nothing else."""

from __future__ import annotations

import pytest

from hotseat.runtime.errors import NotServing
from hotseat.runtime.replication.message import Acked, Echo, Probe

from .stage import Bench


def served(nodes: str = "abc", **options: object) -> Bench:
    bench = Bench(nodes, **options)  # type: ignore[arg-type]
    bench.begin()
    bench["a"].outputs.clear()
    return bench


def confirmed(bench: Bench) -> list[int]:
    return [c.token for output in bench["a"].outputs for c in output.confirmed]


def ask(bench: Bench) -> int:
    token = bench["a"].core.confirm(bench.now)
    bench.settle("a")
    return token


def test_alone_the_owner_confirms_itself() -> None:
    """In the same step."""
    bench = served("a")
    token = ask(bench)
    assert confirmed(bench) == [token]


def test_every_member_must_say_so() -> None:
    """One that is silent holds the answer back."""
    bench = served()
    bench.cut = {("c", "a")}
    token = ask(bench)
    bench.run()
    assert confirmed(bench) == []
    bench.cut = set()
    bench.pass_ms(250)
    assert confirmed(bench) == [token]


def test_one_answer_holds_for_all_questions_before_it() -> None:
    """Questions of one step share a round."""
    bench = served("ab")
    core = bench["a"].core
    tokens = [core.confirm(bench.now) for _ in range(3)]
    bench.settle("a")
    probes = [s.message for s in bench["a"].outputs[-1].sends]
    assert [type(probe) for probe in probes] == [Probe]
    bench.run()
    assert confirmed(bench) == [tokens[-1]]


def test_an_acknowledgement_of_an_older_frame_confirms_nothing() -> None:
    """It may have left before a takeover; a frame sent after the question must be
    answered."""
    bench = served("ab")
    bench.cut = {("b", "a")}
    bench.propose("a", "x")
    bench.run()
    old = [m for _, _, m in bench.dropped if isinstance(m, Acked)][-1]
    token = ask(bench)
    bench["a"].core.received("b", old, bench.now)
    bench.settle("a")
    assert confirmed(bench) == []
    bench.cut = set()
    bench.propose("a", "y")
    bench.run()
    assert confirmed(bench) == [token]


def test_an_echo_of_another_replica_confirms_nothing() -> None:
    """Another identity or another epoch."""
    bench = served("ab")
    bench.cut = {("b", "a")}
    token = ask(bench)
    ident = bench["b"].me.ident
    core = bench["a"].core
    core.received("b", Echo(0, 1, "b-older", 0, token), bench.now)
    core.received("b", Echo(0, 2, ident, 0, token), bench.now)
    core.received("b", Echo(0, 1, ident, 0, token - 1), bench.now)
    bench.settle("a")
    assert confirmed(bench) == []


def test_a_member_that_was_asked_to_join_must_say_so_too() -> None:
    """The set counts as it is at the answer."""
    bench = Bench("ab", want="a")
    bench.begin()
    bench["a"].outputs.clear()
    bench.cut = {("a", "b")}
    bench.edit(want=("a", "b"))
    bench.run()
    bench.cut = set()
    bench.pass_ms(250)
    assert bench.record is not None
    assert len(bench.record.isr) == 2
    bench.cut = {("b", "a")}
    ask(bench)
    bench.run()
    assert confirmed(bench) == []


def test_an_own_write_that_was_sent_after_the_question_confirms_it() -> None:
    """It landed in this epoch, so this epoch stood then."""
    bench = served("abc")
    bench.kill("c")
    bench.cut = {("b", "a")}
    token = bench["a"].core.confirm(bench.now)
    bench["a"].core.refused("c", bench.now)
    bench.settle("a")
    assert confirmed(bench) == []
    bench.write("a")
    assert confirmed(bench) == [token]


def test_an_own_write_that_was_sent_before_the_question_confirms_nothing() -> None:
    """It may have landed before somebody else took over."""
    bench = served("abc")
    bench.kill("c")
    bench.cut = {("b", "a")}
    bench["a"].core.refused("c", bench.now)
    bench.settle("a")
    ask(bench)
    bench.write("a")
    assert confirmed(bench) == []


def test_only_who_serves_may_ask() -> None:
    """A follower refers to the owner."""
    bench = served("ab")
    with pytest.raises(NotServing):
        bench["b"].core.confirm(bench.now)


def test_questions_are_numbered_over_the_epochs() -> None:
    """So an answer is never mistaken for one of an earlier epoch."""
    bench = served("ab")
    first = ask(bench)
    bench["a"].core.resign(bench.now)
    bench.settle("a")
    bench.cut = {("a", "b")}
    bench.queue.clear()
    bench.pass_ms(500)
    assert bench.owner() == "a"
    assert ask(bench) > first
