"""A node that is started by itself makes its folder, as its configuration says."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hotseat.config import Config, load_config
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.node.folder import (
    config_files,
    folder_of,
    lay_folder,
    tells_cluster,
)
from hotseat.nodes.operator_error import OperatorError

TEXT = """
[cluster]
id = "c1"
shards = 8
nodes = ["n1", "n2", "n3"]
copies = 3
min_isr = 2
coordinator = "etcd://a:2379,b:2379"
[link]
peers_max = 99
"""

Told = Callable[..., Config]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "told.toml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def told(tmp_path: Path, file: Path) -> Told:
    def config(text: str = TEXT, **environ: str) -> Config:
        file.write_text(text)
        path = tmp_path / "home"
        return load_config(
            files=config_files(path, file, environ),
            environ=environ,
            flags={"--dir": ("node.dir", str(path)), "--node": ("node.id", "n2")},
        )

    return config


def test_the_folder_is_made_and_closed_to_others(told: Told, tmp_path: Path) -> None:
    """Operators' commands on that machine find all that they need in it."""
    secret = tmp_path / "secret"
    secret.write_text("cd" * 32)
    secret.chmod(0o400)
    home = lay_folder(told(HOTSEAT_NODE_SECRET_FILE=str(secret)))
    assert home == ClusterDir.load(tmp_path / "home")
    assert (home.cluster, home.shards, home.nodes) == ("c1", 8, ("n1", "n2", "n3"))
    assert (home.redundancy.copies, home.redundancy.min_isr) == (3, 2)
    assert home.coordinator == "etcd://a:2379,b:2379"
    assert home.secret() == bytes.fromhex("cd" * 32)
    for path in (home.path, home.sockets_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert not home.coordinator_path.exists()


def test_what_the_node_is_told_later_counts(told: Told, tmp_path: Path) -> None:
    """The folder has a copy, and no opinion: members of etcd may move."""
    lay_folder(told())
    config = told(TEXT.replace("a:2379", "c:2379").replace("99", "98"))
    assert config.link.peers_max == 98
    assert lay_folder(config).coordinator == "etcd://c:2379,b:2379"


def test_the_copy_alone_says_who_the_cluster_is(told: Told, tmp_path: Path) -> None:
    """A command that is not told the node's file reads it in the folder."""
    lay_folder(told())
    path = tmp_path / "home"
    assert config_files(path, None, {}) == [path / "cluster.toml"]
    config = load_config(
        files=config_files(path, None, {}), flags={"--dir": ("node.dir", str(path))}
    )
    assert (config.cluster.id, config.node.id) == ("c1", "n2")


def test_the_folder_of_another_cluster_is_refused(told: Told) -> None:
    """A volume that was mixed up does not join."""
    lay_folder(told())
    with pytest.raises(OperatorError) as caught:
        lay_folder(told(TEXT.replace("c1", "c2")))
    assert caught.value.code == "cluster_differs"
    assert "cluster c1, not c2" in caught.value.message


def test_a_folder_of_a_local_cluster_is_used_as_it_is(
    told: Told, tmp_path: Path, file: Path
) -> None:
    """What `hotseat up` made is not written over; another cluster's is refused."""
    path = tmp_path / "home"
    made = ClusterDir.open(path, 8, ["n1", "n2", "n3"])
    before = made.config_path.read_text()
    assert config_files(path, file, {}) == [made.config_path, file]
    with pytest.raises(OperatorError) as caught:
        lay_folder(told())
    assert caught.value.code == "cluster_differs"
    assert lay_folder(told(TEXT.replace("c1", made.cluster))) == made
    assert made.config_path.read_text() == before


def test_without_a_coordinator_no_folder_is_made(told: Told, tmp_path: Path) -> None:
    """A file of its own would make each node a cluster of one."""
    lines = [line for line in TEXT.splitlines() if "etcd" not in line]
    with pytest.raises(OperatorError) as caught:
        lay_folder(told("\n".join(lines)))
    assert caught.value.code == "no_coordinator"
    assert not (tmp_path / "home").exists()


def test_who_says_which_cluster_it_is(tmp_path: Path, file: Path) -> None:
    """A file with an id, or a variable; a file of other options does not."""
    assert tells_cluster(file, {})
    assert tells_cluster(None, {"HOTSEAT_CLUSTER_ID": "c1"})
    file.write_text("[link]\npeers_max = 9\n")
    assert not tells_cluster(file, {})
    assert not tells_cluster(tmp_path / "none.toml", {})
    assert not tells_cluster(None, {})
    with pytest.raises(OperatorError) as caught:
        config_files(tmp_path / "home", file, {})
    assert caught.value.code == "no_cluster"


def test_a_secret_that_is_named_counts_in_any_folder(
    told: Told, tmp_path: Path
) -> None:
    """Also in one that a local cluster made."""
    made = ClusterDir.open(tmp_path / "home", 8, ["n1"])
    text = TEXT.replace("c1", made.cluster)
    config = told(text, HOTSEAT_NODE_SECRET_FILE="/run/s")
    assert folder_of(config).secret_path == Path("/run/s")
    assert folder_of(told(text)).secret_path == made.secret_path
