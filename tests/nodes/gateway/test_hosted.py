"""The recorded conversations of the reference implementation, held with a gateway.

Ours differ where they must: action ids are our own, `log` is empty, payloads of others
and what depends on them are hidden unless the event is public, evaluations and draws
are shown to nobody, and of a game with secrets neither label nor selectors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
import pytest

from hotseat.engine.definition import Game

from ...conformance.games.rock_paper_scissors_core import game as rps
from ...runtime.hosting import HeldClock
from .hosted_games import countdown, three_in_all
from .rig import Message, Page, rig

VECTORS = json.loads((Path(__file__).parent / "vectors" / "hosted.json").read_text())
SERVER = jsonschema.Draft202012Validator(VECTORS["schemas"]["server"])
CLIENT = jsonschema.Draft202012Validator(VECTORS["schemas"]["client"])
GAMES = {"room-a": three_in_all, "room-b": rps, "room-c": countdown}


def masked(said: Any, seat: str, open_information: bool, ids: dict[str, int]) -> Any:
    """A message without what we hide on purpose, and without times. `ids` numbers the
    actions in the order in which they come."""
    if isinstance(said, list):
        return [masked(part, seat, open_information, ids) for part in said]
    if not isinstance(said, dict):
        return said
    plain = {
        name: masked([] if name == "log" else part, seat, open_information, ids)
        for name, part in said.items()
    }
    if "event" in plain and "transition" in plain:  # a step
        event = plain["event"]
        own = open_information and event["event"] != "__timeout"
        own = own or event["playerID"] == seat
        event["at"] = 0
        if not own:
            event["payload"] = None
        resolver = plain["transition"]["resolver"] if own else None
        plain["transition"]["resolver"] = resolver and resolver.removeprefix("submit_")
        plain["transition"] |= {"evaluations": [], "rng": None}
    for name in ("actionID", "headActionID"):
        if name in plain:
            plain[name] = ids.setdefault(plain[name], len(ids))
    if "selectors" in plain and not open_information:
        plain["selectors"], plain["controlMeta"]["label"] = {}, None
    if "matchID" in plain:
        plain["matchID"] = "the match"
    return plain


async def converse(session: Message, game: Game, quiet_s: float = 2.0) -> int:
    """Hold a recorded conversation; returns how many messages were compared."""
    clock = HeldClock(0)
    compared = 0
    our_ids: dict[str, int] = {}
    their_ids: dict[str, int] = {}
    shown = game.open_information
    async with rig([game], known=[], clock=clock) as gateway:
        match = await gateway.create(game.name, session["players"])
        pages: dict[str, Page] = {}
        for step in session["steps"]:
            if "connect" in step:
                seat = step["connect"]
                pages[seat] = gateway.sit(match, seat)
            elif "timeout" in step:
                clock.ms = step["timeout"]
            else:
                CLIENT.validate(step["send"])
                said = {**step["send"], "matchID": match.id}
                await pages[said["playerID"]].say(**said)
            for receipt in step["receive"]:
                seat = receipt["to"]
                heard = await pages[seat].hear()
                SERVER.validate(heard)
                ours = masked(heard, seat, shown, our_ids)
                theirs = masked(receipt["message"], seat, shown, their_ids)
                assert ours == theirs, (session["name"], step, seat)
                compared += 1
            await anyio.sleep(quiet_s)
            assert all(page.quiet() for page in pages.values()), step
    return compared


@pytest.mark.parametrize("session", VECTORS["sessions"], ids=lambda s: s["matchID"])
async def test_a_recorded_conversation(
    session: Message, autojump_clock: object
) -> None:
    """Every message that the reference sends, in its order, to whom it sends it."""
    compared = await converse(session, GAMES[session["matchID"]])
    assert compared == sum(len(step["receive"]) for step in session["steps"])


def test_a_recorded_conversation_on_asyncio() -> None:
    """The same on the other backend."""
    session = {**VECTORS["sessions"][0]}
    session["steps"] = session["steps"][:4]
    assert anyio.run(converse, session, three_in_all, 0.01) == 5
