"""From what API servers answer to the lines of `apiserver/facts/kubernetes.jsonl`: pure, but for what it asks.

Each line is `[what, name, value]`. What the lines are is said where they are read, in `trimtab.apiserver.facts.reader`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from defaults import TEMPLATED, Trials
from schemas import reference
from serve import Api, discovered, documents, pages
from strategies import strategy_of

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}

# Labels of field selectors that are no path in a schema, wherever somebody has them.
ODD_LABELS = ("name", "namespace", "status.successful")

# A label that nobody has: how it is refused is a fact too.
NO_LABEL = "no.such.label"

KINDS = "x-kubernetes-group-version-kind"


def text(everything: Api, by_default: Api, pointers: frozenset[tuple[str, str]]) -> str:
    """The file. What a server serves by default is asked of such a one, the rest of one that serves all."""
    known = documents(everything)
    served, usual = discovered(everything), discovered(by_default)
    schemas = merged([*known.values(), *pages(everything)])
    kinds = kinds_of(schemas)
    lines = [
        ("about", "", about(everything.get("/version"))),
        ("groups", "", [group(found) for found in everything.get("/apis")["groups"]]),
        ("kinds", "", {"/".join(filter(None, kind)): name for kind, name in sorted(kinds.items())}),
        *(("document", path, roots(document)) for path, document in known.items()),
    ]
    for path, resources in served.items():
        defaults = {found["name"] for found in usual.get(path, ())}
        for name, resource in nested(path, resources, kinds, defaults):
            api = by_default if resource["default"] else everything
            if "list" in resource["verbs"]:
                resource.update(probed(api, f"/{path}/{resource['name']}", schemas, resource.get("schema", "")))
            lines.append(("resource", name, resource))
    by_name = {name: value for what, name, value in lines if what == "resource"}
    trials = Trials(schemas, by_default.create, pointers)
    kept = list(creatable(usual, kinds))
    for path, definition, resource in kept:
        seed = trials.seed(path, resource["kind"], definition)
        for each in (seed, *trials.others(seed)):
            trials.kind(collection(path, resource), each, definition)
    for path, definition, resource in kept:
        names = {found["name"] for found in usual[path]}
        seed = trials.seed(path, resource["kind"], definition)
        has_status = f"{resource['name']}/status" in names
        found = strategy_of(by_default, collection(path, resource), seed, has_status=has_status)
        by_name[f"{api_version(path)}/{resource['name']}"]["strategy"] = found
    lines += [("defaults", name, told) for name, told in trials.found()]
    lines += [("schema", name, schema) for name, schema in sorted(schemas.items())]
    return "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)


def about(version: dict[str, str]) -> dict[str, str]:
    """What `/version` says, but for the platform, which is that of whoever serves it."""
    return {"generated": "by make generate: do not edit"} | {k: v for k, v in version.items() if k != "platform"}


def merged(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """All schemas by name, without their prose.

    Where two documents tell of the same one, they differ in the kinds that it stands for, as with DeleteOptions.
    """
    schemas: dict[str, Any] = {}
    for document in found:
        for name, schema in document.items():
            told = without_prose(schema)
            kinds = {json.dumps(kind): kind for kind in told.get(KINDS, ())}
            kinds |= {json.dumps(kind): kind for kind in schemas.get(name, {}).get(KINDS, ())}
            if kinds:
                told[KINDS] = [kinds[key] for key in sorted(kinds)]
            if schemas.setdefault(name, told) | {KINDS: None} != told | {KINDS: None}:
                raise ValueError(f"two documents differ about {name}")
            schemas[name] = told
    return schemas


def without_prose(schema: Any) -> Any:
    """A schema, or a part of one, without descriptions."""
    if isinstance(schema, list):
        return [without_prose(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    told: dict[str, Any] = {}
    for key, value in sorted(schema.items()):
        if key == "properties":
            told[key] = {name: without_prose(part) for name, part in sorted(value.items())}
        elif key != "description":
            told[key] = without_prose(value)
    return told


def kinds_of(schemas: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """The schema's name of each group, version and kind."""
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, schema in schemas.items()
        for kind in schema.get(KINDS, ())
    }


