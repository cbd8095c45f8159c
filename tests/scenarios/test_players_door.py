"""Scenarios at the players' door: who may see and do what, who sleeps, who floods.

A is seat 0, B is seat 1, W watches: one node, one gateway, pages on memory sockets.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.rock_paper_scissors import game as rps
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import Accepted, RemoteMatch, Seat
from hotseat.nodes.gateway.close_code import CloseCode
from hotseat.nodes.gateway.page_connection import SILENT_BEATS_MAX
from hotseat.nodes.seat_secret import seat_secrets
from hotseat.nodes.tokens import KeySet, SigningKey

from ..nodes.gateway.lobby_rig import lobbies, open_lobby
from ..nodes.gateway.rig import KEYS, Page, Rig, rig
from ..nodes.gateway.test_rooms import place

OPERATORS_PATHS = (
    "/api/cluster",
    "/api/cluster/matches",
    "/api/matches/{id}/timeline",
    "/api/matches/{id}/graph",
    "/api/matches/{id}/frames",
)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def extended(gateway: Rig, match: RemoteMatch, seat: str) -> tuple[Page, str]:
    """A page of ours at a seat, and its session's token."""
    page = gateway.sit(match, seat, hotseat="1")
    session: str = (await page.hear_type("welcome"))["sessionToken"]
    await page.hear_type("snapshot")
    return page, session


async def test_b42_what_others_may_read_holds_no_secret(
    autojump_clock: object,
) -> None:
    """B42: A's hand, the seed, the seats' secrets and other tokens are in nothing that
    B, a guest, an invited one or W can ask for; what operators see is not for them."""
    async with rig([rps]) as gateway, gateway.http() as http:
        match = await gateway.create(rps.name, ["0", "1"])
        page_a, session = await extended(gateway, match, "0")
        page_b = gateway.sit(match, "1", hotseat="1")
        page_w = gateway.open(match.id, gateway.watch_token(match), hotseat="1")
        await page_a.say(
            type="action",
            matchID=match.id,
            playerID="0",
            event="choose",
            payload={"hand": "scissors"},
            clientActionID="1",
        )
        for page in (page_b, page_w):
            while (await page.hear()).get("revision") != 1:
                pass
        tokens = {
            "B": gateway.seat_token(match, "1"),
            "W": gateway.watch_token(match),
            "guest": gateway.tokens.guest(match.id, match.epoch, "u1", "Eve", 60),
            "invited": gateway.tokens.invite(match.id, match.epoch, 60),
        }
        read = [json.dumps(page_b.heard), json.dumps(page_w.heard)]
        for who, token in tokens.items():
            for path in OPERATORS_PATHS:
                answer = await ask(http, path.format(id=match.id), token)
                assert answer.status_code in (403, 404, 503), (who, path)
            for path in ("", "/replay", "/profiles", "/film"):
                answer = await ask(http, f"/api/matches/{match.id}{path}", token)
                assert answer.is_success == (path == "" and who in "BW"), (who, path)
                read.append(answer.text)
        secrets = (
            "scissors",
            "seed",
            seat_secrets(b"s" * 32)(match.id, "0"),
            session.rpartition(".")[2],
        )
        for text in read:
            for secret in secrets:
                assert secret not in text.replace(rps.name, "")


