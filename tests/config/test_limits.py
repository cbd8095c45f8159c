"""The collected bounds."""

from __future__ import annotations

from hotseat.config.limits import LIMITS


def test_bounds_are_positive_and_say_their_unit_by_name() -> None:
    """Every bound is a positive number."""
    assert LIMITS
    assert all(value > 0 for value in LIMITS.values())
