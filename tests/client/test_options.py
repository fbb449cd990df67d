"""How selectors and options are sent."""

import json
import re

import pytest

from trimtab.client.options import delete_body, selection, write_query
from trimtab.errors import TrimtabError
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.selectors import Selector


@pytest.mark.parametrize(
    ("labels", "sent"),
    [
        (None, None),
        ("", None),
        ({"b": "2", "a": "1"}, "a=1,b=2"),
        ("app in (web, db),!x", "app in (db,web),!x"),
        (Selector.parse("app in (web,db)"), "app in (db,web)"),
        (Selector.everything(), None),
    ],
)
def test_labels(labels: Selector | dict[str, str] | str | None, sent: str | None) -> None:
    assert (selection(labels, None)["labelSelector"] or None) == sent  # empty ones are left out


def test_a_selector_of_nothing_is_not_sent() -> None:
    """An absent selector selects nothing by Kubernetes' rules, and the server would read its text as everything."""
    nothing = Selector.from_struct(None)
    assert nothing.is_nothing
    with pytest.raises(TrimtabError, match="selects nothing"):
        selection(nothing, None)


def test_fields() -> None:
    assert not selection(None, None)["fieldSelector"]
    assert selection(None, {"spec.nodeName": "n1"})["fieldSelector"] == "spec.nodeName=n1"
    assert selection(None, "a=b,c!=d")["fieldSelector"] == "a=b,c!=d"
    assert selection(None, FieldSelector.parse("a!=b"))["fieldSelector"] == "a!=b"


def test_write_options() -> None:
    assert write_query({}, "me") == {"fieldManager": "me", "dryRun": None, "fieldValidation": None}
    assert write_query({"dry_run": True, "field_validation": "Strict", "field_manager": "you"}, "me") == {
        "fieldManager": "you",
        "dryRun": "All",
        "fieldValidation": "Strict",
    }
    assert write_query({"dry_run": False}, "me")["dryRun"] is None


def test_delete_options() -> None:
    assert delete_body({}) is None
    assert delete_body({"uid": "", "dry_run": False}) is None  # an object that was never stored has none
    body = delete_body(
        {"propagation": "Orphan", "grace_period_seconds": 0, "uid": "u", "resource_version": "7", "dry_run": True}
    )
    assert json.loads(body or b"") == {
        "propagationPolicy": "Orphan",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }
    assert json.loads(delete_body({"resource_version": "7"}) or b"") == {"preconditions": {"resourceVersion": "7"}}


def test_no_pairs_are_not_everything() -> None:
    """A Service without a selector selects nothing: its `spec.selector` must not delete a whole namespace."""
    with pytest.raises(TrimtabError, match="would select everything"):
        selection({}, None)
    assert not selection(Selector.everything(), None)["labelSelector"]


@pytest.mark.parametrize("text", ["tier in (a", "a=b=c", "!"])
def test_a_selector_that_is_none_is_told_with_its_text(text: str) -> None:
    with pytest.raises(TrimtabError, match=re.escape(text)):
        selection(text, None)
