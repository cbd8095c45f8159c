"""One heap of deadlines for all matches of a node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.deadline import Deadlines, DueDeadline


def test_deadlines_come_due_in_order_and_once() -> None:
    """A deadline at the very instant has come; those after it have not."""
    deadlines = Deadlines()
    deadlines.arm("a", 1, 300)
    deadlines.arm("b", 1, 100)
    deadlines.arm("c", 1, 301)
    assert deadlines.next_ms() == 100
    assert deadlines.due(300) == [DueDeadline("b", 1, 100), DueDeadline("a", 1, 300)]
    assert deadlines.due(300) == []
    assert deadlines.next_ms() == 301


def test_arming_again_voids_the_former_deadline() -> None:
    """A match that moved on has only its new deadline."""
    deadlines = Deadlines()
    deadlines.arm("a", 1, 100)
    deadlines.arm("a", 2, 200)
    assert deadlines.next_ms() == 200
    assert deadlines.due(150) == []
    assert deadlines.due(200) == [DueDeadline("a", 2, 200)]


def test_a_disarmed_deadline_never_comes() -> None:
    """A match that ended has none."""
    deadlines = Deadlines()
    deadlines.arm("a", 1, 100)
    deadlines.disarm("a")
    deadlines.disarm("a")
    assert deadlines.next_ms() is None
    assert deadlines.due(1_000) == []


def test_memory_follows_the_living() -> None:
    """Dead entries are swept: the heap does not grow with the steps played."""
    deadlines = Deadlines()
    for revision in range(10_000):
        deadlines.arm("a", revision, revision + 1_000_000)
    assert deadlines.statistics().heap < 100
    deadlines.disarm("a")
    assert deadlines.statistics().armed == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["arm", "disarm", "due"]),
            st.sampled_from("abc"),
            st.integers(0, 20),
        ),
        max_size=200,
    )
)
def test_it_agrees_with_a_plain_dictionary(
    script: list[tuple[str, str, int]],
) -> None:
    """Lazy deletion changes the cost and nothing else."""
    deadlines = Deadlines()
    model: dict[str, DueDeadline] = {}
    for revision, (verb, match, at_ms) in enumerate(script):
        if verb == "arm":
            deadlines.arm(match, revision, at_ms)
            model[match] = DueDeadline(match, revision, at_ms)
        elif verb == "disarm":
            deadlines.disarm(match)
            model.pop(match, None)
        else:
            due = [d for d in model.values() if d.at_ms <= at_ms]
            found = deadlines.due(at_ms)
            assert sorted(found, key=repr) == sorted(due, key=repr)
            assert [d.at_ms for d in found] == sorted(d.at_ms for d in due)
            for d in due:
                del model[d.match]
        assert deadlines.next_ms() == min(
            (d.at_ms for d in model.values()), default=None
        )
        assert deadlines.statistics().armed == len(model)
