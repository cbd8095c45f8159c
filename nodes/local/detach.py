"""Runs a local cluster's parent on its own, and waits until it says how it went.

The parent is started in a session of its own and reports once, through a pipe: one
JSON object, `{"ready": [...]}` with the nodes' pids or `{"error": text, "exit": n}`.
A pipe that ends without one means that it died.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..exit_codes import ExitCode

__all__ = ["Report", "report_to", "start_detached"]

REPORT_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Report:
    """How the start went. `error` is empty when all is ready."""

    error: str = ""
    exit_code: int = ExitCode.OK


def start_detached(argv: Sequence[str], log: Path) -> Report:
    """Start `argv` with `--report-fd N` added; return what it reports.

    The parent itself bounds how long its start may take. What it prints is in `log`.
    """
    read_end, write_end = os.pipe()
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*argv, "--report-fd", str(write_end)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(write_end,),
                start_new_session=True,
            )
    finally:
        os.close(write_end)
    try:
        with open(read_end, "rb") as pipe:
            text = pipe.read(REPORT_BYTES_MAX)
    except BaseException:  # Ctrl-C while it starts: then nothing is to run on
        process.terminate()
        process.wait()
        raise
    report = _read(text)
    if report is not None and not report.error:
        process.returncode = 0  # it lives on without us: nothing to wait for
        return report
    status = process.wait()
    if report is not None:
        return report
    return Report(
        f"error[start_failed]: the parent died with status {status}\n  hint: see {log}",
        ExitCode.FAILED,
    )


def report_to(file: int, report: Report) -> None:
    """Write the one report, and close the pipe."""
    text = json.dumps({"error": report.error, "exit": int(report.exit_code)})
    with open(file, "wb") as pipe:
        pipe.write(text.encode())


def _read(text: bytes) -> Report | None:
    try:
        values = json.loads(text)
        return Report(values["error"], values["exit"])
    except (ValueError, KeyError, TypeError):
        return None
