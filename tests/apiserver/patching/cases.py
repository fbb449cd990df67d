"""One step of the differ, and what our functions make of it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from msgspec.json import decode, encode

from trimtab.apiserver.facts import Schema, kubernetes
from trimtab.apiserver.patching import (
    apply,
    json_patch,
    merge_patch,
    record_update,
    resets_of,
    strategic_merge,
    to_parent,
    to_scale,
)
from trimtab.apiserver.patching.fieldsets import path_text, paths
from trimtab.apiserver.statuses import Refused

Json = dict[str, Any]

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": STRING, "port": {**INTEGER, "default": 80}, "tags": {"type": "array", "items": STRING}},
}
TOY_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": INTEGER,
                "text": STRING,
                "flag": {"type": "boolean"},
                "mixed": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "nothing": {**STRING, "nullable": True},
                "map": {"type": "object", "additionalProperties": STRING},
                "whole": {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
                "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
                "list": {"type": "array", "items": ITEM},
                "items": {
                    "type": "array",
                    "items": ITEM,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "port"],
                },
                "nested": {
                    "type": "object",
                    "properties": {"one": STRING, "two": {"type": "object", "properties": {"three": STRING}}},
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "replicas": INTEGER,
                "conditions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {"type": STRING, "status": STRING},
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}
TOYS = ("toys.example.com/v1", "toys.example.com/v2")
TOY = kubernetes().custom(TOY_SCHEMA)

# What the rules of a kind do away with, or find.
RULED = {
    "Service": {".spec.externalTrafficPolicy", ".spec.sessionAffinityConfig", ".spec.ports[].nodePort"},
    "Pod": {".status.podIPs", ".status.podIPs[].ip"},
}

# What the server sets by itself.
OWN = {"resourceVersion", "namespace", "generation", "creationTimestamp", "uid", "managedFields", "selfLink"}


def schema_of(step: Json) -> Schema:
    if step["kind"] == "Toy":
        return TOY
    schema = kubernetes().schema(step["group"], step["version"], step["kind"])
    assert schema is not None
    return schema


def differences(step: Json) -> list[str]:
    """What our functions do otherwise than the real server did."""
    try:
        made = [ours(step, now) for now in step["now"]]
    except Refused as error:
        if step["status"] < 300:
            return [f"we refuse: {error}"]
        return refusal(error, step["answer"])
    except Exception as error:  # noqa: BLE001  # whatever it is, the step is named
        return [f"we fail: {type(error).__name__}: {error}"]
    if step["status"] >= 300:
        if step["answer"].get("reason") == "Invalid" or "strict decoding" in step["answer"].get("message", ""):
            return []  # validation is not ours
        return [f"we do not refuse: {step['answer']}"]
    answer = step["answer"]
    theirs = answer["metadata"].get("managedFields", [])
    obj, fields = min(made, key=lambda each: each[1] != theirs)
    if step["kind"] == "Toy":  # whose objects are written with their keys in order
        fields, theirs = (decode(encode(each, order="sorted")) for each in (fields, theirs))
    if step["kind"] != "ConfigMap":
        obj = {k: v for k, v in obj.items() if (k == "status") == (step["subresource"] == "status")}
    found = [
        line
        for line in compared("", bare(obj), bare(answer), bare(step["live"]), exact=step["kind"] == "ConfigMap")
        if re.sub(r"\[\d+\]", "[]", line.partition(":")[0]) not in RULED.get(step["kind"], ())
    ]
    return found + list(differing_owners(fields, theirs))


def differing_owners(mine: list[Json], theirs: list[Json]) -> Any:
    """What is different in two managedFields."""

    def fields(entries: list[Json]) -> bytes:
        return encode([entry.get("fieldsV1") for entry in entries])

    if mine == theirs and fields(mine) == fields(theirs):
        return

    def by_owner(entries: list[Json]) -> dict[Any, Json]:
        keys = ("manager", "operation", "subresource")
        return {tuple(entry.get(key, "") for key in keys): entry for entry in entries}

    one, other = by_owner(mine), by_owner(theirs)
    if one == other:
        yield f"managedFields in another order: theirs {list(other)}, or in their fields"
    for owner in one.keys() ^ other.keys():
        yield f"managedFields: {'ours' if owner in one else 'theirs'} has {(one | other)[owner]}"
    for owner in one.keys() & other.keys():
        for key in ("apiVersion", "time"):
            if one[owner].get(key) != other[owner].get(key):
                yield f"managedFields {owner}: {key} ours {one[owner].get(key)}, theirs {other[owner].get(key)}"
        ours_, theirs_ = (set(paths(each[owner]["fieldsV1"])) for each in (one, other))
        for path in sorted(ours_ ^ theirs_):
            yield f"managedFields {owner}: {'ours' if path in ours_ else 'theirs'} has {path_text(path)}"


def ours(step: Json, now: str) -> tuple[Json, list[Json]]:
    """The object and its managedFields after the step."""
    schema, live, sent = schema_of(step), step["live"], step["sent"]
    version = f"{step['group']}/{step['version']}" if step["group"] else step["version"]
    common: Json = {
        "schema": schema,
        "manager": step["manager"],
        "subresource": step["subresource"],
        "api_version": version,
        "now": datetime.fromisoformat(now),
        "resets": resets_of(step["group"], version, step["kind"], step["subresource"]),
    }
    if step["kind"] == "Toy":
        common["versions"] = lambda obj, wanted: ({**obj, "apiVersion": wanted}, TOY) if wanted in TOYS else None
    if step["subresource"] == "scale":
        return ours_of_scale(step, common)
    match step["verb"]:
        case "apply":
            made = apply(live, sent, force=step["force"], **common)
            return made, made["metadata"].get("managedFields", [])
        case "json":
            obj = json_patch(live, sent)
        case "merge":
            obj = merge_patch(live, sent)
        case "strategic":
            obj = strategic_merge(live, sent, schema)
        case _:
            obj = sent
    if step["status"] >= 300:
        return obj, []
    # Defaults and resets are not ours: what the server stored is what was written, but for what it keeps by itself.
    stored = before_allocation(step)
    meta = {key: value for key, value in stored["metadata"].items() if key != "managedFields"}
    if step["kind"] == "Toy":  # whose owners in another version lose what the endpoint then puts back
        stored = {**stored, "spec": obj.get("spec")} if step["subresource"] else {**stored, "status": obj.get("status")}
        stored = {key: value for key, value in stored.items() if value is not None}
    sent_fields = obj.get("metadata", {}).get("managedFields")
    if step["kind"] == "Toy" and sent_fields == []:
        sent_fields = None  # the metadata of custom resources loses what is empty
    if sent_fields is not None:
        meta["managedFields"] = sent_fields
    return obj, record_update(live, {**stored, "metadata": meta}, **common)


def ours_of_scale(step: Json, common: Json) -> tuple[Json, list[Json]]:
    """The scaled object and its managedFields after a write to its scale."""
    live, sent = step["live"], step["sent"]
    places = dict.fromkeys(("apps/v1", *TOYS), ("f:spec", "f:replicas"))
    entries = live["metadata"].get("managedFields")
    scale: Json = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": live["metadata"]["name"], "uid": "1", "managedFields": to_scale(entries, places)},
        "spec": {"replicas": live["spec"]["replicas"]},
        "status": {},
    }
    schema = kubernetes().schema("autoscaling", "v1", "Scale")
    common = {**common, "schema": schema, "api_version": "autoscaling/v1", "resets": {}, "versions": None}
    if step["verb"] == "apply":
        made = apply(scale, sent, force=step["force"], **common)
    else:
        made = merge_patch(scale, sent) if step["verb"] == "merge" else json_patch(scale, sent)
        made = {**made, "metadata": {**made["metadata"], "managedFields": record_update(scale, made, **common)}}
    fields = to_parent(
        entries,
        made["metadata"]["managedFields"],
        api_version=f"{step['group']}/{step['version']}",
        places=places,
    )
    return {**live, "spec": {**live["spec"], "replicas": made["spec"]["replicas"]}}, fields


def before_allocation(step: Json) -> Json:
    """What was written, before addresses and ports were found for a Service."""
    stored: Json = step["answer"]
    if step["kind"] != "Service" or step["verb"] == "apply":
        return stored
    spec, had = dict(stored["spec"]), (step["live"] or {}).get("spec") or {}
    for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if field not in had:
            spec.pop(field, None)
    ports = {port.get("nodePort") for port in had.get("ports", ())}
    spec["ports"] = [{k: v for k, v in p.items() if k != "nodePort" or v in ports} for p in spec.get("ports", ())]
    return {**stored, "spec": spec}


def refusal(error: Refused, answer: Json) -> list[str]:
    if answer.get("status") != "Failure":
        return [f"we refuse: {error}"]
    body = error.body()
    if answer["code"] == 500:
        answer = {
            **answer,
            "code": 400,
            "reason": "BadRequest",
        }  # our rule: what is bad input is no fault of the server
    found: list[str] = []
    if body["message"] != answer["message"] and sorted(body["message"].split("\n")) != sorted(
        answer["message"].split("\n")
    ):
        found += [f"our message   {body['message']}", f"their message {answer['message']}"]
    for key in ("reason", "code"):
        if body.get(key) != answer.get(key):
            found += [f"our {key} {body.get(key)}, theirs {answer.get(key)}"]

    def causes(status: Json) -> list[str]:
        return sorted(map(str, (status.get("details") or {}).get("causes", [])))

    if causes(body) != causes(answer):
        found += [f"our causes {causes(body)}", f"their causes {causes(answer)}"]
    return found


def bare(obj: Json | None) -> Json:
    if obj is None:
        return {}
    return {**obj, "metadata": {k: v for k, v in (obj.get("metadata") or {}).items() if k not in OWN}}


def compared(where: str, mine: Any, theirs: Any, live: Any, *, exact: bool) -> Any:
    """Ours has to be in theirs; theirs may have more only where it had not been there before: a default."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key, value in mine.items():
            if key in theirs:
                below = live.get(key) if isinstance(live, dict) else None
                yield from compared(f"{where}.{key}", value, theirs[key], below, exact=exact)
            elif value not in (None, {}, [], "", 0, False):
                yield f"{where}.{key}: ours {value!r}, theirs has none"
        for key, value in theirs.items():
            if key not in mine and value not in (None, {}, [], "", 0, False) and exact:
                yield f"{where}.{key}: theirs {value!r}, ours has none"
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from compared(f"{where}[{index}]", one, other, None, exact=exact)
    elif mine != theirs and mine is not None:
        yield f"{where}: ours {mine!r}, theirs {theirs!r}"


def remembered(life: Json) -> Any:
    """The steps of a life that was saved, each with the object as the step before left it."""
    live: Json | None = None
    for saved in life["steps"]:
        step: Json = {"group": "", "subresource": "", **saved}
        version = f"{step['group']}/{step['version']}" if step["group"] else step["version"]
        step["live"] = live and {**live, "apiVersion": version}
        yield step
        live = step["answer"] if step["status"] < 300 else live
