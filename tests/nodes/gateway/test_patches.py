"""Pages that ask to be told what changed: the same as the others, in fewer bytes."""

from __future__ import annotations

import json
from typing import Any

from hotseat.engine.games.reversi import game as reversi
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import Accepted, RemoteMatch, Seat
from hotseat.nodes.gateway.hosted import Drawn
from hotseat.nodes.gateway.patched import patched

from .patches import made_whole
from .rig import Page, Rig, rig
from .test_rooms import place


async def seats_of(match: RemoteMatch) -> list[Seat]:
    seats = [await match.take(name) for name in match.seats]
    assert all(isinstance(seat, Seat) for seat in seats)
    return seats  # type: ignore[return-value]


def watch(gateway: Rig, match: RemoteMatch, **query: Any) -> Page:
    return gateway.open(match.id, gateway.watch_token(match), hotseat="1", **query)


async def test_patches_lead_to_what_others_are_told_whole(
    autojump_clock: object,
) -> None:
    """Each message made whole is the message of a page that did not ask, and a match
    takes a fraction of the bytes."""
    async with rig([reversi]) as gateway:
        match = await gateway.create("reversi", ["0", "1"])
        seats = await seats_of(match)
        plain, short = watch(gateway, match), watch(gateway, match, patch="1")
        for page in (plain, short):
            assert (await page.hear())["type"] == "welcome"
        holds = await short.hear()
        assert holds == await plain.hear()
        for number in range(12):
            seat = seats[number % 2]
            view = await seat.resync(legal=True)
            event, payload = view.legal[0]  # type: ignore[union-attr,index]
            assert isinstance(await seat.dispatch(event, payload), Accepted)
            said = await short.hear()
            assert said["type"] == "batch_patched"
            whole, holds = made_whole(said, holds)
            assert whole == await plain.hear()
        sizes = [sum(len(json.dumps(m)) for m in page.heard) for page in (short, plain)]
        assert sizes[0] < 0.6 * sizes[1]


async def test_a_page_is_acknowledged_by_patches(autojump_clock: object) -> None:
    """Its own batches say what they answer, and legal actions are part of what is
    patched; an action said twice is answered with no steps."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page = gateway.sit(match, "0", hotseat="1", patch="1", legal="1")
        await page.hear()
        holds = await page.hear()
        for _ in range(2):
            await page.say(**place(match, "0", 4, "1"))
            said = await page.hear()
            assert said["ackClientActionID"] == "1"
            whole, holds = made_whole(said, holds)
            assert (whole["revision"], holds["revision"]) == (1, 1)
            assert holds["legalActions"] == []
        assert whole["steps"] == []
        [other] = [await match.take("1")]
        assert isinstance(other, Seat)
        await other.dispatch("place", {"cell": 0})
        _, holds = made_whole(await page.hear(), holds)
        assert len(holds["legalActions"]) == 7


async def test_what_is_new_comes_whole(autojump_clock: object) -> None:
    """On a new connection nothing is known of what the page holds; a snapshot that was
    asked for is one; who did not say that it knows our extensions gets no patches."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        seats = await seats_of(match)
        await seats[0].dispatch("place", {"cell": 0})
        late = watch(gateway, match, patch="1", since="0")
        await late.hear()
        first = await late.hear()
        assert (first["type"], first["revision"]) == ("batch_applied", 1)
        await late.say(type="sync", matchID=match.id, playerID="")
        whole = await late.hear()
        assert whole == first["snapshot"]
        reference = gateway.open(match.id, gateway.watch_token(match), patch="1")
        await reference.hear()
        await seats[1].dispatch("place", {"cell": 1})
        assert (await late.hear())["type"] == "batch_patched"
        assert (await reference.hear())["type"] == "batch_applied"


def test_a_patch_that_is_longer_is_not_sent() -> None:
    """A board that is another one altogether is told as it is."""

    def batch(cells: list[Any]) -> dict[str, Any]:
        return {"type": "batch_applied", "snapshot": {"G": cells}, "steps": []}

    base = {"G": [0] * 50}
    new = Drawn(1, batch(["x"] * 50))
    assert new.json_after(base) == new.json
    near = Drawn(1, batch([0] * 49 + ["x"]))
    assert json.loads(near.json_after(base)) == patched(near.message, base)
    assert near.json_after({"G": []}) != near.json_after(base)
