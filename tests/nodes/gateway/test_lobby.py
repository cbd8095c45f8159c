"""A lobby from its pages' side: the protocol of the reference implementation."""

from __future__ import annotations

from .lobby_rig import fits_protocol, lobbies, open_lobby


async def test_two_people_meet_and_play(autojump_clock: object) -> None:
    """From the opening to the first move, in the words of the protocol alone."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host, guest = lobby.host(), await lobby.guest("Ada")
        first = await host.state()
        assert first["phase"] == "lobby"
        assert first["hostUserID"] == host.id
        assert [seat["kind"] for seat in first["seats"]] == ["open", "open"]
        await host.say("lobby:take_seat", seatIndex=0)
        await guest.say("lobby:take_seat", seatIndex=1)
        seat = await host.seated(1, kind="human")
        assert (seat["userID"], seat["userName"]) == (guest.id, "Ada")
        await guest.say("lobby:set_ready", ready=True)
        await host.state(canStart=True)
        await host.say("lobby:start")
        ways = [
            await host.hear_type("transition_to_game"),
            await guest.hear_type("transition_to_game"),
        ]
        assert [way["playerID"] for way in ways] == ["0", "1"]
        pages = [made.open(way["roomID"], way["roomToken"]) for way in ways]
        for page in pages:
            assert (await page.hear())["revision"] == 0
        assert ways[0]["websocketURL"] == f"ws://gw/rooms/{ways[0]['roomID']}"
        assert fits_protocol(ways[0])["playerAssignments"] == [
            {"seatIndex": 0, "playerID": "0", "kind": "human"},
            {"seatIndex": 1, "playerID": "1", "kind": "human"},
        ]
