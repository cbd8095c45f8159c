"""Messages that are nearly right: each is answered, or ends its connection with a code;
none is a failure of ours, and none reaches a node that should not."""

from __future__ import annotations

import json
import random
from typing import Any

import anyio
from structlog.testing import capture_logs

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.gateway.close_code import CloseCode

from .rig import Closed, Rig, rig

ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    2**53,
    2**70,
    -(2**70),
    "",
    "0",
    "1",
    "x" * 200,
    "\0",
    "\ud83d\ude00",
    "\u202e\u200b\ufeff",
    "__proto__",
    "../../etc/passwd",
    "%00",
    [],
    [[]],
    {},
    {"": None},
    {"__proto__": {"a": 1}},
    [None] * 3_000,
    {str(number): number for number in range(2_000)},
)
RAW = (
    '{"type":"action","matchID":"%s","playerID":"0","event":"\\ud800",'
    '"clientActionID":"1"}',
    '{"type":"action","matchID":"%s","playerID":"0","event":"place",'
    '"payload":{"cell":4,"cell":5},"clientActionID":"1"}',
    '{"type":"action","type":"sync","matchID":"%s","playerID":"0"}',
    '{"type":"sync","matchID":"%s","playerID":"0"} {}',
    '\ufeff{"type":"sync","matchID":"%s","playerID":"0"}',
    '{"type":"sync","matchID":"%s","playerID":"0","x":NaN}',
    '{"type":"sync","matchID":"%s","playerID":"0","x":1e999}',
    '{"type":"sync","matchID":"%s","playerID":"0","x":' + "9" * 5_000 + "}",
    '{"type":"sync","matchID":"%s","playerID":"0","x":'
    + '{"a":' * 500
    + "1"
    + "}" * 501,
    '{"type":["sync"],"matchID":"%s","playerID":"0"}',
    '{"matchID":"%s","playerID":"0"}',
)
FIELDS: dict[str, dict[str, Any]] = {
    "action": {"event": "place", "payload": {"cell": 4}, "clientActionID": "1"},
    "undo": {"verb": "ask", "clientActionID": "2", "to": 0, "baseRevision": 0},
    "sync": {},
    "resync": {"sinceRevision": 0},
    "save-request": {"clientRequestID": "r"},
    "heartbeat": {"id": 1},
}
OPTIONS = GatewayConfig(messages_per_s=1_000, messages_burst=1_000)
ENDINGS = {
    (CloseCode.MALFORMED, "malformed_message"),
    (CloseCode.FORBIDDEN, "wrong_seat"),
}


def oddities(match: str) -> list[str]:
    """Every message with every field odd in every way, and some with two."""
    said = []
    draw = random.Random(7)
    for kind, fields in FIELDS.items():
        whole = {"type": kind, "matchID": match, "playerID": "0", **fields}
        for name in whole:
            for odd in ODD:
                said.append(json.dumps({**whole, name: odd}))
            rest = {key: part for key, part in whole.items() if key != name}
            said.append(json.dumps(rest))
        for _ in range(10):
            one, two = draw.choice(list(whole)), draw.choice(list(whole))
            odd = {one: draw.choice(ODD), two: draw.choice(ODD)}
            said.append(json.dumps({**whole, **odd}))
    return [*said, *(text.replace("%s", match) for text in RAW)]


async def say_all(gateway: Rig, match: str, texts: list[str], **query: str) -> None:
    """Say them in turn on one connection, until it is closed."""
    token = gateway.tokens.seat(match, 1, "0", 600)
    page = gateway.open(match, token, **query)  # type: ignore[arg-type]
    await page.hear()
    while texts:
        await page.say_text(texts.pop(0))
        await anyio.sleep(0.02)
        try:
            while not page.quiet():
                await page.hear()
        except Closed as closed:
            ended = (closed.code, closed.reason)
            break
    else:
        await page.leave()
        return
    assert ended in ENDINGS


async def test_no_message_is_a_failure_of_ours(autojump_clock: object) -> None:
    """Wrong types, odd texts, numbers too large, keys twice: refused or passed over."""
    with capture_logs() as logs:
        async with rig([tic_tac_toe], options=OPTIONS) as gateway:
            for query in ({}, {"hotseat": "1", "patch": "1", "legal": "1"}):
                match = await gateway.create("tic-tac-toe", ["0", "1"])
                texts = oddities(match.id)
                texts = texts[:: 3 if query else 1]
                while texts:
                    await say_all(gateway, match.id, texts, **query)
                    await anyio.sleep(6)  # a seat may be taken anew so often
    assert [log for log in logs if log["log_level"] in ("error", "critical")] == []


async def test_odd_queries_are_passed_over(autojump_clock: object) -> None:
    """Parameters twice, empty, huge, or not numbers do not matter."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        for since in ("", "-1", "1e3", "9" * 400, "\u0663", "\0", "NaN", " 1"):
            page = gateway.open(
                match.id, gateway.watch_token(match), hotseat="1", since=since
            )
            assert (await page.hear())["type"] == "welcome"
            assert (await page.hear())["revision"] == 0
            await page.leave()
