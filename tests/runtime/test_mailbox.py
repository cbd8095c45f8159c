"""The bounded mailbox."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.errors import MailboxFull
from hotseat.runtime.mailbox import OWN_MESSAGES_MAX, Mailbox, MailboxStatistics


def test_messages_come_out_in_order_and_once() -> None:
    """A drain takes everything."""
    mailbox: Mailbox[str] = Mailbox(3, 100)
    mailbox.put_nowait("a", 1)
    mailbox.put_nowait("b", 1)
    assert mailbox.drain() == ["a", "b"]
    assert mailbox.drain() == []


def test_it_is_bounded_by_count() -> None:
    """One message too many is refused and counted; what waits is kept."""
    mailbox: Mailbox[int] = Mailbox(2, 100)
    mailbox.put_nowait(1, 1)
    mailbox.put_nowait(2, 1)
    with pytest.raises(MailboxFull, match="2 messages"):
        mailbox.put_nowait(3, 1)
    assert mailbox.statistics() == MailboxStatistics(2, 2, 2, 1)
    assert mailbox.drain() == [1, 2]
    mailbox.put_nowait(3, 1)


def test_it_is_bounded_by_bytes() -> None:
    """Few large messages fill it as well."""
    mailbox: Mailbox[int] = Mailbox(256, 100)
    mailbox.put_nowait(1, 60)
    with pytest.raises(MailboxFull, match="60 bytes"):
        mailbox.put_nowait(2, 41)
    mailbox.put_nowait(3, 40)
    assert mailbox.drain() == [1, 3]
    mailbox.put_nowait(4, 100)


def test_a_deadline_has_a_place_that_players_cannot_take() -> None:
    """A full mailbox still takes the node's own messages, up to their bound."""
    mailbox: Mailbox[str] = Mailbox(1, 10)
    mailbox.put_nowait("player", 10)
    for _ in range(OWN_MESSAGES_MAX):
        mailbox.put_own("deadline")
    with pytest.raises(MailboxFull):
        mailbox.put_own("deadline")


@given(st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=60))
def test_the_bounds_hold_whatever_comes(sizes: list[int | None]) -> None:
    """Count and bytes never exceed their limits (None drains)."""
    mailbox: Mailbox[int] = Mailbox(5, 100)
    expected: list[int] = []
    for size in sizes:
        if size is None:
            assert mailbox.drain() == expected
            expected = []
            continue
        try:
            mailbox.put_nowait(size, size)
        except MailboxFull:
            assert len(expected) == 5 or sum(expected) + size > 100
        else:
            expected.append(size)
        statistics = mailbox.statistics()
        assert statistics.waiting == len(expected) <= 5
        assert statistics.waiting_bytes == sum(expected) <= 100
