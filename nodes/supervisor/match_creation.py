"""From a request to create a match to its first record, or a reason why not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
import structlog

from ...engine.errors import DefinitionError, InvalidGameError, InvalidMatchError
from ...engine.jsonvalue import Json
from ...engine.refusal import Refusal
from ...engine.validate import hostable
from ...runtime.budget import NO_GUARD, BudgetExceeded, Guard, OverrunTally
from ...runtime.clock import Clock
from ...runtime.codec import unpack
from ...runtime.errors import CodecError, StateTooLarge
from ...runtime.fault_log import FaultLog
from ...runtime.frame import CreateMatch, Refused
from ...runtime.games import GameRegistry, UnknownGame
from ...runtime.match import create_match, refusal
from ...runtime.match_change import Change, content_digest
from ...runtime.match_id import match_id
from ...runtime.options import MatchOptions
from ...runtime.translate import codec_refusal, refused, refused_frame

__all__ = ["Creation", "MatchStarter", "read_creation"]

_log = structlog.get_logger()

# Characters of a creation key, and of a game's name and version as they are asked
# for: a refusal repeats them.
_NAME_LENGTH_MAX = 256

# Diagnostics of an invalid game that are sent to whoever asked for it.
_DIAGNOSTICS_MAX = 20


class Creation(msgspec.Struct, frozen=True):
    """What is asked for: the match's id, its input, and a digest of it all."""

    match: str
    match_input: Json
    content: str


class MatchStarter:
    """Starts matches. Of a game whose code took too long over it again and again, none
    is tried for a while."""

    def __init__(
        self,
        games: GameRegistry,
        options: MatchOptions,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        guard: Guard = NO_GUARD,
    ) -> None:
        self._games = games
        self._options = options
        self._clock = clock
        self._random_bytes = random_bytes
        self._guard = guard
        self._overruns: dict[str, OverrunTally] = {}  # by game

    def start(
        self, frame: CreateMatch, creation: Creation, epoch: int, now_ms: int
    ) -> Change | Refused:
        """Start the match. Whatever the author's code does, this returns."""
        overruns = self._overruns.get(frame.game)
        if overruns is not None and overruns.is_full(self._clock.monotonic_s()):
            return refused(frame.request, "resolver_timeout")
        change = _start_match(
            self._games,
            frame,
            creation,
            epoch=epoch,
            seed=self._random_bytes(16).hex(),
            now_ms=now_ms,
            guard=self._guard,
        )
        if isinstance(change, Refused) and change.code == "resolver_timeout":
            self._note_overrun(frame.game)
        return change

    def _note_overrun(self, game: str) -> None:
        options = self._options
        overruns = self._overruns.setdefault(
            game,
            OverrunTally(options.resolver_timeouts_max, options.resolver_timeouts_s),
        )
        overruns.add(self._clock.monotonic_s())


def read_creation(
    frame: CreateMatch, principal: str, input_bytes_max: int
) -> Creation | Refused:
    """Read a request to create a match; nothing is run yet."""
    if not 1 <= len(frame.key) <= _NAME_LENGTH_MAX:
        text = f"a creation key has 1 to {_NAME_LENGTH_MAX} characters"
        return refused(frame.request, "malformed_request", text)
    if max(len(frame.game), len(frame.version)) > _NAME_LENGTH_MAX:
        text = f"a game's name and version have at most {_NAME_LENGTH_MAX} characters"
        return refused(frame.request, "malformed_request", text)
    size = memoryview(frame.match).nbytes
    if size > input_bytes_max:
        text = f"the match input is {size:,} bytes; the limit is {input_bytes_max:,}"
        return refused(frame.request, "too_large", text)
    try:
        match_input = unpack(frame.match)
    except CodecError as error:
        return codec_refusal(frame.request, error)
    try:
        match = match_id(principal, frame.key)
    except ValueError as error:
        return refused(frame.request, "malformed_request", str(error))
    content = content_digest(frame.game, frame.version, match_input).hex()
    return Creation(match, match_input, content)


def _start_match(
    games: GameRegistry,
    frame: CreateMatch,
    creation: Creation,
    *,
    epoch: int,
    seed: str,
    now_ms: int,
    guard: Guard,
) -> Change | Refused:
    try:
        machine = games.get(frame.game, frame.version)
        problem = hostable(machine.game)
        if problem is not None:
            hint = f" {problem.hint}" if problem.hint else ""
            text = f"{problem.message}{hint}"
            return refused(frame.request, "not_hostable", text)
        create = partial(
            create_match,
            machine,
            match=creation.match,
            epoch=epoch,
            creation=creation.content,
            match_input=creation.match_input,
            seed=seed,
            now_ms=now_ms,
        )
        return guard.run(creation.match, create)
    except BudgetExceeded as stop:
        FaultLog(creation.match).overran(stop)
        return refused(frame.request, "resolver_timeout")
    except StateTooLarge as error:
        return refused(frame.request, error.code, str(error))
    except UnknownGame as error:
        return refused(frame.request, "unknown_game", str(error))
    except InvalidGameError as error:
        return refused_frame(frame.request, _invalid_game(error))
    except InvalidMatchError as error:
        why = Refusal("invalid_match", str(error), reason=error.code)
        return refused_frame(frame.request, why)
    except DefinitionError as error:
        return refused(frame.request, "invalid_game", str(error))
    except (Exception, SystemExit):
        _log.exception("create_failed", game=frame.game, match=creation.match)
        return refused(frame.request, "internal_error")


def _invalid_game(error: InvalidGameError) -> Refusal:
    details = [
        {"code": d.code, "severity": d.severity, "message": d.message, "hint": d.hint}
        for d in error.report.diagnostics[:_DIAGNOSTICS_MAX]
    ]
    plain = refusal("invalid_game", str(error))
    return Refusal(plain.code, plain.message, details=details)
