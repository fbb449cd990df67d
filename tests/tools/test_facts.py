"""What the generator makes of the answers of API servers, given by hand."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools/generate"))
facts = import_module("facts")

TOY = "io.k8s.api.toys.v1.Toy"
PART = "io.k8s.api.toys.v1.Part"
SCHEMAS = {
    TOY: {
        "description": "TELLTALE",
        "type": "object",
        "properties": {
            "spec": {"allOf": [{"$ref": f"#/components/schemas/{PART}"}], "description": "TELLTALE"},
            "description": {"type": "string"},
        },
        "x-kubernetes-group-version-kind": [{"group": "toys.example.com", "version": "v1", "kind": "Toy"}],
    },
    PART: {"type": "object", "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}}},
}
RESOURCES = [
    {"name": "toys/status", "singularName": "", "kind": "Toy", "namespaced": True, "verbs": ["get"]},
    {"name": "toys", "singularName": "toy", "kind": "Toy", "namespaced": True, "verbs": ["list"]},
]


class Server:
    """What a server with one group would answer."""

    def __init__(self, *, toys: bool) -> None:
        self.toys = toys
        self.warning = ""

    def ask(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        self.warning = "toys break" if path.endswith("/toys?limit=1") else ""
        group = {"name": "toys.example.com", "versions": [{"version": "v1", "groupVersion": "toys.example.com/v1"}]}
        match path.partition("?"):
            case "/version", *_:
                return 200, {"gitVersion": "v1.0.0", "platform": "TELLTALE"}
            case "/apis", *_:
                return 200, {"groups": [group] if self.toys else []}
            case "/openapi/v3/api/v1", *_:
                return 200, {"components": {"schemas": {}}}
            case "/openapi/v3/api" | "/openapi/v3/apis" | "/openapi/v3/version", *_:
                return 200, {"components": {"schemas": {}}}
            case "/api/v1", *_:
                return 200, {"resources": []}
            case "/openapi/v3/apis/toys.example.com/v1", *_:
                return 200, {"components": {"schemas": SCHEMAS}}
            case "/apis/toys.example.com/v1", *_:
                return 200, {"resources": RESOURCES}
            case "/apis/toys.example.com/v1/toys", _, "limit=1":
                assert headers == facts.TABLE
                column = {"name": "Size", "type": "integer", "format": "", "priority": 0, "description": "TELLTALE"}
                return 200, {"columnDefinitions": [column]}
            case _, _, query:
                _, _, label = query.partition("fieldSelector=")
                known = label in {"spec.size%3D", "metadata.name%3D"}
                return (200, {}) if known else (400, {"message": f"no label {label.removesuffix('%3D')}"})

    def create(self, path: str, obj: Any) -> tuple[int, Any]:
        return 404, {"message": f"nothing is made at {path}: {obj}"}

    def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        status, answer = self.ask(path, headers)
        assert status == 200, path
        return answer


@pytest.mark.parametrize("by_default", [True, False])
def test_the_lines(by_default: bool) -> None:
    text = facts.text(Server(toys=True), Server(toys=by_default), frozenset())
    assert "TELLTALE" not in text
    lines = {(what, name): value for what, name, value in map(json.loads, text.splitlines())}
    assert lines["groups", ""] == [{"name": "toys.example.com", "versions": ["v1"]}]
    assert lines["document", "apis/toys.example.com/v1"] == [TOY]
    assert set(lines["schema", TOY]["properties"]) == {"spec", "description"}  # a field may be called description
    assert lines["resource", "toys.example.com/v1/toys"] == {
        "name": "toys",
        "singularName": "toy",
        "kind": "Toy",
        "namespaced": True,
        "verbs": ["list"],
        "schema": TOY,
        "default": by_default,
        "subresources": {
            "status": {
                "name": "toys/status",
                "kind": "Toy",
                "namespaced": True,
                "verbs": ["get"],
                "schema": TOY,
                "default": by_default,
            }
        },
        "columns": [["Size", "integer", "", 0]],
        "fieldLabels": ["spec.size"],
        "unknownFieldLabel": "no label {}",
        "warning": "toys break",
    }


def test_documents_that_differ_about_a_definition_are_refused() -> None:
    kinds = [{"group": group, "version": "v1", "kind": "Options"} for group in ("b", "a")]
    documents = [{"Options": {"type": "object", facts.KINDS: [kind]}} for kind in kinds]
    assert facts.merged(documents)["Options"][facts.KINDS] == kinds[::-1]
    with pytest.raises(ValueError, match="differ about Options"):
        facts.merged([*documents, {"Options": {"type": "string", facts.KINDS: []}}])
