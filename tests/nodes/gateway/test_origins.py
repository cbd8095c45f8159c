"""Which pages may use a gateway, and what their browsers are told to forbid them."""

from __future__ import annotations

import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.gateway.close_code import CloseCode
from hotseat.nodes.gateway.origins import Origins

from .rig import rig

ELSEWHERE = "https://games.example.org"
FRIEND = "https://friend.example.org"
OPTIONS = GatewayConfig(
    allowed_origins=(FRIEND,), public_url="https://play.example.org"
)


@pytest.mark.parametrize(
    ("origin", "host", "may"),
    [
        (None, "gw:80", True),  # no browser
        ("http://gw:80", "gw:80", True),
        ("https://GW", "gw", True),  # a proxy ends TLS
        (FRIEND, "gw", True),
        ("https://play.example.org", "10.0.0.1:8080", True),
        (ELSEWHERE, "gw", False),
        (ELSEWHERE, None, False),
        ("http://gw.example.org", "gw", False),
        ("null", "null", False),
        ("", "", False),
        ("://", "", False),
        ("file://gw", "gw", False),
        (f"{FRIEND}.evil", "gw", False),
    ],
)
def test_a_page_is_its_own_or_was_allowed(
    origin: str | None, host: str | None, may: bool
) -> None:
    """Names that only look alike are others; a star lets in any."""
    origins = Origins(OPTIONS.allowed_origins, OPTIONS.public_url)
    assert origins.allow(origin, host) is may
    assert Origins(("*",), None).allow(origin, host)


async def test_a_page_from_elsewhere_opens_no_room(autojump_clock: object) -> None:
    """Not even with a good token: somebody else's page has got hold of it."""
    async with rig([tic_tac_toe], options=OPTIONS) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        headers = {"origin": ELSEWHERE, "host": "gw"}
        page = gateway.sit(match, "0", headers=headers)
        assert await page.hear_end() == (CloseCode.FORBIDDEN, "wrong_origin")
        assert gateway.client.statistics().asked == 1  # the creation
        for origin in (FRIEND, "http://gw"):
            page = gateway.sit(match, "0", headers={**headers, "origin": origin})
            assert (await page.hear())["revision"] == 0


async def test_answers_are_readable_where_that_was_allowed(
    autojump_clock: object,
) -> None:
    """A browser's question beforehand is answered for an allowed origin alone."""
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, idempotency-key",
    }
    async with rig([tic_tac_toe], options=OPTIONS) as gateway, gateway.http() as http:
        for origin, readable in ((FRIEND, True), (ELSEWHERE, False)):
            headers = {"origin": origin}
            answer = await http.options("/api/matches", headers={**headers, **asked})
            assert answer.is_success is readable
            answer = await http.get("/healthz", headers=headers)
            allowed = answer.headers.get("access-control-allow-origin")
            assert (allowed == origin) is readable
            assert "access-control-allow-credentials" not in answer.headers
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        answer = await http.get("/healthz", headers={"origin": FRIEND})
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/healthz", "/openapi.json", "/api/matches/x", "/nowhere"]
)
async def test_every_answer_is_kept_from_misuse(
    path: str, autojump_clock: object
) -> None:
    """No framing, no guessing of types, no token in a Referer, no script."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        headers = (await http.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
