"""The parts of a Pod that are written apart from the rest: its debugging containers, and what its containers get.

A running Pod cannot change, but for these two: somebody who looks for a fault brings a container along, and a container
gets more or less of what it has.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.builtin.pods import check_pod, quality_of_service
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_MIRROR: Final = "kubernetes.io/config.mirror"
_RESIZED: Final = ("resources", "resizePolicy")
_LISTS: Final = ("initContainers", "containers")
_ADJUSTED: Final = ("cpu", "memory")


def prepare_debugging(new: Json, old: Json) -> None:
    """Take back all but the debugging containers."""
    added = cast("Json", new.get("spec") or {}).get("ephemeralContainers")
    _restore(new, old, {**cast("Json", old.get("spec") or {})})
    new["spec"].pop("ephemeralContainers", None)
    if added:
        new["spec"]["ephemeralContainers"] = added


def check_debugging(new: Json, old: Json) -> list[Cause]:
    """What is there stays as it is."""
    if _MIRROR in cast("Json", old["metadata"].get("annotations") or {}):
        return [causes.forbidden("", "static pods do not support ephemeral containers")]
    found = check_pod(new)
    there = {each["name"]: each for each in _containers(new, "ephemeralContainers")}
    for each in _containers(old, "ephemeralContainers"):
        name = causes.quoted(each["name"])
        if each["name"] not in there:
            why = f"existing ephemeral containers {name} may not be removed\n"
        elif there[each["name"]] != each:
            why = f"existing ephemeral containers {name} may not be changed\n"
        else:
            continue
        found.append(causes.forbidden("spec.ephemeralContainers", why))
    return found


def prepare_resize(new: Json, old: Json) -> None:
    """Take back all but what containers get; where they are not the same ones, that is told by the check."""
    spec, was = (cast("Json", each.get("spec") or {}) for each in (new, old))
    lists: Json = {}
    for name in _LISTS:
        now, before = _containers(new, name), _containers(old, name)
        if len(now) != len(before):
            return
        same = all(a.get("name") == b.get("name") for a, b in zip(now, before, strict=True))
        lists[name] = [_resized(*pair) for pair in zip(now, before, strict=True)] if same else now
    kept = {**was, **{name: each for name, each in lists.items() if each}}
    kept.pop("resources", None)
    if spec.get("resources") is not None:
        kept["resources"] = spec["resources"]
    _restore(new, old, kept)


def check_resize(new: Json, old: Json) -> list[Cause]:
    """More or less is possible; to be treated otherwise is not."""
    if _MIRROR in cast("Json", old["metadata"].get("annotations") or {}):
        return [causes.forbidden("", "static pods cannot be resized")]
    spec, was = (cast("Json", each.get("spec") or {}) for each in (new, old))
    if cast("Json", was.get("os") or {}).get("name") == "windows":
        return [causes.forbidden("", "windows pods cannot be resized")]
    found = check_pod(new)
    quality = cast("Json", old.get("status") or {}).get("qosClass") or quality_of_service(was)
    if quality_of_service(spec) != quality:
        found.append(causes.invalid("spec", quality, "Pod QOS Class may not change as a result of resizing"))
    for name in _LISTS:
        now, before = _containers(new, name), _containers(old, name)
        if len(now) != len(before):
            why = f"{name} may not be added or removed on resize"
            return [*found, causes.forbidden(f"spec.{name}", why)]
        for index, (one, other) in enumerate(zip(now, before, strict=True)):
            where = f"spec.{name}[{index}]"
            if one.get("name") != other.get("name"):
                why = "containers may not be renamed or reordered on resize"
                return [*found, causes.forbidden(f"{where}.name", why)]
            found += _check_resources(one, other, f"{where}.resources", what=name)
    return found


def _check_resources(new: Json, old: Json, where: str, *, what: str) -> list[Cause]:
    now, before = (cast("Json", each.get("resources") or {}) for each in (new, old))
    found: list[Cause] = []
    for part in ("requests", "limits"):
        given, was = (cast("Json", each.get(part) or {}) for each in (now, before))
        gone = [name for name in was if name not in given]
        if gone:
            why = f"resource {part} cannot be removed"
            found.append(causes.forbidden(f"{where}.{part}", why))
        others = (_without(each, _ADJUSTED) for each in (given, was))
        if not gone and next(others) != next(others):
            if what == "containers":
                found.append(causes.forbidden("spec", "only cpu and memory resources are mutable"))
            else:
                why = "only cpu and memory resources for init or sidecar containers are mutable"
                found.append(causes.forbidden(where.removesuffix(".resources"), why))
    return found


def _without(given: Json, names: tuple[str, ...]) -> Json:
    return {name: value for name, value in given.items() if name not in names}


def _resized(new: Json, old: Json) -> Json:
    """A container as it was, with what it gets now."""
    return {**_without(old, _RESIZED), **{name: new[name] for name in _RESIZED if name in new}}


def _containers(pod: Json, name: str) -> list[Json]:
    return cast("list[Json]", cast("Json", pod.get("spec") or {}).get(name) or [])


def _restore(new: Json, old: Json, spec: Json) -> None:
    new["spec"] = spec
    new["status"] = old.get("status", {})
    keep_metadata(new["metadata"], old["metadata"])


def keep_metadata(new: Json, old: Json) -> None:
    """What of the metadata stays as it is where a part is written: all that people set."""
    for name in ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences"):
        if name in old:
            new[name] = old[name]
        else:
            new.pop(name, None)
