"""docs/protocol.md names every field that a page is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import anyio

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import Seat

from ..nodes.gateway.rig import rig
from ..nodes.gateway.test_rooms import place
from .tables import DOCS

GAMES_OWN = {"G", "control", "details", "payload", "result", "selectors", "value"}
"""What is in these is the game's business."""


def names(said: Any) -> Iterator[str]:
    """Every field, and the message's type."""
    if isinstance(said, list):
        for part in said:
            yield from names(part)
    elif isinstance(said, dict):
        for name, part in said.items():
            yield name
            if name == "type":
                yield part
            if name not in GAMES_OWN and name != "patch":
                yield from names(part)


async def test_every_field_is_explained(autojump_clock: object) -> None:
    """A conversation with all extensions has nothing that the page does not name."""
    text = (DOCS / "protocol.md").read_text("utf-8")
    text = text[text.index("## The players' protocol") : text.index("## Limits")]
    known = {
        word
        for code in re.findall(r"`([^`]+)`", text)
        for word in re.split(r"\W", code)
    } | set(re.findall(r"`([^`]+)`", text))
    heard: list[Any] = []
    options = GatewayConfig(messages_burst=8, messages_per_s=1)
    async with rig([tic_tac_toe], options=options) as gateway:
        for query in ({}, {"hotseat": "1"}, {"hotseat": "1", "patch": "1"}):
            match = await gateway.create("tic-tac-toe", ["0", "1"])
            page = gateway.sit(match, "0", legal="1", **query)
            page.passed_over = set()
            said = {"matchID": match.id, "playerID": "0"}
            await page.say(**place(match, "0", 4, "1"))
            await page.say(**place(match, "0", 4, "2"))
            await page.say(**place(match, "0", 4, "2", baseRevision=0))
            await page.say(**said, type="sync")
            await page.say(**said, type="save-request", clientRequestID="s")
            await anyio.sleep(1)
            await page.say(**said, type="undo", clientActionID="3", verb="ask")
            for number in range(5):
                await page.say(**place(match, "0", 4, f"{7 + number}"))
            await anyio.sleep(20)
            other = await match.take("1")
            if isinstance(other, Seat):
                await other.answer_undo(True)
            await anyio.sleep(20)
            while not page.quiet():
                heard.append(await page.hear())
            await page.leave()
    told = {name for message in heard for name in names(message)}
    wanted = {"batch_applied", "batch_patched", "welcome", "match", "heartbeat"}
    assert told >= {*wanted, "action_rejected", "save-error", "retryAfterMs", "agreed"}
    assert sorted(told - known) == []
