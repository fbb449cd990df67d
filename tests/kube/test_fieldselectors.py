import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.kube.fieldselectors import FieldSelector

DATA = Path(__file__).parent / "data" / "field_selectors.jsonl"


def test_reads_and_matches_as_kubernetes() -> None:
    for text, *expected in map(json.loads, DATA.read_text().splitlines()):
        if not expected:
            with pytest.raises(TrimtabError, match=r"^[^\n]*field selector[^\n]*$"):
                FieldSelector.parse(text)
            continue
        selector = FieldSelector.parse(text)
        assert str(selector) == expected[0], text
        for fields, matches in zip(expected[1::2], expected[2::2], strict=True):
            assert selector.matches(fields) == matches, (text, fields)


@given(st.dictionaries(st.sampled_from(["metadata.name", "spec.nodeName", "status.phase"]), st.text(), max_size=3))
def test_any_value_survives_its_escaping(fields: dict[str, str]) -> None:
    selector = FieldSelector.from_mapping(fields)
    assert FieldSelector.parse(str(selector)) == selector
    assert dict(selector.equalities) == fields
    assert selector.matches(fields)
    assert selector.is_everything == (not fields)


def test_says_what_is_wrong() -> None:
    with pytest.raises(TrimtabError, match=r"field selector 'a=1,b': 'b' has no operator, write field=value"):
        FieldSelector.parse("a=1,b")
    with pytest.raises(TrimtabError, match=r"in value 'x=y' put a backslash before"):
        FieldSelector.parse("a=x=y")
