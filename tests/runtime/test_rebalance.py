"""Which copies and owners change places: an even spread, reached in small steps."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hotseat.runtime.control_plane import SHARDS_MAX, Move, ShardRecord
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.placement import WantEdit
from hotseat.runtime.rebalance import BalancePlan, Share, plan_balance

NODES = "abcde"


def record(owner: str, *want: str) -> ShardRecord:
    """Everybody wanted is in sync; the owner too."""
    isr = tuple((node, "i") for node in dict.fromkeys((owner, *want)))
    return ShardRecord(owner=owner, epoch=3, isr=isr, want=want, claim="c")


def plan(
    records: dict[int, ShardRecord],
    fleet: Fleet,
    limit: int = 4,
    unfit: str = "",
    copies: int = 2,
) -> BalancePlan:
    return plan_balance(
        records, fleet, unfit=lambda shard: unfit, copies=copies, limit=limit
    )


def obey(records: dict[int, ShardRecord], edits: tuple[WantEdit, ...]) -> None:
    """As the shards' owners do: learn, join, hand over, evict."""
    assert len({edit.shard for edit in edits}) == len(edits)
    for edit in edits:
        before = records[edit.shard]
        owner = edit.to or before.owner
        assert owner is not None
        if edit.want == before.want:
            assert owner in {node for node, _ in before.isr}, "nothing is copied"
        records[edit.shard] = record(owner, *edit.want)


def spread(counts: Counter[str], nodes: str) -> int:
    found = [counts[node] for node in nodes]
    return max(found) - min(found)


@given(
    owners=st.lists(st.sampled_from(NODES), max_size=40),
    copies=st.integers(1, 3),
    limit=st.integers(1, 6),
    data=st.data(),
)
def test_an_even_spread_is_reached(
    owners: list[str], copies: int, limit: int, data: st.DataObject
) -> None:
    """However uneven it began: within one, in steps, and then there is an end."""
    fleet = Fleet(frozenset(NODES))
    records = {}
    for shard, owner in enumerate(owners):
        others = data.draw(st.permutations([n for n in NODES if n != owner]))
        records[shard] = record(owner, owner, *others[: copies - 1])
    for _ in range(400):
        made = plan(records, fleet, limit, copies=copies)
        if not made.edits:
            break
        obey(records, made.edits)
    else:
        raise AssertionError("it never ends")
    held = Counter(node for r in records.values() for node in r.want)
    assert spread(held, NODES) <= 1
    assert spread(Counter(str(r.owner) for r in records.values()), NODES) <= 1
    assert {reason.code for reason in made.reasons} == {"even"}
    assert all(len(r.want) == copies for r in records.values())


def test_a_node_that_came_back_owns_its_share_again() -> None:
    """The shards that are at home with it come first; nothing is copied."""
    records = {
        0: record("a", "a", "b", "c"),
        1: record("b", "b", "c", "a"),
        2: record("a", "c", "a", "b"),
        3: record("a", "a", "b", "c"),
        4: record("b", "b", "c", "a"),
        5: record("b", "c", "b", "a"),
    }
    made = plan(records, Fleet(frozenset("abc")))
    assert made.edits == (
        WantEdit(2, ("c", "a", "b"), "c"),
        WantEdit(5, ("c", "b", "a"), "c"),
    )
    assert made.shares == {"a": Share(3, 6), "b": Share(3, 6), "c": Share(0, 6)}


def test_a_chain_leads_to_whom_no_shard_leads_directly() -> None:
    """a's followers own enough; theirs take from them, so that a can give."""
    wants = ["ab", "ab", "ad", "bc", "bc", "cd", "dc", "da"]
    records = {shard: record(want[0], *want) for shard, want in enumerate(wants)}
    assert plan(records, Fleet(frozenset("abcd"))).edits == (
        WantEdit(3, ("b", "c"), "c"),
        WantEdit(0, ("a", "b"), "b"),
    )


