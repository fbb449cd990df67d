"""The station that reads what a request wants besides its object: the parameters of its query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

import msgspec

from trimtab.apiserver import causes, statuses
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.statuses import Refused

Query: TypeAlias = Mapping[str, list[str]]

_MOST_PARAMETERS: Final = 1000
_LONGEST_MANAGER: Final = 128
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_FALSE: Final = frozenset({"false", "0"})


def parse(query: str) -> Query:
    """The parameters, each with all its values."""
    if not query:
        return {}
    try:
        return parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise statuses.bad_request(f"the query cannot be read: {error}") from error


def first(query: Query, name: str) -> str:
    """The first value of a parameter, or ""."""
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool:
    """A parameter that is true or false; what is neither counts as true, as it does in Kubernetes."""
    values = query.get(name)
    return bool(values) and values[0].lower() not in _FALSE


def number(query: Query, name: str) -> int | None:
    """A parameter that is a whole number, or None."""
    text = first(query, name)
    if not text:
        return None
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    is_number = digits.isascii() and digits.isdigit()
    if not is_number or len(digits) > 19:
        why = "value out of range" if is_number else "invalid syntax"
        raise statuses.bad_request(f"strconv.ParseInt: parsing {causes.quoted(text)}: {why}")
    return int(sign + digits)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to create, update or patch."""

    dry_run: bool = False
    manager: str = ""
    validation: str = "Warn"
    force: bool | None = None


def write_options(query: Query, kind: str) -> WriteOptions:
    """Read them; `kind` is their kind, such as CreateOptions."""
    if not query:
        return WriteOptions()
    manager, validation = first(query, "fieldManager"), first(query, "fieldValidation")
    found = _check_dry_run(query.get("dryRun", ()))
    if len(manager.encode()) > _LONGEST_MANAGER:
        found.append(causes.too_long("fieldManager", f"may not be more than {_LONGEST_MANAGER} bytes"))
    found += [
        causes.invalid("fieldManager", manager, f"invalid character U+{ord(c):04X} (at position {place})")
        for place, c in enumerate(manager)
        if not c.isprintable()
    ]
    if validation not in ("", "Ignore", "Strict", "Warn"):
        found.append(causes.unsupported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    _refuse(kind, found)
    force = flag(query, "force") if "force" in query else None
    return WriteOptions(bool(query.get("dryRun")), manager, validation or "Warn", force)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete."""

    dry_run: bool = False
    grace: int | None = None
    policy: str = ""  # "" is the kind's own
    uid: str | None = None  # what the object has to have
    resource_version: str | None = None
    orphan: bool | None = None  # by which the policy was told

    def body(self) -> dict[str, Any]:
        """As clients write them."""
        conditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        made: dict[str, Any] = {
            "gracePeriodSeconds": self.grace,
            "preconditions": {name: value for name, value in conditions.items() if value is not None} or None,
            "orphanDependents": self.orphan,
            "propagationPolicy": (self.policy or None) if self.orphan is None else None,
            "dryRun": ["All"] if self.dry_run else None,
        }
        return {name: value for name, value in made.items() if value is not None}


class _Preconditions(msgspec.Struct):
    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class _Given(msgspec.Struct, rename="camel"):
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: _Preconditions | None = None


def delete_options(query: Query, body: Mapping[str, Any]) -> DeleteOptions:
    """Read them, from the body where there is one, as Kubernetes does, else from the query."""
    if body:
        try:
            given = msgspec.convert(body, _Given)
        except msgspec.ValidationError as error:
            raise statuses.bad_request(f"DeleteOptions cannot be read: {error}") from error
    else:
        orphan = flag(query, "orphanDependents") if "orphanDependents" in query else None
        policy = first(query, "propagationPolicy") or None
        uid, version = first(query, "uid") or None, first(query, "resourceVersion") or None
        asked = _Preconditions(uid, version) if uid or version else None
        given = _Given(list(query.get("dryRun", ())), number(query, "gracePeriodSeconds"), policy, orphan, asked)
    policy, orphan = given.propagation_policy, given.orphan_dependents
    found: list[Cause] = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        found.append(causes.invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        found.append(causes.unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    found += _check_dry_run(given.dry_run or ())
    _refuse("DeleteOptions", found)
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    conditions = given.preconditions or _Preconditions()
    return DeleteOptions(
        bool(given.dry_run),
        given.grace_period_seconds,
        policy or "",
        conditions.uid,
        conditions.resource_version,
        orphan,
    )


def _check_dry_run(values: Iterable[str]) -> list[Cause]:
    given = list(values)
    return [] if set(given) <= {"All"} else [causes.unsupported("dryRun", given, ("All",))]


def _refuse(kind: str, found: list[Cause]) -> None:
    if found:
        raise invalid_options(kind, found)


def invalid_options(kind: str, found: list[Cause]) -> Refused:
    """The refusal of options that break rules."""
    return statuses.invalid(kind, "meta.k8s.io", "", found)
