"""What stands in the tables of a cluster's own things: Namespaces, Nodes, what they hold, and how it is shared out."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

from trimtab.apiserver.cells.words import (
    NONE,
    UNKNOWN,
    age,
    age_of,
    conditions,
    is_going,
    items,
    joined,
    name_of,
    part,
)

Json: TypeAlias = dict[str, Any]


def named(obj: Json, now: datetime) -> list[Any]:
    """Name, Age."""
    return [name_of(obj), age_of(obj, now)]


def config_map(obj: Json, now: datetime) -> list[Any]:
    """Name, Data, Age."""
    return [name_of(obj), len(part(obj, "data")) + len(part(obj, "binaryData")), age_of(obj, now)]


def secret(obj: Json, now: datetime) -> list[Any]:
    """Name, Type, Data, Age."""
    return [name_of(obj), obj.get("type", ""), len(part(obj, "data")), age_of(obj, now)]


def namespace(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Age."""
    return [name_of(obj), part(obj, "status").get("phase", ""), age_of(obj, now)]


def lease(obj: Json, now: datetime) -> list[Any]:
    """Name, Holder, Age."""
    return [name_of(obj), part(obj, "spec").get("holderIdentity") or "", age_of(obj, now)]


def event(obj: Json, now: datetime) -> list[Any]:
    """Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name."""
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    series, about, source = obj.get("series"), part(obj, "involvedObject"), part(obj, "source")
    last, count = obj.get("lastTimestamp") or first, obj.get("count") or 1
    if series is not None:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    thing = about.get("kind", "").lower()
    target = f"{thing}/{about['name']}" if about.get("name") else thing
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return [
        age(last, now), obj.get("type", ""), obj.get("reason", ""), target, about.get("fieldPath", ""),
        f"{component}, {host}" if host else component, (obj.get("message") or "").strip(), age(first, now), count,
        name_of(obj),
    ]  # fmt: skip


def quota(obj: Json, now: datetime) -> list[Any]:
    """Name, Request, Limit, Age."""
    hard, used = part(obj, "status", "hard"), part(obj, "status", "used")
    shown = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in shown.items() if name.startswith("limits.")]
    others = [text for name, text in shown.items() if not name.startswith("limits.")]
    return [name_of(obj), ", ".join(others), ", ".join(limits), age_of(obj, now)]


def node(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Roles, Age, Version, Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime."""
    spec, status, info = part(obj, "spec"), part(obj, "status"), part(obj, "status", "nodeInfo")
    last = {each.get("type"): each.get("status") for each in conditions(obj)}
    ready = {"True": "Ready", None: "Unknown"}.get(last.get("Ready"), "NotReady")
    addresses = {each.get("type"): each.get("address") for each in reversed(items(status, "addresses"))}
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(obj), ready + (",SchedulingDisabled" if spec.get("unschedulable") else ""), _roles(obj),
        age_of(obj, now), info.get("kubeletVersion", ""), addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE, info.get("osImage") or UNKNOWN, kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]  # fmt: skip


def _roles(obj: Json) -> str:
    labels: dict[str, str] = part(obj, "metadata", "labels")
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return joined(sorted(filter(None, roles)))


def component(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Message, Error."""
    del now
    found = next((each for each in items(obj, "conditions") if each.get("type") == "Healthy"), None)
    if found is None:
        return [name_of(obj), "Unknown", "", ""]
    state = "Healthy" if found.get("status") == "True" else "Unhealthy"
    return [name_of(obj), state, found.get("message", ""), found.get("error", "")]


def priority_class(obj: Json, now: datetime) -> list[Any]:
    """Name, Value, Global-Default, Age, PreemptionPolicy."""
    by_default = bool(obj.get("globalDefault"))
    return [name_of(obj), obj.get("value", 0), by_default, age_of(obj, now), obj.get("preemptionPolicy") or ""]


def runtime_class(obj: Json, now: datetime) -> list[Any]:
    """Name, Handler, Age."""
    return [name_of(obj), obj.get("handler", ""), age_of(obj, now)]


def flow_schema(obj: Json, now: datetime) -> list[Any]:
    """Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL."""
    spec = part(obj, "spec")
    method = spec.get("distinguisherMethod")
    dangling = next((each for each in conditions(obj) if each.get("type") == "Dangling"), None)
    return [
        name_of(obj), part(spec, "priorityLevelConfiguration").get("name", ""), spec.get("matchingPrecedence", 0),
        NONE if method is None else method.get("type", ""), age_of(obj, now),
        "?" if dangling is None else dangling.get("status", ""),
    ]  # fmt: skip


def priority_level(obj: Json, now: datetime) -> list[Any]:
    """Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age."""
    spec = part(obj, "spec")
    shares: Any = NONE
    queues: list[Any] = [NONE] * 3
    if spec.get("limited") is not None:
        shares = part(spec, "limited").get("nominalConcurrencyShares", 0)
        queuing = part(spec, "limited", "limitResponse").get("queuing")
        if queuing is not None:
            queues = [queuing.get(name, 0) for name in ("queues", "handSize", "queueLengthLimit")]
    return [name_of(obj), spec.get("type", ""), shares, *queues, age_of(obj, now)]


def resource_claim(obj: Json, now: datetime) -> list[Any]:
    """Name, State, Age."""
    status = part(obj, "status")
    going, allocated = is_going(obj), status.get("allocation") is not None
    states = ["deleted"] if going else [] if allocated else ["pending"]
    states += ["allocated"] if allocated else []
    states += ["reserved"] if allocated and items(status, "reservedFor") else []
    return [name_of(obj), ",".join(states), age_of(obj, now)]


def resource_slice(obj: Json, now: datetime) -> list[Any]:
    """Name, Node, Driver, Pool, Age."""
    spec = part(obj, "spec")
    pool = part(spec, "pool").get("name", "")
    return [name_of(obj), spec.get("nodeName") or "", spec.get("driver", ""), pool, age_of(obj, now)]
