"""The contract of `Coordinator`, checked against any implementation.

Write a `CoordinatorRig` for yours and run `check_coordinator(make_rig)`, or each of
`COORDINATOR_CHECKS` as a test of its own. Every check gets a fresh store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import anyio

from ..coordinator import (
    ABSENT,
    KEY_BYTES_MAX,
    VALUE_BYTES_MAX,
    WRITES_MAX,
    CasConflict,
    CasOk,
    CasOutcome,
    Change,
    Coordinator,
    Session,
    Write,
)
from ..errors import WatchCompacted
from ..settle import read_key, settle_write

__all__ = ["COORDINATOR_CHECKS", "CoordinatorRig", "check_coordinator"]

PATIENCE_S = 10.0
"""How long a check waits for what must come."""

TTL_S = 0.5
"""Of sessions in these checks."""


class CoordinatorRig(Protocol):
    """One fresh store, and what only its back-end can do to it."""

    def open(self) -> Coordinator:
        """Another handle on the store, as another process would have; not entered."""

    async def compact(self) -> None:
        """Forget all history up to now."""

    async def abandon(self, session: Session) -> None:
        """Let the session expire, as if its holder had died."""


RigMaker = Callable[[], AbstractAsyncContextManager[CoordinatorRig]]
Check = Callable[[CoordinatorRig], Awaitable[None]]


async def check_coordinator(make_rig: RigMaker) -> None:
    """Run every check, each on a fresh rig.

    Raises:
        AssertionError: The implementation breaks the contract.
    """
    for check in COORDINATOR_CHECKS:
        async with make_rig() as rig:
            await check(rig)


async def check_list(rig: CoordinatorRig) -> None:
    """A listing holds what is under its prefix, sorted, at the store's revision."""
    async with rig.open() as store:
        empty = await store.list("/a/")
        assert empty.entries == (), empty
        first = landed(await store.cas_many([Write("/a/2", ABSENT, b"two")]))
        second = landed(
            await store.cas_many(
                [Write("/a/1", ABSENT, b""), Write("/b/1", ABSENT, b"other")]
            )
        )
        listing = await store.list("/a/")
        found = [(entry.key, entry.value, entry.revision) for entry in listing.entries]
        assert found == [("/a/1", b"", second), ("/a/2", b"two", first)], found
        assert listing.revision == second > first > empty.revision, listing
        # A prefix is text, not a pattern.
        assert (await store.list("/_/")).entries == ()
        assert (await store.list("/%")).entries == ()
        assert len((await store.list("")).entries) == 3


async def check_create_if_absent(rig: CoordinatorRig) -> None:
    """Of two creations of one key, the second is a conflict and changes nothing."""
    async with rig.open() as store:
        landed(await store.cas_many([Write("/k", ABSENT, b"mine")]))
        before = await store.list("/")
        outcome = await store.cas_many([Write("/k", ABSENT, b"yours")])
        assert outcome == CasConflict(("/k",)), outcome
        assert await store.list("/") == before


async def check_conflict_names_the_keys(rig: CoordinatorRig) -> None:
    """A conflict names exactly the keys that had moved, in the order asked."""
    async with rig.open() as store:
        old = landed(await store.cas_many([Write("/k", ABSENT, b"1")]))
        landed(await store.cas_many([Write("/k", old, b"2")]))
        outcome = await store.cas_many(
            [
                Write("/new", ABSENT, b"n"),
                Write("/missing", 7, b"m"),
                Write("/k", old, b"3"),
            ]
        )
        assert outcome == CasConflict(("/missing", "/k")), outcome


async def check_all_or_nothing(rig: CoordinatorRig) -> None:
    """Writes of one transaction land together, at one revision, or not at all."""
    async with rig.open() as store:
        base = landed(await store.cas_many([Write("/a", ABSENT, b"0")]))
        writes = [Write("/a", base, b"1"), Write("/b", base, b"1")]
        assert await store.cas_many(writes) == CasConflict(("/b",))
        listing = await store.list("/")
        assert [(e.key, e.value) for e in listing.entries] == [("/a", b"0")]
        writes = [Write("/a", base, None)]
        writes += [Write(f"/c/{n:02}", ABSENT, b"") for n in range(WRITES_MAX - 1)]
        both = landed(await store.cas_many(writes))
        listing = await store.list("/")
        assert len(listing.entries) == WRITES_MAX - 1
        assert {entry.revision for entry in listing.entries} == {both}


