"""The coordinator in a SQLite file: the contract, the file, several processes."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.coordinators import sqlite as sqlite_module
from hotseat.nodes.coordinators.sqlite import SqliteCoordinator
from hotseat.nodes.coordinators.sqlite_file import (
    KEPT_REVISIONS,
    SCHEMA_VERSION,
    CoordinatorFile,
)
from hotseat.runtime.coordinator import (
    ABSENT,
    CasConflict,
    CasOk,
    CasUnknown,
    Coordinator,
    Session,
    Write,
)
from hotseat.runtime.errors import (
    CoordinatorFileInvalid,
    CoordinatorUnavailable,
    WatchCompacted,
)
from hotseat.runtime.settle import read_key
from hotseat.runtime.testing.check_coordinator import (
    COORDINATOR_CHECKS,
    CoordinatorRig,
)

BACKENDS = pytest.mark.parametrize("backend", ["trio", "asyncio"])


class SqliteRig:
    """A fresh file; see `CoordinatorRig`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> Coordinator:
        return SqliteCoordinator(self.path)

    async def compact(self) -> None:
        file = CoordinatorFile.open(self.path, busy_s=5)
        file.compact()
        file.close()

    async def abandon(self, session: Session) -> None:
        with raw(self.path) as connection:
            connection.execute(
                "UPDATE session SET expires_ms = 0 WHERE id = ?", (session.id,)
            )


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """A plain connection, as another program would make."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    try:
        yield connection
    finally:
        connection.close()


@BACKENDS
@pytest.mark.parametrize("check", COORDINATOR_CHECKS, ids=lambda c: c.__name__)
def test_contract(
    check: Callable[[CoordinatorRig], Any], backend: str, tmp_path: Path
) -> None:
    """The SQLite coordinator keeps each clause of the contract, on both loops."""

    async def main() -> None:
        await check(SqliteRig(tmp_path / "coordinator.db"))

    anyio.run(main, backend=backend)


async def test_the_file_is_private_and_durable(tmp_path: Path) -> None:
    """Only the user may read the file, and it is opened with the promised care."""
    path = tmp_path / "coordinator.db"
    async with SqliteCoordinator(path) as store:
        assert isinstance(await store.cas_many([Write("/k", ABSENT, b"1")]), CasOk)
        modes = {stat.S_IMODE(os.stat(made).st_mode) for made in os.scandir(tmp_path)}
        assert modes == {0o600}
    async with SqliteCoordinator(path) as store:
        entry = await read_key(store, "/k")
        assert entry is not None
        assert (entry.value, entry.revision) == (b"1", 1)
    with raw(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def make_foreign(path: Path) -> None:
    with raw(path) as connection:
        connection.execute("CREATE TABLE shopping (item TEXT)")


def make_newer(path: Path) -> None:
    CoordinatorFile.open(path, busy_s=1).close()
    with raw(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"not a database at all" * 100), "not a usable"),
        (make_foreign, "another program"),
        (make_newer, "newer version"),
        (lambda path: path.mkdir(), "cannot open"),
    ],
    ids=["text", "foreign", "newer", "folder"],
)
async def test_a_file_that_is_not_ours_is_refused_untouched(
    make: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    """Anything but a file of ours is one clear error, and is left as it was."""
    path = tmp_path / "coordinator.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(CoordinatorFileInvalid, match=message) as caught:
        async with SqliteCoordinator(path):
            pass
    assert str(path) in str(caught.value)
    assert caught.value.code == "coordinator_file_invalid"
    assert (path.read_bytes() if path.is_file() else b"") == before


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """A path into nowhere is a clear error, not a new folder."""
    path = tmp_path / "nowhere" / "coordinator.db"
    with pytest.raises(CoordinatorFileInvalid, match="nowhere"):
        async with SqliteCoordinator(path):
            pass


async def test_a_lock_held_too_long_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the file, writes are unknown and reads go on."""
    monkeypatch.setattr(sqlite_module, "WRITE_BUSY_S", 0.05)
    path = tmp_path / "coordinator.db"
    async with SqliteCoordinator(path) as store:
        await store.cas_many([Write("/k", ABSENT, b"1")])
        with raw(path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            outcome = await store.cas_many([Write("/k2", ABSENT, b"2")])
            assert isinstance(outcome, CasUnknown)
            assert "locked" in outcome.reason
            assert len((await store.list("/")).entries) == 1
            with pytest.raises(CoordinatorUnavailable, match="locked"):
                async with store.session(1.0):
                    pass
        assert isinstance(await store.cas_many([Write("/k2", ABSENT, b"2")]), CasOk)


@pytest.mark.slow
async def test_a_session_keeps_trying_while_the_file_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock shorter than the ttl costs a session nothing."""
    monkeypatch.setattr(sqlite_module, "WRITE_BUSY_S", 0.05)
    path = tmp_path / "coordinator.db"
    async with SqliteCoordinator(path) as store, store.session(3.0) as session:
        with raw(path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            await anyio.sleep(1.2)
        await anyio.sleep(2.2)
        assert isinstance(
            await store.cas_many([Write("/s", ABSENT, b"", session.id)]), CasOk
        )


async def test_a_body_that_raises_is_not_wrapped(tmp_path: Path) -> None:
    """An error inside a session leaves it as it is, and ends the session."""
    async with SqliteCoordinator(tmp_path / "coordinator.db") as store:

        async def fail_inside() -> None:
            async with store.session(5.0) as session:
                await store.cas_many([Write("/s", ABSENT, b"", session.id)])
                raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await fail_inside()
        assert (await store.list("/")).entries == ()


async def test_a_closed_handle_says_so(tmp_path: Path) -> None:
    """After the end, calls fail clearly and a watch that waits is told."""
    store = SqliteCoordinator(tmp_path / "coordinator.db")
    async with store:
        pass
    assert isinstance(await store.cas_many([Write("/k", ABSENT, b"")]), CasUnknown)
    with pytest.raises(CoordinatorUnavailable, match="closed"):
        await store.list("/")
    with pytest.raises(CoordinatorUnavailable, match="closed"):
        async with store.watch("/", 0) as changes:
            await anext(changes)


def test_history_is_bounded(tmp_path: Path) -> None:
    """The file keeps so many transactions, says from where, and does not grow."""
    file = CoordinatorFile.open(tmp_path / "coordinator.db", busy_s=1)
    with raw(tmp_path / "coordinator.db") as connection:
        connection.execute("UPDATE position SET revision = ?", (KEPT_REVISIONS,))
        file.apply([Write("/a", ABSENT, b"")], 0)
        file.apply([Write("/b", ABSENT, b"")], 0)
        with pytest.raises(WatchCompacted, match="oldest kept is 3"):
            file.changes_after("/", 1)
        connection.execute("UPDATE position SET revision = ?", (3 * KEPT_REVISIONS,))
        file.apply([Write("/c", ABSENT, b"")], 0)
        kept = connection.execute("SELECT key FROM change").fetchall()
        assert kept == [("/c",)]
        assert len(file.list("/").entries) == 3
    file.close()


CREATE = """
import anyio, sys
from pathlib import Path
from hotseat.nodes.coordinators.sqlite import SqliteCoordinator
from hotseat.runtime.coordinator import ABSENT, CasConflict, CasOk, Write

async def main(path, name):
    async with SqliteCoordinator(path) as store:
        won = 0
        for number in range(40):
            key = f"/race/{number:02}"
            outcome = await store.cas_many([Write(key, ABSENT, name.encode())])
            assert isinstance(outcome, (CasOk, CasConflict)), outcome
            won += isinstance(outcome, CasOk)
        print(won)

anyio.run(main, Path(sys.argv[1]), sys.argv[2], backend=sys.argv[3])
"""

HOLD = """
import anyio, sys
from pathlib import Path
from hotseat.nodes.coordinators.sqlite import SqliteCoordinator
from hotseat.runtime.coordinator import ABSENT, CasOk, Write

async def main(path):
    async with SqliteCoordinator(path) as store, store.session(1.0) as session:
        outcome = await store.cas_many([Write("/held", ABSENT, b"", session.id)])
        assert isinstance(outcome, CasOk), outcome
        print("held", flush=True)
        await anyio.sleep_forever()

anyio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.system
@BACKENDS
def test_processes_race_for_one_file(tmp_path: Path, backend: str) -> None:
    """Processes that create and write one file at once share it without loss."""
    path = tmp_path / "coordinator.db"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE, str(path), name, backend],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b", "c")
    ]
    won = {
        name: int(racer.communicate(timeout=50)[0])
        for name, racer in zip("abc", racers, strict=True)
    }
    file = CoordinatorFile.open(path, busy_s=5)
    entries = file.list("/race/").entries
    file.close()
    assert len(entries) == 40 == sum(won.values())
    assert len({entry.revision for entry in entries}) == 40
    for name, count in won.items():
        assert sum(entry.value == name.encode() for entry in entries) == count


