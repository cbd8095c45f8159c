"""A cluster's folder: created once, kept, and closed to others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.exit_codes import ExitCode
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.redundancy import Redundancy


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_private_and_has_an_identity(tmp_path: Path) -> None:
    """Only the owner can enter the folder and read the secret."""
    folder = ClusterDir.open(tmp_path / "a", 16)
    assert mode(folder.path) == 0o700
    assert mode(folder.secret_path) == 0o600
    assert mode(folder.sockets_path) == 0o700
    assert len(folder.secret()) == 32
    assert folder.shards == 16
    assert folder.cluster


def test_opening_again_keeps_the_identity(tmp_path: Path) -> None:
    """A restart is the same cluster, with the same secret."""
    first = ClusterDir.open(tmp_path, 16)
    second = ClusterDir.open(tmp_path)
    assert second == first == ClusterDir.load(tmp_path)
    assert second.secret() == first.secret()


def test_two_clusters_share_neither_id_nor_secret(tmp_path: Path) -> None:
    """Identities are drawn at random."""
    one, two = ClusterDir.open(tmp_path / "a"), ClusterDir.open(tmp_path / "b")
    assert one.cluster != two.cluster
    assert one.secret() != two.secret()


def test_a_secret_may_be_kept_elsewhere(tmp_path: Path) -> None:
    """Root may let the group of a service read what it hands over; nobody else may."""
    ClusterDir.open(tmp_path / "a")
    handed = tmp_path / "handed"
    handed.write_text("ab" * 32 + "\n")
    with (tmp_path / "a" / "cluster.toml").open("a") as file:
        file.write(f'[node]\nsecret_file = "{handed}"\n')
    folder = ClusterDir.load(tmp_path / "a")
    for allowed in (0o400, 0o600):
        handed.chmod(allowed)
        assert folder.secret() == bytes.fromhex("ab" * 32)
    for refused in (0o404, 0o444, 0o460):
        handed.chmod(refused)
        with pytest.raises(OperatorError) as caught:
            folder.secret()
        assert caught.value.code == "secret_exposed"
    handed.chmod(0o440)
    if os.geteuid() == 0:
        assert folder.secret()
        os.chown(handed, 12345, -1)
    with pytest.raises(OperatorError) as caught:
        folder.secret()
    assert caught.value.code == "secret_exposed"


def test_another_number_of_shards_is_refused(tmp_path: Path) -> None:
    """The number of shards is fixed when the cluster is created."""
    ClusterDir.open(tmp_path, 16)
    with pytest.raises(OperatorError) as caught:
        ClusterDir.open(tmp_path, 32)
    assert caught.value.code == "shards_differ"
    assert "16 shards, not 32" in caught.value.message


def test_copies_are_written_down_and_kept(tmp_path: Path) -> None:
    """What was asked for at the start is so for good, and another wish is refused."""
    ClusterDir.open(tmp_path, redundancy=Redundancy(3, 2, "memory"))
    assert ClusterDir.load(tmp_path).redundancy == Redundancy(3, 2, "memory")
    with pytest.raises(OperatorError) as caught:
        ClusterDir.open(tmp_path, redundancy=Redundancy(durability="disk"))
    assert caught.value.code == "redundancy_differs"
    assert "durability = memory, not disk" in caught.value.message


def test_a_new_cluster_has_as_many_copies_as_its_nodes_can_hold(tmp_path: Path) -> None:
    """Two if there are two nodes; more in sync than there can be are refused."""
    two = ClusterDir.open(tmp_path / "two", nodes=["n1", "n2"])
    one = ClusterDir.open(tmp_path / "one", nodes=["n1"])
    assert two.redundancy == Redundancy(2, 1, "disk")
    assert one.redundancy == Redundancy(1, 1, "disk")
    with pytest.raises(OperatorError) as caught:
        ClusterDir.open(tmp_path / "x", nodes=["n1", "n2"], redundancy=Redundancy(3, 3))
    assert caught.value.code == "too_few_copies"
    assert not (tmp_path / "x" / "cluster.toml").exists()


def test_a_nodes_folder_is_its_owners_alone(tmp_path: Path) -> None:
    """Journals hold every player's secrets."""
    home = ClusterDir.open(tmp_path / "c")
    path = home.make_node_folder("n1")
    assert path == home.path / "nodes" / "n1"
    assert mode(path) == mode(path.parent) == 0o700


def test_no_cluster_says_how_to_start_one(tmp_path: Path) -> None:
    """A folder without a cluster is an error of its own."""
    with pytest.raises(OperatorError) as caught:
        ClusterDir.load(tmp_path)
    assert caught.value.code == "no_cluster"
    assert caught.value.exit_code == ExitCode.UNREACHABLE
    assert "hotseat up" in caught.value.hint


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """A leak is noticed before the secret is used."""
    folder = ClusterDir.open(tmp_path)
    folder.secret_path.chmod(0o640)
    with pytest.raises(OperatorError) as caught:
        folder.secret()
    assert caught.value.code == "secret_exposed"


@pytest.mark.parametrize("text", ["", "zz", "abcd"])
def test_a_damaged_secret_is_refused(tmp_path: Path, text: str) -> None:
    """A secret is 32 bytes in hex, nothing else; its text is not shown."""
    folder = ClusterDir.open(tmp_path)
    folder.secret_path.write_text(text)
    with pytest.raises(OperatorError) as caught:
        folder.secret()
    assert caught.value.code == "no_secret"


@pytest.mark.parametrize("text", ["[cluster", "cluster = 3", "[cluster]\nid = 4"])
def test_a_damaged_cluster_file_is_one_clear_error(tmp_path: Path, text: str) -> None:
    """Whatever is in cluster.toml, there is no traceback."""
    (tmp_path / "cluster.toml").write_text(text)
    with pytest.raises(OperatorError) as caught:
        ClusterDir.load(tmp_path)
    assert caught.value.code == "invalid_cluster_dir"


def test_a_long_path_puts_the_sockets_into_a_short_private_folder(
    tmp_path: Path,
) -> None:
    """A socket's path stays within what the system allows, and is found again."""
    folder = ClusterDir.open(tmp_path / ("x" * 80) / ("y" * 80))
    door = folder.door("n1")
    assert len(door.removeprefix("ipc://")) <= 100
    assert mode(folder.sockets_path) == 0o700
    assert ClusterDir.open(folder.path).door("n1") == door
    assert ClusterDir.load(folder.path).door("n1") == door
    outside = folder.sockets_path
    folder.remove_sockets()
    assert not outside.exists()


def test_a_short_folder_that_vanished_is_made_anew(tmp_path: Path) -> None:
    """The temporary folder may be emptied between two runs."""
    folder = ClusterDir.open(tmp_path / ("x" * 80) / ("y" * 80))
    folder.sockets_path.rmdir()
    again = ClusterDir.open(folder.path)
    assert mode(again.sockets_path) == 0o700
    again.remove_sockets()
