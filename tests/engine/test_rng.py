"""The generator a match carries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import Rng, RngError
from hotseat.engine.rng import initial_rng, rng_from


def fresh() -> Rng:
    """A generator that has drawn nothing."""
    return rng_from(initial_rng("err"))


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("int_", (0,)),
        ("int_", (-1,)),
        ("int_", (1.5,)),
        ("int_", (float("nan"),)),
        ("int_", (True,)),
        ("int_", ("6",)),
        ("bool_", (2,)),
        ("bool_", (-0.1,)),
        ("bool_", (float("nan"),)),
        ("dice", (0, 6)),
        ("dice", (2, 0)),
        ("dice", (1.5, 6)),
        ("pick", ([],)),
        ("pick", ({"a": 1},)),
        ("pick", ({"a"},)),
        ("pick", (3,)),
        ("pick", (iter("ab"),)),
    ],
)
def test_a_bad_argument_draws_nothing(method: str, arguments: tuple[Any, ...]) -> None:
    """An error leaves the generator where it was."""
    rng = fresh()
    with pytest.raises(RngError):
        getattr(rng, method)(*arguments)
    assert rng.snapshot() == initial_rng("err")


@given(st.text(), st.integers(0, 20))
def test_a_generator_goes_on_from_its_snapshot(seed: str, draws: int) -> None:
    """What follows depends on where it stands, and on nothing else."""
    rng = rng_from(initial_rng(seed))
    for _ in range(draws):
        rng.next()
    twin = rng_from(rng.snapshot())
    assert [rng.next() for _ in range(5)] == [twin.next() for _ in range(5)]
    assert rng.snapshot().draws == draws + 5


@given(st.text(), st.integers(1, 100))
def test_integers_lie_below_their_bound(seed: str, below: int) -> None:
    """`int_(n)` gives 0 to n - 1."""
    rng = rng_from(initial_rng(seed))
    assert all(0 <= rng.int_(below) < below for _ in range(10))
