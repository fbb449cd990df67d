"""How Go names and prints JSON values: some of kube-apiserver's messages quote them so."""

from __future__ import annotations

import json
from typing import Any

from trimtab.apiserver.patching.values import is_list, is_map


def go_kind(value: Any) -> str:
    """What Go's JSON calls a value that it cannot take."""
    match value:
        case dict():
            return "object"
        case list():
            return "array"
        case str():
            return "string"
        case bool():
            return "bool"
        case _:
            return "number"


def go_type(value: Any) -> str:
    """The type that Go gives a value that it decodes into anything."""
    match value:
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case bool():
            return "bool"
        case str():
            return "string"
        case None:
            return "%!s(<nil>)"
        case _:
            return "int64" if isinstance(value, int) else "float64"


def go_text(value: Any) -> str:
    """The value as `%v` prints it."""
    if is_map(value):
        return "map[" + " ".join(f"{key}:{go_text(part)}" for key, part in sorted(value.items())) + "]"
    if is_list(value):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def go_syntax(value: Any) -> str:
    """The value as `%#v` prints it."""
    if is_map(value):
        parts = ", ".join(f"{json.dumps(key)}:{go_syntax(part)}" for key, part in sorted(value.items()))
        return f"map[string]interface {{}}{{{parts}}}"
    if is_list(value):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return go_text(value)
