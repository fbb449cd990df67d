"""What is wrong with roles and bindings themselves, whoever writes them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def check_role(role: Json, *, namespaced: bool) -> list[Cause]:
    """What is wrong with a role's rules."""
    found: list[Cause] = []
    for place, rule in enumerate(cast("list[Json]", role.get("rules") or ())):
        found += _check_rule(rule, f"rules[{place}]", namespaced=namespaced)
    aggregation = cast("Json | None", role.get("aggregationRule"))
    if aggregation is not None and not namespaced:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = cast("list[Json]", aggregation.get("clusterRoleSelectors") or [])
        if not selectors:
            found.append(
                causes.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
            )
        for place, selector in enumerate(selectors):
            wrong = check_selector(selector, f"{path}[{place}]")
            found += wrong + ([causes.invalid(f"{path}[{place}]", None, "invalid label selector.")] if wrong else [])
    return found


def check_binding(binding: Json, *, namespaced: bool) -> list[Cause]:
    """What is wrong with a binding's role and subjects."""
    found: list[Cause] = []
    role = cast("Json", binding.get("roleRef") or {})
    if role.get("apiGroup") != _GROUP:
        found.append(causes.unsupported("roleRef.apiGroup", role.get("apiGroup", ""), (_GROUP,)))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.get("kind") not in kinds:
        found.append(causes.unsupported("roleRef.kind", role.get("kind", ""), kinds))
    if not role.get("name"):
        found.append(causes.required("roleRef.name"))
    for place, subject in enumerate(cast("list[Json]", binding.get("subjects") or ())):
        found += _check_subject(subject, f"subjects[{place}]", namespaced=namespaced)
    return found


def check_binding_change(new: Json, old: Json) -> list[Cause]:
    """A binding is of one role for ever."""
    if new.get("roleRef") == old.get("roleRef"):
        return []
    role = cast("Json", new.get("roleRef") or {})
    shown = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
    return [causes.invalid("roleRef", shown, "cannot change roleRef")]


def fill_binding(binding: Json) -> None:
    """Set what a binding's author may leave out: the groups of its role and of its subjects."""
    role = binding.get("roleRef")
    if isinstance(role, dict) and not cast("Json", role).get("apiGroup"):
        binding["roleRef"] = {**cast("Json", role), "apiGroup": _GROUP}
    subjects = cast("list[Json] | None", binding.get("subjects"))
    if subjects:
        binding["subjects"] = [
            {**each, "apiGroup": _GROUP} if each.get("kind") in ("User", "Group") and not each.get("apiGroup") else each
            for each in subjects
        ]


def _check_rule(rule: Json, path: str, *, namespaced: bool) -> list[Cause]:
    found: list[Cause] = []
    if not rule.get("verbs"):
        found.append(causes.required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            found.append(causes.invalid(f"{path}.nonResourceURLs", urls, why))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(causes.invalid(f"{path}.nonResourceURLs", urls, why))
        return found
    if not rule.get("apiGroups"):
        found.append(causes.required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        found.append(causes.required(f"{path}.resources", "resource rules must supply at least one resource"))
    return found


def _check_subject(subject: Json, path: str, *, namespaced: bool) -> list[Cause]:
    found: list[Cause] = []
    kind = subject.get("kind", "")
    if not subject.get("name"):
        found.append(causes.required(f"{path}.name"))
    if kind not in _SUBJECTS:
        return [*found, causes.unsupported(f"{path}.kind", kind, _SUBJECTS)]
    group = "" if kind == "ServiceAccount" else _GROUP
    if subject.get("apiGroup", "") != group:
        found.append(causes.unsupported(f"{path}.apiGroup", subject.get("apiGroup", ""), (group,)))
    if kind == "ServiceAccount" and not namespaced and not subject.get("namespace"):
        found.append(causes.required(f"{path}.namespace"))
    return found
