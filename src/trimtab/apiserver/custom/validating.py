"""Checking objects against the values that a schema allows, in the words of kube-apiserver's OpenAPI validator.

A schema becomes closures once. What did not change in an update may stay as it was, though a schema that came later
forbids it: `old` goes along with the value where the two can be told to belong together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel.numbers import shortest
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern
from trimtab.apiserver.cel.strfmt import FORMATS
from trimtab.apiserver.custom.equality import UNCORRELATED, compile_same, correlate_items, same

Json: TypeAlias = dict[str, Any]

INT32: Final = (-(2**31), 2**31 - 1)
INT64: Final = (-(2**63), 2**63 - 1)


class Result:
    """The faults found so far, and how many values were looked at: the alternative that got furthest is explained."""

    __slots__ = ("faults", "reached")

    def __init__(self) -> None:
        self.faults: list[Cause] = []
        self.reached = 0


Check: TypeAlias = Callable[[Any, Any, str, Result], None]
"""Checks a value, given the old one, at a path."""


def compile_validation(schema: Json) -> Callable[[Any, Any], list[Cause]]:
    """The function that tells what is wrong with an object, given the old one or UNCORRELATED."""
    check, unchanged = _compile(schema, root=True), compile_same(schema)

    def run(obj: Any, old: Any) -> list[Cause]:
        result = Result()
        check(obj, old, "", result)
        if result.faults and old is not UNCORRELATED and unchanged(obj, old):
            return []
        return list(dict.fromkeys(result.faults))  # what several schemas say is said once

    return run


def _field(path: str) -> str:
    return path.removeprefix(".") or "<nil>"


def types_of(schema: Json) -> tuple[str, ...]:
    """The types that a value may be of."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def format_of(schema: Json) -> str:
    """The format, if it is one that is checked for the type."""
    found: str = schema.get("format") or ""
    types = types_of(schema)
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string"):
        return found if found.replace("-", "") in FORMATS else ""
    if kind == "integer":
        return found if found in ("int32", "int64") else ""
    if kind == "number":
        return found if found in ("float", "double") else ""
    return ""


def _compile(schema: Json, *, root: bool = False) -> Check:  # noqa: C901 - the closure in it is counted too
    types, nullable, form = types_of(schema), bool(schema.get("nullable")), format_of(schema)
    checks: list[tuple[frozenset[str], Check]] = []
    every = frozenset({"string", "integer", "number", "boolean", "object", "array"})
    if (combined := _combinations(schema)) is not None:
        checks.append((every, combined))
    if (text := _strings(schema, form)) is not None:
        checks.append((frozenset({"string"}), text))
    if (number := _numbers(schema, types, form)) is not None:
        checks.append((frozenset({"integer", "number"}), number))
    if (array := _arrays(schema)) is not None:
        checks.append((frozenset({"array"}), array))
    enum = _enum(schema)
    if enum is not None:
        checks.append((every, enum))
    if (obj := _objects(schema, root=root)) is not None:
        checks.append((frozenset({"object"}), obj))
    by_type = {kind: [check for kinds, check in checks if kind in kinds] for kind in every}

    def check(value: Any, old: Any, path: str, result: Result) -> None:
        if value is None:
            if types and not nullable:
                result.faults.append(_mistyped(path, ",".join(types), "null"))
            if enum is not None:
                enum(value, old, path, result)
            return
        kind, own_format = _KINDS[type(value)]
        if types or form:
            fault = _type_fault(types, form, kind, own_format, value)
            if fault is not None:
                result.faults.append(_mistyped(path, *fault))
            result.reached += 1 if fault is not None else 2
        result.reached += 5 + (kind == "string" and bool(form)) + (kind == "array")
        for each in by_type[kind]:
            each(value, old, path, result)

    return check


_KINDS: Final[dict[type, tuple[str, str]]] = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}


def _mistyped(path: str, wanted: str, found: str) -> Cause:
    return causes.type_invalid(_field(path), found, f"{path} in body must be of type {wanted}: {causes.quoted(found)}")


def _type_fault(
    types: tuple[str, ...], form: str, kind: str, own_format: str, value: Any
) -> tuple[str, str] | None:  # fmt: skip
    fits = (
        kind in types
        or (kind == "number" and "integer" in types and float(value).is_integer() and abs(value) < 2**53)
        or (kind == "integer" and "number" in types)
    )
    textual = kind in ("string", "array")
    if form and not textual and not fits and own_format != form:
        return form, own_format
    if form and textual and not ("number" in types or "integer" in types):
        return None  # what has a format is looked at by its format
    return None if fits else (",".join(types), kind)


