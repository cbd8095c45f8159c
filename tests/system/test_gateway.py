"""A gateway before a real cluster, over real sockets: played in, while a node dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from httpx_ws import AsyncWebSocketSession, WebSocketDisconnect, aconnect_ws

from .shell import hotseat

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


def told(*arguments: str) -> str:
    """What a command prints, which must succeed."""
    done = hotseat(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.place = ("--dir", str(folder))
        self.folder = folder
        said = told(
            "up", *self.place, "--nodes", "3", "--gateway", "127.0.0.1:0", "--detach"
        )
        self.url = (folder / "run" / "gateway.url").read_text().strip()
        assert f"Play:     {self.url}/" in said
        token = told("token", "mint", "--operator", "ann", *self.place).strip()
        self.headers = {"authorization": f"Bearer {token}"}

    def open_match(self) -> dict[str, Any]:
        asked = {"game": "tic-tac-toe", "players": ["0", "1"]}
        answer = httpx.post(f"{self.url}/api/matches", json=asked, headers=self.headers)
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    def kill_owner(self, match: str) -> None:
        found = json.loads(told("match", "show", match, *self.place, "--json"))
        owner = next(c["node"] for c in found["copies"] if c["role"] == "owner")
        pid = int((self.folder / "run" / f"{owner}.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("gateway") / "c"
    try:
        yield Cluster(folder)
    finally:
        told("down", "--dir", str(folder))


class Player:
    def __init__(self, socket: AsyncWebSocketSession, match: str, seat: str) -> None:
        self._socket, self._match, self._seat = socket, match, seat

    async def hear(self) -> dict[str, Any]:
        said: dict[str, Any] = await self._socket.receive_json(timeout=30)
        return said

    async def place(self, cell: int) -> dict[str, Any]:
        """Place a stone; the batch that says that it was."""
        id = f"c{cell}"
        await self._socket.send_json(
            {
                "type": "action",
                "matchID": self._match,
                "playerID": self._seat,
                "event": "place",
                "payload": {"cell": cell},
                "clientActionID": id,
            }
        )
        while True:
            said = await self.hear()
            assert said.get("type") != "action_rejected", said
            if said.get("ackClientActionID") == id:
                return said


@asynccontextmanager
async def player(link: dict[str, Any], match: str) -> AsyncIterator[Player]:
    web: AsyncWebSocketSession
    async with httpx.AsyncClient() as http, aconnect_ws(link["url"], http) as web:
        yield Player(web, match, link.get("seat", ""))


async def play(cluster: Cluster) -> None:
    created = cluster.open_match()
    match = created["id"]
    first, second = created["seats"]
    async with (
        player(first, match) as x,
        player(second, match) as o,
        player(created["spectator"], match) as watcher,
    ):
        for page in (x, o, watcher):
            assert (await page.hear())["revision"] == 0
        await x.place(0)
        await o.place(3)
        await anyio.to_thread.run_sync(cluster.kill_owner, match)
        for page, cell in ((x, 1), (o, 4), (x, 2)):
            told = await page.place(cell)
        assert told["snapshot"]["result"] is not None
        told = {"revision": 0}
        while told["revision"] < 5:
            told = await watcher.hear()
    final = told.get("snapshot", told)
    assert final["result"] is not None
    async with httpx.AsyncClient() as http:
        path = f"{cluster.url}/api/matches/{match}/replay"
        replay = await http.get(f"{path}?token={created['spectator']['token']}")
    assert len(replay.json()["actions"]) == 5


async def test_two_players_finish_while_the_owner_dies(cluster: Cluster) -> None:
    """Neither has to reconnect, no action is lost or played twice, and a spectator sees
    the end."""
    await play(cluster)


def test_the_same_on_asyncio(cluster: Cluster) -> None:
    """The clients' backend makes no difference; the node that died is back."""
    anyio.run(play, cluster)


async def test_a_wrong_token_is_told_by_the_close_code(cluster: Cluster) -> None:
    """A browser sees the code and the reason."""
    match = cluster.open_match()["id"]
    web: AsyncWebSocketSession
    async with httpx.AsyncClient() as http:
        url = f"{cluster.url}/rooms/{match}?token=wrong"
        async with aconnect_ws(url, http) as web:
            with pytest.raises(WebSocketDisconnect) as closed:
                await web.receive_text(timeout=10)
    assert (closed.value.code, closed.value.reason) == (4401, "token_malformed")


def test_junk_ends_no_gateway(cluster: Cluster) -> None:
    """Bytes that are no protocol, behind an upgrade too, cost their sender alone."""
    host, _, port = cluster.url.removeprefix("http://").partition(":")
    upgrade = (
        b"GET /rooms/x?token=y HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    large = b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000
    for junk in (b"\x00" * 300, upgrade + b"\xff", upgrade + b"\x81\xff", large):
        with socket.create_connection((host, int(port)), timeout=10) as plain:
            plain.sendall(junk)
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(4096):
                pass
    assert httpx.get(f"{cluster.url}/readyz").status_code == 200


def test_an_address_that_is_taken_is_named(cluster: Cluster) -> None:
    """A second gateway at the same place says so in one line, and ends."""
    listen = ("--listen", cluster.url.removeprefix("http://"), "--name", "second")
    argv = [sys.executable, "-P", "-m", "hotseat.nodes.cli.main", "gateway"]
    done = subprocess.run(
        [*argv, *cluster.place, *listen], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "error[address_unavailable]: cannot listen on 127.0.0.1:" in done.stderr


def test_nothing_secret_is_logged(cluster: Cluster) -> None:
    """What the processes write holds no token and no key."""
    created = cluster.open_match()
    for link in (*created["seats"], created["spectator"]):
        path = f"{cluster.url}/api/matches/{created['id']}"
        httpx.get(f"{path}?token={link['token']}").raise_for_status()
    keys = json.loads((cluster.folder / "token-keys.json").read_text())["keys"]
    written = "".join(
        file.read_text() for file in (cluster.folder / "logs").glob("*.log")
    )
    assert written
    assert "eyJ" not in written  # how a token begins
    assert not any(key["secret"] in written for key in keys)
