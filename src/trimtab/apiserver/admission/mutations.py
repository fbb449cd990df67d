"""MutatingAdmissionPolicies: changes in CEL that the cluster makes to what is written, bound as other policies are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import statuses
from trimtab.apiserver.access.rbac import Rbac
from trimtab.apiserver.admission.bindings import Binding, Bindings
from trimtab.apiserver.admission.compiling import Scope
from trimtab.apiserver.admission.conditions import Conditions
from trimtab.apiserver.admission.expressions import Budget, Expression, Lazy, OutOfBudget, variables_of
from trimtab.apiserver.admission.hooks import Compiled
from trimtab.apiserver.admission.matching import Match
from trimtab.apiserver.admission.requests import Write
from trimtab.apiserver.admission.rounds import Rounds
from trimtab.apiserver.catalogue import Catalogue, Kind
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.structs import OBJECT, StructValue, misnamed, to_json
from trimtab.apiserver.conforming import Mistyped, hold
from trimtab.apiserver.patching import json_patch, merged
from trimtab.apiserver.patching.jsonpatch import TestFailedError
from trimtab.apiserver.patching.mutating import CannotMergeError
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store

Json: TypeAlias = dict[str, Any]

POLICIES: Final = "mutatingadmissionpolicies.admissionregistration.k8s.io"
_NO_JSON: Final = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
BINDINGS: Final = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One of its changes."""

    patch: bool  # a JSON patch, else a part of the object to merge
    expression: Expression


@dataclass(frozen=True, slots=True)
class MutatingPolicy:
    """A policy with its expressions compiled."""

    name: str
    match: Match
    conditions: Conditions
    variables: dict[str, Expression]
    mutations: tuple[Mutation, ...]
    param_kind: tuple[str, str] | None
    ignores_failure: bool
    reinvoked: bool


class _FailedError(Exception):
    """A change that cannot be made, and why."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One policy with one of its parameters."""

    policy: MutatingPolicy
    binding: Binding
    version: str
    params: Json | None

    @property
    def key(self) -> tuple[str, ...]:
        """Which one it is, in both rounds."""
        about = cast("Json", (self.params or {}).get("metadata") or {})
        return self.policy.name, self.binding.name, about.get("namespace", ""), about.get("name", "")


class Mutations:
    """Makes the changes that policies want."""

    def __init__(self, store: Store, catalogue: Catalogue, rbac: Rbac) -> None:
        self._rbac = rbac
        self._bindings = Bindings(store, catalogue, Compiled(store, POLICIES, _read), BINDINGS)

    @property
    def any(self) -> bool:
        """Whether there are any that are bound."""
        return self._bindings.any

    def mutate(self, write: Write, rounds: Rounds) -> None:
        """Change the object as they want it, one after the other; refused where one of them fails."""
        if not self.any:
            return
        rounds.begin(write.new)
        faults: list[tuple[str, str]] = []
        turns = list(self._turns(write, faults))
        changed = False
        for turn in turns:
            try:
                if not self._holds(turn, write) or rounds.skips(turn.key):
                    continue
            except _FailedError as error:
                faults += _told(turn.policy, turn.binding, str(error), "Invalid")
                continue
            before = write.new
            for mutation in turn.policy.mutations if write.new is not None else ():
                changed = True
                try:
                    self._change(turn, mutation, write)
                except _FailedError as error:
                    faults += _told(turn.policy, turn.binding, str(error), "Invalid")
            if write.new != before:
                rounds.changed()
            if turn.policy.reinvoked:
                rounds.asked(turn.key)
        if changed:
            rounds.changed()
        rounds.end(write.new)
        if faults:
            raise _refusal(write, faults)

    def _turns(self, write: Write, faults: list[tuple[str, str]]) -> Iterator[_Turn]:
        for bound in self._bindings.bound(write):
            if bound.problem or bound.binding is None:
                faults += _told(bound.policy, bound.binding, bound.problem)
                continue
            for params in bound.params:
                yield _Turn(bound.policy, bound.binding, bound.version, params)

    def _values(self, turn: _Turn, write: Write, budget: Budget) -> Json:
        values = {**variables_of(write, self._rbac, turn.version), "params": turn.params}
        values["variables"] = Lazy(turn.policy.variables, values, budget)
        return values

    def _holds(self, turn: _Turn, write: Write) -> bool:
        if not turn.policy.conditions:
            return True
        holds, error = turn.policy.conditions.hold(self._values(turn, write, Budget()))
        if error and not turn.policy.ignores_failure:
            raise _FailedError(error)
        return holds

    def _change(self, turn: _Turn, mutation: Mutation, write: Write) -> None:
        if write.foreign:
            return
        kind = write.in_version(turn.version) or write.kind
        shown = write.shown(write.new, turn.version)
        assert shown is not None
        made = self._evaluated(turn, mutation, write)
        changed = _patched(kind, shown, made) if mutation.patch else _merged(kind, shown, made)
        try:
            write.new, unknown = hold(write.kind, write.taken(changed, turn.version))
        except Mistyped as error:
            raise _unusable(mutation, str(error)) from error
        if unknown and mutation.patch and write.kind.builtin:
            raise statuses.internal(f"strict decoding error: {', '.join(unknown)}")
        write.new.setdefault("metadata", {})

    def _evaluated(self, turn: _Turn, mutation: Mutation, write: Write) -> Any:
        expression, budget = mutation.expression, Budget()
        try:
            value, error = expression.evaluate(self._values(turn, write, budget), budget)
        except OutOfBudget as spent:
            raise _FailedError(str(spent)) from spent
        if error:
            compiles = expression.program is not None
            raise _FailedError(f"expression '{expression.source}' resulted in error: {error}" if compiles else error)
        return value


