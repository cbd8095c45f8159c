"""The command line: help, errors with a code, exit statuses, JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hotseat.nodes.cluster_dir import ClusterDir

from .shell import Done, Operator, hotseat

pytestmark = pytest.mark.system

HEAVY = (
    "trio",
    "pynng",
    "structlog",
    "httpx",
    "starlette",
    "anycorn",
    "jwt",
    "cryptography",
    "textual",
    "pydantic",
    "anyio",
    "rich.live",
)

BROKEN_GAME = """
from hotseat.engine.definition import *
game = define_game(
    name="nim", max_players=2, events=["take"], initial="nowhere",
    states={"play": state()}, setup=lambda ctx: {},
    transitions=[transition("take", "play", "moon")],
    views=views(public=lambda ctx: ctx.G),
)
"""


def errors(done: Done | subprocess.CompletedProcess[str]) -> list[str]:
    """The error lines, which alone may stand on stderr beside their hints."""
    lines = done.stderr.splitlines()
    assert all(line.startswith(("error[", "  hint: ")) for line in lines), done.stderr
    return [line for line in lines if line.startswith("error[")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        [],
        ["--version"],
        ["cluster", "watch", "--help"],
        ["match", "list", "--help"],
        ["node", "list", "--help"],
        ["shard", "--help"],
        ["top", "--help"],
        ["log", "follow", "--help"],
        ["completion", "--help"],
        ["gateway", "--help"],
        ["bots", "--help"],
        ["token", "--help"],
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """Help appears at once: no loop, no sockets, no validation library."""
    code = (
        "import sys\n"
        "from hotseat.nodes.cli.main import run\n"
        f"run({arguments!r})\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout
    assert done.stderr == "[]\n"


def test_help_names_every_command(operator: Operator, tmp_path: Path) -> None:
    """What there is can be found from the help alone."""
    text = operator.run("--help", cwd=tmp_path).stdout
    for command in (
        "up",
        "down",
        "status",
        "cluster",
        "shard",
        "match",
        "top",
        "log",
        "completion",
        "loadtest",
        "play",
        "replay",
        "inspect",
        "game",
        "node",
        "version",
    ):
        assert f" {command} " in text
        done = operator.run(command, "--help", cwd=tmp_path)
        assert (done.status, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dance"], "dance"),
        (["up", "--nodes", "many"], "many"),
        (["up", "--nodes", "0"], "0"),
        (["status", "--colour"], "--colour"),
        (["match", "list", "--state", "alive"], "alive"),
        (["shard", "list", "--limit", "0"], "0"),
        (["shard", "show", "first"], "first"),
        (["log", "follow", "--level", "loud"], "loud"),
        (["completion", "csh"], "csh"),
        (["game", "check"], "GAME"),
    ],
)
def test_a_wrong_command_line_is_one_error_and_status_2(
    operator: Operator, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """Usage errors name what was wrong, and where the help is."""
    done = operator.run(*arguments, cwd=tmp_path)
    (error,) = errors(done)
    assert error.startswith("error[usage]: ")
    assert said in error
    assert "--help" in done.stderr
    assert done.status == 2
    assert list(tmp_path.iterdir()) == []


def test_version_has_a_json_form(operator: Operator, tmp_path: Path) -> None:
    """Scripts read the version without parsing prose."""
    shown = operator.told("version", cwd=tmp_path)
    assert shown["version"] == operator.run("version", cwd=tmp_path).stdout.strip()
    assert shown["protocol"] >= 1


def test_installed_games_are_listed(operator: Operator, tmp_path: Path) -> None:
    """All shipped games are there, and sound."""
    games = operator.told("game", "list", cwd=tmp_path)["games"]
    assert {game["name"] for game in games} >= {
        "battleship",
        "connect-four",
        "crazy-eights",
        "liars-dice",
        "pig-dice",
        "reversi",
        "rock-paper-scissors",
        "sealed-auction",
        "tic-tac-toe",
    }
    assert not [game for game in games if "error" in game]


def test_checking_a_sound_game_is_status_0(operator: Operator, tmp_path: Path) -> None:
    """A shipped game has no errors."""
    done = operator.run("game", "check", "tic-tac-toe", cwd=tmp_path)
    assert (done.status, done.stderr) == (0, "")
    assert "0 errors" in done.stdout


def test_checking_a_broken_game_prints_every_finding_and_is_status_1(
    tmp_path: Path,
) -> None:
    """The author sees all findings at once, in text and as JSON."""
    (tmp_path / "nim.py").write_text(BROKEN_GAME)
    done = hotseat("game", "check", "nim:game", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("error[") >= 2
    done = hotseat("game", "check", "nim:game", "--json", cwd=tmp_path)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["ok"] is False
    assert len(report["diagnostics"]) >= 2
    assert not list(tmp_path.glob("error*"))


@pytest.mark.parametrize("command", [["game", "check"], ["up", "--game"]])
def test_an_unknown_game_is_one_error(tmp_path: Path, command: list[str]) -> None:
    """Nothing is started for a game that is not there."""
    done = hotseat(*command, "no_such_game_of_mine:game", cwd=tmp_path)
    (error,) = errors(done)
    assert error.startswith("error[unknown_game]: ")
    assert done.returncode == 1


def test_three_faults_of_a_configuration_are_three_errors_and_status_2(
    tmp_path: Path,
) -> None:
    """Each fault has a code and its place: file, variable, flag."""
    home = ClusterDir.open(tmp_path / "c")
    with home.config_path.open("a") as file:
        file.write('[node]\nlop = "trio"\n')
    done = hotseat(
        *("node", "--dir", str(home.path), "--node", "n1", "--log-level", "loud"),
        cwd=tmp_path,
        HOTSEAT_NODE_LISTEN="nowhere",
    )
    said = errors(done)
    assert len(said) == 3
    assert any(line.startswith("error[unknown_key]: node.lop in ") for line in said), (
        said
    )
    assert any("HOTSEAT_NODE_LISTEN: expected an address" in line for line in said)
    assert any("--log-level: expected one of" in line for line in said)
    assert "did you mean node.loop?" in done.stderr
    assert done.returncode == 2


def test_up_finds_the_faults_before_it_starts_anything(tmp_path: Path) -> None:
    """The parent checks what its nodes would be told."""
    home = ClusterDir.open(tmp_path / "c")
    with home.config_path.open("a") as file:
        file.write('[node]\nlop = "trio"\n[log]\nlevel = "loud"\n')
    for extra in ([], ["--detach"]):
        done = hotseat("up", "--dir", str(home.path), *extra, cwd=tmp_path)
        assert len(errors(done)) == 2
        assert done.returncode == 2
        assert not list((home.path / "logs").glob("n*.log"))


def test_another_number_of_shards_is_one_clear_error(tmp_path: Path) -> None:
    """A folder belongs to one cluster, shards and all."""
    home = ClusterDir.open(tmp_path / "c", 16)
    done = hotseat("up", "--dir", str(home.path), "--shards", "8", cwd=tmp_path)
    (error,) = errors(done)
    assert error.startswith("error[shards_differ]: ")
    assert done.returncode == 2


def test_a_secret_that_others_can_read_stops_a_node(tmp_path: Path) -> None:
    """Better no node than one whose secret may be known."""
    home = ClusterDir.open(tmp_path / "c")
    home.secret_path.chmod(0o644)
    done = hotseat("node", "--dir", str(home.path), "--node", "n1", cwd=tmp_path)
    (error,) = errors(done)
    assert error.startswith("error[secret_exposed]: ")
    assert done.returncode == 2


def test_the_help_of_a_command_tells_all_of_it(
    operator: Operator, tmp_path: Path
) -> None:
    """Not the one line of the overview alone: exit statuses, too."""
    done = operator.run("status", "--help", cwd=tmp_path)
    assert "Show the nodes, the shards they own, who holds copies" in done.stdout
    assert "3: none answers" in done.stdout


def test_no_cluster_is_status_3_and_nothing_to_stop_is_0(
    operator: Operator, tmp_path: Path
) -> None:
    """Asking needs a cluster; stopping is content without one."""
    done = operator.run("status", cwd=tmp_path)
    (error,) = errors(done)
    assert error.startswith("error[no_cluster]: ")
    assert done.status == 3
    done = operator.run("down", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "nothing runs there\n")


def test_a_door_that_nobody_answers_is_status_3(tmp_path: Path) -> None:
    """--cluster and HOTSEAT_CLUSTER name a door; a dead one is told apart."""
    door = f"ipc://{tmp_path}/n1.door"
    for done in (
        hotseat("status", "--cluster", door, cwd=tmp_path),
        hotseat("status", cwd=tmp_path, HOTSEAT_CLUSTER=door),
    ):
        (error,) = errors(done)
        assert error.startswith("error[door_unreachable]: ")
        assert done.returncode == 3


def test_a_door_is_named_by_its_address(operator: Operator, tmp_path: Path) -> None:
    """A folder behind --cluster is a wrong command line, whatever the command."""
    for command in (["status"], ["play", "connect-four"]):
        done = operator.run(*command, "--cluster", str(tmp_path), cwd=tmp_path)
        (error,) = errors(done)
        assert error.startswith("error[usage]: --cluster ")
        assert done.status == 2


def test_a_stopped_cluster_shows_its_nodes_as_silent(tmp_path: Path) -> None:
    """Status still names every node that ran, and says that none answers."""
    home = ClusterDir.open(tmp_path / "c")
    for node in ("n1", "n2", "n10"):
        home.pid_path(node).touch()
    done = hotseat("status", "--json", cwd=tmp_path, HOTSEAT_DIR=str(home.path))
    assert done.returncode == 3
    shown = json.loads(done.stdout)
    assert [node["node"] for node in shown["nodes"]] == ["n1", "n2", "n10"]
    assert not any(node["reachable"] for node in shown["nodes"])
    done = hotseat("status", cwd=tmp_path, HOTSEAT_DIR=str(home.path))
    assert done.stdout.endswith(f"hotseat up --dir {home.path} starts them\n")


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """Only who asks for it sees one."""
    done = hotseat("--debug", "status", cwd=tmp_path)
    assert "Traceback" in done.stderr
