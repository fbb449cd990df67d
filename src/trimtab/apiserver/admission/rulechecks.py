"""What is wrong with what webhooks and policies have in common: their rules, selectors, conditions and parameters."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.admission.expressions import Expression
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.builtin.texts import label_1035
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.program import Environment

Json: TypeAlias = dict[str, Any]

FAILURE_POLICIES: Final = ("Fail", "Ignore")
REINVOCATIONS: Final = ("IfNeeded", "Never")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATED: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_NOT_FOUND: Final = ("Deny", "Allow")
_MOST_CONDITIONS: Final = 64


def one_of(path: str, value: str | None, known: tuple[str, ...]) -> list[Cause]:
    """What is wrong with a word that has to be one of some, where it is there."""
    return [] if value is None or value in known else [causes.unsupported(path, value, known)]


def check_rule(rule: Json, path: str) -> list[Cause]:
    """What is wrong with a rule: operations on resources."""
    found = _list(rule, "operations", path, "if '*' is present, must not specify other operations")
    for place, each in enumerate(rule.get("operations") or ()):
        found += one_of(f"{path}.operations[{place}]", each, _OPERATIONS)
    found += _list(rule, "apiGroups", path, "if '*' is present, must not specify other API groups")
    found += _list(rule, "apiVersions", path, "if '*' is present, must not specify other API versions")
    for place, each in enumerate(rule.get("apiVersions") or ()):
        if not each:
            found.append(causes.required(f"{path}.apiVersions[{place}]"))
    found += _check_resources(rule.get("resources") or [], f"{path}.resources")
    return found + one_of(f"{path}.scope", rule.get("scope"), _SCOPES)


def _list(rule: Json, name: str, path: str, why: str) -> list[Cause]:
    values = cast("list[str]", rule.get(name) or [])
    if not values:
        return [causes.required(f"{path}.{name}")]
    return [causes.invalid(f"{path}.{name}", values, why)] if len(values) > 1 and "*" in values else []


def _check_resources(resources: list[str], path: str) -> list[Cause]:
    found = [] if resources else [causes.required(path)]
    all_of: set[str] = set()  # the resources all whose subresources are named
    in_all: set[str] = set()  # the subresources that are named of all resources
    plain = False
    for place, each in enumerate(resources):
        where = f"{path}[{place}]"
        if not each:
            found.append(causes.required(where))
            continue
        resource, slash, sub = each.partition("/")
        if not slash:
            plain = each != "*"
            continue
        if resource in all_of:
            found.append(causes.invalid(where, each, f"if '{resource}/*' is present, must not specify {each}"))
        if sub in in_all:
            found.append(causes.invalid(where, each, f"if '*/{sub}' is present, must not specify {each}"))
        if sub == "*":
            all_of.add(resource)
        if resource == "*":
            in_all.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        found.append(causes.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        why = "if '*' is present, must not specify other resources without subresources"
        found.append(causes.invalid(path, resources, why))
    return found


def check_match(match: Json | None, path: str) -> list[Cause]:
    """What is wrong with what a policy or binding matches."""
    if match is None:
        return []
    found = one_of(f"{path}.matchPolicy", match.get("matchPolicy"), MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        found += check_selector(match.get(name) or {}, f"{path}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for place, rule in enumerate(cast("list[Json]", match.get(name) or [])):
            where = f"{path}.{name}[{place}]"
            found += _check_names(rule.get("resourceNames") or [], f"{where}.resourceNames") + check_rule(rule, where)
    return found


def _check_names(given: list[str], path: str) -> list[Cause]:
    found: list[Cause] = []
    for place, name in enumerate(given):
        found += [causes.invalid(f"{path}[{place}]", name, why) for why in names.path_segment(name)]
        if name in given[:place]:
            found.append(causes.duplicate(f"{path}[{place}]", name))
    return found


def check_mutable(match: Json | None, path: str) -> list[Cause]:
    """What is wrong with the operations of what changes objects: nothing is left to change of what is deleted."""
    rules = cast("list[Json]", (match or {}).get("resourceRules") or [])
    operations = [each for rule in rules for each in rule.get("operations") or ()]
    return [cause for each in operations for cause in one_of(f"{path}.resourceRules.operations", each, _MUTATED)]


def check_conditions(given: list[Json], path: str, environment: Environment) -> list[Cause]:
    """What is wrong with match conditions."""
    found = [causes.too_many(path, len(given), _MOST_CONDITIONS)] if len(given) > _MOST_CONDITIONS else []
    seen: set[str] = set()
    for place, each in enumerate(given):
        where, name = f"{path}[{place}]", each.get("name") or ""
        source = (each.get("expression") or "").strip()
        if not source:
            found.append(causes.required(f"{where}.expression"))
        else:
            found += check_expression(Expression(environment, source), f"{where}.expression", t.BOOL)
        if not name:
            found.append(causes.required(f"{where}.name"))
            continue
        found += [causes.invalid(f"{where}.name", name, why) for why in names.qualified(name)]
        if name in seen:
            found.append(causes.duplicate(f"{where}.name", name))
        seen.add(name)
    return found


def check_expression(expression: Expression, path: str, *wanted: t.Type) -> list[Cause]:
    """What is wrong with an expression; of any type where none is wanted."""
    if expression.program is None:
        return [causes.invalid(path, expression.given, f"compilation failed: {expression.problem}")]
    type_ = expression.program.type
    if not wanted or type_ in wanted:
        return []
    named = [each.declared for each in wanted]
    what = named[0] if len(named) == 1 else f"one of [{' '.join(named)}]"
    return [causes.invalid(path, expression.given, f"must evaluate to {what} but got {type_.declared}")]


def check_param_kind(kind: Json, path: str) -> list[Cause]:
    """What is wrong with the kind of a policy's parameters."""
    found: list[Cause] = []
    version, name = cast("str", kind.get("apiVersion") or ""), cast("str", kind.get("kind") or "")
    group, slash, short = version.rpartition("/")
    if not version:
        found.append(causes.required(f"{path}.apiVersion"))
    elif "/" in group:
        found.append(causes.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    else:
        faults = names.subdomain(group) if slash and group else []
        found += [causes.invalid(f"{path}.apiVersion", group, ",".join(faults))] if faults else []
        if not short:
            found.append(causes.invalid(f"{path}.apiVersion", version, "version must be specified"))
        elif faults := label_1035(short):
            found.append(causes.invalid(f"{path}.apiVersion", short, ",".join(faults)))
    if not name:
        found.append(causes.required(f"{path}.kind"))
    elif faults := label_1035(name.lower()):
        why = "may have mixed case, but should otherwise match: "
        found.append(causes.invalid(f"{path}.kind", name, why + ",".join(faults)))
    return found


def check_param_ref(ref: Json | None, path: str) -> list[Cause]:
    """What is wrong with where a binding has its parameters from."""
    if ref is None:
        return []
    found: list[Cause] = []
    name, selector = ref.get("name") or "", cast("Json | None", ref.get("selector"))
    both = "name and selector are mutually exclusive"
    if name:
        found += [causes.invalid(f"{path}.name", name, why) for why in names.path_segment(name)]
        if selector is not None:
            found.append(causes.forbidden(f"{path}.name", both))
    if selector is not None:
        found += check_selector(selector, f"{path}.selector")
        if name:
            found.append(causes.forbidden(f"{path}.selector", both))
    if not name and selector is None:
        found.append(causes.required(path, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction")
    if not action:
        return [*found, causes.required(f"{path}.parameterNotFoundAction")]
    return found + one_of(f"{path}.parameterNotFoundAction", action, _NOT_FOUND)
