"""Rooms: who may come in, who has a seat, what each is told, and what it may cost."""

from __future__ import annotations

import anyio
import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.rock_paper_scissors import game as rps
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import RemoteMatch
from hotseat.nodes.gateway.close_code import CloseCode
from hotseat.nodes.gateway.page_connection import FLOOD_MAX

from .hosted_games import countdown, three_in_all
from .rig import Closed, Message, Page, Rig, rig


def place(match: RemoteMatch, seat: str, cell: int, id: str, **more: object) -> Message:
    return {
        "type": "action",
        "matchID": match.id,
        "playerID": seat,
        "event": "place",
        "payload": {"cell": cell},
        "clientActionID": id,
        **more,
    }


async def two(gateway: Rig) -> tuple[RemoteMatch, Page, Page]:
    """A match of tic-tac-toe, and both its players."""
    match = await gateway.create("tic-tac-toe", ["0", "1"])
    pages = gateway.sit(match, "0"), gateway.sit(match, "1")
    for page in pages:
        await page.hear()
    return match, *pages


async def test_b52_nobody_comes_in_without_a_good_token(autojump_clock: object) -> None:
    """No token, another match's, another cluster's, an operator's: each is told why,
    and nothing else."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        other = await gateway.create("tic-tac-toe", ["0", "1"])
        tokens = {
            None: (CloseCode.UNAUTHORIZED, "token_missing"),
            "nonsense": (CloseCode.UNAUTHORIZED, "token_malformed"),
            gateway.seat_token(other, "0"): (CloseCode.FORBIDDEN, "token_wrong_match"),
            gateway.tokens.operator("ann", 60): (
                CloseCode.FORBIDDEN,
                "token_wrong_scope",
            ),
            gateway.tokens.seat(match.id, 1, "7", 60): (
                CloseCode.FORBIDDEN,
                "unknown_seat",
            ),
            gateway.tokens.seat(match.id, 1, "0", -60): (
                CloseCode.UNAUTHORIZED,
                "token_expired",
            ),
        }
        for token, ending in tokens.items():
            assert await gateway.open(match.id, token).hear_end() == ending
        gone = "a" * len(match.id)
        page = gateway.open(gone, gateway.tokens.seat(gone, 1, "0", 60))
        assert await page.hear_end() == (CloseCode.UNKNOWN_MATCH, "unknown_match")


async def test_b50_guessing_tokens_is_slowed_down(autojump_clock: object) -> None:
    """After some wrong tokens an address is not even told why any more; the seat's own
    player comes in all the while, and from the same address."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        good = gateway.seat_token(match, "0")
        endings = [
            await gateway.open(match.id, f"{good[:-8]}{number:08}").hear_end()
            for number in range(100)
        ]
        assert endings[0] == (CloseCode.UNAUTHORIZED, "token_invalid")
        limited = (CloseCode.FLOOD, "rate_limited")
        assert endings[10:] == [limited] * 90
        assert (await gateway.open(match.id, good).hear())["revision"] == 0
        assert await gateway.open(match.id, "wrong").hear_end() == limited
        await anyio.sleep(60)
        assert await gateway.open(match.id, "wrong").hear_end() == (
            CloseCode.UNAUTHORIZED,
            "token_malformed",
        )


async def test_the_newest_connection_of_a_seat_stays(autojump_clock: object) -> None:
    """The older is told `replaced` at once; the newer plays on."""
    async with rig([tic_tac_toe]) as gateway:
        match, old, other = await two(gateway)
        new = gateway.sit(match, "0")
        assert (await new.hear())["revision"] == 0
        assert await old.hear_end() == (CloseCode.REPLACED, "replaced")
        await new.say(**place(match, "0", 4, "a"))
        assert (await new.hear())["ackClientActionID"] == "a"
        assert (await other.hear())["revision"] == 1
        assert gateway.gateways[0].statistics().seats == 2


async def test_b47_a_seat_has_one_player_at_all_gateways(
    autojump_clock: object,
) -> None:
    """Two connections through two gateways: one stays, the other is told; never both,
    never neither."""
    async with rig([tic_tac_toe], gateways=2) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        old = gateway.sit(match, "0", gateway=0)
        await old.hear()
        new = gateway.sit(match, "0", gateway=1)
        await new.hear()
        await old.say(**place(match, "0", 1, "old"))
        assert await old.hear_end() == (CloseCode.REPLACED, "replaced")
        await new.say(**place(match, "0", 4, "new"))
        told = await new.hear()
        assert (told["ackClientActionID"], told["revision"]) == ("new", 1)
        # one that is only watched is told, too, once its node is asked again
        third = gateway.sit(match, "0", gateway=0)
        await third.hear()
        assert await new.hear_end() == (CloseCode.REPLACED, "replaced")


