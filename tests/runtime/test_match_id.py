"""Names of matches and their shards: any process computes the same."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.match_id import is_match_id, match_id, shard_of

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def test_names_are_fixed_for_ever() -> None:
    """A match keeps its name and shard across versions: these are golden."""
    assert match_id("local", "key-1") == "tlem7s6pspbd6ob377ptoi2ssi"
    assert shard_of("tlem7s6pspbd6ob377ptoi2ssi", 256) == 45


@given(principal=names, key=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_name_is_what_the_design_says(principal: str, key: str) -> None:
    """The id is base32 of BLAKE2b-128 over principal, NUL, key."""
    digest = hashlib.blake2b(f"{principal}\0{key}".encode(), digest_size=16).digest()
    name = match_id(principal, key)
    assert base64.b32decode(name.upper() + "======") == digest
    assert is_match_id(name)


def test_one_key_of_two_principals_is_two_matches() -> None:
    """Nobody takes another's match by guessing their key."""
    assert match_id("anna", "k") != match_id("bert", "k")
    assert match_id("anna", "k") == match_id("anna", "k")


def test_a_principal_with_nul_is_refused() -> None:
    """The border between principal and key cannot be shifted."""
    with pytest.raises(ValueError, match="NUL"):
        match_id("a\0b", "c")


def test_shards_are_used_evenly() -> None:
    """No shard gets much more than its part."""
    counts = Counter(shard_of(match_id("local", str(i)), 16) for i in range(4000))
    assert set(counts) == set(range(16))
    assert max(counts.values()) < 1.4 * 4000 / 16


def test_a_cluster_has_a_shard() -> None:
    """A shard count of zero is a mistake that is named."""
    with pytest.raises(ValueError, match="at least one shard"):
        shard_of("x", 0)


@pytest.mark.parametrize("text", ["", "a" * 25, "A" * 26, "a" * 25 + "1", "../" * 9])
def test_what_is_no_id_is_seen(text: str) -> None:
    """Text of another form is not taken for an id."""
    assert not is_match_id(text)
