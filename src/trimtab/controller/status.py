"""What a reconciler says of an object's status, in the names of its class, as the server's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

import msgspec

from trimtab.controller.declaration import DeclarationError
from trimtab.kube.base import Struct
from trimtab.kube.conditions import ConditionStatus, set_condition
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.meta.v1 import Condition
from trimtab.kube.objects import Object
from trimtab.kube.shapes import fields
from trimtab.kube.wire import from_wire, to_wire


def status_wire(kind: type[Object | Dynamic], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under their JSON names; for Dynamic objects, under the names that were given."""
    if issubclass(kind, Dynamic):
        return {name: _wire(value) for name, value in given.items()}
    of = _status_class(kind)
    names = {f.name: f.encode_name for f in msgspec.structs.fields(of)}
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(names)}"
            raise DeclarationError(f"the status of a {kind.resource.kind} has no field {name!r}{hint}")
    return {names[name]: _wire(value) for name, value in given.items()}


def put_condition(
    obj: Object | Dynamic, type_: str, status: ConditionStatus, *, reason: str, message: str, generation: int
) -> None:
    """Set a condition in an object's status."""
    if isinstance(obj, Dynamic):
        raw: dict[str, Any] = obj.raw.setdefault("status", {})
        conditions = [from_wire(Condition, each) for each in raw.get("conditions") or ()]
        set_condition(conditions, type_, status, reason=reason, message=message, observed_generation=generation or None)
        raw["conditions"] = [to_wire(each) for each in conditions]
        return
    of = _condition_class(type(obj))
    knows = "observed_generation" in of.__struct_fields__
    set_condition(
        cast("Any", obj).status.conditions,
        type_,
        status,
        reason=reason,
        message=message,
        observed_generation=(generation or None) if knows else None,
        of=cast("type[Any]", of),
    )


def _status_class(kind: type[Object]) -> type[msgspec.Struct]:
    found = next((f.shape.struct for f in fields(kind) if f.name == "status"), None)
    if found is None:
        raise DeclarationError(f"a {kind.resource.kind} has no status")
    return found


def _condition_class(kind: type[Object]) -> type[msgspec.Struct]:
    listed = next((f.shape.items for f in fields(_status_class(kind)) if f.name == "conditions"), None)
    if listed is None or listed.struct is None:
        raise DeclarationError(f"the status of a {kind.resource.kind} has no conditions")
    return listed.struct


def _wire(value: Any) -> Any:
    if isinstance(value, Struct | Dynamic):
        return to_wire(value)
    if isinstance(value, Mapping):
        return {name: _wire(each) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_wire(each) for each in cast("Sequence[Any]", value)]
    return msgspec.to_builtins(value)