async def test_b47_two_at_once_leave_one(autojump_clock: object) -> None:
    """However two connections of one seat race, exactly one of them goes on."""
    async with rig([tic_tac_toe], gateways=2) as gateway:
        for _ in range(8):
            match = await gateway.create("tic-tac-toe", ["0", "1"])
            pages = [gateway.sit(match, "0", gateway=number % 2) for number in range(3)]
            ended: list[tuple[int, str]] = []

            async def wait(page: Page, into: list[tuple[int, str]] = ended) -> None:
                with anyio.move_on_after(30):
                    into.append(await page.hear_end())

            async with anyio.create_task_group() as tasks:
                for page in pages:
                    tasks.start_soon(wait, page)
            assert ended == [(CloseCode.REPLACED, "replaced")] * 2


async def test_b45_who_acts_comes_from_the_token_alone(autojump_clock: object) -> None:
    """Another seat in a message is refused, and nothing happens at that seat."""
    async with rig([tic_tac_toe]) as gateway:
        match, first, second = await two(gateway)
        await second.say(**place(match, "0", 4, "x"))
        refused = await second.hear()
        assert (refused["type"], refused["error"]) == (
            "action_rejected",
            "unauthorized",
        )
        watcher = gateway.open(match.id, gateway.watch_token(match))
        assert (await watcher.hear())["revision"] == 0
        for seat in ("0", "", "1"):
            await watcher.say(**place(match, seat, 4, "x"))
            assert (await watcher.hear())["error"] == "unauthorized"
        await anyio.sleep(1)
        assert first.quiet()


@pytest.mark.parametrize("kind", ["sync", "resync", "save-request"])
async def test_b46_another_seat_is_not_shown(kind: str, autojump_clock: object) -> None:
    """A sync for another seat, or another match, ends it before anything is read."""
    async with rig([rps]) as gateway:
        match = await gateway.create("rock-paper-scissors", ["0", "1"])
        for said in ({"matchID": match.id, "playerID": "1"}, {"matchID": "x"}):
            page = gateway.sit(match, "0")
            await page.hear()
            more = {"playerID": "0", "sinceRevision": 0, "clientRequestID": "r"}
            await page.say(type=kind, **{**more, **said})
            assert await page.hear_end() == (CloseCode.FORBIDDEN, "wrong_seat")


async def test_b11_a_refused_move_changes_nothing(autojump_clock: object) -> None:
    """A page that drew an illegal move at once is told, and the last view stands."""
    async with rig([tic_tac_toe]) as gateway:
        match, first, second = await two(gateway)
        await first.say(**place(match, "0", 4, "good", baseRevision=0))
        await first.hear()
        shown = (await second.hear())["snapshot"]
        await second.say(**place(match, "1", 4, "bad", baseRevision=1))
        refused = await second.hear()
        assert (refused["type"], refused["clientActionID"]) == (
            "action_rejected",
            "bad",
        )
        assert refused["revision"] == shown["revision"]
        await second.say(type="sync", matchID=match.id, playerID="1")
        again = await second.hear()
        assert again["G"] == shown["G"]
        assert first.quiet()


async def test_b13_a_move_made_for_an_older_board_is_dropped(
    autojump_clock: object,
) -> None:
    """A bot that thought too long is refused as stale, and may think again."""
    async with rig([tic_tac_toe]) as gateway:
        match, first, second = await two(gateway)
        for page, seat, cell in ((first, "0", 0), (second, "1", 1)):
            await page.say(**place(match, seat, cell, f"a{cell}"))
            await first.hear()
            await second.hear()
        await first.say(**place(match, "0", 5, "late", baseRevision=1))
        refused = await first.hear()
        assert (refused["error"], refused["revision"]) == ("stale_revision", 2)
        await first.say(**place(match, "0", 5, "anew", baseRevision=2))
        assert (await first.hear())["ackClientActionID"] == "anew"


