"""Write the transcripts anew: `python -m tests.golden`, or with the names of some."""

from __future__ import annotations

import sys

from .playthrough import FOLDER, GAMES, playthrough


def main(names: list[str]) -> None:
    """Write a file for each game, and remove those of games that are gone."""
    for name in names or GAMES:
        path = FOLDER / f"{name}.txt"
        before = path.read_text(encoding="utf-8") if path.exists() else None
        after = playthrough(name)
        path.write_text(after, encoding="utf-8")
        sys.stdout.write(f"{'same' if before == after else 'written'}  {path.name}\n")
    if not names:
        for path in FOLDER.glob("*.txt"):
            if path.stem not in GAMES:
                path.unlink()
                sys.stdout.write(f"removed  {path.name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
