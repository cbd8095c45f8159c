"""What tests of commands have, unless they say otherwise: an operator and a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from .shell import Operator, running_cluster


@pytest.fixture
def operator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Operator:
    """Someone who asks, and changes things. What the test's own clients log is not
    among the answers."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))
    return Operator(monkeypatch, capsys)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a cluster of two nodes in `.hotseat`."""
    home = tmp_path_factory.mktemp("home")
    with running_cluster(home, "--nodes", "2", "--shards", "4"):
        yield home