@pytest.mark.system
@BACKENDS
def test_kill_9_of_a_session_holder(tmp_path: Path, backend: str) -> None:
    """The keys of a process that was killed go away; nobody has to write for that."""
    path = tmp_path / "coordinator.db"

    async def main(line: str) -> None:
        assert line == "held\n"
        async with SqliteCoordinator(path) as store:
            held = await store.list("/held")
            assert len(held.entries) == 1
            mine = [Write("/held", ABSENT, b"mine")]
            assert await store.cas_many(mine) == CasConflict(("/held",))
            async with store.watch("/held", held.revision) as changes:
                with anyio.move_on_after(1.5):  # longer than the ttl
                    pytest.fail(f"its holder lives: {await anext(changes)}")
                holder.kill()
                with anyio.fail_after(10):
                    (gone,) = await anext(changes)
            assert (gone.key, gone.value) == ("/held", None)
            assert isinstance(await store.cas_many(mine), CasOk)

    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        try:
            anyio.run(main, holder.stdout.readline(), backend=backend)
        finally:
            holder.kill()


WRITE_AND_CLOSE = """
import sys
from pathlib import Path
import anyio
from hotseat.nodes.coordinators.sqlite import SqliteCoordinator
from hotseat.runtime.coordinator import ABSENT, Write
async def main():
    async with SqliteCoordinator(Path(sys.argv[1])) as coordinator:
        await coordinator.cas_many([Write("/theirs", ABSENT, b"1")])
anyio.run(main)
"""

