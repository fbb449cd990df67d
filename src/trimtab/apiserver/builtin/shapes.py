"""Objects as kube-apiserver shows its own in what it says: under the names of Go's fields, in their order."""

from __future__ import annotations

from typing import Any, cast

from trimtab.apiserver import causes


def shown(value: Any, fields: Any) -> Any:
    """A value with all `fields`, set or not: by their names in JSON, Go's name, Go's zero, and the fields within."""
    if fields is None or value is None:
        return value
    if isinstance(value, list):
        return [shown(each, fields) for each in cast("list[Any]", value)]
    made = causes.Struct()
    for name, (go_name, zero, inner) in fields.items():
        made[go_name] = shown(value.get(name, zero), inner)
    return made
