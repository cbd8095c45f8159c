"""What the exit status of `hotseat` says.

| status | meaning |
|---|---|
| 0 | what was asked for is done |
| 1 | it could not be done: the reason is on stderr |
| 2 | the command line or the configuration is wrong; nothing was tried |
| 3 | the cluster cannot be reached |
| 130 | interrupted by Ctrl-C |

`hotseat up` and `hotseat node` stop cleanly on Ctrl-C and SIGTERM: that is 0.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """The exit statuses; no command uses another."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130
