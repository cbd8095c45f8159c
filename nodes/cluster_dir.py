"""A cluster's folder: where everything of it on this machine lies, who may read it.

    DIR/                    0700
      cluster.toml          the cluster's id and shards; options for its nodes
      secret                0600: 32 random bytes in hex, the proof of membership;
                            or elsewhere, as cluster.toml says
      token-keys.json       0600: the keys of players' tokens, where a gateway runs
      coordinator.db        membership, ownership, epochs; not with etcd
      sockets/              0700: the nodes' doors for commands
      logs/                 what the nodes and their parent write
      run/                  one pid file for each process that runs
      nodes/<id>/           0700: a node's journal, its copies of matches

A path to a socket is limited to about 100 bytes by the system. Where DIR is too long
for that, `sockets` is a link to a short folder of its own in the temporary folder.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .coordinators.sqlite_file import CoordinatorFile
from .exit_codes import ExitCode
from .operator_error import OperatorError
from .redundancy import DEFAULT, Redundancy

__all__ = ["SECRET_BYTES", "ClusterDir", "make_folders", "natural_order"]

SECRET_BYTES = 32

SOCKET_PATH_BYTES_MAX = 100
"""sun_path holds 108 bytes on Linux and 104 on macOS, the closing zero included."""

LONGEST_SOCKET_NAME = "n" * 32 + ".door"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Drawn by the kernel when the machine starts."""

COORDINATOR_BUSY_S = 5.0
"""How long the making of the coordinator's file may wait for who looks at it."""

SHARDS = 16
"""Of a new local cluster. Enough to spread over the nodes of one machine."""

NODES = ("n1", "n2", "n3")
"""Of a new local cluster."""

CLUSTER_TOML = """\
# Written by `hotseat up`. Options of the nodes may be added below: every one of
# them is shown, with its default, in config/default.toml of the distribution.

[cluster] # the identity of this cluster: never changes
id = "{id}"
shards = {shards}
nodes = {nodes}
copies = {copies}
min_isr = {min_isr}
durability = {durability}
"""

COORDINATOR_TOML = "coordinator = {address}\n"


