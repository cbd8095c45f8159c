"""All bounds of the system in one place, and what must hold between them.

Each bound is declared beside the code that enforces it; here they are collected,
and their relations asserted at import: a change that breaks one stops the process
before it serves anybody.
"""

from __future__ import annotations

from ..engine import limits as engine
from ..runtime import (
    codec,
    control_plane,
    coordinator,
    dedupe,
    interventions,
    profile_store,
)
from ..runtime.hosting.options import HostingOptions
from ..runtime.link_options import LinkOptions
from ..runtime.options import SupervisorOptions
from ..runtime.replication.options import ReplicationOptions
from .schema import COPIES_MAX, SHARDS_MAX

__all__ = ["LIMITS"]

LIMITS = {
    "nesting": engine.NESTING_MAX,
    "value_depth": codec.VALUE_DEPTH_MAX,
    "payload_bytes": engine.PAYLOAD_BYTES_MAX,
    "frame_bytes": codec.FRAME_LIMIT_BYTES,
    "message_bytes": codec.MESSAGE_LIMIT_BYTES,
    "frames_per_message": codec.FRAMES_PER_MESSAGE_MAX,
    "g_bytes": engine.G_BYTES_MAX,
    "g_bytes_hard": engine.G_BYTES_HARD_MAX,
    "profile_bytes": profile_store.PROFILE_BYTES_MAX,
    "internal_events_per_batch": engine.INTERNAL_EVENTS_MAX,
    "actions_taken_back": engine.UNDO_BACK_MAX,
    "patch_bytes": engine.PATCH_BYTES_MAX,
    "patch_operations": engine.PATCH_OPERATIONS_MAX,
    "operator_commands_per_match": interventions.REMEMBERED_OPS_MAX,
    "keys_per_seat": dedupe.REMEMBERED_KEYS_MAX,
    "sessions_per_seat": dedupe.SESSIONS_PER_SEAT_MAX,
    "shards": SHARDS_MAX,
    "copies": COPIES_MAX,
    "coordinator_writes": coordinator.WRITES_MAX,
    "coordinator_value_bytes": coordinator.VALUE_BYTES_MAX,
}
"""The fixed bounds by name, unit last. Those that are options are in `schema`."""

LINK, SUPERVISOR = LinkOptions(), SupervisorOptions()
REPLICATION, HOSTING = ReplicationOptions(), HostingOptions()


def _must(holds: bool, rule: str) -> None:
    """Not an assert: these rules hold under `python -O`, too."""
    if not holds:
        options = f"{LINK}, {SUPERVISOR}, {REPLICATION}, {HOSTING}"
        raise AssertionError(f"{rule}; the bounds are {LIMITS}, {options}")


_must(
    engine.PAYLOAD_BYTES_MAX < engine.G_BYTES_MAX < engine.G_BYTES_HARD_MAX,
    "a payload is smaller than a G, and a G that warns than one that is refused",
)
_must(
    2 * profile_store.PROFILE_BYTES_MAX < engine.G_BYTES_MAX,
    "the largest profiles of two players fit into a match's state",
)
_must(
    codec.PAYLOAD_LIMIT_BYTES == engine.PAYLOAD_BYTES_MAX,
    "the codec refuses what the engine declares too large, and nothing else",
)
_must(
    2 * engine.PAYLOAD_BYTES_MAX <= codec.FRAME_LIMIT_BYTES,
    "a frame holds the largest payload with all that surrounds it",
)
_must(
    2 * engine.PATCH_BYTES_MAX <= codec.FRAME_LIMIT_BYTES,
    "a frame holds the record of the largest edit with all that surrounds it",
)
_must(
    codec.FRAME_LIMIT_BYTES < codec.MESSAGE_LIMIT_BYTES,
    "a message holds the largest frame",
)
_must(
    engine.NESTING_MAX < codec.VALUE_DEPTH_MAX,
    "the wire carries every value that the engine accepts, in its envelope",
)
_must(
    SHARDS_MAX == control_plane.SHARDS_MAX,
    "the coordinator's records hold every shard that can be configured",
)
_must(
    SUPERVISOR.match.payload_bytes_max <= engine.PAYLOAD_BYTES_MAX,
    "a match accepts no payload that the codec refuses",
)
_must(
    SUPERVISOR.match.view_bytes_max < codec.FRAME_LIMIT_BYTES
    and SUPERVISOR.match.log_page_bytes < codec.FRAME_LIMIT_BYTES
    and SUPERVISOR.match_input_bytes_max < codec.FRAME_LIMIT_BYTES,
    "a view, a page of a log and a match's input each fit into one frame",
)
_must(
    LINK.queue_bytes_max >= 2 * codec.FRAME_LIMIT_BYTES,
    "a link can queue one largest frame while another is sent",
)
_must(
    3 * LINK.heartbeat_s <= LINK.silence_s,
    "one late heartbeat is not a death",
)
_must(
    (SUPERVISOR.match.resolver_timeouts_max + 1) * SUPERVISOR.resolver_budget_s
    < LINK.silence_s,
    "a node is not taken for dead while a match overruns its budgets",
)
_must(
    1000 * SUPERVISOR.match.resolver_timeouts_max * SUPERVISOR.resolver_budget_s
    < REPLICATION.evict_ms,
    "a follower is not evicted while a match overruns its budgets",
)
_must(
    REPLICATION.steal_ms < 1000 * LINK.silence_s,
    "a shard is taken over before its owner's link is given up",
)
_must(
    2 * REPLICATION.append_bytes_max <= codec.FRAME_LIMIT_BYTES,
    "a frame holds the largest batch of entries, and a large entry alone",
)
_must(
    2 * REPLICATION.append_bytes_max < LINK.queue_bytes_max
    and REPLICATION.kept_bytes <= LINK.queue_bytes_max,
    "a link can queue what is re-sent to a follower that came back",
)
_must(
    2 * HOSTING.transfer_bytes <= codec.FRAME_LIMIT_BYTES,
    "a frame holds a page of states on their way to another replica",
)
_must(
    SUPERVISOR.matches_max <= HOSTING.hot_max,
    "a match that is played has its state in memory",
)
_must(
    not HOSTING.validate()
    and not LINK.faults()
    and not SUPERVISOR.validate()
    and not REPLICATION.validate(),
    "the defaults have no faults",
)
