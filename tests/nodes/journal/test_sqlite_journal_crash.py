"""The journal in real processes: killed in the middle, and at a real end of space."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.journal.sqlite_journal import SqliteJournal
from hotseat.runtime.testing.check_journal import entries

pytestmark = pytest.mark.system

ACKNOWLEDGED = 300
PATIENCE_S = 30

WRITER = """
import sys
from pathlib import Path

import anyio
import msgspec

from hotseat.nodes.journal.sqlite_journal import SqliteJournal
from hotseat.runtime.journal import Checkpointed, SavedState
from hotseat.runtime.replication.output import Appended, IdentityKept
from hotseat.runtime.testing.check_journal import entries, line

AT_ONCE = 8


async def main() -> None:
    async with SqliteJournal(Path(sys.argv[1])) as journal:
        log = journal.recovered.shards.get(1)
        last = 0 if log is None else log.base_seq + len(log.entries)
        await journal.write([IdentityKept("i", 1, "n")])

        async def write(seq, *, task_status):
            task_status.started()
            ops = [Appended(1, entries(seq, seq))]
            if seq % 50 == 0:
                ops += [SavedState(line("m", index=seq), b"%d" % seq),
                        Checkpointed(1, seq - 20, 1)]
            await journal.write(ops)
            print(seq, flush=True)

        while True:
            async with anyio.create_task_group() as tasks:
                for last in range(last + 1, last + AT_ONCE + 1):
                    await tasks.start(write, last)


anyio.run(main, backend=sys.argv[2])
"""

FILLER = """
import resource
import signal
import sys
from pathlib import Path

import anyio

from hotseat.nodes.journal.sqlite_journal import SqliteJournal
from hotseat.runtime.errors import JournalFailed
from hotseat.runtime.replication.output import Appended, Promised
from hotseat.runtime.testing.check_journal import entries

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def room(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def main() -> None:
    async with SqliteJournal(Path(sys.argv[1])) as journal:
        room(500_000)
        seq = 0
        try:
            while True:
                await journal.write([Appended(1, entries(seq + 1, seq + 100))])
                seq += 100
        except JournalFailed as error:
            print("code", error.code)
        assert seq > 100, seq
        for step in (journal.write([Promised(1, 9)]), journal.reopen()):
            try:
                await step
            except JournalFailed:
                continue
            raise AssertionError("a full disk took a group")
        room(resource.RLIM_INFINITY)
        await journal.reopen()
        await journal.write([Appended(1, entries(seq + 1, seq + 1))])
        print("last", seq + 1)


anyio.run(main)
"""


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
async def test_what_a_killed_process_was_told_is_there(
    tmp_path: Path, backend: str
) -> None:
    """Every acknowledged group, in order, after kill -9 in the middle of writes."""
    path = tmp_path / "journal.db"
    for _ in range(4):
        acknowledged = await anyio.to_thread.run_sync(
            killed_in_the_middle, path, backend
        )
        async with SqliteJournal(path) as journal:
            recovered = journal.recovered
            log = recovered.shards[1]
            assert recovered.ident == "i"
            last = log.base_seq + len(log.entries)
            assert last >= acknowledged
            assert log.entries == entries(log.base_seq + 1, last)
            kept = journal.line("m")
            assert kept is not None
            assert kept.index >= log.base_seq
            assert journal.state("m") == b"%d" % kept.index


def killed_in_the_middle(path: Path, backend: str) -> int:
    """Run a writer, and kill it while it writes; the last group it was told of."""
    command = [sys.executable, "-c", WRITER, str(path), backend]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(ACKNOWLEDGED)]
        process.kill()
        lines += process.stdout.read().splitlines(keepends=True)
    # A line that was cut off says nothing.
    return max(int(line) for line in lines if line.endswith("\n"))


def test_a_real_end_of_space_is_told_and_mended(tmp_path: Path) -> None:
    """The system refuses to let the file grow; later it does again."""
    path = tmp_path / "journal.db"
    command = [sys.executable, "-c", FILLER, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    # Between the two are lines of the log.
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert said["code"] in {"disk_full", "disk_refused"}
    last = int(said["last"])

    async def look() -> None:
        async with SqliteJournal(path) as journal:
            log = journal.recovered.shards[1]
            assert log.entries == entries(1, last)
            assert log.promised == 0

    anyio.run(look)
