"""The matches of a node on the journal that nodes really have."""

from __future__ import annotations

from pathlib import Path

from hotseat.nodes.journal.sqlite_journal import SqliteJournal
from hotseat.runtime.hosting.replica_states import ReplicaStates
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.replication.output import (
    Appended,
    Commit,
    Feed,
    Install,
    Wiped,
)

from ...runtime.sample_games import race
from ...runtime.states.stage import EPOCH, SHARD, Log, digests, find, same

GAME = race(goal=30)


def played() -> Log:
    """Forty matches, some of which are over."""
    log = Log(GAME)
    for number in range(40):
        log.create(f"m{number:02}")
        for _ in range(number % 5):
            log.act(f"m{number:02}", 9)
    return log


def check(states: ReplicaStates, log: Log) -> None:
    """Each match is where the log is, with all of its records."""
    for match, theirs in log.states.items():
        mine = states.get(match)
        assert isinstance(mine, MatchState), mine
        assert same(mine, theirs)
        read: list[bytes] = []
        while page := states.records(match, len(read), 500):
            read += [record.digest for record in page]
        assert read == digests(log, match)


async def test_what_was_saved_is_found_by_the_next_process(tmp_path: Path) -> None:
    """From a checkpoint and the log behind it."""
    log = played()
    path = tmp_path / "journal.db"
    async with SqliteJournal(path) as journal:
        states = ReplicaStates(find(GAME), journal)
        for entry in log.entries:
            states.apply(SHARD, entry)
        await journal.write((Appended(SHARD, tuple(log.entries)),))
        ops = states.checkpoint(1_000, 1 << 20, everything=True)
        await journal.write(ops)
        states.written(ops)
        behind = len(log.entries)
        log.act("m00", 3)
        late = tuple(log.entries[behind:])
        await journal.write((Appended(SHARD, late), Commit(SHARD, len(log.entries))))
    async with SqliteJournal(path) as journal:
        states = ReplicaStates(find(GAME), journal)
        assert states.recover(journal.recovered) == ()
        states.apply(SHARD, late[0])  # as the core says, if it was not known committed
        check(states, log)


async def test_a_shard_on_disk_is_sent_to_a_learner_on_disk(tmp_path: Path) -> None:
    """Nothing of it is in memory when it is asked for; nothing at the learner when it
    is read."""
    log = played()
    async with (
        SqliteJournal(tmp_path / "owner.db") as owned,
        SqliteJournal(tmp_path / "learner.db") as learnt,
    ):
        owner = ReplicaStates(find(GAME), owned)
        for entry in log.entries:
            owner.apply(SHARD, entry)
        await owned.write((Appended(SHARD, tuple(log.entries)),))
        while ops := owner.checkpoint(1_000, 1 << 20, everything=True):
            await owned.write(ops)
        owner = ReplicaStates(find(GAME), owned)
        learner = ReplicaStates(find(GAME), learnt)
        cursor: str | None = ""
        page = 0
        base = len(log.entries)
        while cursor is not None:
            found = owner.feed(Feed(SHARD, "learner", 1, cursor), 3_000)
            cursor = found.cursor
            install = Install(SHARD, found.pieces, page, cursor is None)
            begin = (Wiped(SHARD, base, EPOCH, complete=False),) if not page else ()
            ops = learner.install(install)
            end = (Wiped(SHARD, base, EPOCH, complete=True),) if not cursor else ()
            await learnt.write((*begin, *ops, *end))
            learner.written(ops)
            page += 1
        assert page > 5
        check(learner, log)
        again = ReplicaStates(find(GAME), learnt)
        check(again, log)
        assert again.take_alarms() == learner.take_alarms() == []
