"""The life of a definition: what it is filled in with, which names it gets, and from when on it is served."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.custom.equality import part

Json: TypeAlias = dict[str, Any]

_NAMES: Final = (("plural", "PluralConflict"), ("singular", "SingularConflict"))


def default_definition(definition: Json) -> None:
    """Fill in, in place, what a definition that was written leaves out."""
    spec = part(definition, "spec")
    names = part(spec, "names")
    for version in spec.get("versions") or ():
        _tidy(part(part(version, "schema"), "openAPIV3Schema"))
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = part(part(part(conversion, "webhook"), "clientConfig"), "service")
    if service and service.get("port") is None:
        service["port"] = 443


def _tidy(root: Json) -> None:
    """Read nulls in a schema, in place, as nothing: a field that is null is one of which nothing is said."""
    todo: list[Json] = [root]
    while todo:
        schema = todo.pop()
        for name in [name for name, value in schema.items() if value is None and name != "default"]:
            del schema[name]
        for name in ("properties", "patternProperties", "definitions"):
            fields = part(schema, name)
            for field in [field for field, value in fields.items() if value is None]:
                fields[field] = {}
            todo.extend(cast("Json", value) for value in fields.values() if isinstance(value, dict))
        for name in ("allOf", "anyOf", "oneOf"):
            given = schema.get(name)
            if isinstance(given, list):
                schema[name] = [{} if each is None else each for each in cast("list[Any]", given)]
                todo.extend(cast("Json", each) for each in schema[name] if isinstance(each, dict))
        todo.extend(each for name in ("items", "additionalProperties", "not") if (each := part(schema, name)))


def prepare_create(definition: Json) -> None:
    """Set, in place, the status that a new definition begins with."""
    stored = [v["name"] for v in part(definition, "spec").get("versions") or () if v.get("storage")]
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored[:1],
    }


def prepare_update(definition: Json, old: Json) -> None:
    """Keep the status, and add the version that objects are stored in from now on."""
    status = dict(part(old, "status"))
    stored = list(status.get("storedVersions") or ())
    for version in part(definition, "spec").get("versions") or ():
        if version.get("storage") and version.get("name") not in stored:
            stored.append(version["name"])
    definition["status"] = {**status, "storedVersions": stored}


def settle(definition: Json, others: Iterable[Json], now: str) -> Json:
    """The status that a definition gets, given the other definitions there are: accepted names and conditions.

    Names of the same group go to who had them first; what was accepted once is kept while others want it too.
    """
    spec, status = part(definition, "spec"), part(definition, "status")
    wanted, had = part(spec, "names"), part(status, "acceptedNames")
    own = part(definition, "metadata").get("name")
    taken: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if part(other, "spec").get("group") != spec.get("group") or part(other, "metadata").get("name") == own:
            continue
        names = part(part(other, "status"), "acceptedNames")
        taken.update(filter(None, (names.get("plural"), names.get("singular"), *(names.get("shortNames") or ()))))
        kinds.update(filter(None, (names.get("kind"), names.get("listKind"))))
    accepted, conflict = _accept(wanted, had, taken, kinds)
    conditions: list[Json] = [dict(c) for c in status.get("conditions") or ()]
    if conflict is None:
        _set(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    else:
        _set(conditions, "NamesAccepted", "False", *conflict, now)
    names_accepted = conflict is None
    established = any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
    if names_accepted:
        _set(conditions, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now)
    elif not established:
        why = "not all names are accepted"
        _set(conditions, "Established", "False", "NotAccepted", why, now)
    return {**status, "acceptedNames": accepted, "conditions": conditions}


def _accept(
    wanted: Json, had: Json, taken: set[str], kinds: set[str]
) -> tuple[Json, tuple[str, str] | None]:  # fmt: skip
    accepted: Json = {}
    conflict: tuple[str, str] | None = None
    for name, reason in _NAMES:
        given = wanted.get(name) or ""
        if given in taken:
            conflict = conflict or (reason, f'"{given}" is already in use')
            given = had.get(name) or ""
        accepted[name] = given
    short = list(wanted.get("shortNames") or ())
    clashing = sorted(name for name in short if name in taken)
    if clashing:
        conflict = conflict or ("ShortNamesConflict", f'"{clashing[0]}" is already in use')
        short = list(had.get("shortNames") or ())
    if short:
        accepted["shortNames"] = short
    for name, reason in (("kind", "KindConflict"), ("listKind", "ListKindConflict")):
        given = wanted.get(name) or ""
        if given in kinds:
            conflict = conflict or (reason, f'"{given}" is already in use')
            given = had.get(name) or ""
        accepted[name] = given
    if wanted.get("categories"):
        accepted["categories"] = list(wanted["categories"])
    return {key: value for key, value in accepted.items() if value or key in ("plural", "kind")}, conflict


def _set(conditions: list[Json], kind: str, status: str, reason: str, message: str, now: str) -> None:
    for condition in conditions:
        if condition["type"] == kind:
            if condition["status"] != status:
                condition["lastTransitionTime"] = now
            condition.update(status=status, reason=reason, message=message)
            return
    conditions.append({"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message})


def condition(definition: Json, kind: str) -> bool:
    """Whether a condition is true."""
    conditions = part(definition, "status").get("conditions") or ()
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)
