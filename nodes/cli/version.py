"""`hotseat version`: what is installed here."""

from __future__ import annotations

import json as json_text
import platform
from importlib.metadata import version as distribution_version

from .options import Json

__all__ = ["version"]


def version(*, json: Json = False) -> None:
    """Show the version."""
    installed = distribution_version("hotseat")
    if not json:
        print(installed)
        return
    from ...runtime.frame import PROTOCOL_VERSION

    shown = {
        "version": installed,
        "protocol": PROTOCOL_VERSION,
        "python": platform.python_version(),
    }
    print(json_text.dumps(shown))
