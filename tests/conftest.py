"""Settings of all tests."""

from __future__ import annotations

import hypothesis

# A busy machine is slow, not wrong: a test that hangs meets pytest's own timeout.
hypothesis.settings.register_profile("hotseat", deadline=None, print_blob=True)
hypothesis.settings.load_profile("hotseat")
