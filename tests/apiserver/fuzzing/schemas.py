"""Objects of every kind by chance, as their schemas say what they may be."""

from __future__ import annotations

import random
from typing import Any

from tests.apiserver.fuzzing.words import SCALARS

from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.facts import Schema
from trimtab.apiserver.server import Server

_STRINGS = [
    "a",
    "b",
    "x-y",
    "app",
    "10.0.0.1",
    "a.b/c",
    "v1",
    "http",
    "TCP",
    "1Gi",
    "50%",
    "",
    "/a",
    "2020-01-01T00:00:00Z",
]
_INTEGERS = [0, 1, 2, 80, 443, 65536, -1, 2**31, 2**63 - 1]


class Shapes:
    """What is served, with an object for each of it."""

    def __init__(self, server: Server) -> None:
        self.kinds = [kind for kind in server.catalogue.kinds() if kind.schema is not None]

    def path(self, dice: random.Random, kind: Kind, name: str) -> str:
        """Where objects of the kind are, or one of them, or what belongs to one."""
        base = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        if kind.namespaced and dice.random() < 0.95:
            base += f"/namespaces/{dice.choice(['default', 'default', 'other', 'nope'])}"
        base += f"/{kind.plural}"
        if not name:
            return base
        subs = list(kind.subresources)
        return f"{base}/{name}" + (f"/{dice.choice(subs)}" if subs and dice.random() < 0.3 else "")

    def object(self, dice: random.Random, kind: Kind, name: str) -> dict[str, Any]:
        """One of the kind, more or less."""
        assert kind.schema is not None
        made = {key: self._value(dice, schema, 0) for key, schema in _some(dice, kind.schema, 0)}
        made |= {"apiVersion": kind.api_version, "kind": kind.kind}
        metadata: Any = {"name": name}
        if dice.random() < 0.2 and "metadata" in kind.schema.fields:
            odd = self._value(dice, kind.schema.fields["metadata"], 2)
            metadata = {**odd, "name": name} if isinstance(odd, dict) else odd
        return {**made, "metadata": metadata}

    def _value(self, dice: random.Random, schema: Schema, depth: int) -> Any:
        chance = dice.random()
        if chance < 0.02:
            return dice.choice([*SCALARS, [], {}])
        if schema.enum and chance < 0.9:
            return dice.choice(schema.enum)
        if schema.is_list and not schema.scalar:
            return [self._value(dice, schema.items, depth + 1) for _ in range(dice.choice([0, 1, 1, 2]))]
        if schema.is_map and not schema.scalar:
            if schema.fields:
                return {key: self._value(dice, each, depth + 1) for key, each in _some(dice, schema, depth)}
            values = schema.values
            if values is None:
                return {}
            return {dice.choice(_STRINGS[:6]): self._value(dice, values, depth + 1) for _ in range(dice.randrange(3))}
        if schema.scalar == "numeric":
            return dice.choice(_INTEGERS)
        if schema.scalar == "boolean":
            return dice.random() < 0.5
        return dice.choice(_STRINGS)


def _some(dice: random.Random, schema: Schema, depth: int) -> list[tuple[str, Schema]]:
    """The fields that have to be, and fewer and fewer of the others."""
    chance = (0.8, 0.5, 0.35, 0.2)[depth] if depth < 4 else 0.1
    if depth > 9:
        chance = 0
    names = [name for name in schema.fields if name not in ("apiVersion", "kind", "metadata") or depth]
    return [
        (name, schema.fields[name])
        for name in names
        if (name in schema.required and depth < 12) or dice.random() < chance
    ]
