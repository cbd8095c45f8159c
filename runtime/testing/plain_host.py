"""A host for replicas without games: a match is the list of its records.

What a follower holds can be compared with what its owner holds, record by record.
Records are numbered from 1 in a match. Implements `Host` of `replica_runner.py`, but
that no match can be pinned here: `fixed` says so, and asking for it is a defect.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgpack

from ..journal import MatchLine, SavedState, StoreOp, StoreReader
from ..replica_runner import FeedPage, Judged, Leaving
from ..replication.manifest import Manifest
from ..replication.message import Entry, ManifestLine, Piece, Raw
from ..replication.output import (
    Attach,
    Carry,
    Come,
    Committed,
    Confirmed,
    Demoted,
    Detach,
    Feed,
    Install,
    Serving,
    Split,
    StateWanted,
)
from ..replication.recovered import Recovered

__all__ = ["PlainHost"]

PAGE_MATCHES = 2
"""Matches in one page of a feed: small, so that a feed takes several."""


class PlainHost:
    """The matches of one process. The public attributes are for tests to look at."""

    def __init__(self) -> None:
        self.matches: dict[int, dict[str, list[bytes]]] = {}
        """By shard: the committed records of each match."""
        self.epochs: dict[int, int] = {}
        """By shard that is served: the epoch."""
        self.acknowledged: list[tuple[int, str, int]] = []
        """(shard, match, index) of what was proposed here and committed, in order."""
        self.retried: list[tuple[int, str, int]] = []
        """What was proposed here, and may or may not be committed elsewhere."""
        self.confirmed_tokens: dict[int, int] = {}
        """By shard: the newest token that was confirmed."""
        self.installs = 0
        self.damaged: list[str] = []
        """The next pieces of these matches arrive otherwise than they were sent."""
        self._manifests: dict[int, Manifest] = {}
        self._proposed: dict[int, dict[tuple[str, int], None]] = {}

    def recover(self, recovered: Recovered, store: StoreReader) -> None:
        """Take what a disk had: stored states, then what is known to be committed."""
        for shard, found in recovered.shards.items():
            for line in store.manifest(shard):
                body = store.state(line.match)
                assert body is not None, line
                self._of(shard)[line.match] = msgpack.unpackb(body)
            known = [entry for entry in found.entries if entry.seq <= found.commit]
            self._apply(shard, known)

    def next_index(self, shard: int, match: str) -> int:
        """For the next record of a match: behind all that was proposed."""
        waiting = sum(name == match for name, _ in self._proposed.get(shard, ()))
        return len(self._of(shard).get(match, ())) + waiting + 1

    def proposed(self, shard: int, match: str, index: int) -> None:
        """This record waits for its commit."""
        self._proposed.setdefault(shard, {})[match, index] = None

    # What the core says.

    def demoted(self, demoted: Demoted) -> None:
        epoch = self.epochs.pop(demoted.shard, demoted.epoch)  # it may not serve yet
        assert epoch == demoted.epoch, (epoch, demoted)
        for match, index in self._proposed.pop(demoted.shard, ()):
            self.retried.append((demoted.shard, match, index))

    def install(self, install: Install) -> tuple[StoreOp, ...]:
        if install.page == 0:
            self.matches[install.shard] = {}
            self.installs += 1
        return tuple(self._take(install.shard, piece) for piece in install.pieces)

    def judge(self, install: Install) -> Judged:
        if install.page == 0:
            self._manifests[install.shard] = Manifest()
        held = self._of(install.shard)
        manifest = self._manifests[install.shard]
        same = [x for x in install.lines if x == _line(x.match, held.get(x.match, []))]
        manifest.add(same)
        differing = tuple(x.match for x in install.lines if x not in same)
        return Judged(differing, manifest.digest())

    def split(self, split: Split) -> tuple[StoreOp, ...]:
        raise AssertionError(f"nothing is pinned here: {split}")

    def fixed(self, match: str) -> str:
        return "no_such_match"

    def pin_asked(self, asked: Detach | Attach) -> None:
        raise AssertionError(f"nothing is pinned here: {asked}")

    def carry(self, carry: Carry) -> Sequence[Raw]:
        return ()

    def come(self, come: Come) -> None:
        raise AssertionError(f"nothing is pinned here: {come}")

    def gone(self, shard: int) -> None:
        self.matches.pop(shard, None)

    def take_leaving(self) -> Sequence[Leaving]:
        return ()

    def committed(self, committed: Committed) -> None:
        self._apply(committed.shard, committed.entries)

    def serving(self, serving: Serving) -> None:
        assert serving.shard not in self.epochs, serving
        self.epochs[serving.shard] = serving.epoch

    def confirmed(self, confirmed: Confirmed) -> None:
        self.confirmed_tokens[confirmed.shard] = confirmed.token

    def feed(self, feed: Feed) -> FeedPage:
        held = self._of(feed.shard)
        wanted = [m for m in feed.only if m in held] if feed.only else list(held)
        names = sorted(m for m in wanted if m > feed.cursor)
        more = len(names) > PAGE_MATCHES
        del names[PAGE_MATCHES:]
        page = tuple(self._piece(feed.shard, name) for name in names)
        lines = tuple(_line(name, held[name]) for name in names)
        return FeedPage(page, names[-1] if more else None, lines=lines)

    def state(self, wanted: StateWanted) -> tuple[Piece, ...]:
        return (self._piece(wanted.shard, wanted.match),)

    def copied(self, shard: int, piece: Piece) -> tuple[StoreOp, ...]:
        return (self._take(shard, piece),)

    def _of(self, shard: int) -> dict[str, list[bytes]]:
        return self.matches.setdefault(shard, {})

    def _apply(self, shard: int, entries: Sequence[Entry]) -> None:
        for entry in entries:
            records = self._of(shard).setdefault(entry.match, [])
            if entry.index <= len(records):
                continue
            assert entry.index == len(records) + 1, (entry, len(records))
            records.append(bytes(entry.record))
            waiting = self._proposed.get(shard, {})
            if (entry.match, entry.index) in waiting:
                del waiting[entry.match, entry.index]
                self.acknowledged.append((shard, entry.match, entry.index))

    def _piece(self, shard: int, match: str) -> Piece:
        records = self._of(shard)[match]
        body: bytes = msgpack.packb(records)
        return Piece(match, len(records), 0, len(body), body)

    def _take(self, shard: int, piece: Piece) -> StoreOp:
        records = self._of(shard)[piece.match] = msgpack.unpackb(piece.data)
        if piece.match in self.damaged:
            self.damaged.remove(piece.match)
            del records[-1:]
        line = MatchLine(
            match=piece.match,
            shard=shard,
            epoch=1,
            creation="",
            game="plain",
            version="1",
            seats=(),
            index=piece.index,
            digest=b"",
            time_ms=0,
            armed_ms=None,
            ended=False,
        )
        return SavedState(line, piece.data)


def _line(match: str, records: Sequence[bytes]) -> ManifestLine:
    digest = blake2b(b"".join(records), digest_size=16).digest()
    return ManifestLine(match, len(records), digest)
