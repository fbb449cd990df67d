"""Simple paths to fields, `.spec.replicas` and `.labels['a']`, and whether a schema has what they name."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias, cast

Json: TypeAlias = dict[str, Any]

_TOKEN: Final = re.compile(r"\.|\[|\]|'(?:[^']|(?<=\\)')*'|[^.\[\]']+|.", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_CHARACTERS: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\",
}  # fmt: skip
_END: Final = "unexpected end of JSON path"


class PathError(ValueError):
    """A path is none, or names what the schema does not have."""


def normalized(path: str, schema: Json) -> str | None:
    """The path as it stands in causes; None where it is not valid."""
    try:
        return resolve(path, schema)[0]
    except PathError:
        return None


def resolve(path: str, schema: Json, *, brackets: bool = True) -> tuple[str, Json]:
    """Follow a path through a schema: how it is written in causes, and the schema that it leads to."""
    tokens = _TOKEN.findall(path)
    written, at = "", 0

    def word() -> str:
        nonlocal at
        if at >= len(tokens):
            raise PathError(_END)
        at += 1
        return tokens[at - 1]

    while at < len(tokens):
        given = word()
        if given == ".":
            name = word()
        elif given == "[":
            if not brackets:
                raise PathError("array notation is not allowed")
            name = _unquoted(word())
            closing = word()
            if closing != "]":
                raise PathError(f"expected ] but got {closing}")
        else:
            raise PathError(f"expected [ or . but got: {given}")
        if schema.get("properties") is not None:
            if name not in schema["properties"]:
                raise PathError("does not refer to a valid field")
            written = f"{written}.{name}" if written else name
            schema = schema["properties"][name]
        elif isinstance(schema.get("additionalProperties"), dict):
            written = f"{written}[{name}]"
            schema = cast("Json", schema["additionalProperties"])
        else:
            raise PathError("does not refer to a valid field")
    return written, schema


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")
    for escape in _ESCAPED.finditer(token[1:-1]):
        if escape.group(1) not in _CHARACTERS:
            raise PathError(f"invalid string literal: invalid escape char {escape.group()}")
    return _ESCAPED.sub(lambda found: _CHARACTERS[found.group(1)], token[1:-1])
