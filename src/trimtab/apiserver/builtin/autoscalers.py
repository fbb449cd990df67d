"""HorizontalPodAutoscalers: autoscaling/v1 knows one metric, and shows the rest of autoscaling/v2 in annotations.

In these the metrics have the form of v1, which is flatter: what is a metric and a target in v2 are fields side by side.
The behavior there is as Go writes it where nobody said how: with capital letters, and null for what is not set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec

Json: TypeAlias = dict[str, Any]

_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
_DEFAULT_PERCENTAGE: Final = 80

# For each kind of metric v1's fields in their order, and where v2 has what they say.
_NAME: Final = ("metric", "name")
_SELECTOR: Final = ("metric", "selector")
_RESOURCE: Final = (
    ("name", ("name",)),
    ("targetAverageUtilization", ("target", "averageUtilization")),
    ("targetAverageValue", ("target", "averageValue")),
)
_FIELDS: Final[Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "resource": _RESOURCE,
    "containerResource": (*_RESOURCE, ("container", ("container",))),
    "pods": (("metricName", _NAME), ("targetAverageValue", ("target", "averageValue")), ("selector", _SELECTOR)),
    "object": (
        ("target", ("describedObject",)),
        ("metricName", _NAME),
        ("targetValue", ("target", "value")),
        ("selector", _SELECTOR),
        ("averageValue", ("target", "averageValue")),
    ),
    "external": (
        ("metricName", _NAME),
        ("metricSelector", _SELECTOR),
        ("targetValue", ("target", "value")),
        ("targetAverageValue", ("target", "averageValue")),
    ),
}
# What v1 writes as "0" where it is not set.
_ALWAYS: Final = {
    "target": {("object", "targetValue"), ("pods", "targetAverageValue")},
    "current": {
        ("object", "currentValue"),
        ("pods", "currentAverageValue"),
        ("external", "currentValue"),
        ("resource", "currentAverageValue"),
        ("containerResource", "currentAverageValue"),
    },
}
_TYPES: Final = (("averageUtilization", "Utilization"), ("averageValue", "AverageValue"), ("value", "Value"))
_BOTH: Final = ("ScaleUp", "ScaleDown")
_RULES: Final = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY: Final = ("Type", "Value", "PeriodSeconds")
_CONDITION: Final = ("type", "status", "lastTransitionTime", "reason", "message")


def complete_in_v1(obj: Json) -> Json:
    """Fill in what an object of v1 leaves out: a percentage, if no other metric stands in its annotations."""
    spec = {"minReplicas": 1, **cast("Json", obj.get("spec") or {})}
    annotations = cast("Json", cast("Json", obj.get("metadata") or {}).get("annotations") or {})
    if spec.get("targetCPUUtilizationPercentage") is None and not _noted(annotations, _METRICS, list[Json]):
        spec["targetCPUUtilizationPercentage"] = _DEFAULT_PERCENTAGE
    return {**obj, "spec": spec}


def in_v1(stored: Json) -> Json:
    """An object of v2 as v1 shows it."""
    spec, status = {**cast("Json", stored.get("spec") or {})}, {**cast("Json", stored.get("status") or {})}
    metrics: list[Json] = spec.pop("metrics", None) or []
    current: list[Json] = status.pop("currentMetrics", None) or []
    annotations: dict[str, str] = {}
    _note(annotations, _METRICS, [_flat(each, "target") for each in metrics if _of_cpu(each, "target") is None])
    _note(annotations, _CURRENT, [_flat(each, "current") for each in current])
    conditions: list[Json] = status.pop("conditions", None) or []
    _note(annotations, _CONDITIONS, [{key: each[key] for key in _CONDITION if key in each} for each in conditions])
    _note(annotations, _BEHAVIOR, _as_go(spec.pop("behavior", None), _BOTH))
    for below, key, measured, word in (
        (spec, "targetCPUUtilizationPercentage", metrics, "target"),
        (status, "currentCPUUtilizationPercentage", current, "current"),
    ):
        found = next((value for each in measured if (value := _of_cpu(each, word)) is not None), None)
        if found is not None:
            below[key] = found
    made = {**stored, "spec": spec, "metadata": _annotated(stored["metadata"], annotations)}
    return {**made, "status": {"currentReplicas": 0, **status}} if "status" in stored else made


def in_v2(given: Json) -> Json:
    """An object of v1 as it is stored, which is as v2 shows it."""
    spec, status = {**cast("Json", given.get("spec") or {})}, {**cast("Json", given.get("status") or {})}
    annotations: Json = given["metadata"].get("annotations") or {}
    metrics = [_deep(each, "target") for each in _noted(annotations, _METRICS, list[Json])]
    current = [_deep(each, "current") for each in _noted(annotations, _CURRENT, list[Json])]
    wanted = spec.pop("targetCPUUtilizationPercentage", None)
    measured = status.pop("currentCPUUtilizationPercentage", None)
    if wanted is None and not metrics:
        wanted = _DEFAULT_PERCENTAGE
    if wanted is not None:
        target = {"type": "Utilization", "averageUtilization": wanted}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if measured is not None and not current:
        used = {"averageUtilization": measured}
        current.append({"type": "Resource", "resource": {"name": "cpu", "current": used}})
    behavior, conditions = _of_go(_noted(annotations, _BEHAVIOR, Json)), _noted(annotations, _CONDITIONS, list[Json])
    spec |= {"metrics": metrics} | ({"behavior": behavior} if behavior else {})
    made = {**given, "spec": spec, "metadata": _annotated(given["metadata"], {})}
    if "status" not in given and not current and not conditions:
        return made
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    status |= {"currentMetrics": current or None} | ({"conditions": conditions} if conditions else {})
    return {**made, "status": status}


def _of_cpu(metric: Json, word: str) -> int | None:
    """The percentage of CPU that a metric is about: v1 has a field for that."""
    resource: Json = metric.get("resource") or {}
    if resource.get("name") != "cpu":
        return None
    return cast("Json", resource.get(word) or {}).get("averageUtilization")


def _flat(metric: Json, word: str) -> Json:
    """A metric of v2 in v1's form."""
    made: Json = {"type": metric.get("type")}
    for name, source, fields in _sources(metric, word):
        flat: Json = {}
        for field, way in fields:
            value: Any = source
            for step in way:
                value = cast("Json", value).get(step) if isinstance(value, dict) else None
            if value is None and (name, field) in _ALWAYS[word]:
                value = "0"
            if value is not None:
                flat[field] = value
        made[name] = flat
    return made


