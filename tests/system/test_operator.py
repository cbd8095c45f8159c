"""The operator's commands at a cluster of real processes, and at what is no cluster."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.operator import rows as operator_rows
from hotseat.nodes.operator import survey_rows

from .shell import Operator
from .terminal import HOTSEAT, environment, in_terminal

pytestmark = pytest.mark.system


def check(kind: str, row: dict[str, Any]) -> None:
    """A row has all the fields that are documented, and no other."""
    rows = survey_rows if hasattr(survey_rows, kind) else operator_rows
    documented = getattr(rows, kind)
    assert [*row] == [*documented.__struct_fields__]


def play(home: Path) -> str:
    """Begin a match and make one move; its id."""

    async def main() -> str:
        async with connect(home / ".hotseat") as client:
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seat = await match.take("0")
            assert isinstance(seat, Seat)
            answer = await seat.dispatch("place", {"cell": 4})
            assert isinstance(answer, Accepted)
            return match.id

    return anyio.run(main)


@pytest.mark.timeout(120)
def test_a_cluster_tells_of_its_nodes_shards_and_matches(
    home: Path, operator: Operator
) -> None:
    """Every command, as JSON with the documented fields, and for people."""
    match = play(home)
    cluster = operator.told("cluster", "status", "--sample", "0.1", cwd=home)
    check("ClusterRow", cluster)
    check("Rates", cluster["rates"])
    assert (cluster["alarms"], cluster["matches"]) == ([], 1)
    nodes = operator.told("node", "list", cwd=home)["nodes"]
    check("NodeRow", nodes[0])
    assert [(node["node"], node["ready"]) for node in nodes] == [
        ("n1", True),
        ("n2", True),
    ]
    assert operator.told("node", "list", "--not-ready", cwd=home) == {"nodes": []}

    shards = operator.told(
        "shard", "list", "--sort", "matches", "--limit", "1", cwd=home
    )
    check("ShardRow", shards["shards"][0])
    assert (shards["more"], shards["silent"]) == (True, {})
    assert shards["shards"][0]["matches"] == 1
    assert operator.told("shard", "list", "--short", cwd=home)["shards"] == []
    one = operator.told("shard", "show", str(shards["shards"][0]["shard"]), cwd=home)
    check("ShardShown", one)
    check("ReplicaRow", one["replicas"]["n1"])
    roles = sorted(row["role"] for row in one["replicas"].values())
    assert roles == ["follower", "owner"]

    found = operator.told("match", "list", "--game", "tic-tac-toe", cwd=home)
    check("FoundMatches", found)
    (row,) = found["matches"]
    check("MatchRow", row)
    assert (row["match"], row["state"], row["free"]) == (match, "waiting", ["1"])
    assert operator.told("match", "list", "--seat", "0", cwd=home)["matches"] == []
    assert operator.told("match", "list", "--idle", "1h", cwd=home)["matches"] == []
    everything = operator.told("match", "show", match, cwd=home)
    check("MatchShown", everything)
    check("PlayRow", everything["play"])
    check("SeatRow", everything["play"]["seats"][0])
    check("ActorRow", everything["actor"])
    check("CopyRow", everything["copies"][0])
    assert everything["play"]["revision"] == 1
    assert everything["agree"]
    assert everything["g"] is None
    assert operator.told("match", "show", match, "--state", cwd=home)["g"]

    for asked, part in (
        (("cluster", "status"), "no alarms"),
        (("cluster", "watch", "--times", "2", "--every", "0.1"), "per second"),
        (("node", "list"), "ready"),
        (("shard", "list", "--limit", "1"), "there are 3 more"),
        (("shard", "show", "0"), "follower"),
        (("match", "list"), match),
        (("match", "show", match, "--state"), "revision  1, turn 2"),
    ):
        done = operator.run(*asked, cwd=home)
        assert (done.status, done.stderr) == (0, ""), asked
        assert part in done.stdout, asked


@pytest.mark.timeout(120)
def test_a_cluster_is_watched_live_until_the_reader_leaves(home: Path) -> None:
    """Full-screen, or in place; Ctrl-C is an orderly end."""
    match = play(home)
    with in_terminal("top", cwd=home) as screen:
        screen.wait_for("nodes 2/2")
        screen.wait_for(match)
        screen.press("2")
        screen.wait_for("n1, n2")
        screen.press("q")
        assert screen.wait_end() == 0
        assert "Traceback" not in screen.text
    with in_terminal("cluster", "watch", "--every", "0.2", cwd=home) as screen:
        screen.wait_for("per second")
        screen.process.send_signal(signal.SIGINT)  # as Ctrl-C, in a shell's terminal
        assert screen.wait_end() == 0
        assert "Traceback" not in screen.text


def test_a_door_leads_to_the_whole_cluster(home: Path, operator: Operator) -> None:
    """As with every other command."""
    door = ClusterDir.load(home / ".hotseat").door("n2")
    done = operator.run("node", "list", "--json", "--cluster", door, cwd=home)
    assert len(json.loads(done.stdout)["nodes"]) == 2


def test_logs_are_shown_and_followed_until_ctrl_c(
    home: Path, operator: Operator
) -> None:
    """What is there, then what comes; Ctrl-C is an orderly end."""
    follow = ("log", "follow", "--event", "node_ready")
    done = operator.run(*follow, "--stop", cwd=home)
    assert sorted(line.split()[2] for line in done.stdout.splitlines()) == ["n1", "n2"]
    log = ClusterDir.load(home / ".hotseat").log_path("n9")
    process = subprocess.Popen(
        [*HOTSEAT, *follow, "--node", "n9", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=home,
        env=environment(),
    )
    try:
        line = json.dumps({"event": "node_ready", "node": "n9", "level": "info"})
        log.write_text(f"{line}\n")
        assert process.stdout is not None
        assert process.stdout.readline() == f"{line}\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("match", "show", "nonsense"), 2, "usage"),
        (("match", "show", "a" * 26), 1, "unknown_match"),
        (("match", "list", "--idle", "soon"), 2, "usage"),
        (("match", "list", "--shard", "4"), 2, "no_such_shard"),
        (("shard", "show", "4"), 2, "no_such_shard"),
        (("log", "follow", "--event", "node_redy"), 2, "unknown_event"),
        (("top",), 2, "no_terminal"),
        (("cluster", "status", "--dir", "nowhere"), 3, "no_cluster"),
    ],
)
def test_what_cannot_be_shown_says_why(
    home: Path, operator: Operator, arguments: tuple[str, ...], status: int, code: str
) -> None:
    """One error with a code and a hint, and its exit status."""
    done = operator.run(*arguments, cwd=home)
    assert done.status == status, done.stderr
    assert done.stderr.startswith(f"error[{code}]: ")
    assert done.stdout == ""


def test_silent_nodes_are_rows_and_status_3_if_all_are(
    tmp_path: Path, operator: Operator
) -> None:
    """Every node that ran is named, with the code of its silence."""
    cluster = ClusterDir.open(tmp_path / ".hotseat", 4, ("n1", "n2"))
    for node in ("n1", "n2"):
        cluster.pid_path(node).touch()
    row = operator.told("cluster", "status", cwd=tmp_path, status=3)
    assert [node["error"] for node in row["nodes"]] == ["door_unreachable"] * 2
    assert {"node_silent", "shard_unserved"} <= {a["code"] for a in row["alarms"]}
    assert "no answer" in operator.run("node", "list", cwd=tmp_path).stdout
    done = operator.run("match", "list", cwd=tmp_path)
    assert done.status == 3
    assert done.stderr.startswith("error[cluster_unreachable]: ")


def test_a_shell_completes_commands_and_flags(
    tmp_path: Path, operator: Operator
) -> None:
    """What bash offers behind `hotseat match list --`."""
    script = operator.run("completion", "bash", cwd=tmp_path)
    assert script.status == 0, script.stderr
    (tmp_path / "script").write_text(script.stdout)

    def offered(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in words)
        asked = (
            f"source ./script; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1};"
            ' _hotseat; echo "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", asked], capture_output=True, text=True, cwd=tmp_path
        )
        return done.stdout.split()

    assert {"list", "show"} <= {*offered("hotseat", "match", "")}
    assert {"--game", "--idle"} <= {*offered("hotseat", "match", "list", "--")}
    assert "cluster" in offered("hotseat", "cl")


def test_completion_is_installed_where_the_shell_looks(
    tmp_path: Path, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the user's own folder; the shell is the one that SHELL names."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SHELL", "/bin/bash")
    done = operator.run("completion", "--install", cwd=tmp_path)
    assert done.status == 0, done.stderr
    written = Path(done.stdout.split(":")[0])
    assert tmp_path in written.parents
    assert "_hotseat" in written.read_text()
    monkeypatch.setenv("SHELL", "/bin/csh")
    done = operator.run("completion", cwd=tmp_path)
    assert done.stderr.startswith("error[unknown_shell]: ")
