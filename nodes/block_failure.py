"""What a block raises, carried past the task group around it.

A context manager that runs tasks beside its user's block has a task group of its own,
which is nobody else's business: an error of the block must not come out in a group. To
keep it and raise it behind the group is not enough. If a scope further out has been
cancelled meanwhile, leaving the group raises that cancellation; whoever cancelled
swallows it, and the error would be gone without a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import anyio

__all__ = ["BlockFailure"]


class BlockFailure:
    """Entered outside of everything that may raise while the block is left.

        with BlockFailure() as failure:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(...)
                with failure.kept():
                    yield ...
                tasks.cancel_scope.cancel()

    The block's exception leaves as it is, and instead of a cancellation. If something
    else fails too, both leave in a group.
    """

    __slots__ = ("_failure",)

    def __init__(self) -> None:
        self._failure: Exception | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what is raised here. What is no `Exception` passes."""
        try:
            yield
        except Exception as error:
            self._failure = error

    def __enter__(self) -> BlockFailure:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        failure, self._failure = self._failure, None
        if failure is None:
            return
        if error is None or isinstance(error, anyio.get_cancelled_exc_class()):
            context = failure.__context__
            try:
                raise failure
            finally:
                failure.__context__ = context  # not the cancellation
        if isinstance(error, BaseExceptionGroup):
            both = [failure, *error.exceptions]
            raise BaseExceptionGroup(error.message, both) from None
        if isinstance(error, Exception):
            raise ExceptionGroup("a block and its end failed", [failure, error])
