"""What cells of tables have in common: ages, selectors, and how to look into an object of which much may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, cast

from trimtab.kube.selectors import Requirement
from trimtab.kube.timestamps import parse_time

Json: TypeAlias = dict[str, Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"


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


def part(obj: Json, *way: str) -> Json:
    """What is under these names, {} where there is nothing."""
    value: Any = obj
    for name in way:
        value = cast("Json", value).get(name) or {}
    return cast("Json", value)


def items(obj: Json, name: str) -> list[Json]:
    """The list of this name, [] where there is none."""
    return cast("list[Json]", obj.get(name) or [])


def texts(obj: Json, name: str) -> list[str]:
    """The list of texts of this name, [] where there is none."""
    return cast("list[str]", obj.get(name) or [])


def name_of(obj: Json) -> str:
    """Its name."""
    return cast("str", obj["metadata"].get("name", ""))


def age_of(obj: Json, now: datetime) -> str:
    """How old it is."""
    return age(obj["metadata"].get("creationTimestamp"), now)


def is_going(obj: Json) -> bool:
    """Whether it is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_true(obj: Json, kind: str) -> bool:
    """Whether it has this condition."""
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions(obj))


def conditions(obj: Json) -> list[Json]:
    """Its conditions."""
    return items(part(obj, "status"), "conditions")


def set_or(value: Any, otherwise: str = UNSET) -> Any:
    """A value, or what stands for none."""
    return otherwise if value is None else value


def some(shown: list[str], count: int, most: int) -> str:
    """The first few of many, and how many more there are."""
    text = ",".join(shown[:most])
    return f"{text} + {count - most} more..." if count > most else text


def selector(given: Mapping[str, Any]) -> str:
    """A label selector, as text; "" selects everything."""
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    found = [Requirement(key, "=", (value,)) for key, value in cast("Json", given.get("matchLabels") or {}).items()]
    for each in cast("list[Json]", given.get("matchExpressions") or []):
        values = tuple(sorted(set(each.get("values") or [])))
        found.append(
            Requirement(each.get("key", ""), cast("Any", operators.get(each.get("operator", ""), "!")), values)
        )
    return ",".join(map(str, sorted(found, key=lambda each: each.key)))


def selector_text(given: Mapping[str, Any]) -> str:
    """A label selector, as text."""
    return selector(given) or NONE


def labels(given: Mapping[str, str]) -> str:
    """Labels, as text."""
    return ",".join(f"{key}={value}" for key, value in sorted(given.items())) or NONE


def containers(template: Json) -> list[Any]:
    """The names and the images of a Pod template's containers."""
    made = items(part(template, "spec"), "containers")
    return [",".join(c.get("name", "") for c in made), ",".join(c.get("image", "") for c in made)]


def addresses(obj: Json) -> str:
    """The addresses of a load balancer."""
    entries = items(part(obj, "status", "loadBalancer"), "ingress")
    found = {str(each.get("ip") or each.get("hostname") or "") for each in entries}
    return ",".join(sorted(found - {""}))


def joined(values: Iterable[str], separator: str = ",") -> str:
    """Texts, one after the other; <none> where there are none."""
    return separator.join(values) or NONE
