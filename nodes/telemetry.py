"""Structured logging: a closed list of events, and where their lines go.

Every line has an event of `EVENTS`, a level, a time, and the names bound at the
process's start (cluster, node). Lines are JSON in a file or a pipe, and made for
people on a terminal. No action of a match is logged above debug: a line costs more
than a move.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO, cast

import structlog

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

__all__ = ["EVENTS", "get_logger", "quiet_unless_configured", "structured_logging"]

EVENTS: Mapping[str, str] = MappingProxyType(
    {
        # the local cluster's parent
        "cluster_ready": "Every node of the local cluster is ready.",
        "cluster_stopped": "The local cluster has stopped.",
        "child_started": "The parent started a node process.",
        "child_ready": "A node process answered that it owns its shards.",
        "child_exited": "A node process ended without being told to.",
        "child_killed": "A node process was late to stop, or told twice, and killed.",
        # a node's life
        "node_starting": "A node process reads its configuration and opens its doors.",
        "node_ready": "The node owns every shard that is meant for it.",
        "node_stopping": "The node was told to stop and finishes what it has.",
        "node_draining": "The node hands over what it owns before it ends.",
        "node_drained": "It has; what was left is taken over when it is gone.",
        "drain_not_said": "The coordinator did not take it that the node leaves.",
        "memory_room": "The node is near its limit of memory, or has room again.",
        "node_stopped": "The node has stopped.",
        "service_manager_silent": "systemd does not take what the node tells it.",
        "parent_gone": "The process that started this node is gone: it stops.",
        "game_broken": "An installed game cannot be hosted and was left out.",
        # links and doors
        "link_up": "A process has proved membership; frames flow.",
        "link_down": "A link ended; the reason says why.",
        "hello_refused": "A process could not prove membership and was cut off.",
        "message_malformed": "Bytes that are no frame cost their sender the link.",
        "pipe_lost": "A connection went down before it was a link.",
        "socket_stuck": "nng does not close a socket; others are closed without it.",
        "dial_refused": "An address cannot be dialled at all.",
        "metrics_served": "Metrics, health and readiness are told over HTTP there.",
        "page_failed": "A page for monitoring could not be made.",
        "door_opened": "Operators on other machines may ask the node there.",
        "door_failed": "A command at the door failed on the node's side.",
        "answer_dropped": "An answer or view could not go: its link is down or full.",
        "answer_unsendable": "An answer is too large for a frame; it was refused.",
        "frame_misplaced": "A process sent what only another kind may send.",
        # commands of operators
        "operator_command": "A command that changes something began, or has ended.",
        "operator_command_broken": "A command failed in our own code.",
        "operation_unrecorded": "How a command ended is not written yet: once more.",
        "operation_record_invalid": "What stands at a command's key cannot be read.",
        # a gateway's life, and its players
        "gateway_listening": "Players can come: the gateway is open there.",
        "gateway_waits": "No node of the cluster answers yet: it is tried again.",
        "accept_failed": "A player's connection cannot be accepted now; it waits.",
        "files_short": "The process may open too few files for all its connections.",
        "gateway_stopping": "The gateway was told to stop and lets its players go.",
        "gateway_stopped": "The gateway has stopped.",
        # bots
        "bots_ready": "Bots play in the rooms that give them seats.",
        "bots_wait": "No node of the cluster answers yet: it is tried again.",
        "bots_stopping": "The bots process was told to stop.",
        "bots_stopped": "The bots process has stopped.",
        "rooms_unreachable": "No node tells which rooms there are: it is tried again.",
        "rooms_full": "There are more rooms than `bots.rooms_max`: some wait.",
        "room_waits": "A room cannot be looked at: it is tried again.",
        "room_failed": "Seeing to a room failed, through a fault of this program.",
        "bot_waits": "A bot's match gives no answer: it is tried again.",
        "bot_failed": "A bot did not decide: it raised, or took too long.",
        "bot_refused": "The game refused a bot's action.",
        "bot_stuck": "A bot has its turn, and no action that is accepted.",
        "bot_replaced": "Somebody took a bot's seat anew: it waits, as a spare.",
        "bot_seat_taken": "A bot's seat is held by a secret that is not ours.",
        "bot_worker_failed": "A process that decides for bots did not start.",
        "lobby_start_again": "A lobby's match had no answer yet: it is opened again.",
        "lobby_start_failed": "A lobby's match cannot be opened; its host is told.",
        "connection_failed": "A player's connection ended in a fault of our own.",
        "match_inspected": "An operator looks into a match, on a page; on record.",
        "operator_refused": "What an operator's page asked for could not be told.",
        "api_failed": "A request of the HTTP API ended in a fault of our own.",
        # coordinator
        "cluster_created": "This process was the first: it wrote the cluster's record.",
        "node_registered": "The node's address stands in the coordinator.",
        "registration_lost": "The node's lease ran out: it registers again.",
        "node_id_awaited": "An earlier process's lease under this id is still alive.",
        "shard_served": "The node serves the shard from this epoch on.",
        "shard_released": "The node serves the shard in that epoch no longer.",
        "replica_alarm": "A replica found what an operator must look at; see the code.",
        "replica_unsendable": "A replication message is too large for a frame.",
        "node_gone": "A node's link broke and its inbox refuses: its process is gone.",
        "match_seen_at_death": "The node died while this match's code ran.",
        "match_poison": "A match is set apart on all nodes: its code ran when nodes"
        " died.",
        "match_set_apart": "A match is set apart on all nodes: an operator says so.",
        "death_not_told": "In which match a node died could not be written down.",
        "poison_record_invalid": "What stands at a match's poison key cannot be read.",
        "node_record_invalid": "What stands at a node's key cannot be read: ignored.",
        "coordinator_unavailable": "No answer; what is owned goes on being served.",
        "coordinator_back": "The coordinator answers again.",
        "session_not_renewed": "A liveness lease could not be renewed this time.",
        "session_left_to_expire": "A lease could not be given back and will run out.",
        # results
        "result_delayed": "A sink does not have a match's result: told again, later.",
        # the journal
        "journal_set_aside": "The journal had lost something: it was set aside, and the"
        " node begins empty, as a new replica.",
        "journal_salvaged": "Data without a seal were opened as an old copy.",
        "journal_failed": "The disk takes no writes: nothing is acknowledged here.",
        "journal_back": "The disk takes writes again.",
        # matches
        "create_failed": "A game's own code raised while a match was made.",
        "match_quarantined": "A match is set apart here. An error: our own code failed"
        " in it, or its game held the loop too often; a warning: all nodes do so.",
        "match_stays_apart": "A match was released, and cannot be carried on here.",
        "match_brought_back": "A match that was set apart goes on.",
        "quarantine_failed": "Not even the players of a match set apart could be told.",
        "request_failed": "A request failed in our own code; it was refused.",
        "match_dropped": "An ended match was put away by the retention rule.",
        "tombstone_forgotten": "The creation key of a match long gone is forgotten.",
        "game_failed": "A game's own code raised; the traceback is its author's.",
        "budget_exceeded": "A game's own code held the loop and was interrupted.",
        "loop_held": "A game's own code held the loop; nothing here can interrupt it.",
        "loop_late": "Something held the node's loop; the place is where it was then.",
        "loop_stands": "The node's loop has stood for long: where each thread is.",
        "loop_stuck": "A game's own code holds the loop whatever interrupts it: the "
        "node serves nobody.",
        "watchdog_cannot_interrupt": "Code that holds the loop is reported, not "
        "stopped; the reason says why.",
        "state_large": "A match's state is larger than is good for it.",
        "stuck_deadline": "A step left a deadline already past: it does not fire.",
        "timeout_not_fired": "A deadline's transition failed: nothing changed.",
    }
)
"""Every event that is ever logged, with a sentence for who reads it."""


@contextmanager
def structured_logging(
    *,
    level: str = "info",
    format: str = "auto",
    file: Path | None = None,
    bound: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Set structlog up for this process; `bound` stands on every line.

    `format` is auto (console on a terminal, else JSON lines), json or console;
    `file` is appended to, stderr is used without one.

    Raises:
        OSError: The file cannot be opened.
    """
    with ExitStack() as stack:
        stream: TextIO = sys.stderr
        if file is not None:
            opened = file.open("a", encoding="utf-8", buffering=1)
            stream = stack.enter_context(opened)
        output = _Unbreakable(stream)
        console = format == "console" or (format == "auto" and stream.isatty())
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                _binder(bound or {}),
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _mark_unlisted,
                output.tell_lost,
                *_renderer(console, stream.isatty()),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(
                logging.getLevelNamesMapping()[level.upper()]
            ),
            logger_factory=structlog.WriteLoggerFactory(cast(TextIO, output)),
            cache_logger_on_first_use=False,
        )
        stack.callback(structlog.reset_defaults)
        yield


