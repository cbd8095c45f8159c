"""Makes `bench` importable: it is found from the repository's root, as by `make`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