def _deep(metric: Json, word: str) -> Json:
    """A metric in v1's form as v2 has it."""
    made: Json = {"type": metric.get("type")}
    for name, source, fields in _sources(metric, word):
        deep: Json = {word: {}}
        for field, way in fields:
            value = source.get(field)
            if value is None or (value == "0" and (name, field) in _ALWAYS[word] and name != "pods"):
                continue
            below = deep
            for step in way[:-1]:
                below = below.setdefault(step, {})
            below[way[-1]] = value
        if word == "target":
            deep[word] = {"type": next((kind for key, kind in _TYPES if key in deep[word]), ""), **deep[word]}
        made[name] = deep
    return made


def _sources(metric: Json, word: str) -> Iterator[tuple[str, Json, list[tuple[str, tuple[str, ...]]]]]:
    """What a metric is of, and the fields of v1 for that; in a status they speak of what is current."""
    for name, fields in _FIELDS.items():
        if isinstance(metric.get(name), dict):
            yield (
                name,
                metric[name],
                [(_of(field, word, way), tuple(_of(s, word, way) for s in way)) for field, way in fields],
            )


def _of(name: str, word: str, way: tuple[str, ...]) -> str:
    return name if way == ("describedObject",) else name.replace("target", word)


def _as_go(value: Any, names: tuple[str, ...]) -> Any:
    """A value of a behavior with Go's own names; of an object all of these, set or not."""
    if isinstance(value, list):
        return [_as_go(each, _POLICY) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    of_below = _RULES if names == _BOTH else ()
    given = {name[0].upper() + name[1:]: _as_go(each, of_below) for name, each in cast("Json", value).items()}
    return dict.fromkeys(names) | given


def _of_go(value: Any) -> Any:
    """The reverse of it."""
    if isinstance(value, list):
        return [_of_go(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    given = cast("Json", value).items()
    return {name[:1].lower() + name[1:]: _of_go(each) for name, each in given if each is not None}


def _note(annotations: dict[str, str], name: str, value: Any) -> None:
    if value:
        annotations[name] = msgspec.json.encode(value).decode()


def _noted(annotations: Mapping[str, str], name: str, shape: Callable[..., Any]) -> Any:
    """What an annotation holds; nothing, where somebody wrote what makes no sense."""
    try:
        return msgspec.json.decode(annotations.get(name) or "null", type=shape) or shape()
    except (msgspec.DecodeError, UnicodeError):
        return shape()


def _annotated(metadata: Json, made: dict[str, str]) -> Json:
    """With these annotations for what was there of them."""
    ours = (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR)
    given = cast("dict[str, str]", metadata.get("annotations") or {})
    kept = {name: value for name, value in given.items() if name not in ours} | made
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": kept} if kept else rest
