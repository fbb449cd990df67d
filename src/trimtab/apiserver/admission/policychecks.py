"""What is wrong with policies and their bindings themselves: their expressions have to compile, to what is wanted."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.admission.compiling import Scope
from trimtab.apiserver.admission.rulechecks import (
    FAILURE_POLICIES,
    REINVOCATIONS,
    check_conditions,
    check_expression,
    check_match,
    check_mutable,
    check_param_kind,
    check_param_ref,
    one_of,
)
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel import types as t

Json: TypeAlias = dict[str, Any]

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_PATCHES: Final = ("ApplyConfiguration", "JSONPatch")
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 << 10  # bytes of its expression
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_NEITHER: Final = "validations or auditAnnotations must contain at least one item"


def check_policy(obj: Json, old: Json | None = None) -> list[Cause]:
    """What is wrong with a ValidatingAdmissionPolicy."""
    spec = cast("Json", obj.get("spec") or {})
    scope = Scope(spec)
    found = _check_common(spec, old, scope)
    validations = cast("list[Json]", spec.get("validations") or [])
    annotations = cast("list[Json]", spec.get("auditAnnotations") or [])
    if not validations and not annotations:
        return found + [causes.required(f"spec.{name}", _NEITHER) for name in ("validations", "auditAnnotations")]
    for place, each in enumerate(validations):
        found += _check_validation(each, scope, f"spec.validations[{place}]")
    if len(annotations) > _MOST_ANNOTATIONS:
        why = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        found.append(causes.invalid("spec.auditAnnotations", annotations, why))
    for place, each in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{place}]", each.get("key") or ""
        found += _check_annotation(each, obj["metadata"].get("name", ""), scope, path)
        if any((other.get("key") or "") == key for other in annotations[:place]):
            found.append(causes.duplicate(f"{path}.key", key))
    return found


def check_mutating_policy(obj: Json, old: Json | None = None) -> list[Cause]:
    """What is wrong with a MutatingAdmissionPolicy."""
    spec = cast("Json", obj.get("spec") or {})
    scope = Scope(spec)
    found = _check_common(spec, old, scope, mutates=True)
    mutations = cast("list[Json]", spec.get("mutations") or [])
    if not mutations:
        found.append(causes.required("spec.mutations", "mutations must contain at least one item"))
    for place, each in enumerate(mutations):
        found += _check_mutation(each, scope, f"spec.mutations[{place}]")
    policy = spec.get("reinvocationPolicy")
    if not policy:
        return [*found, causes.required("spec.reinvocationPolicy")]
    return found + one_of("spec.reinvocationPolicy", policy, REINVOCATIONS)


def check_policy_binding(obj: Json, old: Json | None = None) -> list[Cause]:  # noqa: ARG001 - as all checks
    """What is wrong with a ValidatingAdmissionPolicyBinding."""
    spec = cast("Json", obj.get("spec") or {})
    actions = cast("list[str]", spec.get("validationActions") or [])
    path = "spec.validationActions"
    found = _check_binding(spec) + check_match(spec.get("matchResources"), "spec.matchResources")
    for place, action in enumerate(actions):
        found += one_of(f"{path}[{place}]", action, _ACTIONS)
        if action in actions[:place]:
            found.append(causes.duplicate(f"{path}[{place}]", action))
    if {"Deny", "Warn"} <= set(actions):
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        found.append(causes.invalid(path, actions, why))
    if not actions:
        found.append(causes.required(path, "at least one validation action is required"))
    return found


def check_mutating_binding(obj: Json, old: Json | None = None) -> list[Cause]:  # noqa: ARG001 - as all checks
    """What is wrong with a MutatingAdmissionPolicyBinding."""
    spec = cast("Json", obj.get("spec") or {})
    match, path = cast("Json | None", spec.get("matchResources")), "spec.matchResources"
    return _check_binding(spec) + check_match(match, path) + check_mutable(match, path)


def _check_binding(spec: Json) -> list[Cause]:
    name = spec.get("policyName") or ""
    if name:
        found = [causes.invalid("spec.policyName", name, why) for why in names.subdomain(name)]
    else:
        found = [causes.required("spec.policyName")]
    return found + check_param_ref(spec.get("paramRef"), "spec.paramRef")


def _check_common(spec: Json, old: Json | None, scope: Scope, *, mutates: bool = False) -> list[Cause]:
    found = one_of("spec.failurePolicy", spec.get("failurePolicy"), FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        found += check_param_kind(spec["paramKind"], "spec.paramKind")
    match, path = cast("Json | None", spec.get("matchConstraints")), "spec.matchConstraints"
    if match is None:
        found.append(causes.required(path))
    else:
        found += check_match(match, path)
        if not match.get("resourceRules"):
            found.append(causes.required(f"{path}.resourceRules"))
        if mutates:
            found += check_mutable(match, path)
    before = cast("Json", (old or {}).get("spec") or {})
    if old is None or any(spec.get(name) != before.get(name) for name in ("paramKind", "matchConditions")):
        found += check_conditions(spec.get("matchConditions") or [], "spec.matchConditions", scope.conditions)
    for place, each in enumerate(cast("list[Json]", spec.get("variables") or [])):
        found += _check_variable(each, scope, f"spec.variables[{place}]")
    return found


def _check_variable(variable: Json, scope: Scope, path: str) -> list[Cause]:
    """Variables are checked in their order, as each may look at those before it."""
    found: list[Cause] = []
    name, source = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        found.append(causes.required(f"{path}.name", "name is not specified"))
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        found.append(causes.invalid(f"{path}.name", name, "must be a valid CEL identifier"))
    if not source.strip():
        return [*found, causes.required(f"{path}.expression", "expression is not specified")]
    return found + check_expression(scope.add(name, source), f"{path}.expression")


def _check_validation(validation: Json, scope: Scope, path: str) -> list[Cause]:
    found: list[Cause] = []
    if not (validation.get("expression") or "").strip():
        found.append(causes.required(f"{path}.expression", "expression is not specified"))
    else:
        found += check_expression(scope.expression(validation["expression"]), f"{path}.expression", t.BOOL)
    telling = validation.get("messageExpression") or ""
    if telling and not telling.strip():
        found.append(causes.invalid(f"{path}.messageExpression", telling, "must be non-empty if specified"))
    elif telling:
        found += check_expression(scope.message(telling), f"{path}.messageExpression", t.STRING)
    message = validation.get("message") or ""
    if message and not message.strip():
        found.append(causes.invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif set(message.strip()) & {"\n", "\r"}:
        found.append(causes.invalid(f"{path}.message", message, "must not contain line breaks"))
    return found + one_of(f"{path}.reason", validation.get("reason"), _REASONS)


def _check_annotation(annotation: Json, policy: str, scope: Scope, path: str) -> list[Cause]:
    key = annotation.get("key") or ""
    if policy:
        found = [causes.invalid(f"{path}.key", f"{policy}/{key}", why) for why in names.qualified(f"{policy}/{key}")]
    else:
        found = [causes.invalid(f"{path}.key", key, "requires metadata.name be non-empty")]
    source = annotation.get("valueExpression") or ""
    if not source.strip():
        return [*found, causes.required(f"{path}.valueExpression", "valueExpression is not specified")]
    if len(source.strip().encode()) > _LONGEST_ANNOTATION:
        why = f"must not exceed {_LONGEST_ANNOTATION} bytes in length"
        return [*found, causes.required(f"{path}.valueExpression", why)]
    return found + check_expression(scope.expression(source), f"{path}.valueExpression", t.STRING, t.NULL)


def _check_mutation(mutation: Json, scope: Scope, path: str) -> list[Cause]:
    type_ = mutation.get("patchType") or ""
    if not type_:
        return [causes.required(f"{path}.patchType")]
    if type_ not in _PATCHES:
        return [causes.unsupported(f"{path}.patchType", type_, _PATCHES)]
    mine, other = "applyConfiguration", "jsonPatch"
    if type_ == "JSONPatch":
        mine, other = other, mine
    given = cast("Json | None", mutation.get(mine))
    found: list[Cause] = []
    if given is None:
        found.append(causes.required(f"{path}.{mine}", f"must be specified when patchType is {type_}"))
    elif not (source := (given.get("expression") or "").strip()):
        found.append(causes.required(f"{path}.{mine}.expression"))
    else:
        expression = scope.mutation(source)
        found += check_expression(expression, f"{path}.{mine}.expression", scope.mutated(type_))
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {type_}"
        found.append(causes.invalid(f"{path}.{other}", f"{{{other}}}", why))
    return found
