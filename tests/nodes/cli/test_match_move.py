"""`hotseat match move`: what it asks for, and what it tells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hotseat.nodes.cli import match_move
from hotseat.nodes.cli.operate import Order
from hotseat.nodes.exit_codes import ExitCode
from hotseat.nodes.operator.survey_rows import FailedRow, OutcomeRow, OutcomeRows
from hotseat.nodes.operator_error import OperatorError

MATCHES = ("a" * 26, "b" * 26, "c" * 26)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """In place of a cluster: the last one of several matches is not moved."""
    calls: list[Any] = []

    def perform_each(
        order: Order, verb: str, matches: Sequence[str], args: object, **how: Any
    ) -> OutcomeRows:
        calls.append((verb, tuple(matches), args))
        moved = matches[:-1] if len(matches) > 1 else matches
        done = [
            OutcomeRow(
                id="1",
                node="n1",
                verb=verb,
                target=match,
                outcome={"match": match, "pause_ms": 4 + 10 * number},
            )
            for number, match in enumerate(moved)
        ]
        failed = [
            FailedRow(target=match, code="pins_full", message="no more")
            for match in matches[len(moved) :]
        ]
        return OutcomeRows(done=tuple(done), failed=tuple(failed))

    monkeypatch.setattr(Order, "perform_each", perform_each)
    return calls


def test_one_match(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """It is told how long it paused."""
    status = match_move.move(MATCHES[0], to="n3", yes=True)
    assert status == ExitCode.OK
    assert asked == [("match.move", MATCHES[:1], {"to": "n3", "timeout_s": 20.0})]
    shown = capsys.readouterr().out
    assert f"{MATCHES[0]}: served by n3" in shown
    assert "it paused for 4 ms" in shown


def test_several(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A histogram of the pauses, and why one was not moved."""
    assert match_move.move(*MATCHES, to="n3", yes=True) == ExitCode.FAILED
    told = capsys.readouterr()
    assert "pause of a match: p50 4 ms, p99 14 ms, at most 14 ms" in told.out
    assert "pins_full" in told.err
    shown = Order(json=True)
    status = match_move.move(*MATCHES, to="n3", yes=True, order=shown)
    assert status == ExitCode.FAILED
    rows = json.loads(capsys.readouterr().out)
    assert [row["outcome"]["pause_ms"] for row in rows["done"]] == [4, 14]
    assert [row["code"] for row in rows["failed"]] == ["pins_full"]


def test_no_match_and_no_answer() -> None:
    """Which one has to be said; nothing is done without a yes."""
    with pytest.raises(OperatorError, match="which match"):
        match_move.move(to="n3")
    with pytest.raises(OperatorError) as caught:
        match_move.move(MATCHES[0], to="n3")
    assert caught.value.code == "needs_yes"
