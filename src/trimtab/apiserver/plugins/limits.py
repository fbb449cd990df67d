"""LimitRanger: what each Pod, container or claim of a namespace gets at least, at most, or where it says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Means, Plugin, Remembered
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]
Amounts: TypeAlias = dict[str, Quantity]

_NOTE: Final = "kubernetes.io/limit-ranger"
_KINDS: Final = {"containers": "container", "initContainers": "init container"}


class LimitRanger(Plugin):
    """Holds what is new to the limits of its namespace."""

    buckets = frozenset({"pods", "persistentvolumeclaims"})

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._ranges = Remembered(means.store, "limitranges", _read)

    def admit(self, attempt: Attempt) -> None:
        """Give containers what they did not ask for."""
        if attempt.bucket != "pods" or not _concerns(attempt):
            return
        for limits in self._ranges.get(attempt.namespace):
            notes = [*_complete(attempt.spec, limits)]
            if notes:
                metadata = attempt.obj["metadata"]
                note = {_NOTE: "LimitRanger plugin set: " + "; ".join(notes)}
                metadata["annotations"] = {**(metadata.get("annotations") or {}), **note}

    def validate(self, attempt: Attempt) -> None:
        """Refuse what is beyond a limit."""
        if attempt.operation == "DELETE" or not _concerns(attempt):
            return
        for limits in self._ranges.get(attempt.namespace):
            check = _check_pod if attempt.bucket == "pods" else _check_claim
            found = list(dict.fromkeys(check(attempt.spec, limits)))
            if found:
                raise attempt.forbidden(found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _read(ranges: list[Json]) -> list[list[Json]]:
    return [cast("list[Json]", cast("Json", each.get("spec") or {}).get("limits") or []) for each in ranges]


def _concerns(attempt: Attempt) -> bool:
    if attempt.old is not None and attempt.old["metadata"].get("deletionTimestamp"):
        return False
    if attempt.subresource:
        return attempt.bucket == "pods" and attempt.subresource == "resize" and attempt.operation == "UPDATE"
    return attempt.operation == "CREATE" or (attempt.operation == "UPDATE" and attempt.bucket != "pods")


def _complete(spec: Json, limits: list[Json]) -> Iterator[str]:
    """Set what containers get if they say nothing, and tell what was set."""
    defaults: dict[str, Json] = {"requests": {}, "limits": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"] |= limit.get("defaultRequest") or {}
            defaults["limits"] |= limit.get("default") or {}
    for field, kind in _KINDS.items():
        for container in cast("list[Json]", spec.get(field) or []):
            resources = cast("Json", container.setdefault("resources", {}))
            for part, word in (("requests", "request"), ("limits", "limit")):
                there = cast("Json", resources.get(part) or {})
                missing = {name: value for name, value in defaults[part].items() if name not in there}
                if missing:
                    resources[part] = {**there, **missing}
                    yield f"{', '.join(sorted(missing))} {word} for {kind} {container.get('name', '')}"


def _check_pod(spec: Json, limits: list[Json]) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for field in _KINDS:
                for container in cast("list[Json]", spec.get(field) or []):
                    yield from _check(limit, *(_amounts(container, part) for part in ("requests", "limits")))
        elif limit.get("type") == "Pod":
            yield from _check(limit, *(total(spec, part) for part in ("requests", "limits")))


def _check_claim(spec: Json, limits: list[Json]) -> Iterator[str]:
    requests = _amounts(spec, "requests")
    for limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for name, least in _given(limit, "min"):
            yield from _least("PersistentVolumeClaim", name, least, requests, {})
        for name, most in _given(limit, "max"):
            said = f"maximum {name} usage per PersistentVolumeClaim is {most}"
            if name not in requests:
                yield f"{said}.  No request is specified"
            elif requests[name] > most:
                yield f"{said}, but request is {requests[name]}"


def _check(limit: Json, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, least in _given(limit, "min"):
        yield from _least(kind, name, least, requests, limits)
    for name, most in _given(limit, "max"):
        said = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{said}.  No limit is specified"
        elif limits[name] > most:
            yield f"{said}, but limit is {limits[name]}"
        elif name in requests and requests[name] > most:
            yield f"{said}, but request is {requests[name]}"
    for name, ratio in _given(limit, "maxLimitRequestRatio"):
        said = f"{name} max limit to request ratio per {kind} is {ratio}"
        if not requests.get(name):
            yield f"{said}, but no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{said}, but no limit is specified or limit is 0"
        elif limits[name].nano * 10**9 > ratio.nano * requests[name].nano:
            yield f"{said}, but provided ratio is {limits[name].nano / requests[name].nano:f}"


def _least(kind: str, name: str, least: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    said = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{said}.  No request is specified"
    elif requests[name] < least:
        yield f"{said}, but request is {requests[name]}"
    elif name in limits and limits[name] < least:
        yield f"{said}, but limit is {limits[name]}"


def _given(limit: Json, what: str) -> Iterator[tuple[str, Quantity]]:
    for name, text in cast("Json", limit.get(what) or {}).items():
        yield name, Quantity(text)


def _amounts(holder: Json, part: str) -> Amounts:
    resources = cast("Json", holder.get("resources") or {})
    return {name: Quantity(text) for name, text in cast("Json", resources.get(part) or {}).items()}


def total(spec: Json, part: str) -> Amounts:
    """What a Pod asks for (`requests`) or may have (`limits`) in all.

    Its containers run at the same time; before them, one after the other, those that prepare it. Of these, some stay.
    """
    running: Amounts = {}
    for container in cast("list[Json]", spec.get("containers") or []):
        running = _joined(running, _amounts(container, part), _add)
    staying: Amounts = {}
    highest: Amounts = {}
    for container in cast("list[Json]", spec.get("initContainers") or []):
        own = _amounts(container, part)
        if container.get("restartPolicy") == "Always":
            staying = _joined(staying, own, _add)
            own = staying
        else:
            own = _joined(staying, own, _add)
        highest = _joined(highest, own, max)
    found = _joined(_joined(running, staying, _add), highest, max)
    found |= {name: each for name, each in _amounts(spec, part).items() if name in ("cpu", "memory") or name in found}
    overhead = {name: Quantity(text) for name, text in cast("Json", spec.get("overhead") or {}).items()}
    if part == "limits":
        overhead = {name: each for name, each in overhead.items() if found.get(name)}
    return _joined(found, overhead, _add)


def _add(one: Quantity, other: Quantity) -> Quantity:
    return one + other


def _joined(one: Amounts, other: Amounts, how: Callable[[Quantity, Quantity], Quantity]) -> Amounts:
    return {**one, **{name: how(one[name], each) if name in one else each for name, each in other.items()}}
