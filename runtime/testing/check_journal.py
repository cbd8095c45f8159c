"""The contract of `Journal`, checked against any implementation.

Write a `JournalRig` for yours and run `check_journal(make_rig)`, or each of
`JOURNAL_CHECKS` as a test of its own. Every check gets a fresh disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Protocol

import anyio
import msgspec
from anyio.abc import TaskStatus

from ..errors import JournalCorrupt, JournalFailed
from ..journal import (
    Buried,
    Checkpointed,
    Forgotten,
    Journal,
    MatchLine,
    SavedHistory,
    SavedMark,
    SavedState,
    StoreOp,
)
from ..replication.message import Entry
from ..replication.output import (
    Appended,
    Commit,
    IdentityKept,
    Promised,
    Truncated,
    Wiped,
)
from ..replication.recovered import Recovered, RecoveredShard
from .memory_journal import DiskImage

__all__ = [
    "JOURNAL_CHECKS",
    "JournalRig",
    "check_journal",
    "entries",
    "line",
    "random_groups",
]


class JournalRig(Protocol):
    """One fresh disk, and what can happen to it."""

    def open(self) -> AbstractAsyncContextManager[Journal]:
        """The journal on it, as the next process finds it; not entered."""

    async def fill(self, full: bool) -> None:
        """Make the disk full, under an open journal too; or make room again."""

    async def spoil(self, match: str) -> None:
        """Change the stored state of a match by a bit; the journal is closed."""

    async def damage(self) -> None:
        """Make something between the first group and the last unreadable; closed."""


RigMaker = Callable[[], AbstractAsyncContextManager[JournalRig]]
Check = Callable[[JournalRig], Awaitable[None]]


async def check_journal(make_rig: RigMaker) -> None:
    """Run every check, each on a fresh rig.

    Raises:
        AssertionError: The contract is broken; the message says how.
    """
    for check in JOURNAL_CHECKS:
        async with make_rig() as rig:
            await check(rig)


def entries(first: int, last: int, epoch: int = 1) -> tuple[Entry, ...]:
    """Entries of one match with these sequence numbers."""
    return tuple(
        Entry(epoch, seq, "m", seq, record(seq)) for seq in range(first, last + 1)
    )


def record(number: int, size: int = 20) -> msgspec.Raw:
    """A packed value that is no other number's."""
    return msgspec.Raw(msgspec.msgpack.encode(b"%d " % number * (size // 4)))


def line(match: str, shard: int = 1, index: int = 0) -> MatchLine:
    """A line of the manifest."""
    return MatchLine(
        match, shard, 1, "c", "race", "1", ("0", "1"), index, b"d" * 16, 5, None, False
    )


async def check_an_empty_disk(rig: JournalRig) -> None:
    """There is no identity, no shard, and nothing to read."""
    async with rig.open() as journal:
        assert journal.recovered == Recovered()
        assert list(journal.manifest(1)) == []
        assert journal.line("m") is None
        assert journal.state("m") is None
        assert journal.history("m", 0, 1000) == ()


async def check_what_is_written_is_found(rig: JournalRig) -> None:
    """Identity, promises and entries, in order, after any number of openings."""
    async with rig.open() as journal:
        await journal.write([IdentityKept("i", 3, "nonce"), Promised(1, 7)])
        await journal.write([Appended(1, entries(1, 3)), Appended(2, entries(1, 1))])
        await journal.write([Appended(1, entries(4, 4, epoch=2)), Promised(1, 5)])
    for _ in range(2):
        async with rig.open() as journal:
            found = journal.recovered
            assert (found.ident, found.boot, found.nonce) == ("i", 3, "nonce")
            assert found.shards == {
                1: RecoveredShard(
                    1, 7, 0, 0, (*entries(1, 3), *entries(4, 4, epoch=2)), 0
                ),
                2: RecoveredShard(2, 0, 0, 0, entries(1, 1), 0),
            }


async def check_a_truncated_log_goes_on(rig: JournalRig) -> None:
    """Entries that were forgotten are replaced by those of another epoch."""
    async with rig.open() as journal:
        await journal.write([Appended(1, entries(1, 5))])
        await journal.write([Truncated(1, 3), Appended(1, entries(3, 4, epoch=2))])
        await journal.write([Truncated(1, 4)])
    async with rig.open() as journal:
        kept = (*entries(1, 2), *entries(3, 3, epoch=2))
        assert journal.recovered.shards[1].entries == kept


async def check_commit_is_a_lower_bound(rig: JournalRig) -> None:
    """It never goes back, and never beyond what is there."""
    async with rig.open() as journal:
        await journal.write([Appended(1, entries(1, 5)), Commit(1, 3)])
        await journal.write([Commit(1, 2), Appended(1, entries(6, 6))])
        await journal.write([Appended(2, entries(1, 2)), Commit(2, 9)])
        await journal.write([Appended(3, entries(1, 2)), Commit(3, 2)])
        await journal.write([Wiped(3, 1, 1, complete=True)])
    async with rig.open() as journal:
        commits = {s: log.commit for s, log in journal.recovered.shards.items()}
        assert commits[1] <= 3
        assert commits[2] <= 2
        assert commits[3] == 1


async def check_a_checkpoint_cuts_the_log(rig: JournalRig) -> None:
    """What it covers is not found again; all else is, however much came after."""
    async with rig.open() as journal:
        await journal.write([IdentityKept("i", 1, "n"), Promised(1, 4), Promised(2, 9)])
        for seq in range(1, 401):
            await journal.write([Appended(1, entries(seq, seq))])
            if seq % 10 == 0:
                await journal.write([Checkpointed(1, seq - 3, 1)])
    for _ in range(2):
        async with rig.open() as journal:
            assert journal.recovered.ident == "i"
            assert journal.recovered.shards == {
                1: RecoveredShard(1, 4, 397, 1, entries(398, 400), 397),
                2: RecoveredShard(2, 9),
            }
            await journal.write([Promised(2, 9)])


async def check_an_unfinished_install_is_not_found(rig: JournalRig) -> None:
    """Neither its states nor its log; what was promised is, and a new log begins."""
    async with rig.open() as journal:
        await journal.write([Promised(1, 3), Appended(1, entries(1, 2))])
        await journal.write([SavedState(line("old"), b"old")])
        await journal.write([Wiped(1, 50, 2, complete=False)])
        assert journal.line("old") is None
        await journal.write([SavedState(line("new"), b"new")])
    for _ in range(2):
        async with rig.open() as journal:
            assert journal.recovered.shards == {1: RecoveredShard(1, 3)}
            assert list(journal.manifest(1)) == []
            assert journal.state("new") is None
    async with rig.open() as journal:
        await journal.write([Appended(1, entries(1, 1))])
    async with rig.open() as journal:
        assert journal.recovered.shards[1].entries == entries(1, 1)


async def check_an_install_is_found_whole(rig: JournalRig) -> None:
    """With the states that came before its end, and a log behind its base."""
    async with rig.open() as journal:
        await journal.write(
            [Appended(1, entries(1, 2)), SavedState(line("old"), b"old")]
        )
        await journal.write([SavedState(line("other", shard=2), b"other")])
        await journal.write(
            [Wiped(1, 50, 2, complete=False), SavedState(line("a"), b"a")]
        )
        await journal.write(
            [SavedState(line("b"), b"b"), Wiped(1, 50, 2, complete=True)]
        )
        await journal.write([Appended(1, entries(51, 52, epoch=3))])
    async with rig.open() as journal:
        assert journal.recovered.shards[1] == RecoveredShard(
            1, 0, 50, 2, entries(51, 52, epoch=3), 50
        )
        assert [kept.match for kept in journal.manifest(1)] == ["a", "b"]
        assert journal.state("b") == b"b"
        assert journal.state("other") == b"other"


async def check_states_are_replaced(rig: JournalRig) -> None:
    """A manifest has each match once, sorted; buried ones keep their line alone."""
    names = [f"m{number:03}" for number in range(300)]
    async with rig.open() as journal:
        shuffled = Random(1).sample(names, len(names))
        await journal.write([SavedState(line(name), b"1") for name in shuffled])
        await journal.write([SavedState(line("m001", index=9), b"2")])
        await journal.write([SavedState(line("else", shard=2), b"")])
        buried = msgspec.structs.replace(line("m002"), buried=True)
        await journal.write([SavedHistory("m002", 0, (b"r",)), Buried(buried)])
        await journal.write([SavedHistory("m003", 0, (b"r",)), Forgotten("m003")])
        names.remove("m003")
    async with rig.open() as journal:
        assert [kept.match for kept in journal.manifest(1)] == names
        assert [k.match for k in journal.manifest(1, after="m297")] == names[-2:]
        assert journal.line("m001") == line("m001", index=9)
        assert journal.state("m001") == b"2"
        assert journal.line("m002") == buried
        assert journal.line("m003") is None
        assert journal.state("else") == b""
        for gone in ("m002", "m003"):
            assert journal.state(gone) is None
            assert journal.history(gone, 0, 1000) == ()


async def check_history_has_no_gap(rig: JournalRig) -> None:
    """It is read from anywhere, in pages; records that come again are not doubled."""
    records = tuple(bytes(record(number, 400)) for number in range(500))
    async with rig.open() as journal:
        await journal.write([SavedHistory("m", 0, records[:10])])
        await journal.write([SavedHistory("m", 5, records[5:300])])
        await journal.write([SavedHistory("m", 400, records[400:])])
        assert journal.history("m", 0, 10**9) == records[:300]
        await journal.write([SavedHistory("m", 290, records[290:410])])
        await journal.write([SavedHistory("n", 7, (b"seven",))])
    async with rig.open() as journal:
        assert journal.history("m", 0, 10**9) == records
        for first in (0, 9, 10, 299, 300, 400, 499):
            assert journal.history("m", first, 1) == records[first : first + 1]
            page = journal.history("m", first, 4 * len(records[-1]))
            assert page == records[first : first + len(page)]
            assert len(page) >= min(4, 500 - first)
        assert journal.history("m", 500, 1000) == ()
        assert journal.history("n", 0, 1000) == ()
        assert journal.history("n", 7, 1000) == (b"seven",)


async def check_marks_are_kept_with_their_match(rig: JournalRig) -> None:
    """Read by number, in pages; a later one replaces; they go with the match."""
    marks = {number: bytes([number % 251]) * 100 for number in range(256, 2560, 256)}
    async with rig.open() as journal:
        await journal.write([SavedState(line("m"), b"state")])
        await journal.write([SavedMark("m", 512, b"older")])
        await journal.write([SavedMark("m", at, body) for at, body in marks.items()])
    async with rig.open() as journal:
        assert dict(journal.marks("m", 0, 10_000, 10**6)) == marks
        assert [at for at, _ in journal.marks("m", 300, 1024, 10**6)] == [
            512,
            768,
            1024,
        ]
        assert [at for at, _ in journal.marks("m", 0, 10_000, 350)] == [256, 512, 768]
        assert journal.marks("n", 0, 10_000, 10**6) == ()
        await journal.write([Buried(line("m"))])
        assert journal.marks("m", 0, 10_000, 10**6) == ()


async def check_groups_keep_their_order(rig: JournalRig) -> None:
    """Many tasks write at once: what each was told is there, and all is in order."""
    async with rig.open() as journal:

        async def write(seq: int, *, task_status: TaskStatus[None]) -> None:
            task_status.started()
            await journal.write([Appended(1, entries(seq, seq))])

        async with anyio.create_task_group() as tasks:
            for seq in range(1, 101):
                await tasks.start(write, seq)
    async with rig.open() as journal:
        assert journal.recovered.shards[1].entries == entries(1, 100)


async def check_a_full_disk(rig: JournalRig) -> None:
    """Nothing of a failed group is there, nor of later ones, until it is reopened."""
    heavy = Entry(1, 2, "m", 2, record(2, 1_000_000))
    async with rig.open() as journal:
        await journal.write([Appended(1, entries(1, 1)), SavedState(line("a"), b"1")])
        await rig.fill(True)
        failed: list[StoreOp] = [SavedState(line("a"), b"2"), Appended(1, (heavy,))]
        await _refused(journal.write(failed))
        assert journal.state("a") == b"1"
        await _refused(journal.write([Promised(1, 9)]))
        await _refused(journal.reopen())
        await rig.fill(False)
        await _refused(journal.write([Promised(1, 9)]))
        await journal.reopen()
        await journal.write([Appended(1, entries(2, 2, epoch=2))])
    async with rig.open() as journal:
        assert journal.recovered.shards[1] == RecoveredShard(
            1, 0, 0, 0, (*entries(1, 1), *entries(2, 2, epoch=2)), 0
        )
        assert journal.state("a") == b"1"


async def check_a_journal_that_failed_is_found_as_it_was(rig: JournalRig) -> None:
    """A process that ends with a full disk has lost nothing that was durable."""
    async with rig.open() as journal:
        await journal.write([IdentityKept("i", 1, "n"), Appended(1, entries(1, 1))])
        await rig.fill(True)
        await _refused(
            journal.write([Appended(1, (Entry(1, 2, "m", 2, record(2, 10**6)),))])
        )
    await rig.fill(False)
    async with rig.open() as journal:
        assert journal.recovered.ident == "i"
        assert journal.recovered.shards[1].entries == entries(1, 1)


async def check_a_spoilt_state(rig: JournalRig) -> None:
    """It is an error to read it; everything else is as it was."""
    async with rig.open() as journal:
        await journal.write([IdentityKept("i", 1, "n")])
        for name in ("a", "b"):
            await journal.write([SavedState(line(name), name.encode() * 100)])
    await rig.spoil("a")
    async with rig.open() as journal:
        assert journal.recovered.ident == "i"
        assert journal.line("a") == line("a")
        assert journal.state("b") == b"b" * 100
        assert _is_corrupt(journal, "a")
        assert not _is_corrupt(journal, "b")
        await journal.write([SavedState(line("a"), b"again")])
        assert journal.state("a") == b"again"


async def check_damaged_data_have_no_identity(rig: JournalRig) -> None:
    """Something in the middle is gone: the node begins empty, and can write."""
    async with rig.open() as journal:
        await journal.write([IdentityKept("i", 1, "n"), SavedState(line("a"), b"1")])
        for seq in range(1, 6):
            await journal.write([Appended(1, entries(seq, seq))])
    await rig.damage()
    async with rig.open() as journal:
        assert journal.recovered == Recovered()
        assert journal.line("a") is None
        await journal.write([IdentityKept("j", 2, "n"), Appended(1, entries(1, 1))])
    async with rig.open() as journal:
        assert journal.recovered.ident == "j"
        assert journal.recovered.shards[1].entries == entries(1, 1)


async def check_any_operations(rig: JournalRig) -> None:
    """After any groups and any closings it holds what a plain account of them says."""
    account = DiskImage()
    rng = Random(5)
    groups = random_groups(rng, 300)
    while groups:
        async with rig.open() as journal:
            assert journal.recovered == account.recover()
            for _ in range(rng.randint(1, 80)):
                if groups:
                    account.apply(groups[0])
                    await journal.write(groups.pop(0))
            for shard in range(3):
                lines = [kept for kept in account.lines.values() if kept.shard == shard]
                expected = sorted(lines, key=lambda kept: kept.match)
                assert list(journal.manifest(shard)) == expected
            for name, body in account.states.items():
                assert journal.state(name) == body


def random_groups(rng: Random, count: int) -> list[list[StoreOp]]:
    """Groups as a node writes them: entries join on, checkpoints cover what is there.

    Without `Commit`, which need not be durable, and installs that stay unfinished.
    """
    logs = {shard: [0, 0] for shard in range(3)}  # base, last
    epoch = 1
    groups: list[list[StoreOp]] = []
    for number in range(count):
        group: list[StoreOp] = []
        for _ in range(rng.randint(1, 4)):
            shard = rng.randrange(3)
            base, last = logs[shard]
            match = f"m{shard}-{rng.randrange(6)}"
            drawn = rng.randrange(12)
            if drawn < 5:
                after = last + rng.randint(1, 5)
                group.append(Appended(shard, entries(last + 1, after, epoch)))
                logs[shard][1] = after
            elif drawn == 5 and last > base:
                seq = rng.randint(base + 1, last)
                epoch += 1
                group += [Truncated(shard, seq), Promised(shard, epoch)]
                logs[shard][1] = seq - 1
            elif drawn < 8:
                seq = rng.randint(base, last)
                group.append(Checkpointed(shard, seq, epoch))
                logs[shard][0] = seq
            elif drawn == 8 and rng.random() < 0.3:
                base = last + rng.randint(0, 20)
                group += [
                    Wiped(shard, base, epoch, complete=False),
                    SavedState(line(match, shard), b"installed %d" % number),
                    Wiped(shard, base, epoch, complete=True),
                ]
                logs[shard] = [base, base]
            elif drawn == 9:
                group.append(IdentityKept(f"i{number}", number, "n"))
            elif drawn == 10 and rng.random() < 0.3:
                group.append(Forgotten(match))
            else:
                group.append(SavedState(line(match, shard, number), b"%d" % number))
        groups.append(group)
    return groups


async def _refused(step: Awaitable[None]) -> None:
    """Await what must fail because the disk is full."""
    failure = None
    try:
        await step
    except JournalFailed as error:
        failure = error
    assert failure is not None, "a full disk took a group"
    assert failure.code == "disk_full", failure.code
    assert str(failure), "the error says nothing"


def _is_corrupt(journal: Journal, match: str) -> bool:
    try:
        journal.state(match)
    except JournalCorrupt:
        return True
    return False


JOURNAL_CHECKS: tuple[Check, ...] = (
    check_an_empty_disk,
    check_what_is_written_is_found,
    check_a_truncated_log_goes_on,
    check_commit_is_a_lower_bound,
    check_a_checkpoint_cuts_the_log,
    check_an_unfinished_install_is_not_found,
    check_an_install_is_found_whole,
    check_states_are_replaced,
    check_history_has_no_gap,
    check_marks_are_kept_with_their_match,
    check_groups_keep_their_order,
    check_a_full_disk,
    check_a_journal_that_failed_is_found_as_it_was,
    check_a_spoilt_state,
    check_damaged_data_have_no_identity,
    check_any_operations,
)
