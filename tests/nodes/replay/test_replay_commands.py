"""`hotseat replay`: show, verify, diff and check, on files of both formats."""

from __future__ import annotations

import json
import random
import stat
from pathlib import Path

import msgspec
import pytest

from hotseat.engine import Session, create_session
from hotseat.engine.games.pig_dice import game as pig
from hotseat.engine.replay import (
    open_timeline,
    save_session,
    write_envelope,
    write_log_file,
)
from hotseat.nodes.cli.main import run
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.replay.saved_match import write_new

NEW_CODE = """
from dataclasses import replace
from hotseat.engine.games.pig_dice import game as old

def luckier(ctx):
    if ctx.position.turn != 3:
        return roll.resolve(ctx)
    return {"G": {**ctx.G, "pot": ctx.G["pot"] + 7, "lastRoll": ctx.rng.d6()}}

def strict(ctx):
    return None

roll = next(t for t in old.transitions if t.event == "roll")
hold = next(t for t in old.transitions if t.event == "hold")

def changed(edge, resolve):
    edges = [
        replace(t, resolve=resolve) if t is edge else t
        for t in old.transitions
    ]
    return replace(old, transitions=tuple(edges), version="2")

lucky = changed(roll, luckier)
narrow = changed(hold, strict)
same = replace(old, version="2")
"""


