"""Why a node says no: codes beside those of the engine.

The engine's table (`engine/refusal.py`) and this one together are all the codes
that a player can meet; no code stands in both. docs/protocol.md prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["RUNTIME_REFUSALS"]

RUNTIME_REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "unknown_match": "No match of that id exists. Check the id.",
        "match_lost": "Every copy of the match is gone. Begin another one.",
        "moved": "The match is owned by another node. Ask that one.",
        "no_owner": "No node owns the match's shard now. Try again with the same key.",
        "busy": "Too much is waiting. Try again with the same key after a pause.",
        "degraded": "Too few copies of the match are in sync to keep it safe. Try "
        "again with the same key after a pause.",
        "retry": "The outcome is not known. Ask again with the same key.",
        "not_committed": "It did not happen. Try again with the same key.",
        "stale_revision": "The match has moved on since that view. Look again.",
        "key_reused": "That key was used with other content. Use a new key.",
        "expired_key": "That key is older than the remembered ones, or its session "
        "was replaced. Resync before acting again.",
        "unknown_game": "The node does not have that game. See `hotseat game list`.",
        "not_hostable": "The game cannot be hosted as it is declared.",
        "invalid_game": "The game's definition has errors. Run its validation.",
        "invalid_match": "The match input does not fit the game.",
        "unknown_seat": "The match has no seat of that name.",
        "seat_taken": "Somebody else sits there.",
        "resume_seat": "The node does not know who holds that session. Take the seat "
        "again with its token, then try again with the same key.",
        "not_seated": "That session does not hold the seat. Take the seat first.",
        "match_running": "The log is open once the match has ended.",
        "node_full": "The node holds as many matches as it may. Try another node.",
        "stopping": "The node is stopping. Try again with the same key.",
        "malformed_request": "The request cannot be read. Check its fields.",
        "resolver_timeout": "The game took too long over this event and was stopped.",
        "quarantined": "The match was set apart, by an operator or for what its game "
        "did. An operator must look at it.",
        "state_corrupt": "The node's copy of the match cannot be read. An operator "
        "must look at it.",
        "divergent": "The node's copy of the match differs from the others. An "
        "operator must look at it.",
        "unknown_record": "The match's log holds what this version cannot read. An "
        "operator must look at it.",
        "missing_game": "The node does not have the match's game in that version. An "
        "operator must look at it.",
        "log_gap": "The node lacks a part of the match's log. An operator must look at "
        "it.",
        "recovery_failed": "The match could not be loaded. Try again with the same key "
        "after a pause.",
        "edits_not_allowed": "The cluster lets no operator edit a match. See "
        "`supervisor.match.allow_edits`.",
        "version_missing": "The node does not have the game in that version.",
        "same_version": "The match is played under that version already.",
        "internal_error": "The node failed on this request. It was logged.",
    }
)
