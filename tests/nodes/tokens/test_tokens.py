"""Tokens: what is accepted, and everything that is not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.nodes.tokens import (
    Grant,
    KeySet,
    SigningKey,
    TokenError,
    Tokens,
    clean_name,
)
from hotseat.nodes.tokens.key_set import Algorithm
from hotseat.nodes.tokens.tokens import LEEWAY_S, TOKEN_CHARACTERS_MAX

MATCH = "m" * 26


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


def rig(
    *keys: SigningKey, cluster: str = "c1", clock: Clock | None = None
) -> tuple[Tokens, Clock]:
    clock = clock or Clock()
    keys = keys or (SigningKey.draw("HS256", 0),)
    return Tokens(cluster, lambda: KeySet(keys), now_s=clock), clock


def code_of(tokens: Tokens, token: str | None) -> str:
    with pytest.raises(TokenError) as caught:
        tokens.read(token)
    assert not token or len(token) < 40 or token not in str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("algorithm", ["HS256", "EdDSA"])
def test_a_token_says_what_was_granted(algorithm: Algorithm) -> None:
    """Seat, spectator and operator tokens come back as they were minted."""
    tokens, clock = rig(SigningKey.draw(algorithm, 0))
    grant = tokens.read(tokens.seat(MATCH, 7, "white", 60))
    assert (grant.kind, grant.match, grant.epoch) == ("seat", MATCH, 7)
    assert (grant.seat, grant.expires_s) == ("white", clock.now_s + 60)
    watcher = tokens.read(tokens.spectator(MATCH, 7, 60))
    assert (watcher.kind, watcher.seat) == ("spectator", "")
    assert watcher.scopes == {"watch"}
    operator = tokens.read(tokens.operator("ann", 60))
    assert (operator.kind, operator.subject, operator.match) == ("operator", "ann", "")
    assert tokens.statistics().accepted == 3


def test_b52_a_token_expires_and_clocks_may_differ() -> None:
    """It is good until its expiry plus the leeway, and not a moment longer."""
    tokens, clock = rig()
    token = tokens.seat(MATCH, 1, "0", 60)
    clock.now_s += 60 + LEEWAY_S - 1
    assert tokens.read(token).seat == "0"
    clock.now_s += 1
    assert code_of(tokens, token) == "token_expired"
    clock.now_s -= 60 + 2 * LEEWAY_S + 1
    assert code_of(tokens, token) == "token_not_yet"


def test_rotation_keeps_old_tokens_until_their_key_goes() -> None:
    """A new key signs, an old one goes on checking, a dropped one refuses."""
    old, new = SigningKey.draw("HS256", 1), SigningKey.draw("EdDSA", 2)
    keys = KeySet((old,))
    tokens = Tokens("c1", lambda: keys, now_s=Clock())
    before = tokens.seat(MATCH, 1, "0", 60)
    keys = keys.rotated(new)
    after = tokens.seat(MATCH, 1, "1", 60)
    assert jwt.get_unverified_header(after)["kid"] == new.id
    assert [tokens.read(token).seat for token in (before, after)] == ["0", "1"]
    keys = keys.without(old.id)
    assert code_of(tokens, before) == "token_unknown_key"
    assert tokens.read(after).seat == "1"


def test_a_key_that_is_public_alone_only_checks() -> None:
    """A gateway without the private key accepts the tokens of who has it."""
    private = SigningKey.draw("EdDSA", 0)
    public = SigningKey(private.id, "EdDSA", 0, public=private.public)
    clock = Clock()
    issuer, _ = rig(private, clock=clock)
    gateway, _ = rig(public, SigningKey.draw("HS256", 0), clock=clock)
    assert gateway.read(issuer.seat(MATCH, 1, "0", 60)).seat == "0"


def forged(key: SigningKey, change: Callable[[dict[str, Any]], None]) -> str:
    claims: dict[str, Any] = {
        "iss": "hotseat",
        "aud": "hotseat:c1",
        "exp": 2_000_000,
        "kind": "seat",
        "scope": "play",
        "match": MATCH,
        "epoch": 1,
        "seat": "0",
    }
    change(claims)
    return jwt.encode(claims, key.secret, algorithm="HS256", headers={"kid": key.id})


@pytest.mark.parametrize(
    "change",
    [
        lambda claims: claims.pop("exp"),
        lambda claims: claims.pop("aud"),
        lambda claims: claims.pop("kind"),
        lambda claims: claims.update(kind="king"),
        lambda claims: claims.update(scope="play operate"),
        lambda claims: claims.update(scope=["play"]),
        lambda claims: claims.update(seat=0),
        lambda claims: claims.update(seat=""),
        lambda claims: claims.update(match=""),
        lambda claims: claims.update(epoch=-1),
        lambda claims: claims.update(epoch=True),
        lambda claims: claims.update(session=3),
        lambda claims: claims.update(nbf="soon"),
        lambda claims: claims.update(exp="never"),
        lambda claims: claims.update(exp=float("inf")),
        lambda claims: claims.update(renew="no"),
        lambda claims: claims.update(until=2_000_000),
        lambda claims: claims.update(seat="x" * 200),
        lambda claims: claims.update(iss="else"),
    ],
)
def test_claims_of_another_shape_are_refused(change: Any) -> None:
    """Signed or not: what is no grant of ours is token_invalid, never a crash."""
    key = SigningKey.draw("HS256", 0)
    tokens, _ = rig(key)
    assert tokens.read(forged(key, lambda claims: None)).seat == "0"
    assert code_of(tokens, forged(key, change)) == "token_invalid"


def test_b52_algorithms_cannot_be_swapped() -> None:
    """Neither `none`, nor the public key as an HMAC secret, nor a fourth segment."""
    key = SigningKey.draw("EdDSA", 0)
    tokens, _ = rig(key)
    good = tokens.seat(MATCH, 1, "0", 60)
    claims = jwt.decode(good, options={"verify_signature": False})
    headers = {"kid": key.id}
    none = jwt.encode(claims, "", algorithm="none", headers=headers)
    swapped = jwt.encode(claims, key.public, algorithm="HS256", headers=headers)
    assert code_of(tokens, none) == "token_invalid"
    assert code_of(tokens, swapped) == "token_invalid"
    assert code_of(tokens, good + ".x") in ("token_malformed", "token_invalid")
    head, body, signature = good.split(".")
    changed = json.loads(base64.urlsafe_b64decode(body + "=="))
    changed["seat"] = "1"
    other = base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("=")
    assert code_of(tokens, f"{head}.{other}.{signature}") == "token_invalid"


def test_b52_tokens_of_others_are_refused() -> None:
    """Another cluster's token, another key's under the same id, another match's."""
    key = SigningKey.draw("HS256", 0)
    tokens, clock = rig(key)
    elsewhere, _ = rig(key, cluster="c2", clock=clock)
    assert code_of(tokens, elsewhere.seat(MATCH, 1, "0", 60)) == "token_invalid"
    twin = SigningKey(key.id, "HS256", 0, b"x" * 32)
    forger, _ = rig(twin, clock=clock)
    assert code_of(tokens, forger.seat(MATCH, 1, "0", 60)) == "token_invalid"
    grant = tokens.read(tokens.seat(MATCH, 1, "0", 60))
    with pytest.raises(TokenError) as wrong:
        grant.needs("play", "another")
    assert wrong.value.code == "token_wrong_match"
    with pytest.raises(TokenError) as unscoped:
        grant.needs("invite", MATCH)
    assert unscoped.value.code == "token_wrong_scope"


