"""`python -m tests.conformance FILE...`: checks vector files against the engine.

Prints each failing case with what was expected and what came, and closes with one
line `N passed, N failed, N skipped`. Exit status: 0 when nothing failed, 1 when
something did, 2 when a file cannot be checked at all.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from io import TextIOWrapper
from pathlib import Path
from textwrap import indent

from .formats import UnreadableFile, check_file


def main(arguments: list[str] | None = None) -> int:
    """Check the files; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description="Check vector files."
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="name skipped cases as well"
    )
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a case's text may be of any kind
            stream.reconfigure(errors="backslashreplace")
    counts: Counter[str] = Counter()
    unreadable = False
    for path in options.files:
        try:
            for outcome in check_file(path):
                counts[outcome.status] += 1
                if outcome.status == "failed":
                    print(f"FAILED {path.name}: {outcome.case}")
                    print(indent(outcome.text, "    "))
                elif outcome.status == "skipped" and options.verbose:
                    print(f"skipped {path.name}: {outcome.case}: {outcome.text}")
        except UnreadableFile as error:
            print(f"error: {error}", file=sys.stderr)
            unreadable = True
    print(", ".join(f"{counts[status]} {status}" for status in STATUSES))
    if unreadable:
        return 2
    return 1 if counts["failed"] else 0


STATUSES = ("passed", "failed", "skipped")

if __name__ == "__main__":
    sys.exit(main())