def _strings(schema: Json, form: str) -> Check | None:
    longest, shortest_, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    known = FORMATS.get(form.replace("-", "")) if form else None
    if longest is None and shortest_ is None and not pattern and known is None:
        return None
    try:
        compiled = compile_pattern(pattern) if pattern else None
    except PatternError:
        compiled = None  # the definition is refused for it

    def fault(value: str, path: str) -> Cause | None:
        if longest is not None and len(value) > longest:
            why = f"may not be more than {longest} byte{'' if longest == 1 else 's'}"
            return causes.too_long(_field(path), why)
        if shortest_ is not None and len(value) < shortest_:
            why = f"{path} in body should be at least {shortest_} chars long"
            return causes.invalid(_field(path), value, why)
        if compiled is not None and not compiled.matches(value):
            return causes.invalid(_field(path), value, f"{path} in body should match '{pattern}'")
        return None

    def check(value: Any, _old: Any, path: str, result: Result) -> None:
        found = fault(value, path)
        if found is not None:
            result.faults.append(found)
        if known is not None and not known(value):
            why = f"{path} in body must be of type {form}: {causes.quoted(value)}"
            result.faults.append(causes.type_invalid(_field(path), value, why))

    return check


def _written(number: float) -> str:
    """As Go's %v."""
    return str(number) if isinstance(number, int) else shortest(number)


def _numbers(schema: Json, types: tuple[str, ...], form: str) -> Check | None:
    least, most, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    above, below = bool(schema.get("exclusiveMinimum")), bool(schema.get("exclusiveMaximum"))
    whole = types == ("integer",)
    limits = INT32 if form == "int32" else INT64
    what = f"with format {form}" if form else "(default format)"
    if least is None and most is None and factor is None and not whole:
        return None

    def bound(value: Any, limit: Any) -> Any:
        return int(limit) if isinstance(value, int) and limit is not None else limit

    def problems(value: Any) -> list[str]:
        found: list[str] = []
        if factor is not None and bound(value, factor) > 0 and not _is_multiple(value, factor):
            found.append(f"should be a multiple of {_written(bound(value, factor))}")
        low, high = bound(value, least), bound(value, most)
        if low is not None and (value <= low if above else value < low):
            found.append(f"should be greater than {'' if above else 'or equal to '}{_written(low)}")
        if high is not None and (value >= high if below else value > high):
            found.append(f"should be less than {'' if below else 'or equal to '}{_written(high)}")
        return found

    def check(value: Any, _old: Any, path: str, result: Result) -> None:
        if whole and not (limits[0] <= value <= limits[1] and float(value).is_integer()):
            result.faults.append(_composite(f"Checked value must be of type integer {what} in {path}"))
        if factor is not None and bound(value, factor) <= 0:
            shown = bound(value, factor)
            why = f"factor MultipleOf declared for {path} must be positive: {_written(shown)}"
            result.faults.append(causes.invalid(_field(path), shown, why))
        result.faults.extend(causes.invalid(_field(path), value, f"{path} in body {p}") for p in problems(value))

    return check


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return value % int(factor) == 0
    ratio = value / factor
    return math.isfinite(ratio) and ratio == int(ratio)


def _enum(schema: Json) -> Check | None:
    allowed: list[Any] | None = schema.get("enum")
    if not allowed:
        return None
    shown = [value if isinstance(value, str) else _json(value) for value in allowed]

    def check(value: Any, _old: Any, path: str, result: Result) -> None:
        if not any(_is(value, each) for each in allowed):
            result.faults.append(causes.unsupported(_field(path), value, shown))

    return check


def _is(value: Any, allowed: Any) -> bool:
    """Whether a value is an allowed one; a number is made one of the same sort first, as the server does it."""
    if isinstance(value, float) and type(allowed) is int and math.isfinite(value):
        return int(value) == allowed
    if isinstance(value, int) and not isinstance(value, bool) and isinstance(allowed, float):
        return float(value) == allowed
    return same(value, allowed)


def _json(value: Any) -> str:
    import msgspec  # noqa: PLC0415 - for enums of what is no text, which are rare

    return msgspec.json.encode(value).decode()


def _arrays(schema: Json) -> Check | None:
    items, least, most = schema.get("items"), schema.get("minItems"), schema.get("maxItems")
    if not isinstance(items, dict) and least is None and most is None:
        return None
    each = _ratcheting(cast("Json", items)) if isinstance(items, dict) else None

    def check(value: Any, old: Any, path: str, result: Result) -> None:
        values = cast("list[Any]", value)
        if each is not None:
            before = correlate_items(schema, values, old)
            for index, item in enumerate(values):
                each(item, before[index] if before else UNCORRELATED, f"{path}[{index}]", result)
        if least is not None and len(values) < least:
            why = f"{path} in body should have at least {least} items"
            result.faults.append(causes.invalid(_field(path), len(values), why))
        if most is not None and len(values) > most:
            result.faults.append(causes.too_many(_field(path), len(values), most))

    return check


