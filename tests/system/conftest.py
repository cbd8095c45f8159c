"""What tests of commands have, unless they say otherwise: an operator and a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .shell import Operator, running_cluster


@pytest.fixture
def operator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Operator:
    """Someone who asks, and changes things."""
    return Operator(monkeypatch, capsys)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a cluster of two nodes in `.hotseat`."""
    home = tmp_path_factory.mktemp("home")
    with running_cluster(home, "--nodes", "2", "--shards", "4"):
        yield home
