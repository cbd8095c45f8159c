"""A match leaves one cluster as a log, and goes on in another, as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import msgpack
import msgspec
import pytest
from structlog.testing import capture_logs

from hotseat.engine.record import Record, record_from_json
from hotseat.engine.replay.log_file import write_log_file
from hotseat.nodes.client import Accepted, RemoteMatch, Seat
from hotseat.nodes.operator.bring_in import GROUP_RECORDS
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.match_id import shard_of

from ..node.node_world import SHARDS, NodeWorld, node_world
from .operated import DUEL_SPEC, Operated


class Exported:
    """A match of another cluster: `seat` 0 is taken, and has added `moves` times."""

    def __init__(
        self, match: str, epoch: int, token: str, records: list[Record]
    ) -> None:
        self.match = match
        self.epoch = epoch
        self.token = token
        self.records = records

    @property
    def file(self) -> bytes:
        return write_log_file(self.records)


async def exported(folder: Path, moves: int = 3, *, restarts: int = 0) -> Exported:
    """Play it there, after so many restarts, and take its log."""
    async with node_world(folder, "n1", games=[DUEL_SPEC]) as old:
        for _ in range(restarts):
            await old.kill("n1")
            await old.start("n1")
        async with old.client() as client:
            match = await client.create("duel", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seat = await match.take("0")
            assert isinstance(seat, Seat)
            for _ in range(moves):
                assert isinstance(await seat.dispatch("add", 1), Accepted)
        records = await log_at(old, "n1", match.id)
    return Exported(match.id, match.epoch, seat.resume, records)


async def log_at(world: NodeWorld, node: str, match: str) -> list[Record]:
    """The committed log, by that node's door."""
    records: list[Record] = []
    while True:
        asked = {"op": "records", "match": match, "first": len(records)}
        answer = msgpack.unpackb(await world.nodes[node].door(msgpack.packb(asked)))
        records += map(record_from_json, msgpack.unpackb(answer["records"]))
        if len(records) >= answer["count"]:
            return records


async def bring(operator: Operated, old: Exported, **how: Any) -> dict[str, Any]:
    """Import it; what came of it."""
    how = {"match": old.match, "attached": old.file} | how
    return (await operator.operate("match.import", old.match, **how)).outcome


async def refused(operator: Operated, old: Exported, **how: Any) -> str:
    """The code of the no."""
    with pytest.raises(OperatorError) as caught:
        await bring(operator, old, **how)
    return caught.value.code


async def half_way(operator: Operated, owner: str, old: Exported) -> None:
    """Wait until the owner has some groups of the log, and not all."""
    with anyio.fail_after(30):
        while True:
            row = (await operator.ask_door(owner, "match", match=old.match))["row"]
            if row is not None and row["records"] > 2 * GROUP_RECORDS:
                break
            await anyio.sleep(0.001)


async def goes_on(world: NodeWorld, old: Exported, total: int) -> None:
    """Its player comes back with the token that they had, and finds what was there."""
    async with world.client() as client:
        match = client.join(old.match, old.epoch)
        seat = await match.take("0", old.token)
        assert isinstance(seat, Seat)
        assert isinstance(await seat.dispatch("add", 10), Accepted)
        view = await seat.resync()
        assert getattr(view, "view", view) == {"total": total + 10}
        assert isinstance(await match.take("1"), Seat)


