"""What kubectl is told in OpenAPI 2 of a schema in version 3."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.apiserver.custom.publishing import published

Json = dict[str, Any]
KEEP = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"type": "object", "allOf": [TEXT], "anyOf": [TEXT], "properties": {}}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": {"a": TEXT}, **KEEP}, KEEP),
        ({"type": "array", "items": TEXT, **KEEP}, KEEP),
        ({"type": "array", "items": TEXT, "nullable": True}, {}),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, {"type": "array", "items": {}}),
        (
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"nullable": True, **TEXT}, "b": TEXT}},
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": TEXT}},
        ),
        ({"type": "integer", "x-kubernetes-int-or-string": True}, {"x-kubernetes-int-or-string": True}),
    ],
)
def test_what_version_2_cannot_say_is_left_out(given: Json, wanted: Json) -> None:
    told = published({"type": "object", "properties": {"spec": given}}, "g.io", "v1", "K", v2=True)
    assert told["properties"]["spec"] == wanted


@pytest.mark.parametrize("schema", [None, {"type": "object", "description": "text", "properties": {"a": TEXT}, **KEEP}])
def test_who_takes_anything_has_no_fields_in_version_2(schema: Json | None) -> None:
    gvk = {"group": "g.io", "version": "v1", "kind": "K"}
    told = published(schema, "g.io", "v1", "K", v2=True)
    assert told == {"type": "object", "x-kubernetes-group-version-kind": [gvk]}
