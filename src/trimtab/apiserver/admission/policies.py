"""ValidatingAdmissionPolicies: rules of the cluster in CEL, bound to where they hold and to their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import statuses
from trimtab.apiserver.access.rbac import Rbac
from trimtab.apiserver.admission.bindings import Binding, Bindings
from trimtab.apiserver.admission.compiling import Scope
from trimtab.apiserver.admission.conditions import Conditions
from trimtab.apiserver.admission.expressions import Budget, Expression, Lazy, OutOfBudget, variables_of
from trimtab.apiserver.admission.hooks import Compiled
from trimtab.apiserver.admission.matching import Match
from trimtab.apiserver.admission.requests import Write
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store
from trimtab.kube.reasons import CODES

Json: TypeAlias = dict[str, Any]

POLICIES: Final = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS: Final = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
_FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
_LONGEST_MESSAGE: Final = 5 << 10  # bytes
_LONGEST_ANNOTATION: Final = 10 << 10


@dataclass(frozen=True, slots=True)
class Validation:
    """One of its rules."""

    rule: Expression
    message: str
    message_of: Expression | None
    reason: str


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its expressions compiled."""

    name: str
    match: Match
    conditions: Conditions
    variables: dict[str, Expression]
    validations: tuple[Validation, ...]
    annotations: tuple[tuple[str, Expression], ...]
    param_kind: tuple[str, str] | None
    ignores_failure: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """Something that a policy has against a write."""

    policy: Policy
    binding: Binding | None
    message: str
    reason: str = "Invalid"
    place: int = 0  # of the rule among those of the policy
    always: bool = False  # it is denied whatever the binding says that is to be done


class Policies:
    """Checks writes against them."""

    def __init__(self, store: Store, catalogue: Catalogue, rbac: Rbac) -> None:
        self._rbac = rbac
        policies = Compiled(store, POLICIES, read_policy)
        self._bindings = Bindings(store, catalogue, policies, BINDINGS, default=("Deny",))

    @property
    def any(self) -> bool:
        """Whether there are any that are bound."""
        return self._bindings.any

    def check(self, write: Write) -> None:
        """Refuse what a policy denies, and warn of what it warns of."""
        denied: list[_Found] = []
        for found in self._found(write):
            binding = found.binding
            actions = ("Deny",) if found.always or binding is None else binding.actions
            if "Deny" in actions:
                denied.append(found)
            if "Warn" in actions and binding is not None:
                said = f"Validation failed for ValidatingAdmissionPolicy '{found.policy.name}' with binding"
                write.call.warnings.append(f"{said} '{binding.name}': {found.message}")
            if "Audit" in actions and binding is not None:
                write.annotations[_FAILURE] = _audited(found, binding)
        if denied:
            raise _refusal(write, denied[0])

    def _found(self, write: Write) -> Iterator[_Found]:
        for bound in self._bindings.bound(write):
            policy, binding = bound.policy, bound.binding
            if bound.problem:
                if not policy.ignores_failure:
                    yield _Found(policy, binding, bound.problem, always=True)
                continue
            values = variables_of(write, self._rbac, bound.version)
            for params in bound.params:
                yield from _evaluated(policy, binding, {**values, "params": params}, write)


def _evaluated(policy: Policy, binding: Binding | None, values: dict[str, Any], write: Write) -> Iterator[_Found]:
    holds, error = policy.conditions.hold(values)
    if error and not policy.ignores_failure:
        yield _Found(policy, binding, error)
    if not holds:
        return
    budget = Budget()
    values["variables"] = Lazy(policy.variables, values, budget)
    try:
        found = list(_validated(policy, binding, values, budget))
    except OutOfBudget as error_:
        if not policy.ignores_failure:
            yield _Found(policy, binding, str(error_))
        return
    yield from found
    yield from _annotated(policy, binding, values, write)


def _validated(policy: Policy, binding: Binding | None, values: dict[str, Any], budget: Budget) -> Iterator[_Found]:
    """What the rules say. All are evaluated before a message is made."""
    outcomes = [validation.rule.evaluate(values, budget) for validation in policy.validations]
    for place, (validation, (value, error)) in enumerate(zip(policy.validations, outcomes, strict=True)):
        if error:
            if not policy.ignores_failure:
                yield _Found(policy, binding, f"expression '{validation.rule.source}' resulted in error: {error}")
        elif value is not True:
            message = _message(validation, values, budget)
            yield _Found(policy, binding, message, validation.reason, place)


def _annotated(policy: Policy, binding: Binding | None, values: dict[str, Any], write: Write) -> Iterator[_Found]:
    """Note what is for those who audit; what cannot be made is a fault."""
    for key, expression in policy.annotations:
        value, error = expression.evaluate(values)
        if error:
            if not policy.ignores_failure:
                said = f"expression '{expression.source}' resulted in error: {error}"
                yield _Found(policy, binding, said, always=True)
        elif isinstance(value, str) and value.strip():
            told, name = value.strip()[:_LONGEST_ANNOTATION], f"{policy.name}/{key}"
            before = write.annotations.get(name)
            if before is None or told not in before.split(", "):
                write.annotations[name] = told if before is None else f"{before}, {told}"


def _message(validation: Validation, values: dict[str, Any], budget: Budget) -> str:
    if validation.message_of is not None:
        try:
            value, error = validation.message_of.evaluate(values, budget)
        except OutOfBudget as spent:
            return f"failed messageExpression: {spent}"
        text = value.strip() if isinstance(value, str) and not error else ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return validation.message or f"failed expression: {validation.rule.source}"


def _audited(found: _Found, binding: Binding) -> str:
    told = {
        "message": found.message,
        "policy": found.policy.name,
        "binding": binding.name,
        "expressionIndex": found.place,
        "validationActions": binding.actions,
    }
    return msgspec.json.encode([told]).decode()


def _refusal(write: Write, found: _Found) -> Refused:
    kind = write.kind
    bound = f" with binding '{found.binding.name}'" if found.binding is not None else ""
    said = f"ValidatingAdmissionPolicy '{found.policy.name}'{bound} denied request: {found.message}"
    refused = statuses.forbidden(kind.plural, kind.group, write.title, said, [Cause("", said)])
    reason: Any = found.reason
    refused.reason = reason
    refused.code = CODES.get(reason, 422)
    return refused


def read_policy(name: str, obj: Json) -> list[Policy]:
    """Compile a policy."""
    spec = cast("Json", obj.get("spec") or {})
    param = cast("Json | None", spec.get("paramKind"))
    scope = Scope(spec)
    for each in cast("list[Json]", spec.get("variables") or ()):
        scope.add(each.get("name", ""), each.get("expression", ""))
    policy = Policy(
        name,
        Match.read(spec.get("matchConstraints") or {}, "resourceRules"),
        Conditions(spec.get("matchConditions") or (), scope.conditions),
        scope.variables,
        tuple(_validation(scope, each) for each in spec.get("validations") or ()),
        tuple(
            (each.get("key", ""), scope.expression(each.get("valueExpression", "")))
            for each in spec.get("auditAnnotations") or ()
        ),
        (param.get("apiVersion", ""), param.get("kind", "")) if param is not None else None,
        spec.get("failurePolicy") == "Ignore",
    )
    return [policy]


def _validation(scope: Scope, given: Json) -> Validation:
    message_of = given.get("messageExpression")
    return Validation(
        scope.expression(given.get("expression", "")),
        (given.get("message") or "").strip(),
        scope.message(message_of) if message_of else None,
        given.get("reason") or "Invalid",
    )
