"""What is wrong with a ValidatingAdmissionPolicy itself: its expressions have to compile, to what is wanted."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.admission.expressions import Expression
from trimtab.apiserver.admission.policies import Policy, read_policy
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel import types as t

Json: TypeAlias = dict[str, Any]

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")


def check_policy(obj: Json) -> list[Cause]:
    """What is wrong with it."""
    spec = cast("Json", obj.get("spec") or {})
    (policy,) = read_policy(obj["metadata"].get("name", ""), obj)
    found: list[Cause] = []
    for place, expression in enumerate(policy.variables.values()):
        found += _check(f"spec.variables[{place}].expression", expression, None)
    for place, expression in enumerate(policy.conditions.expressions):
        found += _check(f"spec.matchConditions[{place}].expression", expression, t.BOOL)
    return found + _check_validations(policy, cast("list[Json]", spec.get("validations") or []))


def _check_validations(policy: Policy, given: list[Json]) -> list[Cause]:
    found: list[Cause] = []
    for place, (validation, told) in enumerate(zip(policy.validations, given, strict=True)):
        path = f"spec.validations[{place}]"
        found += _check(f"{path}.expression", validation.rule, t.BOOL)
        if validation.message_of is not None:
            found += _check(f"{path}.messageExpression", validation.message_of, t.STRING)
        if told.get("reason") and told["reason"] not in _REASONS:
            found.append(causes.unsupported(f"{path}.reason", told["reason"], _REASONS))
    return found


def _check(path: str, expression: Expression, wanted: t.Type | None) -> list[Cause]:
    if not expression.source:
        return [causes.required(path, "expression is not specified")]
    if expression.program is None:
        return [causes.invalid(path, expression.source, f"compilation failed: {expression.problem}")]
    if wanted is None or expression.program.type == wanted:
        return []
    if wanted == t.STRING:
        why = f"must evaluate to string but got {expression.program.type}"
    else:
        why = "must evaluate to bool"
    return [causes.invalid(path, expression.source, why)]
