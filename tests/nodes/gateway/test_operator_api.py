"""The API behind the operators' pages: whom it tells what of a cluster and a match."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest

from hotseat.engine.machine import compile_game
from hotseat.engine.replay.envelope import write_envelope
from hotseat.engine.replay.save import save_log
from hotseat.nodes.client import Accepted, RemoteMatch, Seat
from hotseat.nodes.gateway.openapi import openapi_document

from ..node.node_world import node_world
from ..operator.operated import DUEL, DUEL_SPEC
from .operator_rig import OperatorRig, operator_rig

DOCUMENT = openapi_document("http://gw")


@pytest.fixture
async def rig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[OperatorRig]:
    async with (
        node_world(tmp_path / "c", "n1", "n2", games=[DUEL_SPEC]) as world,
        operator_rig(world, monkeypatch) as made,
    ):
        yield made


def fits(answer: httpx.Response, shape: str) -> Any:
    """The answer's body, which the document must have promised."""
    schema = {"$ref": f"#/components/schemas/{shape}", **DOCUMENT}
    body = answer.json()
    jsonschema.Draft202012Validator(schema).validate(body)
    return body


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, fits(answer, "ErrorBody")["error"]["code"]


class Duel:
    """A match that goes on, and one of its seats."""

    def __init__(self, match: RemoteMatch, seat: Seat) -> None:
        self.match, self.id, self.seat = match, match.id, seat

    @classmethod
    async def begin(cls, rig: OperatorRig, *numbers: int) -> Duel:
        match = await rig.gateway.client.create("duel", players=["0", "1"])
        assert isinstance(match, RemoteMatch)
        seat = await match.take("0")
        assert isinstance(seat, Seat)
        duel = cls(match, seat)
        for number in numbers:
            await duel.act("add", number)
        return duel

    async def act(self, event: str, payload: Any = None) -> None:
        assert isinstance(await self.seat.dispatch(event, payload), Accepted)


async def test_only_a_token_that_may_inspect_is_told_anything(
    rig: OperatorRig,
) -> None:
    """Nor is it told to others whether there is such a match, or a cluster at all."""
    duel = await Duel.begin(rig, 4)
    tokens = rig.gateway.tokens
    places = ["/api/cluster", "/api/cluster/matches"]
    under = f"/api/matches/{duel.id}"
    places += [f"{under}/{each}" for each in ("timeline", "graph", "frames")]
    places += ["/api/matches/nonsense/timeline"]
    wrong = {
        "": (401, "token_missing"),
        tokens.seat(duel.id, duel.match.epoch, "0", 60): (403, "token_wrong_scope"),
        tokens.spectator(duel.id, duel.match.epoch, 60): (403, "token_wrong_scope"),
        tokens.mint(
            "operator", 60, subject="site", scopes=frozenset({"create", "watch"})
        ): (403, "token_wrong_scope"),
    }
    for token, expected in wrong.items():
        for place in places:
            assert refusal(await rig.get(place, token=token)) == expected, place
        answer = await rig.post("/api/inspect", b"{}", token=token)
        assert refusal(answer) == expected
    # A query is logged by whatever stands in front: no token is taken from there.
    answer = await rig.get("/api/cluster?token=" + rig.token, token="")
    assert refusal(answer) == (401, "token_missing")
    assert await rig.operated.audit() == []


async def test_a_match_is_told_revision_by_revision_and_goes_on(
    rig: OperatorRig,
    autojump_clock: object,
) -> None:
    """Lines of all revisions, then what comes later, and the end."""
    duel = await Duel.begin(rig, 4, 5)
    place = f"/api/matches/{duel.id}/timeline"
    shown = fits(await rig.get(place), "TimelineBody")
    assert (shown["status"], shown["head"], shown["next"]) == ("live", 2, None)
    assert (shown["game"], shown["seats"]) == ("duel", ["0", "1"])
    assert [(r["kind"], r["event"], r["seat"]) for r in shown["rows"]] == [
        ("initial", None, None),
        ("action", "add", "0"),
        ("action", "add", "0"),
    ]
    page = fits(await rig.get(place, {"from": 1, "limit": 1}), "TimelineBody")
    assert ([r["revision"] for r in page["rows"]], page["next"]) == ([1], 2)
    await duel.act("resign")
    await anyio.sleep(1)
    later = fits(await rig.get(place, {"from": shown["head"] + 1}), "TimelineBody")
    assert (later["status"], later["head"]) == ("ended", 3)
    assert [r["event"] for r in later["rows"]] == ["resign"]


