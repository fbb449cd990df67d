"""What stands in the tables of the common kinds, in the words that users of kubectl know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, cast

from trimtab.kube.timestamps import parse_time

Json: TypeAlias = dict[str, Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
_STEPS: Final = (("y", 365 * 86400), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def age(since: str | None, now: datetime) -> str:
    """How long ago something was, as kubectl says it: `5s`, `3m12s`, `2d4h`."""
    return duration(now - parse_time(since)) if since else UNKNOWN


def duration(span: timedelta) -> str:
    """A span in the two units that say most of it."""
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(much: int, unit: str, little: int, small_unit: str) -> str:
    return f"{much}{unit}{little}{small_unit}" if little else f"{much}{unit}"


def _part(obj: Json, *way: str) -> Json:
    value: Any = obj
    for name in way:
        value = cast("Json", value).get(name) or {}
    return cast("Json", value)


def _items(obj: Json, name: str) -> list[Json]:
    return cast("list[Json]", obj.get(name) or [])


def _name(obj: Json) -> str:
    return cast("str", obj["metadata"].get("name", ""))


def _age(obj: Json, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def config_map(obj: Json, now: datetime) -> list[Any]:
    """Name, Data, Age."""
    return [_name(obj), len(_part(obj, "data")) + len(_part(obj, "binaryData")), _age(obj, now)]


def secret(obj: Json, now: datetime) -> list[Any]:
    """Name, Type, Data, Age."""
    return [_name(obj), obj.get("type", ""), len(_part(obj, "data")), _age(obj, now)]


def namespace(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Age."""
    return [_name(obj), _part(obj, "status").get("phase", ""), _age(obj, now)]


def service_account(obj: Json, now: datetime) -> list[Any]:
    """Name, Age."""
    return [_name(obj), _age(obj, now)]


def lease(obj: Json, now: datetime) -> list[Any]:
    """Name, Holder, Age."""
    return [_name(obj), _part(obj, "spec").get("holderIdentity") or "", _age(obj, now)]


def event(obj: Json, now: datetime) -> list[Any]:
    """Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name."""
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    series, about, source = _part(obj, "series"), _part(obj, "involvedObject"), _part(obj, "source")
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    thing = about.get("kind", "").lower()
    target = f"{thing}/{about['name']}" if about.get("name") else thing
    component = source.get("component") or obj.get("reportingComponent", "")
    host = source.get("host") or obj.get("reportingInstance", "")
    count = series.get("count") or obj.get("count") or 1
    return [
        age(last, now), obj.get("type", ""), obj.get("reason", ""), target, about.get("fieldPath", ""),
        f"{component}, {host}" if host else component, (obj.get("message") or "").strip(), age(first, now), count,
        _name(obj),
    ]  # fmt: skip


# Workloads


def _containers(obj: Json) -> list[Any]:
    made = _items(_part(obj, "spec", "template", "spec"), "containers")
    return [",".join(c.get("name", "") for c in made), ",".join(c.get("image", "") for c in made)]


def selector_text(selector: Mapping[str, Any]) -> str:
    """A label selector, as text."""
    parts = [f"{key}={value}" for key, value in sorted(cast("Json", selector.get("matchLabels") or {}).items())]
    for each in cast("list[Json]", selector.get("matchExpressions") or []):
        key, values = each.get("key", ""), ",".join(sorted(each.get("values") or []))
        match each.get("operator"):
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(key)
            case _:
                parts.append(f"!{key}")
    return ",".join(parts) or NONE


def deployment(obj: Json, now: datetime) -> list[Any]:
    """Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    spec, status = _part(obj, "spec"), _part(obj, "status")
    return [
        _name(obj), f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}", status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0), _age(obj, now), *_containers(obj), selector_text(_part(spec, "selector")),
    ]  # fmt: skip


def replica_set(obj: Json, now: datetime) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    spec, status = _part(obj, "spec"), _part(obj, "status")
    return [
        _name(obj), spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0), _age(obj, now),
        *_containers(obj), selector_text(_part(spec, "selector")),
    ]  # fmt: skip


def stateful_set(obj: Json, now: datetime) -> list[Any]:
    """Name, Ready, Age, Containers, Images."""
    ready = f"{_part(obj, 'status').get('readyReplicas', 0)}/{_part(obj, 'spec').get('replicas', 0)}"
    return [_name(obj), ready, _age(obj, now), *_containers(obj)]


def daemon_set(obj: Json, now: datetime) -> list[Any]:
    """Name, Desired, Current, Ready, Up-to-date, Available, Node Selector, Age, Containers, Images, Selector."""
    status = _part(obj, "status")
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    nodes = _part(obj, "spec", "template", "spec", "nodeSelector")
    return [
        _name(obj), *(status.get(count, 0) for count in counts), status.get("numberAvailable", 0),
        selector_text({"matchLabels": nodes}), _age(obj, now), *_containers(obj),
        selector_text(_part(obj, "spec", "selector")),
    ]  # fmt: skip


def job(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Completions, Duration, Age, Containers, Images, Selector."""
    spec, status = _part(obj, "spec"), _part(obj, "status")
    done = status.get("succeeded", 0)
    if "completions" in spec:
        completions = f"{done}/{spec['completions']}"
    else:
        parallel = spec.get("parallelism", 0)
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    took = ""
    if start := status.get("startTime"):
        end = status.get("completionTime")
        took = duration((parse_time(end) if end else now) - parse_time(start))
    return [
        _name(obj), _job_state(obj), completions, took, _age(obj, now), *_containers(obj),
        selector_text(_part(spec, "selector")),
    ]  # fmt: skip


