"""JSON Patch: the examples of RFC 6902 and 6901, and what a patch of G must keep."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine.digest import canonical_bytes
from hotseat.engine.frozen import freeze
from hotseat.engine.limits import PATCH_OPERATIONS_MAX
from hotseat.engine.operator import PatchError, apply_patch, make_patch

# RFC 6902, appendix A: the document, the patch, and what comes of it.
APPENDIX: dict[str, tuple[str, str, str]] = {
    "A.1 adding an object member": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/baz", "value": "qux"}]',
        '{"baz": "qux", "foo": "bar"}',
    ),
    "A.2 adding an array element": (
        '{"foo": ["bar", "baz"]}',
        '[{"op": "add", "path": "/foo/1", "value": "qux"}]',
        '{"foo": ["bar", "qux", "baz"]}',
    ),
    "A.3 removing an object member": (
        '{"baz": "qux", "foo": "bar"}',
        '[{"op": "remove", "path": "/baz"}]',
        '{"foo": "bar"}',
    ),
    "A.4 removing an array element": (
        '{"foo": ["bar", "qux", "baz"]}',
        '[{"op": "remove", "path": "/foo/1"}]',
        '{"foo": ["bar", "baz"]}',
    ),
    "A.5 replacing a value": (
        '{"baz": "qux", "foo": "bar"}',
        '[{"op": "replace", "path": "/baz", "value": "boo"}]',
        '{"baz": "boo", "foo": "bar"}',
    ),
    "A.6 moving a value": (
        '{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}',
        '[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]',
        '{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}',
    ),
    "A.7 moving an array element": (
        '{"foo": ["all", "grass", "cows", "eat"]}',
        '[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]',
        '{"foo": ["all", "cows", "eat", "grass"]}',
    ),
    "A.8 testing a value: success": (
        '{"baz": "qux", "foo": ["a", 2, "c"]}',
        '[{"op": "test", "path": "/baz", "value": "qux"},'
        ' {"op": "test", "path": "/foo/1", "value": 2}]',
        '{"baz": "qux", "foo": ["a", 2, "c"]}',
    ),
    "A.10 adding a nested member object": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]',
        '{"foo": "bar", "child": {"grandchild": {}}}',
    ),
    "A.11 ignoring unrecognized elements": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]',
        '{"foo": "bar", "baz": "qux"}',
    ),
    "A.14 escape ordering": (
        '{"/": 9, "~1": 10}',
        '[{"op": "test", "path": "/~01", "value": 10}]',
        '{"/": 9, "~1": 10}',
    ),
    "A.16 adding an array value": (
        '{"foo": ["bar"]}',
        '[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]',
        '{"foo": ["bar", ["abc", "def"]]}',
    ),
    "4.1 adding replaces what is there": (
        '{"a": 1}',
        '[{"op": "add", "path": "/a", "value": null}]',
        '{"a": null}',
    ),
    "4.1 adding the whole": (
        '{"a": 1}',
        '[{"op": "add", "path": "", "value": 2}]',
        "2",
    ),
    "4.3 replacing the whole": (
        "[1]",
        '[{"op": "replace", "path": "", "value": {}}]',
        "{}",
    ),
    "4.5 copying a value": (
        '{"a": {"b": [1]}, "c": []}',
        '[{"op": "copy", "from": "/a/b", "path": "/c/0"}]',
        '{"a": {"b": [1]}, "c": [[1]]}',
    ),
    "4.4 moving to where it is": (
        '{"a": 1, "b": 2}',
        '[{"op": "move", "from": "/a", "path": "/a"}]',
        '{"a": 1, "b": 2}',
    ),
    "4.6 numbers are equal by value": (
        '{"a": 1.0, "b": {"x": 1, "y": 2}}',
        '[{"op": "test", "path": "/a", "value": 1},'
        ' {"op": "test", "path": "/b", "value": {"y": 2, "x": 1}}]',
        '{"a": 1, "b": {"x": 1, "y": 2}}',
    ),
}

# The document, the patch, the operation that fails, and a word of why.
REFUSED: dict[str, tuple[str, str, int | None, str]] = {
    "A.9 testing a value: error": (
        '{"baz": "qux"}',
        '[{"op": "test", "path": "/baz", "value": "bar"}]',
        0,
        "another",
    ),
    "A.12 adding to a nonexistent target": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/baz/bat", "value": "qux"}]',
        0,
        "no key",
    ),
    "A.15 comparing strings and numbers": (
        '{"/": 9, "~1": 10}',
        '[{"op": "test", "path": "/~01", "value": "10"}]',
        0,
        "another",
    ),
    "true is not 1": (
        '{"a": 1}',
        '[{"op": "test", "path": "/a", "value": true}]',
        0,
        "",
    ),
    "no such index": ("[1]", '[{"op": "add", "path": "/2", "value": 0}]', 0, "index"),
    "an index that is none": ("[1]", '[{"op": "remove", "path": "/x"}]', 0, "index"),
    "a leading zero": ("[1, 2]", '[{"op": "remove", "path": "/01"}]', 0, "index"),
    "an endless index": (
        "[1]",
        f'[{{"op": "remove", "path": "/{"9" * 5000}"}}]',
        0,
        "",
    ),
    "behind the end": ("[1]", '[{"op": "remove", "path": "/-"}]', 0, "index"),
    "into a scalar": ('{"a": 1}', '[{"op": "add", "path": "/a/b", "value": 0}]', 0, ""),
    "into a string": (
        '{"a": "xy"}',
        '[{"op": "test", "path": "/a/0", "value": "x"}]',
        0,
        "",
    ),
    "the whole is taken away": (
        '{"a": 1}',
        '[{"op": "remove", "path": ""}]',
        0,
        "whole",
    ),
    "into itself": (
        '{"a": {"b": {}}}',
        '[{"op": "move", "from": "/a", "path": "/a/b/c"}]',
        0,
        "itself",
    ),
    "the second one": (
        '{"a": 1}',
        '[{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}]',
        1,
        "no key",
    ),
    "no value": ('{"a": 1}', '[{"op": "replace", "path": "/a"}]', 0, "value"),
    "no path": ("{}", '[{"op": "remove"}]', 0, "pointer"),
    "no slash": ('{"a": 1}', '[{"op": "remove", "path": "a"}]', 0, "slash"),
    "a lone tilde": ('{"a~": 1}', '[{"op": "remove", "path": "/a~"}]', 0, "tilde"),
    "no from": ("{}", '[{"op": "copy", "path": "/a"}]', 0, "from"),
    "an unknown op": ("{}", '[{"op": "spam", "path": "/a"}]', 0, "spam"),
    "A.13 no op": ("{}", '[{"path": "/a", "value": 1}]', 0, "op"),
    "no operation": ("{}", "[1]", 0, "object"),
    "no list": ("{}", '{"op": "remove", "path": "/a"}', None, "list"),
    "too many": (
        "{}",
        json.dumps(
            [{"op": "add", "path": "/a", "value": 0}] * (PATCH_OPERATIONS_MAX + 1)
        ),
        None,
        "limit",
    ),
}


def _frozen(text: str) -> Any:
    return freeze(json.loads(text))


@pytest.mark.parametrize("name", APPENDIX)
def test_the_examples_of_the_rfc(name: str) -> None:
    """Each leads to what the RFC says, in this order of keys or another."""
    document, patch, expected = map(_frozen, APPENDIX[name])
    after = apply_patch(document, patch)
    assert canonical_bytes(after) == canonical_bytes(expected)


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_apply_names_the_operation(name: str) -> None:
    """The error says which operation, at which path, and why; nothing is changed."""
    document, patch, index, why = REFUSED[name]
    before = _frozen(document)
    with pytest.raises(PatchError) as caught:
        apply_patch(before, _frozen(patch))
    assert caught.value.index == index
    assert why in str(caught.value)
    assert len(str(caught.value)) < 300
    assert before == json.loads(document)


def test_rfc_6901_pointers() -> None:
    """The pointers of the RFC's section 5 lead where it says."""
    keys = {
        "": 0,
        "a/b": 1,
        "c%d": 2,
        "e^f": 3,
        "g|h": 4,
        "i\\j": 5,
        'k"l': 6,
        " ": 7,
        "m~n": 8,
    }
    document = freeze({"foo": ["bar", "baz"], **keys})
    pointers = {"/foo/0": "bar", "/": 0, "/a~1b": 1, "/c%d": 2, "/e^f": 3}
    pointers |= {"/g|h": 4, "/i\\j": 5, '/k"l': 6, "/ ": 7, "/m~0n": 8}
    for pointer, value in pointers.items():
        test = freeze([{"op": "test", "path": pointer, "value": value}])
        assert apply_patch(document, test) is document


