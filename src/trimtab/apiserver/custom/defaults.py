"""Checking the defaults in a schema: each has to be an object that the server would take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import msgspec

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.custom.embedded import compile_embedded
from trimtab.apiserver.custom.equality import UNCORRELATED, same
from trimtab.apiserver.custom.pruning import compile_pruning
from trimtab.apiserver.custom.rules import compile_validator
from trimtab.apiserver.custom.validating import compile_validation

Json: TypeAlias = dict[str, Any]


def check_defaults(schema: Json, path: str) -> list[Cause]:
    """What is wrong with the defaults of a schema and of all in it."""
    faults: list[Cause] = []
    default = schema.get("default")
    if default is not None:
        faults += _default(schema, default, f"{path}.default")
    if isinstance(schema.get("items"), dict):
        faults += check_defaults(schema["items"], f"{path}.items")
    for name, field in cast("dict[str, Json]", schema.get("properties") or {}).items():
        faults += check_defaults(field, f"{path}.properties[{name}]")
    return faults


def _default(schema: Json, default: Any, path: str) -> list[Cause]:
    faults: list[Cause] = []
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    pruned = msgspec.json.decode(msgspec.json.encode(default))
    compile_pruning(schema, root=embedded)(pruned)
    if not same(pruned, default):
        faults.append(causes.invalid(path, default, "must not have unknown fields"))
    looks: list[Callable[[], list[Cause]]] = [
        lambda: _embedded(schema, default),
        lambda: compile_validation(schema)(default, UNCORRELATED),
        lambda: _rules(schema, default, embedded=embedded),
    ]
    for look in looks:
        found = look()
        if found:
            return faults + [_below(cause, path) for cause in found]
    return faults


def _embedded(schema: Json, default: Any) -> list[Cause]:
    check = compile_embedded(schema)
    found: list[Cause] = []
    if check is not None:
        check(default, "", found)
    return found


def _rules(schema: Json, default: Any, *, embedded: bool) -> list[Cause]:
    validator = compile_validator(schema, root=embedded)
    if validator is None:
        return []
    return validator(default, default) or validator(default, None)


def _below(cause: Cause, path: str) -> Cause:
    """The same fault, of a value that is a default."""
    if cause.field in ("", "<nil>"):
        return Cause(cause.reason, cause.message, path)
    return Cause(cause.reason, cause.message, f"{path}.{cause.field}")
