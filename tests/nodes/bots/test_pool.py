"""Worker processes: whatever a bot does there, the process that asks goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest

from hotseat.nodes.bots.decision import (
    FRAME_BYTES_MAX,
    HEADER_BYTES,
    Answer,
    Ask,
    frame,
    size,
)
from hotseat.nodes.bots.pool import Pool, UndecidedError, open_pool
from hotseat.nodes.operator_error import OperatorError

pytestmark = pytest.mark.system

OWN = "tests.nodes.bots.own_bots"
SPECS = [
    f"last={OWN}:Last",
    f"endless={OWN}:Endless",
    f"faulty={OWN}:Faulty",
    f"where={OWN}:where",
]


def question(bot: str, **more: Any) -> Ask:
    said: dict[str, Any] = {
        "bot": bot,
        "seed": "s",
        "game": "tic-tac-toe",
        "version": "1",
        "match": "M",
        "seat": "0",
        "players": ("0", "1"),
        "config": None,
        "view": {
            "board": [None] * 9,
            "marks": {"0": "X", "1": "O"},
            "toMove": "0",
            "myPlayerID": "0",
        },
        "state": "play",
        "turn": 1,
        "revision": 0,
        "active_players": ("0",),
        "legal": [("place", {"cell": cell}) for cell in range(9)],
        "deadline_ms": None,
        "now_ms": 1,
        "think_s": 0.05,
        "limit_s": 5.0,
    }
    return Ask(**{**said, **more})


@asynccontextmanager
async def pool(workers: int = 1, limit_s: float = 20.0) -> AsyncIterator[Pool]:
    async with open_pool(
        (), SPECS, workers=workers, limit_s=limit_s, memory_mib=256
    ) as made:
        yield made


async def code_of(made: Pool, ask: Ask) -> str:
    with pytest.raises(UndecidedError) as failed:
        await made.decide(ask)
    return failed.value.code


async def test_workers_decide_and_survive_their_bots() -> None:
    """Ours and an author's; what raises, dies, or wants too much costs one decision."""
    async with pool() as made:
        assert await made.prepare() == [
            "endless",
            "faulty",
            "last",
            "mcts",
            "random",
            "where",
        ]
        assert await made.decide(question("last")) == Answer("place", {"cell": 8})
        first, second = [await made.decide(question("random")) for _ in range(2)]
        assert first == second  # by the seed
        looked = await made.decide(question("mcts"))
        assert looked.event == "place"
        assert await code_of(made, question("unheard")) == "unknown_bot"
        foreign = question("mcts", game="unheard")
        assert await code_of(made, foreign) == "cannot_decide"
        for seat, code in [
            ("raise", "bot_raised"),
            ("memory", "bot_raised"),
            ("nonsense", "bot_raised"),
            ("set", "not_json"),
        ]:
            assert await code_of(made, question("faulty", seat=seat)) == code
        assert made.statistics().started == 1
        assert await code_of(made, question("faulty", seat="exit")) == "died"
        assert await code_of(made, question("faulty", seat="die")) == "died"
        assert (await made.decide(question("faulty"))).event == "go"
        statistics = made.statistics()
        assert (statistics.started, statistics.killed) == (3, 0)
        assert (statistics.workers, statistics.waiting) == (1, 0)
        assert statistics.failed == 8


async def test_a_bot_that_never_ends_is_ended() -> None:
    """Also one that heeds nothing; the next question has another worker."""
    async with pool(limit_s=0.5) as made:
        await made.prepare()
        slow = question("endless", limit_s=0.3)
        began = anyio.current_time()
        assert await code_of(made, slow) == "too_slow"
        assert anyio.current_time() - began < 2.0
        where = await made.decide(question("where"))
        os.kill(where.payload[0], 0)  # it lives
        assert made.statistics().killed == 1
    with pytest.raises(ProcessLookupError):
        os.kill(where.payload[0], 0)


async def test_who_asks_and_goes_away_leaves_nothing_behind() -> None:
    """A decision that nobody waits for any more is ended, with its worker."""
    async with pool() as made:
        await made.prepare()
        with anyio.move_on_after(0.2):
            await made.decide(question("endless"))
        assert made.statistics().workers == 0
        assert (await made.decide(question("last"))).payload == {"cell": 8}


async def test_many_share_the_workers() -> None:
    """No more processes than there are workers; who waits longer thinks less."""
    answers: list[Any] = []
    async with pool(workers=2) as made:

        async def ask() -> None:
            answers.append((await made.decide(question("where", think_s=1.0))).payload)

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
        assert made.statistics().started == 2
    assert len({pid for pid, _ in answers}) == 2
    thought_s = [think_s for _, think_s in answers]
    assert min(thought_s) <= 0.5 < 1.0 == max(thought_s)  # the last to be asked


async def test_what_is_no_bot_says_so() -> None:
    """At the start, with a reason; a process without its bots is of no use."""
    async with open_pool((), ["no-bot"], workers=1, limit_s=5.0) as made:
        with pytest.raises(OperatorError, match="names no bot") as refused:
            await made.prepare()
        assert (refused.value.code, refused.value.exit_code) == ("invalid_bot", 2)
        assert made.statistics().workers == 0


async def test_a_question_that_is_too_large_costs_nobody() -> None:
    """It is not asked; the worker lives."""
    async with pool() as made:
        await made.prepare()
        large = msgspec.structs.replace(
            question("last"), view="x" * (FRAME_BYTES_MAX + 1)
        )
        assert await code_of(made, large) == "too_large"
        assert (await made.decide(question("last"))).event == "place"
        assert made.statistics().started == 1


def test_a_worker_whose_parent_is_gone_ends_quietly() -> None:
    """In the midst of a decision, too: what it prints is its bot's alone."""
    command = [sys.executable, "-m", "hotseat.nodes.bots.worker", "--bot", SPECS[0]]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as worker:
        assert worker.stdin
        assert worker.stdout
        assert worker.stderr
        worker.stdout.read(size(worker.stdout.read(HEADER_BYTES)))
        worker.stdout.close()
        worker.stdin.write(frame(question("last")))
        worker.stdin.close()
        assert worker.wait(20.0) == 0
        assert b"Error" not in worker.stderr.read()
