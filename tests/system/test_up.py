"""A real cluster on this machine: up, down, and what may happen between."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.pid_file import holder_of

pytestmark = [pytest.mark.system, pytest.mark.slow]

PATIENCE_S = 40.0

OWN_GAME = """
from hotseat.engine.definition import *
game = define_game(
    name="nim", max_players=2, events=["take"], initial="play",
    states={"play": state(active_players=["0"])}, setup=lambda ctx: {},
    transitions=[transition("take", "play", "play")],
    views=views(public=lambda ctx: ctx.G),
)
"""


class Operator:
    """Somebody at a shell, in a folder, with a cluster in `c` below it."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.home = cwd / "c"
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HOTSEAT_")
        }

    def argv(self, command: str, *arguments: str) -> list[str]:
        program = [sys.executable, "-P", "-m", "hotseat.nodes.cli.main"]
        return [*program, command, "--dir", str(self.home), *arguments]

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(command, *arguments),
            cwd=self.cwd,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`hotseat up` in the foreground, ready."""
        process = subprocess.Popen(
            self.argv("up", *arguments),
            cwd=self.cwd,
            env=self.environ,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            if line == "ready\n":
                return process
        raise AssertionError("it was never ready")

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return found

    def pid(self, name: str) -> int | None:
        return holder_of(self.home / "run" / f"{name}.pid")


def runs(pid: int) -> bool:
    """Whether a process does anything; a dead one may wait to be reaped."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip()[:1] not in ("", "Z")


