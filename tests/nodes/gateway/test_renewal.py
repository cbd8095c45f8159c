"""Tokens of who plays for weeks: a newer one comes before the old one runs out."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import RemoteMatch
from hotseat.nodes.gateway.close_code import CloseCode
from hotseat.nodes.gateway.connection import SESSION_TTL_S

from .lobby_rig import lobbies, open_lobby
from .rig import Page, Rig, rig

DAY_S = 86_400.0
TTL_S = GatewayConfig().token_ttl_s


class Calendar:
    """The time by which tokens run out: days pass while nobody is connected."""

    def __init__(self) -> None:
        self.slept_s = 1_700_000_000.0

    def __call__(self) -> float:
        return self.slept_s + anyio.current_time()

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds


async def come(gateway: Rig, match: RemoteMatch, token: str) -> dict[str, Any]:
    """Come with that token, and leave; what the welcome said."""
    page = gateway.open(match.id, token, hotseat="1")
    welcome = await page.hear_type("welcome")
    await page.leave()
    return welcome


async def test_a_seat_outlasts_its_first_token(autojump_clock: object) -> None:
    """Who comes every five days, for weeks, always gets in, by the newest token; it is
    for the same seat and the same person."""
    calendar = Calendar()
    async with rig([tic_tac_toe], now_s=calendar) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        first = token = gateway.tokens.mint(
            "seat", TTL_S, match=match.id, epoch=match.epoch, seat="0", subject="ada"
        )
        for _ in range(5):
            calendar.sleep(5 * DAY_S)
            welcome = await come(gateway, match, token)
            token = welcome["seatToken"]
            grant, old = gateway.tokens.read(token), gateway.tokens.read
            assert (grant.kind, grant.seat, grant.subject) == ("seat", "0", "ada")
            assert (grant.match, grant.epoch) == (match.id, match.epoch)
            assert welcome["tokenExpiresS"] == int(grant.expires_s)
            assert grant.expires_s == pytest.approx(calendar() + TTL_S, abs=5)
            assert old(welcome["sessionToken"]).until_s == int(grant.expires_s)
        late = gateway.open(match.id, first, hotseat="1")
        assert await late.hear_end() == (CloseCode.UNAUTHORIZED, "token_expired")


@pytest.mark.parametrize(("left_s", "renewed"), [(60, True), (-60, False)])
async def test_a_token_is_renewed_at_half_its_time(
    left_s: int, renewed: bool, autojump_clock: object
) -> None:
    """Not before: else each visit would be a new token."""
    async with rig([tic_tac_toe], now_s=Calendar()) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        ttl_s = TTL_S / 2 - left_s
        token = gateway.tokens.seat(match.id, match.epoch, "0", ttl_s)
        welcome = await come(gateway, match, token)
        assert ("seatToken" in welcome, "tokenExpiresS" in welcome) == (
            renewed,
            renewed,
        )


async def test_coming_back_with_sessions_renews_the_seat(
    autojump_clock: object,
) -> None:
    """Who comes daily shows sessions' tokens alone, and has a seat's that is good when
    they stay away after weeks."""
    calendar = Calendar()
    async with rig([tic_tac_toe], now_s=calendar) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        seat = gateway.tokens.seat(match.id, match.epoch, "0", TTL_S)
        session = (await come(gateway, match, seat))["sessionToken"]
        renewals = 0
        for _ in range(15):
            calendar.sleep(SESSION_TTL_S - 60)
            welcome = await come(gateway, match, session)
            session = welcome["sessionToken"]
            renewals += "seatToken" in welcome
            seat = welcome.get("seatToken", seat)
        assert renewals == 3
        calendar.sleep(3 * DAY_S)
        late = gateway.open(match.id, session, hotseat="1")
        assert await late.hear_end() == (CloseCode.UNAUTHORIZED, "token_expired")
        assert (await come(gateway, match, seat))["playerID"] == "0"


async def test_a_session_from_before_has_its_seat_renewed(
    autojump_clock: object,
) -> None:
    """A session's token that does not say when its seat's runs out, as older gateways
    gave them."""
    async with rig([tic_tac_toe], now_s=Calendar()) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        welcome = await come(gateway, match, gateway.seat_token(match, "0"))
        number = gateway.tokens.read(welcome["sessionToken"]).session
        place = {"match": match.id, "epoch": match.epoch, "seat": "0"}
        old = gateway.tokens.mint("session", 60, **place, session=number)
        welcome = await come(gateway, match, old)
        assert gateway.tokens.read(welcome["seatToken"]).seat == "0"


async def hear_for(page: Page, seconds: float) -> list[dict[str, Any]]:
    """What is told in that time, by a page that gives signs of life."""
    heard = []
    with anyio.move_on_after(seconds):
        while True:
            heard.append(await page.hear())
            if heard[-1].get("type") == "heartbeat":
                await page.say(type="heartbeat", id=heard[-1]["id"])
    return heard


async def test_who_stays_is_given_newer_tokens(autojump_clock: object) -> None:
    """A tab that is open for longer than its token lives has another one by then, with
    which it comes back."""
    options = GatewayConfig(token_ttl_s=1_000, heartbeat_s=100)
    async with rig([tic_tac_toe], options=options, now_s=Calendar()) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        token = gateway.tokens.seat(match.id, match.epoch, "0", 1_000)
        page = gateway.open(match.id, token, hotseat="1")
        assert "seatToken" not in await page.hear()
        heard = await hear_for(page, 950)
        fresh = [said["seatToken"] for said in heard if "seatToken" in said]
        assert len(fresh) == 1
        await anyio.sleep(100)
        assert await page.hear_end() == (CloseCode.UNAUTHORIZED, "token_expired")
        assert (await come(gateway, match, fresh[0]))["playerID"] == "0"


async def test_an_issuer_may_forbid_renewal(autojump_clock: object) -> None:
    """`renew` false: nothing that comes of it is good for longer, sessions neither."""
    calendar = Calendar()
    async with rig([tic_tac_toe], now_s=calendar) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        place = {"match": match.id, "epoch": match.epoch, "seat": "0"}
        token = gateway.tokens.mint("seat", 600, **place, renew=False)
        for shown in ("seat", "session"):
            welcome = await come(gateway, match, token)
            assert "seatToken" not in welcome, shown
            token = welcome["sessionToken"]
            grant = gateway.tokens.read(token)
            assert grant.expires_s == pytest.approx(calendar() + 600, abs=5)
            assert not grant.renew
        calendar.sleep(700)
        late = gateway.open(match.id, token, hotseat="1")
        assert await late.hear_end() == (CloseCode.UNAUTHORIZED, "token_expired")


async def test_others_are_given_no_tokens(autojump_clock: object) -> None:
    """Spectators, and pages of the reference protocol, are told what they know."""
    async with rig([tic_tac_toe], now_s=Calendar()) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        watcher = await come(gateway, match, gateway.watch_token(match))
        assert not {"seatToken", "spectatorToken", "tokenExpiresS"} & set(watcher)
        plain = gateway.sit(match, "0")
        assert "type" not in await plain.hear()


async def test_guests_are_given_newer_tokens(autojump_clock: object) -> None:
    """Of the same person, by the same name, in a lobby that has stood for days."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        epoch = lobby.epoch
        for ttl_s, renewed in ((TTL_S, False), (TTL_S / 3, True)):
            token = made.tokens.guest(lobby.id, epoch, "u1", "Ada", ttl_s)
            page = made.open(lobby.id, token, under="lobbies", hotseat="1")
            welcome = await page.hear_type("lobby:welcome")
            assert ("guestToken" in welcome) == renewed
        grant = made.tokens.read(welcome["guestToken"])
        assert (grant.kind, grant.subject, grant.name) == ("guest", "u1", "Ada")
        assert welcome["tokenExpiresS"] == int(grant.expires_s)
