"""The scale of an object that has replicas: another view of it, in which nothing else can change."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, statuses
from trimtab.apiserver.catalogue import Kind, Subresource
from trimtab.apiserver.cells import words
from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching import Places, place_of

Json: TypeAlias = dict[str, Any]

_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_kind(schema: Schema | None, sub: Subresource) -> Kind:
    """The kind of a scale."""
    return Kind(sub.group, sub.version, sub.kind, "scales", "scale", True, schema=schema)


def scale_of(kind: Kind, obj: Json) -> Json:
    """The scale of an object."""
    if kind.custom is not None and kind.custom.scale is not None:
        return kind.custom.scale.read(obj)
    metadata, spec = cast("Json", obj["metadata"]), cast("Json", obj.get("spec") or {})
    status = cast("Json", obj.get("status") or {})
    selector = cast("Json", spec.get("selector") or {})
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    text = words.selector(selector)
    replicas = spec.get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _KEPT if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas", 0)} | ({"selector": text} if text else {}),
    }


def places_of(kind: Kind) -> Places:
    """Where the versions of a kind keep their replicas."""
    if kind.definition is None:
        return {kind.api_version: ("f:spec", "f:replicas")}
    versions = kind.definition.versions
    return {
        f"{kind.group}/{name}": None if version.scale is None else place_of(version.scale.spec_replicas)
        for name, version in versions.items()
    }


def with_scale(kind: Kind, obj: Json, scale: Json) -> Json:
    """The object with the replicas of a scale; what else the scale says of versions has to be true of the object."""
    replicas = cast("Json", scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0 and kind.custom is None:  # of a custom kind, the object with it is looked at
        why = causes.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise statuses.invalid("Scale", "autoscaling", obj["metadata"]["name"], [why])
    given = scale["metadata"]
    metadata = {**obj["metadata"]}
    metadata["resourceVersion"] = given.get("resourceVersion") or metadata["resourceVersion"]
    if given.get("uid"):
        metadata["uid"] = given["uid"]
    made: Json = {**obj, "metadata": metadata, "spec": {**(obj.get("spec") or {})}}
    if kind.custom is not None and kind.custom.scale is not None:
        kind.custom.scale.write(made, replicas)
    else:
        made["spec"]["replicas"] = replicas
    return made
