"""What pages of ours may ask for beyond the reference protocol, and saves."""

from __future__ import annotations

import time

import anyio

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.replay.envelope import read_envelope
from hotseat.nodes.client import Accepted, RemoteMatch, Seat
from hotseat.nodes.gateway.close_code import CloseCode
from hotseat.nodes.gateway.page_connection import SILENT_BEATS_MAX

from .hosted_games import countdown, three_in_all
from .rig import Page, Rig, rig
from .test_rooms import place


async def welcomed(gateway: Rig, match: RemoteMatch, seat: str) -> tuple[Page, str]:
    """An extended page at a seat, and its session's token."""
    page = gateway.sit(match, seat, hotseat="1")
    welcome = await page.hear()
    assert (welcome["type"], welcome["playerID"]) == ("welcome", seat)
    assert welcome["nextActionID"] == 1
    return page, welcome["sessionToken"]


async def played(seat: Seat, times: int) -> None:
    for _ in range(times):
        assert isinstance(await seat.dispatch("move"), Accepted)


async def test_a_page_that_was_away_gets_the_steps_it_missed(
    autojump_clock: object,
) -> None:
    """With its session and the revision it saw, at any gateway: each missed step once,
    in order, and no snapshot."""
    async with rig([countdown], gateways=2) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        page, session = await welcomed(gateway, match, "0")
        assert (await page.hear())["revision"] == 0
        await page.say(
            type="action",
            matchID=match.id,
            playerID="0",
            event="move",
            payload=None,
            clientActionID="1",
        )
        assert (await page.hear())["revision"] == 2
        await page.leave()
        other = await match.take("1")
        assert isinstance(other, Seat)
        await played(other, 1)
        back = gateway.open(match.id, session, gateway=1, hotseat="1", since="2")
        welcome = await back.hear()
        assert welcome["nextActionID"] == 2
        missed = await back.hear()
        assert [step["snapshot"]["revision"] for step in missed["steps"]] == [3, 4]
        assert missed["steps"][0]["event"]["playerID"] == "1"
        # an action whose answer was lost is asked again under its number
        await back.say(
            type="action",
            matchID=match.id,
            playerID="0",
            event="move",
            payload=None,
            clientActionID="1",
        )
        again = await back.hear()
        assert (again["ackClientActionID"], again["revision"]) == ("1", 4)


async def test_a_page_that_missed_too_much_gets_a_snapshot(
    autojump_clock: object,
) -> None:
    """What is not kept any more is not told step by step."""
    async with rig([countdown]) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        seats = [await match.take(seat) for seat in match.seats]
        for number in range(40):
            await seats[number % 2].dispatch("move")  # type: ignore[union-attr]
        watcher = gateway.open(
            match.id, gateway.watch_token(match), hotseat="1", since="3"
        )
        assert "sessionToken" not in await watcher.hear()
        snapshot = await watcher.hear()
        assert ("type" in snapshot, snapshot["revision"]) == (False, 80)


async def test_a_page_that_missed_nothing_is_told_nothing(
    autojump_clock: object,
) -> None:
    """It has what there is; the next step comes as usual."""
    async with rig([countdown]) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        seat = await match.take("0")
        assert isinstance(seat, Seat)
        await played(seat, 1)
        watcher = gateway.open(
            match.id, gateway.watch_token(match), hotseat="1", since="2"
        )
        await watcher.hear()
        await anyio.sleep(1)
        assert watcher.quiet()
        other = await match.take("1")
        assert isinstance(other, Seat)
        await played(other, 1)
        assert (await watcher.hear())["revision"] == 4


async def test_a_session_ends_with_a_newer_one(autojump_clock: object) -> None:
    """Coming back with an old session after somebody sat down anew is refused at the
    node once it is forgotten, and else replaces them: the seat has one player."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page, session = await welcomed(gateway, match, "0")
        for _ in range(4):  # as many sessions as a seat has
            newest = gateway.sit(match, "0")
            await newest.hear()
        assert await page.hear_end() == (CloseCode.REPLACED, "replaced")
        back = gateway.open(match.id, session, hotseat="1")
        code, _ = await back.hear_end()
        assert code == CloseCode.REPLACED
        await newest.say(**place(match, "0", 0, "a"))
        assert (await newest.hear())["ackClientActionID"] == "a"


async def test_actions_of_an_extended_page_are_numbered(
    autojump_clock: object,
) -> None:
    """An id that is no number is refused with a word of why."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page, _ = await welcomed(gateway, match, "0")
        await page.hear()
        for id in ("client_1", "0", "-1", "01", "9" * 30):
            await page.say(**place(match, "0", 0, id))
            refused = await page.hear()
            assert refused["detail"]["code"] == "malformed_request"
        await page.say(**place(match, "0", 0, "7"))
        assert (await page.hear())["ackClientActionID"] == "7"


