"""A shard's matches on their way to a learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from hotseat.runtime.command import Detach
from hotseat.runtime.control_plane import SHARDS_MAX
from hotseat.runtime.errors import ContentMalformed, JournalCorrupt
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.hosting.transfer import Assembly, Cursor, Part, cut, pack_part
from hotseat.runtime.journal import MatchLine
from hotseat.runtime.replica_runner import FeedPage
from hotseat.runtime.replication.message import Piece
from hotseat.runtime.replication.output import Appended, Feed, Install, Split, Wiped
from hotseat.runtime.testing.memory_journal import MemoryDisk

from ..sample_games import race
from .stage import SHARD, Log, Node, digests, same
from .test_apply import counting, played

PINNED = SHARDS_MAX + 5


@pytest.mark.parametrize("limit", [100, 1_000, 64 * 1024])
def test_a_learner_gets_every_match_with_its_history(limit: int) -> None:
    """Hot, passivated, ended and buried ones, in pages of whatever size."""
    log = played(Log(race(goal=20)), *"abcd")
    owner = Node(race(goal=20), options=HostingOptions(ended_retention_s=3_600))
    log.act("b", 20)
    owner.own(log)
    owner.checkpoint()
    owner.pass_time(8_000)
    owner.checkpoint()  # b is buried, the others are passivated
    log.act("c", 20)
    log.act("d")
    owner.follow(log)
    learner = Node(race(goal=20))
    pages = owner.feed(learner, limit=limit)
    assert pages > 4 or limit > 1_000
    for _ in range(2):
        assert learner.line("b").buried
        for match in "acd":
            assert same(learner.state(match), log.states[match])
            assert learner.digests(match) == digests(log, match)
        learner.restart()
    assert learner.codes() == []


def test_a_match_that_moves_on_between_pages_is_whole_all_the_same() -> None:
    """Its part is begun anew; entries behind the cut are then skipped."""
    log = played(Log(), *"abc", actions=30)
    owner = Node(options=HostingOptions(transfer_bytes=700))
    owner.own(log)
    cut_at = len(log.entries)
    learner = Node()
    cursor: str | None = ""
    page = 0
    while cursor is not None:
        found = owner.states.feed(Feed(SHARD, "learner", 1, cursor), 500)
        cursor = found.cursor
        install = Install(SHARD, found.pieces, page, cursor is None)
        learner.write(learner.install(install, cut_at))
        page += 1
        if page % 3 == 0 and page < 40:
            log.act("abc"[page % 9 // 3])
            owner.own(log)
            if page % 2:
                owner.checkpoint()
    learner.follow(log)
    for match in "abc":
        assert same(learner.state(match), log.states[match])
        assert learner.digests(match) == digests(log, match)
    assert learner.codes() == owner.codes() == []


def test_a_shard_of_many_matches_is_sent_page_by_page() -> None:
    """However small they are: a page keeps nobody waiting for long."""
    log = Log()
    for number in range(300):
        log.create(f"m{number:03}")
    owner, learner = Node(), Node()
    owner.own(log)
    assert owner.feed(learner, limit=1 << 20) == 3
    assert len(list(learner.states.lines(SHARD))) == 300
    assert same(learner.state("m299"), log.states["m299"])


def test_an_install_replaces_all_that_was_there() -> None:
    """What the learner had of an earlier life is gone, though it goes by the name."""
    log = played(Log(), "a", "b")
    learner = Node()
    learner.follow(played(Log(race(goal=7)), "a", "z"))
    owner = Node()
    owner.own(log)
    owner.feed(learner)
    assert learner.states._roster.matches.keys() == {"a", "b"}
    assert same(learner.state("a"), log.states["a"])


def test_a_learner_goes_on_before_the_states_are_durable() -> None:
    """What came is in memory until it is written, and then once."""
    log = played(Log(race(goal=9)), "a", "b", actions=2)
    log.act("b", 9)
    owner, learner = Node(race(goal=9)), Node(race(goal=9))
    owner.own(log)
    found = owner.states.feed(Feed(SHARD, "learner", 1, ""), 1 << 20)
    install = Install(SHARD, found.pieces, 0, last=True)
    ops = learner.install(install, len(log.entries))
    log.act("a")
    learner.follow(log, persist=False)
    for match in "ab":
        assert same(learner.state(match), log.states[match])
    learner.write((*ops, Appended(SHARD, (log.entries[-1],))))
    learner.checkpoint()
    learner.pass_time(600)
    assert learner.states.statistics().hot == 0
    for match in "ab":
        assert same(learner.state(match), log.states[match])
        assert learner.digests(match) == digests(log, match)


@pytest.mark.parametrize("limit", [200, 64 * 1024])
def test_history_that_could_not_be_written_is_written_later(limit: int) -> None:
    """The disk refuses one page's group, whichever; the matches lose no record."""
    log = played(Log(), *"ab", actions=20)
    owner = Node(options=HostingOptions(transfer_bytes=700))
    owner.own(log)
    pages: list[Install] = []
    cursor: str | None = ""
    while cursor is not None:
        found = owner.states.feed(Feed(SHARD, "learner", 1, cursor), limit)
        cursor = found.cursor
        pages.append(Install(SHARD, found.pieces, len(pages), cursor is None))
    for refused in range(len(pages)):
        learner = Node()
        for page, install in enumerate(pages):
            ops = learner.install(install, len(log.entries))
            if page == refused:
                learner.states.failed(ops)
                ops = tuple(op for op in ops if isinstance(op, Wiped))
            learner.write(ops)
        for match in "ab":
            assert same(learner.state(match), log.states[match])
        learner.checkpoint()
        for _ in range(2):
            for match in "ab":
                assert learner.digests(match) == digests(log, match), refused
            learner.restart()


