"""What stands in the tables of who may do what, and of who else has a say in it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeAlias

from trimtab.apiserver.cells.words import NONE, UNSET, age_of, conditions, duration, items, name_of, part

Json: TypeAlias = dict[str, Any]


def role_binding(obj: Json, now: datetime) -> list[Any]:
    """Name, Role, Age, Users, Groups, ServiceAccounts."""
    ref = part(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for each in items(obj, "subjects"):
        name = each.get("name", "")
        account = each.get("kind") == "ServiceAccount" and each.get("namespace")
        subjects.setdefault(each.get("kind", ""), []).append(f"{each['namespace']}/{name}" if account else name)
    shown = (", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [name_of(obj), f"{ref.get('kind', '')}/{ref.get('name', '')}", age_of(obj, now), *shown]


def signing_request(obj: Json, now: datetime) -> list[Any]:
    """Name, Age, SignerName, Requestor, RequestedDuration, Condition."""
    spec, status = part(obj, "spec"), part(obj, "status")
    seconds = spec.get("expirationSeconds")
    given = {each.get("type") for each in conditions(obj)}
    state = "Denied" if "Denied" in given else "Approved" if "Approved" in given else "Pending"
    state += ",Failed" * ("Failed" in given) + ",Issued" * bool(status.get("certificate"))
    return [
        name_of(obj), age_of(obj, now), spec.get("signerName") or NONE, spec.get("username", ""),
        NONE if seconds is None else duration(timedelta(seconds=seconds)), state,
    ]  # fmt: skip


def webhooks(obj: Json, now: datetime) -> list[Any]:
    """Name, Webhooks, Age."""
    return [name_of(obj), len(items(obj, "webhooks")), age_of(obj, now)]


def validating_policy(obj: Json, now: datetime) -> list[Any]:
    """Name, Validations, ParamKind, Age."""
    return _policy(obj, "validations", now)


def mutating_policy(obj: Json, now: datetime) -> list[Any]:
    """Name, Mutations, ParamKind, Age."""
    return _policy(obj, "mutations", now)


def _policy(obj: Json, rules: str, now: datetime) -> list[Any]:
    spec = part(obj, "spec")
    kind = spec.get("paramKind")
    shown = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [name_of(obj), len(items(spec, rules)), shown, age_of(obj, now)]


def policy_binding(obj: Json, now: datetime) -> list[Any]:
    """Name, PolicyName, ParamRef, Age."""
    spec = part(obj, "spec")
    ref = part(spec, "paramRef")
    shown = UNSET
    if ref.get("name"):
        shown = f"{ref.get('namespace') or '*'}/{ref['name']}"
    elif ref.get("selector") is not None:
        shown = _as_go(ref["selector"])
    return [name_of(obj), spec.get("policyName", ""), shown, age_of(obj, now)]


def _as_go(selector: Json) -> str:
    """A label selector as Go prints the struct."""
    pairs = "".join(f"{key}: {value}," for key, value in sorted(part(selector, "matchLabels").items()))
    rules = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or [])}],}},"
        for each in items(selector, "matchExpressions")
    )
    labels, expressions = f"map[string]string{{{pairs}}}", f"[]LabelSelectorRequirement{{{rules}}}"
    return f"&LabelSelector{{MatchLabels:{labels},MatchExpressions:{expressions},}}"


def api_service(obj: Json, now: datetime) -> list[Any]:
    """Name, Service, Available, Age."""
    service = part(obj, "spec").get("service")
    where = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    found = next((each for each in conditions(obj) if each.get("type") == "Available"), None)
    state = "Unknown" if found is None else found.get("status", "")
    if found is not None and state != "True":
        state = f"{state} ({found.get('reason', '')})"
    return [name_of(obj), where, state, age_of(obj, now)]
