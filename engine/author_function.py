"""Checks a function that an author gives, where it is given.

What would fail at the first action, or at the first look, fails at the definition: a
value that is no function, one that does not take what it will be called with, one
that is async. Only plain functions are looked into; of other callables it is known
only that they can be called.
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType

from .errors import DefinitionError

__all__ = ["check_function"]

# Flags of a code object; see the documentation of `inspect`.
_VARARGS = 0x04
_GENERATOR = 0x20
_ASYNC = 0x80 | 0x100 | 0x200  # coroutine, iterable coroutine, async generator


def check_function(
    value: object, what: str, *names: str, may_yield: bool = False
) -> None:
    """Make sure that `value` can be called with the arguments `names`.

    `what` begins the message. A generator is fine where its items are wanted.

    Raises:
        DefinitionError: it cannot; the message says what to write.
    """
    wanted = f"({', '.join(names)})"
    if not callable(value):
        raise DefinitionError(
            f"{what} must be a function of {wanted}, not {value!r}; write "
            f"lambda {', '.join(names)}: ... or the name of a function"
        )
    if isinstance(value, type):
        return
    function = value.__func__ if isinstance(value, MethodType) else value
    if not isinstance(function, FunctionType):
        return
    code: CodeType = function.__code__
    if code.co_flags & _ASYNC:
        raise DefinitionError(
            f"{what} must be a plain function, not async: a game computes, it does "
            "not wait"
        )
    if code.co_flags & _GENERATOR and not may_yield:
        raise DefinitionError(f"{what} must return its answer, not yield it")
    bound = value is not function
    fewest = code.co_argcount - len(function.__defaults__ or ()) - bound
    most = code.co_argcount - bound
    unfilled = code.co_kwonlyargcount - len(function.__kwdefaults__ or {})
    too_many = len(names) > most and not code.co_flags & _VARARGS
    if len(names) < fewest or too_many or unfilled:
        taken = ", ".join(code.co_varnames[bound : code.co_argcount]) or "nothing"
        raise DefinitionError(
            f"{what} is called with {wanted}, but {_name_of(function)} takes {taken}; "
            f"write {_example(function, names)}"
        )


def _name_of(function: FunctionType) -> str:
    name = function.__name__
    return "the lambda" if name == "<lambda>" else name


def _example(function: FunctionType, names: tuple[str, ...]) -> str:
    taken = ", ".join(names)
    if function.__name__ == "<lambda>":
        return f"lambda {taken}: ..."
    return f"def {function.__name__}({taken}): ..."
