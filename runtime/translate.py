"""Between frames and commands: what a request asks of a match, and its answer's frame.

Bytes of a game's values are read here, with their limits; past it they are values.
"""

from __future__ import annotations

import msgspec

from ..engine.redact import redact_refusal
from ..engine.refusal import Refusal
from .codec import pack, unpack
from .command import Act, Answer, Applied, Denied, SeatHeld
from .errors import CodecError, FrameMalformed
from .frame import Accepted, Created, Dispatch, Refused, Response, Seated
from .match import refusal
from .match_state import MatchState

__all__ = [
    "answer_frame",
    "codec_refusal",
    "created_frame",
    "read_dispatch",
    "refused",
    "refused_frame",
]

_NULL = msgspec.Raw(b"\xc0")


def read_dispatch(frame: Dispatch, payload_bytes_max: int) -> Act | Refused:
    """The action that a frame asks for, or why it cannot be read."""
    size = memoryview(frame.payload).nbytes
    if size > payload_bytes_max:
        text = f"the payload is {size:,} bytes; the limit is {payload_bytes_max:,}"
        return refused(frame.request, "too_large", text)
    try:
        payload = unpack(frame.payload)
    except CodecError as error:
        return codec_refusal(frame.request, error)
    return Act(
        frame.seat,
        frame.session,
        frame.action,
        frame.event,
        payload,
        frame.base_revision,
    )


def answer_frame(request: int, match: str, answer: Answer) -> Response:
    """The frame that tells an answer to whoever asked."""
    if isinstance(answer, Applied):
        return Accepted(request, match, answer.revision, answer.index)
    if isinstance(answer, Denied):
        return refused_frame(request, answer.refusal, answer.revision)
    if isinstance(answer, SeatHeld):
        return Seated(
            request,
            match,
            answer.seat,
            answer.session,
            answer.token,
            answer.next_action,
        )
    raise TypeError(f"nobody is told of {answer}")


def created_frame(request: int, state: MatchState) -> Created:
    """The frame that tells whoever created the match."""
    game = state.machine.game
    return Created(
        request, state.match, state.epoch, game.name, game.version, tuple(state.seats)
    )


def refused(
    request: int, code: str, message: str = "", *, revision: int | None = None
) -> Refused:
    """A refusal with its table's sentence, or a closer one."""
    return refused_frame(request, refusal(code, message), revision)


def refused_frame(
    request: int, reason: Refusal, revision: int | None = None
) -> Refused:
    """The frame of a refusal. Its fault stays here: it is the operator's."""
    reason = redact_refusal(reason)
    details = _NULL
    if reason.details is not None:
        try:
            details = pack(reason.details)
        except CodecError:
            # A game may say more than a frame holds; the code and reason suffice.
            details = _NULL
    return Refused(
        request, reason.code, reason.message, reason.reason, details, revision
    )


def codec_refusal(request: int, error: CodecError) -> Refused:
    """What to tell whoever sent a value that cannot be read."""
    malformed = isinstance(error, FrameMalformed)
    code = "malformed_request" if malformed else error.code
    return refused(request, code, str(error))