def roots(document: dict[str, Any]) -> list[str]:
    """The schemas of a document that no other of it refers to: the rest follows from them."""
    referred = {target for name, schema in document.items() for target in references(schema) if target != name}
    return sorted(document.keys() - referred)


def references(schema: Any) -> Iterator[str]:
    """The names of the schemas that one refers to."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield reference(schema)
        for part in schema.values():
            yield from references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from references(part)


def group(found: dict[str, Any]) -> dict[str, Any]:
    """A group with its versions, the preferred one first, as `/apis` orders them."""
    return {"name": found["name"], "versions": [version["version"] for version in found["versions"]]}


def nested(
    path: str, resources: list[dict[str, Any]], kinds: dict[tuple[str, str, str], str], defaults: set[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The resources of a group-version by `group/version/plural`, each with its subresources in it."""
    _, *group, version = path.split("/")
    by_plural: dict[str, dict[str, Any]] = {}
    for found in sorted(resources, key=lambda found: found["name"]):
        resource = {key: value for key, value in found.items() if value != ""}
        kind = (found.get("group", "".join(group)), found.get("version", version), found["kind"])
        if kind in kinds:
            resource["schema"] = kinds[kind]
        resource["default"] = found["name"] in defaults
        plural, _, subresource = found["name"].partition("/")
        if subresource:
            by_plural[plural].setdefault("subresources", {})[subresource] = resource
        else:
            by_plural[plural] = resource
    for plural, resource in by_plural.items():
        yield "/".join([*group, version, plural]), resource


def probed(api: Api, path: str, schemas: dict[str, Any], schema: str) -> dict[str, Any]:
    """What discovery does not tell of a kind: the columns of its table, the labels of its field selectors, whether who
    asks for it is warned."""
    columns = api.get(f"{path}?limit=1", TABLE)["columnDefinitions"]
    warning = api.warning
    supported: list[str] = []
    for label in [NO_LABEL, *labels(schemas, schema)]:
        status, answer = api.ask(f"{path}?limit=1&fieldSelector={quote(label)}%3D")
        if status == 200:
            supported.append(label)
        elif label == NO_LABEL:
            refusal = answer["message"].replace(NO_LABEL, "{}")
    return {
        "columns": [[column["name"], column["type"], column["format"], column["priority"]] for column in columns],
        "fieldLabels": supported,
        "unknownFieldLabel": refusal,
    } | ({"warning": warning} if warning else {})


def creatable(
    usual: dict[str, list[dict[str, Any]]], kinds: dict[tuple[str, str, str], str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The resources whose objects can be made: the path of the group-version, the definition, what discovery says."""
    for path, resources in usual.items():
        _, *group, version = path.split("/")
        for resource in sorted(resources, key=lambda resource: resource["kind"] in TEMPLATED):
            definition = kinds.get(("".join(group), version, resource["kind"]))
            if definition and "/" not in resource["name"] and {"create", "list"} <= {*resource["verbs"]}:
                yield path, definition, resource


def collection(path: str, resource: dict[str, Any]) -> str:
    """The path of a resource's collection."""
    return f"/{path}/namespaces/default/{resource['name']}" if resource["namespaced"] else f"/{path}/{resource['name']}"


def api_version(path: str) -> str:
    """`apps/v1` of `apis/apps/v1`."""
    return path.partition("/")[2]


def labels(schemas: dict[str, Any], schema: str) -> list[str]:
    """What may be a label: every field of the first two levels."""
    paths = {*ODD_LABELS}
    for name, field in properties(schemas, schemas.get(schema, {})).items():
        paths.add(name)
        paths.update(f"{name}.{inner}" for inner in properties(schemas, field))
    return sorted(paths)


def properties(schemas: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The fields of a schema, or of the one that it refers to."""
    return schemas.get(reference(schema), schema).get("properties", {})
