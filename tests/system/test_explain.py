"""`hotseat match explain` at a cluster of real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.client import Accepted, Refusal, RemoteMatch, Seat, connect
from tests.system.terminal import HOTSEAT
from tests.system.test_up import Operator, wait_until

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    operator = Operator(tmp_path)
    assert operator.run("up", "--shards", "2", "--detach").returncode == 0
    yield operator
    assert operator.run("down").returncode == 0


def explain(operator: Operator, match: str, key: str, status: int = 0) -> Any:
    done = subprocess.run(
        [*HOTSEAT, "match", "explain", match, key, "--json", "--dir", operator.home],
        cwd=operator.cwd,
        env=operator.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done
    return json.loads(done.stdout)


async def play(home: Path) -> tuple[str, str, str]:
    """A mark in the middle, and one that is refused: the match, and both keys."""
    async with connect(home) as client:
        match = await client.create("tic-tac-toe", players=["0", "1"])
        assert isinstance(match, RemoteMatch)
        seat = await match.take("0")
        assert isinstance(seat, Seat)
        assert isinstance(await seat.dispatch("place", {"cell": 4}), Accepted)
        assert isinstance(await seat.dispatch("place", {"cell": 0}), Refusal)
        return match.id, f"0:{seat.session}:1", f"0:{seat.session}:2"


def test_an_action_is_explained_before_and_after_its_owner_dies(
    operator: Operator,
) -> None:
    """All of it; then what the new owner knows, and what is not known any more."""
    match, done, refused = anyio.run(play, operator.home)
    found = explain(operator, match, done)
    assert (found["outcome"], found["record"]["input"]["payload"]) == (
        "accepted",
        {"cell": 4},
    )
    assert found["frames"][0]["event"] == "place"
    (owner,) = [name for name, node in found["nodes"].items() if node["serving"]]
    assert [d["record"] for d in found["nodes"][owner]["decided"]] == [2]
    wait_until(lambda: len(holders(explain(operator, match, done))) == 2)
    judged = explain(operator, match, refused)
    assert (judged["outcome"], judged["code"]) == ("refused", "inactive_player")
    assert explain(operator, match, "0:1:99", status=1)["outcome"] == "unknown"

    pid = operator.pid(owner)
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: operator.status()["shards_in_sync"] == 2)
    found = explain(operator, match, done)
    assert found["outcome"] == "accepted"
    assert any("gone or was started anew" in note for note in found["notes"])
    # It may be back, and have the record again; what it decided it has forgotten.
    assert not found["nodes"].get(owner, {}).get("decided")
    assert holders(found)


def holders(found: Any) -> list[str]:
    """The nodes that remember when they had the record."""
    return [name for name, node in found["nodes"].items() if node["held"] is not None]
