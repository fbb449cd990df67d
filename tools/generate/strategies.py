"""How kinds differ in what happens when they are written, found by writing one object of each and looking."""

from __future__ import annotations

import copy
from typing import Any

from defaults import MARK
from serve import Api

Json = dict[str, Any]

NAME = "strategy"
STATUS_METADATA: Json = {
    "labels": {"a": "a"},
    "annotations": {"a": "a"},
    "finalizers": ["example.com/a"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "a"}],
}

# Names that tell the rules from each other, the strictest first: what takes one takes those before it.
NAMES = (("label1035", "a-b"), ("label", "1a"), ("subdomain", "1a.b"), ("path", "A:b"))


def strategy_of(api: Api, path: str, seed: Json, *, has_status: bool) -> Json:
    """What is found out of a kind: its collection's path, and its smallest object. What is false is left out."""
    obj = copy.deepcopy(seed)
    if obj["metadata"]["name"] == MARK:
        obj["metadata"]["name"] = NAME
    metadata = obj["metadata"]
    own_name = metadata["name"] != NAME
    _, tried = api.create(path, obj)
    status, _ = api.put(f"{path}/{metadata['name']}?dryRun=All", obj)
    found: Json = {
        "generation": tried["metadata"].get("generation") == 1,
        "upserts": status == 201,
        "names": "" if own_name else names(api, path, obj),
    }
    status, there = api.post(path, obj)
    if status != 201:
        raise SystemExit(f"{path} does not take {obj}: {there}")
    where = f"{path}/{metadata['name']}"
    without_version = with_metadata(there, resourceVersion=None)
    found["unconditional"] = api.put(f"{where}?dryRun=All", without_version)[0] == 200
    found["counted"] = [name for name in ("labels", "annotations") if counts(api, where, {name: {"a": "a"}})]
    if has_status:
        found["status"] = told(tried.get("status", {}))
        _, after = api.put(f"{where}/status?dryRun=All", with_metadata(api.get(where), STATUS_METADATA))
        found["statusKeeps"] = [
            name for name in STATUS_METADATA if after["metadata"].get(name) == there["metadata"].get(name)
        ]
    _, gone = api.delete(f"{where}?dryRun=All")
    found["orphans"] = gone.get("metadata", {}).get("finalizers") == ["orphan"]
    _, gone = api.delete(f"{where}?propagationPolicy=Background")
    found["returned"] = gone["kind"] == seed["kind"]
    return {key: value for key, value in found.items() if value}


def with_metadata(obj: Json, given: Json | None = None, **more: Any) -> Json:
    """The object with these in its metadata; None takes out."""
    metadata = {**obj["metadata"], **(given or {}), **more}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if value is not None}}


def told(status: Json) -> Json:
    """The texts in a status, but for the moments that it tells of: the rest of a new one is empty."""
    texts = {key: value for key, value in status.items() if value and isinstance(value, str)}
    return {key: value for key, value in texts.items() if not key.endswith("Time")}


def counts(api: Api, where: str, given: Json) -> bool:
    """Whether a change of the metadata makes a new generation."""
    there = api.get(where)
    before = there["metadata"].get("generation", 0)
    return api.put(f"{where}?dryRun=All", with_metadata(there, given))[1]["metadata"].get("generation", 0) > before


def names(api: Api, path: str, obj: Json) -> str:
    """The rule for names."""
    taken = ""
    for rule, name in NAMES:
        if api.create(path, with_metadata(obj, name=name))[0] != 201:
            break
        taken = rule
    return taken
