"""Asking a door that lies open to the network: proof on both sides, real sockets."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import msgpack
import pytest

from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.door_client import door_request
from hotseat.nodes.nng_door import DoorServer
from hotseat.nodes.operator.ask_cluster import find_cluster
from hotseat.nodes.operator.ask_door import DoorRefused, DoorUnreachable, ask_door
from hotseat.nodes.operator.door import Door
from hotseat.nodes.operator.sealed_door import SealedDoor
from hotseat.nodes.operator_error import OperatorError

pytestmark = pytest.mark.system

SECRET = "5e" * 32


@pytest.fixture(autouse=True)
def secret_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What HOTSEAT_SECRET_FILE names."""
    for name in [name for name in os.environ if name.startswith("HOTSEAT_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "secret"
    path.write_text(SECRET)
    monkeypatch.setenv("HOTSEAT_SECRET_FILE", str(path))
    return path


def door(secret: str = SECRET) -> DoorServer:
    """A node's door on the network."""
    inner = Door({"status": lambda asked: {"ready": True}})
    sealed = SealedDoor(inner.answer, bytes.fromhex(secret))
    return DoorServer("tcp://127.0.0.1:0", sealed.answer)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_who_has_the_secret_asks_as_ever(backend: str) -> None:
    """Answers and refusals come through; a plain request is told nothing."""

    async def main() -> None:
        async with door() as server:
            for _ in range(3):
                assert await ask_door(server.address, "status") == {"ready": True}
            with pytest.raises(DoorRefused) as caught:
                await ask_door(server.address, "dance")
            assert caught.value.code == "unknown_op"
            plain = await door_request(
                server.address, msgpack.packb({"op": "status"}), 5
            )
            assert msgpack.unpackb(plain)["code"] == "unauthenticated"

    anyio.run(main, backend=backend)


def test_who_has_another_secret_is_told_nothing() -> None:
    """By a code that says so."""

    async def main() -> None:
        async with door("77" * 32) as server:
            with pytest.raises(DoorRefused) as caught:
                await ask_door(server.address, "status")
            assert caught.value.code == "unauthenticated"

    anyio.run(main)


def test_a_door_that_does_not_know_the_secret_is_not_believed() -> None:
    """It could say anything."""

    async def pretend(request: bytes) -> bytes:
        said: bytes = msgpack.packb(
            {
                "ok": True,
                "nonce": b"n" * 32,
                "answer": msgpack.packb({"ok": True, "ready": True}),
                "proof": b"p" * 32,
            }
        )
        return said

    async def main() -> None:
        async with DoorServer("tcp://127.0.0.1:0", pretend) as server:
            with pytest.raises(DoorUnreachable, match="does not know the secret"):
                await ask_door(server.address, "status")

    anyio.run(main)


@pytest.mark.parametrize("text", [None, "", "secret", "5e" * 31])
def test_without_a_secret_nothing_is_asked(secret_file: Path, text: str | None) -> None:
    """It is said which file should have it."""
    secret_file.unlink() if text is None else secret_file.write_text(text)

    async def main() -> None:
        with pytest.raises(OperatorError) as caught:
            await ask_door("tcp://127.0.0.1:9", "status")
        assert caught.value.code == "no_secret"
        assert str(secret_file) in caught.value.message

    anyio.run(main)


def test_the_secret_of_the_cluster_that_is_asked_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever its folder lies: who names it on the command line names no more."""
    monkeypatch.delenv("HOTSEAT_SECRET_FILE")
    monkeypatch.chdir(tmp_path)
    home = ClusterDir.open(tmp_path / "far" / "cluster", 4, ("n1",))
    secret = home.secret_path.read_text().strip()

    async def main() -> None:
        async with door(secret) as server:
            with pytest.raises(OperatorError) as caught:
                await ask_door(server.address, "status")
            assert caught.value.code == "no_secret"
            await find_cluster(home.path)
            assert await ask_door(server.address, "status") == {"ready": True}

    anyio.run(main)