@dataclass(frozen=True, slots=True)
class ClusterDir:
    """A cluster's folder, as it was found. Paths are absolute."""

    path: Path
    cluster: str
    shards: int
    nodes: tuple[str, ...] = ()
    coordinator: str | None = None
    redundancy: Redundancy = DEFAULT
    secret_file: Path | None = None
    """Where the secret is, if it is not in the folder."""

    @classmethod
    def load(cls, path: Path) -> ClusterDir:
        """Open an existing folder.

        Raises:
            OperatorError: no_cluster (nothing there), invalid_cluster_dir.
        """
        path = path.absolute()
        file = path / "cluster.toml"
        try:
            tables = tomllib.loads(file.read_text("utf-8"))
            table = tables.get("cluster", {})
            secret = tables.get("node", {}).get("secret_file")
            cluster, shards = table.get("id"), table.get("shards", 256)
            nodes = tuple(table.get("nodes", ()))
            coordinator = table.get("coordinator")
            redundancy = Redundancy(
                table.get("copies", DEFAULT.copies),
                table.get("min_isr", DEFAULT.min_isr),
                table.get("durability", DEFAULT.durability),
            )
        except FileNotFoundError:
            raise OperatorError(
                "no_cluster",
                f"there is no cluster in {path}",
                hint=f"hotseat up --dir {path}",
                exit_code=ExitCode.UNREACHABLE,
            ) from None
        except (OSError, ValueError, AttributeError) as error:
            raise _invalid(f"{file} cannot be read: {error}") from error
        if not isinstance(cluster, str) or not isinstance(shards, int):
            raise _invalid(f"{file} does not say the cluster's id and shards")
        secret_file = None if secret is None else path / secret
        return cls(path, cluster, shards, nodes, coordinator, redundancy, secret_file)

    @classmethod
    def open(
        cls,
        path: Path,
        shards: int | None = None,
        nodes: Sequence[str] = (),
        coordinator: str | None = None,
        redundancy: Redundancy | None = None,
    ) -> ClusterDir:
        """Open the folder, or create a new cluster in it; an identity is kept.

        `shards` is for a new cluster, and so are the `nodes` that its shards are laid
        out on, the `coordinator` (None: a file in the folder) and the `redundancy`;
        for an old one they must agree, where given.

        Raises:
            OperatorError: shards_differ, nodes_differ, coordinator_differs,
                redundancy_differs, too_few_copies, invalid_cluster_dir.
        """
        path = path.absolute()
        asked = redundancy or Redundancy()
        make_folders(path)
        try:
            if not (path / "cluster.toml").exists():
                path.chmod(PRIVATE_FOLDER)
                names = nodes or NODES
                wanted = asked.filled(len(names))
                _create(path, shards or SHARDS, names, coordinator, wanted)
            found = cls.load(path)
            found.make_sockets_folder()
        except OSError as error:
            raise _invalid(f"{path} cannot be set up: {error}") from error
        found._agree(shards, nodes, coordinator, asked)
        return found

    def _agree(
        self,
        shards: int | None,
        nodes: Sequence[str],
        coordinator: str | None,
        asked: Redundancy,
    ) -> None:
        """
        Raises:
            OperatorError: What was asked for is not what is there.
        """
        path = self.path
        if shards is not None and shards != self.shards:
            raise OperatorError(
                "shards_differ",
                f"the cluster in {path} has {self.shards} shards, not {shards}: "
                "their number is fixed when a cluster is created",
                hint="leave --shards out, or start another cluster with another --dir",
                exit_code=ExitCode.USAGE,
            )
        if nodes and self.nodes and set(nodes) != set(self.nodes):
            raise OperatorError(
                "nodes_differ",
                f"the cluster in {path} is laid out on {', '.join(self.nodes)}, "
                f"not on {', '.join(nodes)}",
                hint=f"--nodes {len(self.nodes)}, or another cluster with another "
                "--dir",
                exit_code=ExitCode.USAGE,
            )
        if coordinator is not None and coordinator != self.coordinator:
            raise OperatorError(
                "coordinator_differs",
                f"the cluster in {path} has its coordinator in"
                f" {self.coordinator or 'its folder'}, not in {coordinator}",
                hint="if that etcd has other addresses now, write them into"
                f" {self.config_path}; else start another cluster with another --dir",
                exit_code=ExitCode.USAGE,
            )
        for name in Redundancy.__slots__:
            wanted, there = getattr(asked, name), getattr(self.redundancy, name)
            if wanted is not None and wanted != there:
                raise OperatorError(
                    "redundancy_differs",
                    f"the cluster in {path} was created with {name} = {there}, not"
                    f" {wanted}",
                    hint="leave the flag out, or start another cluster with another"
                    " --dir",
                    exit_code=ExitCode.USAGE,
                )

    @property
    def config_path(self) -> Path:
        return self.path / "cluster.toml"

    @property
    def secret_path(self) -> Path:
        return self.secret_file or self.path / "secret"

    @property
    def token_keys_path(self) -> Path:
        """The keys that sign players' tokens. A gateway makes them when it starts."""
        return self.path / "token-keys.json"

    @property
    def coordinator_path(self) -> Path:
        return self.path / "coordinator.db"

    @property
    def sockets_path(self) -> Path:
        """The folder of the sockets themselves, through the link if there is one."""
        path = self.path / "sockets"
        return path.readlink() if path.is_symlink() else path

    def door(self, node: str) -> str:
        """Where a node of this cluster listens for commands."""
        return f"ipc://{self.sockets_path / node}.door"

    def log_path(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def pid_path(self, name: str) -> Path:
        return self.path / "run" / f"{name}.pid"

    def gateway_pid_path(self, name: str) -> Path:
        """A gateway's; not beside the nodes' by name, since it is none."""
        return self.path / "run" / f"{name}.gateway"

    def gateway_url_path(self, name: str) -> Path:
        """Where a running gateway says at which URL of this machine it listens."""
        return self.path / "run" / f"{name}.url"

    def bots_pid_path(self, name: str) -> Path:
        """A bots process's; not beside the nodes' by name, since it is none."""
        return self.path / "run" / f"{name}.bots"

    def bots_ready_path(self, name: str) -> Path:
        """Where a bots process that is ready says so, with its pid."""
        return self.path / "run" / f"{name}.ready"

    def node_path(self, name: str) -> Path:
        """Where a node keeps what must outlive its process."""
        return self.path / "nodes" / name

    def place(self) -> str:
        """Names this very folder, on this machine since it was started.

        Who holds a node's pid file in it may take any other process that held it for
        dead. "": the system does not tell one machine from another.
        """
        try:
            machine = BOOT_ID.read_text("ascii").strip()
        except OSError:
            return ""
        found = self.path.stat()
        return f"{machine}/{found.st_dev}/{found.st_ino}"

    def make_node_folder(self, name: str) -> Path:
        """Make `node_path` if it is not there, closed to others.

        Raises:
            OperatorError: invalid_cluster_dir.
        """
        path = self.node_path(name)
        try:
            for folder in (path.parent, path):
                folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
                folder.chmod(PRIVATE_FOLDER)
        except OSError as error:
            raise _invalid(f"{path} cannot be made: {error.strerror}") from error
        return path

    def node_names(self) -> tuple[str, ...]:
        """The nodes that run, or ran last, in natural order."""
        names = (path.stem for path in (self.path / "run").glob("*.pid"))
        return tuple(sorted((n for n in names if n != "up"), key=natural_order))

    def secret(self) -> bytes:
        """Read the cluster's secret.

        Raises:
            OperatorError: no_secret, secret_exposed (others may read it).
        """
        path = self.secret_path
        try:
            mode = path.stat()
            text = path.read_text("ascii")
            secret = bytes.fromhex(text)
        except (OSError, ValueError) as error:
            raise OperatorError(
                "no_secret",
                f"the cluster's secret {path} cannot be read: {error}",
                exit_code=ExitCode.USAGE,
            ) from error
        if not self._is_kept(mode):
            raise OperatorError(
                "secret_exposed",
                f"others may read the cluster's secret {path}",
                hint=f"chmod 400 {path}, and make a new one if somebody may have",
                exit_code=ExitCode.USAGE,
            )
        if len(secret) != SECRET_BYTES:
            raise OperatorError(
                "no_secret",
                f"the cluster's secret {path} has {len(secret)} bytes, not 32",
                exit_code=ExitCode.USAGE,
            )
        return secret

    def _is_kept(self, file: os.stat_result) -> bool:
        """Whether nobody else reads the secret.

        What root hands to a service from elsewhere may be readable to a group that
        root chose: that is how Kubernetes and systemd do it.
        """
        group = 0o040 if self.secret_file is not None and file.st_uid == 0 else 0
        exposed = stat.S_IMODE(file.st_mode) & 0o077 & ~group
        return not exposed and file.st_uid in (0, os.geteuid())

    def remove_sockets(self) -> None:
        """Tidy up after the last node: no socket and no folder outside is left."""
        folder = self.sockets_path
        if (self.path / "sockets").is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
            (self.path / "sockets").unlink()
        elif folder.is_dir():
            for socket in folder.glob("*.door"):
                socket.unlink(missing_ok=True)

    def make_sockets_folder(self) -> None:
        """Make it if it is not there, closed to others."""
        path = self.path / "sockets"
        if path.is_symlink() and not _is_private(path.readlink()):
            path.unlink()  # the temporary folder was emptied, or is not ours
        if path.is_symlink():
            return
        if len(os.fsencode(path / LONGEST_SOCKET_NAME)) > SOCKET_PATH_BYTES_MAX:
            if path.is_dir():
                path.rmdir()
            path.symlink_to(tempfile.mkdtemp(prefix="hotseat-"))
        else:
            path.mkdir(PRIVATE_FOLDER, exist_ok=True)
            path.chmod(PRIVATE_FOLDER)


def make_folders(path: Path) -> None:
    """Make a cluster's folder, with room for logs and pid files.

    Raises:
        OperatorError: invalid_cluster_dir.
    """
    try:
        path.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        for name in ("logs", "run"):
            (path / name).mkdir(PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise _invalid(f"{path} cannot be made: {error.strerror}") from error


def _create(
    path: Path,
    shards: int,
    nodes: Sequence[str],
    coordinator: str | None,
    redundancy: Redundancy,
) -> None:
    """Write cluster.toml last: where it is, the cluster is whole.

    The coordinator's file is made here and never again: a node that finds none would
    count epochs anew, beside nodes that go on with the old ones.
    """
    secret = path / "secret"
    if not secret.exists():
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(secret, flags, PRIVATE_FILE), "w") as file:
            file.write(secrets.token_hex(SECRET_BYTES))
    if coordinator is None:
        file_path = path / "coordinator.db"
        CoordinatorFile.open(file_path, busy_s=COORDINATOR_BUSY_S).close()
    draft = path / "cluster.toml.new"
    text = CLUSTER_TOML.format(
        id=secrets.token_hex(6),
        shards=shards,
        nodes=json.dumps([*nodes]),
        copies=redundancy.copies,
        min_isr=redundancy.min_isr,
        durability=json.dumps(redundancy.durability),
    )
    if coordinator is not None:
        text += COORDINATOR_TOML.format(address=json.dumps(coordinator))
    draft.write_text(text)
    draft.replace(path / "cluster.toml")


def _is_private(folder: Path) -> bool:
    try:
        mode = folder.lstat()
    except OSError:
        return False
    private = stat.S_IMODE(mode.st_mode) == PRIVATE_FOLDER
    return stat.S_ISDIR(mode.st_mode) and private and mode.st_uid == os.geteuid()


def natural_order(name: str) -> tuple[str, int]:
    """n2 before n10."""
    match = re.fullmatch(r"(.*?)(\d*)", name)
    assert match is not None
    return match[1], int(match[2] or 0)


def _invalid(message: str) -> OperatorError:
    return OperatorError("invalid_cluster_dir", message, exit_code=ExitCode.USAGE)