def _objects(schema: Json, *, root: bool) -> Check | None:  # noqa: C901 - the closure in it is counted too
    fields = [(name, _ratcheting(field)) for name, field in schema.get("properties", {}).items()]
    names = frozenset(name for name, _ in fields)
    additional = schema.get("additionalProperties")
    rest = _ratcheting(cast("Json", additional)) if isinstance(additional, dict) else None
    required: list[str] = schema.get("required") or []
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    closed = additional is False
    if not fields and rest is None and not required and least is None and most is None and not closed:
        return None

    def check(value: Any, old: Any, path: str, result: Result) -> None:
        obj = cast("Json", value)
        before = cast("Json", old) if isinstance(old, dict) else {}
        if least is not None and len(obj) < least:
            why = f"{path} in body should have at least {least} properties"
            result.faults.append(causes.invalid(_field(path), len(obj), why))
        if most is not None and len(obj) > most:
            result.faults.append(causes.too_many(_field(path), len(obj), most))
        if closed:
            for key in obj.keys() - names:
                why = f"{path}.{key} in body is a forbidden property"
                result.faults.append(causes.invalid(_field(path), key, why))
        elif rest is not None:
            for key, inner in obj.items():
                if key not in names:
                    rest(inner, before.get(key, UNCORRELATED), f"{path}.{key}", result)
        for name, field in fields:
            if name in obj:
                earlier = UNCORRELATED if root and name in ("apiVersion", "kind") else before.get(name, UNCORRELATED)
                field(obj[name], earlier, f"{path}.{name}" if path else name, result)
        for name in required:
            if name not in obj:
                result.faults.append(causes.required(_field(f"{path}.{name}")))

    return check


def _ratcheting(schema: Json) -> Check:
    """The check of a part of an object: what did not change may be as it was."""
    check, unchanged = _compile(schema), compile_same(schema)

    def run(value: Any, old: Any, path: str, result: Result) -> None:
        before = len(result.faults)
        check(value, old, path, result)
        if len(result.faults) > before and old is not UNCORRELATED and unchanged(value, old):
            del result.faults[before:]

    return run


def _combinations(schema: Json) -> Check | None:
    any_of = [_compile(each) for each in schema.get("anyOf") or ()]
    one_of = [_compile(each) for each in schema.get("oneOf") or ()]
    all_of = [_compile(each) for each in schema.get("allOf") or ()]
    never = _compile(schema["not"]) if schema.get("not") is not None else None
    if not any_of and not one_of and not all_of and never is None:
        return None

    def check(value: Any, old: Any, path: str, result: Result) -> None:
        shown = causes.quoted(path)
        if any_of:
            _any_of(any_of, value, old, path, result)
        if one_of:
            _one_of(one_of, value, old, path, result)
        valid = 0
        for each in all_of:
            before = len(result.faults)
            each(value, old, path, result)
            valid += len(result.faults) == before
        if valid != len(all_of):
            none = "" if valid else ". None validated"
            result.faults.append(_composite(f"{shown} must validate all the schemas (allOf){none}"))
        if never is not None:
            denied = Result()
            never(value, old, path, denied)
            if not denied.faults:
                result.faults.append(_composite(f"{shown} must not validate the schema (not)"))

    return check


def _composite(message: str) -> Cause:
    return causes.invalid("<nil>", "", message)


def _attempts(alternatives: list[Check], value: Any, old: Any, path: str) -> list[Result]:
    results: list[Result] = []
    for each in alternatives:
        attempt = Result()
        each(value, old, path, attempt)
        results.append(attempt)
    return results


def _best(results: list[Result]) -> Result:
    return max(results, key=lambda attempt: attempt.reached)


def _any_of(alternatives: list[Check], value: Any, old: Any, path: str, result: Result) -> None:
    results = _attempts(alternatives, value, old, path)
    valid = next((attempt for attempt in results if not attempt.faults), None)
    if valid is None:
        problem = f"{causes.quoted(path)} must validate at least one schema (anyOf)"
        best = _best(results)
        result.faults.extend((_composite(problem), *best.faults))
        result.reached += best.reached
    else:
        result.reached += valid.reached


def _one_of(alternatives: list[Check], value: Any, old: Any, path: str, result: Result) -> None:
    results = _attempts(alternatives, value, old, path)
    valid = [attempt for attempt in results if not attempt.faults]
    if len(valid) == 1:
        result.reached += valid[0].reached
        return
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.faults.append(_composite(f"{causes.quoted(path)} must validate one and only one schema (oneOf). {found}"))
    if not valid:
        best = _best(results)
        result.faults.extend(best.faults)
        result.reached += best.reached