async def test_a_match_goes_on_elsewhere(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """With its id, its history and its seats; its next owner has it whole, too."""
    old = await exported(tmp_path / "old")
    done = await bring(operator, old)
    assert done == {
        "records": 5,
        "committed": 5,
        "digest": old.records[-1].digest.hex(),
        "ended": False,
    }
    owner = await operator.owner(old.match)
    assert await log_at(world, owner, old.match) == old.records
    await goes_on(world, old, 3)
    await world.kill(owner)
    async with world.client() as client:
        seat = await client.join(old.match, 1).take("0", old.token)
        assert isinstance(seat, Seat)
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_a_match_of_an_older_cluster_goes_on_in_a_new_one(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """Its players name the epoch that it was created in; it is still to come here."""
    old = await exported(tmp_path / "old", restarts=3)
    assert old.epoch > 1
    await bring(operator, old)
    await goes_on(world, old, 3)
    found = await operator.ask_door("n1", "match", match=old.match)
    assert found["created_epoch"] == old.epoch
    await operator.about("match.quarantine", old.match)
    async with world.client() as client:
        refusal = await client.join(old.match, old.epoch).take("0", old.token)
        assert getattr(refusal, "code", "") == "quarantined"


async def test_a_long_log_comes_in_many_groups(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """And nobody can act before all of it is there."""
    moves = 3 * GROUP_RECORDS
    old = await exported(tmp_path / "old", moves)
    assert (await bring(operator, old))["committed"] == moves + 2
    await goes_on(world, old, moves)


async def test_an_import_that_is_cut_short_goes_on_where_it_stopped(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """Its owner dies in the middle: what came stays apart, until the rest has come."""
    moves = 6 * GROUP_RECORDS
    old = await exported(tmp_path / "old", moves)
    owner = await operator.owner(old.match)

    async def kill_in_the_middle() -> None:
        await half_way(operator, owner, old)
        await world.kill(owner)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill_in_the_middle)
        code = await refused(operator, old)
    assert code == "node_gone"
    (other,) = world.nodes
    with anyio.fail_after(30):
        while await operator.owner(old.match) != other:  # noqa: ASYNC110
            await anyio.sleep(0.05)
    async with world.client() as client:
        answer = await client.join(old.match, 1).take("0", old.token)
        assert getattr(answer, "code", None) == "quarantined"
    done = await bring(operator, old)
    assert done["records"] == moves + 2
    assert 0 < done["committed"] < moves
    await goes_on(world, old, moves)


async def test_an_import_goes_on_at_the_next_owner(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """The match's owner changes in the middle: it is one command, on record once."""
    moves = 6 * GROUP_RECORDS
    old = await exported(tmp_path / "old", moves)
    owner = await operator.owner(old.match)

    async def cut_off_in_the_middle() -> None:
        await half_way(operator, owner, old)
        world.isolate(owner)
        (other,) = world.nodes.keys() - {owner}
        shard = shard_of(old.match, SHARDS)
        with anyio.fail_after(15):
            while shard not in world.serves(other):  # noqa: ASYNC110
                await anyio.sleep(0.05)
        world.heal(owner)

    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cut_off_in_the_middle)
            done = await operator.operate(
                "match.import", old.match, match=old.match, attached=old.file
            )
    said = [line["code"] for line in logs if line["event"] == "operator_command"]
    assert said == ["", "moved_on", "", ""]  # begun and left, begun and done
    assert done.node != owner
    assert done.outcome["records"] == moves + 2
    assert 0 < done.outcome["committed"] < moves
    assert [row["state"] for row in await operator.audit()] == ["done"]
    await goes_on(world, old, moves)


async def test_what_cannot_come_in_changes_nothing(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """A file that is none, or damaged, or another match's, or tampered with."""
    old = await exported(tmp_path / "old")
    assert await refused(operator, old, attached=b"junk") == "not_a_log"
    damaged = old.file[:-1] + bytes([old.file[-1] ^ 1])
    assert await refused(operator, old, attached=damaged) == "damaged_file"
    other = await exported(tmp_path / "other")
    assert await refused(operator, old, attached=other.file) == "wrong_match"
    told = old.records[3]
    forged = msgspec.structs.replace(told, input={**told.input, "payload": 1_000})
    tampered = write_log_file([*old.records[:3], forged, *old.records[4:]])
    assert await refused(operator, old, attached=tampered) == "digest_mismatch"
    assert world.nodes["n1"].tell.status({})["matches"] == 0
    assert (await bring(operator, old))["committed"] == 5


async def test_a_match_that_is_here_is_not_overwritten(
    autojump_clock: object, world: NodeWorld, operator: Operated, tmp_path: Path
) -> None:
    """Set apart, it is continued by a log that begins as it does, and by no other."""
    old = await exported(tmp_path / "old")
    cut = write_log_file(old.records[:3])
    assert (await bring(operator, old, attached=cut))["records"] == 3
    assert await refused(operator, old) == "match_exists"
    await operator.about("match.quarantine", old.match)
    assert (await bring(operator, old))["committed"] == 2
    await goes_on(world, old, 3)
    await operator.about("match.quarantine", old.match)
    assert await refused(operator, old) == "match_exists"


async def test_a_log_of_a_game_that_is_not_here_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    """By name and version."""
    old = await exported(tmp_path / "old")
    async with node_world(tmp_path / "c", "n1") as world:
        code = await refused(Operated(world, monkeypatch), old)
    assert code == "version_missing"
