"""An action that ends the process it is played in ends two, and no third."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import (
    Accepted,
    ClientError,
    Refusal,
    RemoteMatch,
    Seat,
    connect,
)
from tests.system.terminal import HOTSEAT, environment
from tests.system.test_up import Operator, wait_until

pytestmark = [pytest.mark.system, pytest.mark.slow]

GAME = """
import os, signal
from hotseat.engine.definition import *

def take(ctx):
    if ctx.event.payload == "poison":
        os.kill(os.getpid(), signal.SIGSEGV)
    return {"G": {"taken": ctx.G["taken"] + 1}}

game = define_game(
    name="cellar", max_players=2, min_players=1, events={"take": event(str)},
    initial="play", states={"play": state(active_players=["0"])},
    setup=lambda ctx: {"taken": 0},
    transitions=[transition("take", "play", "play", resolve=take)],
    views=views(public=lambda ctx: ctx.G),
)
"""


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    (tmp_path / "cellar.py").write_text(GAME)
    operator = Operator(tmp_path)
    yield operator
    assert operator.run("down").returncode == 0


def logged(operator: Operator, event: str) -> list[dict[str, object]]:
    lines = [
        json.loads(line)
        for path in sorted((operator.home / "logs").glob("n*.log"))
        for line in path.read_text().splitlines()
        if line.startswith("{")
    ]
    return [line for line in lines if line["event"] == event]


def change(*arguments: str) -> None:
    """Run a command that must succeed."""
    command = [*HOTSEAT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (0, ""), done


def test_a_poison_action_ends_two_nodes_and_no_third(operator: Operator) -> None:
    """The match is set apart on all nodes; the others are played on. Released, it is
    there as it was before that action; or it is ended without going on."""
    up = operator.run("up", "--game", "cellar:game", "--detach")
    assert (up.returncode, up.stderr) == (0, "")

    resumes: list[tuple[str, int, str]] = []

    async def main() -> None:
        async with connect(operator.home) as client:
            matches = []
            for number in range(6):
                match = await client.create("cellar", players=["0"], key=f"{number}")
                assert isinstance(match, RemoteMatch), match
                seat = await match.take("0")
                assert isinstance(seat, Seat)
                assert isinstance(await seat.dispatch("take", "bread"), Accepted)
                matches.append((match, seat))
            victim, poisoned = matches[0]
            with anyio.fail_after(60):
                while True:
                    try:
                        answer = await poisoned.dispatch("take", "poison", timeout_s=5)
                    except ClientError:
                        continue
                    assert isinstance(answer, Refusal), answer
                    if answer.code == "quarantined":
                        break
            for _, seat in matches[1:]:
                assert isinstance(await seat.dispatch("take", "bread"), Accepted)
            assert [e["match"] for e in logged(operator, "match_seen_at_death")] == [
                victim.id,
                victim.id,
            ]
            resumes.append((victim.id, victim.epoch, poisoned.resume))

    async def play_on() -> None:
        match, epoch, token = resumes[0]
        async with connect(operator.home) as client:
            seat = await client.join(match, epoch).take("0", token)
            assert isinstance(seat, Seat), seat
            assert isinstance(await seat.dispatch("take", "bread"), Accepted)
            view = await seat.resync()
            assert not isinstance(view, Refusal)
            assert view.view == {"taken": 2}

    anyio.run(main)
    wait_until(lambda: operator.run("status").returncode == 0)
    assert len(logged(operator, "match_poison")) >= 3
    victim = resumes[0][0]
    at = ("--dir", str(operator.home))
    change("match", "release", victim, "--yes", *at)
    anyio.run(play_on)
    for verb in ("quarantine", "terminate"):
        change("match", verb, victim, "--yes", *at)