def played(seed: str = "x", moves: int = 10_000) -> Session:
    """A match of pig dice between players who choose at random."""
    session = create_session(pig, {"players": ["0", "1"]}, seed=seed)
    rng = random.Random(seed)
    for number in range(moves):
        if session.result is not None:
            break
        (seat,) = session.snapshot.derived.active_players
        event, payload = rng.choice(session.legal_actions(seat))
        session.apply(seat, event, payload, now=10 * number)
    return session


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one match in each format, where the commands run."""
    session = played()
    (tmp_path / "log").write_bytes(write_log_file(session.log, session.machine))
    (tmp_path / "bare").write_bytes(write_log_file(session.log))
    envelope = write_envelope(save_session(session))
    (tmp_path / "envelope").write_text(envelope, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout, stderr."""
    status = run(["replay", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("name", ["log", "bare", "envelope"])
def test_show_lists_every_frame(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A line for each revision, and the same in JSON."""
    status, out, _ = said(capsys, "show", name)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith(f"{name}: pig-dice")
    revision = played().revision
    assert len(lines) == revision + 3
    assert "result" in lines[-1]
    status, out, _ = said(capsys, "show", name, "--json")
    report = json.loads(out)
    assert [row["revision"] for row in report["frames"]] == list(range(revision + 1))
    assert report["frames"][1]["event"] == "roll"
    assert report["game"] == "pig-dice"


@pytest.mark.parametrize("name", ["log", "envelope"])
def test_show_tells_all_of_one_frame(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Evaluations with the branch that won, the diff, and the view of each seat."""
    first = str(_first("hold"))
    status, out, _ = said(capsys, "show", name, "--frame", first)
    assert status == 0
    assert "  - play -> over  last hold: does not apply" in out.splitlines()
    assert "  $.pot: " in out
    assert "control: Control passes from P" in out
    for whose in ("seat 0", "seat 1", "spectator"):
        assert f"  {whose}: {{" in out
    status, out, _ = said(capsys, "show", name, "--frame", first, "--json")
    frame = json.loads(out)
    assert (frame["revision"], frame["event"]) == (int(first), "hold")
    assert frame["views"]["0"]["view"]["myPlayerID"] == "0"
    (pot,) = [each for each in frame["diffs"] if each["path"] == "$.pot"]
    assert (pot["before"] > 0, pot["after"]) == (True, 0)


def test_show_of_no_revision_says_what_there_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong --frame is a wrong command line."""
    for frame in ("-1", "9999"):
        status, out, err = said(capsys, "show", "log", f"--frame={frame}")
        assert (status, out) == (2, "")
        assert err.startswith("error[unknown_revision]: ")
        assert str(played().revision) in err


def test_verify_checks_every_digest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log is right, with and without snapshots; of an envelope nothing is claimed."""
    for name in ("log", "bare"):
        status, out, _ = said(capsys, "verify", name)
        assert (status, "every digest is right" in out) == (0, True)
    status, out, _ = said(capsys, "verify", "envelope")
    assert (status, "no digests" in out) == (0, True)
    _, out, _ = said(capsys, "verify", "envelope", "--json")
    assert json.loads(out)["digests"] is False


def test_verify_names_the_first_record_that_differs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1, with the record and the field."""
    records = list(played().log)
    records[4] = msgspec.structs.replace(records[4], time_ms=77)
    (folder / "forged").write_bytes(write_log_file(records))
    status, out, err = said(capsys, "verify", "forged")
    assert (status, out) == (1, "")
    assert err.startswith("error[digest_mismatch]: forged, record 4: ")
    status, out, _ = said(capsys, "verify", "forged", "--json")
    report = json.loads(out)
    assert (status, report["ok"]) == (1, False)
    assert (report["record"], report["field"]) == (4, "digest")


def test_verify_wants_the_very_game(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A match is pinned to its version; another one is refused by name."""
    (folder / "newer.py").write_text(NEW_CODE)
    status, _, err = said(capsys, "verify", "log", "--game", "newer:same")
    assert status == 1
    assert "the log is of pig-dice version 1, not of pig-dice version 2" in err


def test_diff_names_the_first_difference(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between formats nothing; between matches the revision and the field."""
    status, out, _ = said(capsys, "diff", "log", "envelope")
    assert (status, out) == (0, "the matches are the same\n")
    other = played(moves=9)
    (folder / "other").write_bytes(write_log_file(other.log))
    status, out, _ = said(capsys, "diff", "log", "other", "--json")
    report = json.loads(out)
    assert (status, report["same"]) == (1, False)
    assert (report["revision"], report["field"]) == (other.revision + 1, "end")
    status, out, _ = said(capsys, "diff", "log", "other")
    assert out.startswith(f"revision {other.revision + 1}: end differs\n")


def test_check_tells_what_new_code_does_otherwise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Per match: same, or the first revision and field; a table, JSON, exit 1."""
    (folder / "rollout.py").write_text(NEW_CODE)
    status, out, _ = said(capsys, "check", "--game", "rollout:same", "log", "bare")
    assert status == 0
    assert out.splitlines()[-1] == "2 same, 0 differs, 0 error"
    short = played(moves=_first("hold") - 1)
    (folder / "short").write_bytes(write_log_file(short.log, short.machine))
    arguments = ("check", "--game", "rollout:narrow", "log", "short", "--json")
    status, out, _ = said(capsys, *arguments)
    report = json.loads(out)
    assert (status, report["same"], report["differs"]) == (1, 1, 1)
    by_file = {row["file"]: row for row in report["matches"]}
    assert by_file["short"]["outcome"] == "same"
    assert by_file["log"]["revision"] == _first("hold")
    assert by_file["log"]["field"] == "answer"


@pytest.mark.parametrize(
    ("name", "more", "field"),
    [
        ("log", [], "G.pot"),
        ("bare", [], "state"),
        ("envelope", ["--old", "pig-dice"], "G.pot"),
        ("log", ["--old", "pig-dice"], "G.pot"),
    ],
)
def test_check_names_the_field(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    more: list[str],
    field: str,
) -> None:
    """From what the log holds of each step, or from the old code beside the new."""
    (folder / "luck.py").write_text(NEW_CODE)
    arguments = ("check", "--game", "luck:lucky", name, *more, "--json")
    status, out, _ = said(capsys, *arguments)
    (row,) = json.loads(out)["matches"]
    assert status == 1
    assert row["revision"] == _first("roll", turn=3)
    assert row["field"] == field


def _first(event: str, turn: int | None = None) -> int:
    """The revision to which the first event of that name led, in that turn."""
    for frame in open_timeline(pig, played().log).frames(1):
        made = None if frame.step is None else frame.step.event
        if made is not None and made.event == event and turn in (None, made.turn):
            return frame.revision
    raise AssertionError(f"there is no {event} in turn {turn}")


def test_check_says_when_there_is_nothing_to_compare_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An envelope alone proves nothing; a bad file does not stop the others."""
    (folder / "junk").write_bytes(b"\x00junk")
    arguments = ("check", "--game", "pig-dice", "envelope", "junk", "absent", "log")
    status, out, _ = said(capsys, *arguments, "--json")
    report = json.loads(out)
    assert status == 1
    codes = [row["code"] for row in report["matches"]]
    assert codes == ["nothing_to_compare", "invalid_envelope", "unreadable_file", None]


@pytest.mark.parametrize("command", ["show", "verify"])
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "unreadable_file"),
        (b"", "invalid_envelope"),
        (b'{"version": 2}', "invalid_envelope"),
        (b"\x94\xabhotseat log", "damaged_file"),
    ],
)
def test_a_bad_file_is_one_error(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    content: bytes | None,
    code: str,
) -> None:
    """With its code and its name; nothing of it is shown."""
    if content is not None:
        (folder / "bad").write_bytes(content)
    status, out, err = said(capsys, command, "bad")
    assert (status, out) == (1, "")
    assert err.startswith(f"error[{code}]: bad")
    assert len(err.splitlines()) <= 2


def test_a_truncated_log_is_not_half_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is missing, nothing is shown."""
    whole = (folder / "log").read_bytes()
    for length in (20, len(whole) // 2, len(whole) - 1):
        (folder / "cut").write_bytes(whole[:length])
        status, out, err = said(capsys, "show", "cut")
        assert (status, out) == (1, "")
        assert err.startswith("error[damaged_file]: cut: ")


def test_a_game_that_is_not_installed_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says how to name it."""
    text = (folder / "envelope").read_text().replace("pig-dice", "ludo")
    (folder / "ludo").write_text(text)
    status, _, err = said(capsys, "show", "ludo")
    assert status == 1
    assert err.startswith("error[unknown_game]: ludo: ludo is not installed")
    assert "--game" in err
    assert said(capsys, "show", "ludo", "--game", "pig-dice")[0] == 0


def test_a_saved_match_is_for_its_owner_alone(tmp_path: Path) -> None:
    """A log holds its seed, and what players hide: nobody else may read it. A draft
    that a killed command left behind is no obstacle; a file is never overwritten."""
    path = tmp_path / "match.hotseat"
    draft = tmp_path / "match.hotseat.partial"
    draft.write_bytes(b"half of i")
    draft.chmod(0o644)
    write_new(path, b"all of it")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"all of it"]
    with pytest.raises(OperatorError) as caught:
        write_new(path, b"another")
    assert (caught.value.code, path.read_bytes()) == ("file_exists", b"all of it")
