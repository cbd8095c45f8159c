"""The last checks, long after the faults: nothing is lost, everybody gets on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotseat.runtime.control_plane import ShardRecord
from hotseat.runtime.journal import MatchLine
from hotseat.runtime.match_id import match_id, shard_of

from .memory import containers
from .scheduler import MS
from .violation import Violation

if TYPE_CHECKING:
    from .process import Process
    from .world import World

__all__ = ["check_final"]

USUAL = 64
"""Elements of a container, apart from what is there now."""

LOG = 5
"""Times of the entries that are kept anyway: for a learner on its way, and before they
are cut."""

TAIL = 4_000
"""Records of a match between two checkpoints, and while its disk is busy."""

JUST_CREATED = 3
"""A match of so few records may not be known yet to those who follow."""

NOT_PLAYED = ("divergent", "state_corrupt")
"""What an owner says of a match of an impure game: a record leads elsewhere when it is
played again, here, or from the beginning since what was stored cannot be read."""
JUST_FOLDED_MS = 500
"""A match that has come home so recently may not be known there yet."""

JUST_MOVED_MS = 500
"""A match that is over is moved to where its home is, whenever it ends."""

PROGRESS_MS = 3_500
"""Every player must have been answered so recently."""


def check_final(world: World) -> None:
    """Hold what is left against what was promised.

    Raises:
        Violation: A promise was broken.
    """
    _check_acknowledged(world)
    lost = world.lost_shards()
    world.trace.counts["shards_lost"] += len(lost)
    for shard in world.shards():
        if shard not in lost:
            _check_shard(world, shard)
    _check_progress(world, lost)
    for process in world.network.processes.values():
        _check_memory(world, process)


def _check_acknowledged(world: World) -> None:
    """Every acknowledged action stands in the history, once, at its index."""
    for match, keys in world.account.acked.items():
        known = world.history.matches[match]
        for key, (revision, index) in keys.items():
            record = known.records[index]
            if record.key != key or record.revision != revision:
                raise Violation(
                    "I1",
                    f"{key} of {match} was acknowledged at {index}; there is {record}",
                )


def _check_shard(world: World, shard: int) -> None:
    record = world.checks.record(shard)
    if record is None or record.owner is None:
        raise Violation("I13", f"nobody owns shard {shard}: {record}")
    owner = world.network.processes[record.owner]
    if owner.serves.get(shard) != record.epoch:
        raise Violation("I13", f"shard {shard} is not served: {record} {owner.serves}")
    servers = [p.boot for p in world.network.processes.values() if shard in p.serves]
    if servers != [owner.boot]:
        raise Violation("I15", f"shard {shard} is served by {servers}: {record}")
    _check_copies(world, shard, record)
    matches = world.history.matches
    expected = {match for match in matches if world.places.of(match) == shard}
    for process in [owner, *_followers(world, record)]:
        _check_states(world, process, shard, expected)
    _check_accounts(world, owner, expected)


def _followers(world: World, record: ShardRecord) -> list[Process]:
    return [world.network.processes[n] for n, _ in record.isr if n != record.owner]


def _check_copies(world: World, shard: int, record: ShardRecord) -> None:
    """All that are wanted are in sync again; but for who lacks the game, if there is
    nobody to take its place."""
    members = {node for node, _ in record.isr}
    wanted = set(record.want)
    unfit = {node for node in world.nodes if not _has_the_game(world, node)}
    lacking = wanted - members
    spare = {n for n in world.nodes if not _drains(world, n)} - wanted - unfit
    if lacking - unfit or (lacking and spare and _goes_on(world, shard)):
        raise Violation("I13", f"shard {shard} is not in sync as wanted: {record}")
    extra = members - wanted - {record.owner}
    if record.move is not None and _is_fresh(world, shard):
        extra -= {record.move.to}  # it has come to take the shard over
    if not lacking and extra:
        raise Violation("I13", f"shard {shard} has more copies than wanted: {record}")
    for node, ident in record.isr:
        if ident in world.dead_idents:
            raise Violation("I12", f"{node} {ident} is in sync, and dead: {record}")


def _drains(world: World, node: str) -> bool:
    """An operator wants it to hold nothing."""
    key = world.keys.drain(node)
    return any(found.key == key for found in world.coordinator.store.list(key).entries)


def _is_fresh(world: World, shard: int) -> bool:
    """Its record was written a moment ago: what it says is under way."""
    age_us = world.scheduler.now_us - world.checks.changed_us(shard)
    return age_us < JUST_MOVED_MS * MS


def _check_states(
    world: World, process: Process, shard: int, expected: set[str]
) -> None:
    """Each copy of a match is at a committed record, and equal there."""
    lines = {line.match: line for line in process.host.lines(shard)}
    for match in sorted(expected):
        line = lines.get(match)
        records = world.history.matches[match].records
        if line is None and len(records) <= JUST_CREATED:
            continue
        came_us = world.places.folded_us.get(match, -JUST_FOLDED_MS * MS)
        if world.scheduler.now_us - came_us < JUST_FOLDED_MS * MS:
            continue
        if line is None:
            raise Violation("I1", f"{process.boot} does not hold {match} of {shard}")
        if line.quarantined:
            # Its state stands still; the records are kept behind it.
            _check_set_apart(world, process, line)
            continue
        if line.index >= len(records) or line.index < len(records) - 40:
            raise Violation(
                "I3",
                f"{process.boot} holds {match} at {line.index} of {len(records)}",
            )
        differs = line.digest != records[line.index].digest
        if differs and not world.settings.impure:
            raise Violation("I10", f"{process.boot} differs in {match} at {line.index}")


def _check_set_apart(world: World, process: Process, line: MatchLine) -> None:
    """A copy is set apart for lack of its game, with which a state that cannot be read
    would be derived again; or if the game is not pure. Whatever else has befallen it,
    it is sound again by now, or the owner's copy was fetched."""
    code = line.quarantined
    unplayed = code in ("missing_game", "state_corrupt")
    lacks = not _has_the_game(world, process.node)
    if not (world.settings.impure or (lacks and unplayed)):
        raise Violation("set_apart", f"{process.boot} holds {line.match} as {code}")


