"""What is wrong with how requests flow: FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.mandatory import CATCH_ALL, LEVEL, SCHEMA, SCHEMAS
from trimtab.apiserver.builtin.shapes import shown
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_LAST: Final = 10000
_METHODS: Final = ("ByNamespace", "ByUser")
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_MOST_QUEUES: Final = 10_000_000
_MOST_BITS: Final = 60
_PERCENT: Final = 100


def check_schema(obj: Json) -> list[Cause]:
    """What is wrong with a FlowSchema."""
    spec, name = texts.spec_of(obj), obj["metadata"].get("name", "")
    found: list[Cause] = []
    rank = spec.get("matchingPrecedence", 0)
    if rank <= 0:
        found.append(causes.invalid("spec.matchingPrecedence", rank, "must be a positive value"))
    elif rank > _LAST:
        found.append(causes.invalid("spec.matchingPrecedence", rank, f"must not be greater than {_LAST}"))
    elif rank == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        found.append(causes.invalid("spec.matchingPrecedence", rank, why))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        told = causes.Struct(Type=method.get("type", ""))
        found.append(causes.unsupported("spec.distinguisherMethod.type", told, _METHODS))
    level = texts.part(spec, "priorityLevelConfiguration").get("name", "")
    field = "spec.priorityLevelConfiguration.name"
    found += (
        texts.follows(field, level, names.subdomain)
        if level
        else [causes.required(field, "must reference a priority level")]
    )
    for where, rule in texts.numbered(spec, "spec", "rules"):
        found += _check_rule(rule, where)
    if name in SCHEMAS and spec != SCHEMAS[name]:
        found.append(causes.invalid("spec", shown(spec, SCHEMA), f"spec of '{name}' must equal the fixed value"))
    return found


def _check_rule(rule: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    if not rule.get("subjects"):
        found.append(causes.required(f"{where}.subjects", "subjects must contain at least one value"))
    for at, subject in texts.numbered(rule, where, "subjects"):
        found += _check_subject(subject, at)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        found.append(causes.required(where, why))
    for at, each in texts.numbered(rule, where, "resourceRules"):
        found += _check_resources(each, at)
    for at, each in texts.numbered(rule, where, "nonResourceRules"):
        found += _check_verbs(each, at) + _check_urls(each, at)
    return found


def _check_subject(subject: Json, where: str) -> list[Cause]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        return [causes.unsupported(f"{where}.kind", kind, _SUBJECTS)]
    found: list[Cause] = []
    own = _SUBJECTS[kind]
    for other, name in _SUBJECTS.items():
        if name != own and subject.get(name) is not None:
            why = f"{name} is forbidden when subject kind is not '{other}'"
            found.append(causes.forbidden(f"{where}.{name}", why))
    if subject.get(own) is None:
        found.append(causes.required(f"{where}.{own}", f"{own} is required when subject kind is '{kind}'"))
        return found
    about, at = subject[own], f"{where}.{own}"
    if own != "serviceAccount":
        return found + texts.needed(about, at, "name")
    name = about.get("name", "")
    if not name:
        found.append(causes.required(f"{at}.name"))
    elif name != "*":
        found += texts.follows(f"{at}.name", name, names.subdomain)
    return found + texts.needed_following(about, at, "namespace", names.label)


def _check_all(rule: Json, where: str, name: str, others: str, missing: str) -> list[Cause]:
    """A list that has to have something, and nothing beside what stands for everything."""
    values = cast("list[str]", rule.get(name) or [])
    if not values:
        return [causes.required(f"{where}.{name}", missing)]
    if len(values) > 1 and "*" in values:
        why = f"if '*' is present, must not specify other {others}"
        return [causes.invalid(f"{where}.{name}", values, why)]
    return []


def _check_verbs(rule: Json, where: str) -> list[Cause]:
    found = _check_all(rule, where, "verbs", "verbs", "verbs must contain at least one value")
    verbs = cast("list[str]", rule.get("verbs") or [])
    if not found and "*" not in verbs and not set(verbs) <= set(_VERBS):
        found.append(causes.unsupported(f"{where}.verbs", verbs, _VERBS))
    return found


def _check_resources(rule: Json, where: str) -> list[Cause]:
    found = _check_verbs(rule, where)
    missing = "resource rules must supply at least one {}"
    found += _check_all(rule, where, "apiGroups", "api groups", missing.format("api group"))
    found += _check_all(rule, where, "resources", "resources", missing.format("resource"))
    namespaces = cast("list[str]", rule.get("namespaces") or [])
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*found, causes.required(f"{where}.namespaces", why)]
    if "*" in namespaces:
        if len(namespaces) > 1:
            why = "if '*' is present, must not specify other namespaces"
            found.append(causes.invalid(f"{where}.namespaces", namespaces, why))
        return found
    for at, each in texts.numbered(rule, where, "namespaces"):
        found += texts.follows(at, each, names.label)
    return found


def _check_urls(rule: Json, where: str) -> list[Cause]:
    missing = "nonResourceURLs must contain at least one value"
    found = _check_all(rule, where, "nonResourceURLs", "non-resource URLs", missing)
    if found or rule["nonResourceURLs"] == ["*"]:
        return found
    for at, url in texts.numbered(rule, where, "nonResourceURLs"):
        if not url.startswith("/"):
            found.append(causes.invalid(at, url, "must start with '/'"))
        elif " " in url:
            found.append(causes.invalid(at, url, "must not contain white-space"))
        elif "//" in url:
            found.append(causes.invalid(at, url, "must not contain double slash"))
        elif "*" in url[:-1] or (url.endswith("*") and not url.endswith("/*")):
            found.append(causes.invalid(at, url, "wildcard can only do suffix matching"))
    return found


# Priority levels


def check_level(obj: Json) -> list[Cause]:
    """What is wrong with a PriorityLevelConfiguration."""
    spec, name = texts.spec_of(obj), obj["metadata"].get("name", "")
    kind = spec.get("type", "")
    found: list[Cause] = []
    if (name == "exempt") != (kind == "Exempt"):
        why = "must be 'Exempt' if and only if `name` is 'exempt'"
        if kind in ("Exempt", "Limited"):
            found.append(causes.invalid("spec.type", kind, why))
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Limited":
        if exempt is not None:
            found.append(causes.forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            found.append(causes.required("spec.limited", "must not be empty when type is Limited"))
        else:
            found += _check_limited(limited, "spec.limited")
    elif kind == "Exempt":
        if limited is not None:
            found.append(causes.forbidden("spec.limited", "must be nil if the type is not Limited"))
        if exempt is not None:
            found += _check_shares(exempt, "spec.exempt")
    else:
        found += (
            [causes.unsupported("spec.type", kind, ("Exempt", "Limited"))] if kind else [causes.required("spec.type")]
        )
    return found + _check_fixed_level(name, spec)


def _check_fixed_level(name: str, spec: Json) -> list[Cause]:
    """Whether a level that always has to be is as it has to be."""
    if name == "exempt" and (kind := spec.get("type")) is not None:
        if kind == "Exempt" and spec.get("limited") is None:
            return []
        why = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
    elif name == "catch-all" and spec != CATCH_ALL:
        why = "spec of 'catch-all' must equal the fixed value"
    else:
        return []
    return [causes.invalid("spec", shown(spec, LEVEL), why)]


def _check_shares(config: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    shares, lent = config.get("nominalConcurrencyShares"), config.get("lendablePercent")
    if shares is not None and shares < 0:
        field = f"{where}.nominalConcurrencyShares"
        found.append(causes.invalid(field, shares, "must be a non-negative integer"))
    if lent is not None and not 0 <= lent <= _PERCENT:
        found.append(causes.invalid(f"{where}.lendablePercent", lent, texts.between(0, _PERCENT)))
    return found


def _check_limited(limited: Json, where: str) -> list[Cause]:
    found = _check_shares(limited, where)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        why = "if specified, must be a non-negative integer"
        found.append(causes.invalid(f"{where}.borrowingLimitPercent", borrowed, why))
    response, at = texts.part(limited, "limitResponse"), f"{where}.limitResponse"
    kind, queuing = response.get("type", ""), response.get("queuing")
    if not kind:
        found.append(causes.required(f"{at}.type"))
    elif kind not in ("Queue", "Reject"):
        found.append(causes.unsupported(f"{at}.type", kind, ("Queue", "Reject")))
    elif kind == "Reject":
        if queuing is not None:
            why = "must be nil if limited.limitResponse.type is not Limited"
            found.append(causes.forbidden(f"{at}.queuing", why))
    elif queuing is None:
        why = "must not be empty if limited.limitResponse.type is Limited"
        found.append(causes.required(f"{at}.queuing", why))
    else:
        found += _check_queues(queuing, f"{at}.queuing")
    return found


def _check_queues(queuing: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    queues, hand, length = (queuing.get(name, 0) for name in ("queues", "handSize", "queueLengthLimit"))
    if length <= 0:
        found.append(causes.invalid(f"{where}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        found.append(causes.invalid(f"{where}.queues", queues, "must be positive"))
    elif queues > _MOST_QUEUES:
        found.append(causes.invalid(f"{where}.queues", queues, f"must not be greater than {_MOST_QUEUES}"))
    if hand <= 0:
        found.append(causes.invalid(f"{where}.handSize", hand, "must be positive"))
    elif hand > queues:
        why = f"should not be greater than queues ({queues})"
        found.append(causes.invalid(f"{where}.handSize", hand, why))
    elif _bits(queues, hand) > _MOST_BITS:
        why = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MOST_BITS}"
        found.append(causes.invalid(f"{where}.handSize", hand, why))
    return found


def _bits(queues: int, hand: int) -> int:
    """How many random bits it takes to deal a hand of queues."""
    return math.ceil(math.log2(math.perm(queues, hand)))


def check_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the conditions in a status."""
    found: list[Cause] = []
    taken: set[str] = set()
    for where, each in texts.numbered(texts.part(new, "status"), "status", "conditions"):
        kind = each.get("type", "")
        if kind in taken:
            found.append(causes.duplicate(f"{where}.type", kind))
        taken.add(kind)
        found += texts.needed(each, where, "type")
    return found
