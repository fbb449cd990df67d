"""What a JSON value is, said so that the type checker believes it."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = "dict[str, Any]"


def is_map(value: Any) -> TypeGuard[Json]:
    """An object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """A list."""
    return isinstance(value, list)
