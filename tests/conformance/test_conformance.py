"""The recorded vectors, case by case, and the runner that checks them from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import check_core
from .formats import check_file
from .outcome import Outcome

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VECTORS = HERE / "vectors"
SUPPORTED = (
    "rng",
    "roundrobin",
    "core_semantics",
    "games",
    "validation",
    "profile",
    "gamekit",
    "replay",
    "inspector",
)

# What may be skipped: what depends on JavaScript.
SKIPPED = {"roundrobin": 1, "profile": 3}

CASES = [
    pytest.param(outcome, id=f"{name}-{index}-{outcome.case[:40]}")
    for name in SUPPORTED
    for index, outcome in enumerate(check_file(VECTORS / f"{name}.json"))
    if outcome.status != "skipped"
]


@pytest.mark.parametrize("outcome", CASES)
def test_recorded_case(outcome: Outcome) -> None:
    """The engine does what the reference implementation was recorded doing."""
    assert outcome.status == "passed", outcome.text


@pytest.mark.parametrize("name", SUPPORTED)
def test_nothing_is_skipped_unnoticed(name: str) -> None:
    """The number of cases that are not checked is known."""
    outcomes = list(check_file(VECTORS / f"{name}.json"))
    assert SKIPPED.get(name, 0) == sum(o.status == "skipped" for o in outcomes)


@pytest.mark.slow
def test_runner_counts_over_all_files() -> None:
    """The runner closes with one line of counts and succeeds."""
    done = run_runner(*(VECTORS / f"{name}.json" for name in SUPPORTED))
    assert done.stdout == "679 passed, 0 failed, 4 skipped\n", done.stderr
    assert done.returncode == 0


def test_runner_shows_a_failing_case(tmp_path: Path) -> None:
    """A failing case is named, with what was expected and what came; exit 1."""
    case = vector("core_semantics", "basic_add")
    case["steps"][0]["after"]["G"]["count"] = 77
    done = run_runner(written(tmp_path, {"cases": [case]}))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "FAILED broken.json: basic_add",
        "    step 0 (apply): state.G.count: expected 77, actual 2",
        "0 passed, 1 failed, 0 skipped",
    ]


def test_runner_survives_a_malformed_case(tmp_path: Path) -> None:
    """A case without what its format needs fails alone; the next one is checked."""
    good, bad = vector("core_semantics", "basic_add"), vector("core_semantics", "views")
    del bad["steps"][0]["after"]
    done = run_runner(written(tmp_path, {"cases": [bad, good]}))
    assert done.returncode == 1
    assert "raised KeyError: 'after'" in done.stdout
    assert done.stdout.endswith("1 passed, 1 failed, 0 skipped\n")


def test_runner_prints_a_case_of_any_name(tmp_path: Path) -> None:
    """A name that UTF-8 cannot hold is escaped, and the count still comes."""
    case = {**vector("core_semantics", "basic_add"), "id": "\ud800"}
    case["steps"][0]["after"]["G"]["count"] = 77
    done = run_runner(written(tmp_path, {"cases": [case]}))
    assert done.returncode == 1
    assert done.stdout.startswith("FAILED broken.json: \\ud800\n")
    assert done.stdout.endswith("0 passed, 1 failed, 0 skipped\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "a JSON list, no object"),
        ('{"cases": [{"colour": "red"}]}', "not a vector file of a known format"),
        ("\udcff", "cannot be read"),
        ('{"schemas": ' + "7" * 5_000 + "}", "not JSON"),
        ('{"branches": [{}], "cases": 7}', "malformed"),
        ('{"mutation": 7}', "malformed"),
        ('{"modifiers": [7]}', "malformed"),
    ],
)
def test_runner_refuses_what_is_no_vector_file(
    tmp_path: Path, text: str, message: str
) -> None:
    """One clear line on stderr, and exit 2, for a file that cannot be checked."""
    path = tmp_path / "broken.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = run_runner(path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == "0 passed, 0 failed, 0 skipped\n"


def test_runner_checks_the_rest_beside_an_unreadable_file(tmp_path: Path) -> None:
    """A missing file does not keep the others from being checked."""
    done = run_runner(tmp_path / "absent.json", VECTORS / "roundrobin.json")
    assert done.returncode == 2
    assert done.stdout == "96 passed, 0 failed, 1 skipped\n"


def test_restore_from_a_given_snapshot() -> None:
    """A script may go on from a snapshot of another match, its log included."""
    case = vector("core_semantics", "save_restore")
    *_, restored, applied, replayed = case["steps"]
    given = {**restored, "snapshot": restored["after"]}
    case["steps"] = [given, applied, replayed]
    (outcome,) = check_core.check({"cases": [case]})
    assert outcome.status == "passed", outcome.text


def test_later_formats_are_skipped(tmp_path: Path) -> None:
    """A file of a part that does not exist yet is counted, not failed."""
    hosted = {"schemas": [1, 2], "sessions": [{"id": "x"}]}
    done = run_runner(written(tmp_path, hosted))
    assert done.stdout == "0 passed, 0 failed, 3 skipped\n"
    assert done.returncode == 0


def test_case_on_another_kind_of_game_is_skipped(tmp_path: Path) -> None:
    """Cases that only look like scenarios on a game are counted, not played."""
    core, gamekit = vector("core_semantics", "basic_add"), vector("gamekit", "args")
    other, recorded = {**core, "game": {"rules": {}}}, {**core, "script": []}
    done = run_runner(written(tmp_path, {"cases": [other, core, recorded]}))
    assert done.stdout == "1 passed, 0 failed, 2 skipped\n"
    done = run_runner(written(tmp_path, {"cases": [gamekit, other, core, recorded]}))
    assert done.stdout == "2 passed, 0 failed, 2 skipped\n"


def run_runner(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.conformance", *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def vector(name: str, case_id: str) -> dict[str, Any]:
    document = json.loads((VECTORS / f"{name}.json").read_text())
    found: dict[str, Any] = next(c for c in document["cases"] if c["id"] == case_id)
    return found


def written(folder: Path, document: Any) -> Path:
    path = folder / "broken.json"
    path.write_text(json.dumps(document))
    return path