async def test_a_frame_says_what_happened_why_and_who_sees_what(
    rig: OperatorRig,
) -> None:
    """State, diff, branches; and with a seat, that seat's own view."""
    duel = await Duel.begin(rig, 4)
    under = f"/api/matches/{duel.id}"
    answer = await rig.get(f"{under}/frames", {"from": 0, "count": 9, "seat": "1"})
    body = fits(answer, "FramesBody")
    assert [frame["revision"] for frame in body["frames"]] == [0, 1]
    frame = body["frames"][1]
    assert frame["G"] == {"total": 4}
    assert frame["diff"] == [{"path": "$.total", "before": 0, "after": 4}]
    assert (frame["event"], frame["payload"], frame["seat"]) == ("add", 4, "0")
    [asked] = frame["evaluations"]
    assert [(b["target"], b["taken"]) for b in asked["branches"]] == [("play", True)]
    assert frame["seen"]["view"] == {"total": 4}
    graph = fits(await rig.get(f"{under}/graph"), "GraphBody")
    assert [(e["event"], e["source"], e["target"]) for e in graph["edges"]] == [
        ("add", "play", "play"),
        ("resign", "play", "play"),
    ]
    assert refusal(await rig.get(f"{under}/frames", {"seat": "7"})) == (
        422,
        "unknown_seat",
    )
    assert refusal(await rig.get(f"{under}/frames", {"from": "x"})) == (
        400,
        "malformed_request",
    )
    assert refusal(await rig.get(f"{under}/frames", {"from": 99})) == (
        404,
        "unknown_revision",
    )
    nobody = await rig.get(f"/api/matches/{'a' * 26}/timeline")
    assert refusal(nobody) == (404, "unknown_match")


async def test_neither_the_seed_nor_the_generator_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    """From these would follow what is not drawn yet; how much was drawn is told."""
    async with (
        node_world(tmp_path / "c", "n1", games=[]) as world,
        operator_rig(world, monkeypatch) as rig,
    ):
        match = await rig.gateway.client.create("pig-dice", players=["0", "1"])
        assert isinstance(match, RemoteMatch)
        seat = await match.take("0")
        assert isinstance(seat, Seat)
        assert isinstance(await seat.dispatch("roll"), Accepted)
        revealed = await rig.operated.about("match.reveal-seed", match.id, running=True)
        told = ""
        for each in ("timeline", "graph", "frames?count=9&seat="):
            told += (await rig.get(f"/api/matches/{match.id}/{each}")).text
        assert '"draws":1' in told
        assert revealed["seed"] not in told
        assert '"rng"' not in told


async def test_who_looks_into_a_match_that_goes_on_is_on_record_once(
    rig: OperatorRig,
) -> None:
    """As operators' commands are, however often the page asks."""
    duel = await Duel.begin(rig, 4)
    under = f"/api/matches/{duel.id}"
    for each in ("timeline", "graph", "frames", "timeline"):
        assert (await rig.get(f"{under}/{each}")).status_code == 200
    [record] = await rig.operated.audit()
    assert (record["verb"], record["target"]) == ("match.inspect", duel.id)
    assert (record["who"].startswith("ann (token "), record["state"]) == (True, "done")


async def test_where_no_record_can_be_written_nothing_is_told(
    rig: OperatorRig,
    autojump_clock: object,
) -> None:
    """The coordinator is away: a match that goes on is not shown."""
    duel = await Duel.begin(rig, 4)
    for coordinator in rig.world.coordinators.values():
        coordinator.down = True
    answer = await rig.get(f"/api/matches/{duel.id}/timeline")
    assert refusal(answer) == (503, "coordinator_away")


async def test_the_cluster_is_told_at_a_glance(
    rig: OperatorRig, autojump_clock: object
) -> None:
    """Nodes, shards, what just happened, commands; and nothing anew if nothing did."""
    duel = await Duel.begin(rig, 4)
    await rig.get(f"/api/matches/{duel.id}/timeline")
    answer = await rig.get("/api/cluster")
    seen = fits(answer, "ClusterBody")
    assert {node["node"] for node in seen["cluster"]["nodes"]} == {"n1", "n2"}
    assert len(seen["shards"]) == seen["cluster"]["shards"]
    assert [hot["match"]["match"] for hot in seen["hottest"]] == [duel.id]
    assert [one["verb"] for one in seen["operations"]] == ["match.inspect"]
    again = await rig.get("/api/cluster", tag=answer.headers["etag"])
    assert again.status_code == 304


async def test_what_is_played_most_is_what_players_did_of_late(
    rig: OperatorRig, autojump_clock: object
) -> None:
    """Not only since the look before; and the rooms of lobbies are no such matches."""
    opened = await rig.post("/api/lobbies", b'{"game": "duel"}')
    assert opened.status_code == 201
    busy, calm = await Duel.begin(rig), await Duel.begin(rig)

    async def rates() -> dict[str, float]:
        await anyio.sleep(1.5)
        seen = fits(await rig.get("/api/cluster"), "ClusterBody")
        assert (seen["hottestOf"], seen["alarmLines"]) == (2, [])
        return {hot["match"]["match"]: hot["recordsPerS"] for hot in seen["hottest"]}

    # Just created: that something happened is known, and no more.
    assert await rates() == {busy.id: 0.1, calm.id: 0.1}
    for number in (1, 2, 3):
        await busy.act("add", number)
    for _ in range(3):
        now = await rates()
        assert now[busy.id] > now[calm.id] == 0.1
    found = fits(await rig.get("/api/cluster/matches"), "FoundMatches")
    assert len(found["matches"]) == 3


