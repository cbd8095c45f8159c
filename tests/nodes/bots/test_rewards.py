"""What a result is worth to each player."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.nodes.bots import rewards


@pytest.mark.parametrize(
    ("result", "worth"),
    [
        ({"winner": "b"}, [0, 1, 0]),
        ({"winner": ["a", "c"]}, [1, 0, 1]),
        ({"winners": ["c"]}, [0, 0, 1]),
        ({"winner": None, "draw": True}, [0.5, 0.5, 0.5]),
        ({"draw": True}, [0.5, 0.5, 0.5]),
        ({"scores": {"a": 3, "b": 9, "c": 3}}, [0.25, 1, 0.25]),
        ({"scores": {"a": 3, "b": 9}}, [0.5, 0.5, 0.5]),
        ({"ranking": ["c", "a", "b"]}, [0.5, 0, 1]),
        ({"ranking": ["c"]}, [0.25, 0.25, 1]),
        ("it is over", [0.5, 0.5, 0.5]),
        (None, [0.5, 0.5, 0.5]),
    ],
)
def test_results_that_are_understood(result: Any, worth: list[float]) -> None:
    """Winners, draws, scores and rankings; all else is worth the same to everybody."""
    assert list(rewards(result, ["a", "b", "c"]).values()) == worth