def test_a_renewed_token_allows_no_more_than_the_old_one() -> None:
    """The same place, person and scope, for a new while; a session's as well."""
    tokens, clock = rig()
    place = {"match": MATCH, "epoch": 7, "seat": "white", "subject": "ann"}
    old = tokens.read(tokens.mint("seat", 100, **place, scopes=frozenset({"watch"})))
    assert tokens.renewed(old, 200) is None  # half of it is left
    clock.now_s += 1
    newer = tokens.renewed(old, 200)
    session = tokens.read(tokens.session(old, 5, 60))
    again = tokens.renewed(session.of_place(), 200)
    for grant in (tokens.read(newer), tokens.read(again)):
        assert grant.id != old.id
        assert (grant.kind, grant.match, grant.epoch) == ("seat", MATCH, 7)
        assert (grant.seat, grant.subject) == ("white", "ann")
        assert (grant.scopes, grant.session) == (frozenset({"watch"}), 0)
        assert grant.expires_s == clock.now_s + 200
    assert (session.session, session.scopes) == (5, frozenset({"watch"}))
    assert session.expires_s == clock.now_s + 60
    assert session.of_place().expires_s == old.expires_s


def test_a_token_may_forbid_to_be_renewed() -> None:
    """Then a session of it is no longer good than the token."""
    key = SigningKey.draw("HS256", 0)
    tokens, clock = rig(key)
    end_s = int(clock.now_s) + 50
    said = forged(key, lambda claims: claims.update(renew=False, exp=end_s))
    grant = tokens.read(said)
    session = tokens.read(tokens.session(grant, 5, 86_400))
    assert session.expires_s == end_s
    for held in (grant, session, session.of_place()):
        assert not held.renew
        assert tokens.renewed(held, 1_000) is None