def quiet_unless_configured() -> None:
    """In a program of somebody else's: warnings alone, and never to its stdout.

    What that program has said to structlog, or says later, stands.
    """
    if not structlog.is_configured():
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        )


def get_logger() -> structlog.typing.FilteringBoundLogger:
    """The process's logger; what was bound at its start stands on each line."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return logger


class _Unbreakable:
    """A stream to which a full disk costs lines, never the process.

    The next line that can be written says how many were lost.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = 0

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._lost += 1
        else:
            self._lost = 0

    def flush(self) -> None:
        """Nothing is left to do: `write` has flushed."""

    def tell_lost(
        self, _logger: WrappedLogger, _method: str, line: EventDict
    ) -> EventDict:
        """A processor."""
        return {**line, "lines_lost": self._lost} if self._lost else line


def _renderer(console: bool, colors: bool) -> list[Processor]:
    if console:
        return [structlog.dev.ConsoleRenderer(colors=colors)]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(default=repr, ensure_ascii=False),
    ]


def _binder(bound: Mapping[str, str]) -> Processor:
    """Puts the process's own names on a line, also from threads; the line's win."""

    def bind(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
        return {**bound, **line}

    return bind


def _mark_unlisted(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """A line whose event is not of the list is kept, and says so."""
    if line.get("event") not in EVENTS:
        line["unlisted"] = True
    return line
