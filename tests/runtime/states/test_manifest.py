"""What an install brought is compared with what the owner holds, match by match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest

from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.hosting.transfer import Assembly, Part, cut, pack_part
from hotseat.runtime.replica_runner import Judged
from hotseat.runtime.replication.manifest import Manifest
from hotseat.runtime.replication.message import ManifestLine, Piece
from hotseat.runtime.replication.output import Feed, Install

from ..sample_games import race
from .stage import SHARD, Log, Node, digests, same

GOAL = 20


def played(*matches: str, actions: int = 6) -> Log:
    """A log in which these matches were played."""
    log = Log(race(goal=GOAL))
    for match in matches:
        log.create(match)
    for number in range(actions):
        log.act(matches[number % len(matches)])
    return log


def owner_of(log: Log, **options: int) -> Node:
    node = Node(race(goal=GOAL), options=HostingOptions(**options))
    node.own(log)
    return node


def pages(owner: Node, limit: int = 64 * 1024, *only: str) -> list[Install]:
    """All pages of the shard, or of these matches."""
    found: list[Install] = []
    cursor: str | None = ""
    while cursor is not None:
        page = owner.states.feed(Feed(SHARD, "learner", 1, cursor, only), limit)
        cursor = page.cursor
        last = cursor is None
        found.append(Install(SHARD, page.pieces, len(found), last, page.lines))
    return found


def take(learner: Node, page: Install, log: Log, told: Install | None = None) -> Judged:
    """The page arrives, `told` its lines are compared, and it becomes durable."""
    ops = learner.install(page, len(log.entries))
    judged = learner.states.judge(told or page)
    learner.write(ops)
    return judged


def worth(installs: Sequence[Install]) -> bytes:
    """What the lines of these pages come to."""
    manifest = Manifest()
    for install in installs:
        manifest.add(install.lines)
    return manifest.digest()


def altered(page: Install, match: str, alter: str) -> Install:
    """The page as it arrives if something happens to a match on it."""
    pieces: list[Piece] = []
    for piece in page.pieces:
        if piece.match != match:
            pieces.append(piece)
            continue
        if alter == "lost":
            continue
        if alter == "malformed":
            pieces.append(msgspec.structs.replace(piece, data=b"\xc1" + piece.data[1:]))
            continue
        part = Assembly().add(piece)
        assert part is not None
        assert alter == "short", alter
        line = msgspec.structs.replace(part.line, index=part.line.index - 1)
        part = Part(line, part.first, part.records[:-1], part.state)
        pieces += cut(match, piece.index, pack_part(part), 1 << 20)
    return replace(page, pieces=tuple(pieces))


@pytest.mark.parametrize("limit", [300, 64 * 1024])
def test_what_arrives_as_it_was_sent_comes_to_the_same(limit: int) -> None:
    """However it is cut into pages; ended and buried matches count too."""
    log = played(*"abcd", actions=8)
    log.act("b", GOAL)
    owner = Node(
        race(goal=GOAL),
        options=HostingOptions(transfer_bytes=700, ended_retention_s=3_600),
    )
    owner.own(log)
    owner.checkpoint()
    owner.pass_time(8_000)
    owner.checkpoint()
    log.act("d")
    owner.own(log)
    learner = Node(race(goal=GOAL))
    sent = pages(owner, limit)
    for page in sent:
        judged = take(learner, page, log)
        assert judged.differing == ()
    assert judged.held == worth(sent)
    assert [line.match for page in sent for line in page.lines] == list("abcd")
    assert learner.states.statistics().manifests_differed == 0


@pytest.mark.parametrize("alter", ["lost", "malformed", "short"])
def test_a_match_that_arrives_otherwise_is_named_and_taken_when_sent_again(
    alter: str,
) -> None:
    """In memory and on the disk it is then as the owner has it, and so are the rest."""
    log = played(*"abc")
    owner, learner = owner_of(log), Node(race(goal=GOAL))
    (page,) = pages(owner, 1 << 20)
    hurt = altered(page, "b", alter)
    assert take(learner, hurt, log).differing == ("b",)
    (again,) = pages(owner, 1 << 20, "b")
    mend = Install(SHARD, again.pieces, 1, True, again.lines)
    judged = take(learner, mend, log)
    assert judged.differing == ()
    assert judged.held == worth([page])
    assert learner.states.statistics().manifests_differed == 1
    learner.codes()
    for _ in range(2):
        for match in "abc":
            assert same(learner.state(match), log.states[match])
            assert learner.digests(match) == digests(log, match)
        learner.restart()
    assert learner.codes() == []


def test_a_match_in_many_parts_is_sent_again_whole() -> None:
    """Page by page, from its first part on."""
    log = played("a", "b", actions=18)
    owner, learner = owner_of(log, transfer_bytes=700), Node(race(goal=GOAL))
    sent = [replace(page, last=False) for page in pages(owner, 400)]
    assert len(sent) > 4
    for page in sent:
        damaged = altered(page, "a", "lost") if page is sent[1] else page
        judged = take(learner, damaged, log, page)
        if "a" in [line.match for line in page.lines]:
            assert judged.differing == ("a",)
    for number, page in enumerate(pages(owner, 400, "a"), len(sent)):
        mend = Install(SHARD, page.pieces, number, page.last, page.lines)
        judged = take(learner, mend, log)
        assert judged.differing == ()
    assert judged.held == worth(sent)
    for _ in range(2):
        for match in "ab":
            assert learner.digests(match) == digests(log, match)
        learner.restart()


def test_a_match_that_the_owner_cannot_play_is_compared_by_its_records() -> None:
    """Its state stands still there; whoever has the game right goes on."""
    log = played("a")
    poor = Node(race(goal=3))
    poor.follow(log)
    sent = pages(poor)
    ((line,),) = [page.lines for page in sent]
    assert line == ManifestLine("a", log.states["a"].index, log.states["a"].digest)
    for game in (race(goal=GOAL), race(goal=3)):
        learner = Node(game)
        for page in sent:
            assert take(learner, page, log).differing == ()
    assert poor.states.line("a").quarantined  # type: ignore[union-attr]


def test_lines_come_to_the_same_in_any_order_and_can_be_taken_off() -> None:
    """And to something else when one differs."""
    lines = [ManifestLine(name, 3, b"d") for name in "abc"]
    one, other = Manifest(), Manifest()
    one.add(lines)
    other.add(reversed(lines))
    assert one.digest() == other.digest() != Manifest().digest()
    other.remove(lines[:1])
    other.add([ManifestLine("a", 4, b"d")])
    assert one.digest() != other.digest()
    other.remove([ManifestLine("a", 4, b"d"), *lines[1:]])
    assert other.digest() == Manifest().digest()
