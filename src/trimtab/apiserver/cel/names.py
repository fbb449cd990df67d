"""How the names of properties become identifiers in expressions, and back: `dash-ed` is `dash__dash__ed`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
"""Words that CEL keeps for itself, beside those that it uses."""

_KEYWORDS: Final = RESERVED | {"true", "false", "null", "in"}
_NAMES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_CHARACTERS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_SPECIAL: Final = re.compile(r"__|[-./]")
_ALLOWED: Final = re.compile(r"[-a-zA-Z0-9./_]+")
_ESCAPED: Final = re.compile(r"__([^_]+)__")


@lru_cache(maxsize=4096)
def escape(name: str) -> str | None:
    """The identifier for a property; None where there is none."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not _ALLOWED.fullmatch(name) or name[0].isdigit():
        return None
    return _SPECIAL.sub(lambda found: _NAMES[found.group()], name)


@lru_cache(maxsize=4096)
def unescape(identifier: str) -> str | None:
    """The property of an identifier; None where its escapes are none."""
    valid = True

    def replace(found: re.Match[str]) -> str:
        nonlocal valid
        word = found.group(1)
        if word in _CHARACTERS:
            return _CHARACTERS[word]
        if word not in _KEYWORDS or found.group() != identifier:
            valid = False
        return word

    name = _ESCAPED.sub(replace, identifier)
    return name if valid else None
