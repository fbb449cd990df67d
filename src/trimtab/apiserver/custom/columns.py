"""Printer columns: what their JSONPaths find in an object, and how that is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver.cel.numbers import shortest

Json: TypeAlias = dict[str, Any]
Step: TypeAlias = Callable[[list[Any]], list[Any]]

_PART: Final = re.compile(
    r"\.\.(?P<deep>[^.\[\]]*)|\.(?P<field>(?:\\.|[^.\[\]\\])+)|\[\s*(?:'(?P<single>(?:\\.|[^'\\])*)'|\"(?P<double>[^\"]*)\"|"
    r"(?P<star>\*)|\?\(@(?P<test>(?:\.[^.\[\]=!<>\s)]+)*)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<literal>[^)]*?))?\s*\)|"
    r"(?P<slice>-?\d*(?::-?\d*){0,2}))\s*\]"
)
_MOST_FOUND: Final = 10_000


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column: its description in a table, and how its cell is found."""

    name: str
    type: str
    format: str
    description: str
    priority: int
    path: str
    _steps: tuple[Step, ...] | None

    def definition(self) -> Json:
        """As it stands in a Table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }

    def value(self, obj: Json) -> Any:
        """What stands in the cell; a date is left as it is written, for the table to say how long ago that was."""
        found = self._find(obj)
        if not found:
            return None
        value = found[0]
        if self.type == "string":
            return _printed(value)
        if isinstance(value, bool):
            return value if self.type == "boolean" else None
        if self.type in ("integer", "number") and isinstance(value, (int, float)):
            return int(value) if self.type == "integer" else value
        return value if self.type == "date" and isinstance(value, str) else None

    def _find(self, obj: Json) -> list[Any]:
        values: list[Any] = [obj]
        if self._steps is None:
            return []
        for step in self._steps:
            values = step(values)[:_MOST_FOUND]
        return values


def printer_columns(version: Json) -> tuple[PrinterColumn, ...]:
    """The columns of a version, besides the name; without any of its own, the age."""
    given: list[Json] = version.get("additionalPrinterColumns") or []
    if not given:
        given = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": _AGE}]
    return tuple(
        PrinterColumn(
            column["name"],
            column["type"],
            column.get("format", ""),
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column.get('jsonPath', '')}",
            column.get("priority", 0),
            column.get("jsonPath", ""),
            parse_json_path(column.get("jsonPath", "")),
        )
        for column in given
    )


_AGE: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def parse_json_path(path: str) -> tuple[Step, ...] | None:
    """The steps of a path such as `.status.conditions[?(@.type=="Ready")].status`; None where it is none."""
    steps: list[Step] = []
    at = 0
    text = path.strip()
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        steps.append(_step(part))
        at = part.end()
    return tuple(steps)


def _step(part: re.Match[str]) -> Step:
    if part["deep"] is not None:
        return _descendants(part["deep"])
    name = part["field"] or part["single"] or part["double"]
    if name == "*" or part["star"]:
        return _everything
    if name is not None:
        return _field(re.sub(r"\\(.)", r"\1", name))
    if part["slice"]:
        return _slice(part["slice"])
    return _filter(part["test"] or "", part["op"], part["literal"])


def _field(name: str) -> Step:
    def run(values: list[Any]) -> list[Any]:
        return [cast("Json", v)[name] for v in values if isinstance(v, dict) and name in cast("Json", v)]

    return run


def _everything(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            found.extend(cast("Json", value).values())
        elif isinstance(value, list):
            found.extend(cast("list[Any]", value))
    return found


def _descendants(name: str) -> Step:
    def run(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        stack = list(reversed(values))
        while stack and len(found) < _MOST_FOUND:
            value = stack.pop()
            if isinstance(value, dict):
                obj = cast("Json", value)
                if name in obj:
                    found.append(obj[name])
                stack.extend(reversed(list(obj.values())))
            elif isinstance(value, list):
                stack.extend(reversed(cast("list[Any]", value)))
        return found

    return run


def _slice(text: str) -> Step:
    bounds = [int(bound) if bound else None for bound in text.split(":")]

    def run(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if not isinstance(value, list):
                continue
            items = cast("list[Any]", value)
            if len(bounds) > 1:
                found.extend(items[slice(*bounds)] if bounds[-1] != 0 or len(bounds) < 3 else [])
            elif bounds[0] is not None and -len(items) <= bounds[0] < len(items):
                found.append(items[bounds[0]])
        return found

    return run


def _filter(path: str, operator: str | None, literal: str | None) -> Step:
    inner = parse_json_path(path) or ()
    wanted = _literal(literal or "")

    def matches(item: Any) -> bool:
        found: list[Any] = [item]
        for step in inner:
            found = step(found)
        if operator is None:
            return bool(found)
        return bool(found) and _compared(found[0], operator, wanted)

    def run(values: list[Any]) -> list[Any]:
        return [
            item for value in values if isinstance(value, list) for item in cast("list[Any]", value) if matches(item)
        ]

    return run


def _literal(text: str) -> Any:
    text = text.strip()
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return text


def _compared(value: Any, operator: str, wanted: Any) -> bool:
    if type(value) is not type(wanted) and not (_is_number(value) and _is_number(wanted)):
        return operator == "!="
    if operator in ("==", "!="):
        return (value == wanted) == (operator == "==")
    if not isinstance(value, (int, float, str)):
        return False
    return {"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}[operator]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _printed(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return shortest(value)
    if value is None:
        return "<nil>"
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else str(value)