def test_what_one_replica_cannot_carry_on_another_can() -> None:
    """A match that is divergent or without its game at the owner is whole at a learner
    that has the game right."""
    log = played(Log(counting()), "a")
    poor, wrong = Node(race()), Node(counting(2))
    poor.follow(log)
    wrong.follow(log)
    for owner in (poor, wrong):
        owner.checkpoint()
        learner = Node(counting())
        owner.feed(learner)
        assert same(learner.state("a"), log.states["a"])
        assert learner.digests("a") == digests(log, "a")


def test_a_verdict_travels() -> None:
    """A match that was set apart for what it does stays so at the next replica."""
    log = played(Log(), "a")
    owner, learner = Node(), Node()
    owner.own(log)
    owner.states.quarantine("a", "quarantined")
    owner.feed(learner)
    assert learner.line("a").quarantined == "quarantined"


def _line(match: str) -> MatchLine:
    return MatchLine(match, 1, 1, "", "", "", (), 4, b"", 0, None, False)


def test_parts_survive_being_cut() -> None:
    """Whatever the size of the pieces."""
    part = Part(_line("a"), 3, (b"x" * 100, b"y" * 7), b"state")
    body = pack_part(part)
    for size in (1, 7, len(body), 1_000):
        assembly = Assembly()
        parts = [assembly.add(p) for p in cut("a", 4, body, size)]
        assert parts[-1] == part
        assert not any(parts[:-1])
        assert assembly.empty


