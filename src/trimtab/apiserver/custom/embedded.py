"""Resources inside of resources: what is embedded names its kind, and its metadata is valid metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel.namerules import is_label_1035
from trimtab.apiserver.custom.equality import part

Json: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Any, str, list[Cause]], None]


def compile_embedded(schema: Json) -> Check | None:  # noqa: C901 - the closure in it is counted too
    """The function that looks for faults of embedded resources; None where there are none."""
    fields: dict[str, Check] = {}
    for name, field in schema.get("properties", {}).items():
        inner_check = compile_embedded(field)
        if inner_check is not None:
            fields[name] = inner_check
    additional = schema.get("additionalProperties")
    rest = compile_embedded(cast("Json", additional)) if isinstance(additional, dict) else None
    items = compile_embedded(schema["items"]) if isinstance(schema.get("items"), dict) else None
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    known = frozenset(schema.get("properties", {}))
    if not fields and rest is None and items is None and not embedded:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if isinstance(value, dict):
            obj = cast("Json", value)
            if embedded:
                faults.extend(_resource(obj, f"{path}." if path else ""))
            for key, inner in obj.items():
                if key in known:
                    field = fields.get(key)
                    if field is not None:
                        field(inner, f"{path}.{key}" if path else key, faults)
                elif rest is not None:
                    rest(inner, f"{path}[{key}]", faults)
        elif isinstance(value, list) and items is not None:
            for index, inner in enumerate(cast("list[Any]", value)):
                items(inner, f"{path}[{index}]", faults)

    return check


def _resource(obj: Json, path: str) -> list[Cause]:
    faults = [causes.required(f"{path}{name}") for name in ("apiVersion", "kind") if name not in obj]
    for name in ("apiVersion", "kind"):
        value = obj.get(name, "x")
        if not isinstance(value, str):
            continue  # it was refused before: see compile_malformed
        if not value:
            faults.append(causes.invalid(f"{path}{name}", value, "must not be empty"))
        elif name == "apiVersion" and value.count("/") > 1:
            faults.append(causes.invalid(f"{path}{name}", value, f"unexpected GroupVersion string: {value}"))
        elif name == "kind" and (problems := is_label_1035(value.lower())):
            why = "may have mixed case, but should otherwise match: " + ",".join(problems)
            faults.append(causes.invalid(f"{path}{name}", value, why))
    return faults


def compile_resources(schema: Json) -> Callable[[Any], Iterator[tuple[str, Json]]]:
    """The function that finds the resources inside of an object, with their paths; itself is not among them."""
    walk = _walking(schema)
    return (lambda _obj: iter(())) if walk is None else lambda obj: walk(obj, "")


def _walking(schema: Json) -> Callable[[Any, str], Iterator[tuple[str, Json]]] | None:
    fields = {name: inner for name, field in part(schema, "properties").items() if (inner := _walking(field))}
    additional, items = part(schema, "additionalProperties"), part(schema, "items")
    rest, each = _walking(additional) if additional else None, _walking(items) if items else None
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if not fields and rest is None and each is None and not embedded:
        return None

    def walk(value: Any, path: str) -> Iterator[tuple[str, Json]]:
        if isinstance(value, dict):
            obj = cast("Json", value)
            if embedded:
                yield path, obj
            for key, inner in list(obj.items()):
                if (found := fields.get(key, rest)) is not None:
                    yield from found(inner, f"{path}.{key}" if path else key)
        elif isinstance(value, list) and each is not None:
            for index, inner in enumerate(cast("list[Any]", value)):
                yield from each(inner, f"{path}[{index}]")

    return walk


def compile_malformed(schema: Json) -> Callable[[Any], Cause | None]:
    """The function that finds what makes a body one that cannot be read: a bad request, before all other checks."""
    look = _looking(schema)
    return (lambda _obj: None) if look is None else lambda obj: look(obj, "")


def _looking(schema: Json) -> Callable[[Any, str], Cause | None] | None:
    fields: dict[str, Callable[[Any, str], Cause | None]] = {}
    for name, field in part(schema, "properties").items():
        inner = _looking(field)
        if inner is not None:
            fields[name] = inner
    additional, items = part(schema, "additionalProperties"), part(schema, "items")
    rest = _looking(additional) if additional else None
    each = _looking(items) if items else None
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if not fields and rest is None and each is None and not embedded:
        return None

    def inside(value: Any, path: str) -> Iterator[Cause | None]:
        if isinstance(value, dict):
            obj = cast("Json", value)
            if embedded:
                yield from (_text(obj[name], f"{path}.{name}") for name in ("apiVersion", "kind") if name in obj)
            for key, value_inside in obj.items():
                check = fields.get(key, rest)
                if check is not None:
                    yield check(value_inside, f"{path}.{key}" if path else key)
        elif isinstance(value, list) and each is not None:
            yield from (each(item, f"{path}[{index}]") for index, item in enumerate(cast("list[Any]", value)))

    return lambda value, path: next((fault for fault in inside(value, path) if fault is not None), None)


def _text(value: Any, path: str) -> Cause | None:
    return None if isinstance(value, str) else causes.invalid(path, value, "must be a string")