async def check_limits(rig: CoordinatorRig) -> None:
    """A transaction above a limit is a ValueError, and nothing of it lands."""
    big = b"x" * (VALUE_BYTES_MAX + 1)
    refused: list[list[Write]] = [
        [],
        [Write(f"/{n}", ABSENT, b"") for n in range(WRITES_MAX + 1)],
        [Write("/twice", ABSENT, b"1"), Write("/twice", ABSENT, b"2")],
        [Write("/fine", ABSENT, b""), Write("/big", ABSENT, big)],
        [Write("/" + "k" * KEY_BYTES_MAX, ABSENT, b"")],
        [Write("", ABSENT, b"")],
        [Write("/gone", ABSENT, None)],
        [Write(f"/{n}", ABSENT, big[1:]) for n in range(WRITES_MAX)],
    ]
    async with rig.open() as store:
        for writes in refused:
            try:
                outcome = await store.cas_many(writes)
            except ValueError:
                continue
            raise AssertionError(f"{outcome} for {[w.key[:20] for w in writes]}")
        assert (await store.list("")).entries == ()
        landed(await store.cas_many([Write("/big", ABSENT, big[1:])]))
        assert (await store.list("/big")).entries[0].value == big[1:]


async def check_handles_see_each_other(rig: CoordinatorRig) -> None:
    """What one handle wrote, another reads at once and may build upon."""
    async with rig.open() as one, rig.open() as other:
        first = landed(await one.cas_many([Write("/k", ABSENT, b"one")]))
        assert [e.value for e in (await other.list("/k")).entries] == [b"one"]
        landed(await other.cas_many([Write("/k", first, b"other")]))
        outcome = await one.cas_many([Write("/k", first, b"late")])
        assert outcome == CasConflict(("/k",)), outcome
        assert [e.value for e in (await one.list("/k")).entries] == [b"other"]


async def check_watch_groups_transactions(rig: CoordinatorRig) -> None:
    """A watch gives each transaction once, whole, in order, and only its prefix."""
    async with rig.open() as one, rig.open() as other:
        base = landed(await one.cas_many([Write("/w/0", ABSENT, b"before")]))
        async with one.watch("/w/", base) as changes:
            first = landed(
                await other.cas_many(
                    [
                        Write("/w/1", ABSENT, b"1"),
                        Write("/x/1", ABSENT, b"elsewhere"),
                        Write("/w/2", ABSENT, b"2"),
                    ]
                )
            )
            landed(await one.cas_many([Write("/x/2", ABSENT, b"elsewhere")]))
            second = landed(await one.cas_many([Write("/w/1", first, b"1b")]))
            assert sorted(await coming(changes), key=lambda c: c.key) == [
                Change("/w/1", b"1", first),
                Change("/w/2", b"2", first),
            ]
            assert await coming(changes) == (Change("/w/1", b"1b", second),)
            third = landed(await other.cas_many([Write("/w/2", first, b"2b")]))
            assert await coming(changes) == (Change("/w/2", b"2b", third),)


async def check_watch_from_the_past(rig: CoordinatorRig) -> None:
    """A watch begins right after the revision it names, however long ago."""
    async with rig.open() as store:
        base = (await store.list("")).revision
        revisions = [
            landed(await store.cas_many([Write(f"/w/{n}", ABSENT, b"%d" % n)]))
            for n in range(5)
        ]
        async with store.watch("/w/", base) as changes:
            seen = [(await coming(changes))[0].revision for _ in revisions]
        assert seen == revisions
        async with store.watch("/w/", revisions[2]) as changes:
            assert await coming(changes) == (Change("/w/3", b"3", revisions[3]),)


async def check_watch_sees_deletes(rig: CoordinatorRig) -> None:
    """A delete reaches a watch as a tombstone, and the key can be created again."""
    async with rig.open() as store:
        made = landed(await store.cas_many([Write("/w", ABSENT, b"1")]))
        async with store.watch("/w", made) as changes:
            gone = landed(await store.cas_many([Write("/w", made, None)]))
            assert await coming(changes) == (Change("/w", None, gone),)
            assert (await store.list("/w")).entries == ()
            assert await store.cas_many([Write("/w", made, b"2")]) == CasConflict(
                ("/w",)
            )
            again = landed(await store.cas_many([Write("/w", ABSENT, b"2")]))
            assert await coming(changes) == (Change("/w", b"2", again),)


async def check_compaction(rig: CoordinatorRig) -> None:
    """A watch from before what is kept is told so; one from after a listing is not."""
    async with rig.open() as store:
        base = (await store.list("")).revision
        last = landed(await store.cas_many([Write("/w/1", ABSENT, b"1")]))
        last = landed(await store.cas_many([Write("/w/1", last, None)]))
        await rig.compact()
        try:
            async with store.watch("/w/", base) as changes:
                seen = await coming(changes)
        except WatchCompacted:
            pass
        else:
            raise AssertionError(f"a compacted watch went on with {seen}")
        listing = await store.list("/w/")
        assert (listing.entries, listing.revision) == ((), last), listing
        async with store.watch("/w/", listing.revision) as changes:
            new = landed(await store.cas_many([Write("/w/2", ABSENT, b"2")]))
            assert await coming(changes) == (Change("/w/2", b"2", new),)


