"""Faults of JSON in the words that kube-apiserver has for them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.gojson import fault


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"nope", "invalid character 'o' in literal null (expecting 'u')"),
        (b"{", "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1.x]", "invalid character 'x' after decimal point in numeric literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b"\x9e", "invalid character '\\u009e' looking for beginning of value"),
        (b"[" * 10_001, "invalid character '[' exceeded max depth"),
    ],
)
def test_a_fault_is_named(body: bytes, said: str) -> None:
    assert fault(body) == said


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_json_has_none(value: object) -> None:
    assert fault(json.dumps(value).encode()) == ""
    assert fault(json.dumps(value, indent=1, ensure_ascii=False).encode()) == ""


@given(st.text(alphabet='{}[]",:tfn0-1.e\\u '))
def test_a_fault_is_found_where_python_finds_one(text: str) -> None:
    try:
        json.loads(text)
        right = True
    except ValueError:
        right = False
    assert (fault(text.encode()) == "") == right
