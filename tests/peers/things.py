"""Kinds of these tests' own, and objects of them."""

from __future__ import annotations

from typing import Any

_CONDITION = {
    "type": "object",
    "required": ["type", "status", "reason", "lastTransitionTime"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer"},
    },
}
_CONDITIONS = {
    "type": "array",
    "items": _CONDITION,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
STATUS = {"type": "object", "properties": {"size": {"type": "integer"}, "conditions": _CONDITIONS}}


def definition(kind: str, status: dict[str, Any]) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    spec = {"size": {"type": "integer", "minimum": 0}, "text": {"type": "string", "default": "none"}}
    schema = {"spec": {"type": "object", "required": ["size"], "properties": spec}, "status": status}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.peers.trimtab.dev"},
        "spec": {
            "group": "peers.trimtab.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": schema}},
                }
            ],
        },
    }


def thing(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "peers.trimtab.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
