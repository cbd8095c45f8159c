"""`hotseat down`: stop the cluster of a folder."""

from __future__ import annotations

from .options import Dir, folder

__all__ = ["down"]


def down(*, dir: Dir = None) -> None:
    """Stop the cluster of a folder, and wait until every node has ended.

    That nothing runs there is no failure: the exit status is 0 then, too.
    """
    from ..local.stop import stop_local

    stopped = stop_local(folder(dir))
    print("stopped" if stopped else "nothing runs there")