async def test_legal_actions_come_where_they_are_asked_for(
    autojump_clock: object,
) -> None:
    """In the newest snapshot of each message; without asking, the schema is kept."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page = gateway.sit(match, "0", hotseat="1", legal="1")
        await page.hear()
        first = await page.hear()
        assert len(first["legalActions"]) == 9
        await page.say(**place(match, "0", 0, "1"))
        assert (await page.hear())["snapshot"]["legalActions"] == []
        plain = gateway.sit(match, "1", legal="1")
        assert "legalActions" not in await plain.hear()


async def test_b54_who_gives_no_sign_of_life_is_let_go(
    autojump_clock: object,
) -> None:
    """An extended page answers heartbeats; a tab that sleeps is noticed."""
    options = GatewayConfig(heartbeat_s=10)
    async with rig([tic_tac_toe], options=options) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page, _ = await welcomed(gateway, match, "0")
        await page.hear()
        for _ in range(5):
            beat = await page.hear()
            assert beat["type"] == "heartbeat"
            assert abs(beat["serverMs"] - time.time() * 1_000) < 60_000
            await page.say(type="heartbeat", id=beat["id"])
        assert beat["roundTripMs"] == 0.0
        asleep = anyio.current_time()
        assert await page.hear_end() == (CloseCode.SILENT, "silent")
        waited = anyio.current_time() - asleep
        assert waited <= 10 * (SILENT_BEATS_MAX + 1) + 1


async def finished(gateway: Rig) -> tuple[RemoteMatch, Page]:
    match = await gateway.create("three-in-all", ["0", "1"])
    page = gateway.sit(match, "0")
    seats = [await match.take(s) for s in match.seats[1:]]
    await page.hear()
    await page.say(**place(match, "0", 0, "a"))
    await page.hear()
    assert isinstance(seats[0], Seat)
    assert isinstance(await seats[0].dispatch("place", {"cell": 1}), Accepted)
    await page.hear()
    return match, page


async def test_a_match_that_has_ended_can_be_saved(autojump_clock: object) -> None:
    """Until it has ended there is nothing to save; then there is its replay."""
    async with rig([three_in_all]) as gateway:
        match, page = await finished(gateway)
        ask = {
            "type": "save-request",
            "matchID": match.id,
            "playerID": "0",
            "clientRequestID": "s",
        }
        await page.say(**ask)
        error = await page.hear()
        assert (error["type"], error["reason"]) == ("save-error", "match_running")
        await page.say(**place(match, "0", 2, "b"))
        await page.hear()
        await page.say(**ask)
        ready = await page.hear()
        assert (ready["type"], ready["saveID"]) == ("save-ready", match.id)
        async with gateway.http() as http:
            replay = await http.get(ready["downloadURL"])
        envelope = read_envelope(replay.content)
        assert (envelope.game_id, len(envelope.actions)) == ("three-in-all", 3)


async def test_who_comes_after_the_end_sees_how_it_ended(
    autojump_clock: object,
) -> None:
    """A seat's link shows the result, though nobody sits down any more."""
    async with rig([three_in_all]) as gateway:
        match, page = await finished(gateway)
        await page.say(**place(match, "0", 2, "b"))
        await page.hear()
        late = gateway.sit(match, "0", hotseat="1", since="0")
        welcome = await late.hear()
        assert (welcome["playerID"], "sessionToken" in welcome) == ("0", False)
        await late.say(type="sync", matchID=match.id, playerID="0")
        assert (await late.hear_type("snapshot"))["result"] is not None
        await late.say(**place(match, "0", 5, "1"))
        assert (await late.hear_type("action_rejected"))["error"] == "game_over"


async def test_moves_are_taken_back_when_the_other_agrees(
    autojump_clock: object,
) -> None:
    """Asked, shown to who must agree, agreed: both see the board as it was; what is
    said twice is done once."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        pages = []
        for seat in match.seats:
            page = gateway.sit(match, seat, hotseat="1", legal="1")
            assert await page.hear_type("snapshot")
            pages.append(page)
        first, second = pages
        await first.say(**place(match, "0", 4, "1"))
        await first.hear_type("batch_applied")
        undo = {"type": "undo", "matchID": match.id, "playerID": "0"}
        for _ in range(2):  # the second is the same one again
            await first.say(**undo, clientActionID="2", verb="ask", baseRevision=1)
            answered = await first.hear_type("batch_applied")
            assert answered["ackClientActionID"] == "2"
        asked = await second.hear_type("snapshot")
        assert asked["undo"] == {"revision": 2, "playerID": "0", "to": 0, "agreed": []}
        await second.say(
            **{**undo, "playerID": "1"}, clientActionID="1", verb="agree", request=2
        )
        after = await second.hear_type("snapshot")
        assert (after["revision"], after["G"]["board"]) == (3, [None] * 9)
        assert "undo" not in after
        assert (await second.hear())["ackClientActionID"] == "1"
        await first.say(**undo, clientActionID="3", verb="decline")
        refused = await first.hear_type("action_rejected")
        assert (refused["event"], refused["detail"]["code"]) == (
            "undo",
            "no_undo_request",
        )


async def test_a_page_is_told_which_game_it_is(autojump_clock: object) -> None:
    """Once, before the first snapshot; only where it asked for extensions."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        watcher = gateway.open(match.id, gateway.watch_token(match), hotseat="1")
        watcher.passed_over = set()
        assert (await watcher.hear())["type"] == "welcome"
        version = tic_tac_toe.version
        assert await watcher.hear() == {
            "type": "match",
            "matchID": match.id,
            "game": "tic-tac-toe",
            "version": version,
            "players": ["0", "1"],
            "undo": True,
        }
        await watcher.hear_type("snapshot")
        await watcher.say(type="sync", matchID=match.id, playerID="")
        assert "type" not in await watcher.hear()
