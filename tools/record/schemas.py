"""Random schemas, and values that fit them more often than not."""

from __future__ import annotations

import random
from typing import Any

NAMES = ("a", "b", "c", "d-e", "if")
SCALARS = (
    *(None, True, False, 0, 1, 2, 5, 7, -1, 1.5, 2.5, 3_000_000_000),
    *("", "a", "ab", "abc", "x", "5%", "2024-01-01", "10.0.0.1", "http"),
)
RULES = {
    "string": ("self.size() < 3", "self != 'x'", "self.matches('^a')", "self == oldSelf"),
    "integer": ("self > 0", "self % 2 == 1", "self >= oldSelf", "10 / self > 1"),
    "number": ("self > 0.5",),
    "object": ("has(self.a)", "!has(self.b) || has(self.a)", "self == oldSelf"),
    "array": ("self.size() > 1", "self.all(x, self.exists_one(y, x == y))", "self == oldSelf"),
}
REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


class Maker:
    """Makes the same from the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it makes test data

    def value(self, depth: int = 0) -> Any:
        """Anything that JSON can hold."""
        chance = self._random.random()
        if depth > 3 or chance < 0.6:
            return self._random.choice(SCALARS)
        if chance < 0.8:
            return [self.value(depth + 1) for _ in range(self._random.randint(0, 3))]
        return {self._random.choice(NAMES): self.value(depth + 1) for _ in range(self._random.randint(0, 3))}

    def fitting(self, schema: dict[str, Any]) -> Any:
        """A value that a schema probably takes."""
        pick = self._random
        if pick.random() < 0.12 or "type" not in schema:
            return self.value(1)
        match schema["type"]:
            case "object" if "properties" in schema:
                fields = schema["properties"].items()
                unknown = {"zz": 1} if pick.random() < 0.05 else {}
                return {name: self.fitting(field) for name, field in fields if pick.random() < 0.75} | unknown
            case "object":
                inner = schema["additionalProperties"]
                return {pick.choice(NAMES): self.fitting(inner) for _ in range(pick.randint(0, 3))}
            case "array":
                return [self.fitting(schema["items"]) for _ in range(pick.randint(0, 3))]
            case "string":
                return pick.choice(schema.get("enum", ("a", "ab", "abc", "", "b", "2024-01-01", "1h")))
            case "integer":
                return pick.randint(0, 4)
            case "number":
                return pick.choice((0.5, 1, 1.5, 2, 3.5))
            case _:
                return pick.choice((True, False))

    def schema(self, depth: int = 0) -> dict[str, Any]:
        """A schema, structural, and now and then with a default or a rule."""
        pick = self._random
        chance = pick.random()
        if chance < 0.06:
            return {"x-kubernetes-int-or-string": True, **self._some(0.3, maxLength=3, pattern="^[0-9]")}
        if chance < 0.1:
            return {"x-kubernetes-preserve-unknown-fields": True}
        kinds = ["string", "integer", "boolean", "number"]
        kind = pick.choice(kinds if depth > 2 else [*kinds, "object", "object", "array", "map"])
        found = {"object": self._object, "array": self._array, "map": self._map}.get(kind, lambda _: {})(depth)
        if not found:
            found = {"type": kind, **self._limits(kind), **self._logic(kind, ()), **self._rules(kind)}
        found |= self._some(0.1, nullable=True)
        if pick.random() < 0.1:
            found["default"] = self.fitting(found)
        return found

    def _object(self, depth: int) -> dict[str, Any]:
        names = self._random.sample(NAMES, self._random.randint(0, 3))
        found: dict[str, Any] = {"type": "object", "properties": {name: self.schema(depth + 1) for name in names}}
        if names and self._random.random() < 0.3:
            found["required"] = [self._random.choice(names)]
        found |= self._some(0.1, **{"x-kubernetes-preserve-unknown-fields": True})
        return found | self._logic("object", names) | self._rules("object")

    def _map(self, depth: int) -> dict[str, Any]:
        limits = self._some(0.2, maxProperties=self._random.randint(0, 3), minProperties=1)
        return {"type": "object", "additionalProperties": self.schema(depth + 1), **limits}

    def _array(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "array"}
        chance = self._random.random()
        if chance < 0.3:
            found |= {"x-kubernetes-list-type": "set", "items": {"type": self._random.choice(("string", "integer"))}}
        elif chance < 0.5:
            fields = {"a": {"type": "string"}, "b": self.schema(depth + 2)}
            found |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}
            found["items"] = {"type": "object", "required": ["a"], "properties": fields}
        else:
            found["items"] = self.schema(depth + 1)
        found |= self._some(0.4, maxItems=self._random.randint(0, 5), minItems=self._random.randint(0, 2))
        return found | self._rules("array")

    def _some(self, chance: float, **keywords: Any) -> dict[str, Any]:
        return {name: value for name, value in keywords.items() if self._random.random() < chance}

    def _limits(self, kind: str) -> dict[str, Any]:
        pick = self._random
        if kind == "string":
            enum = pick.sample(["a", "x", "abc", ""], 2)
            form = pick.choice(["date", "ipv4", "byte", "date-time", "duration", "zzz"])
            pattern = pick.choice(["^a", "b$", "x"])
            longest, shortest = pick.randint(0, 4), pick.randint(0, 3)
            return self._some(0.2, maxLength=longest, minLength=shortest, pattern=pattern, enum=enum, format=form)
        if kind == "integer":
            low, high, form = pick.randint(-1, 3), pick.randint(1, 6), pick.choice(["int32", "int64"])
            return self._some(
                0.2, minimum=low, maximum=high, multipleOf=2, enum=[1, 2], format=form, exclusiveMinimum=True
            )
        return self._some(0.2, minimum=0.5, maximum=2.5, multipleOf=0.5) if kind == "number" else {}

    def _logic(self, kind: str, names: Any) -> dict[str, Any]:
        def branch() -> dict[str, Any]:
            found = self._limits(kind)
            if names and self._random.random() < 0.7:
                found["required"] = [self._random.choice(names)]
            return found

        two, other = [branch(), branch()], [branch(), branch()]
        return self._some(0.08, anyOf=two, oneOf=other, allOf=[branch()], **{"not": branch()})

    def _rules(self, kind: str) -> dict[str, Any]:
        if kind not in RULES or self._random.random() > 0.15:
            return {}
        rule = {"rule": self._random.choice(RULES[kind])}
        rule |= self._some(0.2, message="msg", reason=self._random.choice(REASONS), messageExpression="'m'")
        return {"x-kubernetes-validations": [rule]}
