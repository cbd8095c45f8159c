"""`hotseat`: finds the command, runs it, and answers for how it ends.

Rules: nothing heavy is imported here or at the top of a command's file, so that
help appears at once; an error is one line with a code and a hint on stderr, never
a traceback unless --debug is given; the exit status is one of `exit_codes`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..exit_codes import ExitCode

if TYPE_CHECKING:
    from cyclopts import App

__all__ = ["build_app", "main", "run"]

COMMANDS = (
    ("up", "up:up", "Start a cluster of node processes on this machine."),
    ("down", "down:down", "Stop the cluster of a folder, and wait until it has."),
    ("status", "status:status", "Show the nodes, the shards they own, the matches."),
    ("cluster", "cluster:app", "See how a whole cluster is, once or live."),
    ("shard", "shard:app", "See who owns and holds shards; move them."),
    ("match", "match:app", "Find matches, see them, change what must be."),
    ("rebalance", "rebalance:rebalance", "Spread shards evenly over the nodes."),
    ("audit", "audit:app", "See what operators have changed, who and why."),
    ("top", "top:top", "See nodes, shards and hottest matches, full-screen."),
    ("log", "log:app", "Follow what the nodes of a cluster log."),
    ("loadtest", "loadtest:loadtest", "Let simulated players play, and check it all."),
    ("demo", "demo:demo", "Kill nodes while matches are played; nothing is lost."),
    ("play", "play:play", "Play a game in the terminal, with people and bots."),
    ("game", "game:app", "List the games there are; check a game of yours."),
    ("replay", "replay:app", "Look at saved matches; verify them; try new code."),
    ("inspect", "inspect:inspect", "Look into a match, revision by revision."),
    ("node", "node:app", "Run one node process; list, drain, remove nodes."),
    ("gateway", "gateway:gateway", "Let players in: WebSockets and an HTTP API."),
    ("bots", "bots:bots", "Let bots play in the seats that lobbies give them."),
    ("token", "token:app", "Make tokens for players and operators; change keys."),
    ("completion", "completion:completion", "Let a shell complete command lines."),
    ("version", "version:version", "Show the version."),
)
"""Name, where it is, one line of help: what `hotseat --help` needs to know."""

HELP = """\
Turn-based matches that survive their servers.

A cluster is found by --dir DIR (or HOTSEAT_DIR), its folder, or by
--cluster ADDR (or HOTSEAT_CLUSTER), the command door of one of its nodes;
otherwise by ./.hotseat. Without a flag, play needs no cluster. A door on
another machine, tcp://HOST:PORT, wants the cluster's secret: --secret FILE
(or HOTSEAT_SECRET_FILE).

Exit status: 0 done, 1 failed, 2 wrong command line or configuration,
3 cluster not reachable, 130 interrupted. With --debug, an error shows its traceback.
"""


def main() -> None:
    """The console script's entry."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit status."""
    debug = "--debug" in arguments or bool(os.environ.get("HOTSEAT_DEBUG"))
    tokens = [argument for argument in arguments if argument != "--debug"]
    try:
        _take_secret(tokens)
        result = build_app(next(iter(tokens), ""))(
            tokens,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            print()  # else the shell's prompt would stand behind ours
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # who read our output went away, as `head` does: that is no failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:
        if debug:
            raise
        from .failure import describe

        text, status = describe(error)
        if text:
            print(text, file=sys.stderr)
        return status
    return result if isinstance(result, int) else ExitCode.OK


def _take_secret(tokens: list[str]) -> None:
    """`--secret FILE` is of every command that asks nodes: it names the file to all.

    Raises:
        OperatorError: usage: it names none.
    """
    for at, token in enumerate(tokens):
        flag, equals, file = token.partition("=")
        if flag != "--secret":
            continue
        taken = tokens[at : at + (1 if equals else 2)]
        file = file if equals else "".join(taken[1:])
        if not file:
            from ..operator_error import OperatorError

            raise OperatorError(
                "usage",
                "--secret names no file",
                hint="--secret FILE, a copy of the cluster's secret",
                exit_code=ExitCode.USAGE,
            )
        os.environ["HOTSEAT_SECRET_FILE"] = file
        del tokens[at : at + len(taken)]
        return


def build_app(asked: str) -> App:
    """All commands. The one that is asked for is imported, and tells all its help."""
    from cyclopts import App

    app = App(
        name="hotseat",
        help=HELP,
        version=_version,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,  # `run` answers for it
    )
    for name, place, line in COMMANDS:
        brief = {} if name == asked else {"help": line}
        app.command(f"{__package__}.{place}", name=name, **brief)
    return app


def _version() -> str:
    from importlib.metadata import version

    return version("hotseat")


if __name__ == "__main__":
    main()
