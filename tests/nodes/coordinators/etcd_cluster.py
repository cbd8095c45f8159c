"""Real etcd processes on loopback, for tests: one, or a cluster of several.

Where there is no etcd, tests are skipped with a reason; where CI is set they fail.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["EtcdProcesses", "free_port", "needs_etcd", "running_etcd"]

START_S = 20.0

needs_etcd = pytest.mark.skipif(
    shutil.which("etcd") is None and not os.environ.get("CI"),
    reason="there is no etcd here: apt-get install etcd-server (in CI it must be)",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class EtcdProcesses:
    """The members of one etcd cluster."""

    def __init__(self, folder: Path, members: int) -> None:
        self.ports = [free_port() for _ in range(members)]
        peers = [free_port() for _ in range(members)]
        together = ",".join(f"m{n}=http://127.0.0.1:{p}" for n, p in enumerate(peers))
        self._folder = folder
        self._argv = [
            [
                "etcd",
                f"--name=m{n}",
                f"--data-dir={folder}/m{n}",
                f"--listen-client-urls=http://127.0.0.1:{port}",
                f"--advertise-client-urls=http://127.0.0.1:{port}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-cluster={together}",
                f"--initial-cluster-token={folder.name}",
                "--heartbeat-interval=50",
                "--election-timeout=500",
                "--log-level=error",
            ]
            for n, (port, peer) in enumerate(zip(self.ports, peers, strict=True))
        ]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return "etcd://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start(self, member: int) -> None:
        """Also a second time, with what it had."""
        with (self._folder / f"m{member}.log").open("ab") as log:
            self._processes[member] = subprocess.Popen(
                self._argv[member], stdout=log, stderr=log
            )

    def signal(self, member: int, number: signal.Signals) -> None:
        self._processes[member].send_signal(number)
        if number == signal.SIGKILL:
            self._processes[member].wait()

    def empty(self, member: int) -> None:
        """Kill it, and let it forget all it had."""
        self.signal(member, signal.SIGKILL)
        shutil.rmtree(self._folder / f"m{member}")

    def save(self, file: Path) -> None:
        """A backup, as operators make it."""
        at = f"--endpoints=127.0.0.1:{self.ports[0]}"
        self._etcdctl(at, "snapshot", "save", str(file))

    def restore(self, file: Path) -> None:
        """The only member begins anew, with what was saved."""
        assert len(self._argv) == 1
        self.empty(0)
        told = ("--name=", "--data-dir=", "--initial-")
        flags = [flag for flag in self._argv[0] if flag.startswith(told)]
        self._etcdctl("snapshot", "restore", str(file), *flags)
        self.start(0)
        self.wait_until()

    def _etcdctl(self, *arguments: str) -> None:
        subprocess.run(
            ["etcdctl", *arguments],
            check=True,
            capture_output=True,
            timeout=60,
            env={**os.environ, "ETCDCTL_API": "3"},
        )

    def leader(self) -> int:
        """The member that leads, as one that lives says."""
        for member, process in self._processes.items():
            if process.poll() is None:
                said = self.ask("/v3/maintenance/status", {}, member)
                leader = said.get("leader")
                break
        for member, process in self._processes.items():
            if process.poll() is None:
                said = self.ask("/v3/maintenance/status", {}, member)
                if said["header"]["member_id"] == leader:
                    return member
        raise AssertionError("there is no leader")

    def ask(self, path: str, body: dict[str, Any], member: int = 0) -> dict[str, Any]:
        """Call a member without any code of ours."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[member]}{path}", json.dumps(body).encode()
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            said: dict[str, Any] = json.load(response)
            return said

    def wipe(self) -> None:
        """Forget all keys, so that the next test finds it as new."""
        everything = {"key": "AA==", "range_end": "AA=="}
        self.ask("/v3/kv/deleterange", everything)

    def wait_until(self) -> None:
        """Until every member that was started answers with a quorum behind it."""
        deadline = time.monotonic() + START_S
        waiting = set(self._processes)
        while waiting:
            waiting = {member for member in waiting if not self._answers(member)}
            logs = [(self._folder / f"m{n}.log").read_text() for n in waiting]
            assert time.monotonic() < deadline, logs
            time.sleep(0.02)

    def _answers(self, member: int) -> bool:
        assert self._processes[member].poll() is None, f"member {member} died"
        try:
            self.ask("/v3/kv/range", {"key": "AA=="}, member)
        except OSError:
            return False
        return True

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


@contextmanager
def running_etcd(members: int) -> Iterator[EtcdProcesses]:
    """So many members, ready. Their data lies in memory, where that can be."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hotseat-etcd-", dir=place) as folder:
        etcd = EtcdProcesses(Path(folder), members)
        try:
            for member in range(members):
                etcd.start(member)
            etcd.wait_until()
            yield etcd
        finally:
            etcd.stop()