def test_pieces_that_do_not_join_on_are_refused() -> None:
    """One that is lost, of another match, or of another making begins nothing."""
    body = pack_part(Part(_line("a"), 0, (), b"s" * 100))
    first, second, third = cut("a", 4, body, len(body) // 3 + 1)
    odd = [
        third,
        Piece("b", 4, second.offset, second.size, second.data),
        Piece("a", 5, second.offset, second.size, second.data),
        Piece("a", 4, second.offset, second.size + 1, second.data),
        Piece("a", 4, second.offset, second.size, second.data * 9),
    ]
    for piece in odd:
        assembly = Assembly()
        assembly.add(first)
        with pytest.raises(ContentMalformed):
            assembly.add(piece)
        assert assembly.empty


def test_junk_is_no_part() -> None:
    """Any bytes at all are answered with a part or an error."""
    rng = Random(5)
    body = pack_part(Part(_line("a"), 0, (b"r",), b"s"))
    for _ in range(300):
        junk = bytearray(body)
        for _ in range(rng.randint(1, 3)):
            junk[rng.randrange(len(junk))] = rng.randrange(256)
        with suppress(ContentMalformed):
            Assembly().add(Piece("a", 4, 0, len(junk), bytes(junk)))


def test_a_malformed_install_is_told() -> None:
    """It costs alarms, and no exception. The matches are known to be lacking, so that
    nobody is told that there are none; the owner's copy makes them whole."""
    log = played(Log(), "a")
    owner, node = Node(), Node()
    owner.own(log)
    pieces = (Piece("a", 4, 0, 3, b"xyz"), Piece("b", 1, 5, 9, b"x"))
    assert node.states.install(Install(SHARD, pieces, 0, last=True)) == ()
    assert node.codes() == ["install_malformed"] * 2 + ["log_gap"] * 2
    assert [node.line(match).quarantined for match in "ab"] == ["log_gap"] * 2
    assert node.states.take_wanted() == [(SHARD, "a"), (SHARD, "b")]
    for piece in owner.states.state_pieces("a"):
        node.states.copied(SHARD, piece)
    assert same(node.state("a"), log.states["a"])
    assert node.digests("a") == digests(log, "a")
    log.act("a")
    node.applied = len(log.entries) - 1
    node.follow(log, persist=False)
    assert same(node.state("a"), log.states["a"])


def test_an_owner_that_cannot_read_all_its_matches_feeds_nobody() -> None:
    """A learner that lacks some must not come to be in sync: an alarm says why."""

    class Torn(MemoryDisk):
        torn = False

        def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
            for line in super().manifest(shard, after):
                if self.torn and line.match == "b":
                    raise JournalCorrupt("a line of the manifest is not whole")
                yield line

    disk = Torn()
    log = played(Log(race(goal=9)), "a", "b", "c")
    owner = Node(race(goal=9), disk=disk)
    for match in "abc":
        log.act(match, 9)
    owner.own(log)
    owner.checkpoint()
    owner.pass_time(8_000)  # they have ended, and are on the disk only
    disk.torn = True
    page = owner.states.feed(Feed(SHARD, "learner", 1, ""), 1 << 20)
    assert page == FeedPage((), None, withheld=True)
    assert owner.codes() == ["manifest_corrupt"]
    disk.torn = False
    assert not owner.states.feed(Feed(SHARD, "learner", 1, ""), 1 << 20).withheld


def test_cursors_read_what_they_write() -> None:
    """Between matches and within one."""
    for cursor in (Cursor(), Cursor("abc"), Cursor("abc", 3, 5, 9, 4)):
        assert Cursor.read(str(cursor)) == cursor


def test_a_pinned_match_arrives_though_its_owner_cannot_play_it() -> None:
    """Its state stands still long before the record with which it left its home, which
    the learner has: what counts are the records, and they are all there."""
    log = played(Log(), "a", actions=20)
    log.decide("a", Detach(PINNED))
    owner, learner = Node(race(goal=7)), Node()
    owner.follow(log)
    owner.write(owner.states.split(Split(PINNED, "a")))
    assert owner.line("a").quarantined == "divergent"
    learner.follow(log)
    owner.feed(learner, shard=PINNED)
    assert same(learner.state("a"), log.states["a"])
    assert [line.match for line in learner.states.lines(PINNED)] == ["a"]
    assert list(learner.states.lines(SHARD)) == []


def test_what_comes_in_parts_is_played_before_it_is_durable() -> None:
    """The owner's state stands still, many records ago; the learner goes on from it
    with all that came behind it, though none of that is on its disk yet."""
    log = Log(counting())
    owner = Node(counting(), options=HostingOptions(transfer_bytes=700))
    played(log, "a", actions=3)
    owner.own(log)
    owner.checkpoint()
    owner.restart(race())
    owner.applied = len(log.entries)
    for _ in range(30):
        log.act("a")
    owner.follow(log)
    assert owner.line("a").quarantined == "missing_game"
    learner = Node(counting())
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        found = owner.states.feed(Feed(SHARD, "learner", 1, cursor), 700)
        cursor = found.cursor
        install = Install(SHARD, found.pieces, pages, cursor is None)
        learner.install(install, len(log.entries))
        pages += 1
    assert pages > 3
    assert same(learner.state("a"), log.states["a"])
    assert learner.codes() == []


def test_what_came_and_is_not_durable_yet_is_handed_on() -> None:
    """Without durability a replica may own the shard before its disk has the history:
    the next learner gets all of it."""
    log = played(Log(), "a", actions=60)
    owner = Node(options=HostingOptions(transfer_bytes=700))
    owner.own(log)
    learner, second = Node(options=HostingOptions(transfer_bytes=700)), Node()
    for target, source in ((learner, owner), (second, learner)):
        cursor: str | None = ""
        pages = 0
        while cursor is not None:
            found = source.states.feed(Feed(SHARD, "learner", 1, cursor), 700)
            cursor = found.cursor
            install = Install(SHARD, found.pieces, pages, cursor is None)
            target.install(install, len(log.entries))
            pages += 1
        assert pages > 3
        assert target.digests("a") == digests(log, "a")


def test_records_behind_a_state_that_stands_still_are_handed_on() -> None:
    """A match is over, and nodes without its game have more of its records than they
    can play; it is handed on, from one to the next, with all of them."""
    log = played(Log(race(goal=30)), "a", actions=30)
    assert log.states["a"].ended
    one_record_each = HostingOptions(transfer_bytes=1)
    owner = Node(race(goal=30), options=one_record_each)
    owner.follow(log)
    owner.checkpoint()
    owner.restart(counting())
    owner.applied = len(log.entries)
    log.decide("a", Detach(PINNED))
    owner.follow(log)
    owner.write(owner.states.split(Split(PINNED, "a")))
    poor = Node(counting(), options=one_record_each)
    owner.feed(poor, shard=PINNED, limit=700)
    learner = Node(race(goal=30))
    poor.feed(learner, shard=PINNED, limit=700)
    assert same(learner.state("a"), log.states["a"])
    assert learner.digests("a") == digests(log, "a")
