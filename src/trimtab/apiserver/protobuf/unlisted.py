"""The schemas of what OpenAPI does not describe and a server says in protobuf all the same."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.apiserver.facts import Schema, kubernetes

Json: TypeAlias = dict[str, Any]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_DISCOVERY: Final = "io.k8s.api.apidiscovery.v2"
_TEXT: Final[Json] = {"type": "string"}


def _all(item: Json) -> Json:
    return {"type": "array", "items": item}


def _the(name: str) -> Json:
    return {"$ref": f"#/{name}"}


_KIND: Final = _the(f"{_META}.GroupVersionKind")
_FIELDS: Final[dict[str, Json]] = {
    f"{_META}.GroupVersionKind": {"group": _TEXT, "version": _TEXT, "kind": _TEXT},
    f"{_META}.PartialObjectMetadata": {"metadata": _the(f"{_META}.ObjectMeta")},
    f"{_META}.PartialObjectMetadataList": {
        "metadata": _the(f"{_META}.ListMeta"),
        "items": _all(_the(f"{_META}.PartialObjectMetadata")),
    },
    f"{_DISCOVERY}.APIGroupDiscoveryList": {
        "metadata": _the(f"{_META}.ListMeta"),
        "items": _all(_the(f"{_DISCOVERY}.APIGroupDiscovery")),
    },
    f"{_DISCOVERY}.APIGroupDiscovery": {
        "metadata": _the(f"{_META}.ObjectMeta"),
        "versions": _all(_the(f"{_DISCOVERY}.APIVersionDiscovery")),
    },
    f"{_DISCOVERY}.APIVersionDiscovery": {
        "version": _TEXT,
        "resources": _all(_the(f"{_DISCOVERY}.APIResourceDiscovery")),
        "freshness": _TEXT,
    },
    f"{_DISCOVERY}.APIResourceDiscovery": {
        "resource": _TEXT,
        "responseKind": _KIND,
        "scope": _TEXT,
        "singularResource": _TEXT,
        "verbs": _all(_TEXT),
        "shortNames": _all(_TEXT),
        "categories": _all(_TEXT),
        "subresources": _all(_the(f"{_DISCOVERY}.APISubresourceDiscovery")),
    },
    f"{_DISCOVERY}.APISubresourceDiscovery": {
        "subresource": _TEXT,
        "responseKind": _KIND,
        "acceptedTypes": _all(_KIND),
        "verbs": _all(_TEXT),
    },
}


def named(definition: str) -> Schema:
    """The schema of a definition, whoever describes it."""
    return Schema(_the(definition), _resolve) if definition in _FIELDS else kubernetes().named(definition)


def _resolve(name: str) -> Json:
    fields = _FIELDS.get(name)
    return kubernetes().definition(name) if fields is None else {"type": "object", "properties": fields}