def _check_accounts(world: World, owner: Process, expected: set[str]) -> None:
    """The owner can show the whole log of each match."""
    for match in sorted(expected):
        records = world.history.matches[match].records
        shown = owner.host.account(match)
        if len(shown) < len(records) - 5 or len(shown) > len(records):
            raise Violation(
                "I1",
                f"{owner.boot} has {len(shown)} records of {match}, of {len(records)}",
            )


def _check_memory(world: World, process: Process) -> None:
    """No container grows with the length of a life: but for the logs, which have bounds
    of their own, each has room for what is there now. What is over counts as there, as
    long as its players do not say that they watch it no more."""
    now = len(world.players) + len(world.shards()) + len(world.nodes)
    usual = USUAL + 2 * now + len(world.history.matches)
    options = world.settings.options
    limits = {
        "ShardLog._entries": LOG * options.kept_entries + options.uncommitted_entries,
        "HotMatch.tail": TAIL,
    }
    for place, count in containers(process).items():
        if count > limits.get(place, usual):
            raise Violation("I14", f"{process.boot} has {count} in {place}")


def _has_the_game(world: World, node: str) -> bool:
    """Whether it can play what is played."""
    return world.games_of(node) == world.games_of("n1")


def _goes_on(world: World, shard: int) -> bool:
    """Whether a match of the shard is not over."""
    matches = world.history.matches
    return any(
        world.places.of(match) == shard and match not in world.account.over
        for match in matches
    )


def _lacks_the_game(world: World, shard: int) -> bool:
    """None of its replicas can play what is played elsewhere."""
    record = world.checks.record(shard)
    members = () if record is None else record.isr
    return not any(_has_the_game(world, node) for node, _ in members)


def _check_progress(world: World, lost: list[int]) -> None:
    end_us = world.scheduler.now_us
    for player in world.players:
        match = match_id("local", player.table_key)
        shard = world.places.pins.get(match) or shard_of(match, world.settings.shards)
        if shard in lost or _lacks_the_game(world, shard):
            continue
        if world.settings.missing_version and player.last_code == "unknown_game":
            continue  # nothing is played in that shard, and its owner lacks the game
        if world.settings.impure and player.last_code in NOT_PLAYED:
            continue  # its owner has a copy that differs, and says so
        silent_ms = (end_us - player.answered_us) // MS
        if silent_ms > PROGRESS_MS:
            raise Violation(
                "I13",
                f"{player.name} was not answered for {silent_ms} ms: {player.status()}",
            )