@given(st.text(max_size=80))
def test_any_text_is_answered_with_a_code(text: str) -> None:
    """Whatever somebody puts into a link is refused by a code, never by a crash."""
    tokens, _ = rig(SigningKey("k", "HS256", 0, b"s" * 32))
    expected = {"token_missing", "token_malformed", "token_unknown_key"}
    assert code_of(tokens, text) in expected
    assert code_of(tokens, text + "x" * TOKEN_CHARACTERS_MAX) == "token_malformed"


def test_nothing_secret_is_shown() -> None:
    """Neither a key's repr nor a grant's holds a secret or a token."""
    key = SigningKey.draw("HS256", 0)
    assert repr(key.secret) not in repr(KeySet((key,)))
    with pytest.raises(ValueError, match="operator"):
        Grant("operator", frozenset({"play"}), 0.0)


def test_lobby_tokens_are_for_the_lobby_alone() -> None:
    """An invitation lets people in; a guest is somebody; neither plays or watches."""
    tokens = Tokens("c", lambda: KeySet((SigningKey("k", "HS256", 0, b"k" * 32),)))
    invite = tokens.read(tokens.invite("L", 3, 60))
    guest = tokens.read(tokens.guest("L", 3, "u1", "Ada", 60))
    assert (invite.kind, invite.match) == ("invite", "L")
    assert (guest.kind, guest.subject, guest.name) == ("guest", "u1", "Ada")
    guest.needs("lobby", "L")
    for grant, scope in ((guest, "watch"), (guest, "play"), (invite, "lobby")):
        with pytest.raises(TokenError):
            grant.needs(scope, "L")
    with pytest.raises(ValueError, match="user"):
        tokens.mint("guest", 60, match="L")
    with pytest.raises(ValueError, match="name"):
        tokens.mint("seat", 60, match="L", seat="0", name="Ada")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("  Ada\n Lovelace\t", "Ada Lovelace"),
        ("\u202eevil\u2066", "evil"),
        ("\x00\x1b[31mred", "[31mred"),
        ("e" + "\u0301" * 9, "\u00e9\u0301\u0301"),
        ("\u200d \u200d", ""),
        ("x" * 99, "x" * 32),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
    ],
)
def test_names_are_made_fit_to_be_shown(said: str, shown: str) -> None:
    """One line of what can be seen, and not too much of it."""
    assert clean_name(said) == shown


@given(st.text())
def test_a_clean_name_is_clean(said: str) -> None:
    """Cleaning it again changes nothing."""
    once = clean_name(said)
    assert clean_name(once) == once
    assert len(once) <= 32
