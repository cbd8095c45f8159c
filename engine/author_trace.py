"""Where an exception of author code came from: the author's line, and their frames.

The engine's own frames say nothing to an author, and are left out everywhere, in the
exceptions that led to this one too. The shipped games are author code.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from types import CodeType, FrameType

__all__ = ["AuthorTrace", "author_trace", "definition_trace"]

# What is kept of an exception: enough to find the line, not what a payload made of it.
_FRAMES_MAX = 20
_SOURCE_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class AuthorTrace:
    """`where` is `file:line` of the author's innermost line, `source` its text.

    Both are None when no line of theirs is known.
    """

    where: str | None
    source: str | None
    text: str
    """The traceback as Python prints it, of the author's frames alone."""


def author_trace(error: BaseException, function: object = None) -> AuthorTrace:
    """Read the traceback of an exception that author code raised, or caused.

    `function` is what was called; where it is defined is the answer when no frame of
    the author's is on the stack, as when their answer was at fault.
    """
    place = _innermost(error) or _definition(function)
    return AuthorTrace(*_shown(place), _text(error))


def definition_trace(function: object) -> AuthorTrace:
    """Where a function is defined whose answer was at fault; nothing was raised."""
    return AuthorTrace(*_shown(_definition(function)), "")


def _innermost(error: BaseException) -> tuple[str, int] | None:
    """The last line on the stack that belongs to the code that the engine called.

    That code may call others' (the standard library, say); a line of theirs is not
    what the author wrote.
    """
    frames = [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_engine(frame.f_code.co_filename)
    ]
    if not frames:
        return None
    first = frames[0][0]
    own = [(frame, line) for frame, line in frames if _are_kin(first, frame)]
    frame, line = own[-1]
    return frame.f_code.co_filename, line


def _are_kin(first: FrameType, other: FrameType) -> bool:
    """Whether two frames are of one package, or one folder."""
    packages = [
        str(frame.f_globals.get("__name__", "")).partition(".")[0]
        for frame in (first, other)
    ]
    if packages[0] == packages[1] != "":
        return True
    return _folder(first.f_code.co_filename) == _folder(other.f_code.co_filename)


def _definition(function: object) -> tuple[str, int] | None:
    while (wrapped := getattr(function, "__wrapped__", None)) is not None:
        function = wrapped
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or _is_engine(code.co_filename):
        return None
    return code.co_filename, code.co_firstlineno


def _shown(place: tuple[str, int] | None) -> tuple[str | None, str | None]:
    if place is None:
        return None, None
    file, line = place
    text = traceback.FrameSummary(file, line, "").line or ""
    return f"{file}:{line}", text.strip()[:_SOURCE_CHARS_MAX] or None


def _text(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error, limit=-_FRAMES_MAX)
    _leave_out_the_engine(told, set())
    return "".join(told.format())


def _leave_out_the_engine(
    told: traceback.TracebackException | None, seen: set[int]
) -> None:
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if not _is_engine(frame.filename)]
    for other in (told.__cause__, told.__context__, *(told.exceptions or ())):
        _leave_out_the_engine(other, seen)


_ENGINE = _text.__code__.co_filename.removesuffix("author_trace.py")
_GAMES = _ENGINE + "games/"


def _is_engine(file: str) -> bool:
    return file.startswith(_ENGINE) and not file.startswith(_GAMES)


def _folder(file: str) -> str:
    return file.rpartition("/")[0]
