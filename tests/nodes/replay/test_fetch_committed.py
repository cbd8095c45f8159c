"""The log of a match that goes on, as it is fetched for a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotseat.engine.record import Record
from hotseat.nodes.operator import until_owned
from hotseat.nodes.operator.match_feed import FeedBroken
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.replay import export
from hotseat.nodes.replay.export import fetch_committed

MATCH = "a" * 26


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes that the cluster answers with, in turn, before it gives the log."""
    codes: list[str] = []

    class Feed:
        def __init__(self, place: object, match: str) -> None:
            assert match == MATCH

        async def fetch(self) -> list[Record]:
            if codes:
                raise FeedBroken(codes.pop(0), "No.")
            return []

    monkeypatch.setattr(export, "MatchFeed", Feed)
    monkeypatch.setattr(until_owned, "PAUSE_S_MIN", 0.001)
    return codes


def test_a_takeover_is_waited_for(said: list[str]) -> None:
    """Nobody owns the match for a moment: it is asked for again."""
    said += ["no_owner", "no_owner", "retry"]
    assert fetch_committed(Path(), MATCH) == []
    assert said == []


def test_not_for_ever(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays so is told; what is no takeover at once."""
    said += ["cluster_unreachable", "no_owner", "no_owner"]
    for code, left in (("cluster_unreachable", 2), ("no_owner", 1)):
        with pytest.raises(OperatorError) as caught:
            fetch_committed(Path(), MATCH)
        assert (caught.value.code, len(said)) == (code, left)
        monkeypatch.setattr(until_owned, "TAKEOVER_S", 0.0)
