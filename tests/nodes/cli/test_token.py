"""`hotseat token`: made, looked at, and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.cli.main import run
from hotseat.nodes.cluster_dir import ClusterDir


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = run(["token", *arguments])
    out, err = capsys.readouterr()
    return status, (out or err).strip()


def test_a_token_is_made_and_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What mint prints, inspect accepts; after its key is dropped, it does not."""
    home = ClusterDir.open(tmp_path / "c")
    place = ("--dir", str(home.path))
    status, token = said(
        capsys, "mint", "--match", "m1", "--epoch", "3", "--seat", "0", *place
    )
    assert status == 0
    assert home.token_keys_path.stat().st_mode & 0o777 == 0o600
    status, text = said(capsys, "inspect", token, "--json", *place)
    facts: dict[str, Any] = json.loads(text)
    assert (status, facts["kind"], facts["seat"], facts["epoch"]) == (0, "seat", "0", 3)
    status, text = said(capsys, "rotate", "--algorithm", "EdDSA", "--json", *place)
    old, new = json.loads(text)["keys"]
    assert (old["signs"], new["signs"], new["algorithm"]) == (False, True, "EdDSA")
    assert said(capsys, "inspect", token, *place)[0] == 0
    assert said(capsys, "rotate", "--drop", old["kid"], *place)[0] == 0
    status, text = said(capsys, "inspect", token, *place)
    assert (status, token in text) == (1, False)
    assert text.startswith("error[token_unknown_key]")


@pytest.mark.parametrize(
    "arguments",
    [
        ("mint",),
        ("mint", "--operator", "ann", "--match", "m"),
        ("mint", "--match", "m"),
        ("mint", "--match", "", "--epoch", "1"),
        ("mint", "--operator", "ann", "--ttl", "soon"),
    ],
)
def test_what_makes_no_token_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Exit status 2, and a hint."""
    home = ClusterDir.open(tmp_path / "c")
    status, text = said(capsys, *arguments, "--dir", str(home.path))
    assert (status, text.startswith("error[usage]")) == (2, True)
