"""The life of a definition: what it is filled in with, which names it gets, and from when on it is served."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.custom.equality import part

Json: TypeAlias = dict[str, Any]

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a definition of which the objects have to go first."""
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
    status = part(definition, "status")
    if status and not status.get("storedVersions"):
        status["storedVersions"] = _stored(spec)


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
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": _stored(part(definition, "spec")),
    }


def _stored(spec: Json) -> list[str]:
    return [version["name"] for version in spec.get("versions") or () if version.get("storage")][:1]


def prepare_update(definition: Json, old: Json) -> None:
    """Keep the status, and add the version that objects are stored in from now on."""
    status = dict(part(old, "status"))
    stored = list(status.get("storedVersions") or ())
    for version in part(definition, "spec").get("versions") or ():
        if version.get("storage") and version.get("name") not in stored:
            stored.append(version["name"])
    definition["status"] = {**status, "storedVersions": stored}


def next_status(definition: Json, others: Iterable[Json], now: str) -> Json | None:
    """The status that a definition gets next, given the other definitions there are; None where it has its last one.

    First it gets its names and is told of conflicts about them, then it is established.
    """
    status = part(definition, "status")
    named = _named(definition, others, now)
    if named != status:
        return named
    if condition(definition, "NamesAccepted") and not condition(definition, "Established"):
        why = "the initial names have been accepted"
        return {**status, "conditions": with_condition(status, "Established", "True", "InitialNamesAccepted", why, now)}
    return None


def settle(definition: Json, others: Sequence[Json], now: str) -> Json:
    """The last status that a definition gets, given the other definitions there are."""
    while (status := next_status(definition, others, now)) is not None:
        definition = {**definition, "status": status}
    return part(definition, "status")


def _named(definition: Json, others: Iterable[Json], now: str) -> Json:
    """Names of the same group go to who had them first; what was accepted once is kept while others want it too."""
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
    accepts = ("True", "NoConflicts", "no conflicts found") if conflict is None else ("False", *conflict)
    made = {**status, "acceptedNames": accepted}
    made["conditions"] = with_condition(made, "NamesAccepted", *accepts, now)
    waits = ("NotAccepted", "not all names are accepted")
    if conflict is None:
        waits = ("Installing", "the initial names have been accepted")
    elif any(each["type"] == "Established" for each in made["conditions"]):
        return made
    if not condition({"status": made}, "Established"):
        made["conditions"] = with_condition(made, "Established", "False", *waits, now)
    return made


def _accept(
    wanted: Json, had: Json, taken: set[str], kinds: set[str]
) -> tuple[Json, tuple[str, str] | None]:  # fmt: skip
    """The names that are accepted, and the last conflict: reason and message."""
    accepted: Json = {}
    conflict: tuple[str, str] | None = None
    for name, reason in _NAMES:
        given = wanted.get(name) or ""
        if given in taken and given != had.get(name):
            conflict = (reason, _in_use(given))
            given = had.get(name) or ""
        accepted[name] = given
    short, ours = list(wanted.get("shortNames") or ()), list(had.get("shortNames") or ())
    clashing = list(dict.fromkeys(_in_use(name) for name in short if name in taken and name not in ours))
    if clashing:
        conflict = ("ShortNamesConflict", clashing[0] if len(clashing) == 1 else f"[{', '.join(clashing)}]")
        short = ours
    if short:
        accepted["shortNames"] = short
    for name, reason in (("kind", "KindConflict"), ("listKind", "ListKindConflict")):
        given = wanted.get(name) or ""
        if given in kinds and given != had.get(name):
            conflict = (reason, _in_use(given))
            given = had.get(name) or ""
        accepted[name] = given
    if wanted.get("categories"):
        accepted["categories"] = list(wanted["categories"])
    return {key: value for key, value in accepted.items() if value or key in ("plural", "kind")}, conflict


def _in_use(name: str) -> str:
    return f'"{name}" is already in use'


def doomed(definition: Json, now: str) -> Json | None:
    """A definition that is to be deleted from now on; None where it was before."""
    made = part(definition, "metadata")
    if made.get("deletionTimestamp"):
        return None
    finalizers: list[str] = made.get("finalizers") or []
    if CLEANUP not in finalizers:
        finalizers = [*finalizers, CLEANUP]
    status = part(definition, "status")
    why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    ends = with_condition(status, "Terminating", "True", "InstanceDeletionPending", why, now)
    return {
        **definition,
        "metadata": {**made, "deletionTimestamp": now, "finalizers": finalizers},
        "status": {**status, "conditions": ends},
    }


def with_condition(status: Json, kind: str, value: str, reason: str, message: str, now: str) -> list[Json]:
    """The conditions of a status with this one."""
    conditions: list[Json] = [dict(each) for each in status.get("conditions") or ()]
    _set(conditions, kind, value, reason, message, now)
    return conditions


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
