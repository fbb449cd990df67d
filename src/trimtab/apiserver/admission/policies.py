"""ValidatingAdmissionPolicies: rules of the cluster in CEL, bound to where they hold and to their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import statuses
from trimtab.apiserver.access.rbac import Rbac, selector_of
from trimtab.apiserver.admission.compiling import Scope
from trimtab.apiserver.admission.conditions import Conditions
from trimtab.apiserver.admission.expressions import Expression, Lazy, variables_of
from trimtab.apiserver.admission.hooks import Compiled
from trimtab.apiserver.admission.matching import Match
from trimtab.apiserver.admission.requests import Write
from trimtab.apiserver.catalogue import Catalogue, Kind
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.objects import decode
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store
from trimtab.kube.reasons import CODES

Json: TypeAlias = dict[str, Any]

POLICIES: Final = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS: Final = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
_LONGEST_MESSAGE: Final = 5 << 10


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
class _Binding:
    name: str
    policy: str
    match: Match | None
    actions: frozenset[str]
    params: Json | None


@dataclass(frozen=True, slots=True)
class _Found:
    """Something that a policy has against a write."""

    policy: str
    binding: _Binding
    message: str
    reason: str = "Invalid"


class Policies:
    """Checks writes against them."""

    def __init__(self, store: Store, catalogue: Catalogue, rbac: Rbac) -> None:
        self._store = store
        self._catalogue = catalogue
        self._rbac = rbac
        self._policies = Compiled(store, POLICIES, read_policy)
        self._bindings = Compiled(store, BINDINGS, _read_binding)

    @property
    def any(self) -> bool:
        """Whether there are any that are bound."""
        return bool(self._bindings.all()) and bool(self._policies.all())

    def check(self, write: Write) -> None:
        """Refuse what a policy denies, and warn of what it warns of."""
        denied: list[_Found] = []
        policies = {policy.name: policy for policy in self._policies.all()}
        for binding in self._bindings.all():
            policy = policies.get(binding.policy)
            for found in self._checked(policy, binding, write) if policy is not None else ():
                if "Warn" in binding.actions:
                    said = f"Validation failed for ValidatingAdmissionPolicy '{found.policy}' with binding"
                    write.call.warnings.append(f"{said} '{binding.name}': {found.message}")
                if "Audit" in binding.actions:
                    write.annotations["validation.policy.admission.k8s.io/validation_failure"] = found.message
                if "Deny" in binding.actions:
                    denied.append(found)
        if denied:
            raise _refusal(write, denied[0])

    def _checked(self, policy: Policy, binding: _Binding, write: Write) -> Iterator[_Found]:
        versions = self._versions(write)
        version = policy.match.version(write, versions)
        if not version or (binding.match is not None and not binding.match.version(write, versions)):
            return
        values = variables_of(write, self._rbac, version)
        try:
            params = list(self._params(policy, binding, write))
        except _UnboundError as error:
            if not policy.ignores_failure:
                yield _Found(policy.name, binding, f"failed to configure binding: {error}")
            return
        for each in params:
            yield from self._evaluated(policy, binding, {**values, "params": each}, write)

    def _evaluated(self, policy: Policy, binding: _Binding, values: dict[str, Any], write: Write) -> Iterator[_Found]:
        holds, error = policy.conditions.hold(values)
        if error and not policy.ignores_failure:
            yield _Found(policy.name, binding, error)
        if not holds:
            return
        values["variables"] = Lazy(policy.variables, values)
        for validation in policy.validations:
            value, error = validation.rule.evaluate(values)
            if error:
                if not policy.ignores_failure:
                    said = f"expression '{validation.rule.source}' resulted in error: {error}"
                    yield _Found(policy.name, binding, said)
            elif value is not True:
                yield _Found(policy.name, binding, _message(validation, values), validation.reason)
        for key, expression in policy.annotations:
            value, error = expression.evaluate(values)
            if isinstance(value, str) and not error:
                write.annotations[f"{policy.name}/{key}"] = value

    def _params(self, policy: Policy, binding: _Binding, write: Write) -> Iterator[Any]:
        """The objects that a policy is checked with, one after the other; None where it needs none."""
        ref = binding.params
        if policy.param_kind is None or ref is None:
            yield None
            return
        kind = self._kind(*policy.param_kind)
        if kind is None:
            version, name = policy.param_kind
            raise _UnboundError(f'failed to find resource referenced by paramKind: "{version}, Kind={name}"')
        namespace = ref.get("namespace") or write.call.target.namespace if kind.namespaced else ""
        if kind.namespaced and not namespace:
            raise _UnboundError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
        found: list[Json] = []
        if ref.get("name"):
            record = self._store.get(kind.bucket, f"{namespace}/{ref['name']}" if namespace else ref["name"])
            found = [] if record is None else [decode(record.data)]
        else:
            selector = selector_of(ref.get("selector") or {})
            for record in self._store.scan(kind.bucket, f"{namespace}/" if namespace else ""):
                obj = decode(record.data)
                if selector.matches(obj["metadata"].get("labels") or {}):
                    found.append(obj)
        if not found and ref.get("parameterNotFoundAction") != "Allow":
            raise _UnboundError("no params found for policy binding with `Deny` parameterNotFoundAction")
        yield from found

    def _kind(self, version: str, name: str) -> Kind | None:
        group, _, short = version.rpartition("/")
        kinds = (kind for kind in self._catalogue.kinds() if (kind.group, kind.version) == (group, short))
        return next((kind for kind in kinds if kind.kind == name), None)

    def _versions(self, write: Write) -> list[str]:
        group = self._catalogue.group(write.kind.group)
        return [] if group is None else [name for name, kinds in group.versions.items() if write.kind.plural in kinds]


class _UnboundError(Exception):
    """A binding's parameters are not there."""


def _message(validation: Validation, values: dict[str, Any]) -> str:
    if validation.message_of is not None:
        value, error = validation.message_of.evaluate(values)
        text = value.strip() if isinstance(value, str) and not error else ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return validation.message or f"failed expression: {validation.rule.source}"


def _refusal(write: Write, found: _Found) -> Refused:
    kind = write.kind
    why = f"ValidatingAdmissionPolicy '{found.policy}' with binding '{found.binding.name}' denied request"
    said = f"{why}: {found.message}"
    refused = statuses.forbidden(kind.plural, kind.group, write.name, said, [Cause("", said)])
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


def _read_binding(name: str, obj: Json) -> list[_Binding]:
    spec = cast("Json", obj.get("spec") or {})
    match = cast("Json | None", spec.get("matchResources"))
    if match is not None and not match.get("resourceRules"):  # all that the policy matches
        everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
        match = {**match, "resourceRules": [everything]}
    return [
        _Binding(
            name,
            spec.get("policyName", ""),
            None if match is None else Match.read(match, "resourceRules"),
            frozenset(spec.get("validationActions") or ("Deny",)),
            spec.get("paramRef"),
        )
    ]
