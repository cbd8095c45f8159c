"""A cluster as on several machines: a folder and a process for each node, and etcd.

Nothing of one node is another's, but the network and the cluster's secret: the nodes
are started one by one, as a service manager does, with `hotseat node`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.operator_error import OperatorError
from tests.nodes.coordinators.etcd_cluster import (
    EtcdProcesses,
    free_port,
    running_etcd,
)

__all__ = ["PROGRAM", "Machine", "Shell", "machines"]

PATIENCE_S = 60.0
PROGRAM = (sys.executable, "-P", "-m", "hotseat.nodes.cli.main")


@dataclass
class Shell:
    """Somebody at a shell, with these variables set."""

    environ: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*PROGRAM, *command],
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S + 30,
            check=False,
        )

    def begin(self, *command: str) -> subprocess.Popen[str]:
        """The same, and it is not waited for."""
        return subprocess.Popen(
            [*PROGRAM, *command],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, *command: str) -> Any:
        """What a command prints as JSON."""
        done = self.run(*command, "--json")
        assert done.stdout, done
        return json.loads(done.stdout)


@dataclass
class Machine(Shell):
    """One of them, with its node."""

    node: str
    place: Path
    etcd: EtcdProcesses
    process: subprocess.Popen[bytes] | None = None

    @property
    def open_door(self) -> str:
        """As somebody on another machine would name it."""
        return self.environ["HOTSEAT_NODE_OPEN_DOOR"].replace("0.0.0.0", "127.0.0.1")

    def start(self) -> None:
        """Start the node; it is not ready yet."""
        with (self.place / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, "node"], env=self.environ, stdout=log, stderr=log
            )

    def wait_ready(self) -> None:
        """As a rolling upgrade does, before it goes on."""
        checked = self.run("node", "check", "--wait", f"{PATIENCE_S:g}")
        assert checked.returncode == 0, (checked, self.log()[-2000:])

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal; the exit status."""
        assert self.process is not None
        self.process.send_signal(sign)
        return self.process.wait(PATIENCE_S)

    def restart(self) -> None:
        """As a service manager does: SIGTERM, and start it again when it has ended."""
        assert self.stop() == 0
        self.start()
        self.wait_ready()

    def log(self) -> str:
        return (self.place / "log").read_text()


@contextmanager
def machines(
    path: Path,
    nodes: Sequence[str] = ("n1", "n2", "n3"),
    *,
    copies: int = 3,
    min_isr: int = 2,
    shards: int = 16,
    open_doors: bool = False,
    **environ: str,
) -> Iterator[list[Machine]]:
    """The machines of a cluster, every node ready; all is ended when this is left."""
    told = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
    config, secret = path / "cluster.toml", path / "secret"
    secret.write_text("5e" * 32)
    secret.chmod(0o400)
    with running_etcd(1) as etcd:
        config.write_text(
            f'[cluster]\nid = "c1"\nshards = {shards}\nnodes = {json.dumps([*nodes])}\n'
            f'copies = {copies}\nmin_isr = {min_isr}\ncoordinator = "{etcd.address}"\n'
        )
        made = []
        for node in nodes:
            place, port = path / node, free_port()
            place.mkdir()
            own = {
                "HOTSEAT_CONFIG": str(config),
                "HOTSEAT_DIR": str(place / "c"),
                "HOTSEAT_NODE_ID": node,
                "HOTSEAT_NODE_SECRET_FILE": str(secret),
                "HOTSEAT_NODE_LISTEN": f"tcp://127.0.0.1:{port}",
                "HOTSEAT_NODE_ADVERTISE": f"tcp://localhost:{port}",
            }
            if open_doors:
                own["HOTSEAT_NODE_OPEN_DOOR"] = f"tcp://0.0.0.0:{free_port()}"
            made.append(Machine(told | own | environ, node, place, etcd))
        try:
            for machine in made:
                machine.start()
            for machine in made:
                machine.wait_ready()
            yield made
        finally:
            for machine in made:
                if machine.process is not None and machine.process.poll() is None:
                    machine.process.kill()
                    machine.process.wait()
                with suppress(OperatorError):  # its folder may not have been made
                    ClusterDir.load(machine.place / "c").remove_sockets()
