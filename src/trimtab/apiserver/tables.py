"""Tables, as `kubectl get` prints them: which columns a kind has, and what stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.cells import CELLS
from trimtab.apiserver.cells.pods import pod_conditions
from trimtab.apiserver.cells.words import age, name_of, part
from trimtab.apiserver.custom.columns import PrinterColumn
from trimtab.apiserver.facts.reader import Column
from trimtab.apiserver.objects import decode
from trimtab.kube.invalid import InvalidValueError

Json: TypeAlias = dict[str, Any]

_PLAIN: Final = (Column("Name", "string", "name", 0), Column("Created At", "date", "", 0))
_SCALE: Final = (
    Column("Name", "string", "", 0),
    Column("Desired", "integer", "", 0),
    Column("Available", "integer", "", 0),
    Column("Age", "string", "", 0),
)


def columns_of(kind: Kind) -> list[Json]:
    """The columns of a kind, as the table defines them."""
    if kind.custom is not None:
        return [_definition(_PLAIN[0]), *(column.definition() for column in kind.custom.columns)]
    if kind.kind == "Scale":  # has no list, by which the others were found
        return [_definition(each) for each in _SCALE]
    columns = kind.facts.columns if kind.facts is not None and kind.facts.columns else _PLAIN
    return [_definition(each) for each in columns]


def _definition(column: Column) -> Json:
    made = {"name": column.name, "type": column.type, "format": column.format}
    return {**made, "description": "", "priority": column.priority}


def row_of(kind: Kind, obj: Json, now: datetime) -> Json:
    """The row of an object, without the object itself."""
    made: Json = {"cells": _cells_of(kind, obj, now)}
    if kind.bucket == "pods" and (told := pod_conditions(obj)):
        made["conditions"] = told
    return made


def in_order(kind: Kind, data: Sequence[bytes]) -> list[tuple[Json, bytes]]:
    """The objects of a table, each with the bytes that it was read from, in the order of its rows."""
    found = [(decode(each), each) for each in data]
    if kind.plural == "flowschemas":
        found.sort(key=lambda pair: (part(pair[0], "spec").get("matchingPrecedence", 0), name_of(pair[0])))
    return found


def _cells_of(kind: Kind, obj: Json, now: datetime) -> list[Any]:
    if kind.custom is not None:
        return [name_of(obj), *(_shown(column, obj, now) for column in kind.custom.columns)]
    known = CELLS.get(kind.bucket)
    if known is not None:
        return known(obj, now)
    return [name_of(obj), obj["metadata"].get("creationTimestamp")]


def _shown(column: PrinterColumn, obj: Json, now: datetime) -> Any:
    value = column.value(obj)
    if column.type == "date" and isinstance(value, str):
        try:
            return age(value, now)
        except InvalidValueError:
            return "<invalid>"
    return value
