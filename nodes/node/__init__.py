"""One node process: its parts, and how they are put together."""