async def test_many_pages_cost_one_look(
    rig: OperatorRig, autojump_clock: object
) -> None:
    """However many ask within a second, the nodes are asked once."""
    await rig.get("/api/cluster")
    before = len(rig.operated.asked)
    for _ in range(5):
        assert (await rig.get("/api/cluster")).status_code == 200
    assert len(rig.operated.asked) == before


async def test_matches_are_found_and_told_page_by_page(rig: OperatorRig) -> None:
    """With the filters of `hotseat match list`; each once."""
    ids = {(await Duel.begin(rig)).id for _ in range(3)}
    place = "/api/cluster/matches"
    first = fits(await rig.get(place, {"limit": 2}), "FoundMatches")
    assert (len(first["matches"]), first["more"]) == (2, True)
    last = first["matches"][-1]
    after = f"{last['shard']}/{last['match']}"
    second = fits(await rig.get(place, {"limit": 2, "after": after}), "FoundMatches")
    assert second["more"] is False
    found = [row["match"] for row in (*first["matches"], *second["matches"])]
    assert sorted(found) == sorted(ids)
    none = fits(await rig.get(place, {"game": "chess"}), "FoundMatches")
    assert none["matches"] == []
    for wrong in ({"sort": "colour"}, {"state": "odd"}, {"after": "x"}, {"shard": "-"}):
        assert refusal(await rig.get(place, wrong)) == (400, "malformed_request")


async def test_a_file_is_looked_at_as_a_match_is(rig: OperatorRig) -> None:
    """A saved replay is sent, then asked for; that it is forgotten is said."""
    duel = await Duel.begin(rig, 4)
    await duel.act("resign")
    records = await duel.match.log()
    assert isinstance(records, list)
    data = write_envelope(save_log(compile_game(DUEL), records)).encode()
    answer = await rig.post("/api/inspect", data)
    assert answer.status_code == 201
    opened = fits(answer, "OpenedBody")
    timeline = opened["timeline"]
    assert (timeline["status"], timeline["head"]) == ("file", 2)
    under = f"/api/inspections/{opened['id']}"
    frames = fits(await rig.get(f"{under}/frames", {"from": 1}), "FramesBody")
    assert frames["frames"][0]["G"] == {"total": 4}
    again = fits(await rig.post("/api/inspect", data), "OpenedBody")
    assert again["id"] == opened["id"]
    gone = await rig.get(f"/api/inspections/file-{'0' * 32}/timeline")
    assert refusal(gone) == (404, "unknown_inspection")
    # What it shows is nobody's match: it needs no record.
    assert await rig.operated.audit() == []


async def test_what_is_no_saved_match_is_refused_with_its_reason(
    rig: OperatorRig,
) -> None:
    """Wrong bytes, and a game that the gateway has not."""
    assert refusal(await rig.post("/api/inspect", b"no")) == (422, "invalid_envelope")
    data = json.dumps(
        {
            "version": 1,
            "gameID": "unheard-of",
            "match": {"players": ["0"]},
            "seed": "s",
            "initialNow": 0,
            "actions": [],
        }
    ).encode()
    assert refusal(await rig.post("/api/inspect", data)) == (501, "missing_game")


async def test_a_match_of_which_nobody_tells_more_stays_on_the_page(
    rig: OperatorRig,
    autojump_clock: object,
) -> None:
    """All nodes are gone: what was seen is still shown, and why there is no more."""
    duel = await Duel.begin(rig, 4)
    place = f"/api/matches/{duel.id}/timeline"
    assert (await rig.get(place)).json()["status"] == "live"
    await rig.world.kill("n1", "n2")
    await anyio.sleep(1)
    shown = fits(await rig.get(place), "TimelineBody")
    assert (shown["status"], shown["head"]) == ("away", 1)
    assert shown["problem"]["code"] == "cluster_unreachable"


async def test_a_match_whose_owner_has_just_died_is_opened_even_so(
    rig: OperatorRig,
    autojump_clock: object,
) -> None:
    """Whoever opens it waits for the next owner, and is told of no failure."""
    duel = await Duel.begin(rig, 4)
    await rig.world.kill(await rig.operated.owner(duel.id))
    answer = await rig.get(f"/api/matches/{duel.id}/timeline")
    shown = fits(answer, "TimelineBody")
    assert (shown["status"], shown["head"]) == ("live", 1)