async def check_watch_outlives_other_writes(rig: CoordinatorRig) -> None:
    """Compaction does not break a watch that has seen all there was for it."""
    async with rig.open() as store:
        base = (await store.list("")).revision
        async with store.watch("/w/", base) as changes:
            mark = landed(await store.cas_many([Write("/w/0", ABSENT, b"")]))
            await coming(changes)
            last = landed(await store.cas_many([Write("/x", ABSENT, b"")]))
            with anyio.move_on_after(0.2):  # it looks, and finds nothing for it
                await anext(changes)
            await rig.compact()
            gone = landed(
                await store.cas_many(
                    [Write("/w/0", mark, None), Write("/x", last, b"")]
                )
            )
            assert await coming(changes) == (Change("/w/0", None, gone),)


async def check_session_end_deletes(rig: CoordinatorRig) -> None:
    """When a session ends, its keys go, in one transaction, and no others."""
    async with rig.open() as holder, rig.open() as other:
        async with holder.session(TTL_S) as session:
            made = landed(
                await holder.cas_many(
                    [
                        Write("/s/1", ABSENT, b"", session.id),
                        Write("/s/2", ABSENT, b"", session.id),
                        Write("/s/freed", ABSENT, b"", session.id),
                        Write("/s/own", ABSENT, b""),
                    ]
                )
            )
            landed(await holder.cas_many([Write("/s/freed", made, b"f")]))
            base = (await other.list("/s/")).revision
            assert not session.lost
        async with other.watch("/s/", base) as changes:
            gone = await coming(changes)
        assert {change.key for change in gone} == {"/s/1", "/s/2"}, gone
        assert all(change.value is None for change in gone), gone
        left = [entry.key for entry in (await other.list("/s/")).entries]
        assert left == ["/s/freed", "/s/own"], left


async def check_session_lives(rig: CoordinatorRig) -> None:
    """A session that is held outlives its ttl many times."""
    async with (
        rig.open() as holder,
        rig.open() as other,
        holder.session(TTL_S) as session,
    ):
        landed(await holder.cas_many([Write("/s", ABSENT, b"", session.id)]))
        await anyio.sleep(3 * TTL_S)
        landed(await other.cas_many([Write("/t", ABSENT, b"")]))  # may sweep
        assert [e.key for e in (await other.list("/s")).entries] == ["/s"]
        assert not session.lost


async def check_session_expires(rig: CoordinatorRig) -> None:
    """When a holder dies, its keys go, others see it, and it writes no more."""
    async with rig.open() as holder, rig.open() as other:
        async with holder.session(TTL_S) as session:
            made = landed(await holder.cas_many([Write("/s", ABSENT, b"", session.id)]))
            async with other.watch("/s", made) as changes:
                await rig.abandon(session)
                gone = await coming(changes)
            assert [(c.key, c.value) for c in gone] == [("/s", None)], gone
            outcome = await holder.cas_many([Write("/s", ABSENT, b"", session.id)])
            assert outcome == CasConflict(("/s",)), outcome
            with anyio.fail_after(PATIENCE_S):
                while not session.lost:  # noqa: ASYNC110 - the contract has no event
                    await anyio.sleep(0.01)
        landed(await holder.cas_many([Write("/s", ABSENT, b"again")]))


async def check_settle(rig: CoordinatorRig) -> None:
    """`settle_write` says truly whether the write landed, and what stands there."""
    async with rig.open() as one, rig.open() as other:
        values = iter([b"one", b"other", b"third"])
        first = await settle_write(one, "/k", ABSENT, lambda: next(values))
        assert first.landed, first
        assert first.entry == await read_key(other, "/k")
        second = await settle_write(other, "/k", ABSENT, lambda: next(values))
        assert not second.landed, second
        assert second.entry == first.entry
        assert first.entry is not None
        third = await settle_write(
            other, "/k", first.entry.revision, lambda: next(values)
        )
        assert third.landed, third


COORDINATOR_CHECKS: tuple[Check, ...] = (
    check_list,
    check_create_if_absent,
    check_conflict_names_the_keys,
    check_all_or_nothing,
    check_limits,
    check_handles_see_each_other,
    check_watch_groups_transactions,
    check_watch_from_the_past,
    check_watch_sees_deletes,
    check_compaction,
    check_watch_outlives_other_writes,
    check_session_end_deletes,
    check_session_lives,
    check_session_expires,
    check_settle,
)


def landed(outcome: CasOutcome) -> int:
    """The revision of a compare-and-swap that must have landed."""
    assert isinstance(outcome, CasOk), outcome
    return outcome.revision


async def coming(changes: AsyncIterator[tuple[Change, ...]]) -> tuple[Change, ...]:
    """The watch's next item, which must come."""
    with anyio.fail_after(PATIENCE_S):
        return await anext(changes)
