"""`hotseat match edit|upgrade`, as far as they go without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotseat.nodes.cli.main import run

MATCH = "a" * 26


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["edit", "x", "p.json", "--yes"], "not the id of a match"),
        (["edit", MATCH, "--yes"], "either a patch, or --undo"),
        (["edit", MATCH, "p.json", "--undo", "--yes"], "either a patch, or --undo"),
        (["edit", MATCH, "--unknown", "--yes"], "Unknown option: --unknown"),
        (["edit", MATCH, "broken.json", "--yes"], "broken.json is no JSON"),
        (["edit", MATCH, "p.json"], "needs_yes"),
        (["edit", MATCH, "p.json", "--base-revision", "-1", "--yes"], "base-revision"),
        (["upgrade", "x", "--to", "2", "--yes"], "not the id of a match"),
        (["upgrade", MATCH, "--to", "2"], "needs_yes"),
        (["upgrade", MATCH, "--yes"], "--to"),
    ],
)
def test_what_is_asked_wrongly_is_status_2(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is asked of any node then."""
    (tmp_path / "p.json").write_text("[]")
    (tmp_path / "broken.json").write_text("[")
    monkeypatch.chdir(tmp_path)
    assert run(["match", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_patch_that_is_not_there_is_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is named."""
    missing = str(tmp_path / "none.json")
    assert run(["match", "edit", MATCH, missing, "--yes"]) == 1
    assert missing in capsys.readouterr().err