async def test_b42_the_list_of_games_and_lobbies_holds_none_either(
    autojump_clock: object,
) -> None:
    """B42: what a guest reads of a lobby holds no token, nor the door's secret."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        guest = await lobby.guest("Ada")
        await guest.hear_type("state")
        async with made.http() as http:
            read = [
                (await http.get("/api/games", headers=bearer(guest.token))).text,
                (await ask(http, f"/api/lobbies/{lobby.id}", guest.token)).text,
                json.dumps(guest.page.heard),
            ]
        secrets = (
            lobby.body["user"]["token"].rpartition(".")[2],
            guest.token.rpartition(".")[2],
            seat_secrets(b"s" * 32)(lobby.id, "door"),
        )
        assert not [secret for secret in secrets if secret in str(read)]


async def ask(http: httpx.AsyncClient, path: str, token: str) -> httpx.Response:
    await anyio.sleep(1)  # within the bound on requests
    return await http.get(path, headers=bearer(token))


def bent(token: str) -> Iterator[str]:
    """Tokens that are nearly good."""
    head, claims, proof = token.split(".")
    yield f"{token}.{proof}"
    yield f".{token}"
    yield f"{head}.{claims}."
    yield f"{head}.{claims}"
    yield f"{head}..{proof}"
    yield f"{claims}.{head}.{proof}"
    yield f"{head}.{claims}.{proof[:-2]}AA"
    yield token.upper()
    yield token + " "
    yield token + "\0"
    yield f"Bearer {token}"
    for alg in ("none", "None", "HS384", "HS512", "RS256", "EdDSA", "ES256"):
        for key in ({}, {"kid": "k1"}, {"kid": "k2"}, {"jwk": {"kty": "oct", "k": ""}}):
            swapped = encoded({"alg": alg, "typ": "JWT", **key})
            yield f"{swapped}.{claims}.{proof}"
            yield f"{swapped}.{claims}."


def encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


async def test_b52_a_token_that_is_nearly_good_opens_nothing(
    autojump_clock: object,
) -> None:
    """B52: segments more or fewer, signatures bent, algorithms swapped: refused before
    any node hears of it, in the WebSocket and in the API alike."""
    options = GatewayConfig(token_failures_per_min=10_000)
    async with rig([tic_tac_toe], options=options) as gateway, gateway.http() as http:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        asked = gateway.client.statistics().asked
        good = gateway.seat_token(match, "0")
        for token in bent(good):
            await anyio.sleep(1)
            code, _ = await gateway.open(match.id, token).hear_end()
            assert code == CloseCode.UNAUTHORIZED, token
            if token.isascii() and token.strip() == token and "\0" not in token:
                answer = await http.get(
                    f"/api/matches/{match.id}", headers=bearer(token)
                )
                assert answer.status_code == 401, token
                assert good not in answer.text
        for headers in (
            {"authorization": f"Basic {good}"},
            {"cookie": f"token={good}"},
            {"x-token": good},
        ):
            answer = await http.get(f"/api/matches/{match.id}", headers=headers)
            assert answer.status_code == 401
        assert gateway.client.statistics().asked == asked


async def test_b50_a_session_is_not_guessed_and_its_owner_comes_back(
    autojump_clock: object,
) -> None:
    """B50: a hundred wrong session tokens are refused, the later ones without a word of
    why; the page that has the right one resumes."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        page, session = await extended(gateway, match, "0")
        await page.leave()
        for number in range(100):
            wrong = f"{session[:-6]}{number:06}"
            code, reason = await gateway.open(
                match.id, wrong, hotseat="1", since="0"
            ).hear_end()
            limited = (CloseCode.FLOOD, "rate_limited")
            assert (code, reason) == limited or number < 10
        back = gateway.open(match.id, session, hotseat="1", since="0")
        assert (await back.hear())["type"] == "welcome"
        await back.say(**place(match, "0", 4, "1"))
        assert (await back.hear_type("batch_applied"))["ackClientActionID"] == "1"


