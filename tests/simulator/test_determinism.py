"""A seed is one run: the same in every process, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def trace(seed: int, hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.simulator", "--seed", str(seed), "-v"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 8])
def test_a_seed_is_one_run(seed: int) -> None:
    """Two processes with other hash seeds print the same trace and the same digest."""
    one, two = trace(seed, "1"), trace(seed, "2")
    assert one == two
    assert f"seed {seed} trace " in one.splitlines()[-1]
    assert len(one.splitlines()) > 20
