"""Tables, as `kubectl get` prints them: which columns a kind has, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import cells
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.custom.columns import PrinterColumn
from trimtab.apiserver.facts.reader import Column
from trimtab.kube.invalid import InvalidValueError

Json: TypeAlias = dict[str, Any]
Cells: TypeAlias = Callable[[Json, datetime], list[Any]]

_PLAIN: Final = (Column("Name", "string", "name", 0), Column("Created At", "date", "", 0))


def columns_of(kind: Kind) -> list[Json]:
    """The columns of a kind, as the table defines them."""
    if kind.custom is not None:
        return [_definition(_PLAIN[0]), *(column.definition() for column in kind.custom.columns)]
    columns = kind.facts.columns if kind.facts is not None and kind.facts.columns else _PLAIN
    return [_definition(each) for each in columns]


def _definition(column: Column) -> Json:
    made = {"name": column.name, "type": column.type, "format": column.format}
    return {**made, "description": "", "priority": column.priority}


def cells_of(kind: Kind, obj: Json, now: datetime) -> list[Any]:
    """What stands in the columns for an object."""
    if kind.custom is not None:
        return [obj["metadata"].get("name", ""), *(_shown(column, obj, now) for column in kind.custom.columns)]
    known = _CELLS.get(kind.bucket)
    if known is not None:
        return known(obj, now)
    if kind.facts is None or not kind.facts.columns:
        return [obj["metadata"].get("name", ""), obj["metadata"].get("creationTimestamp")]
    return [_guess(column, obj, now) for column in kind.facts.columns]


def _shown(column: PrinterColumn, obj: Json, now: datetime) -> Any:
    value = column.value(obj)
    if column.type == "date" and isinstance(value, str):
        try:
            return cells.age(value, now)
        except InvalidValueError:
            return "<invalid>"
    return value


def _guess(column: Column, obj: Json, now: datetime) -> Any:
    """What stands in a column of a kind that nobody has described: its name says it for the common ones."""
    metadata = cast("Json", obj["metadata"])
    match column.name:
        case "Name":
            return metadata.get("name", "")
        case "Age":
            return cells.age(metadata.get("creationTimestamp"), now)
        case "Created At":
            return metadata.get("creationTimestamp")
        case _:
            return _named(obj, column.name)


def _named(obj: Json, title: str) -> Any:
    name = title.replace(" ", "").replace("-", "").lower()
    for part in ("spec", "status", None):
        there: Any = obj if part is None else obj.get(part)
        if isinstance(there, dict):
            for key, value in cast("Json", there).items():
                if key.lower() == name and isinstance(value, str | int | bool):
                    return value
    return "<none>"


_CELLS: Final[Mapping[str, Cells]] = {
    "configmaps": cells.config_map,
    "secrets": cells.secret,
    "namespaces": cells.namespace,
    "pods": cells.pod,
    "services": cells.service,
    "nodes": cells.node,
    "deployments.apps": cells.deployment,
    "replicasets.apps": cells.replica_set,
    "statefulsets.apps": cells.stateful_set,
    "daemonsets.apps": cells.daemon_set,
    "jobs.batch": cells.job,
    "serviceaccounts": cells.service_account,
    "leases.coordination.k8s.io": cells.lease,
    "events": cells.event,
}
