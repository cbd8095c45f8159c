"""Every bound the engine keeps, with its unit and its reason.

Reaching one is a typed answer (a refusal or an error with a code), never a crash.
Bounds on bytes are declared here, where their meaning is, and enforced by the codec,
which alone sees the bytes.
"""

from __future__ import annotations

__all__ = [
    "FULL_DIGEST_EVERY",
    "G_BYTES_MAX",
    "G_BYTES_HARD_MAX",
    "INTERNAL_EVENTS_MAX",
    "LEGAL_ACTIONS_MAX",
    "NESTING_MAX",
    "PATCH_BYTES_MAX",
    "PATCH_OPERATIONS_MAX",
    "PAYLOAD_BYTES_MAX",
    "SAFE_INT_MAX",
    "UNDO_BACK_MAX",
]

# Containers inside containers. Deep enough for any real state, shallow enough for a
# recursive walk on every interpreter; msgpack, msgspec and json all accept it.
NESTING_MAX = 64

# Events that resolvers may queue in one batch. A batch beyond it is a loop.
INTERNAL_EVENTS_MAX = 1_000

# Legal actions of one seat at one time. Far more than any board has moves; a function
# that lists without end is stopped.
LEGAL_ACTIONS_MAX = 10_000

# The largest integer that a double, and so JSON everywhere, holds exactly (I-JSON).
SAFE_INT_MAX = 2**53 - 1

# Bytes of an encoded payload: what one player may make every replica store.
PAYLOAD_BYTES_MAX = 64 * 1024

# Bytes of an encoded state, which is G, the result and the match's input: the first
# asks for attention, the second is refused.
G_BYTES_MAX = 1024 * 1024
G_BYTES_HARD_MAX = 4 * 1024 * 1024

# Records between two digests that cover the whole of G; bounds how long a fault in a
# part of G that nobody changes can stay unseen.
FULL_DIGEST_EVERY = 256

# Actions that a game may let its players take back. Each keeps a snapshot in memory,
# which shares with its neighbours what did not change.
UNDO_BACK_MAX = 64

# An operator's patch of G: its operations, each of which costs the containers on its
# path; and its bytes, which every replica stores in one record.
PATCH_OPERATIONS_MAX = 1_000
PATCH_BYTES_MAX = 256 * 1024

assert PAYLOAD_BYTES_MAX < G_BYTES_MAX < G_BYTES_HARD_MAX
