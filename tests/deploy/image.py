"""Reads a Containerfile, and does its steps in a clean folder instead of an image.

What is copied is copied, the wheel is built and installed by the same commands, with
the packages that it needs taken from this interpreter: no network is used. What it sets
(user, variables, entry point, health check, signal) is handed out as the file has it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.manifests import DEPLOY, ROOT

__all__ = ["Image", "build"]

DATA = "/var/lib/hotseat"
"""Where the image keeps what must last; a folder of the test's stands in for it."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a Containerfile's last stage says."""

    user: int
    entry_point: list[str]
    command: list[str]
    health: list[str]
    stop: signal.Signals
    environment: dict[str, str] = field(default_factory=dict)
    copied: tuple[str, ...] = ()
    """Of the whole file: what its first stage takes from the tree."""

    @classmethod
    def read(cls, file: Path = DEPLOY / "Containerfile") -> Image:
        """The parts of our own file; not any file there may be."""
        text = re.sub(r"\\\n", " ", file.read_text())
        first, last = text.split("\nFROM ")[1:]
        lines = [
            line.split(maxsplit=1) for line in last.splitlines() if line[:1] != "#"
        ]
        said = {line[0]: line[1] for line in lines if len(line) == 2}
        environment = dict(re.findall(r"(\w+)=(\S+)", said["ENV"]))
        health = re.search(r"HEALTHCHECK .* CMD (\[.*\])", last.replace("\\\n", ""))
        assert health is not None
        assert said["VOLUME"] == said["WORKDIR"] == DATA
        copies = re.findall(r"^COPY (.+) \S+$", first, re.M)
        return cls(
            user=int(said["USER"].partition(":")[0]),
            entry_point=json.loads(said["ENTRYPOINT"]),
            command=json.loads(said["CMD"]),
            health=json.loads(health[1]),
            stop=signal.Signals[said["STOPSIGNAL"]],
            environment=environment,
            copied=tuple(name for copy in copies for name in copy.split()),
        )


def build(image: Image, folder: Path) -> Path:
    """Do the steps of the first stage below `folder`; return the programs' folder."""
    source = folder / "src"
    source.mkdir(parents=True)
    for name in image.copied:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    wheels = folder / "wheels"
    _run(
        *(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index"),
        *("--wheel-dir", str(wheels), str(source)),
    )
    (wheel,) = wheels.glob("hotseat-*.whl")
    home = folder / "opt" / "hotseat"
    _run(sys.executable, "-m", "venv", "--without-pip", str(home))
    python = home / "bin" / "python"
    _run(
        *pip, "--python", str(python), "install", "--no-index", "--no-deps", str(wheel)
    )
    (packages,) = (home / "lib").glob("python*/site-packages")
    # the packages that it needs; not hotseat: that is a finder of this site alone
    (packages / "needed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return home / "bin"


def _run(*argv: str) -> None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
    subprocess.run(argv, check=True, capture_output=True, timeout=120, env=environ)
