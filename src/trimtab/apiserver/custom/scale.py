"""The scale subresource: where in an object its replicas and its selector are, and the Scale made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_MOST: Final = 2**31 - 1
_GO_TYPES: Final = {
    bool: "bool", int: "int64", float: "float64", str: "string", dict: "map[string]interface {}",
    list: "[]interface {}",
}  # fmt: skip


class _AccessorError(Exception):
    """What is on the way to a field, or in it, is of another type."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The paths of a scale, with their leading dots."""

    spec_replicas: str
    status_replicas: str
    selector: str

    @classmethod
    def of(cls, given: Json) -> Scale | None:
        """Read a version's `subresources.scale`."""
        if not given:
            return None
        selector = given.get("labelSelectorPath") or ""
        return cls(given["specReplicasPath"], given["statusReplicasPath"], selector)

    def read(self, obj: Json) -> Json:
        """The Scale of an object."""
        metadata = {
            name: obj["metadata"][name]
            for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if name in obj["metadata"]
        }
        status: Json = {"replicas": _value(obj, self.status_replicas, int) or 0}
        selector = _value(obj, self.selector, str) if self.selector else None
        if selector:
            status["selector"] = selector
        spec = {"replicas": _value(obj, self.spec_replicas, int) or 0}
        return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}

    def write(self, obj: Json, replicas: int) -> None:
        """Set the replicas that are wanted, in place."""
        *way, last = self.spec_replicas.removeprefix(".").split(".")
        for name in way:
            obj = obj.setdefault(name, {})
        obj[last] = replicas

    def check(self, obj: Json, *, status_only: bool) -> list[Cause]:
        """What is wrong with the fields that a scale is made of."""
        faults = [] if status_only else _replicas(obj, self.spec_replicas)
        faults += _replicas(obj, self.status_replicas)
        if self.selector:
            try:
                _value(obj, self.selector, str)
            except _AccessorError as error:
                faults.append(causes.invalid(self.selector, "", str(error)))
        return faults


def _replicas(obj: Json, path: str) -> list[Cause]:
    try:
        value = _value(obj, path, int) or 0
    except _AccessorError as error:
        return [causes.invalid(path, 0, str(error))]
    if value < 0:
        return [causes.invalid(path, value, "should be a non-negative integer")]
    return [causes.invalid(path, value, f"should be less than or equal to {_MOST}")] if value > _MOST else []


def _value(obj: Json, path: str, wanted: type) -> Any:
    value: Any = obj
    names = path.removeprefix(".").split(".")
    for index, name in enumerate(names):
        if not isinstance(value, dict):
            raise _AccessorError(_accessor(names[:index], value, "map[string]interface{}", whole=names))
        if name not in value:
            return None
        value = cast("Json", value)[name]
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise _AccessorError(_accessor(names, value, "int64" if wanted is int else "string", whole=names))
    return value


def _accessor(names: list[str], value: Any, wanted: str, *, whole: list[str]) -> str:
    shown = "<nil>" if value is None else str(value)
    kind = _GO_TYPES.get(cast("type", type(value)), "<nil>")
    at = "." + ".".join(whole if wanted != "map[string]interface{}" else names)
    return f"{at} accessor error: {shown} is of the type {kind}, expected {wanted}"
