"""What a client can ask about the server itself: which groups, versions and kinds it has, old and aggregated."""

from __future__ import annotations

from typing import Any, TypeAlias

from trimtab.apiserver.catalogue import Catalogue, Group, Kind, Subresource

Json: TypeAlias = dict[str, Any]


def versions(address: str) -> Json:
    """`/api`, as it was always."""
    where = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": where}


def groups(catalogue: Catalogue) -> Json:
    """`/apis`, as it was always."""
    made = [_group(group) for group in catalogue.groups() if group.name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": made}


def group(found: Group) -> Json:
    """`/apis/apps`."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(found)}


def _group(group: Group) -> Json:
    made = [{"groupVersion": f"{group.name}/{version}", "version": version} for version in group.versions]
    return {"name": group.name, "versions": made, "preferredVersion": made[0]}


def resources(group: Group, version: str) -> Json:
    """`/apis/apps/v1`."""
    made: list[Json] = []
    for kind in sorted(group.versions[version].values(), key=lambda each: each.plural):
        made.append(_resource(kind))
        made += [_subresource(kind, kind.subresources[name]) for name in sorted(kind.subresources)]
    about: Json = {"kind": "APIResourceList"}
    if group.name:  # the core's says nothing of its own version
        about["apiVersion"] = "v1"
    return {**about, "groupVersion": f"{group.name}/{version}" if group.name else version, "resources": made}


def _resource(kind: Kind) -> Json:
    made: Json = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.shown_verbs),
    }
    if kind.short_names:
        made["shortNames"] = list(kind.short_names)
    if kind.categories:
        made["categories"] = list(kind.categories)
    if kind.storage_version_hash:
        made["storageVersionHash"] = kind.storage_version_hash
    return made


def _subresource(kind: Kind, sub: Subresource) -> Json:
    made: Json = {"name": f"{kind.plural}/{sub.name}", "singularName": "", "namespaced": kind.namespaced}
    if (sub.group, sub.version) != (kind.group, kind.version):
        made |= {"group": sub.group, "version": sub.version}
    return {**made, "kind": sub.kind, "verbs": list(sub.verbs)}


def aggregated(catalogue: Catalogue, *, core: bool) -> Json:
    """`/api` or `/apis`, all at once."""
    items = [_whole_group(group) for group in catalogue.groups() if bool(group.name) != core]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _whole_group(group: Group) -> Json:
    made = [
        {
            "version": version,
            "resources": [_whole_kind(kind) for kind in sorted(kinds.values(), key=lambda each: each.plural)],
            "freshness": "Current",
        }
        for version, kinds in group.versions.items()
    ]
    return {"metadata": {"name": group.name} if group.name else {}, "versions": made}


def _whole_kind(kind: Kind) -> Json:
    made: Json = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.shown_verbs),
    }
    if kind.short_names:
        made["shortNames"] = list(kind.short_names)
    if kind.categories:
        made["categories"] = list(kind.categories)
    if kind.subresources:
        made["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(kind, sub),
                "verbs": list(sub.verbs),
            }
            for _, sub in sorted(kind.subresources.items())
        ]
    return made


def _response_kind(kind: Kind, answered: Kind | Subresource) -> Json:
    """What objects come back. A built-in kind says of which group and version only where that is not its own."""
    group, version = answered.group, answered.version
    if kind.builtin and (group, version) == (kind.group, kind.version):
        group = version = ""
    return {"group": group, "version": version, "kind": answered.kind}
