"""The window of action keys."""

from __future__ import annotations

from hotseat.runtime.dedupe import (
    REMEMBERED_KEYS_MAX,
    SESSIONS_PER_SEAT_MAX,
    KeyVerdict,
    KeyWindow,
    RememberedKey,
)


def key(session: int, action: int, content: bytes = b"a") -> RememberedKey:
    return RememberedKey(session, action, content, revision=action, index=action)


def seated(*actions: int) -> KeyWindow:
    """A window with one session, in which these actions were accepted."""
    window = KeyWindow().begin_session()
    for action in actions:
        window = window.remember(key(1, action))
    return window


def test_a_repeat_gets_its_first_answer() -> None:
    """A remembered key with the same content returns what was answered."""
    assert seated(1, 2).judge(1, 1, b"a") == key(1, 1)


def test_other_content_under_a_key_is_told_apart() -> None:
    """A key says the same thing for ever."""
    assert seated(1, 2).judge(1, 1, b"b") is KeyVerdict.KEY_REUSED


def test_ids_may_leave_gaps_and_arrive_late() -> None:
    """What was not accepted and is above the floor is judged afresh."""
    window = seated(5)
    assert window.judge(1, 3, b"a") is KeyVerdict.FRESH
    assert window.judge(1, 6, b"a") is KeyVerdict.FRESH


def test_the_oldest_key_is_forgotten_and_never_fresh_again() -> None:
    """At or below the floor nobody can tell a repeat from a new action."""
    window = seated(*range(1, REMEMBERED_KEYS_MAX + 3))
    assert len(window.keys) == REMEMBERED_KEYS_MAX
    assert window.judge(1, 2, b"a") is KeyVerdict.EXPIRED
    assert window.judge(1, 1, b"other") is KeyVerdict.EXPIRED
    assert window.judge(1, 3, b"a") == key(1, 3)


def test_a_late_key_below_the_floor_is_still_remembered_while_it_is_kept() -> None:
    """A key in the window is answered before the floor is looked at."""
    window = seated(100, 1, *range(101, 100 + REMEMBERED_KEYS_MAX))
    assert window.session(1).floor == 100  # type: ignore[union-attr]
    assert window.judge(1, 1, b"a") == key(1, 1)
    assert window.judge(1, 2, b"a") is KeyVerdict.EXPIRED


def test_sessions_have_their_own_numbers() -> None:
    """The first action of a new session is no repeat of the old session's first."""
    window = seated(1, 2).begin_session()
    assert window.judge(2, 1, b"b") is KeyVerdict.FRESH
    assert window.judge(1, 3, b"b") is KeyVerdict.FRESH


def test_a_replaced_session_cannot_act_but_hears_its_answers() -> None:
    """Beyond the bound the oldest session is replaced."""
    window = seated(1)
    for _ in range(SESSIONS_PER_SEAT_MAX):
        window = window.begin_session()
    assert [s.number for s in window.sessions] == [2, 3, 4, 5]
    assert window.judge(1, 1, b"a") == key(1, 1)
    assert window.judge(1, 2, b"a") is KeyVerdict.EXPIRED


def test_a_session_that_never_was_is_not_seated() -> None:
    """Numbers are handed out by the match."""
    assert KeyWindow().judge(1, 1, b"a") is KeyVerdict.NOT_SEATED
    assert seated().judge(2, 1, b"a") is KeyVerdict.NOT_SEATED
    assert seated().judge(0, 1, b"a") is KeyVerdict.NOT_SEATED
    assert seated().judge(-1, 1, b"a") is KeyVerdict.NOT_SEATED
