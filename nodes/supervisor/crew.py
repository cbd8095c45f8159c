"""The actors of a node: who has one, who rests, who gives theirs up.

A match takes actions while it runs, gives up its task when it is idle, and at last its
actor, if its committed state is kept elsewhere and nobody watches it. Without that an
ended match is kept for a while, and leaves a tombstone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import structlog

from ...runtime.actor import MatchActor
from ...runtime.actor_context import ActorContext
from ...runtime.control_plane import SHARDS_MAX
from ...runtime.lifecycle import ActorState, StopReason
from ...runtime.match_change import Change
from ...runtime.match_state import MatchState
from ...runtime.options import SupervisorOptions
from .ended_matches import EndedMatches, Tombstone
from .shard_times import ShardTimes
from .tiers import Tiers
from .turns import Turns
from .watchers import Watchers

__all__ = ["Crew"]

_log = structlog.get_logger()

# Actors that are looked at when one must give way to another.
_LOOKED_AT_MAX = 64


class Crew:
    """Actors by match and by shard.

    Invariant: at most `matches_max` of them, if whoever adds asks `make_room` first.
    """

    def __init__(
        self,
        context: ActorContext,
        turns: Turns,
        options: SupervisorOptions,
        now_ms: int,
        counts: defaultdict[str, int],
    ) -> None:
        """`counts` gets put_away, ended and dropped."""
        self._source = context.source
        self.times = ShardTimes(context)
        self._turns = turns
        self._matches_max = options.matches_max
        self._now_ms = now_ms  # of the last sweep: near enough to know who is idle
        self._counts = counts
        self._actors: dict[str, MatchActor] = {}
        self._of_shard: defaultdict[int, set[str]] = defaultdict(set)
        self._shards: dict[str, int] = {}
        self._watchers = Watchers()
        self._tiers = Tiers(
            options.rest_after_s * 1_000, options.put_away_after_s * 1_000
        )
        self._ended = EndedMatches(
            options.ended_kept_max, options.ended_kept_s * 1_000, options.tombstones_max
        )

    def __iter__(self) -> Iterator[MatchActor]:
        return iter(tuple(self._actors.values()))

    def get(self, match: str) -> MatchActor | None:
        """The match's actor, if it has one."""
        return self._actors.get(match)

    @property
    def watchers(self) -> int:
        """Clients that may be sent views."""
        return len(self._watchers)

    @property
    def tombstones(self) -> int:
        """How many ended matches are remembered that are gone."""
        return self._ended.tombstones

    def tombstone(self, match: str) -> Tombstone | None:
        """What is remembered of a match that ended here and is gone."""
        return self._ended.tombstone(match)

    def make_room(self) -> bool:
        """Whether one more actor fits, if need be in place of one that is not used."""
        if len(self._actors) < self._matches_max:
            return True
        if self._source is not None:
            return any(map(self._put_away, self._tiers.oldest(_LOOKED_AT_MAX)))
        oldest = self._ended.oldest()
        if oldest is None:
            return False
        self._drop(oldest)
        return True

    def start(self, created: Change, shard: int) -> MatchActor:
        """A new match runs from now on."""
        actor = self._add(created, shard)
        self._tiers.runs(actor.match, self._now_ms)
        self._turns.begin(actor)
        return actor

    def take_in(self, begin: Change | MatchState, shard: int, code: str) -> MatchActor:
        """A match whose log comes from elsewhere: its actor only answers `code`."""
        actor = self._add(begin, shard)
        actor.status = ActorState.QUARANTINED
        actor.quarantine_code = code
        return actor

    def bring(self, state: MatchState, shard: int) -> MatchActor:
        """A match that is kept elsewhere gets an actor; it rests until it is used."""
        actor = self._add(state, shard)
        actor.rest()
        self._tiers.rests(actor.match, self._now_ms)
        return actor

    def use(self, actor: MatchActor, *, rouse: bool) -> None:
        """The match is used now; with `rouse`, it may go on."""
        if rouse and actor.rouse():
            self._turns.begin(actor)
        if actor.status is ActorState.RESIDENT:
            self._tiers.rests(actor.match, self._now_ms)
        elif rouse and actor.status is ActorState.RUNNING:
            self._tiers.runs(actor.match, self._now_ms)

    def worked(self, actor: MatchActor) -> None:
        """The actor has worked, and does not run."""
        if self._actors.get(actor.match) is not actor:
            return
        if actor.status is ActorState.STOPPED:
            self._remove(actor.match)
            return
        if actor.status is not ActorState.RESIDENT:
            return
        if self._tiers.rests(actor.match, self._now_ms) and actor.over:
            self._counts["ended"] += 1
            if self._source is None:
                self._ended.add(actor.match, self._now_ms)

    def set_apart(self, actor: MatchActor, reason: StopReason, code: str) -> None:
        """The match cannot go on: it keeps its actor, which answers `code`."""
        self._ended.forget(actor.match)
        self._tiers.forget(actor.match)
        actor.quarantine(reason, code)

    def release(self, shard: int) -> None:
        """The matches of a shard are not ours any more."""
        self.times.end(shard)
        for match in self._of_shard.pop(shard, ()):
            self._actors[match].stop(StopReason.RELEASED, "no_owner")
            self._remove(match)

    def get_at(self, match: str, shard: int) -> MatchActor | None:
        """The match's actor where the match is. One that serves it elsewhere was left
        behind: it is stopped."""
        actor = self._actors.get(match)
        if actor is None or actor.place == (shard if shard >= SHARDS_MAX else 0):
            return actor
        self.forsake(match)
        return None

    def forsake(self, match: str) -> None:
        """The match goes on in another shard: its actor is stopped."""
        actor = self._actors.get(match)
        if actor is not None:
            actor.stop(StopReason.RELEASED, "retry")
            self._remove(match)

    def sweep(self, now_ms: int) -> None:
        """Let idle matches rest, and put away those that rest."""
        self._now_ms = now_ms
        for match in self._ended.expired(now_ms):
            self._drop(match)
        for match in self._tiers.idle(now_ms):
            actor = self._actors[match]
            if actor.ledger.settled and not len(actor.mailbox):
                actor.rest()
                self._tiers.rests(match, now_ms)
            else:
                self._tiers.runs(match, now_ms)
        if self._source is not None:
            for match in self._tiers.stale(now_ms):
                if not self._put_away(match):
                    self._tiers.rests(match, now_ms)

    def watch(self, peer: str, client: str | None, match: str) -> None:
        """The client may be sent views of the match from now on."""
        self._watchers.add(peer, client, match)

    def peer_gone(self, peer: str) -> None:
        """Send nothing more to that process, nor to clients behind it."""
        for client, match in self._watchers.forget_peer(peer):
            self._actors[match].subscribers.remove_route(peer, client)

    def client_gone(self, peer: str, client: str) -> None:
        """Send nothing more to that client, which was reached through `peer`."""
        for match in self._watchers.forget_client(peer, client):
            self._actors[match].subscribers.remove_route(peer, client)

    def _add(self, begin: Change | MatchState, shard: int) -> MatchActor:
        actor = MatchActor(begin, self.times.context(shard))
        actor.place = shard if shard >= SHARDS_MAX else 0
        self._actors[actor.match] = actor
        self._of_shard[shard].add(actor.match)
        self._shards[actor.match] = shard
        return actor

    def _put_away(self, match: str) -> bool:
        """Give up the actor of a match that is kept elsewhere too, if nothing waits."""
        actor = self._actors[match]
        if not actor.droppable or actor.status is ActorState.QUARANTINED:
            return False
        actor.put_away()
        self._counts["put_away"] += 1
        self._remove(match)
        return True

    def _drop(self, match: str) -> None:
        """Put an ended match away for good; its tombstone stays."""
        actor = self._actors[match]
        actor.stop(StopReason.ENDED, "game_over")
        self._counts["dropped"] += 1
        _log.info("match_dropped", match=match, records=len(actor.ledger.records))
        forgotten = self._ended.bury(actor.ledger.state)
        if forgotten is not None:
            _log.info("tombstone_forgotten", match=forgotten)
        self._remove(match)

    def _remove(self, match: str) -> None:
        del self._actors[match]
        self._ended.forget(match)
        self._tiers.forget(match)
        members = self._of_shard.get(self._shards.pop(match))
        if members is not None:
            members.discard(match)
        self._watchers.forget_match(match)
