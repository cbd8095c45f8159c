"""The command line: what is printed, and what is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .cli import main
from .mutants import MUTANTS, kept_seeds
from .runs import run_seed


def test_the_mutants_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, the name first."""
    assert main(["--list-mutants"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == list(MUTANTS)
    assert {"no_epoch_fence", "ack_len_log"} <= set(names)


@pytest.mark.slow
def test_a_seed_prints_the_hash_of_its_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line, and with -v the trace before it; both runs are the same."""
    assert main(["--seed", "5"]) == 0
    line = capsys.readouterr().out
    assert line.startswith(f"seed 5 trace {run_seed(5).digest} acks ")
    assert main(["--seed", "5", "-v"]) == 0
    trace = capsys.readouterr().out.splitlines()
    assert trace[-1] == line.strip()
    assert any("serves shard" in told for told in trace)


@pytest.mark.slow
def test_a_mutant_that_is_caught_is_answered_with_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The seed is named, and the command to see it again."""
    seed = kept_seeds()["no_dedupe"]
    asked = ["--mutant", "no_dedupe", "--seed", str(seed), "--count", "3"]
    assert main(asked) == 1
    told = capsys.readouterr().out
    assert f"no_dedupe: caught by seed {seed}" in told
    assert f"python -m tests.simulator --seed {seed} -v --mutant no_dedupe" in told


@pytest.mark.slow
def test_a_mutant_that_survives_is_answered_with_zero() -> None:
    """A few seeds in a quiet corner do not notice everything."""
    seed = kept_seeds()["memory_keeps_place"] - 1
    asked = ["--mutant", "memory_keeps_place", "--seed", str(seed), "--count", "1"]
    assert main(asked) == 0


@pytest.mark.slow
def test_a_tally_goes_on_where_it_was_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seeds that were run are not run again; counts and seeds are kept in the file."""
    file = tmp_path / "tally.json"
    assert main(["--tally", str(file), "--seed", "0", "--count", "2"]) == 0
    assert main(["--tally", str(file), "--seed", "0", "--count", "3"]) == 0
    assert "1 of 3 seeds are to be run" in capsys.readouterr().out
    held = json.loads(file.read_text())
    assert held["seeds"] == [[0, 2]]
    assert held["done"] == 3
    assert held["failures"] == []
    assert held["counts"]["acknowledgements"] > 0


@pytest.mark.slow
def test_a_tally_of_other_code_is_kept_apart(tmp_path: Path) -> None:
    """What other code has shown is no proof for this one."""
    file = tmp_path / "tally.json"
    assert main(["--tally", str(file), "--seed", "0", "--count", "1"]) == 0
    held = json.loads(file.read_text())
    file.write_text(json.dumps({**held, "fingerprint": "another"}))
    assert main(["--tally", str(file), "--seed", "1", "--count", "1"]) == 0
    held = json.loads(file.read_text())
    assert held["seeds"] == [[1, 1]]
    assert [run["fingerprint"] for run in held["earlier"]] == ["another"]