def test_what_an_operator_has_moved_stays() -> None:
    """The shard that is at home with its owner is the last one to be moved away."""
    wants = ["abc", "bac", "cab", "abc"]
    records = {shard: record("a", *want) for shard, want in enumerate(wants)}
    made = plan(records, Fleet(frozenset("abc")))
    assert [(edit.shard, edit.to) for edit in made.edits] == [(1, "b"), (2, "c")]
    records = {shard: record("a", *want) for shard, want in enumerate(wants[::2])}
    records[2] = record("b", *"bac")
    records[3] = record("a", *"abc")
    made = plan(records, Fleet(frozenset("abc")))
    assert [(edit.shard, edit.to) for edit in made.edits] == [(1, "c")]


def test_nothing_moves_while_something_is_to_be_mended() -> None:
    """And the plan says what: no owner, a copy that is missing, a move."""
    even = {n: record("a", "a", "b") for n in range(4)}
    fleet = Fleet(frozenset("abc"))
    assert plan(even, fleet).edits
    missing = replace(even[1], isr=(("a", "i"),))
    short = replace(even[1], want=("a",))
    away = record("x", "x", "a")
    moving = replace(even[1], move=Move("b", "rebalance-1"))
    for broken, code in (
        (missing, "copy_missing"),
        (short, "copy_missing"),
        (away, "owner_away"),
        (moving, "moving"),
    ):
        made = plan(even | {1: broken}, fleet)
        assert made.edits == ()
        assert [(r.code, r.about) for r in made.reasons] == [(code, "shard 1")]


def test_a_shard_that_moves_for_another_reason_holds_up_nothing_else() -> None:
    """It is left alone, counted for where it goes, and told of."""
    records = {n: record("a", "a", "b") for n in range(4)}
    moving = replace(records[0], move=Move("b", "an operator's"))
    made = plan(records | {0: moving}, Fleet(frozenset("ab")))
    assert [(edit.shard, edit.to) for edit in made.edits] == [(1, "b")]
    assert [(r.code, r.about) for r in made.reasons] == [("moving", "shard 0")]
    away = replace(records[0], move=Move("x", "an operator's"))
    made = plan(records | {0: away}, Fleet(frozenset("ab")))
    assert [edit.shard for edit in made.edits] == [1, 2]


def test_who_leaves_or_is_full_or_unfit_is_given_nothing() -> None:
    """The plan says so, and that there is no way then."""
    records = {n: record("a", "a", "b") for n in range(4)}
    up = frozenset("abc")
    for fleet, code in (
        (Fleet(up, draining=frozenset("bc")), "node_draining"),
        (Fleet(up, restarting=frozenset("bc")), "node_restarting"),
        (Fleet(up, full=frozenset("bc")), "node_full"),
    ):
        made = plan(records, fleet)
        assert made.edits == ()
        assert code in {reason.code for reason in made.reasons}
    made = plan(records, Fleet(up), unfit="bc")
    assert made.edits == ()
    assert {reason.code for reason in made.reasons} == {"no_way"}


def test_a_pinned_match_stays_where_it_was_put() -> None:
    """It is neither counted nor moved."""
    records = {SHARDS_MAX + n: record("a", "a", "b") for n in range(4)}
    assert plan(records, Fleet(frozenset("ab"))).edits == ()


@given(st.sets(st.sampled_from(NODES), max_size=2), st.integers(1, 3))
def test_copies_of_a_new_node(gone: set[str], copies: int) -> None:
    """A node that is new takes over its share of copies, one change per shard."""
    old = "".join(sorted(set("abc")))
    records = {
        n: record(old[n % 3], *(old[(n + k) % 3] for k in range(copies)))
        for n in range(12)
    }
    fleet = Fleet(frozenset("abcd"), draining=frozenset(gone & {"d"}))
    made = plan(records, fleet, limit=99, copies=copies)
    takes = {edit.shard for edit in made.edits if "d" in edit.want}
    assert bool(takes) == ("d" not in gone)