def _job_state(obj: Json) -> str:
    for kind in ("Complete", "Failed"):
        if _is_true(obj, kind):
            return kind
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for kind, state in (("Suspended", "Suspended"), ("FailureTarget", "FailureTarget"), ("SuccessCriteriaMet",) * 2):
        if _is_true(obj, kind):
            return state
    return "Running"


def _is_true(obj: Json, kind: str) -> bool:
    conditions = _items(_part(obj, "status"), "conditions")
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


# Pods


def pod(obj: Json, now: datetime) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = _part(obj, "spec"), _part(obj, "status")
    statuses = _items(status, "containerStatuses")
    beginning = _beginning(obj)
    if beginning:
        reason, counted = beginning, _items(status, "initContainerStatuses")
    else:
        reason, counted = _running(obj), statuses
    ready = sum(1 for each in statuses if each.get("ready") and "running" in _part(each, "state"))
    if obj["metadata"].get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    gates = _items(spec, "readinessGates")
    met = sum(1 for gate in gates if _is_true(obj, gate.get("conditionType", "")))
    ips = _items(status, "podIPs")
    return [
        _name(obj), f"{ready}/{len(_items(spec, 'containers'))}", reason, _restarts(counted, now), _age(obj, now),
        (ips[0].get("ip") if ips else status.get("podIP")) or NONE, spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE, f"{met}/{len(gates)}" if gates else NONE,
    ]  # fmt: skip


def _beginning(obj: Json) -> str:
    """What its containers that come first are at; "" once they are through."""
    made = _items(_part(obj, "status"), "initContainerStatuses")
    wanted = _items(_part(obj, "spec"), "initContainers")
    lasting = {each.get("name") for each in wanted if each.get("restartPolicy") == "Always"}
    for number, each in enumerate(made):
        state = _part(each, "state")
        over, waits = _part(state, "terminated"), _part(state, "waiting")
        if over and not over.get("exitCode"):
            continue
        if each.get("name") in lasting and each.get("started"):
            continue
        if over:
            return "Init:" + (over.get("reason") or _ended(over))
        if waits.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waits['reason']}"
        return f"Init:{number}/{len(wanted)}"
    return ""


def _running(obj: Json) -> str:
    status = _part(obj, "status")
    reason = status.get("reason") or status.get("phase", "")
    runs = False
    for each in reversed(_items(status, "containerStatuses")):
        state = _part(each, "state")
        over, waits = _part(state, "terminated"), _part(state, "waiting")
        if waits.get("reason"):
            reason = waits["reason"]
        elif over:
            reason = over.get("reason") or _ended(over)
        elif each.get("ready") and "running" in state:
            runs = True
    if reason == "Completed" and runs:
        return "Running" if _is_true(obj, "Ready") else "NotReady"
    return reason


def _ended(over: Json) -> str:
    return f"Signal:{over['signal']}" if over.get("signal") else f"ExitCode:{over.get('exitCode', 0)}"


def _restarts(statuses: Iterable[Json], now: datetime) -> str:
    each = list(statuses)
    count = sum(one.get("restartCount", 0) for one in each)
    ends = [_part(one, "lastState", "terminated").get("finishedAt") for one in each]
    last = max((end for end in ends if end), default=None)
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


# The rest


def service(obj: Json, now: datetime) -> list[Any]:
    """Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector."""
    spec = _part(obj, "spec")
    kind = spec.get("type", "")
    return [
        _name(obj), kind, spec.get("clusterIP") or NONE, _external(obj, kind), _ports(spec) or NONE, _age(obj, now),
        selector_text({"matchLabels": _part(spec, "selector")}),
    ]  # fmt: skip


def _external(obj: Json, kind: str) -> str:
    spec = _part(obj, "spec")
    given = list(cast("list[str]", spec.get("externalIPs") or []))
    if kind == "ExternalName":
        return spec.get("externalName", "")
    if kind == "LoadBalancer":
        entries = _items(_part(obj, "status", "loadBalancer"), "ingress")
        given = [each.get("ip") or each.get("hostname", "") for each in entries] + given
        return ",".join(given) or "<pending>"
    return ",".join(given) or NONE


def _ports(spec: Json) -> str:
    made: list[str] = []
    for port in _items(spec, "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        made.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(made)


def node(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Roles, Age, Version, Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime."""
    spec, status, info = _part(obj, "spec"), _part(obj, "status"), _part(obj, "status", "nodeInfo")
    conditions = {each.get("type"): each.get("status") for each in _items(status, "conditions")}
    ready = {"True": "Ready", None: "Unknown"}.get(conditions.get("Ready"), "NotReady")
    labels = cast("dict[str, str]", obj["metadata"].get("labels") or {})
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if role := labels.get("kubernetes.io/role"):
        roles.add(role)
    addresses = {each.get("type"): each.get("address") for each in reversed(_items(status, "addresses"))}
    facts = (info.get(name) or UNKNOWN for name in ("osImage", "kernelVersion", "containerRuntimeVersion"))
    return [
        _name(obj), ready + (",SchedulingDisabled" if spec.get("unschedulable") else ""),
        ",".join(sorted(filter(None, roles))) or NONE, _age(obj, now), info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or NONE, addresses.get("ExternalIP") or NONE, *facts,
    ]  # fmt: skip
