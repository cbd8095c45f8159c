"""What a token allows, and gateways that give none."""

from __future__ import annotations

import pytest

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.gateway.close_code import CloseCode
from hotseat.nodes.tokens import KeySet, SigningKey

from .rig import rig


@pytest.mark.parametrize("extended", ["0", "1"])
async def test_who_may_only_watch_does_not_play(
    extended: str, autojump_clock: object
) -> None:
    """A seat's token without the scope `play` takes no seat, and takes it from nobody;
    what anybody of the match may ask for, it may."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        player = gateway.open(match.id, gateway.seat_token(match, "0"))
        await player.hear()
        token = gateway.tokens.mint(
            "seat",
            600,
            match=match.id,
            epoch=match.epoch,
            seat="0",
            scopes=frozenset({"watch"}),
        )
        other = gateway.open(match.id, token, hotseat=extended)
        assert await other.hear_end() == (CloseCode.FORBIDDEN, "token_wrong_scope")
        async with gateway.http() as http:
            state = await http.get(f"/api/matches/{match.id}?token={token}")
        assert state.status_code == 200, state.text
        assert gateway.gateways[0].counts.replaced == 0


async def test_a_gateway_that_can_only_check_tokens_lets_players_in(
    autojump_clock: object,
) -> None:
    """With public keys alone it gives no token: not for a session, nor a newer one; who
    asks it for links is told so, before a match is opened."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        signer = SigningKey.draw("EdDSA", 0)
        gateway.keys = KeySet((signer,))
        token = gateway.tokens.seat(match.id, match.epoch, "0", 60)
        site = gateway.tokens.mint("operator", 60, subject="site")
        gateway.keys = KeySet((SigningKey(signer.id, "EdDSA", 0, b"", signer.public),))
        page = gateway.open(match.id, token, hotseat="1")
        welcome = await page.hear_type("welcome")
        assert not {"sessionToken", "seatToken"} & welcome.keys()
        assert (await page.hear())["revision"] == 0
        async with gateway.http() as http:
            http.headers["authorization"] = f"Bearer {site}"
            asked = {"game": "tic-tac-toe", "players": ["0", "1"]}
            answers = [
                await http.post("/api/matches", json=asked),
                await http.post("/api/lobbies", json={"game": "tic-tac-toe"}),
                await http.post(f"/api/matches/{match.id}/tokens", json={"epoch": 1}),
            ]
        for answer in answers:
            assert answer.status_code == 501, answer.text
            assert answer.json()["error"]["code"] == "no_signing_key"
