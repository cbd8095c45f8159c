"""What an operator does to a match stands in its log, and a replay shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest

from hotseat.nodes.client import Accepted, Refusal, RemoteMatch, Seat, View, connect

from ..system.shell import Operator, running_cluster

# The module that the nodes load: two versions of a game with a secret.
GAMES = """
from hotseat.engine.definition import (
    define_game, event, state, timeout, transition, views
)

def vault(version, key, factor, migrate=None):
    def add(ctx):
        total = ctx.G[key] + factor * ctx.event.payload
        return {"G": {**ctx.G, key: total}, "turn": "increment"}

    def active(ctx):
        return [str((ctx.position.turn - 1) % 2)]

    return define_game(
        name="vault", version=version, max_players=2,
        events={"add": event(int, public=True), "resign": event()},
        initial="play",
        setup=lambda ctx: {key: 0, "secret": "xyzzy"},
        states={"play": state(active_players=active)},
        transitions=[
            transition("add", "play", "play", add),
            transition("resign", "play", "play",
                       lambda ctx: {"result": {"resigned": ctx.player_id}}),
        ],
        views=views(public=lambda ctx: {"total": ctx.G[key] + 0}),
        migrate=migrate,
    )

def migrate(G, version):
    return {"sum": G["total"], "secret": G["secret"]}

