"""Loading a configuration: precedence, types, and every fault at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hotseat import config as config_package
from hotseat.config import Config, ConfigError, Fault, load_config
from hotseat.config.layer import leaves

IDENTITY = {"--node": ("node.id", "n1"), "--dir": ("node.dir", "/srv/a")}


def write(folder: Path, text: str, name: str = "cluster.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def faults_of(
    *files: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, tuple[str, object]] | None = None,
) -> tuple[Fault, ...]:
    with pytest.raises(ConfigError) as caught:
        load_config(files=files, environ=environ, flags=flags)
    return caught.value.faults


def test_flags_win_over_environment_which_wins_over_files(tmp_path: Path) -> None:
    """Precedence rises from the first file to the flags, key by key."""
    first = write(
        tmp_path,
        '[cluster]\nid = "abc"\nshards = 16\n'
        '[node]\nloop = "trio"\nlisten = "tcp://127.0.0.1:1"\nstop_grace_s = 1.0\n',
    )
    second = write(tmp_path, '[node]\nlisten = "tcp://127.0.0.1:2"\n', "more.toml")
    config = load_config(
        files=[first, second],
        environ={"HOTSEAT_NODE_LOOP": "asyncio", "HOTSEAT_NODE_STOP_GRACE_S": "2"},
        flags={**IDENTITY, "--loop": ("node.loop", "uvloop")},
    )
    assert config.cluster.shards == 16
    assert config.node.listen == "tcp://127.0.0.1:2"
    assert config.node.stop_grace_s == 2.0
    assert config.node.loop == "uvloop"


def test_values_of_the_environment_take_the_type_of_their_option() -> None:
    """Numbers and comma-separated lists are read from text."""
    config = load_config(
        environ={
            "HOTSEAT_CLUSTER_ID": "abc",
            "HOTSEAT_CLUSTER_SHARDS": "32",
            "HOTSEAT_NODE_GAMES": "chess:game, go:game",
            "PATH": "/bin",
        },
        flags=IDENTITY,
    )
    assert config.cluster.shards == 32
    assert config.node.games == ("chess:game", "go:game")


def test_three_faults_are_reported_together_each_with_its_source(
    tmp_path: Path,
) -> None:
    """A fault names its file key, variable or flag, what was expected and got."""
    file = write(tmp_path, '[cluster]\nid = "abc"\nshards = "many"\n')
    faults = faults_of(
        file,
        environ={"HOTSEAT_NODE_STOP_GRACE_S": "-1"},
        flags={**IDENTITY, "--loop": ("node.loop", "twisted")},
    )
    assert {str(fault) for fault in faults} == {
        f"cluster.shards in {file}: expected a whole number, got 'many'",
        "HOTSEAT_NODE_STOP_GRACE_S: expected more than 0.0, got '-1'",
        "--loop: expected one of 'auto', 'asyncio', 'uvloop' or 'trio', got 'twisted'",
    }
    assert {fault.code for fault in faults} == {"invalid_value"}


def test_a_misspelt_key_is_a_fault_that_names_the_nearest(tmp_path: Path) -> None:
    """Unknown keys, tables and variables are refused, with a guess."""
    file = write(tmp_path, '[cluster]\nid = "a"\n[node]\nlop = "trio"\n[lug]\na = 1\n')
    faults = faults_of(file, environ={"HOTSEAT_NODE_LISTN": "x"}, flags=IDENTITY)
    assert [(f.code, f.hint) for f in faults] == [
        ("unknown_key", "did you mean HOTSEAT_NODE_LISTEN?"),
        ("unknown_key", "did you mean node.loop?"),
        ("unknown_key", "did you mean log?"),
    ]


def test_an_unknown_key_like_no_other_is_told_what_there_is(tmp_path: Path) -> None:
    """Where there is nothing to guess, the keys of its table are named."""
    (fault,) = faults_of(
        write(tmp_path, '[cluster]\nid = "a"\nx = 1\n'), flags=IDENTITY
    )
    assert (
        fault.hint
        == "there are cluster.coordinator, cluster.copies, cluster.durability,"
        " cluster.id, cluster.min_isr, cluster.nodes, cluster.shards"
    )


def test_a_missing_key_says_how_to_set_it() -> None:
    """What must be given and is not is named with its variable, and its flag."""
    (fault,) = faults_of(flags={**IDENTITY, "--id": ("cluster.id", None)})
    assert fault.code == "missing_key"
    assert fault.where == "cluster.id"
    assert fault.hint == "set it in the file, or with HOTSEAT_CLUSTER_ID or --id"


def test_a_door_is_a_socket_in_a_folder() -> None:
    """Whoever reaches a door is trusted: it is not put on the network."""
    with pytest.raises(ConfigError) as caught:
        load_config(
            environ={
                "HOTSEAT_CLUSTER_ID": "c",
                "HOTSEAT_NODE_ID": "n1",
                "HOTSEAT_NODE_DIR": "/tmp/c",
                "HOTSEAT_NODE_DOOR": "tcp://127.0.0.1:7001",
            }
        )
    (fault,) = caught.value.faults
    assert "HOTSEAT_NODE_DOOR" in fault.where
    assert "ipc://" in fault.expected
    assert "node.open_door" in fault.expected


@pytest.mark.parametrize(
    "address", ["ipc:///run/n1.door", "tcp://10.0.0.7", "tcp://:7001", "tcp://m1:0"]
)
def test_an_open_door_has_an_address_that_operators_can_be_told(address: str) -> None:
    """A host and a port that stays the same."""
    named, at = {**IDENTITY, "--id": ("cluster.id", "c")}, "node.open_door"
    (fault,) = faults_of(flags={**named, "--open": (at, address)})
    assert "--open" in fault.where
    assert "tcp://HOST:PORT" in fault.expected
    given = load_config(flags={**named, "--open": (at, "tcp://[::]:7001")})
    assert given.node.open_door == "tcp://[::]:7001"


def test_a_file_that_is_not_toml_does_not_hide_other_faults(tmp_path: Path) -> None:
    """The broken file is one fault; what it would have held is not another."""
    file = write(tmp_path, "[cluster\n")
    missing = tmp_path / "missing.toml"
    faults = faults_of(
        file, missing, environ={"HOTSEAT_LOG_LEVEL": "loud"}, flags=IDENTITY
    )
    assert [(f.code, f.where) for f in faults] == [
        ("unreadable_file", str(file)),
        ("unreadable_file", str(missing)),
        ("invalid_value", "HOTSEAT_LOG_LEVEL"),
    ]


def test_a_table_that_is_a_value_is_one_fault(tmp_path: Path) -> None:
    """A scalar where a table belongs is reported once, at its key."""
    file = write(tmp_path, 'log = 3\n[cluster]\nid = "abc"\n')
    (fault,) = faults_of(file, flags=IDENTITY)
    assert str(fault) == f"log in {file}: expected a table, got 3"


def test_options_of_a_component_report_their_own_faults_too(tmp_path: Path) -> None:
    """What the runtime says of its options comes with the rest, at their places."""
    file = write(
        tmp_path,
        "[supervisor]\nmatches_max = 0\n[supervisor.match]\nmailbox_bytes_max = 1\n"
        "[link]\nheartbeat_s = 9.0\n",
    )
    faults = faults_of(
        file, environ={"HOTSEAT_SUPERVISOR_ENDED_KEPT_S": "-1"}, flags=IDENTITY
    )
    assert {fault.where for fault in faults} == {
        f"supervisor.matches_max in {file}",
        f"supervisor.match in {file}",
        "HOTSEAT_SUPERVISOR_ENDED_KEPT_S",
        "cluster.id",
        f"supervisor in {file}",
        f"link in {file}",
    }
    assert f"supervisor.matches_max in {file}: matches_max must be positive, not 0" in {
        str(fault) for fault in faults
    }


def test_one_wrong_key_does_not_hide_the_others_of_its_table(tmp_path: Path) -> None:
    """A name, a type and a bound; what depends on a wrong value is not judged."""
    file = write(
        tmp_path,
        "[link]\nnope = 3\nsilence_s = 0.3\nheartbeat_s = []\nhello_s = -1\n"
        "[supervisor.match]\nmailbox = 1\nsteps_kept = -1\n",
    )
    identity = {**IDENTITY, "--id": ("cluster.id", "a")}
    said = {str(fault) for fault in faults_of(file, flags=identity)}
    assert said == {
        f"link.nope in {file}: expected a key that is known",
        f"link.heartbeat_s in {file}: expected a number, got []",
        f"link.hello_s in {file}: hello_s must be positive, not -1.0",
        f"supervisor.match.mailbox in {file}: expected a key that is known",
        f"supervisor.match.steps_kept in {file}: "
        "match.steps_kept must be positive, not -1",
    }


def test_a_huge_value_is_shown_in_part(tmp_path: Path) -> None:
    """A fault stays readable whatever the value was."""
    (fault,) = faults_of(
        flags={**IDENTITY, "--id": ("cluster.id", "A" * 10_000)},
    )
    assert len(fault.got) <= 80


def test_variables_that_say_where_to_look_are_no_options() -> None:
    """HOTSEAT_DIR and its like belong to the commands."""
    config = load_config(
        environ={
            "HOTSEAT_CLUSTER_ID": "abc",
            "HOTSEAT_CLUSTER": "ipc:///x",
            "HOTSEAT_DIR": "/elsewhere",
            "HOTSEAT_SECRET_FILE": "/elsewhere/secret",
        },
        flags=IDENTITY,
    )
    assert str(config.node.dir) == "/srv/a"


def test_equal_cluster_configuration_has_an_equal_digest() -> None:
    """The digest compares what must be equal, and nothing else."""

    def digest(shards: int, loop: str) -> str:
        flags = {
            **IDENTITY,
            "--id": ("cluster.id", "abc"),
            "--shards": ("cluster.shards", shards),
            "--loop": ("node.loop", loop),
        }
        return load_config(flags=flags).cluster.digest()

    assert digest(16, "trio") == digest(16, "asyncio")
    assert digest(16, "trio") != digest(32, "trio")


def test_default_toml_shows_every_option_with_its_default() -> None:
    """The reference file cannot drift from the code."""
    folder = Path(config_package.__file__).parent
    text = (folder / "default.toml").read_text("utf-8")
    shown = tomllib.loads(text)
    config = load_config(flags={**IDENTITY, "--id": ("cluster.id", "abc")})
    for key in leaves(Config):
        value: Any = config
        for part in key:
            value = getattr(value, part)
        table: Any = shown
        for part in key[:-1]:
            table = table[part]
        if key[-1] in table:
            expected = list(value) if isinstance(value, tuple) else value
            assert table[key[-1]] == expected, key
        else:
            assert f"# {key[-1]} = " in text, key
