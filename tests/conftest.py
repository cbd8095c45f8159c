"""Settings of all tests."""

from __future__ import annotations

import sys

import hypothesis
import pytest

# A busy machine is slow, not wrong: a test that hangs meets pytest's own timeout.
hypothesis.settings.register_profile("hotseat", deadline=None, print_blob=True)
hypothesis.settings.load_profile("hotseat")


@pytest.fixture
def strikes_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which a watchdog strikes.

    A strike may land in a finalizer, or in a callback of the collector (hypothesis has
    one), that happens to run in the midst of the call. The interpreter reports it there
    and drops it, and the call is struck again. The report goes nowhere: pytest's own
    would itself be struck.
    """
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