async def test_b54_a_tab_that_slept_has_what_it_missed(autojump_clock: object) -> None:
    """B54: it is let go within a few heartbeats, so that it knows when it wakes; it
    comes back with what it saw last, and has each missed step once."""
    options = GatewayConfig(heartbeat_s=10)
    async with rig([tic_tac_toe], options=options) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        asleep, session = await extended(gateway, match, "0")
        await asleep.say(**place(match, "0", 4, "1"))
        seen = (await asleep.hear_type("batch_applied"))["revision"]
        await anyio.sleep(600)
        assert gateway.gateways[0].statistics().connections == 0
        assert gateway.gateways[0].statistics().let_go == 1
        other = await match.take("1")
        assert isinstance(other, Seat)
        assert isinstance(await other.dispatch("place", {"cell": 0}), Accepted)
        heard = await asleep.hear_end()  # what waited for it, read at last
        assert heard == (CloseCode.SILENT, "silent")
        beats = [m for m in asleep.heard if m.get("type") == "heartbeat"]
        assert len(beats) == SILENT_BEATS_MAX
        assert max(m.get("revision", 0) for m in asleep.heard) == seen
        back = gateway.open(match.id, session, hotseat="1", since=str(seen))
        assert (await back.hear())["nextActionID"] == 2
        missed = await back.hear()
        assert [step["snapshot"]["revision"] for step in missed["steps"]] == [2]


async def test_keys_are_rotated_under_those_who_play(autojump_clock: object) -> None:
    """New tokens are signed with the new key; old ones are good until their key is
    dropped; who is there stays."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        old_token = gateway.seat_token(match, "0")
        page = gateway.open(match.id, old_token)
        await page.hear()
        newer = SigningKey("k2", "HS256", 1, b"n" * 32)
        keys = [KeySet((*KEYS.keys, newer))]
        gateway.tokens._keys = lambda: keys[0]
        new_token = gateway.seat_token(match, "1")
        other = gateway.open(match.id, new_token)
        await other.hear()
        await page.say(**place(match, "0", 4, "a"))
        assert (await page.hear())["ackClientActionID"] == "a"
        keys[0] = KeySet((newer,))
        assert await gateway.open(match.id, old_token).hear_end() == (
            CloseCode.UNAUTHORIZED,
            "token_unknown_key",
        )
        await other.hear()
        await other.say(**place(match, "1", 0, "b"))
        assert (await other.hear())["ackClientActionID"] == "b"


@pytest.mark.parametrize("said", ["0", "1", ""])
async def test_b45_a_spectator_is_nobody_in_every_word(
    said: str, autojump_clock: object
) -> None:
    """B45: an action, or a word about taking back, in whatever name, is refused; no
    node hears of it."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        watcher = gateway.open(match.id, gateway.watch_token(match), hotseat="1")
        await watcher.hear_type("snapshot")
        asked = gateway.client.statistics().asked
        await watcher.say(**place(match, said, 4, "1"))
        undo = {"type": "undo", "matchID": match.id, "playerID": said}
        for verb in ("ask", "agree", "decline"):
            await watcher.say(**undo, clientActionID="2", verb=verb)
        for _ in range(4):
            refused = await watcher.hear_type("action_rejected")
            assert refused["error"] == "unauthorized"
        assert gateway.client.statistics().asked == asked


async def test_b56_a_flood_leaves_both_sides_equal(autojump_clock: object) -> None:
    """B56: B floods while A plays; what little of it was let through was judged as any
    action, and all see the same board afterwards."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        first, flooder = gateway.sit(match, "0"), gateway.sit(match, "1")
        await first.hear()
        await flooder.hear()
        async with anyio.create_task_group() as tasks:

            async def flood() -> None:
                for number in range(5_000):
                    await flooder.say(**place(match, "1", number % 9, f"f{number}"))

            tasks.start_soon(flood)
            await first.say(**place(match, "0", 4, "a"))
            while "ackClientActionID" not in await first.hear():
                pass
        code, _ = await flooder.hear_end()
        assert code == CloseCode.FLOOD
        back, watcher = (
            gateway.sit(match, "1"),
            gateway.open(match.id, gateway.watch_token(match)),
        )
        shown = [(await page.hear()) for page in (back, watcher)]
        await first.say(type="sync", matchID=match.id, playerID="0")
        last = await first.hear_type("snapshot")
        boards = [view["G"]["board"] for view in (*shown, last)]
        assert boards[0] == boards[1] == boards[2]
        assert {view["revision"] for view in (*shown, last)} <= {1, 2}