def test_a_patch_shares_what_it_does_not_touch() -> None:
    """An operation costs its path, not the state."""
    before = freeze({"big": [[n] for n in range(1000)], "small": {"a": 1}})
    after = apply_patch(before, freeze([{"op": "add", "path": "/small/b", "value": 2}]))
    assert after["big"] is before["big"]
    assert after["small"] == {"a": 1, "b": 2}


def test_copies_cannot_fill_the_memory() -> None:
    """A short patch that doubles the state again and again is refused early."""
    doubling = [{"op": "copy", "from": "", "path": "/-"}] * 60
    with pytest.raises(PatchError, match="copied"):
        apply_patch(freeze([["x" * 1000]]), freeze(doubling))


def test_what_becomes_too_deep_is_refused() -> None:
    """Each operation leaves a value that G may hold."""
    deeper = [{"op": "copy", "from": "", "path": "/a"}] * 70
    with pytest.raises(PatchError, match="operation 63"):
        apply_patch(freeze({}), freeze(deeper))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-2, 2)
    | st.text("a/~0", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("ab/~01", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_a_made_patch_leads_there_and_another_one_back(one: Any, two: Any) -> None:
    """Value for value and key for key, in order; as JSON it is the same patch."""
    before, after = freeze(one), freeze(two)
    for source, target in ((before, after), (after, before), (before, before)):
        patch = freeze(json.loads(json.dumps(make_patch(source, target))))
        made = apply_patch(source, patch)
        assert canonical_bytes(made) == canonical_bytes(target)
        assert json.dumps(made) == json.dumps(target)


OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
            "path": st.sampled_from(["", "/a", "/a/0", "/a/-", "/b", "/b/a", "/~0"]),
        },
        optional={
            "value": VALUES,
            "from": st.sampled_from(["", "/a", "/a/0", "/b", "/b/a"]),
        },
    ),
    max_size=6,
)


@given(VALUES, OPERATIONS)
def test_any_patch_is_applied_whole_or_refused(value: Any, patch: Any) -> None:
    """Nothing but a frozen value or a `PatchError` comes of it."""
    before = freeze({"a": [value], "b": {"a": value}})
    kept = canonical_bytes(before)
    failed: PatchError | None = None
    try:
        after = apply_patch(before, freeze(patch))
    except PatchError as error:
        failed = error
    if failed is not None:
        assert failed.index is not None
        assert 0 <= failed.index < len(patch)
    else:
        assert freeze(after) is after
        back = freeze(make_patch(after, before))
        assert canonical_bytes(apply_patch(after, back)) == kept
    assert canonical_bytes(before) == kept
