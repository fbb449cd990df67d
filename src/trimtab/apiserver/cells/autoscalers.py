"""What stands in the table of HorizontalPodAutoscalers, in whichever version they are."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cells.words import NONE, UNKNOWN, age_of, items, name_of, part, set_or

Json: TypeAlias = dict[str, Any]

_MOST: Final = 2
_SOURCES: Final = {
    "External": "external", "Pods": "pods", "Object": "object", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip


def autoscaler(obj: Json, now: datetime) -> list[Any]:
    """Name, Reference, Targets, MinPods, MaxPods, Replicas, Age."""
    spec, status = part(obj, "spec"), part(obj, "status")
    target = part(spec, "scaleTargetRef")
    return [
        name_of(obj), f"{target.get('kind', '')}/{target.get('name', '')}", _metrics(spec, status),
        str(set_or(spec.get("minReplicas"))), spec.get("maxReplicas", 0), status.get("currentReplicas", 0),
        age_of(obj, now),
    ]  # fmt: skip


def _metrics(spec: Json, status: Json) -> str:
    wanted, found = items(spec, "metrics"), items(status, "currentMetrics")
    if "targetCPUUtilizationPercentage" in spec:  # the first version knows no other
        current = _percent(status.get("currentCPUUtilizationPercentage"), UNKNOWN)
        return f"cpu: {current}/{_percent(spec['targetCPUUtilizationPercentage'], '<auto>')}"
    if not wanted:
        return NONE
    shown = [_metric(each, found[place] if place < len(found) else {}) for place, each in enumerate(wanted)]
    text = ", ".join(shown[:_MOST])
    return f"{text} + {len(shown) - _MOST} more..." if len(shown) > _MOST else text


def _metric(wanted: Json, found: Json) -> str:
    kind = wanted.get("type", "")
    source = _SOURCES.get(kind)
    if source is None:
        return "<unknown type>"
    target, current = part(wanted, source, "target"), part(found, source, "current")
    resource = kind in ("Resource", "ContainerResource")
    name = f"{part(wanted, source).get('name', '')}: " if resource else ""
    if kind == "Pods" or "averageValue" in target:
        least = "0" if source in found and kind not in ("External", "Object") else UNKNOWN
        average = "" if resource or kind == "Pods" else " (avg)"
        return f"{name}{current.get('averageValue', least)}/{target.get('averageValue', '0')}{average}"
    if resource:
        bound = _percent(target.get("averageUtilization"), "<auto>")
        return f"{name}{_percent(current.get('averageUtilization'), UNKNOWN)}/{bound}"
    return f"{current.get('value', '0') if source in found else UNKNOWN}/{target.get('value', '0')}"


def _percent(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value}%"