async def test_the_same_id_again_is_the_same_action(autojump_clock: object) -> None:
    """A page that repeats itself is acknowledged, and nothing is played twice."""
    async with rig([tic_tac_toe]) as gateway:
        match, first, second = await two(gateway)
        await first.say(**place(match, "0", 4, "a"))
        await first.hear()
        await first.say(**place(match, "0", 4, "a"))
        again = await first.hear()
        assert (again["ackClientActionID"], again["steps"]) == ("a", [])
        assert again["revision"] == again["snapshot"]["revision"] == 1
        await first.say(**place(match, "0", 5, "a"))
        refused = await first.hear()
        assert refused["detail"]["code"] == "key_reused"
        await second.hear()
        await anyio.sleep(1)
        assert second.quiet()


async def test_a_spectator_sees_the_public_view_and_each_step_once(
    autojump_clock: object,
) -> None:
    """No frame that it receives holds a hidden choice; no step is missing or told
    twice, from its snapshot on."""
    async with rig([rps], gateways=2) as gateway:
        match = await gateway.create("rock-paper-scissors", ["0", "1"])
        players = [gateway.sit(match, seat) for seat in match.seats]
        for page in players:
            await page.hear()
        watchers = [
            gateway.open(match.id, gateway.watch_token(match), gateway=number)
            for number in (0, 0, 1)
        ]
        first = [await watcher.hear() for watcher in watchers]
        assert all("playerID" not in snapshot for snapshot in first)
        # What is hidden in a round was shown in none before.
        hands = [("rock", "rock"), ("paper", "rock"), ("scissors", "paper")]
        for number, round in enumerate(hands):
            for page, seat, hand in zip(players, match.seats, round, strict=True):
                await page.say(
                    type="action",
                    matchID=match.id,
                    playerID=seat,
                    event="choose",
                    payload={"hand": hand},
                    clientActionID=f"c{number}",
                )
                await page.hear_type("batch_applied")
                told = [await watcher.hear() for watcher in watchers]
                if seat == "0":  # nothing of it may be seen yet
                    assert hand not in str(told).replace("rock-paper-scissors", "")
        for watcher in watchers:
            while watcher.heard[-1]["revision"] < 6:
                await watcher.hear()
            steps = [
                step["snapshot"]["revision"]
                for message in watcher.heard[1:]
                for step in message["steps"]
            ]
            assert steps == [1, 2, 3, 4, 5, 6]
            assert watcher.heard == watchers[0].heard


async def test_who_does_not_read_is_cut_to_the_newest(autojump_clock: object) -> None:
    """A slow spectator costs the players nothing, and then sees how matters stand."""
    options = GatewayConfig(send_timeout_s=60)
    async with rig([countdown], options=options) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        slow = gateway.open(match.id, gateway.watch_token(match), take_in=1)
        await slow.hear()
        seats = [await match.take(seat) for seat in match.seats]
        for number in range(50):
            await seats[number % 2].dispatch("move")  # type: ignore[union-attr]
        newest = 0
        while newest < 100:
            newest = (await slow.hear())["revision"]
        assert len(slow.heard) < 10
        assert slow.heard[-1].get("type", "snapshot") == "snapshot"


async def test_who_takes_nothing_is_let_go(autojump_clock: object) -> None:
    """After the deadline the connection ends; the match does not notice."""
    options = GatewayConfig(send_timeout_s=5)
    async with rig([three_in_all], options=options) as gateway:
        match = await gateway.create("three-in-all", ["0", "1"])
        page = gateway.sit(match, "0", take_in=0)
        await anyio.sleep(5.1)
        statistics = gateway.gateways[0].statistics()
        assert (statistics.let_go, statistics.connections) == (1, 1)
        await anyio.sleep(2)
        assert gateway.gateways[0].statistics().connections == 0
        del page


