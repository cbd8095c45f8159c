"""The window of action keys of one seat: each action is applied exactly once.

An action's key is (match, seat, session number, action id). Ids are integers that
rise per session. Only accepted actions take a place; a refused one is judged afresh
when it comes again.

Rules, in this order:
- a key in the window with the same content: the first answer again;
- a key in the window with other content: `key_reused`;
- a session that was replaced, or an id at or below its floor: `expired_key`;
- a session that the seat never had: `not_seated`.

Pure values: the window is part of a match's state, so it must be computed alike
wherever the match is; its bounds are constants of the protocol, not options.
"""

from __future__ import annotations

from enum import Enum

import msgspec

__all__ = [
    "REMEMBERED_KEYS_MAX",
    "SESSIONS_PER_SEAT_MAX",
    "KeyVerdict",
    "KeyWindow",
    "LiveSession",
    "RememberedKey",
]

# Keys of one seat: far more than a client has outstanding at once, and little enough
# that every snapshot carries them.
REMEMBERED_KEYS_MAX = 32

# Sessions of one seat that may act: a phone, a laptop, and what they left behind.
SESSIONS_PER_SEAT_MAX = 4


class KeyVerdict(Enum):
    """What the window says about a key that it does not remember."""

    FRESH = "fresh"
    """Never accepted: judge it."""
    KEY_REUSED = "key_reused"
    """Accepted with other content."""
    EXPIRED = "expired_key"
    """Too old to know, or of a session that was replaced."""
    NOT_SEATED = "not_seated"
    """Of a session that the seat never had."""


class RememberedKey(msgspec.Struct, frozen=True):
    """An accepted action: its key, what it said, and the answer it got."""

    session: int
    action: int
    content: bytes
    revision: int
    index: int


class LiveSession(msgspec.Struct, frozen=True):
    """A session that may act for the seat."""

    number: int
    highest: int = 0
    """The highest action id that was accepted."""
    floor: int = 0
    """Ids at or below it are forgotten. Invariant: 0 <= floor <= highest."""


class KeyWindow(msgspec.Struct, frozen=True):
    """What a seat remembers: its live sessions, oldest first, and accepted keys."""

    sessions: tuple[LiveSession, ...] = ()
    keys: tuple[RememberedKey, ...] = ()
    newest: int = 0
    """The number of the newest session ever; 0 before the first."""

    def session(self, number: int) -> LiveSession | None:
        """The live session of that number."""
        for session in self.sessions:
            if session.number == number:
                return session
        return None

    def judge(
        self, number: int, action: int, content: bytes
    ) -> RememberedKey | KeyVerdict:
        """Say what is known of a key; a `RememberedKey` holds the first answer."""
        session = self.session(number)
        if session is not None and action > session.highest:
            return KeyVerdict.FRESH
        for key in reversed(self.keys):
            if key.action == action and key.session == number:
                return key if key.content == content else KeyVerdict.KEY_REUSED
        if not 1 <= number <= self.newest:
            return KeyVerdict.NOT_SEATED
        if session is None or action <= session.floor:
            return KeyVerdict.EXPIRED
        return KeyVerdict.FRESH

    def begin_session(self) -> KeyWindow:
        """Add a session; beyond the bound the oldest one is replaced."""
        number = self.newest + 1
        kept = self.sessions[-(SESSIONS_PER_SEAT_MAX - 1) :]
        return KeyWindow((*kept, LiveSession(number)), self.keys, number)

    def remember(self, key: RememberedKey) -> KeyWindow:
        """Add an accepted key; beyond the bound the oldest raises its floor."""
        keys = self.keys
        evicted = None
        if len(keys) >= REMEMBERED_KEYS_MAX:
            evicted = keys[0]
            keys = keys[1:]
        return KeyWindow(
            tuple([_after(s, key, evicted) for s in self.sessions]),
            (*keys, key),
            self.newest,
        )


def _after(
    session: LiveSession, accepted: RememberedKey, evicted: RememberedKey | None
) -> LiveSession:
    highest, floor = session.highest, session.floor
    if accepted.session == session.number:
        highest = max(highest, accepted.action)
    if evicted is not None and evicted.session == session.number:
        floor = max(floor, evicted.action)
    if highest == session.highest and floor == session.floor:
        return session
    return LiveSession(session.number, highest, floor)