def _patched(kind: Kind, obj: Json, operations: Any) -> Json:
    """The object after a patch; one whose tests fail leaves it as it was."""
    given: list[Json] = []
    for each in operations:
        operation = {name: each.fields[name] for name in ("op", "path", "from", "value") if name in each.fields}
        operation = {"op": "", "path": "", **operation}
        if "value" in operation:
            value = operation["value"]
            if isinstance(value, StructValue):  # the way to it is not known, so its own type is taken as it is
                _check_names(value, value.type_name)
            operation["value"] = _json(value, _NO_JSON)
        given.append(operation)
    try:
        changed = json_patch(obj, given)
    except Refused as refused:
        if isinstance(refused.__cause__, TestFailedError):
            return obj
        raise _FailedError(f"JSON Patch: {refused.__cause__ or refused.message}") from refused
    if not isinstance(changed, dict):
        raise _FailedError(f"JSON Patch: the {kind.kind} became what is none")
    return cast("Json", changed)


def _merged(kind: Kind, obj: Json, value: Any) -> Json:
    """The object with a part of it merged in."""
    _check_names(value, OBJECT)
    part = {**_json(value, "invalid return type"), "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    assert kind.schema is not None
    try:
        return merged(kind.schema, obj, part)
    except CannotMergeError as error:
        raise _FailedError(f"error applying patch: {error}") from error


def _check_names(value: Any, way: str) -> None:
    if wrong := list(misnamed(value, way)):
        raise _FailedError("type mismatch: " + "\n".join(wrong))


def _json(value: Any, what: str) -> Any:
    try:
        return to_json(value)
    except EvaluationError as error:
        raise _FailedError(f"{what}: {error}") from error


def _unusable(mutation: Mutation, why: str) -> Exception:
    return statuses.internal(why) if mutation.patch else _FailedError(why)


def _told(policy: MutatingPolicy, binding: Binding | None, why: str, reason: str = "") -> list[tuple[str, str]]:
    """A fault in words, with its reason; none where faults of the policy are ignored."""
    if policy.ignores_failure:
        return []
    if binding is None:
        return [(f'policy "{policy.name}" denied request: {why}', reason)]
    return [(f"policy '{policy.name}' with binding '{binding.name}' denied request: {why}", reason)]


def _refusal(write: Write, faults: list[tuple[str, str]]) -> Refused:
    kind = write.kind
    causes = [Cause("", message) for message, _ in faults]
    refused = statuses.forbidden(kind.plural, kind.group, write.title, "", causes)
    refused.message, reason = faults[0]
    if reason:
        cause: Any = reason
        refused.reason = cause
    return refused


def _read(name: str, obj: Json) -> list[MutatingPolicy]:
    spec = cast("Json", obj.get("spec") or {})
    param = cast("Json | None", spec.get("paramKind"))
    scope = Scope(spec)
    for each in cast("list[Json]", spec.get("variables") or ()):
        scope.add(each.get("name", ""), each.get("expression", ""))
    mutations: list[Mutation] = []
    for each in cast("list[Json]", spec.get("mutations") or ()):
        patch = each.get("patchType") == "JSONPatch"
        given = cast("Json", each.get("jsonPatch" if patch else "applyConfiguration") or {})
        mutations.append(Mutation(patch, scope.mutation(given.get("expression", ""))))
    policy = MutatingPolicy(
        name,
        Match.read(spec.get("matchConstraints") or {}, "resourceRules"),
        Conditions(spec.get("matchConditions") or (), scope.conditions),
        scope.variables,
        tuple(mutations),
        (param.get("apiVersion", ""), param.get("kind", "")) if param is not None else None,
        spec.get("failurePolicy") == "Ignore",
        spec.get("reinvocationPolicy") == "IfNeeded",
    )
    return [policy]
