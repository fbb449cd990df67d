"""The rules of the metadata that every object has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_MOST_ANNOTATED: Final = 256 << 10
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_IMMUTABLE: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_EMPTY: Final = ("", None, 0)


def check(metadata: Json, name_rule: Callable[[str], list[str]], *, namespaced: bool) -> list[Cause]:
    """What is wrong with the metadata of an object."""
    found: list[Cause] = []
    if prefix := metadata.get("generateName"):
        stem = prefix[:-1] + "a" if prefix.endswith("-") else prefix
        found += [causes.invalid("metadata.generateName", prefix, why) for why in name_rule(stem)]
    name = metadata.get("name", "")
    if not name:
        found.append(causes.required("metadata.name", "name or generateName is required"))
    else:
        found += [causes.invalid("metadata.name", name, why) for why in name_rule(name)]
    if not namespaced and metadata.get("namespace"):
        found.append(causes.forbidden("metadata.namespace", "not allowed on this type"))
    if (generation := metadata.get("generation", 0)) < 0:
        found.append(causes.invalid("metadata.generation", generation, "must be greater than or equal to 0"))
    found += check_labels(metadata.get("labels") or {})
    found += check_annotations(metadata.get("annotations") or {})
    found += _check_owners(metadata.get("ownerReferences") or [])
    return found + _check_finalizers(metadata.get("finalizers") or [])


def check_change(new: Json, old: Json) -> list[Cause]:
    """What is wrong with a change of metadata."""
    found: list[Cause] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or []) - set(old.get("finalizers") or []))
        if added:
            listed = ", ".join(causes.quoted(each) for each in added)
            why = (
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}"
            )
            found.append(causes.forbidden("metadata.finalizers", why))
    if (generation := new.get("generation", 0)) < old.get("generation", 0):
        found.append(causes.invalid("metadata.generation", generation, "must not be decremented"))
    found += [
        causes.invalid(f"metadata.{name}", value, "field is immutable")
        for name in _IMMUTABLE
        if (value := new.get(name)) != (was := old.get(name)) and not (value in _EMPTY and was in _EMPTY)
    ]
    found += check_labels(new.get("labels") or {})
    found += check_annotations(new.get("annotations") or {})
    return found + _check_owners(new.get("ownerReferences") or [])


def without_repeated_owners(metadata: Json, warnings: list[str], *, late: bool) -> None:
    """Take out, in place, owners that are named twice, and tell of them. `late`: others have had their say before."""
    owners: list[Json] = metadata.get("ownerReferences") or []
    kept: list[Json] = []
    repeated: list[str] = []
    for owner in owners:
        if owner in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if repeated:
        metadata["ownerReferences"] = kept
        when = " after mutating admission happens" if late else ""
        warnings.append(
            f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
            "and may reject such requests as early as 1.24; please fix your requests; "
            f"duplicate UID(s) observed: {', '.join(repeated)}"
        )


def keep_identity(new: Json, old: Json) -> None:
    """What a writer may leave out of an object that is there: it is what it was."""
    for name in ("uid", "deletionGracePeriodSeconds"):
        if name in old and not new.get(name):
            new[name] = old[name]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if name in old:
            new[name] = old[name]
    if "generation" in old:
        new["generation"] = old["generation"]
    else:
        new.pop("generation", None)
    new.pop("selfLink", None)


_ORDER: Final = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip


def tidy(metadata: Json) -> Json:
    """The metadata in the order in which people know it, without what is empty."""
    return {
        name: value
        for name in _ORDER
        if (value := metadata.get(name)) or (name in metadata and name == "deletionGracePeriodSeconds")
    }


def check_labels(labels: Mapping[str, str]) -> list[Cause]:
    """What is wrong with labels."""
    found: list[Cause] = []
    for key, value in labels.items():
        found += [causes.invalid("metadata.labels", key, why) for why in names.label_key(key)]
        found += [causes.invalid("metadata.labels", value, why) for why in names.label_value(value)]
    return found


def check_annotations(annotations: Mapping[str, str]) -> list[Cause]:
    """What is wrong with annotations."""
    found: list[Cause] = []
    for key in annotations:
        found += [causes.invalid("metadata.annotations", key, why) for why in names.qualified(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MOST_ANNOTATED:
        found.append(causes.too_long("metadata.annotations", f"may not be more than {_MOST_ANNOTATED} bytes"))
    return found


def _check_owners(owners: Sequence[Json]) -> list[Cause]:
    found: list[Cause] = []
    field = "metadata.ownerReferences"
    controller: Json | None = None
    for owner in owners:
        told = str(owner.get("apiVersion", ""))
        group, _, version = told.rpartition("/")
        if not version or "/" in group:
            found.append(causes.invalid(f"{field}.apiVersion", told, "version must not be empty"))
        found += [
            causes.invalid(f"{field}.{name}", "", "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner.get(name)
        ]
        if owner.get("kind") == "Event" and group in ("", "events.k8s.io"):
            kind = f"{group}/{version}, Kind=Event"
            found.append(causes.invalid(field, _shown(owner), f"{kind} is disallowed from being an owner"))
        if owner.get("controller"):
            if controller is not None:
                both = " and ".join(f"{each.get('kind')}/{each.get('name')}" for each in (controller, owner))
                why = 'Only one reference can have Controller set to true. Found "true" in references for ' + both
                found.append(causes.invalid(field, [_shown(each) for each in owners], why))
            controller = owner
    return found


def _shown(owner: Json) -> causes.Struct:
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return causes.Struct({name: owner.get(name, "") for name in order if name in owner or name in order[:4]})


def _check_finalizers(finalizers: Sequence[str]) -> list[Cause]:
    found: list[Cause] = []
    field = "metadata.finalizers"
    for index, name in enumerate(finalizers):
        found += [causes.invalid(field, name, why) for why in names.qualified(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(causes.invalid(f"{field}[{index}]", name, why))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        found.append(causes.invalid(field, cast("Any", finalizers), why))
    return found
