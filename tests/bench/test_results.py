"""The rows that `make bench` writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import engine_games, rival
from bench.engine_games import engine_core
from bench.row import Row, row_of, take_turns

KEYS = {"name", "value", "unit", "floor", "ratio", "goal", "met"}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of results of the test's own."""
    path = tmp_path / "results.json"
    monkeypatch.setattr(command, "RESULTS", path)
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    return command.main()


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return rows


def test_a_measured_row_has_its_floor_and_its_goal(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the file finds value, floor, ratio and goal under fixed names."""
    assert run(monkeypatch, "--only", "engine_memory") == 0
    [row] = read(results)
    assert row.keys() >= KEYS
    assert row["name"] == "engine_memory"
    assert row["ratio"] == pytest.approx(row["value"] / row["floor"], rel=0.01)
    assert row["met"] is (row["ratio"] <= row["goal"])


def test_a_run_of_some_rows_leaves_the_others(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONLY=... replaces what it measures, keeps the rest, and forgets unknown rows."""
    old = [
        {"name": "engine_memory", "value": 1.0},
        {"name": "engine_log_10_vs_node", "value": 2.0},
        {"name": "engine_gone", "value": 3.0},
        {"name": "link_echo", "value": 4.0},
    ]
    results.write_text(json.dumps(old), "utf-8")
    monkeypatch.setenv("ONLY", "engine_memory")
    assert run(monkeypatch) == 0
    rows = read(results)
    names = [row["name"] for row in rows]
    assert names == ["engine_log_10_vs_node", "engine_memory", "link_echo"]
    assert rows[1]["value"] > 1.0


def test_names_that_are_not_there_are_refused(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt name is no success with nothing measured."""
    assert run(monkeypatch, "--only", "nonsense") == 2
    assert "nonsense" in capsys.readouterr().err
    assert not results.exists()


def test_every_engine_row_is_chosen_by_one_prefix() -> None:
    """ONLY=engine measures the whole engine."""
    module = "bench.engine_"
    for name, measure in command.MEASUREMENTS.items():
        assert name.startswith("engine_") == measure.__module__.startswith(module)


def test_a_rival_that_is_absent_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without npm the rows say so, and are neither met nor missed."""
    monkeypatch.setattr(rival, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    rival._install.cache_clear()
    rival._program.cache_clear()
    try:
        with pytest.raises(rival.Absent, match="npm"), rival.find_rival("node"):
            pass
    finally:
        rival._install.cache_clear()
        rival._program.cache_clear()
    row = row_of("x_vs_node", "steps/s", [1.0], None, floor_is="rival absent", goal=4.0)
    told = row.to_json()
    assert (told["floor"], told["ratio"], told["met"]) == (None, None, None)


@pytest.mark.parametrize(
    ("better", "ratio", "met", "stretch_met"),
    [
        ("lower", 3.0, True, False),
        ("lower", 5.0, False, False),
        ("higher", 5.0, True, True),
        ("higher", 3.0, False, True),
    ],
)
def test_goals_follow_the_better_direction(
    better: Any, ratio: float, met: bool, stretch_met: bool
) -> None:
    """A goal is a most where lower is better, and a least where higher is."""
    row = Row("r", ratio, "us", 1.0, "", ratio, better, goal=4.0, stretch=2.0)
    assert (row.met, row.stretch_met) == (met, stretch_met)


def test_measures_take_turns_and_the_first_round_is_dropped() -> None:
    """What disturbs one measure disturbs the others of its round."""
    seen: list[str] = []

    def measure(name: str) -> float:
        seen.append(name)
        return float(len(seen))

    taken = take_turns({"a": lambda: measure("a"), "b": lambda: measure("b")}, 2)
    assert seen == ["a", "b"] * 3
    assert taken == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_the_core_is_dearer_than_the_same_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A floor is a floor: the engine cannot be below it."""
    for rounds in ("ROUNDS", "ROUNDS_ALONE"):
        monkeypatch.setattr(engine_games, rounds, 3)
    [row] = engine_core()
    assert row.ratio is not None
    assert row.ratio > 1.0
