"""The file of keys: made once, kept from others, replaced whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hotseat.nodes.tokens import KeyFile, KeyFileError, KeySet, SigningKey
from hotseat.nodes.tokens.key_set import KEYS_MAX


def code_of(file: KeyFile) -> str:
    with pytest.raises(KeyFileError) as caught:
        file.keys()
    return caught.value.code


def test_the_first_start_makes_it_for_itself_alone(tmp_path: Path) -> None:
    """It is 0600, and who comes second finds the first one's keys."""
    path = tmp_path / "keys.json"
    first = KeyFile(path).make()
    assert path.stat().st_mode & 0o777 == 0o600
    assert KeyFile(path).make() == first
    assert [*tmp_path.iterdir()] == [path]


def test_a_rotation_reaches_a_process_that_runs(tmp_path: Path) -> None:
    """A key that was added or dropped elsewhere is known within a second."""
    now_s = 0.0
    running = KeyFile(tmp_path / "keys.json", monotonic_s=lambda: now_s)
    old = running.make().signing
    new = KeyFile(running.path).rotate("EdDSA")
    assert running.keys().signing == old
    now_s += 1.0
    assert running.keys().signing == new
    KeyFile(running.path).drop(old.id)
    now_s += 1.0
    assert running.keys().keys == (new,)


def test_keys_are_bounded_and_one_must_sign(tmp_path: Path) -> None:
    """The oldest keys go; the last one that signs cannot be dropped."""
    file = KeyFile(tmp_path / "keys.json")
    file.make()
    for _ in range(KEYS_MAX + 2):
        newest = file.rotate("HS256")
    assert len(file.keys().keys) == KEYS_MAX
    for key in file.keys().keys[:-1]:
        file.drop(key.id)
    with pytest.raises(KeyFileError) as caught:
        file.drop(newest.id)
    assert caught.value.code == "no_signing_key"
    with pytest.raises(KeyFileError) as unknown:
        file.drop("nobody")
    assert unknown.value.code == "unknown_key"


def test_what_others_may_read_is_refused(tmp_path: Path) -> None:
    """A file open to others is no secret any more."""
    path = tmp_path / "keys.json"
    KeyFile(path).make()
    path.chmod(0o644 if os.geteuid() else 0o666)
    assert code_of(KeyFile(path)) == "keys_exposed"


@pytest.mark.parametrize(
    "said",
    [
        "no json",
        "[]",
        '{"version": 2, "keys": []}',
        '{"version": 1, "keys": []}',
        '{"version": 1, "keys": [{"kid": "a", "alg": "none", "made_ms": 1}]}',
        '{"version": 1, "keys": [{"kid": "a", "alg": "HS256", "made_ms": 1,'
        ' "secret": "c2hvcnQ="}]}',
        '{"version": 1, "keys": [{"kid": "a", "alg": "EdDSA", "made_ms": 1}]}',
    ],
)
def test_what_is_no_set_of_keys_is_refused(tmp_path: Path, said: str) -> None:
    """Each is keys_malformed."""
    path = tmp_path / "keys.json"
    path.write_text(said)
    path.chmod(0o600)
    assert code_of(KeyFile(path)) == "keys_malformed"


def test_a_file_that_breaks_leaves_the_keys_that_were(tmp_path: Path) -> None:
    """A running gateway goes on with what it has."""
    now_s = 0.0
    file = KeyFile(tmp_path / "keys.json", monotonic_s=lambda: now_s)
    keys = file.make()
    file.path.write_text("half of")
    now_s += 2.0
    assert file.keys() == keys
    file.path.unlink()
    now_s += 2.0
    assert file.keys() == keys
    assert code_of(KeyFile(file.path)) == "keys_unreadable"


def test_a_set_survives_its_file() -> None:
    """Written and read again it is the same, private and public keys alike."""
    private = SigningKey.draw("EdDSA", 1)
    public = SigningKey("p", "EdDSA", 2, public=private.public)
    keys = KeySet((SigningKey.draw("HS256", 0), private, public))
    assert KeySet.of_json(json.loads(json.dumps(keys.to_json()))) == keys
