"""The file that holds the keys: 0600, made at the first start, read again when it
changes.

Whoever writes it (a rotation, an issuer, a secret that Kubernetes mounts) replaces it
whole, so that no reader sees half of it.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from .key_set import Algorithm, KeySet, SigningKey
from .token_error import KeyFileError

__all__ = ["KeyFile"]

FILE_BYTES_MAX = 64 * 1024

LOOK_S = 1.0
"""How often a running process looks whether the file has changed."""


class KeyFile:
    """A set of keys on disk. `keys()` is cheap: the file is read when it changed."""

    def __init__(
        self, path: Path, *, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self._monotonic_s = monotonic_s
        self._looked_s = -LOOK_S
        self._stamp: tuple[int, int, int] | None = None
        self._keys: KeySet | None = None

    def make(self, algorithm: Algorithm = "HS256") -> KeySet:
        """Make the file with a first key, if it is not there; return what is there.

        Raises:
            KeyFileError: It cannot be made or read.
        """
        if not self.path.exists():
            first = KeySet((SigningKey.draw(algorithm, _now_ms()),))
            draft = self._written(first)
            try:
                os.link(draft, self.path)  # unlike a rename, it replaces nobody's
            except FileExistsError:
                pass  # another process was first
            finally:
                draft.unlink()
        return self.keys()

    def keys(self) -> KeySet:
        """The keys as they are now, at most `LOOK_S` old.

        A file that is gone or broken for a moment leaves the keys as they were.

        Raises:
            KeyFileError: keys_unreadable, keys_exposed or keys_malformed, and there
                were none before.
        """
        now_s = self._monotonic_s()
        if self._keys is not None and now_s - self._looked_s < LOOK_S:
            return self._keys
        self._looked_s = now_s
        try:
            found = self.path.stat()
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if self._keys is None or stamp != self._stamp:
                self._keys, self._stamp = self._read(found), stamp
        except OSError as error:
            if self._keys is None:
                raise KeyFileError(
                    "keys_unreadable", f"{self.path} cannot be read: {error.strerror}"
                ) from error
        except KeyFileError:
            if self._keys is None:
                raise
        return self._keys

    def rotate(self, algorithm: Algorithm) -> SigningKey:
        """Add a key, which signs from now on.

        Raises:
            KeyFileError: The file cannot be read or written.
        """
        new = SigningKey.draw(algorithm, _now_ms())
        self._replace(self._newest().rotated(new))
        return new

    def drop(self, id: str) -> None:
        """Take a key out: what it has signed is refused from now on.

        Raises:
            KeyFileError: unknown_key, no_signing_key, or the file cannot be written.
        """
        self._replace(self._newest().without(id))

    def _newest(self) -> KeySet:
        self._keys = None
        return self.keys()

    def _replace(self, keys: KeySet) -> None:
        draft = self._written(keys)
        try:
            draft.replace(self.path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise _unwritable(self.path, error) from error
        self._keys = None

    def _written(self, keys: KeySet) -> Path:
        """A file beside ours that holds `keys`."""
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        try:
            draft.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with open(os.open(draft, flags, 0o600), "w") as file:
                json.dump(keys.to_json(), file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error
        return draft

    def _read(self, found: os.stat_result) -> KeySet:
        """
        Raises:
            OSError: It cannot be read.
            KeyFileError: keys_exposed, keys_malformed.
        """
        # What root hands to a service may be readable to a group that root chose.
        allowed = 0o640 if found.st_uid == 0 else 0o600
        mine = found.st_uid in (0, os.geteuid())
        if not mine or stat.S_IMODE(found.st_mode) & ~allowed & 0o777:
            raise KeyFileError(
                "keys_exposed",
                f"others may read the keys in {self.path}: chmod 600, and rotate them",
            )
        if found.st_size > FILE_BYTES_MAX:
            raise KeyFileError("keys_malformed", f"{self.path} is too large")
        try:
            said = json.loads(self.path.read_text("utf-8"))
        except ValueError:
            raise KeyFileError("keys_malformed", f"{self.path} is no JSON") from None
        return KeySet.of_json(said)


def _unwritable(path: Path, error: OSError) -> KeyFileError:
    what = error.strerror or str(error)
    return KeyFileError("keys_unreadable", f"{path} cannot be written: {what}")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