READ_ALL = """
import sys
from pathlib import Path
from hotseat.nodes.coordinators.sqlite_file import CoordinatorFile
file = CoordinatorFile.open(Path(sys.argv[1]), busy_s=5)
print(*(entry.key for entry in file.list("/").entries))
"""


async def test_who_closes_the_file_takes_nothing_from_those_that_go_on(
    tmp_path: Path,
) -> None:
    """A node that is stopped is not the last one: what others write later is seen by
    the next that starts."""
    path = tmp_path / "c.db"

    def run(program: str) -> str:
        argv = [sys.executable, "-c", program, str(path)]
        done = subprocess.run(argv, check=True, capture_output=True, timeout=50)
        return done.stdout.decode()

    async with SqliteCoordinator(path) as mine:
        await mine.cas_many([Write("/before", ABSENT, b"1")])
        await anyio.to_thread.run_sync(run, WRITE_AND_CLOSE)
        await mine.cas_many([Write("/after", ABSENT, b"1")])
        seen = await anyio.to_thread.run_sync(run, READ_ALL)
        assert seen.split() == ["/after", "/before", "/theirs"]
        assert [e.key for e in (await mine.list("/")).entries] == seen.split()


@pytest.mark.parametrize("empty", [True, False])
async def test_a_file_that_should_be_there_is_not_made_anew(
    tmp_path: Path, empty: bool
) -> None:
    """A node that counted epochs from one again would take lost matches for new."""
    path = tmp_path / "coordinator.db"
    if empty:
        path.touch()
    with pytest.raises(CoordinatorFileInvalid, match=r"coordinator\.db"):
        async with SqliteCoordinator(path, create=False):
            pass
    assert path.exists() is empty


@pytest.mark.parametrize("replaced", [True, False])
async def test_a_file_that_was_taken_away_decides_nothing(
    tmp_path: Path, replaced: bool
) -> None:
    """Others would open another file: it is unavailable until it is put back."""
    path, aside = tmp_path / "coordinator.db", tmp_path / "aside.db"
    async with SqliteCoordinator(path) as store:
        path.rename(aside)
        if replaced:
            path.touch()
        with pytest.raises(CoordinatorUnavailable, match="deleted or replaced"):
            await store.list("")
        assert isinstance(await store.cas_many([Write("k", ABSENT, b"v")]), CasUnknown)
        aside.rename(path)
        assert (await store.list("")).entries == ()
        assert isinstance(await store.cas_many([Write("k", ABSENT, b"v")]), CasOk)
