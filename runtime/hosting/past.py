"""What a match was at some places in its log, kept as shortcuts for readers.

Whoever looks at a long match in the middle would have to play all that came before. So
a state is kept for every `MARK_EVERY` records: no more than a shortcut, which is
believed until the log is verified, and which may be missing.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ...engine.limits import FULL_DIGEST_EVERY
from ...engine.snapshot import Snapshot, snapshot_to_json

__all__ = ["MARK_EVERY", "pack_mark"]

MARK_EVERY: Final = FULL_DIGEST_EVERY
"""Records. Their digests cover the whole state at the same places."""


def pack_mark(snapshot: Snapshot) -> bytes:
    """The bytes of a state, as exported logs have them."""
    return msgspec.msgpack.encode(snapshot_to_json(snapshot))
