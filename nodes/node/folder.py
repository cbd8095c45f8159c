"""The folder of a node that is started by itself, made out of its configuration.

`hotseat up` makes the folder of a cluster on one machine. A node that is a service of
its own, or runs in a container, is told who its cluster is by its own configuration:
then its folder comes from here. `cluster.toml` in it is a copy, for the commands of
operators on that machine, and is written anew at each start. Only a coordinator that
many machines reach may be used: the file of a local cluster is made once, with it.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ...config import Config
from ..cluster_dir import PRIVATE_FOLDER, ClusterDir, make_folders
from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = ["config_files", "folder_of", "lay_folder", "tells_cluster"]

MARK = "# Written by `hotseat node` at each start, out of its configuration."

CLUSTER_ID = "HOTSEAT_CLUSTER_ID"


def tells_cluster(file: Path | None, environ: Mapping[str, str]) -> bool:
    """Whether a node's own configuration says which cluster it belongs to.

    A file that cannot be read tells nothing here; reading it as a configuration says
    what is wrong with it.
    """
    if environ.get(CLUSTER_ID):
        return True
    if file is None:
        return False
    try:
        cluster = tomllib.loads(file.read_text("utf-8")).get("cluster")
    except (OSError, ValueError):
        return False
    return isinstance(cluster, dict) and "id" in cluster


def config_files(
    path: Path, file: Path | None, environ: Mapping[str, str]
) -> list[Path]:
    """The files that a node in folder `path`, which is told `file`, is to read.

    Raises:
        OperatorError: no_cluster, invalid_cluster_dir: nothing says which cluster.
    """
    more = [] if file is None else [file]
    there = path / "cluster.toml"
    if tells_cluster(file, environ) and (_is_laid(there) or not there.exists()):
        return more
    ClusterDir.load(path)
    return [there, *more]


def lay_folder(config: Config) -> ClusterDir:
    """Make the node's folder, or bring it up to date.

    A folder that `hotseat up` made is used as it is.

    Raises:
        OperatorError: cluster_differs (the folder is another cluster's),
            no_coordinator, invalid_cluster_dir.
    """
    path = config.node.dir.absolute()
    file = path / "cluster.toml"
    if not _is_laid(file) and file.exists():
        home = ClusterDir.load(path)
        _check_same(config, home)
        return folder_of(config)
    if config.cluster.coordinator is None:
        raise OperatorError(
            "no_coordinator",
            "a node that is started by itself needs a coordinator for all machines",
            hint="set cluster.coordinator = etcd://HOST:PORT,... ; for one machine "
            "without etcd there is hotseat up",
            exit_code=ExitCode.USAGE,
        )
    if file.exists():
        _check_same(config, ClusterDir.load(path))
    make_folders(path)
    try:
        path.chmod(PRIVATE_FOLDER)
        draft = path / "cluster.toml.new"
        draft.write_text(_text(config))
        draft.replace(file)
        home = ClusterDir.load(path)
        home.make_sockets_folder()
    except OSError as error:
        raise OperatorError(
            "invalid_cluster_dir",
            f"{path} cannot be set up: {error}",
            exit_code=ExitCode.USAGE,
        ) from error
    return home


def folder_of(config: Config) -> ClusterDir:
    """The folder that a node's configuration names, with the secret it names.

    Raises:
        OperatorError: no_cluster, invalid_cluster_dir.
    """
    home = ClusterDir.load(config.node.dir)
    secret = config.node.secret_file
    if secret is None:
        return home
    return dataclasses.replace(home, secret_file=secret.absolute())


def _is_laid(file: Path) -> bool:
    try:
        with file.open("r", encoding="utf-8") as text:
            return text.readline().rstrip("\n") == MARK
    except (OSError, ValueError):
        return False


def _check_same(config: Config, home: ClusterDir) -> None:
    if home.cluster != config.cluster.id:
        raise OperatorError(
            "cluster_differs",
            f"{home.path} belongs to cluster {home.cluster}, not {config.cluster.id}",
            hint="name another folder (HOTSEAT_DIR), or put this one aside",
            exit_code=ExitCode.USAGE,
        )


def _text(config: Config) -> str:
    """The cluster as TOML: its strings and lists are written as in JSON."""
    cluster, node = config.cluster, config.node
    values = {
        "id": cluster.id,
        "shards": cluster.shards,
        "nodes": list(cluster.nodes),
        "copies": cluster.copies,
        "min_isr": cluster.min_isr,
        "durability": cluster.durability,
        "coordinator": cluster.coordinator,
    }
    lines = [MARK, "", "[cluster]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    lines += ["", "[node]", f"id = {json.dumps(node.id)}"]
    if node.secret_file is not None:
        secret = str(node.secret_file.absolute())
        lines.append(f"secret_file = {json.dumps(secret)}")
    return "\n".join(lines) + "\n"