first = vault("1", "total", 1)
second = vault("2", "sum", 10, migrate)
broken = vault("3", "sum", 10, lambda G, version: {"sum": G["sum"]})
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster of two nodes that lets its operators edit."""
    folder = tmp_path_factory.mktemp("b80")
    (folder / "vaults.py").write_text(GAMES)
    games = ("--game", "vaults:first", "--game", "vaults:second")
    allowed = {"HOTSEAT_SUPERVISOR_MATCH_ALLOW_EDITS": "true"}
    up = ("--nodes", "2", "--shards", "4", *games)
    with running_cluster(folder, *up, **allowed):
        yield folder


class Told(Protocol):
    """What a command prints with --json; or the error, if it fails."""

    def __call__(self, *arguments: str, status: int = 0, stdin: str = "") -> Any: ...


@pytest.fixture
def told(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Told:
    """Has the operator of `place` run a command."""
    monkeypatch.syspath_prepend(place)
    operator = Operator(monkeypatch, capsys)

    def run(*arguments: str, status: int = 0, stdin: str = "") -> Any:
        done = operator.run(*arguments, "--json", cwd=place, stdin=stdin)
        assert done.status == status, done
        return done.stderr if done.stderr else json.loads(done.stdout)

    return run


async def _begun(place: Path) -> str:
    async with connect(place / ".hotseat") as client:
        match = await client.create("vault", players=["0", "1"], version="1")
        assert isinstance(match, RemoteMatch), match
        seat = await match.take("0")
        assert isinstance(seat, Seat)
        assert isinstance(await seat.dispatch("add", 4), Accepted)
        return match.id


PATCH = json.dumps(
    [
        {"op": "test", "path": "/total", "value": 4},
        {"op": "replace", "path": "/total", "value": 40},
        {"op": "replace", "path": "/secret", "value": "plugh"},
    ]
)
YES = ("--yes", "--why", "a lost move", "--as", "ann")


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_b80_an_edit_is_a_logged_event_that_a_replay_shows(
    place: Path, told: Told
) -> None:
    """B80: who, why and what are in the log; it verifies; undone, it is there twice."""
    match = anyio.run(_begun, place)
    asked = ("match", "edit", match)
    stale = told(*asked, "-", *YES, "--base-revision", "0", status=1, stdin=PATCH)
    assert "stale_revision" in stale
    done = told(*asked, "-", *YES, "--base-revision", "1", stdin=PATCH)
    assert done["outcome"] == {"revision": 2, "record": 3}
    again = told(*asked, "-", *YES, status=1, stdin=PATCH)
    assert "patch_failed" in again
    assert 'operation 0 at "/total"' in again
    undone = told(*asked, "--undo", *YES)
    assert undone["outcome"] == {"revision": 3, "record": 4, "restores": 1}
    told(*asked, "-", *YES, stdin=PATCH)

    async def play_on() -> list[Any]:
        async with connect(place / ".hotseat") as client:
            joined = client.join(match, 1)
            seat = await joined.take("1")
            assert isinstance(seat, Seat), seat
            assert isinstance(await seat.dispatch("add", 1), Accepted)
            view = await seat.resync()
            assert isinstance(view, View), view
            return [view.view, view.revision]

    assert anyio.run(play_on) == [{"total": 41}, 5]
    told("replay", "export", match, "--running", "--game", "vaults:first")
    saved = (f"{match}.hotseat", "--game", "vaults:first")
    report = told("replay", "verify", *saved)
    assert report["ok"]
    frames = told("replay", "show", *saved)["frames"]
    assert [f["kind"] for f in frames] == [
        "initial",
        "action",
        "edit",
        "edit",
        "edit",
        "action",
    ]
    frame = told("replay", "show", *saved, "--frame", "2")
    assert frame["payload"]["who"] == "ann"
    assert frame["payload"]["why"] == "a lost move"
    assert frame["diffs"] == [
        {"path": "$.total", "before": 4, "after": 40},
        {"path": "$.secret", "before": "xyzzy", "after": "plugh"},
    ]
    assert "plugh" not in json.dumps(frame["views"])
    audit = repr(told("audit", "list"))
    assert "match.edit" in audit
    assert "plugh" not in audit


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_match_goes_on_under_another_version_and_back(
    place: Path, told: Told
) -> None:
    """The log needs both versions from then on, and says so; then its seat resigns."""
    match = anyio.run(_begun, place)
    missing = told("match", "upgrade", match, "--to", "3", *YES, status=1)
    assert "version_missing" in missing
    assert "n1" in missing
    assert "n2" in missing
    told(
        "replay",
        "export",
        match,
        "--running",
        "--game",
        "vaults:first",
        "--out",
        "before",
    )
    tried = ("replay", "check", "before", "--upgrade", "--old", "vaults:first")
    assert told(*tried, "--game", "vaults:second")["fits"] == 1
    wrong = told(*tried, "--game", "vaults:broken", status=1)
    assert "migrate_failed" in repr(wrong)
    for to in ("2", "1", "2"):
        done = told("match", "upgrade", match, "--to", to, *YES)
        assert done["outcome"]["to"] == to
    shown = told("match", "show", match, "--state")
    assert shown["g"] == {"sum": 4, "secret": "xyzzy"}
    assert shown["match"]["version"] == "2"
    assert shown["agree"]
    resigned = told("match", "resign-seat", match, "0", *YES)
    assert resigned["outcome"]["revision"] == 5

    async def look() -> Any:
        async with connect(place / ".hotseat") as client:
            joined = client.join(match, 1)
            return await joined.take("1")

    seen = anyio.run(look)
    assert isinstance(seen, Refusal)
    assert seen.code == "game_over"
    told(
        "replay",
        "export",
        match,
        "--running",
        "--game",
        "vaults:second",
        "--also",
        "vaults:first",
    )
    saved = (f"{match}.hotseat", "--game", "vaults:second")
    assert "version_missing" in told("replay", "verify", *saved, status=1)
    both = (*saved, "--also", "vaults:first")
    assert told("replay", "verify", *both)["ok"]
    frames = told("replay", "show", *both)["frames"]
    assert [f["kind"] for f in frames][2:5] == ["upgrade"] * 3
    assert frames[-1]["result"] == {"resigned": "0"}


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_terminated_match_is_over_for_everybody(place: Path, told: Told) -> None:
    """Its players read why, its log is open, and it is in no list of what goes on."""
    match = anyio.run(_begun, place)
    told("match", "terminate", match, *YES)

    async def look() -> Any:
        async with connect(place / ".hotseat") as client:
            joined = client.join(match, 1)
            log = await joined.log()
            assert not isinstance(log, Refusal), log
            return [(r.kind.value, r.input.get("why")) for r in log][-2:]

    assert ("terminate", "a lost move") in anyio.run(look)
    assert match not in json.dumps(told("match", "list"))
    assert match in json.dumps(told("match", "list", "--state", "ended"))
