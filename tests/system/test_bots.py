"""Bots in a real cluster: a person plays one, while its process dies, and a node."""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from hotseat.engine.games.connect_four import game as connect_four
from hotseat.nodes.client import Seat, connect
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.pid_file import holder_of
from hotseat.nodes.seat_secret import seat_secrets

from ..nodes.bots.stage import opened_room
from .shell import hotseat

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterDir]:
    """A cluster with a gateway and bots, as `make run` starts it."""
    folder = tmp_path_factory.mktemp("bots") / "c"
    file = folder.parent / "more.toml"
    file.write_text("[bots]\nthink_s = 0.05\n")
    place = ("--dir", str(folder))
    os.environ["HOTSEAT_CONFIG"] = str(file)
    try:
        asked = ("up", *place, "--nodes", "3", "--gateway", "127.0.0.1:0", "--detach")
        done = hotseat(*asked)
        assert done.returncode == 0, done.stderr
        (folder.parent / "said").write_text(done.stdout)
        yield ClusterDir.load(folder)
    finally:
        del os.environ["HOTSEAT_CONFIG"]
        hotseat("down", *place)


def kill(file: Path) -> int:
    pid = holder_of(file)
    assert pid
    os.kill(pid, signal.SIGKILL)
    return pid


def kill_owner(home: ClusterDir, match: str) -> None:
    shown = hotseat("match", "show", match, "--dir", str(home.path), "--json")
    copies = json.loads(shown.stdout)["copies"]
    owner = next(copy["node"] for copy in copies if copy["role"] == "owner")
    kill(home.pid_path(owner))


async def play(home: ClusterDir) -> None:
    secret = seat_secrets(home.secret())
    async with connect(home, principal="test") as client:
        room, said = await opened_room(
            client, connect_four, ["0", "1"], 1, bot="mcts", secret=secret
        )
        assert said.match is not None
        match = client.join(said.match, said.epoch or 0)
        human = await match.take("0", secrets.token_urlsafe(16))
        assert isinstance(human, Seat)
        moves = 0
        async for view in human.views(legal=True):
            if not view.my_turn or view.revision < 2 * moves:
                continue
            if moves == 1:
                pid = kill(home.bots_pid_path("bots"))
            elif moves == 3:
                kill_owner(home, match.id)
            choice = random.choice(view.legal or ())
            await human.dispatch(*choice, base_revision=view.revision)
            moves += 1
        assert view.ended
        assert moves >= 4
        assert holder_of(home.bots_pid_path("bots")) not in (None, pid)
        async for last in room.watch().views():
            ended = last.ended
        assert ended


def test_a_bot_plays_on_whoever_dies(home: ClusterDir) -> None:
    """Its process is killed in the midst of the match, then the node that owns the
    match: the match goes on to its end, and the room is done."""
    anyio.run(play, home)


def test_what_a_person_is_shown(home: ClusterDir) -> None:
    """The links lead to a page, and to the cluster with a token that only looks."""
    lines = (home.path.parent / "said").read_text().splitlines()
    links = dict(line.split(maxsplit=1) for line in lines if ":  " in line[:10])
    url, _, token = links["Operate:"].partition("#t=")
    asked = httpx.get(links["Play:"])
    assert (asked.status_code, asked.headers["content-type"].partition(";")[0]) == (
        200,
        "text/html",
    )
    assert httpx.get(url).status_code == 200
    inspected = hotseat("token", "inspect", token, "--dir", str(home.path), "--json")
    assert json.loads(inspected.stdout)["scopes"] == ["inspect"]
    offered = httpx.get(f"{links['Play:']}api/games").json()["games"]
    bots = {game["name"]: [bot["botID"] for bot in game["bots"]] for game in offered}
    assert bots["tic-tac-toe"] == ["mcts", "random"]
    assert all(bots.values())


def test_a_cluster_that_runs_already(home: ClusterDir) -> None:
    """The second start is told so, and not that its own port is taken."""
    url = home.gateway_url_path("gateway").read_text().strip()
    address = url.removeprefix("http://")
    done = hotseat("up", "--dir", str(home.path), "--gateway", address)
    assert done.returncode == 1
    assert "already_running" in done.stderr


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """It is said before anything is started, with how to take another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = hotseat("up", "--dir", str(tmp_path / "c"), "--gateway", address)
    assert done.returncode == 2
    assert "address_taken" in done.stderr
    assert "make run GATEWAY=HOST:PORT" in done.stderr
    assert not (tmp_path / "c").exists()
