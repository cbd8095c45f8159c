"""The ordinary life of a shard: claimed, joined, served, taken over."""

from __future__ import annotations

from .stage import Bench


def test_the_first_one_wanted_makes_the_record_and_owns_the_shard() -> None:
    """A brand-new shard is created, claimed in epoch 1, and served."""
    bench = Bench("abc")
    bench.begin()
    assert bench.owner() == "a"
    assert bench.record is not None
    assert bench.record.epoch == 1
    assert [node for node, _ in bench.record.isr] == ["a", "b", "c"]


def test_what_all_in_sync_replicas_have_is_committed_everywhere() -> None:
    """A record reaches every replica's host, in order."""
    bench = Bench("abc")
    bench.begin()
    bench.propose("a", "x", "y")
    bench.run()
    bench.pass_ms(200)
    for node in "abc":
        assert bench[node].committed == ["x", "y"]


def test_a_follower_takes_over_when_the_owner_is_gone() -> None:
    """The new owner has all that was acknowledged, and goes on."""
    bench = Bench("abc")
    bench.begin()
    bench.propose("a", "x")
    bench.run()
    assert bench["a"].committed == ["x"]
    bench.kill("a")
    bench.pass_ms(1500)
    assert bench.owner() == "b"
    bench.propose("b", "y")
    bench.pass_ms(200)
    assert bench["b"].committed == ["x", "y"]
    assert bench["c"].committed == ["x", "y"]