async def test_b56_a_flood_ends_at_the_gateway(autojump_clock: object) -> None:
    """Too many messages are refused as busy, before any node; then the flooder is let
    go, while the other seat plays on."""
    async with rig([tic_tac_toe]) as gateway:
        match, first, second = await two(gateway)
        asked = gateway.client.statistics().asked
        for number in range(5_000):
            await second.say(**place(match, "1", 0, f"f{number}"))
        assert await second.hear_end() == (CloseCode.FLOOD, "rate_limited")
        assert gateway.client.statistics().asked - asked <= 60
        busy = [m for m in second.heard if m.get("detail", {}).get("code") == "busy"]
        assert len(busy) >= FLOOD_MAX
        await first.say(**place(match, "0", 4, "a"))
        assert (await first.hear())["ackClientActionID"] == "a"


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"type": "king"}', '{"type": "sync"}', "[" * 60_000, "x" * 200_000],
)
async def test_what_is_no_message_ends_the_connection(
    text: str, autojump_clock: object
) -> None:
    """A client that speaks another language is told so by the close code."""
    async with rig([three_in_all]) as gateway:
        match = await gateway.create("three-in-all", ["0", "1"])
        page = gateway.sit(match, "0")
        await page.say_text(text)
        assert await page.hear_end() == (CloseCode.MALFORMED, "malformed_message")


async def test_a_payload_that_cannot_be_sent_is_refused(
    autojump_clock: object,
) -> None:
    """Too large, too deep, too big a number: a rejection with the code, no crash."""
    async with rig([three_in_all]) as gateway:
        match = await gateway.create("three-in-all", ["0", "1"])
        page = gateway.sit(match, "0")
        await page.hear()
        deep: object = 0
        for _ in range(100):
            deep = [deep]
        codes = []
        for number, payload in enumerate(("x" * 70_000, deep, 10**30)):
            await page.say(**{**place(match, "0", 0, f"p{number}"), "payload": payload})
            refused = await page.hear()
            detail = refused.get("detail", {"code": refused["error"]})
            codes.append(detail["code"])
        assert codes == ["too_large", "too_deep", "non_serializable_args"]


async def test_there_is_room_for_so_many(autojump_clock: object) -> None:
    """One more is told to come again later; who leaves makes room."""
    async with rig([tic_tac_toe], options=GatewayConfig(connections_max=2)) as gateway:
        match, first, _ = await two(gateway)
        watcher = gateway.open(match.id, gateway.watch_token(match))
        assert await watcher.hear_end() == (CloseCode.AGAIN, "busy")
        await first.leave()
        await anyio.sleep(0.1)
        watcher = gateway.open(match.id, gateway.watch_token(match))
        assert (await watcher.hear())["revision"] == 0


async def test_a_gateway_that_stops_lets_its_players_go(
    autojump_clock: object,
) -> None:
    """Each is told to connect anew; who comes now is told the same."""
    async with rig([tic_tac_toe]) as gateway:
        match, first, second = await two(gateway)
        await gateway.gateways[0].stop()
        for page in (first, second, gateway.sit(match, "0")):
            assert await page.hear_end() == (CloseCode.RESTART, "stopping")
        assert not gateway.gateways[0].ready


async def test_a_connection_lives_no_longer_than_its_token(
    autojump_clock: object,
) -> None:
    """When the token expires the connection ends, and says why."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page = gateway.open(match.id, gateway.tokens.seat(match.id, 1, "0", 60))
        await page.hear()
        with pytest.raises(Closed) as closed:
            await page.hear()
        assert closed.value.reason == "token_expired"


async def test_b55_nothing_is_left_of_those_who_came_and_went(
    autojump_clock: object,
) -> None:
    """After many connections the counts are where they began."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        before = gateway.gateways[0].statistics()
        for number in range(150):
            if number % 5:
                page = gateway.open(match.id, gateway.watch_token(match))
            else:
                page = gateway.sit(match, match.seats[number % 2])
            await page.hear()
            await page.leave()
        await anyio.sleep(0.1)
        after = gateway.gateways[0].statistics()
        assert (after.connections, after.seats) == (before.connections, before.seats)
        assert after.opened == 150
        assert gateway.client.statistics().waiting == 0


async def test_a_seat_is_not_taken_again_and_again(autojump_clock: object) -> None:
    """Each time is a record in the match's log: who comes too often has to wait."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        endings: list[tuple[int, str]] = []
        for _ in range(30):
            page = gateway.sit(match, "0")
            try:
                await page.hear()
            except Closed as closed:
                endings.append((closed.code, closed.reason))
            await page.leave()
        assert endings == [(CloseCode.AGAIN, "busy")] * 10
        await anyio.sleep(10)
        await gateway.sit(match, "0").hear()


async def test_there_are_only_rooms(autojump_clock: object) -> None:
    """A WebSocket to another path is refused before it is opened."""
    async with rig([tic_tac_toe]) as gateway:
        page = gateway.open("a/b", "x")
        assert (await page.hear_end())[1] == "unknown_path"
