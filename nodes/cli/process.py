"""What the commands that are a process of a cluster share: options, and how they run.

A process has one pid file, which says that it is there; a second one of the same name
is refused. What it is told comes from files, the environment and flags; a flag wins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from ..operator_error import OperatorError

if TYPE_CHECKING:
    from ...config import Config

__all__ = ["AS_TOLD", "Metrics", "Process"]

PREDECESSOR_S = 10.0
"""How long to wait for a process of the same name that is on its way out."""

Metrics = Annotated[
    str | None, Parameter(help="HOST:PORT of /metrics, /healthz and /readyz.")
]


@Parameter(name="*")
@dataclass(frozen=True)
class Process:
    """The last options of each such command, and what is done with them."""

    log_level: Annotated[
        str | None, Parameter(help="debug, info, warning or error.")
    ] = None
    log_format: Annotated[str | None, Parameter(help="auto, json or console.")] = None
    config: Annotated[
        Path | None,
        Parameter(
            env_var="HOTSEAT_CONFIG",
            help="A TOML file whose options win over the folder's cluster.toml.",
        ),
    ] = None
    with_parent: Annotated[bool, Parameter(show=False, negative=())] = False

    def settings(self, folder: Path, flags: Mapping[str, tuple[str, object]]) -> Config:
        """What the process is told; `flags` are those that it has for itself.

        Raises:
            ConfigError: Something that it is told is wrong.
        """
        from ...config import load_config
        from ..node.folder import config_files

        return load_config(
            files=config_files(folder, self.config, os.environ),
            environ=os.environ,
            flags={
                "--dir": ("node.dir", str(folder)),
                **flags,
                "--log-level": ("log.level", self.log_level),
                "--log-format": ("log.format", self.log_format),
            },
        )

    @contextmanager
    def running(
        self,
        config: Config,
        bound: Mapping[str, str],
        pid_file: Path,
        stop_grace_s: float,
        *,
        twice: str,
        hint: str = "",
    ) -> Iterator[None]:
        """Log as it is told, be the one that holds the pid file, heed the parent.

        `bound` stands on each line of the log; `twice` is said where it runs already.

        Raises:
            OperatorError: already_running.
        """
        from ..local.parent_watch import stop_with_parent
        from ..pid_file import PidFile, PidFileHeld
        from ..telemetry import structured_logging

        # a child may be there before its predecessor has gone; a person may not
        wait_s = PREDECESSOR_S if self.with_parent else 0.0
        log = config.log
        with structured_logging(
            level=log.level, format=log.format, file=log.file, bound=bound
        ):
            if self.with_parent:
                stop_with_parent(0, stop_grace_s)
            try:
                with PidFile(pid_file, wait_s=wait_s):
                    yield
            except PidFileHeld as held:
                raise OperatorError(
                    "already_running", f"{twice} (process {held.pid})", hint=hint
                ) from None


AS_TOLD: Final = Process()
"""By files and the environment alone."""