def wait_until(condition: Callable[[], object]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    operator = Operator(tmp_path)
    yield operator
    assert operator.run("down").returncode == 0
    assert all(operator.pid(name) is None for name in ("up", "n1", "n2", "n3"))


def test_detached_it_returns_when_all_is_ready_and_down_stops_all(
    operator: Operator,
) -> None:
    """For scripts: up, ask, down; and the identity stays for the next time."""
    up = operator.run("up", "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    assert "ready" in up.stdout.splitlines()
    shown = operator.status()
    assert [node["node"] for node in shown["nodes"]] == ["n1", "n2", "n3"]
    assert all(node["ready"] for node in shown["nodes"])
    pids = [operator.pid(name) for name in ("up", "n1", "n2", "n3")]
    down = operator.run("down")
    assert (down.returncode, down.stdout) == (0, "stopped\n")
    assert not any(pid is None or runs(pid) for pid in pids)
    assert operator.run("down").stdout == "nothing runs there\n"
    assert operator.run("up", "--detach").returncode == 0
    again = operator.status()
    assert again["cluster"] == shown["cluster"]
    assert all(node["ready"] for node in again["nodes"])


def test_the_number_of_nodes_is_kept(operator: Operator) -> None:
    """Said once, it need not be said again; another one is a clear error."""
    assert operator.run("up", "--nodes", "1", "--detach").returncode == 0
    operator.run("down")
    assert operator.run("up", "--detach").returncode == 0
    assert [node["node"] for node in operator.status()["nodes"]] == ["n1"]
    operator.run("down")
    other = operator.run("up", "--nodes", "3", "--detach")
    assert other.returncode == 2
    assert other.stderr.startswith("error[nodes_differ]: ")


def test_the_nodes_together_own_every_shard(operator: Operator) -> None:
    """Ready means that no shard is without an owner, and none has two."""
    made = operator.run("up", "--nodes", "2", "--shards", "5", "--detach")
    assert made.returncode == 0
    owned = [shard for node in operator.status()["nodes"] for shard in node["shards"]]
    assert sorted(owned) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(operator: Operator, sign: signal.Signals) -> None:
    """Ctrl-C and SIGTERM are status 0, with every node gone."""
    with operator.start("--nodes", "2") as process:
        process.send_signal(sign)
        assert process.stdout is not None
        assert "stopped" in process.stdout.read().splitlines()
        assert process.wait(PATIENCE_S) == 0
    assert operator.pid("n1") is None


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_node_that_is_ended_comes_back(
    operator: Operator, sign: signal.Signals
) -> None:
    """Killed, or told to stop: another process takes its name and is ready."""
    assert operator.run("up", "--detach").returncode == 0
    killed = operator.pid("n2")
    assert killed
    os.kill(killed, sign)
    wait_until(lambda: operator.pid("n2") not in (None, 0, killed))
    wait_until(lambda: operator.run("status").returncode == 0)


def test_nodes_do_not_outlive_their_parent(operator: Operator) -> None:
    """kill -9 of the parent: its nodes end by themselves, and it can be up again."""
    assert operator.run("up", "--nodes", "2", "--detach").returncode == 0
    parent = operator.pid("up")
    assert parent
    os.kill(parent, signal.SIGKILL)
    wait_until(lambda: not any(operator.pid(name) for name in ("n1", "n2")))
    assert operator.run("up", "--detach").returncode == 0


def test_a_second_parent_is_refused(operator: Operator) -> None:
    """A folder has one parent; the first one does not notice."""
    assert operator.run("up", "--nodes", "1", "--detach").returncode == 0
    for arguments in ([], ["--detach"]):
        second = operator.run("up", *arguments)
        assert second.returncode == 1
        assert second.stderr.startswith("error[already_running]: ")
    assert operator.status()["nodes"][0]["ready"]


def test_a_second_node_of_one_name_is_refused(operator: Operator) -> None:
    """An identity is held by one process at a time."""
    assert operator.run("up", "--nodes", "1", "--detach").returncode == 0
    second = operator.run("node", "--node", "n1")
    assert second.returncode == 1
    assert "error[already_running]: node n1" in second.stderr


def test_a_port_in_use_is_the_reason_why_it_is_never_ready(operator: Operator) -> None:
    """The node's own error reaches who ran `up`, with its code."""
    home = ClusterDir.open(operator.home, nodes=["n1"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with home.config_path.open("a") as file:
            file.write(f'[node]\nlisten = "tcp://127.0.0.1:{port}"\n')
        up = operator.run("up", "--nodes", "1", "--detach")
    assert up.returncode == 1
    assert up.stderr.startswith("error[start_failed]: n1 exited with status 1")
    assert "error[address_unavailable]: " in up.stderr


@pytest.mark.parametrize("arguments", [[], ["--detach"]])
def test_a_folder_that_cannot_be_made_is_a_clear_error(
    operator: Operator, arguments: list[str]
) -> None:
    """In the background as in the foreground: a file stands in the way."""
    blocked = operator.cwd / "file"
    blocked.touch()
    operator.home, home = blocked / "c", operator.home
    up = operator.run("up", *arguments)
    operator.home = home
    assert up.returncode == 2
    assert up.stderr.startswith("error[invalid_cluster_dir]: ")


def test_down_while_it_starts_ends_the_start_with_its_reason(
    operator: Operator,
) -> None:
    """Whoever waits for `up --detach` is told that somebody stopped it."""
    with subprocess.Popen(
        operator.argv("up", "--detach"),
        cwd=operator.cwd,
        env=operator.environ,
        stderr=subprocess.PIPE,
        text=True,
    ) as up:
        wait_until(lambda: operator.pid("n1"))
        assert operator.run("down").returncode == 0
        _, said = up.communicate(timeout=PATIENCE_S)
    assert up.returncode in (0, 1)  # 0: it was ready a moment before
    assert up.returncode == 0 or said.startswith("error[stopped_early]: ")


def test_it_lives_in_a_folder_with_a_long_path(operator: Operator) -> None:
    """The system's limit on a socket's path does not limit the folder's."""
    operator.home = operator.cwd / ("x" * 80) / ("y" * 80)
    assert operator.run("up", "--nodes", "1", "--detach").returncode == 0
    assert operator.run("status").returncode == 0


@pytest.mark.parametrize("loop", ["asyncio", "trio", "uvloop"])
def test_nodes_run_on_every_loop(operator: Operator, loop: str) -> None:
    """The environment reaches the nodes; each loop is a choice."""
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    operator.environ["HOTSEAT_NODE_LOOP"] = loop
    assert operator.run("up", "--nodes", "1", "--detach").returncode == 0


def test_a_game_of_ones_own_is_hosted(operator: Operator) -> None:
    """A module of the current folder is found by the nodes, too."""
    (operator.cwd / "my_nim.py").write_text(OWN_GAME)
    up = operator.run("up", "--nodes", "1", "--detach", "--game", "my_nim:game")
    assert (up.returncode, up.stderr) == (0, "")
    unknown = operator.run("up", "--detach", "--game", "no_such_game_of_mine:game")
    assert unknown.returncode == 1


def test_a_coordinator_file_that_is_taken_away_is_told_and_never_made_anew(
    operator: Operator,
) -> None:
    """Nodes go on and are not ready; one that starts says why it cannot; then back."""
    assert operator.run("up", "--nodes", "2", "--detach").returncode == 0
    file, aside = operator.home / "coordinator.db", operator.home / "aside.db"
    file.rename(aside)
    wait_until(lambda: not any(n["ready"] for n in operator.status()["nodes"]))
    killed = operator.pid("n1")
    assert killed
    os.kill(killed, signal.SIGKILL)
    log = operator.home / "logs" / "n1.log"
    wait_until(lambda: "error[coordinator_file_invalid]: " in log.read_text())
    assert not file.exists()
    aside.rename(file)
    wait_until(lambda: operator.run("status").returncode == 0)
